/* gestures_cnn.c   The gestures of gestures.c by three convolutions, each of which keeps the newest
   rows that it reads.

   make run DEMO=gestures_cnn BOARD=an386 */
#include "gestures_cnn_model.h"
#include "gestures_cnn_text.h"
#include "gestures.h"

static uint64_t ram[(gestures_cnn_RAM + 7) / 8];
static rows all = GESTURES(gestures_cnn);

int main(void) { return gestures_run(&all, gestures_cnn_ANSWER, ram, sizeof ram); }
