/* vibration.c   A fault of a machine shows as an error: a network with a narrow middle has learned
   to repeat rows of log-mel energies of a healthy machine (vibration_data.c), and repeats those of
   a faulty one worse. `make` trains it in seconds.

   A line is a window, 16 integers for each row (rows.h): those of sound.h less 9000. The answer is
   the mean of the squared differences between rows and answers of the network, an integer, behind
   the word `healthy` or, above the threshold, `fault`. With CALIBRATE the program writes
   vibration_text.h: of the lines that it reads, windows of a healthy machine that were not trained
   on, one of a hundred is above the threshold.

   make run DEMO=vibration BOARD=an386 */
#include "vibration_model.h"
#ifdef CALIBRATE
#define vibration_HASH 0
#else
#include "vibration_text.h"
#endif
#include "rows.h"

enum { BANDS = 16, FARTHEST = 65535 };

static struct {
  uint64_t sum; /* of squared differences */
  uint32_t count;
  int32_t y[BANDS]; /* not on the stack, which is small */
} error;

static void vibration_answer(const syn_small *s, const int16_t *row) {
  int i, n = row ? syn_small_numbers(s, 1000.0f, error.y, BANDS) : 0;
  if (!row) error.sum = error.count = 0;
  for (i = 0; i < n; i++) {
    int32_t far = error.y[i] - row[i];
    if (far < 0) far = -far;
    if (far > FARTHEST) far = FARTHEST;
    error.sum += (uint64_t)far * (uint32_t)far;
    error.count++;
  }
}
static uint32_t vibration_error(void) {
  return error.count ? (uint32_t)(error.sum / error.count) : 0;
}

static uint64_t ram[(vibration_RAM + 7) / 8];
static rows all = ROWS(vibration, BANDS, vibration_answer);

#ifdef CALIBRATE
#include <stdio.h>
enum { MOST = 10000 };
int main(void) {
  static uint32_t errors[MOST];
  uint32_t self_test;
  int n = 0, i;
  all.s = syn_small_open(ram, sizeof ram, all.model, all.size, NULL, NULL);
  if (!all.s || rows_repeat(&all) < 0) return 1;
  self_test = vibration_error();
  while (n < MOST && rows_line(&all) >= 0) { /* in order, the largest first */
    for (i = n++; i > 0 && errors[i - 1] < vibration_error(); i--) errors[i] = errors[i - 1];
    errors[i] = vibration_error();
  }
  if (!n) return 1;
  printf("/* Written by vibration.c from %d windows. */\n#define vibration_HASH UINT64_C(0x", n);
  demo_put_hash(demo_fnv(SYN_HASH_START, all.model, all.size));
  printf(")\n#define vibration_ANSWER %lu\n#define vibration_THRESHOLD %lu\n",
         (unsigned long)self_test, (unsigned long)errors[n / 100]);
  return 0;
}
#else
static void vibration_put(rows *r) {
  (void)r;
  board_put(vibration_error() > vibration_THRESHOLD ? "fault " : "healthy ");
  board_put_number(vibration_error());
}

int main(void) {
  int passed;
  if (rows_open(&all, ram, sizeof ram)) return 1;
  passed = rows_repeat(&all) >= 0 && vibration_error() == vibration_ANSWER; /* a window of zeros */
  return rows_run(&all, passed, vibration_put);
}
#endif
