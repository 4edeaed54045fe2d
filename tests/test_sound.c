/* The front end for sound of examples/embedded: its rows are those of the equations in double
   precision, within a tolerance, for loud and quiet, pure and noisy sounds, and always the same. */
#include "../examples/embedded/sound.h"
#include <math.h>

#include "check.h"

enum { SAMPLES = 3000 };
static const double pi = 3.14159265358979323846;

/* The corners of the triangles in Hz: equal distances on the mel scale, 100 to 3,900 Hz. */
static double corner(int i) {
  const double low = log10(1 + 100 / 700.0), high = log10(1 + 3900 / 700.0);
  return 700 * (pow(10, low + (high - low) * i / (SOUND_BANDS + 1)) - 1);
}
/* The energies of the bands of 256 samples, in units of those of sound.h. Returns the energy of the
   loudest line of the spectrum. */
static double energies(const int16_t *x, double energy[SOUND_BANDS]) {
  const double unit = 4.0 * 128 * 128 * 4096 / 16384;
  double corners[SOUND_BANDS + 2], most = 0;
  int k, n, b;
  for (b = 0; b < SOUND_BANDS + 2; b++) corners[b] = corner(b);
  for (b = 0; b < SOUND_BANDS; b++) energy[b] = 0;
  for (k = 0; k < SOUND_WINDOW / 2; k++) {
    double re = 0, im = 0, hertz = k * (double)SOUND_RATE / (double)SOUND_WINDOW;
    for (n = 0; n < SOUND_WINDOW; n++) {
      const double turn = 2 * pi * n / (double)SOUND_WINDOW, w = 0.5 - 0.5 * cos(turn);
      re += x[n] * w * cos(turn * k);
      im -= x[n] * w * sin(turn * k);
    }
    most = fmax(most, unit * (re * re + im * im));
    for (b = 0; b < SOUND_BANDS; b++) {
      const double left = corners[b], top = corners[b + 1], right = corners[b + 2];
      const double side =
          hertz < top ? (hertz - left) / (top - left) : (right - hertz) / (right - top);
      if (side > 0) energy[b] += unit * side * (re * re + im * im);
    }
  }
  return most;
}

static double row_of(double energy) { return 256 * log(energy + (double)SOUND_FLOOR) / log(2.0); }

/* Within 2, 0.5 % of an energy, and what an amplitude of 1/65536 of the loudest line may add. */
static void check_band(int got, double energy, double most, const char *name) {
  const double wrong = sqrt(most) / 65536, root = sqrt(energy);
  const double low = root > wrong ? row_of((root - wrong) * (root - wrong)) : row_of(0);
  CHECK(got >= low - 2 && got <= row_of((root + wrong) * (root + wrong)) + 2, "%s: %d, wanted %.2f",
        name, got, row_of(energy));
}

/* A sample of made-up sound `kind`, in integers alone. */
static int16_t made_up(int kind, int n, uint32_t *noise) {
  const int phase = n * (n / 8) & 1023, tone = (phase < 512 ? phase : 1023 - phase) - 256;
  *noise = *noise * 1664525u + 1013904223u;
  switch (kind) {
    case 0: return 0;                                           /* silence */
    case 1: return (int16_t)(n & 1);                            /* one bit */
    case 2: return (int16_t)((*noise >> 16 & 7) - 4);           /* quiet noise */
    case 3: return (int16_t)((int)(*noise >> 16) - 32768);      /* loud noise */
    case 4: return (int16_t)(n % 20 < 10 ? 32767 : -32768);     /* 400 Hz, as loud as can be */
    case 5: return (int16_t)(100 * tone);                       /* a rising tone */
    case 6: return (int16_t)(tone + (int)(*noise >> 24) - 128); /* with noise */
    default: return 32767;
  }
}

/* Checks a row, made of the 256 samples x, and adds it to the hash. */
static void check_row(const int16_t *row, const int16_t *x, const char *name, uint64_t *hash) {
  double energy[SOUND_BANDS], most = energies(x, energy);
  char band[80];
  int b, i;
  for (b = 0; b < SOUND_BANDS; b++) {
    snprintf(band, sizeof band, "%s, band %d", name, b);
    check_band(row[b], energy[b], most, band);
    for (i = 0; i < 16; i += 8)
      *hash = (*hash ^ ((uint16_t)row[b] >> i & 255)) * UINT64_C(0x100000001B3);
  }
}

int main(void) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  int kind, n, rows;
  for (kind = 0; kind < 8; kind++) {
    static int16_t x[SAMPLES];
    static sound s;
    uint32_t noise = 1;
    memset(&s, 0, sizeof s);
    for (n = rows = 0; n < SAMPLES; n++) {
      int16_t row[SOUND_BANDS];
      char name[40];
      x[n] = made_up(kind, n, &noise);
      if (!sound_add(&s, x[n], row)) continue;
      snprintf(name, sizeof name, "sound %d, row %d", kind, rows);
      CHECK(n + 1 == SOUND_WINDOW + rows * SOUND_HOP, "%s behind sample %d", name, n);
      check_row(row, x + n + 1 - SOUND_WINDOW, name, &hash);
      rows++;
    }
    CHECK(rows == 1 + (SAMPLES - SOUND_WINDOW) / SOUND_HOP, "sound %d: %d rows", kind, rows);
  }
  CHECK(hash == UINT64_C(0x3a8bd1afdd58a4b8), "hash %08lx%08lx", (unsigned long)(hash >> 32),
        (unsigned long)(hash & 0xFFFFFFFFu));
  return CHECK_END("sound");
}
