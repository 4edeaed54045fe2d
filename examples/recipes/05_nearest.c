/* 05   Nearest sentences: vectors of a text encoder, compared by their dot product

   Idea: a classifier learns which requests belong together. The mean of its encoder's output over
   the tokens of a text is a vector of what is meant: with length 1 the dot product of two is their
   cosine, and the nearest text need not have a word in common with the question.

   Compile, run:  cc -O2 -c library.c && cc 05_nearest.c library.o -lm && ./a.out
   Prints:
     turn off bulbs: dim our kitchen, 0.90
     put on this album: play some jazz, 0.87
     get me up late: wake me at six, 0.94 */
#include "../../synthesizer.h"
#include <stdio.h>
enum { ROWS = 48, STORED = 4, ASKED = 3, WIDTH = 32 };
static const char *const orders[][9] = { /* a class, what to do, with what */
    {"light", "switch on", "dim", "turn off", "light up", "the lamp", "our kitchen", "bulbs",
     "here"},
    {"music", "play", "hear", "put on", "start", "some jazz", "a song", "this album", "the radio"},
    {"alarm", "set an alarm", "wake me", "ring", "get me up", "at noon", "at six", "now", "late"}};
static const char *const stored[STORED] = {"switch on the lamp", "play some jazz", "wake me at six",
                                           "dim our kitchen"};
static const char *const asked[ASKED] = {"turn off bulbs", "put on this album", "get me up late"};

int main(void) {
  static char rows[ROWS][80];
  syn_text texts[ROWS], labels[ROWS];
  for (int i = 0; i < ROWS; i++) {
    const char *const *order = orders[i % 3];
    sprintf(rows[i], "%s %s", order[1 + i / 3 % 4], order[5 + i / 12]);
    texts[i] = syn_text_of(rows[i]);
    labels[i] = syn_text_of(order[0]);
  }
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "space", .tgt_tokenizer = "line", .d_model = WIDTH, .heads = 4,
                  .encoder = "res(cnn(k=3, act=tanh)) -> norm", .max_len = 16, .lr = 0.01f,
                  .steps = 40};
  syn_learn_config how = {.task = "classify", .choice = &k};
  syn_model *m = syn_learn(&c, &how, texts, labels, ROWS);
  syn_run *run = syn_run_new(&c, m, NULL);
  const int what = SYN_VECTOR_MEAN + SYN_VECTOR_UNIT;
  float vector[STORED][WIDTH] = {{0}}, v[WIDTH] = {0};
  for (int i = 0; i < STORED; i++) syn_embed(run, syn_text_of(stored[i]), what, vector[i], WIDTH);
  for (int q = 0; q < ASKED && c.status == SYN_OK; q++) {
    float best = -2.0f;
    int nearest = 0;
    if (syn_embed(run, syn_text_of(asked[q]), what, v, WIDTH) < 0) break;
    for (int i = 0; i < STORED; i++) {
      float cosine = 0.0f;
      for (int j = 0; j < WIDTH; j++) cosine += v[j] * vector[i][j];
      if (cosine > best) nearest = i;
      if (cosine > best) best = cosine;
    }
    printf("%s: %s, %.2f\n", asked[q], stored[nearest], (double)best);
  }
  if (c.status != SYN_OK) fprintf(stderr, "nearest: %s\n", c.message);
  syn_run_free(run);
  syn_model_free(m);
  return c.status != SYN_OK;
}
