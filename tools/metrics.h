/* metrics.h   BLEU, chrF, ROUGE, CIDEr, METEOR, error rates, F1, correlation; the command score.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* ==============================================================================================
   >>tool metrics   what eval and score measure; all values in per cent
   ============================================================================================== */

/* A metric gets the whole corpus, because most metrics are no mean over lines. Most are a function
   of counts that are summed over the lines: those have a function for the counts of one line and
   one for the value of the sums, so that the bootstrap of compare can draw lines without counting
   again. Each metric has its own splitter, which splits the output and every accepted reference of
   a line into units. */

#define METRIC_COUNTS 18 /* the most that a line has */

typedef struct metric_options {
  int plain;             /* bleu, cider, meteor-es: 1 splits at white space (none), 0 as 13a */
  int lowercase;         /* compares in lower case */
  int literal;           /* `|` and TAB in a reference are text; 0: they separate alternatives */
  const char *positive;  /* f1: the positive class; null: see metric_f1 */
  const char *sentences; /* rougeLsum: the mark between sentences of a line; "": no mark */
} metric_options;

/* Outputs and references of n lines. */
typedef struct corpus {
  const syn_text *hyp, *ref;
  size_t n;
  const metric_options *options;
} corpus;

/* -- one line of both, split into units -- */

typedef void (*splitter)(units *u, syn_text line);

typedef struct example {
  units hyp, *refs; /* refs [ref_count], at least one */
  size_t ref_count;
} example;

/* Lower-cases and splits a line. Lower case comes first, as in sacrebleu: &QUOT; becomes &quot;,
   which 13a replaces. */
static units prepare(splitter split, syn_text line, const metric_options *o) {
  buffer low = {NULL, 0, 0};
  units u;
  memset(&u, 0, sizeof u);
  buffer_reserve(&u.text, line.size);
  if (o->lowercase) put_lower(&low, line), line = buffer_text(&low);
  split(&u, line);
  free(low.at);
  return u;
}

/* Splits line i. Empty alternatives are dropped, so that lines may have different numbers of them;
   an empty reference is one empty text. */
static example example_make(const corpus *c, size_t i, splitter split) {
  const char *separators = c->options->literal ? "" : "|\t";
  syn_text rest = c->ref[i], piece;
  size_t pieces = 1, k;
  units u;
  example e;
  for (k = 0; k < rest.size; k++) pieces += rest.at[k] == '|' || rest.at[k] == '\t';
  e.hyp = prepare(split, c->hyp[i], c->options);
  e.refs = (units *)take(pieces, sizeof *e.refs);
  e.ref_count = 0;
  while (next_piece(&rest, separators, &piece)) {
    u = prepare(split, piece, c->options);
    if (u.count) e.refs[e.ref_count++] = u;
    else units_free(&u);
  }
  if (!e.ref_count) e.ref_count = 1;
  return e;
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

/* The tokenizer 13a (mteval-v13a). It replaces entities, then puts spaces around punctuation, then
   separates a point or comma from a non-digit before or after it, then a dash from a digit before
   it. Each pass works on the result of the one before: "a,,b" and "1.-" depend on it. */
static void split_13a(units *u, syn_text line) {
  buffer b = {NULL, 0, 0}, out = {NULL, 0, 0};
  size_t i;
  put_byte(&b, ' ');
  put(&b, line.at, line.size);
  put_byte(&b, ' ');
  replace(&b, "<skipped>", "");
  replace(&b, "&quot;", "\"");
  replace(&b, "&amp;", "&");
  replace(&b, "&lt;", "<");
  replace(&b, "&gt;", ">");
  for (i = 0; i < b.size; i++) {
    int mark = is_mark((unsigned char)b.at[i]);
    if (mark) put_byte(&out, ' ');
    put_byte(&out, b.at[i]);
    if (mark) put_byte(&out, ' ');
  }
  separate_pairs(&out, is_no_digit, is_point, 0);
  separate_pairs(&out, is_point, is_no_digit, 1);
  separate_pairs(&out, is_digit, is_dash, 0);
  split_words(u, buffer_text(&out));
  free(b.at);
  free(out.at);
}

/* The words of bleu, cider and meteor-es. */
static splitter word_splitter(const metric_options *o) {
  return o->plain ? split_words : split_13a;
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
   1 / (2^k n-grams) (smoothing "exp"). Without any match or any 4-gram the value is 0. */
static double bleu_value(const double *hit, const double *total, double h, double r) {
  double logs = 0.0, smooth = 1.0;
  int n;
  if (hit[0] <= 0.0 || total[3] <= 0.0) return 0.0;
  for (n = 0; n < 4; n++) {
    if (hit[n] <= 0.0) smooth *= 2.0;
    logs += log((hit[n] > 0.0 ? hit[n] : 1.0 / smooth) / total[n]);
  }
  return 100.0 * exp(logs / 4.0) * (h < r ? exp(1.0 - r / h) : 1.0);
}

/* BLEU is no mean over sentences: matches [4], n-grams [4] and both lengths are summed. */
static void bleu_line(const corpus *c, size_t i, int unused, double *k) {
  example e = example_make(c, i, word_splitter(c->options));
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
static double bleu_of(const double *k, double n, int unused) {
  UNUSED(n);
  UNUSED(unused);
  return bleu_value(k, k + 4, k[8], k[9]);
}

/* -- chrF2: Popovic 2015, 2016, as in sacrebleu 2 -- */

#define CHRF_ORDER 6

typedef struct chrf_counts {
  double hyp[CHRF_ORDER], ref[CHRF_ORDER], hit[CHRF_ORDER];
} chrf_counts;

/* F = (1 + 4) P R / (4 P + R), P and R the means over the orders of which both sides have
   n-grams. */
static double chrf_value(const chrf_counts *k) {
  double p = 0.0, r = 0.0;
  int n, orders = 0;
  for (n = 0; n < CHRF_ORDER; n++) {
    if (k->hyp[n] <= 0.0 || k->ref[n] <= 0.0) continue;
    p += k->hit[n] / k->hyp[n];
    r += k->hit[n] / k->ref[n];
    orders++;
  }
  return p + r > 0.0 ? 100.0 * 5.0 * p * r / (4.0 * p + r) / orders : 0.0;
}

/* For each order: n-grams of the output, n-grams of the reference, clipped matches. */
static chrf_counts chrf_count(const units *hyp, const units *ref) {
  chrf_counts k;
  size_t n;
  for (n = 0; n < CHRF_ORDER; n++) {
    k.ref[n] = (double)grams_in(ref, n + 1);
    /* an order of which the reference has no n-gram does not count */
    k.hyp[n] = k.ref[n] > 0.0 ? (double)grams_in(hyp, n + 1) : 0.0;
    k.hit[n] = (double)matches(hyp, ref, 1, n + 1);
  }
  return k;
}

/* The counts of the best reference of each line are summed, then F is computed once. */
static void chrf_line(const corpus *c, size_t i, int unused, double *k) {
  example e = example_make(c, i, split_characters);
  chrf_counts best = chrf_count(&e.hyp, &e.refs[0]), other;
  size_t r;
  UNUSED(unused);
  for (r = 1; r < e.ref_count; r++) {
    other = chrf_count(&e.hyp, &e.refs[r]);
    if (chrf_value(&other) > chrf_value(&best)) best = other;
  }
  memcpy(k, &best, sizeof best); /* 3 CHRF_ORDER numbers */
  example_free(&e);
}
static double chrf_of(const double *k, double n, int unused) {
  chrf_counts sum;
  UNUSED(n);
  UNUSED(unused);
  memcpy(&sum, k, sizeof sum);
  return chrf_value(&sum);
}

/* -- exact, accuracy, wer, per -- */

/* The share of lines whose output equals an alternative, up to the amount of white space. `wrong`:
   the share of the other lines, the word error rate of phonemes, where a line is one word. */
static void exact_line(const corpus *c, size_t i, int wrong, double *k) {
  example e = example_make(c, i, split_words);
  size_t r;
  for (r = 0; r < e.ref_count; r++)
    if (text_equal(buffer_text(&e.hyp.text), buffer_text(&e.refs[r].text))) break;
  k[0] = (r < e.ref_count) != wrong ? 1.0 : 0.0;
  example_free(&e);
}
static double mean_of(const double *k, double n, int unused) {
  UNUSED(unused);
  return 100.0 * k[0] / n;
}

/* Sum of the edit distances to the nearest alternatives, in words, divided by the sum of the
   lengths of those alternatives (the first of equally near ones). */
static void per_line(const corpus *c, size_t i, int unused, double *k) {
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
static double per_of(const double *k, double n, int unused) {
  UNUSED(n);
  UNUSED(unused);
  return k[1] > 0.0 ? 100.0 * k[0] / k[1] : k[0] > 0.0 ? 100.0 : 0.0;
}

/* -- rouge: Lin 2004, F1, mean over lines, best alternative; as rouge_score without stemming -- */

/* Words of a-z and 0-9 in lower case; all other bytes separate them. */
static void split_rouge(units *u, syn_text line) {
  buffer b = {NULL, 0, 0};
  size_t i;
  for (i = 0; i < line.size; i++) {
    char c = line.at[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
    put_byte(&b, is_digit(c) || (c >= 'a' && c <= 'z') ? c : ' ');
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

/* The mean over lines of the best alternative (rouge_score: score_multi). */
static void rouge_line(const corpus *c, size_t i, int order, double *k) {
  example e = example_make(c, i, split_rouge);
  double value;
  size_t r;
  k[0] = 0.0;
  for (r = 0; r < e.ref_count; r++) {
    value = rouge_value(&e.hyp, &e.refs[r], (size_t)order);
    if (value > k[0]) k[0] = value;
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
static summary summary_make(syn_text t, const char *mark) {
  size_t size = strlen(mark), i = 0, begin = 0, most = 1;
  summary s;
  memset(&s, 0, sizeof s);
  for (i = 0; i < t.size; i++) most += size && t.at[i] == mark[0];
  s.end = (size_t *)take(most, sizeof *s.end);
  for (i = 0; i <= t.size; i++) {
    int marked = size && t.size - i >= size && memcmp(t.at + i, mark, size) == 0;
    syn_text sentence;
    if (i < t.size && !marked) continue;
    sentence.at = t.at + begin;
    sentence.size = i - begin;
    split_rouge(&s.words, sentence);
    s.end[s.count++] = s.words.count;
    if (marked) begin = i + size, i = begin - 1;
  }
  return s;
}

static void summary_free(summary *s) {
  units_free(&s->words);
  free(s->end);
}

/* Marks the words of sentence s of a that are in its longest common subsequence with sentence k of
   b. length[i][j] is that of the first i words of the one and the first j of the other. Where the
   traceback can skip a word of either sentence, it skips the word of a, like rouge_score. */
static void mark_common(const summary *a, size_t s, const summary *b, size_t k, char *marked) {
  size_t r0 = s ? a->end[s - 1] : 0, h0 = k ? b->end[k - 1] : 0, i, j;
  size_t rows = a->end[s] - r0, wide = b->end[k] - h0 + 1;
  size_t *length = (size_t *)take(size_mul(rows + 1, wide), sizeof *length);
  for (i = 1; i <= rows; i++)
    for (j = 1; j < wide; j++) {
      size_t *at = length + i * wide + j;
      if (unit_equal(&a->words, r0 + i - 1, &b->words, h0 + j - 1)) *at = *(at - wide - 1) + 1;
      else *at = at[-1] > *(at - wide) ? at[-1] : *(at - wide);
    }
  for (i = rows, j = wide - 1; i && j;) {
    const size_t *at = length + i * wide + j;
    if (unit_equal(&a->words, r0 + i - 1, &b->words, h0 + j - 1)) marked[r0 + --i] = 1, j--;
    else if (at[-1] > *(at - wide)) j--;
    else i--;
  }
  free(length);
}

/* F1 of the hits: words in the union of the longest common subsequences of each reference sentence
   with all output sentences, a word at most as often as it occurs in the output. */
static double summary_value(const summary *hyp, const summary *ref) {
  char *marked = (char *)take(ref->words.count, 1);
  grams left = grams_make(&hyp->words, 1);
  size_t s, k, i, hit = 0;
  for (s = 0; s < ref->count; s++)
    for (k = 0; k < hyp->count; k++) mark_common(ref, s, hyp, k, marked);
  for (i = 0; i < ref->words.count; i++) {
    syn_text word = units_slice(&ref->words, i, 1), *at;
    if (!marked[i]) continue;
    at = (syn_text *)bsearch(&word, left.at, left.count, sizeof word, text_order);
    if (at && left.times[at - left.at]) left.times[at - left.at]--, hit++;
  }
  free(marked);
  grams_free(&left);
  return hit ? 2.0 * (double)hit / (double)(hyp->words.count + ref->words.count) : 0.0;
}

/* The mean over lines of the best alternative. */
static void rouge_sum_line(const corpus *c, size_t i, int unused, double *k) {
  syn_text rest = c->ref[i], piece;
  summary hyp = summary_make(c->hyp[i], c->options->sentences), ref;
  double value;
  UNUSED(unused);
  k[0] = 0.0;
  while (next_piece(&rest, c->options->literal ? "" : "|\t", &piece)) {
    ref = summary_make(piece, c->options->sentences);
    value = summary_value(&hyp, &ref);
    if (value > k[0]) k[0] = value;
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
static void cider_lines(const corpus *c, double *k) {
  example *e = (example *)take(c->n, sizeof *e);
  size_t i, n;
  for (i = 0; i < c->n; i++) e[i] = example_make(c, i, word_splitter(c->options));
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

/* -- meteor-es: Banerjee and Lavie 2005, Lavie and Agarwal 2007, exact and stem stages only -- */

/* METEOR aligns words of the output with words of the reference: first equal words, then the other
   words with equal stems. Its third stage, synonyms from WordNet, is missing here: hence the name
   "es", and values below those of the full METEOR. Each stage makes as many pairs as possible, so
   the number of pairs for each word and for each stem follows from counts. Which words are paired
   is a choice: the alignment with the fewest chunks, where a chunk is a run of words that are
   neighbours in the same order on both sides (the rule since METEOR 1.0, Denkowski and Lavie 2010;
   in 2005: the fewest crossings). */

#define METEOR_STEPS 100000 /* after so many steps of search the best so far is taken */
#define METEOR_NONE SIZE_MAX

/* A possible partner of word i: word `at` of the reference; run: how many words from here on have
   equal stems on both sides. */
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
  size_t *forced;           /* [hyp+1] chunks that words i ... hyp-1 begin in any alignment */
  size_t *choice, *option;  /* [hyp] the partner or METEOR_NONE; number of options tried */
  char *used;               /* [ref] */
  size_t pairs, chunks, best;
} aligner;

/* Numbers texts by their rank in sorted order: equal texts get equal numbers. */
static void number_texts(const syn_text *texts, size_t n, size_t *numbers) {
  grams g = grams_new(n);
  size_t i;
  if (n) memcpy(g.at, texts, n * sizeof *texts);
  grams_count(&g, n);
  for (i = 0; i < n; i++) {
    const syn_text *at =
        (const syn_text *)bsearch(&texts[i], g.at, g.count, sizeof *at, text_order);
    numbers[i] = (size_t)(at - g.at);
  }
  grams_free(&g);
}

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

static int partner_order(const void *x, const void *y) {
  const partner *a = (const partner *)x, *b = (const partner *)y;
  if (a->run != b->run) return a->run > b->run ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

/* Lists the partners of each word, from the last word to the first: run(i,j) = 1 + run(i+1,j+1)
   where the stems are equal. Word i must begin a chunk when it has to be paired and none of its
   partners stands after a partner of word i-1. */
static void aligner_partners(aligner *a) {
  const size_t *ref = a->stem + a->hyp;
  size_t *run = (size_t *)take(a->ref + 1, sizeof *run), total = 0, i, j;
  for (i = 0; i < a->hyp; i++) {
    a->first[i] = total;
    for (j = 0; j < a->ref; j++) total += a->stem[i] == ref[j];
  }
  a->first[i] = total;
  a->partners = (partner *)take(total, sizeof *a->partners);
  for (i = a->hyp; i-- > 0;) {
    partner *p = a->partners + a->first[i];
    int joins = 0, left_out = a->hyp_left[a->word[i]] && a->skipped[a->stem[i]];
    for (j = 0; j < a->ref; j++) { /* run[j+1] is still that of word i+1 */
      run[j] = a->stem[i] == ref[j] ? 1 + run[j + 1] : 0;
      if (!run[j]) continue;
      p->at = j;
      p++->run = run[j];
      joins = joins || (i && j && a->stem[i - 1] == ref[j - 1]);
    }
    qsort(a->partners + a->first[i], a->first[i + 1] - a->first[i], sizeof *p, partner_order);
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

/* The next option of word i: first the partner that continues the chunk, then all partners, then
   none (METEOR_NONE). Returns 0 when all were tried. */
static int aligner_next(aligner *a, size_t i, size_t *j) {
  size_t count = a->first[i + 1] - a->first[i], o;
  while ((o = a->option[i]++) < count + 2) {
    if (o == 0 && (!i || a->choice[i - 1] == METEOR_NONE || a->choice[i - 1] + 1 >= a->ref))
      continue;
    *j = o == 0 ? a->choice[i - 1] + 1
                : o <= count ? a->partners[a->first[i] + o - 1].at : METEOR_NONE;
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
    if (i == a->hyp) a->best = a->chunks;
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

/* The number of pairs and the fewest chunks of two texts. */
static void meteor_align(const units *hyp, const units *ref, size_t *pairs, size_t *chunks) {
  aligner a;
  size_t n = hyp->count + ref->count, *block;
  memset(&a, 0, sizeof a);
  a.hyp = hyp->count;
  a.ref = ref->count;
  block = (size_t *)take(size_mul(n + 1, 11), sizeof *block);
  a.word = block, a.stem = a.word + n, a.exact = a.stem + n, a.hyp_left = a.exact + n;
  a.ref_left = a.hyp_left + n, a.stemmed = a.ref_left + n, a.skipped = a.stemmed + n;
  a.choice = a.skipped + n, a.option = a.choice + n;
  a.first = a.option + n, a.forced = a.first + n + 1;
  a.used = (char *)take(a.ref, 1);
  aligner_number(&a, hyp, ref);
  aligner_quotas(&a);
  aligner_partners(&a);
  aligner_search(&a);
  *pairs = a.pairs;
  *chunks = a.best;
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
static void meteor_line(const corpus *c, size_t i, int unused, double *k) {
  metric_options low = *c->options;
  corpus lowered = *c;
  double top = -1.0, value;
  size_t r, pairs, chunks;
  example e;
  UNUSED(unused);
  low.lowercase = 1;
  lowered.options = &low;
  e = example_make(&lowered, i, word_splitter(c->options));
  for (r = 0; r < e.ref_count; r++) {
    meteor_align(&e.hyp, &e.refs[r], &pairs, &chunks);
    value = meteor_value((double)pairs, (double)e.hyp.count, (double)e.refs[r].count,
                         (double)chunks);
    if (value <= top) continue;
    top = value;
    k[0] = (double)pairs, k[1] = (double)e.hyp.count;
    k[2] = (double)e.refs[r].count, k[3] = (double)chunks;
  }
  example_free(&e);
}
static double meteor_of(const double *k, double n, int unused) {
  UNUSED(n);
  UNUSED(unused);
  return meteor_value(k[0], k[1], k[2], k[3]);
}

/* -- classes: f1, mcc -- */

/* The labels of all lines, and for each class how often it was predicted, true, and both. The true
   label of a line is the alternative that equals the prediction, else the first. */
typedef struct classes {
  units *kept;                 /* [2 n] prediction and truth of each line; own the texts */
  syn_text *name;              /* [count] sorted */
  size_t *given, *truth, *hit; /* [count] predicted, true, both */
  size_t count, right;
} classes;

/* The index of a class, or count when there is none. */
static size_t class_find(const classes *k, syn_text label) {
  syn_text *at = (syn_text *)bsearch(&label, k->name, k->count, sizeof label, text_order);
  return at ? (size_t)(at - k->name) : k->count;
}

/* Fills kept: [2i] the predicted, [2i+1] the true label of line i. */
static void class_labels(const corpus *c, classes *k) {
  size_t i, r;
  k->kept = (units *)take(2 * c->n, sizeof *k->kept);
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, split_words);
    units none, *truth = &e.refs[0];
    for (r = e.ref_count; r-- > 0;)
      if (text_equal(buffer_text(&e.hyp.text), buffer_text(&e.refs[r].text))) truth = &e.refs[r];
    memset(&none, 0, sizeof none);
    k->kept[2 * i] = e.hyp, e.hyp = none;
    k->kept[2 * i + 1] = *truth, *truth = none;
    example_free(&e);
  }
}

/* The classes are the labels that occur in either file. Of the confusion matrix only the sums of
   rows and columns and the diagonal are needed. */
static classes classes_make(const corpus *c) {
  classes k;
  size_t i, all = 2 * c->n;
  memset(&k, 0, sizeof k);
  class_labels(c, &k);
  k.name = (syn_text *)take(all, sizeof *k.name);
  for (i = 0; i < all; i++) k.name[i] = buffer_text(&k.kept[i].text);
  qsort(k.name, all, sizeof *k.name, text_order);
  for (i = 0; i < all; i++)
    if (!k.count || !text_equal(k.name[k.count - 1], k.name[i])) k.name[k.count++] = k.name[i];
  k.given = (size_t *)take(k.count, sizeof *k.given);
  k.truth = (size_t *)take(k.count, sizeof *k.truth);
  k.hit = (size_t *)take(k.count, sizeof *k.hit);
  for (i = 0; i < c->n; i++) {
    size_t said = class_find(&k, buffer_text(&k.kept[2 * i].text));
    size_t truth = class_find(&k, buffer_text(&k.kept[2 * i + 1].text));
    k.given[said]++;
    k.truth[truth]++;
    if (said == truth) k.hit[said]++, k.right++;
  }
  return k;
}

static void classes_free(classes *k, size_t n) {
  size_t i;
  for (i = 0; i < 2 * n; i++) units_free(&k->kept[i]);
  free(k->kept);
  free(k->name);
  free(k->given);
  free(k->truth);
  free(k->hit);
}

/* Harmonic mean of precision hit/given and recall hit/truth. */
static double class_f1(const classes *k, size_t i) {
  size_t sum = k->given[i] + k->truth[i];
  return sum ? 200.0 * (double)k->hit[i] / (double)sum : 0.0;
}

/* F1 of the positive class: --positive, else the class 1 when all labels are 0 or 1. For other
   labels the mean over all classes (macro F1). */
static double metric_f1(const corpus *c, int unused) {
  classes k = classes_make(c);
  const char *positive = c->options->positive;
  double sum = 0.0;
  size_t i, count = 0;
  int binary = 1;
  UNUSED(unused);
  for (i = 0; i < k.count; i++) {
    if (!k.name[i].size && !k.truth[i]) continue; /* an empty output is wrong, but no class */
    binary = binary && (text_is(k.name[i], "0") || text_is(k.name[i], "1"));
    sum += class_f1(&k, i);
    count++;
  }
  sum /= (double)count;
  if (!positive && binary) positive = "1";
  if (positive) {
    i = class_find(&k, text_of(positive));
    sum = i < k.count ? class_f1(&k, i) : 0.0;
  }
  classes_free(&k, c->n);
  return sum;
}

/* Matthews correlation for any number of classes (Gorodkin 2004): of n lines s are right, class k
   is predicted g_k times and true t_k times, (s n - sum g t) / sqrt((n^2 - sum g^2) (n^2 - sum
   t^2)); 0 when one side has a single class. For two classes it is the phi coefficient. */
static double metric_mcc(const corpus *c, int unused) {
  classes k = classes_make(c);
  double gt = 0.0, gg = 0.0, tt = 0.0, n = (double)c->n, below;
  size_t i;
  UNUSED(unused);
  for (i = 0; i < k.count; i++) {
    gt += (double)k.given[i] * (double)k.truth[i];
    gg += (double)k.given[i] * (double)k.given[i];
    tt += (double)k.truth[i] * (double)k.truth[i];
  }
  below = sqrt((n * n - gg) * (n * n - tt));
  gt = below > 0.0 ? 100.0 * ((double)k.right * n - gt) / below : 0.0;
  classes_free(&k, c->n);
  return gt;
}

/* -- pearson, spearman -- */

enum { PEARSON, SPEARMAN };

/* 1: the text is one number, *value. */
static int text_number(syn_text t, double *value) {
  buffer b = {NULL, 0, 0};
  int is;
  put(&b, t.at, t.size);
  put_byte(&b, 0);
  is = parse_number(b.at, value);
  free(b.at);
  return is;
}

/* The number on a line; exits when there is none. */
static double line_number(const units *u, int variant, const char *side, size_t line) {
  const syn_text t = buffer_text(&u->text);
  double value;
  if (!text_number(t, &value))
    fail(FAILED_JOB, "%s wants one number a line, given in line %lu of the %s: %.*s",
         variant == SPEARMAN ? "spearman" : "pearson", (unsigned long)line + 1, side,
         short_size(t), t.size ? t.at : "");
  return value;
}

/* Pearson's correlation, sums of products about the means in one pass (Welford 1962); 0 when one
   side is constant. */
static double correlation(const double *x, const double *y, size_t n) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
  size_t i;
  for (i = 0; i < n; i++) {
    double dx = x[i] - mean_x, dy = y[i] - mean_y;
    mean_x += dx / (double)(i + 1);
    mean_y += dy / (double)(i + 1);
    xx += dx * (x[i] - mean_x);
    yy += dy * (y[i] - mean_y);
    xy += dx * (y[i] - mean_y);
  }
  return xx > 0.0 && yy > 0.0 ? xy / (sqrt(xx) * sqrt(yy)) : 0.0;
}

static int number_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Replaces numbers by their ranks 1 ... n; equal numbers get the mean of their ranks. `low` numbers
   are below x[i], `high` at most x[i]: the ranks of equal ones are low+1 ... high. */
static void make_ranks(double *x, size_t n) {
  double *sorted = (double *)take(n, sizeof *sorted), value;
  size_t i, low, high;
  memcpy(sorted, x, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, number_order);
  for (i = 0; i < n; i++) {
    double *at = (double *)bsearch(&x[i], sorted, n, sizeof *sorted, number_order);
    value = *at;
    low = high = (size_t)(at - sorted);
    while (low && sorted[low - 1] == value) low--;
    while (high < n && sorted[high] == value) high++;
    x[i] = 0.5 * (double)(low + 1 + high);
  }
  free(sorted);
}

/* Pearson's correlation of the numbers, or of their ranks (Spearman 1904). */
static double metric_correlation(const corpus *c, int variant) {
  double *x = (double *)take(c->n, sizeof *x), *y = (double *)take(c->n, sizeof *y), value;
  size_t i;
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, split_words);
    x[i] = line_number(&e.hyp, variant, "outputs", i);
    y[i] = line_number(&e.refs[0], variant, "references", i);
    example_free(&e);
  }
  if (variant == SPEARMAN) make_ranks(x, c->n), make_ranks(y, c->n);
  value = 100.0 * correlation(x, y, c->n);
  free(x);
  free(y);
  return value;
}

/* -- the list -- */

/* Either `value`, or `of` with `line` or `lines`. line: the counts of line i, k [METRIC_COUNTS],
   zeroed by the caller; lines: those of all lines, where they depend on each other, k [n]
   [METRIC_COUNTS]; of: the value of the sums of the counts of n lines. */
typedef struct metric_row {
  const char *name;
  int variant;
  double (*value)(const corpus *c, int variant);
  void (*line)(const corpus *c, size_t i, int variant, double *k);
  double (*of)(const double *k, double n, int variant);
  void (*lines)(const corpus *c, double *k);
} metric_row;

static const metric_row metric_rows[] = {
    {"bleu", 0, NULL, bleu_line, bleu_of, NULL},
    {"chrf", 0, NULL, chrf_line, chrf_of, NULL},
    {"wer", 1, NULL, exact_line, mean_of, NULL},
    {"per", 0, NULL, per_line, per_of, NULL},
    {"exact", 0, NULL, exact_line, mean_of, NULL},
    {"accuracy", 0, NULL, exact_line, mean_of, NULL},
    {"rouge1", 1, NULL, rouge_line, mean_of, NULL},
    {"rouge2", 2, NULL, rouge_line, mean_of, NULL},
    {"rougeL", 0, NULL, rouge_line, mean_of, NULL},
    {"rougeLsum", 0, NULL, rouge_sum_line, mean_of, NULL},
    {"cider", 0, NULL, NULL, mean_of, cider_lines},
    {"meteor-es", 0, NULL, meteor_line, meteor_of, NULL},
    {"f1", 0, metric_f1, NULL, NULL, NULL},
    {"mcc", 0, metric_mcc, NULL, NULL, NULL},
    {"pearson", PEARSON, metric_correlation, NULL, NULL, NULL},
    {"spearman", SPEARMAN, metric_correlation, NULL, NULL, NULL},
};
#define METRIC_NAMES \
  "bleu chrf wer per exact accuracy rouge1 rouge2 rougeL rougeLsum cider meteor-es f1 mcc " \
  "pearson spearman"
#define LOSS_NAMES "ppl nats nats_char" /* of a model alone */
#define METRIC_NOTE \
  "; wer: lines that are wrong, each is one word; per: edit distance of their parts; " \
  "cider: CIDEr-D; meteor-es: METEOR's exact and stem stages only, no synonyms"

/* The row of a metric; exits when there is none. */
static const metric_row *metric_find(syn_text name) {
  nearest near = {NULL, 0};
  size_t i;
  for (i = 0; i < COUNT(metric_rows); i++) {
    if (text_is(name, metric_rows[i].name)) return &metric_rows[i];
    nearest_try(&near, name, metric_rows[i].name);
  }
  fail(WRONG_USE, "no metric %.*s; the nearest is %s, all are %s, of eval also %s",
       short_size(name), name.at, near.name, METRIC_NAMES, LOSS_NAMES);
  return NULL;
}

/* The counts of all lines, k [n][METRIC_COUNTS], zeroed by the caller. */
static void metric_counts(const metric_row *row, const corpus *c, double *k) {
  size_t i;
  if (row->lines) row->lines(c, k);
  else
    for (i = 0; i < c->n; i++) row->line(c, i, row->variant, k + i * METRIC_COUNTS);
}

/* The value of one metric over n > 0 outputs and their references, in per cent. */
static double metric(const char *name, const syn_text *hyp, const syn_text *ref, size_t n,
                     const metric_options *options) {
  const metric_row *row = metric_find(text_of(name));
  double sum[METRIC_COUNTS] = {0.0}, *k;
  corpus c;
  size_t i;
  c.hyp = hyp;
  c.ref = ref;
  c.n = n;
  c.options = options;
  if (row->value) return row->value(&c, row->variant);
  k = (double *)take(size_mul(n, METRIC_COUNTS), sizeof *k);
  metric_counts(row, &c, k);
  for (i = 0; i < n * METRIC_COUNTS; i++) sum[i % METRIC_COUNTS] += k[i];
  free(k);
  return row->of(sum, (double)n, row->variant);
}

/* Prints one result, for eval and score. */
static void print_metric(const char *name, double value, size_t n, int json) {
  if (json) printf("{\"metric\":\"%s\",\"value\":%.2f,\"n\":%lu}\n", name, value, (unsigned long)n);
  else printf("%s %.2f\n", name, value);
}

/* ==============================================================================================
   >>tool score   metrics of two text files, without a model
   ============================================================================================== */

/* The options that eval and score share, beside --metric. */
#define METRIC_OPTIONS \
  {"tokenize", 0, CHOICE, "13a", "13a|none", \
   "words of bleu, cider and meteor-es; none: split at white space"}, \
  {"lowercase", 0, FLAG, "off", "", "compares in lower case"}, \
  LITERAL_OPTION, \
  {"sentences", 0, TEXT, "<q>", "MARK", "stands between the sentences of a line, for rougeLsum"}, \
  {"positive", 0, TEXT, "", "CLASS", "class of f1; none: 1 of labels 0 and 1, else mean of all"}, \
  {"json", 0, FLAG, "off", "", "one JSON object a line"}

#define END_OF_OPTIONS {NULL, 0, FLAG, NULL, NULL, NULL}

#define LITERAL_OPTION \
  {"literal", 0, FLAG, "off", "", \
   "| and TAB in targets are text, they do not separate alternatives (labels, tags: always)"}

static const option score_options[] = {
    {"metric", 0, TEXT, NULL, "LIST", "separated by commas: " METRIC_NAMES METRIC_NOTE},
    METRIC_OPTIONS,
    END_OF_OPTIONS};

/* Reads METRIC_OPTIONS, which eval and score have. */
static metric_options metric_options_of(const arguments *a) {
  metric_options m;
  m.plain = strcmp(opt_text(a, "tokenize"), "none") == 0;
  m.lowercase = opt_flag(a, "lowercase");
  m.literal = opt_flag(a, "literal");
  m.sentences = opt_text(a, "sentences");
  m.positive = *opt_text(a, "positive") ? opt_text(a, "positive") : NULL;
  return m;
}

/* Checks the names of the metrics before it opens a file; reads both files before it prints. */
static int run_score(const arguments *a) {
  metric_options m = metric_options_of(a);
  syn_text list = text_of(opt_text(a, "metric")), rest = list, name;
  lines hyp, ref;
  while (next_piece(&rest, ",", &name)) metric_find(name); /* exits on a wrong name */
  hyp = read_lines(a->words[0]);
  ref = read_lines(a->words[1]);
  if (hyp.count != ref.count)
    fail(FAILED_JOB, "%s has %lu lines, %s has %lu; as many of both are wanted", a->words[0],
         (unsigned long)hyp.count, a->words[1], (unsigned long)ref.count);
  while (next_piece(&list, ",", &name)) {
    const char *known = metric_find(name)->name;
    double value = metric(known, hyp.at, ref.at, hyp.count, &m);
    print_metric(known, value, hyp.count, opt_flag(a, "json"));
  }
  lines_free(&hyp);
  lines_free(&ref);
  return 0;
}
