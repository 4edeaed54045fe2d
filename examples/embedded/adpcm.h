/* adpcm.h   sound of 4 bits a sample (ADPCM): the difference to the sample before, in steps that
   grow where differences are large and shrink where they are small, as in Yamaha's ADPCM-B. */
#ifndef ADPCM_H
#define ADPCM_H
#include <stdint.h>

/* Zero: the begin of a sound. */
typedef struct adpcm {
  int32_t value, step; /* the sample; 0: the smallest step, 127 */
} adpcm;

static int32_t adpcm_limit(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}
/* The next sample. Of `code` bit 3 is the sign, the others are the half steps beyond the first. */
static int16_t adpcm_decode(adpcm *a, int code) {
  static const int16_t growth[8] = {57, 57, 57, 57, 77, 102, 128, 153};
  const int32_t size = code & 7, step = a->step ? a->step : 127;
  const int32_t change = (2 * size + 1) * step / 8;
  a->value = adpcm_limit(a->value + (code & 8 ? -change : change), -32768, 32767);
  a->step = adpcm_limit(step * growth[size] / 64, 127, 24576);
  return (int16_t)a->value;
}

#endif
