/* commands.c   Commands in English or German switch pins: "turn on the light in the kitchen" gives
   a0=1, "heize im bad auf zwanzig grad" gives b3=20; what is no command, "how old is the
   president", gives ?. The model runs in slices of SLICE
   multiply-adds, between which a program can do other work. The interrupt of the SysTick timer goes
   on all the while. At the end the program prints how long the longest slice took.

   make run DEMO=commands BOARD=an386 */
#include "commands_model.h"
#include "commands_text.h"
#include "demo.h"

/* THRESHOLD: `syn eval --reject --data commands.tsv --other commands_other.txt` shows what it
   refuses. */
enum { SLICE = 1000, THRESHOLD = 32750 };

static uint64_t ram[(commands_RAM + 7) / 8];
static demo commands = {DEMO_MODEL(commands), SLICE, NULL, NULL, 0, 0, {0}, 0, THRESHOLD};

int main(void) {
  int status = demo_start(&commands, ram, sizeof ram);
  if (status) return status;
  board_clock_start();
  commands.longest = 0;
  status = demo_lines(&commands);
  serial_figure("longest slice in microseconds", commands.longest);
  return status;
}
