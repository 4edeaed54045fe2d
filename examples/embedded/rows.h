/* rows.h   what the demos of signals share: rows of integers come over the serial line and are fed
   to the model one by one. Include NAME_model.h and NAME_text.h before it.

   A line is a window: the integers of its rows. An empty line ends the program. Between two rows
   the model computes all that it can, so neither the rows nor the line are kept. */
#include "hash.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

enum { ROWS_WIDEST = 16 }; /* numbers of a row at most */

typedef struct rows {
  const int32_t *model;
  size_t size;
  uint64_t hash; /* of the model */
  int width;     /* numbers of a row */
  /* Null, or what to do when a window begins, row null, and after each token. The token of a
     network whose layers read one row each belongs to `row`, the newest one. */
  void (*answer)(const syn_small *s, const int16_t *row);
  syn_small *s;
  uint32_t count; /* rows that were fed, those of the self-test included */
  int token;      /* the newest one */
  int16_t row[ROWS_WIDEST];
} rows;

/* A demo of the model NAME. */
#define ROWS(name, width, answer) \
  {name##_model, sizeof name##_model, name##_HASH, width, answer, NULL, 0, 0, {0}}

/* Computes until a row is wanted or nothing is left to do. */
static void rows_compute(rows *r) {
  int token;
  while ((token = syn_small_step(r->s, 1000)) >= SYN_SMALL_MORE) {
    if (token >= 0) r->token = token;
    if (token >= 0 && r->answer) r->answer(r->s, r->row);
  }
}
static void rows_begin(rows *r) {
  r->token = SYN_SMALL_END;
  if (r->answer) r->answer(r->s, NULL);
  syn_small_source(r->s, NULL, 0);
}
/* Feeds the row, or the end of the source. Returns 0 or an error. */
static int rows_feed(rows *r, int end) {
  int error;
  rows_compute(r);
  error = syn_small_feed(r->s, end ? NULL : r->row);
  r->count += !error && !end;
  return error;
}
/* Ends the source. Returns the newest token or an error. */
static int rows_end(rows *r) {
  int error = rows_feed(r, 1);
  if (!error) rows_compute(r);
  return error ? error : r->token;
}

/* Feeds the rows of a line as they come in. Returns the newest token, SYN_SMALL_END for an empty
   line, or an error: other text than integers, an incomplete row, too many rows. */
static int rows_line(rows *r) {
  int count = 0, digits = 0, minus = 0, error = 0, byte;
  long number = 0;
  rows_begin(r);
  do {
    byte = board_get();
    if (byte >= '0' && byte <= '9') {
      if (number <= INT16_MAX) number = 10 * number + byte - '0';
      digits = 1;
    } else if (byte == '-' && !digits && !minus) {
      minus = 1;
    } else if (byte >= 0 && byte != ' ' && byte != '\r' && byte != '\n') {
      error = SYN_SMALL_E_VALUE;
    } else if (digits) {
      if (number > INT16_MAX) error = SYN_SMALL_E_VALUE;
      r->row[count++ % r->width] = (int16_t)(minus ? -number : number);
      if (count % r->width == 0 && !error) error = rows_feed(r, 0);
      number = digits = minus = 0;
    }
  } while (byte >= 0 && byte != '\n');
  if (!count && !error) return SYN_SMALL_END;
  if (count % r->width || minus) error = SYN_SMALL_E_VALUE;
  return error ? error : rows_end(r);
}
/* Feeds r->row until the source is full. Returns the newest token or an error. */
static int rows_repeat(rows *r) {
  rows_begin(r);
  while (!rows_feed(r, 0)) continue;
  return rows_end(r);
}

/* Opens the model in `ram` and paints the stack for the self-test. Returns 0 or an exit status. */
static inline int rows_open(rows *r, void *ram, size_t bytes) {
  board_put("model ");
  demo_put_hash(demo_fnv(SYN_HASH_START, r->model, r->size));
  board_put("\n");
  board_stack_paint();
  r->s = syn_small_open(ram, bytes, r->model, r->size, NULL, NULL);
  serial_figure("stack of open", board_stack_used());
  if (!r->s) return board_put("the model does not open\n"), 1;
  board_stack_paint();
  return 0;
}
/* Ends the self-test, which has `passed`, with the hash of the array; `put` writes the answer to
   every line. Returns an exit status. */
static inline int rows_run(rows *r, int passed, void (*put)(rows *r)) {
  int token;
  serial_figure("stack of step", board_stack_used());
  passed = passed && demo_fnv(SYN_HASH_START, r->model, r->size) == r->hash;
  board_put(passed ? "self-test passed\n" : "self-test FAILED\n");
  if (!passed) return 1;
  while ((token = rows_line(r)) != SYN_SMALL_END) {
    if (token >= 0) {
      put(r);
      board_put("\n");
      continue;
    }
    board_put("wanted: integers, ");
    board_put_number((uint32_t)r->width);
    board_put(" a row, at most all rows of a window\n");
  }
  serial_figure("rows", r->count);
  demo_put_logits();
  return 0;
}
