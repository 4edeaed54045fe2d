/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_calls.c -o fuzz_calls -lm
   mkdir seeds corpus; ./fuzz_calls --seeds seeds; ./fuzz_calls -max_len=2000 corpus seeds
   Any bytes as a sequence of calls of the public functions on a few objects, with hostile batches:
   any ids, counts and widths, missing arrays. Arrays are as large as their sizes say. An object is
   freed after what was made of it. */
#define FUZZ_NAME "calls"
#define FUZZ_EDGES 4000
#define FUZZ_MARKS(X) \
  X(built) X(forward) X(backward) X(evaluated) X(trained) X(ran) X(decoded) X(prompted) X(text) \
  X(tape) X(gradient) X(cancelled)
#include "fuzz.h"

enum { MAX_CALLS = 60, MAX_CELLS = 256, MAX_QUESTIONS = 250 };

static struct {
  syn_context c;
  syn_model *m;
  syn_run *run;
  syn_trainer *trainer;
  syn_decoder *decoder;
  syn_data *data;
  int cancel; /* calls until `cancel` says so; 0: never */
  int asked;  /* calls of `cancel` by one function */
} all;
static int *own[3]; /* the arrays of the last batch */

/* A trainer with the default of a thousand steps takes seconds: MAX_QUESTIONS ends its run. */
static int cancel(void *user) {
  (void)user;
  if (++all.asked > MAX_QUESTIONS) return 1;
  if (all.cancel && --all.cancel == 0) return fuzz_mark(MARK_cancelled), 1;
  return 0;
}

/* A number: mostly small and fitting, at times anything. */
static int number(int fitting) {
  int how = fuzz_byte();
  if (how < 230) return how % (fitting + 1);
  if (how < 245) return -1 - how % 3;
  if (how < 250) return fitting + how % 4;
  return fuzz_int();
}
/* A token id: mostly one of the vocabulary. */
static int token(int vocabulary) {
  int how = fuzz_byte();
  return how < 250 ? how % vocabulary : how < 253 ? -1 : how < 255 ? vocabulary : fuzz_int();
}

/* An array of count * width tokens in a block of just that size; rows begin with `first`, end
   with `last`, if not 0. */
static int *tokens(int count, int width, int vocabulary, int first, int last) {
  size_t n = count > 0 && width > 0 ? (size_t)count * (size_t)width : 0, i;
  int *at;
  if (n > MAX_CELLS) return NULL;
  at = (int *)malloc(n * sizeof *at + !n);
  if (!at) abort();
  for (i = 0; i < n; i++) at[i] = 4 + fuzz_below(vocabulary - 4);
  for (i = 0; i < n; i += (size_t)width) {
    if (first) at[i] = first;
    if (last) at[i + (size_t)width - 1] = last;
  }
  return at;
}

/* A number that is not above `most`: mostly 0 .. most, at times anything below. */
static int at_most(int most) {
  int n = number(most);
  return n > most ? -1 : n;
}

/* One thing that a batch must not have, or may have. Arrays never become larger than their
   blocks. */
static void spoil(syn_batch *b, int *src, int *tgt, int *labels) {
  int cells = b->count * b->src_width, at = fuzz_below(cells ? cells : 1);
  switch (fuzz_below(8)) {
    case 0: if (src && cells) src[at] = token(11); break;
    case 1: if (tgt && cells) tgt[at] = token(9); break;
    case 2: if (labels && cells) labels[at] = token(9); break;
    case 3: b->count = at_most(b->count); break;
    case 4: b->src_width = at_most(b->src_width); break;
    case 5: b->tgt_width = b->tgt_width ? 1 : -1; break;
    case 6: if (src && cells) src[at] = 0; break;
    default:
      if (fuzz_byte() % 2) b->src = NULL;
      else if (fuzz_byte() % 2) b->tgt = NULL;
      else b->labels = NULL;
      break;
  }
}

/* A batch that fits the model; every other one is spoilt. */
static syn_batch batch_of(void) {
  const syn_config *k = syn_model_config(all.m);
  const char *task = k ? k->task : "seq2seq";
  int lm = !strcmp(task, "lm"), tag = !strcmp(task, "tag"), classify = !strcmp(task, "classify"), i;
  int count = 1 + fuzz_below(3), width = 1 + fuzz_below(k && k->max_len < 5 ? k->max_len : 5);
  int *src = lm && fuzz_byte() % 8 ? NULL : tokens(count, width, 11, 0, tag ? 0 : SYN_END);
  int *tgt = (tag || classify) && fuzz_byte() % 8 ? NULL : tokens(count, width, 9, SYN_BEGIN, 0);
  int *labels = tokens(count, width, 9, 0, tag || classify ? 0 : SYN_END);
  syn_batch b;
  for (i = 0; (tag || classify) && i < count * width; i++)
    labels[i] = labels[i] - 4 + tag * (labels[i] < 8);
  memset(&b, 0, sizeof b);
  b.count = count;
  b.src = src;
  b.tgt = tgt;
  b.labels = labels;
  b.src_width = b.tgt_width = width;
  if (fuzz_byte() % 2) spoil(&b, src, tgt, labels);
  own[0] = src;
  own[1] = tgt;
  own[2] = labels;
  return b;
}
static void batch_free(void) {
  int i;
  for (i = 0; i < 3; i++) free(own[i]);
}

static void drop_model(void) {
  syn_decoder_free(all.decoder);
  syn_run_free(all.run);
  syn_trainer_free(all.trainer);
  syn_model_free(all.m);
  all.decoder = NULL;
  all.run = NULL;
  all.trainer = NULL;
  all.m = NULL;
}

static void call_model(void) {
  static const char *const texts[] = {"res_nd(syn_att(R+V)) -> norm", "rnn -> ff",
                                      "learn_pos -> cnn(k=3)",        "syn_att(D) -> dropout(0.5)",
                                      "res(mh_dot_att) -> norm",      "rnn -> mlp_att -> linear",
                                      "input_feed -> rnn -> mlp_att"};
  static const char *const names[] = {"seq2seq", "lm", "classify", "tag"};
  int task = fuzz_below(4);
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = names[task];
  if (task != 1) k.encoder = texts[fuzz_below(4)];
  if (task < 2) k.decoder = texts[task ? fuzz_below(4) : 4 + fuzz_below(3)];
  k.d_model = 4;
  k.heads = 2;
  k.max_len = 3 + fuzz_below(6);
  k.src_vocab = 11;
  k.tgt_vocab = 9;
  k.classes = 5;
  k.label_smoothing = fuzz_byte() % 2 ? 0.1f : 0.0f;
  drop_model();
  all.m = syn_model_new(&all.c, &k);
  if (all.m) fuzz_mark(MARK_built);
}

static void call_run(void) {
  syn_limits k;
  memset(&k, 0, sizeof k);
  k.sentences = fuzz_byte() % 4 ? 0 : number(4);
  k.src_rows = fuzz_byte() % 4 ? 32 : number(24);
  k.tgt_rows = fuzz_byte() % 4 ? 0 : number(24);
  k.length = fuzz_byte() % 4 ? 0 : number(6);
  k.keep = fuzz_byte() % 2;
  k.cut = fuzz_byte() % 2 ? 0 : number(6);
  syn_run_free(all.run);
  all.run = syn_run_new(&all.c, all.m, &k);
}

static void call_pass(int backward) {
  syn_batch b = batch_of();
  syn_value value;
  int rows, size[2], sentence = number(4), i;
  float p, loss, out[8];
  syn_status status = backward ? syn_run_backward(all.run, &b, fuzz_byte() % 2 ? &loss : NULL)
                               : syn_run_forward(all.run, &b);
  if (!status) fuzz_mark(backward ? MARK_backward : MARK_forward);
  if (!status && b.count > 0) FUZZ_WANT(syn_run_logits(all.run, 0, &rows), "no logits");
  if (syn_run_logits(all.run, sentence, &rows))
    for (i = 0; i < rows; i++) syn_run_class(all.run, sentence, i, number(5), &p);
  syn_run_class(all.run, sentence, number(6), number(5), NULL);
  syn_run_class_name(all.run, sentence, number(6), number(5), NULL);
  syn_run_attention(all.run, number(2), number(2), sentence, size);
  syn_context_clear(&all.c);
  if (!syn_run_value(all.run, "out", sentence, &value)) FUZZ_WANT(value.x, "no numbers");
  syn_run_value(all.run, "encoder.0.w", sentence, &value);
  syn_run_vector(all.run, "encoder.0", sentence, number(2), out, fuzz_byte() % 2 ? 4 : number(8));
  batch_free();
}

static void call_data(void) {
  int n_src = number(8), n_tgt = number(8), window = number(6), stride = number(6);
  int *src = tokens(1, n_src, 11, 0, 0), *tgt = tokens(1, n_tgt, fuzz_byte() % 4 ? 9 : 5, 4, 0);
  syn_corruption k;
  int length, left, right;
  if (!all.data) all.data = syn_data_new(&all.c);
  if (fuzz_byte() % 4) syn_data_add(all.data, src, src ? n_src : 0, tgt, tgt ? n_tgt : 0);
  else if (tgt) syn_data_add_windows(all.data, tgt, n_tgt > 0 ? (size_t)n_tgt : 0, window, stride);
  syn_data_row(all.data, (size_t)number(3), number(2), &length);
  if (fuzz_byte() % 16 == 0) {
    memset(&k, 0, sizeof k);
    k.mask = fuzz_byte() % 4 == 0;
    k.noise = (float)number(10) / 8.0f;
    k.span = (float)number(5);
    k.first = number(8);
    k.count = number(4);
    if (!syn_data_corrupt(all.data, &k)) syn_corrupt_sizes(&k, number(12), &left, &right);
  }
  free(src);
  free(tgt);
  if (syn_data_count(all.data) > 20) {
    syn_data_free(all.data);
    all.data = NULL;
  }
}

static void call_trainer(void) {
  static const char *const optimizers[] = {"adam", "adamw", "adafactor", "sgd", "muon", "none"};
  static const char *const schedules[] = {"rsqrt",    "noam",    "linear", "cosine",
                                          "constant", "plateau", "none"};
  syn_train_config k;
  memset(&k, 0, sizeof k);
  k.optimizer = optimizers[fuzz_byte() % 16 ? fuzz_below(5) : 5];
  k.schedule = schedules[fuzz_byte() % 16 ? fuzz_below(6) : 6];
  k.lr = fuzz_byte() % 8 ? 0.01f : 1e30f;
  k.warmup = number(3);
  k.steps = number(4) % 8; /* what is counted in updates is bounded here */
  k.batch_tokens = fuzz_byte() % 8 ? 32 : number(64);
  k.accumulate = fuzz_byte() % 4 ? 1 : number(3) % 8;
  k.length = fuzz_byte() % 4 ? 0 : number(6);
  k.every = number(2);
  k.average = number(3);
  k.ema = 0.1f * (float)(fuzz_byte() % 12);
  k.clip = (float)number(2);
  k.weight_decay = (float)number(2);
  k.stop_after = number(2);
  k.patience = number(2);
  k.factor = 0.1f * (float)(fuzz_byte() % 11);
  k.freeze = fuzz_byte() % 8 ? NULL : "*.w*|src.embed";
  syn_trainer_free(all.trainer);
  all.trainer = syn_trainer_new(&all.c, all.m, &k);
}

/* A step in its parts, with a sum as of several processes that all have the same gradient. */
static void call_parts(syn_batch *b) {
  syn_gradient g;
  size_t k;
  int i, count = fuzz_below(4);
  memset(&g, 0, sizeof g);
  if (fuzz_byte() % 8 == 0) g.labels = number(4), g.size = (size_t)fuzz_below(100);
  for (i = 0; i < count; i++) {
    syn_batch next;
    int drawn = fuzz_byte() % 2 && !syn_trainer_next(all.trainer, all.data, &next);
    syn_trainer_accumulate(all.trainer, drawn ? &next : b, fuzz_byte() % 8 ? i : number(3), &g);
  }
  for (k = 0; g.x && k < g.size; k++) g.x[k] *= fuzz_byte() == 255 ? 1e30f : 2.0f;
  if (!syn_trainer_update(all.trainer, &g, NULL)) fuzz_mark(MARK_trained);
}

static void call_step(void) {
  syn_batch b[2];
  float loss;
  double sum;
  int64_t labels;
  int how = fuzz_below(5), count = fuzz_byte() % 8 ? 1 : number(2);
  b[0] = batch_of();
  b[1] = b[0];
  if (how == 0 && !syn_trainer_step(all.trainer, b, count < 3 ? count : 2, &loss))
    fuzz_mark(MARK_trained);
  if (how == 1) syn_trainer_backward(all.trainer, b, &loss);
  if (how == 4) call_parts(b);
  if (how == 2) syn_trainer_batch_loss(all.trainer, b, &sum, &labels);
  if (how == 1 && all.m)
    syn_trainer_gradient(all.trainer, syn_model_param(all.m, (size_t)number(3)));
  if (how == 3 &&
      !syn_trainer_run(all.trainer, all.data, fuzz_byte() % 2 ? all.data : NULL, NULL, NULL))
    fuzz_mark(MARK_ran);
  batch_free();
}

static void call_evaluate(void) {
  double loss;
  int64_t labels;
  if (!syn_trainer_evaluate(all.trainer, all.data, &loss, &labels)) fuzz_mark(MARK_evaluated);
  syn_context_clear(&all.c);
  if (!syn_model_evaluate(&all.c, all.m, all.data, 64, &loss, &labels)) fuzz_mark(MARK_evaluated);
  syn_context_clear(&all.c);
  syn_trainer_validate(all.trainer, fuzz_byte() % 2 ? all.data : NULL);
  syn_data_batches(all.data, number(64), 1);
  syn_trainer_average(all.trainer);
}

static void call_decoder(void) {
  syn_decode_config k;
  memset(&k, 0, sizeof k);
  k.sentences = fuzz_byte() % 4 ? 3 : number(4);
  k.source_len = fuzz_byte() % 4 ? 0 : number(6);
  k.max_len = number(6);
  k.beam = number(4);
  k.best = number(3);
  k.alpha = (float)number(2);
  k.temperature = fuzz_byte() % 2 ? 0.0f : (float)number(3);
  k.top_k = fuzz_byte() % 2 ? 0 : number(9);
  k.top_p = fuzz_byte() % 2 ? 0.0f : (float)number(4) / 4.0f;
  k.prefill = number(8);
  k.type = fuzz_byte() % 4 ? NULL : "i8";
  k.score = fuzz_byte() % 4 == 0;
  k.cut = fuzz_byte() % 2 ? 0 : number(6);
  syn_decoder_free(all.decoder);
  all.decoder = syn_decoder_new(&all.c, all.m, &k);
}

static int stop(void *user, int sentence, int chosen) {
  (void)user;
  FUZZ_WANT(sentence >= 0 && chosen >= 0, "token %d of sentence %d", chosen, sentence);
  return chosen == 7;
}

static void call_decode(void) {
  static const uint64_t seeds[MAX_CELLS] = {5, 6};
  static const int banned[] = {7, 0, 5, 6, 0, 0};
  static unsigned char allowed[MAX_CELLS * 9];
  syn_batch b = batch_of();
  int size, i = number(3);
  float score;
  if (fuzz_byte() % 2) b.tgt = NULL;
  if (b.tgt && fuzz_byte() % 2) b.tgt_width = b.tgt_width > 0 ? 1 : 0;
  memset(allowed, fuzz_byte() % 2, sizeof allowed);
  allowed[4] = allowed[12] = 1;
  syn_decoder_set_seeds(all.decoder, fuzz_byte() % 2 ? seeds : NULL);
  syn_decoder_set_banned(all.decoder, fuzz_byte() % 2 ? banned : NULL);
  syn_decoder_set_allowed(all.decoder, fuzz_byte() % 4 || b.count > MAX_CELLS ? NULL : allowed);
  if (b.count > MAX_CELLS) syn_decoder_set_seeds(all.decoder, NULL);
  if (!syn_decoder_run(all.decoder, &b, fuzz_byte() % 2 ? stop : NULL, NULL))
    fuzz_mark(b.tgt ? MARK_prompted : MARK_decoded);
  syn_decoder_output(all.decoder, i, number(3), &size, &score);
  batch_free();
}

static int text_done(void *user, const syn_decoder *d, size_t index, int sentence) {
  char out[9];
  (void)user;
  FUZZ_WANT(index < 2 && syn_decoder_cut(d, sentence) >= 0, "text %lu", (unsigned long)index);
  syn_decoder_output_text(d, sentence, 0, out, sizeof out, NULL);
  return 0;
}

static void call_text(void) {
  static const char *const texts[] = {"a b c", "", "\xFF", "b \xC3\xA9", "c c c c c c c c c c c c"};
  syn_text lines[2], a = syn_text_of(texts[fuzz_below(5)]), b = syn_text_of(texts[fuzz_below(5)]);
  syn_tokenizer *t;
  char out[9];
  lines[0] = syn_text_of("a b c d");
  lines[1] = a;
  if (fuzz_byte() % 4 == 0 && all.m) {
    t = syn_tokenizer_learn(&all.c, "space", 0, lines, 2);
    syn_model_set_tokenizers(all.m, t, fuzz_byte() % 2 ? t : NULL);
  }
  if (!all.data) all.data = syn_data_new(&all.c);
  if (fuzz_byte() % 4 == 0) syn_data_set_cut(all.data, number(6));
  if (!syn_data_add_text(all.data, all.m, a, b)) fuzz_mark(MARK_text);
  syn_context_clear(&all.c);
  if (!syn_run_text(all.run, a, b)) fuzz_mark(MARK_text);
  syn_context_clear(&all.c);
  if (fuzz_byte() % 4 == 0) syn_decoder_set_limit(all.decoder, number(6));
  if (!syn_decoder_run_text(all.decoder, a, b, NULL, NULL)) fuzz_mark(MARK_text);
  syn_context_clear(&all.c);
  lines[0] = b;
  syn_decoder_set_seeds(all.decoder, NULL);
  syn_decoder_set_allowed(all.decoder, NULL);
  if (fuzz_byte() % 2) syn_decoder_run_texts(all.decoder, lines, fuzz_byte() % 2 ? lines : NULL, 2, text_done, NULL);
  else
  syn_decoder_output_text(all.decoder, 0, number(2), out, sizeof out, NULL);
}

/* The answers to one text, after call_text has given tokenizers. */
static void call_answers(void) {
  static const char *const texts[] = {"a b c", "", "\xFF", "b \xC3\xA9", "a\tb", "c c c c c c c c c c c c"};
  syn_text a = syn_text_of(texts[fuzz_below(6)]), b = syn_text_of(texts[fuzz_below(6)]);
  int out[8], room = at_most(8), done;
  float log_p[8], p[5], vector[8];
  done = syn_classify(all.run, a, fuzz_byte() % 2 ? p : NULL).size > 0;
  syn_context_clear(&all.c);
  done += syn_tag(all.run, a, fuzz_byte() % 8 ? out : NULL, room) >= 0;
  syn_context_clear(&all.c);
  done += syn_score(all.run, a, b, fuzz_byte() % 8 ? log_p : NULL, room) > 0;
  syn_context_clear(&all.c);
  done += syn_align(all.run, a, b, fuzz_byte() % 8 ? out : NULL, room) >= 0;
  syn_context_clear(&all.c);
  done += syn_embed(all.run, a, number(7), vector, fuzz_byte() % 8 ? 4 : at_most(8)) > 0;
  if (done) fuzz_mark(MARK_text);
}

static syn_tensor *leaf(syn_tape *t) {
  int shape[SYN_MAX_RANK], rank = fuzz_byte() % 8 ? 2 : number(SYN_MAX_RANK), i;
  syn_tensor *x;
  for (i = 0; i < SYN_MAX_RANK; i++) shape[i] = fuzz_byte() % 16 ? 1 + fuzz_below(4) : number(5);
  x = syn_tensor_new(t, rank, shape);
  for (i = 0; x && i < (int)syn_count(x) && i < MAX_CELLS; i++) x->x[i] = (float)(i % 5) - 1.5f;
  return x;
}

/* Up to twelve operations on a tape of their own, each on earlier results or on none. */
static void call_tape(void) {
  syn_tape *t =
      syn_tape_new(&all.c, fuzz_byte() % 8 ? 1 << 16 : (size_t)(unsigned)number(4096) % 65536);
  syn_tensor *x[16] = {NULL};
  int i, n, ids[4];
  char text[50];
  static const char *const names[] = {"relu", "gelu", "tanh", "sigmoid", "swish", "glu", ""};
  for (i = 0; i < 3; i++) x[i] = leaf(t);
  for (n = 3 + fuzz_below(10); i < n; i++) {
    syn_tensor *a = x[fuzz_below(i)], *b = x[fuzz_below(i)];
    switch (fuzz_below(16)) {
      case 0: x[i] = syn_add(a, b); break;
      case 1: x[i] = syn_sub(a, b); break;
      case 2: x[i] = syn_mul(a, b); break;
      case 3: x[i] = syn_scale(a, 0.5f); break;
      case 4: x[i] = syn_matmul(a, b); break;
      case 5: x[i] = syn_linear(a, b, x[fuzz_below(i)]); break;
      case 6: x[i] = syn_transpose(a); break;
      case 7: { int first = number(3); x[i] = syn_slice(a, first, number(3)); } break;
      case 8: x[i] = syn_concat(a, b); break;
      case 9:
        ids[0] = number(3);
        ids[1] = ids[2] = ids[3] = 0;
        x[i] = syn_lookup(a, ids, number(4) % 5);
        break;
      case 10: x[i] = syn_act(a, names[fuzz_below(7)]); break;
      case 11: x[i] = syn_exp(a); break;
      case 12: x[i] = syn_log(a); break;
      case 13: x[i] = syn_softmax(a); break;
      case 14: x[i] = syn_mean(a); break;
      default: x[i] = syn_sum(a); break;
    }
    if (x[i]) fuzz_mark(MARK_tape);
    syn_context_clear(&all.c);
  }
  if (!syn_backward(x[n - 1])) fuzz_mark(MARK_gradient);
  syn_context_clear(&all.c);
  if (x[n - 1] && syn_count(x[n - 1]) == 1) syn_gradient_check(x[n - 1], x[0], 0.01f);
  syn_tape_forward(t);
  syn_tape_text(t, text, sizeof text);
  syn_tensor_text(x[n - 1], text, sizeof text);
  syn_tape_free(t);
}

static void fuzz_one(void) {
  int i;
  clock_t start = clock(); /* a few calls with large buffers are enough for one run */
  syn_options o;
  memset(&all, 0, sizeof all);
  memset(&o, 0, sizeof o);
  o.alloc = fuzz_alloc;
  o.release = fuzz_release;
  o.cancel = cancel;
  o.isa = fuzz_byte() % 2 ? "scalar" : NULL;
  syn_context_init(&all.c, &o);
  if (fuzz_random(2)) all.cancel = 1 + fuzz_random(3);
  for (i = 0; i < MAX_CALLS && fuzz.left && clock() - start < CLOCKS_PER_SEC / 2; i++) {
    all.asked = 0;
    switch (fuzz_below(16)) {
      case 0: call_model(); break;
      case 1: call_run(); break;
      case 2: case 3: call_pass(0); break;
      case 4: call_pass(1); break;
      case 5: call_data(); break;
      case 6: call_trainer(); break;
      case 7: case 8: call_step(); break;
      case 9: call_evaluate(); break;
      case 10: call_decoder(); break;
      case 11: case 12: call_decode(); break;
      case 13: call_text(); call_answers(); break;
      case 14: call_tape(); break;
      default: all.cancel = fuzz_byte() % 4 ? 0 : 1 + fuzz_below(6); break;
    }
    FUZZ_WANT(!all.c.status || all.c.message[0], "an error without a message");
    if (fuzz_byte() % 16) syn_context_clear(&all.c);
  }
  drop_model();
  syn_data_free(all.data);
}

/* Sequences that begin as a program would: a model, then all that is made of it; the rest is
   drawn. */
static void fuzz_seeds(void) {
  static const unsigned char order[] = {5, 5, 1, 6, 10, 2, 4, 7, 9, 11, 13, 8, 3, 12, 14, 15};
  syn_random r = {7};
  int i, k;
  for (i = 0; i < 24; i++) {
    char name[16];
    unsigned char bytes[600];
    for (k = 0; k < 600; k++) bytes[k] = (unsigned char)syn_random_below(&r, i % 2 ? 200 : 256);
    bytes[0] = (unsigned char)(i % 2);
    bytes[1] = 0;
    bytes[2] = (unsigned char)(i % 4);
    for (k = 40; k < 600 && i > 7; k += 37) bytes[k] = order[k / 37 % 16];
    snprintf(name, sizeof name, "calls%d", i);
    fuzz_seed(name, bytes, sizeof bytes);
  }
}
