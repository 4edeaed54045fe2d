/* Exercise 07   Positions and dropout by hand

   Rows x [T,D], to which the positions p [T,D] are added. See lesson 7. Check it: make check N=7 */

#include "../check.h"
enum { T = 5, D = 6, STEP = 3 };

static void exercise(syn_context *c, syn_tape *t) {
  syn_random r = {check_seed(77)};
  syn_tensor *x = random_tensor(t, T, D, &r, 0.4f), *goal = random_tensor(t, T, D, &r, 1);
  static const int keep[D] = {1, 0, 1, 1, 0, 1}; /* columns that dropout keeps */
  float w[D / 2], p[T][D], moved[T][D], products[T][T], y[T][D], dropped[T][D], dx[T][D];
  float rate = 0.4f;
  int i, j, k;
  (void)c, (void)t;

  /* 1. w [D/2]: the angle from a place to the next one, 10000^(-2j/D) for circle j. powf(a, b) is a
     to the power of b. (A number behind which an f stands is a float: 10000.0f.) */
  for (j = 0; j < D / 2; j++) w[j] = powf(10000.0f, -2.0f * (float)j / D);
  check_array("w", w, 1, D / 2);

  /* 2. p [T,D]: columns 2 j and 2 j + 1 have the sine and the cosine of circle j at place i */
  for (i = 0; i < T; i++)
    for (j = 0; j < D / 2; j++) {
      p[i][2 * j] = sinf(w[j] * (float)i);
      p[i][2 * j + 1] = cosf(w[j] * (float)i);
    }
  check_array("p", &p[0][0], T, D);

  /* 3. moved [T,D]: the positions STEP places later, from p[i] and the sine and cosine of the angle
     of STEP places. No other sinf or cosf is needed. */
  for (i = 0; i < T; i++)
    for (j = 0; j < D / 2; j++) {
      float sine = sinf(w[j] * STEP), cosine = cosf(w[j] * STEP), *circle = p[i] + 2 * j;
      moved[i][2 * j] = cosine * circle[0] + sine * circle[1];
      moved[i][2 * j + 1] = cosine * circle[1] - sine * circle[0];
    }
  check_array("p, moved by STEP", &moved[0][0], T, D);

  /* 4. products [T,T]: p_i . p_k, from w and the distance alone: what is added for circle j? */
  for (i = 0; i < T; i++)
    for (k = 0; k < T; k++)
      for (products[i][k] = 0, j = 0; j < D / 2; j++) products[i][k] += cosf(w[j] * (float)(i - k));
  check_array("products", &products[0][0], T, T);

  /* 5. y [T,D]: the rows of x plus p. Embeddings begin with numbers of size 1 / sqrt(D), as x does
     here. Each is multiplied by the root of D first, so that x is not lost beside p. */
  for (i = 0; i < T; i++)
    for (j = 0; j < D; j++) y[i][j] = sqrtf(D) * x->x[i * D + j] + p[i][j];
  check_array("y", &y[0][0], T, D);

  /* 6. dropped [T,D]: dropout of this rate: columns j with keep[j] stay, the others become 0 */
  for (i = 0; i < T; i++)
    for (j = 0; j < D; j++) dropped[i][j] = keep[j] ? y[i][j] / (1 - rate) : 0;
  check_array("dropped", &dropped[0][0], T, D);

  /* 7. dx [T,D]: the gradient of x, where that of `dropped` is goal->x: back through 6 and 5 */
  for (i = 0; i < T; i++)
    for (j = 0; j < D; j++) dx[i][j] = keep[j] ? sqrtf(D) * goal->x[i * D + j] / (1 - rate) : 0;
  check_array("dx", &dx[0][0], T, D);
}
