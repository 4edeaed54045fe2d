/* demo.h   what the demos share: the self-test of a model, lines of text that come over the serial
   line, the answers to them. Include NAME_model.h and NAME_text.h before it. */
#include "hash.h"

#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

#ifndef DEMO_LINE
enum { DEMO_LINE = 120, DEMO_TOKENS = 24 }; /* bytes and tokens of a line at most, with its end */
#endif

typedef struct demo {
  const int32_t *model;
  size_t size;
  uint64_t hash;                 /* of the model */
  const char *sentence, *answer; /* of the self-test */
  long work;                     /* multiply-adds of a slice */
  syn_small *s;
  const char *want;  /* text with which an answer is compared instead of being written */
  uint32_t longest;  /* microseconds of the longest slice */
  uint32_t tokens;   /* of all answers, their ends included */
  int ids[DEMO_TOKENS], count; /* the line that was read; count below 0: it does not fit */
  int threshold;     /* of syn_small_reject; 0: every line is answered at once, token by token */
} demo;

/* The first fields of a demo for the model NAME. */
#define DEMO_MODEL(name) \
  name##_model, sizeof name##_model, name##_HASH, name##_SENTENCE, name##_ANSWER

/* -- lines and answers -- */

static void demo_encode(demo *d, const char *line, size_t size) {
  syn_text text;
  text.at = line;
  text.size = size;
  d->count = syn_small_encode(d->s, text, d->ids, DEMO_TOKENS);
}
/* Reads a line and makes it tokens. Returns 0 for an empty line and at the end of all. */
static int demo_read(demo *d) {
  char line[DEMO_LINE];
  syn_text text = serial_read(line, sizeof line);
  demo_encode(d, text.at, text.size);
  return text.size > 0;
}

/* Writes a piece of the answer, or compares it with what is wanted. */
static void demo_write(demo *d, syn_text piece) {
  size_t i;
  if (!d->want) serial_write(piece);
  else
    for (i = 0; i < piece.size; i++)
      if (*d->want == piece.at[i]) d->want++;
      else d->want = "?"; /* no answer ends like this */
}
/* Writes the answer that is in ids [n], or ? for a line that is refused. */
static void demo_decide(demo *d, int n) {
  syn_text refused = {"?", 1};
  int i;
  if (syn_small_reject(d->s, d->threshold)) demo_write(d, refused);
  else
    for (i = 0; i < n; i++) demo_write(d, syn_small_piece(d->s, d->ids[i], !i));
}
/* Answers the line in ids. Returns 0 or an error. */
static int demo_answer(demo *d) {
  int token = syn_small_source(d->s, d->ids, d->count), n = 0;
  while (token >= SYN_SMALL_MORE) {
    uint32_t start = board_microseconds(), took;
    token = syn_small_step(d->s, d->work);
    took = board_microseconds() - start;
    if (took > d->longest) d->longest = took;
    d->tokens += token != SYN_SMALL_MORE;
    if (token >= 0 && !d->threshold) demo_write(d, syn_small_piece(d->s, token, !n++));
    else if (token >= 0 && n < DEMO_TOKENS) d->ids[n++] = token; /* the line was copied */
  }
  if (d->threshold && token == SYN_SMALL_END) demo_decide(d, n);
  return token == SYN_SMALL_END ? 0 : token;
}

/* -- start -- */

/* Opens the model in `ram` and tests it: the hash of its array, the answer to one sentence. Prints
   the bytes of stack that each function of the library takes. Returns 0 or an exit status. */
static int demo_start(demo *d, void *ram, size_t bytes) {
  uint64_t hash = demo_fnv(SYN_HASH_START, d->model, d->size);
  static const syn_small_config scores = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  int error = 0, passed;
  board_put("model ");
  demo_put_hash(hash);
  board_put("\n");
  board_stack_paint();
  d->s = syn_small_open(ram, bytes, d->model, d->size, d->threshold ? &scores : NULL, &error);
  serial_figure("stack of open", board_stack_used());
  if (!d->s) {
    board_put(error == SYN_SMALL_E_RAM       ? "too little RAM\n"
              : error == SYN_SMALL_E_VERSION ? "a model of another version\n"
              : error == SYN_SMALL_E_KIND    ? "an instruction is not compiled\n"
                                             : "the model is damaged\n");
    return 1;
  }
  board_stack_paint();
  demo_encode(d, d->sentence, strlen(d->sentence));
  serial_figure("stack of encode", board_stack_used());
  board_stack_paint();
  syn_small_source(d->s, d->ids, d->count);
  serial_figure("stack of source", board_stack_used());
  board_stack_paint();
  while (syn_small_step(d->s, 1000000) >= SYN_SMALL_MORE) continue;
  serial_figure("stack of step", board_stack_used());
  d->want = d->answer;
  passed = hash == d->hash && !demo_answer(d) && !*d->want;
  d->want = NULL;
  serial_figure("self-test tokens", d->tokens);
  board_put(passed ? "self-test passed\n" : "self-test FAILED\n");
  return !passed;
}
/* Answers every line up to an empty one. Returns an exit status. */
static int demo_lines(demo *d) {
  uint32_t lines = 0;
  d->tokens = 0;
  while (demo_read(d)) {
    if (demo_answer(d)) board_put("too long");
    board_put("\n");
    lines++;
  }
  serial_figure("lines", lines);
  serial_figure("tokens", d->tokens);
  demo_put_logits();
  return 0;
}
