/* random.h   random numbers of the programs that make up data: the same ones on every machine. */
#ifndef RANDOM_H
#define RANDOM_H
#include <stdint.h>

static uint64_t state;
static double uniform(double low, double high) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}
/* The sum of twelve uniform numbers is nearly normal. */
static double normal(void) {
  double sum = -6;
  int i;
  for (i = 0; i < 12; i++) sum += uniform(0, 1);
  return sum;
}

#endif
