/* demo_float.h   decoding in float32 on a board: the library itself, built for inference, with the
   bits of the PC. Before it, include NAME_model.h (`syn embed --layout file`) and define
   SYN_KINDS(X) and SYN_SCORES(X), the kinds of the model's layers and attentions; SOURCE and TARGET,
   the tokens of the longest source and of the longest output, with their ends; HEAP, the bytes of
   RAM that model and decoder take.

   It is here to be compared: on a Cortex-M4 a small model takes a sixth of the RAM and half of the
   instructions. */
#define SYN_NO_TRAIN
#define SYN_NO_MESSAGES
#define SYN_NO_SIMD
#define SYN_NO_STDIO
#define SYN_EXACT
#define SYN_NO_PIECES
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

/* -- memory: one array instead of malloc --

   To open a model takes memory that is soon free again. If it lay between what stays, no piece would
   be long enough for the decoder. So the model is opened twice. The first time shows which requests
   are freed; the second time they come from the end of the array, the others from its beginning. */

typedef struct demo_block { /* blocks follow one another and fill the array */
  uint16_t units;           /* of 8 bytes, with this header */
  uint16_t used;
  uint32_t request;         /* its number */
} demo_block;
enum { UNITS = (HEAP) / 8, REQUESTS = 512 }; /* a model of more requests takes more memory */
static struct {
  demo_block unit[UNITS];
  uint32_t request, used, most; /* the newest; units in use, at most */
  unsigned char learning, freed[REQUESTS / 8]; /* freed: a bit, in the first opening */
} heap;

/* The first free block of so many units, or the last one; null: none. */
static demo_block *demo_find(size_t units, int last) {
  demo_block *b, *found = NULL;
  for (b = heap.unit; b < heap.unit + UNITS && (last || !found); b += b->units)
    if (!b->used && b->units >= units) found = b;
  return found;
}
static void *demo_alloc(void *user, size_t bytes) {
  uint32_t request = ++heap.request;
  int last = !heap.learning && request < REQUESTS && heap.freed[request / 8] >> request % 8 & 1;
  size_t units = bytes / 8 + 2, rest;
  demo_block *b = demo_find(units, last), *other;
  (void)user;
  if (!b) return NULL;
  rest = b->units - units;
  other = b + (last ? 0 : units); /* what is left of the block */
  if (last) b += rest;
  if (rest) other->units = (uint16_t)rest, other->used = 0;
  b->units = (uint16_t)units, b->used = 1, b->request = request;
  heap.used += (uint32_t)units;
  if (heap.used > heap.most) heap.most = heap.used;
  return b + 1;
}
static void demo_release(void *user, void *block, size_t bytes) {
  demo_block *b = (demo_block *)block - 1, *next;
  (void)user, (void)bytes;
  if (heap.learning && b->request < REQUESTS)
    heap.freed[b->request / 8] |= (unsigned char)(1 << b->request % 8);
  heap.used -= b->units;
  b->used = 0;
  for (b = heap.unit; (next = b + b->units) < heap.unit + UNITS;)
    if (b->used || next->used) b = next;
    else b->units = (uint16_t)(b->units + next->units);
}


/* malloc of the C library, which only its printf could call, has no memory. */
void *_sbrk(ptrdiff_t bytes);
void *_sbrk(ptrdiff_t bytes) {
  (void)bytes;
  return (void *)-1;
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
  serial_figure("RAM", 8 * heap.most);
  serial_figure("tokens", tokens);
  return 0;
}

/* Opens the model file and answers lines. */
static int demo_main(const void *model, size_t size) {
  syn_options options = {0};
  syn_decode_config config = {0};
  syn_context c;
  syn_model *m;
  syn_decoder *d;
  board_stack_paint();
  options.alloc = demo_alloc;
  options.release = demo_release;
  config.source_len = SOURCE;
  config.max_len = TARGET;
  config.prefill = 1; /* there are no prompts: a step has one row */
  syn_context_init(&c, &options);
  heap.unit[0].units = UNITS;
  heap.learning = 1;
  m = syn_model_view(&c, model, size);
  heap.learning = 0;
  syn_model_free(m);
  heap.request = 0;
  m = syn_model_view(&c, model, size);
  d = syn_decoder_new(&c, m, &config);
  if (!d) {
    board_put(c.message);
    return 1;
  }
  serial_figure("self-test tokens", 0);
  return demo_lines(&c, d);
}
