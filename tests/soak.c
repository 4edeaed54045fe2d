/* soak.c   random networks are built, trained, saved, loaded and decoded, for SECONDS (two hours):
   in half of the rounds memory fails now and then, and the call that failed is made again. Every
   round must end without an error that was not expected and without a block left; a round that is
   made a second time, with memory that does not fail, must give the same bits; the memory of the
   process must not grow.
   make -C tests soak SECONDS=60      (SEED=7: of the first round) */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include <time.h>

#include "check.h"
#include "heap.h"
#include "sink.h"

static long rounds, operations, refused, unbuildable, diverged, no_small;

/* -- random networks -- */

static const char *const scores[] = {"R",     "V",        "D",        "FD",      "FR",    "Fix",
                                     "R+V",   "R+D+V",    "FD+Fix",   "Conv",    "CRC",   "BD",
                                     "BCRC",  "GLU+Conv", "R, tile=3", "V, c=3", "D, heads=1",
                                     "T",     "T+V"};
static const char *const parts[] = {"res_nd(ffl)",
                                    "res_nd(ff(12, act=gelu))",
                                    "res(ff(act=glu))",
                                    "cnn(k=3, act=relu)",
                                    "res_d(cnn(k=4, dilate=2))",
                                    "res_nd(light_conv)",
                                    "res(dyn_conv(k=3))",
                                    "highway(linear)",
                                    "norm",
                                    "rms_norm",
                                    "dropout(0.2)",
                                    "act(swish)",
                                    "res_nd(aop(keys=9))",
                                    "res_nd(lin_att)",
                                    "res(aft)",
                                    "res(ff(8) -> sgu -> linear)",
                                    "res_d(rnn)",
                                    "res_d(rnn(cell=gru))",
                                    "concat(id | ff(6)) -> linear",
                                    "parallel_add(id | linear)",
                                    "universal(2, res_nd(ff))",
                                    "repeat(2, res_nd(ff))"};
static const char *const sources[] = {"res_nd(mh_dot_att)", "res_nd(mh_dot_att(heads=1))",
                                      "res(mlp_att(5))", "res(dot_src_att(s=3))"};

#define PICK(r, list) (list)[syn_random_below(r, (int)(sizeof(list) / sizeof *(list)))]

static void random_chain(syn_random *r, char *out, int decoder) {
  static const char *const begin[] = {"pos", "learn_pos", "id", "dropout(0.1)", "rel_pos"};
  int n = syn_random_below(r, 4), at = decoder > 1 ? syn_random_below(r, n + 1) : -1, i;
  char *p = out + sprintf(out, "%s", decoder > 1 ? begin[syn_random_below(r, 4)] : PICK(r, begin));
  for (i = 0; i <= n; i++) {
    if (i == at) p += sprintf(p, " -> %s", PICK(r, sources));
    if (syn_random_below(r, 3)) p += sprintf(p, " -> %s", PICK(r, parts));
    else p += sprintf(p, " -> res_nd(syn_att(%s))", PICK(r, scores));
  }
}

/* -- one round -- */

typedef struct world {
  heap h;
  syn_context c;
  syn_random r; /* of the round; what fails comes from another one */
  syn_random fails;
  int failing;
  char encoder[800], decoder[800];
  syn_config k;
  syn_train_config how;
  syn_data *d;
  uint64_t hash;
} world;

static void unexpected(const world *w, const char *what) {
  CHECK(0, "%s: %d, %s; encoder \"%s\" decoder \"%s\"", what, (int)w->c.status, w->c.message,
        w->k.encoder ? w->encoder : "", w->k.decoder ? w->decoder : "");
}

/* An allocation of the next call fails, one of the first 2, 4, 8 ... 64; or none. */
static void arm(world *w) {
  w->h.fail_at = w->h.fail_from = 0;
  operations++;
  if (!w->failing || syn_random_below(&w->fails, 2)) return;
  *(syn_random_below(&w->fails, 2) ? &w->h.fail_at : &w->h.fail_from) =
      w->h.calls + 1 + syn_random_below(&w->fails, 2 << syn_random_below(&w->fails, 6));
}
/* 1: the call has to be made again, as memory was refused. */
static int again(world *w) {
  int failed = w->h.fail_at || w->h.fail_from;
  w->h.fail_at = w->h.fail_from = 0;
  if (w->c.status != SYN_E_MEMORY) return 0;
  if (!failed) unexpected(w, "memory without a cause");
  if (!failed) return 0;
  refused++;
  syn_context_clear(&w->c);
  return 1;
}
/* Makes the call; again, if it had no memory. */
#define TRY(w, call) \
  do { \
    arm(w); \
    call; \
    if (!again(w)) break; \
    call; /* fails no more: again() has disarmed it */ \
  } while (0)

static void mix_bytes(world *w, const void *at, size_t size) {
  w->hash = syn_hash(w->hash, at, size);
}

static void random_config(world *w) {
  static const char *const tasks[] = {"seq2seq", "lm", "classify", "tag"};
  static const char *const ties[] = {NULL, "none", "out"};
  syn_random *r = &w->r;
  syn_config *k = &w->k;
  memset(k, 0, sizeof *k);
  k->task = PICK(r, tasks);
  random_chain(r, w->encoder, 0);
  random_chain(r, w->decoder, strcmp(k->task, "seq2seq") ? 1 : 2);
  if (strcmp(k->task, "lm")) k->encoder = w->encoder;
  if (!strcmp(k->task, "lm") || !strcmp(k->task, "seq2seq")) k->decoder = w->decoder;
  k->heads = 1 << syn_random_below(r, 3);
  k->d_model = 4 * (1 + syn_random_below(r, 6));
  k->max_len = 4 + syn_random_below(r, 12);
  k->src_vocab = k->tgt_vocab = SYN_FIRST_TOKEN + 7;
  k->classes = 3;
  k->tie = PICK(r, ties);
  k->dropout = syn_random_below(r, 2) ? 0.2f : 0.0f;
  k->label_smoothing = syn_random_below(r, 2) ? 0.1f : 0.0f;
  k->seed = syn_random_next(r);
}

static void random_training(world *w) {
  static const char *const rules[] = {"adam", "adamw", "adafactor", "sgd", "muon"};
  static const char *const schedules[] = {"rsqrt", "noam", "linear", "cosine", "constant"};
  syn_random *r = &w->r;
  syn_train_config *how = &w->how;
  memset(how, 0, sizeof *how);
  how->optimizer = PICK(r, rules);
  how->schedule = PICK(r, schedules);
  how->lr = 0.003f;
  how->warmup = syn_random_below(r, 4);
  how->steps = 4 + syn_random_below(r, 12);
  how->batch_tokens = 60 + syn_random_below(r, 100);
  how->accumulate = 1 + syn_random_below(r, 2);
  how->every = 1 + syn_random_below(r, 5);
  how->average = syn_random_below(r, 3);
  how->ema = 0.1f * (float)syn_random_below(r, 4);
  how->clip = 1.0f;
  how->seed = syn_random_next(r);
}

/* Rows that fit the task: of 1 to max_len - 1 tokens. */
static void random_rows(world *w) {
  int src[32], tgt[32], i, j, n, tags = !strcmp(w->k.task, "tag");
  TRY(w, w->d = syn_data_new(&w->c));
  for (i = 0; i < 30; i++) {
    n = 1 + syn_random_below(&w->r, w->k.max_len - 1 < 30 ? w->k.max_len - 1 : 30);
    for (j = 0; j < n; j++) src[j] = SYN_FIRST_TOKEN + syn_random_below(&w->r, 7);
    for (j = 0; j < n; j++) tgt[j] = tags ? 1 + j % 2 : src[n - 1 - j];
    if (!strcmp(w->k.task, "classify")) {
      tgt[0] = src[0] % 3;
      TRY(w, syn_data_add(w->d, src, n, tgt, 1));
    } else TRY(w, syn_data_add(w->d, src, w->k.encoder ? n : 0, tgt, n));
  }
  CHECK(syn_data_count(w->d) == 30, "%lu rows", (unsigned long)syn_data_count(w->d));
}

static int stop_at(void *user, const syn_trainer *t, float loss, int validated) {
  (void)loss, (void)validated;
  return syn_trainer_state(t)->step >= *(const long *)user;
}

/* Trains to the middle, saves, loads into another trainer, trains to the end. 0: it diverged. */
static int train(world *w, syn_model *m) {
  long half = w->how.steps / 2;
  syn_trainer *t = NULL;
  syn_status s = SYN_OK;
  TRY(w, t = syn_trainer_new(&w->c, m, &w->how));
  if (t) TRY(w, s = syn_trainer_run(t, w->d, w->d, stop_at, &half));
  if (t && !s) TRY(w, s = syn_trainer_save(t, "soak.checkpoint"));
  syn_trainer_free(t);
  t = NULL;
  if (!w->c.status) TRY(w, t = syn_trainer_new(&w->c, m, &w->how));
  if (t) TRY(w, s = syn_trainer_load(t, "soak.checkpoint"));
  if (t && !s) TRY(w, s = syn_trainer_run(t, w->d, w->d, NULL, NULL));
  if (t && !s) mix_bytes(w, &syn_trainer_state(t)->valid, sizeof(float));
  if (t && !s) syn_trainer_average(t);
  if (t && syn_trainer_state(t)->diverged) {
    diverged++;
    syn_context_clear(&w->c);
    s = SYN_E_VALUE;
  } else if (w->c.status) unexpected(w, "training");
  syn_trainer_free(t);
  return t && !s;
}

static void decode(world *w, const syn_model *m) {
  int src[] = {4, 5, 3, 6, 3, 0}, i, k, size;
  syn_decode_config how;
  syn_decoder *d = NULL;
  syn_status s = SYN_OK;
  syn_batch b;
  memset(&how, 0, sizeof how);
  memset(&b, 0, sizeof b);
  how.sentences = b.count = 2;
  how.best = 1;
  if (syn_random_below(&w->r, 2)) how.beam = how.best = 1 + syn_random_below(&w->r, 4);
  else how.temperature = 0.5f * (float)syn_random_below(&w->r, 3);
  if (syn_random_below(&w->r, 3) == 0) how.type = "i8";
  how.seed = syn_random_next(&w->r);
  b.src = w->k.encoder ? src : NULL;
  b.src_width = 3;
  TRY(w, d = syn_decoder_new(&w->c, m, &how));
  if (d) TRY(w, s = syn_decoder_run(d, &b, NULL, NULL));
  if (!d || s) unexpected(w, "decoding");
  for (i = 0; d && i < 2; i++)
    for (k = 0; k < how.best; k++) {
      const int *out = syn_decoder_output(d, i, k, &size, NULL);
      if (out) mix_bytes(w, out, (size_t)size * sizeof *out);
    }
  syn_decoder_free(d);
}

static void run_forward(world *w, const syn_model *m) {
  static const int src[] = {4, 5, 6, 3}, tgt[] = {2, 4, 5};
  int rows = 0;
  syn_run *run = NULL;
  syn_limits limits;
  syn_batch b;
  memset(&b, 0, sizeof b);
  memset(&limits, 0, sizeof limits);
  limits.src_rows = 40;
  b.count = 1;
  b.src = src;
  b.tgt = tgt;
  b.src_width = 4;
  b.tgt_width = 3;
  TRY(w, run = syn_run_new(&w->c, m, &limits));
  if (!run || syn_run_forward(run, &b)) unexpected(w, "a forward pass");
  else mix_bytes(w, syn_run_logits(run, 0, &rows), sizeof(float));
  syn_run_free(run);
}

/* The array of a small model, run to its end. Not every size fits one. */
static void run_small(world *w, const syn_model *m) {
  static const int src[] = {4, 5, 3};
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_status s = SYN_OK;
  syn_small *small = NULL;
  void *ram = NULL;
  long size = 0;
  int i, token = 0;
  TRY(w, (free(b.at), sink = sink_of(&b), s = syn_small_write(&w->c, m, NULL, &sink)));
  if (s) {
    no_small++;
    if (s == SYN_E_FILE || s == SYN_E_FORMAT) unexpected(w, "a small model");
    syn_context_clear(&w->c);
  } else size = syn_small_ram(b.at, b.size, NULL);
  if (size > 0) ram = malloc((size_t)size);
  if (ram) small = syn_small_open(ram, (size_t)size, b.at, b.size, NULL, NULL);
  if (!s && !small) unexpected(w, "a small model is not opened");
  if (small && syn_small_source(small, src, w->k.encoder ? 3 : 2)) unexpected(w, "its source");
  for (i = 0; small && i < 2000 && token >= SYN_SMALL_MORE; i++) {
    token = syn_small_step(small, 100000);
    mix_bytes(w, &token, sizeof token);
  }
  if (small && token != SYN_SMALL_END) unexpected(w, "a small model does not end");
  free(ram);
  free(b.at);
}

/* Saves in some type and loads in one of the ways; the result decodes, or computes logits. */
static void save_and_use(world *w, const syn_model *m) {
  static const char *const types[] = {"f32", "f32", "f16", "bf16", "i8", "i4"};
  const char *type = PICK(&w->r, types);
  int way = syn_random_below(&w->r, 3);
  syn_status s = SYN_OK;
  syn_model *n = NULL;
  syn_sink sink;
  bytes b;
  sink = sink_of(&b);
  TRY(w, s = syn_model_save_as(&w->c, m, type, "soak.model"));
  if (!s) TRY(w, (free(b.at), sink = sink_of(&b), s = syn_model_save_as_to(&w->c, m, type, &sink)));
  if (s) unexpected(w, "saving");
  if (!s && way != 1) TRY(w, n = syn_model_load(&w->c, "soak.model"));
  if (!s && way == 1) TRY(w, n = syn_model_view(&w->c, b.at, b.size));
  if (n && way == 2) TRY(w, s = syn_model_pack(n));
  if (!n) unexpected(w, "loading");
  else if (w->k.decoder) decode(w, n);
  else run_forward(w, n);
  syn_model_free(n);
  free(b.at);
}

/* Returns a hash of all results. */
static uint64_t one_round(uint64_t seed, int failing) {
  world w;
  syn_model *m = NULL;
  memset(&w, 0, sizeof w);
  context_on(&w.c, &w.h, 0);
  w.r.state = seed;
  w.fails.state = ~seed;
  w.failing = failing;
  w.hash = SYN_HASH_START;
  random_config(&w);
  random_training(&w);
  TRY(&w, m = syn_model_new(&w.c, &w.k));
  if (!m) {
    unbuildable++;
    if (w.c.status != SYN_E_TEXT && w.c.status != SYN_E_SHAPE && w.c.status != SYN_E_VALUE)
      unexpected(&w, "building");
    syn_context_clear(&w.c);
  } else {
    random_rows(&w);
    if (train(&w, m)) {
      save_and_use(&w, m);
      run_small(&w, m);
    }
  }
  syn_data_free(w.d);
  syn_model_free(m);
  CHECK(w.c.status == SYN_OK, "%s", w.c.message);
  CHECK(w.h.blocks == 0 && w.h.live == 0, "%ld blocks left; encoder \"%s\" decoder \"%s\"",
        w.h.blocks, w.encoder, w.decoder);
  return w.hash;
}

/* -- the process -- */

/* Its memory in KiB; 0: unknown. */
static long resident(void) {
  long pages = 0, rest = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%ld %ld", &rest, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return pages * 4;
}

static void report(double passed, long now, long first) {
  printf("%.0f s: %ld rounds, %ld calls, %ld without memory, %ld networks that do not build, "
         "%ld diverged, %ld without a small model; %ld KiB, %ld after the warm-up; %d failed\n",
         passed, rounds, operations, refused, unbuildable, diverged, no_small, now, first,
         check_failed);
  fflush(stdout);
}

int main(int argc, char **argv) {
  double limit = argc > 1 ? atof(argv[1]) : 7200.0, passed = 0.0, shown = 0.0;
  uint64_t seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, hash;
  time_t begin = time(NULL);
  long first = 0, now = 0;
  for (; passed < limit && !check_failed; rounds++, seed++) {
    hash = one_round(seed, (int)(seed % 2));
    if (seed % 8 == 1)
      CHECK(one_round(seed, 0) == hash, "round %lu: other bits", (unsigned long)seed);
    passed = difftime(time(NULL), begin);
    now = resident();
    if (rounds < 500 || passed < limit / 10) first = now > first ? now : first;
    if (passed - shown >= 60.0) report(shown = passed, now, first);
  }
  report(passed, now, first);
  CHECK(rounds > 0 && unbuildable < rounds / 2 + 5, "%ld of %ld networks do not build", unbuildable,
        rounds);
  CHECK(!first || now <= first + 4096, "%ld KiB, %ld after the warm-up", now, first);
  return CHECK_END("soak");
}
