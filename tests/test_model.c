/* Models: memory and plans, limits, tied weights, initial values, files good and hostile. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "../tools/document.h"
#include "check.h"
#include "heap.h"
#include "sink.h"
#include "two.h"

enum { EXTRA = SYN__ALIGN + (int)sizeof(syn__block) }; /* what syn__alloc requests beside what it gives */

static bytes saved(syn_context *c, const syn_model *m) {
  bytes b;
  syn_sink sink = sink_of(&b);
  CHECK(syn_model_save_to(c, m, &sink) == SYN_OK, "%s", c->message);
  return b;
}

/* Hash of the logits of the two sentences. */
static uint64_t logits_hash(syn_context *c, const syn_model *m) {
  const char *task = syn_model_config(m)->task;
  syn_batch b = two(task);
  syn_limits limits;
  syn_run *r;
  uint64_t hash = SYN_HASH_START;
  int i, rows;
  memset(&limits, 0, sizeof limits);
  limits.sentences = 2;
  limits.src_rows = 20;
  r = syn_run_new(c, m, &limits);
  b.labels = NULL;
  CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c->message);
  for (i = 0; r && i < 2; i++) {
    const float *z = syn_run_logits(r, i, &rows);
    int width = m->task->classes ? m->config.classes : m->config.tgt_vocab;
    if (z) hash = syn_hash(hash, z, (size_t)(rows * width) * sizeof *z);
  }
  syn_run_free(r);
  return hash;
}

/* -- memory: any allocation may be refused -- */

static syn_context good; /* where the things stand that a work only uses */
static syn_model *good_model;
static bytes good_file, half_file;
static syn_tokenizer *good_tokenizer;

static int work_model(syn_context *c) {
  syn_config k = two_config("seq2seq");
  syn_model *m = syn_model_new(c, &k);
  syn_model_free(m);
  return m != NULL;
}
static int work_trainer(syn_context *c) {
  syn_train_config k;
  syn_trainer *t;
  memset(&k, 0, sizeof k);
  k.batch_tokens = 30;
  k.average = 2;
  t = syn_trainer_new(c, good_model, &k);
  syn_trainer_free(t);
  return t != NULL;
}
static int work_decoder(syn_context *c) {
  syn_decode_config k;
  syn_decoder *d;
  memset(&k, 0, sizeof k);
  k.beam = k.best = k.sentences = 2;
  d = syn_decoder_new(c, good_model, &k);
  syn_decoder_free(d);
  return d != NULL;
}
static int work_run(syn_context *c) {
  syn_run *r = syn_run_new(c, good_model, NULL);
  syn_run_free(r);
  return r != NULL;
}
static int work_save(syn_context *c) {
  bytes b;
  syn_sink sink = sink_of(&b);
  int ok = syn_model_save_to(c, good_model, &sink) == SYN_OK;
  free(b.at);
  return ok && syn_model_save(c, good_model, "work.safetensors") == SYN_OK;
}
static int work_view(syn_context *c) {
  syn_model *m = syn_model_view(c, good_file.at, good_file.size);
  syn_model_free(m);
  return m != NULL;
}
static int work_half(syn_context *c) { /* weights of 16 bits need memory of their own */
  syn_model *m = syn_model_view(c, half_file.at, half_file.size);
  syn_model_free(m);
  return m != NULL;
}
static int work_load(syn_context *c) {
  syn_model *m = syn_model_load(c, "good.safetensors");
  syn_trainer *t = m ? syn_trainer_new(c, m, NULL) : NULL; /* copies the weights first */
  syn_trainer_free(t);
  syn_model_free(m);
  return t != NULL;
}
static int work_packed(syn_context *c) {
  syn_model *m = syn_model_load(c, "good.safetensors");
  syn_decoder *d = syn_model_pack(m) == SYN_OK ? syn_decoder_new(c, m, NULL) : NULL;
  syn_decoder_free(d);
  syn_model_free(m);
  return d != NULL;
}
static int work_plan(syn_context *c) {
  syn_config k = two_config("lm");
  syn_plan plan;
  return syn_plan_of(c, &k, NULL, NULL, &plan) == SYN_OK;
}
static int work_train(syn_context *c) { /* data, its batches, validation, a checkpoint there and back */
  syn_train_config k;
  syn_trainer *t;
  syn_data *d = syn_data_new(c);
  int i, row[6] = {4, 5, 6, 7, 8, 9}, ok = d != NULL;
  memset(&k, 0, sizeof k);
  k.batch_tokens = 20;
  k.steps = 6;
  k.every = 3;
  k.average = 1;
  for (i = 0; ok && i < 40; i++) ok = syn_data_add(d, row, 1 + i % 6, row, 1 + i % 5) == SYN_OK;
  t = ok ? syn_trainer_new(c, good_model, &k) : NULL;
  ok = t && syn_trainer_run(t, d, d, NULL, NULL) == SYN_OK && syn_trainer_save(t, "work.safetensors") == SYN_OK &&
       syn_trainer_load(t, "work.safetensors") == SYN_OK && syn_trainer_average(t) == 1;
  syn_trainer_free(t);
  syn_data_free(d);
  return ok;
}
static int work_evaluate(syn_context *c) {
  syn_data *d = syn_data_new(c);
  int row[6] = {4, 5, 6, 7, 8, 9};
  double loss;
  int64_t labels;
  int ok = d && syn_data_add(d, row, 6, row, 5) == SYN_OK &&
           syn_model_evaluate(c, good_model, d, 30, &loss, &labels) == SYN_OK && labels == 6;
  syn_data_free(d);
  return ok;
}

/* The file of a model, with every tensor as `dtype`, the extra pairs, and one tensor left out, renamed,
   or of another shape. */
typedef struct change {
  syn_dtype dtype;
  const char *key, *value;         /* a pair that is added, or replaces one */
  const char *remove, *rename, *to; /* names of tensors */
  const char *reshape;
} change;

static uint16_t to_half(float x, syn_dtype dtype) { /* of numbers that fit exactly */
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (dtype == SYN_BF16) return (uint16_t)(bits >> 16);
  if (!(bits & 0x7FFFFFFFu)) return (uint16_t)(bits >> 16);
  return (uint16_t)((bits >> 16 & 0x8000u) | ((bits >> 23 & 0xFFu) - 112) << 10 | (bits >> 13 & 0x3FFu));
}

static bytes changed(syn_context *c, const syn_model *m, const change *with) {
  bytes plain = saved(c, m), out;
  syn_file *f = syn_file_view(c, plain.at, plain.size);
  syn_sink sink = sink_of(&out);
  syn_pair pairs[60];
  syn_entry entries[200];
  uint16_t *halves = (uint16_t *)malloc(plain.size + 64);
  size_t i, k, n_pairs = 0, n = 0, used = 0;
  int replaced = 0;
  for (i = 0; f && i < syn_file_pair_count(f); i++) {
    pairs[n_pairs] = *syn_file_pair(f, i);
    if (with->key && !strcmp(pairs[n_pairs].key, with->key)) pairs[n_pairs].value = with->value, replaced = 1;
    n_pairs += pairs[n_pairs].value != NULL;
  }
  if (with->key && with->value && !replaced) pairs[n_pairs].key = with->key, pairs[n_pairs++].value = with->value;
  for (i = 0; f && i < syn_file_count(f); i++) {
    syn_entry e = *syn_file_entry(f, i);
    if (with->remove && !strcmp(e.name, with->remove)) continue;
    if (with->reshape && !strcmp(e.name, with->reshape)) e.shape[0] *= 2, e.shape[1] /= 2;
    if (with->dtype != SYN_F32 && e.dtype == SYN_F32) {
      for (k = 0; k < e.bytes / 4; k++) {
        float x;
        memcpy(&x, (const char *)e.data + 4 * k, sizeof x);
        halves[used + k] = to_half(x, with->dtype);
      }
      e.dtype = with->dtype;
      e.data = halves + used;
      used += k;
      e.bytes /= 2;
    }
    if (with->rename && !strcmp(e.name, with->rename)) e.name = with->to;
    entries[n++] = e;
  }
  CHECK(f && syn_file_write_to(c, &sink, pairs, n_pairs, entries, n) == SYN_OK, "%s", c->message);
  syn_file_free(f);
  free(halves);
  free(plain.at);
  return out;
}
static change no_change(void) {
  change with = {SYN_F32, NULL, NULL, NULL, NULL, NULL, NULL};
  return with;
}

typedef struct job {
  const char *name;
  int (*run)(syn_context *c);
} job;

static void test_refused(void) {
  static const job works[] = {{"model_new", work_model}, {"trainer_new", work_trainer}, {"decoder_new", work_decoder},
                              {"run_new", work_run},     {"save", work_save},           {"view", work_view},
                              {"half", work_half},       {"load", work_load},           {"plan", work_plan},
                              {"packed", work_packed},
                              {"train", work_train},     {"evaluate", work_evaluate}};
  size_t i;
  for (i = 0; i < sizeof works / sizeof works[0]; i++) {
    syn_context c;
    heap h;
    long calls, n;
    context_on(&c, &h, 0);
    CHECK(works[i].run(&c) && h.blocks == 0 && h.live == 0, "%s: %s, %ld blocks left", works[i].name, c.message,
          h.blocks);
    calls = h.calls;
    CHECK(calls > 0, "%s allocates nothing", works[i].name);
    for (n = 1; n <= calls; n++) {
      context_on(&c, &h, n);
      CHECK(!works[i].run(&c) && c.status == SYN_E_MEMORY, "%s: refused call %ld of %ld went unseen: %s",
            works[i].name, n, calls, c.message);
      CHECK(h.blocks == 0, "%s: refused call %ld of %ld: %ld blocks left", works[i].name, n, calls, h.blocks);
    }
  }
}

/* -- nothing is allocated while working -- */

static void test_no_allocation(void) {
  static const char *const tasks[] = {"seq2seq", "lm", "classify", "tag"};
  int task, i, row[6] = {4, 5, 6, 7, 8, 9};
  for (task = 0; task < 4; task++) {
    syn_config k = two_config(tasks[task]);
    syn_train_config train;
    syn_decode_config decode;
    syn_context c;
    heap h;
    syn_model *m;
    syn_trainer *t;
    syn_run *r;
    syn_decoder *d = NULL;
    syn_data *data;
    syn_batch b = two(tasks[task]);
    float loss;
    double sum = 0;
    long calls;
    int64_t labels = 0;
    context_on(&c, &h, 0);
    k.dropout = 0.1f;
    memset(&train, 0, sizeof train);
    memset(&decode, 0, sizeof decode);
    train.batch_tokens = 30;
    train.average = 2;
    decode.sentences = decode.beam = 2;
    m = syn_model_new(&c, &k);
    t = m ? syn_trainer_new(&c, m, &train) : NULL;
    r = m ? syn_run_new(&c, m, NULL) : NULL;
    CHECK(t && r, "%s", c.message);
    if (m && m->task->decoder) d = syn_decoder_new(&c, m, &decode);
    calls = h.calls;
    for (i = 0; t && r && i < 3; i++)
      CHECK(syn_trainer_step(t, &b, 1, &loss) == SYN_OK && syn_run_forward(r, &b) == SYN_OK &&
                syn_trainer_backward(t, &b, &loss) == SYN_OK && syn_trainer_batch_loss(t, &b, &sum, &labels) == SYN_OK,
            "%s", c.message);
    b.tgt = NULL;
    for (i = 0; d && i < 3; i++) CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "%s", c.message);
    CHECK(h.calls == calls, "%s: %ld allocations", tasks[task], h.calls - calls);
    data = syn_data_new(&c);
    for (i = 0; i < 50; i++) syn_data_add(data, row, i % 6, row, i % 5);
    if (d && t) { /* once the first epoch is laid out, training needs nothing more */
      t->config.steps = 5;
      CHECK(syn_trainer_run(t, data, NULL, NULL, NULL) == SYN_OK, "%s", c.message);
      calls = h.calls;
      t->config.steps = 60;
      t->config.every = 2;
      CHECK(syn_trainer_run(t, data, data, NULL, NULL) == SYN_OK, "%s", c.message);
      CHECK(syn_trainer_validate(t, NULL) == SYN_OK && syn_trainer_average(t) == 2, "%s", c.message);
      CHECK(h.calls == calls, "%s: %ld allocations in later epochs", tasks[task], h.calls - calls);
    }
    syn_data_free(data);
    syn_decoder_free(d);
    syn_run_free(r);
    syn_trainer_free(t);
    syn_model_free(m);
    CHECK(h.blocks == 0 && h.live == 0, "%ld blocks left", h.blocks);
  }
}

/* -- plan == used -- */

/* The plan names the blocks that grow with the network. Beside them stand structs; each block of an
   allocator has EXTRA bytes more. Exactly:
     model_new    its last block is plan.weights
     trainer_new  plan.training + plan.activations + the structs of trainer and run, in 3 blocks
     decoder_new  plan.decoding + the structs of decoder and run, in 3 blocks */
static const char *plan_rule, *plan_freeze;
static int plan_accumulate, plan_lora;
static void plan_case(const char *task, int tokens, int average, int beam, int threads) {
  syn_config k = two_config(task);
  syn_train_config train;
  syn_decode_config decode;
  syn_plan plan;
  syn_context c;
  heap h;
  syn_model *m;
  syn_trainer *t;
  syn_decoder *d;
  size_t before, run = (sizeof(syn_run) + 63) / 64 * 64, want;
  context_on(&c, &h, 0);
  c.options.threads = threads;
  memset(&train, 0, sizeof train);
  memset(&decode, 0, sizeof decode);
  train.batch_tokens = tokens;
  train.average = average;
  train.optimizer = plan_rule;
  train.freeze = plan_freeze;
  train.accumulate = plan_accumulate;
  train.lora = plan_lora;
  decode.beam = beam;
  decode.sentences = 3;
  CHECK(syn_plan_of(&c, &k, &train, &decode, &plan) == SYN_OK, "%s", c.message);
  CHECK(h.blocks == 0, "a plan keeps %ld blocks", h.blocks);
  m = syn_model_new(&c, &k);
  CHECK(m && h.last == plan.weights + EXTRA, "weights: planned %lu, used %lu", (unsigned long)plan.weights,
        (unsigned long)h.last);
  before = h.live;
  t = syn_trainer_new(&c, m, &train);
  want = plan.training + plan.activations + sizeof(syn_trainer) + run + 3 * EXTRA;
  CHECK(t && h.live - before == want, "%s, %d tokens: planned %lu, used %lu", task, tokens, (unsigned long)want,
        (unsigned long)(h.live - before));
  before = h.live;
  d = m->task->decoder ? syn_decoder_new(&c, m, &decode) : NULL;
  want = plan.decoding + sizeof(syn_decoder) + run + 3 * EXTRA;
  CHECK(!m->task->decoder || (d && h.live - before == want), "%s, beam %d: planned %lu, used %lu", task, beam,
        (unsigned long)want, (unsigned long)(h.live - before));
  CHECK(m->task->decoder || plan.decoding == 0, "%s plans %lu bytes for decoding", task,
        (unsigned long)plan.decoding);
  syn_decoder_free(d);
  syn_trainer_free(t);
  syn_model_free(m);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

static void test_plan(void) {
  syn_config k = two_config("lm");
  syn_train_config train;
  syn_decode_config decode;
  syn_plan plan;
  syn_context c;
  heap h;
  plan_case("seq2seq", 40, 0, 1, 1);
  plan_case("seq2seq", 4096, 3, 5, 1);
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_case("lm", 64, 1, 2, 1);
  plan_case("classify", 64, 0, 1, 1);
  plan_case("tag", 640, 0, 1, 1);
  plan_rule = "adafactor";
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_freeze = "src.embed|*.w_o";
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_rule = "muon";
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_accumulate = 3;
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_lora = 2;
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_freeze = NULL;
  plan_case("seq2seq", 100, 2, 3, 2);
  plan_lora = 0;
  plan_accumulate = 0;
  plan_rule = "sgd";
  plan_case("classify", 64, 0, 1, 1);
  plan_rule = plan_freeze = NULL;
  memset(&train, 0, sizeof train);
  memset(&decode, 0, sizeof decode);
  context_on(&c, &h, 0);
  train.average = -1;
  CHECK(syn_plan_of(&c, &k, &train, NULL, &plan) == SYN_E_VALUE && plan.training == 0, "%s", c.message);
  syn_context_clear(&c);
  decode.beam = -1;
  CHECK(syn_plan_of(&c, &k, NULL, &decode, &plan) == SYN_E_VALUE && plan.decoding == 0, "%s", c.message);
  CHECK(!plan.weights && !plan.training && !plan.activations, "%lu bytes of weights after an error",
        (unsigned long)plan.weights);
  syn_context_clear(&c);
  k.max_len = 1 << 20; /* a network too large for any machine is planned on this one */
  k.d_model = 2048;
  k.heads = 16;
  k.tgt_vocab = 500000;
  k.decoder = "pos -> repeat(100, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm";
  if (sizeof(size_t) == 4) { /* its bytes have no number there */
    CHECK(syn_plan_of(&c, &k, NULL, NULL, &plan) && strstr(c.message, "2147483647 bytes"), "%s", c.message);
    return;
  }
  CHECK(syn_plan_of(&c, &k, NULL, NULL, &plan) == SYN_OK, "%s", c.message);
  CHECK(plan.weights > (size_t)10 << 31 && h.most < (size_t)64 << 20, "%lu MiB of weights, %lu MiB to plan them",
        (unsigned long)(plan.weights >> 20), (unsigned long)(h.most >> 20));
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

/* -- limits are refused with their numbers -- */

static void refused(syn_context *c, syn_run *r, const syn_batch *b, const char *one, const char *other) {
  int rows, size[2];
  CHECK(syn_run_forward(r, b) != SYN_OK && strstr(c->message, one) && strstr(c->message, other),
        "wanted %s and %s: %s", one, other, c->message);
  CHECK(!syn_run_logits(r, 0, &rows) && rows == 0 && !syn_run_attention(r, 0, 0, 0, size) && size[0] == 0,
        "%s: results can be read", c->message);
  syn_context_clear(c);
}

static void test_limits(void) {
  static const int hole[] = {4, 0, 5, 3, 7, 3, 0, 0}, high[] = {4, 11, 5, 3, 7, 3, 0, 0};
  static const int low[] = {4, 5, 5, 3, -7, 3, 0, 0}, empty[] = {4, 5, 5, 3, 0, 0, 0, 0};
  static const int label_high[] = {5, 6, 11, 0, 8, 9, 10, 3}, label_low[] = {5, 6, 3, 0, 8, -1, 10, 3};
  static const int label_past[] = {5, 6, 3, 4, 8, 9, 10, 3};
  static const int six[] = {4, 4, 4, 4, 4, 3, 0, 0}, eight[] = {4, 4, 4, 3, 4, 4, 4, 3};
  syn_config k = two_config("seq2seq");
  syn_limits limits;
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_batch b = two("seq2seq"), bad;
  memset(&limits, 0, sizeof limits);
  limits.sentences = 2;
  limits.src_rows = 7;
  limits.tgt_rows = 8;
  limits.length = 5;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, &limits);
  CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c.message);
#define REFUSED(field, value, one, other) bad = b, bad.field = value, refused(&c, r, &bad, one, other)
  REFUSED(count, 3, "3 sentences", "1 to 2");
  REFUSED(count, 0, "0 sentences", "1 to 2");
  REFUSED(count, -1, "-1 sentences", "1 to 2");
  REFUSED(src, hole, "token 1 is 0", "source sentence 0");
  REFUSED(src, high, "token 1 is 11", "1 to 10");
  REFUSED(src, low, "token 0 is -7", "source sentence 1");
  REFUSED(src, empty, "source sentence 1", "empty");
  REFUSED(src, NULL, "no source", "batch");
  REFUSED(src_width, 0, "no source", "batch");
  REFUSED(tgt, high, "token 1 is 11", "target sentence 0");
  REFUSED(tgt, NULL, "no target", "batch");
  REFUSED(labels, label_high, "label 2 is 11", "0 to 10");
  REFUSED(labels, label_low, "label 1 is -1", "sentence 1");
  REFUSED(labels, label_past, "label 3 is 4", "past the end");
#undef REFUSED
  refused(&c, r, NULL, "batch", "given");
  bad = b;
  bad.count = 1;
  bad.src_width = 8;
  bad.src = six;
  refused(&c, r, &bad, "6 tokens", "5 at most");
  bad.count = 2;
  bad.src_width = 4;
  bad.src = eight;
  refused(&c, r, &bad, "4 tokens after 4", "7 in all");
  CHECK(syn_run_forward(r, &b) == SYN_OK, "after all that: %s", c.message);
  syn_run_free(r);
  limits.length = -1;
  CHECK(!syn_run_new(&c, m, &limits) && c.status == SYN_E_VALUE && strstr(c.message, "-1"), "%s", c.message);
  syn_model_free(m);
}

/* A sentence longer than N: refused by layers with a table of it, named with both numbers; others take it. */
static void test_long_sentences(void) {
  static const char *const texts[] = {"learn_pos", "syn_att(R)", "syn_att(Fix)", "syn_att(FR)", "syn_att(D)",
                                      "syn_att(FD)", "syn_att(R+V)", "linformer", "pos", "pos(scale=0) -> ffl",
                                      "syn_att(V)", "syn_att(R, tile=4)", "syn_att(FR+D+FD+Fix+V, tile=5)",
                                      "fixed_att"};
  int i, k, src[12];
  for (k = 0; k < 12; k++) src[k] = 3 + k % 7;
  for (i = 0; i < 14; i++) {
    syn_config config = two_config("tag");
    syn_limits limits;
    syn_context c;
    syn_batch b;
    syn_model *m;
    syn_run *r;
    memset(&limits, 0, sizeof limits);
    memset(&b, 0, sizeof b);
    limits.length = 12;
    limits.src_rows = 30;
    b.count = 1, b.src = src, b.src_width = 12;
    config.encoder = texts[i];
    syn_context_init(&c, NULL);
    m = syn_model_new(&c, &config);
    r = syn_run_new(&c, m, &limits);
    CHECK(r && (syn_run_forward(r, &b) == SYN_OK) == (i > 7), "%s: %s", texts[i], c.message);
    CHECK(i > 7 || (strstr(c.message, "12") && strstr(c.message, "9") && strstr(c.message, "encoder.0")), "%s: %s",
          texts[i], c.message);
    syn_run_free(r);
    syn_model_free(m);
  }
}

/* Places past max_len have the positions they would have in a longer table. */
static void test_long_positions(void) {
  syn_config k = two_config("tag");
  syn_limits limits;
  syn_context c;
  syn_batch b;
  uint64_t hash[2] = {0, 0};
  int i, src[40], rows = 0;
  for (i = 0; i < 40; i++) src[i] = 3 + i % 7;
  memset(&limits, 0, sizeof limits);
  memset(&b, 0, sizeof b);
  limits.length = 40;
  b.count = 1, b.src = src, b.src_width = 40;
  k.encoder = "pos -> res_nd(syn_att(V))";
  syn_context_init(&c, NULL);
  for (i = 0; i < 2; i++) {
    syn_model *m;
    syn_run *r;
    const float *z;
    k.max_len = i ? 40 : 9;
    m = syn_model_new(&c, &k);
    r = syn_run_new(&c, m, &limits);
    CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c.message);
    z = syn_run_logits(r, 0, &rows);
    hash[i] = syn_hash(SYN_HASH_START, z, (size_t)rows * 3 * sizeof *z);
    syn_run_free(r);
    syn_model_free(m);
  }
  CHECK(rows == 40 && hash[0] == hash[1], "positions past the table have other bits");
}

/* Sizes at the ends of their ranges: out of memory, never an overflow. */
static void test_huge(void) {
  syn_config k = two_config("seq2seq");
  syn_limits limits;
  syn_train_config train;
  syn_decode_config decode;
  syn_context c;
  heap h;
  syn_model *m;
  context_on(&c, &h, 0);
  m = syn_model_new(&c, &k);
  memset(&limits, 0, sizeof limits);
  memset(&train, 0, sizeof train);
  memset(&decode, 0, sizeof decode);
  limits.sentences = limits.src_rows = limits.tgt_rows = limits.length = INT_MAX;
  CHECK(!syn_run_new(&c, m, &limits) && c.status == SYN_E_MEMORY, "%s", c.message);
  syn_context_clear(&c);
  train.batch_tokens = 1 << 24;
  train.average = 1000;
  train.length = INT_MAX;
  CHECK(!syn_trainer_new(&c, m, &train) && c.status == SYN_E_MEMORY, "%s", c.message);
  syn_context_clear(&c);
  decode.sentences = 65536;
  decode.beam = decode.best = 1024;
  CHECK(!syn_decoder_new(&c, m, &decode) && c.status == SYN_E_MEMORY, "%s", c.message);
  syn_model_free(m);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

/* -- configurations -- */

static void bad_config(const syn_config *k, syn_status status, const char *word) {
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  CHECK(!syn_model_new(&c, k) && c.status == status && strstr(c.message, word), "wanted %s: %s", word, c.message);
  CHECK(h.blocks == 0, "%s: %ld blocks left", word, h.blocks);
}

static void test_configs(void) {
  syn_config k;
#define BAD(field, value, word) k = two_config("seq2seq"), k.field = value, bad_config(&k, SYN_E_VALUE, word)
  BAD(d_model, -1, "d_model is -1");
  BAD(d_model, 65537, "d_model is 65537");
  BAD(heads, -2, "heads is -2");
  BAD(max_len, -1, "max_len is -1");
  BAD(max_len, (1 << 20) + 1, "max_len is 1048577");
  BAD(src_vocab, 3, "src_vocab is 3");
  BAD(tgt_vocab, 0, "tgt_vocab is 0");
  BAD(tgt_vocab, -4, "tgt_vocab is -4");
  BAD(dropout, 1.0f, "dropout is 1");
  BAD(dropout, -0.5f, "dropout is -0.5");
  BAD(dropout, NAN, "nan, wanted 0 to below 1");
  BAD(label_smoothing, 1.0f, "label_smoothing is 1");
  BAD(label_smoothing, -0.5f, "label_smoothing is -0.5");
  BAD(task, "parse",
      "task is 'parse', wanted seq2seq, lm, classify, tag, mlm, regress or regress_rows");
  BAD(task, "seq2sec", "did you mean 'seq2seq'?");
  BAD(task, "LM", "did you mean 'lm'?");
  BAD(tie, "some", "tie is 'some', wanted none, out or all");
  BAD(tie, "al", "did you mean 'all'?");
  BAD(encoder, NULL, "encoder");
  BAD(decoder, NULL, "decoder");
#undef BAD
  k = two_config("classify"), k.classes = 1, bad_config(&k, SYN_E_VALUE, "classes is 1");
  k = two_config("tag"), k.tie = "out", bad_config(&k, SYN_E_VALUE, "tie=out");
  k = two_config("classify"), k.tie = "all", bad_config(&k, SYN_E_VALUE, "tie=all");
  k = two_config("seq2seq"), k.tie = "all", k.tgt_vocab = 12, bad_config(&k, SYN_E_VALUE, "11 and 12");
  k = two_config("lm"), k.tie = "out", k.decoder = "linear(6)", bad_config(&k, SYN_E_SHAPE, "6");
}

/* -- tied weights -- */

static int has(const syn_model *m, const char *name) { return syn_model_find(m, name) != NULL; }

static void test_ties(void) {
  static const char *const ties[] = {"none", "out", "all"};
  syn_context c;
  float gradient[3][3][88]; /* [tie][tgt.embed, src.embed, out.w] */
  int tie, i;
  memset(gradient, 0, sizeof gradient);
  syn_context_init(&c, NULL);
  for (tie = 0; tie < 3; tie++) {
    static const char *const names[] = {"tgt.embed", "src.embed", "out.w"};
    syn_config k = two_config("seq2seq");
    syn_train_config train;
    syn_batch b = two("seq2seq");
    syn_model *m;
    syn_trainer *t;
    float loss;
    memset(&train, 0, sizeof train);
    train.batch_tokens = 30;
    k.tie = ties[tie];
    m = syn_model_new(&c, &k);
    t = m ? syn_trainer_new(&c, m, &train) : NULL;
    CHECK(t, "%s", c.message);
    if (!t) continue;
    CHECK(has(m, "tgt.embed") && has(m, "out.b") && has(m, "src.embed") == (tie < 2) && has(m, "out.w") == (tie < 1),
          "tie=%s", ties[tie]);
    for (i = 0; i < 3; i++) /* the same numbers in all of them */
      if (has(m, names[i])) memcpy(syn_model_find(m, names[i])->x, syn_model_find(m, "tgt.embed")->x, 88 * sizeof(float));
    CHECK(syn_trainer_backward(t, &b, &loss) == SYN_OK, "%s", c.message);
    for (i = 0; i < 3; i++)
      if (has(m, names[i]))
        memcpy(gradient[tie][i], syn_trainer_gradient(t, syn_model_find(m, names[i])), 88 * sizeof(float));
    syn_trainer_free(t);
    syn_model_free(m);
  }
  for (i = 0; i < 88; i++) { /* a shared tensor gets the sum */
    float a = gradient[0][0][i], s = gradient[0][1][i], o = gradient[0][2][i];
    CHECK(fabsf(gradient[1][0][i] - (a + o)) < 1e-5f, "out: %g, not %g", (double)gradient[1][0][i], (double)(a + o));
    CHECK(fabsf(gradient[2][0][i] - (a + o + s)) < 1e-5f, "all: %g, not %g", (double)gradient[2][0][i],
          (double)(a + o + s));
  }
}

/* -- initial values -- */

static uint64_t weights_hash(uint64_t seed) {
  syn_config k = two_config("seq2seq");
  syn_context c;
  syn_model *m;
  uint64_t hash;
  syn_context_init(&c, NULL);
  k.seed = seed;
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  hash = m ? syn_hash(SYN_HASH_START, m->weights, m->floats * sizeof(float)) : 0;
  syn_model_free(m);
  return hash;
}

typedef struct start {
  const char *name;
  int kind;
  double amount;
} start;

/* Bounds and moments within 5 standard errors. */
static void start_check(const syn_model *m, const start *s) {
  const syn_param *p = syn_model_find(m, s->name);
  double sum = 0, squares = 0, most = 0, n, variance;
  size_t i;
  CHECK(p, "no %s", s->name);
  if (!p) return;
  n = (double)p->size;
  for (i = 0; i < p->size; i++) {
    double x = (double)p->x[i];
    sum += x, squares += x * x;
    if (fabs(x) > most) most = fabs(x);
  }
  if (s->kind == SYN_INIT_CONSTANT) {
    CHECK(fabs(sum / n - s->amount) < 1e-12 && fabs(squares / n - s->amount * s->amount) < 1e-12, "%s is not %g",
          s->name, s->amount);
    return;
  }
  variance = s->amount * s->amount * (s->kind == SYN_INIT_UNIFORM ? 1.0 / 3 : 1);
  CHECK(fabs(sum / n) < 5 * sqrt(variance / n), "%s: mean %g", s->name, sum / n);
  CHECK(fabs(squares / n - variance) < 5 * variance * sqrt((s->kind == SYN_INIT_UNIFORM ? 0.8 : 2) / n),
        "%s: variance %g, not %g", s->name, squares / n, variance);
  if (s->kind == SYN_INIT_UNIFORM)
    CHECK(most <= s->amount * (1 + 1e-6) && most > s->amount * 0.95, "%s: up to %g, not %g", s->name, most, s->amount);
}

static void test_start(void) {
  syn_config k = two_config("seq2seq");
  syn_context c;
  syn_model *m;
  size_t i;
  /* d = 32, 4 heads of 8, N = 50, FR of k = 8, FD of 8 times 7 */
  const start starts[] = {{"src.embed", SYN_INIT_NORMAL, sqrt(1.0 / 32)},
                          {"tgt.embed", SYN_INIT_NORMAL, sqrt(1.0 / 32)},
                          {"out.w", SYN_INIT_UNIFORM, sqrt(6.0 / (32 + 70))},
                          {"out.b", SYN_INIT_CONSTANT, 0},
                          {"encoder.0.w", SYN_INIT_NORMAL, sqrt(1.0 / 32)},
                          {"encoder.1.w_q", SYN_INIT_UNIFORM, sqrt(6.0 / 64)},
                          {"encoder.1.w_v", SYN_INIT_UNIFORM, sqrt(6.0 / 64)},
                          {"encoder.1.w_o", SYN_INIT_UNIFORM, sqrt(6.0 / 64)},
                          {"encoder.1.r", SYN_INIT_UNIFORM, sqrt(3.0 / 50)},
                          {"encoder.1.alpha", SYN_INIT_CONSTANT, 0},
                          {"encoder.2.d_w1", SYN_INIT_UNIFORM, sqrt(6.0 / 64)},
                          {"encoder.2.d_b1", SYN_INIT_CONSTANT, 0},
                          {"encoder.2.d_w2", SYN_INIT_UNIFORM, sqrt(6.0 / (8 + 50))},
                          {"encoder.2.d_b2", SYN_INIT_CONSTANT, 0},
                          {"encoder.3.r1", SYN_INIT_UNIFORM, sqrt(3.0) * pow(8 * 50, -0.25)},
                          {"encoder.3.r2", SYN_INIT_UNIFORM, sqrt(3.0) * pow(8 * 50, -0.25)},
                          {"encoder.4.fd_wa", SYN_INIT_UNIFORM, sqrt(6.0 / (8 + 8))},
                          {"encoder.4.fd_wb", SYN_INIT_UNIFORM, sqrt(6.0 / (8 + 7))},
                          {"encoder.4.fd_ba", SYN_INIT_CONSTANT, 0},
                          {"encoder.5.fix", SYN_INIT_UNIFORM, sqrt(3.0 / 50)}, /* as R */
                          {"encoder.6.w", SYN_INIT_UNIFORM, sqrt(6.0 / (32 + 100))},
                          {"encoder.6.b", SYN_INIT_CONSTANT, 0},
                          {"encoder.7.w", SYN_INIT_UNIFORM, sqrt(6.0 / (100 + 64))},
                          {"encoder.8.g", SYN_INIT_CONSTANT, 1},
                          {"encoder.8.b", SYN_INIT_CONSTANT, 0},
                          {"encoder.9.r", SYN_INIT_UNIFORM, sqrt(3.0) * 2},
                          {"encoder.9.fix", SYN_INIT_UNIFORM, sqrt(3.0) * 2},
                          {"encoder.9.r1", SYN_INIT_UNIFORM, sqrt(3.0) * pow(8 / 4.0, -0.25)},
                          {"encoder.9.t", SYN_INIT_UNIFORM, sqrt(3.0) * 2},
                          {"decoder.0.w_k", SYN_INIT_UNIFORM, sqrt(6.0 / 64)}};
  k.encoder = "learn_pos -> syn_att(R+V) -> syn_att(D) -> syn_att(FR) -> syn_att(FD) -> syn_att(Fix) -> ff(100)"
              " -> ff(act=glu) -> norm -> syn_att(R+Fix+FR+T, std=2)";
  k.decoder = "mh_dot_att";
  k.d_model = 32;
  k.heads = 4;
  k.max_len = 50;
  k.src_vocab = 60;
  k.tgt_vocab = 70;
  k.tie = "none";
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  for (i = 0; m && i < sizeof starts / sizeof starts[0]; i++) start_check(m, &starts[i]);
  syn_model_free(m);
  CHECK(weights_hash(1) == weights_hash(1) && weights_hash(1) != weights_hash(2), "seeds");
  CHECK(weights_hash(1) == UINT64_C(0xf87a9a4d58271ed0), "the weights of seed 1 have the hash %08lx%08lx",
        (unsigned long)(weights_hash(1) >> 32), (unsigned long)(weights_hash(1) & 0xFFFFFFFFu));
}

/* -- orthogonal initial values -- */

/* Rows of each square matrix one below the other: of length 1, at right angles; the trace of n
   matrices drawn uniformly has mean 0 and variance 1. */
static void orthogonal_check(const syn_model *m, const char *name, int block) {
  const syn_param *p = syn_model_find(m, name);
  double worst = 0, trace = 0;
  int i, j, k, n, rows;
  CHECK(p, "no %s", name);
  if (!p) return;
  n = p->shape[1], rows = p->shape[0];
  for (i = 0; i < rows; i++)
    for (j = i / n * n; j <= i; j += 1 + n / 64 * (i % 7)) {
      double sum = i == j ? -1 : 0;
      for (k = 0; k < n; k++) sum += (double)p->x[i * n + k] * (double)p->x[j * n + k];
      if (fabs(sum) > worst) worst = fabs(sum);
    }
  CHECK(worst < 1e-6, "%s: rows are %g off orthonormal", name, worst);
  for (i = 0; i < rows; i++) {
    trace += (double)p->x[i * n + i % n];
    for (k = 0; k < n; k++)
      if (k / block != i % n / block && p->x[i * n + k] != 0.0f) break;
    CHECK(k == n, "%s: row %d has a number outside its block", name, i);
  }
  CHECK(fabs(trace) < 5 * sqrt((double)(rows / n) * ((n + block - 1) / block)), "%s: trace %g", name, trace);
}

static void test_orthogonal(void) {
  syn_config k = two_config("tag");
  syn_context c;
  syn_model *m;
  const syn_param *p;
  uint64_t hash;
  k.encoder = CHECK_QUICK ? "rnn(1) -> rnn(2, gru) -> rnn(33) -> birnn(128, gru)"
                          : "rnn(1) -> rnn(2, gru) -> rnn(33) -> birnn(128, gru) -> rnn(1030, gru)";
  k.d_model = 8;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  if (!m) return;
  orthogonal_check(m, "encoder.0.w_h", 1024);
  orthogonal_check(m, "encoder.1.w_h", 1024);
  orthogonal_check(m, "encoder.2.w_h", 1024);
  orthogonal_check(m, "encoder.3.fwd.w_h", 1024);
  orthogonal_check(m, "encoder.3.bwd.w_h", 1024);
  if (!CHECK_QUICK) orthogonal_check(m, "encoder.4.w_h", 1024); /* wider than what is drawn whole */
  p = syn_model_find(m, "encoder.2.w_h");
  hash = p ? syn_hash(SYN_HASH_START, p->x, p->size * sizeof *p->x) : 0;
  CHECK(hash == UINT64_C(0x72f103ffb11fc8c1), "encoder.2.w_h has the hash %08lx%08lx", (unsigned long)(hash >> 32),
        (unsigned long)(hash & 0xFFFFFFFFu));
  syn_model_free(m);
}

/* -- files -- */

static void good_make(void) {
  syn_config k = two_config("seq2seq");
  syn_text line;
  change with = no_change();
  size_t i, n;
  int turn = 0;
  line.at = "abcdefg abd fcg";
  line.size = strlen(line.at);
  syn_context_init(&good, NULL);
  good_tokenizer = syn_tokenizer_learn(&good, "char", 0, &line, 1);
  k.src_vocab = k.tgt_vocab = syn_tokenizer_size(good_tokenizer);
  good_model = syn_model_new(&good, &k);
  CHECK(good_model && good_tokenizer, "%s", good.message);
  for (n = 0; n < syn_model_param_count(good_model); n++) { /* numbers that 16 bits hold exactly */
    const syn_param *p = syn_model_param(good_model, n);
    for (i = 0; i < p->size; i++) p->x[i] = (float)(turn++ * 37 % 101 - 50) / 64.0f;
  }
  syn_model_set_tokenizers(good_model, good_tokenizer, good_tokenizer);
  good_file = saved(&good, good_model);
  CHECK(syn_model_save(&good, good_model, "good.safetensors") == SYN_OK, "%s", good.message);
  with.dtype = SYN_F16;
  half_file = changed(&good, good_model, &with);
}
static void good_free(void) {
  syn_model_free(good_model);
  free(good_file.at);
  free(half_file.at);
}

/* From memory at any address, from disk, of 16 bits: the same bits; saved again: the same bytes. */
static void test_files(void) {
  uint64_t want = logits_hash(&good, good_model);
  syn_context c;
  syn_model *m;
  bytes again, b16;
  change with = no_change();
  char *shifted = (char *)malloc(good_file.size + 64);
  int at;
  heap h;
  syn_context_init(&c, NULL);
  for (at = 0; at < 9; at++) {
    memcpy(shifted + at, good_file.at, good_file.size);
    context_on(&c, &h, 0);
    m = syn_model_view(&c, shifted + at, good_file.size);
    CHECK(m && logits_hash(&c, m) == want, "at %d: %s", at, c.message);
    CHECK(!m || (m->weights == NULL) == (at % 4 == 0), "weights at %d are %scopied", at, m->weights ? "" : "not ");
    again = saved(&c, m);
    CHECK(again.size == good_file.size && !memcmp(again.at, good_file.at, again.size), "saved again it differs");
    CHECK(syn_model_tokenizer(m, SYN_SRC) && syn_model_tokenizer(m, SYN_SRC) == syn_model_tokenizer(m, SYN_TGT) &&
              syn_tokenizer_size(syn_model_tokenizer(m, SYN_SRC)) == syn_tokenizer_size(good_tokenizer),
          "the tokenizer did not come back");
    CHECK(syn_model_file(m) && !syn_model_file(good_model), "files");
    free(again.at);
    syn_model_free(m);
    CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
  }
  m = syn_model_load(&c, "good.safetensors");
  CHECK(m && logits_hash(&c, m) == want, "from disk: %s", c.message);
  syn_model_free(m);
  m = syn_model_view(&c, half_file.at, half_file.size);
  CHECK(m && logits_hash(&c, m) == want && m->weights, "F16: %s", c.message);
  syn_model_free(m);
  with.dtype = SYN_BF16;
  b16 = changed(&c, good_model, &with);
  m = syn_model_view(&c, b16.at, b16.size);
  CHECK(m && logits_hash(&c, m) == want, "BF16: %s", c.message);
  syn_model_free(m);
  free(b16.at);
  free(shifted);
}

static void file_put(const char *path, const char *at, size_t size) {
  FILE *out = fopen(path, "wb");
  CHECK(out && fwrite(at, 1, size, out) == size && !fclose(out), "%s cannot be written", path);
}

/* Writes a number that is not finite over number `k` of a tensor; the message must name both, unless the context
   accepts such weights. */
static void not_finite_case(const bytes *file, const char *name, size_t k, uint32_t number) {
  char *copy = (char *)malloc(file->size), words[160];
  syn_context c;
  syn_options o;
  syn_file *f;
  const syn_entry *e;
  syn_model *m;
  size_t width, at;
  memset(&o, 0, sizeof o);
  memcpy(copy, file->at, file->size);
  syn_context_init(&c, NULL);
  f = syn_file_view(&c, copy, file->size);
  e = syn_file_find(f, name);
  CHECK(e, "%s is not there: %s", name, c.message);
  if (!e) return;
  width = e->dtype == SYN_F32 ? 4 : 2;
  at = (size_t)((const char *)e->data - copy) + k * width;
  if (width == 4) memcpy(copy + at, &number, 4);
  else {
    uint16_t half = (uint16_t)number;
    memcpy(copy + at, &half, 2);
  }
  syn_file_free(f);
  snprintf(words, sizeof words, "tensor %s: number %lu, at byte %lu of the file, is not finite", name,
           (unsigned long)k, (unsigned long)at);
  m = syn_model_view(&c, copy, file->size);
  CHECK(!m && c.status == SYN_E_FORMAT && strstr(c.message, words), "%s: %s", words, c.message);
  syn_model_free(m);
  file_put("cut.safetensors", copy, file->size);
  syn_context_clear(&c);
  m = syn_model_load(&c, "cut.safetensors");
  CHECK(!m && c.status == SYN_E_FORMAT && strstr(c.message, words), "loaded: %s: %s", words, c.message);
  syn_model_free(m);
  o.not_finite = 1;
  syn_context_init(&c, &o);
  m = syn_model_view(&c, copy, file->size);
  CHECK(m, "%s", c.message);
  syn_model_free(m);
  free(copy);
}

static void test_not_finite(void) {
  not_finite_case(&good_file, "tgt.embed", 0, 0x7FC00000u);
  not_finite_case(&good_file, "src.embed", 11, 0x7F800000u);
  not_finite_case(&good_file, "out.b", 2, 0xFF800001u);
  not_finite_case(&half_file, "tgt.embed", 3, 0x7C00u);
  not_finite_case(&half_file, "out.b", 1, 0xFE01u);
}

/* Facts of others stay, in a model that is loaded, trained and saved. */
static void test_metadata(void) {
  change with = no_change();
  bytes b, again;
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_file *f;
  syn_batch batch = two("seq2seq");
  float loss;
  with.key = "author";
  with.value = "somebody \xC3\xA4 \"quoted\"";
  syn_context_init(&c, NULL);
  b = changed(&c, good_model, &with);
  m = syn_model_view(&c, b.at, b.size);
  t = m ? syn_trainer_new(&c, m, NULL) : NULL;
  CHECK(t && syn_trainer_step(t, &batch, 1, &loss) == SYN_OK, "%s", c.message);
  again = saved(&c, m);
  f = syn_file_view(&c, again.at, again.size);
  CHECK(f && syn_file_value(f, "author") && !strcmp(syn_file_value(f, "author"), with.value), "%s", c.message);
  CHECK(f && syn_file_value(f, "task") && !strcmp(syn_file_value(f, "task"), "seq2seq"), "the task");
  syn_file_free(f);
  syn_trainer_free(t);
  syn_model_free(m);
  f = syn_file_view(&c, b.at, b.size); /* the bytes that were viewed are as they were */
  CHECK(f && syn_file_count(f) == syn_model_param_count(good_model) + 1, "%s", c.message);
  syn_file_free(f);
  free(b.at);
  free(again.at);
}

static void bad_file(change with, const char *word) {
  syn_context c;
  heap h;
  bytes b;
  syn_model *m;
  syn_context_init(&c, NULL);
  b = changed(&c, good_model, &with);
  context_on(&c, &h, 0);
  m = syn_model_view(&c, b.at, b.size);
  CHECK(!m && c.status != SYN_OK && strstr(c.message, word), "wanted %s: %s", word, c.message);
  CHECK(h.blocks == 0 && h.most < (size_t)32 << 20, "%s: %ld blocks left, %lu bytes at most", word, h.blocks,
        (unsigned long)h.most);
  free(b.at);
}

static void test_bad_files(void) {
  change with;
#define BAD_PAIR(name, text, word) with = no_change(), with.key = name, with.value = text, bad_file(with, word)
#define BAD_TENSOR(field, name, word) with = no_change(), with.field = name, bad_file(with, word)
  BAD_TENSOR(remove, "out.b", "tensor out.b [12] is missing");
  BAD_TENSOR(reshape, "decoder.1.1.w_v", "tensor decoder.1.1.w_v is [16,4], wanted [8,8]");
  with = no_change(), with.rename = "out.b", with.to = "out.c", bad_file(with, "out.b");
  with = no_change(), with.rename = "tokenizer.src", with.to = "spare", bad_file(with, "spare is not part");
  with = no_change(), with.dtype = SYN_I16, bad_file(with, "dtype I16, wanted F32, F16, BF16, I8 or U8");
  BAD_PAIR("format", "gguf", "format is 'gguf'");
  BAD_PAIR("format", NULL, "format");
  BAD_PAIR("version", "2", "version is '2'");
  BAD_PAIR("task", "sing", "sing");
  BAD_PAIR("task", NULL, "task");
  BAD_PAIR("d_model", "8x", "d_model is '8x'");
  BAD_PAIR("d_model", "", "d_model is ''");
  BAD_PAIR("d_model", "-8", "d_model is '-8'");
  BAD_PAIR("d_model", "99999999999999999999999", "d_model is '9999");
  BAD_PAIR("max_len", "1073741824", "max_len is 1073741824");
  BAD_PAIR("max_len", "1048576", "encoder.1.1.r");
  BAD_PAIR("max_len", "10", "encoder.1.1.r is [2,9,9], wanted [2,10,10]");
  BAD_PAIR("heads", "3", "3 heads");
  BAD_PAIR("heads", "9223372036854775808", "heads is '9223372036854775808'");
  BAD_PAIR("src_vocab", "16777216", "src.embed");
  BAD_PAIR("src_vocab", "13", "src.embed is [12,8], wanted [13,8]");
  BAD_PAIR("dropout", "zero", "dropout is 'zero'");
  BAD_PAIR("dropout", "1e9", "dropout is 1e+09");
  BAD_PAIR("label_smoothing", "nan", "label_smoothing is 'nan'");
  BAD_PAIR("tie", "maybe", "tie is 'maybe'");
  BAD_PAIR("encoder", "pos -> ress(", "encoder line 1 column 8");
  BAD_PAIR("encoder", NULL, "encoder");
  BAD_PAIR("encoder", "repeat(1000, repeat(1000, id))", "layers");
  BAD_PAIR("decoder", "norm", "attention to the source");
  BAD_PAIR("seed", "1.5", "seed is '1.5'");
#undef BAD_PAIR
#undef BAD_TENSOR
}

/* A small model's file for the damages: short texts, few weights. */
static bytes small_file(void) {
  syn_config k = two_config("lm");
  syn_context c;
  syn_model *m;
  bytes b;
  syn_context_init(&c, NULL);
  k.decoder = "pos -> res(syn_att(R+V))";
  k.d_model = 2;
  k.max_len = 3;
  k.tgt_vocab = 6;
  k.tie = "out";
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  b = saved(&c, m);
  syn_model_free(m);
  return b;
}

/* A damaged file is an error, or a model that can be used without harm. */
static int damaged(const char *at, size_t size) {
  static const int tgt[] = {2, 4};
  syn_context c;
  syn_model *m;
  heap h;
  int ok;
  context_on(&c, &h, 0);
  m = syn_model_view(&c, at, size);
  ok = m != NULL;
  CHECK(ok == (c.status == SYN_OK), "a model and an error, or none: %s", c.message);
  if (ok && m->task->decoder && m->config.max_len > 1 && m->config.tgt_vocab > 4 && !m->task->encoder) {
    syn_decode_config k;
    syn_decoder *d;
    syn_batch b;
    memset(&k, 0, sizeof k);
    memset(&b, 0, sizeof b);
    k.max_len = 2;
    b.count = 1, b.tgt = tgt, b.tgt_width = 2;
    d = syn_decoder_new(&c, m, &k);
    CHECK(d && syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "%s", c.message);
    syn_decoder_free(d);
  }
  syn_model_free(m);
  CHECK(h.blocks == 0 && h.most < (size_t)32 << 20, "%ld blocks left, %lu bytes at most", h.blocks,
        (unsigned long)h.most);
  return ok;
}

/* -- models that are packed for decoding -- */

/* Decodes the two sentences: what is told of them. */
static uint64_t outputs_hash(syn_decoder *d) {
  syn_batch b = two("seq2seq");
  uint64_t hash = SYN_HASH_START;
  int i, size;
  b.tgt = NULL;
  if (!d || syn_decoder_run(d, &b, NULL, NULL)) return 0;
  for (i = 0; i < 2; i++) {
    float score;
    const int *text = syn_decoder_output(d, i, 0, &size, &score);
    hash = syn_hash(syn_hash(hash, text, (size_t)size * sizeof *text), &score, sizeof score);
  }
  return hash;
}
static syn_decoder *two_decoder(syn_context *c, const syn_model *m, int beam, float temperature, const char *type) {
  syn_decode_config k;
  memset(&k, 0, sizeof k);
  k.sentences = 2;
  k.beam = beam;
  k.temperature = temperature;
  k.type = type;
  return syn_decoder_new(c, m, &k);
}

/* What needs weights by row says so. */
static void packed_errors(syn_context *c, syn_model *m, syn_model *other) {
  syn_limits limits;
  syn_value v;
  syn_batch b = two("seq2seq");
  bytes out;
  syn_sink sink = sink_of(&out);
  syn_run *r;
  float loss;
#define REFUSES(call) \
  CHECK((call) && c->status == SYN_E_VALUE && strstr(c->message, "syn_model_pack"), "%s", c->message); \
  syn_context_clear(c)
  memset(&limits, 0, sizeof limits);
  limits.keep = 1;
  r = syn_run_new(c, m, &limits);
  CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c->message);
  REFUSES(syn_model_save_to(c, m, &sink));
  REFUSES(syn_model_save(c, m, "never.safetensors"));
  REFUSES(syn_small_write(c, m, NULL, &sink));
  REFUSES(syn_small_embed(c, m, NULL, "m", &sink));
  REFUSES(syn_run_backward(r, &b, &loss));
  REFUSES(syn_run_value(r, "decoder.1.1.w_o", 0, &v) && !v.x);
  REFUSES(syn_model_init_from(other, m, 0, NULL, NULL) == -1);
  REFUSES(syn_model_init_from(m, other, 0, NULL, NULL) == -1);
  REFUSES(!syn_trainer_new(c, m, NULL));
#undef REFUSES
  CHECK(syn_run_value(r, "out.b", 0, &v) == SYN_OK && v.x, "a vector is no matrix: %s", c->message);
  CHECK(syn_run_value(r, "decoder.1.1", 0, &v) == SYN_OK && v.x, "%s", c->message);
  CHECK(out.size == 0, "%lu bytes were written", (unsigned long)out.size);
  free(out.at);
  syn_run_free(r);
}

/* The loss over data is that of the model with its weights as stored. */
static void packed_loss(syn_context *c, const syn_model *m, const syn_model *other) {
  syn_data *d = syn_data_new(c);
  double loss[2] = {1.0, 2.0};
  int64_t labels[2] = {0, 0};
  int i;
  for (i = 0; i < 5; i++) CHECK(syn_data_add(d, two_src, 3, two_src + i % 2, 1) == SYN_OK, "%s", c->message);
  CHECK(syn_model_evaluate(c, m, d, 30, &loss[0], &labels[0]) == SYN_OK &&
            syn_model_evaluate(c, other, d, 30, &loss[1], &labels[1]) == SYN_OK,
        "%s", c->message);
  CHECK(loss[0] == loss[1] && labels[0] == labels[1] && labels[0] == 10, "loss %g of %ld, %g of %ld", loss[0],
        (long)labels[0], loss[1], (long)labels[1]);
  syn_data_free(d);
}

/* The loss of each row is that of data of this row alone; windows leave out what they share. */
static void test_loss_rows(void) {
  static const int tokens[] = {4, 5, 6, 7, 4, 5, 6};
  syn_context c;
  syn_config k;
  syn_data *d;
  syn_model *m;
  double loss[3], one, sum = 0.0, all;
  int64_t labels[3], count;
  int i;
  syn_context_init(&c, NULL);
  memset(&k, 0, sizeof k);
  k.task = "lm", k.decoder = "pos -> res_nd(syn_att(V)) -> norm", k.d_model = 8, k.heads = 2, k.max_len = 8, k.tgt_vocab = 9;
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  syn_data_add_windows(d, tokens, 7, 4, 2);
  CHECK(!syn_model_evaluate_rows(&c, m, d, loss, labels) && syn_data_count(d) == 3, "%s", c.message);
  CHECK(labels[0] == 4 && labels[1] == 2 && labels[2] == 1, "%ld, %ld, %ld labels", (long)labels[0],
        (long)labels[1], (long)labels[2]);
  for (i = 0; i < 3; i++) sum += loss[i];
  CHECK(!syn_model_evaluate(&c, m, d, 0, &all, &count) && count == 7 && fabs(sum / 7.0 - all) < 1e-6, "%g, %g", sum, all);
  syn_data_free(d);
  d = syn_data_new(&c);
  syn_data_add_windows(d, tokens, 4, 4, 4);
  CHECK(!syn_model_evaluate(&c, m, d, 0, &one, &count) && one * 4.0 == loss[0], "%.17g, %.17g", one * 4.0, loss[0]);
  CHECK(syn_model_evaluate_rows(&c, m, d, NULL, labels) && strstr(c.message, "no loss"), "%s", c.message);
  syn_context_clear(&c);
  syn_data_free(d);
  syn_model_free(m);
}

/* A network to look at: what needs weights is refused, with an error. */
static void test_outline(void) {
  syn_context c;
  syn_config k;
  syn_data *d;
  syn_model *m;
  bytes all;
  syn_sink sink;
  syn_fault fault;
  int i;
  memset(&all, 0, sizeof all);
  memset(&k, 0, sizeof k);
  sink = sink_of(&all);
  k.task = "lm", k.decoder = "pos -> res_nd(syn_att(V)) -> norm", k.d_model = 1024, k.heads = 2, k.max_len = 8;
  k.tgt_vocab = 1000000;
  syn_context_init(&c, NULL);
  m = syn_model_outline(&c, &k, NULL);
  d = syn_data_new(&c);
  syn_data_add(d, NULL, 0, two_src, 1);
  CHECK(m && !syn_model_param(m, 0)->x && syn_model_param(m, 0)->size == 1024u * 1000000u && syn_model_node_count(m) > 3, "%s", c.message);
  for (i = 0; i < 5; i++) {
    CHECK((i == 0 && !syn_run_new(&c, m, NULL)) || (i == 1 && !syn_trainer_new(&c, m, NULL)) || (i == 2 && !syn_decoder_new(&c, m, NULL)) ||
              (i == 3 && syn_model_save_to(&c, m, &sink)) || (i == 4 && syn_model_evaluate(&c, m, d, 0, NULL, NULL)), "%d", i);
    CHECK(c.status == SYN_E_VALUE && strstr(c.message, "no weights"), "%d: %s", i, c.message);
    syn_context_clear(&c);
  }
  syn_data_free(d);
  syn_model_free(m);
  k.decoder = "pos -> res_nd(syn_att(V)) -> res(norms)"; /* with an error: what comes before it */
  CHECK(!syn_model_outline(&c, &k, NULL) && c.status == SYN_E_TEXT, "%s", c.message);
  syn_context_clear(&c);
  m = syn_model_outline(&c, &k, &fault);
  CHECK(m && c.status == SYN_E_TEXT && syn_model_node_count(m) > 2 && !strcmp(fault.path, "decoder.2.0") && fault.name.size == 5 &&
            fault.place == 33 && fault.in >= 0 && fault.in < (int)syn_model_node_count(m), "%s: %s at %d", c.message, fault.path, fault.place);
  syn_context_clear(&c);
  CHECK(!syn_run_new(&c, m, NULL), "a run");
  syn_context_clear(&c);
  CHECK(!syn_trainer_new(&c, m, NULL), "a trainer");
  syn_context_clear(&c);
  CHECK(!syn_decoder_new(&c, m, NULL), "a decoder");
  syn_context_clear(&c);
  CHECK(syn_model_init_from(m, m, 0, NULL, NULL) == -1, "weights from itself");
  syn_context_clear(&c);
  CHECK(syn_model_save_to(&c, m, &sink) && !all.size, "a file");
  syn_context_clear(&c);
  CHECK(syn_model_maker(m, 99999, NULL, NULL) == -1 && syn_model_maker(m, SYN_FEEDBACK, NULL, NULL) == -1 &&
            syn_model_maker(NULL, 0, NULL, NULL) == -1, "no value");
  syn_model_free(m);
}

/* Two decoders read one set of panels, in every way of decoding. */
static void packed_decoders(syn_context *c, const syn_model *m, const syn_model *other) {
  static const struct {
    int beam;
    float temperature;
    const char *type;
  } ways[] = {{1, 0.0f, NULL}, {3, 0.0f, NULL}, {1, 1.0f, NULL}, {1, 0.0f, "i8"}, {3, 0.0f, "i8"}};
  syn_context second;
  syn_decoder *d[2];
  uint64_t want;
  size_t way;
  syn_context_init(&second, NULL);
  for (way = 0; way < sizeof ways / sizeof *ways; way++) {
    int shared = !ways[way].type;
    d[0] = two_decoder(c, other, ways[way].beam, ways[way].temperature, ways[way].type);
    want = outputs_hash(d[0]);
    syn_decoder_free(d[0]);
    d[0] = two_decoder(c, m, ways[way].beam, ways[way].temperature, ways[way].type);
    d[1] = two_decoder(&second, m, ways[way].beam, ways[way].temperature, ways[way].type);
    CHECK(d[0] && d[1] && (d[0]->run->tape.packed == m->panels) == shared &&
              (d[0]->run->tape.packed == d[1]->run->tape.packed) == shared,
          "way %d: other panels", (int)way);
    CHECK(want && outputs_hash(d[0]) == want && outputs_hash(d[1]) == want, "way %d: other outputs", (int)way);
    syn_decoder_free(d[0]);
    syn_decoder_free(d[1]);
  }
}

/* A model with a trainer is not packed, nor inside a call that trains it; a second time changes nothing. */
static void packed_when(syn_context *c) {
  syn_model *m = syn_model_load(c, "good.safetensors");
  syn_trainer *t = syn_trainer_new(c, m, NULL);
  uint64_t want = logits_hash(c, m);
  CHECK(t && syn_model_pack(m) == SYN_E_VALUE && strstr(c->message, "trainer"), "%s", c->message);
  syn_context_clear(c);
  CHECK(logits_hash(c, m) == want, "refused, but changed");
  syn_trainer_free(t);
  CHECK(syn_model_pack(m) == SYN_OK && logits_hash(c, m) == want, "%s", c->message);
  CHECK(syn_model_pack(m) == SYN_OK && logits_hash(c, m) == want, "%s", c->message);
  CHECK(syn_model_pack(NULL) == SYN_E_VALUE, "null");
  syn_model_free(m);
  m = syn_model_view(c, good_file.at, good_file.size); /* whose bytes stay as they are */
  CHECK(syn_model_pack(m) == SYN_OK && logits_hash(c, m) == want, "a view: %s", c->message);
  syn_model_free(m);
  m = syn_model_view(c, good_file.at, good_file.size);
  CHECK(m && logits_hash(c, m) == want, "the bytes of a view have changed");
  syn_model_free(m);
}

static void test_packed(void) {
  syn_context c;
  syn_model *m, *other;
  syn_context_init(&c, NULL);
  m = syn_model_load(&c, "good.safetensors");
  other = syn_model_load(&c, "good.safetensors");
  CHECK(syn_model_pack(m) == SYN_OK && other && logits_hash(&c, m) == logits_hash(&c, other), "%s", c.message);
  if (!m || !other) return;
  CHECK(syn_tokenizer_size(syn_model_tokenizer(m, SYN_SRC)) == syn_tokenizer_size(good_tokenizer) &&
            syn_file_value(syn_model_file(m), "task") && !syn_file_entry(syn_model_file(m), 0)->data,
        "what is not a weight");
  packed_decoders(&c, m, other);
  packed_when(&c);
  packed_errors(&c, m, other);
  packed_loss(&c, m, other);
  syn_model_free(m);
  syn_model_free(other);
}

/* The plan against the memory that loading and one decoder take at most: beside it only the graph, the header of
   the file and some numbers on their way. */
static void test_packed_plan(void) {
  syn_config k = two_config("seq2seq");
  syn_decode_config decode;
  syn_plan plan;
  syn_context c;
  syn_model *m, *other;
  syn_decoder *d;
  heap h;
  size_t extra, before;
  k.d_model = 64;
  k.src_vocab = k.tgt_vocab = 9001;
  k.decoder = "repeat(3, res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ff(700) -> linear(64)))";
  memset(&decode, 0, sizeof decode);
  context_on(&c, &h, 0);
  m = syn_model_new(&c, &k);
  CHECK(m && syn_model_save(&c, m, "work.safetensors") == SYN_OK, "%s", c.message);
  syn_model_free(m);
  context_on(&c, &h, 0);
  CHECK(syn_plan_of(&c, &k, NULL, &decode, &plan) == SYN_OK, "%s", c.message);
  context_on(&c, &h, 0);
  m = syn_model_load(&c, "work.safetensors");
  before = h.live;
  CHECK(syn_model_pack(m) == SYN_OK && h.live < before + 2000, "%lu bytes more", (unsigned long)(h.live - before));
  CHECK(m && h.most < h.live + 200000, "%lu bytes while loading, %lu after it", (unsigned long)h.most,
        (unsigned long)h.live);
  before = h.live;
  d = syn_decoder_new(&c, m, &decode);
  extra = h.live - plan.packed;
  CHECK(d && h.live > plan.packed && extra < 200000, "planned %lu, %lu at most, %lu with a decoder",
        (unsigned long)plan.packed, (unsigned long)h.most, (unsigned long)h.live);
  CHECK(h.most < plan.packed + 200000, "planned %lu, %lu at most", (unsigned long)plan.packed, (unsigned long)h.most);
  CHECK(h.live - before < plan.weights / 4, "a decoder of %lu bytes", (unsigned long)(h.live - before));
  syn_decoder_free(d);
  other = syn_model_load(&c, "work.safetensors");
  CHECK(other, "%s", c.message);
  if (other) packed_loss(&c, m, other); /* of an output layer of many panels */
  syn_model_free(other);
  syn_model_free(m);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

/* Files of 16 bits; a number that is not finite; every truncation, and bits that are flipped: the same verdict as
   that of a view, and nothing is left. */
static void test_packed_files(void) {
  uint64_t want = logits_hash(&good, good_model);
  syn_context c, view;
  syn_model *m, *of;
  bytes b;
  size_t i;
  heap h;
  file_put("half.safetensors", half_file.at, half_file.size);
  syn_context_init(&c, NULL);
  m = syn_model_load(&c, "half.safetensors");
  CHECK(m && logits_hash(&c, m) == want, "F16: %s", c.message);
  syn_model_free(m);
  CHECK(!syn_model_load(&c, "nowhere.safetensors") && c.status == SYN_E_FILE, "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_model_load(&c, NULL) && c.status == SYN_E_FILE, "%s", c.message);
  b = small_file();
  for (i = 0; i < b.size; i += CHECK_QUICK ? 7 : 1) {
    file_put("cut.safetensors", b.at, i);
    context_on(&c, &h, 0);
    CHECK(!syn_model_load(&c, "cut.safetensors") && c.status != SYN_OK && h.blocks == 0,
          "%lu of %lu bytes: %s", (unsigned long)i, (unsigned long)b.size, c.message);
  }
  for (i = 0; i < b.size * 8; i += CHECK_QUICK ? 31 : 3) {
    b.at[i / 8] = (char)(b.at[i / 8] ^ 1 << i % 8);
    file_put("cut.safetensors", b.at, b.size);
    context_on(&c, &h, 0);
    syn_context_init(&view, NULL);
    of = syn_model_view(&view, b.at, b.size);
    m = syn_model_load(&c, "cut.safetensors");
    CHECK(!m == !of && c.status == view.status, "bit %lu: %s; viewed: %s", (unsigned long)i, c.message,
          view.message);
    syn_model_free(m);
    syn_model_free(of);
    CHECK(h.blocks == 0, "bit %lu: %ld blocks left", (unsigned long)i, h.blocks);
    b.at[i / 8] = (char)(b.at[i / 8] ^ 1 << i % 8);
  }
  free(b.at);
}

/* A tensor of nobody's weights may hold any numbers, and its data stay. */
static void test_other_tensors(void) {
  static const float other[] = {NAN, 1.0f};
  syn_entry entries[200];
  syn_context c;
  syn_file *f;
  syn_model *m;
  const syn_entry *e;
  size_t i, n;
  syn_context_init(&c, NULL);
  f = syn_file_load(&c, "good.safetensors");
  n = syn_file_count(f);
  CHECK(n > 0 && n < 200, "%s", c.message);
  for (i = 0; i < n && i < 199; i++) entries[i] = *syn_file_entry(f, i);
  memset(&entries[n], 0, sizeof *entries);
  entries[n].name = "test.other", entries[n].dtype = SYN_F32, entries[n].rank = 1, entries[n].shape[0] = 2;
  entries[n].data = other, entries[n].bytes = sizeof other;
  CHECK(!syn_file_write(&c, "cut.safetensors", syn_file_pair(f, 0), syn_file_pair_count(f), entries, n + 1), "%s",
        c.message);
  m = syn_model_load(&c, "cut.safetensors");
  e = syn_file_find(syn_model_file(m), "test.other");
  CHECK(m && e && e->data && !memcmp(e->data, other, sizeof other), "%s", c.message);
  syn_model_free(m);
  syn_file_free(f);
}

static void test_damage(void) {
  bytes b = small_file();
  size_t i, header = 0;
  syn_random r = {6};
  int bit, loaded = 0, flips = 0, n;
  memcpy(&header, b.at, 4);
  CHECK(damaged(b.at, b.size) && header > 300 && header < b.size, "a header of %lu bytes", (unsigned long)header);
  for (i = 0; i < b.size; i++) { /* every truncation, in memory of just that size */
    char *cut = (char *)malloc(i ? i : 1);
    memcpy(cut, b.at, i);
    CHECK(!damaged(cut, i), "%lu of %lu bytes are a model", (unsigned long)i, (unsigned long)b.size);
    free(cut);
  }
  for (i = 0; i < b.size; i++) /* every bit of the header, one of each byte behind it */
    for (bit = 0; bit < 8; bit++) {
      if ((i > header + 8 && bit != 6) || (CHECK_QUICK && (i + (size_t)bit) % 16)) continue;
      b.at[i] = (char)(b.at[i] ^ 1 << bit);
      loaded += damaged(b.at, b.size);
      b.at[i] = (char)(b.at[i] ^ 1 << bit);
      flips++;
    }
  CHECK(loaded > flips / 50 && loaded < flips, "%d of %d flips are still models", loaded, flips);
  for (n = 0; n < (CHECK_QUICK ? 200 : 3000); n++) { /* several at once */
    char *copy = (char *)malloc(b.size);
    memcpy(copy, b.at, b.size);
    for (bit = 0; bit < 4; bit++) {
      size_t at = 8 + (size_t)syn_random_below(&r, (int)header);
      copy[at] = "0123456789[]{},:\"abc"[syn_random_below(&r, 20)];
    }
    damaged(copy, b.size);
    free(copy);
  }
  free(b.at);
}

/* -- one const model, two decoders, two threads -- */

#ifdef _OPENMP
enum { ROUNDS = 40 };
static void decode_alone(const syn_model *m, int round, int *out) {
  syn_context c;
  syn_decode_config k;
  syn_decoder *d;
  syn_batch b = two("seq2seq");
  int i, size;
  memset(&k, 0, sizeof k);
  syn_context_init(&c, NULL);
  k.sentences = 2;
  k.beam = round % 2 ? 3 : 1;
  k.temperature = round % 4 == 2 ? 1.0f : 0.0f;
  k.seed = (uint64_t)round;
  b.tgt = NULL;
  d = syn_decoder_new(&c, m, &k);
  memset(out, 0, 20 * sizeof *out);
  if (!d || syn_decoder_run(d, &b, NULL, NULL) != SYN_OK) return;
  for (i = 0; i < 2; i++) {
    const int *text = syn_decoder_output(d, i, 0, &size, NULL);
    if (text) memcpy(out + 10 * i, text, (size_t)size * sizeof *text);
  }
  syn_decoder_free(d);
}

static void test_two_threads(const syn_model *m) {
  static int alone[ROUNDS][20], together[ROUNDS][20];
  int i;
  for (i = 0; i < ROUNDS; i++) decode_alone(good_model, i, alone[i]);
#pragma omp parallel for num_threads(2) schedule(static, 1)
  for (i = 0; i < ROUNDS; i++) decode_alone(m, i, together[i]);
  for (i = 0; i < ROUNDS; i++)
    CHECK(alone[i][0] && !memcmp(alone[i], together[i], sizeof alone[i]), "round %d differs beside another", i);
}
#else
static void test_two_threads(const syn_model *m) { (void)m; }
#endif

/* The same with a model whose decoders share panels. */
static void shared_packed(void) {
  syn_context c;
  syn_model *m;
  syn_context_init(&c, NULL);
  m = syn_model_load(&c, "good.safetensors");
  CHECK(syn_model_pack(m) == SYN_OK, "%s", c.message);
  if (m) test_two_threads(m);
  syn_model_free(m);
}

/* -- what can be looked at -- */

static void test_attention(void) {
  syn_context c;
  syn_run *r;
  syn_batch b = two("seq2seq");
  char out[40];
  static const float shades[] = {0.0f, 0.3f, 0.5f, 0.7f, 1.0f, 1e30f, NAN, -1.0f, -1e30f};
  int layer, head, i, j, k, heads, size[2], count = 0;
  size_t bytes_used, n;
  syn_context_init(&c, NULL);
  r = syn_run_new(&c, good_model, NULL);
  CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c.message);
  for (layer = 0; syn_model_attention(good_model, layer, &heads); layer++)
    for (head = 0; head < heads; head++)
      for (i = 0; i < 2; i++) {
        const float *p = syn_run_attention(r, layer, head, i, size);
        CHECK(p && size[0] > 0 && size[1] > 0, "layer %d, head %d, sentence %d", layer, head, i);
        for (j = 0; p && j < size[0]; j++) {
          double sum = 0;
          for (k = 0; k < size[1]; k++) {
            sum += (double)p[j * size[1] + k];
            CHECK(layer != 1 || k <= j || p[j * size[1] + k] == 0.0f, "a decoder sees the future");
          }
          CHECK(fabs(sum - 1) < 1e-5, "layer %d: row %d sums to %g", layer, j, sum);
        }
        count++;
      }
  CHECK(layer == 3 && count == 12 && heads == 0, "%d layers, %d matrices", layer, count);
  CHECK(!syn_run_attention(r, 0, 2, 0, size) && !syn_run_attention(r, 0, -1, 0, size) &&
            !syn_run_attention(r, 3, 0, 0, size) && !syn_run_attention(r, 0, 0, 2, size) && size[0] == 0,
        "matrices that are not there");
  n = syn_attention_shades(shades, 9, out, sizeof out);
  CHECK(n == 19 && n == strlen(out) && out[0] == ' ' && !strcmp(out + 16, "   "), "%s", out);
  for (bytes_used = 0; bytes_used < n + 2; bytes_used++) {
    char part[40];
    memset(part, '?', sizeof part);
    CHECK(syn_attention_shades(shades, 9, part, bytes_used) == n, "its size");
    CHECK(bytes_used == 0 || strlen(part) < bytes_used, "room %lu", (unsigned long)bytes_used);
    CHECK(part[bytes_used] == '?', "room %lu: one byte too many", (unsigned long)bytes_used);
  }
  syn_run_free(r);
}

/* The parameters of all nodes are those of the model; costs grow with the length. */
static void test_cost(void) {
  double parameters = 0, all = 0, one = 0, two_times = 0;
  size_t i;
  for (i = 0; i < syn_model_node_count(good_model); i++) {
    const syn_node *n = syn_model_node(good_model, i);
    parameters += syn_model_cost(good_model, n, 5).parameters;
    one += syn_model_cost(good_model, n, 5).multiply_adds;
    two_times += syn_model_cost(good_model, n, 10).multiply_adds;
  }
  for (i = 0; i < syn_model_param_count(good_model); i++) all += (double)syn_model_param(good_model, i)->size;
  all += (double)syn_model_find(good_model, "tgt.embed")->size; /* tied: embedding and output */
  CHECK(parameters == all, "%g parameters of nodes, %g of the model", parameters, all);
  CHECK(two_times > one && one > 0, "%g and %g multiply-adds", one, two_times);
  CHECK(!syn_model_param(good_model, 1000) && !syn_model_node(good_model, 1000) && !syn_model_find(good_model, "x"),
        "what is not there");
}

/* Null objects: an error or nothing, never a crash. */
static void test_null(void) {
  syn_context c;
  bytes b;
  syn_sink sink = sink_of(&b);
  int n, size[2];
  syn_context_init(&c, NULL);
  syn_model_free(NULL);
  syn_run_free(NULL);
  syn_trainer_free(NULL);
  CHECK(!syn_run_new(&c, NULL, NULL) && c.status == SYN_E_VALUE, "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_trainer_new(&c, NULL, NULL) && !syn_decoder_new(&c, NULL, NULL) && c.status == SYN_E_VALUE, "%s",
        c.message);
  syn_context_clear(&c);
  CHECK(syn_model_save_to(&c, NULL, &sink) != SYN_OK && b.size == 0, "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_model_view(&c, NULL, 0) && c.status != SYN_OK, "no bytes");
  syn_context_clear(&c);
  CHECK(!syn_model_load(&c, "nowhere.safetensors") && c.status == SYN_E_FILE, "%s", c.message);
  CHECK(syn_run_forward(NULL, NULL) != SYN_OK && !syn_run_logits(NULL, 0, &n) && n == 0 &&
            !syn_run_attention(NULL, 0, 0, 0, size) && !syn_model_attention(NULL, 0, &n),
        "no run");
}

/* Null places for results are not written: of every function that has one. The call does the same without. */
static void null_places(syn_context *c, syn_model *m) {
  syn_batch b = two("seq2seq");
  syn_train_config how;
  syn_limits keep;
  syn_data *d = syn_data_new(c);
  syn_trainer *t;
  syn_run *r;
  syn_decoder *decoder = syn_decoder_new(c, m, NULL);
  float loss, other;
  memset(&how, 0, sizeof how);
  memset(&keep, 0, sizeof keep);
  how.batch_tokens = 30;
  keep.keep = 1;
  t = syn_trainer_new(c, m, &how);
  r = syn_run_new(c, m, &keep);
  CHECK(syn_data_add(d, two_src, 3, two_src, 3) == SYN_OK && syn_data_row(d, 0, SYN_SRC, NULL), "%s", c->message);
  CHECK(syn_trainer_backward(t, &b, NULL) == SYN_OK && syn_trainer_backward(t, &b, &loss) == SYN_OK, "%s", c->message);
  CHECK(syn_trainer_step(t, &b, 1, NULL) == SYN_OK && syn_trainer_state(t)->step == 1, "%s", c->message);
  CHECK(syn_trainer_backward(t, &b, &other) == SYN_OK && other != loss, "no step was taken");
  CHECK(syn_trainer_batch_loss(t, &b, NULL, NULL) == SYN_OK && syn_trainer_evaluate(t, d, NULL, NULL) == SYN_OK &&
            syn_model_evaluate(c, m, d, 30, NULL, NULL) == SYN_OK, "%s", c->message);
  CHECK(syn_run_backward(r, &b, NULL) == SYN_OK && syn_run_logits(r, 1, NULL) && syn_run_attention(r, 0, 0, 0, NULL) &&
            syn_run_value(r, "out", 0, NULL) == SYN_OK && syn_model_attention(m, 0, NULL), "%s", c->message);
  CHECK(syn_run_vector(r, "encoder.2", 0, SYN_VECTOR_MEAN, NULL, 8) == SYN_OK, "%s", c->message);
  other = 5;
  CHECK(syn_run_vector(r, "encoder.2", 9, SYN_VECTOR_MEAN, &other, 1) == SYN_E_VALUE && other == 5, "%s", c->message);
  syn_context_clear(c);
  CHECK(syn_decoder_run(decoder, &b, NULL, NULL) == SYN_E_SHAPE, "%s", c->message); /* two sentences, planned: 1 */
  syn_context_clear(c);
  b.count = 1;
  b.tgt = NULL;
  CHECK(syn_decoder_run(decoder, &b, NULL, NULL) == SYN_OK && syn_decoder_output(decoder, 0, 0, NULL, NULL), "%s",
        c->message);
  syn_decoder_free(decoder);
  syn_run_free(r);
  syn_trainer_free(t);
  syn_data_free(d);
}
/* The same of functions without a model. */
static void null_texts(syn_context *c, const syn_config *k) {
  static const float x[] = {0.5f};
  static const int one[] = {1};
  const syn_text none = {NULL, 3};
  const syn_entry e = {"e", SYN_F32, 1, {1}, x, 4};
  const syn_corruption corruption = {0, 0, 5, 2, 0};
  syn_tokenizer *words = syn_tokenizer_learn(c, "byte", 0, NULL, 0);
  syn_tape *tape = syn_tape_new(c, 1000);
  syn_tensor *a = syn_tensor_new(tape, 1, one);
  int n = 0, id = 70;
  CHECK(syn_plan_of(c, k, NULL, NULL, NULL) == SYN_OK && syn_entry_floats(c, &e, NULL, 1) == SYN_OK, "%s", c->message);
  CHECK(syn_model_describe(c, k, NULL, 9) == syn_model_describe(c, k, NULL, 0), "%s", c->message);
  CHECK(!syn_count(NULL) && !syn_rows(NULL) && !syn_width(NULL), "no tensor");
  CHECK(syn_tensor_text(a, NULL, 9) == 11 && syn_tape_text(tape, NULL, 9) > 0, "text of a tensor");
  CHECK(syn_attention_shades(x, 1, NULL, 9) == 3, "shades");
  CHECK(syn_tokenizer_sentinels(words, NULL) == 0 && syn_tokenizer_encode(words, syn_text_of("ab"), NULL, 9) == 2 &&
            syn_tokenizer_decode(words, &id, 1, NULL, 9) == 1 && syn_tokenizer_save(words, NULL, 999) == 28,
        "tokenizer");
  CHECK(syn_tokenizer_encode(words, none, &id, 1) == 0 && syn_tokenizer_decode(words, NULL, 1, NULL, 0) == 0,
        "a text at null");
  syn_corrupt_sizes(&corruption, 9, NULL, NULL);
  syn_corrupt_sizes(NULL, 9, &n, NULL);
  CHECK(n == 9, "%d tokens", n);
  syn_corrupt(&corruption, one, 9, NULL, NULL, &id);
  CHECK(syn_random_next(NULL) == 0 && syn_random_below(NULL, 5) == 0 && syn_random_uniform(NULL) == 0.0f, "random");
  CHECK(syn_hash(5, NULL, 9) == 5, "hash");
  syn_tape_free(tape);
  syn_tokenizer_free(words);
}
static void test_null_places(void) {
  syn_config k = two_config("seq2seq");
  syn_context c;
  syn_model *m;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  null_places(&c, m);
  null_texts(&c, &k);
  syn_model_free(m);
}

/* Null objects give errors or nothing: functions that read. */
static void test_null_read(void) {
  syn_text none = syn_text_of(NULL), nothing = {NULL, 0};
  int n = 9, size[2] = {9, 9};
  float p = 9.0f;
  syn_cost cost = syn_model_cost(NULL, NULL, 7);
  CHECK(!none.size && none.at && !nothing.at, "a text");
  CHECK(!syn_model_config(NULL) && !syn_model_param_count(NULL) && !syn_model_param(NULL, 0) && !syn_model_find(NULL, "x") &&
            !syn_model_node_count(NULL) && !syn_model_node(NULL, 0) && !syn_model_tokenizer(NULL, 0) && !syn_model_file(NULL),
        "a model");
  CHECK(!syn_model_find(good_model, NULL) && !syn_model_tokenizer(good_model, -1) && !syn_model_tokenizer(good_model, 2),
        "a name, a side");
  CHECK(cost.parameters == 0.0 && cost.multiply_adds == 0.0 && cost.decode_bytes == 0.0, "a cost");
  cost = syn_model_cost(good_model, NULL, 7);
  CHECK(cost.parameters == 0.0, "no node");
  CHECK(!syn_data_count(NULL) && !syn_data_batches(NULL, 9, 1) && !syn_data_row(NULL, 0, 0, &n) && !n, "data");
  CHECK(!syn_trainer_state(NULL) && !syn_trainer_config(NULL) && !syn_trainer_gradient(NULL, NULL) && !syn_trainer_average(NULL),
        "a trainer");
  CHECK(!syn_run_attention(NULL, 0, 0, 0, size) && !size[0] && !size[1], "attention");
  CHECK(syn_run_class(NULL, 0, 0, 0, &p) == -1 && p == 0.0f && syn_run_class(NULL, 0, 0, 0, NULL) == -1, "a class");
  CHECK(syn_attention_shades(NULL, 4, NULL, 0) == 0, "shades");
  CHECK(!syn_file_count(NULL) && !syn_file_pair_count(NULL) && !syn_file_find(NULL, "x") && !syn_file_value(NULL, "x"), "a file");
  CHECK(!syn_context_exact(NULL) && !syn_isa_usable(-1) && !syn_isa_usable(syn_isa_count()) && *syn_isa_name(-1) == 'n' &&
            *syn_isa_name(syn_isa_count()) == 'n',
        "an ISA");
  n = 9;
  CHECK(!syn_decoder_output(NULL, 0, 0, &n, &p) && !n && !syn_decoder_output_text(NULL, 0, 0, NULL, 0, NULL), "a decoder");
  CHECK(syn_tokenizer_encode(NULL, none, NULL, 0) <= 0 && !syn_tokenizer_size(NULL) && !syn_tokenizer_flags(NULL), "a tokenizer");
}

/* ... and functions that do something. */
static void test_null_done(void) {
  syn_context c;
  syn_batch batch;
  syn_value value;
  syn_text none = syn_text_of("");
  bytes b;
  syn_sink sink = sink_of(&b);
  float loss = 9.0f, x;
  double sum;
  int64_t labels;
  memset(&batch, 0, sizeof batch);
  syn_context_init(&c, NULL);
  CHECK(syn_trainer_step(NULL, &batch, 1, &loss) && loss == 0.0f && syn_trainer_backward(NULL, &batch, &loss) &&
            syn_trainer_batch_loss(NULL, &batch, &sum, &labels) && syn_trainer_evaluate(NULL, NULL, &sum, &labels) &&
            syn_trainer_run(NULL, NULL, NULL, NULL, NULL) && syn_trainer_validate(NULL, NULL) && syn_trainer_load(NULL, "x"),
        "a trainer");
  CHECK(syn_data_add(NULL, NULL, 0, NULL, 0) && syn_data_add_text(NULL, NULL, none, none) &&
            syn_data_add_windows(NULL, NULL, 0, 1, 1) && syn_data_corrupt(NULL, NULL),
        "data");
  CHECK(syn_run_backward(NULL, &batch, NULL) && syn_run_text(NULL, none, none) && syn_run_value(NULL, "x", 0, &value) &&
            !value.x && syn_run_vector(NULL, "x", 0, 0, &x, 1),
        "a run");
  syn_decoder_set_seeds(NULL, NULL);
  syn_decoder_set_allowed(NULL, NULL);
  syn_decoder_set_banned(NULL, NULL);
  CHECK(syn_decoder_run(NULL, &batch, NULL, NULL) && syn_decoder_run_text(NULL, none, none, NULL, NULL), "a decoder");
  CHECK(syn_model_init_from(NULL, good_model, 0, NULL, NULL) == -1, "a model to begin");
  syn_model_set_tokenizers(NULL, NULL, NULL);
  CHECK(!syn_file_view(&c, NULL, 0) && c.status, "bytes");
  syn_context_clear(&c);
  CHECK(syn_file_write(&c, NULL, NULL, 0, NULL, 0) && c.status && syn_file_write_to(NULL, &sink, NULL, 0, NULL, 0), "a path");
  syn_context_clear(&c);
  CHECK(syn_file_write_to(&c, NULL, NULL, 0, NULL, 0) && c.status, "a sink");
  syn_context_clear(&c);
  sink.write = NULL;
  CHECK(syn_file_write_to(&c, &sink, NULL, 0, NULL, 0) && c.status, "a sink without a function");
  syn_context_clear(&c);
  CHECK(syn_trainer_save(NULL, "x") && syn_model_save(&c, NULL, "x") && c.status, "nothing to save");
  syn_context_clear(&c);
  CHECK(syn_small_write(&c, NULL, NULL, &sink) && c.status && syn_small_embed(&c, NULL, NULL, "x", &sink), "no small model");
  syn_context_clear(&c);
  CHECK(!syn_model_outline(&c, NULL, NULL) && c.status, "no network");
  syn_context_clear(&c);
  CHECK(syn_model_evaluate(&c, NULL, NULL, 0, &sum, &labels) && c.status, "nothing to evaluate");
  syn_context_clear(&c);
}

/* Arguments outside their range: each alone is an error with its words, and nothing has changed. */
static void wrong_argument(syn_context *c, int failed, const char *words) {
  CHECK(failed && strstr(c->message, words), "wanted \"%s\" in: %s", words, c->message);
  syn_context_clear(c);
}
static void data_refused(syn_context *c, const syn_model *m) {
  static const int tokens[] = {4, 5, 6};
  const int most = SYN__DATA_LENGTH, first = SYN_FIRST_TOKEN;
  const syn_corruption bad[] = {{-0.1f, 3, first, 2, 0}, {1.0f, 3, first, 2, 0}, {NAN, 3, first, 2, 0},
                                {0.1f, 0.5f, first, 2, 0}, {0.1f, NAN, first, 2, 0}, {0.1f, 3, first - 1, 2, 0},
                                {0.1f, 3, first, 0, 0}, {0.1f, 3, first, most + 1, 0}, {0.1f, 3, most + 1, 2, 0}, {0.1f, 3, first, 4, 1}};
  const syn_text text = syn_text_of("a"), none = {NULL, 2};
  syn_data *d = syn_data_new(c);
  double loss;
  size_t i;
  wrong_argument(c, syn_data_add(d, tokens, -1, tokens, 1) == SYN_E_VALUE, "rows of -1 and 1 tokens");
  wrong_argument(c, syn_data_add(d, tokens, 1, tokens, -1) == SYN_E_VALUE, "rows of 1 and -1 tokens");
  wrong_argument(c, syn_data_add(d, tokens, most + 1, tokens, 1) == SYN_E_VALUE, "tokens, wanted 0 to");
  wrong_argument(c, syn_data_add(d, tokens, 1, tokens, most + 1) == SYN_E_VALUE, "tokens, wanted 0 to");
  wrong_argument(c, syn_data_add(d, NULL, 1, tokens, 1) == SYN_E_VALUE, "source row");
  wrong_argument(c, syn_data_add(d, tokens, 1, NULL, 1) == SYN_E_VALUE, "target row");
  wrong_argument(c, syn_data_add_windows(d, tokens, 3, 0, 1) == SYN_E_VALUE, "windows of 0 tokens every 1");
  wrong_argument(c, syn_data_add_windows(d, tokens, 3, 2, 0) == SYN_E_VALUE, "windows of 2 tokens every 0");
  wrong_argument(c, syn_data_add_windows(d, tokens, 3, 2, 3) == SYN_E_VALUE, "windows of 2 tokens every 3");
  wrong_argument(c, syn_data_add_windows(d, NULL, 3, 2, 2) == SYN_E_VALUE, "text");
  wrong_argument(c, syn_data_add_text(d, m, none, text) == SYN_E_VALUE, "source text");
  wrong_argument(c, syn_data_add_text(d, m, text, none) == SYN_E_VALUE, "target text");
  CHECK(syn_data_add_windows(d, NULL, 0, 2, 2) == SYN_OK && syn_data_count(d) == 0, "%s", c->message);
  for (i = 0; i < sizeof bad / sizeof *bad; i++) wrong_argument(c, syn_data_corrupt(d, &bad[i]) == SYN_E_VALUE, "corruption: noise");
  CHECK(syn_data_add(d, tokens, 3, tokens, 2) == SYN_OK, "%s", c->message);
  CHECK(!syn_data_row(d, 1, SYN_SRC, NULL) && !syn_data_row(d, 0, SYN_EACH, NULL) && !syn_data_row(d, 0, -1, NULL), "rows");
  wrong_argument(c, syn_model_evaluate(c, m, d, 1, &loss, NULL) == SYN_E_VALUE, "batches of 1 tokens");
  wrong_argument(c, syn_model_evaluate(c, m, d, -1, &loss, NULL) == SYN_E_VALUE, "batches of -1 tokens");
  wrong_argument(c, syn_model_evaluate(c, m, d, most + 1, &loss, NULL) == SYN_E_VALUE, "tokens, wanted 2 to");
  wrong_argument(c, syn_model_evaluate(c, m, NULL, 30, &loss, NULL) == SYN_E_VALUE, "data");
  wrong_argument(c, syn_model_evaluate(c, NULL, d, 30, &loss, NULL) == SYN_E_VALUE, "model");
  syn_data_free(d);
}
static void run_refused(syn_context *c, const syn_model *m) {
  const syn_limits bad[] = {{-1, 0, 0, 0, 0, 0}, {0, -1, 0, 0, 0, 0}, {0, 0, -1, 0, 0, 0}, {0, 0, 0, -1, 0, 0},
                            {0, 0, 0, 0, 0, -1}, {0, 0, 0, 0, 0, 5}};
  syn_batch b = two("seq2seq");
  syn_trace_config trace;
  syn_limits keep;
  syn_run *r;
  bytes out;
  syn_sink sink = sink_of(&out), half = sink_of(&out);
  float x[99];
  int size[2], rows, i;
  for (i = 0; i < 6; i++)
    wrong_argument(c, !syn_run_new(c, m, &bad[i]), i < 4 ? "wanted 0 or more" : "wanted SYN_CUT_BY_TASK (0) to");
  memset(&keep, 0, sizeof keep);
  memset(&trace, 0, sizeof trace);
  keep.keep = 1;
  r = syn_run_new(c, m, &keep);
  CHECK(syn_run_forward(r, &b) == SYN_OK, "%s", c->message);
  CHECK(!syn_run_logits(r, -1, &rows) && !syn_run_logits(r, 2, &rows) && rows == 0, "logits of no sentence");
  CHECK(!syn_run_attention(r, 0, -1, 0, size) && !syn_run_attention(r, 0, 99, 0, size) &&
            !syn_run_attention(r, 0, 0, -1, size) && !syn_run_attention(r, 0, 0, 2, size) &&
            !syn_run_attention(r, -1, 0, 0, size) && !syn_run_attention(r, 99, 0, 0, size) && !size[0],
        "attention of no head, sentence, layer");
  CHECK(syn_run_class(r, 0, 0, 0, x) == -1, "a class of a task without classes");
  wrong_argument(c, syn_run_vector(r, "src.embed", 0, SYN_VECTOR_MEAN, x, 8) == SYN_E_SHAPE, "a vector of width 8");
  wrong_argument(c, syn_run_vector(r, "encoder.2.g", 0, SYN_VECTOR_MEAN, x, 8) != SYN_OK, "encoder.2");
  wrong_argument(c, syn_run_value(r, NULL, 0, NULL) == SYN_E_VALUE, "path");
  wrong_argument(c, syn_run_backward(r, NULL, x) != SYN_OK, "batch");
  CHECK(syn_run_forward(r, &b) == SYN_OK, "%s", c->message); /* there is no batch after a refused one */
  half.write = NULL;
  CHECK(syn_trace(m, r, NULL, NULL) == SYN_E_VALUE && !out.size, "sink");
  CHECK(syn_trace(m, r, NULL, &half) == SYN_E_VALUE && !out.size, "sink");
  trace.sentence = -1;
  CHECK(syn_trace(m, r, &trace, &sink) == SYN_E_VALUE && !out.size, "sentence -1");
  trace.sentence = 2;
  CHECK(syn_trace(m, r, &trace, &sink) == SYN_E_VALUE && !out.size, "sentence 2, the last pass had 2");
  trace.sentence = 1;
  CHECK(syn_trace(m, r, &trace, &sink) == SYN_OK, "%s", c->message);
  free(out.at);
  memset(&out, 0, sizeof out);
  CHECK(syn_trace_network(c, syn_model_config(m), NULL) == SYN_E_VALUE && !out.size, "sink");
  CHECK(syn_trace_network(c, syn_model_config(m), &half) == SYN_E_VALUE && !out.size, "sink");
  wrong_argument(c, syn_small_write(c, m, NULL, NULL) == SYN_E_VALUE, "sink");
  wrong_argument(c, syn_small_write(c, m, NULL, &half) == SYN_E_VALUE, "sink");
  wrong_argument(c, syn_small_embed(c, m, NULL, "x", NULL) == SYN_E_VALUE, "sink");
  wrong_argument(c, syn_small_embed(c, m, NULL, "x", &half) == SYN_E_VALUE, "sink");
  wrong_argument(c, syn_small_embed(c, m, NULL, NULL, &sink) == SYN_E_VALUE, "name");
  CHECK(syn_small_write(NULL, m, NULL, &sink) == SYN_E_VALUE && syn_small_embed(NULL, m, NULL, "x", &sink) == SYN_E_VALUE &&
            !out.at,
        "no context");
  syn_run_free(r);
}
static void test_arguments(void) {
  syn_config k = two_config("seq2seq");
  syn_var var = {NULL, 1.0};
  syn_context c;
  syn_model *m;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, syn_tokenizer_learn(&c, "byte", 0, NULL, 0), NULL);
  syn_context_clear(&c);
  data_refused(&c, m);
  run_refused(&c, m);
  k.n_vars = 1;
  wrong_argument(&c, !syn_model_new(&c, &k), "the list or a name is null");
  k.vars = &var;
  wrong_argument(&c, !syn_model_new(&c, &k), "the list or a name is null");
  k.n_vars = -1;
  wrong_argument(&c, !syn_model_new(&c, &k), "the list or a name is null");
  syn_model_free(m);
}

/* -- kinds that a tape, or the proof of a kind, refuses -- */

static syn_status wants_shape(syn_build *b, syn_node *n) {
  syn_extent e;
  const int which = *(const int *)n->own;
  size_t *const of[5] = {&e.fixed, &e.row, &e.pair, &e.length, &e.square};
  memset(&e, 0, sizeof e);
  *of[which % 5] = 1;
  if (which < 5) n->scratch = e;
  else if (syn_build_save(b, n, SYN_BOTH, e)) return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}
static void wants_pass(syn_tape *t, const syn_node *n) {
  memcpy(syn_out(t, n)->x, syn_in(t, n, 0)->x, syn_count(syn_out(t, n)) * sizeof(float));
}
static void test_tape_wants(void) {
  const int shape[2] = {2, 3};
  syn_context c;
  syn_kind kind;
  syn_tape *t;
  syn_tensor *x, *none[SYN_MAX_IN + 1];
  int i;
  syn_context_init(&c, NULL);
  memset(&kind, 0, sizeof kind);
  memset(none, 0, sizeof none);
  kind.name = "wants";
  kind.shape = wants_shape;
  kind.forward = kind.backward = wants_pass;
  t = syn_tape_new(&c, 1 << 16);
  x = syn_tensor_new(t, 2, shape);
  for (i = 0; x && i < 10; i++) {
    syn_tensor *y = syn_record(&kind, 1, &x, &i, sizeof i);
    if (i == 5 || i == 6) CHECK(y && c.status == SYN_OK, "%d: %s", i, c.message); /* floats, and for each row */
    else wrong_argument(&c, !y, "which a tape does not have");
  }
  kind.args = "width";
  wrong_argument(&c, !syn_record(&kind, 1, &x, &i, sizeof i), "a kind with arguments");
  kind.forward = NULL;
  wrong_argument(&c, !syn_record(&kind, 1, &x, &i, sizeof i), "without name, shape, forward or backward");
  kind.shape = NULL;
  wrong_argument(&c, !syn_record(&kind, 1, &x, &i, sizeof i), "without name, shape, forward or backward");
  kind.name = NULL;
  wrong_argument(&c, !syn_record(&kind, 1, &x, &i, sizeof i), "without name, shape, forward or backward");
  CHECK(!syn_record(&kind, SYN_MAX_IN + 1, none, NULL, 0) && !syn_record(&kind, 2, none, NULL, 0) && !c.status,
        "no tensor, no context");
  syn_tape_clear(NULL);
  CHECK(syn_tape_text(NULL, NULL, 0) == 0, "no tape");
  syn_tape_free(t);
}

/* y = x + f(g) x, each time with one defect. */
enum { PROVED_FLAT, PROVED_COUNT, PROVED_KINKS, PROVED_CALLS, PROVED_ALONE, PROVED_ALL };
static int proved, proved_calls;
static syn_status proved_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  if (syn_build_param(b, n, "g", syn_initial_of(SYN_INIT_CONSTANT, 0.5), 1, &d)) return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}
static float proved_factor(float g) { /* a saw, or the number itself */
  if (proved == PROVED_KINKS) return 0.5f * fabsf(g * 700.0f - 2.0f * floorf(g * 350.0f) - 1.0f);
  return proved == PROVED_CALLS ? g * (float)(proved_calls % 64) : g;
}
static void proved_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0);
  const size_t d = (size_t)syn_width(x);
  size_t i;
  proved_calls++;
  for (i = 0; i < syn_count(x); i++) y->x[i] = x->x[i] + proved_factor(g[i % d]) * x->x[i];
  for (i = 0; i < syn_count(x) && proved == PROVED_ALONE; i++) y->x[i] *= (float)syn_rows(x);
}
static void proved_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0);
  const size_t d = (size_t)syn_width(x);
  const float more = proved == PROVED_COUNT ? 1.0f + 1e-6f * (float)(proved_calls % 64) : 1.0f;
  size_t i;
  for (i = 0; i < syn_count(x); i++) {
    x->dx[i] += y->dx[i] * (1.0f + proved_factor(g[i % d])) * more;
    if (proved != PROVED_FLAT) syn_dweight(t, n, 0)[i % d] += x->x[i] * y->dx[i];
  }
}
static void test_proved(void) {
  static const char *const wanted[PROVED_ALL] = {"gradient: that of decoder.0.g is 0",
    "gradient: the second time it has other bits", "gradient: decoder.0.g",
    "padding: with four columns of it: sentence 0, row 0, logit 0 is ",
    "padding: without the other sentences: sentence "};
  syn_kind kind, other;
  const syn_kind *const beside = &other;
  syn_options options;
  syn_context c;
  memset(&kind, 0, sizeof kind);
  kind.name = "proved";
  kind.args = "";
  kind.shape = proved_shape;
  kind.forward = kind.step = proved_forward;
  kind.backward = proved_backward;
  memset(&options, 0, sizeof options);
  options.kinds = &beside;
  options.n_kinds = 1;
  other = kind;
  other.name = "beside";
  syn_context_init(&c, &options);
  for (proved = 0; proved < PROVED_ALL; proved++) {
    proved_calls = 0;
    syn_kind_check(&c, &kind, NULL);
    wrong_argument(&c, c.status == SYN_E_VALUE, wanted[proved]);
  }
  CHECK(syn__fail(&c, SYN_E_VALUE, "before") && syn_kind_check(&c, &kind, NULL) == SYN_E_VALUE &&
            !strcmp(c.message, "before"), "%s", c.message);
}

/* -- texts that a run cannot answer for -- */

static void test_answers_refused(void) {
  const syn_text label[3] = {syn_text_of("good"), syn_text_of("bad"), syn_text_of("more")}, none = {NULL, 0};
  const syn_text text = syn_text_of("abd"), many = syn_text_of(
    "a name of a class that is longer than the sixty bytes of it which an error shows");
  syn_config k = two_config("seq2seq");
  syn_tokenizer *t, *classes;
  syn_context c;
  syn_limits limits;
  syn_model *m;
  syn_run *r;
  int word[4];
  syn_context_init(&c, NULL);
  memset(&limits, 0, sizeof limits);
  t = syn_tokenizer_learn(&c, "char", 0, &text, 1);
  k.src_vocab = k.tgt_vocab = syn_tokenizer_size(t);
  k.decoder = "rnn(state=source) -> linear";
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, t, t);
  r = syn_run_new(&c, m, NULL);
  wrong_argument(&c, syn_align(r, text, text, word, 4) == -1, "syn_align: no layer of the decoder has attention");
  syn_run_free(r);
  r = syn_run_new(&c, good_model, NULL);
  wrong_argument(&c, syn_align(r, many, text, word, 4) == -1, "");
  CHECK(syn_run_backward(NULL, NULL, NULL) == SYN_E_VALUE, "no run");
  wrong_argument(&c, syn_run_backward(r, NULL, NULL) == SYN_E_VALUE, "without `keep`");
  syn_run_free(r);
  syn_model_free(m);
  k = two_config("lm");
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, NULL);
  wrong_argument(&c, syn_align(r, text, text, word, 4) == -1, "a model of the task lm, wanted seq2seq");
  syn_run_free(r);
  syn_model_free(m);
  k = two_config("classify");
  t = syn_tokenizer_learn(&c, "char", 0, &text, 1);
  classes = syn_tokenizer_learn(&c, "line", 0, label, 3);
  k.src_vocab = syn_tokenizer_size(t);
  k.tgt_vocab = syn_tokenizer_size(classes);
  k.classes = 3;
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, t, classes);
  r = syn_run_new(&c, m, NULL);
  wrong_argument(&c, syn_align(r, text, text, word, 4) == -1, "a model of the task classify, wanted seq2seq");
  CHECK(syn_score(r, text, label[1], NULL, 0) == 1, "%s", c.message);
  wrong_argument(&c, syn_score(r, text, none, NULL, 0) == -1, "no class is named ''");
  wrong_argument(&c, syn_score(r, text, many, NULL, 0) == -1, "than the sixty bytes of it '");
  wrong_argument(&c, syn_score(r, text, syn_text_of("god"), NULL, 0) == -1, "the nearest is good");
  wrong_argument(&c, syn_tag(r, text, word, 4) == -1, "wanted tag");
  syn_run_free(r);
  syn_model_free(m);
}

/* -- rows that a model takes from another -- */

static int init_rows2(const syn_model *m, const syn_model *from, int *source, int *target, const char *name,
                      const int p[4], const int q[4]) {
  static float x[2][64];
  syn__init k;
  syn_param of[2];
  int i, j;
  memset(of, 0, sizeof of);
  for (i = 0; i < 2; i++) {
    const int *shape = i ? q : p;
    of[i].name = name;
    of[i].rank = shape[0];
    of[i].size = 1;
    of[i].x = x[i];
    for (j = 0; j < shape[0]; j++) of[i].shape[j] = shape[j + 1], of[i].size *= (size_t)shape[j + 1];
  }
  k.m = m, k.from = from;
  k.row[SYN_SRC] = source;
  k.row[SYN_TGT] = target;
  return syn__init_copy(&k, &of[0], q[0] ? &of[1] : NULL);
}
static int init_rows(const syn_model *m, const syn_model *from, int *map, const char *name, const int p[4],
                     const int q[4]) {
  return init_rows2(m, from, map, map, name, p, q);
}
static void test_init_rows(void) {
  static const int matrix[4] = {2, 6, 2, 0}, vector[4] = {1, 6, 0, 0}, wide[4] = {2, 6, 3, 0}, few[4] = {2, 5, 2, 0};
  static const int cube[4] = {3, 2, 3, 2}, other[4] = {3, 2, 2, 3}, none[4] = {0, 0, 0, 0};
  const syn_model *m = good_model;
  const syn_text line = syn_text_of("abcdefg abd fcg");
  syn_config k = two_config("tag");
  syn_tokenizer *t;
  syn_context c;
  syn_model *tagger, *lm, *masked, *joint;
  int map[64], permuted[64], i;
  syn_context_init(&c, NULL);
  tagger = syn_model_new(&c, &k);
  k = two_config("lm");
  lm = syn_model_new(&c, &k);
  k = two_config("tag");
  k.task = "mlm";
  masked = syn_model_new(&c, &k);
  CHECK(tagger && lm && masked, "%s", c.message);
  for (i = 0; i < 64; i++) map[i] = i;
  CHECK(init_rows(m, m, NULL, "w", matrix, matrix) == 6, "the same shape");
  CHECK(init_rows(m, m, NULL, "w", matrix, vector) == 0 && init_rows(m, m, NULL, "w", matrix, wide) == 0 &&
            init_rows(m, m, NULL, "w", matrix, few) == 0 && init_rows(m, m, NULL, "w", cube, other) == 0,
        "other shapes");
  CHECK(init_rows(m, tagger, NULL, "out.w", matrix, matrix) == 0, "logits of tags");
  CHECK(init_rows(tagger, m, NULL, "out.w", matrix, matrix) == 0, "logits of tokens");
  CHECK(init_rows(m, lm, NULL, "out.w", matrix, matrix) == 6, "both are logits of tokens");
  CHECK(init_rows(m, m, map, "src.embed", matrix, few) == 5, "a row that is not there");
  map[4] = -1;
  CHECK(init_rows(m, m, map, "src.embed", matrix, few) == 4, "a token that is not there");
  CHECK(init_rows(m, m, map, "tgt.embed", matrix, matrix) == 5, "a token that is not there");
  if (masked) CHECK(init_rows(masked, masked, NULL, "out.w", matrix, matrix) == 6, "logits of the source");
  CHECK(init_rows(m, m, map, "w", matrix, few) == 0, "no table of tokens");
  CHECK(init_rows(m, m, map, "w", matrix, none) == 0, "no source");
  k = two_config("seq2seq");
  k.src_vocab = k.tgt_vocab = syn_tokenizer_size(good_tokenizer);
  k.tie = "all";
  joint = syn_model_new(&c, &k);
  CHECK(joint, "%s", c.message);
  t = syn_tokenizer_learn(&c, "char", 0, &line, 1);
  syn_model_set_tokenizers(joint, t, t);
  for (i = 0; i < 64; i++) map[i] = i, permuted[i] = i < 4 ? i : 9 - i;
  CHECK(init_rows2(joint, m, map, map, "tgt.embed", matrix, matrix) == 6, "both sides agree");
  CHECK(init_rows2(joint, m, map, permuted, "tgt.embed", matrix, matrix) == 4, "the sides have other tokens");
  CHECK(init_rows2(joint, m, NULL, permuted, "out.w", matrix, few) == 5, "rows of logits, the last one is not there");
  CHECK(init_rows2(joint, m, map, NULL, "out.w", matrix, few) == 0, "tokens of the other side");
  CHECK(init_rows2(joint, m, NULL, NULL, "src.embed", matrix, few) == 0, "no tokens are known");
  syn_model_free(joint);
  syn_model_free(tagger);
  syn_model_free(lm);
  syn_model_free(masked);
}
/* Tokenizers of other texts, with sentinels and without; any allocation may be refused. */
static void test_init_map(void) {
  const syn_text text[2] = {syn_text_of("a b c d"), syn_text_of("d c e f g a")};
  long at;
  int taken = -1, flags, i;
  for (flags = 0; flags < 4; flags++)
    for (at = 0; at < 30; at++) {
      syn_model *m[2];
      syn_context c;
      heap h;
      context_on(&c, &h, 0);
      for (i = 0; i < 2; i++) {
        syn_config k = two_config("lm");
        syn_tokenizer *t = syn_tokenizer_learn(&c, "space", flags >> i & 1 ? SYN_SENTINELS : 0, &text[i], 1);
        k.tgt_vocab = syn_tokenizer_size(t);
        m[i] = syn_model_new(&c, &k);
        syn_model_set_tokenizers(m[i], NULL, t);
      }
      CHECK(m[0] && m[1], "%s", c.message);
      if (at) h.fail_at = h.calls + at;
      taken = syn_model_init_from(m[0], m[1], 0, NULL, NULL);
      CHECK(at ? taken >= 0 || c.status == SYN_E_MEMORY : taken > 0, "call %ld: %d, %s", at, taken, c.message);
      i = at && h.calls < h.fail_at;
      syn_model_free(m[0]);
      syn_model_free(m[1]);
      CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
      if (i) break; /* nothing was refused */
    }
}

/* -- checkpoints: tokenizers, patience -- */

static int kept_loads(syn_context *c, syn_tokenizer *t, int vocabulary, const bytes *file, bytes *made, int stop) {
  static const int row[6] = {4, 5, 6, 7, 8, 9};
  syn_config k = two_config("lm");
  syn_train_config how;
  syn_model *m;
  syn_trainer *trainer;
  syn_data *d = syn_data_new(c);
  int i, ok;
  memset(&how, 0, sizeof how);
  how.batch_tokens = 20;
  how.steps = 4;
  how.every = 1;
  how.stop_after = stop;
  how.lr = 1e-30f; /* nothing gets better */
  k.tgt_vocab = vocabulary;
  m = syn_model_new(c, &k);
  syn_model_set_tokenizers(m, NULL, t);
  for (i = 0; i < 8; i++) syn_data_add(d, NULL, 0, row, 3 + i % 4);
  trainer = syn_trainer_new(c, m, &how);
  if (made) {
    syn_sink sink = sink_of(made);
    ok = syn_trainer_run(trainer, d, d, NULL, NULL) == SYN_OK && syn_trainer_save_to(trainer, &sink) == SYN_OK;
  } else {
    file_put("kept.safetensors", file->at, file->size);
    ok = syn_trainer_load(trainer, "kept.safetensors") == SYN_OK;
  }
  syn_trainer_free(trainer);
  syn_data_free(d);
  syn_model_free(m);
  return ok;
}
static void test_kept(void) {
  const syn_text text[3] = {syn_text_of("a b c d e f"), syn_text_of("a b c d e g"), syn_text_of("a b c d e fg")};
  syn_tokenizer *t[6];
  syn_context c;
  bytes file, bare;
  int i, n = 0;
  syn_context_init(&c, NULL);
  for (i = 0; i < 6; i++) t[i] = syn_tokenizer_learn(&c, "space", 0, &text[i < 4 ? 0 : i - 3], 1);
  n = syn_tokenizer_size(t[0]);
  CHECK(kept_loads(&c, t[0], n, NULL, &file, 2), "%s", c.message);
  CHECK(kept_loads(&c, NULL, n, NULL, &bare, 0), "%s", c.message);
  CHECK(kept_loads(&c, t[1], n, &file, NULL, 2), "the same tokenizer: %s", c.message);
  CHECK(kept_loads(&c, NULL, n, &file, NULL, 1), "a model without tokenizer: %s", c.message);
  CHECK(kept_loads(&c, t[2], n, &bare, NULL, 0), "a file without tokenizer: %s", c.message);
  CHECK(kept_loads(&c, t[3], n, &file, NULL, 100), "more patience: %s", c.message);
  wrong_argument(&c, !kept_loads(&c, t[4], n, &file, NULL, 2), "is not that of the model");
  wrong_argument(&c, !kept_loads(&c, t[5], n, &file, NULL, 2), "is not that of the model");
  CHECK(syn_trainer_load(NULL, "kept.safetensors") == SYN_E_VALUE, "no trainer");
  remove("kept.safetensors");
  free(file.at);
  free(bare.at);
}

int main(void) {
  good_make();
  test_refused(); /* trains the good model */
  good_free();
  good_make();
  test_no_allocation();
  test_plan();
  test_limits();
  test_long_sentences();
  test_long_positions();
  test_huge();
  test_configs();
  test_ties();
  test_start();
  test_orthogonal();
  test_files();
  test_not_finite();
  test_metadata();
  test_bad_files();
  test_damage();
  test_loss_rows();
  test_outline();
  test_packed();
  if (!CHECK_EMULATED) test_packed_plan(); /* a million random numbers, and no sum depends on the processor */
  test_packed_files();
  test_other_tensors();
  test_two_threads(good_model);
  shared_packed();
  test_attention();
  test_cost();
  test_null();
  test_null_places();
  test_null_read();
  test_null_done();
  test_arguments();
  test_tape_wants();
  test_proved();
  test_answers_refused();
  test_init_rows();
  test_init_map();
  test_kept();
  good_free();
  return CHECK_END("model");
}
