/* metrics.h   F1, MCC, entities, correlation, word vectors; the list of all metrics; score.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* ==============================================================================================
   >>tool metrics   metrics of labels, tags, numbers, word vectors; the list of all; in per cent
   ============================================================================================== */

/* -- classes: f1, mcc -- */

/* The counts of a line: the numbers of the predicted and of the true label, and about each whether
   it is the positive class; whether there is a label other than 0 and 1; whether nothing was
   predicted. The true label is the alternative that equals the prediction, else the first. */
enum { GIVEN, TRUTH, GIVEN_POSITIVE, TRUTH_POSITIVE, NOT_BINARY, GIVEN_NOTHING };

/* The labels of line i. */
static void class_labels(const corpus *c, size_t i, units out[2]) {
  example e = example_make(c, i, split_whole);
  units none, *truth = &e.refs[0];
  size_t r;
  for (r = e.ref_count; r-- > 0;)
    if (text_equal(buffer_text(&e.hyp.text), buffer_text(&e.refs[r].text))) truth = &e.refs[r];
  memset(&none, 0, sizeof none);
  out[0] = e.hyp, e.hyp = none;
  out[1] = *truth, *truth = none;
  example_free(&e);
}

static void class_lines(const corpus *c, int unused, double *k) {
  units *label = (units *)take(2 * c->n, sizeof *label);
  syn_text *text = (syn_text *)take(2 * c->n, sizeof *text);
  size_t *number = (size_t *)take(2 * c->n, sizeof *number), i;
  const char *positive = c->options->positive ? c->options->positive : "1";
  UNUSED(unused);
  for (i = 0; i < c->n; i++) class_labels(c, i, label + 2 * i);
  for (i = 0; i < 2 * c->n; i++) text[i] = buffer_text(&label[i].text);
  number_texts(text, 2 * c->n, number);
  for (i = 0; i < 2 * c->n; i++) {
    double *at = k + i / 2 * METRIC_COUNTS;
    at[i % 2] = (double)number[i];
    at[GIVEN_POSITIVE + i % 2] = text_is(text[i], positive);
    at[GIVEN_NOTHING] += i % 2 == GIVEN && !text[i].size;
    if ((i % 2 == TRUTH || text[i].size) && !text_is(text[i], "0") && !text_is(text[i], "1"))
      at[NOT_BINARY] = 1.0;
    units_free(&label[i]);
  }
  free(label);
  free(text);
  free(number);
}

/* How often each class was predicted, true, and both. Of the confusion matrix only the sums of rows
   and columns and the diagonal are needed. */
typedef struct classes {
  double *given, *truth, *hit; /* [count] */
  size_t count;
  double lines, right;
} classes;

static classes classes_make(const double *k, const unsigned *times, size_t n) {
  classes s;
  size_t i;
  memset(&s, 0, sizeof s);
  for (i = 0; i < n * METRIC_COUNTS; i++)
    if (i % METRIC_COUNTS < 2 && k[i] >= (double)s.count) s.count = (size_t)k[i] + 1;
  s.given = (double *)take(3 * s.count, sizeof *s.given);
  s.truth = s.given + s.count;
  s.hit = s.truth + s.count;
  for (i = 0; i < n; i++, k += METRIC_COUNTS) {
    s.lines += times[i];
    s.given[(size_t)k[GIVEN]] += times[i];
    s.truth[(size_t)k[TRUTH]] += times[i];
    if (k[GIVEN] != k[TRUTH]) continue;
    s.hit[(size_t)k[GIVEN]] += times[i];
    s.right += times[i];
  }
  return s;
}

/* The mean over all classes of the harmonic mean of precision hit/given and recall hit/truth
   (macro F1). An empty output is wrong, but no class. */
static double macro_f1(const double *k, const unsigned *times, size_t n) {
  classes s = classes_make(k, times, n);
  double sum = 0.0, count = 0.0;
  size_t i, nothing = s.count;
  for (i = 0; i < n; i++)
    if (k[i * METRIC_COUNTS + GIVEN_NOTHING] > 0.0) nothing = (size_t)k[i * METRIC_COUNTS + GIVEN];
  for (i = 0; i < s.count; i++) {
    if (s.given[i] + s.truth[i] <= 0.0 || (i == nothing && s.truth[i] <= 0.0)) continue;
    sum += 200.0 * s.hit[i] / (s.given[i] + s.truth[i]);
    count++;
  }
  free(s.given);
  return count > 0.0 ? sum / count : 0.0;
}

/* F1 of the positive class: --positive, else the class 1 when all labels are 0 or 1. For other
   labels macro F1. */
static double metric_f1(const double *k, const unsigned *times, const corpus *c, int unused) {
  double given = 0.0, truth = 0.0, hit = 0.0;
  int binary = 1;
  size_t i;
  UNUSED(unused);
  for (i = 0; i < c->n; i++) {
    const double *at = k + i * METRIC_COUNTS;
    given += times[i] * at[GIVEN_POSITIVE];
    truth += times[i] * at[TRUTH_POSITIVE];
    hit += times[i] * at[GIVEN_POSITIVE] * at[TRUTH_POSITIVE];
    if (times[i] && at[NOT_BINARY] > 0.0) binary = 0;
  }
  if (!c->options->positive && !binary) return macro_f1(k, times, c->n);
  return given + truth > 0.0 ? 200.0 * hit / (given + truth) : 0.0;
}

/* Matthews correlation for any number of classes (Gorodkin 2004): of n lines s are right, class k
   is predicted g_k times and true t_k times, (s n - sum g t) / sqrt((n^2 - sum g^2) (n^2 - sum
   t^2)); 0 when one side has a single class. For two classes it is the phi coefficient. */
static double metric_mcc(const double *k, const unsigned *times, const corpus *c, int unused) {
  classes s = classes_make(k, times, c->n);
  double gt = 0.0, gg = 0.0, tt = 0.0, n = s.lines, below;
  size_t i;
  UNUSED(unused);
  for (i = 0; i < s.count; i++) {
    gt += s.given[i] * s.truth[i];
    gg += s.given[i] * s.given[i];
    tt += s.truth[i] * s.truth[i];
  }
  below = sqrt((n * n - gg) * (n * n - tt));
  free(s.given);
  return below > 0.0 ? 100.0 * (s.right * n - gt) / below : 0.0;
}

/* -- entity_f1, entity_precision, entity_recall: spans of tags (Tjong Kim Sang 2002) -- */

/* A tag is O, or a letter, a dash and a type: B begins an entity, I continues one, E ends it, S is
   one of a single word (schemes IOB1, BIO or IOB2, IOBES). Sequences that break a scheme are read
   as conlleval does, and as seqeval does by default: an entity also begins and ends where the type
   changes, and begins where I or E follows no entity. */
typedef struct span_reader {
  char letter;    /* of the tag before */
  syn_text type;  /* of the tag before; "_" where it has none */
  size_t begin;   /* where the last entity began */
} span_reader;

static syn_text tag_type(syn_text tag) {
  uint32_t code;
  size_t first = decode(tag, 0, &code);
  const char *dash = (const char *)memchr(tag.at + first, '-', tag.size - first);
  if (dash) first = (size_t)(dash - tag.at) + 1;
  tag.at += first;
  tag.size -= first;
  return tag.size ? tag : syn_text_of("_");
}

static int is_one_of(char c, const char *list) { return c && strchr(list, c) != NULL; }

/* Reads the tag at place `at`. Returns 1 when an entity ended before it: one of *type, from *begin
   on. */
static int span_read(span_reader *s, syn_text tag, size_t at, syn_text *type, size_t *begin) {
  syn_text next = tag_type(tag);
  char last = s->letter, letter = tag.at[0];
  int other = !text_equal(s->type, next);
  int ended = is_one_of(last, "ES") || (is_one_of(last, "BI") && is_one_of(letter, "BSO")) ||
              (!is_one_of(last, "O.") && other);
  int begins = is_one_of(letter, "BS") || (is_one_of(last, "ESO") && is_one_of(letter, "EI")) ||
               (!is_one_of(letter, "O.") && other);
  *type = s->type;
  *begin = s->begin;
  if (begins) s->begin = at;
  s->letter = letter;
  s->type = next;
  return ended;
}

/* Whether a tag belongs to the schemes. */
static int is_span_tag(syn_text tag) {
  if (tag.size == 1) return is_one_of(tag.at[0], "OBIES");
  return is_one_of(tag.at[0], "BIES") && tag.at[1] == '-';
}

/* The counts of a line: equal entities, those of the output, those of the reference; whether the
   numbers of tags differ; tags of no scheme in both. `at`: places of all lines before. A line
   ends in O. */
static size_t span_line(span_reader s[2], const corpus *c, size_t i, size_t at, double *k) {
  units tags[2];
  size_t end, j, begin[2];
  syn_text type[2], tag;
  int side, ended[2];
  memset(tags, 0, sizeof tags);
  split_words(&tags[0], c->hyp[i]);
  split_words(&tags[1], c->ref[i]);
  end = tags[0].count > tags[1].count ? tags[0].count : tags[1].count;
  k[3] = tags[0].count != tags[1].count;
  for (j = 0; j <= end; j++) {
    for (side = 0; side < 2; side++) {
      tag = j < tags[side].count ? units_slice(&tags[side], j, 1) : syn_text_of("O");
      k[4 + side] += !is_span_tag(tag);
      ended[side] = span_read(&s[side], tag, at + j, &type[side], &begin[side]);
      k[1 + side] += ended[side];
    }
    k[0] += ended[0] && ended[1] && begin[0] == begin[1] && text_equal(type[0], type[1]);
  }
  units_free(&tags[0]);
  units_free(&tags[1]);
  return at + end + 1;
}

static void span_lines(const corpus *c, int unused, double *k) {
  span_reader s[2];
  size_t i, at = 0;
  UNUSED(unused);
  s[0].letter = 'O', s[0].begin = 0, s[0].type = syn_text_of("");
  s[1] = s[0];
  for (i = 0; i < c->n; i++) at = span_line(s, c, i, at, k + i * METRIC_COUNTS);
}

enum { SPAN_F1, SPAN_PRECISION, SPAN_RECALL };

static double span_of(const double *k, double n, int variant) {
  double p = k[1] > 0.0 ? k[0] / k[1] : 0.0, r = k[2] > 0.0 ? k[0] / k[2] : 0.0;
  UNUSED(n);
  if (variant != SPAN_F1) return 100.0 * (variant == SPAN_PRECISION ? p : r);
  return p + r > 0.0 ? 100.0 * 2.0 * p * r / (p + r) : 0.0;
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

/* Divides numbers by a power of two, so that the largest is below 1: their squares then neither
   overflow nor vanish, and correlate the same. */
static void make_small(double *x, size_t n) {
  double most = 0.0;
  int exponent;
  size_t i;
  for (i = 0; i < n; i++)
    if (fabs(x[i]) > most) most = fabs(x[i]);
  frexp(most, &exponent);
  for (i = 0; i < n; i++) x[i] = ldexp(x[i], -exponent);
}

/* Pearson's correlation, sums of products about the means in one pass (Welford 1962); 0 when one
   side is constant. Line i counts times[i] times. */
static double correlation(const double *x, const double *y, const unsigned *times, size_t n) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0, count = 0.0;
  size_t i;
  unsigned t;
  for (i = 0; i < n; i++)
    for (t = 0; t < times[i]; t++) {
      double dx = x[i] - mean_x, dy = y[i] - mean_y;
      count++;
      mean_x += dx / count;
      mean_y += dy / count;
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

/* Replaces n numbers, of which x[i] occurs times[i] times, by their ranks from 1 on; equal numbers
   get the mean of their ranks. */
static void make_ranks(double *x, const unsigned *times, size_t n) {
  double (*sorted)[3] = (double (*)[3])take(n, sizeof *sorted), below = 0.0, count;
  size_t i, k, end;
  for (i = 0; i < n; i++) sorted[i][0] = x[i], sorted[i][1] = (double)i, sorted[i][2] = times[i];
  qsort(sorted, n, sizeof *sorted, number_order);
  for (i = 0; i < n; i = end) {
    for (count = 0.0, end = i; end < n && sorted[end][0] == sorted[i][0]; end++)
      count += sorted[end][2];
    for (k = i; k < end; k++) x[(size_t)sorted[k][1]] = below + 0.5 * (1.0 + count);
    below += count;
  }
  free(sorted);
}

/* The counts of a line: both numbers. */
static void number_line(const corpus *c, size_t i, int variant, double *k) {
  units u[2];
  int side;
  memset(u, 0, sizeof u);
  split_words(&u[0], c->hyp[i]);
  split_words(&u[1], c->ref[i]);
  for (side = 0; side < 2; side++) {
    k[side] = line_number(&u[side], variant, side ? "references" : "outputs", i);
    units_free(&u[side]);
  }
}

/* Pearson's correlation of the numbers, or of their ranks (Spearman 1904). */
static double metric_correlation(const double *k, const unsigned *times, const corpus *c,
                                 int variant) {
  double *x = (double *)take(2 * c->n, sizeof *x), *y = x + c->n, value;
  size_t i;
  for (i = 0; i < c->n; i++) x[i] = k[i * METRIC_COUNTS], y[i] = k[i * METRIC_COUNTS + 1];
  if (variant == SPEARMAN) make_ranks(x, times, c->n), make_ranks(y, times, c->n);
  make_small(x, c->n), make_small(y, c->n);
  value = 100.0 * correlation(x, y, times, c->n);
  free(x);
  return value;
}

/* -- embedding: cosine of mean word vectors (embedding average, Liu et al. 2016, section 3.2) -- */

/* A line of the file of --vectors has a word and the numbers of its vector with blanks between, as
   the files of GloVe have. A first line with two integers, as those of word2vec and fastText have,
   is skipped. All lines have as many numbers as the first, and what stands before these is the
   word, which may have blanks. Of a word that comes twice the first vector counts that is whole. */
typedef struct word_vectors {
  grams words;           /* those of outputs and references, sorted */
  size_t *row;           /* [words.count] 1 + the row of its vector, or 0 */
  double *of;            /* [rows][width] */
  size_t rows, width;
  size_t broken;         /* lines of these words that are not a word and `width` numbers */
  unsigned long read;    /* lines so far */
} word_vectors;

static int is_field_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void trim_end(syn_text *line) {
  while (line->size && is_field_blank(line->at[line->size - 1])) line->size--;
}

/* The last field of a line, which loses it and the blanks before it; empty where there is none. */
static syn_text last_field(syn_text *line) {
  syn_text field;
  trim_end(line);
  field = *line;
  while (line->size && !is_field_blank(line->at[line->size - 1])) line->size--;
  field.at += line->size;
  field.size -= line->size;
  trim_end(line);
  return field;
}

/* Whether a line is that of word2vec's text form: two integers. */
static int is_vectors_head(syn_text line) {
  syn_text second = last_field(&line), first = last_field(&line);
  double x;
  return first.size && !line.size && text_number(first, &x) && x == floor(x) &&
         text_number(second, &x) && x == floor(x);
}

/* 1 + the place of a word among those that are wanted, or 0. */
static size_t wanted_word(const word_vectors *v, syn_text word, int form) {
  buffer composed = {NULL, 0, 0};
  const syn_text *at;
  if (form & SYN_NFC) {
    put_normalized(&composed, word, SYN_NFC);
    word = buffer_text(&composed);
  }
  at = (const syn_text *)bsearch(&word, v->words.at, v->words.count, sizeof *at, text_order);
  free(composed.at);
  return at ? (size_t)(at - v->words.at) + 1 : 0;
}

/* Whether a line without a wanted word begins with one, and a number or nothing follows: then it
   has more or fewer numbers than the first line. */
static int is_other_width(const word_vectors *v, syn_text line, syn_text word, int form) {
  syn_text rest = line, first;
  double x;
  next_piece(&rest, " \t\r", &first);
  return first.size != word.size && wanted_word(v, first, form) &&
         (!word.size || text_number(last_field(&word), &x));
}

static void vectors_line(word_vectors *v, syn_text line, const metric_options *o) {
  syn_text word = line;
  size_t i, n;
  trim_end(&line);
  if (++v->read == 1 && is_vectors_head(line)) return;
  if (!line.size) return;
  check_zeros(line, o->vectors, v->read);
  if (!v->width) {
    for (n = 0; last_field(&word).size;) n++;
    v->width = n - 1;
    word = line;
  }
  for (i = 0; i < v->width; i++) last_field(&word);
  n = wanted_word(v, word, o->form);
  if (!n) v->broken += (size_t)is_other_width(v, line, word, o->form);
  if (!n || !v->width || v->row[n - 1]) return;
  if (!(v->rows & (v->rows - 1)))
    v->of = (double *)grow(v->of, size_mul(v->rows ? 2 * v->rows : 1, v->width), sizeof *v->of);
  for (i = v->width; i-- > 0;) {
    double *x = &v->of[v->rows * v->width + i];
    if (text_number(last_field(&line), x) && fabs(*x) <= 3.4028235e38) continue;
    v->broken++;
    return;
  }
  v->row[n - 1] = ++v->rows;
}

/* The vectors of all words of e [n]. A file of vectors may be larger than the memory, so it is read
   line by line. */
static word_vectors vectors_read(const metric_options *o, const example *e, size_t n) {
  FILE *f = open_file(o->vectors, "rb");
  buffer line = {NULL, 0, 0};
  word_vectors v;
  char block[65536];
  const char *end;
  size_t total = 0, i, r, k, got, size;
  if (!f) fail(FAILED_JOB, "cannot open %s: %s", o->vectors, strerror(errno));
  memset(&v, 0, sizeof v);
  for (i = 0; i < n; i++)
    for (r = 0; r <= e[i].ref_count; r++) total += (r ? &e[i].refs[r - 1] : &e[i].hyp)->count;
  v.words = grams_new(total);
  for (total = 0, i = 0; i < n; i++)
    for (r = 0; r <= e[i].ref_count; r++) {
      const units *u = r ? &e[i].refs[r - 1] : &e[i].hyp;
      for (k = 0; k < u->count; k++) v.words.at[total++] = units_slice(u, k, 1);
    }
  grams_count(&v.words, total);
  v.row = (size_t *)take(v.words.count, sizeof *v.row);
  while ((got = fread(block, 1, sizeof block, f)) > 0)
    for (i = 0; i < got; i += size + (end != NULL)) {
      end = (const char *)memchr(block + i, '\n', got - i);
      size = end ? (size_t)(end - block) - i : got - i;
      put(&line, block + i, size);
      if (!v.read) check_text(buffer_text(&line), o->vectors), skip_byte_order_mark(&line);
      if (!end) continue;
      vectors_line(&v, buffer_text(&line), o);
      line.size = 0;
    }
  if (line.size) vectors_line(&v, buffer_text(&line), o);
  if (ferror(f)) fail(FAILED_JOB, "cannot read %s: %s", o->vectors, strerror(errno));
  fclose(f);
  if (!v.width)
    fail(FAILED_JOB, "%s: the first line is no word and its vector, with blanks between",
         o->vectors);
  free(line.at);
  return v;
}

/* sum [width] = the sum of the vectors of a text; returns how many of its words have none. */
static size_t vectors_sum(const word_vectors *v, const units *u, double *sum) {
  size_t i, k, missing = 0;
  for (k = 0; k < v->width; k++) sum[k] = 0.0;
  for (i = 0; i < u->count; i++) {
    size_t row = v->row[wanted_word(v, units_slice(u, i, 1), 0) - 1];
    missing += !row;
    for (k = 0; k < v->width && row; k++) sum[k] += v->of[(row - 1) * v->width + k];
  }
  return missing;
}

/* x.y / (|x| |y|), 0 where one side is 0. The numbers fit a float, so no square overflows. */
static double cosine(const double *x, const double *y, size_t n) {
  double xx = 0.0, yy = 0.0, xy = 0.0;
  size_t i;
  for (i = 0; i < n; i++) xx += x[i] * x[i], yy += y[i] * y[i], xy += x[i] * y[i];
  return xx > 0.0 && yy > 0.0 ? xy / (sqrt(xx) * sqrt(yy)) : 0.0;
}

/* The counts of a line: the cosine, of alternatives the largest of those that have a word with a
   vector; words, and those without a vector; 1 where a side has no word with a vector, of which the
   cosine is 0. Of the first line also the broken lines of the file. */
enum { EMBEDDING, EMBEDDING_WORDS, EMBEDDING_MISSING, EMBEDDING_NOTHING, EMBEDDING_BROKEN };

static void embedding_lines(const corpus *c, int unused, double *k) {
  example *e = (example *)take(c->n, sizeof *e);
  word_vectors v;
  double *sum[2], *at = k, value;
  size_t i, r, missing;
  UNUSED(unused);
  for (i = 0; i < c->n; i++) e[i] = example_make(c, i, c->options->words);
  v = vectors_read(c->options, e, c->n);
  sum[0] = (double *)take(2 * v.width, sizeof **sum);
  sum[1] = sum[0] + v.width;
  for (i = 0; i < c->n; i++, at += METRIC_COUNTS) {
    size_t unknown = vectors_sum(&v, &e[i].hyp, sum[0]);
    at[EMBEDDING_WORDS] = (double)e[i].hyp.count;
    at[EMBEDDING_MISSING] = (double)unknown;
    at[EMBEDDING_NOTHING] = 1.0;
    for (r = 0; r < e[i].ref_count; r++) {
      missing = vectors_sum(&v, &e[i].refs[r], sum[1]);
      at[EMBEDDING_WORDS] += (double)e[i].refs[r].count;
      at[EMBEDDING_MISSING] += (double)missing;
      if (unknown == e[i].hyp.count || missing == e[i].refs[r].count) continue;
      value = cosine(sum[0], sum[1], v.width);
      if (at[EMBEDDING_NOTHING] > 0.0 || value > at[EMBEDDING]) at[EMBEDDING] = value;
      at[EMBEDDING_NOTHING] = 0.0;
    }
  }
  k[EMBEDDING_BROKEN] = (double)v.broken;
  free(sum[0]);
  free(v.of);
  free(v.row);
  grams_free(&v.words);
  for (i = 0; i < c->n; i++) example_free(&e[i]);
  free(e);
}

/* -- notes: what a value does not show -- */

/* A note gets the counts of all lines and their sums, and prints what is needed on stderr. */

/* Whether an output has a character of three bytes or more, as scripts without blanks have. */
static int has_high_characters(const corpus *c) {
  size_t i, j;
  for (i = 0; i < c->n; i++)
    for (j = 0; j < c->hyp[i].size; j++)
      if ((unsigned char)c->hyp[i].at[j] >= 0xE0) return 1;
  return 0;
}

/* The share of the letters of the references that are not among a-z and 0-9, in any case. */
static double letters_not_counted(const corpus *c) {
  double all = 0.0, other = 0.0;
  uint32_t code;
  size_t i, j;
  for (i = 0; i < c->n; i++)
    for (j = 0; j < c->ref[i].size;) {
      j += decode(c->ref[i], j, &code);
      all += is_letter(code);
      other += code >= 128 && is_letter(code);
    }
  return all > 0.0 ? other / all : 0.0;
}

static void note_bleu(const char *name, const double *k, const double *sum, const corpus *c) {
  int blanks = c->options->words == split_13a || c->options->words == split_words;
  UNUSED(k);
  if (sum[7] <= 0.0)
    fprintf(stderr, "syn: %s: no output has four words, so it is 0%s\n", name,
            blanks && has_high_characters(c)
                ? ": --tokenize zh or char splits texts that have no blanks" : "");
}
/* Labels of other programs may end in blanks. */
static void note_exact(const char *name, const double *k, const double *sum, const corpus *c) {
  UNUSED(k);
  if (sum[1] > sum[0])
    fprintf(stderr, "syn: %s: %.0f of %lu lines are wrong for their white space alone\n", name,
            sum[1] - sum[0], (unsigned long)c->n);
}
static void note_edits(const char *name, const double *k, const double *sum, const corpus *c) {
  UNUSED(k);
  UNUSED(c);
  if (sum[1] <= 0.0)
    fprintf(stderr, "syn: %s: no reference has a word, so it is 0 without edits, else 100\n", name);
}
static void note_rouge(const char *name, const double *k, const double *sum, const corpus *c) {
  int ascii = c->options->letters != split_letters;
  const char *why = ": a-z and 0-9 alone do; --rouge-tokenize unicode counts all letters";
  double share = ascii ? letters_not_counted(c) : 0.0;
  UNUSED(k);
  if (sum[1] > 0.0)
    fprintf(stderr, "syn: %s: in %.0f of %lu references no letter counts%s\n", name, sum[1],
            (unsigned long)c->n, ascii ? why : "");
  else if (share > 0.5)
    fprintf(stderr, "syn: %s: %.0f %% of the letters of the references do not count%s\n", name,
            100.0 * share, why);
}
static void note_cider(const char *name, const double *k, const double *sum, const corpus *c) {
  UNUSED(k);
  UNUSED(sum);
  if (c->n == 1)
    fprintf(stderr, "syn: %s: of one line it is 0: words of all references weigh nothing\n", name);
}
static void note_embedding(const char *name, const double *k, const double *sum, const corpus *c) {
  const char *path = c->options->vectors;
  char share[32];
  UNUSED(k);
  if (sum[EMBEDDING_MISSING] > 0.0)
    fprintf(stderr, "syn: %s: %s of the words have no vector in %s%s\n", name,
            percent(share, sum[EMBEDDING_MISSING], sum[EMBEDDING_WORDS]), path,
            c->options->form & SYN_LOWERCASE ? "" : "; --lowercase looks for small letters");
  if (sum[EMBEDDING_NOTHING] > 0.0)
    fprintf(stderr, "syn: %s: in %.0f of %lu lines a side has no word with a vector, so they "
            "count as 0\n", name, sum[EMBEDDING_NOTHING], (unsigned long)c->n);
  if (sum[EMBEDDING_BROKEN] > 0.0)
    fprintf(stderr, "syn: %s: %.0f lines of %s have a word that is wanted, and not as many numbers "
            "behind it as the first line\n", name, sum[EMBEDDING_BROKEN], path);
}
static void note_meteor(const char *name, const double *k, const double *sum, const corpus *c) {
  UNUSED(k);
  if (sum[4] > 0.0)
    fprintf(stderr, "syn: %s: in %.0f of %lu lines the search for words of one meaning was too "
            "long and ended early\n", name, sum[4], (unsigned long)c->n);
}
static void note_f1(const char *name, const double *k, const double *sum, const corpus *c) {
  const char *positive = c->options->positive;
  UNUSED(k);
  if (sum[GIVEN_POSITIVE] + sum[TRUTH_POSITIVE] > 0.0) return;
  if (positive)
    fprintf(stderr, "syn: %s: no label is %s, the class of --positive\n", name, positive);
  else if (sum[NOT_BINARY] <= 0.0) fprintf(stderr, "syn: %s: no label is 1, so it is 0\n", name);
}
static void note_spans(const char *name, const double *k, const double *sum, const corpus *c) {
  int side;
  UNUSED(k);
  for (side = 0; side < 2; side++)
    if (sum[4 + side] > 0.0)
      fprintf(stderr, "syn: %s: %.0f tags of the %s are neither O nor B, I, E or S with a dash and "
              "a type\n", name, sum[4 + side], side ? "references" : "outputs");
  if (sum[3] > 0.0)
    fprintf(stderr, "syn: %s: %.0f of %lu lines have fewer or more tags than their reference: "
            "a missing tag counts as O\n", name, sum[3], (unsigned long)c->n);
  if (sum[1] + sum[2] <= 0.0)
    fprintf(stderr, "syn: %s: neither outputs nor references have an entity, so it is 0\n", name);
}
/* A side of which all lines are alike correlates with nothing. */
static void note_constant(const char *name, const double *k, const double *sum, const corpus *c) {
  int side, alike;
  size_t i;
  UNUSED(sum);
  for (side = 0; side < 2; side++) {
    for (alike = 1, i = 1; i < c->n && alike; i++)
      alike = k[i * METRIC_COUNTS + (size_t)side] == k[side];
    if (!alike) continue;
    fprintf(stderr, "syn: %s: all %s are the same, so it is not defined and 0 is printed\n", name,
            side ? "references" : "outputs");
    return;
  }
}

/* -- the list -- */

/* `line` fills the counts of line i, k [METRIC_COUNTS], zeroed by the caller; `lines` those of all
   lines, where they depend on each other, k [n][METRIC_COUNTS]. `of` is the value of the sums of
   the counts of n lines; or `over` that of the counts of all lines, of which line i counts times[i]
   times. */
typedef struct metric_row {
  const char *name;
  int variant;
  void (*line)(const corpus *c, size_t i, int variant, double *k);
  void (*lines)(const corpus *c, int variant, double *k);
  double (*of)(const double *k, double n, int variant);
  double (*over)(const double *k, const unsigned *times, const corpus *c, int variant);
  void (*note)(const char *name, const double *k, const double *sum, const corpus *c);
} metric_row;

static const metric_row metric_rows[] = {
    {"bleu", 4, bleu_line, NULL, bleu_of, NULL, note_bleu},
    {"bleu1", 1, bleu_line, NULL, bleu_of, NULL, NULL},
    {"chrf", 0, chrf_line, NULL, chrf_of, NULL, NULL},
    {"chrf++", 2, chrf_line, NULL, chrf_of, NULL, NULL},
    {"ter", 0, ter_line, NULL, edits_of, NULL, note_edits},
    {"wer", 0, wer_line, NULL, edits_of, NULL, note_edits},
    {"per", 0, wer_line, NULL, edits_of, NULL, note_edits},
    {"exact", 0, exact_line, NULL, mean_of, NULL, note_exact},
    {"accuracy", 1, exact_line, NULL, mean_of, NULL, note_exact},
    {"rouge1", 1, rouge_line, NULL, mean_of, NULL, note_rouge},
    {"rouge2", 2, rouge_line, NULL, mean_of, NULL, note_rouge},
    {"rougeL", 0, rouge_line, NULL, mean_of, NULL, note_rouge},
    {"rougeLsum", 0, rouge_sum_line, NULL, mean_of, NULL, note_rouge},
    {"cider", 0, NULL, cider_lines, mean_of, NULL, note_cider},
    {"meteor", 0, NULL, meteor_lines, meteor_of, NULL, note_meteor},
    {"meteor-es", 0, meteor_line, NULL, meteor_of, NULL, NULL},
    {"embedding", 0, NULL, embedding_lines, mean_of, NULL, note_embedding},
    {"f1", 0, NULL, class_lines, NULL, metric_f1, note_f1},
    {"mcc", 0, NULL, class_lines, NULL, metric_mcc, note_constant},
    {"entity_f1", SPAN_F1, NULL, span_lines, span_of, NULL, note_spans},
    {"entity_precision", SPAN_PRECISION, NULL, span_lines, span_of, NULL, note_spans},
    {"entity_recall", SPAN_RECALL, NULL, span_lines, span_of, NULL, note_spans},
    {"pearson", PEARSON, number_line, NULL, NULL, metric_correlation, note_constant},
    {"spearman", SPEARMAN, number_line, NULL, NULL, metric_correlation, note_constant},
};
#define METRIC_NAMES \
  "bleu bleu1 chrf chrf++ ter wer per exact accuracy rouge1 rouge2 rougeL rougeLsum cider " \
  "meteor meteor-es embedding f1 mcc entity_f1 entity_precision entity_recall pearson spearman"
#define LOSS_NAMES "ppl nats nats_char" /* of a model alone */
#define NUMBER_NAMES "mse mae r2"       /* of a model of regress or regress_rows */
#define METRIC_NOTE \
  "; wer: edits per word of the reference, per is another name for it; exact: lines that are " \
  "right, whatever white space is between their words, of accuracy in every byte; " \
  "bleu1: BLEU of single words, BLEU-1; " \
  "cider: CIDEr-D; " \
  "meteor: METEOR with the words of one meaning of --synonyms; meteor-es: its exact and stem " \
  "stages alone; embedding: cosine of the mean word vectors of --vectors; " \
  "entity: spans of tags B-X, I-X, E-X, S-X, O"

/* The row of a metric; exits when there is none. */
static const metric_row *metric_find(syn_text name) {
  nearest near = {NULL, 0};
  size_t i;
  for (i = 0; i < COUNT(metric_rows); i++) {
    if (text_is(name, metric_rows[i].name)) return &metric_rows[i];
    nearest_try(&near, name, metric_rows[i].name);
  }
  if (!name.size)
    fail(WRONG_USE,
         "a name in the list of --metric is empty; all are %s, of eval also %s, of regress %s",
         METRIC_NAMES, LOSS_NAMES, NUMBER_NAMES);
  fail(WRONG_USE, "no metric %.*s; the nearest is %s, all are %s, of eval also %s, of regress %s",
       short_size(name), name.at, near.name, METRIC_NAMES, LOSS_NAMES, NUMBER_NAMES);
  return NULL;
}

/* Metrics of labels and tags: their references have no alternatives. */
#define LABEL_METRICS "accuracy|f1|mcc|entity_f1|entity_precision|entity_recall"

/* The counts of all lines, k [n][METRIC_COUNTS], zeroed by the caller. */
static void metric_counts(const metric_row *row, const corpus *c, double *k) {
  metric_options one = *c->options;
  corpus of = *c;
  size_t i;
  if (in_choices(LABEL_METRICS, row->name)) one.alternatives = NULL;
  of.options = &one;
  if (row->lines) row->lines(&of, row->variant, k);
  else
    for (i = 0; i < of.n; i++) row->line(&of, i, row->variant, k + i * METRIC_COUNTS);
}

/* The value of one metric over n > 0 outputs and their references, in per cent. Says on stderr what
   the value does not show. */
static double metric(const char *name, const syn_text *hyp, const syn_text *ref, size_t n,
                     const metric_options *options) {
  const metric_row *row = metric_find(syn_text_of(name));
  double sum[METRIC_COUNTS] = {0.0}, *k = (double *)take(size_mul(n, METRIC_COUNTS), sizeof *k);
  unsigned *once = (unsigned *)take(n, sizeof *once);
  corpus c;
  size_t i;
  c.hyp = hyp;
  c.ref = ref;
  c.n = n;
  c.options = options;
  metric_counts(row, &c, k);
  for (i = 0; i < n * METRIC_COUNTS; i++) sum[i % METRIC_COUNTS] += k[i];
  for (i = 0; i < n; i++) once[i] = 1;
  if (row->note) row->note(name, k, sum, &c);
  sum[0] = row->of ? row->of(sum, (double)n, row->variant) : row->over(k, once, &c, row->variant);
  free(k);
  free(once);
  return sum[0];
}

/* Prints one result, for eval and score. */
static void print_metric(const char *name, double value, size_t n, int json) {
  if (json) printf("{\"metric\":\"%s\",\"value\":%.2f,\"n\":%lu}\n", name, value, (unsigned long)n);
  else printf("%s %.2f\n", name, value);
}

/* ==============================================================================================
   >>tool score   metrics of two text files, without a model
   ============================================================================================== */

#define TOKENIZE_NAMES "13a|none|zh|char"

/* The options that eval and score share, beside --metric. */
#define METRIC_OPTIONS \
  {"tokenize", 0, CHOICE, "13a", TOKENIZE_NAMES, \
   "words of bleu, bleu1, cider, meteor and embedding; none: split at white space; zh: each " \
   "Chinese character; char: each character"}, \
  {"rouge-tokenize", 0, CHOICE, "ascii", "ascii|unicode", \
   "words of rouge: of a-z and 0-9, as published; of the letters and digits of all languages"}, \
  {"lowercase", 0, FLAG, "off", "", "compares in lower case; ter, rouge, meteor always do"}, \
  {"nfc", 0, FLAG, "off", "", "composes letters and their marks (NFC) before it compares"}, \
  ALTERNATIVES_OPTION, \
  {"sentences", 0, ANY, "<q>", "MARK", "stands between the sentences of a line, for rougeLsum"}, \
  {"positive", 0, TEXT, "", "CLASS", \
   "class of f1; not given: 1 of labels 0 and 1, else mean of all"}, \
  {"synonyms", 0, READS, "", "FILE", "of meteor: each line has the words of one meaning"}, \
  {"vectors", 0, READS, "", "FILE", "of embedding: each line has a word and its vector (GloVe)"}, \
  {"json", 0, FLAG, "off", "", "one JSON object a line"}

/* Their names: those that metrics alone use, and those of say_idle_options. */
#define OWN_METRIC_OPTIONS "tokenize|rouge-tokenize|sentences|positive|synonyms|vectors"
#define ALL_METRIC_OPTIONS OWN_METRIC_OPTIONS "|lowercase|nfc|alternatives"
#define END_OF_OPTIONS {NULL, 0, FLAG, NULL, NULL, NULL}

#define ALTERNATIVES_OPTION \
  {"alternatives", 0, TEXT, "", "MARK", \
   "separates alternatives of a target, as a TAB always does. Labels and tags have none: there, " \
   "and for accuracy, f1 and mcc, a TAB is a part of the label"}

static const option score_options[] = {
    {"metric", 0, TEXT, NULL, "LIST", "separated by commas: " METRIC_NAMES METRIC_NOTE},
    METRIC_OPTIONS,
    END_OF_OPTIONS};

/* The option that names the file of a metric; null: it has none. */
static const char *metric_file(syn_text name) {
  return text_is(name, "meteor") ? "synonyms" : text_is(name, "embedding") ? "vectors" : NULL;
}

/* Exits when the list of --metric has a metric whose file was not given. open 1: or cannot be
   opened, which a long job wants to know at its beginning. */
static void want_metric_files(const arguments *a, syn_text list, int open) {
  syn_text name;
  while (next_piece(&list, ",", &name)) {
    const char *file = metric_file(name), *path = file ? opt_text(a, file) : NULL;
    if (!file) continue;
    if (!*path || strcmp(path, "-") == 0)
      fail(WRONG_USE, "%s --metric %.*s wants --%s FILE, given: %s", a->command->name,
           (int)name.size, name.at, file, *path ? "- (standard input)" : "none");
    if (open && !file_exists(path))
      fail(FAILED_JOB, "cannot open %s: %s", path, strerror(errno));
  }
}

/* Reads METRIC_OPTIONS, which eval, score and compare have. */
static metric_options metric_options_of(const arguments *a) {
  static const splitter words[] = {split_13a, split_words, split_zh, split_characters};
  syn_text rest = syn_text_of(TOKENIZE_NAMES), name;
  metric_options m;
  int i = -1;
  do i++;
  while (next_piece(&rest, "|", &name) && !text_is(name, opt_text(a, "tokenize")));
  m.words = words[i];
  m.line = split_words;
  m.letters = strcmp(opt_text(a, "rouge-tokenize"), "unicode") ? split_rouge : split_letters;
  m.form = (opt_flag(a, "lowercase") ? SYN_LOWERCASE : 0) | (opt_flag(a, "nfc") ? SYN_NFC : 0);
  m.alternatives = opt_text(a, "alternatives");
  m.sentences = opt_text(a, "sentences");
  m.positive = *opt_text(a, "positive") ? opt_text(a, "positive") : NULL;
  m.synonyms = opt_text(a, "synonyms");
  m.vectors = opt_text(a, "vectors");
  return m;
}

/* Says which options of `among` were given although no metric of the list uses them. */
static void say_idle_options(const arguments *a, const char *among, const char *list) {
  static const char *const uses[][2] = {
      {"tokenize", "bleu|bleu1|cider|meteor|meteor-es|embedding"},
      {"rouge-tokenize", "rouge1|rouge2|rougeL|rougeLsum"},
      {"lowercase", "bleu|bleu1|chrf|chrf++|wer|per|exact|accuracy|cider|embedding|f1|mcc"},
      {"nfc", "bleu|bleu1|chrf|chrf++|ter|wer|per|exact|accuracy|rouge1|rouge2|rougeL|rougeLsum|"
              "cider|meteor|meteor-es|embedding|f1|mcc"},
      {"alternatives", "bleu|bleu1|chrf|chrf++|ter|wer|per|exact|rouge1|rouge2|rougeL|rougeLsum|"
                       "cider|meteor|meteor-es|embedding|ppl|nats|nats_char"},
      {"sentences", "rougeLsum"},
      {"positive", "f1"},
      {"synonyms", "meteor"},
      {"vectors", "embedding"}};
  size_t i;
  for (i = 0; i < COUNT(uses); i++) {
    syn_text rest = syn_text_of(list), name, use, users;
    int used = !in_choices(among, uses[i][0]) || !opt_given(a, uses[i][0]);
    while (!used && next_piece(&rest, ",", &name))
      for (users = syn_text_of(uses[i][1]); next_piece(&users, "|", &use);)
        used = used || text_equal(use, name);
    if (!used)
      fprintf(stderr, "syn: --%s has no effect: no metric of %s uses it\n", uses[i][0], list);
  }
}

/* Says how many references have alternatives, and how many outputs have a TAB, which is none of
   theirs, where a metric of the list has alternatives. */
static void say_tabs(const lines *hyp, const lines *ref, syn_text list, const char *const path[2]) {
  size_t i, count = 0;
  int labels = 1;
  syn_text name;
  while (next_piece(&list, ",", &name))
    labels = labels && in_choices(LABEL_METRICS "|pearson|spearman", metric_find(name)->name);
  if (labels) return;
  say_alternatives(ref->at, ref->count, path[1]);
  for (i = 0; i < hyp->count; i++) count += count_tabs(hyp->at[i]) > 0;
  if (count)
    fprintf(stderr, "syn: %lu lines of %s have a TAB: only references have alternatives, so it is "
            "a part of the output\n", (unsigned long)count, path[0]);
}

/* Says where one side has far more decomposed letters than the other: they look equal and differ. */
static void say_forms(const char *const path[2], const text_scan s[2]) {
  char share[2][32];
  double part[2], all[2];
  int k;
  for (k = 0; k < 2; k++) {
    all[k] = (double)s[k].letters;
    part[k] = (double)s[k].apart;
    percent(share[k], part[k] < all[k] ? part[k] : all[k], all[k]);
  }
  if (2.0 * part[0] * all[1] < part[1] * all[0] || 2.0 * part[1] * all[0] < part[0] * all[1])
    fprintf(stderr, "syn: %s of the letters of %s are decomposed, %s of those of %s: --nfc composes "
            "them\n", share[0], path[0], share[1], path[1]);
}

/* Reads a side for score and says what is unusual in it. */
static lines score_read(const char *path, text_scan *s) {
  buffer text = read_text(path);
  free(scan_composed(s, buffer_text(&text)).at);
  say_scan(s, path, text.size, 1);
  return lines_of(text);
}

/* Checks the names of the metrics before it opens a file; reads both files and
   computes all values before it prints. */
static int run_score(const arguments *a) {
  metric_options m = metric_options_of(a);
  syn_text list = syn_text_of(opt_text(a, "metric")), rest = list, name;
  lines hyp, ref;
  text_scan s[2];
  double *value;
  size_t n;
  memset(s, 0, sizeof s);
  while (next_piece(&rest, ",", &name)) metric_find(name); /* exits on a wrong name */
  say_idle_options(a, ALL_METRIC_OPTIONS, list.at);
  want_metric_files(a, list, 0);
  hyp = score_read(a->words[0], &s[0]);
  ref = score_read(a->words[1], &s[1]);
  if (!(m.form & SYN_NFC)) say_forms(a->words, s);
  if (hyp.count != ref.count)
    fail(FAILED_JOB, "%s has %lu lines, %s has %lu; as many of both are wanted", a->words[0],
         (unsigned long)hyp.count, a->words[1], (unsigned long)ref.count);
  say_tabs(&hyp, &ref, list, a->words);
  value = (double *)take(list.size + 1, sizeof *value); /* of each name */
  for (rest = list, n = 0; next_piece(&rest, ",", &name); n++)
    value[n] = metric(metric_find(name)->name, hyp.at, ref.at, hyp.count, &m);
  for (n = 0; next_piece(&list, ",", &name); n++)
    print_metric(metric_find(name)->name, value[n], hyp.count, opt_flag(a, "json"));
  free(value);
  lines_free(&hyp);
  lines_free(&ref);
  return 0;
}
