/* A tape of one's own: operations, their gradients against closed forms, errors, memory. */
#if defined(_OPENMP) && defined(__linux__)
#define _GNU_SOURCE /* syscall */
#include <sys/syscall.h>
#include <unistd.h>
#endif
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"
#include "heap.h"
#include "pool.h"

static size_t count_of(const syn_tensor *a) {
  size_t n = 1;
  int i;
  for (i = 0; i < a->rank; i++) n *= (size_t)a->shape[i];
  return n;
}

/* A tensor [rows,columns], or [columns] when rows is 0, of normal numbers. */
static syn_tensor *filled(syn_tape *t, int rows, int columns, uint64_t seed) {
  int shape[2];
  syn_tensor *a;
  syn_random r;
  size_t i;
  r.state = seed;
  shape[0] = rows ? rows : columns;
  shape[1] = columns;
  a = syn_tensor_new(t, rows ? 2 : 1, shape);
  for (i = 0; a && i < count_of(a); i++) a->x[i] = 4.0f * syn_random_uniform(&r) - 2.0f;
  return a;
}

static int near(float got, double want) { return fabs((double)got - want) <= 1e-5 * (1 + fabs(want)); }

/* -- gradients against closed forms -- */

/* y = a b + c, loss = sum(y): da = b, db = a, dc = 1; mean: a tenth of that */
/* A product larger than the blocks of syn_gemm, with a bias. */
static void test_blocks(void) {
  enum { ROWS = 3, IN = 530, OUT = 1100 };
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *w, *b, *y;
  int i, k, wrong = 0;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 23);
  x = filled(t, ROWS, IN, 71), w = filled(t, OUT, IN, 72), b = filled(t, 0, OUT, 73);
  y = syn_linear(x, w, b);
  CHECK(y, "%s", c.message);
  for (i = 0; y && i < ROWS * OUT; i++) {
    double want = (double)b->x[i % OUT];
    for (k = 0; k < IN; k++) want += (double)x->x[i / OUT * IN + k] * (double)w->x[i % OUT * IN + k];
    wrong += fabs((double)y->x[i] - want) > 1e-4;
  }
  CHECK(wrong == 0, "%d numbers of a large product", wrong);
  syn_tape_free(t);
}

static void test_linear(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *a, *b, *k, *y, *loss;
  int i, round;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  for (round = 0; round < 2; round++) {
    double scale = round ? 0.1 : 1;
    syn_tape_clear(t);
    a = filled(t, 2, 5, 1);
    b = filled(t, 2, 5, 2);
    k = filled(t, 2, 5, 3);
    y = syn_add(syn_mul(a, b), k);
    loss = round ? syn_mean(y) : syn_sum(y);
    CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
    if (!loss) continue;
    CHECK(loss->rank == 1 && loss->shape[0] == 1, "the loss is [%d]", loss->shape[0]);
    for (i = 0; i < 10; i++) {
      volatile float product = a->x[i] * b->x[i]; /* rounded: no fused multiply-add of the compiler's */
      CHECK(y->x[i] == product + k->x[i], "y[%d] = %g", i, (double)y->x[i]);
      CHECK(near(a->dx[i], scale * (double)b->x[i]) && near(b->dx[i], scale * (double)a->x[i]),
            "da[%d] = %g, db[%d] = %g", i, (double)a->dx[i], i, (double)b->dx[i]);
      CHECK(near(k->dx[i], scale), "dc[%d] = %g", i, (double)k->dx[i]);
    }
    CHECK(syn_backward(loss) == SYN_OK && near(k->dx[9], scale), "a second backward adds nothing");
  }
  syn_tape_free(t);
}

/* The same tensor on both sides: x x -> 2x, x + x -> 2, x - x -> 0. */
static void test_twice(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *loss;
  int i;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 14);
  x = filled(t, 0, 7, 5);
  loss = syn_sum(syn_add(syn_mul(x, x), syn_sub(syn_add(x, x), syn_sub(x, x))));
  CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
  for (i = 0; loss && i < 7; i++)
    CHECK(near(x->dx[i], 2 * (double)x->x[i] + 2), "dx[%d] = %g", i, (double)x->dx[i]);
  syn_tape_free(t);
}

/* loss = sum(w softmax(x)): dx_i = p_i (w_i - sum_j p_j w_j) */
static void test_softmax(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *w, *p, *loss;
  int r, i;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 14);
  x = filled(t, 3, 19, 7);
  w = filled(t, 3, 19, 8);
  p = syn_softmax(x);
  loss = syn_sum(syn_mul(p, w));
  CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
  for (r = 0; loss && r < 3; r++) {
    double sum = 0, mean = 0;
    for (i = 0; i < 19; i++) sum += exp((double)x->x[19 * r + i]);
    for (i = 0; i < 19; i++) mean += exp((double)x->x[19 * r + i]) / sum * (double)w->x[19 * r + i];
    for (i = 0; i < 19; i++) {
      double q = exp((double)x->x[19 * r + i]) / sum;
      CHECK(near(p->x[19 * r + i], q), "p[%d,%d]", r, i);
      CHECK(near(x->dx[19 * r + i], q * ((double)w->x[19 * r + i] - mean)), "dx[%d,%d]", r, i);
    }
  }
  syn_tape_free(t);
}

/* loss = sum(W (A B)): dA = W B^T, dB = A^T W; sizes beyond one packed block, too */
static void matmul_case(int m, int k, int n) {
  syn_context c;
  syn_tape *t;
  syn_tensor *a, *b, *w, *y, *loss;
  int i, j, l;
  syn_random r = {1};
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, (size_t)1 << 24);
  a = filled(t, m, k, 1);
  b = filled(t, k, n, 2);
  w = filled(t, m, n, 3);
  y = syn_matmul(a, b);
  loss = syn_sum(syn_mul(y, w));
  CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
  for (l = 0; loss && l < 40; l++) { /* some places; errors grow with the root of the length */
    double sum = 0, da = 0, db = 0, tolerance = 2e-6 * sqrt((double)(m + k + n));
    int p = syn_random_below(&r, k);
    i = syn_random_below(&r, m);
    j = syn_random_below(&r, n);
    for (p = 0; p < k; p++) sum += (double)a->x[i * k + p] * (double)b->x[p * n + j];
    p = syn_random_below(&r, k);
    for (int q = 0; q < n; q++) da += (double)w->x[i * n + q] * (double)b->x[p * n + q];
    for (int q = 0; q < m; q++) db += (double)a->x[q * k + p] * (double)w->x[q * n + j];
    CHECK(fabs((double)y->x[i * n + j] - sum) < tolerance * 8, "[%d,%d,%d] y[%d,%d]", m, k, n, i, j);
    CHECK(fabs((double)a->dx[i * k + p] - da) < tolerance * 8, "[%d,%d,%d] da[%d,%d]", m, k, n, i, p);
    CHECK(fabs((double)b->dx[p * n + j] - db) < tolerance * 8, "[%d,%d,%d] db[%d,%d]", m, k, n, p, j);
  }
  syn_tape_free(t);
}

/* y, da and db of such a product, one behind the other, by the kernels of an ISA and so many threads, below 0:
   of a pool. */
static float *product_by(const char *isa, int threads, int m, int k, int n) {
  size_t mn = (size_t)m * (size_t)n, mk = (size_t)m * (size_t)k, kn = (size_t)k * (size_t)n;
  float *all = (float *)malloc((mn + mk + kn) * sizeof *all);
  syn_options o;
  syn_context c;
  syn_tape *t;
  syn_tensor *a, *b, *y, *loss;
  if (!all) exit(2);
  memset(&o, 0, sizeof o);
  o.isa = isa, o.threads = threads < 0 ? -threads : threads;
  if (threads < 0) o.parallel = pool_in_turn;
  CHECK(syn_context_init(&c, &o) == SYN_OK, "%s", c.message);
  t = syn_tape_new(&c, (size_t)1 << 24);
  a = filled(t, m, k, 1), b = filled(t, k, n, 2);
  y = syn_matmul(a, b);
  loss = syn_sum(syn_mul(y, filled(t, m, n, 3)));
  CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
  if (!loss) exit(2);
  memcpy(all, y->x, mn * sizeof *all);
  memcpy(all + mn, a->dx, mk * sizeof *all);
  memcpy(all + mn + mk, b->dx, kn * sizeof *all);
  syn_tape_free(t);
  return all;
}
/* The same bits, whatever a row of kernels packs, asks for or gives to which thread: one that stands
   for all, alone, against the best of this machine. */
static void same_product(int m, int k, int n) {
  size_t size = (size_t)m * (size_t)n + (size_t)m * (size_t)k + (size_t)k * (size_t)n;
  float *want = product_by("scalar", 1, m, k, n);
  static const int threads[] = {1, 2, 3, -2, -3, -7, -16, -SYN_MAX_THREADS};
  size_t i;
  for (i = 0; i < SYN__COUNT(threads); i += CHECK_EMULATED ? 5 : 1) {
    float *got = product_by(NULL, threads[i], m, k, n);
    CHECK(!memcmp(got, want, size * sizeof *got), "[%d,%d,%d] by %d threads", m, k, n, threads[i]);
    free(got);
  }
  free(want);
}

#if defined(_OPENMP) && defined(__linux__)
/* Of loops of few slices between loops of many: the same threads of the system run all of them. */
enum { TEAM = 4, TEAM_LOOPS = 100 };
static long team_ids[TEAM_LOOPS * TEAM];
static int team_used;
static void team_task(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const long id = syscall(SYS_gettid);
  int i;
  (void)t, (void)job, (void)thread, (void)begin, (void)end;
#pragma omp critical
  {
    for (i = 0; i < team_used && team_ids[i] != id; i++) continue;
    if (i == team_used) team_ids[team_used++] = id;
  }
}
static void test_team(void) {
  syn_options o;
  syn_context c;
  syn_tape *t;
  int i;
  memset(&o, 0, sizeof o);
  o.threads = TEAM;
  CHECK(syn_context_init(&c, &o) == SYN_OK, "%s", c.message);
  t = syn_tape_new(&c, 1);
  for (i = 0; i < TEAM_LOOPS; i++) syn_parallel(t, team_task, NULL, i % 2 ? TEAM : 2, 1);
  /* cores that are busy may halve the team now and then */
  CHECK(team_used <= 3 * TEAM, "%d loops of at most %d threads ran on %d threads", TEAM_LOOPS, TEAM,
        team_used);
  syn_tape_free(t);
}
#else
static void test_team(void) {}
#endif

/* f and f' in double, in the order of the names below */
static double act_of(int which, double x) {
  double s = 1 / (1 + exp(-x));
  if (which == 0) return x > 0 ? x : 0;
  if (which == 1) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  if (which == 5) return 0.5 * x * erfc(-x / sqrt(2));
  if (which == 6) return x / (1 + exp(-1.702 * x));
  return which == 2 ? tanh(x) : which == 3 ? s : x * s;
}

static void test_acts(void) {
  static const char *const names[] = {"relu", "gelu", "tanh", "sigmoid", "swish", "gelu_erf", "quick_gelu"};
  syn_context c;
  syn_tape *t;
  int which, i;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  for (which = 0; which < 7; which++) {
    syn_tensor *x = filled(t, 5, 9, 11), *y, *loss;
    for (i = 0; i < 45; i++) x->x[i] *= 2;
    y = syn_act(x, names[which]);
    loss = syn_sum(y);
    CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
    for (i = 0; loss && i < 45; i++) {
      double at = (double)x->x[i], h = 1e-5, want = (act_of(which, at + h) - act_of(which, at - h)) / (2 * h);
      CHECK(near(y->x[i], act_of(which, at)), "%s(%g) = %g", names[which], at, (double)y->x[i]);
      CHECK(near(x->dx[i], want), "%s'(%g) = %g, not %g", names[which], at, (double)x->dx[i], want);
    }
  }
  syn_tape_free(t);
}

/* b: the last part of the shape of a, or one number; its gradient is the sum over the repetitions. */
static void test_broadcast(void) {
  syn_context c;
  syn_tape *t;
  int i, j, one;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  for (one = 0; one < 2; one++) {
    syn_tensor *a = filled(t, 4, 3, 21), *b = filled(t, 0, one ? 1 : 3, 22), *w = filled(t, 4, 3, 23), *loss;
    syn_tensor *sum, *difference, *product;
    double db[3] = {0, 0, 0};
    sum = syn_add(a, b);
    difference = syn_sub(a, b);
    product = syn_mul(a, b);
    loss = syn_sum(syn_mul(w, syn_add(syn_scale(sum, 2.0f), syn_add(difference, product))));
    CHECK(loss && syn_backward(loss) == SYN_OK, "%s", c.message);
    if (!loss) continue;
    for (i = 0; i < 12; i++) {
      double bi = (double)b->x[one ? 0 : i % 3], wi = (double)w->x[i];
      CHECK(near(sum->x[i], (double)a->x[i] + bi) && near(difference->x[i], (double)a->x[i] - bi) &&
                near(product->x[i], (double)a->x[i] * bi), "number %d", i);
      CHECK(near(a->dx[i], wi * (2 + 1 + bi)), "da[%d]", i);
      db[one ? 0 : i % 3] += wi * (2 - 1 + (double)a->x[i]);
    }
    for (j = 0; j < (one ? 1 : 3); j++)
      CHECK(near(b->dx[j], db[j]), "db[%d] = %g, not %g", j, (double)b->dx[j], db[j]);
  }
  syn_tape_free(t);
}

/* -- gradient check, forward again -- */

static syn_tensor *all_operations(syn_tensor *x, syn_tensor *w, syn_tensor *row, syn_tensor *one) {
  syn_tensor *y = syn_act(syn_add(syn_matmul(x, w), row), "gelu");
  y = syn_mul(syn_softmax(syn_scale(y, 1.5f)), syn_act(syn_sub(y, one), "tanh"));
  return syn_add(syn_mean(syn_act(syn_mul(y, row), "swish")), syn_sum(syn_act(y, "sigmoid")));
}

static void test_check(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *leaf[4], *loss;
  float before;
  int i;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 18);
  leaf[0] = filled(t, 4, 6, 31);
  leaf[1] = filled(t, 6, 5, 32);
  leaf[2] = filled(t, 0, 5, 33);
  leaf[3] = filled(t, 0, 1, 34);
  loss = all_operations(leaf[0], leaf[1], leaf[2], leaf[3]);
  CHECK(loss, "%s", c.message);
  before = loss ? loss->x[0] : 0;
  for (i = 0; loss && i < 4; i++) {
    float error = syn_gradient_check(loss, leaf[i], 0.01f);
    CHECK(error < 2e-3f, "leaf %d: %g", i, (double)error);
    CHECK(loss->x[0] == before, "the leaves are put back, %g became %g", (double)before, (double)loss->x[0]);
  }
  leaf[3]->x[0] = 2;
  syn_tape_forward(t);
  CHECK(loss->x[0] != before, "a changed leaf changes the loss");
  CHECK(syn_gradient_check(NULL, leaf[0], 0.01f) == INFINITY, "no loss");
  CHECK(syn_gradient_check(loss, NULL, 0.01f) == INFINITY, "no leaf");
  CHECK(syn_gradient_check(leaf[0], leaf[0], 0.01f) == INFINITY && c.status == SYN_E_SHAPE, "no number");
  syn_context_clear(&c);
  leaf[0]->x[0] = NAN;
  syn_tape_forward(t);
  CHECK(!(syn_gradient_check(loss, leaf[1], 0.01f) < 1e30f), "not a number goes unseen");
  syn_tape_free(t);
}

/* A kind whose backward is wrong by a tenth is caught. */
static void wrong_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  size_t i;
  for (i = 0; i < count_of(y); i++) syn_in(t, n, 0)->dx[i] += 1.1f * syn__factor_of(n) * y->dx[i];
}
static void test_wrong_backward(void) {
  syn_kind kind = syn__kind_scale;
  syn_context c;
  syn_tape *t;
  syn_tensor *x;
  float factor = 3.0f, error;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 14);
  x = filled(t, 2, 3, 1);
  kind.backward = wrong_backward;
  error = syn_gradient_check(syn_sum(syn__record(&kind, 1, &x, &factor, sizeof factor)), x, 0.01f);
  CHECK(error > 0.05f && error < 0.15f, "a wrong gradient: %g", (double)error);
  syn_tape_free(t);
}

/* Least squares by gradient descent finds the plane. */
static void test_descent(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *w, *b, *y, *e, *loss;
  int i, step;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  x = filled(t, 30, 2, 41);
  y = filled(t, 30, 1, 42);
  w = filled(t, 2, 1, 43);
  b = filled(t, 0, 1, 44);
  for (i = 0; i < 30; i++) y->x[i] = 3 * x->x[2 * i] - x->x[2 * i + 1] + 0.5f;
  e = syn_sub(syn_add(syn_matmul(x, w), b), y);
  loss = syn_mean(syn_mul(e, e));
  for (step = 0; loss && step < 300; step++) {
    syn_backward(loss);
    for (i = 0; i < 2; i++) w->x[i] -= 0.1f * w->dx[i];
    b->x[0] -= 0.1f * b->dx[0];
    syn_tape_forward(t);
  }
  CHECK(loss && loss->x[0] < 1e-8f, "loss %g", (double)(loss ? loss->x[0] : -1));
  CHECK(fabsf(w->x[0] - 3) < 1e-3f && fabsf(w->x[1] + 1) < 1e-3f && fabsf(b->x[0] - 0.5f) < 1e-3f,
        "y = %g a %g b + %g", (double)w->x[0], (double)w->x[1], (double)b->x[0]);
  syn_tape_free(t);
}

/* -- errors -- */

static void expect(syn_context *c, const syn_tensor *a, syn_status status, const char *word) {
  CHECK(!a && c->status == status && strstr(c->message, word), "wanted %d %s, got %d %s", (int)status, word,
        (int)c->status, c->message);
  syn_context_clear(c);
}

static void test_errors(void) {
  static const int big[] = {1 << 30, 1 << 30, 1 << 30, 1 << 30}, zero[] = {3, 0}, minus[] = {-2, 4};
  syn_context c, other;
  syn_tape *t, *far;
  syn_tensor *a, *b, *x, *loss;
  int i;
  syn_context_init(&c, NULL);
  syn_context_init(&other, NULL);
  t = syn_tape_new(&c, 1 << 16);
  far = syn_tape_new(&other, 1 << 16);
  a = filled(t, 4, 3, 1);
  b = filled(t, 4, 5, 2);
  x = filled(far, 4, 3, 3);
  loss = syn_sum(a);
  expect(&c, syn_add(a, b), SYN_E_SHAPE, "add: a [4,3], b [4,5]: b must be a's shape");
  expect(&c, syn_mul(a, filled(t, 3, 3, 1)), SYN_E_SHAPE, "mul");
  expect(&c, syn_sub(filled(t, 0, 3, 1), a), SYN_E_SHAPE, "sub: a [3], b [4,3]");
  expect(&c, syn_matmul(a, b), SYN_E_SHAPE, "3");
  expect(&c, syn_matmul(a, filled(t, 0, 3, 1)), SYN_E_SHAPE, "matmul");
  expect(&c, syn_act(a, "glu"), SYN_E_VALUE, "glu");
  expect(&c, syn_act(a, NULL), SYN_E_VALUE, "act");
  expect(&c, syn_tensor_new(t, 0, zero), SYN_E_SHAPE, "rank 0");
  expect(&c, syn_tensor_new(t, 5, big), SYN_E_SHAPE, "rank 5");
  expect(&c, syn_tensor_new(t, 2, zero), SYN_E_SHAPE, "above 0");
  expect(&c, syn_tensor_new(t, 2, minus), SYN_E_SHAPE, "above 0");
  expect(&c, syn_tensor_new(t, 4, big), SYN_E_MEMORY, "the tape has");
  expect(&c, syn_add(a, x), SYN_E_VALUE, "different tapes");
  expect(&other, syn_matmul(x, a), SYN_E_VALUE, "different tapes");
  CHECK(syn_backward(a) == SYN_E_SHAPE && strstr(c.message, "12 numbers"), "%s", c.message);
  CHECK(!syn_add(a, a), "the first error stays until it is cleared");
  syn_context_clear(&c);
  expect(&c, syn_add(NULL, a), SYN_E_VALUE, "add: a is null");
  expect(&c, syn_add(a, NULL), SYN_E_VALUE, "add: b is null");
  expect(&c, syn_mul(NULL, a), SYN_E_VALUE, "mul: a is null");
  expect(&c, syn_matmul(a, NULL), SYN_E_VALUE, "matmul: b is null");
  CHECK(!syn_mul(syn_add(a, b), a) && strstr(c.message, "add: a [4,3]"), "the first cause: %s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_sub(NULL, NULL) && !syn_scale(NULL, 2) && !syn_act(NULL, "relu") && !syn_softmax(NULL) &&
            !syn_sum(NULL) && !syn_mean(NULL) && !syn_tensor_new(NULL, 1, zero) && !syn_tensor_new(t, 1, NULL),
        "null gives null");
  CHECK(syn_backward(NULL) != SYN_OK && c.status == SYN_OK, "no loss");
  syn_tape_forward(NULL);
  syn_tape_clear(NULL);
  syn_tape_free(NULL);
  CHECK(syn_backward(loss) == SYN_OK && other.status == SYN_OK, "%s", c.message);
  for (i = 0; i < 12; i++) CHECK(a->dx[i] == 1.0f, "da[%d] after all that: %g", i, (double)a->dx[i]);
  syn_tape_free(t);
  syn_tape_free(far);
}

/* A full tape: the operation is refused, whatever size the tape has; what stands on it goes on. */
static void test_full(void) {
  syn_context c;
  size_t bytes;
  int refused = 0, done = 0;
  for (bytes = 0; bytes < 6000; bytes += 64) {
    syn_tape *t;
    syn_tensor *a, *loss, *more;
    syn_context_init(&c, NULL);
    t = syn_tape_new(&c, bytes);
    CHECK(t, "%s", c.message);
    a = filled(t, 4, 4, 1);
    loss = syn_sum(a);
    more = syn_softmax(syn_matmul(a, syn_act(a, "tanh")));
    if (more) done++;
    else {
      refused++;
      CHECK(c.status == SYN_E_MEMORY && strstr(c.message, "bytes left"), "%lu: %s", (unsigned long)bytes, c.message);
    }
    syn_context_clear(&c);
    syn_tape_forward(t);
    if (loss) CHECK(syn_backward(loss) == SYN_OK && a->dx[15] == 1.0f, "%lu bytes", (unsigned long)bytes);
    if (loss) CHECK(syn_gradient_check(loss, a, 0.125f) < 1e-4f, "%lu bytes", (unsigned long)bytes);
    syn_tape_clear(t);
    CHECK(t->block_used == 0 && t->g->n_nodes == 0 && t->g->n_values == 0, "a cleared tape is empty");
    syn_tape_free(t);
  }
  CHECK(refused > 5 && done > 5, "%d refused, %d done", refused, done);
}

static void test_many(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *y, *last = NULL;
  long i;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, (size_t)1 << 20);
  x = y = filled(t, 0, 1, 1);
  for (i = 0; (y = syn_scale(y, 1.0f)) != NULL && i < 100000; i++) last = y;
  CHECK(i == 4095 && c.status == SYN_E_MEMORY && strstr(c.message, "4096"), "%ld: %s", i, c.message);
  CHECK(syn_backward(last) == SYN_OK && x->dx[0] == 1.0f, "through all of them: %g", (double)x->dx[0]);
  syn_tape_free(t);
}

/* Refusing any allocation leaves nothing behind. */
static int small_work(syn_context *c) {
  static const int ids[] = {1, 0, 3, 3};
  syn_tape *t = syn_tape_new(c, 1 << 16);
  syn_tensor *x, *loss = NULL;
  int i;
  if (!t) return 0;
  x = filled(t, 4, 4, 1);
  for (i = 0; x && i < 40; i++) x = syn_softmax(syn_matmul(x, x));
  x = syn_concat(syn_slice(x, 0, 2), syn_slice(syn_transpose(x), 1, 3));
  if (x) loss = syn_cross_entropy(syn_lookup(x, ids, 4), ids);
  if (loss) syn_backward(loss);
  syn_tape_free(t);
  return loss != NULL;
}
static void test_memory(void) {
  syn_context c;
  heap h;
  long calls, n;
  context_on(&c, &h, 0);
  CHECK(small_work(&c) && h.blocks == 0, "%s, %ld blocks left", c.message, h.blocks);
  calls = h.calls;
  for (n = 1; n <= calls; n++) {
    context_on(&c, &h, n);
    CHECK(!small_work(&c) && c.status == SYN_E_MEMORY, "refused call %ld went unseen: %s", n, c.message);
    CHECK(h.blocks == 0, "refused call %ld: %ld blocks left", n, h.blocks);
  }
}

/* -- text -- */

static void test_text(void) {
  static const char want[] = "         1       -2.5  3.142e-05\n       inf      1e+10          0\n";
  static const float numbers[] = {1, -2.5f, 3.14159e-5f, INFINITY, 1e10f, 0};
  syn_context c;
  syn_tape *t;
  syn_tensor *a;
  char out[100];
  size_t room, size = sizeof want - 1;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 12);
  a = filled(t, 2, 3, 1);
  memcpy(a->x, numbers, sizeof numbers);
  for (room = 0; room <= sizeof out; room++) {
    size_t fits = room == 0 ? 0 : room - 1 < size ? room - 1 : size;
    memset(out, '?', sizeof out);
    CHECK(syn_tensor_text(a, out, room) == size, "its size, room %lu", (unsigned long)room);
    CHECK(!memcmp(out, want, fits) && (room == 0 || out[fits] == 0) && (room >= sizeof out || out[room] == '?'),
          "room %lu: %.*s", (unsigned long)room, (int)fits, out);
  }
  CHECK(syn_tensor_text(NULL, out, sizeof out) == 0 && out[0] == 0, "no tensor");
  syn_tape_free(t);
}

/* -- operations of lessons: their numbers, their gradients by finite differences -- */

/* x with weights w of its own size: a loss whose gradient differs from number to number. */
static syn_tensor *weighted(syn_tape *t, syn_tensor *x, uint64_t seed) {
  syn_tensor *w = x ? syn_tensor_new(t, x->rank, x->shape) : NULL;
  syn_random r = {seed};
  size_t i;
  for (i = 0; w && i < count_of(w); i++) w->x[i] = 4.0f * syn_random_uniform(&r) - 2.0f;
  return syn_sum(syn_mul(x, w));
}
static void gradient(const char *what, syn_context *c, syn_tensor *loss, syn_tensor *leaf, float h) {
  float error = syn_gradient_check(loss, leaf, h);
  CHECK(loss && error < 2e-3f, "%s: %g %s", what, (double)error, c->message);
}

/* A number that needs no gradient check: y is exactly a copy of numbers of x. */
static void test_copies(void) {
  static const int ids[] = {2, 0, 2, 3};
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *o, *y;
  int i, j;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  x = filled(t, 4, 3, 51), o = filled(t, 4, 2, 52);
  y = syn_transpose(x);
  CHECK(y && y->rank == 2 && y->shape[0] == 3 && y->shape[1] == 4, "%s", c.message);
  for (i = 0; y && i < 12; i++) CHECK(y->x[i % 3 * 4 + i / 3] == x->x[i], "transpose %d", i);
  gradient("transpose", &c, weighted(t, y, 1), x, 0.01f);
  y = syn_slice(x, 1, 2);
  CHECK(y && y->shape[0] == 4 && y->shape[1] == 2, "%s", c.message);
  for (i = 0; y && i < 8; i++) CHECK(y->x[i] == x->x[i / 2 * 3 + 1 + i % 2], "slice %d", i);
  gradient("slice", &c, weighted(t, y, 2), x, 0.01f);
  y = syn_concat(x, o);
  CHECK(y && y->shape[0] == 4 && y->shape[1] == 5, "%s", c.message);
  for (i = 0; y && i < 4; i++)
    for (j = 0; j < 5; j++)
      CHECK(y->x[i * 5 + j] == (j < 3 ? x->x[i * 3 + j] : o->x[i * 2 + j - 3]), "concat %d,%d", i, j);
  gradient("concat, left", &c, weighted(t, y, 3), x, 0.01f);
  gradient("concat, right", &c, weighted(t, y, 3), o, 0.01f);
  y = syn_concat(x, x);
  gradient("concat of one tensor", &c, weighted(t, y, 4), x, 0.01f);
  y = syn_lookup(x, ids, 4);
  CHECK(y && y->shape[0] == 4 && y->shape[1] == 3, "%s", c.message);
  for (i = 0; y && i < 12; i++) CHECK(y->x[i] == x->x[ids[i / 3] * 3 + i % 3], "lookup %d", i);
  gradient("lookup, a row twice, a row never", &c, weighted(t, y, 5), x, 0.01f);
  syn_tape_free(t);
}

static void test_functions(void) {
  static const int labels[] = {2, -1, 0, 4}, none[] = {-1, -1, -1, -1};
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *w, *b, *y;
  double want = 0;
  int i, j;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  x = filled(t, 4, 5, 61), w = filled(t, 3, 5, 62), b = filled(t, 0, 3, 63);
  y = syn_exp(x);
  for (i = 0; y && i < 20; i++) CHECK(near(y->x[i], exp((double)x->x[i])), "exp %d", i);
  gradient("exp", &c, weighted(t, y, 1), x, 0.01f);
  y = syn_log(y);
  for (i = 0; y && i < 20; i++) CHECK(near(y->x[i], (double)x->x[i]), "log %d", i);
  gradient("log of exp", &c, weighted(t, y, 2), x, 0.01f);
  y = syn_log(syn_sub(x, x));
  CHECK(y && y->x[0] == -INFINITY, "log 0");
  syn_tape_clear(t);
  x = filled(t, 4, 5, 61), w = filled(t, 3, 5, 62), b = filled(t, 0, 3, 63);
  y = syn_linear(x, w, b);
  CHECK(y && y->shape[0] == 4 && y->shape[1] == 3, "%s", c.message);
  for (i = 0; y && i < 12; i++) {
    want = (double)b->x[i % 3];
    for (j = 0; j < 5; j++) want += (double)x->x[i / 3 * 5 + j] * (double)w->x[i % 3 * 5 + j];
    CHECK(near(y->x[i], want), "linear %d: %g", i, (double)y->x[i]);
  }
  gradient("linear, x", &c, weighted(t, y, 3), x, 0.01f);
  gradient("linear, w", &c, weighted(t, y, 3), w, 0.01f);
  gradient("linear, b", &c, weighted(t, y, 3), b, 0.01f);
  b = filled(t, 1, 3, 1);
  gradient("linear, b [1,n]", &c, weighted(t, syn_linear(x, w, b), 4), b, 0.01f);
  y = syn_cross_entropy(x, labels);
  for (i = 0, want = 0; i < 4; i++) {
    double sum = 0;
    for (j = 0; j < 5; j++) sum += exp((double)x->x[i * 5 + j]);
    if (labels[i] >= 0) want += (log(sum) - (double)x->x[i * 5 + labels[i]]) / 3;
  }
  CHECK(y && y->rank == 1 && near(y->x[0], want), "cross-entropy %g, wanted %g", (double)(y ? y->x[0] : 0), want);
  gradient("cross-entropy", &c, y, x, 0.01f);
  for (j = 0; j < 5; j++) CHECK(x->dx[5 + j] == 0.0f, "a row without a label has a gradient");
  y = syn_cross_entropy(x, none);
  CHECK(y && y->x[0] == 0.0f && syn_backward(y) == SYN_OK && x->dx[0] == 0.0f, "no label at all");
  syn_tape_free(t);
}

/* Causal self-attention from one x, as a lesson records it. */
static syn_tensor *attention(syn_tape *t, syn_tensor *x, syn_tensor *const w[4], syn_tensor *mask) {
  syn_tensor *v = syn_matmul(x, w[0]), *k = syn_matmul(x, w[1]), *q = syn_matmul(x, w[2]), *p;
  p = syn_softmax(syn_add(syn_matmul(syn_scale(q, 0.5f), syn_transpose(k)), mask));
  return weighted(t, syn_matmul(syn_matmul(p, v), w[3]), 9);
}
static void test_attention(void) {
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *w[4], *mask, *loss;
  int i, j;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 18);
  x = filled(t, 7, 4, 71), mask = filled(t, 7, 7, 1);
  for (i = 0; i < 4; i++) w[i] = filled(t, 4, 4, 72 + (uint64_t)i);
  for (i = 0; i < 7; i++)
    for (j = 0; j < 7; j++) mask->x[i * 7 + j] = j > i ? -INFINITY : 0;
  loss = attention(t, x, w, mask);
  gradient("attention, x", &c, loss, x, 0.01f);
  for (i = 0; i < 4; i++) gradient("attention, w", &c, loss, w[i], 0.01f);
  CHECK(syn_backward(loss) == SYN_OK, "%s", c.message);
  for (i = 0; i < 7; i++)
    for (j = i + 1; j < 7; j++) CHECK(mask->dx[i * 7 + j] == 0.0f, "a masked score has a gradient");
  syn_tape_free(t);
}

/* An operation of one's own: y = factor x^2. */
static syn_status square_shape(syn_build *b, syn_node *n) {
  if (*(const float *)n->own <= 0) return syn_build_fail(b, "square: a factor of 0 or less");
  return syn_build_save_rows(b, n, SYN_BOTH, 1) ? SYN_E_SHAPE : syn_build_out_like(b, n, 0);
}
static void square_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  size_t i;
  syn_saved(t, n, 0)[syn_rows(x) - 1] = *(const float *)n->own;
  for (i = 0; i < syn_count(x); i++) syn_out(t, n)->x[i] = *(const float *)n->own * x->x[i] * x->x[i];
}
static void square_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  float factor = syn_saved(t, n, 0)[syn_rows(x) - 1];
  size_t i;
  for (i = 0; i < syn_count(x); i++) x->dx[i] += 2 * factor * x->x[i] * syn_out(t, n)->dx[i];
}
static syn_status needs_param(syn_build *b, syn_node *n) {
  int shape[1] = {3};
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_CONSTANT, 0), 1, shape)) return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}
static syn_status needs_scratch(syn_build *b, syn_node *n) {
  n->scratch.fixed = 1;
  return syn_build_out_like(b, n, 0);
}
static syn_status needs_pairs(syn_build *b, syn_node *n) {
  syn_extent e = {0, 0, 1, 0, 0};
  return syn_build_save(b, n, SYN_BOTH, e) ? SYN_E_SHAPE : syn_build_out_like(b, n, 0);
}
static syn_status needs_stream(syn_build *b, syn_node *n) { return syn_build_out(b, n, SYN_TGT, 3); }

static void test_own(void) {
  static syn_status (*const needs[])(syn_build *, syn_node *) = {needs_param, needs_scratch, needs_pairs,
                                                                 needs_stream};
  syn_kind kind;
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *many[SYN_MAX_IN + 1], *y;
  float factor = 3, minus = -1;
  size_t k;
  int i;
  syn_context_init(&c, NULL);
  memset(&kind, 0, sizeof kind);
  kind.name = "square", kind.args = "";
  kind.shape = square_shape, kind.forward = square_forward, kind.backward = square_backward;
  t = syn_tape_new(&c, 1 << 18);
  x = filled(t, 2, 3, 81);
  for (i = 0; i <= SYN_MAX_IN; i++) many[i] = x;
  y = syn_record(&kind, 1, &x, &factor, sizeof factor);
  for (i = 0; y && i < 6; i++) CHECK(near(y->x[i], 3.0 * (double)x->x[i] * (double)x->x[i]), "square %d", i);
  factor = 100; /* the tape has its copy */
  gradient("an operation of one's own", &c, weighted(t, y, 1), x, 0.01f);
  expect(&c, syn_record(&kind, 1, &x, &minus, sizeof minus), SYN_E_SHAPE, "a factor of 0 or less");
  expect(&c, syn_record(&kind, SYN_MAX_IN + 1, many, &factor, sizeof factor), SYN_E_VALUE, "too many");
  expect(&c, syn_record(&kind, 1, &x, NULL, 4), SYN_E_VALUE, "no struct");
  expect(&c, syn_record(NULL, 1, &x, NULL, 0), SYN_E_VALUE, "without name");
  many[0] = NULL;
  expect(&c, syn_record(&kind, 2, many, &factor, sizeof factor), SYN_E_VALUE, "record: an input is null");
  for (k = 0; k < sizeof needs / sizeof *needs; k++) {
    kind.shape = needs[k];
    expect(&c, syn_record(&kind, 1, &x, NULL, 0), SYN_E_VALUE, "which a tape does not have");
  }
  kind.shape = square_shape, kind.backward = NULL;
  expect(&c, syn_record(&kind, 1, &x, &factor, sizeof factor), SYN_E_VALUE, "backward");
  CHECK(!syn_record(&kind, 0, &x, NULL, 0) && !syn_record(&kind, 1, NULL, NULL, 0) && c.status == SYN_OK, "no input");
  for (k = 0; k < syn_kind_count(); k++) { /* those of the language: refused, or they run */
    y = syn_record(syn_kind_at(k), 1, &x, NULL, 0);
    CHECK((y != NULL) == (c.status == SYN_OK), "%s: %s", syn_kind_at(k)->name, c.message);
    syn_context_clear(&c);
    if (y) CHECK(syn_backward(syn_sum(y)) == SYN_OK, "%s: %s", syn_kind_at(k)->name, c.message);
  }
  CHECK(syn_backward(syn_sum(x)) == SYN_OK && x->dx[0] == 1.0f, "the tape goes on: %s", c.message);
  syn_tape_free(t);
}

static void test_lesson_errors(void) {
  static const int ids[] = {0, 3}, minus[] = {-1, 0}, cube[] = {2, 2, 2};
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *y, *z;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 16);
  x = filled(t, 2, 3, 1), y = filled(t, 4, 3, 2), z = syn_tensor_new(t, 3, cube);
  expect(&c, syn_transpose(z), SYN_E_SHAPE, "rank 3");
  expect(&c, syn_transpose(filled(t, 0, 3, 1)), SYN_E_SHAPE, "rank 1");
  expect(&c, syn_slice(x, 2, 2), SYN_E_SHAPE, "2 columns from 2 on, of 3");
  expect(&c, syn_slice(x, -1, 2), SYN_E_SHAPE, "slice");
  expect(&c, syn_slice(x, 0, 0), SYN_E_SHAPE, "slice");
  expect(&c, syn_slice(x, 2147483647, 2147483647), SYN_E_SHAPE, "slice");
  expect(&c, syn_concat(x, y), SYN_E_SHAPE, "2 and 4 rows");
  expect(&c, syn_concat(x, z), SYN_E_SHAPE, "concat");
  expect(&c, syn_lookup(x, ids, 2), SYN_E_VALUE, "number 1 is 3, wanted 0 to 1");
  expect(&c, syn_lookup(x, minus, 2), SYN_E_VALUE, "number 0 is -1");
  expect(&c, syn_lookup(x, ids, 0), SYN_E_SHAPE, "lookup");
  expect(&c, syn_lookup(x, ids, -5), SYN_E_SHAPE, "lookup");
  expect(&c, syn_lookup(x, NULL, 2), SYN_E_SHAPE, "lookup");
  expect(&c, syn_lookup(z, ids, 1), SYN_E_SHAPE, "rank 3");
  expect(&c, syn_cross_entropy(x, NULL), SYN_E_SHAPE, "labels");
  expect(&c, syn_cross_entropy(z, ids), SYN_E_SHAPE, "rank 3");
  expect(&c, syn_cross_entropy(x, ids), SYN_E_VALUE, "number 1 is 3, wanted -1 to 2");
  expect(&c, syn_linear(x, filled(t, 4, 2, 1), filled(t, 0, 4, 1)), SYN_E_SHAPE, "w [4,2]");
  expect(&c, syn_linear(x, y, filled(t, 0, 3, 1)), SYN_E_SHAPE, "b of 3 numbers");
  expect(&c, syn_concat(NULL, x), SYN_E_VALUE, "concat: a is null");
  expect(&c, syn_concat(x, NULL), SYN_E_VALUE, "concat: b is null");
  expect(&c, syn_linear(x, y, NULL), SYN_E_VALUE, "linear: b is null");
  expect(&c, syn_linear(x, NULL, x), SYN_E_VALUE, "linear: w is null");
  expect(&c, syn_linear(NULL, y, NULL), SYN_E_VALUE, "linear: x is null");
  CHECK(!syn_transpose(NULL) && !syn_slice(NULL, 0, 1) && !syn_lookup(NULL, ids, 1) && !syn_exp(NULL) &&
            !syn_log(NULL) && !syn_cross_entropy(NULL, ids) && !syn_linear(NULL, NULL, NULL) && c.status == SYN_OK,
        "null gives null");
  syn_tape_free(t);
}

static void test_graph_text(void) {
  static const char want[] = "0 = tensor                [2,3]\n"
                             "1 = transpose(0)          [3,2]\n"
                             "2 = matmul(0, 1)          [2,2]\n"
                             "3 = sum(2)                [1]\n"
                             "4 = tanh(2)               [2,2]\n"
                             "5 = mean(4)               [1]\n"
                             "6 = lookup(0)             [3,3]\n"
                             "7 = lookup(0)             [1,3]\n"
                             "8 = linear(0, 6, 7)       [2,3]\n";
  static const int ids[] = {0, 1, 1};
  syn_context c;
  syn_tape *t;
  syn_tensor *x, *y;
  char out[400];
  size_t room, size = sizeof want - 1;
  syn_context_init(&c, NULL);
  t = syn_tape_new(&c, 1 << 14);
  x = filled(t, 2, 3, 1);
  y = syn_matmul(x, syn_transpose(x));
  syn_sum(y);
  syn_mean(syn_act(y, "tanh"));
  y = syn_lookup(x, ids, 3);
  y = syn_linear(x, y, syn_lookup(x, ids, 1));
  for (room = 0; room <= sizeof out; room++) {
    size_t fits = room == 0 ? 0 : room - 1 < size ? room - 1 : size;
    memset(out, '?', sizeof out);
    CHECK(syn_tape_text(t, out, room) == size, "its size, room %lu", (unsigned long)room);
    CHECK(!memcmp(out, want, fits) && (room == 0 || out[fits] == 0) && (room >= sizeof out || out[room] == '?'),
          "room %lu: %.*s", (unsigned long)room, (int)fits, out);
  }
  CHECK(syn_tape_text(NULL, out, sizeof out) == 0 && out[0] == 0, "no tape");
  gradient("x, w and b of linear are one tensor's", &c, syn_sum(syn_mul(y, y)), x, 0.01f);
  syn_tape_free(t);
}

/* Texts of equal keys, as an attacker would choose them: each is found, no other is, however they differ (a byte, a
   bit, only their length) and in whatever order they come; also among keys whose low bits are the same. */
static void map_case(int keys, int backward) {
  enum { TEXTS = 300 };
  syn_context c;
  syn__texts t;
  char text[40];
  int i, found;
  syn_context_init(&c, NULL);
  memset(&t, 0, sizeof t);
  t.c = &c;
  for (i = 0; i < TEXTS; i++) {
    const int n = backward ? TEXTS - 1 - i : i;
    /* 0, 1, 2 ... a's, then the numbers in base 5 behind a b */
    const size_t size = n < 30 ? (size_t)n : 4;
    memset(text, 'a', sizeof text);
    if (n >= 30) text[0] = 'b', text[1] = (char)(n % 5 + 1), text[2] = (char)(n / 5 % 5 + 64), text[3] = (char)(n / 25);
    CHECK(syn__texts_write(&t, syn__text_of(text, size)) == SYN_OK, "%s", c.message);
    CHECK(syn__texts_end(&t, (uint64_t)(n % keys)) == SYN_OK, "%s", c.message);
  }
  for (i = 0; i < TEXTS; i++) {
    const int n = backward ? TEXTS - 1 - i : i;
    syn_text one = syn__texts_at(&t, (size_t)i);
    found = syn__map_find(&t.map, (uint64_t)(n % keys), syn__text_symbol, &one);
    CHECK(found == i + 1, "%d keys, text %d: found %d", keys, i, found);
    one = syn__text_of("aab", 3);
    found = syn__map_find(&t.map, (uint64_t)(n % keys), syn__text_symbol, &one);
    CHECK(!found || syn__text_compare(syn__texts_at(&t, (size_t)found - 1), one), "a text that is not there");
  }
  syn__texts_free(&t);
}

static void test_map(void) {
  static const int keys[] = {1, 2, 7, 40, 150, 300};
  size_t i;
  for (i = 0; i < 12; i++) map_case(keys[i / 2], (int)(i % 2));
}

int main(void) {
  test_map();
  test_linear();
  test_blocks();
  test_twice();
  test_softmax();
  matmul_case(1, 1, 1);
  matmul_case(3, 5, 2);
  matmul_case(17, 33, 49);
  matmul_case(60, 300, 20);
  matmul_case(5, 700, 530);
  matmul_case(130, 257, 513);
  same_product(70, 40, 64);     /* b has four panels */
  same_product(1100, 160, 128); /* blocks of k, of which strips ask for the next */
  if (!CHECK_EMULATED) same_product(1100, 48, 256);
  same_product(60, 530, 200);   /* no higher than wide */
  same_product(500, 70, 300);   /* less than twice as high */
  test_team();
  test_acts();
  test_broadcast();
  test_check();
  test_wrong_backward();
  test_descent();
  test_errors();
  test_full();
  test_many();
  test_memory();
  test_text();
  test_copies();
  test_functions();
  test_attention();
  test_own();
  test_lesson_errors();
  test_graph_text();
  return CHECK_END("tape");
}
