/* Exercise 10   Two merges of byte pair encoding, and what a validation says

   Three words of tokens, then the losses of a training. See lesson 10. Check it: make check N=10 */

#include "../check.h"
enum { WORDS = 3, LENGTH = 7, TOKENS = 7, LETTERS = 5, TEXT = 7, VALIDATIONS = 9 };

/* The words as tokens: 0 .. 4 are letters, 5 and 6 the tokens of the merges, -1 ends a word. */
static int words[WORDS][LENGTH + 1] = {
  {0, 1, 2, 3, -1}, {2, 1, 2, 4, 2, 1, 2, -1}, {4, 3, 1, -1}};
static const int times[WORDS] = {8, 2, 9}; /* how often each word occurs in the text */
static float pairs[TOKENS][TOKENS];

static void count_pairs(const char *name) {
  memset(pairs, 0, sizeof pairs);
  /* 1. pairs[a][b]: how often token a stands before token b in the text. What does this place of
     word w add? */
  for (int w = 0; w < WORDS; w++)
    for (int i = 0; words[w][i + 1] >= 0; i++)
      pairs[words[w][i]][words[w][i + 1]] += HOLE;
  check_array(name, &pairs[0][0], TOKENS, TOKENS);
}

/* The most frequent pair becomes the token `merged` in all words. */
static void merge(int merged, const char *name) {
  float shown[WORDS][LENGTH], pair[2];
  int left = 0, right = 0;
  /* 2. Is the pair a b more frequent than the pair left right? Of equal ones the first stays. */
  for (int a = 0; a < TOKENS; a++)
    for (int b = 0; b < TOKENS; b++)
      if (HOLE) left = a, right = b;
  pair[0] = (float)left, pair[1] = (float)right;
  check_array("the pair", pair, 1, 2);
  for (int w = 0; w < WORDS; w++) {
    int size = 0, i = 0, *word = words[w];
    while (i < LENGTH && size < LENGTH && word[i] >= 0) {
      /* 3. Do the tokens at i and i + 1 make the pair? 4. What is written? 5. How many tokens more
         than one are read? */
      int found = HOLE;
      word[size++] = HOLE;
      i += 1 + (HOLE);
    }
    word[size] = -1;
  }
  for (int w = 0; w < WORDS; w++)
    for (int i = 0, end = 0; i < LENGTH; i++) {
      end |= words[w][i] < 0;
      shown[w][i] = end ? -1 : (float)words[w][i];
    }
  check_array(name, &shown[0][0], WORDS, LENGTH);
}

static void exercise(syn_context *c, syn_tape *t) {
  static const int ids[TEXT] = {5, 9, 4, 8, 4, 6, 3};
  float p[TEXT - 1] = {0.5f, 0.1f, 0.02f, 0.25f, 0.8f, 0.4f}; /* of the right token */
  static const float valid[VALIDATIONS] = {
    4.5f, 4.1f, 4, 4.05f, 3.9f, 3.85f, 3.9f, 3.85f, 3.7f};
  float labels[TEXT - 1], loss = 0, perplexity, per_letter, stopped[2];
  int best = 0, i;
  (void)c, (void)t;
  check_vary(p, TEXT - 1);
  count_pairs("pairs");
  merge(LETTERS, "words after a merge");
  count_pairs("pairs after a merge");
  merge(LETTERS + 1, "words after two merges");

  /* 6. A language model reads ids[0] .. ids[TEXT - 2]. Its label at place i is the next token. */
  for (i = 0; i < TEXT - 1; i++) labels[i] = HOLE;
  check_array("labels", labels, 1, TEXT - 1);

  /* 7. Its loss is the mean of -log p: p[i] is the probability that it gave to the label at i */
  for (i = 0; i < TEXT - 1; i++) loss += HOLE;
  check_array("loss", &loss, 1, 1);

  /* 8. Its perplexity; 9. its loss a letter, where the labels have 15 letters together */
  perplexity = HOLE;
  per_letter = HOLE;
  check_array("perplexity", &perplexity, 1, 1);
  check_array("loss a letter", &per_letter, 1, 1);

  /* 10. Early stopping after two validations without a better one: `best` becomes i when the
     validation loss valid[i] is the lowest so far. 11. When does training end? */
  for (i = 0; i < VALIDATIONS; i++) {
    if (HOLE) best = i;
    if (HOLE) break;
  }
  stopped[0] = (float)best, stopped[1] = (float)i;
  check_array("the best validation, the last one", stopped, 1, 2);
}
