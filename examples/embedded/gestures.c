/* gestures.c   Gestures of an accelerometer, row by row: a recurrent network, whose memory does not
   grow with the window. `make` trains it in seconds.

   make run DEMO=gestures BOARD=an386 */
#include "gestures_model.h"
#include "gestures_text.h"
#include "gestures.h"

static uint64_t ram[(gestures_RAM + 7) / 8];
static rows all = GESTURES(gestures);

int main(void) { return gestures_run(&all, gestures_ANSWER, ram, sizeof ram); }
