/* test_kernels: the kernels of every ISA against a reference in double within a stated tolerance,
   every exact ISA against the scalar one bit by bit, at odd sizes. Inputs stand at the end of a
   block of malloc, so that an address sanitizer sees a read past them; outputs stand between
   guards. */
#define SYNTHESIZER_IMPLEMENTATION
static int divides(void);
#define SYN__DIVIDES divides()
#include "../synthesizer.h"
#include "check.h"
#include <fenv.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

static int undivided; /* set in main: test_over is about machines without a division of doubles */
static int divides(void) { return SIZE_MAX > 0xFFFFFFFFu && !undivided; }

static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 257};
#define GUARD 12345.678f
#define PAD 24
#define MOST 1200 /* floats of a buffer without its guards */

/* -- buffers -- */

typedef struct buffer {
  float *block, *at; /* the numbers end where the block ends */
  size_t n;
} buffer;

static buffer input(size_t n) {
  buffer b;
  b.block = (float *)malloc((n ? n : 1) * sizeof(float));
  if (!b.block) exit(2);
  b.at = b.block + (n ? 0 : 1);
  b.n = n;
  return b;
}

/* numbers in [low, high), the same for the same seed */
static buffer numbers(size_t n, uint64_t seed, float low, float high) {
  syn_random r;
  buffer b = input(n);
  size_t i;
  r.state = seed;
  for (i = 0; i < n; i++) b.at[i] = low + (high - low) * syn_random_uniform(&r);
  return b;
}

/* an output: what it held before comes from `from` (null: guards), with guards on both sides */
static buffer output(size_t n, const float *from) {
  buffer b;
  size_t i;
  b.block = (float *)malloc((n + 2 * PAD) * sizeof(float));
  if (!b.block) exit(2);
  for (i = 0; i < n + 2 * PAD; i++) b.block[i] = GUARD;
  b.at = b.block + PAD;
  b.n = n;
  if (from && n) memcpy(b.at, from, n * sizeof(float));
  return b;
}

static void guards(buffer b, const char *row, const char *what) {
  size_t i, bad = 0;
  for (i = 0; i < PAD; i++) bad += b.block[i] != GUARD || b.at[b.n + i] != GUARD;
  CHECK(bad == 0, "%s %s: n %d, %d floats outside the output were written", row, what, (int)b.n,
        (int)bad);
}

/* |got - want| <= tolerance * (|want| + unit) */
static void close_to(buffer got, const double *want, double tolerance, double unit, const char *row,
                     const char *what) {
  size_t i, worst = 0;
  double error, most = -1.0;
  for (i = 0; i < got.n; i++) {
    error = fabs((double)got.at[i] - want[i]) / (fabs(want[i]) + unit);
    if (!(error <= most)) most = error, worst = i;
  }
  CHECK(most <= tolerance, "%s %s: n %d, element %d is %.9g, wanted %.9g", row, what, (int)got.n,
        (int)worst, got.n ? (double)got.at[worst] : 0.0, got.n ? want[worst] : 0.0);
}

static const syn_kernels *plain; /* the scalar kernels; all others are compared with them */

static void same(buffer a, buffer b, const syn_kernels *k, const char *what) {
  size_t i = 0;
  if (!k->exact || !plain->exact) return;
  while (i < a.n && !memcmp(a.at + i, b.at + i, sizeof(float))) i++;
  CHECK(i == a.n, "%s %s: n %d, element %d is %.9g, scalar has %.9g", k->name, what, (int)a.n,
        (int)i, (double)a.at[i], (double)b.at[i]);
}

static void same_number(float a, float b, const syn_kernels *k, const char *what, size_t n) {
  if (!k->exact || !plain->exact) return;
  CHECK(!memcmp(&a, &b, sizeof a), "%s %s: n %d gives %.9g, scalar %.9g", k->name, what, (int)n,
        (double)a, (double)b);
}

static void near_number(float got, double want, double tolerance, const syn_kernels *k,
                        const char *what, size_t n) {
  CHECK(fabs((double)got - want) <= tolerance, "%s %s: n %d gives %.9g, wanted %.9g", k->name, what,
        (int)n, (double)got, want);
}

/* -- element by element -- */

enum { ADD, SUB, MUL, ACC, ACC_MUL, SCALE, ACC_SCALE, SOFTMAX_BACK, ACT, ACT_BACK = ACT + SYN__ACTS,
       SLOPE = ACT_BACK + SYN__ACTS, SOFTMAX = SLOPE + SYN__ACTS, GLU, ELEMENTWISE = GLU + 4 };
static const char *const names[] = {
    "add", "sub", "mul", "acc", "acc_mul", "scale", "acc_scale", "softmax_back",
    "relu", "gelu", "tanh", "sigmoid", "swish", "gelu_erf", "quick_gelu",
    "relu back", "gelu back", "tanh back", "sigmoid back", "swish back", "gelu_erf back", "quick_gelu back",
    "relu slope", "gelu slope", "tanh slope", "sigmoid slope", "swish slope", "gelu_erf slope",
    "quick_gelu slope", "softmax", "glu", "swiglu", "geglu", "reglu"};
static const int gate_acts[] = {SYN__SIGMOID, SYN__SWISH, SYN__GELU, SYN__RELU};

static void run(const syn_kernels *k, int op, buffer y, buffer a, buffer b) {
  syn__glu_row j = {op >= GLU ? gate_acts[op - GLU] : 0, a.at, b.at, NULL};
  if (op == ADD) k->add(y.at, a.at, b.at, y.n);
  if (op == SUB) k->sub(y.at, a.at, b.at, y.n);
  if (op == MUL) k->mul(y.at, a.at, b.at, y.n);
  if (op == ACC) k->acc(y.at, a.at, y.n);
  if (op == ACC_MUL) k->acc_mul(y.at, a.at, b.at, y.n);
  if (op == SCALE) k->scale(y.at, 0.37f, a.at, y.n);
  if (op == ACC_SCALE) k->acc_scale(y.at, 0.37f, a.at, y.n);
  if (op == SOFTMAX) k->softmax(y.at, a.at, y.n);
  if (op == SOFTMAX_BACK) k->softmax_back(y.at, a.at, b.at, y.n);
  if (op >= GLU) k->glu(y.at, &j, y.n);
  if (op >= ACT && op < ACT_BACK) k->act(op - ACT, y.at, a.at, y.n);
  if (op >= ACT_BACK && op < SLOPE) k->act_back(op - ACT_BACK, y.at, a.at, b.at, y.n);
  if (op >= SLOPE && op < SOFTMAX) k->slope(op - SLOPE, y.at, a.at, 1.25f, y.n);
}

static double sigma(double x) { return 1.0 / (1.0 + exp(-x)); }

static double f(int which, double x) {
  if (which == SYN__RELU) return x > 0.0 ? x : 0.0;
  if (which == SYN__GELU)
    return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  if (which == SYN__TANH) return tanh(x);
  if (which == SYN__GELU_ERF) return 0.5 * x * erfc(-x * 0.70710678118654752440);
  if (which == SYN__QUICK_GELU) return x * sigma(1.702 * x);
  return which == SYN__SIGMOID ? sigma(x) : x * sigma(x);
}

/* the derivative: by formula where it jumps, else by central difference */
static double slope(int which, double x) {
  if (which == SYN__RELU) return x > 0.0;
  return (f(which, x + 1e-5) - f(which, x - 1e-5)) / 2e-5;
}

static void reference(double *y, int op, buffer a, buffer b, const float *old) {
  double top = -1e300, sum = 0.0, dot = 0.0;
  size_t i;
  for (i = 0; i < a.n; i++) {
    if ((double)a.at[i] > top) top = (double)a.at[i];
    dot += (double)a.at[i] * (double)b.at[i];
  }
  for (i = 0; i < a.n; i++) sum += exp((double)a.at[i] - top);
  for (i = 0; i < a.n; i++) {
    double x = (double)a.at[i], z = (double)b.at[i], o = (double)old[i];
    if (op == ADD) y[i] = x + z;
    if (op == SUB) y[i] = x - z;
    if (op == MUL) y[i] = x * z;
    if (op == ACC) y[i] = o + x;
    if (op == ACC_MUL) y[i] = o + x * z;
    if (op == SCALE) y[i] = (double)0.37f * x;
    if (op == ACC_SCALE) y[i] = o + (double)0.37f * x;
    if (op == SOFTMAX) y[i] = exp(x - top) / sum;
    if (op == SOFTMAX_BACK) y[i] = x * (z - dot);
    if (op >= GLU) y[i] = x * f(gate_acts[op - GLU], z);
    if (op >= ACT && op < ACT_BACK) y[i] = f(op - ACT, x);
    if (op >= ACT_BACK && op < SLOPE) y[i] = o + z * slope(op - ACT_BACK, x);
    if (op >= SLOPE && op < SOFTMAX) y[i] = 1.25 * o * slope(op - SLOPE, x);
  }
}

static void test_elementwise(const syn_kernels *k) {
  double want[MOST];
  size_t s, i;
  int op;
  for (op = 0; op < ELEMENTWISE; op++) {
    for (s = 0; s < SYN__COUNT(sizes); s++) {
      size_t n = sizes[s];
      buffer a = numbers(n, 1 + s, -4.0f, 4.0f), b = numbers(n, 99 + s, -2.0f, 2.0f);
      buffer old = numbers(n, 7 + s, -1.0f, 1.0f), y = output(n, old.at), z = output(n, old.at);
      reference(want, op, a, b, old.at);
      run(k, op, y, a, b);
      run(plain, op, z, a, b);
      guards(y, k->name, names[op]);
      /* a softmax_back sums n products of size 8: its unit grows with n */
      close_to(y, want, 1e-6, op == SOFTMAX_BACK ? 8.0 + (double)n : 1.0, k->name, names[op]);
      same(y, z, k, names[op]);
      if (op == ADD || op == SOFTMAX || op == SOFTMAX_BACK || op == ACT) { /* in place */
        for (i = 0; i < n; i++) z.at[i] = op == SOFTMAX_BACK ? b.at[i] : a.at[i];
        run(k, op, z, op == SOFTMAX_BACK ? a : z, op == SOFTMAX_BACK ? z : b);
        guards(z, k->name, names[op]);
        CHECK(!n || !memcmp(y.at, z.at, n * sizeof(float)), "%s %s: n %d, in place differs",
              k->name, names[op], (int)n);
      }
      free(a.block), free(b.block), free(old.block), free(y.block), free(z.block);
    }
  }
}

static void test_glu_back(const syn_kernels *k, int gate) {
  double wa[MOST], wb[MOST];
  size_t s, i;
  for (s = 0; s < SYN__COUNT(sizes); s++) {
    size_t n = sizes[s];
    buffer a = numbers(n, s, -3.0f, 3.0f), b = numbers(n, 50 + s, -9.0f, 9.0f);
    buffer dy = numbers(n, 70 + s, -1.0f, 1.0f), old = numbers(n, 80 + s, -1.0f, 1.0f);
    buffer da = output(n, old.at), db = output(n, old.at);
    buffer pa = output(n, old.at), pb = output(n, old.at);
    syn__glu_row j = {gate, a.at, b.at, dy.at};
    for (i = 0; i < n; i++) {
      double d = (double)dy.at[i];
      wa[i] = (double)old.at[i] + d * f(gate, (double)b.at[i]);
      wb[i] = (double)old.at[i] + d * (double)a.at[i] * slope(gate, (double)b.at[i]);
    }
    k->glu_back(da.at, db.at, &j, n);
    plain->glu_back(pa.at, pb.at, &j, n);
    guards(da, k->name, "glu_back"), guards(db, k->name, "glu_back");
    close_to(da, wa, 1e-6, 10.0, k->name, "glu_back da");
    close_to(db, wb, 1e-6, 10.0, k->name, "glu_back db");
    same(da, pa, k, "glu_back da"), same(db, pb, k, "glu_back db");
    free(a.block), free(b.block), free(dy.block), free(old.block), free(da.block), free(db.block);
    free(pa.block), free(pb.block);
  }
}

/* -- recurrent cells -- */

/* One element of a token. z: what its gates see, the input's and the state's share apart. */
typedef struct cell {
  double a[4], p[4], past;
  int gru;
} cell;
/* h, and in *kept c or m */
static double cell_run(const cell *x, double *kept) {
  double z[4], n;
  int g;
  for (g = 0; g < 4; g++) z[g] = x->a[g] + x->p[g];
  if (x->gru) {
    *kept = x->p[2];
    n = tanh(x->a[2] + sigma(z[0]) * x->p[2]);
    return (1.0 - sigma(z[1])) * n + sigma(z[1]) * x->past;
  }
  *kept = sigma(z[1]) * x->past + sigma(z[0]) * tanh(z[2]);
  return sigma(z[3]) * tanh(*kept);
}
/* central difference of dh h + dc c by one of its numbers (gru: dc is 0) */
static double cell_slope(cell *x, double *at, double dh, double dc) {
  double keep = *at, up, down, c;
  *at = keep + 1e-5, up = dh * cell_run(x, &c), up += dc * c;
  *at = keep - 1e-5, down = dh * cell_run(x, &c), down += dc * c;
  *at = keep;
  return (up - down) / 2e-5;
}

/* Forward with one row, then back from what the plain row left; null for the past of odd cases. */
static void test_cell(const syn_kernels *k, size_t s, int gru) {
  size_t n = sizes[s], gates = gru ? 3 : 4, i, g;
  double want[5][4 * 257]; /* h, kept, da, dpart, dpast */
  buffer a = numbers(gates * n, s, -3.0f, 3.0f), p = numbers(gates * n, 9 + s, -2.0f, 2.0f);
  buffer past = numbers(n, 19 + s, -1.0f, 1.0f), dh = numbers(n, 29 + s, -1.0f, 1.0f);
  buffer dc = numbers(n, 39 + s, -1.0f, 1.0f), h = output(n, NULL), kept = output(n, NULL);
  buffer h2 = output(n, NULL), kept2 = output(n, NULL), z = output(gates * n, a.at), z2;
  buffer y[3], y2[3];
  const float *old = s % 2 ? NULL : past.at;
  cell x;
  z2 = output(gates * n, a.at);
  for (i = 0; i < n; i++) {
    x.gru = gru, x.past = old ? (double)old[i] : 0.0;
    for (g = 0; g < 4; g++) x.a[g] = g < gates ? (double)a.at[g * n + i] : 0.0;
    for (g = 0; g < 4; g++) x.p[g] = g < gates ? (double)p.at[g * n + i] : 0.0;
    want[0][i] = cell_run(&x, &want[1][i]);
    for (g = 0; g < gates; g++) {
      want[2][g * n + i] = cell_slope(&x, &x.a[g], (double)dh.at[i], gru ? 0.0 : (double)dc.at[i]);
      want[3][g * n + i] = cell_slope(&x, &x.p[g], (double)dh.at[i], 0.0);
    }
    want[4][i] = cell_slope(&x, &x.past, (double)dh.at[i], gru ? 0.0 : (double)dc.at[i]);
  }
  (gru ? k->gru : k->lstm)(h.at, kept.at, z.at, p.at, old, n);
  (gru ? plain->gru : plain->lstm)(h2.at, kept2.at, z2.at, p.at, old, n);
  guards(h, k->name, "cell"), guards(kept, k->name, "cell"), guards(z, k->name, "cell");
  close_to(h, want[0], 1e-6, 1.0, k->name, gru ? "gru h" : "lstm h");
  close_to(kept, want[1], 1e-6, 1.0, k->name, gru ? "gru m" : "lstm c");
  same(h, h2, k, "cell h"), same(kept, kept2, k, "cell kept"), same(z, z2, k, "cell gates");
  y[0] = output(gates * n, z2.at), y2[0] = output(gates * n, z2.at);
  y[1] = output(gru ? 3 * n : n, gru ? NULL : dc.at), y2[1] = output(y[1].n, gru ? NULL : dc.at);
  y[2] = output(n, dh.at), y2[2] = output(n, dh.at);
  if (gru) {
    k->gru_back(y[0].at, y[1].at, y[2].at, kept2.at, old, n);
    plain->gru_back(y2[0].at, y2[1].at, y2[2].at, kept2.at, old, n);
  } else {
    k->lstm_back(y[0].at, y[1].at, dh.at, kept2.at, old, n);
    plain->lstm_back(y2[0].at, y2[1].at, dh.at, kept2.at, old, n);
  }
  close_to(y[0], want[2], 2e-6, 1.0, k->name, gru ? "gru_back da" : "lstm_back da");
  close_to(y[1], want[gru ? 3 : 4], 2e-6, 1.0, k->name, gru ? "gru_back dpart" : "lstm_back dc");
  if (gru) close_to(y[2], want[4], 2e-6, 1.0, k->name, "gru_back dh");
  for (i = 0; i < 3; i++) {
    guards(y[i], k->name, "cell back"), same(y[i], y2[i], k, "cell back");
    free(y[i].block), free(y2[i].block);
  }
  free(a.block), free(p.block), free(past.block), free(dh.block), free(dc.block), free(h.block);
  free(kept.block), free(h2.block), free(kept2.block), free(z.block), free(z2.block);
}

static void test_cells(const syn_kernels *k) {
  size_t s;
  for (s = 0; s < SYN__COUNT(sizes); s++) test_cell(k, s, 0), test_cell(k, s, 1);
}

/* -- additive scores -- */

/* s_j = sum_i w_i tanh(a_i + b_ji), and with ds what it sends back, on top of what stands there. */
static void reference_additive(double *s, double *da, double *db, double *dw, const syn__additive *j,
                               const float *ds) {
  size_t key, i;
  for (key = 0; key < j->keys; key++)
    for (s[key] = 0.0, i = 0; i < j->n; i++) {
      double w = (double)j->w[i], d = (double)ds[key];
      double t = tanh((double)j->a[i] + (double)j->b[key * j->b_row + i]);
      s[key] += w * t;
      da[i] += d * w * (1.0 - t * t);
      db[key * j->n + i] += d * w * (1.0 - t * t);
      dw[i] += d * t;
    }
}

static void test_additive_of(const syn_kernels *k, size_t n, size_t keys, size_t gap) {
  static double want[4][MOST];
  buffer w = numbers(n, 1 + n, -2.0f, 2.0f), a = numbers(n, 2 + n, -2.0f, 2.0f);
  buffer b = numbers(keys ? keys * n + (keys - 1) * gap : 0, 3 + n, -2.0f, 2.0f);
  buffer ds = numbers(keys, 4 + n, -1.0f, 1.0f), old = numbers(keys * n + n, 5, -1.0f, 1.0f);
  buffer got[4], flat[4];
  syn__additive j;
  size_t i, c;
  j.w = w.at, j.a = a.at, j.b = b.at, j.n = n, j.keys = keys, j.b_row = n + gap;
  for (i = 0; i < 4; i++) { /* s, da, db, dw */
    size_t size = i == 0 ? keys : i == 2 ? keys * n : n;
    got[i] = output(size, i ? old.at : NULL), flat[i] = output(size, i ? old.at : NULL);
    for (c = 0; c < size; c++) want[i][c] = (double)old.at[c];
  }
  reference_additive(want[0], want[1], want[2], want[3], &j, ds.at);
  k->additive(got[0].at, &j), plain->additive(flat[0].at, &j);
  k->additive_back(&j, ds.at, got[1].at, got[2].at, got[3].at);
  plain->additive_back(&j, ds.at, flat[1].at, flat[2].at, flat[3].at);
  for (i = 0; i < 4; i++) {
    guards(got[i], k->name, "additive");
    close_to(got[i], want[i], 1e-6, i == 0 ? 2.0 * (double)n : 4.0, k->name, "additive");
    same(got[i], flat[i], k, "additive");
    free(got[i].block), free(flat[i].block);
  }
  free(w.block), free(a.block), free(b.block), free(ds.block), free(old.block);
}
static void test_additive(const syn_kernels *k) {
  static const size_t keys[] = {0, 1, 2, 5};
  size_t s;
  for (s = 0; s < SYN__COUNT(sizes); s++)
    if (sizes[s] < 200) test_additive_of(k, sizes[s], keys[s % 4], s % 3 * 7);
}

/* -- reductions, and the tree they go through -- */

/* The defined order, in plain C: 16 lanes, then l and l+8, l and l+4, l and l+2, l and l+1. */
static float tree_sum(const float *x, size_t n) {
  float lane[16] = {0};
  size_t i;
  int h, l;
  for (i = 0; i < n; i++) lane[i % 16] += x[i];
  for (h = 8; h; h /= 2)
    for (l = 0; l < h; l++) lane[l] += lane[l + h];
  return lane[0];
}

static void test_reductions(const syn_kernels *k) {
  size_t s, i;
  for (s = 0; s < SYN__COUNT(sizes); s++) {
    size_t n = sizes[s];
    buffer a = numbers(n, 3 + s, -5.0f, 4.0f), b = numbers(n, 40 + s, -1.0f, 1.0f);
    double sum = 0.0, dot = 0.0, top = -HUGE_VAL, exps = 0.0;
    for (i = 0; i < n; i++) {
      sum += (double)a.at[i];
      dot += (double)a.at[i] * (double)b.at[i];
      if ((double)a.at[i] > top) top = (double)a.at[i];
      exps += exp((double)a.at[i]);
    }
    near_number(k->sum(a.at, n), sum, 1e-6 * (double)(5 * n), k, "sum", n);
    near_number(k->dot(a.at, b.at, n), dot, 1e-6 * (double)(5 * n), k, "dot", n);
    CHECK((double)k->row_max(a.at, n) == top, "%s max: n %d", k->name, (int)n);
    if (n) near_number(k->log_sum_exp(a.at, n, (float)top), log(exps), 1e-6 * 6.0, k, "log_sum_exp", n);
    else CHECK(k->log_sum_exp(a.at, n, -INFINITY) == -INFINITY, "%s log_sum_exp: n 0", k->name);
    for (i = 0; i < n; i += SYN__BLOCK) {
      float most = -INFINITY, *peaks = (float *)malloc((n / SYN__BLOCK + 2) * sizeof *peaks);
      size_t j;
      if (!peaks) exit(2);
      peaks[(n + SYN__BLOCK - 1) / SYN__BLOCK] = 77.0f;
      k->block_max(peaks, a.at, n);
      for (j = i; j < n && j < i + SYN__BLOCK; j++) most = a.at[j] > most ? a.at[j] : most;
      CHECK(peaks[i / SYN__BLOCK] == most, "%s tops: n %d", k->name, (int)n);
      CHECK(peaks[(n + SYN__BLOCK - 1) / SYN__BLOCK] == 77.0f, "%s tops: n %d, one too many", k->name, (int)n);
      free(peaks);
    }
    same_number(k->sum(a.at, n), plain->sum(a.at, n), k, "sum", n);
    if (k->exact) CHECK(k->sum(a.at, n) == tree_sum(a.at, n), "%s sum: not by the tree", k->name);
    same_number(k->dot(a.at, b.at, n), plain->dot(a.at, b.at, n), k, "dot", n);
    same_number(k->log_sum_exp(a.at, n, (float)top), plain->log_sum_exp(a.at, n, (float)top), k, "log_sum_exp", n);
    free(a.block), free(b.block);
  }
}

/* s_j += a . b_j, bit for bit one row of `gemm` with the same rows of b. */
static void test_dots_of(const syn_kernels *k, size_t n, size_t count) {
  buffer a = numbers(n, 6 + n, -2.0f, 2.0f), b = numbers(n * count, 7 + n, -2.0f, 2.0f);
  buffer start = numbers(count, 8, -1.0f, 1.0f), got = output(count, start.at);
  buffer row = output(count, start.at);
  float *panels = (float *)malloc((n + 1) * (count + 16) * sizeof *panels);
  const float **rows = (const float **)malloc((count + 1) * sizeof *rows);
  double *want = (double *)malloc((count + 1) * sizeof *want);
  syn__product p;
  syn_matrix b_t = syn_transposed(syn_matrix_of(b.at, (int)count, (int)n, 0));
  size_t j, i;
  if (!panels || !rows || !want) exit(2);
  for (j = 0; j < count; j++) {
    rows[j] = b.at + (count - 1 - j) * n; /* in another order than they lie */
    for (want[j] = (double)start.at[j], i = 0; i < n; i++) want[j] += (double)a.at[i] * (double)rows[j][i];
  }
  k->dots(got.at, a.at, rows, n, count);
  guards(got, k->name, "dots"), close_to(got, want, 1e-6, 4.0 * (double)n, k->name, "dots");
  p = syn__product_of(syn_matrix_of(row.at, 1, (int)count, 0), syn_matrix_of(a.at, 1, (int)n, 0),
                      syn__packed(panels, (int)n, (int)count), NULL, 1);
  for (i = 0; i < count / 2; i++) { /* into the order of b */
    const float *swap = rows[i];
    rows[i] = rows[count - 1 - i], rows[count - 1 - i] = swap;
  }
  if (count) k->pack_b(&b_t, panels), k->gemm(&p, 0, 1, 0, ((int)count + 15) / 16);
  memcpy(got.at, start.at, count * sizeof(float)), k->dots(got.at, a.at, rows, n, count);
  if (k->exact) same(got, row, k, "dots and gemm");
  free(a.block), free(b.block), free(start.block), free(got.block), free(row.block);
  free(panels), free(want), free((void *)rows);
}
static void test_dots(const syn_kernels *k) {
  static const size_t counts[] = {0, 1, 7, 8, 9, 16, 23};
  size_t s;
  for (s = 0; s < SYN__COUNT(sizes); s++)
    if (sizes[s] < 200) test_dots_of(k, sizes[s], counts[s % 7]);
}

/* One new token: `scores` and `values` have the bits of `gemm`, head by head; rows of v in any
   order. */
static void test_token(const syn_kernels *k, size_t heads, size_t c, size_t count) {
  size_t e = heads * c, h, i;
  buffer q = numbers(e, 11 + e, -2.0f, 2.0f), key_block = numbers(16 * e, 12 + e, -2.0f, 2.0f);
  buffer v = numbers(e * count, 13 + e, -2.0f, 2.0f), p = numbers(heads * (count + 3), 14, -1.0f, 1.0f);
  buffer s = output(16 * heads, NULL), y = output(e, NULL), want = output(16 * heads, NULL);
  buffer plain_y = output(e, NULL), reordered = numbers(e * count, 15, 0.0f, 0.0f);
  int *at = (int *)malloc((count + 1) * sizeof *at);
  syn__product x;
  syn__weighted_values m;
  if (!at) exit(2);
  if (k->scores) k->scores(s.at, 16, q.at, key_block.at, heads, c);
  for (h = 0; h < heads && k->scores; h++) {
    x = syn__product_of(syn_matrix_of(want.at + 16 * h, 1, 16, 0),
                        syn_matrix_of(q.at + h * c, 1, (int)c, 0),
                        syn__packed(key_block.at + 16 * h * c, (int)c, 16), NULL, 0);
    k->gemm(&x, 0, 1, 0, 1);
  }
  guards(s, k->name, "scores");
  if (k->exact && k->scores) same(s, want, k, "scores and gemm"); /* null without vectors */
  for (i = 0; i < count; i++) {
    at[i] = (int)((i * 7 + 3) % count); /* all rows once where 7 does not divide the count */
    memcpy(reordered.at + i * e, v.at + (size_t)at[i] * e, e * sizeof(float));
  }
  m.p = p.at, m.p_row = count + 3, m.v = v.at, m.v_row = e, m.at = at;
  m.count = count, m.heads = heads, m.c = c;
  k->values(y.at, &m);
  guards(y, k->name, "values");
  for (h = 0; h < heads; h++) {
    x = syn__product_of(syn_matrix_of(plain_y.at + h * c, 1, (int)c, 0),
                        syn_matrix_of(p.at + h * (count + 3), 1, (int)count, 0),
                        syn_matrix_of(reordered.at + h * c, (int)count, (int)c, e), NULL, 0);
    k->gemm(&x, 0, 1, 0, ((int)c + 15) / 16);
  }
  if (k->exact) same(y, plain_y, k, "values and gemm");
  m.v = reordered.at, m.at = NULL;
  k->values(y.at, &m);
  if (k->exact) same(y, plain_y, k, "values in order");
  free(q.block), free(key_block.block), free(v.block), free(p.block), free(s.block), free(y.block);
  free(want.block), free(plain_y.block), free(reordered.block), free(at);
}
static void test_tokens(const syn_kernels *k) {
  static const size_t shapes[][3] = {{1, 1, 1}, {8, 32, 20}, {6, 48, 33}, {3, 10, 5}, {5, 16, 16}, {2, 100, 4}};
  size_t i;
  for (i = 0; i < SYN__COUNT(shapes); i++) test_token(k, shapes[i][0], shapes[i][1], shapes[i][2]);
}

/* Bytes are floats without rounding: the bits of `gemm`. */
static void test_gemv_int8(const syn_kernels *k) {
  static const size_t shapes[][2] = {{0, 1}, {1, 1}, {7, 3}, {33, 4}, {64, 9}};
  size_t i, s;
  for (s = 0; s < SYN__COUNT(shapes); s++) {
    size_t n = shapes[s][0], panels = shapes[s][1], all = 16 * n * panels;
    buffer x = numbers(n, 60 + s, -2.0f, 2.0f), b = output(all, NULL);
    buffer got = output(16 * panels, NULL), want = output(16 * panels, NULL);
    signed char *q = (signed char *)malloc(all + 1);
    syn__product p;
    if (!q) exit(2);
    for (i = 0; i < all; i++) q[i] = (signed char)((int)(i * 37 % 256) - 128), b.at[i] = (float)q[i];
    k->gemv_int8(got.at, x.at, q, n, panels);
    p = syn__product_of(syn_matrix_of(want.at, 1, 16 * (int)panels, 0),
                        syn_matrix_of(x.at, 1, (int)n, 0),
                        syn__packed(b.at, (int)n, 16 * (int)panels), NULL, 0);
    k->gemm(&p, 0, 1, 0, (int)panels);
    guards(got, k->name, "gemv_int8");
    if (k->exact) same(got, want, k, "gemv_int8 and gemm");
    free(x.block), free(b.block), free(got.block), free(want.block), free(q);
  }
}

/* -- int8 -- */

/* Rows of many sizes, a row of zeros, one that is not finite: the bytes and the scale of small models. */
static void test_quantize(const syn__int8_kernels *k) {
  static const size_t widths[] = {0, 1, 7, 16, 17, 33, 64, 100, 257};
  size_t s, i, n;
  int special;
  for (s = 0; s < SYN__COUNT(widths); s++)
    for (special = 0; special < 6; special++) {
      size_t row = syn__round16(widths[s]) + 16, bad = 0;
      buffer x = numbers(widths[s], 70 + s, -3.0f, 3.0f);
      signed char *q = (signed char *)malloc(row);
      int8_t want[300] = {0};
      float scale, wanted;
      n = widths[s];
      if (!q) exit(2);
      for (i = 0; i < n && special == 1; i++) x.at[i] = 0.0f;
      for (i = 0; i < n && special == 5; i++) x.at[i] = (float)((int)i % 255 - 127) * 0.5f; /* ties */
      if (n && special == 2) x.at[n / 2] = NAN;
      if (n && special == 3) x.at[n - 1] = -INFINITY;
      if (n && special == 4) x.at[n - 1] = 1e29f;
      scale = k->quantize(q, x.at, n, row, k->flip);
      wanted = syn__small_quantize(want, x.at, (int32_t)n);
      for (i = 0; i < row; i++) bad += (q[i] ^ (signed char)k->flip) != want[i];
      CHECK(!bad && !memcmp(&scale, &wanted, 4), "%s quantize: n %d, case %d: %d bytes, scale %g, wanted %g",
            k->name, (int)n, special, (int)bad, (double)scale, (double)wanted);
      free(x.block), free(q);
    }
}

/* Weights [cols,k] with scales as int8 panels. */
static signed char *int8_panels(const signed char *w, const float *scales, size_t cols, size_t k) {
  size_t bytes = syn__int8_panel_bytes(k), panels = (cols + 15) / 16, o, i;
  signed char *all = (signed char *)calloc(panels, bytes);
  if (!all) exit(2);
  for (o = 0; o < cols; o++) {
    signed char *panel = all + o / 16 * bytes;
    int32_t sum = 0;
    for (i = 0; i < k; i++) {
      panel[SYN__INT8_HEAD + i / 4 * 64 + o % 16 * 4 + i % 4] = w[o * k + i];
      sum -= 128 * w[o * k + i];
    }
    memcpy(panel + o % 16 * 4, &scales[o], 4);
    memcpy(panel + 64 + o % 16 * 4, &sum, 4);
  }
  return all;
}

/* Sums of 64 bits, then the same float operations. Largest bytes of one sign come first: sums of two
   products that overflow 16 bits would show. */
static void test_int8_case(const syn__int8_kernels *k, const size_t shape[3]) {
  size_t rows = shape[0], cols = shape[1], n = shape[2], row = syn__round16(n), i, o, r, bad = 0;
  signed char *x = (signed char *)malloc(rows * row + 1), *w = (signed char *)malloc(cols * n + 1), *panels;
  buffer scales = numbers(cols, 80, 0.001f, 0.01f), x_scale = numbers(rows, 81, 0.001f, 0.01f);
  buffer bias = numbers(cols, 82, -1.0f, 1.0f), y = output(rows * cols, NULL);
  syn__int8_product p;
  int with;
  if (!x || !w) exit(2);
  for (i = 0; i < cols * n; i++) w[i] = (signed char)(i < 3 * n ? (i < n ? 127 : -127) : (int)(i * 37 % 255) - 127);
  for (i = 0; i < rows * row; i++) {
    int a = i % row >= n ? 0 : i < row ? 127 : (int)(i * 53 % 255) - 127;
    x[i] = (signed char)(a ^ k->flip);
  }
  panels = int8_panels(w, scales.at, cols, n);
  memset(&p, 0, sizeof p);
  p.x = x, p.w = panels, p.x_scale = x_scale.at, p.y = y.at, p.x_row = row, p.y_row = cols;
  p.k = (n + 3) / 4 * 4, p.rows = (int)rows, p.cols = (int)cols;
  for (with = 0; with < 2; with++) {
    int all = ((int)cols + 15) / 16;
    p.bias = with ? bias.at : NULL;
    k->gemm(&p, 0, all / 2); /* as two threads do */
    k->gemm(&p, all / 2, all);
    for (r = 0; r < rows; r++)
      for (o = 0; o < cols; o++) {
        volatile float s = scales.at[o] * x_scale.at[r], z;
        int64_t sum = 0;
        for (i = 0; i < n; i++) sum += (x[r * row + i] ^ (signed char)k->flip) * w[o * n + i];
        z = (float)sum * s;
        if (with) z = z + bias.at[o];
        bad += y.at[r * cols + o] != z;
      }
    guards(y, k->name, "int8 gemm");
  }
  CHECK(!bad, "%s: %d x %d x %d: %d products differ", k->name, (int)rows, (int)cols, (int)n, (int)bad);
  free(x), free(w), free(panels), free(scales.block), free(x_scale.block), free(bias.block), free(y.block);
}
static void test_int8(const syn_kernels *k) {
  static const size_t shapes[][3] = {{1, 1, 1}, {1, 16, 4}, {1, 133, 65}, {2, 40, 30}, {3, 17, 100}, {4, 64, 32},
                                     {5, 400, 7}, {9, 50, 64}, {13, 100, 48}, {20, 48, 256}, {33, 31, 12}};
  size_t s;
  int i;
  for (i = 0; syn__isas.int8(k, i); i++) {
    test_quantize(syn__isas.int8(k, i));
    for (s = 0; s < SYN__COUNT(shapes); s++) test_int8_case(syn__isas.int8(k, i), shapes[s]);
  }
}

/* -- special values -- */

/* exp through softmax is hidden; the words are reached by glu, tanh and sigmoid over the whole
   range. */
static void test_range(const syn_kernels *k) {
  buffer x = input(4001), y = output(4001, NULL), z = output(4001, NULL);
  double *want = (double *)malloc(4001 * sizeof(double));
  size_t i;
  if (!want) exit(2);
  for (i = 0; i < 4001; i++) x.at[i] = ((float)i - 2000.0f) * 0.05f;
  for (i = 0; i < 4001; i++) want[i] = sigma((double)x.at[i]);
  for (i = 0; i < 4001; i++) if ((double)x.at[i] < -87.0) want[i] = sigma(-87.0);
  k->act(SYN__SIGMOID, y.at, x.at, x.n), plain->act(SYN__SIGMOID, z.at, x.at, x.n);
  close_to(y, want, 4e-7, 0.0, k->name, "sigmoid over -100..100"), same(y, z, k, "sigmoid range");
  for (i = 0; i < 4001; i++) x.at[i] = (float)(i + 1) * (i % 2 ? -0.0005f : 0.0005f);
  for (i = 0; i < 4001; i++) want[i] = tanh((double)x.at[i]);
  k->act(SYN__TANH, y.at, x.at, x.n), plain->act(SYN__TANH, z.at, x.at, x.n);
  close_to(y, want, 3e-7, 0.0, k->name, "tanh relative"), same(y, z, k, "tanh range");
  for (i = 0; i < 4001; i++) x.at[i] = ((float)i - 1999.5f) * 0.0025f;
  for (i = 0; i < 4001; i++) want[i] = f(SYN__GELU_ERF, (double)x.at[i]);
  k->act(SYN__GELU_ERF, y.at, x.at, x.n), plain->act(SYN__GELU_ERF, z.at, x.at, x.n);
  close_to(y, want, 1.2e-6, 0.0, k->name, "gelu_erf relative"), same(y, z, k, "gelu_erf range");
  for (i = 0; i < 4001; i++) x.at[i] = -0.022f * (float)i; /* 0 .. -88 under a maximum of 0 */
  k->softmax(y.at, x.at, x.n), plain->softmax(z.at, x.at, x.n);
  for (i = 0; i < 4001; i++)
    want[i] = (double)x.at[i] < -87.33654 ? 0.0 : exp((double)x.at[i]) * (double)y.at[0];
  y.n = z.n = 3780; /* where e^x / sum is still a normal number */
  close_to(y, want, 3e-7, 0.0, k->name, "exp relative"), same(y, z, k, "exp range");
  y.n = 4001;
  guards(y, k->name, "range");
  free(x.block), free(y.block), free(z.block), free(want);
}

static void test_special(const syn_kernels *k) {
  float x[40], y[40];
  int i, which, bad = 0;
  for (which = 0; which < SYN__ACTS; which++) {
    for (i = 0; i < 40; i++) x[i] = i == 5 ? NAN : i == 7 ? INFINITY : i == 20 ? -INFINITY : -0.0f;
    k->act(which, y, x, 37);
    for (i = 0; i < 37; i++) bad += i == 5 ? y[i] == y[i] : i != 7 && i != 20 && !(y[i] <= 0.5f);
    CHECK(bad == 0, "%s act %d: a NaN was hidden or spread", k->name, which);
  }
  k->act(SYN__TANH, y, x, 37);
  CHECK(y[7] == 1.0f && y[20] == -1.0f, "%s tanh of infinities: %g %g", k->name, (double)y[7],
        (double)y[20]);
  k->softmax(y, x, 37);
  CHECK(y[0] != y[0], "%s softmax: a NaN was hidden", k->name);
  for (i = 0; i < 40; i++) x[i] = i % 3 ? -INFINITY : 1.0f;
  k->softmax(y, x, 36);
  CHECK(y[1] == 0.0f && fabsf(y[3] - 1.0f / 12.0f) < 1e-7f, "%s softmax: masked elements", k->name);
  for (i = 0; i < 40; i++) x[i] = -INFINITY;
  k->softmax(y, x, 36);
  CHECK(y[0] == 0.0f && y[35] == 0.0f, "%s softmax: all masked gives %g", k->name, (double)y[0]);
  for (i = 0; i < 40; i++) x[i] = 3e38f;
  k->softmax(y, x, 32);
  CHECK(y[31] == 1.0f / 32.0f, "%s softmax of large numbers: %g", k->name, (double)y[31]);
}

/* -- normalisation -- */

static void reference_norm(double *y, double *stats, buffer x, const syn__norm *w) {
  double mean = 0.0, var = 0.0, count = x.n ? (double)x.n : 1.0;
  size_t i;
  for (i = 0; !w->rms && i < x.n; i++) mean += (double)x.at[i] / count;
  for (i = 0; i < x.n; i++) var += ((double)x.at[i] - mean) * ((double)x.at[i] - mean) / count;
  stats[0] = mean, stats[1] = 1.0 / sqrt(var + (double)w->eps);
  for (i = 0; i < x.n; i++)
    y[i] = ((double)x.at[i] - mean) * stats[1] * (double)w->g[i] + (w->b ? (double)w->b[i] : 0.0);
}

/* dx_i = sum_j dy_j g_j rstd (delta_ij - 1/n - xhat_i xhat_j / n) */
static void reference_norm_back(double *dx, buffer x, buffer g, buffer dy, const double *stats,
                                int rms) {
  double h = 0.0, hx = 0.0, count = (double)x.n;
  size_t i;
  for (i = 0; i < x.n; i++) {
    h += (double)dy.at[i] * (double)g.at[i] / count;
    hx += (double)dy.at[i] * (double)g.at[i] * ((double)x.at[i] - stats[0]) * stats[1] / count;
  }
  for (i = 0; i < x.n; i++)
    dx[i] += stats[1] * ((double)dy.at[i] * (double)g.at[i] - (rms ? 0.0 : h) -
                         ((double)x.at[i] - stats[0]) * stats[1] * hx);
}

static void test_norm(const syn_kernels *k) {
  double want[MOST], wstats[2];
  syn__norm_rows j;
  size_t s, i;
  int rms, how; /* 0: norm, 1: rms_norm, 2: norm without bias and with another eps */
  for (how = 0; how < 3; how++) {
    rms = how == 1;
    for (s = 0; s < SYN__COUNT(sizes); s++) {
      size_t n = sizes[s];
      buffer x = numbers(n, 2 + s, -1.0f, 3.0f), g = numbers(n, 21 + s, 0.5f, 1.5f);
      buffer b = numbers(n, 31 + s, -1.0f, 1.0f), dy = numbers(n, 41 + s, -1.0f, 1.0f);
      buffer y = output(n, NULL), z = output(n, NULL), dx = output(n, b.at), dz = output(n, b.at);
      buffer stats = output(2, NULL), stats2 = output(2, NULL);
      const syn__norm w = {g.at, how ? NULL : b.at, how == 2 ? 0.25f : SYN__NORM_EPS, rms};
      if (n == 1 && !rms) x.at[0] = 0.25f; /* one element: variance 0, rstd large */
      reference_norm(want, wstats, x, &w);
      k->norm(y.at, x.at, &w, n, stats.at);
      plain->norm(z.at, x.at, &w, n, stats2.at);
      guards(y, k->name, "norm"), guards(stats, k->name, "norm stats");
      close_to(y, want, 4e-6, 1.0, k->name, "norm");
      close_to(stats, wstats, 2e-6, 1.0, k->name, "norm stats");
      same(y, z, k, "norm"), same(stats, stats2, k, "norm stats");
      for (i = 0; i < n; i++) want[i] = (double)b.at[i];
      reference_norm_back(want, x, g, dy, wstats, rms);
      j.x = x.at, j.g = g.at, j.dy = dy.at, j.stats = stats.at;
      j.rows = 1, j.width = n, j.rms = rms;
      k->norm_back(dx.at, &j, 0);
      plain->norm_back(dz.at, &j, 0);
      guards(dx, k->name, "norm_back"), same(dx, dz, k, "norm_back");
      close_to(dx, want, 4e-6, 1.0 + wstats[1], k->name, "norm_back");
      free(x.block), free(g.block), free(b.block), free(dy.block), free(y.block), free(z.block);
      free(dx.block), free(dz.block), free(stats.block), free(stats2.block);
    }
  }
}

static void test_columns(const syn_kernels *k) {
  static const size_t widths[] = {1, 15, 16, 17, 50, 100, 33, 200};
  double want[3][MOST];
  syn__norm_rows j;
  size_t s, r, c, rows, c0, c1;
  for (s = 0; s < SYN__COUNT(widths); s++) {
    size_t w = widths[s];
    rows = 1 + s % 3 * 5, c0 = w / 3, c1 = w - w / 7;
    {
      buffer x = numbers(rows * w, s, -1.0f, 1.0f), dy = numbers(rows * w, 9 + s, -1.0f, 1.0f);
      buffer stats = numbers(rows * 2, 5 + s, 0.5f, 1.0f), old = numbers(w, 77, -1.0f, 1.0f);
      buffer y[3], z[3];
      syn__product p;
      int i;
      for (i = 0; i < 3; i++) y[i] = output(w, old.at), z[i] = output(w, old.at);
      for (c = 0; c < w; c++) {
        want[0][c] = want[1][c] = want[2][c] = (double)old.at[c];
        for (r = 0; c >= c0 && c < c1 && r < rows; r++) {
          double d = (double)dy.at[r * w + c], rstd = (double)stats.at[2 * r + 1];
          want[0][c] += d * ((double)x.at[r * w + c] - (double)stats.at[2 * r]) * rstd;
          want[1][c] += d, want[2][c] += d;
        }
      }
      j.x = x.at, j.g = NULL, j.dy = dy.at, j.stats = stats.at;
      j.rows = rows, j.width = w, j.rms = 0;
      k->norm_back_columns(y[0].at, y[1].at, &j, c0, c1);
      p = syn__sum_of_rows(y[2].at + c0, syn_matrix_of(dy.at + c0, (int)rows, (int)(c1 - c0), w));
      k->gemm(&p, 0, 1, 0, (p.c.cols + 15) / 16);
      plain->norm_back_columns(z[0].at, z[1].at, &j, c0, c1);
      p.c.x = z[2].at + c0;
      plain->gemm(&p, 0, 1, 0, (p.c.cols + 15) / 16);
      for (i = 0; i < 3; i++) {
        guards(y[i], k->name, "columns"), same(y[i], z[i], k, "columns");
        close_to(y[i], want[i], 2e-6, 1.0, k->name, i == 2 ? "sum_of_rows" : "norm_back_columns");
      }
      memcpy(y[0].at, old.at, w * sizeof(float));
      k->norm_back_columns(y[0].at, NULL, &j, c0, c1);
      same(y[0], z[0], k, "norm_back_columns without db");
      for (i = 0; i < 3; i++) free(y[i].block), free(z[i].block);
      free(x.block), free(dy.block), free(stats.block), free(old.block);
    }
  }
}

/* -- convolutions of single channels -- */

/* y += w u, or du += what dy sends back, from the definition: row r reads row r + first + tap */
static void reference_taps(double *y, const syn__depthwise *j, const float *u, int back) {
  int r, tap, c, size = j->width / j->heads;
  for (r = 0; r < j->rows; r++)
    for (tap = 0; tap < j->taps; tap++)
      for (c = 0; c < j->width; c++) {
        int at = r + j->first + tap, from = back ? r : at, to = back ? at : r;
        if (at < 0 || at >= j->rows) continue;
        y[to * j->width + c] += (double)u[from * j->width + c] *
            (double)j->w[(size_t)r * j->w_row + (size_t)(c / size * j->taps + tap)];
      }
}

static void test_taps(const syn_kernels *k) {
  static const int widths[] = {1, 6, 16, 34, 96}, heads[] = {1, 3, 16, 2, 2};
  static const int taps[] = {1, 2, 3, 7, 12}, lengths[] = {1, 2, 5, 9};
  double want[MOST];
  int s, p, l, back;
  for (s = 0; s < 5 * 5 * 4 * 4; s++) {
    syn__depthwise j;
    int own = s % 2, causal = s / 2 % 2;
    p = s / 4 % 5, l = s / 20 % 4;
    j.width = widths[s / 80], j.heads = heads[s / 80], j.taps = taps[p], j.rows = lengths[l];
    j.first = causal ? 1 - j.taps : -(j.taps / 2);
    j.w_row = own ? (size_t)(j.heads * j.taps) : 0;
    for (back = 0; back < 2; back++) {
      size_t n = (size_t)(j.rows * j.width), i;
      buffer u = numbers(n, 3, -1.0f, 1.0f), old = numbers(n, 4, -1.0f, 1.0f);
      buffer w = numbers((size_t)(j.heads * j.taps * (own ? j.rows : 1)), 5, -1.0f, 1.0f);
      buffer y = output(n, old.at), z = output(n, old.at);
      int half = j.rows / 2;
      j.w = w.at;
      for (i = 0; i < n; i++) want[i] = back ? (double)old.at[i] : 0.0;
      reference_taps(want, &j, u.at, back);
      k->taps(&j, y.at, u.at, half, j.rows, back), k->taps(&j, y.at, u.at, 0, half, back);
      plain->taps(&j, z.at, u.at, 0, j.rows, back);
      guards(y, k->name, "taps"), same(y, z, k, "taps");
      close_to(y, want, 2e-6, 1.0, k->name, back ? "taps, backward" : "taps");
      free(u.block), free(old.block), free(w.block), free(y.block), free(z.block);
    }
  }
}

/* -- loss, dropout, optimizers -- */

static double reference_loss(double *grad, buffer z, int label, double eps, double scale) {
  double top = -1e300, sum = 0.0, loss = 0.0, q, p;
  size_t i;
  for (i = 0; i < z.n; i++) if ((double)z.at[i] > top) top = (double)z.at[i];
  for (i = 0; i < z.n; i++) sum += exp((double)z.at[i] - top);
  for (i = 0; i < z.n; i++) {
    q = (int)i == label ? 1.0 - eps : z.n > 1 ? eps / (double)(z.n - 1) : 0.0;
    p = exp((double)z.at[i] - top) / sum;
    if (q != 0.0) loss -= q * ((double)z.at[i] - top - log(sum));
    grad[i] = (p - q) * scale;
  }
  return loss;
}

static void test_loss(const syn_kernels *k) {
  static const float eps[] = {0.0f, 0.1f};
  double want[MOST], wanted;
  size_t s, e;
  for (s = 1; s < SYN__COUNT(sizes); s++) {
    for (e = 0; e < 2; e++) {
      size_t n = sizes[s];
      int label = (int)(n * 2 / 3);
      buffer z = numbers(n, 8 + s, -6.0f, 6.0f), y = output(n, z.at), p = output(n, z.at);
      float loss, other;
      wanted = reference_loss(want, z, label, (double)eps[e], 0.25);
      loss = k->loss(y.at, n, label, eps[e], 0.0f);
      near_number(loss, wanted, 3e-6 * (1.0 + wanted), k, "loss", n);
      CHECK(!memcmp(y.at, z.at, n * sizeof(float)), "%s loss: wrote without scale", k->name);
      other = k->loss(y.at, n, label, eps[e], 0.25f);
      CHECK(loss == other, "%s loss: %g with gradient, %g without", k->name, (double)other,
            (double)loss);
      other = plain->loss(p.at, n, label, eps[e], 0.25f);
      same_number(loss, other, k, "loss", n);
      guards(y, k->name, "loss"), same(y, p, k, "loss gradient");
      close_to(y, want, 1e-6, 1.0, k->name, "loss gradient");
      free(z.block), free(y.block), free(p.block);
    }
  }
}

#define DROPS 40000
/* mean rate, and the agreement of neighbours, of strides 16 and 64, and of two keys: each within
   five standard deviations of independence */
static void test_dropout(const syn_kernels *k) {
  static const uint32_t keys[][2] = {{1, 2}, {2, 1}, {1, 3}, {0, 0}, {0xFFFFFFFFu, 7}};
  static const size_t steps[] = {1, 16, 64};
  const double rate = 0.3, limit = 5.0 * sqrt(0.3 * 0.7 / DROPS);
  buffer x = output(DROPS, NULL), first = output(DROPS, NULL), z;
  size_t key, i, j, dropped, both;
  syn__dropout d;
  d.limit = (uint32_t)(rate * 16777216.0), d.scale = 1.25f;
  for (key = 0; key < SYN__COUNT(keys); key++) {
    d.key = keys[key][0], d.key2 = keys[key][1];
    for (i = 0; i < DROPS; i++) x.at[i] = 2.0f;
    k->dropout(&d, 1000000007u, x.at, x.at, NULL, DROPS);
    for (dropped = i = 0; i < DROPS; i++) dropped += x.at[i] == 0.0f;
    for (both = i = 0; i < DROPS; i++) both += x.at[i] != 0.0f && x.at[i] != 2.5f;
    CHECK(both == 0, "%s dropout: kept elements are not scaled", k->name);
    CHECK(fabs((double)dropped / DROPS - rate) < limit, "%s dropout: rate %g", k->name,
          (double)dropped / DROPS);
    for (j = 0; j < 3; j++) {
      for (both = 0, i = steps[j]; i < DROPS; i++)
        both += x.at[i] == 0.0f && x.at[i - steps[j]] == 0.0f;
      CHECK(fabs((double)both / DROPS - rate * rate) < limit, "%s dropout: step %d, both %g",
            k->name, (int)steps[j], (double)both / DROPS);
    }
    if (key == 0) memcpy(first.at, x.at, DROPS * sizeof(float));
    for (both = i = 0; key && i < DROPS; i++) both += x.at[i] == 0.0f && first.at[i] == 0.0f;
    if (key) CHECK(fabs((double)both / DROPS - rate * rate) < limit, "%s dropout: keys agree %g",
                   k->name, (double)both / DROPS);
  }
  guards(x, k->name, "dropout");
  for (i = 0; i < SYN__COUNT(sizes); i++) { /* pieces give what the whole gave; all rows alike */
    size_t n = sizes[i];
    z = output(n, NULL);
    for (j = 0; j < n; j++) z.at[j] = 2.0f;
    k->dropout(&d, 1000000007u + 5u, z.at, z.at, NULL, n);
    guards(z, k->name, "dropout");
    CHECK(!n || !memcmp(z.at, x.at + 5, n * sizeof(float)), "%s dropout: a piece differs", k->name);
    for (j = 0; j < n; j++) first.at[j] = 2.0f;
    plain->dropout(&d, 1000000007u + 5u, first.at, first.at, NULL, n);
    CHECK(!n || !memcmp(z.at, first.at, n * sizeof(float)), "%s dropout: not as scalar", k->name);
    for (j = 0; j < n; j++) first.at[j] = 2.0f;
    plain->add(z.at, x.at, z.at, n);
    k->dropout(&d, 1000000007u + 5u, first.at, first.at, x.at, n);
    CHECK(!n || !memcmp(z.at, first.at, n * sizeof(float)), "%s dropout: not added", k->name);
    free(z.block);
  }
  free(x.block), free(first.block);
}

/* The kernels of attention weights give the bits of softmax, dropout and softmax_back one after the
   other; the sign of p is the mask. */
static void test_softmax_drop(const syn_kernels *k) {
  size_t s, i, bad;
  syn__dropout d;
  d.key = 5, d.key2 = 9, d.limit = (uint32_t)(0.4 * 16777216.0), d.scale = 1.0f / 0.6f;
  for (s = 0; s < SYN__COUNT(sizes); s++) {
    size_t n = sizes[s];
    buffer x = numbers(n, 3 + s, -4.0f, 4.0f), dy = numbers(n, 60 + s, -2.0f, 2.0f);
    buffer p = output(n, x.at), y = output(n, NULL), alone = output(n, x.at), back = output(n, dy.at);
    buffer w = output(n, NULL), wd = output(n, NULL), dw = output(n, dy.at);
    k->softmax_drop(&d, 77, p.at, y.at, n), k->softmax_drop(&d, 77, alone.at, alone.at, n);
    plain->softmax(w.at, x.at, n);
    if (n) memcpy(wd.at, w.at, n * sizeof(float));
    plain->dropout(&d, 77, wd.at, wd.at, NULL, n), plain->dropout(&d, 77, dw.at, dw.at, NULL, n);
    guards(p, k->name, "softmax_drop"), guards(y, k->name, "softmax_drop");
    same(y, wd, k, "softmax_drop"), same(alone, wd, k, "softmax_drop in place");
    for (bad = i = 0; i < n; i++) bad += p.at[i] != (wd.at[i] == 0.0f ? -w.at[i] : w.at[i]);
    CHECK(bad == 0 || !k->exact || !plain->exact, "%s softmax_drop: n %d, %d wrong signs", k->name,
          (int)n, (int)bad);
    k->softmax_drop_back(d.scale, p.at, back.at, n);
    plain->softmax_back(dw.at, w.at, dw.at, n);
    guards(p, k->name, "softmax_drop_back"), guards(back, k->name, "softmax_drop_back");
    same(p, dw, k, "softmax_drop_back"), same(back, wd, k, "softmax_drop_back, weights");
    free(x.block), free(dy.block), free(p.block), free(y.block), free(alone.block);
    free(back.block), free(w.block), free(wd.block), free(dw.block);
  }
}

static void test_adam(const syn_kernels *k) {
  double want[3][MOST];
  syn__adam a;
  size_t s, i;
  a.lr = 0.01f, a.beta1 = 0.9f, a.beta2 = 0.999f, a.eps = 1e-8f, a.decay = 0.001f;
  a.fix1 = 1.0f / 0.19f, a.fix2 = 1.0f / 0.001999f, a.scale = 0.5f;
  for (s = 0; s < SYN__COUNT(sizes); s++) {
    size_t n = sizes[s];
    buffer old = numbers(3 * n, s, 0.01f, 1.0f), g = numbers(n, 60 + s, -1.0f, 1.0f), y[3], z[3];
    int j;
    for (j = 0; j < 3; j++) {
      y[j] = output(n, old.at + (size_t)j * n);
      z[j] = output(n, old.at + (size_t)j * n);
    }
    for (i = 0; i < n; i++) {
      double d = (double)g.at[i] * 0.5, w = (double)old.at[i], m = (double)old.at[n + i];
      double v = (double)old.at[2 * n + i];
      want[1][i] = m = (double)a.beta1 * m + (1.0 - (double)a.beta1) * d;
      want[2][i] = v = (double)a.beta2 * v + (1.0 - (double)a.beta2) * d * d;
      want[0][i] = w - (double)a.lr * m * (double)a.fix1 / (sqrt(v * (double)a.fix2) + 1e-8) -
                   (double)a.decay * w;
    }
    k->adam(&a, y[0].at, y[1].at, y[2].at, g.at, n);
    plain->adam(&a, z[0].at, z[1].at, z[2].at, g.at, n);
    for (j = 0; j < 3; j++) {
      guards(y[j], k->name, "adam"), same(y[j], z[j], k, "adam");
      close_to(y[j], want[j], 1e-6, 1.0, k->name, "adam");
      free(y[j].block), free(z[j].block);
    }
    free(old.block), free(g.block);
  }
}

static void test_squares(const syn_kernels *k) {
  size_t s, i;
  for (s = 0; s < SYN__COUNT(sizes); s++) {
    size_t n = sizes[s];
    buffer a = numbers(n, s, -1.0f, 1.0f), b = numbers(n, 90 + s, -2.0f, 2.0f);
    double want = 0.0;
    for (i = 0; i < n; i++) {
      double x = (double)a.at[i] * (double)b.at[i];
      want += x * x;
    }
    near_number(k->squares(a.at, b.at, n), want, 1e-6 * (want + 1.0), k, "squares", n);
    same_number(k->squares(a.at, b.at, n), plain->squares(a.at, b.at, n), k, "squares", n);
    free(a.block), free(b.block);
  }
}

/* Columns in one piece and in two give the same. */
static void test_factor(const syn_kernels *k) {
  static const size_t rows[] = {1, 2, 4};
  double want[2][MOST];
  syn__factor f;
  size_t s, q, r, c;
  f.beta = 0.75f, f.rest = 0.25f, f.square = 0.5f, f.eps = 1e-30f;
  for (s = 1; s < SYN__COUNT(sizes); s++)
    for (q = 0; q < SYN__COUNT(rows); q++) {
      size_t n = sizes[s], half = n / 2;
      buffer g = numbers(n * rows[q], s, -1.0f, 1.0f), old = numbers(n, 30 + s, 0.0f, 1.0f);
      buffer v = output(n, old.at), root = output(n, NULL), v2 = output(n, old.at);
      buffer root2 = output(n, NULL);
      f.g = g.at, f.rows = rows[q], f.width = n;
      for (c = 0; c < n; c++) {
        double sum = 0.0;
        for (r = 0; r < rows[q]; r++) sum += (double)g.at[r * n + c] * (double)g.at[r * n + c];
        want[0][c] = 0.75 * (double)old.at[c] + 0.25 * (0.5 * sum + 1e-30);
        want[1][c] = 1.0 / sqrt(want[0][c]);
      }
      k->factor(&f, v.at, root.at, 0, half);
      k->factor(&f, v.at, root.at, half, n);
      plain->factor(&f, v2.at, root2.at, 0, n);
      guards(v, k->name, "factor"), guards(root, k->name, "factor");
      same(v, v2, k, "factor"), same(root, root2, k, "factor");
      close_to(v, want[0], 1e-6, 1e-6, k->name, "factor");
      close_to(root, want[1], 1e-6, 1e-6, k->name, "factor: root");
      free(g.block), free(old.block), free(v.block), free(root.block);
      free(v2.block), free(root2.block);
    }
}

/* With and without a memory, with and without factors of the columns. */
static void test_descend(const syn_kernels *k) {
  double want[2][MOST];
  syn__weight_update d;
  size_t s, i;
  int how;
  d.rate = 0.3f, d.beta = 0.9f, d.rest = 0.2f, d.decay = 0.01f;
  for (s = 0; s < SYN__COUNT(sizes); s++)
    for (how = 0; how < 4; how++) {
      size_t n = sizes[s];
      buffer old = numbers(2 * n, s, -1.0f, 1.0f), g = numbers(n, 60 + s, -1.0f, 1.0f), y[2], z[2];
      buffer root = numbers(n, 80 + s, 0.5f, 2.0f);
      int j, m = how & 1, factors = how & 2;
      for (j = 0; j < 2; j++) {
        y[j] = output(n, old.at + (size_t)j * n);
        z[j] = output(n, old.at + (size_t)j * n);
      }
      for (i = 0; i < n; i++) {
        double u = (double)d.rate * (double)g.at[i] * (factors ? (double)root.at[i] : 1.0);
        want[1][i] = (double)old.at[n + i];
        if (m) u = want[1][i] = (double)d.beta * want[1][i] + (double)d.rest * u;
        want[0][i] = (double)old.at[i] - u - (double)d.decay * (double)old.at[i];
      }
      k->descend(&d, y[0].at, m ? y[1].at : NULL, g.at, factors ? root.at : NULL, n);
      plain->descend(&d, z[0].at, m ? z[1].at : NULL, g.at, factors ? root.at : NULL, n);
      for (j = 0; j < 2; j++) {
        guards(y[j], k->name, "descend"), same(y[j], z[j], k, "descend");
        close_to(y[j], want[j], 1e-6, 1.0, k->name, "descend");
        free(y[j].block), free(z[j].block);
      }
      free(old.block), free(g.block), free(root.block);
    }
}

/* -- products -- */

enum { ZERO, BIAS, ACCUMULATE }; /* where the sums start */

typedef struct shape {
  int m, n, k, start, a_transposed; /* a_transposed: a is stored [K,M] */
} shape;

static void reference_product(double *c, const syn__product *p) {
  int m, n, k;
  for (m = 0; m < p->c.rows; m++) {
    for (n = 0; n < p->c.cols; n++) {
      double s = p->accumulate ? c[m * p->c.cols + n] : p->bias ? (double)p->bias[n] : 0.0;
      for (k = 0; k < p->a.cols; k++)
        s += (double)p->a.x[(size_t)m * p->a.row + (size_t)k * p->a.col] *
             (double)p->b.x[(size_t)k * p->b.row + (size_t)n * p->b.col];
      c[m * p->c.cols + n] = s;
    }
  }
}

static syn__product operands(shape s, const float *a, const float *b, const float *bias) {
  return syn__product_of(syn_matrix_of(NULL, s.m, s.n, 0),
                         s.a_transposed ? syn_transposed(syn_matrix_of(a, s.k, s.m, 0))
                                        : syn_matrix_of(a, s.m, s.k, 0),
                         syn_matrix_of(b, s.k, s.n, 0), s.start == BIAS ? bias : NULL,
                         s.start == ACCUMULATE);
}

/* Floats of a packed a, as pack_a writes them. */
static size_t packed_a(const syn_kernels *k, int m, int n) {
  return (size_t)((m + k->mr - 1) / k->mr) * ((size_t)n * (size_t)k->mr + SYN__PANEL_END);
}

/* c[0] is the product; 1: by the scalar kernels, 2: in pieces, 3: b packed, 4: b packed from its
   transpose, scalar, 5: b streamed, 6: a packed, too (where its columns are contiguous), 7: b^T
   where it lies, by the scalar kernels, which alone read it so. */
static void test_product(const syn_kernels *k, shape s, uint64_t seed) {
  size_t mn = (size_t)s.m * (size_t)s.n, kn = (size_t)s.k * (size_t)s.n, i;
  size_t packed = (size_t)s.k * (size_t)((s.n + 15) / 16) * 16;
  int panels = (s.n + 15) / 16, m, j;
  buffer a = numbers((size_t)s.m * (size_t)s.k, seed, -1.0f, 1.0f);
  buffer b = numbers(kn, seed + 1, -1.0f, 1.0f), old = numbers(mn, seed + 3, -1.0f, 1.0f);
  buffer bias = numbers((size_t)s.n, seed + 2, -1.0f, 1.0f);
  buffer b_columns = input(kn), one = output(packed, NULL), two = output(packed, NULL);
  buffer c[8], side = output(packed_a(k, s.m, s.k), NULL);
  double *want = (double *)malloc((mn ? mn : 1) * sizeof(double));
  syn_matrix b_t = syn_transposed(syn_matrix_of(b_columns.at, s.n, s.k, 0));
  syn__product p;
  if (!want) exit(2);
  for (i = 0; i < 8; i++) c[i] = output(mn, old.at);
  for (i = 0; i < mn; i++) want[i] = (double)old.at[i];
  for (i = 0; i < kn; i++) b_columns.at[i % (size_t)s.n * (size_t)s.k + i / (size_t)s.n] = b.at[i];
  p = operands(s, a.at, b.at, bias.at);
  reference_product(want, &p);
  p.c.x = c[0].at, k->gemm(&p, 0, s.m, 0, panels);
  p.c.x = c[1].at, plain->gemm(&p, 0, s.m, 0, panels);
  p.c.x = c[2].at;
  for (m = 0; m < s.m; m += 5)
    for (j = 0; j < panels; j += 2)
      k->gemm(&p, m, syn__min(m + 5, s.m), j, syn__min(j + 2, panels));
  k->pack_b(&p.b, one.at), k->pack_b(&b_t, two.at);
  p.b = syn__packed(one.at, s.k, s.n), p.c.x = c[3].at, k->gemm(&p, 0, s.m, 0, panels);
  p.b.x = two.at, p.c.x = c[4].at, plain->gemm(&p, 0, s.m, 0, panels);
  p.streamed = 1, p.c.x = c[5].at, k->gemm(&p, 0, s.m, 0, panels);
  p.streamed = 0, p.c.x = c[6].at;
  if (s.a_transposed) {
    k->pack_a(&p.a, side.at, NULL);
    p.a.x = side.at, p.a.col = (size_t)k->mr;
    p.a.panel = (size_t)s.k * (size_t)k->mr + SYN__PANEL_END;
  }
  k->gemm(&p, 0, s.m, 0, panels);
  p = operands(s, a.at, b.at, bias.at);
  p.b = b_t, p.c.x = c[7].at, plain->gemm(&p, 0, s.m, 0, panels);
  for (i = 0; i < 8; i++) {
    guards(c[i], k->name, "gemm");
    close_to(c[i], want, 3e-7, 1.0 + (double)s.k, k->name, "gemm");
    if (i == 1 || i == 4 || i == 7) same(c[i], c[0], k, "gemm");
    else CHECK(!mn || !memcmp(c[i].at, c[0].at, mn * sizeof(float)),
               "%s product %d,%d,%d start %d: variant %d has other bits", k->name, s.m, s.n, s.k,
               s.start, (int)i);
  }
  for (i = 0; i < 8; i++) free(c[i].block);
  guards(one, k->name, "pack_b"), same(one, two, plain, "pack_b");
  free(a.block), free(b.block), free(bias.block), free(old.block), free(b_columns.block);
  free(one.block), free(two.block), free(side.block), free(want);
}

/* Every number of a [m,k], whose columns are contiguous, at its place in the micro-panels; the
   guards stand behind the floats that pack_a may write. */
static void test_pack_a(const syn_kernels *k, int m, int n) {
  size_t col = (size_t)m + 3, mr = (size_t)k->mr, panel = (size_t)n * mr + SYN__PANEL_END;
  buffer a = numbers(n ? (size_t)(n - 1) * col + (size_t)m : 0, 77, -1.0f, 1.0f);
  buffer to = output(packed_a(k, m, n), NULL), sums = output((size_t)m, NULL);
  syn_matrix x = syn_transposed(syn_matrix_of(a.at, n, m, col));
  size_t i, j, bad = 0;
  float sum;
  for (i = 0; i < (size_t)m; i++) sums.at[i] = 1.0f;
  k->pack_a(&x, to.at, sums.at);
  for (i = 0; i < (size_t)m; i++) {
    for (j = 0, sum = 1.0f; j < (size_t)n; j++) {
      bad += a.at[i + j * col] != to.at[i / mr * panel + j * mr + i % mr];
      sum += a.at[i + j * col];
    }
    bad += sums.at[i] != sum;
  }
  CHECK(bad == 0, "%s pack_a %d,%d: %d numbers are not where they belong", k->name, m, n,
        (int)bad);
  guards(to, k->name, "pack_a"), guards(sums, k->name, "pack_a, sums");
  free(a.block), free(to.block), free(sums.block);
}
static void test_products(const syn_kernels *k) {
  static const int ms[] = {1, 2, 3, 5, 13, 31}, ns[] = {1, 15, 16, 17, 40, 64, 147, 160};
  static const int ks[] = {0, 1, 7, 33};
  static const int heights[] = {1, 2, 5, 7, 8, 9, 16, 17, 24, 31, 48};
  static const int depths[] = {0, 1, 2, 7, 17, 18, 19, 33};
  size_t i, j, l;
  shape s;
  for (i = 0; i < SYN__COUNT(ms); i++)
    for (j = 0; j < SYN__COUNT(ns); j++)
      for (l = 0; l < SYN__COUNT(ks); l++) {
        s.m = ms[i], s.n = ns[j], s.k = ks[l];
        s.start = (int)((i + j + l) % 3), s.a_transposed = (int)((i + j) % 2);
        test_product(k, s, 1000 + i * 100 + j * 10 + l);
      }
  s.m = 9, s.n = 800, s.k = 700, s.start = ACCUMULATE, s.a_transposed = 0; /* more than fits the cache */
  test_product(k, s, 9);
  for (i = 0; i < SYN__COUNT(heights); i++)
    for (l = 0; l < SYN__COUNT(depths); l++) test_pack_a(k, heights[i], depths[l]);
  for (i = 0; i < SYN__COUNT(ms); i++) { /* more panels than pass by at a time */
    s.m = ms[i], s.n = 443, s.k = i % 2 ? 530 : 40, s.start = (int)(i % 3), s.a_transposed = 0;
    test_product(k, s, 3000 + i);
  }
}

/* -- dispatch -- */

static void test_dispatch(void) {
  syn_context c;
  syn_options o;
  int i;
  memset(&o, 0, sizeof o);
  CHECK(syn_context_init(&c, NULL) == SYN_OK && c.kernels && c.options.alloc && c.options.release,
        "syn_context_init without options");
  CHECK(c.options.threads == 1, "threads %d by default", c.options.threads);
  o.threads = 1000000;
  CHECK(syn_context_init(&c, &o) == SYN_OK && c.options.threads >= 1 &&
            c.options.threads <= SYN_MAX_THREADS, "threads %d", c.options.threads);
  for (i = 0; i < syn_isa_count(); i++) {
    o.isa = syn_isa_name(i);
    if (syn_isa_usable(i))
      CHECK(syn_context_init(&c, &o) == SYN_OK && !strcmp(c.kernels->name, o.isa), "isa %s", o.isa);
    else
      CHECK(syn_context_init(&c, &o) == SYN_E_VALUE && c.kernels, "isa %s is not here", o.isa);
    CHECK(syn_context_exact(&c) == c.kernels->exact, "exact");
  }
  o.isa = "mmx";
  CHECK(syn_context_init(&c, &o) == SYN_E_VALUE && strstr(c.message, "mmx") && strstr(c.message, "scalar"),
        "unknown isa: %s", c.message);
  CHECK(!syn_isa_usable(-1) && !syn_isa_usable(syn_isa_count()) && syn_isa_name(-1), "row -1");
  CHECK(syn_context_exact(NULL) == 0 && syn_context_init(NULL, NULL) == SYN_E_VALUE, "null context");
  o.isa = NULL, o.alloc = syn__default_alloc;
  CHECK(syn_context_init(&c, &o) == SYN_E_VALUE && c.options.release, "alloc without release");
}

/* The floating-point state of the thread: syn_context_exact tells where it changes results. */
static void test_float_state(void) {
#if defined(FE_UPWARD) && defined(FE_TOWARDZERO) && !defined(__wasm__)
  static const int roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  syn_options o;
  syn_context c;
  int i, k;
  memset(&o, 0, sizeof o);
  for (i = 0; i < syn_isa_count(); i++) {
    o.isa = syn_isa_name(i);
    if (!syn_isa_usable(i) || syn_context_init(&c, &o) || !c.kernels->exact) continue;
    for (k = 0; k < 4; k++) {
      int set = fesetround(roundings[k]), exact = syn_context_exact(&c);
      fesetround(FE_TONEAREST);
      CHECK(set || exact == (k == 3), "%s: rounding %d: exact %d", o.isa, k, exact);
    }
#ifdef __SSE2__
    for (k = 0; k < 2; k++) {
      const unsigned before = _mm_getcsr();
      int exact;
      _mm_setcsr(before | (k ? 0x8000 : 0x40)); /* FTZ, DAZ */
      exact = syn_context_exact(&c);
      _mm_setcsr(before);
      CHECK(!exact && syn_context_exact(&c), "%s: %s: exact %d", o.isa, k ? "FTZ" : "DAZ", exact);
    }
#endif
  }
#endif
}

static void test_isa(const syn_kernels *k) {
  size_t i;
  test_elementwise(k);
  for (i = 0; i < SYN__COUNT(gate_acts); i++) test_glu_back(k, gate_acts[i]);
  test_cells(k);
  test_additive(k);
  test_reductions(k), test_dots(k), test_tokens(k), test_gemv_int8(k), test_int8(k);
  test_range(k);
  test_special(k);
  test_norm(k);
  test_columns(k);
  test_taps(k);
  test_loss(k);
  test_dropout(k);
  test_softmax_drop(k);
  test_adam(k);
  test_squares(k);
  test_factor(k);
  test_descend(k);
  test_products(k);
}

/* fmaf of our own against that of the C library: any floats; sums that nearly cancel; products with
   few bits, whose sums are ties. */
static void test_fmaf(void) {
  syn_random r = {1};
  long i, count = CHECK_QUICK ? 1000000 : 10000000, wrong = 0;
  for (i = 0; i < count; i++) {
    uint64_t x = syn_random_next(&r), y = syn_random_next(&r);
    uint32_t a = (uint32_t)x, b = (uint32_t)(x >> 32), c = (uint32_t)y, bits[2];
    float f[5], p;
    if (i % 2) a = (a & 0x807FFFFFu) | (uint32_t)(100 + (y >> 40) % 56) << 23;
    if (i % 2) b = (b & 0x807FFFFFu) | (uint32_t)(100 + (y >> 50) % 56) << 23;
    if (i % 8 == 3) a &= 0xFFFFF000u, b &= 0xFFFFF000u;
    memcpy(&f[0], &a, 4), memcpy(&f[1], &b, 4);
    p = f[0] * f[1];
    if (i % 4 == 1) memcpy(&c, &p, 4), c &= 0x7F800000u, c += ((uint32_t)(y % 60) - 30u) << 23;
    if (i % 16 == 5) c ^= 0x80000000u;
    memcpy(&f[2], &c, 4);
    if (i % 16 == 7) f[2] = -p;
    f[3] = fmaf(f[0], f[1], f[2]), f[4] = syn__fmaf(f[0], f[1], f[2]);
    memcpy(bits, &f[3], 8);
    if (bits[0] != bits[1] && (f[3] == f[3] || f[4] == f[4]) && wrong++ < 5)
      CHECK(0, "fma of %a, %a, %a: %a, wanted %a", (double)f[0], (double)f[1], (double)f[2],
            (double)f[4], (double)f[3]);
  }
  CHECK(wrong == 0, "%ld of %ld", wrong, count);
}

/* Division by a small integer, with the bits of the machine's division. */
static void test_over(void) {
  syn_random r = {2};
  long i, wrong = 0;
  for (i = 0; i < 1000000; i++) {
    uint64_t x = syn_random_next(&r), y = syn_random_next(&r);
    uint32_t n = 1 + (uint32_t)(y >> 40) % 512;
    double a, want, got;
    if (i % 3) x = (x & UINT64_C(0x800FFFFFFFFFFFFF)) | (uint64_t)(1000 + i % 50) << 52;
    if (i % 5 == 0) x &= ~UINT64_C(0xFFFFFFFF);
    memcpy(&a, &x, sizeof a);
    if (i % 7 == 0) a = (double)n * (double)(y & 0xFFFFFF);
    want = a / (double)n, got = syn__over(a, n);
    if (memcmp(&want, &got, sizeof want) && a == a && wrong++ < 5)
      CHECK(0, "%a / %u: %a, wanted %a", a, (unsigned)n, got, want);
  }
  CHECK(wrong == 0, "%ld", wrong);
}

/* The masks of dropout: the hash written out once more, as >>update kernels states it. */
static void test_dropout_hash(void) {
  const syn__dropout d = {0x12345678u, 0x9ABCDEF0u, 5000000, 2.0f};
  const uint64_t mixed = syn__mix((uint64_t)d.key << 32 | d.key2);
  float x[1000];
  uint32_t i, h;
  for (i = 0; i < 1000; i++) x[i] = 1.0f;
  plain->dropout(&d, 0xFFFFFF00u, x, x, NULL, 1000); /* the index overflows on the way */
  for (i = 0; i < 1000; i++) {
    h = (0xFFFFFF00u + i) ^ (uint32_t)(mixed >> 32);
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13 ^ (uint32_t)mixed) * 0xC2B2AE35u;
    h = h ^ h >> 16;
    CHECK(x[i] == (h >> 8 < d.limit ? 0.0f : 2.0f), "dropout: element %u is %g", (unsigned)i, (double)x[i]);
  }
}

/* Sizes that buffers are made by, and a task whose kernel adds. */
static void test_sizes(void) {
  static const int some[] = {1, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1100};
  float z[2 * 20], dz[2 * 20], zero[20] = {0.0f};
  const syn__glu_job j = {SYN__SIGMOID, z, zero, dz, 10};
  syn_context c;
  syn_tape t;
  size_t i, k;
  for (i = 0; i < SYN__COUNT(some); i++)
    for (k = 0; k < SYN__COUNT(some); k++) { /* the largest block of syn_gemm: min(512, k) rows of whole panels */
      int rows = some[k] < 512 ? some[k] : 512, most = syn__block_columns(some[k]);
      size_t columns = (size_t)(some[i] < most ? some[i] : most);
      CHECK(syn__block_floats(some[k], some[i]) == (size_t)rows * ((columns + 15) / 16 * 16), "a block of %d x %d",
            some[k], some[i]);
    }
  CHECK(syn__chunks(0) == 0 && syn__chunks(1) == 1 && syn__chunks(65536) == 1 && syn__chunks(65537) == 2 &&
            syn__chunks(131072) == 2,
        "chunks of 65536");
  syn_context_init(&c, NULL);
  memset(&t, 0, sizeof t);
  t.c = &c;
  t.k = c.kernels;
  for (i = 0; i < 40; i++) z[i] = (float)i - 20.0f, dz[i] = 5.0f;
  syn__task_glu(&t, &j, 0, 0, 1);
  for (i = 0; i < 40; i++) CHECK(dz[i] == (i < 20 ? 0.0f : 5.0f), "glu: dz[%d] is %g", (int)i, (double)dz[i]);
}

int main(void) {
  int i;
  plain = syn__isas.isas[0];
  undivided = 1;
  test_dropout_hash();
  test_sizes();
  test_fmaf();
  test_over();
  test_dispatch();
  test_float_state();
  test_isa(plain);
  for (i = 0; i < syn_isa_count(); i++) {
    if (!syn_isa_usable(i)) printf("skipped: isa %s\n", syn_isa_name(i));
    else if (syn__isas.isas[i] != plain) test_isa(syn__isas.isas[i]);
  }
  return check_end("kernels");
}
