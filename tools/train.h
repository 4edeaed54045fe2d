/* train.h   the command train: trains a model on text files and writes it.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

#define LAST_STEPS 50 /* the final loss is the mean of these, at most the last half of the run */

typedef struct training {
  arguments *a;               /* with what auto.h has chosen */
  int given, choose;          /* options of the command line; 1: --minutes decides the length */
  syn_choice choice;          /* with `choose` */
  task of;
  double per_label;           /* classify: mean source tokens per label, for tokens/s; else 1 */
  syn_context c;
  syn_model *m, *from;        /* from: the model of --init, or null */
  syn_trainer *t;
  syn_data *data, *valid;     /* valid: null without --valid */
  int features, outputs;      /* numbers of a row of the source, 0: tokens; of a row of targets */
  int max_len, joint, corrupt; /* joint: one tokenizer for both sides; corrupt: --span-corruption */
  syn_tokenizer *tokenizer[2];
  int of_init[2];             /* 1: it is that of --init */
  syn_train_config config;
  const char *output, *checkpoint; /* checkpoint: null without --checkpoint */
  int json, terminal, how, lost; /* how: of read_data; lost: the last checkpoint was not written */
  double begin, minutes;           /* seconds() at the start of the program; limit, 0: none */
  syn_learn_config timed;          /* where --minutes decides the length, also after --resume */
  double shown, losses, loss; /* seconds() of the last line; sum of the losses since; their mean */
  int64_t first_step, shown_step, shown_tokens;
  float factor;               /* of the learning rate, when it was shown last */
  double first_loss, last_losses[LAST_STEPS]; /* of step n of this run in place n % LAST_STEPS */
  int64_t seen;                                 /* steps of this run */
  double unknown[2];          /* share of the tokens of training and validation */
} training;

/* The signal (Ctrl-C) that requested a stop. A second one ends the program at once. */
static volatile sig_atomic_t stopped_by = 0;

static void on_stop(int number) {
  stopped_by = number;
  signal(number, SIG_DFL);
}

/* Checks before the training that the file can be written after it, by a file beside it that is
   removed again. */
static void check_writable(const char *path) {
  syn_context c;
#ifdef POSIX
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    fail(FAILED_JOB, "cannot write %s: it is a folder", path);
#endif
  syn_context_init(&c, NULL);
  syn_text_write(&c, path, NULL);
  check(&c);
}

/* -- progress -- */

/* Estimated seconds to the end, by steps and by minutes; below 0: unknown. */
static double train_left(const training *r, const syn_train_state *s, double now) {
  double left = -1.0, by_minutes = r->begin + 60.0 * r->minutes - now;
  int64_t done = s->step - r->first_step;
  if (r->config.steps < LONG_MAX && done > 0)
    left = (double)(r->config.steps - s->step) * (now - r->begin) / (double)done;
  if (r->minutes > 0.0 && (left < 0.0 || by_minutes < left))
    left = by_minutes > 0.0 ? by_minutes : 0.0;
  return left;
}

/* Minutes and seconds to the end, as text; "": unknown. */
static void train_clock(char *text, size_t size, double left) {
  double minutes = floor(left / 60.0);
  *text = 0;
  if (left >= 0.0) snprintf(text, size, "  %.0f:%02.0f left", minutes, floor(left - 60.0 * minutes));
}

/* The share of unknown tokens beside a loss of training or validation; "": none is unknown. */
static const char *train_unknown(const training *r, int valid, char out[48]) {
  char share[32];
  *out = 0;
  if (r->unknown[valid] > 0.0)
    snprintf(out, 48, " (%s unknown)", percent(share, r->unknown[valid], 1.0));
  return out;
}

/* A line for a file or a pipe. */
static void train_line(const training *r, double speed, double now) {
  const syn_train_state *s = syn_trainer_state(r->t);
  char valid[88] = "", left[40], unknown[48];
  train_clock(left, sizeof left, train_left(r, s, now));
  if (r->valid && s->validations)
    snprintf(valid, sizeof valid, "  valid %.4f%s", (double)s->valid, train_unknown(r, 1, unknown));
  fprintf(stderr, "step %lld  loss %.4f%s%s  lr %.3g  %.0f tokens/s%s\n", (long long)s->step, r->loss,
          train_unknown(r, 0, unknown), valid, (double)s->rate, speed, left);
  fflush(stderr);
}

/* The line on a terminal, which the next one overwrites: a bar, time left, losses. */
static void train_bar(const training *r, double speed, double now) {
  const syn_train_state *s = syn_trainer_state(r->t);
  char valid[120] = "", left[40], bar[21], line[300], unknown[48];
  double spent = now - r->begin, rest = train_left(r, s, now);
  double share = rest >= 0.0 && spent + rest > 0.0 ? spent / (spent + rest) : 0.0;
  train_clock(left, sizeof left, rest);
  memset(bar, '.', sizeof bar - 1);
  memset(bar, '#', (size_t)(share * (double)(sizeof bar - 1)));
  bar[sizeof bar - 1] = 0;
  if (r->valid && s->validations)
    snprintf(valid, sizeof valid, "  valid %.4f%s  best %.4f", (double)s->valid,
             train_unknown(r, 1, unknown), (double)s->best);
  snprintf(line, sizeof line, "[%s]%s  loss %.4f%s%s  %.0f tokens/s", bar, left, r->loss,
           train_unknown(r, 0, unknown), valid, speed);
  fprintf(stderr, "\r%-79.79s", line);
  fflush(stderr);
}

static void train_json(const training *r, double speed, double now, int validated) {
  const syn_train_state *s = syn_trainer_state(r->t);
  char valid[JSON_NUMBER];
  printf("{\"step\":%lld,\"loss\":%.6f,\"valid\":%s,", (long long)s->step, r->loss,
         json_number(valid, r->valid && validated ? (double)s->valid : (double)NAN, 6));
  if (r->unknown[0] + r->unknown[1] > 0.0)
    printf("\"unknown\":%.6f,\"valid_unknown\":%.6f,", r->unknown[0], r->unknown[1]);
  printf("\"lr\":%.9g,\"tokens_per_s\":%.1f,\"seconds\":%.3f}\n", (double)s->rate, speed,
         now - r->begin);
  fflush(stdout);
}

/* The loss shown is the mean over the steps since the last line. */
static void train_show(training *r, double now, int validated) {
  const syn_train_state *s = syn_trainer_state(r->t);
  int64_t steps = s->step - r->shown_step;
  double span = now - r->shown;
  double labels = (double)(s->tokens - r->shown_tokens);
  double speed = span > 0.0 ? labels * r->per_label / span : 0.0;
  if (steps) r->loss = r->losses / (double)steps;
  if (r->json) train_json(r, speed, now, validated);
  else if (r->terminal) train_bar(r, speed, now);
  else train_line(r, speed, now);
  r->shown = now;
  r->shown_step = s->step;
  r->shown_tokens = s->tokens;
  r->losses = 0.0;
}

/* A failed write leaves the previous checkpoint intact. Without --ignore-save-errors it ends the
   training at once: a long training that cannot be resumed should not go on unnoticed. At the end
   of the training the model is still written. */
static void train_checkpoint(training *r, int at_end) {
  int ignore = opt_flag(r->a, "ignore-save-errors");
  r->lost = r->checkpoint && syn_trainer_save(r->t, r->checkpoint);
  if (!r->lost) return;
  if (!ignore && !at_end)
    fail(FAILED_JOB, "%s; --ignore-save-errors continues without it", r->c.message);
  fprintf(stderr, "syn: %s\n", r->c.message);
  syn_context_clear(&r->c);
  if (ignore) r->lost = 0;
}

/* Keeps the loss of the first step and those of the last LAST_STEPS steps. */
static void train_remember(training *r, double loss) {
  if (!r->seen) r->first_loss = loss;
  r->last_losses[r->seen++ % LAST_STEPS] = loss;
}

/* What compare adds, which calls run_train: seconds that earlier sessions have trained, which count
   for --minutes and in the log, and a checkpoint every `gap` seconds and at a stop, each with a
   line in the log, which has more lines. Without it (gap 0) checkpoints are written where
   validations are. */
static struct train_session {
  double used, gap, saved; /* saved: seconds() of the last of these checkpoints */
} train_session;

/* Says that the learning rate was too high: the validation loss rose, or an update was refused. */
static void train_halved(training *r, int validated) {
  const syn_train_state *s = syn_trainer_state(r->t);
  int rose = validated && s->valid > s->best;
  if (s->factor < r->factor && strcmp(r->config.schedule, "plateau") != 0)
    fprintf(stderr, r->terminal ? "\nsyn: %s at step %lld: from the %s weights again, with half the "
            "learning rate\n" : "syn: %s at step %lld: from the %s weights again, with half the "
            "learning rate\n", rose ? "the validation loss rose" : "an update was refused",
            (long long)s->step, r->config.average && s->validations ? "best" : "last");
  r->factor = s->factor;
}

static int train_report(void *user, const syn_trainer *t, float loss, int validated) {
  training *r = (training *)user;
  double now = seconds(), gap = train_session.gap;
  int save = validated || (gap > 0.0 && (stopped_by || now - train_session.saved >= gap));
  UNUSED(t);
  r->losses += (double)loss;
  train_remember(r, (double)loss);
  train_halved(r, validated);
  if (save || now - r->shown >= (r->terminal ? 0.5 : gap > 0.0 ? 2.0 : 10.0))
    train_show(r, now, validated);
  if (save) train_checkpoint(r, 0);
  if (save) train_session.saved = seconds();
  if (r->timed.minutes > 0.0) syn_trainer_deadline(r->t, &r->timed);
  return stopped_by || (r->minutes > 0.0 && seconds() - r->begin >= 60.0 * r->minutes);
}

/* -- --init: weights and defaults from another model -- */

/* Options that were not given come from the model of --init: the whole network for the same task,
   only the encoder and the sizes for another one. */
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

/* Whether side k uses the tokenizer t of --init: not if an option names another one. The labels of
   the model are kept if they include all labels of the training texts. */
static int init_keeps(const training *r, const pairs *p, int k, const syn_tokenizer *t) {
  int own = opt_given(r->a, "tokenizer") || opt_given(r->a, k ? "tgt-tokenizer" : "src-tokenizer");
  if (!t || (k == 0 && r->of == LM)) return 0;
  if (k == 0 || r->of < CLASSIFY) return !own;
  if (own && r->of == TAG) return 0;
  return r->of == task_of(syn_model_config(r->from)->task) && knows_labels(t, p);
}

/* Copies the tokenizers of --init through their saved bytes: each model owns its own. */
static void init_tokenizers(training *r, const pairs *p) {
  const char *path = opt_text(r->a, "init");
  int k;
  for (k = 0; r->from && k < 2; k++) {
    const syn_tokenizer *t = syn_model_tokenizer(r->from, k);
    size_t size = syn_tokenizer_save(t, NULL, 0);
    int flags = tokenizer_flags(r->a, r->of, k);
    char *bytes;
    if (!init_keeps(r, p, k, t)) continue;
    if (flags & ~syn_tokenizer_flags(t) & SYN_NFC)
      fail(WRONG_USE, "--nfc: the tokenizer of %s does not compose; give --tokenizer too", path);
    if (flags & ~syn_tokenizer_flags(t) & SYN_LOWERCASE)
      fail(WRONG_USE, "--lowercase%s: the tokenizer of %s keeps upper case; give --tokenizer too",
           k && r->of == SEQ2SEQ ? "-targets" : "", path);
    bytes = (char *)take(size, 1);
    syn_tokenizer_save(t, bytes, size);
    if (k && t == syn_model_tokenizer(r->from, 0) && r->tokenizer[0])
      r->tokenizer[1] = r->tokenizer[0];
    else r->tokenizer[k] = syn_tokenizer_load(&r->c, bytes, size);
    r->of_init[k] = 1;
    check(&r->c);
    free(bytes);
  }
  if (r->of == MLM && r->tokenizer[0]) r->tokenizer[1] = r->tokenizer[0]; /* an imported one has no other */
  if (r->joint && r->tokenizer[0] != r->tokenizer[1])
    fail(WRONG_USE, "--init %s: both sides must have one tokenizer; --tokenizer learns it", path);
}

/* Names of the tensors that --init does not fill, or in part, by reason. */
typedef struct init_news {
  buffer names[5];
  int count[5];
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

static void init_report(void *user, const syn_param *mine, const syn_param *theirs, int rows) {
  init_news *news = (init_news *)user;
  const syn_param *shown = mine ? mine : theirs;
  int same = mine && theirs && mine->rank == theirs->rank && mine->size == theirs->size;
  int why = rows ? 4 : !theirs ? 0 : !mine ? 3 : same ? 2 : 1, i;
  buffer *b = &news->names[why];
  char text[60];
  for (i = 0; why == 2 && i < mine->rank; i++)
    if (mine->shape[i] != theirs->shape[i]) b = &news->names[why = 1];
  news->count[why]++;
  put_byte(b, ' ');
  put(b, shown->name, strlen(shown->name));
  snprintf(text, sizeof text, " %d of %d", rows, mine ? mine->shape[0] : 0);
  if (why == 4) put(b, text, strlen(text));
  if (why != 1) return;
  put_shape(b, mine);
  put(b, " there ", 7);
  put_shape(b, theirs);
}

/* Copies the weights of --init and reports which were not copied. */
static void init_weights(training *r) {
  static const char *const why[] = {"new, not in it", "new, of another shape",
                                    "new, of other tokens", "without use here",
                                    "rows of tokens that it has"};
  const char *path = opt_text(r->a, "init");
  init_news news;
  int taken, k, part;
  if (!r->from) return;
  memset(&news, 0, sizeof news);
  taken = syn_model_init_from(r->m, r->from, SYN_OTHER_TASK, init_report, &news);
  check(&r->c);
  part = news.count[4];
  fprintf(stderr, "syn: --init %s: %d of %lu weights are taken", path, taken,
          (unsigned long)syn_model_param_count(r->m));
  if (part) fprintf(stderr, ", %d in part", part);
  fputc('\n', stderr);
  for (k = 0; k < 5; k++) {
    if (news.count[k])
      fprintf(stderr, "syn: --init %s: %s (%d):%.*s\n", path, why[k], news.count[k],
              (int)news.names[k].size, news.names[k].at);
    free(news.names[k].at);
  }
  if (!taken && !part) fail(FAILED_JOB, "--init %s: none of its weights fits this network", path);
  syn_model_free(r->from);
}

/* -- the data -- */

/* What helps against unknown tokens of side k. */
static const char *train_remedy(const training *r, int k) {
  return r->of_init[k] ? "the tokenizer is that of --init; --tokenizer learns one from these texts"
                       : unknown_remedy(r->tokenizer[k]);
}

/* Says how many tokens of a file are unknown; `in` and `out` encoded its sides; out may be null. */
static void train_say_unknown(training *r, int valid, const char *const *path, const encoder *in,
                              const encoder *out) {
  double unknown = in->unknown + (out ? out->unknown : 0.0);
  double tokens = in->tokens + (out ? out->tokens : 0.0);
  const char *held = valid && !*opt_text(r->a, "valid") && !*opt_text(r->a, "valid-src")
                         ? "held-back " : "";
  char side[40];
  r->unknown[valid] = tokens > 0.0 ? unknown / tokens : 0.0;
  snprintf(side, sizeof side, "%s%s", held, out ? "source " : "");
  say_unknown(in, path[0], side, train_remedy(r, r->of == LM));
  snprintf(side, sizeof side, "%starget ", held);
  if (out) say_unknown(out, path[1], side, train_remedy(r, 1));
}

/* Adds the pairs and says how many do not fit: none is dropped silently. Returns 0 where none fits,
   which ends the training if they are needed. */
static int train_add(training *r, syn_data *d, pairs *p, int most, int needed) {
  const syn_tokenizer *const t[2] = {r->tokenizer[0], r->tokenizer[1]};
  size_t left = pairs_add(d, p, 0, p->count, t, most);
  const int asked = r->max_len;
  const char *by_batch = most < asked ? " or --batch" : "";
  check(&r->c);
  if (p->first_left && strcmp(opt_text(r->a, "too-long"), "stop") == 0)
    fail(FAILED_JOB, "%s line %lu does not fit --max-len %d%s: --too-long stop ends here",
         p->names[0], (unsigned long)p->first_left, asked, by_batch);
  if (left == p->count && needed)
    fail(FAILED_JOB, "no pair of %s fits --max-len %d%s", p->names[0], asked, by_batch);
  if (left && left < p->count)
    fprintf(stderr, "syn: %lu of %lu %spairs of %s do not fit --max-len %d%s and are left out; "
            "the first is line %lu\n", (unsigned long)left, (unsigned long)p->count,
            p->held ? "held-back " : "", p->names[0], asked, by_batch, (unsigned long)p->first_left);
  if (p->cut_rows)
    fprintf(stderr, "syn: %lu of %lu %spairs of %s do not fit --max-len %d%s: their %s tokens are "
            "read, %lu are not; the first is line %lu\n", (unsigned long)p->cut_rows,
            (unsigned long)p->count, p->held ? "held-back " : "", p->names[0], asked, by_batch,
            cut_left(p->cut), (unsigned long)p->cut_tokens, (unsigned long)p->first_cut);
  train_say_unknown(r, d == r->valid, p->names, &p->encoders[0],
                    r->of < CLASSIFY ? &p->encoders[1] : NULL);
  return left < p->count;
}

/* Checks labels learned from the data: at least two; and if there are more than half as many as
   lines, the first column is most likely no label but a text. Up to 20 labels that is only said,
   because tiny data may well have it. */
static void train_check_labels(const training *r, const pairs *p) {
  int count = syn_tokenizer_size(r->tokenizer[1]) - SYN_FIRST_TOKEN;
  if (count < 2) fail(FAILED_JOB, "%s has one label in all, at least two are wanted", p->names[1]);
  if ((size_t)count <= p->count / 2 || opt_flag(r->a, "many-classes")) return;
  if (count <= 20) {
    fprintf(stderr, "syn: %s has %d different labels in %lu lines: each has hardly an example\n",
            p->names[1], count, (unsigned long)p->count);
    return;
  }
  fail(FAILED_JOB, "%s has %d different labels in %lu lines: is it no file of label TAB text? "
       "Pairs of texts want --task seq2seq; --many-classes trains %d classes", p->names[1], count,
       (unsigned long)p->count, count);
}

/* Moves every n-th row of p to v, which shares its bytes: rows 0, n, 2n, ... of a part 1/n. One row
   alone stays. */
static void hold_back(pairs *p, pairs *v, double share) {
  size_t i, n = share > 1e-9 ? (size_t)(1.0 / share + 0.5) : 0, kept = 0;
  int k;
  if (!n) return;
  if (p->count == 1) {
    fprintf(stderr, "syn: %s has one line: none is held back\n", p->names[0]);
    return;
  }
  p->nth = n;
  *v = *p;
  v->held = 1;
  memset(v->encoders, 0, sizeof v->encoders);
  v->count = 0;
  for (k = 0; k < 2; k++) v->side[k] = (syn_text *)take(p->count, sizeof(syn_text));
  for (i = 0; i < p->count; i++) {
    pairs *to = i % n == 0 ? v : p;
    size_t at = i % n == 0 ? v->count++ : kept++;
    for (k = 0; k < 2 && p->side[k]; k++) to->side[k][at] = p->side[k][i];
  }
  p->count = kept;
}

/* A row of text, to be sorted. */
typedef struct text_row {
  syn_text side[2];
} text_row;

static int row_order(const void *a, const void *b) {
  const text_row *x = (const text_row *)a, *y = (const text_row *)b;
  int order = text_compare(x->side[0], y->side[0]);
  return order ? order : text_compare(x->side[1], y->side[1]);
}

/* The rows of p that hold text. */
static text_row *rows_of(const pairs *p, size_t *count) {
  text_row *row = (text_row *)take(p->count, sizeof *row);
  size_t i;
  int k;
  for (i = *count = 0; i < p->count; i++) {
    for (k = 0; k < 2; k++) row[*count].side[k] = p->side[k] ? p->side[k][i] : syn_text_of("");
    *count += row[*count].side[0].size + row[*count].side[1].size > 0;
  }
  return row;
}

/* Says how many rows of validation are also trained on: of those held back any, of a file given for
   it where they are half of it or more: short texts may well be in both. */
static void train_say_shared(const pairs *p, const pairs *v, int own_valid) {
  size_t n, m, i, shared = 0;
  text_row *trained = rows_of(p, &n), *row = rows_of(v, &m);
  qsort(trained, n, sizeof *trained, row_order);
  for (i = 0; i < m; i++) shared += bsearch(&row[i], trained, n, sizeof *row, row_order) != NULL;
  free(trained);
  free(row);
  if (shared && own_valid && shared == m)
    fprintf(stderr, "syn: every line of %s is in the training data, too: validation cannot show "
            "what is learned by heart\n", v->names[0]);
  else if (own_valid && 2 * shared >= m && shared)
    fprintf(stderr, "syn: %lu of the %lu lines of %s are in the training data, too\n",
            (unsigned long)shared, (unsigned long)m, v->names[0]);
  if (shared && !own_valid)
    fprintf(stderr, "syn: %lu of the %lu lines held back of %s are in its training part, too\n",
            (unsigned long)shared, (unsigned long)m, p->names[0]);
}

/* Says when --hold-back holds nothing back. */
static void train_say_held(const training *r, const char *path) {
  if (!r->valid && opt_given(r->a, "hold-back") && opt_number(r->a, "hold-back") > 0.0)
    fprintf(stderr, "syn: --hold-back %s holds nothing of %s back: there is no validation\n",
            opt_text(r->a, "hold-back"), path);
}

static void train_read_pairs(training *r) {
  static const char *const train_names[] = {"data", "src", "tgt"};
  static const char *const valid_names[] = {"valid", "valid-src", "valid-tgt"};
  int most = r->max_len, batch = opt_int(r->a, "batch"), own_labels, own_valid;
  const int cut = pair_cut_of(opt_text(r->a, "too-long"), r->of);
  pairs p, v;
  if (!pairs_read(&p, r->of, r->a, train_names, r->features, r->how))
    fail(WRONG_USE, "train wants --data, or --src and --tgt");
  r->data = syn_data_new(&r->c);
  own_valid = pairs_read(&v, r->of, r->a, valid_names, r->features, r->how);
  p.cut = v.cut = cut;
  if (r->of >= REGRESS) r->outputs = p.outputs = v.outputs = pairs_outputs(&p);
  init_tokenizers(r, &p);
  own_labels = has_labels(r->of) && !r->tokenizer[1];
  if (own_labels) /* also of rows that are held back */
    r->tokenizer[1] = learn_side(&r->c, &p, 1, tokenizer_spec(r->a, r->of, 1), 0);
  if (own_labels && r->of == CLASSIFY) train_check_labels(r, &p);
  if (!own_valid) hold_back(&p, &v, opt_number(r->a, "hold-back"));
  if (v.count) r->valid = syn_data_new(&r->c);
  if (v.count) train_say_shared(&p, &v, own_valid);
  if (r->of == TAG || r->features) batch--;
  if (batch < most) most = batch;
  learn_tokenizers(&r->c, r->a, &p, r->joint, r->tokenizer);
  train_add(r, r->data, &p, most, 1);
  if (r->valid && !train_add(r, r->valid, &v, most, own_valid)) {
    fprintf(stderr, "syn: none of the %lu pairs held back fits --max-len %d: there is no validation\n",
            (unsigned long)v.count, most);
    syn_data_free(r->valid);
    r->valid = NULL;
  } else if (p.count > 1) train_say_held(r, p.names[0]);
  if (own_valid) pairs_free(&v);
  else free(v.side[0]), free(v.side[1]), free(v.encoders[0].ids), free(v.encoders[1].ids);
  pairs_free(&p);
}

/* --span-corruption, mlm: each line is a text; every epoch hides other spans or tokens of it. Null:
   none fits. */
static const char *train_hides(const training *r) {
  return r->of == MLM ? "--task mlm" : "--span-corruption";
}
static syn_data *train_add_lines(training *r, pairs *p, int most, int valid) {
  const syn_corruption k = hides_of(r->of, r->tokenizer[0]);
  syn_data *d = syn_data_new(&r->c);
  size_t count[2];
  if (!k.count)
    fail(WRONG_USE, "--init %s: its tokenizer has no sentinels for %s", opt_text(r->a, "init"),
         train_hides(r));
  hidden_add(d, p, &k, r->tokenizer[0], most + (!has_end(r->of) && most < opt_int(r->a, "batch")),
             count);
  check(&r->c);
  if (count[0] + count[1])
    fprintf(stderr, "syn: of %lu lines of %s %lu have less than two tokens, %lu do not fit "
            "--max-len %d%s; they are left out\n", (unsigned long)p->count, p->names[0],
            (unsigned long)count[0], (unsigned long)count[1], r->max_len,
            most < r->max_len ? " or --batch" : "");
  train_say_unknown(r, valid, p->names, &p->encoders[0], NULL);
  if (syn_data_count(d)) return d;
  syn_data_free(d);
  return NULL;
}

/* As train_add_lines, where there must be a line that fits. */
static syn_data *train_need_lines(training *r, pairs *p, int most, int valid) {
  syn_data *d = train_add_lines(r, p, most, valid);
  if (!d)
    fail(FAILED_JOB, "no line of %s has two tokens or more and fits --max-len %d%s", p->names[0],
         r->max_len, most < r->max_len ? " or --batch" : "");
  return d;
}

static void train_read_lines(training *r) {
  const char *path = opt_text(r->a, "data"), *valid = opt_text(r->a, "valid");
  int most = r->max_len < opt_int(r->a, "batch") ? r->max_len : opt_int(r->a, "batch");
  int flags = SYN_SENTINELS | tokenizer_flags(r->a, r->of, 0);
  pairs p, v;
  if (!*path) fail(WRONG_USE, "train %s wants --data FILE, a text a line", train_hides(r));
  p = plain_lines(path, r->of, r->how);
  init_tokenizers(r, &p);
  if (!r->tokenizer[0])
    r->tokenizer[0] = r->tokenizer[1] =
        learn_side(&r->c, &p, 0, tokenizer_spec(r->a, SEQ2SEQ, 0), flags);
  memset(&v, 0, sizeof v);
  if (*valid) v = plain_lines(valid, r->of, r->how);
  else hold_back(&p, &v, opt_number(r->a, "hold-back"));
  r->data = train_need_lines(r, &p, most, 0);
  if (v.count) train_say_shared(&p, &v, *valid != 0);
  if (*valid) r->valid = train_need_lines(r, &v, most, 1);
  else if (v.count) r->valid = train_add_lines(r, &v, most, 1);
  if (p.count > 1) train_say_held(r, path);
  if (*valid) pairs_free(&v);
  else free(v.side[0]), free(v.side[1]), free(v.encoders[0].ids);
  pairs_free(&p);
}

/* Says which lines of a text are in both parts, as train_say_shared. */
static void text_say_shared(syn_text trained, syn_text valid, const char *const path[2]) {
  syn_text text[2], line;
  pairs p[2];
  int k, own = path[1] != NULL;
  text[0] = trained;
  text[1] = valid;
  memset(p, 0, sizeof p);
  for (k = 0; k < 2; k++) {
    syn_text rest = text[k];
    size_t most = 1, i;
    for (i = 0; i < rest.size; i++) most += rest.at[i] == '\n';
    p[k].names[0] = path[k && own];
    p[k].side[0] = (syn_text *)take(most, sizeof line);
    while (next_piece(&rest, "\n", &line))
      if (!is_blank(line)) p[k].side[0][p[k].count++] = line;
  }
  train_say_shared(&p[0], &p[1], own);
  free(p[0].side[0]);
  free(p[1].side[0]);
}

/* lm: the parts of syn_text_hold_back that are trained on (side 1) or held back (side 0) in one text. */
static buffer text_parts(const syn_text *part, int count, int side) {
  buffer b = {NULL, 0, 0};
  int i;
  for (i = side; i < count; i += 2) put(&b, part[i].at, part[i].size), put_byte(&b, '\n');
  return b;
}

/* lm: adds windows of the parts of a text, which overlap by half their length for validation. */
static void train_windows(training *r, const syn_text *part, int count, int window) {
  const char *path[2];
  encoder e[2];
  int i;
  path[0] = path[1] = opt_text(r->a, "data");
  memset(e, 0, sizeof e);
  for (i = 0; i < count; i += 2) {
    windows_add(&e[1], r->valid, part[i], r->tokenizer[1], window, window / 2);
    windows_add(&e[0], r->data, part[i + 1], r->tokenizer[1], window, window);
  }
  check(&r->c);
  for (i = 0; i < 2; i++) {
    train_say_unknown(r, i, path, &e[i], NULL);
    free(e[i].ids);
  }
}

/* lm: the text of --valid. */
static void train_valid_text(training *r, syn_text trained, int window) {
  const char *path[2];
  buffer text;
  encoder e;
  path[0] = opt_text(r->a, "data");
  path[1] = opt_text(r->a, "valid");
  memset(&e, 0, sizeof e);
  text = read_data(path[1], r->how);
  text_say_shared(trained, buffer_text(&text), path);
  r->valid = syn_data_new(&r->c);
  windows_add(&e, r->valid, buffer_text(&text), r->tokenizer[1], window, window / 2);
  check(&r->c);
  train_say_unknown(r, 1, path + 1, &e, NULL);
  free(e.ids);
  free(text.at);
}

static void train_read_text(training *r) {
  const char *path[2] = {opt_text(r->a, "data"), NULL};
  int window = r->max_len, own = *opt_text(r->a, "valid") != 0, count;
  syn_text part[SYN_HELD_PARTS];
  buffer text, held, trained;
  check_one_file(r->a, "lm");
  if (!*path[0]) fail(WRONG_USE, "train --task lm wants --data FILE");
  if (opt_int(r->a, "batch") <= window)
    fail(WRONG_USE, "train --batch %d holds no window: more than --max-len %d is wanted",
         opt_int(r->a, "batch"), window);
  text = read_data(path[0], r->how);
  init_tokenizers(r, NULL);
  count = syn_text_hold_back(buffer_text(&text), own ? 0.0 : opt_number(r->a, "hold-back"), part);
  learn_tokenizer(&r->c, r->a, part, count, r->tokenizer);
  r->data = syn_data_new(&r->c);
  r->valid = syn_data_new(&r->c);
  train_windows(r, part, count, window);
  if (syn_data_count(r->valid)) {
    held = text_parts(part, count, 0);
    trained = text_parts(part, count, 1);
    text_say_shared(buffer_text(&trained), buffer_text(&held), path);
    free(held.at);
    free(trained.at);
  } else {
    syn_data_free(r->valid);
    r->valid = NULL;
  }
  if (own) train_valid_text(r, buffer_text(&text), window);
  train_say_held(r, path[0]);
  free(text.at);
}

/* The smaller of --steps and --epochs in steps; every epoch counts the batches of the first one. */
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

/* Refuses options that have no effect without others. */
static void train_check_rule(const arguments *a) {
  const char *optimizer = opt_text(a, "optimizer"), *schedule = opt_text(a, "schedule");
  int own = *opt_text(a, "valid") || *opt_text(a, "valid-src");
  int valid = own || opt_number(a, "hold-back") > 0.0;
  if (own && opt_given(a, "hold-back"))
    fail(WRONG_USE, "train wants either --valid or --hold-back %s", opt_text(a, "hold-back"));
  if (strcmp(optimizer, "adam") == 0 && opt_given(a, "weight-decay") &&
      opt_number(a, "weight-decay") > 0.0)
    fail(WRONG_USE, "adam has no --weight-decay, adamw has; given: %s",
         opt_text(a, "weight-decay"));
  if (strcmp(optimizer, "adafactor") == 0 && opt_number(a, "lr") <= 0.0 &&
      (opt_given(a, "schedule") || opt_given(a, "warmup")))
    fail(WRONG_USE, "adafactor without --lr takes steps of its own, which no --schedule or "
         "--warmup changes");
  if (strcmp(schedule, "plateau") == 0 && !valid)
    fail(WRONG_USE, "the schedule plateau follows the validation loss: --valid or --hold-back is "
         "wanted");
  if (opt_int(a, "stop-after") && !valid)
    fail(WRONG_USE, "train --stop-after %s follows the validation loss: --valid or --hold-back is "
         "wanted", opt_text(a, "stop-after"));
}

/* --minutes alone chooses a network for some tasks only. */
static void train_check_choice(const arguments *a) {
  const task of = task_of(opt_text(a, "task"));
  const int init = *opt_text(a, "init");
  if (of >= REGRESS && !opt_int(a, "features") && !init)
    fail(WRONG_USE, "train --task %s wants --features N: rows of the source are N numbers",
         task_names[of]);
  if (opt_int(a, "features") && (init || !(has_labels(of) || of >= REGRESS)))
    fail(WRONG_USE, "train --minutes chooses nothing for --features %s %s: give --steps or --epochs"
         "%s", init ? "with" : "of", init ? "--init" : task_names[of],
         init ? "" : ", --encoder and --decoder");
  if (of == MLM)
    fail(WRONG_USE, "train --minutes chooses nothing for --task mlm: give --steps or --epochs, and "
         "--encoder");
}

/* Says which options do nothing for this task, or without others. */
static void train_say_idle(const training *r) {
  const arguments *a = r->a;
  const char *long_word = opt_text(a, "too-long");
  int valid = *opt_text(a, "valid") || *opt_text(a, "valid-src") || opt_number(a, "hold-back") > 0.0;
  if (r->of >= CLASSIFY) say_idle(a, "decoder", "classes and tags have no decoder");
  if (r->of == LM)
    say_idle(a, "encoder|src-tokenizer", "a language model has a decoder and one --tokenizer");
  if (r->of != CLASSIFY) say_idle(a, "many-classes", "the task is not classify");
  if (r->features) say_idle(a, "src-tokenizer|lowercase", "--features has no text to read");
  if (r->of >= REGRESS) say_idle(a, "tokenizer|tgt-tokenizer|nfc", "numbers are no text");
  if (strcmp(opt_text(a, "schedule"), "plateau") != 0)
    say_idle(a, "patience|factor", "the schedule is not plateau");
  if (r->corrupt || (cut_of(long_word, r->of) && !pair_cut_of(long_word, r->of)))
    say_idle(a, "too-long", r->of == TAG ? "pairs of tag are cut by tail alone"
                            : r->of == SEQ2SEQ && !r->corrupt ? "pairs are cut by head, tail, middle"
                                                              : "only texts of pairs are cut");
  if (!r->checkpoint) {
    say_idle(a, "ignore-save-errors", "there is no --checkpoint");
    if (!valid && opt_int(a, "average") <= 1)
      say_idle(a, "every", "there is no --checkpoint, --valid, --hold-back or --average");
  }
}

/* All checks of options that need no file. */
static void train_check(const arguments *a) {
  if (opt_flag(a, "init-other-task") && !*opt_text(a, "init"))
    fail(WRONG_USE, "train --init-other-task wants --init MODEL");
  if (opt_flag(a, "resume") && !*opt_text(a, "checkpoint"))
    fail(WRONG_USE, "train --resume wants --checkpoint FILE");
  if (*opt_text(a, "board")) board_find(opt_text(a, "board")); /* a wrong name ends here */
  if (opt_number(a, "latency-ms") > 0.0 && !*opt_text(a, "board"))
    fail(WRONG_USE, "train --latency-ms %s wants --board NAME", opt_text(a, "latency-ms"));
  check_writable(opt_text(a, "output"));
  if (*opt_text(a, "checkpoint")) check_writable(opt_text(a, "checkpoint"));
}

/* Optimizer and schedule. Without --weight-decay adafactor and sgd have none. */
static void train_rule(const arguments *a, syn_train_config *k) {
  int adam = strncmp(opt_text(a, "optimizer"), "adam", 4) == 0;
  k->optimizer = opt_text(a, "optimizer");
  k->schedule = opt_text(a, "schedule");
  k->lr = (float)opt_number(a, "lr");
  if (k->lr <= 0.0f && adam && strcmp(k->schedule, "noam") != 0) k->lr = 0.002f;
  if (opt_given(a, "weight-decay")) k->weight_decay = (float)opt_number(a, "weight-decay");
  else k->weight_decay = adam ? 0.01f : strcmp(k->optimizer, "muon") == 0 ? 0.1f : 0.0f;
  k->freeze = opt_text(a, "freeze");
  k->lora = opt_int(a, "lora");
}

static void train_configure(training *r) {
  const arguments *a = r->a;
  syn_train_config *k = &r->config;
  train_rule(a, k);
  k->clip = (float)opt_number(a, "clip");
  k->batch_tokens = opt_int(a, "batch");
  k->accumulate = opt_int(a, "accumulate");
  k->every = opt_int(a, "every");
  k->average = opt_int(a, "average");
  k->ema = (float)opt_number(a, "ema");
  k->stop_after = opt_int(a, "stop-after");
  k->patience = opt_int(a, "patience");
  k->factor = (float)opt_number(a, "factor");
  k->halve = 1;
  k->seed = opt_big(a, "seed");
  if (k->average == 1 && !r->valid) k->average = 0; /* the newest weights are the final ones */
  k->steps = train_steps(r);
  k->warmup = opt_int(a, "warmup");
  if (k->warmup < 0) k->warmup = k->steps / 10 < 500 ? k->steps / 10 : 500;
}

/* --steps and --every, from the number of updates that fit --minutes, measured; then all that follows
   from it. */
static void train_choose_steps(training *r) {
  syn_choice choice = r->choice;
  syn_learn_config k = auto_config(r->a, r->begin, &choice);
  if (train_session.gap > 0.0) choice.epochs = HUGE_VAL;
  choice.every = opt_given(r->a, "every") ? opt_int(r->a, "every") : 0;
  syn_choose_steps(&r->c, &k, r->m, &r->config, r->data, r->valid);
  check_use(&r->c);
  auto_choose(r->a, "steps", "%lld", (long long)choice.steps);
  auto_choose(r->a, "every", "%lld", (long long)choice.every);
  train_configure(r);
  if (r->checkpoint) auto_save(r->a, r->given, r->checkpoint);
  auto_print(r->a);
}

/* Settings that follow from the task, which may come from --init. */
static void train_task(training *r, const syn_config *k) {
  const char *tokenizer = opt_text(r->a, "tgt-tokenizer");
  r->of = task_of(k->task);
  r->max_len = k->max_len;
  r->features = k->src_features;
  if (r->of >= REGRESS && !r->features)
    fail(WRONG_USE, "train --task %s wants --features N: rows of the source are N numbers", k->task);
  if (r->features && (r->of == LM || r->of == MLM))
    fail(WRONG_USE, "train --features %d: a language model reads text", r->features);
  r->corrupt = opt_flag(r->a, "span-corruption") || r->of == MLM;
  r->how = opt_flag(r->a, "nfc") ? COMPOSE : 0;
  r->joint = r->corrupt || (r->of == SEQ2SEQ && k->tie && strcmp(k->tie, "all") == 0);
  if (*tokenizer && r->of == CLASSIFY)
    fail(WRONG_USE, "--tgt-tokenizer %s: a label of classify is one class, whatever its text is",
         tokenizer);
  if (opt_flag(r->a, "lowercase-targets") && (r->of != SEQ2SEQ || r->corrupt))
    fail(WRONG_USE, "train --lowercase-targets: %s", r->of == CLASSIFY || r->of == TAG
         ? "labels and tags keep their case" : "there is one text, for which --lowercase stands");
  if (!r->corrupt) return;
  if (r->of != SEQ2SEQ && opt_flag(r->a, "span-corruption"))
    fail(WRONG_USE, "--span-corruption is for seq2seq, not for %s", k->task);
  check_one_file(r->a, train_hides(r));
  if (*tokenizer || *opt_text(r->a, "src-tokenizer"))
    fail(WRONG_USE, "%s has one text and one --tokenizer for both sides", train_hides(r));
}

/* Checks the network and the names of --freeze before the data are read, so that a mistake shows at
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
  train_say_idle(r);
  memset(&k, 0, sizeof k);
  train_rule(r->a, &k);
  n.config.dropout = (float)opt_number(r->a, "dropout");
  if (r->of < REGRESS)
    n.config.label_smoothing = (float)opt_number(r->a, "label-smoothing");
  n.config.seed = opt_big(r->a, "seed");
  n.config.src_vocab = n.config.tgt_vocab = SYN_FIRST_TOKEN + 1;
  n.config.classes = 2;
  n.config.outputs = 1;
  syn_plan_of(&r->c, &n.config, &k, NULL, &plan);
  check_use(&r->c);
  return n;
}

static void train_resume(training *r) {
  if (!file_exists(r->checkpoint)) {
    fprintf(stderr, "syn: there is no %s yet: the training begins\n", r->checkpoint);
    return;
  }
  syn_trainer_load(r->t, r->checkpoint);
  check_file(&r->c, r->checkpoint);
  r->first_step = r->shown_step = syn_trainer_state(r->t)->step;
  r->shown_tokens = syn_trainer_state(r->t)->tokens;
  if (train_session.gap > 0.0) r->begin = seconds() - train_session.used;
  if (!r->json) fprintf(stderr, "continues from step %lld of %s\n", (long long)r->first_step,
                       r->checkpoint);
}

/* -- the end -- */

/* Warns when a run of so many steps ends within its warm-up: before the training, and behind one
   that --minutes or --stop-after has ended. Adafactor without --lr has none. */
static void train_check_warmup(const training *r, int64_t steps) {
  const syn_train_config *k = &r->config;
  if (steps >= k->warmup || (strcmp(k->optimizer, "adafactor") == 0 && k->lr <= 0.0f)) return;
  fprintf(stderr, "syn: the warm-up takes %lld steps, the whole run %lld: the learning rate never "
          "reaches its value; --warmup N sets a shorter one\n", (long long)k->warmup,
          (long long)steps);
}

/* Fails when the training has not learned: the final loss is above that of the first step, and also
   above ln V, the loss of a uniform distribution over V tokens or classes. The second condition
   lets a converged model of --init vary a little; a resumed training has it alone. The mean of n
   steps is noisy for small n, so it must exceed both by the share 1/n: 100 % for one step, 2 % for
   fifty. */
static void train_check_learned(const training *r) {
  const syn_config *k = syn_model_config(r->m);
  int64_t n = r->seen / 2 < LAST_STEPS ? r->seen / 2 : LAST_STEPS, i;
  const int words = r->of < CLASSIFY || r->of == MLM;
  double final = 0.0, start = r->of >= REGRESS ? 0.0 : log((double)(words ? k->tgt_vocab : k->classes));
  if (r->of >= REGRESS && r->first_step) return; /* nothing to compare with */
  if (!r->first_step && r->first_loss > start) start = r->first_loss;
  for (i = 1; i <= n; i++) final += r->last_losses[(r->seen - i) % LAST_STEPS] / (double)n;
  if (!n || final <= start * (1.0 + 1.0 / (double)n)) return;
  fail(FAILED_JOB, "the training has not learned: its final loss, %.4g, is above that of %s, %.4g; %s "
       "is written all the same; a smaller --lr, a longer --warmup or --clip 1 may help", final,
       r->first_step ? "guessing" : "the first step", r->first_step ? start : r->first_loss,
       r->output);
}

/* The checkpoint keeps the current weights; the model gets the mean of the best. Steps after the
   last validation are validated first. */
static void train_finish(training *r) {
  const syn_train_state *s = syn_trainer_state(r->t);
  int kept = 0;
  train_checkpoint(r, 1);
  if (r->config.average && s->step % r->config.every != 0) {
    syn_trainer_validate(r->t, r->valid);
    check(&r->c);
    train_show(r, seconds(), 1);
  }
  if (s->step != r->shown_step) train_show(r, seconds(), 0);
  kept = syn_trainer_average(r->t);
  if (r->terminal && !r->json) fputc('\n', stderr);
  if (syn_model_save(&r->c, r->m, r->output)) fail(FAILED_JOB, "%s", r->c.message);
  if (stopped_by) fail(FAILED_JOB, "stopped at step %lld; %s is written", (long long)s->step, r->output);
  if (s->shortened || (r->timed.minutes > 0.0 && s->step < r->config.steps && !s->stopped))
    fprintf(stderr, "syn: the training ended at step %lld of %lld: the machine was busier than when it "
            "was measured, and the same command gives another model\n", (long long)s->step,
            (long long)r->config.steps);
  if (r->config.steps >= r->config.warmup) train_check_warmup(r, s->step);
  train_check_learned(r);
  if (r->json) return;
  fprintf(stderr, "step %lld, epoch %lld: %s is written", (long long)s->step, (long long)s->epoch + 1, r->output);
  if (r->valid) fprintf(stderr, ", best validation loss %.4f", (double)s->best);
  if (kept > 1) fprintf(stderr, ", mean of %d checkpoints", kept);
  fputc('\n', stderr);
}

static size_t parameters_of(const syn_model *m) {
  size_t i, sum = 0;
  for (i = 0; i < syn_model_param_count(m); i++) sum += syn_model_param(m, i)->size;
  return sum;
}

/* One line: the size of the data and of the network, the length of the training. */
static void train_headline(const training *r) {
  static const char *const rows[] = {"pairs", "windows", "texts", "texts", "texts",
                                     "signals", "signals"};
  const char *what = r->corrupt ? "texts" : rows[r->of];
  const syn_config *k = syn_model_config(r->m);
  if (r->json) return;
  fprintf(stderr, "%lu %s, ", (unsigned long)syn_data_count(r->data), what);
  if (r->features) fprintf(stderr, "%d features, ", r->features);
  if (!r->features || r->of == SEQ2SEQ)
    fprintf(stderr, "vocabulary %d, ", r->of < CLASSIFY ? k->tgt_vocab : k->src_vocab);
  if (has_labels(r->of)) fprintf(stderr, "%d classes, ", k->classes);
  if (r->of >= REGRESS) fprintf(stderr, "%d targets, ", k->outputs);
  fprintf(stderr, "%lu parameters, ", (unsigned long)parameters_of(r->m));
  if (r->config.steps < LONG_MAX) fprintf(stderr, "%lld steps", (long long)r->config.steps);
  else fprintf(stderr, "%g minutes", r->minutes);
  if (r->valid) fprintf(stderr, "; %lu for validation", (unsigned long)syn_data_count(r->valid));
  fputc('\n', stderr);
}

/* Mean source tokens per sentence, end included: the trainer counts labels, and the speed shown is
   in tokens. 1 but for classify. */
static double tokens_per_label(const training *r) {
  double sum = 0.0, rows = (double)syn_data_count(r->data);
  size_t i;
  int n;
  for (i = 0; i < syn_data_count(r->data); i++) {
    if (r->features) syn_data_features(r->data, i, &n);
    else syn_data_row(r->data, i, SYN_SRC, &n);
    sum += (double)n + !r->features;
  }
  if (r->of == REGRESS || r->of == REGRESS_ROWS)
    return (r->of == REGRESS ? sum / rows : 1.0) / (double)r->outputs;
  return r->of == CLASSIFY ? sum / rows : 1.0;
}

/* Exits: there is no memory for the training. Says which --batch would have some. */
static void train_no_memory(training *r) {
  syn_train_config k = r->config;
  char said[sizeof r->c.message];
  syn_plan plan;
  int fits = 0;
  memcpy(said, r->c.message, sizeof said);
  syn_context_clear(&r->c);
  while (!fits && k.batch_tokens / 2 > r->max_len) {
    k.batch_tokens /= 2;
    if (syn_plan_of(&r->c, syn_model_config(r->m), &k, NULL, &plan)) break;
    fits = memory_fits(plan.training + plan.activations);
  }
  if (!fits) fail(FAILED_JOB, "%s", said);
  fail(FAILED_JOB, "%s; --batch %d fits", said, k.batch_tokens);
}

/* Refuses a model that does not fit the board of --board; says what it needs there. */
static void train_fits(training *r) {
  const arguments *a = r->a;
  const char *layout = "";
  const board *b;
  board_need need, has;
  char text[300];
  if (!*opt_text(a, "board")) return;
  b = board_find(opt_text(a, "board"));
  if (!strcmp(cores[b->core].layout, "mve")) layout = " --layout mve";
  has = board_has(b, opt_number(a, "latency-ms"));
  if (board_needs(&r->c, r->m, b, NULL, &board_greedy, &need))
    fail(WRONG_USE, "train --board %s: %s", b->name, r->c.message);
  board_text(text, sizeof text, &need, &has);
  if (board_share(&need, &has) > 1.0)
    fail(WRONG_USE, "train --board %s: the network does not fit: %s", b->name, text);
  fprintf(stderr, "syn: on %s: %s, of syn embed -m %s --tokenizers yes%s\n", b->name, text,
          r->output, layout);
}

/* Makes model and trainer after the data are read. */
static void train_make(training *r, network *n) {
  n->config.src_vocab = r->tokenizer[0] ? syn_tokenizer_size(r->tokenizer[0]) : 0;
  n->config.tgt_vocab = r->tokenizer[1] ? syn_tokenizer_size(r->tokenizer[1]) : 0;
  n->config.classes = n->config.tgt_vocab - task_shift(r->of);
  n->config.outputs = r->outputs;
  r->m = syn_model_new(&r->c, &n->config);
  check_use(&r->c);
  syn_model_set_tokenizers(r->m, r->tokenizer[0], r->tokenizer[1]);
  if (r->features) syn_model_normalize(r->m, r->data);
  init_weights(r);
  train_fits(r);
  train_configure(r);
  if (r->choose) train_choose_steps(r);
  r->t = syn_trainer_new(&r->c, r->m, &r->config);
  if (r->c.status == SYN_E_MEMORY) train_no_memory(r);
  check_use(&r->c);
  r->per_label = tokens_per_label(r);
  train_headline(r);
}

static int run_train(const arguments *a) {
  training r;
  network n;
  int by_minutes;
  arguments own = auto_arguments(a);
  memset(&r, 0, sizeof r);
  r.begin = r.shown = seconds();
  r.a = &own;
  a = r.a;
  r.output = opt_text(a, "output");
  r.checkpoint = *opt_text(a, "checkpoint") ? opt_text(a, "checkpoint") : NULL;
  r.json = opt_flag(a, "json");
  r.terminal = is_terminal(2) && !r.json;
  r.minutes = opt_number(a, "minutes");
  r.choose = by_minutes = auto_wanted(a);
  r.given = a->given_count;
  if (r.choose) train_check_choice(a);
  train_check(a);
  if (r.choose && opt_flag(a, "resume") && file_exists(r.checkpoint))
    r.choose = !auto_load(r.a, r.checkpoint);
  if (r.choose && train_session.gap <= 0.0) /* compare: one network */
    r.choice = auto_options(r.a, r.begin);
  train_check_rule(a);
  context_open(&r.c, a);
  n = train_network(&r);
  if (r.corrupt) train_read_lines(&r);
  else if (r.of == LM) train_read_text(&r);
  else train_read_pairs(&r);
  train_make(&r, &n);
  if (opt_flag(a, "resume")) train_resume(&r);
  r.factor = syn_trainer_state(r.t)->factor;
  train_check_warmup(&r, r.config.steps);
  signal(SIGINT, on_stop);
  signal(SIGTERM, on_stop);
  say_threads(&r.c, a);
  if (by_minutes) {
    r.timed = auto_config(a, r.begin, NULL);
    syn_trainer_deadline(r.t, &r.timed);
  }
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
  auto_free(&own, r.given);
  return r.lost ? FAILED_JOB : 0;
}
