/* cost.c   runs any small model on an emulated board and marks each of its instructions, so that the
   plug-in icnt.c counts what it takes. The bytes of the model (`syn embed --format bin`) stand at
   the address COST_MODEL, behind two words, the beam and the number of best candidates. Or one model
   is compiled, with its instructions alone: -include NAME_model.h -DCOST_ARRAY=NAME_model
   -DCOST_SEARCH=beam,best. */
#include "board.h"
#include <stddef.h>
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "../../tools/cost.h"
#include "serial.h"

enum { MOST = 512, WIDEST = 256 }; /* rows of a source, features of a row */
static uint64_t ram[1 << 17];
static int source[MOST];
static int16_t features[COST_ROWS * WIDEST];

/* The plug-in writes how many instructions of the library ran since the mark before. */
__attribute__((noinline)) void board_mark(void);
__attribute__((noinline)) void board_mark(void) { __asm__ volatile(""); }
static void board_see(void *user, const syn_small *s, int code, const int32_t *a) {
  (void)user, (void)s, (void)code, (void)a;
  board_mark();
}

int main(void) {
#ifdef COST_ARRAY
  static const int32_t search[2] = {COST_SEARCH};
  const int32_t *const model = COST_ARRAY;
#else
  const int32_t *const model = (const int32_t *)COST_MODEL, *const search = model - 2;
#endif
  syn_small_config config = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  cost_input in = {source, features, 0, 0};
  syn_small *s;
  int i, tokens;
  config.beam = search[0];
  config.best = search[1];
  board_stack_paint();
  s = syn_small_open(ram, sizeof ram, model, (size_t)model[SYN__SMALL_BYTES], &config, NULL);
  serial_figure("stack of open", board_stack_used());
  if (!s) return board_put("the model does not open\n"), 1;
  cost_lengths(s, &in);
  if (in.rows > MOST || syn__small_width(s->w) > WIDEST) return board_put("too long\n"), 1;
  cost_fill(s, &in);
  board_stack_paint();
  cost_begin(s, &in);
  for (i = 0; i < in.rows + in.tokens;) {
    const int token = syn_small_step(s, 1L << 30);
    if (token == SYN_SMALL_ROW) syn_small_feed(s, i < in.rows ? features : NULL);
    else if (token < SYN_SMALL_MORE) break;
    i++;
  }
  serial_figure("stack of step", board_stack_used());
  serial_figure("array", (uint32_t)model[SYN__SMALL_BYTES]);
  serial_figure("RAM", (uint32_t)syn_small_ram(model, (size_t)model[SYN__SMALL_BYTES], &config));
  tokens = cost_run(s, &in, board_see, NULL);
  serial_figure("self-test tokens", (uint32_t)tokens);
  return tokens < 0;
}
