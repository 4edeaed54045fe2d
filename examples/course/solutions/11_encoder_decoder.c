/* Exercise 11   Attention to the source, forward and backward

   One head, by hand: T rows of a decoder look at S rows of an encoder. First what the decoder reads
   and must answer, then queries, keys, values, scores, weights, context; then all gradients. The
   holes are numbered in the order in which they are checked: begin with exercise() at the end. See
   lesson 11. Check it: make check N=11 */

#include "../check.h"
enum { T = 4, S = 3, D = 5 }; /* rows of the decoder, rows of the encoder, width; C = D, one head */
enum { MOST = D };            /* rows that there is memory for */

/* z [rows,D] = x [rows,D] W^T, W [D,D]: z_ri = sum over j of W_ij x_rj */
static void project(const char *name, const float *w, const float *x, int rows, float *z) {
  for (int r = 0; x && r < rows && r < MOST; r++)
    for (int i = 0; i < D; i++)
      for (int j = 0; j < D; j++) z[r * D + i] += w[i * D + j] * x[r * D + j];
  check_array(name, x ? z : NULL, rows, D);
}

static void forward(const float *q, const float *k, const float *v, float *p, float *context) {
  /* 3. The score of row t of the decoder and row s of the encoder: q_t . k_s / sqrt(D) */
  for (int t = 0; t < T; t++)
    for (int s = 0; s < S; s++)
      for (int i = 0; i < D; i++) p[t * S + s] += q[t * D + i] * k[s * D + i] / sqrtf(D);
  check_array("scores", p, T, S);

  /* 4. The weights: a softmax. Over which of the two, t or s? */
  for (int t = 0; t < T; t++) {
    float sum = 0;
    for (int s = 0; s < S; s++) sum += expf(p[t * S + s]);
    for (int s = 0; s < S; s++) p[t * S + s] = expf(p[t * S + s]) / sum;
  }
  check_array("weights", p, T, S);

  /* 5. context_t = sum over s of P_ts v_s */
  for (int t = 0; t < T; t++)
    for (int s = 0; s < S; s++)
      for (int i = 0; i < D; i++) context[t * D + i] += p[t * S + s] * v[s * D + i];
  check_array("context", context, T, D);
}

/* g [T,D]: the gradient of the loss with respect to the context */
static void backward(const float *q, const float *k, const float *v, const float *p,
                     const float *g) {
  float dv[S * D] = {0}, dp[T * S] = {0}, ds[T * S] = {0}, dq[T * D] = {0}, dk[S * D] = {0};
  /* 6. By the values: v_s goes into context_t with the factor P_ts. */
  for (int t = 0; t < T; t++)
    for (int s = 0; s < S; s++)
      for (int i = 0; i < D; i++) dv[s * D + i] += p[t * S + s] * g[t * D + i];
  check_array("gradient of values", dv, S, D);

  /* 7. By the weights: P_ts is the factor of v_s in context_t. */
  for (int t = 0; t < T; t++)
    for (int s = 0; s < S; s++)
      for (int i = 0; i < D; i++) dp[t * S + s] += v[s * D + i] * g[t * D + i];
  check_array("gradient of weights", dp, T, S);

  /* 8. By the scores, through the softmax: P_ts (dP_ts - sum over u of P_tu dP_tu) */
  for (int t = 0; t < T; t++) {
    float mean = 0;
    for (int u = 0; u < S; u++) mean += p[t * S + u] * dp[t * S + u];
    for (int s = 0; s < S; s++) ds[t * S + s] = p[t * S + s] * (dp[t * S + s] - mean);
  }
  check_array("gradient of scores", ds, T, S);

  /* 9. By queries and keys, through q_t . k_s / sqrt(D) */
  for (int t = 0; t < T; t++)
    for (int s = 0; s < S; s++)
      for (int i = 0; i < D; i++) {
        dq[t * D + i] += ds[t * S + s] * k[s * D + i] / sqrtf(D);
        dk[s * D + i] += ds[t * S + s] * q[t * D + i] / sqrtf(D);
      }
  check_array("gradient of queries", dq, T, D);
  check_array("gradient of keys", dk, S, D);
}

static void exercise(syn_context *c, syn_tape *t) {
  static const int answer[T - 1] = {7, 5, 9}; /* what the network should write, then the end */
  float reads[T], labels[T];
  float y[MOST * D], e[MOST * D], g[T * D], w[3][D * D]; /* rows of both; W_q, W_k, W_v */
  float q[MOST * D] = {0}, k[MOST * D] = {0}, v[MOST * D] = {0};
  float p[T * S] = {0}, context[T * D] = {0};
  syn_random r = {check_seed(7)};
  (void)c, (void)t;
  for (int i = 0; i < T * D; i++) g[i] = syn_random_normal(&r);
  for (int i = 0; i < MOST * D; i++) y[i] = syn_random_normal(&r), e[i] = syn_random_normal(&r);
  for (int i = 0; i < 3 * D * D; i++) w[i / (D * D)][i % (D * D)] = 0.5f * syn_random_normal(&r);

  /* 1. In training, row i of the decoder reads the token before the one that it must answer. The
     first row reads SYN_BEGIN, the last one must answer SYN_END. */
  for (int i = 0; i < T; i++) {
    reads[i] = (float)(i ? answer[i - 1] : SYN_BEGIN);
    labels[i] = (float)(i < T - 1 ? answer[i] : SYN_END);
  }
  check_array("tokens that the decoder reads", reads, 1, T);
  check_array("labels", labels, 1, T);

  /* 2. Whose rows make the queries, whose the keys, whose the values? (And see `project`.) */
  project("queries", w[0], y, T, q);
  project("keys", w[1], e, S, k);
  project("values", w[2], e, S, v);
  forward(q, k, v, p, context);
  backward(q, k, v, p, g);
}
