/* 04   Adam, beside plain gradient descent

   You will be able to say what a learning rate does, and to write the optimizer of most papers.

   Idea: plain gradient descent moves each number by rate times its gradient. One rate must serve
   all numbers: where the loss is steep a large rate jumps over the bottom of the valley and climbs
   on the other side, where it is flat a small rate does not move. Two remedies, with t = 1, 2, ...
   the number of the step and g the gradient of one number:

     momentum   m = b m + rate g              x -= m              steps in one direction add up
     Adam       m = b1 m + (1 - b1) g         the mean of g over the last steps, about 1 / (1 - b1)
                v = b2 v + (1 - b2) g^2       the mean of g^2 over more steps
                x -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
     AdamW      as Adam, and also x -= rate decay x, of the x before the step (weight decay)

   eps is tiny and prevents a division by 0. m / sqrt(v) has no unit: a loss that is a hundred
   times larger gives the same step. Each number moves by about the rate while its gradient keeps
   its sign, and by less when the sign changes. Both means begin at 0, so at first they are too
   small: after one step m is (1 - b1) g. This error is their bias (not the bias of a neuron). The
   divisions by 1 - b1^t and 1 - b2^t remove it exactly: then the first step has size rate.

   The first part goes down a valley that is 100 times steeper in y than in x. In the second part
   this Adam and the library's train the same network: all weights keep the same bits. Do not study
   that network yet: lessons 5 and 9 explain it. Here only the steps of its weights count.

   Compile, run:  make -C examples/course lesson N=4   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/04_adam.c -o adam -lm && ./adam
   Expected:      examples/course/expected/04.txt */
#include "course.h"
enum { STEPS = 200, ROWS = 8, VOCABULARY = 12, WIDTH = 6, WEIGHTS = 1000 };

/* The settings, and b1^t and b2^t of the step that comes next. */
typedef struct adam {
  float rate, b1, b2, eps;
  double power1, power2;
} adam;

/* Before each step: t grows by 1. */
static void next_step(adam *a) {
  a->power1 *= (double)a->b1;
  a->power2 *= (double)a->b2;
}

/* One step for x [count] with the gradient g; m, v [count] belong to x and begin at 0. The order of
   the operations is that of the library, so that both round alike (lesson 15). */
static void adam_step(const adam *a, float *x, const float *g, float *m, float *v, int count) {
  float fix1 = (float)(1 / (1 - a->power1)), fix2 = (float)(1 / (1 - a->power2));
  for (int i = 0; i < count; i++) {
    m[i] = fmaf(a->b1, m[i], (1 - a->b1) * g[i]);
    v[i] = fmaf(a->b2, v[i], (1 - a->b2) * (g[i] * g[i]));
    x[i] -= a->rate * fix1 * m[i] / (sqrtf(v[i] * fix2) + a->eps);
  }
}

/* -- a valley: loss = x^2 / 2 + 100 y^2 / 2, its gradient is (x, 100 y) -- */

enum { PLAIN, MOMENTUM, ADAM };

static void descend(const char *name, int method, float rate) {
  float at[2] = {1, 1}, m[2] = {0, 0}, v[2] = {0, 0};
  adam a = {rate, 0.9f, 0.98f, 1e-9f, 1, 1};
  printf("%s, rate %g\n", name, (double)rate);
  for (int step = 0; step <= STEPS; step++) {
    float g[2] = {at[0], 100 * at[1]};
    if (step <= 2 || step == 20 || step == STEPS)
      printf("  step %3d   x %9.6f   y %9.6f   loss %.6f\n", step, (double)at[0], (double)at[1],
             (double)(at[0] * at[0] + 100 * at[1] * at[1]) / 2);
    next_step(&a);
    for (int i = 0; i < 2 && method == PLAIN; i++) at[i] -= rate * g[i];
    for (int i = 0; i < 2 && method == MOMENTUM; i++) {
      m[i] = 0.9f * m[i] + rate * g[i];
      at[i] -= m[i];
    }
    if (method == ADAM) adam_step(&a, at, g, m, v, 2);
  }
}

/* -- the same network twice: one has the library's optimizer, the other gets ours -- */

/* A step of ours for all parameters of a model. m and v have a place for each number of it. */
static void step_of_ours(const adam *a, const syn_trainer *t, const syn_model *model, float *m,
                         float *v) {
  for (size_t i = 0; i < syn_model_param_count(model); i++) {
    const syn_param *p = syn_model_param(model, i);
    adam_step(a, p->x, syn_trainer_gradient(t, p), m, v, (int)p->size);
    m += p->size, v += p->size;
  }
}
static int all_equal(const syn_model *a, const syn_model *b) {
  int same = syn_model_param_count(a) > 0;
  for (size_t i = 0; i < syn_model_param_count(a); i++) {
    const syn_param *p = syn_model_param(a, i);
    same &= same_bits(p->x, syn_model_param(b, i)->x, p->size);
  }
  return same;
}
static int train(syn_context *c) {
  static float m[WEIGHTS], v[WEIGHTS];
  /* a sentence of ROWS tokens: each is to predict the next one */
  int tokens[ROWS] = {SYN_BEGIN, 5, 9, 7, 5, 10, 7, 11};
  int labels[ROWS] = {5, 9, 7, 5, 10, 7, 11, SYN_END};
  syn_batch batch = {.count = 1, .tgt = tokens, .labels = labels, .tgt_width = ROWS};
  syn_config config = {.task = "lm", .decoder = "ff(6, tanh) -> ff(6, tanh)", .d_model = WIDTH,
                       .heads = 1, .max_len = ROWS, .tgt_vocab = VOCABULARY, .tie = "none"};
  syn_train_config how = {.optimizer = "adam", .schedule = "constant", .lr = 0.01f,
                          .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-9f, .steps = STEPS};
  adam a = {0.01f, 0.9f, 0.98f, 1e-9f, 1, 1};
  syn_model *theirs = syn_model_new(c, &config), *ours = syn_model_new(c, &config);
  syn_trainer *trainer = syn_trainer_new(c, theirs, &how);
  syn_trainer *gradients = syn_trainer_new(c, ours, &how); /* never steps: it has the gradients */
  float loss = 0, our_loss = 0;
  printf("\na network of two layers, trained twice\n");
  for (int step = 0; step <= STEPS; step++) {
    syn_trainer_backward(gradients, &batch, &our_loss);
    next_step(&a);
    step_of_ours(&a, gradients, ours, m, v);
    if (syn_trainer_step(trainer, &batch, 1, &loss)) return 1;
    if (step % 50 == 0)
      printf("step %3d   loss %.6f   ours %.6f   all weights have the same bits: %s\n", step,
             (double)loss, (double)our_loss, all_equal(theirs, ours) ? "yes" : "NO");
  }
  return 0;
}

int main(void) {
  syn_context c;
  syn_context_init(&c, NULL);
  descend("plain gradient descent", PLAIN, 0.019f);
  descend("momentum", MOMENTUM, 0.019f);
  descend("Adam", ADAM, 0.1f);
  return train(&c) || c.status ? puts(c.message), 1 : 0;
}

/* To try: rate 0.021 for plain gradient descent. Why is 0.02 the border? (In y a step multiplies
   by 1 - 100 rate.) Leave out both divisions: how large is the first step of Adam? Set b1 = 0: does
   Adam still get down? Multiply the loss by 1000 (in descend: multiply g): which of the three does
   not notice? */
