/* course.h   what every lesson includes: the library, and helpers that make, fill and print tensors

   The operations of a tape, for looking up. [m,n]: the shape of a tensor, m rows of n numbers.

     syn_add(a, b)                   number by number, as are syn_sub and syn_mul. The larger tensor
                                     is a: b has the same shape, or is one row, or one number
     syn_scale(x, s)                 each number times s, a float
     syn_matmul(a, b)                the product of matrices: [m,k] [k,n] -> [m,n]
     syn_transpose(x)                rows and columns exchanged: [m,n] -> [n,m]
     syn_linear(x, w, b)             x w^T + b: x [m,d], w [n,d], b [1,n] -> [m,n]
     syn_act(x, "tanh")              a curve for each number: tanh, relu, gelu, sigmoid or swish
     syn_exp(x)  syn_log(x)          e^x, the natural logarithm
     syn_softmax(x)                  each row becomes probabilities: exp(x) over the sum of its row
     syn_slice(x, first, count)      `count` columns of x, beginning with column `first`
     syn_concat(a, b)                the columns of a, then those of b
     syn_lookup(table, ids, count)   rows of a table [v,d]: row i is row ids[i] -> [count,d]
     syn_cross_entropy(x, labels)    one number: the mean of -log softmax(row)[label] over the rows;
                                     a row with label -1 does not count
     syn_sum(x)  syn_mean(x)         one number

     syn_backward(loss)              the gradients of `loss`, a tensor of one number, in every ->dx
     syn_tape_forward(t)             runs the tape again, after you changed a tensor
     syn_gradient_check(loss, w, h)  compares w->dx with finite differences; see lesson 2

   A tensor a has its numbers in a->x and its gradient in a->dx, row by row: row i, column j of
   [m,n] is a->x[i * n + j]. An operation that fails returns NULL; the context c keeps why. */

#ifndef COURSE_H
#define COURSE_H

/* `cc lesson.c` compiles the library with the lesson. The Makefile compiles it once, for all. */
#ifndef COURSE_LINKED
#define SYNTHESIZER_IMPLEMENTATION
#endif
#define SYN_EXACT /* the same bits even where there is no instruction for fma; see lesson 15 */
#include "../../synthesizer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor [rows, columns] on the tape with these numbers, row by row; NULL: zeros. */
static inline syn_tensor *tensor(syn_tape *t, int rows, int columns, const float *numbers) {
  int shape[2];
  syn_tensor *a;
  shape[0] = rows, shape[1] = columns;
  a = syn_tensor_new(t, 2, shape);
  if (a && numbers) memcpy(a->x, numbers, syn_count(a) * sizeof *numbers);
  return a;
}

/* A tensor [rows, columns] of random numbers: normal, with standard deviation `amount`. */
static inline syn_tensor *random_tensor(syn_tape *t, int rows, int columns, syn_random *r,
                                        float amount) {
  syn_tensor *a = tensor(t, rows, columns, NULL);
  size_t i;
  for (i = 0; a && i < syn_count(a); i++) a->x[i] = amount * syn_random_normal(r);
  return a;
}

/* Prints x [rows, columns] below its name: numbers of a tensor (a->x) or its gradient (a->dx). */
static inline void show(const char *name, const float *x, int rows, int columns) {
  int i, j;
  printf("%s [%d,%d]\n", name, rows, columns);
  for (i = 0; i < rows; i++) {
    for (j = 0; j < columns; j++) printf(" %8.4f", (double)x[i * columns + j]);
    printf("\n");
  }
}

/* One step of gradient descent: each number moves against its gradient. */
static inline void take_step(syn_tensor *a, float rate) {
  size_t i;
  for (i = 0; a && i < syn_count(a); i++) a->x[i] -= rate * a->dx[i];
}

/* From lesson 6: a new tensor on the tape with a copy of the numbers that the library's network has
   at `path`, for instance the weights "decoder.0.w_q". *of receives where the network keeps its
   numbers (of->x) and their gradient (of->dx). NULL: there is none of this name. */
static inline syn_tensor *copy_of(syn_tape *t, const syn_run *run, const char *path,
                                  syn_value *of) {
  const int *last; /* [n], [m,n], or [1,m,n] of one head: the last two sizes count */
  if (syn_run_value(run, path, 0, of)) return NULL;
  last = of->shape + of->rank - 1;
  return tensor(t, of->rank < 2 ? 1 : last[-1], last[0], of->x);
}

/* 1: the two arrays have the same numbers, to the last bit. */
static inline int same_bits(const float *a, const float *b, size_t count) {
  return !memcmp(a, b, count * sizeof *a);
}
#endif
