/* gestures.h   what the demos of gestures share: rows of an accelerometer come over the serial line
   and are fed to the model one by one. Include NAME_model.h and NAME_text.h before it.

   A line is a window: three integers for each row, thousandths of g. Its gesture is known when the
   line ends; an empty line ends the program. Between two rows the model computes all that it can,
   so neither the rows nor the line are kept. */
#include "hash.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

enum { AXES = 3 };

typedef struct gestures {
  const int32_t *model;
  size_t size;
  uint64_t hash;                 /* of the model */
  const char *sentence, *answer; /* of the self-test: a row that is repeated, its gesture */
  syn_small *s;
  uint32_t rows; /* that were fed */
} gestures;

/* A demo of the model NAME. */
#define GESTURES(name) \
  {name##_model, sizeof name##_model, name##_HASH, name##_SENTENCE, name##_ANSWER, NULL, 0}

/* Computes until a row is wanted, the gesture is known or nothing is left to do. */
static int gestures_step(gestures *g) {
  int token = SYN_SMALL_MORE;
  while (token == SYN_SMALL_MORE) token = syn_small_step(g->s, 1000);
  return token;
}
/* Feeds a row, null: the end of the source. Returns 0 or an error. */
static int gestures_feed(gestures *g, const int16_t *row) {
  gestures_step(g);
  g->rows += row != NULL;
  return syn_small_feed(g->s, row);
}

/* Feeds the rows of a line as they come in. Returns the gesture, SYN_SMALL_END for an empty line,
   or an error: other text than integers, an incomplete row, too many rows. */
static int gestures_line(gestures *g) {
  int16_t row[AXES];
  int count = 0, digits = 0, minus = 0, error = 0, byte;
  long number = 0;
  syn_small_source(g->s, NULL, 0);
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
      row[count++ % AXES] = (int16_t)(minus ? -number : number);
      if (count % AXES == 0 && !error) error = gestures_feed(g, row);
      number = digits = minus = 0;
    }
  } while (byte >= 0 && byte != '\n');
  if (!count && !error) return SYN_SMALL_END;
  if (count % AXES || minus) error = SYN_SMALL_E_VALUE;
  if (!error) error = gestures_feed(g, NULL);
  return error ? error : gestures_step(g);
}

static syn_text gestures_name(const gestures *g, int token) {
  return syn_small_piece(g->s, token, 1);
}

/* The device lies still for a whole window: the answer, and the hash of the array, must be those of
   the PC. */
static int gestures_test(gestures *g) {
  static const int16_t rest[AXES] = {0, 0, 1000};
  syn_text name;
  syn_small_source(g->s, NULL, 0);
  while (!gestures_feed(g, rest)) continue;
  g->rows--; /* the last one was refused */
  gestures_feed(g, NULL);
  name = gestures_name(g, gestures_step(g));
  return demo_fnv(SYN_HASH_START, g->model, g->size) == g->hash &&
         name.size == strlen(g->answer) && !memcmp(name.at, g->answer, name.size);
}

/* Opens the model in `ram`, tests it, answers every line. Returns an exit status. */
static int gestures_run(gestures *g, void *ram, size_t bytes) {
  int token, passed;
  board_put("model ");
  demo_put_hash(demo_fnv(SYN_HASH_START, g->model, g->size));
  board_put("\n");
  board_stack_paint();
  g->s = syn_small_open(ram, bytes, g->model, g->size, NULL, NULL);
  serial_figure("stack of open", board_stack_used());
  if (!g->s) return board_put("the model does not open\n"), 1;
  board_stack_paint();
  passed = gestures_test(g);
  serial_figure("stack of step", board_stack_used());
  board_put(passed ? "self-test passed\n" : "self-test FAILED\n");
  if (!passed) return 1;
  while ((token = gestures_line(g)) != SYN_SMALL_END) {
    if (token >= 0) serial_write(gestures_name(g, token));
    board_put(token >= 0 ? "\n" : "wanted: three integers a row, at most all rows of a window\n");
  }
  serial_figure("rows", g->rows);
  demo_put_logits();
  return 0;
}
