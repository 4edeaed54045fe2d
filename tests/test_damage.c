/* Damage: every truncation and every flipped bit of a checkpoint, with its checksum and without, and
   of the array of a small model, whose checksum refuses every flip. Nothing crashes, no block is lost, and what is refused changes
   nothing. In a checkpoint the checksum finds every flipped bit that changes what is loaded.
   With QUICK every 11th bit. (Of a model file: test_file.c, test_model.c.) */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#include "sign.h"
#include "sink.h"

static size_t stride(void) { return CHECK_QUICK ? 11 : 1; }

/* -- a checkpoint -- */

typedef struct bench {
  heap h;
  syn_context c;
  syn_model *m;
  syn_trainer *t;
} bench;

static void bench_free(bench *b) {
  syn_trainer_free(b->t);
  syn_model_free(b->m);
}

static int bench_make(bench *b) {
  syn_config k;
  syn_train_config how;
  syn_text line = syn_text_of("abc");
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  k.task = "lm";
  k.decoder = "syn_att(R)";
  k.d_model = 2;
  k.heads = 1;
  k.max_len = 3;
  k.tgt_vocab = SYN_FIRST_TOKEN + 3;
  how.every = 2;
  how.average = 1;
  how.ema = 0.2f;
  how.freeze = "tgt.embed";
  context_on(&b->c, &b->h, 0);
  b->m = syn_model_new(&b->c, &k);
  syn_model_set_tokenizers(b->m, NULL, syn_tokenizer_learn(&b->c, "char", 0, &line, 1));
  b->t = syn_trainer_new(&b->c, b->m, &how);
  CHECK(b->t, "%s", b->c.message);
  if (b->t) return 1;
  bench_free(b);
  return 0;
}

static int stop_at(void *user, const syn_trainer *t, float loss, int validated) {
  (void)loss, (void)validated;
  return syn_trainer_state(t)->step >= *(const long *)user;
}
static void bench_train(bench *b, long steps) {
  static const int row[] = {4, 5};
  syn_data *d = syn_data_new(&b->c);
  int i;
  for (i = 0; i < 6; i++) syn_data_add(d, NULL, 0, row, 1 + i % 2);
  CHECK(!syn_trainer_run(b->t, d, d, stop_at, &steps), "%s", b->c.message);
  syn_data_free(d);
}

/* Everything that a checkpoint restores. */
static uint64_t hash_bench(const bench *b) {
  const syn_trainer *t = b->t;
  const syn_train_state *s = &t->state;
  const long counts[] = {s->step, s->epoch, s->batch, s->tokens, s->validations, s->worse};
  const float numbers[] = {s->rate, s->factor, s->valid, s->best};
  uint64_t hash = syn_hash(SYN_HASH_START, b->m->weights, b->m->floats * sizeof(float));
  hash = syn_hash(hash, t->first, t->firsts * sizeof(float));
  hash = syn_hash(hash, t->second, t->seconds * sizeof(float));
  hash = syn_hash(hash, t->best, (size_t)t->n_best * t->floats * sizeof(float));
  hash = syn_hash(hash, t->best_loss, (size_t)t->n_best * sizeof(float));
  hash = syn_hash(hash, &t->n_best, sizeof t->n_best);
  hash = syn_hash(hash, counts, sizeof counts);
  return syn_hash(hash, numbers, sizeof numbers);
}

static int weights_finite(const syn_model *m) {
  size_t i;
  for (i = 0; i < m->floats; i++)
    if (!isfinite(m->weights[i])) return 0;
  return 1;
}

static void write_bytes(const char *path, const char *at, size_t size) {
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(at, 1, size, f) == size && !fclose(f), "the disk");
}

/* Loads a damaged file. 1: it was accepted. */
static int damaged_load(bench *b, const char *what, size_t n) {
  uint64_t before = hash_bench(b);
  long blocks = b->h.blocks;
  syn_status status = syn_trainer_load(b->t, "damaged");
  CHECK(b->h.blocks == blocks, "%s %lu: %ld blocks left", what, (unsigned long)n,
        b->h.blocks - blocks);
  CHECK(status == b->c.status, "%s %lu", what, (unsigned long)n);
  CHECK(!status || b->c.message[0], "%s %lu: no message", what, (unsigned long)n);
  CHECK(!status || hash_bench(b) == before, "%s %lu was refused and changed the trainer", what,
        (unsigned long)n);
  CHECK(weights_finite(b->m), "%s %lu: weights that are not finite", what, (unsigned long)n);
  syn_context_clear(&b->c);
  return status == SYN_OK;
}

static void test_cuts(bench *b, const char *at, size_t size) {
  size_t n;
  for (n = 0; n < size; n += CHECK_QUICK ? 7 : 1) {
    write_bytes("damaged", at, n);
    CHECK(!damaged_load(b, "cut at", n), "cut at %lu is loaded", (unsigned long)n);
  }
}

/* wanted: the state that the whole file has; 0: flips may change it, as there is no checksum. */
static void test_flips(bench *b, const char *at, size_t size, uint64_t wanted) {
  size_t n, accepted = 0, tried = 0;
  FILE *f;
  write_bytes("damaged", at, size);
  CHECK(damaged_load(b, "whole", 0), "the whole file is refused");
  f = fopen("damaged", "r+b");
  for (n = 0; f && n < 8 * size; n += stride(), tried++) {
    fseek(f, (long)(n / 8), SEEK_SET);
    fputc((unsigned char)at[n / 8] ^ 1 << n % 8, f);
    fflush(f);
    if (damaged_load(b, "bit", n)) {
      CHECK(!wanted || hash_bench(b) == wanted, "bit %lu changes what is loaded", (unsigned long)n);
      accepted++;
    }
    fseek(f, (long)(n / 8), SEEK_SET);
    fputc((unsigned char)at[n / 8], f);
    fflush(f);
  }
  if (f) fclose(f);
  CHECK(f && accepted < tried / 2, "%lu of %lu flips are loaded", (unsigned long)accepted,
        (unsigned long)tried);
  CHECK(wanted || accepted > tried / 100, "only %lu of %lu flips are loaded",
        (unsigned long)accepted, (unsigned long)tried);
  printf("a checkpoint of %lu bytes %s its checksum: %lu bits flipped, %lu loaded%s\n",
         (unsigned long)size, wanted ? "with" : "without", (unsigned long)tried,
         (unsigned long)accepted, wanted ? ", all as the whole file" : "");
}

static char *read_bytes(const char *path, size_t *size) {
  static char at[1 << 16];
  FILE *f = fopen(path, "rb");
  *size = f ? fread(at, 1, sizeof at, f) : 0;
  if (f) fclose(f);
  CHECK(*size > 1000 && *size < sizeof at, "%s: %lu bytes", path, (unsigned long)*size);
  return at;
}

/* Replaces a text of the file by one of the same length. */
static void replace(char *at, size_t size, const char *from, const char *to) {
  size_t n = strlen(from), i;
  for (i = 0; i + n < size && memcmp(at + i, from, n); i++) continue;
  CHECK(i + n < size, "no %s in the file", from);
  if (i + n < size) memcpy(at + i, to, n);
}

static void test_checkpoint(void) {
  uint64_t wanted;
  bench b;
  size_t size;
  char *at;
  if (!bench_make(&b)) return;
  bench_train(&b, 3);
  CHECK(!syn_trainer_save(b.t, "whole"), "%s", b.c.message);
  wanted = hash_bench(&b);
  at = read_bytes("whole", &size);
  bench_free(&b);
  CHECK(b.h.blocks == 0, "%ld blocks left", b.h.blocks);
  if (!bench_make(&b)) return;
  test_cuts(&b, at, size);
  test_flips(&b, at, size, wanted);
  replace(at, size, "train.seed", "train.sead");
  write_bytes("damaged", at, size);
  CHECK(syn_trainer_load(b.t, "damaged") == SYN_E_FORMAT &&
            strstr(b.c.message, "the file is damaged: its content has the checksum"),
        "%s", b.c.message);
  syn_context_clear(&b.c);
  replace(at, size, "train.sead", "train.seed");
  replace(at, size, "train.checksum", "other.checksum"); /* as earlier versions wrote it */
  replace(at, size, "train.factor\":\"1065353216", "train.factor\":\"2143289344"); /* 1.0f, NaN */
  write_bytes("damaged", at, size);
  CHECK(syn_trainer_load(b.t, "damaged") == SYN_E_FORMAT && strstr(b.c.message, "train.factor is"),
        "%s", b.c.message);
  syn_context_clear(&b.c);
  replace(at, size, "train.factor\":\"2143289344", "train.factor\":\"1065353216");
  test_flips(&b, at, size, 0);
  bench_free(&b);
  CHECK(b.h.blocks == 0, "%ld blocks left", b.h.blocks);
}

/* -- the array of a small model -- */

/* The array in a block of exactly that size, so that a sanitizer sees a read past the end. */
static void *exact(const char *at, size_t size) {
  void *block = malloc(size ? size : 1);
  if (!block) exit(2);
  return memcpy(block, at, size);
}

/* Runs the array as far as it can be run: greedy, beam or sampling by `how`. 1: it is accepted. */
static int small_run(const char *at, size_t size, size_t how) {
  static const int src[] = {4, 5, 6};
  void *model = exact(at, size), *ram = NULL;
  syn_small_config k;
  syn_small *s = NULL;
  char out[40];
  int i, tokens[8], token = 4, n;
  long need;
  memset(&k, 0, sizeof k);
  if (how % 3 == 1) k.beam = 2;
  if (how % 3 == 2) k.temperature = 1.0f;
  need = syn_small_ram(model, size, &k);
  if (need > 0 && need < 1 << 22) ram = malloc((size_t)need);
  if (ram) s = syn_small_open(ram, (size_t)need, model, size, &k, NULL);
  CHECK(!ram || s, "what syn_small_ram accepts, syn_small_open does");
  if (s && !syn_small_source(s, src, 3))
    for (i = 0; i < 12 && token >= SYN_SMALL_MORE; i++) {
      token = syn_small_step(s, 20000);
      syn_small_piece(s, token, 1);
    }
  n = s ? syn_small_encode(s, syn_text_of("abcba"), tokens, 8) : -1;
  if (n > 0) syn_small_decode(s, tokens, n, out, sizeof out);
  free(ram);
  free(model);
  return s != NULL;
}

static bytes small_array(const char *encoder, const char *decoder, const char *type) {
  syn_small_options options;
  syn_text line = syn_text_of("abc");
  syn_context c;
  syn_config k;
  syn_tokenizer *t;
  syn_model *m;
  bytes b;
  syn_sink sink = sink_of(&b);
  memset(&k, 0, sizeof k);
  memset(&options, 0, sizeof options);
  k.task = encoder ? "seq2seq" : "lm";
  k.encoder = encoder;
  k.decoder = decoder;
  k.d_model = 4;
  k.heads = 2;
  k.max_len = 4;
  k.src_vocab = k.tgt_vocab = SYN_FIRST_TOKEN + 3;
  options.tokenizers = 1;
  options.type = type;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  t = syn_tokenizer_learn(&c, "char", 0, &line, 1);
  syn_model_set_tokenizers(m, t, t);
  CHECK(!syn_small_write(&c, m, &options, &sink), "%s", c.message);
  syn_model_free(m);
  return b;
}

static void test_small(const char *name, const char *encoder, const char *decoder,
                       const char *type) {
  bytes b = small_array(encoder, decoder, type);
  size_t n, tried = 0, accepted = 0;
  CHECK(b.size > 100 && small_run(b.at, b.size, 0), "%s: %lu bytes do not run", name,
        (unsigned long)b.size);
  for (n = 0; n < b.size; n++)
    CHECK(!small_run(b.at, n, n), "%s: cut at %lu, it is accepted", name, (unsigned long)n);
  for (n = 0; n < 8 * b.size; n += stride(), tried++) {
    b.at[n / 8] = (char)(b.at[n / 8] ^ 1 << n % 8);
    CHECK(!small_run(b.at, b.size, n / 8), "%s: bit %lu flipped, it is accepted", name,
          (unsigned long)n);
    sign(b.at, b.size);
    accepted += (size_t)small_run(b.at, b.size, n / 8);
    b.at[n / 8] = (char)(b.at[n / 8] ^ 1 << n % 8);
    sign(b.at, b.size);
  }
  CHECK(accepted < tried && accepted > tried / 100, "%s: %lu of %lu flips are accepted", name,
        (unsigned long)accepted, (unsigned long)tried);
  printf("an array of %lu bytes, %s: %lu bits flipped, %lu run\n", (unsigned long)b.size, name,
         (unsigned long)tried, (unsigned long)accepted);
  free(b.at);
}

int main(void) {
  test_checkpoint();
  test_small("lm, i8", NULL, "pos -> res_nd(syn_att(R+V)) -> norm", "i8");
  test_small("seq2seq, i4", "learn_pos -> rnn(4)", "rnn(4) -> res_nd(mh_dot_att)", "i4");
  return CHECK_END("damage");
}
