/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_callbacks.c -o fuzz_callbacks -lm
   mkdir seeds corpus; ./fuzz_callbacks --seeds seeds; ./fuzz_callbacks -max_len=1000 corpus seeds
   Any bytes as calls of the public functions that the callbacks of others make: report, cancel,
   token, text, sink, clock and the report of syn_model_init_from call back with the same
   objects, up to three calls deep. What is allowed works, what is not gives an error; an object
   whose _free was refused is there as before. */
#define FUZZ_NAME "callbacks"
#define FUZZ_EDGES 3000
#define FUZZ_MARKS(X) \
  X(report) X(cancel) X(token) X(text) X(sink) X(clock) X(init) X(nested) X(refused) \
  X(kept) X(trained) X(evaluated) X(decoded) X(learned)
#include "fuzz.h"

enum { DEPTH = 3, CALLS = 60, WIDTH = 4 };

static struct {
  syn_context c;
  syn_model *m, *other; /* other: for syn_model_init_from */
  syn_trainer *trainer;
  syn_decoder *decoder;
  syn_data *data;
  int lm, depth, left; /* left: calls that may still be made */
  int changing;        /* calls under way that change m */
} all;

static void call_any(void);

/* What every callback does: at times it calls. */
static int call_back(int mark) {
  fuzz_mark(mark);
  if (all.depth >= DEPTH || !fuzz.left || fuzz_byte() % 2) return 0;
  fuzz_mark(MARK_nested);
  call_any();
  return fuzz_byte() % 8 == 0;
}
static int on_cancel(void *user) { return (void)user, call_back(MARK_cancel); }
static int on_report(void *user, const syn_trainer *t, float loss, int validated) {
  FUZZ_WANT(syn_trainer_state(t) && !user && (validated == 0 || validated == 1), "a report of loss %g", (double)loss);
  return call_back(MARK_report);
}
static int on_token(void *user, int sentence, int token) {
  FUZZ_WANT(!user && sentence >= 0 && token > 2, "token %d of sentence %d", token, sentence);
  return call_back(MARK_token);
}
static int on_text(void *user, syn_text piece) {
  FUZZ_WANT(!user && piece.size, "an empty piece");
  return call_back(MARK_text);
}
static size_t on_write(void *user, const void *bytes, size_t size) {
  FUZZ_WANT(bytes || !size, "no bytes");
  return (void)user, size - (size && call_back(MARK_sink));
}
static double on_clock(void *user) {
  double *now = (double *)user;
  call_back(MARK_clock);
  return *now += 0.5;
}
static void on_init(void *user, const syn_param *mine, const syn_param *theirs, int rows) {
  FUZZ_WANT(!user && (mine || theirs) && rows >= 0, "nothing to report");
  call_back(MARK_init);
}

/* -- the objects: a _free that was refused leaves an error, and the object -- */

static int refused(void) {
  syn_status status = all.c.status;
  if (status) fuzz_mark(MARK_kept);
  FUZZ_WANT(!status || strstr(all.c.message, "a callback called back"), "refused: %s", all.c.message);
  syn_context_clear(&all.c);
  return status != SYN_OK;
}
static void drop_trainer(void) {
  syn_context_clear(&all.c);
  syn_trainer_free(all.trainer);
  if (!refused()) all.trainer = NULL;
}
static void drop_decoder(void) {
  syn_context_clear(&all.c);
  syn_decoder_free(all.decoder);
  if (!refused()) all.decoder = NULL;
}
static void drop_data(void) {
  syn_context_clear(&all.c);
  syn_data_free(all.data);
  if (!refused()) all.data = NULL;
}
/* A model that nothing changes belongs to the caller alone, so it is only tried where it must be refused. */
static void drop_model(void) {
  if (!all.changing) return;
  syn_context_clear(&all.c);
  syn_model_free(all.m);
  FUZZ_WANT(refused(), "a model was freed in its training");
}

static syn_tokenizer *tokenizer(const char *text) {
  syn_text line = syn_text_of(text);
  return syn_tokenizer_learn(&all.c, fuzz_byte() % 2 ? "space" : "char", 0, &line, 1);
}
static syn_model *model(const char *text) {
  syn_tokenizer *src = all.lm ? NULL : tokenizer(text), *tgt = tokenizer("d e f \xC3\xA4");
  syn_config k;
  syn_model *m;
  memset(&k, 0, sizeof k);
  k.task = all.lm ? "lm" : "seq2seq";
  if (!all.lm) k.encoder = "pos -> norm";
  k.decoder = all.lm ? "rnn -> dropout(0.5)" : "pos -> res_nd(mh_dot_att) -> norm";
  k.d_model = 4, k.heads = 2, k.max_len = 8;
  k.src_vocab = src ? syn_tokenizer_size(src) : 4;
  k.tgt_vocab = syn_tokenizer_size(tgt);
  m = syn_model_new(&all.c, &k);
  syn_model_set_tokenizers(m, src, tgt);
  if (!m) syn_tokenizer_free(src), syn_tokenizer_free(tgt);
  return m;
}
static void new_trainer(void) {
  syn_train_config k;
  memset(&k, 0, sizeof k);
  drop_trainer();
  if (all.trainer) return;
  k.steps = 3, k.batch_tokens = 16, k.length = 8, k.every = fuzz_below(3), k.average = fuzz_below(3);
  k.ema = fuzz_byte() % 2 ? 0.1f : 0.0f;
  k.halve = fuzz_byte() % 2;
  if (fuzz_byte() % 4 == 0) k.lr = 1e30f;
  all.trainer = syn_trainer_new(&all.c, all.m, &k);
}
static void new_decoder(void) {
  syn_decode_config k;
  memset(&k, 0, sizeof k);
  drop_decoder();
  if (all.decoder) return;
  k.sentences = 2, k.beam = 1 + fuzz_below(3), k.best = 1, k.prefill = 1 + fuzz_below(2);
  if (k.beam == 1 && fuzz_byte() % 2) k.temperature = 1.0f;
  all.decoder = syn_decoder_new(&all.c, all.m, &k);
}
static void new_data(void) {
  static const syn_corruption gaps = {0.5f, 1.0f, 4, 1, 0};
  static const int ids[] = {4, 4, 3};
  syn_text text = syn_text_of("d e \xC3\xA4"), none = syn_text_of("");
  if (!all.data) all.data = syn_data_new(&all.c);
  if (syn_data_count(all.data) > 9) return;
  syn_data_add_text(all.data, all.m, all.lm ? none : text, text);
  syn_data_add(all.data, ids, all.lm ? 0 : 2, ids, 2);
  if (fuzz_byte() % 4 == 0) syn_data_add_windows(all.data, ids, 2, 2, 1 + fuzz_below(2));
  if (fuzz_byte() % 32 == 0) syn_data_corrupt(all.data, &gaps);
}

/* -- the calls -- */

static syn_batch batch(void) {
  static const int src[] = {4, 3, 0, 0, 4, 4, 4, 3}, tgt[] = {2, 4, 0, 0, 2, 4, 4, 0}, labels[] = {4, 3, 0, 0, 4, 4, 3, 0};
  syn_batch b = {2, src, tgt, labels, WIDTH, WIDTH, NULL, NULL, NULL};
  return b;
}
static void call_trainer(int how) {
  syn_batch b = batch();
  float loss;
  double mean;
  int64_t labels;
  syn_status s = SYN_E_VALUE;
  all.changing += all.trainer != NULL;
  if (how == 0) s = syn_trainer_step(all.trainer, &b, 1, &loss);
  if (how == 1) s = syn_trainer_backward(all.trainer, &b, &loss);
  if (how == 2) s = syn_trainer_batch_loss(all.trainer, &b, &mean, &labels);
  if (how == 3) s = syn_trainer_evaluate(all.trainer, all.data, &mean, &labels);
  if (how == 4) s = syn_trainer_validate(all.trainer, fuzz_byte() % 2 ? all.data : NULL);
  if (how == 5) s = syn_trainer_run(all.trainer, all.data, fuzz_byte() % 2 ? all.data : NULL, on_report, NULL);
  all.changing -= all.trainer != NULL;
  if (!s) fuzz_mark(how == 3 ? MARK_evaluated : MARK_trained);
  if (how == 6) syn_trainer_average(all.trainer);
}
static void call_decoder(int how) {
  static const int banned[] = {5, 0, 4, 4, 0, 0};
  static const unsigned char allowed[2 * 64] = {0, 1, 0, 1, 1};
  static const uint64_t seeds[2] = {1, 2};
  syn_batch b = batch();
  int size;
  syn_status s = SYN_E_VALUE;
  b.tgt = NULL;
  if (how == 0) s = syn_decoder_run(all.decoder, &b, fuzz_byte() % 4 ? on_token : NULL, NULL);
  if (how == 1)
    s = syn_decoder_run_text(all.decoder, syn_text_of(all.lm ? "" : "d e"), syn_text_of(fuzz_byte() % 2 ? "d" : ""),
                             fuzz_byte() % 4 ? on_text : NULL, NULL);
  if (!s) fuzz_mark(MARK_decoded);
  if (how == 2) syn_decoder_set_limit(all.decoder, fuzz_byte() % 4);
  if (how == 2) syn_decoder_set_banned(all.decoder, fuzz_byte() % 2 ? banned : NULL);
  if (how == 2) syn_decoder_set_allowed(all.decoder, fuzz_byte() % 2 ? allowed : NULL);
  if (how == 2) syn_decoder_set_seeds(all.decoder, fuzz_byte() % 2 ? seeds : NULL);
  if (how == 3) {
    const int *out = syn_decoder_output(all.decoder, fuzz_below(3), 0, &size, NULL);
    while (out && size-- > 0) FUZZ_WANT(out[size] > 2 && out[size] < 64, "token %d", out[size]);
  }
}
static void call_evaluate(void) {
  double loss;
  int64_t labels;
  if (!syn_model_evaluate(&all.c, all.m, all.data, 8 << fuzz_below(4), &loss, &labels)) fuzz_mark(MARK_evaluated);
}
static void call_write(void) {
  syn_sink sink = {on_write, NULL};
  if (fuzz_byte() % 2) syn_model_save_to(&all.c, all.m, &sink);
  else syn_small_write(&all.c, all.m, NULL, &sink);
}
static void call_init(void) {
  all.changing++;
  syn_model_init_from(all.m, all.other, 0, on_init, NULL);
  all.changing--;
}
static void call_learn(void) {
  syn_text src[4], tgt[4];
  syn_choice k;
  syn_learn_config how;
  syn_model *m;
  double now = 0.0;
  int i;
  for (i = 0; i < 4; i++) src[i] = syn_text_of("a b"), tgt[i] = syn_text_of(i % 2 ? "x" : "y");
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  strcpy(k.src_tokenizer, "space"), strcpy(k.tgt_tokenizer, "line"), strcpy(k.encoder, "norm");
  k.d_model = 4, k.heads = 1, k.max_len = 8, k.batch_tokens = 16, k.steps = 2, k.hold_back = 0.5;
  how.task = "classify", how.choice = &k, how.report = NULL, how.minutes = 1.0, how.seconds = on_clock, how.user = &now;
  m = syn_learn(&all.c, &how, src, tgt, 4);
  if (m) fuzz_mark(MARK_learned);
  syn_model_free(m);
}

static void call_any(void) {
  int what = fuzz_below(24), clear = fuzz_byte() % 4;
  if (all.left-- <= 0) return;
  if (clear) syn_context_clear(&all.c);
  all.depth++;
  if (what < 7) call_trainer(what);
  else if (what < 11) call_decoder(what - 7);
  else if (what == 11) drop_trainer();
  else if (what == 12) drop_decoder();
  else if (what == 13) drop_data();
  else if (what == 14) drop_model();
  else if (what == 15) new_trainer();
  else if (what == 16) new_decoder();
  else if (what < 19) new_data();
  else if (what == 19) call_evaluate();
  else if (what == 20) call_write();
  else if (what == 21) call_init();
  else if (what == 22) call_learn();
  else syn_data_batches(all.data, 4 << fuzz_below(4), 1);
  all.depth--;
  FUZZ_WANT(!all.c.status || all.c.message[0], "an error without a message");
  if (all.c.status && strstr(all.c.message, "a callback called back")) fuzz_mark(MARK_refused);
}

static void fuzz_one(void) {
  syn_options o;
  memset(&all, 0, sizeof all);
  memset(&o, 0, sizeof o);
  o.alloc = fuzz_alloc;
  o.release = fuzz_release;
  o.cancel = on_cancel;
  o.isa = "scalar";
  syn_context_init(&all.c, &o);
  all.left = CALLS;
  all.lm = fuzz_byte() % 2;
  all.depth = DEPTH; /* nothing calls back yet */
  all.m = model("d e");
  all.other = model("e d c");
  new_data();
  new_trainer();
  new_decoder();
  all.depth = 0;
  while (all.m && all.other && fuzz.left && all.left > 0) call_any();
  drop_decoder();
  drop_trainer();
  drop_data();
  FUZZ_WANT(!all.decoder && !all.trainer && !all.data && !all.changing, "an object is at work for ever");
  syn_model_free(all.m);
  syn_model_free(all.other);
  FUZZ_WANT(!all.c.status, "%s", all.c.message);
}

/* Bytes that call each function, then anything. */
static void fuzz_seeds(void) {
  syn_random r = {11};
  int i, k;
  for (i = 0; i < 48; i++) {
    char name[20];
    unsigned char bytes[400];
    for (k = 0; k < 400; k++) bytes[k] = (unsigned char)syn_random_below(&r, i % 3 ? 24 : 256);
    bytes[0] = (unsigned char)(i % 2);
    bytes[10 + i % 5] = (unsigned char)(i / 2);
    snprintf(name, sizeof name, "callbacks%d", i);
    fuzz_seed(name, bytes, sizeof bytes);
  }
}
