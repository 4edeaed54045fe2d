/* 03   Spelling: characters of a word with a mistake become those of the right word

   Idea: words are misspelled at random, and a network learns to correct them. A beam search keeps
   the best outputs with their scores, log p / ((5 + tokens) / 6)^alpha, to offer several or none.

   Compile, run:  cc -O2 -c library.c && cc 03_spelling.c library.o -lm && ./a.out
   Prints:
     recieve: receive -0.05 rieceive -3.07
     goverment: government -0.06 governmennt -2.97
     tommorow: tomorrow -0.09 tomorroow -2.40
     freind: friend -0.04 friendd -3.63 */
#include "../../synthesizer.h"
#include <stdio.h>
#include <string.h>
enum { WORDS = 12, ROWS = 2400, ASKED = 4, BEST = 2, MAX_LEN = 24 };
static const char *const words[WORDS] = {
    "address", "because", "believe", "calendar", "foreign", "friend",
    "government", "necessary", "piece", "receive", "separate", "tomorrow"};
static const char *const typed[ASKED] = {"recieve", "goverment", "tommorow", "freind"};
/* One letter is lost, doubled, or changes places with the next one: a word has two or more. */
static void misspell(syn_random *r, const char *word, char out[MAX_LEN]) {
  int at = syn_random_below(r, (int)strlen(word) - 1), how = syn_random_below(r, 3);
  if (how == 0) sprintf(out, "%.*s%s", at, word, word + at + 1);
  if (how == 1) sprintf(out, "%.*s%c%s", at, word, word[at], word + at);
  if (how == 2) sprintf(out, "%.*s%c%c%s", at, word, word[at + 1], word[at], word + at + 2);
}
int main(void) {
  static char wrong[ROWS][MAX_LEN];
  syn_text sources[ROWS], targets[ROWS];
  syn_random random = {.state = 1};
  for (int i = 0; i < ROWS; i++) {
    misspell(&random, words[i % WORDS], wrong[i]);
    sources[i] = syn_text_of(wrong[i]);
    targets[i] = syn_text_of(words[i % WORDS]);
  }
  char out[4 * MAX_LEN + 1]; /* a character has at most 4 bytes */
  float score;
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "char", .tgt_tokenizer = "char", .d_model = 32, .heads = 4,
                  .encoder = "pos -> res_nd(cnn(k=3)) -> res_nd(ffl) -> norm",
                  .decoder = "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> norm",
                  .max_len = MAX_LEN, .batch_tokens = 1000, .lr = 0.01f, .steps = 200};
  syn_learn_config how = {.task = "seq2seq", .choice = &k};
  syn_model *m = syn_learn(&c, &how, sources, targets, ROWS);
  syn_decoder *d = syn_decoder_new(&c, m, &(syn_decode_config){.beam = 4, .best = BEST});
  for (int i = 0; i < ASKED; i++) {
    if (syn_decoder_run_text(d, syn_text_of(typed[i]), syn_text_of(""), NULL, NULL)) break;
    printf("%s:", typed[i]);
    for (int rank = 0; syn_decoder_output(d, 0, rank, NULL, &score); rank++) {
      syn_decoder_output_text(d, 0, rank, out, sizeof out, NULL);
      printf(" %s %.2f", out, (double)score);
    }
    printf("\n");
  }
  if (c.status != SYN_OK) fprintf(stderr, "spelling: %s\n", c.message);
  syn_decoder_free(d);
  syn_model_free(m);
  return c.status != SYN_OK;
}
