/* 06   Named entities: a tag for each word of a text whose tokens are characters

   Idea: a person or a place that was never seen is recognized by its letters and by the words
   around it. Tags are given word by word, "B-PER I-PER O": B begins a name, I goes on with it, O
   is none. syn_tag gives them back word by word; from B on, words and their I become a span.

   Compile, run:  cc -O2 -c library.c && cc 06_entities.c library.o -lm && ./a.out
   Prints:
     PER: Berta Sorel
     LOC: Tarona */
#include "../../synthesizer.h"
#include <stdio.h>
#include <string.h>
enum { ROWS = 600, WORDS = 20 };
static const char *const form[][2] = {
    {"yesterday %s %s flew to %s", "O B-PER I-PER O O B-LOC"},
    {"%s %s lives in %s now", "B-PER I-PER O O B-LOC O"},
    {"we met %s %s near %s", "O O B-PER I-PER O B-LOC"},
    {"the mayor %s %s came from %s", "O O B-PER I-PER O O B-LOC"}};

/* A capital letter, then a few syllables: nobody has this name. */
static void make_name(syn_random *r, char name[16]) {
  int n = sprintf(name, "%c", 'A' + syn_random_below(r, 26));
  for (int i = 2 + syn_random_below(r, 2); i > 0; i--)
    n += sprintf(name + n, "%c%c", "aeiou"[syn_random_below(r, 5)],
                 "lmnrst"[syn_random_below(r, 6)]);
}
int main(void) {
  static char text[ROWS][100], name[3][16];
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
                  .max_len = 100, .batch_tokens = 2000, .lr = 0.01f, .steps = 60};
  syn_learn_config how = {.task = "tag", .choice = &k};
  syn_model *m = syn_learn(&c, &how, texts, tags, ROWS);
  syn_run *run = syn_run_new(&c, m, NULL);
  const char *line = "the mayor Berta Sorel flew to Tarona yesterday", *at = line;
  int tag[WORDS], words = syn_tag(run, syn_text_of(line), tag, WORDS); /* -1: an error */
  for (int i = 0; i < words && i < WORDS; i++, at += strcspn(at, " ") + 1) {
    syn_text name = syn_model_class_name(m, tag[i]);
    size_t size = strcspn(at, " ");
    if (*name.at != 'B') continue;
    for (int k = i + 1; k < words && *syn_model_class_name(m, tag[k]).at == 'I'; k++)
      size += 1 + strcspn(at + size + 1, " ");
    printf("%.*s: %.*s\n", (int)name.size - 2, name.at + 2, (int)size, at);
  }
  if (c.status != SYN_OK) fprintf(stderr, "entities: %s\n", c.message);
  syn_run_free(run);
  syn_model_free(m);
  return c.status != SYN_OK;
}
