/* tool.h   what syn and bench share: failing with one line, memory, parsing of numbers, a clock.
   Include it after synthesizer.h, with TOOL_NAME defined: every message begins with that name. With
   TOOL_ENDS a failure always ends the program, and setjmp, which WASI lacks, is not needed. */
#ifndef TOOL_H
#define TOOL_H
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef TOOL_ENDS
#include <setjmp.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#define POSIX
#include <sys/stat.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <io.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

enum { FAILED_JOB = 1, WRONG_USE = 2 };

#if defined(__GNUC__) || defined(__clang__)
#define NO_RETURN __attribute__((noreturn))
#define PRINTF_LIKE(at, from) __attribute__((format(printf, at, from)))
#define MAYBE_UNUSED __attribute__((unused)) /* a function that not every tool calls */
#else
#define NO_RETURN
#define PRINTF_LIKE(at, from)
#define MAYBE_UNUSED
#endif
#define UNUSED(x) ((void)(x))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

MAYBE_UNUSED static int is_terminal(int file) {
#if defined(POSIX)
  return isatty(file);
#elif defined(_WIN32)
  return _isatty(file);
#else
  UNUSED(file);
  return 0;
#endif
}

/* Writes a text with every character visible (\x1b, \u202e, see syn_text_visible), but for those of
   `kept`, to out [6 size]; returns the bytes. */
static size_t make_visible(char *out, const char *text, size_t size, const char *kept) {
  size_t at, used = 0;
  for (at = 0; at < size; at++) {
    syn_text part = {NULL, 0};
    part.at = text + at;
    while (at < size && !(text[at] && strchr(kept, text[at]))) at++, part.size++;
    used += syn_text_visible(part, out + used, 4 * part.size + 1);
    if (at < size) out[used++] = text[at];
  }
  return used;
}

/* 1: a text for this file is made visible. All of stderr is: its lines are read by people. */
static int is_shown(FILE *f) { return f == stderr || (f == stdout && is_terminal(1)); }

/* printf and fprintf of the tools, so that nothing that a file, a name or a token holds reaches a
   terminal as a command. Line ends of results stay; on stderr only \r and \n at the ends of the
   format. Returns the characters, before they are made visible; -1: an error. */
static int print_text(FILE *f, const char *format, ...) PRINTF_LIKE(2, 3);
static int print_text(FILE *f, const char *format, ...) {
  size_t first = strspn(format, "\r\n"), last = strlen(format), tail, size;
  char *text = NULL, *out;
  va_list args, again;
  int n;
  va_start(args, format);
  va_copy(again, args);
  n = is_shown(f) ? vsnprintf(NULL, 0, format, args) : vfprintf(f, format, args);
  if (is_shown(f) && n >= 0 && (text = (char *)malloc(7 * ((size_t)n + 1))) == NULL) n = -1;
  if (text) {
    out = text + n + 1;
    vsnprintf(text, (size_t)n + 1, format, again);
    while (last > first && format[last - 1] == '\n') last--;
    tail = strlen(format + last);
    size = (size_t)n - first - tail;
    memcpy(out, text, first);
    last = first + make_visible(out + first, text + first, size, f == stdout ? "\n\t" : "");
    memcpy(out + last, text + first + size, tail);
    if (fwrite(out, 1, last + tail, f) != last + tail) n = -1;
    free(text);
  }
  va_end(args);
  va_end(again);
  return n;
}
#define printf(...) print_text(stdout, __VA_ARGS__)
#define fprintf print_text

/* Every block of the tools stands in a list, the newest first. */
typedef struct tool_block {
  struct tool_block *newer, *older;
} tool_block;
static tool_block tool_blocks = {&tool_blocks, &tool_blocks}; /* between the newest and the oldest */

#ifndef TOOL_ENDS
/* A job that may fail without the end of the program:
     attempt_begin(&a);
     if (!setjmp(a.back)) the job, then attempt_end(&a, 0);
     else a.message tells what has failed; then attempt_end(&a, 1);
   The function that calls setjmp changes no variable of its own behind it. */
typedef struct attempt {
  jmp_buf back;
  char message[2000];
  tool_block mark; /* blocks of the job are newer */
  struct attempt *outer;
} attempt;
static attempt *attempting; /* the innermost one; null: a failure is the end of the program */
#endif

/* Prints "NAME: ..." as one line on stderr and exits with `status`; in an attempt, goes back to it
   instead. */
static void fail(int status, const char *format, ...) PRINTF_LIKE(2, 3) NO_RETURN;
static void fail(int status, const char *format, ...) {
  char text[2000];
  va_list args;
  int size;
  fflush(stdout);
  va_start(args, format);
  size = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (size >= (int)sizeof text) text[syn_text_whole(syn_text_of(text))] = 0;
#ifndef TOOL_ENDS
  if (attempting) {
    memcpy(attempting->message, text, sizeof text);
    longjmp(attempting->back, 1);
  }
#endif
  fprintf(stderr, TOOL_NAME ": %s\n", text);
  exit(status);
}

/* Exits when the context holds an error of the library, and prints its message. */
static void check(const syn_context *c) {
  if (c->status != SYN_OK) fail(FAILED_JOB, "%s", c->message);
}

/* As check, after a call that reads the file `path`: the message shall begin with its name. */
MAYBE_UNUSED static void check_file(const syn_context *c, const char *path) {
  char shown[sizeof c->message];
  size_t n;
  int named;
  syn_text_visible(syn_text_of(path), shown, sizeof shown); /* as the message has it */
  n = strlen(shown);
  named = strncmp(c->message, shown, n) == 0 && c->message[n] == ':';
  if (c->status == SYN_OK) return;
  fail(FAILED_JOB, "%s%s%s", named ? "" : path, named ? "" : ": ", c->message);
}

/* The physical cores that this process may use; 1 without OpenMP. */
MAYBE_UNUSED static int physical_cores(void) {
#ifdef _OPENMP
  FILE *f = fopen("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "r");
  int first, last, siblings = 1, cores = omp_get_num_procs();
  char between;
  if (f && fscanf(f, "%d%c%d", &first, &between, &last) == 3)
    siblings = between == '-' ? last - first + 1 : 2; /* "0-1", or "0,16" */
  if (f) fclose(f);
  if (siblings > 0 && siblings < cores) cores /= siblings;
  return cores < SYN_MAX_THREADS ? cores : SYN_MAX_THREADS;
#else
  return 1;
#endif
}

/* Initializes a context; isa "": the fastest of this machine. */
MAYBE_UNUSED static void context_of(syn_context *c, int threads, const char *isa) {
  syn_options options;
  memset(&options, 0, sizeof options);
  options.threads = threads;
  options.isa = *isa ? isa : NULL;
#ifndef _OPENMP
  if (threads > 1) fail(WRONG_USE, "--threads %d needs a build with -fopenmp", threads);
#endif
  if (syn_context_init(c, &options)) fail(WRONG_USE, "--isa: %s", c->message);
}

/* a * b, or SIZE_MAX when the product overflows: an allocation of that size always fails. */
static size_t size_mul(size_t a, size_t b) { return b && a > SIZE_MAX / b ? SIZE_MAX : a * b; }

/* The file that is read or was read last: most of the memory is for what it holds. */
static char file_read[400];

/* Whether there is memory for a block of so many bytes. */
static int memory_fits(size_t bytes) {
  void *at = malloc(bytes);
  free(at);
  return at != NULL;
}

/* Exits: there is no block for `count` elements of `size` bytes. Says how large a block there is. */
static void no_memory(size_t count, size_t size) NO_RETURN;
static void no_memory(size_t count, size_t size) {
  const double wanted = (double)count * (double)size;
  size_t fits = size_mul(count, size) / 2;
  while (fits && !memory_fits(fits)) fits /= 2;
  fail(FAILED_JOB, "out of memory: a block of %.0f bytes is wanted, one of %.0f fits%s%s", wanted,
       (double)fits, *file_read ? "; the last file read is " : "", file_read);
}

/* Of a block: its place in the list stands in front of it, in as many bytes as keep it aligned. */
enum { BLOCK_HEAD = 16 };

/* Threads that decode take and free blocks, too: one at a time changes the list. (A test takes that
   away, to see that it finds the race.) */
#ifndef _OPENMP
#define ONE_THREAD
#elif !defined ONE_THREAD
#define ONE_THREAD _Pragma("omp critical (tool_blocks)")
#endif

static void block_link(tool_block *b, tool_block *older) {
  b->older = older;
  b->newer = older->newer;
  b->older->newer = b->newer->older = b;
}
static void block_unlink(tool_block *b) {
  b->older->newer = b->newer;
  b->newer->older = b->older;
}

/* `count` zeroed elements of `size` bytes; exits when memory runs out. */
static void *take(size_t count, size_t size) {
  const size_t bytes = size_mul(count, size);
  char *at = bytes < SIZE_MAX - BLOCK_HEAD ? (char *)calloc(BLOCK_HEAD + bytes, 1) : NULL;
  if (!at) no_memory(count, size);
  ONE_THREAD { block_link((tool_block *)(void *)at, tool_blocks.older); }
  return at + BLOCK_HEAD;
}

/* The block with room for `count` elements of `size` bytes; likewise. */
MAYBE_UNUSED static void *grow(void *at, size_t count, size_t size) {
  const size_t bytes = size_mul(count, size);
  tool_block *b = at ? (tool_block *)(void *)((char *)at - BLOCK_HEAD) : NULL, *older, *to;
  if (!b) return take(count, size);
  ONE_THREAD {
    older = b->older;
    block_unlink(b); /* it may move */
    to = bytes < SIZE_MAX - BLOCK_HEAD ? (tool_block *)realloc(b, BLOCK_HEAD + bytes) : NULL;
    block_link(to ? to : b, older);
  }
  if (!to) no_memory(count, size);
  return (char *)(void *)to + BLOCK_HEAD;
}

/* Frees a block of take or grow. */
static void release(void *at) {
  tool_block *b = at ? (tool_block *)(void *)((char *)at - BLOCK_HEAD) : NULL;
  if (b) ONE_THREAD { block_unlink(b); }
  free(b);
}
#undef free
#define free(at) release(at)

#ifndef TOOL_ENDS
MAYBE_UNUSED static void attempt_begin(attempt *a) {
  block_link(&a->mark, tool_blocks.older);
  a->outer = attempting;
  attempting = a;
}
/* failed: what the job has taken is freed. */
MAYBE_UNUSED static void attempt_end(attempt *a, int failed) {
  while (failed && a->mark.newer != &tool_blocks)
    release((char *)(void *)a->mark.newer + BLOCK_HEAD);
  block_unlink(&a->mark);
  attempting = a->outer;
}
#endif

/* Prints results, which may hold any bytes: visible on a terminal. */
MAYBE_UNUSED static void print_result(const char *text, size_t size) {
  char *out = is_shown(stdout) ? (char *)take(size, 6) : NULL;
  if (out) fwrite(out, 1, make_visible(out, text, size, "\n\t"), stdout);
  else fwrite(text, 1, size, stdout);
  free(out);
}

static int larger(int a, int b) { return a > b ? a : b; }

/* Parses s as one finite decimal number, without blanks or hexadecimal digits; else returns 0. */
static int parse_number(const char *s, double *value) {
  char *end;
  *value = 0.0;
  if (!*s || s[strspn(s, "0123456789+-.eE")]) return 0;
  *value = strtod(s, &end);
  return !*end && fabs(*value) <= 1.7976931348623157e308;
}

#ifdef _WIN32 /* windows.h defines INT, TEXT and near, which the tools use: no include of it */
#ifdef __cplusplus
extern "C" {
#endif
__declspec(dllimport) int __stdcall QueryPerformanceCounter(long long *count);
__declspec(dllimport) int __stdcall QueryPerformanceFrequency(long long *per_second);
__declspec(dllimport) wchar_t *__stdcall GetCommandLineW(void);
__declspec(dllimport) int __stdcall MultiByteToWideChar(unsigned page, unsigned long flags,
                                                        const char *text, int bytes, wchar_t *out,
                                                        int capacity);
__declspec(dllimport) int __stdcall MoveFileExW(const wchar_t *from, const wchar_t *to,
                                                unsigned long flags);
__declspec(dllimport) int __stdcall CompareStringOrdinal(const wchar_t *a, int a_size,
                                                         const wchar_t *b, int b_size,
                                                         int ignore_case);
__declspec(dllimport) wchar_t **__stdcall CommandLineToArgvW(const wchar_t *line, int *count);
__declspec(dllimport) int __stdcall WideCharToMultiByte(unsigned page, unsigned long flags,
                                                        const wchar_t *text, int count, char *out,
                                                        int bytes, const char *other, int *used);
#ifdef __cplusplus
}
#endif
#ifdef _MSC_VER
#pragma comment(lib, "shell32") /* CommandLineToArgvW */
#endif
#endif

/* Files by paths in UTF-8, as the library opens them; arguments in UTF-8. */
#ifdef _WIN32
enum { WIDE_PATH = 1024 };
/* wide [WIDE_PATH] = the path, of which Windows wants UTF-16; 0: not UTF-8, or too long. */
static int wide_path(wchar_t *wide, const char *path) {
  return MultiByteToWideChar(65001, 8, path, -1, wide, WIDE_PATH) > 0;
}
#endif
MAYBE_UNUSED static FILE *open_file(const char *path, const char *mode) {
#ifdef _WIN32
  wchar_t wide[WIDE_PATH], wide_mode[8] = {0};
  size_t i;
  for (i = 0; mode[i] && i < 7; i++) wide_mode[i] = (wchar_t)mode[i];
  errno = EINVAL;
  return wide_path(wide, path) ? _wfopen(wide, wide_mode) : NULL;
#else
  return fopen(path, mode);
#endif
}
MAYBE_UNUSED static void remove_file(const char *path) {
#ifdef _WIN32
  wchar_t wide[WIDE_PATH];
  if (wide_path(wide, path)) _wremove(wide);
#else
  remove(path);
#endif
}
/* Replaces the file `to`, if there is one. */
MAYBE_UNUSED static void rename_file(const char *from, const char *to) {
#ifdef _WIN32
  wchar_t a[WIDE_PATH], b[WIDE_PATH];
  if (wide_path(a, from) && wide_path(b, to)) MoveFileExW(a, b, 9);
#else
  rename(from, to);
#endif
}

/* The name of a file within its path. */
MAYBE_UNUSED static const char *file_name(const char *path) {
  const char *name = path;
  for (; *path; path++) {
    if (*path == '/') name = path + 1;
#ifdef _WIN32
    if (*path == '\\' || *path == ':') name = path + 1;
#endif
  }
  return name;
}

/* The path behind symbolic links, also to a file that is not there yet, where the system tells; the
   caller frees it. */
MAYBE_UNUSED static char *path_behind(const char *path) {
  enum { LINK_MOST = 4096 };
  size_t room = strlen(path) + LINK_MOST;
  char *behind = (char *)take(room, 1);
  memcpy(behind, path, strlen(path));
#ifdef POSIX
  {
    char to[LINK_MOST];
    int links;
    for (links = 0; links <= 40; links++) {
      ssize_t n = readlink(behind, to, sizeof to);
      size_t folder = n > 0 && *to == '/' ? 0 : (size_t)(file_name(behind) - behind);
      if (n < 0) return behind;
      if ((size_t)n >= sizeof to || folder + (size_t)n >= room) break;
      memcpy(behind + folder, to, (size_t)n);
      behind[folder + (size_t)n] = 0;
    }
    memcpy(behind, path, strlen(path) + 1);
  }
#endif
  return behind;
}

#ifdef POSIX
/* Whether two folders, the first `size` bytes of paths, are one. */
static int same_folder(char *a, size_t a_size, char *b, size_t b_size) {
  struct stat x, y;
  a[a_size] = b[b_size] = 0;
  return stat(a_size ? a : ".", &x) == 0 && stat(b_size ? b : ".", &y) == 0 &&
         x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether two paths lead to one file or folder, whatever they are called: by device and number; a
   file that is not there yet by its name and its folder. Devices and pipes are no files. */
MAYBE_UNUSED static int same_file(const char *a, const char *b) {
  char *p = path_behind(a), *q = path_behind(b);
  size_t m = (size_t)(file_name(p) - p), n = (size_t)(file_name(q) - q);
  struct stat x, y;
  int here = stat(p, &x) == 0, there = stat(q, &y) == 0, same;
  if (here && there)
    same = x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode));
  else same = here == there && strcmp(p + m, q + n) == 0 && same_folder(p, m, q, n);
  free(p);
  free(q);
  return same;
}

/* Whether a stream, 0 (input) or 1 (output), is this file; "-" is standard input. A command that
   reads what standard output goes to would make it longer and longer. */
MAYBE_UNUSED static int is_stream(int stream, const char *path) {
  struct stat x, y;
  int found = strcmp(path, "-") == 0 ? fstat(0, &y) : stat(path, &y);
  return found == 0 && fstat(stream, &x) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}
#elif defined(_WIN32)
MAYBE_UNUSED static int is_stream(int stream, const char *path) { return stream < 0 || !path; }
MAYBE_UNUSED static int same_file(const char *a, const char *b) {
  wchar_t wide[WIDE_PATH], p[WIDE_PATH], q[WIDE_PATH];
  if (!wide_path(wide, a) || !_wfullpath(p, wide, WIDE_PATH)) return 0;
  if (!wide_path(wide, b) || !_wfullpath(q, wide, WIDE_PATH)) return 0;
  return CompareStringOrdinal(p, -1, q, -1, 1) == 2; /* upper and lower case alike; 2: equal */
}
#else
MAYBE_UNUSED static int is_stream(int stream, const char *path) { return stream < 0 || !path; }
MAYBE_UNUSED static int same_file(const char *a, const char *b) { return strcmp(a, b) == 0; }
#endif

#ifdef _WIN32
/* The arguments of main are in the code page of the user; these are in UTF-8. Wildcards stay. */
MAYBE_UNUSED static char **utf8_arguments(int *argc, char **argv) {
  wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), argc);
  char **out = (char **)take((size_t)*argc + 1, sizeof *out);
  int i, bytes;
  UNUSED(argv);
  for (i = 0; i < *argc; i++) {
    bytes = WideCharToMultiByte(65001, 0, wide[i], -1, NULL, 0, NULL, NULL);
    out[i] = (char *)take((size_t)bytes, 1);
    WideCharToMultiByte(65001, 0, wide[i], -1, out[i], bytes, NULL, NULL);
  }
  return out;
}
#else
MAYBE_UNUSED static char **utf8_arguments(int *argc, char **argv) {
  UNUSED(argc);
  return argv;
}
#endif

/* Seconds since an arbitrary point in time, from a monotonic clock where the system has one. */
MAYBE_UNUSED static double seconds(void) {
#ifdef _WIN32
  long long count, per_second;
  QueryPerformanceFrequency(&per_second);
  QueryPerformanceCounter(&count);
  return (double)count / (double)per_second;
#elif defined(CLOCK_MONOTONIC)
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#elif defined(TIME_UTC)
  struct timespec now = {0, 0};
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
  return (double)time(NULL);
#endif
}

#endif
