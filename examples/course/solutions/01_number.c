/* Exercise 01   The tape, a gradient, a step

   Four points (x, y) lie near a line. Write the loss of the guess y = w x + b on the tape, derive
   its gradient with respect to w by hand, and take a step. See lesson 1 and the list of
   operations in course.h. Check it: make check N=1 */

#include "../check.h"

static void exercise(syn_context *c, syn_tape *t) {
  static const float X[] = {1.5f, 2, 3, 5}, Y[] = {1, 4, 2.5f, 7}, W[] = {0.7f}, B[] = {0.25f};
  syn_tensor *x = tensor(t, 4, 1, X), *y = tensor(t, 4, 1, Y);
  syn_tensor *w = tensor(t, 1, 1, W), *b = tensor(t, 1, 1, B);
  syn_tensor *guess, *error, *loss;
  float by_hand[1] = {0}, rate = 0.1f;
  int i;
  (void)c;
  check_vary(x->x, 4); /* other numbers for each student, see README */
  check_vary(y->x, 4);

  /* 1. guess [4,1] = w x + b. The larger tensor comes first: syn_mul(x, w). Then syn_add. */
  guess = syn_add(syn_mul(x, w), b);
  check("guess", guess);

  /* 2. error [4,1] = guess - y */
  error = syn_sub(guess, y);
  check("error", error);

  /* 3. loss [1] = the mean of the squared errors */
  loss = syn_mean(syn_mul(error, error));
  check("loss", loss);

  /* 4. d loss / d w by hand, from the arrays x->x and error->x: a sum over the points i. (In C,
     1 / 4 is the integer 0; 1 / 4.0f is a quarter.) */
  for (i = 0; i < 4; i++) by_hand[0] += 2 * error->x[i] * x->x[i] / 4;
  check_array("gradient of w by hand", by_hand, 1, 1);

  /* 5. The same from the tape: call syn_backward. */
  syn_backward(loss);
  check_gradient("gradient of w", w);
  check_gradient("gradient of b", b);

  /* 6. One step: w and b move against their gradients, by rate times the gradient. w->x[0] is the
     number, w->dx[0] its gradient. */
  check("w before a step", w);
  check("b before a step", b);
  w->x[0] -= rate * w->dx[0];
  b->x[0] -= rate * b->dx[0];
  check("w after a step", w);
  check("b after a step", b);

  /* 7. The loss after the step: run the tape again. */
  syn_tape_forward(t);
  check("loss after a step", loss);
}
