/* 05   A model of text that looks back by one letter

   You will be able to turn text into numbers, compute a softmax and a cross-entropy, and compare a
   model with counts.

   Idea: text becomes numbers in three steps. A token is a piece of text with a number: here each
   letter and the space. An embedding is a table with a row of numbers for each token; to look up a
   token is to take its row. The network ends in one number for each token that could follow, the
   logits z; softmax makes probabilities of them:

     p_v = exp(z_v) / sum_u exp(z_u)          loss = -log p_label, the cross-entropy

   The label is the right token: the one that follows in the text. The loss is 0 if it has
   probability 1, and log 27 = 3.296 for a blind guess (log is the natural logarithm).

   The smallest such model is a table [27,27] whose rows are the logits themselves: a bigram model.
   Counting pairs of letters makes such a model, too, and on this text no model that looks back by
   one letter has a lower loss than the counts. So training must bring the loss down towards theirs:
   a test with a known answer. A narrower embedding has rows of D numbers, with a matrix [D,27]
   behind it. It must describe each letter by D numbers only, so its loss is higher.

   Compile, run:  make -C examples/course lesson N=5   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/05_bigram.c -o bigram -lm && ./bigram
   Expected:      examples/course/expected/05.txt */

#include "course.h"
enum { V = 27, D = 4, STEPS = 400 }; /* tokens: 0 is the space, 1 .. 26 are a .. z */

static const char TEXT[] =
    " the river runs to the sea and the sea gives the rain to the hills the hills give the rain"
    " to the river so the water is never new and never old it goes around in spring the snow of"
    " the high hills melts and the river is wide and brown in summer it is small and clear and"
    " children walk through it in autumn the leaves of the trees swim to the sea like little red"
    " boats and in winter the river sleeps under the ice and waits for the sun ";
/* The letters that have a next one. Behind them come V rows more, one for each token, to write text
   with. Their label is -1: they do not count in the loss. */
enum { PAIRS = sizeof TEXT - 2, ROWS = PAIRS + V };

static int token_of(char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' + 1 : 0; }
static char letter_of(int token) { return (char)(token == 0 ? ' ' : 'a' + token - 1); }

/* Cross-entropy by hand: the mean over the pairs of -log softmax(z)[label]; z [ROWS, V] */
static double by_hand(const float *z, const int *labels) {
  double loss = 0;
  for (int i = 0; i < PAIRS; i++, z += V) {
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp((double)z[v]);
    loss -= log(exp((double)z[labels[i]]) / sum) / PAIRS;
  }
  return loss;
}

/* The loss of the counts: p of a pair = how often b follows a / how often a letter follows a. */
static double by_counting(const int *ids, const int *labels) {
  static double pair[V][V], first[V];
  double loss = 0;
  for (int i = 0; i < PAIRS; i++) pair[ids[i]][labels[i]] += 1, first[ids[i]] += 1;
  for (int i = 0; i < PAIRS; i++) loss -= log(pair[ids[i]][labels[i]] / first[ids[i]]) / PAIRS;
  return loss;
}

/* Writes text: each letter is drawn with the probabilities that the letter before it gives.
   logits [ROWS, V]: row PAIRS + i is about the token that follows token i. */
static void write_text(const float *logits, int letters) {
  syn_random r = {11};
  int token = 0;
  for (; letters > 0; letters--) {
    const float *z = logits + (PAIRS + token) * V;
    double sum = 0, draw;
    int v;
    for (v = 0; v < V; v++) sum += exp((double)z[v]);
    draw = sum * (double)syn_random_uniform(&r);
    for (v = 0; v < V - 1 && draw >= exp((double)z[v]); v++) draw -= exp((double)z[v]);
    printf("%c", letter_of(token = v));
  }
  printf("|\n");
}

static int learn(syn_tape *t, const char *name, syn_tensor *logits, const int *labels,
                 syn_tensor *const w[2], float rate) {
  syn_tensor *loss = syn_cross_entropy(logits, labels);
  if (!loss) return 1;
  printf("\n%s\n", name);
  for (int step = 0; step <= STEPS; step++) {
    syn_backward(loss);
    if (step % 100 == 0 || step == STEPS)
      printf("step %3d   loss %.3f   by hand %.3f\n", step, (double)loss->x[0],
             by_hand(logits->x, labels));
    for (int i = 0; i < 2; i++) take_step(w[i], rate);
    syn_tape_forward(t);
  }
  write_text(logits->x, 60);
  return 0;
}

int main(void) {
  static int ids[ROWS], labels[ROWS]; /* a letter, and the one that follows */
  syn_context c;
  syn_random r = {3};
  syn_tensor *w[2] = {NULL, NULL};
  syn_tape *t = syn_context_init(&c, NULL) ? NULL : syn_tape_new(&c, (size_t)8 << 20);
  for (int i = 0; i < PAIRS; i++) ids[i] = token_of(TEXT[i]), labels[i] = token_of(TEXT[i + 1]);
  for (int i = 0; i < V; i++) ids[PAIRS + i] = i, labels[PAIRS + i] = -1;
  printf("%d letters; a blind guess has loss %.3f, the counts have %.3f\n", (int)PAIRS, log(V),
         by_counting(ids, labels));

  w[0] = tensor(t, V, V, NULL); /* zeros: every token has the same probability */
  if (learn(t, "a table [27,27]", syn_lookup(w[0], ids, ROWS), labels, w, 10))
    return puts(c.message), 1;

  syn_tape_clear(t);
  w[0] = random_tensor(t, V, D, &r, 0.5f); /* the embedding: a row of D numbers for each token */
  w[1] = random_tensor(t, D, V, &r, 0.5f);
  if (learn(t, "an embedding [27,4] and a matrix [4,27]",
            syn_matmul(syn_lookup(w[0], ids, ROWS), w[1]), labels, w, 3))
    return puts(c.message), 1;
  show("the embedding of a to e", w[0]->x + D, 5, D);
  syn_tape_free(t);
  return 0;
}

/* To try: D = 2, D = 26; what does the model write if STEPS is 50, or 1000? A text of your own
   (letters a to z; every other character counts as a space). */
