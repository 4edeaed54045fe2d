/* 09   The n best translations, the score of a given one, and which word became which

   Idea: beam search keeps the best outputs. syn_score tells what the network thinks of any answer,
   syn_align, from its attention, which source word became which word of the output.
   Compile, run:  cc -O2 -c library.c && cc 09_translate.c library.o -lm && ./a.out
   Prints:
      -0.01 ma maison rouge brille
      -5.73 ma maison large brille
     log p  -0.01 ma maison rouge brille
     log p -35.37 ma rouge maison brille
     source words: 0 2 1 3 */
#include "../../synthesizer.h"
#include <stdio.h>
enum { ROWS = 255 }; /* of 256 sentences: the last one is not learned */
static const char *const words[4][4][2] = {
    {{"your", "ta"}, {"his", "sa"}, {"our", "notre"}, {"my", "ma"}},
    {{"clean", "propre"}, {"yellow", "jaune"}, {"wide", "large"}, {"red", "rouge"}},
    {{"doll", "poupee"}, {"car", "voiture"}, {"lamp", "lampe"}, {"house", "maison"}},
    {{"falls", "tombe"}, {"waits", "attend"}, {"moves", "bouge"}, {"shines", "brille"}}};
int main(void) {
  static char english[ROWS][40], french[ROWS][40];
  syn_text texts[2][ROWS], source = syn_text_of("my red house shines");
  for (int i = 0; i < ROWS; i++) {
    const char *const *a = words[0][i % 4], *const *b = words[1][i / 4 % 4];
    const char *const *e = words[2][i / 16 % 4], *const *f = words[3][i / 64];
    sprintf(english[i], "%s %s %s %s", a[0], b[0], e[0], f[0]);
    sprintf(french[i], "%s %s %s %s", a[1], e[1], b[1], f[1]);
    texts[0][i] = syn_text_of(english[i]);
    texts[1][i] = syn_text_of(french[i]);
  }
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "space", .tgt_tokenizer = "space", .encoder = "pos -> norm",
                  .decoder = "pos -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm", .d_model = 32,
                  .heads = 1, .max_len = 16, .batch_tokens = 500, .lr = 0.005f, .steps = 400};
  syn_learn_config how = {.task = "seq2seq", .choice = &k};
  syn_model *m = syn_learn(&c, &how, texts[0], texts[1], ROWS);
  syn_decoder *d = syn_decoder_new(&c, m, &(syn_decode_config){.beam = 4, .best = 2});
  syn_run *run = syn_run_new(&c, m, NULL);
  const char *const given[] = {"ma maison rouge brille", "ma rouge maison brille"};
  float score, log_p[16];
  char out[80];
  int word[8], n;
  syn_decoder_run_text(d, source, syn_text_of(""), NULL, NULL);
  for (int rank = 0; syn_decoder_output_text(d, 0, rank, out, sizeof out, &score); rank++)
    printf("%6.2f %s\n", (double)score, out);
  for (int i = 0; i < 2; i++) {
    double sum = 0.0;
    n = syn_score(run, source, syn_text_of(given[i]), log_p, 16);
    for (int j = 0; j < n; j++) sum += (double)log_p[j]; /* of the words and of the end */
    printf("log p %6.2f %s\n", sum, given[i]);
  }
  n = syn_align(run, source, syn_text_of(given[0]), word, 8);
  for (int i = 0; i < n; i++) printf(i ? " %d" : "source words: %d", word[i]);
  if (c.status != SYN_OK) fprintf(stderr, "translate: %s", c.message);
  syn_run_free(run);
  syn_decoder_free(d);
  syn_model_free(m);
  return printf("\n") < 0 || c.status != SYN_OK;
}
