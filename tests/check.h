/* check.h: counts what is checked and what fails; a test ends with `return check_end("name");` */
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdio.h>

static long check_count, check_failed;

/* Prints the first 20 failures. */
static void check_report(int ok, const char *file, int line, const char *format, ...) {
  va_list args;
  check_count++;
  if (ok || check_failed++ >= 20) return;
  printf("%s:%d: ", file, line);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
}

/* CHECK(condition, "format", ...): the text says what was wrong, with its numbers */
#define CHECK(cond, ...) check_report((cond) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)

/* The last line of a test, and its exit status. */
static int check_end(const char *name) {
  printf("%s: %ld checks, %ld failed\n", name, check_count, check_failed);
  return check_failed ? 1 : 0;
}

#endif /* CHECK_H */
