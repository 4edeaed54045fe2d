/* Numbers at the ends of what a field of a configuration takes: refused, or used as they are. The
   neighbours of 0 and 1, negative ones, huge ones, infinity, NaN. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"
#include "sink.h"

enum { VALUES = 11, ROW = 6 };
static const char *const names[VALUES] = {"-inf", "-1", "below 0", "0", "above 0", "below 1",
                                          "1", "above 1", "3e38", "inf", "nan"};
static float values[VALUES];

/* A field by its place in the struct; for each value + taken, - refused. */
typedef struct field {
  const char *name;
  size_t at;
  const char *taken;
} field;
#define FIELD(type, name) #name, offsetof(type, name)

static void set(void *config, const field *f, int i) {
  memcpy((char *)config + f->at, &values[i], sizeof values[i]);
}
static void check(const field *f, int i, int taken, const char *message) {
  CHECK(taken == (f->taken[i] == '+'), "%s %s: %s: %s", f->name, names[i],
        taken ? "taken" : "refused", message);
}

/* A model of the context; null: refused. `layer`: in the decoder. */
static syn_model *model(syn_context *c, const field *f, int i, const char *layer) {
  syn_config k;
  char text[200];
  memset(&k, 0, sizeof k);
  sprintf(text, "pos -> res_nd(syn_att(V)) -> %s -> norm", layer);
  k.task = "lm", k.decoder = text;
  k.tgt_vocab = 8, k.max_len = ROW + 1, k.d_model = 8, k.heads = 2;
  if (f) set(&k, f, i);
  return syn_model_new(c, &k);
}

static syn_data *rows(syn_context *c) {
  static const int row[] = {4, 5, 6, 7, 4, 5};
  syn_data *d = syn_data_new(c);
  int i;
  for (i = 0; i < 4; i++) syn_data_add(d, NULL, 0, row, ROW);
  return d;
}

static int weights_finite(const syn_model *m) {
  size_t i, j;
  for (i = 0; i < m->g.n_params; i++)
    for (j = 0; j < m->g.params[i].size; j++)
      if (!(fabsf(m->g.params[i].x[j]) <= FLT_MAX)) return 0;
  return 1;
}

/* Two updates of what was taken: the weights stay numbers, whether or not a step is refused. */
static int trains(syn_context *c, syn_model *m, const syn_train_config *how) {
  syn_data *d = rows(c);
  syn_trainer *t = syn_trainer_new(c, m, how);
  int made = t != NULL;
  syn_trainer_run(t, d, NULL, NULL, NULL);
  CHECK(!m || weights_finite(m), "a weight is no number: %s", c->message);
  syn_trainer_free(t), syn_data_free(d);
  return made;
}

static void test_config(syn_context *c) {
  static const field fields[] = {{FIELD(syn_config, dropout), "---+++-----"},
                                 {FIELD(syn_config, label_smoothing), "---+++-----"}};
  syn_train_config how;
  size_t f;
  int i;
  memset(&how, 0, sizeof how);
  how.steps = 2;
  for (f = 0; f < SYN__COUNT(fields); f++)
    for (i = 0; i < VALUES; i++) {
      syn_model *m = model(c, &fields[f], i, "res_nd(ffl)");
      check(&fields[f], i, m != NULL, c->message);
      if (m) CHECK(trains(c, m, &how), "%s %s: %s", fields[f].name, names[i], c->message);
      syn_model_free(m), syn_context_clear(c);
    }
}

static void test_train(syn_context *c) {
  static const field fields[] = {{FIELD(syn_train_config, lr), "---++++++--"},
                                 {FIELD(syn_train_config, beta1), "++++++-----"},
                                 {FIELD(syn_train_config, beta2), "---+++-----"},
                                 {FIELD(syn_train_config, eps), "---+-++++--"},
                                 {FIELD(syn_train_config, weight_decay), "---++++++--"},
                                 {FIELD(syn_train_config, clip), "---+++++++-"},
                                 {FIELD(syn_train_config, ema), "---++++----"}};
  static const char *const optimizers[] = {"adam", "adamw", "adafactor", "sgd", "muon"};
  syn_train_config how;
  size_t f, o;
  int i;
  for (o = 0; o < SYN__COUNT(optimizers); o++)
    for (f = 0; f < SYN__COUNT(fields); f++)
      for (i = 0; i < VALUES; i++) {
        syn_model *m = model(c, NULL, 0, "res_nd(ffl)");
        const int unused = (o == 2 || o == 3) && (f == 2 || f == 3) && i != 3; /* not of these */
        memset(&how, 0, sizeof how);
        how.steps = 2, how.optimizer = optimizers[o];
        set(&how, &fields[f], i);
        if (unused) CHECK(!trains(c, m, &how), "%s has no %s", how.optimizer, fields[f].name);
        else check(&fields[f], i, trains(c, m, &how), c->message);
        syn_context_clear(c), syn_model_free(m);
      }
}

static void test_decode(syn_context *c) {
  static const field fields[] = {{FIELD(syn_decode_config, alpha), "++++++++---"},
                                 {FIELD(syn_decode_config, temperature), "---++++++--"},
                                 {FIELD(syn_decode_config, top_p), "---++++----"}};
  static const int prompt[] = {2, 4};
  syn_model *m = model(c, NULL, 0, "res_nd(ffl)");
  size_t f;
  int i, size;
  for (f = 0; f < SYN__COUNT(fields); f++)
    for (i = 0; i < VALUES; i++) {
      syn_decode_config k;
      syn_decoder *d;
      syn_batch b;
      float score = 0.0f;
      memset(&k, 0, sizeof k), memset(&b, 0, sizeof b);
      if (f == 0) k.beam = 3;
      if (f == 2) k.temperature = 1.0f;
      set(&k, &fields[f], i);
      d = syn_decoder_new(c, m, &k);
      check(&fields[f], i, d != NULL, c->message);
      b.count = 1, b.tgt = prompt, b.tgt_width = 2;
      if (d) CHECK(!syn_decoder_run(d, &b, NULL, NULL), "%s", c->message);
      if (d) CHECK(syn_decoder_output(d, 0, 0, &size, &score) && size > 0 && score - score == 0.0f,
                   "%s %s: score %g", fields[f].name, names[i], (double)score);
      syn_decoder_free(d), syn_context_clear(c);
    }
  syn_model_free(m);
}

static void test_corruption(syn_context *c) {
  static const field fields[] = {{FIELD(syn_corruption, noise), "---+++-----"},
                                 {FIELD(syn_corruption, span), "---+--++++-"}};
  size_t f;
  int i;
  for (f = 0; f < SYN__COUNT(fields); f++)
    for (i = 0; i < VALUES; i++) {
      static const int tokens[] = {4, 5, 6, 7, 8, 9, 10, 11};
      int src[32], tgt[32], n_src, n_tgt;
      syn_corruption k;
      syn_data *d = syn_data_new(c);
      syn_random r = {1};
      memset(&k, 0, sizeof k);
      k.first = 20, k.count = 4;
      set(&k, &fields[f], i);
      check(&fields[f], i, !syn_data_corrupt(d, &k), c->message);
      if (!c->status) {
        syn_corrupt_sizes(&k, 8, &n_src, &n_tgt);
        CHECK(n_src > 0 && n_src <= 16 && n_tgt > 0 && n_tgt <= 16, "%s %s: %d and %d tokens",
              fields[f].name, names[i], n_src, n_tgt);
        syn_corrupt(&k, tokens, 8, &r, src, tgt);
      }
      syn_data_free(d), syn_context_clear(c);
    }
}

static void test_layers(syn_context *c) {
  static const char *const layers[] = {"dropout(rate=%.9g)", "learn_pos(dropout=%.9g)",
                                       "res_nd(syn_att(V, dropout=%.9g))"};
  static const double written[] = {0.0, 1e-45, 1e-99, 0.99, 0.9901, 1.0, 1e38, -1e-45, -1.0};
  syn_train_config how;
  char text[64];
  size_t k, i;
  memset(&how, 0, sizeof how);
  how.steps = 1;
  for (k = 0; k < SYN__COUNT(layers); k++)
    for (i = 0; i < SYN__COUNT(written); i++) {
      syn_model *m;
      sprintf(text, layers[k], written[i]);
      m = model(c, NULL, 0, text);
      CHECK((m != NULL) == (written[i] >= 0.0 && written[i] <= 0.99), "%s: %s", text, c->message);
      if (m) CHECK(trains(c, m, &how), "%s: %s", text, c->message);
      syn_context_clear(c), syn_model_free(m);
    }
}

/* The share that is dropped, and what the rest is multiplied by, at the ends of the rate. */
static void test_dropout(syn_context *c) {
  static const float rates[] = {1e-45f, 1e-9f, 0.5f, 0.99f, 0.99999f, 0.99999994f, 1.0f, 1e30f};
  const int n = 1 << 16;
  float *x = (float *)malloc((size_t)n * sizeof *x);
  syn_tape *t = syn_tape_new(c, 65536);
  size_t k;
  int i, isa;
  for (isa = 0; isa < syn_isa_count(); isa++)
    for (k = 0; k < SYN__COUNT(rates) && syn_isa_usable(isa); k++) {
      const syn__dropout d = syn__dropout_of(t, 3, rates[k]);
      double kept = 0, sum = 0, wanted = n * (rates[k] < 1.0f ? 1.0 - (double)rates[k] : 0.0);
      for (i = 0; i < n; i++) x[i] = 1.0f;
      syn__isas.isas[isa]->dropout(&d, 0, x, x, NULL, (size_t)n);
      for (i = 0; i < n; i++) kept += x[i] > 0.0f, sum += (double)x[i];
      CHECK(fabs(kept - wanted) <= 4.0 * sqrt(wanted * (1.0 - wanted / n)) + 1.0,
            "rate %.9g: %g of %d kept", (double)rates[k], kept, n);
      CHECK(rates[k] < 0.9f ? fabs(sum / n - 1.0) < 0.05 : sum - sum == 0.0, "rate %.9g: mean %g",
            (double)rates[k], sum / n);
    }
  syn_tape_free(t);
  free(x);
}

/* An output of an lm, and one correction of its output layer with `rate`. */
static int small_runs(const bytes *b, const syn_small_config *k, float rate) {
  static const int prompt[] = {4};
  long need = syn_small_ram(b->at, b->size, k), floats, j;
  void *ram = need > 0 ? malloc((size_t)need) : NULL;
  syn_small *s = ram ? syn_small_open(ram, (size_t)need, b->at, b->size, k, NULL) : NULL;
  float *learned;
  int token, steps = 0, taken = s != NULL;
  if (s && k->beam < 2) {
    floats = syn_small_learn(s, NULL, 0);
    learned = (float *)calloc((size_t)floats, sizeof *learned);
    syn_small_learn(s, learned, floats);
    syn_small_source(s, prompt, 1);
    while ((token = syn_small_step(s, 1000)) == SYN_SMALL_MORE && steps < 10000) steps++;
    CHECK(token >= 0 || token == SYN_SMALL_END, "small: token %d", token);
    taken = !syn_small_correct(s, 5, rate);
    for (j = 0; j < floats; j++) CHECK(fabsf(learned[j]) <= FLT_MAX, "small: learned number %ld", j);
    free(learned);
  }
  free(ram);
  return taken;
}

static void test_small(syn_context *c) {
  static const field fields[] = {{FIELD(syn_small_config, alpha), "++++++++---"},
                                 {FIELD(syn_small_config, temperature), "---+++++---"},
                                 {FIELD(syn_small_config, top_p), "---++++----"}};
  static const field rate = {"rate", 0, "----++++---"};
  syn_model *m = model(c, NULL, 0, "res_nd(ffl)");
  syn_small_config k;
  bytes b;
  syn_sink to = sink_of(&b);
  size_t f;
  int i;
  CHECK(!syn_small_write(c, m, NULL, &to), "%s", c->message);
  for (f = 0; f < SYN__COUNT(fields); f++)
    for (i = 0; i < VALUES; i++) {
      memset(&k, 0, sizeof k);
      if (f == 0) k.beam = 3;
      if (f == 2) k.temperature = 1.0f;
      set(&k, &fields[f], i);
      check(&fields[f], i, small_runs(&b, &k, 1.0f), "small");
    }
  memset(&k, 0, sizeof k);
  for (i = 0; i < VALUES; i++) check(&rate, i, small_runs(&b, &k, values[i]), "small");
  free(b.at);
  syn_model_free(m);
}

/* -- what runs out of memory says what it was for -- */

static size_t largest; /* what the allocator gives */
static void *limited_alloc(void *user, size_t size) {
  return (void)user, size <= largest ? malloc(size) : NULL;
}
static void limited_release(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}

static void out_of_memory(syn_context *c, const char *wanted) {
  CHECK(c->status == SYN_E_MEMORY && strstr(c->message, wanted) &&
            !strncmp(c->message, "out of memory: ", 15), "'%s', wanted '%s'", c->message, wanted);
  syn_context_clear(c);
}

static void test_memory(void) {
  syn_options o;
  syn_context c;
  syn_model *m;
  syn_data *d;
  syn_train_config how;
  syn_decode_config k;
  syn_limits limits;
  double loss;
  int row[1000];
  long i;
  memset(&o, 0, sizeof o), memset(&how, 0, sizeof how), memset(&k, 0, sizeof k);
  memset(&limits, 0, sizeof limits);
  o.alloc = limited_alloc, o.release = limited_release;
  largest = 5000;
  syn_context_init(&c, &o);
  CHECK(!model(&c, NULL, 0, "res_nd(ffl(4096))"), "a large model");
  out_of_memory(&c, " bytes for the weights of a model: d_model 8, max_len 7, src_vocab");
  largest = 1 << 16;
  m = model(&c, NULL, 0, "res_nd(ffl)");
  how.batch_tokens = 100000, how.average = 3;
  CHECK(!syn_trainer_new(&c, m, &how), "a large batch");
  out_of_memory(&c, " bytes for a training: batch_tokens 100000, length 7, average 3, ");
  k.sentences = 2000, k.beam = 4;
  CHECK(!syn_decoder_new(&c, m, &k), "many sentences");
  out_of_memory(&c, " bytes for a decoder: sentences 2000, beam 4, max_len 7, source_len 7, ");
  limits.src_rows = 60000, limits.tgt_rows = 70000;
  CHECK(!syn_run_new(&c, m, &limits), "a large run");
  out_of_memory(&c, " bytes for a run: sentences 0, src_rows 60000, tgt_rows 70000, ");
  CHECK(!syn_run_new(&c, m, NULL), "a run with the default limits");
  out_of_memory(&c, " bytes for a run of 4096 rows");
  CHECK(!syn_tape_new(&c, 1 << 20), "a large tape");
  out_of_memory(&c, " for a tape of 1048576 bytes");
  d = syn_data_new(&c);
  for (i = 0; i < 1000; i++) row[i] = 4;
  for (i = 0; i < 100 && !syn_data_add(d, NULL, 0, row, 1000); i++) continue;
  out_of_memory(&c, " bytes for data: more than ");
  syn_data_free(d), d = rows(&c);
  CHECK(syn_model_evaluate(&c, m, d, 50000, &loss, NULL), "a large evaluation");
  out_of_memory(&c, " bytes for an evaluation: batch_tokens 50000");
  largest = 20;
  syn_tape_new(&c, 0); /* the first error stays as it is */
  CHECK(!syn_decoder_new(&c, m, &k) && !strstr(c.message, "decoder"), "%s", c.message);
  syn_context_clear(&c);
  syn_data_free(d), syn_model_free(m);
}

int main(void) {
  syn_context c;
  values[0] = -INFINITY, values[1] = -1.0f, values[2] = nextafterf(0.0f, -1.0f);
  values[4] = nextafterf(0.0f, 1.0f), values[5] = nextafterf(1.0f, 0.0f), values[6] = 1.0f;
  values[7] = nextafterf(1.0f, 2.0f), values[8] = 3e38f, values[9] = INFINITY, values[10] = NAN;
  syn_context_init(&c, NULL);
  test_config(&c);
  test_train(&c);
  test_decode(&c);
  test_corruption(&c);
  test_layers(&c);
  test_dropout(&c);
  test_small(&c);
  test_memory();
  return CHECK_END("limits");
}
