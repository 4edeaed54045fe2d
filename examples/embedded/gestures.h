/* gestures.h   what the demos of gestures share: rows of three integers, thousandths of g, as an
   accelerometer gives them (rows.h). The gesture is known when the line ends. Include NAME_model.h
   and NAME_text.h before it. */
#include "rows.h"

enum { AXES = 3 };

#define GESTURES(name) ROWS(name, AXES, NULL)

static void gestures_put(rows *r) { serial_write(syn_small_piece(r->s, r->token, 1)); }

/* The device lies still for a whole window: the answer must be that of the PC. */
static int gestures_test(rows *r, const char *answer) {
  syn_text name;
  r->row[2] = 1000;
  name = syn_small_piece(r->s, rows_repeat(r), 1);
  return name.size == strlen(answer) && !memcmp(name.at, answer, name.size);
}
/* Opens the model in `ram`, tests it, answers every line. Returns an exit status. */
static int gestures_run(rows *r, const char *answer, void *ram, size_t bytes) {
  return rows_open(r, ram, bytes) || rows_run(r, gestures_test(r, answer), gestures_put);
}
