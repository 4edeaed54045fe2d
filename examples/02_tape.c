/* 02   Gradients without any model: tensors on a tape

   Idea: every operation runs as it is written and is remembered; syn_backward walks back through
   all of them and leaves the gradient of one number by every tensor. That is all a network needs:
   the second half learns XOR with two matrices.

   Compile, run:  cc -O2 examples/02_tape.c -o tape -lm && ./tape
   Expected:      tests/expected/02.txt */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

static void show(const char *name, const float *numbers, const syn_tensor *a) {
  char line[400];
  syn_tensor view = *a; /* the same shape, other numbers: ->x or ->dx */
  view.x = (float *)numbers;
  syn_tensor_text(&view, line, sizeof line);
  printf("%s\n%s", name, line);
}

static syn_tensor *tensor(syn_tape *t, int rows, int columns, const float *numbers) {
  int shape[2];
  syn_tensor *a;
  shape[0] = rows, shape[1] = columns;
  a = syn_tensor_new(t, 2, shape);
  if (a) memcpy(a->x, numbers, (size_t)(rows * columns) * sizeof *numbers);
  return a;
}

/* y = a*b + c, element by element; its sum; what every element of a and b does to that sum */
static int first_steps(syn_tape *t) {
  static const float A[] = {1, 2, 3, 4}, B[] = {0.5f, -1, 2, 0}, C[] = {10, 20};
  syn_tensor *a = tensor(t, 2, 2, A), *b = tensor(t, 2, 2, B), *c = tensor(t, 1, 2, C);
  syn_tensor *y = syn_add(syn_mul(a, b), c), *sum = syn_sum(y); /* c is added to every row */
  if (syn_backward(sum)) return 1;
  show("y = a*b + c", y->x, y);
  show("d sum / d a = b", a->dx, a);
  show("d sum / d c = number of rows", c->dx, c);
  show("softmax of y", syn_softmax(y)->x, y);
  return 0;
}

/* mean (tanh(x W1 + b1) W2 + b2 - want)^2, made smaller by its gradient 300 times */
static int learn_xor(syn_tape *t) {
  static const float X[] = {0, 0, 0, 1, 1, 0, 1, 1}, WANT[] = {0, 1, 1, 0};
  float zero[8] = {0}, start[8];
  syn_random r = {7};
  syn_tensor *x, *w[4], *error, *loss, *out;
  int i, k;
  syn_tape_clear(t);
  x = tensor(t, 4, 2, X);
  for (i = 0; i < 8; i++) start[i] = syn_random_normal(&r);
  w[0] = tensor(t, 2, 4, start), w[1] = tensor(t, 1, 4, zero);
  w[2] = tensor(t, 4, 1, start + 2), w[3] = tensor(t, 1, 1, zero);
  out = syn_add(syn_matmul(syn_act(syn_add(syn_matmul(x, w[0]), w[1]), "tanh"), w[2]), w[3]);
  error = syn_sub(out, tensor(t, 4, 1, WANT));
  loss = syn_mean(syn_mul(error, error));
  if (!loss) return 1;
  printf("\ngradient check of W1: largest relative difference below 0.01: %s\n",
         syn_gradient_check(loss, w[0], 0.01f) < 0.01f ? "yes" : "no");
  for (i = 0; i <= 300; i++) {
    if (i % 100 == 0) printf("step %3d   loss %.6f\n", i, (double)loss->x[0]);
    syn_backward(loss);
    for (k = 0; k < 4; k++) {
      int j, n = w[k]->shape[0] * w[k]->shape[1];
      for (j = 0; j < n; j++) w[k]->x[j] -= 0.2f * w[k]->dx[j];
    }
    syn_tape_forward(t); /* the whole tape once more, with the new weights */
  }
  show("0 xor 0, 0 xor 1, 1 xor 0, 1 xor 1", out->x, out);
  return 0;
}

int main(void) {
  syn_context c;
  syn_tape *t = syn_context_init(&c, NULL) ? NULL : syn_tape_new(&c, 65536);
  if (!t || first_steps(t) || learn_xor(t)) return puts(c.message), 1;
  syn_tape_free(t);
  return 0;
}
