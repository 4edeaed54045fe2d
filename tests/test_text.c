/* test_text.c   the tokenizers: round trips, byte pair encoding against a plain program and against
   a list worked by hand, saved forms cut and flipped, too little room, no memory. */
#ifndef TEST_LINKED /* the Makefile links it to linked.c */
#define SYNTHESIZER_IMPLEMENTATION
#endif
#include "../synthesizer.h"

#include "check.h"
#include <string.h>
#include <time.h>

/* -- helpers -- */

typedef struct test_memory {
  long live, calls, fail_at; /* fail_at: the call that gets no memory, 0: none */
} test_memory;

static void *test_alloc(void *user, size_t bytes) {
  test_memory *m = (test_memory *)user;
  void *block;
  if (++m->calls == m->fail_at) return NULL;
  block = malloc(bytes);
  if (block) m->live++;
  return block;
}

static void test_release(void *user, void *block, size_t bytes) {
  test_memory *m = (test_memory *)user;
  (void)bytes;
  m->live -= block != NULL;
  free(block);
}

static void test_begin(syn_context *c, test_memory *m) {
  syn_options options;
  memset(&options, 0, sizeof options);
  memset(m, 0, sizeof *m);
  options.alloc = test_alloc;
  options.release = test_release;
  options.alloc_user = m;
  syn_context_init(c, &options);
}

static syn_text text_of(const char *s) {
  syn_text text;
  text.at = s;
  text.size = strlen(s);
  return text;
}

enum { ROOM = 8192 };
static const char *const SPECS[] = {"byte", "char", "space", "bpe:40", "bpe:4000", "line"};
enum { SPEC_COUNT = 5, SPEC_ALL = 6 }; /* line is in no test of texts made of known pieces */

static const char *const ALPHABET = "abce \n\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";

/* A text of up to `most` characters out of a small alphabet, of 1 to 4 bytes each, and spaces. */
static size_t random_text(syn_random *r, char *out, int most) {
  static const char *const alphabet[] = {"a", "b", "c", " ", " ", "\xC3\xA4", "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80", "\n", "e"};
  int i, n = syn_random_below(r, most + 1);
  size_t size = 0;
  for (i = 0; i < n; i++) {
    const char *ch = alphabet[syn_random_below(r, 10)];
    memcpy(out + size, ch, strlen(ch));
    size += strlen(ch);
  }
  return size;
}

/* The bytes of the white space that a text begins with; 0: none. */
static size_t white_at(syn_text text, size_t at) {
  static const char *const white[] = {
      "\t", "\n", "\v", "\f", "\r", "\x1C", "\x1D", "\x1E", "\x1F", " ", "\xC2\x85", "\xC2\xA0",
      "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84",
      "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
      "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
  size_t i, n;
  for (i = 0; i < sizeof white / sizeof *white; i++) {
    n = strlen(white[i]);
    if (n <= text.size - at && !memcmp(text.at + at, white[i], n)) return n;
  }
  return 0;
}

/* What the tokenizer "space" makes of a text: runs of white space become their line ends or one
   space, at the ends of the text nothing. A word with a byte that is not UTF-8 is unknown, with its
   space or line end: a space and U+FFFD. */
static syn_text words_of(syn_text text, char *out) {
  size_t i = 0, n = 0, k, white, word;
  int ends;
  syn_text part;
  while (i < text.size) {
    for (ends = 0, k = i; (white = white_at(text, k)) != 0; k += white) ends += text.at[k] == '\n';
    for (word = n; ends > 0; ends--) word = n, out[n++] = '\n';
    if (n == word && i > 0 && k < text.size) out[n++] = ' ';
    part.at = text.at + k;
    for (i = k; i < text.size && !white_at(text, i);) i++;
    part.size = i - k;
    if (syn_text_invalid(part)) {
      n = word;
      strcpy(out + n, word ? " \xEF\xBF\xBD" : "\xEF\xBF\xBD");
      n += strlen(out + n);
    } else {
      memcpy(out + n, part.at, part.size);
      n += part.size;
    }
  }
  text.at = out;
  text.size = n;
  return text;
}

/* Does the text come back? Encodes with room for nothing, then for all. */
static int comes_back(const syn_tokenizer *t, syn_text text) {
  static int ids[ROOM];
  static char out[ROOM * 4], words[ROOM * 4];
  int n = syn_tokenizer_encode(t, text, NULL, 0);
  if (!strcmp(syn_tokenizer_type(t), "space")) text = words_of(text, words);
  if (n > ROOM || n > (int)text.size + 1 || syn_tokenizer_encode(t, text, ids, ROOM) != n) return 0;
  if (syn_tokenizer_decode(t, ids, n, out, sizeof out) != text.size) return 0;
  return out[text.size] == 0 && (text.size == 0 || memcmp(out, text.at, text.size) == 0);
}

static int same_bytes(const syn_tokenizer *a, const syn_tokenizer *b) {
  size_t size = syn_tokenizer_save(a, NULL, 0);
  char *x = (char *)malloc(size), *y = (char *)malloc(size);
  int same = x && y && syn_tokenizer_save(b, NULL, 0) == size;
  if (same) {
    syn_tokenizer_save(a, x, size);
    syn_tokenizer_save(b, y, size);
    same = memcmp(x, y, size) == 0;
  }
  free(x);
  free(y);
  return same;
}

/* -- byte pair encoding -- */

/* The example of Sennrich et al. 2016: low 5, lower 2, newest 6, widest 3, with the space in front
   in place of their end mark, worked by hand; of equal counts the smaller text is first. */
static void test_by_hand(void) {
  static const char *const merges[] = {"es", "est", " l", " lo", " low", " n", " ne", " new",
                                       " newest", " w", " wi", " wid", " widest", " lowe",
                                       " lower"};
  static const char *const alphabet = " deilnorstw";
  syn_context c;
  test_memory m;
  syn_text lines[16], piece;
  syn_tokenizer *t;
  int ids[8], i, n = 0;
  char out[32];
  test_begin(&c, &m);
  for (i = 0; i < 16; i++)
    lines[i] = text_of(i < 5 ? "low" : i < 7 ? "lower" : i < 13 ? "newest" : "widest");
  t = syn_tokenizer_learn(&c, "bpe:1000", 0, lines, 16);
  CHECK(t != NULL, "%s", c.message);
  if (!t) return;
  CHECK(syn_tokenizer_size(t) == 4 + 11 + 15, "size %d", syn_tokenizer_size(t));
  CHECK(strcmp(syn_tokenizer_type(t), "bpe:1000") == 0, "type %s", syn_tokenizer_type(t));
  for (i = 0; i < 26 && 4 + i < syn_tokenizer_size(t); i++) {
    piece = syn_tokenizer_piece(t, 4 + i, 0);
    if (i < 11) CHECK(piece.size == 1 && piece.at[0] == alphabet[i], "character %d", i);
    else CHECK(piece.size == strlen(merges[i - 11]) &&
               memcmp(piece.at, merges[i - 11], piece.size) == 0, "merge %d is \"%.*s\"", i - 11,
               (int)piece.size, piece.at);
  }
  n = syn_tokenizer_encode(t, text_of("lowest new"), ids, 8); /* " low" + "est" + " new" */
  CHECK(n == 3 && ids[0] == 19 && ids[1] == 16 && ids[2] == 22, "%d: %d %d %d", n, ids[0], ids[1],
        ids[2]);
  n = syn_tokenizer_encode(t, text_of("lox"), ids, 8);
  CHECK(n == 2 && ids[0] == 18 && ids[1] == SYN_UNKNOWN, "%d: %d %d", n, ids[0], ids[1]);
  syn_tokenizer_decode(t, ids, n, out, sizeof out);
  CHECK(strcmp(out, "lo\xEF\xBF\xBD") == 0, "\"%s\"", out);
  syn_tokenizer_free(t);
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* The same algorithm with nothing clever in it: all pairs are counted anew for every merge. */
enum { PLAIN_WORDS = 400, PLAIN_SIZE = 24, PLAIN_IDS = 120 };
typedef struct plain_bpe {
  int words, size[PLAIN_WORDS], s[PLAIN_WORDS][PLAIN_SIZE];
  int ids, left[PLAIN_IDS], right[PLAIN_IDS];
  char text[PLAIN_IDS][PLAIN_SIZE * 4];
  int count[PLAIN_IDS][PLAIN_IDS];
} plain_bpe;

static void plain_apply(int *s, int *size, int left, int right, int id) {
  int i, n = 0;
  for (i = 0; i < *size; i++) {
    if (i + 1 < *size && s[i] == left && s[i + 1] == right) s[n++] = id, i++;
    else s[n++] = s[i];
  }
  *size = n;
}

static int plain_best(plain_bpe *p, int *left, int *right) {
  int w, i, j, order, best = 1;
  memset(p->count, 0, sizeof p->count);
  for (w = 0; w < p->words; w++)
    for (i = 0; i + 1 < p->size[w]; i++) p->count[p->s[w][i]][p->s[w][i + 1]]++;
  for (i = 4; i < p->ids; i++)
    for (j = 4; j < p->ids; j++) {
      if (p->count[i][j] < 2 || p->count[i][j] < best) continue;
      order = p->count[i][j] > best ? -1 : strcmp(p->text[i], p->text[*left]);
      if (order == 0) order = strcmp(p->text[j], p->text[*right]);
      if (order < 0) best = p->count[i][j], *left = i, *right = j;
    }
  return best > 1;
}

static void plain_learn(plain_bpe *p, int asked) {
  int left = 0, right = 0, w;
  while (p->ids < asked && plain_best(p, &left, &right)) {
    p->left[p->ids] = left;
    p->right[p->ids] = right;
    w = (int)strlen(p->text[left]);
    memcpy(p->text[p->ids], p->text[left], (size_t)w);
    memcpy(p->text[p->ids] + w, p->text[right], strlen(p->text[right]) + 1);
    for (w = 0; w < p->words; w++) plain_apply(p->s[w], &p->size[w], left, right, p->ids);
    p->ids++;
  }
}

/* Fills the plain program with one-word lines of random letters; a few letters make many ties. */
static void plain_words(plain_bpe *p, syn_random *r, char lines[PLAIN_WORDS][PLAIN_SIZE],
                        int letters) {
  int w, i, n;
  memset(p, 0, sizeof *p);
  p->words = 20 + syn_random_below(r, PLAIN_WORDS - 20);
  strcpy(p->text[4], " ");
  for (i = 0; i < letters; i++) p->text[5 + i][0] = (char)('a' + i);
  p->ids = 5 + letters;
  for (w = 0; w < p->words; w++) {
    n = w < letters ? 1 : 1 + syn_random_below(r, PLAIN_SIZE - 3);
    p->s[w][0] = 4;
    for (i = 0; i < n; i++) {
      int letter = w < letters ? w : syn_random_below(r, letters);
      lines[w][i] = (char)('a' + letter);
      p->s[w][1 + i] = 5 + letter;
    }
    lines[w][n] = 0;
    p->size[w] = n + 1;
  }
}

static void test_plain(void) {
  static plain_bpe p;
  static char lines[PLAIN_WORDS][PLAIN_SIZE];
  static syn_text texts[PLAIN_WORDS];
  int round, w, i, n, ids[PLAIN_SIZE], same;
  syn_random r = {7};
  for (round = 0; round < (CHECK_QUICK ? 4 : 30); round++) {
    syn_context c;
    test_memory m;
    syn_tokenizer *t;
    int letters = 1 + round % 5, asked = 20 + syn_random_below(&r, PLAIN_IDS - 20);
    char spec[32];
    test_begin(&c, &m);
    plain_words(&p, &r, lines, letters);
    for (w = 0; w < p.words; w++) texts[w] = text_of(lines[w]);
    snprintf(spec, sizeof spec, "bpe:%d", asked);
    t = syn_tokenizer_learn(&c, spec, 0, texts, (size_t)p.words);
    plain_learn(&p, asked);
    CHECK(t && syn_tokenizer_size(t) == p.ids, "round %d: not %d tokens", round, p.ids);
    if (!t) continue;
    for (i = 4, same = 1; i < p.ids && same; i++) {
      syn_text piece = syn_tokenizer_piece(t, i, 0);
      same = piece.size == strlen(p.text[i]) && memcmp(piece.at, p.text[i], piece.size) == 0;
    }
    CHECK(same, "round %d: token %d is not \"%s\"", round, i - 1, p.text[i - 1]);
    for (w = 0, same = 1; w < p.words && same; w++) { /* the learned words are encoded as learned */
      n = syn_tokenizer_encode(t, texts[w], ids, PLAIN_SIZE);
      same = n == p.size[w] && memcmp(ids, p.s[w], sizeof(int) * (size_t)n) == 0;
    }
    CHECK(same, "round %d: word \"%s\" is encoded otherwise", round, lines[w - 1]);
    for (w = 0, same = 1; w < 200 && same; w++) { /* so are new words: every merge in its order */
      int s[PLAIN_SIZE], size = 2 + syn_random_below(&r, PLAIN_SIZE - 3);
      char word[PLAIN_SIZE];
      s[0] = 4;
      for (i = 1; i < size; i++) {
        s[i] = 5 + syn_random_below(&r, letters);
        word[i - 1] = (char)('a' + s[i] - 5);
      }
      word[size - 1] = 0;
      for (i = 5 + letters; i < p.ids; i++) plain_apply(s, &size, p.left[i], p.right[i], i);
      n = syn_tokenizer_encode(t, text_of(word), ids, PLAIN_SIZE);
      same = n == size && memcmp(ids, s, sizeof(int) * (size_t)n) == 0;
    }
    CHECK(same, "round %d: new word %d is encoded otherwise", round, w);
    syn_tokenizer_free(t);
  }
}

/* A run of non-spaces longer than a word may be, at the borders of that length and far beyond. */
static void test_long_words(void) {
  static char text[70000];
  syn_context c;
  test_memory m;
  syn_tokenizer *t;
  syn_text line;
  int i, sizes[] = {254, 255, 256, 257, 511, 512, 513, 5000}, s;
  syn_random r = {3};
  test_begin(&c, &m);
  for (i = 0; i < 70000; i++) text[i] = (char)('a' + syn_random_below(&r, 2));
  line.at = text;
  line.size = sizeof text;
  for (s = 0; s < SPEC_COUNT; s++) {
    syn_text part = line;
    t = syn_tokenizer_learn(&c, SPECS[s], 0, &line, 1);
    CHECK(t != NULL, "%s", c.message);
    if (!t) continue;
    for (i = 0; i < 8; i++) {
      part.size = (size_t)sizes[i];
      if (strcmp(SPECS[s], "space") == 0)
        CHECK(syn_tokenizer_encode(t, part, NULL, 0) == 1, "size %d is more than a word", sizes[i]);
      else
        CHECK(comes_back(t, part), "%s: size %d does not come back", SPECS[s], sizes[i]);
    }
    if (strcmp(SPECS[s], "bpe:4000") == 0) {
      i = syn_tokenizer_encode(t, line, NULL, 0);
      CHECK(i > 270 && i < 35000, "%d tokens of 70000 letters", i);
    }
    syn_tokenizer_free(t);
  }
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* -- every kind -- */

static void test_round_trips(void) {
  static char text[ROOM];
  static int ids[ROOM];
  syn_context c;
  test_memory m;
  syn_tokenizer *t, *again;
  syn_text line, lines[2];
  int s, round, rounds = CHECK_QUICK ? 20 : 200;
  syn_random r = {1};
  test_begin(&c, &m);
  for (s = 0; s < SPEC_COUNT; s++)
    for (round = 0; round < rounds; round++) {
      line.at = text;
      line.size = random_text(&r, text, round * 4);
      lines[0] = line;
      lines[1] = text_of(ALPHABET);
      t = syn_tokenizer_learn(&c, SPECS[s], 0, lines, (size_t)(1 + round % 2));
      again = syn_tokenizer_learn(&c, SPECS[s], 0, lines, (size_t)(1 + round % 2));
      CHECK(t && again && same_bytes(t, again), "%s: learned twice, not the same", SPECS[s]);
      if (!t || !again) return;
      CHECK(comes_back(t, line), "%s: %d bytes do not come back", SPECS[s], (int)line.size);
      if (strcmp(SPECS[s], "space") != 0 && round % 2) { /* any text of the same characters */
        line.size = random_text(&r, text, 100);
        CHECK(comes_back(t, line), "%s: other text", SPECS[s]);
      }
      syn_tokenizer_free(t);
      syn_tokenizer_free(again);
    }
  t = syn_tokenizer_learn(&c, "byte", 0, NULL, 0);
  CHECK(t && syn_tokenizer_size(t) == 260, "no byte tokenizer of 260");
  for (round = 0; t && round < rounds; round++) {
    line.size = (size_t)syn_random_below(&r, 300);
    for (s = 0; s < (int)line.size; s++) text[s] = (char)syn_random_below(&r, 256);
    CHECK(comes_back(t, line), "byte: random bytes, round %d", round);
    s = syn_tokenizer_encode(t, line, ids, ROOM);
    CHECK(s == (int)line.size && (s == 0 || ids[0] == 4 + (unsigned char)text[0]), "byte: %d", s);
  }
  syn_tokenizer_free(t);
  CHECK(m.live == 0 && c.status == SYN_OK, "%ld blocks left, %s", m.live, c.message);
}

/* The order of the lines decides nothing. */
static void test_order_of_lines(void) {
  static char text[40][200];
  syn_context c;
  test_memory m;
  syn_text lines[40], turned[40];
  syn_random r = {11};
  int s, i;
  test_begin(&c, &m);
  for (i = 0; i < 40; i++) {
    lines[i].at = text[i];
    lines[i].size = random_text(&r, text[i], 40);
    turned[39 - i] = lines[i];
  }
  for (s = 0; s < SPEC_COUNT; s++) {
    syn_tokenizer *a = syn_tokenizer_learn(&c, SPECS[s], 0, lines, 40);
    syn_tokenizer *b = syn_tokenizer_learn(&c, SPECS[s], 0, turned, 40);
    CHECK(a && b && same_bytes(a, b), "%s: another order of lines, another tokenizer", SPECS[s]);
    syn_tokenizer_free(a);
    syn_tokenizer_free(b);
  }
}

static void check_ids(const syn_tokenizer *t, syn_text text, const int *want, int count) {
  int ids[16], i, n = syn_tokenizer_encode(t, text, ids, 16), same = n == count;
  for (i = 0; i < count && same; i++) same = ids[i] == want[i];
  CHECK(same, "%s \"%.*s\": %d ids, first %d", syn_tokenizer_type(t), (int)text.size, text.at, n,
        n ? ids[0] : -1);
}

static void test_words(void) {
  static const int cab[] = {5, 4, 6}, unknown[] = {6, 4, 1}, plain[] = {0, 2, 1, 77, 0, 4, 3, 5};
  static const int lined[] = {5, 4, 6, 4};
  syn_context c;
  test_memory m;
  syn_text lines[2];
  syn_tokenizer *t;
  char out[64];
  test_begin(&c, &m);
  lines[0] = text_of("b a b a b");
  lines[1] = text_of("a b c \xFF"); /* b 4 times, a 3, c once; the bad word is not learned */
  t = syn_tokenizer_learn(&c, "space", 0, lines, 2);
  CHECK(t && syn_tokenizer_size(t) == 7, "%s", c.message);
  if (!t) return;
  check_ids(t, text_of("a b c"), cab, 3);
  check_ids(t, text_of(" \tc  b \xC2\xA0\r\xE3\x80\x80" "d "), unknown, 3); /* runs, blanks at the ends */
  check_ids(t, text_of(""), cab, 0);
  check_ids(t, text_of(" \t\xE2\x80\x83 \r"), cab, 0);
  CHECK(syn_tokenizer_decode(t, unknown, 3, out, sizeof out) == 7, "%s", out);
  CHECK(strcmp(out, "c b \xEF\xBF\xBD") == 0, "\"%s\"", out);
  syn_tokenizer_decode(t, plain, 8, out, sizeof out);
  CHECK(strcmp(out, "\xEF\xBF\xBD \xEF\xBF\xBD b") == 0, "\"%s\"", out);
  syn_tokenizer_free(t);
  lines[0] = text_of(" a\t\tb\r\n \n b\x1F" "a\n");
  t = syn_tokenizer_learn(&c, "space", 0, lines, 1);
  CHECK(t && syn_tokenizer_size(t) == 8 && comes_back(t, lines[0]), "a, b, line end, line end with b");
  CHECK(comes_back(t, text_of("\n\nb b\n")) && comes_back(t, text_of("\n")), "line ends at the ends");
  check_ids(t, text_of("a\n\nb\n"), lined, 4);
  syn_tokenizer_free(t);
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

static void test_utf8(void) {
  static const char *const bad[] = {"\x80", "\xC0\x80", "\xC3", "\xE2\x82", "\xED\xA0\x80",
                                    "\xF4\x90\x80\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xFE",
                                    "\xF0\x9F\x98"};
  syn_context c;
  test_memory m;
  syn_text line = text_of("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80"
                          "\xF4\x8F\xBF\xBF");
  syn_tokenizer *t;
  int ids[8], i, k, n;
  test_begin(&c, &m);
  t = syn_tokenizer_learn(&c, "char", 0, &line, 1);
  CHECK(t && syn_tokenizer_size(t) == 11 && comes_back(t, line), "first and last of each length");
  for (i = 0; t && i < 10; i++) {
    n = syn_tokenizer_encode(t, text_of(bad[i]), ids, 8);
    CHECK(n == (int)strlen(bad[i]), "bad text %d has %d tokens", i, n);
    for (k = 0; k < n; k++) CHECK(ids[k] == SYN_UNKNOWN, "bad text %d: token %d", i, ids[k]);
  }
  syn_tokenizer_free(t);
}

static void test_lower(void) {
  static const char *const upper = "AZ@[\xC3\x80\xC3\x97\xC3\x9E\xC4\xB0\xC5\xB8\xC5\xBD"
                                   "\xCE\x86\xCE\xA9\xD0\x81\xD0\xAF\xE2\x82\xAC";
  static const char *const lower = "az@[\xC3\xA0\xC3\x97\xC3\xBEi\xCC\x87\xC3\xBF\xC5\xBE"
                                   "\xCE\xAC\xCF\x89\xD1\x91\xD1\x8F\xE2\x82\xAC";
  static int ids[256];
  char out[256];
  syn_context c;
  test_memory m;
  syn_text line = text_of(upper);
  int s, n;
  test_begin(&c, &m);
  for (s = 0; s < SPEC_COUNT; s++) {
    syn_tokenizer *t = syn_tokenizer_learn(&c, SPECS[s], SYN_LOWERCASE, &line, 1);
    CHECK(t && syn_tokenizer_flags(t) == SYN_LOWERCASE, "%s", c.message);
    if (!t) continue;
    n = syn_tokenizer_encode(t, line, ids, 256);
    syn_tokenizer_decode(t, ids, n, out, sizeof out);
    CHECK(strcmp(out, lower) == 0, "%s: \"%s\"", SPECS[s], out);
    CHECK(comes_back(t, text_of(lower)), "%s: lower case does not come back", SPECS[s]);
    syn_tokenizer_free(t);
  }
}

/* -- lower case, composition -- */

/* Normalizes with room for nothing, too little and all. */
static void test_normal_room(syn_text text, int flags) {
  char out[64], less[64];
  size_t size = syn_text_normalize(text, flags, NULL, 0), half = size / 2;
  CHECK(size < sizeof out && size <= 3 * text.size, "%d bytes become %d", (int)text.size, (int)size);
  if (size >= sizeof out) return;
  CHECK(syn_text_normalize(text, flags, out, size + 1) == size && !out[size], "another size");
  memset(less, 'x', sizeof less);
  CHECK(syn_text_normalize(text, flags, less, half) == size && less[half] == 'x', "cut: other size");
  CHECK(!half || (strlen(less) < half && !memcmp(less, out, strlen(less))), "cut: other bytes");
}

static size_t put(char *out, uint32_t ch) {
  size_t n = ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4, i;
  static const int lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (i = n - 1; i > 0; i--, ch >>= 6) out[i] = (char)(0x80 | (ch & 63));
  out[0] = (char)((unsigned)lead[n] | ch);
  return n;
}

/* Every character of the planes in use, alone and between others: the hashes of what Python makes
   of them, as `tools/unicode hash` prints them. */
static void test_all_characters(void) {
  static const char *const before[] = {"", "A", "A\xCE\xA3", "A\xCE\xA3", "", "e"};
  static const char *const behind[] = {"", "\xCE\xA3", "", "A", "\xCC\x81\xCC\xA3",
                                       "\xE1\x84\x80\xE1\x85\xA1"};
  static const int flags[] = {SYN_LOWERCASE, SYN_NFC, SYN_LOWERCASE | SYN_NFC};
  static const uint64_t want[] = {UINT64_C(0x98DD5445B69D2305), UINT64_C(0x58934273A1B1FF1A),
                                  UINT64_C(0xA6B2C77539B303F7)};
  uint64_t hash[3] = {SYN_HASH_START, SYN_HASH_START, SYN_HASH_START};
  uint32_t ch;
  int i, k;
  if (CHECK_QUICK) return;
  for (ch = 0; ch < 0xF0000; ch++) {
    if (ch == 0xD800) ch = 0xE000; /* surrogates are no characters */
    if (ch == 0x40000) ch = 0xE0000;
    for (i = 0; i < 6; i++) {
      char text[32], out[96];
      syn_text all;
      all.at = text;
      all.size = strlen(strcpy(text, before[i]));
      all.size += put(text + all.size, ch);
      strcpy(text + all.size, behind[i]);
      all.size += strlen(behind[i]);
      if (i == 5) all.size += put(text + all.size, ch);
      for (k = 0; k < 3; k++)
        hash[k] = syn_hash(hash[k], out, syn_text_normalize(all, flags[k], out, sizeof out));
    }
  }
  for (k = 0; k < 3; k++)
    CHECK(hash[k] == want[k], "flags %d: %08lX%08lX", flags[k], (unsigned long)(hash[k] >> 32),
          (unsigned long)(hash[k] & 0xFFFFFFFF));
}

/* Both ways, by hand: text, flags, what becomes of it. */
static void test_normalize(void) {
  static const struct {
    const char *text;
    int flags;
    const char *want;
  } cases[] = {
      {"\xC8\x98i \xC8\x9A\xC4\x82", 1, "\xC8\x99i \xC8\x9B\xC4\x83"},          /* Romanian */
      {"\xE1\xBA\xA4 \xC6\xA0 \xE1\xBB\xA8", 1, "\xE1\xBA\xA5 \xC6\xA1 \xE1\xBB\xA9"}, /* Vietnamese */
      {"\xD4\xB1\xD5\x80", 1, "\xD5\xA1\xD5\xB0"},                              /* Armenian */
      {"\xE1\x82\xA0\xE1\xB2\x90", 1, "\xE2\xB4\x80\xE1\x83\x90"},            /* Georgian */
      {"\xE1\x8E\xA0\xF0\x90\x90\x80", 1, "\xEA\xAD\xB0\xF0\x90\x90\xA8"},    /* Cherokee, Deseret */
      {"\xCE\x9F\xCE\xA3", 1, "\xCE\xBF\xCF\x82"},                              /* final sigma */
      {"\xCE\xA3\xCE\x9F", 1, "\xCF\x83\xCE\xBF"},
      {"A\xCE\xA3'. B", 1, "a\xCF\x82'. b"}, /* nothing with case before the end of the word */
      {"A\xCE\xA3'B", 1, "a\xCF\x83'b"},
      {" \xCE\xA3", 1, " \xCF\x83"},
      {"A\xFF\xCE\xA3", 1, "a\xFF\xCF\x83"}, /* a byte that is not UTF-8 is no letter */
      {"A:\xCC\x81\xCE\xA3\xFF", 1, "a:\xCC\x81\xCF\x82\xFF"},
      {"\xC4\xB0\xC4\xB1I", 1, "i\xCC\x87\xC4\xB1i"},                         /* Turkish */
      {"Vie\xCC\xA3\xCC\x82t", 4, "Vi\xE1\xBB\x87t"},                           /* marks below, above */
      {"Vie\xCC\x82\xCC\xA3T", 5, "vi\xE1\xBB\x87t"},
      {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 4, "\xED\x95\x9C"},            /* Hangul */
      {"\xED\x95\x98\xE1\x86\xAB", 4, "\xED\x95\x9C"},
      {"\xED\x95\x9C\xE1\x86\xAB", 4, "\xED\x95\x9C\xE1\x86\xAB"},
      {"\xE2\x84\xAB \xE0\xA5\x98", 4, "\xC3\x85 \xE0\xA4\x95\xE0\xA4\xBC"}, /* Angstrom; never composed */
      {"\xF0\x9D\x85\xA0", 4, "\xF0\x9D\x85\x98\xF0\x9D\x85\xA5\xF0\x9D\x85\xAE"},
      {"\xCC\x81\xCC\xA3 e\xFF\xCC\x81", 4, "\xCC\xA3\xCC\x81 e\xFF\xCC\x81"},
      {"\xEF\xBB\xBF" "A\xC3", 1, "\xEF\xBB\xBF" "a\xC3"}, /* the mark, a cut character */
      {"A e\xCC\x81", 0, "A e\xCC\x81"},
      {"", 5, ""}};
  char out[64];
  size_t i, n;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    n = syn_text_normalize(text_of(cases[i].text), cases[i].flags, out, sizeof out);
    CHECK(n == strlen(cases[i].want) && !strcmp(out, cases[i].want), "case %d: \"%s\"", (int)i, out);
    test_normal_room(text_of(cases[i].text), cases[i].flags);
  }
  CHECK(syn_text_invalid(text_of("a\xFF\xC3\xE2\x82 \xC3\xA4\xED\xA0\x80")) == 7, "invalid bytes");
  CHECK(syn_text_invalid(text_of("")) == 0, "an empty text");
}

/* What a terminal would obey is visible; what does not fit is left out whole. */
static void test_visible(void) {
  syn_text all = text_of("a\n\xC3\xA4\xE2\x80\xAE\xFF");
  char out[30];
  CHECK(syn_text_visible(all, out, sizeof out) == 17 && !strcmp(out, "a\\x0a\xC3\xA4\\u202e\\xff"), "%s", out);
  CHECK(syn_text_visible(all, out, 9) == 17 && !strcmp(out, "a\\x0a\xC3\xA4"), "cut: %s", out);
  CHECK(syn_text_visible(all, out, 5) == 17 && !strcmp(out, "a"), "no part of one: %s", out);
  CHECK(syn_text_visible(all, NULL, 0) == 17 && !syn_text_visible(text_of(""), out, 1) && !*out, "none");
  CHECK(syn_text_whole(text_of("a\xE2\x82")) == 1 && syn_text_whole(text_of("a\xE2\x82\xAC")) == 4 &&
            syn_text_whole(text_of("\xF0\x9F\x98")) == 0 && syn_text_whole(text_of("\x80\x80")) == 2 &&
            syn_text_whole(text_of("")) == 0, "whole characters");
  CHECK(syn_is_space(' ') && syn_is_space(0x3000) && !syn_is_space('a') && !syn_is_space(0x200B), "white space");
}

/* Code point after code point, and what is no character. */
static void test_next(void) {
  static const uint32_t want[] = {'a', 0x20AC, 0x800000E2u, 0, 0};
  syn_text none = {NULL, 0};
  size_t at = 0, i;
  for (i = 0; i < sizeof want / sizeof *want; i++)
    CHECK(syn_text_next(text_of("a\xE2\x82\xAC\xE2"), &at) == want[i], "character %d", (int)i);
  CHECK(at == 5 && !syn_text_next(none, &at) && !syn_text_next(text_of("a"), NULL), "the end");
}
/* Word after word, between runs of white space of any kind. */
static void test_next_word(void) {
  static const char *const want[] = {"a", "bc\xFF", "d\xC3\xA9", "", ""};
  static const size_t behind[] = {3, 8, 15, 16, 16};
  const syn_text text = text_of("  a\t bc\xFF\xE3\x80\x80 d\xC3\xA9 "), none = {NULL, 3};
  size_t at = 0, i;
  for (i = 0; i < sizeof want / sizeof *want; i++) {
    syn_text word = syn_text_word(text, &at);
    CHECK(word.size == strlen(want[i]) && !memcmp(word.at, want[i], word.size) && at == behind[i],
          "word %d: '%.*s', then byte %d", (int)i, (int)word.size, word.at, (int)at);
  }
  at = 0;
  CHECK(!syn_text_word(none, &at).size && !syn_text_word(text, NULL).size, "no words");
}

/* Each character between two words: it separates them where Python's str.isspace is true. */
static void test_white(void) {
  static const uint32_t white[] = {9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xA0, 0x1680,
                                   0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
                                   0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0};
  syn_context c;
  test_memory m;
  syn_tokenizer *t;
  uint32_t ch;
  int next = 0, flags, n;
  char text[8];
  test_begin(&c, &m);
  for (flags = 0; flags < 8; flags += 5) {
    t = syn_tokenizer_learn(&c, "space", flags, NULL, 0);
    for (next = 0, ch = 1; ch < 0x3100; ch++) {
      text[0] = 'a';
      n = (int)put(text + 1, ch);
      strcpy(text + 1 + n, "b");
      n = syn_tokenizer_encode(t, text_of(text), NULL, 0);
      CHECK(n == 1 + (ch == white[next]), "%d words with %lX", n, (unsigned long)ch);
      next += ch == white[next];
    }
    syn_tokenizer_free(t);
  }
}

/* 33 marks behind a letter, and a million: the first 32 are composed and ordered, in little time. */
static void test_marks(void) {
  enum { MANY = 500000 };
  char *text = (char *)malloc(2 * MANY + 1), *out = (char *)malloc(2 * MANY + 1);
  syn_text all;
  int i;
  if (!text || !out) abort();
  all.at = text;
  text[0] = 'e';
  for (i = 0; i < MANY; i++) memcpy(text + 1 + 2 * i, i % 2 ? "\xCC\xA3" : "\xCC\x81", 2);
  all.size = 1 + 2 * 32;
  CHECK(syn_text_normalize(all, SYN_NFC, out, 2 * MANY) == all.size, "32 marks");
  CHECK(!memcmp(out, "\xE1\xBA\xB9\xCC\xA3", 5) && !memcmp(out + all.size - 2, "\xCC\x81", 2), "order");
  all.size = 1 + 2 * 34; /* two of them for themselves */
  CHECK(syn_text_normalize(all, SYN_NFC, out, 2 * MANY) == all.size, "34 marks");
  CHECK(!memcmp(out + all.size - 6, "\xCC\x81\xCC\xA3\xCC\x81", 6), "order of 34");
  all.size = 1 + 2 * MANY;
  CHECK(syn_text_normalize(all, SYN_NFC, out, 2 * MANY + 1) == all.size, "many marks");
  for (i = 0; i < MANY; i++) memcpy(text + 2 * i, i % 4 ? "\xCC\x81" : "\xCE\xA3", 2);
  all.size = 2 * MANY;
  CHECK(syn_text_normalize(all, SYN_LOWERCASE, out, 2 * MANY + 1) == all.size, "many sigmas");
  free(text);
  free(out);
}

/* Texts that differ in case and composition are the same tokens of every kind. */
static void test_flags(void) {
  static const char *const upper = "VI\xE1\xBB\x86T \xC4\xB0 \xCE\x9F\xCE\xA3";
  static const char *const apart = "vie\xCC\x82\xCC\xA3t i\xCC\x87 \xCE\xBF\xCF\x82";
  syn_text line = text_of(upper);
  syn_context c;
  test_memory m;
  int s, n, ids[2][64];
  char out[64];
  test_begin(&c, &m);
  for (s = 0; s < SPEC_ALL; s++) {
    syn_tokenizer *t = syn_tokenizer_learn(&c, SPECS[s], SYN_LOWERCASE | SYN_NFC, &line, 1);
    n = syn_tokenizer_encode(t, line, ids[0], 64);
    CHECK(t && syn_tokenizer_encode(t, text_of(apart), ids[1], 64) == n &&
          !memcmp(ids[0], ids[1], sizeof(int) * (size_t)n), "%s: other tokens", SPECS[s]);
    syn_tokenizer_decode(t, ids[1], n, out, sizeof out);
    CHECK(!strcmp(out, "vi\xE1\xBB\x87t i\xCC\x87 \xCE\xBF\xCF\x82"), "%s: \"%s\"", SPECS[s], out);
    n = syn_tokenizer_encode(t, text_of("\xC4\xB0\xC4\xB0\xF0\x9D\x85\xA0"), NULL, 0);
    CHECK(n <= 3 * 8 + 1, "%s: %d tokens of 8 bytes", SPECS[s], n);
    syn_tokenizer_free(t);
  }
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* Of n tokens, the part that is left of a text in `room`: what is not named has gone. */
static void cut_case(const syn_tokenizer *t, syn_text line, const int *all, int n, int room) {
  static const int cuts[] = {SYN_CUT_HEAD, SYN_CUT_TAIL, SYN_CUT_MIDDLE, SYN_CUT_NONE};
  int ids[65], k, i, same = 1, kept = room < n ? room : n, head;
  for (k = 0; k < 4; k++) {
    for (i = 0; i < 65; i++) ids[i] = -7;
    same = same && syn_tokenizer_cut(t, line, cuts[k], ids, room) == n;
    head = room >= n ? n : cuts[k] == SYN_CUT_HEAD ? 0 : cuts[k] == SYN_CUT_MIDDLE ? kept / 4 : kept;
    for (i = 0; i < 65; i++) same = same && ids[i] == (i >= kept ? -7 : i < head ? all[i] : all[n - kept + i]);
  }
  CHECK(same, "%s: %d tokens cut to %d", syn_tokenizer_type(t), n, room);
}

/* Texts with a TAB between keep a part each; bytes, so that a token is a letter and | the end. */
static void texts_are(const syn_tokenizer *t, const char *given, int cut, int room, const char *want) {
  int ids[40], i, n = (int)strlen(given), kept = (int)strlen(want);
  char got[41];
  memset(got, 0, sizeof got);
  for (i = 0; i < 40; i++) ids[i] = 0;
  CHECK(syn_tokenizer_cut(t, text_of(given), cut + SYN_CUT_TEXTS, ids, room) == n, "%s: %d tokens", given, n);
  for (i = 0; i < 40 && ids[i]; i++) got[i] = (char)(ids[i] == SYN_END ? '|' : ids[i] - SYN_FIRST_TOKEN);
  CHECK(kept == (room < n ? room : n) && !strcmp(got, want), "%s cut to %d: %s, wanted %s", given, room, got, want);
}
static void test_cut_texts(void) {
  syn_context c;
  syn_tokenizer *t;
  syn_context_init(&c, NULL);
  t = syn_tokenizer_learn(&c, "byte", 0, NULL, 0);
  texts_are(t, "abcdef\tuvwxyz", SYN_CUT_TAIL, 13, "abcdef|uvwxyz");
  texts_are(t, "abcdef\tuvwxyz", SYN_CUT_TAIL, 8, "abc|uvwx");
  texts_are(t, "abcdef\tuvwxyz", SYN_CUT_HEAD, 8, "def|wxyz");
  texts_are(t, "abcdefgh\tuvwxyz", SYN_CUT_MIDDLE, 9, "afgh|uxyz");
  texts_are(t, "abcdef\tuv", SYN_CUT_TAIL, 6, "abc|uv");
  texts_are(t, "ab\tuvwxyz", SYN_CUT_HEAD, 6, "ab|xyz");
  texts_are(t, "a\tbcdefgh\ti", SYN_CUT_TAIL, 7, "a|bcd|i");
  texts_are(t, "\tbcdefgh", SYN_CUT_TAIL, 4, "|bcd");
  texts_are(t, "bcdefgh\t", SYN_CUT_HEAD, 4, "fgh|");
  texts_are(t, "abcdef\tuvwxyz", SYN_CUT_TAIL, 3, "a|u");
  texts_are(t, "abcdef\tuvwxyz", SYN_CUT_HEAD, 2, "ab"); /* no room for both: the first tokens */
  texts_are(t, "\t\t\t\t\t\t", SYN_CUT_MIDDLE, 4, "||||");
  CHECK(syn_tokenizer_cut(NULL, text_of("a"), SYN_CUT_HEAD, NULL, -1) == 0, "no tokenizer");
  syn_tokenizer_free(t);
}

static void test_room(void) {
  static const char *const sample = "la la \xC3\xA4\xE2\x82\xAC lalala la";
  syn_context c;
  test_memory m;
  syn_text line = text_of(sample);
  int s, room, i, all[64], ids[65];
  char out[64];
  test_begin(&c, &m);
  for (s = 0; s < SPEC_COUNT; s++) {
    syn_tokenizer *t = syn_tokenizer_learn(&c, SPECS[s], 0, &line, 1);
    int n = t ? syn_tokenizer_encode(t, line, all, 64) : 0, same = 1;
    CHECK(t && n > 0, "%s", c.message);
    if (!t) continue;
    CHECK(syn_tokenizer_encode(t, line, ids, -1) == n, "%s: room -1", SPECS[s]);
    for (room = 0; room <= n; room++) {
      for (i = 0; i < 65; i++) ids[i] = -7;
      same = same && syn_tokenizer_encode(t, line, ids, room) == n;
      for (i = 0; i < 65; i++) same = same && ids[i] == (i < room ? all[i] : -7);
    }
    CHECK(same, "%s: ids of too little room", SPECS[s]);
    for (room = -1; room <= n + 1; room++) cut_case(t, line, all, n, room);
    CHECK(syn_tokenizer_decode(t, all, n, NULL, 0) == line.size, "%s: room 0", SPECS[s]);
    for (room = 1; room <= (int)line.size + 1; room++) {
      size_t kept;
      memset(out, 'x', sizeof out);
      same = same && syn_tokenizer_decode(t, all, n, out, (size_t)room) == line.size;
      kept = strlen(out);
      same = same && (int)kept < room && memcmp(out, sample, kept) == 0 && out[room] == 'x';
      same = same && (s == 0 || ((unsigned char)sample[kept] & 0xC0) != 0x80); /* whole characters */
    }
    CHECK(same, "%s: text of too little room", SPECS[s]);
    CHECK(syn_tokenizer_piece(t, SYN_END, 0).size == 0 && syn_tokenizer_piece(t, SYN_PAD, 1).size == 0 &&
          syn_tokenizer_piece(t, -5, 1).size == 3 && syn_tokenizer_piece(t, 1 << 30, 1).size == 3, "%s",
          SPECS[s]);
    syn_tokenizer_free(t);
  }
}

static void test_wrong_use(void) {
  static const char *const bad[] = {"", "bpe", "bpe:", "bpe:4", "bpe:x", "bpe:10x", "bpe:-10",
                                    "bpe:99999999999999999999", "bpe:16777217", "chars", "cha",
                                    "byte:300"};
  syn_context c;
  test_memory m;
  int i;
  test_begin(&c, &m);
  for (i = 0; i < 12; i++) {
    syn_context_clear(&c);
    CHECK(!syn_tokenizer_learn(&c, bad[i], 0, NULL, 0) && c.status == SYN_E_VALUE, "\"%s\"",
          bad[i]);
    CHECK(strstr(c.message, "wanted") != NULL, "\"%s\"", c.message);
  }
  CHECK(!syn_tokenizer_learn(&c, NULL, 0, NULL, 0), "no spec");
  CHECK(!syn_tokenizer_learn(&c, "char", 8, NULL, 0), "flags 8");
  syn_tokenizer_free(NULL);
  CHECK(m.calls == 0, "%ld allocations", m.calls);
}

/* -- saved forms -- */

static const char *const SMALL = "low lower lowest \xC3\xA4\xE2\x82\xAC low";

/* A fresh block of exactly the saved size, for a sanitizer to see a read behind it. */
static unsigned char *saved(const syn_tokenizer *t, size_t *size) {
  unsigned char *bytes;
  *size = syn_tokenizer_save(t, NULL, 0);
  bytes = (unsigned char *)malloc(*size);
  if (bytes) syn_tokenizer_save(t, bytes, *size);
  return bytes;
}

/* The alphabet of a small bpe: the space and all characters, or an error that says how many. */
static void test_alphabet(void) {
  static const int want[] = {4, 8, 7, 6};
  syn_context c;
  test_memory m;
  syn_text line = text_of("zzzzbbbbyya");
  syn_tokenizer *t;
  test_begin(&c, &m);
  t = syn_tokenizer_learn(&c, "bpe:9", 0, &line, 1);
  CHECK(t && syn_tokenizer_size(t) == 9, "%s", c.message);
  if (t) check_ids(t, text_of("zyb"), want, 4);
  syn_tokenizer_free(t);
  CHECK(!syn_tokenizer_learn(&c, "bpe:8", 0, &line, 1) && c.status == SYN_E_VALUE, "no room");
  CHECK(strstr(c.message, "have 5 characters") && strstr(c.message, "SIZE 9 or"), "%s", c.message);
  syn_context_clear(&c);
  line.size = 0;
  t = syn_tokenizer_learn(&c, "bpe:5", 0, &line, 1);
  CHECK(t && syn_tokenizer_size(t) == 5 && comes_back(t, text_of("   ")), "only the space");
  syn_tokenizer_free(t);
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* A text of `many` characters from U+4E00 on, each so often that a smaller one is more frequent. */
static size_t write_many(char *out, int many) {
  size_t size = 0;
  int i, k;
  for (k = 1; k <= 64; k *= 2)
    for (i = 0; i < many / k; i++) {
      size += put(out + size, 0x4E00 + (uint32_t)i);
      if (i % 7 == 6) out[size++] = ' ';
    }
  return size;
}

/* More characters than fit: the frequent ones are tokens, the others are bytes, nothing is unknown. */
static void test_many_characters(void) {
  enum { MANY = 6000 };
  static char text[8 * MANY], out[8 * MANY];
  static int ids[8 * MANY];
  static const char *const others[] = {"", "ab \xF0\x9F\x98\x80!", "\xFF\xE4\xB8 \xC3", "\xE9\xBF\xBF\xCC\x81\n"};
  syn_context c;
  test_memory m;
  syn_text line;
  syn_tokenizer *t, *u;
  size_t i, size;
  int n, k, bytes = 0, unknown = 0;
  unsigned char *file;
  test_begin(&c, &m);
  line.at = text;
  line.size = write_many(text, MANY);
  t = syn_tokenizer_learn(&c, "bpe:4000", 0, &line, 1);
  CHECK(t && syn_tokenizer_size(t) <= 4000, "%d tokens: %s", syn_tokenizer_size(t), c.message);
  n = syn_tokenizer_encode(t, line, ids, 8 * MANY);
  CHECK(syn_tokenizer_decode(t, ids, n, out, sizeof out) == line.size && !memcmp(out, text, line.size),
        "the text does not come back");
  for (k = 0; k < n; k++) unknown += ids[k] == SYN_UNKNOWN, bytes += ids[k] < 260;
  CHECK(unknown == 0 && bytes > 3 * 4000 && n < (int)line.size, "%d tokens, %d unknown, %d bytes", n, unknown, bytes);
  for (k = 4; k < 264; k++) {
    syn_text piece = syn_tokenizer_piece(t, k, 0);
    CHECK(k < 260 ? piece.size == 1 && (unsigned char)piece.at[0] == k - 4 : piece.size == 3, "token %d", k);
  }
  for (k = 4 + 256; k < syn_tokenizer_size(t); k++)
    CHECK(!syn_text_invalid(syn_tokenizer_piece(t, k, 0)), "token %d is a part of a character", k);
  file = saved(t, &size);
  u = syn_tokenizer_load(&c, file, size);
  CHECK(u && same_bytes(t, u), "%s", c.message);
  for (i = 0; i < 4; i++) {
    CHECK(comes_back(t, text_of(others[i])) && comes_back(u, text_of(others[i])), "text %d", (int)i);
    n = syn_tokenizer_encode(u, text_of(others[i]), ids, 64);
    for (k = 0; k < n; k++) CHECK(ids[k] != SYN_UNKNOWN, "text %d: unknown token %d", (int)i, k);
  }
  syn_tokenizer_free(u);
  syn_tokenizer_free(t);
  free(file);
  line.size = write_many(text, 255); /* with the space and the fixed ones half of 520 */
  t = syn_tokenizer_learn(&c, "bpe:520", 0, &line, 1);
  CHECK(t && syn_tokenizer_piece(t, 5, 0).size == 3, "255 characters fit into half of 520");
  syn_tokenizer_free(t);
  line.size = write_many(text, 256);
  t = syn_tokenizer_learn(&c, "bpe:520", 0, &line, 1);
  CHECK(t && syn_tokenizer_piece(t, 5, 0).size == 1 && comes_back(t, line), "256 do not");
  syn_tokenizer_free(t);
  t = syn_tokenizer_learn(&c, "bpe:519", 0, &line, 1);
  CHECK(t && syn_tokenizer_piece(t, 5, 0).size == 3, "519 has no bytes");
  syn_tokenizer_free(t);
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* Loads damaged bytes: an error with its text, or a tokenizer that works. */
static int survives(syn_context *c, const unsigned char *bytes, size_t size) {
  int ids[64], n, i, ok;
  char out[256];
  syn_tokenizer *t;
  syn_context_clear(c);
  t = syn_tokenizer_load(c, bytes, size);
  if (!t) return c->status == SYN_E_FORMAT && c->message[0];
  n = syn_tokenizer_encode(t, text_of(SMALL), ids, 64);
  ok = c->status == SYN_OK && n > 0 && n < 64;
  for (i = 0; i < n && ok; i++) ok = ids[i] > 0 && ids[i] < syn_tokenizer_size(t);
  if (ok) syn_tokenizer_decode(t, ids, n, out, sizeof out);
  for (i = -1; i <= syn_tokenizer_size(t); i++) syn_tokenizer_piece(t, i, 1);
  syn_tokenizer_free(t);
  return ok;
}

static void test_damaged(syn_context *c, const unsigned char *bytes, size_t size) {
  size_t cut, bit, step = CHECK_QUICK ? 7 : 1;
  int ok = 1;
  for (cut = 0; cut < size && ok; cut += step) {
    unsigned char *part = (unsigned char *)malloc(cut ? cut : 1);
    if (!part) return;
    memcpy(part, bytes, cut);
    ok = survives(c, part, cut) && c->status != SYN_OK;
    free(part);
  }
  CHECK(ok, "cut to %d of %d bytes: %s", (int)cut, (int)size, c->message);
  for (bit = 0; bit < size * 8 && ok; bit += step) {
    unsigned char *flipped = (unsigned char *)malloc(size);
    if (!flipped) return;
    memcpy(flipped, bytes, size);
    flipped[bit / 8] = (unsigned char)(flipped[bit / 8] ^ 1u << bit % 8);
    ok = survives(c, flipped, size);
    free(flipped);
  }
  CHECK(ok, "bit %d flipped: %s", (int)bit, c->message);
}

/* A vocabulary in which one piece is there twice. */
static void test_twice(const char *spec, const char *lines) {
  syn_context c;
  test_memory m;
  syn_text line = text_of(lines);
  syn_tokenizer *t;
  unsigned char *bytes;
  size_t size = 0;
  test_begin(&c, &m);
  t = syn_tokenizer_learn(&c, spec, 0, &line, 1);
  bytes = t ? saved(t, &size) : NULL;
  syn_tokenizer_free(t);
  CHECK(bytes && bytes[size - 1] == 'b', "%s: the last piece is not b", spec);
  if (!bytes) return;
  bytes[size - 1] = 'a';
  CHECK(!syn_tokenizer_load(&c, bytes, size) && c.status == SYN_E_FORMAT, "%s: twice a", spec);
  CHECK(m.live == 0, "%ld blocks left", m.live);
  free(bytes);
}

static void test_saved(void) {
  static char text[ROOM];
  syn_context c;
  test_memory m;
  syn_text line = text_of(SMALL), other;
  syn_random r = {5};
  int k, round, a[512], b[512], n;
  test_begin(&c, &m);
  other.at = text;
  for (k = 0; k < 8 * SPEC_ALL; k++) { /* every kind with every flag */
    int s = k / 8, flags = k % 8;
    syn_tokenizer *t = syn_tokenizer_learn(&c, SPECS[s], flags, &line, 1), *u;
    size_t size = 0;
    unsigned char *bytes = t ? saved(t, &size) : NULL;
    CHECK(bytes != NULL, "%s: not saved: %s", SPECS[s], c.message);
    if (!bytes) continue;
    CHECK(syn_tokenizer_save(t, text, size - 1) == size, "%s: room - 1", SPECS[s]);
    u = syn_tokenizer_load(&c, bytes, size);
    CHECK(u && same_bytes(t, u), "%s: %s", SPECS[s], c.message);
    CHECK(u && strcmp(syn_tokenizer_type(u), SPECS[s]) == 0 && syn_tokenizer_flags(u) == flags &&
          syn_tokenizer_size(u) == syn_tokenizer_size(t), "%s: other facts", SPECS[s]);
    for (round = 0; u && round < 100; round++) {
      other.size = random_text(&r, text, 100);
      n = syn_tokenizer_encode(t, other, a, 512);
      CHECK(syn_tokenizer_encode(u, other, b, 512) == n && memcmp(a, b, sizeof(int) * (size_t)n) == 0,
            "%s: encodes otherwise", SPECS[s]);
    }
    syn_tokenizer_free(u);
    if (flags == 1 || flags == 2) test_damaged(&c, bytes, size);
    syn_context_clear(&c);
    memset(text, 0, sizeof text);
    memcpy(text, bytes, size);
    CHECK(!syn_tokenizer_load(&c, text, size + 1) && c.status == SYN_E_FORMAT, "%s: a byte more",
          SPECS[s]);
    syn_context_clear(&c);
    syn_tokenizer_free(t);
    free(bytes);
  }
  syn_context_clear(&c);
  CHECK(!syn_tokenizer_load(&c, NULL, 0) && c.status == SYN_E_FORMAT, "no bytes");
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* -- words that someone chose -- */

/* Writes `count` words of 8 letters, some to a line. Chosen: the first places of all lie in 1/64 of a
   table of 2^k places for twice as many entries, where a map with linear probing has one long run. */
static size_t write_words(char *out, int count, int chosen) {
  uint64_t table = 64, number = 1, n, h;
  size_t size = 0;
  int words = 0, i;
  while (table < (uint64_t)count * 2) table *= 2;
  for (; words < count; number++) {
    syn_random mixed;
    out[size] = ' ';
    for (i = 1, n = number; i < 9; i++, n /= 26) out[size + (size_t)i] = (char)('a' + (int)(n % 26));
    h = syn_hash(SYN_HASH_START, out + size, 9);
    mixed.state = h - UINT64_C(0x9E3779B97F4A7C15); /* the next number of this state is h, mixed */
    if (chosen && (syn_random_next(&mixed) & (table - 1)) >= table / 64) continue;
    size += 9;
    words++;
  }
  return size;
}

/* The seconds that learning, encoding and loading take. */
static double seconds_of(const char *spec, const char *text, size_t size) {
  syn_context c;
  syn_text line;
  syn_tokenizer *t, *u;
  size_t bytes;
  unsigned char *file;
  clock_t begin = clock();
  syn_context_init(&c, NULL);
  line.at = text;
  line.size = size;
  t = syn_tokenizer_learn(&c, spec, 0, &line, 1);
  syn_tokenizer_encode(t, line, NULL, 0);
  file = saved(t, &bytes);
  u = syn_tokenizer_load(&c, file, bytes);
  CHECK(u != NULL, "%s", c.message);
  syn_tokenizer_free(t);
  syn_tokenizer_free(u);
  free(file);
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static void test_chosen(void) {
  enum { WORDS = 30000 };
  static char text[9 * WORDS + 9];
  double plain = seconds_of("space", text, write_words(text, WORDS, 0));
  double chosen = seconds_of("space", text, write_words(text, WORDS, 1));
  CHECK(chosen < 8 * plain + 0.1, "%.2f s, words that nobody chose %.2f s", chosen, plain);
}

/* Texts of one 64-bit hash are told apart: with a common begin or end, one inside the other's
   length. */
static void test_collision(void) {
  static const char *const a = "8yn0iYCKYHlIj4-BwPqk", *const b = "GReLUrM4wMqfg9yzV3KQ";
  syn_context c;
  test_memory m;
  char text[6][40];
  syn_text lines[6];
  syn_tokenizer *t, *u;
  unsigned char *file;
  size_t size;
  int i, ids[6], id;
  test_begin(&c, &m);
  CHECK(syn_hash(SYN_HASH_START, a, 20) == syn_hash(SYN_HASH_START, b, 20), "no collision");
  for (i = 0; i < 6; i++) {
    sprintf(text[i], "%s%.*s", i % 2 ? a : b, i / 2, "xyz");
    lines[i] = text_of(text[i]);
  }
  t = syn_tokenizer_learn(&c, "line", 0, lines, 5);
  CHECK(t && syn_tokenizer_size(t) == 9, "%d tokens", syn_tokenizer_size(t));
  file = saved(t, &size);
  u = syn_tokenizer_load(&c, file, size);
  CHECK(u && same_bytes(t, u), "%s", c.message);
  for (i = 0; i < 6; i++) {
    syn_tokenizer_encode(u, lines[i], &ids[i], 1);
    CHECK(i == 5 ? ids[i] == SYN_UNKNOWN : ids[i] > 3, "text %d is %d", i, ids[i]);
    for (id = 0; id < i; id++) CHECK(ids[i] != ids[id], "texts %d and %d are one token", i, id);
  }
  syn_tokenizer_free(t);
  syn_tokenizer_free(u);
  free(file);
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* -- any text of Unicode -- */

/* A character, or bytes that are none: of all planes, of marks, white space, cased letters. */
static size_t random_piece(syn_random *r, char *out) {
  static const char *const pieces[] = {" ", "  ", "\n", "\r\n", "\t", "\xC2\xA0", "\xE3\x80\x80", "the",
                                       "THE", "\xCE\xA3", "\xC4\xB0", "e\xCC\x81", "\xEF\xBB\xBF", "'", "\xE2\x80\xA8"};
  static const uint32_t from[] = {0x21, 0x41, 0xC0, 0x300, 0x370, 0x1100, 0x1EA0, 0xAC00, 0x4E00, 0xF900, 0x10400, 0x1D15E,
                                  0x900, 0x1};
  static const int many[] = {94, 58, 400, 112, 400, 256, 96, 11172, 400, 400, 80, 7, 400, 0xD7FF};
  int k = syn_random_below(r, 40), i;
  uint32_t ch;
  if (k < 15) return strlen(strcpy(out, pieces[k]));
  if (k < 29) return put(out, from[k - 15] + (uint32_t)syn_random_below(r, many[k - 15]));
  if (k < 31) return out[0] = (char)(128 + syn_random_below(r, 128)), (size_t)1;
  if (k < 33) {
    ch = 0xE000 + (uint32_t)syn_random_below(r, 0x110000 - 0xE000);
    return put(out, ch);
  }
  for (i = 0; i < 4; i++) out[i] = (char)('a' + syn_random_below(r, 6));
  return 4;
}

/* What a tokenizer that knows the characters, words or lines makes of a text. */
static syn_text known_text(const syn_tokenizer *t, syn_text text, char *out, char *words) {
  const char *type = syn_tokenizer_type(t);
  syn_text last = syn_tokenizer_piece(t, 259, 0), made;
  int bytes = !strcmp(type, "byte") || !strcmp(type, "line") || (last.size == 1 && last.at[0] == '\xFF');
  size_t i, n = 0;
  if (text.size >= 3 && !memcmp(text.at, "\xEF\xBB\xBF", 3)) text.at += 3, text.size -= 3;
  made.size = syn_text_normalize(text, syn_tokenizer_flags(t), words, ROOM);
  made.at = words;
  if (!strcmp(type, "space")) return words_of(made, out);
  if (bytes || !syn_text_invalid(made)) return made;
  for (i = 0; i < made.size; i++) { /* a byte at a time: one that makes no character is U+FFFD */
    syn_text one = made;
    size_t k;
    one.at += i;
    for (k = 1; k <= 4 && k <= made.size - i; k++) {
      one.size = k;
      if (!syn_text_invalid(one)) break;
    }
    if (k <= 4 && k <= made.size - i) {
      memcpy(out + n, one.at, k);
      n += k, i += k - 1;
    } else {
      memcpy(out + n, "\xEF\xBF\xBD", 3);
      n += 3;
    }
  }
  made.at = out;
  made.size = n;
  return made;
}

typedef struct small_model {
  char *at;
  size_t size, room;
  char *ram;
  syn_small *s;
} small_model;

static size_t small_put(void *user, const void *bytes, size_t size) {
  small_model *m = (small_model *)user;
  if (m->size + size > m->room) {
    m->room = 2 * (m->size + size);
    m->at = (char *)realloc(m->at, m->room);
  }
  if (!m->at) return 0;
  memcpy(m->at + m->size, bytes, size);
  m->size += size;
  return size;
}

/* A small model of this task with the tokenizer, which it takes over; s is null: refused. */
static void small_begin(small_model *b, syn_context *c, const char *task, syn_tokenizer *t) {
  syn_config k;
  syn_model *m;
  syn_small_options options;
  syn_sink sink = {small_put, NULL};
  const int lm = !strcmp(task, "lm"), both = lm || !strcmp(task, "seq2seq");
  syn_text labels[2];
  long ram;
  labels[0] = text_of("x"), labels[1] = text_of("y");
  memset(b, 0, sizeof *b);
  memset(&k, 0, sizeof k);
  memset(&options, 0, sizeof options);
  sink.user = b;
  options.tokenizers = 1;
  k.task = task;
  if (!lm) k.encoder = "id", k.src_vocab = syn_tokenizer_size(t);
  if (both) k.decoder = lm ? "id" : "mh_dot_att", k.tgt_vocab = syn_tokenizer_size(t);
  else k.classes = !strcmp(task, "tag") ? 3 : 2;
  k.d_model = 8, k.heads = 1, k.max_len = 16;
  m = syn_model_new(c, &k);
  syn_model_set_tokenizers(m, lm ? NULL : t, both ? t : syn_tokenizer_learn(c, "line", 0, labels, 2));
  if (m && syn_small_write(c, m, &options, &sink) == SYN_OK) {
    ram = syn_small_ram(b->at, b->size, NULL);
    b->ram = (char *)malloc(ram > 0 ? (size_t)ram : 1);
    if (ram > 0) b->s = syn_small_open(b->ram, (size_t)ram, b->at, b->size, NULL, NULL);
  }
  syn_model_free(m);
}

static void small_end(small_model *b) {
  free(b->ram);
  free(b->at);
}

/* Every text through a tokenizer of each kind with each flag, learned from all texts: the documented
   text comes back, whether it was saved or not; a small model has the same tokens. TEXTS: how many. */
static void test_any_text(void) {
  const char *asked = getenv("TEXTS");
  int count = asked ? atoi(asked) : CHECK_QUICK ? 50 : 500, i, k, n, wrong = 0, small_wrong = 0, smalls = 0;
  static const char *const specs[] = {"byte", "char", "space", "bpe:4000", "bpe:60000", "line"};
  static const int flags[] = {0, SYN_LOWERCASE, SYN_NFC, SYN_LOWERCASE | SYN_NFC};
  static int ids[ROOM], small_ids[ROOM];
  static char out[ROOM], want[ROOM], words[ROOM];
  char *block = (char *)malloc((size_t)count * 256), *at = block;
  syn_text *texts = (syn_text *)malloc((size_t)count * sizeof *texts);
  syn_random r = {36};
  syn_context c;
  if (!block || !texts) abort();
  for (i = 0; i < count; i++) {
    texts[i].at = at;
    for (n = syn_random_below(&r, 40), k = 0; k < n; k++) at += random_piece(&r, at);
    texts[i].size = (size_t)(at - texts[i].at);
  }
  syn_context_init(&c, NULL);
  for (k = 0; k < 24; k++) {
    syn_tokenizer *t = syn_tokenizer_learn(&c, specs[k / 4], flags[k % 4], texts, (size_t)count);
    small_model b;
    size_t size;
    unsigned char *file = saved(t, &size);
    int composes = flags[k % 4] & SYN_NFC;
    syn_tokenizer *u = syn_tokenizer_load(&c, file, size);
    CHECK(t && u && same_bytes(t, u), "%s: %s", specs[k / 4], c.message);
    small_begin(&b, &c, "lm", u);
    CHECK(!b.s == (composes || syn_tokenizer_size(t) > 65000), "%s, flags %d: %s", specs[k / 4], flags[k % 4], c.message);
    if (composes) CHECK(strstr(c.message, "without it") != NULL, "%s", c.message);
    syn_context_clear(&c);
    for (i = 0; i < count; i++) {
      const syn_text text = texts[i], wanted = known_text(t, text, want, words);
      n = syn_tokenizer_encode(t, text, ids, ROOM);
      CHECK(n <= (int)text.size * (flags[k % 4] ? 3 : 1) + 1, "%d tokens of %d bytes", n, (int)text.size);
      size = syn_tokenizer_decode(t, ids, n, out, sizeof out);
      if (size != wanted.size || memcmp(out, wanted.at, size)) {
        if (!wrong++) CHECK(0, "%s, flags %d, text %d: %s wanted %.*s", specs[k / 4], flags[k % 4], i, out, (int)wanted.size, wanted.at);
      }
      if (b.s) {
        smalls++;
        small_wrong += syn_small_encode(b.s, text, small_ids, ROOM) != n || memcmp(ids, small_ids, (size_t)n * sizeof *ids);
      }
    }
    small_end(&b);
    syn_tokenizer_free(t);
    free(file);
  }
  CHECK(!wrong && !small_wrong && smalls > 6 * count, "%d texts do not come back, %d of %d are other in a small model", wrong,
        small_wrong, smalls);
  if (asked) printf("%d texts, 24 tokenizers: %d differences; %d in a small model: %d\n", count, wrong, smalls, small_wrong);
  free(texts);
  free(block);
}

/* The tokens of a small model in room for none, one, all but one, all; a null place for none. */
static void test_small_room(void) {
  static const char *const tasks[] = {"lm", "seq2seq", "classify", "tag"};
  syn_context c;
  syn_text line = text_of("low \xC3\xA4" "b low");
  int i, k, n, room, ids[40], all[40];
  syn_context_init(&c, NULL);
  for (k = 0; k < 4 * SPEC_ALL; k++) {
    const char *task = tasks[k % 4];
    const int end = k % 4 == 1 || k % 4 == 2;
    small_model b;
    small_begin(&b, &c, task, syn_tokenizer_learn(&c, SPECS[k / 4], 0, &line, 1));
    CHECK(b.s != NULL, "%s %s: %s", task, SPECS[k / 4], c.message);
    if (!b.s) continue;
    n = syn_small_encode(b.s, line, all, 40);
    CHECK(n > end && (!end || all[n - 1] == SYN_END), "%s %s: %d tokens", task, SPECS[k / 4], n);
    CHECK(syn_small_encode(b.s, line, NULL, 0) == SYN_SMALL_E_VALUE, "%s: no place", task);
    CHECK(syn_small_encode(b.s, line, NULL, 5) == SYN_SMALL_E_VALUE, "%s: a null place", task);
    for (room = -1; room <= n + 12; room++) {
      int got;
      for (i = 0; i < 40; i++) ids[i] = -7;
      got = syn_small_encode(b.s, line, ids + 1, room);
      for (i = 1 + (room > 0 ? room : 0); i < 40; i++) CHECK(ids[i] == -7, "%s: wrote behind %d", task, room);
      CHECK(ids[0] == -7 && (got == n || (got == SYN_SMALL_E_VALUE && room < n + 12)), "%s %s: %d in room for %d", task,
            SPECS[k / 4], got, room);
      CHECK(got != n || !memcmp(ids + 1, all, (size_t)n * sizeof *all), "%s: other tokens", task);
      if (strncmp(SPECS[k / 4], "bpe", 3)) CHECK((got == n) == (room >= n), "%s: %d in %d", task, got, room);
    }
    n = syn_small_encode(b.s, text_of(""), ids, 0);
    CHECK(n == (end ? SYN_SMALL_E_VALUE : 0), "%s: an empty text in no room: %d", task, n);
    CHECK(syn_small_encode(b.s, text_of(""), ids, 1) == end, "%s: an empty text in room for one", task);
    small_end(&b);
  }
}

/* -- no memory -- */

static void test_no_memory(void) {
  syn_context c;
  test_memory m;
  syn_text line = text_of(SMALL);
  int s;
  long fail;
  for (s = 0; s < SPEC_ALL; s++) {
    size_t size = 0;
    unsigned char *bytes;
    syn_tokenizer *t = NULL;
    for (fail = 1; !t && fail < 1000; fail++) {
      test_begin(&c, &m);
      m.fail_at = fail;
      t = syn_tokenizer_learn(&c, SPECS[s], s % 2 ? SYN_SENTINELS : 0, &line, 1);
      CHECK(t ? m.calls < fail : c.status == SYN_E_MEMORY && m.live == 0,
            "%s: allocation %ld fails: %ld left, %s", SPECS[s], fail, m.live, c.message);
    }
    CHECK(t != NULL && fail > 5, "%s: %ld", SPECS[s], fail);
    bytes = t ? saved(t, &size) : NULL;
    syn_tokenizer_free(t);
    CHECK(m.live == 0, "%ld blocks left", m.live);
    for (t = NULL, fail = 1; bytes && !t && fail < 1000; fail++) {
      test_begin(&c, &m);
      m.fail_at = fail;
      t = syn_tokenizer_load(&c, bytes, size);
      CHECK(t ? m.calls < fail : c.status == SYN_E_MEMORY && m.live == 0,
            "%s: loading, allocation %ld fails: %ld left, %s", SPECS[s], fail, m.live, c.message);
    }
    CHECK(t != NULL, "%s: never loaded", SPECS[s]);
    syn_tokenizer_free(t);
    free(bytes);
  }
}

/* -- line, sentinels -- */

/* A whole text is one token, in order of the bytes; an empty one is none. */
static void test_lines(void) {
  static const char *const texts[] = {"yes", "no", "not at all\tnever", "no", "", "\xC3\xA4", " no"};
  static const char *const sorted[] = {" no", "no", "not at all\tnever", "yes", "\xC3\xA4"};
  syn_context c;
  test_memory m;
  syn_text lines[7];
  syn_tokenizer *t;
  int i, id, ids[2];
  char out[40];
  test_begin(&c, &m);
  for (i = 0; i < 7; i++) lines[i] = text_of(texts[i]);
  t = syn_tokenizer_learn(&c, "line", 0, lines, 7);
  CHECK(t && syn_tokenizer_size(t) == 9, "%d tokens: %s", syn_tokenizer_size(t), c.message);
  for (i = 0; i < 5; i++) {
    CHECK(syn_tokenizer_encode(t, text_of(sorted[i]), ids, 2) == 1 && ids[0] == 4 + i,
          "%s is %d", sorted[i], ids[0]);
    id = 4 + i;
    syn_tokenizer_decode(t, &id, 1, out, sizeof out);
    CHECK(strcmp(out, sorted[i]) == 0, "%d is %s", id, out);
  }
  CHECK(syn_tokenizer_encode(t, text_of("no "), ids, 2) == 1 && ids[0] == SYN_UNKNOWN, "a new line");
  CHECK(syn_tokenizer_encode(t, text_of(""), ids, 2) == 0, "an empty line");
  syn_tokenizer_free(t);
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* They stand behind the vocabulary, can be read, and no text is encoded to them. */
static void test_sentinels(void) {
  syn_context c;
  test_memory m;
  syn_text line = text_of("a b <0> c <99>");
  int s, i, n, first, plain, ids[64], marked[3];
  char out[64];
  test_begin(&c, &m);
  for (s = 0; s < SPEC_ALL; s++) {
    syn_tokenizer *t = syn_tokenizer_learn(&c, SPECS[s], SYN_SENTINELS, &line, 1);
    syn_tokenizer *u = syn_tokenizer_learn(&c, SPECS[s], 0, &line, 1);
    plain = syn_tokenizer_size(u);
    CHECK(syn_tokenizer_sentinels(u, &first) == 0 && first == plain, "%s: %d", SPECS[s], first);
    CHECK(syn_tokenizer_sentinels(t, &first) == 100 && first == plain &&
          syn_tokenizer_size(t) == plain + 100, "%s: from %d, %d in all", SPECS[s], first,
          syn_tokenizer_size(t));
    n = syn_tokenizer_encode(t, line, ids, 64);
    for (i = 0; i < n; i++) CHECK(ids[i] < first, "%s: token %d is %d", SPECS[s], i, ids[i]);
    marked[0] = first, marked[1] = ids[0], marked[2] = first + 99;
    syn_tokenizer_decode(t, marked, 3, out, sizeof out);
    CHECK(strncmp(out, "<0>", 3) == 0 && strstr(out + 3, "<99>"), "%s: %s", SPECS[s], out);
    syn_tokenizer_free(t);
    syn_tokenizer_free(u);
  }
  CHECK(syn_tokenizer_sentinels(NULL, &first) == 0 && first == 0, "no tokenizer");
  CHECK(m.live == 0, "%ld blocks left", m.live);
}

/* A byte order mark before a text changes nothing, in learning as in encoding; inside a text it is a character. */
static void test_mark(void) {
  static const char *const specs[] = {"byte", "char", "space", "line", "bpe:30"};
  static const char mark[] = "\xEF\xBB\xBF";
  syn_text plain[2], marked[2], inside;
  char text[2][40];
  int s, i;
  plain[0] = text_of("ab abc"), plain[1] = text_of("abc b");
  for (i = 0; i < 2; i++) {
    sprintf(text[i], "%s%s", mark, plain[i].at);
    marked[i] = text_of(text[i]);
  }
  inside = text_of("ab\xEF\xBB\xBF abc");
  for (s = 0; s < 5; s++) {
    unsigned char saved[2][4000];
    int ids[2][40], n[2];
    size_t size[2];
    syn_context c;
    syn_tokenizer *t, *u;
    syn_context_init(&c, NULL);
    t = syn_tokenizer_learn(&c, specs[s], 0, plain, 2);
    u = syn_tokenizer_learn(&c, specs[s], 0, marked, 2);
    size[0] = syn_tokenizer_save(t, saved[0], sizeof saved[0]);
    size[1] = syn_tokenizer_save(u, saved[1], sizeof saved[1]);
    CHECK(t && u && size[0] == size[1] && size[0] <= sizeof saved[0] && !memcmp(saved[0], saved[1], size[0]),
          "%s learns the mark: %s", specs[s], c.message);
    n[0] = syn_tokenizer_encode(t, plain[0], ids[0], 40);
    n[1] = syn_tokenizer_encode(t, marked[0], ids[1], 40);
    CHECK(n[0] == n[1] && !memcmp(ids[0], ids[1], (size_t)n[0] * sizeof(int)), "%s: %d tokens, with a mark %d",
          specs[s], n[0], n[1]);
    n[0] = syn_tokenizer_encode(t, text_of(mark), ids[0], 40);
    n[1] = syn_tokenizer_encode(t, text_of(""), ids[0], 40);
    CHECK(n[0] == n[1], "%s: a mark alone is %d tokens", specs[s], n[0]);
    n[0] = syn_tokenizer_encode(t, inside, ids[0], 40);
    n[1] = syn_tokenizer_encode(t, plain[0], ids[1], 40);
    CHECK(n[0] != n[1] || memcmp(ids[0], ids[1], (size_t)n[0] * sizeof(int)), "%s: a mark inside is lost", specs[s]);
    syn_tokenizer_free(t);
    syn_tokenizer_free(u);
  }
}

/* Null objects give nothing, as the manual promises. */
static void test_null(void) {
  char out[4] = "abc";
  syn_text none = {NULL, 0};
  syn_context c;
  int id = SYN_UNKNOWN;
  syn_context_init(&c, NULL);
  CHECK(!syn_tokenizer_learn(NULL, "byte", 0, NULL, 0), "no context");
  CHECK(!syn_tokenizer_load(NULL, out, sizeof out), "no context");
  CHECK(!syn_tokenizer_learn(&c, "char", 0, NULL, 3) && c.status == SYN_E_VALUE, "no lines");
  CHECK(syn_tokenizer_size(NULL) == 0 && syn_tokenizer_flags(NULL) == 0, "no tokenizer");
  CHECK(!*syn_tokenizer_type(NULL) && syn_tokenizer_piece(NULL, id, 1).size == 0, "no texts");
  CHECK(syn_tokenizer_encode(NULL, none, &id, 1) == 0 && id == SYN_UNKNOWN, "no ids");
  CHECK(syn_tokenizer_decode(NULL, &id, 1, out, sizeof out) == 0 && !*out, "no text");
  CHECK(syn_tokenizer_save(NULL, out, sizeof out) == 0, "no bytes");
}

int main(void) {
  test_mark();
  test_null();
  test_by_hand();
  test_plain();
  test_long_words();
  test_round_trips();
  test_order_of_lines();
  test_words();
  test_alphabet();
  test_many_characters();
  test_utf8();
  test_lower();
  test_normalize();
  test_next();
  test_next_word();
  test_visible();
  test_all_characters();
  test_white();
  test_marks();
  test_flags();
  test_room();
  test_wrong_use();
  test_saved();
  test_twice("char", "ab");
  test_twice("space", "a b");
  test_twice("bpe:10", "ab");
  test_chosen();
  test_collision();
  test_any_text();
  test_small_room();
  test_no_memory();
  test_lines();
  test_sentinels();
  test_cut_texts();
  return CHECK_END("text");
}
