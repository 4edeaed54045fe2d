/* sound.h   a front end for sound: samples become rows of logarithms of energies in bands (log-mel
   frames), in integers. The rows are the same bits on every machine. It uses no floating point and
   allocates nothing; it keeps 1.7 KB.

     x[n] = sample[n] w[n]                    256 samples, w: Hann window
     X[k] = sum_n x[n] exp(-2 pi i k n/256)   by a complex FFT of 128 points
     E[b] = sum_k t[b][k] |X[k]|^2            t: triangles of equal width on the mel scale
     row[b] = 256 log2(E[b] + floor)          the floor hides the difference of quiet and silent

   8,000 samples a second give 40 rows of 16 numbers. Right shifts of negative numbers must be
   arithmetic, as they are in every compiler for boards. */
#ifndef SOUND_H
#define SOUND_H
#include <stdint.h>
#include <string.h>

enum { SOUND_RATE = 8000, SOUND_WINDOW = 256, SOUND_HOP = 200, SOUND_BANDS = 16 };
enum { SOUND_POINTS = SOUND_WINDOW / 2, SOUND_FLOOR = 1 << 24 };

/* All that it keeps. Set it to zero where a sound begins. */
typedef struct sound {
  int16_t samples[SOUND_WINDOW];
  int count;                                  /* of the samples */
  int32_t re[SOUND_POINTS], im[SOUND_POINTS]; /* the FFT works in place */
  uint64_t energy[SOUND_BANDS + 2]; /* and of triangles before the first and behind the last */
} sound;

/* 32768 sin(2 pi i/256), a quarter of a period */
static const uint16_t sound_quarter[65] = {
    0, 804, 1608, 2411, 3212, 4011, 4808, 5602, 6393, 7180, 7962, 8740, 9512, 10279, 11039, 11793,
    12540, 13279, 14010, 14733, 15447, 16151, 16846, 17531, 18205, 18868, 19520, 20160, 20788,
    21403, 22006, 22595, 23170, 23732, 24279, 24812, 25330, 25833, 26320, 26791, 27246, 27684,
    28106, 28511, 28899, 29269, 29622, 29957, 30274, 30572, 30853, 31114, 31357, 31581, 31786,
    31972, 32138, 32286, 32413, 32522, 32610, 32679, 32729, 32758, 32768};
/* 32768 log2(1 + i/32) */
static const uint16_t sound_logs[33] = {
    0, 1455, 2866, 4236, 5568, 6863, 8124, 9352, 10549, 11716, 12855, 13968, 15055, 16117, 17156,
    18173, 19168, 20143, 21098, 22034, 22952, 23852, 24736, 25604, 26455, 27292, 28114, 28922,
    29717, 30498, 31267, 32024, 32768};
/* Edges and centres of the triangles, 100 to 3,900 Hz, in 1/512 of the 31.25 Hz between two k. */
static const uint16_t sound_edges[SOUND_BANDS + 2] = {
    1638, 3059, 4633, 6378, 8313, 10456, 12832, 15466, 18385, 21620, 25206, 29181,
    33587, 38469, 43881, 49880, 56528, 63898};

/* 32768 sin(2 pi i/256) */
static int32_t sound_sin(int i) {
  const int at = i & 127, mirrored = at > 64 ? 128 - at : at;
  return i & 128 ? -(int32_t)sound_quarter[mirrored] : (int32_t)sound_quarter[mirrored];
}
static int32_t sound_cos(int i) { return sound_sin(i + 64); }

/* a b/32768, rounded */
static int32_t sound_mul(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b + 16384) >> 15);
}

/* The windowed samples, times 128: even ones are real parts, odd ones imaginary. Places are those
   of the FFT: the 7 bits of n reversed. */
static void sound_window(sound *s) {
  int n, bit;
  for (n = 0; n < SOUND_POINTS; n++) {
    int place = 0;
    for (bit = 0; bit < 7; bit++) place |= (n >> bit & 1) << (6 - bit);
    s->re[place] = s->samples[2 * n] * (32768 - sound_cos(2 * n)) >> 9;
    s->im[place] = s->samples[2 * n + 1] * (32768 - sound_cos(2 * n + 1)) >> 9;
  }
}
/* The FFT: butterflies of places whose distance is 1, 2, 4 ... 64. */
static void sound_fft(int32_t *re, int32_t *im) {
  int half, k, i;
  for (half = 1; half < SOUND_POINTS; half *= 2)
    for (k = 0; k < half; k++) {
      const int32_t c = sound_cos(k * SOUND_POINTS / half), w = sound_sin(k * SOUND_POINTS / half);
      for (i = k; i < SOUND_POINTS; i += 2 * half) {
        const int32_t a = re[i + half], b = im[i + half];
        const int32_t x = sound_mul(a, c) + sound_mul(b, w), y = sound_mul(b, c) - sound_mul(a, w);
        re[i + half] = re[i] - x;
        im[i + half] = im[i] - y;
        re[i] += x;
        im[i] += y;
      }
    }
}
/* |2 X[k]|^2 / 2^14: the spectra of even and odd samples are parts of that of z, k = 1 ... 127. */
static uint64_t sound_power(const sound *s, int k) {
  const int32_t c = sound_cos(k), w = sound_sin(k), *re = s->re, *im = s->im;
  const int32_t dr = re[k] - re[SOUND_POINTS - k], di = im[k] + im[SOUND_POINTS - k];
  const int64_t x = (int64_t)re[k] + re[SOUND_POINTS - k] - sound_mul(dr, w) + sound_mul(di, c);
  const int64_t y = (int64_t)im[k] - im[SOUND_POINTS - k] - sound_mul(dr, c) - sound_mul(di, w);
  return (uint64_t)(x * x + y * y) >> 14;
}
/* 256 log2(x), x at least 1: the exponent, and the mantissa between two numbers of the table */
static int16_t sound_log(uint64_t x) {
  int e = 0, n;
  uint32_t m, low;
  for (n = 32; n; n /= 2)
    if (x >> (e + n)) e += n;
  m = (uint32_t)(x << (63 - e) >> 47) & 0xFFFF; /* 16 bits behind the leading 1 */
  low = sound_logs[m >> 11];
  low += (sound_logs[(m >> 11) + 1] - low) * (m & 0x7FF) >> 11;
  return (int16_t)(256 * e + (int)((low + 64) >> 7));
}
/* A k lies on the rising side of triangle b and on the falling side of b - 1. */
static void sound_row(sound *s, int16_t row[SOUND_BANDS]) {
  uint64_t *energy = s->energy;
  int k, b = 0;
  sound_window(s);
  sound_fft(s->re, s->im);
  memset(energy, 0, sizeof s->energy);
  for (k = sound_edges[0] / 512 + 1; 512 * k < sound_edges[SOUND_BANDS + 1]; k++) {
    const uint64_t power = sound_power(s, k);
    uint32_t rising;
    while (512 * k >= sound_edges[b + 1]) b++;
    rising = 4096u * (uint32_t)(512 * k - sound_edges[b]) /
             (uint32_t)(sound_edges[b + 1] - sound_edges[b]);
    energy[b + 1] += power * rising;
    energy[b] += power * (4096 - rising);
  }
  for (b = 0; b < SOUND_BANDS; b++) row[b] = sound_log(energy[b + 1] + SOUND_FLOOR);
}

/* Adds a sample. Returns 1 when a row is complete: behind 256 samples, then behind every 200. */
static int sound_add(sound *s, int16_t sample, int16_t row[SOUND_BANDS]) {
  s->samples[s->count++] = sample;
  if (s->count < SOUND_WINDOW) return 0;
  sound_row(s, row);
  s->count = SOUND_WINDOW - SOUND_HOP;
  memmove(s->samples, s->samples + SOUND_HOP, (size_t)s->count * sizeof *s->samples);
  return 1;
}

#endif
