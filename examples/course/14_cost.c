/* 14   What it costs: parameters, multiply-adds and memory of V, R, FR, D, FD

   You will be able to compute parameters, multiply-adds and memory before anything runs.

   Idea: what a layer costs can be counted before anything runs: each matrix [n,d] has n d
   parameters and makes n d multiply-adds for each token. Table 1 of Tay et al. 2021 lists the
   parameters that make the scores, for one head, sentences of at most N tokens, width d:

     V  2 d^2     R  N^2     FR  2 N k     D  d^2 + d N     FD  d^2 + d (a + b),  a b >= N

   A real layer has H heads, biases in D and FD, and for all five kinds two matrices [d,d]: of the
   values and of the output. The library counts its own layers; the formulas below must agree.
   What a step of training takes is another question: only a measurement answers it.

   Compile, run:  make -C examples/course lesson N=14   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/14_cost.c -o cost -lm && ./cost
   Expected:      examples/course/expected/14.txt; lines with # may differ and are not compared */
#include "course.h"
#include <time.h>
enum { V, R, FR, D, FD, KINDS };
static const char *const names[] = {"V", "R", "FR", "D", "FD"};

/* d, H, N as above; k: rank of FR; a + b: numbers a token of FD makes instead of N. */
typedef struct sizes {
  double d, H, N, k, a, b;
} sizes;
static sizes sizes_of(double d, double H, double N) {
  double a = ceil(sqrt(N));
  return (sizes){d, H, N, 8, a, ceil(N / a)};
}

/* Table 1 of the paper: one head, no biases. */
static double table_1(int kind, sizes s) {
  return kind == V ? 2 * s.d * s.d
       : kind == R ? s.N * s.N
       : kind == FR ? 2 * s.N * s.k
       : kind == D ? s.d * s.d + s.d * s.N : s.d * s.d + s.d * (s.a + s.b);
}

/* What the scores of a layer have. R and FR have a table for each head. In D and FD the heads share
   W1 [d,d]; then each has its own d / H columns, so their matrices together are [N,d], [a+b,d]. */
static double score_parameters(int kind, sizes s) {
  return kind == V ? 2 * s.d * s.d
       : kind == R ? s.H * s.N * s.N
       : kind == FR ? s.H * 2 * s.N * s.k
       : kind == D ? s.d * s.d + s.d + s.N * (s.d + s.H)
                   : s.d * s.d + s.d + (s.a + s.b) * (s.d + s.H);
}

/* The multiply-adds of the scores, for one token of a sentence of T tokens: a row [H,T] of S. */
static double score_work(int kind, sizes s, double T) {
  return kind == V ? 2 * s.d * s.d + T * s.d
       : kind == R ? 0
       : kind == FR ? s.H * T * s.k
       : kind == D ? s.d * s.d + T * s.d : s.d * s.d + (s.a + s.b) * s.d + s.H * T;
}

/* Bytes that decoding keeps of each token: the value, with V also the key. */
static double cache_bytes(int kind, sizes s) { return (kind == V ? 2 : 1) * s.d * sizeof(float); }

static syn_config network(char *text, int kind, const char *frame, sizes s) {
  syn_config k = {.task = "lm", .decoder = text, .d_model = (int)s.d, .heads = (int)s.H,
                  .max_len = (int)s.N, .tgt_vocab = 32};
  sprintf(text, frame, names[kind]);
  return k;
}

/* A line for each kind: the formulas, and whether the library counts the same. */
static void compare(syn_context *c, sizes s, double T) {
  double values = 2 * s.d * s.d; /* parameters and multiply-adds of W_v and W_o */
  char text[200];
  printf("\nd %g, %g heads, N %g, %g tokens\n", s.d, s.H, s.N, T);
  printf("kind   Table 1   parameters   multiply-adds   bytes a token   as the library\n");
  for (int kind = V; kind < KINDS; kind++) {
    syn_config k = network(text, kind, "syn_att(%s)", s);
    syn_model *m = syn_model_new(c, &k);
    syn_cost l = syn_model_cost(m, syn_model_node(m, 1), (int)T); /* node 0: the embedding */
    double p = values + score_parameters(kind, s);
    double work = values + score_work(kind, s, T) + T * s.d; /* the last: P times the values */
    int equal = l.parameters == p && l.multiply_adds == work &&
                l.decode_bytes == cache_bytes(kind, s);
    printf("%-4s %9g %12g %15g %15g   %s\n", names[kind], table_1(kind, s), p, work,
           cache_bytes(kind, s), equal ? "yes" : "no");
    syn_model_free(m);
  }
}

/* The parameters of the layers with their shapes, as the library names them. */
static void describe(syn_context *c, sizes s) {
  char text[200], lines[1000], *at;
  puts("");
  for (int kind = V; kind < KINDS; kind++) {
    syn_config k = network(text, kind, "syn_att(%s)", s);
    if (!syn_model_describe(c, &k, lines, sizeof lines)) return;
    at = strstr(lines, "decoder.0.w_v"); /* the last column of the line of the layer */
    printf("%-3s %.*s\n", names[kind], (int)strcspn(at, "\n"), at);
  }
}

/* Seconds of one training step. */
static double step_time(syn_trainer *t, const syn_batch *b) {
  clock_t start = clock();
  float loss;
  syn_trainer_step(t, b, 1, &loss);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

int main(void) {
  enum { SENTENCES = 16, LENGTH = 64, TURNS = 20 };
  static int tgt[SENTENCES * LENGTH], labels[SENTENCES * LENGTH];
  char text[KINDS][200];
  double best[KINDS];
  syn_trainer *t[KINDS];
  syn_context c; /* keeps the first error */
  syn_context_init(&c, NULL);
  compare(&c, sizes_of(64, 1, 32), 32);
  compare(&c, sizes_of(64, 4, 32), 32);
  describe(&c, sizes_of(64, 4, 32));
  printf("\nmultiply-adds of the scores of one token, d 512, 8 heads\n tokens");
  for (int kind = V; kind < KINDS; kind++) printf(" %9s", names[kind]);
  for (double n = 16; n <= 4096; n *= 4) {
    printf("\n%7g", n);
    for (int kind = V; kind < KINDS; kind++)
      printf(" %9.0f", score_work(kind, sizes_of(512, 8, n), n));
  }
  puts("\n");
  syn_batch b = {.count = SENTENCES, .tgt = tgt, .labels = labels, .tgt_width = LENGTH};
  for (int i = 0; i < SENTENCES * LENGTH; i++) labels[i] = tgt[i] = 4 + i * i % 28;
  for (int i = 0; i < SENTENCES; i++) tgt[i * LENGTH] = SYN_BEGIN;
  for (int kind = V; kind < KINDS; kind++) {
    syn_train_config how = {.batch_tokens = SENTENCES * LENGTH};
    syn_plan plan;
    syn_config k = network(text[kind], kind, "repeat(2, res_nd(syn_att(%s)) -> res_nd(ffl))",
                           sizes_of(128, 4, LENGTH));
    syn_plan_of(&c, &k, &how, NULL, &plan);
    printf("# %-3s bytes: weights %zu, gradients and moments %zu, a training step %zu, a decoder "
           "%zu\n", names[kind], plan.weights, plan.training, plan.activations, plan.decoding);
    t[kind] = syn_trainer_new(&c, syn_model_new(&c, &k), &how);
    best[kind] = 1e9;
  }
  if (c.status) return puts(c.message), 1;
  for (int turn = 0; turn < TURNS * KINDS; turn++) /* in turn; the least time is disturbed least */
    best[turn % KINDS] = fmin(best[turn % KINDS], step_time(t[turn % KINDS], &b));
  for (int kind = V; kind < KINDS; kind++)
    printf("# %-3s %.1f training steps a second, %.2f times V\n", names[kind], 1 / best[kind],
           best[V] / best[kind]);
  return 0;
}

/* To try: sizes_of(64, 1, 1024): which is the largest now? Why is R fast, but useless for sentences
   longer than N? How many multiply-adds do the scores of V need when a decoder is at token 1000? */
