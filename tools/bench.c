/* bench   measures synthesizer.h: steps of training, decoding, matrix products

   Build:  cc -O2 -fopenmp tools/bench.c -o bench -lm
   Use:    bench help                             every command, every option, every default

   Prints one line per measurement, with --json one object. Times are medians after a warm-up.
   Weights and tokens are random and sentences have their full length, so a figure depends on the
   machine alone. Exit status: 0 success; 1 a failed job; 2 wrong use; an error is one line on
   stderr.

   `grep -n '>>' tools/bench.c` lists the sections; a section calls only those above it. */

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* -std=c99 hides clock_gettime and madvise */
#endif
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#define TOOL_NAME "bench"
#define TOOL_ENDS
#include "tool.h"

#include <errno.h>
#ifndef _WIN32
#include <sys/resource.h>
#endif

#include "text.h"
#include "options.h"

/* ==============================================================================================
   >>bench base   memory, medians
   ============================================================================================== */

/* The peak memory of this process in MiB. */
#ifdef _WIN32
typedef struct memory_counters { /* PROCESS_MEMORY_COUNTERS of psapi.h */
  unsigned long size, page_faults;
  size_t peak_working_set, others[7];
} memory_counters;
#ifdef __cplusplus
extern "C" {
#endif
__declspec(dllimport) void *__stdcall GetCurrentProcess(void);
__declspec(dllimport) int __stdcall K32GetProcessMemoryInfo(void *process, memory_counters *to,
                                                            unsigned long size);
#ifdef __cplusplus
}
#endif

static double peak_mib(void) {
  memory_counters m;
  memset(&m, 0, sizeof m);
  K32GetProcessMemoryInfo(GetCurrentProcess(), &m, sizeof m);
  return (double)m.peak_working_set / 1048576.0;
}
#else
static double peak_mib(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
#ifdef __APPLE__
  return (double)u.ru_maxrss / 1048576.0;
#else
  return (double)u.ru_maxrss / 1024.0; /* counted in KiB */
#endif
}
#endif

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
/* The median of n > 0 times. Sorts them: times[0] is the shortest afterwards. */
static double median(double *times, size_t n) {
  qsort(times, n, sizeof *times, by_size);
  return times[n / 2];
}

static void context_open(syn_context *c, const arguments *a) {
  context_of(c, opt_int(a, "threads"), opt_text(a, "isa"));
}

/* ==============================================================================================
   >>bench networks   configurations, kinds of attention, operation counts
   ============================================================================================== */

typedef struct network {
  const char *name;
  int d, ff, heads, encoders, decoders; /* encoders 0: a language model */
  int vocab, batch, src, tgt;           /* batch: sentences; src, tgt: tokens of each */
} network;

/* gpt128 and gpt384 have the shapes of the language models of llm.c; llama15m those of llama2.c. */
static const network networks[] = {
    {"tiny", 128, 512, 4, 2, 2, 4000, 32, 32, 32},
    {"small", 256, 1024, 8, 3, 3, 8000, 64, 32, 32},
    {"base", 512, 2048, 8, 6, 6, 32000, 16, 64, 64},
    {"long", 256, 1024, 8, 3, 3, 8000, 8, 256, 256},
    {"lm", 128, 512, 4, 0, 4, 65, 12, 0, 64},
    {"lm384", 384, 1536, 6, 0, 6, 65, 16, 0, 256},
    {"gpt128", 128, 512, 4, 0, 4, 4000, 16, 0, 64},
    {"gpt384", 384, 1536, 6, 0, 6, 4000, 8, 0, 256},
    {"llama15m", 288, 768, 6, 0, 6, 32000, 1, 0, 256},
};

static const network *network_of(const char *name) {
  size_t i = 0;
  while (strcmp(networks[i].name, name) != 0) i++;
  return &networks[i];
}

typedef struct attention {
  const char *name, *text;
} attention;

static const attention attentions[] = {
    {"V", "mh_dot_self_att"},
    {"R", "syn_att(R)"},
    {"FR", "syn_att(FR,k=8)"},
    {"D", "syn_att(D)"},
    {"R+V", "syn_att(R+V,mix=sum)"},
    {"light_conv", "light_conv(7)"},
    {"dyn_conv", "dyn_conv(7)"},
    {"linformer", "linformer(32)"},
};

/* Linformer projects whole sentences, so it cannot be causal: decoders use V instead. */
static const attention *attention_of(const char *name, int decoder) {
  size_t i = 0;
  if (decoder && strcmp(name, "linformer") == 0) name = "V";
  while (strcmp(attentions[i].name, name) != 0) i++;
  return &attentions[i];
}

/* 10^9 operations of one training step: 2 per multiply-add, and for each product of the forward
   pass two of the backward pass (dx, dW). Masked scores count, too; the table of FR, which is
   computed once a step, counts for each token. */
static double network_gflop(const network *n, const syn_model *m) {
  double sum = 0.0;
  size_t i;
  for (i = 0; i < syn_model_node_count(m); i++) {
    const syn_node *node = syn_model_node(m, i);
    const int length = strncmp(node->path, "encoder", 7) == 0 ? n->src : n->tgt;
    sum += syn_model_cost(m, node, length).multiply_adds * n->batch * length;
  }
  return 3 * 2 * sum * 1e-9;
}

/* The default rate of dropout. */
static double network_drop(const network *n) { return n->encoders ? 0.1 : 0.0; }

/* A model of the configuration, pre-norm. Language models have learned positions and gelu; llama15m
   has rms_norm and glu. ffl: instead of the feed-forward layers, where it is not empty. */
static syn_model *network_model(syn_context *c, const network *n, const char *attn,
                                const char *ffl, double drop) {
  const char *reads = attention_of(attn, 0)->text, *writes = attention_of(attn, 1)->text;
  char encoder[300] = "", decoder[300], wide[60];
  syn_config k;
  syn_model *m;
  memset(&k, 0, sizeof k);
  snprintf(wide, sizeof wide, "ffl(%d%s)", n->ff, n->encoders ? "" : ",gelu");
  if (!*ffl) ffl = wide;
  snprintf(encoder, sizeof encoder, "pos->repeat(%d,res_nd(%s)->res_nd(%s))->norm", n->encoders,
           reads, ffl);
  if (strcmp(n->name, "llama15m") == 0)
    snprintf(decoder, sizeof decoder, "pos->repeat(%d,res(rms_norm->%s)->"
             "res(rms_norm->ff(%d,glu)->linear(bias=0)))->rms_norm", n->decoders, writes, n->ff);
  else if (!n->encoders)
    snprintf(decoder, sizeof decoder, "learn_pos->repeat(%d,res_nd(%s)->res_nd(%s))->norm",
             n->decoders, writes, ffl);
  else
    snprintf(decoder, sizeof decoder, "pos->repeat(%d,res_nd(%s)->res_nd(mh_dot_att)->res_nd(%s))"
             "->norm", n->decoders, writes, ffl);
  k.task = n->encoders ? "seq2seq" : "lm";
  k.encoder = n->encoders ? encoder : NULL;
  k.decoder = decoder;
  k.d_model = n->d;
  k.heads = n->heads;
  k.max_len = larger(n->src, n->tgt);
  k.src_vocab = k.tgt_vocab = n->vocab;
  k.tie = "all";
  k.dropout = (float)drop;
  k.label_smoothing = n->encoders ? 0.1f : 0.0f;
  k.seed = 1;
  m = syn_model_new(c, &k);
  check(c);
  return m;
}

/* Random tokens [count, width]. Each row begins with `first`, or ends with the end token if that is
   0. */
static int *random_rows(syn_random *r, const network *n, int count, int width, int first) {
  int *rows = (int *)take((size_t)count * (size_t)width, sizeof *rows), i, j;
  for (i = 0; i < count; i++)
    for (j = 0; j < width; j++)
      rows[i * width + j] = SYN_FIRST_TOKEN + syn_random_below(r, n->vocab - SYN_FIRST_TOKEN);
  for (i = 0; i < count && width; i++)
    rows[first ? i * width : i * width + width - 1] = first ? first : SYN_END;
  return rows;
}

/* ==============================================================================================
   >>bench train   the time of a training step
   ============================================================================================== */

/* A random batch; its labels are the decoder's inputs shifted by one. */
static syn_batch train_data(const network *n) {
  syn_random r;
  syn_batch b;
  int *labels, i;
  r.state = 1;
  memset(&b, 0, sizeof b);
  b.count = n->batch;
  b.src_width = n->src;
  b.tgt_width = n->tgt;
  if (n->src) b.src = random_rows(&r, n, n->batch, n->src, 0);
  b.tgt = random_rows(&r, n, n->batch, n->tgt, SYN_BEGIN);
  labels = random_rows(&r, n, n->batch, n->tgt, 0);
  for (i = 0; i + 1 < n->batch * n->tgt; i++)
    if ((i + 1) % n->tgt) labels[i] = b.tgt[i + 1];
  b.labels = labels;
  return b;
}

static syn_trainer *train_open(syn_context *c, syn_model *m, const network *n,
                               const char *optimizer) {
  syn_train_config k;
  syn_trainer *t;
  memset(&k, 0, sizeof k);
  k.optimizer = *optimizer ? optimizer : n->encoders ? "adam" : "adamw";
  k.schedule = "constant";
  k.lr = 1e-4f;
  if (strncmp(k.optimizer, "adam", 4) == 0) k.eps = 1e-8f;
  k.weight_decay = n->encoders ? 0.0f : 0.01f;
  k.batch_tokens = n->batch * larger(n->src, n->tgt);
  k.seed = 1;
  t = syn_trainer_new(c, m, &k);
  check(c);
  return t;
}

static double parameters(const syn_model *m) {
  double sum = 0.0;
  size_t i;
  for (i = 0; i < syn_model_param_count(m); i++) sum += (double)syn_model_param(m, i)->size;
  return sum;
}

static void train_print(const arguments *a, const network *n, const syn_model *m, const double *ms,
                        float loss) {
  double gflop = network_gflop(n, m), tokens = n->batch * n->tgt;
  const char *format =
      opt_flag(a, "json")
          ? "{\"config\":\"%s\",\"attn\":\"%s\",\"threads\":%d,\"ms\":%.3f,\"ms_min\":%.3f,"
            "\"tok_s\":%.0f,\"gflop\":%.3f,\"gflops\":%.1f,\"rss_mb\":%.1f,\"params\":%.0f,"
            "\"loss\":%.4f}\n"
          : "train %s %s, %d threads: %.2f ms a step (least %.2f), %.0f target tokens/s, %.2f "
            "GFLOP a step, %.1f GFLOP/s, %.0f MiB, %.0f parameters, loss %.4f\n";
  printf(format, n->name, opt_text(a, "attn"), opt_int(a, "threads"), ms[0], ms[1],
         tokens / ms[0] * 1e3, gflop, gflop / ms[0] * 1e3, peak_mib(), parameters(m), (double)loss);
}

static int run_train(const arguments *a) {
  const network *n = network_of(opt_text(a, "config"));
  int steps = opt_int(a, "steps"), warmup = opt_int(a, "warmup"), i;
  double drop = opt_number(a, "drop"), ms[2], *times, start;
  float loss = 0.0f;
  syn_context c;
  syn_batch b = train_data(n);
  syn_model *m;
  syn_trainer *t;
  if (!steps) steps = strcmp(n->name, "base") == 0 ? 7 : 20;
  if (drop < 0.0) drop = network_drop(n);
  context_open(&c, a);
  m = network_model(&c, n, opt_text(a, "attn"), opt_text(a, "ffl"), drop);
  t = train_open(&c, m, n, opt_text(a, "optimizer"));
  times = (double *)take((size_t)steps, sizeof *times);
  for (i = 0; i < warmup + steps; i++) {
    start = seconds();
    syn_trainer_step(t, &b, 1, &loss);
    check(&c);
    if (i >= warmup) times[i - warmup] = (seconds() - start) * 1e3;
  }
  ms[0] = median(times, (size_t)steps);
  ms[1] = times[0];
  train_print(a, n, m, ms, loss);
  syn_trainer_free(t);
  syn_model_free(m);
  return 0;
}

/* ==============================================================================================
   >>bench decode   the time of decoding outputs of a fixed length
   ============================================================================================== */

/* `sentences` random sources. */
static syn_batch decode_data(const network *n, int sentences) {
  syn_random r;
  syn_batch b;
  r.state = 1;
  memset(&b, 0, sizeof b);
  b.count = sentences;
  b.src_width = n->src;
  if (n->src) b.src = random_rows(&r, n, b.count, n->src, 0);
  return b;
}

static syn_decode_config decode_config(const network *n, const arguments *a) {
  syn_decode_config k;
  memset(&k, 0, sizeof k);
  k.sentences = opt_int(a, "batch");
  k.beam = opt_int(a, "beam");
  k.source_len = n->src;
  k.max_len = n->tgt;
  k.type = opt_text(a, "type");
  return k;
}

/* The planned MiB of model and decoder. */
static double decode_plan(syn_context *c, const syn_model *m, const network *n,
                          const arguments *a) {
  const syn_decode_config k = decode_config(n, a);
  syn_plan p;
  syn_plan_of(c, syn_model_config(m), NULL, &k, &p);
  return (double)(*opt_text(a, "file") ? p.packed : p.weights + p.decoding) / 1048576.0;
}

/* A decoder that never chooses the end token, whose bias is set to -10000. */
static syn_decoder *decode_open(syn_context *c, syn_model *m, const network *n,
                                const arguments *a) {
  const syn_decode_config k = decode_config(n, a);
  syn_decoder *d;
  syn_model_find(m, "out.b")->x[SYN_END] = -1e4f;
  d = syn_decoder_new(c, m, &k);
  check(c);
  return d;
}

/* Decodes the batch, encoder included, and returns the seconds. Checks that every output has its
   full length: tokens/s counts that length. */
static double decode_once(syn_context *c, syn_decoder *d, const syn_batch *b, int length) {
  double start = seconds(), time;
  int i, size;
  syn_decoder_run(d, b, NULL, NULL);
  time = seconds() - start;
  check(c);
  for (i = 0; i < b->count; i++) {
    syn_decoder_output(d, i, 0, &size, NULL);
    if (size != length)
      fail(FAILED_JOB, "output %d has %d tokens instead of %d", i, size, length);
  }
  return time;
}

static void decode_print(const arguments *a, const network *n, double ms, double plan) {
  double tokens = opt_number(a, "batch") * n->tgt;
  const char *format =
      opt_flag(a, "json")
          ? "{\"config\":\"%s\",\"batch\":%d,\"beam\":%d,\"threads\":%d,\"type\":\"%s\","
            "\"tok_s\":%.1f,\"ms\":%.3f,\"plan_mb\":%.1f,\"rss_mb\":%.1f}\n"
          : "decode %s, batch %d, beam %d, %d threads, %s: %.1f tokens/s, %.2f ms, %.0f MiB "
            "planned, %.0f MiB\n";
  printf(format, n->name, opt_int(a, "batch"), opt_int(a, "beam"), opt_int(a, "threads"),
         opt_text(a, "type"), tokens / ms * 1e3, ms, plan, peak_mib());
}

/* With a path the model is written there, freed and loaded for decoding alone: the peak of memory is
   then that of a process that only decodes. */
static syn_model *decode_model(syn_context *c, const network *n, const char *path) {
  syn_model *m = network_model(c, n, "V", "", 0.0);
  if (!*path) return m;
  syn_model_save(c, m, path);
  syn_model_free(m);
  m = syn_model_load(c, path);
  syn_model_pack(m);
  check(c);
  return m;
}

static int run_decode(const arguments *a) {
  const network *n = network_of(opt_text(a, "config"));
  int reps = opt_int(a, "reps"), i;
  double *times = (double *)take((size_t)reps, sizeof *times), plan;
  syn_context c;
  syn_model *m;
  syn_decoder *d;
  syn_batch b = decode_data(n, opt_int(a, "batch"));
  context_open(&c, a);
  m = decode_model(&c, n, opt_text(a, "file"));
  plan = decode_plan(&c, m, n, a);
  d = decode_open(&c, m, n, a);
  decode_once(&c, d, &b, n->tgt);
  for (i = 0; i < reps; i++) times[i] = decode_once(&c, d, &b, n->tgt) * 1e3;
  decode_print(a, n, median(times, (size_t)reps), plan);
  syn_decoder_free(d);
  syn_model_free(m);
  return 0;
}

/* ==============================================================================================
   >>bench scale   the speed-up that the loops of a training step or of decoding allow
   ============================================================================================== */

/* A thread pool for syn_options.parallel that runs the chunks of each loop one after the other, in
   one thread, and times them: the thread that would be free first takes the next chunk. A step
   always runs the same loops in the same order, so the shortest of several times of each loop
   counts. With T threads a step takes as long as what stands between the loops, the critical path
   of each loop, and the fork and join of each. */

typedef struct scale_loop {
  syn_task task;
  double sum, critical; /* seconds: of all its slices; of the thread that ends last */
} scale_loop;

typedef struct scale {
  scale_loop *loops;
  size_t count, capacity, at; /* loops of a step; the next one of this step */
  double inside;              /* seconds of this step in scale_run */
  double outside;             /* least seconds of a step between loops */
  double clock;               /* seconds that reading the clock takes */
} scale;

/* The kinds of loops; all others are "other". */
static const struct {
  syn_task task;
  const char *name;
} scale_kinds[] = {
    {syn__task_gemm, "gemm"},            {syn__task_pack, "pack"},
    {syn__task_drop, "dropout"},         {syn__task_acc, "accumulate"},
    {syn__task_zero, "zero"},            {syn__task_binary, "add"},
    {syn__task_act, "act"},              {syn__task_ff_back, "act backward"},
    {syn__task_norm, "norm"},            {syn__task_norm_dx, "norm dx"},
    {syn__task_norm_dg, "norm dg"},      {syn__task_lookup, "embedding"},
    {syn__task_lookup_dw, "embedding dw"}, {syn__task_heads, "attention"},
    {syn__task_heads_back, "attention backward"}, {syn__task_shared, "attention shared"},
    {syn__task_att_step, "attention step"}, {syn__task_loss, "loss"},
    {syn__task_squares, "gradient norm"}, {syn__task_update, "optimizer"},
};

static size_t scale_kind(syn_task task) {
  size_t i = 0;
  while (i < COUNT(scale_kinds) && scale_kinds[i].task != task) i++;
  return i;
}

/* Processor time of this thread, which busy cores do not change. */
static double scale_seconds(void) {
#if defined(CLOCK_THREAD_CPUTIME_ID) && !defined(_WIN32)
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
  return seconds();
#endif
}
/* The seconds of a call of scale_seconds. */
static double scale_clock(void) {
  const double begin = scale_seconds();
  int i;
  for (i = 0; i < 1000; i++) scale_seconds();
  return (scale_seconds() - begin) / 1000;
}

/* Runs one chunk for the thread and adds its time; 0: no share has any left. */
static int scale_chunk(const scale *s, const syn__slices *loop, int thread, double *times) {
  int k;
  for (k = 0; k < loop->threads; k++) {
    const int share = (thread + k) % loop->threads;
    size_t begin, end;
    double start;
    if (!syn__chunk_of(loop, share, loop->shares[share].taken, &begin, &end)) continue;
    loop->shares[share].taken++;
    start = scale_seconds();
    loop->task(loop->t, loop->job, thread, begin, end);
    times[thread] += scale_seconds() - start - s->clock;
    return 1;
  }
  return 0;
}
static void scale_keep(scale *s, syn_task task, double sum, double critical) {
  scale_loop *l;
  if (s->at == s->capacity) {
    s->capacity = 2 * s->capacity + 1024;
    s->loops = (scale_loop *)grow(s->loops, s->capacity, sizeof *s->loops);
  }
  l = &s->loops[s->at];
  if (s->at++ >= s->count || l->critical > critical) {
    l->task = task;
    l->sum = sum;
    l->critical = critical;
  }
}
/* One loop: the thread that is free first takes the next chunk. */
static void scale_run(void *user, void (*task)(void *arg, int i), void *arg, int n) {
  scale *s = (scale *)user;
  const syn__slices *loop = (const syn__slices *)arg;
  double begin = scale_seconds(), times[SYN_MAX_THREADS] = {0.0}, sum = 0.0, critical = 0.0;
  int i, next = 0;
  UNUSED(task);
  while (scale_chunk(s, loop, next, times))
    for (i = 0; i < n; i++)
      if (times[i] < times[next]) next = i;
  for (i = 0; i < n; i++) {
    sum += times[i];
    if (critical < times[i]) critical = times[i];
  }
  scale_keep(s, loop->task, sum, critical);
  s->inside += scale_seconds() - begin + s->clock;
}

/* What is measured: training steps, or with --batch decoding. */
typedef struct scale_job {
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_decoder *d;
  syn_batch b;
} scale_job;

static void scale_open(scale_job *j, const arguments *a, const network *n, int threads, scale *s) {
  const int sentences = opt_int(a, "batch");
  syn_options o;
  memset(&o, 0, sizeof o);
  o.threads = threads;
  o.parallel = scale_run;
  o.parallel_user = s;
  o.isa = *opt_text(a, "isa") ? opt_text(a, "isa") : NULL;
  if (syn_context_init(&j->c, &o)) fail(WRONG_USE, "--isa: %s", j->c.message);
  j->m = network_model(&j->c, n, "V", "", sentences ? 0.0 : network_drop(n));
  j->b = sentences ? decode_data(n, sentences) : train_data(n);
  j->t = sentences ? NULL : train_open(&j->c, j->m, n, "");
  j->d = sentences ? decode_open(&j->c, j->m, n, a) : NULL;
}
static void scale_close(scale_job *j) {
  syn_trainer_free(j->t);
  syn_decoder_free(j->d);
  syn_model_free(j->m);
}
/* The seconds of one step, or of one decoding. */
static double scale_once(scale_job *j, const network *n) {
  double start = scale_seconds();
  if (j->d) decode_once(&j->c, j->d, &j->b, n->tgt);
  else syn_trainer_step(j->t, &j->b, 1, NULL);
  check(&j->c);
  return scale_seconds() - start;
}

static void scale_nothing(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  UNUSED(t), UNUSED(job), UNUSED(thread), UNUSED(begin), UNUSED(end);
}
/* Seconds of the fork and join of a loop; a tenth of all measured ones take less. Those of more
   threads than the machine has cores are not measured: they grow as the logarithm of threads. */
static double scale_fork(int threads, int cores) {
  enum { LOOPS = 3000 };
  const int some = threads < cores ? threads : cores;
  double *times, fork;
  syn_context c;
  syn_tape *t;
  int i;
  if (some < 2) return 1e-6 * log((double)threads);
  context_of(&c, some, "");
  t = syn_tape_new(&c, 1);
  check(&c);
  times = (double *)take(LOOPS, sizeof *times);
  for (i = 0; i < LOOPS; i++) {
    double start = seconds();
    t->waits.halvings = 0; /* busy cores lower no number of threads */
    syn_parallel(t, scale_nothing, NULL, (size_t)some, 1);
    times[i] = seconds() - start;
  }
  syn_tape_free(t);
  median(times, LOOPS);
  fork = times[LOOPS / 10];
  free(times);
  return fork * log((double)threads) / log((double)some);
}

/* The kinds of loops of a step, in the order of the table. */
static void scale_kinds_print(const scale *s, int json) {
  size_t kind, i, count, printed = 0;
  for (kind = 0; kind <= COUNT(scale_kinds); kind++) {
    double sum = 0.0, critical = 0.0;
    for (i = count = 0; i < s->count; i++)
      if (scale_kind(s->loops[i].task) == kind) {
        count++;
        sum += s->loops[i].sum;
        critical += s->loops[i].critical;
      }
    if (!count) continue;
    printf(json ? "%s{\"kind\":\"%s\",\"count\":%lu,\"ms\":%.3f,\"critical_ms\":%.3f}"
                : "%s  %-20s %5lu loops  %9.3f ms of work, critical path %9.3f ms",
           json && printed ? "," : "",
           kind < COUNT(scale_kinds) ? scale_kinds[kind].name : "other", (unsigned long)count,
           sum * 1e3, critical * 1e3);
    if (!json) printf(", %.1f times\n", sum / critical);
    printed++;
  }
}

/* One line for a number of threads; `one`: seconds of a step with one thread. */
static void scale_print(const arguments *a, const scale *s, int threads, double one, double fork) {
  double critical = s->outside + (double)s->count * fork;
  const int json = opt_flag(a, "json");
  size_t i;
  for (i = 0; i < s->count; i++) critical += s->loops[i].critical;
  printf(json ? "{\"config\":\"%s\",\"batch\":%d,\"threads\":%d,\"predicted\":%.2f,"
                "\"serial\":%.4f,\"ms\":%.3f,\"critical_ms\":%.3f,\"fork_us\":%.2f,\"loops\":["
              : "scale %s, batch %d, %d threads: predicted speed-up %.2f, serial share %.4f, "
                "%.2f ms with one thread, critical path %.2f ms, fork and join %.2f us\n",
         opt_text(a, "config"), opt_int(a, "batch"), threads, one / critical, s->outside / one,
         one * 1e3, critical * 1e3, fork * 1e6);
  scale_kinds_print(s, json);
  printf(json ? "]}\n" : "");
  fflush(stdout);
}

/* Steps of one thread and of `threads` in turn. */
static void scale_measure(const arguments *a, const network *n, int threads, int cores) {
  const int reps = opt_int(a, "reps");
  scale s;
  scale_job one, many;
  double least = 1e30, took;
  int i;
  memset(&s, 0, sizeof s);
  s.clock = scale_clock();
  scale_open(&one, a, n, 1, &s);
  scale_open(&many, a, n, threads, &s);
  for (i = -1; i < reps; i++) {
    took = scale_once(&one, n);
    if (i >= 0 && took < least) least = took;
    s.at = 0;
    s.inside = 0.0;
    took = scale_once(&many, n) - s.inside;
    if (i <= 0 || took < s.outside) s.outside = took;
    s.count = i < 0 ? 0 : s.at;
  }
  scale_print(a, &s, threads, least, scale_fork(threads, cores));
  scale_close(&one);
  scale_close(&many);
  free(s.loops);
}

static int run_scale(const arguments *a) {
  const network *n = network_of(opt_text(a, "config"));
  const int cores = physical_cores();
  int threads = opt_int(a, "threads");
  if (threads) scale_measure(a, n, threads, cores);
  else
    for (threads = 1; threads <= SYN_MAX_THREADS; threads *= 2) scale_measure(a, n, threads, cores);
  return 0;
}

/* ==============================================================================================
   >>bench prefill   a prompt read in one pass and token by token
   ============================================================================================== */

/* Reads prompts as long as the outputs may be, so that one token is chosen; all prompt tokens in a
   pass, or `prefill` of them. */
static syn_decoder *prefill_open(syn_context *c, const syn_model *m, const network *n, int prompt,
                                 int prefill) {
  syn_decode_config k;
  syn_decoder *d;
  memset(&k, 0, sizeof k);
  k.source_len = n->src;
  k.max_len = prompt;
  k.prefill = prefill;
  d = syn_decoder_new(c, m, &k);
  check(c);
  return d;
}

/* What the output layer reads [d_model]: the same bits mean the same logits. */
static const float *prefill_last(const syn_decoder *d) {
  const syn_tape *t = &d->run->tape;
  return syn_in(t, d->m->g.nodes[d->m->head], 0)->x;
}

static void prefill_print(const arguments *a, const network *n, const double *ms) {
  int prompt = opt_int(a, "prompt");
  printf(opt_flag(a, "json")
             ? "{\"config\":\"%s\",\"prompt\":%d,\"threads\":%d,\"tok_s\":%.1f,\"ms\":%.3f,"
               "\"ms_token_by_token\":%.3f,\"ratio\":%.2f}\n"
             : "prefill %s, prompt of %d tokens, %d threads: %.1f tokens/s, %.3f ms, token by token "
               "%.3f ms, %.2f times\n",
         n->name, prompt, opt_int(a, "threads"), prompt / ms[0] * 1e3, ms[0], ms[1], ms[1] / ms[0]);
}

/* Runs in turn, source included. */
static int run_prefill(const arguments *a) {
  const network *n = network_of(opt_text(a, "config"));
  int reps = opt_int(a, "reps"), prompt = opt_int(a, "prompt"), i, k;
  double *times[2], ms[2];
  syn_context c;
  syn_model *m;
  syn_decoder *d[2];
  syn_batch b;
  syn_random r;
  if (prompt > syn__max(n->src, n->tgt))
    fail(WRONG_USE, "prefill --prompt %d, %s has at most %d tokens", prompt, n->name,
         syn__max(n->src, n->tgt));
  context_open(&c, a);
  m = network_model(&c, n, "V", "", 0.0);
  r.state = 1;
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.src_width = n->src;
  if (n->src) b.src = random_rows(&r, n, 1, n->src, 0);
  b.tgt_width = prompt;
  b.tgt = random_rows(&r, n, 1, prompt, SYN_BEGIN);
  for (k = 0; k < 2; k++) {
    times[k] = (double *)take((size_t)reps, sizeof *times[k]);
    d[k] = prefill_open(&c, m, n, prompt, k ? 1 : opt_int(a, "chunk"));
    decode_once(&c, d[k], &b, prompt);
  }
  if (memcmp(prefill_last(d[0]), prefill_last(d[1]), (size_t)n->d * sizeof(float)) != 0)
    fail(FAILED_JOB, "%s: a prompt read in one pass and token by token differ", n->name);
  for (i = 0; i < reps; i++)
    for (k = 0; k < 2; k++) times[k][i] = decode_once(&c, d[k], &b, prompt) * 1e3;
  for (k = 0; k < 2; k++) ms[k] = median(times[k], (size_t)reps);
  prefill_print(a, n, ms);
  for (k = 0; k < 2; k++) {
    syn_decoder_free(d[k]);
    free(times[k]);
  }
  syn_model_free(m);
  return 0;
}

/* ==============================================================================================
   >>bench gemm   matrix products of the library
   ============================================================================================== */

/* c = a b in the three layouts of a layer: NT y = x W^T, NN dx = dy W, TN dW = dy^T x. A single
   product includes packing b, except for m <= 32: there the library decodes with weights that it
   packed once. In a batch each thread computes whole products, as for the heads of attention. */
typedef struct gemm {
  syn_tape *t;
  int m, n, k, batch;
  const char *trans;
  /* [batch, m, k], [batch, k, n], [batch, m, n]; a and b are stored transposed as `trans` says */
  float *a, *b, *c;
  float *panels;    /* packed b; null: each call packs b */
  float *scratch;   /* [threads, k round16(n)] packed b of each thread */
} gemm;

enum { PACKED_M = 32 };

static size_t gemm_panel(const gemm *g) {
  return (size_t)g->k * syn__round16((size_t)g->n);
}
static size_t gemm_a(const gemm *g, size_t i) { return i * (size_t)g->m * (size_t)g->k; }
static size_t gemm_b(const gemm *g, size_t i) { return i * (size_t)g->k * (size_t)g->n; }
static size_t gemm_c(const gemm *g, size_t i) { return i * (size_t)g->m * (size_t)g->n; }

static syn_matrix gemm_view_a(const gemm *g, size_t i) {
  const float *x = g->a + gemm_a(g, i);
  return g->trans[0] == 'T' ? syn_transposed(syn_matrix_of(x, g->k, g->m, 0))
                            : syn_matrix_of(x, g->m, g->k, 0);
}
static syn_matrix gemm_view_b(const gemm *g, size_t i) {
  const float *x = g->b + gemm_b(g, i);
  return g->trans[1] == 'T' ? syn_transposed(syn_matrix_of(x, g->n, g->k, 0))
                            : syn_matrix_of(x, g->k, g->n, 0);
}

static void gemm_task(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const gemm *g = (const gemm *)job;
  float *pack = g->scratch + (size_t)thread * gemm_panel(g);
  size_t i;
  for (i = begin; i < end; i++)
    syn__gemm_serial(t, syn_matrix_of(g->c + gemm_c(g, i), g->m, g->n, 0), gemm_view_a(g, i),
                     gemm_view_b(g, i), 0, pack);
}

static void gemm_call(const gemm *g) {
  if (g->batch > 1) syn_parallel(g->t, gemm_task, g, (size_t)g->batch, 1);
  else
    syn_gemm(g->t, syn_matrix_of(g->c, g->m, g->n, 0), gemm_view_a(g, 0),
             g->panels ? syn__packed(g->panels, g->k, g->n) : gemm_view_b(g, 0), NULL, 0);
}

/* The matrices of a model are in one large block, for which the allocator of the library requests
   large pages. It does so from 4 MiB on, so every matrix here has at least that size. */
enum { LARGE = 4 << 20 };

static float *matrix(const gemm *g, size_t floats) {
  size_t least = LARGE / sizeof(float);
  float *x = (float *)syn__alloc(g->t->c, floats > least ? floats : least, sizeof *x);
  if (!x) no_memory(floats, sizeof *x);
  return x;
}

/* Allocates the matrices and fills a and b with small numbers that differ from their neighbours. */
static void gemm_open(gemm *g) {
  size_t batch = (size_t)g->batch, i;
  syn_matrix b;
  g->a = matrix(g, gemm_a(g, batch));
  g->b = matrix(g, gemm_b(g, batch));
  g->c = matrix(g, gemm_c(g, batch));
  g->panels = g->scratch = NULL;
  for (i = 0; i < gemm_a(g, batch); i++) g->a[i] = (float)(i * 7 % 13) * 0.1f - 0.6f;
  for (i = 0; i < gemm_b(g, batch); i++) g->b[i] = (float)(i * 5 % 11) * 0.1f - 0.5f;
  if (g->batch > 1)
    g->scratch = matrix(g, size_mul(gemm_panel(g), (size_t)g->t->threads));
  else if (g->m <= PACKED_M) {
    g->panels = matrix(g, gemm_panel(g));
    b = gemm_view_b(g, 0);
    g->t->k->pack_b(&b, g->panels);
  }
}
static void gemm_close(gemm *g) {
  syn__free(g->t->c, g->a);
  syn__free(g->t->c, g->b);
  syn__free(g->t->c, g->c);
  syn__free(g->t->c, g->panels);
  syn__free(g->t->c, g->scratch);
}

/* Compares 16 elements of c with sums in double, so that no wrong product is measured. */
static void gemm_check(const gemm *g, const char *who) {
  size_t p, i, j, k;
  int probe;
  for (probe = 0; probe < 16; probe++) {
    double sum = 0.0, size = 0.0, got, term;
    syn_matrix a, b;
    p = (size_t)probe * 37 % (size_t)g->batch;
    i = (size_t)probe * 131 % (size_t)g->m;
    j = (size_t)probe * 977 % (size_t)g->n;
    a = gemm_view_a(g, p);
    b = gemm_view_b(g, p);
    for (k = 0; k < (size_t)g->k; k++) {
      term = (double)a.x[i * a.row + k * a.col] * (double)b.x[k * b.row + j * b.col];
      sum += term;
      size += fabs(term);
    }
    got = (double)g->c[gemm_c(g, p) + i * (size_t)g->n + j];
    if (!(fabs(got - sum) <= 1e-5 * size + 1e-6))
      fail(FAILED_JOB, "%s %d,%d,%d %s: element %lu,%lu of product %lu is %g instead of %g", who,
           g->m, g->n, g->k, g->trans, (unsigned long)i, (unsigned long)j, (unsigned long)p, got,
           sum);
  }
}

/* The median GFLOP/s of `reps` repetitions; one repetition is as many calls as take 5 ms. */
static double gemm_measure(const gemm *g, int reps) {
  double *rate = (double *)take((size_t)reps, sizeof *rate), start, once, best;
  double flop = 2e-9 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
  int i, k, calls;
  gemm_call(g);
  gemm_check(g, "the product");
  start = seconds();
  gemm_call(g);
  once = seconds() - start;
  calls = once < 0.005 ? (int)(0.005 / (once + 1e-7)) + 1 : 1;
  for (i = 0; i < reps; i++) {
    start = seconds();
    for (k = 0; k < calls; k++) gemm_call(g);
    rate[i] = flop * calls / (seconds() - start);
  }
  best = median(rate, (size_t)reps);
  free(rate);
  return best;
}

static void gemm_print(const gemm *g, double gflops, int json) {
  printf(json ? "{\"shape\":\"%d,%d,%d\",\"batch\":%d,\"trans\":\"%s\",\"threads\":%d,"
                "\"gflops\":%.1f}\n"
              : "gemm %d,%d,%d batch %d %s, %d threads: %.1f GFLOP/s\n",
         g->m, g->n, g->k, g->batch, g->trans, g->t->threads, gflops);
  fflush(stdout);
}

/* The shapes of --list: layers of small, base and wider networks, outputs, decoding, heads. */
static const int gemm_shapes[][4] = {
    {512, 256, 256, 1},    {512, 1024, 256, 1},  {512, 256, 1024, 1},   {2048, 512, 512, 1},
    {2048, 2048, 512, 1},  {2048, 512, 2048, 1}, {1024, 8000, 256, 1},  {4096, 32000, 512, 1},
    {1, 512, 512, 1},      {1, 2048, 512, 1},    {1, 32000, 512, 1},    {4, 2048, 512, 1},
    {32, 2048, 512, 1},    {64, 64, 32, 128},    {32, 32, 64, 128},     {128, 64, 64, 128},
    {256, 256, 64, 128},
};
static const char *const gemm_layouts[] = {"NN", "NT", "TN"};

/* Called for each product of --shape or --list. */
typedef void (*gemm_visit)(gemm *g, const arguments *a);

static void gemm_one(gemm *g, const arguments *a) {
  gemm_open(g);
  gemm_print(g, gemm_measure(g, opt_int(a, "reps")), opt_flag(a, "json"));
  gemm_close(g);
}

/* Parses "M,N,K" or exits. */
static void gemm_shape(gemm *g, const char *text) {
  int *const sizes[] = {&g->m, &g->n, &g->k};
  const char *at = text;
  char *end = NULL;
  int i;
  for (i = 0; i < 3; i++, at = end + 1) {
    long x = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
    if (x < 1 || x > 1000000 || *end != (i < 2 ? ',' : 0))
      fail(WRONG_USE, "gemm --shape wants M,N,K, each from 1 to 1000000, given: %.60s", text);
    *sizes[i] = (int)x;
  }
}

/* Refuses products of more than 8 GiB. */
static void gemm_limit(const gemm *g) {
  double m = g->m, n = g->n, k = g->k, gib = (m * k + 2 * k * n + m * n) * g->batch / 268435456.0;
  if (gib > 8.0)
    fail(WRONG_USE, "gemm --shape %d,%d,%d --batch %d needs %.0f GiB, at most 8 are allowed", g->m,
         g->n, g->k, g->batch, gib);
}

static void gemm_each(const arguments *a, syn_tape *t, gemm_visit visit) {
  gemm g;
  size_t i, k;
  memset(&g, 0, sizeof g);
  g.t = t;
  if (!opt_flag(a, "list")) {
    gemm_shape(&g, opt_text(a, "shape"));
    g.batch = opt_int(a, "batch");
    g.trans = opt_text(a, "trans");
    gemm_limit(&g);
    visit(&g, a);
    return;
  }
  for (i = 0; i < COUNT(gemm_shapes); i++)
    for (k = 0; k < COUNT(gemm_layouts); k++) {
      g.m = gemm_shapes[i][0];
      g.n = gemm_shapes[i][1];
      g.k = gemm_shapes[i][2];
      g.batch = gemm_shapes[i][3];
      g.trans = gemm_layouts[k];
      visit(&g, a);
    }
}

static int run_gemm(const arguments *a) {
  syn_context c;
  syn_tape *t;
  context_open(&c, a);
  t = syn_tape_new(&c, LARGE);
  check(&c);
  gemm_each(a, t, gemm_one);
  syn_tape_free(t);
  return 0;
}

#ifdef PEERS
/* ==============================================================================================
   >>bench peers   the same products by OpenBLAS, BLIS and oneDNN, alternating with ours
   ============================================================================================== */

/* Needs a separate build: cc -O2 -fopenmp -DPEERS tools/bench.c -o peers -lm -ldl -ldnnl
   (libopenblas-dev, libblis-dev, libdnnl-dev of version 2). Clock rates of shared machines drift,
   so every repetition measures all libraries one after the other, each time beginning with another
   one. Old versions choose wrong kernels on new processors, so environment variables name the
   kernels, unless they are set already. For one row OpenBLAS is also measured with its product of
   matrix and vector, which is its fastest. oneDNN is measured through both of its interfaces, with
   packed weights where ours are packed. */

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, PEERS_MOST = 6 };
enum { IDLE_MS = 40 }; /* the threads of a library keep spinning that long after a call */

typedef void (*cblas_gemm)(int, int, int, int, int, int, float, const float *, int, const float *,
                           int, float, float *, int);
typedef void (*cblas_gemv)(int, int, int, int, float, const float *, int, const float *, int, float,
                           float *, int);

/* Functions of the libraries, and the oneDNN primitive of the current product. */
typedef struct peer_libraries {
  cblas_gemm openblas, blis;
  cblas_gemv vector;
  void (*openblas_threads)(int);
  void (*blis_threads)(int64_t);
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t product;
  dnnl_exec_arg_t args[3];
} peer_libraries;

typedef struct peer peer;
typedef struct peer_job {
  const gemm *g;
  const peer *who;
  peer_libraries *l;
} peer_job;

/* A library: `one` computes product i, or `all` computes all products of the batch. */
struct peer {
  const char *name;
  void (*one)(const peer_job *j, size_t i);
  void (*all)(const peer_job *j);
  int rows; /* most rows of its products, in a batch of 1; 0: any */
};

/* The measurements of all libraries; ours is the first. */
typedef struct peer_row {
  const peer *who[PEERS_MOST];
  double *rate[PEERS_MOST], once[PEERS_MOST];
  int count;
} peer_row;

static void dnnl_ok(dnnl_status_t status, const char *what) {
  if (status != dnnl_success) fail(FAILED_JOB, "oneDNN: %s: status %d", what, (int)status);
}

/* Copies the address of a function: C has no cast from an object pointer to a function pointer. */
static void peer_symbol(void *library, const char *name, void *function) {
  void *at = dlsym(library, name);
  if (!at) fail(FAILED_JOB, "%s: not in its library", name);
  memcpy(function, &at, sizeof at);
}
static void *peer_library(const char *name, const char *other) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen(other, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(FAILED_JOB, "needs %s", other);
  return library;
}

/* BLIS names its kernels by the numbers of its arch_t. */
static void peers_choose(const char *isa) {
  int wide = strcmp(isa, "avx512") == 0;
  if (!wide && strcmp(isa, "avx2") != 0) return;
  setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell", 0);
  setenv("BLIS_ARCH_TYPE", wide ? "0" : "3", 0);
  if (wide) return;
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 0);
  setenv("DNNL_MAX_CPU_ISA", "AVX2", 0);
}

static void peers_open(peer_libraries *l, const syn_context *c) {
  void *openblas, *blis;
  peers_choose(c->kernels->name);
  openblas = peer_library("libopenblas.so.0", "libopenblas.so");
  blis = peer_library("libblis.so.4", "libblis.so");
  peer_symbol(openblas, "cblas_sgemm", &l->openblas);
  peer_symbol(openblas, "cblas_sgemv", &l->vector);
  peer_symbol(openblas, "openblas_set_num_threads", &l->openblas_threads);
  peer_symbol(blis, "cblas_sgemm", &l->blis);
  peer_symbol(blis, "bli_thread_set_num_threads", &l->blis_threads);
#ifdef _OPENMP
  omp_set_num_threads(c->options.threads);
#endif
  dnnl_ok(dnnl_engine_create(&l->engine, dnnl_cpu, 0), "engine");
  dnnl_ok(dnnl_stream_create(&l->stream, l->engine, dnnl_stream_default_flags), "stream");
}

/* -- one product by each -- */

static int gemm_transposed(const gemm *g, int side) { return g->trans[side] == 'T'; }
/* Floats from one row of a or b, as it is stored, to the next. */
static int gemm_row_a(const gemm *g) { return gemm_transposed(g, 0) ? g->m : g->k; }
static int gemm_row_b(const gemm *g) { return gemm_transposed(g, 1) ? g->k : g->n; }

static void peer_cblas(cblas_gemm f, const gemm *g, size_t i) {
  int a = gemm_transposed(g, 0) ? TRANSPOSED : PLAIN;
  int b = gemm_transposed(g, 1) ? TRANSPOSED : PLAIN;
  f(ROW_MAJOR, a, b, g->m, g->n, g->k, 1.0f, g->a + gemm_a(g, i), gemm_row_a(g),
    g->b + gemm_b(g, i), gemm_row_b(g), 0.0f, g->c + gemm_c(g, i), g->n);
}
static void peer_openblas(const peer_job *j, size_t i) { peer_cblas(j->l->openblas, j->g, i); }
static void peer_blis(const peer_job *j, size_t i) { peer_cblas(j->l->blis, j->g, i); }

/* c^T = b^T a^T */
static void peer_vector(const peer_job *j, size_t i) {
  const gemm *g = j->g;
  int transposed = gemm_transposed(g, 1);
  j->l->vector(ROW_MAJOR, transposed ? PLAIN : TRANSPOSED, transposed ? g->n : g->k,
               transposed ? g->k : g->n, 1.0f, g->b + gemm_b(g, i), gemm_row_b(g),
               g->a + gemm_a(g, i), 1, 0.0f, g->c + gemm_c(g, i), 1);
}
static void peer_dnnl(const peer_job *j, size_t i) {
  const gemm *g = j->g;
  dnnl_ok(dnnl_sgemm(g->trans[0], g->trans[1], g->m, g->n, g->k, 1.0f, g->a + gemm_a(g, i),
                     gemm_row_a(g), g->b + gemm_b(g, i), gemm_row_b(g), 0.0f, g->c + gemm_c(g, i),
                     g->n), "sgemm");
}
static void peer_matmul(const peer_job *j) {
  dnnl_ok(dnnl_primitive_execute(j->l->product, j->l->stream, 3, j->l->args), "matmul");
  dnnl_ok(dnnl_stream_wait(j->l->stream), "matmul");
}
static void peer_ours(const peer_job *j) { gemm_call(j->g); }

static const peer peers[] = {
    {"ours", NULL, peer_ours, 0},           {"openblas", peer_openblas, NULL, 0},
    {"openblas_gemv", peer_vector, NULL, 1}, {"blis", peer_blis, NULL, 0},
    {"dnnl_sgemm", peer_dnnl, NULL, 0},     {"dnnl_matmul", NULL, peer_matmul, 0},
};

/* Batches: each thread computes whole products, as in ours. */
static void peer_task(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const peer_job *j = (const peer_job *)job;
  size_t i;
  UNUSED(t);
  UNUSED(thread);
  for (i = begin; i < end; i++) j->who->one(j, i);
}
static void peer_call(const peer_job *j) {
  if (j->who->all) j->who->all(j);
  else syn_parallel(j->g->t, peer_task, j, (size_t)j->g->batch, 1);
}

/* -- the primitive of oneDNN -- */

/* [batch, rows, columns], without the first axis for a batch of 1; `transposed`: stored
   transposed. */
static dnnl_memory_desc_t matmul_matrix(const gemm *g, int rows, int columns, int transposed) {
  dnnl_memory_desc_t d;
  dnnl_dims_t size = {0}, stride = {0};
  int at = g->batch > 1;
  if (columns == 1 && rows > 1) transposed = 0;
  size[0] = g->batch;
  stride[0] = (dnnl_dim_t)rows * columns;
  size[at] = rows;
  size[at + 1] = columns;
  stride[at] = transposed ? 1 : columns;
  stride[at + 1] = transposed ? rows : 1;
  dnnl_ok(dnnl_memory_desc_init_by_strides(&d, at + 2, size, dnnl_f32, stride), "memory");
  return d;
}
static dnnl_memory_t matmul_memory(peer_libraries *l, const dnnl_memory_desc_t *d, void *at) {
  dnnl_memory_t memory;
  dnnl_ok(dnnl_memory_create(&memory, d, l->engine, at), "memory");
  return memory;
}

/* Reorders b into the layout that the primitive wants. */
static dnnl_memory_t matmul_pack(peer_libraries *l, dnnl_memory_t b, const dnnl_memory_desc_t *from,
                                 const dnnl_memory_desc_t *to) {
  dnnl_memory_t packed = matmul_memory(l, to, DNNL_MEMORY_ALLOCATE);
  dnnl_primitive_desc_t d;
  dnnl_primitive_t reorder;
  dnnl_exec_arg_t args[2];
  args[0].arg = DNNL_ARG_FROM;
  args[0].memory = b;
  args[1].arg = DNNL_ARG_TO;
  args[1].memory = packed;
  dnnl_ok(dnnl_reorder_primitive_desc_create(&d, from, l->engine, to, l->engine, NULL), "reorder");
  dnnl_ok(dnnl_primitive_create(&reorder, d), "reorder");
  dnnl_ok(dnnl_primitive_execute(reorder, l->stream, 2, args), "reorder");
  dnnl_ok(dnnl_stream_wait(l->stream), "reorder");
  dnnl_primitive_destroy(reorder);
  dnnl_primitive_desc_destroy(d);
  dnnl_memory_destroy(b);
  return packed;
}

static void matmul_open(peer_libraries *l, const gemm *g) {
  dnnl_memory_desc_t a = matmul_matrix(g, g->m, g->k, gemm_transposed(g, 0) && g->m > 1), wanted;
  dnnl_memory_desc_t b = matmul_matrix(g, g->k, g->n, gemm_transposed(g, 1));
  dnnl_memory_desc_t c = matmul_matrix(g, g->m, g->n, 0);
  const dnnl_memory_desc_t *given;
  dnnl_matmul_desc_t job;
  dnnl_primitive_desc_t d;
  wanted = b;
  if (g->panels)
    dnnl_ok(dnnl_memory_desc_init_by_tag(&wanted, b.ndims, b.dims, dnnl_f32, dnnl_format_tag_any),
            "memory");
  dnnl_ok(dnnl_matmul_desc_init(&job, &a, &wanted, NULL, &c), "matmul");
  dnnl_ok(dnnl_primitive_desc_create(&d, &job, NULL, l->engine, NULL), "matmul");
  dnnl_ok(dnnl_primitive_create(&l->product, d), "matmul");
  given = dnnl_primitive_desc_query_md(d, dnnl_query_weights_md, 0);
  l->args[0].arg = DNNL_ARG_SRC;
  l->args[0].memory = matmul_memory(l, &a, g->a);
  l->args[1].arg = DNNL_ARG_WEIGHTS;
  l->args[1].memory = matmul_memory(l, &b, g->b);
  if (!dnnl_memory_desc_equal(given, &b))
    l->args[1].memory = matmul_pack(l, l->args[1].memory, &b, given);
  l->args[2].arg = DNNL_ARG_DST;
  l->args[2].memory = matmul_memory(l, &c, g->c);
  dnnl_primitive_desc_destroy(d);
}
static void matmul_close(peer_libraries *l) {
  int i;
  dnnl_primitive_destroy(l->product);
  for (i = 0; i < 3; i++) dnnl_memory_destroy(l->args[i].memory);
}

/* -- measuring all libraries in turn -- */

/* The summary of --list. */
typedef struct peer_total {
  double least, log_sum;
  int cells, near;
  char worst[60];
} peer_total;

static peer_libraries peers_found;
static peer_total peers_total;

static void peers_pause(int ms) {
  struct timespec t;
  t.tv_sec = 0;
  t.tv_nsec = ms * 1000000L;
  if (ms) nanosleep(&t, NULL);
}

/* Chooses the libraries for a product, checks their results, measures one call of each. */
static void peers_enter(peer_row *r, peer_job *j, int reps) {
  size_t i;
  r->count = 0;
  for (i = 0; i < COUNT(peers); i++) {
    double start;
    if (peers[i].rows && (j->g->m > peers[i].rows || j->g->batch > 1)) continue;
    j->who = r->who[r->count] = &peers[i];
    memset(j->g->c, 0x7F, gemm_c(j->g, (size_t)j->g->batch) * sizeof(float));
    peer_call(j);
    gemm_check(j->g, peers[i].name);
    start = seconds();
    peer_call(j);
    r->once[r->count] = seconds() - start;
    r->rate[r->count++] = (double *)take((size_t)reps, sizeof(double));
  }
}

/* Repetition `rep` of one library. The calls before it that are not counted wake its threads, and
   bring packed weights of its own back into the caches, where the matrices that all share are
   already. */
static void peers_repeat(peer_row *r, peer_job *j, int i, int rep) {
  double once = r->once[i], start, flop = 2e-9 * j->g->m * j->g->n * j->g->k * j->g->batch;
  int calls = once < 0.005 ? (int)(0.005 / (once + 1e-7)) + 1 : 1, k;
  int warm = once < 0.01 ? 6 : once < 0.1 ? 1 : 0;
  j->who = r->who[i];
  if (j->g->t->threads > 1) peers_pause(IDLE_MS);
  for (k = 0; k < warm; k++) peer_call(j);
  start = seconds();
  for (k = 0; k < calls; k++) peer_call(j);
  r->rate[i][rep] = flop * calls / (seconds() - start);
}

/* We distribute the products of a batch to threads, so the libraries use one thread each. */
static void peers_threads(const gemm *g) {
  int threads = g->batch > 1 ? 1 : g->t->threads;
  peers_found.openblas_threads(threads);
  peers_found.blis_threads(threads);
}

static void peers_print(const peer_row *r, const gemm *g, const double *rate, int json) {
  int i, best = 1;
  double ratio;
  peer_total *t = &peers_total;
  for (i = 2; i < r->count; i++)
    if (rate[i] > rate[best]) best = i;
  ratio = rate[0] / rate[best];
  printf(json ? "{\"shape\":\"%d,%d,%d\",\"batch\":%d,\"trans\":\"%s\",\"threads\":%d"
              : "%d,%d,%d batch %d %s, %d threads:", g->m, g->n, g->k, g->batch, g->trans,
         g->t->threads);
  for (i = 0; i < r->count; i++)
    printf(json ? ",\"%s\":%.1f" : " %s %.1f,", r->who[i]->name, rate[i]);
  printf(json ? ",\"best\":\"%s\",\"ratio\":%.3f}\n" : " best %s, ratio %.3f\n",
         r->who[best]->name, ratio);
  fflush(stdout);
  if (!t->cells || ratio < t->least) {
    t->least = ratio;
    snprintf(t->worst, sizeof t->worst, "%d,%d,%d batch %d %s", g->m, g->n, g->k, g->batch,
             g->trans);
  }
  t->cells++;
  t->near += ratio >= 0.95;
  t->log_sum += log(ratio);
}

static void peers_one(gemm *g, const arguments *a) {
  peer_row r;
  peer_job j;
  double rate[PEERS_MOST];
  int reps = opt_int(a, "reps"), i, rep;
  memset(&r, 0, sizeof r);
  gemm_open(g);
  matmul_open(&peers_found, g);
  peers_threads(g);
  j.g = g;
  j.l = &peers_found;
  peers_enter(&r, &j, reps);
  for (rep = 0; rep < reps; rep++)
    for (i = 0; i < r.count; i++) peers_repeat(&r, &j, (i + rep) % r.count, rep);
  for (i = 0; i < r.count; i++) rate[i] = median(r.rate[i], (size_t)reps);
  peers_print(&r, g, rate, opt_flag(a, "json"));
  for (i = 0; i < r.count; i++) free(r.rate[i]);
  matmul_close(&peers_found);
  gemm_close(g);
}

static int run_peers(const arguments *a) {
  const peer_total *t = &peers_total;
  syn_context c;
  syn_tape *tape;
  context_open(&c, a);
  peers_open(&peers_found, &c);
  tape = syn_tape_new(&c, LARGE);
  check(&c);
  gemm_each(a, tape, peers_one);
  printf(opt_flag(a, "json")
             ? "{\"cells\":%d,\"least\":%.3f,\"worst\":\"%s\",\"near\":%.3f,\"mean\":%.3f}\n"
             : "%d cells: smallest ratio %.3f (%s), share of 0.95 and more %.3f, geometric mean "
               "%.3f\n",
         t->cells, t->least, t->worst, (double)t->near / t->cells, exp(t->log_sum / t->cells));
  syn_tape_free(tape);
  return 0;
}
#endif

/* ==============================================================================================
   >>bench commands   the tables of options, the list of commands, help, main
   ============================================================================================== */

#define MACHINE_OPTIONS \
  {"threads", 0, INT, "1", "1..64", "more than 1 needs a build with -fopenmp"}, \
  {"isa", 0, TEXT, "", "ISA", "kernels to use; not given: the fastest of this machine"}, \
  {"json", 0, FLAG, "off", "", "one JSON object a measurement"}
#define END_OF_OPTIONS {NULL, 0, FLAG, NULL, NULL, NULL}

static const option train_options[] = {
    {"config", 0, CHOICE, "small", "tiny|small|base|long|gpt128|gpt384|lm|lm384",
     "the network and its batch"},
    {"attn", 0, CHOICE, "V", "V|R|FR|D|R+V|light_conv|dyn_conv|linformer",
     "instead of self-attention; linformer: only in the encoder"},
    {"ffl", 0, TEXT, "", "TEXT", "a layer instead of the feed-forward layers"},
    {"steps", 0, INT, "0", "0..100000", "measured steps; 0: 20, base 7"},
    {"warmup", 0, INT, "3", "0..100000", "steps before the measured ones"},
    {"drop", 0, NUMBER, "-1", "-1..0.99", "rate of dropout; below 0: 0.1, language models 0"},
    {"optimizer", 0, TEXT, "", "NAME", "not given: adam, language models adamw"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option decode_options[] = {
    {"config", 0, CHOICE, "small", "tiny|small|base|llama15m",
     "the network and the length of its outputs: 32, 32, 64, 256 tokens"},
    {"batch", 0, INT, "1", "1..4096", "sentences decoded together"},
    {"beam", 0, INT, "1", "1..64", "hypotheses per sentence; 1: greedy"},
    {"type", 0, CHOICE, "f32", "f32|i8", "of the matrix products"},
    {"reps", 0, INT, "5", "1..100000", "measured runs, after one that is not"},
    {"file", 0, TEXT, "", "", "a path: the model is written there and loaded for decoding alone"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option prefill_options[] = {
    {"config", 0, CHOICE, "gpt384", "tiny|small|base|long|gpt128|gpt384|lm|lm384|llama15m",
     "the network"},
    {"prompt", 0, INT, "64", "1..1024", "tokens of the prompt, with its begin"},
    {"chunk", 0, INT, "0", "0..1024", "tokens read in one pass; 0: the library's choice"},
    {"reps", 0, INT, "11", "1..100000", "runs that are measured, after one that is not"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option scale_options[] = {
    {"config", 0, CHOICE, "small", "tiny|small|base|long|gpt128|gpt384|lm|lm384", "the network"},
    {"batch", 0, INT, "0", "0..4096", "sentences decoded together; 0: training steps"},
    {"beam", 0, INT, "1", "1..64", "of decoding"},
    {"type", 0, CHOICE, "f32", "f32|i8", "of decoding"},
    {"threads", 0, INT, "0", "0..64", "predicted for so many; 0: for 1, 2, 4 ... 64"},
    {"reps", 0, INT, "5", "1..100000", "steps of which the shortest times count, after one"},
    {"isa", 0, TEXT, "", "ISA", "kernels to use; not given: the fastest of this machine"},
    {"json", 0, FLAG, "off", "", "one JSON object a number of threads"},
    END_OF_OPTIONS};

static const option gemm_options[] = {
    {"shape", 0, TEXT, "512,256,256", "M,N,K", "c [M,N] = a [M,K] b [K,N]"},
    {"batch", 0, INT, "1", "1..65536", "products per call, like heads of attention"},
    {"trans", 0, CHOICE, "NN", "NN|NT|TN", "layout of a and b: N as they are, T transposed"},
    {"list", 0, FLAG, "off", "", "a list of common shapes in all layouts, instead of one"},
    {"reps", 0, INT, "21", "1..100000", "repetitions, of 5 ms or one call each"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const command_row commands[] = {
    {"train", "", 0, 0, train_options, run_train, "the time of a training step"},
    {"decode", "", 0, 0, decode_options, run_decode,
     "tokens a second of outputs of a fixed length"},
    {"prefill", "", 0, 0, prefill_options, run_prefill,
     "a prompt read in one pass and token by token"},
    {"scale", "", 0, 0, scale_options, run_scale,
     "the speed-up that the loops allow for any number of threads"},
    {"gemm", "", 0, 0, gemm_options, run_gemm, "matrix products of the library"},
#ifdef PEERS
    {"peers", "", 0, 0, gemm_options, run_peers, "the same, beside OpenBLAS, BLIS and oneDNN"},
#endif
};

static void print_help(void) {
  size_t i;
  printf("bench: measures synthesizer.h %s\n", SYN_VERSION);
  for (i = 0; i < COUNT(commands); i++) {
    printf("\n");
    print_command(&commands[i]);
  }
  printf("\nExit status: 0 success, 1 a failed job, 2 wrong use.\n");
}

static int run_command(const command_row *c, int argc, char **argv) {
  arguments a = parse(c, argc, argv);
  int status = 0;
  if (a.help) print_command(c);
  else status = c->run(&a);
  arguments_free(&a);
  return status;
}

int main(int argc, char **argv) {
  const char *wanted = "train, decode, prefill, scale, gemm or help";
  size_t i = 0;
  int status = 0;
  if (argc < 2) fail(WRONG_USE, "no command given, wanted %s", wanted);
  while (i < COUNT(commands) && strcmp(argv[1], commands[i].name) != 0) i++;
  if (i < COUNT(commands)) status = run_command(&commands[i], argc - 2, argv + 2);
  else if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0) print_help();
  else fail(WRONG_USE, "no command %.60s, wanted %s", argv[1], wanted);
  if (fflush(stdout) || ferror(stdout))
    fail(FAILED_JOB, "cannot write the results: %s", strerror(errno));
  return status;
}
