/* Exercise 09   Heads, a residual and a norm by hand

   See lesson 9. Two heads over five rows x [T,D], each with half of the columns. Nothing is masked
   here. Check it: make check N=9 */

#include "../check.h"
enum { T = 5, D = 6, HEADS = 2, C = D / HEADS };

static void exercise(syn_context *c, syn_tape *t) {
  syn_random r = {check_seed(66)};
  syn_tensor *x = random_tensor(t, T, D, &r, 1), *q = random_tensor(t, T, D, &r, 1);
  syn_tensor *k = random_tensor(t, T, D, &r, 1), *v = random_tensor(t, T, D, &r, 1);
  syn_tensor *columns[3], *scores, *weights, *head[HEADS], *both, *sum, *loss, *goal;
  float norm[T][D], deviation[T], dsum[T][D], means[T][2];
  int h, i, j;
  static const char *const names[HEADS] = {"answers of head 0", "answers of head 1"};
  static const char *const parts[] = {"q of head 0", "k of head 0", "v of head 0"};
  (void)c;

  /* 1. Head h has the columns h C .. h C + C - 1 of q, k, v: see syn_slice. Its scores are divided
     by the root of its own width C. head[h] [T,C] = softmax(scores) v */
  for (h = 0; h < HEADS; h++) {
    columns[0] = syn_slice(q, h * C, C);
    columns[1] = syn_slice(k, h * C, C);
    columns[2] = syn_slice(v, h * C, C);
    for (i = 0; h == 0 && i < 3; i++) check(parts[i], columns[i]);
    scores = syn_scale(syn_matmul(columns[0], syn_transpose(columns[1])), 1 / sqrtf(C));
    if (h == 0) check("scores of head 0", scores);
    weights = syn_softmax(scores);
    if (h == 0) check("weights of head 0", weights);
    head[h] = syn_matmul(weights, columns[2]);
    check(names[h], head[h]);
  }

  /* 2. both [T,D]: the heads side by side: see syn_concat */
  both = syn_concat(head[0], head[1]);
  check("both heads", both);

  /* 3. The residual: sum [T,D] = x + both */
  sum = syn_add(x, both);
  check("sum", sum);

  /* 4. The norm by loops: each row of sum->x minus its mean, divided by sqrt(variance + 1e-6).
     The variance is the mean of the squares of the row minus its mean. */
  for (i = 0; i < T; i++) {
    float mean = 0, variance = 0;
    for (j = 0; j < D; j++) mean += sum->x[i * D + j] / D;
    for (j = 0; j < D; j++) variance += (sum->x[i * D + j] - mean) * (sum->x[i * D + j] - mean) / D;
    deviation[i] = sqrtf(variance + 1e-6f);
    for (j = 0; j < D; j++) norm[i][j] = (sum->x[i * D + j] - mean) / deviation[i];
  }
  check_array("norm", &norm[0][0], T, D);

  /* 5. Back through the norm: goal->x [T,D] is the gradient of `norm`, g in lesson 9. mean_g is the
     mean of row i of it, mean_gn that of its products with `norm`; dsum: the gradient of `sum`. */
  goal = random_tensor(t, T, D, &r, 1);
  for (i = 0; i < T; i++) {
    float mean_g = 0, mean_gn = 0;
    for (j = 0; j < D; j++) mean_g += goal->x[i * D + j] / D;
    for (j = 0; j < D; j++) mean_gn += goal->x[i * D + j] * norm[i][j] / D;
    means[i][0] = mean_g, means[i][1] = mean_gn;
    for (j = 0; j < D; j++)
      dsum[i][j] = (goal->x[i * D + j] - mean_g - norm[i][j] * mean_gn) / deviation[i];
  }
  check_array("mean_g and mean_gn", &means[0][0], T, 2);
  check_array("gradient of sum", &dsum[0][0], T, D);

  /* 6. The gradient of x through the residual alone: with the loss = the sum of all numbers of
     `sum`, what must it be? Then look at the gradient of v. */
  loss = syn_sum(sum);
  syn_backward(loss);
  check_gradient("gradient of x", x);
  check_gradient("gradient of v", v);
  check_gradient("gradient of q", q);
}
