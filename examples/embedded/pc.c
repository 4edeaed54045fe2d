/* pc.c   the functions of board.h on a PC: the serial line is stdin and stdout. */
#include "board.h"
#include <stdio.h>

int board_get(void) {
  int byte = getchar();
  return byte == EOF ? -1 : byte;
}
void board_put(const char *text) {
  fputs(text, stdout);
  fflush(stdout);
}
void board_put_number(uint32_t n) { printf("%lu", (unsigned long)n); }
void board_stack_paint(void) {}
uint32_t board_stack_used(void) { return 0; }
void board_clock_start(void) {}
uint32_t board_microseconds(void) { return 0; }
