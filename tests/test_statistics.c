/* test_statistics   tools/statistics.h: Student's t against printed tables, Holm's correction by hand, false alarms of
   made-up comparisons without any difference, and how often a real difference is found with the seeds that are wanted. */
#include "../tools/statistics.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

/* Two-sided 0.05 points of the printed tables, and p of t = 2 by closed forms. */
static void test_student(void) {
  static const double points[][2] = {{1, 12.7062}, {2, 4.30265}, {3, 3.18245}, {4, 2.77645}, {5, 2.57058},
                                     {9, 2.26216}, {10, 2.22814}, {30, 2.04227}, {120, 1.97993}, {999, 1.96234}};
  size_t i;
  for (i = 0; i < sizeof points / sizeof *points; i++) {
    double t = t_bound(0.05, (size_t)points[i][0]);
    CHECK(fabs(t - points[i][1]) < 5e-5 * (i ? 1 : 10), "df %g: %.5f", points[i][0], t);
    CHECK(fabs(t_probability(-t, (size_t)points[i][0]) - 0.05) < 1e-9, "df %g: both sides", points[i][0]);
  }
  CHECK(fabs(t_probability(2.0, 1) - (1.0 - 2.0 / acos(-1.0) * atan(2.0))) < 1e-12, "df 1");
  CHECK(fabs(t_probability(2.0, 2) - (1.0 - 2.0 / sqrt(6.0))) < 1e-12, "df 2");
  CHECK(t_probability(0.0, 7) > 1.0 - 1e-12 && t_probability(1e9, 7) >= 0.0 && t_probability(1e9, 7) < 1e-9, "ends");
}

static void test_pairs(void) {
  static const double row[] = {3, 5, 4, 8}, first[] = {1, 4, 1, 6}; /* differences 2, 1, 3, 2 */
  seed_test r = seeds_compare(row, first, 4);
  CHECK(r.n == 4 && fabs(r.difference - 2.0) < 1e-12 && fabs(r.deviation - sqrt(2.0 / 3.0)) < 1e-12, "%g, %g",
        r.difference, r.deviation);
  CHECK(fabs(r.high - 2.0 - 3.18245 * sqrt(1.0 / 6.0)) < 1e-4 && fabs(r.low + r.high - 4.0) < 1e-9, "%g", r.high);
  CHECK(fabs(r.p - t_probability(2.0 * sqrt(6.0), 3)) < 1e-12, "p %g", r.p);
  CHECK(seeds_wanted(&r) == 4, "%d seeds", (int)seeds_wanted(&r)); /* t of 3 seeds is 4.24, of which 4.30 are wanted */
  r = seeds_compare(row, first, 1);
  CHECK(!r.n && fabs(r.difference - 2.0) < 1e-12 && !seeds_wanted(&r), "one seed");
  r = seeds_compare(row, row, 4);
  CHECK(!r.n && r.difference == 0.0, "a row against itself");
}

/* p 0.01, 0.04, 0.03 of three rows: 0.03, then 0.06 for both others, as none becomes smaller than one before. */
static void test_holm(void) {
  seed_test r[5];
  memset(r, 0, sizeof r);
  r[0].n = r[2].n = r[3].n = 5; /* rows 1 and 4 are not tested */
  r[0].p = 0.01, r[2].p = 0.04, r[3].p = 0.03, r[1].p = r[4].p = 0.001;
  holm_correct(r, 5);
  CHECK(fabs(r[0].p - 0.03) < 1e-12 && fabs(r[2].p - 0.06) < 1e-12 && fabs(r[3].p - 0.06) < 1e-12 && r[1].p == 0.001,
        "%g %g %g", r[0].p, r[2].p, r[3].p);
  CHECK(r[0].times == 3.0 && r[3].times == 2.0 && r[2].times == 1.0, "%g %g %g", r[0].times, r[3].times, r[2].times);
}

static double uniform(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(uint64_t *state) {
  double a = uniform(state), b = uniform(state);
  return sqrt(-2.0 * log(a)) * cos(2.0 * acos(-1.0) * b);
}

enum { TABLES = 2000, MOST_ROWS = 8, MOST_RUNS = 20 };

/* Shares of TABLES comparisons of the first row with `rows` others over n seeds, where some row was found different. What a
   seed does to all rows is as large as what it does to one; all rows have the same mean but the last, which is `better`. */
static void tables_of(size_t rows, size_t n, double better, double *some, double *last) {
  uint64_t state = rows * 100 + n;
  int table, alarms = 0, found = 0;
  for (table = 0; table < TABLES; table++) {
    double value[MOST_ROWS + 1][MOST_RUNS];
    seed_test r[MOST_ROWS];
    size_t i, s;
    int alarm = 0;
    for (s = 0; s < n; s++) {
      double common = normal(&state);
      for (i = 0; i <= rows; i++) value[i][s] = 20.0 + common + normal(&state) + (i == rows ? better : 0.0);
    }
    for (i = 0; i < rows; i++) r[i] = seeds_compare(value[i + 1], value[0], n);
    holm_correct(r, rows);
    for (i = 0; i < rows; i++) alarm |= r[i].p < 0.05;
    alarms += alarm;
    found += r[rows - 1].p < 0.05;
  }
  *some = (double)alarms / (double)TABLES;
  *last = (double)found / (double)TABLES;
}

static void test_alarms(void) {
  static const size_t cases[][2] = {{1, 2}, {1, 3}, {1, 5}, {4, 3}, {4, 5}, {8, 5}, {8, 10}};
  const double margin = 3.0 * sqrt(0.05 * 0.95 / (double)TABLES); /* of the simulation */
  double some, last;
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    tables_of(cases[i][0], cases[i][1], 0.0, &some, &last);
    CHECK(some < 0.05 + margin, "%d rows, %d seeds: %.1f of 100 tables have a false alarm", (int)cases[i][0],
          (int)cases[i][1], 100.0 * some);
    CHECK(cases[i][0] > 1 || some > 0.05 - margin, "%d seeds: only %.1f of 100", (int)cases[i][1], 100.0 * some);
  }
  tables_of(4, 5, 8.0, &some, &last);
  CHECK(last > 0.9, "a difference of eight deviations is found in %.0f of 100", 100.0 * last);
}

/* More seeds than a difference wants find it; it says none where there is none. */
static void test_wanted(void) {
  seed_test r;
  size_t n, wanted;
  memset(&r, 0, sizeof r);
  r.n = 3, r.difference = 0.5, r.deviation = 1.0, r.times = 1.0;
  wanted = seeds_wanted(&r);
  CHECK(wanted == 18, "%d seeds", (int)wanted); /* 0.5 sqrt(18) = 2.121 > 2.110, 0.5 sqrt(17) = 2.062 < 2.120 */
  r.times = 5.0;
  n = seeds_wanted(&r);
  CHECK(n > wanted && n < 40, "%d seeds of five rows", (int)n);
  r.difference = 1e-9;
  CHECK(!seeds_wanted(&r), "no number of seeds");
}

int main(void) {
  test_student();
  test_pairs();
  test_holm();
  test_alarms();
  test_wanted();
  return CHECK_END("statistics");
}
