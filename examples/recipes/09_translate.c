/* 09   The n best translations, the score of a given one, and which word became which

   Idea: a beam keeps the best outputs; syn_score and syn_align ask the network about any answer.
   Compile, run:  cc -O2 -c library.c && cc 09_translate.c library.o -lm && ./a.out
   Prints:
      -0.01 ma maison rouge brille
      -5.73 ma maison large brille
     log p  -0.01 ma maison rouge brille
     log p -35.37 ma rouge maison brille
     source words: 0 2 1 3 */
#include "../../synthesizer.h"
#include <stdio.h>
enum { ROWS = 255, MAX_LEN = 16, BEST = 2 }; /* of 256 sentences the last one is not learned */
static const char *const words[4][4][2] = {
    {{"your", "ta"}, {"his", "sa"}, {"our", "notre"}, {"my", "ma"}},
    {{"clean", "propre"}, {"yellow", "jaune"}, {"wide", "large"}, {"red", "rouge"}},
    {{"doll", "poupee"}, {"car", "voiture"}, {"lamp", "lampe"}, {"house", "maison"}},
    {{"falls", "tombe"}, {"waits", "attend"}, {"moves", "bouge"}, {"shines", "brille"}}};
int main(void) {
  static char text[2][ROWS][40];
  syn_text texts[2][ROWS], source = syn_text_of("my red house shines");
  for (int i = 0; i < ROWS; i++) {
    const char *const *a = words[0][i % 4], *const *b = words[1][i / 4 % 4];
    const char *const *e = words[2][i / 16 % 4], *const *f = words[3][i / 64];
    sprintf(text[0][i], "%s %s %s %s", a[0], b[0], e[0], f[0]);
    sprintf(text[1][i], "%s %s %s %s", a[1], e[1], b[1], f[1]);
    for (int k = 0; k < 2; k++) texts[k][i] = syn_text_of(text[k][i]);
  }
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "space", .tgt_tokenizer = "space", .encoder = "pos -> norm",
                  .decoder = "pos -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm", .d_model = 32,
                  .heads = 1, .max_len = MAX_LEN, .batch_tokens = 500, .lr = 0.005f, .steps = 400};
  syn_learn_config how = {.task = "seq2seq", .choice = &k};
  syn_model *m = syn_learn(&c, &how, texts[0], texts[1], ROWS);
  syn_decoder *d = syn_decoder_new(&c, m, &(syn_decode_config){.beam = 4, .best = BEST});
  syn_run *run = syn_run_new(&c, m, NULL);
  const char *const given[] = {"ma maison rouge brille", "ma rouge maison brille"};
  float score, log_p[MAX_LEN];
  char out[8 * MAX_LEN]; /* a word of the target has at most 7 letters */
  syn_decoder_run_text(d, source, syn_text_of(""), NULL, NULL);
  for (int rank = 0; syn_decoder_output(d, 0, rank, NULL, &score); rank++) {
    syn_decoder_output_text(d, 0, rank, out, sizeof out, NULL);
    printf("%6.2f %s\n", (double)score, out);
  }
  for (int i = 0; i < 2; i++) {
    double sum = 0.0;
    int n = syn_score(run, source, syn_text_of(given[i]), log_p, MAX_LEN);
    for (int j = 0; j < n; j++) sum += (double)log_p[j]; /* of the words and of the end */
    if (n >= 0) printf("log p %6.2f %s\n", sum, given[i]); /* -1: an error */
  }
  int word[MAX_LEN], n = syn_align(run, source, syn_text_of(given[0]), word, MAX_LEN);
  for (int i = 0; i < n && i < MAX_LEN; i++)
    printf("%s%d%s", i ? " " : "source words: ", word[i], i + 1 < n ? "" : "\n");
  if (c.status != SYN_OK) fprintf(stderr, "translate: %s\n", c.message);
  syn_run_free(run);
  syn_decoder_free(d);
  syn_model_free(m);
  return c.status != SYN_OK;
}
