/* Exercise 02   A layer of neurons, and a gradient by trying

   Two layers of neurons on a tape, then the gradient of one weight by a finite difference. See
   lesson 2. Check it: make check N=2 */

#include "../check.h"

static void exercise(syn_context *c, syn_tape *t) {
  static const float X[] = {0, 0, 0, 1, 1, 0, 1, 1}, WANT[] = {0, 1, 1, 0};
  syn_random r = {check_seed(22)};
  syn_tensor *x = tensor(t, 4, 2, X), *want = tensor(t, 4, 1, WANT); /* four examples */
  syn_tensor *w1 = random_tensor(t, 3, 2, &r, 1), *b1 = random_tensor(t, 1, 3, &r, 1);
  syn_tensor *w2 = random_tensor(t, 1, 3, &r, 1), *b2 = random_tensor(t, 1, 1, &r, 1);
  syn_tensor *sums, *by_matmul, *hidden, *y, *loss, *error;
  float h = 0.05f, keep, up = 0, down = 0, by_trying[1];
  (void)c;

  /* 1. sums [4,3] = x w1^T + b1, by syn_linear */
  sums = HOLE;
  check("sums", sums);

  /* 2. The same from syn_matmul, syn_transpose ([m,n] -> [n,m]) and syn_add */
  by_matmul = HOLE;
  check("sums by matmul", by_matmul);

  /* 3. hidden [4,3] = tanh(sums): see syn_act */
  hidden = HOLE;
  check("hidden", hidden);

  /* 4. y [4,1] = hidden w2^T + b2 */
  y = HOLE;
  check("y", y);

  /* 5. loss [1] = the mean of (y - want)^2 */
  error = HOLE;
  loss = HOLE;
  check("loss", loss);

  /* 6. All gradients */
  /* HOLE */
  check_gradient("gradient of w1", w1);
  check_gradient("gradient of b1", b1);
  check_gradient("gradient of w2", w2);

  /* 7. The gradient of w1->x[0] by trying. up is the loss with keep + h in its place, down the loss
     with keep - h: twice, change w1->x[0], run the tape again, read the loss. */
  keep = w1->x[0];
  /* HOLE: two statements */
  up = HOLE;
  /* HOLE: two statements */
  down = HOLE;
  w1->x[0] = keep;
  check_array("loss with a larger weight", &up, 1, 1);
  check_array("loss with a smaller weight", &down, 1, 1);
  by_trying[0] = HOLE;
  check_array("gradient by trying", by_trying, 1, 1);
}
