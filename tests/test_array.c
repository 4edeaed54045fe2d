/* The array of a small model: damage is refused, each reason with its own code; a call of
   syn_small_step does no more than it may; candidates and their probabilities. */
#include <limits.h>
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#include "sign.h"
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
  if (!strcmp(task, "lm")) k.encoder = NULL, k.decoder = encoder;
  k.d_model = d;
  k.heads = 2;
  k.max_len = TOKENS;
  k.src_vocab = k.tgt_vocab = d < 16 ? 40 : VOCAB;
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
   values the list of them is full. one: only that allocation fails, not those behind it.
   No allocation of a model's array is missed. */
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
      "rel_pos -> syn_att(R+V)", "ngram(2, 50)", "learn_pos -> parallel_add(ff | act(tanh))",
      "dyn_conv(3)"};
  size_t i;
  int before;
  for (i = 0; i < sizeof layers / sizeof *layers; i++)
    for (before = 1; before < 16; before++) array_memory("tag", layers[i], before, i == 7);
  for (before = 1; before < 110; before += 2) { /* data of many sizes before the last ones of a layer */
    char text[60];
    snprintf(text, sizeof text, before < 30 ? "light_conv(%d)" : "ff(%d) -> linear(8) -> syn_att(V)", before);
    array_memory("tag", text, 2, 0);
  }
  for (before = 12; before < 16; before++) array_memory("classify", "act(relu)", before, 0);
  for (before = 1; before < 16; before += 2) array_memory("seq2seq", "pos", before, 0);
}

/* The array of a model of one tokenizer, which the model frees. */
static int32_t *array_text(syn_context *c, syn_tokenizer *t, size_t *size, syn_model **made) {
  syn_text labels[2];
  syn_small_options options;
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_config k;
  syn_model *m;
  memset(&k, 0, sizeof k);
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  labels[0].at = "x", labels[1].at = "y";
  labels[0].size = labels[1].size = 1;
  k.task = "tag", k.encoder = "id", k.src_vocab = syn_tokenizer_size(t), k.classes = 3;
  k.d_model = 4, k.heads = 1, k.max_len = 16;
  m = syn_model_new(c, &k);
  CHECK(m, "%s", c->message);
  syn_model_set_tokenizers(m, t, syn_tokenizer_learn(c, "line", 0, labels, 2));
  syn_small_write(c, m, &options, &sink);
  *size = b.size;
  *made = m;
  return (int32_t *)(void *)b.at;
}
/* bpe whose first tokens are the bytes, and bpe of as many characters: a small model spells what a
   tokenizer does, also what it never saw, and words that are longer than one word may be. */
static void test_array_spelling(syn_context *c) {
  enum { LETTERS = 300, MOST = 4000 };
  static const char *const specs[] = {"bpe:520", "bpe:900"};
  static char line[4 * LETTERS + 1], word[3 * SYN__MAX_WORD + 8];
  static int want[MOST], got[MOST];
  syn_text text, asked[3];
  int i, k, n;
  size_t at = 0;
  for (i = 0; i < LETTERS; i++) {
    line[at++] = (char)(0xE4 + i / 4096), line[at++] = (char)(0x80 + i / 64), line[at++] = (char)(0x80 + i % 64);
    if (i % 7 == 6) line[at++] = ' ';
  }
  text.at = line, text.size = at;
  memset(word, 'q', sizeof word);
  memcpy(word, line, 6);
  asked[0] = text;
  asked[1].at = "new \xC3\xA9\xF0\x9F\x98\x80 z", asked[1].size = 12;
  asked[2].at = word, asked[2].size = sizeof word;
  for (i = 0; i < 2; i++) {
    syn_tokenizer *t = syn_tokenizer_learn(c, specs[i], 0, &text, 1);
    size_t size;
    syn_model *m;
    int32_t *w = array_text(c, t, &size, &m);
    long ram = syn_small_ram(w, size, NULL);
    void *block = malloc(ram > 0 ? (size_t)ram : 1);
    syn_small *s = syn_small_open(block, (size_t)ram, w, size, NULL, NULL);
    CHECK(t && s && syn__bpe_spells(t) == !i, "%s: %s", specs[i], c->message);
    for (k = 0; k < 3 && s; k++) {
      n = syn_tokenizer_encode(t, asked[k], want, MOST);
      CHECK(n > 0 && syn_small_encode(s, asked[k], got, MOST) == n && !memcmp(want, got, (size_t)n * sizeof *got),
            "%s, text %d: %d tokens", specs[i], k, n);
      while (n-- && k == 1)
        CHECK(syn_small_encode(s, asked[k], got, n) == SYN_SMALL_E_VALUE, "%s: room for %d", specs[i], n);
    }
    CHECK(syn_small_encode(s, text, NULL, 1) == SYN_SMALL_E_VALUE && syn_small_encode(s, text, got, -1) < 0 &&
              syn_small_encode(NULL, text, got, MOST) < 0,
          "no room at all");
    text.at = NULL;
    CHECK(syn_small_encode(s, text, got, MOST) == SYN_SMALL_E_VALUE, "no text");
    text.at = line;
    CHECK(syn_small_decode(NULL, got, 1, word, 1) < 0 && syn_small_decode(s, NULL, 1, word, 1) < 0 &&
              syn_small_decode(s, got, -1, word, 1) < 0 && syn_small_decode(s, got, 1, NULL, 1) < 0,
          "wrong arguments");
    free(block);
    free(w);
    syn_model_free(m);
  }
}
/* Tokenizers that an array cannot hold: the message says which. */
static void test_array_tokenizers(syn_context *c) {
  enum { WORDS = 65540 };
  static char line[6 * WORDS];
  syn_text text;
  syn_tokenizer *t;
  syn_model *m;
  size_t size;
  int i, k, n;
  for (i = 0; i < WORDS; i++) {
    for (k = 0, n = i; k < 5; k++, n /= 26) line[6 * i + k] = (char)('a' + n % 26);
    line[6 * i + 5] = ' ';
  }
  text.at = line, text.size = sizeof line;
  t = syn_tokenizer_learn(c, "space", 0, &text, 1);
  free(array_text(c, t, &size, &m));
  CHECK(!size && strstr(c->message, "src_vocab of the model is 65544, wanted at most 65535"), "%s", c->message);
  syn_context_clear(c);
  syn_model_free(m);
  text.size = 6000;
  t = syn_tokenizer_learn(c, "unigram:300", 0, &text, 1);
  free(array_text(c, t, &size, &m));
  CHECK(!size && strstr(c->message, "unigram"), "%s", c->message);
  syn_context_clear(c);
  syn_model_free(m);
}

/* What ram is said when word `at` is another one and the checksum is right. */
static long array_with(int32_t *w, size_t size, int32_t at, int32_t value) {
  const int32_t kept = w[at], sum = w[SYN__SMALL_CHECKSUM];
  long ram;
  w[at] = value;
  if (w[SYN__SMALL_BYTES] > 0 && (size_t)w[SYN__SMALL_BYTES] <= size)
    w[SYN__SMALL_CHECKSUM] = syn__small_checksum(w, w[SYN__SMALL_BYTES] / 4);
  ram = syn_small_ram(w, size, NULL);
  w[at] = kept, w[SYN__SMALL_CHECKSUM] = sum;
  return ram;
}
/* Arrays with a right checksum and one wrong word. */
static void test_array_words(syn_context *c) {
  size_t size;
  syn_model *m = model_of(c, "seq2seq", "pos -> res_nd(syn_att(V)) -> norm", 16);
  int32_t *w = small_of(c, m, &size), end = SYN__SMALL_OP_end, p, at;
  CHECK(array_with(w, size, SYN__SMALL_TASK, w[SYN__SMALL_TASK]) > 0, "nothing is wrong");
  CHECK(array_with(w, size, SYN__SMALL_TASK, -1) < 0 && array_with(w, size, SYN__SMALL_TASK, 99) < 0, "task");
  CHECK(array_with(w, size, SYN__SMALL_BYTES, 8) < 0 && array_with(w, size, SYN__SMALL_BYTES, -8) < 0 &&
            array_with(w, size, SYN__SMALL_BYTES, (int32_t)size + 4) < 0,
        "bytes");
  CHECK(array_with(w, size, SYN__SMALL_SOURCE_VOCAB, 3) < 0 && array_with(w, size, SYN__SMALL_TARGET_VOCAB, 3) < 0 &&
            array_with(w, size, SYN__SMALL_SOURCE_LEN, 65536) < 0 &&
            array_with(w, size, SYN__SMALL_SOURCE_LEN, -1) < 0,
        "vocabularies, lengths");
  CHECK(syn_small_ram(w, (size_t)INT32_MAX + 1, NULL) == SYN_SMALL_E_DAMAGED, "2 GB");
  CHECK(array_with(w, size, SYN__SMALL_ROW_BYTES, w[SYN__SMALL_ROW_BYTES] + 2) < 0, "a row of no whole words");
  CHECK(syn_small_ram(w, 3, NULL) == SYN_SMALL_E_MODEL && syn_small_ram(NULL, size, NULL) == SYN_SMALL_E_MODEL &&
            syn_small_ram(w, 16, NULL) == SYN_SMALL_E_DAMAGED && syn_small_ram((char *)w + 2, size, NULL) < 0,
        "no array");
  at = w[SYN__SMALL_PROGRAMS + SYN__SMALL_DECODE];
  p = w[at + 1], w[at + 1] = 0;
  CHECK(array_with(w, size, at, SYN__SMALL_OP_segment + 512) == SYN_SMALL_E_DAMAGED, "a segment in a decoder");
  w[at + 1] = p;
  CHECK(!syn__small_name(255) && !strcmp(syn__small_name(w[at] & 255), "embed"), "names");
  for (p = 0; p < SYN__SMALL_OPS; p++)
    CHECK(!syn__small_name(p) == !syn__small_text(p, 1) && (p != SYN__SMALL_OP_end || !strcmp(syn__small_name(p), "end")),
          "code %d", (int)p);
  for (p = SYN__SMALL_ENCODE; p < SYN__SMALL_IDLE; p++) {
    const int32_t first = w[SYN__SMALL_PROGRAMS + p];
    CHECK(array_with(w, size, SYN__SMALL_PROGRAMS + p, 1) < 0 &&
              array_with(w, size, SYN__SMALL_PROGRAMS + p, (int32_t)size / 4) < 0,
          "program %d elsewhere", (int)p);
    for (at = first; (w[at] & 255) != SYN__SMALL_OP_end; at += w[at] >> 8) {
      CHECK(array_with(w, size, at, w[at] | 255) < 0 && array_with(w, size, at, w[at] & 255) < 0 &&
                array_with(w, size, at, (w[at] & 255) + (1 << 30)) < 0 && array_with(w, size, at, w[at] + 256) < 0,
            "word %d", (int)at);
      if (w[at] >> 8 != 2)
        CHECK(array_with(w, size, at, SYN__SMALL_OP_segment + (w[at] & ~255)) < 0, "%d", (int)at);
    }
    CHECK(array_with(w, size, at, end + 512) < 0, "an end with an operand");
  }
  free(w);
  syn_model_free(m);
}

/* The output layer learns, samples and candidates are wanted: in any slices the same; what is
   refused changes nothing. */
static void test_array_output(syn_context *c) {
  size_t size;
  syn_model *m = model_of(c, "lm", "pos -> res_nd(syn_att(V)) -> norm", 16);
  int32_t *w = small_of(c, m, &size), at;
  const int prompt[3] = {5, 6, 7};
  syn_small_config how;
  syn_small *s;
  float *memory;
  void *block;
  long ram, floats, works[2] = {LONG_MAX, 1};
  int i, k, n, token, first = -1, got[2][20], error;
  memset(&how, 0, sizeof how);
  how.temperature = 1.0f, how.seed = 3, how.max_len = 20, how.top_k = 40;
  ram = syn_small_ram(w, size, &how);
  block = malloc((size_t)ram + 8);
  for (k = 0; k < 4; k++) { /* samples: of all, of the most probable */
    how.top_p = k < 2 ? 0.5f : 1.0f;
    s = syn_small_open(block, (size_t)ram, w, size, &how, &error);
    CHECK(s && !error, "%d", error);
    syn_small_source(s, prompt, 3);
    for (n = 0, token = SYN_SMALL_MORE; n < 20 && token != SYN_SMALL_END;) {
      token = syn_small_step(s, works[k % 2]);
      if (token >= 0) got[k % 2][n++] = token;
    }
    if (k % 2 == 0) first = n;
    CHECK(n == first && n && !memcmp(got[0], got[1], k % 2 ? (size_t)n * sizeof(int) : 0), "%d of %d", n, first);
  }
  CHECK(!syn_small_open((char *)block + 4, (size_t)ram, w, size, &how, &error) && error == SYN_SMALL_E_ALIGN, "%d",
        error);
  CHECK(!syn_small_open(NULL, (size_t)ram, w, size, &how, &error) && error == SYN_SMALL_E_RAM, "%d", error);
  CHECK(!syn_small_open(w + (uintptr_t)w % 8 / 4, (size_t)ram, w, size, &how, &error) && error == SYN_SMALL_E_RAM,
        "%d: over the model", error);
  free(block);
  memset(&how, 0, sizeof how);
  how.best = 3;
  ram = syn_small_ram(w, size, &how);
  block = malloc((size_t)ram);
  s = syn_small_open(block, (size_t)ram, w, size, &how, NULL);
  floats = syn_small_learn(s, NULL, 0);
  CHECK(floats > 0 && syn_small_learn(NULL, NULL, 0) == SYN_SMALL_E_VALUE, "%ld", floats);
  memory = (float *)calloc((size_t)floats, sizeof *memory);
  CHECK(syn_small_learn(s, memory, floats - 1) == SYN_SMALL_E_RAM, "too few");
  CHECK(syn_small_correct(s, 5, 1.0f) == SYN_SMALL_E_VALUE && syn_small_learn(s, memory, floats) == floats, "memory");
  CHECK(syn_small_source(NULL, prompt, 3) < 0 && syn_small_source(s, NULL, 3) < 0 &&
            syn_small_source(s, prompt, -1) < 0,
        "no source");
  for (i = 0; i < 30; i++) { /* it learns to say 9 */
    syn_small_source(s, prompt, 3);
    CHECK(syn_small_correct(s, 9, 0.1f) == SYN_SMALL_E_VALUE, "nothing was chosen");
    while ((token = syn_small_step(s, 50)) == SYN_SMALL_MORE) continue;
    CHECK(syn_small_score(s, 0, NULL) >= 0 && syn_small_reject(s, 32767) >= 0, "no candidate");
    CHECK(syn_small_correct(s, SYN_PAD, 0.1f) < 0 && syn_small_correct(s, SYN_BEGIN, 0.1f) < 0 &&
              syn_small_correct(s, VOCAB, 0.1f) < 0 && syn_small_correct(s, -1, 0.1f) < 0 &&
              syn_small_correct(s, 9, 0.0f) < 0 && syn_small_correct(s, 9, 1e7f) < 0 &&
              syn_small_correct(NULL, 9, 1.0f) < 0,
          "refused");
    CHECK(!syn_small_correct(s, i % 2 ? SYN_END : 9, 0.3f), "not corrected");
    if (i % 2) CHECK(syn_small_step(s, 50) == SYN_SMALL_END, "not ended");
  }
  CHECK(token == 9 || token == SYN_END || token == SYN_SMALL_END, "it says %d", token);
  free(block);
  how.max_len = 4;
  ram = syn_small_ram(w, size, &how);
  block = malloc((size_t)ram);
  s = syn_small_open(block, (size_t)ram, w, size, &how, NULL);
  CHECK(syn_small_learn(s, memory, floats) == floats && !syn_small_source(s, prompt, 3), "%ld", ram);
  while ((token = syn_small_step(s, 50)) == SYN_SMALL_MORE) continue;
  CHECK(!syn_small_correct(s, 9, 0.3f) && syn_small_step(s, 50) == SYN_SMALL_END, "the last place");
  free(block);
  free(memory);
  for (at = w[SYN__SMALL_PROGRAMS + SYN__SMALL_DECODE]; (w[at] & 255) != SYN__SMALL_OP_out;) at += w[at] >> 8;
  w[at] = 256 + SYN__SMALL_OP_end;
  w[SYN__SMALL_CHECKSUM] = syn__small_checksum(w, w[SYN__SMALL_BYTES] / 4);
  ram = syn_small_ram(w, size, NULL);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = ram > 0 ? syn_small_open(block, (size_t)ram, w, size, NULL, NULL) : NULL;
  CHECK(s && syn_small_learn(s, NULL, 0) == SYN_SMALL_E_MODEL, "%ld: no output layer", ram);
  free(block);
  free(w);
  syn_model_free(m);
}

/* Options outside their ranges, of the configuration and of an array. */
static int array_refuses(const int32_t *w, size_t size, const syn_small_config *how) {
  return syn_small_ram(w, size, how) == SYN_SMALL_E_VALUE;
}
static void test_array_options(syn_context *c) {
  size_t size, i;
  syn_model *m = model_of(c, "seq2seq", "pos -> res_nd(syn_att(V)) -> norm", 16);
  int32_t *w = small_of(c, m, &size), at;
  static const int wrong[][6] = {/* source_len, max_len, beam, top_k, unknown, best */
      {-1, 0, 0, 0, 0, 0}, {TOKENS + 1, 0, 0, 0, 0, 0}, {0, -1, 0, 0, 0, 0}, {0, TOKENS + 1, 0, 0, 0, 0},
      {0, 0, -1, 0, 0, 0}, {0, 0, 17, 0, 0, 0},         {0, 0, 0, -1, 0, 0}, {0, 0, 0, VOCAB + 1, 0, 0},
      {0, 0, 0, 0, 2, 0},  {0, 0, 0, 0, -1, 0},         {0, 0, 0, 0, 0, -1}, {0, 0, 2, 0, 0, -1}};
  syn_small_config how;
  syn_small_options options;
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_small *s;
  void *block;
  long ram;
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    memset(&how, 0, sizeof how);
    how.source_len = wrong[i][0], how.max_len = wrong[i][1], how.beam = wrong[i][2], how.top_k = wrong[i][3];
    how.unknown = wrong[i][4], how.best = wrong[i][5];
    CHECK(array_refuses(w, size, &how), "configuration %d", (int)i);
  }
  memset(&how, 0, sizeof how);
  how.top_p = 1.5f;
  CHECK(array_refuses(w, size, &how), "top_p above 1");
  how.top_p = -0.5f;
  CHECK(array_refuses(w, size, &how), "top_p below 0");
  how.top_p = 0.0f, how.temperature = -1.0f;
  CHECK(array_refuses(w, size, &how), "temperature below 0");
  how.temperature = 1e7f;
  CHECK(array_refuses(w, size, &how), "temperature above 1e6");
  how.temperature = 1e-25f;
  CHECK(!array_refuses(w, size, &how), "temperature of nearly 0");
  how.temperature = 0.0f, how.alpha = 60.0f, how.beam = 2;
  CHECK(array_refuses(w, size, &how), "a penalty that overflows");
  for (i = 0; i < 40; i++) {
    const double x = pow(1.7, (double)i - 20.0);
    CHECK(fabs((double)syn__small_log((float)x) - log(x)) < 2e-6, "log %g", x);
  }
  ram = syn_small_ram(w, size, NULL);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = syn_small_open(block, (size_t)ram, w, size, NULL, NULL);
  CHECK(s && !syn__small_run(s, SYN__SMALL_OP_end, w), "end is no instruction");
  at = w[SYN__SMALL_PROGRAMS + SYN__SMALL_DECODE];
  while ((w[at] & 255) != SYN__SMALL_OP_out) at += w[at] >> 8;
  w[at + 2] = w[at + 3] = 65535;
  CHECK(s && syn_small_learn(s, NULL, 0) == SYN_SMALL_E_RAM, "an output layer of 16 GB");
  free(block);
  free(w);
  syn_model_free(m);
  memset(&options, 0, sizeof options);
  options.type = "i4";
  m = model_of(c, "tag", "ff(8200) -> linear(8)", 8);
  CHECK(syn_small_write(c, m, &options, &sink) == SYN_E_VALUE && strstr(c->message, "8192") && !b.size, "%s",
        c->message);
  syn_context_clear(c);
  syn_model_free(m);
}
/* Memory that ends while a tokenizer is written, of vocabularies of many sizes. */
static void test_array_memory_text(void) {
  static char line[9000];
  const char *const kinds[] = {"bpe:%d", "space", "char", "byte"};
  int i, k;
  syn_random r = {8};
  syn_text text;
  for (i = 0; i < (int)sizeof line; i++) line[i] = (char)(i % 9 == 8 ? ' ' : 'a' + syn_random_below(&r, 20));
  text.at = line;
  for (i = 0; i < 24; i++) {
    char spec[20];
    syn_context c;
    syn_small_options options;
    syn_tokenizer *t;
    syn_config config;
    syn_model *m;
    heap h;
    long n, calls, blocks;
    int missed = 1;
    snprintf(spec, sizeof spec, kinds[i < 20 ? 0 : i % 4], 60 + 17 * i);
    text.size = i == 21 ? sizeof line : i == 22 ? 0 : 3000;
    context_on(&c, &h, 0);
    t = syn_tokenizer_learn(&c, spec, 0, &text, text.size ? 1 : 0);
    memset(&config, 0, sizeof config);
    memset(&options, 0, sizeof options);
    options.tokenizers = 1;
    config.task = "lm", config.decoder = "id", config.tgt_vocab = t ? syn_tokenizer_size(t) : 5;
    config.d_model = 1 + i % 2, config.heads = 1, config.max_len = 16;
    m = syn_model_new(&c, &config);
    CHECK(t && m, "%s: %s", spec, c.message);
    syn_model_set_tokenizers(m, NULL, t);
    blocks = h.blocks;
    for (n = 1; n < 200 && missed; n++) {
      bytes b;
      syn_sink sink = sink_of(&b);
      calls = h.calls;
      k = i % 2;
      *(k ? &h.fail_at : &h.fail_from) = calls + n;
      missed = syn_small_write(&c, m, &options, &sink) == SYN_E_MEMORY;
      CHECK(missed == !b.size && h.blocks == blocks && (missed || !c.status), "%s, %ld: %s", spec, n, c.message);
      h.fail_at = h.fail_from = 0;
      syn_context_clear(&c);
      free(b.at);
    }
    CHECK(!missed && n > 2, "%s: %ld allocations", spec, n);
    syn_model_free(m);
    CHECK(!h.blocks, "%s: %ld blocks", spec, h.blocks);
  }
}

/* The text of an array: the least integer, which has no literal (the float -0 is that), the ways to
   choose tokens, a sink that is full at any place. */
typedef struct array_sink {
  bytes b;
  size_t room;
} array_sink;
static size_t array_full(void *user, const void *from, size_t size) {
  array_sink *to = (array_sink *)user;
  return to->b.size + size > to->room ? 0 : bytes_write(&to->b, from, size);
}
static void test_array_embed(syn_context *c) {
  static const char *const kinds[] = {"X(out)", "X(sample)", "X(beam)", "X(rank)"};
  syn_model *m = model_of(c, "lm", "pos -> norm", 8);
  const syn_param *p = syn_model_find(m, "out.b");
  syn_small_options options;
  array_sink to;
  syn_sink sink;
  size_t whole = 0;
  int i, k;
  sink.write = array_full, sink.user = &to;
  memset(&options, 0, sizeof options);
  CHECK(p, "%s", c->message);
  if (p) p->x[1] = -0.0f;
  for (i = 0; i < 4; i++) {
    syn_small_config how;
    memset(&how, 0, sizeof how);
    if (i == 1) how.temperature = 1.0f;
    if (i == 2) how.beam = 2;
    if (i == 3) how.best = 2;
    options.config = &how;
    memset(&to, 0, sizeof to);
    to.room = 1000000;
    CHECK(!syn_small_embed(c, m, &options, "array", &sink), "%s", c->message);
    whole = to.b.size;
    array_full(&to, "", 1);
    CHECK(whole && strstr(to.b.at, "-2147483647-1,"), "no -0");
    for (k = 1; k < 4; k++) CHECK(!strstr(to.b.at, kinds[k]) == (k != i), "%s, %d", kinds[k], i);
    free(to.b.at);
  }
  options.config = NULL;
  for (i = 0; i < 40; i++) {
    memset(&to, 0, sizeof to);
    to.room = i < 30 ? (size_t)(60 * i) : whole - (size_t)(30 * (i - 29));
    CHECK(syn_small_embed(c, m, &options, "array", &sink) == SYN_E_FILE && strstr(c->message, "be written"),
          "room for %lu: %s", (unsigned long)to.room, c->message);
    syn_context_clear(c);
    if (i < 5) {
      to.room = 10;
      CHECK(syn_small_write(c, m, NULL, &sink) == SYN_E_FILE, "%s", c->message);
      syn_context_clear(c);
    }
    free(to.b.at);
  }
  syn_model_free(m);
}

/* Logits that are all NaN, which weights of a damaged array may give: probability 0, refused. */
static void test_array_nan(syn_context *c) {
  static uint64_t ram[2000];
  syn_model *m = model_of(c, "classify", "norm", 8);
  size_t size;
  int32_t *w = small_of(c, m, &size), *out = w + syn__small_first(w, SYN__SMALL_OP_out);
  const int source[] = {4, SYN_END};
  syn_small_config how;
  syn_small *s;
  int i, token = SYN_SMALL_MORE;
  for (i = 0; i < out[1]; i++) w[out[4] + i] = 0x7FC00000;
  sign(w, size);
  memset(&how, 0, sizeof how);
  how.best = 2;
  s = syn_small_open(ram, sizeof ram, w, size, &how, NULL);
  CHECK(out[1] == CLASSES && s && !syn_small_source(s, source, 2), "%d classes", (int)out[1]);
  while (s && token == SYN_SMALL_MORE) token = syn_small_step(s, 1000);
  CHECK(token >= 0 && syn_small_score(s, 0, NULL) == 0 && syn_small_reject(s, 1) == 1, "%d", token);
  free(w);
  syn_model_free(m);
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
  test_network(&c, "pos -> res_nd(dyn_conv(5)) -> dyn_conv(4, heads=8) -> norm");
  test_array_memory();
  test_array_spelling(&c);
  test_array_tokenizers(&c);
  test_array_words(&c);
  test_array_output(&c);
  test_array_options(&c);
  test_array_embed(&c);
  test_array_memory_text();
  test_array_nan(&c);
  return CHECK_END("array");
}
