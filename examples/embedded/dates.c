/* dates.c   Dates in words become digits: "the fourth of may nineteen oh six" gives 1906-05-04.
   Each line of the serial line is a date; an empty line ends the program.

   make run DEMO=dates BOARD=an386 */
#include "dates_model.h"
#include "dates_text.h"
#include "demo.h"

static uint64_t ram[(dates_RAM + 7) / 8];
static demo dates = {DEMO_MODEL(dates), 1000000, NULL, NULL, 0, 0, {0}, 0, 0};

int main(void) {
  int status = demo_start(&dates, ram, sizeof ram);
  return status ? status : demo_lines(&dates);
}
