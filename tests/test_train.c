/* Training: losses, schedules, optimizers, frozen tensors, batches of data, validation, checkpoints. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"
#include "pool.h"

/* Two small networks; without dropout unless it is asked for. */
static syn_config config_of(int lm) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = lm ? "lm" : "seq2seq";
  k.encoder = lm ? NULL : "pos -> res_nd(syn_att(R+V)) -> norm";
  k.decoder = lm ? "learn_pos -> res_nd(syn_att(D)) -> res_nd(ffl) -> norm"
                 : "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> norm";
  k.d_model = 16;
  k.heads = 2;
  k.max_len = 12;
  k.src_vocab = k.tgt_vocab = 14;
  k.seed = 3;
  return k;
}

typedef struct bench {
  syn_context c;
  syn_config k;
  syn_model *m;
  syn_trainer *t;
} bench;

static int bench_make(bench *b, const syn_config *k, const syn_train_config *train) {
  memset(b, 0, sizeof *b);
  syn_context_init(&b->c, NULL);
  b->k = *k;
  b->m = syn_model_new(&b->c, k);
  b->t = b->m ? syn_trainer_new(&b->c, b->m, train) : NULL;
  CHECK(b->t, "%s", b->c.message);
  return b->t != NULL;
}
static void bench_free(bench *b) {
  syn_trainer_free(b->t);
  syn_model_free(b->m);
}

/* `count` copies of 1 .. 6 tokens, each row begun by its own number where `marked`. */
static syn_data *copies(syn_context *c, int count, uint64_t seed, int marked) {
  syn_data *d = syn_data_new(c);
  int row[16], i, j, n;
  syn_random r;
  r.state = seed;
  for (i = 0; i < count; i++) {
    n = 1 + syn_random_below(&r, 6);
    for (j = 0; j < n; j++) row[j] = 4 + syn_random_below(&r, 10);
    if (marked) row[0] = 1000 + i;
    CHECK(syn_data_add(d, row, n, row, n) == SYN_OK, "%s", c->message);
  }
  return d;
}

/* Padded arrays of three sentences. */
static const int three_src[] = {4, 5, 6, 3, 7, 3, 0, 0, 8, 9, 3, 0};
static const int three_in[] = {2, 4, 5, 6, 2, 7, 0, 0, 2, 8, 9, 0};
static const int three_out[] = {4, 5, 6, 3, 7, 3, 0, 0, 8, 9, 3, 0};
static syn_batch three(int first, int count) {
  syn_batch b;
  b.count = count;
  b.src = three_src + 4 * first;
  b.tgt = three_in + 4 * first;
  b.labels = three_out + 4 * first;
  b.src_width = b.tgt_width = 4;
  return b;
}

/* -- a copy task is learned -- */

static int last_report(void *user, const syn_trainer *t, float loss, int validated) {
  SYN__UNUSED(t);
  SYN__UNUSED(validated);
  *(float *)user = loss;
  return 0;
}

static void test_learns(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_data *d;
  bench b;
  float loss = 99;
  double valid;
  int64_t labels;
  memset(&train, 0, sizeof train);
  k.d_model = 32;
  train.lr = 0.005f;
  train.warmup = 20;
  train.steps = CHECK_SHORT ? 200 : 300;
  train.batch_tokens = 300;
  if (!bench_make(&b, &k, &train)) return;
  d = copies(&b.c, 400, 1, 0);
  CHECK(syn_trainer_run(b.t, d, NULL, last_report, &loss) == SYN_OK, "%s", b.c.message);
  CHECK(loss < (CHECK_SHORT ? 0.5f : 0.1f), "loss %g after %ld steps", (double)loss,
        (long)syn_trainer_state(b.t)->step);
  CHECK(syn_trainer_state(b.t)->step == train.steps, "%ld steps", (long)syn_trainer_state(b.t)->step);
  syn_data_free(d);
  d = copies(&b.c, 60, 2, 0);
  CHECK(syn_trainer_evaluate(b.t, d, &valid, &labels) == SYN_OK && valid < 0.8, "unseen rows: %g", valid);
  syn_data_free(d);
  bench_free(&b);
}

/* -- schedules -- */

typedef struct point {
  int which;
  double t, w, n, d, want;
} point;

static void test_schedules(void) {
  static const point points[] = {
      {SYN__NOAM, 1, 100, 0, 64, 0.125 * 0.001}, {SYN__NOAM, 50, 100, 0, 64, 0.125 * 0.05},
      {SYN__NOAM, 100, 100, 0, 64, 0.0125},      {SYN__NOAM, 400, 100, 0, 64, 0.00625},
      {SYN__NOAM, 4, 0, 0, 16, 0.125},           {SYN__RSQRT, 1, 10, 0, 1, 0.1},
      {SYN__RSQRT, 10, 10, 0, 1, 1},             {SYN__RSQRT, 40, 10, 0, 1, 0.5},
      {SYN__RSQRT, 1, 0, 0, 1, 1},               {SYN__RSQRT, 4, 0, 0, 1, 0.5},
      {SYN__LINEAR, 5, 10, 110, 1, 0.5},         {SYN__LINEAR, 10, 10, 110, 1, 1},
      {SYN__LINEAR, 35, 10, 110, 1, 0.75},       {SYN__LINEAR, 60, 10, 110, 1, 0.5},
      {SYN__LINEAR, 110, 10, 110, 1, 0},
      {SYN__LINEAR, 200, 10, 110, 1, 0},         {SYN__COSINE, 2, 10, 110, 1, 0.2},
      {SYN__COSINE, 10, 10, 110, 1, 1},          {SYN__COSINE, 35, 10, 110, 1, 0.85355339059327373},
      {SYN__COSINE, 60, 10, 110, 1, 0.5},        {SYN__COSINE, 110, 10, 110, 1, 0},
      {SYN__LINEAR, 9, 10, 10, 1, 0.9},          {SYN__LINEAR, 10, 10, 10, 1, 0},
      {SYN__COSINE, 10, 10, 10, 1, 0},           {SYN__COSINE, 12, 10, 10, 1, 0},
      {SYN__CONSTANT, 3, 4, 9, 1, 0.75},         {SYN__CONSTANT, 7, 4, 9, 1, 1},
      {SYN__PLATEAU, 1, 4, 9, 1, 0.25},          {SYN__PLATEAU, 9, 0, 9, 1, 1}};
  static const char *const names[] = {"noam", "rsqrt", "linear", "cosine", "constant", "plateau"};
  size_t i;
  int which, step;
  for (i = 0; i < sizeof points / sizeof points[0]; i++) {
    const point *p = &points[i];
    double got = syn__schedule(p->which, p->t, p->w, p->n, p->d);
    CHECK(fabs(got - p->want) < 1e-12, "%s at step %g: %.17g, not %.17g", names[p->which], p->t, got,
          p->want);
  }
  for (which = 0; which < 6; which++) { /* and what a trainer makes of them */
    syn_config k = config_of(1);
    syn_train_config train;
    bench b;
    syn_batch batch = three(0, 3);
    float loss;
    memset(&train, 0, sizeof train);
    train.schedule = names[which];
    train.warmup = 3;
    train.steps = 8;
    train.lr = 0.5f;
    train.batch_tokens = 40;
    if (!bench_make(&b, &k, &train)) continue;
    for (step = 1; step <= 8; step++) {
      double want = syn__schedule(which, step, 3, 8, 16) * 0.5;
      CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_OK, "%s", b.c.message);
      CHECK(fabs((double)syn_trainer_state(b.t)->rate - want) < 1e-7, "%s, step %d: %g, not %g",
            names[which], step, (double)syn_trainer_state(b.t)->rate, want);
    }
    bench_free(&b);
  }
}

/* -- Adam against a reference in double -- */

/* One step with the mean gradient g: Kingma and Ba 2015, Loshchilov and Hutter 2019, in double. */
static void reference_adam(double *w, double *m, double *v, const double *g, size_t n, double t,
                           const syn_train_config *k) {
  double norm = 0, lr = (double)k->lr, b1 = (double)k->beta1, b2 = (double)k->beta2, scale = 1;
  size_t i;
  for (i = 0; i < n; i++) norm += g[i] * g[i];
  norm = sqrt(norm);
  if (k->clip > 0.0f && norm > (double)k->clip) scale = (double)k->clip / norm;
  for (i = 0; i < n; i++) {
    double d = g[i] * scale, decay = k->optimizer[4] == 'w' ? (double)k->weight_decay : 0;
    m[i] = b1 * m[i] + (1 - b1) * d;
    v[i] = b2 * v[i] + (1 - b2) * d * d;
    w[i] -= lr * (m[i] / (1 - pow(b1, t))) / (sqrt(v[i] / (1 - pow(b2, t))) + (double)k->eps) +
            lr * decay * w[i];
  }
}

static void adam_case(const char *optimizer, float decay, float clip) {
  syn_config k = config_of(1);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  bench b;
  double *w, *m, *v, *g, worst = 0;
  size_t n, i;
  float loss;
  int step;
  memset(&train, 0, sizeof train);
  train.optimizer = optimizer;
  train.schedule = "constant";
  train.lr = 0.01f;
  train.beta2 = 0.95f;
  train.eps = 1e-6f;
  train.weight_decay = decay;
  train.clip = clip;
  train.batch_tokens = 40;
  if (!bench_make(&b, &k, &train)) return;
  n = b.m->trained;
  w = (double *)calloc(4 * n, sizeof *w);
  m = w + n, v = m + n, g = v + n;
  for (i = 0; i < n; i++) w[i] = (double)b.m->weights[i];
  for (step = 1; step <= 8; step++) {
    CHECK(syn_trainer_backward(b.t, &batch, &loss) == SYN_OK, "%s", b.c.message);
    for (i = 0; i < n; i++) g[i] = (double)b.t->gradient[i];
    CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_OK, "%s", b.c.message);
    reference_adam(w, m, v, g, n, step, syn_trainer_config(b.t));
  }
  for (i = 0; i < n; i++) {
    double apart = fabs((double)b.m->weights[i] - w[i]);
    if (!(apart <= worst)) worst = apart;
  }
  CHECK(worst < 2e-5, "%s, decay %g, clip %g: %g apart after 8 steps of 0.01", optimizer, (double)decay,
        (double)clip, worst);
  free(w);
  bench_free(&b);
}

/* Weights after some steps, as a hash. */
static uint64_t weights_after(const syn_train_config *train, const syn_batch *batches, int count, int steps,
                              float *loss) {
  syn_config k = config_of(1);
  bench b;
  uint64_t hash = 0;
  if (!bench_make(&b, &k, train)) return 0;
  while (steps--) CHECK(syn_trainer_step(b.t, batches, count, loss) == SYN_OK, "%s", b.c.message);
  hash = syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float));
  bench_free(&b);
  return hash;
}

static void test_adam(void) {
  syn_train_config train;
  syn_batch batch = three(0, 3);
  float loss;
  uint64_t plain;
  adam_case("adam", 0.0f, 0.0f);
  adam_case("adam", 0.3f, 0.0f); /* without w there is no decay */
  adam_case("adamw", 0.3f, 0.0f);
  adam_case("adam", 0.0f, 0.05f);
  adam_case("adamw", 0.1f, 1e6f);
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  plain = weights_after(&train, &batch, 1, 4, &loss);
  train.clip = 1e6f;
  CHECK(weights_after(&train, &batch, 1, 4, &loss) == plain, "a clip that never cuts changes bits");
  train.clip = 0.01f;
  CHECK(weights_after(&train, &batch, 1, 4, &loss) != plain, "a clip that cuts changes nothing");
}

/* -- Adafactor and SGD against references in double, tensor by tensor -- */

static double rms_of(const double *x, size_t n) {
  double sum = 0;
  size_t i;
  for (i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum / (double)n);
}

/* Shazeer and Stern 2018, algorithm 4 for matrices (here with the sums of the paper) and 5 for vectors, with
   the numbers of algorithm 6. r and c: as many numbers as the tensor has, of which few are used. */
typedef struct reference {
  double *w, *m, *r, *c, *u;
} reference;

static void reference_v(const reference *f, const double *g, size_t rows, size_t cols, double beta) {
  double all = 0;
  size_t i, j;
  for (i = 0; i < rows; i++) f->r[i] *= beta;
  for (j = 0; j < cols; j++) f->c[j] *= beta;
  for (i = 0; i < rows; i++)
    for (j = 0; j < cols; j++) {
      double square = g[i * cols + j] * g[i * cols + j] + 1e-30;
      f->r[i] += (1 - beta) * square;
      f->c[j] += (1 - beta) * square;
    }
  for (i = 0; i < rows; i++) all += f->r[i];
  for (i = 0; i < rows; i++)
    for (j = 0; j < cols; j++) f->u[i * cols + j] = g[i * cols + j] / sqrt(f->r[i] * f->c[j] / all);
}

static void reference_adafactor(const reference *f, const double *g, const syn_param *p, double t,
                                const syn_train_config *k) {
  size_t cols = (size_t)p->shape[p->rank - 1], rows = p->rank > 1 ? (size_t)p->shape[p->rank - 2] : 1, i;
  double beta = 1 - pow(t, -0.8), rho = k->lr > 0.0f ? (double)k->lr : fmin(1e-2, 1 / sqrt(t));
  double alpha = fmax(1e-3, rms_of(f->w, p->size)) * rho, clip;
  for (i = 0; i < p->size; i += rows * cols) {
    reference part = *f;
    part.r += i, part.c += i, part.u += i;
    reference_v(&part, g + i, rows, cols, beta);
  }
  clip = fmax(1, rms_of(f->u, p->size));
  for (i = 0; i < p->size; i++) {
    double step = alpha * f->u[i] / clip, b = k->beta1 > 0.0f ? (double)k->beta1 : 0;
    f->m[i] = b * f->m[i] + (1 - b) * step;
    f->w[i] -= f->m[i] + rho * (double)k->weight_decay * f->w[i];
  }
}

/* Sutskever et al. 2013, equations 1 and 2; without momentum plain gradient descent. */
static void reference_sgd(const reference *f, const double *g, const syn_param *p, double rate,
                          const syn_train_config *k) {
  size_t i;
  for (i = 0; i < p->size; i++) {
    f->m[i] = (k->beta1 > 0.0f ? (double)k->beta1 : 0) * f->m[i] + rate * g[i];
    f->w[i] -= f->m[i] + rate * (double)k->weight_decay * f->w[i];
  }
}

/* y [n,m] = a x + b (x x^T) x + c (x x^T)^2 x, as it stands in Jordan et al. 2024 */
static void reference_newton_schulz(double *y, const double *x, size_t n, size_t m, const double *abc) {
  double *gram = (double *)calloc(2 * n * n, sizeof *gram), *square = gram + n * n;
  size_t i, j, l;
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
      for (l = 0; l < m; l++) gram[i * n + j] += x[i * m + l] * x[j * m + l];
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
      for (l = 0; l < n; l++) square[i * n + j] += gram[i * n + l] * gram[l * n + j];
  for (i = 0; i < n; i++)
    for (j = 0; j < m; j++) {
      double sum = abc[0] * x[i * m + j];
      for (l = 0; l < n; l++)
        sum += (abc[1] * gram[i * n + l] + abc[2] * square[i * n + l]) * x[l * m + j];
      y[i * m + j] = sum;
    }
  free(gram);
}

/* Muon for what a product reads as a matrix, but for embeddings and the output layer; Adam for the rest. */
static void reference_muon(const reference *f, const double *g, const syn_param *p, double t, double rate,
                           const syn_train_config *k) {
  static const double abc[3][3] = {{4.1070591, -2.9478499, 0.5448431},
                                   {3.9486909, -2.9089021, 0.5518191},
                                   {3.3184197, -2.4884880, 0.5100489}};
  size_t n = (size_t)p->shape[0], m = p->size / n, i;
  double norm = 0, *y = (double *)malloc(p->size * sizeof *y);
  if (!p->matrix || strstr(p->name, "embed") || strstr(p->name, "out.w")) {
    syn_train_config adam = *k;
    adam.optimizer = "adamw", adam.lr = (float)rate, adam.beta1 = 0.9f, adam.clip = 0.0f;
    reference_adam(f->w, f->m, f->r, g, p->size, t, &adam);
    free(y);
    return;
  }
  for (i = 0; i < p->size; i++) {
    f->m[i] = (double)k->beta1 * f->m[i] + (1 - (double)k->beta1) * g[i];
    f->u[i] = (double)k->beta1 * f->m[i] + (1 - (double)k->beta1) * g[i];
    norm += f->u[i] * f->u[i];
  }
  for (i = 0; i < p->size; i++) f->u[i] /= sqrt(norm);
  reference_newton_schulz(y, f->u, n, m, abc[0]);
  reference_newton_schulz(f->u, y, n, m, abc[1]);
  reference_newton_schulz(y, f->u, n, m, abc[2]);
  for (i = 0; i < p->size; i++)
    f->w[i] -= rate * (0.2 * sqrt((double)(n > m ? n : m)) * y[i] + (double)k->weight_decay * f->w[i]);
  free(y);
}

/* Eight steps; `tolerance` is absolute. The gradients are those of the model as it stands. */
static void rule_case(const syn_train_config *given, double tolerance) {
  syn_config k = config_of(0);
  syn_train_config train = *given;
  syn_batch batch = three(0, 3);
  bench b;
  double *space, *g, worst = 0, moved = 0;
  size_t n, i, q;
  float loss, *begin;
  int step;
  train.batch_tokens = 40;
  train.steps = 10;
  k.decoder = "pos -> res_nd(syn_att(FR+D, k=3)) -> res_nd(mh_dot_att) -> norm"; /* of rank 1 to 3 */
  if (!strcmp(train.optimizer, "muon")) /* matrices with 1, 3, 72 and 80 rows, and a convolution */
    k.encoder = "pos -> res_nd(linformer(k=3)) -> linear(80) -> linear(72) -> linear(1) -> cnn(16, k=3) -> norm";
  if (!bench_make(&b, &k, &train)) return;
  n = b.m->trained;
  space = (double *)calloc(6 * n, sizeof *space);
  begin = (float *)malloc(n * sizeof *begin);
  memcpy(begin, b.m->weights, n * sizeof *begin);
  g = space + 5 * n;
  for (i = 0; i < n; i++) space[i] = (double)b.m->weights[i];
  for (step = 1; step <= 8; step++) {
    double norm = 0;
    CHECK(syn_trainer_backward(b.t, &batch, &loss) == SYN_OK, "%s", b.c.message);
    for (i = 0; i < n; i++) g[i] = (double)b.t->gradient[i], norm += g[i] * g[i];
    for (i = 0; train.clip > 0.0f && i < n; i++) g[i] *= fmin(1, (double)train.clip / sqrt(norm));
    CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_OK, "%s", b.c.message);
    for (q = 0; q < syn_model_param_count(b.m); q++) {
      const syn_param *p = syn_model_param(b.m, q);
      reference f;
      f.w = space + p->offset, f.m = f.w + n, f.r = f.m + n, f.c = f.r + n, f.u = f.c + n;
      if (!strcmp(train.optimizer, "sgd"))
        reference_sgd(&f, g + p->offset, p, (double)syn_trainer_state(b.t)->rate, syn_trainer_config(b.t));
      else if (!strcmp(train.optimizer, "muon"))
        reference_muon(&f, g + p->offset, p, step, (double)syn_trainer_state(b.t)->rate, syn_trainer_config(b.t));
      else reference_adafactor(&f, g + p->offset, p, step, syn_trainer_config(b.t));
      if (f.u == g) CHECK(0, "the references overlap");
    }
  }
  for (i = 0; i < n; i++) {
    double apart = fabs((double)b.m->weights[i] - space[i]), far = fabs(space[i] - (double)begin[i]);
    if (!(apart <= worst)) worst = apart;
    if (far > moved) moved = far;
  }
  CHECK(worst < tolerance && moved > 1000 * tolerance,
        "%s, lr %g, beta1 %g, decay %g, clip %g: %g apart after moving by %g", train.optimizer,
        (double)train.lr, (double)train.beta1, (double)train.weight_decay, (double)train.clip, worst, moved);
  free(space);
  free(begin);
  bench_free(&b);
}

static void test_rules(void) {
  syn_train_config train;
  memset(&train, 0, sizeof train);
  train.optimizer = "adafactor";
  rule_case(&train, 1e-6);
  train.beta1 = 0.9f;
  rule_case(&train, 1e-6);
  train.beta1 = -1.0f;
  train.lr = 0.05f;
  train.schedule = "constant";
  train.weight_decay = 0.2f;
  train.clip = 0.05f;
  rule_case(&train, 5e-6);
  memset(&train, 0, sizeof train);
  train.optimizer = "sgd";
  train.schedule = "linear"; /* the rate changes: it belongs into the memory */
  train.warmup = 3;
  rule_case(&train, 1e-6);
  train.beta1 = 0.5f;
  train.weight_decay = 0.2f;
  train.clip = 0.05f;
  rule_case(&train, 1e-6);
  train.beta1 = -1.0f;
  rule_case(&train, 1e-6);
  memset(&train, 0, sizeof train);
  train.optimizer = "muon";
  train.schedule = "cosine";
  rule_case(&train, 1e-5);
  train.beta1 = 0.5f;
  train.weight_decay = 0.2f;
  train.clip = 0.05f;
  rule_case(&train, 1e-5);
}

/* Every rule learns to copy, and begins with the defaults it says. */
static void test_rules_learn(void) {
  static const char *const names[] = {"adam", "adamw", "adafactor", "sgd", "muon"};
  static const float rates[] = {0.001f, 0.001f, 0.0f, 0.1f, 0.01f}, betas[] = {0.9f, 0.9f, 0.0f, 0.9f, 0.95f};
  size_t i;
  for (i = 0; i < 5; i += CHECK_SHORT ? 2 : 1) {
    syn_config k = config_of(0);
    syn_train_config train;
    syn_data *d;
    bench b;
    float loss = 99;
    memset(&train, 0, sizeof train);
    k.d_model = 32;
    train.optimizer = names[i];
    train.warmup = 20;
    train.steps = CHECK_SHORT ? 100 : 200;
    train.batch_tokens = 300;
    if (i < 2) train.lr = 0.005f;
    if (!bench_make(&b, &k, &train)) continue;
    CHECK(syn_trainer_config(b.t)->lr == (i < 2 ? 0.005f : rates[i]) && syn_trainer_config(b.t)->beta1 == betas[i],
          "%s: lr %g, beta1 %g", names[i], (double)b.t->config.lr, (double)b.t->config.beta1);
    d = copies(&b.c, 400, 1, 0);
    CHECK(syn_trainer_run(b.t, d, NULL, last_report, &loss) == SYN_OK, "%s", b.c.message);
    CHECK(loss < (CHECK_SHORT ? 1.5f : 0.7f), "%s: loss %g after %ld steps", names[i], (double)loss,
          (long)syn_trainer_state(b.t)->step);
    syn_data_free(d);
    bench_free(&b);
  }
}

/* The same bits for any number of threads and on every row of kernels. Tensors large enough that threads
   share rows, columns and pieces; the second time with a frozen table and a memory, then with LoRA, too. */
static void test_rules_machines(void) {
  static const char *const names[] = {"adam", "adafactor", "sgd", "muon"};
  int rule, row, threads, more;
  for (rule = 0; rule < 4; rule++)
    for (more = 0; more < 3; more++) {
      uint64_t first = 0;
      for (row = 0; row < syn_isa_count(); row++)
        for (threads = 1; threads <= 2; threads++) {
          syn_config k = config_of(0);
          syn_train_config train;
          syn_options options;
          syn_batch batch = three(0, 3);
          syn_context c;
          syn_model *m;
          syn_trainer *t;
          uint64_t hash;
          float loss;
          int step;
          if (!syn_isa_usable(row)) continue;
          if (CHECK_EMULATED && threads != (row ? 2 : 1)) continue;
          memset(&train, 0, sizeof train);
          memset(&options, 0, sizeof options);
          options.isa = syn_isa_name(row);
          options.threads = threads;
#ifndef _OPENMP
          if (threads > 1) options.parallel = pool_in_turn;
#endif
          k.d_model = 64;
          k.encoder = "pos -> res_nd(syn_att(R+V)) -> linear(140) -> linear(64) -> norm";
          k.src_vocab = k.tgt_vocab = 301;
          train.optimizer = names[rule];
          train.batch_tokens = 40;
          train.clip = 0.3f;
          if (more) train.freeze = "src.embed|*.w_v", train.beta1 = 0.7f, train.weight_decay = 0.1f, train.ema = 0.2f;
          if (more == 2) train.lora = 5;
          syn_context_init(&c, &options);
          m = syn_model_new(&c, &k);
          t = syn_trainer_new(&c, m, &train);
          CHECK(t, "%s", c.message);
          for (step = 0; t && step < 3; step++)
            CHECK(syn_trainer_step(t, &batch, 1, &loss) == SYN_OK, "%s", c.message);
          hash = m ? syn_hash(SYN_HASH_START, m->weights, m->floats * sizeof(float)) : 0;
          if (t && more) hash = syn_hash(hash, t->mean, t->floats * sizeof(float));
          if (!first) first = hash;
          CHECK(hash == first || !syn_context_exact(&c), "%s %d: %s with %d threads gives other bits",
                names[rule], more, syn_isa_name(row), threads);
          syn_trainer_free(t);
          syn_model_free(m);
        }
    }
}

/* -- frozen tensors -- */

/* What is frozen keeps its bits and takes no memory; the rest takes the step it would take if the others'
   gradients were 0: the norm of a step of plain gradient descent is what `clip` says. */
static void freeze_case(const char *freeze, const char *optimizer, size_t frozen_wanted) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  bench b;
  float loss, *before;
  size_t i, q, frozen = 0, kept = 0, sums = 0;
  double norm = 0;
  memset(&train, 0, sizeof train);
  train.optimizer = optimizer;
  train.freeze = freeze;
  train.batch_tokens = 40;
  train.average = 2;
  if (!strcmp(optimizer, "sgd"))
    train.beta1 = -1.0f, train.lr = 1.0f, train.clip = 0.01f, train.schedule = "constant";
  else train.weight_decay = 0.5f;
  if (!bench_make(&b, &k, &train)) return;
  before = (float *)malloc(b.m->floats * sizeof *before);
  memcpy(before, b.m->weights, b.m->floats * sizeof *before);
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_OK, "%s", b.c.message);
  for (q = 0; q < syn_model_param_count(b.m); q++) {
    const syn_param *p = syn_model_param(b.m, q);
    int still = syn_trainer_gradient(b.t, p) == NULL;
    double moved = 0;
    for (i = 0; i < p->size; i++) {
      double d = (double)p->x[i] - (double)before[p->offset + i];
      moved += d * d;
    }
    frozen += still != 0;
    if (still) CHECK(!memcmp(p->x, before + p->offset, p->size * sizeof(float)), "%s changed", p->name);
    else CHECK(moved > 0, "%s, frozen %s: %s did not move", optimizer, freeze, p->name), kept += p->size;
    norm += moved;
  }
  CHECK(frozen == frozen_wanted, "'%s' freezes %lu tensors", freeze, (unsigned long)frozen);
  for (i = 0; i < (size_t)b.t->n_trained; i++) sums += b.t->trained[i].p->size;
  CHECK(sums == kept && b.t->floats < b.m->trained, "%lu and %lu numbers", (unsigned long)sums,
        (unsigned long)kept);
  if (!strcmp(optimizer, "sgd")) CHECK(fabs(sqrt(norm) - 0.01) < 1e-5, "a step of length %g", sqrt(norm));
  CHECK(syn_trainer_validate(b.t, NULL) == SYN_OK, "%s", b.c.message);
  memcpy(before, b.m->weights, b.m->floats * sizeof *before);
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_OK && syn_trainer_average(b.t) == 1, "%s", b.c.message);
  CHECK(!memcmp(b.m->weights, before, b.m->floats * sizeof *before), "the kept weights are others");
  free(before);
  bench_free(&b);
}

static void bad_freeze(const char *freeze, const char *word) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_context c;
  syn_model *m;
  syn_plan plan;
  memset(&train, 0, sizeof train);
  train.freeze = freeze;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(!syn_trainer_new(&c, m, &train) && c.status == SYN_E_VALUE && strstr(c.message, word), "%s: %s", freeze,
        c.message);
  syn_context_clear(&c);
  CHECK(syn_plan_of(&c, &k, &train, NULL, &plan) == SYN_E_VALUE && strstr(c.message, word), "%s", c.message);
  syn_model_free(m);
}

/* A tokenizer that the model gets behind its trainer: the next step would train what cannot be saved. */
static void test_tokenizer_later(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  syn_data *d;
  bench b;
  float loss;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  train.steps = 2;
  if (!bench_make(&b, &k, &train)) return;
  d = copies(&b.c, 5, 1, 0);
  syn_model_set_tokenizers(b.m, NULL, syn_tokenizer_learn(&b.c, "byte", 0, NULL, 0));
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_E_VALUE && strstr(b.c.message, "target tokenizer has 260"),
        "%s", b.c.message);
  syn_context_clear(&b.c);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_E_VALUE && strstr(b.c.message, "wanted 14"), "%s",
        b.c.message);
  syn_context_clear(&b.c);
  CHECK(b.t->state.step == 0, "step %ld", (long)b.t->state.step);
  syn_model_set_tokenizers(b.m, NULL, NULL);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_OK && b.t->state.step == 2, "%s", b.c.message);
  syn_data_free(d);
  bench_free(&b);
}

/* What would make every checkpoint fail, or its loading, is an error before the first step. */
static void test_saved_later(void) {
  static char text[70000], word[] = "|src.*";
  syn_config k = config_of(0);
  syn_context c;
  syn_model *m;
  size_t at = 5;
  memcpy(text, "src.*", 5);
  for (; at + sizeof word < sizeof text; at += sizeof word - 1) memcpy(text + at, word, sizeof word);
  bad_freeze(text, "wanted at most 65536");
  bad_freeze("src.embed|src.\xFF*", "UTF-8");
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, syn_tokenizer_learn(&c, "byte", 0, NULL, 0), NULL);
  CHECK(m && !syn_trainer_new(&c, m, NULL) && strstr(c.message, "source tokenizer has 260 tokens, wanted 14"), "%s",
        c.message);
  syn_model_free(m);
  test_tokenizer_later();
}

static void test_freeze(void) {
  static const char *const names[][3] = { /* pattern, name, "": it is not meant */
      {"a", "a", "a"}, {"a", "ab", ""}, {"*", "a.b", "a"}, {"a*", "a", "a"}, {"*a", "ba", "a"}, {"*a", "ab", ""},
      {"a*c*e", "abcde", "a"}, {"a*c*e", "abdce", "a"}, {"a*c*e", "abcd", ""}, {"*.w_v", "x.0.w_vv.w_v", "a"},
      {"**", "x", "a"}, {"a**b", "ab", "a"}, {"", "a", ""}, {"x.*.w", "x.w", ""}, {"*ab", "aab", "a"}};
  syn_config k = config_of(0);
  syn_train_config train;
  bench b;
  size_t i;
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    syn_text pattern;
    pattern.at = names[i][0];
    pattern.size = strlen(names[i][0]);
    CHECK(syn__pattern_is(pattern, names[i][1]) == (names[i][2][0] != 0), "'%s' and %s", names[i][0],
          names[i][1]);
  }
  freeze_case("src.embed", "sgd", 1);
  freeze_case("src.embed|out.b", "adamw", 2);
  freeze_case("encoder.*|src.embed", "sgd", 11);
  freeze_case("*.w_*|*.g", "adafactor", 17);
  freeze_case("decoder.*|tgt.embed|out.b", "sgd", 16);
  freeze_case("encoder.*|src.embed", "muon", 11);
  bad_freeze("src.embd", "no tensor is named 'src.embd'; the nearest is src.embed");
  bad_freeze("src.embed|", "no tensor is named ''");
  bad_freeze("encoder.9.*", "encoder.9.*");
  bad_freeze("*", "leaves no tensor to train");
  memset(&train, 0, sizeof train);
  train.freeze = "";
  if (!bench_make(&b, &k, &train)) return;
  CHECK(b.t->floats == b.m->trained, "an empty text freezes");
  bench_free(&b);
}

/* What each rule keeps, in numbers: rows and columns alone for Adafactor. */
static void test_moments(void) {
  static const char *const names[] = {"adam", "adafactor", "sgd", "sgd", "adafactor", "muon"};
  static const float betas[] = {0, 0, 0, -1.0f, 0.9f, 0};
  size_t i, q;
  for (i = 0; i < 6; i++) {
    syn_config k = config_of(0);
    syn_train_config train;
    syn_plan plan;
    bench b;
    size_t first = 0, second = 0;
    memset(&train, 0, sizeof train);
    train.optimizer = names[i];
    train.beta1 = betas[i];
    train.batch_tokens = 40;
    if (!bench_make(&b, &k, &train)) continue;
    for (q = 0; q < syn_model_param_count(b.m); q++) {
      const syn_param *p = syn_model_param(b.m, q);
      size_t cols = (size_t)p->shape[p->rank - 1], rows = p->rank > 1 ? (size_t)p->shape[p->rank - 2] : 0;
      size_t mats = p->size / (cols * (rows ? rows : 1));
      int matrix = i == 5 && p->matrix && !strstr(p->name, "embed") && !strstr(p->name, "out.w");
      if (i == 0 || i == 2 || i == 4 || i == 5) first += syn__round16(p->size);
      if (i == 0 || (i == 5 && !matrix)) second += syn__round16(p->size);
      if (i == 1 || i == 4) second += syn__round16(mats * (rows + cols));
    }
    CHECK(b.t->firsts == first && b.t->seconds == second, "%s %lu: %lu and %lu numbers, wanted %lu and %lu",
          names[i], (unsigned long)i, (unsigned long)b.t->firsts, (unsigned long)b.t->seconds,
          (unsigned long)first, (unsigned long)second);
    CHECK(syn_plan_of(&b.c, &k, &train, NULL, &plan) == SYN_OK, "%s", b.c.message);
    CHECK(plan.training >= 4 * (b.m->trained + first + second) &&
              plan.training < 4 * (b.m->trained + first + second + (i == 5 ? b.t->works : 0)) + 4000,
          "%s plans %lu bytes", names[i], (unsigned long)plan.training);
    bench_free(&b);
  }
}

/* -- numbers that are not finite -- */

static syn_status bad_shape(syn_build *b, syn_node *n) {
  return syn_build_out(b, n, syn_build_stream(b, n, 0), syn_build_width(b, n, 0));
}
static void bad_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  memcpy(y->x, x->x, syn_count(x) * sizeof(float));
}
static float bad_number;
static void bad_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  t->k->acc(x->dx, y->dx, syn_count(x));
  x->dx[3] += bad_number;
}

/* A layer whose way back makes it: the loss is finite, the gradient is not. Or the weights have it: the loss
   is not. Nothing changes, and the next step is as if the bad one had never been asked for. */
static void diverge_case(const char *optimizer, float number, int in_weights) {
  static const syn_kind bad = {"bad", "", 0, NULL, bad_shape, bad_forward, bad_backward, NULL, NULL, NULL};
  static const syn_kind *const kinds[] = {&bad};
  syn_config k = config_of(1);
  syn_train_config train;
  syn_options options;
  syn_batch batch = three(0, 3);
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  float loss = 5, keep;
  uint64_t weights, moments[2];
  memset(&options, 0, sizeof options);
  memset(&train, 0, sizeof train);
  options.kinds = kinds;
  options.n_kinds = 1;
  train.optimizer = optimizer;
  train.batch_tokens = 40;
  k.decoder = "learn_pos -> bad -> res_nd(ffl) -> norm";
  bad_number = 0;
  syn_context_init(&c, &options);
  m = syn_model_new(&c, &k);
  t = syn_trainer_new(&c, m, &train);
  CHECK(t && syn_trainer_step(t, &batch, 1, &loss) == SYN_OK && loss > 0.0f, "%s", c.message);
  if (!t) return;
  keep = m->weights[5];
  if (in_weights) m->weights[5] = number;
  else bad_number = number;
  weights = syn_hash(SYN_HASH_START, m->weights, m->floats * sizeof(float));
  moments[0] = syn_hash(SYN_HASH_START, t->first, t->firsts * sizeof(float));
  moments[1] = syn_hash(SYN_HASH_START, t->second, t->seconds * sizeof(float));
  CHECK(syn_trainer_step(t, &batch, 1, &loss) == SYN_E_VALUE && strstr(c.message, "at step 2"), "%s: %s", optimizer,
        c.message);
  CHECK(in_weights || loss < 20.0f, "loss %g", (double)loss);
  CHECK(t->state.diverged && t->state.step == 1 && t->state.tokens == 9, "step %ld", (long)t->state.step);
  CHECK(syn_hash(SYN_HASH_START, m->weights, m->floats * sizeof(float)) == weights &&
            syn_hash(SYN_HASH_START, t->first, t->firsts * sizeof(float)) == moments[0] &&
            syn_hash(SYN_HASH_START, t->second, t->seconds * sizeof(float)) == moments[1],
        "%s: a refused step changed something", optimizer);
  syn_context_clear(&c);
  m->weights[5] = keep;
  bad_number = 0;
  CHECK(syn_trainer_step(t, &batch, 1, &loss) == SYN_OK && !t->state.diverged && t->state.step == 2, "%s", c.message);
  syn_trainer_free(t);
  syn_model_free(m);
}

static uint64_t numbers_of(const syn_trainer *t) {
  uint64_t h = syn_hash(SYN_HASH_START, t->m->weights, t->m->floats * sizeof(float));
  h = syn_hash(h, t->first, t->firsts * sizeof(float));
  return syn_hash(h, t->second, t->seconds * sizeof(float));
}

/* Steps with an absurd number in the configuration, until one is refused: it changes nothing, and no step that
   was taken has left a number that is not finite. */
static void absurd_case(const char *optimizer, float lr, float beta1, float decay, float clip) {
  syn_config k = config_of(1);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  bench b;
  float loss;
  int step;
  size_t i, bad = 0;
  memset(&train, 0, sizeof train);
  train.optimizer = optimizer, train.lr = lr, train.beta1 = beta1, train.weight_decay = decay, train.clip = clip;
  train.batch_tokens = 40, train.schedule = "constant";
  if (!bench_make(&b, &k, &train)) return;
  for (step = 0; step < 100; step++) {
    uint64_t before = numbers_of(b.t);
    syn_train_state state = b.t->state;
    if (syn_trainer_step(b.t, &batch, 1, &loss)) {
      CHECK(b.c.status == SYN_E_VALUE && b.t->state.diverged && strstr(b.c.message, "the weights stay as"), "%s",
            b.c.message);
      CHECK(strlen(b.c.message) < sizeof b.c.message - 1, "the message is cut: %s", b.c.message);
      CHECK(numbers_of(b.t) == before && b.t->state.step == state.step && b.t->state.rate == state.rate &&
                b.t->state.tokens == state.tokens,
            "%s, lr %g: a refused step changed something", optimizer, (double)lr);
      break;
    }
    for (i = 0; i < b.m->floats; i++) bad += !(fabs((double)b.m->weights[i]) < (double)INFINITY);
    for (i = 0; i < b.t->firsts; i++) bad += !(fabs((double)b.t->first[i]) < (double)INFINITY);
    for (i = 0; i < b.t->seconds; i++) bad += !(fabs((double)b.t->second[i]) < (double)INFINITY);
    CHECK(!bad, "%s, lr %g: %lu numbers are not finite after step %d", optimizer, (double)lr, (unsigned long)bad,
          step + 1);
    if (bad) break;
  }
  CHECK(step < 100, "%s, lr %g, decay %g: no step was refused", optimizer, (double)lr, (double)decay);
  bench_free(&b);
}

static void test_absurd(void) {
  static const char *const rules[] = {"adam", "adamw", "adafactor", "sgd", "muon"};
  static const float rates[] = {1e4f, 1e9f, 1e15f, 1e20f, 1e25f, 1e30f, 1e35f, 3e38f};
  size_t i, k;
  for (i = 0; i < 5; i++)
    for (k = i < 2 || i == 4 ? 2 : 0; k < 8; k++) { /* these rules take steps of bounded size */
      absurd_case(rules[i], rates[k], -1.0f, 0.0f, 0.0f);
      absurd_case(rules[i], rates[k], 0.9f, 0.0f, 0.0f);
      absurd_case(rules[i], rates[k], 0.9f, i ? 0.5f : 0.0f, 1e-3f);
    }
  for (i = 1; i < 5; i++) absurd_case(rules[i], 0.1f, 0.0f, 1e30f, 0.0f);
}

/* Large weights with a finite loss, and a step from which they would not be finite: it is refused, and the weights
   are as before. A large eps makes steps small, but lr m, which is divided by it, may overflow. */
static void large_case(const char *optimizer, float lr, float eps, float decay) {
  syn_config k = config_of(1);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  bench b;
  float loss;
  uint64_t before;
  size_t i;
  memset(&train, 0, sizeof train);
  train.optimizer = optimizer, train.lr = lr, train.eps = eps, train.weight_decay = decay;
  train.batch_tokens = 40, train.schedule = "constant";
  k.tie = "none";
  if (!bench_make(&b, &k, &train)) return;
  for (i = 0; i < syn_model_find(b.m, "out.w")->size; i++) syn_model_find(b.m, "out.w")->x[i] *= 1e12f;
  before = numbers_of(b.t);
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_E_VALUE && b.t->state.diverged && loss < 1e18f,
        "%s: loss %g: %s", optimizer, (double)loss, b.c.message);
  CHECK(numbers_of(b.t) == before, "%s: a refused step changed something", optimizer);
  bench_free(&b);
}

static void test_large(void) {
  large_case("adam", 9e29f, 9e29f, 0.0f);
  large_case("adafactor", 9e29f, 0.0f, 0.0f);
  large_case("sgd", 9e29f, 0.0f, 0.0f);
  large_case("adamw", 0.1f, 0.0f, 3e38f);
  large_case("adafactor", 0.1f, 0.0f, 3e38f);
  large_case("sgd", 1e-9f, 0.0f, 3e38f);
  large_case("muon", 9e29f, 0.0f, 0.0f);
  large_case("muon", 0.1f, 0.0f, 3e38f);
}

/* A checkpoint may hold a rate of 0, and a weight whose square is no float: the rate times RMS(W) is not a number. */
static void test_rate_of_nothing(void) {
  syn_config k = config_of(1);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  const syn_param *p;
  bench b;
  float loss;
  uint64_t before;
  memset(&train, 0, sizeof train);
  train.optimizer = "adafactor", train.lr = 0.1f, train.batch_tokens = 40, train.schedule = "constant";
  k.tie = "none";
  if (!bench_make(&b, &k, &train)) return;
  p = syn_model_find(b.m, "tgt.embed");
  p->x[0] = 3e38f; /* of the padding, which no row reads */
  b.t->state.factor = 0.0f;
  before = numbers_of(b.t);
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_E_VALUE && b.t->state.diverged && loss < 10.0f, "loss %g: %s",
        (double)loss, b.c.message);
  CHECK(numbers_of(b.t) == before, "a refused step changed something");
  bench_free(&b);
}

/* A batch that fills what was planned trains to the bits of a trainer with ten times the memory: no two
   arrays overlap. */
static void full_case(const char *optimizer, const char *freeze) {
  uint64_t hash[2] = {0, 1};
  int wide, i, j, row[11];
  for (wide = 0; wide < 2; wide++) {
    syn_config k = config_of(0);
    syn_train_config train;
    syn_data *d;
    bench b;
    double loss = 0;
    int64_t labels = 0;
    memset(&train, 0, sizeof train);
    train.optimizer = optimizer, train.freeze = freeze, train.schedule = "constant";
    train.steps = 6, train.every = 2, train.average = 2;
    train.batch_tokens = wide ? 600 : 60;
    if (!bench_make(&b, &k, &train)) return;
    d = syn_data_new(&b.c);
    for (i = 0; i < 5; i++) { /* 12 tokens with the end */
      for (j = 0; j < 11; j++) row[j] = 4 + (i + j * j) % 10;
      CHECK(syn_data_add(d, row, 11, row, 11) == SYN_OK, "%s", b.c.message);
    }
    CHECK(syn_trainer_run(b.t, d, d, NULL, NULL) == SYN_OK && syn_trainer_state(b.t)->epoch >= 5, "%s, epoch %ld",
          b.c.message, (long)syn_trainer_state(b.t)->epoch);
    CHECK(syn_trainer_evaluate(b.t, d, &loss, &labels) == SYN_OK && labels == 60, "%s", b.c.message);
    hash[wide] = syn_hash(numbers_of(b.t), &loss, sizeof loss);
    CHECK(syn_trainer_average(b.t) > 0, "nothing is kept");
    hash[wide] = syn_hash(hash[wide], b.m->weights, b.m->floats * sizeof(float));
    CHECK(syn_model_evaluate(&b.c, b.m, d, train.batch_tokens, &loss, &labels) == SYN_OK && labels == 60, "%s",
          b.c.message);
    hash[wide] = syn_hash(hash[wide], &loss, sizeof loss);
    CHECK(syn_trainer_run(b.t, NULL, NULL, NULL, NULL) == SYN_E_VALUE && strstr(b.c.message, "data"), "%s", b.c.message);
    syn_data_free(d);
    bench_free(&b);
  }
  CHECK(hash[0] == hash[1], "%s, freeze %s: more memory, another result", optimizer, freeze ? freeze : "none");
}
static void test_full(void) {
  static const char *const rules[] = {"adam", "adafactor", "sgd", "muon"};
  int i;
  for (i = 0; i < 4; i++) {
    full_case(rules[i], NULL);
    full_case(rules[i], "encoder*");
  }
}

static void test_diverged(void) {
  diverge_case("adam", NAN, 0);
  diverge_case("adamw", INFINITY, 0);
  diverge_case("adafactor", -INFINITY, 0);
  diverge_case("sgd", NAN, 0);
  diverge_case("muon", NAN, 0);
  diverge_case("adam", NAN, 1);
  diverge_case("adafactor", INFINITY, 1);
}

/* A learning rate that is far too high: without `halve` nothing is learned, with it the network learns to copy
   from its best weights and a smaller rate. A checkpoint in the middle changes nothing. */
static void halve_case(int halve, float *loss, float *factor, uint64_t *hash) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_data *d, *valid;
  bench b;
  memset(&train, 0, sizeof train);
  train.optimizer = "sgd", train.lr = 30.0f, train.schedule = "constant", train.halve = halve;
  train.steps = 150, train.warmup = 60, train.every = 5, train.average = 1, train.batch_tokens = 300;
  if (!bench_make(&b, &k, &train)) return;
  d = copies(&b.c, 200, 1, 0);
  valid = copies(&b.c, 40, 2, 0);
  CHECK(syn_trainer_run(b.t, d, valid, NULL, NULL) == SYN_OK || !halve, "%s", b.c.message);
  *loss = syn_trainer_state(b.t)->best;
  *factor = syn_trainer_state(b.t)->factor;
  *hash = syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float));
  syn_data_free(valid);
  syn_data_free(d);
  bench_free(&b);
}
static void test_halve(void) {
  float loss[2] = {0, 0}, factor[2] = {0, 0};
  uint64_t hash[2] = {0, 1};
  halve_case(0, &loss[0], &factor[0], &hash[0]);
  halve_case(1, &loss[1], &factor[1], &hash[1]);
  CHECK(factor[0] == 1.0f && factor[1] < 1.0f && loss[1] < 0.8f * loss[0],
        "loss %g with rate 30, %g with its %g", (double)loss[0], (double)loss[1], (double)factor[1]);
  hash[0] = hash[1];
  halve_case(1, &loss[1], &factor[1], &hash[1]);
  CHECK(hash[0] == hash[1], "other bits");
}

/* The run goes back where a validation is above 1.5 times the best one plus 0.2, and nowhere below. The loss of
   1,000 tokens is about 6.9 before anything is learned. */
static void halve_bound(float above) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_data *d;
  bench b;
  float valid;
  memset(&train, 0, sizeof train);
  k.src_vocab = k.tgt_vocab = 1004;
  train.optimizer = "sgd", train.lr = 1e-6f, train.schedule = "constant", train.halve = 1;
  train.steps = train.every = 1, train.batch_tokens = 300;
  if (!bench_make(&b, &k, &train)) return;
  d = copies(&b.c, 40, 1, 0);
  CHECK(syn_trainer_validate(b.t, d) == SYN_OK, "%s", b.c.message);
  valid = syn_trainer_state(b.t)->valid;
  b.t->state.best = (valid - 0.2f - above) / 1.5f;
  CHECK(syn_trainer_run(b.t, d, d, NULL, NULL) == SYN_OK && valid > 6.5f, "loss %g: %s", (double)valid, b.c.message);
  CHECK(syn_trainer_state(b.t)->factor == (above > 0.0f ? 0.5f : 1.0f), "%g above the bound: rate times %g",
        (double)above, (double)syn_trainer_state(b.t)->factor);
  syn_data_free(d);
  bench_free(&b);
}
static void test_halve_bound(void) {
  halve_bound(0.05f);
  halve_bound(-0.05f);
}

/* -- accumulated batches -- */

/* A step from two batches is the step from all their sentences: losses and gradients are means over
   all labels. Equal up to the order of the sums: the loss within 1e-6, the weights after a step of
   0.01 within 1e-5 (Adam divides by the gradient's size, so tiny ones lose digits). */
static void test_accumulate(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch whole = three(0, 3), parts[2];
  float loss[2] = {0, 0};
  bench a, b;
  size_t i;
  double worst = 0;
  parts[0] = three(0, 1);
  parts[1] = three(1, 2);
  memset(&train, 0, sizeof train);
  train.lr = 0.01f;
  train.eps = 1e-5f;
  train.schedule = "constant";
  train.batch_tokens = 40;
  if (!bench_make(&a, &k, &train) || !bench_make(&b, &k, &train)) return;
  CHECK(syn_trainer_step(a.t, &whole, 1, &loss[0]) == SYN_OK, "%s", a.c.message);
  CHECK(syn_trainer_step(b.t, parts, 2, &loss[1]) == SYN_OK, "%s", b.c.message);
  CHECK(fabsf(loss[0] - loss[1]) < 1e-6f, "losses %.9g and %.9g", (double)loss[0], (double)loss[1]);
  CHECK(a.t->state.tokens == 9 && b.t->state.tokens == 9, "%ld and %ld labels", (long)a.t->state.tokens,
        (long)b.t->state.tokens);
  for (i = 0; i < a.m->trained; i++) {
    double apart = fabs((double)a.m->weights[i] - (double)b.m->weights[i]);
    if (!(apart <= worst)) worst = apart;
  }
  CHECK(worst < 1e-5, "weights %g apart", worst);
  bench_free(&a);
  bench_free(&b);
}

/* -- the loss -- */

/* -sum_v q_v log p_v, q = 1-eps at the label, eps/(V-1) elsewhere, in double */
static double reference_loss(const float *z, int v, int label, double eps) {
  double most = (double)z[0], sum = 0, loss = 0;
  int i;
  for (i = 1; i < v; i++)
    if ((double)z[i] > most) most = (double)z[i];
  for (i = 0; i < v; i++) sum += exp((double)z[i] - most);
  for (i = 0; i < v; i++)
    loss -= (i == label ? 1 - eps : eps / (v - 1)) * ((double)z[i] - most - log(sum));
  return loss;
}

typedef struct labelled {
  const char *task;
  int labels[12], width; /* of a row of labels */
} labelled;

/* The mean over the labels that count; the gradient of out.b is the mean of p - q. */
static void loss_case(const labelled *l, float eps) {
  syn_config k = config_of(!strcmp(l->task, "lm"));
  syn_train_config train;
  syn_batch batch = three(0, 3);
  bench b;
  syn_run *r;
  const syn_param *bias;
  const float *db;
  double want = 0, plain = 0, sum = 0, dz[14] = {0};
  float loss;
  int64_t labels = 0;
  int i, j, v, rows, count = 0, each = !strcmp(l->task, "classify");
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  k.task = l->task;
  k.classes = 5;
  k.label_smoothing = eps;
  batch.labels = l->labels;
  if (!bench_make(&b, &k, &train)) return;
  v = b.m->task->classes ? k.classes : k.tgt_vocab;
  r = syn_run_new(&b.c, b.m, NULL);
  CHECK(r && syn_run_forward(r, &batch) == SYN_OK, "%s", b.c.message);
  for (i = 0; r && i < 3; i++) {
    const float *z = syn_run_logits(r, i, &rows);
    for (j = 0; z && j < rows; j++) {
      int label = l->labels[i * l->width + j], c;
      double p = 0;
      if (!label && !each) continue;
      count++;
      want += reference_loss(z + j * v, v, label, (double)eps);
      plain += reference_loss(z + j * v, v, label, 0);
      for (c = 0; c < v; c++) p += exp((double)z[j * v + c]);
      for (c = 0; c < v; c++)
        dz[c] += exp((double)z[j * v + c]) / p - (c == label ? 1 - (double)eps : (double)eps / (v - 1));
    }
  }
  CHECK(syn_trainer_backward(b.t, &batch, &loss) == SYN_OK, "%s: %s", l->task, b.c.message);
  CHECK(fabs((double)loss - want / count) < 1e-5, "%s, eps %g: loss %g, not %g", l->task, (double)eps,
        (double)loss, want / count);
  bias = syn_model_find(b.m, "out.b");
  db = syn_trainer_gradient(b.t, bias);
  for (j = 0; j < v; j++)
    CHECK(fabs((double)db[j] - dz[j] / count) < 1e-6, "%s: d out.b[%d] = %g, not %g", l->task, j,
          (double)db[j], dz[j] / count);
  CHECK(syn_trainer_batch_loss(b.t, &batch, &sum, &labels) == SYN_OK && labels == count, "%ld labels, not %d",
        (long)labels, count);
  CHECK(fabs(sum - plain) < 1e-4, "%s: without smoothing %g, not %g", l->task, sum, plain);
  syn_run_free(r);
  bench_free(&b);
}

/* More rows than a block of the loss has: loss and gradients are those of the sentences one by one. */
static void test_loss_blocks(void) {
  enum { V = 60000, ROWS = 300 }; /* blocks of 279 rows */
  static int tokens[ROWS + 1];
  syn_config k = config_of(1);
  syn_train_config train;
  syn_batch batch;
  bench b;
  const syn_param *bias;
  float loss = 0.0f, *whole = NULL;
  double sum = 0.0;
  size_t i, n;
  int part;
  memset(&train, 0, sizeof train);
  memset(&batch, 0, sizeof batch);
  train.batch_tokens = ROWS;
  k.decoder = "linear(4) -> linear";
  k.d_model = 4;
  k.heads = 1;
  k.max_len = ROWS;
  k.tgt_vocab = V;
  for (i = 0; i <= ROWS; i++) tokens[i] = SYN_FIRST_TOKEN + (int)(i * 7919 % 5000);
  if (!bench_make(&b, &k, &train)) return;
  bias = syn_model_find(b.m, "out.b");
  n = bias->size;
  CHECK(b.t->run->loss.block < ROWS, "blocks of %lu rows", (unsigned long)b.t->run->loss.block);
  whole = (float *)malloc(n * sizeof *whole);
  for (part = 0; part < 3; part++) { /* all, then the first and the last half */
    int first = part == 2 ? ROWS / 2 : 0, count = part ? ROWS / 2 : ROWS;
    const float *g;
    batch.count = 1;
    batch.tgt = tokens + first, batch.labels = tokens + first + 1, batch.tgt_width = count;
    CHECK(syn_trainer_backward(b.t, &batch, &loss) == SYN_OK, "%s", b.c.message);
    sum += part ? 0.5 * (double)loss : -(double)loss;
    g = syn_trainer_gradient(b.t, bias);
    for (i = 0; i < n; i++) whole[i] = part ? whole[i] - 0.5f * g[i] : g[i];
  }
  CHECK(fabs(sum) < 1e-5, "the loss of all differs by %g", sum);
  for (part = 0, i = 0; i < n; i++) part += fabsf(whole[i]) > 1e-7f;
  CHECK(part == 0, "%d gradients of out.b differ", part);
  free(whole);
  bench_free(&b);
}

/* Rows without a label get no gradient, whatever the batch before has left. */
static void test_unlabelled(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch batch = three(0, 3), few = batch;
  int labels[12] = {0};
  uint64_t hash[2];
  float loss;
  bench b;
  int i;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  labels[1] = 5, labels[9] = 9;
  few.labels = labels;
  for (i = 0; i < 2; i++) {
    if (!bench_make(&b, &k, &train)) return;
    CHECK(!i || syn_trainer_backward(b.t, &batch, &loss) == SYN_OK, "%s", b.c.message);
    CHECK(syn_trainer_step(b.t, &few, 1, &loss) == SYN_OK, "%s", b.c.message);
    hash[i] = syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float));
    bench_free(&b);
  }
  CHECK(hash[0] == hash[1], "a step differs behind another batch");
}

static void test_loss(void) {
  static const labelled cases[] = {{"seq2seq", {4, 5, 6, 3, 7, 3, 0, 0, 8, 9, 3, 0}, 4},
                                   {"lm", {0, 5, 0, 3, 7, 0, 0, 0, 13, 9, 1, 0}, 4},
                                   {"classify", {0, 4, 2}, 1},
                                   {"tag", {1, 2, 0, 4, 0, 3, 0, 0, 1, 0, 0, 0}, 4}};
  size_t i;
  for (i = 0; i < 4; i++) {
    loss_case(&cases[i], 0.0f);
    loss_case(&cases[i], 0.1f);
    loss_case(&cases[i], 0.9f);
  }
}

/* -- batches of data -- */

/* A model of which batches of data need the task alone. */
static syn_model model_of_task(int task) {
  syn_model m;
  memset(&m, 0, sizeof m);
  m.task = &syn__tasks[task];
  return m;
}

/* Every row once, each batch within the limit, the arrays as they should be. Returns a hash of the order. */
static uint64_t epoch_check(syn_data *d, int tokens, uint64_t seed, long epoch) {
  int *ints = (int *)malloc(3 * (size_t)tokens * sizeof(int)), *seen;
  uint64_t hash = SYN_HASH_START;
  size_t n, count = syn_data_count(d), all = 0;
  int i, j, size;
  seen = (int *)calloc(count, sizeof(int));
  CHECK(syn__data_epoch(d, tokens, seed, epoch) == SYN_OK, "%s", d->c->message);
  for (n = 0; n < d->n_batches; n++) {
    const syn_model seq2seq = model_of_task(0);
    syn_batch b = syn__data_batch(d, &seq2seq, &d->batches[n], ints);
    CHECK(b.count > 0 && b.count * b.src_width <= tokens && b.count * b.tgt_width <= tokens,
          "batch %lu: %d sentences of %d and %d", (unsigned long)n, b.count, b.src_width, b.tgt_width);
    for (i = 0; i < b.count; i++) {
      const int *s = b.src + i * b.src_width, *x = b.tgt + i * b.tgt_width, *y = b.labels + i * b.tgt_width;
      int row = s[0] - 1000;
      const int *want = syn_data_row(d, (size_t)row, 0, &size);
      int ok = row >= 0 && row < (int)count && seen[row]++ == 0 && x[0] == SYN_BEGIN;
      for (j = 0; ok && j < size; j++) ok = s[j] == want[j] && x[j + 1] == want[j] && y[j] == want[j];
      ok = ok && s[size] == SYN_END && y[size] == SYN_END;
      for (j = size + 1; ok && j < b.src_width; j++) ok = !s[j] && !x[j] && !y[j];
      CHECK(ok, "batch %lu, sentence %d is not row %d", (unsigned long)n, i, row);
      hash = syn_hash(hash, &row, sizeof row);
      all++;
    }
  }
  CHECK(all == count, "%lu of %lu rows in epoch %ld", (unsigned long)all, (unsigned long)count, epoch);
  free(seen);
  free(ints);
  return hash;
}

static void test_batches(void) {
  syn_context c;
  syn_data *d;
  uint64_t first, again, e;
  long epoch;
  int tokens;
  syn_context_init(&c, NULL);
  d = copies(&c, 211, 5, 1);
  for (tokens = 7; tokens < 2000; tokens = tokens * 2 + 1)
    for (epoch = -1; epoch < 3; epoch++) epoch_check(d, tokens, 9, epoch);
  first = epoch_check(d, 60, 9, 0);
  e = epoch_check(d, 60, 9, 1);
  again = epoch_check(d, 60, 9, 0);
  CHECK(first == again, "an epoch laid out twice differs");
  CHECK(first != e, "two epochs are alike");
  CHECK(first != epoch_check(d, 60, 10, 0), "two seeds give one order");
  CHECK(syn_data_batches(d, 60, 9) == d->n_batches && d->n_batches > 10, "%lu batches",
        (unsigned long)d->n_batches);
  syn_data_free(d);
}

/* A row that no batch can hold is an error, wherever it stands; rows at the limit fit. */
static void test_long_rows(void) {
  int row[64], size, place, i;
  for (i = 0; i < 64; i++) row[i] = 1000;
  for (place = 0; place < 4; place++)
    for (size = 18; size < 23; size++) {
      syn_context c;
      syn_data *d;
      syn_context_init(&c, NULL);
      d = syn_data_new(&c);
      for (i = 0; i < 4; i++) row[0] = 1000 + i, syn_data_add(d, row, i == place ? size : 3, row, i);
      CHECK((syn_data_batches(d, 20, 0) > 0) == (size < 20), "a row of %d, place %d: %s", size, place,
            c.message);
      CHECK(size < 20 || (c.status == SYN_E_SHAPE && strstr(c.message, "20")), "%s", c.message);
      syn_data_free(d);
    }
}

/* Many empty rows: batches hold as many sentences as tokens. */
static void test_empty_rows(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  bench b;
  syn_data *d;
  int i;
  int row[20];
  double loss;
  int64_t labels;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 32;
  train.steps = 9;
  if (!bench_make(&b, &k, &train)) return;
  d = syn_data_new(&b.c);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_E_VALUE && strstr(b.c.message, "no data"), "%s",
        b.c.message);
  syn_context_clear(&b.c);
  for (i = 0; i < 100; i++) CHECK(syn_data_add(d, NULL, 0, NULL, 0) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_evaluate(b.t, d, &loss, &labels) == SYN_OK && labels == 100, "%ld labels: %s", (long)labels,
        b.c.message);
  CHECK(syn_data_add(d, NULL, -1, NULL, 0) == SYN_E_VALUE, "a row of -1 tokens");
  syn_context_clear(&b.c);
  for (i = 0; i < 20; i++) row[i] = 4;
  CHECK(syn_data_add(d, row, 20, row, 3) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_evaluate(b.t, d, &loss, &labels) == SYN_E_SHAPE && strstr(b.c.message, "21") && strstr(b.c.message, "12"),
        "a row longer than the model can take: %s", b.c.message);
  CHECK(syn_data_add(NULL, NULL, 0, NULL, 0) == SYN_E_VALUE, "no data");
  syn_data_free(d);
  syn_data_free(NULL);
  bench_free(&b);
}

/* -- the tasks: classify, tag, corrupted texts -- */

enum { PAIRS, TEXT, CLASSES, TAGS, GAPS, WHATS };
enum { N_CLASSES = 4, GAP_FIRST = 14, GAP_COUNT = 5 };

static syn_config task_config(int what) {
  syn_config k = config_of(what == TEXT);
  if (what == CLASSES) k.task = "classify";
  if (what == TAGS) k.task = "tag";
  if (what == GAPS) k.src_vocab = k.tgt_vocab = GAP_FIRST + GAP_COUNT;
  k.classes = N_CLASSES;
  return k;
}

/* What a row of 4 .. 13 should give: classify the number of fours, at most 3; tag 1, 2 or 3 for a
   token that is as its left neighbour, larger, smaller. */
static int task_class(const int *row, int n) {
  int i, fours = 0;
  for (i = 0; i < n; i++) fours += row[i] == 4;
  return fours < N_CLASSES ? fours : N_CLASSES - 1;
}
static int task_tag(const int *row, int i) {
  int left = i ? row[i - 1] : row[i];
  return row[i] == left ? 1 : row[i] > left ? 2 : 3;
}

static syn_data *task_data(int what, syn_context *c, int count, uint64_t seed) {
  static const syn_corruption gaps = {0, 0, GAP_FIRST, GAP_COUNT, 0};
  syn_data *d = what == PAIRS || what == TEXT ? copies(c, count, seed, 0) : syn_data_new(c);
  int row[16], out[16], i, j, n;
  syn_random r;
  r.state = seed;
  if (what == GAPS) CHECK(syn_data_corrupt(d, &gaps) == SYN_OK, "%s", c->message);
  for (i = 0; i < count && what >= CLASSES; i++) {
    n = 1 + syn_random_below(&r, 7);
    for (j = 0; j < n; j++) row[j] = 4 + syn_random_below(&r, what == GAPS ? 10 : 4);
    for (j = 0; j < n; j++) out[j] = task_tag(row, j);
    if (what == CLASSES) out[0] = task_class(row, n);
    CHECK(syn_data_add(d, row, n, out, what == GAPS ? 0 : what == TAGS ? n : 1) == SYN_OK, "%s",
          c->message);
  }
  return d;
}

/* Each row once, with its label or tags, whatever the batches are. */
static void task_batches(int what) {
  syn_model m = model_of_task(what);
  int ints[3 * 40], i, j, size, tokens;
  syn_context c;
  syn_data *d;
  size_t n, all, wrong;
  syn_context_init(&c, NULL);
  d = task_data(what, &c, 150, 8);
  for (tokens = 8; tokens <= 40; tokens += 8) {
    wrong = all = 0;
    CHECK(syn__data_epoch(d, tokens, 5, 1) == SYN_OK, "%s", c.message);
    for (n = 0; n < d->n_batches; n++) {
      syn_batch b = syn__data_batch(d, &m, &d->batches[n], ints);
      CHECK(b.count * b.src_width <= tokens && !b.tgt && !b.tgt_width, "%d of %d", b.count, b.src_width);
      for (i = 0; i < b.count; i++, all++) {
        const int *s = b.src + i * b.src_width, *l = b.labels + i * (what == TAGS ? b.src_width : 1);
        for (size = 0; size < b.src_width && s[size] >= SYN_FIRST_TOKEN; size++) continue;
        if (what == CLASSES) wrong += l[0] != task_class(s, size) || s[size] != SYN_END;
        for (j = size + (what == CLASSES); j < b.src_width; j++) wrong += s[j] != 0;
        for (j = 0; j < b.src_width && what == TAGS; j++)
          wrong += l[j] != (j < size ? task_tag(s, j) : 0);
      }
    }
    CHECK(all == 150 && wrong == 0, "batches of %d: %d rows, %d wrong", tokens, (int)all, (int)wrong);
  }
  syn_data_free(d);
}

/* Unseen rows are mostly right; the loss is the mean over all labels, however they are batched; the
   probabilities of all ranks sum up to 1. */
static void task_learns(int what) {
  syn_config k = task_config(what);
  syn_train_config train;
  syn_data *d, *unseen;
  double loss[2], sum = 0;
  int64_t labels[2], all = 0, right = 0;
  int i, j, n, rank, row[16];
  syn_run *run;
  bench b;
  memset(&train, 0, sizeof train);
  train.lr = 0.01f;
  train.warmup = 20;
  train.steps = CHECK_SHORT ? 200 : 400;
  train.batch_tokens = 200;
  if (!bench_make(&b, &k, &train)) return;
  d = task_data(what, &b.c, 400, 1);
  unseen = task_data(what, &b.c, 60, 2);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_evaluate(b.t, unseen, &loss[0], &labels[0]) == SYN_OK, "%s", b.c.message);
  CHECK(syn_model_evaluate(&b.c, b.m, unseen, 33, &loss[1], &labels[1]) == SYN_OK, "%s", b.c.message);
  CHECK(labels[0] == labels[1] && fabs(loss[0] - loss[1]) < 1e-9, "%.12g of %ld, %.12g of %ld", loss[0],
        (long)labels[0], loss[1], (long)labels[1]);
  run = syn_run_new(&b.c, b.m, NULL);
  for (i = 0; i < 60; i++) {
    const int *at = syn_data_row(unseen, (size_t)i, SYN_SRC, &n), *want;
    syn_batch batch;
    memset(&batch, 0, sizeof batch);
    for (j = 0; j < n; j++) row[j] = at[j];
    row[n] = SYN_END;
    batch.count = 1, batch.src = row, batch.src_width = n + (what == CLASSES);
    want = syn_data_row(unseen, (size_t)i, SYN_TGT, &n);
    CHECK(syn_run_forward(run, &batch) == SYN_OK, "%s", b.c.message);
    for (j = 0; j < n; j++, all++) {
      float p, before = 2, total = 0;
      int first = syn_run_class(run, 0, j, 0, NULL);
      right += first == want[j];
      for (rank = 0; syn_run_class(run, 0, j, rank, &p) >= 0; rank++) {
        CHECK(p <= before && (rank || syn_run_class(run, 0, j, rank, NULL) == first), "rank %d: %g",
              rank, (double)p);
        if (syn_run_class(run, 0, j, rank, NULL) == want[j]) sum -= log((double)p);
        before = p, total += p;
      }
      CHECK(rank == N_CLASSES - (what == TAGS) && total < 1.0001f && total > (what == TAGS ? 0.9f : 0.9999f),
            "%d ranks of %g in all", rank, (double)total);
    }
    CHECK(syn_run_class(run, 0, n, 0, NULL) < 0 && syn_run_class(run, 1, 0, 0, NULL) < 0 &&
          syn_run_class(run, 0, -1, 0, NULL) < 0 && syn_run_class(run, 0, 0, -1, NULL) < 0, "no such row");
  }
  CHECK(all == labels[0] && fabs(sum / (double)all - loss[0]) < 1e-4, "%g of %ld and %g of %ld",
        sum / (double)all, (long)all, loss[0], (long)labels[0]);
  CHECK((double)right > (CHECK_SHORT ? 0.7 : 0.9) * (double)all, "%ld of %ld right", (long)right, (long)all);
  syn_run_free(run);
  syn_data_free(d);
  syn_data_free(unseen);
  bench_free(&b);
}

/* Rows that are not what the task wants: an error that names the row and the numbers. */
static void task_errors(void) {
  static const struct {
    int what, n_src, n_tgt, label;
    const char *words[3];
  } cases[] = {{CLASSES, 2, 0, 0, {"row 3", "0 labels", "classify"}},
               {CLASSES, 2, 2, 1, {"row 3", "2 labels", "classify"}},
               {CLASSES, 2, 1, 4, {"row 3", "is 4", "0 to 3"}},
               {CLASSES, 2, 1, -1, {"row 3", "is -1", "0 to 3"}},
               {TAGS, 2, 1, 1, {"row 3", "2 source tokens", "1 labels"}},
               {TAGS, 2, 3, 1, {"row 3", "2 source tokens", "3 labels"}},
               {TAGS, 0, 0, 1, {"row 3", "0 source tokens", "one at least"}},
               {TAGS, 2, 2, 4, {"row 3", "is 4", "0 to 3"}},
               {GAPS, 2, 2, 5, {"row 3", "2 target", "corrupted"}}};
  size_t i, w;
  int k, src[3] = {4, 5, 6}, tgt[3];
  double loss;
  int64_t labels;
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    syn_config config = task_config(cases[i].what);
    bench b;
    syn_data *d;
    if (!bench_make(&b, &config, NULL)) return;
    d = task_data(cases[i].what, &b.c, 3, 1);
    for (k = 0; k < 3; k++) tgt[k] = cases[i].label;
    syn_data_add(d, src, cases[i].n_src, tgt, cases[i].n_tgt);
    CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_E_VALUE, "case %d is taken", (int)i);
    for (w = 0; w < 3; w++)
      CHECK(strstr(b.c.message, cases[i].words[w]), "case %d: %s in: %s", (int)i, cases[i].words[w], b.c.message);
    syn_context_clear(&b.c);
    CHECK(syn_trainer_evaluate(b.t, d, &loss, &labels) == SYN_E_VALUE && labels == 0, "case %d", (int)i);
    syn_context_clear(&b.c);
    CHECK(syn_model_evaluate(&b.c, b.m, d, 0, &loss, &labels) == SYN_E_VALUE, "case %d", (int)i);
    CHECK(b.t->state.step == 0, "%ld steps", (long)b.t->state.step);
    syn_data_free(d);
    bench_free(&b);
  }
}

/* -- span corruption -- */

/* Puts the runs of the target back where their sentinels stand; the length of the text, -1: wrong.
   Sentinels come in order; *runs: how many. */
static int uncorrupt(const syn_corruption *k, const int *src, int n_src, const int *tgt, int n_tgt, int *out,
                     int *runs) {
  int i, at = 0, n = 0;
  *runs = 0;
  for (i = 0; i < n_src; i++) {
    if (src[i] < k->first) {
      out[n++] = src[i];
      continue;
    }
    if (src[i] != k->first + *runs || at >= n_tgt || tgt[at++] != src[i]) return -1;
    if (at >= n_tgt || tgt[at] >= k->first) return -1; /* a run of nothing */
    while (at < n_tgt && tgt[at] < k->first) out[n++] = tgt[at++];
    ++*runs;
  }
  return at == n_tgt ? n : -1;
}

/* Every length: the text comes back, sizes are as promised, hidden tokens and runs as the formula says. */
static void test_corrupt(void) {
  static const syn_corruption kinds[] = {
      {0, 0, 5000, 100, 0}, {0.5f, 2, 5000, 100, 0}, {0.15f, 3, 5000, 4, 0}, {0.99f, 1, 5000, 3000, 0},
      {0.01f, 50, 5000, 9, 0}};
  int tokens[600], src[1200], tgt[1200], back[1200], n, i, k, n_src, n_tgt, runs, hidden, want;
  double share = 0, texts = 0, spans = 0, gone = 0;
  syn_random r;
  r.state = 3;
  for (i = 0; i < 600; i++) tokens[i] = 4 + i;
  for (k = 0; k < 5; k++)
    for (n = 0; n < 600; n += n < 40 ? 1 : 37) {
      double noise = k ? (double)kinds[k].noise : 0.15, span = k ? (double)kinds[k].span : 3.0;
      syn_corrupt_sizes(&kinds[k], n, &n_src, &n_tgt);
      src[n_src] = tgt[n_tgt] = -7;
      syn_corrupt(&kinds[k], tokens, n, &r, src, tgt);
      i = uncorrupt(&kinds[k], src, n_src, tgt, n_tgt, back, &runs);
      CHECK(src[n_src] == -7 && tgt[n_tgt] == -7, "kind %d, %d tokens: more than promised", k, n);
      CHECK(i == n && (!n || !memcmp(back, tokens, (size_t)n * sizeof(int))), "kind %d: %d of %d tokens are back",
            k, i, n);
      hidden = n_tgt - runs;
      want = n < 2 ? 0 : (int)floor(n * noise + 0.5);
      if (n >= 2 && want < 1) want = 1;
      if (n >= 2 && want > n - 1) want = n - 1;
      CHECK(hidden == want && n_src == n - hidden + runs, "kind %d: %d of %d hidden, wanted %d", k, hidden, n, want);
      want = (int)floor(hidden / span + 0.5);
      if (want < 1) want = 1;
      if (want > kinds[k].count) want = kinds[k].count;
      if (want > n - hidden) want = n - hidden;
      if (want > hidden) want = hidden;
      CHECK(runs == want, "kind %d: %d runs for %d of %d, wanted %d", k, runs, hidden, n, want);
      CHECK(n < 2 || src[0] == tokens[0], "kind %d: a text begins with a gap", k);
      if (k == 0 && n >= 40) share += (double)hidden / n, texts++, spans += runs, gone += hidden;
    }
  CHECK(fabs(share / texts - 0.15) < 0.005, "%g of the tokens are hidden", share / texts);
  CHECK(fabs(gone / spans - 3) < 0.1, "mean run of %g tokens", gone / spans);
}

/* 4 of 8 tokens in 2 runs: 3 ways to cut each half, all 9 pairs equally probable. */
static void test_corrupt_even(void) {
  static const syn_corruption k = {0.5f, 2, 100, 10, 0};
  int tokens[] = {4, 5, 6, 7, 8, 9, 10, 11}, src[10], tgt[10], count[9] = {0}, i, j, stays, hides;
  syn_random r;
  r.state = 11;
  for (i = 0; i < 9000; i++) {
    syn_corrupt(&k, tokens, 8, &r, src, tgt);
    for (stays = 0; src[stays] < 100; stays++) continue;
    for (hides = 1, j = 0; tgt[hides] < 100; hides++) j++;
    if (stays < 4 && j > 0 && j < 4) count[3 * (stays - 1) + j - 1]++;
  }
  for (i = 0; i < 9; i++) CHECK(count[i] > 880 && count[i] < 1120, "way %d: %d of 9000", i, count[i]);
}

/* The rows of one pass over the data, as a hash; each is put together again. */
static uint64_t corrupt_pass(syn_data *d, long epoch, uint64_t seed) {
  int ints[3 * 60], back[64], i, j, n_src, n_tgt, runs;
  uint64_t hash = SYN_HASH_START, all = 0, want = 0;
  const int *at;
  size_t n;
  CHECK(syn__data_epoch(d, 60, seed, epoch) == SYN_OK, "%s", d->c->message);
  for (n = 0; n < syn_data_count(d); n++) {
    at = syn_data_row(d, n, SYN_SRC, &j);
    want += syn_hash(SYN_HASH_START, at, (size_t)j * sizeof(int));
  }
  for (n = 0; n < d->n_batches; n++) {
    const syn_model seq2seq = model_of_task(0);
    syn_batch b = syn__data_batch(d, &seq2seq, &d->batches[n], ints);
    for (i = 0; i < b.count; i++) {
      const int *s = b.src + i * b.src_width, *l = b.labels + i * b.tgt_width, *y = b.tgt + i * b.tgt_width;
      for (n_src = 0; s[n_src] != SYN_END; n_src++) continue;
      for (n_tgt = 0; l[n_tgt] != SYN_END; n_tgt++) continue;
      CHECK(y[0] == SYN_BEGIN && !memcmp(y + 1, l, (size_t)n_tgt * sizeof(int)), "decoder input");
      j = uncorrupt(&d->corruption, s, n_src, l, n_tgt, back, &runs);
      CHECK(j > 0, "no text");
      if (j > 0) all += syn_hash(SYN_HASH_START, back, (size_t)j * sizeof(int)); /* in any order */
      hash = syn_hash(hash, s, (size_t)n_src * sizeof(int));
    }
  }
  CHECK(all == want, "epoch %ld: other texts", epoch);
  return hash;
}

/* -- masked language models -- */

/* 15 of 100 tokens are chosen, none of them special: 80 % masked, 10 % random, 10 % kept. */
static void test_mask(void) {
  static const syn_corruption k = {0, 0, 50, 60, 1};
  enum { N = 100, TIMES = 400 };
  int tokens[N], src[N], labels[N], i, n, masked = 0, same = 0, other = 0, chosen, place[N] = {0};
  syn_random r = {5};
  syn_corrupt_sizes(&k, N, &i, &n);
  CHECK(i == N && n == N, "%d and %d of %d tokens", i, n, N);
  for (i = 0; i < N; i++) tokens[i] = i % 10 ? 10 + i % 30 : i % 4; /* every tenth is special */
  for (n = 0; n < TIMES; n++) {
    syn_corrupt(&k, tokens, N, &r, src, labels);
    for (chosen = i = 0; i < N; i++) {
      CHECK(labels[i] ? labels[i] == tokens[i] && tokens[i] >= 4 : src[i] == tokens[i], "token %d", i);
      if (!labels[i]) continue;
      chosen++, place[i]++;
      masked += src[i] == 50;
      same += src[i] == tokens[i];
      other += src[i] != 50 && src[i] != tokens[i];
      CHECK(src[i] >= 4 && src[i] < 60, "a token became %d", src[i]);
    }
    CHECK(chosen == 15, "%d of %d tokens are chosen", chosen, N);
  }
  CHECK(abs(masked - 4800) < 150 && abs(same - 600) < 120 && abs(other - 600) < 120, "%d masked, %d kept, %d random",
        masked, same, other);
  for (i = 0; i < N; i++)
    CHECK(i % 10 ? place[i] > 30 && place[i] < 110 : !place[i], "token %d is chosen %d times", i, place[i]);
  for (n = 0; n < 4; n++) { /* short texts; with one that may be chosen it always is */
    syn_corrupt(&k, tokens, n, &r, src, labels);
    CHECK(n < 2 || labels[1] == tokens[1] || labels[2] == tokens[2], "nothing is chosen of %d tokens", n);
  }
}

/* Rows count up from a random token: the network learns to read a masked one from both sides. */
static void test_mask_training(void) {
  enum { MASK = 30, LENGTH = 8 };
  static const syn_corruption masks = {0, 0, MASK, MASK, 1}, spans = {0, 0, MASK, 1, 0};
  syn_train_config t;
  syn_config k;
  syn_context c;
  syn_data *d;
  syn_model *m;
  syn_trainer *trainer;
  syn_run *run;
  syn_batch batch;
  int row[LENGTH], i, n;
  double before, after;
  float p = 0.0f;
  memset(&t, 0, sizeof t), memset(&k, 0, sizeof k), memset(&batch, 0, sizeof batch);
  syn_context_init(&c, NULL);
  k.task = "mlm";
  k.encoder = "learn_pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm";
  k.d_model = 32, k.heads = 4, k.max_len = LENGTH, k.src_vocab = MASK + 1, k.seed = 3;
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  CHECK(m && syn_model_find(m, "out.b") && !syn_model_find(m, "out.w"), "mlm: not tied: %s", c.message);
  for (n = 0; n < 100; n++) {
    for (i = 0; i < LENGTH; i++) row[i] = 4 + (n + i) % (MASK - 4);
    syn_data_add(d, row, LENGTH, NULL, 0);
  }
  t.lr = 0.01f, t.steps = 80, t.warmup = 10, t.clip = 1, t.batch_tokens = 400;
  trainer = syn_trainer_new(&c, m, &t);
  CHECK(syn_trainer_run(trainer, d, NULL, NULL, NULL) == SYN_E_VALUE, "mlm without masks");
  syn_context_clear(&c);
  CHECK(syn_data_corrupt(d, &spans) == SYN_OK && syn_trainer_run(trainer, d, NULL, NULL, NULL) == SYN_E_VALUE &&
        strstr(c.message, "not for mlm"), "mlm of spans: %s", c.message);
  syn_context_clear(&c);
  CHECK(syn_data_corrupt(d, &masks) == SYN_OK, "%s", c.message);
  syn_trainer_free(trainer);
  run = syn_run_new(&c, m, NULL);
  trainer = syn_trainer_new(&c, m, &t);
  CHECK(syn_trainer_validate(trainer, d) == SYN_OK, "%s", c.message);
  before = (double)syn_trainer_state(trainer)->valid;
  CHECK(syn_trainer_run(trainer, d, NULL, NULL, NULL) == SYN_OK, "%s", c.message);
  CHECK(syn_trainer_validate(trainer, d) == SYN_OK, "%s", c.message);
  after = (double)syn_trainer_state(trainer)->valid;
  CHECK(after < before / 4, "loss %g, before %g: %s", after, before, c.message);
  for (i = 0; i < LENGTH; i++) row[i] = 6 + i;
  row[3] = MASK;
  batch.count = 1, batch.src = row, batch.src_width = LENGTH;
  CHECK(syn_run_forward(run, &batch) == SYN_OK && syn_run_class(run, 0, 3, 0, &p) == 9 && p > 0.3f, "token %d, p %g: %s",
          syn_run_class(run, 0, 3, 0, NULL), (double)p, c.message);
  syn_run_free(run), syn_trainer_free(trainer), syn_data_free(d), syn_model_free(m);
}

static void test_corrupt_data(void) {
  static const syn_corruption good = {0, 0, GAP_FIRST, GAP_COUNT, 0};
  syn_corruption bad;
  syn_context c;
  syn_data *d;
  bench b;
  syn_config k;
  uint64_t first, fixed;
  syn_context_init(&c, NULL);
  d = task_data(GAPS, &c, 60, 3);
  first = corrupt_pass(d, 0, 7);
  fixed = corrupt_pass(d, -1, 0);
  CHECK(corrupt_pass(d, 0, 7) == first && corrupt_pass(d, -1, 0) == fixed, "a pass made twice differs");
  CHECK(corrupt_pass(d, 1, 7) != first && corrupt_pass(d, 0, 8) != first, "the gaps are always the same");
#define BAD(field, value) \
  bad = good, bad.field = value; \
  CHECK(syn_data_corrupt(d, &bad) == SYN_E_VALUE && strstr(c.message, "corruption"), "%s", c.message); \
  syn_context_clear(&c)
  BAD(noise, 1.0f);
  BAD(noise, -0.1f);
  BAD(noise, NAN);
  BAD(span, 0.5f);
  BAD(span, NAN);
  BAD(first, 3);
  BAD(count, 0);
#undef BAD
  CHECK(syn_data_corrupt(d, NULL) == SYN_E_VALUE && syn_data_corrupt(NULL, &good) == SYN_E_VALUE, "null");
  syn_data_free(d);
  k = config_of(0); /* without room for the sentinels */
  if (!bench_make(&b, &k, NULL)) return;
  d = task_data(GAPS, &b.c, 5, 1);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_E_VALUE && strstr(b.c.message, "14 to 18"), "%s", b.c.message);
  syn_data_free(d);
  bench_free(&b);
  k = config_of(1);
  if (!bench_make(&b, &k, NULL)) return;
  d = task_data(GAPS, &b.c, 5, 1);
  CHECK(syn_trainer_run(b.t, d, NULL, NULL, NULL) == SYN_E_VALUE && strstr(b.c.message, "not for lm"), "%s", b.c.message);
  syn_data_free(d);
  bench_free(&b);
}

/* -- windows -- */

/* Every token of the text is a label exactly once, whatever window and stride. In an epoch of a training, windows
   that do not overlap begin later: all by the same number of tokens, less than a window, and the last one as far as
   there are tokens. Returns that number. */
static size_t windows_case(size_t count, int window, int stride, long epoch) {
  int *text = (int *)malloc((count + 1) * sizeof(int)), *seen = (int *)calloc(count + 1, sizeof(int));
  int *ints = (int *)malloc(3 * 400 * sizeof(int)), i, j, length;
  syn_context c;
  syn_data *d;
  size_t n, k, wrong = 0, moved = 0, twice = 0;
  syn_context_init(&c, NULL);
  d = syn_data_new(&c);
  for (k = 0; k < count; k++) text[k] = 4 + (int)k;
  CHECK(syn_data_add_windows(d, text, count, window, stride) == SYN_OK, "%s", c.message);
  CHECK(count == 0 || syn__data_epoch(d, 400, 1, epoch) == SYN_OK, "%s", c.message);
  for (n = 0; count && n < d->n_batches; n++) {
    const syn_model seq2seq = model_of_task(0);
    syn_batch b = syn__data_batch(d, &seq2seq, &d->batches[n], ints);
    for (i = 0; i < b.count; i++) {
      const int *x = b.tgt + i * b.tgt_width, *y = b.labels + i * b.tgt_width;
      for (length = b.tgt_width; length > 0 && !x[length - 1]; length--) continue;
      wrong += length > window || x[0] != SYN_BEGIN;
      for (j = 0; j < b.tgt_width; j++) {
        if (!y[j]) continue;
        wrong += j >= length || (j && x[j] != y[j] - 1) || y[j] < 4 || y[j] >= 4 + (int)count;
        seen[y[j] - 4]++;
      }
    }
  }
  while (epoch >= 0 && stride == window && moved < count && !seen[moved]) moved++;
  for (k = moved; k < count; k++) {
    twice += seen[k] == 2 && epoch >= 0 && stride == window && k + (size_t)window >= count;
    wrong += seen[k] != 1;
  }
  CHECK(wrong == twice && twice <= moved && (!moved || moved < (size_t)window),
        "%lu tokens in windows of %d every %d, epoch %ld: %lu wrong, moved by %lu", (unsigned long)count, window,
        stride, epoch, (unsigned long)(wrong - twice), (unsigned long)moved);
  syn_data_free(d);
  free(text);
  free(seen);
  free(ints);
  return moved;
}

static void test_windows(void) {
  static const size_t counts[] = {0, 1, 2, 7, 8, 9, 16, 17, 100, 101, 128};
  syn_context c;
  syn_data *d;
  size_t i;
  int window, stride, seen[5] = {0, 0, 0, 0, 0};
  for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
    for (window = 1; window < 18; window += window < 9 ? 1 : 4)
      for (stride = 1; stride <= window; stride++) {
        windows_case(counts[i], window, stride, -1);
        windows_case(counts[i], window, stride, (long)i);
      }
  for (i = 0; i < 50; i++) seen[windows_case(30, 5, 5, (long)i)]++;
  for (i = 0; i < 5; i++) CHECK(seen[i] > 3, "moved by %lu in %d of 50 epochs", (unsigned long)i, seen[i]);
  syn_context_init(&c, NULL);
  d = syn_data_new(&c);
  CHECK(syn_data_add_windows(d, three_src, 12, 4, 5) == SYN_E_VALUE && strstr(c.message, "5"), "%s",
        c.message);
  CHECK(syn_data_add_windows(d, three_src, 12, 0, 0) == SYN_E_VALUE, "windows of nothing");
  syn_data_free(d);
}

/* -- evaluation -- */

/* The mean over all labels does not depend on how rows are batched, and leaves the training as it is. */
static void test_evaluate(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  bench a, b;
  syn_data *data, *other;
  double loss[3], sum = 0;
  int64_t labels[3];
  long step;
  size_t n;
  memset(&train, 0, sizeof train);
  k.dropout = 0.1f;
  k.label_smoothing = 0.1f;
  train.batch_tokens = 60;
  train.steps = 5;
  if (!bench_make(&a, &k, &train) || !bench_make(&b, &k, &train)) return;
  data = copies(&a.c, 50, 1, 0);
  other = copies(&b.c, 50, 1, 0);
  CHECK(syn_trainer_evaluate(a.t, data, &loss[0], &labels[0]) == SYN_OK, "%s", a.c.message);
  CHECK(syn_model_evaluate(&a.c, a.m, data, 33, &loss[1], &labels[1]) == SYN_OK, "%s", a.c.message);
  labels[2] = 0;
  for (n = 0; n < 50; n++) { /* row by row */
    int row[16], in[16], size, i;
    const int *at = syn_data_row(data, n, 0, &size);
    syn_batch batch;
    for (i = 0; i < size; i++) row[i] = at[i], in[i + 1] = at[i];
    row[size] = SYN_END, in[0] = SYN_BEGIN;
    batch.count = 1, batch.src = batch.labels = row, batch.tgt = in;
    batch.src_width = batch.tgt_width = size + 1;
    CHECK(syn_trainer_batch_loss(a.t, &batch, &sum, &labels[2]) == SYN_OK, "%s", a.c.message);
  }
  loss[2] = sum / (double)labels[2];
  CHECK(labels[0] == labels[1] && labels[1] == labels[2], "%ld, %ld, %ld labels", (long)labels[0],
        (long)labels[1], (long)labels[2]);
  CHECK(fabs(loss[0] - loss[1]) < 1e-9 && fabs(loss[0] - loss[2]) < 1e-9, "%.12g, %.12g, %.12g", loss[0],
        loss[1], loss[2]);
  CHECK(syn_trainer_run(b.t, other, NULL, NULL, NULL) == SYN_OK, "%s", b.c.message);
  for (step = 1; step <= 5; step++) { /* stop after every step to evaluate the training data */
    a.t->config.steps = step;
    CHECK(syn_trainer_run(a.t, data, NULL, NULL, NULL) == SYN_OK, "%s", a.c.message);
    CHECK(syn_trainer_evaluate(a.t, data, &loss[0], &labels[0]) == SYN_OK, "%s", a.c.message);
    CHECK(syn_data_batches(data, 30, 4) > 0, "%s", a.c.message);
  }
  CHECK(!memcmp(a.m->weights, b.m->weights, a.m->floats * sizeof(float)), "evaluation changed the training");
  syn_data_free(data);
  syn_data_free(other);
  bench_free(&a);
  bench_free(&b);
}

/* -- validation: early stop, plateau, the mean of the best -- */

/* A learning rate that changes nothing: every validation but the first is no progress. */
static void stop_case(float factor, float lowered) {
  syn_config k = config_of(0);
  syn_train_config train;
  bench b;
  syn_data *d;
  const syn_train_state *s;
  memset(&train, 0, sizeof train);
  train.lr = 1e-30f;
  train.schedule = "plateau";
  train.batch_tokens = 60;
  train.steps = 100;
  train.every = 3;
  train.patience = 2;
  train.factor = factor;
  train.stop_after = 5;
  if (!bench_make(&b, &k, &train)) return;
  d = copies(&b.c, 30, 1, 0);
  CHECK(syn_trainer_run(b.t, d, d, NULL, NULL) == SYN_OK, "%s", b.c.message);
  s = syn_trainer_state(b.t);
  CHECK(s->stopped && s->step == 18 && s->validations == 6 && s->worse == 5,
        "stopped %d at step %ld after %ld validations, %ld of them worse", s->stopped,
        (long)s->step, (long)s->validations, (long)s->worse);
  CHECK(s->factor == lowered, "plateau made the rate %g", (double)s->factor);
  CHECK(s->valid == s->best && s->best > 0.0f, "losses %g and %g", (double)s->valid, (double)s->best);
  CHECK(syn_trainer_run(b.t, d, d, NULL, NULL) == SYN_OK && s->step == 18, "a stopped training goes on");
  syn_data_free(d);
  bench_free(&b);
}

static void test_stop(void) {
  stop_case(0.0f, 0.25f);
  stop_case(0.7f, 0.7f * 0.7f); /* the factor of Domhan 2018 */
}

enum { KEPT = 3, MOST = 12 };
typedef struct snapshots {
  float *weights[MOST], loss[MOST];
  int count, calls;
} snapshots;

static int snapshot(void *user, const syn_trainer *t, float loss, int validated) {
  snapshots *s = (snapshots *)user;
  CHECK(loss > 0.0f && loss < 20.0f, "loss %g", (double)loss);
  s->calls++;
  CHECK(validated == (syn_trainer_state(t)->step % 2 == 0), "step %ld", (long)syn_trainer_state(t)->step);
  if (!validated || s->count == MOST) return 0;
  s->weights[s->count] = (float *)malloc(t->m->trained * sizeof(float));
  memcpy(s->weights[s->count], t->m->weights, t->m->trained * sizeof(float));
  s->loss[s->count++] = syn_trainer_state(t)->valid;
  return 0;
}

/* The mean of the KEPT weights of least validation loss; without validation of the newest. */
static void average_case(int with_valid) {
  syn_config k = config_of(0);
  syn_train_config train;
  snapshots s;
  bench b;
  syn_data *d, *valid;
  size_t i;
  int j, n, used[MOST] = {0}, pick[KEPT];
  double worst = 0;
  memset(&s, 0, sizeof s);
  memset(&train, 0, sizeof train);
  train.lr = 0.05f; /* up and down */
  train.schedule = "constant";
  train.batch_tokens = 40;
  train.steps = 20;
  train.every = 2;
  train.average = KEPT;
  if (!bench_make(&b, &k, &train)) return;
  d = copies(&b.c, 40, 1, 0);
  valid = copies(&b.c, 20, 2, 0);
  CHECK(syn_trainer_average(b.t) == 0, "nothing is kept yet");
  CHECK(syn_trainer_run(b.t, d, with_valid ? valid : NULL, snapshot, &s) == SYN_OK, "%s", b.c.message);
  CHECK(s.calls == 20 && s.count == 10, "%d reports, %d validations", s.calls, s.count);
  for (n = 0; n < KEPT; n++) {
    pick[n] = -1;
    for (j = s.count - 1; j >= 0; j--)
      if (!used[j] && (pick[n] < 0 || (with_valid && s.loss[j] < s.loss[pick[n]]))) pick[n] = j;
    used[pick[n]] = 1;
  }
  CHECK(syn_trainer_average(b.t) == KEPT, "%d are kept", b.t->n_best);
  for (i = 0; i < b.m->trained; i++) {
    double mean = 0, apart;
    for (n = 0; n < KEPT; n++) mean += (double)s.weights[pick[n]][i] / (double)(int)KEPT;
    apart = fabs(mean - (double)b.m->weights[i]);
    if (!(apart <= worst)) worst = apart;
  }
  CHECK(worst < 1e-6, "the mean of the best (%s) is %g off", with_valid ? "valid" : "newest", worst);
  for (j = 0; j < s.count; j++) free(s.weights[j]);
  syn_data_free(d);
  syn_data_free(valid);
  bench_free(&b);
}

/* -- the moving average of the weights -- */

typedef struct moving {
  double *mean;          /* what the average should be, in the order of the gradient */
  const float *frozen;   /* a tensor that is not trained, its first number */
  float was;
  double worst;
  syn_data *valid;
  int validations;
} moving;

static int moving_step(void *user, const syn_trainer *t, float loss, int validated) {
  moving *m = (moving *)user;
  const double age = (double)(syn_trainer_state(t)->step - 1);
  double valid = 0.0;
  int64_t labels;
  size_t n;
  int i;
  SYN__UNUSED(loss);
  for (i = 0; i < t->n_trained; i++)
    for (n = 0; n < t->trained[i].p->size; n++) {
      double *mean = &m->mean[t->trained[i].offset + n], apart;
      *mean += ((double)t->trained[i].p->x[n] - *mean) / (1.0 + (double)t->config.ema * age);
      apart = fabs(*mean - (double)t->mean[t->trained[i].offset + n]);
      if (!(apart <= m->worst)) m->worst = apart;
    }
  if (!validated) return 0;
  m->validations++;
  syn__train_exchange(t);
  CHECK(syn_trainer_evaluate((syn_trainer *)(uintptr_t)t, m->valid, &valid, &labels) == SYN_OK, "not evaluated");
  CHECK((float)valid == syn_trainer_state(t)->valid, "the loss of the average is %g, that of the validation %g",
        valid, (double)syn_trainer_state(t)->valid);
  syn__train_exchange(t);
  CHECK(*m->frozen == m->was, "a frozen weight moved");
  return 0;
}

/* After every step the average is that of the formula; validations are of it, and training goes on
   from the weights as if there were none. */
static void moving_case(int average) {
  syn_config k = config_of(0);
  syn_train_config train;
  moving m;
  bench b, plain;
  syn_data *d;
  const syn_param *p;
  size_t i, size;
  double apart = 0.0;
  int n;
  memset(&train, 0, sizeof train);
  memset(&m, 0, sizeof m);
  train.lr = 0.05f, train.schedule = "constant", train.batch_tokens = 40, train.steps = 20, train.every = 5;
  train.freeze = "src.embed";
  train.average = average;
  if (!bench_make(&plain, &k, &train)) return;
  train.ema = 0.3f;
  if (!bench_make(&b, &k, &train)) return;
  p = syn_model_find(b.m, "src.embed");
  m.frozen = p->x, m.was = *p->x;
  m.mean = (double *)calloc(b.t->floats, sizeof *m.mean);
  d = copies(&b.c, 40, 1, 0);
  m.valid = copies(&b.c, 20, 2, 0);
  CHECK(syn_trainer_validate(b.t, m.valid) == SYN_OK && syn_trainer_state(b.t)->valid > 0.0f, "%s", b.c.message);
  CHECK(syn_trainer_validate(plain.t, m.valid) == SYN_OK &&
        syn_trainer_state(plain.t)->valid == syn_trainer_state(b.t)->valid,
        "before the first step there is no average");
  CHECK(syn_trainer_run(b.t, d, m.valid, moving_step, &m) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_run(plain.t, d, m.valid, NULL, NULL) == SYN_OK, "%s", plain.c.message);
  CHECK(m.validations == 4 && m.worst < 1e-6, "%d validations, the average is %g off", m.validations, m.worst);
  size = b.m->trained * sizeof(float);
  CHECK(!memcmp(b.m->weights, plain.m->weights, size), "the average changes the training");
  CHECK(syn_trainer_average(b.t) == 1, "no average");
  CHECK(syn_trainer_average(b.t) == 1, "no average the second time");
  CHECK(syn_trainer_average(plain.t) == average, "without ema: not %d", average);
  CHECK(memcmp(b.m->weights, plain.m->weights, size), "the weights are no average");
  for (n = 0; n < b.t->n_trained && !average; n++)
    for (i = 0; i < b.t->trained[n].p->size; i++) {
      double off = fabs((double)b.t->trained[n].p->x[i] - m.mean[b.t->trained[n].offset + i]);
      if (!(off <= apart)) apart = off;
    }
  CHECK(apart < 1e-6, "the weights are %g from the average", apart);
  free(m.mean);
  syn_data_free(d);
  syn_data_free(m.valid);
  bench_free(&plain);
  bench_free(&b);
}

static void test_moving(void) {
  moving_case(0);
  moving_case(1);
}

/* -- checkpoints -- */

static int stop_at(void *user, const syn_trainer *t, float loss, int validated) {
  SYN__UNUSED(loss);
  SYN__UNUSED(validated);
  return syn_trainer_state(t)->step >= *(const long *)user;
}

static char *file_read(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *bytes;
  *size = 0;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  bytes = (char *)malloc(*size + 1);
  *size = fread(bytes, 1, *size, f);
  fclose(f);
  return bytes;
}

static const char *resume_rule, *resume_freeze;
static float resume_lr; /* 0: one that learns; the others are too high, so that plateau lowers them */
static int resume_lora;
static syn_train_config resume_config(void) {
  syn_train_config train;
  memset(&train, 0, sizeof train);
  train.optimizer = resume_rule;
  train.freeze = resume_freeze;
  train.lora = resume_lora;
  train.schedule = "plateau";
  train.lr = resume_lr > 0.0f ? resume_lr : 0.02f;
  train.warmup = 4;
  train.batch_tokens = 50;
  train.accumulate = 2;
  train.steps = 21;
  train.every = 4;
  train.average = 2;
  train.ema = 0.4f;
  train.patience = 1;
  train.factor = 0.7f;
  train.seed = UINT64_C(0x8000000000000000); /* the hardest number for a signed one */
  return train;
}

/* Trains to `until`, from a checkpoint if `from` is given, and writes one. */
static void resume_part(int what, const char *from, long until, const char *to) {
  syn_config k = task_config(what);
  syn_train_config train = resume_config();
  bench b;
  syn_data *d, *valid;
  k.dropout = 0.2f;
  k.label_smoothing = 0.1f;
  k.seed = train.seed;
  if (!bench_make(&b, &k, &train)) return;
  d = task_data(what, &b.c, 45, 1);
  valid = task_data(what, &b.c, 10, 2);
  if (from) CHECK(syn_trainer_load(b.t, from) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_run(b.t, d, valid, stop_at, &until) == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_save(b.t, to) == SYN_OK, "%s", b.c.message);
  if (resume_lr > 0.0f && until == 1000) CHECK(b.t->state.factor < 1.0f, "plateau did not lower the rate");
  syn_data_free(d);
  syn_data_free(valid);
  bench_free(&b);
}

/* Stopped after any step, in the middle or at the end of an epoch, before or after a validation: the last
   checkpoint has the same bytes. */
static void resume_case(int what, int every) {
  size_t size, n;
  char *whole, *bytes;
  long step;
  resume_part(what, NULL, 1000, "whole.safetensors");
  whole = file_read("whole.safetensors", &size);
  CHECK(whole && size > 5000, "a checkpoint of %lu bytes", (unsigned long)size);
  for (step = CHECK_EMULATED ? 17 : 1; step < 21; step += every) {
    resume_part(what, NULL, step, "part.safetensors");
    resume_part(what, "part.safetensors", 1000, "rest.safetensors");
    bytes = file_read("rest.safetensors", &n);
    CHECK(bytes && n == size && !memcmp(bytes, whole, size),
          "task %d, %s, stopped after step %ld: other bytes", what,
          resume_rule ? resume_rule : "adam", step);
    free(bytes);
  }
  free(whole);
}

/* The other optimizers, with and without frozen tensors. */
static void test_resume_rules(void) {
  resume_rule = "sgd";
  resume_case(0, 5);
  resume_freeze = "src.embed|*.w_o";
  resume_case(0, 7);
  resume_rule = "muon";
  resume_case(0, 5);
  resume_rule = "adafactor";
  resume_case(0, 5);
  resume_freeze = NULL;
  resume_case(0, 5);
  CHECK(!rename("part.safetensors", "adafactor.safetensors"), "the disk");
  resume_rule = NULL;
  resume_lora = 3;
  resume_case(0, 7);
  CHECK(!rename("part.safetensors", "lora.safetensors"), "the disk");
  resume_lora = 0;
}

/* A rate that was lowered by `factor` stays so. */
static void test_resume_plateau(void) {
  resume_lr = 1.0f;
  resume_case(0, 6);
  resume_lr = 0.0f;
}

static void load_fails(bench *b, const char *path, syn_status status, const char *word) {
  uint64_t before = syn_hash(SYN_HASH_START, b->m->weights, b->m->floats * sizeof(float));
  CHECK(syn_trainer_load(b->t, path) == status && strstr(b->c.message, word), "wanted %s: %s", word,
        b->c.message);
  CHECK(syn_hash(SYN_HASH_START, b->m->weights, b->m->floats * sizeof(float)) == before && b->t->state.step == 0,
        "%s: a load that failed changed the trainer", b->c.message);
  syn_context_clear(&b->c);
}

/* A checkpoint in which one number of a tensor is not finite, or of the second moments below 0. Its
   checksum gets another name, as if an earlier version had written it. */
static const char *odd_from = "part.safetensors";
static void checkpoint_number(bench *b, const char *name, float number, const char *word) {
  size_t size, i;
  char *bytes = file_read(odd_from, &size);
  syn_file *f = syn_file_view(&b->c, bytes, size);
  const syn_entry *e = syn_file_find(f, name);
  FILE *out = fopen("odd.safetensors", "wb");
  CHECK(e, "%s is not there: %s", name, b->c.message);
  if (e) memcpy(bytes + ((const char *)e->data - bytes) + 8, &number, sizeof number);
  for (i = 0; i < size && memcmp(bytes + i, "train.checksum", 14); i++) continue;
  CHECK(i < size, "no checksum");
  if (i < size) bytes[i] = 'x';
  CHECK(out && fwrite(bytes, 1, size, out) == size, "the disk");
  if (out) fclose(out);
  syn_file_free(f);
  free(bytes);
  load_fails(b, "odd.safetensors", SYN_E_FORMAT, word);
}

/* A checkpoint of another training, a model file, damaged ones: an error, and nothing has changed. */
static void test_resume_errors(void) {
  syn_config k = config_of(0);
  syn_train_config train = resume_config();
  bench b;
  size_t size, cut;
  char *bytes;
  FILE *f;
  k.dropout = 0.2f;
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "nowhere.safetensors", SYN_E_FILE, "nowhere");
  CHECK(syn_model_save(&b.c, b.m, "model.safetensors") == SYN_OK, "%s", b.c.message);
  load_fails(&b, "model.safetensors", SYN_E_FORMAT, "cannot be resumed");
  checkpoint_number(&b, "out.b", NAN, "tensor out.b: number 2, at byte");
  checkpoint_number(&b, "optimizer.first", INFINITY, "tensor optimizer.first: number 2, at byte");
  checkpoint_number(&b, "optimizer.second", NAN, "tensor optimizer.second: number 2, at byte");
  checkpoint_number(&b, "optimizer.second", -1.0f, "not finite or below 0");
  checkpoint_number(&b, "optimizer.best", -INFINITY, "tensor optimizer.best: number 2, at byte");
  b.c.options.not_finite = 1; /* accepts weights, not moments */
  checkpoint_number(&b, "optimizer.first", NAN, "tensor optimizer.first: number 2, at byte");
  checkpoint_number(&b, "optimizer.second", INFINITY, "tensor optimizer.second: number 2, at byte");
  checkpoint_number(&b, "optimizer.second", -1.0f, "not finite or below 0");
  b.c.options.not_finite = 0;
  bytes = file_read("part.safetensors", &size);
  for (cut = 0; bytes && cut < size; cut += 1 + size / 40) {
    f = fopen("cut.safetensors", "wb");
    CHECK(f && fwrite(bytes, 1, cut, f) == cut, "the disk");
    if (f) fclose(f);
    load_fails(&b, "cut.safetensors", SYN_E_FORMAT, "cut.safetensors");
  }
  free(bytes);
  bench_free(&b);
  train.seed = 4;
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "part.safetensors", SYN_E_VALUE, "train.seed");
  bench_free(&b);
  train = resume_config();
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "adafactor.safetensors", SYN_E_VALUE, "train.optimizer is 'adafactor', this training has 'adam'");
  bench_free(&b);
  train.freeze = "src.embed";
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "part.safetensors", SYN_E_VALUE, "train.freeze is '', this training has 'src.embed'");
  bench_free(&b);
  train = resume_config();
  train.optimizer = "adafactor";
  train.beta1 = 0.9f;
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "adafactor.safetensors", SYN_E_FORMAT, "optimizer.first is missing");
  CHECK(syn_trainer_save(b.t, "first.safetensors") == SYN_OK, "%s", b.c.message);
  bench_free(&b);
  train.beta1 = 0.0f;
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "first.safetensors", SYN_E_FORMAT, "it has optimizer.first");
  bench_free(&b);
  train = resume_config();
  train.average = 1;
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "whole.safetensors", SYN_E_FORMAT, "train.kept is '2', wanted a whole number from 0 to 1");
  bench_free(&b);
  train = resume_config();
  train.lora = 3;
  if (!bench_make(&b, &k, &train)) return;
  odd_from = "lora.safetensors";
  checkpoint_number(&b, "optimizer.adapters", NAN, "tensor optimizer.adapters: number 2, at byte");
  checkpoint_number(&b, "optimizer.adapters", 4e16f, "tensor optimizer.adapters: number 2 is above 3e+16");
  checkpoint_number(&b, "optimizer.best", -4e16f, "tensor optimizer.best: number 2 is above 3e+16");
  checkpoint_number(&b, "optimizer.mean", 4e16f, "tensor optimizer.mean: number 2 is above 3e+16");
  checkpoint_number(&b, "optimizer.base", INFINITY, "tensor optimizer.base: number 2, at byte");
  checkpoint_number(&b, "optimizer.base", 3e38f, "tensor optimizer.base: number 2 is above 2.8e+38");
  odd_from = "part.safetensors";
  load_fails(&b, "part.safetensors", SYN_E_VALUE, "train.lora is '', this training has '3'");
  bench_free(&b);
  train.lora = 2;
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "lora.safetensors", SYN_E_VALUE, "train.lora is '3', this training has '2'");
  bench_free(&b);
  train = resume_config();
  k.decoder = "res_nd(mh_dot_att)";
  if (!bench_make(&b, &k, &train)) return;
  load_fails(&b, "part.safetensors", SYN_E_FORMAT, "decoder.0.0.g");
  CHECK(syn_trainer_load(NULL, "part.safetensors") != SYN_OK, "no trainer");
  CHECK(syn_trainer_save(NULL, "part.safetensors") != SYN_OK, "no trainer");
  bench_free(&b);
}

/* -- LoRA -- */

static const char *const lora_texts[][2] = { /* encoder, decoder: shared, recurrent, gated and folded matrices */
    {"pos -> res_nd(syn_att(R+V)) -> universal(2, res_nd(ffl(8, swiglu))) -> norm",
     "input_feed -> ff(16, tanh) -> rnn -> res_nd(mh_dot_att) -> norm"},
    {"pos -> cnn(16, 3) -> birnn -> res_nd(syn_att(D+CRC)) -> norm", "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att)"}};

/* The largest of dA and of dB of every adapted matrix, against the central difference of the loss, which is a sum of floats. */
static void lora_gradient(int which) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  syn_random r = {7};
  bench b;
  float loss;
  int i, side, tried = 0;
  size_t q;
  memset(&train, 0, sizeof train);
  k.encoder = lora_texts[which][0], k.decoder = lora_texts[which][1];
  train.batch_tokens = 40, train.lora = 2;
  if (!bench_make(&b, &k, &train)) return;
  for (i = 0; i < b.t->n_trained; i++)
    for (q = 0; q < b.t->trained[i].p->size; q++) b.t->trained[i].p->x[q] += 0.3f * syn_random_normal(&r);
  syn__lora_merge(b.t);
  CHECK(syn_trainer_backward(b.t, &batch, &loss) == SYN_OK, "%s", b.c.message);
  for (i = 0; i < b.t->n_trained; i++) {
    const syn_param *p = b.t->trained[i].p;
    const float *d = b.t->gradient + b.t->trained[i].offset;
    size_t at = 0;
    double sum[2] = {0, 0}, wanted;
    int64_t labels = 0;
    float x, given;
    for (q = 1; q < p->size; q++)
      if (fabsf(d[q]) > fabsf(d[at])) at = q;
    x = p->x[at], given = d[at];
    for (side = 0; side < 2; side++) {
      p->x[at] = x + (side ? 2e-3f : -2e-3f);
      syn__lora_merge(b.t);
      CHECK(syn_trainer_batch_loss(b.t, &batch, &sum[side], &labels) == SYN_OK, "%s", b.c.message);
    }
    p->x[at] = x;
    wanted = (sum[1] - sum[0]) / 4e-3 / (double)(labels / 2);
    CHECK(fabs(wanted - (double)given) < 2e-3 + 0.02 * fabs(wanted), "%s, tensor %d, number %lu: %g, wanted %g",
          p->name, i % 2, (unsigned long)at, (double)given, wanted);
    tried += fabs(wanted) > 0.02;
  }
  CHECK(tried >= b.t->n_trained / 2, "%d of %d gradients are not near 0", tried, b.t->n_trained);
  bench_free(&b);
}

/* The model of the first step is the one that was given; later it is W + B A, and all else but the output layer
   of classes has stayed. */
static void lora_case(int what) {
  syn_config k = task_config(what);
  syn_train_config train;
  syn_data *d;
  bench b;
  double loss[3];
  float *before;
  size_t q, i, j, l, moved = 0, kept = 0;
  memset(&train, 0, sizeof train);
  train.lora = 4, train.batch_tokens = 60, train.steps = 30, train.lr = 0.02f, train.clip = 1.0f;
  train.schedule = "constant", train.freeze = "*.w_o", train.every = 10, train.average = 2, train.ema = 0.3f;
  if (!bench_make(&b, &k, &train)) return;
  d = task_data(what, &b.c, 40, 1);
  before = (float *)malloc(b.m->floats * sizeof *before);
  memcpy(before, b.m->weights, b.m->floats * sizeof *before);
  CHECK(!syn_model_evaluate(&b.c, b.m, d, 60, &loss[0], NULL) && !syn_trainer_validate(b.t, d) &&
            !syn_trainer_evaluate(b.t, d, &loss[1], NULL) && loss[0] == loss[1],
        "loss %g, before any step %g: %s", loss[1], loss[0], b.c.message);
  CHECK(!memcmp(before, b.m->weights, b.m->floats * sizeof *before), "weights before the first step");
  CHECK(!syn_trainer_run(b.t, d, d, NULL, NULL) && syn_trainer_average(b.t) == 2 &&
            !syn_model_evaluate(&b.c, b.m, d, 60, &loss[2], NULL) && loss[2] < 0.9 * loss[0],
        "loss %g, before %g: %s", loss[2], loss[0], b.c.message);
  for (q = 0; q < syn_model_param_count(b.m); q++) {
    const syn_param *p = syn_model_param(b.m, q);
    const syn__adapter *w = &b.t->adapters[q];
    const size_t cols = p->size / (size_t)p->shape[0];
    int same = !memcmp(p->x, before + p->offset, p->size * sizeof(float));
    int head = what == CLASSES && !strncmp(p->name, "out.", 4);
    if (!w->base) {
      CHECK(same == !head, "%s", p->name);
      CHECK((syn_trainer_gradient(b.t, p) != NULL) == head, "gradient of %s", p->name);
      kept++;
      continue;
    }
    moved++;
    CHECK(p->matrix == 1 && !strstr(p->name, ".w_o") && !same && !syn_trainer_gradient(b.t, p), "%s", p->name);
    CHECK(!memcmp(w->base, before + p->offset, p->size * sizeof(float)), "the base of %s", p->name);
    for (i = 0; i < (size_t)p->shape[0]; i++)
      for (j = 0; j < cols; j++) {
        double sum = (double)w->base[i * cols + j];
        for (l = 0; l < 4; l++) sum += (double)w->b.x[i * 4 + l] * (double)w->a.x[l * cols + j];
        CHECK(fabs(sum - (double)p->x[i * cols + j]) < 1e-5, "%s [%lu,%lu]", p->name, (unsigned long)i,
              (unsigned long)j);
      }
  }
  CHECK(moved >= 3 && kept > 3, "%lu matrices, %lu others", (unsigned long)moved, (unsigned long)kept);
  free(before);
  syn_data_free(d);
  bench_free(&b);
}

/* Steps that could make B A infinite are refused; so are ranks out of range, and nothing to adapt. */
static void lora_errors(void) {
  static const struct {
    int rank;
    const char *freeze, *word;
  } wrong[] = {{-1, NULL, "lora -1: one is"}, {65537, NULL, "lora 65537"}, {2, "encoder.*|decoder.*", "layers alone"}};
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch batch = three(0, 3);
  uint64_t hash;
  bench b;
  float loss;
  int i;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  for (i = 0; i < 3; i++) {
    syn_context c;
    syn_model *m;
    train.lora = wrong[i].rank, train.freeze = wrong[i].freeze;
    syn_context_init(&c, NULL);
    m = syn_model_new(&c, &k);
    CHECK(m && !syn_trainer_new(&c, m, &train) && strstr(c.message, wrong[i].word), "%s", c.message);
    syn_model_free(m);
  }
  train.freeze = NULL, train.optimizer = "sgd", train.schedule = "constant", train.lr = 1e20f;
  if (!bench_make(&b, &k, &train)) return;
  hash = syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float));
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_E_VALUE && strstr(b.c.message, "weights could move by inf") &&
            b.t->state.diverged && hash == syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float)),
        "%s", b.c.message);
  bench_free(&b);
}

/* -- beginning from another model -- */

typedef struct news {
  char names[4][400]; /* not there, other shape, other tokens, no use */
} news;

static void hear(void *user, const syn_param *mine, const syn_param *theirs, int rows) {
  news *n = (news *)user;
  int same = mine && theirs && mine->size == theirs->size;
  char *out = n->names[!theirs ? 0 : !mine ? 3 : same || rows ? 2 : 1];
  size_t at = strlen(out);
  at += (size_t)snprintf(out + at, 400 - at, "%s ", mine ? mine->name : theirs->name);
  if (rows) snprintf(out + at, 400 - at, "%d/%d ", rows, mine->shape[0]);
}

static syn_tokenizer *letters(syn_context *c, const char *text) {
  syn_text line;
  line.at = text;
  line.size = strlen(text);
  return syn_tokenizer_learn(c, "char", 0, &line, 1);
}

/* Two models, of what and of which letters; what fits is taken, what does not is told by name. */
static void init_case(syn_config to, const char *to_letters, syn_config from, const char *from_letters, int taken,
                      const char *const names[4]) {
  syn_context c;
  syn_model *m, *f;
  const syn_param *p, *q;
  news n;
  int i, got;
  memset(&n, 0, sizeof n);
  syn_context_init(&c, NULL);
  from.seed = to.seed + 1;
  m = syn_model_new(&c, &to);
  f = syn_model_new(&c, &from);
  syn_model_set_tokenizers(m, letters(&c, to_letters), letters(&c, to_letters));
  syn_model_set_tokenizers(f, letters(&c, from_letters), letters(&c, from_letters));
  got = syn_model_init_from(m, f, SYN_OTHER_TASK, hear, &n);
  CHECK(got == taken, "%d are taken: %s", got, c.message);
  for (i = 0; i < 4; i++) CHECK(!strcmp(n.names[i], names[i]), "list %d is %s, wanted %s", i, n.names[i], names[i]);
  p = syn_model_find(m, "encoder.1.1.w_v");
  q = syn_model_find(f, "encoder.1.1.w_v");
  CHECK(p && q && !memcmp(p->x, q->x, p->size * sizeof(float)), "its weights are not those of the other");
  syn_model_free(m);
  syn_model_free(f);
}

/* A table of m, row by row: row i is row want[i] of q, or as it was in `old`, a model of the same
   seed, where want[i] is -1. */
static void init_rows(const syn_model *m, const syn_model *f, const syn_model *old, const char *name, const char *source,
                      const int *want, int n) {
  const syn_param *p = syn_model_find(m, name), *q = syn_model_find(f, source), *o = syn_model_find(old, name);
  size_t width = p->size / (size_t)p->shape[0];
  int i;
  CHECK(p->shape[0] == n, "%s has %d rows", name, p->shape[0]);
  for (i = 0; i < n; i++) {
    const float *x = want[i] < 0 ? o->x + (size_t)i * width : q->x + (size_t)want[i] * width;
    CHECK(!memcmp(p->x + (size_t)i * width, x, width * sizeof *x), "%s: row %d is not %d of %s", name, i, want[i], source);
  }
}

static syn_tokenizer *learned(syn_context *c, const char *spec, int flags, const char *text) {
  syn_text line[8];
  size_t n = 0, size;
  for (; *text; text += size + (text[size] != 0), n++) {
    size = strcspn(text, ";");
    line[n].at = text, line[n].size = size;
  }
  return syn_tokenizer_learn(c, spec, flags, line, n);
}

typedef struct init_side {
  const char *task, *tie, *spec, *src, *tgt;
  int flags;
} init_side;

/* A model with the tokenizers of the side; no text: without, of 9 tokens. */
static syn_model *init_model(syn_context *c, const init_side *s, uint64_t seed) {
  int classes = !strcmp(s->task, "classify") || !strcmp(s->task, "tag"), lm = !strcmp(s->task, "lm");
  syn_tokenizer *t[2] = {NULL, NULL};
  syn_config k;
  syn_model *m;
  memset(&k, 0, sizeof k);
  if (s->src && !lm) t[0] = learned(c, s->spec, s->flags, s->src);
  if (s->tgt) t[1] = !strcmp(s->tgt, "same") ? t[0] : learned(c, classes ? "line" : s->spec, s->flags, s->tgt);
  k.task = s->task, k.tie = s->tie, k.seed = seed, k.d_model = 8, k.max_len = 5;
  if (!lm) k.encoder = "pos -> ff(8)";
  if (lm) k.decoder = "pos -> ff(8)";
  else if (!classes) k.decoder = "pos -> res(mh_dot_att)";
  k.src_vocab = t[0] ? syn_tokenizer_size(t[0]) : 9;
  k.tgt_vocab = t[1] ? syn_tokenizer_size(t[1]) : 9;
  k.classes = t[1] ? syn_tokenizer_size(t[1]) - SYN_FIRST_TOKEN + !strcmp(s->task, "tag") : 3;
  m = syn_model_new(c, &k);
  CHECK(m, "%s", c->message);
  syn_model_set_tokenizers(m, t[0], t[1]);
  return m;
}

static char init_heard[400];

static void init_begin(syn_context *c, const init_side *to, const init_side *from, syn_model *m[3], const char *wanted) {
  news n;
  int i;
  memset(&n, 0, sizeof n);
  m[0] = init_model(c, to, 1), m[1] = init_model(c, from, 2), m[2] = init_model(c, to, 1);
  CHECK(syn_model_init_from(m[0], m[1], 0, hear, &n) >= 0, "%s", c->message);
  for (*init_heard = 0, i = 0; i < 4; i++) strcat(init_heard, n.names[i]);
  CHECK(!strcmp(init_heard, wanted), "reported: %s, wanted: %s", init_heard, wanted);
}
static void init_end(syn_model *m[3]) {
  int i;
  for (i = 0; i < 3; i++) syn_model_free(m[i]);
}

/* Rows of tokens and classes go by their texts. */
static void test_init_texts(void) {
  static const init_side
      pairs = {"seq2seq", "none", "char", "abcd", "wxyz", 0}, other = {"seq2seq", "none", "char", "cdeab", "zyw", 0},
      tied = {"seq2seq", "all", "char", "abcd", "same", 0}, tied_other = {"seq2seq", "all", "char", "bdf", "same", 0},
      half = {"seq2seq", "none", "char", "abcd", NULL, 0}, none = {"seq2seq", "none", "char", NULL, NULL, 0},
      topics = {"classify", NULL, "char", "abcd", "no;not yet;yes", 0},
      more = {"classify", NULL, "char", "abcd", "maybe;no;yes", 0},
      tags = {"tag", NULL, "char", "abcd", "DET;NOUN;VERB", 0}, fewer = {"tag", NULL, "char", "abcd", "NOUN;VERB", 0},
      words = {"lm", NULL, "space", NULL, "the cat;the dog", SYN_SENTINELS},
      lines = {"lm", NULL, "space", NULL, "a dog;a cat;<1>", SYN_SENTINELS};
  static const int ab[] = {0, 1, 2, 3, 4, 5, 6, 7}, w_yz[] = {0, 1, 2, 3, 4, -1, 5, 6};
  static const int bd[] = {0, 1, 2, 3, -1, 4, -1, 5}, yes[] = {1, -1, 2}, names[] = {0, -1, 1, 2};
  syn_context c;
  syn_model *m[3];
  const syn_tokenizer *t[2];
  int want[120], i, first[2];
  syn_context_init(&c, NULL);
  init_begin(&c, &pairs, &other, m, "tgt.embed 7/8 out.w 7/8 out.b 7/8 ");
  init_rows(m[0], m[1], m[2], "src.embed", "src.embed", ab, 8); /* a subset: all of them */
  init_rows(m[0], m[1], m[2], "tgt.embed", "tgt.embed", w_yz, 8);
  init_rows(m[0], m[1], m[2], "out.w", "out.w", w_yz, 8);
  init_rows(m[0], m[1], m[2], "out.b", "out.b", w_yz, 8);
  init_end(m);
  init_begin(&c, &tied, &tied_other, m, "tgt.embed 6/8 out.b 6/8 ");
  init_rows(m[0], m[1], m[2], "tgt.embed", "tgt.embed", bd, 8);
  init_end(m);
  init_begin(&c, &pairs, &tied_other, m, "src.embed 6/8 tgt.embed 4/8 out.w 4/8 out.b 4/8 ");
  init_rows(m[0], m[1], m[2], "src.embed", "tgt.embed", bd, 8);
  init_end(m);
  /* rows of the tied table would have to be the same for both sides */
  init_begin(&c, &tied, &other, m, "tgt.embed 4/8 out.b 4/8 src.embed out.w ");
  init_end(m);
  init_begin(&c, &half, &pairs, m, "tgt.embed out.w out.b "); /* 9 rows by number, 8 there */
  init_end(m);
  init_begin(&c, &half, &none, m, "src.embed "); /* 8 rows by number, 9 there; the target has 9 in both */
  init_end(m);
  init_begin(&c, &topics, &more, m, "out.w 2/3 out.b 2/3 ");
  init_rows(m[0], m[1], m[2], "out.w", "out.w", yes, 3);
  init_rows(m[0], m[1], m[2], "out.b", "out.b", yes, 3);
  init_end(m);
  init_begin(&c, &tags, &fewer, m, "out.w 3/4 out.b 3/4 ");
  init_rows(m[0], m[1], m[2], "out.w", "out.w", names, 4);
  init_end(m);
  init_begin(&c, &words, &lines, m, "tgt.embed 106/107 out.b 106/107 "); /* "the" has none; <1> is the sentinel's */
  for (i = 0; i < 2; i++) t[i] = syn_model_tokenizer(m[i], SYN_TGT), syn_tokenizer_sentinels(t[i], &first[i]);
  for (i = 0; i < syn_tokenizer_size(t[0]); i++) {
    syn_text piece = syn_tokenizer_piece(t[0], i, 1);
    want[i] = i < SYN_FIRST_TOKEN ? i : i >= first[0] ? i - first[0] + first[1] : -1;
    if (i < SYN_FIRST_TOKEN || i >= first[0] || piece.at[0] == 't') continue;
    syn_tokenizer_encode(t[1], piece, &want[i], 1);
  }
  init_rows(m[0], m[1], m[2], "tgt.embed", "tgt.embed", want, 107);
  init_end(m);
}

/* The target's tokenizer names the classes: it comes back with the model, and one of another size is refused. */
static void test_names(void) {
  static const char *const labels[] = {"no", "not yet", "yes", "\xC3\xA4"};
  int what, count, id, k;
  syn_text lines[5];
  for (k = 0; k < 4; k++) lines[k].at = labels[k], lines[k].size = strlen(labels[k]);
  for (what = CLASSES; what <= TAGS; what++)
    for (count = 2; count <= 4; count++) { /* of tag, class 0 has no name */
      syn_config config = task_config(what);
      int fits = count == N_CLASSES - (what == TAGS);
      char out[20];
      syn_context c;
      syn_model *m;
      syn_context_init(&c, NULL);
      m = syn_model_new(&c, &config);
      syn_model_set_tokenizers(m, NULL, syn_tokenizer_learn(&c, "line", 0, lines, (size_t)count));
      CHECK(syn_model_save(&c, m, "part.safetensors") == SYN_OK, "%s", c.message);
      syn_model_free(m);
      m = syn_model_load(&c, "part.safetensors");
      CHECK((m != NULL) == fits, "task %d, %d labels: %s", what, count, c.message);
      for (k = 0; m && k < count; k++) {
        id = 4 + k;
        syn_tokenizer_decode(syn_model_tokenizer(m, SYN_TGT), &id, 1, out, sizeof out);
        CHECK(!strcmp(out, labels[k]), "class %d is %s", k, out);
      }
      CHECK(m || strstr(c.message, "target tokenizer has"), "%s", c.message);
      syn_model_free(m);
    }
}

static void test_init(void) {
  static const char *const none[4] = {"", "", "", ""};
  static const char *const head[4] = {"", "out.w out.b ", "", ""};
  static const char *const both[4] = {"", "", "src.embed 13/14 tgt.embed 13/14 out.b 13/14 ", ""};
  static const char *const table[4] = {"", "encoder.1.1.r ", "", ""};
  static const char *const encoder[4] = {
      "out.w ", "out.b ", "",
      "tgt.embed decoder.1.0.g decoder.1.0.b decoder.1.1.w_v decoder.1.1.w_o decoder.1.1.w_q decoder.1.1.w_k "
      "decoder.2.0.g decoder.2.0.b decoder.2.1.w_v decoder.2.1.w_o decoder.2.1.w_q decoder.2.1.w_k decoder.3.g "
      "decoder.3.b "};
  syn_config a = task_config(PAIRS), b = a, classify = task_config(CLASSES), tied;
  syn_context c;
  syn_model *m, *f;
  int all;
  init_case(a, "abcdefghij", a, "abcdefghij", 27, none);
  init_case(a, "abcdefghij", a, "abcdefghik", 24, both);
  b.max_len = 9;
  init_case(a, "abcdefghij", b, "abcdefghij", 26, table);
  b = classify;
  b.classes = 6;
  init_case(classify, "abcdefghij", b, "abcdefghij", 11, head);
  init_case(classify, "abcdefghij", a, "abcdefghij", 11, encoder);
  classify.task = "tag";
  tied = a;
  tied.tie = "all";
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &a);
  f = syn_model_new(&c, &tied);
  all = (int)syn_model_param_count(m);
  CHECK(syn_model_init_from(m, f, 0, NULL, NULL) == all, "a tied table serves twice");
  CHECK(!memcmp(syn_model_find(m, "src.embed")->x, syn_model_find(f, "tgt.embed")->x, 14 * 16 * sizeof(float)),
        "another table");
  syn_model_free(f);
  f = syn_model_new(&c, &classify);
  CHECK(syn_model_init_from(m, f, 0, NULL, NULL) == -1 && c.status == SYN_E_VALUE && strstr(c.message, "tag") &&
        strstr(c.message, "seq2seq"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_model_init_from(NULL, f, 0, NULL, NULL) == -1 && syn_model_init_from(m, NULL, 0, NULL, NULL) == -1,
        "no model");
  syn_context_clear(&c);
  CHECK(syn_model_save(&c, m, "part.safetensors") == SYN_OK, "%s", c.message);
  syn_model_free(f);
  f = syn_model_load(&c, "part.safetensors"); /* its weights lie in the file */
  CHECK(syn_model_init_from(f, m, 0, NULL, NULL) == all && f->weights, "%s", c.message);
  syn_model_free(f);
  syn_model_free(m);
}

/* -- several processes, here several trainers, which train one network together -- */

enum { RANKS = 4 };
typedef struct rank_bench {
  bench b;
  syn_data *d, *valid;
  syn_gradient g;
} rank_bench;

/* The gradients added up in the order of the ranks, in that of rank 0. */
static void ranks_sum(rank_bench *all, int ranks) {
  size_t i;
  int r;
  for (r = 1; r < ranks; r++) {
    for (i = 0; i < all->g.size; i++) all->g.x[i] += all[r].g.x[i];
    all->g.loss += all[r].g.loss;
    all->g.labels += all[r].g.labels;
  }
}

/* One update of all ranks: batch i is of rank i % ranks; rank 0 adds to the sum so far. */
static void ranks_step(rank_bench *all, int ranks) {
  const syn_gradient none = {NULL, 0, 0.0, 0};
  const syn_train_config *k = syn_trainer_config(all->b.t);
  syn_batch b;
  int i, r;
  all->g = none;
  for (i = 0; i < k->accumulate; i++) {
    for (r = 0; r < ranks; r++) {
      syn_trainer *t = all[r].b.t;
      CHECK(syn_trainer_next(t, all[r].d, i % ranks == r ? &b : NULL) == SYN_OK, "%s", all[r].b.c.message);
      if (i % ranks != r) continue;
      if (r) all[r].g = none;
      CHECK(syn_trainer_accumulate(t, &b, i, &all[r].g) == SYN_OK, "%s", all[r].b.c.message);
    }
    if (i % ranks == ranks - 1) ranks_sum(all, ranks);
  }
  for (r = 0; r < ranks; r++) {
    float *x = all[r].g.x;
    if (r) memcpy(x, all->g.x, all->g.size * sizeof *x), all[r].g = all->g, all[r].g.x = x;
  }
  for (r = 0; r < ranks; r++) {
    CHECK(syn_trainer_update(all[r].b.t, &all[r].g, NULL) == SYN_OK, "%s", all[r].b.c.message);
    if (syn_trainer_state(all[r].b.t)->step % k->every == 0)
      CHECK(syn_trainer_validate(all[r].b.t, all[r].valid) == SYN_OK, "%s", all[r].b.c.message);
  }
}

static const syn_config *rank_network; /* instead of the one of the task */
static void rank_begin(rank_bench *r, int what, const syn_train_config *train, const char *from) {
  syn_config k = rank_network ? *rank_network : task_config(what);
  k.dropout = 0.2f;
  k.label_smoothing = 0.1f;
  k.seed = train->seed;
  memset(r, 0, sizeof *r);
  if (!bench_make(&r->b, &k, train)) return;
  r->d = task_data(what, &r->b.c, 45, 1);
  r->valid = task_data(what, &r->b.c, 10, 2);
  if (from) CHECK(syn_trainer_load(r->b.t, from) == SYN_OK, "%s", r->b.c.message);
}
static void rank_end(rank_bench *r) {
  syn_data_free(r->d);
  syn_data_free(r->valid);
  bench_free(&r->b);
}

static void same_files(const char *a, const char *b, const char *what) {
  size_t n[2];
  char *x = file_read(a, &n[0]), *y = file_read(b, &n[1]);
  CHECK(x && y && n[0] == n[1] && !memcmp(x, y, n[0]), "%s: %s and %s differ", what, a, b);
  free(x);
  free(y);
}

/* Trains from the checkpoint `from` to step `until` with so many ranks, 0: by syn_trainer_run; every
   rank ends with the same checkpoint. */
static void rank_part(int what, int ranks, int accumulate, const char *from, long until, const char *to) {
  syn_train_config train = resume_config();
  rank_bench all[RANKS];
  int rank, count = ranks ? ranks : 1;
  train.accumulate = accumulate;
  train.clip = 0.5f;
  for (rank = 0; rank < count; rank++) rank_begin(&all[rank], what, &train, from);
  while (ranks && all->b.t->state.step < until) ranks_step(all, ranks);
  if (!ranks)
    CHECK(syn_trainer_run(all->b.t, all->d, all->valid, stop_at, &until) == SYN_OK, "%s", all->b.c.message);
  for (rank = 0; rank < count; rank++) {
    const char *name = rank ? "rank.safetensors" : to;
    CHECK(syn_trainer_save(all[rank].b.t, name) == SYN_OK, "%s", all[rank].b.c.message);
    if (rank) same_files(name, to, "two ranks");
    rank_end(&all[rank]);
  }
}

/* N ranks have the bits of one process with as many batches a step. */
static void rank_case(int what, int ranks, int accumulate) {
  char name[60];
  sprintf(name, "task %d, %d ranks, accumulate %d", what, ranks, accumulate);
  rank_part(what, 0, accumulate, NULL, 8, "whole.safetensors");
  rank_part(what, ranks, accumulate, NULL, 8, "ranks.safetensors");
  same_files("whole.safetensors", "ranks.safetensors", name);
}

/* Networks that add to one gradient at nodes far apart. */
static void test_rank_networks(void) {
  static const char *const decoders[] = {
      "input_feed -> rnn(cell=lstm) -> mh_dot_att -> norm",
      "pos -> universal(3, res_nd(syn_att(V)) -> res_nd(mh_dot_att)) -> norm"};
  syn_config k = config_of(0);
  size_t i;
  rank_network = &k;
  for (i = 0; i < sizeof decoders / sizeof *decoders; i++) {
    k.decoder = decoders[i];
    k.tie = i ? "all" : NULL;
    rank_case(PAIRS, 2, i ? 2 : 4);
  }
  rank_network = NULL;
}

static void test_ranks(void) {
  int what;
  for (what = 0; what < WHATS; what++) rank_case(what, 2, 2);
  rank_case(PAIRS, 1, 1);
  rank_case(PAIRS, 1, 3);
  rank_case(PAIRS, 3, 3);
  rank_case(TEXT, 2, 4);
  resume_rule = "adafactor";
  resume_freeze = "src.embed|*.w_o";
  rank_case(PAIRS, 2, 2);
  resume_rule = resume_freeze = NULL;
  test_rank_networks();
  rank_part(PAIRS, 0, 4, NULL, 9, "whole.safetensors"); /* resumed with other numbers of ranks */
  rank_part(PAIRS, 2, 4, NULL, 4, "part.safetensors");
  rank_part(PAIRS, 0, 4, "part.safetensors", 6, "ranks.safetensors");
  rank_part(PAIRS, 4, 4, "ranks.safetensors", 9, "part.safetensors");
  same_files("whole.safetensors", "part.safetensors", "resumed with other numbers of ranks");
}

/* A second array of gradients, where an update has several batches. */
static void test_accumulate_plan(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_plan plan[4];
  syn_context c;
  syn_model *m;
  size_t bytes;
  int i;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  bytes = (m->trained * sizeof(float) + 63) / 64 * 64;
  memset(&train, 0, sizeof train);
  for (i = 0; i < 4; i++) {
    train.accumulate = i;
    CHECK(syn_plan_of(&c, &k, &train, NULL, &plan[i]) == SYN_OK, "%s", c.message);
  }
  CHECK(plan[1].training == plan[0].training && plan[2].training == plan[0].training + bytes &&
            plan[3].training == plan[2].training,
        "%lu, %lu, %lu, %lu bytes", (unsigned long)plan[0].training, (unsigned long)plan[1].training,
        (unsigned long)plan[2].training, (unsigned long)plan[3].training);
  syn_model_free(m);
}

static void refused_gradient(bench *b, syn_status s, const char *word) {
  CHECK(s == SYN_E_VALUE && b->t->state.step == 0 && strstr(b->c.message, word), "%s: %s", word, b->c.message);
  syn_context_clear(&b->c);
}

/* The parts of a step by themselves: what is refused, and what a refusal leaves as it was. */
static void test_gradient_errors(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_batch batch[2];
  syn_gradient g = {NULL, 0, 0.0, 0}, other, old;
  syn_data *d;
  bench b;
  uint64_t before;
  float loss = 1.0f, same, first;
  memset(&train, 0, sizeof train);
  batch[0] = three(0, 2);
  batch[1] = three(2, 1);
  train.batch_tokens = 40, train.accumulate = 2;
  if (!bench_make(&b, &k, &train)) return;
  before = syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float));
  refused_gradient(&b, syn_trainer_update(b.t, &g, &loss), "wanted that of the last");
  CHECK(loss == 0.0f, "loss %g", (double)loss);
  refused_gradient(&b, syn_trainer_update(b.t, NULL, &loss), "no gradient was given");
  refused_gradient(&b, syn_trainer_accumulate(b.t, NULL, 0, &g), "no batch was given");
  refused_gradient(&b, syn_trainer_accumulate(b.t, batch, 0, NULL), "no gradient was given");
  refused_gradient(&b, syn_trainer_accumulate(b.t, batch, -1, &g), "batch -1 of a step, wanted 0 to 1");
  refused_gradient(&b, syn_trainer_accumulate(b.t, batch, 2, &g), "batch 2 of a step, wanted 0 to 1");
  CHECK(syn_trainer_accumulate(NULL, batch, 0, &g) && syn_trainer_update(NULL, &g, &loss) &&
            syn_trainer_next(NULL, NULL, batch) && !g.x, "no trainer");
  CHECK(syn_trainer_accumulate(b.t, batch, 0, &g) == SYN_OK && g.x && g.labels > 0, "%s", b.c.message);
  old = g;
  first = g.x[0];
  other = g, other.x++;
  refused_gradient(&b, syn_trainer_accumulate(b.t, batch, 1, &other), "or a zeroed one");
  other = g, other.labels = -1;
  refused_gradient(&b, syn_trainer_update(b.t, &other, &loss), "-1 labels");
  other = g, other.labels = INT64_MAX;
  refused_gradient(&b, syn_trainer_update(b.t, &other, &loss), "labels");
  other = g, other.labels = 0;
  refused_gradient(&b, syn_trainer_update(b.t, &other, &loss), "without a label");
  batch[1].labels = NULL; /* a batch that is refused leaves the sum as it was */
  refused_gradient(&b, syn_trainer_accumulate(b.t, &batch[1], 1, &g), "no labels");
  CHECK(!memcmp(&g, &old, sizeof g) && g.x[0] == first, "a refused batch has changed the gradient");
  batch[1] = three(2, 1);
  g.x[0] = (float)NAN;
  refused_gradient(&b, syn_trainer_update(b.t, &g, &loss), "the weights stay as they were");
  CHECK(b.t->state.diverged && before == syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float)),
        "a refused update has moved weights");
  batch[1].labels = NULL; /* a step that fails has changed the gradient, which is no sum then */
  refused_gradient(&b, syn_trainer_step(b.t, batch, 2, &loss), "no labels");
  refused_gradient(&b, syn_trainer_update(b.t, &g, &loss), "wanted that of the last");
  batch[1] = three(2, 1);
  memset(&g, 0, sizeof g);
  CHECK(!syn_trainer_accumulate(b.t, batch, 0, &g) && !syn_trainer_accumulate(b.t, &batch[1], 1, &g) &&
            !syn_trainer_update(b.t, &g, &loss) && b.t->state.tokens == g.labels, "%s", b.c.message);
  bench_free(&b);
  if (!bench_make(&b, &k, &train)) return; /* the same step in one call */
  CHECK(!syn_trainer_step(b.t, batch, 2, &same) && same == loss, "loss %g, not %g", (double)loss, (double)same);
  b.t->state.step = 0;
  refused_gradient(&b, syn_trainer_next(b.t, NULL, batch), "no data was given");
  d = syn_data_new(&b.c);
  refused_gradient(&b, syn_trainer_next(b.t, d, batch), "there is no data");
  syn_data_free(d);
  bench_free(&b);
  memset(&train, 0, sizeof train);
  k = task_config(CLASSES);
  if (!bench_make(&b, &k, &train)) return;
  d = task_data(PAIRS, &b.c, 20, 1); /* rows of another task are refused before they are used */
  refused_gradient(&b, syn_trainer_next(b.t, d, batch), "wanted 0 to 3");
  CHECK(b.t->state.batch == 1, "a refused batch comes again and again");
  syn_data_free(d);
  bench_free(&b);
}

/* -- errors -- */

/* Every word of every configuration, misspelled: the first call that takes it refuses it and names the
   nearest right word. */
static void refused_word(syn_context *c, const char *field, int refused, const char *nearest) {
  CHECK(refused && c->status && strstr(c->message, nearest), "%s: %s, wanted %s", field, c->message, nearest);
  syn_context_clear(c);
}
static void test_words(void) {
  static const syn_text line = {"a b", 3};
  const syn_config k = config_of(0);
  syn_options options;
  syn_config net;
  syn_train_config how;
  syn_decode_config out;
  syn_learn_config lesson;
  syn_plan plan;
  syn_context c;
  syn_model *m;
  memset(&options, 0, sizeof options);
  memset(&how, 0, sizeof how);
  memset(&out, 0, sizeof out);
  memset(&lesson, 0, sizeof lesson);
  options.isa = "scaler";
  refused_word(&c, "isa", syn_context_init(&c, &options) != SYN_OK, "'scalar'");
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
#define NET(field, value, nearest) \
  net = k, net.field = value, refused_word(&c, #field, !syn_model_new(&c, &net), nearest), \
  refused_word(&c, #field, syn_plan_of(&c, &net, NULL, NULL, &plan) != SYN_OK, nearest)
  NET(task, "clasify", "'classify'");
  NET(tie, "al", "'all'");
  NET(encoder, "poss", "'pos'");
  NET(encoder, "ff(act=rellu)", "'relu'");
  NET(encoder, "rnn(cell=lsmt)", "'lstm'");
  NET(decoder, "nomr", "'norm'");
#define HOW(field, value, nearest) \
  how.field = value, refused_word(&c, #field, !syn_trainer_new(&c, m, &how), nearest), how.field = NULL
  HOW(optimizer, "adan", "'adam'");
  HOW(optimizer, "moun", "'muon'");
  HOW(schedule, "cosin", "'cosine'");
  HOW(schedule, "constnat", "'constant'");
  HOW(freeze, "src.embd", "src.embed");
  out.type = "i9";
  refused_word(&c, "type", !syn_decoder_new(&c, m, &out), "'i8'");
  refused_word(&c, "type", syn_plan_of(&c, &k, NULL, &out, &plan) != SYN_OK, "'i8'");
  lesson.task = "tga", lesson.minutes = 1.0;
  refused_word(&c, "task", !syn_learn(&c, &lesson, &line, &line, 1), "'tag'");
  refused_word(&c, "spec", !syn_tokenizer_learn(&c, "spase", 0, &line, 1), "'space'");
  refused_word(&c, "spec", !syn_tokenizer_learn(&c, "bpr:100", 0, &line, 1), "'bpe:SIZE'");
  refused_word(&c, "type", syn_model_save_as(&c, m, "bf61", "word.safetensors") != SYN_OK, "'bf16'");
  syn_model_free(m);
}

static void bad_config(const char *what, syn_train_config train, const char *word) {
  syn_config k = config_of(1);
  syn_context c;
  syn_model *m;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(!syn_trainer_new(&c, m, &train) && c.status == SYN_E_VALUE && strstr(c.message, word), "%s: %s", what,
        c.message);
  syn_model_free(m);
}

/* Defaults, the largest values, and the bounds of an update. */
static void test_resolved(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  const syn_train_config *got;
  double wanted;
  syn__step s;
  bench b;
  memset(&train, 0, sizeof train);
  train.average = 1000, train.accumulate = 10000, train.batch_tokens = 40, train.eps = 4.0f, train.clip = 2.0f;
  if (!bench_make(&b, &k, &train)) return;
  got = syn_trainer_config(b.t);
  CHECK(got->patience == 3 && got->factor == 0.5f && got->steps == 1000 && !strcmp(got->schedule, "rsqrt") && got->average == 1000, "%d, %ld",
        got->patience, (long)got->steps);
  s = syn__step_of(b.t, 5.0, 7.0); /* clipped to 2, then the mean of 7 labels */
  wanted = 1.1 * (2.0 / 5.0 / 7.0) * (5.0 * 7.0);
  CHECK(fabs(s.max_gradient - wanted) < 1e-6, "a bound of %g, not %g", s.max_gradient, wanted);
  wanted = (double)s.rate * 0.1 / 0.1 * s.max_gradient; /* the first step of Adam: an eps above 1 counts as 1 */
  CHECK(fabs(syn__adam_prepare(&s) / wanted - 1.0) < 1e-5, "a bound of %g, not %g", syn__adam_prepare(&s), wanted);
  bench_free(&b);
}

/* Callbacks that use what has called them. `report` may all but run and free; `cancel` nothing. */
typedef struct inside {
  syn_context *c;
  syn_model *m;
  syn_trainer *t;
  syn_data *data;
  int cancels, reports, refused, wanted, in_report;
} inside;

static void inside_refused(inside *k) {
  k->wanted++;
  k->refused += k->c->status == SYN_E_VALUE && strstr(k->c->message, "a callback called back") != NULL;
  syn_context_clear(k->c);
}
static void inside_stays(inside *k) { /* what both must not do */
  static const int row[] = {4, 5};
  CHECK(syn_trainer_run(k->t, k->data, NULL, NULL, NULL) == SYN_E_VALUE, "a run inside a run");
  inside_refused(k);
  CHECK(syn_data_add(k->data, row, 2, row, 2) == SYN_E_VALUE, "a row in between");
  inside_refused(k);
  syn_data_free(k->data);
  inside_refused(k);
  syn_trainer_free(k->t);
  inside_refused(k);
  syn_model_free(k->m);
  inside_refused(k);
}
static int inside_cancel(void *user) {
  inside *k = (inside *)user;
  syn_batch batch = three(0, 3);
  double loss;
  if (k->in_report || k->cancels++ > 3) return 0;
  inside_stays(k);
  CHECK(syn_trainer_step(k->t, &batch, 1, NULL) == SYN_E_VALUE, "a step inside a step");
  inside_refused(k);
  CHECK(syn_trainer_validate(k->t, k->data) == SYN_E_VALUE, "a validation inside a step");
  inside_refused(k);
  CHECK(syn_trainer_evaluate(k->t, k->data, &loss, NULL) == SYN_E_VALUE && syn_trainer_average(k->t) == 0, "an evaluation");
  inside_refused(k);
  CHECK(syn_trainer_save(k->t, "inside.safetensors") == SYN_E_VALUE, "a checkpoint inside a step");
  inside_refused(k);
  return 0;
}
static int inside_report(void *user, const syn_trainer *t, float loss, int validated) {
  inside *k = (inside *)user;
  long steps = syn_trainer_state(t)->step;
  syn_batch batch = three(0, 3);
  double mean;
  int64_t labels;
  (void)loss, (void)validated;
  k->reports++, k->in_report = 1;
  inside_stays(k);
  CHECK(!syn_trainer_evaluate(k->t, k->data, &mean, &labels) && labels && !syn_trainer_save(t, "inside.safetensors") &&
            !syn_trainer_validate(k->t, k->data) && !syn_trainer_step(k->t, &batch, 1, NULL) &&
            syn_trainer_state(t)->step == steps + 1, "%s", k->c->message);
  k->in_report = 0;
  return 0;
}
static void test_inside(void) {
  syn_config config = config_of(0);
  syn_train_config train;
  syn_context c;
  syn_options o;
  inside k;
  memset(&train, 0, sizeof train);
  memset(&o, 0, sizeof o);
  memset(&k, 0, sizeof k);
  o.cancel = inside_cancel, o.cancel_user = &k;
  train.steps = 6, train.batch_tokens = 64, train.every = 2, train.ema = 0.1f;
  syn_context_init(&c, &o);
  k.c = &c, k.m = syn_model_new(&c, &config), k.t = syn_trainer_new(&c, k.m, &train), k.data = copies(&c, 30, 4, 0);
  CHECK(!syn_trainer_run(k.t, k.data, k.data, inside_report, &k), "%s", c.message);
  CHECK(k.reports == 3 && syn_trainer_state(k.t)->step == 6, "%d reports of 3: each makes a step, too", k.reports);
  CHECK(k.wanted > 30 && k.refused == k.wanted, "%d of %d calls are refused", k.refused, k.wanted);
  syn_trainer_free(k.t), syn_data_free(k.data), syn_model_free(k.m);
  CHECK(!c.status, "%s", c.message);
}

/* Every float of the configuration at the ends of its range, for each optimizer: refused with its
   name and value, or three steps that leave finite weights; a step that is refused leaves those
   that were there. */
static void test_ends(void) {
  static const char *const optimizers[] = {"adam", "adamw", "adafactor", "sgd", "muon"};
  static const char *const names[] = {"lr", "beta1", "beta2", "eps", "clip", "weight_decay", "ema"};
  const float values[] = {(float)NAN, (float)INFINITY, -(float)INFINITY, -FLT_MAX, -1.0f, -1e-45f, 1e-45f, FLT_MIN,
                          1e-30f, 0.99999994f, 1.0f, 1.0000001f, 1e30f, FLT_MAX};
  syn_config k = config_of(0);
  syn_batch batch = three(0, 3);
  size_t o, f, v, i, n;
  int taken = 0, refused = 0, step;
  for (o = 0; o < 5; o++)
    for (f = 0; f < 7; f++)
      for (v = 0; v < sizeof values / sizeof *values; v++) {
        syn_train_config t;
        syn_context c;
        syn_model *m;
        syn_trainer *trainer;
        float *field[7], loss;
        char wanted[60];
        memset(&t, 0, sizeof t);
        field[0] = &t.lr, field[1] = &t.beta1, field[2] = &t.beta2, field[3] = &t.eps, field[4] = &t.clip;
        field[5] = &t.weight_decay, field[6] = &t.ema;
        *field[f] = values[v];
        t.optimizer = optimizers[o], t.batch_tokens = 40, t.schedule = "constant";
        syn_context_init(&c, NULL);
        m = syn_model_new(&c, &k);
        trainer = syn_trainer_new(&c, m, &t);
        if (!trainer) {
          refused++;
          snprintf(wanted, sizeof wanted, "%s %g", names[f], (double)values[v]);
          CHECK(c.status == SYN_E_VALUE && strstr(c.message, wanted), "%s %s %g: %s", optimizers[o], names[f],
                (double)values[v], c.message);
        }
        for (step = 0; trainer && step < 3; step++)
          if (!syn_trainer_step(trainer, &batch, 1, &loss)) taken++;
          else {
            CHECK(c.status == SYN_E_VALUE && syn_trainer_state(trainer)->diverged, "%s", c.message);
            syn_context_clear(&c);
          }
        syn_trainer_average(trainer);
        for (i = 0; i < syn_model_param_count(m); i++)
          for (n = 0; n < syn_model_param(m, i)->size; n++)
            if (!(fabsf(syn_model_param(m, i)->x[n]) <= FLT_MAX)) {
              CHECK(0, "%s, %s %g: %s is not finite", optimizers[o], names[f], (double)values[v], syn_model_param(m, i)->name);
              n = syn_model_param(m, i)->size;
            }
        syn_trainer_free(trainer);
        syn_model_free(m);
      }
  CHECK(taken > 300 && refused > 150, "%d steps, %d refused configurations", taken, refused);
}

static void test_errors(void) {
  syn_train_config none, t;
  syn_config k = config_of(0);
  syn_batch batch = three(0, 3);
  static const int nothing[12] = {0};
  bench b;
  float loss = 5;
  memset(&none, 0, sizeof none);
#define BAD(field, value, word) t = none, t.field = value, bad_config(#field, t, word)
  BAD(optimizer, "lamb", "lamb");
  BAD(schedule, "step", "step");
  BAD(schedule, "cosin", "schedule is 'cosin', wanted noam, rsqrt");
  BAD(schedule, "cosin", "did you mean 'cosine'?");
  BAD(optimizer, "AdamV", "optimizer is 'AdamV', wanted adam, adamw, adafactor, sgd or muon");
  BAD(optimizer, "AdamV", "did you mean 'adam'?");
  BAD(optimizer, "adafaktor", "did you mean 'adafactor'?");
  BAD(average, -1, "average -1");
  BAD(average, 1001, "average 1001");
  BAD(ema, -0.1f, "ema -0.1");
  BAD(ema, 1.01f, "ema 1.01, factor 0.5: one is out of range");
  BAD(ema, (float)NAN, "ema ");
  BAD(accumulate, -2, "accumulate -2");
  BAD(accumulate, 10001, "accumulate 10001");
  BAD(batch_tokens, SYN__DATA_LENGTH + 1, "batch_tokens");
  BAD(batch_tokens, 1, "batch_tokens 1");
  BAD(batch_tokens, -5, "batch_tokens -5");
  BAD(steps, -1, "steps -1");
  BAD(warmup, -1, "warmup -1");
  BAD(every, -1, "every -1");
  BAD(patience, -1, "patience -1");
  BAD(factor, -0.1f, "factor -0.1: one is out of range");
  BAD(factor, 1.0f, "factor 1: one is out of range");
  BAD(factor, (float)NAN, "factor ");
  BAD(stop_after, -1, "stop_after -1");
  BAD(halve, 2, "halve 2: wanted 0 or more, halve 0 or 1");
  BAD(length, -1, "length -1");
  BAD(lr, -0.1f, "lr -0.1");
  BAD(lr, NAN, "nan");
  BAD(beta1, 1.0f, "beta1 1");
  BAD(beta2, -0.5f, "beta2 -0.5");
  BAD(eps, -1.0f, "eps -1");
  BAD(clip, -1.0f, "clip -1");
  BAD(weight_decay, -1.0f, "weight_decay -1");
  BAD(beta1, NAN, "nan, beta2");
  none.optimizer = "sgd"; /* what a rule has not must not be given */
  BAD(beta2, 0.9f, "sgd has no beta2");
  BAD(eps, 0.1f, "sgd has no eps");
  none.optimizer = "adafactor";
  BAD(eps, 0.1f, "adafactor has no eps");
  none.optimizer = "adam";
  BAD(eps, 1e-39f, "eps 1e-39, clip 0"); /* 0 on a machine that flushes denormals */
  BAD(eps, NAN, "nan, clip");
  BAD(lr, -0.1f, "lr -0.1");
  none.optimizer = NULL;
#undef BAD
  none.batch_tokens = 40;
  if (!bench_make(&b, &k, &none)) return;
  batch.labels = nothing;
  CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_E_VALUE && strstr(b.c.message, "without a label"), "%s",
        b.c.message);
  CHECK(loss == 0.0f && b.t->state.step == 0, "loss %g", (double)loss);
  syn_context_clear(&b.c);
  batch = three(0, 3);
  {
    int open_src[12];
    memcpy(open_src, batch.src, sizeof open_src);
    open_src[5] = 9; /* the end of sentence 1 */
    batch.src = open_src;
    CHECK(syn_trainer_step(b.t, &batch, 1, &loss) == SYN_E_VALUE &&
              strstr(b.c.message, "source sentence 1 ends in token 9, wanted 3"), "%s", b.c.message);
    CHECK(b.t->state.step == 0, "a step was taken");
    syn_context_clear(&b.c);
    batch = three(0, 3);
  }
  batch.labels = NULL;
  CHECK(syn_trainer_backward(b.t, &batch, &loss) == SYN_E_VALUE && loss == 0.0f, "%s", b.c.message);
  syn_context_clear(&b.c);
  CHECK(syn_trainer_step(b.t, &batch, 0, &loss) == SYN_E_VALUE, "no batches");
  syn_context_clear(&b.c);
  CHECK(syn_trainer_step(b.t, NULL, 1, &loss) == SYN_E_VALUE, "no batch");
  syn_context_clear(&b.c);
  CHECK(syn_trainer_step(NULL, &batch, 1, &loss) == SYN_E_VALUE && b.c.status == SYN_OK, "no trainer");
  bench_free(&b);
}

/* An error of data that another context made reaches the caller. */
static void test_two_contexts(void) {
  syn_config k = config_of(0);
  syn_train_config train;
  syn_context other;
  bench b;
  syn_data *d, *empty;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  train.every = 1;
  train.steps = 3;
  if (!bench_make(&b, &k, &train)) return;
  syn_context_init(&other, NULL);
  empty = syn_data_new(&other);
  d = copies(&b.c, 10, 1, 0);
  CHECK(syn_trainer_run(b.t, empty, NULL, NULL, NULL) == SYN_E_VALUE && b.c.status == SYN_OK, "%s", b.c.message);
  CHECK(syn_trainer_run(b.t, d, empty, NULL, NULL) == SYN_E_VALUE && other.status == SYN_E_VALUE, "%s",
        other.message);
  syn_data_free(d);
  syn_data_free(empty);
  bench_free(&b);
}

int main(void) {
  int what;
  if (!CHECK_EMULATED) { /* hundreds of steps each: what a processor may change in them, test_bits trains there */
    test_learns();
    test_rules_learn();
    test_halve();
    test_loss_blocks();
    test_mask_training();
  }
  test_schedules();
  test_adam();
  test_rules();
  test_rules_machines();
  test_freeze();
  test_saved_later();
  test_moments();
  test_full();
  test_diverged();
  test_halve_bound();
  test_absurd();
  test_large();
  test_rate_of_nothing();
  test_accumulate();
  test_loss();
  test_unlabelled();
  test_resolved();
  test_batches();
  test_long_rows();
  test_empty_rows();
  for (what = CLASSES; what <= TAGS; what++) {
    task_batches(what);
    if (!CHECK_EMULATED) task_learns(what);
  }
  task_errors();
  test_corrupt();
  test_corrupt_even();
  test_mask();
  test_corrupt_data();
  test_windows();
  test_evaluate();
  test_stop();
  average_case(1);
  average_case(0);
  test_moving();
  test_resume_rules();
  test_resume_plateau();
  for (what = WHATS - 1; what >= 0; what--) /* the next one reads the last files */
    resume_case(what, CHECK_QUICK || what ? 4 : 1);
  test_resume_errors();
  lora_gradient(0);
  lora_gradient(1);
  lora_case(PAIRS);
  lora_case(CLASSES);
  lora_errors();
  test_ranks();
  test_accumulate_plan();
  test_gradient_errors();
  test_words();
  test_names();
  test_init();
  test_init_texts();
  test_ends();
  test_inside();
  test_errors();
  test_two_contexts();
  return CHECK_END("train");
}
