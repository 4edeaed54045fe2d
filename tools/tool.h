/* tool.h   what the programs of this folder share: the end by one line, memory, numbers, the clock.
   Include it after synthesizer.h, with TOOL_NAME defined: the name a message begins with. */
#ifndef TOOL_H
#define TOOL_H
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAILED_JOB = 1, WRONG_USE = 2 };

#if defined(__GNUC__) || defined(__clang__)
#define NO_RETURN __attribute__((noreturn))
#else
#define NO_RETURN
#endif

/* Prints "NAME: ..." as one line on stderr and ends the program. What a message quotes may hold
   anything: its line ends and other control characters become spaces. */
static void fail(int status, const char *format, ...) SYN__PRINTF(2, 3) NO_RETURN;
static void fail(int status, const char *format, ...) {
  char text[2000];
  va_list args;
  size_t i;
  fflush(stdout);
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (i = 0; text[i]; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) text[i] = ' ';
  fprintf(stderr, TOOL_NAME ": %s\n", text);
  exit(status);
}

/* A failure of the library is a failed job: its message is already one line with all numbers. */
static void check(const syn_context *c) {
  if (c->status != SYN_OK) fail(FAILED_JOB, "%s", c->message);
}

/* `count` zeroed elements; ends the program when there is no room. */
static void *take(size_t count, size_t size) {
  void *at = calloc(count ? count : 1, size);
  if (!at) fail(FAILED_JOB, "out of memory: %lu elements of %lu bytes", (unsigned long)count,
                (unsigned long)size);
  return at;
}

/* The whole of s as a finite decimal number; no blanks, no hex, nothing behind it. */
static int parse_number(const char *s, double *value) {
  char *end;
  *value = 0.0;
  if (!*s || s[strspn(s, "0123456789+-.eE")]) return 0;
  *value = strtod(s, &end);
  return !*end && fabs(*value) <= 1.7976931348623157e308;
}

#ifdef _WIN32 /* windows.h has INT, TEXT and near for names of its own, so what is used is declared */
#ifdef __cplusplus
extern "C" {
#endif
__declspec(dllimport) int __stdcall QueryPerformanceCounter(long long *count);
__declspec(dllimport) int __stdcall QueryPerformanceFrequency(long long *per_second);
#ifdef __cplusplus
}
#endif
#endif

/* Seconds since some moment of the past; it never goes back where the system has such a clock. */
static double seconds(void) {
#ifdef _WIN32
  long long count, per_second;
  QueryPerformanceFrequency(&per_second);
  QueryPerformanceCounter(&count);
  return (double)count / (double)per_second;
#else
#ifdef CLOCK_MONOTONIC
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) == 0)
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
  return (double)time(NULL);
#endif
}

#endif
