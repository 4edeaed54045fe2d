/* Times of networks at the limits of the language; arguments that point into the object that a call
   changes. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "../tools/document.h"
#include "check.h"
#include "sink.h"
#include <time.h>

/* -- an allocator that overwrites what it frees: a stale read is seen without a sanitizer -- */

static void *spoil_alloc(void *user, size_t size) {
  (void)user;
  return malloc(size);
}
static void spoil_release(void *user, void *block, size_t size) {
  (void)user;
  memset(block, 0x5A, size);
  free(block);
}
static void spoil_context(syn_context *c) {
  syn_options o;
  memset(&o, 0, sizeof o);
  o.alloc = spoil_alloc;
  o.release = spoil_release;
  syn_context_init(c, &o);
}

static size_t sink_none(void *user, const void *from, size_t size) {
  (void)user, (void)from;
  return size;
}
static const syn_sink no_sink = {sink_none, NULL};

/* -- places of buffers -- */

/* The place of item i by definition: the lowest where no item in use meets it. */
static size_t first_fit(const syn__item *items, size_t i) {
  size_t at = 0, k;
  for (k = 0; k < i; k++) {
    const syn__item *o = &items[k];
    int meet = o->size && o->to >= items[i].from;
    if (!meet || at >= o->at + o->size || o->at >= at + items[i].size) continue;
    at = o->at + o->size;
    k = (size_t)-1; /* again from the first */
  }
  return at;
}

/* Random buffers get the places of the definition, which tries all of them. */
static void test_place(void) {
  enum { MOST = 120, TIMES = 40 };
  syn__item items[MOST], wanted[MOST], *lists[2 * TIMES];
  syn_random r = {11};
  int round, wrong = 0;
  for (round = 0; round < 400; round++) {
    size_t n = 1 + (size_t)syn_random_below(&r, MOST), i, peak = 0;
    int sizes = 1 + syn_random_below(&r, 9);
    memset(items, 0, sizeof items);
    for (i = 0; i < n; i++) {
      items[i].from = (int)(i * TIMES / n);
      items[i].to = syn__min(TIMES - 1, items[i].from + syn_random_below(&r, 1 + (int)(i % TIMES)));
      items[i].size = 16 * (size_t)syn_random_below(&r, sizes);
    }
    memcpy(wanted, items, sizeof items);
    for (i = 0; i < n; i++) {
      if (wanted[i].size) wanted[i].at = first_fit(wanted, i);
      if (wanted[i].at + wanted[i].size > peak) peak = wanted[i].at + wanted[i].size;
    }
    wrong += syn__place(items, n, lists, TIMES) != peak;
    for (i = 0; i < n; i++) wrong += items[i].at != wanted[i].at;
  }
  CHECK(wrong == 0, "%d places", wrong);
  items[0].from = items[0].to = items[1].from = items[1].to = 0;
  items[0].size = items[1].size = SIZE_MAX / 8 - 16;
  CHECK(syn__place(items, 2, lists, TIMES) == SIZE_MAX, "two buffers of half the memory each");
}

/* -- times -- */

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* A network of about `nodes` operations. */
typedef struct network {
  const char *name, *task, *encoder, *decoder; /* %d: copies */
  int nodes;                                   /* of a copy */
} network;
static const network networks[] = {
    {"residual", "lm", NULL, "repeat(%d,repeat(4,res(ff(8))))", 8},
    {"universal", "lm", NULL, "universal(%d,repeat(4,res(ff(8))))", 9},
    {"attention", "lm", NULL, "repeat(%d,repeat(2,res_nd(syn_att(R+V))))", 6},
    {"encoder", "classify", "repeat(%d,repeat(2,res_nd(syn_att)))", NULL, 6},
    {"branches", "lm", NULL, "repeat(%d,concat(ff(2)|ff(2)|ff(2)|ff(2))->act)", 6},
    {"source", "seq2seq", "repeat(%d,res(ff(8)))->norm",
     "repeat(%d,res(mh_dot_att(source=increasing)))", 5}};

static syn_config network_config(const network *n, int nodes, char text[2][200]) {
  syn_config k;
  memset(&k, 0, sizeof k);
  if (n->encoder) snprintf(text[0], 200, n->encoder, nodes / n->nodes);
  if (n->decoder) snprintf(text[1], 200, n->decoder, nodes / n->nodes);
  k.task = n->task;
  k.encoder = n->encoder ? text[0] : NULL;
  k.decoder = n->decoder ? text[1] : NULL;
  k.d_model = 8;
  k.heads = 2;
  k.max_len = 8;
  k.src_vocab = k.tgt_vocab = 20;
  k.classes = 3;
  return k;
}

/* What is measured; `m` null: by the configuration alone. */
static void pass_describe(syn_context *c, const syn_config *k, syn_model *m) {
  (void)m;
  syn_model_describe(c, k, NULL, 0);
}
static void pass_plan(syn_context *c, const syn_config *k, syn_model *m) {
  syn_train_config train;
  syn_plan plan;
  (void)m;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 32;
  syn_plan_of(c, k, &train, NULL, &plan);
}
static void pass_trace(syn_context *c, const syn_config *k, syn_model *m) {
  (void)m;
  syn_trace_network(c, k, &no_sink);
}
static void pass_run(syn_context *c, const syn_config *k, syn_model *m) {
  syn_limits limits = {1, 8, 8, 8, 1, 0};
  (void)k;
  syn_run_free(syn_run_new(c, m, &limits));
}
static void pass_decoder(syn_context *c, const syn_config *k, syn_model *m) {
  if (k->decoder) syn_decoder_free(syn_decoder_new(c, m, NULL));
}
static void pass_trainer(syn_context *c, const syn_config *k, syn_model *m) {
  syn_train_config train;
  (void)k;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 32;
  train.freeze = "*.b";
  syn_trainer_free(syn_trainer_new(c, m, &train));
}
static void pass_file(syn_context *c, const syn_config *k, syn_model *m) {
  syn_model *of;
  (void)k;
  syn_model_save(c, m, "hostile.safetensors");
  of = syn_model_load(c, "hostile.safetensors");
  syn_model_pack(of);
  syn_model_free(of);
}
static void pass_init(syn_context *c, const syn_config *k, syn_model *m) {
  (void)c, (void)k;
  syn_model_init_from(m, m, 0, NULL, NULL);
}
static void pass_embed(syn_context *c, const syn_config *k, syn_model *m) {
  (void)k;
  syn_small_embed(c, m, NULL, "x", &no_sink);
  syn_context_clear(c); /* some kinds have no small form */
}
static const struct {
  const char *name;
  void (*run)(syn_context *c, const syn_config *k, syn_model *m);
} passes[] = {{"describe", pass_describe}, {"plan", pass_plan},       {"trace", pass_trace},
              {"run", pass_run},           {"decoder", pass_decoder}, {"trainer", pass_trainer},
              {"files", pass_file},        {"init", pass_init},       {"embed", pass_embed}};
enum { PASSES = sizeof passes / sizeof passes[0] };

/* The least time of a few runs of each pass over a network. */
static void measure(const network *n, int nodes, double times[PASSES]) {
  char text[2][200];
  syn_config k = network_config(n, nodes, text);
  syn_context c;
  syn_model *m;
  int i, again;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  for (i = 0; i < PASSES; i++)
    for (times[i] = 1e9, again = 0; m && again < (nodes > 2000 ? 2 : 3); again++) {
      double begin = seconds(), time;
      passes[i].run(&c, &k, m);
      time = seconds() - begin;
      if (time < times[i]) times[i] = time;
    }
  CHECK(m && c.status == SYN_OK, "%s, %d nodes: %s", n->name, nodes, c.message);
  syn_model_free(m);
}

/* Four times the operations take about four times as long; were it quadratic, sixteen times. */
static void test_growth(void) {
  size_t i;
  int k;
  for (i = 0; i < sizeof networks / sizeof networks[0]; i++) {
    double small[PASSES], large[PASSES];
    measure(&networks[i], 1000, small);
    measure(&networks[i], 4000, large);
    for (k = 0; k < PASSES; k++)
      CHECK(large[k] < 8.0 * small[k] + 0.02, "%s, %s: %.1f ms for 1,000 nodes, %.1f for 4,000",
            networks[i].name, passes[k].name, 1e3 * small[k], 1e3 * large[k]);
  }
}

/* head, unit between unit between ... tail: as many bytes as a text may have. */
static void fill(char *text, const char *head, const char *unit, const char *between,
                 const char *tail) {
  char *at = text + sprintf(text, "%s", head);
  while ((size_t)(at - text) + strlen(unit) + strlen(between) + strlen(tail) < SYN_MAX_TEXT)
    at += sprintf(at, "%s%s", at > text + strlen(head) ? between : "", unit);
  strcpy(at, tail);
}

/* Texts at the limits of the language, accepted or refused: no call takes long. */
static void test_limits(void) {
  static const struct {
    const char *head, *unit, *between, *tail;
    int d_model, max_len;
  } texts[] = {{"", "id", "->", "", 8, 8},
               {"", "a", "", "", 8, 8},
               {"concat(", "id", "|", ")", 8, 8},
               {"repeat(50,res_nd(", "id", "->", "))", 8, 8},
               {"", "res(res(res(res(res(res(res(res(id))))))))", "->", "", 8, 8},
               {"", "res_nd(res_nd(res_nd(res_nd(res_d(id)))))", "->", "", 8, 8},
               {"", "id#xxxxxxxxxxxxxxxxxxx\n", "->", "", 8, 8},
               {"id(", " ", "", ")", 8, 8},
               {"repeat(1000,repeat(65,id", "", "", "))", 8, 8},
               {"repeat(1000,repeat(1000,id", "", "", "))", 8, 8},
               {"syn_att(", "V", "+", ")", 8, 8},
               {"", "ff($A)", "->", "", 8, 8},
               {"", "rel_pos", "->", "", 8, 1 << 20},
               {"", "pos", "->", "", 4, 1 << 20},
               {"universal(1000,res(ff(8)", "", "", "))", 8, 1 << 20},
               {"repeat(60,syn_att(V+R+FR+D+FD+Conv+CRC+BD+BCRC+GLU+Fix", "", "", "))", 8, 8},
               {"", "highway(id)", "->", "", 8, 8}};
  char *text = (char *)malloc(SYN_MAX_TEXT + 1);
  syn_var var = {"A", 8.0};
  size_t i;
  int k;
  for (i = 0; text && i < sizeof texts / sizeof texts[0]; i++) {
    syn_config config;
    syn_context c;
    if (*texts[i].unit)
      fill(text, texts[i].head, texts[i].unit, texts[i].between, texts[i].tail);
    else sprintf(text, "%s%s", texts[i].head, texts[i].tail);
    memset(&config, 0, sizeof config);
    config.task = "lm";
    config.decoder = text;
    config.d_model = texts[i].d_model;
    config.heads = 2;
    config.max_len = texts[i].max_len;
    config.tgt_vocab = 20;
    config.vars = &var;
    config.n_vars = 1;
    syn_context_init(&c, NULL);
    for (k = 0; k < 3; k++) { /* the passes that need no model */
      double begin = seconds(), time;
      passes[k].run(&c, &config, NULL);
      time = seconds() - begin;
      CHECK(CHECK_SHORT || time < 2.0, "%.60s: %s takes %.1f seconds", text, passes[k].name, time);
      syn_context_clear(&c);
    }
  }
  free(text);
}

/* Layers whose small form has a table of positions share it: the time does not grow with both. */
static void test_tables(void) {
  char text[8000];
  syn_config k;
  syn_context c;
  syn_model *m;
  double begin;
  memset(&k, 0, sizeof k);
  sprintf(text, "repeat(800,pos->linear(15)->pos->linear(16))");
  k.task = "classify";
  k.encoder = text;
  k.d_model = 16;
  k.max_len = 60000;
  k.src_vocab = 20;
  k.classes = 3;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  begin = seconds();
  CHECK(syn_small_write(&c, m, NULL, &no_sink) == SYN_OK, "%s", c.message);
  CHECK(CHECK_SHORT || seconds() - begin < 2.0, "%.1f seconds", seconds() - begin);
  syn_model_free(m);
}

/* Every tensor but one named in `freeze`, as long as the list may be. */
static void test_freeze(void) {
  char *list = (char *)malloc(SYN_MAX_TEXT + 100), *at = list;
  syn_config k;
  syn_context c;
  syn_train_config train;
  syn_trainer *t;
  syn_model *m;
  double begin;
  size_t i;
  memset(&k, 0, sizeof k);
  memset(&train, 0, sizeof train);
  k.task = "lm";
  k.decoder = "repeat(900,repeat(2,ff(4)))";
  k.d_model = 4;
  k.tgt_vocab = 20;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  for (i = 1; i < syn_model_param_count(m) && at - list < SYN_MAX_TEXT - 40; i++)
    at += sprintf(at, "%s%s", i > 1 ? "|" : "", syn_model_param(m, i)->name);
  train.freeze = list;
  train.batch_tokens = 32;
  begin = seconds();
  t = syn_trainer_new(&c, m, &train);
  CHECK(t, "%s", c.message);
  CHECK(CHECK_SHORT || seconds() - begin < 2.0, "%.1f seconds", seconds() - begin);
  syn_trainer_free(t);
  syn_model_free(m);
  free(list);
}

/* -- plans that do not fit -- */

static void test_plans(void) {
  syn_config k;
  syn_train_config train;
  syn_context c;
  syn_plan plan;
  memset(&k, 0, sizeof k);
  memset(&train, 0, sizeof train);
  k.task = "lm";
  k.decoder = "repeat(500,res(syn_att(V)))";
  k.d_model = 16384;
  k.heads = 4096;
  k.max_len = 1 << 20;
  k.tgt_vocab = 100000;
  train.batch_tokens = 1 << 24;
  train.length = 1 << 30;
  syn_context_init(&c, NULL);
  CHECK(syn_plan_of(&c, &k, &train, NULL, &plan) == SYN_E_MEMORY && !plan.activations,
        "planned: %lu", (unsigned long)plan.activations);
  CHECK(sizeof(size_t) == 4 || strstr(c.message, "0 source rows and 16777216 target rows"), "%s",
        c.message);
  CHECK(strstr(c.message, "bytes, the most that can be planned"), "%s", c.message);
}

/* -- arguments inside the object -- */

/* 1: row `row` of one side is `first`, first + 1 ... */
static int row_is(const syn_data *d, size_t row, int side, int first, int count) {
  int n, i;
  const int *at = syn_data_row(d, row, side, &n);
  for (i = 0; at && i < n; i++)
    if (at[i] != first + i) return 0;
  return n == count;
}

/* A row of the data is added to it again, while the array grows, as source, target and windows. */
static void test_data(void) {
  int ids[30], i, n, m, wrong = 0;
  syn_context c;
  syn_data *d;
  for (i = 0; i < 30; i++) ids[i] = 4 + i;
  spoil_context(&c);
  d = syn_data_new(&c);
  syn_data_add(d, ids, 20, ids + 10, 20);
  for (i = 1; i < 300; i++) {
    const int *src = syn_data_row(d, (size_t)(i - 1), SYN_SRC, &n);
    const int *tgt = syn_data_row(d, (size_t)(i / 2), SYN_TGT, &m);
    syn_data_add(d, src, n, tgt, m);
  }
  for (i = 0; i < 300; i++)
    wrong += !row_is(d, (size_t)i, SYN_SRC, 4, 20) || !row_is(d, (size_t)i, SYN_TGT, 14, 20);
  CHECK(wrong == 0 && syn_data_count(d) == 300, "%d rows: %s", wrong, c.message);
  syn_data_free(d);
  d = syn_data_new(&c);
  syn_data_add(d, NULL, 0, ids, 30);
  for (i = 0; i < 40; i++) {
    const int *text = syn_data_row(d, 0, SYN_TGT, &n);
    syn_data_add_windows(d, text, (size_t)n, 10, i % 2 ? 10 : 5);
  }
  for (wrong = 0, n = 1, i = 0; i < 40; i++)
    for (m = 0; m < (i % 2 ? 3 : 5); m++, n++)
      wrong += !row_is(d, (size_t)n, SYN_TGT, 4 + m * (i % 2 ? 10 : 5), 10);
  CHECK(wrong == 0 && syn_data_count(d) == (size_t)n, "%d windows: %s", wrong, c.message);
  syn_data_free(d);
}

static syn_config small_config(const syn_tokenizer *t) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = "lm";
  k.decoder = "res(syn_att(R+V)) -> ff($W) -> linear";
  k.d_model = 8;
  k.heads = 2;
  k.max_len = 12;
  k.tgt_vocab = t ? syn_tokenizer_size(t) : 12;
  return k;
}

/* What a context, a model, a trainer tells of itself, given to the makers of the next. */
static void test_settings(void) {
  syn_options o;
  syn_context c, again;
  syn_var var = {"W", 16.0};
  syn_config k = small_config(NULL);
  syn_train_config train;
  syn_model *m, *next;
  syn_trainer *t, *u;
  float *before;
  size_t i, wrong = 0;
  memset(&o, 0, sizeof o);
  o.alloc = spoil_alloc;
  o.release = spoil_release;
  o.isa = "scalar";
  syn_context_init(&c, &o);
  CHECK(syn_context_init(&c, &c.options) == SYN_OK && c.options.alloc == spoil_alloc &&
        c.options.isa && !strcmp(c.options.isa, "scalar"), "options of a context for itself");
  syn_context_init(&again, &c.options);
  k.vars = &var;
  k.n_vars = 1;
  m = syn_model_new(&c, &k);
  next = syn_model_new(&c, syn_model_config(m)); /* its strings are those of m */
  CHECK(next && syn_model_param_count(next) == syn_model_param_count(m), "%s", c.message);
  before = (float *)malloc(syn_model_param(m, 0)->size * sizeof(float));
  memcpy(before, syn_model_param(m, 0)->x, syn_model_param(m, 0)->size * sizeof(float));
  CHECK(syn_model_init_from(m, m, 0, NULL, NULL) == (int)syn_model_param_count(m), "%s", c.message);
  for (i = 0; i < syn_model_param(m, 0)->size; i++)
    wrong += before[i] < syn_model_param(m, 0)->x[i] || before[i] > syn_model_param(m, 0)->x[i];
  CHECK(wrong == 0, "a model from itself: %lu weights", (unsigned long)wrong);
  syn_model_free(m);
  CHECK(!strcmp(syn_model_config(next)->decoder, "res(syn_att(R+V)) -> ff(16) -> linear") &&
        !strcmp(syn_model_config(next)->task, "lm"), "%s", syn_model_config(next)->decoder);
  memset(&train, 0, sizeof train);
  train.freeze = syn_model_param(next, 1)->name;
  t = syn_trainer_new(&c, next, &train);
  u = syn_trainer_new(&c, next, syn_trainer_config(t)); /* freeze lies in t */
  syn_trainer_free(t);
  CHECK(u && !strcmp(syn_trainer_config(u)->freeze, syn_model_param(next, 1)->name), "%s",
        c.message);
  syn_trainer_free(u);
  syn_model_free(next);
  free(before);
}

/* The message of a context as a text, a path, a word of a failing call. */
static void test_message(void) {
  static const char text[] = "a layer that nobody has, with a long name behind it";
  syn_context c, d;
  syn_config k = small_config(NULL);
  char wanted[sizeof c.message];
  syn_context_init(&c, NULL);
  syn_context_init(&d, NULL);
  k.decoder = text;
  CHECK(!syn_model_new(&c, &k), "built");
  memcpy(wanted, c.message, sizeof wanted);
  strcpy(d.message, text);
  k.decoder = d.message;
  CHECK(!syn_model_new(&d, &k) && !strcmp(d.message, wanted), "'%s', wanted '%s'", d.message,
        wanted);
  syn_context_clear(&c);
  syn_context_clear(&d);
  CHECK(!syn_model_load(&c, text), "loaded");
  strcpy(d.message, text);
  CHECK(!syn_model_load(&d, d.message) && !strcmp(d.message, c.message), "'%s', wanted '%s'",
        d.message, c.message);
}

static syn_tokenizer *letters(syn_context *c) {
  syn_text line = syn_text_of("a b c d e f g h");
  return syn_tokenizer_learn(c, "space", 0, &line, 1);
}

/* The same tokenizer twice, the one that is there, both exchanged. */
static void test_tokenizers(void) {
  syn_context c;
  syn_tokenizer *a, *b;
  syn_config k;
  syn_model *m;
  syn_text line = syn_text_of("a b c");
  syn_data *d;
  spoil_context(&c);
  a = letters(&c);
  b = letters(&c);
  k = small_config(a);
  k.decoder = "syn_att";
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, a, a);
  syn_model_set_tokenizers(m, a, a);
  syn_model_set_tokenizers(m, b, a);
  syn_model_set_tokenizers(m, a, b);
  syn_model_set_tokenizers(m, NULL, b);
  b = letters(&c);
  syn_model_set_tokenizers(m, b, b);
  CHECK(syn_model_tokenizer(m, SYN_SRC) == b && syn_model_tokenizer(m, SYN_TGT) == b, "tokenizers");
  d = syn_data_new(&c); /* a text that lies in the tokenizer */
  syn_data_add_text(d, m, syn_text_of(""), line);
  syn_data_add_text(d, m, syn_text_of(""), syn_tokenizer_piece(b, SYN_FIRST_TOKEN, 1));
  CHECK(syn_data_count(d) == 2, "%s", c.message);
  syn_data_free(d);
  syn_model_free(m);
}

/* Outputs of a decoder as its source, as a prompt, as what it keeps a pointer to. */
static void test_decoder(void) {
  syn_context c;
  syn_config k;
  syn_model *m;
  syn_decoder *d;
  syn_batch b;
  int src[] = {4, 5, 6, 3}, kept[12], size, n, i;
  const int *out;
  spoil_context(&c);
  memset(&k, 0, sizeof k);
  k.encoder = "res(syn_att)";
  k.decoder = "res(syn_att) -> res(mh_dot_att)";
  k.d_model = 8;
  k.heads = 2;
  k.max_len = 10;
  k.src_vocab = k.tgt_vocab = 12;
  k.seed = 5;
  m = syn_model_new(&c, &k);
  d = syn_decoder_new(&c, m, NULL);
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.src = src;
  b.src_width = 4;
  CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "%s", c.message);
  out = syn_decoder_output(d, 0, 0, &size, NULL);
  memcpy(kept, out, (size_t)size * sizeof *kept);
  b.src_width = size;
  b.src = kept;
  CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "%s", c.message);
  out = syn_decoder_output(d, 0, 0, &n, NULL);
  memcpy(kept, out, (size_t)n * sizeof *kept);
  b.src = src;
  b.src_width = 4;
  syn_decoder_run(d, &b, NULL, NULL);
  b.src = syn_decoder_output(d, 0, 0, &b.src_width, NULL);
  CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "%s", c.message);
  out = syn_decoder_output(d, 0, 0, &size, NULL);
  CHECK(size == n && !memcmp(out, kept, (size_t)n * sizeof *kept), "an output as the next source");
  for (i = 0; i < 3; i++) {
    b.src = src;
    b.src_width = 4;
    syn_decoder_run(d, &b, NULL, NULL);
    out = syn_decoder_output(d, 0, 0, &size, NULL);
    syn_decoder_set_banned(d, i == 0 ? out : NULL);
    syn_decoder_set_allowed(d, i == 1 ? (const unsigned char *)out : NULL);
    syn_decoder_set_seeds(d, i == 2 ? (const uint64_t *)(const void *)out : NULL);
    CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_E_VALUE && strstr(c.message, "give it a copy"),
          "pointer %d: %s", i, c.message);
    syn_context_clear(&c);
    syn_decoder_set_banned(d, NULL);
    syn_decoder_set_allowed(d, NULL);
    syn_decoder_set_seeds(d, NULL);
  }
  syn_decoder_free(d);
  syn_model_free(m);
}

/* Floats where the half floats lie; an array that overlaps them otherwise is refused. */
static void test_floats(void) {
  static const float wanted[] = {1.0f, -2.0f, 0.5f, 3.0f};
  static const uint16_t halves[] = {0x3C00, 0xC000, 0x3800, 0x4200};
  union {
    float f[8];
    uint16_t h[16];
  } at;
  syn_context c;
  syn_entry e = {"half", SYN_F16, 1, {4}, NULL, 8};
  syn_context_init(&c, NULL);
  memcpy(at.h, halves, sizeof halves);
  e.data = at.h;
  CHECK(syn_entry_floats(&c, &e, at.f, 4) == SYN_OK && !memcmp(at.f, wanted, sizeof wanted),
        "%g %g", (double)at.f[0], (double)at.f[1]);
  memcpy(at.h + 4, halves, sizeof halves);
  e.data = at.h + 4;
  CHECK(syn_entry_floats(&c, &e, at.f, 4) == SYN_E_VALUE, "%s", c.message);
}

/* RAM of a small model that overlaps its array would destroy it. */
static void test_small_ram(void) {
  static int64_t memory[1 << 14];
  syn_context c;
  syn_config k = small_config(NULL);
  bytes array;
  syn_sink sink = sink_of(&array);
  syn_model *m;
  int error;
  syn_context_init(&c, NULL);
  k.decoder = "res(syn_att)";
  m = syn_model_new(&c, &k);
  CHECK(syn_small_write(&c, m, NULL, &sink) == SYN_OK && array.size < 40000, "%s", c.message);
  memcpy(memory, array.at, array.size);
  CHECK(syn_small_open(memory + 6000, 50000, memory, array.size, NULL, &error), "%d", error);
  CHECK(!syn_small_open(memory, sizeof memory, memory, array.size, NULL, &error) &&
        error == SYN_SMALL_E_RAM, "RAM where the array is: %d", error);
  CHECK(!memcmp(memory, array.at, array.size), "the array was changed");
  free(array.at);
  syn_model_free(m);
}

/* -- sources that change what they belong to; checkpoints that are refused -- */

static syn_config hostile_lm(void) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = "lm", k.decoder = "pos -> linear(16) -> norm", k.d_model = 16, k.max_len = 8, k.tgt_vocab = 40;
  return k;
}

/* That network with a trainer, in a context of its own. */
static syn_trainer *hostile_trainer(syn_context *c, syn_model **m) {
  syn_config k = hostile_lm();
  syn_train_config how;
  spoil_context(c);
  memset(&how, 0, sizeof how);
  how.batch_tokens = 32;
  *m = syn_model_new(c, &k);
  return syn_trainer_new(c, *m, &how);
}

typedef struct hostile_source {
  bytes all;
  size_t at;
  syn_source *grows;   /* its size becomes larger while it is read; or null */
  syn_trainer *freed;  /* freed while it is read; or null */
} hostile_source;
static size_t hostile_read(void *user, void *to, size_t size) {
  hostile_source *s = (hostile_source *)user;
  if (size > s->all.size - s->at) size = s->all.size - s->at;
  memcpy(to, s->all.at + s->at, size);
  s->at += size;
  if (s->grows) s->grows->size = s->all.size + 100000;
  syn_trainer_free(s->freed);
  return size;
}

static void test_sources(void) {
  static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[100000],\"data_offsets\":[0,100000]}}";
  hostile_source s;
  syn_source from;
  syn_context c;
  syn_sink sink;
  syn_model *m;
  syn_trainer *t;
  char size[8] = {(char)(sizeof header - 1)};
  t = hostile_trainer(&c, &m);
  memset(&s, 0, sizeof s);
  sink = sink_of(&s.all);
  sink.write(sink.user, size, 8);
  sink.write(sink.user, header, sizeof header - 1);
  from.read = hostile_read, from.user = &s, from.size = s.all.size;
  s.grows = &from;
  CHECK(!syn_file_load_from(&c, &from) && strstr(c.message, "data_offsets"), "%s", c.message);
  syn_context_clear(&c);
  free(s.all.at);
  memset(&s, 0, sizeof s);
  sink = sink_of(&s.all);
  CHECK(!syn_trainer_save_to(t, &sink), "%s", c.message);
  from.size = s.all.size;
  s.freed = t; /* which does nothing but an error while the trainer loads */
  syn_trainer_load_from(t, &from);
  CHECK(syn_trainer_state(t)->step == 0 && strstr(c.message, "not freed"), "%s", c.message);
  syn_context_clear(&c);
  syn_trainer_free(t);
  syn_model_free(m);
  free(s.all.at);
}

/* The checkpoint `from` without its checksum, with the tensors of `weights`, with other numbers. */
static bytes other_checkpoint(syn_context *c, const bytes *from, const bytes *weights, const char *best, const char *rate) {
  syn_file *f = syn_file_view(c, from->at, from->size), *g = syn_file_view(c, weights->at, weights->size);
  syn_pair pairs[64];
  syn_entry entries[64];
  size_t n = 0, m = 0, i;
  bytes out;
  syn_sink sink = sink_of(&out);
  for (i = 0; i < syn_file_pair_count(f) && n < 64; i++) {
    pairs[n] = *syn_file_pair(f, i);
    if (!strcmp(pairs[n].key, "train.checksum")) continue;
    if (best && !strcmp(pairs[n].key, "train.best")) pairs[n].value = best;
    if (rate && !strcmp(pairs[n].key, "train.rate")) pairs[n].value = rate;
    n++;
  }
  for (i = 0; i < syn_file_count(g) && m < 64; i++) entries[m++] = *syn_file_entry(g, i);
  CHECK(!syn_file_write_to(c, &sink, pairs, n, entries, m), "%s", c->message);
  syn_file_free(f);
  syn_file_free(g);
  return out;
}

static void test_refused_checkpoint(void) {
  hostile_source s;
  syn_source from;
  syn_context c;
  bytes own, i4;
  syn_sink sink;
  syn_model *m;
  syn_trainer *t;
  int i;
  t = hostile_trainer(&c, &m);
  sink = sink_of(&own);
  CHECK(!syn_trainer_save_to(t, &sink), "%s", c.message);
  sink = sink_of(&i4);
  CHECK(!syn_model_save_as_to(&c, m, "i4", &sink), "%s", c.message);
  for (i = 0; i < 4; i++) { /* weights of i4 without moments; NaN as best loss; a rate below 0; nothing */
    memset(&s, 0, sizeof s);
    s.all = other_checkpoint(&c, &own, i ? &own : &i4, i == 1 ? "2143289344" : NULL, i == 2 ? "4286578688" : NULL);
    from.read = hostile_read, from.user = &s, from.size = s.all.size;
    CHECK((syn_trainer_load_from(t, &from) == SYN_OK) == (i == 3), "%d: %s", i, c.message);
    CHECK(!strcmp(syn_model_param(m, 0)->type, "f32"), "%d: the model has changed: %s", i, syn_model_param(m, 0)->type);
    syn_context_clear(&c);
    free(s.all.at);
  }
  free(own.at);
  free(i4.at);
  syn_trainer_free(t);
  syn_model_free(m);
}

/* A gradient counts until another pass, and once. */
static void test_gradient_gone(void) {
  static const int given[] = {2, 4, 5}, labels[] = {4, 5, 3};
  syn_gradient g;
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_batch b;
  int i;
  t = hostile_trainer(&c, &m);
  memset(&b, 0, sizeof b);
  b.count = 1, b.tgt = given, b.labels = labels, b.tgt_width = 3;
  for (i = 0; i < 3; i++) {
    memset(&g, 0, sizeof g);
    CHECK(!syn_trainer_accumulate(t, &b, 0, &g), "%s", c.message);
    if (i == 0) syn_trainer_backward(t, &b, NULL);
    if (i == 1) syn_trainer_update(t, &g, NULL);
    if (i == 2) syn_trainer_step(t, &b, 1, NULL);
    CHECK(c.status == SYN_OK && syn_trainer_update(t, &g, NULL) == SYN_E_VALUE && strstr(c.message, "syn_trainer_accumulate"), "%d: %s", i, c.message);
    syn_context_clear(&c);
  }
  syn_trainer_free(t);
  syn_model_free(m);
}

/* -- null places, null texts, numbers outside of their ranges -- */

static void test_null_texts(void) {
  static const char letters[] = "abcdefghij";
  const double shares[] = {-1.0, 1.5, (double)NAN, HUGE_VAL, 0.25};
  syn_text nothing = {NULL, 4}, part[SYN_HELD_PARTS], none = {NULL, 0}, all = {letters, 10};
  syn_config k = hostile_lm();
  syn_limits limits;
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_value value;
  syn_fault fault;
  char *text = (char *)malloc(40), out[4];
  int i, n, count;
  spoil_context(&c);
  CHECK(syn_text_visible(nothing, out, 4) == 0 && !*out && syn_text_whole(nothing) == 4, "null texts");
  CHECK(syn_text_hold_back(nothing, 0.1, part) == 2 && !part[0].size && !syn_text_hold_back(all, 0.1, NULL), "no text");
  for (i = 0; i < 5; i++)
    for (count = syn_text_hold_back(all, shares[i], part), n = 0; n < count; n++)
      CHECK(part[n].at >= letters && part[n].at + part[n].size <= letters + 10, "share %g: part %d", shares[i], n);
  CHECK(syn_text_write(&c, ".", NULL) == SYN_E_FILE, "a folder: %s", c.message);
  syn_context_clear(&c);
  CHECK(syn_text_write(&c, "", NULL) == SYN_E_VALUE, "no path: %s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_text_write(&c, "hostile.txt", &none) && !remove("hostile.txt"), "%s", c.message);
  memset(&limits, 0, sizeof limits);
  limits.keep = 1, limits.src_rows = limits.tgt_rows = 64;
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, &limits);
  CHECK(!syn_run_tokens(r, 0, 0, NULL) && !syn_run_node(r, syn_model_node(m, 0), NULL, 0, NULL), "null places");
  CHECK(!syn_run_node(r, NULL, NULL, 0, &value) && !syn_run_node(NULL, NULL, "weights", 0, &value), "null nodes");
  syn_run_free(r);
  syn_model_free(m);
  k.decoder = strcpy(text, "pos -> nosuch(3) -> norm");
  m = syn_model_outline(&c, &k, &fault);
  memset(text, '#', 24);
  CHECK(m && !strcmp(syn_model_config(m)->decoder, "pos -> nosuch(3) -> norm") && fault.name.size == 6 && !memcmp(fault.name.at, "nosuch", 6),
        "the text of the caller: %s", c.message);
  syn_context_clear(&c);
  syn_model_free(m);
  free(text);
}

/* Packing moves the weights: what was made before says so. */
static void test_packed_before(void) {
  static const int given[] = {2, 4, 5};
  syn_config k = hostile_lm();
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_decoder *d;
  syn_batch b;
  int i;
  spoil_context(&c);
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, NULL);
  d = syn_decoder_new(&c, m, NULL);
  memset(&b, 0, sizeof b);
  b.count = 1, b.tgt = given, b.tgt_width = 3;
  CHECK(!syn_run_forward(r, &b) && !syn_decoder_run(d, &b, NULL, NULL) && !syn_model_pack(m), "%s", c.message);
  for (i = 0; i < 3; i++) {
    syn_status s = i == 0 ? syn_run_forward(r, &b) : i == 1 ? syn_decoder_run(d, &b, NULL, NULL) : syn_decoder_run_text(d, syn_text_of(""), syn_text_of(""), NULL, NULL);
    CHECK(s == SYN_E_VALUE && strstr(c.message, "make a new one"), "%d: %s", i, c.message);
    syn_context_clear(&c);
  }
  syn_decoder_free(d);
  syn_run_free(r);
  d = syn_decoder_new(&c, m, NULL);
  CHECK(!syn_decoder_run(d, &b, NULL, NULL), "%s", c.message);
  syn_decoder_free(d);
  syn_model_free(m);
}

/* Null or wrong arguments of calls that look at a model, a run or a choice. */
static void test_wrong_arguments(void) {
  static const int tokens[] = {2, 4, 5}, ignored[] = {0, 0, 0};
  syn_config k = hostile_lm();
  syn_learn_config how;
  syn_train_config train;
  syn_choice choice;
  syn_text text = {"a b", 3};
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_data *d;
  syn_trainer *t;
  syn_decoder *decoder;
  syn_tape tape;
  syn_batch b;
  double loss[4];
  int64_t labels[4];
  float x[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  size_t p;
  int i, n, stream, width;
  spoil_context(&c);
  memset(&how, 0, sizeof how), memset(&train, 0, sizeof train), memset(&choice, 0, sizeof choice);
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  r = syn_run_new(&c, m, NULL);
  syn_data_add(d, NULL, 0, tokens + 1, 2);
  for (i = 0; i < 7; i++) {
    how.choice = i == 3 ? NULL : &choice, how.minutes = 1.0;
    if (i == 6) syn_model_new(&c, NULL);
    CHECK(syn_choose_steps(i == 0 ? NULL : &c, i == 1 ? NULL : &how, i == 2 ? NULL : m, i == 4 ? NULL : &train, i == 5 ? NULL : d, NULL) == SYN_E_VALUE, "%d", i);
    syn_context_clear(&c);
  }
  for (i = 0; i < 5; i++) {
    how.choice = i == 2 ? NULL : &choice, how.task = "classify";
    if (i == 4) syn_model_new(&c, NULL);
    CHECK(syn_choose(i == 0 ? NULL : &c, i == 1 ? NULL : &how, i == 3 ? NULL : &text, &text, 1) != SYN_OK, "choose %d", i);
    syn_context_clear(&c);
  }
  for (i = 0; i < 5; i++) {
    if (i == 4) syn_model_new(&c, NULL);
    CHECK(syn_model_evaluate_rows(&c, i == 0 ? NULL : m, i == 1 ? NULL : d, i == 2 ? NULL : loss, i == 3 ? NULL : labels) == SYN_E_VALUE, "rows %d", i);
    syn_context_clear(&c);
  }
  memset(&b, 0, sizeof b);
  b.count = 1, b.tgt = tokens, b.tgt_width = 3;
  CHECK(!syn_run_forward(r, &b) && syn_run_tokens(r, 1, 0, &n) && n == 3, "%s", c.message);
  for (i = -1; i < 5; i++) CHECK(i == 1 || (!syn_run_tokens(r, i, 0, &n) && !n), "tokens of side %d", i);
  CHECK(!syn_run_tokens(r, 1, -1, &n) && !syn_run_tokens(r, 1, 9, &n) && !syn_run_tokens(NULL, 1, 0, &n), "tokens");
  CHECK(syn_model_maker(NULL, 0, &stream, &width) == -1 && syn_model_maker(m, -7, NULL, NULL) == -1 &&
            syn_model_maker(m, 9999, &stream, &width) == -1 && !width, "makers");
  syn_model_maker(m, SYN_FEEDBACK, &stream, &width);
  syn_dropout(&r->tape, syn_model_node(m, 0), 0.5f, x, 4);
  CHECK(syn_data_add_text(d, m, syn_text_of(""), text) == SYN_E_VALUE && strstr(c.message, "no tokenizer"), "%s", c.message);
  syn_context_clear(&c);
  t = syn_trainer_new(&c, m, NULL);
  b.labels = ignored;
  CHECK(syn_trainer_backward(t, &b, NULL) == SYN_E_VALUE && strstr(c.message, "without a label"), "%s", c.message);
  syn_context_clear(&c);
  syn_trainer_free(t);
  for (p = 0; p < syn_model_param_count(m); p++)
    for (i = 0; i < (int)syn_model_param(m, p)->size; i++) syn_model_param(m, p)->x[i] = NAN;
  decoder = syn_decoder_new(&c, m, NULL);
  CHECK(!syn_decoder_run(decoder, &b, NULL, NULL), "%s", c.message); /* no logit is a number: it ends */
  tape = decoder->run->tape, tape.decode = &decoder->decode;
  CHECK(!syn_source_cache_rows(&tape, syn_model_node(m, 0)), "an lm has no source");
  syn_decoder_free(decoder);
  syn_run_free(r);
  syn_data_free(d);
  syn_model_free(m);
}

static void test_steps_chosen(void) {
  static const int tokens[] = {4, 5, 6};
  const double minutes[] = {0.0, -1.0, (double)NAN, 0.001};
  syn_config k = hostile_lm();
  syn_learn_config how;
  syn_train_config train;
  syn_choice choice;
  syn_context c;
  syn_model *m;
  syn_data *d;
  int i;
  spoil_context(&c);
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  for (i = 0; i < 20; i++) syn_data_add(d, NULL, 0, tokens, 3);
  for (i = 0; i < 4; i++) { /* a zeroed syn_train_config means its defaults */
    memset(&how, 0, sizeof how), memset(&train, 0, sizeof train), memset(&choice, 0, sizeof choice);
    how.minutes = minutes[i], how.choice = &choice, choice.epochs = 3.0;
    CHECK((syn_choose_steps(&c, &how, m, &train, d, NULL) == SYN_OK) == (i == 3), "minutes %g: %s", minutes[i], c.message);
    syn_context_clear(&c);
  }
  syn_data_free(d);
  syn_model_free(m);
}

int main(void) {
  test_place();
  test_growth();
  test_limits();
  test_tables();
  test_freeze();
  test_plans();
  test_data();
  test_settings();
  test_message();
  test_tokenizers();
  test_decoder();
  test_floats();
  test_small_ram();
  test_sources();
  test_refused_checkpoint();
  test_gradient_gone();
  test_null_texts();
  test_packed_before();
  test_wrong_arguments();
  test_steps_chosen();
  return CHECK_END("hostile");
}
