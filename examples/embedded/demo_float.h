/* demo_float.h   decoding in float32 on a board: the library itself, built for inference, with the
   bits of the PC. Before it, include NAME_model.h (`syn embed --layout file`) and define
   SYN_KINDS(X) and SYN_SCORES(X), the kinds of the model's layers and attentions, and HEAP, the
   bytes of RAM that it takes.

   It is here to be compared: on a Cortex-M4 a small model takes a fifteenth of the RAM and half of
   the instructions. */
#define SYN_INFERENCE
#define SYN_NO_MESSAGES
#define SYN_NO_SIMD
#define SYN_NO_STDIO
#define SYN_EXACT
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

/* -- memory: where malloc takes it from -- */

static union {
  unsigned char bytes[HEAP];
  double align;
} heap;
static size_t heap_used;

void *_sbrk(ptrdiff_t bytes);
void *_sbrk(ptrdiff_t bytes) {
  size_t before = heap_used;
  if (bytes > (ptrdiff_t)(HEAP - heap_used)) return (void *)-1;
  heap_used += (size_t)bytes;
  return heap.bytes + before;
}

/* -- lines and answers -- */

static int demo_write(void *user, syn_text piece) {
  (void)user;
  serial_write(piece);
  return 0;
}

/* Answers every line up to an empty one. Returns an exit status. */
static int demo_lines(syn_context *c, syn_decoder *d) {
  char line[120];
  syn_text text;
  uint32_t tokens = 0;
  int size;
  while ((text = serial_read(line, sizeof line)).size) {
    syn_text prompt = {"", 0};
    if (syn_decoder_run_text(d, text, prompt, demo_write, NULL)) board_put(c->message);
    else if (syn_decoder_output(d, 0, 0, &size, NULL)) tokens += (uint32_t)size;
    syn_context_clear(c);
    board_put("\n");
  }
  serial_figure("stack of step", board_stack_used());
  serial_figure("RAM", (uint32_t)heap_used);
  serial_figure("tokens", tokens);
  return 0;
}

/* Opens the model file and answers lines. */
static int demo_main(const void *model, size_t size) {
  syn_context c;
  syn_model *m;
  syn_decoder *d;
  syn_context_init(&c, NULL);
  board_stack_paint();
  m = syn_model_view(&c, model, size);
  d = syn_decoder_new(&c, m, NULL);
  if (!d) {
    board_put(c.message);
    return 1;
  }
  serial_figure("self-test tokens", 0);
  return demo_lines(&c, d);
}
