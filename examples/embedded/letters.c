/* letters.c   A word becomes its phonemes: "hello" gives HH AH L OW. The model is made from a
   dictionary of the reader's: make letters WORDS=cmudict.tsv

   make run DEMO=letters BOARD=an386 */
#include "letters_model.h"
#include "letters_text.h"
#include "demo.h"

static uint64_t ram[(letters_RAM + 7) / 8];
static demo letters = {DEMO_MODEL(letters), 1000000, NULL, NULL, 0, 0, {0}, 0, 0};

int main(void) {
  int status = demo_start(&letters, ram, sizeof ram);
  return status ? status : demo_lines(&letters);
}
