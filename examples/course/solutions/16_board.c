/* Exercise 16   Weights in 8 and 4 bits, products of integers

   A row of weights becomes integers and a scale. Products run in integers; one product by the
   scales makes a float of the result. With 4 bits each group of 6 columns has its own scale, and
   two numbers share a byte. See lesson 16. Check it: make check N=16 */

#include "../check.h"
enum { ROWS = 3, N = 24, GROUP = 6 };

/* 1. The scale of x [n]: the largest |x| becomes `most` (127 for 8 bits, 7 for 4 bits). */
static float scale_of(const float *x, int n, float most) {
  float largest = 0;
  for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[i]));
  return largest / most;
}

static void eight_bits(const float *w, const float *x) {
  float scale[ROWS], q[ROWS * N], back[ROWS * N], qx[N], x_scale, y[ROWS];
  int sum[ROWS] = {0};
  float sums[ROWS];
  for (int r = 0; r < ROWS; r++) scale[r] = scale_of(w + r * N, N, 127);
  check_array("scales of the rows", scale, ROWS, 1);
  /* 2. The integers: round(w / scale). roundf rounds to the nearest. */
  for (int i = 0; i < ROWS * N; i++) q[i] = roundf(w[i] / scale[i / N]);
  check_array("integers", q, ROWS, N);
  /* 3. What the integers stand for */
  for (int i = 0; i < ROWS * N; i++) back[i] = scale[i / N] * q[i];
  check_array("weights as they are used", back, ROWS, N);
  /* 4. x gets a scale, too, when it comes; then all products are of integers. */
  x_scale = scale_of(x, N, 127);
  for (int j = 0; j < N; j++) qx[j] = roundf(x[j] / x_scale);
  for (int r = 0; r < ROWS; r++)
    for (int j = 0; j < N; j++) sum[r] += (int)q[r * N + j] * (int)qx[j];
  for (int r = 0; r < ROWS; r++) sums[r] = (float)sum[r];
  check_array("sums of integer products", sums, ROWS, 1);
  /* 5. The result as a float: which two scales? */
  for (int r = 0; r < ROWS; r++) y[r] = scale[r] * x_scale * sums[r];
  check_array("W x", y, ROWS, 1);
}

static void four_bits(const float *w) {
  enum { GROUPS = N / GROUP };
  float scale[GROUPS], q[N], bytes[N / 2], back[N];
  unsigned char packed[N / 2];
  for (int g = 0; g < GROUPS; g++) scale[g] = scale_of(w + g * GROUP, GROUP, 7);
  check_array("4 bits: scales of the groups", scale, 1, GROUPS);
  /* 6. Integers -7 .. 7, with the scale of the group of column j */
  for (int j = 0; j < N; j++) q[j] = roundf(w[j] / scale[j / GROUP]);
  check_array("4 bits: integers", q, 1, N);
  /* 7. q + 8 is 1 .. 15 and needs 4 bits. Columns 2 i and 2 i + 1 share byte i, the first one in
     the low half. */
  for (int i = 0; i < N / 2; i++) {
    int low = (int)q[2 * i] + 8, high = (int)q[2 * i + 1] + 8;
    packed[i] = (unsigned char)(low | high << 4);
    bytes[i] = packed[i];
  }
  check_array("4 bits: two numbers in a byte", bytes, 1, N / 2);
  /* 8. From the bytes to the weights */
  for (int j = 0; j < N; j++) {
    int half = packed[j / 2] >> j % 2 * 4 & 15;
    back[j] = scale[j / GROUP] * (float)(half - 8);
  }
  check_array("4 bits: weights as they are used", back, 1, N);
}

static void exercise(syn_context *c, syn_tape *t) {
  float w[ROWS * N], x[N], bytes[3], calls[2], last[2];
  const float parameters = 35200, columns = 32, slice = 1700, work[2] = {98765, 102000};
  syn_random r = {check_seed(12)};
  (void)c, (void)t;
  for (int i = 0; i < ROWS * N; i++) w[i] = (float)(i / N + 1) * syn_random_normal(&r);
  for (int i = 0; i < N; i++) x[i] = syn_random_normal(&r);
  eight_bits(w, x);
  four_bits(w);
  /* 9. Bytes of 35,200 weights in rows of 32: as floats; in 8 bits with a float for each row; in 4
     bits with a float for each row */
  bytes[0] = 4 * parameters;
  bytes[1] = parameters + 4 * parameters / columns;
  bytes[2] = parameters / 2 + 4 * parameters / columns;
  check_array("bytes as floats, in 8, in 4 bits", bytes, 1, 3);
  /* 10. A token of one network needs 98,765 multiply-adds, of another 102,000. How many calls of
     1,700 make it, and how many multiply-adds are left for the last call? */
  for (int i = 0; i < 2; i++) {
    calls[i] = ceilf(work[i] / slice);
    last[i] = work[i] - (calls[i] - 1) * slice;
  }
  check_array("calls", calls, 1, 2);
  check_array("multiply-adds of the last call", last, 1, 2);
}
