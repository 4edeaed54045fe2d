/* cost.c   runs any small model on an emulated board and marks each of its instructions, so that the
   plug-in icnt.c counts what it takes. The bytes of the model (`syn embed --format bin`) stand at
   the address COST_MODEL, behind two words, the beam and the number of best candidates. Or one model
   is compiled, with its instructions alone: -include NAME_model.h -DCOST_ARRAY=NAME_model
   -DCOST_SEARCH=beam,best. COST_PLAIN: without the marks, as a program that uses the model. */
#include "board.h"
#include <stddef.h>
#define SYN_SMALL
#ifndef COST_PLAIN
#define SYN_SMALL_COST
#endif
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

enum { MOST = 512, WIDEST = 256, STEPS = 40 }; /* of a source, of a row of features */
static uint64_t ram[1 << 17];

#ifndef COST_PLAIN
/* The plug-in writes how many instructions of the library ran since the mark before. */
__attribute__((noinline)) void board_mark(void);
__attribute__((noinline)) void board_mark(void) { __asm__ volatile(""); }
static void board_see(void *user, const syn_small *s) {
  (void)user, (void)s;
  board_mark();
}
#endif

/* The longest source that the model accepts, then some tokens: the stack depends on neither. */
static void run(syn_small *s) {
  static int source[MOST];
  static int16_t features[WIDEST]; /* 0; in RAM, not to be counted as flash */
  int count, i;
  for (i = 0; i < MOST; i++) source[i] = SYN_UNKNOWN;
  for (count = MOST; count > 0 && syn_small_source(s, source, count); count--) continue;
  if (!count) syn_small_source(s, source, 0);
  for (i = 0; i < STEPS; i++) {
    const int token = syn_small_step(s, 1L << 30);
    if (token == SYN_SMALL_ROW) syn_small_feed(s, i < STEPS / 2 ? features : NULL);
    else if (token < SYN_SMALL_MORE) break;
  }
}

int main(void) {
#ifdef COST_ARRAY
  static const int32_t search[2] = {COST_SEARCH};
  const int32_t *const model = COST_ARRAY;
  const size_t size = sizeof COST_ARRAY;
#else
  const int32_t *const model = (const int32_t *)COST_MODEL, *const search = model - 2;
  const size_t size = 1 << 21; /* more than it has */
#endif
  syn_small_config config = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  syn_small *s;
  int tokens = 0;
  config.beam = search[0];
  config.best = search[1];
  board_stack_paint();
  s = syn_small_open(ram, sizeof ram, model, size, &config, NULL);
  serial_figure("stack of open", board_stack_used());
  if (!s) return board_put("the model does not open\n"), 1;
  board_stack_paint();
  run(s);
  serial_figure("stack of step", board_stack_used());
  serial_figure("RAM", (uint32_t)syn_small_ram(model, size, &config));
#ifndef COST_PLAIN
  tokens = syn_small_walk(s, board_see, NULL);
#endif
  serial_figure("self-test tokens", (uint32_t)tokens);
  return tokens < 0;
}
