/* The array of a small model: damage is refused, each reason with its own code; a call of
   syn_small_step does no more than it may; candidates and their probabilities. */
#include <limits.h>
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#include "sink.h"

enum { TOKENS = 120, VOCAB = 500, CLASSES = 7 };

/* An untrained model: an encoder, and for seq2seq a decoder of one more attention. */
static syn_model *model_of(syn_context *c, const char *task, const char *encoder, int d) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = task;
  k.encoder = encoder;
  if (!strcmp(task, "seq2seq"))
    k.decoder = "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm";
  k.d_model = d;
  k.heads = 2;
  k.max_len = TOKENS;
  k.src_vocab = k.tgt_vocab = VOCAB;
  k.classes = CLASSES;
  k.tie = "none"; /* a tied random network repeats one token */
  return syn_model_new(c, &k);
}

/* Its array; free it. *size: its bytes. */
static int32_t *small_of(syn_context *c, const syn_model *m, size_t *size) {
  bytes b;
  syn_sink sink = sink_of(&b);
  CHECK(!syn_small_write(c, m, NULL, &sink), "%s", c->message);
  *size = b.size;
  return (int32_t *)(void *)b.at;
}

/* Every flip of one bit is refused: by the checksum, or as no model, another version, another byte
   order. */
static void test_checksum(syn_context *c) {
  size_t size;
  syn_model *m = model_of(c, "seq2seq", "pos -> res_nd(syn_att(R+V)) -> norm", 16);
  int32_t *w = small_of(c, m, &size), kept;
  unsigned char *flipped = (unsigned char *)w;
  syn_random r = {11};
  int i, damaged = 0;
  for (i = 0; i < 2000; i++) {
    int at = syn_random_below(&r, (int)size * 8);
    long ram;
    flipped[at / 8] = (unsigned char)(flipped[at / 8] ^ 1 << at % 8);
    ram = syn_small_ram(w, size, NULL);
    damaged += ram == SYN_SMALL_E_DAMAGED;
    CHECK(ram < 0, "bit %d: %ld", at, ram);
    flipped[at / 8] = (unsigned char)(flipped[at / 8] ^ 1 << at % 8);
  }
  CHECK(damaged > 1900, "%d of 2000 called damaged", damaged);
  CHECK(syn_small_ram(w, size, NULL) > 0, "as it was");
  kept = w[SYN__SMALL_MAGIC];
  w[SYN__SMALL_MAGIC] = SYN__SMALL_VERSION - 0x1000000;
  CHECK(syn_small_ram(w, size, NULL) == SYN_SMALL_E_VERSION, "the version before");
  w[SYN__SMALL_MAGIC] = 12345;
  CHECK(syn_small_ram(w, size, NULL) == SYN_SMALL_E_MODEL, "no model");
  w[SYN__SMALL_MAGIC] = INT32_C(0x53594E34);
  CHECK(syn_small_ram(w, size, NULL) == SYN_SMALL_E_VERSION, "flipped of the other byte order");
  w[SYN__SMALL_MAGIC] = kept;
  memcpy(flipped + 4 * SYN__SMALL_ORDER, "4NYS", 4);
  CHECK(syn_small_ram(w, size, NULL) == SYN_SMALL_E_VERSION, "numbers of the other byte order");
  free(w);
  syn_model_free(m);
}

/* No call does more than its work and one row more, and the output stays the same. */
static void test_slices(syn_context *c) {
  static const long works[] = {1, 100, 1000};
  enum { D = 64, MOST_ROW = 4 * 4 * D };
  int src[TOKENS], want[TOKENS], got[TOKENS], n = 0, i, k;
  syn_model *m;
  syn_small *s;
  int32_t *w;
  size_t size;
  void *block;
  long ram;
  m = model_of(c, "seq2seq", "pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm", D);
  w = small_of(c, m, &size);
  ram = syn_small_ram(w, size, NULL);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = block && ram > 0 ? syn_small_open(block, (size_t)ram, w, size, NULL, NULL) : NULL;
  CHECK(s, "%ld: %s", ram, c->message);
  for (i = 0; i < TOKENS; i++) src[i] = 4 + i * 7 % (VOCAB - 4);
  for (i = -1; i < 3 && s; i++) {
    int count = 0, token = syn_small_source(s, src, TOKENS);
    long most = 0;
    for (k = 0; count < 4 && token >= SYN_SMALL_MORE; k++) {
      const uint64_t before = syn_small_work(s);
      token = syn_small_step(s, i < 0 ? LONG_MAX : works[i]);
      if ((long)(syn_small_work(s) - before) > most) most = (long)(syn_small_work(s) - before);
      if (token >= 0) got[count++] = token;
    }
    if (i < 0) memcpy(want, got, sizeof got), n = count;
    CHECK(count == n && n > 2 && !memcmp(got, want, (size_t)n * sizeof *got), "work %d: %d tokens", i, count);
    CHECK(i < 0 || most <= works[i] + MOST_ROW, "work %ld: %ld in a call", works[i < 0 ? 0 : i], most);
  }
  free(block);
  free(w);
  syn_model_free(m);
}

/* Scores: the candidates are sorted, their probabilities are those of all logits, and the chosen
   tokens are those of a greedy search; reject compares the smallest. 1,000 inputs give one hash on
   every machine. */
static uint64_t scores_of(syn_small *s, const int *src, int count, syn_small *greedy, uint64_t hash) {
  int token = syn_small_source(s, src, count), least = 32767, n = 0, k;
  syn_small_source(greedy, src, count);
  CHECK(syn_small_score(s, 0, NULL) == SYN_SMALL_E_VALUE && syn_small_reject(s, 32767) == 0, "no token yet");
  while (token >= SYN_SMALL_MORE && n < 6) {
    int p[3], of[3], sum = 0, want = SYN_SMALL_MORE;
    unsigned char low_high[4]; /* of a probability, of its token */
    token = syn_small_step(s, 700);
    if (token == SYN_SMALL_MORE) continue;
    while (want == SYN_SMALL_MORE) want = syn_small_step(greedy, 100000);
    if (token == SYN_SMALL_END && syn_small_score(s, 0, NULL) < 0) break; /* of classify, of tag */
    CHECK(token == want, "token %d, without scores %d", token, want);
    for (k = 0; k < 3; k++) {
      p[k] = syn_small_score(s, k, &of[k]);
      sum += p[k];
      CHECK(p[k] >= 0 && (k == 0 || p[k] <= p[k - 1]), "candidate %d: %d", k, p[k]);
      low_high[0] = (unsigned char)p[k], low_high[1] = (unsigned char)(p[k] >> 8);
      low_high[2] = (unsigned char)of[k], low_high[3] = (unsigned char)(of[k] >> 8);
      hash = syn_hash(hash, low_high, 4);
    }
    CHECK(of[0] == (token < 0 ? SYN_END : token) && sum <= 32769, "%d %d %d: %d", of[0], of[1], of[2], sum);
    if (p[0] < least) least = p[0];
    CHECK(syn_small_score(s, 3, NULL) == SYN_SMALL_E_VALUE && syn_small_score(s, -1, NULL) == SYN_SMALL_E_VALUE, "rank");
    CHECK(!syn_small_reject(s, least) && (least == 32767 || syn_small_reject(s, least + 1) == 1), "least %d", least);
    n++;
    if (token < 0) break;
  }
  CHECK(n, "no token");
  return hash;
}

static void test_scores(syn_context *c, const char *task, int inputs, uint64_t known) {
  syn_model *m = model_of(c, task, "pos -> res_nd(syn_att(R+V)) -> norm", 16);
  uint64_t hash = SYN_HASH_START;
  syn_small_config how;
  syn_small *s, *greedy;
  syn_random r = {5};
  size_t size;
  int32_t *w = small_of(c, m, &size);
  void *block, *other;
  long ram;
  int i, k, src[8];
  memset(&how, 0, sizeof how);
  how.best = 3;
  ram = syn_small_ram(w, size, &how);
  CHECK(ram > syn_small_ram(w, size, NULL) && ram <= syn_small_ram(w, size, NULL) + 144, "%ld bytes", ram);
  block = malloc((size_t)ram);
  other = malloc((size_t)ram);
  s = syn_small_open(block, (size_t)ram, w, size, &how, NULL);
  greedy = syn_small_open(other, (size_t)ram, w, size, NULL, NULL);
  CHECK(s && greedy, "%ld", ram);
  CHECK(syn_small_score(greedy, 0, NULL) == SYN_SMALL_E_VALUE && syn_small_reject(greedy, 1) == SYN_SMALL_E_VALUE &&
            syn_small_score(NULL, 0, NULL) == SYN_SMALL_E_VALUE && syn_small_reject(NULL, 1) == SYN_SMALL_E_VALUE &&
            syn_small_reject(s, -1) == SYN_SMALL_E_VALUE && syn_small_reject(s, 32768) == SYN_SMALL_E_VALUE,
        "without best");
  for (i = 0; i < inputs; i++) {
    int count = 1 + syn_random_below(&r, 7);
    for (k = 0; k < count; k++) src[k] = 4 + syn_random_below(&r, VOCAB - 4);
    hash = scores_of(s, src, count, greedy, hash);
  }
  CHECK(hash == known, "%s: the scores have the hash %08lx%08lx", task, (unsigned long)(hash >> 32),
        (unsigned long)(hash & 0xFFFFFFFFu));
  how.beam = 2;
  CHECK(syn_small_ram(w, size, &how) == SYN_SMALL_E_VALUE, "best with a beam");
  how.beam = 0;
  how.temperature = 1.0f;
  CHECK(syn_small_ram(w, size, &how) == SYN_SMALL_E_VALUE, "best of samples");
  how.temperature = 0.0f;
  how.best = VOCAB + 1;
  CHECK(syn_small_ram(w, size, &how) == SYN_SMALL_E_VALUE, "more candidates than tokens");
  free(block);
  free(other);
  free(w);
  syn_model_free(m);
}

/* Networks that were not trained: the probabilities of the tags are those of a run in floats, but for
   the rounding of int8, which is small beside how far they are from all alike. */
static void test_network(syn_context *c, const char *encoder) {
  enum { N = 9 };
  syn_model *m = model_of(c, "tag", encoder, 32);
  syn_run *run = syn_run_new(c, m, NULL);
  syn_random r = {3};
  syn_small_config how;
  syn_small *s;
  size_t size;
  int32_t *w = small_of(c, m, &size);
  void *block;
  double error = 0.0, spread = 0.0;
  long ram;
  int i, k, t, src[N], wanted;
  memset(&how, 0, sizeof how);
  how.best = CLASSES;
  ram = w ? syn_small_ram(w, size, &how) : 0;
  CHECK(ram > 0 && run, "%s: %ld, %s", encoder, ram, c->message);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = ram > 0 ? syn_small_open(block, (size_t)ram, w, size, &how, NULL) : NULL;
  for (i = 0; i < 10 && s && run; i++) {
    const float *z;
    syn_batch b;
    int n = i == 0 ? 1 : N - i % 3;
    for (k = 0; k < n; k++) src[k] = 4 + syn_random_below(&r, VOCAB - 4);
    memset(&b, 0, sizeof b);
    b.count = 1;
    b.src = src;
    b.src_width = n;
    CHECK(!syn_run_forward(run, &b), "%s", c->message);
    z = syn_run_logits(run, 0, &wanted);
    CHECK(!syn_small_source(s, src, n) && wanted == n, "%d rows", wanted);
    for (t = 0; t < n; t++, z += CLASSES) {
      double sum = 0.0;
      while (syn_small_step(s, 300) == SYN_SMALL_MORE) continue;
      for (k = 0; k < CLASSES; k++) sum += exp((double)z[k]);
      for (k = 0; k < CLASSES; k++) {
        int class_ = 0, p = syn_small_score(s, k, &class_);
        error += fabs(p / 32767.0 - exp((double)z[class_]) / sum);
        spread += fabs(p / 32767.0 - 1.0 / (double)CLASSES);
      }
    }
  }
  CHECK(error < 0.1 * spread, "%s: errors of %g, %g from all alike", encoder, error, spread);
  free(block);
  free(w);
  syn_run_free(run);
  syn_model_free(m);
}

/* Memory that ends while a network is lowered, at the first value that finds no place: behind `before`
   values the list of them is full. one: only that allocation fails, not those behind it. No allocation of a model's array is missed. */
static void array_memory(const char *task, const char *layers, int before, int one) {
  char encoder[200];
  syn_context c;
  syn_model *m;
  heap h;
  long n, calls, blocks;
  int missed = 1;
  context_on(&c, &h, 0);
  snprintf(encoder, sizeof encoder, "repeat(%d, act(relu)) -> %s", before, layers);
  m = model_of(&c, task, encoder, 8);
  CHECK(m, "%s: %s", encoder, c.message);
  calls = h.calls, blocks = h.blocks;
  for (n = 1; n < 200 && missed; n++) {
    bytes b;
    syn_sink sink = sink_of(&b);
    calls = h.calls;
    *(one ? &h.fail_at : &h.fail_from) = calls + n;
    missed = syn_small_write(&c, m, NULL, &sink) == SYN_E_MEMORY;
    CHECK(missed == !b.size && (!missed || strstr(c.message, "out of memory")), "%s, %ld: %s", encoder, n, c.message);
    CHECK(h.blocks == blocks && (missed || !c.status), "%s, %ld: %s", encoder, n, c.message);
    h.fail_from = h.fail_at = 0;
    syn_context_clear(&c);
    free(b.at);
  }
  CHECK(!missed, "%s: %ld allocations", encoder, n);
  syn_model_free(m);
  CHECK(!h.blocks, "%ld blocks", h.blocks);
}
static void test_array_memory(void) {
  static const char *const layers[] = {
      "cnn(8, k=3, act=glu)", "norm -> ff(8) -> norm", "birnn", "concat(ff(8) | ff(8)) -> linear(8)",
      "universal(2, res(ff(8)))", "pos -> highway(ff(8))", "light_conv(3)", "syn_att(V+D)", "syn_att(FR+FD)",
      "rel_pos -> syn_att(R+V)", "ngram(2, 50)", "learn_pos -> parallel_add(ff | act(tanh))"};
  size_t i;
  int before;
  for (i = 0; i < sizeof layers / sizeof *layers; i++)
    for (before = 1; before < 16; before++) array_memory("tag", layers[i], before, i == 7);
  for (before = 12; before < 16; before++) array_memory("classify", "act(relu)", before, 0);
  for (before = 1; before < 16; before += 2) array_memory("seq2seq", "pos", before, 0);
}

int main(void) {
  syn_context c;
  syn_context_init(&c, NULL);
  test_checksum(&c);
  test_slices(&c);
  test_scores(&c, "seq2seq", 900, UINT64_C(0x880283FE43097B70));
  test_scores(&c, "classify", 100, UINT64_C(0x5E4C45FA2B6232AB));
  test_scores(&c, "tag", 20, UINT64_C(0x8847388FD3FC1A84));
  test_network(&c, "pos -> syn_att(R+V) -> norm");
  test_network(&c, "norm(bias=0) -> act(tanh) -> res(act(relu)) -> parallel_add(ff | act(gelu)) -> norm(bias=0)");
  test_network(&c, "birnn");
  test_network(&c, "birnn(cell=gru) -> norm -> res(birnn) -> rnn -> norm");
  test_network(&c, "pos -> res_nd(birnn) -> res_nd(syn_att(V)) -> norm");
  test_network(&c, "concat(ff(16) | rnn(24) | norm -> ff(8)) -> norm");
  test_network(&c, "concat(birnn | cnn(k=3)) -> linear(32) -> norm");
  test_network(&c, "universal(3, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm");
  test_network(&c, "rel_pos(buckets=8, max=6) -> res_nd(syn_att(V)) -> rel_pos(buckets=4, max=3) -> res_nd(syn_att(R+V)) -> norm");
  test_array_memory();
  return CHECK_END("array");
}
