/* 10   Several models in one program, and several threads that use them

   Idea: a model that nobody trains is const: any number of threads may use it at once. A context
   belongs to one thread at a time, and so do the runs and decoders made with it.

   Compile, run:  cc -O2 -c library.c && cc 10_threads.c library.o -lm -lpthread && ./a.out
   Prints:
     this day was good: english, content yes
     das ist zu schlimm: german, content no
     ich mag das: german, content yes */
#include "../../synthesizer.h"
#include <pthread.h>
#include <stdio.h>
enum { ROWS = 8, ASKED = 3, THREADS = 2 };
static const char *const rows[ROWS][3] = { /* a text, its language, whether somebody is content */
    {"that was very good", "english", "yes"}, {"I like this song", "english", "yes"},
    {"what a bad day", "english", "no"},      {"this is too slow", "english", "no"},
    {"das war sehr gut", "german", "yes"},    {"das Lied mag ich", "german", "yes"},
    {"der Tag war schlimm", "german", "no"},  {"es ist zu langsam", "german", "no"}};
static const char *const asked[ASKED] = {"this day was good", "das ist zu schlimm", "ich mag das"};
static syn_text answer[ASKED][2];  /* each element is written by one thread */
static const syn_model *models[2]; /* set before the threads begin */
static void *work(void *first) {   /* returns null, or not null after an error */
  syn_run *run[2];
  syn_context c; /* of this thread */
  syn_context_init(&c, NULL);
  for (int k = 0; k < 2; k++) run[k] = syn_run_new(&c, models[k], NULL);
  for (int i = *(const int *)first; i < ASKED; i += THREADS)
    for (int k = 0; k < 2; k++) answer[i][k] = syn_classify(run[k], syn_text_of(asked[i]), NULL);
  if (c.status != SYN_OK) fprintf(stderr, "a thread: %s\n", c.message);
  for (int k = 0; k < 2; k++) syn_run_free(run[k]);
  return c.status == SYN_OK ? NULL : first;
}
int main(void) {
  int first[THREADS] = {0, 1}, failed = 1;
  syn_text column[3][ROWS];
  for (int i = 0; i < 3 * ROWS; i++) column[i % 3][i / 3] = syn_text_of(rows[i / 3][i % 3]);
  syn_context c; /* of the models, and of the thread that makes them */
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "space", .tgt_tokenizer = "line", .encoder = "ff(act=tanh)",
                  .d_model = 16, .heads = 4, .max_len = 16, .lr = 0.01f, .steps = 60};
  syn_learn_config how = {.task = "classify", .choice = &k};
  syn_model *m[2] = {syn_learn(&c, &how, column[0], column[1], ROWS),
                     syn_learn(&c, &how, column[0], column[2], ROWS)};
  for (int i = 0; i < 2; i++) models[i] = m[i];
  pthread_t other;
  if (c.status != SYN_OK) fprintf(stderr, "threads: %s\n", c.message);
  else if (pthread_create(&other, NULL, work, &first[1])) fprintf(stderr, "no other thread\n");
  else {
    void *mine = work(&first[0]), *others; /* this thread works, too */
    failed = pthread_join(other, &others) || mine || others;
  }
  for (int i = 0; i < ASKED && !failed; i++) {
    const syn_text *a = answer[i]; /* names of classes, which live as long as the models */
    printf("%s: %.*s, content %.*s\n", asked[i], (int)a[0].size, a[0].at, (int)a[1].size, a[1].at);
  }
  for (int i = 0; i < 2; i++) syn_model_free(m[i]);
  return failed;
}
