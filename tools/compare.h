/* compare.h   the command compare: trains variants of a network with several seeds and tests which
   one is better. A part of syn.c, which includes it behind the options of train and eval. */

#if defined(POSIX) && !defined(NO_PROCESSES) /* NO_PROCESSES: a fuzzer calls the tool */
#define PROCESSES
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#elif defined(_WIN32)
#include <direct.h>
#include <io.h>
#endif

/* ==============================================================================================
   >>tool rows   the variants of a comparison: --kinds and --vary make the arguments of train
   ============================================================================================== */

/* A list of strings that it owns. */
typedef struct word_list {
  char **at; /* [count] */
  size_t count;
} word_list;

static void word_put(word_list *l, const char *at, size_t size) {
  l->at = (char **)grow(l->at, l->count + 1, sizeof *l->at);
  l->at[l->count] = (char *)take(size + 1, 1);
  if (size) memcpy(l->at[l->count], at, size);
  l->count++;
}

static void words_free(word_list *l) {
  size_t i;
  for (i = 0; i < l->count; i++) free(l->at[i]);
  free(l->at);
}

/* Puts --NAME=VALUE; a flag: --NAME where the value is "on". */
static void word_option(word_list *l, const option *o, const char *value) {
  buffer b = {NULL, 0, 0};
  if (o->kind == FLAG && strcmp(value, "on") != 0) return;
  put(&b, "--", 2);
  put(&b, o->name, strlen(o->name));
  if (o->kind != FLAG) put_byte(&b, '='), put(&b, value, strlen(value));
  word_put(l, b.at, b.size);
  free(b.at);
}

/* Whether `text` has the character outside of parentheses. */
static int has_outside(const char *text, char c) {
  int depth = 0;
  for (; *text; text++) {
    if (*text == c && depth == 0) return 1;
    depth += (*text == '(') - (*text == ')');
  }
  return 0;
}

/* Splits at ; or, where there is none, at commas; what is in parentheses is never split. Blanks and
   line ends around a value are dropped. */
static word_list split_values(const char *text, const char *name) {
  char separator = has_outside(text, ';') ? ';' : ',';
  word_list l = {NULL, 0};
  int depth = 0, end;
  const char *from = text, *to;
  for (;; text++) {
    end = !*text || (*text == separator && depth == 0);
    depth += (*text == '(') - (*text == ')');
    if (!end) continue;
    for (to = text; from < to && strchr(" \t\r\n", *from); from++) continue;
    while (to > from && strchr(" \t\r\n", to[-1])) to--;
    if (to == from) fail(WRONG_USE, "compare --%s wants values with commas between, one is empty",
                         name);
    word_put(&l, from, (size_t)(to - from));
    if (!*text) return l;
    from = text + 1;
  }
}

/* One thing that varies. The rows are all combinations; the last axis changes fastest. */
typedef struct axis {
  const option *of; /* an option of train; null: --kinds */
  word_list values;
} axis;

/* Options of train that compare sets itself. */
#define NOT_PASSED "output|checkpoint|resume|json|seed"

static const command_row train_command = {"train", "", 0, 0, train_options, run_train, ""};
static const command_row eval_command = {"eval", "", 0, 0, eval_options, run_eval, ""};

/* The option of train with that name; null: none. */
static const option *train_option(const char *name) {
  const option *o = train_options;
  while (o->name && strcmp(o->name, name) != 0) o++;
  return o->name ? o : NULL;
}
/* The same; null, too, for one that compare sets. */
static const option *passed_option(const char *name) {
  return in_choices(NOT_PASSED, name) ? NULL : train_option(name);
}

/* The text of a preset for --encoder or --decoder; null: it has none. */
static const char *preset_chain(const preset *p, const option *o) {
  return strcmp(o->name, "encoder") == 0 ? p->encoder : p->decoder;
}

/* "@presets" as a value of preset, encoder or decoder: the name of each preset of the task, for
   encoder and decoder with @ before it. */
static void axis_presets(axis *x, const char *of_task) {
  int names = strcmp(x->of->name, "preset") == 0;
  size_t i;
  char name[80];
  for (i = 0; i < COUNT(presets); i++) {
    if (strcmp(presets[i].task, of_task) != 0 || (!names && !preset_chain(&presets[i], x->of)))
      continue;
    snprintf(name, sizeof name, "%s%s", names ? "" : "@", presets[i].name);
    word_put(&x->values, name, strlen(name));
  }
}

/* Reads one --vary OPTION=VALUES. */
static axis axis_read(const arguments *a, const char *text) {
  const char *equals = strchr(text, '=');
  char name[80];
  axis x;
  size_t i;
  int g;
  memset(&x, 0, sizeof x);
  snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - text : 0), text);
  if (!*name) fail(WRONG_USE, "compare --vary wants OPTION=A,B,..., given: %s", text);
  x.of = passed_option(name);
  if (!x.of && in_choices(NOT_PASSED, name))
    fail(WRONG_USE, "compare --vary %s: compare itself sets --%s", name, name);
  if (!x.of)
    fail(WRONG_USE, "compare --vary %s: train has no such option; the nearest is %s", name,
         nearest_option(train_options, syn_text_of(name)));
  for (g = 0; g < a->given_count; g++)
    if (strcmp(a->given[g].of->name, name) == 0 && !a->given[g].of_preset && x.of->kind != FLAG &&
        strcmp(name, "var") != 0)
      fail(WRONG_USE, "compare has --%s and varies it, too; one of them is wanted", name);
  if (in_choices("preset|encoder|decoder", name) && strcmp(equals + 1, "@presets") == 0)
    axis_presets(&x, opt_text(a, "task"));
  else x.values = split_values(equals + 1, "vary");
  for (i = 0; i < x.values.count; i++)
    if (x.of->kind == FLAG ? !in_choices("on|off", x.values.at[i])
                           : !value_fits(x.of, x.values.at[i]))
      fail(WRONG_USE, "compare --vary %s wants values %s, given: %s", name,
           x.of->kind == FLAG ? "on,off" : x.of->wants, x.values.at[i]);
  return x;
}

/* -- --init with the folder of another comparison: each run starts from its own row and seed there -- */

static char *path_in(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = (char *)take(size, 1);
  snprintf(path, size, "%s/%s", folder, name);
  return path;
}

/* Whether --init names the folder of a comparison. */
static int init_is_folder(const arguments *a) {
  const char *init = opt_text(a, "init");
  char *command = path_in(init, "command");
  int is = *init && file_exists(command);
  free(command);
  return is;
}

/* The model that a run starts from: of --init, or in that folder. The caller frees it. */
static char *init_path(const arguments *a, size_t row, uint64_t seed) {
  const char *init = opt_text(a, "init");
  char name[80], *path;
  snprintf(name, sizeof name, "row%lu-seed%llu.safetensors", (unsigned long)row + 1,
           (unsigned long long)seed);
  if (init_is_folder(a)) return path_in(init, name);
  path = (char *)take(strlen(init) + 1, 1);
  memcpy(path, init, strlen(init));
  return path;
}

/* -- --kinds -- */

static int is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/* A kind that begins with a capital is a mixture of syn_att ("R+V"), any other one is a layer with
   its arguments ("light_conv(k=3)"). */
static void put_kind(buffer *b, const char *kind, int bare) {
  int mixture = kind[0] >= 'A' && kind[0] <= 'Z' && !strchr(kind, '(');
  if (mixture && !bare) put(b, "syn_att(", 8);
  put(b, kind, strlen(kind));
  if (mixture && !bare) put_byte(b, ')');
}

/* Whether the text so far ends in "syn_att(", blanks aside. */
static int inside_syn_att(const buffer *b) {
  size_t n = b->size;
  while (n && b->at[n - 1] == ' ') n--;
  return n >= 8 && memcmp(b->at + n - 8, "syn_att(", 8) == 0;
}

/* The end of the arguments in parentheses at `at`, if there are any. */
static const char *skip_arguments(const char *at) {
  const char *open = at + strspn(at, " \t\r\n");
  int depth = 0;
  if (*open != '(') return at;
  for (; *open; open++) {
    depth += (*open == '(') - (*open == ')');
    if (!depth) return open + 1;
  }
  return open;
}

/* Puts a text of layers with the kind in it: in place of each $KIND or, where the text has none, of
   each syn_att and mh_dot_self_att with its arguments. Inside "syn_att($KIND" it is the mixture as
   given, elsewhere the layer. Returns the number of places. */
static int put_chain(buffer *b, const char *text, const char *kind) {
  int marked = strstr(text, "$KIND") != NULL, places = 0;
  size_t n;
  while (*text) {
    int variable = *text == '$';
    for (n = (size_t)variable; is_name(text[n]); n++) continue;
    if (marked ? n == 5 && memcmp(text, "$KIND", 5) == 0
               : !variable && ((n == 7 && memcmp(text, "syn_att", 7) == 0) ||
                               (n == 15 && memcmp(text, "mh_dot_self_att", 15) == 0))) {
      put_kind(b, kind, marked && inside_syn_att(b));
      text = marked ? text + n : skip_arguments(text + n);
      places++;
    } else {
      if (!n) n = 1;
      put(b, text, n);
      text += n;
    }
  }
  put_byte(b, 0);
  return places;
}

/* Appends --encoder and --decoder with the kind to the arguments of a row, which has all others. */
static void row_kind(const arguments *a, word_list *l, const char *kind) {
  const char *where = opt_text(a, "where");
  arguments given = parse(&train_command, (int)l->count, l->at);
  buffer b = {NULL, 0, 0};
  int places = 0, here;
  network n;
  task of;
  preset_apply(&given);
  n = network_of(&given);
  of = task_of(n.config.task);
  if (init_is_folder(a)) places = -1; /* its rows are these */
  else if (*opt_text(a, "init") && !opt_given(&given, "encoder") && !opt_given(&given, "decoder"))
    fail(WRONG_USE, "compare --kinds changes the texts of --encoder and --decoder; beside --init "
         "one of them is wanted");
  if (places == 0 && of != LM && strcmp(where, "decoder") != 0) {
    here = put_chain(&b, n.config.encoder, kind);
    if (here) word_option(l, passed_option("encoder"), b.at);
    places += here;
  }
  b.size = 0;
  if (places >= 0 && of <= LM && strcmp(where, "encoder") != 0) {
    here = put_chain(&b, n.config.decoder, kind);
    if (here) word_option(l, passed_option("decoder"), b.at);
    places += here;
  }
  if (!places)
    fail(WRONG_USE, "compare --kinds found nothing to replace: no syn_att, mh_dot_self_att or $KIND "
         "in the %s", strcmp(where, "both") ? where : "encoder and decoder");
  free(b.at);
  network_free(&n);
  arguments_free(&given);
}

/* -- rows -- */

typedef struct row_of {
  char *name;     /* "R+V", "heads=2", both with a comma between */
  word_list args; /* of train, but those of one run */
} row_of;

/* The value of axis x in row i of `rows`; *below: rows per value of the axis before it. */
static const char *row_value(const axis *x, size_t i, size_t *below) {
  *below /= x->values.count;
  return x->values.at[i / *below % x->values.count];
}

/* Appends what a row has of one axis of --vary. A text @NAME is that of the preset, with its
   variables: of --var the first one holds. */
static void row_vary(word_list *l, const axis *x, const char *value) {
  const preset *p;
  size_t i;
  if (value[0] != '@' || !in_choices("encoder|decoder", x->of->name)) {
    word_option(l, x->of, value);
    return;
  }
  p = preset_find(value + 1);
  if (!preset_chain(p, x->of))
    fail(WRONG_USE, "compare --vary %s: the preset %s has none", x->of->name, p->name);
  word_option(l, x->of, preset_chain(p, x->of));
  for (i = 0; i < COUNT(preset_vars); i++) word_option(l, passed_option("var"), preset_vars[i]);
}

/* "NAME: TEXT" as a value of --kinds, encoder or decoder names the row: the size of NAME; 0: none.
   The language of layers has no colon but in comments. */
static size_t label_size(const axis *x, const char *value) {
  size_t n = strcspn(value, ":(|>#$@");
  return value[n] == ':' && (!x->of || in_choices("encoder|decoder", x->of->name)) ? n : 0;
}

/* Appends the name of the value to that of the row, on one line and without TABs. Returns the value
   without its label. */
static const char *row_name(buffer *b, const axis *x, const char *value) {
  size_t n = label_size(x, value), i = b->size;
  if (b->size) put(b, ", ", 2);
  if (x->of) put(b, x->of->name, strlen(x->of->name)), put_byte(b, '=');
  put(b, value, n ? n : strlen(value));
  for (; i < b->size; i++)
    if ((unsigned char)b->at[i] < ' ') b->at[i] = ' ';
  return n ? value + n + 1 + strspn(value + n + 1, " ") : value;
}

/* Whether an axis has the flag: what is given is then for the test alone. */
static int flag_varies(const option *o, const axis *axes, size_t n_axes) {
  size_t x;
  for (x = 0; x < n_axes; x++)
    if (o->kind == FLAG && axes[x].of == o) return 1;
  return 0;
}

/* Row i of `rows`: the options of train that were given, then the values of the axes. */
static row_of row_make(const arguments *a, const axis *axes, size_t n_axes, size_t i, size_t rows) {
  buffer name = {NULL, 0, 0};
  const char *kind = NULL;
  size_t below = rows, x;
  row_of r;
  int g;
  memset(&r, 0, sizeof r);
  word_put(&r.args, "--output=-", 10); /* a run gives its own */
  for (g = 0; g < a->given_count; g++) {
    const option *o = passed_option(a->given[g].of->name);
    if (o && !flag_varies(o, axes, n_axes)) word_option(&r.args, o, a->given[g].value);
  }
  for (x = 0; x < n_axes; x++) {
    const char *value = row_name(&name, &axes[x], row_value(&axes[x], i, &below));
    if (axes[x].of) row_vary(&r.args, &axes[x], value);
    else kind = value;
  }
  if (kind) row_kind(a, &r.args, kind);
  put_byte(&name, 0);
  r.name = name.at;
  return r;
}

/* Refuses files that the runs in this folder, or compare itself, would overwrite there: row..., lock
   and command. */
static void check_folder(const arguments *a, const char *folder) {
  int i;
  for (i = 0; i < a->given_count; i++) {
    const option *o = a->given[i].of;
    char *path = path_behind(a->given[i].value), *name = path + (file_name(path) - path);
    int own = strncmp(name, "row", 3) == 0 || in_choices("lock|command", name);
    *name = 0;
    own = own && (o->kind == READS || strcmp(o->name, "page") == 0) &&
          same_file(*path ? path : ".", folder);
    free(path);
    if (own)
      fail(WRONG_USE, "compare --%s %s: compare itself writes files of this name in its folder; "
           "--folder DIR names another", o->name, a->given[i].value);
  }
}

/* Builds the network of a row without weights: a mistake in one row shall show before any training.
   Returns its task. init: the model of its first run, or "". *form: also the form of its outputs,
   see model_form. */
static task row_check(const row_of *r, const char *init, const char *folder, int *form) {
  arguments a = parse(&train_command, (int)r->args.count, r->args.at);
  syn_context c;
  syn_plan plan;
  network n;
  task of;
  preset_apply(&a);
  train_check_rule(&a);
  check_folder(&a, folder);
  context_open(&c, &a);
  n = network_of(&a);
  of = task_of(n.config.task);
  n.config.src_vocab = n.config.tgt_vocab = SYN_FIRST_TOKEN + 1;
  n.config.classes = 2;
  if (of >= MLM)
    fail(WRONG_USE, "compare has no metrics for the task %s; eval has", n.config.task);
  *form |= tokenizer_flags(&a, SEQ2SEQ, 1);
  if (*init) {
    syn_model *m = syn_model_load(&c, init);
    check_file(&c, init);
    *form |= model_form(m);
    if (!opt_given(&a, "task")) of = task_of(syn_model_config(m)->task);
    syn_model_free(m);
  } else if (syn_plan_of(&c, &n.config, NULL, NULL, &plan)) {
    fail(WRONG_USE, "compare, row %s: %s", r->name, c.message);
  }
  network_free(&n);
  arguments_free(&a);
  return of;
}

/* ==============================================================================================
   >>tool runs   one training and test of each row with each seed, in a folder that remembers them
   ============================================================================================== */

/* Every run is a process of its own: it trains like the command train with --checkpoint and
   --resume, and a second process measures the model. Each step ends with a file that is written
   beside and renamed, so the files alone say what is left to do, whatever stopped the program:

     .part          the model, as train wrote it; renamed to .safetensors where it was not stopped
     .safetensors   the trained model
     .jsonl         its log; .time: the seconds it took; .err: its messages
     .out .tags     the outputs of the test, a line each; tag: also tag by tag
     .loss          of each sentence (lm: window) of the test: nats, labels, characters
     .tsv           parameters, updates, seconds, updates a second, share of unknown tokens */
static const char *const run_files[] = {"part", "safetensors", "checkpoint", "jsonl", "time",
                                        "err",  "out",         "tags",       "loss",  "tsv"};
enum { F_PART, F_MODEL, F_CHECKPOINT, F_LOG, F_TIME, F_ERRORS, F_OUT, F_TAGS, F_LOSS, F_RESULT,
       F_COUNT };

enum { PHASE_TRAIN, PHASE_TEST, PHASE_DONE };

typedef struct one_run {
  const row_of *row;
  uint64_t seed;
  char *init; /* the model it starts from, or "" */
  char *path[F_COUNT];
  int running, told, done, failed; /* told: to stop; done: its results are read */
  int phase;  /* that its process is in: PHASE_... */
  long process;
  double parameters, updates, seconds, rate;
  double unknown; /* share of the tokens of the test */
} one_run;

typedef struct comparison {
  const arguments *a;
  row_of *row;   /* [rows] */
  one_run *run;  /* [seeds][rows] */
  size_t rows, seeds;
  task of;
  word_list metrics;
  int outputs, losses; /* whether a metric needs them */
  metric_options options;
  pairs references;    /* of the test; none of lm */
  word_list shown;     /* messages of runs that were printed */
  double begin;        /* seconds() at the start of the program */
  size_t ready;        /* runs that were done already then */
} comparison;

static int run_phase(const comparison *k, const one_run *r) {
  int measured = file_exists(r->path[F_RESULT]) && (!k->outputs || file_exists(r->path[F_OUT])) &&
                 (!k->losses || file_exists(r->path[F_LOSS]));
  return measured ? PHASE_DONE : file_exists(r->path[F_MODEL]) ? PHASE_TEST : PHASE_TRAIN;
}

/* -- training -- */

/* The run that this process trains, and when it began. */
static const one_run *run_now = NULL;
static double run_begin = 0.0;

/* At the end of a training, also of one that failed because it has not learned: keeps its model,
   unless a signal stopped it before the end. The time comes first: the model is the last step. */
static void run_keep(void) {
  const one_run *r = run_now;
  char time[60];
  syn_context c;
  run_now = NULL;
  if (!r || stopped_by || !file_exists(r->path[F_PART])) return;
  syn_context_init(&c, NULL);
  snprintf(time, sizeof time, "%.3f\n", train_session.used + seconds() - run_begin);
  write_bytes(&c, r->path[F_TIME], time, strlen(time));
  if (!c.status) rename_file(r->path[F_PART], r->path[F_MODEL]);
}

/* The step of a checkpoint; -1: there is none that can be read. */
static double checkpoint_step(const char *path) {
  double step = -1.0;
  syn_context c;
  syn_file *f;
  const char *text;
  if (!file_exists(path)) return step;
  syn_context_init(&c, NULL);
  f = syn_file_load(&c, path);
  text = f ? syn_file_value(f, "train.step") : NULL;
  if (text && !parse_number(text, &step)) step = -1.0;
  syn_file_free(f);
  return step;
}

/* A line of the log. */
typedef struct log_point {
  double step, seconds, loss, valid; /* valid: NaN where there was no validation */
} log_point;

/* The points of a log; *count 0: none. A last line that is cut off is no point. */
static log_point *log_read(const char *path, size_t *count) {
  buffer file = {NULL, 0, 0};
  log_point *at;
  size_t i, begin = 0, most = 1;
  *count = 0;
  if (!file_exists(path)) return NULL;
  file = read_file(path);
  for (i = 0; i < file.size; i++) most += file.at[i] == '\n';
  at = (log_point *)take(most, sizeof *at);
  for (i = 0; i < file.size; i++) {
    log_point *p = &at[*count];
    const char *line = file.at + begin;
    if (file.at[i] != '\n') continue;
    file.at[i] = 0;
    begin = i + 1;
    if (!log_number(line, "\"step\":", &p->step) || !log_number(line, "\"loss\":", &p->loss) ||
        !log_number(line, "\"seconds\":", &p->seconds)) continue;
    if (!log_number(line, "\"valid\":", &p->valid)) p->valid = (double)NAN;
    ++*count;
  }
  free(file.at);
  return at;
}

/* Cuts the log behind the step of the checkpoint: what comes after it happens again. Returns the
   seconds that the training had taken there; every checkpoint has its line. */
static double log_cut(const one_run *r) {
  double step = checkpoint_step(r->path[F_CHECKPOINT]), used = 0.0, at, seconds_then;
  buffer file = {NULL, 0, 0};
  size_t i, begin = 0, keep = 0;
  if (step < 0.0) remove_file(r->path[F_LOG]);
  if (!file_exists(r->path[F_LOG])) return 0.0;
  file = read_file(r->path[F_LOG]);
  for (i = 0; i < file.size; i++) {
    if (file.at[i] != '\n') continue;
    file.at[i] = 0;
    if (!log_number(file.at + begin, "\"step\":", &at) || at > step) break;
    if (log_number(file.at + begin, "\"seconds\":", &seconds_then)) used = seconds_then;
    file.at[i] = '\n';
    begin = keep = i + 1;
  }
  write_file(r->path[F_LOG], file.at, keep);
  free(file.at);
  return used;
}

/* Trains one run; its log goes to stdout, which the caller has redirected. */
static int run_training(const one_run *r) {
  word_list l = {NULL, 0};
  char seed[40];
  arguments a;
  size_t i;
  int status;
  for (i = 0; i < r->row->args.count; i++)
    word_put(&l, r->row->args.at[i], strlen(r->row->args.at[i]));
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
  word_option(&l, train_option("output"), r->path[F_PART]);
  word_option(&l, train_option("checkpoint"), r->path[F_CHECKPOINT]);
  word_option(&l, train_option("seed"), seed);
  if (*r->init) word_option(&l, train_option("init"), r->init);
  if (file_exists(r->path[F_CHECKPOINT])) word_put(&l, "--resume", 8);
  word_put(&l, "--json", 6);
  a = parse(&train_command, (int)l.count, l.at);
  preset_apply(&a);
  train_session.gap = 30.0; /* so a kill costs at most half a minute */
  train_session.saved = seconds();
  status = run_train(&a);
  run_keep();
  arguments_free(&a);
  words_free(&l);
  return status;
}

/* -- test -- */

static arguments test_arguments(const comparison *k, const one_run *r, word_list *l) {
  static const char *const same[] = {"beam", "alpha", "type", "threads", "isa",
                                     "alternatives", "too-long"};
  static const char *const from[] = {"test", "test-src", "test-tgt"}, *const to[] = {"data", "src",
                                                                                     "tgt"};
  const option *o;
  size_t i;
  for (o = eval_options; o->name; o++) {
    if (strcmp(o->name, "model") == 0) word_option(l, o, r->path[F_MODEL]);
    for (i = 0; i < COUNT(same); i++)
      if (strcmp(o->name, same[i]) == 0 && opt_given(k->a, same[i]))
        word_option(l, o, opt_text(k->a, same[i]));
    for (i = 0; i < COUNT(to); i++)
      if (strcmp(o->name, to[i]) == 0 && opt_given(k->a, from[i]))
        word_option(l, o, opt_text(k->a, from[i]));
  }
  return parse(&eval_command, (int)l->count, l->at);
}

/* Decodes the test; tag: also writes the tags of outputs and references, with TABs between, in turn. */
static void test_outputs(evaluation *e, const one_run *r) {
  buffer out = {NULL, 0, 0}, tags = {NULL, 0, 0};
  syn_text *piece;
  encoder ids;
  size_t i, n, at;
  int side;
  memset(&ids, 0, sizeof ids);
  eval_decode(e);
  piece = (syn_text *)take(e->n_tags, sizeof *piece);
  for (i = 0; i < e->p.count; i++) {
    put(&out, e->hyp[i].at, e->hyp[i].size);
    put_byte(&out, '\n');
    if (e->of != TAG) continue;
    n = eval_split_tags(e, &ids, e->p.side[1][i], piece, 0);
    for (side = 0; side < 2; side++) {
      if (side) eval_split_tags(e, &ids, e->p.side[1][i], piece, n);
      else eval_split_tags(e, &ids, e->hyp[i], piece, n);
      for (at = 0; at < n; at++) {
        if (at) put_byte(&tags, '\t');
        put(&tags, piece[at].at, piece[at].size);
      }
      put_byte(&tags, '\n');
    }
  }
  if (e->of == TAG) write_file(r->path[F_TAGS], tags.at, tags.size);
  write_file(r->path[F_OUT], out.at, out.size);
  free(piece);
  free(ids.ids);
  free(out.at);
  free(tags.at);
}

/* Losses of the rows of d, their labels and characters, a line each. lm: windows of a text of
   `characters[0]` characters, of which each window has the share that it has of the labels. Else row
   [n] says which row of d each sentence is: one that does not fit the model has none, SIZE_MAX. */
static buffer loss_lines(evaluation *e, syn_data *d, const size_t *row, const double *characters,
                         size_t n) {
  buffer out = {NULL, 0, 0};
  size_t rows = syn_data_count(d), i;
  double *loss = (double *)take(rows, sizeof *loss), all = 0.0;
  int64_t *labels = (int64_t *)take(rows, sizeof *labels);
  if (rows) syn_model_evaluate_rows(&e->c, e->m, d, loss, labels);
  check(&e->c);
  for (i = 0; i < rows; i++) all += (double)labels[i];
  for (i = 0; i < n; i++) {
    size_t at = row ? row[i] : i;
    int there = at < rows;
    put_format(&out, "%.17g\t%lld\t%.17g\n", there ? loss[at] : 0.0,
               there ? (long long)labels[at] : 0LL,
               row ? characters[i] : *characters * (double)labels[at] / all);
  }
  free(loss);
  free(labels);
  return out;
}

static buffer loss_windows(evaluation *e, syn_data *d) {
  int window = syn_model_config(e->m)->max_len;
  buffer text = read_data(opt_text(e->a, "data"), e->how);
  double characters = count_characters(buffer_text(&text));
  windows_add(&e->p.encoders[1], d, buffer_text(&text), syn_model_tokenizer(e->m, SYN_TGT), window,
              window > 1 ? window / 2 : 1);
  check(&e->c);
  eval_unknown(e);
  free(text.at);
  return loss_lines(e, d, NULL, &characters, syn_data_count(d));
}

static buffer loss_pairs(evaluation *e, syn_data *d) {
  size_t *row = (size_t *)take(e->p.count, sizeof *row), i, before;
  double *characters = (double *)take(e->p.count, sizeof *characters);
  buffer out;
  for (i = 0; i < e->p.count; i++) {
    before = syn_data_count(d);
    characters[i] = loss_add(e, d, i);
    row[i] = syn_data_count(d) > before ? before : SIZE_MAX;
  }
  out = loss_lines(e, d, row, characters, e->p.count);
  loss_left_out(e);
  free(row);
  free(characters);
  return out;
}

static void test_losses(evaluation *e, const one_run *r) {
  syn_data *d = syn_data_new(&e->c);
  buffer out;
  check(&e->c);
  out = e->of == LM ? loss_windows(e, d) : loss_pairs(e, d);
  write_file(r->path[F_LOSS], out.at, out.size);
  free(out.at);
  syn_data_free(d);
}

/* What is known of the training. Updates a second are those between the first line and the last one
   of the log: without reading the data, with validations. */
static void test_result(const evaluation *e, const one_run *r) {
  double updates = checkpoint_step(r->path[F_CHECKPOINT]), time = 0.0, rate;
  buffer out = {NULL, 0, 0}, text = {NULL, 0, 0};
  size_t n;
  log_point *p = log_read(r->path[F_LOG], &n);
  if (file_exists(r->path[F_TIME])) text = read_file(r->path[F_TIME]);
  put_byte(&text, 0);
  time = strtod(text.at, NULL);
  if (updates < 0.0) updates = n ? p[n - 1].step : 0.0;
  rate = time > 0.0 ? updates / time : 0.0;
  if (n > 1 && p[n - 1].seconds > p[0].seconds)
    rate = (p[n - 1].step - p[0].step) / (p[n - 1].seconds - p[0].seconds);
  put_format(&out, "parameters\t%lu\nupdates\t%.0f\nseconds\t%.3f\nrate\t%.4f\nunknown\t%.6f\n",
             (unsigned long)parameters_of(e->m), updates, time, rate, e->unknown);
  write_file(r->path[F_RESULT], out.at, out.size);
  free(out.at);
  free(text.at);
  free(p);
}

/* Measures a trained model; writes only what is not there yet. The loss of lm also counts the
   unknown tokens of the result. */
static int run_test(const comparison *k, const one_run *r) {
  word_list l = {NULL, 0};
  arguments a = test_arguments(k, r, &l);
  int whole = !file_exists(r->path[F_RESULT]);
  evaluation e;
  eval_open(&e, &a);
  eval_read(&e);
  if (k->outputs && !file_exists(r->path[F_OUT])) test_outputs(&e, r);
  if (k->losses && (whole || !file_exists(r->path[F_LOSS]))) test_losses(&e, r);
  if (whole) test_result(&e, r);
  eval_close(&e);
  arguments_free(&a);
  words_free(&l);
  return 0;
}

/* -- processes -- */

#if defined(PROCESSES)
static pid_t run_parent;

/* Once a second: a run whose parent was killed ends, so that the next command finds its folder free.
   Its last checkpoint stays. */
static void on_alarm(int number) {
  if (getppid() != run_parent) _exit(FAILED_JOB);
  signal(number, on_alarm);
  alarm(1);
}

static void run_start(const comparison *k, one_run *r, int phase) {
  fflush(stdout);
  fflush(stderr);
  run_parent = getpid();
  if (phase == PHASE_TRAIN) train_session.used = log_cut(r);
  r->process = (long)fork();
  if (r->process < 0) fail(FAILED_JOB, "cannot start a process: %s", strerror(errno));
  r->running = 1;
  if (r->process) return;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  if (stopped_by) _exit(FAILED_JOB); /* the signal came before this line */
  on_alarm(SIGALRM);
  if (phase == PHASE_TRAIN) remove_file(r->path[F_ERRORS]); /* a link is not followed */
  if (!freopen(r->path[F_ERRORS], phase == PHASE_TEST ? "ab" : "wb", stderr)) _exit(FAILED_JOB);
  if (phase == PHASE_TEST) exit(run_test(k, r));
  if (!freopen(r->path[F_LOG], "ab", stdout))
    fail(FAILED_JOB, "cannot write %s: %s", r->path[F_LOG], strerror(errno));
  remove_file(r->path[F_PART]);
  run_now = r;
  run_begin = seconds();
  atexit(run_keep);
  exit(run_training(r));
}

/* Waits for the end of a run and returns it, with its exit status; -1: a signal ended it. Passes a
   signal on, once, for a second one ends a training at once: the runs write their checkpoints. */
static one_run *run_wait(const comparison *k, int *status) {
  struct timespec pause = {0, 5000000};
  int how;
  size_t i;
  for (;; nanosleep(&pause, NULL)) {
    for (i = 0; i < k->rows * k->seeds; i++) {
      one_run *r = &k->run[i];
      if (!r->running) continue;
      if (stopped_by && !r->told) kill((pid_t)r->process, SIGTERM), r->told = 1;
      if (waitpid((pid_t)r->process, &how, WNOHANG) != (pid_t)r->process) continue;
      r->running = 0;
      *status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
      return r;
    }
  }
}

static void folder_make(const char *path) {
  if (mkdir(path, 0777) && errno != EEXIST)
    fail(FAILED_JOB, "cannot make the folder %s: %s", path, strerror(errno));
}

/* One comparison at a time in a folder. The runs inherit the lock, so it lasts until the last run of
   a killed program has ended, a second at most. */
static void folder_lock(const char *path) {
  struct timespec pause = {0, 20000000};
  int file = open(path, O_RDWR | O_CREAT, 0666), tries = 100;
  if (file < 0) fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
  while (flock(file, LOCK_EX | LOCK_NB)) {
    if (!tries--) fail(FAILED_JOB, "%s: another syn compare uses this folder", path);
    nanosleep(&pause, NULL);
  }
}

static int count_cores(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}
#else
static one_run *run_last = NULL;
static int run_status;

/* Without fork the run is a call: one at a time, and an error ends the program. The next command
   goes on behind it. */
static void run_start(const comparison *k, one_run *r, int phase) {
#ifdef _WIN32
  FILE *log;
  int saved = 0;
  if (phase == PHASE_TRAIN) {
    train_session.used = log_cut(r);
    remove_file(r->path[F_PART]);
    log = open_file(r->path[F_LOG], "ab");
    if (!log) fail(FAILED_JOB, "cannot write %s: %s", r->path[F_LOG], strerror(errno));
    fflush(stdout);
    saved = _dup(1);
    _dup2(_fileno(log), 1);
    if (run_begin == 0.0) atexit(run_keep);
    run_now = r;
    run_begin = seconds();
    run_status = run_training(r);
    fflush(stdout);
    _dup2(saved, 1);
    _close(saved);
    fclose(log);
  } else run_status = run_test(k, r);
  run_last = r;
  r->running = 1;
#else
  UNUSED(k), UNUSED(r), UNUSED(phase);
  UNUSED(run_training), UNUSED(run_test), UNUSED(log_cut), UNUSED(run_begin);
  fail(FAILED_JOB, "compare needs processes, which this system does not have");
#endif
}
static one_run *run_wait(const comparison *k, int *status) {
  one_run *r = run_last;
  UNUSED(k);
  r->running = 0;
  *status = run_status;
  return r;
}
static void folder_make(const char *path) {
#ifdef _WIN32
  wchar_t wide[WIDE_PATH];
  if (!wide_path(wide, path) || (_wmkdir(wide) && errno != EEXIST))
    fail(FAILED_JOB, "cannot make the folder %s: %s", path, strerror(errno));
#else
  UNUSED(path);
#endif
}
static void folder_lock(const char *path) { UNUSED(path); }
static int count_cores(void) { return 1; }
#endif

/* -- the folder: which command its runs belong to -- */

/* Options that may change from one command to the next: what they concern is made anew, or not at
   all. A larger --seeds adds runs. */
#define FREE_OPTIONS \
  "folder|jobs|seeds|metric|samples|format|json|tsv|page|" OWN_METRIC_OPTIONS
#define FILE_OPTIONS "data|src|tgt|valid|valid-src|valid-tgt|test|test-src|test-tgt|init"

/* FNV-1a of the bytes of a file: a text that was changed is another text. Of a folder of --init: of
   its command. */
static void put_hash(buffer *b, const char *path, int folder) {
  char *inside = path_in(path, "command");
  buffer file;
  uint64_t h = 14695981039346656037u;
  size_t i;
  if (strcmp(path, "-") == 0)
    fail(WRONG_USE, "compare wants files, which it reads once a run, given: - (standard input)");
  file = read_file(folder ? inside : path);
  for (i = 0; i < file.size; i++) h = (h ^ (unsigned char)file.at[i]) * 1099511628211u;
  put_format(b, " of the bytes %08lx%08lx", (unsigned long)(h >> 32),
             (unsigned long)(h & 0xFFFFFFFFu));
  free(inside);
  free(file.at);
}

/* The hash of each file of a --vary. */
static void put_vary_hashes(buffer *b, const char *vary) {
  const size_t size = strcspn(vary, "=");
  char name[16];
  word_list files;
  size_t i;
  snprintf(name, sizeof name, "%.*s", (int)size, vary);
  if (!vary[size] || size >= sizeof name || !in_choices(FILE_OPTIONS, name)) return;
  files = split_values(vary + size + 1, "vary");
  for (i = 0; i < files.count; i++) put_hash(b, files.at[i], 0);
  words_free(&files);
}

/* One line for each option: its name, TAB, its value as JSON; --var and --vary: all values. */
static buffer command_text(const arguments *a) {
  buffer b = {NULL, 0, 0};
  const option *o;
  for (o = a->command->options; o->name; o++) {
    const char *value = opt_text(a, o->name), *each;
    int n;
    if (in_choices(FREE_OPTIONS, o->name)) continue;
    put(&b, o->name, strlen(o->name));
    put_byte(&b, '\t');
    for (n = 0; in_choices("var|vary", o->name) && (each = opt_each(a, o->name, n)) != NULL; n++) {
      put_json(&b, syn_text_of(each));
      if (strcmp(o->name, "vary") == 0) put_vary_hashes(&b, each);
      put_byte(&b, ' ');
    }
    if (!n) put_json(&b, syn_text_of(value));
    if (*value && in_choices(FILE_OPTIONS, o->name))
      put_hash(&b, value, strcmp(o->name, "init") == 0 && init_is_folder(a));
    put_byte(&b, '\n');
  }
  return b;
}

/* The value of an option in the text of a command, as JSON with the hash of a file; empty: the text
   does not name the option. */
static syn_text command_value(const buffer *command, const char *name) {
  syn_text rest = buffer_text(command), line, key;
  while (next_piece(&rest, "\n", &line)) {
    next_piece(&line, "\t", &key);
    if (text_is(key, name)) return line;
  }
  return rest;
}

/* What command_text has made. A file that was cut must not count as the defaults. */
static buffer command_read(const char *path) {
  const buffer b = read_file(path);
  if (!b.size || b.at[b.size - 1] != '\n')
    fail(FAILED_JOB, "%s: %lu bytes without an end of the last line, wanted the options of the runs "
         "in its folder; --folder DIR names another folder", path, (unsigned long)b.size);
  return b;
}

/* Refuses a folder with an option that compare does not have. */
static void command_known(const arguments *a, const buffer *had) {
  syn_text rest = buffer_text(had), line, key;
  while (next_piece(&rest, "\n", &line)) {
    const option *o = a->command->options;
    next_piece(&line, "\t", &key);
    while (o->name && !text_is(key, o->name)) o++;
    if (!o->name && key.size)
      fail(WRONG_USE, "compare: the runs in %s have --%.*s, which this syn does not know; --folder "
           "DIR names another folder", opt_text(a, "folder"), (int)key.size, key.at);
  }
}

/* Refuses a folder whose runs have other options, and names the first one that differs. Where the
   folder does not name an option, its syn did not have it yet: the runs have the default. */
static void command_same(const arguments *a, const buffer *now, const char *path) {
  buffer had = command_read(path), standard = {NULL, 0, 0};
  const option *o;
  command_known(a, &had);
  for (o = a->command->options; o->name; o++) {
    syn_text is = command_value(now, o->name), was = command_value(&had, o->name);
    if (!is.size) continue; /* one of FREE_OPTIONS */
    standard.size = 0;
    put_json(&standard, syn_text_of(o->preset ? o->preset : ""));
    if (!was.size) was = buffer_text(&standard);
    if (!text_equal(is, was))
      fail(WRONG_USE, "compare: the runs in %s have --%s %.*s, now given: %.*s; --folder DIR names "
           "another folder", opt_text(a, "folder"), o->name, (int)was.size, was.at, (int)is.size,
           is.at);
  }
  free(standard.at);
  free(had.at);
}

static void folder_open(const arguments *a) {
  const char *folder = opt_text(a, "folder");
  buffer now = command_text(a), path = {NULL, 0, 0};
  folder_make(folder);
  put(&path, folder, strlen(folder));
  put(&path, "/lock", 6);
  folder_lock(path.at);
  path.size -= 6;
  put(&path, "/command", 9);
  if (file_exists(path.at)) command_same(a, &now, path.at);
  else write_file(path.at, now.at, now.size);
  free(now.at);
  free(path.at);
}

/* The rows of a folder of --init must be these. */
static void init_same(const arguments *a) {
  static const char *const names[] = {"kinds", "where", "vary"};
  char *path = path_in(opt_text(a, "init"), "command");
  buffer now, had = {NULL, 0, 0};
  size_t i;
  if (!init_is_folder(a)) {
    free(path);
    return;
  }
  if (*opt_text(a, "kinds") && (opt_given(a, "encoder") || opt_given(a, "decoder")))
    fail(WRONG_USE, "compare --init %s --kinds: each row has the network of its model there; no "
         "--encoder or --decoder is wanted", opt_text(a, "init"));
  now = command_text(a);
  had = command_read(path);
  for (i = 0; i < COUNT(names); i++)
    if (!text_equal(command_value(&now, names[i]), command_value(&had, names[i])))
      fail(WRONG_USE, "compare --init %s wants the rows of that comparison, its --%s is another one",
           opt_text(a, "init"), names[i]);
  free(path);
  free(now.at);
  free(had.at);
}

/* -- all runs -- */

static void run_paths(const comparison *k, one_run *r, size_t row) {
  const char *folder = opt_text(k->a, "folder");
  size_t i, size = strlen(folder) + 80;
  for (i = 0; i < F_COUNT; i++) {
    r->path[i] = (char *)take(size, 1);
    snprintf(r->path[i], size, "%s/row%lu-seed%llu.%s", folder, (unsigned long)row + 1,
             (unsigned long long)r->seed, run_files[i]);
  }
}

/* Reads the results of a finished run. Its checkpoint is needed no more. */
static void run_read(one_run *r) {
  static const char *const keys[] = {"parameters\t", "updates\t", "seconds\t", "rate\t",
                                     "unknown\t"};
  double *const to[] = {&r->parameters, &r->updates, &r->seconds, &r->rate, &r->unknown};
  buffer text = read_file(r->path[F_RESULT]);
  size_t i;
  put_byte(&text, 0);
  for (i = 0; i < COUNT(keys); i++)
    if (!log_number(text.at, keys[i], to[i]))
      fail(FAILED_JOB, "%s has no line %s: remove it, then the test runs again",
           r->path[F_RESULT], keys[i]);
  remove_file(r->path[F_CHECKPOINT]);
  free(text.at);
  r->done = 1;
}

/* Prints the messages of a run, those of other runs not again: the pairs that do not fit are said of
   the first run alone. A message begins with "syn: "; what --init takes and --minutes chooses stands in
   the file alone. */
static void run_messages(comparison *k, const one_run *r) {
  static const char *const kept[] = {"syn: --init ", "syn: chosen; "};
  buffer file = {NULL, 0, 0};
  syn_text rest, line;
  size_t i;
  if (file_exists(r->path[F_ERRORS])) file = read_file(r->path[F_ERRORS]);
  rest = buffer_text(&file);
  while (next_piece(&rest, "\n", &line)) {
    if (line.size < 5 || memcmp(line.at, "syn: ", 5) != 0) continue;
    for (i = 0; i < COUNT(kept); i++)
      if (line.size > 12 && memcmp(line.at, kept[i], strlen(kept[i])) == 0) break;
    if (i < COUNT(kept)) continue;
    for (i = 0; i < k->shown.count; i++)
      if (text_is(line, k->shown.at[i])) break;
    if (i < k->shown.count) continue;
    word_put(&k->shown, line.at, line.size);
    fprintf(stderr, "syn: compare, %s, seed %llu: %.*s\n", r->row->name,
            (unsigned long long)r->seed, (int)(line.size - 5), line.at + 5);
  }
  free(file.at);
}

/* Ends the program: a run was refused as wrong use, and all others would be. A folder without any
   model or checkpoint is free for another command. */
static void run_refused(const comparison *k, const one_run *r) {
  buffer file = read_file(r->path[F_ERRORS]);
  syn_text rest = buffer_text(&file), next, line = {"", 0}; /* the last one: others may warn */
  size_t i, begun = 0;
  for (i = 0; i < k->rows * k->seeds; i++)
    begun += file_exists(k->run[i].path[F_CHECKPOINT]) || file_exists(k->run[i].path[F_MODEL]);
  if (!begun) {
    char *command = path_in(opt_text(k->a, "folder"), "command");
    remove_file(command);
    free(command);
  }
  while (next_piece(&rest, "\n", &next))
    if (next.size > 5) line = next;
  fail(WRONG_USE, "compare, row %s: %.*s", r->row->name,
       (int)(line.size ? line.size - 5 : 0), line.size ? line.at + 5 : "");
}

static double run_value(const comparison *k, const one_run *r, const char *metric_name);

/* One line on stderr for a finished run, with the time left: that of this session's runs so far, for
   the runs that remain. */
static void run_show(const comparison *k, const one_run *r) {
  double done = 0.0, all = (double)(k->rows * k->seeds), each;
  const char *name = k->metrics.at[0];
  char share[32];
  size_t i;
  for (i = 0; i < k->rows * k->seeds; i++) done += k->run[i].done || k->run[i].failed;
  each = (seconds() - k->begin) / (done - (double)k->ready);
  fprintf(stderr, "%s, seed %llu: %s %.*f, %.2f minutes; %.0f of %.0f runs", r->row->name,
          (unsigned long long)r->seed, name, is_loss_metric(syn_text_of(name)) ? 4 : 2,
          run_value(k, r, name), r->seconds / 60.0, done, all);
  if (r->unknown > 0.0)
    fprintf(stderr, ", %s of the tokens are unknown", percent(share, r->unknown, 1.0));
  if (done < all) fprintf(stderr, ", about %.1f minutes left", (all - done) * each / 60.0);
  fputc('\n', stderr);
}

/* What follows from the end of a process. A training that failed but left a model has not learned:
   that is a result, and is measured. */
static void run_ended(comparison *k, one_run *r, int phase, int status) {
  if (run_phase(k, r) == PHASE_DONE) {
    run_read(r);
    run_messages(k, r);
    run_show(k, r);
    return;
  }
  if (stopped_by || run_phase(k, r) > phase) return;
  if (status == WRONG_USE) run_refused(k, r);
  r->failed = 1;
  run_messages(k, r);
  fprintf(stderr, "syn: compare, %s, seed %llu: the run failed%s\n", r->row->name,
          (unsigned long long)r->seed, status < 0 ? ", its process was killed" : "");
}

/* Starts runs in their order while there is room, and waits for them. */
static void run_all(comparison *k) {
  size_t n = k->rows * k->seeds, next = 0;
  int jobs = opt_int(k->a, "jobs"), threads = opt_int(k->a, "threads"), busy = 0, status;
  default_threads = 1;
  if (!jobs) jobs = larger(1, count_cores() / larger(1, threads));
  while (busy || (next < n && !stopped_by)) {
    one_run *r;
    while (next < n && k->run[next].done) next++;
    if (busy < jobs && next < n && !stopped_by) {
      r = &k->run[next++];
      r->phase = run_phase(k, r);
      run_start(k, r, r->phase);
      busy++;
      continue;
    }
    if (!busy) break;
    r = run_wait(k, &status);
    run_ended(k, r, r->phase, status);
    busy--;
    if (r->done || r->failed || stopped_by) continue;
    r->phase = PHASE_TEST;
    run_start(k, r, r->phase);
    busy++;
  }
}

/* ==============================================================================================
   >>tool significance   the test over seeds; beside it the mixed one and the bootstrap over sentences
   ============================================================================================== */

/* Which row is better is asked of other seeds than these. The verdict comes from them: >>tool
   statistics. It is "undecided" where p is not below 0.05, so where fewer seeds were trained than
   are wanted, and with one seed, since training it again may turn the difference round.

   The bootstrap beside it draws as many sentences with replacement as the test has (Koehn 2004,
   "Statistical significance tests for machine translation evaluation"), the same ones for all rows
   and seeds; the value of a row is the mean over its seeds of the metric on the drawn sentences. So
   it compares these trained models, whatever other seeds would give. The variance of its
   differences is that of the sentences in the mixed test.

     p = 2 (1 + samples whose difference is 0 or of the other sign than on the whole test)
         / (1 + samples), at most 1

   It is two-sided, because which row is better is not known before; the interval holds the middle
   95 % of the differences. What is drawn of lm: the windows of the loss. The document frequencies of
   cider stay those of the whole test. Draws come from a fixed seed. */

/* One metric of one run. */
typedef struct measured {
  size_t units;               /* sentences; lm: windows */
  size_t no_number;           /* the first line, from 1, that is none where the metric wants numbers;
                                 0: there is a value */
  double *counts;             /* [units][METRIC_COUNTS]; of a metric that does not sum them of lines,
                                 as hyp; null where there is no value */
  lines file, tags;           /* outputs; of tags, where the metric is over tags */
  syn_text *hyp, *ref;        /* what is compared; unit i has from[i] .. from[i+1]-1 */
  size_t *from;
  const metric_row *row;      /* null: a metric of the loss */
  const char *name;
  const metric_options *options;
} measured;

static double loss_value(const char *name, const double *sum) {
  double labels = sum[1] > 0.0 ? sum[1] : 1.0;
  if (strcmp(name, "nats_char") == 0) return sum[2] > 0.0 ? sum[0] / sum[2] : 0.0;
  return strcmp(name, "ppl") == 0 ? exp(sum[0] / labels) : sum[0] / labels;
}

/* The counts of a loss metric: nats, labels, characters. */
static void measured_losses(measured *m, const one_run *r) {
  lines l = lines_of(read_file(r->path[F_LOSS]));
  size_t i;
  m->units = l.count;
  m->counts = (double *)take(size_mul(l.count, METRIC_COUNTS), sizeof *m->counts);
  for (i = 0; i < l.count; i++) { /* each line ends in '\n': strtod stops there */
    char *end = (char *)l.at[i].at;
    int k;
    for (k = 0; k < 3; k++) m->counts[i * METRIC_COUNTS + (size_t)k] = strtod(end, &end);
  }
  lines_free(&l);
}

/* tag: the tags of outputs and references one by one. */
static void measured_tags(measured *m, const one_run *r) {
  size_t i, n = 0, most = 1;
  m->tags = lines_of(read_file(r->path[F_TAGS]));
  m->units = m->tags.count / 2;
  for (i = 0; i < m->tags.bytes.size; i++)
    most += m->tags.bytes.at[i] == '\t' || m->tags.bytes.at[i] == '\n';
  m->hyp = (syn_text *)take(most, sizeof *m->hyp);
  m->ref = (syn_text *)take(most, sizeof *m->ref);
  m->from = (size_t *)take(m->units + 1, sizeof *m->from);
  for (i = 0; i < m->units; i++) {
    syn_text a = m->tags.at[2 * i], b = m->tags.at[2 * i + 1];
    while (next_piece(&a, "\t", &m->hyp[n]) && next_piece(&b, "\t", &m->ref[n])) n++;
    m->from[i + 1] = n;
  }
}

/* Lines of outputs against the references of the test. */
static void measured_lines(measured *m, const comparison *k, const one_run *r) {
  size_t i;
  m->file = lines_of(read_file(r->path[F_OUT]));
  if (m->file.count != k->references.count)
    fail(FAILED_JOB, "%s has %lu lines, the test has %lu", r->path[F_OUT],
         (unsigned long)m->file.count, (unsigned long)k->references.count);
  m->units = m->file.count;
  m->hyp = (syn_text *)take(m->units, sizeof *m->hyp);
  m->ref = (syn_text *)take(m->units, sizeof *m->ref);
  m->from = (size_t *)take(m->units + 1, sizeof *m->from);
  for (i = 0; i < m->units; i++) {
    m->hyp[i] = m->file.at[i];
    m->ref[i] = k->references.side[1][i];
    m->from[i + 1] = i + 1;
  }
}

static corpus measured_corpus(const measured *m) {
  corpus c;
  c.hyp = m->hyp;
  c.ref = m->ref;
  c.n = m->from[m->units];
  c.options = m->options;
  return c;
}

/* Sums the counts of the lines of each unit, where the metric is a function of sums. */
static void measured_counts(measured *m) {
  corpus c = measured_corpus(m);
  double *each = (double *)take(size_mul(c.n, METRIC_COUNTS), sizeof *each);
  size_t i, j, n;
  metric_counts(m->row, &c, each);
  m->counts = each;
  if (m->row->over) return;
  m->counts = (double *)take(size_mul(m->units, METRIC_COUNTS), sizeof *m->counts);
  for (i = 0; i < m->units; i++)
    for (n = m->from[i]; n < m->from[i + 1]; n++)
      for (j = 0; j < METRIC_COUNTS; j++)
        m->counts[i * METRIC_COUNTS + j] += each[n * METRIC_COUNTS + j];
  free(each);
}

/* Whether a line is one number, blanks aside, as pearson and spearman want. */
static int is_number(syn_text line) {
  double value;
  while (line.size && strchr(" \t\r", line.at[0])) line.at++, line.size--;
  while (line.size && strchr(" \t\r", line.at[line.size - 1])) line.size--;
  return text_number(line, &value);
}
static int wants_numbers(const char *metric_name) {
  return in_choices("pearson|spearman", metric_name);
}

static measured measured_read(const comparison *k, const one_run *r, const char *name) {
  measured m;
  size_t i;
  memset(&m, 0, sizeof m);
  m.name = name;
  m.options = &k->options;
  if (is_loss_metric(syn_text_of(name))) {
    measured_losses(&m, r);
    return m;
  }
  m.row = metric_find(syn_text_of(name));
  if (k->of == TAG && in_choices("accuracy|f1|mcc", name)) measured_tags(&m, r);
  else measured_lines(&m, k, r);
  for (i = 0; i < m.units && wants_numbers(name) && !m.no_number; i++)
    if (!is_number(m.hyp[i])) m.no_number = i + 1;
  if (!m.no_number) measured_counts(&m);
  return m;
}

static void measured_free(measured *m) {
  free(m->counts);
  free(m->hyp);
  free(m->ref);
  free(m->from);
  lines_free(&m->file);
  lines_free(&m->tags);
}

/* A metric that is no function of sums: of the counts of all lines. */
static double measured_over(const measured *m, const unsigned *times) {
  corpus c = measured_corpus(m);
  unsigned *each = (unsigned *)take(c.n, sizeof *each);
  double value;
  size_t i, n;
  for (i = 0; i < m->units; i++)
    for (n = m->from[i]; n < m->from[i + 1]; n++) each[n] = times[i];
  value = m->row->over(m->counts, each, &c, m->row->variant);
  free(each);
  return value;
}

/* The metric of the sentences, sentence i taken times[i] times. */
static double measured_value(const measured *m, const unsigned *times) {
  double sum[METRIC_COUNTS] = {0.0}, count = 0.0;
  size_t i, j;
  if (m->row && m->row->over) return measured_over(m, times);
  for (i = 0; i < m->units; i++) {
    if (!times[i]) continue;
    for (j = 0; j < METRIC_COUNTS; j++)
      sum[j] += (double)times[i] * m->counts[i * METRIC_COUNTS + j];
    count += (double)times[i] * (m->from ? (double)(m->from[i + 1] - m->from[i]) : 1.0);
  }
  if (!m->row) return loss_value(m->name, sum);
  return count > 0.0 ? m->row->of(sum, count, m->row->variant) : 0.0;
}

/* NaN: there is no value. */
static double measured_whole(const measured *m) {
  unsigned *once;
  double value;
  size_t i;
  if (m->no_number) return (double)NAN;
  once = (unsigned *)take(m->units, sizeof *once);
  for (i = 0; i < m->units; i++) once[i] = 1;
  value = measured_value(m, once);
  free(once);
  return value;
}

static double run_value(const comparison *k, const one_run *r, const char *metric_name) {
  measured m = measured_read(k, r, metric_name);
  double value = measured_whole(&m);
  measured_free(&m);
  return value;
}

/* One row of the table, for one metric. */
typedef struct result {
  double *value, *sample; /* [seeds] of the finished runs; [samples] */
  size_t n;               /* finished runs */
  double mean, deviation; /* deviation: of the sample, n - 1 below the line; 0 of one run */
  int alike;              /* 1: all runs are done and measure the same as the first row */
  int compared;           /* 1: with the first row, which is another one */
  seed_test seeds, mixed; /* if compared; mixed.n is 0 without samples */
  int sampled;            /* 1: the rest holds */
  double low, high, p;    /* of the bootstrap */
  double variance;        /* of its differences */
} result;

static size_t draw(syn_random *r, size_t n) {
  return (size_t)(((syn_random_next(r) >> 32) * (uint64_t)n) >> 32);
}

/* Fills result.sample of a row whose runs are all done; m [seeds] are those of the row. The draws
   depend on the numbers of sentences and samples alone. */
static void bootstrap(const comparison *k, const measured *m, size_t samples, result *out) {
  unsigned *times = (unsigned *)take(m->units, sizeof *times);
  syn_random random = {1};
  size_t b, i;
  out->sample = (double *)take(samples, sizeof *out->sample);
  for (b = 0; b < samples; b++) {
    memset(times, 0, m->units * sizeof *times);
    for (i = 0; i < m->units; i++) times[draw(&random, m->units)]++;
    for (i = 0; i < k->seeds; i++)
      out->sample[b] += measured_value(&m[i], times) / (double)k->seeds;
  }
  free(times);
}

/* Whether a and b measure the same sentences; a loss also as many labels in each of them (nats_char:
   characters): the tokens of different tokenizers do not compare, nor does a loss that leaves out
   sentences that do not fit. */
static int measured_alike(const measured *a, const measured *b) {
  const size_t what = strcmp(a->name, "nats_char") == 0 ? 2 : 1;
  size_t i;
  if (a->units != b->units) return 0;
  for (i = 0; i < a->units && !a->row; i++)
    if (a->counts[i * METRIC_COUNTS + what] != b->counts[i * METRIC_COUNTS + what]) return 0;
  return 1;
}

/* Mean and deviation of a row. Draws samples where it can be tested. */
static void result_of(const comparison *k, size_t row, const char *name, size_t samples,
                      const measured *first, result *out) {
  measured *m = (measured *)take(k->seeds, sizeof *m);
  size_t s;
  int alike = 1;
  memset(out, 0, sizeof *out);
  out->value = (double *)take(k->seeds, sizeof *out->value);
  for (s = 0; s < k->seeds; s++) {
    const one_run *r = &k->run[s * k->rows + row];
    if (!r->done) continue;
    m[s] = measured_read(k, r, name);
    if (m[s].no_number)
      fprintf(stderr, "syn: compare, %s, seed %llu: no %s, line %lu of the outputs is no number\n",
              r->row->name, (unsigned long long)r->seed, name, (unsigned long)m[s].no_number);
    else out->value[out->n++] = measured_whole(&m[s]);
    if (first && !measured_alike(first, &m[s])) alike = 0;
  }
  for (s = 0; s < out->n; s++) out->mean += out->value[s] / (double)out->n;
  for (s = 0; s < out->n && out->n > 1; s++)
    out->deviation += (out->value[s] - out->mean) * (out->value[s] - out->mean);
  if (out->n > 1) out->deviation = sqrt(out->deviation / (double)(out->n - 1));
  if (!alike)
    fprintf(stderr, "syn: compare, %s: its %s is not of the same sentences and tokens as that of %s: "
            "not tested\n", k->row[row].name, name, k->row[0].name);
  out->alike = first && first->units && alike && out->n == k->seeds;
  if (out->alike && samples) bootstrap(k, m, samples, out);
  for (s = 0; s < k->seeds; s++) measured_free(&m[s]);
  free(m);
}

/* The bootstrap of a row against the first one. */
static void result_sampled(result *r, const result *first, size_t samples) {
  double *d = (double *)take(samples, sizeof *d);
  double mean = 0.0;
  size_t b, other = 0, edge = (size_t)(0.025 * (double)(samples - 1) + 0.5);
  r->sampled = 1;
  for (b = 0; b < samples; b++) {
    d[b] = r->sample[b] - first->sample[b];
    other += !(r->mean > first->mean ? d[b] > 0.0 : d[b] < 0.0);
    mean += d[b] / (double)samples;
  }
  for (b = 0; b < samples && samples > 1; b++)
    r->variance += (d[b] - mean) * (d[b] - mean) / (double)(samples - 1);
  r->p = 2.0 * (1.0 + (double)other) / (1.0 + (double)samples);
  if (r->p > 1.0) r->p = 1.0;
  qsort(d, samples, sizeof *d, number_order);
  r->low = d[edge];
  r->high = d[samples - 1 - edge];
  free(d);
}

/* The tests of all rows but the first; sentences: of the test. */
static void results_test(const comparison *k, result *r, size_t sentences) {
  seed_test *seeds = (seed_test *)take(k->rows, sizeof *seeds);
  seed_test *mixed = (seed_test *)take(k->rows, sizeof *mixed);
  size_t i;
  for (i = 1; i < k->rows; i++) {
    r[i].compared = r[0].alike && r[i].alike;
    if (r[i].compared) seeds[i] = seeds_compare(r[i].value, r[0].value, k->seeds);
    if (r[i].sampled) mixed[i] = mixed_compare(seeds[i], r[i].variance, sentences);
  }
  holm_correct(seeds, k->rows);
  holm_correct(mixed, k->rows);
  for (i = 1; i < k->rows; i++) r[i].seeds = seeds[i], r[i].mixed = mixed[i];
  free(seeds);
  free(mixed);
}

/* Says of the first run what a metric with a file of its own did not find there. */
static void measured_say(const measured *m, const char *name) {
  double sum[METRIC_COUNTS] = {0.0};
  corpus c = measured_corpus(m);
  size_t i;
  for (i = 0; i < m->units * METRIC_COUNTS; i++) sum[i % METRIC_COUNTS] += m->counts[i];
  m->row->note(name, m->counts, sum, &c);
}

/* All rows for one metric, tested against the first where both measure the same. */
static result *results_of(const comparison *k, const char *name) {
  result *r = (result *)take(k->rows, sizeof *r);
  size_t samples = (size_t)opt_int(k->a, "samples"), i;
  const int done = k->run[0].done;
  measured first;
  memset(&first, 0, sizeof first);
  if (done) first = measured_read(k, &k->run[0], name);
  if (done && metric_file(syn_text_of(name))) measured_say(&first, name);
  for (i = 0; i < k->rows; i++) {
    result_of(k, i, name, samples, done ? &first : NULL, &r[i]);
    if (i && r[0].sample && r[i].sample) result_sampled(&r[i], &r[0], samples);
  }
  results_test(k, r, first.units);
  measured_free(&first);
  return r;
}

static void results_free(result *r, size_t n) {
  size_t i;
  for (i = 0; i < n; i++) free(r[i].value), free(r[i].sample);
  free(r);
}

/* ==============================================================================================
   >>tool table   the results as text, Markdown, TSV, JSON, and a page with the loss curves
   ============================================================================================== */

static int lower_is_better(const char *name) {
  return is_loss_metric(syn_text_of(name)) || in_choices("ter|wer|per", name);
}

/* "better" and "worse" at p < 0.05, over the seeds; "undecided": by so many seeds. */
static const char *verdict(const result *r, const char *name) {
  if (!r->compared) return "";
  if (!r->seeds.n || r->seeds.p >= 0.05) return "undecided";
  return (r->seeds.difference < 0.0) == lower_is_better(name) ? "better" : "worse";
}

/* The mean of a number over the finished runs of a row. */
typedef struct row_costs {
  double parameters, updates, rate, minutes, unknown;
} row_costs;
static row_costs costs_of(const comparison *k, size_t row) {
  row_costs c;
  double n = 0.0;
  size_t s;
  memset(&c, 0, sizeof c);
  for (s = 0; s < k->seeds; s++) {
    const one_run *r = &k->run[s * k->rows + row];
    if (!r->done) continue;
    c.parameters += r->parameters;
    c.updates += r->updates;
    c.rate += r->rate;
    c.minutes += r->seconds / 60.0;
    c.unknown += r->unknown;
    n += 1.0;
  }
  if (n <= 0.0) return c;
  c.parameters /= n;
  c.updates /= n;
  c.rate /= n;
  c.minutes /= n;
  c.unknown /= n;
  return c;
}

/* The cells of a table for people, row 0 with the titles; empty: no value. */
#define COLUMNS 15
typedef char cells[COLUMNS][48];

static void cells_of(const comparison *k, size_t row, const char *name, const result *r,
                     cells out) {
  int digits = is_loss_metric(syn_text_of(name)) ? 4 : 2;
  row_costs c = costs_of(k, row);
  memset(out, 0, sizeof(cells));
  snprintf(out[1], 48, "%lu", (unsigned long)r->n);
  if (!r->n) return;
  snprintf(out[2], 48, "%.*f", digits, r->mean);
  if (r->n > 1) snprintf(out[3], 48, "%.*f", digits, r->deviation);
  if (r->compared) snprintf(out[4], 48, "%+.*f", digits, r->seeds.difference);
  snprintf(out[6], 48, "%s", verdict(r, name));
  if (r->seeds.n) {
    size_t wanted = seeds_wanted(&r->seeds);
    snprintf(out[5], 48, "%+.*f to %+.*f", digits, r->seeds.low, digits, r->seeds.high);
    snprintf(out[6], 48, "%.3f %s", r->seeds.p, verdict(r, name));
    if (wanted) snprintf(out[7], 48, "%lu", (unsigned long)wanted);
    else snprintf(out[7], 48, ">%d", MOST_SEEDS);
  }
  if (r->mixed.n)
    snprintf(out[8], 48, "%+.*f to %+.*f", digits, r->mixed.low, digits, r->mixed.high);
  if (r->sampled) snprintf(out[9], 48, "%+.*f to %+.*f", digits, r->low, digits, r->high);
  snprintf(out[10], 48, "%.2f %%", 100.0 * c.unknown);
  snprintf(out[11], 48, "%.0f", c.parameters);
  snprintf(out[12], 48, "%.0f", c.updates);
  snprintf(out[13], 48, "%.2f", c.rate);
  snprintf(out[14], 48, "%.2f", c.minutes);
}

static const char *const titles[COLUMNS] = {
    "", "seeds", "", "deviation", "difference", "95 %", "p", "seeds wanted", "mixed 95 %", "bootstrap",
    "unknown", "parameters", "updates", "updates/s", "minutes"};

/* One table; of the first column the name of the row stands for the cell. */
static void put_table(buffer *b, const comparison *k, const char *name, const result *r,
                      int markdown) {
  int width[COLUMNS], c;
  cells *at = (cells *)take(k->rows + 1, sizeof *at);
  size_t i;
  for (c = 1; c < COLUMNS; c++) snprintf(at[0][c], 48, "%s", c == 2 ? name : titles[c]);
  for (i = 0; i < k->rows; i++) cells_of(k, i, name, &r[i], at[i + 1]);
  memset(width, 0, sizeof width);
  for (i = 0; i <= k->rows; i++) {
    int size = i ? (int)strlen(k->row[i - 1].name) : 3;
    if (size > width[0]) width[0] = size;
    for (c = 1; c < COLUMNS; c++) width[c] = larger(width[c], (int)strlen(at[i][c]));
  }
  for (i = 0; i <= k->rows; i++) {
    const char *row = i ? k->row[i - 1].name : "row", *bar;
    put(b, "| ", markdown ? 2 : 0);
    for (bar = row; *bar; bar++) {
      if (markdown && *bar == '|') put_byte(b, '\\');
      put_byte(b, *bar);
    }
    for (c = (int)strlen(row); c < width[0]; c++) put_byte(b, ' ');
    for (c = 1; c < COLUMNS; c++)
      put_format(b, "%s%*s", markdown ? " | " : "  ", width[c], at[i][c]);
    put_format(b, markdown ? " |\n" : "\n");
    if (i || !markdown) continue;
    put_format(b, "| ---");
    for (c = 1; c < COLUMNS; c++) put_format(b, " | ---:");
    put_format(b, " |\n");
  }
  free(at);
}

static void put_tsv(buffer *b, const comparison *k, const char *name, const result *r) {
  size_t i;
  for (i = 0; i < k->rows; i++, r++) {
    row_costs c = costs_of(k, i);
    put(b, k->row[i].name, strlen(k->row[i].name));
    put_format(b, "\t%s\t%lu\t", name, (unsigned long)r->n);
    if (r->n) put_format(b, "%.6f\t%.6f\t", r->mean, r->deviation);
    else put_format(b, "\t\t");
    if (r->compared) put_format(b, "%.6f", r->seeds.difference);
    if (r->seeds.n)
      put_format(b, "\t%.6f\t%.6f\t%.6f\t%s\t%lu\t", r->seeds.low, r->seeds.high, r->seeds.p,
                 verdict(r, name), (unsigned long)seeds_wanted(&r->seeds));
    else put_format(b, "\t\t\t\t%s\t\t", verdict(r, name));
    if (r->sampled) put_format(b, "%.6f\t%.6f\t%.6f\t", r->low, r->high, r->p);
    else put_format(b, "\t\t\t");
    if (r->mixed.n)
      put_format(b, "%.6f\t%.6f\t%.6f\t", r->mixed.low, r->mixed.high, r->mixed.p);
    else put_format(b, "\t\t\t");
    if (r->n)
      put_format(b, "%.0f\t%.0f\t%.3f\t%.3f\t%.6f\n", c.parameters, c.updates, c.rate, c.minutes,
                 c.unknown);
    else put_format(b, "\t\t\t\t\n");
  }
}

/* `,"NAME":VALUE` */
static void put_json_number(buffer *b, const char *name, double value, int digits) {
  char text[JSON_NUMBER];
  put_format(b, ",\"%s\":%s", name, json_number(text, value, digits));
}

static void put_json_rows(buffer *b, const comparison *k, const char *name, const result *r) {
  const double none = (double)NAN;
  char text[JSON_NUMBER];
  size_t i, s;
  for (i = 0; i < k->rows; i++, r++) {
    row_costs c = costs_of(k, i);
    put_format(b, "{\"row\":");
    put_json(b, syn_text_of(k->row[i].name));
    put_format(b, ",\"metric\":\"%s\",\"lower_is_better\":%s,\"seeds\":%lu,\"values\":[", name,
               lower_is_better(name) ? "true" : "false", (unsigned long)r->n);
    for (s = 0; s < r->n; s++)
      put_format(b, "%s%s", s ? "," : "", json_number(text, r->value[s], 6));
    put_byte(b, ']');
    put_json_number(b, "mean", r->n ? r->mean : none, 6);
    put_json_number(b, "deviation", r->n ? r->deviation : none, 6);
    put_json_number(b, "difference", r->compared ? r->seeds.difference : none, 6);
    put_json_number(b, "low", r->seeds.n ? r->seeds.low : none, 6);
    put_json_number(b, "high", r->seeds.n ? r->seeds.high : none, 6);
    put_json_number(b, "p", r->seeds.n ? r->seeds.p : none, 6);
    put_format(b, ",\"verdict\":\"%s\",\"seeds_wanted\":%lu", verdict(r, name),
               (unsigned long)seeds_wanted(&r->seeds));
    put_json_number(b, "bootstrap_low", r->sampled ? r->low : none, 6);
    put_json_number(b, "bootstrap_high", r->sampled ? r->high : none, 6);
    put_json_number(b, "bootstrap_p", r->sampled ? r->p : none, 6);
    put_json_number(b, "mixed_low", r->mixed.n ? r->mixed.low : none, 6);
    put_json_number(b, "mixed_high", r->mixed.n ? r->mixed.high : none, 6);
    put_json_number(b, "mixed_p", r->mixed.n ? r->mixed.p : none, 6);
    put_json_number(b, "parameters", r->n ? c.parameters : none, 0);
    put_json_number(b, "updates", r->n ? c.updates : none, 0);
    put_json_number(b, "updates_per_s", r->n ? c.rate : none, 3);
    put_json_number(b, "minutes", r->n ? c.minutes : none, 3);
    put_json_number(b, "unknown", r->n ? c.unknown : none, 6);
    put_format(b, "}\n");
  }
}

/* -- the page -- */

/* Text in HTML. */
static void put_html(buffer *b, const char *text) {
  for (; *text; text++) {
    if (*text == '<') put(b, "&lt;", 4);
    else if (*text == '&') put(b, "&amp;", 5);
    else put_byte(b, *text);
  }
}

/* What a chart shows: the training loss or that of validation, over updates or minutes. */
typedef struct chart {
  int valid, minutes;
  double most_x, low, high; /* low > high: nothing to show */
} chart;

/* Calls for each point; b null: only measures. */
static void chart_run(chart *c, buffer *b, const one_run *r, int color) {
  size_t n, i;
  log_point *p = log_read(r->path[F_LOG], &n);
  if (b) put_format(b, "<polyline class=\"c%d\" points=\"", color);
  for (i = 0; i < n; i++) {
    double y = c->valid ? p[i].valid : p[i].loss, x = c->minutes ? p[i].seconds / 60.0 : p[i].step;
    if (y != y) continue;
    if (b)
      put_format(b, "%.1f,%.1f ", 60.0 + 560.0 * x / c->most_x,
                 20.0 + 300.0 * (c->high - y) / (c->high - c->low));
    if (x > c->most_x) c->most_x = x;
    if (y < c->low) c->low = y;
    if (y > c->high) c->high = y;
  }
  if (b) put_format(b, "\"/>\n");
  free(p);
}

static void put_chart(buffer *b, const comparison *k, int valid) {
  chart c = {0, 0, 0.0, 1e30, -1e30};
  size_t i, n = k->rows * k->seeds;
  int t;
  c.valid = valid;
  c.minutes = opt_number(k->a, "minutes") > 0.0;
  for (i = 0; i < n; i++) chart_run(&c, NULL, &k->run[i], 0);
  if (c.most_x <= 0.0 || c.low > c.high) return;
  if (c.low == c.high) c.high = c.low + 1.0;
  put_format(b, "<h2>%s</h2>\n<svg viewBox=\"0 0 640 360\" role=\"img\">\n",
             valid ? "Validation loss" : "Training loss");
  for (t = 0; t <= 4; t++)
    put_format(b, "<path class=\"g\" d=\"M60 %d H620\"/><text x=\"54\" y=\"%d\" class=\"e\">%.3g"
               "</text><text x=\"%d\" y=\"338\" class=\"m\">%.4g</text>\n", 20 + 75 * t, 24 + 75 * t,
               c.high - (c.high - c.low) * t / 4.0, 60 + 140 * t, c.most_x * t / 4.0);
  put_format(b, "<text x=\"340\" y=\"356\" class=\"m\">%s</text>\n",
             c.minutes ? "minutes" : "updates");
  for (i = 0; i < n; i++) chart_run(&c, b, &k->run[i], (int)(i % k->rows % 8));
  put_format(b, "</svg>\n");
}

static const char *const row_colors[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                         "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};

static void write_page(const comparison *k, const buffer *tables) {
  buffer b = {NULL, 0, 0}, text = {NULL, 0, 0};
  size_t i;
  put_format(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<link rel="
             "\"icon\" href=\"data:,\"><title>syn compare</title>\n<style>body{font:14px "
             "sans-serif;margin:20px}svg{max-width:800px}polyline{fill:none;stroke-width:1.2}"
             ".g{stroke:#ddd}text{font-size:11px}.e{text-anchor:end}.m{text-anchor:middle}\n");
  for (i = 0; i < COUNT(row_colors); i++)
    put_format(&b, ".c%d{stroke:%s;color:%s}", (int)i, row_colors[i], row_colors[i]);
  put_format(&b, "</style></head>\n<body><h1>syn compare</h1>\n<pre>");
  put(&text, tables->at, tables->size);
  put_byte(&text, 0);
  put_html(&b, text.at);
  put_format(&b, "</pre>\n<p>");
  for (i = 0; i < k->rows; i++) {
    put_format(&b, "<b class=\"c%d\">&#9644; ", (int)(i % 8));
    put_html(&b, k->row[i].name);
    put_format(&b, "</b> &nbsp; ");
  }
  put_format(&b, "</p>\n");
  put_chart(&b, k, 0);
  put_chart(&b, k, 1);
  put_format(&b, "</body></html>\n");
  write_file(opt_text(k->a, "page"), b.at, b.size);
  free(b.at);
  free(text.at);
}

/* Prints all metrics in one format. */
static void print_tables(const comparison *k) {
  const char *format = opt_text(k->a, "format");
  buffer out = {NULL, 0, 0}, page = {NULL, 0, 0};
  size_t i;
  if (opt_flag(k->a, "json")) format = "json";
  if (opt_flag(k->a, "tsv")) format = "tsv";
  if (strcmp(format, "tsv") == 0)
    put_format(&out, "row\tmetric\tseeds\tmean\tdeviation\tdifference\tlow\thigh\tp\tverdict\t"
               "seeds_wanted\tbootstrap_low\tbootstrap_high\tbootstrap_p\tmixed_low\tmixed_high\tmixed_p\t"
               "parameters\tupdates\tupdates_per_s\tminutes\tunknown\n");
  for (i = 0; i < k->metrics.count; i++) {
    const char *name = k->metrics.at[i];
    result *r = results_of(k, name);
    if (strcmp(format, "tsv") == 0) put_tsv(&out, k, name, r);
    else if (strcmp(format, "json") == 0) put_json_rows(&out, k, name, r);
    else {
      if (i) put_byte(&out, '\n');
      put_table(&out, k, name, r, strcmp(format, "markdown") == 0);
    }
    if (i) put_byte(&page, '\n');
    put_table(&page, k, name, r, 0);
    results_free(r, k->rows);
  }
  print_result(out.at, out.size);
  if (*opt_text(k->a, "page")) write_page(k, &page);
  free(out.at);
  free(page.at);
}

/* ==============================================================================================
   >>tool compare   the command
   ============================================================================================== */

/* Reads --kinds and every --vary. */
static void compare_rows(comparison *k) {
  const arguments *a = k->a;
  axis *axes;
  const char *text;
  size_t n = 0, i;
  int v = 0;
  while (opt_each(a, "vary", v)) v++;
  axes = (axis *)take((size_t)v + 1, sizeof *axes);
  if (*opt_text(a, "kinds")) axes[n++].values = split_values(opt_text(a, "kinds"), "kinds");
  for (v = 0; (text = opt_each(a, "vary", v)) != NULL; v++) axes[n++] = axis_read(a, text);
  if (!n) fail(WRONG_USE, "compare wants --kinds A,B,... or --vary OPTION=A,B,...");
  for (k->rows = 1, i = 0; i < n; i++) k->rows = size_mul(k->rows, axes[i].values.count);
  if (k->rows > 1000) fail(WRONG_USE, "compare has %.0f rows, 1000 at most", (double)k->rows);
  k->row = (row_of *)take(k->rows, sizeof *k->row);
  for (i = 0; i < k->rows; i++) k->row[i] = row_make(a, axes, n, i, k->rows);
  for (i = 0; i < k->rows; i++) {
    char *init = init_path(a, i, opt_big(a, "seed"));
    task of = row_check(&k->row[i], init, opt_text(a, "folder"), &k->options.form);
    free(init);
    if (i && of != k->of)
      fail(WRONG_USE, "compare: the rows %s and %s are of different tasks, which no metric "
           "compares", k->row[0].name, k->row[i].name);
    k->of = of;
  }
  for (i = 0; i < n; i++) words_free(&axes[i].values);
  free(axes);
}

/* Checks the metrics, and the options of the test. */
static void compare_metrics(comparison *k) {
  static const char *const names[] = {"test", "test-src", "test-tgt"};
  const char *list = opt_text(k->a, "metric");
  int file = *opt_text(k->a, "test") != 0, form = k->options.form; /* that of any row */
  syn_text rest, name;
  size_t i, n;
  if (!*list) list = k->of == SEQ2SEQ ? "bleu" : k->of == LM ? "nats" : "accuracy";
  for (rest = syn_text_of(list); next_piece(&rest, ",", &name);) {
    int loss = is_loss_metric(name);
    if (!loss && metric_find(name) && k->of == LM)
      fail(WRONG_USE, "compare of lm has ppl, nats and nats_char, given: %.*s", (int)name.size,
           name.at);
    word_put(&k->metrics, name.at, name.size);
    k->losses |= loss;
    k->outputs |= !loss;
  }
  if (!k->outputs) say_idle(k->a, "beam|alpha|type", "a loss needs no output");
  say_idle_options(k->a, OWN_METRIC_OPTIONS, list);
  want_metric_files(k->a, syn_text_of(list), 1);
  k->options = metric_options_of(k->a);
  k->options.form = form;
  if (k->of >= CLASSIFY) k->options.alternatives = NULL;
  if (k->of == CLASSIFY) k->options.line = split_whole;
  if (k->of == LM && (!file || *opt_text(k->a, "test-src") || *opt_text(k->a, "test-tgt")))
    fail(WRONG_USE, "compare of lm wants --test FILE, plain text");
  if (k->of != LM && !pairs_read(&k->references, k->of, k->a, names, -1,
                                 QUIET | (k->options.form & COMPOSE)))
    fail(WRONG_USE, "compare wants --test, or --test-src and --test-tgt");
  for (i = 0; i < k->references.count; i++)
    for (n = 0; n < k->metrics.count; n++)
      if (wants_numbers(k->metrics.at[n]) && !is_number(first_alternative(&k->references, i)))
        fail(FAILED_JOB, "compare --metric %s wants one number a line, line %lu of %s has none",
             k->metrics.at[n], (unsigned long)i + 1, k->references.names[1]);
}

static void compare_runs(comparison *k) {
  uint64_t seed = opt_big(k->a, "seed");
  size_t i;
  k->seeds = (size_t)opt_int(k->a, "seeds");
  k->run = (one_run *)take(size_mul(k->rows, k->seeds), sizeof *k->run);
  for (i = 0; i < k->rows * k->seeds; i++) {
    one_run *r = &k->run[i];
    r->row = &k->row[i % k->rows];
    r->seed = seed + (uint64_t)(i / k->rows);
    run_paths(k, r, i % k->rows);
    r->init = init_path(k->a, i % k->rows, r->seed);
    if (run_phase(k, r) == PHASE_DONE) run_read(r), k->ready++;
  }
}

static void compare_free(comparison *k) {
  size_t i, f;
  for (i = 0; i < k->rows * k->seeds; i++) {
    for (f = 0; f < F_COUNT; f++) free(k->run[i].path[f]);
    free(k->run[i].init);
  }
  for (i = 0; i < k->rows; i++) free(k->row[i].name), words_free(&k->row[i].args);
  words_free(&k->metrics);
  words_free(&k->shown);
  pairs_free(&k->references);
  free(k->row);
  free(k->run);
}

static int run_compare(const arguments *a) {
  comparison k;
  size_t i, done = 0;
  memset(&k, 0, sizeof k);
  k.a = a;
  k.begin = seconds();
  default_threads = 1;
  init_same(a);
  check_folder(a, opt_text(a, "folder"));
  compare_rows(&k);
  compare_metrics(&k);
  folder_open(a);
  if (*opt_text(a, "page")) check_writable(opt_text(a, "page")); /* it may stand in the folder */
  compare_runs(&k);
  if (k.ready)
    fprintf(stderr, "%lu of %lu runs were finished before\n", (unsigned long)k.ready,
            (unsigned long)(k.rows * k.seeds));
  signal(SIGINT, on_stop);
  signal(SIGTERM, on_stop);
  run_all(&k);
  for (i = 0; i < k.rows * k.seeds; i++) done += (size_t)k.run[i].done;
  if (stopped_by)
    fail(FAILED_JOB, "compare is stopped, %lu of %lu runs are finished; the same command goes on",
         (unsigned long)done, (unsigned long)(k.rows * k.seeds));
  print_tables(&k);
  i = k.rows * k.seeds - done;
  compare_free(&k);
  if (i) fail(FAILED_JOB, "compare: %lu runs failed; the same command tries them again",
              (unsigned long)i);
  return 0;
}
