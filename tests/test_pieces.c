/* test_pieces.c   the tokenizers of published models, on small made-up vocabularies: beside plain
   programs, by hand, saved and damaged, numbers of their files, too little memory. */
#ifndef TEST_LINKED /* the Makefile links it to linked.c */
#define SYNTHESIZER_IMPLEMENTATION
#endif
#include "../synthesizer.h"

#include "check.h"
#include <string.h>

/* -- helpers -- */

enum { MOST = 700, NAME = 24, ROOM = 20000 };

/* The parts of a tokenizer with their memory. */
typedef struct parts {
  syn_tokenizer_parts from;
  char names[MOST][NAME];
  syn_text tokens[MOST];
  float scores[MOST];
  unsigned char types[MOST];
  int merges[2 * MOST];
} parts;

static parts *parts_new(const char *kind, int options) {
  parts *p = (parts *)calloc(1, sizeof *p);
  int i;
  if (!p) exit(1);
  p->from.kind = kind;
  p->from.options = options;
  p->from.tokens = p->tokens;
  p->from.types = p->types;
  p->from.merges = p->merges;
  for (i = 0; i < 4; i++) p->from.special[i] = -1;
  return p;
}

static int add(parts *p, const char *name, float score, int type) {
  const int i = (int)p->from.count++;
  snprintf(p->names[i], NAME, "%s", name);
  p->tokens[i] = syn_text_of(p->names[i]);
  p->scores[i] = score;
  p->types[i] = (unsigned char)type;
  return i;
}

static int find(const parts *p, const char *name) {
  int i;
  for (i = 0; i < (int)p->from.count; i++)
    if (!strcmp(p->names[i], name)) return i;
  return -1;
}

/* Merges the tokens a and b to a new one, or to one that is there. */
static void merge(parts *p, int a, int b) {
  char name[2 * NAME];
  snprintf(name, sizeof name, "%s%s", p->names[a], p->names[b]);
  if (strlen(name) >= NAME) return;
  if (find(p, name) < 0) add(p, name, 0, SYN_PIECE_NORMAL);
  p->merges[2 * p->from.n_merges] = a;
  p->merges[2 * p->from.n_merges++ + 1] = b;
}

static void letter_of(int byte, char *out) {
  int next = 256, i, code = byte;
  for (i = 0; i <= byte; i++) {
    int shown = (i > 32 && i < 127) || (i > 160 && i < 256 && i != 173);
    code = shown ? i : next++;
  }
  if (code < 128) out[0] = (char)code, out[1] = 0;
  else out[0] = (char)(0xC0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), out[2] = 0;
}

static parts *letters(int options) {
  parts *p = parts_new("gpt2", options);
  char name[4];
  int i;
  for (i = 0; i < 256; i++) letter_of(i, name), add(p, name, 0, SYN_PIECE_NORMAL);
  return p;
}

static syn_tokenizer *made(syn_context *c, const parts *p) {
  syn_tokenizer *t = syn_tokenizer_from(c, &p->from);
  CHECK(t, "%s", c->message);
  return t;
}

/* The names of the tokens of a text, each behind a |. */
static const char *pieces(const syn_tokenizer *t, const char *text) {
  static char out[ROOM];
  static int ids[ROOM];
  int n = syn_tokenizer_encode(t, syn_text_of(text), ids, ROOM), i;
  size_t at = 0;
  for (i = 0, *out = 0; i < n; i++) {
    out[at++] = '|';
    at += syn_tokenizer_name(t, ids[i], out + at, ROOM - at);
  }
  return out;
}
static void pieces_are(const syn_tokenizer *t, const char *text, const char *want) {
  CHECK(!strcmp(pieces(t, text), want), "%s: '%s' gives %s, wanted %s", syn_tokenizer_type(t), text,
        pieces(t, text), want);
}

static int round_trips(const syn_tokenizer *t, syn_text text) {
  static char out[ROOM];
  static int ids[ROOM];
  int n = syn_tokenizer_encode(t, text, ids, ROOM);
  size_t size = syn_tokenizer_decode(t, ids, n, out, sizeof out);
  return n < ROOM && size == text.size && !memcmp(out, text.at, size);
}

/* Texts of all kinds of characters, some invalid. */
static size_t random_text(syn_random *r, char *out, int most, int valid) {
  static const char *const units[] = {
      "a", "b", "c", "d", " ", " ", "  ", "1", "23", "'s", "'ll", "!", "?!", "\n", "\t", "\r\n", "\xC3\xA4",
      "e\xCC\x81", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xE4\xB8\xAD", "\xD7\xA9", "\xC2\xA0", "\xE2\x80\xA8",
      "A", "Z", "\xEF\xBB\xBF", "\xF0\x9F\x91\xA9\xE2\x80\x8D", "\xFF", "\x80", "\xE2\x82"};
  int n = syn_random_below(r, most), i;
  size_t size = 0;
  for (i = 0; i < n; i++) {
    const char *part = units[syn_random_below(r, valid ? 28 : 31)];
    memcpy(out + size, part, strlen(part));
    size += strlen(part);
  }
  return size;
}

/* -- gpt2 -- */

/* A text that is composed goes through a window; parts at its end, and one that fills it, are those
   of the text. */
static void test_windows(void) {
  static const char *const units[] = {"ab 12", "a", " ", "b's  a"};
  int whole[6000], parts_of[6000], count[2];
  char text[5000];
  syn_context c;
  size_t i, k;
  syn_context_init(&c, NULL);
  for (i = 0; i < sizeof units / sizeof *units; i++) {
    for (k = 0; k < sizeof text; k++) text[k] = units[i][k % strlen(units[i])];
    for (k = 0; k < 2; k++) {
      parts *p = letters(k ? SYN_PIECES_NFC : 0);
      syn_tokenizer *t;
      syn_text all = {text, sizeof text};
      merge(p, 'a', 'b'), merge(p, '\'', 's'), merge(p, ' ', ' '), merge(p, '1', '2');
      t = made(&c, p);
      count[k] = syn_tokenizer_encode(t, all, k ? parts_of : whole, 6000);
      syn_tokenizer_free(t);
      free(p);
    }
    CHECK(count[0] == count[1] && !memcmp(whole, parts_of, (size_t)count[0] * sizeof *whole),
          "text of '%s': %d tokens, composed %d", units[i], count[0], count[1]);
  }
}

/* How texts are cut: with every pair of letters merged, what stays apart are parts. */
static void test_parts(void) {
  static const struct {
    int options;
    const char *text, *want;
  } cases[] = {
      {0, "ab ab", "|ab|\xC4\xA0|ab"},
      {0, "a's", "|a|'s"},
      {0, "a'S", "|a|'|S"},
      {0, "  ab", "|\xC4\xA0|\xC4\xA0|ab"},
      {0, "ab  ", "|ab|\xC4\xA0\xC4\xA0"},
      {0, "ab12", "|ab|12"},
      {0, "a\n\nb", "|a|\xC4\x8A|\xC4\x8A|b"},
      {SYN_PIECES_DIGIT, "ab12", "|ab|1|2"},
      {SYN_PIECES_DIGIT, "a  1", "|a|\xC4\xA0\xC4\xA0|1"},
      {SYN_PIECES_GPT4 | SYN_PIECES_DIGITS, "a'S", "|a|'S"},
      {SYN_PIECES_GPT4 | SYN_PIECES_DIGITS, "1212", "|12|1|2"},
      {SYN_PIECES_GPT4 | SYN_PIECES_DIGITS, "a\n\nb", "|a|\xC4\x8A\xC4\x8A|b"},
      {SYN_PIECES_GPT4 | SYN_PIECES_DIGITS, "!!\n\n", "|!|!|\xC4\x8A\xC4\x8A"},
      {SYN_PIECES_GPT4, "!ab", "|!|ab"},
      {0, "a 1", "|a|\xC4\xA0" "1"},
      {SYN_PIECES_DIGIT, "a 1", "|a|\xC4\xA0|1"},
      {SYN_PIECES_GPT4, "a 1", "|a|\xC4\xA0|1"},
      {0, "a'r", "|a|'|r"},
      {SYN_PIECES_GPT4, "1'x1ab", "|1|'|x|1|ab"},
      {0, "a\x1C", "|a|\xC4\x9C"},
      {SYN_PIECES_GPT4, "a\r b\nab\rab", "|a|\xC4\x8D|\xC4\xA0|b|\xC4\x8A|ab|\xC4\x8D|ab"},
      {SYN_PIECES_GPT4, "!\r!?", "|!|\xC4\x8D|!|?"},
      {SYN_PIECES_NFC, "a's  ab", "|a|'s|\xC4\xA0|\xC4\xA0|ab"},
      {SYN_PIECES_WHOLE, "zap zip", "|zap|\xC4\xA0|z|i|p"}};
  syn_context c;
  size_t i;
  syn_context_init(&c, NULL);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    parts *p = letters(cases[i].options);
    syn_tokenizer *t;
    merge(p, 'a', 'b'), merge(p, '\'', 's'), merge(p, '\'', 'S'), merge(p, '1', '2');
    merge(p, ' ', ' '), merge(p, '\n', '\n'), merge(p, ' ', '1');
    add(p, "zap", 0, SYN_PIECE_NORMAL); /* which no merge makes */
    t = made(&c, p);
    pieces_are(t, cases[i].text, cases[i].want);
    syn_tokenizer_free(t);
    free(p);
  }
}

/* Again and again the first merge that is there, at its first place. */
static int plain_merge(const parts *p, int *s, int n) {
  for (;;) {
    size_t m;
    int i = 0, found = 0;
    char name[2 * NAME];
    for (m = 0; m < p->from.n_merges && !found; m++)
      for (i = 0; i + 1 < n && !found; i++)
        found = s[i] == p->merges[2 * m] && s[i + 1] == p->merges[2 * m + 1];
    if (!found) return n;
    i--;
    snprintf(name, sizeof name, "%s%s", p->names[s[i]], p->names[s[i + 1]]);
    s[i] = find(p, name);
    memmove(s + i + 1, s + i + 2, (size_t)(n - i - 2) * sizeof *s);
    n--;
  }
}

static void test_gpt2(void) {
  static const char alphabet[] = "abcd";
  syn_random r = {5};
  syn_context c;
  int round, k;
  syn_context_init(&c, NULL);
  for (round = 0; round < 30; round++) {
    parts *p = letters(0);
    syn_tokenizer *t;
    char text[200];
    int s[200], ids[200], n, size;
    for (k = 0; k < 4; k++) merge(p, alphabet[k], alphabet[syn_random_below(&r, 4)]);
    for (k = 0; k < 30; k++) {
      int a = syn_random_below(&r, (int)p->from.count - 252), b = syn_random_below(&r, (int)p->from.count - 252), m, is_new = 1;
      a = a < 4 ? alphabet[a] : a + 252, b = b < 4 ? alphabet[b] : b + 252;
      for (m = 0; m < (int)p->from.n_merges; m++)
        is_new &= p->merges[2 * m] != a || p->merges[2 * m + 1] != b;
      if (is_new) merge(p, a, b);
    }
    t = made(&c, p);
    for (k = 0; k < 20; k++) {
      int i, same;
      size = 1 + syn_random_below(&r, 150);
      for (i = 0; i < size; i++) text[i] = alphabet[syn_random_below(&r, 4)], s[i] = text[i];
      text[size] = 0;
      n = plain_merge(p, s, size);
      same = syn_tokenizer_encode(t, syn_text_of(text), ids, 200) == n;
      for (i = 0; i < n && same; i++) same = syn_tokenizer_number(t, ids[i]) == s[i];
      CHECK(same, "round %d: %s: %s", round, text, pieces(t, text));
    }
    for (k = 0; k < 20; k++) { /* any bytes are restored */
      char any[400];
      syn_text x;
      x.at = any;
      x.size = random_text(&r, any, 60, 0);
      CHECK(round_trips(t, x), "round %d: %d bytes are not restored", round, (int)x.size);
    }
    syn_tokenizer_free(t);
    free(p);
  }
}

/* -- llama, unigram -- */

static const char space[] = "\xE2\x96\x81";

/* All bytes and some pieces with random scores, some of which begin with a space. */
static parts *random_pieces(syn_random *r, const char *kind, int options) {
  static const char *const letters_of[] = {"a", "b", "c", "\xC3\xA4", "\xE4\xB8\xAD"};
  parts *p = parts_new(kind, options);
  char name[NAME];
  int i, k, n;
  add(p, "<unk>", 0, SYN_PIECE_CONTROL), add(p, "<s>", 0, SYN_PIECE_CONTROL);
  add(p, "</s>", 0, SYN_PIECE_CONTROL);
  p->from.special[SYN_UNKNOWN] = 0, p->from.special[SYN_BEGIN] = 1, p->from.special[SYN_END] = 2;
  for (i = 0; options & SYN_PIECES_BYTES && i < 256; i++) {
    snprintf(name, sizeof name, "<0x%02X>", i);
    add(p, name, 0, SYN_PIECE_BYTE);
  }
  add(p, space, -9, SYN_PIECE_NORMAL);
  for (i = 0; i < 4; i++) add(p, letters_of[i], -8 - (float)i, SYN_PIECE_NORMAL);
  for (i = 0; i < 60; i++) {
    snprintf(name, sizeof name, "%s", syn_random_below(r, 3) ? "" : space);
    n = 1 + syn_random_below(r, 4);
    for (k = 0; k < n; k++) strcat(name, letters_of[syn_random_below(r, 4)]);
    if (find(p, name) < 0) add(p, name, -(float)syn_random_below(r, 1000) / 100 - 0.001f * (float)i, SYN_PIECE_NORMAL);
  }
  p->from.scores = p->scores;
  return p;
}

/* A text of letters and single spaces, and its form with U+2581. */
static void letters_text(syn_random *r, char *text, char *normal, int most) {
  static const char *const letters_of[] = {"a", "b", "c", "\xC3\xA4", " "};
  int n = 1 + syn_random_below(r, most), i, last = 4;
  strcpy(text, "");
  strcpy(normal, space);
  for (i = 0; i < n; i++) {
    int k = syn_random_below(r, i + 1 < n && last != 4 ? 5 : 4);
    strcat(text, letters_of[k]);
    strcat(normal, k == 4 ? space : letters_of[k]);
    last = k;
  }
}

static size_t character(const char *at) {
  size_t n = 1;
  while (((unsigned char)at[n] & 0xC0) == 0x80) n++;
  return n;
}

/* Pieces of the best path through all of the text; sums are rounded as SentencePiece rounds them. */
static void plain_unigram(const parts *p, const char *text, char *out) {
  static float best[ROOM];
  static int from[ROOM], id[ROOM];
  char parts_of[ROOM] = "", one[ROOM];
  size_t n = strlen(text), i, k;
  for (i = 0; i <= n; i++) best[i] = -1e30f;
  best[0] = 0;
  for (i = 0; i < n; i += character(text + i)) {
    for (k = 0; k < p->from.count; k++) {
      size_t size = strlen(p->names[k]);
      if (p->types[k] != SYN_PIECE_NORMAL || strncmp(text + i, p->names[k], size)) continue;
      if ((double)best[i] + (double)p->scores[k] <= (double)best[i + size]) continue;
      best[i + size] = best[i] + p->scores[k];
      from[i + size] = (int)i, id[i + size] = (int)k;
    }
  }
  for (i = n; i > 0; i = (size_t)from[i]) {
    snprintf(one, sizeof one, "|%s%s", p->names[id[i]], parts_of);
    strcpy(parts_of, one);
  }
  strcpy(out, parts_of);
}

/* Again and again the pair whose piece has the highest score, the left one of equal ones. */
static void plain_llama(const parts *p, const char *text, char *out) {
  static char s[400][NAME];
  int n = 0, i, best;
  size_t at, size;
  char name[2 * NAME];
  for (at = 0; text[at]; at += size) {
    size = character(text + at);
    snprintf(s[n++], NAME, "%.*s", (int)size, text + at);
  }
  for (;;) {
    float high = -1e30f;
    for (i = 0, best = -1; i + 1 < n; i++) {
      int k;
      snprintf(name, sizeof name, "%s%s", s[i], s[i + 1]);
      k = find(p, name);
      if (k >= 0 && p->types[k] == SYN_PIECE_NORMAL && p->scores[k] > high) high = p->scores[k], best = i;
    }
    if (best < 0) break;
    strcat(s[best], s[best + 1]);
    memmove(s[best + 1], s[best + 2], (size_t)(n - best - 2) * NAME);
    n--;
  }
  for (i = 0, *out = 0; i < n; i++) strcat(out, "|"), strcat(out, s[i]);
}

static void test_plain(const char *kind, void (*plain)(const parts *, const char *, char *)) {
  static char text[ROOM], normal[ROOM], want[ROOM];
  syn_random r = {7};
  syn_context c;
  int round, k;
  syn_context_init(&c, NULL);
  for (round = 0; round < 20; round++) {
    parts *p = random_pieces(&r, kind, SYN_PIECES_SPACE | SYN_PIECES_BYTES);
    syn_tokenizer *t = made(&c, p);
    for (k = 0; k < 20; k++) {
      letters_text(&r, text, normal, 100);
      plain(p, normal, want);
      pieces_are(t, text, want);
    }
    for (k = 0; k < 20; k++) {
      syn_text any;
      any.at = text;
      any.size = random_text(&r, text, 60, 1);
      CHECK(round_trips(t, any), "%s: %d bytes are not restored", kind, (int)any.size);
    }
    syn_tokenizer_free(t);
    free(p);
  }
}

/* Options, unknown characters, pieces of the user, a rule of a charsmap, all by hand. */
static void test_by_hand(void) {
  /* A trie of the units 0, 0x41 and a value: 'A' becomes the result at 0, "a". */
  unsigned char map[4 + 4 * 256 + 4];
  syn_context c;
  parts *p = parts_new("unigram", SYN_PIECES_SPACE | SYN_PIECES_TRIM);
  syn_tokenizer *t;
  syn_context_init(&c, NULL);
  memset(map, 0, sizeof map);
  map[1] = 4; /* 1,024 bytes of units */
  map[4 + 1] = 1 << 2; /* unit 0: offset 1 */
  map[4 + 4 * ('A' ^ 1)] = 'A';
  map[4 + 4 * ('A' ^ 1) + 1] = 1 | 1 << 2; /* has a value, at the offset 1 from it */
  map[4 + 4 * ('A' ^ 1 ^ 1) + 3] = 0x80;
  memcpy(map + 4 + 1024, "a", 2);
  add(p, "<unk>", 0, SYN_PIECE_CONTROL);
  p->from.special[SYN_UNKNOWN] = 0;
  add(p, space, -5, SYN_PIECE_NORMAL), add(p, "a", -4, SYN_PIECE_NORMAL), add(p, "b", -4, SYN_PIECE_NORMAL);
  add(p, "ab", -3, SYN_PIECE_NORMAL), add(p, "<x>", 0, SYN_PIECE_USER), add(p, "bb", -1, SYN_PIECE_UNUSED);
  p->from.scores = p->scores;
  p->from.charsmap.at = (const char *)map, p->from.charsmap.size = sizeof map - 2;
  t = made(&c, p);
  pieces_are(t, "  ab  bb ", "|\xE2\x96\x81|ab|\xE2\x96\x81|b|b");
  pieces_are(t, "", "");
  pieces_are(t, "   ", "");
  pieces_are(t, "Ab", "|\xE2\x96\x81|ab");
  pieces_are(t, "a??b?", "|\xE2\x96\x81|a|<unk>|b|<unk>");
  pieces_are(t, "a<x>b", "|\xE2\x96\x81|a|<x>|b");
  pieces_are(t, "\xE2\x96\x81" "a", "|\xE2\x96\x81|\xE2\x96\x81|a");
  syn_tokenizer_free(t);
  p->from.charsmap.size = 7; /* damaged */
  CHECK(!syn_tokenizer_from(&c, &p->from) && c.status == SYN_E_FORMAT, "a damaged charsmap");
  syn_context_clear(&c);
  free(p);
}

/* Pieces of the user cut a text of gpt2 before its expression does; they are spelled as they are. */
static void test_user_of_gpt2(void) {
  static const int merges[] = {1, 2, 5, 1};
  syn_context c;
  parts *p = parts_new("gpt2", 0);
  syn_tokenizer *t;
  char name[20];
  syn_context_init(&c, NULL);
  add(p, "<|endoftext|>", 0, SYN_PIECE_CONTROL);
  p->from.special[SYN_BEGIN] = p->from.special[SYN_END] = 0;
  add(p, "a", 0, SYN_PIECE_NORMAL), add(p, "b", 0, SYN_PIECE_NORMAL), add(p, "<t x>", 0, SYN_PIECE_USER);
  add(p, "<t x>a", 0, SYN_PIECE_USER), add(p, "\xC4\xA0", 0, SYN_PIECE_NORMAL), add(p, "ab", 0, SYN_PIECE_NORMAL);
  add(p, "\xC4\xA0" "a", 0, SYN_PIECE_NORMAL);
  p->from.merges = merges, p->from.n_merges = 2;
  t = made(&c, p);
  pieces_are(t, "ab<t x>ab a", "|ab|<t x>a|b|\xC4\xA0" "a");
  pieces_are(t, "<t x><t x>", "|<t x>|<t x>");
  pieces_are(t, "a<t x", "|a|<unk>|<unk>|\xC4\xA0|<unk>");
  CHECK(syn_tokenizer_name(t, syn_tokenizer_id(t, 3), name, sizeof name) == 5 && !strcmp(name, "<t x>"), "'%s'", name);
  syn_tokenizer_free(t);
  free(p);
}

/* Scores of a hostile file, whose sum is no float. */
static void test_large_scores(void) {
  syn_context c;
  parts *p = parts_new("unigram", 0);
  syn_tokenizer *t;
  int ids[8];
  syn_context_init(&c, NULL);
  add(p, "<unk>", 0, SYN_PIECE_CONTROL);
  p->from.special[SYN_UNKNOWN] = 0;
  add(p, "a", 3e38f, SYN_PIECE_NORMAL), add(p, "b", -3e38f, SYN_PIECE_NORMAL), add(p, "<x>", 0, SYN_PIECE_USER);
  p->from.scores = p->scores;
  t = made(&c, p);
  CHECK(syn_tokenizer_encode(t, syn_text_of("aaa"), ids, 8) == 3, "not three tokens");
  CHECK(syn_tokenizer_encode(t, syn_text_of("bbbb"), ids, 8) == 4, "not four tokens");
  CHECK(syn_tokenizer_encode(t, syn_text_of("<x><x><x>"), ids, 8) == 3, "not three of the user");
  syn_tokenizer_free(t);
  free(p);
}

/* Pieces of the user, invalid bytes, a text longer than a segment. */
static void test_more_by_hand(void) {
  static char many[3001];
  syn_context c;
  parts *p = parts_new("llama", 0);
  syn_tokenizer *t;
  int n;
  syn_context_init(&c, NULL);
  add(p, "<unk>", 0, SYN_PIECE_CONTROL);
  p->from.special[SYN_UNKNOWN] = 0;
  add(p, "a", -4, SYN_PIECE_NORMAL), add(p, "aa", -1, SYN_PIECE_NORMAL), add(p, "<x>", 0, SYN_PIECE_USER);
  add(p, "\xEF\xBF\xBD", -5, SYN_PIECE_NORMAL), add(p, "</c>", 0, SYN_PIECE_CONTROL);
  add(p, "", -2, SYN_PIECE_NORMAL); /* is in no text */
  p->from.scores = p->scores;
  t = made(&c, p);
  pieces_are(t, "a<x>aaa", "|a|<x>|aa|a");
  pieces_are(t, "a\xFF" "a", "|a|\xEF\xBF\xBD|a");
  memset(many, 'a', 3000), many[3000] = 0;
  n = syn_tokenizer_encode(t, syn_text_of(many), NULL, 0);
  CHECK(n == 1500, "3,000 letters are %d pairs", n);
  CHECK(!syn_tokenizer_piece(t, syn_tokenizer_id(t, 5), 1).size, "a control token has no text");
  CHECK(syn_tokenizer_piece(t, syn_tokenizer_size(t), 1).size == 5, "no token is unknown");
  syn_tokenizer_free(t);
  free(p);
}

/* Charsmaps of strange tries: each text stays as it is, and none is read behind its end. */
static void test_charsmaps(void) {
  static const struct {
    int units, a, b; /* 'a' and 'b' stand at 1 ^ 'a', 1 ^ 'b': the upper bytes of their units */
    const char *results;
    size_t size;
    int good;
  } cases[] = {{0, 0, 0, "a", 2, 1},             /* no unit */
               {64, 0, 0, "a", 2, 1},            /* 'a' is outside */
               {256, 0x61 << 2, 0, "a", 2, 1},   /* 'a' leads to itself, without end */
               {256, 1000 << 2, 0, "a", 2, 1},   /* leads outside */
               {256, 1 | 1 << 2, 0, "a", 2, 1},  /* the value is behind the results */
               {256, 0, 0, "a", 1, 0},           /* the result does not end */
               {256, 0, 0, NULL, 100, 0},        /* a result that is too long */
               {-254, 0, 0, "a", 2, 0}};         /* not whole units */
  static unsigned char map[4 + 4 * 256 + 101];
  static char many[301];
  size_t i;
  syn_context c;
  parts *p = parts_new("unigram", 0);
  syn_context_init(&c, NULL);
  add(p, "a", -1, SYN_PIECE_NORMAL), add(p, "b", -1, SYN_PIECE_NORMAL);
  p->from.scores = p->scores;
  memset(many, 'a', 300);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const size_t bytes = (size_t)(cases[i].units < 0 ? -cases[i].units : 4 * cases[i].units);
    syn_tokenizer *t;
    memset(map, 0, sizeof map);
    map[0] = (unsigned char)(bytes & 255), map[1] = (unsigned char)(bytes >> 8);
    if (cases[i].units > 0) map[4 + 1] = 1 << 2; /* unit 0: offset 1 */
    if (cases[i].units > 255) {
      unsigned char *unit = map + 4 + 4 * (1 ^ 'a');
      unit[0] = 'a', unit[1] = (unsigned char)(cases[i].a & 255), unit[2] = (unsigned char)(cases[i].a >> 8);
      map[4 + 4 * ('a' ^ 1 ^ 1) + 2] = 1; /* a value of 65,536 */
    }
    if (cases[i].results) memcpy(map + 4 + bytes, cases[i].results, cases[i].size);
    else memset(map + 4 + bytes, 'a', cases[i].size), map[4 + bytes + cases[i].size] = 0;
    p->from.charsmap.at = (const char *)map;
    p->from.charsmap.size = 4 + bytes + cases[i].size + (cases[i].results ? 0 : 1);
    t = syn_tokenizer_from(&c, &p->from);
    CHECK(!t == !cases[i].good, "charsmap %d: %s", (int)i, c.message);
    if (t) pieces_are(t, "aab", "|a|a|b");
    else CHECK(strstr(c.message, "charsmap"), "%s", c.message);
    if (t) CHECK(syn_tokenizer_encode(t, syn_text_of(many), NULL, 0) == 300, "charsmap %d: 300 letters", (int)i);
    syn_tokenizer_free(t);
    syn_context_clear(&c);
  }
  free(p);
}

/* -- wordpiece -- */

static parts *words(int options) {
  static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hell", "##o", "a", "##b",
                                      ",", "\xE4\xB8\xAD", "ha", "##a", "H", "$"};
  parts *p = parts_new("wordpiece", options);
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    add(p, names[i], 0, i == 4 ? SYN_PIECE_CONTROL : SYN_PIECE_NORMAL);
  for (i = 0; i < 4; i++) p->from.special[i] = (int)i;
  return p;
}

static void test_wordpiece(void) {
  char many[300];
  syn_context c;
  parts *p = words(SYN_PIECES_LOWER);
  syn_tokenizer *t;
  int ids[64], n;
  char out[100];
  syn_context_init(&c, NULL);
  t = made(&c, p);
  pieces_are(t, "H\xC3\xA9llo,hello", "|hell|##o|,|hell|##o");
  pieces_are(t, "a\xE4\xB8\xAD" "ab", "|a|\xE4\xB8\xAD|a|##b");
  pieces_are(t, "a\x01\xE2\x80\x8D" "b \x7F$a", "|a|##b|$|a");
  pieces_are(t, "abc a", "|[UNK]|a");
  pieces_are(t, "[MASK]", "|[UNK]|[UNK]|[UNK]");
  pieces_are(t, "a\xC2\xA0" "a\ta", "|a|a|a");
  memset(many, 'a', 100), many[100] = 0;
  n = syn_tokenizer_encode(t, syn_text_of(many), NULL, 0);
  CHECK(n == 100, "100 letters are %d tokens", n);
  strcat(many, "a");
  pieces_are(t, many, "|[UNK]");
  n = syn_tokenizer_encode(t, syn_text_of("hello, ab"), ids, 64);
  syn_tokenizer_decode(t, ids, n, out, sizeof out);
  CHECK(!strcmp(out, "hello , ab"), "%s", out);
  syn_tokenizer_free(t);
  p->from.options = 0;
  t = made(&c, p);
  pieces_are(t, "H a h\xC3\xA9", "|H|a|[UNK]");
  syn_tokenizer_free(t);
  free(p);
}

/* Ideographs of all blocks are words, hangul is taken apart, what is no character is left out. */
static void test_scripts(void) {
  static const char *const ideographs[] = {"\xE3\x90\x80", "\xF0\xA0\x80\x80", "\xF0\xAA\x9C\x80", "\xEF\xA4\x80",
                                           "\xF0\xAF\xA0\x80"};
  static const char zero[] = "a\0b";
  char text[20], want[20];
  syn_context c;
  parts *p = words(0);
  syn_tokenizer *t;
  size_t i;
  syn_context_init(&c, NULL);
  for (i = 0; i < 5; i++) add(p, ideographs[i], 0, SYN_PIECE_NORMAL);
  add(p, "", 0, SYN_PIECE_NORMAL); /* a space alone */
  t = made(&c, p);
  for (i = 0; i < 5; i++) {
    snprintf(text, sizeof text, "a%sa", ideographs[i]), snprintf(want, sizeof want, "|a|%s|a", ideographs[i]);
    pieces_are(t, text, want);
  }
  pieces_are(t, "a\nb\ra z", "|a|[UNK]|a|[UNK]");
  pieces_are(t, "a\xFF" "b\xEF\xBF\xBD" "b", "|a|##b|##b");
  CHECK(syn_tokenizer_encode(t, syn_text_of("ab"), NULL, 0) == 2, "two tokens");
  {
    syn_text x;
    x.at = zero, x.size = 3;
    CHECK(syn_tokenizer_encode(t, x, NULL, 0) == 2, "U+0000 is left out");
  }
  syn_tokenizer_free(t);
  free(p);
  p = words(SYN_PIECES_LOWER);
  add(p, "\xE1\x84\x80", 0, SYN_PIECE_NORMAL), add(p, "##\xE1\x85\xA1", 0, SYN_PIECE_NORMAL);
  add(p, "##\xE1\x86\xA8", 0, SYN_PIECE_NORMAL);
  t = made(&c, p);
  pieces_are(t, "\xEA\xB0\x80 \xEA\xB0\x81", /* two letters, three */
             "|\xE1\x84\x80|##\xE1\x85\xA1|\xE1\x84\x80|##\xE1\x85\xA1|##\xE1\x86\xA8");
  pieces_are(t, "a\xFF" "b", "|a|##b");
  syn_tokenizer_free(t);
  free(p);
}

/* -- unigram, learned -- */

static syn_tokenizer *learned(syn_context *c, const char *spec, int flags, const syn_text *lines, int n) {
  syn_tokenizer *t = syn_tokenizer_learn(c, spec, flags, lines, (size_t)n);
  CHECK(t, "%s", c->message);
  return t;
}

/* Any text is restored; the order of the lines, and saving, change nothing; what is frequent is a piece. */
static void test_learned(void) {
  static char text[40][300], any[400];
  char *bytes, *again;
  syn_random r = {11};
  syn_context c;
  syn_text lines[40], reversed[40], x;
  syn_tokenizer *t, *u;
  size_t size;
  int i, k;
  syn_context_init(&c, NULL);
  for (i = 0; i < 40; i++) {
    *text[i] = 0;
    for (k = 0; k < 12; k++) strcat(text[i], syn_random_below(&r, 3) ? " lowest" : k % 2 ? " Newer" : " \xC3\x84rger\n");
    lines[i] = reversed[39 - i] = syn_text_of(text[i]);
  }
  for (k = 0; k < 2; k++) {
    t = learned(&c, k ? "unigram:1100" : "unigram:40", 0, lines, 40);
    u = learned(&c, k ? "unigram:1100" : "unigram:40", 0, reversed, 40);
    pieces_are(t, "lowest lowest", "|\xE2\x96\x81lowest|\xE2\x96\x81lowest");
    size = syn_tokenizer_save(t, NULL, 0);
    bytes = (char *)malloc(2 * size), again = bytes + size;
    if (!bytes) exit(1);
    syn_tokenizer_save(t, bytes, size);
    CHECK(syn_tokenizer_save(u, again, size) == size && !memcmp(bytes, again, size), "other lines, other tokens");
    syn_tokenizer_free(u);
    u = syn_tokenizer_load(&c, bytes, size);
    CHECK(u && !strcmp(syn_tokenizer_type(u), k ? "unigram:1100" : "unigram:40"), "%s", c.message);
    CHECK(syn_tokenizer_save(u, again, size) == size && !memcmp(bytes, again, size), "saved again as other bytes");
    CHECK(syn_tokenizer_size(t) <= (k ? 1100 : 40), "%d tokens", syn_tokenizer_size(t));
    for (i = 0; i < 40; i++) CHECK(round_trips(u, lines[i]), "line %d is not restored", i);
    for (i = 0; i < 200 && k; i++) {
      x.at = any, x.size = random_text(&r, any, 40, 0);
      if (x.size < 3 || memcmp(any, "\xEF\xBB\xBF", 3) != 0) CHECK(round_trips(u, x), "%d bytes are not restored", (int)x.size);
    }
    syn_tokenizer_free(t), syn_tokenizer_free(u), free(bytes);
  }
  t = learned(&c, "unigram:60", SYN_LOWERCASE | SYN_NFC | SYN_SENTINELS, lines, 40);
  strcpy(any, pieces(t, "NEWER a\xCC\x88rger"));
  pieces_are(t, "newer \xC3\xA4rger", any);
  CHECK(strstr(any, "newer"), "%s", any);
  CHECK(syn_tokenizer_sentinels(t, &i) == 100 && i + 100 == syn_tokenizer_size(t), "sentinels");
  CHECK(!syn_tokenizer_framed(t), "sentinels: no frame");
  CHECK(!strcmp(syn_tokenizer_piece(t, i, 1).at ? "<0>" : "", "<0>") && syn_tokenizer_name(t, i, any, 9) == 4, "%s", any);
  syn_tokenizer_free(t);
  CHECK(!syn_tokenizer_learn(&c, "unigram:9", 0, lines, 40) && strstr(c.message, "characters"), "%s", c.message);
  syn_context_clear(&c);
  t = learned(&c, "unigram:9", 0, NULL, 0);
  syn_tokenizer_free(t);
}

/* More pieces than SIZE: those that tell most about the lines stay, so do all characters. */
static void test_pruned(void) {
  static char text[60][200];
  syn_random r = {13};
  syn_context c;
  syn_text lines[60];
  syn_tokenizer *t;
  const char *got;
  int i, k, n;
  syn_context_init(&c, NULL);
  for (i = 0; i < 60; i++) {
    size_t at = 0;
    for (k = 0; k < 20; k++) {
      static const char *const often[] = {"the", "water", "pneumonoultramicroscopic"};
      if (syn_random_below(&r, 3)) at += (size_t)snprintf(text[i] + at, 30, " %s", often[syn_random_below(&r, 12) % 3]);
      else at += (size_t)snprintf(text[i] + at, 30, " %c%c%c", 'a' + syn_random_below(&r, 20),
                                  'a' + syn_random_below(&r, 20), 'a' + syn_random_below(&r, 20));
      if (at > 160) break;
    }
    lines[i] = syn_text_of(text[i]);
  }
  t = learned(&c, "unigram:50", 0, lines, 60);
  n = syn_tokenizer_size(t);
  CHECK(n > 26 && n <= 50, "%d tokens", n);
  got = pieces(t, "the water");
  CHECK(strstr(got, "\x96\x81the|"), "the most frequent word is a piece: %s", got);
  for (i = 0; i < 60; i++) CHECK(round_trips(t, lines[i]), "line %d is not restored", i);
  CHECK(!round_trips(t, syn_text_of("z")) && strstr(pieces(t, "z"), "|<unk>"), "%s", pieces(t, "z"));
  syn_tokenizer_free(t);
}

/* More characters than pieces: the rare ones are spelled in bytes, also a word of nothing else. */
static void test_rare(void) {
  static char text[3][6000];
  static const char mark[] = "\xE2\x96\x81 a \xE2\x96\x81";
  syn_context c;
  syn_text lines[3];
  syn_tokenizer *t;
  int i, n;
  size_t at[3] = {0, 0, 0};
  syn_context_init(&c, NULL);
  for (i = 0; i < 600; i++) { /* 450 characters twice, others once, the last ones in a row */
    const unsigned ch = 0x4E00 + (unsigned)i;
    char one[5];
    one[0] = (char)(0xE0 | ch >> 12), one[1] = (char)(0x80 | (ch >> 6 & 63)), one[2] = (char)(0x80 | (ch & 63));
    one[3] = i < 500 ? ' ' : 0, one[4] = 0;
    n = i < 450 ? 0 : i < 500 ? 1 : 2;
    strcpy(text[n] + at[n], one), at[n] += strlen(one);
    if (!n) strcpy(text[1] + at[1], one), at[1] += strlen(one);
  }
  for (i = 0; i < 3; i++) lines[i] = syn_text_of(text[i]);
  t = learned(&c, "unigram:1100", 0, lines, 3);
  for (i = 0; i < 3; i++) CHECK(round_trips(t, lines[i]), "line %d is not restored", i);
  n = syn_tokenizer_encode(t, lines[2], NULL, 0);
  CHECK(n >= 300, "100 rare characters are %d tokens", n);
  CHECK(round_trips(t, syn_text_of(mark)), "U+2581 is a character like others: %s", pieces(t, mark));
  syn_tokenizer_free(t);
}

/* -- numbers, files, errors -- */

static void test_numbers(void) {
  static const int special[][4] = {{-1, -1, -1, -1}, {0, 1, 2, 3}, {5, 2, 2, 9}, {-1, -1, 14, 14}, {14, 0, -1, 7}};
  syn_context c;
  size_t s;
  int i;
  syn_context_init(&c, NULL);
  for (s = 0; s < 5; s++) {
    parts *p = words(0);
    syn_tokenizer *t;
    memcpy(p->from.special, special[s], sizeof special[s]);
    t = made(&c, p);
    for (i = 0; i < (int)p->from.count; i++) {
      int id = syn_tokenizer_id(t, i);
      CHECK(id >= 0 && syn_tokenizer_number(t, id) == i, "case %d: number %d has id %d, that number %d", (int)s, i, id,
            syn_tokenizer_number(t, id));
    }
    for (i = 4; i < syn_tokenizer_size(t); i++)
      CHECK(syn_tokenizer_id(t, syn_tokenizer_number(t, i)) == i, "case %d: id %d", (int)s, i);
    for (i = 0; i < 4; i++) CHECK(syn_tokenizer_number(t, i) == special[s][i], "case %d: special %d", (int)s, i);
    CHECK(syn_tokenizer_framed(t) == (special[s][2] >= 0 && special[s][3] >= 0), "case %d: framed", (int)s);
    CHECK(syn_tokenizer_id(t, -1) == -1 && syn_tokenizer_id(t, 15) == -1, "numbers outside");
    syn_tokenizer_free(t);
    free(p);
  }
}

/* Saved, loaded, saved: the same bytes and tokens. Each truncation is refused, and no flipped bit does harm. */
static void test_saved(void) {
  static const char *const kinds[] = {"gpt2", "llama", "unigram", "wordpiece"};
  static const char text[] = "ab's H\xC3\xA9llo, a\xE4\xB8\xAD b  12";
  syn_random r = {3};
  int kind;
  for (kind = 0; kind < 4; kind++) {
    syn_context c;
    parts *p;
    syn_tokenizer *t, *again;
    size_t size, i, step;
    char *bytes, first[ROOM];
    syn_context_init(&c, NULL);
    p = kind == 0 ? letters(SYN_PIECES_GPT4) : kind == 3 ? words(SYN_PIECES_LOWER)
        : random_pieces(&r, kinds[kind], SYN_PIECES_SPACE | SYN_PIECES_BYTES);
    if (!kind) merge(p, 'a', 'b');
    t = made(&c, p);
    size = syn_tokenizer_save(t, NULL, 0);
    bytes = (char *)malloc(2 * size);
    if (!bytes) exit(1);
    syn_tokenizer_save(t, bytes, size);
    again = syn_tokenizer_load(&c, bytes, size);
    CHECK(again, "%s", c.message);
    CHECK(syn_tokenizer_save(again, bytes + size, size) == size && !memcmp(bytes, bytes + size, size), "%s: saved again as other bytes", kinds[kind]);
    strcpy(first, pieces(t, text));
    CHECK(!strcmp(first, pieces(again, text)), "%s: other tokens", kinds[kind]);
    syn_tokenizer_free(again);
    for (i = 0; i < size; i += 1 + i / 40) {
      char *cut = (char *)malloc(i + 1);
      if (!cut) exit(1);
      memcpy(cut, bytes, i);
      CHECK(!syn_tokenizer_load(&c, cut, i) && c.status == SYN_E_FORMAT, "%s: %d bytes were accepted", kinds[kind], (int)i);
      syn_context_clear(&c);
      free(cut);
    }
    for (i = 0; i < 2 && !kind; i++) { /* a merge of a token that is none */
      char *at = bytes + 56 + 4 * p->from.count + 4 * i + 2;
      *at ^= 1;
      CHECK(!syn_tokenizer_load(&c, bytes, size) && strstr(c.message, "merge 0"), "%s", c.message);
      syn_context_clear(&c);
      *at ^= 1;
    }
    step = 1 + size / 500;
    for (i = 0; i < size; i += i < 60 ? 1 : step) {
      bytes[i] ^= (char)(1 << i % 8);
      again = syn_tokenizer_load(&c, bytes, size);
      CHECK(!again == (c.status != SYN_OK), "%s: byte %d", kinds[kind], (int)i);
      if (again) pieces(again, text);
      syn_tokenizer_free(again);
      syn_context_clear(&c);
      bytes[i] ^= (char)(1 << i % 8);
    }
    syn_tokenizer_free(t);
    free(bytes);
    free(p);
  }
}

typedef struct memory {
  long live, calls, fail_at;
} memory;
static void *test_alloc(void *user, size_t bytes) {
  memory *m = (memory *)user;
  void *at = ++m->calls == m->fail_at ? NULL : malloc(bytes);
  m->live += at != NULL;
  return at;
}
static void test_release(void *user, void *block, size_t bytes) {
  (void)bytes;
  ((memory *)user)->live -= block != NULL;
  free(block);
}

static void test_no_memory(void) {
  static const char *const specs[] = {"unigram:20", "unigram:13", "unigram:1024"}; /* one prunes, one has bytes */
  syn_random r = {3};
  parts *p[4];
  syn_text lines[2];
  int kind;
  lines[0] = lines[1] = syn_text_of("low lower lowest low");
  p[0] = letters(0), p[1] = random_pieces(&r, "llama", SYN_PIECES_BYTES), p[2] = random_pieces(&r, "unigram", 0), p[3] = words(0);
  merge(p[0], 'a', 'b');
  for (kind = 0; kind < 7; kind++) {
    long n = 0, at;
    for (at = 0; at <= n; at++) {
      syn_options options;
      memory m = {0, 0, 0};
      syn_context c;
      syn_tokenizer *t;
      memset(&options, 0, sizeof options);
      m.fail_at = at;
      options.alloc = test_alloc, options.release = test_release, options.alloc_user = &m;
      syn_context_init(&c, &options);
      t = kind < 4 ? syn_tokenizer_from(&c, &p[kind]->from) : syn_tokenizer_learn(&c, specs[kind - 4], 0, lines, 2);
      if (!at) n = m.calls;
      CHECK(!t == (at != 0) && !t == (c.status == SYN_E_MEMORY), "kind %d, call %ld: %s", kind, at, c.message);
      syn_tokenizer_free(t);
      CHECK(!m.live, "kind %d, call %ld: %ld blocks are left", kind, at, m.live);
    }
    if (kind < 4) free(p[kind]);
  }
}

static void refused(syn_context *c, parts *p, const char *word) {
  CHECK(!syn_tokenizer_from(c, &p->from) && strstr(c->message, word), "wanted '%s': %s", word, c->message);
  syn_context_clear(c);
}
/* Of tokens without bytes nothing may be pointed into. */
static void test_empty_tokens(void) {
  parts *p = parts_new("wordpiece", 0);
  syn_context c;
  syn_tokenizer *t;
  syn_context_init(&c, NULL);
  add(p, "", 0, SYN_PIECE_NORMAL);
  t = made(&c, p);
  CHECK(syn_tokenizer_piece(t, SYN_FIRST_TOKEN, 1).size == 0 && syn_tokenizer_encode(t, syn_text_of("a"), NULL, 0) > 0,
        "a token without bytes alone");
  syn_tokenizer_free(t);
  free(p);
}

static void test_wrong_use(void) {
  int i;
  syn_context c;
  parts *p = words(0);
  syn_context_init(&c, NULL);
  p->from.kind = "bert", refused(&c, p, "wordpiece");
  p->from.kind = "unigram", refused(&c, p, "without scores");
  p->from.kind = "wordpiece", p->from.special[2] = 15, refused(&c, p, "special numbers");
  p->from.special[2] = -1, p->from.options = 512, refused(&c, p, "options 512");
  p->from.options = 0, p->types[5] = 9, refused(&c, p, "type 9");
  free(p);
  p = letters(0);
  merge(p, 'a', 'b'), p->merges[1] = 'c', refused(&c, p, "merge 0");
  p->merges[1] = -1, refused(&c, p, "merge 0"), p->merges[1] = 'b', p->merges[0] = -1, refused(&c, p, "merge 0");
  p->merges[0] = 'a', merge(p, 'a', 'b'), refused(&c, p, "merge 1");
  strcpy(p->names[3], "\xE4\xB8\xAD"), p->tokens[3].size = 3, refused(&c, p, "letters of bytes");
  free(p);
  for (i = 0; i < 5; i++) {
    static const char bytes[5][7] = {"<0xG1>", "<0x1G>", "<0x11x", "<0x\0A>", "<0x1\0>"};
    p = parts_new("llama", SYN_PIECES_BYTES);
    add(p, "a", -1, SYN_PIECE_NORMAL), add(p, "<0x41>", 0, SYN_PIECE_BYTE);
    p->from.scores = p->scores;
    memcpy(p->names[1], bytes[i], 6), refused(&c, p, "form <0x0A>");
    free(p);
  }
  for (i = 0; i < 2; i++) {
    volatile float huge = i ? 1e30f : -1e30f;
    p = parts_new("unigram", 0);
    add(p, "a", huge * 1e30f, SYN_PIECE_NORMAL);
    p->from.scores = p->scores, refused(&c, p, "the score");
    free(p);
  }
  p = letters(0);
  strcpy(p->names[3], "a b"), p->tokens[3].size = 3, refused(&c, p, "letters of bytes");
  free(p);
  CHECK(!syn_tokenizer_from(&c, NULL), "no parts");
  syn_context_clear(&c);
  CHECK(!syn_tokenizer_learn(&c, "gpt2", 0, NULL, 0), "gpt2 is not learned");
}

/* -- a decoder: pieces are whole characters though tokens cut them -- */

static int whole(void *user, syn_text piece) {
  *(size_t *)user += syn_text_invalid(piece);
  return 0;
}
static void test_stream(void) {
  syn_config k;
  syn_context c;
  syn_decode_config how;
  syn_model *m;
  syn_tokenizer *t;
  syn_decoder *d;
  size_t invalid = 0;
  parts *p = letters(0);
  int i;
  syn_context_init(&c, NULL);
  for (i = 0; i < 100; i++) merge(p, 0xC3 - i % 4, 0xA4 + i), merge(p, ' ', 0xC0 + i % 40);
  p->from.n_merges = 0; /* tokens like " \xC3", which no merge makes */
  t = made(&c, p);
  memset(&k, 0, sizeof k), memset(&how, 0, sizeof how);
  k.task = "lm", k.decoder = "rnn", k.d_model = 8, k.max_len = 60, k.tgt_vocab = syn_tokenizer_size(t);
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, NULL, t);
  how.temperature = 5;
  d = syn_decoder_new(&c, m, &how);
  for (i = 0; i < 5; i++) syn_decoder_run_text(d, syn_text_of(""), syn_text_of("a"), whole, &invalid);
  CHECK(!c.status && !invalid, "%s, %d invalid bytes", c.message, (int)invalid);
  syn_decoder_free(d);
  syn_model_free(m);
  free(p);
}

/* Words of a text to tag, though the tokens are other letters; a text that rules make longer. */
static void test_models(void) {
  static unsigned char map[4 + 4 * 256 + 61];
  syn_config k;
  syn_context c;
  syn_model *m;
  syn_data *data;
  syn_run *run;
  parts *p = words(SYN_PIECES_LOWER);
  int tags[9], n;
  syn_context_init(&c, NULL);
  memset(&k, 0, sizeof k);
  k.task = "tag", k.encoder = "rnn", k.d_model = 4, k.max_len = 20, k.src_vocab = 4 + (int)p->from.count - 4, k.classes = 3;
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, made(&c, p), NULL);
  run = syn_run_new(&c, m, NULL);
  n = syn_tag(run, syn_text_of("  H\xC3\xA9llo, ab\xE4\xB8\xAD,  unknown a "), tags, 9);
  CHECK(n == 4 && !c.status, "%d words: %s", n, c.message);
  syn_run_free(run), syn_model_free(m), free(p);
  p = parts_new("unigram", 0);
  add(p, "a", -1, SYN_PIECE_NORMAL);
  p->from.scores = p->scores;
  memset(map, 0, sizeof map);
  map[1] = 4, map[5] = 1 << 2, map[4 + 4 * ('A' ^ 1)] = 'A', map[5 + 4 * ('A' ^ 1)] = 1 | 1 << 2, map[7 + 4 * 'A'] = 0x80;
  memset(map + 4 + 1024, 'a', 60); /* A becomes 60 letters */
  p->from.charsmap.at = (const char *)map, p->from.charsmap.size = sizeof map;
  memset(&k, 0, sizeof k);
  k.task = "lm", k.decoder = "rnn", k.d_model = 4, k.max_len = 300, k.tgt_vocab = 5;
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, NULL, made(&c, p));
  data = syn_data_new(&c);
  syn_data_add_text(data, m, syn_text_of(""), syn_text_of("AAAA"));
  CHECK(!c.status && syn_tokenizer_encode(syn_model_tokenizer(m, SYN_TGT), syn_text_of("AAAA"), NULL, 0) == 240, "%s", c.message);
  syn_data_free(data), syn_model_free(m), free(p);
}

int main(void) {
  test_parts();
  test_windows();
  test_gpt2();
  test_plain("llama", plain_llama);
  test_plain("unigram", plain_unigram);
  test_by_hand();
  test_more_by_hand();
  test_user_of_gpt2();
  test_large_scores();
  test_charsmaps();
  test_wordpiece();
  test_scripts();
  test_learned();
  test_pruned();
  test_rare();
  test_numbers();
  test_saved();
  test_no_memory();
  test_empty_tokens();
  test_wrong_use();
  test_stream();
  test_models();
  return CHECK_END("test_pieces");
}
