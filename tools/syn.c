/* syn   the command-line tool of synthesizer.h: train, run and measure models without writing code

   Build:  cc -O2 tools/syn.c -o syn -lm          (-fopenmp for threads)
   Use:    syn help                               every command, every option, every default

   Results go to stdout, everything else to stderr. Exit status: 0 success; 1 a failed job (a file
   that is missing, files that do not fit together); 2 wrong use (an unknown command or option, a
   value that is none). An error is one line that says what was given and what is wanted.

   `grep -n '>>' tools/syn.c` is the map; a room calls only rooms above it. A new command is one row
   in `commands`, its table of options, and a function that takes the parsed arguments. */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include <errno.h>

/* ===================================================================================================
   >>tool base   errors, memory, growing bytes, pieces of text
   =================================================================================================== */

/* The library never exits and allocates only through its context; the tool is a program and may do
   both: memory that is not there, like any other failure, ends it with one line. So no function
   here returns an error, and what it returns is always whole. */

enum { FAILED_JOB = 1, WRONG_USE = 2 };

#if defined(__GNUC__) || defined(__clang__)
#define NO_RETURN __attribute__((noreturn))
#else
#define NO_RETURN
#endif

/* Prints "syn: ..." as one line on stderr and ends the program. */
static void fail(int status, const char *format, ...) SYN__PRINTF(2, 3) NO_RETURN;
static void fail(int status, const char *format, ...) {
  va_list args;
  fflush(stdout);
  fputs("syn: ", stderr);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(status);
}

/* `count` zeroed elements; ends the program when there is no room. */
static void *take(size_t count, size_t size) {
  void *at = calloc(count ? count : 1, size);
  if (!at) fail(FAILED_JOB, "out of memory: %lu elements of %lu bytes", (unsigned long)count,
                (unsigned long)size);
  return at;
}

/* Bytes that grow; zeroed it is empty. Released with free(at). */
typedef struct buffer {
  char *at; /* null while cap is 0 */
  size_t size, cap;
} buffer;

static void buffer_reserve(buffer *b, size_t more) {
  size_t need = syn__add_size(b->size, more);
  if (need <= b->cap && b->at) return;
  if (b->cap < 64) b->cap = 64;
  while (b->cap < need) b->cap = syn__mul_size(b->cap, 2);
  b->at = (char *)realloc(b->at, b->cap);
  if (!b->at) fail(FAILED_JOB, "out of memory: %lu bytes", (unsigned long)need);
}
static void put(buffer *b, const char *at, size_t size) {
  buffer_reserve(b, size);
  if (size) memcpy(b->at + b->size, at, size);
  b->size += size;
}
static void put_byte(buffer *b, char c) { put(b, &c, 1); }

/* Views: the bytes stay with their owner. */
static syn_text text_of(const char *s) {
  syn_text t;
  t.at = s;
  t.size = strlen(s);
  return t;
}
static syn_text buffer_text(const buffer *b) {
  syn_text t;
  t.at = b->at;
  t.size = b->size;
  return t;
}

/* The order of the bytes; a text stands before its continuations. */
static int text_compare(syn_text a, syn_text b) {
  size_t n = a.size < b.size ? a.size : b.size;
  int order = n ? memcmp(a.at, b.at, n) : 0;
  return order ? order : a.size < b.size ? -1 : a.size > b.size;
}
static int text_equal(syn_text a, syn_text b) { return text_compare(a, b) == 0; }
static int text_is(syn_text a, const char *s) { return text_equal(a, text_of(s)); }

/* Cuts the next piece off `rest`, up to one of the bytes in `separators` or the end: the columns of
   a TSV line with "\t", a list with ",". n separators make n+1 pieces. Returns 0 when none is left:
   rest->at is null then. */
static int next_piece(syn_text *rest, const char *separators, syn_text *piece) {
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

/* ===================================================================================================
   >>tool files   a whole file as lines
   =================================================================================================== */

/* The whole file is read at once: every metric and every training pass needs all lines, and slices
   of one block need no copy. Bytes are taken as they are, 0 and invalid UTF-8 too. */

typedef struct lines {
  buffer bytes;
  syn_text *at; /* [count], without line ends; they point into bytes */
  size_t count;
} lines;

/* "-" is standard input. */
static buffer read_file(const char *path) {
  buffer b = {NULL, 0, 0};
  FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
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

/* Lines end in LF or CRLF; the last one may lack it. A file of no bytes is an error. */
static lines read_lines(const char *path) {
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

static void lines_free(lines *l) {
  free(l->bytes.at);
  free(l->at);
}

/* ===================================================================================================
   >>tool units   a text cut into words or characters; edit distance, longest common subsequence
   =================================================================================================== */

/* All metrics but pearson compare sequences of units. They keep the text itself and where each unit
   stands in it; nothing is numbered or hashed, so there is no vocabulary to build or to overflow.
   */

/* Decodes the character at t.at[i], UTF-8; returns its size in bytes. A byte that begins no valid
   character is one character of its own, with a code no real one has. */
static size_t decode(syn_text t, size_t i, uint32_t *code) {
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

/* White space as Python's str.split takes it, for that is what the published scores were made with:
   the no-break space U+00A0, common in French, does part words. */
static int is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/* Lower case of Latin, Greek and Cyrillic letters; any other character stays as it is. */
static uint32_t lower(uint32_t c) {
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

/* Appends t in lower case. Letters that change are of two or three bytes, before and after. */
static void put_lower(buffer *b, syn_text t) {
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

/* Words one space apart, or characters side by side. Units i ... i+n-1 are the bytes from[i] to
   to[i+n-1]: equal bytes are equal n-grams, so an n-gram is a slice of the text. */
typedef struct units {
  buffer text;
  size_t *from, *to; /* [count] */
  size_t count, cap;
} units;

static void units_free(units *u) {
  free(u->text.at);
  free(u->from);
  free(u->to);
}

/* Appends one unit; whoever wants a space between two puts it first. */
static void unit_put(units *u, const char *at, size_t size) {
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
static syn_text units_slice(const units *u, size_t i, size_t n) {
  syn_text t;
  t.at = u->text.at + u->from[i];
  t.size = u->to[i + n - 1] - u->from[i];
  return t;
}
static int unit_equal(const units *a, size_t i, const units *b, size_t k) {
  return text_equal(units_slice(a, i, 1), units_slice(b, k, 1));
}

/* The words between white space, one space apart whatever stood there: " a  b" and "a b" come out
   equal. The end of the text acts as a last space. */
static void cut_words(units *u, syn_text t) {
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

/* Every character but white space. */
static void cut_characters(units *u, syn_text t) {
  uint32_t code;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (!is_space(code)) unit_put(u, t.at + i, size);
  }
}

/* Levenshtein: the fewest insertions, deletions and replacements of units that turn a into b.
   row[k] = distance of the first i units of a to the first k of b. */
static size_t units_distance(const units *a, const units *b) {
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

/* The length of the longest common subsequence, row by row as above. */
static size_t units_common(const units *a, const units *b) {
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

/* Edit distance of two names, in characters: finds what a mistyped name was meant to be. */
static size_t name_distance(syn_text a, syn_text b) {
  units x, y;
  size_t distance;
  memset(&x, 0, sizeof x);
  memset(&y, 0, sizeof y);
  cut_characters(&x, a);
  cut_characters(&y, b);
  distance = units_distance(&x, &y);
  units_free(&x);
  units_free(&y);
  return distance;
}

/* ===================================================================================================
   >>tool options   one table of options per command; parsing, checking, look-up, help
   =================================================================================================== */

/* A table says all there is to know of an option: help prints it, the parser checks values by it,
   and the default is the same text a user would have typed. A command asks for values by name. */

typedef enum option_kind {
  FLAG,   /* takes no value */
  INT,    /* int */
  BIG,    /* 0 ... 2^64-1, for seeds */
  NUMBER, /* finite double */
  CHOICE, /* one of the words of `wants` */
  TEXT
} option_kind;

typedef struct option {
  const char *name; /* without the dashes; null ends a table */
  char letter;      /* of the short form, or 0 */
  option_kind kind;
  const char *preset; /* the default as text; "": none; null: must be given */
  const char *wants;  /* INT, NUMBER: "lowest..highest", either may lack; CHOICE: "a|b" */
  const char *help;
} option;

typedef struct arguments arguments;

typedef struct command {
  const char *name, *words; /* words: what follows the options, as help shows it: "HYP REF" */
  int words_min, words_max; /* how many of them; max -1: any number */
  const option *options;    /* null: nothing of this command is built */
  int (*run)(const arguments *a); /* returns the exit status; null: not built yet */
  const char *help;
} command;

typedef struct given {
  const option *option;
  const char *value;
} given;

/* What was given, in order and checked. */
struct arguments {
  const command *command;
  given *given;
  const char **words;
  int given_count, word_count, help; /* help: --help was among them */
};

static const option option_help = {"help", 'h', FLAG, "off", "", "prints this"};

/* Nearest name in a table, by edit distance; for messages. */
static const char *nearest_option(const option *table, syn_text name) {
  const char *best = "help";
  size_t least = name_distance(name, text_of(best)), d;
  for (; table->name; table++) {
    d = name_distance(name, text_of(table->name));
    if (d < least) least = d, best = table->name;
  }
  return best;
}

/* The option `arg` names ("--beam", "--beam=4", "-m"), and its name without dashes and value. */
static const option *find_option(const command *c, const char *arg, syn_text *name) {
  const option *o;
  int is_long = arg[1] == '-';
  name->at = arg + 1 + is_long;
  name->size = strcspn(name->at, "=");
  for (o = c->options; o->name; o++) {
    if (is_long && text_is(*name, o->name)) return o;
    if (!is_long && name->size == 1 && o->letter == name->at[0]) return o;
  }
  if (text_is(*name, is_long ? "help" : "h")) return &option_help;
  fail(WRONG_USE, "%s has no option %.*s; the nearest is --%s (syn %s --help lists all)", c->name,
       (int)strcspn(arg, "="), arg, nearest_option(c->options, *name), c->name);
  return NULL;
}

/* The whole of s as a finite decimal number; no blanks, no hex, nothing behind it. */
static int parse_number(const char *s, double *value) {
  char *end;
  *value = 0.0;
  if (!*s || s[strspn(s, "0123456789+-.eE")]) return 0;
  *value = strtod(s, &end);
  return !*end && fabs(*value) <= 1.7976931348623157e308;
}
static int parse_int(const char *s, int *value) {
  char *end;
  long x;
  *value = 0;
  if (!*s || s[strspn(s, "0123456789+-")]) return 0;
  errno = 0;
  x = strtol(s, &end, 10);
  if (*end || errno || x < INT_MIN || x > INT_MAX) return 0;
  *value = (int)x;
  return 1;
}
static int parse_big(const char *s, uint64_t *value) {
  unsigned long long x;
  *value = 0;
  if (!*s || s[strspn(s, "0123456789")]) return 0;
  errno = 0;
  x = strtoull(s, NULL, 10);
  *value = (uint64_t)x;
  return !errno;
}

/* strtod stops at the second dot of "1..64", so each end is read where it stands. */
static int in_range(const char *range, double x) {
  const char *dots = strstr(range, "..");
  if (!dots) return 1;
  if (dots != range && x < strtod(range, NULL)) return 0;
  return !dots[2] || x <= strtod(dots + 2, NULL);
}

/* Whether `value` is one of "a|b|c". */
static int in_choices(const char *choices, const char *value) {
  syn_text rest = text_of(choices), choice;
  while (next_piece(&rest, "|", &choice))
    if (text_is(choice, value)) return 1;
  return 0;
}

/* The one place that knows what each kind accepts. */
static int value_fits(const option *o, const char *value) {
  double x;
  uint64_t big;
  int i;
  if (o->kind == INT) return parse_int(value, &i) && in_range(o->wants, (double)i);
  if (o->kind == NUMBER) return parse_number(value, &x) && in_range(o->wants, x);
  if (o->kind == BIG) return parse_big(value, &big);
  return o->kind != CHOICE || in_choices(o->wants, value);
}

/* What stands for the value in help and messages. */
static const char *value_name(const option *o) {
  static const char *const names[] = {"", "INT", "INT", "NUMBER", "", ""};
  return o->kind == CHOICE || o->kind == TEXT ? o->wants : names[o->kind];
}

static void check_value(const command *c, const option *o, const char *value) {
  static const char *const kinds[] = {"", "an integer ", "an integer 0..2^64-1", "a number ", "",
                                      ""};
  if (value_fits(o, value)) return;
  fail(WRONG_USE, "%s --%s wants %s%s, given: %s", c->name, o->name, kinds[o->kind], o->wants,
       value);
}

/* Takes one option; `next` is the argument behind it, or null. Returns 1 when that was used. */
static int take_option(arguments *a, const char *arg, const char *next) {
  syn_text name;
  const option *o = find_option(a->command, arg, &name);
  const char *value = name.at[name.size] == '=' ? name.at + name.size + 1 : NULL;
  int used = o->kind != FLAG && !value;
  if (o->kind == FLAG && value)
    fail(WRONG_USE, "%s --%s takes no value, given: %s", a->command->name, o->name, value);
  if (used && (!next || strncmp(next, "--", 2) == 0))
    fail(WRONG_USE, "%s --%s wants a value: %s", a->command->name, o->name, value_name(o));
  if (used) value = next;
  if (o == &option_help) a->help = 1;
  if (value) check_value(a->command, o, value);
  a->given[a->given_count].option = o;
  a->given[a->given_count++].value = value ? value : "on";
  return used;
}

/* The value an option has: the last one given, else its default; null when it has none. */
static const char *option_value(const arguments *a, const option *o) {
  int i;
  for (i = a->given_count - 1; i >= 0; i--)
    if (a->given[i].option == o) return a->given[i].value;
  return o->preset;
}

/* What the table demands as a whole: every "must be given", and the number of words. */
static void check_complete(const arguments *a) {
  const command *c = a->command;
  const option *o;
  for (o = c->options; o->name; o++)
    if (!option_value(a, o))
      fail(WRONG_USE, "%s wants --%s %s (syn %s --help)", c->name, o->name, value_name(o), c->name);
  if (a->word_count >= c->words_min && (c->words_max < 0 || a->word_count <= c->words_max)) return;
  fail(WRONG_USE, "%s wants %s behind its options, given: %d%s%s", c->name,
       *c->words ? c->words : "nothing", a->word_count, a->word_count ? ", the last one " : "",
       a->word_count ? a->words[a->word_count - 1] : "");
}

/* Options may stand before, behind and between the words; after "--" every argument is a word. */
static arguments parse(const command *c, int argc, char **argv) {
  arguments a;
  int i = 0, open = 1;
  memset(&a, 0, sizeof a);
  a.command = c;
  a.given = (given *)take((size_t)argc, sizeof *a.given);
  a.words = (const char **)take((size_t)argc, sizeof *a.words);
  while (i < argc) {
    const char *arg = argv[i++];
    if (open && strcmp(arg, "--") == 0) open = 0;
    else if (open && arg[0] == '-' && arg[1]) i += take_option(&a, arg, i < argc ? argv[i] : NULL);
    else a.words[a.word_count++] = arg;
  }
  if (!a.help) check_complete(&a);
  return a;
}

static void arguments_free(arguments *a) {
  free(a->given);
  free((void *)a->words);
}

/* -- look-ups for the commands; the name must be in the table of the command -- */

static const char *opt_text(const arguments *a, const char *name) {
  const option *o = a->command->options;
  while (o->name && strcmp(o->name, name) != 0) o++;
  if (!o->name) fail(FAILED_JOB, "the table of %s lacks --%s", a->command->name, name);
  return option_value(a, o);
}
static int opt_flag(const arguments *a, const char *name) {
  return strcmp(opt_text(a, name), "on") == 0;
}
/* The numbers: 0 when there is no value. */
static int opt_int(const arguments *a, const char *name) {
  int value;
  parse_int(opt_text(a, name), &value);
  return value;
}
static uint64_t opt_big(const arguments *a, const char *name) {
  uint64_t value;
  parse_big(opt_text(a, name), &value);
  return value;
}
static double opt_number(const arguments *a, const char *name) {
  double value;
  parse_number(opt_text(a, name), &value);
  return value;
}
/* The n-th value given for an option that may be repeated (--var), or null behind the last. */
static const char *opt_each(const arguments *a, const char *name, int n) {
  int i;
  for (i = 0; i < a->given_count; i++)
    if (strcmp(a->given[i].option->name, name) == 0 && n-- == 0) return a->given[i].value;
  return NULL;
}

/* -- help -- */

/* " -m, --model FILE help; range (default ...)", the help in column 30 where the name leaves room.
   */
static void print_option(const option *o) {
  const char *value = value_name(o);
  int range = o->kind == INT || o->kind == NUMBER, width;
  printf("  ");
  width = o->letter ? printf("-%c, ", o->letter) : 0;
  width += printf("--%s%s%s", o->name, *value ? " " : "", value);
  printf("%*s  %s", width < 26 ? 26 - width : 0, "", o->help);
  if (range && *o->wants) printf("; %s", o->wants);
  if (!o->preset) printf(" (must be given)\n");
  else printf(" (default %s)\n", *o->preset ? o->preset : "none");
}

static void print_command(const command *c) {
  const option *o;
  printf("syn %s [options]%s%s\n  %s\n", c->name, *c->words ? " " : "", c->words, c->help);
  if (!c->options) printf("  not built yet\n");
  for (o = c->options; o && o->name; o++) print_option(o);
  if (c->options) print_option(&option_help);
}

/* ===================================================================================================
   >>tool metrics   what eval and score measure; every value in per cent
   =================================================================================================== */

/* A metric sees the whole corpus, since most of them are no mean over lines. Each line is cut into
   units by the metric's own cutter, first the output, then every accepted alternative of the
   reference. */

typedef struct metric_options {
  int plain;            /* bleu: words as they stand (--tokenize none); 0: tokenizer 13a */
  int lowercase;        /* compares in lower case */
  int literal;          /* `|` and TAB in a reference are text; 0: they part alternatives */
  const char *positive; /* f1: the class that counts; null: see metric_f1 */
} metric_options;

/* n outputs and their references, line by line. */
typedef struct corpus {
  const syn_text *hyp, *ref;
  size_t n;
  const metric_options *options;
} corpus;

/* -- one line of both, cut into units -- */

typedef void (*cutter)(units *u, syn_text line);

typedef struct example {
  units hyp, *refs; /* refs [ref_count], at least one */
  size_t ref_count;
} example;

/* Lower case comes before the cutter, as in sacrebleu: it makes an entity of &QUOT; and the like.
   */
static units prepare(cutter cut, syn_text line, const metric_options *o) {
  buffer low = {NULL, 0, 0};
  units u;
  memset(&u, 0, sizeof u);
  buffer_reserve(&u.text, line.size);
  if (o->lowercase) put_lower(&low, line), line = buffer_text(&low);
  cut(&u, line);
  free(low.at);
  return u;
}

/* Alternatives without any unit are dropped, so that lines may have fewer of them than others; a
   reference that is all empty stays as one empty text. */
static example example_make(const corpus *c, size_t i, cutter cut) {
  const char *separators = c->options->literal ? "" : "|\t";
  syn_text rest = c->ref[i], piece;
  size_t pieces = 1, k;
  units u;
  example e;
  for (k = 0; k < rest.size; k++) pieces += rest.at[k] == '|' || rest.at[k] == '\t';
  e.hyp = prepare(cut, c->hyp[i], c->options);
  e.refs = (units *)take(pieces, sizeof *e.refs);
  e.ref_count = 0;
  while (next_piece(&rest, separators, &piece)) {
    u = prepare(cut, piece, c->options);
    if (u.count) e.refs[e.ref_count++] = u;
    else units_free(&u);
  }
  if (!e.ref_count) e.ref_count = 1;
  return e;
}

static void example_free(example *e) {
  size_t r;
  for (r = 0; r < e->ref_count; r++) units_free(&e->refs[r]);
  free(e->refs);
  units_free(&e->hyp);
}

/* -- n-grams -- */

typedef struct grams {
  syn_text *at;  /* [count] different ones, sorted */
  size_t *times; /* [count] how often each occurs */
  size_t count;
} grams;

static int text_order(const void *a, const void *b) {
  return text_compare(*(const syn_text *)a, *(const syn_text *)b);
}

/* How many n-grams u has, repeated ones counted each time. */
static size_t grams_in(const units *u, size_t n) { return u->count < n ? 0 : u->count - n + 1; }

/* Sorting brings equal n-grams together: n log n, no hash table, and two sorted lists are compared
   in one walk. */
static grams grams_make(const units *u, size_t n) {
  size_t total = grams_in(u, n), i;
  grams g;
  g.at = (syn_text *)take(total, sizeof *g.at);
  g.times = (size_t *)take(total, sizeof *g.times);
  g.count = 0;
  for (i = 0; i < total; i++) g.at[i] = units_slice(u, i, n);
  qsort(g.at, total, sizeof *g.at, text_order);
  for (i = 0; i < total; i++) {
    if (!g.count || !text_equal(g.at[g.count - 1], g.at[i])) g.at[g.count++] = g.at[i];
    g.times[g.count - 1]++;
  }
  return g;
}

static void grams_free(grams *g) {
  free(g->at);
  free(g->times);
}

/* Raises clip[i] to min(times of hyp i, times of it in ref); both are sorted. */
static void grams_clip(const grams *hyp, const grams *ref, size_t *clip) {
  size_t i = 0, k = 0, least;
  while (i < hyp->count && k < ref->count) {
    int order = text_compare(hyp->at[i], ref->at[k]);
    if (order == 0) {
      least = hyp->times[i] < ref->times[k] ? hyp->times[i] : ref->times[k];
      if (clip[i] < least) clip[i] = least;
    }
    i += order <= 0;
    k += order >= 0;
  }
}

/* Clipped matches: sum over the n-grams g of hyp of min(count of g in hyp, its largest count in any
   one reference). */
static size_t matches(const units *hyp, const units *refs, size_t ref_count, size_t n) {
  grams h = grams_make(hyp, n), g;
  size_t *clip = (size_t *)take(h.count, sizeof *clip), i, r, sum = 0;
  for (r = 0; r < ref_count; r++) {
    g = grams_make(&refs[r], n);
    grams_clip(&h, &g, clip);
    grams_free(&g);
  }
  for (i = 0; i < h.count; i++) sum += clip[i];
  free(clip);
  grams_free(&h);
  return sum;
}

/* -- bleu: Papineni et al. 2002 as sacrebleu computes it (Post 2018) -- */

/* Replaces every `what`, left to right, by `with`, which is not longer. */
static void replace(buffer *b, const char *what, const char *with) {
  size_t size = strlen(what), put_size = strlen(with), i = 0, k = 0;
  while (i < b->size) {
    if (b->size - i >= size && memcmp(b->at + i, what, size) == 0) {
      memcpy(b->at + k, with, put_size);
      k += put_size;
      i += size;
    } else {
      b->at[k++] = b->at[i++];
    }
  }
  b->size = k;
}

static int is_digit(int c) { return c >= '0' && c <= '9'; }
static int is_no_digit(int c) { return !is_digit(c); }
static int is_point(int c) { return c == '.' || c == ','; }
static int is_dash(int c) { return c == '-'; }
/* Every ASCII mark but ' , - and . */
static int is_mark(int c) { return c && strchr("!\"#$%&()*+/:;<=>?@[\\]^_`{|}~", c); }

/* Each pair xy with first(x), second(y), from left to right without overlap, becomes " x y"
   (before = 1) or "x y " (before = 0). Bytes do for characters: beyond ASCII all count alike. */
static void part_pairs(buffer *b, int (*first)(int), int (*second)(int), int before) {
  buffer out = {NULL, 0, 0};
  size_t i = 0;
  while (i < b->size) {
    const unsigned char *x = (const unsigned char *)b->at + i;
    int pair = i + 1 < b->size && first(x[0]) && second(x[1]);
    if (pair && before) put_byte(&out, ' ');
    put_byte(&out, b->at[i++]);
    if (!pair) continue;
    put_byte(&out, ' ');
    put_byte(&out, b->at[i++]);
    if (!before) put_byte(&out, ' ');
  }
  free(b->at);
  *b = out;
}

/* The tokenizer 13a (mteval-v13a): entities, then marks stand alone, then a point or comma parts
   from what is no digit, before it and behind it, then a dash from the digit before it. Each pass
   works on what the last one left, else "a,,b" and "1.-" would come out another way. */
static void cut_13a(units *u, syn_text line) {
  buffer b = {NULL, 0, 0}, out = {NULL, 0, 0};
  size_t i;
  put_byte(&b, ' ');
  put(&b, line.at, line.size);
  put_byte(&b, ' ');
  replace(&b, "<skipped>", "");
  replace(&b, "&quot;", "\"");
  replace(&b, "&amp;", "&");
  replace(&b, "&lt;", "<");
  replace(&b, "&gt;", ">");
  for (i = 0; i < b.size; i++) {
    int mark = is_mark((unsigned char)b.at[i]);
    if (mark) put_byte(&out, ' ');
    put_byte(&out, b.at[i]);
    if (mark) put_byte(&out, ' ');
  }
  part_pairs(&out, is_no_digit, is_point, 0);
  part_pairs(&out, is_point, is_no_digit, 1);
  part_pairs(&out, is_digit, is_dash, 0);
  cut_words(u, buffer_text(&out));
  free(b.at);
  free(out.at);
}

/* The reference length nearest to the output's; of two equally near ones the shorter. */
static size_t nearest_length(const example *e) {
  size_t best = e->refs[0].count, r;
  for (r = 1; r < e->ref_count; r++) {
    size_t len = e->refs[r].count, h = e->hyp.count;
    size_t gap = len > h ? len - h : h - len, least = best > h ? best - h : h - best;
    if (gap < least || (gap == least && len < best)) best = len;
  }
  return best;
}

/* BLEU = BP (p1 p2 p3 p4)^(1/4), p_n = matches / n-grams over the whole corpus, BP = 1 when the
   output is as long as the references, else e^(1 - r/h). The k-th p_n without a match is
   1 / (2^k n-grams) (smoothing "exp"); no match at all, or no 4-gram in the corpus, is 0. */
static double bleu_value(const size_t *hit, const size_t *total, double h, double r) {
  double logs = 0.0, smooth = 1.0;
  int n;
  if (!hit[0] || !total[3]) return 0.0;
  for (n = 0; n < 4; n++) {
    if (!hit[n]) smooth *= 2.0;
    logs += log((hit[n] ? (double)hit[n] : 1.0 / smooth) / (double)total[n]);
  }
  return 100.0 * exp(logs / 4.0) * (h < r ? exp(1.0 - r / h) : 1.0);
}

/* Matches, n-grams and both lengths are sums over the corpus: BLEU is no mean of sentence scores.
   */
static double metric_bleu(const corpus *c, int unused) {
  size_t hit[4] = {0, 0, 0, 0}, total[4] = {0, 0, 0, 0}, h = 0, r = 0, i, n;
  SYN__UNUSED(unused);
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, c->options->plain ? cut_words : cut_13a);
    for (n = 0; n < 4; n++) {
      hit[n] += matches(&e.hyp, e.refs, e.ref_count, n + 1);
      total[n] += grams_in(&e.hyp, n + 1);
    }
    h += e.hyp.count;
    r += nearest_length(&e);
    example_free(&e);
  }
  return bleu_value(hit, total, (double)h, (double)r);
}

/* -- chrF2: Popovic 2015, 2016, as in sacrebleu 2 -- */

#define CHRF_ORDER 6

typedef struct chrf_counts {
  double hyp[CHRF_ORDER], ref[CHRF_ORDER], hit[CHRF_ORDER];
} chrf_counts;

/* F = (1 + 4) P R / (4 P + R), P and R the means over the orders both sides have n-grams of. */
static double chrf_value(const chrf_counts *k) {
  double p = 0.0, r = 0.0;
  int n, orders = 0;
  for (n = 0; n < CHRF_ORDER; n++) {
    if (k->hyp[n] <= 0.0 || k->ref[n] <= 0.0) continue;
    p += k->hit[n] / k->hyp[n];
    r += k->hit[n] / k->ref[n];
    orders++;
  }
  return p + r > 0.0 ? 100.0 * 5.0 * p * r / (4.0 * p + r) / orders : 0.0;
}

/* Order by order: n-grams of the output, of the reference, clipped matches. */
static chrf_counts chrf_count(const units *hyp, const units *ref) {
  chrf_counts k;
  size_t n;
  for (n = 0; n < CHRF_ORDER; n++) {
    k.ref[n] = (double)grams_in(ref, n + 1);
    /* an order the reference has none of does not count against the output */
    k.hyp[n] = k.ref[n] > 0.0 ? (double)grams_in(hyp, n + 1) : 0.0;
    k.hit[n] = (double)matches(hyp, ref, 1, n + 1);
  }
  return k;
}

/* The counts of the best reference of each line are summed, then F is taken once. */
static double metric_chrf(const corpus *c, int unused) {
  chrf_counts sum, best, k;
  size_t i, r;
  int n;
  SYN__UNUSED(unused);
  memset(&sum, 0, sizeof sum);
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_characters);
    best = chrf_count(&e.hyp, &e.refs[0]);
    for (r = 1; r < e.ref_count; r++) {
      k = chrf_count(&e.hyp, &e.refs[r]);
      if (chrf_value(&k) > chrf_value(&best)) best = k;
    }
    for (n = 0; n < CHRF_ORDER; n++) {
      sum.hyp[n] += best.hyp[n];
      sum.ref[n] += best.ref[n];
      sum.hit[n] += best.hit[n];
    }
    example_free(&e);
  }
  return chrf_value(&sum);
}

/* -- exact, accuracy, wer, per -- */

/* Lines whose output equals an accepted alternative, up to the width of white space. `wrong` gives
   the other lines: the word error rate of phonemes, where a line is one word. */
static double metric_exact(const corpus *c, int wrong) {
  size_t i, r, right = 0;
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_words);
    for (r = 0; r < e.ref_count; r++)
      if (text_equal(buffer_text(&e.hyp.text), buffer_text(&e.refs[r].text))) break;
    right += r < e.ref_count;
    example_free(&e);
  }
  return 100.0 * (double)(wrong ? c->n - right : right) / (double)c->n;
}

/* Edit distance to the nearest alternative, in words, summed, over the summed length of those
   nearest ones (the first of equally near ones). */
static double metric_per(const corpus *c, int unused) {
  size_t errors = 0, length = 0, i, r, d;
  SYN__UNUSED(unused);
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_words);
    size_t least = units_distance(&e.hyp, &e.refs[0]), nearest = 0;
    for (r = 1; r < e.ref_count; r++) {
      d = units_distance(&e.hyp, &e.refs[r]);
      if (d < least) least = d, nearest = r;
    }
    errors += least;
    length += e.refs[nearest].count;
    example_free(&e);
  }
  return length ? 100.0 * (double)errors / (double)length : errors ? 100.0 : 0.0;
}

/* -- rouge: Lin 2004, F1, mean over lines, best alternative; as rouge_score without stemming -- */

/* Words of a-z and 0-9 in lower case; everything else parts them. */
static void cut_rouge(units *u, syn_text line) {
  buffer b = {NULL, 0, 0};
  size_t i;
  for (i = 0; i < line.size; i++) {
    char c = line.at[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
    put_byte(&b, is_digit(c) || (c >= 'a' && c <= 'z') ? c : ' ');
  }
  cut_words(u, buffer_text(&b));
  free(b.at);
}

/* F1 = 2 hits / (n-grams of hyp + n-grams of ref); order 0: the longest common subsequence. */
static double rouge_value(const units *hyp, const units *ref, size_t order) {
  size_t hit = order ? matches(hyp, ref, 1, order) : units_common(hyp, ref);
  size_t n = order ? order : 1;
  return hit ? 2.0 * (double)hit / (double)(grams_in(hyp, n) + grams_in(ref, n)) : 0.0;
}

/* The best alternative of each line, then the mean of lines (rouge_score: score_multi). */
static double metric_rouge(const corpus *c, int order) {
  double sum = 0.0;
  size_t i, r;
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_rouge);
    double best = 0.0, value;
    for (r = 0; r < e.ref_count; r++) {
      value = rouge_value(&e.hyp, &e.refs[r], (size_t)order);
      if (value > best) best = value;
    }
    sum += best;
    example_free(&e);
  }
  return 100.0 * sum / (double)c->n;
}

/* -- classes: f1, mcc -- */

/* Labels of all lines: the output and the alternative it equals, else the first; and how often each
   class was given out, was right to give, and both. */
typedef struct classes {
  units *kept;                 /* [2 n] own the texts */
  syn_text *name;              /* [count] sorted */
  size_t *given, *truth, *hit; /* [count] */
  size_t count, right;
} classes;

/* The number of a class, or count when there is no such class. */
static size_t class_find(const classes *k, syn_text label) {
  syn_text *at = (syn_text *)bsearch(&label, k->name, k->count, sizeof label, text_order);
  return at ? (size_t)(at - k->name) : k->count;
}

/* kept[2i] and kept[2i+1]: the label given and the true one of line i. */
static void class_labels(const corpus *c, classes *k) {
  size_t i, r;
  k->kept = (units *)take(2 * c->n, sizeof *k->kept);
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_words);
    units none, *truth = &e.refs[0];
    for (r = e.ref_count; r-- > 0;)
      if (text_equal(buffer_text(&e.hyp.text), buffer_text(&e.refs[r].text))) truth = &e.refs[r];
    memset(&none, 0, sizeof none);
    k->kept[2 * i] = e.hyp, e.hyp = none;
    k->kept[2 * i + 1] = *truth, *truth = none;
    example_free(&e);
  }
}

/* The class names are what occurs in either file; the table of counts is not n by n, only its
   margins and its diagonal are needed. */
static classes classes_make(const corpus *c) {
  classes k;
  size_t i, all = 2 * c->n;
  memset(&k, 0, sizeof k);
  class_labels(c, &k);
  k.name = (syn_text *)take(all, sizeof *k.name);
  for (i = 0; i < all; i++) k.name[i] = buffer_text(&k.kept[i].text);
  qsort(k.name, all, sizeof *k.name, text_order);
  for (i = 0; i < all; i++)
    if (!k.count || !text_equal(k.name[k.count - 1], k.name[i])) k.name[k.count++] = k.name[i];
  k.given = (size_t *)take(k.count, sizeof *k.given);
  k.truth = (size_t *)take(k.count, sizeof *k.truth);
  k.hit = (size_t *)take(k.count, sizeof *k.hit);
  for (i = 0; i < c->n; i++) {
    size_t said = class_find(&k, buffer_text(&k.kept[2 * i].text));
    size_t truth = class_find(&k, buffer_text(&k.kept[2 * i + 1].text));
    k.given[said]++;
    k.truth[truth]++;
    if (said == truth) k.hit[said]++, k.right++;
  }
  return k;
}

static void classes_free(classes *k, size_t n) {
  size_t i;
  for (i = 0; i < 2 * n; i++) units_free(&k->kept[i]);
  free(k->kept);
  free(k->name);
  free(k->given);
  free(k->truth);
  free(k->hit);
}

/* Harmonic mean of precision hit/given and recall hit/truth. */
static double class_f1(const classes *k, size_t i) {
  size_t sum = k->given[i] + k->truth[i];
  return sum ? 200.0 * (double)k->hit[i] / (double)sum : 0.0;
}

/* F1 of the class `positive`; without one: of the class 1 when all labels are 0 or 1, else the mean
   over the classes that occur on either side. */
static double metric_f1(const corpus *c, int unused) {
  classes k = classes_make(c);
  const char *positive = c->options->positive;
  double sum = 0.0;
  size_t i;
  int binary = 1;
  SYN__UNUSED(unused);
  for (i = 0; i < k.count; i++) {
    binary = binary && (text_is(k.name[i], "0") || text_is(k.name[i], "1"));
    sum += class_f1(&k, i) / (double)k.count;
  }
  if (!positive && binary) positive = "1";
  if (positive) {
    i = class_find(&k, text_of(positive));
    sum = i < k.count ? class_f1(&k, i) : 0.0;
  }
  classes_free(&k, c->n);
  return sum;
}

/* Matthews correlation for any number of classes (Gorodkin 2004): with n lines, s right ones and
   g_k, t_k the times class k was given and true,
   (s n - sum g t) / sqrt((n^2 - sum g^2) (n^2 - sum t^2)); 0 when one side has a single class.
   For two classes it is the usual phi. */
static double metric_mcc(const corpus *c, int unused) {
  classes k = classes_make(c);
  double gt = 0.0, gg = 0.0, tt = 0.0, n = (double)c->n, below;
  size_t i;
  SYN__UNUSED(unused);
  for (i = 0; i < k.count; i++) {
    gt += (double)k.given[i] * (double)k.truth[i];
    gg += (double)k.given[i] * (double)k.given[i];
    tt += (double)k.truth[i] * (double)k.truth[i];
  }
  below = sqrt((n * n - gg) * (n * n - tt));
  gt = below > 0.0 ? 100.0 * ((double)k.right * n - gt) / below : 0.0;
  classes_free(&k, c->n);
  return gt;
}

/* -- pearson -- */

/* The number on a line, or the end of the program: a metric of numbers has nothing to say of words.
   */
static double line_number(const units *u, const char *side, size_t line) {
  buffer b = {NULL, 0, 0};
  double value;
  put(&b, u->text.at, u->text.size);
  put_byte(&b, 0);
  if (!parse_number(b.at, &value))
    fail(FAILED_JOB, "pearson wants one number a line, given in line %lu of the %s: %.60s",
         (unsigned long)line + 1, side, b.at);
  free(b.at);
  return value;
}

/* Correlation of the numbers, sum xy / sqrt(sum xx sum yy) about their means, kept by one running
   pass (Welford 1962); 0 when one side is constant. */
static double metric_pearson(const corpus *c, int unused) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
  size_t i;
  SYN__UNUSED(unused);
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_words);
    double x = line_number(&e.hyp, "outputs", i), y = line_number(&e.refs[0], "references", i);
    double dx = x - mean_x, dy = y - mean_y;
    mean_x += dx / (double)(i + 1);
    mean_y += dy / (double)(i + 1);
    xx += dx * (x - mean_x);
    yy += dy * (y - mean_y);
    xy += dx * (y - mean_y);
    example_free(&e);
  }
  return xx > 0.0 && yy > 0.0 ? 100.0 * xy / (sqrt(xx) * sqrt(yy)) : 0.0;
}

/* -- the list -- */

typedef struct metric_row {
  const char *name;
  double (*value)(const corpus *c, int variant); /* null: not built yet */
  int variant;
} metric_row;

static const metric_row metric_rows[] = {
    {"bleu", metric_bleu, 0},     {"chrf", metric_chrf, 0},     {"wer", metric_exact, 1},
    {"per", metric_per, 0},       {"exact", metric_exact, 0},   {"accuracy", metric_exact, 0},
    {"rouge1", metric_rouge, 1},  {"rouge2", metric_rouge, 2},  {"rougeL", metric_rouge, 0},
    {"f1", metric_f1, 0},         {"mcc", metric_mcc, 0},       {"pearson", metric_pearson, 0},
    {"cider", NULL, 0},           {"meteor-es", NULL, 0},
};
#define METRIC_NAMES "bleu chrf wer per exact accuracy rouge1 rouge2 rougeL f1 mcc pearson"

/* The row of a metric; ends the program when there is none or it is not built. */
static const metric_row *metric_find(syn_text name) {
  const char *nearest = "";
  size_t i, d, least = SIZE_MAX;
  for (i = 0; i < SYN__COUNT(metric_rows); i++) {
    if (text_is(name, metric_rows[i].name)) break;
    d = name_distance(name, text_of(metric_rows[i].name));
    if (d < least) least = d, nearest = metric_rows[i].name;
  }
  if (i == SYN__COUNT(metric_rows))
    fail(WRONG_USE, "no metric %.*s; the nearest is %s, all are %s",
         (int)(name.size < 60 ? name.size : 60), name.at, nearest, METRIC_NAMES);
  if (!metric_rows[i].value) fail(WRONG_USE, "metric %s is not built yet", metric_rows[i].name);
  return &metric_rows[i];
}

/* The value of one metric over n > 0 outputs and their references, in per cent. */
static double metric(const char *name, const syn_text *hyp, const syn_text *ref, size_t n,
                     const metric_options *options) {
  const metric_row *row = metric_find(text_of(name));
  corpus c;
  c.hyp = hyp;
  c.ref = ref;
  c.n = n;
  c.options = options;
  return row->value(&c, row->variant);
}

/* The one form of a result, for eval and score. */
static void print_metric(const char *name, double value, size_t n, int json) {
  if (json) printf("{\"metric\":\"%s\",\"value\":%.2f,\"n\":%lu}\n", name, value, (unsigned long)n);
  else printf("%s %.2f\n", name, value);
}

/* ===================================================================================================
   >>tool score   metrics of two text files, without a model
   =================================================================================================== */

/* The rows that eval and score share. */
#define METRIC_OPTIONS \
  {"metric", 0, TEXT, NULL, "LIST", "parted by commas: " METRIC_NAMES}, \
  {"tokenize", 0, CHOICE, "13a", "13a|none", "words of bleu; none: parted by white space"}, \
  {"lowercase", 0, FLAG, "off", "", "compares in lower case"}, \
  {"literal", 0, FLAG, "off", "", "| and TAB in references are text, not marks of alternatives"}, \
  {"positive", 0, TEXT, "", "CLASS", "class of f1; none: 1 of labels 0 and 1, else mean of all"}, \
  {"json", 0, FLAG, "off", "", "one JSON object a line"}

#define END_OF_OPTIONS {NULL, 0, FLAG, NULL, NULL, NULL}

static const option score_options[] = {METRIC_OPTIONS, END_OF_OPTIONS};

/* Reads the rows of METRIC_OPTIONS, whichever command they belong to. */
static metric_options metric_options_of(const arguments *a) {
  metric_options m;
  m.plain = strcmp(opt_text(a, "tokenize"), "none") == 0;
  m.lowercase = opt_flag(a, "lowercase");
  m.literal = opt_flag(a, "literal");
  m.positive = *opt_text(a, "positive") ? opt_text(a, "positive") : NULL;
  return m;
}

/* Wrong use is found before a file is opened, and both files are read before anything is printed.
   */
static int run_score(const arguments *a) {
  metric_options m = metric_options_of(a);
  syn_text list = text_of(opt_text(a, "metric")), rest = list, name;
  lines hyp, ref;
  while (next_piece(&rest, ",", &name)) metric_find(name); /* before the work, not amid it */
  hyp = read_lines(a->words[0]);
  ref = read_lines(a->words[1]);
  if (hyp.count != ref.count)
    fail(FAILED_JOB, "%s has %lu lines, %s has %lu; as many of both are wanted", a->words[0],
         (unsigned long)hyp.count, a->words[1], (unsigned long)ref.count);
  while (next_piece(&list, ",", &name)) {
    const char *known = metric_find(name)->name;
    double value = metric(known, hyp.at, ref.at, hyp.count, &m);
    print_metric(known, value, hyp.count, opt_flag(a, "json"));
  }
  lines_free(&hyp);
  lines_free(&ref);
  return 0;
}

/* ===================================================================================================
   >>tool library   contexts, and failures of the library
   =================================================================================================== */

/* A failure of the library is a failed job: its message is already one line with all numbers. */
static void check(const syn_context *c) {
  if (c->status != SYN_OK) fail(FAILED_JOB, "%s", c->message);
}

static void context_open(syn_context *c, const arguments *a) {
  syn_options options;
  memset(&options, 0, sizeof options);
  options.threads = opt_int(a, "threads");
  options.isa = opt_text(a, "isa")[0] ? opt_text(a, "isa") : NULL;
#ifndef _OPENMP
  if (options.threads > 1) fail(WRONG_USE, "--threads %d needs a build with -fopenmp", options.threads);
#endif
  if (syn_init(c, &options)) fail(WRONG_USE, "--isa: %s", c->message);
}

/* ===================================================================================================
   >>tool golden   answers of an independent program, in the files of ../shared/golden
   =================================================================================================== */

typedef struct golden {
  syn_context *c;
  const syn_file *file;
  syn_model *m;
  syn_batch batch;
  uint64_t hash;
  char wrong[200]; /* the first thing that differs, "" while nothing does */
} golden;

static void golden_wrong(golden *g, const char *what, double given, double wanted, size_t at) {
  if (!g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%s: element %lu is %.9g, wanted %.9g", what, (unsigned long)at,
             given, wanted);
}

static const int *golden_ints(golden *g, const char *name, int *rows, int *columns) {
  const syn_entry *e = syn_file_find(g->file, name);
  *rows = *columns = 0;
  if (!e) return NULL;
  if (e->dtype != SYN_I32 || e->rank < 1 || e->rank > 2)
    fail(FAILED_JOB, "golden file: %s is not I32 of rank 1 or 2", name);
  *rows = (int)e->shape[0];
  *columns = e->rank == 2 ? (int)e->shape[1] : 1;
  return (const int *)e->data;
}

static float *golden_floats(golden *g, const char *name, size_t count) {
  const syn_entry *e = syn_file_find(g->file, name);
  float *x = (float *)take(count ? count : 1, sizeof *x);
  if (!e) fail(FAILED_JOB, "golden file: %s is missing", name);
  syn_entry_floats(g->c, e, x, count);
  check(g->c);
  return x;
}

/* |x - y| <= tolerance * max(floor, max |y|) */
static void golden_compare(golden *g, const char *what, const float *x, const float *y, size_t n,
                           const double limits[2]) {
  double most = limits[1];
  size_t i;
  for (i = 0; i < n; i++)
    if (fabs((double)y[i]) > most) most = fabs((double)y[i]);
  for (i = 0; i < n; i++)
    if (!(fabs((double)x[i] - (double)y[i]) <= limits[0] * most))
      golden_wrong(g, what, (double)x[i], (double)y[i], i);
  g->hash = syn_hash(g->hash, x, n * sizeof *x);
}

static const double logits_limits[] = {1e-4, 1.0}, gradient_limits[] = {2e-4, 1e-2};

/* Sentences may be longer than max_len where no layer has a table of it. */
static syn_limits golden_limits(const golden *g) {
  syn_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.length = g->batch.src_width > g->batch.tgt_width ? g->batch.src_width : g->batch.tgt_width;
  return limits;
}

/* Rows of logits that have a label that counts, one behind the other in both. */
static void golden_logits(golden *g) {
  const syn_entry *e = syn_file_find(g->file, "test.logits");
  int classify = !strcmp(syn_model_config(g->m)->task, "classify"), b, t, rows;
  size_t v, width, n = 0, size = 1;
  syn_limits limits = golden_limits(g);
  syn_run *r = syn_run_new(g->c, g->m, &limits);
  float *x, *y, *all;
  int i;
  check(g->c);
  if (!e) fail(FAILED_JOB, "golden file: test.logits is missing");
  for (i = 0; i < e->rank; i++) size *= e->shape[i];
  v = e->shape[e->rank - 1];
  width = classify ? 1 : e->shape[1];
  all = golden_floats(g, "test.logits", size);
  x = (float *)take(size, sizeof *x);
  y = (float *)take(size, sizeof *y);
  syn_run_forward(r, &g->batch);
  check(g->c);
  for (b = 0; b < g->batch.count; b++) {
    const float *z = syn_run_logits(r, b, &rows);
    for (t = 0; t < rows; t++) {
      if (!classify && !g->batch.labels[(size_t)b * width + (size_t)t]) continue;
      memcpy(x + n, z + (size_t)t * v, v * sizeof *x);
      memcpy(y + n, all + ((size_t)b * width + (size_t)t) * v, v * sizeof *y);
      n += v;
    }
  }
  golden_compare(g, "logits", x, y, n, logits_limits);
  syn_run_free(r);
  free(all);
  free(x);
  free(y);
}

static void golden_gradients(golden *g) {
  syn_train_config config;
  syn_trainer *t;
  float loss, *wanted;
  size_t i, k;
  memset(&config, 0, sizeof config);
  config.length = golden_limits(g).length;
  t = syn_trainer_new(g->c, g->m, &config);
  check(g->c);
  syn_train_gradient(t, &g->batch, &loss);
  check(g->c);
  wanted = golden_floats(g, "test.loss", 1);
  golden_compare(g, "loss", &loss, wanted, 1, logits_limits);
  free(wanted);
  for (i = 0, k = 0; i < syn_file_count(g->file); i++) {
    const char *name = syn_file_entry(g->file, i)->name;
    const syn_param *p = strncmp(name, "test.grad.", 10) ? NULL : syn_model_find(g->m, name + 10);
    if (strncmp(name, "test.grad.", 10)) continue;
    if (!p || !p->trained) fail(FAILED_JOB, "golden file: %s is no trained parameter", name);
    wanted = golden_floats(g, name, p->size);
    golden_compare(g, name + 5, syn_trainer_gradient(t, p), wanted, p->size, gradient_limits);
    free(wanted);
    k++;
  }
  for (i = 0; i < syn_model_param_count(g->m); i++) k -= (size_t)syn_model_param(g->m, i)->trained;
  if (k) golden_wrong(g, "gradients: as many as trained parameters", (double)k, 0.0, 0);
  syn_trainer_free(t);
}

static void golden_tokens(golden *g, const char *name, const syn_decoder *d, const int *wanted, int width) {
  int b, k, size;
  for (b = 0; b < g->batch.count; b++) {
    const int *y = syn_decoder_output(d, b, 0, &size, NULL);
    for (k = 0; k < width; k++) {
      int token = k < size ? y[k] : SYN_PAD, want = wanted[b * width + k];
      if (token != want) golden_wrong(g, name, (double)token, (double)want, (size_t)(b * width + k));
      g->hash = syn_hash(g->hash, &token, sizeof token);
    }
  }
}

/* Greedy, or beam 4 with its scores, where the file has them. */
static void golden_decode(golden *g, const char *name, int beam) {
  int rows, width, b, size;
  const int *wanted = golden_ints(g, name, &rows, &width);
  syn_decode_config config;
  syn_decoder *d;
  float *scores, *given;
  if (!wanted) return;
  memset(&config, 0, sizeof config);
  config.sentences = g->batch.count;
  config.max_len = width;
  config.beam = beam;
  d = syn_decoder_new(g->c, g->m, &config);
  check(g->c);
  {
    syn_batch source = g->batch;
    source.tgt = NULL;
    syn_decode(d, &source, NULL, NULL);
  }
  check(g->c);
  golden_tokens(g, name, d, wanted, width);
  if (beam > 1) {
    scores = golden_floats(g, "test.beam_score", (size_t)rows);
    given = (float *)take((size_t)rows, sizeof *given);
    for (b = 0; b < rows; b++) syn_decoder_output(d, b, 0, &size, &given[b]);
    golden_compare(g, "beam_score", given, scores, (size_t)rows, logits_limits);
    free(scores);
    free(given);
  }
  syn_decoder_free(d);
}

/* "encoder line 1 column 1: cnn is not built yet" -> "cnn" */
static void golden_not_built(const char *path, const char *message) {
  const char *end = strstr(message, " is not built yet"), *begin = end;
  while (begin && begin > message && begin[-1] != ' ') begin--;
  printf("%s: not built: %.*s\n", path, begin ? (int)(end - begin) : 4, begin ? begin : "?");
}

/* 1 passed, 0 failed, -1 not built */
static int golden_file(syn_context *c, const char *path, uint64_t *hash) {
  golden g;
  int rows;
  memset(&g, 0, sizeof g);
  g.c = c;
  g.hash = *hash;
  syn_clear(c);
  g.m = syn_model_load(c, path);
  if (!g.m) {
    if (c->status == SYN_E_NOT_BUILT) golden_not_built(path, c->message);
    else printf("%s: FAILED: %s\n", path, c->message);
    return c->status == SYN_E_NOT_BUILT ? -1 : 0;
  }
  g.file = syn_model_file(g.m);
  g.batch.labels = golden_ints(&g, "test.labels", &g.batch.count, &rows);
  g.batch.src = golden_ints(&g, "test.src", &rows, &g.batch.src_width);
  g.batch.tgt = golden_ints(&g, "test.tgt", &rows, &g.batch.tgt_width);
  golden_logits(&g);
  golden_gradients(&g);
  golden_decode(&g, "test.greedy", 1);
  golden_decode(&g, "test.beam", 4);
  if (g.wrong[0]) printf("%s: FAILED: %s\n", path, g.wrong);
  else printf("%s: ok\n", path);
  *hash = g.hash;
  syn_model_free(g.m);
  return !g.wrong[0];
}

static int run_golden(const arguments *a) {
  syn_context c;
  uint64_t hash = SYN_HASH_START;
  int counts[3] = {0, 0, 0}, i;
  context_open(&c, a);
  for (i = 0; i < a->word_count; i++) counts[1 + golden_file(&c, a->words[i], &hash)]++;
  if (syn_context_exact(&c))
    printf("hash %08lx%08lx\n", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xFFFFFFFFu));
  else printf("hash inexact\n");
  printf("%d passed, %d failed", counts[2], counts[1]);
  if (counts[0]) printf(", %d not built", counts[0]);
  printf("\n");
  return counts[1] ? FAILED_JOB : 0;
}

/* ===================================================================================================
   >>tool commands   the tables of options, the list of commands, help, main
   =================================================================================================== */

/* "must be given" is for what no run can do without; what depends on other options (--data, or
   --src and --tgt) has the default "none" and is checked by the command. A 0 that means "choose for
   me" or "no limit" says so in its help. */

/* Rows that several commands share. */
#define MODEL_FILE {"model", 'm', TEXT, NULL, "FILE", "the model"}
#define MACHINE_OPTIONS \
  {"threads", 0, INT, "1", "1..64", "more than 1 needs a build with -fopenmp"}, \
  {"isa", 0, TEXT, "", "ROW", "kernels to use; none: the best this machine has"}
#define NETWORK_OPTIONS \
  {"task", 0, CHOICE, "seq2seq", "seq2seq|lm|classify|tag", "what the network is for"}, \
  {"encoder", 0, TEXT, "", "TEXT", "the layers that read the source"}, \
  {"decoder", 0, TEXT, "", "TEXT", "the layers that write the target"}, \
  {"var", 0, TEXT, "", "NAME=NUMBER", "value of $NAME in both; may be repeated"}, \
  {"d-model", 0, INT, "256", "1..65536", "width"}, \
  {"heads", 0, INT, "4", "1..1024", "heads of attention"}, \
  {"max-len", 0, INT, "128", "2..1000000", "longest text in tokens, begin and end included"}, \
  {"tie", 0, FLAG, "off", "", "one table for embedding and output"}

static const option train_options[] = {
    NETWORK_OPTIONS,
    {"data", 0, TEXT, "", "FILE", "TSV: source and target, or label and text; lm: plain text"},
    {"src", 0, TEXT, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, TEXT, "", "FILE", "target lines"},
    {"valid", 0, TEXT, "", "FILE", "as --data, for validation"},
    {"valid-src", 0, TEXT, "", "FILE", "as --src"},
    {"valid-tgt", 0, TEXT, "", "FILE", "as --tgt"},
    {"output", 'o', TEXT, NULL, "FILE", "the model to write"},
    {"dropout", 0, NUMBER, "0.1", "0..1", "rate"},
    {"label-smoothing", 0, NUMBER, "0.1", "0..1", "share of the target spread over all others"},
    {"tokenizer", 0, TEXT, "space", "char|byte|space|bpe:SIZE", "of both sides"},
    {"src-tokenizer", 0, TEXT, "", "TOKENIZER", "of the source; none: --tokenizer"},
    {"tgt-tokenizer", 0, TEXT, "", "TOKENIZER", "of the target; none: --tokenizer"},
    {"lowercase", 0, FLAG, "off", "", "texts in lower case"},
    {"batch", 0, INT, "4096", "1..", "tokens: sentences times the longest padded side"},
    {"accumulate", 0, INT, "1", "1..", "batches per step"},
    {"steps", 0, INT, "0", "0..", "ends after so many; 0: no limit"},
    {"epochs", 0, NUMBER, "0", "0..", "likewise"},
    {"minutes", 0, NUMBER, "0", "0..", "likewise"},
    {"optimizer", 0, CHOICE, "adam", "adam|adamw|adafactor|sgd", "rule of a step"},
    {"lr", 0, NUMBER, "0", "0..", "learning rate; 0: the schedule's"},
    {"schedule", 0, CHOICE, "noam", "noam|rsqrt|linear|cosine|constant|plateau",
     "of the learning rate"},
    {"warmup", 0, INT, "4000", "0..", "steps in which the learning rate rises"},
    {"clip", 0, NUMBER, "0", "0..", "largest norm of the gradient; 0: any"},
    {"average", 0, INT, "1", "1..", "the model is the mean of so many best checkpoints"},
    {"checkpoint", 0, TEXT, "", "FILE", "what --resume goes on from"},
    {"every", 0, INT, "1000", "1..", "steps between checkpoints, with a validation each"},
    {"resume", 0, FLAG, "off", "", "goes on from --checkpoint"},
    {"seed", 0, BIG, "1", "", "of initial values, order and dropout"},
    MACHINE_OPTIONS,
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option run_options[] = {
    MODEL_FILE,
    {"beam", 0, INT, "4", "1..1024", "hypotheses kept"},
    {"alpha", 0, NUMBER, "0.6", "", "length penalty of the beam"},
    {"nbest", 0, INT, "1", "1..1024", "hypotheses printed"},
    {"temperature", 0, NUMBER, "0", "0..", "of sampling; 0: beam search"},
    {"top-k", 0, INT, "0", "0..", "samples among the k likeliest; 0: all"},
    {"top-p", 0, NUMBER, "1", "0..1", "samples among the likeliest of that sum"},
    {"max-len", 0, INT, "0", "0..1000000", "longest output in tokens; 0: the model's"},
    {"seed", 0, BIG, "1", "", "of sampling"},
    MACHINE_OPTIONS,
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option eval_options[] = {
    MODEL_FILE,
    {"data", 0, TEXT, NULL, "FILE", "TSV as for train"},
    METRIC_OPTIONS,
    {"beam", 0, INT, "4", "1..1024", "hypotheses kept"},
    {"alpha", 0, NUMBER, "0.6", "", "length penalty of the beam"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option info_options[] = {
    {"model", 'm', TEXT, "", "FILE", "the model, or the network is described by the others"},
    NETWORK_OPTIONS,
    {"src-vocab", 0, INT, "8000", "4..", "size of the source vocabulary"},
    {"tgt-vocab", 0, INT, "8000", "4..", "size of the target vocabulary"},
    {"classes", 0, INT, "2", "1..", "classes or tags"},
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option golden_options[] = {MACHINE_OPTIONS, END_OF_OPTIONS};

static const option grad_options[] = {
    NETWORK_OPTIONS,
    {"seed", 0, BIG, "1", "", "of weights and inputs"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const command commands[] = {
    {"train", "", 0, 0, train_options, NULL, "trains from text files and writes a model"},
    {"run", "[FILE]", 0, 1, run_options, NULL, "one output line per input line"},
    {"eval", "", 0, 0, eval_options, NULL, "metrics of a model on a file"},
    {"score", "HYP REF", 2, 2, score_options, run_score, "metrics of two text files, no model"},
    {"info", "", 0, 0, info_options, NULL, "parameters, multiply-adds and memory of a model"},
    {"golden", "FILE...", 1, -1, golden_options, run_golden, "checks golden files"},
    {"grad", "", 0, 0, grad_options, NULL, "gradient check of a network, per parameter"},
    {"quantize", "", 0, 0, NULL, NULL, "smaller weights"},
    {"embed", "", 0, 0, NULL, NULL, "a model as a constant C array"},
    {"plot", "", 0, 0, NULL, NULL, "one page of attention maps, weights and loss"},
};

/* Ends the program, with the nearest name, when there is no such command. */
static const command *find_command(const char *name) {
  const char *nearest = "help";
  size_t i, d, least = name_distance(text_of(name), text_of(nearest));
  for (i = 0; i < SYN__COUNT(commands); i++) {
    if (strcmp(name, commands[i].name) == 0) return &commands[i];
    d = name_distance(text_of(name), text_of(commands[i].name));
    if (d < least) least = d, nearest = commands[i].name;
  }
  fail(WRONG_USE, "no command %.60s; the nearest is %s (syn help lists all)", name, nearest);
  return NULL;
}

/* `name` null: all commands with all their options. */
static int print_help(const char *name) {
  size_t i;
  if (name) return print_command(find_command(name)), 0;
  printf("syn %s, the command-line tool of synthesizer.h\n\n", SYN_VERSION);
  for (i = 0; i < SYN__COUNT(commands); i++)
    printf("  syn %-9s %s%s\n", commands[i].name, commands[i].help,
           commands[i].run ? "" : " (not built yet)");
  printf("\nA value follows its option, --name value or --name=value; the last one given holds.\n"
         "Exit status: 0 success, 1 a failed job, 2 wrong use.\n");
  for (i = 0; i < SYN__COUNT(commands); i++) {
    if (!commands[i].options) continue;
    printf("\n");
    print_command(&commands[i]);
  }
  return 0;
}

/* A command without a function still checks its options, so that a mistake shows at once. */
static int run_command(const command *c, int argc, char **argv) {
  arguments a;
  int status = 0, i;
  for (i = 0; i < argc && !c->options; i++) /* no table to parse by: only help can be told */
    if (strcmp(argv[i], "--help") == 0) return print_help(c->name);
  if (!c->options) fail(WRONG_USE, "%s is not built yet", c->name);
  a = parse(c, argc, argv);
  if (a.help) print_command(c);
  else if (!c->run) fail(WRONG_USE, "%s is not built yet", c->name);
  else status = c->run(&a);
  arguments_free(&a);
  return status;
}

static int is_help(const char *s) {
  return strcmp(s, "help") == 0 || strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0;
}

/* Results that could not be written are a failed job too: a full disk must not look like success.
   */
int main(int argc, char **argv) {
  int status;
  if (argc < 2) fail(WRONG_USE, "no command given, one is wanted: syn help lists them");
  if (is_help(argv[1])) status = print_help(argc > 2 ? argv[2] : NULL);
  else status = run_command(find_command(argv[1]), argc - 2, argv + 2);
  if (fflush(stdout) || ferror(stdout))
    fail(FAILED_JOB, "cannot write the results: %s", strerror(errno));
  return status;
}
