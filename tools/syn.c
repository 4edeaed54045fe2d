/* syn   the command-line tool of synthesizer.h: train, run and measure models without writing code

   Build:  cc -O2 tools/syn.c -o syn -lm          (-fopenmp for threads)
   Use:    syn help                               every command, every option, every default

   Results go to stdout, everything else to stderr. Exit status: 0 success; 1 a failed job (a file
   that is missing, files that do not fit together); 2 wrong use (an unknown command or option, a
   value that is none). An error is one line that says what was given and what is wanted.

   `grep -n '>>' tools/syn.c` is the map; a room calls only rooms above it. A new command is one row
   in `commands`, its table of options, and a function that takes the parsed arguments. */

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* clock_gettime and madvise, which -std=c99 hides */
#endif
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#define TOOL_NAME "syn"
#include "picture.h"
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

/* ==============================================================================================
   >>tool base   errors, memory, growing bytes, pieces of text
   ============================================================================================== */

/* The library never exits and allocates only through its context; the tool is a program and may do
   both: memory that is not there, like any other failure, ends it with one line. So no function
   here returns an error, and what it returns is always whole. */

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

/* ==============================================================================================
   >>tool files   a whole file as lines
   ============================================================================================== */

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

/* ==============================================================================================
   >>tool units   a text cut into words or characters; edit distance, longest common subsequence
   ============================================================================================== */

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

/* Edit distance of two names, in characters. */
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

/* What a mistyped name was meant to be: the nearest of those that were tried, the first of equally
   near ones. Zeroed, none was. */
typedef struct nearest {
  const char *name;
  size_t distance;
} nearest;

static void nearest_try(nearest *n, syn_text given, const char *name) {
  size_t distance = name_distance(given, text_of(name));
  if (n->name && n->distance <= distance) return;
  n->name = name;
  n->distance = distance;
}

/* ==============================================================================================
   >>tool options   one table of options per command; parsing, checking, look-up, help
   ============================================================================================== */

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

typedef struct command_row {
  const char *name, *words; /* words: what follows the options, as help shows it: "HYP REF" */
  int words_min, words_max; /* how many of them; max -1: any number */
  const option *options;    /* null where run is */
  int (*run)(const arguments *a); /* returns the exit status; null: not built yet */
  const char *help;
} command_row;

typedef struct given_option {
  const option *of;
  const char *value;
} given_option;

/* What was given, in order and checked. */
struct arguments {
  const command_row *command;
  given_option *given;
  const char **words;
  int given_count, word_count, help; /* help: --help was among them */
};

static const option option_help = {"help", 'h', FLAG, "off", "", "prints this"};

/* For messages. */
static const char *nearest_option(const option *table, syn_text name) {
  nearest n = {NULL, 0};
  nearest_try(&n, name, "help");
  for (; table->name; table++) nearest_try(&n, name, table->name);
  return n.name;
}

/* The option `arg` names ("--beam", "--beam=4", "-m"), and its name without dashes and value. */
static const option *find_option(const command_row *c, const char *arg, syn_text *name) {
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

/* The whole of s as a whole number, as parse_number. */
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

static void check_value(const command_row *c, const option *o, const char *value) {
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
  a->given[a->given_count].of = o;
  a->given[a->given_count++].value = value ? value : "on";
  return used;
}

/* The value an option has: the last one given, else its default; null when it has none. */
static const char *option_value(const arguments *a, const option *o) {
  int i;
  for (i = a->given_count - 1; i >= 0; i--)
    if (a->given[i].of == o) return a->given[i].value;
  return o->preset;
}

/* What the table demands as a whole: every "must be given", and the number of words. */
static void check_complete(const arguments *a) {
  const command_row *c = a->command;
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
static arguments parse(const command_row *c, int argc, char **argv) {
  arguments a;
  int i = 0, open = 1;
  memset(&a, 0, sizeof a);
  a.command = c;
  a.given = (given_option *)take((size_t)argc, sizeof *a.given);
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
static int opt_given(const arguments *a, const char *name) {
  int i;
  for (i = 0; i < a->given_count; i++)
    if (strcmp(a->given[i].of->name, name) == 0) return 1;
  return 0;
}
/* The n-th value given for an option that may be repeated (--var), or null behind the last. */
static const char *opt_each(const arguments *a, const char *name, int n) {
  int i;
  for (i = 0; i < a->given_count; i++)
    if (strcmp(a->given[i].of->name, name) == 0 && n-- == 0) return a->given[i].value;
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

static void print_command(const command_row *c) {
  const option *o;
  printf("syn %s [options]%s%s\n  %s\n", c->name, *c->words ? " " : "", c->words, c->help);
  if (!c->options) printf("  not built yet\n");
  for (o = c->options; o && o->name; o++) print_option(o);
  if (c->options) print_option(&option_help);
}

/* ==============================================================================================
   >>tool metrics   what eval and score measure; every value in per cent
   ============================================================================================== */

/* A metric sees the whole corpus, since most of them are no mean over lines. Each line is cut into
   units by the metric's own cutter, first the output, then every accepted alternative of the
   reference. */

typedef struct metric_options {
  int plain;             /* bleu, cider, meteor-es: words as they stand (--tokenize none); 0: 13a */
  int lowercase;         /* compares in lower case */
  int literal;           /* `|` and TAB in a reference are text; 0: they part alternatives */
  const char *positive;  /* f1: the class that counts; null: see metric_f1 */
  const char *sentences; /* rougeLsum: the mark between sentences of a line; "": there is none */
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

/* Room for so many; whoever fills `at` calls grams_count. */
static grams grams_new(size_t most) {
  grams g;
  g.at = (syn_text *)take(most, sizeof *g.at);
  g.times = (size_t *)take(most, sizeof *g.times);
  g.count = 0;
  return g;
}

/* Sorting brings equal n-grams together: n log n, no hash table, and two sorted lists are compared
   in one walk. */
static void grams_count(grams *g, size_t total) {
  size_t i;
  qsort(g->at, total, sizeof *g->at, text_order);
  for (i = 0; i < total; i++) {
    if (!g->count || !text_equal(g->at[g->count - 1], g->at[i])) g->at[g->count++] = g->at[i];
    g->times[g->count - 1]++;
  }
}

static grams grams_make(const units *u, size_t n) {
  size_t total = grams_in(u, n), i;
  grams g = grams_new(total);
  for (i = 0; i < total; i++) g.at[i] = units_slice(u, i, n);
  grams_count(&g, total);
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

/* The words of bleu, cider and meteor-es. */
static cutter word_cutter(const metric_options *o) { return o->plain ? cut_words : cut_13a; }

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
    example e = example_make(c, i, word_cutter(c->options));
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
    size_t least = units_distance(&e.hyp, &e.refs[0]), best = 0;
    for (r = 1; r < e.ref_count; r++) {
      d = units_distance(&e.hyp, &e.refs[r]);
      if (d < least) least = d, best = r;
    }
    errors += least;
    length += e.refs[best].count;
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

/* -- rougeLsum: Lin 2004, section 3.2 "summary-level LCS"; as rouge_score without stemming -- */

/* The sentences of a summary: their words one behind the other, sentence s ends before word
   end[s]. */
typedef struct summary {
  units words;
  size_t *end, count;
} summary;

/* rouge_score parts sentences at line ends, which no line of a file can hold. A mark stands for
   them, "<q>" as in the files of PreSumm (Liu and Lapata 2019) if --sentences names no other. A
   text without the mark is one sentence, and then rougeLsum is rougeL. */
static summary summary_make(syn_text t, const char *mark) {
  size_t size = strlen(mark), i = 0, begin = 0, most = 1;
  summary s;
  memset(&s, 0, sizeof s);
  for (i = 0; i < t.size; i++) most += size && t.at[i] == mark[0];
  s.end = (size_t *)take(most, sizeof *s.end);
  for (i = 0; i <= t.size; i++) {
    int marked = size && t.size - i >= size && memcmp(t.at + i, mark, size) == 0;
    syn_text sentence;
    if (i < t.size && !marked) continue;
    sentence.at = t.at + begin;
    sentence.size = i - begin;
    cut_rouge(&s.words, sentence);
    s.end[s.count++] = s.words.count;
    if (marked) begin = i + size, i = begin - 1;
  }
  return s;
}

static void summary_free(summary *s) {
  units_free(&s->words);
  free(s->end);
}

/* Marks the words of a, from r0 to r1, that stand in its longest common subsequence with the words
   of b from h0 to h1. length[i][k]: of the first i words of a and the first k of b; the way back
   prefers, like rouge_score, to leave out a word of a. */
static void mark_common(const summary *a, size_t s, const summary *b, size_t k, char *marked) {
  size_t r0 = s ? a->end[s - 1] : 0, h0 = k ? b->end[k - 1] : 0, i, j;
  size_t rows = a->end[s] - r0, wide = b->end[k] - h0 + 1;
  size_t *length = (size_t *)take(syn__mul_size(rows + 1, wide), sizeof *length);
  for (i = 1; i <= rows; i++)
    for (j = 1; j < wide; j++) {
      size_t *at = length + i * wide + j;
      if (unit_equal(&a->words, r0 + i - 1, &b->words, h0 + j - 1)) *at = *(at - wide - 1) + 1;
      else *at = at[-1] > *(at - wide) ? at[-1] : *(at - wide);
    }
  for (i = rows, j = wide - 1; i && j;) {
    const size_t *at = length + i * wide + j;
    if (unit_equal(&a->words, r0 + i - 1, &b->words, h0 + j - 1)) marked[r0 + --i] = 1, j--;
    else if (at[-1] > *(at - wide)) j--;
    else i--;
  }
  free(length);
}

/* Every sentence of the reference against every one of the output: the words in the union of the
   common subsequences are hits, a word at most as often as the output has it. F1 of the hits. */
static double summary_value(const summary *hyp, const summary *ref) {
  char *marked = (char *)take(ref->words.count, 1);
  grams left = grams_make(&hyp->words, 1);
  size_t s, k, i, hit = 0;
  for (s = 0; s < ref->count; s++)
    for (k = 0; k < hyp->count; k++) mark_common(ref, s, hyp, k, marked);
  for (i = 0; i < ref->words.count; i++) {
    syn_text word = units_slice(&ref->words, i, 1), *at;
    if (!marked[i]) continue;
    at = (syn_text *)bsearch(&word, left.at, left.count, sizeof word, text_order);
    if (at && left.times[at - left.at]) left.times[at - left.at]--, hit++;
  }
  free(marked);
  grams_free(&left);
  return hit ? 2.0 * (double)hit / (double)(hyp->words.count + ref->words.count) : 0.0;
}

/* The best alternative of each line, then the mean of lines. */
static double metric_rouge_sum(const corpus *c, int unused) {
  double sum = 0.0, best, value;
  size_t i;
  SYN__UNUSED(unused);
  for (i = 0; i < c->n; i++) {
    syn_text rest = c->ref[i], piece;
    summary hyp = summary_make(c->hyp[i], c->options->sentences), ref;
    best = 0.0;
    while (next_piece(&rest, c->options->literal ? "" : "|\t", &piece)) {
      ref = summary_make(piece, c->options->sentences);
      value = summary_value(&hyp, &ref);
      if (value > best) best = value;
      summary_free(&ref);
    }
    sum += best;
    summary_free(&hyp);
  }
  return 100.0 * sum / (double)c->n;
}

/* -- cider: CIDEr-D of Vedantam, Zitnick and Parikh 2015, section 4, as their published code -- */

#define CIDER_ORDER 4
#define CIDER_SIGMA 6.0

/* tf-idf of the n-grams of one text: g_w = count of w log(lines / lines whose references have w).
   The paper divides counts by the length of the text; their code, which all published values come
   from, does not. */
typedef struct tf_idf {
  grams of;
  double *g, norm; /* g [of.count] */
} tf_idf;

/* In how many lines the references have each n-gram, as often as it may stand there. */
static grams document_counts(const example *e, size_t line_count, size_t n) {
  size_t total = 0, i, r, k;
  grams all, line;
  for (i = 0; i < line_count; i++)
    for (r = 0; r < e[i].ref_count; r++) total += grams_in(&e[i].refs[r], n);
  all = grams_new(total);
  for (total = 0, i = 0; i < line_count; i++) {
    size_t in_line = 0;
    for (r = 0; r < e[i].ref_count; r++) in_line += grams_in(&e[i].refs[r], n);
    line = grams_new(in_line);
    for (in_line = 0, r = 0; r < e[i].ref_count; r++)
      for (k = 0; k < grams_in(&e[i].refs[r], n); k++)
        line.at[in_line++] = units_slice(&e[i].refs[r], k, n);
    grams_count(&line, in_line);
    for (k = 0; k < line.count; k++) all.at[total++] = line.at[k];
    grams_free(&line);
  }
  grams_count(&all, total);
  return all;
}

static tf_idf tf_idf_make(const units *u, size_t n, const grams *documents, size_t line_count) {
  tf_idf t;
  size_t i;
  t.of = grams_make(u, n);
  t.g = (double *)take(t.of.count, sizeof *t.g);
  t.norm = 0.0;
  for (i = 0; i < t.of.count; i++) {
    const syn_text *at = (const syn_text *)bsearch(&t.of.at[i], documents->at, documents->count,
                                                   sizeof *at, text_order);
    double in = at ? (double)documents->times[at - documents->at] : 1.0;
    t.g[i] = (double)t.of.times[i] * (log((double)line_count) - log(in));
    t.norm += t.g[i] * t.g[i];
  }
  t.norm = sqrt(t.norm);
  return t;
}

static void tf_idf_free(tf_idf *t) {
  grams_free(&t->of);
  free(t->g);
}

/* sum_w min(h_w, r_w) r_w / (|h| |r|); both lists are sorted. */
static double clipped_cosine(const tf_idf *h, const tf_idf *r) {
  double sum = 0.0;
  size_t i = 0, k = 0;
  while (i < h->of.count && k < r->of.count) {
    int order = text_compare(h->of.at[i], r->of.at[k]);
    if (order == 0) sum += (h->g[i] < r->g[k] ? h->g[i] : r->g[k]) * r->g[k];
    i += order <= 0;
    k += order >= 0;
  }
  return h->norm > 0.0 && r->norm > 0.0 ? sum / (h->norm * r->norm) : 0.0;
}

/* The mean over the references of one line, for one n. */
static double cider_line(const example *e, size_t n, const grams *documents, size_t line_count) {
  tf_idf h = tf_idf_make(&e->hyp, n, documents, line_count), r;
  double sum = 0.0, gap;
  size_t k;
  for (k = 0; k < e->ref_count; k++) {
    r = tf_idf_make(&e->refs[k], n, documents, line_count);
    gap = (double)e->hyp.count - (double)e->refs[k].count;
    sum += clipped_cosine(&h, &r) * exp(-gap * gap / (2.0 * CIDER_SIGMA * CIDER_SIGMA));
    tf_idf_free(&r);
  }
  tf_idf_free(&h);
  return sum / (double)e->ref_count;
}

/* CIDEr-D = 10/4 sum_n mean over lines and references of e^(-(|c|-|s|)^2 / 2 6^2) cosine_n(c, s).
   In per cent like the others, as papers print it: an output equal to its only reference is at
   most 1000. An n-gram that every line's references have weighs nothing; so a file of one line has
   nothing to weigh, and its value is 0. */
static double metric_cider(const corpus *c, int unused) {
  example *e = (example *)take(c->n, sizeof *e);
  double sum = 0.0;
  size_t i, n;
  SYN__UNUSED(unused);
  for (i = 0; i < c->n; i++) e[i] = example_make(c, i, word_cutter(c->options));
  for (n = 1; n <= CIDER_ORDER; n++) {
    grams documents = document_counts(e, c->n, n);
    for (i = 0; i < c->n; i++) sum += cider_line(&e[i], n, &documents, c->n);
    grams_free(&documents);
  }
  for (i = 0; i < c->n; i++) example_free(&e[i]);
  free(e);
  return 100.0 * 10.0 / CIDER_ORDER * sum / (double)c->n;
}

/* -- the stems of English words: Porter 1980, "An algorithm for suffix stripping" -- */

/* With the three changes of its author's later program (tartarus.org/martin/PorterStemmer): words
   of one or two letters stay, step 2 has bli -> ble for abli -> able, and logi -> log. */

typedef struct stem_rule {
  const char *from, *to;
} stem_rule;

/* A letter other than a e i o u, and other than y behind a consonant. The loop walks back over a
   run of y: y is a vowel exactly when what stands before it is a consonant. */
static int is_consonant(const char *w, size_t i) {
  int consonant = 1;
  size_t k = i;
  while (k > 0 && w[k] == 'y') k--;
  if (w[k] != 'y') consonant = !strchr("aeiou", w[k]);
  for (; k < i; k++) consonant = !consonant;
  return consonant;
}

/* m of the form [C](VC)^m[V]: how often a consonant follows a vowel. */
static size_t stem_measure(const char *w, size_t size) {
  size_t i, m = 0;
  for (i = 1; i < size; i++) m += is_consonant(w, i) && !is_consonant(w, i - 1);
  return m;
}

/* *v* of the paper */
static int has_vowel(const char *w, size_t size) {
  size_t i;
  for (i = 0; i < size; i++)
    if (!is_consonant(w, i)) return 1;
  return 0;
}
/* *d */
static int ends_double(const char *w, size_t size) {
  return size > 1 && w[size - 1] == w[size - 2] && is_consonant(w, size - 1);
}
/* *o: consonant, vowel, consonant other than w x y */
static int ends_short(const char *w, size_t size) {
  return size > 2 && is_consonant(w, size - 3) && !is_consonant(w, size - 2) &&
         is_consonant(w, size - 1) && !strchr("wxy", w[size - 1]);
}

/* Whether w ends in `end`; *rest: what stands before it. */
static int ends_in(const buffer *w, const char *end, size_t *rest) {
  size_t size = strlen(end);
  if (w->size < size || memcmp(w->at + w->size - size, end, size) != 0) return 0;
  *rest = w->size - size;
  return 1;
}
static void stem_put(buffer *w, size_t rest, const char *to) {
  w->size = rest;
  put(w, to, strlen(to));
}

/* The rule of the longest ending is the only one that is tried: it holds when more than `above` is
   the measure of what stands before; "ion" (step 4) also wants s or t there. */
static void stem_by(buffer *w, const stem_rule *rules, size_t above) {
  const stem_rule *best = NULL;
  size_t rest = 0, least = 0;
  for (; rules->from; rules++)
    if (ends_in(w, rules->from, &rest) && (!best || rest < least)) best = rules, least = rest;
  if (!best || stem_measure(w->at, least) <= above) return;
  if (strcmp(best->from, "ion") == 0 && !(least && strchr("st", w->at[least - 1]))) return;
  stem_put(w, least, best->to);
}

/* Step 1: plurals and participles. */
static void stem_step_1(buffer *w) {
  static const stem_rule plurals[] = {
      {"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}, {NULL, NULL}};
  const stem_rule *rule = plurals;
  size_t rest;
  int cut = 0;
  while (rule->from && !ends_in(w, rule->from, &rest)) rule++;
  if (rule->from) stem_put(w, rest, rule->to);
  if (ends_in(w, "eed", &rest)) {
    if (stem_measure(w->at, rest) > 0) w->size--;
  } else if (ends_in(w, "ed", &rest) || ends_in(w, "ing", &rest)) {
    cut = has_vowel(w->at, rest);
    if (cut) w->size = rest;
  }
  if (cut && (ends_in(w, "at", &rest) || ends_in(w, "bl", &rest) || ends_in(w, "iz", &rest)))
    put_byte(w, 'e');
  else if (cut && ends_double(w->at, w->size) && !strchr("lsz", w->at[w->size - 1])) w->size--;
  else if (cut && stem_measure(w->at, w->size) == 1 && ends_short(w->at, w->size)) put_byte(w, 'e');
  if (ends_in(w, "y", &rest) && has_vowel(w->at, rest)) w->at[rest] = 'i';
}

/* Step 5: a last e, a double l. */
static void stem_step_5(buffer *w) {
  size_t rest, m;
  if (ends_in(w, "e", &rest)) {
    m = stem_measure(w->at, rest);
    if (m > 1 || (m == 1 && !ends_short(w->at, rest))) w->size = rest;
  }
  if (ends_in(w, "ll", &rest) && stem_measure(w->at, w->size) > 1) w->size--;
}

static const stem_rule stem_step_2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"},  {"izer", "ize"},
    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},      {"ousli", "ous"},
    {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},   {"iveness", "ive"},
    {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"},  {"biliti", "ble"},
    {"logi", "log"},    {NULL, NULL}};
static const stem_rule stem_step_3[] = {
    {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
    {"ical", "ic"},  {"ful", ""},   {"ness", ""},    {NULL, NULL}};
static const stem_rule stem_step_4[] = {
    {"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},  {"ic", ""},  {"able", ""}, {"ible", ""},
    {"ant", ""},  {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ion", ""}, {"ou", ""},   {"ism", ""},
    {"ate", ""},  {"iti", ""},  {"ous", ""},  {"ive", ""}, {"ize", ""}, {NULL, NULL}};

/* Appends the stem of a word. What is not of the letters a-z alone, or too long for a word, stays
   as it is. */
static void put_stem(buffer *out, syn_text word) {
  buffer w = {NULL, 0, 0};
  size_t i;
  put(&w, word.at, word.size);
  for (i = 0; i < w.size && w.at[i] >= 'a' && w.at[i] <= 'z'; i++) continue;
  if (i == w.size && w.size > 2 && w.size < 64) {
    stem_step_1(&w);
    stem_by(&w, stem_step_2, 0);
    stem_by(&w, stem_step_3, 0);
    stem_by(&w, stem_step_4, 1);
    stem_step_5(&w);
  }
  put(out, w.at, w.size);
  free(w.at);
}

/* -- meteor-es: Banerjee and Lavie 2005, Lavie and Agarwal 2007, exact and stem stages only -- */

/* METEOR pairs words of the output with words of the reference: first equal ones, then those left
   with equal stems, then synonyms by WordNet, which is not here: hence "es", and values below those
   of the full METEOR. Each stage makes as many pairs as there can be. How many are exact for each
   word, and by stem for each stem, follows from counts alone; which ones is chosen so that the
   pairs make the fewest chunks, runs of neighbours on both sides in the same order (the rule since
   METEOR 1.0, Denkowski and Lavie 2010; in 2005: the fewest crossings). */

#define METEOR_STEPS 100000 /* of the search; then the best found so far is taken */
#define METEOR_NONE SIZE_MAX

/* A word of the reference that word i may be paired with; run: how many words from here on agree
   on both sides, were all of them free. */
typedef struct partner {
  size_t at, run;
} partner;

/* Words and stems as numbers, those of the output first. The quotas, by word or by stem, are what
   is still to be chosen; they are used up exactly when the last word of the output is placed. */
typedef struct aligner {
  size_t hyp, ref;          /* words of both */
  size_t *word, *stem;      /* [hyp+ref] */
  size_t *exact;            /* by word: exact pairs */
  size_t *hyp_left, *ref_left; /* by word: words without an exact pair */
  size_t *stemmed, *skipped;   /* by stem: pairs of those left; words of the output without one */
  size_t *first;            /* [hyp+1] word i has the partners first[i] ... first[i+1]-1 */
  partner *partners;        /* the longest run first */
  size_t *forced;           /* [hyp+1] chunks that words i ... hyp-1 cannot do without */
  size_t *choice, *option;  /* [hyp] the partner's place or METEOR_NONE; how many were tried */
  char *used;               /* [ref] */
  size_t pairs, chunks, best;
} aligner;

/* Numbers texts by their order: equal ones get equal numbers. */
static void number_texts(const syn_text *texts, size_t n, size_t *numbers) {
  grams g = grams_new(n);
  size_t i;
  if (n) memcpy(g.at, texts, n * sizeof *texts);
  grams_count(&g, n);
  for (i = 0; i < n; i++) {
    const syn_text *at =
        (const syn_text *)bsearch(&texts[i], g.at, g.count, sizeof *at, text_order);
    numbers[i] = (size_t)(at - g.at);
  }
  grams_free(&g);
}

static void aligner_number(aligner *a, const units *hyp, const units *ref) {
  size_t n = a->hyp + a->ref, i, begin;
  syn_text *texts = (syn_text *)take(n, sizeof *texts);
  size_t *end = (size_t *)take(n + 1, sizeof *end);
  buffer stems = {NULL, 0, 0};
  for (i = 0; i < n; i++) {
    texts[i] = i < a->hyp ? units_slice(hyp, i, 1) : units_slice(ref, i - a->hyp, 1);
    put_stem(&stems, texts[i]);
    end[i] = stems.size;
  }
  number_texts(texts, n, a->word);
  for (i = 0, begin = 0; i < n; begin = end[i++]) {
    texts[i].at = stems.at + begin;
    texts[i].size = end[i] - begin;
  }
  number_texts(texts, n, a->stem);
  free(stems.at);
  free(texts);
  free(end);
}

/* Of a word that stands h times in the output and r times in the reference min(h, r) are paired
   exactly; of a stem that then has h and r words left, min(h, r) by stem. */
static void aligner_quotas(aligner *a) {
  size_t n = a->hyp + a->ref, i, least;
  size_t *right = (size_t *)take(n, sizeof *right), *of = (size_t *)take(n, sizeof *of);
  for (i = 0; i < n; i++) of[a->word[i]] = a->stem[i];
  for (i = 0; i < n; i++) (i < a->hyp ? a->hyp_left : a->ref_left)[a->word[i]]++;
  for (i = 0; i < n; i++) { /* here i is a word's number */
    least = a->hyp_left[i] < a->ref_left[i] ? a->hyp_left[i] : a->ref_left[i];
    a->exact[i] = least;
    a->hyp_left[i] -= least;
    a->ref_left[i] -= least;
    a->pairs += least;
    a->skipped[of[i]] += a->hyp_left[i];
    right[of[i]] += a->ref_left[i];
  }
  for (i = 0; i < n; i++) { /* and here a stem's */
    a->stemmed[i] = a->skipped[i] < right[i] ? a->skipped[i] : right[i];
    a->skipped[i] -= a->stemmed[i];
    a->pairs += a->stemmed[i];
  }
  free(right);
  free(of);
}

static int partner_order(const void *x, const void *y) {
  const partner *a = (const partner *)x, *b = (const partner *)y;
  if (a->run != b->run) return a->run > b->run ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

/* From the last word to the first: run(i,j) = 1 + run(i+1,j+1) where the stems agree. Word i must
   begin a chunk when it cannot be left out and no partner has one of word i-1 before it. */
static void aligner_partners(aligner *a) {
  const size_t *ref = a->stem + a->hyp;
  size_t *run = (size_t *)take(a->ref + 1, sizeof *run), total = 0, i, j;
  for (i = 0; i < a->hyp; i++) {
    a->first[i] = total;
    for (j = 0; j < a->ref; j++) total += a->stem[i] == ref[j];
  }
  a->first[i] = total;
  a->partners = (partner *)take(total, sizeof *a->partners);
  for (i = a->hyp; i-- > 0;) {
    partner *p = a->partners + a->first[i];
    int joins = 0, left_out = a->hyp_left[a->word[i]] && a->skipped[a->stem[i]];
    for (j = 0; j < a->ref; j++) { /* rising j: run[j+1] is still that of word i+1 */
      run[j] = a->stem[i] == ref[j] ? 1 + run[j + 1] : 0;
      if (!run[j]) continue;
      p->at = j;
      p++->run = run[j];
      joins = joins || (i && j && a->stem[i - 1] == ref[j - 1]);
    }
    qsort(a->partners + a->first[i], a->first[i + 1] - a->first[i], sizeof *p, partner_order);
    a->forced[i] = a->forced[i + 1] + (!left_out && !joins);
  }
  free(run);
}

static int aligner_allows(const aligner *a, size_t i, size_t j) {
  size_t w = a->word[i], v, s = a->stem[i];
  if (j == METEOR_NONE) return a->hyp_left[w] && a->skipped[s];
  v = a->word[a->hyp + j];
  if (a->used[j] || a->stem[a->hyp + j] != s) return 0;
  return v == w ? a->exact[w] > 0 : a->hyp_left[w] && a->ref_left[v] && a->stemmed[s];
}

/* Takes (by = -1) what pairing i with j costs from the quotas, or gives it back (by = 1). */
static void aligner_place(aligner *a, size_t i, size_t j, int by) {
  size_t w = a->word[i], v, add = by < 0 ? SIZE_MAX : 1; /* SIZE_MAX: minus one, modulo */
  if (j == METEOR_NONE) {
    a->hyp_left[w] += add;
    a->skipped[a->stem[i]] += add;
    return;
  }
  v = a->word[a->hyp + j];
  a->used[j] = by < 0;
  if (v == w) {
    a->exact[w] += add;
    return;
  }
  a->hyp_left[w] += add;
  a->ref_left[v] += add;
  a->stemmed[a->stem[i]] += add;
}

static int aligner_joins(const aligner *a, size_t i, size_t j) {
  return i && j && j != METEOR_NONE && a->choice[i - 1] == j - 1;
}

/* The next thing to try with word i: go on with the chunk, then its partners, then leaving it out;
   0 when all were tried. */
static int aligner_next(aligner *a, size_t i, size_t *j) {
  size_t count = a->first[i + 1] - a->first[i], o;
  while ((o = a->option[i]++) < count + 2) {
    if (o == 0 && (!i || a->choice[i - 1] == METEOR_NONE || a->choice[i - 1] + 1 >= a->ref))
      continue;
    *j = o == 0 ? a->choice[i - 1] + 1
                : o <= count ? a->partners[a->first[i] + o - 1].at : METEOR_NONE;
    if (o > 0 && aligner_joins(a, i, *j)) continue; /* was the first */
    if (aligner_allows(a, i, *j)) return 1;
  }
  return 0;
}

/* Depth first with a bound, without recursion: lines may be long. The first way down always ends
   in a whole alignment, for the quotas fit whatever was chosen before. */
static void aligner_search(aligner *a) {
  size_t i = 0, j, steps = 0;
  a->best = METEOR_NONE;
  for (;;) {
    if (i == a->hyp) a->best = a->chunks;
    if (a->best == a->forced[0] || (a->best != METEOR_NONE && steps > METEOR_STEPS)) return;
    if (i < a->hyp && aligner_next(a, i, &j)) {
      size_t begins = j != METEOR_NONE && !aligner_joins(a, i, j);
      steps++;
      if (a->best != METEOR_NONE && a->chunks + begins + a->forced[i + 1] >= a->best) continue;
      aligner_place(a, i, j, -1);
      a->chunks += begins;
      a->choice[i] = j;
      if (++i < a->hyp) a->option[i] = 0;
      continue;
    }
    if (i-- == 0) return;
    aligner_place(a, i, a->choice[i], 1);
    a->chunks -= a->choice[i] != METEOR_NONE && !aligner_joins(a, i, a->choice[i]);
  }
}

/* Pairs and fewest chunks of two texts. */
static void meteor_align(const units *hyp, const units *ref, size_t *pairs, size_t *chunks) {
  aligner a;
  size_t n = hyp->count + ref->count, *block;
  memset(&a, 0, sizeof a);
  a.hyp = hyp->count;
  a.ref = ref->count;
  block = (size_t *)take(syn__mul_size(n + 1, 11), sizeof *block);
  a.word = block, a.stem = a.word + n, a.exact = a.stem + n, a.hyp_left = a.exact + n;
  a.ref_left = a.hyp_left + n, a.stemmed = a.ref_left + n, a.skipped = a.stemmed + n;
  a.choice = a.skipped + n, a.option = a.choice + n;
  a.first = a.option + n, a.forced = a.first + n + 1;
  a.used = (char *)take(a.ref, 1);
  aligner_number(&a, hyp, ref);
  aligner_quotas(&a);
  aligner_partners(&a);
  aligner_search(&a);
  *pairs = a.pairs;
  *chunks = a.best;
  free(a.partners);
  free(a.used);
  free(block);
}

/* P = pairs / words of the output, R = pairs / words of the reference, F = P R / (0.9 P + 0.1 R),
   (1 - 0.5 (chunks / pairs)^3) F. */
static double meteor_value(double pairs, double hyp, double ref, double chunks) {
  double p, r, apart;
  if (pairs <= 0.0) return 0.0;
  p = pairs / hyp;
  r = pairs / ref;
  apart = chunks / pairs;
  return 100.0 * p * r / (0.9 * p + 0.1 * r) * (1.0 - 0.5 * apart * apart * apart);
}

/* The counts of the best reference of each line are summed, then the value is taken once (2005,
   section 2: the system's score). Upper and lower case are alike, as in METEOR. */
static double metric_meteor(const corpus *c, int unused) {
  metric_options low = *c->options;
  corpus lowered = *c;
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  size_t i, r, k;
  SYN__UNUSED(unused);
  low.lowercase = 1;
  lowered.options = &low;
  for (i = 0; i < c->n; i++) {
    example e = example_make(&lowered, i, word_cutter(c->options));
    double best[4] = {0.0, 0.0, 0.0, 0.0}, top = -1.0, value;
    for (r = 0; r < e.ref_count; r++) {
      size_t pairs, chunks;
      meteor_align(&e.hyp, &e.refs[r], &pairs, &chunks);
      value = meteor_value((double)pairs, (double)e.hyp.count, (double)e.refs[r].count,
                           (double)chunks);
      if (value <= top) continue;
      top = value;
      best[0] = (double)pairs, best[1] = (double)e.hyp.count;
      best[2] = (double)e.refs[r].count, best[3] = (double)chunks;
    }
    for (k = 0; k < 4; k++) sum[k] += best[k];
    example_free(&e);
  }
  return meteor_value(sum[0], sum[1], sum[2], sum[3]);
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
  size_t i, count = 0;
  int binary = 1;
  SYN__UNUSED(unused);
  for (i = 0; i < k.count; i++) {
    if (!k.name[i].size && !k.truth[i]) continue; /* a line without an output is wrong, no class */
    binary = binary && (text_is(k.name[i], "0") || text_is(k.name[i], "1"));
    sum += class_f1(&k, i);
    count++;
  }
  sum /= (double)count;
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

/* -- pearson, spearman -- */

enum { PEARSON, SPEARMAN };

/* The number on a line, or the end of the program: a metric of numbers has nothing to say of words.
   */
static double line_number(const units *u, int variant, const char *side, size_t line) {
  buffer b = {NULL, 0, 0};
  double value;
  put(&b, u->text.at, u->text.size);
  put_byte(&b, 0);
  if (!parse_number(b.at, &value))
    fail(FAILED_JOB, "%s wants one number a line, given in line %lu of the %s: %.60s",
         variant == SPEARMAN ? "spearman" : "pearson", (unsigned long)line + 1, side, b.at);
  free(b.at);
  return value;
}

/* sum xy / sqrt(sum xx sum yy) about the means, kept by one running pass (Welford 1962); 0 when one
   side is constant. */
static double correlation(const double *x, const double *y, size_t n) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
  size_t i;
  for (i = 0; i < n; i++) {
    double dx = x[i] - mean_x, dy = y[i] - mean_y;
    mean_x += dx / (double)(i + 1);
    mean_y += dy / (double)(i + 1);
    xx += dx * (x[i] - mean_x);
    yy += dy * (y[i] - mean_y);
    xy += dx * (y[i] - mean_y);
  }
  return xx > 0.0 && yy > 0.0 ? xy / (sqrt(xx) * sqrt(yy)) : 0.0;
}

static int number_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Numbers become their ranks 1 ... n; equal ones share the mean of theirs. Below x[i] stand `low`
   numbers, up to it `high`: their ranks are low+1 ... high. */
static void make_ranks(double *x, size_t n) {
  double *sorted = (double *)take(n, sizeof *sorted), value;
  size_t i, low, high;
  memcpy(sorted, x, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, number_order);
  for (i = 0; i < n; i++) {
    double *at = (double *)bsearch(&x[i], sorted, n, sizeof *sorted, number_order);
    value = *at;
    low = high = (size_t)(at - sorted);
    while (low && sorted[low - 1] == value) low--;
    while (high < n && sorted[high] == value) high++;
    x[i] = 0.5 * (double)(low + 1 + high);
  }
  free(sorted);
}

/* Pearson's correlation of the numbers, or of their ranks (Spearman 1904). */
static double metric_correlation(const corpus *c, int variant) {
  double *x = (double *)take(c->n, sizeof *x), *y = (double *)take(c->n, sizeof *y), value;
  size_t i;
  for (i = 0; i < c->n; i++) {
    example e = example_make(c, i, cut_words);
    x[i] = line_number(&e.hyp, variant, "outputs", i);
    y[i] = line_number(&e.refs[0], variant, "references", i);
    example_free(&e);
  }
  if (variant == SPEARMAN) make_ranks(x, c->n), make_ranks(y, c->n);
  value = 100.0 * correlation(x, y, c->n);
  free(x);
  free(y);
  return value;
}

/* -- the list -- */

typedef struct metric_row {
  const char *name;
  double (*value)(const corpus *c, int variant);
  int variant;
} metric_row;

static const metric_row metric_rows[] = {
    {"bleu", metric_bleu, 0},
    {"chrf", metric_chrf, 0},
    {"wer", metric_exact, 1},
    {"per", metric_per, 0},
    {"exact", metric_exact, 0},
    {"accuracy", metric_exact, 0},
    {"rouge1", metric_rouge, 1},
    {"rouge2", metric_rouge, 2},
    {"rougeL", metric_rouge, 0},
    {"rougeLsum", metric_rouge_sum, 0},
    {"cider", metric_cider, 0},
    {"meteor-es", metric_meteor, 0},
    {"f1", metric_f1, 0},
    {"mcc", metric_mcc, 0},
    {"pearson", metric_correlation, PEARSON},
    {"spearman", metric_correlation, SPEARMAN},
};
#define METRIC_NAMES \
  "bleu chrf wer per exact accuracy rouge1 rouge2 rougeL rougeLsum cider meteor-es f1 mcc " \
  "pearson spearman"
#define LOSS_NAMES "ppl nats nats_char" /* of a model alone */
#define METRIC_NOTE \
  "; wer: lines that are wrong, each is one word; per: edits of their parts; cider: CIDEr-D; " \
  "meteor-es: METEOR's exact and stem stages only, no synonyms"

/* The row of a metric; ends the program when there is none. */
static const metric_row *metric_find(syn_text name) {
  nearest near = {NULL, 0};
  size_t i;
  for (i = 0; i < SYN__COUNT(metric_rows); i++) {
    if (text_is(name, metric_rows[i].name)) return &metric_rows[i];
    nearest_try(&near, name, metric_rows[i].name);
  }
  fail(WRONG_USE, "no metric %.*s; the nearest is %s, all are %s, of eval also %s",
       (int)(name.size < 60 ? name.size : 60), name.at, near.name, METRIC_NAMES, LOSS_NAMES);
  return NULL;
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

/* ==============================================================================================
   >>tool score   metrics of two text files, without a model
   ============================================================================================== */

/* The rows that eval and score share, beside --metric. */
#define METRIC_OPTIONS \
  {"tokenize", 0, CHOICE, "13a", "13a|none", \
   "words of bleu, cider and meteor-es; none: parted by white space"}, \
  {"lowercase", 0, FLAG, "off", "", "compares in lower case"}, \
  LITERAL_OPTION, \
  {"sentences", 0, TEXT, "<q>", "MARK", "what parts the sentences of a line for rougeLsum"}, \
  {"positive", 0, TEXT, "", "CLASS", "class of f1; none: 1 of labels 0 and 1, else mean of all"}, \
  {"json", 0, FLAG, "off", "", "one JSON object a line"}

#define END_OF_OPTIONS {NULL, 0, FLAG, NULL, NULL, NULL}

#define LITERAL_OPTION \
  {"literal", 0, FLAG, "off", "", \
   "| and TAB in targets are text, not marks of alternatives (labels and tags: always)"}

static const option score_options[] = {
    {"metric", 0, TEXT, NULL, "LIST", "parted by commas: " METRIC_NAMES METRIC_NOTE},
    METRIC_OPTIONS,
    END_OF_OPTIONS};

/* Reads the rows of METRIC_OPTIONS, whichever command they belong to. */
static metric_options metric_options_of(const arguments *a) {
  metric_options m;
  m.plain = strcmp(opt_text(a, "tokenize"), "none") == 0;
  m.lowercase = opt_flag(a, "lowercase");
  m.literal = opt_flag(a, "literal");
  m.sentences = opt_text(a, "sentences");
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

/* ==============================================================================================
   >>tool library   contexts, failures of the library, networks from options
   ============================================================================================== */

/* As check, for what was made from options alone: there a refused value is wrong use. */
static void check_use(const syn_context *c) {
  int use = c->status != SYN_E_MEMORY && c->status != SYN_E_FILE;
  if (c->status != SYN_OK) fail(use ? WRONG_USE : FAILED_JOB, "%s", c->message);
}

/* A failure with a file; where the message does not begin with its name, that is put before it. */
static void check_file(const syn_context *c, const char *path) {
  int named = strncmp(c->message, path, strlen(path)) == 0;
  if (c->status == SYN_OK) return;
  fail(FAILED_JOB, "%s%s%s", named ? "" : path, named ? "" : ": ", c->message);
}

static void context_open(syn_context *c, const arguments *a) {
  syn_options options;
  memset(&options, 0, sizeof options);
  options.threads = opt_int(a, "threads");
  options.isa = opt_text(a, "isa")[0] ? opt_text(a, "isa") : NULL;
#ifndef _OPENMP
  if (options.threads > 1)
    fail(WRONG_USE, "--threads %d needs a build with -fopenmp", options.threads);
#endif
  if (syn_context_init(c, &options)) fail(WRONG_USE, "--isa: %s", c->message);
}

/* What stands for --encoder and --decoder when they are not given. */
#define PLAIN_CHAIN "pos->repeat(3,res_nd(syn_att(R+V))->res_nd(ffl))->norm"
#define SOURCE_CHAIN "pos->repeat(3,res_nd(syn_att(R+V))->res_nd(mh_dot_att)->res_nd(ffl))->norm"

/* A configuration and what it points to. */
typedef struct network {
  syn_config config;
  syn_var *vars;
  buffer names; /* of the vars */
} network;

/* --var NAME=NUMBER, as often as it is given. */
static void network_vars(network *n, const arguments *a) {
  const char *each, *equals;
  int count = 0, i;
  size_t at = 0;
  while (opt_each(a, "var", count)) count++;
  n->vars = (syn_var *)take((size_t)count, sizeof *n->vars);
  for (i = 0; i < count; i++) {
    each = opt_each(a, "var", i);
    equals = strchr(each, '=');
    if (!equals || equals == each || !parse_number(equals + 1, &n->vars[i].value))
      fail(WRONG_USE, "%s --var wants NAME=NUMBER, given: %s", a->command->name, each);
    put(&n->names, each, (size_t)(equals - each));
    put_byte(&n->names, 0);
  }
  for (i = 0; i < count; i++, at += strlen(n->names.at + at) + 1)
    n->vars[i].name = n->names.at + at;
  n->config.vars = n->vars;
  n->config.n_vars = count;
}

/* The rows of NETWORK_OPTIONS; vocabularies, dropout and the like stay 0. */
static network network_of(const arguments *a) {
  const char *tie = opt_text(a, "tie"), *encoder = opt_text(a, "encoder");
  const char *decoder = opt_text(a, "decoder"), *task = opt_text(a, "task");
  network n;
  memset(&n, 0, sizeof n);
  network_vars(&n, a);
  n.config.task = task;
  n.config.encoder = *encoder ? encoder : PLAIN_CHAIN;
  n.config.decoder = *decoder ? decoder : strcmp(task, "lm") == 0 ? PLAIN_CHAIN : SOURCE_CHAIN;
  n.config.d_model = opt_int(a, "d-model");
  n.config.heads = opt_int(a, "heads");
  n.config.max_len = opt_int(a, "max-len");
  n.config.tie = strcmp(tie, "auto") == 0 ? NULL : tie;
  return n;
}

static void network_free(network *n) {
  free(n->vars);
  free(n->names.at);
}

/* What a line of data is, and how it becomes rows. */
typedef enum task { SEQ2SEQ, LM, CLASSIFY, TAG } task;

static task task_of(const char *name) {
  static const char *const names[] = {"seq2seq", "lm", "classify", "tag"};
  int i = TAG;
  while (i > 0 && strcmp(name, names[i]) != 0) i--;
  return (task)i;
}

/* Class k of classify is token k + 4 of the target's tokenizer, of tag token k + 3: its class 0 is
   never right. */
static int task_shift(task of) { return of == TAG ? SYN_FIRST_TOKEN - 1 : SYN_FIRST_TOKEN; }

/* ==============================================================================================
   >>tool data   text files become pairs of texts, tokenizers, rows of tokens
   ============================================================================================== */

/* Source and target texts, line by line; they point into the files. For classify the source is one
   text or more, parted by TABs, and the target a label; for tag the target is the tags. */
typedef struct pairs {
  task of;
  lines files[2];
  const char *names[2];  /* of the files of both sides */
  syn_text *side[2];     /* [count]; the target with all its alternatives */
  size_t count;
  int literal;           /* `|` and TAB in a target are text */
} pairs;

/* source TAB target [TAB more targets]; label TAB text [TAB more texts] */
static void pairs_cut(pairs *p) {
  int first = p->of == CLASSIFY; /* which side stands before the TAB */
  size_t i;
  for (i = 0; i < p->count; i++) {
    syn_text line = p->files[0].at[i];
    const char *tab = line.size ? (const char *)memchr(line.at, '\t', line.size) : NULL;
    if (!tab)
      fail(FAILED_JOB, "%s line %lu has no TAB; %s is wanted, given: %.*s", p->names[0],
           (unsigned long)i + 1, first ? "label TAB text" : "source TAB target",
           (int)(line.size < 60 ? line.size : 60), line.at);
    p->side[first][i] = p->side[!first][i] = line;
    p->side[first][i].size = (size_t)(tab - line.at);
    p->side[!first][i].at = tab + 1;
    p->side[!first][i].size = line.size - p->side[first][i].size - 1;
  }
}

/* Without a text there is nothing to classify or tag. */
static void pairs_check(const pairs *p) {
  size_t i;
  int k;
  for (i = 0; i < p->count && p->of >= CLASSIFY; i++)
    for (k = 0; k < 2; k++)
      if (!p->side[k][i].size)
        fail(FAILED_JOB, "%s line %lu has no %s", p->names[k], (unsigned long)i + 1,
             k == 0 ? "text" : p->of == TAG ? "tags" : "label");
}

/* Either `data`, or `src` and `tgt`; 0 when no option is given. `names`: of the three options. */
static int pairs_read(pairs *p, task of, const arguments *a, const char *const names[3]) {
  const char *data = opt_text(a, names[0]);
  const char *src = opt_text(a, names[1]), *tgt = opt_text(a, names[2]);
  memset(p, 0, sizeof *p);
  p->of = of;
  p->literal = of >= CLASSIFY || opt_flag(a, "literal"); /* a tag may be | */
  if (!*data && !*src && !*tgt) return 0;
  if (*data ? *src || *tgt : !*src || !*tgt)
    fail(WRONG_USE, "%s wants either --%s, or --%s and --%s", a->command->name, names[0], names[1],
         names[2]);
  p->names[0] = *data ? data : src;
  p->names[1] = *data ? data : tgt;
  p->files[0] = read_lines(p->names[0]);
  p->count = p->files[0].count;
  p->side[0] = (syn_text *)take(p->count, sizeof(syn_text));
  p->side[1] = (syn_text *)take(p->count, sizeof(syn_text));
  if (*data) return pairs_cut(p), pairs_check(p), 1;
  p->files[1] = read_lines(tgt);
  if (p->files[1].count != p->count)
    fail(FAILED_JOB, "%s has %lu lines, %s has %lu; as many of both are wanted", src,
         (unsigned long)p->count, tgt, (unsigned long)p->files[1].count);
  memcpy(p->side[0], p->files[0].at, p->count * sizeof(syn_text));
  memcpy(p->side[1], p->files[1].at, p->count * sizeof(syn_text));
  pairs_check(p);
  return 1;
}

static void pairs_free(pairs *p) {
  lines_free(&p->files[0]);
  lines_free(&p->files[1]);
  free(p->side[0]);
  free(p->side[1]);
}

/* What training learns of a target: its first alternative, without the blanks around it. */
static syn_text first_alternative(const pairs *p, size_t i) {
  syn_text rest = p->side[1][i], piece = rest;
  if (p->literal) return piece;
  next_piece(&rest, "|\t", &piece);
  while (piece.size && piece.at[0] == ' ') piece.at++, piece.size--;
  while (piece.size && piece.at[piece.size - 1] == ' ') piece.size--;
  return piece;
}

/* Token ids of one text after the other; zeroed it is empty. */
typedef struct encoder {
  int *ids;
  size_t room;
} encoder;

/* Returns how many tokens the text has. Those of classify: a 3 b 3 ... without the last 3, for a
   TAB parts texts there. A text has at most as many tokens as bytes, and one. */
static int encode_task(encoder *e, task of, const syn_tokenizer *t, syn_text text) {
  syn_text rest = text, piece;
  int n = 0;
  if (text.size >= INT_MAX / 4)
    fail(FAILED_JOB, "a text of %.0f bytes is too long", (double)text.size);
  if (e->room < 2 * text.size + 2) {
    free(e->ids);
    e->room = 4 * text.size + 64;
    e->ids = (int *)take(e->room, sizeof *e->ids);
  }
  while (next_piece(&rest, of == CLASSIFY ? "\t" : "", &piece)) {
    if (n || piece.at != text.at) e->ids[n++] = SYN_END;
    n += syn_tokenizer_encode(t, piece, e->ids + n, (int)piece.size + 1);
  }
  return n;
}
static int encode(encoder *e, const syn_tokenizer *t, syn_text text) {
  return encode_task(e, SEQ2SEQ, t, text);
}

/* Ends the program for label k of line i, which the training did not have. */
static void label_unknown(const pairs *p, const syn_tokenizer *t, size_t i, int k) {
  syn_text rest = p->side[1][i], label = rest;
  if (strcmp(syn_tokenizer_type(t), "space") == 0)
    for (; k >= 0; k--) next_piece(&rest, " \t", &label);
  fail(FAILED_JOB, "%s line %lu: the label %.*s is none of the %d of the training", p->names[1],
       (unsigned long)i + 1, (int)(label.size < 60 ? label.size : 60), label.at,
       syn_tokenizer_size(t) - SYN_FIRST_TOKEN);
}

/* The classes of line i, for a source of `tokens` tokens; returns how many they are. */
static int encode_labels(encoder *e, const pairs *p, size_t i, const syn_tokenizer *t,
                         int tokens) {
  int n = encode(e, t, p->side[1][i]), k;
  for (k = 0; k < n; k++) {
    if (e->ids[k] == SYN_UNKNOWN) label_unknown(p, t, i, k);
    e->ids[k] -= task_shift(p->of);
  }
  if (p->of == TAG && n != tokens)
    fail(FAILED_JOB, "%s line %lu has %d tags for %d tokens", p->names[1], (unsigned long)i + 1, n,
         tokens);
  return n;
}

/* Adds every pair whose sides have less than `most` tokens (their end, or the begin of the decoder,
   is one more; tag: at most so many); returns how many pairs do not fit. */
static size_t pairs_add(syn_context *c, syn_data *d, const pairs *p,
                        const syn_tokenizer *const t[2], int most) {
  encoder src, tgt;
  size_t i, left = 0;
  int n, m;
  memset(&src, 0, sizeof src);
  memset(&tgt, 0, sizeof tgt);
  for (i = 0; i < p->count; i++) {
    n = encode_task(&src, p->of, t[0], p->side[0][i]);
    m = p->of >= CLASSIFY ? encode_labels(&tgt, p, i, t[1], n)
                          : encode(&tgt, t[1], first_alternative(p, i));
    if (n < most + (p->of == TAG) && m < most + (p->of == TAG))
      syn_data_add(d, src.ids, n, tgt.ids, m);
    else left++;
  }
  free(src.ids);
  free(tgt.ids);
  check(c);
  return left;
}

/* A whole text as windows of N tokens, a new one every `stride`. */
static void windows_add(syn_context *c, syn_data *d, syn_text text, const syn_tokenizer *t,
                        int window, int stride) {
  encoder e;
  int n;
  memset(&e, 0, sizeof e);
  n = encode(&e, t, text);
  syn_data_add_windows(d, e.ids, (size_t)n, window, stride);
  check(c);
  free(e.ids);
}

/* A text without targets is one file: a second one would be passed over. */
static void check_one_file(const arguments *a, const char *what) {
  static const char *const names[] = {"src", "tgt", "valid-src", "valid-tgt"};
  size_t i;
  for (i = 0; i < SYN__COUNT(names); i++)
    if (opt_given(a, names[i]))
      fail(WRONG_USE, "%s of %s reads plain text by --data%s, given: --%s", a->command->name, what,
           i < 2 ? "" : " and --valid", names[i]);
}

/* The file as one text, with its line ends. */
static buffer read_text(const char *path) {
  buffer text = read_file(path);
  if (!text.size) fail(FAILED_JOB, "%s is empty, a text is wanted", path);
  return text;
}

/* The spec of a side: its own option, else --tokenizer, else what the task is used to. */
static const char *tokenizer_spec(const arguments *a, task of, int side) {
  const char *own = opt_text(a, side ? "tgt-tokenizer" : "src-tokenizer");
  if (*own) return own;
  if (of == CLASSIFY && side) return "line";
  if (*opt_text(a, "tokenizer")) return opt_text(a, "tokenizer");
  return of == TAG ? "space" : "bpe:4000";
}

/* The texts a tokenizer is learned from: side 0, 1, or 2 for both. */
static syn_tokenizer *learn_side(syn_context *c, const pairs *p, int side, const char *spec,
                                 int flags) {
  syn_text *all, rest, piece;
  size_t i, n = 0, most = 2 * p->count;
  syn_tokenizer *t;
  for (i = 0; i < p->files[0].bytes.size && p->of == CLASSIFY; i++)
    most += p->files[0].bytes.at[i] == '\t';
  all = (syn_text *)take(most, sizeof *all);
  for (i = 0; i < p->count && side != 1; i++)
    for (rest = p->side[0][i]; next_piece(&rest, p->of == CLASSIFY ? "\t" : "", &piece);)
      all[n++] = piece;
  for (i = 0; i < p->count && side != 0; i++)
    all[n++] = p->of >= CLASSIFY ? p->side[1][i] : first_alternative(p, i);
  t = syn_tokenizer_learn(c, spec, flags, all, n);
  check_use(c);
  free(all);
  return t;
}

/* The tokenizers that are still missing, learned from the training texts; `joint`: one for both, as
   --tie all wants it. Labels keep their case. */
static void learn_tokenizers(syn_context *c, const arguments *a, const pairs *p, int joint,
                             syn_tokenizer *t[2]) {
  const char *src = tokenizer_spec(a, p->of, 0), *tgt = tokenizer_spec(a, p->of, 1);
  int flags = opt_flag(a, "lowercase") ? SYN_LOWERCASE : 0;
  if (joint && strcmp(src, tgt) != 0)
    fail(WRONG_USE, "--tie all wants one tokenizer for both sides, given: %s and %s", src, tgt);
  if (!t[0]) t[0] = learn_side(c, p, joint ? 2 : 0, src, flags);
  if (!t[1]) t[1] = joint ? t[0] : learn_side(c, p, 1, tgt, p->of >= CLASSIFY ? 0 : flags);
}

/* lm: one tokenizer, learned from the whole text, unless it is there already. */
static void learn_tokenizer(syn_context *c, const arguments *a, syn_text text,
                            syn_tokenizer *t[2]) {
  int flags = opt_flag(a, "lowercase") ? SYN_LOWERCASE : 0;
  if (!t[1]) t[1] = syn_tokenizer_learn(c, tokenizer_spec(a, LM, 1), flags, &text, 1);
  check_use(c);
}

/* ==============================================================================================
   >>tool train   trains from text files and writes a model
   ============================================================================================== */

typedef struct training {
  const arguments *a;
  task of;
  double per_label;           /* tokens of the source for each label: 1 but for classify */
  syn_context c;
  syn_model *m, *from;        /* from: that of --init, or null */
  syn_trainer *t;
  syn_data *data, *valid;     /* valid: null without --valid */
  int max_len, joint, corrupt; /* joint: one tokenizer for both sides; corrupt: --span-corruption */
  syn_tokenizer *tokenizer[2];
  syn_train_config config;
  const char *output, *checkpoint; /* checkpoint: null without --checkpoint */
  int json, terminal, lost;        /* lost: a checkpoint could not be written */
  double begin, minutes;           /* seconds() at the begin of the program; 0: no limit */
  double shown, losses, loss; /* seconds() of the last line; the losses since then; their mean */
  long first_step, shown_step, shown_tokens;
} training;

/* The signal that asked to stop. The second one ends the program at once. */
static volatile sig_atomic_t stopped_by = 0;

static void on_stop(int number) {
  stopped_by = number;
  signal(number, SIG_DFL);
}

static double seconds(void) {
#ifdef CLOCK_MONOTONIC
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) == 0)
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
  return (double)time(NULL);
}

static int is_terminal(int file) {
#ifdef SYN__POSIX
  return isatty(file);
#else
  SYN__UNUSED(file);
  return 0;
#endif
}

static int file_exists(const char *path) {
  FILE *f = fopen(path, "rb");
  if (f) fclose(f);
  return f != NULL;
}

/* Whether a file can be written at the end is found out before the work, without touching it: the
   library writes PATH.tmp and renames it. */
static void check_writable(const char *path) {
  buffer name = {NULL, 0, 0};
  int existed;
  FILE *f;
#ifdef SYN__POSIX
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    fail(FAILED_JOB, "cannot write %s: it is a folder", path);
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return; /* a device, written directly */
#endif
  put(&name, path, strlen(path));
  put(&name, ".tmp", 5);
  existed = file_exists(name.at);
  f = fopen(name.at, "ab");
  if (!f) fail(FAILED_JOB, "cannot write %s: %s", name.at, strerror(errno));
  fclose(f);
  if (!existed) remove(name.at);
  free(name.at);
}

/* -- progress -- */

/* Seconds that are left by the steps and by the minutes; below 0: not known. */
static double train_left(const training *r, const syn_train_state *s, double now) {
  double left = -1.0, by_minutes = r->begin + 60.0 * r->minutes - now;
  long done = s->step - r->first_step;
  if (r->config.steps < LONG_MAX && done > 0)
    left = (double)(r->config.steps - s->step) * (now - r->begin) / (double)done;
  if (r->minutes > 0.0 && (left < 0.0 || by_minutes < left))
    left = by_minutes > 0.0 ? by_minutes : 0.0;
  return left;
}

/* One line; on a terminal it stays only when there is a validation in it. */
static void train_line(const training *r, double speed, double now, int validated) {
  const syn_train_state *s = syn_trainer_state(r->t);
  double left = train_left(r, s, now);
  char line[200];
  int n = snprintf(line, sizeof line, "step %ld  loss %.4f", s->step, r->loss);
  if (r->valid && s->validations)
    n += snprintf(line + n, sizeof line - (size_t)n, "  valid %.4f", (double)s->valid);
  n += snprintf(line + n, sizeof line - (size_t)n, "  lr %.3g  %.0f tokens/s", (double)s->rate,
                speed);
  if (left >= 0.0)
    snprintf(line + n, sizeof line - (size_t)n, "  %.0f:%02.0f left", floor(left / 60.0),
             floor(left - 60.0 * floor(left / 60.0)));
  if (r->terminal) fprintf(stderr, "\r%-79s%s", line, validated ? "\n" : "");
  else fprintf(stderr, "%s\n", line);
  fflush(stderr);
}

static void train_json(const training *r, double speed, double now, int validated) {
  const syn_train_state *s = syn_trainer_state(r->t);
  printf("{\"step\":%ld,\"loss\":%.6f,\"valid\":", s->step, r->loss);
  if (r->valid && validated) printf("%.6f", (double)s->valid);
  else printf("null");
  printf(",\"lr\":%.9g,\"tokens_per_s\":%.1f,\"seconds\":%.3f}\n", (double)s->rate, speed,
         now - r->begin);
  fflush(stdout);
}

/* The loss shown is the mean over the steps since the last line. */
static void train_show(training *r, double now, int validated) {
  const syn_train_state *s = syn_trainer_state(r->t);
  long steps = s->step - r->shown_step;
  double span = now - r->shown;
  double labels = (double)(s->tokens - r->shown_tokens);
  double speed = span > 0.0 ? labels * r->per_label / span : 0.0;
  if (steps) r->loss = r->losses / (double)steps;
  if (r->json) train_json(r, speed, now, validated);
  else train_line(r, speed, now, validated);
  r->shown = now;
  r->shown_step = s->step;
  r->shown_tokens = s->tokens;
  r->losses = 0.0;
}

/* A checkpoint that cannot be written does not end a training: the old one is whole, and the disk
   may have room again at the next. */
static void train_checkpoint(training *r) {
  if (!r->checkpoint || !syn_trainer_save(&r->c, r->t, r->checkpoint)) return;
  fprintf(stderr, "syn: %s\n", r->c.message);
  syn_context_clear(&r->c);
  r->lost = 1;
}

static int train_report(void *user, const syn_trainer *t, float loss, int validated) {
  training *r = (training *)user;
  double now = seconds();
  SYN__UNUSED(t);
  r->losses += (double)loss;
  if (validated || now - r->shown >= (r->terminal ? 0.5 : 10.0)) train_show(r, now, validated);
  if (validated) train_checkpoint(r);
  return stopped_by || (r->minutes > 0.0 && seconds() - r->begin >= 60.0 * r->minutes);
}

/* -- --init: a model to begin from -- */

/* The model of --init stands in for options that were not given: all of the network for the same
   task, else its encoder and sizes. */
static void init_network(const training *r, syn_config *k) {
  const syn_config *from = syn_model_config(r->from);
  int same;
  if (!from) return;
  if (!opt_given(r->a, "task")) k->task = from->task;
  same = strcmp(k->task, from->task) == 0;
  if (!same && !opt_flag(r->a, "init-other-task"))
    fail(WRONG_USE,
         "--init %s is a model of the task %s, this training is of %s; with --init-other-task it "
         "gives what fits", opt_text(r->a, "init"), from->task, k->task);
  if (!opt_given(r->a, "encoder") && from->encoder) k->encoder = from->encoder;
  if (!opt_given(r->a, "decoder") && from->decoder && same) k->decoder = from->decoder;
  if (!opt_given(r->a, "d-model")) k->d_model = from->d_model;
  if (!opt_given(r->a, "heads")) k->heads = from->heads;
  if (!opt_given(r->a, "max-len")) k->max_len = from->max_len;
  if (!opt_given(r->a, "tie") && same) k->tie = from->tie;
}

/* Whether a tokenizer knows every label of the training texts. */
static int knows_labels(const syn_tokenizer *t, const pairs *p) {
  encoder e;
  size_t i;
  int n = 0, known = 1;
  memset(&e, 0, sizeof e);
  for (i = 0; i < p->count && known; i++)
    for (n = encode(&e, t, p->side[1][i]); n > 0 && known; n--) known = e.ids[n - 1] != SYN_UNKNOWN;
  free(e.ids);
  return known;
}

/* Whether side k begins with the tokenizer t of --init: not where an option asks for another one.
   Labels are those of the training texts, unless all of them are among those of the model. */
static int init_keeps(const training *r, const pairs *p, int k, const syn_tokenizer *t) {
  int own = opt_given(r->a, "tokenizer") || opt_given(r->a, k ? "tgt-tokenizer" : "src-tokenizer");
  if (!t || (k == 0 && r->of == LM)) return 0;
  if (k == 0 || r->of < CLASSIFY) return !own;
  if (own && r->of == TAG) return 0;
  return r->of == task_of(syn_model_config(r->from)->task) && knows_labels(t, p);
}

/* The tokenizers of --init. Made anew from their bytes: each model owns its own. */
static void init_tokenizers(training *r, const pairs *p) {
  const char *path = opt_text(r->a, "init");
  int k, lower = opt_flag(r->a, "lowercase");
  for (k = 0; r->from && k < 2; k++) {
    const syn_tokenizer *t = syn_model_tokenizer(r->from, k);
    size_t size = syn_tokenizer_save(t, NULL, 0);
    char *bytes;
    if (!init_keeps(r, p, k, t)) continue;
    if (lower && (k == 0 || r->of < CLASSIFY) && !(syn_tokenizer_flags(t) & SYN_LOWERCASE))
      fail(WRONG_USE, "--lowercase: the tokenizer of %s keeps upper case; give --tokenizer too",
           path);
    bytes = (char *)take(size, 1);
    syn_tokenizer_save(t, bytes, size);
    if (k && t == syn_model_tokenizer(r->from, 0) && r->tokenizer[0])
      r->tokenizer[1] = r->tokenizer[0];
    else r->tokenizer[k] = syn_tokenizer_load(&r->c, bytes, size);
    check(&r->c);
    free(bytes);
  }
  if (r->joint && r->tokenizer[0] != r->tokenizer[1])
    fail(WRONG_USE, "--init %s: both sides must have one tokenizer; --tokenizer learns it", path);
}

/* What does not fit, by reason. */
typedef struct init_news {
  buffer names[4];
  int count[4];
} init_news;

static void put_shape(buffer *b, const syn_param *p) {
  char number[16];
  int i;
  for (i = 0; i < p->rank; i++) {
    snprintf(number, sizeof number, "%c%d", i ? ',' : '[', p->shape[i]);
    put(b, number, strlen(number));
  }
  put_byte(b, ']');
}

static void init_report(void *user, const syn_param *mine, const syn_param *theirs) {
  init_news *news = (init_news *)user;
  const syn_param *shown = mine ? mine : theirs;
  int same = mine && theirs && mine->rank == theirs->rank && mine->size == theirs->size;
  int why = !theirs ? 0 : !mine ? 3 : same ? 2 : 1, i;
  buffer *b = &news->names[why];
  for (i = 0; same && i < mine->rank; i++)
    if (mine->shape[i] != theirs->shape[i]) b = &news->names[why = 1];
  news->count[why]++;
  put_byte(b, ' ');
  put(b, shown->name, strlen(shown->name));
  if (why != 1) return;
  put_shape(b, mine);
  put(b, " there ", 7);
  put_shape(b, theirs);
}

/* The weights, and what is said of them. */
static void init_weights(training *r) {
  static const char *const why[] = {"new, not in it", "new, of another shape",
                                    "new, of other tokens", "without use here"};
  const char *path = opt_text(r->a, "init");
  init_news news;
  int taken, k;
  if (!r->from) return;
  memset(&news, 0, sizeof news);
  taken = syn_model_init_from(r->m, r->from, SYN_OTHER_TASK, init_report, &news);
  check(&r->c);
  fprintf(stderr, "syn: --init %s: %d of %lu weights are taken\n", path, taken,
          (unsigned long)syn_model_param_count(r->m));
  for (k = 0; k < 4; k++) {
    if (news.count[k])
      fprintf(stderr, "syn: --init %s: %s (%d):%.*s\n", path, why[k], news.count[k],
              (int)news.names[k].size, news.names[k].at);
    free(news.names[k].at);
  }
  if (!taken) fail(FAILED_JOB, "--init %s: none of its weights fits this network", path);
  syn_model_free(r->from);
}

/* -- the data -- */

/* Names what does not fit, so that nothing is dropped in silence. */
static void train_add(training *r, syn_data *d, const pairs *p, int most) {
  const syn_tokenizer *const t[2] = {r->tokenizer[0], r->tokenizer[1]};
  size_t left = pairs_add(&r->c, d, p, t, most);
  int asked = r->max_len;
  if (left == p->count) fail(FAILED_JOB, "no pair of %s fits --max-len %d", p->names[0], most);
  if (left)
    fprintf(stderr, "syn: %lu of %lu pairs of %s do not fit --max-len %d%s and are left out\n",
            (unsigned long)left, (unsigned long)p->count, p->names[0], asked,
            most < asked ? " or --batch" : "");
}

static void train_read_pairs(training *r) {
  static const char *const train_names[] = {"data", "src", "tgt"};
  static const char *const valid_names[] = {"valid", "valid-src", "valid-tgt"};
  int most = r->max_len, batch = opt_int(r->a, "batch");
  pairs p, v;
  if (!pairs_read(&p, r->of, r->a, train_names))
    fail(WRONG_USE, "train wants --data, or --src and --tgt");
  r->data = syn_data_new(&r->c);
  if (pairs_read(&v, r->of, r->a, valid_names)) r->valid = syn_data_new(&r->c);
  if (batch - (r->of == TAG) < most) most = batch - (r->of == TAG);
  init_tokenizers(r, &p);
  learn_tokenizers(&r->c, r->a, &p, r->joint, r->tokenizer);
  if (r->of == CLASSIFY && syn_tokenizer_size(r->tokenizer[1]) < SYN_FIRST_TOKEN + 2)
    fail(FAILED_JOB, "%s has one label in all, at least two are wanted", p.names[1]);
  train_add(r, r->data, &p, most);
  if (r->valid) train_add(r, r->valid, &v, most);
  pairs_free(&v);
  pairs_free(&p);
}

/* --span-corruption: each line is a text; what is asked of it is made anew in every epoch. */
static syn_data *train_add_lines(training *r, const pairs *p, int most) {
  syn_data *d = syn_data_new(&r->c);
  size_t i, count[2] = {0, 0};
  syn_corruption k;
  encoder e;
  int n, n_src, n_tgt;
  memset(&k, 0, sizeof k);
  memset(&e, 0, sizeof e);
  k.count = syn_tokenizer_sentinels(r->tokenizer[0], &k.first);
  if (!k.count)
    fail(WRONG_USE, "--init %s: its tokenizer has no sentinels for --span-corruption",
         opt_text(r->a, "init"));
  syn_data_corrupt(d, &k);
  for (i = 0; i < p->count; i++) {
    n = encode(&e, r->tokenizer[0], p->side[0][i]);
    syn_corrupt_sizes(&k, n, &n_src, &n_tgt);
    if (n < 2) count[0]++;
    else if (n_src >= most || n_tgt >= most) count[1]++;
    else syn_data_add(d, e.ids, n, NULL, 0);
  }
  check(&r->c);
  if (!syn_data_count(d))
    fail(FAILED_JOB, "no line of %s has two tokens or more and fits --max-len %d", p->names[0],
         most);
  if (count[0] + count[1])
    fprintf(stderr, "syn: of %lu lines of %s %lu have less than two tokens, %lu do not fit "
            "--max-len %d%s; they are left out\n", (unsigned long)p->count, p->names[0],
            (unsigned long)count[0], (unsigned long)count[1], r->max_len,
            most < r->max_len ? " or --batch" : "");
  free(e.ids);
  return d;
}

static void train_read_lines(training *r) {
  const char *paths[2];
  int most = r->max_len < opt_int(r->a, "batch") ? r->max_len : opt_int(r->a, "batch"), k, flags;
  paths[0] = opt_text(r->a, "data");
  paths[1] = opt_text(r->a, "valid");
  if (!*paths[0]) fail(WRONG_USE, "train --span-corruption wants --data FILE, a text a line");
  flags = SYN_SENTINELS | (opt_flag(r->a, "lowercase") ? SYN_LOWERCASE : 0);
  for (k = 0; k < 2 && *paths[k]; k++) {
    lines l = read_lines(paths[k]);
    pairs p;
    memset(&p, 0, sizeof p);
    p.names[0] = paths[k];
    p.side[0] = l.at;
    p.count = l.count;
    if (k == 0) init_tokenizers(r, &p);
    if (!r->tokenizer[0])
      r->tokenizer[0] = r->tokenizer[1] =
          learn_side(&r->c, &p, 0, tokenizer_spec(r->a, SEQ2SEQ, 0), flags);
    if (k == 0) r->data = train_add_lines(r, &p, most);
    else r->valid = train_add_lines(r, &p, most);
    lines_free(&l);
  }
}

static void train_read_text(training *r) {
  const char *path = opt_text(r->a, "data"), *valid = opt_text(r->a, "valid");
  int window = r->max_len;
  buffer text;
  check_one_file(r->a, "lm");
  if (!*path) fail(WRONG_USE, "train --task lm wants --data FILE");
  if (opt_int(r->a, "batch") <= window)
    fail(WRONG_USE, "train --batch %d holds no window: more than --max-len %d is wanted",
         opt_int(r->a, "batch"), window);
  text = read_text(path);
  init_tokenizers(r, NULL);
  learn_tokenizer(&r->c, r->a, buffer_text(&text), r->tokenizer);
  r->data = syn_data_new(&r->c);
  windows_add(&r->c, r->data, buffer_text(&text), r->tokenizer[1], window, window);
  free(text.at);
  if (!*valid) return;
  text = read_text(valid);
  r->valid = syn_data_new(&r->c);
  windows_add(&r->c, r->valid, buffer_text(&text), r->tokenizer[1], window, window / 2);
  free(text.at);
}

/* The first of --steps and --epochs; an epoch counts as many batches as the first one has. */
static long train_steps(training *r) {
  double epochs = opt_number(r->a, "epochs"), minutes = opt_number(r->a, "minutes"), by_epochs;
  long steps = opt_int(r->a, "steps");
  size_t batches = syn_data_batches(r->data, r->config.batch_tokens, r->config.seed);
  check(&r->c);
  if (steps == 0 && epochs <= 0.0 && minutes <= 0.0) epochs = 10.0;
  by_epochs = ceil(epochs * (double)batches / (double)r->config.accumulate);
  if (steps == 0) steps = LONG_MAX;
  if (epochs > 0.0 && by_epochs < (double)steps) steps = (long)by_epochs;
  return steps;
}

/* A file that is read must not be written over. */
static void check_output(const arguments *a, const char *written) {
  static const char *const read[] = {"data", "src", "tgt", "valid", "valid-src", "valid-tgt",
                                     "model"};
  const char *path = opt_text(a, written);
  size_t i;
  for (i = 0; i < SYN__COUNT(read); i++)
    if (*path && opt_given(a, read[i]) && strcmp(opt_text(a, read[i]), path) == 0)
      fail(WRONG_USE, "%s --%s and --%s name the same file: %s", a->command->name, written, read[i],
           path);
}

/* What has an effect only together with something else. */
static void train_check_rule(const arguments *a) {
  const char *optimizer = opt_text(a, "optimizer"), *schedule = opt_text(a, "schedule");
  int ends = opt_int(a, "steps") > 0 || opt_number(a, "epochs") > 0.0;
  int valid = *opt_text(a, "valid") || *opt_text(a, "valid-src");
  if (strcmp(optimizer, "adam") == 0 && opt_given(a, "weight-decay") &&
      opt_number(a, "weight-decay") > 0.0)
    fail(WRONG_USE, "adam has no --weight-decay, adamw has; given: %s",
         opt_text(a, "weight-decay"));
  if (strcmp(optimizer, "adafactor") == 0 && opt_number(a, "lr") <= 0.0 &&
      (opt_given(a, "schedule") || opt_given(a, "warmup")))
    fail(WRONG_USE, "adafactor without --lr takes steps of its own, which no --schedule or "
         "--warmup changes");
  if (opt_number(a, "minutes") > 0.0 && !ends &&
      (strcmp(schedule, "linear") == 0 || strcmp(schedule, "cosine") == 0))
    fail(WRONG_USE,
         "the schedule %s falls to the last step, so --minutes needs --steps or --epochs too",
         schedule);
  if (strcmp(schedule, "plateau") == 0 && !valid)
    fail(WRONG_USE, "the schedule plateau follows the validation loss: --valid is wanted");
  if (opt_int(a, "stop-after") && !valid)
    fail(WRONG_USE, "train --stop-after %s follows the validation loss: --valid is wanted",
         opt_text(a, "stop-after"));
}

/* What can be said of the options before any file is read. */
static void train_check(const arguments *a) {
  if (opt_flag(a, "init-other-task") && !*opt_text(a, "init"))
    fail(WRONG_USE, "train --init-other-task wants --init MODEL");
  train_check_rule(a);
  if (opt_flag(a, "resume") && !*opt_text(a, "checkpoint"))
    fail(WRONG_USE, "train --resume wants --checkpoint FILE");
  if (strcmp(opt_text(a, "checkpoint"), opt_text(a, "output")) == 0)
    fail(WRONG_USE, "train --checkpoint and -o name the same file: %s", opt_text(a, "output"));
  check_output(a, "output");
  check_output(a, "checkpoint");
  check_writable(opt_text(a, "output"));
  if (*opt_text(a, "checkpoint")) check_writable(opt_text(a, "checkpoint"));
}

/* The rule of a step. The default of --weight-decay is adamw's; the others decay where it is
   asked for. */
static void train_rule(const arguments *a, syn_train_config *k) {
  int adam = strncmp(opt_text(a, "optimizer"), "adam", 4) == 0;
  k->optimizer = opt_text(a, "optimizer");
  k->schedule = opt_text(a, "schedule");
  k->lr = (float)opt_number(a, "lr");
  if (k->lr <= 0.0f && adam && strcmp(k->schedule, "noam") != 0) k->lr = 0.002f;
  if (adam || opt_given(a, "weight-decay"))
    k->weight_decay = (float)opt_number(a, "weight-decay");
  k->freeze = opt_text(a, "freeze");
}

static void train_configure(training *r) {
  const arguments *a = r->a;
  syn_train_config *k = &r->config;
  train_rule(a, k);
  k->warmup = opt_int(a, "warmup");
  k->clip = (float)opt_number(a, "clip");
  k->batch_tokens = opt_int(a, "batch");
  k->accumulate = opt_int(a, "accumulate");
  k->every = opt_int(a, "every");
  k->average = opt_int(a, "average");
  k->stop_after = opt_int(a, "stop-after");
  k->seed = opt_big(a, "seed");
  if (k->average == 1 && !r->valid) k->average = 0; /* the newest are the weights as they are */
  k->steps = train_steps(r);
}

/* What follows from the task and from --init, which may say the task. */
static void train_task(training *r, const syn_config *k) {
  const char *tokenizer = opt_text(r->a, "tgt-tokenizer");
  r->of = task_of(k->task);
  r->max_len = k->max_len;
  r->corrupt = opt_flag(r->a, "span-corruption");
  r->joint = r->of == SEQ2SEQ && (r->corrupt || (k->tie && strcmp(k->tie, "all") == 0));
  if (*tokenizer && r->of == CLASSIFY)
    fail(WRONG_USE, "--tgt-tokenizer %s: a label of classify is one class, whatever its text is",
         tokenizer);
  if (!r->corrupt) return;
  if (r->of != SEQ2SEQ) fail(WRONG_USE, "--span-corruption is for seq2seq, not for %s", k->task);
  check_one_file(r->a, "--span-corruption");
  if (*tokenizer || *opt_text(r->a, "src-tokenizer"))
    fail(WRONG_USE, "--span-corruption has one text and one --tokenizer for both sides");
}

/* The network and the names of --freeze are checked before the data are read: a slip shows at
   once. */
static network train_network(training *r) {
  network n = network_of(r->a);
  syn_train_config k;
  syn_plan plan;
  if (*opt_text(r->a, "init")) {
    r->from = syn_model_load(&r->c, opt_text(r->a, "init"));
    check_file(&r->c, opt_text(r->a, "init"));
  }
  init_network(r, &n.config);
  train_task(r, &n.config);
  memset(&k, 0, sizeof k);
  train_rule(r->a, &k);
  n.config.dropout = (float)opt_number(r->a, "dropout");
  n.config.label_smoothing = (float)opt_number(r->a, "label-smoothing");
  n.config.seed = opt_big(r->a, "seed");
  n.config.src_vocab = n.config.tgt_vocab = SYN_FIRST_TOKEN + 1;
  n.config.classes = 2;
  syn_plan_of(&r->c, &n.config, &k, NULL, &plan);
  check_use(&r->c);
  return n;
}

/* The checkpoint must speak the same tokens: a changed training text would train nonsense. */
static void train_same_tokens(training *r) {
  static const char *const names[] = {"tokenizer.src", "tokenizer.tgt"};
  syn_file *f = syn_file_load(&r->c, r->checkpoint);
  int k;
  check_file(&r->c, r->checkpoint);
  for (k = 0; k < 2; k++) {
    const syn_entry *e = syn_file_find(f, names[k]);
    size_t size = r->tokenizer[k] ? syn_tokenizer_save(r->tokenizer[k], NULL, 0) : 0;
    char *bytes = (char *)take(size, 1);
    int other;
    if (r->tokenizer[k]) syn_tokenizer_save(r->tokenizer[k], bytes, size);
    other = e && (e->bytes != size || memcmp(e->data, bytes, size) != 0);
    free(bytes);
    if (other)
      fail(FAILED_JOB, "%s: its %s is not that of the training text given now", r->checkpoint,
           names[k]);
  }
  syn_file_free(f);
}

static void train_resume(training *r) {
  if (!file_exists(r->checkpoint)) {
    fprintf(stderr, "syn: there is no %s yet: the training begins\n", r->checkpoint);
    return;
  }
  train_same_tokens(r);
  syn_trainer_load(r->t, r->checkpoint);
  check_file(&r->c, r->checkpoint);
  r->first_step = r->shown_step = syn_trainer_state(r->t)->step;
  r->shown_tokens = syn_trainer_state(r->t)->tokens;
  if (!r->json) fprintf(stderr, "goes on from step %ld of %s\n", r->first_step, r->checkpoint);
}

/* -- the end -- */

/* The checkpoint keeps the weights as they are; the model gets the mean of the best. Steps behind
   the last validation get one of their own. */
static void train_finish(training *r) {
  const syn_train_state *s = syn_trainer_state(r->t);
  int kept = 0;
  train_checkpoint(r);
  if (r->config.average) {
    if (s->step % r->config.every != 0) {
      syn_trainer_validate(r->t, r->valid);
      check(&r->c);
      train_show(r, seconds(), 1);
    }
    kept = syn_trainer_average(r->t);
  }
  if (r->terminal && !r->json) fputc('\n', stderr);
  if (syn_model_save(&r->c, r->m, r->output)) fail(FAILED_JOB, "%s", r->c.message);
  if (stopped_by) fail(FAILED_JOB, "stopped at step %ld; %s is written", s->step, r->output);
  if (r->json) return;
  fprintf(stderr, "step %ld, epoch %ld: %s is written", s->step, s->epoch + 1, r->output);
  if (r->valid) fprintf(stderr, ", best validation loss %.4f", (double)s->best);
  if (kept > 1) fprintf(stderr, ", mean of %d checkpoints", kept);
  fputc('\n', stderr);
}

static size_t parameters_of(const syn_model *m) {
  size_t i, sum = 0;
  for (i = 0; i < syn_model_param_count(m); i++) sum += syn_model_param(m, i)->size;
  return sum;
}

/* What is trained on what, in one line. */
static void train_headline(const training *r) {
  static const char *const rows[] = {"pairs", "windows", "texts", "texts"};
  const char *what = r->corrupt ? "texts" : rows[r->of];
  const syn_config *k = syn_model_config(r->m);
  if (r->json) return;
  fprintf(stderr, "%lu %s, vocabulary %d, ", (unsigned long)syn_data_count(r->data), what,
          r->of < CLASSIFY ? k->tgt_vocab : k->src_vocab);
  if (r->of >= CLASSIFY) fprintf(stderr, "%d classes, ", k->classes);
  fprintf(stderr, "%lu parameters, ", (unsigned long)parameters_of(r->m));
  if (r->config.steps < LONG_MAX) fprintf(stderr, "%ld steps\n", r->config.steps);
  else fprintf(stderr, "%g minutes\n", r->minutes);
}

/* Tokens of a source with its end, in the mean: classify counts labels, its speed is in tokens. */
static double tokens_per_label(const training *r) {
  double sum = 0.0, rows = (double)syn_data_count(r->data);
  size_t i;
  int n;
  for (i = 0; i < syn_data_count(r->data); i++) {
    syn_data_row(r->data, i, SYN_SRC, &n);
    sum += (double)n + 1.0;
  }
  return r->of == CLASSIFY ? sum / rows : 1.0;
}

/* Model and trainer, when the data are there. */
static void train_make(training *r, network *n) {
  n->config.src_vocab = r->tokenizer[0] ? syn_tokenizer_size(r->tokenizer[0]) : 0;
  n->config.tgt_vocab = syn_tokenizer_size(r->tokenizer[1]);
  n->config.classes = n->config.tgt_vocab - task_shift(r->of);
  r->m = syn_model_new(&r->c, &n->config);
  check_use(&r->c);
  syn_model_set_tokenizers(r->m, r->tokenizer[0], r->tokenizer[1]);
  init_weights(r);
  train_configure(r);
  r->t = syn_trainer_new(&r->c, r->m, &r->config);
  check_use(&r->c);
  r->per_label = tokens_per_label(r);
  train_headline(r);
}

static int run_train(const arguments *a) {
  training r;
  network n;
  memset(&r, 0, sizeof r);
  r.begin = r.shown = seconds();
  r.a = a;
  r.output = opt_text(a, "output");
  r.checkpoint = *opt_text(a, "checkpoint") ? opt_text(a, "checkpoint") : NULL;
  r.json = opt_flag(a, "json");
  r.terminal = is_terminal(2) && !r.json;
  r.minutes = opt_number(a, "minutes");
  train_check(a);
  context_open(&r.c, a);
  n = train_network(&r);
  if (r.corrupt) train_read_lines(&r);
  else if (r.of == LM) train_read_text(&r);
  else train_read_pairs(&r);
  train_make(&r, &n);
  if (opt_flag(a, "resume")) train_resume(&r);
  signal(SIGINT, on_stop);
  signal(SIGTERM, on_stop);
  syn_trainer_run(r.t, r.data, r.valid, train_report, &r);
  if (syn_trainer_state(r.t)->diverged)
    fail(FAILED_JOB, "%s: a smaller --lr, a longer --warmup or --clip 1 may help", r.c.message);
  check(&r.c);
  train_finish(&r);
  syn_trainer_free(r.t);
  syn_model_free(r.m);
  syn_data_free(r.data);
  syn_data_free(r.valid);
  network_free(&n);
  return r.lost ? FAILED_JOB : 0;
}

/* ==============================================================================================
   >>tool run   one output line per input line
   ============================================================================================== */

/* Lines are read ahead, and those of like length decoded together; the order of the output is that
   of the input. Line ends inside an output become spaces, so that a line stays a line. */

/* One line of input and all that is printed for it. */
typedef struct job {
  size_t line;  /* from 1 */
  int *ids;     /* [count] tokens of the input */
  int count, skip; /* skip: nothing is decoded, the output stays empty */
  buffer out;
} job;

typedef struct runner {
  syn_context *c;
  const syn_model *m;
  syn_decoder *d;  /* seq2seq, lm */
  syn_run *run;    /* classify, tag */
  const syn_tokenizer *in, *out;
  task of;
  int lm, json, terminal, stream, batch;
  int rows;        /* tokens together in a batch of `run` */
  int most; /* tokens of an input, its end or begin counted */
  uint64_t seed;
  syn_decode_config config;
  encoder e;
  int first;   /* stream: the next token is the first of its line */
  int refused; /* tokens of a line that was too long, 0: there was none */
} runner;

/* As many sentences at a time as 512 MB hold. */
static void runner_batch(runner *r) {
  syn_plan plan;
  for (;; r->batch /= 2) {
    r->config.sentences = r->batch;
    syn_plan_of(r->c, syn_model_config(r->m), NULL, &r->config, &plan);
    check_use(r->c);
    if (r->batch == 1 || plan.decoding <= (size_t)512 << 20) return;
  }
}

/* The rows of DECODE_OPTIONS; sampling only where the command has the options. */
static void runner_open(runner *r, syn_context *c, const syn_model *m, const arguments *a) {
  memset(r, 0, sizeof *r);
  r->c = c;
  r->m = m;
  r->of = task_of(syn_model_config(m)->task);
  r->lm = r->of == LM;
  r->out = syn_model_tokenizer(m, SYN_TGT);
  r->in = r->lm ? r->out : syn_model_tokenizer(m, SYN_SRC);
  if (!r->in || !r->out)
    fail(FAILED_JOB, "%s has no tokenizer, so it cannot read text", opt_text(a, "model"));
  r->config.beam = opt_int(a, "beam");
  r->config.alpha = (float)opt_number(a, "alpha");
  if (r->config.alpha <= 0.0f) r->config.alpha = -1.0f; /* the library's 0 is its default */
  r->config.max_len = opt_int(a, "max-len");
  r->most = syn_model_config(m)->max_len;
  if (r->config.max_len > r->most) /* no more than the model can */
    fail(WRONG_USE, "%s --max-len wants at most %d, the model's, given: %d", a->command->name,
         r->most, r->config.max_len);
  if (r->lm && r->config.max_len) r->most = r->config.max_len;
  r->batch = opt_int(a, "batch");
  r->config.best = 1;
}

/* Classes need no decoder: one pass over some sentences of like length gives all their logits. */
static void runner_ready(runner *r) {
  syn_limits limits;
  memset(&limits, 0, sizeof limits);
  if (r->of >= CLASSIFY) {
    limits.sentences = r->batch;
    limits.src_rows = r->rows = r->most < 1024 ? 1024 : r->most;
    r->run = syn_run_new(r->c, r->m, &limits);
    check_use(r->c);
    return;
  }
  runner_batch(r);
  r->d = syn_decoder_new(r->c, r->m, &r->config);
  check_use(r->c);
}

static void runner_close(runner *r) {
  syn_decoder_free(r->d);
  syn_run_free(r->run);
  free(r->e.ids);
}

/* -- output -- */

/* Line ends become spaces. */
static void put_line_text(buffer *b, const char *at, size_t size) {
  size_t i, from = b->size;
  put(b, at, size);
  for (i = from; i < b->size; i++)
    if (b->at[i] == '\n' || b->at[i] == '\r') b->at[i] = ' ';
}

/* A JSON string; bytes that are not UTF-8 become U+FFFD. */
static void put_json(buffer *b, syn_text t) {
  char escape[8];
  uint32_t code;
  size_t i, size;
  put_byte(b, '"');
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (code > 0x10FFFF) put(b, "\xEF\xBF\xBD", 3);
    else if (code == '"' || code == '\\') put_byte(b, '\\'), put_byte(b, (char)code);
    else if (code < 0x20) {
      snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code);
      put(b, escape, 6);
    } else put(b, t.at + i, size);
  }
  put_byte(b, '"');
}

/* One hypothesis as a line: the text; with --nbest line TAB score TAB text; with --json an object.
   */
static void put_hypothesis(const runner *r, job *j, int rank, syn_text text, float score) {
  char head[80];
  int several = r->config.best > 1;
  if (r->json) snprintf(head, sizeof head, "{\"line\":%lu,\"rank\":%d,\"score\":%.6f,\"text\":",
                        (unsigned long)j->line, rank + 1, (double)score);
  else snprintf(head, sizeof head, "%lu\t%.6f\t", (unsigned long)j->line, (double)score);
  if (r->json || several) put(&j->out, head, strlen(head));
  if (r->json) put_json(&j->out, text), put_byte(&j->out, '}');
  else put_line_text(&j->out, text.at, text.size);
  put_byte(&j->out, '\n');
}

static buffer decode_tokens(const syn_tokenizer *t, const int *ids, int count) {
  buffer text = {NULL, 0, 0};
  text.size = syn_tokenizer_decode(t, ids, count, NULL, 0);
  text.at = (char *)take(text.size + 1, 1);
  syn_tokenizer_decode(t, ids, count, text.at, text.size + 1);
  return text;
}

/* The tokens behind those that were given, as text. */
static void put_output(const runner *r, job *j, int sentence) {
  int rank, size, given = r->lm ? j->count : 0;
  float score;
  for (rank = 0; rank < r->config.best; rank++) {
    const int *ids = syn_decoder_output(r->d, sentence, rank, &size, &score);
    buffer text;
    if (!ids) break;
    if (given > size) given = size;
    text = decode_tokens(r->out, ids + given, size - given);
    put_hypothesis(r, j, rank, buffer_text(&text), score);
    free(text.at);
  }
}

/* Prints tokens as they come. */
static int stream_token(void *user, int sentence, int token) {
  runner *r = (runner *)user;
  syn_text piece = syn_tokenizer_piece(r->out, token, r->first);
  buffer b = {NULL, 0, 0};
  SYN__UNUSED(sentence);
  r->first = 0;
  if (r->terminal) put(&b, piece.at, piece.size);
  else put_line_text(&b, piece.at, piece.size);
  fwrite(b.at, 1, b.size, stdout);
  fflush(stdout);
  free(b.at);
  return 0;
}

/* -- decoding -- */

/* Sources with their end; lm: the begin with the line behind it. */
static void decode_group(runner *r, job *const *group, int n) {
  int width = group[n - 1]->count + 1, i;
  int *ids = (int *)take((size_t)n * (size_t)width, sizeof *ids);
  uint64_t *seeds = (uint64_t *)take((size_t)n, sizeof *seeds);
  syn_batch b;
  memset(&b, 0, sizeof b);
  for (i = 0; i < n; i++) {
    int *row = ids + (size_t)i * (size_t)width, count = group[i]->count;
    syn_random random;
    memcpy(row + r->lm, group[i]->ids, (size_t)count * sizeof *row);
    row[r->lm ? 0 : count] = r->lm ? SYN_BEGIN : SYN_END;
    random.state = r->seed + (uint64_t)group[i]->line;
    seeds[i] = syn_random_next(&random); /* a line's chance does not depend on its neighbours */
  }
  b.count = n;
  if (r->lm) b.tgt = ids, b.tgt_width = width;
  else b.src = ids, b.src_width = width;
  r->first = 1;
  syn_decoder_set_seeds(r->d, seeds);
  syn_decoder_run(r->d, &b, r->stream ? stream_token : NULL, r);
  check(r->c);
  for (i = 0; i < n && !r->stream; i++) put_output(r, group[i], i);
  syn_decoder_set_seeds(r->d, NULL);
  if (r->stream) put_byte(&group[0]->out, '\n');
  free(ids);
  free(seeds);
}

/* The classes of one sentence as text; with --nbest as many classes, of tag the best alone. The
   score is the log of the probability, for tag the sum over the tokens. */
static void put_classes(const runner *r, job *j, int sentence) {
  int rank, rows = r->of == TAG ? j->count : 1, i;
  int *ids = (int *)take((size_t)rows, sizeof *ids);
  for (rank = 0; rank < r->config.best; rank++) {
    buffer text;
    double score = 0.0;
    float p;
    for (i = 0; i < rows; i++) {
      ids[i] = syn_run_class(r->run, sentence, i, rank, &p) + task_shift(r->of);
      score += log(p > 0.0f ? (double)p : 1e-45); /* below the least float; not -infinity */
    }
    if (ids[0] < SYN_FIRST_TOKEN) break; /* fewer classes than were asked for */
    text = decode_tokens(r->out, ids, rows);
    put_hypothesis(r, j, rank, buffer_text(&text), (float)score);
    free(text.at);
  }
  free(ids);
}

/* Sources with their end, of tag without. */
static void classify_group(runner *r, job *const *group, int n) {
  int width = group[n - 1]->count + (r->of != TAG), i;
  int *ids = (int *)take((size_t)n * (size_t)width, sizeof *ids);
  syn_batch b;
  memset(&b, 0, sizeof b);
  for (i = 0; i < n; i++) {
    int *row = ids + (size_t)i * (size_t)width;
    memcpy(row, group[i]->ids, (size_t)group[i]->count * sizeof *row);
    if (r->of != TAG) row[group[i]->count] = SYN_END;
  }
  b.count = n;
  b.src = ids;
  b.src_width = width;
  syn_run_forward(r->run, &b);
  check(r->c);
  for (i = 0; i < n; i++) put_classes(r, group[i], i);
  free(ids);
}

static int job_order(const void *a, const void *b) {
  const job *x = *(job *const *)a, *y = *(job *const *)b;
  if (x->count != y->count) return x->count < y->count ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* Whether a sentence may stand in a group that begins at `first` and would then have n of them: lm
   wants beginnings of one length, classify and tag have room for so many tokens. */
static int group_takes(const runner *r, const job *first, const job *next, size_t n) {
  if (n > (size_t)r->batch) return 0;
  if (r->lm) return next->count == first->count;
  return r->of < CLASSIFY || n * ((size_t)next->count + 1) <= (size_t)r->rows;
}

/* Decodes all that are not skipped, in groups of like length. */
static void decode_jobs(runner *r, job *jobs, size_t n) {
  job **sorted = (job **)take(n, sizeof *sorted);
  size_t count = 0, begin, end, i;
  syn_text none = {NULL, 0};
  for (i = 0; i < n; i++)
    if (!jobs[i].skip) sorted[count++] = &jobs[i];
    else put_hypothesis(r, &jobs[i], 0, none, 0.0f);
  qsort(sorted, count, sizeof *sorted, job_order);
  for (begin = 0; begin < count; begin = end) {
    for (end = begin + 1; end < count; end++)
      if (!group_takes(r, sorted[begin], sorted[end], end - begin + 1)) break;
    if (r->of >= CLASSIFY) classify_group(r, sorted + begin, (int)(end - begin));
    else decode_group(r, sorted + begin, (int)(end - begin));
  }
  free(sorted);
}

/* Tokens of a line; 0 when there are more than the model takes. */
static int job_fill(runner *r, job *j, size_t line, syn_text text) {
  memset(j, 0, sizeof *j);
  j->line = line;
  j->count = encode_task(&r->e, r->of, r->in, text);
  if (j->count + (r->of != TAG) > r->most) return 0;
  j->skip = text.size == 0 && !r->lm; /* a language model goes on from nothing, too */
  j->ids = (int *)take((size_t)j->count, sizeof *j->ids);
  memcpy(j->ids, r->e.ids, (size_t)j->count * sizeof *j->ids);
  return 1;
}

static void job_free(job *j) {
  free(j->ids);
  free(j->out.at);
}

/* One line without its end; 0 at the end of the file. */
static int read_line(FILE *f, buffer *b) {
  int c;
  b->size = 0;
  while ((c = getc(f)) != EOF && c != '\n') put_byte(b, (char)c);
  if (b->size && b->at[b->size - 1] == '\r') b->size--;
  return c != EOF || b->size;
}

/* Reads and answers up to `room` lines; returns how many there were. A line that is too long ends
   it, behind the output of those before it. */
static size_t run_chunk(runner *r, FILE *in, job *jobs, size_t room, size_t line) {
  buffer text = {NULL, 0, 0};
  size_t n = 0, i;
  int whole = 1;
  while (n < room && whole && read_line(in, &text)) {
    buffer_reserve(&text, 1);
    whole = job_fill(r, &jobs[n], line + n + 1, buffer_text(&text));
    n += (size_t)whole;
  }
  decode_jobs(r, jobs, n);
  for (i = 0; i < n; i++) fwrite(jobs[i].out.at, 1, jobs[i].out.size, stdout);
  if (fflush(stdout)) fail(FAILED_JOB, "cannot write the results: %s", strerror(errno));
  if (!whole) r->refused = jobs[n].count + (r->of != TAG);
  for (i = 0; i < n; i++) job_free(&jobs[i]);
  free(text.at);
  return n;
}

/* What only `run` has: chance, several outputs, a terminal. */
static void run_configure(runner *r, const arguments *a) {
  r->config.temperature = (float)opt_number(a, "temperature");
  r->config.top_k = opt_int(a, "top-k");
  r->config.top_p = (float)opt_number(a, "top-p");
  if (r->config.temperature > 0.0f) r->config.beam = 1;
  else if (r->config.top_k || r->config.top_p < 1.0f)
    fprintf(stderr, "syn: --top-k and --top-p have no effect without --temperature\n");
  r->config.best = opt_int(a, "nbest");
  if (r->config.best > 1 && r->of == TAG)
    fail(WRONG_USE, "run --nbest %d: tag has one output a line", r->config.best);
  if (r->config.best > r->config.beam && r->of != CLASSIFY)
    fail(WRONG_USE, "run --nbest wants at most as many as the beam has, %d, given: %d",
         r->config.beam, r->config.best);
  r->seed = opt_big(a, "seed");
  r->json = opt_flag(a, "json");
  r->terminal = !a->word_count && is_terminal(0);
  if (r->terminal) r->batch = 1;
  r->stream = r->batch == 1 && r->config.beam == 1 && !r->json && r->of < CLASSIFY;
}

static int run_run(const arguments *a) {
  syn_context c;
  runner r;
  syn_model *m;
  job *jobs;
  size_t line = 0, n, room;
  int from_file = a->word_count && strcmp(a->words[0], "-") != 0;
  FILE *in = from_file ? fopen(a->words[0], "rb") : stdin;
  if (!in) fail(FAILED_JOB, "cannot open %s: %s", a->words[0], strerror(errno));
  context_open(&c, a);
  m = syn_model_load(&c, opt_text(a, "model"));
  check_file(&c, opt_text(a, "model"));
  runner_open(&r, &c, m, a);
  run_configure(&r, a);
  runner_ready(&r);
  room = r.batch == 1 ? 1 : 16 * (size_t)r.batch;
  jobs = (job *)take(room, sizeof *jobs);
  do line += n = run_chunk(&r, in, jobs, room, line);
  while (n && !r.refused);
  if (ferror(in))
    fail(FAILED_JOB, "cannot read %s: %s", from_file ? a->words[0] : "stdin", strerror(errno));
  if (from_file) fclose(in);
  free(jobs);
  runner_close(&r);
  syn_model_free(m);
  if (r.refused)
    fail(FAILED_JOB, "line %lu has %d tokens%s, the model takes %d", (unsigned long)line + 1,
         r.refused, r.lm ? " with its begin" : r.of == TAG ? "" : " with its end", r.most);
  return 0;
}

/* ==============================================================================================
   >>tool eval   metrics of a model on a file
   ============================================================================================== */

/* The metrics that come from the loss, beside those of >>tool metrics. */
typedef struct evaluation {
  const arguments *a;
  syn_context c;
  syn_model *m;
  metric_options options;
  task of;
  pairs p;                  /* all but lm */
  syn_text *hyp;            /* [p.count] outputs, null until they are wanted */
  syn_text *tags[2];        /* tag: [n_tags] outputs and references, tag by tag */
  size_t n_tags;
  job *jobs;
  double loss, per_char;    /* nats per token, per character; loss < 0: not known yet */
  long labels;
} evaluation;

static int is_loss_metric(syn_text name) {
  return text_is(name, "ppl") || text_is(name, "nats") || text_is(name, "nats_char");
}

/* Characters of a text. */
static double count_characters(syn_text t) {
  size_t i = 0, n = 0;
  uint32_t code;
  for (; i < t.size; n++) i += decode(t, i, &code);
  return (double)n;
}

/* Loss of the first alternatives; lm: of windows that slide by half their length. */
static void eval_loss(evaluation *e) {
  const syn_config *k = syn_model_config(e->m);
  int tokens = k->max_len < 2047 ? 2048 : k->max_len + 1, lm = e->of == LM;
  syn_data *d = syn_data_new(&e->c);
  const syn_tokenizer *t[2];
  double characters = 0.0;
  size_t i, left = 0;
  check(&e->c);
  t[0] = syn_model_tokenizer(e->m, SYN_SRC);
  t[1] = syn_model_tokenizer(e->m, SYN_TGT);
  if (lm) {
    buffer text = read_text(opt_text(e->a, "data"));
    characters = count_characters(buffer_text(&text));
    windows_add(&e->c, d, buffer_text(&text), t[1], k->max_len,
                k->max_len > 1 ? k->max_len / 2 : 1);
    free(text.at);
  } else {
    left = pairs_add(&e->c, d, &e->p, t, k->max_len);
    for (i = 0; i < e->p.count; i++) characters += count_characters(first_alternative(&e->p, i));
  }
  if (left)
    fprintf(stderr,
            "syn: %lu of %lu pairs do not fit the model's max_len %d: the loss leaves them out\n",
            (unsigned long)left, (unsigned long)e->p.count, k->max_len);
  syn_model_evaluate(&e->c, e->m, d, tokens, &e->loss, &e->labels);
  check(&e->c);
  e->per_char = characters > 0.0 ? e->loss * (double)e->labels / characters : 0.0;
  syn_data_free(d);
}

/* All sources decoded; one that the model cannot take has an empty output, and counts. */
static void eval_decode(evaluation *e) {
  runner r;
  size_t i, left = 0;
  runner_open(&r, &e->c, e->m, e->a);
  runner_ready(&r);
  e->jobs = (job *)take(e->p.count, sizeof *e->jobs);
  e->hyp = (syn_text *)take(e->p.count, sizeof *e->hyp);
  for (i = 0; i < e->p.count; i++)
    if (!job_fill(&r, &e->jobs[i], i + 1, e->p.side[0][i])) e->jobs[i].skip = 1, left++;
  if (left)
    fprintf(stderr,
            "syn: %lu of %lu sources do not fit the model's max_len %d: their output is empty\n",
            (unsigned long)left, (unsigned long)e->p.count, r.most);
  decode_jobs(&r, e->jobs, e->p.count);
  for (i = 0; i < e->p.count; i++) {
    e->hyp[i] = buffer_text(&e->jobs[i].out);
    e->hyp[i].size--; /* its line end */
  }
  runner_close(&r);
}

/* Every label must be one of the training, and every token have its tag. */
static void eval_labels(evaluation *e) {
  encoder src, tgt;
  size_t i;
  int n;
  memset(&src, 0, sizeof src);
  memset(&tgt, 0, sizeof tgt);
  for (i = 0; i < e->p.count; i++) {
    n = encode_task(&src, e->of, syn_model_tokenizer(e->m, SYN_SRC), e->p.side[0][i]);
    e->n_tags += (size_t)encode_labels(&tgt, &e->p, i, syn_model_tokenizer(e->m, SYN_TGT), n);
  }
  free(src.ids);
  free(tgt.ids);
}

/* The texts of the tags of a line, into `out`; returns how many: `count`, 0: as many as there are.
   A line without an output has `count` empty ones, which are wrong. What was decoded may come back
   in more pieces where tags are no words (bpe): there is no room for those. */
static size_t eval_cut(const evaluation *e, encoder *ids, syn_text line, syn_text *out,
                       size_t count) {
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_TGT);
  size_t n = (size_t)encode(ids, t, line), i;
  if (!count) count = n;
  for (i = 0; i < count; i++)
    out[i] = i < n ? syn_tokenizer_piece(t, ids->ids[i], 1) : text_of("");
  return i;
}

/* Tag by tag: accuracy, f1 and mcc of tag are over tokens, all other metrics over lines. */
static void eval_tags(evaluation *e) {
  encoder ids;
  size_t i, at = 0, n;
  int k;
  memset(&ids, 0, sizeof ids);
  for (k = 0; k < 2; k++) e->tags[k] = (syn_text *)take(e->n_tags, sizeof(syn_text));
  for (i = 0; i < e->p.count; i++, at += n) {
    n = eval_cut(e, &ids, e->p.side[1][i], e->tags[1] + at, 0);
    eval_cut(e, &ids, e->hyp[i], e->tags[0] + at, n);
  }
  free(ids.ids);
}

static void eval_output(evaluation *e, const char *name) {
  int of_tags = e->of == TAG && in_choices("accuracy|f1|mcc", name);
  const syn_text *hyp, *ref;
  size_t n = of_tags ? e->n_tags : e->p.count;
  if (!e->hyp) eval_decode(e);
  if (of_tags && !e->tags[0]) eval_tags(e);
  hyp = of_tags ? e->tags[0] : e->hyp;
  ref = of_tags ? e->tags[1] : e->p.side[1];
  print_metric(name, metric(name, hyp, ref, n, &e->options), n, opt_flag(e->a, "json"));
}

static void eval_metric(evaluation *e, syn_text name) {
  int json = opt_flag(e->a, "json");
  double value;
  if (!is_loss_metric(name)) {
    eval_output(e, metric_find(name)->name);
    return;
  }
  if (e->loss < 0.0) eval_loss(e);
  value = text_is(name, "ppl") ? exp(e->loss) : text_is(name, "nats") ? e->loss : e->per_char;
  if (!(fabs(value) < (double)INFINITY)) /* JSON has no such number */
    fail(FAILED_JOB, "%.*s of %s is %g: its weights are no numbers, or far too large",
         (int)name.size, name.at, opt_text(e->a, "model"), value);
  if (json)
    printf("{\"metric\":\"%.*s\",\"value\":%.6f,\"n\":%ld}\n", (int)name.size, name.at, value,
           e->labels);
  else printf("%.*s %.4f\n", (int)name.size, name.at, value);
}

/* Which metrics, when none are named. */
static const char *eval_default(const evaluation *e) {
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_TGT);
  if (e->of >= CLASSIFY) return "accuracy";
  if (e->of != LM) return "ppl,bleu";
  return t && strcmp(syn_tokenizer_type(t), "char") == 0 ? "nats,nats_char,ppl" : "nats,ppl";
}

static int run_eval(const arguments *a) {
  static const char *const names[] = {"data", "src", "tgt"};
  evaluation e;
  syn_text list, rest, name;
  size_t i;
  int lm;
  memset(&e, 0, sizeof e);
  e.a = a;
  e.loss = -1.0;
  e.options = metric_options_of(a);
  context_open(&e.c, a);
  e.m = syn_model_load(&e.c, opt_text(a, "model"));
  check_file(&e.c, opt_text(a, "model"));
  e.of = task_of(syn_model_config(e.m)->task);
  lm = e.of == LM;
  e.options.literal = e.options.literal || e.of >= CLASSIFY;
  if (!syn_model_tokenizer(e.m, SYN_TGT))
    fail(FAILED_JOB, "%s has no tokenizer", opt_text(a, "model"));
  list = text_of(*opt_text(a, "metric") ? opt_text(a, "metric") : eval_default(&e));
  for (rest = list; next_piece(&rest, ",", &name);)
    if (!is_loss_metric(name) && metric_find(name) && lm)
      fail(WRONG_USE, "eval of a language model has ppl, nats and nats_char, given: %.*s",
           (int)name.size, name.at);
  if (lm) check_one_file(a, "lm");
  if (lm && !*opt_text(a, "data")) fail(WRONG_USE, "eval of a language model wants --data FILE");
  if (!lm && !pairs_read(&e.p, e.of, a, names))
    fail(WRONG_USE, "eval wants --data, or --src and --tgt");
  if (e.of >= CLASSIFY) eval_labels(&e);
  while (next_piece(&list, ",", &name)) eval_metric(&e, name);
  for (i = 0; e.jobs && i < e.p.count; i++) job_free(&e.jobs[i]);
  free(e.jobs);
  free(e.hyp);
  free(e.tags[0]);
  free(e.tags[1]);
  pairs_free(&e.p);
  syn_model_free(e.m);
  return 0;
}

/* ==============================================================================================
   >>tool info   parameters, multiply-adds and memory of a network
   ============================================================================================== */

typedef struct description {
  const syn_model *m;
  unsigned char *seen; /* [parameters] counted already: a tied table counts once */
  int length, json, quiet;
  syn_cost sum[2]; /* of encoder and decoder */
} description;

/* A layer's own parameters: those that no earlier layer has. */
static double info_parameters(description *d, const syn_node *n) {
  double sum = 0.0;
  int i;
  for (i = 0; i < n->n_param; i++) {
    if (!d->seen[n->param[i]]) sum += (double)syn_model_param(d->m, (size_t)n->param[i])->size;
    d->seen[n->param[i]] = 1;
  }
  return sum;
}

static void info_row(const description *d, const char *path, const char *kind, const syn_cost *k) {
  if (d->json)
    printf("{\"layer\":\"%s\",\"kind\":\"%s\",\"parameters\":%.0f,\"bytes\":%.0f,"
           "\"multiply_adds\":%.0f,\"decode_bytes\":%.0f}\n", path, kind, k->parameters,
           4.0 * k->parameters, k->multiply_adds, k->decode_bytes);
  else
    printf("%-24s %-14s %12.0f %13.0f %12.0f %13.0f\n", path, kind, k->parameters,
           4.0 * k->parameters, k->multiply_adds, k->decode_bytes);
}

/* Operations without a cost of their own (the sum of a `res`, dropout) are left out. */
static void info_layer(description *d, const syn_node *n) {
  syn_cost k = syn_model_cost(d->m, n, d->length);
  int encodes = strncmp(n->path, "encoder", 7) == 0; /* it runs once and leaves nothing for steps */
  syn_cost *sum = &d->sum[!encodes];
  k.parameters = info_parameters(d, n);
  k.decode_bytes = encodes ? 0.0 : k.decode_bytes + 4.0 * n->source_cache;
  sum->parameters += k.parameters;
  sum->multiply_adds += k.multiply_adds;
  sum->decode_bytes += k.decode_bytes;
  if (!d->quiet && (k.parameters > 0.0 || k.multiply_adds > 0.0 || k.decode_bytes > 0.0))
    info_row(d, n->path, n->kind->name, &k);
}

static void info_layers(description *d) {
  size_t i;
  d->seen = (unsigned char *)take(syn_model_param_count(d->m), 1);
  for (i = 0; i < syn_model_node_count(d->m); i++) info_layer(d, syn_model_node(d->m, i));
  free(d->seen);
}

/* The sums alone. The model may be one without weights. */
static void info_sums(const syn_model *m, int length, syn_cost sum[2]) {
  description d;
  memset(&d, 0, sizeof d);
  d.m = m;
  d.length = length;
  d.quiet = 1;
  info_layers(&d);
  memcpy(sum, d.sum, sizeof d.sum);
}

/* Source and target alike: one token of each. */
static syn_cost info_total(const syn_cost sum[2]) {
  syn_cost total = sum[0];
  total.parameters += sum[1].parameters;
  total.multiply_adds += sum[1].multiply_adds;
  total.decode_bytes += sum[1].decode_bytes;
  return total;
}

static void info_bytes(const description *d, const char *name, const char *what, size_t bytes) {
  if (d->json) printf("{\"memory\":\"%s\",\"bytes\":%lu}\n", name, (unsigned long)bytes);
  else printf("%-12s %10.2f MB  %s\n", name, (double)bytes / 1048576.0, what);
}

/* Bytes that are known before anything is allocated. */
static void info_plan(const description *d, syn_context *c, const arguments *a) {
  syn_train_config train;
  syn_decode_config decode_as;
  syn_plan plan;
  char what[100];
  memset(&train, 0, sizeof train);
  memset(&decode_as, 0, sizeof decode_as);
  train.batch_tokens = opt_int(a, "batch");
  decode_as.beam = opt_int(a, "beam");
  syn_plan_of(c, syn_model_config(d->m), &train, &decode_as, &plan);
  check_use(c);
  info_bytes(d, "weights", "float32", plan.weights);
  info_bytes(d, "training", "gradients and moments, beside the weights", plan.training);
  snprintf(what, sizeof what, "of one training step with --batch %d", opt_int(a, "batch"));
  info_bytes(d, "activations", what, plan.activations);
  snprintf(what, sizeof what, "one sentence with --beam %d", opt_int(a, "beam"));
  if (plan.decoding) info_bytes(d, "decoding", what, plan.decoding);
}

static void info_facts(const description *d) {
  const syn_config *k = syn_model_config(d->m);
  int reads = strcmp(k->task, "lm") != 0;
  int writes = !reads || strcmp(k->task, "seq2seq") == 0;
  if (d->json) return;
  printf("task %s, d_model %d, heads %d, max_len %d", k->task, k->d_model, k->heads, k->max_len);
  if (reads) printf(", src_vocab %d", k->src_vocab);
  if (writes) printf(", tgt_vocab %d", k->tgt_vocab);
  else printf(", classes %d", k->classes);
  printf(", tie %s\n", k->tie);
  if (reads) printf("encoder %s\n", k->encoder);
  if (writes) printf("decoder %s\n", k->decoder);
  printf("\n%-24s %-14s %12s %13s %12s %13s\n", "layer", "kind", "parameters", "bytes", "mult-adds",
         "decode bytes");
}

/* A file says its network itself. */
static void info_alone(const arguments *a) {
  static const char *const names[] = {"preset", "task", "encoder", "decoder", "var", "tie",
                                      "d-model", "heads", "max-len", "src-vocab", "tgt-vocab",
                                      "classes"};
  size_t i;
  for (i = 0; i < SYN__COUNT(names); i++)
    if (opt_given(a, names[i]))
      fail(WRONG_USE, "info wants either --model or the options of a network, given: both, --%s",
           names[i]);
}

/* The model of a file, or that of the options without the numbers of its weights: a network of
   gigabytes is described at once, on any machine. */
static syn_model *info_model(syn_context *c, const arguments *a) {
  const char *path = opt_text(a, "model");
  network n;
  syn_model *m;
  if (*path) {
    info_alone(a);
    m = syn_model_load(c, path);
    check_file(c, path);
    return m;
  }
  n = network_of(a);
  n.config.src_vocab = opt_int(a, "src-vocab");
  n.config.tgt_vocab = opt_int(a, "tgt-vocab");
  n.config.classes = opt_int(a, "classes");
  m = syn__model_shell(c, &n.config);
  check_use(c);
  network_free(&n);
  return m;
}

static int run_info(const arguments *a) {
  syn_context c;
  description d;
  syn_model *m;
  syn_cost total;
  context_open(&c, a);
  m = info_model(&c, a);
  memset(&d, 0, sizeof d);
  d.m = m;
  d.json = opt_flag(a, "json");
  d.length = opt_int(a, "length") ? opt_int(a, "length") : syn_model_config(m)->max_len;
  info_facts(&d);
  info_layers(&d);
  total = info_total(d.sum);
  if (d.sum[0].parameters > 0.0) info_row(&d, "encoder", "total", &d.sum[0]);
  if (d.sum[0].parameters > 0.0) info_row(&d, "decoder", "total", &d.sum[1]);
  info_row(&d, "all", "total", &total);
  if (!d.json)
    printf("mult-adds: per token of sentences of %d, source and target; decode bytes: kept per\n"
           "token decoded, by attention to the source per token of the source\n\n", d.length);
  info_plan(&d, &c, a);
  syn_model_free(m);
  return 0;
}

/* ==============================================================================================
   >>tool presets   the networks of the papers, by name
   ============================================================================================== */

/* A preset is nothing but options: those of its row stand before all that was given, so that any
   of them can be given again and wins. Sizes are those of the source where it names them, else
   those of the base Transformer. Norms stand before the layers (res_nd), as in the later programs
   of the same authors, though the first paper has them behind. */

typedef struct preset {
  const char *name, *task, *encoder, *decoder; /* null: the task has none */
  const char *d_model, *heads, *max_len, *vocabulary, *tie;
  const char *source, *what;
} preset;

/* Values of $FF_NUM_HIDDEN and $NUM_HIDDEN in the texts of Domhan 2018. */
static const char *const preset_vars[] = {"FF_NUM_HIDDEN=2048", "NUM_HIDDEN=512"};

#define READS(att) "pos->repeat(6,res_nd(" att ")->res_nd(ffl))->norm"
#define WRITES(att) "pos->repeat(6,res_nd(" att ")->res_nd(mh_dot_att)->res_nd(ffl))->norm"
#define SIZE_BASE "512", "8", "256", "37000", "all"
#define SIZE_BIG "1024", "16", "256", "37000", "all"
#define SYNTHESIZER(name, att, what) \
  {name, "seq2seq", READS(att), WRITES(att), SIZE_BASE, "Tay et al. 2021, translation", what}

/* c = 128: the published code has 8 heads of 128 for every Synthesizer, and 12 of 64, as T5-base
   has them everywhere, in the attention to the source. That gives the sizes of its table. */
#define T5_READS(att) \
  "dropout->rel_pos->repeat(12,res(rms_norm->" att ")->res(rms_norm->ffl))->rms_norm->dropout"
#define T5_WRITES(att) \
  "dropout->rel_pos->repeat(12,res(rms_norm->" att ")->res(rms_norm->mh_dot_att(12))" \
  "->res(rms_norm->ffl))->rms_norm->dropout"
#define T5(name, att, heads, source, what) \
  {name, "seq2seq", T5_READS(att), T5_WRITES(att), "768", heads, "512", "32128", "all", source, \
   what}
#define T5_SYNTHESIZER(name, att, what) \
  T5(name, att, "8", "Tay et al. 2021, C4 table", what)

#define CONV_BLOCK(conv) "res_nd(" conv ")->res_nd(ffl)"
#define CONV_WRITES(conv) "res_nd(" conv ")->res_nd(mh_dot_att)->res_nd(ffl)"
#define CONVS(name, conv, what) \
  {name, "seq2seq", \
   "pos->" CONV_BLOCK(conv "(3)") "->" CONV_BLOCK(conv "(7)") "->" CONV_BLOCK(conv "(15)") \
   "->repeat(4," CONV_BLOCK(conv "(31)") ")->norm", \
   "pos->" CONV_WRITES(conv "(3)") "->" CONV_WRITES(conv "(7)") "->" CONV_WRITES(conv "(15)") \
   "->repeat(3," CONV_WRITES(conv "(31)") ")->norm", SIZE_BIG, "Wu et al. 2019, WMT English to German", what}

#define AOP(name, att, what) \
  {name, "seq2seq", "pos->repeat(6,res_nd(mh_dot_self_att)->res_nd(" att "))->norm", \
   "pos->repeat(6,res_nd(mh_dot_self_att)->res_nd(mh_dot_att)->res_nd(" att "))->norm", SIZE_BASE, \
   "Vaswani et al. 2017, appendix of the first arXiv versions", what}

/* The strings of Domhan 2018 as they are published. */
#define DOMHAN_FF "->res(norm->ff($FF_NUM_HIDDEN)->linear)"
#define DOMHAN_CNN "cnn($NUM_HIDDEN,3,relu)"
#define DOMHAN_SELF "pos->repeat(6,res(norm->mh_dot_self_att)" DOMHAN_FF ")->norm"
#define DOMHAN_BIRNN "pos->res(norm->birnn->dropout)"
#define DOMHAN_RNN_FF \
  DOMHAN_BIRNN DOMHAN_FF "->repeat(5,res(norm->rnn->dropout)" DOMHAN_FF ")->norm"
#define DOMHAN_RNN_NORM DOMHAN_BIRNN "->repeat(5,res(norm->rnn->dropout))->norm"
#define DOMHAN_CNN_FF "pos->repeat(6,res(norm->" DOMHAN_CNN ")" DOMHAN_FF ")->norm"
#define DOMHAN_WRITES(layer) \
  "pos->repeat(6,res(norm->" layer ")->res(norm->mh_dot_att)" DOMHAN_FF ")->norm"
#define DOMHAN_BLOCK(layer) "res(norm->" layer ")->res(norm->mh_dot_att)" DOMHAN_FF
#define DOMHAN(name, reads, writes, where, what) \
  {name, "seq2seq", reads, writes, "512", "8", "128", "32000", "auto", "Domhan 2018, " where, what}

static const preset presets[] = {
    {"transformer", "seq2seq", READS("mh_dot_self_att"), WRITES("mh_dot_self_att"), SIZE_BASE,
     "Vaswani et al. 2017, table 3, base", "attention by queries and keys"},
    {"transformer-big", "seq2seq", READS("mh_dot_self_att"), WRITES("mh_dot_self_att"), SIZE_BIG,
     "Vaswani et al. 2017, table 3, big", "the same, wider"},
    SYNTHESIZER("synthesizer-r", "syn_att(R)", "a learned matrix per head"),
    SYNTHESIZER("synthesizer-fix", "syn_att(Fix)", "a random matrix that is never trained"),
    SYNTHESIZER("synthesizer-fr", "syn_att(FR)", "a learned matrix of rank 8"),
    SYNTHESIZER("synthesizer-d", "syn_att(D)", "scores from each token alone"),
    SYNTHESIZER("synthesizer-fd", "syn_att(FD)", "the same, factorized"),
    SYNTHESIZER("synthesizer-r+d", "syn_att(R+D)", "mixture"),
    SYNTHESIZER("synthesizer-r+v", "syn_att(R+V)", "mixture with queries and keys"),
    SYNTHESIZER("synthesizer-d+v", "syn_att(D+V)", "mixture with queries and keys"),
    T5("t5", "mh_dot_self_att", "12", "Raffel et al. 2020, base", "relative positions, rms norm"),
    T5_SYNTHESIZER("t5-synthesizer-r", "syn_att(R,c=128)", "paper: 254 M"),
    T5_SYNTHESIZER("t5-synthesizer-r+v", "syn_att(R+V,c=128)", "paper: 292 M"),
    T5_SYNTHESIZER("t5-synthesizer-d", "syn_att(D,c=128,shared=1)", "paper: 224 M"),
    T5_SYNTHESIZER("t5-synthesizer-d+v", "syn_att(D+V,c=128,shared=1)", "paper: 243 M"),
    {"gpt", "lm", NULL,
     "learn_pos->repeat(12,res_nd(syn_att(V))->res_nd(ffl(act=gelu)))->norm", "768", "12", "1024",
     "50257", "out", "Radford et al. 2019, 124 M", "language model"},
    {"universal", "seq2seq", "universal(6,res_nd(mh_dot_self_att)->res_nd(ffl))->norm",
     "universal(6,res_nd(mh_dot_self_att)->res_nd(mh_dot_att)->res_nd(ffl))->norm", SIZE_BIG,
     "Dehghani et al. 2019, base", "one block, six times"},
    CONVS("light-conv", "light_conv", "one softmax of taps per head"),
    CONVS("dyn-conv", "dyn_conv", "taps made from each token"),
    {"linformer", "classify",
     "learn_pos->repeat(12,res_nd(linformer(k=128))->res_nd(ffl(act=gelu)))->norm", NULL, "768",
     "12", "512", "50265", "auto", "Wang et al. 2020", "keys and values of length 128"},
    {"fixed-encoder", "seq2seq", READS("fixed_att"), WRITES("mh_dot_self_att"), SIZE_BASE,
     "Raganato et al. 2020", "seven fixed heads and one learned one read"},
    AOP("aop1", "aop(8,1536,64,64)", "attention over parameters for the feed-forward layers"),
    AOP("aop2", "aop(16,512,64,64)", "the same, more heads of fewer keys"),
    DOMHAN("rnmt",
           "dropout->birnn->repeat(5,res_d(rnn))",
           "input_feed->linear($NUM_HIDDEN)->dropout->repeat(6,res_d(rnn))->concat(id|mlp_att)"
           "->ff($NUM_HIDDEN)", "RNMT", "recurrent, input feeding"),
    DOMHAN("convs2s", "pos->repeat(6,res(cnn))",
           "pos->repeat(6,res(dropout->cnn->dropout->res(dot_src_att(s=1))))",
           "ConvS2S; Gehring et al. 2017", "convolutions"),
    DOMHAN("domhan-transformer", DOMHAN_SELF, DOMHAN_WRITES("mh_dot_self_att"), "tables 3 to 5",
           "Transformer"),
    DOMHAN("domhan-increasing", DOMHAN_SELF,
           "pos->repeat(6,res(norm->mh_dot_self_att)->res(norm->mh_dot_att(source=increasing))"
           DOMHAN_FF ")->norm", "table 2", "block i of the encoder for block i of the decoder"),
    DOMHAN("domhan-decreasing", DOMHAN_SELF,
           "pos->repeat(6,res(norm->mh_dot_self_att)->res(norm->mh_dot_att(source=decreasing))"
           DOMHAN_FF ")->norm", "table 2", "the other way round"),
    DOMHAN("domhan-rnn", "dropout->res(birnn->dropout)->repeat(5,res(rnn->dropout))",
           "dropout->repeat(6,res(rnn->dropout))->res(mh_dot_att(heads=1))"
           "->res(ff($FF_NUM_HIDDEN)->linear)", "table 3", "RNN"),
    DOMHAN("domhan-rnn-norm", DOMHAN_RNN_NORM,
           "pos->repeat(6,res(norm->rnn->dropout))->res(norm->mh_dot_att)" DOMHAN_FF "->norm",
           "table 3", "RNN + norm"),
    DOMHAN("domhan-rnn-multi-att", DOMHAN_RNN_NORM,
           "pos->repeat(6,res(norm->rnn->dropout)->res(norm->mh_dot_att))" DOMHAN_FF "->norm",
           "table 3", "RNN / multi-att"),
    DOMHAN("domhan-rnn-ff", DOMHAN_RNN_FF, DOMHAN_WRITES("rnn->dropout"), "tables 3 and 5",
           "RNN + ff; RNN / RNN"),
    DOMHAN("domhan-cnn-glu", "pos->repeat(6,res(cnn))",
           "pos->repeat(6,res(cnn->res(mh_dot_att(heads=1))))", "table 4", "CNN GLU"),
    DOMHAN("domhan-cnn-glu-ff", "pos->repeat(6,res(norm->cnn)" DOMHAN_FF ")->norm",
           DOMHAN_WRITES("cnn"), "table 4", "CNN GLU + ff"),
    DOMHAN("domhan-cnn-relu", "pos->repeat(6,res(" DOMHAN_CNN "))",
           "pos->repeat(6,res(" DOMHAN_CNN ")->res(mh_dot_att(heads=1)))", "table 4", "CNN ReLU"),
    DOMHAN("domhan-cnn-relu-ff", DOMHAN_CNN_FF, DOMHAN_WRITES(DOMHAN_CNN), "tables 4 and 5",
           "CNN ReLU + ff; CNN / CNN"),
    DOMHAN("domhan-self-rnn", DOMHAN_SELF, DOMHAN_WRITES("rnn->dropout"), "table 5",
           "self-att / RNN"),
    DOMHAN("domhan-self-cnn", DOMHAN_SELF, DOMHAN_WRITES(DOMHAN_CNN), "table 5", "self-att / CNN"),
    DOMHAN("domhan-rnn-self", DOMHAN_RNN_FF, DOMHAN_WRITES("mh_dot_self_att"), "table 5",
           "RNN / self-att"),
    DOMHAN("domhan-cnn-self", DOMHAN_CNN_FF, DOMHAN_WRITES("mh_dot_self_att"), "table 5",
           "CNN / self-att"),
    DOMHAN("domhan-self-combined", DOMHAN_SELF,
           "pos->repeat(2," DOMHAN_BLOCK("mh_dot_self_att") "->" DOMHAN_BLOCK("rnn->dropout") "->"
           DOMHAN_BLOCK(DOMHAN_CNN) ")->norm", "table 5", "self-att / combined"),
    DOMHAN("domhan-self-none", DOMHAN_SELF,
           "pos->repeat(6,res(norm->mh_dot_att)" DOMHAN_FF ")->norm", "table 5", "self-att / none"),
};

/* Ends the program, with the nearest name, when there is no such preset. */
static const preset *preset_find(const char *name) {
  nearest near = {NULL, 0};
  size_t i;
  for (i = 0; i < SYN__COUNT(presets); i++) {
    if (strcmp(name, presets[i].name) == 0) return &presets[i];
    nearest_try(&near, text_of(name), presets[i].name);
  }
  fail(WRONG_USE, "no preset %.60s; the nearest is %s (syn presets lists all)", name, near.name);
  return NULL;
}

/* Puts a value in the list of what was given, at the place *at; a command without the option, and
   a network without the value, go without. */
static void preset_give(arguments *a, int *at, const char *name, const char *value) {
  const option *o = a->command->options;
  while (o->name && strcmp(o->name, name) != 0) o++;
  if (!o->name || !value) return;
  a->given[*at].of = o;
  a->given[(*at)++].value = value;
}

/* What --preset stands for goes before what was given, of which the last holds; but of --var the
   first holds. A gradient check keeps its own small sizes: those of the papers would take hours. */
static void preset_apply(arguments *a) {
  const char *name = NULL;
  const preset *p;
  given_option *own = a->given;
  int n = a->given_count, at = 0, i, sizes = strcmp(a->command->name, "grad") != 0;
  for (i = 0; i < n; i++)
    if (strcmp(own[i].of->name, "preset") == 0) name = own[i].value;
  if (!name || !*name) return;
  p = preset_find(name);
  a->given = (given_option *)take((size_t)n + 12, sizeof *own);
  preset_give(a, &at, "task", p->task);
  preset_give(a, &at, "encoder", p->encoder);
  preset_give(a, &at, "decoder", p->decoder);
  preset_give(a, &at, "d-model", sizes ? p->d_model : NULL);
  preset_give(a, &at, "heads", sizes ? p->heads : NULL);
  preset_give(a, &at, "max-len", sizes ? p->max_len : NULL);
  preset_give(a, &at, "tie", p->tie);
  preset_give(a, &at, "src-vocab", sizes ? p->vocabulary : NULL);
  preset_give(a, &at, "tgt-vocab", sizes ? p->vocabulary : NULL);
  for (i = 0; i < n; i++) a->given[at++] = own[i];
  for (i = 0; i < (int)SYN__COUNT(preset_vars); i++) preset_give(a, &at, "var", preset_vars[i]);
  a->given_count = at;
  free(own);
}

/* Its configuration, as the options would make it. `vars` [2] is filled and referred to. */
static syn_config preset_config(const preset *p, syn_var *vars) {
  static const char *const names[] = {"FF_NUM_HIDDEN", "NUM_HIDDEN"};
  syn_config k;
  int i;
  memset(&k, 0, sizeof k);
  k.task = p->task;
  k.encoder = p->encoder;
  k.decoder = p->decoder;
  parse_int(p->d_model, &k.d_model);
  parse_int(p->heads, &k.heads);
  parse_int(p->max_len, &k.max_len);
  parse_int(p->vocabulary, &k.src_vocab);
  k.tgt_vocab = k.src_vocab;
  k.classes = 3;
  k.tie = strcmp(p->tie, "auto") == 0 ? NULL : p->tie;
  for (i = 0; i < 2; i++) {
    vars[i].name = names[i];
    parse_number(strchr(preset_vars[i], '=') + 1, &vars[i].value);
  }
  k.vars = vars;
  k.n_vars = 2;
  return k;
}

static void preset_json(const preset *p, const syn_cost *k, const char *error) {
  printf("{\"preset\":\"%s\",\"task\":\"%s\",\"encoder\":\"%s\",\"decoder\":\"%s\",\"d_model\":%s,"
         "\"heads\":%s,\"max_len\":%s,\"vocabulary\":%s,\"tie\":\"%s\",", p->name, p->task,
         p->encoder ? p->encoder : "", p->decoder ? p->decoder : "", p->d_model, p->heads,
         p->max_len, p->vocabulary, p->tie);
  if (error) printf("\"error\":\"%s\",", error);
  else printf("\"parameters\":%.0f,\"multiply_adds\":%.0f,", k->parameters, k->multiply_adds);
  printf("\"source\":\"%s\",\"what\":\"%s\"}\n", p->source, p->what);
}

static void preset_line(const preset *p, const syn_cost *k, const char *error) {
  printf("%-21s %7s %5s %7s %6s ", p->name, p->d_model, p->heads, p->max_len, p->vocabulary);
  if (error) printf("%s (%s)\n", error, p->source);
  else printf("%12.0f %12.0f  %s: %s\n", k->parameters, k->multiply_adds, p->source, p->what);
}

static void preset_texts(const preset *p) {
  printf("  task %s, tie %s, %s, %s\n", p->task, p->tie, preset_vars[0], preset_vars[1]);
  if (p->encoder) printf("  encoder %s\n", p->encoder);
  if (p->decoder) printf("  decoder %s\n", p->decoder);
}

/* One row; 0: its text has an error, which stands in the place of the numbers. */
static int preset_print(const preset *p, int json, int texts) {
  syn_context c;
  syn_var vars[2];
  syn_config k = preset_config(p, vars);
  syn_cost sum[2], all;
  syn_model *m;
  memset(&all, 0, sizeof all);
  syn_context_init(&c, NULL);
  m = syn__model_shell(&c, &k);
  if (m) {
    info_sums(m, k.max_len, sum);
    all = info_total(sum);
  }
  (json ? preset_json : preset_line)(p, &all, m ? NULL : c.message);
  if (texts && !json) preset_texts(p);
  syn_model_free(m);
  return m != NULL;
}

static int run_presets(const arguments *a) {
  int json = opt_flag(a, "json"), good = 1, i;
  size_t k;
  for (i = 0; i < a->word_count; i++) preset_find(a->words[i]);
  if (!json)
    printf("%-21s %7s %5s %7s %6s %12s %12s\n", "preset", "d_model", "heads", "max_len", "vocab",
           "parameters", "mult-adds");
  for (i = 0; i < a->word_count; i++) good &= preset_print(preset_find(a->words[i]), json, 1);
  for (k = 0; !a->word_count && k < SYN__COUNT(presets); k++)
    good &= preset_print(&presets[k], json, 0);
  if (!json)
    printf("mult-adds: per token of the source and token of the target, sentences of max_len\n");
  return good ? 0 : FAILED_JOB;
}

/* ==============================================================================================
   >>tool grad   gradient check of any network
   ============================================================================================== */

/* Every gradient against differences of the loss in the form
     (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h,
   whose error is h^4 f'''''/30 from the curve and 1.5 d/h from the noise d of f in float32, which
   is measured. A kink of relu within the step spoils a difference: so an element is right when it
   is at one of several steps, and one that fails is tried at four points. A wrong gradient is wrong
   at all of them. */

#define GRAD_SENTENCES 4
#define GRAD_ELEMENTS 20
#define GRAD_POINTS 4
#define GRAD_TOLERANCE 1e-3 /* of the largest gradient, beside what the noise explains */

static const double grad_steps[] = {0.03, 0.01, 0.003, 0.001, 0.0003};

typedef struct gradients {
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_batch batch;
  int *ints;
  syn_random random;
  double noise;        /* d, of the loss */
  double worst;        /* relative error */
  int failed, checked;
} gradients;

/* Mean loss per label. */
static double grad_loss(gradients *g) {
  double sum = 0.0;
  long labels = 0;
  syn_trainer_batch_loss(g->t, &g->batch, &sum, &labels);
  check(&g->c);
  return labels ? sum / (double)labels : 0.0;
}

/* The loss at x + s u; the numbers are put back bit by bit. */
static double grad_at(gradients *g, const syn_param *p, const float *u, double s) {
  float *kept = (float *)take(p->size, sizeof *kept);
  double f;
  size_t i;
  memcpy(kept, p->x, p->size * sizeof *kept);
  for (i = 0; i < p->size; i++) p->x[i] = (float)((double)p->x[i] + s * (double)u[i]);
  f = grad_loss(g);
  memcpy(p->x, kept, p->size * sizeof *kept);
  free(kept);
  return f;
}

static double grad_slope(gradients *g, const syn_param *p, const float *u, double h) {
  return (8.0 * (grad_at(g, p, u, h) - grad_at(g, p, u, -h)) -
          (grad_at(g, p, u, 2.0 * h) - grad_at(g, p, u, -2.0 * h))) / (12.0 * h);
}

/* Whether the gradient along u is right at one step; *error: the smallest difference, relative. */
static int grad_agrees(gradients *g, const syn_param *p, const float *u, double largest,
                       double *error) {
  const float *gradient = syn_trainer_gradient(g->t, p);
  double slope = 0.0, off;
  size_t i, k;
  *error = 1e30;
  for (i = 0; i < p->size; i++) slope += (double)gradient[i] * (double)u[i];
  for (k = 0; k < SYN__COUNT(grad_steps); k++) {
    off = fabs(grad_slope(g, p, u, grad_steps[k]) - slope) / largest;
    if (off < *error) *error = off;
    if (off <= GRAD_TOLERANCE + 3.0 * 1.5 * g->noise / grad_steps[k] / largest) return 1;
  }
  return 0;
}

/* The noise of f: its fourth difference along tiny steps, where the curve itself has none; for
   independent noise d that is sqrt(70) d (Hamming; More and Wild 2011). The mean of 16. */
static double grad_noise(gradients *g) {
  static const double weights[] = {1.0, -4.0, 6.0, -4.0, 1.0};
  double sum = 0.0;
  int i, k;
  for (i = 0; i < 16; i++) {
    const syn_param *p = syn_model_param(g->m, (size_t)syn_random_below(
                                                    &g->random, (int)syn_model_param_count(g->m)));
    float *u = (float *)take(p->size, sizeof *u);
    double difference = 0.0;
    size_t n;
    for (n = 0; n < p->size; n++) u[n] = syn_random_normal(&g->random);
    for (k = 0; k < 5; k++) difference += weights[k] * grad_at(g, p, u, 1e-6 * (double)k);
    sum += difference * difference / 70.0;
    free(u);
  }
  return sqrt(sum / 16.0);
}

/* A failure moves the whole tensor and tries again. */
static int grad_try(gradients *g, const syn_param *p, const float *u, double largest,
                    double *error) {
  float loss;
  size_t i;
  int point;
  for (point = 0; point < GRAD_POINTS; point++) {
    if (grad_agrees(g, p, u, largest, error)) return 1;
    for (i = 0; i < p->size; i++) p->x[i] += 0.02f * syn_random_normal(&g->random);
    syn_trainer_backward(g->t, &g->batch, &loss);
    check(&g->c);
  }
  return 0;
}

/* Elements and one random direction of length 1. Errors are relative to the largest gradient of the
   tensor, or to 1e-3 where all are smaller. */
static void grad_check(gradients *g, const syn_param *p) {
  const float *gradient = syn_trainer_gradient(g->t, p);
  float *u = (float *)take(p->size, sizeof *u);
  int count = p->size < GRAD_ELEMENTS ? (int)p->size : GRAD_ELEMENTS, ok = 1, k;
  double largest = 1e-3, worst = 0.0, length = 0.0, error;
  size_t i;
  for (i = 0; i < p->size; i++)
    if (fabs((double)gradient[i]) > largest) largest = fabs((double)gradient[i]);
  for (k = 0; k <= count; k++) {
    size_t at =
        p->size <= GRAD_ELEMENTS ? (size_t)k : (size_t)syn_random_below(&g->random, (int)p->size);
    for (i = 0; i < p->size; i++)
      u[i] = k < count ? (float)(i == at) : syn_random_normal(&g->random);
    for (length = 0.0, i = 0; i < p->size; i++) length += (double)u[i] * (double)u[i];
    for (i = 0; i < p->size; i++) u[i] = (float)((double)u[i] / sqrt(length));
    ok = grad_try(g, p, u, largest, &error) && ok;
    if (!(error <= worst)) worst = error;
  }
  printf("%-28s %10lu  largest gradient %.2e  error %.2e  %s\n", p->name, (unsigned long)p->size,
         largest, worst, ok ? "ok" : "FAILED");
  g->failed += !ok;
  g->checked++;
  if (!(worst <= g->worst)) g->worst = worst;
  free(u);
}

/* -- a small batch of sentences of different lengths, by chance -- */

static int grad_token(gradients *g, int vocabulary) {
  return vocabulary > SYN_FIRST_TOKEN
             ? SYN_FIRST_TOKEN + syn_random_below(&g->random, vocabulary - SYN_FIRST_TOKEN)
             : SYN_UNKNOWN;
}

static void grad_labels(gradients *g, const syn_config *k, int sentence, int n, int *labels) {
  int i;
  if (strcmp(k->task, "classify") == 0) labels[sentence] = syn_random_below(&g->random, k->classes);
  for (i = 0; strcmp(k->task, "tag") == 0 && i < n; i++)
    labels[sentence * g->batch.src_width + i] = syn_random_below(&g->random, k->classes);
}

/* The first sentence is as long as the batch is wide; one of them has a single token. */
static void grad_batch(gradients *g) {
  const syn_config *k = syn_model_config(g->m);
  int wide = k->max_len < 9 ? k->max_len : 9, i, j, n, *src, *tgt, *labels;
  size_t size = (size_t)GRAD_SENTENCES * (size_t)wide;
  g->ints = src = (int *)take(3 * size, sizeof *src);
  tgt = src + size;
  labels = tgt + size;
  g->batch.count = GRAD_SENTENCES;
  g->batch.src_width = g->batch.tgt_width = wide;
  for (i = 0; i < GRAD_SENTENCES; i++) {
    n = i == 0 ? wide : i == 1 ? 1 : 1 + syn_random_below(&g->random, wide);
    for (j = 0; j < n; j++) src[i * wide + j] = j + 1 < n ? grad_token(g, k->src_vocab) : SYN_END;
    grad_labels(g, k, i, n, labels);
    n = i == 0 ? wide : i == 2 ? 1 : 1 + syn_random_below(&g->random, wide);
    for (j = 0; j < n && k->tgt_vocab; j++) {
      tgt[i * wide + j] = j ? labels[i * wide + j - 1] : SYN_BEGIN;
      labels[i * wide + j] = j + 1 < n ? grad_token(g, k->tgt_vocab) : SYN_END;
    }
  }
  g->batch.src = src;
  g->batch.tgt = tgt;
  g->batch.labels = labels;
}

/* Biases of 0 and gains of 1 would hide errors: everything is moved a little. */
static void grad_model(gradients *g, const arguments *a) {
  network n = network_of(a);
  int decoder = strcmp(n.config.task, "seq2seq") == 0 || strcmp(n.config.task, "lm") == 0;
  size_t i, k;
  n.config.src_vocab = opt_int(a, "src-vocab");
  n.config.tgt_vocab = decoder ? opt_int(a, "tgt-vocab") : 0;
  n.config.classes = opt_int(a, "classes");
  n.config.seed = opt_big(a, "seed");
  g->m = syn_model_new(&g->c, &n.config);
  check_use(&g->c);
  network_free(&n);
  g->random.state = opt_big(a, "seed");
  for (i = 0; i < syn_model_param_count(g->m); i++) {
    const syn_param *p = syn_model_param(g->m, i);
    for (k = 0; k < p->size; k++) p->x[k] += 0.1f * syn_random_normal(&g->random);
  }
}

static int run_grad(const arguments *a) {
  gradients g;
  syn_train_config config;
  float loss;
  size_t i;
  memset(&g, 0, sizeof g);
  memset(&config, 0, sizeof config);
  context_open(&g.c, a);
  grad_model(&g, a);
  grad_batch(&g);
  config.batch_tokens = g.batch.count * g.batch.src_width;
  g.t = syn_trainer_new(&g.c, g.m, &config);
  check(&g.c);
  g.noise = grad_noise(&g);
  syn_trainer_backward(g.t, &g.batch, &loss);
  check(&g.c);
  for (i = 0; i < syn_model_param_count(g.m); i++) {
    const syn_param *p = syn_model_param(g.m, i);
    if (p->trained) grad_check(&g, p);
    else printf("%-28s %10lu  never trained\n", p->name, (unsigned long)p->size);
  }
  printf("loss %.6f, its noise %.1e, worst error %.2e: %d of %d parameters ok\n", (double)loss,
         g.noise, g.worst, g.checked - g.failed, g.checked);
  syn_trainer_free(g.t);
  syn_model_free(g.m);
  free(g.ints);
  return g.failed ? FAILED_JOB : 0;
}

/* ==============================================================================================
   >>tool golden   model files that hold answers of an independent program under test.*
   ============================================================================================== */

typedef struct golden {
  syn_context *c;
  const syn_file *file;
  syn_model *m;
  syn_batch batch;
  uint64_t hash;
  char wrong[500]; /* the first thing that differs, "" while nothing does */
} golden;

/* The first thing that is wrong stays; nothing is computed behind it. */
static void golden_wrong(golden *g, const char *what, double given, double wanted, size_t at) {
  if (!g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%s: element %lu is %.9g, wanted %.9g", what,
             (unsigned long)at, given, wanted);
}
static void golden_lacks(golden *g, const char *name, const char *wanted) {
  if (!g->wrong[0]) snprintf(g->wrong, sizeof g->wrong, "%.80s is not %s", name, wanted);
}

/* Whether the library did what it was asked. */
static int golden_done(golden *g) {
  if (g->c->status != SYN_OK && !g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%s", g->c->message);
  return g->c->status == SYN_OK && !g->wrong[0];
}

/* [rows,columns] numbers of a batch of as many sentences (the first that is read says how many);
   rank 1 where there is one a sentence. */
static const int *golden_ints(golden *g, const char *name, int *columns) {
  const syn_entry *e = syn_file_find(g->file, name);
  *columns = 0;
  if (!e) return NULL;
  if (e->dtype != SYN_I32 || e->rank < 1 || e->rank > 2 || !e->bytes ||
      e->bytes / sizeof(int) > INT_MAX || (uintptr_t)e->data % sizeof(int) ||
      (g->batch.count && e->shape[0] != (size_t)g->batch.count)) {
    golden_lacks(g, name, "I32 [sentences,tokens]");
    return NULL;
  }
  g->batch.count = (int)e->shape[0];
  *columns = e->rank == 2 ? (int)e->shape[1] : 1;
  return (const int *)e->data;
}

/* Null: it is wrong. */
static float *golden_floats(golden *g, const char *name, size_t count) {
  const syn_entry *e = syn_file_find(g->file, name);
  float *x;
  if (!e) golden_lacks(g, name, "there");
  if (!e) return NULL;
  x = (float *)take(count, sizeof *x);
  syn_entry_floats(g->c, e, x, count);
  if (golden_done(g)) return x;
  free(x);
  return NULL;
}

/* The batch of the file: what the task reads, with a label a sentence, or a token of the side that
   has them. */
static int golden_batch(golden *g) {
  const syn_config *k = syn_model_config(g->m);
  task of = task_of(k->task);
  int labels, wanted;
  g->batch.labels = golden_ints(g, "test.labels", &labels);
  g->batch.src = golden_ints(g, "test.src", &g->batch.src_width);
  g->batch.tgt = golden_ints(g, "test.tgt", &g->batch.tgt_width);
  wanted = of == CLASSIFY ? 1 : of == TAG ? g->batch.src_width : g->batch.tgt_width;
  if (of == LM) g->batch.src = NULL, g->batch.src_width = 0;
  else if (!g->batch.src) golden_lacks(g, "test.src", "there");
  if (of < CLASSIFY && !g->batch.tgt) golden_lacks(g, "test.tgt", "there");
  if (!g->batch.labels) golden_lacks(g, "test.labels", "there");
  else if (labels != wanted) golden_lacks(g, "test.labels", "as wide as the tokens it labels");
  return !g->wrong[0];
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

/* Logits of the file, [sentences,V] or [sentences,tokens,V]; null: they are not so. */
static float *golden_wanted_logits(golden *g, size_t width, size_t v) {
  const syn_entry *e = syn_file_find(g->file, "test.logits");
  int rank = task_of(syn_model_config(g->m)->task) == CLASSIFY ? 2 : 3;
  size_t b = (size_t)g->batch.count;
  if (!e || e->rank != rank || e->shape[0] != b || (rank == 3 && e->shape[1] != width) ||
      e->shape[rank - 1] != v) {
    golden_lacks(g, "test.logits", "[sentences,tokens,vocabulary]");
    return NULL;
  }
  return golden_floats(g, "test.logits", syn__mul_size(syn__mul_size(b, width), v));
}

/* Rows of logits that have a label that counts, one behind the other in both. */
static void golden_rows(golden *g, const syn_run *r, size_t width, size_t v) {
  int classify = task_of(syn_model_config(g->m)->task) == CLASSIFY, b, t, rows;
  size_t n = 0, size = syn__mul_size(syn__mul_size((size_t)g->batch.count, width), v);
  float *all = golden_wanted_logits(g, width, v), *x, *y;
  if (!all) return;
  x = (float *)take(size, sizeof *x);
  y = (float *)take(size, sizeof *y);
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
  free(all);
  free(x);
  free(y);
}

static void golden_logits(golden *g) {
  const syn_config *k = syn_model_config(g->m);
  task of = task_of(k->task);
  syn_limits limits = golden_limits(g);
  syn_run *r = syn_run_new(g->c, g->m, &limits);
  if (r) syn_run_forward(r, &g->batch);
  if (golden_done(g))
    golden_rows(g, r, (size_t)(of == CLASSIFY ? 1 : of == TAG ? g->batch.src_width
                                                              : g->batch.tgt_width),
                (size_t)(of < CLASSIFY ? k->tgt_vocab : k->classes));
  syn_run_free(r);
}

/* As many gradients as there are trained parameters, each of the right size. */
static void golden_gradients_of(golden *g, const syn_trainer *t) {
  size_t i, found = 0, trained = 0;
  for (i = 0; i < syn_file_count(g->file); i++) {
    const char *name = syn_file_entry(g->file, i)->name;
    const syn_param *p = strncmp(name, "test.grad.", 10) ? NULL : syn_model_find(g->m, name + 10);
    float *wanted;
    if (strncmp(name, "test.grad.", 10)) continue;
    if (!p || !p->trained) golden_lacks(g, name, "a gradient of a trained parameter");
    wanted = p && p->trained ? golden_floats(g, name, p->size) : NULL;
    if (!wanted) return;
    golden_compare(g, name + 5, syn_trainer_gradient(t, p), wanted, p->size, gradient_limits);
    free(wanted);
    found++;
  }
  for (i = 0; i < syn_model_param_count(g->m); i++)
    trained += syn_model_param(g->m, i)->trained != 0;
  if (found != trained && !g->wrong[0])
    snprintf(g->wrong, sizeof g->wrong, "%lu gradients for %lu trained parameters",
             (unsigned long)found, (unsigned long)trained);
}

static void golden_gradients(golden *g) {
  syn_train_config config;
  syn_trainer *t;
  float loss, *wanted;
  memset(&config, 0, sizeof config);
  config.length = golden_limits(g).length;
  t = syn_trainer_new(g->c, g->m, &config);
  if (t) syn_trainer_backward(t, &g->batch, &loss);
  wanted = golden_done(g) ? golden_floats(g, "test.loss", 1) : NULL;
  if (wanted) {
    golden_compare(g, "loss", &loss, wanted, 1, logits_limits);
    golden_gradients_of(g, t);
  }
  free(wanted);
  syn_trainer_free(t);
}

static void golden_tokens(golden *g, const char *name, const syn_decoder *d, const int *wanted,
                          int width) {
  int b, k, size;
  for (b = 0; b < g->batch.count; b++) {
    const int *y = syn_decoder_output(d, b, 0, &size, NULL);
    for (k = 0; k < width; k++) {
      int token = k < size ? y[k] : SYN_PAD, want = wanted[b * width + k];
      if (token != want)
        golden_wrong(g, name, (double)token, (double)want, (size_t)(b * width + k));
      g->hash = syn_hash(g->hash, &token, sizeof token);
    }
  }
}

static void golden_scores(golden *g, const syn_decoder *d) {
  size_t rows = (size_t)g->batch.count;
  float *wanted = golden_floats(g, "test.beam_score", rows), *given;
  int b, size;
  if (!wanted) return;
  given = (float *)take(rows, sizeof *given);
  for (b = 0; b < g->batch.count; b++) syn_decoder_output(d, b, 0, &size, &given[b]);
  golden_compare(g, "beam_score", given, wanted, rows, logits_limits);
  free(wanted);
  free(given);
}

/* Greedy, or beam 4 with its scores, where the file has them. */
static void golden_decode(golden *g, const char *name, int beam) {
  int width;
  const int *wanted = golden_ints(g, name, &width);
  syn_batch source = g->batch;
  syn_decode_config config;
  syn_decoder *d;
  if (!wanted || g->wrong[0]) return;
  memset(&config, 0, sizeof config);
  config.sentences = g->batch.count;
  config.max_len = width;
  config.beam = beam;
  source.tgt = NULL;
  d = syn_decoder_new(g->c, g->m, &config);
  if (d) syn_decoder_run(d, &source, NULL, NULL);
  if (golden_done(g)) {
    golden_tokens(g, name, d, wanted, width);
    if (beam > 1) golden_scores(g, d);
  }
  syn_decoder_free(d);
}

/* 1 passed, 0 failed */
static int golden_file(syn_context *c, const char *path, uint64_t *hash) {
  golden g;
  memset(&g, 0, sizeof g);
  g.c = c;
  g.hash = *hash;
  syn_context_clear(c);
  g.m = syn_model_load(c, path);
  if (golden_done(&g)) {
    g.file = syn_model_file(g.m);
    if (golden_batch(&g)) golden_logits(&g);
    if (!g.wrong[0]) golden_gradients(&g);
    if (!g.wrong[0]) golden_decode(&g, "test.greedy", 1);
    if (!g.wrong[0]) golden_decode(&g, "test.beam", 4);
  }
  if (g.wrong[0]) printf("%s: FAILED: %s\n", path, g.wrong);
  else printf("%s: ok\n", path);
  *hash = g.hash;
  syn_model_free(g.m);
  return !g.wrong[0];
}

static int run_golden(const arguments *a) {
  syn_context c;
  uint64_t hash = SYN_HASH_START;
  int counts[2] = {0, 0}, i;
  context_open(&c, a);
  for (i = 0; i < a->word_count; i++) counts[golden_file(&c, a->words[i], &hash)]++;
  if (syn_context_exact(&c))
    printf("hash %08lx%08lx\n", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xFFFFFFFFu));
  else printf("hash inexact\n");
  printf("%d passed, %d failed\n", counts[1], counts[0]);
  return counts[0] ? FAILED_JOB : 0;
}

/* ==============================================================================================
   >>tool plot   one page: loss curve, attention maps, histograms of weights
   ============================================================================================== */

/* The page needs nothing beside itself: curves and histograms are SVG, a map is a canvas that a few
   lines of script fill from hexadecimal digits, two a weight. Every text that comes from a file
   goes through put_html and stands in the page as text alone; the script reads tokens back from the
   list that is shown above the maps and draws them as text. */

typedef struct plot {
  const arguments *a;
  syn_context c;
  syn_model *m;
  task of;
  buffer page;
  int bins, shown, cut;    /* sentences so far; lines that did not fit */
  int tokens;              /* lists of tokens so far, for their ids */
  size_t **seen;           /* by attention layer: histogram of its weights [bins] */
  size_t *outside;         /* by attention layer: raw weights that are not from 0 to 1 */
} plot;

static void put_format(buffer *b, const char *format, ...) SYN__PRINTF(2, 3);
static void put_format(buffer *b, const char *format, ...) {
  char text[1000]; /* numbers, our own words, paths of layers */
  va_list args;
  int n;
  va_start(args, format);
  n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  put(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* Text of any origin, harmless between tags and between quotes; control characters and bytes that
   are not UTF-8 become U+FFFD. */
static void put_html(buffer *b, syn_text t) {
  uint32_t code;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (code == '&') put(b, "&amp;", 5);
    else if (code == '<') put(b, "&lt;", 4);
    else if (code == '>') put(b, "&gt;", 4);
    else if (code == '"') put(b, "&quot;", 6);
    else if (code == '\'') put(b, "&#39;", 5);
    else if (code == '\n' || code == '\r' || code == '\t') put_byte(b, ' ');
    else if (code < 0x20 || code == 0x7F || (code >= 0x80 && code < 0xA0) || code > 0x10FFFF)
      put(b, "\xEF\xBF\xBD", 3);
    else put(b, t.at + i, size);
  }
}

/* -- the frame: styles for light and dark, the script of the maps -- */

static const char plot_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    ":root{color-scheme:light dark;--back:#fff;--text:#222;--dim:#767676;--line:#ccc;--a:#1553a8;"
    "--b:#b3480c}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#14171c;--text:#e4e4e4;--dim:#9a9a9a;"
    "--line:#444;--a:#7db4ff;--b:#ffa25e}}\n"
    "body{font:14px/1.4 system-ui,sans-serif;background:var(--back);color:var(--text);"
    "margin:1.5em auto;max-width:75em;padding:0 1em}\n"
    "h1{font-size:1.4em}h2{font-size:1.15em;border-bottom:1px solid var(--line);margin-top:2em}"
    "h3{font-size:1em;margin-bottom:.3em}\n"
    "pre{white-space:pre-wrap;color:var(--dim)}\n"
    "ol{list-style:none;margin:0;padding:0}"
    "ol li{display:inline-block;border:1px solid var(--line);border-radius:3px;padding:0 .3em;"
    "margin:0 .2em .2em 0}\n"
    ".grid{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{color:var(--dim);"
    "font-size:12px;overflow-wrap:anywhere}\n"
    ".small figure{width:14em}svg{display:block;max-width:100%}svg text{fill:var(--dim);"
    "font-size:11px}\n"
    ".a{fill:none;stroke:var(--a);stroke-width:1.5}.b{fill:none;stroke:var(--b);stroke-width:1.5}"
    ".d{fill:var(--b)}.h{fill:var(--a)}.g{stroke:var(--line);fill:none}\n"
    "svg text.ta{fill:var(--a)}svg text.tb{fill:var(--b)}#tip{position:fixed;left:0;bottom:0;"
    "background:var(--text);color:var(--back);padding:.1em .5em}\n"
    "</style>\n";

/* A map: keys from left to right, queries from top to bottom. The colour of a cell lies between
   that of the page and the accent, as far as the weight is from 0 to the largest of the map. */
static const char plot_script[] =
    "<p id=\"tip\"></p><noscript>Attention maps are drawn by a script in this page.</noscript>\n"
    "<script>\n"
    "const css=n=>getComputedStyle(document.documentElement).getPropertyValue(n).trim();\n"
    "const rgb=h=>{h=h.length<5?h.replace(/[^#]/g,'$&$&'):h;"
    "return[1,3,5].map(i=>parseInt(h.substr(i,2),16))};\n"
    "const words=(id,n)=>{const o=id&&document.getElementById(id);return Array.from({length:n},"
    "(_,i)=>o?o.children[i].textContent:String(i+1))};\n"
    "function draw(c){const d=c.dataset,n=+d.n,m=+d.m,s=Math.max(1,Math.min(16,"
    "Math.floor(480/Math.max(n,m)))),q=words(d.q,n),k=words(d.k,m),g=c.getContext('2d');\n"
    "const font='10px system-ui,sans-serif';g.font=font;"
    "const wide=w=>s<8?2:4+Math.min(90,Math.max(...w.map(x=>g.measureText(x).width)));\n"
    "const x0=wide(q),y0=wide(k),z=window.devicePixelRatio||1,W=x0+m*s,H=y0+n*s;\n"
    "c.width=W*z;c.height=H*z;c.style.width=W+'px';c.style.height=H+'px';g.scale(z,z);"
    "g.font=font;\n"
    "const lo=rgb(css('--back')),hi=rgb(css('--a'));\n"
    "for(let i=0;i<n;i++)for(let j=0;j<m;j++){const v=parseInt(d.p.substr(2*(i*m+j),2),16)/255;\n"
    "g.fillStyle='rgb('+lo.map((l,x)=>Math.round(l+(hi[x]-l)*v))+')';"
    "g.fillRect(x0+j*s,y0+i*s,s,s)}\n"
    "g.strokeStyle=css('--line');g.strokeRect(x0+.5,y0+.5,m*s-1,n*s-1);g.fillStyle=css('--text');\n"
    "if(s>7){g.textBaseline='middle';for(let i=0;i<n;i++)g.fillText(q[i],1,y0+(i+.5)*s,x0-3);\n"
    "for(let j=0;j<m;j++){g.save();g.translate(x0+(j+.5)*s,y0-2);g.rotate(-Math.PI/2);"
    "g.fillText(k[j],0,0,y0-3);g.restore()}}\n"
    "c.onmousemove=e=>{const j=Math.floor((e.offsetX-x0)/s),i=Math.floor((e.offsetY-y0)/s);"
    "tip.textContent=i<0||j<0||i>=n||j>=m?'':q[i]+' \\u2192 '+k[j]+'  '+"
    "(parseInt(d.p.substr(2*(i*m+j),2),16)/255*d.most).toFixed(3)};"
    "c.onmouseleave=()=>tip.textContent=''}\n"
    "const tip=document.getElementById('tip'),all=()=>document.querySelectorAll('canvas')"
    ".forEach(draw);\n"
    "all();matchMedia('(prefers-color-scheme:dark)').addEventListener('change',all);\n"
    "</script>\n</body></html>\n";

/* What the model is, as its file says it. */
static void plot_title(plot *p) {
  const syn_config *k = syn_model_config(p->m);
  buffer *b = &p->page;
  put(b, plot_head, sizeof plot_head - 1);
  put_format(b, "<title>");
  put_html(b, text_of(opt_text(p->a, "model")));
  put_format(b, "</title></head><body>\n<h1>");
  put_html(b, text_of(opt_text(p->a, "model")));
  put_format(b, "</h1>\n<p>task %s, d_model %d, heads %d, max_len %d, %lu parameters</p>\n<pre>",
             k->task, k->d_model, k->heads, k->max_len, (unsigned long)parameters_of(p->m));
  if (k->encoder) put_format(b, "encoder "), put_html(b, text_of(k->encoder)), put_byte(b, '\n');
  if (k->decoder) put_format(b, "decoder "), put_html(b, text_of(k->decoder));
  put_format(b, "</pre>\n");
}

/* -- the loss curve, from what `syn train` printed -- */

typedef struct curve_point {
  double step, loss, valid; /* valid: not a number where there was no validation */
} curve_point;

typedef struct curve {
  curve_point *at; /* [count] */
  size_t count;
} curve;

/* The number behind a key, "\"loss\":" or "loss "; 0: the line has none. `line` ends in 0. */
static int log_number(const char *line, const char *key, double *value) {
  char *end;
  const char *at = strstr(line, key);
  *value = (double)NAN;
  if (!at) return 0;
  at += strlen(key);
  *value = strtod(at, &end);
  return end > at && fabs(*value) < 1e30;
}

/* A line of --json, or one of those people read: "step 10  loss 2.1  valid 2.2  lr ...". */
static int log_line(const char *line, curve_point *p) {
  int json = line[0] == '{';
  if (!json && strncmp(line, "step ", 5) != 0) return 0;
  if (!log_number(line, json ? "\"step\":" : "step ", &p->step)) return 0;
  if (!log_number(line, json ? "\"loss\":" : "  loss ", &p->loss)) return 0;
  if (!log_number(line, json ? "\"valid\":" : "  valid ", &p->valid)) p->valid = (double)NAN;
  return 1;
}

/* Lines also end where a terminal went back to their beginning. Others than those of a training
   are passed over; a plain line repeats the last validation, which counts once. */
static curve curve_read(const char *path) {
  buffer file = read_file(path);
  curve k;
  size_t i, room = 1;
  double last = (double)NAN;
  char *line;
  put_byte(&file, 0);
  for (i = 0; i < file.size; i++) {
    if (file.at[i] == '\n' || file.at[i] == '\r') file.at[i] = 0;
    room += !file.at[i];
  }
  k.at = (curve_point *)take(room, sizeof *k.at);
  k.count = 0;
  for (line = file.at; line < file.at + file.size; line += strlen(line) + 1) {
    curve_point *p = &k.at[k.count];
    if (!log_line(line, p)) continue;
    if (line[0] != '{' && p->valid == last) p->valid = (double)NAN;
    else last = p->valid;
    k.count++;
  }
  free(file.at);
  if (!k.count) fail(FAILED_JOB, "%s has no line that syn train prints", path);
  return k;
}

/* A round distance between marks, 1, 2 or 5 times a power of ten: about `parts` in the span. */
static double mark_step(double span, int parts) {
  double rough = span / parts, power = pow(10.0, floor(log10(rough)));
  double times = rough / power;
  return power * (times > 5.0 ? 10.0 : times > 2.0 ? 5.0 : times > 1.0 ? 2.0 : 1.0);
}

/* The window of a curve and the pixels it is drawn in. */
typedef struct axes {
  double low[2], high[2]; /* step, loss */
} axes;
#define PLOT_WIDTH 720
#define PLOT_HEIGHT 260
#define PLOT_LEFT 56
#define PLOT_BOTTOM 24
#define PLOT_TOP 8

static double axes_x(const axes *a, double step) {
  return PLOT_LEFT + (PLOT_WIDTH - PLOT_LEFT - 8) * (step - a->low[0]) / (a->high[0] - a->low[0]);
}
static double axes_y(const axes *a, double loss) {
  double share = (loss - a->low[1]) / (a->high[1] - a->low[1]);
  return PLOT_TOP + (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM) * (1.0 - share);
}

static axes axes_of(const curve *k) {
  axes a;
  size_t i;
  int d;
  a.low[0] = a.low[1] = (double)INFINITY;
  a.high[0] = a.high[1] = (double)-INFINITY;
  for (i = 0; i < k->count; i++) {
    const curve_point *p = &k->at[i];
    a.low[0] = fmin(a.low[0], p->step);
    a.high[0] = fmax(a.high[0], p->step);
    a.low[1] = fmin(a.low[1], fmin(p->loss, p->valid)); /* fmin takes the number beside a NaN */
    a.high[1] = fmax(a.high[1], fmax(p->loss, p->valid));
  }
  for (d = 0; d < 2; d++) { /* never an empty window */
    double least = 1e-6 * (1.0 + fabs(a.high[d]));
    if (a.high[d] - a.low[d] < least) a.low[d] -= least, a.high[d] += least;
  }
  return a;
}

static void put_marks(buffer *b, const axes *a) {
  double step = mark_step(a->high[0] - a->low[0], 8), at;
  for (at = ceil(a->low[0] / step) * step; at <= a->high[0]; at += step)
    put_format(b, "<path class=\"g\" d=\"M%.1f %dv%d\"/><text x=\"%.1f\" y=\"%d\" "
               "text-anchor=\"middle\">%g</text>\n", axes_x(a, at), PLOT_TOP,
               PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM, axes_x(a, at), PLOT_HEIGHT - 8, at);
  step = mark_step(a->high[1] - a->low[1], 5);
  for (at = ceil(a->low[1] / step) * step; at <= a->high[1]; at += step)
    put_format(b, "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
               "text-anchor=\"end\">%g</text>\n", PLOT_LEFT, axes_y(a, at), PLOT_WIDTH - 8,
               PLOT_LEFT - 4, axes_y(a, at) + 4.0, fabs(at) < 1e-9 * step ? 0.0 : at);
}

/* At most about 1000 points: no screen shows more. */
static void put_line(buffer *b, const curve *k, const axes *a, int valid) {
  size_t i, every = valid ? 1 : k->count / 1000 + 1;
  char command = 'M';
  put_format(b, "<path class=\"%c\" d=\"", valid ? 'b' : 'a');
  for (i = 0; i < k->count; i++) {
    double y = valid ? k->at[i].valid : k->at[i].loss;
    if (y != y || (i % every && i + 1 < k->count)) continue;
    put_format(b, "%c%.1f %.1f", command, axes_x(a, k->at[i].step), axes_y(a, y));
    command = 'L';
  }
  put_format(b, "\"/>\n");
}

static void plot_curve(plot *p) {
  const char *path = opt_text(p->a, "log");
  curve k;
  axes a;
  size_t i = 0;
  if (!*path) return;
  k = curve_read(path);
  a = axes_of(&k);
  put_format(&p->page, "<h2>Loss</h2>\n<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
             "role=\"img\" aria-label=\"loss by step\">\n", PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH,
             PLOT_HEIGHT);
  put_marks(&p->page, &a);
  put_line(&p->page, &k, &a, 0);
  put_format(&p->page, "<text class=\"ta\" x=\"%d\" y=\"20\" text-anchor=\"end\">training</text>\n",
             PLOT_WIDTH - 14);
  while (i < k.count && k.at[i].valid != k.at[i].valid) i++;
  if (i < k.count) { /* there was a validation */
    put_line(&p->page, &k, &a, 1);
    put_format(&p->page, "<text class=\"tb\" x=\"%d\" y=\"34\" text-anchor=\"end\">validation"
               "</text>\n", PLOT_WIDTH - 14);
  }
  put_format(&p->page, "</svg>\n");
  free(k.at);
}

/* -- histograms -- */

/* One picture of counts [bins] between low and high; `logs`: heights are log(1 + count). */
static void put_bars(buffer *b, const size_t *counts, int bins, const float range[2], int logs) {
  double most = 1.0, height;
  int i;
  for (i = 0; i < bins; i++) most = fmax(most, (double)counts[i]);
  put_format(b, "<svg viewBox=\"0 0 200 84\" width=\"200\" height=\"84\">"
             "<path class=\"h\" d=\"M0 70");
  for (i = 0; i < bins; i++) {
    height = logs ? log(1.0 + (double)counts[i]) / log(1.0 + most) : (double)counts[i] / most;
    put_format(b, "V%.1fH%.1f", 70.0 - 66.0 * height, 200.0 * (i + 1) / bins);
  }
  put_format(b, "V70Z\"/><path class=\"g\" d=\"M0 70H200\"/><text y=\"82\">%.3g</text>"
             "<text x=\"200\" y=\"82\" text-anchor=\"end\">%.3g</text></svg>", (double)range[0],
             (double)range[1]);
}

/* Finite numbers alone: least and largest, mean and standard deviation. */
typedef struct moments {
  float range[2];
  double mean, deviation;
} moments;
static moments moments_of(const float *x, size_t n) {
  moments m;
  double mean = 0.0, squares = 0.0, count = 0.0;
  size_t i;
  m.range[0] = INFINITY;
  m.range[1] = -INFINITY;
  for (i = 0; i < n; i++) {
    double from_mean = (double)x[i] - mean;
    if (!(x[i] - x[i] == 0.0f)) continue;
    mean += from_mean / (count += 1.0); /* Welford 1962 */
    squares += from_mean * ((double)x[i] - mean);
    if (x[i] < m.range[0]) m.range[0] = x[i];
    if (x[i] > m.range[1]) m.range[1] = x[i];
  }
  m.mean = mean;
  m.deviation = count > 0.0 ? sqrt(squares / count) : 0.0;
  if (count <= 0.0) m.range[0] = m.range[1] = 0.0f;
  if (!(m.range[0] < m.range[1])) { /* all equal: a window around them */
    float reach = fabsf(m.range[0]) > 1.0f ? fabsf(m.range[0]) / 2.0f : 0.5f;
    m.range[0] -= reach;
    m.range[1] += reach;
  }
  return m;
}

static void plot_parameter(plot *p, const syn_param *w, size_t *counts) {
  moments m = moments_of(w->x, w->size);
  size_t outside;
  int i;
  memset(counts, 0, (size_t)p->bins * sizeof *counts);
  outside = histogram(w->x, w->size, m.range[0], m.range[1], counts, p->bins);
  put_format(&p->page, "<figure>");
  put_bars(&p->page, counts, p->bins, m.range, 0);
  put_format(&p->page, "<figcaption>");
  put_html(&p->page, text_of(w->name));
  put_format(&p->page, " [");
  for (i = 0; i < w->rank; i++) put_format(&p->page, "%s%d", i ? "," : "", w->shape[i]);
  put_format(&p->page, "]<br>mean %.3g, deviation %.3g", m.mean, m.deviation);
  if (outside) put_format(&p->page, ", <b>%lu are no numbers</b>", (unsigned long)outside);
  put_format(&p->page, "</figcaption></figure>\n");
}

static void plot_parameters(plot *p) {
  size_t *counts = (size_t *)take((size_t)p->bins, sizeof *counts), i;
  put_format(&p->page, "<h2>Parameters</h2>\n<div class=\"grid small\">\n");
  for (i = 0; i < syn_model_param_count(p->m); i++)
    plot_parameter(p, syn_model_param(p->m, i), counts);
  put_format(&p->page, "</div>\n");
  free(counts);
}

/* -- attention -- */

/* Tokens as a list with an id, "t0", "t1", ...; spaces are made visible. Returns the number. */
static int plot_tokens(plot *p, const syn_tokenizer *t, const int *ids, int count) {
  static const char *const special[] = {"<padding>", "<unknown>", "<begin>", "<end>"};
  int words = strcmp(syn_tokenizer_type(t), "space") == 0, i;
  put_format(&p->page, "<ol id=\"t%d\">", p->tokens);
  for (i = 0; i < count; i++) {
    syn_text s = ids[i] < SYN_FIRST_TOKEN ? text_of(special[ids[i]])
                                          : syn_tokenizer_piece(t, ids[i], words);
    put_format(&p->page, "<li>");
    for (; s.size && s.at[0] == ' '; s.at++, s.size--) put(&p->page, "\xE2\x90\xA3", 3);
    put_html(&p->page, s);
    put_format(&p->page, "</li>");
  }
  put_format(&p->page, "</ol>\n");
  return p->tokens++;
}

/* [size[0], size[1]] as digits, two a weight: shares of the largest. Below 0 is blank. */
static void put_map(buffer *b, const float *w, const int size[2], float most) {
  static const char digits[] = "0123456789abcdef";
  size_t i, n = (size_t)size[0] * (size_t)size[1];
  buffer_reserve(b, 2 * n);
  for (i = 0; i < n; i++) {
    float share = w[i] > 0.0f && most > 0.0f ? w[i] / most : 0.0f;
    int ink = share < 1.0f ? (int)(share * 255.0f + 0.5f) : 255;
    put_byte(b, digits[ink >> 4]);
    put_byte(b, digits[ink & 15]);
  }
}

/* DIR/1.encoder.1.0.0.1.2.pgm: sentence, layer, head. */
static void plot_picture(const plot *p, const char *path, int head, const float *w,
                         const int size[2]) {
  const char *folder = opt_text(p->a, "pgm");
  int cell = opt_int(p->a, "cell");
  size_t bytes = attention_picture(w, size, cell, 0.0f, NULL, 0);
  buffer name = {NULL, 0, 0};
  void *out;
  FILE *f;
  if (!*folder || !bytes) return;
  put(&name, folder, strlen(folder));
  put_format(&name, "/%d.%s.%d.pgm", p->shown + 1, path, head + 1);
  put_byte(&name, 0);
  out = take(bytes, 1);
  attention_picture(w, size, cell, 0.0f, out, bytes);
  f = fopen(name.at, "wb");
  if (!f) fail(FAILED_JOB, "cannot write %s: %s", name.at, strerror(errno));
  bytes -= fwrite(out, 1, bytes, f);
  if (fclose(f) || bytes) fail(FAILED_JOB, "cannot write %s: %s", name.at, strerror(errno));
  free(out);
  free(name.at);
}

/* One head: its map, and its share of the layer's histogram. Keys that a decoder hides from a query
   are not counted there. */
static void plot_head_map(plot *p, const float *w, const int size[2], int layer, int causal) {
  float most = 0.0f;
  int i;
  for (i = 0; i < size[0]; i++) {
    const float *row = w + (size_t)i * (size_t)size[1];
    size_t seen = (size_t)(causal && i + 1 < size[1] ? i + 1 : size[1]);
    float largest = picture_largest(row, seen);
    if (largest > most) most = largest;
    p->outside[layer] += histogram(row, seen, 0.0f, 1.0f, p->seen[layer], p->bins);
  }
  put_format(&p->page, " data-n=\"%d\" data-m=\"%d\" data-most=\"%.4g\" data-p=\"", size[0],
             size[1], (double)most);
  put_map(&p->page, w, size, most);
  put_byte(&p->page, '"');
}

/* All heads of a layer for the one sentence of the run. lists: numbers of the lists of its source
   and target tokens. */
static void plot_layer(plot *p, const syn_run *r, int layer, const int lists[2]) {
  const syn_node *n = syn__attention_at(p->m, layer);
  int to = p->m->g.values[n->out].stream, from = p->m->g.values[n->in[n->n_in - 1]].stream;
  int causal = to == SYN_TGT && from == to && !n->seen_keys, h, heads, size[2];
  const char *path = syn_model_attention(p->m, layer, &heads);
  put_format(&p->page, "<h3>%s</h3>\n<div class=\"grid\">\n", path);
  for (h = 0; h < heads; h++) {
    const float *w = syn_run_attention(r, layer, h, 0, size);
    if (!w) continue;
    put_format(&p->page, "<figure><canvas role=\"img\" aria-label=\"%s head %d\" data-q=\"t%d\"",
               path, h + 1, lists[to == SYN_TGT]);
    if (!n->seen_keys) put_format(&p->page, " data-k=\"t%d\"", lists[from == SYN_TGT]);
    plot_head_map(p, w, size, layer, causal);
    put_format(&p->page, "></canvas><figcaption>%s, head %d</figcaption></figure>\n",
               n->kind->name, h + 1);
    plot_picture(p, path, h, w, size);
  }
  put_format(&p->page, "</div>\n");
}

/* One sentence: ids [side] as the model reads them, counts [side], 0 where it has no such side. */
static void plot_sentence(plot *p, int *const ids[2], const int counts[2]) {
  syn_limits limits;
  syn_batch b;
  syn_run *r;
  int layer, side, heads, lists[2] = {0, 0};
  memset(&limits, 0, sizeof limits);
  memset(&b, 0, sizeof b);
  limits.sentences = b.count = 1;
  limits.src_rows = limits.tgt_rows = limits.length = syn__max(counts[0], counts[1]);
  if (counts[0]) b.src = ids[0], b.src_width = counts[0];
  if (counts[1]) b.tgt = ids[1], b.tgt_width = counts[1];
  r = syn_run_new(&p->c, p->m, &limits);
  check(&p->c);
  syn_run_forward(r, &b);
  check(&p->c);
  put_format(&p->page, "<h2>Sentence %d</h2>\n", p->shown + 1);
  for (side = 0; side < 2; side++)
    if (counts[side])
      lists[side] = plot_tokens(p, syn_model_tokenizer(p->m, side ? SYN_TGT : SYN_SRC), ids[side],
                                counts[side]);
  for (layer = 0; syn_model_attention(p->m, layer, &heads); layer++)
    plot_layer(p, r, layer, lists);
  syn_run_free(r);
  p->shown++;
}

/* -- which sentences -- */

/* Appends the tokens of a text to ids that grow. */
typedef struct token_row {
  encoder e;
  int *ids;
  int count;
} token_row;
static void token_put(token_row *t, const int *ids, int count) {
  t->ids = (int *)realloc(t->ids, ((size_t)t->count + (size_t)count + 1) * sizeof *t->ids);
  if (!t->ids) fail(FAILED_JOB, "out of memory: %d tokens", count);
  if (count) memcpy(t->ids + t->count, ids, (size_t)count * sizeof *ids);
  t->count += count;
}
static void token_text(token_row *t, task of, const syn_tokenizer *by, syn_text text) {
  int count = encode_task(&t->e, of, by, text);
  token_put(t, t->e.ids, count);
}

/* The rows of one line of the file: a pair, texts with their label, words with their tags, or a
   beginning of a text (lm: the target). Only what the network reads. */
static void plot_rows(const plot *p, syn_text source, syn_text target, token_row rows[2]) {
  static const int begin = SYN_BEGIN, end = SYN_END;
  rows[0].count = rows[1].count = 0;
  if (p->of != LM) token_text(&rows[0], p->of, syn_model_tokenizer(p->m, SYN_SRC), source);
  if (p->of == SEQ2SEQ || p->of == CLASSIFY) token_put(&rows[0], &end, 1);
  if (p->of >= CLASSIFY) return;
  token_put(&rows[1], &begin, 1);
  token_text(&rows[1], p->of, syn_model_tokenizer(p->m, SYN_TGT), target);
}

/* A line that is too long is left out and counted; of a text for lm the beginning is shown. */
static void plot_line(plot *p, syn_text source, syn_text target, token_row rows[2]) {
  int most = syn_model_config(p->m)->max_len, longest, k, *ids[2], counts[2];
  plot_rows(p, source, target, rows);
  longest = syn__max(rows[0].count, rows[1].count);
  if (longest > most) p->cut++;
  if (longest > most && rows[0].count) return;
  for (k = 0; k < 2; k++) {
    ids[k] = rows[k].ids;
    counts[k] = syn__min(rows[k].count, most);
  }
  if (longest) plot_sentence(p, ids, counts);
}

/* lm: the lines of its text stand on both sides; without data there are none. */
static pairs plot_pairs(const plot *p) {
  static const char *const names[] = {"data", "src", "tgt"};
  pairs pair;
  if (p->of != LM) {
    pairs_read(&pair, p->of, p->a, names);
    return pair;
  }
  check_one_file(p->a, "lm");
  memset(&pair, 0, sizeof pair);
  pair.of = LM;
  pair.literal = 1;
  pair.names[0] = opt_text(p->a, "data");
  if (!*pair.names[0]) return pair;
  pair.files[0] = read_lines(pair.names[0]);
  pair.count = pair.files[0].count;
  pair.side[1] = (syn_text *)take(pair.count, sizeof(syn_text));
  memcpy(pair.side[1], pair.files[0].at, pair.count * sizeof(syn_text));
  return pair;
}

static void plot_sentences(plot *p) {
  static const syn_text none = {NULL, 0};
  int wanted = opt_int(p->a, "count"), k;
  pairs pair = plot_pairs(p);
  token_row rows[2];
  size_t i;
  memset(rows, 0, sizeof rows);
  if (!pair.count) return;
  for (k = p->of == LM; k < (p->of < CLASSIFY ? 2 : 1); k++)
    if (!syn_model_tokenizer(p->m, k ? SYN_TGT : SYN_SRC))
      fail(FAILED_JOB, "%s has no tokenizer, so it cannot read text", opt_text(p->a, "model"));
  for (i = 0; i < pair.count && p->shown < wanted; i++)
    if (p->of != LM || pair.side[1][i].size)
      plot_line(p, p->of == LM ? none : pair.side[0][i], first_alternative(&pair, i), rows);
  if (!p->shown)
    fail(FAILED_JOB, "no line of %s fits the model's max_len %d", pair.names[0],
         syn_model_config(p->m)->max_len);
  if (p->cut)
    fprintf(stderr, "syn: %d of %lu lines do not fit the model's max_len %d: %s\n", p->cut,
            (unsigned long)i, syn_model_config(p->m)->max_len,
            p->of == LM ? "only their beginning is shown" : "they are left out");
  pairs_free(&pair);
  for (k = 0; k < 2; k++) free(rows[k].ids), free(rows[k].e.ids);
}

/* Attention weights of all heads and sentences that are shown, a histogram for each layer: Figures
   2 and 3 of Tay et al. 2021. Heights are logarithms, or the many small weights would hide the
   others. */
static void plot_seen(plot *p, int layers) {
  static const float range[2] = {0.0f, 1.0f};
  int layer, heads;
  if (!p->shown || !layers) return;
  put_format(&p->page, "<h2>Attention weights</h2>\n<p>All heads and sentences shown above; the "
             "height is log(1 + count).</p>\n<div class=\"grid small\">\n");
  for (layer = 0; layer < layers; layer++) {
    put_format(&p->page, "<figure>");
    put_bars(&p->page, p->seen[layer], p->bins, range, 1);
    put_format(&p->page, "<figcaption>%s", syn_model_attention(p->m, layer, &heads));
    if (p->outside[layer])
      put_format(&p->page, ", %lu outside", (unsigned long)p->outside[layer]);
    put_format(&p->page, "</figcaption></figure>\n");
  }
  put_format(&p->page, "</div>\n");
}

static void plot_write(const plot *p) {
  const char *path = opt_text(p->a, "output");
  FILE *f = fopen(path, "wb");
  size_t put_in;
  if (!f) fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
  put_in = fwrite(p->page.at, 1, p->page.size, f);
  if (fclose(f) || put_in != p->page.size)
    fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
}

static int run_plot(const arguments *a) {
  plot p;
  int layers = 0, heads, i;
  memset(&p, 0, sizeof p);
  p.a = a;
  p.bins = opt_int(a, "bins");
  check_output(a, "output");
  context_open(&p.c, a);
  p.m = syn_model_load(&p.c, opt_text(a, "model"));
  check_file(&p.c, opt_text(a, "model"));
  p.of = task_of(syn_model_config(p.m)->task);
  while (syn_model_attention(p.m, layers, &heads)) layers++;
  p.seen = (size_t **)take((size_t)layers, sizeof *p.seen);
  p.outside = (size_t *)take((size_t)layers, sizeof *p.outside);
  for (i = 0; i < layers; i++) p.seen[i] = (size_t *)take((size_t)p.bins, sizeof **p.seen);
  plot_title(&p);
  plot_curve(&p);
  plot_sentences(&p);
  plot_seen(&p, layers);
  plot_parameters(&p);
  put(&p.page, plot_script, sizeof plot_script - 1);
  plot_write(&p);
  for (i = 0; i < layers; i++) free(p.seen[i]);
  free(p.seen);
  free(p.outside);
  free(p.page.at);
  syn_model_free(p.m);
  return 0;
}

/* ==============================================================================================
   >>tool commands   the tables of options, the list of commands, help, main
   ============================================================================================== */

/* "must be given" is for what no run can do without; what depends on other options (--data, or
   --src and --tgt) has the default "none" and is checked by the command. A 0 that means "choose for
   me" or "no limit" says so in its help. */

/* Rows that several commands share. */
#define MODEL_FILE {"model", 'm', TEXT, NULL, "FILE", "the model"}
#define MACHINE_OPTIONS \
  {"threads", 0, INT, "1", "1..64", "more than 1 needs a build with -fopenmp"}, \
  {"isa", 0, TEXT, "", "ROW", "kernels to use; none: the best this machine has"}
#define NETWORK_OPTIONS \
  {"preset", 0, TEXT, "", "NAME", \
   "a published network, syn presets lists them; options given beside it win over its own"}, \
  {"task", 0, CHOICE, "seq2seq", "seq2seq|lm|classify|tag", "what the network is for"}, \
  {"encoder", 0, TEXT, "", "TEXT", "layers that read the source; none: " PLAIN_CHAIN}, \
  {"decoder", 0, TEXT, "", "TEXT", "layers that write; none: " SOURCE_CHAIN \
   ", lm: as the encoder"}, \
  {"var", 0, TEXT, "", "NAME=NUMBER", "value of $NAME in both; may be repeated"}, \
  {"tie", 0, CHOICE, "auto", "auto|none|out|all", \
   "one table for out and target embedding (all: and source); auto: out where widths allow"}
#define SIZE_OPTIONS(width, heads, length) \
  {"d-model", 0, INT, width, "1..65536", "width"}, \
  {"heads", 0, INT, heads, "1..1024", "heads of attention"}, \
  {"max-len", 0, INT, length, "2..1000000", "longest text in tokens with its end (or begin)"}
#define VOCABULARY_OPTIONS(src, tgt) \
  {"src-vocab", 0, INT, src, "4..16777216", "size of the source vocabulary"}, \
  {"tgt-vocab", 0, INT, tgt, "4..16777216", "size of the target vocabulary"}, \
  {"classes", 0, INT, "3", "2..16777216", "classes or tags"}
#define DECODE_OPTIONS \
  {"beam", 0, INT, "4", "1..1024", "hypotheses kept; 1: greedy"}, \
  {"alpha", 0, NUMBER, "0.6", "0..", "length penalty of the beam"}, \
  {"max-len", 0, INT, "0", "0..1000000", \
   "longest output in tokens (lm: with the line given); 0: the model's"}, \
  {"batch", 0, INT, "32", "1..65536", "lines decoded together"}

static const option train_options[] = {
    NETWORK_OPTIONS,
    SIZE_OPTIONS("128", "4", "128"),
    {"data", 0, TEXT, "", "FILE",
     "TSV: source TAB target; classify: label TAB text [TAB text]; tag: text TAB tags; "
     "lm: plain text"},
    {"src", 0, TEXT, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, TEXT, "", "FILE", "target lines (labels, tags)"},
    {"valid", 0, TEXT, "", "FILE", "as --data, for validation"},
    {"valid-src", 0, TEXT, "", "FILE", "as --src"},
    {"valid-tgt", 0, TEXT, "", "FILE", "as --tgt"},
    LITERAL_OPTION,
    {"span-corruption", 0, FLAG, "off", "",
     "seq2seq: --data is plain text; what is learned is to fill gaps in its lines (T5), other gaps "
     "in every epoch"},
    {"init", 0, TEXT, "", "MODEL",
     "begins from its weights, where they fit; its network and tokenizers are the defaults"},
    {"init-other-task", 0, FLAG, "off", "", "--init may be a model of another task"},
    {"output", 'o', TEXT, NULL, "FILE", "the model to write"},
    {"dropout", 0, NUMBER, "0.1", "0..1", "rate"},
    {"label-smoothing", 0, NUMBER, "0.1", "0..1", "share of the target spread over all others"},
    {"tokenizer", 0, TEXT, "", "char|byte|space|bpe:SIZE",
     "of both sides; none: bpe:4000, tag: space"},
    {"src-tokenizer", 0, TEXT, "", "TOKENIZER", "of the source; none: --tokenizer"},
    {"tgt-tokenizer", 0, TEXT, "", "TOKENIZER",
     "of the target; none: --tokenizer; classify: a label is one class"},
    {"lowercase", 0, FLAG, "off", "", "texts in lower case"},
    {"batch", 0, INT, "2048", "2..16777216", "tokens: sentences times the longest padded side"},
    {"accumulate", 0, INT, "1", "1..10000", "batches per step"},
    {"steps", 0, INT, "0", "0..", "ends after so many; 0: no limit"},
    {"epochs", 0, NUMBER, "0", "0..", "likewise; 10 when none of the three is given"},
    {"minutes", 0, NUMBER, "0", "0..",
     "likewise, from the program's start; linear and cosine need one of the others too"},
    {"optimizer", 0, CHOICE, "adam", "adam|adamw|adafactor|sgd", "rule of a step"},
    {"weight-decay", 0, NUMBER, "0.01", "0..",
     "of adamw, times the learning rate; adafactor and sgd: none unless it is given"},
    {"freeze", 0, TEXT, "", "NAMES",
     "tensors that stay as they are; * is any part of a name, | stands between names"},
    {"lr", 0, NUMBER, "0", "0..", "learning rate; 0: 0.002, sgd 0.1, the factor 1 of noam, "
     "adafactor: by itself, relative to each tensor"},
    {"schedule", 0, CHOICE, "rsqrt", "noam|rsqrt|linear|cosine|constant|plateau",
     "of the learning rate"},
    {"warmup", 0, INT, "500", "0..", "steps in which the learning rate rises"},
    {"clip", 0, NUMBER, "0", "0..", "largest norm of the gradient; 0: any"},
    {"average", 0, INT, "1", "1..1000",
     "the model is the mean of so many best checkpoints (without --valid: the newest)"},
    {"stop-after", 0, INT, "0", "0..", "ends after so many validations without progress; 0: never"},
    {"checkpoint", 0, TEXT, "", "FILE",
     "what --resume goes on from; Ctrl-C writes it, then the model"},
    {"every", 0, INT, "500", "1..", "steps between checkpoints, with a validation each"},
    {"resume", 0, FLAG, "off", "", "goes on from --checkpoint, or begins where there is none"},
    {"seed", 0, BIG, "1", "", "of initial values, order and dropout"},
    MACHINE_OPTIONS,
    {"json", 0, FLAG, "off", "", "progress as one JSON object a line, on stdout"},
    END_OF_OPTIONS};

static const option run_options[] = {
    MODEL_FILE,
    DECODE_OPTIONS,
    {"nbest", 0, INT, "1", "1..1024", "hypotheses printed; above 1 as: line TAB score TAB text"},
    {"temperature", 0, NUMBER, "0", "0..", "of sampling; 0: beam search"},
    {"top-k", 0, INT, "0", "0..", "samples among the k likeliest; 0: all"},
    {"top-p", 0, NUMBER, "1", "0..1", "samples among the likeliest of that sum"},
    {"seed", 0, BIG, "1", "", "of sampling"},
    MACHINE_OPTIONS,
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option eval_options[] = {
    MODEL_FILE,
    {"data", 0, TEXT, "", "FILE", "TSV as for train; lm: plain text"},
    {"src", 0, TEXT, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, TEXT, "", "FILE", "target lines"},
    {"metric", 0, TEXT, "", "LIST",
     "parted by commas: " LOSS_NAMES " " METRIC_NAMES METRIC_NOTE
     "; none: ppl,bleu, lm: nats,ppl, classify and tag: accuracy"},
    METRIC_OPTIONS,
    DECODE_OPTIONS,
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option info_options[] = {
    {"model", 'm', TEXT, "", "FILE", "the model, or the network is described by the others"},
    NETWORK_OPTIONS,
    SIZE_OPTIONS("128", "4", "128"),
    VOCABULARY_OPTIONS("4000", "4000"),
    {"length", 0, INT, "0", "0..1000000", "tokens of the sentence costs are for; 0: max-len"},
    {"batch", 0, INT, "2048", "2..16777216", "tokens of a training step"},
    {"beam", 0, INT, "4", "1..1024", "hypotheses while decoding"},
    MACHINE_OPTIONS,
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option presets_options[] = {
    {"json", 0, FLAG, "off", "", "one JSON object a line, texts included"}, END_OF_OPTIONS};

static const option golden_options[] = {MACHINE_OPTIONS, END_OF_OPTIONS};

static const option grad_options[] = {
    NETWORK_OPTIONS,
    SIZE_OPTIONS("16", "4", "12"),
    VOCABULARY_OPTIONS("11", "11"),
    {"seed", 0, BIG, "1", "", "of weights and inputs"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option plot_options[] = {
    MODEL_FILE,
    {"output", 'o', TEXT, NULL, "FILE", "the page to write, HTML"},
    {"data", 0, TEXT, "", "FILE", "as for train: attention maps of its first lines; none: no maps"},
    {"src", 0, TEXT, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, TEXT, "", "FILE", "target lines"},
    LITERAL_OPTION,
    {"count", 0, INT, "1", "1..1000", "sentences"},
    {"log", 0, TEXT, "", "FILE", "what train printed, with or without --json: the loss curve"},
    {"bins", 0, INT, "40", "1..1000", "bars of a histogram"},
    {"pgm", 0, TEXT, "", "DIR", "also writes each map as DIR/SENTENCE.LAYER.HEAD.pgm"},
    {"cell", 0, INT, "8", "1..64", "pixels of a weight in these"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const command_row commands[] = {
    {"train", "", 0, 0, train_options, run_train, "trains from text files and writes a model"},
    {"run", "[FILE]", 0, 1, run_options, run_run, "one output line per input line"},
    {"eval", "", 0, 0, eval_options, run_eval, "metrics of a model on a file"},
    {"score", "HYP REF", 2, 2, score_options, run_score, "metrics of two text files, no model"},
    {"info", "", 0, 0, info_options, run_info, "parameters, multiply-adds and memory of a model"},
    {"presets", "[NAME...]", 0, -1, presets_options, run_presets,
     "the networks of the papers: sizes and sources; with names: their texts too"},
    {"golden", "FILE...", 1, -1, golden_options, run_golden, "checks golden files"},
    {"grad", "", 0, 0, grad_options, run_grad, "gradient check of a network, per parameter"},
    {"quantize", "", 0, 0, NULL, NULL, "smaller weights"},
    {"embed", "", 0, 0, NULL, NULL, "a model as a constant C array"},
    {"plot", "", 0, 0, plot_options, run_plot, "one page of attention maps, weights and loss"},
};

/* Ends the program, with the nearest name, when there is no such command. */
static const command_row *find_command(const char *name) {
  nearest near = {NULL, 0};
  size_t i;
  nearest_try(&near, text_of(name), "help");
  for (i = 0; i < SYN__COUNT(commands); i++) {
    if (strcmp(name, commands[i].name) == 0) return &commands[i];
    nearest_try(&near, text_of(name), commands[i].name);
  }
  fail(WRONG_USE, "no command %.60s; the nearest is %s (syn help lists all)", name, near.name);
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

static int is_help(const char *s) {
  return strcmp(s, "help") == 0 || strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0;
}

static int run_command(const command_row *c, int argc, char **argv) {
  arguments a;
  int status = 0, i;
  for (i = 0; i < argc && !c->run; i++) /* no table to parse by: only help can be told */
    if (is_help(argv[i])) return print_help(c->name);
  if (!c->run) fail(WRONG_USE, "%s is not built yet", c->name);
  a = parse(c, argc, argv);
  if (!a.help) preset_apply(&a);
  if (a.help) print_command(c);
  else status = c->run(&a);
  arguments_free(&a);
  return status;
}

/* Results that could not be written are a failed job too: a full disk must not look like success.
   */
int main(int argc, char **argv) {
  int status;
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is then an error like a full disk */
#endif
  if (argc < 2) fail(WRONG_USE, "no command given, one is wanted: syn help lists them");
  if (is_help(argv[1])) status = print_help(argc > 2 ? argv[2] : NULL);
  else status = run_command(find_command(argv[1]), argc - 2, argv + 2);
  if (fflush(stdout) || ferror(stdout))
    fail(FAILED_JOB, "cannot write the results: %s", strerror(errno));
  return status;
}
