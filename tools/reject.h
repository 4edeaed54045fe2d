/* reject.h   what a small model refuses, and how much of the rest is right. A part of syn.c, which
   includes it behind train.h. */

/* ==============================================================================================
   >>tool reject   accuracy against refusals, by the integers of a board
   ============================================================================================== */

/* An answer: the smallest probability of its tokens, 0 to 32767. */
typedef struct reject_result {
  int least, right;
} reject_result;

/* The model as a board runs it. */
typedef struct rejecter {
  syn_small *s;
  void *ram;
  buffer array;
  int *ids, capacity;
  number_list unit, x;     /* of features: --units; the rows of a source */
  int features, rows, fed; /* numbers of a row, 0: tokens; rows of the source, those that were fed */
  const char *path;        /* of the source and its line */
  unsigned long line;
} rejecter;

/* x = --units: one number for all features, or one for each. Exits where it is none of that. */
static const float *units_read(number_list *x, const syn_model *m, const arguments *a) {
  const size_t f = (size_t)syn_model_config(m)->src_features;
  const char *at = opt_text(a, "units"), *given = at;
  char *digits;
  double value = 1.0;
  int whole = 0; /* the numbers end where the text ends */
  if (!*at) return NULL;
  if (!f) fail(WRONG_USE, "--units: %s reads tokens, not numbers", opt_text(a, "model"));
  x->at = (float *)take(f, sizeof *x->at);
  digits = (char *)take(strlen(at) + 1, 1);
  for (;; at++) {
    memcpy(digits, at, strcspn(at, ","));
    digits[strcspn(at, ",")] = 0;
    if (!parse_number(digits, &value) || !fits_float(value)) break;
    x->at[x->count++] = (float)value;
    at += strcspn(at, ",");
    whole = !*at;
    if (whole || x->count == f) break;
  }
  if (!whole || (x->count != 1 && x->count != f))
    fail(WRONG_USE, "--units %s: wanted one number that float32 holds, or %lu with commas between",
         given, (unsigned long)f);
  free(digits);
  for (; x->count < f; x->count++) x->at[x->count] = (float)value;
  return x->at;
}

static size_t reject_write(void *user, const void *bytes, size_t size) {
  put((buffer *)user, (const char *)bytes, size);
  return size;
}

static rejecter reject_open(syn_context *c, const syn_model *m, const arguments *a) {
  rejecter r;
  syn_small_options options;
  syn_small_config config;
  syn_sink sink;
  long ram;
  memset(&r, 0, sizeof r);
  memset(&options, 0, sizeof options);
  memset(&config, 0, sizeof config);
  options.tokenizers = 1;
  options.units = units_read(&r.unit, m, a);
  r.features = syn_model_config(m)->src_features;
  config.best = 1;
  sink.write = reject_write;
  sink.user = &r.array;
  syn_small_write(c, m, &options, &sink);
  check(c);
  ram = syn_small_ram(r.array.at, r.array.size, &config);
  if (ram < 0) fail(FAILED_JOB, "eval --reject: the small model needs too much memory");
  r.ram = take((size_t)ram, 1);
  r.s = syn_small_open(r.ram, (size_t)ram, r.array.at, r.array.size, &config, NULL);
  r.capacity = syn_model_config(m)->max_len + 2;
  r.ids = (int *)take((size_t)r.capacity, sizeof *r.ids);
  return r;
}

static void reject_close(rejecter *r) {
  free(r->ram);
  free(r->array.at);
  free(r->ids);
  free(r->unit.at);
  free(r->x.at);
}

/* Begins an output. Returns 0, or an error: the text does not fit. */
static int reject_begin(rejecter *r, syn_text text, const char *path, unsigned long line) {
  int count;
  if (r->features) {
    r->rows = read_rows(&r->x, text, r->features, path, line);
    r->fed = 0;
    r->path = path;
    r->line = line;
    return syn_small_source(r->s, NULL, 0);
  }
  count = syn_small_encode(r->s, text, r->ids, r->capacity);
  return count < 0 ? count : syn_small_source(r->s, r->ids, count);
}
/* Feeds the next row in integers, as a sensor gives it, or the end. Returns 0 or an error. */
static int reject_feed(rejecter *r) {
  const float *x = r->x.at + (size_t)r->fed * (size_t)r->features;
  int16_t *row = (int16_t *)take((size_t)r->features, sizeof *row);
  int i, error;
  for (i = 0; i < r->features && r->fed < r->rows; i++) {
    const double q = (double)x[i] / (r->unit.at ? (double)r->unit.at[i] : 1.0);
    if (!(fabs(q) <= 32767.0))
      fail(FAILED_JOB,
           "%s line %lu row %d has the number %g, which is %g units; at most 32767: see --units",
           r->path, r->line, r->fed + 1, (double)x[i], q);
    row[i] = (int16_t)(q < 0.0 ? q - 0.5 : q + 0.5);
  }
  error = syn_small_feed(r->s, r->fed < r->rows ? row : NULL);
  r->fed++;
  free(row);
  return error;
}

/* The answer to a text of a line; `right`: null: a text that should be refused. A text that does
   not fit is refused. */
static reject_result reject_answer(rejecter *r, syn_text text, const syn_text *right,
                                   const char *path, unsigned long line) {
  reject_result a = {0, 0};
  int token, n = 0;
  buffer out = {NULL, 0, 0};
  if (reject_begin(r, text, path, line)) return a;
  a.least = 32767;
  do {
    int probability;
    token = syn_small_step(r->s, LONG_MAX / 2);
    if (token == SYN_SMALL_ROW) {
      token = SYN_SMALL_MORE;
      if (!reject_feed(r)) continue;
      a.least = 0; /* more rows than a source may have */
      break;
    }
    probability = syn_small_score(r->s, 0, NULL); /* below 0: not after a token or END */
    if (probability >= 0 && probability < a.least) a.least = probability;
    if (token >= 0) {
      const syn_text piece = syn_small_piece(r->s, token, !n++);
      put(&out, piece.at, piece.size);
    }
  } while (token >= SYN_SMALL_MORE);
  if (right) {
    const syn_text got = {out.at ? out.at : "", out.size};
    a.right = text_equal(got, *right);
  }
  free(out.at);
  return a;
}

static int answer_order(const void *a, const void *b) {
  return ((const reject_result *)b)->least - ((const reject_result *)a)->least;
}

/* A row for each share of the texts that is accepted: the threshold, how many of them it accepts,
   how many of those are right, and how many of the others it refuses, where there are any. */
static void reject_print(reject_result *of, size_t count, const reject_result *others,
                         size_t n_others, int json) {
  static const int shares[] = {1000, 999, 990, 980, 950, 900, 800, 700, 500};
  size_t i, k, right, refused, before = 0;
  char share[16] = "";
  qsort(of, count, sizeof *of, answer_order);
  if (!json) printf("threshold  accepted  right     %s\n", n_others ? "others refused" : "");
  for (i = 0; i < COUNT(shares); i++) {
    size_t wanted = (count * (size_t)shares[i] + 999) / 1000;
    const int threshold = of[wanted - 1].least;
    while (wanted < count && of[wanted].least == threshold) wanted++;
    if (wanted == before) continue; /* the same texts as in the row before */
    before = wanted;
    for (right = k = 0; k < wanted; k++) right += (size_t)of[k].right;
    for (refused = k = 0; k < n_others; k++) refused += others[k].least < threshold;
    if (n_others) snprintf(share, sizeof share, "%.4f", (double)refused / (double)n_others);
    printf(json ? "{\"threshold\":%d,\"accepted\":%.4f,\"right\":%.4f,\"others_refused\":%s}\n"
                : "%9d  %8.4f  %8.4f  %8s\n",
           threshold, (double)wanted / (double)count, (double)right / (double)wanted,
           n_others ? share : json ? "null" : "");
  }
}

/* sources and targets [count] */
static void reject_curve(syn_context *c, const syn_model *m, const pairs *p, const arguments *a) {
  rejecter r = reject_open(c, m, a);
  reject_result *of = (reject_result *)take(p->count, sizeof *of), *others = NULL;
  lines more;
  size_t i;
  memset(&more, 0, sizeof more);
  if (*opt_text(a, "other")) more = read_lines(opt_text(a, "other"));
  others = (reject_result *)take(more.count + 1, sizeof *others);
  for (i = 0; i < p->count; i++) {
    const syn_text right = first_alternative(p, i);
    of[i] = reject_answer(&r, p->side[0][i], &right, p->names[0], line_of(p, i));
  }
  for (i = 0; i < more.count; i++)
    others[i] = reject_answer(&r, more.at[i], NULL, opt_text(a, "other"), (unsigned long)i + 1);
  if (p->count) reject_print(of, p->count, others, more.count, opt_flag(a, "json"));
  free(of);
  free(others);
  lines_free(&more);
  reject_close(&r);
}
