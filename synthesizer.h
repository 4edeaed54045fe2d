/* synthesizer.h   v0.1   one-file C library: Synthesizer, Transformer and mixed networks


*/

#ifndef SYNTHESIZER_H
#define SYNTHESIZER_H

/* ===================================================================================================
   >>config   what the compiler and the machine give; every option has a default
   =================================================================================================== */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYN_VERSION "0.1"

#ifndef SYN_SELF
#define SYN_SELF "synthesizer.h" /* the name by which the header includes itself, once per kernel row */
#endif

/* SYN_NO_SIMD, defined by the user: only the scalar kernels are compiled.
   SYN_EXACT, defined by the user: a machine without fused multiply-add calls fmaf instead of a*b+c. */

#define SYN_MAX_THREADS 64
#define SYN_MAX_TEXT 65536  /* bytes of one architecture text, after its $NAMEs are replaced */
#define SYN_MAX_DEPTH 32    /* chains inside chains */
#define SYN_MAX_NODES 16384 /* operations of one network */
#define SYN_MAX_IN 16       /* inputs of one operation */
#define SYN_MAX_PARAM 24    /* parameters of one operation */
#define SYN_MAX_SAVE 6      /* buffers an operation keeps for its backward pass */
#define SYN_MAX_RANK 4

/* Token ids every vocabulary begins with. */
enum { SYN_PAD = 0, SYN_UNKNOWN = 1, SYN_BEGIN = 2, SYN_END = 3, SYN_FIRST_TOKEN = 4 };

#ifdef __cplusplus
extern "C" {
#endif

/* ===================================================================================================
   >>types   the structs of the public interface
   =================================================================================================== */

/* Every function that can fail returns one of these, or a null pointer; the context keeps the text. */
#define SYN_STATUS_LIST(X) \
  X(SYN_OK, "no error") \
  X(SYN_E_MEMORY, "out of memory") \
  X(SYN_E_VALUE, "a value outside its range") \
  X(SYN_E_TEXT, "an error in an architecture text") \
  X(SYN_E_SHAPE, "shapes that do not fit") \
  X(SYN_E_FILE, "a file could not be read or written") \
  X(SYN_E_FORMAT, "a file is not what it should be") \
  X(SYN_E_NOT_BUILT, "named in the language, but not built yet") \
  X(SYN_E_STOPPED, "stopped by the caller")

#define SYN__ENUM(name, text) name,
typedef enum syn_status { SYN_STATUS_LIST(SYN__ENUM) SYN_STATUS_COUNT } syn_status;
#undef SYN__ENUM

typedef struct syn_kernels syn_kernels; /* one row of kernels: scalar, avx2, avx512, neon */

/* What a caller may choose about the machine. Zeroed, every field means its default. */
typedef struct syn_options {
  void *(*alloc)(void *user, size_t bytes);     /* 0: malloc. Called only by functions that make something */
  void (*release)(void *user, void *block);     /* 0: free */
  void *user;                                   /* handed to both */
  const char *isa;                              /* 0: the best row this machine has; or a row's name */
  int threads;                                  /* 0: 1. More need a build with OpenMP */
} syn_options;

/* The context: allocator, kernels, and the first error with its numbers. One per thread of the caller;
   whatever is made with a context refers to it and must be released before it goes. */
typedef struct syn_context {
  syn_options options;
  const syn_kernels *kernels;
  syn_status status;   /* the first failure since syn_init or syn_clear */
  char message[400];   /* that failure in one line: what was given, what was wanted, where */
} syn_context;

/* A piece of text that need not end in 0. */
typedef struct syn_text {
  const char *at;
  size_t size; /* bytes */
} syn_text;



/* ===================================================================================================
   >>api   the functions, in the order of the implementation
   =================================================================================================== */

/* -- status -- */

/* Prepares a context; `options` may be null. Fails when `isa` names a row this machine does not have. */
syn_status syn_init(syn_context *c, const syn_options *options);
/* Forgets the recorded error. */
void syn_clear(syn_context *c);
/* One line for a status, for example "out of memory". Never null. */
const char *syn_status_text(syn_status status);

/* -- random -- */

/* A random state: 64-bit counter and key (splitmix64); a copy of it continues alike. */
typedef struct syn_random {
  uint64_t state;
} syn_random;
uint64_t syn_random_next(syn_random *r);             /* uniform over all 64-bit numbers */
float syn_random_uniform(syn_random *r);             /* in [0, 1), a multiple of 2^-24 */
float syn_random_normal(syn_random *r);              /* mean 0, variance 1 (Box-Muller) */
int syn_random_below(syn_random *r, int n);          /* 0 .. n-1, unbiased; n > 0 */

/* -- dispatch -- */

/* The rows of kernels in this build, by rising speed: 0 .. count-1; 0 is "scalar". */
int syn_isa_count(void);
const char *syn_isa_name(int i); /* "scalar", "avx2", "avx512", "neon"; never null */
int syn_isa_usable(int i);       /* 1: this machine has it */
/* 1: results of this context have the bits of every other exact one, whatever the machine; 0: the
   machine lacks fused multiply-add, or flushes denormals (NEON of 32-bit ARM). */
int syn_context_exact(const syn_context *c);



#ifdef __cplusplus
}
#endif
#endif /* SYNTHESIZER_H */

#if defined(SYNTHESIZER_IMPLEMENTATION) && !defined(SYN__IMPLEMENTED)
#ifndef SYN__ROW /* inside a row's pass only >>words and >>kernels are compiled, see >>dispatch */

#ifdef __FAST_MATH__
#error "synthesizer.h: -ffast-math breaks the rule that every machine computes the same bits"
#endif

/* A contracted a*b+c rounds once where the text says twice: which products are fused is written out
   as fma, so the compiler must not add its own. */
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

/* ===================================================================================================
   >>base   includes, checked sizes, elementary functions that give the same bits everywhere
   =================================================================================================== */

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define SYN__INLINE static inline __attribute__((always_inline))
#define SYN__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SYN__INLINE static inline
#define SYN__PRINTF(fmt, args)
#endif
#define SYN__UNUSED(x) ((void)(x))
#define SYN__COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int syn__min(int a, int b) { return a < b ? a : b; }
static int syn__max(int a, int b) { return a > b ? a : b; }

/* a*b and a+b, or SIZE_MAX when they do not fit: no allocation of that size ever succeeds. */
static size_t syn__mul_size(size_t a, size_t b) {
  return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}
static size_t syn__add_size(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }
/* n rounded up to a multiple of 16 floats, the width of the virtual vector. */
static size_t syn__round16(size_t n) { return n > SIZE_MAX - 15 ? SIZE_MAX : (n + 15) & ~(size_t)15; }

/* Elementary functions in double, out of + - * / and floor alone: libm differs from machine to machine
   in the last bit, these do not. Relative error below 1e-14 in the ranges used here. */

/* e^x: x = n ln 2 + r, |r| <= ln2 / 2; e^r by its Taylor series to r^13; then n doublings. */
static double syn__exp(double x) {
  double n, r, sum = 1.0, half;
  int i, k;
  if (x < -745.0) return 0.0;
  if (x > 709.0) return (double)INFINITY;
  n = floor(x * 1.4426950408889634074 + 0.5);
  r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  for (i = 13; i >= 1; i--) sum = 1.0 + sum * r / (double)i;
  half = n < 0.0 ? 0.5 : 2.0;
  for (k = (int)fabs(n); k > 0; k--) sum *= half;
  return sum;
}

/* ln x, x > 0: x = m 2^k with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m-1)/(m+1)) by its series. */
static double syn__log(double x) {
  double s, s2, sum = 0.0, k = 0.0;
  int i;
  if (x <= 0.0) return -(double)INFINITY;
  while (x >= 1.41421356237309504880) x *= 0.5, k += 1.0;
  while (x < 0.70710678118654752440) x *= 2.0, k -= 1.0;
  s = (x - 1.0) / (x + 1.0);
  s2 = s * s;
  for (i = 23; i >= 1; i -= 2) sum = sum * s2 + 1.0 / (double)i;
  return k * 6.93147180369123816490e-01 + (k * 1.90821492927058770002e-10 + 2.0 * s * sum);
}

static double syn__pow(double base, double e) { return syn__exp(e * syn__log(base)); }

/* sin(x) and cos(x) for 0 <= x < 1e6: x = q pi/2 + r, |r| <= pi/4, then the Taylor series of both. */
static void syn__sincos(double x, double *sine, double *cosine) {
  double q = floor(x * 0.63661977236758134308 + 0.5), r, r2, s = 0.0, c = 0.0, swap;
  int i, quadrant = (int)(q - 4.0 * floor(q / 4.0));
  r = ((x - q * 1.57079632673412561417e+00) - q * 6.07710050630396597660e-11) -
      q * 2.02226624879595063154e-21;
  r2 = r * r;
  for (i = 17; i >= 3; i -= 2) {
    s = (1.0 - s) * r2 / (double)(i * (i - 1));
    c = (1.0 - c) * r2 / (double)((i - 1) * (i - 2));
  }
  s = r * (1.0 - s);
  c = 1.0 - c;
  if (quadrant & 1) swap = s, s = c, c = -swap;
  if (quadrant & 2) s = -s, c = -c;
  *sine = s;
  *cosine = c;
}

/* ===================================================================================================
   >>status   the first error is kept with its numbers
   =================================================================================================== */

const char *syn_status_text(syn_status status) {
#define SYN__TEXT(name, text) text,
  static const char *const texts[] = {SYN_STATUS_LIST(SYN__TEXT)};
#undef SYN__TEXT
  return (int)status >= 0 && status < SYN_STATUS_COUNT ? texts[status] : "no such status";
}

void syn_clear(syn_context *c) {
  c->status = SYN_OK;
  c->message[0] = 0;
}

/* Records a failure, unless an earlier one is still there, and returns it. */
static syn_status syn__fail(syn_context *c, syn_status status, const char *format, ...)
    SYN__PRINTF(3, 4);
static syn_status syn__fail(syn_context *c, syn_status status, const char *format, ...) {
  va_list args;
  if (c->status != SYN_OK) return status;
  c->status = status;
  va_start(args, format);
  vsnprintf(c->message, sizeof c->message, format, args);
  va_end(args);
  return status;
}

/* ===================================================================================================
   >>memory   the caller's allocator, aligned blocks, growing arrays, the arena of a graph
   =================================================================================================== */

#define SYN__ALIGN 64 /* bytes: one cache line, one AVX-512 register */

static void *syn__default_alloc(void *user, size_t bytes) {
  SYN__UNUSED(user);
  return malloc(bytes);
}
static void syn__default_release(void *user, void *block) {
  SYN__UNUSED(user);
  free(block);
}

/* `count` elements of `size` bytes, zeroed, at a multiple of 64; null (recorded) when there is no room.
   The pointer to release stands in front of the block. */
static void *syn__alloc(syn_context *c, size_t count, size_t size) {
  size_t bytes = syn__mul_size(count, size), extra = SYN__ALIGN + sizeof(void *);
  char *block = NULL, *at;
  if (bytes < SIZE_MAX / 2) block = (char *)c->options.alloc(c->options.user, bytes + extra);
  if (!block) {
    syn__fail(c, SYN_E_MEMORY, "out of memory: %lu elements of %lu bytes", (unsigned long)count,
              (unsigned long)size);
    return NULL;
  }
  at = block + sizeof(void *);
  at += (SYN__ALIGN - (uintptr_t)at % SYN__ALIGN) % SYN__ALIGN;
  memcpy(at - sizeof(void *), &block, sizeof block);
  memset(at, 0, bytes);
  return at;
}

static void syn__free(syn_context *c, void *at) {
  void *block;
  if (!at) return;
  memcpy(&block, (char *)at - sizeof(void *), sizeof block);
  c->options.release(c->options.user, block);
}

/* Makes room for `need` elements in the array *at of *cap elements; keeps what is there. */
static syn_status syn__grow(syn_context *c, void **at, size_t *cap, size_t need, size_t size) {
  size_t cap_new = *cap ? *cap : 16;
  void *fresh;
  if (need <= *cap) return SYN_OK;
  while (cap_new < need) cap_new = syn__mul_size(cap_new, 2);
  fresh = syn__alloc(c, cap_new, size);
  if (!fresh) return SYN_E_MEMORY;
  if (*at) memcpy(fresh, *at, *cap * size);
  syn__free(c, *at);
  *at = fresh;
  *cap = cap_new;
  return SYN_OK;
}

/* Small objects that live and die together (the graph of a model): chunks in a list. */
typedef struct syn__chunk {
  struct syn__chunk *next;
  size_t used, size;
} syn__chunk;
typedef struct syn__arena {
  syn_context *c;
  syn__chunk *chunks;
} syn__arena;

static void *syn__arena_get(syn__arena *a, size_t count, size_t size) {
  size_t bytes = syn__mul_size(count, size), chunk_size;
  syn__chunk *k = a->chunks;
  char *at;
  if (bytes > SIZE_MAX / 4) bytes = SIZE_MAX / 4;
  bytes = (bytes + 15) & ~(size_t)15;
  if (!k || k->size - k->used < bytes) {
    chunk_size = bytes > 16384 ? bytes : 16384;
    k = (syn__chunk *)syn__alloc(a->c, 1, 64 + chunk_size);
    if (!k) return NULL;
    k->size = chunk_size;
    k->next = a->chunks;
    a->chunks = k;
  }
  at = (char *)k + 64 + k->used;
  k->used += bytes;
  return at;
}

static char *syn__arena_text(syn__arena *a, const char *at, size_t size) {
  char *copy = (char *)syn__arena_get(a, size + 1, 1);
  if (copy && size) memcpy(copy, at, size);
  return copy;
}

static void syn__arena_free(syn__arena *a) {
  syn__chunk *k = a->chunks, *next;
  for (; k; k = next) next = k->next, syn__free(a->c, k);
  a->chunks = NULL;
}

/* ===================================================================================================
   >>random   splitmix64: one multiply-and-shift hash of a counter (Steele, Lea, Flood 2014)
   =================================================================================================== */

static uint64_t syn__mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t syn_random_next(syn_random *r) {
  r->state += 0x9E3779B97F4A7C15u;
  return syn__mix(r->state);
}

float syn_random_uniform(syn_random *r) {
  return (float)(syn_random_next(r) >> 40) * (1.0f / 16777216.0f);
}

/* Box-Muller: sqrt(-2 ln u) cos(2 pi v), u in (0, 1]. */
float syn_random_normal(syn_random *r) {
  double u = ((double)(syn_random_next(r) >> 11) + 1.0) / 9007199254740992.0;
  double v = (double)(syn_random_next(r) >> 11) / 9007199254740992.0, s, c;
  syn__sincos(6.28318530717958647693 * v, &s, &c);
  return (float)(sqrt(-2.0 * syn__log(u)) * c);
}

int syn_random_below(syn_random *r, int n) {
  uint64_t range = (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % range, x;
  do x = syn_random_next(r);
  while (x >= limit);
  return (int)(x % range);
}

/* ===================================================================================================
   >>words   operands of the kernels; the words of one instruction set: a virtual vector of 16 floats
   =================================================================================================== */

/* Operands and the table of one row. Every result is defined without reference to a vector width, so
   that all rows give the same bits (see "same bits" in the manual):
   a product-sum runs over k in order, one fma per term and output element, from its start value;
   a sum along n elements goes through 16 lanes, lane l adding elements l, l+16, ... in order (fma where a
   product is summed), then lanes l and l+8, l and l+4, l and l+2, l and l+1 are added: "the tree".
   Tails: lanes past n take no part (zero, or -inf for a maximum). */

enum { SYN__ZERO, SYN__BIAS, SYN__ADD }; /* where a product-sum starts: 0, bias[column], what stands in c */

/* c[m,n] = start + sum_k a[m,k] b[k,n]. Element a[m,k] is a[m*a_row + k*a_col]. b is read in panels of
   16 columns: element b[k,n] is b[(n/16)*b_panel + k*b_row + n%16]; a row-major b [K,ld] has b_panel = 16,
   b_row = ld, a packed one b_panel = 16*K, b_row = 16 (columns past n are zero there). */
typedef struct syn__product {
  int m, n, k, start;
  const float *a, *b, *bias;
  float *c;
  size_t a_row, a_col, b_row, b_panel, c_row;
} syn__product;

enum { SYN__RELU, SYN__GELU, SYN__TANH, SYN__SIGMOID, SYN__SWISH, SYN__ACTS };

typedef struct syn__adam {
  float lr, beta1, beta2, eps, decay; /* decay: AdamW's, already times the learning rate */
  float fix1, fix2;                   /* 1/(1 - beta1^t), 1/(1 - beta2^t) */
  float scale;                        /* of the gradient: clipping */
} syn__adam;

typedef struct syn__dropout {
  uint32_t key, key2; /* of this layer in this step */
  uint32_t limit;     /* an element is dropped when hash(index) >> 8 < limit = round(rate * 2^24) */
  float scale;        /* 1/(1 - rate) */
} syn__dropout;

struct syn_kernels {
  const char *name;
  int exact; /* 1: this row has fused multiply-add and normal denormals, its bits are those of every exact row */
  /* b[k,n] at b[k*row + n*col] into packed panels [ceil(n/16)][k][16] */
  void (*pack)(const float *b, size_t row, size_t col, int k, int n, float *panels);
  /* rows m0..m1 and panels p0..p1 (of 16 columns) of a product */
  void (*product)(const syn__product *p, int m0, int m1, int p0, int p1);
  /* elementwise over n: y = a+b, y = a-b, y = a*b, y += a, y += a*b, y = s*x, y += s*x */
  void (*add)(float *y, const float *a, const float *b, size_t n);
  void (*sub)(float *y, const float *a, const float *b, size_t n);
  void (*mul)(float *y, const float *a, const float *b, size_t n);
  void (*acc)(float *y, const float *a, size_t n);
  void (*acc_mul)(float *y, const float *a, const float *b, size_t n);
  void (*scale)(float *y, float s, const float *x, size_t n);
  void (*acc_scale)(float *y, float s, const float *x, size_t n);
  /* reductions through the tree */
  float (*sum)(const float *x, size_t n);
  float (*dot)(const float *a, const float *b, size_t n);
  float (*max)(const float *x, size_t n);
  /* y = f(x); dx += dy f'(x). which: SYN__RELU ... */
  void (*act)(int which, float *y, const float *x, size_t n);
  void (*act_back)(int which, float *dx, const float *x, const float *dy, size_t n);
  /* y = a sigma(b); da += dy sigma(b), db += dy a sigma'(b) */
  void (*glu)(float *y, const float *a, const float *b, size_t n);
  void (*glu_back)(float *da, float *db, const float *a, const float *b, const float *dy, size_t n);
  /* y = softmax(x) over n elements, y may be x; n = 0 does nothing */
  void (*softmax)(float *y, const float *x, size_t n);
  /* ds = p (dp - sum p dp), ds may be dp */
  void (*softmax_back)(float *ds, const float *p, const float *dp, size_t n);
  /* one row of norm: y = (x - mean) rstd g + b; stats gets mean and rstd. b null: rms_norm, mean 0 */
  void (*norm)(float *y, const float *x, const float *g, const float *b, size_t n, float *stats);
  /* dx += of that row */
  void (*norm_back)(float *dx, const float *x, const float *g, const float *dy, size_t n,
                    const float *stats, int rms);
  /* columns c0..c1 over all rows in order: dg += dy xhat, db += dy (db null: rms_norm). stats [rows,2] */
  void (*norm_back_columns)(float *dg, float *db, const float *x, const float *dy, const float *stats,
                            size_t rows, size_t width, size_t c0, size_t c1);
  /* db[c] += sum over rows of dy[row,c], c0 <= c < c1, rows in order */
  void (*column_sums)(float *db, const float *dy, size_t rows, size_t width, size_t c0, size_t c1);
  /* x := keep(index + i) ? x scale : 0, in place */
  void (*dropout)(const syn__dropout *d, uint32_t index, float *x, size_t n);
  /* one row of logits: returns the loss -sum_v q_v log p_v, q = 1-eps at label, eps/(n-1) elsewhere;
     with scale != 0 the row becomes its gradient times scale: (p - q) scale */
  float (*loss)(float *z, size_t n, int label, float eps, float scale);
  /* log of the sum of exp over n elements (greedy and beam: log p = z - this) */
  float (*log_sum_exp)(const float *z, size_t n);
  /* one step of Adam over n weights */
  void (*adam)(const syn__adam *a, float *w, float *m, float *v, const float *g, size_t n);
};

/* The row passes. `>>dispatch` includes this header into itself once per instruction set, with
   SYN__ROW set; every name of a row carries the row's suffix, so that all rows live in one object
   file. */
#define SYN__ROW_SCALAR 0
#define SYN__ROW_FUSED 1 /* scalar, with fmaf as one instruction */
#define SYN__ROW_AVX2 2
#define SYN__ROW_AVX512 3
#define SYN__ROW_NEON 4

#define SYN__PASTE2(a, b) a##b
#define SYN__PASTE(a, b) SYN__PASTE2(a, b)
#define SYN__N(name) SYN__PASTE(syn__##name##_, SYN__SUFFIX)

#include <float.h>
/* Which rows this compiler can build. The macros are numbers: SYN__HAS_X86, SYN__HAS_NEON. */
#if !defined(SYN_NO_SIMD) && defined(__GNUC__) && defined(__x86_64__)
#define SYN__HAS_X86 1
#include <immintrin.h>
#else
#define SYN__HAS_X86 0
#endif
#if !defined(SYN_NO_SIMD) && defined(__GNUC__) && defined(__ARM_NEON) && \
    defined(__ARM_FEATURE_FMA) && !defined(__ARM_BIG_ENDIAN)
#define SYN__HAS_NEON 1
#include <arm_neon.h>
#else
#define SYN__HAS_NEON 0
#endif

/* fmaf of the C library is right on these systems, or is one instruction. Elsewhere (a small
   board) it may be hundreds of instructions: there a*b+c serves, unless SYN_EXACT asks for the
   same bits. */
#if defined(SYN_EXACT) || defined(FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || \
    defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__GLIBC__)
#define SYN__FUSED 1
#else
#define SYN__FUSED 0
#endif
/* A compiler that keeps floats in wider registers (x87) rounds elsewhere than the text says. The
   value 16 speaks of half precision only. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#define SYN__SCALAR_EXACT 0
#else
#define SYN__SCALAR_EXACT SYN__FUSED
#endif

#if defined(__GNUC__)
#define SYN__CALLED static __attribute__((noinline))
#else
#define SYN__CALLED static
#endif

/* The words are spoken without their suffix. v: 16 floats, u: 16 unsigned integers of 32 bits. */
#define syn__part SYN__N(part)
#define syn__upart SYN__N(upart)
#define syn__v16 SYN__N(v16)
#define syn__u16 SYN__N(u16)
#define syn__vset SYN__N(vset)
#define syn__vload SYN__N(vload)
#define syn__vstore SYN__N(vstore)
#define syn__vget SYN__N(vget)
#define syn__vput SYN__N(vput)
#define syn__vadd SYN__N(vadd)
#define syn__vsub SYN__N(vsub)
#define syn__vmul SYN__N(vmul)
#define syn__vdiv SYN__N(vdiv)
#define syn__vsqrt SYN__N(vsqrt)
#define syn__vfma SYN__N(vfma)
#define syn__vstep SYN__N(vstep)
#define syn__vif SYN__N(vif)
#define syn__vmax SYN__N(vmax)
#define syn__vhead SYN__N(vhead)
#define syn__vsum SYN__N(vsum)
#define syn__vtop SYN__N(vtop)
#define syn__vbits SYN__N(vbits)
#define syn__vfloat SYN__N(vfloat)
#define syn__ubits SYN__N(ubits)
#define syn__uset SYN__N(uset)
#define syn__uramp SYN__N(uramp)
#define syn__uadd SYN__N(uadd)
#define syn__uxor SYN__N(uxor)
#define syn__umul SYN__N(umul)
#define syn__ushl SYN__N(ushl)
#define syn__ushr SYN__N(ushr)
#define syn__vexp SYN__N(vexp)
#define syn__vminus SYN__N(vminus)
#define syn__vsigma SYN__N(vsigma)
#define syn__vtanh SYN__N(vtanh)

static const float syn__ramp[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const float syn__zeros[16 * 8] = {0}; /* where a tile of up to 8 panels starts */

#define SYN__NORM_EPS 1e-5f /* added to a variance */

/* Rows m0..m1 and panels p0..p1 of a product; panels below `whole` have all their 16 columns. */
typedef struct syn__block {
  int m0, m1, p0, p1, whole;
} syn__block;

#endif /* !SYN__ROW */
#ifdef SYN__ROW

/* -- the words of this row -- */

/* A vector of 16 lanes is made of SYN__PARTS registers of SYN__LANES floats; a row says only how
   one register does a thing (syn__p...), all else is written once below. pif(a, b, x, y): a > b ?
   x : y in every lane. pswap(a, h): lane l gets lane l^h. SYN__TILE_M x SYN__TILE_P: rows and
   panels of the product that are summed in registers at a time; _FEW and _ONE: when fewer rows are
   left. */

#if SYN__ROW == SYN__ROW_AVX512
/* 32 registers: 24 sums, 2 of b, 1 of a. */
#define SYN__ROW_NAME "avx512"
#define SYN__ROW_EXACT 1
#define SYN__PARTS 1
#define SYN__LANES 16
#define SYN__TILE_M 12
#define SYN__TILE_P 2
#define SYN__TILE_FEW 4
#define SYN__TILE_FEW_P 4
#define SYN__TILE_ONE_P 8
/* Some words are written with a mask of all lanes: g++ warns of their forms without one. */
#define SYN__ALL ((__mmask16)0xFFFF)
typedef __m512 syn__part;
typedef __m512i syn__upart;
#define syn__pset _mm512_set1_ps
#define syn__pload _mm512_loadu_ps
#define syn__pstore _mm512_storeu_ps
#define syn__padd _mm512_add_ps
#define syn__psub _mm512_sub_ps
#define syn__pmul _mm512_mul_ps
#define syn__pdiv _mm512_div_ps
#define syn__psqrt(a) _mm512_maskz_sqrt_ps(SYN__ALL, a)
#define syn__pfma _mm512_fmadd_ps
#define syn__pif(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x)
#define syn__pfirst _mm512_cvtss_f32
#define syn__pswap8(a) _mm512_maskz_shuffle_f32x4(SYN__ALL, a, a, 0x4E)
#define syn__pswap4(a) _mm512_maskz_shuffle_f32x4(SYN__ALL, a, a, 0xB1)
#define syn__pswap2(a) _mm512_maskz_permute_ps(SYN__ALL, a, 0x4E)
#define syn__pswap1(a) _mm512_maskz_permute_ps(SYN__ALL, a, 0xB1)
#define syn__pbits _mm512_castsi512_ps
#define syn__pfloat(a) _mm512_maskz_cvtepi32_ps(SYN__ALL, a)
#define syn__qbits _mm512_castps_si512
#define syn__qset(x) _mm512_set1_epi32((int)(x))
#define syn__qadd _mm512_add_epi32
#define syn__qxor _mm512_xor_si512
#define syn__qmul _mm512_mullo_epi32
#define syn__qshl(a, n) _mm512_maskz_sllv_epi32(SYN__ALL, a, _mm512_set1_epi32(n))
#define syn__qshr(a, n) _mm512_maskz_srlv_epi32(SYN__ALL, a, _mm512_set1_epi32(n))

#elif SYN__ROW == SYN__ROW_AVX2
/* 16 registers: 12 sums, 2 of b, 1 of a. */
#define SYN__ROW_NAME "avx2"
#define SYN__ROW_EXACT 1
#define SYN__PARTS 2
#define SYN__LANES 8
#define SYN__TILE_M 6
#define SYN__TILE_P 1
#define SYN__TILE_FEW 2
#define SYN__TILE_FEW_P 3
#define SYN__TILE_ONE_P 6
typedef __m256 syn__part;
typedef __m256i syn__upart;
#define syn__pset _mm256_set1_ps
#define syn__pload _mm256_loadu_ps
#define syn__pstore _mm256_storeu_ps
#define syn__padd _mm256_add_ps
#define syn__psub _mm256_sub_ps
#define syn__pmul _mm256_mul_ps
#define syn__pdiv _mm256_div_ps
#define syn__psqrt _mm256_sqrt_ps
#define syn__pfma _mm256_fmadd_ps
#define syn__pif(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ))
#define syn__pfirst _mm256_cvtss_f32
#define syn__pswap4(a) _mm256_permute2f128_ps(a, a, 1)
#define syn__pswap2(a) _mm256_permute_ps(a, 0x4E)
#define syn__pswap1(a) _mm256_permute_ps(a, 0xB1)
#define syn__pbits _mm256_castsi256_ps
#define syn__pfloat _mm256_cvtepi32_ps
#define syn__qbits _mm256_castps_si256
#define syn__qset(x) _mm256_set1_epi32((int)(x))
#define syn__qadd _mm256_add_epi32
#define syn__qxor _mm256_xor_si256
#define syn__qmul _mm256_mullo_epi32
#define syn__qshl _mm256_slli_epi32
#define syn__qshr _mm256_srli_epi32

#elif SYN__ROW == SYN__ROW_NEON
#define SYN__ROW_NAME "neon"
#define SYN__PARTS 4
#define SYN__LANES 4
typedef float32x4_t syn__part;
typedef uint32x4_t syn__upart;
#define syn__pset vdupq_n_f32
#define syn__pload vld1q_f32
#define syn__pstore vst1q_f32
#define syn__padd vaddq_f32
#define syn__psub vsubq_f32
#define syn__pmul vmulq_f32
#define syn__pfma(a, b, c) vfmaq_f32(c, a, b)
#define syn__pif(a, b, x, y) vbslq_f32(vcgtq_f32(a, b), x, y)
#define syn__pfirst(a) vgetq_lane_f32(a, 0)
#define syn__pswap2(a) vextq_f32(a, a, 2)
#define syn__pswap1(a) vrev64q_f32(a)
#define syn__pbits vreinterpretq_f32_u32
#define syn__pfloat vcvtq_f32_u32
#define syn__qbits vreinterpretq_u32_f32
#define syn__qset vdupq_n_u32
#define syn__qadd vaddq_u32
#define syn__qxor veorq_u32
#define syn__qmul vmulq_u32
#define syn__qshl(a, n) vshlq_u32(a, vdupq_n_s32(n))
#define syn__qshr(a, n) vshlq_u32(a, vdupq_n_s32(-(n)))
#if defined(__aarch64__)
/* 32 registers: 24 sums, 4 of b, 1 of a. */
#define SYN__ROW_EXACT 1
#define SYN__TILE_M 6
#define SYN__TILE_P 1
#define SYN__TILE_FEW 2
#define SYN__TILE_FEW_P 2
#define SYN__TILE_ONE_P 4
#define syn__pdiv vdivq_f32
#define syn__psqrt vsqrtq_f32
#else
/* 16 registers: 8 sums, 4 of b, 1 of a. This NEON flushes denormals, and has no division or root.
   */
#define SYN__ROW_EXACT 0
#define SYN__TILE_M 2
#define SYN__TILE_P 1
#define SYN__TILE_FEW 2
#define SYN__TILE_FEW_P 1
#define SYN__TILE_ONE_P 2
SYN__INLINE syn__part SYN__N(pdiv)(syn__part a, syn__part b) {
  float x[4], y[4];
  int i;
  vst1q_f32(x, a);
  vst1q_f32(y, b);
  for (i = 0; i < 4; i++) x[i] /= y[i];
  return vld1q_f32(x);
}
SYN__INLINE syn__part SYN__N(psqrt)(syn__part a) {
  float x[4];
  int i;
  vst1q_f32(x, a);
  for (i = 0; i < 4; i++) x[i] = sqrtf(x[i]);
  return vld1q_f32(x);
}
#define syn__pdiv SYN__N(pdiv)
#define syn__psqrt SYN__N(psqrt)
#endif

#else
/* One float is one register: the reference, the fallback, and the text to learn from. */
#define SYN__ROW_NAME "scalar"
#define SYN__ROW_EXACT SYN__SCALAR_EXACT
#define SYN__PARTS 16
#define SYN__LANES 1
#define SYN__TILE_M 4
#define SYN__TILE_P 1
#define SYN__TILE_FEW 1
#define SYN__TILE_FEW_P 1
#define SYN__TILE_ONE_P 1
typedef float syn__part;
typedef uint32_t syn__upart;
#define syn__pset(x) (x)
#define syn__pload(p) (*(p))
#define syn__pstore(p, a) (*(p) = (a))
#define syn__padd(a, b) ((a) + (b))
#define syn__psub(a, b) ((a) - (b))
#define syn__pmul(a, b) ((a) * (b))
#define syn__pdiv(a, b) ((a) / (b))
#define syn__psqrt sqrtf
#if !SYN__FUSED
#define syn__pfma(a, b, c) ((a) * (b) + (c))
#elif defined(__GNUC__)
#define syn__pfma __builtin_fmaf
#else
#define syn__pfma fmaf
#endif
#define syn__pif(a, b, x, y) ((a) > (b) ? (x) : (y))
#define syn__pfirst(a) (a)
#define syn__pfloat(a) ((float)(a))
#define syn__qset(x) (x)
#define syn__qadd(a, b) ((a) + (b))
#define syn__qxor(a, b) ((a) ^ (b))
#define syn__qmul(a, b) ((a) * (b))
#define syn__qshl(a, n) ((a) << (n))
#define syn__qshr(a, n) ((a) >> (n))
SYN__INLINE float SYN__N(pbits)(uint32_t a) {
  float f;
  memcpy(&f, &a, sizeof f);
  return f;
}
SYN__INLINE uint32_t SYN__N(qbits)(float a) {
  uint32_t u;
  memcpy(&u, &a, sizeof u);
  return u;
}
#define syn__pbits SYN__N(pbits)
#define syn__qbits SYN__N(qbits)
#endif

/* SYN__EACH(step): the step for every register i. Written out, since loops would cost gcc time in
   every word of every kernel. A scalar word is a loop over 16 floats in memory, and a call:
   inlined, they would take gcc seconds. */
#define SYN__DO(at, step) { const int i = at; step; }
#if SYN__PARTS == 1
#define SYN__EACH(step) SYN__DO(0, step)
#elif SYN__PARTS == 2
#define SYN__EACH(step) SYN__DO(0, step) SYN__DO(1, step)
#elif SYN__PARTS == 4
#define SYN__EACH(step) SYN__DO(0, step) SYN__DO(1, step) SYN__DO(2, step) SYN__DO(3, step)
#else
#define SYN__EACH(step) { int i; for (i = 0; i < SYN__PARTS; i++) step; }
#endif
#if SYN__LANES == 1
#define SYN__WORD SYN__CALLED
#define SYN__UNROLL
#else
#define SYN__WORD SYN__INLINE
#if defined(__clang__)
#define SYN__UNROLL _Pragma("clang loop unroll(full)")
#else
#define SYN__UNROLL _Pragma("GCC unroll 16") /* gcc -O2 else leaves arrays of vectors in memory */
#endif
#endif

typedef struct syn__v16 {
  syn__part p[SYN__PARTS];
} syn__v16;
typedef struct syn__u16 {
  syn__upart p[SYN__PARTS];
} syn__u16;

/* -- the words of every row, over its registers -- */

SYN__WORD syn__v16 syn__vset(float x) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__pset(x));
  return r;
}
SYN__WORD syn__v16 syn__vload(const float *x) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__pload(x + i * SYN__LANES));
  return r;
}
SYN__WORD void syn__vstore(float *y, syn__v16 a) {
  SYN__EACH(syn__pstore(y + i * SYN__LANES, a.p[i]));
}
SYN__WORD syn__v16 syn__vadd(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__padd(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__v16 syn__vsub(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__psub(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__v16 syn__vmul(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__pmul(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__v16 syn__vdiv(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__pdiv(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__v16 syn__vsqrt(syn__v16 a) {
  SYN__EACH(a.p[i] = syn__psqrt(a.p[i]));
  return a;
}
/* a b + c, rounded once */
SYN__WORD syn__v16 syn__vfma(syn__v16 a, syn__v16 b, syn__v16 c) {
  SYN__EACH(c.p[i] = syn__pfma(a.p[i], b.p[i], c.p[i]));
  return c;
}
/* sum += a b, for a number a: the step of a product */
SYN__INLINE void syn__vstep(syn__v16 *sum, float a, const syn__v16 *b) {
  SYN__EACH(sum->p[i] = syn__pfma(syn__pset(a), b->p[i], sum->p[i]));
}
/* a > b ? x : y; with a NaN in a or b: y */
SYN__WORD syn__v16 syn__vif(syn__v16 a, syn__v16 b, syn__v16 x, syn__v16 y) {
  SYN__EACH(y.p[i] = syn__pif(a.p[i], b.p[i], x.p[i], y.p[i]));
  return y;
}
SYN__WORD syn__v16 syn__vmax(syn__v16 a, syn__v16 b) { return syn__vif(a, b, a, b); }

SYN__WORD syn__v16 syn__vbits(syn__u16 a) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__pbits(a.p[i]));
  return r;
}
/* lanes below 2^24 as floats */
SYN__WORD syn__v16 syn__vfloat(syn__u16 a) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__pfloat(a.p[i]));
  return r;
}
SYN__WORD syn__u16 syn__ubits(syn__v16 a) {
  syn__u16 r;
  SYN__EACH(r.p[i] = syn__qbits(a.p[i]));
  return r;
}
SYN__WORD syn__u16 syn__uset(uint32_t x) {
  syn__u16 r;
  SYN__EACH(r.p[i] = syn__qset(x));
  return r;
}
SYN__WORD syn__u16 syn__uadd(syn__u16 a, syn__u16 b) {
  SYN__EACH(a.p[i] = syn__qadd(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__u16 syn__uxor(syn__u16 a, syn__u16 b) {
  SYN__EACH(a.p[i] = syn__qxor(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__u16 syn__umul(syn__u16 a, syn__u16 b) {
  SYN__EACH(a.p[i] = syn__qmul(a.p[i], b.p[i]));
  return a;
}
SYN__WORD syn__u16 syn__ushl(syn__u16 a, int n) {
  SYN__EACH(a.p[i] = syn__qshl(a.p[i], n));
  return a;
}
SYN__WORD syn__u16 syn__ushr(syn__u16 a, int n) {
  SYN__EACH(a.p[i] = syn__qshr(a.p[i], n));
  return a;
}

/* a[l], for l < n; rest[l] in the other lanes */
SYN__WORD syn__v16 syn__vhead(syn__v16 a, size_t n, syn__v16 rest) {
  if (n >= 16) return a;
  return syn__vif(syn__vset((float)(int)n), syn__vload(syn__ramp), a, rest);
}

/* vget: the first n of 16 floats, zero in the other lanes; vput: writes the first n. Neither
   touches memory past them. n > 16 means 16. */
#if SYN__ROW == SYN__ROW_AVX512
SYN__INLINE syn__v16 syn__vget(const float *x, size_t n) {
  syn__v16 r;
  r.p[0] = _mm512_maskz_loadu_ps((__mmask16)((1u << (n < 16 ? n : 16)) - 1u), x);
  return r;
}
SYN__INLINE void syn__vput(float *y, syn__v16 a, size_t n) {
  _mm512_mask_storeu_ps(y, (__mmask16)((1u << (n < 16 ? n : 16)) - 1u), a.p[0]);
}
#else
#if SYN__ROW == SYN__ROW_AVX2
SYN__INLINE __m256i SYN__N(mask)(size_t n, int i) {
  return _mm256_castps_si256(_mm256_cmp_ps(_mm256_set1_ps((float)(int)n),
                                           _mm256_loadu_ps(syn__ramp + 8 * i), _CMP_GT_OQ));
}
SYN__INLINE syn__v16 SYN__N(tail_get)(const float *x, size_t n) {
  syn__v16 r;
  r.p[0] = _mm256_maskload_ps(x, SYN__N(mask)(n, 0));
  r.p[1] = _mm256_maskload_ps(x + 8, SYN__N(mask)(n, 1));
  return r;
}
SYN__INLINE void SYN__N(tail_put)(float *y, syn__v16 a, size_t n) {
  _mm256_maskstore_ps(y, SYN__N(mask)(n, 0), a.p[0]);
  _mm256_maskstore_ps(y + 8, SYN__N(mask)(n, 1), a.p[1]);
}
#else
/* Out of line: a tail comes once per row of data, its code would come in every loop. */
SYN__CALLED syn__v16 SYN__N(tail_get)(const float *x, size_t n) {
  float f[16] = {0};
  size_t i;
  for (i = 0; i < n; i++) f[i] = x[i];
  return syn__vload(f);
}
SYN__CALLED void SYN__N(tail_put)(float *y, syn__v16 a, size_t n) {
  float f[16];
  size_t i;
  syn__vstore(f, a);
  for (i = 0; i < n; i++) y[i] = f[i];
}
#endif
SYN__WORD syn__v16 syn__vget(const float *x, size_t n) {
  return n < 16 ? SYN__N(tail_get)(x, n) : syn__vload(x);
}
SYN__WORD void syn__vput(float *y, syn__v16 a, size_t n) {
  if (n < 16) SYN__N(tail_put)(y, a, n);
  else syn__vstore(y, a);
}
#endif

/* 0, 1, ... 15 */
SYN__WORD syn__u16 syn__uramp(void) {
  /* 2^23 + l has the bits of 2^23, plus l */
  syn__v16 big = syn__vset(8388608.0f);
  return syn__uxor(syn__ubits(syn__vadd(big, syn__vload(syn__ramp))), syn__ubits(big));
}

/* The tree: lanes l and l+8, l and l+4, l and l+2, l and l+1. Whole registers first, then within
   one. */
SYN__WORD float syn__vsum(syn__v16 a) {
  int h, i;
  for (h = SYN__PARTS / 2; h > 0; h /= 2)
    for (i = 0; i < h; i++) a.p[i] = syn__padd(a.p[i], a.p[i + h]);
#if SYN__LANES > 8
  a.p[0] = syn__padd(a.p[0], syn__pswap8(a.p[0]));
#endif
#if SYN__LANES > 4
  a.p[0] = syn__padd(a.p[0], syn__pswap4(a.p[0]));
#endif
#if SYN__LANES > 1
  a.p[0] = syn__padd(a.p[0], syn__pswap2(a.p[0]));
  a.p[0] = syn__padd(a.p[0], syn__pswap1(a.p[0]));
#endif
  return syn__pfirst(a.p[0]);
}
/* The largest lane; no lane may be NaN. */
SYN__WORD float syn__vtop(syn__v16 a) {
  int h, i;
#if SYN__LANES > 1
  syn__part t;
#endif
  for (h = SYN__PARTS / 2; h > 0; h /= 2)
    for (i = 0; i < h; i++) a.p[i] = syn__pif(a.p[i], a.p[i + h], a.p[i], a.p[i + h]);
#if SYN__LANES > 8
  t = syn__pswap8(a.p[0]);
  a.p[0] = syn__pif(a.p[0], t, a.p[0], t);
#endif
#if SYN__LANES > 4
  t = syn__pswap4(a.p[0]);
  a.p[0] = syn__pif(a.p[0], t, a.p[0], t);
#endif
#if SYN__LANES > 1
  t = syn__pswap2(a.p[0]);
  a.p[0] = syn__pif(a.p[0], t, a.p[0], t);
  t = syn__pswap1(a.p[0]);
  a.p[0] = syn__pif(a.p[0], t, a.p[0], t);
#endif
  return syn__pfirst(a.p[0]);
}

/* ===================================================================================================
   >>kernels   the text of every kernel, written once over the words, compiled once per row
   =================================================================================================== */

/* -- exponential and its kin -- */

/* These are written over one register, not over 16 floats: so the scalar row computes them float by
   float, without a detour through memory at every word.

   e^x: n = x / ln 2 rounded to an integer, r = x - n ln 2, |r| <= ln 2 / 2;
     e^r = 1 + r + r^2 q(r), q of degree 4 (Chebyshev fit, relative error 1e-8); times 2^n.
   Adding 1.5 * 2^23 leaves n in the low bits of the sum: shifted left by 23 they are n in the
   place of the exponent, and an integer addition multiplies by 2^n. ln 2 in two parts, the first
   of 9 bits, so that n times it is exact. Below the smallest normal number (x < -87.33) the result
   is 0, above 88.72 it stays at e^88.72. The last fma carries a NaN of x through the bit tricks. */
SYN__INLINE syn__part SYN__N(exp)(syn__part x) {
  const syn__part low = syn__pset(-87.33654f), high = syn__pset(88.72283f);
  const syn__part round = syn__pset(12582912.0f), zero = syn__pset(0.0f);
  syn__part z = syn__pif(low, x, low, x), n, r, q;
  syn__upart power;
  z = syn__pif(z, high, high, z);
  n = syn__pfma(z, syn__pset(1.44269504f), round);
  power = syn__qshl(syn__qbits(n), 23);
  n = syn__psub(n, round);
  r = syn__pfma(n, syn__pset(-0.693359375f), z);
  r = syn__pfma(n, syn__pset(2.12194440e-4f), r);
  q = syn__pfma(r, syn__pset(0.00139264006f), syn__pset(0.00836335309f));
  q = syn__pfma(r, q, syn__pset(0.0416665524f));
  q = syn__pfma(r, q, syn__pset(0.166665763f));
  q = syn__pfma(r, q, syn__pset(0.5f));
  q = syn__pfma(syn__pmul(r, r), q, r);
  q = syn__padd(q, syn__pset(1.0f));
  q = syn__pbits(syn__qadd(syn__qbits(q), power));
  q = syn__pfma(z, zero, q);
  return syn__pif(low, x, zero, q);
}

/* sigma(x) = 1 / (1 + e), from e = e^-x. Its derivative is sigma (1 - sigma) = (e sigma) sigma. */
SYN__INLINE syn__part SYN__N(sigma)(syn__part e) {
  const syn__part one = syn__pset(1.0f);
  return syn__pdiv(one, syn__padd(one, e));
}
/* -x for the e of sigma, at most 87: the reciprocal of e^87 is still a normal number. */
SYN__INLINE syn__part SYN__N(minus)(syn__part x) {
  const syn__part least = syn__pset(-87.0f);
  x = syn__pif(least, x, least, x);
  return syn__psub(syn__pset(0.0f), x);
}

/* tanh x, from e = e^2|x|: sign(x) (1 - 2 / (1 + e)); where that would cancel, |x| < 0.625, it is
   x + x^3 p(x^2), p of degree 4 (Chebyshev fit, relative error 2e-8). */
SYN__INLINE syn__part SYN__N(tanh)(syn__part x, syn__part e) {
  const syn__part zero = syn__pset(0.0f), one = syn__pset(1.0f), edge = syn__pset(0.625f * 0.625f);
  syn__part x2 = syn__pmul(x, x), p, far = SYN__N(sigma)(e), close;
  p = syn__pfma(x2, syn__pset(-0.00609671418f), syn__pset(0.0209971797f));
  p = syn__pfma(x2, p, syn__pset(-0.0538509078f));
  p = syn__pfma(x2, p, syn__pset(0.133327693f));
  p = syn__pfma(x2, p, syn__pset(-0.333333284f));
  close = syn__pfma(syn__pmul(x, x2), p, x);
  far = syn__padd(far, far);
  far = syn__psub(one, far);
  p = syn__psub(zero, far);
  far = syn__pif(zero, x, p, far);
  return syn__pif(edge, x2, close, far);
}

SYN__WORD syn__v16 syn__vexp(syn__v16 a) {
  SYN__EACH(a.p[i] = SYN__N(exp)(a.p[i]));
  return a;
}
SYN__WORD syn__v16 syn__vsigma(syn__v16 e) {
  SYN__EACH(e.p[i] = SYN__N(sigma)(e.p[i]));
  return e;
}
SYN__WORD syn__v16 syn__vminus(syn__v16 a) {
  SYN__EACH(a.p[i] = SYN__N(minus)(a.p[i]));
  return a;
}
SYN__WORD syn__v16 syn__vtanh(syn__v16 a, syn__v16 e) {
  SYN__EACH(a.p[i] = SYN__N(tanh)(a.p[i], e.p[i]));
  return a;
}

/* -- products -- */

static void SYN__N(pack)(const float *b, size_t row, size_t col, int k, int n, float *panels) {
  const float *src;
  float *dst = panels;
  int i, j, l, left;
  for (j = 0; j < n; j += 16) {
    left = syn__min(n - j, 16);
    for (i = 0; i < k; i++, dst += 16) {
      src = b + (size_t)i * row + (size_t)j * col;
      if (col == 1) {
        syn__vstore(dst, syn__vget(src, (size_t)left));
      } else {
        for (l = 0; l < left; l++) dst[l] = src[(size_t)l * col];
        for (; l < 16; l++) dst[l] = 0.0f;
      }
    }
  }
}

/* 16 columns of which the first `left` are there; `whole`: all are, which needs no mask. */
SYN__INLINE syn__v16 SYN__N(panel)(const float *x, size_t left, int whole) {
  return whole ? syn__vload(x) : syn__vget(x, left);
}

/* `rows` rows by `panels` panels of c; these two and `whole` are constants where this is inlined,
   so that the sums stay in registers. For every k: sum[r][v] += a[m+r,k] b[k,v]. */
SYN__INLINE void SYN__N(tile)(const syn__product *p, int m, int j, int rows, int panels,
                              int whole) {
  syn__v16 sum[SYN__TILE_M][8], b[8];
  const size_t a_row = p->a_row, a_col = p->a_col, b_row = p->b_row, b_panel = p->b_panel;
  const size_t left = (size_t)(p->n - j * 16), row = p->start == SYN__ADD ? p->c_row : 0;
  const float *x = p->a + (size_t)m * a_row, *y = p->b + (size_t)j * b_panel, *from = syn__zeros;
  float *c = p->c + (size_t)m * p->c_row + (size_t)j * 16;
  int r, v, k, count = p->k;
  if (p->start != SYN__ZERO) from = p->start == SYN__BIAS ? p->bias + (size_t)j * 16 : c;
  SYN__UNROLL for (r = 0; r < rows; r++)
    SYN__UNROLL for (v = 0; v < panels; v++)
      sum[r][v] = SYN__N(panel)(from + (size_t)r * row + v * 16, left, whole);
  for (k = 0; k < count; k++, x += a_col, y += b_row) {
    SYN__UNROLL for (v = 0; v < panels; v++)
      b[v] = SYN__N(panel)(y + (size_t)v * b_panel, left, whole);
    SYN__UNROLL for (r = 0; r < rows; r++)
      SYN__UNROLL for (v = 0; v < panels; v++)
        syn__vstep(&sum[r][v], x[(size_t)r * a_row], &b[v]);
  }
  SYN__UNROLL for (r = 0; r < rows; r++, c += p->c_row)
    SYN__UNROLL for (v = 0; v < panels; v++) {
      if (whole) syn__vstore(c + v * 16, sum[r][v]);
      else syn__vput(c, sum[r][v], left);
    }
}

/* As many rows of the block as tiles of `rows` cover; the block then begins behind them. A group of
   panels of b stays in the cache for all rows. Panels that fill no group go one by one. */
SYN__INLINE void SYN__N(band)(const syn__product *p, syn__block *w, int rows, int panels) {
  int m, j = w->p0, end = w->m1 - (w->m1 - w->m0) % rows;
  for (; j + panels <= w->whole; j += panels)
    for (m = w->m0; m < end; m += rows) SYN__N(tile)(p, m, j, rows, panels, 1);
  for (; j < w->p1; j++)
    for (m = w->m0; m < end; m += rows) SYN__N(tile)(p, m, j, rows, 1, 0);
  w->m0 = end;
}

/* The fewer the rows, the more panels are summed at a time: an fma takes about 4 cycles, so that 8
   or more sums must be under way. */
static void SYN__N(product)(const syn__product *p, int m0, int m1, int p0, int p1) {
  syn__block w;
  w.m0 = m0, w.m1 = m1, w.p0 = p0, w.p1 = p1, w.whole = syn__min(p1, p->n / 16);
  SYN__N(band)(p, &w, SYN__TILE_M, SYN__TILE_P);
#if SYN__TILE_FEW > 1
  SYN__N(band)(p, &w, SYN__TILE_FEW, SYN__TILE_FEW_P);
#endif
  SYN__N(band)(p, &w, 1, SYN__TILE_ONE_P);
}

/* -- element by element -- */

static void SYN__N(add)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vput(y + i, syn__vadd(syn__vget(a + i, n - i), syn__vget(b + i, n - i)), n - i);
}
static void SYN__N(sub)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vput(y + i, syn__vsub(syn__vget(a + i, n - i), syn__vget(b + i, n - i)), n - i);
}
static void SYN__N(mul)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vput(y + i, syn__vmul(syn__vget(a + i, n - i), syn__vget(b + i, n - i)), n - i);
}
static void SYN__N(acc)(float *y, const float *a, size_t n) { SYN__N(add)(y, y, a, n); }

static void SYN__N(acc_mul)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 r = syn__vget(a + i, n - i);
    r = syn__vfma(r, syn__vget(b + i, n - i), syn__vget(y + i, n - i));
    syn__vput(y + i, r, n - i);
  }
}
static void SYN__N(scale)(float *y, float s, const float *x, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vput(y + i, syn__vmul(syn__vset(s), syn__vget(x + i, n - i)), n - i);
}
static void SYN__N(acc_scale)(float *y, float s, const float *x, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 r = syn__vfma(syn__vset(s), syn__vget(x + i, n - i), syn__vget(y + i, n - i));
    syn__vput(y + i, r, n - i);
  }
}

/* -- reductions -- */

static float SYN__N(sum)(const float *x, size_t n) {
  syn__v16 s = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) s = syn__vadd(s, syn__vget(x + i, n - i));
  return syn__vsum(s);
}
static float SYN__N(dot)(const float *a, const float *b, size_t n) {
  syn__v16 s = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) s = syn__vfma(syn__vget(a + i, n - i), syn__vget(b + i, n - i), s);
  return syn__vsum(s);
}
/* -inf for n = 0; a NaN is passed over */
static float SYN__N(max)(const float *x, size_t n) {
  const syn__v16 least = syn__vset(-INFINITY);
  syn__v16 t = least;
  size_t i;
  for (i = 0; i < n; i += 16) t = syn__vmax(syn__vhead(syn__vget(x + i, n - i), n - i, least), t);
  return syn__vtop(t);
}

/* -- activations -- */

/* swish x sigma(x); gelu x sigma(u), u = 2 sqrt(2/pi) (x + 0.044715 x^3), which is the usual
   0.5 x (1 + tanh(u/2)) (Hendrycks & Gimpel 2016); a NaN passes through all of them. */
#define SYN__GELU_1 1.59576912f   /* 2 sqrt(2/pi) */
#define SYN__GELU_3 0.0713548163f /* that times 0.044715 */

/* The exponential an activation is made of: e^2|x| of tanh, e^-u of the others. */
SYN__WORD syn__v16 SYN__N(act_exp)(int which, syn__v16 x) {
  syn__v16 u = x;
  if (which == SYN__TANH)
    return syn__vexp(syn__vmax(syn__vadd(x, x), syn__vmul(x, syn__vset(-2.0f))));
  if (which == SYN__GELU) {
    u = syn__vfma(syn__vset(SYN__GELU_3), syn__vmul(x, x), syn__vset(SYN__GELU_1));
    u = syn__vmul(x, u);
  }
  return syn__vexp(syn__vminus(u));
}

static void SYN__N(act)(int which, float *y, const float *x, size_t n) {
  const syn__v16 zero = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 a = syn__vget(x + i, n - i), r, e;
    if (which == SYN__RELU) {
      r = syn__vif(zero, a, zero, a);
    } else {
      e = SYN__N(act_exp)(which, a);
      r = which == SYN__TANH ? syn__vtanh(a, e) : syn__vsigma(e);
      if (which == SYN__GELU || which == SYN__SWISH) r = syn__vmul(a, r);
    }
    syn__vput(y + i, r, n - i);
  }
}

/* f'(x): relu 1 where x > 0; tanh 1 - tanh^2; sigmoid s' = s (1 - s); x s(u): s + x s' u',
   u' = 1 for swish and 2 sqrt(2/pi) (1 + 3 * 0.044715 x^2) for gelu. */
SYN__INLINE syn__v16 SYN__N(slope)(int which, syn__v16 x) {
  const syn__v16 zero = syn__vset(0.0f), one = syn__vset(1.0f);
  syn__v16 e, s, slope, u = one;
  if (which == SYN__RELU) return syn__vif(x, zero, one, zero);
  e = SYN__N(act_exp)(which, x);
  if (which == SYN__TANH) {
    s = syn__vtanh(x, e);
    return syn__vfma(syn__vsub(zero, s), s, one);
  }
  s = syn__vsigma(e);
  slope = syn__vmul(syn__vmul(e, s), s);
  if (which == SYN__SIGMOID) return slope;
  if (which == SYN__GELU)
    u = syn__vfma(syn__vset(3.0f * SYN__GELU_3), syn__vmul(x, x), syn__vset(SYN__GELU_1));
  return syn__vfma(syn__vmul(x, slope), u, s);
}

static void SYN__N(act_back)(int which, float *dx, const float *x, const float *dy, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 d = SYN__N(slope)(which, syn__vget(x + i, n - i));
    d = syn__vfma(syn__vget(dy + i, n - i), d, syn__vget(dx + i, n - i));
    syn__vput(dx + i, d, n - i);
  }
}

static void SYN__N(glu)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 s = syn__vsigma(syn__vexp(syn__vminus(syn__vget(b + i, n - i))));
    syn__vput(y + i, syn__vmul(syn__vget(a + i, n - i), s), n - i);
  }
}

static void SYN__N(glu_back)(float *da, float *db, const float *a, const float *b, const float *dy,
                             size_t n) {
  size_t i, left;
  for (i = 0; i < n; i += 16) {
    syn__v16 e, s, d, r;
    left = n - i;
    e = syn__vexp(syn__vminus(syn__vget(b + i, left)));
    s = syn__vsigma(e);
    d = syn__vget(dy + i, left);
    r = syn__vfma(d, s, syn__vget(da + i, left));
    d = syn__vmul(d, syn__vget(a + i, left));
    syn__vput(da + i, r, left);
    r = syn__vfma(d, syn__vmul(syn__vmul(e, s), s), syn__vget(db + i, left));
    syn__vput(db + i, r, left);
  }
}

/* -- softmax -- */

/* What is taken from every x before exp: the maximum, so that no exp overflows. A row of nothing
   but -inf has none; with 0 taken its sum of exp is 0. */
SYN__INLINE float SYN__N(shift)(const float *x, size_t n) {
  float top = SYN__N(max)(x, n);
  return top > -INFINITY ? top : 0.0f;
}

/* y_i = exp(x_i - shift); returns the sum. y null: only the sum. */
static float SYN__N(exps)(float *y, const float *x, float shift, size_t n) {
  const syn__v16 least = syn__vset(-INFINITY);
  syn__v16 s = syn__vset(0.0f), e;
  size_t i;
  for (i = 0; i < n; i += 16) {
    e = syn__vsub(syn__vget(x + i, n - i), syn__vset(shift));
    e = syn__vexp(syn__vhead(e, n - i, least));
    s = syn__vadd(s, e);
    if (y) syn__vput(y + i, e, n - i);
  }
  return syn__vsum(s);
}

/* A row of nothing but -inf (all masked) becomes zero. */
static void SYN__N(softmax)(float *y, const float *x, size_t n) {
  float sum = SYN__N(exps)(y, x, SYN__N(shift)(x, n), n);
  SYN__N(scale)(y, sum == 0.0f ? 0.0f : 1.0f / sum, y, n);
}

static void SYN__N(softmax_back)(float *ds, const float *p, const float *dp, size_t n) {
  float mean = SYN__N(dot)(p, dp, n);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 d = syn__vsub(syn__vget(dp + i, n - i), syn__vset(mean));
    syn__vput(ds + i, syn__vmul(syn__vget(p + i, n - i), d), n - i);
  }
}

/* ln sum_v exp z_v; -inf for n = 0 */
static float SYN__N(log_sum_exp)(const float *z, size_t n) {
  float shift = SYN__N(shift)(z, n);
  return (float)((double)shift + syn__log((double)SYN__N(exps)(NULL, z, shift, n)));
}

/* sum_v (z_v - shift) */
static float SYN__N(sum_shifted)(const float *z, float shift, size_t n) {
  syn__v16 s = syn__vset(0.0f), d;
  size_t i;
  for (i = 0; i < n; i += 16) {
    d = syn__vsub(syn__vget(z + i, n - i), syn__vset(shift));
    s = syn__vadd(s, syn__vhead(d, n - i, syn__vset(0.0f)));
  }
  return syn__vsum(s);
}

/* log p_v = z_v - shift - log_sum; the sum of q_v log p_v over v != label is eps/(n-1) times
   (sum_v log p_v - log p_label). Szegedy et al. 2016, section 7, with the label left out of the
   rest. */
static float SYN__N(loss)(float *z, size_t n, int label, float eps, float scale) {
  float shift = SYN__N(shift)(z, n), rest = n > 1 ? eps / (float)(n - 1) : 0.0f, hit = 1.0f - eps;
  double log_sum, log_label = (double)z[label] - (double)shift, loss;
  float shifted = rest != 0.0f ? SYN__N(sum_shifted)(z, shift, n) : 0.0f;
  float sum = SYN__N(exps)(scale != 0.0f ? z : NULL, z, shift, n), inverse = 1.0f / sum;
  size_t i;
  log_sum = syn__log((double)sum);
  log_label -= log_sum;
  loss = (double)hit * log_label;
  if (rest != 0.0f) loss += (double)rest * ((double)shifted - (double)n * log_sum - log_label);
  if (scale != 0.0f) {
    hit = (z[label] * inverse - hit) * scale;
    for (i = 0; i < n; i += 16) {
      syn__v16 p = syn__vmul(syn__vget(z + i, n - i), syn__vset(inverse));
      p = syn__vmul(syn__vsub(p, syn__vset(rest)), syn__vset(scale));
      syn__vput(z + i, p, n - i);
    }
    z[label] = hit;
  }
  return (float)-loss;
}

/* -- normalisation -- */

/* layer_norm (Ba, Kiros, Hinton 2016): xhat = (x - mean) rstd, y = xhat g + b, with the variance
   1/n sum (x - mean)^2 and rstd = 1 / sqrt(variance + eps). rms_norm (Zhang, Sennrich 2019): mean
   0. */
static void SYN__N(norm)(float *y, const float *x, const float *g, const float *b, size_t n,
                         float *stats) {
  const syn__v16 zero = syn__vset(0.0f);
  float count = n ? (float)n : 1.0f, mean = b ? SYN__N(sum)(x, n) / count : 0.0f, rstd;
  syn__v16 s = zero, d;
  size_t i;
  for (i = 0; i < n; i += 16) {
    d = syn__vsub(syn__vget(x + i, n - i), syn__vset(mean));
    d = syn__vhead(d, n - i, zero);
    s = syn__vfma(d, d, s);
  }
  rstd = 1.0f / sqrtf(syn__vsum(s) / count + SYN__NORM_EPS);
  stats[0] = mean;
  stats[1] = rstd;
  for (i = 0; i < n; i += 16) {
    d = syn__vmul(syn__vsub(syn__vget(x + i, n - i), syn__vset(mean)), syn__vset(rstd));
    d = syn__vfma(d, syn__vget(g + i, n - i), b ? syn__vget(b + i, n - i) : zero);
    syn__vput(y + i, d, n - i);
  }
}

/* h = dy g; dx += rstd (h - mean(h) - xhat mean(h xhat)); rms_norm: without mean(h). */
static void SYN__N(norm_back)(float *dx, const float *x, const float *g, const float *dy, size_t n,
                              const float *stats, int rms) {
  const syn__v16 zero = syn__vset(0.0f), mean = syn__vset(stats[0]), rstd = syn__vset(stats[1]);
  syn__v16 sum = zero, dot = zero, h, xhat;
  float count = n ? (float)n : 1.0f;
  size_t i;
  for (i = 0; i < n; i += 16) {
    h = syn__vmul(syn__vget(dy + i, n - i), syn__vget(g + i, n - i));
    xhat = syn__vmul(syn__vsub(syn__vget(x + i, n - i), mean), rstd);
    sum = syn__vadd(sum, h);
    dot = syn__vfma(h, xhat, dot); /* h is 0 past n */
  }
  sum = rms ? zero : syn__vset(syn__vsum(sum) / count);
  dot = syn__vset(-(syn__vsum(dot) / count));
  for (i = 0; i < n; i += 16) {
    h = syn__vmul(syn__vget(dy + i, n - i), syn__vget(g + i, n - i));
    xhat = syn__vmul(syn__vsub(syn__vget(x + i, n - i), mean), rstd);
    h = syn__vfma(xhat, dot, syn__vsub(h, sum));
    syn__vput(dx + i, syn__vfma(rstd, h, syn__vget(dx + i, n - i)), n - i);
  }
}

/* y = xhat g + b, so dg += dy xhat and db += dy, rows in order, begun from what stands in dg and
   db. */
static void SYN__N(norm_back_columns)(float *dg, float *db, const float *x, const float *dy,
                                      const float *stats, size_t rows, size_t width, size_t c0,
                                      size_t c1) {
  size_t c, r;
  for (c = c0; c < c1; c += 16) {
    syn__v16 g = syn__vget(dg + c, c1 - c), b = db ? syn__vget(db + c, c1 - c) : syn__vset(0.0f);
    for (r = 0; r < rows; r++) {
      syn__v16 d = syn__vget(dy + r * width + c, c1 - c);
      syn__v16 xhat = syn__vsub(syn__vget(x + r * width + c, c1 - c), syn__vset(stats[2 * r]));
      xhat = syn__vmul(xhat, syn__vset(stats[2 * r + 1]));
      g = syn__vfma(d, xhat, g);
      b = syn__vadd(b, d);
    }
    syn__vput(dg + c, g, c1 - c);
    if (db) syn__vput(db + c, b, c1 - c);
  }
}

static void SYN__N(column_sums)(float *db, const float *dy, size_t rows, size_t width, size_t c0,
                                size_t c1) {
  size_t c, r;
  for (c = c0; c < c1; c += 16) {
    syn__v16 b = syn__vget(db + c, c1 - c);
    for (r = 0; r < rows; r++) b = syn__vadd(b, syn__vget(dy + r * width + c, c1 - c));
    syn__vput(db + c, b, c1 - c);
  }
}

/* -- dropout and Adam -- */

/* hash: index and key, two rounds of multiply and shift (the multipliers of MurmurHash3's
   finaliser), the second key between them; the upper 24 bits are compared as floats, which hold
   them exactly. Two rounds alone do not part keys that differ in one bit, so both keys are mixed
   first. */
static void SYN__N(dropout)(const syn__dropout *d, uint32_t index, float *x, size_t n) {
  const uint64_t mixed = syn__mix((uint64_t)d->key << 32 | d->key2);
  const syn__v16 limit = syn__vset((float)d->limit), zero = syn__vset(0.0f);
  const syn__u16 ramp = syn__uramp(), key = syn__uset((uint32_t)(mixed >> 32));
  const syn__u16 key2 = syn__uset((uint32_t)mixed);
  size_t i;
  for (i = 0; i < n; i += 16, index += 16) {
    syn__v16 y = syn__vmul(syn__vget(x + i, n - i), syn__vset(d->scale));
    syn__u16 h = syn__uxor(syn__uadd(syn__uset(index), ramp), key);
    h = syn__umul(syn__uxor(h, syn__ushr(h, 16)), syn__uset(0x85EBCA6Bu));
    h = syn__uxor(syn__uxor(h, syn__ushr(h, 13)), key2);
    h = syn__umul(h, syn__uset(0xC2B2AE35u));
    h = syn__uxor(h, syn__ushr(h, 16));
    y = syn__vif(limit, syn__vfloat(syn__ushr(h, 8)), zero, y);
    syn__vput(x + i, y, n - i);
  }
}

/* Adam (Kingma & Ba 2015, algorithm 1), its decay apart from the gradient (AdamW: Loshchilov &
   Hutter 2019, algorithm 2):
     g' = g scale,  m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
     w -= lr (m fix1) / (sqrt(v fix2) + eps) + decay w. */
static void SYN__N(adam)(const syn__adam *a, float *w, float *m, float *v, const float *g,
                         size_t n) {
  const syn__v16 lr = syn__vset(a->lr * a->fix1), fix2 = syn__vset(a->fix2);
  const syn__v16 eps = syn__vset(a->eps), decay = syn__vset(a->decay), scale = syn__vset(a->scale);
  const syn__v16 beta1 = syn__vset(a->beta1), rest1 = syn__vset(1.0f - a->beta1);
  const syn__v16 beta2 = syn__vset(a->beta2), rest2 = syn__vset(1.0f - a->beta2);
  size_t i, left;
  for (i = 0; i < n; i += 16) {
    syn__v16 d, s, t, old;
    left = n - i;
    d = syn__vmul(syn__vget(g + i, left), scale);
    s = syn__vfma(beta1, syn__vget(m + i, left), syn__vmul(rest1, d));
    syn__vput(m + i, s, left);
    t = syn__vfma(beta2, syn__vget(v + i, left), syn__vmul(rest2, syn__vmul(d, d)));
    syn__vput(v + i, t, left);
    t = syn__vadd(syn__vsqrt(syn__vmul(t, fix2)), eps);
    old = syn__vget(w + i, left);
    t = syn__vfma(decay, old, syn__vdiv(syn__vmul(lr, s), t));
    syn__vput(w + i, syn__vsub(old, t), left);
  }
}

static const syn_kernels SYN__N(kernels) = {
    SYN__ROW_NAME, SYN__ROW_EXACT, SYN__N(pack), SYN__N(product), SYN__N(add), SYN__N(sub),
    SYN__N(mul), SYN__N(acc), SYN__N(acc_mul), SYN__N(scale), SYN__N(acc_scale), SYN__N(sum),
    SYN__N(dot), SYN__N(max), SYN__N(act), SYN__N(act_back), SYN__N(glu), SYN__N(glu_back),
    SYN__N(softmax), SYN__N(softmax_back), SYN__N(norm), SYN__N(norm_back),
    SYN__N(norm_back_columns), SYN__N(column_sums), SYN__N(dropout), SYN__N(loss),
    SYN__N(log_sum_exp), SYN__N(adam)};

/* The next row says all of it anew. */
#undef SYN__ROW_NAME
#undef SYN__ROW_EXACT
#undef SYN__PARTS
#undef SYN__LANES
#undef SYN__WORD
#undef SYN__EACH
#undef SYN__UNROLL
#undef SYN__DO
#undef SYN__ALL
#undef SYN__TILE_M
#undef SYN__TILE_P
#undef SYN__TILE_FEW
#undef SYN__TILE_FEW_P
#undef SYN__TILE_ONE_P
#undef SYN__GELU_1
#undef SYN__GELU_3
#undef syn__pset
#undef syn__pload
#undef syn__pstore
#undef syn__padd
#undef syn__psub
#undef syn__pmul
#undef syn__pdiv
#undef syn__psqrt
#undef syn__pfma
#undef syn__pif
#undef syn__pfirst
#undef syn__pswap8
#undef syn__pswap4
#undef syn__pswap2
#undef syn__pswap1
#undef syn__pbits
#undef syn__pfloat
#undef syn__qbits
#undef syn__qset
#undef syn__qadd
#undef syn__qxor
#undef syn__qmul
#undef syn__qshl
#undef syn__qshr

#endif /* SYN__ROW */
#ifndef SYN__ROW

/* ===================================================================================================
   >>dispatch   one row of kernels per instruction set; chosen once per context
   =================================================================================================== */

#define SYN__ROW SYN__ROW_SCALAR
#define SYN__SUFFIX scalar
#include SYN_SELF
#undef SYN__ROW
#undef SYN__SUFFIX

#if SYN__HAS_X86
/* The scalar text once more, with fmaf as one instruction. */
#define SYN__ROW SYN__ROW_FUSED
#define SYN__SUFFIX fused
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("fma"))), apply_to = function)
#include SYN_SELF
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("fma")
#include SYN_SELF
#pragma GCC pop_options
#endif
#undef SYN__ROW
#undef SYN__SUFFIX

#define SYN__ROW SYN__ROW_AVX2
#define SYN__SUFFIX avx2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#include SYN_SELF
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#include SYN_SELF
#pragma GCC pop_options
#endif
#undef SYN__ROW
#undef SYN__SUFFIX

#define SYN__ROW SYN__ROW_AVX512
#define SYN__SUFFIX avx512
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#include SYN_SELF
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#include SYN_SELF
#pragma GCC pop_options
#endif
#undef SYN__ROW
#undef SYN__SUFFIX
#endif /* SYN__HAS_X86 */

#if SYN__HAS_NEON
#define SYN__ROW SYN__ROW_NEON
#define SYN__SUFFIX neon
#include SYN_SELF
#undef SYN__ROW
#undef SYN__SUFFIX
#endif

/* The rows by rising speed; what an index of syn_isa_... means. */
static const syn_kernels *const syn__rows[] = {
    &syn__kernels_scalar,
#if SYN__HAS_X86
    &syn__kernels_avx2, &syn__kernels_avx512,
#endif
#if SYN__HAS_NEON
    &syn__kernels_neon,
#endif
};

int syn_isa_count(void) { return (int)SYN__COUNT(syn__rows); }

const char *syn_isa_name(int i) {
  return i >= 0 && i < syn_isa_count() ? syn__rows[i]->name : "no such row";
}

int syn_isa_usable(int i) {
  if (i < 0 || i >= syn_isa_count()) return 0;
#if SYN__HAS_X86
  __builtin_cpu_init();
  if (i > 0 && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return 0;
  if (i > 1 && !__builtin_cpu_supports("avx512f")) return 0;
#endif
  return 1;
}

/* Row i, which is usable. There are two builds of the scalar row on x86, of the same bits. */
static const syn_kernels *syn__row(int i) {
#if SYN__HAS_X86
  __builtin_cpu_init();
  if (i == 0 && __builtin_cpu_supports("fma")) return &syn__kernels_fused;
#endif
  return syn__rows[i];
}

static syn_status syn__pick_row(syn_context *c, const char *isa) {
  char names[80] = "";
  int i, best = 0;
  for (i = 0; i < syn_isa_count(); i++) {
    if (!syn_isa_usable(i)) continue;
    best = i;
    if (isa && !strcmp(isa, syn_isa_name(i))) break;
    strcat(names, " "); /* at most four names of at most six letters */
    strcat(names, syn_isa_name(i));
  }
  c->kernels = syn__row(best);
  if (!isa || i < syn_isa_count()) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "syn_init: isa \"%.40s\" is not usable here, these are:%s", isa,
                   names);
}

syn_status syn_init(syn_context *c, const syn_options *options) {
  syn_options *o;
  if (!c) return SYN_E_VALUE;
  memset(c, 0, sizeof *c);
  o = &c->options;
  if (options) *o = *options;
#ifdef _OPENMP
  o->threads = syn__max(1, syn__min(o->threads, SYN_MAX_THREADS));
#else
  o->threads = 1;
#endif
  if (!o->alloc != !o->release)
    syn__fail(c, SYN_E_VALUE, "syn_init: alloc and release must be given together");
  if (!o->alloc || !o->release)
    o->alloc = syn__default_alloc, o->release = syn__default_release;
  syn__pick_row(c, o->isa);
  return c->status;
}

int syn_context_exact(const syn_context *c) { return c && c->kernels && c->kernels->exact; }

/* ===================================================================================================
   >>tensor   shapes and views
   =================================================================================================== */

/* ===================================================================================================
   >>tape   record operations, run them forward, run them backward
   =================================================================================================== */


/* ===================================================================================================
   >>kinds   the one list of all kinds
   =================================================================================================== */

/* ===================================================================================================
   >>language   one line of text becomes a chain of layers
   =================================================================================================== */

/* ===================================================================================================
   >>model   parameters, their names and initial values, forward pass and memory plan
   =================================================================================================== */

/* ===================================================================================================
   >>loss   label-smoothed cross entropy in blocks of rows, with its gradient
   =================================================================================================== */

/* ===================================================================================================
   >>optim   Adam and AdamW, learning-rate schedules, clipping
   =================================================================================================== */

/* ===================================================================================================
   >>train   data, batches of like length, steps, validation, checkpoints
   =================================================================================================== */

/* ===================================================================================================
   >>decode   greedy, sampling and beam search, one new row at a time
   =================================================================================================== */

/* ===================================================================================================
   >>text   tokenizers: char, byte, space, bpe
   =================================================================================================== */

/* ===================================================================================================
   >>file   safetensors: reader, writer, model files
   =================================================================================================== */

/* ===================================================================================================
   >>small   int8 and constant models for boards without an operating system: not built yet
   =================================================================================================== */

/* ===================================================================================================
   >>license   MIT-0 or public domain, at your choice; see LICENSE
   =================================================================================================== */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#define SYN__IMPLEMENTED
#endif /* !SYN__ROW */
#endif /* SYNTHESIZER_IMPLEMENTATION */
