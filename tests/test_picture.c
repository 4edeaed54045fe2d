/* test_picture   tools/picture.h: attention weights as a picture file. */
#include "../tools/picture.h"

#include <limits.h>

#include "check.h"

/* A picture of 2 by 3 weights, byte for byte; what it refuses; room one byte short. */
static void test_picture(void) {
  static const float p[] = {0.0f, 0.25f, 0.5f, NAN, -1.0f, 2.0f};
  static const int size[2] = {2, 3}, none[2] = {0, 3}, huge[2] = {INT_MAX, INT_MAX};
  static const char head[] = "P5\n6 4\n255\n";
  static const unsigned char own[2][3] = {{255, 223, 191}, {255, 255, 0}}, half[3] = {255, 127, 0};
  unsigned char out[80];
  size_t n = attention_picture(p, size, 2, 0.0f, NULL, 0), k = sizeof head - 1;
  int i, j;
  CHECK(n == k + 24, "%lu bytes", (unsigned long)n);
  memset(out, 7, sizeof out);
  CHECK(attention_picture(p, size, 2, 0.0f, out, n - 1) == n && out[0] == 7, "short of room");
  CHECK(attention_picture(p, size, 2, 0.0f, out, n) == n && !memcmp(out, head, k) && out[n] == 7, "head");
  for (i = 0; i < 4; i++)
    for (j = 0; j < 6; j++)
      CHECK(out[k + (size_t)(i * 6 + j)] == own[i / 2][j / 2], "pixel %d %d is %d", i, j, out[k + (size_t)(i * 6 + j)]);
  attention_picture(p, size, 1, 0.5f, out, sizeof out);
  CHECK(!memcmp(out + k, half, 3) && out[k + 5] == 0, "full is 0.5: %d %d", out[k + 1], out[k + 5]);
  CHECK(!attention_picture(NULL, size, 2, 0.0f, out, n) && !attention_picture(p, none, 2, 0.0f, out, n) &&
            !attention_picture(p, size, 0, 0.0f, out, n) && !attention_picture(p, huge, INT_MAX, 0.0f, NULL, 0),
        "refused");
}

int main(void) {
  test_picture();
  return CHECK_END("picture");
}
