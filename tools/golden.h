/* golden.h   the command golden: compares with the answers of an independent program.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* A golden file is a model file that also holds a batch and the answers to it, tensors test.*:
   logits, loss, gradients, decoded tokens, beam scores. */

typedef struct golden {
  syn_context *c;
  const syn_file *file;
  syn_model *m;
  syn_batch batch;
  float *numbers[2]; /* features, targets; or null */
  uint64_t hash;
  char wrong[500]; /* the first difference; "" while there is none */
} golden;

/* Records the first difference; later ones are ignored. */
static void golden_wrong(golden *g, const char *what, double given, double wanted, size_t at) {
  if (!g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%s: element %lu is %.9g, wanted %.9g", what,
             (unsigned long)at, given, wanted);
}
static void golden_lacks(golden *g, const char *name, const char *wanted) {
  if (!g->wrong[0]) snprintf(g->wrong, sizeof g->wrong, "%.80s is not %s", name, wanted);
}

/* Whether everything so far succeeded; records an error of the library. */
static int golden_done(golden *g) {
  if (g->c->status != SYN_OK && !g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%s", g->c->message);
  return g->c->status == SYN_OK && !g->wrong[0];
}

/* The integers [sentences, *columns] of a tensor; *columns is 1 for a tensor of rank 1. The first
   one read sets the number of sentences, all others must agree. */
static const int *golden_ints(golden *g, const char *name, int *columns) {
  const syn_entry *e = syn_file_find(g->file, name);
  *columns = 0;
  if (!e) return NULL;
  if (e->dtype != SYN_I32 || e->rank < 1 || e->rank > 2 || !e->bytes ||
      e->bytes / sizeof(int) > INT_MAX || (uintptr_t)e->data % sizeof(int) ||
      (g->batch.count && e->shape[0] != (size_t)g->batch.count)) {
    golden_lacks(g, name, "I32 [sentences,tokens]");
    return NULL;
  }
  g->batch.count = (int)e->shape[0];
  *columns = e->rank == 2 ? (int)e->shape[1] : 1;
  return (const int *)e->data;
}

/* The numbers of a tensor as floats; null, with the difference recorded, when it has not
   `count`. */
static float *golden_floats(golden *g, const char *name, size_t count) {
  const syn_entry *e = syn_file_find(g->file, name);
  float *x;
  if (!e) golden_lacks(g, name, "there");
  if (!e) return NULL;
  x = (float *)take(count, sizeof *x);
  syn_entry_floats(g->c, e, x, count);
  if (golden_done(g)) return x;
  free(x);
  return NULL;
}

/* Reads the features of all sources, with their lengths, and the targets of regress. */
static void golden_features(golden *g, const syn_config *k) {
  const int each = strcmp(k->task, "regress") == 0, numbers = strncmp(k->task, "regress", 7) == 0;
  int one, i;
  size_t rows = 0;
  g->batch.lengths = golden_ints(g, "test.lengths", &one);
  if (!g->batch.lengths || one != 1) golden_lacks(g, "test.lengths", "I32 [sentences]");
  for (i = 0; i < g->batch.count && !g->wrong[0]; i++) {
    const int n = g->batch.lengths[i];
    if (n < 1 || n > 1 << 20) golden_lacks(g, "test.lengths", "from 1 to 2^20");
    rows += (size_t)n;
    if (n > g->batch.src_width) g->batch.src_width = n;
  }
  if (!g->wrong[0])
    g->numbers[0] = golden_floats(g, "test.features", size_mul(rows, (size_t)k->src_features));
  if (!g->wrong[0] && numbers)
    g->numbers[1] = golden_floats(g, "test.targets", size_mul(each ? (size_t)g->batch.count : rows,
                                                              (size_t)k->outputs));
  g->batch.features = g->numbers[0];
  g->batch.targets = g->numbers[1];
}

/* Reads the batch: the tokens or features that the task needs, and one label per sentence (classify),
   source token (tag) or target token. */
static int golden_batch(golden *g) {
  const syn_config *k = syn_model_config(g->m);
  task of = task_of(k->task);
  int labels, wanted;
  if (k->src_features) golden_features(g, k);
  if (of >= REGRESS || g->wrong[0]) return !g->wrong[0];
  g->batch.labels = golden_ints(g, "test.labels", &labels);
  if (!k->src_features) g->batch.src = golden_ints(g, "test.src", &g->batch.src_width);
  g->batch.tgt = golden_ints(g, "test.tgt", &g->batch.tgt_width);
  wanted = of == CLASSIFY ? 1 : of >= TAG ? g->batch.src_width : g->batch.tgt_width;
  if (of == LM) g->batch.src = NULL, g->batch.src_width = 0;
  else if (!g->batch.src && !k->src_features) golden_lacks(g, "test.src", "there");
  if (of < CLASSIFY && !g->batch.tgt) golden_lacks(g, "test.tgt", "there");
  if (!g->batch.labels) golden_lacks(g, "test.labels", "there");
  else if (labels != wanted) golden_lacks(g, "test.labels", "as wide as the tokens it labels");
  return !g->wrong[0];
}

/* |x - y| <= tolerance * max(floor, max |y|) */
static void golden_compare(golden *g, const char *what, const float *x, const float *y, size_t n,
                           const double limits[2]) {
  double most = limits[1];
  size_t i;
  for (i = 0; i < n; i++)
    if (fabs((double)y[i]) > most) most = fabs((double)y[i]);
  for (i = 0; i < n; i++)
    if (!(fabs((double)x[i] - (double)y[i]) <= limits[0] * most))
      golden_wrong(g, what, (double)x[i], (double)y[i], i);
  g->hash = syn_hash(g->hash, x, n * sizeof *x);
}

static const double logits_limits[] = {1e-4, 1.0}, gradient_limits[] = {2e-4, 1e-2};

/* Sentences may be longer than max_len, unless a layer has a table of that length. */
static syn_limits golden_limits(const golden *g) {
  syn_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.length = g->batch.src_width > g->batch.tgt_width ? g->batch.src_width : g->batch.tgt_width;
  return limits;
}

/* 1: a sentence has one row of logits. */
static int golden_one_row(const golden *g) {
  const task of = task_of(syn_model_config(g->m)->task);
  return of == CLASSIFY || of == REGRESS;
}

/* The logits of the file, [sentences,V] or [sentences,tokens,V]; null when the shape differs. */
static float *golden_wanted_logits(golden *g, size_t width, size_t v) {
  const syn_entry *e = syn_file_find(g->file, "test.logits");
  int rank = golden_one_row(g) ? 2 : 3;
  size_t b = (size_t)g->batch.count;
  if (!e || e->rank != rank || e->shape[0] != b || (rank == 3 && e->shape[1] != width) ||
      e->shape[rank - 1] != v) {
    golden_lacks(g, "test.logits", "[sentences,tokens,vocabulary]");
    return NULL;
  }
  return golden_floats(g, "test.logits", size_mul(size_mul(b, width), v));
}

/* Compares the rows of logits whose label is not padding. */
static void golden_rows(golden *g, const syn_run *r, size_t width, size_t v) {
  int classify = golden_one_row(g), b, t, rows;
  size_t n = 0, size = size_mul(size_mul((size_t)g->batch.count, width), v);
  float *all = golden_wanted_logits(g, width, v), *x, *y;
  if (!all) return;
  x = (float *)take(size, sizeof *x);
  y = (float *)take(size, sizeof *y);
  for (b = 0; b < g->batch.count; b++) {
    const float *z = syn_run_logits(r, b, &rows);
    for (t = 0; t < rows; t++) {
      if (!classify && g->batch.labels && !g->batch.labels[(size_t)b * width + (size_t)t]) continue;
      memcpy(x + n, z + (size_t)t * v, v * sizeof *x);
      memcpy(y + n, all + ((size_t)b * width + (size_t)t) * v, v * sizeof *y);
      n += v;
    }
  }
  golden_compare(g, "logits", x, y, n, logits_limits);
  free(all);
  free(x);
  free(y);
}

static void golden_logits(golden *g) {
  const syn_config *k = syn_model_config(g->m);
  task of = task_of(k->task);
  syn_limits limits = golden_limits(g);
  syn_run *r = syn_run_new(g->c, g->m, &limits);
  if (r) syn_run_forward(r, &g->batch);
  if (golden_done(g))
    golden_rows(g, r, (size_t)(golden_one_row(g) ? 1 : of >= TAG ? g->batch.src_width
                                                              : g->batch.tgt_width),
                (size_t)(of >= REGRESS ? k->outputs
                         : of < CLASSIFY || of == MLM ? k->tgt_vocab : k->classes));
  syn_run_free(r);
}

/* Compares all gradients; the file must have one for every trained parameter. */
static void golden_gradients_of(golden *g, const syn_trainer *t) {
  size_t i, found = 0, trained = 0;
  for (i = 0; i < syn_file_count(g->file); i++) {
    const char *name = syn_file_entry(g->file, i)->name;
    const syn_param *p = strncmp(name, "test.grad.", 10) ? NULL : syn_model_find(g->m, name + 10);
    float *wanted;
    if (strncmp(name, "test.grad.", 10)) continue;
    if (!p || !p->trained) golden_lacks(g, name, "a gradient of a trained parameter");
    wanted = p && p->trained ? golden_floats(g, name, p->size) : NULL;
    if (!wanted) return;
    golden_compare(g, name + 5, syn_trainer_gradient(t, p), wanted, p->size, gradient_limits);
    free(wanted);
    found++;
  }
  for (i = 0; i < syn_model_param_count(g->m); i++)
    trained += syn_model_param(g->m, i)->trained != 0;
  if (found != trained && !g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%lu gradients for %lu trained parameters",
             (unsigned long)found, (unsigned long)trained);
}

static void golden_gradients(golden *g) {
  syn_train_config config;
  syn_trainer *t;
  float loss, *wanted;
  memset(&config, 0, sizeof config);
  config.length = golden_limits(g).length;
  t = syn_trainer_new(g->c, g->m, &config);
  if (t) syn_trainer_backward(t, &g->batch, &loss);
  wanted = golden_done(g) ? golden_floats(g, "test.loss", 1) : NULL;
  if (wanted) {
    golden_compare(g, "loss", &loss, wanted, 1, logits_limits);
    golden_gradients_of(g, t);
  }
  free(wanted);
  syn_trainer_free(t);
}

static void golden_tokens(golden *g, const char *name, const syn_decoder *d, const int *wanted,
                          int width) {
  int b, k, size;
  for (b = 0; b < g->batch.count; b++) {
    const int *y = syn_decoder_output(d, b, 0, &size, NULL);
    for (k = 0; k < width; k++) {
      int token = k < size ? y[k] : SYN_PAD, want = wanted[b * width + k];
      if (token != want)
        golden_wrong(g, name, (double)token, (double)want, (size_t)(b * width + k));
      g->hash = syn_hash(g->hash, &token, sizeof token);
    }
  }
}

static void golden_scores(golden *g, const syn_decoder *d) {
  size_t rows = (size_t)g->batch.count;
  float *wanted = golden_floats(g, "test.beam_score", rows), *given;
  int b, size;
  if (!wanted) return;
  given = (float *)take(rows, sizeof *given);
  for (b = 0; b < g->batch.count; b++) syn_decoder_output(d, b, 0, &size, &given[b]);
  golden_compare(g, "beam_score", given, wanted, rows, logits_limits);
  free(wanted);
  free(given);
}

/* Compares greedy decoding, or beam search with its scores, if the file has them. */
static void golden_decode(golden *g, const char *name, int beam) {
  int width;
  const int *wanted = golden_ints(g, name, &width);
  syn_batch source = g->batch;
  syn_decode_config config;
  syn_decoder *d;
  if (!wanted || g->wrong[0]) return;
  memset(&config, 0, sizeof config);
  config.sentences = g->batch.count;
  config.max_len = width;
  config.beam = beam;
  config.unknown = 1; /* the files are answers of a search that may choose it */
  source.tgt = NULL;
  d = syn_decoder_new(g->c, g->m, &config);
  if (d) syn_decoder_run(d, &source, NULL, NULL);
  if (golden_done(g)) {
    golden_tokens(g, name, d, wanted, width);
    if (beam > 1) golden_scores(g, d);
  }
  syn_decoder_free(d);
}

/* Checks one file; returns 1 when it passed. */
static int golden_file(syn_context *c, const char *path, uint64_t *hash) {
  golden g;
  memset(&g, 0, sizeof g);
  g.c = c;
  g.hash = *hash;
  syn_context_clear(c);
  g.m = syn_model_load(c, path);
  if (golden_done(&g)) {
    g.file = syn_model_file(g.m);
    if (golden_batch(&g)) golden_logits(&g);
    if (!g.wrong[0]) golden_gradients(&g);
    if (!g.wrong[0]) golden_decode(&g, "test.greedy", 1);
    if (!g.wrong[0]) golden_decode(&g, "test.beam", 4);
  }
  if (g.wrong[0]) printf("%s: FAILED: %s\n", path, g.wrong);
  else printf("%s: ok\n", path);
  *hash = g.hash;
  free(g.numbers[0]);
  free(g.numbers[1]);
  syn_model_free(g.m);
  return !g.wrong[0];
}

static int run_golden(const arguments *a) {
  syn_context c;
  uint64_t hash = SYN_HASH_START;
  int counts[2] = {0, 0}, i;
  context_open(&c, a);
  for (i = 0; i < a->word_count; i++) counts[golden_file(&c, a->words[i], &hash)]++;
  if (syn_context_exact(&c))
    printf("hash %08lx%08lx\n", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xFFFFFFFFu));
  else printf("hash inexact\n");
  printf("%d passed, %d failed\n", counts[1], counts[0]);
  return counts[0] ? FAILED_JOB : 0;
}
