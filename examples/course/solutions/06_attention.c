/* Exercise 06   Causal attention on the tape, and the gradient of its softmax by hand

   See lesson 6. The tokens are five rows x [T,D]. Queries, keys and values have K numbers each:
   W_q, W_k, W_v are [K,D], with q = x W_q^T, and W_o is [D,K]. Check it: make check N=6 */

#include "../check.h"
enum { T = 5, D = 4, K = 3 };

static void exercise(syn_context *c, syn_tape *t) {
  syn_random r = {check_seed(44)};
  syn_tensor *x = random_tensor(t, T, D, &r, 1), *goal = random_tensor(t, T, D, &r, 1);
  syn_tensor *wq = random_tensor(t, K, D, &r, 0.5f), *wk = random_tensor(t, K, D, &r, 0.5f);
  syn_tensor *wv = random_tensor(t, K, D, &r, 0.5f), *wo = random_tensor(t, D, K, &r, 0.5f);
  syn_tensor *mask = tensor(t, T, T, NULL);
  syn_tensor *v, *k, *q, *scores, *masked, *weights, *context, *y, *loss;
  float ds[T][T];
  int i, j;
  (void)c;

  /* 1. v, k, q [T,K]: x times the transposed matrices (syn_transpose) */
  v = syn_matmul(x, syn_transpose(wv));
  check("v", v);
  k = syn_matmul(x, syn_transpose(wk));
  check("k", k);
  q = syn_matmul(x, syn_transpose(wq));
  check("q", q);

  /* 2. scores [T,T]: row i, column j is q_i . k_j / sqrt(K). (K is an int: 1 / K
     would be 0.) */
  scores = syn_matmul(syn_scale(q, 1 / sqrtf(K)), syn_transpose(k));
  check("scores", scores);

  /* 3. mask [T,T]: 0 where token i may look at token j, -INFINITY where j is later */
  for (i = 0; i < T; i++)
    for (j = 0; j < T; j++) mask->x[i * T + j] = j > i ? -INFINITY : 0;
  check("mask", mask);

  /* 4. masked [T,T] = scores + mask */
  masked = syn_add(scores, mask);
  check("masked scores", masked);

  /* 5. weights [T,T]: a softmax along each row */
  weights = syn_softmax(masked);
  check("weights", weights);

  /* 6. context [T,K]: row i is the sum over j of weights_ij v_j */
  context = syn_matmul(weights, v);
  check("context", context);

  /* 7. y [T,D] = context W_o^T */
  y = syn_matmul(context, syn_transpose(wo));
  check("y", y);

  /* 8. loss = the sum of y * goal, and all gradients */
  loss = syn_sum(syn_mul(y, goal));
  syn_backward(loss);
  check("loss", loss);
  check_gradient("gradient of the weights", weights);

  /* 9. The gradient of the scores by hand, from p = weights->x and dp = weights->dx:
     ds_ij = p_ij (dp_ij - sum over u of p_iu dp_iu) */
  for (i = 0; i < T; i++) {
    float sum = 0;
    for (j = 0; j < T; j++) sum += weights->x[i * T + j] * weights->dx[i * T + j];
    for (j = 0; j < T; j++)
      ds[i][j] = weights->x[i * T + j] * (weights->dx[i * T + j] - sum);
  }
  check_array("gradient of the scores by hand", &ds[0][0], T, T);
  check_gradient("gradient of the scores", scores);
  check_gradient("gradient of W_q", wq);
  check_gradient("gradient of W_k", wk);
  check_gradient("gradient of W_v", wv);
  check_gradient("gradient of W_o", wo);
  check_gradient("gradient of x", x);
}
