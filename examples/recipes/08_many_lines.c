/* 08   10,000 lines through a decoder, with threads and progress

   Idea: syn_decoder_run_texts takes all texts at once. It decodes those of similar length together,
   and calls back once for each text, in the order in which they are done; the number of calls is
   the progress. The library's loops use the threads of the context (-fopenmp; else one).

   Compile, run:  cc -O2 -fopenmp -c library.c && cc -fopenmp 08_many_lines.c library.o -lm &&
                  ./a.out
   Prints:
     10000 lines, 9982 right */
#include "../../synthesizer.h"
#include <stdio.h>
#include <string.h>
enum { LINES = 10000, ROWS = 1000, DIGITS = 5 };
static const char *const words[] = {"zero", "one", "two", "three", "four",
                                    "five", "six", "seven", "eight", "nine"};
static char text[LINES][DIGITS * 6 + 1], want[LINES][DIGITS + 1]; /* "seven " is 6 bytes */
typedef struct results {
  char out[LINES][DIGITS + 2]; /* one more than wanted shows that an output is too long */
  int done;
} results;
static int on_done(void *user, const syn_decoder *d, size_t index, int sentence) {
  results *r = (results *)user; /* the outputs of d are there until this function returns */
  syn_decoder_output_text(d, sentence, 0, r->out[index], sizeof r->out[index], NULL);
  if (++r->done % 1000 == 0) fprintf(stderr, "%d of %d\n", r->done, LINES);
  return 0; /* not 0: end here */
}

int main(void) {
  static syn_text texts[LINES], targets[ROWS];
  static results r;
  syn_random random = {.state = 1};
  int right = 0;
  for (int i = 0; i < LINES; i++) {
    int n = 1 + syn_random_below(&random, DIGITS);
    for (int k = 0; k < n; k++) {
      int digit = syn_random_below(&random, 10);
      sprintf(text[i] + strlen(text[i]), "%s ", words[digit]);
      want[i][k] = (char)('0' + digit);
    }
    texts[i] = syn_text_of(text[i]);
    if (i < ROWS) targets[i] = syn_text_of(want[i]);
  }
  syn_context c;
  syn_options options = {.threads = 2};
  syn_context_init(&c, &options);
  syn_choice k = {.src_tokenizer = "space", .tgt_tokenizer = "char", .encoder = "pos -> norm",
                  .decoder = "pos -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm", .d_model = 32,
                  .heads = 1, .max_len = 8, .batch_tokens = 500, .lr = 0.005f, .steps = 600};
  syn_learn_config how = {.task = "seq2seq", .choice = &k};
  syn_model *m = syn_learn(&c, &how, texts, targets, ROWS);
  syn_decoder *d = syn_decoder_new(&c, m, &(syn_decode_config){.sentences = 64});
  syn_decoder_run_texts(d, texts, NULL, LINES, on_done, &r);
  for (int i = 0; i < LINES; i++) right += !strcmp(r.out[i], want[i]);
  if (c.status == SYN_OK) printf("%d lines, %d right\n", r.done, right);
  else fprintf(stderr, "many lines: %s\n", c.message);
  syn_decoder_free(d);
  syn_model_free(m);
  return c.status != SYN_OK;
}
