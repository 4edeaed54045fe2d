/* fuzz.h   what all fuzzers share: an allocator that counts, limits of a run, marks of how far runs
   came, seeds, and a main that replays files. A fuzz_NAME.c defines, before it includes this file,
     FUZZ_NAME      "model"
     FUZZ_MARKS(X)  X(loaded) X(decoded): places that some run must reach; fuzz_mark(MARK_loaded)
                    counts one
     FUZZ_EDGES     coverage edges that lanes/fuzz wants of it
     FUZZ_MUTATOR   where it has a LLVMFuzzerCustomMutator of its own
   and has two functions: fuzz_one, a run on the input, and fuzz_seeds, which calls fuzz_seed for
   each seed.

   With -DFUZZER, libFuzzer or AFL++ brings main; without, any C compiler makes a program that runs
   each file it is given, and with `--runs N FILE...` N files that it makes of them, the same ones
   each time; the last stands in fuzz_NAME.last. `--seeds FOLDER` writes the seeds. With
   -DFUZZ_LINKED the library comes from an object that all fuzzers share. Several times as fast:
   -O2 -fno-sanitize-coverage=trace-cmp for clang, -entropic=0 for the fuzzer. For AFL++: the same
   command with afl-clang-fast, then  afl-fuzz -i seeds -o found ./fuzz_NAME

   A run fails, by abort, when a block is left, when it needs more than FUZZ_SECONDS of CPU time, or
   when a FUZZ_WANT is not true. The allocator never gives more than FUZZ_BYTES in all and counts
   what it refuses. At the end the program prints its counts; after 1,000 runs or more, a mark that
   no run reached is a failure. */
#ifndef FUZZ_H
#define FUZZ_H
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* posix_memalign under -std=c99 */
#endif
#ifndef FUZZ_LINKED
#define SYNTHESIZER_IMPLEMENTATION
#endif
#include "../synthesizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* the marks of fuzz_network.h */
#define NETWORK_MARKS(X) \
  X(planned) X(used) X(forward) X(backward) X(decoded) X(beam) X(sampled) X(int8) X(trained) \
  X(saved) X(reloaded) X(small)

#ifndef FUZZ_SECONDS
#define FUZZ_SECONDS 2.0
#endif
#define FUZZ_BYTES ((size_t)256 << 20)
#define FUZZ_UNUSED __attribute__((unused))

#define FUZZ_WANT(condition, ...) \
  ((condition) ? (void)0 : (fprintf(stderr, __VA_ARGS__), fuzz_fail(#condition, __LINE__)))

enum {
#define FUZZ_MARK(name) MARK_##name,
  FUZZ_MARKS(FUZZ_MARK)
#undef FUZZ_MARK
  MARK_COUNT
};

static struct {
  const unsigned char *at; /* the input from the next byte on */
  size_t left;
  syn_random random;       /* choices that the input does not make; seeded by its hash */
  long blocks;             /* of this run */
  size_t live, most;       /* bytes: now, at most */
  long runs, marks[MARK_COUNT], refused; /* of all runs */
  double slowest;
  size_t largest;
  const char *seeds;       /* the folder of --seeds */
} fuzz;

static void fuzz_one(void);
static void fuzz_seeds(void);

static void fuzz_fail(const char *what, int line) {
  fprintf(stderr, "\nfuzz_" FUZZ_NAME ": line %d: not true: %s\n", line, what);
  abort();
}
FUZZ_UNUSED static void fuzz_mark(int mark) { fuzz.marks[mark]++; }

/* -- the input: numbers from its bytes, 0 behind its end -- */

FUZZ_UNUSED static int fuzz_byte(void) {
  if (!fuzz.left) return 0;
  fuzz.left--;
  return *fuzz.at++;
}
FUZZ_UNUSED static int fuzz_int(void) {
  int i;
  uint32_t x = 0;
  for (i = 0; i < 4; i++) x = x << 8 | (uint32_t)fuzz_byte();
  return (int)x;
}
/* 0 .. n-1, from one byte */
FUZZ_UNUSED static int fuzz_below(int n) { return fuzz_byte() % n; }
/* 0 .. n-1, not from the input's next bytes: files stay files */
FUZZ_UNUSED static int fuzz_random(int n) { return syn_random_below(&fuzz.random, n); }

/* A copy of the rest of the input in a block of just that size, `shift` bytes behind a multiple of
   64; a read behind it is found. Free it with fuzz_free. */
FUZZ_UNUSED static unsigned char *fuzz_rest(size_t shift, size_t *size) {
  void *block = NULL;
  unsigned char *at;
  if (posix_memalign(&block, 64, fuzz.left + shift + !(fuzz.left + shift))) abort();
  at = (unsigned char *)block + shift;
  if (fuzz.left) memcpy(at, fuzz.at, fuzz.left);
  *size = fuzz.left;
  return at;
}
FUZZ_UNUSED static void fuzz_free(unsigned char *at, size_t shift) { free(at ? at - shift : NULL); }

/* -- the allocator -- */

/* The library aligns what it gets to 64 bytes behind the pointer that it keeps of the block. A
   block at 57 bytes behind such a multiple leaves one unused byte at its end, so AddressSanitizer
   sees what is written behind it. */
enum { FUZZ_SHIFT = 57 };

/* Large blocks: AddressSanitizer maps each of them anew, and the system clears its pages. That took
   half of the time of a run. So a released block stays here, poisoned, and a later run gets it. The
   run that released it never does, so a read of a released block is found as before; so is a read
   behind the bytes that were requested. */
#if defined(__SANITIZE_ADDRESS__)
#define FUZZ_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_ADDRESS 1
#endif
#endif
#ifdef FUZZ_ADDRESS
#include <sanitizer/asan_interface.h>
#define FUZZ_POISON(at, size) __asan_poison_memory_region(at, size)
#define FUZZ_UNPOISON(at, size) __asan_unpoison_memory_region(at, size)
#else
#define FUZZ_POISON(at, size) ((void)(at))
#define FUZZ_UNPOISON(at, size) ((void)(at))
#endif

#define FUZZ_LARGE ((size_t)1 << 16)
#define FUZZ_KEPT ((size_t)64 << 20) /* bytes of all blocks that wait */
enum { FUZZ_WAITING = 256 };

static struct {
  char *at[FUZZ_WAITING];
  size_t size[FUZZ_WAITING], bytes;
  long run[FUZZ_WAITING]; /* that released it */
  int count;
} fuzz_pool;

/* `size` bytes that begin at a multiple of 64, or null; *room is what fuzz_give wants later. */
static void *fuzz_take(size_t size, size_t *room) {
  void *at = NULL;
  int i;
  *room = size;
  if (size < FUZZ_LARGE) return posix_memalign(&at, 64, size) ? NULL : at;
  for (i = 0; i < fuzz_pool.count; i++)
    if (fuzz_pool.run[i] < fuzz.runs && fuzz_pool.size[i] >= size && fuzz_pool.size[i] / 2 <= size)
      break;
  if (i < fuzz_pool.count) {
    at = fuzz_pool.at[i];
    *room = fuzz_pool.size[i];
    fuzz_pool.bytes -= *room;
    fuzz_pool.count--;
    fuzz_pool.at[i] = fuzz_pool.at[fuzz_pool.count];
    fuzz_pool.size[i] = fuzz_pool.size[fuzz_pool.count];
    fuzz_pool.run[i] = fuzz_pool.run[fuzz_pool.count];
  } else {
    *room = (size / FUZZ_LARGE + 1) * FUZZ_LARGE;
    if (posix_memalign(&at, 64, *room)) return NULL;
  }
  FUZZ_UNPOISON(at, size);
  FUZZ_POISON((char *)at + size, *room - size);
  return at;
}
static void fuzz_give(void *at, size_t size, size_t room) {
  int i = fuzz_pool.count;
  if (size < FUZZ_LARGE || i == FUZZ_WAITING || fuzz_pool.bytes + room > FUZZ_KEPT) {
    free(at);
    return;
  }
  FUZZ_POISON(at, room);
  fuzz_pool.at[i] = (char *)at;
  fuzz_pool.size[i] = room;
  fuzz_pool.run[i] = fuzz.runs;
  fuzz_pool.bytes += room;
  fuzz_pool.count++;
}

static void *fuzz_alloc(void *user, size_t bytes) {
  void *block;
  size_t sizes[2];
  (void)user;
  if (bytes > FUZZ_BYTES || fuzz.live + bytes > FUZZ_BYTES) {
    fuzz.refused++;
    return NULL;
  }
  sizes[0] = bytes;
  block = fuzz_take(bytes + FUZZ_SHIFT, &sizes[1]);
  if (!block) return NULL;
  memcpy(block, sizes, sizeof sizes);
  fuzz.blocks++;
  fuzz.live += bytes;
  if (fuzz.live > fuzz.most) fuzz.most = fuzz.live;
  return (char *)block + FUZZ_SHIFT;
}
static void fuzz_release(void *user, void *at, size_t bytes) {
  char *block;
  size_t sizes[2];
  (void)user;
  if (!at) return;
  block = (char *)at - FUZZ_SHIFT;
  memcpy(sizes, block, sizeof sizes);
  if (bytes != sizes[0]) abort();
  fuzz.blocks--;
  fuzz.live -= sizes[0];
  fuzz_give(block, sizes[0] + FUZZ_SHIFT, sizes[1]);
}

/* `isa` null: the fastest of the machine. */
FUZZ_UNUSED static void fuzz_context(syn_context *c, const char *isa, int not_finite) {
  syn_options o;
  memset(&o, 0, sizeof o);
  o.alloc = fuzz_alloc;
  o.release = fuzz_release;
  o.isa = isa;
  o.not_finite = not_finite;
  syn_context_init(c, &o);
}

/* -- bytes that grow; a sink into them -- */

typedef struct fuzz_bytes {
  char *at;
  size_t size, cap;
} fuzz_bytes;

FUZZ_UNUSED static size_t fuzz_put(void *user, const void *from, size_t size) {
  fuzz_bytes *b = (fuzz_bytes *)user;
  if (b->size + size > b->cap) {
    b->cap = 2 * (b->size + size);
    b->at = (char *)realloc(b->at, b->cap);
    if (!b->at) abort();
  }
  if (size) memcpy(b->at + b->size, from, size);
  b->size += size;
  return size;
}
FUZZ_UNUSED static syn_sink fuzz_sink(fuzz_bytes *b) {
  syn_sink sink;
  memset(b, 0, sizeof *b);
  sink.write = fuzz_put;
  sink.user = b;
  return sink;
}

/* -- files: one of this process, for what can only be read by its path -- */

FUZZ_UNUSED static const char *fuzz_path(void) {
  static char path[64];
  const char *folder = access("/dev/shm", W_OK) ? "." : "/dev/shm";
  snprintf(path, sizeof path, "%s/fuzz_%ld.safetensors", folder, (long)getpid());
  return path;
}
FUZZ_UNUSED static void fuzz_file(const char *path, const void *at, size_t size) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(at, 1, size, f) != size || fclose(f)) {
    fprintf(stderr, "cannot write %s\n", path);
    abort();
  }
}
FUZZ_UNUSED static void fuzz_seed(const char *name, const void *at, size_t size) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", fuzz.seeds, name);
  fuzz_file(path, at, size);
}

/* -- runs -- */

static void fuzz_report(void) {
  static const char *const names[] = {
#define FUZZ_MARK(name) #name,
      FUZZ_MARKS(FUZZ_MARK)
#undef FUZZ_MARK
  };
  int i, missing = 0;
  if (!fuzz.runs) return;
  fprintf(stderr,
          "fuzz_" FUZZ_NAME
          ": %ld runs; slowest %.2f s; most memory %.1f MiB; %ld allocations refused;",
          fuzz.runs, fuzz.slowest, (double)fuzz.largest / 1048576, fuzz.refused);
  for (i = 0; i < MARK_COUNT; i++) fprintf(stderr, " %s %ld", names[i], fuzz.marks[i]);
  fprintf(stderr, "\n");
  for (i = 0; i < MARK_COUNT; i++) {
    if (fuzz.marks[i] || fuzz.runs < 1000) continue;
    fprintf(stderr, "fuzz_" FUZZ_NAME ": FAILED: of %ld runs none reached: %s\n", fuzz.runs,
            names[i]);
    missing = 1;
  }
  if (missing) _exit(1);
}

#ifdef __cplusplus
extern "C" {
#endif
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
size_t LLVMFuzzerMutate(uint8_t *at, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t size, size_t most, unsigned seed);
#ifdef __cplusplus
}
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  if (*argc == 3 && !strcmp((*argv)[1], "--seeds")) {
    fuzz.seeds = (*argv)[2];
    fuzz_seeds();
    exit(0);
  }
  atexit(fuzz_report);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
  clock_t start = clock();
  double seconds;
  fuzz.at = at;
  fuzz.left = size;
  fuzz.random.state = syn_hash(SYN_HASH_START, at, size);
  fuzz.most = 0;
  fuzz_one();
  seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  fuzz.runs++;
  if (seconds > fuzz.slowest) fuzz.slowest = seconds;
  if (fuzz.most > fuzz.largest) fuzz.largest = fuzz.most;
  FUZZ_WANT(!fuzz.blocks && !fuzz.live, "%ld blocks left, %lu bytes", fuzz.blocks,
            (unsigned long)fuzz.live);
  FUZZ_WANT(seconds <= FUZZ_SECONDS, "%.2f s", seconds);
  return 0;
}

#ifndef FUZZER
static syn_random fuzz_engine = {1};

/* One change of the bytes, in place of libFuzzer's; returns their new number, at least 1. */
size_t LLVMFuzzerMutate(uint8_t *at, size_t size, size_t most) {
  static const unsigned char bytes[] = {0,   1,   2,   127, 128, 255, '0', '9',
                                        '-', '"', '{', ',', '(', ')', '>', ' '};
  size_t place = (size_t)syn_random_below(&fuzz_engine, (int)size + !size), n = 1;
  size_t from = (size_t)syn_random_below(&fuzz_engine, (int)size + !size);
  if (!most) return 0;
  if (!size) {
    at[0] = bytes[syn_random_below(&fuzz_engine, 16)];
    return 1;
  }
  if (syn_random_below(&fuzz_engine, 2)) n = 1 + (size_t)syn_random_below(&fuzz_engine, 16);
  switch (syn_random_below(&fuzz_engine, 6)) {
    case 0: at[place] = (uint8_t)(at[place] ^ 1u << syn_random_below(&fuzz_engine, 8)); return size;
    case 1: at[place] = bytes[syn_random_below(&fuzz_engine, 16)]; return size;
    case 2: at[place] = (uint8_t)(at[place] + syn_random_below(&fuzz_engine, 9) - 4); return size;
    case 3: /* without n bytes */
      if (n >= size - place) return place + !place;
      memmove(at + place, at + place + n, size - place - n);
      return size - n;
    case 4: /* n more bytes, those that stand behind */
      if (size + n > most) return size;
      memmove(at + place + n, at + place, size - place);
      return size + n;
    default: /* n bytes over others */
      if (from + n <= size && place + n <= size) memmove(at + place, at + from, n);
      return size;
  }
}

static fuzz_bytes fuzz_read(const char *path) {
  fuzz_bytes b = {NULL, 0, 0};
  char part[4096];
  size_t got;
  FILE *f = fopen(path, "rb");
  if (!f) fprintf(stderr, "cannot open %s\n", path), exit(1);
  while ((got = fread(part, 1, sizeof part, f)) > 0) fuzz_put(&b, part, got);
  fclose(f);
  return b;
}

/* A run on one of the files after one to four changes. */
static void fuzz_changed(int count, char **files) {
  static uint8_t at[1 << 16];
  fuzz_bytes b = fuzz_read(files[syn_random_below(&fuzz_engine, count)]);
  size_t size = b.size < sizeof at / 2 ? b.size : sizeof at / 2, most = 2 * size + 64;
  int i;
  if (size) memcpy(at, b.at, size);
  free(b.at);
  for (i = 1 + syn_random_below(&fuzz_engine, 4); i > 0; i--) {
#ifdef FUZZ_MUTATOR
    size = LLVMFuzzerCustomMutator(at, size, most, (unsigned)syn_random_next(&fuzz_engine));
#else
    size = LLVMFuzzerMutate(at, size, most);
#endif
  }
  fuzz_file("fuzz_" FUZZ_NAME ".last", at, size);
  LLVMFuzzerTestOneInput(at, size);
}

int main(int argc, char **argv) {
  long i, runs = argc > 3 && !strcmp(argv[1], "--runs") ? atol(argv[2]) : 0;
  LLVMFuzzerInitialize(&argc, &argv);
  for (i = 0; i < runs; i++) fuzz_changed(argc - 3, argv + 3);
  for (i = 1; i < argc && !runs; i++) {
    fuzz_bytes b = fuzz_read(argv[i]);
    fprintf(stderr, "%s\n", argv[i]);
    LLVMFuzzerTestOneInput((const uint8_t *)b.at, b.size);
    free(b.at);
  }
  return 0;
}
#endif

#endif
