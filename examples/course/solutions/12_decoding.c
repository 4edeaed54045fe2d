/* Exercise 12   From logits to a text

   The "network" here is a table: row i are the logits of the token behind token i. A text begins
   behind token 1 and ends with token 0. See lesson 12. Check it: make check N=12 */

#include "../check.h"
enum { V = 5, LENGTH = 3, END = 0, BEGIN = 1 };

static float table[V][V] = { /* [token before, next token] */
  {0, -9, 0, 0, 0},
  {-2, -9, 1.8f, 0.5f, 2.0f},
  {3, -9, -1, 0.4f, 0.1f},
  {1.5f, -9, 1, 0.3f, -2},
  {0.2f, -9, 0.3f, 1, 0.6f}};

/* 1. log p of every next token: z - log sum exp z */
static void log_softmax(const float *z, float *log_p) {
  float sum = 0;
  for (int i = 0; i < V; i++) sum += expf(z[i]);
  for (int i = 0; i < V; i++) log_p[i] = z[i] - logf(sum);
}

static int best_of(const float *x, int n) {
  int best = 0;
  for (int i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  return best;
}

static void greedy(void) {
  float text[LENGTH], log_p[V], sum = 0;
  int last = BEGIN;
  log_softmax(table[BEGIN], log_p);
  check_array("log p behind begin", log_p, 1, V);
  for (int i = 0; i < LENGTH; i++) {
    /* 2. The most probable token behind `last`; best_of may help. */
    int token = best_of(table[last], V);
    text[i] = (float)token;
    last = token;
  }
  check_array("greedy text", text, 1, LENGTH);
  /* 3. log p of the whole greedy text: of each token behind the one before it */
  last = BEGIN;
  for (int i = 0; i < LENGTH; i++) {
    log_softmax(table[last], log_p);
    sum += log_p[(int)text[i]];
    last = (int)text[i];
  }
  check_array("log p of the greedy text", &sum, 1, 1);
}

/* Two steps of a beam search with K = 2. */
static void beam(void) {
  float log_p[V], all[2 * V], live[2], tokens[2], rows[4], next[4], score[2];
  int first, best;
  /* 4. The two best first tokens, with their log p. */
  log_softmax(table[BEGIN], log_p);
  for (int i = 0; i < 2; i++) {
    first = best_of(log_p, V);
    tokens[i] = (float)first;
    live[i] = log_p[first];
    log_p[first] = -INFINITY; /* taken */
  }
  check_array("beam: two first tokens", tokens, 1, 2);
  check_array("beam: their log p", live, 1, 2);
  /* 5. log p of each of the two with every next token: row i of `all` */
  for (int i = 0; i < 2; i++) {
    log_softmax(table[(int)tokens[i]], log_p);
    for (int j = 0; j < V; j++) all[i * V + j] = live[i] + log_p[j];
  }
  check_array("beam: log p of all texts of two tokens", all, 2, V);
  /* 6. The four best of them (a beam of 2 keeps the first two). `best` is the place in `all`: which
     row does it continue, and with which token? */
  for (int i = 0; i < 4; i++) {
    best = best_of(all, 2 * V);
    rows[i] = (float)(best / V);
    next[i] = (float)(best % V);
    all[best] = -INFINITY; /* taken */
  }
  check_array("beam: the rows that the four best texts continue", rows, 1, 4);
  check_array("beam: their last tokens", next, 1, 4);
  /* 7. The score of a text of n tokens is log p / ((5 + n) / 6)^alpha. Of n = 2 and n = 8 tokens,
     both with log p = -3 and alpha = 0.6: */
  for (int i = 0; i < 2; i++) {
    float n = i ? 8 : 2;
    score[i] = -3 / powf((5 + n) / 6, 0.6f);
  }
  check_array("beam: length penalty", score, 1, 2);
}

static void sample(void) {
  enum { POINTS = 200 };
  float p[V], sum = 0, kept[V] = {0}, reached = 0, drawn[POINTS];
  /* 8. Probabilities behind begin with the temperature 0.8: softmax of z / temperature */
  for (int i = 0; i < V; i++) sum += p[i] = expf(table[BEGIN][i] / 0.8f);
  for (int i = 0; i < V; i++) p[i] /= sum;
  check_array("p with temperature 0.8", p, 1, V);
  /* 9. top_p = 0.9: the most probable tokens are kept until their sum reaches 0.9. kept [V]: p of a
     token that is kept, 0 of the others. */
  while (reached < 0.9f) {
    int best = best_of(p, V);
    if (!(p[best] > 0)) break;
    kept[best] = p[best];
    reached += p[best];
    p[best] = 0;
  }
  check_array("kept by top_p 0.9", kept, 1, V);
  /* 10. For each point: the first token, in the order 0 .. V-1, where the sum of `kept` up to it is
     larger than the point times the sum of all that is kept. */
  for (int i = 0; i < POINTS; i++) {
    float point = ((float)i + 0.5f) / POINTS; /* in 0 .. 1 */
    int token = 0;
    float up_to = kept[0];
    while (token < V - 1 && up_to <= point * reached) up_to += kept[++token];
    drawn[i] = (float)token;
  }
  check_array("drawn tokens", drawn, 1, POINTS);
}

static void exercise(syn_context *c, syn_tape *t) {
  (void)c, (void)t;
  check_vary(&table[0][0], V * V);
  greedy();
  beam();
  sample();
}
