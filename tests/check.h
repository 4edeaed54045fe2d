/* The whole test framework: CHECK(condition, format, ...) counts, check_end sums up. */
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdio.h>

static int check_count, check_failed;

static void check_that(int ok, const char *file, int line, const char *format, ...) {
  va_list args;
  check_count++;
  if (ok) return;
  check_failed++;
  printf("%s:%d: ", file, line);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
}

#define CHECK(condition, ...) \
  check_that((condition) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)

/* What main returns. */
static int check_end(const char *name) {
  printf("%s: %d checks, %d failed\n", name, check_count, check_failed);
  return check_failed ? 1 : 0;
}

#endif
