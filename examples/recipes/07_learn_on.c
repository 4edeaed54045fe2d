/* 07   Learning on at run time without forgetting: old rows are mixed with the new ones

   Idea: a program ships with a model, and its user corrects some answers. A model that learns these
   alone answers others wrong. Rehearsal: old rows, or some of them, are learned together with them.
   Compile, run:  cc -O2 -c library.c && cc 07_learn_on.c library.o -lm && ./a.out
   Prints:
     as it ships: 5 old rows right of 5, 1 new ones of 2
     corrections alone: 2 old rows right of 5, 2 new ones of 2
     corrections and old rows: 5 old rows right of 5, 2 new ones of 2 */
#include "../../synthesizer.h"
#include <stdio.h>
#include <string.h>
enum { OLD = 5, NEW = 2, ROWS = OLD + NEW };
static const char *const rows[ROWS][2] = { /* from OLD on: the corrections of the user */
    {"the server is down", "urgent"}, {"nobody can log in", "urgent"}, {"a typo", "later"},
    {"please change the logo", "later"}, {"could we get a new color", "later"},
    {"the printer smells burnt", "urgent"}, {"water in the basement", "urgent"}};
static void show(syn_context *c, const syn_model *m, const char *name) {
  syn_run *run = syn_run_new(c, m, NULL);
  int right[2] = {0, 0};
  for (int i = 0; i < ROWS; i++) {
    syn_text got = syn_classify(run, syn_text_of(rows[i][0]), NULL);
    right[i >= OLD] += got.size == strlen(rows[i][1]) && !memcmp(got.at, rows[i][1], got.size);
  }
  if (c->status == SYN_OK) /* all was learned, and all rows have an answer */
    printf("%s: %d old rows right of %d, %d new ones of %d\n", name, right[0], OLD, right[1], NEW);
  syn_run_free(run);
}
/* Rows from `first` on change the weights of a model, not its classes: a new one is an error. */
static void learn_on(syn_context *c, syn_model *m, int first, const char *name) {
  syn_train_config how = {.schedule = "constant", .lr = 0.01f, .steps = 30};
  syn_data *data = syn_data_new(c);
  syn_trainer *t = syn_trainer_new(c, m, &how);
  for (int i = first; i < ROWS; i++)
    syn_data_add_text(data, m, syn_text_of(rows[i][0]), syn_text_of(rows[i][1]));
  syn_trainer_run(t, data, NULL, NULL, NULL);
  syn_trainer_free(t);
  syn_data_free(data);
  show(c, m, name);
}
int main(void) {
  syn_text column[2][OLD];
  for (int i = 0; i < 2 * OLD; i++) column[i % 2][i / 2] = syn_text_of(rows[i / 2][i % 2]);
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "byte", .tgt_tokenizer = "line", .d_model = 32, .heads = 4,
                  .encoder = "res(cnn(k=5, act=relu))", .max_len = 64, .lr = 0.01f, .steps = 60};
  syn_learn_config how = {.task = "classify", .choice = &k};
  syn_model *m = syn_learn(&c, &how, column[0], column[1], OLD);
  syn_model_save(&c, m, "tickets.safetensors");
  syn_model *alone = syn_model_load(&c, "tickets.safetensors");
  remove("tickets.safetensors");
  show(&c, m, "as it ships");
  learn_on(&c, alone, OLD, "corrections alone");
  learn_on(&c, m, 0, "corrections and old rows");
  if (c.status != SYN_OK) fprintf(stderr, "learn on: %s\n", c.message);
  syn_model_free(alone);
  syn_model_free(m);
  return c.status != SYN_OK;
}
