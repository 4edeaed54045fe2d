/* auto.h   chooses the options of `train --minutes N` that were not given, from the data and from
   the speed of this machine. A part of syn.c, which includes it before train.h. */

/* The choice is that of syn_choose (>>learn of synthesizer.h), for rows of numbers that of
   auto_signals. Here stands what a command line adds: options that were given stay; the command
   printed has every choice as an option, and gives the same model without --minutes;
   CHECKPOINT.chosen keeps the choices for --resume. */

/* A copy of the arguments with room for choices. */
#define AUTO_CHOICES 40
static arguments auto_arguments(const arguments *a) {
  arguments own = *a;
  own.given = (given_option *)take((size_t)a->given_count + AUTO_CHOICES, sizeof *own.given);
  memcpy(own.given, a->given, (size_t)a->given_count * sizeof *own.given);
  return own;
}

/* Frees the choices, which stand behind the `given` options. */
static void auto_drop(arguments *a, int given) {
  while (a->given_count > given) free((void *)(size_t)a->given[--a->given_count].value);
}
/* The same, and the copy. */
static void auto_free(arguments *a, int given) {
  auto_drop(a, given);
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
  auto_add(a, o, syn_text_of(text));
}
/* The same from a line of a file, which may hold anything. */
static void auto_choose_line(arguments *a, const char *path, syn_text name, syn_text value) {
  const option *o = a->command->options;
  while (o->name && !text_is(name, o->name)) o++;
  if (!o->name || !value.at)
    fail(FAILED_JOB, "%s: no option of train: %.*s", path, short_size(name),
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
  check_written(a, "checkpoint", path);
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

/* -- the choice -- */

static double auto_seconds(void *user) {
  UNUSED(user);
  return seconds();
}

/* What syn_learn would be given; the minutes began at `begin`. */
static syn_learn_config auto_config(const arguments *a, double begin, syn_choice *choice) {
  syn_learn_config k;
  memset(&k, 0, sizeof k);
  k.minutes = opt_number(a, "minutes");
  k.begin = begin;
  k.seconds = auto_seconds;
  k.choice = choice;
  return k;
}

/* Those given options that others depend on. */
static void auto_given(const arguments *a, task of, syn_choice *k) {
  const char *all = opt_text(a, "tokenizer");
  const char *src = opt_text(a, "src-tokenizer"), *tgt = opt_text(a, "tgt-tokenizer");
  if (of != LM) snprintf(k->src_tokenizer, sizeof k->src_tokenizer, "%s", *src ? src : all);
  if (of < CLASSIFY) snprintf(k->tgt_tokenizer, sizeof k->tgt_tokenizer, "%s", *tgt ? tgt : all);
  if (opt_given(a, "tie")) snprintf(k->tie, sizeof k->tie, "%s", opt_text(a, "tie"));
  snprintf(k->encoder, sizeof k->encoder, "%s", opt_text(a, "encoder"));
  snprintf(k->freeze, sizeof k->freeze, "%s", opt_text(a, "freeze"));
  if (opt_given(a, "optimizer"))
    snprintf(k->optimizer, sizeof k->optimizer, "%s", opt_text(a, "optimizer"));
  if (opt_given(a, "d-model")) k->d_model = opt_int(a, "d-model");
  if (opt_given(a, "max-len")) k->max_len = opt_int(a, "max-len");
  /* These follow the validation loss, also of few rows. */
  if (strcmp(opt_text(a, "schedule"), "plateau") == 0 || opt_int(a, "stop-after"))
    k->hold_back = 0.05;
}

static void auto_tokenizers(arguments *a, task of, const syn_choice *k) {
  if (opt_given(a, "tokenizer")) return;
  if (of == LM || strcmp(k->src_tokenizer, k->tgt_tokenizer) == 0) {
    auto_choose(a, "tokenizer", "%s", k->tgt_tokenizer);
    return;
  }
  auto_choose(a, "src-tokenizer", "%s", k->src_tokenizer);
  if (of == SEQ2SEQ) auto_choose(a, "tgt-tokenizer", "%s", k->tgt_tokenizer);
}

/* The choice as options, but for what is chosen without texts too. */
static void auto_network(arguments *a, task of, const syn_choice *k) {
  if (!opt_int(a, "features")) auto_tokenizers(a, of, k);
  if (*k->tie) auto_choose(a, "tie", "%s", k->tie);
  if (k->lowercase) auto_choose(a, "lowercase", "on");
  if (*k->encoder) auto_choose(a, "encoder", "%s", k->encoder);
  if (*k->decoder) auto_choose(a, "decoder", "%s", k->decoder);
  auto_choose(a, "d-model", "%d", k->d_model);
  auto_choose(a, "heads", "%d", k->heads);
  auto_choose(a, "max-len", "%d", k->max_len);
  auto_choose(a, "batch", "%d", k->batch_tokens);
  auto_choose(a, "dropout", "%g", (double)k->dropout);
  auto_choose(a, "label-smoothing", "%g", (double)k->label_smoothing);
  if (!opt_given(a, "schedule") && k->lr > 0.0f) auto_choose(a, "lr", "%g", (double)k->lr);
  auto_choose(a, "optimizer", "%s", k->optimizer);
  if (*k->freeze) auto_choose(a, "freeze", "%s", k->freeze);
  if (k->weight_decay > 0.0f) auto_choose(a, "weight-decay", "%g", (double)k->weight_decay);
}

/* -- networks for a board -- */

/* With --board, syn_choose asks auto_excess of each network that it may choose. */
typedef struct auto_fit {
  arguments *a;
  task of;
  pairs p;            /* the texts; lm: `all` */
  syn_text all;
  const board *b;     /* null: without --board, nothing is asked */
  board_need has;
  syn_choice last;    /* the network asked of last */
  buffer saved[2];    /* tokenizers that were learned for it */
  int tokens[2];      /* of them */
  double least;       /* the share of the board that the nearest network needs; 0: none yet */
  int late;           /* 1: it takes more than 16 times the latency, which no tokenizer changes */
  char nearest[300];
} auto_fit;

/* Learns the tokenizers of a choice, unless they are those of the choice before. It reads all
   texts, also those that are held back later: training will know the same tokens or fewer. */
static void fit_learn(auto_fit *f, syn_context *c, const syn_choice *k, int joint) {
  syn_tokenizer *t[2] = {NULL, NULL};
  int i;
  if (f->saved[1].size && !strcmp(k->src_tokenizer, f->last.src_tokenizer) &&
      !strcmp(k->tgt_tokenizer, f->last.tgt_tokenizer))
    return;
  if (f->of == LM) {
    syn_text part[2];
    part[1] = f->all;
    learn_tokenizer(c, f->a, part, 2, t);
  } else learn_tokenizers(c, f->a, &f->p, joint, t);
  check_use(c);
  for (i = 0; i < 2; i++) {
    f->saved[i].size = 0;
    f->tokens[i] = t[i] ? syn_tokenizer_size(t[i]) : 0;
    if (t[i] && (i || !joint)) {
      buffer_reserve(&f->saved[i], syn_tokenizer_save(t[i], NULL, 0));
      f->saved[i].size = syn_tokenizer_save(t[i], f->saved[i].at, f->saved[i].cap);
    }
  }
  if (!joint) syn_tokenizer_free(t[0]);
  syn_tokenizer_free(t[1]);
}

/* What the network of the options needs on the board. Its weights are not trained. */
static syn_status fit_needs(auto_fit *f, syn_context *c, const syn_choice *k, board_need *need) {
  network n = network_of(f->a);
  const int joint = f->of == SEQ2SEQ && n.config.tie && !strcmp(n.config.tie, "all");
  syn_tokenizer *t[2] = {NULL, NULL};
  syn_model *m;
  int i;
  fit_learn(f, c, k, joint);
  for (i = 0; i < 2; i++)
    if (f->saved[i].size) t[i] = syn_tokenizer_load(c, f->saved[i].at, f->saved[i].size);
  if (joint) t[0] = t[1];
  n.config.src_vocab = f->tokens[0];
  n.config.tgt_vocab = f->tokens[1];
  n.config.classes = f->tokens[1] - task_shift(f->of);
  n.config.outputs = f->p.outputs;
  m = syn_model_new(c, &n.config);
  check_use(c); /* a wrong text of the user ends here */
  syn_model_set_tokenizers(m, t[0], t[1]);
  if (f->p.features) { /* instructions depend on the scales of features, here those of a line */
    syn_data *d = syn_data_new(c);
    signal_add(d, &f->p, 0, t[1], INT_MAX);
    syn_model_normalize(m, d);
    syn_data_free(d);
  }
  board_needs(c, m, f->b, NULL, &board_greedy, need);
  syn_model_free(m);
  network_free(&n);
  return c->status;
}

/* A tokenizer of fewer tokens in place of one that was chosen; 0: there is none. */
static int fit_fewer(char spec[24]) {
  static const char *const next[] = {"bpe:2000", "bpe:1000", "bpe:500", "char"};
  const int parts = strncmp(spec, "bpe:", 4) == 0;
  const long tokens = parts ? atol(spec + 4) : LONG_MAX;
  size_t i = 0;
  if (!parts && strcmp(spec, "space") != 0) return 0;
  while (i < 3 && atol(next[i] + 4) >= tokens) i++;
  snprintf(spec, 24, "%s", next[i]);
  return 1;
}
/* The same for the side that has more tokens, of those that the user left open; with --tie all for
   both. Tags stand for words. */
static int fit_smaller(const auto_fit *f, syn_choice *k) {
  const arguments *a = f->a;
  const int joint = f->of == SEQ2SEQ && !strcmp(f->last.tie, "all");
  const int all = opt_given(a, "tokenizer") || f->of == TAG;
  const int fixed[2] = {all || f->of == LM || opt_given(a, "src-tokenizer"),
                        all || f->of == CLASSIFY || opt_given(a, "tgt-tokenizer")};
  char *const spec[2] = {k->src_tokenizer, k->tgt_tokenizer};
  int side = f->tokens[1] > f->tokens[0], i;
  for (i = 0; i < 2; i++, side = !side) {
    if (fixed[side]) continue;
    memcpy(k->src_tokenizer, f->last.src_tokenizer, sizeof k->src_tokenizer);
    memcpy(k->tgt_tokenizer, f->last.tgt_tokenizer, sizeof k->tgt_tokenizer);
    if (!fit_fewer(spec[side])) continue;
    if (joint) memcpy(spec[!side], spec[side], sizeof k->src_tokenizer);
    return 1;
  }
  return 0;
}

/* As syn_learn_config wants it. A token takes about 56 bytes: its text, a row of width 32. Tokens
   that take more than a quarter of the flash are too many, where there may be fewer. Buckets of a
   bag of n-grams take flash alone. */
static int auto_excess(void *user, const syn_choice *k) {
  auto_fit *f = (auto_fit *)user;
  const int given = f->a->given_count;
  board_need need;
  syn_choice fewer = *k;
  syn_context c;
  double share;
  context_open(&c, f->a);
  auto_network(f->a, f->of, k);
  fit_needs(f, &c, k, &need);
  if (c.status) fail(WRONG_USE, "train --board %s: %s", f->b->name, c.message);
  auto_drop(f->a, given);
  f->last = *k;
  if (f->p.features) need.part[BOARD_MS] *= 1.02; /* those of all lines may need a little more */
  share = board_share(&need, &f->has);
  if (f->least == 0.0 || share < f->least) {
    board_text(f->nearest, sizeof f->nearest, &need, &f->has);
    f->least = share;
    f->late = need.part[BOARD_MS] > 16.0 * f->has.part[BOARD_MS];
  }
  if (4.0 * 56.0 * (f->tokens[0] + f->tokens[1]) > f->has.part[BOARD_FLASH] &&
      fit_smaller(f, &fewer))
    return -1;
  if (share <= 1.0) return 0;
  return f->of == CLASSIFY && need.part[BOARD_FLASH] > f->has.part[BOARD_FLASH] ? 1 : 2;
}

static void auto_unfit(const auto_fit *f) {
  fail(WRONG_USE, "train --board %s: no network that --minutes chooses fits; the nearest needs %s",
       f->b->name, f->nearest);
}
/* Chooses; for a board with fewer and fewer tokens until a network fits. */
static void auto_fitting(syn_context *c, const syn_learn_config *k, auto_fit *f,
                         const syn_text *src, const syn_text *tgt, size_t count) {
  syn_learn_config own = *k;
  syn_choice given = *k->choice;
  own.user = f;
  own.excess = f->b ? auto_excess : NULL;
  while (syn_choose(c, &own, src, tgt, count) && f->least > 0.0 && !f->late &&
         fit_smaller(f, &given)) {
    syn_context_clear(c);
    *k->choice = given;
  }
  if (c->status && f->least > 0.0) auto_unfit(f);
  free(f->saved[0].at);
  free(f->saved[1].at);
}

/* -- rows of numbers -- */

/* Convolutions see 29 rows around each one. Where the targets of each row are its own numbers, a
   narrow middle keeps the network from copying them, and so do fewer epochs: the error of what is
   unlike the data stays large. `size` 16: as wide as the networks of examples/signals; less for a
   small board. */
static void signals_encoder(syn_choice *k, int features, int repeats, int size) {
  const int even = features < 2048 ? 2 * features * size / 16 : 4096, wide = even ? even : 1;
  const int narrow = wide * 3 / 16;
  if (repeats)
    snprintf(k->encoder, sizeof k->encoder, "ff(%d,tanh)->ff(%d,tanh)->ff(%d,tanh)", wide,
             narrow ? narrow : 1, wide);
  else
    snprintf(k->encoder, sizeof k->encoder,
             "cnn(%d,5,relu)->cnn(%d,5,relu,dilate=2)->cnn(%d,5,relu,dilate=4)", size,
             size * 3 / 2, size * 2);
}

/* What follows from the sources: max_len, which is twice the longest where they differ in length,
   batch, targets. Returns 1 where the targets of rows are the rows themselves. */
static int signals_facts(pairs *p, syn_choice *k) {
  int repeats = p->of == REGRESS_ROWS, longest = 0, shortest = INT_MAX, rows;
  size_t i;
  for (i = 0; i < p->count; i++) {
    rows = read_rows(&p->x[0], p->side[0][i], p->features, p->names[0], line_of(p, i));
    repeats &= text_equal(p->side[0][i], p->side[1][i]);
    if (rows > longest) longest = rows;
    if (rows < shortest) shortest = rows;
  }
  if (p->of >= REGRESS) p->outputs = pairs_outputs(p);
  if (!k->max_len)
    k->max_len = longest < 2 ? 2 : longest == shortest || longest > 500000 ? longest : 2 * longest;
  k->batch_tokens = k->max_len < 512 ? 2048 : 4 * k->max_len;
  return repeats;
}

/* The choice for rows of numbers; for a board the widest network that fits. */
static void auto_signals(arguments *a, auto_fit *f, syn_choice *k) {
  const int own = *k->encoder, numbers = f->of >= REGRESS;
  const int repeats = signals_facts(&f->p, k);
  int size = 16;
  snprintf(k->optimizer, sizeof k->optimizer, "%s", opt_text(a, "optimizer"));
  if (!k->d_model) k->d_model = opt_int(a, "d-model");
  k->heads = opt_int(a, "heads");
  k->dropout = numbers ? 0.0f : 0.1f;
  k->label_smoothing = numbers ? 0.0f : 0.1f;
  k->clip = 1.0f;
  k->epochs = repeats ? 30.0 : 60.0;
  if (f->p.count >= 50) k->hold_back = 0.05; /* of fewer each row is needed */
  for (;; size = size * 3 / 4) {
    if (!own) signals_encoder(k, f->p.features, repeats, size);
    if (!f->b || !auto_excess(f, k)) return;
    if (own || size < 3) auto_unfit(f);
  }
}

/* Chooses from the texts of the files. */
static void auto_texts(syn_context *c, const syn_learn_config *k, arguments *a, task of) {
  static const char *const names[] = {"data", "src", "tgt"};
  size_t i;
  int how = QUIET | (opt_flag(a, "nfc") ? COMPOSE : 0);
  auto_fit f;
  memset(&f, 0, sizeof f);
  f.a = a;
  f.of = of;
  if (*opt_text(a, "board")) f.b = board_find(opt_text(a, "board"));
  if (f.b) f.has = board_has(f.b, opt_number(a, "latency-ms"));
  if (of == LM) {
    buffer text = read_data(opt_text(a, "data"), how);
    f.all = buffer_text(&text);
    auto_fitting(c, k, &f, NULL, &f.all, 1);
    free(text.at);
  } else {
    if (!pairs_read(&f.p, of, a, names, opt_int(a, "features"), how))
      fail(WRONG_USE, "train wants --data, or --src and --tgt");
    if (!f.p.count) fail(FAILED_JOB, "%s has no line", f.p.names[0]);
    for (i = 0; i < f.p.count; i++) f.p.side[1][i] = first_alternative(&f.p, i);
    if (f.p.features) auto_signals(a, &f, k->choice);
    else auto_fitting(c, k, &f, f.p.side[0], f.p.side[1], f.p.count);
    pairs_free(&f.p);
  }
}

/* The task of a model file. */
static task init_task(syn_context *c, const char *path) {
  syn_model *m = syn_model_load(c, path);
  task of;
  check_file(c, path);
  of = task_of(syn_model_config(m)->task);
  syn_model_free(m);
  return of;
}

/* Every choice but the number of updates. With --init the network is that of the model; the texts
   of --span-corruption have no target. */
static syn_choice auto_options(arguments *a, double begin) {
  int own = *opt_text(a, "init") || opt_flag(a, "span-corruption");
  task of = task_of(opt_text(a, "task"));
  syn_choice choice;
  syn_learn_config k = auto_config(a, begin, &choice);
  syn_context c;
  memset(&choice, 0, sizeof choice);
  context_open(&c, a);
  auto_given(a, of, &choice);
  if (*opt_text(a, "init") && !opt_given(a, "task")) of = init_task(&c, opt_text(a, "init"));
  k.task = task_names[of];
  if (own) syn_choose(&c, &k, NULL, NULL, 0);
  else auto_texts(&c, &k, a, of);
  check_use(&c);
  if (!*opt_text(a, "valid") && !*opt_text(a, "valid-src"))
    auto_choose(a, "hold-back", "%g", choice.hold_back);
  auto_choose(a, "clip", "%g", (double)choice.clip);
  if (!own) auto_network(a, of, &choice);
  return choice;
}

/* An option as a shell reads it. */
static void put_shell(buffer *b, const char *value) {
  static const char plain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:,=+";
  const char *quote = *value && !value[strspn(value, plain)] ? "" : "'";
  put(b, quote, strlen(quote));
  for (; *value; value++) {
    if (*value == '\'') put(b, "'\\''", 4);
    else put_byte(b, *value);
  }
  put(b, quote, strlen(quote));
}

/* The command that trains the same model: every option given or chosen, without --minutes. */
static void auto_print(const arguments *a) {
  buffer line = {NULL, 0, 0};
  int i;
  for (i = 0; i < a->given_count; i++) {
    const option *o = a->given[i].of;
    if (strcmp(o->name, "minutes") == 0) continue;
    put(&line, " --", 3);
    put(&line, o->name, strlen(o->name));
    if (o->kind == FLAG) continue;
    put_byte(&line, strncmp(a->given[i].value, "--", 2) == 0 ? '=' : ' ');
    put_shell(&line, a->given[i].value);
  }
  put_byte(&line, 0);
  fprintf(stderr, "syn: chosen; the same training again: syn train%s\n", line.at);
  free(line.at);
}
