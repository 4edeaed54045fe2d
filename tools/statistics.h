/* statistics.h   which of two rows of a comparison is better: tests over their seeds. It needs
   nothing but libm. */

#include <math.h>
#include <stddef.h>

/* ==============================================================================================
   >>tool statistics   paired t test over seeds, mixed over sentences, Holm's correction
   ============================================================================================== */

/* A row differs from the first one by d_s = row_s - first_s with seed s. Over n seeds, with their
   mean d and their deviation (n - 1 below the line),

     t = d / (deviation / sqrt(n))    95 %: d +- t_(n-1) deviation / sqrt(n)

   where t_df is exceeded in size with a probability of 0.05 (Student 1908). Both rows have the same
   seeds, so what a seed does to both leaves the difference (paired test). Of m rows that are
   compared with the first, the least p is multiplied by m, the next by m - 1 ..., and none becomes
   smaller than one before it (Holm 1979): with no difference anywhere, some row gets p < 0.05 in at
   most one of twenty tables.

   The mixed test asks the same of other sentences, too. The mean difference over these seeds has a
   variance v over samples of sentences, so the variance of d is deviation^2 / n + v. What a seed does
   to single sentences is in both terms: the interval is a little too wide. Its degrees of freedom
   are those of Satterthwaite 1946, rounded down. */

typedef struct seed_test {
  size_t n;     /* seeds; 0: not tested, as there are fewer than two, or all d_s are equal */
  double difference, low, high;
  double deviation; /* mixed: that of d, times sqrt(n) */
  double p;     /* two-sided; corrected by holm_correct */
  double times; /* what holm_correct multiplied p by */
} seed_test;

enum { MOST_SEEDS = 1000 };

/* Probability that Student's t of df degrees of freedom is at least this far from 0 (Abramowitz and
   Stegun 1964, 26.7.3, 26.7.4): with x = atan(t / sqrt(df)), 1 minus a sum of powers of cos x. */
static double t_probability(double t, size_t df) {
  const double x = atan(fabs(t) / sqrt((double)df)), c = cos(x) * cos(x);
  double term = 1.0, sum = 0.0, inside;
  size_t k;
  for (k = df % 2; k + 2 <= df; k += 2) { /* powers k of cos x */
    sum += term;
    term *= c * (double)(k + 1) / (double)(k + 2);
  }
  inside = df % 2 ? 2.0 / acos(-1.0) * (x + sin(x) * cos(x) * sum) : sin(x) * sum;
  return inside < 1.0 ? 1.0 - inside : 0.0;
}

/* The t > 0 of that probability. */
static double t_bound(double probability, size_t df) {
  double low = 0.0, high = 1e6;
  int i;
  for (i = 0; i < 100; i++) {
    double middle = 0.5 * (low + high);
    if (t_probability(middle, df) > probability) low = middle;
    else high = middle;
  }
  return high;
}

/* Fills in what follows from n, difference and deviation. */
static void test_fill(seed_test *r, size_t df) {
  const double error = r->deviation / sqrt((double)r->n), half = t_bound(0.05, df) * error;
  r->low = r->difference - half;
  r->high = r->difference + half;
  r->p = t_probability(r->difference / error, df);
}

/* row and first have the values of n seeds, in their order. */
static seed_test seeds_compare(const double *row, const double *first, size_t n) {
  seed_test r = {0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0};
  size_t s;
  for (s = 0; s < n; s++) r.difference += (row[s] - first[s]) / (double)n;
  if (n < 2) return r;
  for (s = 0; s < n; s++) {
    double rest = row[s] - first[s] - r.difference;
    r.deviation += rest * rest / (double)(n - 1);
  }
  r.deviation = sqrt(r.deviation);
  if (!(r.deviation > 1e-12 * fabs(r.difference))) return r; /* a NaN is not tested, either */
  r.n = n;
  test_fill(&r, n - 1);
  return r;
}

/* The mixed test; variance is v, of `sentences` sentences. r is of seeds_compare, not yet corrected. */
static seed_test mixed_compare(seed_test r, double variance, size_t sentences) {
  double of_seeds, total, freedom;
  if (sentences < 2) r.n = 0;
  if (!r.n) return r;
  of_seeds = r.deviation * r.deviation / (double)r.n;
  total = of_seeds + variance;
  freedom = total * total / (of_seeds * of_seeds / (double)(r.n - 1) +
                             variance * variance / (double)(sentences - 1));
  r.deviation = sqrt(total * (double)r.n);
  test_fill(&r, (size_t)freedom);
  return r;
}

/* Corrects the p of `count` rows; those that were not tested do not count. */
static void holm_correct(seed_test *r, size_t count) {
  size_t i, left = 0, next;
  double least = 0.0; /* p of the row before */
  for (i = 0; i < count; i++) left += r[i].n > 0, r[i].times = 0.0;
  for (; left; left--) {
    for (next = count, i = 0; i < count; i++)
      if (r[i].n && r[i].times == 0.0 && (next == count || r[i].p < r[next].p)) next = i;
    r[next].times = (double)left;
    r[next].p *= (double)left;
    if (r[next].p > 1.0) r[next].p = 1.0;
    if (r[next].p < least) r[next].p = least;
    least = r[next].p;
  }
}

/* Seeds with which p would be below 0.05, if difference and deviation stayed as they are; 0: more
   than MOST_SEEDS, or not tested. */
static size_t seeds_wanted(const seed_test *r) {
  size_t n;
  for (n = 2; r->n && n <= MOST_SEEDS; n++)
    if (r->times * t_probability(r->difference / r->deviation * sqrt((double)n), n - 1) < 0.05)
      return n;
  return 0;
}
