/* 02   Completion in an editor: a language model of characters goes on from the cursor

   Idea: the prompt is all the text before the cursor. It is longer than max_len, so its head is
   cut and the newest characters stay. Each seed gives a suggestion, which ends at a line end.

   Compile, run:  cc -O2 -c library.c && cc 02_complete.c library.o -lm && ./a.out
   Prints:
     for (int |i = 0; i < n; i++) sum += i;
     for (int |k = 0; k < n; k++) sum += k;
     for (int |size = 0; size < n; size++) sum += size; */
#include "../../synthesizer.h"
#include <stdio.h>
#include <string.h>
enum { LINES = 600, LONGEST = 60, SUGGESTED = 45 }; /* bytes of a line; characters */
static const char *const form[] = {"for (int %s = 0; %s < n; %s++) sum += %s;\n",
                                   "if (%s == NULL) return NULL;\n", "while (%s > 0) %s--;\n",
                                   "int %s = 0;\n", "return %s;\n"};
static const char *const name[] = {"i", "k", "size", "count", "node"};
static const char typed[] = "for (int ";
typedef struct line {
  char text[4 * SUGGESTED + 1]; /* a character has at most 4 bytes */
  size_t size;
} line;
static int collect(void *user, syn_text piece) { /* here one character at a time */
  line *to = (line *)user;
  if (*piece.at == '\n' || to->size + piece.size >= sizeof to->text) return 1; /* not 0: stop */
  memcpy(to->text + to->size, piece.at, piece.size);
  to->size += piece.size;
  return 0;
}
int main(void) {
  static char text[LINES * LONGEST + sizeof typed];
  syn_random random = {.state = 1};
  size_t size = 0;
  for (int i = 0; i < LINES; i++) {
    const char *v = name[syn_random_below(&random, 5)];
    size += (size_t)sprintf(text + size, form[syn_random_below(&random, 5)], v, v, v, v);
  }
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.tgt_tokenizer = "char", .d_model = 48, .heads = 4, .max_len = 96,
                  .decoder = "pos -> repeat(2, res_nd(cnn(k=6)) -> res_nd(syn_att(V))) -> norm",
                  .batch_tokens = 1000, .lr = 0.005f, .steps = 300};
  syn_learn_config how = {.task = "lm", .choice = &k};
  syn_model *m = syn_learn(&c, &how, NULL, &(syn_text){text, size}, 1);
  syn_decoder *d = syn_decoder_new(&c, m, &(syn_decode_config){.temperature = 0.6f, .top_k = 5});
  uint64_t seed;
  syn_decoder_set_seeds(d, &seed); /* keeps the pointer: every run reads the seed of then */
  syn_decoder_set_limit(d, SUGGESTED);
  strcpy(text + size, typed);
  for (seed = 2; seed < 5; seed++) {
    line end = {{0}, 0};
    if (syn_decoder_run_text(d, syn_text_of(""), syn_text_of(text), collect, &end)) break;
    printf("%s|%s\n", typed, end.text);
  }
  if (c.status != SYN_OK) fprintf(stderr, "complete: %s\n", c.message);
  syn_decoder_free(d);
  syn_model_free(m);
  return c.status != SYN_OK;
}
