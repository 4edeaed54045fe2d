/* board.c   start-up code, serial line, clock of emulated boards with a Cortex-M or a RISC-V core of
   32 bits. The Makefile gives the kind of the serial port as a macro, its address as the value, and
   BOARD_HZ, the clock of the timer. On a Cortex-M the program ends by semihosting: an emulator or a
   debugger takes the exit status. On a RISC-V core it writes to the test device of qemu's machine
   virt. Without either, build with BOARD_HARDWARE: the program then waits for ever. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define PATTERN UINT32_C(0xA5A5A5A5) /* what unused stack holds */

int main(void);
void board_reset(void);

/* Symbols of board.ld: only their addresses mean something. */
extern uint32_t ld_stack_bottom, ld_stack_top, ld_data_load, ld_data_start, ld_data_end;
extern uint32_t ld_bss_start, ld_bss_end;

/* -- start and end -- */

__attribute__((noreturn)) static void board_exit(int status) {
#if !defined(BOARD_HARDWARE) && defined(__riscv)
  REGISTER(0x100000) = status ? (uint32_t)status << 16 | 0x3333 : 0x5555; /* failed, passed */
#elif !defined(BOARD_HARDWARE)
  uint32_t block[2] = {0x20026, (uint32_t)status}; /* ADP_Stopped_ApplicationExit, status */
  register uint32_t operation __asm__("r0") = 0x20; /* SYS_EXIT_EXTENDED */
  register uint32_t *argument __asm__("r1") = block;
  __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(argument) : "memory");
#endif
  (void)status;
  for (;;) continue;
}

__attribute__((aligned(4))) static void board_fault(void) { /* aligned: mtvec wants it */
  board_put("fault\n");
  board_exit(120);
}

static void board_serial_start(void);

void board_reset(void) {
  uint32_t *to, *from = &ld_data_load;
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  REGISTER(0xE000ED88) |= 0xFu << 20; /* CPACR: the floating-point unit is off after a reset */
  __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
#if __ARM_ARCH >= 8
  __asm__ volatile("msr msplim, %0" : : "r"(&ld_stack_bottom)); /* below it the stack faults */
#endif
  for (to = &ld_data_start; to < &ld_data_end;) *to++ = *from++;
  for (to = &ld_bss_start; to < &ld_bss_end;) *to++ = 0;
  board_serial_start();
  board_exit(main());
}

#ifdef __riscv
/* The first instructions of the program: a RISC-V core starts without a stack, and with its
   floating-point unit off. */
__attribute__((naked, section(".vectors"), used)) static void board_start(void) {
#ifdef __riscv_flen
  __asm__ volatile(".option arch, +zicsr\n\tli t0, 0x2000\n\tcsrs mstatus, t0" : : : "t0");
#endif
  __asm__ volatile(".option arch, +zicsr\n\tla sp, ld_stack_top\n\tcsrw mtvec, %0\n\tj board_reset"
                   : : "r"(board_fault));
}
#endif

/* -- serial line: start, wait and read, wait and write -- */

#if defined(SERIAL_CMSDK) /* Arm's MPS2 and MPS3 boards */
static void board_serial_start(void) {
  REGISTER(SERIAL_CMSDK + 16) = 217; /* BAUDDIV: 25 MHz / 115200 */
  REGISTER(SERIAL_CMSDK + 8) = 3;    /* CTRL: transmit, receive */
}
static int board_read(void) {
  while (!(REGISTER(SERIAL_CMSDK + 4) & 2)) continue; /* STATE: a byte has come */
  return (int)(REGISTER(SERIAL_CMSDK) & 255);
}
static void board_write(char byte) {
  while (REGISTER(SERIAL_CMSDK + 4) & 1) continue; /* STATE: the buffer is full */
  REGISTER(SERIAL_CMSDK) = (uint8_t)byte;
}
#elif defined(SERIAL_STM32) /* USART of STM32F1, F4 */
static void board_serial_start(void) {
  REGISTER(SERIAL_STM32 + 8) = BOARD_HZ / 115200; /* BRR */
  REGISTER(SERIAL_STM32 + 12) = 0x200C;           /* CR1: on, transmit, receive */
}
static int board_read(void) {
  while (!(REGISTER(SERIAL_STM32) & 0x20)) continue; /* SR: RXNE */
  return (int)(REGISTER(SERIAL_STM32 + 4) & 255);
}
static void board_write(char byte) {
  while (!(REGISTER(SERIAL_STM32) & 0x80)) continue; /* SR: TXE */
  REGISTER(SERIAL_STM32 + 4) = (uint8_t)byte;
}
#elif defined(SERIAL_PL011) /* Stellaris LM3S */
static void board_serial_start(void) {
  REGISTER(SERIAL_PL011 + 0x24) = BOARD_HZ / 16 / 115200; /* IBRD */
  REGISTER(SERIAL_PL011 + 0x2C) = 0x70;                   /* LCRH: 8 bits, FIFO */
  REGISTER(SERIAL_PL011 + 0x30) = 0x301;                  /* CR: on, transmit, receive */
}
static int board_read(void) {
  while (REGISTER(SERIAL_PL011 + 0x18) & 0x10) continue; /* FR: nothing has come */
  return (int)(REGISTER(SERIAL_PL011) & 255);
}
static void board_write(char byte) {
  while (REGISTER(SERIAL_PL011 + 0x18) & 0x20) continue; /* FR: the buffer is full */
  REGISTER(SERIAL_PL011) = (uint8_t)byte;
}
#elif defined(SERIAL_NRF51) /* micro:bit, its USB interface chip on pins 24 and 25 */
static void board_serial_start(void) {
  REGISTER(SERIAL_NRF51 + 0x50C) = 24;         /* PSELTXD */
  REGISTER(SERIAL_NRF51 + 0x514) = 25;         /* PSELRXD */
  REGISTER(SERIAL_NRF51 + 0x524) = 0x01D7E000; /* BAUDRATE: 115200 */
  REGISTER(SERIAL_NRF51 + 0x500) = 4;          /* ENABLE */
  REGISTER(SERIAL_NRF51) = 1;                  /* STARTRX */
  REGISTER(SERIAL_NRF51 + 8) = 1;              /* STARTTX */
}
static int board_read(void) {
  while (!REGISTER(SERIAL_NRF51 + 0x108)) continue; /* RXDRDY */
  REGISTER(SERIAL_NRF51 + 0x108) = 0;
  return (int)(REGISTER(SERIAL_NRF51 + 0x518) & 255);
}
static void board_write(char byte) {
  REGISTER(SERIAL_NRF51 + 0x51C) = (uint8_t)byte;
  while (!REGISTER(SERIAL_NRF51 + 0x11C)) continue; /* TXDRDY */
  REGISTER(SERIAL_NRF51 + 0x11C) = 0;
}
#elif defined(SERIAL_16550) /* registers of one byte, as in qemu's machine virt */
#define REGISTER8(address) (*(volatile uint8_t *)(uintptr_t)(address))
static void board_serial_start(void) {} /* qemu needs none */
static int board_read(void) {
  while (!(REGISTER8(SERIAL_16550 + 5) & 1)) continue; /* LSR: a byte has come */
  return REGISTER8(SERIAL_16550);
}
static void board_write(char byte) {
  while (!(REGISTER8(SERIAL_16550 + 5) & 0x20)) continue; /* LSR: the buffer is empty */
  REGISTER8(SERIAL_16550) = (uint8_t)byte;
}
#else
#error "the serial port of this board is missing: -DSERIAL_...=ADDRESS"
#endif

int board_get(void) {
  int byte = board_read();
#ifdef BOARD_ECHO /* terminals show what the board writes, not what is typed */
  static int ended; /* 1: the last byte was a CR. Lines end with CR, LF or CR LF */
  if (ended && byte == '\n') byte = board_read();
  ended = byte == '\r';
  if (ended) byte = '\n';
  board_write((char)byte);
#endif
  return byte;
}
void board_put(const char *text) {
  for (; *text; text++) board_write(*text);
}
void board_put_number(uint32_t n) {
  char digits[11];
  int at = 10;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + n % 10);
    n /= 10;
  } while (n);
  board_put(digits + at);
}

/* -- stack -- */

static uint32_t *stack_painted;

static uint32_t *board_stack_pointer(void) {
  uint32_t *at;
#ifdef __riscv
  __asm__ volatile("mv %0, sp" : "=r"(at));
#else
  __asm__ volatile("mov %0, sp" : "=r"(at));
#endif
  return at;
}
__attribute__((noinline)) void board_stack_paint(void) {
  volatile uint32_t *at; /* volatile: a call of memset would lie in the painted stack */
  stack_painted = board_stack_pointer();
  for (at = &ld_stack_bottom; at < stack_painted; at++) *at = PATTERN;
}
__attribute__((noinline)) uint32_t board_stack_used(void) {
  uint32_t *at = &ld_stack_bottom;
  while (at < stack_painted && *at == PATTERN) at++;
  return (uint32_t)(stack_painted - at) * 4;
}

/* -- clock -- */

#ifdef __riscv
/* The timer counts from the reset on. */
void board_clock_start(void) {}
uint32_t board_microseconds(void) { return REGISTER(0x200BFF8) / (BOARD_HZ / 1000000); }
#else
enum { TICK = 1000 }; /* microseconds between two interrupts */
static volatile uint32_t ticks;

static void board_tick(void) { ticks++; }

void board_clock_start(void) {
  REGISTER(0xE000E014) = BOARD_HZ / 1000000 * TICK - 1; /* reload value */
  REGISTER(0xE000E018) = 0;
  REGISTER(0xE000E010) = 7; /* on, with interrupt, from the clock of the core */
}
uint32_t board_microseconds(void) {
  uint32_t before, left;
  do {
    before = ticks;
    left = REGISTER(0xE000E018);
  } while (before != ticks);
  return before * TICK + (TICK - 1 - left / (BOARD_HZ / 1000000));
}

/* The processor starts with the first two; number 15 is SysTick. */
typedef struct vector_table {
  uint32_t *stack;
  void (*handlers[15])(void);
} vector_table;
__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    &ld_stack_top,
    {board_reset, board_fault, board_fault, board_fault, board_fault, board_fault, 0, 0, 0, 0, 0, 0,
     0, 0, board_tick}};
#endif
