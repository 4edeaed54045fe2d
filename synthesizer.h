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


/* -- tensors and the tape -- */

/* A float tensor of one tape, row-major. Its numbers live in the tape's memory. */
typedef struct syn_tensor {
  struct syn_tape *tape;
  int id;                   /* its place on the tape */
  int rank;                 /* 1 .. SYN_MAX_RANK */
  int shape[SYN_MAX_RANK];
  float *x;                 /* the numbers */
  float *dx;                /* the gradient of the last syn_backward, same shape; null where none is kept */
} syn_tensor;

/* The rows of one side of a batch: sentences packed one behind the other, without padding.
   Sentence i owns the rows off[i] .. off[i+1]-1. */
typedef struct syn_stream {
  int count;      /* sentences */
  int longest;    /* tokens of the longest */
  const int *off; /* [count+1] */
} syn_stream;

/* Whose rows a tensor has. SYN_EACH: one row a sentence. SYN_OWN: a tensor of a user's own tape. */
enum { SYN_SRC, SYN_TGT, SYN_EACH, SYN_OWN, SYN_STREAMS = 3 };

/* How many floats a buffer needs, for any batch: fixed + row * rows + pair * (sum over the sentences of
   queries times keys) + length * (tokens of the longest sentence) + square * (that, squared). */
typedef struct syn_extent {
  size_t fixed, row, pair, length, square;
} syn_extent;

typedef struct syn_kind syn_kind;
typedef struct syn_node syn_node;
typedef struct syn_tape syn_tape;
typedef struct syn_build syn_build;
typedef struct syn_layer syn_layer;

/* What a layer costs: `syn info` prints it. */
typedef struct syn_cost {
  double parameters;
  double multiply_adds;    /* per token of a sentence of `length` tokens */
  double decode_bytes;     /* remembered per token already decoded */
  int length;              /* given: tokens of the sentence the cost is asked for */
} syn_cost;

/* How long a saved buffer is needed. */
enum { SYN_FORWARD, SYN_BACKWARD, SYN_BOTH };

/* One operation of a network. Built once, then only read. */
struct syn_node {
  const syn_kind *kind;
  const char *path;              /* "encoder.1.0.0.1" */
  int id, n_in, out;
  int in[SYN_MAX_IN];            /* tensors */
  int n_param, param[SYN_MAX_PARAM];
  int n_save, save_life[SYN_MAX_SAVE];
  syn_extent save[SYN_MAX_SAVE]; /* buffers from forward to backward */
  syn_extent scratch;            /* per thread, while one function of the kind runs */
  int history;                   /* floats a decoded token leaves behind for later steps */
  int source;                    /* floats a source token leaves behind for all steps */
  float drop;                    /* dropout on the output while training */
  int which;                     /* small arguments of the elementary operations */
  float number;
  void *own;                     /* a struct of the kind's own, filled by its shape function */
};

/* A kind of layer or operation: one struct, one room. `forward` may read inputs, parameters and write
   `out` and its saved buffers; `backward` only ever adds into gradients and may not read `out`
   (dropout has changed it). After `shape` accepted, nothing can fail. A kind without `step` computes
   every row alone: then its forward is its step. */
struct syn_kind {
  const char *name;
  const char *args; /* "i:n w:act f:scale k:kinds c:chain": type and name of each argument, in order;
                       i integer, f number, w word, k kinds joined by +, c chain, C any number of chains */
  int drops;        /* 1: ends with dropout on its output */
  int (*build)(syn_build *b, const syn_layer *l, int x); /* kinds made of others: tensor id, -1: failed */
  syn_status (*shape)(syn_build *b, syn_node *n);        /* checks everything, states sizes */
  void (*forward)(syn_tape *t, const syn_node *n);
  void (*backward)(syn_tape *t, const syn_node *n);
  void (*start)(syn_tape *t, const syn_node *n);         /* decoding: once, after the encoder */
  void (*step)(syn_tape *t, const syn_node *n);          /* decoding: one new row per hypothesis */
  void (*cost)(const syn_node *n, syn_cost *cost);
};

/* -- models -- */

/* A number for a $NAME in an architecture text. */
typedef struct syn_var {
  const char *name;
  double value;
} syn_var;

/* What a model is. Zeroed, a field means what its comment says; the texts are copied. */
typedef struct syn_config {
  const char *task;            /* "seq2seq" (0 means that), "lm", "classify", "tag" */
  const char *encoder;         /* architecture text; not for lm */
  const char *decoder;         /* architecture text; seq2seq and lm */
  int d_model;                 /* width of the embeddings; 0: 64 */
  int heads;                   /* of attention layers that do not say; 0: 4 */
  int max_len;                 /* N: longest sentence with its begin or end; 0: 128 */
  int src_vocab, tgt_vocab;    /* sizes of the vocabularies, the four fixed tokens included */
  int classes;                 /* classify and tag */
  const char *tie;             /* "none", "out", "all"; 0: "out" where the widths allow, else "none" */
  float dropout;               /* rate of every dropout that does not say its own */
  float label_smoothing;       /* eps of the training loss */
  uint64_t seed;               /* of the initial values */
  const syn_var *vars;         /* the numbers of $NAMEs */
  int n_vars;
  const syn_kind *const *kinds; /* a user's own kinds, beside the built-in ones; must outlive the model */
  int n_kinds;
} syn_config;

typedef struct syn_model syn_model;

/* One tensor of weights. */
typedef struct syn_param {
  const char *name;          /* "encoder.1.0.0.1.w_v" */
  int rank, shape[SYN_MAX_RANK];
  size_t size;               /* numbers */
  int trained;               /* 0: never changed by training (Fix) */
  float *x;                  /* the numbers, in the model's memory or in the file it was loaded from */
  size_t offset;             /* of its first number in the block of all weights */
} syn_param;

/* A batch of padded arrays, row-major, zeros at the end of short rows. Only read during the call. */
typedef struct syn_batch {
  int count;         /* sentences */
  const int *src;    /* [count, src_width] source tokens with their end token; null for lm */
  const int *tgt;    /* [count, tgt_width] decoder input: begin, y_1 ... y_n; null for classify and tag */
  const int *labels; /* [count, tgt_width] y_1 ... y_n end; tag [count, src_width]; classify [count] */
  int src_width, tgt_width;
} syn_batch;

/* How large a batch a run must hold. */
typedef struct syn_limits {
  int sentences;  /* at most so many; 0: as many as the rows allow */
  int src_rows;   /* tokens of all source sentences together; 0: 4096 */
  int tgt_rows;   /* decoder tokens together; 0: as src_rows */
  int length;     /* tokens of the longest sentence; 0: the model's max_len */
} syn_limits;

/* Bytes, known before anything is allocated. */
typedef struct syn_plan {
  size_t weights;      /* the parameters */
  size_t training;     /* gradients, optimizer, kept checkpoints */
  size_t activations;  /* one training step with the limits given */
  size_t decoding;     /* one decoder with the limits given */
} syn_plan;

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

#endif /* !SYN__ROW */
#ifdef SYN__ROW

/* ===================================================================================================
   >>kernels   the text of every kernel, written once over the words, compiled once per row
   =================================================================================================== */

#endif /* SYN__ROW */
#ifndef SYN__ROW

/* ===================================================================================================
   >>dispatch   one row of kernels per instruction set; chosen once per context
   =================================================================================================== */

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
