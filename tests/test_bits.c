/* The same bits everywhere: 250 steps of training, decoding with a beam of 4, also in int8, and
   model files. One hash of every loss, token, score and byte must be the constant below on every
   ISA, every machine and with every compiler. An ISA that cannot give it says so by
   syn_context_exact; which those are is known. */
#ifndef TEST_LINKED /* the Makefile links it to linked.c */
#define SYNTHESIZER_IMPLEMENTATION
#endif
#include "../synthesizer.h"
#include "check.h"
#include <float.h>
#include <string.h>

static const uint64_t wanted_hash = UINT64_C(0xA8F1E41180FB8886);

enum { STEPS = 50, ROWS = 24, LENGTH = 8, SENTENCES = 4, BEAM = 4, WORDS = 12 };

/* A network and its training. */
typedef struct training {
  const char *task, *encoder, *decoder, *optimizer, *schedule;
  float lr;
} training;

static const training trainings[] = {
    {"seq2seq", "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl(act=gelu)) -> norm",
     "learn_pos -> res_nd(syn_att(D+FR)) -> res_nd(mh_dot_att) -> res_nd(ffl(act=swish)) -> norm",
     "adam", "noam", 0.5f},
    {"seq2seq", "birnn -> res(linear)",
     "rnn(cell=gru) -> res_d(mlp_att) -> highway(ff(12, tanh)) -> rnn", "sgd", "cosine", 0.05f},
    {"seq2seq", "pos -> res_d(cnn) -> res_nd(syn_att(CRC)) -> res_nd(light_conv(3))",
     "pos -> res_d(cnn(k=2)) -> res_nd(dyn_conv(3)) -> res_nd(mh_dot_att) -> norm",
     "adafactor", NULL, 0.0f},
    {"lm", NULL, "universal(2, res_nd(syn_att(FD+V)) -> res_nd(aop(2, 4))) -> rms_norm", "adamw",
     "linear", 0.01f},
    {"seq2seq", "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl(40)) -> norm",
     "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> norm", "muon", "cosine", 0.02f},
};

/* -- the hash: of numbers as little-endian bytes, whatever the byte order of the machine -- */

static void hash_bits(uint64_t *hash, uint32_t bits) {
  unsigned char bytes[4];
  int i;
  for (i = 0; i < 4; i++) bytes[i] = (unsigned char)(bits >> 8 * i & 255);
  *hash = syn_hash(*hash, bytes, 4);
}
static void hash_floats(uint64_t *hash, const float *x, size_t n) {
  uint32_t bits;
  size_t i;
  for (i = 0; i < n; i++) {
    memcpy(&bits, &x[i], sizeof bits);
    hash_bits(hash, bits);
  }
}
static size_t hash_write(void *user, const void *bytes, size_t size) {
  uint64_t *hash = (uint64_t *)user;
  *hash = syn_hash(*hash, bytes, size);
  return size;
}
static int hash_loss(void *user, const syn_trainer *t, float loss, int validated) {
  (void)t;
  (void)validated;
  hash_floats((uint64_t *)user, &loss, 1);
  return 0;
}

/* -- what is hashed -- */

/* Rows of 1 to 6 tokens with their reverse. */
static syn_data *reversals(syn_context *c, int lm) {
  syn_data *d = syn_data_new(c);
  syn_random r = {5};
  int i, j;
  for (i = 0; i < ROWS; i++) {
    int row[LENGTH], back[LENGTH], n = 1 + syn_random_below(&r, 6);
    for (j = 0; j < n; j++)
      row[j] = back[n - 1 - j] = SYN_FIRST_TOKEN + syn_random_below(&r, WORDS - SYN_FIRST_TOKEN);
    CHECK(!syn_data_add(d, row, lm ? 0 : n, back, n), "%s", c->message);
  }
  return d;
}

static void hash_training(syn_context *c, syn_model *m, const training *k, uint64_t *hash) {
  syn_data *data = reversals(c, !k->encoder);
  syn_train_config config;
  syn_trainer *t;
  memset(&config, 0, sizeof config);
  config.optimizer = k->optimizer;
  config.schedule = k->schedule;
  config.lr = k->lr;
  config.warmup = 10;
  config.steps = STEPS;
  config.clip = 1.0f;
  config.batch_tokens = SENTENCES * LENGTH;
  t = syn_trainer_new(c, m, &config);
  CHECK(!syn_trainer_run(t, data, data, hash_loss, hash), "%s", c->message);
  syn_trainer_free(t);
  syn_data_free(data);
}

/* Of four sources, or four prompts for lm; `type`: of the products. */
static void hash_decoding(syn_context *c, const syn_model *m, const char *type, uint64_t *hash) {
  static const int src[] = {4, 5, 6, 7, 3, 11, 10, 9, 3, 0, 8, 3, 0, 0, 0, 5, 5, 4, 3, 0};
  static const int prompt[] = {2, 4, 2, 11, 2, 8, 2, 5};
  syn_decode_config config;
  syn_decoder *d;
  syn_batch b;
  int lm = !syn_model_config(m)->encoder, i, j, rank, size;
  memset(&b, 0, sizeof b);
  b.count = SENTENCES;
  if (!lm) b.src = src, b.src_width = 5;
  if (lm) b.tgt = prompt, b.tgt_width = 2;
  memset(&config, 0, sizeof config);
  config.sentences = SENTENCES;
  config.beam = config.best = BEAM;
  config.type = type;
  d = syn_decoder_new(c, m, &config);
  CHECK(!syn_decoder_run(d, &b, NULL, NULL), "%s", c->message);
  for (i = 0; i < SENTENCES; i++)
    for (rank = 0; rank < BEAM; rank++) {
      float score = 0.0f;
      const int *y = syn_decoder_output(d, i, rank, &size, &score);
      for (j = 0; y && j < size; j++) hash_bits(hash, (uint32_t)y[j]);
      hash_floats(hash, &score, 1);
    }
  syn_decoder_free(d);
}

static void hash_files(syn_context *c, const syn_model *m, uint64_t *hash) {
  static const char *const types[] = {"f32", "bf16", "i8", "i4"};
  syn_sink sink;
  size_t i;
  sink.write = hash_write;
  sink.user = hash;
  for (i = 0; i < sizeof types / sizeof *types; i++)
    CHECK(!syn_model_save_as_to(c, m, types[i], &sink), "%s: %s", types[i], c->message);
}

static void hash_case(syn_context *c, const training *k, uint64_t *hash) {
  syn_config config;
  syn_model *m;
  memset(&config, 0, sizeof config);
  config.task = k->task;
  config.encoder = k->encoder;
  config.decoder = k->decoder;
  config.d_model = 12;
  config.heads = 2;
  config.max_len = LENGTH;
  config.src_vocab = config.tgt_vocab = WORDS;
  config.dropout = 0.1f;
  config.label_smoothing = 0.1f;
  config.seed = 7;
  m = syn_model_new(c, &config);
  CHECK(m, "%s", c->message);
  if (!m) return;
  hash_training(c, m, k, hash);
  hash_decoding(c, m, "f32", hash);
  hash_decoding(c, m, "i8", hash);
  hash_files(c, m, hash);
  syn_model_free(m);
}

/* A product-sum that is rounded first to double, then to float, is another one here. */
static int rounds_once(syn_context *c) {
  static const int one[] = {1, 1};
  syn_tape *t = syn_tape_new(c, 4096);
  syn_tensor *x = syn_tensor_new(t, 2, one), *w = syn_tensor_new(t, 2, one);
  syn_tensor *b = syn_tensor_new(t, 1, one), *y;
  int once;
  x->x[0] = -23008220.0f / 34359738368.0f; /* 2^35 */
  w->x[0] = -1961121.0f / 262144.0f;
  b->x[0] = 16777228.0f / 536870912.0f;
  y = syn_linear(x, w, b);
  once = y && y->x[0] == 1216669.0f / 33554432.0f;
  syn_tape_free(t);
  return once;
}

/* It is known that these bits are others: NEON of 32 bits and plain wasm round twice or flush what is
   denormal, x87 keeps more bits of an intermediate result. */
static int known_inexact(const char *isa) {
#if defined(__arm__)
  if (!strcmp(isa, "neon")) return 1;
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 2
  if (!strcmp(isa, "scalar")) return 1;
#endif
  return !strcmp(isa, "wasm_plain");
}

/* All of it on one ISA; one training where nothing is compared. */
static void test_isa(const char *isa) {
  uint64_t hash = SYN_HASH_START;
  syn_options options;
  syn_context c;
  size_t k;
  int exact;
  memset(&options, 0, sizeof options);
  options.isa = isa;
  CHECK(!syn_context_init(&c, &options), "%s: %s", isa, c.message);
  exact = syn_context_exact(&c);
  CHECK(exact != known_inexact(isa), "%s: syn_context_exact says %d", isa, exact);
  for (k = 0; k < (exact ? sizeof trainings / sizeof *trainings : 1); k++) hash_case(&c, &trainings[k], &hash);
  if (!exact) {
    printf("%s: not exact\n", isa);
    return;
  }
  printf("%s: %08lx%08lx\n", isa, (unsigned long)(hash >> 32), (unsigned long)(hash & 0xFFFFFFFFu));
  CHECK(hash == wanted_hash, "%s: another hash", isa);
  CHECK(rounds_once(&c), "%s: a product-sum is rounded twice", isa);
}

/* The only argument: the name of an ISA; none: all. */
int main(int argc, char **argv) {
  int i, found = 0;
  for (i = 0; i < syn_isa_count(); i++) {
    const char *isa = syn_isa_name(i);
    if (argc > 1 && strcmp(argv[1], isa) != 0) continue;
    found++;
    if (syn_isa_usable(i)) test_isa(isa);
    else printf("%s: skipped, this machine does not have it\n", isa);
  }
  CHECK(found, "no ISA %s", argv[argc - 1]);
  return CHECK_END("bits");
}
