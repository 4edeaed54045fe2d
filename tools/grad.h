/* grad.h   the command grad: gradient check of any network.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* Compares gradients with the central difference of fourth order of the loss f,
     (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
   Its error is h^4 f'''''/30 by truncation, and 1.5 d/h by rounding, where d is the noise of f in
   float32, which grad_noise measures. A kink of relu within the step makes one difference wrong, so
   an element passes if one of several steps h agrees, and a failure is repeated at four points. A
   wrong gradient fails at all of them. */

#define GRAD_SENTENCES 4
#define GRAD_ELEMENTS 20
#define GRAD_POINTS 4
#define GRAD_TOLERANCE 1e-3 /* times the largest gradient, beside the rounding error */

static const double grad_steps[] = {0.03, 0.01, 0.003, 0.001, 0.0003};

typedef struct gradients {
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_batch batch;
  int *ints, lengths[GRAD_SENTENCES]; /* of features */
  float *numbers;      /* features, then targets; or null */
  syn_random random;
  double noise;        /* d, of the loss */
  double worst;        /* relative error */
  int failed, checked;
} gradients;

/* Mean loss per label. */
static double grad_loss(gradients *g) {
  double sum = 0.0;
  int64_t labels = 0;
  syn_trainer_batch_loss(g->t, &g->batch, &sum, &labels);
  check(&g->c);
  return labels ? sum / (double)labels : 0.0;
}

/* The loss at x + s u. Restores x afterwards, bit for bit. */
static double grad_at(gradients *g, const syn_param *p, const float *u, double s) {
  float *kept = (float *)take(p->size, sizeof *kept);
  double f;
  size_t i;
  memcpy(kept, p->x, p->size * sizeof *kept);
  for (i = 0; i < p->size; i++) p->x[i] = (float)((double)p->x[i] + s * (double)u[i]);
  f = grad_loss(g);
  memcpy(p->x, kept, p->size * sizeof *kept);
  free(kept);
  return f;
}

static double grad_slope(gradients *g, const syn_param *p, const float *u, double h) {
  return (8.0 * (grad_at(g, p, u, h) - grad_at(g, p, u, -h)) -
          (grad_at(g, p, u, 2.0 * h) - grad_at(g, p, u, -2.0 * h))) / (12.0 * h);
}

/* Whether the gradient along u agrees for one step h; *error: the smallest relative error. */
static int grad_agrees(gradients *g, const syn_param *p, const float *u, double largest,
                       double *error) {
  const float *gradient = syn_trainer_gradient(g->t, p);
  double slope = 0.0, off;
  size_t i, k;
  *error = 1e30;
  for (i = 0; i < p->size; i++) slope += (double)gradient[i] * (double)u[i];
  for (k = 0; k < COUNT(grad_steps); k++) {
    off = fabs(grad_slope(g, p, u, grad_steps[k]) - slope) / largest;
    if (off < *error) *error = off;
    if (off <= GRAD_TOLERANCE + 3.0 * 1.5 * g->noise / grad_steps[k] / largest) return 1;
  }
  return 0;
}

/* The noise d of f: the fourth difference over tiny steps, where f itself contributes nothing, has
   the standard deviation sqrt(70) d (Hamming; More and Wild 2011). Root mean square of 16. */
static double grad_noise(gradients *g) {
  static const double weights[] = {1.0, -4.0, 6.0, -4.0, 1.0};
  double sum = 0.0;
  int i, k;
  for (i = 0; i < 16; i++) {
    const syn_param *p = syn_model_param(g->m, (size_t)syn_random_below(
                                                    &g->random, (int)syn_model_param_count(g->m)));
    float *u = (float *)take(p->size, sizeof *u);
    double difference = 0.0;
    size_t n;
    for (n = 0; n < p->size; n++) u[n] = syn_random_normal(&g->random);
    for (k = 0; k < 5; k++) difference += weights[k] * grad_at(g, p, u, 1e-6 * (double)k);
    sum += difference * difference / 70.0;
    free(u);
  }
  return sqrt(sum / 16.0);
}

/* Checks along u; after a failure moves the whole tensor a little and checks again. */
static int grad_try(gradients *g, const syn_param *p, const float *u, double largest,
                    double *error) {
  float loss;
  size_t i;
  int point;
  for (point = 0; point < GRAD_POINTS; point++) {
    if (grad_agrees(g, p, u, largest, error)) return 1;
    for (i = 0; i < p->size; i++) p->x[i] += 0.02f * syn_random_normal(&g->random);
    syn_trainer_backward(g->t, &g->batch, &loss);
    check(&g->c);
  }
  return 0;
}

/* Checks some elements and one random direction of length 1. Errors are relative to the largest
   gradient of the tensor, at least 1e-3. */
static void grad_check(gradients *g, const syn_param *p) {
  const float *gradient = syn_trainer_gradient(g->t, p);
  float *u = (float *)take(p->size, sizeof *u);
  int count = p->size < GRAD_ELEMENTS ? (int)p->size : GRAD_ELEMENTS, ok = 1, k;
  double largest = 1e-3, worst = 0.0, length = 0.0, error;
  size_t i;
  for (i = 0; i < p->size; i++)
    if (fabs((double)gradient[i]) > largest) largest = fabs((double)gradient[i]);
  for (k = 0; k <= count; k++) {
    size_t at =
        p->size <= GRAD_ELEMENTS ? (size_t)k : (size_t)syn_random_below(&g->random, (int)p->size);
    for (i = 0; i < p->size; i++)
      u[i] = k < count ? (float)(i == at) : syn_random_normal(&g->random);
    for (length = 0.0, i = 0; i < p->size; i++) length += (double)u[i] * (double)u[i];
    for (i = 0; i < p->size; i++) u[i] = (float)((double)u[i] / sqrt(length));
    ok = grad_try(g, p, u, largest, &error) && ok;
    if (!(error <= worst)) worst = error;
  }
  printf("%-28s %10lu  largest gradient %.2e  error %.2e  %s\n", p->name, (unsigned long)p->size,
         largest, worst, ok ? "ok" : "FAILED");
  g->failed += !ok;
  g->checked++;
  if (!(worst <= g->worst)) g->worst = worst;
  free(u);
}

/* -- a small random batch of sentences of different lengths -- */

static int grad_token(gradients *g, int vocabulary) {
  return vocabulary > SYN_FIRST_TOKEN
             ? SYN_FIRST_TOKEN + syn_random_below(&g->random, vocabulary - SYN_FIRST_TOKEN)
             : SYN_UNKNOWN;
}

static void grad_labels(gradients *g, const syn_config *k, int sentence, int n, int *labels) {
  int i;
  if (strcmp(k->task, "classify") == 0) labels[sentence] = syn_random_below(&g->random, k->classes);
  for (i = 0; strcmp(k->task, "tag") == 0 && i < n; i++)
    labels[sentence * g->batch.src_width + i] = syn_random_below(&g->random, k->classes);
  for (i = 0; strcmp(k->task, "mlm") == 0 && i < n; i++)
    labels[sentence * g->batch.src_width + i] = grad_token(g, k->tgt_vocab);
}

/* The first sentence fills the width of the batch; one of the others has a single token. */
/* Features in place of the source tokens, as many rows; targets of regress for the most rows. */
static void grad_numbers(gradients *g) {
  const syn_config *k = syn_model_config(g->m);
  size_t rows = (size_t)g->batch.count * (size_t)g->batch.src_width, f = (size_t)k->src_features, i;
  float *x = (float *)take(rows * (f + (size_t)k->outputs), sizeof *x);
  for (i = 0; i < rows; i++) g->lengths[i / (size_t)g->batch.src_width] += g->batch.src[i] != 0;
  for (i = 0; i < rows * (f + (size_t)k->outputs); i++) x[i] = syn_random_normal(&g->random);
  g->batch.lengths = g->lengths;
  g->batch.features = g->numbers = x;
  g->batch.targets = x + rows * f;
  g->batch.src = NULL;
}

static void grad_batch(gradients *g) {
  const syn_config *k = syn_model_config(g->m);
  int wide = k->max_len < 9 ? k->max_len : 9, i, j, n, *src, *tgt, *labels;
  size_t size = (size_t)GRAD_SENTENCES * (size_t)wide;
  g->ints = src = (int *)take(3 * size, sizeof *src);
  tgt = src + size;
  labels = tgt + size;
  g->batch.count = GRAD_SENTENCES;
  g->batch.src_width = g->batch.tgt_width = wide;
  for (i = 0; i < GRAD_SENTENCES; i++) {
    n = i == 0 ? wide : i == 1 ? 1 : 1 + syn_random_below(&g->random, wide);
    for (j = 0; j < n; j++) src[i * wide + j] = j + 1 < n ? grad_token(g, k->src_vocab) : SYN_END;
    grad_labels(g, k, i, n, labels);
    n = i == 0 ? wide : i == 2 ? 1 : 1 + syn_random_below(&g->random, wide);
    for (j = 0; j < n && k->tgt_vocab && strcmp(k->task, "mlm") != 0; j++) {
      tgt[i * wide + j] = j ? labels[i * wide + j - 1] : SYN_BEGIN;
      labels[i * wide + j] = j + 1 < n ? grad_token(g, k->tgt_vocab) : SYN_END;
    }
  }
  g->batch.src = src;
  g->batch.tgt = tgt;
  g->batch.labels = labels;
  if (k->src_features) grad_numbers(g);
}

/* Makes the model. Adds noise to all weights: biases of 0 and gains of 1 would hide errors. */
static void grad_model(gradients *g, const arguments *a) {
  network n = network_of(a);
  int decoder = strcmp(n.config.task, "seq2seq") == 0 || strcmp(n.config.task, "lm") == 0;
  size_t i, k;
  n.config.src_vocab = opt_int(a, "src-vocab");
  n.config.tgt_vocab = decoder ? opt_int(a, "tgt-vocab") : 0;
  n.config.classes = opt_int(a, "classes");
  n.config.outputs = 2;
  n.config.seed = opt_big(a, "seed");
  g->m = syn_model_new(&g->c, &n.config);
  check_use(&g->c);
  network_free(&n);
  g->random.state = opt_big(a, "seed");
  for (i = 0; i < syn_model_param_count(g->m); i++) {
    const syn_param *p = syn_model_param(g->m, i);
    for (k = 0; k < p->size; k++) p->x[k] += 0.1f * syn_random_normal(&g->random);
  }
}

static int run_grad(const arguments *a) {
  gradients g;
  syn_train_config config;
  float loss;
  size_t i;
  memset(&g, 0, sizeof g);
  memset(&config, 0, sizeof config);
  context_open(&g.c, a);
  grad_model(&g, a);
  grad_batch(&g);
  config.batch_tokens = g.batch.count * g.batch.src_width;
  g.t = syn_trainer_new(&g.c, g.m, &config);
  check(&g.c);
  g.noise = grad_noise(&g);
  syn_trainer_backward(g.t, &g.batch, &loss);
  check(&g.c);
  for (i = 0; i < syn_model_param_count(g.m); i++) {
    const syn_param *p = syn_model_param(g.m, i);
    if (p->trained) grad_check(&g, p);
    else printf("%-28s %10lu  never trained\n", p->name, (unsigned long)p->size);
  }
  printf("loss %.6f, its noise %.1e, worst error %.2e: %d of %d parameters ok\n", (double)loss,
         g.noise, g.worst, g.checked - g.failed, g.checked);
  syn_trainer_free(g.t);
  syn_model_free(g.m);
  free(g.ints);
  free(g.numbers);
  return g.failed ? FAILED_JOB : 0;
}
