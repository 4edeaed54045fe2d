/* mutate.c   damages the dates model in memory: each copy is refused by its checksum; with a new
   checksum it is either refused, or runs 50 steps without harm. The sanitizers end the program at the first harm. */
#include "dates_model.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include <stdio.h>
#include <stdlib.h>

enum { COPIES = 1000, STEPS = 50, MOST_RAM = 1 << 24 };

static uint32_t state = 1;

static uint32_t next_random(void) { /* xorshift32 */
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

int main(void) {
  enum { WORDS = sizeof dates_model / sizeof *dates_model, SOURCE = 4 };
  static const int source[SOURCE] = {4, 5, 6, SYN_END};
  int32_t *copy = (int32_t *)malloc(sizeof dates_model);
  int i, k, run = 0, checked = 0;
  for (i = 0; i < COPIES; i++) {
    long bytes;
    memcpy(copy, dates_model, sizeof dates_model);
    for (k = (int)(next_random() % 3); k >= 0; k--) { /* half of them near the instructions */
      uint32_t at = next_random() % (i % 2 ? WORDS : 600);
      uint32_t bit = UINT32_C(1) << next_random() % 32;
      copy[at] = (int32_t)(k ? next_random() : (uint32_t)copy[at] ^ bit);
    }
    bytes = syn_small_ram(copy, sizeof dates_model, NULL);
    checked += bytes < 0;
    copy[SYN__SMALL_BYTES] = dates_model[SYN__SMALL_BYTES];
    copy[SYN__SMALL_CHECKSUM] = syn__small_checksum(copy, WORDS); /* the same with its checksum */
    bytes = syn_small_ram(copy, sizeof dates_model, NULL);
    if (bytes > 0 && bytes < MOST_RAM) {
      void *ram = malloc((size_t)bytes);
      syn_small *s = syn_small_open(ram, (size_t)bytes, copy, sizeof dates_model, NULL, NULL);
      if (s && !syn_small_source(s, source, SOURCE))
        for (k = 0; k < STEPS && syn_small_step(s, 10000) >= SYN_SMALL_MORE; k++) continue;
      free(ram);
      run++;
    }
  }
  free(copy);
  printf("%d damaged models: %d refused; with a new checksum %d refused, %d run\n", COPIES, checked,
         COPIES - run, run);
  return run == 0 || run == COPIES || checked != COPIES;
}
