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
} rejecter;

static size_t reject_write(void *user, const void *bytes, size_t size) {
  put((buffer *)user, (const char *)bytes, size);
  return size;
}

static rejecter reject_open(syn_context *c, const syn_model *m) {
  rejecter r;
  syn_small_options options;
  syn_small_config config;
  syn_sink sink;
  long ram;
  memset(&r, 0, sizeof r);
  memset(&options, 0, sizeof options);
  memset(&config, 0, sizeof config);
  options.tokenizers = 1;
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
}

/* The answer to a text; `right`: null: a text that should be refused. A text that does not fit is
   refused. */
static reject_result reject_answer(rejecter *r, syn_text text, const syn_text *right) {
  reject_result a = {0, 0};
  int count = syn_small_encode(r->s, text, r->ids, r->capacity), token, n = 0;
  buffer out = {NULL, 0, 0};
  if (count < 0 || syn_small_source(r->s, r->ids, count)) return a;
  a.least = 32767;
  do {
    int probability;
    token = syn_small_step(r->s, LONG_MAX / 2);
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

/* A row for each share of the texts that is accepted: the threshold, how many of them and of the
   others it refuses, and how many of the accepted ones are right. */
static void reject_print(reject_result *of, size_t count, const reject_result *others,
                         size_t n_others, int json) {
  static const int shares[] = {1000, 999, 990, 980, 950, 900, 800, 700, 500};
  size_t i, k, right, refused;
  qsort(of, count, sizeof *of, answer_order);
  if (!json) printf("threshold  accepted  right     others refused\n");
  for (i = 0; i < COUNT(shares); i++) {
    size_t wanted = (count * (size_t)shares[i] + 999) / 1000;
    const int threshold = of[wanted - 1].least;
    while (wanted < count && of[wanted].least == threshold) wanted++;
    for (right = k = 0; k < wanted; k++) right += (size_t)of[k].right;
    for (refused = k = 0; k < n_others; k++) refused += others[k].least < threshold;
    printf(json ? "{\"threshold\":%d,\"accepted\":%.4f,\"right\":%.4f,\"others_refused\":%.4f}\n"
                : "%9d  %8.4f  %8.4f  %8.4f\n",
           threshold, (double)wanted / (double)count, (double)right / (double)wanted,
           n_others ? (double)refused / (double)n_others : 1.0);
  }
}

/* sources and targets [count] */
static void reject_curve(syn_context *c, const syn_model *m, const pairs *p, const arguments *a) {
  rejecter r = reject_open(c, m);
  reject_result *of = (reject_result *)take(p->count, sizeof *of), *others = NULL;
  lines more;
  size_t i;
  memset(&more, 0, sizeof more);
  if (*opt_text(a, "other")) more = read_lines(opt_text(a, "other"));
  others = (reject_result *)take(more.count + 1, sizeof *others);
  for (i = 0; i < p->count; i++) {
    const syn_text right = first_alternative(p, i);
    of[i] = reject_answer(&r, p->side[0][i], &right);
  }
  for (i = 0; i < more.count; i++) others[i] = reject_answer(&r, more.at[i], NULL);
  if (p->count) reject_print(of, p->count, others, more.count, opt_flag(a, "json"));
  free(of);
  free(others);
  lines_free(&more);
  reject_close(&r);
}
