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

/* -- text -- */

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
/* A tokenizer: text to token ids and back. Made by syn_tokenizer_learn or syn_tokenizer_load; never
   changed afterwards, so any number of threads may encode and decode with one at the same time. */
typedef struct syn_tokenizer syn_tokenizer;

enum { SYN_LOWERCASE = 1 }; /* flag of syn_tokenizer_learn: upper case becomes lower case first */

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

/* -- text -- */

/* Learns a tokenizer from `count` lines. It never emits SYN_PAD, SYN_BEGIN or SYN_END; what it does
   not know is SYN_UNKNOWN; its own tokens follow from SYN_FIRST_TOKEN. `spec` names the kind:
     "byte"      ids 4 .. 259 are the bytes: every text comes back exactly
     "char"      the characters of the lines, in order of code point
     "space"     the words of the lines, the most frequent first (ties: in order of their bytes)
     "bpe:SIZE"  byte pair encoding (Sennrich, Haddow, Birch 2016) until the vocabulary has SIZE
                 tokens, the 4 fixed ones included, or no pair is left that occurs twice
   Words begin at white space (space, tab, line ends) and hold it as their first character; one
   space is put before a text and taken away again by syn_decode. So every text of known pieces
   comes back exactly; for "space" a run of n spaces holds n - 1 empty words, known if the lines had
   one. A byte that is not UTF-8 is SYN_UNKNOWN, except for "byte". `flags`: 0 or SYN_LOWERCASE
   (ASCII, Latin-1, Latin Extended-A, Greek, Cyrillic). Null on failure: spec or flags wrong, or no
   memory. */
syn_tokenizer *syn_tokenizer_learn(syn_context *c, const char *spec, int flags,
                                   const syn_text *lines, size_t count);
void syn_tokenizer_free(syn_tokenizer *t);                  /* null is allowed */
int syn_tokenizer_size(const syn_tokenizer *t);             /* the vocabulary, fixed ids included */
int syn_tokenizer_flags(const syn_tokenizer *t);
const char *syn_tokenizer_type(const syn_tokenizer *t);     /* the spec, for example "bpe:10000" */
/* Writes the first `room` ids of the text, without begin and end, and returns how many it has: a
   call with room 0 measures; no text has more tokens than bytes + 1. Allocates nothing. */
int syn_encode(const syn_tokenizer *t, syn_text text, int *ids, int room);
/* The text of `count` ids: stops at SYN_END, skips SYN_PAD and SYN_BEGIN; SYN_UNKNOWN and ids
   outside the vocabulary become U+FFFD. Returns its bytes. `out` gets the first tokens that fit in
   `room` bytes together with a final 0, which is there whenever room > 0; only "byte" may cut a
   character. */
size_t syn_decode(const syn_tokenizer *t, const int *ids, int count, char *out, size_t room);
/* What one token adds to a text, to print tokens as they come; `first`: nonzero for the first of a
   text, which loses its space. Whole characters, except for "byte". Lives as long as `t`. */
syn_text syn_token_text(const syn_tokenizer *t, int id, int first);
/* Writes the tokenizer as bytes, if all fit into `room`, and returns how many bytes it needs. */
size_t syn_tokenizer_save(const syn_tokenizer *t, void *out, size_t room);
/* Reads them back. Null (recorded) for bytes that are not a whole tokenizer. */
syn_tokenizer *syn_tokenizer_load(syn_context *c, const void *bytes, size_t size);

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

/* Bytes become characters, characters become pieces, pieces have ids. A word is one white-space
   character and all that follows up to the next, so that pieces joined together are the text
   again.

     kind    pieces          ids from 4 on are in the order of     unknown
     byte    the 256 bytes   their value                           never
     char    characters      their code point                      a new character, a bad byte
     space   whole words     how often they were seen, then bytes  a new word
     bpe     parts of words  characters: code point; then merges   a new character, a bad byte

   Byte pair encoding (Sennrich, Haddow, Birch 2016, algorithm 1): the pieces are first the
   characters; then, again and again, the pair of neighbours with the highest sum over the distinct
   words of (times in the word) x (count of the word) becomes a new piece wherever it stands. With
   "low" seen 5 times and "lower" twice: " l", " lo", " low" (7 each), then " lowe", " lower" (2).
   A merge gets the next id, so its id is its rank. Encoding a word joins, as long as there is one,
   the pair whose piece has the lowest id. As a new piece is only part of later ones, this is the
   same as applying all merges in the order in which they were learned, without trying each.

   Nothing depends on hash values or on the machine: every order here is one of counts and, for
   equal counts, of bytes. */

#define SYN__MAX_VOCAB (1 << 24)
#define SYN__MAX_WORD 256                /* characters of a word in bpe; the rest is a new word */
#define SYN__BAD_CHAR 0x80000000u        /* set in a "character" that is one byte, not UTF-8 */
#define SYN__TOKENIZER_MAGIC "syntok1"   /* with its final 0: the first 8 bytes when saved */
#define SYN__TOKENIZER_HEADER 28         /* and the bytes before its pieces */

/* -- growing arrays and a hash map -- */

typedef struct syn__growing {
  void *at;
  size_t count, cap; /* elements */
} syn__growing;

/* The place of n more elements, null (recorded) when there is no room. Indices stay int. */
static void *syn__growing_add(syn_context *c, syn__growing *g, size_t n, size_t size) {
  size_t need = syn__add_size(g->count, n);
  char *at;
  if (need > INT_MAX) {
    syn__fail(c, SYN_E_MEMORY, "tokenizer: %lu elements given, at most %lu wanted",
              (unsigned long)need, (unsigned long)INT_MAX);
    return NULL;
  }
  if (syn__grow(c, &g->at, &g->cap, need, size) != SYN_OK) return NULL;
  at = (char *)g->at + g->count * size;
  g->count = need;
  return at;
}

typedef struct syn__slot {
  uint64_t key;
  int value; /* 0: empty */
} syn__slot;

/* Open addressing, never more than half full. A key may be there more than once. */
typedef struct syn__map {
  syn__slot *slots;
  size_t cap, count; /* cap is 0 or a power of two */
} syn__map;

/* The next value stored with this key, 0 when there is none. *probe counts on; begin with 0. */
static int syn__map_next(const syn__map *m, uint64_t key, size_t *probe) {
  size_t home = (size_t)syn__mix(key);
  const syn__slot *slot;
  if (m->cap == 0) return 0;
  do slot = &m->slots[(home + (*probe)++) & (m->cap - 1)];
  while (slot->value && slot->key != key);
  return slot->value;
}

/* For keys that are there only once. */
static int syn__map_find(const syn__map *m, uint64_t key) {
  size_t probe = 0;
  return syn__map_next(m, key, &probe);
}

/* Stores a pair where a slot is known to be free. */
static void syn__map_put(syn__map *m, uint64_t key, int value) {
  size_t at = (size_t)syn__mix(key) & (m->cap - 1);
  while (m->slots[at].value) at = (at + 1) & (m->cap - 1);
  m->slots[at].key = key;
  m->slots[at].value = value;
  m->count++;
}

/* Stores a pair; a fuller map is built anew with twice the slots, which costs O(1) an entry on
   average. When that fails the old map is as it was. */
static syn_status syn__map_add(syn_context *c, syn__map *m, uint64_t key, int value) {
  syn__map wide = {NULL, 0, 0};
  size_t i;
  if ((m->count + 1) * 2 > m->cap) {
    wide.cap = m->cap ? syn__mul_size(m->cap, 2) : 64;
    wide.slots = (syn__slot *)syn__alloc(c, wide.cap, sizeof(syn__slot));
    if (!wide.slots) return SYN_E_MEMORY;
    for (i = 0; i < m->cap; i++)
      if (m->slots[i].value) syn__map_put(&wide, m->slots[i].key, m->slots[i].value);
    syn__free(c, m->slots);
    *m = wide;
  }
  syn__map_put(m, key, value);
  return SYN_OK;
}

/* FNV-1a, 64 bits: the key of a text, continued from `hash`. */
#define SYN__HASH_EMPTY 0xCBF29CE484222325u
static uint64_t syn__hash_bytes(uint64_t hash, const char *at, size_t size) {
  size_t i;
  for (i = 0; i < size; i++) hash = (hash ^ (unsigned char)at[i]) * 0x100000001B3u;
  return hash;
}

/* -- characters -- */

static syn_text syn__text_of(const char *at, size_t size) {
  syn_text text;
  text.at = at;
  text.size = size;
  return text;
}

/* Below, equal, above: < 0, 0, > 0. Order of bytes, which for UTF-8 is that of code points. */
static int syn__text_compare(syn_text a, syn_text b) {
  size_t shared = a.size < b.size ? a.size : b.size;
  int order = shared ? memcmp(a.at, b.at, shared) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Where a word begins. These are single bytes in UTF-8 and have no lower case, so the bytes of a
   text can be asked before its characters are read. */
static int syn__is_white(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* The code point at *at, which moves on; or one byte with SYN__BAD_CHAR. Strict: no overlong forms,
   no surrogates, nothing above U+10FFFF, no sequence cut short (RFC 3629):
     00..7F                     7 bits
     C2..DF 80..BF             11 bits   (C0 and C1 could only begin an overlong form)
     E0..EF 80..BF 80..BF      16 bits
     F0..F4 80..BF (3 times)   21 bits
   After a bad byte reading goes on with the very next one: no good character is swallowed. */
static uint32_t syn__char_next(syn_text text, size_t *at) {
  const unsigned char *s = (const unsigned char *)text.at + *at;
  size_t left = text.size - *at, more, i;
  uint32_t ch = s[0];
  ++*at;
  if (ch < 0x80) return ch;
  more = ch < 0xC2 || ch > 0xF4 ? 0 : ch < 0xE0 ? 1 : ch < 0xF0 ? 2 : 3;
  if (more == 0 || left <= more) return SYN__BAD_CHAR | s[0];
  ch &= 0x3Fu >> more;
  for (i = 1; i <= more; i++) {
    if ((s[i] & 0xC0u) != 0x80) return SYN__BAD_CHAR | s[0];
    ch = ch << 6 | (s[i] & 0x3Fu);
  }
  if (more == 2 && (ch < 0x800 || (ch >= 0xD800 && ch <= 0xDFFF))) return SYN__BAD_CHAR | s[0];
  if (more == 3 && (ch < 0x10000 || ch > 0x10FFFF)) return SYN__BAD_CHAR | s[0];
  *at += more;
  return ch;
}

/* Writes a character, or the byte it stands for; returns its bytes. */
static size_t syn__char_put(uint32_t ch, char *out) {
  size_t size = ch & SYN__BAD_CHAR ? 1 : ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4, i;
  static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
  if (size == 1) {
    out[0] = (char)(ch & 0xFF);
    return 1;
  }
  for (i = size - 1; i > 0; i--, ch >>= 6) out[i] = (char)(0x80 | (ch & 0x3F));
  out[0] = (char)(lead[size] | ch);
  return size;
}

/* The simple lower-case mappings of the Unicode data file for Latin-1, Latin Extended-A, Greek and
   Cyrillic: every `step`-th character from `first` to `last` moves by `add`. */
static uint32_t syn__lower(uint32_t ch) {
  static const struct {
    uint16_t first, last;
    int16_t add, step;
  } ranges[] = {
      {0x0041, 0x005A, 32, 1},   {0x00C0, 0x00D6, 32, 1},  {0x00D8, 0x00DE, 32, 1},
      {0x0100, 0x012E, 1, 2},    {0x0130, 0x0130, -199, 1}, {0x0132, 0x0136, 1, 2},
      {0x0139, 0x0147, 1, 2},    {0x014A, 0x0176, 1, 2},   {0x0178, 0x0178, -121, 1},
      {0x0179, 0x017D, 1, 2},    {0x0370, 0x0372, 1, 2},   {0x0376, 0x0376, 1, 1},
      {0x037F, 0x037F, 116, 1},  {0x0386, 0x0386, 38, 1},  {0x0388, 0x038A, 37, 1},
      {0x038C, 0x038C, 64, 1},   {0x038E, 0x038F, 63, 1},  {0x0391, 0x03A1, 32, 1},
      {0x03A3, 0x03AB, 32, 1},   {0x03CF, 0x03CF, 8, 1},   {0x03D8, 0x03EE, 1, 2},
      {0x03F4, 0x03F4, -60, 1},  {0x03F7, 0x03F7, 1, 1},   {0x03F9, 0x03F9, -7, 1},
      {0x03FA, 0x03FA, 1, 1},    {0x03FD, 0x03FF, -130, 1}, {0x0400, 0x040F, 80, 1},
      {0x0410, 0x042F, 32, 1},   {0x0460, 0x0480, 1, 2},   {0x048A, 0x04BE, 1, 2},
      {0x04C0, 0x04C0, 15, 1},   {0x04C1, 0x04CD, 1, 2},   {0x04D0, 0x052E, 1, 2}};
  size_t i;
  if (ch < 0x80) return ch >= 'A' && ch <= 'Z' ? ch + 32 : ch;
  for (i = 0; i < SYN__COUNT(ranges) && ch >= ranges[i].first; i++)
    if (ch <= ranges[i].last && ((int)ch - ranges[i].first) % ranges[i].step == 0)
      return (uint32_t)((int)ch + ranges[i].add);
  return ch;
}

/* Reads the characters of a text in lower case where wanted; `space`: one space comes before them.
   Learning and encoding read through this alone, so they see the same words; a copy of a reader is
   a place to come back to. No text is ever copied to change it. */
typedef struct syn__reader {
  syn_text text;
  size_t at;
  int flags, space;
} syn__reader;

static syn__reader syn__read(syn_text text, int flags, int space) {
  syn__reader r;
  r.text = text;
  r.at = 0;
  r.flags = flags;
  r.space = space && text.size > 0; /* an empty text has no word */
  return r;
}

/* Is there another character? */
static int syn__reading(const syn__reader *r) { return r->space || r->at < r->text.size; }

static uint32_t syn__read_char(syn__reader *r) {
  uint32_t ch;
  if (r->space) {
    r->space = 0;
    return ' ';
  }
  ch = syn__char_next(r->text, &r->at);
  return r->flags & SYN_LOWERCASE ? syn__lower(ch) : ch; /* a bad byte is above every range */
}

/* After a character of a word: does the word go on? */
static int syn__reading_word(const syn__reader *r) {
  return r->at < r->text.size && !syn__is_white(r->text.at[r->at]);
}

/* -- the tokenizer and its pieces -- */

typedef struct syn__pair {
  int left, right;
} syn__pair;

/* Where encoding writes: all ids count, the first `room` are kept. */
typedef struct syn__ids {
  int *at;
  int room, count;
} syn__ids;

/* One row a kind, see the end of the room. */
typedef struct syn__token_kind {
  const char *name;
  const char *unknown; /* what SYN_UNKNOWN adds to a text */
  int words;           /* 1: one space is put before the text */
  int sized;           /* 1: the spec has a size */
  syn_status (*add)(syn_tokenizer *t, syn_text piece); /* null: the pieces are always the same */
  syn_status (*learn)(syn_tokenizer *t, const syn_text *lines, size_t count);
  void (*encode)(const syn_tokenizer *t, syn__reader r, syn__ids *out);
} syn__token_kind;

struct syn_tokenizer {
  syn_context *c;
  const syn__token_kind *kind;
  int flags;
  int asked;           /* SIZE of bpe, else 0 */
  char type[24];
  syn__growing bytes;  /* char: the texts of the pieces, one after the other */
  syn__growing ends;   /* size_t: where each of them ends */
  syn__growing pairs;  /* syn__pair: what the last pieces were merged from */
  syn__map ids;        /* of a code point, of the hash of a word, of a pair (left << 32 | right) */
};

/* Ids are at least 1, so a pair is at least 2^32 and never meets a code point in the same map. */
static uint64_t syn__pair_key(int left, int right) {
  return (uint64_t)left << 32 | (uint32_t)right;
}

/* The text of a token of its own, SYN_FIRST_TOKEN <= id < size. It moves when a piece is added. */
static syn_text syn__piece(const syn_tokenizer *t, int id) {
  const size_t *ends = (const size_t *)t->ends.at + (id - SYN_FIRST_TOKEN);
  size_t start = id > SYN_FIRST_TOKEN ? ends[-1] : 0;
  return syn__text_of((const char *)t->bytes.at + start, ends[0] - start);
}

/* The bytes added last become the piece of the next id. */
static syn_status syn__end_piece(syn_tokenizer *t, uint64_t key) {
  int id = syn_tokenizer_size(t);
  size_t *end;
  if (id >= SYN__MAX_VOCAB)
    return syn__fail(t->c, SYN_E_VALUE, "tokenizer: more than %d tokens", SYN__MAX_VOCAB);
  end = (size_t *)syn__growing_add(t->c, &t->ends, 1, sizeof *end);
  if (!end) return SYN_E_MEMORY;
  *end = t->bytes.count;
  return syn__map_add(t->c, &t->ids, key, id);
}

/* A piece whose text stands elsewhere, at least one byte. */
static syn_status syn__add_piece(syn_tokenizer *t, syn_text piece, uint64_t key) {
  char *at = (char *)syn__growing_add(t->c, &t->bytes, piece.size, 1);
  if (!at) return SYN_E_MEMORY;
  memcpy(at, piece.at, piece.size);
  return syn__end_piece(t, key);
}

static syn_status syn__refuse_piece(syn_tokenizer *t, const char *wanted) {
  return syn__fail(t->c, SYN_E_FORMAT, "tokenizer %s: token %d is not %s", t->type,
                   syn_tokenizer_size(t), wanted);
}

/* The add functions serve learning and loading: what a file holds goes through the same checks as
   what was learned. Here a piece that is one character, as in char and in the alphabet of bpe. */
static syn_status syn__add_char(syn_tokenizer *t, syn_text piece) {
  size_t at = 0;
  uint32_t ch = piece.size ? syn__char_next(piece, &at) : SYN__BAD_CHAR;
  if (ch & SYN__BAD_CHAR || at != piece.size || syn__map_find(&t->ids, ch))
    return syn__refuse_piece(t, "one new UTF-8 character");
  return syn__add_piece(t, piece, ch);
}

/* White space, then characters that are none: what syn__reading_word can cut out of a text. */
static int syn__is_word(syn_text piece) {
  size_t at = 1;
  if (piece.size == 0 || !syn__is_white(piece.at[0])) return 0;
  while (at < piece.size)
    if (syn__is_white(piece.at[at]) || syn__char_next(piece, &at) & SYN__BAD_CHAR) return 0;
  return 1;
}

/* Different words may have the same hash: the texts decide. */
static syn_status syn__add_word(syn_tokenizer *t, syn_text piece) {
  uint64_t key = syn__hash_bytes(SYN__HASH_EMPTY, piece.at, piece.size);
  size_t probe = 0;
  int id, known = !syn__is_word(piece);
  while (!known && (id = syn__map_next(&t->ids, key, &probe)) != 0)
    known = syn__text_compare(syn__piece(t, id), piece) == 0;
  return known ? syn__refuse_piece(t, "one new word") : syn__add_piece(t, piece, key);
}

/* Joins two older pieces to the next one. Two merges may make equal texts: they stay two tokens,
   and encoding finds them by their pairs. The texts are looked up after the pool has grown. */
static syn_status syn__add_merge(syn_tokenizer *t, int left, int right) {
  syn__pair *pair;
  size_t size;
  char *at;
  int id = syn_tokenizer_size(t);
  if (left < SYN_FIRST_TOKEN || right < SYN_FIRST_TOKEN || left >= id || right >= id ||
      syn__map_find(&t->ids, syn__pair_key(left, right)))
    return syn__refuse_piece(t, "a new pair of tokens before it");
  size = syn__piece(t, left).size;
  at = (char *)syn__growing_add(t->c, &t->bytes, size + syn__piece(t, right).size, 1);
  pair = at ? (syn__pair *)syn__growing_add(t->c, &t->pairs, 1, sizeof *pair) : NULL;
  if (!pair) return SYN_E_MEMORY;
  pair->left = left;
  pair->right = right;
  memcpy(at, syn__piece(t, left).at, size);
  memcpy(at + size, syn__piece(t, right).at, syn__piece(t, right).size);
  return syn__end_piece(t, syn__pair_key(left, right));
}

/* -- encoding: one function a kind -- */

/* The count stops at INT_MAX, where no caller has room any more. */
static void syn__emit(syn__ids *out, int id) {
  if (out->count < out->room) out->at[out->count] = id;
  if (out->count < INT_MAX) out->count++;
}

/* Through the characters only for the sake of lower case: a bad byte comes out as it went in. */
static void syn__encode_bytes(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  char bytes[4];
  size_t i, size;
  SYN__UNUSED(t);
  while (syn__reading(&r)) {
    size = syn__char_put(syn__read_char(&r), bytes);
    for (i = 0; i < size; i++) syn__emit(out, SYN_FIRST_TOKEN + (unsigned char)bytes[i]);
  }
}

static int syn__char_id(const syn_tokenizer *t, uint32_t ch) {
  int id = syn__map_find(&t->ids, ch); /* no bad byte is in the map */
  return id ? id : SYN_UNKNOWN;
}

static void syn__encode_chars(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  while (syn__reading(&r)) syn__emit(out, syn__char_id(t, syn__read_char(&r)));
}

/* Is the word that begins at r this piece? Read again in place of a copy: words have any length. */
static int syn__word_is(syn__reader r, syn_text piece) {
  char bytes[4];
  size_t at = 0, size;
  do {
    size = syn__char_put(syn__read_char(&r), bytes);
    if (piece.size - at < size || memcmp(piece.at + at, bytes, size) != 0) return 0;
    at += size;
  } while (syn__reading_word(&r));
  return at == piece.size;
}

/* The hash is taken while reading; whoever has the same hash is compared with the text itself. */
static void syn__encode_words(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  char bytes[4];
  while (syn__reading(&r)) {
    syn__reader word = r;
    uint64_t key = SYN__HASH_EMPTY;
    size_t probe = 0;
    int id;
    do key = syn__hash_bytes(key, bytes, syn__char_put(syn__read_char(&r), bytes));
    while (syn__reading_word(&r));
    do id = syn__map_next(&t->ids, key, &probe);
    while (id && !syn__word_is(word, syn__piece(t, id)));
    syn__emit(out, id ? id : SYN_UNKNOWN);
  }
}

/* The piece that two neighbours make, INT_MAX for none. */
static int syn__merge_rank(const syn_tokenizer *t, const int *s) {
  int id = syn__map_find(&t->ids, syn__pair_key(s[0], s[1]));
  return id ? id : INT_MAX;
}

/* Merges the symbols s[0..n) of one word and returns how many are left. rank[i] is the piece that
   s[i], s[i+1] make; the lowest goes first, of equal ones the left. n - 1 rounds of n steps at
   most: the words of a language are short, and SYN__MAX_WORD bounds all others. An unknown symbol
   is in no pair, so nothing is merged across it. */
static int syn__merge_word(const syn_tokenizer *t, int *s, int n) {
  int rank[SYN__MAX_WORD], i, best, low;
  for (i = 0; i + 1 < n; i++) rank[i] = syn__merge_rank(t, s + i);
  for (;;) {
    for (low = INT_MAX, best = i = 0; i + 1 < n; i++)
      if (rank[i] < low) low = rank[i], best = i;
    if (low == INT_MAX) return n;
    s[best] = low;
    n--;
    for (i = best + 1; i < n; i++) s[i] = s[i + 1], rank[i - 1] = rank[i];
    if (best + 1 < n) rank[best] = syn__merge_rank(t, s + best);
    if (best > 0) rank[best - 1] = syn__merge_rank(t, s + best - 1);
  }
}

/* Word by word in a buffer on the stack: an unbroken run longer than SYN__MAX_WORD characters is
   cut, here as in learning, so that no text needs more. */
static void syn__encode_pairs(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  int s[SYN__MAX_WORD], n, i;
  while (syn__reading(&r)) {
    n = 0;
    do s[n++] = syn__char_id(t, syn__read_char(&r));
    while (n < SYN__MAX_WORD && syn__reading_word(&r));
    n = syn__merge_word(t, s, n);
    for (i = 0; i < n; i++) syn__emit(out, s[i]);
  }
}

/* -- learning: count units, order them -- */

/* Texts with their counts: characters or words. A unit is first written behind all others, as the
   open one; when it turns out to be known, its bytes are given back. */
typedef struct syn__unit {
  size_t start, size; /* in the bytes of the counter */
  uint64_t count;
} syn__unit;
typedef struct syn__counter {
  syn_context *c;
  syn__growing bytes, units; /* char, syn__unit */
  syn__map map;              /* hash of a text -> its unit + 1 */
  size_t open;               /* where the unit begins that is not closed yet */
} syn__counter;

static void syn__counter_free(syn__counter *k) {
  syn__free(k->c, k->bytes.at);
  syn__free(k->c, k->units.at);
  syn__free(k->c, k->map.slots);
}

/* Pointers into a counter hold until the next character or unit. */
static syn__unit *syn__unit_at(const syn__counter *k, int i) {
  return (syn__unit *)k->units.at + i;
}

static syn_text syn__unit_text(const syn__counter *k, int i) {
  const syn__unit *u = syn__unit_at(k, i);
  return syn__text_of((const char *)k->bytes.at + u->start, u->size);
}

/* The next character of the open unit. */
static syn_status syn__count_char(syn__counter *k, uint32_t ch) {
  char bytes[4];
  size_t size = syn__char_put(ch, bytes);
  char *at = (char *)syn__growing_add(k->c, &k->bytes, size, 1);
  if (!at) return SYN_E_MEMORY;
  memcpy(at, bytes, size);
  return SYN_OK;
}

/* Ends the open unit and counts it `times` times; its bytes stay only when it is new. */
static syn_status syn__count_unit(syn__counter *k, uint64_t times) {
  syn_text text = syn__text_of((const char *)k->bytes.at + k->open, k->bytes.count - k->open);
  uint64_t key = syn__hash_bytes(SYN__HASH_EMPTY, text.at, text.size);
  size_t probe = 0;
  syn__unit *u;
  int i;
  while ((i = syn__map_next(&k->map, key, &probe)) != 0) {
    if (syn__text_compare(syn__unit_text(k, i - 1), text) != 0) continue;
    syn__unit_at(k, i - 1)->count += times;
    k->bytes.count = k->open;
    return SYN_OK;
  }
  u = (syn__unit *)syn__growing_add(k->c, &k->units, 1, sizeof *u);
  if (!u) return SYN_E_MEMORY;
  u->start = k->open;
  u->size = text.size;
  u->count = times;
  k->open = k->bytes.count;
  return syn__map_add(k->c, &k->map, key, (int)k->units.count);
}

/* Every word of the lines, at most `limit` characters each, a bad byte kept as the byte it is. */
static syn_status syn__count_words(syn__counter *k, syn_tokenizer *t, const syn_text *lines,
                                   size_t count, size_t limit) {
  size_t i, n;
  for (i = 0; i < count; i++) {
    syn__reader r = syn__read(lines[i], t->flags, 1);
    while (syn__reading(&r)) {
      n = 0;
      do
        if (syn__count_char(k, syn__read_char(&r)) != SYN_OK) return SYN_E_MEMORY;
      while (++n < limit && syn__reading_word(&r));
      if (syn__count_unit(k, 1) != SYN_OK) return SYN_E_MEMORY;
    }
  }
  return SYN_OK;
}

/* Every character of a text, `times` times. */
static syn_status syn__count_chars(syn__counter *k, syn__reader r, uint64_t times) {
  while (syn__reading(&r)) {
    uint32_t ch = syn__read_char(&r);
    if (ch & SYN__BAD_CHAR) continue;
    if (syn__count_char(k, ch) != SYN_OK) return SYN_E_MEMORY;
    if (syn__count_unit(k, times) != SYN_OK) return SYN_E_MEMORY;
  }
  return SYN_OK;
}

/* A binary heap: the item of the highest count is first, of equal counts the one whose text is
   first. */
typedef struct syn__ranked {
  uint64_t count;
  int item;
} syn__ranked;
typedef struct syn__heap {
  syn__growing entries; /* syn__ranked */
  const void *owner;
  int (*compare)(const void *owner, int a, int b);
} syn__heap;

static int syn__heap_before(const syn__heap *h, const syn__ranked *a, const syn__ranked *b) {
  return a->count != b->count ? a->count > b->count : h->compare(h->owner, a->item, b->item) < 0;
}

/* Lets the parents of a free place sink into it until the new entry may stand there. */
static syn_status syn__heap_push(syn_context *c, syn__heap *h, uint64_t count, int item) {
  syn__ranked *e, fresh;
  size_t i = h->entries.count;
  fresh.count = count;
  fresh.item = item;
  if (!syn__growing_add(c, &h->entries, 1, sizeof *e)) return SYN_E_MEMORY;
  e = (syn__ranked *)h->entries.at;
  for (; i > 0 && syn__heap_before(h, &fresh, &e[(i - 1) / 2]); i = (i - 1) / 2)
    e[i] = e[(i - 1) / 2];
  e[i] = fresh;
  return SYN_OK;
}

/* Takes the first out; 0 when there is none. The array keeps its room: a push that follows a pop
   cannot fail. */
static int syn__heap_pop(syn__heap *h, syn__ranked *first) {
  syn__ranked *e = (syn__ranked *)h->entries.at, last;
  size_t i = 0, child, n;
  if (h->entries.count == 0) return 0;
  *first = e[0];
  n = --h->entries.count;
  last = e[n];
  while ((child = 2 * i + 1) < n) {
    if (child + 1 < n && syn__heap_before(h, &e[child + 1], &e[child])) child++;
    if (!syn__heap_before(h, &e[child], &last)) break;
    e[i] = e[child];
    i = child;
  }
  e[i] = last;
  return 1;
}

static int syn__unit_compare(const void *owner, int a, int b) {
  const syn__counter *k = (const syn__counter *)owner;
  return syn__text_compare(syn__unit_text(k, a), syn__unit_text(k, b));
}

/* A heap of the units, all with count 0 when only their texts shall order them. */
static syn_status syn__heap_units(syn__heap *h, const syn__counter *k, int by_count) {
  int i;
  h->owner = k;
  h->compare = syn__unit_compare;
  for (i = 0; i < (int)k->units.count; i++)
    if (syn__heap_push(k->c, h, by_count ? syn__unit_at(k, i)->count : 0, i) != SYN_OK)
      return SYN_E_MEMORY;
  return SYN_OK;
}

/* Nothing to learn; the map stays unused in encoding: a byte's id is its value + 4. */
static syn_status syn__learn_bytes(syn_tokenizer *t, const syn_text *lines, size_t count) {
  int i;
  char byte;
  SYN__UNUSED(lines);
  SYN__UNUSED(count);
  for (i = 0; i < 256; i++) {
    byte = (char)i;
    if (syn__add_piece(t, syn__text_of(&byte, 1), (uint64_t)i) != SYN_OK) return SYN_E_MEMORY;
  }
  return SYN_OK;
}

/* The units become pieces: words the most frequent first, those with bad bytes left out;
   characters in order of code point. */
static syn_status syn__add_units(syn_tokenizer *t, const syn__counter *k, int words) {
  syn__heap heap = {{NULL, 0, 0}, NULL, NULL};
  syn__ranked top;
  syn_status status = syn__heap_units(&heap, k, words);
  while (status == SYN_OK && syn__heap_pop(&heap, &top)) {
    syn_text text = syn__unit_text(k, top.item);
    if (!words || syn__is_word(text)) status = t->kind->add(t, text);
  }
  syn__free(t->c, heap.entries.at);
  return status;
}

/* char: one pass over the lines counts the characters; the counts play no part. */
static syn_status syn__learn_chars(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn__counter k;
  syn_status status = SYN_OK;
  size_t i;
  memset(&k, 0, sizeof k);
  k.c = t->c;
  for (i = 0; i < count && status == SYN_OK; i++)
    status = syn__count_chars(&k, syn__read(lines[i], t->flags, 0), 1);
  if (status == SYN_OK) status = syn__add_units(t, &k, 0);
  syn__counter_free(&k);
  return status;
}

/* space: words of any length, in order of their counts. */
static syn_status syn__learn_words(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn__counter k;
  syn_status status;
  memset(&k, 0, sizeof k);
  k.c = t->c;
  status = syn__count_words(&k, t, lines, count, SIZE_MAX);
  if (status == SYN_OK) status = syn__add_units(t, &k, 1);
  syn__counter_free(&k);
  return status;
}

/* -- learning byte pair encoding -- */

/* Each distinct word is kept once, as symbols. Each pair knows its count and the words in which it
   came up; a word it has left since is found out when it is read. A count can only grow in the
   step that makes one of the two symbols, so a heap entry is at worst too high: it is put back
   with its true count. */
typedef struct syn__bpe_word {
  int start, size; /* in the symbols */
  uint64_t count;
} syn__bpe_word;
typedef struct syn__bpe_pair {
  int left, right, words; /* words: the last of its list + 1, 0 when it is empty */
  uint64_t count;
} syn__bpe_pair;
typedef struct syn__bpe_link {
  int word, next; /* next: as `words` above */
} syn__bpe_link;
typedef struct syn__bpe {
  syn_tokenizer *t;
  syn__counter texts;
  syn__growing words, symbols, pairs, links; /* syn__bpe_word, int, syn__bpe_pair, syn__bpe_link */
  syn__map map;                              /* pair key -> its pair + 1 */
  syn__heap heap;                            /* of pairs */
  int fresh;                                 /* pairs from here on are new in this step */
} syn__bpe;

static void syn__bpe_free(syn__bpe *b) {
  syn__counter_free(&b->texts);
  syn__free(b->t->c, b->words.at);
  syn__free(b->t->c, b->symbols.at);
  syn__free(b->t->c, b->pairs.at);
  syn__free(b->t->c, b->links.at);
  syn__free(b->t->c, b->map.slots);
  syn__free(b->t->c, b->heap.entries.at);
}

static syn__bpe_pair *syn__bpe_pair_at(const syn__bpe *b, int i) {
  return (syn__bpe_pair *)b->pairs.at + i;
}

/* Equal counts: the pair whose left text, then right text, is smaller comes first; only for equal
   texts do the ids decide. */
static int syn__bpe_compare(const void *owner, int i, int j) {
  const syn__bpe *b = (const syn__bpe *)owner;
  const syn__bpe_pair *x = syn__bpe_pair_at(b, i), *y = syn__bpe_pair_at(b, j);
  int order = syn__text_compare(syn__piece(b->t, x->left), syn__piece(b->t, y->left));
  if (order == 0) order = syn__text_compare(syn__piece(b->t, x->right), syn__piece(b->t, y->right));
  if (order == 0) order = x->left != y->left ? x->left - y->left : x->right - y->right;
  return order;
}

/* The alphabet: space, then the most frequent characters, as many as asked for; by code point. The
   space is counted as more than all others together: without it no word could begin. What is left
   out is SYN_UNKNOWN in the words too, and no merge is learned across it. */
static syn_status syn__bpe_alphabet(syn__bpe *b) {
  syn__counter all, kept;
  syn__heap heap = {{NULL, 0, 0}, NULL, NULL};
  syn__ranked top;
  syn_status status;
  int i, room = b->t->asked - SYN_FIRST_TOKEN;
  memset(&all, 0, sizeof all);
  all.c = b->t->c;
  kept = all;
  status = syn__count_chars(&all, syn__read(syn__text_of(" ", 1), 0, 0), UINT64_MAX / 2);
  for (i = 0; i < (int)b->texts.units.count && status == SYN_OK; i++)
    status = syn__count_chars(&all, syn__read(syn__unit_text(&b->texts, i), 0, 0),
                              syn__unit_at(&b->texts, i)->count);
  if (status == SYN_OK) status = syn__heap_units(&heap, &all, 1);
  while (status == SYN_OK && room-- > 0 && syn__heap_pop(&heap, &top))
    status = syn__count_chars(&kept, syn__read(syn__unit_text(&all, top.item), 0, 0), 1);
  if (status == SYN_OK) status = syn__add_units(b->t, &kept, 0);
  syn__free(b->t->c, heap.entries.at);
  syn__counter_free(&all);
  syn__counter_free(&kept);
  return status;
}

/* The pair of two symbols, made when it is new; null (recorded) when there is no memory. */
static syn__bpe_pair *syn__bpe_pair_of(syn__bpe *b, int left, int right) {
  uint64_t key = syn__pair_key(left, right);
  syn__bpe_pair *p;
  int at = syn__map_find(&b->map, key);
  if (at) return syn__bpe_pair_at(b, at - 1);
  p = (syn__bpe_pair *)syn__growing_add(b->t->c, &b->pairs, 1, sizeof *p);
  if (!p || syn__map_add(b->t->c, &b->map, key, (int)b->pairs.count) != SYN_OK) return NULL;
  p->left = left;
  p->right = right;
  p->words = 0;
  p->count = 0;
  return p;
}

/* Adds `times` to the count of a pair in a word (modulo 2^64: 0 - n takes n away). The word enters
   the list of a pair that is fresh, once: words are read one after the other. */
static syn_status syn__bpe_count(syn__bpe *b, int word, int left, int right, uint64_t times) {
  syn__bpe_pair *p;
  syn__bpe_link *link;
  if (left == SYN_UNKNOWN || right == SYN_UNKNOWN) return SYN_OK;
  p = syn__bpe_pair_of(b, left, right);
  if (!p) return SYN_E_MEMORY;
  p->count += times;
  if (p < syn__bpe_pair_at(b, b->fresh)) return SYN_OK;
  if (p->words && ((syn__bpe_link *)b->links.at)[p->words - 1].word == word) return SYN_OK;
  link = (syn__bpe_link *)syn__growing_add(b->t->c, &b->links, 1, sizeof *link);
  if (!link) return SYN_E_MEMORY;
  link->word = word;
  link->next = p->words;
  p->words = (int)b->links.count;
  return SYN_OK;
}

/* The pairs that came up in this step go into the heap, those that occur twice: merging one that
   was seen once would only store a piece of the training text. */
static syn_status syn__bpe_rank(syn__bpe *b) {
  for (; b->fresh < (int)b->pairs.count; b->fresh++) {
    uint64_t count = syn__bpe_pair_at(b, b->fresh)->count;
    if (count >= 2 && syn__heap_push(b->t->c, &b->heap, count, b->fresh) != SYN_OK)
      return SYN_E_MEMORY;
  }
  return SYN_OK;
}

/* x left right y in a word becomes x id y: besides left right two pairs go, and two are new. x and
   y are null at the ends of the word. In a a a the pair a a is there twice: the first place takes
   both away, once as left right, once as right y. */
static syn_status syn__bpe_replace(syn__bpe *b, int word, const int *x, const int *y,
                                   syn__pair pair, int id) {
  uint64_t times = ((const syn__bpe_word *)b->words.at)[word].count;
  syn_status status = syn__bpe_count(b, word, pair.left, pair.right, 0 - times);
  if (x && status == SYN_OK) status = syn__bpe_count(b, word, *x, pair.left, 0 - times);
  if (x && status == SYN_OK) status = syn__bpe_count(b, word, *x, id, times);
  if (y && status == SYN_OK) status = syn__bpe_count(b, word, pair.right, *y, 0 - times);
  if (y && status == SYN_OK) status = syn__bpe_count(b, word, id, *y, times);
  return status;
}

/* Puts `id` for the pair in one word, from the left: what stands before a place is done already. */
static syn_status syn__bpe_join(syn__bpe *b, int word, syn__pair pair, int id) {
  syn__bpe_word *w = (syn__bpe_word *)b->words.at + word;
  int *s = (int *)b->symbols.at + w->start;
  int i, n = 0;
  syn_status status = SYN_OK;
  for (i = 0; i < w->size && status == SYN_OK; i++) {
    if (i + 1 >= w->size || s[i] != pair.left || s[i + 1] != pair.right) {
      s[n++] = s[i];
      continue;
    }
    status = syn__bpe_replace(b, word, n > 0 ? &s[n - 1] : NULL, i + 2 < w->size ? &s[i + 2] : NULL,
                              pair, id);
    s[n++] = id;
    i++;
  }
  w->size = n;
  return status;
}

/* The distinct words as symbols, and the counts of their pairs. */
static syn_status syn__bpe_words(syn__bpe *b) {
  int i, k;
  for (i = 0; i < (int)b->texts.units.count; i++) {
    syn__reader r = syn__read(syn__unit_text(&b->texts, i), 0, 0);
    syn__bpe_word *w = (syn__bpe_word *)syn__growing_add(b->t->c, &b->words, 1, sizeof *w);
    if (!w) return SYN_E_MEMORY;
    w->start = (int)b->symbols.count;
    w->count = syn__unit_at(&b->texts, i)->count;
    while (syn__reading(&r)) {
      int *symbol = (int *)syn__growing_add(b->t->c, &b->symbols, 1, sizeof *symbol);
      if (!symbol) return SYN_E_MEMORY;
      *symbol = syn__char_id(b->t, syn__read_char(&r));
    }
    w->size = (int)b->symbols.count - w->start;
    for (k = (int)b->symbols.count - w->size; k + 1 < (int)b->symbols.count; k++) {
      const int *s = (const int *)b->symbols.at + k;
      if (syn__bpe_count(b, i, s[0], s[1], w->count) != SYN_OK) return SYN_E_MEMORY;
    }
  }
  return syn__bpe_rank(b);
}

/* One merge after the other until the vocabulary is full or no pair occurs twice. The list of the
   pair is walked by indices: its array may move while words are joined. */
static syn_status syn__bpe_merge(syn__bpe *b) {
  syn__ranked top;
  syn_status status = SYN_OK;
  int id, at;
  while (status == SYN_OK && (id = syn_tokenizer_size(b->t)) < b->t->asked &&
         syn__heap_pop(&b->heap, &top)) {
    syn__bpe_pair p = *syn__bpe_pair_at(b, top.item);
    syn__pair pair;
    if (p.count != top.count) {
      if (p.count >= 2) status = syn__heap_push(b->t->c, &b->heap, p.count, top.item);
      continue;
    }
    pair.left = p.left;
    pair.right = p.right;
    status = syn__add_merge(b->t, pair.left, pair.right);
    for (at = p.words; at && status == SYN_OK;) {
      syn__bpe_link link = ((const syn__bpe_link *)b->links.at)[at - 1];
      status = syn__bpe_join(b, link.word, pair, id);
      at = link.next;
    }
    if (status == SYN_OK) status = syn__bpe_rank(b);
  }
  return status;
}

/* bpe: the distinct words; their characters; the words as symbols; merges. */
static syn_status syn__learn_pairs(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn__bpe b;
  syn_status status;
  memset(&b, 0, sizeof b);
  b.t = t;
  b.texts.c = t->c;
  b.heap.owner = &b;
  b.heap.compare = syn__bpe_compare;
  status = syn__count_words(&b.texts, t, lines, count, SYN__MAX_WORD);
  if (status == SYN_OK) status = syn__bpe_alphabet(&b);
  if (status == SYN_OK) status = syn__bpe_words(&b);
  if (status == SYN_OK) status = syn__bpe_merge(&b);
  syn__bpe_free(&b);
  return status;
}

/* -- the kinds and the public functions -- */

/* A saved tokenizer holds the place in this list: new kinds go to its end. */
static const syn__token_kind syn__token_kinds[] = {
    {"byte", "\xEF\xBF\xBD", 0, 0, NULL, syn__learn_bytes, syn__encode_bytes},
    {"char", "\xEF\xBF\xBD", 0, 0, syn__add_char, syn__learn_chars, syn__encode_chars},
    {"space", " \xEF\xBF\xBD", 1, 0, syn__add_word, syn__learn_words, syn__encode_words},
    {"bpe", "\xEF\xBF\xBD", 1, 1, syn__add_char, syn__learn_pairs, syn__encode_pairs}};

/* bpe needs room for the space; the other kinds have no size. */
static int syn__token_size_fits(const syn__token_kind *kind, uint32_t asked) {
  return kind->sized ? asked > SYN_FIRST_TOKEN && asked <= SYN__MAX_VOCAB : asked == 0;
}

/* The kind a spec names and its size; null when it names none. Reading the size stops at the first
   number above the limit: it cannot overflow. */
static const syn__token_kind *syn__token_spec(const char *spec, uint32_t *asked) {
  const syn__token_kind *kind;
  size_t i, n = 0;
  for (i = 0; spec && i < SYN__COUNT(syn__token_kinds); i++) {
    kind = &syn__token_kinds[i];
    n = strlen(kind->name);
    *asked = 0;
    if (strncmp(spec, kind->name, n) != 0 || spec[n] != (kind->sized ? ':' : 0)) continue;
    if (!kind->sized) return kind;
    while (spec[++n] >= '0' && spec[n] <= '9' && *asked <= SYN__MAX_VOCAB)
      *asked = *asked * 10 + (uint32_t)(spec[n] - '0');
    if (spec[n] == 0 && syn__token_size_fits(kind, *asked)) return kind;
  }
  return NULL;
}

/* An empty tokenizer, with its spec as a text. */
static syn_tokenizer *syn__tokenizer_make(syn_context *c, const syn__token_kind *kind, int flags,
                                          uint32_t asked) {
  syn_tokenizer *t = (syn_tokenizer *)syn__alloc(c, 1, sizeof *t);
  if (!t) return NULL;
  t->c = c;
  t->kind = kind;
  t->flags = flags;
  t->asked = (int)asked;
  snprintf(t->type, sizeof t->type, kind->sized ? "%s:%d" : "%s", kind->name, t->asked);
  return t;
}

syn_tokenizer *syn_tokenizer_learn(syn_context *c, const char *spec, int flags,
                                   const syn_text *lines, size_t count) {
  uint32_t asked = 0;
  const syn__token_kind *kind = syn__token_spec(spec, &asked);
  syn_tokenizer *t = NULL;
  if (!kind)
    syn__fail(c, SYN_E_VALUE, "tokenizer: \"%.40s\" given; byte, char, space or bpe:SIZE "
              "wanted, SIZE from %d to %d", spec ? spec : "", SYN_FIRST_TOKEN + 1, SYN__MAX_VOCAB);
  else if (flags & ~SYN_LOWERCASE)
    syn__fail(c, SYN_E_VALUE, "tokenizer: flags %d given; 0 or SYN_LOWERCASE (%d) wanted", flags,
              SYN_LOWERCASE);
  else
    t = syn__tokenizer_make(c, kind, flags, asked);
  if (t && kind->learn(t, lines, count) != SYN_OK) {
    syn_tokenizer_free(t);
    t = NULL;
  }
  return t;
}

void syn_tokenizer_free(syn_tokenizer *t) {
  if (!t) return;
  syn__free(t->c, t->bytes.at);
  syn__free(t->c, t->ends.at);
  syn__free(t->c, t->pairs.at);
  syn__free(t->c, t->ids.slots);
  syn__free(t->c, t);
}

int syn_tokenizer_size(const syn_tokenizer *t) { return SYN_FIRST_TOKEN + (int)t->ends.count; }
int syn_tokenizer_flags(const syn_tokenizer *t) { return t->flags; }
const char *syn_tokenizer_type(const syn_tokenizer *t) { return t->type; }

/* Reads only what was built before: no scratch, no cache, nothing to lock. */
int syn_encode(const syn_tokenizer *t, syn_text text, int *ids, int room) {
  syn__ids out;
  out.at = ids;
  out.room = room;
  out.count = 0;
  t->kind->encode(t, syn__read(text, t->flags, t->kind->words), &out);
  return out.count;
}

/* Unknown stands for one character, for "space" for a word with its space. */
syn_text syn_token_text(const syn_tokenizer *t, int id, int first) {
  syn_text text = syn__text_of(t->kind->unknown, strlen(t->kind->unknown));
  if (id == SYN_PAD || id == SYN_BEGIN || id == SYN_END) text.size = 0;
  if (id >= SYN_FIRST_TOKEN && id < syn_tokenizer_size(t)) text = syn__piece(t, id);
  if (first && t->kind->words && text.size && text.at[0] == ' ') text.at++, text.size--;
  return text;
}

/* `size` counts all; `kept` stops at the first token that does not fit, so that no shorter one
   after it leaves a hole in the text. */
size_t syn_decode(const syn_tokenizer *t, const int *ids, int count, char *out, size_t room) {
  size_t size = 0, kept = 0;
  int i, first = 1;
  for (i = 0; i < count && ids[i] != SYN_END; i++) {
    syn_text text = syn_token_text(t, ids[i], first);
    if (ids[i] == SYN_PAD || ids[i] == SYN_BEGIN) continue;
    first = 0;
    if (kept == size && text.size < room - kept && room > 0) {
      if (text.size) memcpy(out + kept, text.at, text.size);
      kept += text.size;
    }
    size += text.size;
  }
  if (room > 0) out[kept] = 0;
  return size;
}

/* The saved form, all numbers u32, little-endian:
      0  "syntok1" and its final 0
      8  kind (its place in the list above), flags, SIZE (0 but for bpe), P pieces, M merges
     28  the bytes of each piece [P]
         left, right of each merge [M,2]: the merge m is token 4 + P - M + m
         the texts of all pieces, one after the other
   byte stores no pieces. What merges make is written too, though it follows from the pairs: a
   reader needs no more memory than the file has, and other programs see the vocabulary. */
static void syn__text_put32(unsigned char *out, uint32_t x) {
  int i;
  for (i = 0; i < 4; i++) out[i] = (unsigned char)(x >> 8 * i & 0xFF);
}

static uint32_t syn__text_get32(const unsigned char *in) {
  return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Equal tokenizers give equal bytes. */
size_t syn_tokenizer_save(const syn_tokenizer *t, void *out, size_t room) {
  unsigned char *at = (unsigned char *)out;
  const syn__pair *pairs = (const syn__pair *)t->pairs.at;
  size_t stored = t->kind->add ? t->ends.count : 0, merges = t->pairs.count, i; /* none for byte */
  size_t bytes = stored ? t->bytes.count : 0;
  size_t need = SYN__TOKENIZER_HEADER + 4 * stored + 8 * merges + bytes;
  if (need > room) return need;
  memcpy(at, SYN__TOKENIZER_MAGIC, 8);
  syn__text_put32(at + 8, (uint32_t)(t->kind - syn__token_kinds));
  syn__text_put32(at + 12, (uint32_t)t->flags);
  syn__text_put32(at + 16, (uint32_t)t->asked);
  syn__text_put32(at + 20, (uint32_t)stored);
  syn__text_put32(at + 24, (uint32_t)merges);
  at += SYN__TOKENIZER_HEADER;
  for (i = 0; i < stored; i++, at += 4)
    syn__text_put32(at, (uint32_t)syn__piece(t, SYN_FIRST_TOKEN + (int)i).size);
  for (i = 0; i < merges; i++, at += 8) {
    syn__text_put32(at, (uint32_t)pairs[i].left);
    syn__text_put32(at + 4, (uint32_t)pairs[i].right);
  }
  if (bytes) memcpy(at, t->bytes.at, bytes);
  return need;
}

/* The header of a saved tokenizer, when it is possible at all in `size` bytes. Once the limit on
   the pieces holds, 4 * pieces + 8 * merges fits in 32 bits. */
static syn_tokenizer *syn__load_header(syn_context *c, const unsigned char *in, size_t size) {
  uint32_t field[5] = {UINT32_MAX, 0, 0, 0, 0}; /* kind, flags, SIZE, pieces, merges */
  const syn__token_kind *kind = NULL;
  int i, fits = 0;
  if (in && size >= SYN__TOKENIZER_HEADER && memcmp(in, SYN__TOKENIZER_MAGIC, 8) == 0)
    for (i = 0; i < 5; i++) field[i] = syn__text_get32(in + 8 + 4 * i);
  if (field[0] < SYN__COUNT(syn__token_kinds)) {
    kind = &syn__token_kinds[field[0]];
    fits = !(field[1] & ~(uint32_t)SYN_LOWERCASE) && syn__token_size_fits(kind, field[2]);
    fits = fits && field[3] <= (uint32_t)SYN__MAX_VOCAB && field[4] <= field[3];
    fits = fits && 4 * field[3] + 8 * field[4] <= size - SYN__TOKENIZER_HEADER;
    fits = fits && (kind->sized ? SYN_FIRST_TOKEN + field[3] <= field[2] : field[4] == 0);
    fits = fits && (kind->add || field[3] == 0);
  }
  if (fits) return syn__tokenizer_make(c, kind, (int)field[1], field[2]);
  syn__fail(c, SYN_E_FORMAT, "tokenizer: the %lu bytes given do not begin one (kind %lu, "
            "flags %lu, size %lu, %lu pieces, %lu merges)", (unsigned long)size,
            (unsigned long)field[0], (unsigned long)field[1], (unsigned long)field[2],
            (unsigned long)field[3], (unsigned long)field[4]);
  return NULL;
}

/* An id, 0 for a number that is none. */
static int syn__load_id(const unsigned char *in) {
  uint32_t id = syn__text_get32(in);
  return id < SYN__MAX_VOCAB ? (int)id : 0;
}

/* The pieces and merges: each is added as in learning, with its checks. A merge is compared with
   its text in the file as soon as it is made: pieces that double in length are stopped at the
   first. */
static syn_status syn__load_pieces(syn_tokenizer *t, const unsigned char *in, size_t size) {
  size_t pieces = syn__text_get32(in + 20), merges = syn__text_get32(in + 24), i;
  const unsigned char *sizes = in + SYN__TOKENIZER_HEADER, *pairs = sizes + 4 * pieces;
  size_t at = SYN__TOKENIZER_HEADER + 4 * pieces + 8 * merges;
  syn_status status = SYN_OK;
  for (i = 0; i < pieces && status == SYN_OK; i++) {
    syn_text piece = syn__text_of((const char *)in + at, syn__text_get32(sizes + 4 * i));
    if (piece.size > size - at) return syn__refuse_piece(t, "inside the bytes given");
    at += piece.size;
    if (i < pieces - merges) {
      status = t->kind->add(t, piece);
      continue;
    }
    status = syn__add_merge(t, syn__load_id(pairs), syn__load_id(pairs + 4));
    pairs += 8;
    if (status == SYN_OK && syn__text_compare(syn__piece(t, syn_tokenizer_size(t) - 1), piece) != 0)
      status = syn__refuse_piece(t, "preceded by the pieces it is made of");
  }
  if (status == SYN_OK && at != size)
    status = syn__fail(t->c, SYN_E_FORMAT, "tokenizer %s: %lu bytes given, %lu wanted", t->type,
                       (unsigned long)size, (unsigned long)at);
  return status;
}

/* A kind without an add function has the same pieces always: they are made, not read. */
syn_tokenizer *syn_tokenizer_load(syn_context *c, const void *bytes, size_t size) {
  const unsigned char *in = (const unsigned char *)bytes;
  syn_tokenizer *t = syn__load_header(c, in, size);
  syn_status status = SYN_OK;
  if (t && !t->kind->add) status = t->kind->learn(t, NULL, 0);
  if (t && status == SYN_OK) status = syn__load_pieces(t, in, size);
  if (status == SYN_OK) return t;
  syn_tokenizer_free(t);
  return NULL;
}

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
