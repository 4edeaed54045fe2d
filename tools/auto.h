/* auto.h   chooses the options of `train --minutes N` that were not given, from the data and from
   the speed of this machine. A part of syn.c, which includes it before train.h. */

/* Three parts: what the data are like (counts of texts, words, tokens), the choice (tokenizers,
   network, batch, dropout, length), and the number of updates that fit the minutes, measured with
   a few updates of the network that was chosen. Options that were given stay. The command printed
   has every choice as an option, and gives the same model without --minutes. */

/* One side of the data. */
typedef struct side_facts {
  double bytes, words;  /* in all rows */
  int distinct;         /* words */
  char tokenizer[24];
  double tokens;        /* in all rows, with that tokenizer */
  int longest;          /* tokens of all but one row in 200 */
} side_facts;

typedef struct data_facts {
  task of;
  size_t rows;
  side_facts side[2];
} data_facts;

/* A copy of the arguments with room for choices. */
#define AUTO_CHOICES 40
static arguments auto_arguments(const arguments *a) {
  arguments own = *a;
  own.given = (given_option *)take((size_t)a->given_count + AUTO_CHOICES, sizeof *own.given);
  memcpy(own.given, a->given, (size_t)a->given_count * sizeof *own.given);
  return own;
}

/* Frees the copy and its choices, which stand behind the `given` options. */
static void auto_free(arguments *a, int given) {
  while (a->given_count > given) free((void *)(size_t)a->given[--a->given_count].value);
  free(a->given);
}

/* Adds an option as if it had been given. */
static void auto_add(arguments *a, const option *o, syn_text value) {
  char *kept = (char *)take(value.size + 1, 1);
  memcpy(kept, value.at, value.size);
  kept[value.size] = 0;
  a->given[a->given_count].of = o;
  a->given[a->given_count++].value = kept;
}
/* 1: given, so it stays; but --steps 0 says that the minutes decide. */
static int auto_keeps(const arguments *a, const char *name) {
  return opt_given(a, name) && strcmp(name, "steps") != 0;
}
/* The same for a name, unless the option was given. */
static void auto_choose(arguments *a, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
static void auto_choose(arguments *a, const char *name, const char *format, ...) {
  const option *o = a->command->options;
  char text[400];
  va_list values;
  if (auto_keeps(a, name)) return;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  while (strcmp(o->name, name) != 0) o++;
  auto_add(a, o, text_of(text));
}
/* The same from a line of a file, which may hold anything. */
static void auto_choose_line(arguments *a, const char *path, syn_text name, syn_text value) {
  const option *o = a->command->options;
  while (o->name && !text_is(name, o->name)) o++;
  if (!o->name || !value.at)
    fail(FAILED_JOB, "%s: no option of train: %.*s", path, (int)(name.size < 60 ? name.size : 60),
         name.at);
  if (auto_keeps(a, o->name)) return;
  auto_add(a, o, value);
  if (o->kind != FLAG) check_value(a->command, o, a->given[a->given_count - 1].value);
}

/* -- choices beside a checkpoint: --resume must not choose again, the machine may be busier -- */

/* "CHECKPOINT.chosen" */
static char *auto_path(const char *checkpoint) {
  buffer name = {NULL, 0, 0};
  put(&name, checkpoint, strlen(checkpoint));
  put(&name, ".chosen", 8);
  return name.at;
}
/* A line "name TAB value" for each choice behind the `given` options. */
static void auto_save(const arguments *a, int given, const char *checkpoint) {
  buffer text = {NULL, 0, 0};
  char *path = auto_path(checkpoint);
  for (; given < a->given_count; given++) {
    put(&text, a->given[given].of->name, strlen(a->given[given].of->name));
    put_byte(&text, '\t');
    put(&text, a->given[given].value, strlen(a->given[given].value));
    put_byte(&text, '\n');
  }
  write_file(path, text.at, text.size);
  free(text.at);
  free(path);
}
/* Reads them back; 0: there is no such file. */
static int auto_load(arguments *a, const char *checkpoint) {
  char *path = auto_path(checkpoint);
  int found = file_exists(path);
  size_t i;
  if (found) {
    lines l = read_lines(path);
    for (i = 0; i < l.count && i < AUTO_CHOICES; i++) {
      syn_text rest = l.at[i], name;
      next_piece(&rest, "\t", &name);
      auto_choose_line(a, path, name, rest);
    }
    lines_free(&l);
  }
  free(path);
  return found;
}

/* 1: the minutes decide alone how long the training takes. */
static int auto_wanted(const arguments *a) {
  return opt_number(a, "minutes") > 0.0 && opt_int(a, "steps") == 0 &&
         opt_number(a, "epochs") <= 0.0;
}

/* -- what the data are like -- */

static void side_count(side_facts *s, syn_text text) {
  syn_text word;
  s->bytes += (double)text.size;
  while (next_piece(&text, " \t\n\r", &word)) s->words += word.size > 0;
}

/* Texts of one word each are spelled: characters. Few distinct words are symbols: one token each.
   Else pieces of words, more of them for more text. A plain text of an lm of up to 2 MB: characters. */
static void side_tokenizer(side_facts *s, task of, size_t rows) {
  const char *name = "bpe:8000";
  if (of == LM) name = s->bytes <= 2e6 ? "char" : "bpe:4000";
  else if (of == TAG) name = "space";
  else if (s->words < 1.2 * (double)rows) name = "char";
  else if (s->distinct <= 300) name = "space";
  else if (s->bytes < 4e5) name = "bpe:2000";
  else if (s->bytes < 1.5e6) name = "bpe:4000";
  snprintf(s->tokenizer, sizeof s->tokenizer, "%s", name);
}

static int compare_ints(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* Tokens of every text, counted with the tokenizer of the side. */
static void side_lengths(syn_context *c, side_facts *s, task of, const syn_text *at, size_t rows) {
  syn_tokenizer *t = syn_tokenizer_learn(c, s->tokenizer, SYN_LOWERCASE, at, rows);
  int *lengths = (int *)take(rows, sizeof *lengths);
  size_t i;
  encoder e;
  memset(&e, 0, sizeof e);
  check(c);
  for (i = 0; i < rows; i++) {
    lengths[i] = encode_task(&e, of, t, at[i]);
    s->tokens += (double)lengths[i] + 1.0;
  }
  qsort(lengths, rows, sizeof *lengths, compare_ints);
  s->longest = lengths[rows - 1 - rows / 200] + 1;
  free(lengths);
  free(e.ids);
  syn_tokenizer_free(t);
}

/* Distinct words, by a tokenizer of words. */
static int side_distinct(syn_context *c, const syn_text *at, size_t rows) {
  syn_tokenizer *t = syn_tokenizer_learn(c, "space", SYN_LOWERCASE, at, rows);
  int n = t ? syn_tokenizer_size(t) - SYN_FIRST_TOKEN : 0;
  check(c);
  syn_tokenizer_free(t);
  return n;
}

static void facts_of_side(syn_context *c, side_facts *s, task of, const syn_text *at, size_t rows,
                          const char *spec) {
  size_t i;
  for (i = 0; i < rows; i++) side_count(s, at[i]);
  s->distinct = side_distinct(c, at, rows);
  side_tokenizer(s, of, rows);
  if (*spec) snprintf(s->tokenizer, sizeof s->tokenizer, "%s", spec);
  side_lengths(c, s, of, at, rows);
}

static const char *auto_given_tokenizer(const arguments *a, int side) {
  const char *own = opt_text(a, side ? "tgt-tokenizer" : "src-tokenizer");
  return *own ? own : opt_text(a, "tokenizer");
}

static data_facts facts_of(syn_context *c, const arguments *a, task of) {
  static const char *const names[] = {"data", "src", "tgt"};
  data_facts f;
  int k;
  memset(&f, 0, sizeof f);
  f.of = of;
  if (of == LM) {
    buffer text = read_text(opt_text(a, "data"));
    syn_text all = buffer_text(&text);
    f.rows = 1;
    facts_of_side(c, &f.side[1], of, &all, 1, auto_given_tokenizer(a, 1));
    free(text.at);
  } else {
    pairs p;
    if (!pairs_read(&p, of, a, names)) fail(WRONG_USE, "train wants --data, or --src and --tgt");
    if (!p.count) fail(FAILED_JOB, "%s has no line", p.names[0]);
    f.rows = p.count;
    for (k = 0; k < (of >= CLASSIFY ? 1 : 2); k++) {
      size_t i;
      for (i = 0; i < p.count && k; i++) p.side[1][i] = first_alternative(&p, i);
      facts_of_side(c, &f.side[k], of, p.side[k], f.rows, auto_given_tokenizer(a, k));
    }
    pairs_free(&p);
  }
  return f;
}

/* -- the choice -- */

/* Multiply-adds a second in training, all threads: up to twenty updates of a small network. */
static double auto_speed(const arguments *a) {
  enum { D = 128, ROWS = 16, LENGTH = 64, UPDATES = 20 };
  syn_context c;
  syn_config k;
  syn_train_config how;
  syn_model *m;
  syn_trainer *t;
  syn_batch b;
  int ids[ROWS * LENGTH], i;
  double begin = seconds(), macs, limit = 0.01 * 60.0 * opt_number(a, "minutes");
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  memset(&b, 0, sizeof b);
  context_open(&c, a);
  k.task = "lm";
  k.decoder = "pos->repeat(2,res_nd(syn_att(R+V))->res_nd(ffl))->norm";
  k.d_model = D;
  k.heads = 4;
  k.max_len = LENGTH;
  k.tgt_vocab = 500;
  how.batch_tokens = ROWS * LENGTH;
  how.steps = UPDATES + 2;
  for (i = 0; i < ROWS * LENGTH; i++) ids[i] = SYN_FIRST_TOKEN + i * 31 % 490;
  b.count = ROWS;
  b.tgt = b.labels = ids;
  b.tgt_width = LENGTH;
  m = syn_model_new(&c, &k);
  check(&c);
  t = syn_trainer_new(&c, m, &how);
  check(&c);
  for (i = -2; i < UPDATES && (i < 1 || seconds() - begin < limit); i++) {
    if (i == 0) begin = seconds(); /* the first two also touch new memory */
    syn_trainer_step(t, &b, 1, NULL);
  }
  check(&c);
  macs = 3.0 * (double)(ROWS * LENGTH) * (double)(2 * 12 * D * D + 500 * D) * (double)i;
  begin = seconds() - begin;
  syn_trainer_free(t);
  syn_model_free(m);
  return macs / (begin > 1e-6 ? begin : 1e-6);
}

/* The widths and depths that are considered, small to large. */
typedef struct auto_size {
  int d, layers;
} auto_size;

static const auto_size auto_sizes[] = {{64, 1}, {64, 2}, {128, 2}, {128, 3}, {192, 4}, {256, 4},
                                       {384, 6}};

/* Weights of all layers; seq2seq has an encoder and a decoder, with an attention more. */
static double auto_weights(task of, auto_size s) {
  double square = (double)s.d * (double)s.d * (double)s.layers;
  return square * (of == SEQ2SEQ ? 28.0 : 12.0);
}

/* Tokens that a training of so many multiply-adds sees. */
static double auto_tokens(const data_facts *f, auto_size s, double macs) {
  double each = auto_weights(f->of, s) * (f->of == SEQ2SEQ ? 0.5 : 1.0);
  double out = f->of == SEQ2SEQ ? 4000.0 : 200.0;
  return macs / (3.0 * (each + out * (double)s.d));
}

/* The largest network that sees a few million tokens, and has not many more weights than the data
   have tokens. */
static auto_size auto_network(const data_facts *f, double macs) {
  double tokens = f->side[0].tokens + f->side[1].tokens, passes;
  auto_size best = auto_sizes[0];
  size_t i;
  for (i = 1; i < COUNT(auto_sizes); i++) {
    passes = auto_tokens(f, auto_sizes[i], macs) / tokens;
    if (auto_weights(f->of, auto_sizes[i]) > 4.0 * tokens) break;
    if (passes * tokens < 4e6 && passes < 6.0) break;
    best = auto_sizes[i];
  }
  return best;
}

static void auto_layers(arguments *a, const data_facts *f, int layers) {
  static const char *const names[] = {"encoder", "decoder"};
  static const char *const between[] = {"", "->res_nd(mh_dot_att)"};
  int k, first = f->of == LM, last = f->of == SEQ2SEQ || f->of == LM;
  for (k = first; k <= last; k++)
    auto_choose(a, names[k], "pos->repeat(%d,res_nd(syn_att(R+V))%s->res_nd(ffl))->norm", layers,
                between[k && f->of == SEQ2SEQ]);
}

static void auto_texts(arguments *a, const data_facts *f) {
  int text = strncmp(f->side[1].tokenizer, "bpe", 3) == 0;
  int longest = larger(f->side[0].longest, f->side[1].longest) + 1;
  if (f->of == SEQ2SEQ && text && strncmp(f->side[0].tokenizer, "bpe", 3) == 0 &&
      !opt_given(a, "src-tokenizer") && !opt_given(a, "tgt-tokenizer")) {
    auto_choose(a, "tokenizer", "bpe:8000");
    auto_choose(a, "tie", "all");
  } else if (!opt_given(a, "tokenizer")) {
    if (f->of != LM) auto_choose(a, "src-tokenizer", "%s", f->side[0].tokenizer);
    if (f->of == SEQ2SEQ) auto_choose(a, "tgt-tokenizer", "%s", f->side[1].tokenizer);
    if (f->of == LM) auto_choose(a, "tokenizer", "%s", f->side[1].tokenizer);
  }
  if (f->of == CLASSIFY) auto_choose(a, "lowercase", "on");
  auto_choose(a, "max-len", "%d", f->of == LM ? 128 : longest < 256 ? longest : 256);
}

/* Every choice but the number of updates. With --init the network is that of the model; the texts of
   --span-corruption have no target. */
static void auto_options(arguments *a) {
  syn_context c;
  data_facts f;
  auto_size s;
  double macs, tokens, passes;
#ifdef _OPENMP
  auto_choose(a, "threads", "%d", omp_get_num_procs() < 64 ? omp_get_num_procs() : 64);
#endif
  if (!*opt_text(a, "valid") && !*opt_text(a, "valid-src")) auto_choose(a, "hold-back", "0.05");
  auto_choose(a, "clip", "1");
  if (*opt_text(a, "init") || opt_flag(a, "span-corruption")) return;
  context_of(&c, 1, "");
  f = facts_of(&c, a, task_of(opt_text(a, "task")));
  macs = auto_speed(a) * 60.0 * opt_number(a, "minutes");
  s = auto_network(&f, macs);
  tokens = f.side[0].tokens + f.side[1].tokens;
  passes = auto_tokens(&f, s, macs) / tokens;
  auto_texts(a, &f);
  auto_layers(a, &f, s.layers);
  auto_choose(a, "d-model", "%d", s.d);
  auto_choose(a, "heads", "%d", larger(2, s.d / 32));
  auto_choose(a, "batch", "%d",
              larger(tokens < 2e5 ? 1024 : passes * tokens > 2e7 ? 4096 : 2048,
                     4 * opt_int(a, "max-len")));
  auto_choose(a, "dropout", "%s", passes < 12.0 ? "0.1" : passes < 30.0 ? "0.2" : "0.3");
}

/* -- the number of updates -- */

/* An option as a shell reads it. */
static void print_quoted(FILE *f, const char *value) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:,=+";
  const char *quote = *value && !value[strspn(value, plain)] ? "" : "'";
  fputs(quote, f);
  for (; *value; value++) {
    if (*value == '\'') fputs("'\\''", f);
    else fputc(*value, f);
  }
  fputs(quote, f);
}

/* The command that trains the same model: every option given or chosen, without --minutes. */
static void auto_print(const arguments *a) {
  int i;
  fprintf(stderr, "syn: chosen; the same training again: syn train");
  for (i = 0; i < a->given_count; i++) {
    const option *o = a->given[i].of;
    if (strcmp(o->name, "minutes") == 0) continue;
    fprintf(stderr, " --%s", o->name);
    if (o->kind == FLAG) continue;
    fputc(' ', stderr);
    print_quoted(stderr, a->given[i].value);
  }
  fputc('\n', stderr);
}

/* Some updates of the training itself: their number and seconds. */
typedef struct auto_trial {
  double begin, first, limit; /* seconds() at the start, behind the first update; of the trial */
  long updates;               /* behind the first one, which also touches new memory */
} auto_trial;

static int auto_trial_report(void *user, const syn_trainer *t, float loss, int validated) {
  auto_trial *k = (auto_trial *)user;
  double now = seconds();
  UNUSED(t);
  UNUSED(loss);
  UNUSED(validated);
  if (k->first == 0.0) k->first = now;
  else k->updates++;
  return k->updates >= 3 && now - k->begin > k->limit;
}

/* Seconds of one update and of one validation of the network of m, measured on a copy of it with
   new weights. */
static void auto_measure(syn_context *c, const syn_model *m, const syn_train_config *config,
                         syn_data *data, syn_data *valid, double limit, double *update,
                         double *validation) {
  syn_train_config how = *config;
  auto_trial k = {0.0, 0.0, 0.0, 0};
  syn_model *copy = syn_model_new(c, syn_model_config(m));
  syn_trainer *t;
  how.every = 0;
  how.average = 0;
  how.steps = 1000000000;
  k.limit = limit;
  t = syn_trainer_new(c, copy, &how);
  check_use(c);
  k.begin = seconds();
  syn_trainer_run(t, data, NULL, auto_trial_report, &k);
  *update = (seconds() - k.first) / (double)k.updates;
  k.begin = seconds();
  if (valid && c->status == SYN_OK) syn_trainer_evaluate(t, valid, NULL, NULL);
  *validation = seconds() - k.begin;
  check(c);
  syn_trainer_free(t);
  syn_model_free(copy);
}

/* --steps and --every: as many updates as fit into `left` seconds, with up to twenty validations
   that take at most a tenth of it; at most 40 epochs of `batches` updates (compare: any). */
static void auto_steps(arguments *a, double left, double update, double validation,
                       double batches) {
  double count = floor(0.1 * left / (validation + 1e-9)), steps;
  if (count > 20.0) count = 20.0;
  if (count < 2.0) count = 2.0;
  if (opt_given(a, "every")) count = 0.0;
  steps = floor((left - count * validation) / update);
  if (steps > 40.0 * batches) steps = ceil(40.0 * batches);
  if (steps < 1.0) steps = 1.0;
  if (steps > 1e9) steps = 1e9;
  auto_choose(a, "steps", "%.0f", steps);
  if (count > 0.0) auto_choose(a, "every", "%.0f", ceil(steps / count));
}
