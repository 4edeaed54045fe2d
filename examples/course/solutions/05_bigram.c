/* Exercise 05   Softmax and cross-entropy by hand

   An embedding of five tokens, logits, probabilities, a loss, and the gradient of the logits. See
   lesson 5. Check it: make check N=5 */

#include "../check.h"
enum { V = 5, D = 3, ROWS = 4 }; /* tokens of the vocabulary, width, letters of the text */

static void exercise(syn_context *c, syn_tape *t) {
  static const int ids[ROWS] = {2, 4, 0, 4}, labels[ROWS] = {4, 0, 4, 1};
  syn_random r = {check_seed(33)};
  syn_tensor *table = random_tensor(t, V, D, &r, 1), *w = random_tensor(t, D, V, &r, 1);
  syn_tensor *rows, *logits, *loss;
  float p[ROWS][V], by_hand[1] = {0}, gradient[ROWS][V];
  int i, v;
  (void)c;

  /* 1. rows [ROWS,D]: for each token of ids its row of the table: see syn_lookup */
  rows = syn_lookup(table, ids, ROWS);
  check("rows", rows);

  /* 2. logits [ROWS,V] = rows w */
  logits = syn_matmul(rows, w);
  check("logits", logits);

  /* 3. p [ROWS,V] = softmax of each row of the logits, by loops: expf(z) over the sum of its row.
     The logits of row i are logits->x[i * V] to logits->x[i * V + V - 1]. */
  for (i = 0; i < ROWS; i++) {
    float sum = 0;
    for (v = 0; v < V; v++) sum += expf(logits->x[i * V + v]);
    for (v = 0; v < V; v++) p[i][v] = expf(logits->x[i * V + v]) / sum;
  }
  check_array("probabilities", &p[0][0], ROWS, V);

  /* 4. The cross-entropy by hand: the mean over the rows of -logf(p[i][labels[i]]) */
  for (i = 0; i < ROWS; i++) by_hand[0] -= logf(p[i][labels[i]]) / ROWS;
  check_array("loss by hand", by_hand, 1, 1);

  /* 5. The same by syn_cross_entropy, which computes the softmax itself */
  loss = syn_cross_entropy(logits, labels);
  check("loss", loss);

  /* 6. Its gradient with respect to the logits, by hand: at the label (p - 1) / ROWS, elsewhere
     p / ROWS. ROWS is an int: in C, 1 / ROWS is 0. */
  for (i = 0; i < ROWS; i++)
    for (v = 0; v < V; v++) gradient[i][v] = (p[i][v] - (v == labels[i])) / ROWS;
  check_array("gradient of the logits by hand", &gradient[0][0], ROWS, V);

  /* 7. The same from the tape */
  syn_backward(loss);
  check_gradient("gradient of the logits", logits);
  check_gradient("gradient of the table", table);

  /* Which of these rows are 0, and why? */
  show("gradient of the table", table->dx, V, D);
}
