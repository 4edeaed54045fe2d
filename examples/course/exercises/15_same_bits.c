/* Exercise 15   The same bits on a machine with 4, 8 or 16 lanes

   A machine with L lanes adds L numbers in one instruction. Write a sum, a product-sum and an
   exponential whose bits do not depend on L, nor on the compiler, nor on the libm. The checker
   compares the four bytes of each float. See lesson 15. Check it: make check N=15 */

#include "../check.h"
enum { N = 80, LANES = 16 };

/* The four bytes of the bits of x, the highest first. */
static void show_bits(const char *name, float x) {
  float bytes[4];
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  for (int i = 0; i < 4; i++) bytes[i] = (float)(bits >> (24 - 8 * i) & 255);
  check_array(name, bytes, 1, 4);
}

/* part [16] = the 16 partial sums of x [N], number i in part i % 16; on a machine that adds L
   numbers at once: part p is in register p / L, there in lane p % L. */
static void partial_sums(const float *x, int L, float *part) {
  for (int i = 0; i < N; i += L) /* one instruction: */
    for (int lane = 0; lane < L; lane++) {
      /* 1. To which of the 16 partial sums does lane `lane` of this instruction add x[i + lane]? */
      int p = HOLE;
      part[p] += x[i + lane];
    }
}

/* 2. One sum of 16, in a fixed tree: part p += part p + 8 for p < 8, then p + 4 for p < 4, p + 2,
   p + 1. (Half of the numbers at once, whatever the machine.) */
static float tree_sum(float *part) {
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int p = 0; p < half; p++) part[p] += HOLE;
  return part[0];
}

/* 3. The sum of a_i b_i, in order, rounded once for each i: fmaf(a, b, c) = a b + c */
static float dot(const float *a, const float *b) {
  float sum = 0;
  for (int i = 0; i < N; i++) sum = HOLE;
  return sum;
}

/* e^x = 2^n e^r, n the integer next to x / ln 2. All products and sums are fused, so the compiler
   has no choice. Coefficients: 1/5!, 1/4!, ... 1/0! */
static float exponential(float x) {
  static const float factor[] = {1 / 120.0f, 1 / 24.0f, 1 / 6.0f, 0.5f, 1, 1};
  float n = rintf(x * 1.44269502f), p = 0; /* rintf: exact, no libm differs */
  /* 4. r = x - n ln 2, in two steps: ln 2 = 0.693359375 - 0.000212194442. The first product is
     exact, because 0.693359375 has few bits. */
  float r = fmaf(-n, 0.693359375f, x);
  r = HOLE;
  /* 5. Horner's rule: p = p r + factor[i] */
  for (int i = 0; i < 6; i++) p = HOLE;
  return ldexpf(p, (int)n); /* times 2^n: exact */
}

/* 6. FNV-1a (Fowler, Noll, Vo) of the bytes: for each: hash ^= byte, then hash *= 0x100000001B3.
   (syn_hash of the library is the same.) */
static uint64_t hash_of(const void *data, size_t size) {
  const unsigned char *byte = (const unsigned char *)data;
  uint64_t hash = SYN_HASH_START;
  for (size_t i = 0; i < size; i++) {
    hash ^= (uint64_t)(HOLE);
    hash *= HOLE;
  }
  return hash;
}

/* The eight bytes of a hash, the highest first. */
static void show_hash(const char *name, uint64_t hash) {
  float bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (float)(hash >> (56 - 8 * i) & 255);
  check_array(name, bytes, 1, 8);
}

static void exercise(syn_context *c, syn_tape *t) {
  float x[N], y[N], result[3];
  syn_random r = {70};
  (void)c, (void)t;
  for (int i = 0; i < N; i++) x[i] = syn_random_normal(&r), y[i] = syn_random_normal(&r);
  for (int L = 4; L <= 16; L *= 2) {
    float part[LANES] = {0};
    char name[60];
    partial_sums(x, L, part);
    sprintf(name, "partial sums on %d lanes", L);
    check_array(name, part, 1, LANES);
    result[L / 8] = tree_sum(part);
    sprintf(name, "bits of the sum on %d lanes", L);
    show_bits(name, result[L / 8]);
  }
  show_bits("bits of the product-sum", dot(x, y));
  show_bits("bits of e^2.5", exponential(2.5f));
  show_bits("bits of e^-26.4", exponential(-26.4f));
  for (int i = 0; i < N; i++) y[i] = exponential(x[i]);
  show_hash("hash of one byte", hash_of("a", 1));
  show_hash("hash of e^x of 80 numbers", hash_of(y, sizeof y));
}
