/* text.h   reads and writes files and splits text into lines, words and characters.
   syn.c and bench.c include it, after tool.h. Not every tool calls all its functions, so they are
   MAYBE_UNUSED. */

/* ==============================================================================================
   >>tool base   a growing byte buffer, slices of text
   ============================================================================================== */

/* Unlike the library, the tool may exit: every failure, out of memory included, prints one line and
   exits. So the functions here return no error codes. */

/* A growing array of bytes; all zero it is empty. Free it with free(at). */
typedef struct buffer {
  char *at; /* null while cap is 0 */
  size_t size, cap;
} buffer;

MAYBE_UNUSED static void buffer_reserve(buffer *b, size_t more) {
  size_t need = more > SIZE_MAX - b->size ? SIZE_MAX : b->size + more;
  if (need <= b->cap && b->at) return;
  if (b->cap < 64) b->cap = 64;
  while (b->cap < need) b->cap = size_mul(b->cap, 2);
  b->at = (char *)realloc(b->at, b->cap);
  if (!b->at) fail(FAILED_JOB, "out of memory: %lu bytes", (unsigned long)need);
}
MAYBE_UNUSED static void put(buffer *b, const char *at, size_t size) {
  buffer_reserve(b, size);
  if (size) memcpy(b->at + b->size, at, size);
  b->size += size;
}
MAYBE_UNUSED static void put_byte(buffer *b, char c) { put(b, &c, 1); }

/* Writes a number as JSON, which has neither NaN nor infinity: null. Returns `out`. */
enum { JSON_NUMBER = 340 }; /* bytes of the largest double with 20 digits behind the point */
MAYBE_UNUSED static const char *json_number(char out[JSON_NUMBER], double value, int digits) {
  if (fabs(value) < (double)INFINITY) snprintf(out, JSON_NUMBER, "%.*f", digits, value);
  else memcpy(out, "null", 5);
  return out;
}

/* Views of bytes that somebody else owns. */
MAYBE_UNUSED static syn_text text_of(const char *s) {
  syn_text t;
  t.at = s;
  t.size = strlen(s);
  return t;
}
MAYBE_UNUSED static syn_text buffer_text(const buffer *b) {
  syn_text t;
  t.at = b->at;
  t.size = b->size;
  return t;
}

/* Compares byte by byte, as strcmp does; a prefix comes before the longer text. */
MAYBE_UNUSED static int text_compare(syn_text a, syn_text b) {
  size_t n = a.size < b.size ? a.size : b.size;
  int order = n ? memcmp(a.at, b.at, n) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}
MAYBE_UNUSED static int text_equal(syn_text a, syn_text b) { return text_compare(a, b) == 0; }
MAYBE_UNUSED static int text_is(syn_text a, const char *s) { return text_equal(a, text_of(s)); }

/* Splits the next piece off `rest`, up to the next byte of `separators` or the end: the columns of
   a TSV line with "\t", a list with ",". n separators give n+1 pieces. Returns 0, with rest->at
   null, after the last one. */
MAYBE_UNUSED static int next_piece(syn_text *rest, const char *separators, syn_text *piece) {
  size_t i = 0;
  piece->at = rest->at;
  piece->size = 0;
  if (!rest->at) return 0;
  while (i < rest->size && !(rest->at[i] && strchr(separators, rest->at[i]))) i++;
  piece->size = i;
  if (i == rest->size) rest->at = NULL, rest->size = 0;
  else rest->at += i + 1, rest->size -= i + 1;
  return 1;
}

/* ==============================================================================================
   >>tool files   reads and writes whole files, splits them into lines
   ============================================================================================== */

/* Metrics and training need all lines, so the whole file is read into one block, and each line is a
   slice of it. Bytes are not changed: 0 and invalid UTF-8 pass. Only a UTF-8 byte order mark at
   the beginning of the file is skipped. */

typedef struct lines {
  buffer bytes;
  syn_text *at; /* [count] slices of bytes, without line ends */
  size_t count;
} lines;

/* Some editors write this mark at the beginning of a file. It is not part of the text. */
MAYBE_UNUSED static void skip_byte_order_mark(buffer *b) {
  if (b->size < 3 || memcmp(b->at, "\xEF\xBB\xBF", 3) != 0) return;
  b->size -= 3;
  memmove(b->at, b->at + 3, b->size);
}

MAYBE_UNUSED static int file_exists(const char *path) {
  FILE *f = open_file(path, "rb");
  if (f) fclose(f);
  return f != NULL;
}

/* Bytes of a text that a message shows: at most 60, the last character whole. For %.*s. */
MAYBE_UNUSED static int short_size(syn_text t) {
  return t.size < 60 ? (int)t.size : (int)syn__utf8_whole(t.at, 60);
}

/* "-" is standard input. */
MAYBE_UNUSED static buffer read_bytes(const char *path) {
  buffer b = {NULL, 0, 0};
  FILE *f = strcmp(path, "-") == 0 ? stdin : open_file(path, "rb");
  size_t got;
  if (!f) fail(FAILED_JOB, "cannot open %s: %s", path, strerror(errno));
  do {
    buffer_reserve(&b, 65536);
    got = fread(b.at + b.size, 1, 65536, f);
    b.size += got;
  } while (got);
  if (ferror(f)) fail(FAILED_JOB, "cannot read %s: %s", path, strerror(errno));
  if (f != stdin) fclose(f);
  return b;
}
MAYBE_UNUSED static buffer read_file(const char *path) {
  buffer b = read_bytes(path);
  skip_byte_order_mark(&b);
  return b;
}

/* Writes a file as the library writes its own: PATH has all of it or stays what it was, see
   syn_file_write. A failure is recorded in c. */
MAYBE_UNUSED static void write_bytes(syn_context *c, const char *path, const void *bytes,
                                     size_t size) {
  syn__writer w;
  if (!syn__writer_open(&w, c, path))
    syn__writer_close(&w, syn__writer_write(&w, bytes, size) == size);
}
MAYBE_UNUSED static void write_file(const char *path, const void *bytes, size_t size) {
  syn_context c;
  syn_context_init(&c, NULL);
  write_bytes(&c, path, bytes, size);
  check(&c);
}

/* Lines end in LF or CRLF; the last one may lack it. A file of no bytes is an error. */
MAYBE_UNUSED static lines read_lines(const char *path) {
  lines l;
  syn_text rest, line;
  size_t i;
  l.bytes = read_file(path);
  l.count = 0;
  if (!l.bytes.size) fail(FAILED_JOB, "%s is empty, at least one line is wanted", path);
  if (l.bytes.at[l.bytes.size - 1] != '\n') put_byte(&l.bytes, '\n');
  for (i = 0; i < l.bytes.size; i++) l.count += l.bytes.at[i] == '\n';
  l.at = (syn_text *)take(l.count, sizeof *l.at);
  rest = buffer_text(&l.bytes);
  for (i = 0; i < l.count && next_piece(&rest, "\n", &line); i++) {
    if (line.size && line.at[line.size - 1] == '\r') line.size--;
    l.at[i] = line;
  }
  return l;
}

MAYBE_UNUSED static void lines_free(lines *l) {
  free(l->bytes.at);
  free(l->at);
}

/* ==============================================================================================
   >>tool units   splits text into words or characters; edit distance, longest common subsequence
   ============================================================================================== */

/* A unit is a word or a character. All metrics but pearson and spearman compare sequences of units.
   A sequence keeps the text and the byte offsets of its units; there is no vocabulary. */

/* Decodes the UTF-8 character at t.at[i] and returns its size in bytes. A byte that begins no valid
   character counts as one character, with a code above all of Unicode. */
MAYBE_UNUSED static size_t decode(syn_text t, size_t i, uint32_t *code) {
  static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t first = (unsigned char)t.at[i], c;
  size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4, k;
  *code = size == 1 ? first : 0x110000u + first;
  if (size < 2 || first > 0xF4 || size > t.size - i) return 1;
  c = first & (0xFFu >> (size + 1));
  for (k = 1; k < size; k++) {
    if (((unsigned char)t.at[i + k] & 0xC0) != 0x80) return 1;
    c = c << 6 | ((unsigned char)t.at[i + k] & 0x3F);
  }
  if (c < lowest[size] || c > 0x10FFFF) return 1;
  *code = c;
  return size;
}

/* White space as in Python's str.split, with which the published scores were computed: the no-break
   space U+00A0, common in French, separates words. */
MAYBE_UNUSED static int is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/* Lower case of Latin, Greek and Cyrillic letters; other characters do not change. */
MAYBE_UNUSED static uint32_t lower(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c < 0x100) return c >= 0xC0 && c <= 0xDE && c != 0xD7 ? c + 32 : c;
  if (c == 0x178) return 0xFF;
  if (c == 0x130 || c == 0x138 || c == 0x149) return c;
  if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) return c + (c & 1);
  if (c < 0x178) return c | 1;
  if (c >= 0x391 && c <= 0x3AB && c != 0x3A2) return c + 32;
  if (c == 0x386) return 0x3AC;
  if (c >= 0x388 && c <= 0x38A) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (c == 0x38E || c == 0x38F) return c + 63;
  if (c >= 0x400 && c <= 0x42F) return c + (c < 0x410 ? 80 : 32);
  if ((c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF)) return c | 1;
  if ((c >= 0x4D0 && c <= 0x52F) || (c >= 0x1E00 && c <= 0x1E95)) return c | 1;
  if (c >= 0x1EA0 && c <= 0x1EFF) return c | 1;
  return c == 0x1E9E ? 0xDF : c;
}

/* Appends t in lower case. Letters that change have at most three bytes in UTF-8. */
MAYBE_UNUSED static void put_lower(buffer *b, syn_text t) {
  uint32_t code, low;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    low = lower(code);
    if (low == code) put(b, t.at + i, size);
    else if (low < 0x80) put_byte(b, (char)low);
    else {
      if (low >= 0x800) put_byte(b, (char)(0xE0 | low >> 12));
      put_byte(b, (char)(low >= 0x800 ? 0x80 | (low >> 6 & 0x3F) : 0xC0 | low >> 6));
      put_byte(b, (char)(0x80 | (low & 0x3F)));
    }
  }
}

/* Words with one space between them, or characters without one. Units i ... i+n-1 are the bytes
   from[i] to to[i+n-1] - 1: an n-gram is a slice of the text, and equal n-grams are equal bytes. */
typedef struct units {
  buffer text;
  size_t *from, *to; /* [count] */
  size_t count, cap;
} units;

MAYBE_UNUSED static void units_free(units *u) {
  free(u->text.at);
  free(u->from);
  free(u->to);
}

/* Appends one unit. The caller appends the space before it, if there is one. */
MAYBE_UNUSED static void unit_put(units *u, const char *at, size_t size) {
  if (u->count == u->cap) {
    u->cap = u->cap ? 2 * u->cap : 32;
    u->from = (size_t *)realloc(u->from, u->cap * sizeof *u->from);
    u->to = (size_t *)realloc(u->to, u->cap * sizeof *u->to);
    if (!u->from || !u->to) fail(FAILED_JOB, "out of memory: %lu words", (unsigned long)u->cap);
  }
  u->from[u->count] = u->text.size;
  put(&u->text, at, size);
  u->to[u->count++] = u->text.size;
}

/* Units i ... i+n-1. */
MAYBE_UNUSED static syn_text units_slice(const units *u, size_t i, size_t n) {
  syn_text t;
  t.at = u->text.at + u->from[i];
  t.size = u->to[i + n - 1] - u->from[i];
  return t;
}
MAYBE_UNUSED static int unit_equal(const units *a, size_t i, const units *b, size_t k) {
  return text_equal(units_slice(a, i, 1), units_slice(b, k, 1));
}

/* Splits at white space: " a  b" and "a b" give the same units. The loop runs to i == t.size, where
   the end of the text ends the last word. */
MAYBE_UNUSED static void split_words(units *u, syn_text t) {
  uint32_t code;
  size_t i, size, begin = 0;
  for (i = 0; i <= t.size; i += size) {
    size = i < t.size ? decode(t, i, &code) : 1;
    if (i < t.size && !is_space(code)) continue;
    if (i > begin) {
      if (u->count) put_byte(&u->text, ' ');
      unit_put(u, t.at + begin, i - begin);
    }
    begin = i + size;
  }
}

/* Every character that is no white space. */
MAYBE_UNUSED static void split_characters(units *u, syn_text t) {
  uint32_t code;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (!is_space(code)) unit_put(u, t.at + i, size);
  }
}

/* Levenshtein distance: the fewest insertions, deletions and substitutions that change a into b.
   After step i, row[k] is the distance of the first i units of a and the first k of b. */
MAYBE_UNUSED static size_t units_distance(const units *a, const units *b) {
  size_t *row = (size_t *)take(b->count + 1, sizeof *row), i, k, diagonal, above, best;
  for (k = 0; k <= b->count; k++) row[k] = k;
  for (i = 1; i <= a->count; i++) {
    diagonal = row[0];
    row[0] = i;
    for (k = 1; k <= b->count; k++) {
      above = row[k];
      best = diagonal + !unit_equal(a, i - 1, b, k - 1);
      if (above + 1 < best) best = above + 1;
      if (row[k - 1] + 1 < best) best = row[k - 1] + 1;
      row[k] = best;
      diagonal = above;
    }
  }
  best = row[b->count];
  free(row);
  return best;
}

/* The length of the longest common subsequence, by the same dynamic programming over rows. */
MAYBE_UNUSED static size_t units_common(const units *a, const units *b) {
  size_t *row = (size_t *)take(b->count + 1, sizeof *row), i, k, diagonal, above;
  for (i = 1; i <= a->count; i++) {
    diagonal = 0;
    for (k = 1; k <= b->count; k++) {
      above = row[k];
      if (unit_equal(a, i - 1, b, k - 1)) row[k] = diagonal + 1;
      else if (row[k - 1] > above) row[k] = row[k - 1];
      diagonal = above;
    }
  }
  k = row[b->count];
  free(row);
  return k;
}

/* Edit distance of two names, in characters. */
MAYBE_UNUSED static size_t name_distance(syn_text a, syn_text b) {
  units x, y;
  size_t distance;
  memset(&x, 0, sizeof x);
  memset(&y, 0, sizeof y);
  split_characters(&x, a);
  split_characters(&y, b);
  distance = units_distance(&x, &y);
  units_free(&x);
  units_free(&y);
  return distance;
}

/* The name with the smallest edit distance to a mistyped one, among those tried so far; the first
   of several. All zero: none was tried. */
typedef struct nearest {
  const char *name;
  size_t distance;
} nearest;

MAYBE_UNUSED static void nearest_try(nearest *n, syn_text given, const char *name) {
  size_t distance = name_distance(given, text_of(name));
  if (n->name && n->distance <= distance) return;
  n->name = name;
  n->distance = distance;
}
