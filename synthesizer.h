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
   SYN_EXACT, defined by the user: a machine without fused multiply-add calls fmaf instead of a*b+c.
   SYN_NO_STDIO, defined by the user: no file is opened; models come from memory, go to a sink. */

#define SYN_MAX_THREADS 64
#define SYN_MAX_TEXT 65536  /* bytes of one architecture text, after its $NAMEs are replaced */
#define SYN_MAX_DEPTH 32    /* chains inside chains */
#define SYN_MAX_NODES 16384 /* operations of one network */
#define SYN_MAX_IN 16       /* inputs of one operation */
#define SYN_MAX_PARAM 24    /* parameters of one operation */
#define SYN_MAX_SAVE 6      /* buffers an operation keeps for its backward pass */
#define SYN_MAX_RANK 4
#define SYN_FILE_RANK 8     /* of a tensor in a file */

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
/* -- file -- */

/* Element types of a safetensors file: name, name in the file, bits of one element, bytes of the
   number that is swapped on a big-endian machine (a complex C64 is two F32). */
#define SYN_DTYPE_LIST(X) \
  X(SYN_F32, "F32", 32, 4) X(SYN_F16, "F16", 16, 2) X(SYN_BF16, "BF16", 16, 2) \
  X(SYN_I8, "I8", 8, 1) X(SYN_U8, "U8", 8, 1) X(SYN_I32, "I32", 32, 4) X(SYN_I64, "I64", 64, 8) \
  X(SYN_F64, "F64", 64, 8) X(SYN_BOOL, "BOOL", 8, 1) X(SYN_I16, "I16", 16, 2) \
  X(SYN_U16, "U16", 16, 2) X(SYN_U32, "U32", 32, 4) X(SYN_U64, "U64", 64, 8) \
  X(SYN_C64, "C64", 64, 4) X(SYN_F8_E4M3, "F8_E4M3", 8, 1) X(SYN_F8_E5M2, "F8_E5M2", 8, 1) \
  X(SYN_F8_E8M0, "F8_E8M0", 8, 1) X(SYN_F6_E2M3, "F6_E2M3", 6, 1) X(SYN_F6_E3M2, "F6_E3M2", 6, 1) \
  X(SYN_F4, "F4", 4, 1)

#define SYN__ENUM(name, text, bits, unit) name,
typedef enum syn_dtype { SYN_DTYPE_LIST(SYN__ENUM) SYN_DTYPE_COUNT } syn_dtype;
#undef SYN__ENUM

/* A tensor of a file. `data` has the byte order of the machine and may stand at any address: copy
   elements out with memcpy or syn_entry_floats. */
typedef struct syn_entry {
  const char *name; /* UTF-8, ends in 0 */
  syn_dtype dtype;
  int rank;                    /* 0 (one element) .. SYN_FILE_RANK */
  size_t shape[SYN_FILE_RANK]; /* outermost first; 0 allowed: no element */
  const void *data;
  size_t bytes; /* of data: elements times bits / 8 */
} syn_entry;

/* One fact of a file's metadata, both UTF-8, both end in 0. */
typedef struct syn_pair {
  const char *key, *value;
} syn_pair;

typedef struct syn_file syn_file; /* a safetensors file that was read and checked */

/* Where bytes go: `write` takes `size` bytes and returns how many it took; fewer is a failure. */
typedef struct syn_sink {
  size_t (*write)(void *user, const void *bytes, size_t size);
  void *user; /* handed to write */
} syn_sink;

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
/* -- dispatch -- */

/* The rows of kernels in this build, by rising speed: 0 .. count-1; 0 is "scalar". */
int syn_isa_count(void);
const char *syn_isa_name(int i); /* "scalar", "avx2", "avx512", "neon"; never null */
int syn_isa_usable(int i);       /* 1: this machine has it */
/* 1: results of this context have the bits of every other exact one, whatever the machine; 0: the
   machine lacks fused multiply-add, or flushes denormals (NEON of 32-bit ARM). */
int syn_context_exact(const syn_context *c);


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
/* -- file -- */

/* The container is safetensors, https://github.com/huggingface/safetensors: header length (u64,
   little-endian), JSON header, data. A file is hostile until it is checked: sizes, shapes, names,
   offsets (tensors fill the data without overlap or hole); not the values of elements. */

const char *syn_dtype_name(syn_dtype dtype); /* as in the file: "F32". "?" when there is none */

#ifndef SYN_NO_STDIO
/* Reads a whole file into one block. Null when it cannot be read (SYN_E_FILE), is not valid
   (SYN_E_FORMAT) or does not fit into memory (SYN_E_MEMORY). Close it before its context goes. */
syn_file *syn_file_open(syn_context *c, const char *path);
#endif
/* The same for a file in memory; `bytes` are not copied and must outlive the syn_file. */
syn_file *syn_file_view(syn_context *c, const void *bytes, size_t size);
/* Releases the file and all that was had from it: entries, pairs, names, data. Null is allowed. */
void syn_file_close(syn_file *f);

/* Tensors and metadata in the order of the header; null past the end, and for an unknown name. */
size_t syn_file_count(const syn_file *f);
const syn_entry *syn_file_entry(const syn_file *f, size_t i);
const syn_entry *syn_file_find(const syn_file *f, const char *name);
size_t syn_file_pair_count(const syn_file *f);
const syn_pair *syn_file_pair(const syn_file *f, size_t i);
const char *syn_file_value(const syn_file *f, const char *key);

/* out[0..count) = the elements of an F32, F16 or BF16 entry, exact. Another dtype is SYN_E_FORMAT,
   a count that is not the entry's is SYN_E_SHAPE; then out is zeroed. */
syn_status syn_entry_floats(syn_context *c, const syn_entry *e, float *out, size_t count);

/* Bytes of the file the writers below make of these; 0 and an error for what they refuse: a name
   null, twice, not UTF-8 or "__metadata__"; bytes that are not those of shape and dtype. */
size_t syn_file_size(syn_context *c, const syn_pair *pairs, size_t n_pairs,
                     const syn_entry *entries, size_t n_entries);
#ifndef SYN_NO_STDIO
/* Writes a file. The same input gives the same bytes on every machine. They go to `path`.tmp (one
   writer per path at a time), are flushed to the disk, then renamed over `path`, whose old content
   stays as it was after any failure (SYN_E_FILE). A device or pipe is written directly. */
syn_status syn_file_write(syn_context *c, const char *path, const syn_pair *pairs, size_t n_pairs,
                          const syn_entry *entries, size_t n_entries);
#endif
/* The same bytes into a sink, in order; SYN_E_FILE when it fails. */
syn_status syn_file_write_to(syn_context *c, const syn_sink *sink, const syn_pair *pairs,
                             size_t n_pairs, const syn_entry *entries, size_t n_entries);

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

/* The row passes. `>>dispatch` includes this header into itself once per instruction set, with SYN__ROW
   set; every name of a row carries the row's suffix, so that all rows live in one object file. */
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

/* fmaf of the C library is right on these systems, or is one instruction. Elsewhere (a small board) it
   may be hundreds of instructions: there a*b+c serves, unless SYN_EXACT asks for the same bits. */
#if defined(SYN_EXACT) || defined(FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || \
    defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__GLIBC__)
#define SYN__FUSED 1
#else
#define SYN__FUSED 0
#endif
/* A compiler that keeps floats in wider registers (x87) rounds elsewhere than the text says. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#define SYN__SCALAR_EXACT 0
#else
#define SYN__SCALAR_EXACT SYN__FUSED
#endif

#if defined(__GNUC__)
#define SYN__CALLED static __attribute__((noinline))
#else
#define SYN__CALLED static
#endif
#if defined(__clang__)
#define SYN__UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define SYN__UNROLL _Pragma("GCC unroll 16") /* or gcc -O2 leaves small arrays of vectors in memory */
#else
#define SYN__UNROLL
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

/* A vector of 16 lanes is made of SYN__PARTS registers of SYN__LANES floats; a row says only how one
   register does a thing (syn__p...), all else is written once below. pif(a, b, x, y): a > b ? x : y in
   every lane. pswap(a, h): lane l gets lane l^h. SYN__TILE_M x SYN__TILE_P: rows and panels of the
   product that are summed in registers at a time; _FEW and _ONE: when fewer rows are left. */

#if SYN__ROW == SYN__ROW_AVX512
/* 32 registers: 24 sums, 2 of b; elements of a are broadcast from memory by the fma itself. */
#define SYN__ROW_NAME "avx512"
#define SYN__ROW_EXACT 1
#define SYN__PARTS 1
#define SYN__LANES 16
#define SYN__TILE_M 12
#define SYN__TILE_P 2
#define SYN__TILE_FEW 4
#define SYN__TILE_FEW_P 4
#define SYN__TILE_ONE_P 8
typedef __m512 syn__part;
typedef __m512i syn__upart;
#define syn__pset _mm512_set1_ps
#define syn__pload _mm512_loadu_ps
#define syn__pstore _mm512_storeu_ps
#define syn__padd _mm512_add_ps
#define syn__psub _mm512_sub_ps
#define syn__pmul _mm512_mul_ps
#define syn__pdiv _mm512_div_ps
#define syn__psqrt _mm512_sqrt_ps
#define syn__pfma _mm512_fmadd_ps
#define syn__pif(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x)
#define syn__pfirst _mm512_cvtss_f32
#define syn__pswap8(a) _mm512_shuffle_f32x4(a, a, 0x4E)
#define syn__pswap4(a) _mm512_shuffle_f32x4(a, a, 0xB1)
#define syn__pswap2(a) _mm512_permute_ps(a, 0x4E)
#define syn__pswap1(a) _mm512_permute_ps(a, 0xB1)
#define syn__pbits _mm512_castsi512_ps
#define syn__pfloat _mm512_cvtepi32_ps
#define syn__qbits _mm512_castps_si512
#define syn__qset(x) _mm512_set1_epi32((int)(x))
#define syn__qadd _mm512_add_epi32
#define syn__qxor _mm512_xor_si512
#define syn__qmul _mm512_mullo_epi32
#define syn__qshl(a, n) _mm512_sllv_epi32(a, _mm512_set1_epi32(n))
#define syn__qshr(a, n) _mm512_srlv_epi32(a, _mm512_set1_epi32(n))

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
/* 16 registers: 8 sums, 4 of b, 1 of a. This NEON flushes denormals, and has no division or root. */
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

/* A scalar word is a loop over 16 floats in memory, and a call: inlined, they take gcc seconds. */
#if SYN__LANES > 1
#define SYN__WORD SYN__INLINE
#define SYN__EACH SYN__UNROLL for (i = 0; i < SYN__PARTS; i++)
#else
#define SYN__WORD SYN__CALLED
#define SYN__EACH for (i = 0; i < SYN__PARTS; i++)
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
  int i;
  SYN__EACH r.p[i] = syn__pset(x);
  return r;
}
SYN__WORD syn__v16 syn__vload(const float *x) {
  syn__v16 r;
  int i;
  SYN__EACH r.p[i] = syn__pload(x + i * SYN__LANES);
  return r;
}
SYN__WORD void syn__vstore(float *y, syn__v16 a) {
  int i;
  SYN__EACH syn__pstore(y + i * SYN__LANES, a.p[i]);
}
SYN__WORD syn__v16 syn__vadd(syn__v16 a, syn__v16 b) {
  int i;
  SYN__EACH a.p[i] = syn__padd(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__v16 syn__vsub(syn__v16 a, syn__v16 b) {
  int i;
  SYN__EACH a.p[i] = syn__psub(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__v16 syn__vmul(syn__v16 a, syn__v16 b) {
  int i;
  SYN__EACH a.p[i] = syn__pmul(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__v16 syn__vdiv(syn__v16 a, syn__v16 b) {
  int i;
  SYN__EACH a.p[i] = syn__pdiv(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__v16 syn__vsqrt(syn__v16 a) {
  int i;
  SYN__EACH a.p[i] = syn__psqrt(a.p[i]);
  return a;
}
/* a b + c, rounded once */
SYN__WORD syn__v16 syn__vfma(syn__v16 a, syn__v16 b, syn__v16 c) {
  int i;
  SYN__EACH c.p[i] = syn__pfma(a.p[i], b.p[i], c.p[i]);
  return c;
}
/* sum += a b, for a number a: the step of a product */
SYN__INLINE void syn__vstep(syn__v16 *sum, float a, const syn__v16 *b) {
  int i;
  SYN__EACH sum->p[i] = syn__pfma(syn__pset(a), b->p[i], sum->p[i]);
}
/* a > b ? x : y; with a NaN in a or b: y */
SYN__WORD syn__v16 syn__vif(syn__v16 a, syn__v16 b, syn__v16 x, syn__v16 y) {
  int i;
  SYN__EACH y.p[i] = syn__pif(a.p[i], b.p[i], x.p[i], y.p[i]);
  return y;
}
SYN__WORD syn__v16 syn__vmax(syn__v16 a, syn__v16 b) { return syn__vif(a, b, a, b); }

SYN__WORD syn__v16 syn__vbits(syn__u16 a) {
  syn__v16 r;
  int i;
  SYN__EACH r.p[i] = syn__pbits(a.p[i]);
  return r;
}
/* lanes below 2^24 as floats */
SYN__WORD syn__v16 syn__vfloat(syn__u16 a) {
  syn__v16 r;
  int i;
  SYN__EACH r.p[i] = syn__pfloat(a.p[i]);
  return r;
}
SYN__WORD syn__u16 syn__ubits(syn__v16 a) {
  syn__u16 r;
  int i;
  SYN__EACH r.p[i] = syn__qbits(a.p[i]);
  return r;
}
SYN__WORD syn__u16 syn__uset(uint32_t x) {
  syn__u16 r;
  int i;
  SYN__EACH r.p[i] = syn__qset(x);
  return r;
}
SYN__WORD syn__u16 syn__uadd(syn__u16 a, syn__u16 b) {
  int i;
  SYN__EACH a.p[i] = syn__qadd(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__u16 syn__uxor(syn__u16 a, syn__u16 b) {
  int i;
  SYN__EACH a.p[i] = syn__qxor(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__u16 syn__umul(syn__u16 a, syn__u16 b) {
  int i;
  SYN__EACH a.p[i] = syn__qmul(a.p[i], b.p[i]);
  return a;
}
SYN__WORD syn__u16 syn__ushl(syn__u16 a, int n) {
  int i;
  SYN__EACH a.p[i] = syn__qshl(a.p[i], n);
  return a;
}
SYN__WORD syn__u16 syn__ushr(syn__u16 a, int n) {
  int i;
  SYN__EACH a.p[i] = syn__qshr(a.p[i], n);
  return a;
}

/* a[l], for l < n; rest[l] in the other lanes */
SYN__WORD syn__v16 syn__vhead(syn__v16 a, size_t n, syn__v16 rest) {
  if (n >= 16) return a;
  return syn__vif(syn__vset((float)(int)n), syn__vload(syn__ramp), a, rest);
}

/* vget: the first n of 16 floats, zero in the other lanes; vput: writes the first n. Neither touches
   memory past them. n > 16 means 16. */
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

/* The tree: lanes l and l+8, l and l+4, l and l+2, l and l+1. Whole registers first, then within one. */
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

/* e^x: n = x / ln 2 rounded to an integer, r = x - n ln 2, |r| <= ln 2 / 2;
     e^r = 1 + r + r^2 q(r), q of degree 4 (Chebyshev fit, relative error 1e-8); times 2^n.
   Adding 1.5 * 2^23 leaves n in the low bits of the sum: shifted left by 23 they are n in the place of
   the exponent, and an integer addition multiplies by 2^n. ln 2 in two parts, the first of 9 bits, so
   that n times it is exact. Below the smallest normal number (x < -87.33) the result is 0, above 88.72
   it stays at e^88.72. The last fma carries a NaN of x through the bit tricks. */
SYN__WORD syn__v16 syn__vexp(syn__v16 x) {
  const syn__v16 low = syn__vset(-87.33654f), high = syn__vset(88.72283f);
  const syn__v16 round = syn__vset(12582912.0f), zero = syn__vset(0.0f), one = syn__vset(1.0f);
  syn__v16 z = syn__vif(x, high, high, syn__vif(low, x, low, x));
  syn__v16 n = syn__vfma(z, syn__vset(1.44269504f), round), r, q;
  syn__u16 power = syn__ushl(syn__ubits(n), 23);
  n = syn__vsub(n, round);
  r = syn__vfma(n, syn__vset(-0.693359375f), z);
  r = syn__vfma(n, syn__vset(2.12194440e-4f), r);
  q = syn__vfma(r, syn__vset(0.00139264006f), syn__vset(0.00836335309f));
  q = syn__vfma(r, q, syn__vset(0.0416665524f));
  q = syn__vfma(r, q, syn__vset(0.166665763f));
  q = syn__vfma(r, q, syn__vset(0.5f));
  q = syn__vfma(syn__vmul(r, r), q, r);
  q = syn__vbits(syn__uadd(syn__ubits(syn__vadd(q, one)), power));
  return syn__vif(low, x, zero, syn__vfma(z, zero, q));
}

/* sigma(x) = 1 / (1 + e), from e = e^-x. Its derivative is sigma (1 - sigma) = (e sigma) sigma. */
SYN__WORD syn__v16 syn__vsigma(syn__v16 e) {
  const syn__v16 one = syn__vset(1.0f);
  return syn__vdiv(one, syn__vadd(one, e));
}
/* -x for the e of syn__vsigma, at most 87: the reciprocal of e^87 is still a normal number. */
SYN__WORD syn__v16 syn__vminus(syn__v16 x) {
  const syn__v16 least = syn__vset(-87.0f), zero = syn__vset(0.0f);
  return syn__vsub(zero, syn__vif(least, x, least, x));
}

/* tanh x, from e = e^2|x|: sign(x) (1 - 2 / (1 + e)); where that would cancel, |x| < 0.625, it is
   x + x^3 p(x^2), p of degree 4 (Chebyshev fit, relative error 2e-8). */
SYN__WORD syn__v16 syn__vtanh(syn__v16 x, syn__v16 e) {
  const syn__v16 zero = syn__vset(0.0f), one = syn__vset(1.0f), edge = syn__vset(0.625f * 0.625f);
  syn__v16 x2 = syn__vmul(x, x), p, far = syn__vsigma(e);
  p = syn__vfma(x2, syn__vset(-0.00609671418f), syn__vset(0.0209971797f));
  p = syn__vfma(x2, p, syn__vset(-0.0538509078f));
  p = syn__vfma(x2, p, syn__vset(0.133327693f));
  p = syn__vfma(x2, p, syn__vset(-0.333333284f));
  p = syn__vfma(syn__vmul(x, x2), p, x);
  far = syn__vsub(one, syn__vadd(far, far));
  far = syn__vif(zero, x, syn__vsub(zero, far), far);
  return syn__vif(edge, x2, p, far);
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

/* `rows` rows by `panels` panels of c; these two and `whole` are constants where this is inlined, so that
   the sums stay in registers. For every k: sum[r][v] += a[m+r,k] b[k,v]. */
SYN__INLINE void SYN__N(tile)(const syn__product *p, int m, int j, int rows, int panels, int whole) {
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

/* The fewer the rows, the more panels are summed at a time: an fma takes about 4 cycles, so that 8 or
   more sums must be under way. */
static void SYN__N(product)(const syn__product *p, int m0, int m1, int p0, int p1) {
  syn__block w;
  w.m0 = m0, w.m1 = m1, w.p0 = p0, w.p1 = p1, w.whole = syn__min(p1, p->n / 16);
  SYN__N(band)(p, &w, SYN__TILE_M, SYN__TILE_P);
  SYN__N(band)(p, &w, SYN__TILE_FEW, SYN__TILE_FEW_P);
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
    syn__v16 r = syn__vfma(syn__vget(a + i, n - i), syn__vget(b + i, n - i), syn__vget(y + i, n - i));
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
  if (which == SYN__TANH) return syn__vexp(syn__vmax(syn__vadd(x, x), syn__vmul(x, syn__vset(-2.0f))));
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

/* What is taken from every x before exp: the maximum, so that no exp overflows. A row of nothing but
   -inf has none; with 0 taken its sum of exp is 0. */
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
   (sum_v log p_v - log p_label). Szegedy et al. 2016, section 7, with the label left out of the rest. */
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
   1/n sum (x - mean)^2 and rstd = 1 / sqrt(variance + eps). rms_norm (Zhang, Sennrich 2019): mean 0. */
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

/* y = xhat g + b, so dg += dy xhat and db += dy, rows in order, begun from what stands in dg and db. */
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

/* hash: index and key, two rounds of multiply and shift (the multipliers of MurmurHash3's finaliser),
   the second key between them; the upper 24 bits are compared as floats, which hold them exactly. */
static void SYN__N(dropout)(const syn__dropout *d, uint32_t index, float *x, size_t n) {
  const syn__v16 limit = syn__vset((float)d->limit), zero = syn__vset(0.0f);
  const syn__u16 ramp = syn__uramp(), key = syn__uset(d->key), key2 = syn__uset(d->key2);
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

/* Adam (Kingma & Ba 2015, algorithm 1), its decay apart from the gradient (AdamW: Loshchilov & Hutter
   2019, algorithm 2):
     g' = g scale,  m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
     w -= lr (m fix1) / (sqrt(v fix2) + eps) + decay w. */
static void SYN__N(adam)(const syn__adam *a, float *w, float *m, float *v, const float *g, size_t n) {
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

#ifndef SYN_NO_STDIO
#include <errno.h>
#if defined(__unix__) || defined(__APPLE__)
#define SYN__POSIX
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#endif

/* A file is   u64 n (little-endian) | n bytes of JSON | data,   and the JSON is
     {"__metadata__": {key: value}, name: {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...}
   where offsets count from the first byte of the data. The rules that the reader holds a file to
   (and the writer its caller), from huggingface/safetensors on GitHub unless "ours" is said:
     - the header has 2 bytes to 100 MB, ends inside the file, and is one JSON object with white
       space around it; keys come in any order, unknown fields of a tensor are skipped;
     - metadata is an object of strings;
     - bytes of a tensor = product of its shape * bits / 8, all in checked arithmetic;
     - the tensors fill the data: no byte in two of them, none in no one, none behind the last;
     - ours: names and keys are unique, UTF-8 and without \u0000, which would end a C string early;
     - ours: a shape has at most SYN_FILE_RANK numbers.

   Memory of a reader is bounded by the size of the file: one block for the file (none for a view),
   one of the header's length for all texts, and arrays of entries and pairs that grow as they are
   found, where the shortest tensor of a header has 50 bytes and an entry about 100. Time is n log n
   in the number of tensors whatever they are called. */

#define SYN__HEADER_MAX 100000000u
#define SYN__SHOWN 84 /* bytes of a name in a message, with the final 0 */

/* One line of SYN_DTYPE_LIST; the last row stands for every number that is no dtype. */
typedef struct syn__dtype_row {
  const char *name;
  size_t bits, unit;
} syn__dtype_row;

static const syn__dtype_row *syn__dtype_at(syn_dtype dtype) {
#define SYN__DTYPE(id, name, bits, unit) {name, bits, unit},
  static const syn__dtype_row rows[] = {SYN_DTYPE_LIST(SYN__DTYPE){"?", 0, 1}};
#undef SYN__DTYPE
  return &rows[(int)dtype >= 0 && dtype < SYN_DTYPE_COUNT ? dtype : SYN_DTYPE_COUNT];
}

const char *syn_dtype_name(syn_dtype dtype) { return syn__dtype_at(dtype)->name; }

/* Elements = product of the shape, 1 for rank 0. SIZE_MAX when it does not fit, yet 0 for a shape
   like [huge, huge, 0], because SIZE_MAX * 0 is 0 too. The rank was checked. */
static size_t syn__entry_count(const syn_entry *e) {
  size_t n = 1;
  int i;
  for (i = 0; i < e->rank; i++) n = syn__mul_size(n, e->shape[i]);
  return n;
}

/* Bytes that shape and dtype ask for; SIZE_MAX when they do not fit, end inside a byte (F4, F6), or
   when rank or dtype is none. Eight elements at a time, so that no count of bits can overflow. */
static size_t syn__entry_bytes(const syn_entry *e) {
  size_t bits = syn__dtype_at(e->dtype)->bits, n, rest;
  if (bits == 0 || e->rank < 0 || e->rank > SYN_FILE_RANK) return SIZE_MAX;
  n = syn__entry_count(e);
  rest = n % 8 * bits;
  if (n == SIZE_MAX || rest % 8 != 0) return SIZE_MAX;
  return syn__add_size(syn__mul_size(n / 8, bits), rest / 8);
}

/* The order of bytes: a file is little-endian, entries have the order of the machine. Asked at run
   time, so that every machine compiles the same text; a compiler folds it to a constant. */
static int syn__big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

/* Turns every number of `unit` bytes around, in place. Bytes of a last incomplete one stay, but the
   size of a tensor is a multiple of its unit. */
static void syn__swap(unsigned char *at, size_t bytes, size_t unit) {
  size_t i, k;
  for (i = 0; i + unit <= bytes; i += unit)
    for (k = 0; k < unit / 2; k++) {
      unsigned char byte = at[i + k];
      at[i + k] = at[i + unit - 1 - k];
      at[i + unit - 1 - k] = byte;
    }
}

/* -- half precision -- */

/* Bits of the float with the value of a half: 1 sign, 5 exponent (bias 15), 10 mantissa. Works on
   bits alone: a float that travels through an x87 register loses its signalling NaN. */
static uint32_t syn__from_f16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, e = (half >> 10) & 31u, m = half & 0x3FFu;
  if (e == 31) return sign | 0x7F800000u | m << 13;
  if (e == 0 && m == 0) return sign;
  if (e == 0) { /* m 2^-24 has no leading 1 in a half, a float has room to give it one */
    for (e = 1; !(m & 0x400u); e--) m <<= 1;
    m &= 0x3FFu;
  }
  return sign | (e + 112u) << 23 | m << 13;
}

/* -- names: UTF-8, messages, sorted lists -- */

/* Bytes of the character at `at`, or 0 when it is not UTF-8 as RFC 3629 has it: cut off, longer
   than needed, half a surrogate pair, above U+10FFFF. */
static size_t syn__file_utf8(const unsigned char *at, size_t left) {
  unsigned b = at[0];
  size_t n = b < 0x80 ? 1 : b < 0xC2 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b < 0xF5 ? 4 : 0, i;
  if (n > left) return 0;
  for (i = 1; i < n; i++)
    if ((at[i] & 0xC0) != 0x80) return 0;
  if (b == 0xE0 && at[1] < 0xA0) return 0;
  if (b == 0xED && at[1] > 0x9F) return 0;
  if (b == 0xF0 && at[1] < 0x90) return 0;
  if (b == 0xF4 && at[1] > 0x8F) return 0;
  return n;
}

/* 1 for a text that is not null and UTF-8 to its end. */
static int syn__file_text_ok(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  size_t left = text ? strlen(text) : 0, n = 1;
  for (; left && n; at += n, left -= n) n = syn__file_utf8(at, left);
  return text && n;
}

/* A name from a file as a message may show it: one line, not too long, cut between characters. A
   control character would let a file write lines of its own into somebody's log. */
static const char *syn__show(char shown[SYN__SHOWN], const char *text) {
  size_t n = strlen(text), i;
  int cut = n > SYN__SHOWN - 4;
  if (cut)
    for (n = SYN__SHOWN - 4; n && ((unsigned char)text[n] & 0xC0) == 0x80;) n--;
  for (i = 0; i < n; i++) shown[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i];
  memcpy(shown + n, cut ? "..." : "", cut ? 4 : 1);
  return shown;
}

/* The end of a path, where its file is named: the message has room for 400 bytes in all. */
static const char *syn__show_path(const char *path) {
  size_t n = strlen(path);
  return n > 150 ? path + (n - 150) : path;
}

/* Both syn_entry and syn_pair begin with the text they are sorted by, so one list, one search and
   one look for doubles serves both. memcpy, since the two structs have no type in common. */
static const char *syn__item_name(const void *item) {
  const char *name;
  memcpy(&name, item, sizeof name);
  return name;
}

/* < 0, 0, > 0 when a belongs before, beside, behind b. */
typedef int (*syn__order)(const void *a, const void *b);

static int syn__name_order(const void *a, const void *b) {
  return strcmp(syn__item_name(a), syn__item_name(b));
}

/* Entries of one file by their place; empty ones before the one that begins where they do. */
static int syn__place_order(const void *a, const void *b) {
  const syn_entry *x = (const syn_entry *)a, *y = (const syn_entry *)b;
  const char *p = (const char *)x->data, *q = (const char *)y->data;
  if (p != q) return p < q ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Lets the item at `root` sink below its larger children until none is larger. The children of k
   are 2k + 1 and 2k + 2. */
static void syn__sift(const void **at, size_t root, size_t n, syn__order order) {
  const void *item = at[root];
  size_t child;
  while ((child = 2 * root + 1) < n) {
    if (child + 1 < n && order(at[child], at[child + 1]) < 0) child++;
    if (order(item, at[child]) >= 0) break;
    at[root] = at[child];
    root = child;
  }
  at[root] = item;
}

/* Heapsort: n log n on any input and no memory. qsort of libc promises neither: that of glibc asks
   malloc, behind the back of the caller's allocator, others are quadratic on lists made for it. */
static void syn__sort(const void **at, size_t n, syn__order order) {
  const void *last;
  size_t i;
  for (i = n / 2; i-- > 0;) syn__sift(at, i, n, order);
  for (i = n; i-- > 1;) {
    last = at[i];
    at[i] = at[0];
    at[0] = last;
    syn__sift(at, 0, i, order);
  }
}

/* Pointers to n items of `size` bytes, sorted; null when there is no memory. The items stay where
   they are: their order is the header's. */
static const void **syn__sorted(syn_context *c, const void *items, size_t n, size_t size,
                                syn__order order) {
  const void **at = (const void **)syn__alloc(c, n ? n : 1, sizeof *at);
  size_t i;
  if (!at) return NULL;
  for (i = 0; i < n; i++) at[i] = (const char *)items + i * size;
  syn__sort(at, n, order);
  return at;
}

/* A name that stands twice in a list sorted by name, or null. */
static const char *syn__twice(const void **at, size_t n) {
  size_t i;
  for (i = 1; i < n; i++)
    if (syn__name_order(at[i - 1], at[i]) == 0) return syn__item_name(at[i]);
  return NULL;
}

/* The item of that name by bisection, or null; null also for a null name. */
static const void *syn__lookup(const void **at, size_t n, const char *name) {
  size_t low = 0, high = n, mid;
  int order;
  while (name && low < high) {
    mid = low + (high - low) / 2;
    order = strcmp(name, syn__item_name(at[mid]));
    if (order == 0) return at[mid];
    if (order < 0) high = mid;
    else low = mid + 1;
  }
  return NULL;
}

/* -- reader: JSON -- */

struct syn_file {
  syn_context *c;
  void *block; /* the bytes of the file when they are ours, else null */
  char *text;  /* names, keys and values of the header, decoded, each ends in 0 */
  syn_entry *entries;
  syn_pair *pairs;
  const void **by_name, **by_key; /* sorted */
  size_t n_entries, cap_entries, n_pairs, cap_pairs;
};

/* The reader of a header. The first error ends it: then `at` is `end`, every step below does
   nothing and every loop stops, so that only the last step has to look at `ok`. */
typedef struct syn__json {
  syn_file *f;
  const char *where;                     /* the path, or "memory" */
  const char *tensor;                    /* the one being read, or null */
  const unsigned char *start, *at, *end; /* of the header */
  const unsigned char *data;
  size_t data_size;
  char *text; /* where the next string is decoded to: never longer than it was, it fits f->text */
  int ok;
} syn__json;

/* Ends the reading with a message: path, tensor if inside one, what is wrong, where in the header.
   The place is the byte at which reading stopped, which may be just behind what is wrong. */
static void syn__json_bad(syn__json *j, const char *format, ...) SYN__PRINTF(2, 3);
static void syn__json_bad(syn__json *j, const char *format, ...) {
  char text[160], shown[SYN__SHOWN];
  unsigned long byte = (unsigned long)(j->at - j->start);
  va_list args;
  if (!j->ok) return;
  j->ok = 0;
  j->at = j->end;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (j->tensor)
    syn__fail(j->f->c, SYN_E_FORMAT, "%s: tensor \"%s\": %s (byte %lu of the header)", j->where,
              syn__show(shown, j->tensor), text, byte);
  else
    syn__fail(j->f->c, SYN_E_FORMAT, "%s: %s (byte %lu of the header)", j->where, text, byte);
}

/* The next byte that is not white space, or -1 at the end. White space is these four alone. */
static int syn__json_peek(syn__json *j) {
  for (; j->at < j->end; j->at++)
    if (*j->at != ' ' && *j->at != '\t' && *j->at != '\n' && *j->at != '\r') return *j->at;
  return -1;
}

/* "expected X, found Y". A byte that does not print is shown as its number. */
static void syn__json_expected(syn__json *j, const char *what) {
  int found = syn__json_peek(j);
  if (found < 0) syn__json_bad(j, "expected %s, found the end", what);
  else if (found > 32 && found < 127) syn__json_bad(j, "expected %s, found '%c'", what, found);
  else syn__json_bad(j, "expected %s, found byte 0x%02X", what, (unsigned)found);
}

/* Steps over `byte` if it is the next. */
static int syn__json_take(syn__json *j, int byte) {
  if (syn__json_peek(j) != byte) return 0;
  j->at++;
  return 1;
}

/* Steps over `byte`; it is an error if it is not the next. */
static void syn__json_need(syn__json *j, char byte) {
  char what[4] = {'\'', 0, '\'', 0};
  what[1] = byte;
  if (!syn__json_take(j, byte)) syn__json_expected(j, what);
}

/* Steps to the next element of a list that ends with `close`, over the comma in front of it; n
   counts the elements from 0. Returns 0 at the end and after an error, so every list is read by
     for (need(open); more(close, &n);) element;
   A comma with nothing behind it fails in the element: ']' begins no value, '}' no string. */
static int syn__json_more(syn__json *j, char close, size_t *n) {
  if (!j->ok || syn__json_take(j, close)) return 0;
  if (*n > 0 && !syn__json_take(j, ',')) {
    syn__json_expected(j, close == '}' ? "',' or '}'" : "',' or ']'");
    return 0;
  }
  ++*n;
  return 1;
}

/* The code of \uXXXX at `at`, or UINT32_MAX when something else stands there. Does not move. */
static uint32_t syn__json_hex(const syn__json *j) {
  uint32_t code = 0;
  int i, d;
  if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u') return UINT32_MAX;
  for (i = 2; i < 6; i++) {
    d = j->at[i];
    if (d >= '0' && d <= '9') d -= '0';
    else if ((d | 32) >= 'a' && (d | 32) <= 'f') d = (d | 32) - 'a' + 10;
    else return UINT32_MAX;
    code = code << 4 | (uint32_t)d;
  }
  return code;
}

/* A code as 1 to 4 bytes, from the last to the first: 6 bits in each that follows, the rest in the
   first under its mark of length. */
static char *syn__put_utf8(char *out, uint32_t code) {
  static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;
  for (i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(unsigned char)(0x80 | (code & 0x3F));
  out[0] = (char)(unsigned char)(lead[n] | code);
  return out + n;
}

/* \uXXXX, or two for what is above U+FFFF: 0x10000 + (high - 0xD800) 1024 + (low - 0xDC00). */
static char *syn__json_unicode(syn__json *j, char *out) {
  uint32_t code = syn__json_hex(j), low;
  if (code == UINT32_MAX) syn__json_bad(j, "\\u without four hexadecimal digits");
  else if (code == 0) syn__json_bad(j, "\\u0000 in a string");
  if (!j->ok) return out;
  j->at += 6;
  if (code >= 0xD800 && code < 0xE000) {
    low = syn__json_hex(j);
    if (code >= 0xDC00 || low < 0xDC00 || low >= 0xE000) {
      syn__json_bad(j, "half a surrogate pair: \\u%04X", (unsigned)code);
      return out;
    }
    j->at += 6;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  return syn__put_utf8(out, code);
}

/* One escape. `letter` is 0 behind the end and must not be searched: strchr would find the 0 that
   ends the list. */
static char *syn__json_escape(syn__json *j, char *out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const unsigned letter = j->end - j->at < 2 ? 0 : j->at[1];
  const char *found = letter ? strchr(from, (int)letter) : NULL;
  if (letter == 'u') return syn__json_unicode(j, out);
  if (!found) {
    syn__json_bad(j, "unknown escape: \\ and byte 0x%02X", letter);
    return out;
  }
  j->at += 2;
  *out = to[found - from];
  return out + 1;
}

/* One character of a string; returns where the next goes. */
static char *syn__json_character(syn__json *j, char *out) {
  size_t n = syn__file_utf8(j->at, (size_t)(j->end - j->at));
  if (*j->at == '\\') return syn__json_escape(j, out);
  if (*j->at < 32) syn__json_bad(j, "control byte 0x%02X in a string", (unsigned)*j->at);
  else if (n == 0) syn__json_bad(j, "invalid UTF-8 in a string: byte 0x%02X", (unsigned)*j->at);
  if (!j->ok) return out;
  memcpy(out, j->at, n);
  j->at += n;
  return out + n;
}

/* A string, decoded; "" after an error. It stays until j->text is set back. In the header it takes
   two quotes more than decoded, where it takes one 0 more; an escape of n bytes gives fewer than n:
   all strings together fit a block of the header's length. */
static const char *syn__json_string(syn__json *j) {
  char *start = j->text, *out = start;
  if (!syn__json_take(j, '"')) {
    syn__json_expected(j, "a string");
    return "";
  }
  while (j->at < j->end && *j->at != '"') out = syn__json_character(j, out);
  if (j->at == j->end) {
    syn__json_bad(j, "a string without its end");
    return "";
  }
  j->at++;
  *out = 0;
  j->text = out + 1;
  return start;
}

/* A size: digits alone. 4.0 and 4e0 are numbers of JSON but no sizes; what follows the digits then
   fails as "expected ','". */
static size_t syn__json_size(syn__json *j) {
  size_t n = 0, digit;
  int first = syn__json_peek(j);
  if (first < '0' || first > '9') syn__json_expected(j, "a whole number from 0");
  else if (first == '0' && j->end - j->at > 1 && j->at[1] >= '0' && j->at[1] <= '9')
    syn__json_bad(j, "a number that begins with 0");
  for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
    digit = (size_t)(*j->at - '0');
    if (n > (SIZE_MAX - digit) / 10) {
      syn__json_bad(j, "a number above the largest size");
      return 0;
    }
    n = n * 10 + digit;
  }
  return n;
}

/* One digit or more. */
static void syn__json_digits(syn__json *j) {
  const unsigned char *start = j->at;
  while (j->at < j->end && *j->at >= '0' && *j->at <= '9') j->at++;
  if (j->at == start) syn__json_expected(j, "a digit");
}

/* -?digits(.digits)?([eE][+-]?digits)? without a 0 in front of other digits. */
static void syn__json_skip_number(syn__json *j) {
  if (*j->at == '-') j->at++;
  if (j->at < j->end && *j->at == '0') j->at++;
  else syn__json_digits(j);
  if (j->at < j->end && *j->at == '.') j->at++, syn__json_digits(j);
  if (j->at < j->end && (*j->at | 32) == 'e') {
    j->at++;
    if (j->at < j->end && (*j->at == '+' || *j->at == '-')) j->at++;
    syn__json_digits(j);
  }
}

/* true, false or null. A longer word fails at its next letter, which is no comma. */
static void syn__json_skip_word(syn__json *j) {
  static const char *const words[] = {"true", "false", "null"};
  size_t i, n;
  for (i = 0; i < SYN__COUNT(words); i++) {
    n = strlen(words[i]);
    if ((size_t)(j->end - j->at) >= n && memcmp(j->at, words[i], n) == 0) {
      j->at += n;
      return;
    }
  }
  syn__json_expected(j, "a value");
}

/* A value of any kind, checked and forgotten. The only recursion on input in this room, `depth`
   bounds it; the text of its strings is given back after each element. */
static void syn__json_skip(syn__json *j, int depth) {
  int first = syn__json_peek(j);
  char *text = j->text;
  size_t n = 0;
  if (depth > SYN_MAX_DEPTH) syn__json_bad(j, "values nested deeper than %d levels", SYN_MAX_DEPTH);
  else if (first == '"') syn__json_string(j);
  else if (first == '-' || (first >= '0' && first <= '9')) syn__json_skip_number(j);
  else if (first != '{' && first != '[') syn__json_skip_word(j);
  else {
    for (j->at++; syn__json_more(j, first == '{' ? '}' : ']', &n); j->text = text) {
      if (first == '{') syn__json_string(j), syn__json_need(j, ':');
      syn__json_skip(j, depth + 1);
    }
  }
  j->text = text;
}

/* -- reader: header -- */

/* A dtype by its name; SYN_F32 after an error. */
static syn_dtype syn__json_dtype(syn__json *j) {
  char shown[SYN__SHOWN];
  const char *name = syn__json_string(j);
  int i;
  for (i = 0; i < SYN_DTYPE_COUNT; i++)
    if (strcmp(name, syn_dtype_name((syn_dtype)i)) == 0) return (syn_dtype)i;
  syn__json_bad(j, "unknown dtype \"%s\"", syn__show(shown, name));
  return SYN_F32;
}

/* [rows, columns, ...] */
static void syn__json_shape(syn__json *j, syn_entry *e) {
  size_t n = 0, size;
  for (syn__json_need(j, '['); syn__json_more(j, ']', &n);) {
    size = syn__json_size(j);
    if (e->rank == SYN_FILE_RANK) syn__json_bad(j, "shape of more than %d numbers", SYN_FILE_RANK);
    else e->shape[e->rank++] = size;
  }
}

/* [begin, end], counted from the first byte of the data. No pointer is made before both are known
   to lie in the data: even to compute one outside a block is undefined. */
static void syn__json_offsets(syn__json *j, syn_entry *e) {
  size_t range[2] = {0, 0}, n = 0, number;
  for (syn__json_need(j, '['); syn__json_more(j, ']', &n);) {
    number = syn__json_size(j);
    if (n <= 2) range[n - 1] = number;
  }
  if (n != 2) syn__json_bad(j, "data_offsets of %lu numbers, not 2", (unsigned long)n);
  if (range[0] > range[1] || range[1] > j->data_size) {
    syn__json_bad(j, "data_offsets [%lu,%lu] in %lu bytes of data", (unsigned long)range[0],
                  (unsigned long)range[1], (unsigned long)j->data_size);
    range[0] = range[1] = 0;
  }
  e->data = j->data + range[0];
  e->bytes = range[1] - range[0];
}

/* One field of a tensor; `seen` has a bit for each of the three that count, others are skipped. */
static void syn__json_field(syn__json *j, syn_entry *e, unsigned *seen) {
  static const char *const fields[] = {"dtype", "shape", "data_offsets"};
  char *text = j->text;
  const char *key = syn__json_string(j);
  unsigned i = 0;
  syn__json_need(j, ':');
  while (i < 3 && strcmp(key, fields[i]) != 0) i++;
  if (i < 3 && (*seen >> i & 1)) syn__json_bad(j, "two times \"%s\"", fields[i]);
  *seen |= 1u << i;
  if (i == 0) e->dtype = syn__json_dtype(j);
  else if (i == 1) syn__json_shape(j, e);
  else if (i == 2) syn__json_offsets(j, e);
  else syn__json_skip(j, 1);
  j->text = text;
}

/* The object of one tensor. What needs all three fields is checked behind the last, because their
   order is free; after an earlier error the checks say nothing and nothing is kept. */
static void syn__json_tensor(syn__json *j, const char *name) {
  syn_file *f = j->f;
  void *entries = f->entries;
  syn_entry e;
  unsigned seen = 0;
  size_t n = 0, bytes;
  memset(&e, 0, sizeof e);
  e.name = j->tensor = name;
  for (syn__json_need(j, '{'); syn__json_more(j, '}', &n);) syn__json_field(j, &e, &seen);
  if ((seen & 7) != 7)
    syn__json_bad(j, "no \"%s\"", !(seen & 1) ? "dtype" : !(seen & 2) ? "shape" : "data_offsets");
  bytes = syn__entry_bytes(&e);
  if (bytes == SIZE_MAX) syn__json_bad(j, "a shape without a whole number of bytes that fits");
  if (bytes != e.bytes)
    syn__json_bad(j, "data_offsets hold %lu bytes, its shape in %s wants %lu",
                  (unsigned long)e.bytes, syn_dtype_name(e.dtype), (unsigned long)bytes);
  j->tensor = NULL;
  if (j->ok && syn__grow(f->c, &entries, &f->cap_entries, f->n_entries + 1, sizeof e)) j->ok = 0;
  f->entries = (syn_entry *)entries;
  if (j->ok) f->entries[f->n_entries++] = e;
}

/* {key: value, ...}, both strings. Doubles are found later, in the sorted list. */
static void syn__json_metadata(syn__json *j) {
  syn_file *f = j->f;
  void *pairs = f->pairs;
  syn_pair pair;
  size_t n = 0;
  for (syn__json_need(j, '{'); syn__json_more(j, '}', &n);) {
    pair.key = syn__json_string(j);
    syn__json_need(j, ':');
    pair.value = syn__json_string(j);
    if (j->ok && syn__grow(f->c, &pairs, &f->cap_pairs, f->n_pairs + 1, sizeof pair)) j->ok = 0;
    f->pairs = (syn_pair *)pairs;
    if (j->ok) f->pairs[f->n_pairs++] = pair;
  }
}

/* All of the header. Behind the object only white space may stand: writers pad with it. */
static void syn__json_header(syn__json *j) {
  const char *name;
  size_t n = 0;
  int metadata = 0;
  for (syn__json_need(j, '{'); syn__json_more(j, '}', &n);) {
    name = syn__json_string(j);
    syn__json_need(j, ':');
    if (strcmp(name, "__metadata__") != 0) syn__json_tensor(j, name);
    else if (metadata++) syn__json_bad(j, "two times \"__metadata__\"");
    else syn__json_metadata(j);
  }
  if (j->ok && syn__json_peek(j) >= 0) syn__json_expected(j, "white space to the end");
}

/* -- reader: file -- */

/* Tensors, by their place, must follow each other from the first byte of the data to the last. The
   checks of this part return 1 when all is well; what is not is recorded. */
static int syn__file_layout(const syn__json *j, const void **by_place) {
  const unsigned char *end = j->data;
  const syn_entry *e;
  char shown[SYN__SHOWN];
  size_t i, covered;
  for (i = 0; i < j->f->n_entries; i++) {
    e = (const syn_entry *)by_place[i];
    if (e->data != end)
      return !syn__fail(j->f->c, SYN_E_FORMAT,
                        "%s: tensor \"%s\" begins at byte %lu of the data, not at %lu where the "
                        "one before it ends: %s",
                        j->where, syn__show(shown, e->name),
                        (unsigned long)((const unsigned char *)e->data - j->data),
                        (unsigned long)(end - j->data),
                        (const unsigned char *)e->data < end ? "overlap" : "hole");
    end += e->bytes;
  }
  covered = (size_t)(end - j->data);
  if (covered != j->data_size)
    return !syn__fail(j->f->c, SYN_E_FORMAT, "%s: %lu bytes of data, but the tensors end at %lu",
                      j->where, (unsigned long)j->data_size, (unsigned long)covered);
  return 1;
}

/* Lists by name and key; no name may stand twice. by_name serves as the list by place before. */
static int syn__file_index(const syn__json *j) {
  syn_file *f = j->f;
  char shown[SYN__SHOWN];
  const char *twice;
  f->by_name = syn__sorted(f->c, f->entries, f->n_entries, sizeof *f->entries, syn__place_order);
  f->by_key = syn__sorted(f->c, f->pairs, f->n_pairs, sizeof *f->pairs, syn__name_order);
  if (!f->by_name || !f->by_key) return 0;
  if (!syn__file_layout(j, f->by_name)) return 0;
  syn__sort(f->by_name, f->n_entries, syn__name_order);
  twice = syn__twice(f->by_name, f->n_entries);
  if (twice)
    return !syn__fail(f->c, SYN_E_FORMAT, "%s: two tensors \"%s\"", j->where,
                      syn__show(shown, twice));
  twice = syn__twice(f->by_key, f->n_pairs);
  if (twice)
    return !syn__fail(f->c, SYN_E_FORMAT, "%s: two metadata keys \"%s\"", j->where,
                      syn__show(shown, twice));
  return 1;
}

/* The length of the header; 0 (recorded) when a file of `size` bytes cannot have it. */
static size_t syn__file_header(syn_context *c, const char *where, const unsigned char *bytes,
                               size_t size) {
  uint64_t n = 0;
  int i;
  if (size < 10) {
    syn__fail(c, SYN_E_FORMAT, "%s: %lu bytes, a safetensors file has at least 10", where,
              (unsigned long)size);
    return 0;
  }
  for (i = 7; i >= 0; i--) n = n << 8 | bytes[i];
  if (n >= 2 && n <= size - 8 && n <= SYN__HEADER_MAX) return (size_t)n;
  syn__fail(c, SYN_E_FORMAT,
            "%s: not a safetensors file: header of %llu bytes (2 to %lu) in a file of %lu", where,
            (unsigned long long)n, (unsigned long)SYN__HEADER_MAX, (unsigned long)size);
  return 0;
}

/* Reads the bytes of a file into f. syn__file_header has left size >= 8 + header. */
static int syn__file_parse(syn_file *f, const char *where, const unsigned char *bytes,
                           size_t size) {
  size_t header = syn__file_header(f->c, where, bytes, size);
  syn__json j;
  if (header) f->text = (char *)syn__alloc(f->c, header, 1);
  if (!f->text) return 0;
  memset(&j, 0, sizeof j);
  j.f = f;
  j.where = where;
  j.start = j.at = bytes + 8;
  j.data = j.end = j.start + header;
  j.data_size = size - 8 - header;
  j.text = f->text;
  j.ok = 1;
  syn__json_header(&j);
  return j.ok && syn__file_index(&j);
}

/* To the byte order of a big-endian machine, inside our own block. Tensors do not overlap by now,
   so no byte is turned twice. */
static void syn__file_swap(syn_file *f) {
  unsigned char *block = (unsigned char *)f->block;
  const syn_entry *e = f->entries, *end = e + f->n_entries;
  for (; e < end; e++)
    syn__swap(block + ((const unsigned char *)e->data - block), e->bytes,
              syn__dtype_at(e->dtype)->unit);
}

/* A file with nothing in it, or null. */
static syn_file *syn__file_new(syn_context *c) {
  syn_file *f = (syn_file *)syn__alloc(c, 1, sizeof *f);
  if (f) f->c = c;
  return f;
}

/* f when the bytes (f->block, or the caller's) are a valid file, else null; then f is gone. */
static syn_file *syn__file_finish(syn_file *f, const char *where, const void *bytes, size_t size) {
  if (!syn__file_parse(f, where, (const unsigned char *)bytes, size)) {
    syn_file_close(f);
    return NULL;
  }
  if (syn__big_endian()) syn__file_swap(f);
  return f;
}

syn_file *syn_file_view(syn_context *c, const void *bytes, size_t size) {
  syn_file *f;
  if (!bytes && size) {
    syn__fail(c, SYN_E_VALUE, "syn_file_view: null for %lu bytes", (unsigned long)size);
    return NULL;
  }
  f = syn__file_new(c);
  if (f && size && syn__big_endian()) { /* the caller's bytes are not ours to turn around */
    f->block = syn__alloc(c, size, 1);
    if (f->block) bytes = memcpy(f->block, bytes, size);
    else syn_file_close(f), f = NULL;
  }
  return f ? syn__file_finish(f, "memory", bytes, size) : NULL;
}

void syn_file_close(syn_file *f) {
  syn_context *c = f ? f->c : NULL;
  if (!f) return;
  syn__free(c, f->by_key);
  syn__free(c, f->by_name);
  syn__free(c, f->pairs);
  syn__free(c, f->entries);
  syn__free(c, f->text);
  syn__free(c, f->block);
  syn__free(c, f);
}

size_t syn_file_count(const syn_file *f) { return f->n_entries; }
size_t syn_file_pair_count(const syn_file *f) { return f->n_pairs; }

const syn_entry *syn_file_entry(const syn_file *f, size_t i) {
  return i < f->n_entries ? &f->entries[i] : NULL;
}

const syn_pair *syn_file_pair(const syn_file *f, size_t i) {
  return i < f->n_pairs ? &f->pairs[i] : NULL;
}

const syn_entry *syn_file_find(const syn_file *f, const char *name) {
  return (const syn_entry *)syn__lookup(f->by_name, f->n_entries, name);
}

const char *syn_file_value(const syn_file *f, const char *key) {
  const syn_pair *pair = (const syn_pair *)syn__lookup(f->by_key, f->n_pairs, key);
  return pair ? pair->value : NULL;
}

/* Says why an entry cannot be had as `count` floats. */
static syn_status syn__entry_refuse(syn_context *c, const syn_entry *e, size_t count) {
  char shown[SYN__SHOWN];
  const char *name = syn__show(shown, e->name ? e->name : "");
  if (e->dtype != SYN_F32 && e->dtype != SYN_F16 && e->dtype != SYN_BF16)
    return syn__fail(c, SYN_E_FORMAT, "tensor \"%s\" is %s, wanted F32, F16 or BF16", name,
                     syn_dtype_name(e->dtype));
  return syn__fail(c, SYN_E_SHAPE, "tensor \"%s\" has %lu bytes of %s, wanted %lu elements", name,
                   (unsigned long)e->bytes, syn_dtype_name(e->dtype), (unsigned long)count);
}

syn_status syn_entry_floats(syn_context *c, const syn_entry *e, float *out, size_t count) {
  const unsigned char *at = (const unsigned char *)e->data;
  size_t i, width = e->dtype == SYN_F32 ? 4 : e->dtype == SYN_F16 || e->dtype == SYN_BF16 ? 2 : 0;
  uint32_t bits;
  uint16_t half;
  /* e may be of the caller's making: only its bytes count, against what `count` elements need */
  if (!width || e->bytes != syn__mul_size(count, width)) {
    for (i = 0; i < count; i++) out[i] = 0.0f;
    return syn__entry_refuse(c, e, count);
  }
  if (width == 4 && count) memcpy(out, at, e->bytes);
  for (i = 0; width == 2 && i < count; i++) {
    memcpy(&half, at + 2 * i, 2);
    bits = e->dtype == SYN_F16 ? syn__from_f16(half) : (uint32_t)half << 16;
    memcpy(out + i, &bits, 4);
  }
  return SYN_OK;
}

/* -- writer -- */

/* What is to be written. */
typedef struct syn__content {
  const syn_pair *pairs;
  size_t n_pairs;
  const syn_entry *entries;
  size_t n_entries;
} syn__content;

/* Bytes on their way to a sink. Small pieces are gathered, so that a sink is not called for every
   comma; large ones go straight through. Without a sink bytes are only counted: the header is made
   twice, once to learn its length, which stands in front of it, and no memory is needed for it. */
typedef struct syn__emit {
  const syn_sink *sink;
  size_t total, used; /* bytes so far, bytes in the buffer */
  int failed;
  unsigned char buffer[512];
} syn__emit;

/* Begins with nothing sent; `sink` null counts. */
static void syn__emit_start(syn__emit *e, const syn_sink *sink) {
  memset(e, 0, sizeof *e);
  e->sink = sink;
}

/* Hands bytes to the sink; after its first failure it is not called again. */
static void syn__emit_now(syn__emit *e, const void *bytes, size_t size) {
  if (e->failed || !size) return;
  e->failed = e->sink->write(e->sink->user, bytes, size) != size;
}

/* Sends what was gathered. */
static void syn__emit_flush(syn__emit *e) {
  if (e->sink) syn__emit_now(e, e->buffer, e->used);
  e->used = 0;
}

/* Sends or gathers; the order of bytes is that of the calls. */
static void syn__emit_bytes(syn__emit *e, const void *bytes, size_t size) {
  e->total = syn__add_size(e->total, size);
  if (!e->sink || !size) return;
  if (size > sizeof e->buffer - e->used) syn__emit_flush(e);
  if (size > sizeof e->buffer) {
    syn__emit_now(e, bytes, size);
    return;
  }
  memcpy(e->buffer + e->used, bytes, size);
  e->used += size;
}

static void syn__emit_text(syn__emit *e, const char *text) {
  syn__emit_bytes(e, text, strlen(text));
}

/* Decimal digits. Not by printf: its length for size_t differs between C libraries. */
static void syn__emit_size(syn__emit *e, size_t n) {
  char digits[24];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + (int)(n % 10));
  while ((n /= 10) != 0);
  syn__emit_bytes(e, digits + at, sizeof digits - at);
}

/* A JSON string. Beyond ", \ and control characters nothing has to be escaped: the text is UTF-8 by
   now, and so is the header. */
static void syn__emit_string(syn__emit *e, const char *text) {
  static const char hex[] = "0123456789abcdef", letters[] = "btn?fr"; /* of the bytes 8 to 13 */
  char escape[6] = {'\\', 'u', '0', '0', 0, 0};
  unsigned byte;
  for (syn__emit_text(e, "\""); (byte = (unsigned char)*text) != 0; text++) {
    if (byte >= 32 && byte != '"' && byte != '\\') {
      syn__emit_bytes(e, text, 1);
    } else if (byte >= 32 || (byte >= 8 && byte <= 13 && byte != 11)) {
      escape[1] = byte >= 32 ? *text : letters[byte - 8];
      syn__emit_bytes(e, escape, 2);
    } else {
      escape[1] = 'u';
      escape[4] = hex[byte >> 4];
      escape[5] = hex[byte & 15];
      syn__emit_bytes(e, escape, 6);
    }
  }
  syn__emit_text(e, "\"");
}

/* The format has no room for gaps, so the order of the data must align it: first the tensors whose
   size is a multiple of 64, then of 32, 16, 8, 4, 2, 1. Each then begins at a multiple of the same
   number: no element is unaligned. Class k holds the multiples of 64 >> k in the given order. */
enum { SYN__CLASSES = 7 };

/* The class of a size; 0, a multiple of everything, is in the first. */
static int syn__class(size_t bytes) {
  int k = 0;
  while (bytes & ((64u >> k) - 1)) k++;
  return k;
}

/* start[k] = where class k begins; returns the size of all data, SIZE_MAX when it does not fit. */
static size_t syn__classes(const syn__content *w, size_t start[SYN__CLASSES]) {
  size_t sizes[SYN__CLASSES] = {0, 0, 0, 0, 0, 0, 0}, at = 0, i;
  int k;
  for (i = 0; i < w->n_entries; i++) {
    k = syn__class(w->entries[i].bytes);
    sizes[k] = syn__add_size(sizes[k], w->entries[i].bytes);
  }
  for (k = 0; k < SYN__CLASSES; k++) start[k] = at, at = syn__add_size(at, sizes[k]);
  return at;
}

/* "__metadata__":{...}, without the comma behind it. */
static void syn__emit_pairs(syn__emit *e, const syn__content *w) {
  size_t i;
  syn__emit_text(e, "\"__metadata__\":{");
  for (i = 0; i < w->n_pairs; i++) {
    if (i) syn__emit_text(e, ",");
    syn__emit_string(e, w->pairs[i].key);
    syn__emit_text(e, ":");
    syn__emit_string(e, w->pairs[i].value);
  }
  syn__emit_text(e, "}");
}

/* "name":{...} of a tensor whose data begin at `begin`. */
static void syn__emit_entry(syn__emit *e, const syn_entry *t, size_t begin) {
  int i;
  syn__emit_string(e, t->name);
  syn__emit_text(e, ":{\"dtype\":\"");
  syn__emit_text(e, syn_dtype_name(t->dtype));
  syn__emit_text(e, "\",\"shape\":[");
  for (i = 0; i < t->rank; i++) {
    if (i) syn__emit_text(e, ",");
    syn__emit_size(e, t->shape[i]);
  }
  syn__emit_text(e, "],\"data_offsets\":[");
  syn__emit_size(e, begin);
  syn__emit_text(e, ",");
  syn__emit_size(e, begin + t->bytes);
  syn__emit_text(e, "]}");
}

/* The object of the header, without white space. Tensors in the given order; at[k] walks along the
   data of class k, so that each gets the offset at which syn__emit_file will come to it. */
static void syn__emit_header(syn__emit *e, const syn__content *w) {
  size_t at[SYN__CLASSES], i;
  int k;
  syn__classes(w, at);
  syn__emit_text(e, "{");
  if (w->n_pairs) syn__emit_pairs(e, w);
  for (i = 0; i < w->n_entries; i++) {
    if (i || w->n_pairs) syn__emit_text(e, ",");
    k = syn__class(w->entries[i].bytes);
    syn__emit_entry(e, &w->entries[i], at[k]);
    at[k] += w->entries[i].bytes;
  }
  syn__emit_text(e, "}");
}

/* Bytes of the header with the spaces that bring the data to a multiple of 64. */
static size_t syn__header_size(const syn__content *w) {
  syn__emit e;
  syn__emit_start(&e, NULL);
  syn__emit_header(&e, w);
  return e.total > SIZE_MAX - 80 ? SIZE_MAX : (e.total + 8 + 63) / 64 * 64 - 8;
}

/* The data of a tensor; on a big-endian machine through a small copy, whose 64 bytes are a multiple
   of every unit. */
static void syn__emit_data(syn__emit *e, const syn_entry *t) {
  const unsigned char *at = (const unsigned char *)t->data;
  unsigned char part[64];
  size_t left = t->bytes, n;
  if (!syn__big_endian()) {
    syn__emit_bytes(e, at, left);
    return;
  }
  for (; left; at += n, left -= n) {
    n = left < sizeof part ? left : sizeof part;
    memcpy(part, at, n);
    syn__swap(part, n, syn__dtype_at(t->dtype)->unit);
    syn__emit_bytes(e, part, n);
  }
}

/* The whole file into a sink; 0 when the sink failed. Seven passes over the list, one a class, cost
   less than a sorted copy and need no memory. */
static int syn__emit_file(const syn__content *w, const syn_sink *sink) {
  size_t header = syn__header_size(w), i;
  unsigned char length[8];
  syn__emit e;
  int k;
  syn__emit_start(&e, sink);
  for (i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header >> (8 * i) & 255);
  syn__emit_bytes(&e, length, 8);
  syn__emit_header(&e, w);
  while (e.total < header + 8) syn__emit_text(&e, " ");
  for (k = 0; k < SYN__CLASSES && !e.failed; k++)
    for (i = 0; i < w->n_entries; i++)
      if (syn__class(w->entries[i].bytes) == k) syn__emit_data(&e, &w->entries[i]);
  syn__emit_flush(&e);
  return !e.failed;
}

/* Tensor number i by itself: name, bytes, data. */
static syn_status syn__check_entry(syn_context *c, const syn_entry *e, size_t i) {
  char shown[SYN__SHOWN];
  size_t bytes = syn__entry_bytes(e);
  if (!syn__file_text_ok(e->name) || strcmp(e->name, "__metadata__") == 0)
    return syn__fail(c, SYN_E_VALUE, "write: tensor %lu has a name that is %s", (unsigned long)i,
                     !e->name ? "null" : syn__file_text_ok(e->name) ? "__metadata__" : "not UTF-8");
  if (bytes == SIZE_MAX || bytes != e->bytes)
    return syn__fail(c, SYN_E_SHAPE,
                     "write: tensor \"%s\" of %s, rank %d, has %lu bytes, wants %lu",
                     syn__show(shown, e->name), syn_dtype_name(e->dtype), e->rank,
                     (unsigned long)e->bytes, (unsigned long)bytes);
  if (!e->data && bytes)
    return syn__fail(c, SYN_E_VALUE, "write: tensor \"%s\" has no data", syn__show(shown, e->name));
  return SYN_OK;
}

/* No name twice, in a list of entries or of pairs. */
static syn_status syn__check_unique(syn_context *c, const void *items, size_t n, size_t size) {
  const void **at = syn__sorted(c, items, n, size, syn__name_order);
  char shown[SYN__SHOWN];
  const char *twice;
  if (!at) return SYN_E_MEMORY;
  twice = syn__twice(at, n);
  if (twice) syn__fail(c, SYN_E_VALUE, "write: two times the name \"%s\"", syn__show(shown, twice));
  syn__free(c, at);
  return twice ? SYN_E_VALUE : SYN_OK;
}

/* Refuses what the reader would refuse; *size = bytes of the file, 0 when refused. */
static syn_status syn__check_content(syn_context *c, const syn__content *w, size_t *size) {
  size_t i, start[SYN__CLASSES], header, data;
  syn_status status = SYN_OK;
  *size = 0;
  for (i = 0; i < w->n_pairs; i++)
    if (!syn__file_text_ok(w->pairs[i].key) || !syn__file_text_ok(w->pairs[i].value))
      return syn__fail(c, SYN_E_VALUE, "write: metadata %lu is null or not UTF-8",
                       (unsigned long)i);
  for (i = 0; i < w->n_entries && !status; i++) status = syn__check_entry(c, &w->entries[i], i);
  if (!status) status = syn__check_unique(c, w->pairs, w->n_pairs, sizeof *w->pairs);
  if (!status) status = syn__check_unique(c, w->entries, w->n_entries, sizeof *w->entries);
  if (status) return status;
  header = syn__header_size(w);
  data = syn__classes(w, start);
  if (header > SYN__HEADER_MAX || data > SIZE_MAX - 8 - header)
    return syn__fail(c, SYN_E_VALUE, "write: header of %lu bytes (at most %lu), data of %lu",
                     (unsigned long)header, (unsigned long)SYN__HEADER_MAX, (unsigned long)data);
  *size = 8 + header + data;
  return SYN_OK;
}

/* The four arguments of the public functions as one. */
static syn__content syn__content_of(const syn_pair *pairs, size_t n_pairs, const syn_entry *entries,
                                    size_t n_entries) {
  syn__content w;
  w.pairs = pairs;
  w.n_pairs = n_pairs;
  w.entries = entries;
  w.n_entries = n_entries;
  return w;
}

size_t syn_file_size(syn_context *c, const syn_pair *pairs, size_t n_pairs,
                     const syn_entry *entries, size_t n_entries) {
  syn__content w = syn__content_of(pairs, n_pairs, entries, n_entries);
  size_t size;
  syn__check_content(c, &w, &size);
  return size;
}

syn_status syn_file_write_to(syn_context *c, const syn_sink *sink, const syn_pair *pairs,
                             size_t n_pairs, const syn_entry *entries, size_t n_entries) {
  syn__content w = syn__content_of(pairs, n_pairs, entries, n_entries);
  size_t size;
  syn_status status = syn__check_content(c, &w, &size);
  if (status) return status;
  if (syn__emit_file(&w, sink)) return SYN_OK;
  return syn__fail(c, SYN_E_FILE, "write: the sink did not take all of %lu bytes",
                   (unsigned long)size);
}

#ifndef SYN_NO_STDIO

/* -- files -- */

/* "path: cannot open: No such file or directory" */
static syn_status syn__file_fail(syn_context *c, const char *path, const char *what, int error) {
  return syn__fail(c, SYN_E_FILE, "%s: cannot %s: %s", syn__show_path(path), what,
                   error ? strerror(error) : "unknown reason");
}

/* Bytes of an open file, which is then at its beginning; UINT64_MAX when it cannot tell, as with a
   pipe. A long of Windows ends at 2 GB, hence its own functions. */
static uint64_t syn__file_length(FILE *in) {
#ifdef _WIN32
  int64_t size = _fseeki64(in, 0, SEEK_END) == 0 ? _ftelli64(in) : -1;
#else
  int64_t size = fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
#endif
  return size < 0 || fseek(in, 0, SEEK_SET) != 0 ? UINT64_MAX : (uint64_t)size;
}

/* The whole file as one block, or null. The first 8 bytes are read before anything is asked: a
   folder opens as a file on Unix and fails only here ("Is a directory"). Memory is asked for only
   when they can be the beginning of a safetensors file of that size: what only looks long (/proc)
   stops before. */
static unsigned char *syn__file_read(syn_context *c, const char *path, FILE *in, size_t *size) {
  unsigned char head[8], *block;
  uint64_t length;
  size_t got;
  errno = 0;
  got = fread(head, 1, 8, in);
  length = ferror(in) ? UINT64_MAX : syn__file_length(in);
  if (length == UINT64_MAX) {
    syn__file_fail(c, path, ferror(in) ? "read" : "tell its size", errno);
    return NULL;
  }
  *size = length < SIZE_MAX / 2 ? (size_t)length : SIZE_MAX / 2;
  if (!syn__file_header(c, syn__show_path(path), head, got < 8 ? got : *size)) return NULL;
  block = (unsigned char *)syn__alloc(c, *size, 1);
  if (!block) return NULL;
  got = fread(block, 1, *size, in);
  if (got == *size) return block;
  syn__fail(c, SYN_E_FILE, "%s: only %lu of %lu bytes can be read: %s", syn__show_path(path),
            (unsigned long)got, (unsigned long)*size,
            ferror(in) ? strerror(errno) : "the file ends");
  syn__free(c, block);
  return NULL;
}

/* finish closes f when the bytes are not valid; without bytes it is closed here. */
syn_file *syn_file_open(syn_context *c, const char *path) {
  syn_file *f;
  size_t size = 0;
  FILE *in;
  errno = 0;
  in = path ? fopen(path, "rb") : NULL;
  if (!in) {
    syn__file_fail(c, path ? path : "null path", "open", path ? errno : EINVAL);
    return NULL;
  }
  f = syn__file_new(c);
  if (f) f->block = syn__file_read(c, path, in, &size);
  fclose(in);
  if (f && f->block) return syn__file_finish(f, syn__show_path(path), f->block, size);
  syn_file_close(f);
  return NULL;
}

/* 1 for a device, pipe or folder: nothing that a rename should replace. With the rights for it, a
   rename over /dev/null turns that into a file for everybody. */
static int syn__file_special(const char *path) {
#ifdef SYN__POSIX
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
#else
  SYN__UNUSED(path);
  return 0;
#endif
}

/* Waits until a closed file is on the disk; else a rename may outlive the bytes in a power cut.
   Opened anew because -std=c99 hides fileno. */
static int syn__file_sync(const char *path) {
#ifdef SYN__POSIX
  int file = open(path, O_WRONLY), ok, error;
  if (file < 0) return 0;
  ok = fsync(file) == 0 || errno == EINVAL; /* EINVAL: a file system that has nothing to sync */
  error = errno;
  if (close(file) != 0) return 0;
  errno = error;
  return ok;
#else
  SYN__UNUSED(path);
  return 1;
#endif
}

#ifdef _WIN32
#ifdef __cplusplus
extern "C"
#endif
__declspec(dllimport) int __stdcall MoveFileExA(const char *from, const char *to,
                                                unsigned long flags);
#endif

/* Windows refuses to rename over a file; MoveFileEx with 1 (replace) + 8 (write through) does. */
static int syn__file_rename(const char *from, const char *to) {
#ifdef _WIN32
  return MoveFileExA(from, to, 9) != 0;
#else
  return rename(from, to) == 0;
#endif
}

/* A sink that is a file. */
static size_t syn__file_sink(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)user);
}

/* Writes all of a file, closes it, waits for the disk. 0 when any of that fails, errno says why. */
static int syn__file_put(const syn__content *w, FILE *out, const char *sync_path) {
  syn_sink sink;
  int ok, error;
  sink.write = syn__file_sink;
  sink.user = out;
  errno = 0; /* C does not promise that fwrite sets it: 0 then becomes "unknown reason" */
  ok = syn__emit_file(w, &sink) && fflush(out) == 0;
  error = errno;
  if (fclose(out) != 0 && ok) ok = 0, error = errno;
  if (ok && sync_path && !syn__file_sync(sync_path)) ok = 0, error = errno;
  errno = error;
  return ok;
}

/* Straight into a device or pipe, which is neither synced, renamed nor removed. */
static syn_status syn__file_write_device(syn_context *c, const char *path, const syn__content *w) {
  FILE *out = fopen(path, "wb");
  if (!out) return syn__file_fail(c, path, "open for writing", errno);
  return syn__file_put(w, out, NULL) ? SYN_OK : syn__file_fail(c, path, "write", errno);
}

syn_status syn_file_write(syn_context *c, const char *path, const syn_pair *pairs, size_t n_pairs,
                          const syn_entry *entries, size_t n_entries) {
  syn__content w = syn__content_of(pairs, n_pairs, entries, n_entries);
  size_t size;
  syn_status status = syn__check_content(c, &w, &size);
  char *temporary;
  FILE *out;
  if (status) return status;
  if (!path) return syn__fail(c, SYN_E_VALUE, "write: null path");
  if (syn__file_special(path)) return syn__file_write_device(c, path, &w);
  temporary = (char *)syn__alloc(c, strlen(path) + 5, 1);
  if (!temporary) return SYN_E_MEMORY;
  memcpy(temporary, path, strlen(path));
  memcpy(temporary + strlen(path), ".tmp", 5);
  errno = 0; /* a file that could not be made is not removed: it may be somebody else's */
  out = fopen(temporary, "wb");
  if (!out) {
    status = syn__file_fail(c, temporary, "create", errno);
  } else if (!syn__file_put(&w, out, temporary)) {
    status = syn__file_fail(c, path, "write", errno);
    remove(temporary);
  } else if (!syn__file_rename(temporary, path)) {
    status = syn__file_fail(c, path, "rename the temporary file to it", errno);
    remove(temporary);
  }
  syn__free(c, temporary);
  return status;
}

#endif /* !SYN_NO_STDIO */

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
