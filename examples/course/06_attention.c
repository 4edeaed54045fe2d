/* 06   Attention by hand

   You will be able to compute attention with its mask by hand, and to read a picture of attention
   weights.

   Idea: a token looks at itself and at the tokens before it. Its row x_i makes a query q_i; every
   row x_j makes a key k_j and a value v_j. The score of i and j is the product of query and key; a
   softmax turns the scores of a token into weights that sum to 1; its answer is the weighted sum of
   the values:

     q_i = W_q x_i   k_j = W_k x_j   v_j = W_v x_j   S_ij = q_i . k_j / sqrt(d)
     P_i = softmax(S_i0 .. S_ii)     y_i = W_o (sum_j P_ij v_j)       (Vaswani et al. 2017, 3.2.1)

   d is the number of columns of q and k. The product of two random rows grows like sqrt(d); divided
   by it the scores stay small, so that the weights can still change. The causal mask leaves out the
   keys j > i: a token that should be guessed must not be seen.
   Here this is written three times: as naive loops; as nine operations on a tape (transposes not
   counted); as the text "syn_att(V)" for the library. The loops agree with the tape within
   rounding. The tape and the library have the same bits, in the answers and in all gradients:
   nothing is hidden in that text.

   First a network of this one layer learns to read "ball 2, cup 0, hat 3, hat?" and to answer 3. So
   the weights that you see have a meaning: each question looks at the pair of its name.

   Compile, run:  make -C examples/course lesson N=6   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/06_attention.c -o attention -lm && ./attention
   Expected:      examples/course/expected/06.txt */

#include "course.h"
enum { T = 6, D = 16 }; /* tokens of a sentence, width of a row */
enum { NAMES = T / 2, DIGITS = 4, VOCABULARY = SYN_FIRST_TOKEN + NAMES * DIGITS + NAMES };
enum { SENTENCES = 32, UPDATES = 400 };
#define SCALE (1 / sqrtf(D)) /* of the scores */
static int tokens[SENTENCES * T], labels[SENTENCES * T];

/* to [T,D] = x [T,D] w^T: number o of row i is the product of row i of x and row o of w [D,D] */
static void project(const float *x, const float *w, float to[T][D]) {
  for (int i = 0; i < T; i++)
    for (int o = 0; o < D; o++) {
      to[i][o] = 0;
      for (int d = 0; d < D; d++) to[i][o] += x[i * D + d] * w[o * D + d];
    }
}

/* Attention in naive loops: y [T,D] from x [T,D]; p [T,T] are the attention weights. */
static void attention_loops(const float *x, const float *wq, const float *wk, const float *wv,
                            const float *wo, float p[T][T], float y[T][D]) {
  float q[T][D], k[T][D], v[T][D], context[T][D];
  project(x, wq, q);
  project(x, wk, k);
  project(x, wv, v);
  memset(p, 0, T * sizeof *p);
  for (int i = 0; i < T; i++) { /* token i asks */
    float sum = 0;
    for (int j = 0; j <= i; j++) { /* tokens up to itself: the causal mask */
      float score = 0;
      for (int d = 0; d < D; d++) score += q[i][d] * k[j][d];
      p[i][j] = expf(score * SCALE);
      sum += p[i][j];
    }
    for (int j = 0; j <= i; j++) p[i][j] /= sum; /* softmax: the weights of a row sum to 1 */
    for (int d = 0; d < D; d++) {
      context[i][d] = 0;
      for (int j = 0; j <= i; j++) context[i][d] += p[i][j] * v[j][d];
    }
  }
  project(&context[0][0], wo, y);
}

/* A mask [T,T] to be added to scores: -infinity above the diagonal, whose softmax is 0. */
static syn_tensor *causal_mask(syn_tape *t) {
  syn_tensor *mask = tensor(t, T, T, NULL);
  for (int i = 0; mask && i < T; i++)
    for (int j = i + 1; j < T; j++) mask->x[i * T + j] = -INFINITY;
  return mask;
}

/* Attention on the tape. w: W_q, W_k, W_v, W_o; *p receives the weights P. Three products read x,
   so the gradient of x is a sum of three parts, added up as the tape runs back: first that of q,
   last that of v. The library has the same order. In another order the sum of floats would be
   rounded to other bits: (a + b) + c is not always a + (b + c). */
static syn_tensor *attention_tape(syn_tape *t, syn_tensor *x, syn_tensor *const w[4],
                                  syn_tensor **p) {
  syn_tensor *v = syn_matmul(x, syn_transpose(w[2])), *k = syn_matmul(x, syn_transpose(w[1]));
  syn_tensor *q = syn_scale(syn_matmul(x, syn_transpose(w[0])), SCALE);
  syn_tensor *scores = syn_matmul(q, syn_transpose(k)); /* [T,T] */
  *p = syn_softmax(syn_add(scores, causal_mask(t)));
  return syn_matmul(syn_matmul(*p, v), syn_transpose(w[3]));
}

static void compare(const char *name, const syn_tensor *a, const syn_value *of) {
  printf("  %-4s value %s   gradient %s\n", name,
         same_bits(a->x, of->x, syn_count(a)) ? "same bits" : "DIFFERS",
         same_bits(a->dx, of->dx, syn_count(a)) ? "same bits" : "DIFFERS");
}

/* Sentences of three pairs in random order, a token for each pair, then the three names in random
   order; the label of a name is its digit. Label 0: nothing is asked. */
static void make_sentences(syn_random *r) {
  for (int i = 0; i < SENTENCES; i++) {
    int shift = syn_random_below(r, NAMES), step = 1 + syn_random_below(r, 2), digit[NAMES];
    for (int k = 0; k < NAMES; k++) digit[k] = syn_random_below(r, DIGITS);
    for (int k = 0; k < NAMES; k++) {
      int *token = tokens + i * T + k, name = (k + shift) % NAMES, asked = k * step % NAMES;
      token[0] = SYN_FIRST_TOKEN + name * DIGITS + digit[name];
      token[NAMES] = SYN_FIRST_TOKEN + NAMES * DIGITS + asked;
      labels[i * T + NAMES + k] = SYN_FIRST_TOKEN + digit[asked];
    }
  }
}

/* The first sentence, and how each of its tokens looks at those before it. */
static void show_weights(const float *p) {
  static const char *const names[] = {"ball", "cup", "hat"};
  for (int i = 0; i < T; i++) {
    int n = tokens[i] - SYN_FIRST_TOKEN, pair = n < NAMES * DIGITS;
    printf("%-4s %c ", names[pair ? n / DIGITS : n % DIGITS], pair ? '0' + n % DIGITS : '?');
    for (int j = 0; j < T; j++) printf(j <= i ? "%8.2f" : "       .", (double)p[i * T + j]);
    printf("\n");
  }
}

int main(void) {
  static const char *const names[] = {"W_q", "W_k", "W_v", "W_o"};
  /* where the network keeps them: layer 0 of its decoder */
  static const char *const paths[] = {"decoder.0.w_q", "decoder.0.w_k", "decoder.0.w_v",
                                      "decoder.0.w_o"};
  /* The library: a network of this one layer. Do not study this yet: lessons 9 and 11 explain
     networks. Here we need its numbers after training: x, four matrices, y, the gradient of y. */
  syn_config config = {.task = "lm", .decoder = "syn_att(V)", .d_model = D, .heads = 1,
                       .max_len = T, .tgt_vocab = VOCABULARY, .tie = "none"};
  syn_train_config how = {.schedule = "constant", .lr = 0.01f};
  syn_batch batch = {.count = SENTENCES, .tgt = tokens, .labels = labels, .tgt_width = T};
  syn_limits limits = {.keep = 1}; /* every value can be looked at afterwards */
  syn_value of_x, of_y, of_w[4];
  syn_tensor *w[4], *x, *p, *y, *loss;
  syn_random r = {4};
  float weights[T][T], answers[T][D], largest = 0;
  syn_context c;
  syn_context_init(&c, NULL);
  syn_model *m = syn_model_new(&c, &config);
  syn_trainer *trainer = syn_trainer_new(&c, m, &how);
  make_sentences(&r);
  for (int i = 0; i < UPDATES && !syn_trainer_step(trainer, &batch, 1, NULL); i++)
    make_sentences(&r);
  syn_trainer_free(trainer);
  batch.count = 1; /* now the first sentence alone, forward and backward */
  syn_run *run = syn_run_new(&c, m, &limits);
  if (syn_run_backward(run, &batch, NULL)) return puts(c.message), 1;

  /* The tape: copies of the same x and matrices. In the network the gradient g of y comes from the
     layers behind it. Here the loss is sum(y g), whose gradient with respect to y is g, too. */
  syn_tape *t = syn_tape_new(&c, 1 << 22);
  x = copy_of(t, run, "decoder", &of_x);
  for (int i = 0; i < 4; i++) w[i] = copy_of(t, run, paths[i], &of_w[i]);
  y = attention_tape(t, x, w, &p);
  if (syn_run_value(run, "decoder.0", 0, &of_y)) return puts(c.message), 1;
  loss = syn_sum(syn_mul(y, tensor(t, T, D, of_y.dx)));
  if (syn_backward(loss)) return puts(c.message), 1;

  attention_loops(x->x, w[0]->x, w[1]->x, w[2]->x, w[3]->x, weights, answers);
  printf("attention weights: how each token looks at itself and those before it\n");
  show_weights(p->x);
  for (int i = 0; i < T * D; i++)
    largest = fmaxf(largest, fabsf((&answers[0][0])[i] - y->x[i]));
  printf("\nloops and tape differ by less than 1e-5: %s\n", largest < 1e-5f ? "yes" : "NO");
  printf("tape and syn_att(V):\n");
  compare("y", y, &of_y);
  compare("x", x, &of_x);
  for (int i = 0; i < 4; i++) compare(names[i], w[i], &of_w[i]);
  printf("gradient check of x on the tape: below 0.01: %s\n",
         syn_gradient_check(loss, x, 0.01f) < 0.01f ? "yes" : "NO");
  return c.status ? puts(c.message), 1 : 0;
}

/* To try (the lines about the library may say DIFFERS): UPDATES = 0: what do the weights look like
   before anything is learned? Leave out the mask, in loops and tape. Leave out the division by
   sqrt(d): set SCALE to 1. What happens to the weights, and why is that bad for learning?
   In attention_tape, record v behind q. Which gradient loses its last bit, and why? */
