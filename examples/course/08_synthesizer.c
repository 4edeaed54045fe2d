/* 08   The Synthesizer by hand: attention without queries and keys

   You will be able to say what R, FR, D and V can and cannot learn, and find it out for a task of
   your own.

   Idea: lesson 6 made the scores S of an attention from queries and keys ("V"). Are they needed?
   Tay et al. 2021 write S in other ways; softmax, values and W_o stay as they were. T is the number
   of tokens of a sentence:

     R    S = r             a learned table [T,T]: the same for every sentence (Random)
     FR   S = r1 r2^T       the same table from two narrow ones [T,k]         (Factorized Random)
     D    S_i = W2 relu(W1 x_i + b1) + b2      token i alone decides where it looks, not what it
                                               finds there                    (Dense)
     R+V  S = a_0 r + a_1 q k^T / sqrt(d)      a mixture: a = softmax of two learned numbers

   First part: R, FR and D are written on the tape, with the weights of a network of the library
   after 20 updates. All numbers have the bits of the library.
   Second part: what can they express? Each learns three tasks on fresh random sentences.
     copy     h e a d -> h e a d        where to look depends on the place alone: R is enough
     sort     h e a d -> a d e h        R can only average over places. The average of all letters
                                        tells which letters there are, and that helps much. V can
                                        look for the letters that follow the last one in the order
     look up  d7 a2 c4 b9, c? -> 4      where c stands changes from sentence to sentence. V compares
                                        a query with keys and finds it. R, FR and D see an average
                                        of all pairs. It tells which digits there are: the one that
                                        comes most often is right in 32 % of all cases, a blind
                                        guess in 12.5 %. A little it also tells which pairs there
                                        are, the more numbers a row has, the better
   R+V has both: a table that learns fast, and keys that find things.

   Compile, run:  make -C examples/course lesson N=8   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/08_synthesizer.c -o synthesizer -lm && ./synthesizer
   Expected:      examples/course/expected/08.txt */

#include "course.h"
#include "tasks.h" /* make_batch: sentences of a task, into the arrays tokens and labels */
enum { WIDTH = 16, UPDATES = 600 }; /* of a row of x; steps of training */

/* -- training and counting; lessons 9 and 11 explain networks, here a line of text is enough -- */

/* A network whose decoder is described by a text, trained on a task. */

static syn_model *train(syn_context *c, const char *decoder, int task, int updates) {
  syn_config k = {.task = "lm", .decoder = decoder, .d_model = WIDTH, .heads = 1, .max_len = T,
                  .tgt_vocab = VOCABULARY, .tie = "none"};
  syn_train_config how = {.schedule = "constant", .lr = 0.003f};
  syn_model *m = syn_model_new(c, &k);
  syn_trainer *t = syn_trainer_new(c, m, &how);
  syn_random r = {5};
  float loss;
  for (; updates > 0; updates--) {
    make_batch(&r, task);
    if (syn_trainer_step(t, &batch, 1, &loss)) break; /* forward, backward, a step */
  }
  syn_trainer_free(t);
  return m;
}

/* Of the labels of 8 fresh batches, how many per cent get the largest logit? 0 is no label. */
static double score(syn_context *c, const syn_model *m, int task) {
  syn_run *run = syn_run_new(c, m, NULL);
  syn_random r = {6};
  int right = 0, all = 0, rows;
  for (int i = 0; i < 8 * SENTENCES; i++) {
    if (i % SENTENCES == 0) make_batch(&r, task), syn_run_forward(run, &batch);
    const float *z = syn_run_logits(run, i % SENTENCES, &rows); /* [rows, VOCABULARY] */
    for (int j = 0; j < rows; j++, z += VOCABULARY) {
      int best = 0, label = labels[i % SENTENCES * T + j];
      for (int v = 0; v < VOCABULARY; v++) best = z[v] > z[best] ? v : best;
      if (label) right += best == label, all++;
    }
  }
  syn_run_free(run);
  return 100.0 * right / (all ? all : 1);
}

/* -- by hand -- */

/* The scores [T,T] from x [T,WIDTH] and w, the parameters of the score. */
static syn_tensor *scores(const char *kind, syn_tensor *x, syn_tensor *const *w) {
  if (!strcmp(kind, "R")) return w[0];                                  /* r [T,T] */
  if (!strcmp(kind, "FR")) return syn_matmul(w[0], syn_transpose(w[1])); /* r1, r2 [T,k] */
  return syn_linear(syn_act(syn_linear(x, w[0], w[1]), "relu"), w[2], w[3]); /* W1 b1 W2 b2 */
}

/* One attention on the tape, with the weights of a network of the library that has this one layer.
   paths: where the network keeps x, W_v, W_o and the parameters of the score; then NULL. */
static int by_hand(syn_context *c, const char *kind, const char *const *paths) {
  syn_tensor *w[8], *y, *v, *p, *mask; /* w: x, W_v, W_o, parameters; as in paths */
  syn_limits limits = {.keep = 1};     /* every number can be read afterwards */
  syn_value of[8], of_y;               /* where the network keeps them */
  char text[40];
  int count = 0, same = 0;
  snprintf(text, sizeof text, "syn_att(%s)", kind);
  syn_run *run = syn_run_new(c, train(c, text, LOOK_UP, 20), &limits);
  syn_tape *t = syn_tape_new(c, 1 << 22);
  syn_batch one = batch;
  one.count = 1; /* sentence */
  if (syn_run_backward(run, &one, NULL) || syn_run_value(run, "decoder.0", 0, &of_y)) return 1;
  for (; paths[count]; count++)
    if (!(w[count] = copy_of(t, run, paths[count], &of[count]))) return 1;
  mask = tensor(t, T, T, NULL);
  for (int i = 0; i < T * T; i++) mask->x[i] = i % T > i / T ? -INFINITY : 0;
  v = syn_matmul(w[0], syn_transpose(w[1])); /* first, as in lesson 6 */
  p = syn_softmax(syn_add(scores(kind, w[0], w + 3), mask));
  y = syn_matmul(syn_matmul(p, v), syn_transpose(w[2])); /* [T,WIDTH] */
  if (syn_backward(syn_sum(syn_mul(y, tensor(t, T, WIDTH, of_y.dx))))) return 1;
  for (int i = 0; i < count; i++) same += same_bits(w[i]->dx, of[i].dx, syn_count(w[i]));
  printf("%-12s bits of the library: answers %s, %d of %d gradients\n", text,
         same_bits(y->x, of_y.x, syn_count(y)) ? "yes" : "NO", same, count);
  return 0;
}

int main(void) {
  static const char *const kinds[] = {"R", "FR", "D", "V", "R+V"};
  static const char *const of_r[] = {"decoder", "decoder.0.w_v", "decoder.0.w_o", "decoder.0.r",
                                     NULL};
  static const char *const of_fr[] = {"decoder", "decoder.0.w_v", "decoder.0.w_o",
                                      "decoder.0.r1", "decoder.0.r2", NULL};
  static const char *const of_d[] = {"decoder", "decoder.0.w_v", "decoder.0.w_o", "decoder.0.d_w1",
                                     "decoder.0.d_b1", "decoder.0.d_w2", "decoder.0.d_b2", NULL};
  syn_context c;
  char text[100];
  syn_context_init(&c, NULL);
  if (by_hand(&c, "R", of_r) || by_hand(&c, "FR", of_fr) || by_hand(&c, "D", of_d))
    return puts(c.message), 1;
  printf("\n%% right after %d updates\n%8s%10s%10s%10s\n", UPDATES, "", "copy", "sort", "look up");
  for (int i = 0; i < 5; i++) {
    printf("%8s", kinds[i]);
    /* pos adds numbers for the places, ffl is a layer of neurons; res_nd and norm: lesson 9 */
    snprintf(text, sizeof text, "pos -> res_nd(syn_att(%s)) -> res_nd(ffl) -> norm", kinds[i]);
    for (int task = COPY; task <= LOOK_UP; task++) {
      syn_model *m = train(&c, text, task, UPDATES);
      printf("%10.1f", score(&c, m, task));
      syn_model_free(m);
    }
    printf("\n");
  }
  return c.status ? puts(c.message), 1 : 0;
}

/* To try: WIDTH = 32: R and D look up 63 and 70 %, and sort better than V, though they still do not
   compare. What can an average of 32 numbers hold that one of 16 cannot? WIDTH = 64? More UPDATES.
   Two layers: in main, put repeat(2, ...) around the part "res_nd(syn_att(%s)) -> res_nd(ffl)" of
   the text. */
