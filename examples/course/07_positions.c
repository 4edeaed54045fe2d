/* 07   Positions: what attention does not see, and sinusoids that show it

   You will be able to say which networks need positions, to compute them, and to explain dropout.

   Idea: attention compares rows and adds them up. Nothing in it depends on where a row stands, so
   each word gets the same answer in "dog bites man" and in "man bites dog". The remedy: add a row
   p_t of numbers to the embedding of the token at place t. Which numbers? We want that a step of k
   places is the same linear map everywhere, p_{t+k} = M_k p_t, so that "three to the left" can be
   learned as one matrix. A point on a circle has this property: with the angle w t

     | sin w(t+k) |   |  cos wk   sin wk | | sin wt |
     | cos w(t+k) | = | -sin wk   cos wk | | cos wt |        a rotation by the angle wk

   One circle repeats itself after 2 pi / w places. So p_t has d/2 circles. Fast ones tell near
   places apart, slow ones far places: w_j = 10000^(-2j/d), j = 0 .. d/2 - 1. It follows that

     p_s . p_t = sum_j cos(w_j (s - t))

   depends on the distance alone, and is largest for equal places.

   Dropout: while training, each number is 0 with probability r, and divided by 1 - r else, so that
   the mean stays. Then the network cannot rely on one number alone.

   In the library the layer `pos` makes sqrt(d) x_t + p_t of a row x_t: embeddings begin with
   numbers of size 1 / sqrt(d) and would be lost beside p_t. The library drops behind `pos` and most
   layers, if a rate is given.

   In the last part a network without `pos` gets below the loss of a blind guess among ten letters,
   log 10: it learns that the letter is one of the sentence.

   Compile, run:  make -C examples/course lesson N=7   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/07_positions.c -o positions -lm && ./positions
   Expected:      examples/course/expected/07.txt */
#include "course.h"
enum { WORDS = 3, D = 16, PLACES = 40, N = 8, LETTERS = 10, SENTENCES = 32, STEPS = 200 };

/* p_t [D]: the places of a sine and its cosine are neighbours. */
static void position(int t, float *p) {
  for (int j = 0; j < D / 2; j++) {
    double w = pow(10000, -2.0 * j / D);
    p[2 * j] = (float)sin(w * t);
    p[2 * j + 1] = (float)cos(w * t);
  }
}

/* The answers of attention to three words in this order; positions: 1 adds p_t to row t. */
static syn_tensor *answers(syn_tape *t, const int *order, int positions) {
  syn_random r = {7};
  syn_tensor *table = random_tensor(t, WORDS, D, &r, 1), *p = tensor(t, WORDS, D, NULL);
  syn_tensor *x = syn_lookup(table, order, WORDS);
  for (int i = 0; p && i < WORDS && positions; i++) position(i, p->x + i * D);
  x = syn_add(x, p);
  return syn_matmul(syn_softmax(syn_scale(syn_matmul(x, syn_transpose(x)), 0.25f)), x);
}
static int orders(syn_tape *t) {
  static const char *const words[WORDS] = {"dog", "bites", "man"};
  static const int order[2][WORDS] = {{0, 1, 2}, {2, 1, 0}};
  for (int positions = 0; positions < 2; positions++) {
    syn_tensor *a = answers(t, order[0], positions), *b = answers(t, order[1], positions);
    if (!a || !b) return 1;
    printf("%s: answers to \"dog bites man\" and \"man bites dog\"\n",
           positions ? "with positions" : "without positions");
    for (int i = 0; i < WORDS; i++) { /* word i stands at place WORDS - 1 - i of the second */
      float largest = 0;
      for (int k = 0; k < D; k++)
        largest = fmaxf(largest, fabsf(a->x[i * D + k] - b->x[(WORDS - 1 - i) * D + k]));
      printf("  %-5s largest difference %.3f\n", words[i], (double)largest);
    }
  }
  return 0;
}

/* Products of positions by their distance, and the rotation from a place to another. */
static void sinusoids(void) {
  float p[PLACES][D], largest = 0;
  for (int t = 0; t < PLACES; t++) position(t, p[t]);
  printf("\nproducts p_s . p_t   distance 0      1      2      4      8     16\n");
  for (int s = 0; s <= 20; s += 10) {
    printf("  from place %2d       ", s);
    for (int k = 0; k <= 16; k = k ? 2 * k : 1) {
      float sum = 0;
      for (int i = 0; i < D; i++) sum += p[s][i] * p[s + k][i];
      printf("%7.3f", (double)sum);
    }
    printf("\n");
  }
  for (int t = 0; t + 5 < PLACES; t++) /* p_{t+5} from p_t, by the same numbers for every t */
    for (int j = 0; j < D / 2; j++) {
      float c = p[5][2 * j + 1], s = p[5][2 * j], *x = p[t] + 2 * j, *y = p[t + 5] + 2 * j;
      largest = fmaxf(largest, fabsf(c * x[0] + s * x[1] - y[0]));
      largest = fmaxf(largest, fabsf(c * x[1] - s * x[0] - y[1]));
    }
  printf("five places on is one rotation, everywhere: %s\n", largest < 1e-5f ? "yes" : "NO");
}

static int tokens[SENTENCES * N], labels[SENTENCES * N]; /* [SENTENCES, N] */
static syn_batch batch = {.count = SENTENCES, .src = tokens, .labels = labels, .src_width = N};

/* Which letter stands to the left? A network reads all letters at once and answers at each place
   but the first: label 1 + letter, 0 for no question. A line of text describes the network; lessons
   8 and 9 explain it, here only `pos` matters. Returns the loss of the last step. */
static double left_neighbour(syn_context *c, const char *encoder) {
  syn_config config = {.task = "tag", .encoder = encoder, .d_model = D, .heads = 2, .max_len = N,
                       .src_vocab = SYN_FIRST_TOKEN + LETTERS, .classes = 1 + LETTERS};
  syn_train_config how = {.schedule = "constant", .lr = 0.01f};
  syn_model *m = syn_model_new(c, &config);
  syn_trainer *t = syn_trainer_new(c, m, &how);
  syn_random r = {5};
  float loss = 0;
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i < SENTENCES * N; i++) {
      int letter = syn_random_below(&r, LETTERS);
      tokens[i] = SYN_FIRST_TOKEN + letter;
      if (i + 1 < SENTENCES * N) labels[i + 1] = 1 + letter;
      if (i % N == 0) labels[i] = 0; /* nothing is asked at the first place */
    }
    if (syn_trainer_step(t, &batch, 1, &loss)) break;
  }
  syn_trainer_free(t);
  syn_model_free(m);
  return (double)loss;
}

/* The mean of numbers after dropout, over many draws. */
static void dropout(void) {
  syn_random r = {3};
  double sum = 0, zeros = 0, rate = 0.25;
  for (int i = 0; i < 100000; i++) {
    int dropped = (double)syn_random_uniform(&r) < rate;
    zeros += dropped;
    sum += dropped ? 0 : 1 / (1 - rate);
  }
  printf("\ndropout of 0.25: %.0f %% are 0, the mean of ones is still %.2f\n", zeros / 1000,
         sum / 100000);
}

int main(void) {
  syn_context c;
  syn_tape *t = syn_context_init(&c, NULL) ? NULL : syn_tape_new(&c, 1 << 20);
  if (!t || orders(t)) return puts(c.message), 1;
  sinusoids();
  printf("\nwhich letter stands to the left? loss after %d steps; a blind guess has %.3f\n", STEPS,
         log(LETTERS));
  printf("  without positions   %.3f\n", left_neighbour(&c, "res(syn_att(V)) -> norm"));
  printf("  with positions      %.3f\n", left_neighbour(&c, "pos -> res(syn_att(V)) -> norm"));
  dropout();
  return c.status ? puts(c.message), 1 : 0;
}

/* To try: w_j = 1 for all j: which places look alike? Let the network find the word two places to
   the left: how must `labels` change, and does it still learn? Replace pos by learn_pos (a learned
   row for each place): what does it do at a place that no sentence of training had? */
