/* Memory that ends: of every public call that allocates, allocation N fails for N = 1, 2 ... until
   the call succeeds; then the same with every allocation from N on. The call must say "out of
   memory", lose no block, leave every object as it was and succeed when it is called again, with
   the result of a call that never failed. The table below names every such function of the header;
   the functions that allocate nothing are counted, too. Buffers of the caller that are one byte too
   small: nothing is written behind them, and the call says how many bytes it wants. */
#include <ctype.h>
#define SYNTHESIZER_IMPLEMENTATION
#include <stddef.h>
static size_t arena_chunk(void);
#define SYN__ARENA_CHUNK arena_chunk()
#include "../synthesizer.h"
#include "../tools/document.h"

#include "check.h"
#include "heap.h"
#include "left.h"
#include "sink.h"

static size_t chunk = 64 * SYN__ALIGN; /* 16: each object of a graph is an allocation of its own */
static size_t arena_chunk(void) { return chunk; }

/* -- the objects that the calls work on -- */

enum { ROWS = 30, WIDTH = 8, LENGTH = 8 };
static const char ALPHABET[] = "abcdefg";

typedef struct world {
  heap h;
  syn_context c;
  syn_model *m, *viewed, *packed; /* the same network; the last two from good.safetensors */
  syn_data *d;
  syn_trainer *t;
  syn_decoder *decoder;
  syn_run *r;
  syn_tape *tape;
  syn_tensor *a, *loss;
  syn_file *f;
  bytes out; /* of the sink */
} world;

/* The bytes of good.safetensors, a tokenizer, a small model and good.checkpoint as bytes. */
static bytes good, saved_tokenizer, small, good_checkpoint;

static syn_tensor *bias; /* of the tape of the newest world */

static syn_config config_of(void) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.encoder = "pos -> res_nd(syn_att(R+V)) -> norm";
  k.decoder = "learn_pos -> res_nd(syn_att(D)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm";
  k.d_model = WIDTH;
  k.heads = 2;
  k.max_len = LENGTH;
  k.src_vocab = k.tgt_vocab = SYN_FIRST_TOKEN + (int)strlen(ALPHABET);
  k.seed = 3;
  return k;
}

static syn_train_config train_of(void) {
  syn_train_config how;
  memset(&how, 0, sizeof how);
  how.batch_tokens = 40;
  how.steps = 6;
  how.every = 3;
  how.average = 1;
  how.ema = 0.2f;
  return how;
}

static int data_fill(syn_data *d) {
  int row[6], i;
  for (i = (int)syn_data_count(d); i < ROWS; i++) {
    int n = 1 + i % 6, k;
    for (k = 0; k < n; k++) row[k] = SYN_FIRST_TOKEN + (i + k) % 7;
    if (syn_data_add(d, row, n, row, n)) return 0;
  }
  return 1;
}

static syn_tokenizer *letters(syn_context *c) {
  syn_text line = syn_text_of(ALPHABET);
  return syn_tokenizer_learn(c, "char", 0, &line, 1);
}

static int world_make(world *w) {
  syn_config k = config_of();
  syn_train_config how = train_of();
  syn_limits keep;
  syn_tokenizer *t;
  const int shape[] = {4, 4};
  memset(w, 0, sizeof *w);
  memset(&keep, 0, sizeof keep);
  keep.keep = 1;
  keep.src_rows = 16;
  context_on(&w->c, &w->h, 0);
  w->m = syn_model_new(&w->c, &k);
  t = letters(&w->c);
  syn_model_set_tokenizers(w->m, t, t);
  w->viewed = good.at ? syn_model_view(&w->c, good.at, good.size) : NULL;
  w->packed = good.at ? syn_model_load(&w->c, "good.safetensors") : NULL;
  syn_model_pack(w->packed);
  w->f = good.at ? syn_file_view(&w->c, good.at, good.size) : NULL;
  w->d = syn_data_new(&w->c);
  w->t = syn_trainer_new(&w->c, w->m, &how);
  w->decoder = syn_decoder_new(&w->c, w->m, NULL);
  w->r = syn_run_new(&w->c, w->m, &keep);
  w->tape = syn_tape_new(&w->c, 1 << 14);
  w->a = syn_tensor_new(w->tape, 2, shape);
  if (w->a) w->a->x[3] = 0.5f;
  bias = syn_tensor_new(w->tape, 1, shape);
  w->loss = syn_mean(syn_softmax(w->a));
  CHECK(w->loss && data_fill(w->d) && w->t && w->r && w->decoder, "%s", w->c.message);
  return w->c.status == SYN_OK;
}

static void world_free(world *w) {
  syn_tape_free(w->tape);
  syn_run_free(w->r);
  syn_decoder_free(w->decoder);
  syn_trainer_free(w->t);
  syn_data_free(w->d);
  syn_file_free(w->f);
  syn_model_free(w->packed);
  syn_model_free(w->viewed);
  syn_model_free(w->m);
  free(w->out.at);
}

static uint64_t hash_model(uint64_t hash, const syn_model *m) {
  size_t i;
  for (i = 0; i < syn_model_param_count(m); i++) {
    const syn_param *p = syn_model_param(m, i);
    if (p->x) hash = syn_hash(hash, p->x, p->size * sizeof *p->x);
  }
  return hash;
}

/* What a call that failed must leave as it was: weights, data, the state of the training. */
static uint64_t hash_world(const world *w) {
  const syn_train_state *s = syn_trainer_state(w->t);
  uint64_t hash = hash_model(SYN_HASH_START, w->m);
  size_t i, count = syn_data_count(w->d);
  int n;
  hash = hash_model(hash, w->viewed);
  hash = hash_model(hash, w->packed);
  hash = syn_hash(hash, &s->step, sizeof s->step);
  hash = syn_hash(hash, &s->batch, sizeof s->batch);
  hash = syn_hash(hash, &s->best, sizeof s->best);
  for (i = 0; i < count; i++) {
    const int *row = syn_data_row(w->d, i, SYN_SRC, &n);
    hash = syn_hash(hash, row, (size_t)n * sizeof *row);
  }
  return hash;
}

static syn_sink sink_empty(world *w) {
  free(w->out.at);
  return sink_of(&w->out);
}

/* A file by its bytes; 0: there is none. */
static uint64_t hash_file(const char *path) {
  FILE *f = fopen(path, "rb");
  uint64_t hash = SYN_HASH_START;
  char part[512];
  size_t n;
  if (!f) return 0;
  while ((n = fread(part, 1, sizeof part, f)) > 0) hash = syn_hash(hash, part, n);
  fclose(f);
  return hash;
}

/* -- the calls: 1 is success, *hash then holds the result -- */

static int of_model(syn_model *m, uint64_t *hash) {
  *hash = hash_model(SYN_HASH_START, m);
  syn_model_free(m);
  return m != NULL;
}
static int of_sink(const world *w, syn_status status, uint64_t *hash) {
  *hash = syn_hash(SYN_HASH_START, w->out.at, w->out.size);
  CHECK(!status || !w->out.size, "%lu bytes were written before the error",
        (unsigned long)w->out.size);
  return status == SYN_OK;
}
/* A file that is written is whole, or it is what it was. */
static int of_file(const char *path, uint64_t before, syn_status status, uint64_t *hash) {
  *hash = hash_file(path);
  CHECK(!status || *hash == before, "%s is not what it was", path);
  CHECK(!left_files(), "%s: a temporary file is left", path);
  return status == SYN_OK;
}

static int call_model_new(world *w, uint64_t *hash) {
  syn_config k = config_of();
  return of_model(syn_model_new(&w->c, &k), hash);
}
/* Every kind that a text may name. */
static syn_config every_kind(void) {
  syn_config k = config_of();
  k.encoder = "pos -> dropout(0.1) -> id -> linear -> res(ff) -> res_nd(cnn(k=3)) -> act(gelu)"
              " -> norm -> rms_norm -> birnn -> highway(linear) -> concat(id | ff) -> linear"
              " -> parallel_add(id | ff) -> repeat(2, res_nd(ff)) -> universal(2, res_nd(ff))"
              " -> rel_pos(2, 2) -> light_conv -> aop(keys=5) -> linformer(k=2)"
              " -> fixed_att(heads=8) -> res_d(ffl) -> syn_att(V+R+Fix+FR+D+FD+Conv+CRC+BD+BCRC+GLU, m=5)";
  k.decoder = "input_feed -> linear -> learn_pos -> rnn(cell=gru) -> rnn -> dyn_conv(k=3)"
              " -> res_nd(mh_dot_att) -> res(mlp_att(5)) -> ffl(act=tanh)";
  return k;
}
static int call_every_kind(world *w, uint64_t *hash) {
  syn_config k = every_kind();
  return of_model(syn_model_new(&w->c, &k), hash);
}
static int call_blocks(world *w, uint64_t *hash) {
  static const syn_var var = {"n", 2.0};
  syn_config k = config_of();
  k.encoder = "repeat($n, res_nd(ff)) -> norm";
  k.decoder = "universal(2, ff -> norm) -> repeat($n, res(mh_dot_src_att(source=increasing)))";
  k.vars = &var;
  k.n_vars = 1;
  return of_model(syn_model_new(&w->c, &k), hash);
}
static int call_every_decoder(world *w, uint64_t *hash) { /* with every cache */
  syn_decode_config how;
  syn_config k = every_kind();
  syn_model *m = syn_model_new(&w->c, &k);
  syn_decoder *d;
  memset(&how, 0, sizeof how);
  how.beam = 2;
  d = syn_decoder_new(&w->c, m, &how);
  *hash = 0;
  syn_decoder_free(d);
  syn_model_free(m);
  return d != NULL;
}
static int call_describe(world *w, uint64_t *hash) {
  syn_config k = config_of();
  char out[4000] = "";
  size_t size = syn_model_describe(&w->c, &k, out, sizeof out);
  *hash = syn_hash(SYN_HASH_START, out, size < sizeof out ? size : sizeof out);
  return size > 0;
}
static int call_plan(world *w, uint64_t *hash) {
  syn_config k = config_of();
  syn_plan plan, none;
  syn_status status;
  memset(&plan, 0x55, sizeof plan);
  memset(&none, 0, sizeof none);
  status = syn_plan_of(&w->c, &k, NULL, NULL, &plan);
  CHECK(!status || !memcmp(&plan, &none, sizeof plan), "the plan is not zeroed");
  *hash = syn_hash(SYN_HASH_START, &plan, sizeof plan);
  return status == SYN_OK;
}
static int call_init_from(world *w, uint64_t *hash) { /* copies the weights of the file first */
  int n = syn_model_init_from(w->viewed, w->m, 0, NULL, NULL);
  *hash = hash_model(SYN_HASH_START, w->viewed);
  return n > 0;
}
static int call_pack(world *w, uint64_t *hash) { /* copies the weights of the file first */
  syn_status status = syn_model_pack(w->viewed);
  *hash = hash_model(SYN_HASH_START, w->viewed);
  return status == SYN_OK;
}
static int call_run_new(world *w, uint64_t *hash) {
  syn_run *r = syn_run_new(&w->c, w->m, NULL);
  *hash = 0;
  syn_run_free(r);
  return r != NULL;
}
static int call_trace_network(world *w, uint64_t *hash) {
  syn_config k = config_of();
  syn_sink sink = sink_empty(w);
  syn_status status = syn_trace_network(&w->c, &k, &sink);
  *hash = syn_hash(SYN_HASH_START, w->out.at, w->out.size); /* an error is part of the document */
  return status == SYN_OK;
}

/* Of a kind of the caller: y = x, computed row by row. */
static int call_trace_error(world *w, uint64_t *hash) { /* the layers up to the error are in it */
  syn_config k = config_of();
  syn_sink sink = sink_empty(w);
  syn_status status;
  k.decoder = "pos -> res(ff -> nolayer(3)) -> norm";
  status = syn_trace_network(&w->c, &k, &sink);
  *hash = syn_hash(SYN_HASH_START, w->out.at, w->out.size);
  if (status == SYN_E_TEXT) syn_context_clear(&w->c);
  return status == SYN_E_TEXT;
}
static syn_status copy_shape(syn_build *b, syn_node *n) { return syn_build_out_like(b, n, 0); }
static void copy_forward(syn_tape *t, const syn_node *n) {
  memcpy(syn_out(t, n)->x, syn_in(t, n, 0)->x, syn_count(syn_out(t, n)) * sizeof(float));
}
static void copy_backward(syn_tape *t, const syn_node *n) {
  syn_tensor *x = syn_in(t, n, 0);
  syn_accumulate(t, x->dx, syn_out(t, n)->dx, 1.0f, syn_count(x), 0);
}
static const syn_kind copy_kind = {"copy_rows", "",            0,    NULL, copy_shape,
                                   copy_forward, copy_backward, NULL, NULL, NULL};

static int call_kind_check(world *w, uint64_t *hash) {
  *hash = 0;
  return syn_kind_check(&w->c, &copy_kind, NULL) == SYN_OK;
}
static int call_network_check(world *w, uint64_t *hash) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = "lm";
  k.decoder = "linear(4)";
  k.d_model = 4;
  k.max_len = 4;
  k.tgt_vocab = 6;
  *hash = 0;
  return syn_network_check(&w->c, &k) == SYN_OK;
}

/* -- tapes -- */

static int call_context_new(world *w, uint64_t *hash) {
  syn_context *c = syn_context_new(&w->c.options);
  *hash = 0;
  if (!c) {
    w->c.status = syn_context_status(c);
    strcpy(w->c.message, syn_context_message(c));
  }
  syn_context_free(c);
  return c != NULL;
}
/* From text; what they call is tried in all ways by the rows of syn_model_new and the others. */
static int call_model_with(world *w, uint64_t *hash) {
  syn_model *m = syn_model_with(&w->c, "task=lm; decoder=res(ff($n))->ff; $n=8; d_model=8; tgt_vocab=9");
  *hash = 0;
  syn_model_free(m);
  return m != NULL;
}
static int call_run_with(world *w, uint64_t *hash) {
  syn_run *r = syn_run_with(&w->c, w->m, "sentences=1");
  *hash = 0;
  syn_run_free(r);
  return r != NULL;
}
static int call_decoder_with(world *w, uint64_t *hash) {
  syn_decoder *d = syn_decoder_with(&w->c, w->m, "beam=2");
  *hash = 0;
  syn_decoder_free(d);
  return d != NULL;
}
static int call_trainer_with(world *w, uint64_t *hash) {
  syn_model *m = syn_model_with(&w->c, "task=lm; decoder=ff; d_model=8; tgt_vocab=9");
  syn_trainer *t = syn_trainer_with(&w->c, m, "optimizer=sgd");
  *hash = 0;
  syn_trainer_free(t);
  syn_model_free(m);
  return t != NULL;
}
static int call_learn_with(world *w, uint64_t *hash) {
  const syn_text line = syn_text_of("a b c");
  syn_model *m = syn_learn_with(
      &w->c, "task=lm; tgt_tokenizer=char; decoder=ff; d_model=8; heads=2; max_len=8; steps=1; epochs=1",
      NULL, &line, 1);
  *hash = 0;
  syn_model_free(m);
  return m != NULL;
}
static int call_tape_new(world *w, uint64_t *hash) {
  syn_tape *t = syn_tape_new(&w->c, 1 << 12);
  *hash = 0;
  syn_tape_free(t);
  return t != NULL;
}
/* Arrays of a tape grow now and then, so a call is made until the tape has TENSORS of them. A call
   that fails is removed from the tape; the text of the tape shows that. */
enum { TENSORS = 60 };
static int tape_fill(world *w, syn_tensor *(*operation)(syn_tensor *x), uint64_t *hash) {
  size_t bytes_of_text;
  static char text[20000];
  syn_tensor *x = w->a;
  while (x && x->id < TENSORS) x = operation(w->a);
  bytes_of_text = syn_tape_text(w->tape, text, sizeof text);
  *hash = syn_hash(SYN_HASH_START, text, bytes_of_text);
  return x != NULL;
}
static syn_tensor *a_leaf(syn_tensor *x) { return syn_tensor_new(x->tape, x->rank, x->shape); }
static syn_tensor *a_add(syn_tensor *x) { return syn_add(x, x); }
static syn_tensor *a_sub(syn_tensor *x) { return syn_sub(x, x); }
static syn_tensor *a_mul(syn_tensor *x) { return syn_mul(x, x); }
static syn_tensor *a_scale(syn_tensor *x) { return syn_scale(x, 3.0f); }
static syn_tensor *a_matmul(syn_tensor *x) { return syn_matmul(x, x); }
static syn_tensor *a_linear(syn_tensor *x) { return syn_linear(x, x, bias); }
static syn_tensor *a_transpose(syn_tensor *x) { return syn_transpose(x); }
static syn_tensor *a_slice(syn_tensor *x) { return syn_slice(x, 1, 2); }
static syn_tensor *a_concat(syn_tensor *x) { return syn_concat(x, x); }
static syn_tensor *a_lookup(syn_tensor *x) {
  static const int ids[] = {3, 0, 1};
  return syn_lookup(x, ids, 3);
}
static syn_tensor *a_act(syn_tensor *x) { return syn_act(x, "gelu"); }
static syn_tensor *a_entropy(syn_tensor *x) {
  static const int labels[] = {3, -1, 1, 0};
  return syn_cross_entropy(x, labels);
}
static syn_tensor *a_record(syn_tensor *x) {
  return syn_record(&copy_kind, 1, &x, "own", 4);
}
#define TAPE_CALL(name) \
  static int call_##name(world *w, uint64_t *hash) { return tape_fill(w, a_##name, hash); }
#define TAPE_PLAIN(name) \
  static int call_##name(world *w, uint64_t *hash) { return tape_fill(w, syn_##name, hash); }
TAPE_CALL(leaf) TAPE_CALL(add) TAPE_CALL(sub) TAPE_CALL(mul) TAPE_CALL(scale) TAPE_CALL(matmul)
TAPE_CALL(linear) TAPE_CALL(transpose) TAPE_CALL(slice) TAPE_CALL(concat) TAPE_CALL(lookup)
TAPE_CALL(act) TAPE_CALL(entropy) TAPE_CALL(record)
TAPE_PLAIN(exp) TAPE_PLAIN(log) TAPE_PLAIN(softmax) TAPE_PLAIN(sum) TAPE_PLAIN(mean)

/* -- data, training -- */

static int call_data_new(world *w, uint64_t *hash) {
  syn_data *d = syn_data_new(&w->c);
  *hash = 0;
  syn_data_free(d);
  return d != NULL;
}
static int of_data(const syn_data *d, int ok, uint64_t *hash) {
  size_t count = syn_data_count(d), i;
  int n, side;
  *hash = SYN_HASH_START;
  for (i = 0; i < count; i++)
    for (side = SYN_SRC; side <= SYN_TGT; side++) {
      const int *row = syn_data_row(d, i, side, &n);
      *hash = syn_hash(*hash, row, (size_t)n * sizeof *row);
    }
  return ok;
}
static int call_data_add(world *w, uint64_t *hash) { /* grows now and then: many rows */
  int row[] = {4, 5, 6, 7}, ok = 1;
  while (ok && syn_data_count(w->d) < 300) {
    row[0] = 4 + (int)syn_data_count(w->d) % 7;
    ok = !syn_data_add(w->d, row, 4, row, 3);
  }
  return of_data(w->d, ok, hash);
}
static int call_data_add_text(world *w, uint64_t *hash) {
  int ok = 1;
  while (ok && syn_data_count(w->d) < 300)
    ok = !syn_data_add_text(w->d, w->m, syn_text_of("abcdefg"), syn_text_of("gfe"));
  return of_data(w->d, ok, hash);
}
/* Sources of features, one row with each kind of target. */
static syn_data *features_of(world *w) {
  static const float x[6] = {1, 2, 3, 4, 5, 7};
  const int label = 1;
  syn_data *d = syn_data_new(&w->c);
  if (d && !syn_data_add_features(d, x, 3, 2, &label, 1) &&
      !syn_data_add_regress(d, x, 2, 2, x, 2))
    return d;
  syn_data_free(d);
  return NULL;
}
static int call_features(world *w, uint64_t *hash) {
  syn_data *d = features_of(w);
  *hash = syn_data_count(d);
  syn_data_free(d);
  return d != NULL;
}
static int call_normalize(world *w, uint64_t *hash) {
  syn_data *d = features_of(w);
  syn_config k;
  syn_model *m;
  int ok;
  memset(&k, 0, sizeof k);
  k.task = "classify", k.encoder = "linear", k.src_features = k.classes = 2;
  m = d ? syn_model_new(&w->c, &k) : NULL;
  ok = m && !syn_model_normalize(m, d);
  *hash = ok ? hash_model(SYN_HASH_START, m) : 0;
  syn_model_free(m);
  syn_data_free(d);
  return ok;
}
static int call_data_add_windows(world *w, uint64_t *hash) {
  static int tokens[2000];
  int i, ok;
  for (i = 0; i < 2000; i++) tokens[i] = 4 + i % 7;
  ok = !syn_data_add_windows(w->d, tokens, 2000, 7, 5);
  return of_data(w->d, ok, hash);
}
static int call_data_batches(world *w, uint64_t *hash) {
  *hash = syn_data_batches(w->d, 50, 4);
  return *hash > 0;
}
static int call_trainer_new(world *w, uint64_t *hash) {
  syn_trainer *t = syn_trainer_new(&w->c, w->m, NULL);
  *hash = hash_model(SYN_HASH_START, w->m);
  syn_trainer_free(t);
  return t != NULL;
}
static int call_trainer_sum(world *w, uint64_t *hash) { /* with an array for sums of gradients */
  syn_train_config how = train_of();
  syn_trainer *t;
  how.accumulate = 4;
  t = syn_trainer_new(&w->c, w->m, &how);
  *hash = hash_model(SYN_HASH_START, w->m);
  syn_trainer_free(t);
  return t != NULL;
}
static int call_trainer_viewed(world *w, uint64_t *hash) { /* copies the weights of the file */
  syn_trainer *t = syn_trainer_new(&w->c, w->viewed, NULL);
  *hash = hash_model(SYN_HASH_START, w->viewed);
  syn_trainer_free(t);
  return t != NULL;
}
static int call_decoder_packed(world *w, uint64_t *hash) { /* int8 panels made of the shared ones */
  syn_decode_config k;
  syn_decoder *d;
  memset(&k, 0, sizeof k);
  k.type = "i8";
  d = syn_decoder_new(&w->c, w->packed, &k);
  *hash = 0;
  syn_decoder_free(d);
  return d != NULL;
}
static int hash_done(void *user, const syn_decoder *d, size_t index, int sentence) {
  int size;
  const int *ids = syn_decoder_output(d, sentence, 0, &size, NULL);
  (void)index;
  *(uint64_t *)user = syn_hash(*(uint64_t *)user, ids, (size_t)size * sizeof *ids);
  return 0;
}
static int call_run_texts(world *w, uint64_t *hash) {
  const syn_text texts[] = {{"abc", 3}, {"a", 1}, {"ba", 2}};
  *hash = 1;
  return !syn_decoder_run_texts(w->decoder, texts, NULL, 3, hash_done, hash);
}
static int call_trainer_run(world *w, uint64_t *hash) { /* goes on where it failed */
  syn_status status = syn_trainer_run(w->t, w->d, w->d, NULL, NULL);
  *hash = hash_model(SYN_HASH_START, w->m);
  return status == SYN_OK && syn_trainer_state(w->t)->step == 6;
}
static int call_next(world *w, uint64_t *hash) {
  syn_batch b = {0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL};
  syn_status status = syn_trainer_next(w->t, w->d, &b);
  *hash = syn_hash(SYN_HASH_START, &b.count, sizeof b.count);
  if (b.labels) *hash = syn_hash(*hash, b.labels, (size_t)b.count * sizeof(int));
  return status == SYN_OK;
}
static int call_validate(world *w, uint64_t *hash) {
  syn_status status = syn_trainer_validate(w->t, w->d);
  *hash = syn_hash(SYN_HASH_START, &syn_trainer_state(w->t)->valid, sizeof(float));
  return status == SYN_OK;
}
static int call_evaluate(world *w, uint64_t *hash) {
  double loss = 7.0;
  int64_t labels = 7;
  syn_status status = syn_trainer_evaluate(w->t, w->d, &loss, &labels);
  *hash = syn_hash(SYN_HASH_START, &loss, sizeof loss);
  return status == SYN_OK && labels > 7;
}
static int call_model_evaluate(world *w, uint64_t *hash) {
  double loss = 7.0;
  int64_t labels = 7;
  syn_status status = syn_model_evaluate(&w->c, w->m, w->d, 50, &loss, &labels);
  *hash = syn_hash(SYN_HASH_START, &loss, sizeof loss);
  return status == SYN_OK && labels > 7;
}
static int call_evaluate_rows(world *w, uint64_t *hash) {
  double loss[100];
  int64_t labels[100] = {0};
  syn_status status = syn_model_evaluate_rows(&w->c, w->m, w->d, loss, labels);
  *hash = syn_hash(SYN_HASH_START, loss, syn_data_count(w->d) * sizeof *loss);
  return status == SYN_OK && labels[0] > 0;
}
static int call_outline(world *w, uint64_t *hash) {
  syn_config k = config_of();
  syn_model *m = syn_model_outline(&w->c, &k, NULL);
  *hash = syn_model_param_count(m);
  syn_model_free(m);
  return m != NULL;
}
static int call_decoder_new(world *w, uint64_t *hash) {
  syn_decode_config k;
  syn_decoder *d;
  memset(&k, 0, sizeof k);
  k.beam = 3;
  k.type = "i8";
  d = syn_decoder_new(&w->c, w->m, &k);
  *hash = 0;
  syn_decoder_free(d);
  return d != NULL;
}

/* -- texts, files, small models -- */

static int of_tokenizer(syn_tokenizer *t, uint64_t *hash) {
  char out[2000];
  size_t size = syn_tokenizer_save(t, out, sizeof out);
  *hash = t ? syn_hash(SYN_HASH_START, out, size) : 0;
  syn_tokenizer_free(t);
  return t != NULL;
}
static int call_learn(world *w, const char *spec, uint64_t *hash) {
  syn_text lines[2];
  lines[0] = syn_text_of("a rose is a rose is a rose");
  lines[1] = syn_text_of("as is a nose");
  return of_tokenizer(syn_tokenizer_learn(&w->c, spec, SYN_SENTINELS, lines, 2), hash);
}
/* A published list of pieces: BPE by scores. */
static int call_tokenizer_from(world *w, uint64_t *hash) {
  static const char *const pieces[] = {"<unk>", "<s>", "</s>", "\xE2\x96\x81", "a", "s", "as"};
  static const float scores[] = {0, 0, 0, -1, -1, -1, -0.5f};
  syn_text tokens[7];
  syn_tokenizer_parts parts;
  int i;
  memset(&parts, 0, sizeof parts);
  for (i = 0; i < 7; i++) tokens[i] = syn_text_of(pieces[i]);
  parts.kind = "llama", parts.count = 7, parts.tokens = tokens, parts.scores = scores;
  parts.special[0] = -1, parts.special[1] = 0, parts.special[2] = 1, parts.special[3] = 2;
  return of_tokenizer(syn_tokenizer_from(&w->c, &parts), hash);
}
/* With a choice that is given: nothing is measured. */
static int call_learn_model(world *w, uint64_t *hash) {
  static const char *const names[] = {"a b", "b a", "a", "b b a", "b", "a a b"};
  syn_text src[6], tgt[6];
  syn_learn_config how;
  syn_choice k;
  int i;
  memset(&how, 0, sizeof how);
  memset(&k, 0, sizeof k);
  for (i = 0; i < 6; i++) src[i] = syn_text_of(names[i]), tgt[i] = syn_text_of(names[5 - i]);
  how.choice = &k;
  strcpy(k.src_tokenizer, "space");
  strcpy(k.tgt_tokenizer, "char");
  strcpy(k.encoder, config_of().encoder);
  strcpy(k.decoder, config_of().decoder);
  k.d_model = WIDTH, k.heads = 2, k.max_len = LENGTH, k.batch_tokens = 40;
  k.hold_back = 0.4;
  k.steps = 2;
  return of_model(syn_learn(&w->c, &how, src, tgt, 6), hash);
}
/* A clock of a second a look, and updates for one second: the fewest that are measured. */
static double next_second(void *user) { return *(double *)user += 1.0; }
static int call_choose_steps(world *w, uint64_t *hash) {
  double now = 0.0;
  syn_train_config train;
  syn_learn_config how;
  syn_choice k;
  syn_status status;
  memset(&how, 0, sizeof how);
  memset(&k, 0, sizeof k);
  memset(&train, 0, sizeof train);
  how.minutes = 1.0;
  how.seconds = next_second;
  how.user = &now;
  how.choice = &k;
  train.batch_tokens = 50;
  k.epochs = 2.0;
  status = syn_choose_steps(&w->c, &how, w->m, &train, w->d, NULL);
  *hash = (uint64_t)k.steps;
  return status == SYN_OK && k.steps > 1;
}
static int call_byte(world *w, uint64_t *hash) { return call_learn(w, "byte", hash); }
static int call_char(world *w, uint64_t *hash) { return call_learn(w, "char", hash); }
static int call_space(world *w, uint64_t *hash) { return call_learn(w, "space", hash); }
static int call_bpe(world *w, uint64_t *hash) { return call_learn(w, "bpe:20", hash); }
static int call_line(world *w, uint64_t *hash) { return call_learn(w, "line", hash); }
static int call_tokenizer_load(world *w, uint64_t *hash) {
  return of_tokenizer(syn_tokenizer_load(&w->c, saved_tokenizer.at, saved_tokenizer.size), hash);
}
static int of_read(syn_file *f, uint64_t *hash) {
  *hash = syn_file_count(f) * 1000 + syn_file_pair_count(f);
  syn_file_free(f);
  return f != NULL;
}
static int call_file_load(world *w, uint64_t *hash) {
  return of_read(syn_file_load(&w->c, "good.safetensors"), hash);
}
/* A source of bytes that were written before; it fails behind `limit` of them. */
typedef struct reading {
  const bytes *b;
  size_t at, limit;
} reading;
static size_t bytes_read(void *user, void *to, size_t size) {
  reading *r = (reading *)user;
  const size_t n = size < r->limit - r->at ? size : r->limit - r->at;
  memcpy(to, r->b->at + r->at, n);
  r->at += n;
  return n;
}
static syn_source source_of(reading *r, const bytes *b) {
  syn_source source = {bytes_read, NULL, 0};
  r->b = b;
  r->at = 0;
  r->limit = b->size;
  source.user = r;
  source.size = b->size;
  return source;
}
static int call_file_load_from(world *w, uint64_t *hash) {
  reading r;
  syn_source source = source_of(&r, &good);
  return of_read(syn_file_load_from(&w->c, &source), hash);
}
static int call_file_view(world *w, uint64_t *hash) {
  return of_read(syn_file_view(&w->c, good.at, good.size), hash);
}
static int call_file_size(world *w, uint64_t *hash) {
  *hash = syn_file_size(&w->c, syn_file_pair(w->f, 0), 2, syn_file_entry(w->f, 0), 5);
  return *hash > 0;
}
static int call_file_write(world *w, uint64_t *hash) {
  uint64_t before = hash_file("written.safetensors");
  syn_status status = syn_file_write(&w->c, "written.safetensors", syn_file_pair(w->f, 0), 2,
                                     syn_file_entry(w->f, 0), 5);
  return of_file("written.safetensors", before, status, hash);
}
static int call_text_write(world *w, uint64_t *hash) {
  uint64_t before = hash_file("written.txt");
  syn_text text = syn_text_of("a line\n");
  syn_status status = syn_text_write(&w->c, "written.txt", &text);
  return of_file("written.txt", before, status, hash);
}
static int call_file_write_to(world *w, uint64_t *hash) {
  syn_sink sink = sink_empty(w);
  syn_status status = syn_file_write_to(&w->c, &sink, syn_file_pair(w->f, 0), 2,
                                        syn_file_entry(w->f, 0), 5);
  return of_sink(w, status, hash);
}
static int call_save_to(world *w, uint64_t *hash) {
  syn_sink sink = sink_empty(w);
  return of_sink(w, syn_model_save_to(&w->c, w->m, &sink), hash);
}
static int call_save_as_to(world *w, uint64_t *hash) {
  syn_sink sink = sink_empty(w);
  return of_sink(w, syn_model_save_as_to(&w->c, w->m, "i4", &sink), hash);
}
static int call_save(world *w, uint64_t *hash) {
  uint64_t before = hash_file("saved.safetensors");
  return of_file("saved.safetensors", before, syn_model_save(&w->c, w->m, "saved.safetensors"),
                 hash);
}
static int call_save_as(world *w, uint64_t *hash) {
  uint64_t before = hash_file("i8.safetensors");
  return of_file("i8.safetensors", before,
                 syn_model_save_as(&w->c, w->m, "i8", "i8.safetensors"), hash);
}
static int call_model_load(world *w, uint64_t *hash) {
  return of_model(syn_model_load(&w->c, "good.safetensors"), hash);
}
static int call_model_load_i4(world *w, uint64_t *hash) { /* weights become floats in new memory */
  return of_model(syn_model_load(&w->c, "i4.safetensors"), hash);
}
static int call_model_view(world *w, uint64_t *hash) {
  return of_model(syn_model_view(&w->c, good.at, good.size), hash);
}
static int call_model_load_from(world *w, uint64_t *hash) {
  reading r;
  syn_source source = source_of(&r, &good);
  return of_model(syn_model_load_from(&w->c, &source), hash);
}
static int call_trainer_save_to(world *w, uint64_t *hash) {
  syn_sink sink = sink_empty(w);
  return of_sink(w, syn_trainer_save_to(w->t, &sink), hash);
}
static int call_trainer_load_from(world *w, uint64_t *hash) {
  reading r;
  syn_source source = source_of(&r, &good_checkpoint);
  syn_status status = syn_trainer_load_from(w->t, &source);
  *hash = hash_world(w);
  return status == SYN_OK;
}
static int call_trainer_save(world *w, uint64_t *hash) {
  uint64_t before = hash_file("checkpoint.safetensors");
  return of_file("checkpoint.safetensors", before,
                 syn_trainer_save(w->t, "checkpoint.safetensors"), hash);
}
static int call_trainer_load(world *w, uint64_t *hash) {
  syn_status status = syn_trainer_load(w->t, "good.checkpoint");
  *hash = hash_world(w);
  return status == SYN_OK;
}
static int call_small_write(world *w, uint64_t *hash) {
  syn_small_options options;
  syn_sink sink = sink_empty(w);
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  return of_sink(w, syn_small_write(&w->c, w->m, &options, &sink), hash);
}
static int call_small_embed(world *w, uint64_t *hash) {
  syn_sink sink = sink_empty(w);
  return of_sink(w, syn_small_embed(&w->c, w->m, NULL, "tiny", &sink), hash);
}

/* -- calls that allocate nothing -- */

static int never(void *user, int sentence, int token) {
  return (void)user, (void)sentence, (void)token, 0;
}
static int silent_passes(world *w) {
  static const int src[] = {4, 5, 6, 3}, tgt[] = {2, 4, 5, 6}, labels[] = {4, 5, 6, 3};
  syn_batch b;
  syn_sink sink = sink_empty(w); /* of malloc */
  syn_value value;
  syn_text text = syn_text_of("abc");
  char out[100];
  float loss, row[WIDTH];
  double sum = 0.0;
  int64_t count = 0;
  syn_gradient gradient = {NULL, 0, 0.0, 0};
  int size, sizes[2], ok;
  static unsigned char allowed[SYN_FIRST_TOKEN + 7];
  static const uint64_t seeds[] = {5};
  static const int banned[] = {7, 0, 8, 9, 0, 0};
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.src = src;
  b.tgt = tgt;
  b.labels = labels;
  b.src_width = b.tgt_width = 4;
  ok = !syn_run_forward(w->r, &b) && syn_run_logits(w->r, 0, &size) &&
       !syn_run_backward(w->r, &b, &loss) && !syn_run_text(w->r, text, text) && !syn_run_cut(w->r) && syn_run_unknown(w->r) < 99 &&
       !syn_run_value(w->r, "out", 0, &value) && syn_run_attention(w->r, 0, 0, 0, sizes) &&
       !syn_run_vector(w->r, "encoder.0", 0, SYN_VECTOR_MEAN, row, WIDTH) &&
       syn_run_node(w->r, syn_model_node(w->m, 0), NULL, 0, &value) &&
       syn_run_tokens(w->r, SYN_TGT, 0, &size) && syn_model_maker(w->m, 0, NULL, NULL) >= -1 &&
       !syn_trace(w->m, w->r, NULL, &sink) && syn_score(w->r, text, text, row, WIDTH) > 0 &&
       syn_align(w->r, text, text, NULL, 0) >= 0 && syn_embed(w->r, text, SYN_VECTOR_MEAN, row, WIDTH) == WIDTH &&
       syn_tag(NULL, text, NULL, 0) < 0 && !syn_classify(NULL, text, NULL).size && !syn_model_class_name(w->m, 0).size;
  ok = ok && !syn_trainer_backward(w->t, &b, &loss) &&
       syn_trainer_gradient(w->t, syn_model_param(w->m, 0)) &&
       !syn_trainer_batch_loss(w->t, &b, &sum, &count) && !syn_trainer_step(w->t, &b, 1, &loss) &&
       !syn_trainer_accumulate(w->t, &b, 0, &gradient) && !syn_trainer_update(w->t, &gradient, &loss) &&
       syn_trainer_average(w->t) == 1; /* the moving average */
  b.tgt = NULL;
  memset(allowed, 1, sizeof allowed);
  syn_decoder_set_allowed(w->decoder, allowed);
  syn_decoder_set_banned(w->decoder, banned);
  syn_decoder_set_seeds(w->decoder, seeds);
  syn_decoder_set_limit(w->decoder, 3);
  ok = ok && !syn_decoder_run(w->decoder, &b, never, NULL) && !syn_decoder_cut(w->decoder, 0) &&
       syn_decoder_output(w->decoder, 0, 0, &size, NULL) &&
       !syn_decoder_run_text(w->decoder, text, syn_text_of(""), NULL, NULL) &&
       syn_decoder_output_text(w->decoder, 0, 0, out, sizeof out, NULL) < 100;
  syn_decoder_set_allowed(w->decoder, NULL);
  return ok;
}

static int silent_tape(world *w) {
  float row[1];
  char out[100];
  int ok = w->loss && syn_tensor_text(w->a, out, sizeof out) && syn_tape_text(w->tape, out, 9) &&
           syn_attention_shades(w->a->x, 4, out, sizeof out) && !syn_backward(w->loss);
  syn_tape_forward(w->tape);
  ok = ok && syn_gradient_check(w->loss, w->a, 0.01f) < 0.1f;
  ok = ok && syn_entry_floats(&w->c, syn_file_entry(w->f, 0), row, 1) == SYN_E_SHAPE;
  syn_context_clear(&w->c);
  syn_tape_clear(w->tape);
  return ok;
}

static int silent_model(world *w) {
  const syn_config *k = syn_model_config(w->m);
  const syn_node *n = syn_model_node(w->m, 0);
  int heads = 0;
  return !strcmp(k->task, "seq2seq") && syn_model_find(w->m, "encoder.2.g") &&
         syn_model_param_count(w->m) > 10 && syn_model_param(w->m, 0) &&
         syn_model_node_count(w->m) > 10 && syn_model_cost(w->m, n, 4).length == 4 &&
         !syn_model_file(w->m) && syn_model_attention(w->m, 0, &heads) && heads == 2 &&
         syn_trainer_config(w->t)->batch_tokens == 40 && syn_trainer_state(w->t)->step == 2;
}

static int silent_file(world *w) {
  return syn_file_count(w->f) > 10 && syn_file_entry(w->f, 3) && syn_file_pair_count(w->f) > 3 &&
         syn_file_pair(w->f, 0) && syn_file_find(w->f, "encoder.2.g") &&
         syn_file_value(w->f, "encoder") && !strcmp(syn_dtype_name(SYN_F32), "F32");
}

static int silent_tokenizer(world *w) {
  syn_tokenizer *t = (syn_tokenizer *)syn_model_tokenizer(w->m, SYN_SRC);
  int ids[9], first, n = syn_tokenizer_encode(t, syn_text_of("abc"), ids, 9);
  char out[9];
  syn_model_set_tokenizers(w->m, t, t);
  return n == 3 && syn_tokenizer_cut(t, syn_text_of("abcabc"), SYN_CUT_MIDDLE, ids, 3) == 6 && syn_tokenizer_size(t) == SYN_FIRST_TOKEN + 7 && !syn_tokenizer_flags(t) &&
         syn_tokenizer_number(t, 5) == 5 && syn_tokenizer_id(t, 5) == 5 && syn_tokenizer_name(t, 5, out, 9) == 1 &&
         !syn_tokenizer_framed(t) && !syn_tokenizer_sentinels(t, &first) && !strcmp(syn_tokenizer_type(t), "char") &&
         syn_tokenizer_decode(t, ids, n, out, sizeof out) == 3 &&
         syn_tokenizer_piece(t, ids[0], 1).size == 1 && syn_tokenizer_save(t, out, 9) > 9 &&
         syn_text_normalize(syn_text_of("A\xFF"), 5, out, 3) == 2 && syn_text_invalid(syn_text_of(out)) == 1 &&
         syn_text_next(syn_text_of("A"), NULL) == 0 && !syn_text_word(syn_text_of("A"), NULL).size;
}

static int silent_data(world *w) {
  syn_corruption k;
  syn_random r = {7};
  int text[] = {4, 5, 6, 7}, src[8], tgt[8], n_src, n_tgt, n;
  memset(&k, 0, sizeof k);
  k.first = SYN_FIRST_TOKEN;
  k.count = 3;
  syn_corrupt_sizes(&k, 4, &n_src, &n_tgt);
  syn_corrupt(&k, text, 4, &r, src, tgt);
  n = syn_data_count(w->d) == ROWS && !syn_data_features(w->d, 0, NULL) &&
      syn_data_row(w->d, 0, SYN_SRC, &n) && n_src + n_tgt == 6 &&
      !syn_data_unknown(w->d, SYN_SRC, NULL) && !syn_data_set_cut(w->d, SYN_CUT_HEAD) && !syn_data_cut(w->d, NULL);
  syn_data_corrupt(w->d, &k); /* an error where the rows have targets */
  syn_context_clear(&w->c);
  return n;
}

static int silent_texts(void) {
  syn_text part[SYN_HELD_PARTS];
  char out[8];
  size_t at = 0;
  return syn_text_next(syn_text_of("a"), &at) == 'a' && syn_text_visible(syn_text_of("\n"), out, sizeof out) == 4 &&
         syn_text_whole(syn_text_of("a\xC3")) == 1 && syn_is_space(' ') &&
         syn_text_hold_back(syn_text_of("a\nb\n"), 0.5, part) == 2;
}

/* A choice that needs no texts; the end of the minutes. */
static int silent_choices(world *w) {
  syn_learn_config how;
  syn_choice k;
  double now = 0.0;
  memset(&how, 0, sizeof how);
  memset(&k, 0, sizeof k);
  how.minutes = 1.0;
  how.seconds = next_second;
  how.user = &now;
  how.choice = &k;
  return !syn_choose(&w->c, &how, NULL, NULL, 0) && k.clip == 1.0f &&
         !syn_trainer_deadline(w->t, &how);
}

static int silent_constants(void) {
  syn_random r = {7};
  syn_context c;
  heap h;
  context_on(&c, &h, 0); /* calls syn_context_init */
  syn_context_free(syn_context_with("threads=1")); /* by malloc */
  syn_context_free(&c);
  return syn_random_below(&r, 5) < 5 && syn_random_uniform(&r) < 1.0f && syn_random_next(&r) &&
         syn_random_normal(&r) < 9.0f && syn_isa_count() > 0 && syn_isa_usable(0) &&
         !strcmp(syn_isa_name(0), "scalar") && syn_context_exact(&c) >= 0 && !h.calls &&
         syn_version() == SYN_VERSION_NUMBER && !syn_context_init(&c, NULL) &&
         !syn_context_init_abi(&c, NULL, SYN_ABI) && !syn_context_status(&c) &&
         !syn_context_message(&c)[0] && syn_hash(SYN_HASH_START, &c, 1) &&
         syn_kind_count() > 20 && syn_kind_at(0) && syn_status_text(SYN_E_MEMORY)[0];
}

/* Classes: a network of its own, which may be allocated. */
static int silent_classes(void) {
  static const int src[] = {4, 5, 6, 3};
  syn_config k = config_of();
  syn_model *m;
  syn_run *r;
  syn_batch b;
  syn_context c;
  heap h;
  long calls;
  int ok;
  k.task = "classify";
  k.decoder = NULL;
  k.classes = 3;
  context_on(&c, &h, 0);
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, NULL);
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.src = src;
  b.src_width = 4;
  calls = h.calls;
  ok = r && !syn_run_forward(r, &b) && syn_run_class(r, 0, 0, 0, NULL) >= 0 &&
       syn_run_class_name(r, 0, 0, 0, NULL).size == 0 && h.calls == calls;
  syn_run_free(r);
  syn_model_free(m);
  return ok && !h.blocks;
}

static void silent_see(void *user, const syn_small *s) {
  (void)user;
  if (syn_small_instruction(s)) syn_small_unit(s, 'x');
}
/* Has no allocator at all: its memory is the caller's. */
static int silent_small(void) {
  static const int src[] = {4, 5, 3};
  long size = syn_small_ram(small.at, small.size, NULL);
  void *ram = malloc((size_t)size);
  syn_small *s = syn_small_open(ram, (size_t)size, small.at, small.size, NULL, NULL);
  int token = SYN_SMALL_MORE, ids[8], ok;
  char out[8];
  int32_t numbers[8];
  float *memory;
  ok = s && !syn_small_source(s, src, 3) && syn_small_feed(s, NULL) == SYN_SMALL_E_MODEL;
  size = syn_small_learn(s, NULL, 0);
  memory = (float *)calloc((size_t)size, sizeof *memory);
  ok = ok && syn_small_learn(s, memory, size) == size;
  while (ok && token == SYN_SMALL_MORE) token = syn_small_step(s, 100000);
  ok = ok && !syn_small_correct(s, 5, 0.1f) && syn_small_score(s, 0, NULL) >= -99 && syn_small_reject(s, 0) >= -99 && syn_small_work(s) > 0 &&
       syn_small_numbers(s, 1.0f, numbers, 8) < 0 && syn_small_walk(s, silent_see, NULL) > 0 &&
       syn_small_piece(s, 4, 1).size == 1 && syn_small_encode(s, syn_text_of("ab"), ids, 8) == 3 &&
       syn_small_decode(s, ids, 3, out, sizeof out) == 2;
  free(memory);
  free(ram);
  return ok;
}

/* What frees, frees nothing at null. */
static int silent_free(void) {
  syn_tape_free(NULL);
  syn_run_free(NULL);
  syn_decoder_free(NULL);
  syn_trainer_free(NULL);
  syn_data_free(NULL);
  syn_file_free(NULL);
  syn_model_free(NULL);
  syn_tokenizer_free(NULL);
  return 1;
}

#define SILENT_CALL(call) \
  if (!(call)) *hash = 1, printf("of \"nothing\": %s does not work: %s\n", #call, w->c.message)
static int call_silent(world *w, uint64_t *hash) {
  *hash = 0;
  SILENT_CALL(silent_passes(w));
  SILENT_CALL(silent_tape(w));
  SILENT_CALL(silent_model(w));
  SILENT_CALL(silent_file(w));
  SILENT_CALL(silent_tokenizer(w));
  SILENT_CALL(silent_data(w));
  SILENT_CALL(silent_texts());
  SILENT_CALL(silent_choices(w));
  SILENT_CALL(silent_constants());
  SILENT_CALL(silent_classes());
  SILENT_CALL(silent_small());
  SILENT_CALL(silent_free());
  return *hash == 0;
}

/* -- the table -- */

/* a call that failed may have done a part; no allocation; every object of a graph is one */
enum { MAY_CHANGE = 1, SILENT = 2, OBJECTS = 4 };

static const struct job {
  const char *name;
  int (*call)(world *w, uint64_t *hash);
  int flags;
} jobs[] = {{"syn_context_new_abi", call_context_new, 0},
            {"syn_model_with", call_model_with, 0},
            {"syn_run_with", call_run_with, 0},
            {"syn_decoder_with", call_decoder_with, 0},
            {"syn_trainer_with", call_trainer_with, 0},
            {"syn_learn_with", call_learn_with, 0},
            {"syn_tape_new", call_tape_new, 0},
            {"syn_tensor_new", call_leaf, 0},
            {"syn_add", call_add, 0},
            {"syn_sub", call_sub, 0},
            {"syn_mul", call_mul, 0},
            {"syn_scale", call_scale, 0},
            {"syn_matmul", call_matmul, 0},
            {"syn_linear", call_linear, 0},
            {"syn_transpose", call_transpose, 0},
            {"syn_slice", call_slice, 0},
            {"syn_concat", call_concat, 0},
            {"syn_lookup", call_lookup, 0},
            {"syn_act", call_act, OBJECTS},
            {"syn_exp", call_exp, 0},
            {"syn_log", call_log, 0},
            {"syn_softmax", call_softmax, 0},
            {"syn_cross_entropy", call_entropy, 0},
            {"syn_sum", call_sum, 0},
            {"syn_mean", call_mean, 0},
            {"syn_record", call_record, OBJECTS},
            {"syn_kind_check", call_kind_check, 0},
            {"syn_network_check", call_network_check, 0},
            {"syn_model_new", call_model_new, 0},
            {"syn_model_new, every kind", call_every_kind, OBJECTS},
            {"syn_model_new, blocks", call_blocks, OBJECTS},
            {"syn_decoder_new, every kind", call_every_decoder, OBJECTS},
            {"syn_model_init_from", call_init_from, 0},
            {"syn_model_pack", call_pack, 0},
            {"syn_plan_of", call_plan, 0},
            {"syn_model_describe", call_describe, 0},
            {"syn_run_new", call_run_new, 0},
            {"syn_model_outline, a document", call_trace_network, OBJECTS},
            {"syn_model_outline, an error", call_trace_error, OBJECTS},
            {"syn_data_new", call_data_new, 0},
            {"syn_data_add", call_data_add, MAY_CHANGE},
            {"syn_data_add_text", call_data_add_text, MAY_CHANGE},
            {"syn_data_add_features", call_features, 0},
            {"syn_data_add_regress", call_features, 0},
            {"syn_model_normalize", call_normalize, 0},
            {"syn_data_add_windows", call_data_add_windows, 0},
            {"syn_data_batches", call_data_batches, 0},
            {"syn_trainer_new", call_trainer_new, 0},
            {"syn_trainer_new, ranks", call_trainer_sum, 0},
            {"syn_trainer_new, viewed", call_trainer_viewed, 0},
            {"syn_decoder_new, i8 of panels", call_decoder_packed, 0},
            {"syn_trainer_run", call_trainer_run, MAY_CHANGE},
            {"syn_trainer_next", call_next, 0},
            {"syn_trainer_validate", call_validate, 0},
            {"syn_trainer_evaluate", call_evaluate, 0},
            {"syn_model_evaluate", call_model_evaluate, 0},
            {"syn_model_evaluate_rows", call_evaluate_rows, 0},
            {"syn_model_outline", call_outline, 0},
            {"syn_trainer_save", call_trainer_save, 0},
            {"syn_trainer_save_to", call_trainer_save_to, 0},
            {"syn_trainer_load_from", call_trainer_load_from, 0},
            {"syn_trainer_load", call_trainer_load, 0},
            {"syn_decoder_new", call_decoder_new, 0},
            {"syn_decoder_run_texts", call_run_texts, MAY_CHANGE},
            {"syn_tokenizer_learn, byte", call_byte, 0},
            {"syn_tokenizer_learn, char", call_char, 0},
            {"syn_tokenizer_learn, space", call_space, 0},
            {"syn_tokenizer_learn, bpe", call_bpe, 0},
            {"syn_tokenizer_learn, line", call_line, 0},
            {"syn_tokenizer_from", call_tokenizer_from, 0},
            {"syn_tokenizer_load", call_tokenizer_load, 0},
            {"syn_learn", call_learn_model, 0},
            {"syn_choose_steps", call_choose_steps, 0},
            {"syn_text_write", call_text_write, 0},
            {"syn_file_load", call_file_load, 0},
            {"syn_file_load_from", call_file_load_from, 0},
            {"syn_file_view", call_file_view, 0},
            {"syn_file_size", call_file_size, 0},
            {"syn_file_write", call_file_write, 0},
            {"syn_file_write_to", call_file_write_to, 0},
            {"syn_model_save_to", call_save_to, 0},
            {"syn_model_save_as_to", call_save_as_to, OBJECTS},
            {"syn_model_save", call_save, 0},
            {"syn_model_save_as", call_save_as, 0},
            {"syn_model_view", call_model_view, 0},
            {"syn_model_load", call_model_load, 0},
            {"syn_model_load_from", call_model_load_from, 0},
            {"syn_model_load, i4", call_model_load_i4, 0},
            {"syn_small_write", call_small_write, OBJECTS},
            {"syn_small_embed", call_small_embed, 0},
            {"nothing", call_silent, SILENT}};

/* The calls of "nothing": they free, count, read, or use memory they were given. */
static const char silent[] =
    " syn_small_ram syn_small_open syn_small_source syn_small_step syn_small_work syn_small_encode"
    " syn_small_piece syn_small_decode syn_small_learn syn_small_correct syn_small_score"
    " syn_small_reject syn_small_feed syn_small_numbers syn_small_walk syn_small_instruction"
    " syn_small_unit syn_version"
    " syn_context_init syn_context_init_abi syn_context_clear syn_context_free syn_context_status"
    " syn_context_with"
    " syn_context_message syn_status_text syn_random_next syn_random_uniform syn_random_normal"
    " syn_random_below syn_text_of syn_isa_count syn_isa_name syn_isa_usable syn_context_exact"
    " syn_tape_free syn_tape_clear syn_tensor_text syn_backward syn_tape_forward syn_tape_text"
    " syn_gradient_check syn_kind_count syn_kind_at syn_model_free syn_model_config"
    " syn_model_param_count syn_model_param syn_model_find syn_model_node_count syn_model_node"
    " syn_model_cost syn_model_set_tokenizers syn_model_tokenizer syn_hash syn_run_free"
    " syn_run_forward syn_run_logits syn_run_class syn_run_class_name syn_run_text syn_run_cut syn_run_unknown syn_run_value"
    " syn_model_class_name syn_classify syn_tag syn_score syn_align syn_embed"
    " syn_run_vector syn_run_backward syn_run_node syn_run_tokens syn_model_maker syn_model_attention syn_run_attention"
    " syn_attention_shades syn_data_free syn_data_count syn_data_row syn_data_unknown syn_data_corrupt"
    " syn_data_features"
    " syn_data_set_cut syn_data_cut syn_decoder_cut syn_decoder_set_limit syn_tokenizer_cut"
    " syn_corrupt_sizes syn_corrupt syn_trainer_free syn_trainer_state syn_trainer_config"
    " syn_trainer_step syn_trainer_accumulate syn_trainer_update syn_trainer_backward"
    " syn_trainer_gradient syn_trainer_batch_loss"
    " syn_trainer_average syn_decoder_free syn_decoder_run syn_decoder_run_text"
    " syn_decoder_set_seeds syn_decoder_set_allowed syn_decoder_set_banned syn_decoder_output"
    " syn_decoder_output_text syn_tokenizer_free syn_tokenizer_size syn_tokenizer_flags"
    " syn_tokenizer_sentinels syn_tokenizer_type syn_tokenizer_encode syn_tokenizer_decode"
    " syn_tokenizer_piece syn_tokenizer_framed syn_tokenizer_number syn_tokenizer_id syn_tokenizer_name syn_text_normalize syn_text_invalid syn_text_next syn_text_word syn_tokenizer_save syn_dtype_name"
    " syn_text_visible syn_text_whole syn_is_space syn_text_hold_back syn_choose"
    " syn_trainer_deadline"
    " syn_file_free syn_file_count"
    " syn_file_entry syn_file_find syn_file_pair_count syn_file_pair syn_file_value"
    " syn_entry_floats syn_model_file ";

/* Functions for authors of kinds: they run inside the calls of the table. */
static const char inside[] =
    " syn_arg_int syn_arg_float syn_arg_word syn_build_width syn_build_stream syn_build_decoder"
    " syn_build_config syn_build_out syn_build_out_like syn_build_param syn_build_save"
    " syn_build_save_rows syn_build_own syn_build_part syn_build_fail syn_build_chain"
    " syn_initial_of syn_initial_glorot syn_in syn_out syn_weight syn_dweight syn_saved syn_rows"
    " syn_width syn_count syn_in_stream syn_out_stream syn_places syn_is_training"
    " syn_is_decoding syn_is_first_write syn_accumulate syn_dropout syn_parallel syn_scratch"
    " syn_cache_new syn_cache_row syn_source_cache_rows syn_source_length syn_source_cache"
    " syn_matrix_of syn_transposed syn_gemm syn_conv_of syn_im2col syn_col2im ";

static int in_table(const char *name) {
  size_t i, n = strlen(name);
  char word[100];
  for (i = 0; i < sizeof jobs / sizeof *jobs; i++)
    if (!strncmp(jobs[i].name, name, n) && strchr(",", jobs[i].name[n])) return 1;
  sprintf(word, " %.90s ", name);
  return strstr(silent, word) || strstr(inside, word);
}

static FILE *open_source(const char *name) {
  const char *root = getenv("ROOT");
  char path[1000];
  FILE *f;
  sprintf(path, "%.900s/%s", root ? root : "..", name);
  f = fopen(path, "rb");
  if (!f) printf("skipped: names: %s cannot be read\n", path);
  return f;
}

/* Every function in `silent` is called between the head of that part and the table. */
static void test_silent(void) {
  static char text[1 << 17];
  char word[100], *begin, *end;
  FILE *f = open_source("tests/test_failure.c");
  const char *at = silent;
  int n, count = 0;
  if (!f) return;
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  begin = strstr(text, "/* -- calls that allocate nothing");
  end = begin ? strstr(begin, "/* -- the table") : NULL;
  CHECK(end, "no part of calls that allocate nothing");
  if (!end) return;
  for (*end = 0; sscanf(at, " %98s%n", word, &n) == 1; at += n, count++) {
    strcat(word, "(");
    CHECK(strstr(begin, word), "%s) is listed and not called", word);
  }
  CHECK(count > 90, "%d names", count);
}

/* Every function that the header declares is in one of the three lists. */
static void test_names(void) {
  char line[300];
  int count = 0;
  FILE *f = open_source("synthesizer.h");
  if (!f) return;
  while (fgets(line, sizeof line, f)) {
    char *open = strchr(line, '('), *name;
    if (!strncmp(line, "SYN_API ", 8) && !open && !fgets(line, sizeof line, f)) break;
    else if (strncmp(line, "SYN_API ", 8) && strncmp(line, "syn_", 4)) continue;
    open = strchr(line, '(');
    if (!open || !strchr(line, ';')) {
      if (!open || strncmp(line, "SYN_API ", 8)) continue; /* a definition */
    }
    *open = 0;
    for (name = open; name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_');) name--;
    CHECK(in_table(name), "%s: does it allocate? Add it to one of the lists", name);
    count++;
  }
  fclose(f);
  CHECK(count > 180, "%d functions", count);
}

/* -- the failures -- */

/* Allocation n of the call fails; with `all`, every later one, too. 1: the call succeeded. */
static int fail_at(const struct job *j, long n, int all, uint64_t wanted) {
  uint64_t hash = 0, before;
  world w;
  int done, again;
  if (!world_make(&w)) return 1;
  before = hash_world(&w);
  *(all ? &w.h.fail_from : &w.h.fail_at) = w.h.calls + n;
  done = j->call(&w, &hash);
  w.h.fail_from = w.h.fail_at = 0;
  if (!done) {
    CHECK(w.c.status == SYN_E_MEMORY && strstr(w.c.message, "out of memory"),
          "%s, allocation %ld: %d, %s", j->name, n, (int)w.c.status, w.c.message);
    CHECK((j->flags & MAY_CHANGE) || hash_world(&w) == before, "%s, allocation %ld: changed",
          j->name, n);
    syn_context_clear(&w.c);
    again = j->call(&w, &hash);
    CHECK(again, "%s, allocation %ld: it cannot be called again: %s", j->name, n, w.c.message);
  }
  CHECK(w.c.status == SYN_OK, "%s, allocation %ld: returned ok, but %s", j->name, n, w.c.message);
  CHECK(hash == wanted, "%s, allocation %ld: another result", j->name, n);
  world_free(&w);
  CHECK(w.h.blocks == 0 && w.h.live == 0, "%s, allocation %ld: %ld blocks left", j->name, n,
        w.h.blocks);
  return done;
}

/* All allocations up to the 60th one; of more every 7th (emulators: 41st), and the last ones. Where
   OBJECTS is set and one fails: each. */
static long next(const struct job *j, int all, long n, long calls) {
  long step = CHECK_QUICK ? 41 : 7;
  if ((j->flags & OBJECTS) && !all && !CHECK_QUICK) return n + 1;
  return n < (CHECK_QUICK ? 10 : 60) || n + 10 > calls ? n + 1
         : n + step + 10 > calls                       ? calls - 9
                                                       : n + step;
}

static long test_job(const struct job *j) {
  uint64_t wanted = 0;
  world w;
  long calls, n, tried = 0;
  int all;
  chunk = j->flags & OBJECTS ? 16 : 4096;
  if (!world_make(&w)) return 0;
  calls = w.h.calls;
  CHECK(j->call(&w, &wanted), "%s: %s", j->name, w.c.message);
  calls = w.h.calls - calls;
  world_free(&w);
  CHECK(w.h.blocks == 0 && w.h.live == 0, "%s: %ld blocks left", j->name, w.h.blocks);
  if (j->flags & SILENT) {
    CHECK(calls == 0, "%ld allocations in calls that should have none", calls);
    return 0;
  }
  CHECK(calls > 0, "%s allocates nothing", j->name);
  for (all = 0; all < 2; all++) {
    for (n = 1; n <= calls; n = next(j, all, n, calls), tried++)
      CHECK(!fail_at(j, n, all, wanted), "%s: allocation %ld of %ld is not missed", j->name, n,
            calls);
    CHECK(fail_at(j, calls + 1, all, wanted), "%s: more than %ld allocations", j->name, calls);
  }
  return tried;
}

/* -- buffers of the caller that are too small -- */

static const char GUARD = '?';

/* A text function: whatever the capacity, it returns the bytes of the whole text and writes what
   fits with a final 0. */
static void check_text(const char *name, size_t (*text)(world *w, char *out, size_t capacity),
                       world *w) {
  char whole[8000], out[8000];
  size_t size = text(w, whole, sizeof whole), capacity;
  CHECK(size > 2 && size < sizeof whole && whole[size] == 0, "%s: %lu bytes", name,
        (unsigned long)size);
  CHECK(text(w, NULL, 0) == size && text(w, NULL, 5) == size, "%s: no place", name);
  for (capacity = 0; capacity <= size + 1; capacity++) {
    if (capacity == 9 && size > 300) capacity = size - 300;
    memset(out, GUARD, sizeof out);
    CHECK(text(w, out, capacity) == size, "%s: wants another size in %lu bytes", name,
          (unsigned long)capacity);
    CHECK(out[capacity] == GUARD, "%s: wrote behind %lu bytes", name, (unsigned long)capacity);
    CHECK(!capacity || strlen(out) < capacity, "%s: no final 0 in %lu", name,
          (unsigned long)capacity);
    CHECK(!capacity || !strncmp(out, whole, strlen(out)), "%s: another text in %lu", name,
          (unsigned long)capacity);
  }
}
static size_t text_tensor(world *w, char *out, size_t n) { return syn_tensor_text(w->a, out, n); }
static size_t text_tape(world *w, char *out, size_t n) { return syn_tape_text(w->tape, out, n); }
static size_t text_describe(world *w, char *out, size_t n) {
  syn_config k = config_of();
  return syn_model_describe(&w->c, &k, out, n);
}
static size_t text_shades(world *w, char *out, size_t n) {
  static const float row[] = {0.0f, 0.5f, 1.0f, 0.25f};
  const size_t size = syn_attention_shades(row, 4, out, n);
  (void)w;
  CHECK(!n || !syn_text_invalid(syn_text_of(out)), "a part of a character in %lu", (unsigned long)n);
  return size;
}
static size_t text_decode(world *w, char *out, size_t n) {
  static const int ids[] = {4, 5, 6, 7, 8, 3};
  return syn_tokenizer_decode(syn_model_tokenizer(w->m, SYN_SRC), ids, 6, out, n);
}
static size_t text_normal(world *w, char *out, size_t n) {
  return (void)w, syn_text_normalize(syn_text_of("Ab \xC4\xB0 c"), SYN_LOWERCASE, out, n);
}
static size_t text_output(world *w, char *out, size_t n) {
  return syn_decoder_output_text(w->decoder, 0, 0, out, n, NULL);
}

/* Where the result is no text, one byte or number less is an error or a larger count. */
static void test_short(world *w) {
  static float floats[16];
  const syn_tokenizer *t = syn_model_tokenizer(w->m, SYN_SRC);
  size_t size = syn_tokenizer_save(t, NULL, 0);
  char *out = (char *)malloc(size);
  int ids[8], n = 7;
  const int five[] = {5, 4};
  syn_tape *tape;
  memset(out, GUARD, size);
  CHECK(syn_tokenizer_save(t, out, size - 1) == size && out[0] == GUARD, "a tokenizer");
  CHECK(syn_tokenizer_save(t, out, size) == size && !memcmp(out, saved_tokenizer.at, size), "same");
  free(out);
  ids[n - 1] = -5;
  CHECK(syn_tokenizer_encode(t, syn_text_of(ALPHABET), ids, n - 1) == n && ids[n - 1] == -5,
        "six ids");
  CHECK(syn_tokenizer_encode(t, syn_text_of(ALPHABET), ids, n) == n && ids[n - 1] == 10, "seven");
  CHECK(syn_entry_floats(&w->c, syn_file_find(w->f, "encoder.2.g"), floats, 7) == SYN_E_SHAPE &&
            strstr(w->c.message, "has 32 bytes of F32, wanted 7 elements"), "%s", w->c.message);
  syn_context_clear(&w->c);
  CHECK(syn_run_vector(w->r, "encoder.0", 0, SYN_VECTOR_MEAN, floats, WIDTH - 1) == SYN_E_SHAPE &&
            strstr(w->c.message, "8") && strstr(w->c.message, "7"), "%s", w->c.message);
  syn_context_clear(&w->c);
  tape = syn_tape_new(&w->c, 2 * 128 - 1); /* 20 numbers and their gradients, rounded up to 16 */
  CHECK(!syn_tensor_new(tape, 2, five) && w->c.status == SYN_E_MEMORY &&
            strstr(w->c.message, "the tape has 127 bytes left of 255, wanted 128"), "%s",
        w->c.message);
  syn_tape_free(tape);
  syn_context_clear(&w->c);
  tape = syn_tape_new(&w->c, 2 * 128);
  CHECK(syn_tensor_new(tape, 2, five) && !w->c.status, "%s", w->c.message);
  syn_tape_free(tape);
}

/* RAM of a small model, its tokens, its memory of what it learns. */
static void test_short_small(void) {
  long ram = syn_small_ram(small.at, small.size, NULL), floats;
  char *block = (char *)malloc((size_t)ram), out[8];
  int error = 0, ids[8];
  float *memory;
  syn_small *s;
  CHECK(ram > 0, "%ld bytes of RAM", ram);
  memset(block, GUARD, (size_t)ram);
  CHECK(!syn_small_open(block, (size_t)ram - 1, small.at, small.size, NULL, &error) &&
            error == SYN_SMALL_E_RAM && block[0] == GUARD, "%ld bytes: error %d", ram - 1, error);
  s = syn_small_open(block, (size_t)ram, small.at, small.size, NULL, &error);
  CHECK(s && !error, "%ld bytes: error %d", ram, error);
  ids[7] = -5;
  CHECK(syn_small_encode(s, syn_text_of(ALPHABET), ids, 7) == SYN_SMALL_E_VALUE && ids[7] == -5,
        "seven letters and the end in seven ids");
  CHECK(syn_small_encode(s, syn_text_of(ALPHABET), ids, 8) == 8 && ids[7] == SYN_END, "in eight");
  memset(out, GUARD, sizeof out);
  CHECK(syn_small_decode(s, ids, 8, out, 7) == 7 && !memcmp(out, "abcdef\0?", 8), "%.8s", out);
  CHECK(syn_small_decode(s, ids, 8, out, 8) == 7 && !memcmp(out, "abcdefg", 8), "%.8s", out);
  floats = syn_small_learn(s, NULL, 0);
  CHECK(floats > 0, "%ld floats", floats);
  memory = (float *)calloc((size_t)floats, sizeof *memory);
  CHECK(syn_small_learn(s, memory, floats - 1) == SYN_SMALL_E_RAM, "%ld floats", floats - 1);
  CHECK(syn_small_learn(s, memory, floats) == floats, "%ld floats", floats);
  free(memory);
  free(block);
}

static void test_buffers(void) {
  static const int src[] = {4, 5, 6, 3}, prompt[] = {2, 4, 5, 6};
  syn_batch b;
  world w;
  if (!world_make(&w)) return;
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.src = src;
  b.tgt = prompt;
  b.src_width = b.tgt_width = 4;
  CHECK(!syn_decoder_run(w.decoder, &b, NULL, NULL), "%s", w.c.message);
  CHECK(!syn_run_text(w.r, syn_text_of("abc"), syn_text_of("ab")), "%s", w.c.message);
  check_text("syn_tensor_text", text_tensor, &w);
  check_text("syn_tape_text", text_tape, &w);
  check_text("syn_model_describe", text_describe, &w);
  check_text("syn_attention_shades", text_shades, &w);
  check_text("syn_tokenizer_decode", text_decode, &w);
  check_text("syn_decoder_output_text", text_output, &w);
  check_text("syn_text_normalize", text_normal, &w);
  test_short(&w);
  world_free(&w);
  test_short_small();
}

/* The files that are loaded, and the blocks. */
static int prepare(void) {
  const syn_tokenizer *t;
  syn_small_options options;
  syn_sink sink;
  world w;
  if (!world_make(&w)) return 0;
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  sink = sink_of(&good);
  CHECK(!syn_model_save_to(&w.c, w.m, &sink), "%s", w.c.message);
  CHECK(!syn_model_save(&w.c, w.m, "good.safetensors"), "%s", w.c.message);
  CHECK(!syn_model_save_as(&w.c, w.m, "i4", "i4.safetensors"), "%s", w.c.message);
  sink = sink_of(&small);
  CHECK(!syn_small_write(&w.c, w.m, &options, &sink), "%s", w.c.message);
  t = syn_model_tokenizer(w.m, SYN_SRC);
  saved_tokenizer.size = syn_tokenizer_save(t, NULL, 0);
  saved_tokenizer.at = (char *)malloc(saved_tokenizer.size);
  syn_tokenizer_save(t, saved_tokenizer.at, saved_tokenizer.size);
  CHECK(!syn_trainer_run(w.t, w.d, w.d, NULL, NULL), "%s", w.c.message);
  CHECK(!syn_trainer_save(w.t, "good.checkpoint"), "%s", w.c.message);
  sink = sink_of(&good_checkpoint);
  CHECK(!syn_trainer_save_to(w.t, &sink), "%s", w.c.message);
  CHECK(syn_hash(SYN_HASH_START, good_checkpoint.at, good_checkpoint.size) ==
        hash_file("good.checkpoint"), "a sink and a file get other bytes");
  world_free(&w);
  return check_failed == 0;
}

/* A source that fails: no model, a trainer as it was, nothing is left. */
static void test_sources(void) {
  uint64_t before;
  size_t limit;
  reading r;
  syn_source source;
  world w;
  if (!world_make(&w)) return;
  before = hash_world(&w);
  for (limit = 0; limit < good_checkpoint.size; limit += limit < 40 ? 1 : 197) {
    const long blocks = w.h.blocks;
    source = source_of(&r, &good_checkpoint);
    r.limit = limit;
    CHECK(syn_trainer_load_from(w.t, &source) == SYN_E_FILE && strstr(w.c.message, "source: only "),
          "%lu bytes: %s", (unsigned long)limit, w.c.message);
    syn_context_clear(&w.c);
    source = source_of(&r, &good_checkpoint);
    r.limit = limit;
    CHECK(!syn_model_load_from(&w.c, &source) && w.c.status == SYN_E_FILE && r.at == limit,
          "%lu bytes: %s", (unsigned long)limit, w.c.message);
    syn_context_clear(&w.c);
    CHECK(w.h.blocks == blocks && hash_world(&w) == before, "%lu bytes: changed", (unsigned long)limit);
  }
  world_free(&w);
}

int main(void) {
  size_t i, n = sizeof jobs / sizeof *jobs;
  long tried = 0;
  test_names();
  test_silent();
  if (prepare()) {
    for (i = 0; i < n; i++) tried += test_job(&jobs[i]);
    test_buffers();
    test_sources();
    printf("%lu calls, %ld allocations refused\n", (unsigned long)n, tried);
  }
  free(saved_tokenizer.at);
  free(small.at);
  free(good.at);
  return CHECK_END("failure");
}
