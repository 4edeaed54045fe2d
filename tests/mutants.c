/* mutants.c   draws mutants of synthesizer.h for tests/mutate: small changes of the code, one at a
   time, that a good test finds.

     cc mutants.c -o mutants
     mutants HEADER COUNT SEED REFUSED OUT >LIST

   Writes the header with all mutants to OUT. Mutant 7 of `a < b` is
   (MUTANT(7) ? (a <= b) : (a < b)), so one program holds all of them and runs one. LIST has a line
   for each: number, part, first and last line of the header, name. The name is
   "function: old -> new", with "#2" behind it where the function has the same a second time. COUNT
   mutants are drawn from each part: those whose names have the least hash, begun with SEED. So a
   change of the header leaves the other mutants alone.
   REFUSED lists names that are not drawn: they do not compile. No mutant lies in another, in a
   comment, a string, a preprocessor line, or outside functions. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts, and the sections of each; "kind " stands for all that begin so. */
typedef struct part {
  const char *name, *sections[8];
} part;
static const part parts[] = {
    {"kinds", {"kind ", "kinds", "attention heads"}},
    {"loss", {"loss"}},
    {"optim", {"optim", "update kernels"}},
    {"decode", {"decode state", "sampling", "search"}},
    {"train", {"train"}},
    {"gemm", {"gemm", "gemm kernels"}},
    {"small", {"small", "small state", "small kernels", "small products", "small build",
               "small model", "small text"}},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* A word, a number, a text, an operator; '#' is a preprocessor line. */
typedef struct token {
  size_t begin, end;
  int type; /* 'a', '0', '"', '#' or '+' */
  int line, part, function; /* part and function -1: of none */
  int match; /* of a bracket: the other one; -1: none */
  int control; /* 1: ) of if, for, while, switch */
  int inside;  /* 1: between ( and ) or [ and ] */
} token;

typedef struct mutant {
  size_t begin, end; /* in the text */
  int part, line, last;
  int statement; /* 1: the statement is dropped */
  char *text;    /* what stands there instead; of a statement: empty */
  char *name;
  uint64_t hash;
  int number; /* 0: not drawn */
} mutant;

static char *header;
static size_t header_size;
static token *tokens;
static int n_tokens;
static mutant *mutants;
static int n_mutants;
static uint64_t seed;

static void *grow(void *p, int n, size_t size) {
  if (n & (n - 1)) return p; /* memory for the next power of two is there */
  p = realloc(p, (n ? 2 * (size_t)n : 1) * size);
  if (!p) exit(2);
  return p;
}
static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t n = 0, got = 1;
  while (f && got && (text = (char *)realloc(text, n + 65537)) != NULL) {
    got = fread(text + n, 1, 65536, f);
    n += got;
  }
  if (!f || !text) {
    fprintf(stderr, "mutants: cannot read %s\n", path);
    exit(2);
  }
  fclose(f);
  text[n] = 0;
  *size = n;
  return text;
}

/* -- tokens -- */

static int is(int i, const char *text) {
  const token *t = &tokens[i];
  size_t n = strlen(text);
  return i >= 0 && i < n_tokens && t->end - t->begin == n && !memcmp(header + t->begin, text, n);
}
/* The token is one of the words, which stand between spaces. */
static int in(int i, const char *words) {
  const token *t = &tokens[i];
  char word[64];
  size_t n;
  if (i < 0 || i >= n_tokens) return 0;
  n = t->end - t->begin;
  if (n + 3 > sizeof word) return 0;
  word[0] = word[n + 1] = ' ';
  memcpy(word + 1, header + t->begin, n);
  word[n + 2] = 0;
  return strstr(words, word) != NULL;
}

/* The part of a section whose marker stands in the comment at `at`; `now` where there is none. */
static int part_of(const char *at, size_t size, int now) {
  const char *mark = NULL;
  size_t i, n;
  int p, s;
  for (i = 0; i + 6 < size && !mark; i++)
    if (!memcmp(at + i, "\n   >>", 6) && i && at[i - 1] == '=') mark = at + i + 6;
  if (!mark) return now;
  for (n = 0; memcmp(mark + n, "   ", 3) != 0 && mark[n] != '\n';) n++;
  for (p = 0; p < PARTS; p++)
    for (s = 0; s < 8 && parts[p].sections[s]; s++) {
      const char *name = parts[p].sections[s];
      size_t length = strlen(name);
      int prefix = name[length - 1] == ' ';
      if ((prefix ? n > length : n == length) && !memcmp(mark, name, length)) return p;
    }
  return -1;
}

/* The end of what begins at i and is no code: a comment, a text, a preprocessor line; else i. */
static size_t skip(size_t i, int at_line) {
  char quote = header[i];
  if (quote == '/' && header[i + 1] == '*') return (size_t)(strstr(header + i, "*/") - header) + 2;
  if (quote == '/' && header[i + 1] == '/') return i + strcspn(header + i, "\n");
  if (quote == '#' && at_line) {
    while (header[i] && (header[i] != '\n' || header[i - 1] == '\\')) {
      size_t end = header[i] == '/' && header[i + 1] == '*' ? skip(i, 0) : i + 1;
      i = end;
    }
    return i;
  }
  if (quote != '"' && quote != '\'') return i;
  for (i++; header[i] != quote; i++) i += header[i] == '\\';
  return i + 1;
}

static size_t operator_end(size_t i) {
  static const char *const all[] = {"<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==",
                                    "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                    "^="};
  size_t k;
  for (k = 0; k < sizeof all / sizeof *all; k++)
    if (!memcmp(header + i, all[k], strlen(all[k]))) return i + strlen(all[k]);
  return i + 1;
}

static void add_token(size_t begin, size_t end, int type, int line, int part_now) {
  token t = {begin, end, type, line, part_now, -1, -1, 0, 0};
  tokens = (token *)grow(tokens, n_tokens, sizeof *tokens);
  tokens[n_tokens++] = t;
}

static void read_tokens(void) {
  size_t i = 0, end;
  int line = 1, at_line = 1, part_now = -1;
  for (; i < header_size; i = end) {
    char c = header[i];
    end = skip(i, at_line);
    if (end > i) {
      int comment = c == '/';
      if (comment) part_now = part_of(header + i, end - i, part_now);
      else add_token(i, end, c == '#' ? '#' : '"', line, part_now);
    } else if (isspace((unsigned char)c)) {
      end = i + 1;
    } else if (isalpha((unsigned char)c) || c == '_') {
      for (end = i; isalnum((unsigned char)header[end]) || header[end] == '_';) end++;
      add_token(i, end, 'a', line, part_now);
    } else if (isdigit((unsigned char)c)) {
      for (end = i; isalnum((unsigned char)header[end]) || header[end] == '.' ||
                    (strchr("+-", header[end]) && strchr("eE", header[end - 1]) &&
                     memcmp(header + i, "0x", 2) && memcmp(header + i, "0X", 2));)
        end++;
      add_token(i, end, '0', line, part_now);
    } else {
      end = operator_end(i);
      add_token(i, end, '+', line, part_now);
    }
    for (at_line = at_line && isspace((unsigned char)c); i < end; i++)
      if (header[i] == '\n') line++, at_line = 1;
  }
}

/* The other bracket of each, and which ) end the head of a loop or condition. Preprocessor branches
   may hold one half only, so a function begins and ends without anything open. */
static void match_brackets(int begin, int end) {
  int *open = (int *)calloc((size_t)(end - begin) + 1, sizeof *open), depth = 0, i;
  for (i = begin; i < end; i++) {
    tokens[i].inside = depth > 0 && in(open[depth - 1], " ( [ ");
    if (in(i, " ( [ { ")) open[depth++] = i;
    if (!in(i, " ) ] } ") || depth == 0) continue;
    tokens[i].match = open[--depth];
    tokens[tokens[i].match].match = i;
    tokens[i].control = in(tokens[i].match - 1, " if for while switch ");
  }
  free(open);
}

/* The last token of a function whose body begins at i: its } stands at the beginning of a line,
   or in the line of a body that has one line only. */
static int function_end(int i) {
  int end = i, depth = 0;
  for (; end < n_tokens; end++) {
    depth += is(end, "{") - is(end, "}");
    if (!is(end, "}")) continue;
    if (header[tokens[end].begin - 1] == '\n') break;
    if (!depth && tokens[end].line == tokens[i].line) break;
  }
  return end;
}

/* Notes for the tokens of each function where its name stands. It begins with ") {". */
static void find_functions(void) {
  int i, begin, end;
  for (i = 1; i < n_tokens; i++) {
    int name = i - 1, depth = 0;
    if (!is(i, "{") || !is(i - 1, ")")) continue;
    begin = i;
    end = function_end(i);
    do depth += is(name, ")") - is(name, "(");
    while (depth && name-- > 1);
    name -= is(name - 1, ")") ? 2 : 1; /* SYN__N(name)(...) */
    match_brackets(begin, end + 1);
    for (; i < end; i++) tokens[i].function = name;
  }
}

/* -- expressions -- */

static int binds(int i) { /* how tightly a binary operator binds; 0: it is none of these */
  static const char *const levels[] = {" || ", " && ", " | ", " ^ ", " & ", " == != ",
                                       " < > <= >= ", " << >> ", " + - ", " * / % "};
  int level;
  for (level = 0; level < 10; level++)
    if (in(i, levels[level])) return level + 1;
  return 0;
}
static int is_type(int i) {
  const token *t = &tokens[i];
  return in(i, " int float double char unsigned signed short long void const struct size_t ") ||
         (t->type == 'a' && t->end - t->begin > 2 && !memcmp(header + t->end - 2, "_t", 2));
}
static int is_cast(int close) { /* the ) of (float) or (const syn_x *) */
  int open = tokens[close].match;
  return open >= 0 && (is_type(open + 1) || (is(close - 1, "*") && close > open + 2));
}
/* An operand may end with token i, so that what follows is a binary operator. */
static int ends_operand(int i) {
  if (in(i, " return case else do sizeof ")) return 0;
  if (tokens[i].type == 'a' || tokens[i].type == '0' || tokens[i].type == '"') return 1;
  if (is(i, ")")) return !tokens[i].control && !is_cast(i);
  return in(i, " ] ++ -- ");
}
static int is_binary(int i) { return binds(i) && ends_operand(i - 1); }
/* An expression never goes on over token i. */
static int is_edge(int i) {
  return tokens[i].type == '#' || tokens[i].function < 0 || tokens[i].control ||
         in(i, " ; , ? : = += -= *= /= %= &= |= ^= <<= >>= { } return case else do ");
}
/* The first token of the expression that is the left operand of i, which binds `level`. */
static int left_of(int i, int level) {
  int k = i - 1;
  for (; !is_edge(k); k--) {
    if (in(k, " ( [ ") || (is_binary(k) && binds(k) < level)) break;
    if (in(k, " ) ] ")) k = tokens[k].match;
  }
  return k + 1;
}
/* One past the last token of the right operand. */
static int right_of(int i, int level) {
  int k = i + 1;
  for (; !is_edge(k); k++) {
    if (in(k, " ) ] ") || (is_binary(k) && binds(k) <= level)) break;
    if (in(k, " ( [ ")) k = tokens[k].match;
  }
  return k;
}
/* One past a unary expression that begins at i. */
static int unary_end(int i) {
  while (in(i, " - ! ~ * & + ++ -- sizeof ") || (is(i, "(") && is_cast(tokens[i].match)))
    i = is(i, "(") ? tokens[i].match + 1 : i + 1;
  i = is(i, "(") ? tokens[i].match + 1 : i + 1;
  for (;;) {
    if (in(i, " ( [ ")) i = tokens[i].match + 1;
    else if (in(i, " . -> ")) i += 2;
    else if (in(i, " ++ -- ")) i++;
    else return i;
  }
}

/* -- mutants -- */

/* The tokens begin .. end - 1 with a space between them where the header has one; token `at` is
   replaced by `with` (null: none). */
static char *render(int begin, int end, int at, const char *with) {
  size_t size = 1, n = 0, length;
  char *text;
  int i;
  for (i = begin; i < end; i++) size += tokens[i].end - tokens[i].begin + 1;
  text = (char *)malloc(size + (with ? strlen(with) : 0));
  if (!text) exit(2);
  for (i = begin; i < end; i++) {
    const char *from = i == at && with ? with : header + tokens[i].begin;
    length = i == at && with ? strlen(with) : tokens[i].end - tokens[i].begin;
    if (i > begin && tokens[i].begin > tokens[i - 1].end) text[n++] = ' ';
    memcpy(text + n, from, length);
    n += length;
  }
  text[n] = 0;
  return text;
}

static uint64_t hash_of(const char *text) { /* FNV-1a, mixed at the end */
  uint64_t h = UINT64_C(14695981039346656037) ^ (seed * UINT64_C(0x9E3779B97F4A7C15));
  for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
  h = (h ^ h >> 31) * UINT64_C(0xBF58476D1CE4E5B9);
  return h ^ h >> 29;
}

/* Adds a mutant of the tokens begin .. end - 1; text belongs to it then. */
static void add(int begin, int end, char *text, int statement) {
  const token *f = &tokens[tokens[begin].function];
  char *old = render(begin, end, -1, NULL);
  mutant m = {tokens[begin].begin, tokens[end - 1].end, tokens[begin].part, tokens[begin].line,
              tokens[end - 1].line, statement, text, NULL, 0, 0};
  size_t size = strlen(old) + strlen(text) + (f->end - f->begin) + 32;
  int i, same = 1, n;
  for (i = begin; i < end; i++)
    if (tokens[i].type == '#') return; /* a branch of the preprocessor within */
  m.name = (char *)malloc(size);
  if (!m.name) exit(2);
  n = snprintf(m.name, size, "%.*s: %s -> %s", (int)(f->end - f->begin), header + f->begin, old,
               statement ? "(dropped)" : text);
  for (i = n_mutants; i-- > 0;)
    if (!strncmp(mutants[i].name, m.name, (size_t)n) &&
        (mutants[i].name[n] == 0 || !strncmp(mutants[i].name + n, " #", 2)))
      same++;
  if (same > 1) snprintf(m.name + n, size - (size_t)n, " #%d", same);
  m.hash = hash_of(m.name);
  free(old);
  mutants = (mutant *)grow(mutants, n_mutants, sizeof *mutants);
  mutants[n_mutants++] = m;
}

/* What an operator becomes; null: it stays. */
static const char *other(int i) {
  static const char *const pairs[][2] = {
      {"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}, {"==", "!="}, {"!=", "=="}, {"+", "-"},
      {"-", "+"}, {"*", "+"}, {"/", "*"}, {"%", "/"}, {"&&", "||"}, {"||", "&&"}, {"&", "|"},
      {"|", "&"}, {"<<", ">>"}, {">>", "<<"}, {"+=", "-="}, {"-=", "+="}, {"*=", "+="},
      {"/=", "*="}, {"|=", "&="}, {"&=", "|="}};
  size_t k;
  for (k = 0; k < sizeof pairs / sizeof *pairs; k++)
    if (is(i, pairs[k][0])) return pairs[k][1];
  return NULL;
}
static int begins_statement(int i) {
  return in(i - 1, " ; { } else do ") || tokens[i - 1].control;
}

static void mutate_operator(int i) {
  const char *to = other(i);
  int begin, end, level = binds(i);
  if (!to) return;
  if (!level) { /* an assignment */
    for (begin = i - 1; !is_edge(begin) && !in(begin, " ( [ "); begin--)
      if (in(begin, " ) ] ")) begin = tokens[begin].match;
    begin++;
    end = right_of(i, 0);
    if (is(end, "?")) return;
  } else {
    /* `type *name = ...` is no product */
    if (!is_binary(i) || is_type(i - 1)) return;
    if (is(i, "*") && (begins_statement(i - 1) || is(i - 2, "const"))) return;
    begin = left_of(i, level);
    end = right_of(i, level);
  }
  if (begin < i && end > i + 1) add(begin, end, render(begin, end, i, to), 0);
}
static void mutate_sign(int i) {
  int end;
  if (!in(i, " - ! ") || ends_operand(i - 1)) return;
  end = unary_end(i);
  add(i, end, render(i, end, i, is(i, "!") ? "!!" : " "), 0);
}
static void mutate_number(int i) {
  char text[80];
  if (tokens[i].type != '0' || tokens[i].end - tokens[i].begin > 60) return;
  snprintf(text, sizeof text, "%.*s %s 1", (int)(tokens[i].end - tokens[i].begin),
           header + tokens[i].begin, is(i, "1") || is(i, "1u") || is(i, "1.0f") ? "-" : "+");
  add(i, i + 1, render(i, i + 1, i, text), 0);
}
static void mutate_index(int i) {
  int end = tokens[i].match;
  if (!is(i, "[") || !ends_operand(i - 1) || end <= i + 1) return;
  if (end == i + 2 && tokens[i + 1].type == '0') return;
  add(i + 1, end, render(i + 1, i + 2, i + 1, "0"), 0);
}
static void mutate_bound(int i) {
  if (is(i, "syn__min")) add(i, i + 1, render(i, i + 1, i, "syn__max"), 0);
  if (is(i, "syn__max")) add(i, i + 1, render(i, i + 1, i, "syn__min"), 0);
}
/* Drops an expression statement, break, continue, or a return that is not the last statement. */
static void mutate_statement(int i) {
  int end = i;
  if (!begins_statement(i) || tokens[i].inside || is_type(i) || tokens[i].type == '#') return;
  if (in(i, " ; { } if else for while do switch case default goto static typedef ")) return;
  if (is(i, "continue") && tokens[i - 1].control && in(tokens[i - 1].match - 1, " for while "))
    return; /* the whole body of a loop */
  if (in(i, " SYN__UNUSED SYN__UNROLL ") || (is(i, "(") && is(i + 1, "void"))) return;
  if (!is(i, "return") && tokens[i].type == 'a' &&
      (tokens[i + 1].type == 'a' || (is(i + 1, "*") && tokens[i + 2].type == 'a')))
    return; /* a declaration */
  for (; tokens[end].function >= 0 && !in(end, " ; ) } ] "); end++)
    if (in(end, " ( [ { ")) end = tokens[end].match;
  if (!is(end, ";") || (is(i, "return") && tokens[end + 1].function < 0)) return;
  add(i, end + 1, render(i, i, -1, NULL), 1);
}

/* -- drawing -- */

static int by_hash(const void *a, const void *b) {
  const mutant *x = (const mutant *)a, *y = (const mutant *)b;
  return x->hash < y->hash ? -1 : x->hash > y->hash ? 1 : strcmp(x->name, y->name);
}
static int by_place(const void *a, const void *b) {
  const mutant *x = (const mutant *)a, *y = (const mutant *)b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}
static int is_refused(const char *refused, const char *name) { /* it is a line of the file */
  size_t n = strlen(name);
  const char *at = refused;
  for (; (at = strstr(at, name)) != NULL; at++)
    if ((at == refused || at[-1] == '\n') && (at[n] == '\n' || !at[n])) return 1;
  return 0;
}
static void draw(int count, const char *refused) {
  int drawn[PARTS] = {0}, i, k, number = 0;
  for (i = 0; i < n_mutants; i++) {
    mutant *m = &mutants[i];
    if (drawn[m->part] == count || is_refused(refused, m->name)) continue;
    for (k = 0; k < i; k++)
      if (mutants[k].number && mutants[k].begin < m->end && m->begin < mutants[k].end) break;
    if (k < i) continue;
    m->number = 1;
    drawn[m->part]++;
  }
  qsort(mutants, (size_t)n_mutants, sizeof *mutants, by_place);
  for (i = 0; i < n_mutants; i++)
    if (mutants[i].number) mutants[i].number = ++number;
}

/* The header with all drawn mutants; every line stays where it is. */
static void write_header(FILE *f) {
  size_t at = 0;
  int i;
  for (i = 0; i < n_mutants; i++) {
    const mutant *m = &mutants[i];
    int size = (int)(m->end - m->begin);
    if (!m->number) continue;
    fwrite(header + at, 1, m->begin - at, f);
    if (m->statement) fprintf(f, "{ if (!MUTANT(%d)) %.*s }", m->number, size, header + m->begin);
    else
      fprintf(f, "(MUTANT(%d) ? (%s) : (%.*s))", m->number, m->text, size, header + m->begin);
    at = m->end;
  }
  fwrite(header + at, 1, header_size - at, f);
}

int main(int argc, char **argv) {
  size_t size;
  char *refused;
  FILE *out;
  int i;
  if (argc != 6) {
    fprintf(stderr, "mutants HEADER COUNT SEED REFUSED OUT >LIST\n");
    return 2;
  }
  header = read_file(argv[1], &header_size);
  seed = strtoull(argv[3], NULL, 10);
  refused = read_file(argv[4], &size);
  read_tokens();
  find_functions();
  for (i = 0; i < n_tokens; i++) {
    if (tokens[i].part < 0 || tokens[i].function < 0) continue;
    mutate_operator(i);
    mutate_sign(i);
    mutate_number(i);
    mutate_index(i);
    mutate_bound(i);
    mutate_statement(i);
  }
  qsort(mutants, (size_t)n_mutants, sizeof *mutants, by_hash);
  draw(atoi(argv[2]), refused);
  out = fopen(argv[5], "wb");
  if (!out) return 2;
  write_header(out);
  for (i = 0; i < n_mutants; i++)
    if (mutants[i].number)
      printf("%d\t%s\t%d\t%d\t%s\n", mutants[i].number, parts[mutants[i].part].name,
             mutants[i].line, mutants[i].last, mutants[i].name);
  fprintf(stderr, "mutants: drawn from %d\n", n_mutants);
  return fclose(out) != 0;
}
