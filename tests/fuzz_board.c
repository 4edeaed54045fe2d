/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_board.c -o fuzz_board -lm
   mkdir seeds corpus; ./fuzz_board --seeds seeds; ./fuzz_board -max_len=16384 corpus seeds
   Any bytes as the constant array of a small model: opened in just the RAM it needs, and in too
   little; sources, texts, rows of features, steps, learning. */
#define FUZZ_NAME "board"
#define FUZZ_EDGES 700
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) \
  X(opened) X(greedy) X(beam) X(sampled) X(scored) X(tokens) X(encoded) X(decoded) X(learned) \
  X(fed) X(numbers)
#include "fuzz.h"
#include "sign.h"

enum { MAX_TOKENS = 32, STEPS = 1000, WORK = 1000 };

static syn_small_config config_of(void) {
  syn_small_config k;
  memset(&k, 0, sizeof k);
  if (fuzz_random(2)) k.max_len = 1 + fuzz_random(8);
  if (fuzz_random(2)) k.source_len = 1 + fuzz_random(8);
  if (fuzz_random(3) == 0) k.beam = 2 + fuzz_random(SYN_SMALL_MAX_BEAM - 1);
  else if (fuzz_random(2)) k.temperature = 0.5f;
  else if (fuzz_random(2)) k.best = 1 + fuzz_random(5);
  k.top_k = fuzz_random(2) ? fuzz_random(5) : 0;
  k.top_p = fuzz_random(2) ? 0.9f : 0.0f;
  k.seed = (uint32_t)fuzz_random(100);
  if (fuzz_random(50) == 0) k.beam = -1;
  if (fuzz_random(50) == 0) k.max_len = 1 << 30;
  return k;
}

/* A row of numbers or the end of the source, whichever is possible. */
static void feed(syn_small *s) {
  static int16_t row[65536];
  const int16_t *next = fuzz_random(4) ? row : NULL;
  int i;
  for (i = 0; i < 3; i++) row[i] = (int16_t)(fuzz_random(65536) - 32768);
  if (syn_small_feed(s, next))
    FUZZ_WANT(!syn_small_feed(s, next ? NULL : row), "neither a row nor the end is accepted");
  fuzz_mark(MARK_fed);
}

/* Steps until the end, an error or STEPS calls; then `count` tokens as text. */
static void steps(syn_small *s, int correct) {
  int out[MAX_TOKENS], count = 0, i, token = SYN_SMALL_MORE, scored = 0;
  char text[40];
  static int32_t numbers[8];
  for (i = 0; i < STEPS && (token >= 0 || token == SYN_SMALL_MORE); i++) {
    token = syn_small_step(s, WORK);
    if (token == SYN_SMALL_ROW) {
      feed(s);
      token = SYN_SMALL_MORE;
    }
    if (token >= 0 && count < MAX_TOKENS) out[count++] = token;
    if (token >= 0) fuzz_mark(MARK_tokens);
    if (syn_small_score(s, fuzz_random(6), &scored) >= 0) fuzz_mark(MARK_scored);
    if (token >= 0 && syn_small_numbers(s, 100.0f, numbers, 8) > 0) fuzz_mark(MARK_numbers);
    if (correct && token >= 0 && !syn_small_correct(s, fuzz_random(12), 0.1f))
      fuzz_mark(MARK_learned);
  }
  for (i = 0; i < count; i++) syn_small_piece(s, out[i], !i);
  syn_small_piece(s, scored, 1);
  syn_small_reject(s, fuzz_random(32768));
  if (syn_small_decode(s, out, count, text, sizeof text) >= 0) fuzz_mark(MARK_decoded);
  syn_small_decode(s, out, count, text, 3);
}

static void use(syn_small *s, int learn, float *memory, long floats) {
  static const char *const texts[] = {"a b\xC3\xA9 c", "", "\xFF ab"};
  int tokens[MAX_TOKENS], count, i;
  for (i = 0; i < 3; i++) {
    count = syn_small_encode(s, syn_text_of(texts[i]), tokens, 6);
    if (count >= 0) fuzz_mark(MARK_encoded);
    FUZZ_WANT(count <= 6, "%d tokens of 6", count);
    for (; count < 1; count = 3) {
      tokens[0] = 1 + fuzz_random(8);
      tokens[1] = fuzz_random(50) ? 4 : -1;
      tokens[2] = SYN_END;
    }
    if (learn) syn_small_learn(s, memory, floats);
    if (syn_small_source(s, NULL, 0) == 0) steps(s, learn); /* features, or an lm */
    if (syn_small_source(s, tokens, count < 1 + fuzz_random(6) ? count : 1) == 0) steps(s, learn);
  }
}

static void fuzz_one(void) {
  syn_small_config k = config_of();
  size_t size;
  unsigned char *at = fuzz_rest(0, &size), *ram;
  long bytes, floats;
  int error = 0;
  syn_small *s;
  float *memory = NULL;
  if (fuzz_random(16)) sign(at, size); /* else no change is ever opened */
  bytes = syn_small_ram(at, size, &k);
  if (bytes < 0) { /* models that write no text have neither beams nor samples, some no scores */
    k.beam = k.best = 0;
    k.temperature = 0.0f;
    bytes = syn_small_ram(at, size, &k);
  }
  if (bytes >= 0 && (size_t)bytes <= FUZZ_BYTES / 16) {
    ram = (unsigned char *)fuzz_alloc(NULL, (size_t)bytes + 7) + 7; /* 57 + 7: a multiple of 8 */
    if (ram == (unsigned char *)7) abort();
    FUZZ_WANT(
        !syn_small_open(ram, (size_t)bytes - 1, at, size, &k, &error) && error == SYN_SMALL_E_RAM,
        "%d", error);
    FUZZ_WANT(
        !syn_small_open(ram + 4, (size_t)bytes, at, size, &k, &error) && error == SYN_SMALL_E_ALIGN,
        "%d", error);
    s = syn_small_open(ram, (size_t)bytes, at, size, &k, &error);
    FUZZ_WANT(s && !error, "ram says %ld, open says %d", bytes, error);
    fuzz_mark(MARK_opened);
    fuzz_mark(k.beam > 1 ? MARK_beam : k.temperature > 0 ? MARK_sampled : MARK_greedy);
    floats = syn_small_learn(s, NULL, 0);
    if (floats > 0 && floats < 1 << 20) {
      memory = (float *)calloc((size_t)floats, sizeof *memory);
      if (!memory) abort();
      FUZZ_WANT(syn_small_learn(s, memory, floats - 1) == SYN_SMALL_E_RAM, "one float too few");
    }
    use(s, 0, NULL, 0);
    if (memory && k.beam < 2) use(s, 1, memory, floats);
    free(memory);
    fuzz_release(NULL, ram - 7, (size_t)bytes + 7);
  }
  fuzz_free(at, 0);
}

static void fuzz_seeds(void) {
  static const char *const texts[][5] = {
      {"seq2seq", "pos -> res_nd(syn_att(R+V)) -> norm",
       "learn_pos -> res_nd(syn_att(D)) -> res(mh_dot_att) -> norm", "i8", "smlad"},
      {"seq2seq", "rnn", "rnn(cell=gru) -> res(mh_dot_att) -> ff", "i4", "smlad"},
      {"lm", NULL, "res_nd(syn_att(V)) -> res(ff)", "i8", "mve"},
      {"lm", NULL, "rnn", "i8", "rows"},
      {"tag", "pos -> res(cnn(k=3)) -> norm", NULL, "i8", "smlad"},
      {"classify", "cnn(8, 3, relu) -> rnn(8) -> res(cnn(8, 3, tanh))", NULL, "i8", "rows"},
      {"tag", "linear -> res(cnn(8, 5, tanh)) -> birnn -> highway(act(tanh))", NULL, "i4", "smlad"},
      {"classify", "ngram(2, 16) -> res_nd(syn_att(V+FR)) -> res(ff)", NULL, "i8", "mve"},
      {"lm", NULL, "rope -> res(syn_att(kv=1)) -> ffl(8, swiglu)", "i8", "smlad"},
      {"lm", NULL, "res(dyn_conv(3)) -> light_conv(3) -> lin_att -> softcap(2)", "i4", "smlad"},
      {"classify", "res(syn_att(V+CRC+FD)) -> aop(2, 5) -> syn_att(GLU)", NULL, "i8", "smlad"},
      {"lm", NULL, "res(aft) -> sgu -> linear", "i8", "smlad"},
      {"regress_rows", "linear -> res(dyn_conv(3)) -> lin_att", NULL, "i8", "smlad"},
      {"seq2seq", "types(3) -> res(linformer(3)) -> fixed_att(8)",
       "res(syn_att(V, window=2)) -> mlp_att(5) -> ff(8, gelu_erf) -> scale(2)", "i8", "rows"},
      {"seq2seq", "res(syn_att(V+D, shared=1)) -> syn_att(D, shared=1, heads=70, c=1)",
       "cnn(8, 3, relu, 2) -> res(syn_att(D+V, shared=1)) -> mh_dot_att(70, c=1)", "i4", "smlad"}};
  static const char *const tokenizers[] = {"char", "bpe:20", "space", NULL, "byte", NULL,
                                           NULL, "char", NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  syn_text line = syn_text_of("a b c b\xC3\xA9 a b");
  size_t i;
  for (i = 0; i < sizeof texts / sizeof *texts; i++) {
    syn_small_options o;
    syn_context c;
    syn_config k;
    syn_tokenizer *t;
    syn_model *m;
    fuzz_bytes b;
    syn_sink sink = fuzz_sink(&b);
    char name[16];
    memset(&k, 0, sizeof k);
    memset(&o, 0, sizeof o);
    k.task = texts[i][0];
    k.encoder = texts[i][1];
    k.decoder = texts[i][2];
    o.type = texts[i][3];
    o.layout = texts[i][4];
    o.tokenizers = tokenizers[i] != NULL;
    k.d_model = 8;
    k.heads = 2;
    k.max_len = 7;
    k.src_vocab = k.tgt_vocab = 9;
    k.src_features = i == 5 || i == 6 || i == 12 ? 3 : 0;
    k.outputs = 2;
    k.classes = 3;
    k.seed = i + 1;
    fuzz_context(&c, "scalar", 0);
    t = tokenizers[i] ? syn_tokenizer_learn(&c, tokenizers[i], 0, &line, 1) : NULL;
    if (t) k.src_vocab = k.tgt_vocab = syn_tokenizer_size(t);
    m = syn_model_new(&c, &k);
    if (t) syn_model_set_tokenizers(m, t, i < 4 ? t : NULL);
    if (syn_small_write(&c, m, &o, &sink)) {
      fprintf(stderr, "seed %d: %s\n", (int)i, c.message);
    } else {
      snprintf(name, sizeof name, "small%d", (int)i);
      fuzz_seed(name, b.at, b.size);
    }
    syn_model_free(m);
    free(b.at);
  }
}

/* Half of the time one word of 32 bits gets a number that means trouble, as a size or a
   place would. */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t size, size_t most, unsigned seed) {
  static const int numbers[] = {0,  1,   -1,  2,    3,     4,     7,       8,         16,
                                64, 255, 256, 4096, 65535, 65536, 1 << 24, 2147483647};
  syn_random r;
  int value;
  size_t word;
  r.state = seed;
  if (size < 4 || seed % 2) return LLVMFuzzerMutate(at, size, most);
  word =
      (size_t)syn_random_below(&r, (int)(syn_random_below(&r, 3) || size < 400 ? size / 4 : 100));
  memcpy(&value, at + 4 * word, 4);
  switch (syn_random_below(&r, 4)) {
    case 0: value = numbers[syn_random_below(&r, 17)]; break;
    case 1: value = (int)((unsigned)value + (unsigned)syn_random_below(&r, 17) - 8u); break;
    case 2: value = (int)((unsigned)value ^ 1u << syn_random_below(&r, 31)); break;
    default: memcpy(&value, at + 4 * (size_t)syn_random_below(&r, (int)(size / 4)), 4); break;
  }
  memcpy(at + 4 * word, &value, 4);
  return size;
}
