/* cost_size.c   how much code the library has for some instructions: cost.sh compiles it without
   and with them and compares. COST_CALLS: functions that the program calls beside open, source and
   step; not defined: a program without the library. */
#include "board.h"
#include <stddef.h>
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"

int main(void) {
#ifdef COST_CALLS
  static uint64_t ram[100];
  static int ids[10];
  static int32_t numbers[10];
  const void *model = (const void *)COST_MODEL;
  syn_small *s = syn_small_open(ram, sizeof ram, model, board_microseconds(), NULL, NULL);
  syn_text line = {(const char *)ram, 10};
  int count = 1;
  COST_CALLS
  syn_small_source(s, ids, count);
  while (syn_small_step(s, 1000) >= SYN_SMALL_MORE) ids[0] += numbers[0] + (int)line.size;
#endif
  return 0;
}
