/* 01   A classifier learned from texts in memory; it shows its progress, and Ctrl-C stops it

   Idea: syn_learn chooses tokenizers, network and training for the texts and the minutes. It calls
   `progress` after every update; a result that is not 0 ends the training, and there is a model
   all the same. syn_classify gives the name of the class and the probability of each class.

   Compile, run:  cc -O2 -c library.c && cc 01_classify.c library.o -lm && ./a.out
   Prints:
     could you dim the desk light: light
     I would like to hear some jazz: music
     please wake me at noon: alarm */
#include "../../synthesizer.h"
#include <signal.h>
#include <stdio.h>
enum { ROWS = 48, CLASSES = 3, ASKED = 3 };
static const char *const start[] = {"please", "could you", "I would like to", "now"};
static const char *const orders[CLASSES][5] = { /* a class, what to do, with what */
    {"light", "switch on", "dim", "the desk light", "the lamp"},
    {"music", "play", "hear", "some jazz", "a slow song"},
    {"alarm", "set an alarm", "wake me", "at noon", "at six"}};
static const char *const asked[ASKED] = {
    "could you dim the desk light", "I would like to hear some jazz", "please wake me at noon"};
static volatile sig_atomic_t stopped;
static void on_interrupt(int number) { stopped = number; }
static int progress(void *user, const syn_trainer *t, float loss, int validated) {
  const syn_train_state *s = syn_trainer_state(t);
  (void)user, (void)validated;
  if (s->step % 20 == 0) fprintf(stderr, "update %ld, loss %.3f\n", (long)s->step, (double)loss);
  return stopped; /* not 0: end here, with what is learned so far */
}
int main(void) {
  static char rows[ROWS][80];
  syn_text texts[ROWS], labels[ROWS];
  syn_context c; /* keeps the first error: look at it once, at the end */
  syn_context_init(&c, NULL);
  signal(SIGINT, on_interrupt);
  for (int i = 0; i < ROWS; i++) {
    const char *const *order = orders[i % CLASSES];
    sprintf(rows[i], "%s %s %s", start[i / 12], order[1 + i / 3 % 2], order[3 + i / 6 % 2]);
    labels[i] = syn_text_of(order[0]);
    texts[i] = syn_text_of(rows[i]);
  }
  syn_learn_config how = {.task = "classify", .minutes = 0.05, .report = progress};
  syn_model *m = syn_learn(&c, &how, texts, labels, ROWS);
  syn_run *run = syn_run_new(&c, m, NULL);
  for (int i = 0; i < ASKED; i++) {
    float p[CLASSES]; /* as many as syn_model_config(m)->classes: the labels that differ */
    syn_text label = syn_classify(run, syn_text_of(asked[i]), p);
    if (label.size == 0) break; /* an error */
    printf("%s: %.*s\n", asked[i], (int)label.size, label.at);
    for (int k = 0; k < CLASSES; k++) {
      syn_text name = syn_model_class_name(m, k);
      fprintf(stderr, "  %.*s %.2f\n", (int)name.size, name.at, (double)p[k]);
    }
  }
  if (c.status != SYN_OK) fprintf(stderr, "classify: %s\n", c.message);
  syn_run_free(run);
  syn_model_free(m);
  return c.status != SYN_OK;
}
