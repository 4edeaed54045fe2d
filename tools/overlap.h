/* overlap.h   BLEU, chrF, WER, TER, ROUGE, CIDEr, METEOR: what output and reference share.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* ==============================================================================================
   >>tool overlap   metrics of words, characters and n-grams that output and reference share
   ============================================================================================== */

/* A metric gets the whole corpus, because most metrics are no mean over lines. Most are a function
   of counts that are summed over the lines: those have a function for the counts of one line and
   one for the value of the sums, so that the bootstrap of compare can draw lines without counting
   again. Each metric has its own splitter, which splits the output and every accepted reference of
   a line into units. How the alternatives of a reference count:

     bleu, bleu1      n-grams: the largest count in any alternative; length: the nearest
     chrf, chrf++     the alternative with the best value of the line
     ter              the fewest edits; the mean of the lengths
     wer              the alternative with the fewest edits, and its length
     exact            equal to any
     rouge, meteor, meteor-es, embedding
                      the best alternative of the line
     cider            the mean over the alternatives

   accuracy, f1, mcc, entities, pearson and spearman have none: a TAB is a part of the label there.
   bleu, bleu1, chrf and ter follow sacrebleu in this. */

#define METRIC_COUNTS 24 /* the most that a line has */

typedef void (*splitter)(units *u, syn_text line);

typedef struct metric_options {
  splitter words;           /* of bleu, bleu1, cider, meteor and embedding: --tokenize */
  splitter letters;         /* of rouge: --rouge-tokenize */
  splitter line;            /* of exact: split_words; of classes split_whole */
  int form; /* SYN_LOWERCASE: compares in lower case; ter, rouge, meteor always do; SYN_NFC */
  const char *alternatives; /* see next_alternative */
  const char *positive;     /* f1: the positive class; null: see metric_f1 */
  const char *sentences;    /* rougeLsum: the mark between sentences of a line; "": no mark */
  const char *synonyms;     /* the file of meteor: a line has words of one meaning */
  const char *vectors;      /* the file of embedding: a line has a word and its vector */
} metric_options;

/* Outputs and references of n lines. */
typedef struct corpus {
  const syn_text *hyp, *ref;
  size_t n;
  const metric_options *options;
} corpus;

/* Splits the next alternative off a reference: up to a TAB, or up to `mark` where that is not
   empty. mark null: all of it is one text, as of labels and tags. Returns 0 after the last one. */
static int next_alternative(syn_text *rest, const char *mark, syn_text *piece) {
  size_t size = mark ? strlen(mark) : 0, cut = 0, i = 0;
  *piece = *rest;
  if (!rest->at) return 0;
  for (; mark && i < rest->size; i++) {
    if (rest->at[i] == '\t') cut = 1;
    else if (size && rest->size - i >= size && !memcmp(rest->at + i, mark, size)) cut = size;
    if (cut) break;
  }
  if (cut) piece->size = i, rest->at += i + cut, rest->size -= i + cut;
  else rest->at = NULL, rest->size = 0;
  return 1;
}

/* -- one line of both, split into units -- */

typedef struct example {
  units hyp, *refs; /* refs [ref_count], at least one */
  size_t ref_count;
} example;

/* Brings a line to the form wanted and splits it. Lower case comes first, as in sacrebleu: &QUOT;
   becomes &quot;, which 13a replaces. */
static units prepare(splitter split, syn_text line, const metric_options *o) {
  buffer low = {NULL, 0, 0};
  units u;
  memset(&u, 0, sizeof u);
  buffer_reserve(&u.text, line.size);
  if (o->form) put_normalized(&low, line, o->form), line = buffer_text(&low);
  split(&u, line);
  free(low.at);
  return u;
}

/* Splits line i. Alternatives without any byte are dropped, as in sacrebleu, so that lines may have
   different numbers of them; an empty reference is one empty text. */
static example example_make(const corpus *c, size_t i, splitter split) {
  const char *mark = c->options->alternatives;
  syn_text rest = c->ref[i], piece;
  size_t pieces = 1;
  example e;
  while (next_alternative(&rest, mark, &piece)) pieces++;
  e.hyp = prepare(split, c->hyp[i], c->options);
  e.refs = (units *)take(pieces, sizeof *e.refs);
  e.ref_count = 0;
  for (rest = c->ref[i]; next_alternative(&rest, mark, &piece);)
    if (piece.size) e.refs[e.ref_count++] = prepare(split, piece, c->options);
  if (!e.ref_count) e.ref_count = 1;
  return e;
}

/* In lower case whatever the options say. */
static example example_lower(const corpus *c, size_t i, splitter split) {
  metric_options low = *c->options;
  corpus lowered = *c;
  low.form |= SYN_LOWERCASE;
  lowered.options = &low;
  return example_make(&lowered, i, split);
}

static void example_free(example *e) {
  size_t r;
  for (r = 0; r < e->ref_count; r++) units_free(&e->refs[r]);
  free(e->refs);
  units_free(&e->hyp);
}

/* -- n-grams -- */

typedef struct grams {
  syn_text *at;  /* [count] distinct n-grams, sorted */
  size_t *times; /* [count] how often each occurs */
  size_t count;
} grams;

static int text_order(const void *a, const void *b) {
  return text_compare(*(const syn_text *)a, *(const syn_text *)b);
}

/* The number of n-grams of u, repeated ones counted each time. */
static size_t grams_in(const units *u, size_t n) { return u->count < n ? 0 : u->count - n + 1; }

/* Memory for `most` n-grams. The caller fills `at` and calls grams_count. */
static grams grams_new(size_t most) {
  grams g;
  g.at = (syn_text *)take(most, sizeof *g.at);
  g.times = (size_t *)take(most, sizeof *g.times);
  g.count = 0;
  return g;
}

/* Sorts the first `total` n-grams and merges equal ones. Two sorted lists can be compared in one
   pass, without a hash table. */
static void grams_count(grams *g, size_t total) {
  size_t i;
  qsort(g->at, total, sizeof *g->at, text_order);
  for (i = 0; i < total; i++) {
    if (!g->count || !text_equal(g->at[g->count - 1], g->at[i])) g->at[g->count++] = g->at[i];
    g->times[g->count - 1]++;
  }
}

static grams grams_make(const units *u, size_t n) {
  size_t total = grams_in(u, n), i;
  grams g = grams_new(total);
  for (i = 0; i < total; i++) g.at[i] = units_slice(u, i, n);
  grams_count(&g, total);
  return g;
}

static void grams_free(grams *g) {
  free(g->at);
  free(g->times);
}

/* clip[i] = max(clip[i], min(count of n-gram i in hyp, its count in ref)); both are sorted. */
static void grams_clip(const grams *hyp, const grams *ref, size_t *clip) {
  size_t i = 0, k = 0, least;
  while (i < hyp->count && k < ref->count) {
    int order = text_compare(hyp->at[i], ref->at[k]);
    if (order == 0) {
      least = hyp->times[i] < ref->times[k] ? hyp->times[i] : ref->times[k];
      if (clip[i] < least) clip[i] = least;
    }
    i += order <= 0;
    k += order >= 0;
  }
}

/* Clipped matches: the sum over the n-grams of hyp of min(count in hyp, largest count in any one
   reference). */
static size_t matches(const units *hyp, const units *refs, size_t ref_count, size_t n) {
  grams h = grams_make(hyp, n), g;
  size_t *clip = (size_t *)take(h.count, sizeof *clip), i, r, sum = 0;
  for (r = 0; r < ref_count; r++) {
    g = grams_make(&refs[r], n);
    grams_clip(&h, &g, clip);
    grams_free(&g);
  }
  for (i = 0; i < h.count; i++) sum += clip[i];
  free(clip);
  grams_free(&h);
  return sum;
}

/* -- bleu: Papineni et al. 2002 as sacrebleu computes it (Post 2018) -- */

/* Replaces every `what` by `with`, which must not be longer, from left to right. */
static void replace(buffer *b, const char *what, const char *with) {
  size_t size = strlen(what), put_size = strlen(with), i = 0, k = 0;
  while (i < b->size) {
    if (b->size - i >= size && memcmp(b->at + i, what, size) == 0) {
      memcpy(b->at + k, with, put_size);
      k += put_size;
      i += size;
    } else {
      b->at[k++] = b->at[i++];
    }
  }
  b->size = k;
}

static int is_digit(int c) { return c >= '0' && c <= '9'; }
static int is_no_digit(int c) { return !is_digit(c); }
static int is_point(int c) { return c == '.' || c == ','; }
static int is_dash(int c) { return c == '-'; }
/* ASCII punctuation except ' , - and . */
static int is_mark(int c) { return c && strchr("!\"#$%&()*+/:;<=>?@[\\]^_`{|}~", c); }

/* ASCII punctuation. */
static int is_ascii_mark(int c) { return is_mark(c) || c == '\'' || is_point(c) || is_dash(c); }

/* Replaces each pair xy with first(x) and second(y), from left to right without overlap, by " x y"
   (before = 1) or "x y " (before = 0). Works on bytes: those above ASCII are
   non-digits, as the characters are. */
static void separate_pairs(buffer *b, int (*first)(int), int (*second)(int), int before) {
  buffer out = {NULL, 0, 0};
  size_t i = 0;
  while (i < b->size) {
    const unsigned char *x = (const unsigned char *)b->at + i;
    int pair = i + 1 < b->size && first(x[0]) && second(x[1]);
    if (pair && before) put_byte(&out, ' ');
    put_byte(&out, b->at[i++]);
    if (!pair) continue;
    put_byte(&out, ' ');
    put_byte(&out, b->at[i++]);
    if (!before) put_byte(&out, ' ');
  }
  free(b->at);
  *b = out;
}

/* Puts spaces around punctuation, then separates a point or comma from a non-digit before or after
   it, then a dash from a digit before it. Each pass works on the result of the one before: "a,,b"
   and "1.-" depend on it. */
static void split_marks(units *u, const buffer *b) {
  buffer out = {NULL, 0, 0};
  size_t i;
  for (i = 0; i < b->size; i++) {
    int mark = is_mark((unsigned char)b->at[i]);
    if (mark) put_byte(&out, ' ');
    put_byte(&out, b->at[i]);
    if (mark) put_byte(&out, ' ');
  }
  separate_pairs(&out, is_no_digit, is_point, 0);
  separate_pairs(&out, is_point, is_no_digit, 1);
  separate_pairs(&out, is_digit, is_dash, 0);
  split_words(u, buffer_text(&out));
  free(out.at);
}

/* The tokenizer 13a (mteval-v13a): replaces entities, then separates marks. */
static void split_13a(units *u, syn_text line) {
  buffer b = {NULL, 0, 0};
  put_byte(&b, ' ');
  put(&b, line.at, line.size);
  put_byte(&b, ' ');
  replace(&b, "<skipped>", "");
  replace(&b, "&quot;", "\"");
  replace(&b, "&amp;", "&");
  replace(&b, "&lt;", "<");
  replace(&b, "&gt;", ">");
  split_marks(u, &b);
  free(b.at);
}

/* The characters that the tokenizer zh makes words, with the limits that published scores have: not
   those above U+FFFF, but U+2001 to U+2A6D, which are dashes, quotation marks, arrows. */
static int is_chinese(uint32_t c) {
  static const uint16_t ranges[][2] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F}, {0x31A0, 0x31BF},
      {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D},
      {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  size_t i;
  for (i = 0; i < COUNT(ranges); i++)
    if (c >= ranges[i][0] && c <= ranges[i][1]) return 1;
  return 0;
}

/* Without the white space at both ends. */
static syn_text text_strip(syn_text t) {
  size_t i, size, end = 0;
  uint32_t code;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (!syn_is_space(code)) end = i + size;
    else if (!end) t.at += size, t.size -= size, size = 0;
  }
  t.size = end;
  return t;
}

/* The tokenizer zh: each Chinese character is a word; the rest as 13a, without its entities. */
static void split_zh(units *u, syn_text line) {
  buffer b = {NULL, 0, 0};
  uint32_t code;
  size_t i, size;
  line = text_strip(line);
  for (i = 0; i < line.size; i += size) {
    int alone;
    size = decode(line, i, &code);
    alone = is_chinese(code);
    if (alone) put_byte(&b, ' ');
    put(&b, line.at + i, size);
    if (alone) put_byte(&b, ' ');
  }
  split_marks(u, &b);
  free(b.at);
}

/* The reference length nearest to that of the output; the shorter of two equally near ones. */
static size_t nearest_length(const example *e) {
  size_t best = e->refs[0].count, r;
  for (r = 1; r < e->ref_count; r++) {
    size_t len = e->refs[r].count, h = e->hyp.count;
    size_t gap = len > h ? len - h : h - len, least = best > h ? best - h : h - best;
    if (gap < least || (gap == least && len < best)) best = len;
  }
  return best;
}

/* BLEU = BP (p1 p2 p3 p4)^(1/4), p_n = matches / n-grams over the whole corpus, BP = 1 when the
   output is as long as the references or longer, else e^(1 - r/h). The k-th p_n without a match is
   1 / (2^k n-grams) (smoothing "exp"). Without any match or any 4-gram the value is 0. BLEU-1 has
   one order instead of four: BP p1. */

/* BLEU is no mean over sentences: matches [4], n-grams [4] and both lengths are summed. */
static void bleu_line(const corpus *c, size_t i, int unused, double *k) {
  example e = example_make(c, i, c->options->words);
  size_t n;
  UNUSED(unused);
  for (n = 0; n < 4; n++) {
    k[n] = (double)matches(&e.hyp, e.refs, e.ref_count, n + 1);
    k[4 + n] = (double)grams_in(&e.hyp, n + 1);
  }
  k[8] = (double)e.hyp.count;
  k[9] = (double)nearest_length(&e);
  example_free(&e);
}
static double bleu_of(const double *k, double count, int orders) {
  const double *hit = k, *total = k + 4, h = k[8], r = k[9];
  double logs = 0.0, smooth = 1.0;
  int n;
  UNUSED(count);
  if (hit[0] <= 0.0 || total[orders - 1] <= 0.0) return 0.0;
  for (n = 0; n < orders; n++) {
    if (hit[n] <= 0.0) smooth *= 2.0;
    logs += log((hit[n] > 0.0 ? hit[n] : 1.0 / smooth) / total[n]);
  }
  return 100.0 * exp(logs / orders) * (h < r ? exp(1.0 - r / h) : 1.0);
}

/* -- chrF2, chrF2++: Popovic 2015, 2016, 2017, as in sacrebleu 2 -- */

#define CHRF_ORDERS 8 /* n-grams of 1 to 6 characters; chrF++: also of 1 and 2 words */

typedef struct chrf_counts {
  double hyp[CHRF_ORDERS], ref[CHRF_ORDERS], hit[CHRF_ORDERS];
} chrf_counts;

/* F = (1 + 4) P R / (4 P + R), P and R the means over the orders of which both sides have
   n-grams. */
static double chrf_value(const chrf_counts *k) {
  double p = 0.0, r = 0.0;
  int n, orders = 0;
  for (n = 0; n < CHRF_ORDERS; n++) {
    if (k->hyp[n] <= 0.0 || k->ref[n] <= 0.0) continue;
    p += k->hit[n] / k->hyp[n];
    r += k->hit[n] / k->ref[n];
    orders++;
  }
  if (p + r <= 0.0) return 0.0;
  p /= orders;
  r /= orders;
  return 100.0 * 5.0 * p * r / (4.0 * p + r);
}

/* Words of chrF++: a mark at the end of a word is a word; without one, a mark at its beginning. */
static void split_edges(units *u, syn_text line) {
  units words;
  size_t i;
  memset(&words, 0, sizeof words);
  split_words(&words, line);
  for (i = 0; i < words.count; i++) {
    syn_text w = units_slice(&words, i, 1);
    size_t cut = w.size;
    if (w.size > 1 && is_ascii_mark(w.at[w.size - 1])) cut = w.size - 1;
    else if (w.size > 1 && is_ascii_mark(w.at[0])) cut = 1;
    unit_put_word(u, w.at, cut);
    if (cut < w.size) unit_put_word(u, w.at + cut, w.size - cut);
  }
  units_free(&words);
}

/* For the orders 1 ... most, written from index `at` on: n-grams of the output, n-grams of the
   reference, clipped matches. */
static void chrf_count(chrf_counts *k, size_t at, size_t most, const units *hyp, const units *ref) {
  size_t n;
  for (n = 1; n <= most; n++, at++) {
    k->ref[at] = (double)grams_in(ref, n);
    /* an order of which the reference has no n-gram does not count */
    k->hyp[at] = k->ref[at] > 0.0 ? (double)grams_in(hyp, n) : 0.0;
    k->hit[at] = (double)matches(hyp, ref, 1, n);
  }
}

/* The counts of the best reference of each line are summed, then F is computed once. `words`: the
   longest n-gram of words. */
static void chrf_line(const corpus *c, size_t i, int words, double *k) {
  example letters = example_make(c, i, split_characters), e = example_make(c, i, split_edges);
  chrf_counts best, other;
  size_t r;
  for (r = 0; r < letters.ref_count; r++) {
    memset(&other, 0, sizeof other);
    chrf_count(&other, 0, 6, &letters.hyp, &letters.refs[r]);
    chrf_count(&other, 6, (size_t)words, &e.hyp, &e.refs[r]);
    if (!r || chrf_value(&other) > chrf_value(&best)) best = other;
  }
  memcpy(k, &best, sizeof best); /* 3 CHRF_ORDERS numbers */
  example_free(&letters);
  example_free(&e);
}
static double chrf_of(const double *k, double n, int unused) {
  chrf_counts sum;
  UNUSED(n);
  UNUSED(unused);
  memcpy(&sum, k, sizeof sum);
  return chrf_value(&sum);
}

/* -- exact, accuracy, wer -- */

/* A class is one text, with all of its white space. */
static void split_whole(units *u, syn_text line) {
  if (line.size) unit_put(u, line.at, line.size);
}

/* The share of lines whose output equals an alternative, whatever white space is between words; of
   accuracy in every byte. The second count also has those that differ in white space. */
static void exact_line(const corpus *c, size_t i, int whole, double *k) {
  splitter split[2];
  size_t r, n;
  split[0] = whole ? split_whole : c->options->line;
  split[1] = split_words;
  for (n = 0; n < 2; n++) {
    example e = example_make(c, i, split[n]);
    for (r = 0; r < e.ref_count; r++)
      if (text_equal(buffer_text(&e.hyp.text), buffer_text(&e.refs[r].text))) k[n] = 1.0;
    example_free(&e);
  }
}
static double mean_of(const double *k, double n, int unused) {
  UNUSED(unused);
  return 100.0 * k[0] / n;
}

/* Edits and words of the reference: sum of the edit distances to the nearest alternatives, in
   words, divided by the sum of the lengths of those (the first of equally near ones). */
static void wer_line(const corpus *c, size_t i, int unused, double *k) {
  example e = example_make(c, i, split_words);
  size_t least = units_distance(&e.hyp, &e.refs[0]), best = 0, r, d;
  UNUSED(unused);
  for (r = 1; r < e.ref_count; r++) {
    d = units_distance(&e.hyp, &e.refs[r]);
    if (d < least) least = d, best = r;
  }
  k[0] = (double)least;
  k[1] = (double)e.refs[best].count;
  example_free(&e);
}
static double edits_of(const double *k, double n, int unused) {
  UNUSED(n);
  UNUSED(unused);
  return k[1] > 0.0 ? 100.0 * k[0] / k[1] : k[0] > 0.0 ? 100.0 : 0.0;
}

/* -- ter: Snover et al. 2006, after tercom as in sacrebleu 2 with its defaults -- */

/* Edits are insertions, deletions and substitutions of words, and shifts of a run of words. The
   best shift is made as long as it lowers the edit distance. Limits and preferences are those of
   the published programs, because the value depends on them: even the edit distance is computed in
   a band around the diagonal. So the memory grows linearly with the words of a line, and the time
   is at most that of TER_CANDIDATES distances and searches for shifts. */

#define TER_SHIFT_WORDS 10
#define TER_SHIFT_DISTANCE 50
#define TER_BAND 25
#define TER_CANDIDATES 1000 /* shifts that are tried for a line */
#define TER_FAR (SIZE_MAX / 2)

enum { TER_SAME, TER_REPLACE, TER_REMOVE, TER_INSERT };

/* Distances of the first i words of the output to the first begin ... end-1 of the reference. */
typedef struct ter_row {
  size_t begin, end, *cost; /* [end - begin] */
  char *edit;               /* [end - begin] the last one of each */
} ter_row;

typedef struct ter_text {
  size_t *hyp, *ref, *moved, hyps, refs; /* numbers of words; moved: hyp after a shift */
  size_t *align;              /* [refs] the words of the output up to this one of the reference */
  char *hyp_wrong, *ref_wrong; /* 1: the word is edited */
  ter_row *row, spare[2];     /* row [hyps+1] */
  size_t band, tried;
} ter_text;

/* A shift: by how much it lowers the distance, and which words are moved where. */
typedef struct ter_shift {
  long gain;
  size_t from, words, to;
} ter_shift;

static size_t ter_cost(const ter_row *r, size_t j) {
  return j >= r->begin && j < r->end ? r->cost[j - r->begin] : TER_FAR;
}

/* Sets the limits of row i > 0. */
static void ter_limits(const ter_text *t, size_t i, ter_row *row) {
  size_t middle = (size_t)floor((double)i * ((double)t->refs / (double)t->hyps));
  row->begin = middle > t->band ? middle - t->band : 0;
  row->end = middle + t->band < t->refs + 1 && i < t->hyps ? middle + t->band : t->refs + 1;
}

/* Computes row i from the one above; `word` is word i of the output. Of equal costs the first of
   substitution, deletion and insertion counts. */
static void ter_step(const ter_text *t, size_t i, size_t word, const ter_row *above, ter_row *row) {
  size_t j;
  ter_limits(t, i, row);
  for (j = row->begin; j < row->end; j++) {
    size_t *cost = row->cost + (j - row->begin), up = ter_cost(above, j) + 1;
    size_t slant = j ? ter_cost(above, j - 1) + (word != t->ref[j - 1]) : TER_FAR;
    char edit = j && word == t->ref[j - 1] ? TER_SAME : TER_REPLACE;
    *cost = slant < TER_FAR ? slant : TER_FAR;
    if (up < *cost) *cost = up, edit = TER_REMOVE;
    if (j > row->begin && cost[-1] + 1 < *cost) *cost = cost[-1] + 1, edit = TER_INSERT;
    row->edit[j - row->begin] = edit;
  }
}

/* Computes all rows, and follows the edits back: which words are edited and what stands where. */
static void ter_align(ter_text *t) {
  size_t i, j = t->refs;
  for (i = 1; i <= t->hyps; i++) ter_step(t, i, t->hyp[i - 1], &t->row[i - 1], &t->row[i]);
  for (i = t->hyps; i || j;) {
    char edit = t->row[i].edit[j - t->row[i].begin];
    if (edit != TER_REMOVE) t->align[j - 1] = i, t->ref_wrong[j - 1] = edit != TER_SAME;
    if (edit != TER_INSERT) t->hyp_wrong[i - 1] = edit != TER_SAME;
    i -= edit != TER_INSERT;
    j -= edit != TER_REMOVE;
  }
}

/* Writes `moved`, which differs from hyp at the places begin ... end-1. A target behind the moved
   words counts with them, one among them without. */
static void ter_move(ter_text *t, ter_shift s, size_t *begin, size_t *end) {
  size_t *out = t->moved, rest = t->hyps - s.words, i;
  if (s.to > s.from + s.words) s.to -= s.words;
  if (s.to > rest) s.to = rest;
  for (i = 0; i < rest; i++)
    out[i < s.to ? i : i + s.words] = t->hyp[i < s.from ? i : i + s.words];
  memcpy(out + s.to, t->hyp + s.from, s.words * sizeof *out);
  *begin = s.from < s.to ? s.from : s.to;
  *end = s.words + (s.from < s.to ? s.to : s.from);
}

/* Whether all costs of two rows of the same limits differ by the same *gap. */
static int ter_parallel(const ter_row *a, const ter_row *b, long *gap) {
  size_t i, n = a->end - a->begin;
  *gap = 0;
  for (i = n; i-- > 0;) {
    long apart = (long)a->cost[i] - (long)b->cost[i];
    if ((a->cost[i] == TER_FAR) != (b->cost[i] == TER_FAR)) return 0;
    if (i + 1 == n) *gap = apart;
    if (apart != *gap && a->cost[i] != TER_FAR) return 0;
  }
  return 1;
}

/* By how much the shift lowers the distance. Behind the words that moved, a row that differs from
   that of hyp by the same number in all columns does so to the end. */
static long ter_gain(ter_text *t, ter_shift s) {
  const ter_row *above;
  size_t i, end;
  long gap;
  ter_move(t, s, &i, &end);
  for (above = &t->row[i++]; i <= t->hyps; i++) {
    ter_step(t, i, t->moved[i - 1], above, &t->spare[i % 2]);
    above = &t->spare[i % 2];
    if (i >= end && i % 4 == 0 && ter_parallel(&t->row[i], above, &gap)) return gap;
  }
  return (long)ter_cost(&t->row[t->hyps], t->refs) - (long)ter_cost(above, t->refs);
}

static int ter_better(const ter_shift *a, const ter_shift *b) {
  if (!b->words) return 1;
  if (a->gain != b->gain) return a->gain > b->gain;
  if (a->words != b->words) return a->words > b->words;
  return a->from != b->from ? a->from < b->from : a->to < b->to;
}

/* Tries to move words of the output to where the same words stand in the reference, from word `at`
   on: before them and behind each of them. Only wrong words move, and only to where others are. */
static void ter_try(ter_text *t, ter_shift s, size_t at, ter_shift *best) {
  size_t k, last = SIZE_MAX;
  if (!memchr(t->hyp_wrong + s.from, 1, s.words) || !memchr(t->ref_wrong + at, 1, s.words)) return;
  if (t->align[at] > s.from && t->align[at] <= s.from + s.words) return;
  for (k = 0; k <= s.words; k++) {
    s.to = at + k ? t->align[at + k - 1] : 0;
    if (s.to == last) continue;
    last = s.to;
    s.gain = ter_gain(t, s);
    t->tried++;
    if (ter_better(&s, best)) *best = s;
  }
}

static ter_shift ter_best(ter_text *t) {
  ter_shift best = {0, 0, 0, 0}, s = {0, 0, 0, 0};
  size_t at;
  for (s.from = 0; s.from < t->hyps; s.from++) {
    at = s.from > TER_SHIFT_DISTANCE ? s.from - TER_SHIFT_DISTANCE : 0;
    for (; at < t->refs && at <= s.from + TER_SHIFT_DISTANCE; at++)
      for (s.words = 1; s.words <= TER_SHIFT_WORDS; s.words++) {
        size_t i = s.from + s.words - 1, j = at + s.words - 1;
        if (i >= t->hyps || j >= t->refs || t->hyp[i] != t->ref[j]) break;
        ter_try(t, s, at, &best);
        if (t->tried >= TER_CANDIDATES) return best;
      }
  }
  return best;
}

/* Gives each row its part of two blocks; row 0 has all columns. */
static void ter_rows(ter_text *t, size_t *cost, char *edit, size_t wide) {
  size_t i;
  for (i = 0; i <= t->refs; i++) cost[i] = i, edit[i] = TER_INSERT;
  t->row[0].end = t->refs + 1;
  t->row[0].cost = cost;
  t->row[0].edit = edit;
  for (i = 0; i < t->hyps + 2; i++) {
    ter_row *row = i < t->hyps ? &t->row[i + 1] : &t->spare[i - t->hyps];
    row->cost = cost + t->refs + 1 + i * wide;
    row->edit = edit + t->refs + 1 + i * wide;
  }
}

/* The edits of one reference. Once TER_CANDIDATES shifts were tried, no further one is made. */
static size_t ter_edits(const units *hyp, const units *ref) {
  size_t shifts = 0, wide, n = hyp->count + ref->count, *block, *cost, begin, end;
  double ratio = hyp->count ? (double)ref->count / (double)hyp->count : 1.0;
  ter_text t;
  char *flags, *edit;
  if (!ref->count) return hyp->count;
  memset(&t, 0, sizeof t);
  t.hyps = hyp->count, t.refs = ref->count;
  t.band = ratio / 2.0 > TER_BAND ? (size_t)ceil(ratio / 2.0 + TER_BAND) : TER_BAND;
  wide = 2 * t.band + 2;
  block = (size_t *)take(n, sizeof *block), flags = (char *)take(n, 1);
  t.hyp = units_number(hyp, ref), t.ref = t.hyp + t.hyps;
  t.moved = block, t.align = block + t.hyps;
  t.hyp_wrong = flags, t.ref_wrong = flags + t.hyps;
  t.row = (ter_row *)take(t.hyps + 1, sizeof *t.row);
  cost = (size_t *)take(size_mul(t.hyps + 2, wide) + t.refs + 1, sizeof *cost);
  edit = (char *)take(size_mul(t.hyps + 2, wide) + t.refs + 1, 1);
  ter_rows(&t, cost, edit, wide);
  for (;; shifts++) {
    ter_shift s;
    ter_align(&t);
    s = ter_best(&t);
    if (t.tried >= TER_CANDIDATES || s.gain <= 0) break;
    ter_move(&t, s, &begin, &end);
    memcpy(t.hyp, t.moved, t.hyps * sizeof *t.hyp);
  }
  shifts += ter_cost(&t.row[t.hyps], t.refs);
  free(t.hyp), free(block), free(flags);
  free(t.row), free(cost), free(edit);
  return shifts;
}

/* The fewest edits to any alternative, and the mean of the words of all. */
static void ter_line(const corpus *c, size_t i, int unused, double *k) {
  example e = example_lower(c, i, split_words);
  size_t r, least = SIZE_MAX, edits, words = 0;
  UNUSED(unused);
  for (r = 0; r < e.ref_count; r++) {
    edits = ter_edits(&e.hyp, &e.refs[r]);
    if (edits < least) least = edits;
    words += e.refs[r].count;
  }
  k[0] = (double)least;
  k[1] = (double)words / (double)e.ref_count;
  example_free(&e);
}

/* -- rouge: Lin 2004, F1, mean over lines, best alternative; as rouge_score without stemming -- */

/* Words of a-z and 0-9; all other bytes separate them. */
static void split_rouge(units *u, syn_text line) {
  buffer b = {NULL, 0, 0};
  size_t i;
  for (i = 0; i < line.size; i++) {
    char c = line.at[i];
    put_byte(&b, is_digit(c) || (c >= 'a' && c <= 'z') ? c : ' ');
  }
  split_words(u, buffer_text(&b));
  free(b.at);
}

/* Runs of characters from U+0000 on, in turn without and with a letter, mark or digit: the
   categories L, M and N of Unicode 14. Characters without a category are in any run. */
static const uint32_t letter_runs[] = {
      48, 10, 7, 26, 6, 26, 47, 1, 7, 2, 1, 1, 3, 2, 1, 3, 1, 23, 1, 31, 1, 458, 4, 12, 14, 5, 7, 1,
      1, 1, 17, 117, 1, 8, 1, 5, 2, 1, 1, 110, 1, 139, 1, 215, 6, 41, 8, 45, 1, 1, 1, 2, 1, 2, 1,
      44, 29, 11, 5, 74, 4, 102, 1, 8, 2, 10, 1, 19, 2, 1, 16, 230, 4, 4, 2, 48, 16, 30, 2, 40, 1,
      7, 8, 74, 1, 129, 2, 10, 1, 129, 2, 6, 2, 1, 1, 120, 11, 111, 9, 119, 1, 130, 13, 119, 1, 7,
      1, 4, 1, 202, 5, 37, 1, 122, 13, 62, 1, 15, 1, 10, 39, 128, 23, 2, 6, 20, 1, 1, 1, 1, 1, 1, 4,
      71, 1, 56, 8, 1, 57, 74, 6, 78, 2, 91, 1, 612, 9, 39, 16, 96, 1, 620, 2, 17, 1, 26, 5, 75, 3,
      71, 11, 148, 3, 1, 4, 36, 11, 3, 1, 305, 6, 152, 34, 30, 2, 128, 7, 1, 8, 170, 17, 9, 12, 124,
      4, 59, 5, 62, 2, 64, 16, 3, 1, 745, 1, 1, 3, 11, 3, 13, 3, 13, 5, 11, 115, 10, 5, 11, 6, 16,
      48, 48, 2, 1, 4, 1, 2, 10, 1, 1, 3, 5, 6, 1, 1, 1, 1, 1, 1, 4, 1, 11, 2, 4, 5, 5, 4, 1, 1, 58,
      726, 60, 78, 22, 630, 30, 1132, 229, 6, 14, 4, 1, 2, 112, 15, 129, 47, 1, 469, 3, 25, 15, 1,
      5, 2, 5, 4, 90, 2, 3, 1, 90, 1, 148, 2, 4, 10, 32, 48, 16, 32, 10, 30, 8, 1, 15, 32, 10, 39,
      15, 320, 6592, 64, 22160, 64, 46, 2, 269, 3, 99, 1, 10, 1, 115, 37, 9, 2, 103, 2, 157, 4, 10,
      10, 52, 12, 78, 2, 40, 3, 1, 1, 49, 2, 47, 1, 97, 14, 15, 2, 124, 4, 23, 3, 100, 2, 16, 2,
      105, 1, 14, 6, 123, 1, 20285, 1, 136, 33, 363, 18, 127, 33, 12, 4, 16, 16, 16, 64, 143, 17,
      10, 7, 26, 6, 26, 11, 122, 32, 256, 7, 48, 9, 57, 17, 2, 113, 418, 1, 48, 1, 414, 1, 743, 1,
      31, 2, 166, 1, 31, 65, 208, 16, 31, 1, 72, 1, 39, 16, 57, 7, 89, 16, 772, 3, 165, 27, 22, 42,
      151, 11, 105, 7, 11, 3, 112, 4, 48, 2, 79, 4, 4, 1, 13, 1, 1, 4, 87, 6, 107, 7, 411, 5, 10, 4,
      104, 1, 250, 23, 105, 3, 28, 32, 57, 7, 124, 4, 251, 101, 164, 12, 146, 1, 92, 8, 83, 3, 1,
      18, 401, 15, 32, 2, 645, 185, 37, 43, 1136, 16, 2929, 15, 1072, 4048, 9838, 2, 133, 11, 55, 9,
      4, 12, 839, 105, 226, 1, 19641, 1, 2, 4705, 80, 533, 5, 3, 6, 8, 8, 2, 7, 30, 4, 148, 3, 155,
      32, 96, 865, 1, 25, 1, 31, 1, 25, 1, 31, 1, 25, 1, 31, 1, 25, 1, 31, 1, 25, 1, 60, 512, 55, 4,
      50, 8, 1, 14, 1, 22, 1716, 321, 111, 1249, 382, 787, 59, 1, 3, 1, 125, 1, 449, 528, 13, 2787,
      787473, 255, 196352};

/* Whether a character is a letter, a mark on one, or a digit. */
static int is_letter(uint32_t code) {
  size_t i;
  uint32_t end = 0;
  for (i = 0; i < COUNT(letter_runs); i++) {
    end += letter_runs[i];
    if (code < end) return i % 2;
  }
  return 0;
}

/* Words of the letters and digits of all languages. */
static void split_letters(units *u, syn_text line) {
  buffer b = {NULL, 0, 0};
  uint32_t code;
  size_t i, size;
  for (i = 0; i < line.size; i += size) {
    size = decode(line, i, &code);
    if (is_letter(code)) put(&b, line.at + i, size);
    else put_byte(&b, ' ');
  }
  split_words(u, buffer_text(&b));
  free(b.at);
}

/* F1 = 2 hits / (n-grams of hyp + n-grams of ref); order 0: hits of the longest common
   subsequence. */
static double rouge_value(const units *hyp, const units *ref, size_t order) {
  size_t hit = order ? matches(hyp, ref, 1, order) : units_common(hyp, ref);
  size_t n = order ? order : 1;
  return hit ? 2.0 * (double)hit / (double)(grams_in(hyp, n) + grams_in(ref, n)) : 0.0;
}

/* The mean over lines of the best alternative (rouge_score: score_multi). k[1] counts references
   of which no letter counts, see note_rouge. */
static void rouge_line(const corpus *c, size_t i, int order, double *k) {
  example e = example_lower(c, i, c->options->letters);
  double value;
  size_t r;
  k[1] = text_strip(c->ref[i]).size > 0;
  for (r = 0; r < e.ref_count; r++) {
    value = rouge_value(&e.hyp, &e.refs[r], (size_t)order);
    if (value > k[0]) k[0] = value;
    if (e.refs[r].count) k[1] = 0.0;
  }
  example_free(&e);
}

/* -- rougeLsum: Lin 2004, section 3.2 "summary-level LCS"; as rouge_score without stemming -- */

/* A summary: the words of all its sentences; sentence s ends before word end[s]. */
typedef struct summary {
  units words;
  size_t *end, count;
} summary;

/* Splits a summary into sentences. rouge_score splits at line ends, but here a summary is one line,
   so a mark stands for them: "<q>", as in the files of PreSumm (Liu and Lapata 2019), unless
   --sentences names another one. A text without the mark is one sentence; rougeLsum is then
   rougeL. */
static summary summary_make(syn_text t, const metric_options *o) {
  const char *mark = o->sentences;
  size_t size = strlen(mark), i = 0, begin = 0, most = 1;
  summary s;
  memset(&s, 0, sizeof s);
  for (i = 0; i < t.size; i++) most += size && t.at[i] == mark[0];
  s.end = (size_t *)take(most, sizeof *s.end);
  for (i = 0; i <= t.size; i++) {
    int marked = size && t.size - i >= size && memcmp(t.at + i, mark, size) == 0;
    buffer low = {NULL, 0, 0};
    syn_text sentence;
    if (i < t.size && !marked) continue;
    sentence.at = t.at + begin;
    sentence.size = i - begin;
    put_normalized(&low, sentence, o->form | SYN_LOWERCASE);
    o->letters(&s.words, buffer_text(&low));
    free(low.at);
    s.end[s.count++] = s.words.count;
    if (marked) begin = i + size, i = begin - 1;
  }
  return s;
}

static void summary_free(summary *s) {
  units_free(&s->words);
  free(s->end);
}

/* What the traceback reads: the numbers of a sentence of the reference, the columns of a sentence
   of the output, and where to mark words of the former. */
typedef struct common_words {
  subsequence columns;
  const size_t *words;
  char *marked;
} common_words;

/* The traceback from row i = low+1 to row `low`; `row` holds the bits of row `low` and, after them,
   those of row i. Where it can skip a word of either sentence, it skips the word of the reference,
   like rouge_score: j decreases only where length(i, j-1) > length(i-1, j). That is where row i is
   longer than row i-1, and then up to the next equal word. Returns the column that is reached. */
static size_t common_row(const common_words *c, size_t low, const uint64_t *row, size_t j) {
  const size_t *columns = c->columns.b;
  int longer = subsequence_length(row + c->columns.wide, j) > subsequence_length(row, j);
  while (longer && j && columns[j - 1] != c->words[low]) j--;
  if (!j || columns[j - 1] != c->words[low]) return j;
  c->marked[low] = 1;
  return j - 1;
}

/* The traceback from row `high` to row `low` in linear memory: computes the row in the middle, then
   follows both halves (after Hirschberg 1975). `row` holds row `low`; rows that are computed follow
   it. */
static size_t common_trace(const common_words *c, size_t low, size_t high, uint64_t *row,
                           size_t j) {
  size_t wide = c->columns.wide, i, middle = high - low > 1 ? low + (high - low) / 2 : high;
  if (low == high || !j) return j;
  memcpy(row + wide, row, wide * sizeof *row);
  for (i = low; i < middle; i++) subsequence_step(&c->columns, c->words[i], row + wide);
  if (middle == high) return common_row(c, low, row, j);
  j = common_trace(c, middle, high, row + wide, j);
  return common_trace(c, low, middle, row, j);
}

/* Marks the words of ref that are in its longest common subsequences with sentence k of hyp.
   number: those of the words of ref, then of hyp; of: zeros, see subsequence_open. */
static void mark_common(const summary *ref, const summary *hyp, size_t k, const size_t *number,
                        number_columns *of, char *marked) {
  size_t begin = k ? hyp->end[k - 1] : 0, s, words = 0, levels = 3;
  common_words c;
  uint64_t *row;
  for (s = ref->words.count; s; s /= 2) levels++;
  c.columns = subsequence_open(number + ref->words.count + begin, hyp->end[k] - begin, of);
  row = (uint64_t *)take(size_mul(c.columns.wide, levels), sizeof *row);
  for (s = 0; s < ref->count; words = ref->end[s++]) {
    memset(row, 0xFF, c.columns.wide * sizeof *row);
    c.words = number + words;
    c.marked = marked + words;
    common_trace(&c, 0, ref->end[s] - words, row, c.columns.count);
  }
  subsequence_close(&c.columns);
  free(row);
}

/* F1 of the hits: words in the union of the longest common subsequences of each reference sentence
   with all output sentences, a word at most as often as it occurs in the output. */
static double summary_value(const summary *hyp, const summary *ref) {
  size_t n = ref->words.count, all = n + hyp->words.count, k, i, hit = 0;
  size_t *number = units_number(&ref->words, &hyp->words);
  number_columns *of = (number_columns *)take(all, sizeof *of);
  char *marked = (char *)take(n, 1);
  for (k = 0; k < hyp->count; k++) mark_common(ref, hyp, k, number, of, marked);
  for (i = n; i < all; i++) of[number[i]].last++; /* all 0 before: now how often a word occurs */
  for (i = 0; i < n; i++)
    if (marked[i] && of[number[i]].last) of[number[i]].last--, hit++;
  free(marked);
  free(of);
  free(number);
  return hit ? 2.0 * (double)hit / (double)all : 0.0;
}

/* The mean over lines of the best alternative. */
static void rouge_sum_line(const corpus *c, size_t i, int unused, double *k) {
  syn_text rest = c->ref[i], piece;
  summary hyp = summary_make(c->hyp[i], c->options), ref;
  double value;
  UNUSED(unused);
  k[1] = text_strip(c->ref[i]).size > 0;
  while (next_alternative(&rest, c->options->alternatives, &piece)) {
    ref = summary_make(piece, c->options);
    value = summary_value(&hyp, &ref);
    if (value > k[0]) k[0] = value;
    if (ref.words.count) k[1] = 0.0;
    summary_free(&ref);
  }
  summary_free(&hyp);
}

/* -- cider: CIDEr-D of Vedantam, Zitnick and Parikh 2015, section 4, as in their code -- */

#define CIDER_ORDER 4
#define CIDER_SIGMA 6.0

/* tf-idf of the n-grams of one text: g_w = (count of w) log(lines / lines whose references have w).
   The paper divides the counts by the length of the text. The authors' code, from which all
   published values come, does not, and neither does this one. */
typedef struct tf_idf {
  grams of;
  double *g, norm; /* g [of.count] */
} tf_idf;

/* Document counts: for each n-gram the number of lines with it in any reference. */
static grams document_counts(const example *e, size_t line_count, size_t n) {
  size_t total = 0, i, r, k;
  grams all, line;
  for (i = 0; i < line_count; i++)
    for (r = 0; r < e[i].ref_count; r++) total += grams_in(&e[i].refs[r], n);
  all = grams_new(total);
  for (total = 0, i = 0; i < line_count; i++) {
    size_t in_line = 0;
    for (r = 0; r < e[i].ref_count; r++) in_line += grams_in(&e[i].refs[r], n);
    line = grams_new(in_line);
    for (in_line = 0, r = 0; r < e[i].ref_count; r++)
      for (k = 0; k < grams_in(&e[i].refs[r], n); k++)
        line.at[in_line++] = units_slice(&e[i].refs[r], k, n);
    grams_count(&line, in_line);
    for (k = 0; k < line.count; k++) all.at[total++] = line.at[k];
    grams_free(&line);
  }
  grams_count(&all, total);
  return all;
}

static tf_idf tf_idf_make(const units *u, size_t n, const grams *documents, size_t line_count) {
  tf_idf t;
  size_t i;
  t.of = grams_make(u, n);
  t.g = (double *)take(t.of.count, sizeof *t.g);
  t.norm = 0.0;
  for (i = 0; i < t.of.count; i++) {
    const syn_text *at = (const syn_text *)bsearch(&t.of.at[i], documents->at, documents->count,
                                                   sizeof *at, text_order);
    double in = at ? (double)documents->times[at - documents->at] : 1.0;
    t.g[i] = (double)t.of.times[i] * (log((double)line_count) - log(in));
    t.norm += t.g[i] * t.g[i];
  }
  t.norm = sqrt(t.norm);
  return t;
}

static void tf_idf_free(tf_idf *t) {
  grams_free(&t->of);
  free(t->g);
}

/* sum_w min(h_w, r_w) r_w / (|h| |r|); both lists are sorted. */
static double clipped_cosine(const tf_idf *h, const tf_idf *r) {
  double sum = 0.0;
  size_t i = 0, k = 0;
  while (i < h->of.count && k < r->of.count) {
    int order = text_compare(h->of.at[i], r->of.at[k]);
    if (order == 0) sum += (h->g[i] < r->g[k] ? h->g[i] : r->g[k]) * r->g[k];
    i += order <= 0;
    k += order >= 0;
  }
  return h->norm > 0.0 && r->norm > 0.0 ? sum / (h->norm * r->norm) : 0.0;
}

/* The mean over the references of one line, for one order n. */
static double cider_line(const example *e, size_t n, const grams *documents, size_t line_count) {
  tf_idf h = tf_idf_make(&e->hyp, n, documents, line_count), r;
  double sum = 0.0, gap;
  size_t k;
  for (k = 0; k < e->ref_count; k++) {
    r = tf_idf_make(&e->refs[k], n, documents, line_count);
    gap = (double)e->hyp.count - (double)e->refs[k].count;
    sum += clipped_cosine(&h, &r) * exp(-gap * gap / (2.0 * CIDER_SIGMA * CIDER_SIGMA));
    tf_idf_free(&r);
  }
  tf_idf_free(&h);
  return sum / (double)e->ref_count;
}

/* CIDEr-D = 10/4 sum_n mean over lines and references of e^(-(|c|-|s|)^2 / 2 6^2) cosine_n(c, s).
   In per cent, as papers print it; the largest value is 1000. An n-gram that occurs in the
   references of every line has the weight 0, so a file of one line has the value 0. */
static void cider_lines(const corpus *c, int unused, double *k) {
  example *e = (example *)take(c->n, sizeof *e);
  size_t i, n;
  UNUSED(unused);
  for (i = 0; i < c->n; i++) e[i] = example_make(c, i, c->options->words);
  for (n = 1; n <= CIDER_ORDER; n++) {
    grams documents = document_counts(e, c->n, n);
    for (i = 0; i < c->n; i++)
      k[i * METRIC_COUNTS] += 10.0 / CIDER_ORDER * cider_line(&e[i], n, &documents, c->n);
    grams_free(&documents);
  }
  for (i = 0; i < c->n; i++) example_free(&e[i]);
  free(e);
}

/* -- stems of English words: Porter 1980, "An algorithm for suffix stripping" -- */

/* With the three changes of the author's later program (tartarus.org/martin/PorterStemmer): words
   of one or two letters do not change, step 2 has bli -> ble for abli -> able, and logi -> log. */

typedef struct stem_rule {
  const char *from, *to;
} stem_rule;

/* A consonant is a letter other than a e i o u, and other than y after a consonant. So the loops go
   back over a run of y to the letter before it, then forward again. */
static int is_consonant(const char *w, size_t i) {
  int consonant = 1;
  size_t k = i;
  while (k > 0 && w[k] == 'y') k--;
  if (w[k] != 'y') consonant = !strchr("aeiou", w[k]);
  for (; k < i; k++) consonant = !consonant;
  return consonant;
}

/* The measure m of a word [C](VC)^m[V]: how often a consonant follows a vowel. */
static size_t stem_measure(const char *w, size_t size) {
  size_t i, m = 0;
  for (i = 1; i < size; i++) m += is_consonant(w, i) && !is_consonant(w, i - 1);
  return m;
}

/* The condition *v* of the paper: there is a vowel. */
static int has_vowel(const char *w, size_t size) {
  size_t i;
  for (i = 0; i < size; i++)
    if (!is_consonant(w, i)) return 1;
  return 0;
}
/* The condition *d: ends in a double consonant. */
static int ends_double(const char *w, size_t size) {
  return size > 1 && w[size - 1] == w[size - 2] && is_consonant(w, size - 1);
}
/* The condition *o: ends in consonant, vowel, consonant other than w x y. */
static int ends_short(const char *w, size_t size) {
  return size > 2 && is_consonant(w, size - 3) && !is_consonant(w, size - 2) &&
         is_consonant(w, size - 1) && !strchr("wxy", w[size - 1]);
}

/* Whether w ends in `end`; *rest: the number of letters before it. */
static int ends_in(const buffer *w, const char *end, size_t *rest) {
  size_t size = strlen(end);
  if (w->size < size || memcmp(w->at + w->size - size, end, size) != 0) return 0;
  *rest = w->size - size;
  return 1;
}
static void stem_put(buffer *w, size_t rest, const char *to) {
  w->size = rest;
  put(w, to, strlen(to));
}

/* Applies the rule with the longest matching ending, if the measure of the letters before it is
   above `above`; "ion" (step 4) also requires s or t before it. */
static void stem_by(buffer *w, const stem_rule *rules, size_t above) {
  const stem_rule *best = NULL;
  size_t rest = 0, least = 0;
  for (; rules->from; rules++)
    if (ends_in(w, rules->from, &rest) && (!best || rest < least)) best = rules, least = rest;
  if (!best || stem_measure(w->at, least) <= above) return;
  if (strcmp(best->from, "ion") == 0 && !(least && strchr("st", w->at[least - 1]))) return;
  stem_put(w, least, best->to);
}

/* Step 1: plurals and participles. */
static void stem_step_1(buffer *w) {
  static const stem_rule plurals[] = {
      {"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}, {NULL, NULL}};
  const stem_rule *rule = plurals;
  size_t rest;
  int cut = 0;
  while (rule->from && !ends_in(w, rule->from, &rest)) rule++;
  if (rule->from) stem_put(w, rest, rule->to);
  if (ends_in(w, "eed", &rest)) {
    if (stem_measure(w->at, rest) > 0) w->size--;
  } else if (ends_in(w, "ed", &rest) || ends_in(w, "ing", &rest)) {
    cut = has_vowel(w->at, rest);
    if (cut) w->size = rest;
  }
  if (cut && (ends_in(w, "at", &rest) || ends_in(w, "bl", &rest) || ends_in(w, "iz", &rest)))
    put_byte(w, 'e');
  else if (cut && ends_double(w->at, w->size) && !strchr("lsz", w->at[w->size - 1])) w->size--;
  else if (cut && stem_measure(w->at, w->size) == 1 && ends_short(w->at, w->size)) put_byte(w, 'e');
  if (ends_in(w, "y", &rest) && has_vowel(w->at, rest)) w->at[rest] = 'i';
}

/* Step 5: a last e, a double l. */
static void stem_step_5(buffer *w) {
  size_t rest, m;
  if (ends_in(w, "e", &rest)) {
    m = stem_measure(w->at, rest);
    if (m > 1 || (m == 1 && !ends_short(w->at, rest))) w->size = rest;
  }
  if (ends_in(w, "ll", &rest) && stem_measure(w->at, w->size) > 1) w->size--;
}

static const stem_rule stem_step_2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"},  {"izer", "ize"},
    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},      {"ousli", "ous"},
    {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},   {"iveness", "ive"},
    {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"},  {"biliti", "ble"},
    {"logi", "log"},    {NULL, NULL}};
static const stem_rule stem_step_3[] = {
    {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
    {"ical", "ic"},  {"ful", ""},   {"ness", ""},    {NULL, NULL}};
static const stem_rule stem_step_4[] = {
    {"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},  {"ic", ""},  {"able", ""}, {"ible", ""},
    {"ant", ""},  {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ion", ""}, {"ou", ""},   {"ism", ""},
    {"ate", ""},  {"iti", ""},  {"ous", ""},  {"ive", ""}, {"ize", ""}, {NULL, NULL}};

/* Appends the stem of a word. A word with other bytes than a-z, or of 64 and more, does not
   change. */
static void put_stem(buffer *out, syn_text word) {
  buffer w = {NULL, 0, 0};
  size_t i;
  put(&w, word.at, word.size);
  for (i = 0; i < w.size && w.at[i] >= 'a' && w.at[i] <= 'z'; i++) continue;
  if (i == w.size && w.size > 2 && w.size < 64) {
    stem_step_1(&w);
    stem_by(&w, stem_step_2, 0);
    stem_by(&w, stem_step_3, 0);
    stem_by(&w, stem_step_4, 1);
    stem_step_5(&w);
  }
  put(out, w.at, w.size);
  free(w.at);
}

/* -- meteor, meteor-es: Banerjee and Lavie 2005, Lavie and Agarwal 2007 -- */

/* METEOR aligns words of the output with words of the reference: first equal words, then the other
   words with equal stems, then those with one meaning. meteor-es has the first two stages (exact,
   stem) and needs no file. Each stage makes as many pairs as possible, so the number of pairs for
   each word and for each stem follows from counts. Which words are paired is a choice: the
   alignment with the fewest chunks, where a chunk is a run of words that are neighbours in the same
   order on both sides (the rule since METEOR 1.0, Denkowski and Lavie 2010; in 2005: the fewest
   crossings). The third stage keeps the pairs of the first two, and continues chunks where it can:
   it does not search for the fewest. */

/* The file of --synonyms has a line for each meaning, the words that have it. They are compared by
   their stems, as "hounds" has the meanings of "hound". */
typedef struct synonym {
  syn_text stem;
  size_t meaning; /* number of its line */
} synonym;

typedef struct synonym_list {
  buffer stems;
  synonym *at; /* [count] sorted by stem, then meaning */
  size_t count;
} synonym_list;

static int synonym_order(const void *a, const void *b) {
  const synonym *x = (const synonym *)a, *y = (const synonym *)b;
  int order = text_compare(x->stem, y->stem);
  return order ? order : x->meaning < y->meaning ? -1 : x->meaning > y->meaning;
}

static synonym_list synonyms_read(const metric_options *o) {
  metric_options low = *o;
  lines file = read_lines(o->synonyms);
  units *u = (units *)take(file.count, sizeof *u);
  synonym_list s;
  size_t i, k, *end, words = 0, most = 0;
  check_zeros(buffer_text(&file.bytes), o->synonyms, 1);
  memset(&s, 0, sizeof s);
  low.form |= SYN_LOWERCASE;
  for (i = 0; i < file.count; i++) {
    u[i] = prepare(split_words, file.at[i], &low);
    words += u[i].count;
    if (u[i].count > most) most = u[i].count;
  }
  if (most < 2)
    fail(FAILED_JOB, "%s has no line with two words: a line has all words of one meaning, with "
         "blanks between", o->synonyms);
  s.at = (synonym *)take(words, sizeof *s.at);
  end = (size_t *)take(words, sizeof *end);
  for (i = 0; i < file.count; i++) {
    for (k = 0; k < u[i].count; k++) {
      put_stem(&s.stems, units_slice(&u[i], k, 1));
      s.at[s.count].meaning = i;
      end[s.count++] = s.stems.size;
    }
    units_free(&u[i]);
  }
  for (i = 0; i < s.count; i++) {
    s.at[i].stem.at = s.stems.at + (i ? end[i - 1] : 0);
    s.at[i].stem.size = end[i] - (i ? end[i - 1] : 0);
  }
  qsort(s.at, s.count, sizeof *s.at, synonym_order);
  free(end);
  free(u);
  lines_free(&file);
  return s;
}

static void synonyms_free(synonym_list *s) {
  free(s->at);
  free(s->stems.at);
}

/* The first entry of a stem; count: there is none. */
static size_t synonyms_find(const synonym_list *s, syn_text stem) {
  size_t low = 0, high = s->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (text_compare(s->at[middle].stem, stem) < 0) low = middle + 1;
    else high = middle;
  }
  return low < s->count && text_equal(s->at[low].stem, stem) ? low : s->count;
}

/* Whether the stems whose first entries are i and k have a meaning in common. *steps grows. */
static int synonyms_share(const synonym_list *s, size_t i, size_t k, size_t *steps) {
  const syn_text stem = s->at[i].stem, other = s->at[k].stem;
  while (i < s->count && k < s->count && text_equal(s->at[i].stem, stem) &&
         text_equal(s->at[k].stem, other)) {
    ++*steps;
    if (s->at[i].meaning == s->at[k].meaning) return 1;
    if (s->at[i].meaning < s->at[k].meaning) i++;
    else k++;
  }
  return 0;
}

#define METEOR_STEPS 100000 /* after so many steps of search the best so far is taken */
#define SYNONYM_STEPS 20000000 /* of the third stage: after so many no further pairs are made */
#define METEOR_NONE SIZE_MAX

/* A possible partner of word i: word `at` of the reference; run: how many words from here on have
   equal stems on both sides. Long lines may have too many: then the 32 (or more, see aligner_stems)
   with the longest runs are kept for each word, so that memory is linear in the words, and the
   search tries the others after these, in their order. */
typedef struct partner {
  size_t at, run;
} partner;

/* The state of the search. Equal words, and equal stems, have equal numbers. The quotas exact,
   hyp_left, ref_left, stemmed and skipped hold how many pairs are still to be made; all are 0 when
   the last word of the output is placed. */
typedef struct aligner {
  size_t hyp, ref;          /* words of both */
  size_t *word, *stem;      /* [hyp+ref] numbers; those of the output come first */
  size_t *exact;            /* by word: exact pairs */
  size_t *hyp_left, *ref_left; /* by word: words without an exact pair */
  size_t *stemmed, *skipped;   /* by stem: pairs of those left; words of the output without one */
  size_t *first;            /* [hyp+1] word i has the partners first[i] ... first[i+1]-1 */
  partner *partners;        /* the longest run first */
  size_t most;              /* partners that are kept for a word */
  size_t *stem_first;       /* by stem: 1 + its first word of the reference, or 0 */
  size_t *stem_next;        /* [ref] 1 + the next word with this stem, or 0 */
  size_t *more;             /* [hyp] 1 + the next word to try after the partners, or 0 */
  size_t *forced;           /* [hyp+1] chunks that words i ... hyp-1 begin in any alignment */
  size_t *choice, *option;  /* [hyp] the partner or METEOR_NONE; number of options tried */
  size_t *kept;             /* [hyp] the partners of the best alignment */
  char *used;               /* [ref] */
  size_t pairs, chunks, best;
  const synonym_list *synonyms; /* null: no third stage */
  size_t *entry;            /* [hyp+ref] synonyms_find of the stem */
  size_t *left, left_count; /* [ref] words of the reference for the third stage */
  size_t *of, *from;        /* [ref] the word of the output that has it, or METEOR_NONE; the word
                               from which aligner_augment reached it */
  size_t *queue;            /* [hyp] words from which it searches */
  size_t steps;             /* of the third stage */
} aligner;

static void aligner_number(aligner *a, const units *hyp, const units *ref) {
  size_t n = a->hyp + a->ref, i, begin;
  syn_text *texts = (syn_text *)take(n, sizeof *texts);
  size_t *end = (size_t *)take(n + 1, sizeof *end);
  buffer stems = {NULL, 0, 0};
  for (i = 0; i < n; i++) {
    texts[i] = i < a->hyp ? units_slice(hyp, i, 1) : units_slice(ref, i - a->hyp, 1);
    put_stem(&stems, texts[i]);
    end[i] = stems.size;
  }
  number_texts(texts, n, a->word);
  for (i = 0, begin = 0; i < n; begin = end[i++]) {
    texts[i].at = stems.at + begin;
    texts[i].size = end[i] - begin;
  }
  number_texts(texts, n, a->stem);
  for (i = 0; a->synonyms && i < n; i++) a->entry[i] = synonyms_find(a->synonyms, texts[i]);
  free(stems.at);
  free(texts);
  free(end);
}

/* A word that occurs h times in the output and r times in the reference has min(h, r) exact pairs.
   A stem of which h and r words are then left has min(h, r) pairs by stem. */
static void aligner_quotas(aligner *a) {
  size_t n = a->hyp + a->ref, i, least;
  size_t *right = (size_t *)take(n, sizeof *right), *of = (size_t *)take(n, sizeof *of);
  for (i = 0; i < n; i++) of[a->word[i]] = a->stem[i];
  for (i = 0; i < n; i++) (i < a->hyp ? a->hyp_left : a->ref_left)[a->word[i]]++;
  for (i = 0; i < n; i++) { /* i is the number of a word */
    least = a->hyp_left[i] < a->ref_left[i] ? a->hyp_left[i] : a->ref_left[i];
    a->exact[i] = least;
    a->hyp_left[i] -= least;
    a->ref_left[i] -= least;
    a->pairs += least;
    a->skipped[of[i]] += a->hyp_left[i];
    right[of[i]] += a->ref_left[i];
  }
  for (i = 0; i < n; i++) { /* i is the number of a stem */
    a->stemmed[i] = a->skipped[i] < right[i] ? a->skipped[i] : right[i];
    a->skipped[i] -= a->stemmed[i];
    a->pairs += a->stemmed[i];
  }
  free(right);
  free(of);
}

/* Puts p into a sorted list of `count` partners; returns the new count. A list of `most` loses its
   last one. Partners come in the order of the reference. */
static size_t partner_put(partner *list, size_t count, size_t most, partner p) {
  size_t i = count;
  if (count == most && list[count - 1].run >= p.run) return count;
  if (count == most) i--, count--;
  for (; i && list[i - 1].run < p.run; i--) list[i] = list[i - 1];
  list[i] = p;
  return count + 1;
}

/* Lists the words of the reference by stem, and makes room for the partners of each word: all where
   they are at most a million. */
static void aligner_stems(aligner *a) {
  size_t *times = (size_t *)take(a->hyp + a->ref, sizeof *times), i, j, total = 0;
  a->most = 32 + ((size_t)1 << 20) / (a->hyp + 1);
  for (j = a->ref; j-- > 0;) {
    size_t stem = a->stem[a->hyp + j];
    a->stem_next[j] = a->stem_first[stem];
    a->stem_first[stem] = j + 1;
    times[stem]++;
  }
  for (i = 0; i < a->hyp; i++) {
    a->first[i] = total;
    total += times[a->stem[i]] < a->most ? times[a->stem[i]] : a->most;
  }
  a->first[i] = total;
  a->partners = (partner *)take(total, sizeof *a->partners);
  free(times);
}

/* Lists the partners of each word, from the last word to the first: run(i,j) = 1 + run(i+1,j+1)
   where the stems are equal. Word i must begin a chunk when it has to be paired and none of its
   partners stands after a partner of word i-1. */
static void aligner_partners(aligner *a) {
  const size_t *ref = a->stem + a->hyp;
  size_t *run = (size_t *)take(a->ref + 1, sizeof *run), i, j, count;
  aligner_stems(a);
  for (i = a->hyp; i-- > 0;) {
    int joins = 0, left_out = a->hyp_left[a->word[i]] && a->skipped[a->stem[i]];
    for (count = 0, j = 0; j < a->ref; j++) { /* run[j+1] is still that of word i+1 */
      partner p;
      run[j] = a->stem[i] == ref[j] ? 1 + run[j + 1] : 0;
      if (!run[j]) continue;
      p.at = j, p.run = run[j];
      count = partner_put(a->partners + a->first[i], count, a->most, p);
      joins = joins || (i && j && a->stem[i - 1] == ref[j - 1]);
    }
    a->forced[i] = a->forced[i + 1] + (!left_out && !joins);
  }
  free(run);
}

static int aligner_allows(const aligner *a, size_t i, size_t j) {
  size_t w = a->word[i], v, s = a->stem[i];
  if (j == METEOR_NONE) return a->hyp_left[w] && a->skipped[s];
  v = a->word[a->hyp + j];
  if (a->used[j] || a->stem[a->hyp + j] != s) return 0;
  return v == w ? a->exact[w] > 0 : a->hyp_left[w] && a->ref_left[v] && a->stemmed[s];
}

/* Pairs i with j and lowers the quotas (by = -1), or undoes it (by = 1). */
static void aligner_place(aligner *a, size_t i, size_t j, int by) {
  size_t w = a->word[i], v, add = by < 0 ? SIZE_MAX : 1; /* SIZE_MAX: minus one, modulo */
  if (j == METEOR_NONE) {
    a->hyp_left[w] += add;
    a->skipped[a->stem[i]] += add;
    return;
  }
  v = a->word[a->hyp + j];
  a->used[j] = by < 0;
  if (v == w) {
    a->exact[w] += add;
    return;
  }
  a->hyp_left[w] += add;
  a->ref_left[v] += add;
  a->stemmed[a->stem[i]] += add;
}

static int aligner_joins(const aligner *a, size_t i, size_t j) {
  return i && j && j != METEOR_NONE && a->choice[i - 1] == j - 1;
}

/* The next option of word i: first the partner that continues the chunk, then the partners, then,
   where not all are kept, all words with its stem, then none (METEOR_NONE). Returns 0 when all
   were tried. */
static int aligner_next(aligner *a, size_t i, size_t *j) {
  size_t count = a->first[i + 1] - a->first[i];
  while (a->option[i] < count + 3) {
    size_t o = a->option[i]++;
    if (o == 0 && (!i || a->choice[i - 1] == METEOR_NONE || a->choice[i - 1] + 1 >= a->ref))
      continue;
    *j = o == 0 ? a->choice[i - 1] + 1
                : o <= count ? a->partners[a->first[i] + o - 1].at : METEOR_NONE;
    if (o == count) a->more[i] = count == a->most ? a->stem_first[a->stem[i]] : 0;
    if (o == count + 1) {
      if (!a->more[i]) continue;
      *j = a->more[i] - 1;
      a->more[i] = a->stem_next[*j];
      a->option[i]--;
    }
    if (o > 0 && aligner_joins(a, i, *j)) continue; /* was option 0 */
    if (aligner_allows(a, i, *j)) return 1;
  }
  return 0;
}

/* Depth-first branch and bound, without recursion because lines may be long. The first descent
   always ends in a complete alignment: the quotas can be met whatever was chosen before. */
static void aligner_search(aligner *a) {
  size_t i = 0, j, steps = 0;
  a->best = METEOR_NONE;
  for (;;) {
    if (i == a->hyp) a->best = a->chunks, memcpy(a->kept, a->choice, a->hyp * sizeof *a->kept);
    if (a->best == a->forced[0] || (a->best != METEOR_NONE && steps > METEOR_STEPS)) return;
    if (i < a->hyp && aligner_next(a, i, &j)) {
      size_t begins = j != METEOR_NONE && !aligner_joins(a, i, j);
      steps++;
      if (a->best != METEOR_NONE && a->chunks + begins + a->forced[i + 1] >= a->best) continue;
      aligner_place(a, i, j, -1);
      a->chunks += begins;
      a->choice[i] = j;
      if (++i < a->hyp) a->option[i] = 0;
      continue;
    }
    if (i-- == 0) return;
    aligner_place(a, i, a->choice[i], 1);
    a->chunks -= a->choice[i] != METEOR_NONE && !aligner_joins(a, i, a->choice[i]);
  }
}

/* Whether word i of the output and word j of the reference, both with an entry, have a meaning in
   common. */
static int aligner_related(aligner *a, size_t i, size_t j) {
  a->steps++;
  return synonyms_share(a->synonyms, a->entry[i], a->entry[a->hyp + j], &a->steps);
}

/* Finds a partner for word i among the words that are left: one that is free, else one whose word
   gets another partner, and so on (augmenting paths, Berge 1957), breadth first. 0: there is
   none. */
static size_t aligner_augment(aligner *a, size_t i) {
  size_t head = 0, tail = 0, k, next;
  for (k = 0; k < a->left_count; k++) a->from[a->left[k]] = METEOR_NONE;
  for (a->queue[tail++] = i; head < tail; head++)
    for (k = 0; k < a->left_count && a->steps <= SYNONYM_STEPS; k++) {
      size_t j = a->left[k];
      if (a->from[j] != METEOR_NONE || !aligner_related(a, a->queue[head], j)) continue;
      a->from[j] = a->queue[head];
      if (a->of[j] != METEOR_NONE) {
        a->queue[tail++] = a->of[j];
        continue;
      }
      for (;; j = next) { /* each word of the path takes what was found from it */
        size_t word = a->from[j];
        next = a->choice[word];
        a->of[j] = word;
        a->choice[word] = j;
        if (word == i) return 1;
      }
    }
  return 0;
}

/* Pairs word i with the place behind (step 1) or before (step SIZE_MAX: -1, modulo) the partner of
   its neighbour, where that is left and free and related. */
static size_t aligner_continues(aligner *a, size_t i, size_t neighbour, size_t step) {
  const size_t j = neighbour < a->hyp ? a->choice[neighbour] + step : METEOR_NONE;
  if (j >= a->ref || a->choice[neighbour] == METEOR_NONE || a->of[j] != METEOR_NONE) return 0;
  if (a->entry[a->hyp + j] == a->synonyms->count || !aligner_related(a, i, j)) return 0;
  a->of[j] = i;
  a->choice[i] = j;
  return 1;
}

/* The third stage: as many pairs as possible of the words that are left, in their order. A word
   first tries the place behind the partner of the word before it, then the one before the partner
   of the word behind it. */
static void aligner_synonyms(aligner *a) {
  size_t none = a->synonyms->count, i, j;
  memcpy(a->choice, a->kept, a->hyp * sizeof *a->choice);
  for (j = 0; j < a->ref; j++) a->of[j] = METEOR_NONE;
  for (i = 0; i < a->hyp; i++)
    if (a->choice[i] != METEOR_NONE) a->of[a->choice[i]] = i;
  for (j = 0; j < a->ref; j++)
    if (a->of[j] == METEOR_NONE && a->entry[a->hyp + j] != none) a->left[a->left_count++] = j;
  for (i = 0; i < a->hyp; i++) {
    if (a->choice[i] != METEOR_NONE || a->entry[i] == none) continue;
    a->pairs += aligner_continues(a, i, i - 1, 1) || aligner_continues(a, i, i + 1, SIZE_MAX) ||
                aligner_augment(a, i);
  }
  for (a->best = 0, i = 0; i < a->hyp; i++)
    a->best += a->choice[i] != METEOR_NONE && !aligner_joins(a, i, a->choice[i]);
}

/* The pairs and chunks of two texts: k[0], k[3]. k[4] is 1 where the third stage ended before all
   pairs were tried. s null: no third stage. */
static void meteor_align(const units *hyp, const units *ref, const synonym_list *s, double *k) {
  aligner a;
  size_t n = hyp->count + ref->count, *block;
  memset(&a, 0, sizeof a);
  a.hyp = hyp->count;
  a.ref = ref->count;
  a.synonyms = s;
  block = (size_t *)take(size_mul(n + 1, 20), sizeof *block);
  a.word = block, a.stem = a.word + n, a.exact = a.stem + n, a.hyp_left = a.exact + n;
  a.ref_left = a.hyp_left + n, a.stemmed = a.ref_left + n, a.skipped = a.stemmed + n;
  a.choice = a.skipped + n, a.option = a.choice + n;
  a.stem_first = a.option + n, a.stem_next = a.stem_first + n, a.more = a.stem_next + n;
  a.kept = a.more + n, a.entry = a.kept + n, a.left = a.entry + n, a.of = a.left + n;
  a.from = a.of + n, a.queue = a.from + n;
  a.first = a.queue + n, a.forced = a.first + n + 1;
  a.used = (char *)take(a.ref, 1);
  aligner_number(&a, hyp, ref);
  aligner_quotas(&a);
  aligner_partners(&a);
  aligner_search(&a);
  if (s) aligner_synonyms(&a);
  k[0] = (double)a.pairs;
  k[3] = (double)a.best;
  k[4] = a.steps > SYNONYM_STEPS;
  free(a.partners);
  free(a.used);
  free(block);
}

/* P = pairs / words of the output, R = pairs / words of the reference, F = P R / (0.9 P + 0.1 R),
   (1 - 0.5 (chunks / pairs)^3) F. */
static double meteor_value(double pairs, double hyp, double ref, double chunks) {
  double p, r, apart;
  if (pairs <= 0.0) return 0.0;
  p = pairs / hyp;
  r = pairs / ref;
  apart = chunks / pairs;
  return 100.0 * p * r / (0.9 * p + 0.1 * r) * (1.0 - 0.5 * apart * apart * apart);
}

/* The counts of the best reference of each line are summed, then the value is computed once (2005,
   section 2: the score of a system). Compares in lower case, as METEOR does. */
static void meteor_example(const corpus *c, size_t i, const synonym_list *s, double *k) {
  example e = example_lower(c, i, c->options->words);
  double top = -1.0, value, one[5];
  size_t r;
  for (r = 0; r < e.ref_count; r++) {
    one[1] = (double)e.hyp.count, one[2] = (double)e.refs[r].count;
    meteor_align(&e.hyp, &e.refs[r], s, one);
    value = meteor_value(one[0], one[1], one[2], one[3]);
    if (value <= top) continue;
    top = value;
    memcpy(k, one, sizeof one);
  }
  example_free(&e);
}
static void meteor_line(const corpus *c, size_t i, int unused, double *k) {
  UNUSED(unused);
  meteor_example(c, i, NULL, k);
}
static void meteor_lines(const corpus *c, int unused, double *k) {
  synonym_list s = synonyms_read(c->options);
  size_t i;
  UNUSED(unused);
  for (i = 0; i < c->n; i++) meteor_example(c, i, &s, k + i * METRIC_COUNTS);
  synonyms_free(&s);
}
static double meteor_of(const double *k, double n, int unused) {
  UNUSED(n);
  UNUSED(unused);
  return meteor_value(k[0], k[1], k[2], k[3]);
}
