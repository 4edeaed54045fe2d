/* dates_data.c   dates in words and digits, lines "source TAB target", for training and for tests.
     dates_data train 8000 >dates.tsv
   Dates whose number is a multiple of 10 are kept for tests: `dates_data test 200`. */
#include "../../synthesizer.h"
#include <stdlib.h>
#include <string.h>
#include "../dates.h"

int main(int argc, char **argv) {
  int test = argc > 1 && !strcmp(argv[1], "test"), count = argc > 2 ? atoi(argv[2]) : 0, i;
  syn_random random = {test ? 7 : 2026};
  char words[100], digits[16];
  for (i = 0; i < count;) {
    int kept = make_date(&random, words, digits) % 10 == 0;
    if (kept != test) continue;
    printf("%s\t%s\n", words, digits);
    i++;
  }
  return 0;
}
