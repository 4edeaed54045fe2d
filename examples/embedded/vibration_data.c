/* vibration_data.c   a made-up vibration of a rotating machine as rows of sound.h: windows of a
   healthy machine for training, healthy and faulty ones for a test.

   Shaft speed 30 to 60 turns a second and load are drawn for each window; the machine has harmonics
   of the shaft, a gear of 23 teeth whose tone grows with the load, resonances of its housing and
   noise. Faults, never seen in training: a bearing (an impulse 4.1 times a turn that rings at 2,900
   Hz), imbalance (a larger, clipped sine of the shaft), looseness (half harmonics, a rattle).

     cc -O2 vibration_data.c -o vibration_data -lm
     vibration_data train COUNT SEED        "numbers TAB the same numbers" for syn train
     vibration_data test COUNT SEED         healthy, bearing, imbalance, loose in turns
     vibration_data auc TEST <ANSWERS       AUC of each fault from the answers of syn run */
#include "../signals/random.h"
#include "sound.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 16, SAMPLES = SOUND_WINDOW + (ROWS - 1) * SOUND_HOP, NUMBERS = ROWS * SOUND_BANDS };
enum { HEALTHY, BEARING, IMBALANCE, LOOSE, KINDS };
static const char *const names[KINDS] = {"healthy", "bearing", "imbalance", "looseness"};

/* The force of the machine at `turn` turns of the shaft. */
static double force(int kind, double turn, double load, double grade) {
  const double angle = 2 * 3.14159265358979 * turn, part = turn - floor(turn);
  double x = sin(angle) + 0.4 * sin(2 * angle + 1) + 0.2 * sin(3 * angle + 2) +
             (0.1 + 0.4 * load) * (1 + 0.2 * sin(angle)) * sin(23 * angle);
  if (kind == IMBALANCE) x = x + grade * (2 * sin(angle) + tanh(6 * sin(angle)));
  if (kind == LOOSE)
    x += 0.5 * grade * (sin(angle / 2) + sin(1.5 * angle) + sin(2.5 * angle) + sin(5.5 * angle)) +
         (part < 0.1 ? grade * normal() : 0);
  return x;
}
static void make(int kind, int16_t *sound) {
  const double speed = uniform(30, 60), load = uniform(0, 1), grade = uniform(0.05, 0.5);
  const double volume = exp(uniform(log(800), log(1600)));
  double turn = uniform(0, 1), struck = uniform(0, 1), ring = 0, ring_before = 0, a = 0, b = 0;
  const double pi2 = 2 * 3.14159265358979;
  int i;
  for (i = 0; i < SAMPLES; i++) {
    const double x = force(kind, turn, load, grade) + 0.1 * normal();
    double next = 1.6 * cos(pi2 * 900 / SOUND_RATE) * a - 0.64 * b + x; /* the housing */
    b = a, a = next;
    next = 1.88 * cos(pi2 * 2900 / SOUND_RATE) * ring - 0.8836 * ring_before;
    if (kind == BEARING && (struck += 4.1 * speed / SOUND_RATE) >= 1)
      struck -= 1, next += grade * uniform(0.5, 1.5);
    ring_before = ring, ring = next;
    turn += speed * (1 + 0.002 * normal()) / SOUND_RATE;
    next = volume * (a + ring);
    sound[i] = (int16_t)(next < -32768 ? -32768 : next > 32767 ? 32767 : next);
  }
}
static void put(int kind, int twice) {
  static int16_t samples[SAMPLES], rows[NUMBERS];
  static sound s;
  int i, n = 0, k;
  memset(&s, 0, sizeof s);
  make(kind, samples);
  for (i = 0; i < SAMPLES; i++) n += sound_add(&s, samples[i], rows + n * SOUND_BANDS);
  for (k = 0; k <= twice; k++)
    for (i = 0; i < NUMBERS; i++)
      printf("%.3f%c", (rows[i] - 9000) / 1000.0, i < NUMBERS - 1 ? ' ' : k < twice ? '\t' : '\n');
}

/* The error of an answer is its score. AUC: how often a fault has more than a healthy machine. */
static int auc(const char *path) {
  static double scores[KINDS][10000]; /* at most 40,000 windows */
  int counts[KINDS] = {0}, line, i, j, kind;
  FILE *f = fopen(path, "r");
  if (!f) return fprintf(stderr, "vibration_data: cannot open %s\n", path), 1;
  for (line = 0;; line++) {
    double sum = 0, x, y;
    for (i = 0; i < NUMBERS && fscanf(f, "%lf", &x) == 1 && scanf("%lf", &y) == 1; i++)
      sum += (x - y) * (x - y);
    if (i < NUMBERS) break;
    kind = line % KINDS;
    if (counts[kind] < 10000) scores[kind][counts[kind]++] = sum;
  }
  fclose(f);
  if (line < KINDS)
    return fprintf(stderr, "vibration_data: %s and the answers have %d windows in common, wanted %d "
                           "or more\n", path, line, KINDS), 1;
  for (kind = 1; kind < KINDS; kind++) {
    double above = 0;
    for (i = 0; i < counts[kind]; i++)
      for (j = 0; j < counts[0]; j++) above += scores[kind][i] > scores[0][j];
    printf("%s %.4f\n", names[kind], above / counts[kind] / counts[0]);
  }
  return 0;
}

int main(int count, char **arguments) {
  const int n = count > 2 ? atoi(arguments[2]) : 0;
  int i, train = count == 4 && !strcmp(arguments[1], "train");
  state = (count > 3 ? strtoull(arguments[3], NULL, 10) : 1) * 77777u + 12345u;
  if (count == 3 && !strcmp(arguments[1], "auc")) return auc(arguments[2]);
  if (n < 1 || (!train && strcmp(arguments[1], "test")))
    return fprintf(stderr, "vibration_data train|test COUNT SEED, auc TEST <ANSWERS\n"), 2;
  for (i = 0; i < n; i++) put(train ? HEALTHY : i % KINDS, train);
  return 0;
}
