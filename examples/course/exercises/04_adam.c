/* Exercise 04   Three steps of momentum, Adam and AdamW by hand

   Three numbers x, and their gradients g at three steps, as if a loss had given them. The equations
   stand in lesson 4. Check it: make check N=4 */

#include "../check.h"

enum { NUMBERS = 3, STEPS = 3 };
static float X[NUMBERS] = {0.5f, -1.25f, 2};
static float G[STEPS][NUMBERS] = {{0.8f, -3, 0.02f}, {0.5f, 2.5f, 0.03f}, {-0.1f, -2, 0.07f}};

/* Shows x [NUMBERS] as it is at step t. */
static void look(const char *name, int t, const float *x) {
  char text[CHECK_NAME];
  snprintf(text, sizeof text, "%s, step %d", name, t);
  check_array(text, x, 1, NUMBERS);
}

static void momentum(void) {
  float x[NUMBERS], m[NUMBERS] = {0}, rate = 0.1f, b = 0.75f;
  memcpy(x, X, sizeof x);
  for (int t = 1; t <= STEPS; t++) {
    const float *g = G[t - 1];
    for (int i = 0; i < NUMBERS; i++) {
      /* 1. m of this step, from the m of the step before */
      m[i] = HOLE;
      /* 2. by how much x moves, against the direction of m */
      x[i] -= HOLE;
    }
    look("momentum: m", t, m);
    look("momentum: x", t, x);
  }
}

static void adam(float decay) {
  float x[NUMBERS], m[NUMBERS] = {0}, v[NUMBERS] = {0}, mean[NUMBERS], square[NUMBERS];
  float move[NUMBERS], smaller[NUMBERS];
  float rate = 0.05f, b1 = 0.8f, b2 = 0.95f, eps = 0.001f;
  memcpy(x, X, sizeof x);
  for (int t = 1; t <= STEPS; t++) {
    const float *g = G[t - 1];
    for (int i = 0; i < NUMBERS; i++) {
      /* 3. m, the mean of the gradients; 4. v, the mean of their squares */
      m[i] = HOLE;
      v[i] = HOLE;
      /* 5. and 6. without the bias of the first steps: powf(b, t) is b to the power of t */
      mean[i] = HOLE;
      square[i] = HOLE;
      /* 7. what Adam subtracts from x */
      move[i] = HOLE;
    }
    look("m", t, m);
    look("v", t, v);
    look("m without bias", t, mean);
    look("v without bias", t, square);
    look("move of Adam", t, move);
    /* 8. AdamW subtracts rate times decay times x, too: of the x before the step, without gradient.
       (For Adam decay is 0.) */
    for (int i = 0; i < NUMBERS; i++) smaller[i] = HOLE;
    look("decay of AdamW", t, smaller);
    for (int i = 0; i < NUMBERS; i++) x[i] -= move[i] + smaller[i];
    look(decay > 0 ? "x of AdamW" : "x of Adam", t, x);
  }
}

static void exercise(syn_context *c, syn_tape *t) {
  (void)c, (void)t;
  check_vary(X, NUMBERS);
  check_vary(&G[0][0], STEPS * NUMBERS);
  momentum();
  adam(0);
  adam(0.3f);
}
