/* dates_i4.c   The model of dates.c with weights of 4 bits: it takes a third less flash.
   `make` trains it in seconds, or say `make models` and embed it with --type i4.

   make run DEMO=dates_i4 BOARD=microbit */
#include "dates_i4_model.h"
#include "dates_i4_text.h"
#include "demo.h"

static uint64_t ram[(dates_i4_RAM + 7) / 8];
static demo dates = {DEMO_MODEL(dates_i4), 1000000, NULL, NULL, 0, 0, {0}, 0, 0};

int main(void) {
  int status = demo_start(&dates, ram, sizeof ram);
  return status ? status : demo_lines(&dates);
}
