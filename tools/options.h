/* options.h   one table of options per command: parsing, checking, look-up, help.
   syn.c and bench.c include it, after text.h. Not every tool calls all its functions, so they are
   MAYBE_UNUSED. */

/* Every command has one table of its options. Help prints the table, the parser checks values
   against it, and a default is the text that a user would type. Commands look values up by name. */

typedef enum option_kind {
  FLAG,   /* takes no value */
  INT,    /* int */
  BIG,    /* 0 ... 2^64-1, for seeds */
  NUMBER, /* finite double */
  CHOICE, /* one of the words of `wants` */
  TEXT, /* not empty: it may be a variable of the shell that is not set */
  ANY,  /* a text that may be empty */
  READS, /* the name of a file that is read; "-": standard input */
  WRITES /* of a file that is written, or of a folder: no other option may name it, too */
} option_kind;

typedef struct option {
  const char *name; /* without the dashes; null ends the table */
  char letter;      /* of the short form, or 0 */
  option_kind kind;
  const char *preset; /* the default as text; "": none; null: required */
  const char *wants;  /* INT, NUMBER: "lowest..highest", either may be left out; CHOICE: "a|b" */
  const char *help;
} option;

typedef struct arguments arguments;

typedef struct command_row {
  const char *name, *words; /* words: what help shows of the other arguments: "HYP REF" */
  int words_min, words_max; /* their number; max -1: any number */
  const option *options;    /* null where run is null */
  int (*run)(const arguments *a); /* returns the exit status */
  const char *help;
} command_row;

typedef struct given_option {
  const option *of;
  const char *value;
  int of_preset; /* 1: it came with --preset */
} given_option;

/* The parsed and checked arguments, in the order given. */
struct arguments {
  const command_row *command;
  given_option *given;
  const char **words;
  int given_count, word_count, help; /* help: --help was among them */
};

static const option option_help = {"help", 'h', FLAG, "off", "", "prints this"};

/* The name of an option that is nearest to `name`, for messages. */
MAYBE_UNUSED static const char *nearest_option(const option *table, syn_text name) {
  nearest n = {NULL, 0};
  nearest_try(&n, name, "help");
  for (; table->name; table++) nearest_try(&n, name, table->name);
  return n.name;
}

/* The option of `arg` ("--beam", "--beam=4", "-m"); *name: its name without dashes and value. */
MAYBE_UNUSED static const option *find_option(const command_row *c, const char *arg, syn_text *name) {
  const option *o;
  int is_long = arg[1] == '-';
  name->at = arg + 1 + is_long;
  name->size = strcspn(name->at, "=");
  for (o = c->options; o->name; o++) {
    if (is_long && text_is(*name, o->name)) return o;
    if (!is_long && name->size == 1 && o->letter == name->at[0]) return o;
  }
  if (text_is(*name, is_long ? "help" : "h")) return &option_help;
  fail(WRONG_USE, "%s has no option %.*s; the nearest is --%s (%s %s --help lists all)", c->name,
       (int)strcspn(arg, "="), arg, nearest_option(c->options, *name), TOOL_NAME, c->name);
  return NULL;
}

/* Parses s as one integer; 0 when it is none. */
MAYBE_UNUSED static int parse_int(const char *s, int *value) {
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
MAYBE_UNUSED static int parse_big(const char *s, uint64_t *value) {
  unsigned long long x;
  *value = 0;
  if (!*s || s[strspn(s, "0123456789")]) return 0;
  errno = 0;
  x = strtoull(s, NULL, 10);
  *value = (uint64_t)x;
  return !errno;
}

/* Whether x lies in "lowest..highest". Of "1..64" strtod reads "1." and stops. */
MAYBE_UNUSED static int in_range(const char *range, double x) {
  const char *dots = strstr(range, "..");
  if (!dots) return 1;
  if (dots != range && x < strtod(range, NULL)) return 0;
  return !dots[2] || x <= strtod(dots + 2, NULL);
}

/* Whether `value` is one of "a|b|c". */
MAYBE_UNUSED static int in_choices(const char *choices, const char *value) {
  syn_text rest = syn_text_of(choices), choice;
  while (next_piece(&rest, "|", &choice))
    if (text_is(choice, value)) return 1;
  return 0;
}

/* Whether x keeps its meaning as a float, as which most numbers are used: neither infinite, nor 0,
   which often has a meaning of its own. */
MAYBE_UNUSED static int fits_float(double x) {
  return x == 0.0 || (fabs(x) >= 1.2e-38 && fabs(x) <= 3.4e38);
}

/* Whether the kind of the option accepts the value. */
MAYBE_UNUSED static int value_fits(const option *o, const char *value) {
  double x;
  uint64_t big;
  int i;
  if (o->kind == INT) return parse_int(value, &i) && in_range(o->wants, (double)i);
  if (o->kind == NUMBER) return parse_number(value, &x) && fits_float(x) && in_range(o->wants, x);
  if (o->kind == BIG) return parse_big(value, &big);
  if (o->kind >= TEXT && o->kind != ANY) return *value != 0;
  return o->kind != CHOICE || in_choices(o->wants, value);
}

/* The placeholder of the value in help and messages. */
MAYBE_UNUSED static const char *value_name(const option *o) {
  static const char *const names[] = {"", "INT", "INT", "NUMBER"};
  return o->kind >= CHOICE ? o->wants : names[o->kind];
}

MAYBE_UNUSED static void check_value(const command_row *c, const option *o, const char *value) {
  static const char *const kinds[] = {"", "an integer ", "an integer 0..2^64-1", "a number ", "",
                                      "", "", "", ""};
  double x;
  if (value_fits(o, value)) return;
  if (o->kind == NUMBER && parse_number(value, &x) && !fits_float(x))
    fail(WRONG_USE, "%s --%s wants a number %s, 0 or from 1.2e-38 to 3.4e38 in size, given: %s",
         c->name, o->name, o->wants, value);
  if (!*value) value = "nothing";
  fail(WRONG_USE, "%s --%s wants %s%s, given: %s", c->name, o->name, kinds[o->kind], o->wants,
       value);
}

/* Parses one option; `next` is the argument after it, or null. Returns 1 if it was the value. */
MAYBE_UNUSED static int take_option(arguments *a, const char *arg, const char *next) {
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

/* The value of an option: the last one given, else its default, else null. */
MAYBE_UNUSED static const char *option_value(const arguments *a, const option *o) {
  int i;
  for (i = a->given_count - 1; i >= 0; i--)
    if (a->given[i].of == o) return a->given[i].value;
  return o->preset;
}

/* Checks that every required option and the right number of words were given. */
MAYBE_UNUSED static void check_complete(const arguments *a) {
  const command_row *c = a->command;
  const option *o;
  for (o = c->options; o->name; o++)
    if (!option_value(a, o))
      fail(WRONG_USE, "%s wants --%s %s (%s %s --help)", c->name, o->name, value_name(o),
           TOOL_NAME, c->name);
  if (a->word_count >= c->words_min && (c->words_max < 0 || a->word_count <= c->words_max)) return;
  fail(WRONG_USE, "%s wants %s after its options, given: %d%s%s", c->name,
       *c->words ? c->words : "nothing", a->word_count, a->word_count ? ", the last one " : "",
       a->word_count ? a->words[a->word_count - 1] : "");
}

/* Refuses `path`, which option `written` writes or would write, where another option reads or
   writes the same file. */
MAYBE_UNUSED static void check_written(const arguments *a, const char *written, const char *path) {
  int i;
  for (i = 0; i < a->given_count; i++) {
    const option *o = a->given[i].of;
    const char *other = a->given[i].value;
    if (o->kind < READS || !*path || !*other || strcmp(o->name, written) == 0) continue;
    if (o->kind == READS && strcmp(other, "-") == 0 ? strcmp(path, "-") && is_stream(0, path)
                                                    : same_file(path, other))
      fail(WRONG_USE, "%s --%s and --%s name the same file: %s%s%s", a->command->name, written,
           o->name, path, strcmp(path, other) ? ", " : "", strcmp(path, other) ? other : "");
  }
}
/* The words of a command are files that it reads, unless help calls them NAME. */
MAYBE_UNUSED static void check_files(const arguments *a) {
  const option *o;
  int words = strstr(a->command->words, "NAME") ? 0 : a->word_count, i, inputs = 0;
  for (i = 0; i < a->given_count + words; i++) {
    const given_option *g = i < a->given_count ? &a->given[i] : NULL;
    const char *path = g ? g->value : a->words[i - a->given_count];
    if (g && g->of->kind != READS) continue;
    inputs += strcmp(path, "-") == 0;
    if (inputs > 1)
      fail(WRONG_USE, "%s reads standard input once, given twice: -", a->command->name);
    if (is_stream(1, path))
      fail(WRONG_USE, "%s reads %s, and standard output goes there", a->command->name, path);
  }
  for (o = a->command->options; o->name; o++)
    if (o->kind == WRITES) check_written(a, o->name, option_value(a, o));
}

/* Options and words may be mixed; after "--" every argument is a word. */
MAYBE_UNUSED static arguments parse(const command_row *c, int argc, char **argv) {
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
  if (!a.help) check_complete(&a), check_files(&a);
  return a;
}

MAYBE_UNUSED static void arguments_free(arguments *a) {
  free(a->given);
  free((void *)a->words);
}

/* -- look-up of values; the name must be in the table of the command -- */

MAYBE_UNUSED static const char *opt_text(const arguments *a, const char *name) {
  const option *o = a->command->options;
  while (o->name && strcmp(o->name, name) != 0) o++;
  if (!o->name) fail(FAILED_JOB, "the table of %s lacks --%s", a->command->name, name);
  return option_value(a, o);
}
MAYBE_UNUSED static int opt_flag(const arguments *a, const char *name) {
  return strcmp(opt_text(a, name), "on") == 0;
}
/* Numbers are 0 when the option has no value. */
MAYBE_UNUSED static int opt_int(const arguments *a, const char *name) {
  int value;
  parse_int(opt_text(a, name), &value);
  return value;
}
MAYBE_UNUSED static uint64_t opt_big(const arguments *a, const char *name) {
  uint64_t value;
  parse_big(opt_text(a, name), &value);
  return value;
}
MAYBE_UNUSED static double opt_number(const arguments *a, const char *name) {
  double value;
  parse_number(opt_text(a, name), &value);
  return value;
}
/* On the command line, not by --preset. */
MAYBE_UNUSED static int option_given(const arguments *a, const option *o) {
  int i;
  for (i = 0; i < a->given_count; i++)
    if (a->given[i].of == o && !a->given[i].of_preset) return 1;
  return 0;
}
MAYBE_UNUSED static int opt_given(const arguments *a, const char *name) {
  int i;
  for (i = 0; i < a->given_count; i++)
    if (strcmp(a->given[i].of->name, name) == 0) return 1;
  return 0;
}
/* The n-th value of an option that may be repeated (--var), or null after the last. */
MAYBE_UNUSED static const char *opt_each(const arguments *a, const char *name, int n) {
  int i;
  for (i = 0; i < a->given_count; i++)
    if (strcmp(a->given[i].of->name, name) == 0 && n-- == 0) return a->given[i].value;
  return NULL;
}

/* Says which options of "a|b|c" were given although they do nothing here, and why. */
MAYBE_UNUSED static void say_idle(const arguments *a, const char *names, const char *why) {
  const option *o;
  for (o = a->command->options; o->name; o++)
    if (in_choices(names, o->name) && option_given(a, o))
      fprintf(stderr, "syn: --%s has no effect: %s\n", o->name, why);
}

/* -- help -- */

/* Prints "  -m, --model FILE  help; range (default ...)"; the help begins in column 30, or later
   after a long name. */
MAYBE_UNUSED static void print_option(const option *o) {
  const char *value = value_name(o);
  int range = o->kind == INT || o->kind == NUMBER, width;
  printf("  ");
  width = o->letter ? printf("-%c, ", o->letter) : 0;
  width += printf("--%s%s%s", o->name, *value ? " " : "", value);
  printf("%*s  %s", width < 26 ? 26 - width : 0, "", o->help);
  if (range && *o->wants) printf("; %s", o->wants);
  if (!o->preset) printf(" (must be given)\n");
  else if (*o->preset) printf(" (default %s)\n", o->preset);
  else printf("\n");
}

MAYBE_UNUSED static void print_command(const command_row *c) {
  const option *o;
  printf("%s %s [options]%s%s\n  %s\n", TOOL_NAME, c->name, *c->words ? " " : "", c->words,
         c->help);
  for (o = c->options; o->name; o++) print_option(o);
  print_option(&option_help);
}
