/* gestures_att.c   The gestures of gestures.c by attention of R + D, whose scores come from random
   numbers that are trained and from a dense layer of each row. Attention waits for the end of the
   window, so the model keeps all rows of the convolution.

   make run DEMO=gestures_att BOARD=an386 */
#include "gestures_att_model.h"
#include "gestures_att_text.h"
#include "gestures.h"

static uint64_t ram[(gestures_att_RAM + 7) / 8];
static rows all = GESTURES(gestures_att);

int main(void) { return gestures_run(&all, gestures_att_ANSWER, ram, sizeof ram); }
