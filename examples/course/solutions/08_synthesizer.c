/* Exercise 08   Scores without queries and keys: R, FR, D and a mixture

   See lesson 8. One sentence of five rows x [T,D]. Check it: make check N=8 */

#include "../check.h"
enum { T = 5, D = 4, K = 3 };

/* The rest of an attention, given its scores [T,T]: causal mask, softmax, values. */
static syn_tensor *attend(syn_tape *t, syn_tensor *scores, syn_tensor *v) {
  syn_tensor *mask = tensor(t, T, T, NULL);
  int i;
  for (i = 0; i < T * T; i++) mask->x[i] = i % T > i / T ? -INFINITY : 0;
  return syn_matmul(syn_softmax(syn_add(scores, mask)), v);
}

static void exercise(syn_context *c, syn_tape *t) {
  syn_random r = {check_seed(7)};
  syn_tensor *x = random_tensor(t, T, D, &r, 1), *v = random_tensor(t, T, D, &r, 1);
  syn_tensor *table = random_tensor(t, T, T, &r, 1);
  syn_tensor *r1 = random_tensor(t, T, K, &r, 1), *r2 = random_tensor(t, T, K, &r, 1);
  syn_tensor *w1 = random_tensor(t, D, D, &r, 1), *b1 = random_tensor(t, 1, D, &r, 1);
  syn_tensor *w2 = random_tensor(t, T, D, &r, 1), *b2 = random_tensor(t, 1, T, &r, 1);
  syn_tensor *mix = random_tensor(t, 1, 2, &r, 1);
  syn_tensor *fr, *hidden, *dense, *alpha, *mixed, *y, *loss;
  (void)c;

  /* 1. R: the scores are the table itself. y [T,D]: use attend. */
  y = attend(t, table, v);
  check("answers of R", y);

  /* 2. FR: scores [T,T] = r1 r2^T */
  fr = syn_matmul(r1, syn_transpose(r2));
  check("scores of FR", fr);

  /* 3. D, first layer: hidden [T,D] = relu(x w1^T + b1) */
  hidden = syn_act(syn_linear(x, w1, b1), "relu");
  check("hidden layer of D", hidden);

  /* 4. D, second layer: scores [T,T] = hidden w2^T + b2 */
  dense = syn_linear(hidden, w2, b2);
  check("scores of D", dense);

  /* 5. A mixture of R and D: alpha [1,2] = softmax(mix) */
  alpha = syn_softmax(mix);
  check("alpha", alpha);

  /* 6. mixed [T,T] = alpha_0 table + alpha_1 dense. syn_slice(alpha, first, count) cuts columns out
     of alpha, here one. syn_mul(a, b) multiplies every number of a by a tensor b of one number. */
  mixed = syn_add(syn_mul(table, syn_slice(alpha, 0, 1)), syn_mul(dense, syn_slice(alpha, 1, 1)));
  check("mixed scores", mixed);

  /* 7. Its answers, the loss: the mean of their squares, and all gradients */
  y = attend(t, mixed, v);
  check("answers of the mixture", y);
  loss = syn_mean(syn_mul(y, y));
  syn_backward(loss);
  check("loss", loss);
  check_gradient("gradient of the table", table);
  check_gradient("gradient of mix", mix);
  check_gradient("gradient of w1", w1);
  check_gradient("gradient of b2", b2);
}
