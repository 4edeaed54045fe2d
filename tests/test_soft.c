/* test_soft   the two float expressions that chips without a floating-point unit compute in integers
   (>>small kernels, SYN__SMALL_SOFT): the bits of float operations. */
#if defined(__GNUC__)
#define SYN__SMALL_SOFT 1
#endif
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "check.h"

#if defined(__GNUC__) && defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
static uint64_t state = UINT64_C(88172645463325252);
static uint32_t draw(void) { /* xorshift64, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 16);
}
static float float_of(uint32_t sign, uint32_t exponent, uint32_t rest) {
  syn__small_bits b;
  b.u = (sign & UINT32_C(0x80000000)) | (exponent & 255) << 23 | (rest & UINT32_C(0x7FFFFF));
  return b.f;
}
static int same(float a, float b) {
  syn__small_bits x, y;
  x.f = a, y.f = b;
  return x.u == y.u || (isnan(a) && isnan(b));
}

/* volatile: each operation is rounded to a float. With a bias that is near -sum s, sums cancel; with
   one of few bits, they tie. */
static void test_scaled_case(int kind) {
  const int wide = kind == 0;
  int32_t sum = (int32_t)draw() >> draw() % 32;
  float scale = float_of(0, wide ? draw() : 100 + draw() % 40, draw());
  float x_scale = float_of(0, wide ? draw() : 100 + draw() % 40, kind == 4 ? 0 : draw()), b, got;
  volatile float s = scale * x_scale, z = (float)sum * s, wanted;
  syn__small_bits near;
  near.f = z;
  if (kind == 1) {
    b = float_of(draw(), draw(), draw());
  } else if (kind == 2) {
    near.u = (near.u ^ UINT32_C(0x80000000)) + draw() % 5 - 2;
    b = near.f;
  } else {
    b = float_of(draw(), (near.u >> 23) + draw() % 61 - 30, kind == 3 ? draw() << 20 : draw());
  }
  wanted = z + b;
  got = syn__small_scaled(sum, scale, x_scale, &b);
  CHECK(same(got, wanted), "%ld (%a %a) + %a: %a, wanted %a", (long)sum, (double)scale, (double)x_scale, (double)b,
        (double)got, (double)wanted);
  got = syn__small_scaled(sum, scale, x_scale, NULL);
  CHECK(same(got, z), "%ld (%a %a): %a, wanted %a", (long)sum, (double)scale, (double)x_scale, (double)got, (double)z);
}

/* Halves of integers are ties. */
static void test_rounded_case(int kind) {
  float inverse = float_of(0, kind ? 100 + draw() % 50 : 40 + draw() % 140, kind == 2 ? draw() : 0), x;
  volatile float y;
  syn__small_bits wanted;
  if (kind == 0) x = float_of(draw(), draw(), draw());
  else if (kind == 1) x = (float)((int)(draw() % 509) - 254) * 0.5f / inverse;
  else x = ((float)(draw() % 254001) - 127000.0f) / 1000.0f / inverse;
  y = x * inverse;
  if (!(y < 127.5f && y > -127.5f)) return; /* of a row, no number is beyond its maximum */
  y = y + 12582912.0f;
  wanted.f = y;
  CHECK(syn__small_rounded(x, inverse) == (int8_t)(wanted.i - INT32_C(0x4B400000)), "round(%a %a): %d, wanted %d",
        (double)x, (double)inverse, syn__small_rounded(x, inverse), (int)(wanted.i - INT32_C(0x4B400000)));
}

int main(void) {
  const long count = CHECK_SHORT ? 200000 : 5000000;
  long i;
  for (i = 0; i < count; i++) test_scaled_case((int)(i % 6));
  for (i = 0; i < count; i++) test_rounded_case((int)(i % 3));
  return CHECK_END("soft");
}
#else
int main(void) { return puts("needs gcc or clang, and floats that are not kept in wider registers") < 0 ? 1 : 77; }
#endif
