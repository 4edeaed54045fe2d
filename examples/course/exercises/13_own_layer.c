/* Exercise 13   A layer that mixes each token with the one before it

   g = sigma(w)     y_t = g x_t + (1 - g) x_{t-1}     x_{-1} = 0        x, y [T,d]; w, g [d]

   It is the "token shift" of Peng et al. 2023 (RWKV), with a sigmoid. Derive its gradients, write
   its step, and let syn_kind_check prove it. See lesson 13. Check it: make check N=13 */

#include "../check.h"

static float share(float w) { return 1 / (1 + expf(-w)); } /* sigma */

/* 1. One row y [d]. before [d]: the x of the row before; null: there is none, it counts as 0 */
static void shift_row(const float *w, const float *x, const float *before, int d, float *y) {
  for (int j = 0; j < d; j++) {
    float g = share(w[j]), last = before ? before[j] : 0;
    y[j] = HOLE;
  }
}

/* The gradients of one sentence of `rows` rows: dy is given, dx and dw are added to. */
static void shift_back(const float *w, const float *x, const float *dy, int rows, int d, float *dx,
                       float *dw) {
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < d; j++) {
      float g = share(w[j]), now = dy[r * d + j], next = r + 1 < rows ? dy[(r + 1) * d + j] : 0;
      float last = r ? x[(r - 1) * d + j] : 0; /* x_{t-1} */
      /* 2. x_t is in y_t (gradient `now`) and in y_{t+1} (gradient `next`): with which factors? */
      dx[r * d + j] += HOLE;
      /* 3. dy_t / dg = x_t - x_{t-1}, dg / dw = g (1 - g). */
      dw[j] += HOLE;
    }
}

/* -- the layer: all sentences of a batch, and decoding -- */

static syn_status shift_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  n->cache = d; /* floats that are kept of each token while decoding */
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_NORMAL, 1), 1, &d)) return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}

static void shift_forward(syn_tape *t, const syn_node *n) {
  const int *off = syn_out_stream(t, n)->off, d = syn_width(syn_out(t, n));
  const float *x = syn_in(t, n, 0)->x;
  for (int i = 0; i < syn_out_stream(t, n)->count; i++)
    for (int r = off[i]; r < off[i + 1]; r++) {
      /* 4. The row before in the same sentence, null for its first row, which is off[i]. */
      const float *before = HOLE;
      shift_row(syn_weight(t, n, 0), x + r * d, before, d, syn_out(t, n)->x + r * d);
    }
}

static void shift_backward(syn_tape *t, const syn_node *n) {
  const int *off = syn_out_stream(t, n)->off, d = syn_width(syn_out(t, n));
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  for (int i = 0; i < syn_out_stream(t, n)->count; i++)
    shift_back(syn_weight(t, n, 0), x->x + off[i] * d, y->dx + off[i] * d, off[i + 1] - off[i], d,
               x->dx + off[i] * d, syn_dweight(t, n, 0));
}

static void shift_step(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *place = syn_places(t, n), d = syn_width(x); /* place: of each row in its text */
  for (int r = 0; r < (int)syn_rows(x); r++) {
    /* 5. What must the cache of a token hold, so that the next token can be computed? kept [d] is
       copied into it. syn_cache_row(t, n, r, place) gives what an earlier token has kept. */
    const float *kept = HOLE;
    if (kept) memcpy(syn_cache_new(t, n, r), kept, (size_t)d * sizeof(float));
    const float *before = HOLE;
    shift_row(syn_weight(t, n, 0), x->x + r * d, before, d, y->x + r * d);
  }
}

static const syn_kind shift = {.name = "shift", .args = "", .shape = shift_shape,
  .forward = shift_forward, .backward = shift_backward, .step = shift_step};

static void exercise(syn_context *c, syn_tape *t) {
  enum { T = 4, D = 3 };
  float w[D], x[T * D], dy[T * D], y[T * D], dx[T * D] = {0}, dw[D] = {0}, proven;
  syn_random r = {check_seed(9)};
  (void)t;
  for (int j = 0; j < D; j++) w[j] = syn_random_normal(&r);
  for (int i = 0; i < T * D; i++) x[i] = syn_random_normal(&r), dy[i] = syn_random_normal(&r);
  for (int i = 0; i < T; i++) shift_row(w, x + i * D, i ? x + (i - 1) * D : NULL, D, y + i * D);
  check_array("y", y, T, D);
  shift_back(w, x, dy, T, D, dx, dw);
  check_array("gradient of x", dx, T, D);
  check_array("gradient of w", dw, 1, D);
  proven = syn_kind_check(c, &shift, NULL) == SYN_OK; /* 1: forward, step, gradients are right */
  check_array("proven by syn_kind_check", &proven, 1, 1);
}
