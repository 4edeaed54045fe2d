/* 03   A layer of your own, used in a line of text like all others

   Idea: a kind of layer is a struct of a name and functions. This file adds `prelu`, a rectifier
   whose slope for negative numbers is learned for each column (He et al. 2015, equation 1):

     y = x where x > 0, s x elsewhere     x, y [rows,d], s [d]
     dx += dy or s dy                     ds += sum over the rows of dy x where x <= 0

   The header is not edited. A network with it then learns to tag vowels.

   Compile, run:  cc -O2 examples/03_own_layer.c -o own_layer -lm && ./own_layer
   Expected:      tests/expected/03.txt */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

/* Asked once while the network is built: what comes out, which parameters there are. */
static syn_status prelu_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  float slope = syn_arg_float(b, "slope", 0.25f, -10.0f, 10.0f);
  if (syn_build_param(b, n, "s", syn_initial_of(SYN_INIT_CONSTANT, (double)slope), 1, &d))
    return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d);
}

static void prelu_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *s = syn_weight(t, n, 0);
  int i, d = x->shape[1], count = x->shape[0] * d;
  for (i = 0; i < count; i++) y->x[i] = x->x[i] > 0 ? x->x[i] : s[i % d] * x->x[i];
}

static void prelu_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *s = syn_weight(t, n, 0);
  float *ds = syn_dweight(t, n, 0);
  int i, d = x->shape[1], count = x->shape[0] * d;
  for (i = 0; i < count; i++) {
    x->dx[i] += x->x[i] > 0 ? y->dx[i] : s[i % d] * y->dx[i];
    if (x->x[i] <= 0) ds[i % d] += y->dx[i] * x->x[i];
  }
}

/* Every row is computed alone, so decoding needs no `step` of its own. */
static const syn_kind prelu = {"prelu", "f:slope", 0, NULL, prelu_shape, prelu_forward,
                               prelu_backward, NULL, NULL, NULL};

enum { SENTENCES = 8, LETTERS = 10, STEPS = 200 };

int main(void) {
  const syn_kind *const kinds[] = {&prelu};
  int src[SENTENCES * LETTERS], labels[SENTENCES * LETTERS], i, step;
  syn_batch b = {SENTENCES, src, NULL, labels, LETTERS, 0};
  syn_config k = {0};
  syn_train_config how = {0};
  syn_options o = {0};
  syn_context c;
  syn_random r = {3};
  float loss = 0;
  k.task = "tag", k.encoder = "pos -> linear(16) -> prelu(slope=0.1) -> linear(16) -> norm";
  how.schedule = "constant", how.lr = 0.01f;
  k.d_model = 16, k.max_len = LETTERS, k.src_vocab = 30, k.classes = 3;
  o.kinds = kinds, o.n_kinds = 1;
  syn_model *m = syn_context_init(&c, &o) ? NULL : syn_model_new(&c, &k);
  syn_trainer *t = syn_trainer_new(&c, m, &how);
  for (step = 0; step <= STEPS; step++) {
    for (i = 0; i < SENTENCES * LETTERS; i++) {
      src[i] = SYN_FIRST_TOKEN + syn_random_below(&r, 26);
      labels[i] = strchr("aeiou", 'a' + src[i] - SYN_FIRST_TOKEN) ? 2 : 1; /* 0 would not count */
    }
    if (syn_trainer_step(t, &b, 1, &loss)) return puts(c.message), 1;
    if (step % 50 == 0) printf("step %3d   loss %.4f\n", step, (double)loss);
  }
  const syn_param *s = syn_model_find(m, "encoder.2.s");
  printf("slopes, 0.1 at the start:");
  for (i = 0; i < 6; i++) printf(" %.3f", (double)s->x[i]);
  printf(" ...\n");
  syn_trainer_free(t);
  syn_model_free(m);
  return 0;
}
