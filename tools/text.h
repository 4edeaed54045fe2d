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
  b->at = (char *)grow(b->at, b->cap, 1);
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
MAYBE_UNUSED static int text_is(syn_text a, const char *s) { return text_equal(a, syn_text_of(s)); }

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
   slice of it. Of a text file the byte order mark is skipped and each line end becomes one byte; a
   file that is no text in UTF-8 by its first bytes is refused by name. Bytes 0 and invalid
   UTF-8 pass: text_scan counts them. */

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
  if (t.size < 60) return (int)t.size;
  t.size = 60;
  return (int)syn_text_whole(t);
}

/* Appends all that is left of a stream. */
MAYBE_UNUSED static void read_rest(buffer *b, FILE *f) {
  size_t got;
  do {
    buffer_reserve(b, 65536);
    got = fread(b->at + b->size, 1, 65536, f);
    b->size += got;
  } while (got);
}

/* The bytes of a file as they are. "-" is standard input. */
MAYBE_UNUSED static buffer read_file(const char *path) {
  buffer b = {NULL, 0, 0};
  FILE *f = strcmp(path, "-") == 0 ? stdin : open_file(path, "rb");
  int error;
  snprintf(file_read, sizeof file_read, "%s", path);
  if (!f) fail(FAILED_JOB, "cannot open %s: %s", path, strerror(errno));
  read_rest(&b, f);
  error = ferror(f) ? errno : 0;
  if (f != stdin) fclose(f);
  if (error) fail(FAILED_JOB, "cannot read %s: %s", path, strerror(error));
  return b;
}

/* The name of UTF-16 or UTF-32 without a byte order mark, by the places of its bytes 0: those of a
   UTF-16 text have one parity, as at least half of its characters are below 256; a UTF-32 text has
   two at the same side of each four. Else null. */
static const char *wide_text(syn_text t) {
  static const char *const names[] = {"UTF-16BE", "UTF-16LE", "UTF-32BE", "UTF-32LE"};
  size_t zeros[4] = {0, 0, 0, 0}, n = t.size & ~(size_t)3, i;
  for (i = 0; i < n; i++) zeros[i % 4] += !t.at[i];
  if (n && zeros[0] == n / 4 && zeros[1] > n / 8) return names[2];
  if (n && zeros[3] == n / 4 && zeros[2] > n / 8) return names[3];
  n = t.size & ~(size_t)1;
  zeros[0] = zeros[1] = 0;
  for (i = 0; i < n; i++) zeros[i % 2] += !t.at[i];
  for (i = 0; i < 2; i++)
    if (zeros[i] >= 2 && zeros[i] > n / 4 && !zeros[!i]) return names[i];
  return NULL;
}

/* The first bytes by which a file is known that is no text in UTF-8, and what to do with it. */
static const struct {
  const char *bytes;
  size_t size;
  const char *name, *remedy;
} other_files[] = {
    {"\xFF\xFE\0\0", 4, "UTF-32", "convert it with iconv -f utf-32 -t utf-8"},
    {"\0\0\xFE\xFF", 4, "UTF-32", "convert it with iconv -f utf-32 -t utf-8"},
    {"\xFF\xFE", 2, "UTF-16", "convert it with iconv -f utf-16 -t utf-8"},
    {"\xFE\xFF", 2, "UTF-16", "convert it with iconv -f utf-16 -t utf-8"},
    {"\x1F\x8B", 2, "gzip", "unpack it with gunzip"},
    {"PK\3\4", 4, "zip", "unpack it (a document of Word or Excel: save it as plain text)"},
    {"\xFD" "7zXZ", 5, "xz", "unpack it with unxz"},
    {"BZh91AY", 7, "bzip2", "unpack it with bunzip2"},
    {"\x28\xB5\x2F\xFD", 4, "zstd", "unpack it with unzstd"},
    {"%PDF-", 5, "PDF", "save it as plain text"},
    {"\x7F" "ELF", 4, "a program", "a text file is wanted"},
};

/* Whether bytes begin like a safetensors file: the size of its header, below 2^48, then its first
   bracket. */
enum { TENSORS_HEAD = 9 };
MAYBE_UNUSED static int is_tensors(syn_text t) {
  return t.size >= TENSORS_HEAD && !t.at[6] && !t.at[7] && t.at[8] == '{';
}

/* Exits when a text has a byte 0; `line` is the number of its first line. */
MAYBE_UNUSED static void check_zeros(syn_text t, const char *path, unsigned long line) {
  const char *zero = t.size ? (const char *)memchr(t.at, 0, t.size) : NULL;
  if (!zero) return;
  for (; t.at < zero; t.at++) line += *t.at == '\n';
  fail(FAILED_JOB, "%s: a byte 0 in line %lu: this is no text file", path, line);
}

/* Exits, with its name, when a file begins like something else than a text in UTF-8. */
MAYBE_UNUSED static void check_text(syn_text t, const char *path) {
  const char *wide;
  size_t i;
  if (t.size > 4096) t.size = 4096;
  for (i = 0; i < COUNT(other_files); i++)
    if (t.size >= other_files[i].size && !memcmp(t.at, other_files[i].bytes, other_files[i].size))
      fail(FAILED_JOB, "%s: this is %s: %s", path, other_files[i].name, other_files[i].remedy);
  wide = t.size ? wide_text(t) : NULL;
  if (wide)
    fail(FAILED_JOB, "%s: this is %s: convert it with iconv -f %s -t utf-8", path, wide, wide);
  if (is_tensors(t)) fail(FAILED_JOB, "%s: this is a model file: a text file is wanted", path);
}

/* Every line end becomes one '\n': CRLF does, and a CR at the end of the text. A text without any
   '\n' is of a system that ended its lines in CR. Another CR stays, a character of its line. */
MAYBE_UNUSED static void unify_line_ends(buffer *b) {
  size_t i, n = 0;
  int feeds = b->size && memchr(b->at, '\n', b->size);
  for (i = 0; i < b->size; i++) {
    int at_end = i + 1 == b->size || b->at[i + 1] == '\n';
    if (b->at[i] != '\r' || (feeds && !at_end)) b->at[n++] = b->at[i];
    else if (!feeds) b->at[n++] = '\n';
  }
  b->size = n;
}

/* The text of a file that was read; one without text is an error. */
MAYBE_UNUSED static buffer text_of(buffer b, const char *path) {
  check_text(buffer_text(&b), path);
  skip_byte_order_mark(&b);
  unify_line_ends(&b);
  if (!b.size) fail(FAILED_JOB, "%s is empty, at least one line is wanted", path);
  return b;
}
MAYBE_UNUSED static buffer read_text(const char *path) { return text_of(read_file(path), path); }

/* Writes a file as the library writes its own: PATH has all of it or stays what it was, see
   syn_file_write. A failure is recorded in c. */
MAYBE_UNUSED static void write_bytes(syn_context *c, const char *path, const void *bytes,
                                     size_t size) {
  syn_text text;
  text.at = (const char *)bytes;
  text.size = size;
  syn_text_write(c, path, &text);
}
MAYBE_UNUSED static void write_file(const char *path, const void *bytes, size_t size) {
  syn_context c;
  syn_context_init(&c, NULL);
  write_bytes(&c, path, bytes, size);
  check(&c);
}

/* The lines of a block of bytes, which they own; the last one may lack its end. */
MAYBE_UNUSED static lines lines_of(buffer bytes) {
  lines l;
  syn_text rest;
  size_t i;
  l.bytes = bytes;
  l.count = 0;
  if (l.bytes.size && l.bytes.at[l.bytes.size - 1] != '\n') put_byte(&l.bytes, '\n');
  for (i = 0; i < l.bytes.size; i++) l.count += l.bytes.at[i] == '\n';
  l.at = (syn_text *)take(l.count, sizeof *l.at);
  rest = buffer_text(&l.bytes);
  for (i = 0; i < l.count && next_piece(&rest, "\n", &l.at[i]);) i++;
  return l;
}
/* The lines of a text file. */
MAYBE_UNUSED static lines read_lines(const char *path) { return lines_of(read_text(path)); }

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
  size_t end = i;
  *code = syn_text_next(t, &end);
  return end - i;
}

/* A text without characters but white space. */
MAYBE_UNUSED static int is_blank(syn_text t) {
  uint32_t code;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (!syn_is_space(code)) return 0;
  }
  return 1;
}

/* What a text has beside well-formed characters. */
typedef struct text_scan {
  size_t invalid, wide; /* bytes that are not UTF-8; characters of several bytes */
  size_t alone, upper;  /* of the invalid: those between ASCII bytes; those below 0xA0 */
  size_t zeros, returns, orders; /* bytes 0; CR inside of lines; byte order marks */
  size_t letters, apart; /* apart: marks that Unicode's NFC makes one with their letter */
} text_scan;

/* Accents, parts of Hangul syllables, the marks of voiced kana. */
MAYBE_UNUSED static int is_letter_mark(uint32_t c) {
  return (c >= 0x300 && c < 0x370) || (c >= 0x1161 && c < 0x1200) || c == 0x3099 || c == 0x309A;
}

/* Adds the counts of a text, but for `apart`. */
MAYBE_UNUSED static void scan_text(text_scan *s, syn_text t) {
  uint32_t code;
  size_t i, size;
  s->invalid += syn_text_invalid(t);
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    s->wide += size > 1;
    s->zeros += !code;
    s->returns += code == '\r';
    s->orders += code == 0xFEFF;
    if (code <= 0x10FFFF) {
      s->letters += (code >= 0xAA || (code | 32) - 'a' < 26u) && !is_letter_mark(code);
      continue;
    }
    s->upper += (unsigned char)t.at[i] < 0xA0;
    s->alone += (!i || (unsigned char)t.at[i - 1] < 0x80) &&
                (i + 1 == t.size || (unsigned char)t.at[i + 1] < 0x80);
  }
}

/* Appends t in another form: a sum of SYN_LOWERCASE and SYN_NFC. */
MAYBE_UNUSED static void put_normalized(buffer *b, syn_text t, int flags) {
  size_t most = syn_text_normalize(t, flags, NULL, 0) + 1;
  buffer_reserve(b, most);
  b->size += syn_text_normalize(t, flags, b->at + b->size, most);
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
    u->from = (size_t *)grow(u->from, u->cap, sizeof *u->from);
    u->to = (size_t *)grow(u->to, u->cap, sizeof *u->to);
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

/* A text and its place in a list, to sort the list. */
typedef struct numbered {
  syn_text text;
  size_t at;
} numbered;

MAYBE_UNUSED static int numbered_order(const void *a, const void *b) {
  return text_compare(((const numbered *)a)->text, ((const numbered *)b)->text);
}

/* Gives n texts numbers below n, number [n]: equal texts equal ones. So that loops over pairs of
   words compare numbers. */
MAYBE_UNUSED static void number_texts(const syn_text *texts, size_t n, size_t *number) {
  numbered *sorted = (numbered *)take(n, sizeof *sorted);
  size_t i, next = 0;
  for (i = 0; i < n; i++) sorted[i].text = texts[i], sorted[i].at = i;
  qsort(sorted, n, sizeof *sorted, numbered_order);
  for (i = 0; i < n; i++) {
    next += i && !text_equal(sorted[i - 1].text, sorted[i].text);
    number[sorted[i].at] = next;
  }
  free(sorted);
}

/* The numbers of the units of a, then of those of b; the caller frees them. */
MAYBE_UNUSED static size_t *units_number(const units *a, const units *b) {
  size_t n = a->count + b->count, *number = (size_t *)take(n, sizeof *number), i;
  syn_text *texts = (syn_text *)take(n, sizeof *texts);
  for (i = 0; i < n; i++)
    texts[i] = i < a->count ? units_slice(a, i, 1) : units_slice(b, i - a->count, 1);
  number_texts(texts, n, number);
  free(texts);
  return number;
}

/* Appends one word, after a space where it is not the first. */
MAYBE_UNUSED static void unit_put_word(units *u, const char *at, size_t size) {
  if (u->count) put_byte(&u->text, ' ');
  unit_put(u, at, size);
}

/* Splits at white space: " a  b" and "a b" give the same units. The loop runs to i == t.size, where
   the end of the text ends the last word. */
MAYBE_UNUSED static void split_words(units *u, syn_text t) {
  uint32_t code;
  size_t i, size, begin = 0;
  for (i = 0; i <= t.size; i += size) {
    size = i < t.size ? decode(t, i, &code) : 1;
    if (i < t.size && !syn_is_space(code)) continue;
    if (i > begin) unit_put_word(u, t.at + begin, i - begin);
    begin = i + size;
  }
}

/* The next word of a text, of which `rest` becomes what follows; 0: there is none. */
MAYBE_UNUSED static int next_word(syn_text *rest, syn_text *word) {
  uint32_t code;
  size_t i = 0, size = 0, begin;
  while (i < rest->size && (size = decode(*rest, i, &code), syn_is_space(code))) i += size;
  for (begin = i; i < rest->size; i += size) {
    size = decode(*rest, i, &code);
    if (syn_is_space(code)) break;
  }
  word->at = rest->at + begin;
  word->size = i - begin;
  rest->at += i;
  rest->size -= i;
  return word->size > 0;
}

/* Every character that is no white space. */
MAYBE_UNUSED static void split_characters(units *u, syn_text t) {
  uint32_t code;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (!syn_is_space(code)) unit_put(u, t.at + i, size);
  }
}

/* Levenshtein distance: the fewest insertions, deletions and substitutions that change a into b.
   After step i, row[k] is the distance of the first i units of a and the first k of b. */
MAYBE_UNUSED static size_t units_distance(const units *a, const units *b) {
  size_t *number = units_number(a, b), *other = number + a->count;
  size_t *row = (size_t *)take(b->count + 1, sizeof *row), i, k, diagonal, above, best;
  for (k = 0; k <= b->count; k++) row[k] = k;
  for (i = 1; i <= a->count; i++) {
    diagonal = row[0];
    row[0] = i;
    for (k = 1; k <= b->count; k++) {
      above = row[k];
      best = diagonal + (number[i - 1] != other[k - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[k - 1] + 1 < best) best = row[k - 1] + 1;
      row[k] = best;
      diagonal = above;
    }
  }
  best = row[b->count];
  free(row);
  free(number);
  return best;
}

/* Where a number is among the columns of the table below. */
typedef struct number_columns {
  size_t last;    /* 1 + its last column; 0: it has none */
  uint64_t *mask; /* with at least `wide` columns: there are at most 63 such numbers */
} number_columns;

/* The longest common subsequence of a and b, sequences of numbers. length(i, k) is that of the
   first i of a and the first k of b. A row is that of one i, as bits: bit k is 0 where length(i,
   k + 1) = length(i, k) + 1. So 64 columns are computed at a time (Crochemore et al. 2001, "A fast
   and practical bit-vector algorithm for the longest common subsequence problem"). */
typedef struct subsequence {
  const size_t *b;
  size_t count, wide;    /* columns; words of 64 bits in a row */
  size_t *before;        /* [count] 1 + the column with the same number before this one, or 0 */
  number_columns *of;
  uint64_t *mask;        /* [64][wide] the columns of a number; the first one is for any number */
} subsequence;

/* of [more than the largest number]: zeros, which subsequence_close leaves there, too. */
MAYBE_UNUSED static subsequence subsequence_open(const size_t *b, size_t count,
                                                 number_columns *of) {
  subsequence s;
  size_t k, at, times, next = 1;
  s.b = b;
  s.count = count;
  s.wide = count / 64 + 1;
  s.of = of;
  s.before = (size_t *)take(count, sizeof *s.before);
  s.mask = (uint64_t *)take(size_mul(64, s.wide), sizeof *s.mask);
  for (k = 0; k < count; k++) s.before[k] = of[b[k]].last, of[b[k]].last = k + 1;
  for (k = 0; k < count; k++) {
    if (of[b[k]].last != k + 1) continue;
    for (times = 0, at = k + 1; at; at = s.before[at - 1]) times++;
    if (times < s.wide) continue;
    of[b[k]].mask = s.mask + next++ * s.wide;
    for (at = k + 1; at; at = s.before[at - 1])
      of[b[k]].mask[(at - 1) / 64] |= (uint64_t)1 << (at - 1) % 64;
  }
  return s;
}
MAYBE_UNUSED static void subsequence_close(subsequence *s) {
  size_t k;
  for (k = 0; k < s->count; k++) s->of[s->b[k]].last = 0, s->of[s->b[k]].mask = NULL;
  free(s->before);
  free(s->mask);
}

/* row i - 1 becomes row i; x: number i of a. */
MAYBE_UNUSED static void subsequence_step(const subsequence *s, size_t x, uint64_t *row) {
  uint64_t carry = 0, both, sum, *mask = s->of[x].mask ? s->of[x].mask : s->mask;
  size_t k, last = s->of[x].mask ? 0 : s->of[x].last;
  if (!s->of[x].last) return;
  for (k = last; k; k = s->before[k - 1]) mask[(k - 1) / 64] |= (uint64_t)1 << (k - 1) % 64;
  for (k = 0; k < s->wide; k++) {
    both = row[k] & mask[k];
    sum = row[k] + both + carry;
    carry = carry ? sum <= both : sum < both;
    row[k] = sum | (row[k] & ~mask[k]);
  }
  for (k = last; k; k = s->before[k - 1]) mask[(k - 1) / 64] = 0;
}

/* length(i, k) of row i. */
MAYBE_UNUSED static size_t subsequence_length(const uint64_t *row, size_t k) {
  size_t sum = 0, i;
  for (i = 0; i * 64 < k; i++) {
    uint64_t x = ~row[i];
    if (k - i * 64 < 64) x &= ((uint64_t)1 << (k - i * 64)) - 1;
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    sum += (size_t)(((x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
  }
  return sum;
}

/* The length of the longest common subsequence. */
MAYBE_UNUSED static size_t units_common(const units *a, const units *b) {
  size_t *number = units_number(a, b), i;
  number_columns *of = (number_columns *)take(a->count + b->count, sizeof *of);
  subsequence s = subsequence_open(number + a->count, b->count, of);
  uint64_t *row = (uint64_t *)take(s.wide, sizeof *row);
  memset(row, 0xFF, s.wide * sizeof *row);
  for (i = 0; i < a->count; i++) subsequence_step(&s, number[i], row);
  i = subsequence_length(row, b->count);
  subsequence_close(&s);
  free(row);
  free(of);
  free(number);
  return i;
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
  size_t distance = name_distance(given, syn_text_of(name));
  if (n->name && n->distance <= distance) return;
  n->name = name;
  n->distance = distance;
}
