/* 09   Heads, residuals, norms: take one away, see the loss

   You will be able to say what heads, residuals and norms are for, and show it by taking them away.

   Idea: around attention a Transformer has parts that are easy to write and hard to explain, until
   one is missing. One line of text is a network, so a part is taken away by editing its line.

     syn_att(V)       attention; heads = 4 makes four of them side by side, each a quarter as wide
     ffl              two linear layers with a relu between: each token by itself
     res(x)           the residual: y = x + layer(x). So a gradient also flows past the layer
     res_nd(x)        the same with a norm: y = x + layer(norm(x)); norm gives each row the mean 0
                      and the variance 1, so that numbers do not grow from layer to layer, then
                      multiplies each column by a learned gain and adds a learned shift. Here it
                      stands before the layer (pre-norm). In Vaswani et al. 2017 it stands behind
                      the sum, norm(x + layer(x)): then the rate must grow slowly at first
     pos              adds to each row numbers that tell its place

   The gradient through a norm, for a row x of d numbers, n = (x - mean) / deviation,
   and the gradient g of n. All numbers of a row share its mean and its deviation, so that each
   number of x changes all of n, and two terms come in that a single number does not have:

     dx_i = (g_i - mean(g) - n_i mean(g n)) / deviation

   The program compares this with the library.
   First table: a task that asks two things at once, the digit at a place and the digit of a name. A
   head has one row of weights that sum to 1: it can look at one thing well. Two heads look at two.
   Second table: a network of four layers, and the same without one part. Without residuals almost
   nothing is learned. Without norms it learns, but later. Without places it hardly copies, since
   attention does not see in which order the letters came; what is looked up by its name does not
   need places.

   Compile, run:  make -C examples/course lesson N=9   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/09_layers.c -o layers -lm && ./layers
   Expected:      examples/course/expected/09.txt */

#include "course.h"
#include "tasks.h" /* make_batch: sentences of a task, into the arrays tokens and labels */
enum { WIDTH = 32, LAST = 20 };

/* The mean loss of the last updates of a training from the same start, on the same sentences. */
static double train(syn_context *c, const char *decoder, int heads, int task, int updates) {
  syn_config config = {.task = "lm", .decoder = decoder, .d_model = WIDTH, .heads = heads,
                       .max_len = T, .tgt_vocab = VOCABULARY};
  syn_train_config how = {.schedule = "constant", .lr = 0.003f, .warmup = 20};
  syn_model *m = syn_model_new(c, &config);
  syn_trainer *t = syn_trainer_new(c, m, &how);
  syn_random r = {5};
  double mean = 0;
  float loss;
  for (int i = 0; i < updates; i++) {
    make_batch(&r, task);
    if (syn_trainer_step(t, &batch, 1, &loss)) break;
    if (i >= updates - LAST) mean += (double)loss / LAST;
  }
  syn_trainer_free(t);
  syn_model_free(m);
  return mean;
}

/* dx [d] from x [d] and the gradient g [d] of its norm, without gain and shift. */
static void norm_backward(const float *x, const float *g, float *dx, int d) {
  double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
  for (int i = 0; i < d; i++) mean += (double)x[i] / d;
  for (int i = 0; i < d; i++) variance += pow((double)x[i] - mean, 2) / d;
  double deviation = sqrt(variance + 1e-6); /* a row of equal numbers is not divided by 0 */
  for (int i = 0; i < d; i++) mean_g += (double)g[i] / d;
  for (int i = 0; i < d; i++) mean_gn += (double)g[i] * ((double)x[i] - mean) / deviation / d;
  for (int i = 0; i < d; i++) {
    double n = ((double)x[i] - mean) / deviation;
    dx[i] = (float)(((double)g[i] - mean_g - n * mean_gn) / deviation);
  }
}
/* The same with a network of the library that has no layer but a norm. */
static int compare_norm(syn_context *c) {
  syn_config config = {.task = "lm", .decoder = "norm", .d_model = WIDTH, .heads = 1, .max_len = T,
                       .tgt_vocab = VOCABULARY};
  syn_limits limits = {.keep = 1}; /* every value can be looked at afterwards */
  syn_run *run = syn_run_new(c, syn_model_new(c, &config), &limits);
  syn_random r = {5};
  syn_value x, y;
  float dx[WIDTH], largest = 0, difference = 0;
  make_batch(&r, COPY);
  if (syn_run_backward(run, &batch, NULL) || syn_run_value(run, "decoder", 0, &x) ||
      syn_run_value(run, "decoder.0", 0, &y))
    return 1;
  for (int row = 0; row < T; row++) { /* of the first sentence */
    norm_backward(x.x + row * WIDTH, y.dx + row * WIDTH, dx, WIDTH);
    for (int i = 0; i < WIDTH; i++) {
      largest = fmaxf(largest, fabsf(dx[i]));
      difference = fmaxf(difference, fabsf(dx[i] - x.dx[row * WIDTH + i]));
    }
  }
  printf("gradient through a norm, by hand and by the library: %s\n\n",
         largest > 0 && difference < 1e-5f * largest ? "equal" : "NOT EQUAL");
  return 0;
}

int main(void) {
  static const struct {
    const char *name, *decoder;
  } networks[] = {
      {"all", "pos -> repeat(4, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm"},
      {"no residual", "pos -> repeat(4, norm -> syn_att(V) -> norm -> ffl) -> norm"},
      {"no norm", "pos -> repeat(4, res(syn_att(V)) -> res(ffl))"},
      {"no ffl", "pos -> repeat(4, res_nd(syn_att(V))) -> norm"},
      {"no pos", "repeat(4, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm"}};
  syn_context c;
  syn_context_init(&c, NULL);
  if (compare_norm(&c)) return puts(c.message), 1;
  printf("a place and a name at once, one layer of width %d\n   heads      loss\n", WIDTH);
  for (int heads = 1; heads <= 4; heads *= 2)
    printf("%8d%10.3f\n", heads,
           train(&c, "pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm", heads, BOTH, 1200));
  printf("\nloss of four layers    copy   look up\n");
  for (int i = 0; i < 5; i++)
    printf("%-17s%10.3f%10.3f\n", networks[i].name, train(&c, networks[i].decoder, 4, COPY, 300),
           train(&c, networks[i].decoder, 4, LOOK_UP, 300));
  return c.status ? puts(c.message), 1 : 0;
}

/* To try: one layer instead of four: "no residual" is now the best on copy. Why does one layer need
   nothing of its own row there? Which other parts are missed less? A rate of 0.01: which is missed
   more? Find a network of two layers that does better than the four. */
