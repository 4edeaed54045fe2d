/* check.h   counts checks. CHECK(condition, format, ...) says what was seen when the condition is
   false; a test's main ends with return CHECK_END("name"). Include it after synthesizer.h. */
#ifndef CHECK_H
#define CHECK_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...) \
  check_one((condition) ? 1 : 0, #condition, __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_END(name) check_end(name)
#define CHECK_QUICK (getenv("QUICK") != NULL) /* set where another lane runs all of it */
/* Set beside QUICK where an emulator takes 20 to 70 times as long: of checks that repeat one thing for
   threads, rules or networks, fewer, and one training until something is learned. What a training computes
   there is compared bit by bit in test_bits. */
#define CHECK_EMULATED (getenv("EMULATED") != NULL)
/* Where a sanitizer watches every access, long trainings run the same code again: another lane, and
   `make -C tests`, look at what is learned. */
#ifdef __SANITIZE_ADDRESS__
#define CHECK_SHORT 1
#else
#define CHECK_SHORT CHECK_QUICK
#endif

enum { CHECK_SHOWN = 20 }; /* failures printed; the rest is only counted */
static int check_count, check_failed;

#if defined(__GNUC__)
static void check_one(int ok, const char *text, const char *file, int line, const char *format,
                      ...) __attribute__((format(printf, 5, 6)));
#endif

static void check_one(int ok, const char *text, const char *file, int line, const char *format,
                      ...) {
  va_list args;
  check_count++;
  if (ok) return;
  if (++check_failed > CHECK_SHOWN) return;
  printf("%s:%d: not true: %s: ", file, line, text);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
#ifdef CHECK_STOP /* the first failure says enough, see mutate */
  exit(1);
#endif
}

static int check_end(const char *name) {
  printf("%s: %d checks, %d failed\n", name, check_count, check_failed);
  return check_failed ? 1 : 0;
}

#endif
