/* The rooms base, status, memory and random. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"

/* An allocator that refuses call number `fail_at` (from 1; 0: never) and counts its blocks. */
typedef struct heap {
  long calls, live, fail_at;
} heap;

static void *heap_alloc(void *user, size_t bytes) {
  heap *h = (heap *)user;
  void *block;
  h->calls++;
  if (h->calls == h->fail_at || bytes > (size_t)1 << 28) return NULL;
  block = malloc(bytes);
  if (block) memset(block, 0xA5, bytes), h->live++;
  return block;
}

static void heap_release(void *user, void *block, size_t bytes) {
  (void)bytes;
  if (block) ((heap *)user)->live--;
  free(block);
}

static void context_on(syn_context *c, heap *h, long fail_at) {
  memset(c, 0, sizeof *c);
  memset(h, 0, sizeof *h);
  h->fail_at = fail_at;
  c->options.alloc = heap_alloc;
  c->options.release = heap_release;
  c->options.alloc_user = h;
  syn__context_place(c);
}

/* -- base -- */

static double relative(double got, double want) { return fabs(got - want) / fabs(want); }

static void test_sizes(void) {
  CHECK(syn__mul_size(3, 5) == 15 && syn__mul_size(0, SIZE_MAX) == 0, "small products");
  CHECK(syn__mul_size(SIZE_MAX, 0) == 0 && syn__mul_size(SIZE_MAX, 1) == SIZE_MAX, "edges");
  CHECK(syn__mul_size(SIZE_MAX / 2 + 1, 2) == SIZE_MAX, "overflow by one bit");
  CHECK(syn__add_size(SIZE_MAX - 1, 1) == SIZE_MAX, "the largest sum");
  CHECK(syn__add_size(SIZE_MAX, 1) == SIZE_MAX, "one more");
  CHECK(syn__round16(0) == 0 && syn__round16(1) == 16 && syn__round16(16) == 16, "rounding");
  CHECK(syn__round16(SIZE_MAX - 3) == SIZE_MAX, "rounding at the end");
  CHECK(syn__min(-2, 3) == -2 && syn__max(-2, 3) == 3, "min and max");
}

/* Against libm; the worst relative error of each is also the figure to watch. */
static void test_elementary(void) {
  double worst_exp = 0, worst_log = 0, worst_pow = 0, x, error;
  for (x = -700.0; x <= 700.0; x += 0.37) {
    error = relative(syn__exp(x), exp(x));
    if (error > worst_exp) worst_exp = error;
  }
  for (x = 1e-300; x < 1e300; x *= 1.7) {
    error = relative(syn__log(x), log(x));
    if (error > worst_log) worst_log = error;
    error = relative(syn__pow(x, 0.31), pow(x, 0.31));
    if (error > worst_pow) worst_pow = error;
  }
  for (x = -0.4; x < 0.5; x += 1.0 / 1024) {
    if (x == 0.0) continue;
    error = relative(syn__log(1.0 + x), log(1.0 + x));
    if (error > worst_log) worst_log = error;
  }
  CHECK(worst_exp < 1e-12, "exp: relative error %.3g", worst_exp);
  CHECK(worst_log < 1e-12, "log: relative error %.3g", worst_log);
  CHECK(worst_pow < 1e-12, "pow: relative error %.3g", worst_pow);
}

static void test_sincos(void) {
  double worst = 0, circle = 0, x, s, c, error;
  for (x = 0.0; x < 1e6; x = x * 1.01 + 0.013) {
    syn__sincos(x, &s, &c);
    error = fabs(s - sin(x)) > fabs(c - cos(x)) ? fabs(s - sin(x)) : fabs(c - cos(x));
    if (error > worst) worst = error;
    if (fabs(s * s + c * c - 1.0) > circle) circle = fabs(s * s + c * c - 1.0);
    if (x > 0.01 && x < 3.0) CHECK(relative(s, sin(x)) < 1e-12, "sin(%.17g) = %.17g", x, s);
    if (x > 0.01 && x < 1.5) CHECK(relative(c, cos(x)) < 1e-12, "cos(%.17g) = %.17g", x, c);
  }
  CHECK(worst < 1e-12, "sincos: error %.3g", worst);
  CHECK(circle < 1e-14, "sin^2 + cos^2 is off by %.3g", circle);
  syn__sincos(0.0, &s, &c);
  CHECK(s == 0.0 && c == 1.0, "at 0: %g and %g", s, c);
}

static void test_edges(void) {
  CHECK(syn__exp(0.0) == 1.0 && syn__log(1.0) == 0.0, "the exact points");
  CHECK(syn__exp(-746.0) == 0.0, "exp far below: %g", syn__exp(-746.0));
  CHECK(syn__exp(710.0) > 1.7e308, "exp far above: %g", syn__exp(710.0));
  CHECK(syn__log(0.0) < -1.7e308 && syn__log(-1.0) < -1.7e308, "log of nothing");
  CHECK(relative(syn__pow(10000.0, -0.5), 0.01) < 1e-14, "pow(10^4, -1/2)");
}

static uint64_t fnv(uint64_t hash, double value) {
  uint64_t bits;
  int i;
  memcpy(&bits, &value, sizeof bits);
  for (i = 0; i < 8; i++) hash = (hash ^ ((bits >> (8 * i)) & 255u)) * 0x100000001B3u;
  return hash;
}

/* The bits themselves: equal for every compiler, flag and machine. */
static void test_bits(void) {
  uint64_t hash = 0xCBF29CE484222325u;
  double x, s, c;
  int i;
  for (i = 0; i < 4000; i++) {
    x = (double)i * 0.3125 + 0.001953125;
    syn__sincos(x, &s, &c);
    hash = fnv(fnv(hash, s), c);
    hash = fnv(fnv(hash, syn__log(x)), syn__exp(x * 0.5 - 300.0));
    hash = fnv(hash, syn__pow(x, -1.7));
  }
  CHECK(hash == 0x7A3CFB981A0AC8A0u, "bits of exp, log, pow, sin, cos: %08lx%08lx",
        (unsigned long)(hash >> 32), (unsigned long)(hash & 0xFFFFFFFFu));
}

/* -- status -- */

static void test_status(void) {
  syn_context c;
  heap h;
  int i;
  context_on(&c, &h, 0);
  for (i = 0; i < (int)SYN_STATUS_COUNT; i++)
    CHECK(strlen(syn_status_text((syn_status)i)) > 3, "status %d has no text", i);
  CHECK(strcmp(syn_status_text(SYN_STATUS_COUNT), "no such status") == 0, "a number past the list");
  CHECK(strcmp(syn_status_text(SYN_E_MEMORY), "out of memory") == 0, "order of enum and texts");
  CHECK(syn__fail(&c, SYN_E_SHAPE, "x is %d", 7) == SYN_E_SHAPE, "the status comes back");
  CHECK(syn__fail(&c, SYN_E_FILE, "later") == SYN_E_FILE, "also that of a later failure");
  CHECK(c.status == SYN_E_SHAPE && strcmp(c.message, "x is 7") == 0, "kept: %s", c.message);
  syn_context_clear(&c);
  CHECK(c.status == SYN_OK && c.message[0] == 0, "cleared");
  syn__fail(&c, SYN_E_VALUE, "%1000d", 1);
  CHECK(strlen(c.message) == sizeof c.message - 1, "a long message is cut: %s", c.message);
}

/* -- memory -- */

static void test_alloc(void) {
  char first[100];
  syn_context c;
  heap h;
  size_t size, i, dirty = 0;
  context_on(&c, &h, 0);
  for (size = 1; size < 5000; size = size * 3 / 2 + 1) {
    unsigned char *at = (unsigned char *)syn__alloc(&c, size, 1);
    CHECK(at && (uintptr_t)at % SYN__ALIGN == 0, "%lu bytes not aligned", (unsigned long)size);
    if (!at) return;
    for (i = 0; i < size; i++) dirty += at[i] != 0;
    memset(at, 1, size);
    syn__free(&c, at);
  }
  syn__free(&c, NULL);
  CHECK(dirty == 0, "%lu bytes not zero", (unsigned long)dirty);
  CHECK(h.live == 0, "%ld blocks left", h.live);
  CHECK(c.status == SYN_OK, "no failure: %s", c.message);
  CHECK(!syn__alloc(&c, SIZE_MAX, 2) && c.status == SYN_E_MEMORY, "a size that overflows");
  CHECK(!syn__alloc(&c, SIZE_MAX / 2, 1) && h.live == 0, "half of everything");
  sprintf(first, "out of memory: %.0f bytes", 2.0 * (double)SIZE_MAX);
  CHECK(!strcmp(c.message, first), "the first failure stays: %s", c.message);
  syn__memory_for(&c, "a test of %d", 7);
  syn__memory_for(&c, "another one");
  CHECK(strstr(c.message, " bytes for a test of 7") && !strstr(c.message, "other"), "%s", c.message);
}

/* Pushes n numbers; returns how many went in before memory ended. Those stay readable. */
static size_t push_numbers(syn_context *c, size_t n, int **numbers) {
  void *at = NULL;
  size_t cap = 0, i, k;
  for (i = 0; i < n; i++) {
    if (syn__grow(c, &at, &cap, i + 1, sizeof(int)) != SYN_OK) break;
    ((int *)at)[i] = (int)(i * 7);
  }
  for (k = 0; k < i && ((int *)at)[k] == (int)(k * 7);) k++;
  CHECK(k == i, "number %lu of %lu changed", (unsigned long)k, (unsigned long)i);
  CHECK(cap >= i, "room for %lu, %lu inside", (unsigned long)cap, (unsigned long)i);
  *numbers = (int *)at;
  return i;
}

static void test_grow(void) {
  syn_context c;
  heap h;
  int *numbers;
  long calls, n;
  size_t got, cap = 4;
  void *at;
  context_on(&c, &h, 0);
  got = push_numbers(&c, 3000, &numbers);
  CHECK(got == 3000 && h.live == 1, "%lu numbers, %ld blocks", (unsigned long)got, h.live);
  syn__free(&c, numbers);
  calls = h.calls;
  for (n = 1; n <= calls; n++) {
    context_on(&c, &h, n);
    got = push_numbers(&c, 3000, &numbers);
    CHECK(got < 3000 && c.status == SYN_E_MEMORY, "refused call %ld went unseen", n);
    syn__free(&c, numbers);
    CHECK(h.live == 0, "refused call %ld: %ld blocks left", n, h.live);
  }
  context_on(&c, &h, 0);
  at = syn__alloc(&c, cap, 1);
  CHECK(syn__grow(&c, &at, &cap, SIZE_MAX, 8) == SYN_E_MEMORY && cap == 4, "more than there is");
  syn__free(&c, at);
}

/* Fills an arena with `n` objects of mixed sizes; returns how many there was room for.
   Each must be aligned, zeroed and apart from the others. */
static int fill_arena(syn__arena *a, int n) {
  unsigned char *at[200];
  size_t size[200], k;
  int i, bad = 0;
  for (i = 0; i < n; i++) {
    size[i] = i % 50 == 49 ? 40000 : (size_t)(i * 37 % 700);
    at[i] = (unsigned char *)syn__arena_get(a, size[i], 1);
    if (!at[i]) break;
    bad += (uintptr_t)at[i] % 16 != 0;
    for (k = 0; k < size[i]; k++) bad += at[i][k] != 0;
    memset(at[i], i + 1, size[i]);
  }
  n = i;
  for (i = 0; i < n; i++)
    for (k = 0; k < size[i]; k++) bad += at[i][k] != (unsigned char)(i + 1);
  CHECK(bad == 0, "%d objects: %d bytes wrong", n, bad);
  return n;
}

static void test_arena(void) {
  syn_context c;
  syn__arena a;
  heap h;
  long calls, n;
  char *text;
  context_on(&c, &h, 0);
  a.c = &c, a.chunks = NULL;
  CHECK(fill_arena(&a, 200) == 200, "all objects");
  calls = h.calls;
  text = syn__arena_text(&a, "attention", 4);
  CHECK(text && strcmp(text, "atte") == 0, "a copied text");
  CHECK(!syn__arena_get(&a, SIZE_MAX, SIZE_MAX), "a size that overflows");
  CHECK(c.status == SYN_E_MEMORY, "and is recorded");
  syn__arena_free(&a);
  syn__arena_free(&a);
  CHECK(h.live == 0 && a.chunks == NULL, "%ld blocks left", h.live);
  for (n = 1; n <= calls; n++) {
    context_on(&c, &h, n);
    CHECK(fill_arena(&a, 200) < 200 && c.status == SYN_E_MEMORY, "refused call %ld went unseen", n);
    syn__arena_free(&a);
    CHECK(h.live == 0, "refused call %ld: %ld blocks left", n, h.live);
  }
}

static void test_default_allocator(void) {
  void *block = syn__default_alloc(NULL, 100);
  CHECK(block != NULL, "malloc");
  syn__default_release(NULL, block, 100);
}

/* -- random -- */

/* The first numbers of splitmix64 as its authors' program prints them. */
static void test_random_known(void) {
  static const uint64_t zero[3] = {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu};
  static const uint64_t seeded[3] = {6457827717110365317u, 3203168211198807973u,
                                     9817491932198370423u};
  syn_random r = {0}, s = {1234567}, copy;
  int i;
  for (i = 0; i < 3; i++) CHECK(syn_random_next(&r) == zero[i], "seed 0, number %d", i);
  for (i = 0; i < 3; i++) CHECK(syn_random_next(&s) == seeded[i], "seed 1234567, number %d", i);
  copy = r;
  CHECK(syn_random_next(&copy) == syn_random_next(&r), "a copy continues alike");
}

/* Moments within 5 standard errors of n draws, counts of 64 boxes within 5 standard deviations. */
static void test_uniform(void) {
  enum { N = 200000, BOXES = 64 };
  syn_random r = {42};
  double sum = 0, squares = 0, chi = 0, n = N, share = n / 64;
  int box[BOXES] = {0}, i, outside = 0;
  for (i = 0; i < N; i++) {
    float u = syn_random_uniform(&r);
    outside += !(u >= 0.0f && u < 1.0f) || u * 16777216.0f != floorf(u * 16777216.0f);
    box[(int)(u * 64.0f) % BOXES]++;
    sum += (double)u;
    squares += (double)u * (double)u;
  }
  for (i = 0; i < BOXES; i++) chi += (box[i] - share) * (box[i] - share) / share;
  CHECK(outside == 0, "%d outside [0, 1) or no multiple of 2^-24", outside);
  CHECK(fabs(sum / n - 0.5) < 5 * sqrt(1.0 / 12 / n), "mean %g", sum / n);
  CHECK(fabs(squares / n - 1.0 / 3) < 5 * sqrt(4.0 / 45 / n), "mean square %g", squares / n);
  CHECK(fabs(chi - 63) < 5 * sqrt(2.0 * 63), "chi square %g", chi);
}

static void test_normal(void) {
  enum { N = 100000 };
  syn_random r = {7};
  double sum = 0, squares = 0, fourth = 0, inside = 0, n = N, x;
  int i, wild = 0;
  for (i = 0; i < N; i++) {
    x = (double)syn_random_normal(&r);
    wild += !(fabs(x) < 9.0);
    sum += x, squares += x * x, fourth += x * x * x * x;
    inside += fabs(x) < 1.0;
  }
  CHECK(wild == 0, "%d beyond what 53 bits can give", wild);
  CHECK(fabs(sum / n) < 5 / sqrt(n), "mean %g", sum / n);
  CHECK(fabs(squares / n - 1) < 5 * sqrt(2.0 / n), "variance %g", squares / n);
  CHECK(fabs(fourth / n - 3) < 5 * sqrt(96.0 / n), "fourth moment %g", fourth / n);
  CHECK(fabs(inside / n - 0.682689492) < 5 * sqrt(0.2166 / n), "within one sigma %g", inside / n);
}

static void test_below(void) {
  enum { N = 70000 };
  syn_random r = {3};
  int count[7] = {0}, i, x, outside = 0;
  double chi = 0, share = N / 7;
  for (i = 0; i < N; i++) {
    x = syn_random_below(&r, 7);
    if (x < 0 || x >= 7) outside++;
    else count[x]++;
  }
  for (i = 0; i < 7; i++) chi += (count[i] - share) * (count[i] - share) / share;
  CHECK(outside == 0 && chi < 6 + 5 * sqrt(12.0), "%d outside, chi square %g", outside, chi);
  for (i = 0; i < 100; i++) outside += syn_random_below(&r, 1) != 0;
  for (i = 0; i < 100; i++) outside += syn_random_below(&r, INT_MAX) < 0;
  CHECK(outside == 0, "%d outside", outside);
  CHECK(syn_random_below(&r, 0) == 0 && syn_random_below(&r, INT_MIN) == 0, "no number below");
}

/* A size that does not fit gives no block, in the arena too, and no context no crash. */
static void test_too_large(void) {
  syn_context c;
  syn__arena a;
  syn_context_init(&c, NULL);
  a.c = &c;
  a.chunks = NULL;
  CHECK(!syn__arena_get(&a, SIZE_MAX / 2, 16) && c.status == SYN_E_MEMORY, "%s", c.message);
  CHECK(!syn__arena_get(&a, 1, SIZE_MAX - 3), "a block of nearly all memory");
  CHECK(a.chunks == NULL, "chunks of an arena that gave nothing");
  CHECK(!syn__alloc(NULL, 1, 1), "a block without a context");
  CHECK(syn__fail(NULL, SYN_E_VALUE, "x") == SYN_E_VALUE, "the status comes back");
  syn_context_clear(NULL);
}

/* The edit distance, its bound of 63 bytes, and the first of equally near names. */
static void test_nearest(void) {
  static const struct { const char *a, *b; int distance; } pairs[] = {
      {"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"relu", "RELU", 0},
      {"flaw", "lawn", 2}, {"n", "n more", 0}, {"syn_attn", "syn_att", 1}};
  static const char *const names[] = {"adam", "adamw", "sgd"};
  char longer[200];
  size_t i;
  for (i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    int d = syn__edit_distance(pairs[i].a, strlen(pairs[i].a), pairs[i].b);
    CHECK(d == pairs[i].distance, "%s, %s: %d", pairs[i].a, pairs[i].b, d);
  }
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = 0;
  CHECK(syn__edit_distance(longer, 199, longer) == 0 && syn__edit_distance(longer, 199, "") == 63, "63 bytes");
  CHECK(!syn__nearest("a", 1, names, 0, sizeof *names), "no names");
  CHECK(!strcmp(syn__nearest("sdg", 3, names, 3, sizeof *names), "sgd"), "sdg");
  CHECK(!strcmp(syn__nearest("", 0, names + 1, 2, sizeof *names), "sgd"), "nothing given");
  CHECK(!strcmp(syn__nearest("adamx", 5, names, 3, sizeof *names), "adam"), "the first of two");
  CHECK(syn__number_write(longer, sizeof longer, 17, 0.5) == 3 && !strcmp(longer, "0.5"), "%s", longer);
}

/* A program of another version or layout, and one of 0.1: of the context only status and message are written. */
static void test_version(void) {
  double old[80]; /* the context of 0.1 had 504 bytes on 64 bits */
  syn_context c;
  CHECK(syn_version() == SYN_VERSION_NUMBER, "%d", syn_version());
  CHECK(syn_context_init_abi(&c, NULL, SYN_ABI + 65536) == SYN_E_VERSION && strstr(c.message, "the library is " SYN_VERSION), "%s", c.message);
  syn_context_clear(&c);
  CHECK(c.status == SYN_E_VERSION && !syn__alloc(&c, 1, 1) && !syn_context_exact(&c), "such a context is used");
  CHECK(syn_context_init_abi(&c, NULL, SYN_ABI + 8) == SYN_E_VERSION && strstr(c.message, "options that change"), "%s", c.message);
  memset(old, 0x5A, sizeof old);
  CHECK((syn_context_init)((syn_context *)(void *)old, NULL) == SYN_E_VERSION && ((syn_context *)(void *)old)->status == SYN_E_VERSION, "0.1");
  CHECK((syn_context_init)(NULL, NULL) == SYN_E_VERSION && ((unsigned char *)old)[504] == 0x5A, "0.1 without a context");
}

int main(void) {
  test_version();
  test_too_large();
  test_sizes();
  test_elementary();
  test_sincos();
  test_edges();
  test_bits();
  test_status();
  test_alloc();
  test_grow();
  test_arena();
  test_default_allocator();
  test_random_known();
  test_uniform();
  test_normal();
  test_below();
  test_nearest();
  return CHECK_END("base");
}
