/* letters_data.c   invented words with their phonemes, lines "word TAB phonemes", for the tests:
     letters_data 2000 >words.tsv */
#include "../../synthesizer.h"
#include <stdlib.h>
#include <string.h>

/* Spelling, a space, phoneme. */
static const char *const begins[] = {"b B", "d D", "f F", "g G", "k K", "c K", "l L", "m M", "n N",
  "p P", "r R", "s S", "t T", "v V", "w W", "z Z", "sh SH", "ch CH", "th TH", "j JH",
  "h HH", "y Y"};
static const char *const vowels[] = {"a AE", "e EH", "i IH", "o AA", "u AH", "ee IY", "oo UW",
  "ai EY", "oa OW", "ow AW", "oy OY", "er ER", "igh AY"};
static const char *const ends[] = {" ", " ", " ", "n N", "m M", "t T", "ck K", "ll L", "ss S",
  "sh SH", "ng NG", "x K S", "qu K W"};

/* Appends one of the entries to the word and to its phonemes. */
static void append(syn_random *r, const char *const *list, int count, char *word, char *phonemes) {
  const char *entry = list[syn_random_below(r, count)], *space = strchr(entry, ' ');
  strncat(word, entry, (size_t)(space - entry));
  if (!space[1]) return;
  if (*phonemes) strcat(phonemes, " ");
  strcat(phonemes, space + 1);
}

int main(int argc, char **argv) {
  syn_random random = {argc > 2 ? 7 : 2026}; /* a second argument: other words */
  int count = argc > 1 ? atoi(argv[1]) : 0, syllables;
  for (; count > 0; count--) {
    char word[40] = "", phonemes[100] = "";
    for (syllables = 1 + syn_random_below(&random, 3); syllables > 0; syllables--) {
      append(&random, begins, sizeof begins / sizeof *begins, word, phonemes);
      append(&random, vowels, sizeof vowels / sizeof *vowels, word, phonemes);
      append(&random, ends, sizeof ends / sizeof *ends, word, phonemes);
    }
    printf("%s\t%s\n", word, phonemes);
  }
  return 0;
}
