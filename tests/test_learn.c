/* syn_learn: the same bytes as the steps it stands for, for all tasks; a choice that is given; clocks;
   rows that are wrong; the end of a training; memory that ends. The clock is the test's own, so that
   what is measured is the same on every machine. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#include "sink.h"

enum { ROWS = 120 };
static char lines[2][ROWS][40];
static syn_text texts[2][ROWS + 1];

/* A clock that moves by `step` whenever it is read; `then` from reading number `from` on. */
typedef struct watch {
  double now, step, then;
  long read, from, reports, stop_at; /* report number stop_at ends the training */
  long busy, free;                   /* between these reports the machine is four times as slow */
  float rate, largest;               /* learning rate of the last step; the largest one */
  int64_t labels;                       /* seen by the training */
} watch;

static double watch_read(void *user) {
  watch *w = (watch *)user;
  if (w->from && w->read >= w->from) w->step = w->then;
  w->read++;
  return w->now += w->step;
}
static int watch_report(void *user, const syn_trainer *t, float loss, int validated) {
  watch *w = (watch *)user;
  (void)validated;
  CHECK(loss == loss && syn_trainer_state(t)->step > 0, "a report");
  w->rate = syn_trainer_state(t)->rate;
  w->labels = syn_trainer_state(t)->tokens;
  if (w->rate > w->largest) w->largest = w->rate;
  if (w->busy && w->reports == w->busy) w->step *= 4.0;
  if (w->free && w->reports == w->free) w->step *= 0.25;
  return ++w->reports == w->stop_at;
}

/* Texts of a task: letters reversed, a poem of them, their first letter, each in upper case. */
static void texts_make(const char *task) {
  syn_random r = {5};
  int i, k;
  for (i = 0; i < ROWS; i++) {
    int n = 1 + syn_random_below(&r, 5);
    char *src = lines[0][i], *tgt = lines[1][i];
    memset(src, 0, 40);
    memset(tgt, 0, 40);
    for (k = 0; k < n; k++) {
      src[2 * k] = (char)('a' + syn_random_below(&r, 4));
      if (k) src[2 * k - 1] = ' ';
    }
    for (k = 0; src[k]; k++) {
      if (*task == 's') tgt[k] = src[2 * n - 2 - k];
      else if (*task == 't') tgt[k] = src[k] == ' ' ? ' ' : (char)(src[k] - 'a' + 'A');
    }
    if (*task == 'c') sprintf(tgt, "class %c", src[0]);
    if (*task == 'l') sprintf(tgt, "%s.", src);
    texts[0][i] = syn_text_of(src);
    texts[1][i] = syn_text_of(tgt);
  }
}

/* A minute, of which each look at the clock takes a second. */
static syn_learn_config config_of(const char *task, watch *w, syn_choice *choice) {
  syn_learn_config k;
  memset(w, 0, sizeof *w);
  memset(&k, 0, sizeof k);
  if (choice) memset(choice, 0, sizeof *choice), choice->d_model = 16; /* a small network is fast */
  w->step = 1.0;
  k.task = task;
  k.minutes = 1.0;
  k.seed = 7;
  k.choice = choice;
  k.seconds = watch_read;
  k.report = watch_report;
  k.user = w;
  texts_make(task);
  return k;
}

static bytes bytes_of(syn_context *c, syn_model *m) {
  bytes b;
  syn_sink sink;
  memset(&b, 0, sizeof b);
  sink = sink_of(&b);
  CHECK(m && !syn_model_save_to(c, m, &sink), "%s", c->message);
  syn_model_free(m);
  return b;
}
static void bytes_same(const char *what, bytes a, bytes b) {
  CHECK(a.size && a.size == b.size && !memcmp(a.at, b.at, a.size), "%s: %lu and %lu bytes", what,
        (unsigned long)a.size, (unsigned long)b.size);
  free(b.at);
}

/* -- what the call stands for, step by step -- */

/* Rows 0, 20, 40 ... are for validation. */
static syn_tokenizer *hand_tokenizer(syn_context *c, const char *spec, int side, int labels,
                                     int flags) {
  syn_text used[ROWS];
  size_t n = 0;
  int i;
  for (i = 0; i < ROWS; i++)
    if (labels || i % 20) used[n++] = texts[side][i];
  return syn_tokenizer_learn(c, spec, flags, used, n);
}

static void hand_rows(syn_data *d, const syn_model *m, int held) {
  int i;
  for (i = 0; i < ROWS; i++)
    if ((i % 20 == 0) == held) syn_data_add_text(d, m, texts[0][i], texts[1][i]);
}

/* One text: windows of all but its last twentieth, whose windows overlap. */
static void hand_windows(syn_data *d, const syn_tokenizer *t, syn_text part, int window, int by) {
  int *ids = (int *)malloc((part.size + 1) * sizeof *ids);
  int n = syn_tokenizer_encode(t, part, ids, (int)part.size + 1);
  syn_data_add_windows(d, ids, (size_t)n, window, by);
  free(ids);
}

static syn_model *by_hand(syn_context *c, const char *task, const syn_choice *k, const syn_text *lm) {
  int classes = *task == 'c' || *task == 't';
  syn_text first, rest;
  syn_tokenizer *src = NULL, *tgt;
  syn_train_config how;
  syn_config network;
  syn_model *m;
  syn_data *d = syn_data_new(c), *v = syn_data_new(c);
  syn_trainer *t;
  memset(&network, 0, sizeof network);
  memset(&how, 0, sizeof how);
  first.at = rest.at = NULL, first.size = rest.size = 0;
  if (lm) {
    first = rest = *lm;
    first.size -= lm->size / 20;
    while (first.at[first.size - 1] != '\n') first.size++;
    rest.at += first.size, rest.size -= first.size;
    tgt = syn_tokenizer_learn(c, k->tgt_tokenizer, 0, &first, 1);
  } else {
    src = hand_tokenizer(c, k->src_tokenizer, 0, 0, k->lowercase ? SYN_LOWERCASE : 0);
    tgt = hand_tokenizer(c, k->tgt_tokenizer, 1, classes, 0);
  }
  network.task = task;
  network.encoder = k->encoder;
  network.decoder = k->decoder;
  network.d_model = k->d_model;
  network.heads = k->heads;
  network.max_len = k->max_len;
  network.src_vocab = syn_tokenizer_size(src);
  network.tgt_vocab = syn_tokenizer_size(tgt);
  network.classes = syn_tokenizer_size(tgt) - (*task == 't' ? 3 : 4);
  network.dropout = k->dropout;
  network.label_smoothing = k->label_smoothing;
  network.seed = 7;
  m = syn_model_new(c, &network);
  syn_model_set_tokenizers(m, src, tgt);
  if (lm) {
    hand_windows(d, tgt, first, k->max_len, k->max_len);
    hand_windows(v, tgt, rest, k->max_len, k->max_len / 2);
  } else {
    hand_rows(d, m, 0);
    hand_rows(v, m, 1);
  }
  how.optimizer = k->optimizer;
  how.schedule = "linear";
  how.lr = k->lr;
  how.weight_decay = k->weight_decay;
  how.clip = k->clip;
  how.batch_tokens = k->batch_tokens;
  how.steps = k->steps;
  how.every = k->every;
  how.warmup = k->steps / 10;
  how.average = how.halve = 1;
  how.seed = 7;
  t = syn_trainer_new(c, m, &how);
  CHECK(!syn_trainer_run(t, d, v, NULL, NULL), "%s", c->message);
  if (k->steps % k->every) syn_trainer_validate(t, v);
  syn_trainer_average(t);
  syn_trainer_free(t);
  syn_data_free(d);
  syn_data_free(v);
  return m;
}

static void test_task(const char *task) {
  static char poem[ROWS * 41];
  int lm = *task == 'l', i;
  syn_context c;
  syn_choice k, again;
  watch w;
  syn_learn_config how = config_of(task, &w, &k);
  syn_text whole;
  bytes a;
  size_t count = lm ? 1 : ROWS;
  const syn_text *tgt = lm ? &whole : texts[1];
  syn_context_init(&c, NULL);
  *poem = 0;
  for (i = 0; i < ROWS; i++) strcat(strcat(poem, lines[1][i]), "\n");
  whole = syn_text_of(poem);
  a = bytes_of(&c, syn_learn(&c, &how, lm ? NULL : texts[0], tgt, count));
  CHECK(w.reports == k.steps && k.steps >= 10 && k.every > 0 && (k.every < k.steps) == (*task != 'c'),
        "%s: %ld reports, %ld steps, a validation every %ld", task, w.reports, (long)k.steps, (long)k.every);
  CHECK(lm ? k.rows && k.valid_rows : k.rows == ROWS - 6 && k.valid_rows == 6 && !k.left_out,
        "%s: %lu, %lu, %lu rows", task, (unsigned long)k.rows, (unsigned long)k.valid_rows,
        (unsigned long)k.left_out);
  again = k;
  how.choice = &again;
  how.minutes = 0.0;
  w.read = 0;
  bytes_same("a choice that is given", a,
             bytes_of(&c, syn_learn(&c, &how, lm ? NULL : texts[0], tgt, count)));
  CHECK(!w.read && !memcmp(&k, &again, sizeof k), "%s: the clock was read, or another choice", task);
  bytes_same("by hand", a, bytes_of(&c, by_hand(&c, task, &k, lm ? &whole : NULL)));
  free(a.at);
}

/* -- choices -- */

/* A minute of a clock by which everything is slow: few updates, a small network. */
static syn_model *learn(syn_context *c, const syn_learn_config *how, size_t count) {
  return syn_learn(c, how, texts[0], texts[1], count);
}

static int stop_here(void *user, const syn_trainer *t, float loss, int validated) {
  (void)user, (void)t, (void)loss, (void)validated;
  return 1;
}

static void test_given(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = config_of("seq2seq", &w, &k);
  syn_model *m;
  syn_context_init(&c, NULL);
  strcpy(k.src_tokenizer, "bpe:12");
  strcpy(k.tgt_tokenizer, "bpe:12");
  strcpy(k.decoder, "pos -> res_nd(mh_dot_att) -> norm");
  strcpy(k.optimizer, "sgd");
  k.d_model = 24;
  k.every = 7;
  k.epochs = 4.0;
  m = learn(&c, &how, ROWS);
  CHECK(m && syn_model_tokenizer(m, SYN_SRC) == syn_model_tokenizer(m, SYN_TGT) &&
            !strcmp(k.tie, "all"), "one tokenizer: %s", c.message);
  CHECK(k.heads == 2 && k.d_model == 24 && k.every == 7 && k.lr == 0.0f && k.steps <= 4 * 4 &&
            !strcmp(syn_model_config(m)->decoder, k.decoder) && strstr(k.encoder, "repeat(1,"),
        "%d heads, width %d, every %ld, lr %g, %ld steps, %s", k.heads, k.d_model, (long)k.every,
        (double)k.lr, (long)k.steps, k.encoder);
  syn_model_free(m);
  how = config_of("lm", &w, &k);
  m = learn(&c, &how, ROWS); /* several texts have ends */
  CHECK(m && k.rows == ROWS - 6 && k.valid_rows == 6, "%s", c.message);
  syn_model_free(m);
  how = config_of("seq2seq", &w, NULL);
  w.stop_at = 1;
  m = learn(&c, &how, ROWS);
  CHECK(m && w.reports == 1, "without a choice: %s", c.message);
  syn_model_free(m);
}

/* Step by step: the choice of syn_learn, the same number of updates, the same end of the minutes. */
static void test_steps_alone(void) {
  syn_context c;
  syn_choice k, alone;
  watch w;
  syn_learn_config how = config_of("tag", &w, &k);
  syn_train_config train;
  syn_trainer *t;
  syn_model *m;
  syn_data *d;
  long i, steps;
  syn_context_init(&c, NULL);
  w.stop_at = 1;
  m = learn(&c, &how, ROWS);
  how = config_of("tag", &w, &alone);
  how.begin = 1.0, w.now = 1.0;
  CHECK(!syn_choose(&c, &how, texts[0], texts[1], ROWS) && alone.d_model == k.d_model && !strcmp(alone.encoder, k.encoder) &&
            alone.batch_tokens == k.batch_tokens && alone.dropout == k.dropout && alone.hold_back == k.hold_back &&
            !alone.steps && !alone.rows, "%s: %s", c.message, alone.encoder);
  memset(&train, 0, sizeof train);
  train.batch_tokens = alone.batch_tokens;
  d = syn_data_new(&c);
  for (i = 0; i < ROWS; i++) syn_data_add_text(d, m, texts[0][i], texts[1][i]);
  CHECK(!syn_choose_steps(&c, &how, m, &train, d, NULL) && alone.steps > 1 && alone.steps < 60 && alone.every > 0, "%s: %ld steps",
        c.message, (long)alone.steps);
  train.steps = alone.steps, train.schedule = "linear";
  t = syn_trainer_new(&c, m, &train);
  CHECK(!syn_trainer_deadline(NULL, &how) && !syn_trainer_deadline(t, NULL) && !syn_trainer_deadline(t, &how), "the begin");
  w.step = 4.0; /* the machine has become busier */
  for (steps = 0; !syn_trainer_deadline(t, &how) && steps < 100; steps++)
    CHECK(!syn_trainer_run(t, d, NULL, stop_here, NULL), "%s", c.message);
  CHECK(steps < alone.steps && w.now >= 61.0 && syn_trainer_state(t)->shortened, "%ld of %ld updates at %g", steps,
        (long)alone.steps, w.now);
  how.choice = NULL;
  CHECK(syn_choose(&c, &how, texts[0], texts[1], ROWS) == SYN_E_VALUE && strstr(c.message, "no choice"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_choose_steps(&c, &how, m, &train, d, NULL) == SYN_E_VALUE && strstr(c.message, "no choice"), "%s", c.message);
  syn_trainer_free(t);
  syn_data_free(d);
  syn_model_free(m);
}

/* -- the choice alone, from facts -- */

/* Facts of 1,000 rows of so many bytes and words a side, of which so many are different. */
static syn__learn facts(int task, double size, double words, int distinct) {
  syn__learn l;
  int side;
  memset(&l, 0, sizeof l);
  l.task = task;
  l.count = 1000;
  for (side = 0; side < 2; side++) {
    l.side[side].bytes = size;
    l.side[side].words = l.side[side].tokens = words;
    l.side[side].distinct = l.side[side].vocab = distinct;
    l.side[side].longest = 20;
  }
  return l;
}

static void test_tokenizers(void) {
  static const struct {
    int task, side;
    double size, words;
    int distinct;
    const char *wanted;
  } rows[] = {{SYN__TASK_LM, SYN_TGT, 1e6, 2e5, 9000, "char"},
              {SYN__TASK_LM, SYN_TGT, 3e6, 6e5, 9000, "bpe:4000"},
              {SYN__TASK_TAG, SYN_SRC, 1e6, 2e5, 9000, "space"},
              {SYN__TASK_CLASSIFY, SYN_TGT, 1e4, 2e3, 9, "line"},
              {SYN__TASK_CLASSIFY, SYN_SRC, 1e6, 2e5, 9000, "char"},
              {SYN__TASK_CLASSIFY, SYN_SRC, 1e4, 1100, 900, "char"},
              {SYN__TASK_SEQ2SEQ, SYN_SRC, 1e4, 1000, 900, "char"},
              {SYN__TASK_SEQ2SEQ, SYN_TGT, 5e4, 1e4, 300, "space"},
              {SYN__TASK_SEQ2SEQ, SYN_TGT, 3e5, 6e4, 301, "bpe:2000"},
              {SYN__TASK_SEQ2SEQ, SYN_SRC, 1e6, 2e5, 9000, "bpe:4000"},
              {SYN__TASK_SEQ2SEQ, SYN_SRC, 2e6, 4e5, 9000, "bpe:8000"}};
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    syn__learn l = facts(rows[i].task, rows[i].size, rows[i].words, rows[i].distinct);
    CHECK(!strcmp(syn__choose_tokenizer(&l, rows[i].side), rows[i].wanted), "row %d: %s", (int)i,
          syn__choose_tokenizer(&l, rows[i].side));
  }
}

/* What is chosen with so many multiply-adds. */
static syn_choice chosen(syn__learn l, double macs) {
  int recipe = syn__choose_recipe(&l);
  l.macs = macs;
  syn__choose_network(&l, recipe);
  syn__choose_rule(recipe, syn__learn_tokens(&l), &l.choice);
  return l.choice;
}

static void test_sizes(void) {
  static const double macs[] = {1e9, 1e12, 3e13, 1e14, 1e16};
  static const int widths[] = {64, 64, 128, 128, 256}, lm[] = {64, 64, 96, 128, 384};
  syn__learn l = facts(SYN__TASK_SEQ2SEQ, 1e7, 2e6, 4000), mail, lm_text;
  syn_choice k, given;
  int i;
  for (i = 0; i < 5; i++) { /* more time: a larger network */
    k = chosen(l, macs[i]);
    CHECK(k.d_model == widths[i] && k.heads == widths[i] / 32,
          "seq2seq, %g: width %d, %d heads", macs[i], k.d_model, k.heads);
    k = chosen(facts(SYN__TASK_LM, 1e7, 4e6, 100), macs[i]);
    CHECK(k.d_model == lm[i] && k.max_len == 128, "lm, %g: width %d", macs[i], k.d_model);
  }
  k = chosen(facts(SYN__TASK_SEQ2SEQ, 1e4, 2e3, 100), 1e16);
  CHECK(k.d_model == 64 && k.dropout == 0.3f && k.batch_tokens == 1024,
        "few texts: width %d, dropout %g, batch %d", k.d_model, (double)k.dropout, k.batch_tokens);
  CHECK(chosen(l, 1e14).hold_back == 0.05 && chosen(l, 1e12).hold_back == 0.005, "held back: %g, %g",
        chosen(l, 1e14).hold_back, chosen(l, 1e12).hold_back);
  l.side[SYN_SRC].longest = 20, l.side[SYN_TGT].longest = 30;
  CHECK(chosen(l, 1e13).max_len == 62, "twice the longest: %d", chosen(l, 1e13).max_len);
  l.side[SYN_SRC].longest = 1000;
  k = chosen(l, 1e13);
  CHECK(k.max_len == 512 && k.dropout == 0.0f && k.batch_tokens == 2048, "%d, %g, %d", k.max_len,
        (double)k.dropout, k.batch_tokens);
  l.side[SYN_SRC].tokens = l.side[SYN_TGT].tokens = 5e5;
  CHECK(chosen(l, 5e12).label_smoothing == 0.0f && chosen(l, 5e13).label_smoothing == 0.1f,
        "label smoothing %g, %g", (double)chosen(l, 5e12).label_smoothing,
        (double)chosen(l, 5e13).label_smoothing);
  CHECK(chosen(l, 2.5e13).dropout == 0.1f, "sentences that are seen often: dropout %g",
        (double)chosen(l, 2.5e13).dropout);
  mail = l, mail.side[SYN_SRC].tokens = 9e5, mail.side[SYN_TGT].tokens = 1e5;
  k = chosen(mail, 1e13);
  CHECK(k.d_model == 64 && k.dropout == 0.1f, "short targets of long sources: width %d, dropout %g",
        k.d_model, (double)k.dropout);
  CHECK(chosen(l, 1e13).d_model == 96 && chosen(l, 2e13).d_model == 128, "sentences: width %d, %d",
        chosen(l, 1e13).d_model, chosen(l, 2e13).d_model);
  l.side[SYN_SRC].words = (double)l.count; /* spelled words: less dropout in the same time */
  CHECK(chosen(l, 2e13).d_model == 128, "words: width %d", chosen(l, 2e13).d_model);
  CHECK(chosen(l, 1e13).dropout == 0.0f && chosen(l, 3e13).dropout == 0.05f &&
            chosen(l, 7e13).dropout == 0.1f,
        "words: dropout %g, %g, %g", (double)chosen(l, 1e13).dropout,
        (double)chosen(l, 3e13).dropout, (double)chosen(l, 7e13).dropout);
  k = chosen(l, 2e13);
  CHECK(strstr(k.encoder, "res_nd(cnn(k=5))->res_nd(syn_att(V)))") &&
            strstr(k.decoder, "res_nd(dyn_conv)->res_nd(mh_dot_att)->res_nd(ffl(256)))"),
        "layers of words: %s, %s", k.encoder, k.decoder);
  lm_text = facts(SYN__TASK_LM, 1e6, 2e5, 65);
  lm_text.side[SYN_SRC].tokens = 0.0, lm_text.side[SYN_TGT].tokens = 1e6;
  CHECK(chosen(lm_text, 4.5e13).dropout == 0.0f && chosen(lm_text, 1.8e14).dropout == 0.1f,
        "text: dropout %g, %g", (double)chosen(lm_text, 4.5e13).dropout, (double)chosen(lm_text, 1.8e14).dropout);
  l.side[SYN_SRC].words = 1100;
  CHECK(chosen(l, 1e13).label_smoothing == 0.1f, "letters: label smoothing %g",
        (double)chosen(l, 1e13).label_smoothing);
  l.side[SYN_SRC].words = 2e6;
  CHECK(chosen(l, 5e13).dropout == 0.1f, "dropout %g", (double)chosen(l, 5e13).dropout);
  CHECK(chosen(l, 1e14).dropout == 0.2f, "dropout %g", (double)chosen(l, 1e14).dropout);
  k = chosen(l, 2e13);
  CHECK(!strcmp(k.encoder, "pos->repeat(3,res_nd(cnn)->res_nd(syn_att(V)))->norm") &&
            strstr(k.decoder, "(3,res_nd(dyn_conv)->res_nd(mh_dot_att)->res_nd(ffl(256)))->norm"),
        "layers: %s, %s", k.encoder, k.decoder);
  k = chosen(facts(SYN__TASK_LM, 1e7, 4e6, 100), 1e14);
  CHECK(strstr(k.decoder, "res_nd(cnn)->res_nd(syn_att(D+V))->res_nd(ffl(256))"), "layers: %s", k.decoder);
  k = chosen(facts(SYN__TASK_TAG, 1e7, 4e6, 100), 1e14);
  CHECK(strstr(k.encoder, "res_nd(syn_att(R+V))->res_nd(ffl("), "layers: %s", k.encoder);
  k = chosen(l, 1e15);
  CHECK(k.batch_tokens == 4096 && k.dropout == 0.3f, "%d, %g", k.batch_tokens, (double)k.dropout);
  l.choice.d_model = 100; /* no multiple of 32 */
  CHECK(chosen(l, 1e13).heads == 2, "%d heads", chosen(l, 1e13).heads);
  given = k; /* what is given stays */
  given.heads = 5, given.max_len = 31, given.batch_tokens = 777, given.dropout = 0.25f;
  given.label_smoothing = 0.3f, given.clip = 2.0f, given.hold_back = 0.2, given.epochs = 3.0;
  strcpy(given.optimizer, "adam");
  given.lr = 0.5f, given.weight_decay = 0.0f;
  l.choice = given;
  k = chosen(l, 1e14);
  CHECK(!memcmp(&k, &given, sizeof k), "a given choice was changed");
  memset(given.optimizer, 0, sizeof given.optimizer);
  given.weight_decay = 0.7f;
  l.choice = given;
  k = chosen(l, 1e14);
  CHECK(!strcmp(k.optimizer, "muon") && k.lr == 0.5f && k.weight_decay == 0.7f, "%s, %g, %g",
        k.optimizer, (double)k.lr, (double)k.weight_decay);
}

/* One text, few and many rows; other tokens; layers that are given; pairs. */
static void test_recipes(void) {
  syn__learn l = facts(SYN__TASK_CLASSIFY, 1e7, 2e6, 9000);
  syn_choice k;
  strcpy(l.choice.src_tokenizer, "char");
  k = chosen(l, 1e12);
  CHECK(!strcmp(k.encoder, "ngram(6,65536)->dropout") && k.d_model == 128 && k.epochs == 5.0 &&
            k.batch_tokens == 16384,
        "%s, width %d, %g epochs", k.encoder, k.d_model, k.epochs);
  l = facts(SYN__TASK_CLASSIFY, 1e3, 200.0, 2);
  strcpy(l.choice.src_tokenizer, "space");
  l.side[SYN_SRC].longest = 3000;
  k = chosen(l, 1e12);
  CHECK(!strcmp(k.encoder, "ngram(2,8192)->dropout") && k.d_model == 16 && k.epochs == 400.0 &&
            k.max_len == 2048 && k.label_smoothing == 0.0f,
        "%s, width %d, %g epochs", k.encoder, k.d_model, k.epochs);
  strcpy(l.choice.encoder, "pos -> norm");
  k = chosen(l, 1e12);
  CHECK(k.d_model == 128 && k.lr == 0.003f && k.max_len == 256, "layers that are given: %d, %g",
        k.d_model, (double)k.lr);
  *l.choice.encoder = 0;
  l.side[SYN_SRC].pairs = 501;
  CHECK(!strcmp(chosen(l, 1e12).freeze, "src.embed"), "pairs");
  strcpy(l.choice.freeze, "none");
  CHECK(!strcmp(chosen(l, 1e12).freeze, "none"), "a given --freeze");
}

/* The parts of a text, which are all of it, in order. */
static int held_parts(syn_text text, double share, syn_text part[SYN_HELD_PARTS]) {
  int count = syn_text_hold_back(text, share, part), i;
  size_t at = 0;
  for (i = 0; i < count; at += part[i++ ^ 1].size)
    CHECK(part[i ^ 1].at == text.at + at, "part %d of %d begins elsewhere", i, count);
  CHECK(at == text.size, "%d of %d bytes", (int)at, (int)text.size);
  return count;
}

/* That share of a short text is held back, from its byte `at` on. */
static void test_held(const char *text, double share, int at) {
  syn_text part[SYN_HELD_PARTS];
  int count = held_parts(syn_text_of(text), share, part);
  CHECK(count == 2 && (int)part[1].size == at,
        "%s: %d parts, %d bytes before the held ones, wanted %d", text, count, (int)part[1].size, at);
}

static void test_held_short(void) {
  test_held("one\ntwo\nthree", 0.5, 8); /* from the last line on */
  test_held("one\ntwo\nthree", 0.0, 13);
  test_held("abcdef", 0.5, 3);                     /* no lines */
  test_held("\xC3\xA4\xC3\xA4\xC3\xA4", 0.5, 4); /* no half of a character */
  test_held("x", 0.5, 1);
}

/* A long text of lines: 16 pieces, whole lines, the share held back. */
static void test_held_pieces(void) {
  enum { SIZE = 200000, LINE = 50 };
  static char text[SIZE];
  syn_text all, part[SYN_HELD_PARTS];
  size_t held = 0;
  int i, count;
  for (i = 0; i < SIZE; i++) text[i] = i % LINE == LINE - 1 ? '\n' : 'x';
  all.at = text, all.size = SIZE;
  count = held_parts(all, 0.4, part);
  CHECK(count == SYN_HELD_PARTS, "%d parts", count);
  for (i = 0; i < count; i++) {
    CHECK(part[i].size && part[i].size % LINE == 0, "part %d", i);
    if (i % 2 == 0) held += part[i].size;
  }
  CHECK(fabs((double)held - 0.4 * (int)SIZE) < 0.01 * (int)SIZE, "%d bytes held back", (int)held);
  CHECK(held_parts(all, 0.05, part) == 4, "9,999 bytes: two pieces of 4,096 or more");
  memset(text, 'x', SIZE);
  count = held_parts(all, 0.5, part);
  for (i = 0; i < count; i += 2)
    CHECK(part[i].size == SIZE / SYN_HELD_PARTS, "no lines, part %d", i);
  memset(text, 0x80, SIZE); /* no byte begins a character: one part has everything */
  held_parts(all, 0.4, part);
  CHECK(part[1].size == SIZE, "%d bytes", (int)part[1].size);
}

static void test_steps(void) {
  syn_choice k;
  memset(&k, 0, sizeof k);
  k.epochs = 40.0;
  syn__choose_steps(&k, 100.0, 0.1, 0.001, 1e6, 20.0); /* at most 20 validations */
  CHECK(k.steps == 999 && k.every == 50, "%ld, %ld", (long)k.steps, (long)k.every);
  k.every = 0;
  syn__choose_steps(&k, 100.0, 0.1, 20.0, 1e6, 20.0); /* one, also where it takes longer */
  CHECK(k.steps == 800 && k.every == 800, "%ld, %ld", (long)k.steps, (long)k.every);
  k.every = 0;
  syn__choose_steps(&k, 100.0, 0.1, 1e9, 1e6, 20.0); /* half of the time is for updates */
  CHECK(k.steps == 500 && k.every == 500, "%ld, %ld", (long)k.steps, (long)k.every);
  k.every = 0;
  syn__choose_steps(&k, 1.0, 5.0, 0.0, 1e6, 1.0); /* one update alone would have the rate 0 */
  CHECK(k.steps == 2 && k.every == 2, "%ld, %ld", (long)k.steps, (long)k.every);
  k.every = 0;
  syn__choose_steps(&k, 100.0, 0.1, 1.0, 3.0, 20.0); /* 40 epochs of 3 updates; nine validations */
  CHECK(k.steps == 120 && k.every == 14, "%ld, %ld", (long)k.steps, (long)k.every);
  k.every = 0;
  syn__choose_steps(&k, 100.0, 0.1, 0.001, 3.0, 1.0); /* one */
  CHECK(k.steps == 120 && k.every == 120, "%ld, %ld", (long)k.steps, (long)k.every);
  k.every = 7;
  k.epochs = 1e18;
  syn__choose_steps(&k, 1e15, 1e-3, 0.0, 3.0, 20.0);
  CHECK(k.steps == 1000000000 && k.every == 7, "%ld, %ld", (long)k.steps, (long)k.every);
  CHECK(syn__choose_warmup(99) == 9 && syn__choose_warmup(99999) == 500, "warm-up");
  CHECK(!syn__held_every(0.0) && syn__held_every(0.05) == 20 && syn__held_every(0.5) == 2, "rows");
}

/* Short texts to classify; pairs of them, with two labels; the same with an encoder that is given. */
static void test_classify(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = config_of("classify", &w, &k);
  int i, given;
  syn_context_init(&c, NULL);
  syn_model_free(learn(&c, &how, ROWS));
  CHECK(!c.status && strstr(k.encoder, "ngram(6,") && k.label_smoothing == 0.0f && !*k.freeze &&
            k.epochs == 400.0 && k.every == k.steps,
        "%s: %s, smoothing %g", c.message, k.encoder, (double)k.label_smoothing);
  for (given = 0; given < 2; given++) {
    how = config_of("classify", &w, &k);
    w.stop_at = 1;
    if (given) strcpy(k.encoder, "pos -> norm");
    for (i = 0; i < ROWS; i++) {
      strcat(lines[0][i], i % 2 ? "\tx" : "\ty");
      texts[0][i] = syn_text_of(lines[0][i]);
      texts[1][i] = syn_text_of(i % 2 ? "yes" : "no");
    }
    syn_model_free(learn(&c, &how, ROWS));
    CHECK(!c.status && k.label_smoothing == 0.0f && k.heads == 8 &&
              !strcmp(k.freeze, given ? "" : "src.embed") &&
              !strcmp(k.encoder, given ? "pos -> norm" :
                                         "norm->repeat(2,res_nd(syn_att(V)))->res_nd(ffl)->norm"),
          "%s: %s, freeze '%s', %d heads", c.message, k.encoder, k.freeze, k.heads);
  }
}

/* So few rows of made-up questions learn their words: no row is held back, the training rows become
   right, and so do most of new questions. */
static void test_few_rows(void) {
  static const char *const words[3][6] = {{"card", "lost", "stolen", "block", "pin", "chip"},
                                          {"transfer", "money", "sent", "received", "bank", "iban"},
                                          {"exchange", "rate", "euro", "dollar", "fee", "currency"}};
  static const char *const frames[] = {"why was my %s %s today ?", "what about %s or %s, please",
                                       "can you say when the %s is %s", "my %s and the %s ?"};
  static char text[100][80];
  int rows, i, correct[2];
  for (rows = 6; rows <= 12; rows += 6) {
    syn_context c;
    syn_random r = {3};
    watch w;
    syn_choice k;
    syn_learn_config how = config_of("classify", &w, &k);
    syn_model *m;
    syn_run *run;
    syn_text name;
    syn_context_init(&c, NULL);
    w.step = 0.01;
    k.d_model = 0;
    for (i = 0; i < 100; i++) {
      const char *const *of = words[i % 3];
      int a = i / 3 % 6, b = (a + 1 + syn_random_below(&r, 5)) % 6;
      snprintf(text[i], sizeof text[i], frames[syn_random_below(&r, 4)], of[a], of[b]);
      texts[0][i] = syn_text_of(text[i]);
      texts[1][i] = syn_text_of(of[0]);
    }
    m = learn(&c, &how, (size_t)rows);
    CHECK(m && k.rows == (size_t)rows && !k.valid_rows && k.steps == 400, "%s: %lu rows, %ld steps",
          c.message, (unsigned long)k.rows, (long)k.steps);
    run = syn_run_new(&c, m, NULL);
    for (i = correct[0] = correct[1] = 0; i < 100; i++) {
      syn_run_text(run, texts[0][i], syn_text_of(""));
      name = syn_run_class_name(run, 0, 0, 0, NULL);
      correct[i >= rows] += name.size == strlen(words[i % 3][0]) &&
                            !memcmp(name.at, words[i % 3][0], name.size);
    }
    CHECK(correct[0] == rows && correct[1] > (rows == 6 ? 50 : 70), "%d rows: %d, %d of %d new", rows,
          correct[0], correct[1], 100 - rows);
    syn_run_free(run);
    syn_model_free(m);
  }
}

/* A machine on which an update takes longer than all the minutes: three updates in all. */
static void test_slow(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = config_of("tag", &w, &k);
  syn_model *m;
  syn_context_init(&c, NULL);
  w.step = 100.0;
  m = learn(&c, &how, ROWS);
  CHECK(m && w.reports <= 2 && w.read <= 8, "%s: %ld reports, %ld looks", c.message, w.reports, w.read);
  syn_model_free(m);
}

/* -- texts -- */

/* A choice of little work, with which nothing is measured. */
static syn_learn_config small_of(const char *task, watch *w, syn_choice *k) {
  syn_learn_config how = config_of(task, w, k);
  how.minutes = 0.0;
  strcpy(k->src_tokenizer, "space");
  strcpy(k->tgt_tokenizer, *task == 'c' ? "line" : "space");
  strcpy(k->encoder, "pos -> norm");
  strcpy(k->decoder, "pos -> res_nd(mh_dot_att) -> norm");
  k->d_model = 8;
  k->heads = 2;
  k->max_len = 8;
  k->batch_tokens = 64;
  k->hold_back = 0.05;
  k->steps = 3;
  return how;
}

static void test_rows(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = small_of("classify", &w, &k);
  syn_model *m;
  int i;
  syn_context_init(&c, NULL);
  texts[1][0] = syn_text_of("rare"); /* held back */
  texts[0][21] = syn_text_of("a b c d e f g h");
  m = learn(&c, &how, ROWS);
  CHECK(m && syn_model_config(m)->classes == 5 && !k.left_out && k.cut == 1 && k.rows == ROWS - 6,
        "a rare label, a long text: %s", c.message);
  syn_model_free(m);
  how = small_of("tag", &w, &k);
  texts[1][41] = syn_text_of("A A A A A A A");
  CHECK(!learn(&c, &how, ROWS) && strstr(c.message, "data: row 41 has ") &&
            strstr(c.message, "and 7 tags"), "%s", c.message);
  syn_context_clear(&c);
  how = small_of("seq2seq", &w, &k);
  texts[0][30].at = NULL;
  CHECK(!learn(&c, &how, ROWS) && strstr(c.message, "row 30: the source text is null"), "%s",
        c.message);
  syn_context_clear(&c);
  how = small_of("seq2seq", &w, &k);
  m = learn(&c, &how, 1);
  CHECK(m && k.rows == 1 && !k.valid_rows, "one row: %s", c.message);
  syn_model_free(m);
  how = small_of("lm", &w, &k); /* windows of 8 tokens: two, of which the second ends with the text */
  *k.encoder = 0, strcpy(k.decoder, "pos -> norm"), k.steps = 1, k.hold_back = 0.0;
  texts[1][0] = texts[1][1] = syn_text_of("a b c d e f g h i j k l");
  m = learn(&c, &how, 2);
  CHECK(m && w.labels == 2 * 13 && k.rows == 4, "two long texts with an end each: %ld labels in %lu "
        "windows: %s", (long)w.labels, (unsigned long)k.rows, c.message);
  syn_model_free(m);
  how = config_of("seq2seq", &w, &k);
  strcpy(k.tie, "all");
  for (i = 0; i < ROWS; i++) texts[0][i] = syn_text_of(i % 2 ? "one two" : "two three four");
  m = learn(&c, &how, ROWS);
  CHECK(m && !strcmp(k.src_tokenizer, k.tgt_tokenizer), "tie all: %s, %s: %s", k.src_tokenizer,
        k.tgt_tokenizer, c.message);
  syn_model_free(m);
  how = config_of("seq2seq", &w, &k);
  for (i = 0; i < ROWS; i++) texts[0][i] = texts[1][i] = syn_text_of("");
  m = learn(&c, &how, 3);
  CHECK(m && k.rows == 3 && !k.valid_rows, "empty texts: %s", c.message);
  syn_model_free(m);
  how = config_of("lm", &w, &k);
  texts[1][0] = syn_text_of("");
  CHECK(!learn(&c, &how, 1) && strstr(c.message, "no token in 1 rows"), "%s", c.message);
  syn_context_clear(&c);
}

/* What the results say of the texts: rows 0, 20, 40 ... are held back. */
static void test_counts(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = small_of("seq2seq", &w, &k);
  syn_model *m;
  size_t tokens = 0;
  int i, n;
  syn_context_init(&c, NULL);
  for (i = 0; i < ROWS; i++) texts[0][i] = syn_text_of(i % 2 ? "a b c" : "c b"), texts[1][i] = syn_text_of(i % 2 ? "c b a" : "b c");
  texts[0][0] = syn_text_of("c new b"); /* unknown, held back */
  texts[0][20] = syn_text_of("b c");    /* the same words in another order, and no row that is trained on */
  texts[1][40] = syn_text_of("b c new");
  texts[0][7] = syn_text_of("a \xFF\xC3 b");
  texts[1][8] = syn_text_of("b\xE2\x82");
  memset(k.tokens, 9, sizeof k.tokens), memset(k.unknown, 9, sizeof k.unknown), k.not_utf8 = k.repeated = 77;
  m = learn(&c, &how, ROWS);
  CHECK(m && k.rows == ROWS - 6 && k.valid_rows == 6, "%s", c.message);
  CHECK(k.unknown[0] == 2 && k.unknown[1] == 2, "%lu, %lu unknown", (unsigned long)k.unknown[0], (unsigned long)k.unknown[1]);
  for (i = 0; i < ROWS; i++) tokens += (size_t)syn_tokenizer_encode(syn_model_tokenizer(m, SYN_SRC), texts[0][i], NULL, 0);
  CHECK(k.tokens[0] == tokens, "%lu source tokens, wanted %lu", (unsigned long)k.tokens[0], (unsigned long)tokens);
  CHECK(k.not_utf8 == 4 && k.repeated == 3, "%lu bytes, %lu repeated", (unsigned long)k.not_utf8, (unsigned long)k.repeated);
  syn_model_free(m);
  how = small_of("classify", &w, &k); /* labels are their bytes; a label is no unknown token */
  for (i = 0; i < ROWS; i++) {
    static const char *const labels[] = {"a | b", "a|b", "a b", "a\tb", "A B"};
    texts[0][i] = syn_text_of("x y"), texts[1][i] = syn_text_of(labels[i % 5]);
  }
  m = learn(&c, &how, ROWS);
  CHECK(m && syn_model_config(m)->classes == 5 && !k.unknown[0] && !k.unknown[1] && k.tokens[1] == ROWS, "%s", c.message);
  for (i = 0; m && i < 5; i++) {
    syn_text name = syn_tokenizer_piece(syn_model_tokenizer(m, SYN_TGT), SYN_FIRST_TOKEN + i, 1);
    for (n = 0; n < 5; n++)
      if (name.size == texts[1][n].size && !memcmp(name.at, texts[1][n].at, name.size)) break;
    CHECK(n < 5, "class %d is %.*s", i, (int)name.size, name.at);
  }
  syn_model_free(m);
  how = small_of("lm", &w, &k); /* windows of 8; those of the validation overlap, and count once */
  *k.encoder = 0, strcpy(k.decoder, "pos -> norm"), strcpy(k.tgt_tokenizer, "char"), k.hold_back = 0.5;
  texts[1][0] = syn_text_of("abcabcabcabcabcabcabcabcabcabc\nabcabcabcabcabcabcabcabcabcabcabcabcabcab\xFF\n");
  m = learn(&c, &how, 1);
  CHECK(m && k.tokens[1] == texts[1][0].size && k.unknown[1] == 1 && k.not_utf8 == 1 && !k.tokens[0],
        "%lu of %lu tokens: %s", (unsigned long)k.unknown[1], (unsigned long)k.tokens[1], c.message);
  syn_model_free(m);
}

/* | and TAB stand for themselves in a target of syn_data_add_text. */
static void test_target_text(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = small_of("seq2seq", &w, &k);
  syn_text target = syn_text_of("| x|y |\tz");
  syn_data *d;
  syn_model *m;
  const int *row;
  char out[40];
  int n;
  size_t tokens;
  syn_context_init(&c, NULL);
  strcpy(k.tgt_tokenizer, "char"), k.max_len = 12;
  texts[1][1] = target;
  m = learn(&c, &how, ROWS);
  d = syn_data_new(&c);
  CHECK(m && !syn_data_add_text(d, m, syn_text_of("a b"), target), "%s", c.message);
  row = syn_data_row(d, 0, SYN_TGT, &n);
  CHECK(row && syn_tokenizer_decode(syn_model_tokenizer(m, SYN_TGT), row, n, out, sizeof out) == target.size && !strcmp(out, target.at),
        "the target became %s", out);
  CHECK(!syn_data_unknown(d, SYN_TGT, &tokens) && tokens == target.size && !syn_data_unknown(d, 2, &tokens) && !tokens &&
            !syn_data_unknown(NULL, 0, &tokens) && !syn_data_unknown(d, 0, NULL), "unknown tokens");
  CHECK(!syn_data_add_text(d, m, syn_text_of("a new b"), syn_text_of("\xFFx")), "%s", c.message);
  CHECK(syn_data_unknown(d, SYN_SRC, &tokens) == 1 && tokens == 5 && syn_data_unknown(d, SYN_TGT, &tokens) == 1, "unknown");
  syn_data_free(d);
  syn_model_free(m);
}

/* Numbers at the ends of their ranges: refused with the field, or a model. */
static void test_ends(void) {
  static const double shares[] = {1e-300, 1e-9, 1e-8, 0.5};
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how;
  syn_model *m;
  int i;
  syn_context_init(&c, NULL);
  for (i = 0; i < 4; i++) { /* below 1e-9 nothing is held back, else the first row at least */
    how = small_of("tag", &w, &k);
    k.hold_back = shares[i];
    m = learn(&c, &how, ROWS);
    CHECK(m && k.valid_rows == (size_t)(i < 2 ? 0 : i < 3 ? 1 : ROWS / 2), "share %g: %lu rows: %s", shares[i],
          (unsigned long)k.valid_rows, c.message);
    syn_model_free(m);
  }
  for (i = 0; i < 7; i++) {
    static const char *const wanted[] = {"dropout", "dropout", "label_smoothing", "lr ", "lr ", "clip ", "weight_decay "};
    how = small_of("tag", &w, &k);
    strcpy(k.optimizer, "adamw");
    if (i == 0) k.dropout = (float)NAN;
    if (i == 1) k.dropout = 1.0f;
    if (i == 2) k.label_smoothing = -1e-45f;
    if (i == 3) k.lr = (float)NAN;
    if (i == 4) k.lr = (float)INFINITY;
    if (i == 5) k.clip = -1e-30f;
    if (i == 6) k.weight_decay = (float)INFINITY;
    CHECK(!learn(&c, &how, ROWS) && c.status == SYN_E_VALUE && strstr(c.message, wanted[i]), "%d: %s", i, c.message);
    syn_context_clear(&c);
  }
  for (i = 0; i < 4; i++) { /* the time is over at once, or never; all updates or one */
    how = config_of("tag", &w, &k);
    strcpy(k.encoder, "pos -> norm");
    w.stop_at = 5;
    if (i == 0) how.minutes = 1e-300;
    if (i == 1) how.minutes = 9.9e8, w.step = 1e8;
    if (i == 2) k.epochs = HUGE_VAL;
    if (i == 3) k.epochs = 1e-300;
    m = learn(&c, &how, ROWS);
    CHECK(m && w.reports > 0 && (i != 3 || k.steps == 2), "%d: %ld of %ld steps: %s", i, w.reports, (long)k.steps, c.message);
    syn_model_free(m);
  }
}

static void test_wrong(void) {
  static const syn_text same[] = {{"same", 4}, {"same", 4}};
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how;
  int i;
  syn_context_init(&c, NULL);
  for (i = 0; i < 19; i++) {
    static const char *const wanted[] = {
        "minutes is 0, wanted above 0",  "minutes is -1", "minutes is", "minutes is inf, wanted 0 to 999999999", "0 rows",
        "task is 'sing'", "hold_back is 0.6, wanted 0 to 0.5", "steps is -1", "no source text", "no target text",
        "no configuration", "tokenizer: \"letters\"", "batch_tokens is -2147483648", "epochs is -3",
        "epochs is", "one tokenizer for both sides, given: char and space", "did you mean 'line'",
        "choice.steps is 3, so nothing is chosen", "all labels are 'same', wanted 2 classes or more"};
    int none = i == 10;
    how = config_of(i == 16 || i == 18 ? "classify" : "seq2seq", &w, &k);
    if (i == 0) how.minutes = 0.0;
    if (i == 1) how.minutes = -1.0;
    if (i == 2) how.minutes = (double)NAN;
    if (i == 3) how.minutes = HUGE_VAL;
    if (i == 5) how.task = "sing";
    if (i == 6) k.hold_back = 0.6;
    if (i == 7) k.steps = -1;
    if (i == 11) strcpy(k.src_tokenizer, "letters");
    if (i == 12) k.batch_tokens = INT_MIN;
    if (i == 13) k.epochs = -3.0;
    if (i == 14) k.epochs = (double)NAN;
    if (i == 15) strcpy(k.src_tokenizer, "char"), strcpy(k.tgt_tokenizer, "space"), strcpy(k.tie, "all");
    if (i == 16) strcpy(k.tgt_tokenizer, "lime");
    if (i == 17) k.steps = 3; /* before the speed is measured */
    CHECK(!syn_learn(&c, none ? NULL : &how, i == 8 ? NULL : texts[0], i == 9 ? NULL : i == 18 ? same : texts[1],
                     i == 4 ? 0 : i == 18 ? 2 : ROWS) && c.status == SYN_E_VALUE && strstr(c.message, wanted[i]),
          "%d: %s", i, c.message);
    CHECK(!w.reports && !k.rows, "%d: a training has begun", i);
    CHECK(!learn(&c, &how, ROWS), "%d: the error is kept", i);
    syn_context_clear(&c);
  }
  CHECK(!syn_learn(NULL, &how, texts[0], texts[1], ROWS), "no context");
}

/* -- clocks, ends -- */

static void test_clock(void) {
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how;
  syn_model *m;
  int i;
  syn_context_init(&c, NULL);
  for (i = CHECK_SHORT ? 1 : 0; i < 3; i++) { /* stands still, goes back, is no number */
    how = config_of("classify", &w, &k);
    w.step = i == 0 ? 0.0 : i == 1 ? -1.0 : (double)NAN;
    CHECK(!learn(&c, &how, ROWS) && strstr(c.message, "the clock moved by"), "%d: %s", i, c.message);
    syn_context_clear(&c);
  }
  how = config_of("tag", &w, &k);
  w.from = 4, w.then = CHECK_SHORT ? -1.0 : 0.0; /* behind the speed of the machine */
  CHECK(!learn(&c, &how, ROWS) && strstr(c.message, "the clock moved by"), "%s", c.message);
  syn_context_clear(&c);
  how = config_of("tag", &w, &k);
  w.from = 12, w.then = 100.0; /* the training begins, and is over */
  m = learn(&c, &how, ROWS);
  CHECK(m && w.reports < 4 && k.steps > 4, "%ld of %ld steps: %s", w.reports, (long)k.steps, c.message);
  syn_model_free(m);
  how = config_of("tag", &w, &k);
  w.from = 12, w.then = -1.0; /* then the steps end it */
  m = learn(&c, &how, ROWS);
  CHECK(m && w.reports == k.steps, "%ld of %ld steps: %s", w.reports, (long)k.steps, c.message);
  syn_model_free(m);
  how = config_of("classify", &w, &k);
  how.minutes = 0.003; /* of the clock of the library; less than an update */
  how.seconds = NULL;
  m = learn(&c, &how, ROWS);
  CHECK(m && w.reports > 0, "%s", c.message);
  syn_model_free(m);
}

/* Where the machine becomes busier, the learning rate ends with the minutes all the same. */
static void test_busier(void) {
  long updates[3];
  int i;
  for (i = 0; i < 3; i++) { /* never; from report 100 on; up to report 150 */
    syn_context c;
    syn_choice k;
    watch w;
    syn_learn_config how = config_of("tag", &w, &k);
    syn_model *m;
    syn_context_init(&c, NULL);
    w.step = 0.15;
    k.epochs = 1e6;
    w.busy = i > 0 ? 100 : 0;
    w.free = i > 1 ? 150 : 0;
    m = learn(&c, &how, ROWS);
    updates[i] = w.reports;
    CHECK(m && w.now < 61.0 && (i > 0) == (w.reports < k.steps), "%d: %ld of %ld updates, %g seconds: %s", i,
          w.reports, (long)k.steps, w.now, c.message);
    CHECK(w.rate < 0.01f * w.largest, "%d: a rate of %g at the end, %g at most", i, (double)w.rate,
          (double)w.largest);
    syn_model_free(m);
  }
  CHECK(updates[1] < updates[2] && updates[2] < updates[0], "%ld, %ld, %ld updates", updates[0], updates[1],
        updates[2]);
}

static int cancel_now(void *user) { return --*(int *)user <= 0; }

static void test_stop(void) {
  syn_context c;
  syn_options o;
  syn_choice k;
  watch w;
  syn_learn_config how = config_of("tag", &w, &k);
  syn_decoder *d;
  syn_model *m;
  int left = 40;
  syn_context_init(&c, NULL);
  w.stop_at = 3;
  m = learn(&c, &how, ROWS);
  CHECK(m && w.reports == 3, "%ld reports: %s", w.reports, c.message);
  CHECK(!syn_decoder_new(&c, m, NULL), "a tagger has no decoder");
  syn_context_clear(&c);
  syn_model_free(m);
  how = small_of("seq2seq", &w, &k);
  m = learn(&c, &how, ROWS);
  d = syn_decoder_new(&c, m, NULL);
  CHECK(d && !syn_decoder_run_text(d, texts[0][1], syn_text_of(""), NULL, NULL), "%s", c.message);
  syn_decoder_free(d);
  syn_model_free(m);
  memset(&o, 0, sizeof o);
  o.cancel = cancel_now;
  o.cancel_user = &left;
  syn_context_init(&c, &o);
  k.steps = 1000;
  CHECK(!learn(&c, &how, ROWS) && c.status == SYN_E_CANCELLED, "%s", c.message);
}

/* Allocation n fails, or all from it on. What measures the machine takes a while, so some are tried;
   tests/test_failure.c has all of a choice that is given. */
static void test_memory(void) {
  long n, step = CHECK_SHORT ? 401 : 53;
  syn_context c;
  syn_choice k;
  watch w;
  heap h;
  for (n = 1;; n += n < 8 ? 1 : step) {
    syn_learn_config how = config_of("classify", &w, &k);
    syn_model *m;
    context_on(&c, &h, 0);
    *(n % 2 ? &h.fail_from : &h.fail_at) = n;
    w.stop_at = 1;
    m = learn(&c, &how, ROWS);
    CHECK(!m == (c.status == SYN_E_MEMORY), "allocation %ld: %s", n, c.message);
    syn_model_free(m);
    CHECK(!h.blocks, "allocation %ld: %ld blocks left", n, h.blocks);
    if (m) break;
  }
  CHECK(n > 100, "%ld allocations", n);
}

/* What syn_choose takes from the caller and what it chooses: tokenizers of two sides, one for both. */
static void test_choices(void) {
  enum { MANY = 60, EACH = 8 };
  static char many[2][MANY][100];
  static const char *const given[][3] = {{"", "", ""}, {"", "space", "all"}, {"char", "char", "none"},
                                         {"bpe:99", "", ""}, {"bpe:99", "space", ""}};
  syn_text side[2][MANY];
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how = config_of("seq2seq", &w, &k);
  int i, j, s;
  syn_context_init(&c, NULL);
  for (i = 0; i < MANY; i++)
    for (s = 0; s < 2; s++) {
      char *at = many[s][i];
      for (j = 0; j < EACH; j++)
        at += sprintf(at, "%s%c%c%d", j ? " " : "", 'a' + (i + s) % 26, 'a' + j, (i * EACH + j) * 7919 % 1000);
      side[s][i] = syn_text_of(many[s][i]);
    }
  for (i = 0; i < 5; i++) {
    const int rows = i % 2 ? MANY : 40, both = !strcmp(given[i][2], "all");
    how = config_of("seq2seq", &w, &k);
    strcpy(k.src_tokenizer, given[i][0]), strcpy(k.tgt_tokenizer, given[i][1]), strcpy(k.tie, given[i][2]);
    w.step = 100.0; /* one update tells the speed */
    k.hold_back = i == 2 ? 0.25 : 0.0;
    CHECK(!syn_choose(&c, &how, side[0], side[1], (size_t)rows), "%d: %s", i, c.message);
    CHECK((!*given[i][0] || !strcmp(given[i][0], k.src_tokenizer)) && *k.src_tokenizer &&
              (!*given[i][1] || !strcmp(given[i][1], k.tgt_tokenizer)) && *k.tgt_tokenizer, "%d: %s, %s", i,
          k.src_tokenizer, k.tgt_tokenizer);
    CHECK(!both || !strcmp(k.src_tokenizer, k.tgt_tokenizer), "%d: %s and %s", i, k.src_tokenizer, k.tgt_tokenizer);
    CHECK((i == 2 ? k.hold_back == 0.25 : (k.hold_back > 0.0) == (rows >= 50)) && k.d_model == 16, "%d: %g", i,
          k.hold_back);
    CHECK(i || (!strcmp(k.src_tokenizer, "bpe:8000") && !strcmp(k.tgt_tokenizer, "bpe:8000") && !strcmp(k.tie, "all")),
          "%s, %s, tie %s", k.src_tokenizer, k.tgt_tokenizer, k.tie);
  }
  how = config_of("seq2seq", &w, &k);
  CHECK(!syn_choose(&c, &how, NULL, NULL, 0) && k.clip == 1.0f && k.hold_back == 0.05, "%s", c.message);
  how = config_of("seq2seq", &w, &k);
  k.steps = 5, strcpy(k.src_tokenizer, "char");
  CHECK(!syn_choose(&c, &how, side[0], side[1], MANY) && k.steps == 5 && !*k.encoder, "%s", c.message);
}

/* Rows that are no texts, for each side. */
static void test_choices_wrong(void) {
  syn_text row[2][2];
  syn_context c;
  syn_choice k;
  watch w;
  syn_learn_config how;
  int i;
  char word[60];
  syn_context_init(&c, NULL);
  for (i = 0; i < 6; i++) {
    const int s = i / 3;
    how = config_of("seq2seq", &w, &k);
    row[0][0] = row[0][1] = row[1][0] = row[1][1] = syn_text_of("a b");
    row[0][0].at = NULL, row[0][0].size = 0; /* an empty one may be null */
    if (i % 3 == 0) row[s][1].at = NULL;
    if (i % 3 == 1) row[s][1].size = (size_t)INT_MAX / 4 + 1;
    if (i % 3 == 2) row[s][1].at = NULL, row[s][1].size = (size_t)INT_MAX;
    sprintf(word, "row 1: the %s text is %s", s ? "target" : "source", i % 3 == 1 ? "too long" : "null");
    CHECK(syn_choose(&c, &how, row[0], row[1], 2) == SYN_E_VALUE && strstr(c.message, word), "%d: %s", i, c.message);
    CHECK(syn_choose(&c, &how, texts[0], texts[1], 2) != SYN_OK, "%d: the error is kept", i);
    syn_context_clear(&c);
  }
  for (i = 0; i < 2; i++) {
    how = config_of(i ? "mlm" : "sing", &w, &k);
    CHECK(syn_choose(&c, &how, NULL, NULL, 0) == SYN_E_VALUE && strstr(c.message, how.task), "%s", c.message);
    syn_context_clear(&c);
  }
  how = config_of("lm", &w, &k);
  CHECK(!syn_trainer_deadline(NULL, &how) && !syn_trainer_deadline(NULL, NULL) && !w.read, "no trainer");
  CHECK(syn_text_hold_back(texts[0][0], 0.1, NULL) == 0, "no parts");
  {
    syn_text part[SYN_HELD_PARTS], none = {NULL, 9};
    CHECK(syn_text_hold_back(none, 0.1, part) == 2 && !part[0].size && !part[1].size, "no text");
    CHECK(held_parts(texts[0][0], 7.0, part) == 2 && held_parts(texts[0][0], -1.0, part) == 2 &&
              held_parts(texts[0][0], (double)NAN, part) == 2, "shares");
  }
}

/* A caller who takes no network before the `refused`-th. */
typedef struct picky {
  int refused, excess, asked;
  syn_choice last;
} picky;
static int too_large(void *user, const syn_choice *k) {
  picky *p = (picky *)user;
  p->last = *k;
  return p->asked++ < p->refused ? p->excess : 0;
}
static syn_status fitting(syn_context *c, syn__learn *l, picky *p) {
  int recipe = syn__choose_recipe(l);
  l->c = c, l->macs = 2e13;
  l->config.user = p, l->config.excess = too_large;
  return syn__choose_fitting(l, recipe);
}
static void test_excess(void) {
  syn__learn l = facts(SYN__TASK_SEQ2SEQ, 1e7, 2e6, 4000);
  const int full = chosen(l, 2e13).max_len;
  picky p;
  syn_context c;
  memset(&p, 0, sizeof p);
  p.refused = 1, p.excess = 2;
  syn_context_init(&c, NULL);
  CHECK(!fitting(&c, &l, &p) && l.choice.d_model == 128 && l.choice.max_len == full / 2, "shorter: %d, %d",
        l.choice.d_model, l.choice.max_len);
  l = facts(SYN__TASK_SEQ2SEQ, 1e7, 2e6, 4000);
  p.asked = 0, p.refused = 3;
  CHECK(!fitting(&c, &l, &p) && l.choice.d_model == 64 && strstr(l.choice.encoder, "repeat(3,"), "smaller: %d, %s",
        l.choice.d_model, l.choice.encoder);
  CHECK(strstr(l.choice.decoder, "ffl(128)") && l.choice.heads == 2, "smaller: %s, %d heads", l.choice.decoder,
        l.choice.heads);
  l = facts(SYN__TASK_CLASSIFY, 1e6, 2e5, 4000);
  p.asked = 0, p.refused = 4, p.excess = 1;
  CHECK(!fitting(&c, &l, &p) && strstr(l.choice.encoder, "ngram(2,4096)"), "fewer buckets: %s", l.choice.encoder);
  l = facts(SYN__TASK_LM, 1e7, 4e6, 100);
  p.asked = 0, p.refused = 1000;
  CHECK(fitting(&c, &l, &p) == SYN_E_VALUE && strstr(c.message, "takes no network, the last one has d_model 16"),
        "none: %s", c.message);
  CHECK(p.asked < 20 && strstr(p.last.decoder, "repeat(1,"), "none: %d asked of, %s", p.asked, p.last.decoder);
  syn_context_clear(&c);
  l = facts(SYN__TASK_LM, 1e7, 4e6, 100);
  p.asked = 0, p.excess = -1;
  CHECK(fitting(&c, &l, &p) == SYN_E_VALUE && p.asked == 1, "no such tokenizers: %d asked of", p.asked);
}

int main(void) {
  test_task("lm");
  test_task("tag");
  if (!CHECK_SHORT) test_task("seq2seq"), test_task("classify");
  test_tokenizers();
  test_sizes();
  test_excess();
  test_recipes();
  test_steps();
  test_held_short();
  test_held_pieces();
  test_given();
  test_steps_alone();
  test_classify();
  test_few_rows();
  test_slow();
  test_rows();
  test_counts();
  test_target_text();
  test_ends();
  test_wrong();
  test_clock();
  test_busier();
  test_stop();
  test_memory();
  test_choices();
  test_choices_wrong();
  return CHECK_END("learn");
}
