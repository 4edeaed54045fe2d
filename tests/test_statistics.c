/* test_statistics   tools/statistics.h: Student's t against printed tables, Holm's correction by hand, false alarms of
   made-up comparisons without any difference and of trainings of two networks that are the same (A/A test), and how often a
   real difference is found with the seeds that are wanted. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "../tools/statistics.h"
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

/* As the test over seeds where sentences say nothing more; where they have all of the variance, as a t test over them. */
static void test_mixed(void) {
  static const double row[] = {3, 5, 4, 8}, first[] = {1, 4, 1, 6}; /* variance of d by the seeds: 1 / 6 */
  const seed_test of_seeds = seeds_compare(row, first, 4);
  seed_test r = mixed_compare(of_seeds, 0.0, 100);
  CHECK(r.n == 4 && fabs(r.low - of_seeds.low) < 1e-12 && fabs(r.p - of_seeds.p) < 1e-12, "%g, %g", r.low, r.p);
  r = mixed_compare(of_seeds, 1e6, 101); /* the rest of the degrees of freedom is lost to rounding */
  CHECK(fabs(r.high - 2.0 - t_bound(0.05, 100) * 1e3) < 1e-3, "%g", r.high);
  r = mixed_compare(of_seeds, 1.0 / 6.0, 4); /* 4 (1/6)^2 / (2 (1/6)^2 / 3) = 6 degrees of freedom */
  CHECK(fabs(r.high - 2.0 - t_bound(0.05, 6) * sqrt(1.0 / 3.0)) < 1e-9, "%g", r.high);
  CHECK(seeds_wanted(&r) >= 4, "%d seeds", (int)seeds_wanted(&r));
  CHECK(!mixed_compare(of_seeds, 1.0, 1).n, "one sentence");
  CHECK(!mixed_compare(seeds_compare(row, first, 1), 1.0, 100).n, "one seed");
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

static double uniform(syn_random *r) {
  return ((double)(syn_random_next(r) >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(syn_random *r) {
  double a = uniform(r), b = uniform(r);
  return sqrt(-2.0 * log(a)) * cos(2.0 * acos(-1.0) * b);
}

enum { TABLES = 2000, MOST_ROWS = 8, MOST_RUNS = 20 };

/* Shares of TABLES comparisons of the first row with `rows` others over n seeds, where some row was found different. What a
   seed does to all rows is as large as what it does to one; all rows have the same mean but the last, which is `better`. */
static void tables_of(size_t rows, size_t n, double better, double *some, double *last) {
  syn_random state = {rows * 100 + n};
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

/* Seeds and sentences are drawn anew in each table, and both have an effect of their own on each row: the test over the seeds
   alone asks of these sentences only, so it finds differences that other sentences would not have. */
static void test_sentences(void) {
  enum { SENTENCES = 30, SEEDS = 4 };
  const double margin = 3.0 * sqrt(0.05 * 0.95 / (double)TABLES), sentences = (double)SENTENCES;
  syn_random state = {7};
  int table, alarms = 0, of_seeds = 0;
  for (table = 0; table < TABLES; table++) {
    double row[SEEDS] = {0.0}, first[SEEDS] = {0.0}, sum = 0.0, squares = 0.0, seed[SEEDS];
    seed_test r;
    int i, s;
    for (s = 0; s < SEEDS; s++) seed[s] = 0.2 * normal(&state);
    for (i = 0; i < SENTENCES; i++) {
      double d = normal(&state); /* of this sentence, with all seeds */
      sum += d;
      squares += d * d;
      for (s = 0; s < SEEDS; s++) row[s] += (d + seed[s]) / sentences;
    }
    r = seeds_compare(row, first, SEEDS);
    of_seeds += r.p < 0.05;
    alarms += mixed_compare(r, (squares - sum * sum / sentences) / sentences / (sentences - 1.0), SENTENCES).p < 0.05;
  }
  CHECK((double)alarms < (0.05 + margin) * (double)TABLES, "%d of %d", alarms, TABLES);
  CHECK(of_seeds > 2 * alarms, "the seeds alone: %d, mixed: %d", of_seeds, alarms);
}

/* Loss of a small classifier after a short training: are the first and the last token of a row the same? */
static double trained_loss(syn_context *c, const char *encoder, uint64_t seed, syn_data *data, syn_data *test) {
  syn_config k;
  syn_train_config how;
  syn_model *m;
  syn_trainer *t;
  double loss = 0.0;
  int64_t labels;
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  k.task = "classify", k.encoder = encoder, k.d_model = 8, k.heads = 2, k.max_len = 6, k.src_vocab = 8, k.classes = 2;
  k.seed = how.seed = seed;
  how.steps = 8, how.lr = 0.02f, how.batch_tokens = 48;
  m = syn_model_new(c, &k);
  t = syn_trainer_new(c, m, &how);
  syn_trainer_run(t, data, NULL, NULL, NULL);
  syn_trainer_evaluate(t, test, &loss, &labels);
  syn_trainer_free(t);
  syn_model_free(m);
  return loss;
}

static void rows_make(syn_data *d, int rows, uint64_t seed) {
  syn_random r = {seed};
  for (; rows; rows--) {
    int src[5], i, same;
    for (i = 0; i < 5; i++) src[i] = 4 + syn_random_below(&r, 4);
    same = src[0] == src[4];
    syn_data_add(d, src, 5, &same, 1); /* with its end it has 6 tokens */
  }
}

/* D and BD with as many hidden units are one network of two names, so another one of initial values: each table trains both
   with the same seeds, and tests row D against itself with other seeds, too. */
static void test_trainings(void) {
  enum { SEEDS = 5, MOST = 200 };
  const int tables = CHECK_SHORT ? 20 : MOST;
  /* of so few tables; half as many are of other seeds */
  const double margin = 3.0 * sqrt(0.05 * 0.95 * tables), of_half = margin / sqrt(2.0);
  int table, names = 0, seeds = 0, s;
  double d[2][SEEDS], bd[SEEDS];
  syn_context c;
  syn_data *data, *test;
  syn_context_init(&c, NULL);
  data = syn_data_new(&c);
  test = syn_data_new(&c);
  rows_make(data, 64, 1);
  rows_make(test, 64, 2);
  for (table = 0; table < tables; table++) {
    for (s = 0; s < SEEDS; s++) {
      uint64_t seed = (uint64_t)(1 + table * SEEDS + s);
      d[table % 2][s] = trained_loss(&c, "pos->res_nd(syn_att(D))->norm", seed, data, test);
      bd[s] = trained_loss(&c, "pos->res_nd(syn_att(BD,m=4))->norm", seed, data, test);
    }
    names += seeds_compare(d[table % 2], bd, SEEDS).p < 0.05;
    if (table % 2) seeds += seeds_compare(d[0], d[1], SEEDS).p < 0.05;
  }
  CHECK(!c.status, "%s", c.message);
  CHECK(names <= 0.05 * tables + margin, "two names of a network: %d of %d tables have a false alarm", names, tables);
  CHECK(seeds <= 0.025 * tables + of_half, "other seeds: %d of %d tables have a false alarm", seeds, tables / 2);
  syn_data_free(data);
  syn_data_free(test);
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
  test_mixed();
  test_holm();
  test_alarms();
  test_sentences();
  test_trainings();
  test_wanted();
  return CHECK_END("statistics");
}
