/* 01   A number that learns

   You will be able to say what a gradient tells, take a step by hand, choose a rate that is neither
   too small nor too large.

   Idea: a network is a formula with numbers that are learned, here one number w, then two. A loss
   says in one number how wrong its answer is. The gradient of the loss says how the loss changes
   when w grows a little. A step against the gradient, w -= rate * gradient, makes the loss smaller,
   if the rate is small enough. This is all that training is; the other lessons only use larger
   networks.

   A tensor is a block of numbers, m rows of n, in its array ->x. A tape records every operation on
   tensors while it runs. syn_backward goes back along the tape and computes the gradient of the
   loss with respect to each tensor, in its ->dx. Here one gradient is also derived by hand, to see
   that both agree. After that nobody has to derive one by hand:

     loss = (w x - y)^2        d loss / d w = 2 (w x - y) x

   Compile, run:  make -C examples/course lesson N=1   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/01_number.c -o number -lm && ./number
   Expected:      examples/course/expected/01.txt */

#include "course.h"

/* Find the number w with w * 3 = 6. */
static int one_number(syn_tape *t, float rate) {
  static const float X[] = {3}, Y[] = {6};
  syn_tensor *w = tensor(t, 1, 1, NULL), *x = tensor(t, 1, 1, X), *y = tensor(t, 1, 1, Y);
  syn_tensor *error = syn_sub(syn_mul(x, w), y); /* [1,1] w x - y */
  syn_tensor *loss = syn_sum(syn_mul(error, error));
  int step;
  if (!loss) return 1; /* an operation that fails gives NULL, and so does one on NULL */
  printf("\nrate %g\nstep        w       loss   gradient    by hand\n", (double)rate);
  for (step = 0; step <= 5; step++) {
    float by_hand = 2 * (w->x[0] * x->x[0] - y->x[0]) * x->x[0];
    syn_backward(loss);
    printf("%4d %8.4f %10.4f %10.4f %10.4f\n", step, (double)w->x[0], (double)loss->x[0],
           (double)w->dx[0], (double)by_hand);
    w->x[0] -= rate * w->dx[0]; /* the step */
    syn_tape_forward(t);        /* all operations again, with the new w */
  }
  return 0;
}

/* Two numbers: from six temperatures in Celsius and in Fahrenheit learn f = w c + b. The loss is
   the mean of the squared errors. All temperatures are divided by 10: with numbers of about 1, the
   same rate is good for w and for b.
   syn_add, syn_sub and syn_mul take the larger tensor first. The second one has the same shape, or
   it is one row, or one number: then it goes to every row, to every number of the first. */
static int thermometers(syn_tape *t) {
  static const float C[] = {-2, -1, 0, 1, 2, 3}, F[] = {-0.4f, 1.4f, 3.2f, 5.0f, 6.8f, 8.6f};
  syn_tensor *c = tensor(t, 6, 1, C), *f = tensor(t, 6, 1, F);
  syn_tensor *w = tensor(t, 1, 1, NULL), *b = tensor(t, 1, 1, NULL);
  syn_tensor *guess = syn_add(syn_matmul(c, w), b); /* [6,1] = [6,1] [1,1] + [1,1] */
  syn_tensor *error = syn_sub(guess, f), *loss = syn_mean(syn_mul(error, error));
  int step;
  if (!loss) return 1;
  printf("\nthermometers: f / 10 = w c / 10 + b\nstep        w        b       loss\n");
  for (step = 0; step <= 100; step++) {
    syn_backward(loss);
    if (step % 20 == 0)
      printf("%4d %8.4f %8.4f %10.6f\n", step, (double)w->x[0], (double)b->x[0],
             (double)loss->x[0]);
    take_step(w, 0.1f); /* course.h: the same step for every number of a tensor */
    take_step(b, 0.1f);
    syn_tape_forward(t);
  }
  printf("so f = %.2f c + %.2f\n", (double)w->x[0], 10 * (double)b->x[0]);
  return 0;
}

int main(void) {
  syn_context c; /* keeps the first error */
  syn_tape *t = syn_context_init(&c, NULL) ? NULL : syn_tape_new(&c, 65536); /* 64 KiB */
  printf("w * 3 = 6: too slow, well, too fast\n");
  if (one_number(t, 0.01f) || one_number(t, 0.05f) || one_number(t, 0.12f) || thermometers(t))
    return puts(c.message), 1;
  syn_tape_free(t);
  return 0;
}

/* To try, in the first part: another start of w (NULL means zeros; give it an array, as x has
   one); a rate of 1 / 18.0f (in C, 1 / 18 is the integer 0): why does it need one step only?
   In the second part: a third number a, for f = a c^2 + w c + b. Let the data be a curve: add
   0.5f * c * c to each f. Print a, too. c^2 reaches 9: which rate is small enough now? How many
   steps does it need? */
