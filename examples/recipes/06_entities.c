/* 06   Named entities: a tag for each word of a text whose tokens are characters

   Idea: a person or a place that was never seen is recognized by its letters and by the words
   around it. Tags are given word by word, "B-PER I O": B begins a name, I goes on with it, O is
   none. syn_tag gives them back word by word; from B on, words and their I become a span.
   Compile, run:  cc -O2 -c library.c && cc 06_entities.c library.o -lm && ./a.out
   Prints:
     PER: Berta Sorel
     LOC: Tarona */
#include "../../synthesizer.h"
#include <stdio.h>
enum { ROWS = 600, LONGEST = 100, WORDS = LONGEST / 2 }; /* characters, words of a text */
static const char *const form[][2] = {{"yesterday %s %s flew to %s", "O B-PER I O O B-LOC"},
    {"%s %s lives in %s now", "B-PER I O O B-LOC O"}, {"we met %s %s in %s", "O O B-PER I O B-LOC"},
    {"the mayor %s %s came from %s", "O O B-PER I O O B-LOC"}};
static void make_name(syn_random *r, char *name) { /* a capital letter, then a few syllables */
  *name++ = (char)('A' + syn_random_below(r, 26));
  for (int i = 4 + 2 * syn_random_below(r, 2); i > 0; i--)
    *name++ = i % 2 ? "lmnrst"[syn_random_below(r, 6)] : "aeiou"[syn_random_below(r, 5)];
  *name = 0;
}
int main(void) {
  static char text[ROWS][LONGEST], name[3][16];
  syn_text texts[ROWS], tags[ROWS];
  syn_random random = {.state = 1};
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < 3; k++) make_name(&random, name[k]);
    sprintf(text[i], form[i % 4][0], name[0], name[1], name[2]);
    texts[i] = syn_text_of(text[i]);
    tags[i] = syn_text_of(form[i % 4][1]);
  }
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.src_tokenizer = "char", .tgt_tokenizer = "space", .d_model = 32, .heads = 4,
                  .encoder = "cnn(k=5) -> birnn(32, gru) -> birnn(32, gru) -> norm",
                  .max_len = LONGEST, .batch_tokens = 2000, .lr = 0.01f, .steps = 60};
  syn_model *m = syn_learn(&c, &(syn_learn_config){.task = "tag", .choice = &k}, texts, tags, ROWS);
  syn_run *run = syn_run_new(&c, m, NULL);
  const syn_text line = syn_text_of("the mayor Berta Sorel flew to Tarona yesterday");
  size_t at = 0;
  int tag[WORDS], words = syn_tag(run, line, tag, WORDS); /* -1: an error */
  for (int i = 0; i < words && i < WORDS; i++) {
    syn_text word = syn_text_word(line, &at), type = syn_model_class_name(m, tag[i]);
    if (*type.at != 'B') continue;
    for (; i + 1 < words && i + 1 < WORDS && *syn_model_class_name(m, tag[i + 1]).at == 'I'; i++)
      syn_text_word(line, &at);
    printf("%.*s: %.*s\n", (int)type.size - 2, type.at + 2, (int)(line.at + at - word.at), word.at);
  }
  if (c.status != SYN_OK) fprintf(stderr, "entities: %s\n", c.message);
  syn_run_free(run);
  syn_model_free(m);
  return c.status != SYN_OK;
}
