/* Exercise 14   The cost of a layer and of a network, from formulas

   Width d, H heads, sentences of at most N tokens, FR of rank k, FD with a + b numbers a token.
   Each formula is computed for three layers; the last values come from the library, which counts
   its own. See lesson 14. Check it: make check N=14 */

#include "../check.h"
enum { V, R, FR, D, FD, KINDS, LAYERS = 3 };

typedef struct sizes {
  float d, H, N, k, a, b;
} sizes;
static const sizes layers[LAYERS] = {
  {64, 4, 30, 8, 6, 5}, {96, 2, 200, 12, 20, 15}, {512, 8, 40, 16, 7, 6}};

/* Parameters that make the scores; the others of the layer are W_v [d,d] and W_o [d,d]. */
static float parameters(int kind, sizes s) {
  /* 1. V: the matrices of queries and keys, [d,d] each */
  if (kind == V) return 2 * s.d * s.d;
  /* 2. R: a table [N,N] for each head */
  if (kind == R) return s.H * s.N * s.N;
  /* 3. FR: two tables [N,k] for each head */
  if (kind == FR) return s.H * 2 * s.N * s.k;
  /* 4. D: W1 [d,d] with a bias for each row; for each head W2 [N, d/H] with a bias for each row */
  if (kind == D) return s.d * s.d + s.d + s.N * s.d + s.H * s.N;
  /* 5. FD: W1 with its biases as D; for each head matrices [a, d/H] and [b, d/H] with biases */
  return s.d * s.d + s.d + (s.a + s.b) * (s.d + s.H);
}

/* Multiply-adds that make the scores of one token in a sentence of N tokens (not causal). */
static float work(int kind, sizes s) {
  /* 6. V: a query, a key; then for each head N products of two vectors of d / H numbers */
  if (kind == V) return 2 * s.d * s.d + s.N * s.d;
  if (kind == R) return 0; /* the table is there */
  /* 7. FR: for each head and each of N tokens a product of two vectors of k numbers */
  if (kind == FR) return s.H * s.N * s.k;
  /* 8. D: W1 once, W2 for each head */
  if (kind == D) return s.d * s.d + s.N * s.d;
  /* 9. FD: its matrices; then for each head a product of two numbers for each of N tokens */
  return s.d * s.d + (s.a + s.b) * s.d + s.H * s.N;
}

/* The parameters that a network has in all, as the library counts them. */
static float counted(syn_context *c, sizes s, const char *decoder, int vocabulary) {
  syn_config k = {.task = "lm", .decoder = decoder, .d_model = (int)s.d, .heads = (int)s.H,
                  .max_len = (int)s.N, .tgt_vocab = vocabulary};
  syn_model *m = syn_model_new(c, &k);
  float all = 0;
  for (size_t i = 0; i < syn_model_param_count(m); i++) all += (float)syn_model_param(m, i)->size;
  syn_model_free(m);
  return all;
}

static void exercise(syn_context *c, syn_tape *t) {
  static const char *const names[] = {"V", "R", "FR", "D", "FD"};
  float row[LAYERS], network[2], bytes[2], layer, blocks = 6, vocabulary = 1000;
  char name[60];
  (void)t;
  for (int kind = V; kind < KINDS; kind++) {
    for (int i = 0; i < LAYERS; i++) row[i] = parameters(kind, layers[i]);
    sprintf(name, "parameters of %s", names[kind]);
    check_array(name, row, 1, LAYERS);
  }
  for (int kind = V; kind < KINDS; kind++) {
    for (int i = 0; i < LAYERS; i++) row[i] = work(kind, layers[i]);
    sprintf(name, "multiply-adds of %s", names[kind]);
    check_array(name, row, 1, LAYERS);
  }
  for (int i = 0; i < LAYERS; i++) {
    /* 10. Bytes of the KV cache of V for N tokens: a key and a value [d] of each, as floats */
    row[i] = layers[i].N * 2 * layers[i].d * 4;
  }
  check_array("bytes of the KV cache", row, 1, LAYERS);

  /* 11. A language model "repeat(6, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm" of layers[0]:
     norm has 2 d parameters; res_nd begins with a norm; ffl has W1 [4 d, d], b1 [4 d], W2 [d, 4 d],
     b2 [d]. The embedding [1000,d] is also the matrix of the output, which has 1000 biases. */
  float d = layers[0].d;
  layer = 2 * d + parameters(V, layers[0]) + 2 * d * d + 2 * d + 8 * d * d + 5 * d;
  network[0] = vocabulary * d + vocabulary + 2 * d + blocks * layer;
  network[1] = counted(c, layers[0], "repeat(6, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm", 1000);
  check_array("parameters of a block", &layer, 1, 1);
  check_array("parameters of the network, yours and the library's", network, 1, 2);

  /* 12. Bytes of its weights as floats; bytes of what Adam needs beside them: a gradient and two
     moments for each */
  bytes[0] = 4 * network[0];
  bytes[1] = 12 * network[0];
  check_array("bytes of weights, of gradients and moments", bytes, 1, 2);
}
