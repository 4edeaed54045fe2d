/* test_features: sources of numbers. Every kind of first layer and every task passes the checks of
   syn_network_check; the gradient by the input agrees with differences; normalization, files,
   resumed trainings, threads and ISAs; what is refused, and how. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"

enum { F = 3, ROWS = 40, LONGEST = 9 };

static const char *const decoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> norm";

static syn_config config_of(const char *task, const char *encoder) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = task, k.encoder = encoder, k.src_features = F;
  if (strcmp(task, "seq2seq") == 0) k.decoder = decoder;
  k.d_model = 8, k.heads = 2, k.max_len = 12, k.seed = 3;
  k.tgt_vocab = 11, k.classes = 4, k.outputs = 2;
  return k;
}

/* -- every network -- */

static void check_networks(const char *isa, int threads) {
  static const char *const first[] = {
      "linear", "cnn(8, 3, relu)", "cnn(6, k=5, dilate=2) -> linear", "rnn(8)", "rnn(7, gru)",
      "birnn(8)", "linear -> light_conv(k=3)", "linear -> dyn_conv(k=3)",
      "linear -> pos -> res_nd(syn_att(V))", "linear -> learn_pos -> syn_att(R)",
      "linear -> syn_att(D)", "linear -> rope -> syn_att(FD)", "norm -> ff(8, gelu)",
      "res(ff(3)) -> linear(8)", "concat(id | cnn(5))", "linear -> repeat(2, res_nd(ffl(9))) -> norm"};
  static const char *const tasks[] = {"classify", "tag", "regress", "regress_rows", "seq2seq"};
  size_t i, k;
  for (k = 0; k < SYN__COUNT(tasks); k++)
    for (i = 0; i < SYN__COUNT(first); i++) {
      syn_config config = config_of(tasks[k], first[i]);
      syn_options options;
      syn_context c;
      if (CHECK_SHORT && (i + k) % 4) continue;
      if (threads > 1 && (i + k) % 7) continue;
      memset(&options, 0, sizeof options);
      options.isa = isa, options.threads = threads;
      syn_context_init(&c, &options);
      CHECK(syn_network_check(&c, &config) == SYN_OK, "%s %s: %s", tasks[k], first[i], c.message);
    }
}

/* -- data -- */

static float noise(syn_random *r) { return syn_random_normal(r); }

/* Rows around 5, -20 and 0.01, of other deviations; the class tells which feature swings. */
static void fill_row(syn_random *r, int length, int which, float *x) {
  static const float mean[F] = {5.0f, -20.0f, 0.01f}, deviation[F] = {0.5f, 30.0f, 0.001f};
  int t, i;
  for (t = 0; t < length; t++)
    for (i = 0; i < F; i++)
      x[t * F + i] = mean[i] + deviation[i] * (noise(r) * 0.3f + (i == which ? (t % 2 ? 2.0f : -2.0f)
                                                                           : 0.0f));
}

static syn_data *data_of(syn_context *c, const char *task, uint64_t seed) {
  syn_data *d = syn_data_new(c);
  syn_random r = {seed};
  float x[LONGEST * F], y[LONGEST * 2];
  int labels[LONGEST], i, k;
  for (i = 0; i < ROWS; i++) {
    int length = 2 + syn_random_below(&r, LONGEST - 1), which = i % F, n = 1;
    fill_row(&r, length, which, x);
    for (k = 0; k < LONGEST; k++) labels[k] = which + (strcmp(task, "classify") ? 1 : 0);
    for (k = 0; k < 2 * LONGEST; k++) y[k] = (float)which - 0.5f * (float)(k % 2);
    if (strcmp(task, "tag") == 0 || strcmp(task, "regress_rows") == 0) n = length;
    if (strcmp(task, "seq2seq") == 0) labels[0] += SYN_FIRST_TOKEN, n = 1;
    if (strncmp(task, "regress", 7) == 0) syn_data_add_regress(d, x, length, F, y, 2 * n);
    else syn_data_add_features(d, x, length, F, labels, n);
  }
  return d;
}

/* A trained model; *loss: of its data. */
static syn_model *trained_model(syn_context *c, const char *task, const char *encoder, int64_t steps,
                                double *loss) {
  syn_config k = config_of(task, encoder);
  syn_train_config t;
  syn_model *m = syn_model_new(c, &k);
  syn_data *d = data_of(c, task, 1);
  syn_trainer *trainer;
  memset(&t, 0, sizeof t);
  t.lr = 0.02f, t.schedule = "constant", t.steps = steps, t.batch_tokens = 100;
  syn_model_normalize(m, d);
  trainer = syn_trainer_new(c, m, &t);
  syn_trainer_run(trainer, d, NULL, NULL, NULL);
  syn_trainer_free(trainer);
  *loss = 1e9;
  syn_model_evaluate(c, m, d, 0, loss, NULL);
  syn_data_free(d);
  return m;
}

/* -- learning, in all tasks; the same bits with threads and other ISAs -- */

static void check_learning(void) {
  static const struct {
    const char *task, *encoder;
    double loss;
  } cases[] = {{"classify", "rnn(8)", 0.1},
               {"tag", "cnn(8, 3, relu) -> linear", 0.1},
               {"regress", "cnn(8, 3, relu) -> linear", 0.1},
               {"regress_rows", "birnn(8)", 0.1},
               {"seq2seq", "linear -> res_nd(ffl) -> norm", 0.2}};
  size_t i, k;
  for (i = 0; i < SYN__COUNT(cases); i++) {
    double loss, same;
    syn_context c;
    syn_options options;
    syn_context_init(&c, NULL);
    syn_model_free(trained_model(&c, cases[i].task, cases[i].encoder, 150, &loss));
    CHECK(c.status == SYN_OK && loss < cases[i].loss, "%s: loss %g %s", cases[i].task, loss,
          c.message);
    for (k = 0; k < 2; k++) {
      memset(&options, 0, sizeof options);
      options.threads = k ? 2 : 1;
      options.isa = k ? NULL : "scalar";
      syn_context_init(&c, &options);
      if (k && c.status) continue; /* built without threads */
      syn_model_free(trained_model(&c, cases[i].task, cases[i].encoder, 150, &same));
      CHECK(same == loss || !syn_context_exact(&c), "%s: loss %.17g, %s %.17g", cases[i].task, loss,
            k ? "two threads" : "scalar", same);
    }
  }
}

/* -- the gradient by the input -- */

static void check_input_gradient(const char *encoder) {
  syn_config k = config_of("regress", encoder);
  syn_context c;
  syn_model *m;
  syn_data *d;
  syn_run *r;
  syn_limits limits;
  float x[2 * LONGEST * F], y[4] = {0.3f, -1.0f, 2.0f, 0.5f}, loss, up, down;
  const int lengths[2] = {4, 7}, all = 11 * F;
  syn_batch b;
  syn_value v;
  syn_random random = {5};
  int i;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  d = data_of(&c, "regress", 2);
  syn_model_normalize(m, d);
  memset(&limits, 0, sizeof limits);
  limits.src_rows = 40, limits.keep = 1;
  r = syn_run_new(&c, m, &limits);
  fill_row(&random, 11, 1, x);
  memset(&b, 0, sizeof b);
  b.count = 2, b.features = x, b.lengths = lengths, b.targets = y;
  CHECK(syn_run_backward(r, &b, &loss) == SYN_OK, "%s", c.message);
  for (i = 0; i < all; i++) {
    const float scale = syn_model_find(m, "src.scale")->x[i % F], was = x[i];
    const float step = 0.02f / scale;
    double wanted, got;
    syn_run_backward(r, &b, &loss);
    syn_run_value(r, "encoder@0", i / F >= lengths[0], &v);
    CHECK(v.rank == 2 && v.shape[1] == F && v.dx, "%d: shape [%d,%d]", i, v.shape[0], v.shape[1]);
    if (!v.dx) break;
    got = (double)(v.dx[i < lengths[0] * F ? i : i - lengths[0] * F] * scale);
    x[i] = was + step;
    syn_run_backward(r, &b, &up);
    x[i] = was - step;
    syn_run_backward(r, &b, &down);
    x[i] = was;
    wanted = ((double)up - (double)down) / (2.0 * (double)step);
    CHECK(fabs(got - wanted) * (double)(1.0f / scale) <= 2e-3, "%s: number %d: %g, by differences %g",
          encoder, i, got, wanted);
  }
  syn_run_free(r);
  syn_data_free(d);
  syn_model_free(m);
}

/* -- normalization, files -- */

static void check_file(void) {
  syn_config k = config_of("regress", "cnn(8)");
  syn_context c;
  syn_data *d;
  syn_model *m, *again;
  double a, b, sum, squares;
  int count, i, t;
  size_t row, rows;
  syn_context_init(&c, NULL);
  d = data_of(&c, "regress", 4);
  m = syn_model_new(&c, &k);
  CHECK(syn_model_normalize(m, d) == SYN_OK, "%s", c.message);
  CHECK(!syn_model_find(m, "src.mean")->trained && !syn_model_find(m, "src.scale")->trained,
        "the normalization is trained");
  for (i = 0; i < F; i++) {
    const float mean = syn_model_find(m, "src.mean")->x[i];
    const float scale = syn_model_find(m, "src.scale")->x[i];
    sum = squares = 0.0;
    for (rows = row = 0; row < syn_data_count(d); row++) {
      const float *x = syn_data_features(d, row, &count);
      for (t = 0; t < count; t++, rows++) {
        double z = ((double)x[t * F + i] - (double)mean) * (double)scale;
        sum += z, squares += z * z;
      }
    }
    CHECK(fabs(sum / (double)rows) < 1e-4 && fabs(squares / (double)rows - 1.0) < 1e-4,
          "feature %d: mean %g, variance %g", i, sum / (double)rows, squares / (double)rows);
  }
  CHECK(syn_model_evaluate(&c, m, d, 0, &a, NULL) == SYN_OK, "%s", c.message);
  syn_model_save(&c, m, "features.safetensors");
  again = syn_model_load(&c, "features.safetensors");
  CHECK(again && syn_model_config(again)->src_features == F && syn_model_config(again)->outputs == 2,
        "%s", c.message);
  CHECK(syn_model_evaluate(&c, again, d, 0, &b, NULL) == SYN_OK && a == b, "%g %g %s", a, b,
        c.message);
  CHECK(!syn_file_value(syn_model_file(again), "src_vocab"), "the file has a source vocabulary");
  syn_model_free(again);
  syn_model_free(m);
  syn_data_free(d);
}

/* 30 updates at once, or 17, a checkpoint and 13. */
static void check_resume(const char *task) {
  syn_config k = config_of(task, "linear -> rnn(8)");
  syn_train_config t;
  syn_context c;
  syn_model *m[2];
  syn_data *d;
  size_t i;
  int run;
  syn_context_init(&c, NULL);
  d = data_of(&c, task, 6);
  memset(&t, 0, sizeof t);
  t.batch_tokens = 60;
  for (run = 0; run < 2; run++) {
    syn_trainer *trainer;
    m[run] = syn_model_new(&c, &k);
    syn_model_normalize(m[run], d);
    t.steps = run ? 17 : 30, t.schedule = "constant";
    trainer = syn_trainer_new(&c, m[run], &t);
    syn_trainer_run(trainer, d, NULL, NULL, NULL);
    if (run) {
      syn_trainer_save(trainer, "resume.safetensors");
      syn_trainer_free(trainer);
      syn_model_free(m[1]);
      m[1] = syn_model_new(&c, &k);
      t.steps = 30;
      trainer = syn_trainer_new(&c, m[1], &t);
      CHECK(syn_trainer_load(trainer, "resume.safetensors") == SYN_OK, "%s", c.message);
      syn_trainer_run(trainer, d, NULL, NULL, NULL);
    }
    syn_trainer_free(trainer);
  }
  for (i = 0; i < syn_model_param_count(m[0]); i++) {
    const syn_param *p = syn_model_param(m[0], i), *q = syn_model_param(m[1], i);
    CHECK(memcmp(p->x, q->x, p->size * sizeof *p->x) == 0, "%s: %s differs", task, p->name);
  }
  CHECK(c.status == SYN_OK, "%s", c.message);
  for (run = 0; run < 2; run++) syn_model_free(m[run]);
  syn_data_free(d);
}

/* -- what is refused -- */

/* The last error has all of these words, and is cleared. */
static void refused(syn_context *c, const char *a, const char *b) {
  CHECK(c->status != SYN_OK && strstr(c->message, a) && strstr(c->message, b),
        "wanted '%s' and '%s', the message is '%s'", a, b, c->message);
  syn_context_clear(c);
}

static void check_refused_config(void) {
  syn_config k = config_of("classify", "ngram -> linear");
  syn_model *m;
  syn_context c;
  syn_context_init(&c, NULL);
  syn_model_new(&c, &k);
  refused(&c, "ngram reads tokens", "features");
  k = config_of("classify", "types -> linear");
  syn_model_new(&c, &k);
  refused(&c, "types reads tokens", "features");
  k = config_of("regress", "linear -> pool(first)");
  m = syn_model_new(&c, &k);
  CHECK(m, "regress of the first row: %s", c.message);
  syn_model_free(m);
  k = config_of("seq2seq", "linear");
  k.tie = "all";
  syn_model_new(&c, &k);
  refused(&c, "tie=all", "features");
  k = config_of("regress", "linear");
  k.src_features = 0;
  syn_model_new(&c, &k);
  refused(&c, "src_features is 0", "1 to 65536");
  k.src_features = 65537;
  syn_model_new(&c, &k);
  refused(&c, "src_features is 65537", "1 to 65536");
  k = config_of("regress", "linear");
  k.outputs = 0;
  syn_model_new(&c, &k);
  refused(&c, "outputs is 0", "1 to 65536");
  k.outputs = 1, k.label_smoothing = 0.1f;
  syn_model_new(&c, &k);
  refused(&c, "label_smoothing is 0.1", "regress");
  memset(&k, 0, sizeof k);
  k.task = "lm", k.decoder = "linear", k.tgt_vocab = 9, k.src_features = 2;
  syn_model_new(&c, &k);
  refused(&c, "src_features is 2", "lm reads tokens alone");
}

static void check_refused_batch(void) {
  syn_config k = config_of("classify", "linear");
  syn_context c;
  syn_model *m;
  syn_run *r;
  float x[4 * F], bad[] = {2e30f, -2e30f, 0.0f, 0.0f};
  int lengths[2] = {1, 3}, labels[2] = {0, 1}, i;
  syn_text text = {"abc", 3};
  syn_batch b;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, NULL);
  memset(&b, 0, sizeof b);
  memset(x, 0, sizeof x);
  b.count = 2, b.features = x, b.lengths = lengths, b.labels = labels;
  CHECK(syn_run_forward(r, &b) == SYN_OK && syn_run_class(r, 1, 0, 0, NULL) >= 0, "%s", c.message);
  bad[2] = NAN, bad[3] = INFINITY;
  for (i = 0; i < 4; i++) {
    x[3 * F + 1] = bad[i];
    CHECK(syn_run_forward(r, &b) == SYN_E_VALUE, "%g was taken", (double)bad[i]);
    refused(&c, "number 1 of row 3", "1e+30");
    CHECK(!syn_run_logits(r, 0, NULL), "results of a refused batch");
  }
  x[3 * F + 1] = 0.0f;
  lengths[0] = 0;
  syn_run_forward(r, &b);
  refused(&c, "source sentence 0", "empty");
  lengths[0] = 1, b.lengths = NULL;
  syn_run_forward(r, &b);
  refused(&c, "no features", "3 numbers");
  syn_run_text(r, text, text);
  refused(&c, "rows of 3 numbers, no text", "syn_run_forward");
  CHECK(!syn_run_tokens(r, SYN_SRC, 0, NULL), "tokens of features");
  syn_run_free(r);
  syn_model_free(m);
}

static size_t write_nothing(void *user, const void *bytes, size_t size) {
  SYN__UNUSED(user);
  SYN__UNUSED(bytes);
  return size;
}

static void check_refused_data(void) {
  syn_config k = config_of("regress_rows", "linear");
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_data *d;
  float x[2 * F] = {1, 2, 3, 4, 5, 6}, y[4] = {0, 0, 0, 0};
  const int token = 5;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  CHECK(syn_data_add_regress(d, x, 2, F, y, 4) == SYN_OK, "%s", c.message);
  x[4] = NAN;
  syn_data_add_regress(d, x, 2, F, y, 4);
  refused(&c, "data: row 1: features", "number 1 of row 1 is");
  x[4] = 5.0f, y[2] = INFINITY;
  syn_data_add_regress(d, x, 2, F, y, 4);
  refused(&c, "data: row 1: targets", "number 2 of row 0 is");
  y[2] = 0.0f;
  syn_data_add_regress(d, x, 3, 2, y, 4);
  refused(&c, "rows of 2 numbers", "rows of these data have 3");
  syn_data_add(d, &token, 1, &token, 1);
  refused(&c, "tokens", "3 features");
  syn_data_add_features(d, syn_data_features(d, 0, NULL), 1, F, &token, 1);
  refused(&c, "lie in these data", "copy");
  syn_data_add_features(d, x, 0, F, &token, 1);
  refused(&c, "0 rows", "1 to");
  CHECK(syn_data_count(d) == 1, "%lu rows", (unsigned long)syn_data_count(d));
  syn_data_add_regress(d, x, 2, F, y, 3);
  t = syn_trainer_new(&c, m, NULL);
  syn_trainer_run(t, d, NULL, NULL, NULL);
  refused(&c, "row 1 has 3 numbers as targets", "wants 4");
  syn_trainer_free(t);
  syn_data_free(d);
  d = syn_data_new(&c);
  syn_data_add(d, &token, 1, &token, 1);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "sources of 0 features", "the model reads 3");
  syn_model_normalize(m, d);
  refused(&c, "1 rows of 0 features", "of 3");
  syn_data_add_features(d, x, 1, F, &token, 1);
  refused(&c, "rows of 3 numbers", "have 0");
  syn_data_free(d);
  syn_model_free(m);
}

/* -- memory that ends, data that stay -- */

static int features_blocks = 1 << 30; /* so many more are given */

static void *features_alloc(void *user, size_t bytes) {
  SYN__UNUSED(user);
  return features_blocks-- > 0 ? malloc(bytes) : NULL;
}

static void features_release(void *user, void *block, size_t bytes) {
  SYN__UNUSED(user);
  SYN__UNUSED(bytes);
  free(block);
}

static void features_context(syn_context *c) {
  syn_options o;
  memset(&o, 0, sizeof o);
  o.alloc = features_alloc, o.release = features_release;
  features_blocks = 1 << 30;
  syn_context_init(c, &o);
}

/* A model of texts of bytes. */
static syn_model *features_texts(syn_context *c, const char *task) {
  const syn_text names[2] = {{"bad", 3}, {"good", 4}};
  syn_config k = config_of(task, "linear");
  const int lm = strcmp(task, "lm") == 0, tag = strcmp(task, "tag") == 0;
  const int classes = tag || strcmp(task, "classify") == 0;
  syn_tokenizer *src = lm ? NULL : syn_tokenizer_learn(c, "byte", 0, NULL, 0), *tgt = NULL;
  syn_model *m;
  if (classes) tgt = syn_tokenizer_learn(c, tag ? "space" : "line", 0, names, 2);
  else if (strcmp(task, "mlm") != 0) tgt = syn_tokenizer_learn(c, "byte", 0, NULL, 0);
  k.src_features = 0, k.outputs = 0;
  if (lm) k.encoder = NULL, k.decoder = "linear";
  k.src_vocab = src ? syn_tokenizer_size(src) : 0;
  k.tgt_vocab = tgt ? syn_tokenizer_size(tgt) : 0;
  k.classes = classes ? k.tgt_vocab - SYN_FIRST_TOKEN + tag : 0;
  m = syn_model_new(c, &k);
  CHECK(m, "%s: %s", task, c->message);
  syn_model_set_tokenizers(m, src, tgt);
  return m;
}

static void check_refused_rows(void) {
  syn_context c;
  syn_data *d;
  float *x = (float *)calloc(65537, sizeof *x), y[2] = {1.0f, 2.0f};
  const int token = 5;
  int most, i;
  features_context(&c);
  d = syn_data_new(&c);
  CHECK(syn_data_add_features(NULL, x, 1, F, &token, 1) == SYN_E_VALUE &&
            syn_data_add_regress(NULL, x, 1, F, y, 2) == SYN_E_VALUE &&
            syn_model_normalize(NULL, d) == SYN_E_VALUE, "no data, no model");
  for (i = 0; i < 3; i++) { /* each array has to grow once; a failure leaves the data as they were */
    features_blocks = i > 0;
    CHECK(syn_data_add_features(d, x, 1, F, &token, 1) == SYN_E_MEMORY, "memory %d", i);
    refused(&c, "out of memory", "rows of 0 tokens together");
    CHECK(syn_data_count(d) == 0 && !syn_data_features(d, 0, NULL), "a row without its memory");
  }
  features_blocks = 1 << 30;
  syn_data_add_features(d, x, SYN__DATA_LENGTH + 1, F, &token, 1);
  refused(&c, "16777217 rows of 3 numbers", "1 to 16777216");
  syn_data_add_features(d, x, 1, 0, &token, 1);
  refused(&c, "1 rows of 0 numbers", "1 to 65536");
  syn_data_add_features(d, x, 1, 65537, &token, 1);
  refused(&c, "1 rows of 65537 numbers", "1 to 65536");
  syn_data_add_features(d, x, 1, F, &token, -1);
  refused(&c, "with -1 labels", "1 to");
  syn_data_add_features(d, x, 1, F, &token, SYN__DATA_LENGTH + 1);
  refused(&c, "with 16777217 labels", "1 to");
  syn_data_add_features(d, NULL, 1, F, &token, 1);
  refused(&c, "no rows", "given");
  syn_data_add_features(d, x, 1, F, NULL, 1);
  CHECK(c.status == SYN_E_VALUE, "labels that are not there");
  syn_context_clear(&c);
  syn_data_add_regress(d, x, 1, F, NULL, 1);
  CHECK(c.status == SYN_E_VALUE, "targets that are not there");
  syn_context_clear(&c);
  syn_data_add_regress(d, x, 1, F, y, 0);
  refused(&c, "targets: 0 numbers", "1 or more");
  CHECK(syn_data_add_features(d, x, 1, F, NULL, 0) == SYN_OK, "a row without labels: %s", c.message);
  CHECK(syn_data_add_features(d, x, 1, F, &token, 1) == SYN_OK, "%s", c.message);
  CHECK(syn_data_row(d, 1, SYN_TGT, &most) && most == 1 && *syn_data_row(d, 1, SYN_TGT, NULL) == token &&
            !syn_data_row(d, 1, SYN_SRC, NULL) && !syn_data_row(d, 1, SYN_EACH, NULL), "a row of features");
  syn_data_add_features(d, x, 1, F, syn_data_row(d, 1, SYN_TGT, NULL), 1);
  refused(&c, "labels lie in these data", "copy");
  syn_data_add_regress(d, x, 1, F, syn_data_features(d, 0, NULL), 1);
  refused(&c, "do not lie in these data", "row 2");
  CHECK(!syn_data_features(NULL, 0, &most) && most == 0 && !syn_data_features(d, 9, &most) && most == 0,
        "features that are not there");
  d->busy = 1; /* as in a callback of a training */
  syn_data_add_features(d, x, 1, F, &token, 1);
  refused(&c, "being trained on", "called back");
  syn_data_add_regress(d, x, 1, F, y, 2);
  refused(&c, "being trained on", "called back");
  syn_data_set_cut(d, SYN_CUT_TAIL);
  refused(&c, "being trained on", "called back");
  d->busy = 0;
  CHECK(syn_data_set_cut(NULL, SYN_CUT_TAIL) == SYN_E_VALUE && syn_data_cut(NULL, NULL) == 0, "no data");
  d->count = SYN__DATA_ROWS; /* as many as there can be */
  syn_data_add_features(d, x, 1, F, &token, 1);
  refused(&c, "more than 134217728 rows", "data");
  d->count = 2;
  syn_data_free(d);
  d = syn_data_new(&c);
  d->count = SYN__DATA_ROWS;
  syn_data_add(d, &token, 1, &token, 1);
  refused(&c, "more than 134217728 rows", "data");
  d->count = 0;
  syn_data_free(d);
  free(x);
}

static void check_refused_normalize(void) {
  syn_config k = config_of("classify", "linear");
  const float x[2 * F] = {1, 7, 3, 2, 7, 3};
  const int label = 1;
  syn_context c;
  syn_data *d;
  syn_model *m;
  features_context(&c);
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  CHECK(syn_model_normalize(m, NULL) == SYN_E_VALUE, "no data");
  refused(&c, "no data", "given");
  syn_model_normalize(m, d);
  refused(&c, "0 rows of 0 features", "of 3");
  syn_data_add_features(d, x, 2, F, &label, 1);
  CHECK(syn_model_normalize(m, d) == SYN_OK && syn_model_find(m, "src.scale")->x[1] == 1.0f &&
            syn_model_find(m, "src.mean")->x[1] == 7.0f && syn_model_find(m, "src.scale")->x[0] == 2.0f,
        "a constant feature keeps its scale: %s", c.message);
  CHECK(syn_model_save(&c, m, "features.safetensors") == SYN_OK, "%s", c.message);
  syn_model_free(m);
  k.src_features = F - 1;
  m = syn_model_new(&c, &k);
  syn_model_normalize(m, d);
  refused(&c, "1 rows of 3 features", "of 2");
  syn_model_free(m);
  m = syn_model_load(&c, "features.safetensors");
  CHECK(syn_model_pack(m) == SYN_OK, "%s", c.message);
  syn_model_normalize(m, d);
  refused(&c, "packed", "load it again");
  syn_model_free(m);
  syn_data_free(d);
}

static void check_refused_corruption(void) {
  syn_corruption spans, mask;
  const float x[F] = {1, 2, 3};
  const int label = 1;
  syn_config k = config_of("classify", "linear");
  const syn_sink nowhere = {write_nothing, NULL};
  syn_context c;
  syn_data *d;
  syn_model *m, *texts;
  const syn_text none = {"", 0}, text = {"abcde", 5}, missing = {NULL, 3}, most = {"abcde", SYN__DATA_LENGTH + 1};
  memset(&spans, 0, sizeof spans);
  memset(&mask, 0, sizeof mask);
  spans.first = 250, spans.count = 10;
  mask.first = 4, mask.count = 260, mask.mask = 1;
  features_context(&c);
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  syn_data_add_text(d, m, text, text);
  refused(&c, "row 0: a text", "syn_data_add_features");
  CHECK(syn_data_add_text(NULL, m, text, text) == SYN_E_VALUE, "no data");
  syn_data_add_text(d, NULL, text, text);
  refused(&c, "no model", "given");
  d->busy = 1;
  syn_data_add_text(d, m, text, text);
  refused(&c, "being trained on", "called back");
  syn_data_corrupt(d, &spans);
  refused(&c, "being trained on", "called back");
  d->busy = 0;
  CHECK(syn_data_corrupt(NULL, &spans) == SYN_E_VALUE, "no data");
  syn_data_corrupt(d, NULL);
  refused(&c, "no corruption", "given");
  CHECK(!syn_data_add_features(d, x, 1, F, &label, 1) && !syn_data_corrupt(d, &spans), "%s", c.message);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "corrupted texts are tokens", "features");
  syn_data_free(d);
  syn_model_free(m);
  m = features_texts(&c, "mlm");
  CHECK(syn_small_write(&c, m, NULL, &nowhere) != SYN_OK, "a small model was made");
  refused(&c, "small model", "boards do not run the task mlm");
  d = syn_data_new(&c);
  syn_data_add_text(d, m, text, none);
  refused(&c, "mlm has texts without a target", "mask=1");
  CHECK(!syn_data_corrupt(d, &mask), "%s", c.message);
  syn_data_add_text(d, m, text, text);
  refused(&c, "mlm has texts without a target", "mask=1");
  syn_data_add_text(d, m, missing, none);
  refused(&c, "no source text", "given");
  syn_data_add_text(d, m, most, none);
  refused(&c, "too many bytes: 16777217", "at most 16777216");
  features_blocks = 0;
  CHECK(syn_data_add_text(d, m, text, none) == SYN_E_MEMORY, "no memory");
  refused(&c, "out of memory", "rows of 0 tokens");
  features_blocks = 1 << 30;
  CHECK(!syn_data_add_text(d, m, text, none) && syn_data_count(d) == 1, "%s", c.message);
  CHECK(syn_model_evaluate(&c, m, d, 0, NULL, NULL) == SYN_OK, "%s", c.message);
  mask.count = 999;
  syn_data_corrupt(d, &mask);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "random ones are below 999", "260 tokens");
  mask.count = 260, mask.first = 260;
  syn_data_corrupt(d, &mask);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "the mask is token 260", "260 tokens");
  mask.first = 4;
  syn_data_corrupt(d, &spans);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "corrupted texts are for seq2seq", "not for mlm");
  texts = features_texts(&c, "classify");
  syn_data_corrupt(d, &mask);
  syn_model_evaluate(&c, texts, d, 0, NULL, NULL);
  refused(&c, "masked texts are for mlm", "not for classify");
  syn_data_add_text(d, texts, text, syn_text_of("goodness"));
  refused(&c, "row 1: label 0: no class is named 'goodness'", "");
  syn_data_add_text(d, texts, text,
                    syn_text_of("a label that has more letters than a message shows of it, which is sixty"));
  refused(&c, "no class is named 'a label", "it, wh'");
  syn_model_set_tokenizers(texts, NULL, NULL);
  syn_data_add_text(d, texts, text, text);
  refused(&c, "no tokenizer for the source", "row 1");
  syn_model_free(texts);
  syn_model_free(m);
  m = features_texts(&c, "lm");
  syn_data_corrupt(d, &spans);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "corrupted texts are for seq2seq", "not for lm");
  syn_model_free(m);
  m = features_texts(&c, "seq2seq");
  spans.count = 100;
  syn_data_corrupt(d, &spans);
  syn_model_evaluate(&c, m, d, 0, NULL, NULL);
  refused(&c, "sentinels 250 to 349", "260 and 260");
  spans.count = 10;
  syn_data_corrupt(d, &spans);
  CHECK(!syn_data_add_text(d, m, text, none) && syn_model_evaluate(&c, m, d, 0, NULL, NULL) == SYN_OK, "%s",
        c.message);
  syn_model_free(m);
  syn_data_free(d);
}

static void check_corrupted(void) {
  const int tokens[5] = {5, 6, 2, 8, 9};
  int src[5], tgt[5], i, masked = 0;
  syn_corruption k;
  syn_random r = {3};
  memset(&k, 0, sizeof k);
  memset(src, 0, sizeof src);
  k.first = 11, k.count = 12, k.mask = 1;
  syn_corrupt(NULL, tokens, 5, &r, src, tgt);
  CHECK(memcmp(src, tokens, sizeof src) == 0, "nothing is corrupted");
  src[0] = 77;
  syn_corrupt(&k, NULL, 5, &r, src, tgt);
  syn_corrupt(&k, tokens, 5, &r, src, NULL);
  syn_corrupt(&k, tokens, 5, &r, NULL, tgt);
  CHECK(src[0] == 77, "an array was missing");
  for (k.noise = 0.0f; k.noise < 1.5f; k.noise += 0.99f) {
    syn_corrupt(&k, tokens, 5, &r, src, tgt);
    for (masked = i = 0; i < 5; i++) {
      masked += tgt[i] > 0;
      CHECK(tgt[i] ? tgt[i] == tokens[i] : src[i] == tokens[i], "token %d: %d, label %d", i, src[i], tgt[i]);
    }
    CHECK(masked == (k.noise == 0.0f ? 1 : 4) && !tgt[2], "noise %g: %d masked", (double)k.noise, masked);
  }
  k.noise = 0.01f;
  syn_corrupt(&k, tokens, 5, &r, src, tgt);
  for (masked = i = 0; i < 5; i++) masked += tgt[i] > 0;
  CHECK(masked == 1, "%d masked, one at least", masked);
}

static void check_refused_labels(void) {
  syn_config k = config_of("tag", "linear");
  float x[3 * F];
  const int lengths[1] = {3}, labels[3] = {1, 2, 3};
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_batch b;
  memset(x, 0, sizeof x);
  memset(&b, 0, sizeof b);
  features_context(&c);
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, NULL);
  b.count = 1, b.features = x, b.lengths = lengths, b.labels = labels, b.src_width = 2;
  syn_run_forward(r, &b);
  refused(&c, "labels of width 2", "a source of 3 rows");
  b.src_width = 3;
  CHECK(syn_run_forward(r, &b) == SYN_OK, "%s", c.message);
  b.features = NULL;
  syn_run_forward(r, &b);
  refused(&c, "no features", "3 numbers");
  syn_run_free(r);
  syn_model_free(m);
}

/* More numbers as targets than an int counts. */
static void check_refused_targets(void) {
  enum { MANY = 33000 };
  syn_config k = config_of("regress_rows", "linear");
  float *x = (float *)calloc(MANY, sizeof *x), y[2] = {0, 0};
  syn_context c;
  syn_model *m;
  syn_data *d;
  features_context(&c);
  k.src_features = 1, k.d_model = 1, k.heads = 1, k.outputs = 65536;
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  d = syn_data_new(&c);
  syn_data_add_regress(d, x, MANY, 1, y, 2);
  syn__data_task(&c, m, d); /* an evaluation would allocate its batches before */
  refused(&c, "row 0 has 2 numbers as targets", "wants -1");
  CHECK(syn_data_batches(d, 2 * MANY, 1) == 1 && syn_data_batches(d, 2 * MANY, 2) == 1, "%s", c.message);
  d->reading = 1; /* as in a callback of an evaluation */
  CHECK(syn_data_batches(d, 2 * MANY, 3) == 0, "another epoch");
  refused(&c, "an evaluation reads", "called back");
  d->reading = 0;
  syn_data_free(d);
  syn_model_free(m);
  free(x);
}

/* -- numbers as texts, numbers of tokens -- */

static void check_number_texts(void) {
  static const char *const json[] = {"0", "-1", "12", "0.5", "1e3", "1E+3", "1e-3", "-0.25e7"};
  char out[8];
  double x = 0.0;
  size_t i;
  syn_context c;
  syn_tokenizer *t;
  features_context(&c);
  CHECK(syn__number_read("2E3", &x) == 3 && x == 2000.0, "%g", x);
  CHECK(syn__number_read("e3", &x) == 0 && syn__number_read("2e", &x) == 0, "no numbers");
  CHECK(syn__number_write(out, 3, 9, 0.125) == 5 && strcmp(out, "0.") == 0, "'%s'", out);
  for (i = 0; i < SYN__COUNT(json); i++) {
    syn__json j;
    memset(&j, 0, sizeof j);
    j.c = &c, j.where = "memory", j.ok = 1;
    j.start = j.at = (const unsigned char *)json[i];
    j.end = j.start + strlen(json[i]);
    syn__json_skip_number(&j);
    CHECK(j.ok && j.at == j.end, "%s: %s", json[i], c.message);
  }
  for (i = 0; i < 2; i++) {
    syn__json j;
    memset(&j, 0, sizeof j);
    j.c = &c, j.where = "memory", j.ok = 1;
    j.start = j.at = (const unsigned char *)(i ? "1e" : "-");
    j.end = j.start + (i ? 2 : 1);
    syn__json_skip_number(&j);
    CHECK(!j.ok, "a number without a digit");
    refused(&c, "a digit", "");
  }
  t = syn_tokenizer_learn(&c, "byte", 0, NULL, 0);
  CHECK(syn_tokenizer_number(NULL, 0) == -1 && syn_tokenizer_number(t, -1) == -1 &&
            syn_tokenizer_number(t, syn_tokenizer_size(t)) == -1 && syn_tokenizer_number(t, 9) == 9,
        "numbers of tokens");
  syn_tokenizer_free(t);
}

/* -- labels as texts, long rows, models that are views -- */

static void check_label_texts(void) {
  static const struct {
    const char *text, *target, *a, *b;
  } cases[] = {{"ab cd", "  bad xyz", "label 1: no class is named 'xyz'", "row 0"},
               {"ab cd", "xyz bad ", "label 0: no class is named 'xyz'", "row 0"},
               {"ab cd ef", "bad xyz good", "label 1: no class is named 'xyz'", "row 0"},
               {"ab cd", "good", "2 words and 1 tags", "each of its 5 tokens"},
               {"ab cd", "good bad good", "2 words and 3 tags", "each of its 5 tokens"},
               {"ab cd ef gh ij kl", "good bad", "6 words and 2 tags", "each of its 17 tokens"},
               {"ab", "", "1 words and 0 tags", "wanted a tag"}};
  syn_context c;
  syn_model *m;
  syn_data *d;
  size_t i;
  int n = 0;
  const int *row;
  features_context(&c);
  m = features_texts(&c, "tag");
  d = syn_data_new(&c);
  syn_data_set_cut(d, SYN_CUT_TAIL);
  for (i = 0; i < SYN__COUNT(cases); i++) {
    syn_data_add_text(d, m, syn_text_of(cases[i].text), syn_text_of(cases[i].target));
    refused(&c, cases[i].a, cases[i].b);
  }
  CHECK(syn_data_count(d) == 0, "a refused row was added");
  CHECK(!syn_data_add_text(d, m, syn_text_of("ab cd ef gh ij kl"), syn_text_of("good bad bad bad bad bad")), "%s",
        c.message);
  row = syn_data_row(d, 0, SYN_TGT, &n);
  CHECK(n == 12 && row[0] != row[3] && !row[1] && !row[2] && row[3] == row[6], "%d labels of a text that was cut", n);
  CHECK(!syn_data_add_text(d, m, syn_text_of("abc"), syn_text_of("good bad good")), "%s", c.message);
  row = syn_data_row(d, 1, SYN_TGT, &n);
  CHECK(n == 3 && row[0] == row[2] && row[0] != row[1], "a label for each of %d tokens", n);
  syn_data_set_cut(d, SYN_CUT_MIDDLE);
  syn_data_add_text(d, m, syn_text_of("ab cd ef gh ij kl"), syn_text_of("bad"));
  refused(&c, "tags go with the words", "SYN_CUT_TAIL");
  CHECK(syn_data_set_cut(d, 99) == SYN_E_VALUE, "cut 99");
  refused(&c, "cut is 99", "wanted");
  CHECK(syn_data_cut(d, NULL) == 1, "%lu rows cut", (unsigned long)syn_data_cut(d, NULL));
  syn_data_free(d);
  syn_model_free(m);
  m = features_texts(&c, "seq2seq");
  d = syn_data_new(&c);
  syn_data_set_cut(d, SYN_CUT_TAIL);
  CHECK(!syn_data_add_text(d, m, syn_text_of("a"), syn_text_of("a target of many bytes")) &&
            !syn_data_add_text(d, m, syn_text_of("a source of many bytes"), syn_text_of("a")), "%s", c.message);
  CHECK(syn_data_cut(d, NULL) == 2, "either side is cut");
  syn_data_free(d);
  syn_model_free(m);
}

static void check_long_rows(void) {
  enum { LONG = 12400 };
  int *tokens = (int *)calloc(LONG, sizeof *tokens), i, n = 1;
  syn_context c;
  syn_data *d;
  features_context(&c);
  for (i = 0; i < LONG; i++) tokens[i] = 5;
  d = syn_data_new(&c);
  for (i = 0; i < 2; i++) { /* of the tokens, of the rows */
    features_blocks = i;
    CHECK(syn_data_add(d, tokens, 1, tokens, 1) == SYN_E_MEMORY, "memory %d", i);
    refused(&c, "out of memory", "rows of 0 tokens");
  }
  features_blocks = 1 << 30;
  CHECK(!syn_data_add(d, tokens, LONG, tokens, 3) && !syn_data_add(d, tokens, 3, tokens, LONG) &&
            !syn_data_add(d, tokens, LONG, tokens, LONG), "%s", c.message);
  CHECK(syn_data_batches(d, LONG + 1, 1) == 3, "rows that are too long for their sort keys");
  CHECK(!syn_data_row(NULL, 0, SYN_SRC, &n) && n == 0 && !syn_data_row(d, 0, SYN_EACH, &n) &&
            !syn_data_row(d, 3, SYN_SRC, &n), "rows that are not there");
  syn_data_free(d);
  free(tokens);
}

static void check_view(void) {
  syn_config k = config_of("regress", "linear");
  syn_context c;
  syn_data *d;
  syn_model *m, *view;
  syn_run *r;
  syn_batch b;
  syn_limits limits;
  const int lengths[1] = {1};
  float x[F] = {1, 2, 3}, y[2] = {0, 1}, loss = 0.0f;
  char *bytes = (char *)malloc(1 << 16);
  size_t size = 0;
  FILE *f;
  features_context(&c);
  m = syn_model_new(&c, &k);
  d = data_of(&c, "regress", 4);
  CHECK(bytes && !syn_model_save(&c, m, "features.safetensors"), "%s", c.message);
  f = fopen("features.safetensors", "rb");
  if (f) size = fread(bytes, 1, 1 << 16, f), fclose(f);
  view = syn_model_view(&c, bytes, size);
  CHECK(view, "%s", c.message);
  features_blocks = 0;
  CHECK(syn_model_normalize(view, d) == SYN_E_MEMORY, "no memory for weights of its own");
  features_blocks = 1 << 30;
  refused(&c, "out of memory", "the weights of a model");
  CHECK(!syn_model_normalize(view, d) && !syn_model_normalize(m, d), "%s", c.message);
  CHECK(syn_model_find(view, "src.mean")->x[1] == syn_model_find(m, "src.mean")->x[1], "other means");
  syn_model_free(view);
  memset(&b, 0, sizeof b);
  memset(&limits, 0, sizeof limits);
  limits.keep = 1, limits.src_rows = 4;
  r = syn_run_new(&c, m, &limits);
  syn_run_backward(r, NULL, &loss);
  refused(&c, "no batch", "given");
  b.count = 1, b.features = x, b.lengths = lengths;
  syn_run_backward(r, &b, &loss);
  refused(&c, "the batch has no targets", "");
  b.targets = y;
  CHECK(!syn_run_backward(r, &b, &loss) && loss > 0.0f, "%s", c.message);
  y[1] = NAN;
  syn_run_backward(r, &b, &loss);
  refused(&c, "targets: number 1 of row 0", "1e+30");
  syn_run_free(r);
  syn_model_free(m);
  k = config_of("classify", "linear");
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, &limits);
  b.targets = NULL;
  syn_run_backward(r, &b, &loss);
  refused(&c, "the batch has no labels", "");
  syn_run_free(r);
  syn_model_free(m);
  k.classes = 2;
  m = syn_model_outline(&c, &k, NULL);
  syn_model_normalize(m, d);
  refused(&c, "syn_model_outline", "no weights");
  syn_model_free(m);
  syn_data_free(d);
  free(bytes);
}

/* -- long names, many numbers, late steps -- */

static void check_long_names(void) {
  const syn_text names[2] = {{"a class whose name is longer than forty letters", 47},
                             {"the other class whose name is longer than them", 46}};
  syn_config k = config_of("classify", "linear");
  syn_context c;
  syn_tokenizer *src, *tgt;
  syn_model *m;
  syn_data *d;
  syn_corruption none;
  size_t tokens = 7;
  int n_src, n_tgt;
  features_context(&c);
  src = syn_tokenizer_learn(&c, "byte", 0, NULL, 0);
  tgt = syn_tokenizer_learn(&c, "line", 0, names, 2);
  k.src_features = 0, k.src_vocab = syn_tokenizer_size(src), k.classes = 2;
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, src, tgt);
  d = syn_data_new(&c);
  CHECK(!syn_data_add_text(d, m, syn_text_of("abc"), names[1]), "%s", c.message);
  syn_data_add_text(d, m, syn_text_of("abc"), syn_text_of("the other"));
  CHECK(strstr(c.message, "no class is named 'the other'") && !strstr(c.message, "nearest"), "%s", c.message);
  syn_context_clear(&c);
  syn_data_free(d);
  syn_model_free(m);
  memset(&none, 0, sizeof none);
  syn_corrupt_sizes(NULL, 9, &n_src, &n_tgt);
  CHECK(n_src == 9 && n_tgt == 0, "%d and %d tokens of 9", n_src, n_tgt);
  syn_corrupt_sizes(&none, 9, &n_src, &n_tgt);
  CHECK(n_src == 9 && n_tgt == 0, "%d and %d tokens of 9", n_src, n_tgt);
  none.first = 5, none.count = 3;
  syn_corrupt_sizes(&none, 1, &n_src, &n_tgt);
  CHECK(n_src == 1 && n_tgt == 0, "%d and %d tokens of 1", n_src, n_tgt);
  CHECK(syn_data_cut(NULL, &tokens) == 0 && tokens == 0, "%lu tokens", (unsigned long)tokens);
}

static void check_many_targets(void) {
  syn_config k = config_of("regress_rows", "linear");
  const float x[F] = {1, 2, 3}, y[2] = {4, 5};
  const int lengths[1] = {1};
  syn_limits limits;
  syn_train_config train;
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_trainer *t;
  syn_batch b;
  features_context(&c);
  memset(&limits, 0, sizeof limits);
  memset(&b, 0, sizeof b);
  memset(&train, 0, sizeof train);
  limits.src_rows = 4;
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, &limits);
  b.count = 1, b.features = x, b.lengths = lengths, b.targets = y;
  CHECK(syn_run_forward(r, &b) == SYN_OK && r->n_labels == 2, "%s", c.message);
  r->off[SYN_SRC][1] = 1 << 30; /* as of a run of so many rows, which has no memory here */
  syn__bind_targets(r, &b);
  r->off[SYN_SRC][1] = 1;
  refused(&c, "1073741824 rows of 2 targets", "more than 2147483647 numbers");
  syn_run_free(r);
  train.optimizer = "adafactor", train.steps = 3;
  t = syn_trainer_new(&c, m, &train);
  CHECK(t, "%s", c.message);
  if (t && t->config.lr == 0.0f) /* Adafactor's own rate is 0.01, later 1 / sqrt(step) */
    CHECK(syn__rate(t, 100.0) == 0.01f && syn__rate(t, 40000.0) == 0.005f, "%g %g", (double)syn__rate(t, 100.0),
          (double)syn__rate(t, 40000.0));
  syn_trainer_free(t);
  train.freeze = "a tensor whose name is longer than the eighty letters of a pattern that are shown, which it is";
  CHECK(!syn_trainer_new(&c, m, &train), "a tensor that is not there");
  refused(&c, "freeze: no tensor is named 'a tensor", "eighty letters of a pattern that are show'");
  syn_model_free(m);
}

int main(void) {
  check_networks(NULL, 1);
  check_networks("scalar", 2);
  check_learning();
  check_input_gradient("linear -> act(tanh) -> linear");
  check_input_gradient("rnn(6)");
  check_input_gradient("cnn(6, 3, tanh) -> syn_att(V)");
  check_file();
  check_resume("classify");
  check_resume("regress_rows");
  check_refused_config();
  check_refused_batch();
  check_refused_data();
  check_refused_rows();
  check_refused_normalize();
  check_refused_corruption();
  check_corrupted();
  check_refused_labels();
  check_refused_targets();
  check_number_texts();
  check_label_texts();
  check_long_rows();
  check_view();
  check_long_names();
  check_many_targets();
  return CHECK_END("features");
}
