/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined -o fuzz_tokenizer \
     tests/fuzz_tokenizer.c -lm
   mkdir seeds corpus; ./fuzz_tokenizer --seeds seeds; ./fuzz_tokenizer corpus seeds
   Any bytes as a saved tokenizer, or as lines from which one is learned; then texts to tokens and
   back. The input: one byte that chooses (0: a saved one), one for flags, then the bytes. */
#define FUZZ_NAME "tokenizer"
#define FUZZ_EDGES 650
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) \
  X(loaded) X(learned) X(byte) X(merged) X(saved) X(decoded) X(unknown) X(normalized) X(spelled) \
  X(gpt2) X(llama) X(unigram) X(wordpiece)
#include "fuzz.h"

enum { MAX_LINES = 64 };

/* 1: of a published model, whose rules may make a text longer. */
static int published(const syn_tokenizer *t) {
  static const char *const kinds[] = {"gpt2", "llama", "unigram", "wordpiece"};
  int i;
  for (i = 0; i < 4; i++)
    if (!strcmp(syn_tokenizer_type(t), kinds[i])) fuzz_mark(MARK_gpt2 + i);
  for (i = 0; i < 4; i++)
    if (!strcmp(syn_tokenizer_type(t), kinds[i])) return 1;
  return 0;
}

/* Encodes and decodes a text into a buffer that holds all, and into smaller ones. */
static void use(const syn_tokenizer *t, syn_text text) {
  int flags = syn_tokenizer_flags(t) & (SYN_LOWERCASE | SYN_NFC);
  size_t most = (published(t) ? 100 : flags ? 3 : 1) * text.size + 1, capacity = most + 1, i, size, half;
  int *ids = (int *)malloc(capacity * sizeof *ids), *fewer, count;
  syn_text last = syn_tokenizer_piece(t, 259, 0);
  int spells = !strncmp(syn_tokenizer_type(t), "bpe", 3) && last.size == 1 && last.at[0] == '\xFF';
  char *out, name[16];
  if (!ids) abort();
  count = syn_tokenizer_encode(t, text, ids, (int)capacity);
  FUZZ_WANT(count >= 0 && (size_t)count <= most, "%d tokens of %lu bytes", count,
            (unsigned long)text.size);
  for (i = 0; i < (size_t)count; i++) {
    FUZZ_WANT(
        ids[i] == SYN_UNKNOWN || (ids[i] >= SYN_FIRST_TOKEN && ids[i] < syn_tokenizer_size(t)),
        "token %d", ids[i]);
    if (ids[i] == SYN_UNKNOWN) fuzz_mark(MARK_unknown);
    if (spells && ids[i] >= 132 && ids[i] < 260) fuzz_mark(MARK_spelled);
    FUZZ_WANT(!spells || ids[i] != SYN_UNKNOWN, "an unknown token beside bytes");
    syn_tokenizer_piece(t, ids[i], !i);
    FUZZ_WANT(syn_tokenizer_id(t, syn_tokenizer_number(t, ids[i])) == ids[i] || ids[i] == SYN_UNKNOWN,
              "token %d has another number", ids[i]);
    syn_tokenizer_name(t, ids[i], name, sizeof name);
  }
  half = (size_t)count / 2;
  fewer = (int *)malloc(half * sizeof *fewer + 1);
  if (!fewer) abort();
  FUZZ_WANT(syn_tokenizer_encode(t, text, fewer, (int)half) == count,
            "another count in a smaller buffer");
  FUZZ_WANT(!half || !memcmp(fewer, ids, half * sizeof *ids), "other tokens in a smaller buffer");
  FUZZ_WANT(syn_tokenizer_cut(t, text, SYN_CUT_HEAD, fewer, (int)half) == count &&
                (!half || !memcmp(fewer, ids + count - half, half * sizeof *ids)), "other tokens of a cut text");
  if (half) FUZZ_WANT(syn_tokenizer_cut(t, text, SYN_CUT_MIDDLE, fewer, (int)half) == count && fewer[half - 1] == ids[count - 1],
                      "another end");
  syn_tokenizer_cut(t, text, SYN_CUT_TEXTS + (int)(text.size % 5), fewer, (int)half);
  size = syn_tokenizer_decode(t, ids, count, NULL, 0);
  out = (char *)malloc(size + 1);
  if (!out) abort();
  FUZZ_WANT(syn_tokenizer_decode(t, ids, count, out, size + 1) == size && strlen(out) <= size,
            "another size");
  fuzz_mark(MARK_decoded);
  if (!strcmp(syn_tokenizer_type(t), "byte") && !flags &&
      !(text.size > 2 && !memcmp(text.at, "\xEF\xBB\xBF", 3)))
    FUZZ_WANT(size == text.size && (!size || !memcmp(out, text.at, size)),
              "bytes are not restored");
  syn_tokenizer_decode(t, ids, count, out, size / 2);
  free(out);
  free(fewer);
  free(ids);
}

/* Lower case and composition of any bytes: a second time changes nothing, whatever the room. */
static void normalize(syn_text text, int flags) {
  size_t size = syn_text_normalize(text, flags, NULL, 0), invalid = syn_text_invalid(text);
  char *out = (char *)malloc(size + 1), *again = (char *)malloc(size + 1);
  syn_text once;
  if (!out || !again) abort();
  FUZZ_WANT(syn_text_normalize(text, flags, out, size + 1) == size && size <= 3 * text.size, "size");
  once.at = out;
  once.size = size;
  FUZZ_WANT(syn_text_invalid(once) == invalid, "%lu invalid bytes", (unsigned long)invalid);
  if (flags == SYN_LOWERCASE) FUZZ_WANT(
      syn_text_normalize(once, flags, again, size + 1) == size && !memcmp(out, again, size),
      "lower case has another lower case");
  syn_text_normalize(text, flags, again, size / 2);
  fuzz_mark(MARK_normalized);
  free(out);
  free(again);
}

/* Saved, loaded, saved: the same bytes. Ids outside the vocabulary are text, too. */
static void save(syn_context *c, const syn_tokenizer *t) {
  size_t size = syn_tokenizer_save(t, NULL, 0);
  char *a = (char *)malloc(2 * size + 1), *b = a + size, out[64];
  int ids[4] = {-1, SYN_UNKNOWN, 0, 2147483647}, first;
  syn_tokenizer *again;
  if (!a) abort();
  syn_tokenizer_save(t, a, size);
  again = syn_tokenizer_load(c, a, size);
  FUZZ_WANT(again, "saved, but not loaded: %s", c->message);
  FUZZ_WANT(syn_tokenizer_save(again, b, size) == size && !memcmp(a, b, size),
            "saved again as other bytes");
  fuzz_mark(MARK_saved);
  ids[2] = syn_tokenizer_size(t);
  syn_tokenizer_decode(again, ids, 4, out, sizeof out);
  syn_tokenizer_piece(again, -1, 1);
  syn_tokenizer_sentinels(again, &first);
  syn_tokenizer_free(again);
  free(a);
}

static syn_tokenizer *learn(syn_context *c, int spec, int flags, const unsigned char *at,
                            size_t size) {
  static const char *const specs[] = {"byte", "char", "space", "bpe:20",      "bpe:300",
                                      "line", "bpe:", "bpe:4", "bpe:99999999"};
  syn_text lines[MAX_LINES];
  size_t count = 0, i, start = 0;
  syn_tokenizer *t;
  for (i = 0; i <= size && count < MAX_LINES; i++) {
    if (i < size && at[i] != '\n') continue;
    lines[count].at = (const char *)at + start;
    lines[count++].size = i - start;
    start = i + 1;
  }
  spec %= (int)(sizeof specs / sizeof *specs);
  t = syn_tokenizer_learn(c, specs[spec], flags & 7, lines, count);
  return t;
}

static void fuzz_one(void) {
  static const char *const texts[] = {
      "", " ", "a", "a b  c", "\xC3\x89\xE2\x82\xAC \xF0\x9F\x98\x80", "\xFF\xC3 \xE2\x82", "<0>"};
  syn_context c;
  syn_tokenizer *t;
  int how = fuzz_byte(), flags = fuzz_byte(), i;
  size_t size;
  unsigned char *at = fuzz_rest(0, &size);
  syn_text all;
  all.at = (const char *)at;
  all.size = size;
  fuzz_context(&c, "scalar", 0);
  t = how ? learn(&c, how - 1, flags, at, size) : syn_tokenizer_load(&c, at, size);
  FUZZ_WANT(!t == (c.status != SYN_OK), "status %d", (int)c.status);
  FUZZ_WANT(fuzz.most <= ((size_t)32 << 20) + 1024 * size, "%lu bytes for %lu",
            (unsigned long)fuzz.most, (unsigned long)size);
  if (t) {
    if (!how) fuzz_mark(MARK_loaded);
    else fuzz_mark(strcmp(syn_tokenizer_type(t), "byte") ? MARK_learned : MARK_byte);
    if (!strncmp(syn_tokenizer_type(t), "bpe", 3) && syn_tokenizer_size(t) > 12)
      fuzz_mark(MARK_merged);
    use(t, all);
    for (i = 0; i < 7; i++) use(t, syn_text_of(texts[i]));
    save(&c, t);
  }
  for (i = 0; i < 8; i++) normalize(all, i);
  syn_tokenizer_free(t);
  fuzz_free(at, 0);
}

/* A saved bpe with tokens of bytes. */
static void spelled(syn_context *c, syn_text text, char *bytes, size_t room) {
  syn_tokenizer *t = syn_tokenizer_learn(c, "bpe:520", 0, &text, 1);
  size_t size = syn_tokenizer_save(t, bytes + 2, room - 2);
  if (!t || size > room - 2) abort();
  memset(bytes, 0, 2);
  fuzz_seed("spelled", bytes, size + 2);
  syn_tokenizer_free(t);
}

/* A charsmap in which A becomes a. */
static syn_text rule(void) {
  static unsigned char map[4 + 4 * 256 + 2];
  syn_text text;
  memset(map, 0, sizeof map);
  map[1] = 4;
  map[5] = 1 << 2;
  map[4 + 4 * ('A' ^ 1)] = 'A';
  map[5 + 4 * ('A' ^ 1)] = 1 | 1 << 2;
  map[7 + 4 * 'A'] = 0x80;
  memcpy(map + 4 + 1024, "a", 2);
  text.at = (const char *)map, text.size = sizeof map;
  return text;
}

/* Small tokenizers of published models, saved. */
static void pieces(syn_context *c, const char *kind, int options, char *bytes, size_t room) {
  static const char *const names[] = {"<u>", "a", "b", "ab", "<0x41>", "\xE2\x96\x81", "##b",
                                      "\xE2\x96\x81\x61", "c", "l", "o"};
  static const float scores[] = {0, -1, -2, -2.5f, 0, -3, -4, -2, -3, -5, -6};
  static const unsigned char types[] = {2, 0, 0, 0, 1, 0, 0, 3, 0, 0, 0};
  static const unsigned char bare[11] = {0};
  static const int merges[] = {1, 2};
  syn_text tokens[11];
  syn_tokenizer_parts p;
  syn_tokenizer *t;
  size_t size;
  int i, scored = !strcmp(kind, "llama") || !strcmp(kind, "unigram");
  memset(&p, 0, sizeof p);
  for (i = 0; i < 11; i++) tokens[i] = syn_text_of(names[i]);
  if (!strcmp(kind, "gpt2")) tokens[5] = tokens[7] = syn_text_of("z");
  p.kind = kind, p.options = options, p.count = 11, p.tokens = tokens;
  p.types = scored ? types : bare, p.scores = scored ? scores : NULL;
  p.merges = merges, p.n_merges = !strcmp(kind, "gpt2");
  for (i = 0; i < 4; i++) p.special[i] = i == 1 ? 0 : -1;
  if (!strcmp(kind, "unigram")) p.charsmap = rule();
  t = syn_tokenizer_from(c, &p);
  size = syn_tokenizer_save(t, bytes + 2, room - 2);
  if (!t || size > room - 2) abort();
  memset(bytes, 0, 2);
  fuzz_seed(kind, bytes, size + 2);
  syn_tokenizer_free(t);
}

static void fuzz_seeds(void) {
  static const char lines[] =
      "the cat sat on the mat\nthat hat \xC3\x89\xC3\xA9 \xE2\x82\xAC\n\xD0\x90\xD0\xB0 low lower "
      "lowest\n";
  static const char *const specs[] = {"byte", "char", "space", "bpe:40", "line"};
  char bytes[9000], many[1000];
  syn_text text = syn_text_of(lines);
  syn_context c;
  int i;
  fuzz_context(&c, "scalar", 0);
  for (i = 0; i < 5; i++) {
    syn_tokenizer *t = syn_tokenizer_learn(&c, specs[i], i % 8, &text, 1);
    size_t size;
    char name[16];
    memset(bytes, 0, 2);
    size = syn_tokenizer_save(t, bytes + 2, sizeof bytes - 2);
    if (!t || size > sizeof bytes - 2) abort();
    snprintf(name, sizeof name, "saved%d", i);
    fuzz_seed(name, bytes, size + 2);
    bytes[0] = (char)(i + 1);
    memcpy(bytes + 2, lines, sizeof lines - 1);
    snprintf(name, sizeof name, "lines%d", i);
    fuzz_seed(name, bytes, sizeof lines + 1);
    syn_tokenizer_free(t);
  }
  for (i = 0; i < 300; i++) { /* so many characters that bpe spells them in bytes */
    many[3 * i] = '\xE4';
    many[3 * i + 1] = (char)(0xB8 + i / 64);
    many[3 * i + 2] = (char)(0x80 + i % 64);
  }
  text.at = many;
  text.size = 900;
  spelled(&c, text, bytes, sizeof bytes);
  pieces(&c, "gpt2", SYN_PIECES_GPT4, bytes, sizeof bytes);
  pieces(&c, "llama", SYN_PIECES_SPACE | SYN_PIECES_BYTES, bytes, sizeof bytes);
  pieces(&c, "unigram", SYN_PIECES_SPACE | SYN_PIECES_TRIM, bytes, sizeof bytes);
  pieces(&c, "wordpiece", SYN_PIECES_LOWER, bytes, sizeof bytes);
}

/* -- the mutator: a saved tokenizer of which most stays as it is -- */

/* Of a saved tokenizer: 7 words, the last two the numbers of tokens and merges; the size of each
   token; two ids of each merge; the bytes of all tokens. */
enum { HEADER = 28, TOKENS = 20, MERGES = 24 };

static uint32_t word_at(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Changes one thing of the saved tokenizer; 0: it is none. */
static int change_saved(uint8_t *at, size_t size, syn_random *r) {
  static const char letters[] = "abc \xC3\xA9\n";
  size_t tokens, merges, i;
  uint8_t *word;
  if (size <= HEADER || word_at(at + TOKENS) > size / 4 || word_at(at + MERGES) > size / 8)
    return 0;
  tokens = word_at(at + TOKENS);
  merges = word_at(at + MERGES);
  i = HEADER + 4 * tokens + 8 * merges; /* the bytes */
  if (i >= size) return 0;
  switch (syn_random_below(r, 4)) {
    case 0:
      i += (size_t)syn_random_below(r, (int)(size - i));
      at[i] = (uint8_t)letters[syn_random_below(r, 7)];
      return 1;
    case 1: /* a byte of a token becomes one of the next token, or the other way round */
      if (tokens < 2) return 0;
      word = at + HEADER + 4 * syn_random_below(r, (int)tokens - 1);
      i = syn_random_below(r, 2) ? 0 : 4;
      word[i]++;
      word[4 - i]--;
      return 1;
    case 2: /* an id of a merge */
      if (!merges) return 0;
      word = at + HEADER + 4 * tokens + 4 * (size_t)syn_random_below(r, (int)(2 * merges));
      word[0] = (uint8_t)(word[0] + syn_random_below(r, 7) - 3);
      return 1;
    default: /* the version, the flags, the type, a count */
      at[8 + syn_random_below(r, HEADER - 8)] ^= (uint8_t)(1 << syn_random_below(r, 3));
      return 1;
  }
}

/* Lines become the tokenizer that is learned from them; 0: it does not fit. */
static size_t save_over(uint8_t *at, size_t size, size_t most) {
  syn_context c;
  syn_tokenizer *t;
  size_t saved;
  fuzz_context(&c, "scalar", 0);
  t = learn(&c, at[0] - 1, at[1], at + 2, size - 2);
  saved = t ? syn_tokenizer_save(t, NULL, 0) : 0;
  if (saved && saved <= most - 2) {
    syn_tokenizer_save(t, at + 2, saved);
    at[0] = 0;
  } else {
    saved = 0;
  }
  syn_tokenizer_free(t);
  return saved ? saved + 2 : 0;
}

/* Every other time a saved tokenizer changes so; of lines every fourth time one is made. Else bytes
   change as libFuzzer likes. */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t size, size_t most, unsigned seed) {
  syn_random r;
  size_t saved = size;
  r.state = seed;
  if (size > 2 && at[0] && seed % 4 == 1) saved = save_over(at, size, most);
  if (saved > 2 && !at[0] && seed % 2 && change_saved(at + 2, saved - 2, &r)) return saved;
  return LLVMFuzzerMutate(at, saved ? saved : size, most);
}
