/* gestures.c   a made-up accelerometer: eight gestures and "none" as rows of three numbers.

   A window has 64 frames of 32 a second, each the acceleration along three axes in g, as the sensor
   feels it: gravity, rotated by how the device is held and by the gesture, plus the acceleration of
   the hand, plus the drift and the noise of the sensor. Speeds and amplitudes of `test` do not occur
   in `train`: 0.6 to 0.75 and 1.35 to 1.6 times the usual ones, instead of 0.8 to 1.25.

     cc -O2 gestures.c -o gestures -lm
     ./gestures train 2700 1 >train.tsv     label TAB 192 numbers with blanks between
     ./gestures test 900 2 >test.tsv
     ./gestures nearest train.tsv test.tsv  the nearest neighbour on the same numbers: its accuracy */
#include "random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 64, AXES = 3, NUMBERS = FRAMES * AXES, CLASSES = 9 };
static const char *const names[CLASSES] = {"none",  "shake", "wave",  "tap", "circle",
                                           "circle_back", "lift", "lower", "turn"};
static const double pi = 3.14159265358979;

static double factor(int test) {
  if (!test) return uniform(0.8, 1.25);
  return uniform(0.0, 1.0) < 0.5 ? uniform(0.6, 0.75) : uniform(1.35, 1.6);
}

/* Turns v around an axis by an angle. */
static void turn(double v[AXES], int axis, double angle) {
  double *a = &v[(axis + 1) % 3], *b = &v[(axis + 2) % 3], x = *a;
  *a = cos(angle) * x - sin(angle) * *b;
  *b = sin(angle) * x + cos(angle) * *b;
}

/* What the gesture does `t` seconds after its begin, at speed s, with amplitude a: the acceleration
   of the hand, and the turn of the device around *axis by *angle. */
static void move(int class, double t, double s, double a, double hand[AXES], int *axis,
                 double *angle) {
  const double phase = 2.0 * pi * s * t, length = 1.0 / s;
  const int inside = t >= 0.0 && t < length;
  hand[0] = hand[1] = hand[2] = *angle = 0.0;
  *axis = 2;
  if (t < 0.0) return;
  switch (class) {
    case 1: hand[0] = 0.9 * a * sin(4.0 * phase); break;                      /* to and fro */
    case 2: *axis = 0, *angle = 0.8 * a * sin(1.2 * phase); break;            /* a tilt, swinging */
    case 3: hand[2] = 1.8 * a * (exp(-900.0 * (t - 0.1) * (t - 0.1)) +        /* two knocks */
                                 exp(-900.0 * (t - 0.1 - 0.35 / s) * (t - 0.1 - 0.35 / s))); break;
    case 4: hand[0] = 0.6 * a * cos(phase), hand[1] = 0.6 * a * sin(phase); break;
    case 5: hand[0] = 0.6 * a * cos(phase), hand[1] = -0.6 * a * sin(phase); break;
    case 6: hand[2] = inside ? 0.7 * a * sin(phase) : 0.0; break;             /* up and stop */
    case 7: hand[2] = inside ? -0.7 * a * sin(phase) : 0.0; break;            /* down and stop */
    case 8: *axis = 1, *angle = pi * (inside ? t / length : 1.0); break;      /* face down */
  }
}

/* One window. "none" is held still, or carried: slow sways of any direction. */
static void make(int class, int test, float *x) {
  const double s = factor(test), a = factor(test), begin = uniform(0.1, 0.5);
  const double sway = uniform(0.0, 1.0) < 0.5 ? 0.0 : uniform(0.02, 0.12);
  double tilt[AXES], drift[AXES], step[AXES], when[AXES];
  int i, k;
  for (k = 0; k < AXES; k++) {
    tilt[k] = uniform(-0.3, 0.3);
    drift[k] = uniform(-0.05, 0.05), step[k] = uniform(-0.03, 0.03), when[k] = uniform(0.0, 6.3);
  }
  for (i = 0; i < FRAMES; i++) {
    const double t = i / 32.0;
    double g[AXES] = {0.0, 0.0, 1.0}, hand[AXES], angle;
    int axis;
    move(class, t - begin, s, a, hand, &axis, &angle);
    turn(g, axis, angle);
    for (k = 0; k < AXES; k++) g[k] += hand[k];
    for (k = 0; k < AXES; k++) turn(g, k, tilt[k]);
    for (k = 0; k < AXES; k++)
      x[i * AXES + k] = (float)(g[k] + drift[k] + step[k] * t + 0.05 * normal() +
                                (class ? 0.0 : sway * sin(2.0 * pi * 0.4 * t + when[k])));
  }
}

/* Reads a file that this program wrote; returns its rows. */
static int read_rows(const char *path, float **x, int **class) {
  FILE *f = fopen(path, "r");
  char label[32];
  int n = 0, i;
  *x = NULL, *class = NULL;
  while (f && fscanf(f, "%31s", label) == 1) {
    *x = (float *)realloc(*x, (size_t)(n + 1) * NUMBERS * sizeof **x);
    *class = (int *)realloc(*class, (size_t)(n + 1) * sizeof **class);
    for (i = 0; i < CLASSES && strcmp(label, names[i]); i++) continue;
    (*class)[n] = i;
    for (i = 0; i < NUMBERS; i++)
      if (fscanf(f, "%f", *x + n * NUMBERS + i) != 1) return 0;
    n++;
  }
  if (f) fclose(f);
  return n;
}

static int nearest(const char *train, const char *test) {
  float *x, *y;
  int *a, *b, n = read_rows(train, &x, &a), m = read_rows(test, &y, &b), i, j, k, right = 0;
  for (i = 0; i < m; i++) {
    double best = 1e30;
    int class = 0;
    for (j = 0; j < n; j++) {
      double sum = 0.0;
      for (k = 0; k < NUMBERS && sum < best; k++) {
        const double d = (double)y[i * NUMBERS + k] - (double)x[j * NUMBERS + k];
        sum += d * d;
      }
      if (sum < best) best = sum, class = a[j];
    }
    right += class == b[i];
  }
  free(x), free(y), free(a), free(b);
  if (!n || !m) return fprintf(stderr, "gestures: cannot read %s and %s\n", train, test), 1;
  return printf("nearest neighbour: %d of %d, %.2f %%\n", right, m, 100.0 * right / m), 0;
}

int main(int count, char **words) {
  float x[NUMBERS];
  int i, k, n = count == 4 ? atoi(words[2]) : 0;
  if (count == 4 && !strcmp(words[1], "nearest")) return nearest(words[2], words[3]);
  if (n < 1 || (strcmp(words[1], "train") && strcmp(words[1], "test")))
    return fprintf(stderr, "gestures train|test ROWS SEED, gestures nearest TRAIN TEST\n"), 2;
  state = strtoull(words[3], NULL, 10) * 77777u + 12345u;
  for (i = 0; i < n; i++) {
    make(i % CLASSES, words[1][1] == 'e', x);
    printf("%s\t", names[i % CLASSES]);
    for (k = 0; k < NUMBERS; k++) printf("%s%.3f", k ? " " : "", (double)x[k]);
    printf("\n");
  }
  return 0;
}
