/* 03   A layer of your own, as good as a built-in one

   Idea: a kind of layer is a struct of a name and functions. This file adds `mean_so_far`, which
   adds to each row a product of the mean of all rows of its sentence up to it (t from 0):

     s_t = x_0 + ... + x_t     y_t = x_t + s_t / (t + 1) W^T      x, s, y [rows,d], W [d,d]
     ds_t = dy_t W / (t + 1) + ds_{t+1}     dx_t += dy_t + ds_t
     dW += sum over the rows of dy_t^T s_t / (t + 1)

   It has a parameter, a saved buffer, tasks for threads, a cache and a step for decoding. The
   header is not edited. syn_kind_check checks the kind; then a language model learns with it that
   a sentence ends where its first token says.

   Compile, run:  cc -O2 examples/03_own_layer.c -o own_layer -lm && ./own_layer
   Expected:      tests/expected/03.txt */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

/* Asked once while the network is built: what comes out, what is trained, kept and cached. */
static syn_status mean_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0), shape[2] = {d, d};
  n->cache = d;                   /* of each token while decoding: s_t */
  n->scratch.fixed = (size_t)d;   /* of each thread: ds_t */
  if (syn_build_param(b, n, "w", syn_initial_glorot(d, d), 2, shape) ||
      syn_build_save_rows(b, n, SYN_BOTH, (size_t)d)) /* saved 0: s */
    return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}

/* One row of s and y, from s of the row before (null: there is none). Forward and step share it, so
   that they compute the same bits. */
static void mean_row(const float *w, const float *x, const float *before, int t, int d, float *s,
                     float *y) {
  for (int j = 0; j < d; j++) s[j] = x[j] + (before ? before[j] : 0.0f);
  for (int i = 0; i < d; i++) {
    float sum = 0.0f;
    for (int j = 0; j < d; j++) sum += s[j] * w[i * d + j];
    y[i] = x[i] + sum / (float)(t + 1);
  }
}

/* A task runs on one thread and writes only what belongs to its own sentences begin .. end-1. */
static void mean_sentences(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = job;
  const int *off = syn_out_stream(t, n)->off, d = syn_width(syn_out(t, n));
  const float *x = syn_in(t, n, 0)->x;
  float *s = syn_saved(t, n, 0), *y = syn_out(t, n)->x;
  (void)thread;
  for (size_t i = begin; i < end; i++)
    for (int r = off[i]; r < off[i + 1]; r++)
      mean_row(syn_weight(t, n, 0), x + r * d, r > off[i] ? s + (r - 1) * d : NULL, r - off[i], d,
               s + r * d, y + r * d);
}
static void mean_forward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, mean_sentences, n, (size_t)syn_out_stream(t, n)->count, 1);
}

/* One new row of each hypothesis. Tokens before it left their sums in the cache. */
static void mean_step(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *place = syn_places(t, n), d = syn_width(x);
  for (int r = 0; r < (int)syn_rows(x); r++)
    mean_row(syn_weight(t, n, 0), x->x + r * d,
             place[r] ? syn_cache_row(t, n, r, place[r] - 1) : NULL, place[r], d,
             syn_cache_new(t, n, r), y->x + r * d);
}

/* dx of the sentences begin .. end-1, from their last row to the first. */
static void mean_dx(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = job;
  const int *off = syn_out_stream(t, n)->off, d = syn_width(syn_out(t, n));
  const float *w = syn_weight(t, n, 0), *dy = syn_out(t, n)->dx;
  float *dx = syn_in(t, n, 0)->dx, *ds = syn_scratch(t, thread);
  for (size_t s = begin; s < end; s++) {
    memset(ds, 0, (size_t)d * sizeof *ds);
    for (int r = off[s + 1] - 1; r >= off[s]; r--)
      for (int j = 0; j < d; j++) {
        float sum = 0.0f;
        for (int i = 0; i < d; i++) sum += dy[r * d + i] * w[i * d + j];
        ds[j] += sum / (float)(r - off[s] + 1);
        dx[r * d + j] += dy[r * d + j] + ds[j];
      }
  }
}
/* Rows begin .. end-1 of dW: all rows of the batch add into them, in order. */
static void mean_dw(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = job;
  const syn_tensor *y = syn_out(t, n);
  const int *place = syn_places(t, n), d = syn_width(y);
  const float *s = syn_saved(t, n, 0);
  float *dw = syn_dweight(t, n, 0);
  (void)thread;
  for (int r = 0; r < (int)syn_rows(y); r++)
    for (int i = (int)begin; i < (int)end; i++) {
      float factor = y->dx[r * d + i] / (float)(place[r] + 1);
      for (int j = 0; j < d; j++) dw[i * d + j] += factor * s[r * d + j];
    }
}
static void mean_backward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, mean_dx, n, (size_t)syn_out_stream(t, n)->count, 1);
  syn_parallel(t, mean_dw, n, (size_t)syn_width(syn_out(t, n)), 1);
}

static const syn_kind mean_so_far = {
    .name = "mean_so_far", .args = "", .shape = mean_shape, .forward = mean_forward,
    .backward = mean_backward, .step = mean_step};

enum { SENTENCES = 8, LENGTH = 6, STEPS = 200 };

int main(void) {
  const syn_kind *const kinds[] = {&mean_so_far};
  int tgt[SENTENCES * (LENGTH + 1)], labels[SENTENCES * (LENGTH + 1)];
  syn_batch b = {.count = SENTENCES, .tgt = tgt, .labels = labels, .tgt_width = LENGTH + 1};
  syn_config k = {.task = "lm", .decoder = "repeat(2, res_nd(mean_so_far) -> res_nd(ffl)) -> norm",
                  .d_model = 16, .max_len = LENGTH + 1, .tgt_vocab = SYN_FIRST_TOKEN + LENGTH};
  syn_train_config how = {.schedule = "constant", .lr = 0.01f};
  syn_options o = {.kinds = kinds, .n_kinds = 1};
  syn_context c;
  float loss = 0;
  if (syn_context_init(&c, &o) || syn_kind_check(&c, &mean_so_far, NULL)) return puts(c.message), 1;
  puts("the kind is proven");
  syn_model *m = syn_model_new(&c, &k);
  syn_trainer *t = syn_trainer_new(&c, m, &how);
  syn_random r = {3};
  for (int step = 0; step <= STEPS; step++) {
    memset(tgt, 0, sizeof tgt), memset(labels, 0, sizeof labels);
    for (int i = 0; i < SENTENCES; i++) { /* n in all: n n ... n, then the end */
      int *in = tgt + i * (LENGTH + 1), *out = labels + i * (LENGTH + 1);
      int n = 1 + syn_random_below(&r, LENGTH);
      for (int j = 0; j < n; j++) in[j + 1] = out[j] = SYN_FIRST_TOKEN + n - 1;
      in[0] = SYN_BEGIN, out[n] = SYN_END, out[0] = 0; /* which n it is, nobody can know */
    }
    if (syn_trainer_step(t, &b, 1, &loss)) return puts(c.message), 1;
    if (step % 50 == 0) printf("step %3d   loss %.4f\n", step, (double)loss);
  }
  syn_trainer_free(t);
  syn_model_free(m);
  return 0;
}
