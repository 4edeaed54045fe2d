/* board.h   what a demo needs from the machine: board.c for Cortex-M, pc.c for a PC. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

int board_get(void);               /* the next byte of the serial line; -1: there is no more */
void board_put(const char *text);  /* writes a text to it */
void board_put_number(uint32_t n); /* writes a number in decimal */

/* Bytes of stack that calls take: board_stack_paint, the calls, board_stack_used. */
void board_stack_paint(void);
uint32_t board_stack_used(void);

/* A clock from the SysTick timer and its interrupt. On a PC it stands still. */
void board_clock_start(void);
uint32_t board_microseconds(void);

#endif
