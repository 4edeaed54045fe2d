/* threads.c   eight threads use one const model, one tokenizer and one array of a small model at
   once, each with its own context, decoder, run and RAM; then four threads share each training
   step, by a pool of pthreads and by OpenMP where it is built in. Every result is that of one
   thread alone. For ThreadSanitizer, which also tells when two of them touch the same memory;
   `./threads race` does that on purpose, once a round, and must be found.
   gcc -g -O1 -fsanitize=thread threads.c -o threads -lm -pthread && ./threads */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include <pthread.h>

#include "check.h"
#include "sink.h"

enum { THREADS = 8, ROUNDS = 6, WAYS = 8, SHARED = 4 };

/* What all threads read. */
static syn_model *m, *packed;
static const syn_tokenizer *letters;
static bytes small;

static syn_config config_of(void) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.encoder = "pos -> res_nd(syn_att(R+D)) -> res_nd(cnn(k=3)) -> norm";
  k.decoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm";
  k.d_model = 16;
  k.heads = 2;
  k.max_len = 12;
  k.src_vocab = k.tgt_vocab = SYN_FIRST_TOKEN + 7;
  k.seed = 3;
  return k;
}

static uint64_t add(uint64_t hash, const void *at, size_t size) {
  return at ? syn_hash(hash, at, size) : hash;
}

static uint64_t decode(syn_context *c, const syn_model *model, int way) {
  static const int src[] = {4, 5, 6, 3, 7, 3, 0, 0};
  uint64_t hash = SYN_HASH_START;
  syn_decode_config how;
  syn_decoder *d;
  syn_batch b;
  char text[200];
  int i, size;
  memset(&how, 0, sizeof how);
  memset(&b, 0, sizeof b);
  how.sentences = b.count = 2;
  how.seed = 5;
  if (way & 1) how.beam = 3;
  else if (way & 2) how.temperature = 1.0f;
  if (way & 4) how.type = "i8";
  b.src = src;
  b.src_width = 4;
  d = syn_decoder_new(c, model, &how);
  if (!d || syn_decoder_run(d, &b, NULL, NULL)) return 0;
  for (i = 0; i < 2; i++) {
    const int *out = syn_decoder_output(d, i, 0, &size, NULL);
    hash = add(hash, out, (size_t)size * sizeof *out);
  }
  if (syn_decoder_run_text(d, syn_text_of("gabbe"), syn_text_of(""), NULL, NULL)) return 0;
  hash = add(hash, text, syn_decoder_output_text(d, 0, 0, text, sizeof text, NULL));
  syn_decoder_free(d);
  return hash;
}

static uint64_t forward(syn_context *c) {
  uint64_t hash = SYN_HASH_START;
  int rows, size[2], ids[20];
  const float *x;
  syn_value value;
  syn_limits keep;
  syn_run *r;
  char text[40];
  memset(&keep, 0, sizeof keep);
  keep.keep = 1;
  keep.src_rows = 24;
  r = syn_run_new(c, m, &keep);
  if (!r || syn_run_text(r, syn_text_of("abcd"), syn_text_of("dcb"))) return 0;
  x = syn_run_logits(r, 0, &rows);
  hash = add(hash, x, (size_t)rows * 11 * sizeof *x);
  x = syn_run_attention(r, 0, 1, 0, size);
  hash = add(hash, x, (size_t)size[0] * (size_t)size[1] * sizeof *x);
  if (syn_run_value(r, "encoder.1", 0, &value)) return 0;
  hash = add(hash, value.x, (size_t)value.shape[0] * sizeof *value.x);
  syn_run_free(r);
  rows = syn_tokenizer_encode(letters, syn_text_of("gfedcba"), ids, 20);
  hash = add(hash, text, syn_tokenizer_decode(letters, ids, rows, text, sizeof text));
  return hash;
}

static uint64_t evaluate(syn_context *c) {
  static const int row[] = {4, 5, 6, 7};
  syn_data *d = syn_data_new(c);
  double loss = 0.0;
  int64_t labels;
  int i;
  for (i = 0; i < 9; i++) syn_data_add(d, row, 1 + i % 4, row, 1 + i % 3);
  if (syn_model_evaluate(c, m, d, 30, &loss, &labels)) return 0;
  syn_data_free(d);
  return add(SYN_HASH_START, &loss, sizeof loss);
}

static uint64_t save(syn_context *c) {
  uint64_t hash;
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_model *again;
  if (syn_model_save_as_to(c, m, "i8", &sink)) return 0;
  again = syn_model_view(c, b.at, b.size);
  hash = again ? decode(c, again, 0) : 0;
  syn_model_free(again);
  hash = add(hash, b.at, b.size);
  free(b.at);
  return hash;
}

static uint64_t run_small(void) {
  static const int src[] = {4, 5, 6, 3};
  uint64_t hash = SYN_HASH_START;
  long size = syn_small_ram(small.at, small.size, NULL);
  void *ram = size > 0 ? malloc((size_t)size) : NULL;
  syn_small *s = ram ? syn_small_open(ram, (size_t)size, small.at, small.size, NULL, NULL) : NULL;
  int token = 0;
  if (!s || syn_small_source(s, src, 4)) return 0;
  while (token >= SYN_SMALL_MORE) {
    token = syn_small_step(s, 5000);
    hash = add(hash, &token, sizeof token);
  }
  free(ram);
  return hash;
}

static int racing;
static long races; /* what the threads of a race touch */

/* All of it; 0: something failed. */
static uint64_t work(syn_context *c, uint64_t *ways) {
  uint64_t sum = 0;
  int way, n = 0;
  if (racing) races++;
  for (way = 0; way < WAYS; way++) ways[n++] = decode(c, m, way);
  ways[n++] = decode(c, packed, 1);
  ways[n++] = forward(c);
  ways[n++] = evaluate(c);
  ways[n++] = save(c);
  ways[n++] = run_small();
  for (way = 0; way < n; way++) {
    if (!ways[way]) return 0;
    sum = add(sum, &ways[way], sizeof *ways);
  }
  return sum;
}

typedef struct job {
  pthread_t thread;
  uint64_t wanted, ways[WAYS + 5];
  int wrong;
  char message[400];
} job;

static void *run(void *argument) {
  job *j = (job *)argument;
  int i;
  for (i = 0; i < ROUNDS; i++) {
    syn_context c;
    syn_context_init(&c, NULL);
    j->wrong += work(&c, j->ways) != j->wanted;
    if (c.status) strcpy(j->message, c.message);
  }
  return NULL;
}

/* -- one training, each of its steps shared by threads -- */

typedef struct slice {
  pthread_t thread;
  void (*task)(void *arg, int i);
  void *arg;
  int i;
} slice;

static long shared; /* slices that threads of the pool ran */

static void *run_slice(void *argument) {
  slice *s = (slice *)argument;
  s->task(s->arg, s->i);
  return NULL;
}

/* A pool that starts its threads anew for each call. */
static void pool(void *user, void (*task)(void *arg, int i), void *arg, int n) {
  slice slices[SYN_MAX_THREADS];
  int i;
  (void)user;
  for (i = 0; i < n; i++) {
    slices[i].task = task;
    slices[i].arg = arg;
    slices[i].i = i;
    CHECK(!pthread_create(&slices[i].thread, NULL, run_slice, &slices[i]), "a thread");
  }
  for (i = 0; i < n; i++) CHECK(!pthread_join(slices[i].thread, NULL), "a thread");
  shared += n;
}

/* The weights after some steps, by the pool or by OpenMP; 0: it failed. */
static uint64_t train(int threads, const char *optimizer, int by_pool) {
  syn_config k = config_of();
  syn_train_config how;
  syn_options options;
  syn_context c;
  syn_model *net;
  syn_trainer *t;
  syn_data *d;
  uint64_t hash = SYN_HASH_START;
  int row[] = {4, 5, 6, 7, 8, 9, 10, 4}, i, ok;
  size_t p;
  memset(&options, 0, sizeof options);
  memset(&how, 0, sizeof how);
  options.threads = threads;
  if (by_pool) options.parallel = pool;
  syn_context_init(&c, &options);
  k.encoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(cnn(k=3)) -> res_d(rnn) -> norm";
  k.d_model = 48;
  k.heads = 4;
  how.optimizer = optimizer;
  how.batch_tokens = 150;
  how.steps = 3;
  net = syn_model_new(&c, &k);
  t = syn_trainer_new(&c, net, &how);
  d = syn_data_new(&c);
  for (i = 0; i < 40; i++) {
    row[0] = 4 + i % 7;
    syn_data_add(d, row, 1 + i % 8, row, 8 - i % 8);
  }
  ok = t && !syn_trainer_run(t, d, NULL, NULL, NULL);
  CHECK(ok, "%s", c.message);
  for (p = 0; p < syn_model_param_count(net); p++) {
    const syn_param *w = syn_model_param(net, p);
    if (w->x) hash = add(hash, w->x, w->size * sizeof *w->x);
  }
  syn_data_free(d);
  syn_trainer_free(t);
  syn_model_free(net);
  return ok ? hash : 0;
}

static void test_shared(void) {
  static const char *const optimizers[] = {"adam", "adafactor", "sgd", "muon"};
  int i;
  for (i = 0; i < 4; i++) {
    uint64_t alone = train(1, optimizers[i], 0);
    shared = 0;
    CHECK(alone && train(SHARED, optimizers[i], 1) == alone, "%s: other bits with a pool",
          optimizers[i]);
    CHECK(shared > 100, "only %ld slices were shared", shared);
#ifdef _OPENMP
    CHECK(train(SHARED, optimizers[i], 0) == alone, "%s: other bits with OpenMP", optimizers[i]);
#endif
  }
}

/* -- one context in two threads: while one decodes, the other is refused -- */

typedef struct second {
  syn_run *r;
  syn_status status;
} second;

static void *run_second(void *argument) {
  second *s = (second *)argument;
  s->status = syn_run_text(s->r, syn_text_of("abcd"), syn_text_of("dcb"));
  return NULL;
}

static int begin_second(void *user, syn_text piece) {
  pthread_t thread;
  (void)piece;
  CHECK(!pthread_create(&thread, NULL, run_second, user), "a thread");
  CHECK(!pthread_join(thread, NULL), "a thread");
  return 1;
}

static void test_together(void) {
  const syn_text text = syn_text_of("abcd");
  syn_context c;
  syn_decoder *d;
  second s;
  syn_context_init(&c, NULL);
  d = syn_decoder_new(&c, m, NULL);
  s.r = syn_run_new(&c, m, NULL);
  s.status = SYN_OK;
  CHECK(syn_decoder_run_text(d, text, text, begin_second, &s) == SYN_OK, "the first: %s", c.message);
  CHECK(s.status == SYN_E_VALUE && strstr(c.message, "another thread"), "%s", c.message);
  syn_context_clear(&c);
  run_second(&s);
  CHECK(s.status == SYN_OK, "one after the other: %s", c.message);
  syn_run_free(s.r);
  syn_decoder_free(d);
}

int main(int argc, char **argv) {
  syn_config k = config_of();
  syn_text line = syn_text_of("abcdefg");
  syn_sink sink = sink_of(&small);
  syn_context c;
  syn_tokenizer *t;
  uint64_t ways[WAYS + 5], wanted;
  job jobs[THREADS];
  int i;
  racing = argc > 1 && !strcmp(argv[1], "race");
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  t = syn_tokenizer_learn(&c, "char", 0, &line, 1);
  syn_model_set_tokenizers(m, t, t);
  letters = t;
  syn_model_save(&c, m, "threads.model");
  packed = syn_model_load(&c, "threads.model");
  CHECK(syn_model_pack(packed) == SYN_OK, "%s", c.message);
  syn_small_write(&c, m, NULL, &sink);
  wanted = work(&c, ways);
  CHECK(wanted && packed, "%s", c.message);
  memset(jobs, 0, sizeof jobs);
  for (i = 0; i < THREADS; i++) {
    jobs[i].wanted = wanted;
    CHECK(!pthread_create(&jobs[i].thread, NULL, run, &jobs[i]), "a thread");
  }
  for (i = 0; i < THREADS; i++) {
    CHECK(!pthread_join(jobs[i].thread, NULL), "a thread");
    CHECK(!jobs[i].wrong, "thread %d: %d of %d rounds, %s", i, jobs[i].wrong, ROUNDS,
          jobs[i].message);
  }
  test_together();
  syn_model_free(packed);
  syn_model_free(m);
  free(small.at);
  remove("threads.model");
  test_shared();
  return CHECK_END("threads");
}
