/* check.h   what an exercise includes: it compares values and gradients with the expected ones

   An exercise is one C file that includes this header and defines

     static void exercise(syn_context *c, syn_tape *t) { ... }

   This header has main(): it makes a context and a tape of 4 MiB and calls exercise(). The file
   computes one tensor after the other and shows each of them to the checker at once:

     check(NAME, tensor)                    its numbers
     check_gradient(NAME, tensor)           its gradient, after syn_backward
     check_array(NAME, x, rows, columns)    an array of floats of your own, row-major

   The first tensor that is wrong is reported, and the program ends there: what follows from a wrong
   number is wrong, too. HOLE marks what a student has to write. It is 0, or a null pointer, so that
   the file compiles, and operations of the tape on a null pointer give a null pointer.
   Of "NAME before a step" and "NAME after a step" the checker says how far NAME moved.

   A NEW EXERCISE NN (teachers)
     1. Write solutions/NN_name.c: all is computed and shown, the simplest operations first. Show
        each tensor that depends on a hole before the next hole uses it.
     2. `make values N=NN` runs it and writes what it shows to expected/NN.values.
     3. Copy it to exercises/NN_name.c; replace what students should write by HOLE, and say in a
        comment what belongs there. Keep the calls of check: names and order must be the same.
     4. `make check N=NN` must report the first hole, `make solutions N=NN` must pass.
   Checking needs only exercises/, expected/ and this file: solutions/ may be left out.

   NUMBERS OF A STUDENT    With STUDENT=ada in the environment, check_seed and check_vary give other
   numbers than without, and others for each name (and each KEY, if there is one). An exercise draws
   its numbers from syn_random r = {check_seed(22)}, or changes an array by check_vary(x, count).

   TOLERANCE    A number is right if it differs from the expected one by at most 1e-4 times the
   largest number of the expected tensor (1e-6, where all of those are 0). So the order in which you
   add does not matter, an omitted term does. Infinite numbers must be equal. */

#ifndef CHECK_H
#define CHECK_H
#include "course.h"

#define HOLE 0

enum { CHECK_VALUES = 200, CHECK_NAME = 80, CHECK_SIZE = 256, CHECK_SIDE = 1000 };
enum { CHECK_LISTED = 6 }; /* names of right values in a report, at most */

/* One value as it is expected: x [rows, columns]. */
typedef struct check_entry {
  char name[CHECK_NAME];
  int rows, columns;
  float *x;
} check_entry;

/* Values as a file has them. */
typedef struct check_list {
  check_entry entries[CHECK_VALUES];
  int count;
} check_list;

static struct check_state {
  FILE *write; /* not null: the values are written here instead of being compared */
  check_list expected;
  int done;
  uint64_t student;      /* a hash of STUDENT and KEY; 0: no student */
  int grades;            /* 1: values of a submission are compared, see check_grade */
  check_list theirs, given; /* of a submission, of the exercise as it is handed out */
  char shown[CHECK_VALUES][CHECK_NAME]; /* names, for check_grade */
  int gradient;       /* 1: what is shown is a gradient of the tape */
  const char *number; /* "04" */
  syn_context *c;
} check_all;

/* -- hints: what a wrong value has in common with the expected one -- */

static int check_size(const check_entry *e) { return e->rows * e->columns; }

static double check_largest(const check_entry *e) {
  double largest = 0;
  int i;
  for (i = 0; i < check_size(e); i++)
    if (isfinite(e->x[i]) && fabs((double)e->x[i]) > largest) largest = fabs((double)e->x[i]);
  return largest;
}

static int check_near(double given, double expected, double largest) {
  if (!isfinite(given) || !isfinite(expected)) return given == expected;
  return fabs(given - expected) <= (largest > 0 ? 1e-4 * largest : 1e-6);
}

/* 1: every number is an integer */
static int check_is_whole(const check_entry *e) {
  int i;
  for (i = 0; i < check_size(e); i++)
    if (floorf(e->x[i]) != e->x[i]) return 0;
  return 1;
}

/* How many numbers of g are not factor * e + term. */
static int check_wrong(const check_entry *e, const check_entry *g, double factor, double term) {
  double largest = check_largest(e) * fabs(factor);
  int i, wrong = 0;
  for (i = 0; i < check_size(e); i++)
    wrong += !check_near((double)g->x[i], factor * (double)e->x[i] + term, largest);
  return wrong;
}

static int check_all_are(const check_entry *g, double number) {
  int i;
  for (i = 0; i < check_size(g); i++)
    if (!((double)g->x[i] == number)) return 0;
  return 1;
}

/* 1: g is e with rows and columns exchanged. */
static int check_transposed(const check_entry *e, const check_entry *g) {
  double largest = check_largest(e);
  int i, j;
  if (g->rows != e->columns || g->columns != e->rows) return 0;
  for (i = 0; i < e->rows; i++)
    for (j = 0; j < e->columns; j++)
      if (!check_near((double)g->x[j * g->columns + i], (double)e->x[i * e->columns + j], largest))
        return 0;
  return e->rows > 1 && e->columns > 1;
}

/* 1: e is square, and above its diagonal every number is 0, or every number is -infinity. */
static int check_causal(const check_entry *e) {
  int i, j;
  if (e->rows != e->columns || e->rows < 2) return 0;
  for (i = 0; i < e->rows; i++)
    for (j = i + 1; j < e->columns; j++)
      if (e->x[i * e->columns + j] != e->x[1]) return 0;
  return e->x[1] == 0.0f || (isinf(e->x[1]) && e->x[1] < 0);
}

/* How many numbers of g are wrong above the diagonal, or else on it and below. */
static int check_wrong_half(const check_entry *e, const check_entry *g, int above) {
  double largest = check_largest(e);
  int i, wrong = 0;
  for (i = 0; i < check_size(e); i++)
    if ((i % e->columns > i / e->columns) == above)
      wrong += !check_near((double)g->x[i], (double)e->x[i], largest);
  return wrong;
}

/* A hint about a causal mask; 0: the mask is not what is wrong. */
static int check_mask_hint(const check_entry *e, const check_entry *g, char *out, size_t capacity) {
  int below = check_wrong_half(e, g, 0), n = e->columns, diagonal = 0, i;
  double hidden = (double)e->x[1] + 0; /* no -0 */
  for (i = 0; i < n; i++) diagonal += g->x[i * n + i] == e->x[1];
  if (below && below == diagonal && !check_wrong_half(e, g, 1))
    return snprintf(out, capacity, "the diagonal is masked, too: a token may look at itself");
  if (!below && isinf(e->x[1]) && g->x[1] < -1000.0f)
    return snprintf(out, capacity, "above the diagonal (column > row) every number should be"
                                   " -INFINITY: a large negative number hides nothing from scores"
                                   " that are as large");
  if (!below)
    return snprintf(out, capacity, "the causal mask is missing or incomplete: above the diagonal"
                                   " (column > row) every number should be %g", hidden);
  if (!isinf(e->x[1])) return 0;
  for (i = 0; i < check_size(e); i++) /* a mask of 1 and 0, or a mask that was multiplied */
    if (i % n <= i / n && g->x[i] != g->x[0]) return 0;
  return snprintf(out, capacity, "a mask is added to the scores: 0 where a token may look,"
                                 " -infinity where it may not");
}

/* out: the softmax of each row of a; causal: of the columns up to the number of the row */
static void check_softmax(const check_entry *a, int causal, float *out) {
  int i, j;
  for (i = 0; i < a->rows; i++) {
    double sum = 0;
    int count = causal && i < a->columns ? i + 1 : a->columns;
    for (j = 0; j < count; j++) sum += exp((double)a->x[i * a->columns + j]);
    for (j = 0; j < a->columns; j++)
      out[i * a->columns + j] =
          j < count ? (float)(exp((double)a->x[i * a->columns + j]) / sum) : 0.0f;
  }
}

/* A hint about a softmax of the wrong numbers, or one too many; 0: that is not what is wrong. */
static int check_softmax_hint(const check_entry *e, const check_entry *g, char *out,
                              size_t capacity) {
  float once[CHECK_SIZE], twice[CHECK_SIZE];
  check_entry first = *e, second = *e;
  int i, causal;
  first.x = once, second.x = twice;
  for (i = 0; i < check_all.done; i++) {
    const check_entry *o = &check_all.expected.entries[i];
    if (o->rows != g->rows || o->columns != g->columns || check_size(o) > CHECK_SIZE) continue;
    check_softmax(o, 0, once);
    if (!check_wrong(&first, g, 1, 0))
      return snprintf(out, capacity, "this is the softmax of \"%s\": of another tensor, or is a"
                                     " factor missing in it?", o->name);
    for (causal = 0; causal <= check_causal(e); causal++) {
      check_softmax(&first, causal, twice);
      if (!check_wrong(&second, g, 1, 0))
        return snprintf(out, capacity, "a softmax was taken twice");
    }
  }
  return 0;
}

/* Number i, j of a b, or of a^T b; 0 where the shapes do not fit g: see check_is_product. */
static double check_product(const check_entry *a, int transposed, const check_entry *b, int i,
                            int j) {
  int n = transposed ? a->rows : a->columns, k;
  double sum = 0;
  for (k = 0; k < n; k++)
    sum += (double)a->x[transposed ? k * a->columns + i : i * a->columns + k] *
           (double)b->x[k * b->columns + j];
  return sum;
}
static int check_is_product(const check_entry *a, int transposed, const check_entry *b,
                            const check_entry *g) {
  int rows = transposed ? a->columns : a->rows, inner = transposed ? a->rows : a->columns, i;
  if (rows != g->rows || inner != b->rows || b->columns != g->columns) return 0;
  for (i = 0; i < check_size(g); i++)
    if (!check_near((double)g->x[i], check_product(a, transposed, b, i / g->columns,
                    i % g->columns), check_largest(g))) return 0;
  return 1;
}
static int check_is_elementwise(const check_entry *a, const check_entry *b, const check_entry *g) {
  int i;
  if (a->rows != g->rows || a->columns != g->columns) return 0;
  if (b->rows != g->rows || b->columns != g->columns) return 0;
  for (i = 0; i < check_size(g); i++)
    if (!check_near((double)g->x[i], (double)a->x[i] * (double)b->x[i], check_largest(g)))
      return 0;
  return 1;
}

/* A hint that g is a product of two values that were shown before; 0: it is none. */
static int check_product_hint(const check_entry *g, char *out, size_t capacity) {
  int i, n = check_all.done;
  for (i = 0; i < n * n; i++) {
    const check_entry *all = check_all.expected.entries, *a = &all[i / n], *b = &all[i % n];
    if (check_is_elementwise(a, b, g))
      return snprintf(out, capacity, "this is \"%s\" times \"%s\", number by number: is a term"
                                     " missing?", a->name, b->name);
    if (check_is_product(a, 1, b, g))
      return snprintf(out, capacity, "this is the product of the transposed \"%s\" and \"%s\": the"
                                     " wrong index, or the wrong tensors?", a->name, b->name);
    if (check_is_product(a, 0, b, g))
      return snprintf(out, capacity, "this is the product of \"%s\" and \"%s\": the wrong"
                                     " tensors?", a->name, b->name);
  }
  return 0;
}

/* The column of e whose numbers column j of g has: j, if it is right; -1: none. */
static int check_column_of(const check_entry *e, const check_entry *g, int j) {
  double largest = check_largest(e);
  int i, k, n = e->columns, same;
  for (k = 0; k < n; k++) {
    int from = (j + k) % n;
    for (same = 1, i = 0; i < e->rows; i++)
      same &= check_near((double)g->x[i * n + j], (double)e->x[i * n + from], largest);
    if (same) return from;
  }
  return -1;
}

/* A hint about whole columns that were exchanged or repeated; 0: that is not what is wrong. */
static int check_columns_hint(const check_entry *e, const check_entry *g, char *out,
                              size_t capacity) {
  int from, j, wrong = -1, last = -1, used[CHECK_SIZE] = {0}, twice = 0;
  if (e->rows < 2 || e->columns < 2 || e->columns > CHECK_SIZE) return 0;
  for (j = 0; j < e->columns; j++) {
    from = check_column_of(e, g, j);
    if (from < 0) return 0;
    twice |= used[from]++;
    if (from != j && wrong < 0) wrong = j, last = from;
  }
  if (!twice) return snprintf(out, capacity, "the right columns in the wrong order");
  return snprintf(out, capacity, "column %d has the numbers of column %d: the wrong formula, or the"
                                 " wrong index?", wrong, last);
}

/* A hint that half of the columns or more are right, and which are not; 0: more are wrong. */
static int check_some_columns_hint(const check_entry *e, const check_entry *g, char *out,
                                   size_t capacity) {
  char list[40] = "";
  int j, wrong = 0;
  for (j = 0; j < e->columns; j++) {
    if (check_column_of(e, g, j) == j) continue;
    if (++wrong > CHECK_LISTED) return 0;
    snprintf(list + strlen(list), sizeof list - strlen(list), wrong > 1 ? ", %d" : "%d", j);
  }
  if (e->rows < 3 || 2 * wrong > e->columns) return 0;
  return snprintf(out, capacity, "only column%s %s (from 0) %s wrong", wrong > 1 ? "s" : "", list,
                  wrong > 1 ? "are" : "is");
}

/* "bits of x": four bytes of a float, the highest first. */
static float check_float_of(const check_entry *a) {
  uint32_t bits = 0;
  float x;
  int i;
  for (i = 0; i < 4; i++) bits = bits << 8 | (uint32_t)(a->x[i] >= 0 ? a->x[i] : 0);
  memcpy(&x, &bits, sizeof x);
  return x;
}
static int check_bits_hint(const check_entry *e, const check_entry *g, char *out, size_t capacity) {
  double want = (double)check_float_of(e), given = (double)check_float_of(g);
  if (!check_near(given, want, fabs(want)))
    return snprintf(out, capacity, "as a float: expected %.9g, yours %.9g", want, given);
  return snprintf(out, capacity, "only the last bits differ, expected %.9g, yours %.9g: the order"
                                 " of a sum, or a product that is rounded before it is added (fmaf"
                                 " rounds once)", want, given);
}

/* 1: row 0 is right, and every other row has a wrong number. */
static int check_only_row_0(const check_entry *e, const check_entry *g) {
  double largest = check_largest(e);
  int i, j, good;
  for (i = 0; i < e->rows; i++) {
    for (good = 1, j = i * e->columns; j < (i + 1) * e->columns; j++)
      good &= check_near((double)g->x[j], (double)e->x[j], largest);
    if (good != (i == 0)) return 0;
  }
  return e->rows > 2;
}

/* The difference that all wrong numbers have, if at least two are wrong; 0: they have several. */
static double check_same_difference(const check_entry *e, const check_entry *g) {
  double largest = check_largest(e), difference = 0;
  int i, wrong = 0;
  for (i = 0; i < check_size(e); i++) {
    double here = (double)g->x[i] - (double)e->x[i];
    if (check_near((double)g->x[i], (double)e->x[i], largest)) continue;
    if (!isfinite(here) || (wrong && !check_near(here, difference, largest))) return 0;
    if (!wrong) difference = here;
    wrong++;
  }
  return wrong > 1 ? difference : 0;
}

/* A hint about "NAME after a step", from "NAME before a step": how far did it move? */
static int check_step_hint(const check_entry *e, const check_entry *g, char *out, size_t capacity) {
  const char *after = strstr(e->name, " after a step");
  size_t length = after ? (size_t)(after - e->name) : 0;
  int i;
  for (i = 0; after && i < check_all.done; i++) {
    const check_entry *o = &check_all.expected.entries[i];
    double moved = (double)g->x[0] - (double)o->x[0], right = (double)e->x[0] - (double)o->x[0];
    if (strncmp(o->name, e->name, length) || strcmp(o->name + length, " before a step")) continue;
    return snprintf(out, capacity, "it moved by %.6g, it should move by %.6g%s", moved, right,
                    moved * right < 0 ? ": the wrong way" : "");
  }
  return 0;
}

/* 1: each row of a sums to 0, as the gradient of the numbers before a softmax does. */
static int check_sums_to_zero(const check_entry *a) {
  int i, j;
  for (i = 0; i < a->rows; i++) {
    double sum = 0;
    for (j = 0; j < a->columns; j++) sum += (double)a->x[i * a->columns + j];
    if (!(fabs(sum) < 1e-4 * check_largest(a))) return 0;
  }
  return a->columns > 1;
}

/* 1: in each column the wrong numbers differ from the right ones by one number, in all rows. */
static int check_same_row(const check_entry *e, const check_entry *g) {
  double largest = check_largest(e);
  int i, n = e->columns;
  for (i = n; i < check_size(e); i++)
    if (!check_near((double)g->x[i] - (double)e->x[i], (double)g->x[i % n] - (double)e->x[i % n],
                    largest)) return 0;
  return e->rows > 2 && n > 1;
}

/* 1: the rows of a sum to 1, and not all numbers are whole; by_column: the columns do */
static int check_sums_to_one(const check_entry *a, int by_column) {
  int outer = by_column ? a->columns : a->rows, inner = by_column ? a->rows : a->columns, i, j;
  int shares = 0;
  for (i = 0; i < outer; i++) {
    double sum = 0;
    for (j = 0; j < inner; j++) {
      double x = (double)a->x[by_column ? j * a->columns + i : i * a->columns + j];
      shares |= x > 0 && x < 1;
      sum += x;
    }
    if (!(fabs(sum - 1) < 1e-3)) return 0;
  }
  return inner > 1 && shares;
}

/* The factor between the two at the largest expected number. */
static double check_factor(const check_entry *e, const check_entry *g) {
  int i, at = 0;
  for (i = 1; i < check_size(e); i++)
    if (isfinite(e->x[i]) && fabsf(e->x[i]) > fabsf(e->x[at])) at = i;
  return e->x[at] != 0.0f ? (double)g->x[at] / (double)e->x[at] : 0.0;
}

/* 1: a factor worth naming. One number is a multiple of any other: there it must be k or 1/k. */
static int check_is_ratio(const check_entry *e, double factor) {
  double k = fabs(factor) < 1 ? 1 / factor : factor;
  if (!isfinite(k) || factor == 0 || fabs(k) < 1.001) return 0;
  return check_size(e) > 1 || (fabs(k) < 64.5 && fabs(k - floor(k + 0.5)) < 1e-3);
}

/* A hint about all numbers at once: one cause that leaves nothing right; 0: none is known. */
static int check_hint_of_all(const check_entry *e, const check_entry *g, char *out,
                             size_t capacity) {
  int i;
  for (i = 0; i < check_size(g); i++)
    if (isnan(g->x[i]))
      return snprintf(out, capacity, "NaN: 0/0, the root of a number below 0, or infinite minus"
                                     " infinite; or an input that is NaN");
  if (!strncmp(e->name, "hash", 4))
    return snprintf(out, capacity, "one wrong bit changes all bytes of a hash: is it each byte"
                                   " once, ^= before *=, the right prime?");
  if (check_all_are(g, 0) && check_all.gradient)
    return snprintf(out, capacity, "every gradient is 0: was syn_backward called, and with a loss"
                                   " that depends on this tensor?");
  if (check_all_are(g, 0))
    return snprintf(out, capacity, "all numbers are 0: still a hole, never computed, or an int"
                                   " divided by an int (in C, 1 / 4 is 0)?");
  if (!strncmp(e->name, "bits of", 7) && check_size(g) == 4)
    return check_bits_hint(e, g, out, capacity);
  if (check_transposed(e, g))
    return snprintf(out, capacity, "transposed: row i, column j has what row j, column i should");
  return 0;
}

/* A hint about one difference of all numbers: a sign, a factor, a term; 0: there is none. */
static int check_difference_hint(const check_entry *e, const check_entry *g, char *out,
                                 size_t capacity) {
  double factor = check_factor(e, g), term = (double)g->x[0] - (double)e->x[0];
  int share = e->rows == 1 && check_sums_to_one(e, 0); /* any other sum looks like a factor */
  if (!check_wrong(e, g, -1, 0))
    return snprintf(out, capacity, "the sign: every number is minus the expected one");
  if (!share && check_is_ratio(e, factor) && !check_wrong(e, g, factor, 0))
    return snprintf(out, capacity, "a factor: every number is %.6g times the expected one", factor);
  if (check_size(e) > 1 && isfinite(term) && !check_wrong(e, g, 1, term))
    return snprintf(out, capacity, "a term: every number is the expected one plus %.6g", term);
  return 0;
}

/* A hint about some of the numbers: rows, columns, single ones; 0: none is known. */
static int check_hint_of_some(const check_entry *e, const check_entry *g, char *out,
                              size_t capacity) {
  double by;
  if (check_sums_to_one(e, 0) && check_sums_to_one(g, 1))
    return snprintf(out, capacity, "the columns sum to 1, the rows should");
  if (check_sums_to_one(e, 0) && !check_sums_to_one(g, 0))
    return snprintf(out, capacity, "every row should sum to 1");
  if (check_same_row(e, g))
    return snprintf(out, capacity, "every row differs from the expected one by the same row: is a"
                                   " bias missing, or one too many?");
  if (check_columns_hint(e, g, out, capacity)) return 1;
  if (check_size(e) > 3 && check_largest(e) > 0 && check_wrong(e, g, 1, 0) == 1)
    return snprintf(out, capacity, "only one number is wrong: the first or last of a loop, or a"
                                   " case of its own?");
  by = check_largest(e) > 0 ? check_same_difference(e, g) : 0;
  if (check_is_whole(e) && fabs(fabs(by) - 1) < 1e-3)
    return snprintf(out, capacity, "each wrong number is 1 too %s: rounded the other way, or the"
                                   " end of a loop?", by > 0 ? "large" : "small");
  if (by < 0 || by > 0)
    return snprintf(out, capacity, "each wrong number is %.6g too %s: a term that counts in these"
                                   " places only, or an int divided by an int (in C, 1 / 4 is 0)?",
                    fabs(by), by > 0 ? "large" : "small");
  if (check_sums_to_zero(e) && !check_sums_to_zero(g))
    return snprintf(out, capacity, "every row should sum to 0");
  if (!check_causal(e) && check_some_columns_hint(e, g, out, capacity)) return 1;
  if (check_only_row_0(e, g) && !strncmp(e->name, "answers", 7))
    return snprintf(out, capacity, "row 0 is right, all later rows are wrong: row 0 sees itself"
                                   " alone, so it is right whatever the scores are");
  if (!check_causal(e) && check_only_row_0(e, g))
    return snprintf(out, capacity, "row 0 is right, all later rows are wrong: the row's index, or"
                                   " what comes from the rows before?");
  return 0;
}

/* A hint that g has the numbers of one of the values first .. end-1; 0: it has not. */
static int check_other_hint(int first, int end, const check_entry *g, char *out, size_t capacity) {
  int i;
  for (i = first; i < end; i++) {
    const check_entry *o = &check_all.expected.entries[i];
    if (o->rows == g->rows && o->columns == g->columns && !check_wrong(o, g, 1, 0))
      return snprintf(out, capacity, "these are the numbers of \"%s\": the wrong tensor, or"
                                     " a term or factor without effect?", o->name);
  }
  return 0;
}

/* Writes what the error looks like; 0: like none that is known. The values that were shown before
   come first: a later one may have these numbers, too, without being the cause. */
static int check_hint(const check_entry *e, const check_entry *g, char *out, size_t capacity) {
  int same = e->rows == g->rows && e->columns == g->columns;
  if (check_hint_of_all(e, g, out, capacity)) return 1;
  if (same && check_step_hint(e, g, out, capacity)) return 1;
  if (same && check_causal(e) && check_mask_hint(e, g, out, capacity)) return 1;
  if (check_other_hint(0, check_all.done, g, out, capacity)) return 1;
  if (same && check_difference_hint(e, g, out, capacity)) return 1;
  if (check_other_hint(check_all.done + 1, check_all.expected.count, g, out, capacity)) return 1;
  if (!same) return 0;
  if (check_size(g) > 3 && check_product_hint(g, out, capacity)) return 1;
  if (check_sums_to_one(e, 0) && check_softmax_hint(e, g, out, capacity)) return 1;
  return check_hint_of_some(e, g, out, capacity);
}

/* -- the report -- */

static void check_begin_report(const char *name) {
  int i;
  int first = check_all.done > CHECK_LISTED ? check_all.done - CHECK_LISTED : 0;
  printf("exercise %s\n  correct up to here: ", check_all.number);
  if (first) printf("%d values, the last of them: ", check_all.done);
  for (i = first; i < check_all.done; i++)
    printf("%s%s", i > first ? "; " : "", check_all.expected.entries[i].name);
  printf("%s\n  FIRST WRONG: %s\n", check_all.done ? "" : "nothing yet", name);
}

static void check_stop(void) {
  if (check_all.c->status) printf("    the library says: %s\n", check_all.c->message);
  fflush(stdout);
  exit(1);
}

static void check_report(const check_entry *e, const check_entry *g) {
  char hint[260];
  double largest = check_largest(e);
  int i, n = check_size(e);
  check_begin_report(e->name);
  printf("    shape [%d,%d]", g->rows, g->columns);
  if (e->rows != g->rows || e->columns != g->columns)
    printf(", expected [%d,%d]\n", e->rows, e->columns);
  else {
    for (i = 0; i < n && check_near((double)g->x[i], (double)e->x[i], largest); i++) continue;
    if (n > 1)
      printf("; %d of %d numbers are wrong; row %d, column %d (from 0)", check_wrong(e, g, 1, 0),
             n, i / e->columns, i % e->columns);
    printf(": expected %.6g, yours %.6g\n", (double)e->x[i] + 0, (double)g->x[i] + 0); /* no -0 */
  }
  if (!check_all.c->status && check_hint(e, g, hint, sizeof hint)) printf("    hint: %s\n", hint);
  check_stop();
}

static void check_write(const char *name, const check_entry *g) {
  int i;
  fprintf(check_all.write, "%s\n%d %d\n", name, g->rows, g->columns);
  for (i = 0; i < check_size(g); i++)
    fprintf(check_all.write, "%.9g%c", (double)g->x[i], (i + 1) % g->columns ? ' ' : '\n');
  fflush(check_all.write); /* a crash comes later */
}

/* Of the values with this name the one with this number, from 0. Null: there is none. */
static const check_entry *check_find(const check_list *l, const char *name, int number) {
  int i;
  for (i = 0; i < l->count; i++)
    if (!strcmp(l->entries[i].name, name) && number-- == 0) return &l->entries[i];
  return NULL;
}
static int check_equal(const check_entry *e, const check_entry *g) {
  return g && e->rows == g->rows && e->columns == g->columns && !check_wrong(e, g, 1, 0);
}

/* Called by the solution, whose value is e: a line "student","exercise","value",points with 1 point
   for a right value of the submission. What the exercise shows before anything is filled is no
   achievement: it has no line. */
static void check_grade(const char *name, const check_entry *e) {
  int number = 0, i;
  for (i = 0; i < check_all.done; i++) number += !strcmp(check_all.shown[i], name);
  if (check_all.done < CHECK_VALUES)
    snprintf(check_all.shown[check_all.done++], CHECK_NAME, "%s", name);
  if (check_equal(e, check_find(&check_all.given, name, number))) return;
  printf("\"%s\",\"%s\",\"%s\",%d\n", getenv("STUDENT"), check_all.number, name,
         check_equal(e, check_find(&check_all.theirs, name, number)));
}

/* -- what an exercise calls -- */

/* A seed for the numbers of an exercise, another one for each student. */
static inline uint64_t check_seed(uint64_t seed) { return seed + check_all.student; }

/* Makes each number larger, by 1/16 to 8/16 of it, which the student's name decides. */
static inline void check_vary(float *x, int count) {
  syn_random r;
  int i;
  r.state = check_all.student;
  for (i = 0; check_all.student && i < count; i++)
    x[i] *= 1 + (float)(1 + syn_random_below(&r, 8)) / 16;
}

static inline void check_array(const char *name, const float *x, int rows, int columns) {
  const check_entry *e = &check_all.expected.entries[check_all.done];
  check_entry g;
  memset(&g, 0, sizeof g);
  g.rows = rows, g.columns = columns;
  g.x = (float *)x;
  if (check_all.write && x) check_write(name, &g);
  if (check_all.grades) check_grade(name, &g);
  if ((check_all.write && x) || check_all.grades) return;
  if (!check_all.write && (check_all.done == check_all.expected.count || strcmp(e->name, name))) {
    check_begin_report(name);
    printf("    expected here: %s. Keep the calls of check and their order.\n",
           check_all.done == check_all.expected.count ? "the end" : e->name);
    check_stop();
  }
  if (!x) {
    check_begin_report(name);
    puts(check_all.c->status ? "    it is a null pointer: the operation failed"
                             : "    it is a null pointer: still a hole, or made from one");
    check_stop();
  }
  if (rows != e->rows || columns != e->columns || check_wrong(e, &g, 1, 0)) check_report(e, &g);
  check_all.done++;
}

static inline void check_numbers(const char *name, const syn_tensor *a, const float *x) {
  check_array(name, x, a ? (int)syn_rows(a) : 0, a ? syn_width(a) : 0);
}
static inline void check(const char *name, const syn_tensor *a) {
  check_numbers(name, a, a ? a->x : NULL);
}
static inline void check_gradient(const char *name, const syn_tensor *a) {
  check_all.gradient = 1;
  check_numbers(name, a, a ? a->dx : NULL);
  check_all.gradient = 0;
}

/* -- the program -- */

static void exercise(syn_context *c, syn_tape *t); /* of the file that includes this one */

/* Reads values: for each a line with its name, "rows columns", then the numbers. 0: an error. */
static int check_read(const char *path, check_list *l) {
  FILE *f = fopen(path, "r");
  int i, good = f != NULL;
  while (good && l->count < CHECK_VALUES) {
    check_entry *e = &l->entries[l->count];
    if (!fgets(e->name, CHECK_NAME, f)) break;
    e->name[strcspn(e->name, "\n")] = 0;
    good = fscanf(f, "%d %d", &e->rows, &e->columns) == 2 && e->rows > 0 && e->columns > 0 &&
           e->rows <= CHECK_SIDE && e->columns <= CHECK_SIDE;
    if (good) e->x = (float *)calloc((size_t)check_size(e), sizeof *e->x);
    for (i = 0; good && i < check_size(e); i++) good = e->x && fscanf(f, "%f", &e->x[i]) == 1;
    while (good && (i = fgetc(f)) != EOF && i != '\n') continue;
    l->count += good;
  }
  if (f) fclose(f);
  return good && l->count > 0;
}

/* STUDENT and KEY of the environment as a number. */
static uint64_t check_student(void) {
  const char *name = getenv("STUDENT"), *key = getenv("KEY");
  uint64_t hash = SYN_HASH_START;
  if (!name || !*name) return 0;
  hash = syn_hash(hash, name, strlen(name) + 1);
  return syn_hash(hash, key ? key : "", key ? strlen(key) : 0) | 1;
}

/* NUMBER of the exercise, FILE of its expected values. `write` writes that file. `grade GIVEN` of a
   solution: FILE has the values of a submission, GIVEN those of the exercise with its holes. */
int main(int count, char **args) {
  const char *what = count > 3 ? args[3] : "";
  syn_context c;
  syn_tape *t;
  if (count < 3) return fprintf(stderr, "usage: %s NUMBER FILE [write]; see check.h\n", args[0]), 2;
  check_all.number = args[1];
  check_all.student = check_student();
  check_all.c = &c;
  if (!strcmp(what, "write")) {
    check_all.write = fopen(args[2], "w");
    if (!check_all.write) return perror(args[2]), 2;
  } else if (!strcmp(what, "grade") && count > 4) {
    check_all.grades = 1;
    check_read(args[2], &check_all.theirs); /* no file: nothing was shown */
    check_read(args[4], &check_all.given);
  } else if (!check_read(args[2], &check_all.expected))
    return fprintf(stderr, "%s: no expected values\n", args[2]), 2;
  if (syn_context_init(&c, NULL)) return puts(c.message), 2;
  t = syn_tape_new(&c, (size_t)4 << 20);
  exercise(&c, t);
  if (c.status) return printf("exercise %s\n  the library says: %s\n", args[1], c.message), 1;
  syn_tape_free(t);
  if (check_all.write) return fclose(check_all.write) != 0;
  if (check_all.grades) return 0;
  if (check_all.done < check_all.expected.count)
    return check_begin_report(check_all.expected.entries[check_all.done].name),
           puts("    it was never shown: the exercise ended before it"), 1;
  return printf("exercise %s: all %d values are right\n", args[1], check_all.done), 0;
}
#endif
