/* synthesizer.h   v0.1   Synthesizer, Transformer and mixed networks in one C header

   ==============================================================================================
   >>manual   what it is, a whole program, the rules, the map
   ==============================================================================================

   Networks of the Synthesizer papers (Tay et al. 2020, 2021: attention whose matrix is learned or
   random instead of computed from queries and keys) and of Domhan's architecture language (2018:
   one line of text is a whole network), trained and run by C99 (or C++11) code without any library
   but libc and libm.

   DO THIS

     1. Copy synthesizer.h into your project; include it wherever you need its declarations.
     2. In one C file, write  #define SYNTHESIZER_IMPLEMENTATION  before the include.
     3. Compile as usual: cc -O2 yours.c -lm   (-fopenmp for more than one thread).

   A COMPLETE PROGRAM: it learns that a b c becomes c b a, and prints c b a

     #define SYNTHESIZER_IMPLEMENTATION
     #include "synthesizer.h"
     static int show(void *user, syn_text piece) { // text as it is chosen; not 0: stop
       return (void)user, printf("%.*s", (int)piece.size, piece.at) < 0;
     }
     int main(void) {
       syn_text lines[] = {syn_text_of("a b c"), syn_text_of("c b a")};
       syn_context c; // keeps the first error: look at it once, at the end
       syn_context_init(&c, NULL);
       syn_tokenizer *words = syn_tokenizer_learn(&c, "space", 0, lines, 2);
       syn_config k = {
           .encoder = "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm",
           .decoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm",
           .src_vocab = syn_tokenizer_size(words), .tgt_vocab = syn_tokenizer_size(words)};
       syn_model *m = syn_model_new(&c, &k);
       syn_model_set_tokenizers(m, words, words); // the model owns and saves them
       syn_data *data = syn_data_new(&c);
       syn_data_add_text(data, m, lines[0], lines[1]); // the row: a b c becomes c b a
       syn_train_config how = {.steps = 200};
       syn_trainer_run(syn_trainer_new(&c, m, &how), data, NULL, NULL, NULL);
       syn_model_save(&c, m, "reverse.safetensors");
       m = syn_model_load(&c, "reverse.safetensors"); // or syn_model_view(&c, bytes, size)
       syn_decoder_run_text(syn_decoder_new(&c, m, NULL), lines[0], syn_text_of(""), show, NULL);
       return puts(c.status ? c.message : ""), c.status;
     }

   (It ends at once, so it leaves its memory to the system. Every _new, _load, _view and _learn has
   its _free.)

   CONTENTS    grep -n '>>' synthesizer.h is the map: config, types, api, then the implementation.
   A section calls only sections above it (below it only public functions):

     base status memory random      checked sizes, elementary functions, errors, allocation
     utf-8 collections              characters; growing array, hash map, heap
     simd ... gemm kernels ...      every kernel, written once, compiled once per ISA
     dispatch                       the table of kernels of each ISA, chosen once per context
     tensor graph kv cache          values and nodes of a network; what decoding remembers
     parallel gemm im2col           thread slices; matrix products; convolutions as products
     pass plan arguments tape       forward and backward pass; memory plan; a tape of your own
     kind NAME ... kinds            one section for each layer or operation, and their list
     language build model           text to layers; layers to a graph; weights
     run loss values                one batch through a network; cross-entropy; looking inside
     optim data train               optimizers; rows and batches; updates, validation
     decode state sampling search   one step of decoding; the next token; beam search
     tokenizer NAME ...             one section for each tokenizer
     dtypes json safetensors ...    files: reader, writer, model file, checkpoint
     small types ... kernels ...    a second, tiny engine of integers for boards: SYN_SMALL
     check                          syn_kind_check proves a layer of your own

   WHERE TO LOOK    This prints a function with its comment (calls are indented):
     grep -n -B12 -A44 '^[a-zA-Z].*NAME(' synthesizer.h        the name of a kernel: SYN__N(NAME)
     a product, down to the inner loop: syn__linear_forward, syn_gemm, syn__task_gemm, gemm, micro
     sizes of its register block: SYN__MR, SYN__NR at each ISA; packed weights: syn__layout_packed
     activations: syn__act_names, whose comment says how to add one; kernels act, derivative
     a layer: struct syn_kind, >>kind NAME, syn__kinds; its cache while decoding: syn_cache_new
     shared parameters (universal, tie): syn__param_new finds a name that is there already
     causal mask: syn__keys_seen; attention weights: syn__softmax_row; KV cache: syn__syn_att_shape
     dropout: syn__dropout_of (a hash of the place, made again in backward); softmax_drop (signs)
     buffers that share memory: syn__item_values (lifetimes), syn__place (offsets)
     threads: syn_parallel; sums over rows: syn__column_sums, each column in one thread
     loss with label smoothing, and its gradient: kernel loss; schedules: syn__schedule
     optimizers: syn__optimizers; a step that is refused: syn__train_finish
     batches: syn__data_epoch (order), syn__data_cut (which rows together)
     end of an output: syn__choose_extensions, syn__beam_top; its score: syn__length_penalty
     tokenizers: >>tokenizer NAME; syn__tokenizer_kinds, whose comment says how to add one
     checks of a file: syn__header_length, syn__header_offsets, syn__weight_find
     small models: syn_small_step; from a node to instructions: syn__lowerings; SYN__SMALL_LIST
     resuming: syn_trainer_load, syn__checkpoint_restore (moments, best weights, numbers)

   THE MODEL    A text is a chain of layers, "->" between them; an encoder reads source tokens, a
   decoder writes target tokens. Building turns the text into a graph of nodes (one operation
   each) and values (tensors between them), checks every shape and names every parameter after its
   place: "encoder.1.0.0.1.w_v". A run gives the graph memory for a batch; forward walks the
   nodes, backward walks them back. A kind of layer is a struct of a name and functions
   (syn_kind); yours can be added through syn_options.kinds. The layers are listed in README.md;
   each section begins with its equation.

   LETTERS of shapes:  B sentences of a batch, T and S tokens of target and source, N max_len, d
   width, H heads, c = d/H width of a head, e = H c, V vocabulary. Matrices are row-major; W of y
   = x W^T + b is [out, in]. Rows are tokens: the sentences of a batch lie packed one behind the
   other, so padding costs nothing and changes nothing.

   BUILD OPTIONS    SYN_SELF "synthesizer.h": the name under which the header finds itself.
   SYN_NO_SIMD: only scalar kernels. SYN_NO_STDIO: no files, only memory. SYN_NO_LARGE_PAGES: no
   madvise. SYN_EXACT: fmaf even where it is slow. SYN_SMALL: only the small models. With
   -fopenmp, syn_options.threads counts.

   MEMORY    Objects are made by functions that end in _new, _load, _view, _open and _learn; _add
   lets data grow. Saving and writing, planning, evaluating and laying out an epoch take memory
   for a while or keep it in the syn_data. syn_trainer_step, syn_run_forward and syn_decoder_run
   allocate nothing. All of it goes through syn_options.alloc. syn_plan_of tells the bytes from the
   configuration alone. What a function returns belongs to you until its _free, but for what says
   "lives until". An object must be freed before what it was made of: a trainer, run or decoder
   before its model, everything before its context.

   ERRORS    Every function that can fail returns a syn_status or a null pointer; the context keeps
   the first error as one line with its numbers, until syn_context_clear. As long as one is kept, no
   model, run, trainer or decoder can be made. Null objects (not contexts, not places for results)
   are accepted everywhere and give errors or nothing, so a program may look only once at the end.
   The library never prints or exits.

   THREADS    A context is for one thread of yours at a time, and so is a syn_data. A model that
   nobody trains is const: any number of decoders and runs, each with a context of its own, may use
   it. Inside, OpenMP threads split outputs.

   FILES OF OTHERS    A model file, a checkpoint, a text in the language may come from anybody: each
   is checked before it is used, and loading takes memory in proportion to the file (and at most a
   few dozen megabytes for tables). What a file asks of later calls it may still exaggerate: a
   decoder's memory grows with max_len, so look at syn_model_config and syn_plan_of first, or give
   limits of your own.

   SAME BITS    Every product-sum runs in order with one fused multiply-add a term, every sum along
   a row through 16 lanes and one fixed tree, exp and its kin are our own. So scalar, AVX2,
   AVX-512 and NEON of AArch64 give the same bits, for any number of threads, on every machine and
   compiler (do not use -ffast-math). NEON of 32-bit ARM flushes denormals; syn_context_exact
   tells.

   EASY TO GET WRONG
     - Token ids: 0 is padding, 1 unknown, 2 begin, 3 end; yours begin at 4.
     - Sources end in 3 (syn_trainer_step checks it). Decoder input is 2 y_1 .. y_n, labels are
       y_1 .. y_n 3.
     - max_len counts begin or end. A longer sentence is an error for layers with a table of it
       (R, D ...).
     - Classes of classify begin at 0. Tags begin at 1 (0: nothing is asked of that token), and
       sources of tag have no end.
     - res needs equal widths; heads must divide d; a decoder of seq2seq needs attention to the
       source.
     - A decoder packs the weights when it is made: make a new one after training on.
     - syn_trainer_new moves the weights of a loaded model; runs and decoders made before keep
       reading the old ones.

   GLOSSARY    term: meaning (section)
     micro-kernel: MR rows by NR panels of C in registers; panel: 16 columns of B (gemm kernels)
     pack A, pack B: copies of A and B in the order in which the micro-kernel reads them (gemm)
     MC, KC, NC: sizes of the packed blocks, see the five loops; edge tile: below MR x NR (gemm)
     ISA: instruction set, with one table of kernels; SIMD lane: one of 16 floats of a vector (simd)
     16-lane reduction: a sum along a row in 16 partial sums, added in one fixed tree (simd)
     graph, node, value: a network; one operation of it; a tensor between operations (graph)
     stream: whose rows a value has: of source tokens, of target tokens, one per sentence (types)
     extent: floats of a buffer as a function of the batch (types)
     plan: offsets of all buffers, from their lifetimes; arena: pool of small objects (plan, memory)
     first write: backward writes a gradient instead of adding to it (pass)
     alias: two gradients share one buffer (plan); saved for backward: what forward keeps (graph)
     recurrent node: reads the network's output for the token before, as input_feed (graph)
     thread slice: the part of a loop that one thread runs (parallel)
     im2col, col2im: the inputs around a row side by side; the gradient of that (im2col)
     query, key, value, head: q, k, v, h; score: S = q k^T / sqrt(c) (attention heads)
     attention weights: P = softmax(S + causal mask); causal range: the keys of a query (same)
     KV cache: keys and values of earlier tokens, keys also in transposed blocks of 16 (kv cache)
     prompt, prefill: tokens that are given; reading them in one pass (decode state)
     hypothesis: an output in the making; beam: the K best of them; length penalty (search)
     int8 logit bounds: they show which rows of the output layer cannot win (sampling)
     sentinel: a token that stands for a hidden span (data)
     golden hash: one hash of all results over the answer files (tools/golden.h)

   RELEASES    0.1: seq2seq, lm, classify and tag networks of the layers in README.md, and their
   training. */

#ifndef SYNTHESIZER_H
#define SYNTHESIZER_H

/* ==============================================================================================
   >>config   options of the build, each with its default
   ============================================================================================== */

#include <stddef.h>
#include <stdint.h>
#if !defined(SYN_SMALL) && !defined(SYN_NO_STDIO)
#include <stdio.h>
#endif

#define SYN_VERSION "0.1"

#ifndef SYN_SELF
/* the name by which the header includes itself, once per ISA */
#define SYN_SELF "synthesizer.h"
#endif

/* SYN_NO_SIMD, defined by the user: only the scalar kernels are compiled.
   SYN_EXACT, defined by the user: a machine without fused multiply-add calls fmaf instead of a*b+c.
   SYN_NO_STDIO, defined by the user: no file is opened and stdio.h is not included (of it only
   vsnprintf is called); models come from memory, go to a sink.
   SYN_NO_LARGE_PAGES, defined by the user: no madvise on Linux, see >>memory.
   SYN_SMALL, defined by the user: nothing but small models, see >>small types. */

/* How public functions are linked: extern, or for example `static` in a program of one file, or
   __declspec(dllexport) in a shared library. */
#ifndef SYN_API
#define SYN_API extern
#endif

#define SYN_MAX_THREADS 64
#define SYN_MAX_TEXT 65536  /* bytes of an architecture text, also with its $NAMEs replaced */
#define SYN_MAX_DEPTH 32    /* chains inside chains */
#define SYN_MAX_NODES 4096  /* operations of one network */
#define SYN_MAX_LAYERS 65536 /* of one network, with those that need no operation */
#define SYN_MAX_PARAMS 16384 /* tensors of weights of one network */
#define SYN_MAX_IN 16       /* inputs of one operation */
#define SYN_MAX_PARAM 48    /* parameters of one operation */
#define SYN_MAX_SAVE 6      /* buffers an operation keeps for its backward pass */
#define SYN_MAX_PART 6      /* parts of them that syn_run_value shows by name */
#define SYN_MAX_RANK 4
#define SYN_FILE_RANK 8     /* of a tensor in a file */

/* Token ids every vocabulary begins with. */
enum { SYN_PAD = 0, SYN_UNKNOWN = 1, SYN_BEGIN = 2, SYN_END = 3, SYN_FIRST_TOKEN = 4 };

#define SYN_HASH_START UINT64_C(0xCBF29CE484222325) /* of FNV-1a */

#ifdef __cplusplus
extern "C" {
#endif

/* ==============================================================================================
   >>small types   small models: integers, for boards without an operating system
   ============================================================================================== */

/* A small model is an array of 32-bit words that a program keeps in flash: the network as a list of
   instructions, its weights as int8, its tables. syn_small_step runs it in a block of RAM whose
   size is known before, without malloc, without libm, and with the same results on every machine.
   syn_small_write makes the array from a model. With SYN_SMALL defined the header holds nothing but
   this part. The array has the byte order of the machine: little-endian. */

/* A piece of text that need not end in 0. */
typedef struct syn_text {
  const char *at;
  size_t size; /* bytes */
} syn_text;

typedef struct syn_small syn_small;

/* What syn_small_step returns beside tokens, which are 0 and above. */
enum {
  SYN_SMALL_MORE = -1,    /* the work is used up: call again */
  SYN_SMALL_END = -2,     /* the output is complete */
  SYN_SMALL_E_MODEL = -3, /* the array is not a model, or damaged */
  SYN_SMALL_E_RAM = -4,   /* too few bytes of RAM, or not aligned to 8 */
  SYN_SMALL_E_VALUE = -5  /* a token, a length or an option outside its range */
};

#define SYN_SMALL_MAX_BEAM 16

/* How to run. Zeroed, a field means what its comment says. A beam and a temperature exclude one
   another; both are for seq2seq and lm alone. */
typedef struct syn_small_config {
  int source_len;    /* tokens of the longest source with its end; 0: the model's max_len */
  int max_len;       /* tokens of an output at most, with its end; 0: the model's max_len */
  int beam;          /* hypotheses of a beam search, 1 to 16; 0: 1, greedy */
  float alpha;       /* length penalty of a beam; 0: 0.6; below 0: none */
  float temperature; /* above 0: sampling; 0: none */
  int top_k;         /* sampling: the candidates at most, of 8 bytes each; 0: the vocabulary */
  float top_p;       /* sampling: their probability in sum, 0 to 1; 0: 1 */
  uint32_t seed;     /* sampling: equal seeds give equal outputs, one source after the other */
} syn_small_config;

/* Checks the array [size bytes] and returns the bytes of RAM that syn_small_open needs; below 0: an
   error. `config` may be null. */
SYN_API long syn_small_ram(const void *model, size_t size, const syn_small_config *config);
/* Prepares `ram` [bytes]. The model stays where it is; it and `ram` must live as long as the
   result. Null: *error, if it is not null, says why. */
SYN_API syn_small *syn_small_open(void *ram, size_t bytes, const void *model, size_t size,
                                  const syn_small_config *config, int *error);
/* Begins an output. tokens [count]: the source with its end token, copied. Returns 0 or an error.
   An lm has a prompt instead, of 0 tokens or more, without an end. */
SYN_API int syn_small_source(syn_small *s, const int *tokens, int count);
/* Does about `work` multiply-adds. Returns the next token, MORE, END or an error. A beam search
   gives its best output when it is complete, a token a call. */
SYN_API int syn_small_step(syn_small *s, long work);
/* The multiply-adds since syn_small_open. */
SYN_API uint64_t syn_small_work(const syn_small *s);
/* For models with tokenizers: the tokens of a source, or of an lm's prompt, for syn_small_source,
   with the end where it needs one. Returns how many; E_VALUE: more than `capacity`, which must hold
   the characters of a word, too, before bpe merges them; E_MODEL: no tokenizer. */
SYN_API int syn_small_encode(syn_small *s, syn_text text, int *tokens, int capacity);
/* The text of a token, class or tag that syn_small_step returned, in the model's array; `first`: 1
   where an output begins, which then begins without a space. at is null: no tokenizer. */
SYN_API syn_text syn_small_piece(syn_small *s, int token, int first);
/* The text of an output with a final 0, cut to `capacity` bytes. Returns the bytes of all of it, or
   E_MODEL: no tokenizer. */
SYN_API long syn_small_decode(syn_small *s, const int *tokens, int count, char *out,
                              size_t capacity);
/* Learning on the board: memory [floats], yours, is added to the output layer. It holds weights
   [V, d], biases [V], both 0 before anything is learned, then the newest logits [V]. It must live
   as long as s uses it; null: nothing is added. Returns the floats that it must have, or an
   error. */
SYN_API long syn_small_learn(syn_small *s, float *memory, long floats);
/* After a token or END: `token` was the right one. One step of SGD on the cross-entropy of this
   place changes the memory of syn_small_learn; the output goes on with `token`. Not with a beam.
   Returns 0 or an error. */
SYN_API int syn_small_correct(syn_small *s, int token, float rate);

#ifndef SYN_SMALL
/* ==============================================================================================
   >>types   the structs of the public interface
   ============================================================================================== */

/* Every function that can fail returns one of these, or a null pointer; the context keeps the
   text. */
#define SYN_STATUS_LIST(X) \
  X(SYN_OK, "no error") \
  X(SYN_E_MEMORY, "out of memory") \
  X(SYN_E_VALUE, "a value outside its range") \
  X(SYN_E_TEXT, "an error in an architecture text") \
  X(SYN_E_SHAPE, "shapes that do not fit") \
  X(SYN_E_FILE, "a file could not be read or written") \
  X(SYN_E_FORMAT, "a file is not what it should be") \
  X(SYN_E_CANCELLED, "cancelled by the caller")

#define SYN__ENUM(name, text) name,
typedef enum syn_status { SYN_STATUS_LIST(SYN__ENUM) SYN_STATUS_COUNT } syn_status;
#undef SYN__ENUM

typedef struct syn_kind syn_kind;       /* a kind of layer, see below */
typedef struct syn_kernels syn_kernels; /* the kernels of one ISA: scalar, avx2, avx512, neon */

/* What a caller may choose about the machine. Zeroed, every field means its default. */
typedef struct syn_options {
  /* 0: malloc. Called only by functions that make something */
  void *(*alloc)(void *user, size_t bytes);
  void (*release)(void *user, void *block);     /* 0: free */
  void *user;                                   /* handed to both, and to `parallel` */
  const char *isa; /* 0: the best one this machine has; or a name, for example "scalar" */
  int threads; /* 0: 1. More need OpenMP or a `parallel` */
  /* A thread pool of the host instead of OpenMP: calls task(arg, i) once for each i = 0 .. n-1, in
     any order, on any threads, and returns when all calls have returned. 0: OpenMP, if built in */
  void (*parallel)(void *user, void (*task)(void *arg, int i), void *arg, int n);
  /* [n_kinds] kinds of your own, searched before the built-in ones, also for a model that is
     loaded; must outlive every model made with the context. Their functions are trusted */
  const syn_kind *const *kinds;
  int n_kinds;
  /* 0: none. Nonzero ends the call with SYN_E_CANCELLED; syn_context_clear before going on.
     Training and evaluation call it before every batch: weights and optimizer are those of the last
     whole update, and a further syn_trainer_run goes on as if it had not been cancelled. Decoding
     calls it once a step: outputs end with this step as if max_len were reached; in the middle of a
     prompt there are none */
  int (*cancel)(void *user);
  void *cancel_user;                            /* handed to cancel */
  /* 0: a model file or checkpoint with a weight that is infinite or not a number is refused; 1: it
     is loaded */
  int not_finite;
} syn_options;

/* The context: allocator, kernels, and the first error with its numbers. One per thread of the
   caller; whatever is made with a context refers to it and must be released before it goes. */
typedef struct syn_context {
  syn_options options;
  const syn_kernels *kernels;
  syn_status status;   /* the first failure since syn_context_init or syn_context_clear */
  char message[400];   /* that failure in one line: what was given, what was wanted, where */
} syn_context;

/* -- tensors and the tape -- */

/* A float tensor of one tape, row-major. Its numbers live in the tape's memory. */
typedef struct syn_tensor {
  struct syn_tape *tape;
  int id;                   /* its place on the tape */
  int rank;                 /* 1 .. SYN_MAX_RANK */
  int shape[SYN_MAX_RANK];
  float *x;                 /* the numbers */
  float *dx; /* the gradient of the last syn_backward, same shape; null where none is kept */
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

/* How many floats a buffer needs, for any batch: fixed + row * rows + pair * (sum over the
   sentences of queries times keys) + length * (tokens of the longest sentence) + square * (that,
   squared). */
typedef struct syn_extent {
  size_t fixed, row, pair, length, square;
} syn_extent;

typedef struct syn_node syn_node;
typedef struct syn_tape syn_tape;
typedef struct syn_build syn_build;
typedef struct syn_layer syn_layer;

/* What an operation costs; see syn_model_cost. */
typedef struct syn_cost {
  double parameters;
  double multiply_adds;    /* per token of a sentence of `length` tokens */
  double decode_bytes;     /* of the KV cache, per token already decoded */
  int length;              /* set before: tokens of the sentence */
} syn_cost;

/* How long a saved buffer is needed. */
enum { SYN_FORWARD, SYN_BACKWARD, SYN_BOTH };

/* The initial values of a parameter:
     CONSTANT    all are `amount`
     UNIFORM     uniform within +-amount
     NORMAL      normal with mean 0 and standard deviation `amount`
     FIXED       as NORMAL, and never trained
     ORTHOGONAL  square matrices, one below the other, each orthogonal, uniformly distributed, times
                 `amount`; those wider than 1024 have such blocks of 1024 along their diagonal and 0
                 elsewhere, which bounds the time */
typedef struct syn_initial {
  int kind;      /* SYN_INIT_... */
  double amount;
} syn_initial;
enum {
  SYN_INIT_CONSTANT, SYN_INIT_UNIFORM, SYN_INIT_NORMAL, SYN_INIT_FIXED, SYN_INIT_ORTHOGONAL
};

/* Numbers in a saved buffer of an operation that syn_run_value shows as "path.name". SYN_PART_ROWS,
   SYN_PART_KEYS: [rows, heads, width], rows those of the output, or of the last input; the buffer
   has as many rows as the longer of both sides, the part begins `at` floats per row into it.
   SYN_PART_PAIRS: sentence by sentence [heads, width, queries, keys]; `at` is 0. */
typedef struct syn_part {
  const char *name; /* lives as long as the kind */
  int save, form, at, heads, width;
} syn_part;
enum { SYN_PART_ROWS, SYN_PART_KEYS, SYN_PART_PAIRS };

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
  int cache;                     /* floats kept of each decoded token for later steps */
  int key_cache; /* further ones, of it or of a source token: see syn__decode_state */
  int source_cache;              /* floats kept of each source token for all steps */
  int table;                     /* longest sentence it can take; 0: any */
  float drop;                    /* dropout while training, of the output and attention weights */
  int flags;                     /* those of the kind; `shape` changes what its arguments change */
  /* Attention weights that can be looked at after a pass: of so many heads (0: none), in the saved
     buffer `seen`, sentence by sentence [heads, queries, keys]. seen_keys 0: the keys are the rows
     of the last input's sentence; else that many */
  int seen_heads, seen, seen_keys;
  const struct syn__recurrence *recurrence; /* of a recurrent node (>>graph); null: of any other */
  int n_part;
  syn_part part[SYN_MAX_PART];
  void *own;                     /* a struct of the kind's own, filled by its shape function */
};

/* A kind of layer or operation: one struct, one section. Give `shape`, with `forward` and (to
   train) `backward`, or `build` alone; `name` and `args` are never null. What is missing is an
   error when a model is built, a missing `backward` when its trainer is made. `forward` may read
   inputs and parameters and write `out` and its saved buffers; `backward` adds into gradients (but
   see SYN_FIRST_WRITE) and may read of `out` only the sign, since dropout has changed it. After
   `shape` accepted, nothing can fail. A kind without `step` computes every row alone: then its
   forward is its step. The rows of a step are the newest token of every hypothesis; in a prefill
   they are the tokens at several places of every prompt, place by place. A step writes all of them
   to its cache before it reads, and has no buffers of pairs. `backward`, `start`, `step` and `cost`
   may be null. syn_kind_check proves all this. */
struct syn_kind {
  const char *name;
  /* "i:n w:act f:scale k:kinds c:chain": type and name of each argument, in order; i integer,
     f number, w word, k kinds joined by +, c chain, C any number of chains; "": none */
  const char *args;
  int flags; /* a sum of those below */
  /* kinds made of others: tensor id, -1: failed */
  int (*build)(syn_build *b, const syn_layer *l, int x);
  syn_status (*shape)(syn_build *b, syn_node *n);        /* checks everything, states sizes */
  void (*forward)(syn_tape *t, const syn_node *n);
  void (*backward)(syn_tape *t, const syn_node *n);
  void (*start)(syn_tape *t, const syn_node *n);         /* decoding: once, after the encoder */
  void (*step)(syn_tape *t, const syn_node *n);          /* decoding: the new rows */
  void (*cost)(const syn_node *n, syn_cost *cost); /* adds to it what depends on the length */
};

/* Constant facts of a kind. */
enum {
  SYN_DROPS = 1,    /* ends with dropout on its output, whose rate the text may give */
  SYN_NORM = 2,     /* normalizes rows */
  SYN_IDENTITY = 4, /* outside of training the output is the input */
  SYN_COPIES = 8,   /* `n` copies of a chain */
  /* For the first guess of a width. Others with a first argument `n` have that width */
  SYN_SUM_WIDTHS = 16,   /* the widths of its chains are added */
  SYN_SOURCE_WIDTH = 32, /* the output is as wide as that of the encoder */
  /* What it does beyond its contract, to save passes over memory, and memory */
  SYN_FIRST_WRITE = 64, /* backward writes dx instead of adding where syn_is_first_write says so; dx
                           is then not zeroed before */
  SYN_ALIAS_DX = 128,   /* dx of input 0 equals dy, so both may be one buffer */
  SYN_INPUT_NOT_NEEDED = 256,  /* backward reads no number of the inputs, */
  SYN_OUTPUT_NOT_NEEDED = 512, /* of the output, */
  SYN_BOTH_NOT_NEEDED = SYN_INPUT_NOT_NEEDED + SYN_OUTPUT_NOT_NEEDED, /* of both */
  SYN_OWN_DROPOUT = 1024 /* the kind itself does the dropout of rate n->drop, not the pass */
};

/* -- models -- */

/* A number for a $NAME in an architecture text. */
typedef struct syn_var {
  const char *name;
  double value;
} syn_var;

/* The configuration of a model. 0 means the default in the comment of the field. Texts, names and
   numbers are copied, kinds are not. Limits: d_model 1 to 65536, heads to 4096, max_len to 2^20,
   vocabularies 4 to 2^24, classes 2 to 2^24, rates 0 to below 1. */
typedef struct syn_config {
  const char *task;            /* "seq2seq", "lm", "classify", "tag"; 0: "seq2seq" */
  /* architecture texts, UTF-8 including comments; a byte order mark is skipped */
  const char *encoder;         /* seq2seq, classify, tag */
  const char *decoder;         /* seq2seq, lm */
  int d_model;                 /* width of the embeddings; 0: 64 */
  int heads;                   /* of attention layers without an argument `heads`; 0: 4 */
  int max_len;                 /* N: longest sentence with its begin or end token; 0: 128 */
  int src_vocab, tgt_vocab;    /* sizes of the vocabularies, the four special tokens included */
  int classes;                 /* classify and tag */
  /* parameter tying: "none", "out", "all"; 0: "out" where the widths allow it, else "none" */
  const char *tie;
  float dropout;               /* rate of layers without an argument `dropout` or `rate` */
  float label_smoothing;       /* eps of the training loss */
  uint64_t seed;               /* of the initial values */
  const syn_var *vars;         /* [n_vars] the numbers of $NAMEs; null: none */
  int n_vars;
} syn_config;

typedef struct syn_model syn_model;

/* One tensor of weights, row-major; W of y = x W^T + b is [out, in]. Lives as long as its model. */
typedef struct syn_param {
  const char *name;          /* "encoder.1.0.0.1.w_v" */
  int rank, shape[SYN_MAX_RANK];
  size_t size;               /* numbers */
  int trained;               /* 0: never changed by training (Fix) */
  /* 1: a matrix product reads it as [shape[0], the rest]: rank 2, and the [n,k,d] of a convolution;
     0: a vector, or a table of heads */
  int matrix;
  int panels; /* 1: a matrix that decoding reads in panels alone, see syn_model_load_packed */
  float *x;                  /* in the model's memory or in the file it was loaded from */
  size_t offset;             /* of its first number in the block of all weights */
} syn_param;

/* Called by syn_model_init_from for each parameter `mine` that keeps its values: `theirs` has
   another shape or other tokens; null: there is none. `mine` null: `theirs` is not used. */
typedef void (*syn_init_report)(void *user, const syn_param *mine, const syn_param *theirs);

/* A batch of padded arrays, row-major, zeros at the end of short rows. Only read during the
   call. */
typedef struct syn_batch {
  int count;         /* sentences */
  const int *src;    /* [count, src_width] source tokens with their end token; null for lm */
  /* [count, tgt_width] decoder input: begin, y_1 ... y_n; null for classify and tag */
  const int *tgt;
  /* [count, tgt_width] y_1 ... y_n end; tag [count, src_width]; classify [count] */
  const int *labels;
  int src_width, tgt_width;
} syn_batch;

/* The largest batch of a run; a larger one is SYN_E_SHAPE. The buffers grow with all four. */
typedef struct syn_limits {
  int sentences;  /* at most so many; 0: as many as the rows allow */
  int src_rows;   /* tokens of all source sentences together; 0: 4096 */
  int tgt_rows;   /* decoder tokens together; 0: as src_rows */
  int length;     /* tokens of the longest sentence; 0: the model's max_len */
  int keep;       /* 1: every value keeps memory of its own, gradients too: syn_run_value */
} syn_limits;

/* A value of one sentence after a pass, row-major; lives until the next pass. */
typedef struct syn_value {
  int rank, shape[SYN_MAX_RANK];
  const char *axes[SYN_MAX_RANK]; /* "token", "feature", "head", "query", "key" ... */
  const float *x;
  const float *dx; /* gradient, after syn_run_backward; null: none, or none is kept of it */
} syn_value;

/* What syn_run_vector makes of the rows of a sentence. */
enum { SYN_VECTOR_MEAN, SYN_VECTOR_LAST };

/* Bytes, known before anything is allocated. */
typedef struct syn_plan {
  size_t weights;      /* the parameters */
  size_t training;     /* gradients, optimizer, kept checkpoints, the integers of one batch */
  size_t activations;  /* one training step with the limits given */
  size_t decoding;     /* one decoder with the limits given; 0 where the task has none */
  size_t keep;         /* a run with `keep` and the limits of one training step */
} syn_plan;

/* -- training -- */

typedef struct syn_run syn_run;
typedef struct syn_data syn_data;
typedef struct syn_trainer syn_trainer;
typedef struct syn_decoder syn_decoder;

/* How to train. Zeroed, a field means what its comment says. */
typedef struct syn_train_config {
  const char *optimizer;  /* "adam" (0 means that), "adamw", "adafactor", "sgd" */
  const char *schedule;   /* "rsqrt" (0), "noam", "linear", "cosine", "constant", "plateau" */
  /* highest learning rate; noam: factor of d^-1/2 min(t^-1/2, t w^-3/2). 0: 0.001, sgd: 0.1,
     noam: 1; adafactor: its own rate min(0.01, t^-1/2), which no schedule but plateau changes.
     adafactor multiplies either by the RMS of the tensor (at least 0.001) */
  float lr;
  long warmup;            /* steps from 0 to lr, w; 0: no warm-up */
  long steps;             /* updates in all; 0: 1000 */
  float beta1;            /* sgd: momentum. 0: 0.9, adafactor: none; below 0: none */
  float beta2, eps;       /* adam and adamw alone; 0: 0.98, 1e-9 */
  float weight_decay;     /* per step, times the learning rate (at most 1); not for adam */
  float clip;             /* largest norm of the gradient of the mean loss; 0: any */
  int batch_tokens;       /* sentences times their longest side, at most; 0: 4096 */
  int accumulate;         /* batches per update; 0: 1 */
  int length;             /* tokens of the longest sentence; 0: the model's max_len */
  long every;             /* updates between validations; 0: never */
  int average;            /* checkpoints kept in memory for syn_trainer_average, at most 1000: the
                             best, without validation data the newest. 0: none */
  int patience;           /* plateau: validations without progress before lr is halved; 0: 3 */
  int stop_after;         /* early stopping: validations without progress; 0: none */
  uint64_t seed;          /* of dropout and of the order of the batches */
  /* names of tensors that stay as they are, patterns with * for any characters between |:
     "src.embed|encoder.*"; 0: none */
  const char *freeze;
} syn_train_config;

/* The state of a training; a checkpoint holds it. */
typedef struct syn_train_state {
  long step, epoch, batch; /* updates done; epoch and batch that come next */
  long tokens;             /* labels seen */
  long validations, worse; /* done; since the best one */
  float rate, factor;      /* learning rate of the last step; factor of plateau */
  float valid, best;       /* loss of the last validation; of the best one, infinite: none yet */
  int stopped;             /* by stop_after */
  int diverged; /* the last step was refused: see syn_trainer_step */
} syn_train_state;

/* Span corruption (Raffel et al. 2020): of a text of n tokens, round(n noise) are masked, at least
   one and at most n - 1, in round(masked / span) spans, at least one and at most `count`. */
typedef struct syn_corruption {
  float noise;      /* share of the tokens that are masked; 0: 0.15 */
  float span;       /* mean length of a span, 1 or more; 0: 3 */
  int first, count; /* sentinels: the tokens first .. first + count - 1, of both vocabularies */
} syn_corruption;

/* Called after every update with its loss. `validated`: a validation was due, state->valid is new
   if there are data for it. It may save, evaluate and decode. Nonzero ends this syn_trainer_run. */
typedef int (*syn_report)(void *user, const syn_trainer *t, float loss, int validated);

/* -- decoding -- */

/* How to decode: greedy, beam search or sampling. Zeroed, a field means what its comment says. */
typedef struct syn_decode_config {
  int sentences;      /* at most so many at a time; 0: 1 */
  int source_len;     /* tokens of the longest source with its end; 0: the model's max_len */
  int max_len;        /* tokens of an output at most, L, with its end; 0: the model's max_len */
  int beam;           /* hypotheses per sentence, K; 0: 1, greedy */
  int best;           /* outputs kept per sentence; 0: 1 */
  float alpha;        /* length penalty; 0: 0.6; below 0: none */
  float temperature;  /* 0: the most probable token; else sampling from p^(1/temperature) */
  int top_k;          /* sampling from the k most probable tokens; 0: from all */
  float top_p;        /* sampling from those that first reach this probability; 0: from all */
  uint64_t seed;      /* of sampling */
  /* prompt tokens of all sentences that are read in one pass; 0: 64. Fewer need less memory; the
     outputs are the same */
  int prefill;
} syn_decode_config;

/* A token of sentence `sentence` as it is chosen, SYN_END included; nonzero ends the sentence,
   whose output then ends with this token. */
typedef int (*syn_token_callback)(void *user, int sentence, int token);
/* Text as it is chosen: whole UTF-8 characters, valid during the call; nonzero ends the output. */
typedef int (*syn_text_callback)(void *user, syn_text piece);

/* -- text -- */

/* A tokenizer: text to token ids and back. Made by syn_tokenizer_learn or syn_tokenizer_load; never
   changed afterwards, so any number of threads may encode and decode with one at the same time. */
typedef struct syn_tokenizer syn_tokenizer;

/* Flags of syn_tokenizer_learn. SYN_LOWERCASE: upper case becomes lower case first. SYN_SENTINELS:
   100 more tokens, <0> to <99>, follow the vocabulary (of bpe: beyond its SIZE). No text is encoded
   to them; syn_corrupt uses them as sentinels. */
enum { SYN_LOWERCASE = 1, SYN_SENTINELS = 2 };

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

/* One key of a file's metadata with its value, both UTF-8, both end in 0. */
typedef struct syn_pair {
  const char *key, *value;
} syn_pair;

typedef struct syn_file syn_file; /* a safetensors file that was read and checked */

/* A destination of bytes: `write` returns how many of the `size` bytes it wrote; fewer is a
   failure. */
typedef struct syn_sink {
  size_t (*write)(void *user, const void *bytes, size_t size);
  void *user; /* passed to write */
} syn_sink;

/* ==============================================================================================
   >>api   the functions, in the order of the implementation
   ============================================================================================== */

/* -- status -- */

/* Prepares a context; `options` may be null. Fails when `isa` names one this machine does not
   have. */
SYN_API syn_status syn_context_init(syn_context *c, const syn_options *options);
/* Clears the recorded error. */
SYN_API void syn_context_clear(syn_context *c);
/* One line for a status, for example "out of memory". Never null. */
SYN_API const char *syn_status_text(syn_status status);

/* -- random -- */

/* A random state: 64-bit counter and key (splitmix64); a copy of it continues alike. */
typedef struct syn_random {
  uint64_t state;
} syn_random;
SYN_API uint64_t syn_random_next(syn_random *r);             /* uniform over all 64-bit numbers */
SYN_API float syn_random_uniform(syn_random *r);             /* in [0, 1), a multiple of 2^-24 */
SYN_API float syn_random_normal(syn_random *r);              /* mean 0, variance 1 (Box-Muller) */
SYN_API int syn_random_below(syn_random *r, int n);          /* 0 .. n-1, unbiased; 0 for n <= 0 */

/* -- text -- */

SYN_API syn_text syn_text_of(const char *text); /* a text that ends in 0; null: an empty one */

/* -- dispatch -- */

/* The ISAs of this build, by rising speed: 0 .. count-1; 0 is "scalar". */
SYN_API int syn_isa_count(void);
SYN_API const char *syn_isa_name(int i); /* "scalar", "avx2", "avx512", "neon"; never null */
SYN_API int syn_isa_usable(int i);       /* 1: this machine has it */
/* 1: results of this context have the bits of every other exact one, whatever the machine; 0: the
   machine lacks fused multiply-add, or flushes denormals (NEON of 32-bit ARM). */
SYN_API int syn_context_exact(const syn_context *c);

/* -- tensors and tapes of your own -- */

/* A tape with `bytes` for the numbers of its tensors. Operations run as they are recorded; each
   returns its result, or null with the error in the context (a null argument gives null, so that
   only the last result of a formula must be looked at). */
SYN_API syn_tape *syn_tape_new(syn_context *c, size_t bytes);
SYN_API void syn_tape_free(syn_tape *t);
SYN_API void syn_tape_clear(syn_tape *t); /* removes all tensors; the memory stays */
/* A tensor of zeros, to be filled through ->x. */
SYN_API syn_tensor *syn_tensor_new(syn_tape *t, int rank, const int *shape);
/* The numbers as text, one line a row; returns its bytes, writes what fits and a final 0. Null:
   none. */
SYN_API size_t syn_tensor_text(const syn_tensor *a, char *out, size_t capacity);
/* b: the shape of a, its last part, or one number */
SYN_API syn_tensor *syn_add(syn_tensor *a, syn_tensor *b);
SYN_API syn_tensor *syn_sub(syn_tensor *a, syn_tensor *b);
SYN_API syn_tensor *syn_mul(syn_tensor *a, syn_tensor *b); /* element by element */
SYN_API syn_tensor *syn_scale(syn_tensor *x, float s);
SYN_API syn_tensor *syn_matmul(syn_tensor *a, syn_tensor *b);   /* [m,k] [k,n] -> [m,n] */
SYN_API syn_tensor *syn_act(syn_tensor *x, const char *name); /* relu, gelu, tanh, sigmoid, swish */
SYN_API syn_tensor *syn_softmax(syn_tensor *x);                 /* along the last axis */
SYN_API syn_tensor *syn_sum(syn_tensor *x);                     /* [1] */
SYN_API syn_tensor *syn_mean(syn_tensor *x);                    /* [1] */
/* Gradients of a tensor of one number by every tensor of its tape, in ->dx. */
SYN_API syn_status syn_backward(syn_tensor *loss);
/* Runs the whole tape again, after leaves were changed. */
SYN_API void syn_tape_forward(syn_tape *t);
/* Largest difference between the gradient of `loss` by `leaf` and the central difference with
   step h, over the largest gradient. Infinite on error. */
SYN_API float syn_gradient_check(syn_tensor *loss, syn_tensor *leaf, float h);

/* -- for authors of kinds: in `shape` and `build` -- */

SYN_API int syn_arg_int(syn_build *b, const char *name, int otherwise, int least, int most);
SYN_API float syn_arg_float(syn_build *b, const char *name, float otherwise, float least,
                            float most);
SYN_API int syn_arg_word(syn_build *b, const char *name, const char *const *words, int count,
                 int otherwise);
SYN_API int syn_build_width(const syn_build *b, const syn_node *n, int input);  /* of an input */
SYN_API int syn_build_stream(const syn_build *b, const syn_node *n,
                             int input); /* SYN_SRC, _TGT, _EACH */
SYN_API int syn_build_decoder(const syn_build *b); /* 1: must be causal */
SYN_API const syn_config *syn_build_config(const syn_build *b);
/* The output: [rows of the stream, width]; or the shape of an input. */
SYN_API syn_status syn_build_out(syn_build *b, syn_node *n, int stream, int width);
SYN_API syn_status syn_build_out_like(syn_build *b, syn_node *n, int input);
/* The next parameter, named "path.name": syn_weight and syn_dweight count them from 0. */
SYN_API syn_status syn_build_param(syn_build *b, syn_node *n, const char *name, syn_initial init,
                                   int rank, const int *shape);
/* The next saved buffer, counted from 0 by syn_saved: of an extent; or [rows,floats], rows those of
   the output or of the last input, whichever are more. */
SYN_API syn_status syn_build_save(syn_build *b, syn_node *n, int life, syn_extent extent);
SYN_API syn_status syn_build_save_rows(syn_build *b, syn_node *n, int life, size_t floats);
/* A struct of the kind's own for this node, in n->own: zeroed, lives as long as the model. */
SYN_API void *syn_build_own(syn_build *b, syn_node *n, size_t size);
SYN_API syn_status syn_build_part(syn_build *b, syn_node *n,
                                  const syn_part *part); /* of life SYN_BOTH */
/* Records an error with the layer's place in the text. */
SYN_API syn_status syn_build_fail(syn_build *b, const char *message);
SYN_API int syn_build_chain(syn_build *b, const syn_layer *chain,
                            int x); /* tensor behind it, or -1 */
SYN_API syn_initial syn_initial_of(int kind, double amount);
/* Glorot and Bengio 2010: uniform within sqrt(6 / (inputs + outputs)). */
SYN_API syn_initial syn_initial_glorot(int inputs, int outputs);

/* -- for authors of kinds: in `forward`, `backward`, `start`, `step` -- */

/* Tensors and buffers by number, as `shape` counted them. Gradients are added to. */
SYN_API syn_tensor *syn_in(const syn_tape *t, const syn_node *n, int i);
SYN_API syn_tensor *syn_out(const syn_tape *t, const syn_node *n);
SYN_API const float *syn_weight(const syn_tape *t, const syn_node *n, int i);
SYN_API float *syn_dweight(const syn_tape *t, const syn_node *n, int i);
SYN_API float *syn_saved(const syn_tape *t, const syn_node *n, int i);
/* A tensor [..., width] is `rows` rows of `width` numbers; count = rows * width. */
SYN_API size_t syn_rows(const syn_tensor *a);
SYN_API int syn_width(const syn_tensor *a);
SYN_API size_t syn_count(const syn_tensor *a);
/* The sentences of an input's rows; of the output's. Not in `step`, where each row is the newest of
   a hypothesis. */
SYN_API const syn_stream *syn_in_stream(const syn_tape *t, const syn_node *n, int i);
SYN_API const syn_stream *syn_out_stream(const syn_tape *t, const syn_node *n);
/* [rows of the output] the place of each row in its sentence, from 0; also in `step`. Null for a
   row per sentence. */
SYN_API const int *syn_places(const syn_tape *t, const syn_node *n);
SYN_API int syn_is_training(const syn_tape *t); /* 1: dropout drops */
SYN_API int syn_is_decoding(const syn_tape *t); /* 1: in `start` and `step` */

/* 1: input i has no gradient yet, so a kind with SYN_FIRST_WRITE must write dx instead of adding to
   it. */
SYN_API int syn_is_first_write(const syn_tape *t, const syn_node *n, int i);
/* y [n] += factor x [n]; first_write: y = factor x */
SYN_API void syn_accumulate(syn_tape *t, float *y, const float *x, float factor, size_t n,
                    int first_write);
/* Dropout of x [count] at a rate while training; the same call on dx gives its gradient. The output
   of a node needs none: n->drop, which a kind with SYN_DROPS gets from the text, is done for it. */
SYN_API void syn_dropout(syn_tape *t, const syn_node *n, float rate, float *x, size_t count);

/* Work of a kind over the items begin .. end-1; `job` is what syn_parallel was given. */
typedef void (*syn_task)(syn_tape *t, const void *job, int thread, size_t begin, size_t end);
/* Runs the task over 0 .. items-1 on all threads, in slices that end at multiples of `unit`. A task
   may write only what belongs to its own items: then the bits do not depend on the threads. */
SYN_API void syn_parallel(syn_tape *t, syn_task task, const void *job, size_t items, size_t unit);
/* The n->scratch floats of a thread, the one the task was told; 0 outside of tasks. */
SYN_API float *syn_scratch(const syn_tape *t, int thread);

/* The KV cache, while decoding. `start` runs once, behind the encoder: it fills the rows of all
   source tokens [rows of the source, n->source_cache]. `step` fills the row [n->cache] of the new
   token of each output row r; later steps read it by the token's place in the hypothesis, the new
   one's included. */
SYN_API float *syn_cache_new(const syn_tape *t, const syn_node *n, int r);
SYN_API const float *syn_cache_row(const syn_tape *t, const syn_node *n, int r, int place);
SYN_API float *syn_source_cache_rows(const syn_tape *t, const syn_node *n);
/* Of the source sentence of output row r: how many tokens; the row of token j. */
SYN_API int syn_source_length(const syn_tape *t, int r);
SYN_API const float *syn_source_cache(const syn_tape *t, const syn_node *n, int r, int j);

/* Proves a kind inside small networks: a language model, whose decoder is `text`, and a tagger,
   whose encoder is `text`. Null: the name of the kind alone. The kind need not be in the options of
   the context; built-in ones may be checked, too. What is checked: see syn_network_check. */
SYN_API syn_status syn_kind_check(syn_context *c, const syn_kind *kind, const char *text);
/* Proves all kinds of a network (at most 64 wide; give small vocabularies):
     causal    no row of a decoder depends on a later token
     packed    no sentence depends on the others of its batch, nor on padding
     step      while decoding, each node makes the row that it makes in a forward pass, to the bit
     file      a saved and loaded model computes the same bits
     gradient  the gradient of each parameter, the embedding of the inputs included, is that of
               finite differences, without dropout and with it
   SYN_E_VALUE: the first check that fails, and where, with what was computed and wanted. */
SYN_API syn_status syn_network_check(syn_context *c, const syn_config *config);

/* A convolution over the rows of a sentence: tap k of row i reads row i + first + k dilate. */
typedef struct syn_conv {
  int taps, dilate, first;
} syn_conv;

/* A matrix inside memory: element [i,j] is x[i row + j col]. It owns nothing. */
typedef struct syn_matrix {
  float *x;
  int rows, cols;
  size_t row, col; /* floats from one row to the next, from one column to the next */
  size_t panel;    /* 0; else: packed by the library, floats from one panel to the next */
} syn_matrix;
/* x [rows,cols], rows `row` floats apart; row 0: cols. x is written only where it is the c of
   syn_gemm. */
SYN_API syn_matrix syn_matrix_of(const float *x, int rows, int cols, size_t row);
SYN_API syn_matrix syn_transposed(syn_matrix a); /* the same memory as [cols,rows] */
/* c [m,n] = bias [n] (null: 0) + a [m,k] b [k,n]; accumulate 1: c += a b. By all threads: not to be
   called inside a task. c has contiguous rows and overlaps neither a nor b. Each element is one sum
   in the order of k, whatever the strides and the number of threads. */
SYN_API void syn_gemm(syn_tape *t, syn_matrix c, syn_matrix a, syn_matrix b, const float *bias,
              int accumulate);
/* In an encoder the taps are centred on the row, in a decoder they end with it. */
SYN_API syn_conv syn_conv_of(const syn_build *b, int taps, int dilate);
/* col [rows,taps,width] = the rows of x [rows,width] that each row's taps read; 0 outside its
   sentence. The rows are those of the node's output. Convolution: col W^T, W [out, taps width]. */
SYN_API void syn_im2col(syn_tape *t, const syn_node *n, const syn_conv *w, syn_matrix x,
                        float *col);
/* dx [rows,width] += the gradient dcol [rows,taps,width] of each row's copies */
SYN_API void syn_col2im(syn_tape *t, const syn_node *n, const syn_conv *w, const float *dcol,
                syn_matrix dx);

/* The kinds of the language that are built, 0 .. count-1. */
SYN_API size_t syn_kind_count(void);
SYN_API const syn_kind *syn_kind_at(size_t i);

/* -- models -- */

/* Builds the network and draws the initial values of its parameters. Those depend on the seed and
   on the name and shape of the parameter alone: further layers do not change them. Null: an error
   in the configuration (the message says where), or no memory. */
SYN_API syn_model *syn_model_new(syn_context *c, const syn_config *config);
SYN_API void syn_model_free(syn_model *m);
/* With every default resolved and every $NAME replaced. The results of all functions on a model
   live as long as it does. */
SYN_API const syn_config *syn_model_config(const syn_model *m);
SYN_API size_t syn_model_param_count(const syn_model *m);
SYN_API const syn_param *syn_model_param(const syn_model *m, size_t i);
SYN_API const syn_param *syn_model_find(const syn_model *m,
                                        const char *name); /* null: there is none */
/* The operations in the order they run; null past the end. */
SYN_API size_t syn_model_node_count(const syn_model *m);
SYN_API const syn_node *syn_model_node(const syn_model *m, size_t i);
/* What one operation of the model costs in a sentence of `length` tokens. */
SYN_API syn_cost syn_model_cost(const syn_model *m, const syn_node *n, int length);
/* Tokenizers to be saved with the model, which owns them from now on and frees those it had; either
   may be null, both may be the same. The target tokenizer names the classes of classify and tag:
   class k is its token k + 4 for classify (a "line" tokenizer), k + 3 for tag, whose class 0 has no
   name. */
SYN_API void syn_model_set_tokenizers(syn_model *m, syn_tokenizer *source, syn_tokenizer *target);
/* side: SYN_SRC, SYN_TGT. Null: there is none. */
SYN_API const syn_tokenizer *syn_model_tokenizer(const syn_model *m, int side);
/* Initializes m from a pretrained model: each parameter of m gets the values of the one of the same
   name and shape in `from`; the others stay as they are. Embeddings and the parameters of the
   output are copied only if both models have the same tokens in the same order, or one has no
   tokenizer. Where m has a table of its own that is tied in `from`, it gets the tied one. `report`
   (may be null) is called for each parameter that is not copied. Models of different tasks are an
   error unless `flags` has SYN_OTHER_TASK. Returns how many were copied; -1: an error. */
enum { SYN_OTHER_TASK = 1 };
SYN_API int syn_model_init_from(syn_model *m, const syn_model *from, int flags,
                                syn_init_report report, void *user);
/* The bytes a model will need, from its configuration; only the graph is allocated, and freed
   before the call returns. `train` and `decode` may be null: the defaults. *plan is zeroed on
   failure. */
SYN_API syn_status syn_plan_of(syn_context *c, const syn_config *config,
                               const syn_train_config *train, const syn_decode_config *decode,
                               syn_plan *plan);
/* FNV-1a of some bytes, continued from `hash`; begin with SYN_HASH_START. */
SYN_API uint64_t syn_hash(uint64_t hash, const void *bytes, size_t size);

/* A network as text, from the configuration alone, without memory for weights: a line with the
   names of the columns, then one for each operation in the order they run, columns between tabs:
   path, kind, shapes of the inputs, of the output, parameters with their shapes. Returns the bytes
   of the text; `out` gets what fits into `capacity` with a final 0. 0: an error. */
SYN_API size_t syn_model_describe(syn_context *c, const syn_config *config, char *out,
                                  size_t capacity);

/* -- forward passes -- */

/* Buffers for forward passes whose results can be read. `limits` may be null. The model must
   outlive the run; weights that change between two passes count from the next pass on. */
SYN_API syn_run *syn_run_new(syn_context *c, const syn_model *m, const syn_limits *limits);
SYN_API void syn_run_free(syn_run *r);
/* The network over a batch, without dropout. Labels are not needed. */
SYN_API syn_status syn_run_forward(syn_run *r, const syn_batch *batch);
/* The logits of a sentence [rows, V] after it (classify: [1, classes], tag: [rows, classes]); null
   with *rows 0 when there is no such sentence. They live until the next pass. */
SYN_API const float *syn_run_logits(const syn_run *r, int sentence, int *rows);
/* classify, tag: the class of row `row` of a sentence after it (classify: row 0) that has `rank`
   classes before it, 0: the most probable; of equal ones the lower number comes first. Class 0 of
   tag is never an answer. *p (may be null): its probability among all classes. -1 with *p 0: no
   such. */
SYN_API int syn_run_class(const syn_run *r, int sentence, int row, int rank, float *p);
/* The same as the name of the class; of size 0: no such, or the model has no names. */
SYN_API syn_text syn_run_class_name(const syn_run *r, int sentence, int row, int rank, float *p);
/* A forward pass over one text, or one pair of texts, by the tokenizers of the model; its results
   are those of sentence 0. source: not read for lm; target: what the decoder reads after its begin
   token, not read for classify and tag. */
SYN_API syn_status syn_run_text(syn_run *r, syn_text source, syn_text target);

/* The four below are for runs made with `keep`; others reuse the memory of values, and say so. */

/* A value of a sentence by its place in the text, with the names of its axes:
     "encoder.1.0.0.1"     the output of a layer: [token, feature]. Where several operations have
                           the path (steps of universal), the last; "encoder.1@0": the first
     "encoder.1.0.0.1.q"   a part of a layer, where its kind keeps it: attention has q (times
                           c^-1/2 where the scores are), k, v, context [token, head, feature],
                           weights [head, query, key], scores before the softmax (mixtures only)
     "encoder.1.0.0.1.w_q" a parameter, of no sentence; dx: of all sentences
     "out"                 the logits
   An unknown path is an error that names the nearest one. */
SYN_API syn_status syn_run_value(const syn_run *r, const char *path, int sentence,
                                 syn_value *value);
/* The mean of the rows of a sentence, or its last row (SYN_VECTOR_MEAN, SYN_VECTOR_LAST), of the
   output of a layer: out [width]. */
SYN_API syn_status syn_run_vector(const syn_run *r, const char *path, int sentence, int what,
                                  float *out, int width);
/* A forward pass, then a backward pass from the mean loss of the labels, as syn_trainer_backward
   computes it. *loss (may be null): that loss. */
SYN_API syn_status syn_run_backward(syn_run *r, const syn_batch *batch, float *loss);

/* The place in the text ("encoder.1.0.0.1") and heads of attention layer i = 0, 1, ...; null: no
   such. */
SYN_API const char *syn_model_attention(const syn_model *m, int i, int *heads);
/* The attention weights [size[0] queries, size[1] keys] of the last pass; null with sizes 0: no
   such. They live until the next pass. */
SYN_API const float *syn_run_attention(const syn_run *r, int layer, int head, int sentence,
                                       int size[2]);
/* One row of weights [keys] as shades from blank to full, a character for each fifth, in UTF-8.
   Returns its bytes; `out` gets what fits into `capacity` with a final 0. */
SYN_API size_t syn_attention_shades(const float *row, int keys, char *out, size_t capacity);

/* -- training -- */

/* Rows of token ids without begin and end. The tokens are copied. What a row is depends on the task
   of the model that reads it, and is checked there:
     seq2seq   source tokens and target tokens; lm: no source
     classify  source tokens; the target is one number, the class, 0 .. classes-1
     tag       source tokens, at least one; the target is as many tags, 1 .. classes-1, or 0 where
               nothing is asked */
SYN_API syn_data *syn_data_new(syn_context *c);
SYN_API void syn_data_free(syn_data *d);
SYN_API size_t syn_data_count(const syn_data *d); /* rows */
/* One row: n_src source tokens and n_tgt target tokens (classes, tags), at most 2^24 each. */
SYN_API syn_status syn_data_add(syn_data *d, const int *src, int n_src, const int *tgt, int n_tgt);
/* One row as texts, by the tokenizers of the model. source: empty for lm. target: a text; classify:
   the name of a class; tag: a tag for each token of the source, with white space between. An error
   names the row, 0 being the first, and what is wrong: a text longer than the model's max_len, an
   unknown class with the nearest name. Then no row is added. */
SYN_API syn_status syn_data_add_text(syn_data *d, const syn_model *m, syn_text source,
                                     syn_text target);
/* A long text for lm, cut into rows of `window` tokens that begin every `stride` tokens. With
   stride < window they overlap: the first window - stride tokens of a row are only read, so every
   token counts once. No end token is added. */
SYN_API syn_status syn_data_add_windows(syn_data *d, const int *tokens, size_t count, int window,
                                int stride);
/* The tokens of a row, SYN_SRC or SYN_TGT; null with *length 0: no such. Lives until rows are
   added. */
SYN_API const int *syn_data_row(const syn_data *d, size_t i, int side, int *length);
/* Makes pre-training data for seq2seq: every row, also of those added later, is a text as source
   without a target. syn_corrupt makes source and target of it when its batch is made, with other
   spans in each epoch of each seed, in evaluations always with the same. */
SYN_API syn_status syn_data_corrupt(syn_data *d, const syn_corruption *k);
/* Tokens that syn_corrupt writes, without end: n - masked + spans and masked + spans; n and 0 where
   n < 2, for then nothing is masked. */
SYN_API void syn_corrupt_sizes(const syn_corruption *k, int n, int *n_src, int *n_tgt);
/* src: the n tokens, each span replaced by the next sentinel; tgt: sentinel, span, sentinel, span
   ... (the end token that follows it stands for the last sentinel of the paper). The spans are
   drawn from r: all ways to split the masked tokens and the others into as many spans, of at least
   one token each, are equally probable. A text begins with tokens that are not masked. */
SYN_API void syn_corrupt(const syn_corruption *k, const int *tokens, int n, syn_random *r, int *src,
                 int *tgt);
/* How many batches the first epoch of a training has; 0: it fails. */
SYN_API size_t syn_data_batches(syn_data *d, int batch_tokens, uint64_t seed);

/* `config` may be null. The trainer changes the weights of the model, which must outlive it. A
   model loaded from a file gets a copy of its weights first. One model, one trainer at a time.
   What would make saving or loading fail later is an error here: tokenizers of another size than
   the vocabularies. */
SYN_API syn_trainer *syn_trainer_new(syn_context *c, syn_model *m, const syn_train_config *config);
SYN_API void syn_trainer_free(syn_trainer *t);
SYN_API const syn_train_state *syn_trainer_state(const syn_trainer *t);
SYN_API const syn_train_config *
syn_trainer_config(const syn_trainer *t); /* with every default resolved */
/* One update from the mean gradient of `count` batches; *loss: mean per label, with smoothing, of
   the weights before the update. After an error nothing was updated, weights and moments are as
   before; SYN_E_VALUE with state->diverged: the loss or the gradient is not finite, or the step
   could make weights that are not: they could move by more than 1e30, or learning rate times
   weight_decay is above 1. Weights that are finite stay so. A source of seq2seq or classify that
   does not end in SYN_END is an error (only here: other functions take sources as they are). */
SYN_API syn_status syn_trainer_step(syn_trainer *t, const syn_batch *batches, int count,
                                    float *loss);
/* The gradient of the mean loss alone, without dropout; the weights stay. It lives until the next
   call of the trainer; read it, in the shape of the parameter, with syn_trainer_gradient. */
SYN_API syn_status syn_trainer_backward(syn_trainer *t, const syn_batch *batch, float *loss);
SYN_API const float *syn_trainer_gradient(const syn_trainer *t,
                                          const syn_param *p); /* null: not trained */
/* Adds the losses of one batch, without dropout and smoothing, and how many labels they are of. */
SYN_API syn_status syn_trainer_batch_loss(syn_trainer *t, const syn_batch *batch, double *sum,
                                  long *labels);
/* Mean loss per label over the data, the same way; *labels: how many. */
SYN_API syn_status syn_trainer_evaluate(syn_trainer *t, syn_data *d, double *loss, long *labels);
/* The same without a trainer, with memory for batches of so many tokens; 0: 4096. */
SYN_API syn_status syn_model_evaluate(syn_context *c, const syn_model *m, syn_data *d,
                                      int batch_tokens, double *loss, long *labels);
/* Updates until `steps`, early stop, or until `report` returns nonzero; `valid` and `report` may be
   null. A further call goes on. The order of the batches depends on data, batch_tokens and seed
   alone. */
SYN_API syn_status syn_trainer_run(syn_trainer *t, syn_data *data, syn_data *valid,
                                   syn_report report, void *user);
/* A validation now: updates state->valid, state->best, kept checkpoints. `valid` may be null. */
SYN_API syn_status syn_trainer_validate(syn_trainer *t, syn_data *valid);
/* The weights become the mean of the kept checkpoints, at the end of a training: the moments of the
   optimizer stay those of the last step. Returns how many they are, 0: none. */
SYN_API int syn_trainer_average(syn_trainer *t);

/* -- decoding -- */

/* `config` may be null. Many decoders may use one model at the same time, each with its own
   context. The weights are packed as they are now. Memory: the KV cache of sentences * beam *
   max_len tokens (syn_cost.decode_bytes each), and a copy of the weights. */
SYN_API syn_decoder *syn_decoder_new(syn_context *c, const syn_model *m,
                                     const syn_decode_config *config);
SYN_API void syn_decoder_free(syn_decoder *d);
/* Decodes b->count sentences: b->src as in training; b->tgt, if not null, is the prompt with which
   the outputs begin (begin, then tokens; all rows of one length). `call`, if not null, gets every
   token as it is chosen (not with a beam); when it returns nonzero, its sentence ends. */
SYN_API syn_status syn_decoder_run(syn_decoder *d, const syn_batch *b, syn_token_callback call,
                                   void *user);
/* Decodes one text with the model's own tokenizers. The source is empty for lm; the prompt may be
   empty. `call`, if not null, gets the text behind the prompt as it is chosen (not with a beam).
   SYN_E_VALUE: the model has no tokenizer; SYN_E_SHAPE: a text has too many tokens. */
SYN_API syn_status syn_decoder_run_text(syn_decoder *d, syn_text source, syn_text prompt,
                                syn_text_callback call, void *user);
/* The next three keep the pointer, which every later run reads; null: none. seeds [sentences]:
   sampling for sentence i draws from seeds[i], without them from the configuration's seed and i. */
SYN_API void syn_decoder_set_seeds(syn_decoder *d, const uint64_t *seeds);
/* allowed [sentences, V]: a token of sentence i can be chosen where its byte is not 0; SYN_END can
   always be. Probabilities stay those of the softmax over all V. Prompts may hold other tokens. */
SYN_API void syn_decoder_set_allowed(syn_decoder *d, const unsigned char *allowed);
/* Sequences of tokens that are never completed, each with a 0 behind it and one more behind the
   last: {7, 0, 8, 9, 0, 0} bans token 7, and 9 right after 8. SYN_END can always be chosen. */
SYN_API void syn_decoder_set_banned(syn_decoder *d, const int *banned);
/* Output `rank` (0: the best) of a sentence: *size tokens, the last is SYN_END unless the limit
   came first; null: there is none. *score (may be null): log p / ((5+size)/6)^alpha with a beam,
   else 0. Lives until the next syn_decoder_run. */
SYN_API const int *syn_decoder_output(const syn_decoder *d, int sentence, int rank, int *size,
                              float *score);
/* That output as text, prompt included, as syn_tokenizer_decode writes it and with what it returns;
   0 and "" where there is none. */
SYN_API size_t syn_decoder_output_text(const syn_decoder *d, int sentence, int rank, char *out,
                               size_t capacity, float *score);

/* -- text -- */

/* Learns a tokenizer from `count` lines. It never emits SYN_PAD, SYN_BEGIN or SYN_END; what it
   does not know is SYN_UNKNOWN; its own tokens follow from SYN_FIRST_TOKEN. `spec` names the kind:
     "byte"      ids 4 .. 259 are the bytes: every text is restored exactly
     "char"      the characters of the lines, in order of code point
     "space"     the words of the lines, the most frequent first (ties: in order of their bytes)
     "bpe:SIZE"  byte pair encoding (Sennrich, Haddow, Birch 2016) until the vocabulary has SIZE
                 tokens, the 4 fixed ones included, or no pair is left that occurs twice
     "line"      whole lines, in order of their bytes: a text is one token. The classes of classify
   Words (of space and bpe) begin at white space (space, tab, line ends) and hold it as their first
   character; one space is put before a text and taken away again by syn_tokenizer_decode. So every
   text of known pieces is restored exactly; for "space" a run of n spaces holds n - 1 empty words,
   known if the lines had one. A byte that is not UTF-8 is SYN_UNKNOWN, except for "byte" and
   "line". A byte order mark (U+FEFF) at the start of a line, or of a text that is encoded, is no
   part of it and is skipped. `flags`: 0, SYN_LOWERCASE (ASCII, Latin-1, Latin Extended-A, Greek,
   Cyrillic), SYN_SENTINELS or their sum. Null on failure: spec or flags wrong, or no memory. */
SYN_API syn_tokenizer *syn_tokenizer_learn(syn_context *c, const char *spec, int flags,
                                   const syn_text *lines, size_t count);
SYN_API void syn_tokenizer_free(syn_tokenizer *t);                  /* null is allowed */
SYN_API int syn_tokenizer_size(const syn_tokenizer *t); /* the vocabulary, fixed ids included */
SYN_API int syn_tokenizer_flags(const syn_tokenizer *t);
/* How many sentinels it has, 100 or 0; they are the tokens *first, *first + 1 ... */
SYN_API int syn_tokenizer_sentinels(const syn_tokenizer *t, int *first);
SYN_API const char *
syn_tokenizer_type(const syn_tokenizer *t); /* the spec, for example "bpe:10000" */
/* Writes the first `capacity` ids of the text, without begin and end. Returns how many it has, also
   for capacity 0; no text has more tokens than bytes + 1. Allocates nothing. */
SYN_API int syn_tokenizer_encode(const syn_tokenizer *t, syn_text text, int *ids, int capacity);
/* The text of `count` ids: stops at SYN_END, skips SYN_PAD and SYN_BEGIN; SYN_UNKNOWN and ids
   outside the vocabulary become U+FFFD. Returns its bytes. `out` gets the first tokens that fit in
   `capacity` bytes together with a final 0, which is there whenever capacity > 0; only "byte" may
   cut a character. */
SYN_API size_t syn_tokenizer_decode(const syn_tokenizer *t, const int *ids, int count, char *out,
                            size_t capacity);
/* What one token adds to a text, to print tokens as they come; `first`: nonzero for the first of a
   text, which loses its space. Whole characters, except for "byte". Lives as long as `t`. */
SYN_API syn_text syn_tokenizer_piece(const syn_tokenizer *t, int id, int first);
/* Writes the tokenizer as bytes if all fit into `capacity`; returns how many bytes it needs. */
SYN_API size_t syn_tokenizer_save(const syn_tokenizer *t, void *out, size_t capacity);
/* Reads them back. Null (recorded) for bytes that are not a whole tokenizer. */
SYN_API syn_tokenizer *syn_tokenizer_load(syn_context *c, const void *bytes, size_t size);

/* -- file -- */

/* The container is safetensors, https://github.com/huggingface/safetensors: header length (u64,
   little-endian), JSON header, data. A file is hostile until it is checked: sizes, shapes, names,
   offsets (tensors fill the data without overlap or hole); not the values of elements. */

SYN_API const char *
syn_dtype_name(syn_dtype dtype); /* as in the file: "F32". "?" when there is none */

#ifndef SYN_NO_STDIO
/* Reads a whole file into one block. Null when it cannot be read (SYN_E_FILE), is not valid
   (SYN_E_FORMAT) or does not fit into memory (SYN_E_MEMORY). Free it before its context. */
SYN_API syn_file *syn_file_load(syn_context *c, const char *path);
#endif
/* The same for a file in memory; `bytes` are not copied and must outlive the syn_file. */
SYN_API syn_file *syn_file_view(syn_context *c, const void *bytes, size_t size);
/* Frees the file with its entries, pairs, names and data. Null is allowed. */
SYN_API void syn_file_free(syn_file *f);

/* Tensors and metadata in the order of the header; null past the end, and for an unknown name. */
SYN_API size_t syn_file_count(const syn_file *f);
SYN_API const syn_entry *syn_file_entry(const syn_file *f, size_t i);
SYN_API const syn_entry *syn_file_find(const syn_file *f, const char *name);
SYN_API size_t syn_file_pair_count(const syn_file *f);
SYN_API const syn_pair *syn_file_pair(const syn_file *f, size_t i);
SYN_API const char *syn_file_value(const syn_file *f, const char *key);

/* out[0..count) = the elements of an F32, F16 or BF16 entry, exact. Another dtype is SYN_E_FORMAT,
   a count that is not the entry's is SYN_E_SHAPE; then out is zeroed. */
SYN_API syn_status syn_entry_floats(syn_context *c, const syn_entry *e, float *out, size_t count);

/* Bytes of the file that the functions below write for the same arguments; 0 and an error for what
   they refuse: a name that is null, used twice, not UTF-8 or "__metadata__"; a tensor whose bytes
   are not those of its shape and dtype. */
SYN_API size_t syn_file_size(syn_context *c, const syn_pair *pairs, size_t n_pairs,
                     const syn_entry *entries, size_t n_entries);
#ifndef SYN_NO_STDIO
/* Writes a file. The same input gives the same bytes on every machine. They go to `path`.tmp (one
   writer per path at a time), are flushed to the disk, then renamed over `path`, whose old content
   stays as it was after any failure (SYN_E_FILE). A device or pipe is written directly. */
SYN_API syn_status syn_file_write(syn_context *c, const char *path, const syn_pair *pairs,
                                  size_t n_pairs, const syn_entry *entries, size_t n_entries);
#endif
/* The same bytes into a sink, in order; SYN_E_FILE when it fails. */
SYN_API syn_status syn_file_write_to(syn_context *c, const syn_sink *sink, const syn_pair *pairs,
                             size_t n_pairs, const syn_entry *entries, size_t n_entries);

/* -- model files and checkpoints -- */

/* Writes the model with its tokenizers, weights as F32; a file as syn_file_write does, or into a
   sink. Other metadata of the file that a model was loaded from are written, too. */
SYN_API syn_status syn_model_save_to(syn_context *c, const syn_model *m, const syn_sink *sink);
/* A model from a file in memory. F32 weights at multiples of 4 bytes are used where they lie, so
   the bytes must outlive the model; F16 and BF16 weights are converted into memory of their own.
   Null (SYN_E_FORMAT): no model file, or a tensor missing, surplus or of another shape than the
   network in the metadata wants; the message names it. So is a weight that is not finite, unless
   syn_options.not_finite says otherwise: the message names tensor and byte. */
SYN_API syn_model *syn_model_view(syn_context *c, const void *bytes, size_t size);
SYN_API const syn_file *syn_model_file(const syn_model *m); /* what it was loaded from, or null */
#ifndef SYN_NO_STDIO
SYN_API syn_status syn_model_save(syn_context *c, const syn_model *m, const char *path);
SYN_API syn_model *syn_model_load(syn_context *c, const char *path);
/* A checkpoint is a model file with the optimizer's moments, the kept weights and the place in
   the data; a trainer of the same configuration, on a model of the same texts, that loads it goes
   on as if it had never stopped, bit for bit. A checkpoint that does not fit (optimizer, freeze,
   seed, batch_tokens, accumulate, every, shapes), or holds numbers that are not finite, is refused,
   and then trainer and model are what they were. */
SYN_API syn_status syn_trainer_save(syn_context *c, const syn_trainer *t, const char *path);
SYN_API syn_status syn_trainer_load(syn_trainer *t, const char *path);
#endif

/* -- small models -- */

/* What a small model consists of. Zeroed, or null: int8, without tokenizers, for all lengths,
   greedy. */
typedef struct syn_small_options {
  int tokenizers;                 /* 1: the model's tokenizers, too */
  const syn_small_config *config; /* what NAME_RAM is for */
  const char *type; /* of weights: "i8"; "i4": half the bytes, a scale for each 32. 0: i8 */
  /* of i8, the order that a machine reads fastest: "smlad", Cortex-M4, M7, M33, Cortex-A and PCs;
     "mve", Cortex-M55, M85; "rows", row-major. Every machine runs all, with the same results. 0:
     smlad */
  const char *layout;
} syn_small_options;

/* Writes the array of a small model: weights, tables. An error names a layer whose kind a small
   model cannot have. `options` may be null. */
SYN_API syn_status syn_small_write(syn_context *c, const syn_model *m,
                                   const syn_small_options *options, const syn_sink *sink);
/* The same as the text of a C header: the array NAME_model, its RAM as NAME_RAM, the instructions
   and formats it needs as SYN_SMALL_KINDS and SYN_SMALL_FORMATS. `name`: a C identifier. */
SYN_API syn_status syn_small_embed(syn_context *c, const syn_model *m,
                                   const syn_small_options *options, const char *name,
                                   const syn_sink *sink);
#endif /* !SYN_SMALL */

#ifdef __cplusplus
}
#endif
#endif /* SYNTHESIZER_H */

#if defined(SYNTHESIZER_IMPLEMENTATION) && !defined(SYN__IMPLEMENTED)
#ifndef SYN__ISA /* a pass of one ISA compiles only >>simd to >>update kernels, see >>dispatch */

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
#if defined(__thumb__) && !defined(__thumb2__) && !defined(__clang__)
/* gcc 12 with -Os for Cortex-M0: a callee that frees its stack by popping r1 to r3 destroys them,
   which its caller does not expect with this optimization. */
#pragma GCC optimize("no-ipa-ra")
#endif
#endif

/* gcc -O2 spends most of its time on code in which a program spends none. 1: sections say
   how much is worth doing there (O1, Og), which halves the compile time. Not for -O0, nor for -Os,
   where O1 made the whole a tenth larger. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    !defined(__OPTIMIZE_SIZE__)
#define SYN__LEVELS 1
#else
#define SYN__LEVELS 0
#endif

/* ==============================================================================================
   >>small kernels   rows of int8, float functions without libm
   ============================================================================================== */

/*
   Weights are int8 with a scale for each output row, activations int8 with a scale for each row,
   found when the row is quantized:

     s = max_i |x_i| / 127,   q_i = round(x_i / s),   y_j = (sum_i w_ji q_i) (scale_j s) + b_j

   The sum is an int32 and exact. -128 is never used: a sum of two products of it overflows int16.
   Floats are added, multiplied and divided, never fused, so every machine computes the same bits.
   What is not finite becomes 0 before it is converted to an integer. */

#include <string.h>

typedef union syn__small_bits {
  uint32_t u;
  int32_t i;
  float f;
} syn__small_bits;

static float syn__small_float(int32_t word) {
  syn__small_bits b;
  b.i = word;
  return b.f;
}

/* e^x, relative error below 2e-7; below -87 it is 0, above 88 it is e^88, of a NaN 0. With k =
   round(x log2 e): e^x = 2^k e^f, |f| <= log 2 / 2, e^f by a polynomial. */
static float syn__small_exp(float x) {
  syn__small_bits power;
  float f, y;
  int32_t k;
  if (!(x > -87.0f)) return 0.0f;
  if (x > 88.0f) x = 88.0f;
  y = x * 1.44269504f;
  k = (int32_t)(y < 0.0f ? y - 0.5f : y + 0.5f);
  f = (x - (float)k * 0.693145752f) - (float)k * 1.42860677e-6f; /* log 2 in two parts */
  y = 0.166666657f + f * (0.0416657962f + f * (0.00833345205f + f * 0.00139375532f));
  y = 1.0f + f * (1.0f + f * (0.5f + f * y));
  power.u = (uint32_t)(k + 127) << 23;
  return y * power.f;
}

/* log x, absolute error below 1e-6, for finite x above 1e-37: x = 2^k m, 0.7 < m < 1.42, and
   log m = 2 artanh((m - 1) / (m + 1)) by its series. */
static float syn__small_log(float x) {
  syn__small_bits m;
  float r, q;
  int32_t k;
  m.f = x;
  k = (int32_t)((m.u - UINT32_C(0x3F350000)) >> 23);
  if (k > 127) k -= 512; /* the shift dropped the sign */
  m.u -= (uint32_t)k << 23;
  r = (m.f - 1.0f) / (m.f + 1.0f);
  q = r * r;
  q = 1.0f + q * (0.333333343f + q * (0.2f + q * (0.142857149f + q * 0.111111112f)));
  return (float)k * 0.693147182f + 2.0f * r * q;
}

/* 1 / sqrt(x), relative error below 2e-7, for x from 1e-30 to 1e30: four steps of Newton. */
static float syn__small_rsqrt(float x) {
  syn__small_bits y;
  int i;
  y.f = x;
  y.u = UINT32_C(0x5F375A86) - (y.u >> 1);
  for (i = 0; i < 4; i++) y.f = y.f * (1.5f - x * 0.5f * y.f * y.f);
  return y.f;
}

static int32_t syn__small_round(float x) { return (int32_t)(x < 0.0f ? x - 0.5f : x + 0.5f); }

/* Rows without a larger number become 0. So no product of two scales is below the normal floats,
   which the vectors of some machines flush to 0. */
#define SYN__SMALL_TINY 1e-16f

#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE)
#define SYN__SMALL_HAS_MVE 1
#include <arm_mve.h>
#else
#define SYN__SMALL_HAS_MVE 0
#endif

/* Compiled for speed even where the rest is compiled for size. */
#if defined(__GNUC__) && !defined(__clang__)
#define SYN__SMALL_HOT __attribute__((optimize("O2", "fp-contract=off"), noinline))
#else
#define SYN__SMALL_HOT
#endif

/* q [n] = round(x / s), a tie to the even integer; returns s. A row that is 0, tiny or not finite
   becomes 0. 1.5 * 2^23 + y is rounded to an integer, which the lowest bits hold. */
SYN__SMALL_HOT static float syn__small_quantize(int8_t *q, const float *x, int32_t n) {
  syn__small_bits b, magic;
  uint32_t most = 0;
  float inverse;
  int32_t i = 0;
#if SYN__SMALL_HAS_MVE
  for (; i + 4 <= n; i += 4)
    most = vmaxvq_u32(most, vbicq_n_u32(vreinterpretq_u32_f32(vldrwq_f32(x + i)), 0x80000000));
#endif
  for (; i < n; i++) { /* the bits of floats above 0 are ordered as they are */
    b.f = x[i];
    b.u &= UINT32_C(0x7FFFFFFF);
    if (b.u > most) most = b.u;
  }
  b.u = most;
  if (!(b.f > SYN__SMALL_TINY && b.f < 1e30f)) {
    memset(q, 0, (size_t)n);
    return 0.0f;
  }
  inverse = 127.0f / b.f;
  magic.f = 12582912.0f;
  i = 0;
#if SYN__SMALL_HAS_MVE
  for (; i + 4 <= n; i += 4) {
    float32x4_t y = vaddq_n_f32(vmulq_n_f32(vldrwq_f32(x + i), inverse), magic.f);
    vstrbq_s32(q + i, vreinterpretq_s32_f32(y));
  }
#endif
  for (; i < n; i++) {
    syn__small_bits y;
    y.f = x[i] * inverse + magic.f;
    q[i] = (int8_t)(y.i - magic.i);
  }
  return b.f * 0.00787401572f; /* 1 / 127 */
}

/* sum of a_i b_i, i < n */
static int32_t syn__small_dot(const int8_t *a, const int8_t *b, int32_t n) {
  int32_t i, sum = 0;
  for (i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* -- products: sum [4] = four rows of a matrix times x [k] -- */

/* Formats of a matrix of weights [n,k]. Its data are a word that names the format, the float scales
   of the rows, and panels of four rows with k columns; n and k are rounded up, filled with 0.

     name    panel                              k rounded to  kernels
     smlad   [k/4][4 rows][4]                   4             Cortex-M4, M7, M33; NEON; AVX2, VNNI
     rows    [4 rows][k], row-major             16            C
     mve     [k/16][4 rows][16]                 16            Cortex-M55, M85
     i4      [k/32] times [4][4 rows][4], [4]   32            Cortex-M4, M7, M33; M55, M85

   Every format runs on every machine, in C where it has no kernel, with the same integers. A byte
   of i4 holds two columns, the first in its low half, each from -7 to 7 with 8 added; behind 32
   columns are their scales, a byte for each row:  sum_i w_i q_i = sum_g scale_g sum_{i in g} w_i
   q_i.  This stays below 2^31 up to 8192 columns. A program that runs one model lists the formats
   it needs. */
#ifndef SYN_SMALL_FORMATS
#define SYN_SMALL_FORMATS(X) X(smlad) X(rows) X(mve) X(i4)
#endif
enum {
  SYN__SMALL_smlad, SYN__SMALL_rows, SYN__SMALL_mve, SYN__SMALL_i4,
  SYN__SMALL_I4_COLUMNS = 8192, /* of a matrix of i4 at most */
  SYN__SMALL_I4_BYTES = 68      /* of 32 columns of four rows, with their scales */
};

static int32_t syn__small_round_up(int32_t n, int32_t to) { return (n + to - 1) & -to; }
static int32_t syn__small_round4(int32_t n) { return syn__small_round_up(n, 4); }
static int32_t syn__small_columns(int32_t format, int32_t k) {
  return syn__small_round_up(k, format == SYN__SMALL_smlad ? 4 : format == SYN__SMALL_i4 ? 32 : 16);
}
/* Bytes of a panel. */
static int32_t syn__small_panel(int32_t format, int32_t columns) {
  return format == SYN__SMALL_i4 ? columns / 32 * SYN__SMALL_I4_BYTES : 4 * columns;
}
/* Offset in a panel of byte i of row r: of column i, of columns 2i and 2i+1 of i4. */
static int32_t syn__small_offset(int32_t format, int32_t columns, int32_t r, int32_t i) {
  int32_t step = format == SYN__SMALL_rows ? columns : format == SYN__SMALL_mve ? 16 : 4;
  return i / step * 4 * step + r * step + i % step + (format == SYN__SMALL_i4 ? i / 16 * 4 : 0);
}
/* The weight of row r, column i; of i4 times the scale of its columns. */
static int32_t syn__small_weight(const int8_t *panel, int32_t format, int32_t columns, int32_t r,
                                 int32_t i) {
  int32_t pair;
  if (format != SYN__SMALL_i4) return panel[syn__small_offset(format, columns, r, i)];
  pair = (uint8_t)panel[syn__small_offset(format, columns, r, i / 2)];
  return ((pair >> i % 2 * 4 & 15) - 8) * (uint8_t)panel[i / 32 * SYN__SMALL_I4_BYTES + 64 + r];
}

#if !defined(SYN_NO_SIMD) && defined(__GNUC__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#define SYN__SMALL_HAS_NEON 1
#include <arm_neon.h>
#else
#define SYN__SMALL_HAS_NEON 0
#endif
/* clang has the intrinsics of sdot only where the whole program is compiled for it. */
#if SYN__SMALL_HAS_NEON && defined(__aarch64__) && \
    (defined(__ARM_FEATURE_DOTPROD) || (defined(__linux__) && !defined(__clang__)))
#define SYN__SMALL_HAS_SDOT 1
#if !defined(__ARM_FEATURE_DOTPROD)
#include <sys/auxv.h>
#endif
#else
#define SYN__SMALL_HAS_SDOT 0
#endif
#if !defined(SYN_NO_SIMD) && defined(__GNUC__) && defined(__x86_64__)
#define SYN__SMALL_HAS_X86 1
#include <immintrin.h>
#else
#define SYN__SMALL_HAS_X86 0
#endif
#if defined(__GNUC__) && defined(__ARM_FEATURE_SIMD32) && !SYN__SMALL_HAS_MVE && \
    !SYN__SMALL_HAS_NEON
#define SYN__SMALL_HAS_SMLAD 1
#else
#define SYN__SMALL_HAS_SMLAD 0
#endif

/* Kernels that are chosen when a model is opened: C; AVX2 or NEON; AVX-512 VNNI or sdot. A board
   has one kernel for each format. */
enum { SYN__SMALL_C, SYN__SMALL_SIMD, SYN__SMALL_DOT };
static int32_t syn__small_isa(void) {
#if SYN__SMALL_HAS_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vnni")) return SYN__SMALL_DOT;
  if (__builtin_cpu_supports("avx2")) return SYN__SMALL_SIMD;
#elif SYN__SMALL_HAS_SDOT && defined(__ARM_FEATURE_DOTPROD)
  return SYN__SMALL_DOT;
#elif SYN__SMALL_HAS_SDOT
  if (getauxval(AT_HWCAP) >> 20 & 1) return SYN__SMALL_DOT; /* HWCAP_ASIMDDP */
#endif
#if SYN__SMALL_HAS_NEON
  return SYN__SMALL_SIMD;
#else
  return SYN__SMALL_C;
#endif
}

typedef void syn__small_dots(int32_t *sum, const int8_t *w, const void *x, int32_t k);

/* -- in C: x are the k bytes -- */

#if !SYN__SMALL_HAS_SMLAD
/* Eight columns of smlad in C, or four. */
#define SYN__SMALL_COLUMN(i, p) \
  v = x[i]; \
  s0 += v * w[p]; \
  s1 += v * w[p + 4]; \
  s2 += v * w[p + 8]; \
  s3 += v * w[p + 12];
#define SYN__SMALL_COLUMNS(i, p) \
  SYN__SMALL_COLUMN(i, p) SYN__SMALL_COLUMN(i + 1, p + 1) \
  SYN__SMALL_COLUMN(i + 2, p + 2) SYN__SMALL_COLUMN(i + 3, p + 3)
SYN__SMALL_HOT static void syn__small_c(int32_t *sum, const int8_t *w, const void *input,
                                        int32_t k) {
  const int8_t *x = (const int8_t *)input, *end = x + k;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, v;
  if (k & 4) {
    SYN__SMALL_COLUMNS(0, 0)
    x += 4;
    w += 16;
  }
  for (; x < end; x += 8, w += 32) {
    SYN__SMALL_COLUMNS(0, 0)
    SYN__SMALL_COLUMNS(4, 16)
  }
  sum[0] = s0;
  sum[1] = s1;
  sum[2] = s2;
  sum[3] = s3;
}
#endif
/* rows, and with steps of 16 mve */
SYN__SMALL_HOT static void syn__small_c_steps(int32_t *sum, const int8_t *w, const int8_t *x,
                                              int32_t k, int32_t step) {
  int32_t r;
  memset(sum, 0, 4 * sizeof *sum);
  for (; k > 0; k -= step, x += step)
    for (r = 0; r < 4; r++, w += step) sum[r] += syn__small_dot(w, x, step);
}
static void syn__small_c_rows(int32_t *sum, const int8_t *w, const void *x, int32_t k) {
  syn__small_c_steps(sum, w, (const int8_t *)x, k, k);
}
#if !SYN__SMALL_HAS_MVE
static void syn__small_c_mve(int32_t *sum, const int8_t *w, const void *x, int32_t k) {
  syn__small_c_steps(sum, w, (const int8_t *)x, k, 16);
}
#endif
#if !SYN__SMALL_HAS_SMLAD && !SYN__SMALL_HAS_MVE
SYN__SMALL_HOT static void syn__small_c_i4(int32_t *sum, const int8_t *w, const void *input,
                                           int32_t k) {
  const int8_t *x = (const int8_t *)input;
  int32_t r, i;
  memset(sum, 0, 4 * sizeof *sum);
  for (; k > 0; k -= 32, x += 32, w += SYN__SMALL_I4_BYTES)
    for (r = 0; r < 4; r++) {
      int32_t group = 0;
      for (i = 0; i < 16; i++) {
        int32_t pair = (uint8_t)w[i / 4 * 16 + r * 4 + i % 4];
        group += ((pair & 15) - 8) * x[2 * i] + ((pair >> 4) - 8) * x[2 * i + 1];
      }
      sum[r] += group * (uint8_t)w[64 + r];
    }
}
#endif

/* -- with SIMD instructions -- */

#if SYN__SMALL_HAS_X86
__attribute__((target("avx2"))) static void syn__small_avx2(int32_t *sum, const int8_t *w,
                                                            const void *input, int32_t k) {
  const int8_t *x = (const int8_t *)input;
  __m256i acc = _mm256_setzero_si256(); /* two sums for each row */
  __m128i pairs;
  for (; k > 0; k -= 4, x += 4, w += 16) {
    __m256i u = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w)), v;
    int32_t four;
    memcpy(&four, x, sizeof four);
    v = _mm256_cvtepi8_epi16(_mm_set1_epi32(four));
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(u, v));
  }
  pairs = _mm_hadd_epi32(_mm256_castsi256_si128(acc), _mm256_extracti128_si256(acc, 1));
  _mm_storeu_si128((__m128i *)(void *)sum, pairs);
}
/* vpdpbusd multiplies bytes without a sign by bytes with one: w x = w (x + 128) - 128 w. Reads x up
   to a multiple of 16. */
__attribute__((target("avx512f,avx512vnni"))) static void syn__small_vnni(
    int32_t *sum, const int8_t *w, const void *input, int32_t k) {
  const int8_t *x = (const int8_t *)input;
  const __m512i spread = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  const __m512i bias = _mm512_set1_epi32((int32_t)UINT32_C(0x80808080));
  __m512i acc = _mm512_setzero_si512(), less = acc;
  int32_t all[16], i;
  for (; k > 0; k -= 16, x += 16, w += 64) {
    __mmask16 mask = (__mmask16)(k < 16 ? (1 << k) - 1 : 0xFFFF);
    __m512i u = _mm512_maskz_loadu_epi32(mask, w);
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)x));
    v = _mm512_xor_si512(_mm512_maskz_permutexvar_epi32(0xFFFF, spread, v), bias);
    acc = _mm512_dpbusd_epi32(acc, v, u);
    less = _mm512_dpbusd_epi32(less, bias, u);
  }
  _mm512_storeu_si512(all, _mm512_sub_epi32(acc, less));
  for (i = 0; i < 4; i++) sum[i] = all[i] + all[4 + i] + all[8 + i] + all[12 + i];
}
#endif

#if SYN__SMALL_HAS_NEON
static void syn__small_neon(int32_t *sum, const int8_t *w, const void *input, int32_t k) {
  const int8_t *x = (const int8_t *)input;
  int32x4_t a = vdupq_n_s32(0), b = a; /* rows 0 and 1, 2 and 3: two sums for each */
  for (; k > 0; k -= 4, x += 4, w += 16) {
    int8x8_t v;
    int32_t four;
    memcpy(&four, x, sizeof four);
    v = vreinterpret_s8_s32(vdup_n_s32(four));
    a = vpadalq_s16(a, vmull_s8(vld1_s8(w), v));
    b = vpadalq_s16(b, vmull_s8(vld1_s8(w + 8), v));
  }
  vst1_s32(sum, vpadd_s32(vget_low_s32(a), vget_high_s32(a)));
  vst1_s32(sum + 2, vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
}
#if SYN__SMALL_HAS_SDOT
#ifndef __ARM_FEATURE_DOTPROD
__attribute__((target("arch=armv8.2-a+dotprod")))
#endif
static void syn__small_sdot(
    int32_t *sum, const int8_t *w, const void *input, int32_t k) {
  const int8_t *x = (const int8_t *)input;
  int32x4_t a = vdupq_n_s32(0), b = a;
  for (; k & 15; k -= 4, x += 4, w += 16) {
    int8x16_t v;
    int32_t four;
    memcpy(&four, x, sizeof four);
    v = vreinterpretq_s8_s32(vdupq_n_s32(four));
    a = vdotq_s32(a, vld1q_s8(w), v);
  }
  for (; k > 0; k -= 16, x += 16, w += 64) {
    int8x16_t v = vld1q_s8(x);
    a = vdotq_laneq_s32(a, vld1q_s8(w), v, 0);
    b = vdotq_laneq_s32(b, vld1q_s8(w + 16), v, 1);
    a = vdotq_laneq_s32(a, vld1q_s8(w + 32), v, 2);
    b = vdotq_laneq_s32(b, vld1q_s8(w + 48), v, 3);
  }
  vst1q_s32(sum, vaddq_s32(a, b));
}
#endif
#endif

#if SYN__SMALL_HAS_SMLAD
/* x is int16, in each group of four in the order 0 2 1 3: sxtb16 makes pairs of bytes 0 2 and 1 3
   of w, smlad adds two products. A step of 4 takes 18 instructions for the four rows: ldrd reads x,
   ldm the rows. Assembly, since gcc spills sums between intrinsics. */
#define SYN__SMALL_ROW4(row, sum) \
  "sxtb16 r10, " row "\n\tsxtb16 " row ", " row ", ror #8\n\t" \
  "smlad " sum ", r10, r4, " sum "\n\tsmlad " sum ", " row ", r5, " sum "\n\t"
#define SYN__SMALL_STEP4 \
  "ldrd r4, r5, [%[x]], #8\n\tldmia %[w]!, {r6, r8, r9, r12}\n\t" \
  SYN__SMALL_ROW4("r6", "%[s0]") SYN__SMALL_ROW4("r8", "%[s1]") \
  SYN__SMALL_ROW4("r9", "%[s2]") SYN__SMALL_ROW4("r12", "%[s3]")
#define SYN__SMALL_STEPS(steps) \
  __asm__ volatile(steps \
                   : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [w] "+r"(w), \
                     [x] "+r"(x) \
                   : : "r4", "r5", "r6", "r8", "r9", "r10", "r12", "memory")
static void syn__small_smlad(int32_t *sum, const int8_t *w, const void *input, int32_t k) {
  const int16_t *x = (const int16_t *)input, *end = x + k;
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  if (k & 4) SYN__SMALL_STEPS(SYN__SMALL_STEP4);
  while (x < end) SYN__SMALL_STEPS(SYN__SMALL_STEP4 SYN__SMALL_STEP4);
  sum[0] = s0;
  sum[1] = s1;
  sum[2] = s2;
  sum[3] = s3;
}
/* 32 columns of i4. x: an int32, -8 times the sum of the 32, since w has 8 added; then int16, in
   each group of eight in the order 0 4 1 5 2 6 3 7, as `and` makes pairs of w. r4 r5 r6 r8 are the
   sums of the 32, which fit in int16. */
#define SYN__SMALL_PAIR4(shift, pair) \
  "and r0, lr, r9" shift "\n\tsmlad r4, r0, " pair ", r4\n\t" \
  "and r0, lr, r10" shift "\n\tsmlad r5, r0, " pair ", r5\n\t" \
  "and r0, lr, r11" shift "\n\tsmlad r6, r0, " pair ", r6\n\t" \
  "and r0, lr, r12" shift "\n\tsmlad r8, r0, " pair ", r8\n\t"
#define SYN__SMALL_STEP8 \
  "ldmia %[w]!, {r9, r10, r11, r12}\n\tldrd r2, r3, [%[x]], #8\n\t" \
  SYN__SMALL_PAIR4("", "r2") SYN__SMALL_PAIR4(", lsr #4", "r3") \
  "ldrd r2, r3, [%[x]], #8\n\t" \
  SYN__SMALL_PAIR4(", lsr #8", "r2") SYN__SMALL_PAIR4(", lsr #12", "r3")
typedef struct syn__small_sums {
  int32_t a, b;
} syn__small_sums;
SYN__SMALL_HOT static void syn__small_smlad4(int32_t *sum, const int8_t *w, const void *input,
                                             int32_t k) {
  const int16_t *x = (const int16_t *)input;
  syn__small_sums s01 = {0, 0}, s23 = {0, 0};
  const int8_t *end = w + k / 32 * SYN__SMALL_I4_BYTES;
  while (w < end)
    __asm__ volatile(
        "mov lr, #0x000F000F\n\tldr r4, [%[x]], #4\n\tmov r5, r4\n\tmov r6, r4\n\tmov r8, r4\n\t"
        SYN__SMALL_STEP8 SYN__SMALL_STEP8 SYN__SMALL_STEP8 SYN__SMALL_STEP8
        "ldr r0, [%[w]], #4\n\tuxtb16 r9, r0\n\tuxtb16 r10, r0, ror #8\n\t"
        "ldrd r2, r3, %[s01]\n\tsmlabb r2, r4, r9, r2\n\tsmlabb r3, r5, r10, r3\n\t"
        "strd r2, r3, %[s01]\n\tldrd r2, r3, %[s23]\n\tsmlabt r2, r6, r9, r2\n\t"
        "smlabt r3, r8, r10, r3\n\tstrd r2, r3, %[s23]\n\t"
        : [w] "+r"(w), [x] "+r"(x), [s01] "+m"(s01), [s23] "+m"(s23)
        : : "r0", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "memory");
  sum[0] = s01.a;
  sum[1] = s01.b;
  sum[2] = s23.a;
  sum[3] = s23.b;
}
#endif
#if SYN__SMALL_HAS_MVE
/* A step of 16 takes 10 instructions for the four rows. Assembly, since gcc adds to pointers. */
#define SYN__SMALL_ROW16(sum) "vldrb.8 q1, [%[w]], #16\n\tvmladava.s8 " sum ", q0, q1\n\t"
static void syn__small_mve(int32_t *sum, const int8_t *w, const void *x, int32_t k) {
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  __asm__ volatile("dls lr, %[n]\n1:\n\tvldrb.8 q0, [%[x]], #16\n\t"
                   SYN__SMALL_ROW16("%[s0]") SYN__SMALL_ROW16("%[s1]")
                   SYN__SMALL_ROW16("%[s2]") SYN__SMALL_ROW16("%[s3]") "le lr, 1b"
                   : [s0] "+Te"(s0), [s1] "+Te"(s1), [s2] "+Te"(s2), [s3] "+Te"(s3),
                     [w] "+r"(w), [x] "+r"(x)
                   : [n] "r"(k >> 4) : "lr", "q0", "q1", "memory");
  sum[0] = s0;
  sum[1] = s1;
  sum[2] = s2;
  sum[3] = s3;
}
/* i4: a gather reads the 16 bytes of a row; x is split into even and odd columns. */
SYN__SMALL_HOT static void syn__small_mve4(int32_t *sum, const int8_t *w, const void *input,
                                           int32_t k) {
  const int8_t *x = (const int8_t *)input;
  const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), 16);
  int32_t r;
  memset(sum, 0, 4 * sizeof *sum);
  for (; k > 0; k -= 32, x += 32, w += SYN__SMALL_I4_BYTES) {
    int8x16x2_t v = vld2q_s8(x);
    int32_t less = 8 * vaddvaq_s8(vaddvq_s8(v.val[0]), v.val[1]);
    for (r = 0; r < 4; r++) {
      const uint32_t *words = (const uint32_t *)(const void *)(w + 4 * r);
      uint8x16_t u = vreinterpretq_u8_u32(vldrwq_gather_offset_u32(words, offsets));
      uint8x16_t low = vandq_u8(u, vdupq_n_u8(15));
      int32_t group = vmladavq_s8(vreinterpretq_s8_u8(low), v.val[0]);
      group = vmladavaq_s8(group, vreinterpretq_s8_u8(vshrq_n_u8(u, 4)), v.val[1]);
      sum[r] += (group - less) * (uint8_t)w[64 + r];
    }
  }
}
#endif

/* -- the kernel of each format -- */

static syn__small_dots *syn__small_kernel_smlad(int32_t isa) {
  (void)isa;
#if SYN__SMALL_HAS_SMLAD
  return syn__small_smlad;
#else
#if SYN__SMALL_HAS_X86
  if (isa == SYN__SMALL_DOT) return syn__small_vnni;
  if (isa == SYN__SMALL_SIMD) return syn__small_avx2;
#elif SYN__SMALL_HAS_NEON
#if SYN__SMALL_HAS_SDOT
  if (isa == SYN__SMALL_DOT) return syn__small_sdot;
#endif
  if (isa == SYN__SMALL_SIMD) return syn__small_neon;
#endif
  return syn__small_c;
#endif
}
static syn__small_dots *syn__small_kernel_rows(int32_t isa) {
  (void)isa;
  return syn__small_c_rows;
}
static syn__small_dots *syn__small_kernel_mve(int32_t isa) {
  (void)isa;
#if SYN__SMALL_HAS_MVE
  return syn__small_mve;
#else
  return syn__small_c_mve;
#endif
}
static syn__small_dots *syn__small_kernel_i4(int32_t isa) {
  (void)isa;
#if SYN__SMALL_HAS_SMLAD
  return syn__small_smlad4;
#elif SYN__SMALL_HAS_MVE
  return syn__small_mve4;
#else
  return syn__small_c_i4;
#endif
}
/* Null: not compiled. */
static syn__small_dots *syn__small_kernel(int32_t format, int32_t isa) {
#define SYN__SMALL_KERNEL(name) \
  if (format == SYN__SMALL_##name) return syn__small_kernel_##name(isa);
  SYN_SMALL_FORMATS(SYN__SMALL_KERNEL)
#undef SYN__SMALL_KERNEL
  return NULL;
}

/* q [k], k columns of a format, as its kernel reads it: q, or `x` [k * 17/8 bytes]. */
static const void *syn__small_lanes(void *x, const int8_t *q, int32_t k, int32_t format) {
#if SYN__SMALL_HAS_SMLAD
  int16_t *to = (int16_t *)x;
  int32_t i, sum;
  if (format == SYN__SMALL_smlad)
    for (i = 0; i < k; i += 4, q += 4, to += 4) {
      to[0] = q[0];
      to[1] = q[2];
      to[2] = q[1];
      to[3] = q[3];
    }
  if (format == SYN__SMALL_i4)
    for (; k > 0; k -= 32, q += 32, to += 34) {
      for (sum = 0, i = 0; i < 32; i++) {
        sum -= 8 * q[i];
        to[2 + i] = q[i / 8 * 8 + i % 8 / 2 + i % 2 * 4];
      }
      memcpy(to, &sum, sizeof sum);
    }
  if (format == SYN__SMALL_smlad || format == SYN__SMALL_i4) return x;
#else
  (void)x;
  (void)k;
  (void)format;
#endif
  return q;
}

/* -- the state, and the operands of instructions -- */

/* The array begins with these words. A place is the index of a word. */
enum {
  SYN__SMALL_MAGIC, SYN__SMALL_BYTES, SYN__SMALL_TASK, SYN__SMALL_SOURCE_LEN, SYN__SMALL_TARGET_LEN,
  SYN__SMALL_SOURCE_VOCAB,
  SYN__SMALL_TARGET_VOCAB, /* of classify and tag: the classes */
  SYN__SMALL_WIDEST,     /* longest row that is quantized, a multiple of 32 */
  SYN__SMALL_HEADS,      /* most heads of an attention */
  SYN__SMALL_PROGRAMS,   /* [3] places of the programs */
  SYN__SMALL_TOKENIZERS = SYN__SMALL_PROGRAMS + 3, /* [2] their places: source, target; 0: none */
  SYN__SMALL_ROW_BYTES = SYN__SMALL_TOKENIZERS + 2, /* [regions] bytes of a row in each region */
  SYN__SMALL_HEADER = SYN__SMALL_ROW_BYTES + 5
};
#define SYN__SMALL_VERSION INT32_C(0x324E5953) /* "SYN2" */

/* Regions of RAM. In region ROW lie the values of the one row that is computed, in the others one
   row for each token of the source (ENCODER, SOURCE), for each token of the output (TARGET), or one
   row that stays (STATE). ENCODER and TARGET share their place: one is needed after the other. */
enum {
  SYN__SMALL_ROW, SYN__SMALL_ENCODER, SYN__SMALL_SOURCE, SYN__SMALL_TARGET, SYN__SMALL_STATE,
  SYN__SMALL_REGIONS
};

/* Tasks. */
enum { SYN__SMALL_SEQ2SEQ, SYN__SMALL_LM, SYN__SMALL_CLASSIFY, SYN__SMALL_TAG };

/* The programs run over the rows of the source; over its encoded rows, for the caches of attention
   to the source; over the newest token of the output, again and again. lm has the last one alone,
   classify runs it once, tag has the first one alone. */
enum {
  SYN__SMALL_ENCODE, SYN__SMALL_CACHE, SYN__SMALL_DECODE,
  SYN__SMALL_IDLE,  /* no output is begun */
  SYN__SMALL_ANSWER /* the answer of a beam search is being returned */
};

/* The instructions: name, operands. An instruction is a word code + 256 * words, then its operands:
     x I    a row of a[I] floats            X I J    a row of a[I] a[J] floats
     d I    a row of 2 a[I] floats          r I, l I   of 3, of 4 a[I] floats
     k I    rows of a[I] floats of all tokens of the source
     c I J  a cache of a[I] heads of width a[J]
     m I J  place of a matrix of a[I] rows by a[J]     b I J K  of a[I] a[J] a[K] bytes
     f I    place of a[I] floats, g I: or 0 F I J    place of a[I] a[J] floats
     t I    place of a table of rows of a[I] int16       s  a float
     n      an integer from 1 to 65535      w  the same, at most the model's widest row
     h      a number of heads      v, o     the vocabulary of the program, of the output
     i      flags                  !        is in no program: it runs in place of `out`
   where a[I] is operand I. A row or cache is 8 * offset + region, the offset in bytes per row. */
#define SYN__SMALL_LIST(X) \
  X(end, "") X(segment, "i") X(embed, "x1nvm21") X(places, "x2x2nst2") \
  X(linear, "x3x4inwm34g3") \
  X(norm, "x2x2nf2g2s") X(add, "x3x3x3n") X(store, "c23X23hn") X(score_v, "iX45c45f4hw") \
  X(score_table, "ib233hnF23") X(score_row, "iX23hnf2") X(score_factored, "iX34X35hnnf3") \
  X(lstm, "x5l5l5x5x5n") X(gru, "x4r4r4x4n") X(mix, "x4x4x4x4n") \
  X(glu, "x2d2n") X(window, "X23k2nniin") X(shift, "X23x2nn") X(taps, "x4X34F53nnh") \
  X(values, "X34c34ihn") X(sum, "x2x2n") X(mean, "x2x2n") \
  X(out, "x2owm12g1") X(sample, "!") X(beam, "!")
#define SYN__SMALL_ENUM(name, operands) SYN__SMALL_OP_##name,
enum { SYN__SMALL_LIST(SYN__SMALL_ENUM) SYN__SMALL_OPS };
#undef SYN__SMALL_ENUM

/* All instructions that have a function, and those that are compiled: a program that runs one model
   lists those that it needs. */
#define SYN__SMALL_KINDS(X) \
  X(embed) X(places) X(linear) X(norm) X(add) X(store) X(score_v) X(score_table) \
  X(score_row) X(score_factored) X(values) X(lstm) X(gru) X(mix) X(glu) \
  X(window) X(shift) X(taps) X(sum) X(mean) X(out) X(sample) X(beam)
#ifndef SYN_SMALL_KINDS
#define SYN_SMALL_KINDS(X) SYN__SMALL_KINDS(X)
#endif
/* 1: beam search, sampling are compiled. */
#define SYN__SMALL_OR_BEAM(name) || SYN__SMALL_OP_##name == SYN__SMALL_OP_beam
#define SYN__SMALL_OR_SAMPLE(name) || SYN__SMALL_OP_##name == SYN__SMALL_OP_sample
enum {
  SYN__SMALL_BEAM = 0 SYN_SMALL_KINDS(SYN__SMALL_OR_BEAM),
  SYN__SMALL_SAMPLE = 0 SYN_SMALL_KINDS(SYN__SMALL_OR_SAMPLE)
};

/* Flags of the instructions. CAUSAL: the keys are the output's up to this row; else the source's.
   ADD: to the scores that are there. NO_SOFTMAX: the scores are the attention weights. */
enum { SYN__SMALL_CAUSAL = 1, SYN__SMALL_ADD = 2, SYN__SMALL_NO_SOFTMAX = 4 };

/* A candidate for the next token: logit or sum of log p, and the hypothesis that it extends. */
typedef struct syn__small_pick {
  float score;
  uint16_t token, row;
} syn__small_pick;

/* The state of sampling and beam search, K = beam. A hypothesis has a slot. At place t it writes
   its keys and values into row t of its slot's part of a cache; `lineage` tells in which slot the
   ancestor of a hypothesis stood at each place. When the next hypotheses are chosen, they are
   copied from one half of lineage, text, score, states to the other. */
typedef struct syn__small_search {
  syn__small_pick *picks, *best; /* [most] of the newest row; [2K] of all rows; best first */
  unsigned char *lineage;        /* [2,K,max_len] */
  unsigned char *states;         /* [2,K,bytes of region STATE] */
  uint16_t *text, *answer;       /* [2,K,max_len], [max_len] */
  float *score;                  /* [2,K] sums of log p */
  float answer_score;            /* divided by the length penalty */
  float top, sum;                /* of a row: the largest logit, sum of e^(logit - top) */
  int32_t most, n_picks, n_best;
  int32_t live, half;            /* hypotheses; the half that is current */
  int32_t n_answers, size, at;   /* 1: there is an answer; its tokens, those that were returned */
} syn__small_search;

struct syn_small {
  const int32_t *w; /* the model */
  syn_small_config k;
  unsigned char *base[SYN__SMALL_REGIONS];
  int32_t count[SYN__SMALL_REGIONS]; /* rows of each region */
  int32_t isa;
  int8_t *q;         /* [widest] a quantized row */
  void *x;           /* [17/8 widest bytes] the same as a kernel reads it */
  const void *input; /* of the product: one of both */
  float q_scale;
  float *scores;    /* [heads, longest] */
  int16_t *weights; /* [longest] attention weights of a head */
  uint16_t *tokens; /* [source_len] */
  int32_t sources;  /* tokens of the source */
  int32_t phase, at, segment; /* program, place in it, place of its segment */
  int32_t row, rows;          /* the current row; the program ends at row `rows` */
  int32_t slot;               /* of the hypothesis that runs; 0 without a beam */
  int32_t token;    /* newest token of the output; SYN_PAD: none yet of this row */
  float logit;      /* of it */
  int32_t choose;   /* the instruction that runs in place of `out` */
  uint32_t outputs; /* begun until now */
  uint64_t work;    /* multiply-adds until now */
  syn__small_search *search; /* null: greedy */
  int32_t chosen;   /* 1: the last step returned a token or END */
  int32_t out;      /* place of the operands of the output layer; 0: nothing is learned */
  float *learned;   /* [V, d] weights, [V] biases, [V] logits of the caller */
};

/* Bytes for the struct, whatever the size of a pointer: every machine needs the same RAM. */
enum { SYN__SMALL_STRUCT = 248, SYN__SMALL_SEARCH = 120 };
typedef char syn__small_struct_fits[sizeof(syn_small) <= SYN__SMALL_STRUCT &&
                                    sizeof(syn__small_search) <= SYN__SMALL_SEARCH ? 1 : -1];

/* Row i of a buffer whose rows have `bytes` bytes. */
static void *syn__small_at(const syn_small *s, int32_t operand, int32_t i, int32_t bytes) {
  int32_t region = operand & 7;
  if (s->count[region] == 1) i = 0;
  return s->base[region] + (operand >> 3) * s->count[region] + i * bytes;
}
static float *syn__small_row(const syn_small *s, int32_t operand, int32_t width) {
  return (float *)syn__small_at(s, operand, s->row, 4 * width);
}
static const float *syn__small_floats(const syn_small *s, int32_t place) {
  return place ? (const float *)(const void *)(s->w + place) : NULL;
}
static const int8_t *syn__small_bytes(const syn_small *s, int32_t place) {
  return (const int8_t *)(s->w + place);
}

/* Logit j of n, from an input of k, with what was learned; it is kept. */
static float syn__small_learned(const syn_small *s, int32_t j, int32_t n, int32_t k, float z) {
  const float *u = s->learned + j * k;
  float sum = 0.0f;
  int32_t i;
  for (i = 0; i < k; i++) sum = sum + u[i] * (float)s->q[i];
  z = z + (sum * s->q_scale + s->learned[n * k + j]);
  s->learned[n * k + n + j] = z;
  return z;
}

/* s->q = x [k] quantized, with zeros up to `columns` */
static void syn__small_input(syn_small *s, const float *x, int32_t k, int32_t columns) {
  s->q_scale = syn__small_quantize(s->q, x, k);
  for (; k < columns; k++) s->q[k] = 0;
}

/* The matrix [n,k] at a place. */
typedef struct syn__small_matrix {
  int32_t format, columns, panel; /* bytes of a panel */
  const float *scales;
  const int8_t *w;
} syn__small_matrix;
static syn__small_matrix syn__small_matrix_at(const syn_small *s, int32_t place, int32_t n,
                                              int32_t k) {
  syn__small_matrix m;
  m.format = s->w[place];
  m.columns = syn__small_columns(m.format, k);
  m.panel = syn__small_panel(m.format, m.columns);
  m.scales = syn__small_floats(s, place + 1);
  m.w = syn__small_bytes(s, place + 1 + syn__small_round4(n));
  return m;
}
/* x [k] becomes the input of products with m. */
static void syn__small_multiply(syn_small *s, const syn__small_matrix *m, const float *x,
                                int32_t k) {
  syn__small_input(s, x, k, m->columns);
  s->input = syn__small_lanes(s->x, s->q, m->columns, m->format);
}
/* y [count] = rows first .. of W x + b, first a multiple of 4; b may be null */
SYN__SMALL_HOT static void syn__small_rows(const syn_small *s, const syn__small_matrix *m,
                                           const float *b, int32_t first, int32_t count,
                                           float *y) {
  syn__small_dots *dots = syn__small_kernel(m->format, s->isa);
  const int8_t *w = m->w + first / 4 * m->panel;
  const float *scales = m->scales + first;
  const void *x = s->input;
  float q_scale = s->q_scale;
  int32_t k = m->columns, sum[4], i;
  if (b) b += first;
  for (; count > 0; count -= 4, w += m->panel, scales += 4, y += 4) {
    dots(sum, w, x, k);
#if SYN__SMALL_HAS_MVE
    mve_pred16_t p = vctp32q((uint32_t)count);
    float32x4_t z = vmulq_n_f32(vldrwq_f32(scales), q_scale);
    z = vmulq_f32(vcvtq_f32_s32(vldrwq_s32(sum)), z);
    if (b) z = vaddq_f32(z, vldrwq_z_f32(b, p));
    vstrwq_p_f32(y, z, p);
    (void)i;
#else
    int32_t here = count < 4 ? count : 4;
    for (i = 0; i < here; i++) {
      float z = (float)sum[i] * (scales[i] * q_scale);
      y[i] = b ? z + b[i] : z;
    }
#endif
    if (b) b += 4;
  }
}

/* A row of a cache: a scale for each head, then the int8 of all heads, c rounded up to 4. */
static int32_t syn__small_cache_bytes(int32_t heads, int32_t c) {
  return heads * (4 + syn__small_round4(c));
}
/* Keys that this row sees. */
static int32_t syn__small_keys(const syn_small *s, int32_t flags) {
  return flags & SYN__SMALL_CAUSAL ? s->row + 1 : s->sources;
}
/* In a beam search: the slots [row + 1] of the ancestors of this hypothesis, then its own. Else,
   and in attention to the source, null. */
static const unsigned char *syn__small_lineage(const syn_small *s, int32_t flags) {
  const syn__small_search *b = s->search;
  if (!SYN__SMALL_BEAM || s->k.beam == 1 || !(flags & SYN__SMALL_CAUSAL)) return NULL;
  b->lineage[(b->half * s->k.beam + s->slot) * s->k.max_len + s->row] = (unsigned char)s->slot;
  return b->lineage + (b->half * s->k.beam + s->slot) * s->k.max_len;
}
/* The row of key j in its cache. */
static int32_t syn__small_key(const syn_small *s, const unsigned char *lineage, int32_t j) {
  return lineage ? lineage[j] * s->k.max_len + j : j;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>base   includes, checked sizes, UTF-8, elementary functions of the same bits everywhere
   ============================================================================================== */

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) && !defined(SYN_NO_LARGE_PAGES)
#include <sys/mman.h>
#endif

/* Forced: otherwise gcc -O2 calls the SIMD operations of a kernel and passes their vectors in
   memory. The formats are checked by the compiler, since messages carry names that come from
   files. */
#if defined(__GNUC__) || defined(__clang__)
#define SYN__INLINE static inline __attribute__((always_inline))
#define SYN__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define SYN__INLINE static inline
#define SYN__PRINTF(fmt, args)
#endif
/* Without stdio.h: the compiler knows vsnprintf, or C lets a program declare it. */
#if !defined(SYN_NO_STDIO)
#define syn__vsnprintf vsnprintf
#elif defined(__GNUC__) || defined(__clang__)
#define syn__vsnprintf __builtin_vsnprintf
#else
#ifdef __cplusplus
extern "C"
#endif
int vsnprintf(char *out, size_t capacity, const char *format, va_list args);
#define syn__vsnprintf vsnprintf
#endif
SYN__PRINTF(3, 4)
static int syn__snprintf(char *out, size_t capacity, const char *format, ...) {
  va_list args;
  int size;
  va_start(args, format);
  size = syn__vsnprintf(out, capacity, format, args);
  va_end(args);
  return size;
}
#define SYN__UNUSED(x) ((void)(x))
#define SYN__COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int syn__min(int a, int b) { return a < b ? a : b; }
static int syn__max(int a, int b) { return a > b ? a : b; }

/* a*b and a+b, or SIZE_MAX when they do not fit: no allocation of that size ever succeeds. SIZE_MAX
   stays SIZE_MAX through further sums and products but by 0, so a formula is checked once, at its
   end, by the allocation itself. */
static size_t syn__mul_size(size_t a, size_t b) {
  return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}
static size_t syn__add_size(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }
/* n rounded up to a multiple of 16: floats, the width of the virtual vector; or bytes, which then
   suit any type. */
static size_t syn__round16(size_t n) {
  return n > SIZE_MAX - 15 ? SIZE_MAX : (n + 15) & ~(size_t)15;
}

/* The lowest n <= 8 bytes of x, lowest first, and back: numbers in files, the same on a machine of
   either byte order, at any address. */
static void syn__put_bytes(unsigned char *out, uint64_t x, int n) {
  int i;
  for (i = 0; i < n; i++) out[i] = (unsigned char)(x >> 8 * i & 255);
}
static uint64_t syn__get_bytes(const unsigned char *in, int n) {
  uint64_t x = 0;
  while (n-- > 0) x = x << 8 | in[n];
  return x;
}

/* The edit distance of two names, upper and lower case alike (Wagner and Fischer 1974): of their
   first 63 bytes; b ends at 0 or at a space. row[j]: between the first i letters of a and the first
   j of b; `diagonal`: row[j - 1] of the letter before. */
static int syn__edit_distance(const char *a, size_t size, const char *b) {
  int row[64], i, j, na = (int)(size < 63 ? size : 63), nb = syn__min(63, (int)strcspn(b, " "));
  for (j = 0; j <= nb; j++) row[j] = j;
  for (i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (j = 1; j <= nb; j++) {
      int replaced = diagonal + ((a[i - 1] | 32) != (b[j - 1] | 32));
      diagonal = row[j];
      row[j] = syn__min(syn__min(row[j], row[j - 1]) + 1, replaced);
    }
  }
  return row[nb];
}
/* The nearer of two names to the given one; of equally near ones `first`, which may be null. */
static const char *syn__nearer(const char *given, size_t size, const char *first,
                               const char *second) {
  if (!first) return second;
  return syn__edit_distance(given, size, second) < syn__edit_distance(given, size, first) ? second
                                                                                          : first;
}
/* The nearest of `count` names, null: count is 0. Each is a `const char *`, `step` bytes behind the
   one before: elements of an array, or first fields of its structs. */
static const char *syn__nearest(const char *given, size_t size, const void *names, size_t count,
                                size_t step) {
  const char *nearest = NULL, *at = (const char *)names;
  for (; count > 0; count--, at += step) {
    const char *name;
    memcpy(&name, at, sizeof name);
    nearest = syn__nearer(given, size, nearest, name);
  }
  return nearest;
}

/* Elementary functions in double, out of + - * / and floor alone: libm differs from machine to
   machine in the last bit, these do not. Relative error below 1e-14 in the ranges used here. */

/* e^x: x = n ln 2 + r, |r| <= ln2 / 2; e^r by its Taylor series to r^13, whose first term left out
   is 4e-18; then n doublings, which are exact. ln 2 comes in two parts, the first with 21 zero bits
   at its end, so that n times it is exact and r keeps all its digits. */
static double syn__exp(double x) {
  double n, r, sum = 1.0, half;
  int i, k;
  if (!(x >= -745.0)) return x < 0.0 ? 0.0 : x; /* far below, or not a number */
  if (x > 709.0) return (double)INFINITY;
  n = floor(x * 1.4426950408889634074 + 0.5);
  r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  for (i = 13; i >= 1; i--) sum = 1.0 + sum * r / (double)i;
  half = n < 0.0 ? 0.5 : 2.0;
  for (k = (int)fabs(n); k > 0; k--) sum *= half;
  return sum;
}

/* ln x, x > 0: x = m 2^k with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s), s = (m-1)/(m+1), by
   its series in s^2 <= 0.0295; the first term left out is 2e-20 of the sum. The small parts are
   added first. -inf for x <= 0: the loss of a label of probability 0. */
static double syn__log(double x) {
  double s, s2, sum = 0.0, k = 0.0;
  int i;
  if (x <= 0.0) return -(double)INFINITY;
  if (!(x < (double)INFINITY)) return x;
  while (x >= 1.41421356237309504880) x *= 0.5, k += 1.0;
  while (x < 0.70710678118654752440) x *= 2.0, k -= 1.0;
  s = (x - 1.0) / (x + 1.0);
  s2 = s * s;
  for (i = 23; i >= 1; i -= 2) sum = sum * s2 + 1.0 / (double)i;
  return k * 6.93147180369123816490e-01 + (k * 1.90821492927058770002e-10 + 2.0 * s * sum);
}

/* base^e for base > 0 */
static double syn__pow(double base, double e) { return syn__exp(e * syn__log(base)); }

/* sin(x) and cos(x) for 0 <= x < 1e6: x = q pi/2 + r, |r| <= pi/4, then the Taylor series of both
   to r^17 and r^16. pi/2 comes in three parts (Cody & Waite 1980): the first two end in 20 zero
   bits or more, so q times them is exact for q < 2^20. Each quarter turn makes (c, -s) of
   (s, c). */
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

/* ==============================================================================================
   >>status   the first error is kept with its numbers
   ============================================================================================== */

/* Enum and texts come from one list: their order cannot differ. A number that is no status may come
   from a file or a cast, so it is looked at first. */
const char *syn_status_text(syn_status status) {
#define SYN__TEXT(name, text) text,
  static const char *const texts[] = {SYN_STATUS_LIST(SYN__TEXT)};
#undef SYN__TEXT
  return (int)status >= 0 && status < SYN_STATUS_COUNT ? texts[status] : "no such status";
}

void syn_context_clear(syn_context *c) {
  if (!c) return;
  c->status = SYN_OK;
  c->message[0] = 0;
}

/* Records a failure, unless an earlier one is still there, and returns it: the first error is the
   cause, what fails after it is mostly its consequence. No context: nowhere to record it. The text
   is cut where the message ends, so a name from a file can be long, and it stays one line even
   where it shows a word of somebody's file: control characters become question marks. */
static syn_status syn__fail(syn_context *c, syn_status status, const char *format, ...)
    SYN__PRINTF(3, 4);
static syn_status syn__fail(syn_context *c, syn_status status, const char *format, ...) {
  va_list args;
  char *at;
  if (!c || c->status != SYN_OK) return status;
  c->status = status;
  va_start(args, format);
  syn__vsnprintf(c->message, sizeof c->message, format, args);
  va_end(args);
  for (at = c->message; *at; at++)
    if ((unsigned char)*at < 32 || *at == 127) *at = '?';
  return status;
}

/* 1 when an object was given; else records that it is missing. Most likely its maker failed, and
   then that error stands in the context already and stays: so a program may look once, at its
   end. */
static int syn__given(syn_context *c, const void *object, const char *what) {
  if (!object) syn__fail(c, SYN_E_VALUE, "no %s was given", what);
  return object != NULL;
}

/* The index of a name in a list that is laid out as for syn__nearest; -1: it is not in it, recorded
   with the whole list, which fits 100 characters. */
static int syn__name_index(syn_context *c, const char *what, const char *given, const void *names,
                           size_t count, size_t step) {
  const char *at = (const char *)names, *name;
  char list[100] = "";
  size_t i;
  for (i = 0; i < count; i++, at += step) {
    memcpy(&name, at, sizeof name);
    if (!strcmp(given, name)) return (int)i;
    if (i > 0) strcat(list, i + 1 < count ? ", " : " or ");
    strcat(list, name);
  }
  syn__fail(c, SYN_E_VALUE, "%s is '%.30s', wanted %s; did you mean '%s'?", what, given, list,
            syn__nearest(given, strlen(given), names, count, step));
  return -1;
}

/* ==============================================================================================
   >>memory   the caller's allocator, aligned blocks, growing arrays, the arena of a graph
   ============================================================================================== */

#define SYN__ALIGN 64 /* bytes: one cache line, one AVX-512 register */

/* For a large block the default allocator requests pages of 2 MiB from Linux: a step reads all its
   memory once, and with pages of 4 KiB it would spend much of its time on TLB misses. It is only a
   hint; errno may be set. With -std=c99 the C library declares no madvise. */
#if defined(__linux__) && defined(MADV_HUGEPAGE) && !defined(SYN_NO_LARGE_PAGES)
#define SYN__LARGE_PAGE ((size_t)1 << 21)
#endif

/* The defaults, which need no user pointer. A large block is aligned to a large page, so that its
   beginning lies in one, too. */
static void *syn__default_alloc(void *user, size_t bytes) {
  SYN__UNUSED(user);
#ifdef SYN__LARGE_PAGE
  if (bytes >= 2 * SYN__LARGE_PAGE) {
    void *block = NULL;
    if (posix_memalign(&block, SYN__LARGE_PAGE, bytes)) return NULL;
    madvise(block, bytes / SYN__LARGE_PAGE * SYN__LARGE_PAGE, MADV_HUGEPAGE);
    return block;
  }
#endif
  return malloc(bytes);
}
static void syn__default_release(void *user, void *block) {
  SYN__UNUSED(user);
  free(block);
}

/* `count` elements of `size` bytes, zeroed and aligned to 64 bytes; null (recorded) when memory is
   out. Zeroed, so that a half filled struct can be freed after an error. The caller's allocator
   promises no alignment, so the block is larger, and its address is stored before the result:
     block: [0 to 63 bytes unused] [the pointer `block`] [count * size bytes, aligned]
   The pointer is copied by memcpy, since its place may be unaligned for a pointer. */
static void *syn__alloc(syn_context *c, size_t count, size_t size) {
  size_t bytes = syn__mul_size(count, size), extra = SYN__ALIGN + sizeof(void *);
  char *block = NULL, *at;
  if (c && bytes < SIZE_MAX / 2) block = (char *)c->options.alloc(c->options.user, bytes + extra);
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

/* Null is allowed. With the context that made it: the allocator is that context's. */
static void syn__free(syn_context *c, void *at) {
  void *block;
  if (!at) return;
  memcpy(&block, (char *)at - sizeof(void *), sizeof block);
  c->options.release(c->options.user, block);
}

/* Grows an array of *cap elements to `need` at least; keeps its elements, the rest is zero. `at`
   points to the pointer to the array, which has a type of its own and so is copied by memcpy. The
   capacity doubles, so that n elements added one by one are moved O(n) times in all. After a
   failure the array is as it was. */
static syn_status syn__grow(syn_context *c, void *at, size_t *cap, size_t need, size_t size) {
  size_t cap_new = *cap ? *cap : 16;
  void *old, *moved;
  if (need <= *cap) return SYN_OK;
  while (cap_new < need) cap_new = syn__mul_size(cap_new, 2); /* ends at SIZE_MAX at the latest */
  moved = syn__alloc(c, cap_new, size);
  if (!moved) return SYN_E_MEMORY;
  memcpy(&old, at, sizeof old);
  if (old) memcpy(moved, old, *cap * size);
  syn__free(c, old);
  memcpy(at, &moved, sizeof moved);
  *cap = cap_new;
  return SYN_OK;
}

/* An arena: small objects that are freed together (the graph of a model). It is a list of chunks,
   each a header of SYN__ALIGN bytes and `size` bytes for objects. */
typedef struct syn__chunk {
  struct syn__chunk *next;
  size_t used, size;
} syn__chunk;
typedef struct syn__arena {
  syn_context *c;
  syn__chunk *chunks;
} syn__arena;

/* `count` elements of `size` bytes, zeroed, aligned to 16 bytes; null (recorded) when memory is
   out. An object larger than a chunk gets one of its own; a size that saturated at SIZE_MAX then
   fails in syn__alloc. */
static void *syn__arena_get(syn__arena *a, size_t count, size_t size) {
  size_t bytes = syn__round16(syn__mul_size(count, size));
  size_t chunk_size = bytes > 16384 ? bytes : 16384;
  syn__chunk *k = a->chunks;
  char *at;
  if (!k || k->size - k->used < bytes) {
    k = (syn__chunk *)syn__alloc(a->c, 1, syn__add_size(SYN__ALIGN, chunk_size));
    if (!k) return NULL;
    k->size = chunk_size;
    k->next = a->chunks;
    a->chunks = k;
  }
  at = (char *)k + SYN__ALIGN + k->used;
  k->used += bytes;
  return at;
}

/* A copy of a text with its final 0, which the zeroed memory holds already. */
static char *syn__arena_text(syn__arena *a, const char *at, size_t size) {
  char *copy = (char *)syn__arena_get(a, size + 1, 1);
  if (copy && size) memcpy(copy, at, size);
  return copy;
}

/* All chunks; the arena is empty and may be used again. */
static void syn__arena_free(syn__arena *a) {
  syn__chunk *k = a->chunks, *next;
  for (; k; k = next) next = k->next, syn__free(a->c, k);
  a->chunks = NULL;
}

/* ==============================================================================================
   >>random   splitmix64: one multiply-and-shift hash of a counter (Steele, Lea, Flood 2014)
   ============================================================================================== */

/* A bijection of 64 bits: every bit of z moves about half of the bits of the result. Here it also
   serves as the hash of keys; being a bijection, it never makes two keys one. */
static uint64_t syn__mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* The step is 2^64 / golden ratio, made odd: the counter passes through all 2^64 values, far
   apart. */
uint64_t syn_random_next(syn_random *r) {
  r->state += 0x9E3779B97F4A7C15u;
  return syn__mix(r->state);
}

/* A float holds 24 bits exactly; more would round, and some of them up to 1. */
float syn_random_uniform(syn_random *r) {
  return (float)(syn_random_next(r) >> 40) * (1.0f / 16777216.0f);
}

/* Box-Muller: sqrt(-2 ln u) cos(2 pi v), u in (0, 1], so that ln u is finite. The second number the
   pair would give (with sin) is not kept: the state stays one counter, and a copy goes on alike. */
float syn_random_normal(syn_random *r) {
  double u = ((double)(syn_random_next(r) >> 11) + 1.0) / 9007199254740992.0;
  double v = (double)(syn_random_next(r) >> 11) / 9007199254740992.0, s, c;
  syn__sincos(6.28318530717958647693 * v, &s, &c);
  return (float)(sqrt(-2.0 * syn__log(u)) * c);
}

/* Numbers from the last, incomplete run of n below 2^64 are drawn again: taken modulo n they would
   make its first results more probable. n <= 0, which has no answer, gives 0. */
int syn_random_below(syn_random *r, int n) {
  uint64_t range = n > 0 ? (uint64_t)n : 1, limit = UINT64_MAX - UINT64_MAX % range, x;
  do x = syn_random_next(r);
  while (x >= limit);
  return (int)(x % range);
}

/* ==============================================================================================
   >>utf-8   decoding, encoding, lower case; texts that are fit for a message
   ============================================================================================== */

#define SYN__SHORT 84                 /* bytes of a name in a message, with the final 0 */

syn_text syn_text_of(const char *text) {
  syn_text all = {text ? text : "", 0};
  all.size = strlen(all.at);
  return all;
}
/* A function, because C++11 has no compound literals. */
static syn_text syn__text_of(const char *at, size_t size) {
  syn_text text = {at, size};
  return text;
}

/* < 0, 0, > 0. The order of bytes, which for UTF-8 is the order of code points. */
static int syn__text_compare(syn_text a, syn_text b) {
  size_t shared = a.size < b.size ? a.size : b.size;
  int order = shared ? memcmp(a.at, b.at, shared) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

#endif /* !SYN_SMALL */

#define SYN__INVALID_BYTE 0x80000000u /* set in a "code point" that is one byte, not UTF-8 */

/* Decodes the code point at *at, moves *at behind it; for an invalid sequence returns its first
   byte with SYN__INVALID_BYTE and moves one byte on, so that no valid character is skipped. Strict:
   no overlong forms, no surrogates, nothing above U+10FFFF, no incomplete sequence (RFC 3629):
     00..7F                     7 bits
     C2..DF 80..BF             11 bits   (C0 and C1 could only begin an overlong form)
     E0..EF 80..BF 80..BF      16 bits
     F0..F4 80..BF (3 times)   21 bits */
static uint32_t syn__utf8_decode(syn_text text, size_t *at) {
  const unsigned char *s = (const unsigned char *)text.at + *at;
  size_t left = text.size - *at, more, i; /* more: bytes that must follow the first */
  uint32_t ch = s[0];
  ++*at;
  if (ch < 0x80) return ch;
  more = ch < 0xC2 || ch > 0xF4 ? 0 : ch < 0xE0 ? 1 : ch < 0xF0 ? 2 : 3;
  if (more == 0 || left <= more) return SYN__INVALID_BYTE | s[0]; /* or the text ends inside */
  ch &= 0x3Fu >> more; /* the bits of the first byte without its mark of length */
  for (i = 1; i <= more; i++) {
    if ((s[i] & 0xC0u) != 0x80) return SYN__INVALID_BYTE | s[0];
    ch = ch << 6 | (s[i] & 0x3Fu);
  }
  if (more == 2 && (ch < 0x800 || (ch >= 0xD800 && ch <= 0xDFFF))) return SYN__INVALID_BYTE | s[0];
  if (more == 3 && (ch < 0x10000 || ch > 0x10FFFF)) return SYN__INVALID_BYTE | s[0];
  *at += more;
  return ch;
}

/* Encodes a code point, or writes the invalid byte it stands for; returns the bytes, at most 4. */
static size_t syn__utf8_encode(uint32_t ch, char *out) {
  size_t size = ch & SYN__INVALID_BYTE || ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4, i;
  static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (i = size - 1; i > 0; i--, ch >>= 6) out[i] = (char)(0x80 | (ch & 0x3F)); /* last first */
  out[0] = (char)(lead[size] | (ch & 0xFF));
  return size;
}

/* The simple lower-case mappings of the Unicode data file for Latin-1, Latin Extended-A, Greek and
   Cyrillic: every `step`-th character from `first` to `last` moves by `add` (in Latin Extended-A
   the cases alternate, so step 2). Sorted by `first`: the search stops at the first range above ch.
   No mapping is longer in UTF-8, so a text has at most as many tokens as bytes, plus its space.
   tolower of the C library would depend on the locale. */
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
  for (i = 0; i < sizeof ranges / sizeof *ranges && ch >= ranges[i].first; i++)
    if (ch <= ranges[i].last && ((int)ch - ranges[i].first) % ranges[i].step == 0)
      return (uint32_t)((int)ch + ranges[i].add);
  return ch;
}

#ifndef SYN_SMALL
/* The first byte that is not UTF-8 in a text that ends in 0; its end when there is none. Files hold
   UTF-8 alone, so what they will hold is checked where it is given. */
static const char *syn__utf8_invalid(const char *text) {
  syn_text all = syn__text_of(text, strlen(text));
  size_t at = 0, next = 0;
  for (; next < all.size; at = next)
    if (syn__utf8_decode(all, &next) & SYN__INVALID_BYTE) return text + at;
  return text + all.size;
}

/* Bytes of the byte order mark (U+FEFF) that a text begins with: 3, or 0. Editors write it; it is
   no part of the text. */
static size_t syn__bom_size(const char *at, size_t size) {
  return size >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

/* A name from a file as a message shows it: when it is long, cut between characters. */
static const char *syn__shorten(char out[SYN__SHORT], const char *text) {
  size_t n = strlen(text);
  int cut = n > SYN__SHORT - 4;
  if (cut)
    for (n = SYN__SHORT - 4; n && ((unsigned char)text[n] & 0xC0) == 0x80;) n--;
  memcpy(out, text, n);
  memcpy(out + n, cut ? "..." : "", cut ? 4 : 1);
  return out;
}

/* The decimal digits of n, behind a minus sign where asked; points into `out`. The printf format
   of a 64-bit number differs between C libraries. */
static const char *syn__decimal(char out[24], uint64_t n, int negative) {
  char *at = out + 23;
  for (*at = 0; n >= 10; n /= 10) *--at = (char)('0' + (int)(n % 10));
  *--at = (char)('0' + (int)n);
  if (negative) *--at = '-';
  return at;
}

/* ==============================================================================================
   >>collections   growing array, hash map, list of texts, binary heap, sorting
   ============================================================================================== */

/* An array of any type; the caller knows which. Indices are int. */
typedef struct syn__array {
  void *items;
  size_t count, capacity; /* elements */
} syn__array;

/* Appends n elements of `size` bytes. They must not lie in the array itself, which may move. */
static syn_status syn__append(syn_context *c, syn__array *a, const void *items, size_t n,
                              size_t size) {
  size_t need = syn__add_size(a->count, n);
  if (need > INT_MAX) /* indices are int */
    return syn__fail(c, SYN_E_MEMORY, "a list of %lu elements, wanted at most %d",
                     (unsigned long)need, INT_MAX);
  if (syn__grow(c, &a->items, &a->capacity, need, size)) return SYN_E_MEMORY;
  if (n) memcpy((char *)a->items + a->count * size, items, n * size);
  a->count = need;
  return SYN_OK;
}

/* Open addressing with linear probing, at most half full. Entries are never removed. Several
   entries may have the same key: texts of equal hash, which the caller compares. */
typedef struct syn__map_slot {
  uint64_t key;
  int value; /* 0: the slot is empty */
} syn__map_slot;
typedef struct syn__map {
  syn__map_slot *slots;
  size_t capacity, count; /* capacity: 0 or a power of two */
} syn__map;

/* The next value with this key, 0 after the last. *probe begins at 0 and keeps the place. */
static int syn__map_next(const syn__map *m, uint64_t key, size_t *probe) {
  size_t home = (size_t)syn__mix(key);
  const syn__map_slot *slot; /* half of them are empty, so the loop ends */
  if (m->capacity == 0) return 0;
  do slot = &m->slots[(home + (*probe)++) & (m->capacity - 1)];
  while (slot->value && slot->key != key);
  return slot->value;
}

static int syn__map_find(const syn__map *m, uint64_t key) {
  size_t probe = 0;
  return syn__map_next(m, key, &probe);
}

/* Inserts; a map that would be more than half full is rehashed into twice the slots first. When
   memory is missing the map is as it was. Keys are mixed, because pairs of ids and code points
   differ in few low bits and would fill neighbouring slots. */
static syn_status syn__map_add(syn_context *c, syn__map *m, uint64_t key, int value) {
  syn__map wide = {NULL, 0, 0};
  size_t i;
  if ((m->count + 1) * 2 > m->capacity) {
    wide.capacity = m->capacity ? syn__mul_size(m->capacity, 2) : 64;
    wide.slots = (syn__map_slot *)syn__alloc(c, wide.capacity, sizeof(syn__map_slot));
    if (!wide.slots) return SYN_E_MEMORY;
    for (i = 0; i < m->capacity; i++) /* `wide` has the slots: this cannot fail */
      if (m->slots[i].value) syn__map_add(c, &wide, m->slots[i].key, m->slots[i].value);
    syn__free(c, m->slots);
    *m = wide; /* the old map stays valid up to here */
  }
  for (i = (size_t)syn__mix(key) & (m->capacity - 1); m->slots[i].value;)
    i = (i + 1) & (m->capacity - 1);
  m->slots[i].key = key;
  m->slots[i].value = value;
  m->count++;
  return SYN_OK;
}

/* Texts one after the other in one block, without pointers into it: the block moves when it grows.
   Text i ends at ends[i]. Bytes behind the last end belong to a text that is still being written.
   The map goes from a key of the caller's choice to index + 1. */
typedef struct syn__texts {
  syn_context *c;
  syn__array bytes, ends; /* char, size_t */
  syn__map map; /* key -> index + 1 */
} syn__texts;

static void syn__texts_free(syn__texts *t) {
  syn__free(t->c, t->bytes.items);
  syn__free(t->c, t->ends.items);
  syn__free(t->c, t->map.slots);
}

/* Where text i begins; for i = count, the unfinished one. */
static size_t syn__texts_begin(const syn__texts *t, size_t i) {
  return i ? ((const size_t *)t->ends.items)[i - 1] : 0;
}

/* Text i. It is valid until bytes are added. */
static syn_text syn__texts_at(const syn__texts *t, size_t i) {
  size_t begin = syn__texts_begin(t, i);
  return syn__text_of((const char *)t->bytes.items + begin, syn__texts_begin(t, i + 1) - begin);
}

static syn_status syn__texts_write(syn__texts *t, syn_text text) {
  return syn__append(t->c, &t->bytes, text.at, text.size, 1);
}

/* Ends the unfinished text and maps the key to it. */
static syn_status syn__texts_end(syn__texts *t, uint64_t key) {
  syn_status status = syn__append(t->c, &t->ends, &t->bytes.count, 1, sizeof(size_t));
  return status ? status : syn__map_add(t->c, &t->map, key, (int)t->ends.count);
}

static uint64_t syn__text_hash(syn_text text) {
  return syn_hash(SYN_HASH_START, text.at, text.size);
}

/* Index + 1 of an equal text among those mapped from their hash; 0: there is none. */
static int syn__texts_find(const syn__texts *t, syn_text text) {
  uint64_t key = syn__text_hash(text);
  size_t probe = 0;
  int i;
  do i = syn__map_next(&t->map, key, &probe);
  while (i && syn__text_compare(syn__texts_at(t, (size_t)i - 1), text) != 0);
  return i;
}

/* < 0, 0, > 0 when item a of the owner comes before, with, after item b. */
typedef int (*syn__order)(const void *owner, int a, int b);

/* A binary heap of different keys. The first is the largest; with `order`, keys are items of the
   owner and the first is the one that comes first. Key i comes before keys 2i+1 and 2i+2; push and
   pop take O(log n) steps. */
typedef struct syn__heap {
  syn__array keys; /* uint64_t */
  const void *owner;
  syn__order order; /* null: the keys themselves are compared */
} syn__heap;

static int syn__heap_before(const syn__heap *h, uint64_t a, uint64_t b) {
  return h->order ? h->order(h->owner, (int)a, (int)b) < 0 : a > b;
}

static syn_status syn__heap_push(syn_context *c, syn__heap *h, uint64_t key) {
  uint64_t *keys;
  size_t i = h->keys.count;
  if (syn__append(c, &h->keys, &key, 1, sizeof key)) return SYN_E_MEMORY;
  keys = (uint64_t *)h->keys.items;
  for (; i > 0 && syn__heap_before(h, key, keys[(i - 1) / 2]); i = (i - 1) / 2)
    keys[i] = keys[(i - 1) / 2];
  keys[i] = key;
  return SYN_OK;
}

/* Place i is free, and all below it is in order: the key goes there or, while an earlier one stands
   below, down the path of the earlier ones, which move up. */
static void syn__heap_sink(const syn__heap *h, size_t i, uint64_t key) {
  uint64_t *keys = (uint64_t *)h->keys.items;
  size_t child;
  while ((child = 2 * i + 1) < h->keys.count) {
    if (child + 1 < h->keys.count && syn__heap_before(h, keys[child + 1], keys[child])) child++;
    if (!syn__heap_before(h, keys[child], key)) break;
    keys[i] = keys[child];
    i = child;
  }
  keys[i] = key;
}

/* Makes a heap of n keys in any order, without moving the array. */
static syn__heap syn__heap_of(uint64_t *keys, size_t n) {
  syn__heap h = {{keys, n, n}, NULL, NULL};
  while (n-- > 0) syn__heap_sink(&h, n, keys[n]);
  return h;
}

/* Removes the first key; 0 when there is none. The place behind the last key is then free. */
static int syn__heap_pop(syn__heap *h, uint64_t *first) {
  const uint64_t *keys = (const uint64_t *)h->keys.items;
  if (h->keys.count == 0) return 0;
  *first = keys[0];
  h->keys.count--;
  syn__heap_sink(h, 0, keys[h->keys.count]);
  return 1;
}

/* The numbers 0 .. n-1 of the owner's items in order; null (recorded) when there is no memory. A
   heap takes n log n steps on any input. qsort of libc may be quadratic, may call malloc, and hands
   no pointer to its comparison. */
static int *syn__sorted(syn_context *c, const void *owner, size_t n, syn__order order) {
  syn__heap h = {{NULL, 0, 0}, owner, order};
  uint64_t first;
  int *sorted = (int *)syn__alloc(c, n ? n : 1, sizeof *sorted), *next = sorted;
  size_t i;
  for (i = 0; sorted && i < n; i++)
    if (syn__heap_push(c, &h, i)) {
      syn__free(c, sorted);
      sorted = NULL;
    }
  while (sorted && syn__heap_pop(&h, &first)) *next++ = (int)first;
  syn__free(c, h.keys.items);
  return sorted;
}

/* ==============================================================================================
   >>kernel operands   operands of the kernels; the table of kernels of one ISA
   ============================================================================================== */

/* An instruction set (ISA: scalar, AVX2, AVX-512, NEON) has a table of kernels, syn_kernels. All
   ISAs give the same bits, because no result is defined by a vector width:
     - a matrix product sums over k in order, one fma per term and output element;
     - a sum along n elements goes through 16 lanes, lane l adding elements l, l+16, ... in order
       (by fma where products are summed); then "the tree" adds lanes l and l+8, l and l+4, l and
       l+2, l and l+1. Lanes past n hold 0, or -inf for a maximum.
   16 is the width of the widest register; a narrower ISA uses two or four registers for a vector.
   The SIMD lanes of a product go across outputs, not across terms: each output is one chain of
   fmas, which no tile size, panel, number of threads or register width can change. */

/* Prefetches the cache line of p, if the compiler can; _L2: into the second-level cache. */
#if defined(__GNUC__)
#define SYN__PREFETCH(p) __builtin_prefetch(p)
#define SYN__PREFETCH_L2(p) __builtin_prefetch(p, 0, 2)
/* Hides from the compiler where p comes from, so that it keeps p in a register of its own. */
#define SYN__OPAQUE(p) __asm__("" : "+r"(p))
#else
#define SYN__PREFETCH(p) ((void)(p))
#define SYN__PREFETCH_L2(p) ((void)(p))
#define SYN__OPAQUE(p) ((void)(p))
#endif

#define SYN__BLOCK 64 /* elements of a block of the kernel `block_max` */
#define SYN__PANEL_END 16 /* floats that pack_a may write behind a micro-panel */

/* C [m,n] = start + A B, the one product of the library: weights, gradients, attention, logits.
   m = c.rows, n = c.cols, k = a.cols. c and an unpacked b have contiguous rows; a may have any
   strides, or be packed in micro-panels of MR rows, a.panel floats apart. */
typedef struct syn__product {
  syn_matrix a, b, c;
  const float *bias; /* [n], where the sums start; null: at 0 */
  int accumulate;    /* 1: the sums start at what c holds */
  int streamed;      /* 1: b is packed, comes from memory, and few rows use it: it is prefetched */
  int by_rows;       /* 1: threads share the rows of c; 0: its panels */
} syn__product;

/* A row tile: `rows` rows of c by a number of panels, each with its micro-kernel. */
typedef struct syn__row_tile {
  int rows, panels;
  void (*full)(const syn__product *p, int m, int j); /* rows m.., panels j.. */
  void (*pair)(const syn__product *p, int m, int j); /* two panels; null: there is none */
  void (*edge)(const syn__product *p, int m, int j); /* one panel, perhaps not whole */
} syn__row_tile;
/* What a micro-kernel does: an edge tile masks its columns, a stream tile prefetches b. */
enum { SYN__EDGE_TILE, SYN__FULL_TILE, SYN__STREAM_TILE };

/* Activations, in the order of their names in texts. */
enum { SYN__RELU, SYN__GELU, SYN__TANH, SYN__SIGMOID, SYN__SWISH, SYN__ACTS };

/* One step of Adam: what all weights share. The powers of beta are computed once per step, in
   double: 1 - 0.9999^t has few digits left in float. */
typedef struct syn__adam {
  float lr, beta1, beta2, eps, decay; /* decay: AdamW's, already times the learning rate */
  float fix1, fix2;                   /* 1/(1 - beta1^t), 1/(1 - beta2^t) */
  float scale;                        /* of the gradient: clipping */
} syn__adam;

/* One step of SGD or Adafactor (>>optim), with or without momentum. */
typedef struct syn__weight_update {
  float rate;       /* learning rate */
  float beta, rest; /* momentum = beta momentum + rest update */
  float decay;      /* weight decay, already times the learning rate */
} syn__weight_update;

/* The column moments of Adafactor for a matrix of gradients g [rows,width]. */
typedef struct syn__factor {
  const float *g;
  size_t rows, width;
  float beta, rest;  /* second moment = beta second moment + rest mean */
  float square, eps; /* mean = square * (sum of the squares of a column) + eps */
} syn__factor;

/* A dropout mask is a hash of key and index, not of a generator with a state: backward recomputes
   the mask instead of saving it, and any thread can compute any part of it. */
typedef struct syn__dropout {
  uint32_t key, key2; /* of this layer in this step */
  uint32_t limit;     /* round(rate 2^24): an element is dropped when hash(index) >> 8 is below */
  float scale;        /* 1/(1 - rate) */
} syn__dropout;

/* Inputs of the backward pass of norm: rows [rows,width], stats [rows,2], g [width]. */
typedef struct syn__norm_rows {
  const float *x, *g, *dy, *stats;
  size_t rows, width;
  int rms; /* 1: rms_norm */
} syn__norm_rows;

/* Depthwise convolution over the rows of one sentence; the channels of a head share their taps
   (light_conv, dyn_conv). Row r reads rows r + first + tap, as far as the sentence has them. */
typedef struct syn__depthwise {
  const float *w; /* [heads,taps] of row r at w + r * w_row */
  size_t w_row;   /* 0: one w for all rows */
  /* width is a multiple of heads, first is 1-taps to 0: a row sees itself */
  int rows, width, heads, taps, first;
} syn__depthwise;

/* Additive attention scores of one query (Bahdanau et al. 2015): w, a [n], b [keys,n], rows of b
   b_row floats apart. */
typedef struct syn__additive {
  const float *w, *a, *b;
  size_t n, keys, b_row;
} syn__additive;

/* Attention output of one new token over `count` keys: y_h [c] = sum_j p_hj v_j,h, where head h has
   the columns h c .. (h+1) c - 1 of y and v. Row j of v is at[j]; j where `at` is null. */
typedef struct syn__weighted_values {
  const float *p, *v; /* [heads, p_row] of which count are read; rows of v, v_row floats apart */
  const int *at;
  size_t p_row, v_row, count, heads, c;
} syn__weighted_values;

/* The kernels of one ISA. Lengths are any, 0 included; pointers need the alignment of a float only;
   nothing past the n-th element is read or written. An output may be an input where element i
   depends on elements i only; else arrays do not overlap. */
struct syn_kernels {
  const char *name;
  /* 1: with fused multiply-add and denormals: its bits are those of every exact ISA */
  int exact;
  int mr; /* rows of a tile of the micro-kernel */
  /* b [k,n] into micro-panels [ceil(n/16)][k][16]; columns past n are 0 */
  void (*pack_b)(const syn_matrix *b, float *panels);
  /* a [m,k], whose columns are contiguous, into micro-panels [ceil(m/mr)][k][mr], each followed by
     SYN__PANEL_END floats that it may write */
  void (*pack_a)(const syn_matrix *a, float *panels);
  /* rows m0..m1 and panels p0..p1 (of 16 columns) of a product */
  void (*gemm)(const syn__product *p, int m0, int m1, int p0, int p1);
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
  /* s[j] += a . b[j], with the bits of a row of `gemm`, for rows of b anywhere */
  void (*dots)(float *s, const float *a, const float *const *b, size_t n, size_t count);
  /* attention of one new token, with the bits of `gemm`. s[h*s_row + l] = sum_i q[h*c + i]
     k[(h*c + i)*16 + l]: heads h, a transposed block of 16 keys, l = 0..15 */
  void (*scores)(float *s, size_t s_row, const float *q, const float *k, size_t heads, size_t c);
  void (*values)(float *y, const syn__weighted_values *j);
  /* z[16 j + l] = sum_i x_i q[(j n + i) 16 + l], j < panels, l < 16: panels of int8 */
  void (*gemv_int8)(float *z, const float *x, const signed char *q, size_t n, size_t panels);
  float (*max)(const float *x, size_t n);
  /* max[j] = max of x[j SYN__BLOCK ..], SYN__BLOCK elements or what is left */
  void (*block_max)(float *max, const float *x, size_t n);
  /* y = f(x); dx += dy f'(x). which: SYN__RELU ... */
  void (*act)(int which, float *y, const float *x, size_t n);
  void (*act_back)(int which, float *dx, const float *x, const float *dy, size_t n);
  /* y *= s f'(x), f' of relu from f(x) or x */
  void (*slope)(int which, float *y, const float *x, float s, size_t n);
  /* y = a sigma(b); da += dy sigma(b), db += dy a sigma'(b) */
  void (*glu)(float *y, const float *a, const float *b, size_t n);
  void (*glu_back)(float *da, float *db, const float *a, const float *b, const float *dy, size_t n);
  /* one token of a recurrent cell of width n, equations at >>kind rnn. gates [4n] or [3n]: in, the
     share of the input; out, the gates. part: the share of the state before, as long. past null:
     0. lstm: past and c are cell states; gru: past is the h before, m gets W_h's share of gate n */
  void (*lstm)(float *h, float *c, float *gates, const float *part, const float *past, size_t n);
  void (*gru)(float *h, float *m, float *gates, const float *part, const float *past, size_t n);
  /* gates become the gradients of the input's share. dc becomes that of past; dpart [3n]: gradient
     of part; dh becomes the gradient of past, but for what goes through part */
  void (*lstm_back)(float *gates, float *dc, const float *dh, const float *c, const float *past,
                    size_t n);
  void (*gru_back)(float *gates, float *dpart, float *dh, const float *m, const float *past,
                   size_t n);
  /* y = softmax(x) over n elements, y may be x; n = 0 does nothing */
  void (*softmax)(float *y, const float *x, size_t n);
  /* ds = p (dp - sum p dp), ds may be dp */
  void (*softmax_back)(float *ds, const float *p, const float *dp, size_t n);
  /* s_j = sum_i w_i tanh(a_i + b_ji), j < keys */
  void (*additive)(float *s, const syn__additive *j);
  /* with ds [keys]: da [n], db [keys,n] and dw [n] += their gradients */
  void (*additive_back)(const syn__additive *j, const float *ds, float *da, float *db, float *dw);
  /* one row of norm: y = (x - mean) rstd g + b; stats gets mean and rstd; b null: rms_norm,
     mean 0 */
  void (*norm)(float *y, const float *x, const float *g, const float *b, size_t n, float *stats);
  /* dx[row] += its gradient */
  void (*norm_back)(float *dx, const syn__norm_rows *j, size_t row);
  /* columns c0..c1 over all rows in order: dg += dy xhat, db += dy (db null: rms_norm) */
  void (*norm_back_columns)(float *dg, float *db, const syn__norm_rows *j, size_t c0, size_t c1);
  /* rows r0..r1: y = convolution of x; back: y, a gradient of the input, += that from x, the
     gradient of the output */
  void (*taps)(const syn__depthwise *j, float *y, const float *x, int r0, int r1, int back);
  /* x := keep(index + i) ? x scale : 0, in place */
  void (*dropout)(const syn__dropout *d, uint32_t index, float *x, size_t n);
  /* p := softmax(p), y = dropout(p); then p is negated where it was dropped. y may be p: then only
     y is left */
  void (*softmax_drop)(const syn__dropout *d, uint32_t index, float *p, float *y, size_t n);
  /* backward: p from softmax_drop becomes the gradient of its input, dy becomes y again; scale: of
     the dropout, 1 where there was none */
  void (*softmax_drop_back)(float scale, float *p, float *dy, size_t n);
  /* one row of logits: returns the loss -sum_v q_v log p_v, q = 1-eps at label, eps/(n-1)
     elsewhere; with scale != 0 the row becomes its gradient times scale: (p - q) scale */
  float (*loss)(float *z, size_t n, int label, float eps, float scale);
  /* log of the sum of exp over n elements, the largest of which is `top`: log p = z - this */
  float (*log_sum_exp)(const float *z, size_t n, float top);
  /* one step of Adam over n weights */
  void (*adam)(const syn__adam *a, float *w, float *m, float *v, const float *g, size_t n);
  /* sum of (a b)^2, through the tree */
  float (*squares)(const float *a, const float *b, size_t n);
  /* columns c0..c1, rows in order: v = beta v + rest (square sum g^2 + eps), root = 1/sqrt(v) */
  void (*factor)(const syn__factor *f, float *v, float *root, size_t c0, size_t c1);
  /* u = rate g root (root null: rate g); m not null: u = m = beta m + rest u; w -= u + decay w */
  void (*descend)(const syn__weight_update *d, float *w, float *m, const float *g,
                  const float *root, size_t n);
};

/* The dispatch section includes this header into itself once per ISA, with SYN__ISA set; every name
   in such a pass has the suffix of its ISA, so that all of them live in one object file. One file
   per ISA would need flags of its own: a user compiles one file with plain cc -O2. One copy of the
   code per ISA would diverge. The ISAs are numbers, since the preprocessor compares no names. */
#define SYN__ISA_SCALAR 0
#define SYN__ISA_AVX2 1
#define SYN__ISA_AVX512 2
#define SYN__ISA_NEON 3

/* Two macros, since an argument of ## is not expanded and SYN__SUFFIX must be. */
#define SYN__PASTE2(a, b) a##b
#define SYN__PASTE(a, b) SYN__PASTE2(a, b)
#define SYN__N(name) SYN__PASTE(syn__##name##_, SYN__SUFFIX)

/* Which ISAs this compiler can build; which of them the machine has is found at run time. NEON
   without fma (old 32-bit ARM) would round every product-sum twice, big-endian NEON numbers its
   lanes from the other end: neither is built. */
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

/* fmaf of the C library is exact on these systems, or one instruction (glibc checks the processor).
   Elsewhere (a small board) it may take hundreds of instructions: a*b+c replaces it, unless
   SYN_EXACT requires the same bits. */
#if defined(SYN_EXACT) || defined(FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || \
    defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__GLIBC__)
#define SYN__FUSED 1
#else
#define SYN__FUSED 0
#endif
/* Of single floats, in any ISA: the builtin is one instruction where the ISA has it. */
#if !SYN__FUSED
#define syn__fma1(a, b, c) ((a) * (b) + (c))
#elif defined(__GNUC__)
#define syn__fma1 __builtin_fmaf
#else
#define syn__fma1 fmaf
#endif
/* A compiler that keeps floats in wider registers (x87) rounds elsewhere. The value 16 concerns
   half precision only. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#define SYN__SCALAR_EXACT 0
#else
#define SYN__SCALAR_EXACT SYN__FUSED
#endif

#if defined(__GNUC__)
#define SYN__NOINLINE static __attribute__((noinline))
#else
#define SYN__NOINLINE static
#endif

/* The SIMD operations are used without their suffix. v: a vector of 16 floats. These macros serve
   all ISAs: SYN__SUFFIX is expanded where one is used. */
#define syn__reg SYN__N(reg)
#define syn__ireg SYN__N(ireg)
#define syn__v16 SYN__N(v16)
#define syn__vset SYN__N(vset)
#define syn__vload SYN__N(vload)
#define syn__vload_i8 SYN__N(vload_i8)
#define syn__vstore SYN__N(vstore)
#define syn__vload_n SYN__N(vload_n)
#define syn__vstore_n SYN__N(vstore_n)
#define syn__vadd SYN__N(vadd)
#define syn__vsub SYN__N(vsub)
#define syn__vmul SYN__N(vmul)
#define syn__vdiv SYN__N(vdiv)
#define syn__vsqrt SYN__N(vsqrt)
#define syn__vfma SYN__N(vfma)
#define syn__vfma1 SYN__N(vfma1)
#define syn__vselect SYN__N(vselect)
#define syn__vmax SYN__N(vmax)
#define syn__vfill SYN__N(vfill)
#define syn__vsum SYN__N(vsum)
#define syn__vmax_lane SYN__N(vmax_lane)
#define syn__vexp SYN__N(vexp)
#define syn__vexp_minus SYN__N(vexp_minus)
#define syn__vsigmoid SYN__N(vsigmoid)
#define syn__vtanh SYN__N(vtanh)

/* The numbers of the lanes. Compared with n, they tell which lanes of a tail exist. */
static const float syn__iota[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint32_t syn__lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const float syn__zeros[16 * 8] = {0}; /* where the sums of up to 8 panels start */

/* Added to a variance. A part of the model: with another eps its weights give other outputs. */
#define SYN__NORM_EPS 1e-6f

#define SYN__L2_FLOATS 65536 /* floats of b that stay in the second-level cache */

#endif /* !SYN_SMALL */
#endif /* !SYN__ISA */
#ifdef SYN__ISA

/* ==============================================================================================
   >>simd   SIMD operations on vectors of 16 floats, over the registers of one ISA
   ============================================================================================== */

/* A vector of 16 lanes consists of SYN__REGS registers of SYN__LANES floats. An ISA defines the
   operations on one register of floats, syn__r...; those on vectors, syn__v..., are written once
   below. A register of unsigned integers of 32 bits, syn__ireg, has the operators of C, which gcc
   and clang define for vectors, too; they wrap modulo 2^32. On floats only / is an operator: gcc
   would compute the sums of 32-bit NEON lane by lane. rcast and icast keep the bits.
   rselect(a, b, x, y): a > b ? x : y in every lane, y for a NaN. rkeep(a, h, least): h >= least ?
   a : 0. With h = 8, 4, 2 or 1: rswap(a, h): lane l gets lane l^h; rblend(a, b, h): b in the lanes
   with bit h, else a.

   The tiles of the micro-kernels, rows x panels of 16 columns: SYN__MR x SYN__NR; for the rows that
   are left SYN__ROWS_2 x SYN__PANELS_2, 2 x SYN__PANELS_3, 1 x SYN__PANELS_1. For each k a tile of
   r rows and v registers of b loads r + v registers for r v fmas: the nearer to a square the
   better, as long as sums, b and a fit the register file. SYN__K_UNROLL: steps of k in a round of
   the loop.

   A new ISA is one more block here and a few lines in >>dispatch. */

#if SYN__ISA == SYN__ISA_AVX512
/* 32 registers: 24 sums, 3 of b, 1 of a; the addresses of 8 rows fit the general registers. Only
   AVX512F, which all processors with AVX-512 have: no DQ, no BW. */
#define SYN__ISA_NAME "avx512"
#define SYN__ISA_EXACT 1
#define SYN__REGS 1
#define SYN__LANES 16
#define SYN__MR 8
#define SYN__NR 3
#define SYN__ROWS_2 4
#define SYN__PANELS_2 4
#define SYN__PANELS_3 6
#define SYN__PANELS_1 8
#define SYN__K_UNROLL 4
/* Some intrinsics are used with a mask of all lanes: g++ warns of their forms without one. */
#define SYN__ALL ((__mmask16)0xFFFF)
typedef __m512 syn__reg;
#define syn__rset _mm512_set1_ps
#define syn__rload _mm512_loadu_ps
#define syn__rstore _mm512_storeu_ps
#define syn__rload_i8(p)            \
  _mm512_maskz_cvtepi32_ps(SYN__ALL, _mm512_maskz_cvtepi8_epi32( \
      SYN__ALL, _mm_loadu_si128((const __m128i *)(p))))
#define syn__radd _mm512_add_ps
#define syn__rsub _mm512_sub_ps
#define syn__rmul _mm512_mul_ps
#define syn__rsqrt(a) _mm512_maskz_sqrt_ps(SYN__ALL, a)
#define syn__rfma _mm512_fmadd_ps
#define syn__rselect(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x)
#define syn__rfirst _mm512_cvtss_f32
#define syn__rmax(a, b) _mm512_maskz_max_ps(SYN__ALL, a, b)
#define syn__rmin(a, b) _mm512_maskz_min_ps(SYN__ALL, a, b)
#define syn__rswap(a, h) \
  ((h) == 8 ? _mm512_maskz_shuffle_f32x4(SYN__ALL, a, a, 0x4E) : \
   (h) == 4 ? _mm512_maskz_shuffle_f32x4(SYN__ALL, a, a, 0xB1) : \
   (h) == 2 ? _mm512_maskz_permute_ps(SYN__ALL, a, 0x4E) : \
              _mm512_maskz_permute_ps(SYN__ALL, a, 0xB1))
#define syn__rblend(a, b, h) \
  _mm512_mask_blend_ps( \
      (__mmask16)((h) == 8 ? 0xFF00 : (h) == 4 ? 0xF0F0 : (h) == 2 ? 0xCCCC : 0xAAAA), a, b)

#elif SYN__ISA == SYN__ISA_AVX2
/* 16 registers: 12 sums, 2 of b, 1 of a. FMA is a feature of its own, and needed. */
#define SYN__ISA_NAME "avx2"
#define SYN__ISA_EXACT 1
#define SYN__REGS 2
#define SYN__LANES 8
#define SYN__MR 6
#define SYN__NR 1
#define SYN__ROWS_2 4
#define SYN__PANELS_2 1
#define SYN__PANELS_3 2
#define SYN__PANELS_1 6
#define SYN__K_UNROLL 4
typedef __m256 syn__reg;
#define syn__rset _mm256_set1_ps
#define syn__rload _mm256_loadu_ps
#define syn__rstore _mm256_storeu_ps
#define syn__rload_i8(p) \
  _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#define syn__radd _mm256_add_ps
#define syn__rsub _mm256_sub_ps
#define syn__rmul _mm256_mul_ps
#define syn__rsqrt _mm256_sqrt_ps
#define syn__rfma _mm256_fmadd_ps
#define syn__rselect(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ))
#define syn__rfirst _mm256_cvtss_f32
#define syn__rmax _mm256_max_ps
#define syn__rmin _mm256_min_ps
#define syn__rswap(a, h) \
  ((h) == 4 ? _mm256_permute2f128_ps(a, a, 1) : \
   (h) == 2 ? _mm256_permute_ps(a, 0x4E) : _mm256_permute_ps(a, 0xB1))
#define syn__rblend(a, b, h) \
  ((h) == 4 ? _mm256_blend_ps(a, b, 0xF0) : \
   (h) == 2 ? _mm256_blend_ps(a, b, 0xCC) : _mm256_blend_ps(a, b, 0xAA))

#elif SYN__ISA == SYN__ISA_NEON
/* NEON takes the addend of an fma first. */
#define SYN__ISA_NAME "neon"
#define SYN__REGS 4
#define SYN__LANES 4
typedef float32x4_t syn__reg;
static const uint32_t syn__blends[2][4] = {{0, ~0u, 0, ~0u}, {0, 0, ~0u, ~0u}};
#define syn__rset vdupq_n_f32
#define syn__rload vld1q_f32
#define syn__rload_i8 SYN__N(rload_i8)
#define syn__rstore vst1q_f32
#define syn__radd vaddq_f32
#define syn__rsub vsubq_f32
#define syn__rmul vmulq_f32
#define syn__rfma(a, b, c) vfmaq_f32(c, a, b)
#define syn__rselect(a, b, x, y) vbslq_f32(vcgtq_f32(a, b), x, y)
#define syn__rfirst(a) vgetq_lane_f32(a, 0)
#define syn__rmax(a, b) syn__rselect(a, b, a, b)
#define syn__rmin(a, b) syn__rselect(b, a, a, b)
#define syn__rswap(a, h) ((h) == 2 ? vextq_f32(a, a, 2) : vrev64q_f32(a))
#define syn__rblend(a, b, h) vbslq_f32(vld1q_u32(syn__blends[(h) / 2]), b, a)
SYN__INLINE syn__reg SYN__N(rload_i8)(const signed char *p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four))))));
}
#if defined(__aarch64__)
/* 32 registers: 24 sums, 4 of b, 1 of a. */
#define SYN__ISA_EXACT 1
#define SYN__MR 6
#define SYN__NR 1
#define SYN__ROWS_2 2
#define SYN__PANELS_2 2
#define SYN__PANELS_1 4
#define SYN__K_UNROLL 1
#define syn__rsqrt vsqrtq_f32
#else
/* 16 registers: 8 sums, 4 of b, 1 of a. This NEON flushes denormals and has no root. */
#define SYN__ISA_EXACT 0
#define SYN__MR 2
#define SYN__NR 1
#define SYN__ROWS_2 2
#define SYN__PANELS_2 1
#define SYN__PANELS_1 2
#define SYN__K_UNROLL 1
SYN__INLINE syn__reg SYN__N(rsqrt)(syn__reg a) {
  float x[4];
  int i;
  vst1q_f32(x, a);
  for (i = 0; i < 4; i++) x[i] = sqrtf(x[i]);
  return vld1q_f32(x);
}
#define syn__rsqrt SYN__N(rsqrt)
#endif

#else
/* One float is one register: the reference, the fallback, and the code to learn from. Tests compare
   the other ISAs with it bit by bit. */
#define SYN__ISA_NAME "scalar"
#define SYN__ISA_EXACT SYN__SCALAR_EXACT
#define SYN__REGS 16
#define SYN__LANES 1
#define SYN__MR 4
#define SYN__NR 1
#define SYN__ROWS_2 1
#define SYN__PANELS_2 1
#define SYN__PANELS_1 1
#define SYN__K_UNROLL 1
typedef float syn__reg;
typedef uint32_t syn__ireg;
#define syn__rset(x) (x)
#define syn__rload(p) (*(p))
#define syn__rload_i8(p) ((float)*(p))
#define syn__rstore(p, a) (*(p) = (a))
#define syn__radd(a, b) ((a) + (b))
#define syn__rsub(a, b) ((a) - (b))
#define syn__rmul(a, b) ((a) * (b))
#define syn__rsqrt sqrtf
#define syn__rfma syn__fma1
#define syn__rselect(a, b, x, y) ((a) > (b) ? (x) : (y))
#define syn__rfirst(a) (a)
#define syn__rmax(a, b) ((a) > (b) ? (a) : (b))
#define syn__rmin(a, b) ((a) < (b) ? (a) : (b))
/* There is one lane, 0, which has no bit h. A lane l^h does not exist, and is not used. */
#define syn__rswap(a, h) (a)
#define syn__rblend(a, b, h) (0 & (h) ? (b) : (a))
#define syn__rkeep(a, h, least) ((h) >= (least) ? (a) : 0.0f)
/* Through memcpy, which compilers turn into a move: a union or a cast pointer would be undefined in
   C++ or under strict aliasing. */
SYN__INLINE float SYN__N(rcast)(uint32_t a) {
  float f;
  memcpy(&f, &a, sizeof f);
  return f;
}
SYN__INLINE uint32_t SYN__N(icast)(float a) {
  uint32_t u;
  memcpy(&u, &a, sizeof u);
  return u;
}
#define syn__rcast SYN__N(rcast)
#define syn__icast SYN__N(icast)
#endif

#if SYN__LANES > 1
typedef uint32_t syn__ireg __attribute__((vector_size(4 * SYN__LANES)));
#define syn__rcast(a) ((syn__reg)(a))
#define syn__icast(a) ((syn__ireg)(a))
#define syn__rkeep(a, h, least) syn__rcast(syn__icast(a) & syn__icast((h) >= (least)))
#endif

/* SYN__EACH(step): the step for every register i; a macro, because a function cannot take a
   statement. Unrolled by hand: loops would cost compile time in every operation of every kernel.
   `i` is a constant in each copy, so p[i] is a register. A scalar operation is a loop over 16
   floats in memory, and a call: inlined, they would cost gcc seconds. */
#define SYN__DO(at, step) { const int i = at; step; }
#if SYN__REGS == 1
#define SYN__EACH(step) SYN__DO(0, step)
#elif SYN__REGS == 2
#define SYN__EACH(step) SYN__DO(0, step) SYN__DO(1, step)
#elif SYN__REGS == 4
#define SYN__EACH(step) SYN__DO(0, step) SYN__DO(1, step) SYN__DO(2, step) SYN__DO(3, step)
#else
#define SYN__EACH(step) { int i; for (i = 0; i < SYN__REGS; i++) step; }
#endif
#if SYN__LANES == 1
#define SYN__OP SYN__NOINLINE
#define SYN__UNROLL
#else
#define SYN__OP SYN__INLINE
#if defined(__clang__)
#if __has_feature(undefined_behavior_sanitizer) /* its checks in every copy: 80 s to compile, 20 */
#define SYN__UNROLL
#else
#define SYN__UNROLL _Pragma("clang loop unroll(full)")
#endif
#else
#define SYN__UNROLL _Pragma("GCC unroll 16") /* gcc -O2 else leaves arrays of vectors in memory */
#endif
#endif

/* The vector types of the kernels, passed by value: inlined, they are registers. */
typedef struct syn__v16 {
  syn__reg p[SYN__REGS];
} syn__v16;

/* -- operations on vectors; SYN__OP: inlined, but called in the scalar ISA -- */

SYN__OP syn__v16 syn__vset(float x) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__rset(x));
  return r;
}
SYN__OP syn__v16 syn__vload(const float *x) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__rload(x + i * SYN__LANES));
  return r;
}
/* 16 signed bytes as floats */
SYN__OP syn__v16 syn__vload_i8(const signed char *x) {
  syn__v16 r;
  SYN__EACH(r.p[i] = syn__rload_i8(x + i * SYN__LANES));
  return r;
}
SYN__OP void syn__vstore(float *y, syn__v16 a) {
  SYN__EACH(syn__rstore(y + i * SYN__LANES, a.p[i]));
}
SYN__OP syn__v16 syn__vadd(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__radd(a.p[i], b.p[i]));
  return a;
}
SYN__OP syn__v16 syn__vsub(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__rsub(a.p[i], b.p[i]));
  return a;
}
SYN__OP syn__v16 syn__vmul(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__rmul(a.p[i], b.p[i]));
  return a;
}
SYN__OP syn__v16 syn__vdiv(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = a.p[i] / b.p[i]);
  return a;
}
SYN__OP syn__v16 syn__vsqrt(syn__v16 a) {
  SYN__EACH(a.p[i] = syn__rsqrt(a.p[i]));
  return a;
}
/* a b + c, rounded once */
SYN__OP syn__v16 syn__vfma(syn__v16 a, syn__v16 b, syn__v16 c) {
  SYN__EACH(c.p[i] = syn__rfma(a.p[i], b.p[i], c.p[i]));
  return c;
}
/* sum += a b for a scalar a: the step of a product. By pointer and always inlined, or the sum would
   leave its registers. */
SYN__INLINE void syn__vfma1(syn__v16 *sum, float a, const syn__v16 *b) {
  SYN__EACH(sum->p[i] = syn__rfma(syn__rset(a), b->p[i], sum->p[i]));
}
/* a > b ? x : y; with a NaN in a or b: y */
SYN__OP syn__v16 syn__vselect(syn__v16 a, syn__v16 b, syn__v16 x, syn__v16 y) {
  SYN__EACH(y.p[i] = syn__rselect(a.p[i], b.p[i], x.p[i], y.p[i]));
  return y;
}
/* a > b ? a : b; b where a is NaN, and a NaN of b stays: a running maximum goes second. */
SYN__OP syn__v16 syn__vmax(syn__v16 a, syn__v16 b) {
  SYN__EACH(a.p[i] = syn__rmax(a.p[i], b.p[i]));
  return a;
}

/* a[l] for l < n, else rest[l]: after arithmetic the lanes past n are no longer 0. */
SYN__OP syn__v16 syn__vfill(syn__v16 a, size_t n, syn__v16 rest) {
  if (n >= 16) return a;
  return syn__vselect(syn__vset((float)(int)n), syn__vload(syn__iota), a, rest);
}

/* Partial vectors. vload_n: the first n of 16 floats, 0 in the other lanes; vstore_n: writes the
   first n. Memory past them, which may belong to another thread or not exist, is not touched:
   masked x86 loads and stores do not fault in masked lanes. n > 16 means 16, so a loop passes what
   is left and needs no second loop for its tail. */
#if SYN__ISA == SYN__ISA_AVX512
SYN__INLINE syn__v16 SYN__N(tail_load)(const float *x, size_t n) {
  syn__v16 r;
  r.p[0] = _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), x);
  return r;
}
SYN__INLINE void SYN__N(tail_store)(float *y, syn__v16 a, size_t n) {
  _mm512_mask_storeu_ps(y, (__mmask16)((1u << n) - 1u), a.p[0]);
}
#elif SYN__ISA == SYN__ISA_AVX2
SYN__INLINE __m256i SYN__N(mask)(size_t n, int i) {
  return _mm256_castps_si256(_mm256_cmp_ps(_mm256_set1_ps((float)(int)n),
                                           _mm256_loadu_ps(syn__iota + 8 * i), _CMP_GT_OQ));
}
SYN__INLINE syn__v16 SYN__N(tail_load)(const float *x, size_t n) {
  syn__v16 r;
  SYN__EACH(r.p[i] = _mm256_maskload_ps(x + 8 * i, SYN__N(mask)(n, i)));
  return r;
}
SYN__INLINE void SYN__N(tail_store)(float *y, syn__v16 a, size_t n) {
  SYN__EACH(_mm256_maskstore_ps(y + 8 * i, SYN__N(mask)(n, i), a.p[i]));
}
#else
/* Not inlined: a tail comes once per row of data, its code would be in every loop. */
SYN__NOINLINE syn__v16 SYN__N(tail_load)(const float *x, size_t n) {
  float f[16] = {0};
  size_t i;
  for (i = 0; i < n; i++) f[i] = x[i];
  return syn__vload(f);
}
SYN__NOINLINE void SYN__N(tail_store)(float *y, syn__v16 a, size_t n) {
  float f[16];
  size_t i;
  syn__vstore(f, a);
  for (i = 0; i < n; i++) y[i] = f[i];
}
#endif
SYN__OP syn__v16 syn__vload_n(const float *x, size_t n) {
  return n < 16 ? SYN__N(tail_load)(x, n) : syn__vload(x);
}
SYN__OP void syn__vstore_n(float *y, syn__v16 a, size_t n) {
  if (n < 16) SYN__N(tail_store)(y, a, n);
  else syn__vstore(y, a);
}

/* The sum or the maximum of 16 lanes. */
SYN__INLINE syn__reg SYN__N(combine)(syn__reg a, syn__reg b, int max) {
  return max ? syn__rmax(a, b) : syn__radd(a, b);
}
/* The tree: whole registers first, then within one. A swap and an addition give every lane the sum
   of its pair; lane 0 has the defined bits since a + b = b + a. No instruction for the sum of a
   register is used: its order depends on the machine. */
SYN__INLINE float SYN__N(reduce)(syn__v16 a, int max) {
  syn__reg r;
  int h, i;
  for (h = SYN__REGS / 2; h > 0; h /= 2)
    for (i = 0; i < h; i++) a.p[i] = SYN__N(combine)(a.p[i], a.p[i + h], max);
  r = a.p[0];
  if (SYN__LANES > 8) r = SYN__N(combine)(r, syn__rswap(r, 8), max);
  if (SYN__LANES > 4) r = SYN__N(combine)(r, syn__rswap(r, 4), max);
  if (SYN__LANES > 2) r = SYN__N(combine)(r, syn__rswap(r, 2), max);
  if (SYN__LANES > 1) r = SYN__N(combine)(r, syn__rswap(r, 1), max);
  return syn__rfirst(r);
}
SYN__OP float syn__vsum(syn__v16 a) { return SYN__N(reduce)(a, 0); }
/* The largest lane, by the same tree, since 0 and -0 compare equal; no lane may be NaN. */
SYN__OP float syn__vmax_lane(syn__v16 a) { return SYN__N(reduce)(a, 1); }

/* ==============================================================================================
   >>simd math   exponential, sigmoid, tanh over one register
   ============================================================================================== */

/* Written over one register, not over 16 floats: the scalar ISA then computes float by float.

   e^x: n = x / ln 2 rounded to an integer, r = x - n ln 2, |r| <= ln 2 / 2;
     e^r = 1 + r + r^2 q(r), q of degree 4 (Chebyshev fit, relative error 1e-8); times 2^n.
   Adding 1.5 * 2^23 leaves n in the low bits of the sum: shifted left by 23 they are n in the
   exponent field, and an integer addition multiplies by 2^n. ln 2 is split in two, the first part
   of 9 bits, so that n times it is exact. Below the smallest normal number (x < -87.33) the result
   is 0, above 88.72 it stays at e^88.72. The last fma carries a NaN of x to the result. */
SYN__INLINE syn__reg SYN__N(exp)(syn__reg x) {
  /* ln of the smallest normal number; the largest float whose exp is finite */
  const syn__reg low = syn__rset(-87.33654f), high = syn__rset(88.72283f);
  const syn__reg round = syn__rset(12582912.0f), zero = syn__rset(0.0f);
  syn__reg z = syn__rmax(low, x), n, r, q;
  syn__ireg power;
  z = syn__rmin(high, z);
  n = syn__rfma(z, syn__rset(1.44269504f), round);
  power = syn__icast(n) << 23;
  n = syn__rsub(n, round);
  r = syn__rfma(n, syn__rset(-0.693359375f), z);
  r = syn__rfma(n, syn__rset(2.12194440e-4f), r);
  q = syn__rfma(r, syn__rset(0.00139264006f), syn__rset(0.00836335309f));
  q = syn__rfma(r, q, syn__rset(0.0416665524f));
  q = syn__rfma(r, q, syn__rset(0.166665763f));
  q = syn__rfma(r, q, syn__rset(0.5f));
  q = syn__rfma(syn__rmul(r, r), q, r);
  q = syn__radd(q, syn__rset(1.0f));
  q = syn__rcast(syn__icast(q) + power);
  q = syn__rfma(z, zero, q);
  return syn__rselect(low, x, zero, q);
}

/* sigmoid: sigma(x) = 1 / (1 + e), from e = e^-x. Its derivative is sigma (1 - sigma) = (e sigma)
 * sigma. */
SYN__INLINE syn__reg SYN__N(sigmoid)(syn__reg e) {
  const syn__reg one = syn__rset(1.0f);
  return one / syn__radd(one, e);
}
/* The e of sigma, e^-x; e^87 at most, whose reciprocal is still a normal number. */
SYN__INLINE syn__reg SYN__N(exp_minus)(syn__reg x) {
  const syn__reg least = syn__rset(-87.0f);
  x = syn__rmax(least, x);
  return SYN__N(exp)(syn__rsub(syn__rset(0.0f), x));
}

/* tanh x, from e = e^2|x|: sign(x) (1 - 2 / (1 + e)); where that would cancel, |x| < 0.625, it is
   x + x^3 p(x^2), p of degree 4 (Chebyshev fit, relative error 2e-8). */
SYN__INLINE syn__reg SYN__N(tanh)(syn__reg x) {
  const syn__reg zero = syn__rset(0.0f), one = syn__rset(1.0f), edge = syn__rset(0.625f * 0.625f);
  syn__reg twice = syn__radd(x, x), minus = syn__rmul(x, syn__rset(-2.0f)); /* 2|x|: their max */
  syn__reg x2 = syn__rmul(x, x), p, far = SYN__N(exp)(syn__rmax(twice, minus)), close;
  far = SYN__N(sigmoid)(far); /* 1 / (1 + e) */
  p = syn__rfma(x2, syn__rset(-0.00609671418f), syn__rset(0.0209971797f));
  p = syn__rfma(x2, p, syn__rset(-0.0538509078f));
  p = syn__rfma(x2, p, syn__rset(0.133327693f));
  p = syn__rfma(x2, p, syn__rset(-0.333333284f));
  close = syn__rfma(syn__rmul(x, x2), p, x);
  far = syn__radd(far, far);
  far = syn__rsub(one, far);
  p = syn__rsub(zero, far);
  far = syn__rselect(zero, x, p, far);
  return syn__rselect(edge, x2, close, far);
}

/* The same on vectors. */
SYN__OP syn__v16 syn__vexp(syn__v16 a) {
  SYN__EACH(a.p[i] = SYN__N(exp)(a.p[i]));
  return a;
}
SYN__OP syn__v16 syn__vsigmoid(syn__v16 e) {
  SYN__EACH(e.p[i] = SYN__N(sigmoid)(e.p[i]));
  return e;
}
SYN__OP syn__v16 syn__vexp_minus(syn__v16 a) {
  SYN__EACH(a.p[i] = SYN__N(exp_minus)(a.p[i]));
  return a;
}
SYN__OP syn__v16 syn__vtanh(syn__v16 a) {
  SYN__EACH(a.p[i] = SYN__N(tanh)(a.p[i]));
  return a;
}

/* ==============================================================================================
   >>gemm kernels   packing, micro-kernels, the two loops around them: C = start + A B
   ============================================================================================== */

/* The inner half of the product, named as in BLIS (Van Zee and van de Geijn 2015); the outer loops
   are in >>gemm. A micro-kernel keeps a tile of C, MR x NR, in registers and adds to it, for each
   k, a column of A times a row of B (a rank-1 update). B is read in micro-panels of 16 columns, so
   NR is a number of panels. Loop 2 walks the rows of A in tiles of MR, loop 1 the panels of B; so
   MR rows of A stay in the first-level cache while the panels of B pass by from the second. (BLIS
   swaps these two loops.) Sums start at 0, at the bias or at C: bias and accumulation need no pass
   of their own and no further rounding. */

/* -- packing -- */

/* Swaps the lanes of `low` that have bit h for the lanes of `high` that have not. */
SYN__INLINE void SYN__N(swap_lanes)(syn__reg *low, syn__reg *high, int h) {
  const syn__reg a = *low, b = *high;
  *low = syn__rblend(a, syn__rswap(b, h), h);
  *high = syn__rblend(syn__rswap(a, h), b, h);
}
/* One step of a transpose, for all registers i and i + h where i has no bit h. After the steps
   h = LANES/2 ... 2, 1, lane l of register i is lane i of register l. */
SYN__INLINE void SYN__N(transpose_step)(syn__reg *r, int h) {
  int i;
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    if (!(i & h)) SYN__N(swap_lanes)(&r[i], &r[i + h], h);
}
/* dst = transpose of a LANES x LANES block of src, whose rows are `row` floats apart; rows of dst
   are 16 floats apart. Only the first `rows` rows of src exist, the others count as 0. */
SYN__INLINE void SYN__N(transpose_block)(const float *src, size_t row, int rows, float *dst) {
  syn__reg r[SYN__LANES];
  int i;
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    r[i] = i < rows ? syn__rload(src + (size_t)i * row) : syn__rset(0.0f);
  if (SYN__LANES > 8) SYN__N(transpose_step)(r, 8);
  if (SYN__LANES > 4) SYN__N(transpose_step)(r, 4);
  if (SYN__LANES > 2) SYN__N(transpose_step)(r, 2);
  if (SYN__LANES > 1) SYN__N(transpose_step)(r, 1);
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++) syn__rstore(dst + 16 * i, r[i]);
}

/* One panel of a b whose rows are not contiguous: by blocks where its columns are (row = 1), else
   float by float. */
static void SYN__N(pack_transposed)(const float *b, size_t row, size_t col, int k, int left,
                                    float *panel) {
  int i = 0, g, l;
  if (row == 1)
    for (; i + SYN__LANES <= k; i += SYN__LANES)
      for (g = 0; g < 16; g += SYN__LANES)
        SYN__N(transpose_block)(b + i + (size_t)g * col, col, left - g, panel + 16 * i + g);
  for (; i < k; i++)
    for (l = 0; l < 16; l++)
      panel[16 * i + l] = l < left ? b[(size_t)i * row + (size_t)l * col] : 0.0f;
}
/* SYN__PACK_PANELS panels of a b with contiguous rows at a time, and a prefetch 4 rows ahead: a
   single panel reads one cache line of each row, which the hardware does not prefetch. */
#define SYN__PACK_PANELS 8
static void SYN__N(pack_rows)(const float *b, size_t row, int k, float *panels) {
  const size_t panel = 16 * (size_t)k;
  int i, v;
  for (i = 0; i < k; i++, b += row, panels += 16) {
    const float *ahead = b + (i + 4 < k ? 4 * row : 0);
    for (v = 0; v < SYN__PACK_PANELS; v++) {
      SYN__PREFETCH(ahead + 16 * v);
      syn__vstore(panels + (size_t)v * panel, syn__vload(b + 16 * v));
    }
  }
}
/* Packs b [k,n] into panels [ceil(n/16)][k][16]: the micro-kernel then reads b contiguously,
   whatever its strides were. Columns past n are 0. */
static void SYN__N(pack_b)(const syn_matrix *b, float *panels) {
  const size_t panel = 16 * (size_t)b->rows;
  int i, j = 0;
  for (; b->col == 1 && j + 16 * SYN__PACK_PANELS <= b->cols; j += 16 * SYN__PACK_PANELS) {
    SYN__N(pack_rows)(b->x + j, b->row, b->rows, panels);
    panels += SYN__PACK_PANELS * panel;
  }
  for (; j < b->cols; j += 16, panels += panel) {
    const float *at = b->x + (size_t)j * b->col;
    if (b->col != 1)
      SYN__N(pack_transposed)(at, b->row, b->col, b->rows, syn__min(b->cols - j, 16), panels);
    else
      for (i = 0; i < b->rows; i++)
        syn__vstore(panels + 16 * (size_t)i,
                    syn__vload_n(at + (size_t)i * b->row, (size_t)(b->cols - j)));
  }
}
#undef SYN__PACK_PANELS

/* Packs a [m,k] with contiguous columns (row = 1) into micro-panels of MR rows,
   [ceil(m/MR)][k][MR], each followed by SYN__PANEL_END floats. All panels of one k before the next,
   so that a page of a is looked up once. Prefetches 16 steps ahead: the hardware does not follow a
   stride of pages. */
#if SYN__LANES == 16 && SYN__MR == 8
/* A register holds a column of two panels. Of two registers, k and k + 1, the low halves become one
   register of the first panel, the high halves one of the second. A last odd k is stored twice. */
static void SYN__N(pack_a)(const syn_matrix *a, float *panels) {
  const size_t panel = (size_t)a->cols * 8 + SYN__PANEL_END;
  const float *x = a->x;
  int i, j;
  for (i = 0; i < a->cols; i += 2, x += 2 * a->col, panels += 16) {
    const size_t second = i + 1 < a->cols ? a->col : 0, ahead = i + 18 < a->cols ? 16 * a->col : 0;
    for (j = 0; j < a->rows; j += 16) {
      syn__v16 low = syn__vload_n(x + j, (size_t)(a->rows - j));
      syn__v16 high = syn__vload_n(x + second + j, (size_t)(a->rows - j));
      SYN__PREFETCH(x + ahead + j);
      SYN__PREFETCH(x + second + ahead + j);
      SYN__N(swap_lanes)(&low.p[0], &high.p[0], 8);
      syn__vstore(panels + (size_t)(j / 8) * panel, low);
      if (a->rows - j > 8) syn__vstore(panels + (size_t)(j / 8 + 1) * panel, high);
    }
  }
}
#else
/* Each store is wider than MR: the next k overwrites the rest, after the last k it lies in the
   SYN__PANEL_END floats. */
static void SYN__N(pack_a)(const syn_matrix *a, float *panels) {
  const size_t panel = (size_t)a->cols * SYN__MR + SYN__PANEL_END;
  const float *x = a->x;
  int i, j;
  for (i = 0; i < a->cols; i++, x += a->col, panels += SYN__MR)
    for (j = 0; j < a->rows; j += SYN__MR) {
      SYN__PREFETCH(x + (i + 16 < a->cols ? 16 * a->col : 0) + j);
      syn__vstore(panels + (size_t)(j / SYN__MR) * panel,
                  syn__vload_n(x + j, (size_t)(a->rows - j)));
    }
}
#endif

/* -- the micro-kernel -- */

/* Where a micro-kernel is in its panels of a and b. a: the first row and a_mid, the middle one:
   with two pointers half as many multiples of a_row need registers. left: columns of b from here
   on. */
typedef struct SYN__N(cursor) {
  const float *a, *a_mid, *b, *prefetch;
  size_t a_row, a_col, b_row, b_panel, prefetch_stride, left;
} SYN__N(cursor);

/* 16 columns, of which `left` exist; only an edge tile needs the mask. */
SYN__INLINE syn__v16 SYN__N(load_panel)(const float *x, size_t left, int mode) {
  return mode == SYN__EDGE_TILE ? syn__vload_n(x, left) : syn__vload(x);
}

/* Of a streamed b, the tiles of all rows prefetch the next group of panels, each an equal share, at
   most a cache line in each step of k. Returns the floats in each step; 0: nothing to prefetch. */
SYN__INLINE size_t SYN__N(prefetch_share)(const syn__product *p, int m, int j, int panels) {
  const int tiles = p->c.rows / SYN__MR, width = 16 * panels;
  const int share = tiles <= panels ? 16 : (width + tiles - 1) / tiles;
  return (j + 2 * panels) * 16 <= p->c.cols && (m / SYN__MR + 1) * share <= width ? (size_t)share
                                                                                  : 0;
}

/* The cursor of the tile at row m and panel j. */
SYN__INLINE SYN__N(cursor)
SYN__N(cursor_at)(const syn__product *p, int m, int j, int rows, int panels, int mode) {
  SYN__N(cursor) w;
  w.a_row = p->a.row, w.a_col = p->a.col, w.b_row = p->b.row;
  w.b_panel = p->b.panel ? p->b.panel : 16;
  w.a = p->a.x + (p->a.panel ? (size_t)(m / SYN__MR) * p->a.panel + (size_t)(m % SYN__MR)
                             : (size_t)m * w.a_row);
  w.a_mid = w.a + (size_t)(rows / 2) * w.a_row;
  SYN__OPAQUE(w.a_mid);
  w.b = p->b.x + (size_t)j * w.b_panel;
  w.left = (size_t)(p->c.cols - j * 16);
  w.prefetch_stride = mode == SYN__STREAM_TILE ? SYN__N(prefetch_share)(p, m, j, panels) : 0;
  w.prefetch = w.b + (w.prefetch_stride ? (size_t)panels * w.b_panel : 0);
  w.prefetch += (size_t)(m / SYN__MR) * w.prefetch_stride * (size_t)p->a.cols;
  return w;
}
SYN__INLINE void SYN__N(advance)(SYN__N(cursor) *w, size_t steps) {
  w->a += steps * w->a_col, w->a_mid += steps * w->a_col, w->b += steps * w->b_row;
  w->prefetch += steps * w->prefetch_stride;
}

/* The rank-1 update of step i: sum[r][v] += a[r] b[v]. The order row or panel, then step makes gcc
   use one address of base, stride and offset, without an addition. */
SYN__INLINE void SYN__N(rank1)(const SYN__N(cursor) *w, syn__v16 (*sum)[8], size_t i, int rows,
                               int panels, int mode) {
  syn__v16 b[8];
  int r, v;
  if (mode == SYN__STREAM_TILE) SYN__PREFETCH_L2(w->prefetch + i * w->prefetch_stride);
  SYN__UNROLL for (v = 0; v < panels; v++) {
    const float *at = w->b + (size_t)v * w->b_panel;
    b[v] = SYN__N(load_panel)(at + i * w->b_row, w->left, mode);
  }
  SYN__UNROLL for (r = 0; r < rows; r++) {
    const float *at = r < rows / 2 ? w->a + (size_t)r * w->a_row
                                   : w->a_mid + (size_t)(r - rows / 2) * w->a_row;
    SYN__UNROLL for (v = 0; v < panels; v++) syn__vfma1(&sum[r][v], at[i * w->a_col], &b[v]);
  }
}

/* As many of k steps as fill rounds of SYN__K_UNROLL; returns their number. The caller sets strides
   to constants before it is inlined here: they become offsets in the addresses, and a round
   advances three pointers, where else every step did. */
SYN__INLINE int SYN__N(k_rounds)(SYN__N(cursor) w, syn__v16 (*sum)[8], int k, int rows, int panels,
                                 int mode) {
  int left = k;
  size_t i;
  if (w.a_row == 1) w.a_mid = w.a + rows / 2; /* gcc then needs one pointer for all rows */
  for (; left >= SYN__K_UNROLL; left -= SYN__K_UNROLL) {
    SYN__OPAQUE(w.b_panel); /* else gcc keeps its sum with every multiple of b_row */
    SYN__UNROLL for (i = 0; i < SYN__K_UNROLL; i++)
      SYN__N(rank1)(&w, sum, i, rows, panels, mode);
    SYN__N(advance)(&w, SYN__K_UNROLL);
  }
  return k - left;
}
/* k_rounds for the layouts that layers and attention have: a row-major, transposed or packed, b
   packed or row-major. 0 steps for all others. */
SYN__INLINE int SYN__N(k_unrolled)(const syn__product *p, SYN__N(cursor) w, syn__v16 (*sum)[8],
                                   int rows, int panels, int mode) {
  const int k = p->a.cols, packed_b = p->b.panel != 0;
  if (SYN__K_UNROLL == 1) return 0;
  if (p->a.col == 1 && packed_b) { /* x W^T, dy W */
    w.a_col = 1, w.b_row = 16;
    return SYN__N(k_rounds)(w, sum, k, rows, panels, mode);
  }
  if (mode == SYN__STREAM_TILE) return 0;
  if (p->a.col == 1) { /* P V */
    w.a_col = 1, w.b_panel = 16;
    return SYN__N(k_rounds)(w, sum, k, rows, panels, mode);
  }
  if (p->a.row != 1) return 0;
  w.a_row = 1;
  if (p->a.panel && packed_b) { /* dy^T x */
    w.a_col = SYN__MR, w.b_row = 16;
    return SYN__N(k_rounds)(w, sum, k, rows, panels, mode);
  }
  if (packed_b) return 0;
  w.b_panel = 16; /* P^T dY */
  return SYN__N(k_rounds)(w, sum, k, rows, panels, mode);
}

/* The micro-kernel: a tile of c, `rows` rows at m by `panels` panels at j. rows, panels and mode
   are constants where it is inlined, so that the sums stay in registers; 8 is the largest number of
   panels. Every element of c is one sum in the order of k: the size of a tile changes no bit. A
   tile of a large c prefetches its part of c, or its stores would wait for memory. */
SYN__INLINE void SYN__N(micro)(const syn__product *p, int m, int j, int rows, int panels,
                               int mode) {
  syn__v16 sum[SYN__MR][8];
  SYN__N(cursor) w = SYN__N(cursor_at)(p, m, j, rows, panels, mode);
  float *c = p->c.x + (size_t)m * p->c.row + (size_t)j * 16;
  const float *from = p->accumulate ? c : p->bias ? p->bias + (size_t)j * 16 : syn__zeros;
  const size_t row = p->accumulate ? p->c.row : 0; /* 0: all rows start from the same 16 floats */
  const int large = rows > 4;
  const size_t size = (size_t)p->c.rows * p->c.row; /* floats of c */
  int r, v, k = 0;
  if (mode == SYN__STREAM_TILE ? size > SYN__L2_FLOATS
                               : mode == SYN__FULL_TILE && large && size > 8192)
    SYN__UNROLL for (r = 0; r < rows; r++)
      SYN__UNROLL for (v = 0; v < panels; v++) SYN__PREFETCH_L2(c + (size_t)r * p->c.row + v * 16);
  SYN__UNROLL for (r = 0; r < rows; r++, from += row)
    SYN__UNROLL for (v = 0; v < panels; v++)
      sum[r][v] = SYN__N(load_panel)(from + v * 16, w.left, mode);
  if (mode != SYN__EDGE_TILE && large) k = SYN__N(k_unrolled)(p, w, sum, rows, panels, mode);
  for (SYN__N(advance)(&w, (size_t)k); k < p->a.cols; k++, SYN__N(advance)(&w, 1))
    SYN__N(rank1)(&w, sum, 0, rows, panels, mode);
  SYN__UNROLL for (r = 0; r < rows; r++, c += p->c.row)
    SYN__UNROLL for (v = 0; v < panels; v++) {
      if (mode == SYN__EDGE_TILE) syn__vstore_n(c, sum[r][v], w.left);
      else syn__vstore(c + v * 16, sum[r][v]);
    }
}

/* The micro-kernels, each a function of its own: inlined into the loops below, gcc would have too
   few registers for their addresses. full: as many whole panels as the registers hold; edge: one
   panel, perhaps not whole; pair: two whole panels. */
SYN__NOINLINE void SYN__N(micro_full)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, SYN__MR, SYN__NR, SYN__FULL_TILE);
}
SYN__NOINLINE void SYN__N(micro_stream)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, SYN__MR, SYN__NR, SYN__STREAM_TILE);
}
SYN__NOINLINE void SYN__N(micro_edge)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, SYN__MR, 1, SYN__EDGE_TILE);
}
#if SYN__NR == 3
SYN__NOINLINE void SYN__N(micro_pair)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, SYN__MR, 2, SYN__FULL_TILE);
}
#endif
#if SYN__ROWS_2 > 1
SYN__NOINLINE void SYN__N(micro_2_full)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, SYN__ROWS_2, SYN__PANELS_2, SYN__FULL_TILE);
}
SYN__NOINLINE void SYN__N(micro_2_edge)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, SYN__ROWS_2, 1, SYN__EDGE_TILE);
}
#endif
#ifdef SYN__PANELS_3
SYN__NOINLINE void SYN__N(micro_3_full)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 2, SYN__PANELS_3, SYN__FULL_TILE);
}
SYN__NOINLINE void SYN__N(micro_3_edge)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 2, 1, SYN__EDGE_TILE);
}
#endif
SYN__NOINLINE void SYN__N(micro_1_full)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 1, SYN__PANELS_1, SYN__FULL_TILE);
}
SYN__NOINLINE void SYN__N(micro_1_pair)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 1, 2, SYN__FULL_TILE);
}
SYN__NOINLINE void SYN__N(micro_1_edge)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 1, 1, SYN__EDGE_TILE);
}

/* Row tiles, largest first; the later ones take the rows that are left. The fewer the rows, the
   more panels: an fma takes about 4 cycles and two begin in each: at least 8 sums are needed. */
static const syn__row_tile SYN__N(row_tiles)[] = {
#if SYN__NR == 3
    {SYN__MR, SYN__NR, SYN__N(micro_full), SYN__N(micro_pair), SYN__N(micro_edge)},
#else
    {SYN__MR, SYN__NR, SYN__N(micro_full), NULL, SYN__N(micro_edge)},
#endif
#if SYN__ROWS_2 > 1
    {SYN__ROWS_2, SYN__PANELS_2, SYN__N(micro_2_full), NULL, SYN__N(micro_2_edge)},
#endif
#ifdef SYN__PANELS_3
    {2, SYN__PANELS_3, SYN__N(micro_3_full), NULL, SYN__N(micro_3_edge)},
#endif
    {1, SYN__PANELS_1, SYN__N(micro_1_full), SYN__N(micro_1_pair), SYN__N(micro_1_edge)},
};

/* -- the loops around it -- */

/* The whole tiles of a streamed b: loops 1 and 2 swapped, so that each group of panels comes from
   memory once. Returns the first panel that is left. */
static int SYN__N(gemm_streamed)(const syn__product *p, int m0, int m1, int p0, int whole) {
  int m;
  for (; p0 + SYN__NR <= whole; p0 += SYN__NR)
    for (m = m0; m + SYN__MR <= m1; m += SYN__MR) SYN__N(micro_stream)(p, m, p0);
  return p0;
}

/* Panels of b that stay in the second-level cache while all rows pass: a multiple of every NR. */
static int SYN__N(panels_in_cache)(const syn__product *p, int rows) {
  const int k = p->a.cols;
  int unit = !p->streamed || k <= 512 ? 24 : rows < SYN__ROWS_2 ? SYN__PANELS_1 : 12;
  int panels = SYN__L2_FLOATS / (16 * (k > 1 ? k : 1)) / unit * unit;
  return panels > unit ? panels : unit;
}

/* Rows m0..m1 and panels p0..p1 of c. Panels that fill no full tile go in pairs, then one by one
   with a mask; four go as two pairs, not as three and one. */
static void SYN__N(gemm)(const syn__product *p, int m0, int m1, int p0, int p1) {
  const int step = SYN__N(panels_in_cache)(p, m1 - m0);
  const syn__row_tile *s;
  for (; p0 < p1; p0 += step) {
    const int end = syn__min(p1, p0 + step), whole = syn__min(end, p->c.cols / 16);
    int m = m0, j, first = p->streamed ? SYN__N(gemm_streamed)(p, m0, m1, p0, whole) : p0;
    for (s = SYN__N(row_tiles); m < m1; s++, first = p0)
      for (; m + s->rows <= m1; m += s->rows) { /* loop 2 */
        for (j = first; j + s->panels <= whole && !(s->pair && whole - j == 4); j += s->panels)
          s->full(p, m, j); /* loop 1 */
        for (; s->pair && j + 2 <= whole; j += 2) s->pair(p, m, j);
        for (; j < end; j++) s->edge(p, m, j);
      }
  }
}

/* ==============================================================================================
   >>decoding kernels   one new token: int8 products, attention scores, attention output
   ============================================================================================== */

/* Each kernel computes up to four vectors of its output at a time, so that four sums are
   independent: first as often as there are four, then one by one. */

/* `count` panels. An int8 costs one conversion more than a float and a quarter of the memory
   traffic. */
SYN__INLINE void SYN__N(panels_int8)(float *z, const float *x, const signed char *q, size_t n,
                                     int count) {
  syn__v16 sum[4], b;
  size_t i;
  int v;
  SYN__UNROLL for (v = 0; v < count; v++) sum[v] = syn__vset(0.0f);
  for (i = 0; i < n; i++)
    SYN__UNROLL for (v = 0; v < count; v++) {
      b = syn__vload_i8(q + 16 * (i + (size_t)v * n));
      syn__vfma1(&sum[v], x[i], &b);
    }
  SYN__UNROLL for (v = 0; v < count; v++) syn__vstore(z + 16 * v, sum[v]);
}
static void SYN__N(gemv_int8)(float *z, const float *x, const signed char *q, size_t n,
                              size_t panels) {
  for (; panels >= 4; panels -= 4, z += 64, q += 64 * n) SYN__N(panels_int8)(z, x, q, n, 4);
  for (; panels > 0; panels--, z += 16, q += 16 * n) SYN__N(panels_int8)(z, x, q, n, 1);
}

/* -- attention of one new token -- */

/* `count` heads; a vector holds 16 keys of a head. Every score is one chain over i. */
SYN__INLINE void SYN__N(scores_of)(float *s, size_t s_row, const float *q, const float *k, size_t c,
                                   int count) {
  syn__v16 sum[4], b;
  size_t i;
  int v;
  SYN__UNROLL for (v = 0; v < count; v++) sum[v] = syn__vset(0.0f);
  for (i = 0; i < c; i++)
    SYN__UNROLL for (v = 0; v < count; v++) {
      b = syn__vload(k + 16 * (i + (size_t)v * c));
      syn__vfma1(&sum[v], q[i + (size_t)v * c], &b);
    }
  SYN__UNROLL for (v = 0; v < count; v++) syn__vstore(s + (size_t)v * s_row, sum[v]);
}
static void SYN__N(scores)(float *s, size_t s_row, const float *q, const float *k, size_t heads,
                           size_t c) {
  for (; heads >= 4; heads -= 4, s += 4 * s_row, q += 4 * c, k += 64 * c)
    SYN__N(scores_of)(s, s_row, q, k, c, 4);
  for (; heads > 0; heads--, s += s_row, q += c, k += 16 * c)
    SYN__N(scores_of)(s, s_row, q, k, c, 1);
}

/* `count` vectors of `size` columns each, from column i of y on. */
SYN__INLINE void SYN__N(values_of)(float *y, const syn__weighted_values *j, size_t i, size_t size,
                                   int count) {
  const float *p[4];
  syn__v16 sum[4], b;
  size_t k;
  int v;
  SYN__UNROLL for (v = 0; v < count; v++) {
    p[v] = j->p + (i + 16 * (size_t)v) / j->c * j->p_row;
    sum[v] = syn__vset(0.0f);
  }
  for (k = 0; k < j->count; k++) {
    const float *row = j->v + (j->at ? (size_t)j->at[k] : k) * j->v_row + i;
    SYN__UNROLL for (v = 0; v < count; v++) {
      b = syn__vload_n(row + 16 * v, size);
      syn__vfma1(&sum[v], p[v][k], &b);
    }
  }
  SYN__UNROLL for (v = 0; v < count; v++) syn__vstore_n(y + i + 16 * v, sum[v], size);
}
/* No vector spans two heads, whose attention weights differ. */
static void SYN__N(values)(float *y, const syn__weighted_values *j) {
  size_t i = 0, c = j->c, e = j->heads * c, n;
  for (; c % 16 == 0 && i + 64 <= e; i += 64) SYN__N(values_of)(y, j, i, 16, 4);
  for (; i < e; i += n) {
    n = c - i % c < 16 ? c - i % c : 16;
    SYN__N(values_of)(y, j, i, n, 1);
  }
}

/* The kernels from here on are bound by memory and by exp: at O1 they run as fast as at O2 and
   compile faster. expensive-optimizations inserts the vzeroupper before a call, without which every
   SSE instruction of the callee is slow. Og would leave vectors of two registers in memory; the
   scalar ones are there anyway. */
#if SYN__LEVELS
#pragma GCC push_options
#if SYN__LANES == 1
#pragma GCC optimize("Og", "expensive-optimizations", "fp-contract=off")
#else
#pragma GCC optimize("O1", "expensive-optimizations", "fp-contract=off")
#endif
#endif

/* ==============================================================================================
   >>vector kernels   elementwise operations, sums, activations, recurrent cells
   ============================================================================================== */

/* y may be a or b: a vector is read before it is written. Bound by memory, so not unrolled. */
static void SYN__N(add)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vstore_n(y + i, syn__vadd(syn__vload_n(a + i, n - i), syn__vload_n(b + i, n - i)), n - i);
}
static void SYN__N(sub)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vstore_n(y + i, syn__vsub(syn__vload_n(a + i, n - i), syn__vload_n(b + i, n - i)), n - i);
}
static void SYN__N(mul)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vstore_n(y + i, syn__vmul(syn__vload_n(a + i, n - i), syn__vload_n(b + i, n - i)), n - i);
}
static void SYN__N(acc)(float *y, const float *a, size_t n) { SYN__N(add)(y, y, a, n); }

/* y += a b and y += s x with one rounding */
static void SYN__N(acc_mul)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 r = syn__vload_n(a + i, n - i);
    r = syn__vfma(r, syn__vload_n(b + i, n - i), syn__vload_n(y + i, n - i));
    syn__vstore_n(y + i, r, n - i);
  }
}
static void SYN__N(scale)(float *y, float s, const float *x, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16)
    syn__vstore_n(y + i, syn__vmul(syn__vset(s), syn__vload_n(x + i, n - i)), n - i);
}
static void SYN__N(acc_scale)(float *y, float s, const float *x, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 r = syn__vfma(syn__vset(s), syn__vload_n(x + i, n - i), syn__vload_n(y + i, n - i));
    syn__vstore_n(y + i, r, n - i);
  }
}

/* -- reductions -- */

/* One vector of sums, one chain of additions; several would give other bits. A tail adds 0 to its
   lanes, which changes nothing: no lane is -0, each began at 0. */
static float SYN__N(sum)(const float *x, size_t n) {
  syn__v16 s = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) s = syn__vadd(s, syn__vload_n(x + i, n - i));
  return syn__vsum(s);
}
static float SYN__N(dot)(const float *a, const float *b, size_t n) {
  syn__v16 s = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16)
    s = syn__vfma(syn__vload_n(a + i, n - i), syn__vload_n(b + i, n - i), s);
  return syn__vsum(s);
}
/* Eight independent sums, so that no fma waits for the one before it. Scalar: the rows of b lie
   anywhere, so no vector can be loaded across them. */
static void SYN__N(dots)(float *s, const float *a, const float *const *b, size_t n,
                         size_t count) {
  size_t i, j;
  for (j = 0; j + 8 <= count; j += 8) {
    const float *const *r = b + j;
    float s0 = s[j], s1 = s[j + 1], s2 = s[j + 2], s3 = s[j + 3];
    float s4 = s[j + 4], s5 = s[j + 5], s6 = s[j + 6], s7 = s[j + 7];
    for (i = 0; i < n; i++) {
      float x = a[i];
      s0 = syn__fma1(x, r[0][i], s0), s1 = syn__fma1(x, r[1][i], s1);
      s2 = syn__fma1(x, r[2][i], s2), s3 = syn__fma1(x, r[3][i], s3);
      s4 = syn__fma1(x, r[4][i], s4), s5 = syn__fma1(x, r[5][i], s5);
      s6 = syn__fma1(x, r[6][i], s6), s7 = syn__fma1(x, r[7][i], s7);
    }
    s[j] = s0, s[j + 1] = s1, s[j + 2] = s2, s[j + 3] = s3;
    s[j + 4] = s4, s[j + 5] = s5, s[j + 6] = s6, s[j + 7] = s7;
  }
  for (; j < count; j++)
    for (i = 0; i < n; i++) s[j] = syn__fma1(a[i], b[j][i], s[j]);
}
/* -inf for n = 0; a NaN is ignored, since exp of it makes the sum NaN anyway. Lanes past n must be
   -inf, not the 0 they are read as. */
static float SYN__N(max)(const float *x, size_t n) {
  const syn__v16 least = syn__vset(-INFINITY);
  syn__v16 t = least, t2 = least;
  size_t i;
  for (i = 0; i + 32 <= n; i += 32) {
    t = syn__vmax(syn__vload(x + i), t);
    t2 = syn__vmax(syn__vload(x + i + 16), t2);
  }
  t = syn__vmax(t2, t);
  for (; i < n; i += 16) t = syn__vmax(syn__vfill(syn__vload_n(x + i, n - i), n - i, least), t);
  return syn__vmax_lane(t);
}

/* The maximum of each block: a search for the largest elements then looks at few blocks. */
static void SYN__N(block_max)(float *out, const float *x, size_t n) {
  size_t i;
  for (i = 0; i < n; i += SYN__BLOCK)
    *out++ = SYN__N(max)(x + i, n - i < SYN__BLOCK ? n - i : SYN__BLOCK);
}

/* -- activations -- */

/* swish x sigma(x); gelu x sigma(u), u = 2 sqrt(2/pi) (x + 0.044715 x^3), which is the usual
   0.5 x (1 + tanh(u/2)) (Hendrycks & Gimpel 2016); a NaN passes through all of them. */
#define SYN__GELU_1 1.59576912f   /* 2 sqrt(2/pi) */
#define SYN__GELU_3 0.0713548163f /* that times 0.044715 */

/* The exponential of an activation: e^-u, u = x but for gelu. The function and its derivative both
   call it, so both see the same e. */
SYN__OP syn__v16 SYN__N(act_exp)(int which, syn__v16 x) {
  if (which == SYN__GELU)
    x = syn__vmul(x, syn__vfma(syn__vset(SYN__GELU_3), syn__vmul(x, x), syn__vset(SYN__GELU_1)));
  return syn__vexp_minus(x);
}

/* relu keeps a NaN, since 0 > NaN is false: an error in the weights shows in the loss. */
static void SYN__N(act)(int which, float *y, const float *x, size_t n) {
  const syn__v16 zero = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 a = syn__vload_n(x + i, n - i), r;
    if (which == SYN__RELU) r = syn__vmax(zero, a);
    else if (which == SYN__TANH) r = syn__vtanh(a);
    else r = syn__vsigmoid(SYN__N(act_exp)(which, a));
    if (which == SYN__GELU || which == SYN__SWISH) r = syn__vmul(a, r);
    syn__vstore_n(y + i, r, n - i);
  }
}

/* start - y^2, rounded once: the derivative of tanh with y = tanh and start 1, that of sigma with
   y = sigma and start y. */
SYN__INLINE syn__v16 SYN__N(minus_square)(syn__v16 y, syn__v16 start) {
  return syn__vfma(syn__vsub(syn__vset(0.0f), y), y, start);
}

/* f'(x): relu 1 where x > 0; tanh 1 - tanh^2; sigmoid s' = s (1 - s); x s(u): s + x s' u',
   u' = 1 for swish and 2 sqrt(2/pi) (1 + 3 * 0.044715 x^2) for gelu. All are computed from x, which
   is saved for backward; for relu y serves as well, for y > 0 where x > 0. */
SYN__INLINE syn__v16 SYN__N(derivative)(int which, syn__v16 x) {
  const syn__v16 zero = syn__vset(0.0f), one = syn__vset(1.0f);
  syn__v16 e, s, slope, u = one;
  if (which == SYN__RELU) return syn__vselect(x, zero, one, zero);
  if (which == SYN__TANH) return SYN__N(minus_square)(syn__vtanh(x), one);
  e = SYN__N(act_exp)(which, x);
  s = syn__vsigmoid(e);
  slope = syn__vmul(syn__vmul(e, s), s);
  if (which == SYN__SIGMOID) return slope;
  if (which == SYN__GELU)
    u = syn__vfma(syn__vset(3.0f * SYN__GELU_3), syn__vmul(x, x), syn__vset(SYN__GELU_1));
  return syn__vfma(syn__vmul(x, slope), u, s);
}

/* dx += dy f'(x) */
static void SYN__N(act_back)(int which, float *dx, const float *x, const float *dy, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 d = SYN__N(derivative)(which, syn__vload_n(x + i, n - i));
    d = syn__vfma(syn__vload_n(dy + i, n - i), d, syn__vload_n(dx + i, n - i));
    syn__vstore_n(dx + i, d, n - i);
  }
}

/* In place: y = dy becomes (dy s) f'(x). */
static void SYN__N(slope)(int which, float *y, const float *x, float s, size_t n) {
  const syn__v16 scale = syn__vset(s), zero = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 d = syn__vmul(syn__vload_n(y + i, n - i), scale), a = syn__vload_n(x + i, n - i);
    if (which == SYN__RELU) d = syn__vselect(a, zero, d, zero);
    else d = syn__vmul(d, SYN__N(derivative)(which, a));
    syn__vstore_n(y + i, d, n - i);
  }
}

/* Gated linear unit (Dauphin et al. 2017): y = a sigma(b). sigma' = (e s) s with e = e^-b, s =
   sigma(b), which keeps its digits where s is near 1 and 1 - s would lose them. */
static void SYN__N(glu)(float *y, const float *a, const float *b, size_t n) {
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 s = syn__vsigmoid(syn__vexp_minus(syn__vload_n(b + i, n - i)));
    syn__vstore_n(y + i, syn__vmul(syn__vload_n(a + i, n - i), s), n - i);
  }
}

/* dy/da = s, dy/db = a s', both from one exp. da and db may be halves of one row. */
static void SYN__N(glu_back)(float *da, float *db, const float *a, const float *b, const float *dy,
                             size_t n) {
  size_t i, left;
  for (i = 0; i < n; i += 16) {
    syn__v16 e, s, d, r;
    left = n - i;
    e = syn__vexp_minus(syn__vload_n(b + i, left));
    s = syn__vsigmoid(e);
    d = syn__vload_n(dy + i, left);
    r = syn__vfma(d, s, syn__vload_n(da + i, left));
    d = syn__vmul(d, syn__vload_n(a + i, left));
    syn__vstore_n(da + i, r, left);
    r = syn__vfma(d, syn__vmul(syn__vmul(e, s), s), syn__vload_n(db + i, left));
    syn__vstore_n(db + i, r, left);
  }
}

/* -- recurrent cells -- */

/* 16 numbers of a gate: gate = f(gate + part) */
SYN__INLINE syn__v16 SYN__N(gate)(int which, float *gate, const float *part, size_t left) {
  syn__v16 x = syn__vadd(syn__vload_n(gate, left), syn__vload_n(part, left));
  x = which == SYN__TANH ? syn__vtanh(x) : syn__vsigmoid(syn__vexp_minus(x));
  syn__vstore_n(gate, x, left);
  return x;
}
/* c = sigma(f) past + sigma(i) tanh(g), h = sigma(o) tanh(c); gates i, f, g, o. */
static void SYN__N(lstm)(float *h, float *c, float *gates, const float *part, const float *past,
                         size_t n) {
  size_t k;
  for (k = 0; k < n; k += 16) {
    syn__v16 x, g, old = past ? syn__vload_n(past + k, n - k) : syn__vset(0.0f);
    x = SYN__N(gate)(SYN__SIGMOID, gates + k, part + k, n - k);
    g = SYN__N(gate)(SYN__TANH, gates + 2 * n + k, part + 2 * n + k, n - k);
    g = syn__vmul(x, g);
    x = SYN__N(gate)(SYN__SIGMOID, gates + n + k, part + n + k, n - k);
    g = syn__vfma(x, old, g);
    syn__vstore_n(c + k, g, n - k);
    x = SYN__N(gate)(SYN__SIGMOID, gates + 3 * n + k, part + 3 * n + k, n - k);
    g = syn__vtanh(g);
    syn__vstore_n(h + k, syn__vmul(x, g), n - k);
  }
}
/* m = W_h's share of n, n = tanh(a + r m), h = (1-z) n + z past = n + z (past - n); gates r, z,
   n. */
static void SYN__N(gru)(float *h, float *m, float *gates, const float *part, const float *past,
                        size_t n) {
  size_t k;
  for (k = 0; k < n; k += 16) {
    syn__v16 x, y, old = past ? syn__vload_n(past + k, n - k) : syn__vset(0.0f);
    x = SYN__N(gate)(SYN__SIGMOID, gates + k, part + k, n - k);
    y = syn__vload_n(part + 2 * n + k, n - k);
    syn__vstore_n(m + k, y, n - k);
    y = syn__vfma(x, y, syn__vload_n(gates + 2 * n + k, n - k));
    y = syn__vtanh(y);
    syn__vstore_n(gates + 2 * n + k, y, n - k);
    x = SYN__N(gate)(SYN__SIGMOID, gates + n + k, part + n + k, n - k);
    syn__vstore_n(h + k, syn__vfma(x, syn__vsub(old, y), y), n - k);
  }
}

/* With t = tanh(c): dc += dh o (1 - t^2); do = dh t o (1-o), di = dc g i (1-i),
   df = dc past f (1-f), dg = dc i (1-g^2); what reaches past is dc f. */
static void SYN__N(lstm_back)(float *gates, float *dc, const float *dh, const float *c,
                              const float *past, size_t n) {
  const syn__v16 one = syn__vset(1.0f);
  size_t k;
  for (k = 0; k < n; k += 16) {
    size_t left = n - k;
    float *to = gates + k;
    syn__v16 i = syn__vload_n(to, left), f = syn__vload_n(to + n, left),
             d = syn__vload_n(dh + k, left);
    syn__v16 g = syn__vload_n(to + 2 * n, left), o = syn__vload_n(to + 3 * n, left);
    syn__v16 t = syn__vload_n(c + k, left), x;
    t = syn__vtanh(t);
    x = syn__vmul(syn__vmul(d, t), SYN__N(minus_square)(o, o));
    syn__vstore_n(to + 3 * n, x, left);
    d = syn__vfma(syn__vmul(d, o), SYN__N(minus_square)(t, one), syn__vload_n(dc + k, left));
    x = syn__vmul(syn__vmul(d, g), SYN__N(minus_square)(i, i));
    syn__vstore_n(to, x, left);
    x = syn__vmul(d, past ? syn__vload_n(past + k, left) : syn__vset(0.0f));
    syn__vstore_n(to + n, syn__vmul(x, SYN__N(minus_square)(f, f)), left);
    x = syn__vmul(syn__vmul(d, i), SYN__N(minus_square)(g, one));
    syn__vstore_n(to + 2 * n, x, left);
    syn__vstore_n(dc + k, syn__vmul(d, f), left);
  }
}
/* dn = dh (1-z) (1-n^2), dz = dh (past - n) z (1-z), dr = dn m r (1-r); part gets dr, dz and dn r;
   what reaches past beside it is dh z. */
static void SYN__N(gru_back)(float *gates, float *dpart, float *dh, const float *m,
                             const float *past, size_t n) {
  const syn__v16 one = syn__vset(1.0f);
  size_t k;
  for (k = 0; k < n; k += 16) {
    size_t left = n - k;
    float *to = gates + k, *part = dpart + k;
    syn__v16 r = syn__vload_n(to, left), z = syn__vload_n(to + n, left),
             d = syn__vload_n(dh + k, left);
    syn__v16 y = syn__vload_n(to + 2 * n, left), x;
    x = syn__vsub(past ? syn__vload_n(past + k, left) : syn__vset(0.0f), y);
    x = syn__vmul(syn__vmul(d, x), SYN__N(minus_square)(z, z));
    syn__vstore_n(to + n, x, left);
    syn__vstore_n(part + n, x, left);
    syn__vstore_n(dh + k, syn__vmul(d, z), left);
    d = syn__vmul(syn__vmul(d, syn__vsub(one, z)), SYN__N(minus_square)(y, one));
    syn__vstore_n(to + 2 * n, d, left);
    syn__vstore_n(part + 2 * n, syn__vmul(d, r), left);
    x = syn__vmul(syn__vmul(d, syn__vload_n(m + k, left)), SYN__N(minus_square)(r, r));
    syn__vstore_n(to, x, left);
    syn__vstore_n(part, x, left);
  }
}

/* ==============================================================================================
   >>row kernels   softmax, loss, normalization: kernels that reduce a row
   ============================================================================================== */

/* The maximum, subtracted before exp so that none overflows; 0 for a row of -inf only. */
SYN__INLINE float SYN__N(softmax_shift)(const float *x, size_t n) {
  float top = SYN__N(max)(x, n);
  return top > -INFINITY ? top : 0.0f;
}

/* y_i = exp(x_i - shift); returns the sum. y null: only the sum. Lanes past n are -inf, not the 0
   they are read as. `linear`, when not null, gets the sum of x_i - shift: logits of thousands,
   summed without the shift, would leave it no digits. */
static float SYN__N(exps)(float *y, const float *x, float shift, size_t n, float *linear) {
  const syn__v16 least = syn__vset(-INFINITY), zero = syn__vset(0.0f);
  syn__v16 s = zero, plain = zero, e;
  size_t i;
  for (i = 0; i < n; i += 16) {
    e = syn__vsub(syn__vload_n(x + i, n - i), syn__vset(shift));
    if (linear) plain = syn__vadd(plain, syn__vfill(e, n - i, zero));
    e = syn__vexp(syn__vfill(e, n - i, least));
    s = syn__vadd(s, e);
    if (y) syn__vstore_n(y + i, e, n - i);
  }
  if (linear) *linear = syn__vsum(plain);
  return syn__vsum(s);
}

/* softmax_i = exp(x_i) / sum_j exp(x_j). A row of -inf only (all masked) becomes 0, not 0 / 0. One
   division a row, then products: another rounding than x / sum, but the same in every ISA. */
static void SYN__N(softmax)(float *y, const float *x, size_t n) {
  float sum = SYN__N(exps)(y, x, SYN__N(softmax_shift)(x, n), n, NULL);
  SYN__N(scale)(y, sum == 0.0f ? 0.0f : 1.0f / sum, y, n);
}

/* dp_i/dx_j = p_i ([i = j] - p_j), so dx_i = p_i (dp_i - sum_j p_j dp_j); masked: p = 0 gives 0. */
static void SYN__N(softmax_back)(float *ds, const float *p, const float *dp, size_t n) {
  float mean = SYN__N(dot)(p, dp, n);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 d = syn__vsub(syn__vload_n(dp + i, n - i), syn__vset(mean));
    syn__vstore_n(ds + i, syn__vmul(syn__vload_n(p + i, n - i), d), n - i);
  }
}

/* -- additive scores -- */

/* w is 0 past n. One chain of fmas for each key: tanh takes much longer than its latency. */
static void SYN__N(additive)(float *s, const syn__additive *j) {
  size_t key, i;
  for (key = 0; key < j->keys; key++) {
    const float *b = j->b + key * j->b_row;
    syn__v16 sum = syn__vset(0.0f);
    for (i = 0; i < j->n; i += 16) {
      syn__v16 x = syn__vadd(syn__vload_n(j->a + i, j->n - i), syn__vload_n(b + i, j->n - i));
      x = syn__vtanh(x);
      sum = syn__vfma(syn__vload_n(j->w + i, j->n - i), x, sum);
    }
    s[key] = syn__vsum(sum);
  }
}

/* With t = tanh(a + b): dw += ds t; da, db += ds w (1 - t^2). tanh is recomputed: saving it would
   take keys n floats a query. 16 columns at a time pass over all keys, so da and dw stay in
   registers; a column is one chain in the order of the keys. */
static void SYN__N(additive_back)(const syn__additive *j, const float *ds, float *da, float *db,
                                  float *dw) {
  const syn__v16 one = syn__vset(1.0f);
  size_t key, i;
  for (i = 0; i < j->n; i += 16) {
    size_t left = j->n - i;
    syn__v16 a = syn__vload_n(j->a + i, left), w = syn__vload_n(j->w + i, left);
    syn__v16 sum = syn__vload_n(da + i, left), sum_w = syn__vload_n(dw + i, left);
    for (key = 0; key < j->keys; key++) {
      syn__v16 d = syn__vset(ds[key]),
               t = syn__vadd(a, syn__vload_n(j->b + key * j->b_row + i, left));
      t = syn__vtanh(t);
      sum_w = syn__vfma(d, t, sum_w);
      d = syn__vmul(syn__vmul(d, w), SYN__N(minus_square)(t, one));
      sum = syn__vadd(sum, d);
      t = syn__vadd(syn__vload_n(db + key * j->n + i, left), d);
      syn__vstore_n(db + key * j->n + i, t, left);
    }
    syn__vstore_n(da + i, sum, left);
    syn__vstore_n(dw + i, sum_w, left);
  }
}

/* -- logarithms of sums -- */

/* ln sum_v exp z_v; -inf for n = 0. In double: beam search compares sums of z - this. */
static float SYN__N(log_sum_exp)(const float *z, size_t n, float top) {
  float shift = top > -INFINITY ? top : 0.0f;
  return (float)((double)shift + syn__log((double)SYN__N(exps)(NULL, z, shift, n, NULL)));
}

/* Cross-entropy with label smoothing (Szegedy et al. 2016, section 7; here the label is not one of
   the classes that share eps). The target is q = 1 - eps at the label, eps/(n-1) at every other
   class:
     log p_v = z_v - shift - log_sum
     loss = -(1 - eps) log p_label - eps/(n-1) (sum_v log p_v - log p_label)
     sum_v log p_v = sum_v (z_v - shift) - n log_sum
     dloss/dz_v = p_v - q_v, times scale
   The logarithms are double: for a sure model the loss is a small difference of large numbers. The
   gradient at the label is computed before the row is overwritten. scale 0: the loss only. */
static float SYN__N(loss)(float *z, size_t n, int label, float eps, float scale) {
  float shift = SYN__N(softmax_shift)(z, n), rest = n > 1 ? eps / (float)(n - 1) : 0.0f,
        hit = 1.0f - eps;
  double log_sum, log_label = (double)z[label] - (double)shift, loss;
  float shifted = 0.0f, sum, inverse;
  size_t i;
  sum = SYN__N(exps)(scale != 0.0f ? z : NULL, z, shift, n, rest != 0.0f ? &shifted : NULL);
  inverse = 1.0f / sum;
  log_sum = syn__log((double)sum);
  log_label -= log_sum;
  loss = (double)hit * log_label;
  if (rest != 0.0f) loss += (double)rest * ((double)shifted - (double)n * log_sum - log_label);
  if (scale != 0.0f) {
    hit = (z[label] * inverse - hit) * scale;
    for (i = 0; i < n; i += 16) {
      syn__v16 p = syn__vmul(syn__vload_n(z + i, n - i), syn__vset(inverse));
      p = syn__vmul(syn__vsub(p, syn__vset(rest)), syn__vset(scale));
      syn__vstore_n(z + i, p, n - i);
    }
    z[label] = hit;
  }
  return (float)-loss;
}

/* -- normalisation -- */

/* layer_norm (Ba, Kiros, Hinton 2016): xhat = (x - mean) rstd, y = xhat g + b, with the variance
   1/n sum (x - mean)^2 and rstd = 1 / sqrt(variance + eps). rms_norm (Zhang, Sennrich 2019): mean
   0. Two passes over the row: E x^2 - (E x)^2 would lose all digits of a row far from 0. Threads
   split the rows, but for the gradients of g and b, sums over rows, the columns. */
static void SYN__N(norm)(float *y, const float *x, const float *g, const float *b, size_t n,
                         float *stats) {
  const syn__v16 zero = syn__vset(0.0f);
  float count = n ? (float)n : 1.0f, mean = b ? SYN__N(sum)(x, n) / count : 0.0f, rstd;
  syn__v16 s = zero, d;
  size_t i;
  for (i = 0; i < n; i += 16) {
    d = syn__vsub(syn__vload_n(x + i, n - i), syn__vset(mean));
    d = syn__vfill(d, n - i, zero);
    s = syn__vfma(d, d, s);
  }
  rstd = 1.0f / sqrtf(syn__vsum(s) / count + SYN__NORM_EPS);
  stats[0] = mean;
  stats[1] = rstd;
  for (i = 0; i < n; i += 16) {
    d = syn__vmul(syn__vsub(syn__vload_n(x + i, n - i), syn__vset(mean)), syn__vset(rstd));
    d = syn__vfma(d, syn__vload_n(g + i, n - i), b ? syn__vload_n(b + i, n - i) : zero);
    syn__vstore_n(y + i, d, n - i);
  }
}

/* h = dy g; dx += rstd (h - mean(h) - xhat mean(h xhat)); rms_norm: without mean(h). h and xhat are
   computed twice: cheaper than a buffer. */
static void SYN__N(norm_back)(float *dx, const syn__norm_rows *j, size_t row) {
  const size_t n = j->width;
  const float *x = j->x + row * n, *dy = j->dy + row * n, *g = j->g, *stats = j->stats + 2 * row;
  const syn__v16 zero = syn__vset(0.0f), mean = syn__vset(stats[0]), rstd = syn__vset(stats[1]);
  syn__v16 sum = zero, dot = zero, h, xhat;
  float count = n ? (float)n : 1.0f;
  size_t i;
  for (i = 0; i < n; i += 16) {
    h = syn__vmul(syn__vload_n(dy + i, n - i), syn__vload_n(g + i, n - i));
    xhat = syn__vmul(syn__vsub(syn__vload_n(x + i, n - i), mean), rstd);
    sum = syn__vadd(sum, h);
    dot = syn__vfma(h, xhat, dot); /* h is 0 past n */
  }
  sum = j->rms ? zero : syn__vset(syn__vsum(sum) / count);
  dot = syn__vset(-(syn__vsum(dot) / count));
  for (i = 0; i < n; i += 16) {
    h = syn__vmul(syn__vload_n(dy + i, n - i), syn__vload_n(g + i, n - i));
    xhat = syn__vmul(syn__vsub(syn__vload_n(x + i, n - i), mean), rstd);
    h = syn__vfma(xhat, dot, syn__vsub(h, sum));
    syn__vstore_n(dx + row * n + i, syn__vfma(rstd, h, syn__vload_n(dx + row * n + i, n - i)),
                  n - i);
  }
}

/* dg += dy xhat, db += dy, rows in order. xhat is recomputed by the two steps of forward: another
   formula would give other bits. */
static void SYN__N(norm_back_columns)(float *dg, float *db, const syn__norm_rows *j, size_t c0,
                                      size_t c1) {
  size_t c, r, rows = j->rows, width = j->width;
  for (c = c0; c < c1; c += 32) {
    const float *x = j->x + c, *dy = j->dy + c, *stats = j->stats;
    size_t left = c1 - c, more = left > 16 ? left - 16 : 0, next = more ? 16 : 0;
    syn__v16 g = syn__vload_n(dg + c, left), b = db ? syn__vload_n(db + c, left) : syn__vset(0.0f);
    syn__v16 g2 = syn__vload_n(dg + c + next, more);
    syn__v16 b2 = db ? syn__vload_n(db + c + next, more) : syn__vset(0.0f);
    for (r = 0; r < rows; r++, x += width, dy += width, stats += 2) {
      syn__v16 mean = syn__vset(stats[0]), rstd = syn__vset(stats[1]), d, xhat;
      d = syn__vload_n(dy, left);
      xhat = syn__vmul(syn__vsub(syn__vload_n(x, left), mean), rstd);
      g = syn__vfma(d, xhat, g);
      b = syn__vadd(b, d);
      d = syn__vload_n(dy + next, more);
      xhat = syn__vmul(syn__vsub(syn__vload_n(x + next, more), mean), rstd);
      g2 = syn__vfma(d, xhat, g2);
      b2 = syn__vadd(b2, d);
    }
    syn__vstore_n(dg + c, g, left);
    if (db) syn__vstore_n(db + c, b, left);
    syn__vstore_n(dg + c + next, g2, more);
    if (db) syn__vstore_n(db + c + next, b2, more);
  }
}

/* -- depthwise convolution -- */

/* y_r = sum_tap w_r[tap] x_{r + first + tap} over the taps whose row is in the sentence. back:
   y_s += sum_tap w_r[tap] x_r with r = s - first - tap, over the rows r that read row s. 16
   channels of a head stay in a register while the taps pass. */
static void SYN__N(taps)(const syn__depthwise *j, float *y, const float *x, int r0, int r1,
                         int back) {
  const size_t c = (size_t)(j->width / j->heads), width = (size_t)j->width;
  const ptrdiff_t x_step = back ? -(ptrdiff_t)width : (ptrdiff_t)width;
  const ptrdiff_t w_step = back ? 1 - (ptrdiff_t)j->w_row : 1;
  float *to = y + (size_t)r0 * width;
  int r, h;
  for (r = r0; r < r1; r++) {
    int at = back ? r - j->first : r + j->first; /* the row of tap 0, perhaps outside */
    int low = syn__max(0, back ? at - j->rows + 1 : -at); /* the first tap with a row inside */
    int high = syn__min(j->taps, back ? at + 1 : j->rows - at);
    const float *w, *from;
    at += back ? -low : low;
    w = j->w + (size_t)(back ? at : r) * j->w_row + low;
    from = x + (size_t)at * width;
    for (h = 0; h < j->heads; h++, w += j->taps, from += c, to += c) {
      size_t i;
      ptrdiff_t tap;
      for (i = 0; i < c; i += 16) {
        syn__v16 sum = back ? syn__vload_n(to + i, c - i) : syn__vset(0.0f), row;
        for (tap = 0; tap < high - low; tap++) {
          row = syn__vload_n(from + tap * x_step + i, c - i);
          syn__vfma1(&sum, w[tap * w_step], &row);
        }
        syn__vstore_n(to + i, sum, c - i);
      }
    }
  }
}

/* ==============================================================================================
   >>update kernels   dropout; updates of weights by an optimizer
   ============================================================================================== */

/* Dropout (Srivastava et al. 2014, with the scale in training): y_i = x_i / (1 - rate) with
   probability 1 - rate, else 0. The mask depends on step, layer and index only, so it is the same
   for any number of threads.
   hash: index and key, two rounds of multiply and shift (the multipliers of MurmurHash3's
   finaliser), the second key between them; hash >> 8 < limit where hash < limit << 8, and limit is
   below 2^24. Two rounds alone leave keys that differ in one bit correlated, so both keys are mixed
   first. */
SYN__INLINE syn__ireg SYN__N(dropout_hash)(syn__ireg h, uint64_t mixed) {
  h = h ^ (uint32_t)(mixed >> 32);
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13 ^ (uint32_t)mixed) * 0xC2B2AE35u;
  return h ^ h >> 16;
}
/* Of 16 numbers, the first with this index, those that are not dropped; 0 for the others. */
SYN__OP syn__v16 SYN__N(keep)(syn__v16 a, uint64_t mixed, uint32_t index, uint32_t limit) {
  syn__ireg lane;
  SYN__EACH({
    memcpy(&lane, syn__lane + i * SYN__LANES, sizeof lane);
    lane = SYN__N(dropout_hash)(lane + index, mixed);
    a.p[i] = syn__rkeep(a.p[i], lane, limit << 8);
  });
  return a;
}
static void SYN__N(dropout)(const syn__dropout *d, uint32_t index, float *x, size_t n) {
  const uint64_t mixed = syn__mix((uint64_t)d->key << 32 | d->key2);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 y = syn__vmul(syn__vload_n(x + i, n - i), syn__vset(d->scale));
    syn__vstore_n(x + i, SYN__N(keep)(y, mixed, index + (uint32_t)i, d->limit), n - i);
  }
}

/* Softmax and dropout in one pass. A probability is never negative, so its sign records what was
   dropped, and backward need not compute the hash again: 2 w - w is w, 0 - w is -w. */
static void SYN__N(softmax_drop)(const syn__dropout *d, uint32_t index, float *p, float *y,
                                 size_t n) {
  const uint64_t mixed = syn__mix((uint64_t)d->key << 32 | d->key2);
  float sum = SYN__N(exps)(p, p, SYN__N(softmax_shift)(p, n), n, NULL);
  float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 w = syn__vmul(syn__vset(inverse), syn__vload_n(p + i, n - i));
    syn__v16 kept = SYN__N(keep)(w, mixed, index + (uint32_t)i, d->limit);
    syn__vstore_n(p + i, syn__vsub(syn__vadd(kept, kept), w), n - i);
    syn__vstore_n(y + i, syn__vmul(kept, syn__vset(d->scale)), n - i);
  }
}
/* With w = |p| and the gradient after dropout, d = dy scale or 0: ds = w (d - sum w d), as in
   softmax_back. Both are recomputed in the second loop. */
SYN__INLINE syn__v16 SYN__N(undropped)(syn__v16 p, syn__v16 dy, syn__v16 scale) {
  return syn__vselect(syn__vset(0.0f), p, syn__vset(0.0f), syn__vmul(dy, scale));
}
static void SYN__N(softmax_drop_back)(float scale, float *p, float *dy, size_t n) {
  const syn__v16 zero = syn__vset(0.0f), times = syn__vset(scale);
  syn__v16 sum = zero, mean;
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 w = syn__vload_n(p + i, n - i);
    syn__v16 d = SYN__N(undropped)(w, syn__vload_n(dy + i, n - i), times);
    sum = syn__vfma(syn__vselect(zero, w, syn__vsub(zero, w), w), d, sum);
  }
  mean = syn__vset(syn__vsum(sum));
  for (i = 0; i < n; i += 16) {
    syn__v16 w = syn__vload_n(p + i, n - i);
    syn__v16 d = SYN__N(undropped)(w, syn__vload_n(dy + i, n - i), times);
    syn__vstore_n(dy + i, syn__vmul(syn__vselect(zero, w, zero, w), times), n - i);
    w = syn__vselect(zero, w, syn__vsub(zero, w), w);
    syn__vstore_n(p + i, syn__vmul(w, syn__vsub(d, mean)), n - i);
  }
}

/* Adam (Kingma & Ba 2015, algorithm 1), its decay apart from the gradient (AdamW: Loshchilov &
   Hutter 2019, algorithm 2):
     g' = g scale,  m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2,
     w -= lr (m fix1) / (sqrt(v fix2) + eps) + decay w.
   fix1 and fix2 correct the bias of m and v, which begin at 0. One pass, bound by memory. */
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
    d = syn__vmul(syn__vload_n(g + i, left), scale);
    s = syn__vfma(beta1, syn__vload_n(m + i, left), syn__vmul(rest1, d));
    syn__vstore_n(m + i, s, left);
    t = syn__vfma(beta2, syn__vload_n(v + i, left), syn__vmul(rest2, syn__vmul(d, d)));
    syn__vstore_n(v + i, t, left);
    t = syn__vadd(syn__vsqrt(syn__vmul(t, fix2)), eps);
    old = syn__vload_n(w + i, left);
    t = syn__vfma(decay, old, syn__vdiv(syn__vmul(lr, s), t));
    syn__vstore_n(w + i, syn__vsub(old, t), left);
  }
}

static float SYN__N(squares)(const float *a, const float *b, size_t n) {
  syn__v16 s = syn__vset(0.0f), x;
  size_t i;
  for (i = 0; i < n; i += 16) {
    x = syn__vmul(syn__vload_n(a + i, n - i), syn__vload_n(b + i, n - i));
    s = syn__vfma(x, x, s);
  }
  return syn__vsum(s);
}

/* The column moments of Adafactor (>>optim). A vector of columns stays in a register while the rows
   pass, a column is one chain in the order of the rows. One division and root for each column; the
   kernel `descend` multiplies by it. */
static void SYN__N(factor)(const syn__factor *f, float *v, float *root, size_t c0, size_t c1) {
  const syn__v16 one = syn__vset(1.0f), square = syn__vset(f->square), eps = syn__vset(f->eps);
  const syn__v16 beta = syn__vset(f->beta), rest = syn__vset(f->rest);
  size_t c, r;
  for (c = c0; c < c1; c += 16) {
    syn__v16 s = syn__vset(0.0f), x;
    for (r = 0; r < f->rows; r++) {
      x = syn__vload_n(f->g + r * f->width + c, c1 - c);
      s = syn__vfma(x, x, s);
    }
    s = syn__vmul(rest, syn__vfma(s, square, eps));
    s = syn__vfma(beta, syn__vload_n(v + c, c1 - c), s);
    syn__vstore_n(v + c, s, c1 - c);
    syn__vstore_n(root + c, syn__vdiv(one, syn__vsqrt(s)), c1 - c);
  }
}

/* One pass. The decay uses the weight before the update. */
static void SYN__N(descend)(const syn__weight_update *d, float *w, float *m, const float *g,
                            const float *root, size_t n) {
  const syn__v16 rate = syn__vset(d->rate), decay = syn__vset(d->decay);
  const syn__v16 beta = syn__vset(d->beta), rest = syn__vset(d->rest);
  size_t i, left;
  for (i = 0; i < n; i += 16) {
    syn__v16 u, old;
    left = n - i;
    u = syn__vload_n(g + i, left);
    if (root) u = syn__vmul(u, syn__vload_n(root + i, left));
    u = syn__vmul(rate, u);
    if (m) {
      u = syn__vfma(beta, syn__vload_n(m + i, left), syn__vmul(rest, u));
      syn__vstore_n(m + i, u, left);
    }
    old = syn__vload_n(w + i, left);
    syn__vstore_n(w + i, syn__vsub(old, syn__vfma(decay, old, u)), left);
  }
}

/* In the order of the struct; C++11 has no designated initializers. */
static const syn_kernels SYN__N(kernels) = {
    SYN__ISA_NAME, SYN__ISA_EXACT, SYN__MR, SYN__N(pack_b), SYN__N(pack_a), SYN__N(gemm),
    SYN__N(add), SYN__N(sub), SYN__N(mul), SYN__N(acc), SYN__N(acc_mul), SYN__N(scale),
    SYN__N(acc_scale), SYN__N(sum), SYN__N(dot), SYN__N(dots), SYN__N(scores), SYN__N(values),
    SYN__N(gemv_int8), SYN__N(max), SYN__N(block_max), SYN__N(act), SYN__N(act_back), SYN__N(slope),
    SYN__N(glu), SYN__N(glu_back), SYN__N(lstm), SYN__N(gru), SYN__N(lstm_back), SYN__N(gru_back),
    SYN__N(softmax), SYN__N(softmax_back), SYN__N(additive), SYN__N(additive_back), SYN__N(norm),
    SYN__N(norm_back), SYN__N(norm_back_columns), SYN__N(taps), SYN__N(dropout),
    SYN__N(softmax_drop), SYN__N(softmax_drop_back), SYN__N(loss), SYN__N(log_sum_exp),
    SYN__N(adam), SYN__N(squares), SYN__N(factor), SYN__N(descend)};

#if SYN__LEVELS
#pragma GCC pop_options
#endif

/* The next ISA defines all of these again; a macro left out here is redefined there with a
 * warning. */
#undef SYN__SUFFIX
#undef SYN__ISA_NAME
#undef SYN__ISA_EXACT
#undef SYN__REGS
#undef SYN__LANES
#undef SYN__OP
#undef SYN__EACH
#undef SYN__UNROLL
#undef SYN__DO
#undef SYN__ALL
#undef SYN__MR
#undef SYN__NR
#undef SYN__ROWS_2
#undef SYN__PANELS_2
#undef SYN__PANELS_3
#undef SYN__PANELS_1
#undef SYN__K_UNROLL
#undef SYN__GELU_1
#undef SYN__GELU_3
#undef syn__rset
#undef syn__rload
#undef syn__rload_i8
#undef syn__rstore
#undef syn__radd
#undef syn__rsub
#undef syn__rmul
#undef syn__rsqrt
#undef syn__rfma
#undef syn__rselect
#undef syn__rfirst
#undef syn__rswap
#undef syn__rblend
#undef syn__rcast
#undef syn__rmax
#undef syn__rmin
#undef syn__rkeep
#undef syn__icast

#endif /* SYN__ISA */
#ifndef SYN__ISA
#ifndef SYN_SMALL

/* ==============================================================================================
   >>dispatch   one table of kernels per ISA, chosen once per context
   ============================================================================================== */

/* Each pass: the ISA, its suffix, the header once more. SYN_SELF is a name, not __FILE__, which
   would be looked up from the wrong folder where the user included "../synthesizer.h".

   On x86 the plain scalar ISA serves only machines without fused multiply-add, where each fma is a
   call of fmaf: optimizing the code around it would not show. */
#if SYN__LEVELS && SYN__HAS_X86
#pragma GCC push_options
#pragma GCC optimize("Og", "fp-contract=off")
#endif
#define SYN__ISA SYN__ISA_SCALAR
#define SYN__SUFFIX scalar
#include SYN_SELF
#if SYN__LEVELS && SYN__HAS_X86
#pragma GCC pop_options
#endif

#if SYN__HAS_X86
/* From SYN__TARGET to SYN__TARGET_END functions are compiled for a machine we may not have: none
   may be reached before syn_isa_usable returns 1, and none is inlined into code for a lesser
   target. clang has no push_options; its attribute applies to functions, which is enough. */
#define SYN__PRAGMA(tokens) _Pragma(#tokens)
#if defined(__clang__)
#define SYN__TARGET(features) \
  SYN__PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define SYN__TARGET_END SYN__PRAGMA(clang attribute pop)
#else
#define SYN__TARGET(features) SYN__PRAGMA(GCC push_options) SYN__PRAGMA(GCC target(features))
#define SYN__TARGET_END SYN__PRAGMA(GCC pop_options)
#endif

/* The scalar code once more, with fmaf as one instruction: the same bits. It serves isa = "scalar",
   and processors with FMA but without AVX2. SYN__ISA is still that of scalar. */
#define SYN__SUFFIX fused
SYN__TARGET("fma")
#include SYN_SELF
SYN__TARGET_END

#undef SYN__ISA
#define SYN__ISA SYN__ISA_AVX2
#define SYN__SUFFIX avx2
SYN__TARGET("avx2,fma")
#include SYN_SELF
SYN__TARGET_END

#undef SYN__ISA
#define SYN__ISA SYN__ISA_AVX512
#define SYN__SUFFIX avx512
SYN__TARGET("avx512f,avx2,fma")
#include SYN_SELF
SYN__TARGET_END
#endif /* SYN__HAS_X86 */

/* No target region: where arm_neon.h works, the whole program is compiled for NEON. */
#if SYN__HAS_NEON
#undef SYN__ISA
#define SYN__ISA SYN__ISA_NEON
#define SYN__SUFFIX neon
#include SYN_SELF
#endif
#undef SYN__ISA

/* The ISAs by rising speed: what the index of syn_isa_... means. Scalar is always the first; the
   checks below rely on the order of the x86 ones. */
static const syn_kernels *const syn__isas[] = {
    &syn__kernels_scalar,
#if SYN__HAS_X86
    &syn__kernels_avx2, &syn__kernels_avx512,
#endif
#if SYN__HAS_NEON
    &syn__kernels_neon,
#endif
};

/* ISAs of this build, usable or not, so that tests can report which they skipped. */
int syn_isa_count(void) { return (int)SYN__COUNT(syn__isas); }

/* An index out of range gives a text too, since names are printed in messages. */
const char *syn_isa_name(int i) {
  return i >= 0 && i < syn_isa_count() ? syn__isas[i]->name : "no such ISA";
}

/* The builtins ask cpuid, and whether the system saves the wide registers; the call of init is
   needed where we run before constructors. NEON is part of the target: its program would not start
   without. */
int syn_isa_usable(int i) {
  if (i < 0 || i >= syn_isa_count()) return 0;
#if SYN__HAS_X86
  __builtin_cpu_init();
  if (i > 0 && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return 0;
  if (i > 1 && !__builtin_cpu_supports("avx512f")) return 0;
#endif
  return 1;
}

/* The kernels of ISA i, which is usable. Of the two scalar builds on x86, with the same bits and
   the same name, the fused one serves where it can. */
static const syn_kernels *syn__isa_kernels(int i) {
#if SYN__HAS_X86
  __builtin_cpu_init();
  if (i == 0 && __builtin_cpu_supports("fma")) return &syn__kernels_fused;
#endif
  return syn__isas[i];
}

/* Picks the best ISA, or the one that is named. If that is not usable, the context works with the
   best one and has an error whose message lists the usable names. */
static syn_status syn__pick_isa(syn_context *c, const char *isa) {
  char names[80] = "";
  const char *nearest = NULL;
  int i, best = 0;
  for (i = 0; i < syn_isa_count(); i++) {
    if (!syn_isa_usable(i)) continue;
    best = i;
    if (isa && !strcmp(isa, syn_isa_name(i))) break;
    strcat(names, " "); /* at most four names of at most six letters */
    strcat(names, syn_isa_name(i));
    if (isa) nearest = syn__nearer(isa, strlen(isa), nearest, syn_isa_name(i));
  }
  c->kernels = syn__isa_kernels(best);
  if (!isa || i < syn_isa_count()) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE,
                   "syn_context_init: isa \"%.40s\" is not usable here, these are:%s; did you mean "
                   "'%s'?", isa, names, nearest);
}

/* Whatever fails, the context is valid afterwards: it has an allocator, kernels and a number of
   threads. An allocator without its release would mix two heaps: both are then the default. Threads
   above the limit are reduced without an error: this changes no bit of a result. The name of the
   isa is not copied; only this function reads it. */
syn_status syn_context_init(syn_context *c, const syn_options *options) {
  syn_options *o;
  int i;
  if (!c) return SYN_E_VALUE;
  memset(c, 0, sizeof *c);
  o = &c->options;
  if (options) *o = *options;
  o->threads = syn__max(1, syn__min(o->threads, SYN_MAX_THREADS));
#ifndef _OPENMP
  if (!o->parallel) o->threads = 1;
#endif
  if (!o->alloc != !o->release)
    syn__fail(c, SYN_E_VALUE, "syn_context_init: alloc and release must be given together");
  if (!o->alloc || !o->release)
    o->alloc = syn__default_alloc, o->release = syn__default_release;
  for (i = 0; i < o->n_kinds; i++)
    if (!o->kinds || !o->kinds[i] || !o->kinds[i]->name || !o->kinds[i]->args)
      o->n_kinds = 0,
      syn__fail(c, SYN_E_VALUE, "syn_context_init: kind %d, its name or its args is null", i);
  if (o->n_kinds < 0) o->n_kinds = 0;
  syn__pick_isa(c, o->isa);
  return c->status;
}

/* Hashes of results may be compared between contexts that return 1. */
int syn_context_exact(const syn_context *c) { return c && c->kernels && c->kernels->exact; }

/* From here on no code is hot: all numbers go through the kernels above, so Og costs no measurable
   time. The exception is >>kind syn_att: the layer, entered for every head of every new token. */
#if SYN__LEVELS
#pragma GCC push_options
#pragma GCC optimize("Og", "fp-contract=off")
#endif

/* ==============================================================================================
   >>tensor   sizes of a tensor; its numbers as text
   ============================================================================================== */

/* How many numbers a shape has, SIZE_MAX when they do not fit. Sizes below 0 (a caller's shape)
   become huge and fail the same way. */
static size_t syn__size(int rank, const int *shape) {
  size_t size = 1;
  int i;
  for (i = 0; i < rank; i++) size = syn__mul_size(size, (size_t)shape[i]);
  return size;
}

/* A tensor [..., width] is rows of `width` numbers; most operations see no more of its shape. */
int syn_width(const syn_tensor *a) { return a->shape[a->rank - 1]; }
size_t syn_rows(const syn_tensor *a) {
  return syn__size(a->rank - 1, a->shape);
}
size_t syn_count(const syn_tensor *a) { return syn__size(a->rank, a->shape); }

/* A text that is written piece by piece into `out`. Counts every byte and writes those that fit, so
   that a call with capacity 0 measures. */
typedef struct syn__text_out {
  char *out;             /* [capacity], ends in 0 after every piece */
  size_t capacity, used; /* used: bytes of all pieces, the ending 0 not counted */
} syn__text_out;

static syn__text_out syn__text_begin(char *out, size_t capacity) {
  syn__text_out w = {out, capacity, 0};
  if (capacity) out[0] = 0;
  return w;
}

/* Appends a piece, as printf; one that does not fit is cut. */
static void syn__print(syn__text_out *w, const char *format, ...) SYN__PRINTF(2, 3);
static void syn__print(syn__text_out *w, const char *format, ...) {
  size_t left = w->used < w->capacity ? w->capacity - w->used : 0;
  va_list args;
  int n;
  va_start(args, format);
  n = syn__vsnprintf(left ? w->out + w->used : NULL, left, format, args);
  va_end(args);
  if (n > 0) w->used += (size_t)n;
}

/* One line for each row. */
size_t syn_tensor_text(const syn_tensor *a, char *out, size_t capacity) {
  syn__text_out w = syn__text_begin(out, capacity);
  size_t i, n = a ? syn_count(a) : 0, width = a ? (size_t)syn_width(a) : 1;
  for (i = 0; i < n; i++)
    syn__print(&w, "%10.4g%c", (double)a->x[i], (i + 1) % width ? ' ' : '\n');
  return w.used;
}

/* ==============================================================================================
   >>graph   nodes, values, parameters: recording a network
   ============================================================================================== */

/*
   There are two ways to run a graph. A model is recorded once, from its text; then it is only read:
   its buffers are placed by the times at which they are needed, and every pass fills them with
   another batch. A tape of a user's own is recorded and run in the same moment, and every tensor
   keeps its memory. Kinds cannot tell the two apart.

   Backward is the list of nodes read from its end. A kind adds into the gradients of its inputs, so
   that a tensor with two readers gets the sum of both; it never writes them. */

/* What is known of a tensor before it has numbers. Rows that depend on the batch have shape[0] =
   0. */
typedef struct syn__value {
  int stream, rank, shape[SYN_MAX_RANK];
  int maker; /* node that writes it, -1: none */
  int first, last; /* nodes that read it first and last, -1: none */
} syn__value;

/* A recurrent node reads, for each token, what a later value z was for the token before; z is the
   value that `out` reads. The nodes from this one to the maker of z are the recurrent section:
   they run repeatedly, see >>pass. A graph has one at most. */
typedef struct syn__recurrence {
  /* Before pass 0, 1, ... over the section: copies z of the pass before into a buffer of the node,
     shifted by one token; pass 0: zeros. 0: the buffer did not change. */
  int (*forward)(syn_tape *t, const syn_node *n, const syn_tensor *z, int pass);
  /* dz = the gradient of that buffer, shifted back. 0: all of it is zero. */
  int (*backward)(syn_tape *t, const syn_node *n, const syn_tensor *z);
  /* While decoding, when the section has made its new rows: keeps z for the next token. */
  void (*step)(syn_tape *t, const syn_node *n, const syn_tensor *z);
} syn__recurrence;

/* The graph: nodes in the order they run, the values between them, the weights they use. */
typedef struct syn__graph {
  syn__arena arena;
  syn_node **nodes;    /* [n_nodes] pointers: syn__grow moves the array, a node stays */
  syn__value *values;  /* [n_values] named by number, since the array moves when it grows */
  syn_param *params;   /* [n_params] */
  syn_initial *inits;  /* [n_params] how the numbers of each begin */
  size_t n_nodes, cap_nodes, n_values, cap_values, n_params, cap_params, cap_inits;
  int n_encoder; /* nodes before the decoder's first */
  size_t pack;   /* floats of B that products of a decoder pack, beside weights in panels */
  int recurrent, feedback; /* the recurrent node, 0: none; the value z it reads */
} syn__graph;

/* A path never outgrows this: its side, then for every chain inside another ".number" of a layer
   (a text has fewer than 65536) and of a copy or branch. Were one cut short, two layers would have
   one name, and by that one set of weights. */
#define SYN__PATH (16 + 12 * (SYN_MAX_DEPTH + 2))

/* The builder: the graph and where in the text it is. */
struct syn_build {
  syn_context *c;
  syn__graph *g;
  const syn_config *config;
  const syn_layer *layer;   /* the layer being built */
  const char *side;         /* "encoder", "decoder" */
  const char *text, *at;    /* of that side, without byte order mark; where the parser reads it */
  char path[SYN__PATH];     /* of the layer being built, or of the chain */
  int decoder, depth;
  int layers;               /* built so far: layers without an operation count, too */
  size_t next_param;        /* after the one found last: a universal repeats their order */
  int encoder_out;          /* value, -1 before it is there */
  int n_blocks, *blocks;    /* values: outputs of the copies of the encoder's outermost repeat */
  int n_increasing, n_decreasing;      /* mh_dot_src_att layers of the decoder with that source */
  int seen_increasing, seen_decreasing;
  int n_source_layers;                 /* attentions to the source so far */
  int feedback_width;                  /* of what a recurrent node reads */
  const struct syn__rel_pos *rel_pos;  /* the last one of this chain or around it, null: none */
  int (*chain)(syn_build *b, const syn_layer *chain, int x); /* of >>language, a later section */
};

/* All that a pass reads and writes. One batch, one tape: many tapes may share a graph, which none
   of them changes. */
struct syn_tape {
  syn_context *c;
  const syn_kernels *k;
  const syn__graph *g;
  int threads, training;               /* training: 1 where dropout drops */
  int accumulate_before; /* in backward: gradients of values made before this node add up */
  uint64_t seed;                       /* of this step's dropout */
  syn_tensor *tensors;                 /* one per value */
  float **saved;                       /* [nodes * SYN_MAX_SAVE] */
  const float **weights;               /* by number of the parameter */
  float **dweights;                    /* by the same; a null one is not trained */
  float **discarded_grads; /* gradients of frozen weights, never read; null: none is frozen */
  float **kept_grads;      /* by value: copies of its gradient; null: none are kept */
  const char *skip_backward; /* by node, 1: nothing before it is trained; null: run every node */
  const float *const *packed; /* weights in panels, while decoding and of a packed model; or null */
  float *pack; /* the packed block of a large product, then one of a per thread */
  float *scratch;                      /* threads * scratch_size floats */
  size_t scratch_size;
  syn_stream stream[SYN_STREAMS];
  int *ids[2];                         /* tokens of the source and target rows */
  int *at[2];                          /* place of every row in its sentence */
  size_t *pairs[2][2]; /* [queries][keys][sentence]: products of lengths before it */
  struct syn__decode_state *decode;    /* null unless decoding */
  syn_build own;                       /* a user's own tape builds as it runs */
  char *block;                         /* of a user's tape: behind pack, in one allocation */
  size_t block_size, block_used;
};

/* -- the text of a layer, and its arguments -- */

/* These two are of >>language, below; kinds read their arguments through syn_arg_... */
typedef struct syn__arg {
  const char *name;  /* of the kind's own argument list */
  double number;
  syn_text word;     /* a word, or kinds joined by + */
  syn_layer *chain;
} syn__arg;

struct syn_layer {
  syn_text name; /* in the text: its place is that of the layer */
  const syn_kind *kind;
  const struct syn__alias *alias; /* instead of a kind */
  int n_args, cap_args;
  syn__arg *args;
  syn_layer *next; /* in its chain */
};

/* -- recording -- */

/* Of a row, and of all heads of an attention together: sums of a few stay far inside an int. */
#define SYN__MAX_ROW (1 << 24)
#define SYN__MAX_WIDTH (1 << 20)

/* An error with the place of `at` in the text: line and column, from 1. Columns count characters: a
   byte 10xxxxxx of UTF-8 continues one. */
static syn_status syn__fail_place(const syn_build *b, const char *at, syn_status s,
                                  const char *message) {
  const char *ch;
  int line = 1, column = 1;
  for (ch = b->text; ch < at; ch++)
    if (*ch == '\n') line++, column = 1;
    else column += ((unsigned char)*ch & 0xC0) != 0x80;
  return syn__fail(b->c, s, "%s line %d column %d: %s", b->side, line, column, message);
}

/* An error in the layer being built: with its place in the text, and its name as it is written
   there. */
static syn_status syn__fail_build(syn_build *b, syn_status s, const char *format, ...)
    SYN__PRINTF(3, 4);
static syn_status syn__fail_build(syn_build *b, syn_status s, const char *format, ...) {
  const syn_layer *l = b->layer;
  char text[300] = "";
  size_t used;
  va_list args;
  if (l)
    syn__snprintf(text, sizeof text, "%.*s: ", l->name.size < 40 ? (int)l->name.size : 40,
                  l->name.at);
  used = strlen(text);
  va_start(args, format);
  syn__vsnprintf(text + used, sizeof text - used, format, args);
  va_end(args);
  return l ? syn__fail_place(b, l->name.at, s, text) : syn__fail(b->c, s, "%s", text);
}

syn_status syn_build_fail(syn_build *b, const char *message) {
  return syn__fail_build(b, SYN_E_SHAPE, "%s", message);
}
int syn_build_width(const syn_build *b, const syn_node *n, int input) {
  const syn__value *v = &b->g->values[n->in[input]];
  return v->shape[v->rank - 1];
}
int syn_build_stream(const syn_build *b, const syn_node *n, int input) {
  return b->g->values[n->in[input]].stream;
}
const syn_config *syn_build_config(const syn_build *b) { return b->config; }
int syn_build_decoder(const syn_build *b) { return b->decoder; }

/* The number of a new value, -1: no memory. A pointer to an older value is stale afterwards. */
static int syn__value_new(syn_build *b, int stream, int rank, const int *shape) {
  syn__graph *g = b->g;
  syn__value *v;
  if (syn__grow(b->c, &g->values, &g->cap_values, g->n_values + 1, sizeof *v)) return -1;
  v = &g->values[g->n_values];
  v->stream = stream;
  v->rank = rank;
  memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
  v->maker = v->first = v->last = -1;
  return (int)g->n_values++;
}

syn_status syn_build_out(syn_build *b, syn_node *n, int stream, int width) {
  int shape[2] = {0, width};
  if (width < 1 || width > SYN__MAX_ROW)
    return syn__fail_build(b, SYN_E_SHAPE, "the output has width %d, wanted 1 to %d", width,
                           SYN__MAX_ROW);
  if (stream < SYN_SRC || stream > SYN_EACH)
    return syn__fail_build(b, SYN_E_VALUE, "the output has stream %d, wanted 0 to 2", stream);
  n->out = syn__value_new(b, stream, 2, shape);
  return n->out < 0 ? SYN_E_MEMORY : SYN_OK;
}

/* The output has the shape of an input, whatever its rank. */
syn_status syn_build_out_like(syn_build *b, syn_node *n, int input) {
  syn__value v = b->g->values[n->in[input]];
  n->out = syn__value_new(b, v.stream, v.rank, v.shape);
  return n->out < 0 ? SYN_E_MEMORY : SYN_OK;
}

syn_status syn_build_save(syn_build *b, syn_node *n, int life, syn_extent extent) {
  if (n->n_save == SYN_MAX_SAVE) return syn_build_fail(b, "the kind saves too many buffers");
  n->save_life[n->n_save] = life;
  n->save[n->n_save++] = extent;
  return SYN_OK;
}

syn_status syn_build_part(syn_build *b, syn_node *n, const syn_part *part) {
  if (n->n_part == SYN_MAX_PART || part->save < 0 || part->save >= n->n_save || !part->name ||
      !*part->name)
    return syn_build_fail(b, "the kind shows too many parts, or one without buffer or name");
  n->part[n->n_part++] = *part;
  return SYN_OK;
}

static syn_status syn__parts(syn_build *b, syn_node *n, const syn_part *parts, int count) {
  int i;
  for (i = 0; i < count; i++)
    if (syn_build_part(b, n, &parts[i])) return SYN_E_SHAPE;
  return SYN_OK;
}

/* A buffer [rows,floats], rows those of the output or of the last input, whichever are more. */
syn_status syn_build_save_rows(syn_build *b, syn_node *n, int life, size_t floats) {
  syn_extent e = {0, floats, 0, 0, 0}; /* fixed, row, pair, length, square */
  return syn_build_save(b, n, life, e);
}

static int syn__param_find(const syn__graph *g, const char *name) {
  size_t i;
  for (i = 0; i < g->n_params; i++)
    if (!strcmp(g->params[i].name, name)) return (int)i;
  return -1;
}

/* The number of the parameter `name`; one that is there already is shared (universal, tied), and
   must then have the same shape: the kernels trust it. -1: failed. */
static int syn__param_new(syn_build *b, const char *name, syn_initial init, int rank,
                          const int *shape) {
  syn__graph *g = b->g;
  int old = b->next_param < g->n_params && !strcmp(g->params[b->next_param].name, name)
                ? (int)b->next_param : syn__param_find(g, name);
  double numbers = rank >= 1 && rank <= SYN_MAX_RANK; /* in double, so that it cannot overflow */
  syn_param *p = old < 0 ? NULL : &g->params[old];
  int i;
  for (i = 0; numbers > 0.0 && i < rank; i++) numbers *= (double)syn__max(0, shape[i]);
  /* so that any part of a shape multiplies inside an int */
  if (numbers < 1.0 || numbers > (double)INT_MAX)
    syn__fail_build(b, SYN_E_SHAPE, "%s of rank %d would have %.0f numbers, wanted 1 to %d", name,
                    rank, numbers, INT_MAX);
  else if (p && (p->rank != rank || memcmp(p->shape, shape, (size_t)rank * sizeof *shape)))
    syn__fail_build(b, SYN_E_SHAPE, "two tensors of different shapes are named %s", name);
  else if (!p && g->n_params == SYN_MAX_PARAMS)
    syn__fail_build(b, SYN_E_SHAPE, "%s: a network of more than %d tensors", name, SYN_MAX_PARAMS);
  if (b->c->status != SYN_OK) return -1;
  if (p) {
    b->next_param = (size_t)old + 1;
    return old;
  }
  if (syn__grow(b->c, &g->params, &g->cap_params, g->n_params + 1, sizeof *p) ||
      syn__grow(b->c, &g->inits, &g->cap_inits, g->n_params + 1, sizeof *g->inits))
    return -1;
  p = &g->params[g->n_params];
  memset(p, 0, sizeof *p);
  p->name = syn__arena_text(&g->arena, name, strlen(name));
  if (!p->name) return -1;
  p->rank = rank;
  memcpy(p->shape, shape, (size_t)rank * sizeof *shape);
  p->size = (size_t)numbers;
  p->matrix = rank == 2; /* kinds with other matrices correct it */
  p->trained = init.kind != SYN_INIT_FIXED;
  g->inits[g->n_params] = init;
  return (int)g->n_params++;
}

syn_status syn_build_param(syn_build *b, syn_node *n, const char *name, syn_initial init, int rank,
                           const int *shape) {
  char full[SYN__PATH + 64];
  int id;
  if (n->n_param == SYN_MAX_PARAM) return syn_build_fail(b, "the kind has too many parameters");
  if (!name || strlen(name) > 60 || *syn__utf8_invalid(name))
    return syn_build_fail(b, "a parameter of the kind has no name of at most 60 bytes of UTF-8");
  syn__snprintf(full, sizeof full, "%s.%s", n->path, name);
  id = syn__param_new(b, full, init, rank, shape);
  if (id < 0) return SYN_E_SHAPE;
  n->param[n->n_param++] = id;
  return SYN_OK;
}

syn_initial syn_initial_of(int kind, double amount) {
  syn_initial init = {kind, amount};
  return init;
}
/* Glorot and Bengio 2010: uniform within sqrt(6 / (inputs + outputs)). */
syn_initial syn_initial_glorot(int inputs, int outputs) {
  return syn_initial_of(SYN_INIT_UNIFORM, sqrt(6.0 / ((double)inputs + (double)outputs)));
}

/* The kind's own struct of a node: zeroed, lives as long as the graph. */
void *syn_build_own(syn_build *b, syn_node *n, size_t size) {
  return n->own = syn__arena_get(&b->g->arena, 1, size);
}

/* The same, a copy of `own`. */
static syn_status syn__own_copy(syn_build *b, syn_node *n, const void *own, size_t size) {
  if (!syn_build_own(b, n, size)) return SYN_E_MEMORY;
  memcpy(n->own, own, size);
  return SYN_OK;
}

/* A node with its inputs, not yet in the graph; the caller may set `drop` and `own` before
   syn__node_done. A null node is passed on: only the last call of a row must be looked at. */
static syn_node *syn__node_new(syn_build *b, const syn_kind *kind, int n_in, const int *in) {
  syn__graph *g = b->g;
  syn_node *n;
  if (g->n_nodes == SYN_MAX_NODES) {
    syn__fail_build(b, SYN_E_TEXT, "a network of more than %d operations", SYN_MAX_NODES);
    return NULL;
  }
  n = (syn_node *)syn__arena_get(&g->arena, 1, sizeof *n);
  if (!n || syn__grow(b->c, &g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof *g->nodes))
    return NULL;
  n->kind = kind;
  n->flags = kind->flags;
  n->id = (int)g->n_nodes;
  n->path = syn__arena_text(&g->arena, b->path, strlen(b->path));
  n->n_in = n_in;
  if (n_in) memcpy(n->in, in, (size_t)n_in * sizeof *in);
  n->out = -1;
  return n->path ? n : NULL;
}

/* Asks the kind for its shapes and puts the node into the graph; returns its output or -1. */
static int syn__node_done(syn_build *b, syn_node *n) {
  syn__graph *g = b->g;
  int i;
  if (!n || n->kind->shape(b, n) != SYN_OK || b->c->status != SYN_OK) return -1;
  if (n->out < 0) { /* of a kind of the user's */
    syn__fail_build(b, SYN_E_VALUE, "the shape of kind %.40s states no output", n->kind->name);
    return -1;
  }
  for (i = 0; i < n->n_in; i++) {
    syn__value *v = &g->values[n->in[i]]; /* after `shape`, which may have moved them */
    if (v->first < 0) v->first = n->id;
    v->last = n->id;
  }
  g->values[n->out].maker = n->id;
  if (n->recurrence) g->recurrent = n->id;
  g->nodes[g->n_nodes++] = n;
  return n->out;
}

static void syn__graph_free(syn_context *c, syn__graph *g) {
  syn__free(c, g->nodes);
  syn__free(c, g->values);
  syn__free(c, g->params);
  syn__free(c, g->inits);
  syn__arena_free(&g->arena);
  memset(g, 0, sizeof *g);
}

/* -- what a kind sees while it runs -- */

syn_tensor *syn_in(const syn_tape *t, const syn_node *n, int i) { return &t->tensors[n->in[i]]; }
syn_tensor *syn_out(const syn_tape *t, const syn_node *n) { return &t->tensors[n->out]; }
const float *syn_weight(const syn_tape *t, const syn_node *n, int i) {
  return t->weights[n->param[i]];
}
/* Kinds add without asking whether a weight is frozen; what many of them share, as
   syn__linear_backward, looks at dweights itself and saves the work. */
float *syn_dweight(const syn_tape *t, const syn_node *n, int i) {
  float *d = t->dweights[n->param[i]];
  return d || !t->discarded_grads ? d : t->discarded_grads[n->param[i]];
}
float *syn_saved(const syn_tape *t, const syn_node *n, int i) {
  return t->saved[n->id * SYN_MAX_SAVE + i];
}
float *syn_scratch(const syn_tape *t, int thread) {
  return t->scratch + (size_t)thread * t->scratch_size;
}

/* Gives a tensor the shape of its value; rows that depend on the batch are 0. */
static syn_tensor *syn__tensor_begin(syn_tape *t, int value) {
  const syn__value *v = &t->g->values[value];
  syn_tensor *a = &t->tensors[value];
  a->tape = t;
  a->id = value;
  a->rank = v->rank;
  memcpy(a->shape, v->shape, sizeof a->shape);
  return a;
}

static const syn_stream *syn__value_stream(const syn_tape *t, int value) {
  int stream = t->g->values[value].stream;
  return stream == SYN_OWN ? NULL : &t->stream[stream];
}
const syn_stream *syn_in_stream(const syn_tape *t, const syn_node *n, int i) {
  return syn__value_stream(t, n->in[i]);
}
const syn_stream *syn_out_stream(const syn_tape *t, const syn_node *n) {
  return syn__value_stream(t, n->out);
}
const int *syn_places(const syn_tape *t, const syn_node *n) {
  int stream = t->g->values[n->out].stream;
  return stream == SYN_SRC || stream == SYN_TGT ? t->at[stream] : NULL;
}
int syn_is_training(const syn_tape *t) { return t->training; }
int syn_is_decoding(const syn_tape *t) { return t->decode != NULL; }

/* ==============================================================================================
   >>kv cache   what earlier tokens leave for later ones while decoding
   ============================================================================================== */

/* Rows that are decoded together; t->decode of the tape while it decodes. A step has one new row
   per hypothesis, in a prefill one for each of several places, all rows of a place before those of
   the next: row r belongs to hypothesis r % live. A layer therefore writes all new rows into its
   cache before it reads. A token keeps the place it was given: hypotheses that begin alike share
   the slots of their beginning, and a beam that reorders its rows moves lists of slots, never what
   is kept in them. */
typedef struct syn__decode_state {
  int rows, live;      /* live: hypotheses; rows is a multiple of it */
  int length;          /* places per slot */
  int slots;           /* of a sentence; those of the next one follow */
  int *slot;           /* [rows] where the new token of a row is kept */
  const int *past;     /* [live,length] slot * length + place of every token of a hypothesis,
                          the new ones included: which history is its own */
  int *sentence;       /* [rows] */
  int *source_off;     /* first source row of every sentence, [sentences+1] */
  float **cache;        /* by node: [slots, length, n->cache] */
  float **source_cache; /* by node: [source rows, n->source_cache] */
  /* by node: [slots, ceil(length/16), n->key_cache, 16], or for what comes from the source blocks
     of 16 tokens of a sentence, [., n->key_cache, 16]: a transposed block, so that one vector holds
     a number of 16 keys; the block to which the newest token of a slot belongs is row-major,
     [16, n->key_cache] */
  float **key_cache;
} syn__decode_state;

/* [n->cache] of the token at `place` that is kept in a slot. */
static float *syn__cache_row(const syn_tape *t, const syn_node *n, int slot, int place) {
  return t->decode->cache[n->id] +
         ((size_t)slot * (size_t)t->decode->length + (size_t)place) * (size_t)n->cache;
}
/* Where the tokens of row r's hypothesis are kept, by place. */
static const int *syn__past(const syn_tape *t, int r) {
  return t->decode->past + (size_t)(r % t->decode->live) * (size_t)t->decode->length;
}
float *syn_cache_new(const syn_tape *t, const syn_node *n, int r) {
  return syn__cache_row(t, n, t->decode->slot[r], syn_places(t, n)[r]);
}
const float *syn_cache_row(const syn_tape *t, const syn_node *n, int r, int place) {
  return t->decode->cache[n->id] + (size_t)syn__past(t, r)[place] * (size_t)n->cache;
}
/* [n->key_cache,16] of the tokens `place` / 16 * 16 and the 15 behind it that are kept in a slot;
   row-major, [16,n->key_cache], while the newest token is among them. */
static float *syn__key_block(const syn_tape *t, const syn_node *n, int slot, int place) {
  const syn__decode_state *l = t->decode;
  size_t blocks = ((size_t)l->length + 15) / 16;
  return l->key_cache[n->id] +
         ((size_t)slot * blocks + (size_t)place / 16) * 16 * (size_t)n->key_cache;
}
/* The same of a source sentence; no two begin in one block, however long they are. */
static float *syn__source_key_block(const syn_tape *t, const syn_node *n, int sentence, int j) {
  size_t block = (size_t)(t->decode->source_off[sentence] / 16 + sentence + j / 16);
  return t->decode->key_cache[n->id] + block * 16 * (size_t)n->key_cache;
}
float *syn_source_cache_rows(const syn_tape *t, const syn_node *n) {
  return t->decode->source_cache[n->id];
}
int syn_source_length(const syn_tape *t, int r) {
  const int *off = t->decode->source_off + t->decode->sentence[r];
  return off[1] - off[0];
}
const float *syn_source_cache(const syn_tape *t, const syn_node *n, int r, int j) {
  const syn__decode_state *l = t->decode;
  return l->source_cache[n->id] +
         (size_t)(l->source_off[l->sentence[r]] + j) * (size_t)n->source_cache;
}

/* ==============================================================================================
   >>parallel   threads: they split outputs, never sums
   ============================================================================================== */

/* Every number is made by one thread, in an order that does not depend on how many there are: the
   bits are the same for any count. A gradient that all rows of a batch add into is therefore split
   by columns or by heads, and each thread walks all rows. */

/* One call of syn_parallel, divided into `threads` slices. */
typedef struct syn__slices {
  syn_tape *t;
  syn_task task;
  const void *job;
  size_t items, unit;
  int threads;
} syn__slices;

/* Slice i. Its number is the thread that the task is told, even where one thread of the machine
   runs two slices: each slice has scratch memory of its own. */
static void syn__slice(void *arg, int i) {
  const syn__slices *s = (const syn__slices *)arg;
  size_t units = (s->items + s->unit - 1) / s->unit, threads = (size_t)s->threads;
  size_t begin = units * (size_t)i / threads * s->unit;
  size_t end = units * (size_t)(i + 1) / threads * s->unit;
  s->task(s->t, s->job, i, begin, end < s->items ? end : s->items);
}

/* Slices end at multiples of `unit`, so that they hold whole vectors or tiles, and no two threads
   write to one cache line. */
void syn_parallel(syn_tape *t, syn_task task, const void *job, size_t items, size_t unit) {
  size_t units = (items + unit - 1) / unit;
  int i, threads = (size_t)t->threads > units ? (int)units : t->threads;
  syn__slices s = {t, task, job, items, unit, threads};
  if (threads <= 1) {
    if (items) task(t, job, 0, 0, items);
    return;
  }
  if (t->c->options.parallel) {
    t->c->options.parallel(t->c->options.user, syn__slice, &s, threads);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
  for (i = 0; i < threads; i++) syn__slice(&s, i);
}

/* ==============================================================================================
   >>gemm   matrix products of any size over the micro-kernels
   ============================================================================================== */

/* C = start + A B by the five loops of BLIS (Goto and van de Geijn 2008; Van Zee and van de Geijn
   2015), from the outside:

     loop 5   blocks of NC columns of B      syn_gemm
     loop 4   blocks of KC rows of B         syn_gemm: all threads pack the block
     loop 3   blocks of MC rows of A         syn__task_gemm, in each thread: packs a transposed A
     loop 2   tiles of MR rows               the kernel gemm of the ISA
     loop 1   micro-panels of NR columns     the kernel gemm; for each tile a micro-kernel over k

   The packed block of B stays in the second-level cache while all rows of A pass. Weights that do
   not change between calls (decoding) come packed. A transposed matrix is one with other strides,
   never a copy. A block of k resumes each sum from the float that the block before has stored, so
   no block size changes a bit. */

#define SYN__KC 512 /* a block of 512 x 512 floats stays in a second-level cache of 2 MiB */
#define SYN__NC 512
#define SYN__MC 48 /* a multiple of every MR */
#define SYN__PACK_B ((size_t)SYN__KC * SYN__NC)
#define SYN__PACK_A ((size_t)SYN__MC * SYN__KC + SYN__MC / 2 * SYN__PANEL_END)

/* Floats of t->pack: the block of b that all threads read, then the block of a of each. */
static size_t syn__pack_floats(int threads) { return SYN__PACK_B + (size_t)threads * SYN__PACK_A; }
/* Columns of a block of b [k,n] at most; floats of the block that syn_gemm packs. */
static int syn__block_columns(int k) {
  return SYN__NC * (SYN__KC / syn__max(64, syn__min(SYN__KC, k)));
}
static size_t syn__block_floats(int k, int n) {
  return (size_t)syn__min(SYN__KC, k) * syn__round16((size_t)syn__min(syn__block_columns(k), n));
}

syn_matrix syn_matrix_of(const float *x, int rows, int cols, size_t row) {
  syn_matrix m = {(float *)x, rows, cols, row ? row : (size_t)cols, 1, 0};
  return m;
}
syn_matrix syn_transposed(syn_matrix a) {
  syn_matrix m = {a.x, a.cols, a.rows, a.col, a.row, 0};
  return m;
}
/* b [rows,cols] as pack_b left it: panels [ceil(cols/16)][rows][16] */
static syn_matrix syn__packed(const float *panels, int rows, int cols) {
  syn_matrix m = {(float *)panels, rows, cols, 16, 1, 16 * (size_t)rows};
  return m;
}
/* Row `row` of a matrix [n,k] in panels [ceil(n/16)][k][16] begins here; its numbers lie 16 floats
   apart. */
static size_t syn__panel_row(size_t row, size_t k) { return row / 16 * 16 * k + row % 16; }
/* Rows and columns of a matrix that is not packed. */
static syn_matrix syn__submatrix(syn_matrix a, int row, int rows, int col, int cols) {
  a.x += (size_t)row * a.row + (size_t)col * a.col;
  a.rows = rows;
  a.cols = cols;
  return a;
}
static syn__product syn__product_of(syn_matrix c, syn_matrix a, syn_matrix b, const float *bias,
                                    int accumulate) {
  syn__product p = {a, b, c, bias, accumulate, 0, 0};
  return p;
}

typedef struct syn__pack_job {
  syn_matrix b;
  float *panels;
} syn__pack_job;
static void syn__task_pack(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__pack_job *j = (const syn__pack_job *)job;
  int first = (int)begin * 16, cols = syn__min(j->b.cols, (int)end * 16) - first;
  syn_matrix part = syn__submatrix(j->b, 0, j->b.rows, first, cols);
  SYN__UNUSED(thread);
  t->k->pack_b(&part, j->panels + begin * 16 * (size_t)j->b.rows);
}
/* All threads pack b [k,n] into panels [ceil(n/16)][k][16]; returns b as it lies there. */
static syn_matrix syn__pack_b(syn_tape *t, syn_matrix b, float *panels) {
  syn__pack_job j = {b, panels};
  syn_parallel(t, syn__task_pack, &j, ((size_t)b.cols + 15) / 16, 4);
  return syn__packed(panels, b.rows, b.cols);
}

/* Loop 3: the rows or the panels of c of one thread. A transposed a is packed by blocks of MC rows:
   its rows are often a power of two apart, so they would share a few lines of the cache. */
static void syn__task_gemm(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__product *p = (const syn__product *)job;
  int m = p->by_rows ? (int)begin : 0, m1 = p->by_rows ? (int)end : p->c.rows, rows;
  int p0 = p->by_rows ? 0 : (int)begin, p1 = p->by_rows ? (p->c.cols + 15) / 16 : (int)end;
  if (p->a.row != 1 || p->a.col <= 16 || p->c.rows <= 4 || p->a.cols > SYN__KC) {
    t->k->gemm(p, m, m1, p0, p1);
    return;
  }
  for (; m < m1; m += rows) {
    syn__product q = *p;
    syn_matrix part;
    rows = syn__min(SYN__MC, m1 - m);
    part = syn__submatrix(p->a, m, rows, 0, p->a.cols);
    q.a = part;
    q.a.x = t->pack + SYN__PACK_B + (size_t)thread * SYN__PACK_A;
    t->k->pack_a(&part, q.a.x);
    q.c.x += (size_t)m * p->c.row;
    q.a.col = (size_t)t->k->mr;
    q.a.panel = q.a.col * (size_t)p->a.cols + SYN__PANEL_END;
    t->k->gemm(&q, 0, rows, p0, p1);
  }
}
/* Threads share the rows of c where there are enough of them, else (decoding: few rows) the panels:
   each reads what the others read and writes its own part of c. */
static void syn__gemm_packed(syn_tape *t, syn__product *p) {
  p->by_rows = p->c.rows >= 24 * t->threads && !p->streamed;
  if (p->by_rows) syn_parallel(t, syn__task_gemm, p, (size_t)p->c.rows, (size_t)t->k->mr);
  else syn_parallel(t, syn__task_gemm, p, ((size_t)p->c.cols + 15) / 16, 2);
}

void syn_gemm(syn_tape *t, syn_matrix c, syn_matrix a, syn_matrix b, const float *bias,
              int accumulate) {
  syn__product p = syn__product_of(c, a, b, bias, accumulate);
  int n0, k0, nc = syn__block_columns(a.cols);
  if (b.panel) {
    p.streamed = t->decode || (t->packed && c.rows <= 64);
    syn__gemm_packed(t, &p);
    return;
  }
  for (n0 = 0; n0 < c.cols; n0 += nc)                     /* loop 5 */
    for (k0 = 0; k0 == 0 || k0 < a.cols; k0 += SYN__KC) { /* loop 4 */
      int n = syn__min(nc, c.cols - n0), k = syn__min(SYN__KC, a.cols - k0);
      p.c = syn__submatrix(c, 0, c.rows, n0, n);
      p.a = syn__submatrix(a, 0, a.rows, k0, k);
      p.b = syn__pack_b(t, syn__submatrix(b, k0, k, n0, n), t->pack);
      p.bias = bias ? bias + n0 : NULL;
      p.accumulate = accumulate || k0;
      syn__gemm_packed(t, &p);
    }
}
/* The same by one thread, inside a task, for small matrices: b is packed into `pack`, of
   k round16(n) floats, only where its rows are not contiguous; else pack is not read. */
static void syn__gemm_serial(const syn_tape *t, syn_matrix c, syn_matrix a, syn_matrix b,
                             int accumulate, float *pack) {
  syn__product p = syn__product_of(c, a, b, NULL, accumulate);
  if (b.col != 1) {
    t->k->pack_b(&b, pack);
    p.b = syn__packed(pack, b.rows, b.cols);
  }
  t->k->gemm(&p, 0, c.rows, 0, (c.cols + 15) / 16);
}

/* -- linear layers: y = x W^T + b -- */

/* W [out,in] of parameter w of a node. */
static syn_matrix syn__weight_matrix(const syn_tape *t, const syn_node *n, int w) {
  const syn_param *p = &t->g->params[n->param[w]];
  return syn_matrix_of(syn_weight(t, n, w), p->shape[0], (int)(p->size / (size_t)p->shape[0]), 0);
}
/* W^T [in,out], in panels while decoding. */
static syn_matrix syn__weight_transposed(const syn_tape *t, const syn_node *n, int w) {
  syn_matrix m = syn__weight_matrix(t, n, w);
  const float *panels = t->packed ? t->packed[n->param[w]] : NULL;
  return panels ? syn__packed(panels, m.cols, m.rows) : syn_transposed(m);
}
/* y [rows,out] = x [rows,in] W^T + b with the parameters `w` [out,in] and `bias` [out] (-1: none)
   of a node. The rows are those of x: keys and values of attention to the source have more than
   its output. */
static void syn__linear_forward(syn_tape *t, const syn_node *n, int w, int bias,
                                const syn_tensor *x, float *y) {
  syn_matrix wt = syn__weight_transposed(t, n, w);
  int rows = (int)syn_rows(x);
  syn_gemm(t, syn_matrix_of(y, rows, wt.cols, 0), syn_matrix_of(x->x, rows, wt.rows, 0), wt,
           bias >= 0 ? t->weights[n->param[bias]] : NULL, 0);
}

/* sums [cols] += the sum of the rows of x [rows,cols], in order: a row of ones times x. */
static syn__product syn__sum_of_rows(float *sums, syn_matrix x) {
  static const float one = 1.0f; /* every element of the row */
  syn_matrix ones = syn_matrix_of(&one, 1, x.rows, 0);
  ones.row = ones.col = 0;
  return syn__product_of(syn_matrix_of(sums, 1, x.cols, 0), ones, x, NULL, 1);
}

/* sums[c] += sum over the rows of x[row,c], rows in order: threads share out the columns */
static void syn__column_sums(syn_tape *t, float *sums, const float *x, size_t rows, size_t width) {
  syn__product p = syn__sum_of_rows(sums, syn_matrix_of(x, (int)rows, (int)width, 0));
  syn_parallel(t, syn__task_gemm, &p, (width + 15) / 16, 4);
}

/* Gradients of y = x W^T + b: dx += dy W, dW += dy^T x, db += column sums of dy. */
typedef struct syn__linear_grad {
  syn_matrix w;        /* [out,in] */
  const float *x, *dy; /* [rows,in], [rows,out] */
  float *dx, *dw, *db; /* shaped as x, w, and [out]; each may be null */
  size_t rows;
  int first_write;     /* 1: dx is written, whatever stands there */
} syn__linear_grad;

static void syn__linear_backward_of(syn_tape *t, const syn__linear_grad *g) {
  int rows = (int)g->rows, in = g->w.cols, out = g->w.rows;
  syn_matrix dy = syn_matrix_of(g->dy, rows, out, 0), x = syn_matrix_of(g->x, rows, in, 0);
  if (g->dx) syn_gemm(t, syn_matrix_of(g->dx, rows, in, 0), dy, g->w, NULL, !g->first_write);
  if (g->dw) syn_gemm(t, syn_matrix_of(g->dw, out, in, 0), syn_transposed(dy), x, NULL, 1);
  if (g->db) syn__column_sums(t, g->db, g->dy, g->rows, (size_t)out);
}

/* The same for parameters `w` and `bias` (-1: none) of a node; x brings x and dx. */
static syn__linear_grad syn__linear_grad_of(const syn_tape *t, const syn_node *n, int w, int bias,
                                            const syn_tensor *x, const float *dy) {
  float *dw = t->dweights[n->param[w]], *db = bias >= 0 ? t->dweights[n->param[bias]] : NULL;
  syn__linear_grad g = {syn__weight_matrix(t, n, w), x->x, dy, x->dx, dw, db, syn_rows(x), 0};
  return g;
}
static void syn__linear_backward(syn_tape *t, const syn_node *n, int w, int bias,
                                 const syn_tensor *x, const float *dy) {
  syn__linear_grad g = syn__linear_grad_of(t, n, w, bias, x, dy);
  syn__linear_backward_of(t, &g);
}

/* ==============================================================================================
   >>im2col   im2col, col2im: a convolution as one matrix product
   ============================================================================================== */

/* im2col copies, for row i of a sentence, the rows i + first + tap * dilate of it side by side, in
   the order of the taps; rows outside the sentence are 0. In an encoder they are centred on row i,
   in a decoder they end with it. A convolution is then one gemm with the kernel
   [out, taps * width]. col2im is its transpose: it adds each copy's gradient to its row. */
syn_conv syn_conv_of(const syn_build *b, int taps, int dilate) {
  syn_conv w = {taps, dilate, -(b->decoder ? taps - 1 : (taps - 1) / 2) * dilate};
  return w;
}

typedef struct syn__im2col_job {
  const syn_conv *w;
  const int *off; /* first row of every sentence */
  syn_matrix x;   /* [rows,width], or its gradient */
  float *col;     /* [rows,taps,width] */
  int add;        /* 0: im2col, x to col; 1: col2im, x += col */
} syn__im2col_job;

/* The sentences begin .. end-1, each from its last row: col2im then adds the taps that read a row
   in the order of the taps. */
static void syn__task_im2col(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__im2col_job *j = (const syn__im2col_job *)job;
  size_t s, width = (size_t)j->x.cols;
  int r, tap;
  SYN__UNUSED(thread);
  for (s = begin; s < end; s++)
    for (r = j->off[s + 1] - 1; r >= j->off[s]; r--)
      for (tap = 0; tap < j->w->taps; tap++) {
        int at = r + j->w->first + tap * j->w->dilate;
        int inside = at >= j->off[s] && at < j->off[s + 1];
        float *col = j->col + ((size_t)r * (size_t)j->w->taps + (size_t)tap) * width;
        float *x = inside ? j->x.x + (size_t)at * j->x.row : NULL;
        if (j->add && inside) t->k->acc(x, col, width);
        else if (inside) memcpy(col, x, width * sizeof *x);
        else if (!j->add) memset(col, 0, width * sizeof *x);
      }
}
static void syn__im2col(syn_tape *t, const syn_node *n, const syn_conv *w, syn_matrix x,
                        float *col, int add) {
  const syn_stream *stream = syn_out_stream(t, n);
  syn__im2col_job j = {w, stream->off, x, col, add};
  syn_parallel(t, syn__task_im2col, &j, (size_t)stream->count, 1);
}
void syn_im2col(syn_tape *t, const syn_node *n, const syn_conv *w, syn_matrix x, float *col) {
  syn__im2col(t, n, w, x, col, 0);
}
void syn_col2im(syn_tape *t, const syn_node *n, const syn_conv *w, const float *dcol,
                syn_matrix dx) {
  syn__im2col(t, n, w, dx, (float *)dcol, 1);
}

/* While decoding: writes the new rows x [rows,width] to the node's cache, `at` floats from its
   beginning, for the convolutions of later rows. */
static void syn__conv_cache_write(const syn_tape *t, const syn_node *n, size_t at, size_t width,
                                  const float *x) {
  int r;
  for (r = 0; r < t->decode->rows; r++)
    memcpy(syn_cache_new(t, n, r) + at, x + (size_t)r * width, width * sizeof *x);
}

/* While decoding: im2col of the new rows, from the node's cache; the new rows are in it already. */
static void syn__conv_cached(const syn_tape *t, const syn_node *n, const syn_conv *w, size_t at,
                             size_t width, float *col) {
  int r, tap;
  for (r = 0; r < t->decode->rows; r++)
    for (tap = 0; tap < w->taps; tap++) {
      int place = t->at[SYN_TGT][r] + w->first + tap * w->dilate;
      float *to = col + ((size_t)r * (size_t)w->taps + (size_t)tap) * width;
      if (place < 0) memset(to, 0, width * sizeof *to);
      else memcpy(to, syn_cache_row(t, n, r, place) + at, width * sizeof *to);
    }
}

/* ==============================================================================================
   >>pass   forward pass, backward pass over the nodes of a graph
   ============================================================================================== */

/* The key of one layer's dropout in one step. Whether an element is dropped is a hash of this key
   and the element's place, so that backward makes the same mask again instead of keeping it, and
   no thread waits for another's random numbers. `stream`: 2 id for the output of a node, 2 id + 1
   for the weights of an attention, whose signs keep the mask, too (kernel softmax_drop). */
static syn__dropout syn__dropout_of(const syn_tape *t, int stream, float rate) {
  uint64_t key = syn__mix(t->seed + 0x9E3779B97F4A7C15u * (uint64_t)(stream + 1));
  uint32_t limit = (uint32_t)(rate * 16777216.0f + 0.5f);
  syn__dropout d = {(uint32_t)key, (uint32_t)(key >> 32), limit, 1.0f / (1.0f - rate)};
  return d;
}

typedef struct syn__drop_job {
  syn__dropout d;
  float *x;
} syn__drop_job;

static void syn__task_drop(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__drop_job *j = (const syn__drop_job *)job;
  SYN__UNUSED(thread);
  t->k->dropout(&j->d, (uint32_t)begin, j->x + begin, end - begin);
}

/* 1: the output of a node is dropped in this pass, and how. */
static int syn__drops(const syn_tape *t, const syn_node *n, syn__dropout *d) {
  if (!t->training || n->drop <= 0.0f) return 0;
  *d = syn__dropout_of(t, 2 * n->id, n->drop);
  return 1;
}

/* Dropout of x [count] in this pass; `stream` as in syn__dropout_of. */
static void syn__drop_stream(syn_tape *t, int stream, float rate, float *x, size_t count) {
  syn__drop_job j = {syn__dropout_of(t, stream, rate), x};
  if (t->training && rate > 0.0f) syn_parallel(t, syn__task_drop, &j, count, 4096);
}
/* Of a node's output, and of its gradient: the same mask. */
static void syn__drop(syn_tape *t, const syn_node *n, float *x) {
  if (n->flags & SYN_OWN_DROPOUT) return;
  syn__drop_stream(t, 2 * n->id, n->drop, x, syn_count(syn_out(t, n)));
}
void syn_dropout(syn_tape *t, const syn_node *n, float rate, float *x, size_t count) {
  syn__drop_stream(t, 2 * n->id + 1, rate, x, count);
}

/* Passes over memory. A pass that does little for every number is worth a second thread from
   SYN__GRAIN numbers on: waking it takes a microsecond or two. Where one pass does two things, the
   second follows on SYN__CHUNK_FLOATS numbers at a time, which are still in the first cache. */
#define SYN__GRAIN ((size_t)1 << 14)
#define SYN__CHUNK_FLOATS ((size_t)1 << 11)

/* x [n] = 0, in parallel. */
static void syn__task_zero(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  SYN__UNUSED(t);
  SYN__UNUSED(thread);
  memset(*(float *const *)job + begin, 0, (end - begin) * sizeof(float));
}
static void syn__zero(syn_tape *t, float *x, size_t n) {
  syn_parallel(t, syn__task_zero, &x, n, SYN__GRAIN);
}

typedef struct syn__acc_job {
  float *y;           /* both as long as syn_accumulate is told */
  const float *x;
  float factor;
  int first_write;
} syn__acc_job;

static void syn__task_acc(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__acc_job *j = (const syn__acc_job *)job;
  SYN__UNUSED(thread);
  if (j->first_write) t->k->scale(j->y + begin, j->factor, j->x + begin, end - begin);
  else t->k->acc_scale(j->y + begin, j->factor, j->x + begin, end - begin);
}

/* y += factor x over n numbers, in parallel; first_write: y = factor x */
void syn_accumulate(syn_tape *t, float *y, const float *x, float factor, size_t n,
                    int first_write) {
  syn__acc_job j = {y, x, factor, first_write};
  syn_parallel(t, syn__task_acc, &j, n, SYN__GRAIN);
}

/* The last reader of a value is the first that backward reaches: before it, dx holds old numbers.
   Not for values of a user's tape, which are all zeroed before, nor for those made before a
   recurrent section, whose gradients add up over its passes. */
int syn_is_first_write(const syn_tape *t, const syn_node *n, int i) {
  const syn__value *v = &t->g->values[n->in[i]];
  int k;
  for (k = 0; k < i; k++)
    if (n->in[k] == n->in[i]) return 0;
  return v->last == n->id && v->stream != SYN_OWN && v->maker >= t->accumulate_before;
}

/* dx += factor dy for input 0, dx = factor dy at its first write, nothing where both are one. */
static void syn__add_dx(syn_tape *t, const syn_node *n, float factor) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  if (x->dx != y->dx)
    syn_accumulate(t, x->dx, y->dx, factor, syn_count(y), syn_is_first_write(t, n, 0));
}

/* Nodes stand in the order they were recorded, and what a node reads was recorded before it. */
static void syn__forward_nodes(syn_tape *t, int begin, int end) {
  int i;
  for (i = begin; i < end; i++) {
    const syn_node *n = t->g->nodes[i];
    n->kind->forward(t, n);
    syn__drop(t, n, syn_out(t, n)->x);
  }
}

/* Before the last reader of a value runs backward, the value's gradient is zeroed, unless the
   reader writes it (SYN_FIRST_WRITE) or it is the gradient of the reader's output
   (SYN_ALIAS_DX). `again`: the gradients of values made before `begin` add up. A value without a
   reader (the encoder's final norm where every layer has a block of its own) has no gradient. */
static void syn__backward_nodes(syn_tape *t, int begin, int end, int again) {
  int i, k;
  t->accumulate_before = again ? begin : 0;
  for (i = end - 1; i >= begin; i--) {
    const syn_node *n = t->g->nodes[i];
    const syn__value *out = &t->g->values[n->out];
    syn_tensor *y = syn_out(t, n), *x;
    int runs = y->dx && (out->last >= 0 || out->stream == SYN_OWN) && n->kind->backward;
    if (t->skip_backward && t->skip_backward[i])
      continue; /* what it reads was made by skipped nodes */
    for (k = 0; k < n->n_in; k++) {
      x = syn_in(t, n, k);
      if (x->dx && syn_is_first_write(t, n, k) &&
          !(runs && ((n->flags & SYN_FIRST_WRITE) || x->dx == y->dx)))
        syn__zero(t, x->dx, syn_count(x));
    }
    if (!runs) continue;
    /* dy is complete: from the gradient after the dropout to the one before it */
    syn__drop(t, n, y->dx);
    if (t->kept_grads) t->k->acc(t->kept_grads[n->out], y->dx, syn_count(y));
    n->kind->backward(t, n);
  }
}

/* -- the recurrent section: z of one token is an input of the next --

   Most layers can only run over all rows at once, so the recurrence is solved as the equation
   z = section(shift(z)): begin with z = 0, run all rows again and again. A causal decoder's row i
   reads z only before i, so z of token i is right after pass i + 1: as many passes as the longest
   sentence has tokens give the exact result. Backward is a Neumann series that ends for the same
   reason: each pass carries the gradient one token further back. Backward may overwrite what
   forward saved (attention does), so forward runs again before each further pass. */

/* The node behind the recurrent section: the section ends with the maker of z. */
static int syn__recurrent_end(const syn__graph *g) { return g->values[g->feedback].maker + 1; }

/* The nodes before `end`, which is before the recurrent section or behind it. */
static void syn__forward(syn_tape *t, int end) {
  const syn__graph *g = t->g;
  int pass, at = g->recurrent && g->recurrent < end ? g->recurrent : end;
  syn__forward_nodes(t, 0, at);
  if (at == end) return;
  for (pass = 0; pass < t->stream[SYN_TGT].longest; pass++) {
    const syn_node *n = g->nodes[at];
    if (!n->recurrence->forward(t, n, &t->tensors[g->feedback], pass)) break;
    syn__forward_nodes(t, at, syn__recurrent_end(g));
  }
  syn__forward_nodes(t, syn__recurrent_end(g), end);
}
/* Of the same nodes. The gradient of what the last of them makes is there already. */
static void syn__backward(syn_tape *t, int end) {
  const syn__graph *g = t->g;
  int at = g->recurrent, pass, longest = t->stream[SYN_TGT].longest;
  const syn_node *n = at ? g->nodes[at] : NULL;
  syn__backward_nodes(t, at, end, 0);
  for (pass = 1; n && pass < longest; pass++) {
    if (!n->recurrence->backward(t, n, &t->tensors[g->feedback])) break;
    syn__forward_nodes(t, at, syn__recurrent_end(g));
    syn__backward_nodes(t, at, syn__recurrent_end(g), 1);
  }
  syn__backward_nodes(t, 0, at, 0);
}

/* ==============================================================================================
   >>plan   where every buffer of a graph lies: lifetimes, offsets, peak
   ============================================================================================== */

/* The largest batch a run is planned for. */
typedef struct syn__capacity {
  size_t rows[SYN_STREAMS]; /* tokens of all sentences together; SYN_EACH: sentences */
  size_t longest;           /* tokens of one sentence, source or target */
} syn__capacity;

/* Floats of an extent for the largest batch. pair: every query meets the keys of its own sentence,
   `longest` at most, so that rows * longest holds any batch that fits. SIZE_MAX when it is too
   much: the allocation then fails. */
static size_t syn__extent_floats(const syn__graph *g, const syn_node *n, const syn_extent *e,
                                 const syn__capacity *cap) {
  int to = g->values[n->out].stream, from = n->n_in ? g->values[n->in[n->n_in - 1]].stream : to;
  size_t rows = cap->rows[to], most = rows > cap->rows[from] ? rows : cap->rows[from];
  size_t longest = cap->longest, sum = syn__add_size(e->fixed, syn__mul_size(e->row, most));
  sum = syn__add_size(sum, syn__mul_size(e->pair, syn__mul_size(rows, longest)));
  sum = syn__add_size(sum, syn__mul_size(e->length, longest));
  sum = syn__add_size(sum, syn__mul_size(e->square, syn__mul_size(longest, longest)));
  return syn__round16(sum);
}

/* One buffer: when it is needed, how large, where it lies. */
typedef struct syn__item {
  int from, to;    /* first and last time, both included */
  size_t size, at; /* floats; size is a multiple of 16, so that every buffer is aligned */
  float **where;   /* pointer to set; null while only sizes are asked */
  struct syn__item *next; /* of the buffers in use at one time, the one behind it in memory */
} syn__item;

/* What a run is for. TRAIN: forward and backward; KEEP: the same, and every value and gradient can
   be read afterwards; READ: forward, and logits and attention weights can be read afterwards;
   INFER: forward. READ and INFER reuse a buffer after its last reader. */
enum { SYN__TRAIN, SYN__KEEP, SYN__READ, SYN__INFER };

/* The list of all buffers of a run. */
typedef struct syn__items {
  const syn__graph *g;
  int mode; /* SYN__TRAIN ... */
  const syn__capacity *cap;
  syn__item *items; /* in order of `from`, and of arrival where that is equal */
  size_t count;
} syn__items;

static void syn__item_add(syn__items *l, int from, int to, size_t size, float **where) {
  syn__item item = {from, to, size, 0, where, NULL};
  size_t k = l->count++;
  for (; k > 0 && l->items[k - 1].from > from; k--) l->items[k] = l->items[k - 1];
  l->items[k] = item;
}

/* First fit: items come in order of `from`; those that ended are removed, and a new one takes the
   first gap that is large enough. Returns the floats needed. Only sizes and times are known here,
   so a plan without memory (syn_plan_of) gives the same places as the run. */
static size_t syn__place(const syn__items *l) {
  syn__item *active = NULL, **link; /* active: in the order of their places */
  size_t i, peak = 0;
  for (i = 0; i < l->count; i++) {
    syn__item *item = &l->items[i];
    for (link = &active; *link;) {
      if ((*link)->to < item->from) *link = (*link)->next;
      else link = &(*link)->next;
    }
    for (link = &active; *link && item->at + item->size > (*link)->at; link = &(*link)->next)
      item->at = (*link)->at + (*link)->size;
    item->next = *link;
    *link = item;
    if (syn__add_size(item->at, item->size) > peak) peak = syn__add_size(item->at, item->size);
    if (peak > SIZE_MAX / 16) return SIZE_MAX;
  }
  return peak;
}

/* The value whose gradient has the same buffer as that of `value`, -1: none. The maker of `value`
   would only copy dy to dx (SYN_ALIAS_DX), and dx holds nothing yet. So the gradient of a whole
   chain of residual sums is one buffer. Not in a graph whose nodes run more than once. */
static int syn__dx_alias(const syn__graph *g, int value) {
  int maker = g->values[value].maker;
  const syn_node *n = maker < 0 ? NULL : g->nodes[maker];
  if (!n || !(n->flags & SYN_ALIAS_DX) || g->recurrent || g->values[n->in[0]].last != maker)
    return -1;
  return n->n_in > 1 && n->in[1] == n->in[0] ? -1 : n->in[0];
}
/* 1: the gradient of `value` is that of what its last reader makes. */
static int syn__is_dx_alias(const syn__graph *g, int value) {
  int last = g->values[value].last;
  return last >= 0 && syn__dx_alias(g, g->nodes[last]->out) == value;
}

/* 1: no backward function reads the numbers of the value, so that its last reader in the forward
   pass frees them. The head of a training run comes after all nodes and reads its input. */
static int syn__not_needed(const syn__graph *g, const syn__value *v) {
  int i, k, needed = g->recurrent || !(g->nodes[v->maker]->flags & SYN_OUTPUT_NOT_NEEDED);
  for (i = v->first; i >= 0 && i <= v->last && !needed; i++)
    for (k = 0; k < g->nodes[i]->n_in; k++)
      if (&g->values[g->nodes[i]->in[k]] == v)
        needed |= !(g->nodes[i]->flags & SYN_INPUT_NOT_NEEDED);
  return !needed && v->last < (int)g->n_nodes;
}

/* Times: node i runs forward at i, backward at 2n-1-i. A value lives from its maker's forward until
   its maker's backward, which may read its own output; one that no backward needs, until its last
   reader's forward. A gradient lives from the last reader's backward, where it is zeroed or first
   written, until the maker's; without a reader it begins at n. A gradient buffer that several
   values share lives until the backward of the first maker. */
static void syn__item_values(syn__items *l, syn_tape *t) {
  const syn__graph *g = l->g;
  int n = (int)g->n_nodes, end = 2 * n - 1, mode = l->mode, alias, to;
  size_t i;
  for (i = 0; i < g->n_values; i++) {
    const syn__value *v = &g->values[i];
    size_t size = syn__round16(syn__mul_size((size_t)v->shape[1], l->cap->rows[v->stream]));
    to = mode == SYN__TRAIN && !syn__not_needed(g, v) ? end - v->maker
         : mode == SYN__KEEP || v->last < 0          ? end
                                                     : v->last;
    syn__item_add(l, v->maker, to, size, t ? &t->tensors[i].x : NULL);
    if (mode == SYN__KEEP) syn__item_add(l, v->maker, to, size, t ? &t->kept_grads[i] : NULL);
    if (mode > SYN__KEEP || (mode == SYN__KEEP && v->last < 0) || syn__is_dx_alias(g, (int)i))
      continue;
    for (alias = (int)i; alias >= 0; alias = syn__dx_alias(g, alias))
      to = end - g->values[alias].maker;
    syn__item_add(l, v->last < 0 ? n : end - v->last, to, size, t ? &t->tensors[i].dx : NULL);
  }
}

/* Saved buffers by their life: FORWARD for the moment of forward, BACKWARD for that of backward,
   BOTH from one to the other. Without a backward pass only the moment of forward is left. */
static void syn__item_saved(syn__items *l, float **saved) {
  int n = (int)l->g->n_nodes, mode = l->mode, i, k;
  for (i = 0; i < n; i++)
    for (k = 0; k < l->g->nodes[i]->n_save; k++) {
      const syn_node *node = l->g->nodes[i];
      int life = node->save_life[k], from = life == SYN_BACKWARD ? 2 * n - 1 - i : i;
      int to = life == SYN_FORWARD || mode > SYN__KEEP ? i : 2 * n - 1 - i;
      syn_extent e = node->save[k];
      if (mode == SYN__INFER && i >= l->g->n_encoder && node->kind->step)
        e.pair = 0; /* a step uses scratch instead */
      if (mode > SYN__KEEP && life == SYN_BACKWARD) continue;
      if ((mode == SYN__KEEP && life == SYN_BOTH) ||
          (mode == SYN__READ && node->seen_heads && node->seen == k))
        to = 2 * n;
      syn__item_add(l, from, to, syn__extent_floats(l->g, node, &e, l->cap),
                    saved ? &saved[i * SYN_MAX_SAVE + k] : NULL);
    }
}

/* A recurrent section must find its buffers in each pass as it left them: what is needed while it
   runs is kept until its last pass is done. */
static void syn__item_recurrent(syn__items *l) {
  int n = (int)l->g->n_nodes, first = l->g->recurrent;
  int last = l->mode > SYN__KEEP ? n - 1 : 2 * n - 1 - first;
  size_t i;
  for (i = 0; i < l->count && first; i++)
    if (l->items[i].to >= first && l->items[i].to < last) l->items[i].to = last;
}

/* Scratch of one thread: nodes run one after the other, so the largest need serves all. */
static size_t syn__scratch_floats(const syn__graph *g, const syn__capacity *cap) {
  size_t i, most = 0;
  for (i = 0; i < g->n_nodes; i++) {
    size_t floats = syn__extent_floats(g, g->nodes[i], &g->nodes[i]->scratch, cap);
    if (floats > most) most = floats;
  }
  return most;
}

/* ==============================================================================================
   >>arguments   arguments of a layer as its kind reads them
   ============================================================================================== */

/* The arguments in parentheses behind the name of a layer. >>language has parsed them; a kind reads
   their values here, in its `shape` or `build`, and states the range that it allows. */

/* The argument of that name; null: the text does not give it. */
static const syn__arg *syn__arg_find(const syn_layer *l, const char *name) {
  int i;
  for (i = 0; i < l->n_args; i++)
    if (!strcmp(l->args[i].name, name)) return &l->args[i];
  return NULL;
}

/* These return `otherwise` where the layer does not say, and after recording an error: the builder
   looks at the context's status once, when the node is done. */
static double syn__arg_number(syn_build *b, const char *name, double otherwise, double least,
                              double most, int whole) {
  const syn__arg *a = syn__arg_find(b->layer, name);
  int digits = whole ? 10 : 6; /* 10: every int is printed in full */
  if (!a) return otherwise;
  if (a->number >= least && a->number <= most && (!whole || a->number == floor(a->number)))
    return a->number; /* not reached by a NaN */
  syn__fail_build(b, SYN_E_TEXT, "%s is %g, wanted a %snumber from %.*g to %.*g", name, a->number,
                  whole ? "whole " : "", digits, least, digits, most);
  return otherwise;
}
int syn_arg_int(syn_build *b, const char *name, int otherwise, int least, int most) {
  return (int)syn__arg_number(b, name, otherwise, least, most, 1);
}
float syn_arg_float(syn_build *b, const char *name, float otherwise, float least, float most) {
  return (float)syn__arg_number(b, name, (double)otherwise, (double)least, (double)most, 0);
}

static int syn__text_is(syn_text a, const char *b) {
  return strlen(b) == a.size && !memcmp(a.at, b, a.size);
}

/* The place of the word in a list of names; `otherwise` as above. */
int syn_arg_word(syn_build *b, const char *name, const char *const *words, int count,
                 int otherwise) {
  const syn__arg *a = syn__arg_find(b->layer, name);
  char list[160]; /* the words, for the message */
  syn__text_out w = syn__text_begin(list, sizeof list);
  int i;
  if (!a) return otherwise;
  for (i = 0; i < count; i++) {
    if (syn__text_is(a->word, words[i])) return i;
    syn__print(&w, "%s%s", i ? ", " : "", words[i]);
  }
  syn__fail_build(b, SYN_E_TEXT, "%s is '%.*s', wanted one of %s; did you mean '%.40s'?", name,
                  a->word.size < 40 ? (int)a->word.size : 40, a->word.at, list,
                  syn__nearest(a->word.at, a->word.size, words, (size_t)count, sizeof *words));
  return otherwise;
}

/* A node of a kind with one input, as most layers are. Returns its output; -1: failed. */
static int syn__build_leaf(syn_build *b, const syn_layer *l, int x) {
  syn_node *n = syn__node_new(b, l->kind, 1, &x);
  if (n && (l->kind->flags & SYN_DROPS))
    n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  return syn__node_done(b, n);
}

/* The layers of a chain one after the other; b->path names the chain. Returns the value that the
   last layer makes of x; -1: failed. */
int syn_build_chain(syn_build *b, const syn_layer *chain, int x) { return b->chain(b, chain, x); }

/* Appends .number to the path. A path that were cut would give two layers the same name. */
static syn_status syn__path_push(syn_build *b, int number) {
  size_t size = strlen(b->path), capacity = sizeof b->path - size;
  if (syn__snprintf(b->path + size, capacity, ".%d", number) < (int)capacity) return SYN_OK;
  b->path[size] = 0;
  return syn__fail_build(b, SYN_E_TEXT, "the place %.40s... is longer than %d characters", b->path,
                         (int)sizeof b->path - 1);
}

/* The same below path.number, for kinds that hold several chains or copies. */
static int syn__build_branch(syn_build *b, const syn_layer *chain, int number, int x) {
  size_t size = strlen(b->path);
  int y;
  if (syn__path_push(b, number)) return -1;
  y = syn_build_chain(b, chain, x);
  b->path[size] = 0;
  return y;
}

/* ==============================================================================================
   >>tape   a user's own tape: every operation runs as it is recorded
   ============================================================================================== */

/* A tape is the list of operations that made its tensors (Wengert 1964). syn__record appends a
   node and runs its kind's forward function at once; syn_backward runs the backward functions from
   the last node to the first. Numbers and gradients of all tensors lie in one block of memory,
   which syn_tape_clear makes free again. */

/* Of one tape; the array is never moved, since the user holds pointers into it. */
#define SYN__TAPE_TENSORS 4096

/* Zeroed floats from the tape's block: gradients begin at 0, leaves as the api promises. */
static void *syn__tape_get(syn_tape *t, size_t floats) {
  size_t bytes = syn__mul_size(syn__round16(floats), sizeof(float));
  char *at = t->block + t->block_used;
  if (bytes > t->block_size - t->block_used) {
    syn__fail(t->c, SYN_E_MEMORY, "the tape has %lu bytes left of %lu, wanted %lu",
              (unsigned long)(t->block_size - t->block_used), (unsigned long)t->block_size,
              (unsigned long)bytes);
    return NULL;
  }
  t->block_used += bytes;
  memset(at, 0, bytes);
  return at;
}

/* Gives the newest value its tensor, with memory for numbers and gradient; null: no room. */
static syn_tensor *syn__tape_tensor(syn_tape *t, int id) {
  syn_tensor *a = syn__tensor_begin(t, id);
  a->x = (float *)syn__tape_get(t, syn_count(a));
  a->dx = a->x ? (float *)syn__tape_get(t, syn_count(a)) : NULL;
  return a->dx ? a : NULL;
}

/* The size of a tape. An operation that fails is removed, or else the next run would execute it. */
typedef struct syn__mark {
  size_t nodes, values, used; /* used: bytes of the block */
} syn__mark;
/* Notes the size before one more tensor; 0, with an error: the tape is full. */
static int syn__tape_mark(const syn_tape *t, syn__mark *mark) {
  const syn__mark now = {t->g->n_nodes, t->g->n_values, t->block_used};
  *mark = now;
  return now.values < SYN__TAPE_TENSORS ||
         !syn__fail(t->c, SYN_E_MEMORY, "a tape of more than %d tensors", SYN__TAPE_TENSORS);
}
/* Restores that size and returns null, which callers pass on. */
static syn_tensor *syn__tape_back(syn_tape *t, syn__mark mark) {
  t->own.g->n_nodes = mark.nodes;
  t->own.g->n_values = mark.values;
  t->block_used = mark.used;
  return NULL;
}

/* A user's tape in one allocation with its graph. */
typedef struct syn__own_tape {
  syn_tape tape;
  syn__graph graph;
} syn__own_tape;

syn_tape *syn_tape_new(syn_context *c, size_t bytes) {
  syn__own_tape *own = (syn__own_tape *)syn__alloc(c, 1, sizeof *own);
  syn_tape *t;
  size_t packed;
  if (!own) return NULL;
  t = &own->tape;
  t->c = t->own.c = own->graph.arena.c = c;
  t->g = t->own.g = &own->graph;
  t->own.side = "tape"; /* messages begin with it */
  t->k = c->kernels;
  t->threads = c->options.threads;
  t->tensors = (syn_tensor *)syn__alloc(c, SYN__TAPE_TENSORS, sizeof *t->tensors);
  /* an operation makes one tensor, so that there are never more nodes than tensors */
  t->saved = (float **)syn__alloc(c, SYN__TAPE_TENSORS * SYN_MAX_SAVE, sizeof *t->saved);
  /* one block, as that of a model: if it is large, products find their panels in large pages */
  packed = syn__round16(syn__pack_floats(t->threads)) * sizeof(float);
  t->pack = (float *)syn__alloc(c, 1, syn__add_size(packed, bytes));
  if (t->pack) t->block = (char *)t->pack + packed;
  t->block_size = bytes;
  if (t->tensors && t->saved && t->pack) return t;
  syn_tape_free(t);
  return NULL;
}

/* The struct is the first field of its syn__own_tape, so the last call frees the graph, too. */
void syn_tape_free(syn_tape *t) {
  if (!t) return;
  syn__graph_free(t->c, t->own.g);
  syn__free(t->c, t->tensors);
  syn__free(t->c, t->saved);
  syn__free(t->c, t->pack);
  syn__free(t->c, t);
}

/* Tensors made before are invalid afterwards. */
void syn_tape_clear(syn_tape *t) {
  if (!t) return;
  syn__graph_free(t->c, t->own.g);
  t->own.g->arena.c = t->c;
  t->block_used = 0;
}

/* A leaf: no operation makes it. */
syn_tensor *syn_tensor_new(syn_tape *t, int rank, const int *shape) {
  syn__mark mark;
  syn_tensor *a;
  int id, i;
  if (!t || !shape || !syn__tape_mark(t, &mark)) return NULL;
  for (i = 0; i < rank && rank <= SYN_MAX_RANK && shape[i] > 0; i++) continue;
  if (rank < 1 || i < rank) { /* i == rank when all is well */
    syn__fail(t->c, SYN_E_SHAPE, "tensor: rank %d, wanted 1 to %d with every size above 0", rank,
              SYN_MAX_RANK);
    return NULL;
  }
  id = syn__value_new(&t->own, SYN_OWN, rank, shape);
  a = id < 0 ? NULL : syn__tape_tensor(t, id);
  return a ? a : syn__tape_back(t, mark);
}

/* Memory for the result of a node and for what it saves; null: the tape is full. */
static syn_tensor *syn__record_memory(syn_tape *t, const syn_node *n) {
  syn_tensor *out = syn__tape_tensor(t, n->out);
  size_t floats;
  int k;
  for (k = 0; out && k < n->n_save; k++) {
    floats = n->save[k].fixed + n->save[k].row * syn_rows(out);
    t->saved[n->id * SYN_MAX_SAVE + k] = (float *)syn__tape_get(t, floats);
    if (!t->saved[n->id * SYN_MAX_SAVE + k]) out = NULL;
  }
  return out;
}

/* Records one operation and runs it; a copy of `own` [size] becomes n->own (0: none). What fails
   leaves no trace: a value without memory, or a node that writes to one, would be met by the next
   syn_backward. */
static syn_tensor *syn__record(const syn_kind *kind, int n_in, syn_tensor *const *in,
                               const void *own, size_t size) {
  int ids[2], i;
  syn_tape *t = in[0] ? in[0]->tape : NULL;
  syn_node *n;
  syn_tensor *out;
  syn__mark mark;
  if (!t || (n_in > 1 && !in[1]) || !syn__tape_mark(t, &mark)) return NULL;
  for (i = 0; i < n_in; i++) ids[i] = in[i]->id;
  if (n_in > 1 && in[1]->tape != t) {
    syn__fail(t->c, SYN_E_VALUE, "%s: the two tensors are of different tapes", kind->name);
    return NULL;
  }
  n = syn__node_new(&t->own, kind, n_in, ids);
  if (!n || (size && syn__own_copy(&t->own, n, own, size))) return syn__tape_back(t, mark);
  out = syn__node_done(&t->own, n) < 0 ? NULL : syn__record_memory(t, n);
  if (!out) return syn__tape_back(t, mark);
  kind->forward(t, n);
  return out;
}

/* Leaves keep the numbers that the user has written; every other tensor is computed again. */
void syn_tape_forward(syn_tape *t) {
  if (t) syn__forward(t, (int)t->g->n_nodes);
}

/* dL/dx of every tensor x of the tape, to its dx. Those of an earlier call are replaced. */
syn_status syn_backward(syn_tensor *loss) {
  syn_tape *t;
  size_t i;
  if (!loss) return SYN_E_VALUE;
  t = loss->tape;
  if (syn_count(loss) != 1)
    return syn__fail(t->c, SYN_E_SHAPE, "backward: the tensor has %lu numbers, wanted 1 (a loss)",
                     (unsigned long)syn_count(loss));
  for (i = 0; i < t->g->n_values; i++)
    memset(t->tensors[i].dx, 0, syn_count(&t->tensors[i]) * sizeof(float));
  loss->dx[0] = 1.0f; /* d loss / d loss; what was recorded after the loss gets gradients of 0 */
  syn__backward(t, (int)t->g->n_nodes);
  return SYN_OK;
}

/* Central difference (f(x+h) - f(x-h)) / 2h of the loss by one number, with the whole tape run
   twice. */
static double syn__difference(syn_tensor *loss, float *at, float h) {
  float keep = *at;
  double up, down;
  *at = keep + h;
  syn_tape_forward(loss->tape);
  up = (double)loss->x[0];
  *at = keep - h;
  syn_tape_forward(loss->tape);
  down = (double)loss->x[0];
  *at = keep;
  return (up - down) / (2.0 * (double)h);
}

/* The error relative to the largest gradient of the leaf: a small one beside it is all rounding. A
   NaN or an infinity anywhere gives infinity; `worst` alone would not see a NaN, which compares as
   false. */
float syn_gradient_check(syn_tensor *loss, syn_tensor *leaf, float h) {
  size_t i;
  double worst = 0.0, largest = 1e-8;
  int bad = 0;
  if (!loss || !leaf || syn_backward(loss)) return (float)INFINITY;
  for (i = 0; i < syn_count(leaf); i++) {
    double g = (double)leaf->dx[i], difference = fabs(syn__difference(loss, &leaf->x[i], h) - g);
    if (difference > worst) worst = difference;
    if (fabs(g) > largest) largest = fabs(g);
    bad |= !(difference < (double)INFINITY); /* also not a number */
  }
  syn_tape_forward(loss->tape);
  return bad ? INFINITY : (float)(worst / largest);
}

/* ==============================================================================================
   >>small build   instructions of a small model, made from the nodes of a network
   ============================================================================================== */

/* Every kind that a small model may have has a function `lower`, which appends the instructions of
   one of its nodes. It names rows and caches by numbers of values; they get their offsets when all
   instructions are there.

   The encoder runs row by row as far as it can: a segment is a list of instructions that every row
   runs before any row runs the next segment. Only attention needs a new segment, since a query
   needs the keys of all rows. A value that a later segment reads is kept for all rows; but a norm
   is computed anew in every segment that reads it, which needs no memory. */

typedef struct syn__small_value {
  int32_t bytes;          /* of a row */
  int program, segment;   /* where it is written */
  int from, to, last;     /* instructions: its maker, its last reader; segment of that reader */
  int cache, state, kept; /* a cache; a row that stays; read by another program */
  int around;             /* rows around the current one are read: it must not be overwritten */
  int anew, made;         /* 1: made by `norm` where it is read; the value made last, -1: none */
  int32_t norm[6];        /* operands; norm[1] is the number of the value that it reads */
  int alias;              /* a value whose row it may overwrite, -1: none */
  int whole, part;        /* a slice of the row of value `whole`, `part` bytes into it; -1: none */
  int32_t region, offset; /* found by syn__small_offsets */
} syn__small_value;

typedef struct syn__small_build {
  syn_context *c;
  const syn__graph *g;
  const syn_config *config;
  syn__array code[3]; /* int32_t, of each program */
  syn__array data;    /* int32_t; word 0 is unused, since place 0 means none */
  syn__array values;
  int *of;            /* [values of the graph] the number of its small value */
  int32_t *matrix;    /* [params] place of its matrix, where it was written already; or 0 */
  int32_t tokenizer[2]; /* places, 0: none */
  int task, program, segment;
  int32_t format; /* of matrices */
  int32_t widest, heads;
} syn__small_build;

static syn__small_value *syn__lower_at(const syn__small_build *l, int v) {
  return (syn__small_value *)l->values.items + v;
}

/* -- data: each returns the place of what it appends -- */

/* Memory for `bytes` bytes, zeroed, at the end of the data; null (recorded) without memory. */
static void *syn__lower_data(syn__small_build *l, size_t bytes, int32_t *place) {
  size_t words = (bytes + 3) / 4, count = l->data.count;
  *place = (int32_t)count;
  if (syn__grow(l->c, &l->data.items, &l->data.capacity, syn__add_size(count, words), 4))
    return NULL;
  l->data.count = count + words;
  return memset((int32_t *)l->data.items + count, 0, 4 * words);
}
static int32_t syn__lower_floats(syn__small_build *l, const float *x, size_t n) {
  int32_t place;
  void *to = syn__lower_data(l, n * sizeof *x, &place);
  if (to) memcpy(to, x, n * sizeof *x);
  return place;
}

static float syn__lower_most(const float *x, int n) {
  float most = 0.0f;
  int i;
  for (i = 0; i < n; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
  return most;
}
static int syn__lower_round(float x, int most) {
  int q = (int)syn__small_round(x);
  return q > most ? most : q < -most ? -most : q;
}
/* Row r of a panel = x [k] in int8; returns its scale. */
static float syn__lower_i8(int8_t *panel, int format, int r, const float *x, int k) {
  int32_t columns = syn__small_columns(format, k);
  float most = syn__lower_most(x, k);
  int i;
  if (most < SYN__SMALL_TINY) return 0.0f;
  for (i = 0; i < k; i++)
    panel[syn__small_offset(format, columns, r, i)] =
        (int8_t)syn__lower_round(x[i] * (127.0f / most), 127);
  return most / 127.0f;
}
/* The sum of squared errors of x [n] in steps of `step` from -7 to 7. */
static float syn__lower_error(const float *x, int n, float step) {
  float sum = 0.0f, factor = 1.0f / step;
  int i;
  for (i = 0; i < n; i++) {
    float error = x[i] - step * (float)syn__lower_round(x[i] * factor, 7);
    sum += error * error;
  }
  return sum;
}
/* The scale, from 0 to 255 times that of the row, with the smallest error for x [n]. */
static int syn__lower_group(const float *x, int n, float scale) {
  int most = scale > 0.0f ? syn__lower_round(syn__lower_most(x, n) / (7.0f * scale), 255) : 0;
  int best = most, at;
  float least = most ? syn__lower_error(x, n, scale * (float)most) : 0.0f;
  for (at = most - 1; at > most / 2; at--) {
    float error = syn__lower_error(x, n, scale * (float)at);
    if (error < least) {
      least = error;
      best = at;
    }
  }
  return best;
}
/* The same in i4: the largest scale of 32 columns is at most 255 times that of the row. */
static float syn__lower_i4(int8_t *panel, int r, const float *x, int k) {
  float most = syn__lower_most(x, k);
  float scale = most < SYN__SMALL_TINY ? 0.0f : most / (7.0f * 255.0f);
  int g, i;
  for (g = 0; g < k; g += 32, panel += SYN__SMALL_I4_BYTES) {
    int size = k - g < 32 ? k - g : 32, of_group = syn__lower_group(x + g, size, scale);
    float factor = of_group ? 1.0f / (scale * (float)of_group) : 0.0f;
    panel[64 + r] = (int8_t)(uint8_t)of_group;
    for (i = 0; i < 32; i += 2) {
      int low = i < size ? syn__lower_round(x[g + i] * factor, 7) : 0;
      int high = i + 1 < size ? syn__lower_round(x[g + i + 1] * factor, 7) : 0;
      panel[syn__small_offset(SYN__SMALL_i4, 32, r, i / 2)] =
          (int8_t)(uint8_t)(low + 8 + 16 * (high + 8));
    }
  }
  return scale;
}
/* The data of the matrix x [n,k]; 0: failed. */
static int32_t syn__lower_weights(syn__small_build *l, const float *x, int n, int k) {
  int32_t rows = syn__small_round4(n), panel, place, i;
  char *scales;
  int8_t *to;
  if (l->format == SYN__SMALL_i4 && k > SYN__SMALL_I4_COLUMNS) {
    syn__fail(l->c, SYN_E_VALUE, "i4: a matrix with rows of %d weights; at most %d", k,
              SYN__SMALL_I4_COLUMNS);
    return 0;
  }
  panel = syn__small_panel(l->format, syn__small_columns(l->format, k));
  scales = (char *)syn__lower_data(
      l, 4 + (size_t)rows * sizeof(float) + (size_t)(rows / 4) * (size_t)panel, &place);
  if (!scales) return 0;
  memcpy(scales, &l->format, sizeof l->format);
  scales += sizeof l->format;
  to = (int8_t *)scales + (size_t)rows * sizeof(float);
  for (i = 0; i < n; i++) {
    const float *row = x + (size_t)i * (size_t)k;
    float scale = l->format == SYN__SMALL_i4
                      ? syn__lower_i4(to + i / 4 * panel, i % 4, row, k)
                      : syn__lower_i8(to + i / 4 * panel, l->format, i % 4, row, k);
    memcpy(scales + (size_t)i * sizeof scale, &scale, sizeof scale);
  }
  return place;
}
/* Those of a parameter, written once: a tied embedding is the matrix of the output. */
static int32_t syn__lower_matrix(syn__small_build *l, int p) {
  const syn_param *w = &l->g->params[p];
  int n = w->shape[0];
  if (!l->matrix[p]) l->matrix[p] = syn__lower_weights(l, w->x, n, (int)(w->size / (size_t)n));
  return l->matrix[p];
}

/* -- values and instructions -- */

/* A new row of floats, or a cache, made by the next instruction; -1: failed. */
static int syn__lower_value(syn__small_build *l, int32_t bytes, int cache) {
  syn__small_value v;
  memset(&v, 0, sizeof v);
  v.bytes = bytes;
  v.program = l->program;
  v.segment = v.last = l->segment;
  v.from = v.to = (int)l->code[l->program].count;
  v.cache = cache;
  v.alias = v.whole = -1;
  return syn__append(l->c, &l->values, &v, 1, sizeof v) ? -1 : (int)l->values.count - 1;
}
static int syn__lower_new(syn__small_build *l, int width) {
  return syn__lower_value(l, 4 * (int32_t)width, 0);
}
/* A row that stays from one row to the next; 0 before the first. */
static int syn__lower_state(syn__small_build *l, int width) {
  int v = syn__lower_new(l, width);
  if (v >= 0) syn__lower_at(l, v)->state = 1;
  return v;
}
/* Appends an instruction. */
static void syn__lower_emit(syn__small_build *l, int code, const int32_t *a, int n) {
  int32_t word = code + 256 * (n + 1);
  if (!syn__append(l->c, &l->code[l->program], &word, 1, sizeof word))
    syn__append(l->c, &l->code[l->program], a, (size_t)n, sizeof *a);
}
/* The next instruction reads value v: returns v, or what its norm makes in this segment. */
static int syn__lower_read(syn__small_build *l, int v) {
  syn__small_value *x = syn__lower_at(l, v), *made;
  int32_t a[6];
  if (v < 0) return v;
  if (x->anew) {
    made = x->made < 0 ? NULL : syn__lower_at(l, x->made);
    if (made && made->program == l->program && made->segment == l->segment)
      return syn__lower_read(l, x->made);
    memcpy(a, x->norm, sizeof a);
    a[1] = syn__lower_read(l, a[1]);
    a[0] = syn__lower_new(l, a[2]);
    if (a[0] < 0) return -1;
    syn__lower_at(l, v)->made = a[0];
    syn__lower_at(l, a[0])->alias = a[1];
    syn__lower_emit(l, SYN__SMALL_OP_norm, a, 6);
    return syn__lower_read(l, a[0]);
  }
  if (x->program != l->program) x->kept = 1;
  else {
    x->to = (int)l->code[l->program].count;
    x->last = l->segment;
  }
  if (x->whole >= 0) syn__lower_read(l, x->whole);
  return v;
}
/* The numbers at .. at+width-1 of row v, to be read, or to be written by the next instruction. */
static int syn__lower_slice(syn__small_build *l, int v, int at, int width) {
  int slice = v < 0 ? -1 : syn__lower_new(l, width);
  if (slice < 0) return -1;
  syn__lower_at(l, slice)->whole = v;
  syn__lower_at(l, slice)->part = 4 * at;
  return syn__lower_read(l, slice);
}
/* Input i of a node. */
static int syn__lower_in(syn__small_build *l, const syn_node *n, int i) { return l->of[n->in[i]]; }
static int syn__lower_width(const syn__small_build *l, int v) {
  return v < 0 ? 0 : syn__lower_at(l, v)->bytes / 4;
}
/* In the encoder: all rows run what is there before any runs what follows. */
static void syn__lower_segment(syn__small_build *l) {
  int32_t forward = 0;
  if (l->program != SYN__SMALL_ENCODE) return;
  syn__lower_emit(l, SYN__SMALL_OP_segment, &forward, 1);
  l->segment++;
}

/* y = act(W x + b); act: 1 + its place in syn__act_names, 0: none; bias -1: none */
static int syn__lower_linear(syn__small_build *l, int x, int w, int bias, int act) {
  const syn_param *p = &l->g->params[w];
  int32_t a[7];
  a[1] = syn__lower_read(l, x);
  a[0] = syn__lower_new(l, p->shape[0]);
  a[2] = act;
  a[3] = p->shape[0];
  a[4] = (int32_t)(p->size / (size_t)p->shape[0]);
  a[5] = syn__lower_matrix(l, w);
  a[6] = bias < 0 ? 0 : syn__lower_floats(l, l->g->params[bias].x, (size_t)p->shape[0]);
  l->widest = syn__max(l->widest, a[4]);
  syn__lower_emit(l, SYN__SMALL_OP_linear, a, 7);
  return a[0];
}
/* y = factor x + the row of its place in the table [N,d], whose numbers become int16. */
static int syn__lower_places(syn__small_build *l, int x, const float *table, int d, float factor) {
  size_t i, count = (size_t)d * (size_t)l->config->max_len;
  syn__small_bits scale, f;
  int32_t a[5];
  char *to;
  f.f = factor;
  scale.f = 1e-30f; /* not 0: it divides */
  for (i = 0; i < count; i++) scale.f = fabsf(table[i]) > scale.f ? fabsf(table[i]) : scale.f;
  scale.f = scale.f / 32767.0f;
  a[1] = syn__lower_read(l, x);
  a[0] = syn__lower_new(l, d);
  a[2] = d;
  a[3] = f.i;
  to = (char *)syn__lower_data(l, sizeof scale.f + count * sizeof(int16_t), &a[4]);
  if (!to || a[0] < 0) return -1;
  syn__lower_at(l, a[0])->alias = a[1];
  memcpy(to, &scale.f, sizeof scale.f);
  for (i = 0; i < count; i++) {
    int16_t q = (int16_t)syn__small_round(table[i] / scale.f);
    memcpy(to + sizeof scale.f + i * sizeof q, &q, sizeof q);
  }
  syn__lower_emit(l, SYN__SMALL_OP_places, a, 5);
  return a[0];
}
/* A cache of x: int8 with a scale for each head. */
static int syn__lower_store(syn__small_build *l, int x, int heads, int c) {
  int32_t a[4];
  a[1] = syn__lower_read(l, x);
  a[0] = syn__lower_value(l, syn__small_cache_bytes(heads, c), 1);
  a[2] = heads;
  a[3] = c;
  l->heads = syn__max(l->heads, heads);
  l->widest = syn__max(l->widest, c);
  syn__lower_emit(l, SYN__SMALL_OP_store, a, 4);
  return a[0];
}

/* y = a sigma(b) of z = [a; b] */
static int syn__lower_glu(syn__small_build *l, int z) {
  int32_t a[3];
  a[2] = syn__lower_width(l, z) / 2;
  a[1] = syn__lower_read(l, z);
  a[0] = syn__lower_new(l, a[2]);
  syn__lower_emit(l, SYN__SMALL_OP_glu, a, 3);
  return a[0];
}
/* The taps of a convolution side by side, [taps,d]. The encoder keeps x of all tokens; a decoder
   keeps the last `taps` rows, oldest first. */
static int syn__lower_window(syn__small_build *l, int x, int taps, int dilate, int first) {
  int d = syn__lower_width(l, x);
  int32_t a[7];
  a[2] = d;
  a[3] = taps;
  a[4] = first;
  a[5] = dilate;
  a[6] = 1;
  x = syn__lower_read(l, x); /* a norm is made here, for all rows */
  if (l->program == SYN__SMALL_ENCODE) {
    syn__lower_segment(l);
    a[1] = syn__lower_read(l, x);
    a[0] = syn__lower_new(l, taps * d);
    if (x >= 0) syn__lower_at(l, x)->around = 1;
    syn__lower_emit(l, SYN__SMALL_OP_window, a, 7);
  } else {
    a[1] = x;
    a[0] = syn__lower_state(l, taps * d);
    syn__lower_emit(l, SYN__SMALL_OP_shift, a, 4);
  }
  return a[0];
}

/* Records that a part of a node has no lowering; returns -1. */
static int syn__lower_refuse(syn__small_build *l, const syn_node *n, const char *what) {
  syn__fail(l->c, SYN_E_VALUE, "a small model cannot have %s of layer %.100s (%s)", what, n->path,
            n->kind->name);
  return -1;
}

/* ==============================================================================================
   >>kind add   y = a + b, also y = a - b or y = a b; b may be a row that repeats, or one number
   ============================================================================================== */

/*
   a, y [..., n]; b has the last axes of a, or is [1]. b is broadcast: element i of y reads element
   i mod |b| of b, where |b| counts the numbers of b, and db sums over the repetitions of b:
     y = a + b   da += dy     db += sum dy
     y = a - b   da += dy     db -= sum dy
     y = a b     da += dy b   db += sum dy a
   Saved for backward: nothing; y = a b reads its inputs again.
   In a model's text these nodes come from `res` or `parallel_add`; syn_add, syn_sub and syn_mul
   record them on a user's tape, where a and b may be the same tensor: gradients accumulate. */

/* b without its leading axes of size 1 has the shape of the last axes of a. In a model both are
   [0,d], since the number of rows comes with the batch. */
static syn_status syn__broadcast_shape(syn_build *b, syn_node *n) {
  const syn__value *x = &b->g->values[n->in[0]], *y = &b->g->values[n->in[1]];
  int i, ones = 0, rank;
  while (ones < y->rank && y->shape[ones] == 1) ones++;
  rank = y->rank - ones;
  for (i = 1; i <= rank; i++)
    if (rank > x->rank || y->shape[y->rank - i] != x->shape[x->rank - i])
      return syn__fail_build(b, SYN_E_SHAPE, "%s: sizes %d and %d do not fit", n->kind->name,
                             rank > x->rank ? rank : x->shape[x->rank - i],
                             y->shape[y->rank - i]);
  return syn_build_out_like(b, n, 0);
}

typedef void (*syn__binary)(float *y, const float *a, const float *b, size_t n);
/* y = f(a, b) for the tensors of a node */
typedef struct syn__broadcast {
  const syn_node *n;
  syn__binary f; /* a kernel: add, sub or mul */
} syn__broadcast;

static void syn__task_binary(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__broadcast *j = (const syn__broadcast *)job;
  const syn_tensor *y = syn_out(t, j->n), *a = syn_in(t, j->n, 0), *b = syn_in(t, j->n, 1);
  size_t i, n, size = syn_count(b);
  SYN__UNUSED(thread);
  for (i = begin; i < end; i += n) { /* up to where b repeats */
    n = size - i % size;
    if (n > end - i) n = end - i;
    j->f(y->x + i, a->x + i, b->x + i % size, n);
  }
}
static void syn__broadcast_forward(syn_tape *t, const syn_node *n, syn__binary f) {
  syn__broadcast j = {n, f};
  syn_parallel(t, syn__task_binary, &j, syn_count(syn_out(t, n)), SYN__GRAIN);
}

/* db += factor times the sum of dy over the repetitions of b. One thread sums them: all
   repetitions add into the same numbers. */
static void syn__broadcast_db(syn_tape *t, const syn_node *n, float factor) {
  const syn_tensor *b = syn_in(t, n, 1), *y = syn_out(t, n);
  size_t size = syn_count(b), count = syn_count(y), i;
  if (size == count)
    syn_accumulate(t, b->dx, y->dx, factor, count, syn_is_first_write(t, n, 1));
  else if (size == 1) b->dx[0] += factor * t->k->sum(y->dx, count);
  else
    for (i = 0; i < count; i += size) t->k->acc_scale(b->dx, factor, y->dx + i, size);
}

static void syn__add_forward(syn_tape *t, const syn_node *n) {
  syn__broadcast_forward(t, n, t->k->add);
}
static void syn__add_backward(syn_tape *t, const syn_node *n) {
  syn__add_dx(t, n, 1.0f); /* da += dy */
  syn__broadcast_db(t, n, 1.0f);
}
static const syn_kind syn__kind_add = {
    "add", "", SYN_FIRST_WRITE | SYN_ALIAS_DX | SYN_BOTH_NOT_NEEDED, NULL, syn__broadcast_shape,
    syn__add_forward, syn__add_backward, NULL, NULL, NULL};

static void syn__sub_forward(syn_tape *t, const syn_node *n) {
  syn__broadcast_forward(t, n, t->k->sub);
}
static void syn__sub_backward(syn_tape *t, const syn_node *n) {
  syn__add_dx(t, n, 1.0f); /* da += dy */
  syn__broadcast_db(t, n, -1.0f);
}
static const syn_kind syn__kind_sub = {"sub", "", 0, NULL, syn__broadcast_shape, syn__sub_forward,
                                       syn__sub_backward, NULL, NULL, NULL};

static void syn__mul_forward(syn_tape *t, const syn_node *n) {
  syn__broadcast_forward(t, n, t->k->mul);
}
/* da += dy b, db += sum dy a. One number b needs a kernel for each sum: the loop below would go
   through a number by number. */
static void syn__mul_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n), *a = syn_in(t, n, 0), *b = syn_in(t, n, 1);
  size_t size = syn_count(b), count = syn_count(y), i;
  if (size == 1) {
    t->k->acc_scale(a->dx, b->x[0], y->dx, count);
    b->dx[0] += t->k->dot(y->dx, a->x, count);
    return;
  }
  for (i = 0; i < count; i += size) {
    t->k->acc_mul(a->dx + i, y->dx + i, b->x, size);
    t->k->acc_mul(b->dx, y->dx + i, a->x + i, size);
  }
}
static const syn_kind syn__kind_mul = {"mul", "", 0, NULL, syn__broadcast_shape, syn__mul_forward,
                                       syn__mul_backward, NULL, NULL, NULL};

static syn_tensor *syn__record_pair(const syn_kind *kind, syn_tensor *a, syn_tensor *b) {
  syn_tensor *in[2] = {a, b};
  return syn__record(kind, 2, in, NULL, 0);
}
syn_tensor *syn_add(syn_tensor *a, syn_tensor *b) { return syn__record_pair(&syn__kind_add, a, b); }
syn_tensor *syn_sub(syn_tensor *a, syn_tensor *b) { return syn__record_pair(&syn__kind_sub, a, b); }
syn_tensor *syn_mul(syn_tensor *a, syn_tensor *b) { return syn__record_pair(&syn__kind_mul, a, b); }

static int syn__lower_add(syn__small_build *l, const syn_node *n) {
  int32_t a[4];
  a[1] = syn__lower_read(l, syn__lower_in(l, n, 0));
  a[2] = syn__lower_read(l, syn__lower_in(l, n, 1));
  a[3] = syn__lower_width(l, a[1]);
  a[0] = syn__lower_new(l, a[3]);
  if (a[0] >= 0) syn__lower_at(l, a[0])->alias = a[1];
  syn__lower_emit(l, SYN__SMALL_OP_add, a, 4);
  return a[0];
}

#endif /* !SYN_SMALL */

/* add y, a, b, width */
static long syn__small_add(syn_small *s, const int32_t *a) {
  const float *x = syn__small_row(s, a[1], a[3]), *z = syn__small_row(s, a[2], a[3]);
  float *y = syn__small_row(s, a[0], a[3]);
  int32_t i;
  for (i = 0; i < a[3]; i++) y[i] = x[i] + z[i];
  return a[3];
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind scale   y = s x
   ============================================================================================== */

/* x, y of one shape. s is a number of the caller and no tensor: it has no gradient. Saved for
   backward: nothing. */

static syn_status syn__same_shape(syn_build *b, syn_node *n) { return syn_build_out_like(b, n, 0); }

/* s of scale and of sum; also of pos and universal, whose own struct begins with it */
static float syn__factor_of(const syn_node *n) { return *(const float *)n->own; }

static void syn__scale_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  syn_accumulate(t, y->x, syn_in(t, n, 0)->x, syn__factor_of(n), syn_count(y), 1);
}
/* dx += s dy */
static void syn__scale_backward(syn_tape *t, const syn_node *n) {
  syn__add_dx(t, n, syn__factor_of(n));
}
static const syn_kind syn__kind_scale = {"scale", "", 0, NULL, syn__same_shape,
                                         syn__scale_forward, syn__scale_backward, NULL, NULL, NULL};
syn_tensor *syn_scale(syn_tensor *x, float s) {
  return syn__record(&syn__kind_scale, 1, &x, &s, sizeof s);
}

/* ==============================================================================================
   >>kind sum   y = s sum_i x_i: the sum, s = 1, or the mean, s = 1 / count
   ============================================================================================== */

/* x of any shape, y [1]. The kernel sums in the fixed tree of all reductions: the same bits on
   every ISA. Saved for backward: nothing. */

static syn_status syn__sum_shape(syn_build *b, syn_node *n) {
  const int one = 1;
  n->out = syn__value_new(b, SYN_OWN, 1, &one);
  return n->out < 0 ? SYN_E_MEMORY : SYN_OK;
}
static void syn__sum_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn_out(t, n)->x[0] = syn__factor_of(n) * t->k->sum(x->x, syn_count(x));
}
/* dx_i += s dy */
static void syn__sum_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  size_t i, count = syn_count(x);
  float dy = syn__factor_of(n) * syn_out(t, n)->dx[0];
  for (i = 0; i < count; i++) x->dx[i] += dy;
}
static const syn_kind syn__kind_sum = {
    "sum", "", 0, NULL, syn__sum_shape, syn__sum_forward, syn__sum_backward, NULL, NULL, NULL};
static syn_tensor *syn__record_sum(syn_tensor *x, float factor) {
  return syn__record(&syn__kind_sum, 1, &x, &factor, sizeof factor);
}
syn_tensor *syn_sum(syn_tensor *x) { return syn__record_sum(x, 1.0f); }
syn_tensor *syn_mean(syn_tensor *x) {
  return x ? syn__record_sum(x, 1.0f / (float)syn_count(x)) : NULL;
}

/* ==============================================================================================
   >>kind matmul   y [m,n] = a [m,k] b [k,n]
   ============================================================================================== */

/*
   Both factors are tensors with gradients; products with weights are `linear`. The three products
   are one function (syn_gemm) with other strides: a transposed matrix is read by its columns, never
   copied as a whole. Nothing is saved. */

static syn_status syn__matmul_shape(syn_build *b, syn_node *n) {
  const syn__value *x = &b->g->values[n->in[0]], *y = &b->g->values[n->in[1]];
  int shape[2] = {x->shape[0], y->shape[1]};
  if (x->rank != 2 || y->rank != 2 || x->shape[1] != y->shape[0])
    return syn__fail_build(b, SYN_E_SHAPE, "matmul: a ends in %d, b begins with %d, both of rank 2",
                           x->shape[x->rank - 1], y->shape[0]);
  n->out = syn__value_new(b, SYN_OWN, 2, shape);
  return n->out < 0 ? SYN_E_MEMORY : SYN_OK;
}
static syn_matrix syn__tensor_matrix(const syn_tensor *x, const float *numbers) {
  return syn_matrix_of(numbers, x->shape[0], x->shape[1], 0);
}
static void syn__matmul_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *a = syn_in(t, n, 0), *b = syn_in(t, n, 1), *y = syn_out(t, n);
  syn_gemm(t, syn__tensor_matrix(y, y->x), syn__tensor_matrix(a, a->x),
           syn__tensor_matrix(b, b->x), NULL, 0);
}
/* da += dy b^T, db += a^T dy */
static void syn__matmul_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *a = syn_in(t, n, 0), *b = syn_in(t, n, 1), *y = syn_out(t, n);
  syn_matrix dy = syn__tensor_matrix(y, y->dx);
  syn_gemm(t, syn__tensor_matrix(a, a->dx), dy, syn_transposed(syn__tensor_matrix(b, b->x)), NULL,
           1);
  syn_gemm(t, syn__tensor_matrix(b, b->dx), syn_transposed(syn__tensor_matrix(a, a->x)), dy, NULL,
           1);
}
static const syn_kind syn__kind_matmul = {
    "matmul", "", 0, NULL, syn__matmul_shape, syn__matmul_forward, syn__matmul_backward, NULL, NULL,
    NULL};
syn_tensor *syn_matmul(syn_tensor *a, syn_tensor *b) {
  return syn__record_pair(&syn__kind_matmul, a, b);
}

/* ==============================================================================================
   >>kind softmax   y_i = exp(x_i) / sum_j exp(x_j) along the last axis
   ============================================================================================== */

/*
   x, y [rows,n]. The kernel subtracts the largest x of the row first, which leaves y as it is: exp
   cannot overflow. Saved for backward: nothing, it reads y. Saved buffer 0: one row [n] during
   backward, since the kernel writes where a gradient must accumulate. */

static syn_status syn__softmax_shape(syn_build *b, syn_node *n) {
  const syn_extent row = {(size_t)syn_build_width(b, n, 0), 0, 0, 0, 0};
  return syn_build_save(b, n, SYN_BACKWARD, row) ? SYN_E_SHAPE : syn_build_out_like(b, n, 0);
}
static void syn__softmax_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  size_t r, width = (size_t)syn_width(x), rows = syn_rows(x);
  for (r = 0; r < rows; r++) t->k->softmax(y->x + r * width, x->x + r * width, width);
}
/* dx_i += y_i (dy_i - sum_j y_j dy_j), since the derivative of y_j by x_i is y_j ([i = j] - y_i) */
static void syn__softmax_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  size_t r, width = (size_t)syn_width(x), rows = syn_rows(x);
  float *row = syn_saved(t, n, 0);
  for (r = 0; r < rows; r++) {
    t->k->softmax_back(row, y->x + r * width, y->dx + r * width, width);
    t->k->acc(x->dx + r * width, row, width);
  }
}
static const syn_kind syn__kind_softmax = {
    "softmax", "", 0, NULL, syn__softmax_shape, syn__softmax_forward, syn__softmax_backward, NULL,
    NULL, NULL};
syn_tensor *syn_softmax(syn_tensor *x) { return syn__record(&syn__kind_softmax, 1, &x, NULL, 0); }

/* ==============================================================================================
   >>kind act   y = f(x), elementwise: relu, gelu (tanh form), tanh, sigmoid, swish
   ============================================================================================== */

/*
   relu(x) = max(x, 0)                                              (Nair and Hinton 2010)
   gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))          (Hendrycks and Gimpel 2016)
   sigmoid(x) = 1/(1 + e^-x), swish(x) = x sigmoid(x)               (Ramachandran et al. 2017)
   x, y of one shape. dx += dy f'(x); each f' stands at its kernel. Saved for backward: nothing, it
   reads x. Only ff and cnn have glu, since it halves the width. */

/* In the order of SYN__RELU ..., then glu. To add one: its name here, before glu, and in the enum
   with SYN__RELU; f(x) in the kernel act, f'(x) in the kernel derivative (act_exp, if both use
   sigma(u(x))); the words of syn_act in >>api and of its error below. ff and cnn follow, as do
   their gradients. Outside: f in tests/test_kernels.c, a case in tests/test_kinds.c, README.md. */
static const char *const syn__act_names[] = {"relu", "gelu", "tanh", "sigmoid", "swish", "glu"};
enum { SYN__GLU = SYN__ACTS };

/* The activation of act, ff and cnn, whose own structs begin with it. */
static int syn__act_of(const syn_node *n) { return *(const int *)n->own; }

/* What it is applied to: x of act; saved buffer 1 of ff and cnn or, with relu, y itself. */
static float *syn__act_z(const syn_tape *t, const syn_node *n) {
  if (!n->n_param) return syn_in(t, n, 0)->x;
  return syn__act_of(n) == SYN__RELU ? syn_out(t, n)->x : syn_saved(t, n, 1);
}

/* On a tape syn__record has filled n->own. */
static syn_status syn__act_shape(syn_build *b, syn_node *n) {
  if (b->layer) {
    int act = syn_arg_word(b, "act", syn__act_names, SYN__ACTS, SYN__RELU);
    if (syn__own_copy(b, n, &act, sizeof act)) return SYN_E_MEMORY;
  }
  return syn_build_out_like(b, n, 0);
}

/* y = mask(f(z)), some numbers at a time, so that the mask finds them in cache. act itself has no
   dropout, ff and cnn have. */
static void syn__task_act(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const float *z = syn__act_z(t, n);
  float *y = syn_out(t, n)->x;
  syn__dropout d;
  int drops = syn__drops(t, n, &d), act = syn__act_of(n);
  size_t count;
  SYN__UNUSED(thread);
  for (; begin < end; begin += count) {
    count = end - begin < SYN__CHUNK_FLOATS ? end - begin : SYN__CHUNK_FLOATS;
    t->k->act(act, y + begin, z + begin, count);
    if (drops) t->k->dropout(&d, (uint32_t)begin, y + begin, count);
  }
}
static void syn__act_forward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, syn__task_act, n, syn_count(syn_out(t, n)), 4096);
}
/* dx += dy f'(x) */
static void syn__task_act_dx(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0);
  SYN__UNUSED(thread);
  t->k->act_back(syn__act_of(n), x->dx + begin, x->x + begin, syn_out(t, n)->dx + begin,
                 end - begin);
}
static void syn__act_backward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, syn__task_act_dx, n, syn_count(syn_out(t, n)), 4096);
}
static const syn_kind syn__kind_act = {
    "act", "w:act", 0, NULL, syn__act_shape, syn__act_forward, syn__act_backward, NULL, NULL, NULL};

syn_tensor *syn_act(syn_tensor *x, const char *name) {
  int i;
  for (i = 0; x && name && i < SYN__ACTS; i++)
    if (!strcmp(name, syn__act_names[i])) return syn__record(&syn__kind_act, 1, &x, &i, sizeof i);
  if (x)
    syn__fail(x->tape->c, SYN_E_VALUE, "act: '%.20s', wanted relu, gelu, tanh, sigmoid or swish",
              name ? name : "null");
  return NULL;
}

#endif /* !SYN_SMALL */

/* f(x); act - 1 is the place of f in syn__act_names, 0: f(x) = x */
static float syn__small_act(int32_t act, float x) {
  float u = x;
  if (act == 0) return x;
  if (act == 1) return x > 0.0f ? x : 0.0f;
  if (act == 2) u = 1.59576912f * (x + 0.044715f * x * x * x);
  if (act == 3) u = 2.0f * x;
  u = 1.0f / (1.0f + syn__small_exp(-u)); /* sigma(u) */
  if (act == 3) return 2.0f * u - 1.0f;
  return act == 4 ? u : x * u;
}

#ifndef SYN_SMALL
#endif /* !SYN_SMALL */

/* glu y, z, n: y = a sigma(b), z = [a; b] */
static long syn__small_glu(syn_small *s, const int32_t *op) {
  int32_t n = op[2], i;
  const float *a = syn__small_row(s, op[1], 2 * n);
  float *y = syn__small_row(s, op[0], n);
  for (i = 0; i < n; i++) y[i] = a[i] * syn__small_act(4, a[n + i]);
  return 2L * n;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind linear   y [rows,n] = x [rows,d] W^T + b; W [n,d], b [n]
   ============================================================================================== */

/*
   d is the width of x; n is d_model unless given; bias=0 leaves b out. W has one row for each
   output, as in PyTorch. Each row of y depends on one row of x, so a step of decoding is the
   forward pass over the new rows. Saved for backward: nothing, it reads x.
   dx += dy W, dW += dy^T x, db += column sums of dy (syn__linear_backward_of). */

/* Matrix [rows,columns] that multiplies inputs of width `columns`: Glorot's initial values. */
static syn_status syn__matrix_param(syn_build *b, syn_node *n, const char *name, int rows,
                                    int columns) {
  int shape[2] = {rows, columns};
  return syn_build_param(b, n, name, syn_initial_glorot(columns, rows), 2, shape);
}
/* Vector [size], initially 0. */
static syn_status syn__bias_param(syn_build *b, syn_node *n, const char *name, int size) {
  return syn_build_param(b, n, name, syn_initial_of(SYN_INIT_CONSTANT, 0.0), 1, &size);
}
/* Parameter 0, w [out,width of x], then, with bias=1, parameter 1, b [out]. */
static syn_status syn__linear_params(syn_build *b, syn_node *n, int out, int bias) {
  if (syn__matrix_param(b, n, "w", out, syn_build_width(b, n, 0))) return SYN_E_SHAPE;
  return bias ? syn__bias_param(b, n, "b", out) : SYN_OK;
}

static syn_status syn__linear_shape(syn_build *b, syn_node *n) {
  int out = syn_arg_int(b, "n", b->config->d_model, 1, SYN__MAX_WIDTH);
  if (syn__linear_params(b, n, out, syn_arg_int(b, "bias", 1, 0, 1))) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), out);
}
/* z = x w^T + b of a layer of one product; w is parameter 0, b, if there is one, parameter 1. */
static void syn__product_forward(syn_tape *t, const syn_node *n, float *z) {
  syn__linear_forward(t, n, 0, n->n_param > 1 ? 1 : -1, syn_in(t, n, 0), z);
}
static void syn__product_backward(syn_tape *t, const syn_node *n, const float *dz) {
  syn__linear_grad g =
      syn__linear_grad_of(t, n, 0, n->n_param > 1 ? 1 : -1, syn_in(t, n, 0), dz);
  g.first_write = syn_is_first_write(t, n, 0);
  syn__linear_backward_of(t, &g);
}
static void syn__linear_kind_forward(syn_tape *t, const syn_node *n) {
  syn__product_forward(t, n, syn_out(t, n)->x);
}
static void syn__linear_kind_backward(syn_tape *t, const syn_node *n) {
  syn__product_backward(t, n, syn_out(t, n)->dx);
}
static const syn_kind syn__kind_linear = {
    "linear", "i:n i:bias f:dropout", SYN_DROPS | SYN_FIRST_WRITE | SYN_OUTPUT_NOT_NEEDED, NULL,
    syn__linear_shape, syn__linear_kind_forward, syn__linear_kind_backward, NULL, NULL, NULL};

static int syn__lower_linear_kind(syn__small_build *l, const syn_node *n) {
  return syn__lower_linear(l, syn__lower_in(l, n, 0), n->param[0],
                           n->n_param > 1 ? n->param[1] : -1, 0);
}

#endif /* !SYN_SMALL */

/* linear y, x, act, n, k, w, bias: y [n] = act(W x + b) */
static long syn__small_linear(syn_small *s, const int32_t *a) {
  int32_t n = a[3], k = a[4], i;
  syn__small_matrix m = syn__small_matrix_at(s, a[5], n, k);
  float *y = syn__small_row(s, a[0], n);
  syn__small_multiply(s, &m, syn__small_row(s, a[1], k), k);
  syn__small_rows(s, &m, syn__small_floats(s, a[6]), 0, n, y);
  for (i = 0; a[2] && i < n; i++) y[i] = syn__small_act(a[2], y[i]);
  return (long)n * k;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind ff   y [rows,n] = act(x W^T + b); glu: W [2n,d], y = first half * sigma(second half)
   ============================================================================================== */

/*
   The hidden layer of the feed-forward block (Vaswani et al. 2017, section 3.3, equation 2); glu:
   Dauphin, Fan, Auli and Grangier 2017, section 2, equation 1.
   x [rows,d], W [n,d], b [n], z = x W^T + b [rows,n], y = dropout(act(z)) [rows,n].
   glu: W [2n,d], b [2n], z = [a; b] [rows,2n], y = a sigma(b).
   dz = dy act'(z); then as linear: dx += dz W, dW += dz^T x, db += column sums of dz.
   Saved buffers: 0, during backward, dz of glu; else dz replaces dy in place
                  1, for backward, z; none for relu, which works in place on y: y > 0 where z > 0
                  and dropout kept y.
   Activation with dropout is one pass over memory, forward as well as backward. */

/* cnn shares this struct and the functions below. */
typedef struct syn__ff {
  int act, n;    /* n: width of y */
  syn_conv conv; /* of cnn */
} syn__ff;

/* The arguments that ff and cnn share; returns the width of z, 0: no memory. */
static int syn__ff_arguments(syn_build *b, syn_node *n, int default_act) {
  syn__ff *own = (syn__ff *)syn_build_own(b, n, sizeof *own);
  if (!own) return 0;
  own->n = syn_arg_int(b, "n", b->config->d_model, 1, SYN__MAX_WIDTH);
  own->act = syn_arg_word(b, "act", syn__act_names, SYN__GLU + 1, default_act);
  return own->act == SYN__GLU ? 2 * own->n : own->n;
}
/* Saved buffers 0 and 1, and the output. relu is the one activation whose backward reads y. glu,
   whose task goes by rows, leaves its dropout to the pass; the others do it in their task. */
static syn_status syn__ff_buffers(syn_build *b, syn_node *n, int z_width) {
  const syn__ff *own = (const syn__ff *)n->own;
  size_t z_row = (size_t)z_width;
  if (own->act == SYN__RELU) n->flags &= ~SYN_OUTPUT_NOT_NEEDED;
  if (own->act != SYN__GLU) n->flags |= SYN_OWN_DROPOUT;
  if (syn_build_save_rows(b, n, SYN_BACKWARD, own->act == SYN__GLU ? z_row : 0) ||
      syn_build_save_rows(b, n, SYN_BOTH, own->act == SYN__RELU ? 0 : z_row))
    return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), own->n);
}
static syn_status syn__ff_shape(syn_build *b, syn_node *n) {
  int z_width = syn__ff_arguments(b, n, SYN__RELU);
  if (!z_width || syn__linear_params(b, n, z_width, 1)) return SYN_E_SHAPE;
  return syn__ff_buffers(b, n, z_width);
}

/* -- glu: z = [a; b] [rows,2 width] -- */

typedef struct syn__glu_job {
  const float *z, *dy; /* dy null: forward */
  float *y;            /* [rows,width], backward: dz [rows,2 width] */
  size_t width;
} syn__glu_job;

/* y = a sigma(b); or da = dy sigma(b), db = dy a sigma'(b) */
static void syn__task_glu(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__glu_job *j = (const syn__glu_job *)job;
  size_t r, width = j->width;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    const float *z = j->z + 2 * r * width;
    if (!j->dy) {
      t->k->glu(j->y + r * width, z, z + width, width);
    } else {
      float *dz = j->y + 2 * r * width;
      memset(dz, 0, 2 * width * sizeof *dz); /* the kernel adds */
      t->k->glu_back(dz, dz + width, z, z + width, j->dy + r * width, width);
    }
  }
}
static void syn__glu_forward(syn_tape *t, float *y, const float *z, size_t rows, size_t width) {
  syn__glu_job j = {z, NULL, y, width};
  syn_parallel(t, syn__task_glu, &j, rows, 8);
}
static void syn__glu_backward(syn_tape *t, float *dz, const float *z, const float *dy, size_t rows,
                              size_t width) {
  syn__glu_job j = {z, dy, dz, width};
  syn_parallel(t, syn__task_glu, &j, rows, 8);
}

/* -- the other activations, elementwise -- */

/* dz = act'(z) mask(dy), in place of dy. relu reads y for z, and y > 0 implies that the mask kept
   it: of the mask only the scale is left to do. */
static void syn__task_ff_back(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  float *dz = syn_out(t, n)->dx, *z = syn__act_z(t, n);
  syn__dropout d;
  int drops = syn__drops(t, n, &d), act = syn__act_of(n), relu = act == SYN__RELU;
  float scale = relu && drops ? d.scale : 1.0f;
  size_t count;
  SYN__UNUSED(thread);
  for (; begin < end; begin += count) {
    count = end - begin < SYN__CHUNK_FLOATS ? end - begin : SYN__CHUNK_FLOATS;
    if (drops && !relu) t->k->dropout(&d, (uint32_t)begin, dz + begin, count);
    t->k->slope(act, dz + begin, z + begin, scale, count);
  }
}

/* -- all activations -- */

/* y from z */
static void syn__ff_act(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  if (syn__act_of(n) != SYN__GLU) syn__act_forward(t, n);
  else syn__glu_forward(t, y->x, syn__act_z(t, n), syn_rows(y), (size_t)syn_width(y));
}
/* Returns dz. */
static const float *syn__ff_act_back(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  int glu = syn__act_of(n) == SYN__GLU;
  float *dz = glu ? syn_saved(t, n, 0) : y->dx;
  if (!glu) syn_parallel(t, syn__task_ff_back, n, syn_count(y), 4096);
  else syn__glu_backward(t, dz, syn__act_z(t, n), y->dx, syn_rows(y), (size_t)syn_width(y));
  return dz;
}
static void syn__ff_forward(syn_tape *t, const syn_node *n) {
  syn__product_forward(t, n, syn__act_z(t, n));
  syn__ff_act(t, n);
}
static void syn__ff_backward(syn_tape *t, const syn_node *n) {
  syn__product_backward(t, n, syn__ff_act_back(t, n));
}
static const syn_kind syn__kind_ff = {
    "ff", "i:n w:act f:dropout", SYN_DROPS | SYN_FIRST_WRITE | SYN_OUTPUT_NOT_NEEDED, NULL,
    syn__ff_shape, syn__ff_forward, syn__ff_backward, NULL, NULL, NULL};

/* act(x W^T + b), or its glu, of ff and of a window of cnn */
static int syn__lower_ff_act(syn__small_build *l, const syn_node *n, int x) {
  int glu = syn__act_of(n) == SYN__GLU;
  int z = syn__lower_linear(l, x, n->param[0], n->param[1], glu ? 0 : 1 + syn__act_of(n));
  return glu ? syn__lower_glu(l, z) : z;
}
static int syn__lower_ff(syn__small_build *l, const syn_node *n) {
  return syn__lower_ff_act(l, n, syn__lower_in(l, n, 0));
}


/* ==============================================================================================
   >>kind cnn   y_t = act(b + sum_i W_i x_{t + first + i dilate}), i < k, along the sentence
   ============================================================================================== */

/*
   Gehring, Auli, Grangier, Yarats and Dauphin 2017, section 3.2; dilation: van den Oord et al.
   2016, section 2.1. Kernel size k; first = -(k-1)/2 dilate in an encoder (centred), -(k-1) dilate
   in a decoder (causal); inputs outside the sentence are 0.
   x [rows,d], y [rows,n], W [n,k,d], b [n]; glu: W [2n,k,d], b [2n].
   im2col puts the k inputs of each row side by side, col [rows,k d]. With W as a matrix [n,k d],
   z = col W^T + b; activation and dropout as in ff.
   Saved buffers: 0 and 1 as in ff; 2, during forward, col [rows,k d]; 3, during backward, col made
   again, which then becomes dcol: kept from forward it would take k times the memory of x.
   Cache of a decoded token: its x [d]. */

static const syn_conv *syn__cnn_conv(const syn_node *n) { return &((const syn__ff *)n->own)->conv; }

/* k and dilate; sums of a row's number and an offset stay inside an int, k d is a row. */
static syn_status syn__cnn_taps(syn_build *b, syn_conv *w, int d) {
  int k = syn_arg_int(b, "k", 3, 1, 65536), dilate = syn_arg_int(b, "dilate", 1, 1, 65536);
  if (!b->decoder && k % 2 == 0)
    return syn__fail_build(b, SYN_E_SHAPE, "k is %d, wanted an odd number in an encoder, where the"
                           " window is centred", k);
  if (dilate > SYN__MAX_WIDTH / k)
    return syn__fail_build(b, SYN_E_SHAPE, "k is %d and dilate %d, wanted %d places at most", k,
                           dilate, SYN__MAX_WIDTH);
  if (d > SYN__MAX_ROW / k)
    return syn__fail_build(b, SYN_E_SHAPE, "k is %d and the input %d wide, wanted %d numbers in a"
                           " window at most", k, d, SYN__MAX_ROW);
  *w = syn_conv_of(b, k, dilate);
  return SYN_OK;
}

static syn_status syn__cnn_shape(syn_build *b, syn_node *n) {
  int z_width = syn__ff_arguments(b, n, SYN__GLU), d = syn_build_width(b, n, 0);
  syn__ff *own = (syn__ff *)n->own;
  int shape[3] = {z_width, 0, d};
  double fans; /* Glorot and Bengio 2010: k inputs + k outputs */
  size_t col;
  if (!own) return SYN_E_MEMORY;
  if (syn__cnn_taps(b, &own->conv, d)) return SYN_E_SHAPE;
  shape[1] = own->conv.taps;
  col = (size_t)shape[1] * (size_t)d;
  fans = (double)shape[1] * ((double)d + (double)z_width);
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_UNIFORM, sqrt(6.0 / fans)), 3, shape) ||
      syn__bias_param(b, n, "b", z_width) || syn__ff_buffers(b, n, z_width) ||
      syn_build_save_rows(b, n, SYN_FORWARD, col))
    return SYN_E_SHAPE;
  b->g->params[n->param[0]].matrix = 1; /* of rank 3, but read by a product as [n,k d] */
  n->cache = d;
  return syn_build_save_rows(b, n, SYN_BACKWARD, col);
}

/* y = act(col W^T + b) of all rows, or of the new rows of a step */
static void syn__cnn_rows(syn_tape *t, const syn_node *n) {
  syn_tensor col = *syn_out(t, n); /* gives the number of rows */
  col.x = syn_saved(t, n, 2);
  syn__linear_forward(t, n, 0, 1, &col, syn__act_z(t, n));
  syn__ff_act(t, n);
}

static void syn__cnn_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn_im2col(t, n, syn__cnn_conv(n), syn__tensor_matrix(x, x->x), syn_saved(t, n, 2));
  syn__cnn_rows(t, n);
}
/* col from the cache, to which the new x is written first. */
static void syn__cnn_step(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn__conv_cache_write(t, n, 0, (size_t)syn_width(x), x->x);
  syn__conv_cached(t, n, syn__cnn_conv(n), 0, (size_t)syn_width(x), syn_saved(t, n, 2));
  syn__cnn_rows(t, n);
}

/* dz = dy act'(z), dW += dz^T col, db += column sums of dz; then, in place of col, dcol = dz W, and
   dx += col2im(dcol). dcol is written, not added, so that it need not be cleared first. */
static void syn__cnn_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  const float *dz = syn__ff_act_back(t, n);
  syn_tensor col = *syn_out(t, n);
  syn__linear_grad g;
  col.x = syn_saved(t, n, 3);
  col.dx = NULL;
  syn_im2col(t, n, syn__cnn_conv(n), syn__tensor_matrix(x, x->x), col.x);
  g = syn__linear_grad_of(t, n, 0, 1, &col, dz);
  syn__linear_backward_of(t, &g);
  g.dx = col.x;
  g.dw = g.db = NULL;
  g.first_write = 1;
  syn__linear_backward_of(t, &g);
  syn_col2im(t, n, syn__cnn_conv(n), col.x, syn__tensor_matrix(x, x->dx));
}
static const syn_kind syn__kind_cnn = {
    "cnn", "i:n i:k w:act i:dilate f:dropout", SYN_DROPS, NULL, syn__cnn_shape, syn__cnn_forward,
    syn__cnn_backward, NULL, syn__cnn_step, NULL};

static int syn__lower_cnn(syn__small_build *l, const syn_node *n) {
  const syn_conv *w = syn__cnn_conv(n);
  if (w->dilate > 1 && l->program == SYN__SMALL_DECODE)
    return syn__lower_refuse(l, n, "dilation in a decoder");
  return syn__lower_ff_act(
      l, n, syn__lower_window(l, syn__lower_in(l, n, 0), w->taps, w->dilate, w->first));
}

#endif /* !SYN_SMALL */

/* window y, x, width, taps, first, dilate, n: y = the rows i + first + k dilate of x, 0 outside */
static long syn__small_window(syn_small *s, const int32_t *a) {
  int32_t width = a[2], k;
  float *y = syn__small_row(s, a[0], width * a[3]);
  for (k = 0; k < a[3]; k++, y += width) {
    int64_t row = (int64_t)s->row + a[4] + (int64_t)k * a[5];
    if (row < 0 || row >= s->sources) memset(y, 0, (size_t)width * sizeof *y);
    else memcpy(y, syn__small_at(s, a[1], (int32_t)row, 4 * width), (size_t)width * sizeof *y);
  }
  return (long)width * a[3];
}
/* shift y, x, width, taps: the rows of y move up by one, x becomes the last */
static long syn__small_shift(syn_small *s, const int32_t *a) {
  size_t width = (size_t)a[2];
  float *y = syn__small_row(s, a[0], a[2] * a[3]);
  int32_t k;
  for (k = 1; k < a[3]; k++, y += width) memcpy(y, y + width, width * sizeof *y);
  memcpy(y, syn__small_row(s, a[1], a[2]), width * sizeof *y);
  return (long)a[2] * a[3];
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind norm   y = (x - mean) / sqrt(var + 1e-6) * g + b along each row
   ============================================================================================== */

/*
   Layer normalization (Ba, Kiros and Hinton 2016, equations 3 and 4), var the biased variance.
   rms_norm: y = x / sqrt(mean(x^2) + 1e-6) * g (Zhang and Sennrich 2019, equation 4). x, y
   [rows,d], g, b [d]; rms_norm has no b, by which the functions tell it from norm.
   Saved buffer 0, for backward: mean and r = 1 / sqrt(...) of each row, [rows,2]. x gives xhat =
   (x - mean) r again. With q = dy g:
     dx += r (q - mean(q) - xhat mean(q xhat)), for rms_norm without mean(q)
     dg += sum over rows of dy xhat, db += sum over rows of dy */

static syn_status syn__norm_build(syn_build *b, syn_node *n, int bias) {
  int d = syn_build_width(b, n, 0);
  if (syn_build_param(b, n, "g", syn_initial_of(SYN_INIT_CONSTANT, 1.0), 1, &d) ||
      (bias && syn__bias_param(b, n, "b", d)) || syn_build_save_rows(b, n, SYN_BOTH, 2))
    return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}
static syn_status syn__norm_shape(syn_build *b, syn_node *n) { return syn__norm_build(b, n, 1); }
static syn_status syn__rms_shape(syn_build *b, syn_node *n) { return syn__norm_build(b, n, 0); }

static void syn__task_norm(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0), *b = n->n_param > 1 ? syn_weight(t, n, 1) : NULL;
  size_t r, width = (size_t)syn_width(x);
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++)
    t->k->norm(y->x + r * width, x->x + r * width, g, b, width, syn_saved(t, n, 0) + 2 * r);
}
static void syn__norm_forward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, syn__task_norm, n, syn_rows(syn_out(t, n)), 8);
}

/* What the two kernels of the backward pass read. */
static syn__norm_rows syn__norm_rows_of(const syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  const float *g = syn_weight(t, n, 0), *dy = syn_out(t, n)->dx, *stats = syn_saved(t, n, 0);
  const int rms = n->n_param == 1;
  const syn__norm_rows j = {x->x, g, dy, stats, syn_rows(x), (size_t)syn_width(x), rms};
  return j;
}
/* dx of the rows begin .. end-1; at the first write each row is cleared, since the kernel adds. */
static void syn__task_norm_dx(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  syn__norm_rows j = syn__norm_rows_of(t, n);
  float *dx = syn_in(t, n, 0)->dx;
  int first_write = syn_is_first_write(t, n, 0);
  size_t r;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    if (first_write) memset(dx + r * j.width, 0, j.width * sizeof *dx);
    t->k->norm_back(dx, &j, r);
  }
}
/* dg and db of the columns begin .. end-1: sums over all rows */
static void syn__task_norm_dg(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  syn__norm_rows j = syn__norm_rows_of(t, n);
  SYN__UNUSED(thread);
  t->k->norm_back_columns(syn_dweight(t, n, 0), j.rms ? NULL : syn_dweight(t, n, 1), &j, begin,
                          end);
}
static void syn__norm_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn_parallel(t, syn__task_norm_dx, n, syn_rows(x), 8);
  syn_parallel(t, syn__task_norm_dg, n, (size_t)syn_width(x), 32);
}
static const syn_kind syn__kind_norm = {
    "norm", "", SYN_NORM | SYN_FIRST_WRITE | SYN_OUTPUT_NOT_NEEDED, NULL, syn__norm_shape,
    syn__norm_forward, syn__norm_backward, NULL, NULL, NULL};
static const syn_kind syn__kind_rms_norm = {
    "rms_norm", "", SYN_NORM | SYN_FIRST_WRITE | SYN_OUTPUT_NOT_NEEDED, NULL, syn__rms_shape,
    syn__norm_forward, syn__norm_backward, NULL, NULL, NULL};

static int syn__lower_norm(syn__small_build *l, const syn_node *n) {
  int d = l->g->values[n->out].shape[1], y = syn__lower_new(l, d);
  syn__small_value *v = syn__lower_at(l, y);
  syn__small_bits eps;
  if (y < 0) return -1;
  eps.f = SYN__NORM_EPS;
  v->anew = 1;
  v->made = -1;
  v->norm[1] = syn__lower_in(l, n, 0);
  v->norm[2] = d;
  v->norm[3] = syn__lower_floats(l, l->g->params[n->param[0]].x, (size_t)d);
  if (n->n_param > 1) v->norm[4] = syn__lower_floats(l, l->g->params[n->param[1]].x, (size_t)d);
  v->norm[5] = eps.i;
  return y;
}

#endif /* !SYN_SMALL */

/* norm y, x, width, gain, bias, eps; bias 0: of rms_norm, without a mean */
static long syn__small_norm(syn_small *s, const int32_t *a) {
  int32_t n = a[2], i;
  const float *x = syn__small_row(s, a[1], n), *gain = syn__small_floats(s, a[3]);
  const float *bias = syn__small_floats(s, a[4]);
  float *y = syn__small_row(s, a[0], n), mean = 0.0f, square = 0.0f, r;
  for (i = 0; i < n && bias; i++) mean = mean + x[i];
  mean = mean / (float)n;
  for (i = 0; i < n; i++) square = square + (x[i] - mean) * (x[i] - mean);
  r = syn__small_rsqrt(square / (float)n + syn__small_float(a[5]));
  for (i = 0; i < n; i++) {
    y[i] = (x[i] - mean) * r * gain[i];
    if (bias) y[i] = y[i] + bias[i];
  }
  return 4L * n;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind rnn   h_t = cell(x_t, h_{t-1}): lstm or gru; birnn: one from each end of the sentence
   ============================================================================================== */

/*
   With a_t = x_t W_i^T + b_i, the input product, and p_t = h_{t-1} W_h^T + b_h, the recurrent one:
   lstm (Hochreiter and Schmidhuber 1997; gate f: Gers, Schmidhuber and Cummins 2000), G = 4, gates
     i, f, g, o = sigma, sigma, tanh, sigma of a + p:  c_t = f c_{t-1} + i g,  h_t = o tanh(c_t)
   gru (Cho et al. 2014, first version: r behind the product), G = 3, gates r, z, n:
     r, z = sigma(a + p),  m = p of gate n,  n = tanh(a + r m),  h_t = (1-z) n + z h_{t-1}
   x [rows,d], y [rows,n]: the h_t; W_i [G n,d], W_h [G n,n], b_i, b_h [G n]. h and c begin at 0.
   birnn (Schuster and Paliwal 1997): two directions of width n/2; direction 1 reads each sentence
   from its last token to its first. y = [direction 0; direction 1].

   Forward. a is one product for all rows; p_t has to wait for h_{t-1}. Sentences are sorted by
   length: those longer than t are the first running[t+1], and their h_{t-1} are one matrix without
   gaps. W_h is packed once per pass.
   Backward goes through time from the last token. The cell turns dh_t into da_t, dp_t and its own
   share of dh_{t-1}; then dh_{t-1} += dp_t W_h. Weights follow at the end, by one product each over
   all rows. Derivatives of the cells stand at their kernels.
   Saved buffers: 0, for backward, gates [rows,G n], which backward replaces by da
                  1, for backward, c of lstm, m of gru [rows,n]
                  2, for backward, the order of the sentences
                  3 and 4, workspace of forward and of backward
   With two directions, 0 and 1 hold the rows of direction 1 behind those of direction 0.
   Cache of a decoded token: h [n], then c [n] of lstm. */

typedef struct syn__rnn {
  int gates;      /* G: 4 is lstm, 3 is gru */
  int n;          /* width of one direction */
  int directions; /* 1, of birnn 2 */
} syn__rnn;

static const char *const syn__cell_names[] = {"lstm", "gru"};
enum { SYN__W_I, SYN__W_H, SYN__B_I, SYN__B_H, SYN__CELL_PARAMS }; /* of one direction */
enum { SYN__RNN_GATES, SYN__RNN_CELLS, SYN__RNN_ORDER, SYN__RNN_FORWARD, SYN__RNN_BACKWARD };

/* One direction of a pass at time t. A "running" buffer has one row per sentence longer than t, in
   the sorted order; a "rows" buffer one row per token, packed as x is. */
typedef struct syn__rnn_direction {
  const syn_node *node;
  const syn__rnn *own;
  int direction, t;     /* t: tokens this direction has read before */
  size_t n, wide;       /* wide: G n */
  const int *off, *order; /* of a step: order null, its running rows are hypotheses, */
  size_t first;           /* whose new rows begin with this one */
  const int *running;   /* [longest+1] sentences of at least so many tokens */
  float *gates, *kept;  /* rows [.,wide], [.,n] */
  syn_matrix panels;    /* W_h^T [n,G n], backward W_h [G n,n], packed */
  float *state, *part;  /* forward: running [.,node->cache], [.,wide]: h with c of lstm; p */
  float *dh, *dc;       /* backward: running [.,n], dc of lstm alone */
  float *dstep;         /* running [.,wide]: dp_t */
  float *h_before;      /* rows [.,n]: h_{t-1} */
  float *dpart;         /* rows [.,wide]: dp; lstm: the same buffer as da */
} syn__rnn_direction;

/* -- shapes -- */

/* Of rnn, then of the two directions of birnn. */
static const char *const syn__rnn_names[][SYN__CELL_PARAMS] = {
    {"w_i", "w_h", "b_i", "b_h"},
    {"fwd.w_i", "fwd.w_h", "fwd.b_i", "fwd.b_h"},
    {"bwd.w_i", "bwd.w_h", "bwd.b_i", "bwd.b_h"}};

/* The four parameters of one direction. Powers of an orthogonal W_h keep the length of h, so that
   the recurrent product neither explodes nor vanishes at the beginning of training. */
static syn_status syn__rnn_params(syn_build *b, syn_node *n, const syn__rnn *own,
                                  const char *const *names) {
  int wide = own->gates * own->n, shape[2] = {wide, own->n};
  syn_initial orthogonal = syn_initial_of(SYN_INIT_ORTHOGONAL, 1.0);
  if (syn__matrix_param(b, n, names[SYN__W_I], wide, syn_build_width(b, n, 0)) ||
      syn_build_param(b, n, names[SYN__W_H], orthogonal, 2, shape) ||
      syn__bias_param(b, n, names[SYN__B_I], wide))
    return SYN_E_SHAPE;
  return syn__bias_param(b, n, names[SYN__B_H], wide);
}

/* Called after syn__rnn_params, which bounds n: so the sizes of the packed W_h do not overflow. */
static syn_status syn__rnn_buffers(syn_build *b, syn_node *n, const syn__rnn *own) {
  size_t width = (size_t)own->n, wide = width * (size_t)own->gates;
  size_t directions = (size_t)own->directions;
  syn_extent e = {1, 1, 0, 1, 0}; /* order [sentences], running [longest+1] */
  if (syn_build_save_rows(b, n, SYN_BOTH, directions * wide) ||
      syn_build_save_rows(b, n, SYN_BOTH, directions * width) || syn_build_save(b, n, SYN_BOTH, e))
    return SYN_E_SHAPE;
  e.length = 0;
  e.row = (size_t)n->cache + wide; /* state, p; W_h^T */
  e.fixed = syn__mul_size(syn__round16(wide), width);
  if (syn_build_save(b, n, SYN_FORWARD, e)) return SYN_E_SHAPE;
  /* dh, h_before, dp_t; dc of lstm, dp of gru; W_h */
  e.row = 2 * width + wide + (own->gates == 4 ? width : wide);
  e.fixed = syn__mul_size(syn__round16(width), wide);
  return syn_build_save(b, n, SYN_BACKWARD, e);
}

/* birnn, which no decoder has, is the one without a step. */
static syn_status syn__rnn_shape(syn_build *b, syn_node *n) {
  syn__rnn *own = (syn__rnn *)syn_build_own(b, n, sizeof *own);
  int directions = n->kind->step ? 1 : 2;
  int out = syn_arg_int(b, "n", b->config->d_model, 1, SYN__MAX_WIDTH);
  int gru = syn_arg_word(b, "cell", syn__cell_names, 2, 0);
  if (!own) return SYN_E_MEMORY;
  if (directions == 2 && b->decoder)
    return syn__fail_build(b, SYN_E_TEXT, "inside a decoder, where no token sees those behind it");
  if (out % directions)
    return syn__fail_build(b, SYN_E_SHAPE, "n is %d, wanted an even number: a half for each side",
                           out);
  own->gates = gru ? 3 : 4;
  own->n = out / directions;
  own->directions = directions;
  n->cache = gru ? own->n : 2 * own->n;
  if (syn__rnn_params(b, n, own, syn__rnn_names[directions - 1]) ||
      (directions == 2 && syn__rnn_params(b, n, own, syn__rnn_names[2])) ||
      syn__rnn_buffers(b, n, own))
    return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), out);
}

/* -- what forward and backward share -- */

static int syn__rnn_param(const syn__rnn_direction *s, int which) {
  return SYN__CELL_PARAMS * s->direction + which;
}
/* The row of x of running sentence i at time t, or of hypothesis i. */
static size_t syn__rnn_row(const syn__rnn_direction *s, size_t i, int t) {
  const int *off;
  if (!s->order) return s->first + i;
  off = s->off + s->order[i];
  return (size_t)(s->direction ? off[1] - 1 - t : off[0] + t);
}
/* Offset in y of this direction's part of a row. */
static size_t syn__rnn_column(const syn__rnn_direction *s, size_t row) {
  return (row * (size_t)s->own->directions + (size_t)s->direction) * s->n;
}

/* Counting sort, longest sentence first, equal lengths in their order: order [count]. Then behind
   it running [longest+1]: when all sentences of a length are placed, the next place of that length
   is the number of sentences of at least that length. */
static void syn__rnn_sort(const syn_stream *in, int *order) {
  int *at = order + in->count, i, length, longer = 0;
  memset(at, 0, ((size_t)in->longest + 1) * sizeof *at);
  for (i = 0; i < in->count; i++) at[in->off[i + 1] - in->off[i]]++;
  for (length = in->longest; length >= 0; length--) {
    int same = at[length];
    at[length] = longer;
    longer += same;
  }
  for (i = 0; i < in->count; i++) order[at[in->off[i + 1] - in->off[i]]++] = i;
}

static syn__rnn_direction syn__rnn_direction_of(const syn_tape *t, const syn_node *n,
                                                int direction) {
  const syn_stream *in = syn_out_stream(t, n);
  size_t rows = syn_rows(syn_out(t, n));
  syn__rnn_direction s;
  memset(&s, 0, sizeof s);
  s.node = n;
  s.own = (const syn__rnn *)n->own;
  s.direction = direction;
  s.n = (size_t)s.own->n;
  s.wide = s.n * (size_t)s.own->gates;
  s.off = in->off;
  s.order = (const int *)(const void *)syn_saved(t, n, SYN__RNN_ORDER);
  s.running = s.order + in->count;
  s.gates = syn_saved(t, n, SYN__RNN_GATES) + (size_t)direction * rows * s.wide;
  s.kept = syn_saved(t, n, SYN__RNN_CELLS) + (size_t)direction * rows * s.n;
  return s;
}

/* Packs W_h^T [n,G n] for h W_h^T, or, backward, W_h [G n,n] for dp W_h. A decoder has the first
   ready. */
static syn_matrix syn__rnn_pack(syn_tape *t, const syn__rnn_direction *s, int backward,
                                float *panels) {
  syn_matrix w = syn__weight_transposed(t, s->node, syn__rnn_param(s, SYN__W_H));
  if (w.panel) return w;
  return syn__pack_b(t, backward ? syn_transposed(w) : w, panels);
}

/* -- forward -- */

/* A pass or a step begins with a of all its rows, in `gates`, and the layout of the workspace. */
static syn__rnn_direction syn__rnn_begin(syn_tape *t, const syn_node *n, int direction) {
  size_t rows = syn_rows(syn_out(t, n));
  syn__rnn_direction s = syn__rnn_direction_of(t, n, direction);
  syn__linear_forward(t, n, syn__rnn_param(&s, SYN__W_I), syn__rnn_param(&s, SYN__B_I),
                      syn_in(t, n, 0), s.gates);
  s.state = syn_saved(t, n, SYN__RNN_FORWARD);
  s.part = s.state + rows * (size_t)n->cache;
  s.panels = syn__rnn_pack(t, &s, 0, s.part + rows * s.wide);
  return s;
}

/* h_t, and c_t of lstm, of the running rows begin .. end-1. The kernel reads c_{t-1} of lstm,
   h_{t-1} of gru; null: zeros. */
static void syn__task_rnn(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__rnn_direction *s = (const syn__rnn_direction *)job;
  size_t i, n = s->n, size = (size_t)s->node->cache;
  int lstm = s->own->gates == 4;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    size_t row = syn__rnn_row(s, i, s->t);
    float *y = syn_out(t, s->node)->x + syn__rnn_column(s, row), *kept = s->kept + row * n;
    float *h = s->state + i * size, *c = h + n;
    const float *past = !s->t ? NULL : lstm ? c : h;
    (lstm ? t->k->lstm : t->k->gru)(y, kept, s->gates + row * s->wide, s->part + i * s->wide, past,
                                    n);
    memcpy(h, y, n * sizeof *h);
    if (lstm) memcpy(c, kept, n * sizeof *c);
  }
}
/* p = h W_h^T + b_h, then the cell, for the first `count` running rows. At the beginning h is 0 and
   p is b_h. */
static void syn__rnn_advance(syn_tape *t, const syn__rnn_direction *s, size_t count) {
  int rows = (int)count;
  syn_gemm(t, syn_matrix_of(s->part, rows, (int)s->wide, 0),
           syn_matrix_of(s->state, rows, s->t ? (int)s->n : 0, (size_t)s->node->cache), s->panels,
           syn_weight(t, s->node, syn__rnn_param(s, SYN__B_H)), 0);
  syn_parallel(t, syn__task_rnn, s, count, 8);
}
static void syn__rnn_forward(syn_tape *t, const syn_node *n) {
  const syn_stream *in = syn_out_stream(t, n);
  int direction;
  syn__rnn_sort(in, (int *)(void *)syn_saved(t, n, SYN__RNN_ORDER));
  for (direction = 0; direction < ((const syn__rnn *)n->own)->directions; direction++) {
    syn__rnn_direction s = syn__rnn_begin(t, n, direction);
    for (s.t = 0; s.t < in->longest; s.t++)
      syn__rnn_advance(t, &s, (size_t)s.running[s.t + 1]);
  }
}
/* The same place by place; the state of a hypothesis comes from the cache and goes there. */
static void syn__rnn_step(syn_tape *t, const syn_node *n) {
  syn__rnn_direction s = syn__rnn_begin(t, n, 0);
  size_t i, live = (size_t)t->decode->live, size = (size_t)n->cache;
  s.order = NULL;
  for (s.first = 0; s.first < (size_t)t->decode->rows; s.first += live) {
    s.t = t->at[SYN_TGT][s.first];
    for (i = 0; i < live && s.t; i++)
      memcpy(s.state + i * size, syn_cache_row(t, n, (int)i, s.t - 1), size * sizeof(float));
    syn__rnn_advance(t, &s, live);
    for (i = 0; i < live; i++)
      memcpy(syn_cache_new(t, n, (int)(s.first + i)), s.state + i * size, size * sizeof(float));
  }
}

/* -- backward -- */

/* Running sentences begin .. end-1 at time t. dh holds the gradient of h_t from time t+1, to which
   dy_t is added. The cell's backward leaves da_t in gates, dp_t in dpart and, in dh and dc, the
   gradients of the state at t-1 without the part through p_t. dp_t is copied to dstep, where the
   running rows have no gaps: so dp_t W_h is one product. */
static void syn__task_rnn_back(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn__rnn_direction *s = (const syn__rnn_direction *)job;
  const syn_tensor *y = syn_out(t, s->node);
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    size_t row = syn__rnn_row(s, i, s->t), old = s->t ? syn__rnn_row(s, i, s->t - 1) : row;
    float *gates = s->gates + row * s->wide, *kept = s->kept + row * s->n;
    float *dh = s->dh + i * s->n, *dp = s->dpart + row * s->wide;
    float *before = s->h_before + row * s->n;
    t->k->acc(dh, y->dx + syn__rnn_column(s, row), s->n);
    if (s->t) memcpy(before, y->x + syn__rnn_column(s, old), s->n * sizeof *before);
    else memset(before, 0, s->n * sizeof *before);
    if (s->own->gates != 4) t->k->gru_back(gates, dp, dh, kept, before, s->n);
    else
      t->k->lstm_back(gates, s->dc + i * s->n, dh, kept, s->t ? s->kept + old * s->n : NULL, s->n);
    memcpy(s->dstep + i * s->wide, dp, s->wide * sizeof *dp);
  }
}

/* Backward through time, for one direction: dh_{t-1} = dp_t W_h, of gru added to what the cell left
   in dh; the cell of lstm leaves nothing there. */
static void syn__rnn_back_through_time(syn_tape *t, syn__rnn_direction *s, int longest) {
  size_t count = (size_t)s->running[0] * s->n;
  int gru = s->own->gates != 4;
  memset(s->dh, 0, count * sizeof *s->dh);
  if (s->dc) memset(s->dc, 0, count * sizeof *s->dc);
  for (s->t = longest - 1; s->t >= 0; s->t--) {
    int rows = s->running[s->t + 1];
    syn_parallel(t, syn__task_rnn_back, s, (size_t)rows, 8);
    if (s->t)
      syn_gemm(t, syn_matrix_of(s->dh, rows, (int)s->n, 0),
               syn_matrix_of(s->dstep, rows, (int)s->wide, 0), s->panels, NULL, gru);
  }
}

/* Behind the passes through time: dx += da W_i, dW_i += da^T x, db_i += column sums of da, and
   dW_h += dp^T h_before, db_h += column sums of dp. */
static void syn__rnn_backward(syn_tape *t, const syn_node *n) {
  syn_tensor before = *syn_out(t, n); /* h_before as a tensor: rows of one direction */
  size_t rows = syn_rows(&before);
  int direction;
  for (direction = 0; direction < ((const syn__rnn *)n->own)->directions; direction++) {
    syn__rnn_direction s = syn__rnn_direction_of(t, n, direction);
    float *at = syn_saved(t, n, SYN__RNN_BACKWARD);
    s.dh = at, at += rows * s.n;
    s.h_before = at, at += rows * s.n;
    s.dstep = at, at += rows * s.wide;
    if (s.own->gates == 4) s.dpart = s.gates, s.dc = at, at += rows * s.n;
    else s.dpart = at, at += rows * s.wide;
    s.panels = syn__rnn_pack(t, &s, 1, at);
    syn__rnn_back_through_time(t, &s, syn_out_stream(t, n)->longest);
    syn__linear_backward(t, n, syn__rnn_param(&s, SYN__W_I), syn__rnn_param(&s, SYN__B_I),
                         syn_in(t, n, 0), s.gates);
    before.x = s.h_before;
    before.dx = NULL;
    syn__linear_backward(t, n, syn__rnn_param(&s, SYN__W_H), syn__rnn_param(&s, SYN__B_H), &before,
                         s.dpart);
  }
}

static const syn_kind syn__kind_rnn = {
    "rnn", "i:n w:cell", 0, NULL, syn__rnn_shape, syn__rnn_forward, syn__rnn_backward, NULL,
    syn__rnn_step, NULL};
static const syn_kind syn__kind_birnn = {
    "birnn", "i:n w:cell", 0, NULL, syn__rnn_shape, syn__rnn_forward, syn__rnn_backward, NULL,
    NULL, NULL};

/* a and p of the row, then the cell; h and c stay from row to row. */
static int syn__lower_rnn(syn__small_build *l, const syn_node *n) {
  const syn__rnn *own = (const syn__rnn *)n->own;
  int x = syn__lower_in(l, n, 0), lstm = own->gates == 4, h, a, p;
  int32_t op[6];
  if (own->directions > 1) return syn__lower_refuse(l, n, "two directions");
  h = syn__lower_state(l, own->n);
  a = syn__lower_linear(l, x, n->param[SYN__W_I], n->param[SYN__B_I], 0);
  p = syn__lower_linear(l, h, n->param[SYN__W_H], n->param[SYN__B_H], 0);
  op[1] = syn__lower_read(l, a);
  op[2] = syn__lower_read(l, p);
  op[3] = h;
  op[4] = lstm ? syn__lower_state(l, own->n) : own->n;
  op[5] = own->n;
  op[0] = syn__lower_new(l, own->n);
  syn__lower_emit(l, lstm ? SYN__SMALL_OP_lstm : SYN__SMALL_OP_gru, op, lstm ? 6 : 5);
  return op[0];
}

#endif /* !SYN_SMALL */

/* lstm y, a, p, h, c, n: one token of the cell above; y and h get h_t */
static long syn__small_lstm(syn_small *s, const int32_t *op) {
  int32_t n = op[5], k;
  const float *a = syn__small_row(s, op[1], 4 * n), *p = syn__small_row(s, op[2], 4 * n);
  float *y = syn__small_row(s, op[0], n), *h = syn__small_row(s, op[3], n);
  float *c = syn__small_row(s, op[4], n);
  for (k = 0; k < n; k++) {
    float i = syn__small_act(4, a[k] + p[k]), f = syn__small_act(4, a[n + k] + p[n + k]);
    float g = syn__small_act(3, a[2 * n + k] + p[2 * n + k]);
    float o = syn__small_act(4, a[3 * n + k] + p[3 * n + k]);
    c[k] = f * c[k] + i * g;
    h[k] = y[k] = o * syn__small_act(3, c[k]);
  }
  return 5L * n;
}
/* gru y, a, p, h, n */
static long syn__small_gru(syn_small *s, const int32_t *op) {
  int32_t n = op[4], k;
  const float *a = syn__small_row(s, op[1], 3 * n), *p = syn__small_row(s, op[2], 3 * n);
  float *y = syn__small_row(s, op[0], n), *h = syn__small_row(s, op[3], n);
  for (k = 0; k < n; k++) {
    float r = syn__small_act(4, a[k] + p[k]), z = syn__small_act(4, a[n + k] + p[n + k]);
    float m = syn__small_act(3, a[2 * n + k] + r * p[2 * n + k]);
    h[k] = y[k] = (1.0f - z) * m + z * h[k];
  }
  return 5L * n;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind pos   y_t = sqrt(d) x_t + p_t, p_{t,2j} = sin(t / 10000^(2j/d)), p_{t,2j+1} = cos(same)
   ============================================================================================== */

/*
   Positional encoding (Vaswani et al. 2017, section 3.5). x, y [rows,d]; t is the place of a row in
   its sentence, from 0. sqrt(d) (section 3.4) brings embeddings of standard deviation d^-1/2 to the
   size of the sinusoids; scale=0: y_t = x_t + p_t. dx += sqrt(d) dy.
   No parameter, no limit of length; saved for backward: nothing. Each row is computed alone, from
   its own place, so a step of decoding is the forward pass. */

/* Floats of all tables at most. max_len and widths may come from a hostile file and must not make
   gigabytes of tables. */
#define SYN__POS_TABLE (1 << 22)

typedef struct syn__pos {
  float scale;   /* of x: sqrt(d) or 1 */
  int places, d; /* size of the table; p of later places is computed for every row */
  int step;      /* universal: p_step is added to every row, too; -1: none */
  int made;      /* 1: the table was made for this node, 0: for an earlier one */
  float *table;  /* [places,d] */
} syn__pos;

/* p [d] of one place; an odd d ends in a sine. In double, since a float angle of a far place would
   be off by a visible part of a turn. */
static void syn__pos_row(float *p, int place, int d) {
  int j;
  for (j = 0; j < d; j += 2) {
    double sine, cosine;
    syn__sincos((double)place / syn__pow(10000.0, (double)j / (double)d), &sine, &cosine);
    p[j] = (float)sine;
    if (j + 1 < d) p[j + 1] = (float)cosine;
  }
}

/* p [d] of one place: a row of the table or, with the same bits, computed into `row`. */
static const float *syn__pos_at(const syn__pos *own, int place, float *row) {
  if (place < own->places) return own->table + (size_t)place * (size_t)own->d;
  syn__pos_row(row, place, own->d);
  return row;
}

/* Earlier nodes of `pos` and `universal`, which have one forward function, share their table with
   this one if it has their width. */
static syn_status syn__pos_table(syn_build *b, const syn_kind *kind, syn__pos *own) {
  size_t i, left = SYN__POS_TABLE, d = (size_t)own->d;
  for (i = 0; i < b->g->n_nodes; i++) {
    const syn__pos *old = (const syn__pos *)b->g->nodes[i]->own;
    if (b->g->nodes[i]->kind->forward != kind->forward) continue;
    own->table = old->table;
    own->places = old->places;
    if (old->d == own->d) return SYN_OK;
    if (old->made) left -= (size_t)old->places * (size_t)old->d;
  }
  own->made = 1;
  own->places = syn__min(b->config->max_len, (int)(left / d));
  own->table = (float *)syn__arena_get(&b->g->arena, (size_t)own->places * d, sizeof(float));
  if (!own->table) return SYN_E_MEMORY;
  for (i = 0; i < (size_t)own->places; i++) syn__pos_row(own->table + i * d, (int)i, own->d);
  return SYN_OK;
}

/* Of pos and universal. syn__universal_build has made n->own, which gives its step, before; that
   of pos is made here. A factor of sqrt(d) makes dx differ from dy, so they are two buffers. */
static syn_status syn__pos_shape(syn_build *b, syn_node *n) {
  int universal = n->own != NULL, scaled = !universal && syn_arg_int(b, "scale", 1, 0, 1);
  syn__pos *own = (syn__pos *)(universal ? n->own : syn_build_own(b, n, sizeof *own));
  if (!own) return SYN_E_MEMORY;
  own->d = syn_build_width(b, n, 0);
  own->scale = scaled ? sqrtf((float)own->d) : 1.0f;
  if (!universal) own->step = -1;
  if (scaled) n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  if (scaled) n->flags &= ~SYN_ALIAS_DX;
  if (syn__pos_table(b, n->kind, own)) return SYN_E_MEMORY;
  n->scratch.fixed = 2 * (size_t)own->d; /* p of the place, p of the step */
  return syn_build_out_like(b, n, 0);
}

static void syn__task_pos(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__pos *own = (const syn__pos *)n->own;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *at = syn_places(t, n);
  size_t r, d = (size_t)own->d;
  float *row = syn_scratch(t, thread);
  const float *step = own->step < 0 ? NULL : syn__pos_at(own, own->step, row + d);
  for (r = begin; r < end; r++) {
    t->k->scale(y->x + r * d, own->scale, x->x + r * d, d);
    t->k->acc(y->x + r * d, syn__pos_at(own, at[r], row), d);
    if (step) t->k->acc(y->x + r * d, step, d);
  }
}
static void syn__pos_forward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, syn__task_pos, n, syn_rows(syn_out(t, n)), 8);
}
static const syn_kind syn__kind_pos = {
    "pos", "i:scale f:dropout", SYN_FIRST_WRITE | SYN_ALIAS_DX | SYN_BOTH_NOT_NEEDED, NULL,
    syn__pos_shape, syn__pos_forward, syn__scale_backward, NULL, NULL, NULL};

static int syn__lower_pos(syn__small_build *l, const syn_node *n) {
  const syn__pos *own = (const syn__pos *)n->own;
  if (own->step >= 0 || own->places < l->config->max_len)
    return syn__lower_refuse(l, n, "the table");
  return syn__lower_places(l, syn__lower_in(l, n, 0), own->table, own->d, own->scale);
}

#endif /* !SYN_SMALL */

/* places y, x, width, factor, table: y = factor x + the table's row of this place. A table is a
   scale and rows of int16. */
static long syn__small_places(syn_small *s, const int32_t *a) {
  int32_t width = a[2], i;
  const float *x = syn__small_row(s, a[1], width);
  const int16_t *row = (const int16_t *)(s->w + a[4] + 1) + s->row * width;
  float *y = syn__small_row(s, a[0], width), scale = syn__small_floats(s, a[4])[0];
  float factor = syn__small_float(a[3]);
  for (i = 0; i < width; i++) y[i] = factor * x[i] + scale * (float)row[i];
  return 2L * width;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind learn_pos   y_t = x_t + w_t, w [N,d]
   ============================================================================================== */

/*
   Learned position embeddings (Gehring et al. 2017, section 3.1). x, y [rows,d]; t is the place of
   a row in its sentence. N is max_len: binding a batch refuses longer sentences (n->table). Saved
   for backward: nothing. dx += dy, dw_t += dy_t. */

static syn_status syn__learn_pos_shape(syn_build *b, syn_node *n) {
  int shape[2] = {b->config->max_len, syn_build_width(b, n, 0)};
  double deviation = 1.0 / sqrt((double)shape[1]);
  n->table = shape[0];
  n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_NORMAL, deviation), 2, shape))
    return SYN_E_SHAPE;
  b->g->params[n->param[0]].matrix = 0; /* no product reads it */
  return syn_build_out_like(b, n, 0);
}

/* The row of w that each row of y reads: its place or, in embedding, which has no input and shares
   these functions, its token. */
static const int *syn__lookup_rows(const syn_tape *t, const syn_node *n) {
  return n->n_in ? syn_places(t, n) : t->ids[t->g->values[n->out].stream];
}
/* y_r = w[at[r]], of learn_pos plus x_r */
static void syn__task_lookup(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const float *x = n->n_in ? syn_in(t, n, 0)->x : NULL;
  const int *at = syn__lookup_rows(t, n);
  const float *w = syn_weight(t, n, 0); /* null: in panels, as the matrix of the output */
  size_t r, i, d = (size_t)syn_width(syn_out(t, n));
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    size_t row = (size_t)at[r];
    const float *panel = w ? NULL : t->packed[n->param[0]] + syn__panel_row(row, d);
    float *y = syn_out(t, n)->x + r * d;
    if (x) t->k->add(y, x + r * d, w + row * d, d);
    else if (w) memcpy(y, w + row * d, d * sizeof *y);
    else
      for (i = 0; i < d; i++) y[i] = panel[16 * i];
  }
}
static void syn__lookup_forward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, syn__task_lookup, n, syn_rows(syn_out(t, n)), 8);
}
/* dw[at[r]] += dy_r, columns begin .. end-1. Many rows may add into one row of w, so threads split
   columns and each adds the rows in order. */
static void syn__task_lookup_dw(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  const int *at = syn__lookup_rows(t, n);
  size_t r, d = (size_t)syn_width(y), rows = syn_rows(y);
  float *dw = syn_dweight(t, n, 0);
  SYN__UNUSED(thread);
  for (r = 0; r < rows; r++)
    t->k->acc(dw + (size_t)at[r] * d + begin, y->dx + r * d + begin, end - begin);
}
static void syn__lookup_backward(syn_tape *t, const syn_node *n) {
  if (n->n_in) syn__add_dx(t, n, 1.0f); /* dx += dy */
  syn_parallel(t, syn__task_lookup_dw, n, (size_t)syn_width(syn_out(t, n)), 32);
}
static const syn_kind syn__kind_learn_pos = {
    "learn_pos", "f:dropout", SYN_FIRST_WRITE | SYN_ALIAS_DX | SYN_BOTH_NOT_NEEDED, NULL,
    syn__learn_pos_shape, syn__lookup_forward, syn__lookup_backward, NULL, NULL, NULL};

static int syn__lower_learn_pos(syn__small_build *l, const syn_node *n) {
  const syn_param *p = &l->g->params[n->param[0]];
  return syn__lower_places(l, syn__lower_in(l, n, 0), p->x, p->shape[1], 1.0f);
}

/* ==============================================================================================
   >>kind dropout   y = x / (1 - rate) or 0 while training (Srivastava et al. 2014); also id: y = x
   ============================================================================================== */

/*
   Inverted dropout: dividing by 1 - rate while training keeps the mean, so that nothing is scaled
   afterwards. x, y of one shape; saved for backward: nothing, the mask is computed again. id, and
   dropout of rate 0, add no node: their output is their input. Most dropouts are no node either but
   the rate of the layer before them (kinds with SYN_DROPS). */

static int syn__id_build(syn_build *b, const syn_layer *l, int x) {
  SYN__UNUSED(b);
  SYN__UNUSED(l);
  return x;
}
static const syn_kind syn__kind_id = {"id", "",   SYN_IDENTITY, syn__id_build, NULL,
                                      NULL, NULL, NULL,         NULL,          NULL};

/* The pass drops the output of any node with a rate; this node only copies. */
static int syn__dropout_build(syn_build *b, const syn_layer *l, int x) {
  float rate = syn_arg_float(b, "rate", b->config->dropout, 0.0f, 0.99f);
  syn_node *n;
  if (rate == 0.0f) return b->c->status == SYN_OK ? x : -1;
  n = syn__node_new(b, l->kind, 1, &x);
  if (n) n->drop = rate;
  return syn__node_done(b, n);
}
static void syn__copy_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  syn_accumulate(t, y->x, syn_in(t, n, 0)->x, 1.0f, syn_count(y), 1);
}
/* dx += dy: the pass has already masked dy */
static void syn__copy_backward(syn_tape *t, const syn_node *n) { syn__add_dx(t, n, 1.0f); }
static const syn_kind syn__kind_dropout = {
    "dropout", "f:rate", SYN_IDENTITY | SYN_FIRST_WRITE | SYN_ALIAS_DX | SYN_BOTH_NOT_NEEDED,
    syn__dropout_build, syn__same_shape, syn__copy_forward, syn__copy_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind res   y = x + chain(x)
   ============================================================================================== */

/* Residual connection (He et al. 2016, equation 1). x, y [rows,d]. It builds the chain, then a node
   of the kind `add`, and has no forward of its own. */

static int syn__build_width_of(const syn_build *b, int value) {
  const syn__value *v = &b->g->values[value];
  return v->shape[v->rank - 1];
}

/* Node x + y, both of one width. */
static int syn__build_add(syn_build *b, int x, int y) {
  int in[2] = {x, y}, width = syn__build_width_of(b, x), added = syn__build_width_of(b, y);
  if (width == added) return syn__node_done(b, syn__node_new(b, &syn__kind_add, 2, in));
  syn__fail_build(b, SYN_E_SHAPE, "cannot add width %d to width %d", added, width);
  return -1;
}

/* The first chain argument of a layer. */
static const syn_layer *syn__arg_chain(syn_build *b, const syn_layer *l) {
  int i;
  for (i = 0; i < l->n_args; i++)
    if (l->args[i].chain) return l->args[i].chain;
  syn__fail_build(b, SYN_E_TEXT, "a chain is missing in the brackets");
  return NULL;
}

/* The first chain argument of l applied to x; -1: failed. Then errors name l again, no longer a
   layer of the chain. */
static int syn__build_inner(syn_build *b, const syn_layer *l, int x) {
  const syn_layer *chain = syn__arg_chain(b, l);
  int y = chain ? syn_build_chain(b, chain, x) : -1;
  b->layer = l;
  return y;
}

static int syn__res_build(syn_build *b, const syn_layer *l, int x) {
  int y = syn__build_inner(b, l, x);
  return y < 0 ? -1 : syn__build_add(b, x, y);
}
static const syn_kind syn__kind_res = {"res", "c:chain", 0, syn__res_build, NULL,
                                       NULL, NULL, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind highway   y = g x + (1-g) c, c = chain(x), g = sigma(x W^T + b); W [d,d], b [d]
   ============================================================================================== */

/*
   Srivastava, Greff and Schmidhuber 2015, equation 3, with g for 1 - T. x, c, g, y [rows,d]. The
   node has two inputs, x and c; the chain is built before it. With z = x W^T + b:
     dx += g dy, dc += (1-g) dy, dz = dy (x-c) g (1-g)
     then as linear: dx += dz W, dW += dz^T x, db += column sums of dz
   Saved buffers: 0, for backward, g [rows,d]; 1, during backward, dz [rows,d]. */

static syn_status syn__highway_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  if (syn_build_width(b, n, 1) != d)
    return syn__fail_build(b, SYN_E_SHAPE, "the chain has width %d, the input %d",
                           syn_build_width(b, n, 1), d);
  if (syn__linear_params(b, n, d, 1) || syn_build_save_rows(b, n, SYN_BOTH, (size_t)d) ||
      syn_build_save_rows(b, n, SYN_BACKWARD, (size_t)d))
    return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d);
}
static int syn__highway_build(syn_build *b, const syn_layer *l, int x) {
  int in[2] = {x, syn__build_inner(b, l, x)};
  return in[1] < 0 ? -1 : syn__node_done(b, syn__node_new(b, l->kind, 2, in));
}
/* y = c + g (x - c): one product for each number, g x + (1-g) c would be two. */
static void syn__task_gate(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const float *x = syn_in(t, n, 0)->x, *c = syn_in(t, n, 1)->x;
  float *y = syn_out(t, n)->x, *g = syn_saved(t, n, 0);
  size_t count = end - begin;
  SYN__UNUSED(thread);
  t->k->act(SYN__SIGMOID, g + begin, g + begin, count); /* g held z */
  t->k->sub(y + begin, x + begin, c + begin, count);
  t->k->mul(y + begin, y + begin, g + begin, count);
  t->k->acc(y + begin, c + begin, count);
}
static void syn__highway_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, 0, 1, syn_in(t, n, 0), syn_saved(t, n, 0));
  syn_parallel(t, syn__task_gate, n, syn_count(syn_out(t, n)), 4096);
}
/* dx and dc without the part through the gate; dz. dc = dy - g dy spares a product, and g dy is a
   factor of dz, too: sigma' = g (1-g). */
static void syn__task_gate_dx(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *c = syn_in(t, n, 1), *y = syn_out(t, n);
  const float *g = syn_saved(t, n, 0);
  float *dz = syn_saved(t, n, 1);
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    float dy = y->dx[i], g_dy = dy * g[i];
    x->dx[i] += g_dy;
    c->dx[i] += dy - g_dy;
    dz[i] = g_dy * (1.0f - g[i]) * (x->x[i] - c->x[i]);
  }
}
static void syn__highway_backward(syn_tape *t, const syn_node *n) {
  syn_parallel(t, syn__task_gate_dx, n, syn_count(syn_out(t, n)), 4096);
  syn__linear_backward(t, n, 0, 1, syn_in(t, n, 0), syn_saved(t, n, 1));
}
static const syn_kind syn__kind_highway = {
    "highway", "c:chain", 0, syn__highway_build, syn__highway_shape, syn__highway_forward,
    syn__highway_backward, NULL, NULL, NULL};

static int syn__lower_highway(syn__small_build *l, const syn_node *n) {
  int x = syn__lower_in(l, n, 0), chain = syn__lower_in(l, n, 1), d = syn__lower_width(l, x);
  int g = syn__lower_linear(l, x, n->param[0], n->param[1], 1 + SYN__SIGMOID);
  int32_t a[5];
  a[1] = syn__lower_read(l, g);
  a[2] = syn__lower_read(l, x);
  a[3] = syn__lower_read(l, chain);
  a[0] = syn__lower_new(l, d);
  a[4] = d;
  if (a[0] >= 0) syn__lower_at(l, a[0])->alias = a[2];
  syn__lower_emit(l, SYN__SMALL_OP_mix, a, 5);
  return a[0];
}

#endif /* !SYN_SMALL */

/* mix y, g, x, c, width: y = c + g (x - c) */
static long syn__small_mix(syn_small *s, const int32_t *a) {
  const float *g = syn__small_row(s, a[1], a[4]), *x = syn__small_row(s, a[2], a[4]);
  const float *c = syn__small_row(s, a[3], a[4]);
  float *y = syn__small_row(s, a[0], a[4]);
  int32_t i;
  for (i = 0; i < a[4]; i++) y[i] = c[i] + g[i] * (x[i] - c[i]);
  return 2L * a[4];
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind concat   y = [a(x); b(x); ...] along the width
   ============================================================================================== */

/* x [rows,d], y [rows, sum of the widths of the branches]. All branches read the same x; each is
   built below its own number in the path. Saved for backward: nothing. The gradient of a branch +=
   its columns of dy. */

/* Builds every chain of the brackets over x into out [SYN_MAX_IN]; returns how many, or -1. */
static int syn__branches(syn_build *b, const syn_layer *l, int x, int *out) {
  int count = 0, i;
  if (!syn__arg_chain(b, l)) return -1;
  for (i = 0; i < l->n_args; i++) {
    if (count == SYN_MAX_IN) {
      syn__fail_build(b, SYN_E_TEXT, "more than %d chains", SYN_MAX_IN);
      return -1;
    }
    out[count] = syn__build_branch(b, l->args[i].chain, count, x);
    if (out[count++] < 0) return -1;
  }
  b->layer = l;
  return count;
}

static int syn__concat_build(syn_build *b, const syn_layer *l, int x) {
  int in[SYN_MAX_IN], count = syn__branches(b, l, x, in);
  return count < 0 ? -1 : syn__node_done(b, syn__node_new(b, l->kind, count, in));
}
static syn_status syn__concat_shape(syn_build *b, syn_node *n) {
  int i, width = 0;
  for (i = 0; i < n->n_in; i++) width += syn_build_width(b, n, i);
  return syn_build_out(b, n, syn_build_stream(b, n, 0), width);
}

typedef struct syn__concat_job {
  const syn_node *n;
  int backward; /* 1: adds, since branches may end in the same tensor, as two id do */
} syn__concat_job;

static void syn__task_concat(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__concat_job *j = (const syn__concat_job *)job;
  const syn_tensor *y = syn_out(t, j->n);
  size_t r, y_width = (size_t)syn_width(y), column = 0;
  int i;
  SYN__UNUSED(thread);
  for (i = 0; i < j->n->n_in; i++) {
    const syn_tensor *x = syn_in(t, j->n, i);
    size_t width = (size_t)syn_width(x);
    for (r = begin; r < end; r++) {
      size_t at = r * y_width + column;
      if (j->backward) t->k->acc(x->dx + r * width, y->dx + at, width);
      else memcpy(y->x + at, x->x + r * width, width * sizeof(float));
    }
    column += width;
  }
}
static void syn__concat_forward(syn_tape *t, const syn_node *n) {
  syn__concat_job j = {n, 0};
  syn_parallel(t, syn__task_concat, &j, syn_rows(syn_out(t, n)), 32);
}
static void syn__concat_backward(syn_tape *t, const syn_node *n) {
  syn__concat_job j = {n, 1};
  syn_parallel(t, syn__task_concat, &j, syn_rows(syn_out(t, n)), 32);
}
static const syn_kind syn__kind_concat = {
    "concat", "C:chain", SYN_SUM_WIDTHS | SYN_BOTH_NOT_NEEDED, syn__concat_build, syn__concat_shape,
    syn__concat_forward, syn__concat_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind parallel_add   y = a(x) + b(x) + ...
   ============================================================================================== */

/* x [rows,d], y [rows,n]: nodes of the kind `add`, from the left. One chain alone is that chain. */

static int syn__parallel_add_build(syn_build *b, const syn_layer *l, int x) {
  int in[SYN_MAX_IN], count = syn__branches(b, l, x, in), i, sum;
  if (count < 0) return -1;
  for (sum = in[0], i = 1; i < count && sum >= 0; i++) sum = syn__build_add(b, sum, in[i]);
  return sum;
}
static const syn_kind syn__kind_parallel_add = {"parallel_add", "C:chain", 0,
                                                syn__parallel_add_build, NULL, NULL, NULL, NULL,
                                                NULL, NULL};

/* ==============================================================================================
   >>kind repeat   n copies of a chain in a row, each with parameters of its own
   ============================================================================================== */

/* It only builds: the graph has n copies. The number of a copy is part of its path, hence of the
   names of its parameters; without it the copies would share them. */

/* Arguments of repeat and universal: the chain, null after an error, and n. */
static const syn_layer *syn__arg_copies(syn_build *b, const syn_layer *l, const char *missing,
                                        int *n) {
  const syn_layer *chain = syn__arg_chain(b, l);
  if (chain && !syn__arg_find(l, "n")) syn__fail_build(b, SYN_E_TEXT, "%s", missing);
  *n = syn_arg_int(b, "n", 1, 1, 1000);
  return b->c->status ? NULL : chain;
}

/* The copies of the encoder's outermost repeat are its blocks: source=increasing|decreasing reads
   their outputs. */
static int syn__repeat_build(syn_build *b, const syn_layer *l, int x) {
  int i, n, outermost = !b->decoder && b->depth == 1 && !b->blocks;
  const syn_layer *chain = syn__arg_copies(b, l, "the number of copies is missing", &n);
  if (!chain) return -1;
  if (outermost) b->blocks = (int *)syn__arena_get(&b->g->arena, (size_t)n, sizeof(int));
  if (outermost && !b->blocks) return -1;
  for (i = 0; i < n && x >= 0; i++) {
    x = syn__build_branch(b, chain, i, x);
    if (x >= 0 && outermost) b->blocks[b->n_blocks++] = x;
  }
  return x;
}
static const syn_kind syn__kind_repeat = {"repeat", "i:n c:chain", SYN_COPIES,
                                          syn__repeat_build, NULL, NULL, NULL, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind universal   n steps of a chain with the same parameters; before step s: x_t += p_t + p_s
   ============================================================================================== */

/*
   Universal Transformer (Dehghani et al. 2019, section 2.1, equations 6 and 7, without halting;
   there places and steps count from 1). x, y [rows,d]; p are the sinusoids of `pos`, t is the place
   of a row, s the step, from 0.
   The graph has n copies of the chain, all built at one path: a copy finds the parameters of the
   first by their names, and the gradients of all copies accumulate. Saved buffers, dropout masks
   and decoding caches belong to the nodes of each copy. As a node of the graph, this kind adds
   p_t + p_s with the functions of `pos`. */

/* The counts of source=increasing or decreasing start anew in each step: a layer reads the same
   block in all steps. */
static int syn__universal_build(syn_build *b, const syn_layer *l, int x) {
  int increasing = b->seen_increasing, decreasing = b->seen_decreasing, step, steps;
  const syn_layer *chain = syn__arg_copies(b, l, "the number of steps is missing", &steps);
  int d = syn__build_width_of(b, x), width;
  if (!chain) return -1;
  for (step = 0; step < steps && x >= 0; step++) {
    syn_node *n;
    syn__pos *own;
    if ((width = syn__build_width_of(b, x)) != d) { /* the next step has the same parameters */
      syn__fail_build(b, SYN_E_SHAPE, "the chain has width %d, the input %d, and %d steps", width,
                      d, steps);
      return -1;
    }
    b->seen_increasing = increasing;
    b->seen_decreasing = decreasing;
    n = syn__node_new(b, l->kind, 1, &x);
    own = n ? (syn__pos *)syn_build_own(b, n, sizeof *own) : NULL;
    if (!own) return -1;
    own->step = step;
    x = syn__node_done(b, n); /* x_t + p_t + p_step */
    if (x >= 0) x = syn_build_chain(b, chain, x);
    b->layer = l; /* errors name l again */
  }
  return x;
}
static const syn_kind syn__kind_universal = {
    "universal", "i:n c:chain", SYN_FIRST_WRITE | SYN_ALIAS_DX | SYN_BOTH_NOT_NEEDED,
    syn__universal_build, syn__pos_shape, syn__pos_forward, syn__scale_backward, NULL, NULL,
    NULL};

/* ==============================================================================================
   >>kind embedding   y_r = w[token of row r]; w [V,d]
   ============================================================================================== */

/*
   V tokens, y [rows,d]; no input. y has the rows of the side whose tokens are read, SYN_SRC or
   SYN_TGT; binding a batch checks them against V. Saved for backward: nothing. dw[token of row r]
   += dy_r. w may be shared with the output layer or the other side (tie): their gradients
   accumulate. */

static syn_status syn__embedding_shape(syn_build *b, syn_node *n) {
  int stream = b->decoder ? SYN_TGT : SYN_SRC;
  return syn_build_out(b, n, stream, b->g->params[n->param[0]].shape[1]);
}
static const syn_kind syn__kind_embedding = {
    "embedding", "", SYN_OUTPUT_NOT_NEEDED, NULL, syn__embedding_shape, syn__lookup_forward,
    syn__lookup_backward, NULL, NULL, NULL};

static int syn__lower_embedding(syn__small_build *l, const syn_node *n) {
  const syn_param *p = &l->g->params[n->param[0]];
  int32_t a[4];
  a[0] = syn__lower_new(l, p->shape[1]);
  a[1] = p->shape[1];
  a[2] = p->shape[0];
  a[3] = syn__lower_matrix(l, n->param[0]);
  syn__lower_emit(l, SYN__SMALL_OP_embed, a, 4);
  return a[0];
}

#endif /* !SYN_SMALL */

/* embed y, width, vocab, table: y = row of the token */
static long syn__small_embed(syn_small *s, const int32_t *a) {
  int32_t token = s->phase == SYN__SMALL_DECODE ? s->token : s->tokens[s->row], i;
  syn__small_matrix m = syn__small_matrix_at(s, a[3], a[2], a[1]);
  float *y = syn__small_row(s, a[0], a[1]);
  for (i = 0; i < a[1]; i++)
    y[i] = m.scales[token] *
           (float)syn__small_weight(m.w + token / 4 * m.panel, m.format, m.columns, token % 4, i);
  return a[1];
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind input_feed   y_t = [z_{t-1}; x_t], z = what `out` reads of the token before; z_{-1} = 0
   ============================================================================================== */

/*
   (Luong, Pham and Manning 2015, section 3.3.) x [rows,d], z [rows,w], y [rows,w+d]. A recurrent
   node (>>graph), the first layer of a decoder. w is the width of the decoder's output, which is
   known only when the decoder is built: >>build builds it with a guess first. saved: 0 z of the
   token before, [rows,w]. cache: z of each token.
   dx += dy's last d columns, dz of the token before = dy's first w columns. */

/* Before a pass: the saved rows become z of the token before; the first of a sentence stays 0. Most
   sentences are shorter than the longest: once no row changes, further passes change nothing. */
static int syn__feed_recur(syn_tape *t, const syn_node *n, const syn_tensor *z, int pass) {
  const int *place = syn_places(t, n);
  size_t r, rows = syn_rows(z), w = (size_t)syn_width(z);
  float *saved = syn_saved(t, n, 0);
  int changed = pass == 0;
  if (pass == 0) memset(saved, 0, rows * w * sizeof *saved);
  for (r = 1; r < rows && pass; r++) { /* row 0 begins a sentence */
    const float *before = z->x + (r - 1) * w;
    if (place[r] == 0 || !memcmp(saved + r * w, before, w * sizeof *saved)) continue;
    memcpy(saved + r * w, before, w * sizeof *saved);
    changed = 1;
  }
  return changed;
}
/* dz of a token = dy of the token behind it; 0 at the end of a sentence. 1: there is any. If all
   are 0, so are those of all further passes. */
static int syn__feed_recur_back(syn_tape *t, const syn_node *n, const syn_tensor *z) {
  const syn_tensor *y = syn_out(t, n);
  const int *place = syn_places(t, n);
  size_t r, i, rows = syn_rows(z), w = (size_t)syn_width(z), wide = (size_t)syn_width(y);
  int any = 0;
  for (r = 0; r < rows; r++) {
    float *dz = z->dx + r * w;
    if (r + 1 == rows || place[r + 1] == 0) memset(dz, 0, w * sizeof *dz);
    else memcpy(dz, y->dx + (r + 1) * wide, w * sizeof *dz);
    for (i = 0; i < w && !any; i++) any = dz[i] != 0.0f;
  }
  return any;
}
static void syn__feed_recur_step(syn_tape *t, const syn_node *n, const syn_tensor *z) {
  size_t w = (size_t)n->cache;
  int r, rows = (int)syn_rows(z);
  for (r = 0; r < rows; r++)
    memcpy(syn_cache_new(t, n, r), z->x + (size_t)r * w, w * sizeof(float));
}
static const syn__recurrence syn__feed_recurrence = {syn__feed_recur, syn__feed_recur_back,
                                                     syn__feed_recur_step};

static syn_status syn__feed_shape(syn_build *b, syn_node *n) {
  if (strcmp(n->path, "decoder.0"))
    return syn__fail_build(b, SYN_E_TEXT, "only the first layer of a decoder can be this one");
  n->recurrence = &syn__feed_recurrence;
  n->cache = b->feedback_width;
  if (syn_build_save_rows(b, n, SYN_BOTH, (size_t)n->cache)) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), n->cache + syn_build_width(b, n, 0));
}
/* y_r = [z; x_r], z in saved buffer 0 */
static void syn__feed_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  size_t r, rows = syn_rows(x), w = (size_t)n->cache, d = (size_t)syn_width(x);
  float *y = syn_out(t, n)->x;
  for (r = 0; r < rows; r++, y += w + d) {
    memcpy(y, syn_saved(t, n, 0) + r * w, w * sizeof *y);
    memcpy(y + w, x->x + r * d, d * sizeof *y);
  }
}
/* The first w columns are left to the recurrence, which reads them in dy. */
static void syn__feed_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  size_t r, rows = syn_rows(y), w = (size_t)n->cache, d = (size_t)syn_width(x);
  for (r = 0; r < rows; r++) t->k->acc(x->dx + r * d, y->dx + r * (w + d) + w, d);
}
/* z of the token before comes from the cache. */
static void syn__feed_step(syn_tape *t, const syn_node *n) {
  size_t w = (size_t)n->cache;
  int r, rows = (int)syn_rows(syn_out(t, n));
  for (r = 0; r < rows; r++) {
    int place = syn_places(t, n)[r];
    float *z = syn_saved(t, n, 0) + (size_t)r * w;
    if (place) memcpy(z, syn_cache_row(t, n, r, place - 1), w * sizeof *z);
    else memset(z, 0, w * sizeof *z);
  }
  syn__feed_forward(t, n);
}
static const syn_kind syn__kind_input_feed = {
    "input_feed", "", 0, NULL, syn__feed_shape, syn__feed_forward, syn__feed_backward,
    NULL, syn__feed_step, NULL};

/* ==============================================================================================
   >>kind pool   y [sentences,d] = mean over the rows of each sentence (classify)
   ============================================================================================== */

/* Mean pooling. x [rows,d] of the source side; a bound sentence has at least one token. Saved for
   backward: nothing. dx of each row += dy of its sentence / rows of the sentence. */

static syn_status syn__pool_shape(syn_build *b, syn_node *n) {
  return syn_build_out(b, n, SYN_EACH, syn_build_width(b, n, 0));
}
/* One thread: a single pass over x, beside the products of all layers of the encoder. */
static void syn__pool_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *off = t->stream[SYN_SRC].off;
  size_t i, d = (size_t)syn_width(x), sentences = syn_rows(y);
  syn__product sum;
  for (i = 0; i < sentences; i++) {
    float *row = y->x + i * d;
    size_t length = (size_t)(off[i + 1] - off[i]);
    memset(row, 0, d * sizeof *row);
    sum = syn__sum_of_rows(row, syn_matrix_of(x->x + (size_t)off[i] * d, (int)length, (int)d, 0));
    t->k->gemm(&sum, 0, 1, 0, ((int)d + 15) / 16);
    t->k->scale(row, 1.0f / (float)length, row, d);
  }
}
static void syn__pool_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *off = t->stream[SYN_SRC].off;
  size_t i, r = 0, d = (size_t)syn_width(x), sentences = syn_rows(y);
  for (i = 0; i < sentences; i++) {
    float factor = 1.0f / (float)(off[i + 1] - off[i]);
    for (; r < (size_t)off[i + 1]; r++)
      t->k->acc_scale(x->dx + r * d, factor, y->dx + i * d, d);
  }
}
static const syn_kind syn__kind_pool = {
    "pool", "", SYN_BOTH_NOT_NEEDED, NULL, syn__pool_shape, syn__pool_forward, syn__pool_backward,
    NULL, NULL, NULL};

/* The encoder adds up its rows, which stay; the last program divides them. */
static int syn__lower_pool(syn__small_build *l, const syn_node *n) {
  int x = syn__lower_in(l, n, 0), d = syn__lower_width(l, x), sum = syn__lower_state(l, d);
  int32_t a[3];
  a[0] = sum;
  a[1] = syn__lower_read(l, x);
  a[2] = d;
  syn__lower_emit(l, SYN__SMALL_OP_sum, a, 3);
  l->program = SYN__SMALL_DECODE;
  l->segment = 0;
  a[1] = sum;
  a[0] = syn__lower_new(l, d);
  syn__lower_emit(l, SYN__SMALL_OP_mean, a, 3);
  return a[0];
}

#endif /* !SYN_SMALL */

/* sum y, x, width: y += x */
static long syn__small_sum(syn_small *s, const int32_t *a) {
  float *y = syn__small_row(s, a[0], a[2]);
  const float *x = syn__small_row(s, a[1], a[2]);
  int32_t i;
  for (i = 0; i < a[2]; i++) y[i] = y[i] + x[i];
  return a[2];
}
/* mean y, x, width: y = x / tokens of the source */
static long syn__small_mean(syn_small *s, const int32_t *a) {
  float *y = syn__small_row(s, a[0], a[2]);
  const float *x = syn__small_row(s, a[1], a[2]);
  int32_t i;
  for (i = 0; i < a[2]; i++) y[i] = x[i] / (float)s->sources;
  return a[2];
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind output   logits [rows,V] = x w^T + b
   ============================================================================================== */

/*
   x [rows,d], b [V], w [V,d], often the embedding (tie: Press and Wolf 2017); V is the number of
   classes in classify and tag. No backward: while training, >>loss computes the logits with their
   gradient in blocks of rows, since all logits of a batch would be by far the largest tensor. */

static syn_status syn__output_shape(syn_build *b, syn_node *n) {
  return syn_build_out(b, n, syn_build_stream(b, n, 0), b->g->params[n->param[0]].shape[0]);
}
static const syn_kind syn__kind_output = {"output", "", 0, NULL, syn__output_shape,
                                          syn__linear_kind_forward, NULL, NULL, NULL, NULL};

static int syn__lower_output(syn__small_build *l, const syn_node *n) {
  const syn_param *p = &l->g->params[n->param[0]];
  int32_t a[5];
  a[0] = syn__lower_read(l, syn__lower_in(l, n, 0));
  a[1] = p->shape[0];
  a[2] = p->shape[1];
  a[3] = syn__lower_matrix(l, n->param[0]);
  a[4] = n->n_param > 1 ? syn__lower_floats(l, l->g->params[n->param[1]].x, (size_t)a[1]) : 0;
  l->widest = syn__max(l->widest, a[2]);
  syn__lower_emit(l, SYN__SMALL_OP_out, a, 5);
  return a[0];
}

#endif /* !SYN_SMALL */

/* Passes all logits to `see`. a: the operands of `out`. */
typedef void (*syn__small_see)(syn_small *s, int32_t token, float logit);
static long syn__small_logits(syn_small *s, const int32_t *a, syn__small_see see) {
  int32_t n = a[1], k = a[2], i, j;
  syn__small_matrix m = syn__small_matrix_at(s, a[3], n, k);
  float z[4];
  syn__small_multiply(s, &m, syn__small_row(s, a[0], k), k);
  for (i = 0; i < n; i += 4) {
    syn__small_rows(s, &m, syn__small_floats(s, a[4]), i, n - i < 4 ? n - i : 4, z);
    for (j = i; j < i + 4 && j < n; j++) {
      if (a == s->w + s->out) z[j - i] = syn__small_learned(s, j, n, k, z[j - i]);
#ifdef SYN__SMALL_TRACE
      SYN__SMALL_TRACE(z[j - i]);
#endif
      see(s, j, z[j - i]);
    }
  }
  return (long)n * k;
}
/* A text has neither padding nor a second begin; every class may be chosen. */
static int syn__small_may(const syn_small *s, int32_t token) {
  return (token != SYN_PAD && token != SYN_BEGIN) || s->w[SYN__SMALL_TASK] > SYN__SMALL_LM;
}

/* out x, vocab, k, w, bias: the token of the largest logit, of equal ones the first; or the
   class. */
static void syn__small_see_best(syn_small *s, int32_t token, float z) {
  if (!syn__small_may(s, token) || (s->token >= 0 && !(z > s->logit))) return;
  s->token = token;
  s->logit = z;
}
static long syn__small_out(syn_small *s, const int32_t *a) {
  s->token = -1;
  return syn__small_logits(s, a, syn__small_see_best);
}

/* Inserts a candidate into a list of n, the best `most`, best first; returns how many are there. */
static int32_t syn__small_insert(syn__small_pick *list, int32_t n, int32_t most,
                                 syn__small_pick pick) {
  int32_t k;
  if (n == most && !(pick.score > list[n - 1].score)) return n;
  if (n < most) n++;
  for (k = n - 1; k > 0 && pick.score > list[k - 1].score; k--) list[k] = list[k - 1];
  list[k] = pick;
  return n;
}
/* Keeps the best candidates of the row, and the sum of e^z over all of its logits. */
static void syn__small_see_all(syn_small *s, int32_t token, float z) {
  syn__small_search *b = s->search;
  syn__small_pick pick;
  if (s->k.temperature > 0.0f) z = z / s->k.temperature;
  pick.score = z;
  pick.token = (uint16_t)token;
  pick.row = (uint16_t)s->slot;
  if (syn__small_may(s, token)) {
    b->n_picks = syn__small_insert(b->picks, b->n_picks, b->most, pick);
  } else if (s->k.temperature > 0.0f) return; /* a sample is one of those that may be chosen */
  if (z > b->top) {
    b->sum = b->sum * syn__small_exp(b->top - z) + 1.0f;
    b->top = z;
  } else b->sum = b->sum + syn__small_exp(z - b->top);
}
static long syn__small_see_row(syn_small *s, const int32_t *a) {
  s->search->n_picks = 0;
  s->search->top = -1e30f;
  s->search->sum = 0.0f;
  return syn__small_logits(s, a, syn__small_see_all);
}

/* sample: one of the top_k most probable tokens (Fan, Lewis, Dauphin 2018) whose probabilities
   first reach top_p (Holtzman et al. 2020). The random number is a hash of the seed, the number of
   the output, the place: two rounds of the finaliser of MurmurHash3. */
static long syn__small_sample(syn_small *s, const int32_t *a) {
  syn__small_search *b = s->search;
  long work = syn__small_see_row(s, a);
  float sum = 0.0f, wanted = s->k.top_p > 0.0f ? s->k.top_p : 1.0f, point;
  uint32_t h = s->k.seed ^ s->outputs * UINT32_C(0x9E3779B9);
  int32_t i, n;
  for (i = 0; i < 2; i++) {
    h = (h ^ h >> 16) * UINT32_C(0x85EBCA6B);
    h = (h ^ h >> 13) * UINT32_C(0xC2B2AE35);
    h = (h ^ h >> 16) + (uint32_t)s->row * UINT32_C(0x9E3779B9);
  }
  for (n = 0; n < b->n_picks && sum < wanted; n++) {
    b->picks[n].score = syn__small_exp(b->picks[n].score - b->top) / b->sum;
    sum = sum + b->picks[n].score;
  }
  point = (float)(h >> 8) * 5.96046448e-8f * sum; /* 2^-24 */
  for (i = 0; i + 1 < n; i++) {
    point = point - b->picks[i].score;
    if (point < 0.0f) break;
  }
  s->token = n ? (int32_t)b->picks[i].token : (int32_t)SYN_END;
  return work;
}

/* beam: the row's candidates join those of the other hypotheses, with the sum of log p as score. */
static long syn__small_beam(syn_small *s, const int32_t *a) {
  syn__small_search *b = s->search;
  long work = syn__small_see_row(s, a);
  float base = b->score[b->half * s->k.beam + s->slot] - b->top - syn__small_log(b->sum);
  int32_t i;
  for (i = 0; i < b->n_picks; i++) {
    b->picks[i].score = b->picks[i].score + base;
    b->n_best = syn__small_insert(b->best, b->n_best, 2 * s->k.beam, b->picks[i]);
  }
  return work;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>attention heads   attention weights of one head, their product with the values
   ============================================================================================== */

/*
   Multi-head attention (Vaswani et al. 2017, section 3.2). For one head of a sentence with nq
   queries and nk keys:

     S [nq,nk]          scores: how well query i matches key j; one section below for every kind
     P = softmax(S)     attention weights, row by row; the causal mask of a decoder sets the weight
                        of every key j > query i to 0
     Y [nq,c] = Pd v    weighted sums of the values v [nk,c]; Pd is P after dropout

   Layer: v [.,e] = u W_v^T, out [rows,d] = [Y_1; ...; Y_H] W_o^T, W_v [e,width of u], W_o [d,e],
   e = H c. x [rows,d] gives the queries. u = x in self-attention, u = the encoder's output in
   cross-attention. Sentences lie packed one behind the other, so there is no padding to mask.
   A mixture of scores (Tay et al. 2021, section 3.3) is S = sum_s alpha_s S_s, alpha = softmax of a
   learned vector per head.
   saved for backward: the buffers below. KV cache of a token (>>kv cache): its v, then the inputs
   of later convolutions; its k in a block of 16 keys. */

#define SYN__MAX_SCORES 12
enum {          /* the saved buffers */
  SYN__P,       /* P [pairs,H], while training negative where it was dropped */
  SYN__ROWS,    /* v, Y, then what the scores keep for every row */
  SYN__DROWS,   /* the gradients of SYN__ROWS */
  SYN__UNMIXED, /* the S_s of a mixture; both sides of GLU */
  SYN__TABLE,   /* tables computed from parameters, then the biases of rel_pos */
  SYN__DTABLE   /* the gradients of SYN__TABLE */
};

/* Which keys a range of queries sees. */
typedef struct syn__causal_range {
  int nq, nk;
  int causal; /* 1: query i sees the keys 0 .. first + i alone */
  int first;  /* position of the first query in its sentence */
} syn__causal_range;

/* One head of one sentence; in a decoding step of one new token, which is its only query. Rows of
   q, k, v, y lie q_row, k_row, v_row, y_row floats apart, those of their gradients too. q and k are
   only set where S = q k^T. */
typedef struct syn__attention {
  int sentence, h;
  int heads;                /* in a step: number of heads from h on that are done together */
  syn__causal_range g;      /* nq, nk, causal mask */
  int c;
  int no_softmax;           /* 1: the scores are the attention weights; P is saved without signs */
  int add;                  /* 1: dk and dv are added; else they are written, as dq always is */
  size_t row;               /* first row of its queries */
  size_t q_row, k_row, v_row, y_row;
  float *q, *k, *v, *y;     /* [nq,c], [nk,c], [nk,c], [nq,c] */
  float *dq, *dk, *dv, *dy; /* null without a backward pass */
  float *p;                 /* [nq,nk]: S, then P; in backward P, then dS */
  float *pack, *x, *z;      /* scratch: c round16(nk) floats, a block, [nq,nk]; in a step other
                               rows, see syn__task_att_step */
  float *k_panels, *v_panels; /* k^T and v^T, if the caller has packed them; else null */
  int dropped;              /* 1: dropout of attention weights is on */
  syn__dropout drop;
  size_t drop_index, drop_row; /* index of the first attention weight for dropout; from query to
                                  query */
} syn__attention;

/* What a kind of score is like. */
enum {
  SYN__HAS_KEYS = 1,     /* V: S = q k^T. Its keys go into the KV cache. It prepares first and
                            finishes last, since other scores may read its q. All others have a
                            table of N positions, which limits the length of a sentence */
  SYN__IS_TABLE = 2,     /* S does not depend on the input */
  SYN__SHARES_OUTPUT = 4 /* accepts shared=1, one output layer for all heads */
};

/* One kind of score: a struct of functions, as a layer kind is. `s` is its index in the mixture.
   forward   `prepare` once, then `fill` for every sentence and head, by any thread
   backward  `back` for every sentence and head, in any order: it may write only gradients of that
             sentence and head. Then `back_shared` for the sentences of a head in order: gradients
             that sentences share are summed in one order. Then `finish` once.
   step      the same as forward for the new tokens, each of which is a head of one query (t->decode
             is set)
   Null: nothing to do. */
typedef struct syn__score {
  const char *name;
  int flags;
  /* adds parameters, floats per row (a->row_floats), floats of tables (syn__att_table) */
  syn_status (*shape)(syn_build *b, syn_node *n, int s);
  /* products over all rows. V in a step of self-attention: v, too */
  void (*prepare)(syn_tape *t, const syn_node *n, int s);
  /* score [nq,nk] = S_h, also where the causal mask hides it; without keys only the columns of
     syn__att_columns, which the layer repeats */
  void (*fill)(syn_tape *t, const syn_node *n, int s, const syn__attention *o, float *score);
  /* ds [nq,nk], 0 where masked; gradients of rows are written, not added */
  void (*back)(syn_tape *t, const syn_node *n, int s, const syn__attention *o, const float *ds);
  /* gradients of parameters and tables are added */
  void (*back_shared)(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                      const float *ds);
  void (*finish)(syn_tape *t, const syn_node *n, int s); /* gradients of `prepare` */
  /* multiply-adds per token without those of matrices (params[...].matrix) */
  double (*cost)(const syn_node *n, int s, int length);
} syn__score;

/* The two layers of D, its variants, FD. Hidden layer: u [rows,units] = relu(x W1^T + b1), or
   u = x. Output layer: one per head, on the head's columns of u. A layer is linear (taps 0) or a
   convolution, which is a linear of im2col rows; with one tap those are the rows themselves. The
   parameters are numbers within the node, -1: none. */
typedef struct syn__stages {
  int hidden, gated;       /* 1: has a hidden layer; 1: the output is the glu of two linears */
  int w1, b1, w2, b2;      /* gated: w2 + 2, b2 + 2 are those of the gate */
  int head_units, units;   /* columns of u: of a head, of all heads */
  int inputs;              /* numbers that an output layer reads: the taps' columns of a head */
  int matrices;            /* output layers: one per head, or 1 for all */
  syn_conv first, second;  /* hidden layer, output layer */
  int col;                 /* offset of the im2col rows in the rows buffers, floats per row */
  int cache_u;             /* offset of u in a token's KV cache, -1: not kept */
  int sides;               /* index of the two sides of the glu in SYN__UNMIXED */
} syn__stages;

typedef struct syn__att {
  int heads, c, e, d; /* e = heads * c */
  int qk;             /* columns of q and k: e, less where some heads have none */
  int size;           /* N, or the tile */
  int tile, causal, cross, softmax, shared, mixed, all_tables;
  int n_scores, n_kept;                /* n_kept: matrices of a head in SYN__UNMIXED */
  int keyed;                           /* index of the score with keys, V; -1: none */
  int k, a, b;                         /* of FR, of FD */
  int row_floats;                      /* floats per row in SYN__ROWS */
  float scale;
  const syn__score *score[SYN__MAX_SCORES];
  int param[SYN__MAX_SCORES];    /* first parameter of each score */
  int at[SYN__MAX_SCORES];       /* offset in the rows buffers, floats per row */
  int kept[SYN__MAX_SCORES];     /* index of S_s in SYN__UNMIXED, -1: not kept */
  size_t table[SYN__MAX_SCORES]; /* offset in the table buffer */
  size_t tables, dtables;        /* floats of the tables, of their gradients (FR's alone) before
                                    the biases of rel_pos */
  syn__stages stages[SYN__MAX_SCORES];
  int cache, cache_x;             /* floats of a token's KV cache; offset of x in it, or -1 */
  int w_v, w_o, alpha;           /* parameters */
  const struct syn__rel_pos *rel_pos; /* biases to add, innermost first; null: none */
} syn__att;

static const syn__att *syn__att_of(const syn_node *n) { return (const syn__att *)n->own; }

/* The sentences of the output, which are those of the queries. */
static const syn_stream *syn__att_stream(const syn_tape *t, const syn_node *n) {
  return &t->stream[t->g->values[n->out].stream];
}
/* A row of SYN__ROWS is a query or a key: as many rows as the longer side has. */
static size_t syn__att_rows(const syn_tape *t, const syn_node *n) {
  size_t q = syn_rows(syn_out(t, n)), k = syn_rows(syn_in(t, n, n->n_in - 1));
  return q > k ? q : k;
}
/* The block of a rows buffer that begins `at` floats per row: v, Y, or those of score s. */
static float *syn__att_block(const syn_tape *t, const syn_node *n, int buffer, int at) {
  return syn_saved(t, n, buffer) + (size_t)at * syn__att_rows(t, n);
}
static float *syn__att_v(const syn_tape *t, const syn_node *n, int buffer) {
  return syn__att_block(t, n, buffer, 0);
}
static float *syn__att_y(const syn_tape *t, const syn_node *n, int buffer) {
  return syn__att_block(t, n, buffer, syn__att_of(n)->e);
}
static float *syn__score_rows(const syn_tape *t, const syn_node *n, int buffer, int s) {
  return syn__att_block(t, n, buffer, syn__att_of(n)->at[s]);
}
/* k [rows,qk] of score s, which is V; its q are syn__score_rows. */
static float *syn__att_k(const syn_tape *t, const syn_node *n, int buffer, int s) {
  const syn__att *a = syn__att_of(n);
  return syn__att_block(t, n, buffer, a->at[s] + a->qk);
}
/* Parameter i of score s, its gradient. */
static const float *syn__att_weight(const syn_tape *t, const syn_node *n, int s, int i) {
  return syn_weight(t, n, syn__att_of(n)->param[s] + i);
}
static float *syn__att_dweight(const syn_tape *t, const syn_node *n, int s, int i) {
  return syn_dweight(t, n, syn__att_of(n)->param[s] + i);
}

/* Names the parts of an attention layer for syn_run_value. q, k: of the heads with a score V, which
   begin `at[V]` floats per row into the buffer of rows. */
static syn_status syn__att_parts(syn_build *b, syn_node *n, const syn__att *a) {
  const int v = a->keyed, heads = v < 0 ? 0 : a->qk / a->c, at = v < 0 ? 0 : a->at[v];
  const syn_part all[] = {{"v", SYN__ROWS, SYN_PART_KEYS, 0, a->heads, a->c},
                          {"context", SYN__ROWS, SYN_PART_ROWS, a->e, a->heads, a->c},
                          {"q", SYN__ROWS, SYN_PART_ROWS, at, heads, a->c},
                          {"k", SYN__ROWS, SYN_PART_KEYS, at + heads * a->c, heads, a->c},
                          {"scores", SYN__UNMIXED, SYN_PART_PAIRS, 0, a->heads, a->n_kept}};
  return syn__parts(b, n, all, heads ? 4 : 2) || (a->n_kept && syn__parts(b, n, all + 4, 1))
             ? SYN_E_SHAPE : SYN_OK;
}

/* The tensor that keys and values are computed from: x, or the encoder's output. */
static syn_tensor *syn__att_keys(const syn_tape *t, const syn_node *n) {
  return syn_in(t, n, n->n_in - 1);
}

/* -- products of a matrix of queries and keys --

   In a decoder query i sees the keys 0 .. i alone: half of the matrix is 0. Its products go by
   blocks of queries, and of each block only the keys are multiplied that its last query sees. The
   terms left out are 0, so no bit changes. A block of attention weights also stays in the
   first-level cache while its columns are read, which lie a row apart. Each runs inside one task;
   nn, nt, tn say which factor is transposed, as in BLAS. */

#define SYN__QUERIES 48 /* queries of a block: whole tiles */

/* How many keys query i sees. */
static int syn__keys_seen(const syn__causal_range *g, int i) {
  return g->causal ? syn__min(g->first + i + 1, g->nk) : g->nk;
}
/* End of the block of queries that begins at i; half as many where blocks leave out keys. */
static int syn__query_block_end(const syn__causal_range *g, int i) {
  return syn__min(i + (g->causal ? SYN__QUERIES / 2 : SYN__QUERIES), g->nq);
}

/* b = k^T of keys k [nk,c], packed by one thread into `panels`, c round16(nk) floats */
static syn_matrix syn__pack_keys(const syn_tape *t, syn_matrix k, float *panels) {
  syn_matrix b = syn_transposed(k);
  t->k->pack_b(&b, panels);
  return syn__packed(panels, b.rows, b.cols);
}

/* c [nq,nk] = start + a b, as q k^T; b [k,nk] is packed. Keys that no query of a block sees get 0,
   or stay as they are where c is added to. */
static void syn__causal_matmul_nt(const syn_tape *t, const syn__causal_range *g, syn__product p) {
  int i, r, end, seen;
  for (i = 0; i < g->nq; i = end) {
    end = g->causal ? syn__query_block_end(g, i) : g->nq;
    seen = syn__min(p.c.cols, (syn__keys_seen(g, end - 1) + 15) / 16 * 16);
    t->k->gemm(&p, i, end, 0, (seen + 15) / 16);
    for (r = i; r < end && !p.accumulate && seen < p.c.cols; r++)
      memset(p.c.x + (size_t)r * p.c.row + seen, 0, (size_t)(p.c.cols - seen) * sizeof *p.c.x);
  }
}
/* c [nq,n] = start + a b, as P V; a [nq,nk], b [nk,n] */
static void syn__causal_matmul_nn(const syn_tape *t, const syn__causal_range *g, syn__product p) {
  int i, end;
  for (i = 0; i < g->nq; i = end) {
    end = g->causal ? syn__query_block_end(g, i) : g->nq;
    p.a.cols = syn__keys_seen(g, end - 1);
    t->k->gemm(&p, i, end, 0, (p.c.cols + 15) / 16);
  }
}
/* What the queries i .. end-1 add to c [nk,n] = start + a b, as P^T dY. p.a [nk,end-i] and
   p.b [end-i,n] are the parts of these queries. A key that an earlier block saw goes on from its
   sum. */
static void syn__causal_block_tn(const syn_tape *t, const syn__causal_range *g, syn__product p,
                                 int i, int end) {
  int before = i > 0 ? syn__keys_seen(g, i - 1) : 0, panels = (p.c.cols + 15) / 16;
  p.a.cols = end - i;
  t->k->gemm(&p, before, syn__keys_seen(g, end - 1), 0, panels);
  p.accumulate = 1;
  t->k->gemm(&p, 0, before, 0, panels);
}
/* c [nk,n] = start + a b, as P^T dY; a = P^T [nk,nq], b [nq,n] */
static void syn__causal_matmul_tn(const syn_tape *t, const syn__causal_range *g, syn__product p) {
  int i, end;
  for (i = 0; i < g->nq; i = end) {
    syn__product part = p;
    end = syn__query_block_end(g, i);
    part.a.x += (size_t)i * p.a.col;
    part.b.x += (size_t)i * p.b.row;
    syn__causal_block_tn(t, g, part, i, end);
  }
}

/* -- parameters, offsets -- */

/* Reserves heads * part floats in the table buffer for score s. */
static void syn__att_table(syn__att *a, int s, size_t heads, size_t part) {
  a->table[s] = a->tables;
  a->tables = syn__add_size(a->tables, syn__mul_size(heads, part));
}
/* Columns that a score with a table of N positions computes for nk keys. */
static int syn__att_columns(const syn__att *a, int nk) {
  return a->tile ? syn__min(nk, a->size) : nk;
}
/* A parameter [H,columns] of zeros: biases, alpha. It is never a factor of a product, so the
   decoder need not pack it (matrix 0). */
static syn_status syn__att_table_zero(syn_build *b, syn_node *n, const char *name, int columns) {
  int shape[2];
  shape[0] = syn__att_of(n)->heads;
  shape[1] = columns;
  if (syn_build_param(b, n, name, syn_initial_of(SYN_INIT_CONSTANT, 0.0), 2, shape))
    return SYN_E_SHAPE;
  b->g->params[n->param[n->n_param - 1]].matrix = 0;
  return SYN_OK;
}
/* A parameter [H,rows,columns]. */
static syn_status syn__head_param(syn_build *b, syn_node *n, const char *name, syn_initial init,
                                  int rows, int columns) {
  int shape[3];
  shape[0] = syn__att_of(n)->heads;
  shape[1] = rows;
  shape[2] = columns;
  return syn_build_param(b, n, name, init, 3, shape);
}
/* Rows and columns of a table [N,N] that this batch needs. */
static int syn__att_longest(const syn_tape *t, const syn_node *n) {
  return syn__min(syn__att_stream(t, n)->longest, syn__att_of(n)->size);
}
/* -- scratch of a head: a packed matrix [c,nk]; a block of attention weights; a matrix [nq,nk];
      two rows [nk] -- */

/* Floats between rows of a block. Not a power of two: rows would compete for a few cache lines. */
static size_t syn__block_row(int nk) { return syn__round16((size_t)nk) + 16; }
/* All of it but the two rows, for values of width c. */
static void syn__attention_scratch(syn_node *n, int c) {
  n->scratch.fixed = 16 * (size_t)c + 32 * SYN__QUERIES;
  n->scratch.length = (size_t)c + SYN__QUERIES;
  n->scratch.square = 1;
}

/* -- softmax, dropout, values of one head: for every layer with attention weights --

   Forward takes one block of queries through all steps before the next: scores S become P, Pd
   stays in the first-level cache until it has been multiplied by the values. Backward does the same
   with dPd, which Pd then overwrites. P is saved with the signs of >>row kernels, softmax_drop: a
   dropped attention weight is negative. */

/* Sizes and dropout; the caller sets the pointers. n->drop is the rate for the attention weights as
   well as for the layer's output. */
static syn__attention syn__attention_of(const syn_tape *t, const syn_node *n, int nq, int nk,
                                        int c) {
  syn__attention o;
  memset(&o, 0, sizeof o);
  o.g.nq = nq;
  o.g.nk = nk;
  o.c = c;
  o.drop_row = (size_t)nk;
  o.dropped = t->training && n->drop > 0.0f;
  o.drop = syn__dropout_of(t, 2 * n->id + 1, n->drop);
  return o;
}
/* The gradients lie in their buffer as v, Y, q, k in theirs; without a backward pass there is no
   such buffer. */
static void syn__attention_gradients(const syn_tape *t, const syn_node *n, syn__attention *o) {
  const float *rows = syn_saved(t, n, SYN__ROWS);
  float *drows = syn_saved(t, n, SYN__DROWS);
  if (!drows) return;
  o->dv = drows + (o->v - rows);
  o->dy = drows + (o->y - rows);
  if (!o->q) return;
  o->dq = drows + (o->q - rows);
  o->dk = drows + (o->k - rows);
}
/* Head h of a sentence with its buffers. P lies sentence by sentence, [H,nq,nk] each; `pairs` sums
   nq nk of the sentences before. Of a layer with V the last qk / c heads have q and k. Where P does
   not depend on the input, all sentences share a dropout mask. */
static syn__attention syn__head_of(const syn_tape *t, const syn_node *n, int sentence, int h,
                                   float *scratch) {
  const syn__att *a = syn__att_of(n);
  int to = t->g->values[n->out].stream, from = t->g->values[n->in[n->n_in - 1]].stream;
  const int *q = t->stream[to].off + sentence, *k = t->stream[from].off + sentence;
  size_t longest = (size_t)t->stream[to].longest, first_key = (size_t)k[0], e = (size_t)a->e;
  int column = h * a->c, keyed = column - (a->e - a->qk); /* of v and y, of q and k */
  syn__attention o = syn__attention_of(t, n, q[1] - q[0], k[1] - k[0], a->c);
  o.sentence = sentence;
  o.h = h;
  o.row = (size_t)q[0];
  o.g.causal = a->causal;
  o.no_softmax = !a->softmax;
  o.v_row = o.y_row = e;
  o.q_row = o.k_row = (size_t)a->qk;
  o.v = syn__att_v(t, n, SYN__ROWS) + first_key * e + column;
  o.y = syn__att_y(t, n, SYN__ROWS) + o.row * e + column;
  if (a->keyed >= 0 && keyed >= 0) {
    o.q = syn__score_rows(t, n, SYN__ROWS, a->keyed) + o.row * o.q_row + keyed;
    o.k = syn__att_k(t, n, SYN__ROWS, a->keyed) + first_key * o.k_row + keyed;
  }
  syn__attention_gradients(t, n, &o);
  o.drop_index = t->pairs[to][from][sentence] * (size_t)a->heads +
                 (size_t)h * (size_t)o.g.nq * (size_t)o.g.nk;
  o.p = syn_saved(t, n, SYN__P) + o.drop_index;
  o.pack = scratch;
  o.x = scratch + (size_t)a->c * syn__round16((size_t)o.g.nk);
  o.z = o.x + SYN__QUERIES * syn__block_row(o.g.nk);
  if (a->all_tables) {
    o.drop_index = (size_t)h * longest * longest;
    o.drop_row = longest;
  }
  return o;
}
/* Matrix `i` [nq,nk] of the head in SYN__UNMIXED; null: i is -1, or in a step. */
static float *syn__head_kept(const syn_tape *t, const syn_node *n, const syn__attention *o, int i) {
  size_t kept = (size_t)syn__att_of(n)->n_kept, head = (size_t)o->h, before;
  size_t size = (size_t)o->g.nq * (size_t)o->g.nk;
  if (i < 0 || t->decode) return NULL;
  before = (size_t)(o->p - syn_saved(t, n, SYN__P)) - head * size; /* of all heads */
  return syn_saved(t, n, SYN__UNMIXED) + before * kept + (head * kept + (size_t)i) * size;
}
/* Index of the first attention weight of query i: equal indices have equal dropout masks. */
static uint32_t syn__drop_index(const syn__attention *o, int i) {
  return (uint32_t)(o->drop_index + (size_t)i * o->drop_row);
}

/* S = q k^T; q holds the scale */
static void syn__dot_scores(const syn_tape *t, const syn__attention *o) {
  syn_matrix k = syn_matrix_of(o->k, o->g.nk, o->c, o->k_row);
  k = o->k_panels ? syn__packed(o->k_panels, o->c, o->g.nk) : syn__pack_keys(t, k, o->pack);
  syn__causal_matmul_nt(t, &o->g,
                        syn__product_of(syn_matrix_of(o->p, o->g.nq, o->g.nk, 0),
                                        syn_matrix_of(o->q, o->g.nq, o->c, o->q_row), k, NULL, 0));
}

/* The row to process as number `at` of `count`: where nk is no multiple of 16, first the even rows,
   then the odd ones. The masked store at the end of a row overlaps the beginning of the next row,
   and a processor that loads there too early waits for that store. */
static int syn__row_order(int at, int count, int nk) {
  if (nk % 16 == 0) return at;
  return 2 * at < count ? 2 * at : 2 * at - ((count - 1) | 1);
}

/* P_i = softmax(S_i); keys behind the causal mask get 0. With dropout also the first `most` columns
   of Pd_i. */
static void syn__softmax_row(const syn_tape *t, const syn__attention *o, int i, float *pd,
                                  int most) {
  size_t nk = (size_t)o->g.nk, seen = (size_t)syn__keys_seen(&o->g, i);
  float *p = o->p + (size_t)i * nk;
  if (!o->no_softmax && o->dropped)
    t->k->softmax_drop(&o->drop, syn__drop_index(o, i), p, pd, seen);
  else if (!o->no_softmax) t->k->softmax(p, p, seen);
  if (nk > seen) memset(p + seen, 0, (nk - seen) * sizeof *p);
  if (!o->dropped) return;
  if (o->no_softmax) {
    memcpy(pd, p, seen * sizeof *p);
    t->k->dropout(&o->drop, syn__drop_index(o, i), pd, seen);
  }
  if ((size_t)most > seen) memset(pd + seen, 0, ((size_t)most - seen) * sizeof *pd);
}
/* The same for the queries begin .. end-1; rows of pd lie pd_row floats apart. Returns Pd of the
   first of them: P itself without dropout. */
static const float *syn__softmax_rows(const syn_tape *t, const syn__attention *o, int begin,
                                      int end, float *pd, size_t pd_row) {
  int at, r, count = end - begin, most = syn__keys_seen(&o->g, end - 1);
  for (at = 0; at < count; at++) {
    r = syn__row_order(at, count, o->g.nk);
    syn__softmax_row(t, o, begin + r, pd + (size_t)r * pd_row, most);
  }
  return o->dropped ? pd : o->p + (size_t)begin * (size_t)o->g.nk;
}

/* P = softmax(S) in place of S; Y = Pd v */
static void syn__attention_forward(const syn_tape *t, const syn__attention *o) {
  size_t row = syn__block_row(o->g.nk), step = o->dropped ? row : (size_t)o->g.nk;
  syn__causal_range part = o->g;
  int i;
  for (i = 0; i < o->g.nq; i += part.nq) {
    const float *pd;
    part.first = i;
    part.nq = syn__query_block_end(&o->g, i) - i;
    pd = syn__softmax_rows(t, o, i, i + part.nq, o->x, row);
    syn__causal_matmul_nn(
        t, &part,
        syn__product_of(syn_matrix_of(o->y + (size_t)i * o->y_row, part.nq, o->c, o->y_row),
                        syn_matrix_of(pd, part.nq, o->g.nk, step),
                        syn_matrix_of(o->v, o->g.nk, o->c, o->v_row), NULL, 0));
  }
}

/* Pd of all queries, computed again from P: in z, or P itself without dropout. */
static const float *syn__dropped_weights(const syn_tape *t, const syn__attention *o) {
  size_t nk = (size_t)o->g.nk, size = (size_t)o->g.nq * nk;
  int i;
  if (!o->dropped) return o->p;
  if (o->no_softmax) {
    memcpy(o->z, o->p, size * sizeof *o->z);
    for (i = 0; i < o->g.nq; i++)
      t->k->dropout(&o->drop, syn__drop_index(o, i), o->z + (size_t)i * nk, nk);
  } else { /* a negative attention weight was dropped */
    t->k->act(SYN__RELU, o->z, o->p, size);
    t->k->scale(o->z, o->drop.scale, o->z, size);
  }
  return o->z;
}
/* dv = Pd^T dy, Pd from syn__dropped_weights: operands for causal_matmul_tn */
static syn__product syn__soft_dv(const syn__attention *o, const float *pd, size_t pd_row) {
  return syn__product_of(syn_matrix_of(o->dv, o->g.nk, o->c, o->v_row),
                         syn_transposed(syn_matrix_of(pd, o->g.nq, o->g.nk, pd_row)),
                         syn_matrix_of(o->dy, o->g.nq, o->c, o->y_row), NULL, o->add);
}

/* dP_i = dropout of dPd_i with the mask of forward, dS_i = P_i (dP_i - P_i . dP_i). In place: p
   holds P, then dS; dp holds dPd, then Pd (without softmax it stays dPd). Columns of dp behind the
   causal mask, up to `most`, become 0. */
static void syn__softmax_row_back(const syn_tape *t, const syn__attention *o, int i, float *dp,
                                  int most) {
  float *p = o->p + (size_t)i * (size_t)o->g.nk;
  size_t seen = (size_t)syn__keys_seen(&o->g, i);
  if (!o->no_softmax)
    t->k->softmax_drop_back(o->dropped ? o->drop.scale : 1.0f, p, dp, seen);
  else memcpy(p, dp, seen * sizeof *p);
  if (o->no_softmax && o->dropped) t->k->dropout(&o->drop, syn__drop_index(o, i), p, seen);
  if ((size_t)most > seen) memset(dp + seen, 0, ((size_t)most - seen) * sizeof *dp);
}

/* For each block of queries: dPd = dy v^T, dS in place of P, dv = Pd^T dy. The product makes whole
   tiles of dPd; syn__softmax_row_back clears the columns behind the causal mask. */
static void syn__attention_back(const syn_tape *t, const syn__attention *o) {
  size_t row = syn__block_row(o->g.nk);
  int i, r, at, end, most;
  syn_matrix v = syn_matrix_of(o->v, o->g.nk, o->c, o->v_row);
  syn__product dp = syn__product_of(
      syn_matrix_of(o->x, o->g.nq, o->g.nk, row), syn_matrix_of(o->dy, o->g.nq, o->c, o->y_row),
      o->v_panels ? syn__packed(o->v_panels, o->c, o->g.nk) : syn__pack_keys(t, v, o->pack),
      NULL, 0);
  syn__product dv = syn__soft_dv(o, o->x, row);
  for (i = 0; i < o->g.nq; i = end) {
    end = syn__query_block_end(&o->g, i);
    dp.a.x = dv.b.x = (float *)o->dy + (size_t)i * o->y_row;
    most = syn__keys_seen(&o->g, end - 1);
    t->k->gemm(&dp, 0, end - i, 0, (most + 15) / 16);
    for (at = 0; at < end - i; at++) {
      r = syn__row_order(at, end - i, o->g.nk);
      syn__softmax_row_back(t, o, i + r, o->x + (size_t)r * row, most);
    }
    syn__causal_block_tn(t, &o->g, dv, i, end);
  }
}
/* dq = dS k, dk = dS^T q */
static void syn__dot_scores_back(const syn_tape *t, const syn__attention *o) {
  syn_matrix ds = syn_matrix_of(o->p, o->g.nq, o->g.nk, 0);
  syn_matrix q = syn_matrix_of(o->q, o->g.nq, o->c, o->q_row), dq = q;
  syn_matrix k = syn_matrix_of(o->k, o->g.nk, o->c, o->k_row), dk = k;
  dq.x = o->dq, dk.x = o->dk;
  syn__causal_matmul_nn(t, &o->g, syn__product_of(dq, ds, k, NULL, 0));
  syn__causal_matmul_tn(t, &o->g, syn__product_of(dk, syn_transposed(ds), q, NULL, o->add));
}

#endif /* !SYN_SMALL */

/* store cache, x, heads, c: the row of x, quantized head by head */
static long syn__small_store(syn_small *s, const int32_t *a) {
  int32_t heads = a[2], c = a[3], h, i;
  const float *x = syn__small_row(s, a[1], heads * c);
  int32_t row = s->row + ((a[0] & 7) == SYN__SMALL_TARGET ? s->slot * s->k.max_len : 0);
  float *scale = (float *)syn__small_at(s, a[0], row, syn__small_cache_bytes(heads, c));
  int8_t *q = (int8_t *)(scale + heads);
  for (h = 0; h < heads; h++, q += syn__small_round4(c)) {
    scale[h] = syn__small_quantize(q, x + h * c, c);
    for (i = c; i < syn__small_round4(c); i++) q[i] = 0;
  }
  return 2L * heads * c;
}

/* values y, v cache, flags, heads, c: y_h = sum_j p_j v_j of every head, p = softmax(scores). With
   t_j = e^(S_j - max) times the scale of v_j, the sum runs over the integers round(32767 t_j / sum
   of t) times those of v: below 2^31 for any number of keys. NO_SOFTMAX: t_j = S_j times the scale,
   with the sum of |t|. */
static long syn__small_values(syn_small *s, const int32_t *a) {
  int32_t heads = a[3], c = a[4], keys = syn__small_keys(s, a[2]), h, i, j;
  int32_t bytes = syn__small_cache_bytes(heads, c);
  int32_t softmax = !(a[2] & SYN__SMALL_NO_SOFTMAX);
  const unsigned char *lineage = syn__small_lineage(s, a[2]);
  const unsigned char *cache = (const unsigned char *)syn__small_at(s, a[1], 0, bytes);
  float *y = syn__small_row(s, a[0], heads * c), *score = s->scores;
  for (h = 0; h < heads; h++, score += keys, y += c) {
    float most = score[0], sum = 0.0f, scaled = 0.0f, factor;
    const void *key;
    for (j = 1; j < keys; j++)
      if (score[j] > most) most = score[j];
    for (j = 0; j < keys; j++) {
      float e = softmax ? syn__small_exp(score[j] - most) : score[j];
      sum = sum + e;
      key = cache + syn__small_key(s, lineage, j) * bytes;
      score[j] = e * ((const float *)key)[h];
      scaled = scaled + (score[j] < 0.0f ? -score[j] : score[j]);
    }
    factor = scaled > 1e-30f && scaled < 1e30f ? 32767.0f / scaled : 0.0f;
    for (j = 0; j < keys; j++)
      s->weights[j] = factor > 0.0f ? (int16_t)syn__small_round(score[j] * factor) : 0;
    factor = softmax ? scaled / (32767.0f * sum) : scaled / 32767.0f;
    for (i = 0; i < c; i++) {
      const int8_t *v = (const int8_t *)cache + 4 * heads + h * syn__small_round4(c) + i;
      int32_t acc = 0;
      for (j = 0; j < keys; j++) acc += s->weights[j] * v[syn__small_key(s, lineage, j) * bytes];
      y[i] = (float)acc * factor;
    }
  }
  return (long)keys * heads * c;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind syn_att: V   S_ij = q_i . k_j / sqrt(c)
   ============================================================================================== */

/*
   Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1). Queries q = x W_q^T [rows,e],
   keys k = u W_k^T [rows of u,e], W_q [e,d], W_k [e,width of u], no biases. Head h has the columns
   h c .. (h+1) c - 1 of both.
   rows buffers, saved for backward: q / sqrt(c), then k; 2 e floats a row. The scale is applied to
   q once instead of to every S_ij.
   KV cache of a token, or of a token of the source: its v and its k. A full block of 16 keys is
   transposed [e,16], so that one vector load reads one column of 16 keys. The partial block that
   the newest token belongs to is row-major [16,e]. */

static syn_status syn__v_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  int d_keys = syn_build_width(b, n, n->n_in - 1);
  a->at[s] = a->row_floats; /* q, then k */
  a->row_floats += 2 * a->qk;
  if (syn__matrix_param(b, n, "w_q", a->qk, a->d)) return SYN_E_SHAPE;
  return syn__matrix_param(b, n, "w_k", a->qk, d_keys);
}

/* -- q and k of all rows, or of the new tokens of a step -- */

/* Self-attention: v, q, k [rows,e] of the new tokens from packed weights. The three products are
   one task, since waking the threads takes longer than a small product. */
static void syn__task_v_project(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn__product *p = (const syn__product *)job;
  int i, panels = (p->c.cols + 15) / 16;
  SYN__UNUSED(thread);
  for (i = 0; i < 3; i++) {
    int from = syn__max(0, (int)begin - i * panels), to = syn__min(panels, (int)end - i * panels);
    if (from < to) t->k->gemm(&p[i], 0, p[i].c.rows, from, to);
  }
}
static void syn__v_project(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const int w[3] = {a->w_v, a->param[s], a->param[s] + 1};
  float *to[3];
  syn__product p[3];
  int i;
  to[0] = syn__att_v(t, n, SYN__ROWS);
  to[1] = syn__score_rows(t, n, SYN__ROWS, s);
  to[2] = syn__att_k(t, n, SYN__ROWS, s);
  for (i = 0; i < 3; i++) {
    p[i] = syn__product_of(syn_matrix_of(to[i], t->decode->rows, a->e, 0),
                           syn_matrix_of(syn_in(t, n, 0)->x, t->decode->rows, a->d, 0),
                           syn__weight_transposed(t, n, w[i]), NULL, 0);
    p[i].streamed = 1;
  }
  syn_parallel(t, syn__task_v_project, p, 3 * (((size_t)a->e + 15) / 16), 2);
}
/* In a step of self-attention v, too. In a step of cross-attention q alone: the keys of the source
   are in the cache since `start`. */
static void syn__v_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  float *q = syn__score_rows(t, n, SYN__ROWS, s);
  if (t->decode && !a->cross) syn__v_project(t, n, s);
  else syn__linear_forward(t, n, a->param[s], -1, x, q);
  syn_accumulate(t, q, q, a->scale, syn_rows(x) * (size_t)a->qk, 1);
  if (!t->decode)
    syn__linear_forward(t, n, a->param[s] + 1, -1, syn__att_keys(t, n),
                        syn__att_k(t, n, SYN__ROWS, s));
}

/* -- scores of a head -- */

/* S [nq,nk] = q k^T; the scale is in q. In a step syn__v_step has left the head's scores in x. */
static void syn__v_fill(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                        float *score) {
  syn__attention x = *o;
  SYN__UNUSED(n);
  SYN__UNUSED(s);
  x.p = score;
  if (t->decode) memcpy(score, o->x, (size_t)o->g.nk * sizeof *score);
  else syn__dot_scores(t, &x);
}

/* With scale = 1/sqrt(c) and S = (scale q) k^T: dq = scale dS k, where `finish` applies the scale;
   dk = dS^T (scale q), which the rows buffer holds. */
static void syn__v_back(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                        const float *ds) {
  syn__attention x = *o;
  SYN__UNUSED(n);
  SYN__UNUSED(s);
  x.p = (float *)ds; /* read only */
  syn__dot_scores_back(t, &x);
}

/* dx += dq W_q, du += dk W_k (u is x in self-attention), dW_q, dW_k */
static void syn__v_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  float *dq = syn__score_rows(t, n, SYN__DROWS, s);
  syn_accumulate(t, dq, dq, a->scale, syn_rows(x) * (size_t)a->qk, 1);
  syn__linear_backward(t, n, a->param[s], -1, x, dq);
  syn__linear_backward(t, n, a->param[s] + 1, -1, syn__att_keys(t, n),
                       syn__att_k(t, n, SYN__DROWS, s));
}

/* -- scores of a new token -- */

/* score [n] += a [c] times the rows of a table [n,c]: one row of the product in `fill`, with the
   same bits. */
static void syn__table_dots(const syn_tape *t, float *score, const float *a, const float *table,
                          int n, size_t c) {
  const float *rows[16];
  int j, i, count;
  for (j = 0; j < n; j += 16) {
    count = syn__min(16, n - j);
    for (i = 0; i < count; i++) rows[i] = table + (size_t)(j + i) * c;
    t->k->dots(score + j, a, rows, c, (size_t)count);
  }
}

/* Floats of a step's scratch that hold scores: three rows [nk], then one row of round16(nk) for
   each head. Behind them: the scratch of a block of keys. */
static size_t syn__step_scores_end(const syn__att *a, int nk) {
  return 3 * (size_t)nk + (size_t)a->heads * syn__round16((size_t)nk);
}

/* Scores of the 16 keys from position j on, a full and therefore transposed block. The keys of a
   hypothesis may lie in several slots, mostly one or two. For every slot all 16 keys are scored
   into part [heads,16], from where the lanes of the hypothesis's own keys are copied. */
static void syn__v_full_block(const syn_tape *t, const syn_node *n, const syn__attention *o,
                              const float *q, float *score, int j) {
  const syn__decode_state *l = t->decode;
  const int *past = syn__past(t, (int)o->row) + j;
  const syn__att *a = syn__att_of(n);
  size_t c = (size_t)a->c, row = syn__round16((size_t)o->g.nk), heads = (size_t)o->heads;
  float *part = o->pack + syn__step_scores_end(a, o->g.nk);
  unsigned left = 0xFFFF, lanes;
  int i, slot, one_slot;
  while (left) {
    for (i = 0; !(left >> i & 1); i++) continue;
    slot = past[i] / l->length;
    for (lanes = 0; i < 16; i++)
      if (past[i] / l->length == slot) lanes |= 1u << i;
    left &= ~lanes;
    one_slot = lanes == 0xFFFF;
    t->k->scores(one_slot ? score + j : part, one_slot ? row : 16, q,
                 syn__key_block(t, n, slot, j) + (size_t)o->h * c * 16, heads, c);
    for (i = 0; i < 16 * o->heads && !one_slot; i++)
      if (lanes >> i % 16 & 1) score[(size_t)(i / 16) * row + (size_t)(j + i % 16)] = part[i];
  }
}
/* The same for the partial block of the newest tokens, whose keys are row-major: they are
   transposed into scratch [heads c,16]. Keys of several slots are first copied together. */
static void syn__v_partial_block(const syn_tape *t, const syn_node *n, const syn__attention *o,
                                 const float *q, float *score, int j) {
  const syn__decode_state *l = t->decode;
  const int *past = syn__past(t, (int)o->row) + j;
  const syn__att *a = syn__att_of(n);
  size_t wide = (size_t)(o->heads * a->c), e = (size_t)a->e, at = (size_t)(o->h * a->c);
  float *rows = o->pack + syn__step_scores_end(a, o->g.nk), *transposed = rows + 16 * wide;
  const float *keys = syn__key_block(t, n, past[0] / l->length, j) + at;
  int i, count = o->g.nk - j, apart = 0; /* 1: in more than one slot */
  for (i = 1; i < count; i++) apart |= past[i] - past[0] != i;
  for (i = 0; i < count && apart; i++)
    memcpy(rows + (size_t)i * wide,
           syn__key_block(t, n, past[i] / l->length, j) + (size_t)i * e + at, wide * sizeof *rows);
  syn__pack_keys(t, syn_matrix_of(apart ? rows : keys, count, (int)wide, apart ? wide : e),
                 transposed);
  t->k->scores(score + j, syn__round16((size_t)o->g.nk), q, transposed, (size_t)o->heads,
               (size_t)a->c);
}
/* When a new token begins a block, the block before it is full: its keys are transposed in place,
   in all slots of a sentence, also in those without a live hypothesis. Items are rows; of the rows
   of one position the first of a sentence does it. */
static void syn__task_transpose_block(syn_tape *t, const void *job, int thread, size_t begin,
                                      size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__decode_state *l = t->decode;
  size_t e = (size_t)syn__att_of(n)->e;
  float *transposed = syn_scratch(t, thread);
  for (; begin < end; begin++) {
    int i, sentence = l->sentence[begin], place = t->at[SYN_TGT][begin];
    if (!place || place % 16) continue;
    if (begin % (size_t)l->live && l->sentence[begin - 1] == sentence) continue;
    for (i = 0; i < l->slots; i++) {
      float *keys = syn__key_block(t, n, sentence * l->slots + i, place - 16);
      syn__pack_keys(t, syn_matrix_of(keys, 16, (int)e, 0), transposed);
      memcpy(keys, transposed, 16 * e * sizeof *keys);
    }
  }
}
static void syn__transpose_full_block(syn_tape *t, const syn_node *n) {
  int rows = t->decode->rows, first = t->at[SYN_TGT][0], last = t->at[SYN_TGT][rows - 1];
  if (last / 16 > (first - 1) / 16)
    syn_parallel(t, syn__task_transpose_block, n, (size_t)rows, (size_t)t->decode->slots);
}
/* The scores of all heads of a new token, block of keys by block; the bits of `fill`. */
static void syn__v_step(const syn_tape *t, const syn_node *n, const syn__attention *o,
                        float *score) {
  const syn__att *a = syn__att_of(n);
  size_t c = (size_t)a->c;
  const float *q = syn__score_rows(t, n, SYN__ROWS, a->keyed) + o->row * (size_t)a->e + o->h * a->c;
  int j, newest = t->at[SYN_TGT][t->decode->rows - 1]; /* blocks before its own are full */
  for (j = 0; j < o->g.nk; j += 16)
    if (a->cross)
      t->k->scores(score + j, syn__round16((size_t)o->g.nk), q,
                   syn__source_key_block(t, n, o->sentence, j) + (size_t)o->h * c * 16,
                   (size_t)o->heads, c);
    else if (j + 16 <= newest) syn__v_full_block(t, n, o, q, score, j);
    else syn__v_partial_block(t, n, o, q, score, j);
}
static double syn__v_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  return (double)length * a->e;
}
static const syn__score syn__score_v = {"V", SYN__HAS_KEYS, syn__v_shape, syn__v_prepare,
                                        syn__v_fill, syn__v_back, NULL, syn__v_finish,
                                        syn__v_cost};

#endif /* !SYN_SMALL */

/* score_v flags, q, k cache, factors, heads, c: S_hj = factor_h q_h . k_hj */
static long syn__small_score_v(syn_small *s, const int32_t *a) {
  int32_t heads = a[4], c = a[5], keys = syn__small_keys(s, a[0]), h, j;
  int32_t stride = syn__small_round4(c), bytes = syn__small_cache_bytes(heads, c);
  const float *q = syn__small_row(s, a[1], heads * c), *factors = syn__small_floats(s, a[3]);
  const unsigned char *lineage = syn__small_lineage(s, a[0]);
  const unsigned char *cache = (const unsigned char *)syn__small_at(s, a[2], 0, bytes);
  float *score = s->scores;
  for (h = 0; h < heads; h++, q += c, score += keys) {
    float factor;
    syn__small_input(s, q, c, stride);
    factor = s->q_scale * factors[h];
    for (j = 0; j < keys; j++) {
      const void *key = cache + syn__small_key(s, lineage, j) * bytes;
      const float *scales = (const float *)key;
      const int8_t *k = (const int8_t *)(scales + heads) + h * stride;
      float x = (float)syn__small_dot(s->q, k, stride) * (factor * scales[h]);
      score[j] = a[0] & SYN__SMALL_ADD ? score[j] + x : x;
    }
  }
  return (long)keys * heads * c;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind syn_att: R, Fix, FR   S_ij = F_ij, a table that no input changes
   ============================================================================================== */

/*
   Random Synthesizer (Tay et al. 2021, section 3.2; FR: section 3.3). S_h [n,n] is the first n rows
   and columns of F_h [N,N]; with tile both indices are taken modulo the tile.
     R    F = r [H,N,N], learned
     Fix  F = fix [H,N,N], drawn once from the seed, never trained, saved with the model
     FR   F_ij = r1_i . r2_j, r1 and r2 [H,N,k], learned
   saved for backward: FR the table F [H,N,N] and its gradient. All sentences add into the gradient
   of one table, so back_shared makes it. A step needs no keys, only the cached values. */

/* Uniform within sqrt(3/N) has variance 1/N: the softmax of such small scores is almost uniform. */
static syn_status syn__r_shape(syn_build *b, syn_node *n, int s) {
  int N = syn__att_of(n)->size;
  SYN__UNUSED(s);
  return syn__head_param(b, n, "r", syn_initial_of(SYN_INIT_UNIFORM, sqrt(3.0 / N)), N, N);
}
static syn_status syn__fix_shape(syn_build *b, syn_node *n, int s) {
  int N = syn__att_of(n)->size;
  SYN__UNUSED(s);
  return syn__head_param(b, n, "fix", syn_initial_of(SYN_INIT_FIXED, 1.0), N, N);
}

/* The table F_h [size,size] of head h, or its gradient: of R and Fix their parameter, of FR, which
   alone has `prepare`, a saved buffer. */
static float *syn__r_table(const syn_tape *t, const syn_node *n, int s, int gradient, int h) {
  const syn__att *a = syn__att_of(n);
  size_t at = (size_t)h * (size_t)a->size * (size_t)a->size;
  if (a->score[s]->prepare)
    return gradient ? syn_saved(t, n, SYN__DTABLE) + at
                    : syn_saved(t, n, SYN__TABLE) + a->table[s] + at;
  return gradient ? syn__att_dweight(t, n, s, 0) + at : (float *)syn__att_weight(t, n, s, 0) + at;
}
/* The queries' rows of the head's table. */
static void syn__r_fill(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                        float *score) {
  const syn__att *a = syn__att_of(n);
  const float *table = syn__r_table(t, n, s, 0, o->h);
  int i;
  for (i = 0; i < o->g.nq; i++, score += o->g.nk)
    memcpy(score, table + (size_t)((o->g.first + i) % a->size) * (size_t)a->size,
           (size_t)syn__att_columns(a, o->g.nk) * sizeof *score);
}
/* dF_ij += dS_ij; the layer has added tiled columns of ds to the first `size` columns */
static void syn__r_back(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                        const float *ds) {
  const syn__att *a = syn__att_of(n);
  float *dtable = syn__r_table(t, n, s, 1, o->h);
  int i;
  for (i = 0; i < o->g.nq; i++, ds += o->g.nk)
    t->k->acc(dtable + (size_t)(i % a->size) * (size_t)a->size, ds,
              (size_t)syn__att_columns(a, o->g.nk));
}
static const syn__score syn__score_r = {"R", SYN__IS_TABLE, syn__r_shape, NULL, syn__r_fill, NULL,
                                        syn__r_back, NULL, NULL};
static const syn__score syn__score_fix = {"Fix", SYN__IS_TABLE, syn__fix_shape, NULL, syn__r_fill,
                                          NULL, NULL, NULL, NULL};

/* With r1, r2 uniform within sqrt(3) (k N)^(-1/4), a product of k terms has variance 1/N. */
static syn_status syn__fr_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  syn_initial init = syn_initial_of(SYN_INIT_UNIFORM, sqrt(3.0 / sqrt((double)a->k * a->size)));
  syn__att_table(a, s, (size_t)a->heads, syn__mul_size((size_t)a->size, (size_t)a->size));
  a->dtables = a->tables - a->table[s];
  if (syn__head_param(b, n, "r1", init, a->size, a->k)) return SYN_E_SHAPE;
  return syn__head_param(b, n, "r2", init, a->size, a->k);
}

/* L rows of head h of r1 or r2 [H,N,k], or of their gradients: F_h = r1_h r2_h^T */
static syn_matrix syn__fr_factor(const syn__att *a, const float *r, int h, int L) {
  return syn_matrix_of(r + (size_t)h * (size_t)a->size * (size_t)a->k, L, a->k, 0);
}
/* F_h [L,L] once per batch; L is the longest sentence, the rows of F lie N apart. */
static void syn__fr_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const float *r1 = syn__att_weight(t, n, s, 0), *r2 = syn__att_weight(t, n, s, 1);
  int h, L = syn__att_longest(t, n);
  for (h = 0; h < a->heads && !t->decode; h++)
    syn_gemm(t, syn_matrix_of(syn__r_table(t, n, s, 0, h), L, L, (size_t)a->size),
             syn__fr_factor(a, r1, h, L), syn_transposed(syn__fr_factor(a, r2, h, L)), NULL, 0);
}
/* As R; a step computes one row of F, with the bits of fr_prepare. */
static void syn__fr_fill(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                         float *score) {
  const syn__att *a = syn__att_of(n);
  int columns = syn__att_columns(a, o->g.nk);
  if (t->decode) {
    syn_matrix r1 = syn__fr_factor(a, syn__att_weight(t, n, s, 0), o->h, a->size);
    syn_matrix r2 = syn__fr_factor(a, syn__att_weight(t, n, s, 1), o->h, a->size);
    r1.x += (size_t)(o->g.first % a->size) * r1.row;
    memset(score, 0, (size_t)columns * sizeof *score);
    syn__table_dots(t, score, r1.x, r2.x, columns, r2.row);
  } else {
    syn__r_fill(t, n, s, o, score);
  }
}
/* dr1 += dF r2, dr2 += dF^T r1 */
static void syn__fr_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const float *r1 = syn__att_weight(t, n, s, 0), *r2 = syn__att_weight(t, n, s, 1);
  float *dr1 = syn__att_dweight(t, n, s, 0), *dr2 = syn__att_dweight(t, n, s, 1);
  int h, L = syn__att_longest(t, n);
  for (h = 0; h < a->heads; h++) {
    syn_matrix df = syn_matrix_of(syn__r_table(t, n, s, 1, h), L, L, (size_t)a->size);
    syn_gemm(t, syn__fr_factor(a, dr1, h, L), df, syn__fr_factor(a, r2, h, L), NULL, 1);
    syn_gemm(t, syn__fr_factor(a, dr2, h, L), syn_transposed(df), syn__fr_factor(a, r1, h, L),
             NULL, 1);
  }
}
static double syn__fr_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  return (double)syn__min(length, a->size) * a->heads * a->k;
}
static const syn__score syn__score_fr = {
    "FR", SYN__IS_TABLE, syn__fr_shape, syn__fr_prepare, syn__fr_fill, NULL, syn__r_back,
    syn__fr_finish, syn__fr_cost};

#endif /* !SYN_SMALL */

/* score_table flags, table, heads, size, scales: S_hj = scale_hi table_hij, i this row; rows and
   columns repeat after `size` of them */
static long syn__small_score_table(syn_small *s, const int32_t *a) {
  int32_t heads = a[2], size = a[3], keys = syn__small_keys(s, a[0]), h, j;
  float *score = s->scores;
  for (h = 0; h < heads; h++, score += keys) {
    int32_t at = h * size + s->row % size;
    const int8_t *row = syn__small_bytes(s, a[1]) + at * size;
    float scale = syn__small_floats(s, a[4])[at];
    for (j = 0; j < keys; j++) {
      float x = scale * (float)row[j % size];
      score[j] = a[0] & SYN__SMALL_ADD ? score[j] + x : x;
    }
  }
  return (long)keys * heads;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind syn_att: D, its variants   a row of N scores from one token, or from a window of tokens
   ============================================================================================== */

/*
   D is the Dense Synthesizer (Tay et al. 2021, section 3.1); Conv, CRC, BD, BCRC, GLU vary its two
   layers. Hidden layer: u = relu(x W1^T + b1), or u = x. Output layer of head h, on the head's
   columns of u: A_ij = W2_h[j] . u_i + b2_h[j] [n,N]. S = A; GLU: S = A sigma(B), B from a second
   W2, b2. Of the N columns only those of the sentence are computed.

     D      linear, linear            W1 [e,d]      W2 [H,N,c]       u [rows,e]
     BD     linear, linear            W1 [H m,d]    W2 [H,N,m]       u [rows,H m]
     CRC    convolution, convolution  W1 [e,f,d]    W2 [H,N,f2,c]    u [rows,e]
     BCRC   convolution, convolution  W1 [H m,f,d]  W2 [H,N,f,m]     u [rows,H m]
     Conv   convolution               -             W [H,N,f,c]      x
     GLU    glu of two linears        -             Wa, Wb [H,N,c]   x

   Forward, then backward; z is a row of u, or the im2col row around it:
     hidden_forward       im2col of x; u = relu(col W1^T + b1)            all rows
     dense_prepare        im2col of u, head by head; packs W2             all rows
     dense_fill           A = z W2^T + b2; glu                            a head of a sentence
     dense_back           dz = dA W2                                      a head of a sentence
     dense_back_shared    dW2 += dA^T z, db2 += column sums of dA         a head
     dense_finish         col2im of dz into du                            all rows
     hidden_back          gradients through relu into W1, b1, x           all rows

   A convolution reads 0 outside the sentence (its second one too: 0, not relu(b1)). shared=1, for D
   (as in the authors' code): one W2 [N,c] for all heads and no biases; beside V, u = relu(q of V)
   and there is no W1.
   rows buffers, saved for backward: u; then the im2col rows of x [rows,f,d], which those of u, head
   by head [H,rows,f2,width of a head], overwrite. SYN__DROWS likewise. SYN__UNMIXED: A, B of GLU,
   then their gradients. Tables: W2 in panels of 16 columns, packed once per batch; a step has few
   rows and reads W2 unpacked. KV cache: x for the first convolution, once for all scores; u for the
   second. */

typedef struct syn__family {
  const char *name, *w1, *b1, *w2, *b2, *w_gate, *b_gate; /* null: no such layer or side */
  int narrow;        /* 1: m hidden units per head, else c */
  int first, second; /* 0: a linear; 1: a convolution of f taps; 2: of f2 taps */
} syn__family;

static const syn__family syn__families[] = {
    {"D", "d_w1", "d_b1", "d_w2", "d_b2", NULL, NULL, 0, 0, 0},
    {"BD", "bd_w1", "bd_b1", "bd_w2", "bd_b2", NULL, NULL, 1, 0, 0},
    {"CRC", "crc_w1", "crc_b1", "crc_w2", "crc_b2", NULL, NULL, 0, 1, 2},
    {"BCRC", "bcrc_w1", "bcrc_b1", "bcrc_w2", "bcrc_b2", NULL, NULL, 1, 1, 1},
    {"Conv", NULL, NULL, "c_w", "c_b", NULL, NULL, 0, 0, 1},
    {"GLU", NULL, NULL, "g_wa", "g_ba", "g_wb", "g_bb", 0, 0, 0}};

static const syn__stages *syn__stages_of(const syn_node *n, int s) {
  return &syn__att_of(n)->stages[s];
}

/* -- shapes -- */

/* Glorot for a convolution: both fans times its taps. */
static syn_initial syn__glorot_taps(int taps, int inputs, int outputs) {
  double fans = ((double)inputs + (double)outputs) * syn__max(1, taps);
  return syn_initial_of(SYN_INIT_UNIFORM, sqrt(6.0 / fans));
}

/* The taps of a layer; `which` as in syn__family. */
static syn_status syn__stage_taps(syn_build *b, const char *name, int which, int width,
                                    syn_conv *w) {
  int f = syn_arg_int(b, "f", 3, 1, 65536), f2 = syn_arg_int(b, "f2", f, 1, 65536);
  int taps = which == 2 ? f2 : f;
  if (!which) return SYN_OK;
  *w = syn_conv_of(b, taps, 1);
  if (!b->decoder && taps % 2 == 0)
    return syn__fail_build(b, SYN_E_SHAPE, "%s: %s is %d, wanted an odd number in an encoder", name,
                           which == 2 ? "f2" : "f", taps);
  if ((double)taps * width > SYN__MAX_ROW)
    return syn__fail_build(b, SYN_E_SHAPE, "%s: %d inputs of width %d, wanted %d numbers at most",
                           name, taps, width, SYN__MAX_ROW);
  return SYN_OK;
}

/* Reserves u; adds W1 and b1 under these names, null: none. The caller has set `units`, `first`. */
static syn_status syn__hidden_shape(syn_build *b, syn_node *n, int s, const char *w,
                                    const char *bias) {
  syn__att *a = (syn__att *)n->own;
  syn__stages *st = &a->stages[s];
  int shape[3], taps = st->first.taps;
  a->at[s] = a->row_floats;
  a->row_floats += st->units;
  st->hidden = 1;
  st->w1 = w ? n->n_param : -1;
  st->b1 = bias ? n->n_param + 1 : -1;
  shape[0] = st->units;
  shape[1] = taps ? taps : a->d;
  shape[2] = a->d;
  if (w && syn_build_param(b, n, w, syn__glorot_taps(taps, a->d, st->units), taps ? 3 : 2, shape))
    return SYN_E_SHAPE;
  if (w) b->g->params[n->param[st->w1]].matrix = 1; /* also for a convolution */
  return bias ? syn__bias_param(b, n, bias, st->units) : SYN_OK;
}

/* One linear of the output layer: W [H,columns,taps,head units] and bias [H,columns]; without a
   bias, which is shared=1, W [columns,head units]. */
static syn_status syn__output_params(syn_build *b, syn_node *n, int s, int columns, const char *w,
                                     const char *bias) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  int shape[4], taps = st->second.taps;
  syn_initial init = syn__glorot_taps(taps, st->head_units, columns);
  shape[0] = a->heads;
  shape[1] = columns;
  shape[2] = taps ? taps : st->head_units;
  shape[3] = st->head_units;
  if (syn_build_param(b, n, w, init, bias ? (taps ? 4 : 3) : 2, bias ? shape : shape + 1))
    return SYN_E_SHAPE;
  b->g->params[n->param[n->n_param - 1]].matrix = 0; /* syn__table_dots reads it as it is */
  return bias ? syn__att_table_zero(b, n, bias, columns) : SYN_OK;
}

/* 1: the argument shared=1 applies to score s. */
static int syn__shares_output(const syn__att *a, int s) {
  return a->shared && (a->score[s]->flags & SYN__SHARES_OUTPUT);
}

/* Widths and taps of both layers, from the arguments m, f, f2. */
static syn_status syn__stages_shape(syn_build *b, syn_node *n, int s, const syn__family *f) {
  syn__att *a = (syn__att *)n->own;
  syn__stages *st = &a->stages[s];
  int m = syn_arg_int(b, "m", 16, 1, 65536);
  if (f->narrow && m > SYN__MAX_WIDTH / a->heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%s: %d heads of m = %d, wanted %d in all at most",
                           f->name, a->heads, m, SYN__MAX_WIDTH);
  if (!f->w1 && a->e != a->d)
    return syn__fail_build(b, SYN_E_SHAPE, "%s reads slices of the input: %d heads of c = %d, "
                           "wanted width %d in all", f->name, a->heads, a->c, a->d);
  st->head_units = f->narrow ? m : a->c;
  st->units = a->heads * st->head_units;
  st->gated = f->w_gate != NULL;
  st->matrices = syn__shares_output(a, s) ? 1 : a->heads;
  if (syn__stage_taps(b, f->name, f->first, a->d, &st->first) ||
      syn__stage_taps(b, f->name, f->second, st->units, &st->second))
    return SYN_E_SHAPE;
  st->inputs = syn__max(1, st->second.taps) * st->head_units;
  return SYN_OK;
}

/* Offsets: im2col rows (of x, then of u in their place), x and u in the KV cache, the two sides of
   GLU, packed W2. */
static void syn__stages_offsets(syn__att *a, int s) {
  syn__stages *st = &a->stages[s];
  int x = st->first.taps > 1 ? st->first.taps * a->d : 0;
  int u = st->second.taps > 1 ? st->second.taps * st->units : 0;
  st->col = a->row_floats;
  a->row_floats += syn__max(x, u);
  st->cache_u = -1;
  if (a->cache_x < 0 && (x || (u && !st->hidden))) {
    a->cache_x = a->cache;
    a->cache += a->d;
  }
  if (u && st->hidden) {
    st->cache_u = a->cache;
    a->cache += st->units;
  }
  st->sides = a->n_kept;
  a->n_kept += 2 * st->gated;
  syn__att_table(a, s, (size_t)(st->matrices * (1 + st->gated)),
                 syn__mul_size((size_t)st->inputs, syn__round16((size_t)a->size)));
}

/* Parameters in the order w1, b1, w2, b2, w2 and b2 of the gate: those stand 2 behind. */
static syn_status syn__dense_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  syn__stages *st = &a->stages[s];
  const syn__family *f = syn__families;
  int shared = syn__shares_output(a, s);
  while (strcmp(f->name, a->score[s]->name)) f++;
  if (syn__stages_shape(b, n, s, f)) return SYN_E_SHAPE;
  if (f->w1 && syn__hidden_shape(b, n, s, shared && a->keyed >= 0 ? NULL : f->w1,
                                 shared ? NULL : f->b1))
    return SYN_E_SHAPE;
  syn__stages_offsets(a, s);
  st->w2 = n->n_param;
  st->b2 = shared ? -1 : st->w2 + 1;
  if (syn__output_params(b, n, s, a->size, f->w2, shared ? NULL : f->b2)) return SYN_E_SHAPE;
  return f->w_gate ? syn__output_params(b, n, s, a->size, f->w_gate, f->b_gate) : SYN_OK;
}

/* -- hidden layer -- */

/* im2col of the rows x; in a step, of the rows in the KV cache at offset `past` */
static void syn__stage_im2col(syn_tape *t, const syn_node *n, const syn_conv *w, int past,
                              syn_matrix x, float *col) {
  if (t->decode) syn__conv_cached(t, n, w, (size_t)past, (size_t)x.cols, col);
  else syn_im2col(t, n, w, x, col);
}

/* The input of W1: x, or im2col of x. Backward computes it again, since im2col of u has overwritten
   it. */
static syn_tensor syn__hidden_input(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  syn_tensor x = *syn_in(t, n, 0);
  float *col = syn__att_block(t, n, SYN__ROWS, st->col);
  if (st->first.taps < 2) return x;
  syn__stage_im2col(t, n, &st->first, a->cache_x,
                    syn_matrix_of(x.x, (int)syn_rows(&x), a->d, 0), col);
  x.x = col;
  return x;
}

/* u = relu(x W1^T + b1), or relu(q of V); V holds q scaled: relu(q) = relu(scaled q) / scale */
static void syn__hidden_forward(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  float *u = syn__score_rows(t, n, SYN__ROWS, s);
  size_t count = syn_rows(syn_in(t, n, 0)) * (size_t)st->units;
  if (st->w1 < 0) {
    t->k->act(SYN__RELU, u, syn__score_rows(t, n, SYN__ROWS, a->keyed), count);
    t->k->scale(u, 1.0f / a->scale, u, count);
  } else {
    syn_tensor x = syn__hidden_input(t, n, s);
    syn__linear_forward(t, n, st->w1, st->b1, &x, u);
    t->k->act(SYN__RELU, u, u, count);
  }
}

/* In place du = 0 where u <= 0 or NaN; then the gradients of the linear, col2im into dx. Where u =
   relu(q), du is added to the dq of V, which finishes later: the division undoes V's scale. */
static void syn__hidden_back(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  const float *u = syn__score_rows(t, n, SYN__ROWS, s);
  float *du = syn__score_rows(t, n, SYN__DROWS, s), *dx = syn_in(t, n, 0)->dx;
  size_t i, rows = syn_rows(syn_in(t, n, 0)), count = rows * (size_t)st->units;
  syn_tensor x;
  if (st->w1 < 0) {
    float *dq = syn__score_rows(t, n, SYN__DROWS, a->keyed);
    for (i = 0; i < count; i++)
      if (u[i] > 0.0f) dq[i] += du[i] / a->scale;
    return;
  }
  for (i = 0; i < count; i++)
    if (!(u[i] > 0.0f)) du[i] = 0.0f;
  x = syn__hidden_input(t, n, s);
  if (st->first.taps > 1) {
    x.dx = syn__att_block(t, n, SYN__DROWS, st->col);
    memset(x.dx, 0, rows * (size_t)(st->first.taps * a->d) * sizeof *x.dx);
  }
  syn__linear_backward(t, n, st->w1, st->b1, &x, du);
  if (st->first.taps > 1)
    syn_col2im(t, n, &st->first, x.dx, syn_matrix_of(dx, (int)rows, a->d, 0));
}

/* -- output layer -- */

/* u [rows,units], or x where there is no hidden layer; or the gradient of either. */
static float *syn__stages_u(const syn_tape *t, const syn_node *n, int buffer, int s) {
  const syn_tensor *x = syn_in(t, n, 0);
  if (syn__stages_of(n, s)->hidden) return syn__score_rows(t, n, buffer, s);
  return buffer == SYN__ROWS ? x->x : x->dx;
}
/* The im2col rows [rows,inputs] of head h, one head behind the other. */
static float *syn__dense_col(const syn_tape *t, const syn_node *n, int buffer, int s, int h) {
  const syn__stages *st = syn__stages_of(n, s);
  return syn__att_block(t, n, buffer, st->col) +
         (size_t)h * syn__att_rows(t, n) * (size_t)st->inputs;
}
/* z [nq,inputs] of the head's queries, or dz: columns of u or x, or im2col rows of these. */
static syn_matrix syn__dense_z(const syn_tape *t, const syn_node *n, int buffer, int s,
                               const syn__attention *o) {
  const syn__stages *st = syn__stages_of(n, s);
  int col = st->second.taps > 1;
  size_t row = (size_t)(col ? st->inputs : st->units);
  const float *z = col ? syn__dense_col(t, n, buffer, s, o->h)
                       : syn__stages_u(t, n, buffer, s) + o->h * st->head_units;
  return syn_matrix_of(z + o->row * row, o->g.nq, st->inputs, row);
}

/* Offset of W2_h [N,inputs] in its parameter. side 1 below: the gate of GLU. */
static size_t syn__dense_w2_at(const syn_node *n, int s, int h) {
  const syn__stages *st = syn__stages_of(n, s);
  return (size_t)(h % st->matrices) * (size_t)syn__att_of(n)->size * (size_t)st->inputs;
}
static const float *syn__dense_w2(const syn_tape *t, const syn_node *n, int s, int side, int h) {
  return syn_weight(t, n, syn__stages_of(n, s)->w2 + 2 * side) + syn__dense_w2_at(n, s, h);
}
/* b2 of head h [N]; null: none */
static const float *syn__dense_b2(const syn_tape *t, const syn_node *n, int s, int side, int h) {
  const syn__stages *st = syn__stages_of(n, s);
  if (st->b2 < 0) return NULL;
  return syn_weight(t, n, st->b2 + 2 * side) + (size_t)h * (size_t)syn__att_of(n)->size;
}
/* W2_h in panels [ceil(N/16)][inputs][16] */
static float *syn__dense_panels(const syn_tape *t, const syn_node *n, int s, int side, int h) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  size_t matrix = (size_t)(side * st->matrices + h % st->matrices);
  return syn_saved(t, n, SYN__TABLE) + a->table[s] +
         matrix * (size_t)st->inputs * syn__round16((size_t)a->size);
}

/* im2col of u for every head. */
static void syn__dense_gather(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  const float *u = syn__stages_u(t, n, SYN__ROWS, s);
  int rows = (int)syn_rows(syn_in(t, n, 0));
  int h, past = st->hidden ? st->cache_u : a->cache_x;
  for (h = 0; h < a->heads && st->second.taps > 1; h++)
    syn__stage_im2col(t, n, &st->second, past + h * st->head_units,
                      syn_matrix_of(u + h * st->head_units, rows, st->head_units,
                                    (size_t)st->units),
                      syn__dense_col(t, n, SYN__ROWS, s, h));
}
static void syn__dense_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  int h, side;
  if (st->hidden) syn__hidden_forward(t, n, s);
  if (t->decode && st->cache_u >= 0)
    syn__conv_cache_write(t, n, (size_t)st->cache_u, (size_t)st->units,
                          syn__stages_u(t, n, SYN__ROWS, s));
  syn__dense_gather(t, n, s);
  for (side = 0; side <= st->gated && !t->decode; side++)
    for (h = 0; h < st->matrices; h++)
      syn__pack_keys(t, syn_matrix_of(syn__dense_w2(t, n, s, side, h), syn__att_longest(t, n),
                                      st->inputs, 0),
                     syn__dense_panels(t, n, s, side, h));
}

/* A or B of GLU, which are kept for backward; in a step A becomes S in place, B is a row of scratch
   behind the two of the layer. Without a gate `score`, or its gradient. */
static syn_matrix syn__dense_side(const syn_tape *t, const syn_node *n, int s, int side,
                                  const syn__attention *o, const float *score) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  if (t->decode && side) score = o->pack + 2 * o->g.nk;
  else if (st->gated && !t->decode) score = syn__head_kept(t, n, o, st->sides + side);
  return syn_matrix_of(score, o->g.nq, syn__att_columns(a, o->g.nk), (size_t)o->g.nk);
}
/* score [nq,columns] = z W2^T + b2, for GLU A sigma(B) of two such products. In a step W2 is not
   packed; the bits are the same. */
static void syn__dense_fill(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                            float *score) {
  const syn__stages *st = syn__stages_of(n, s);
  syn_matrix z = syn__dense_z(t, n, SYN__ROWS, s, o), ab[2];
  int i, side;
  for (side = 0; side <= st->gated; side++) {
    const float *b2 = syn__dense_b2(t, n, s, side, o->h);
    syn_matrix to = ab[side] = syn__dense_side(t, n, s, side, o, score), w2;
    syn__causal_range g = o->g;
    g.nk = to.cols;
    if (t->decode) {
      memset(to.x, 0, (size_t)to.cols * sizeof *to.x);
      if (b2) memcpy(to.x, b2, (size_t)to.cols * sizeof *to.x);
      syn__table_dots(t, to.x, z.x, syn__dense_w2(t, n, s, side, o->h), to.cols,
                      (size_t)st->inputs);
    } else {
      w2 = syn__packed(syn__dense_panels(t, n, s, side, o->h), st->inputs, to.cols);
      syn__causal_matmul_nt(t, &g, syn__product_of(to, z, w2, b2, 0));
    }
  }
  for (i = 0; st->gated && i < o->g.nq; i++) {
    size_t row = (size_t)i * (size_t)o->g.nk;
    t->k->glu(score + row, ab[0].x + row, ab[1].x + row, (size_t)ab[0].cols);
  }
}

/* dA = dS sigma(B), dB = dS A sigma'(B), in place of A and B. The kernel adds: each row is first
   copied to scratch, then cleared. */
static void syn__dense_glu_back(const syn_tape *t, const syn_node *n, int s,
                                const syn__attention *o, const float *ds) {
  syn_matrix A = syn__dense_side(t, n, s, 0, o, ds), B = syn__dense_side(t, n, s, 1, o, ds);
  float *rows = o->z + (size_t)o->g.nq * (size_t)o->g.nk;
  size_t nk = A.row, columns = (size_t)A.cols;
  int i;
  for (i = 0; i < o->g.nq; i++, A.x += nk, B.x += nk, ds += nk) {
    memcpy(rows, A.x, columns * sizeof *rows);
    memcpy(rows + nk, B.x, columns * sizeof *rows);
    memset(A.x, 0, columns * sizeof *rows);
    memset(B.x, 0, columns * sizeof *rows);
    t->k->glu_back(A.x, B.x, rows, rows + nk, ds, columns);
  }
}

/* dz = dA W2, for GLU plus dB times the gate's W2. Only this head's columns or im2col rows are
   written. Where z is x itself, dz is added to dx, to which other layers add, too. */
static void syn__dense_back(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                            const float *ds) {
  const syn__stages *st = syn__stages_of(n, s);
  syn_matrix dz = syn__dense_z(t, n, SYN__DROWS, s, o);
  int side, into_x = !st->hidden && st->second.taps < 2;
  if (st->gated) syn__dense_glu_back(t, n, s, o, ds);
  for (side = 0; side <= st->gated; side++) {
    syn_matrix da = syn__dense_side(t, n, s, side, o, ds);
    syn_matrix w2 = syn_matrix_of(syn__dense_w2(t, n, s, side, o->h), da.cols, st->inputs, 0);
    syn__causal_range g = o->g;
    g.nk = da.cols;
    syn__causal_matmul_nn(t, &g, syn__product_of(dz, da, w2, NULL, into_x || side));
  }
}
/* dW2 += dA^T z, db2 += column sums of dA */
static void syn__dense_back_shared(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                                   const float *ds) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  syn_matrix z = syn__dense_z(t, n, SYN__ROWS, s, o);
  int side;
  for (side = 0; side <= st->gated; side++) {
    syn_matrix da = syn__dense_side(t, n, s, side, o, ds);
    float *dw2 = syn_dweight(t, n, st->w2 + 2 * side) + syn__dense_w2_at(n, s, o->h);
    syn__causal_range g = o->g;
    g.nk = da.cols;
    syn__causal_matmul_tn(t, &g,
                          syn__product_of(syn_matrix_of(dw2, da.cols, st->inputs, 0),
                                          syn_transposed(da), z, NULL, 1));
    if (st->b2 >= 0) {
      float *db2 = syn_dweight(t, n, st->b2 + 2 * side) + (size_t)o->h * (size_t)a->size;
      syn__product sum = syn__sum_of_rows(db2, da);
      t->k->gemm(&sum, 0, 1, 0, (da.cols + 15) / 16);
    }
  }
}

/* du = col2im of dz, then the hidden layer. */
static void syn__dense_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  float *du = syn__stages_u(t, n, SYN__DROWS, s);
  int rows = (int)syn_rows(syn_in(t, n, 0));
  int h, heads = st->second.taps > 1 ? a->heads : 0;
  if (heads && st->hidden)
    memset(du, 0, (size_t)rows * (size_t)st->units * sizeof *du);
  for (h = 0; h < heads; h++)
    syn_col2im(t, n, &st->second, syn__dense_col(t, n, SYN__DROWS, s, h),
               syn_matrix_of(du + h * st->head_units, rows, st->head_units, (size_t)st->units));
  if (st->hidden) syn__hidden_back(t, n, s);
}

static double syn__dense_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  return (double)syn__min(length, a->size) * a->heads * st->inputs * (1 + st->gated);
}

#define SYN__FAMILY(name, flags) \
  {name, flags, syn__dense_shape, syn__dense_prepare, syn__dense_fill, syn__dense_back, \
   syn__dense_back_shared, syn__dense_finish, syn__dense_cost}
static const syn__score syn__score_d = SYN__FAMILY("D", SYN__SHARES_OUTPUT);
static const syn__score syn__score_conv = SYN__FAMILY("Conv", 0);
static const syn__score syn__score_crc = SYN__FAMILY("CRC", 0);
static const syn__score syn__score_bd = SYN__FAMILY("BD", 0);
static const syn__score syn__score_bcrc = SYN__FAMILY("BCRC", 0);
static const syn__score syn__score_glu = SYN__FAMILY("GLU", 0);

#endif /* !SYN_SMALL */

/* score_row flags, rows, heads, size, factors: S_hj = factor_h rows_hj */
static long syn__small_score_row(syn_small *s, const int32_t *a) {
  int32_t heads = a[2], size = a[3], keys = syn__small_keys(s, a[0]), h, j;
  const float *row = syn__small_row(s, a[1], heads * size), *factors = syn__small_floats(s, a[4]);
  float *score = s->scores;
  for (h = 0; h < heads; h++, row += size, score += keys)
    for (j = 0; j < keys; j++) {
      float x = factors[h] * row[j % size];
      score[j] = a[0] & SYN__SMALL_ADD ? score[j] + x : x;
    }
  return (long)keys * heads;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind syn_att: FD   S_ij = A_i[j div b] B_i[j mod b]
   ============================================================================================== */

/*
   Factorized Dense Synthesizer (Tay et al. 2021, section 3.3). Each query gives a + b numbers
   instead of N, a b >= N: A = u_h WA_h^T + ba_h [n,a], B = u_h WB_h^T + bb_h [n,b], u_h the head's
   columns of u = relu(x W1^T + b1) [rows,e]; W1 [e,d], b1 [e], WA [H,a,c], ba [H,a], WB [H,b,c],
   bb [H,b]. A row of S is a copies of B, copy g multiplied by A[g].
   rows buffers, saved for backward: u [rows,e], A [rows,H,a], B [rows,H,b]. */

/* a and b as given; a = ceil(sqrt(N)) gives the smallest a + b. */
static syn_status syn__fd_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  int root = 1;
  size_t pack;
  while (root * root < a->size) root++;
  a->a = syn_arg_int(b, "a", root, 1, 1 << 16);
  a->b = syn_arg_int(b, "b", (a->size + a->a - 1) / a->a, 1, 1 << 16);
  if ((double)a->a * a->b < a->size)
    return syn__fail_build(b, SYN_E_SHAPE, "FD: a*b is %d*%d = %.0f, wanted at least %d", a->a,
                           a->b, (double)a->a * a->b, a->size);
  if ((double)a->heads * ((double)a->a + a->b) > SYN__MAX_WIDTH)
    return syn__fail_build(b, SYN_E_SHAPE, "FD: %d heads of a+b = %d+%d, wanted at most %d in all",
                           a->heads, a->a, a->b, SYN__MAX_WIDTH);
  a->stages[s].units = a->e;
  a->stages[s].head_units = a->c;
  if (syn__hidden_shape(b, n, s, "fd_w1", "fd_b1")) return SYN_E_SHAPE;
  a->row_floats += a->heads * (a->a + a->b);
  pack = syn__block_floats(a->c, syn__max(a->a, a->b)); /* of syn__fd_prepare */
  if (b->g->pack < pack) b->g->pack = pack;
  if (syn__output_params(b, n, s, a->a, "fd_wa", "fd_ba")) return SYN_E_SHAPE;
  return syn__output_params(b, n, s, a->b, "fd_wb", "fd_bb");
}

/* Side 0 is A, side 1 is B. Numbers of a query: a or b. */
static int syn__fd_size(const syn__att *a, int side) { return side ? a->b : a->a; }
/* A [rows H,a] or B [rows H,b] from row `row` on; row = token * H + head. */
static float *syn__fd_rows(const syn_tape *t, const syn_node *n, int buffer, int s, int side,
                           size_t row) {
  const syn__att *a = syn__att_of(n);
  return syn__att_block(t, n, buffer, a->at[s] + a->e + (side ? a->heads * a->a : 0)) +
         row * (size_t)syn__fd_size(a, side);
}
/* WA_h [a,c] or WB_h [b,c] within the parameter, or its gradient. */
static syn_matrix syn__fd_matrix(const syn__att *a, const float *w, int side, int h) {
  int size = syn__fd_size(a, side);
  return syn_matrix_of(w + (size_t)h * (size_t)size * (size_t)a->c, size, a->c, 0);
}

/* A_h [rows,a] = u_h WA_h^T + ba_h for every head, as columns of [rows,H a]; the same for B.
   Parameters of the score: 0 W1, 1 b1, 2 WA, 3 ba, 4 WB, 5 bb. */
static void syn__fd_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const float *u = syn__score_rows(t, n, SYN__ROWS, s);
  int side, h, rows = (int)syn_rows(syn_in(t, n, 0));
  syn__hidden_forward(t, n, s);
  for (side = 0; side < 2; side++)
    for (h = 0; h < a->heads; h++) {
      int size = syn__fd_size(a, side);
      float *to = syn__fd_rows(t, n, SYN__ROWS, s, side, 0) + h * size;
      syn_matrix w = syn__fd_matrix(a, syn__att_weight(t, n, s, 2 + 2 * side), side, h);
      syn_gemm(t, syn_matrix_of(to, rows, size, (size_t)(a->heads * size)),
               syn_matrix_of(u + h * a->c, rows, a->c, (size_t)a->e), syn_transposed(w),
               syn__att_weight(t, n, s, 3 + 2 * side) + h * size, 0);
    }
}

/* Groups of b columns, each multiplied by one number of A. Also a step: a head of one query. */
static void syn__fd_fill(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                         float *score) {
  const syn__att *a = syn__att_of(n);
  int i, j, columns = syn__att_columns(a, o->g.nk);
  for (i = 0; i < o->g.nq; i++) {
    size_t row = (o->row + (size_t)i) * (size_t)a->heads + (size_t)o->h;
    const float *A = syn__fd_rows(t, n, SYN__ROWS, s, 0, row);
    const float *B = syn__fd_rows(t, n, SYN__ROWS, s, 1, row);
    float *to = score + (size_t)i * (size_t)o->g.nk;
    for (j = 0; j < columns; j += a->b)
      t->k->scale(to + j, A[j / a->b], B, (size_t)syn__min(a->b, columns - j));
  }
}
/* dA_i[g] = dS of group g . B_i, dB_i += A_i[g] dS of group g. Groups behind the sentence get 0,
   since `finish` reads all of dA and dB. The last group may be shorter than b. */
static void syn__fd_back(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                         const float *ds) {
  const syn__att *a = syn__att_of(n);
  int i, j, columns = syn__att_columns(a, o->g.nk);
  for (i = 0; i < o->g.nq; i++) {
    size_t row = (o->row + (size_t)i) * (size_t)a->heads + (size_t)o->h;
    const float *A = syn__fd_rows(t, n, SYN__ROWS, s, 0, row);
    const float *B = syn__fd_rows(t, n, SYN__ROWS, s, 1, row);
    float *dA = syn__fd_rows(t, n, SYN__DROWS, s, 0, row);
    float *dB = syn__fd_rows(t, n, SYN__DROWS, s, 1, row);
    memset(dA, 0, (size_t)a->a * sizeof *dA);
    memset(dB, 0, (size_t)a->b * sizeof *dB);
    for (j = 0; j < columns; j += a->b) {
      const float *group = ds + (size_t)i * (size_t)o->g.nk + (size_t)j;
      size_t size = (size_t)syn__min(a->b, columns - j);
      dA[j / a->b] = t->k->dot(group, B, size);
      t->k->acc_scale(dB, A[j / a->b], group, size);
    }
  }
}
/* dWA += dA^T u, dba += column sums of dA, the same for WB, bb; du = dA WA + dB WB, which side 0
   writes and side 1 adds to. */
static void syn__fd_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  int side, h, c = a->c, rows = (int)syn_rows(syn_in(t, n, 0));
  for (side = 0; side < 2; side++) {
    const float *d = syn__fd_rows(t, n, SYN__DROWS, s, side, 0);
    size_t row = (size_t)(a->heads * syn__fd_size(a, side));
    for (h = 0; h < a->heads; h++) {
      syn_matrix w = syn__fd_matrix(a, syn__att_weight(t, n, s, 2 + 2 * side), side, h);
      syn_matrix dw = syn__fd_matrix(a, syn__att_dweight(t, n, s, 2 + 2 * side), side, h);
      syn_matrix da = syn_matrix_of(d + h * w.rows, rows, w.rows, row);
      syn_matrix u = syn_matrix_of(syn__score_rows(t, n, SYN__ROWS, s) + h * c, rows, c,
                                   (size_t)a->e);
      syn_matrix du = u;
      du.x = syn__score_rows(t, n, SYN__DROWS, s) + h * c;
      syn_gemm(t, du, da, w, NULL, side);
      syn_gemm(t, dw, syn_transposed(da), u, NULL, 1);
    }
    syn__column_sums(t, syn__att_dweight(t, n, s, 3 + 2 * side), d, (size_t)rows, row);
  }
  syn__hidden_back(t, n, s);
}
/* Both sides, one product for every column. */
static double syn__fd_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  return (double)a->e * (a->a + a->b) + (double)syn__min(length, a->size) * a->heads;
}
static const syn__score syn__score_fd = {
    "FD", 0, syn__fd_shape, syn__fd_prepare, syn__fd_fill, syn__fd_back, NULL, syn__fd_finish,
    syn__fd_cost};

#if SYN__LEVELS /* entered for every head of every new token: see the end of >>dispatch */
#pragma GCC optimize("O1", "fp-contract=off")
#endif

#endif /* !SYN_SMALL */

/* score_factored flags, A, B, heads, a, b, factors: S_hj = factor_h A_h[j div b] B_h[j mod b] */
static long syn__small_score_factored(syn_small *s, const int32_t *a) {
  int32_t heads = a[3], keys = syn__small_keys(s, a[0]), h, j;
  const float *A = syn__small_row(s, a[1], heads * a[4]);
  const float *B = syn__small_row(s, a[2], heads * a[5]);
  float *score = s->scores;
  for (h = 0; h < heads; h++, A += a[4], B += a[5], score += keys)
    for (j = 0; j < keys; j++) {
      float x = syn__small_floats(s, a[6])[h] * A[j / a[5] % a[4]] * B[j % a[5]];
      score[j] = a[0] & SYN__SMALL_ADD ? score[j] + x : x;
    }
  return 2L * keys * heads;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind rel_pos   y = x; adds a learned bias of the distance i - j to the scores of later syn_att
   ============================================================================================== */

/*
   Relative position bias of T5 (Raffel et al. 2020, section 2.1). w [H,buckets], H the model's
   heads. Every later syn_att of the same chain, and of the chains inside it, computes
     S_h[i,j] += w[h, bucket(i - j)]    after the mixture, before the causal mask and the softmax.
   Several rel_pos add up. An encoder has half of the buckets for j <= i, half for j > i; a decoder
   sees j <= i alone. In each direction the first half of the buckets, e of them, have one distance
   each; the others grow as powers of max/e; all distances from max on share the last.
   The bias depends on i - j alone. A batch computes it once per head, [2 L - 1] for L = the longest
   sentence, and each query adds its part of that row; backward sums dS into such a row.
   tables of the attention: these rows, behind all others; nothing else is saved. */

#define SYN__MAX_BUCKETS 1024

typedef struct syn__rel_pos {
  const struct syn__rel_pos *outer; /* the rel_pos before it that also applies, null: none */
  int param, heads, buckets;        /* param: w among all of the network's */
  int half;   /* buckets of one direction */
  int future; /* first bucket of j > i: half, or 0 in a decoder */
  int *from;  /* [half] smallest distance of each bucket */
} syn__rel_pos;

/* from[k]: smallest distance of bucket k of `half` buckets; e = half / 2 is less than max. Bucket
   k > e begins at the smallest r with floor((half-e) ln(r/e) / ln(max/e)) >= k - e, which is
   e (max/e)^((k-e)/(half-e)) rounded up. Where that is an integer, the rounding error of the power
   must not raise it to the next one. */
static void syn__distances(int *from, int half, int max) {
  int k, e = half / 2;
  for (k = 0; k < half; k++) {
    double r = k, near;
    if (k > e) r = e * syn__pow((double)max / e, (double)(k - e) / (half - e));
    near = floor(r + 0.5);
    from[k] = (int)(fabs(r - near) < 1e-12 * near ? near : ceil(r));
  }
}

static syn_status syn__rel_pos_shape(syn_build *b, syn_node *n) {
  syn__rel_pos *p = (syn__rel_pos *)syn_build_own(b, n, sizeof *p);
  int max = syn_arg_int(b, "max", 128, 1, 1 << 20), shape[2];
  syn_initial init = syn_initial_of(SYN_INIT_NORMAL, 1.0 / sqrt((double)syn_build_width(b, n, 0)));
  if (!p) return SYN_E_MEMORY;
  p->buckets = shape[1] = syn_arg_int(b, "buckets", 32, 1, SYN__MAX_BUCKETS);
  p->heads = shape[0] = b->config->heads;
  if (!b->decoder && p->buckets % 2)
    return syn__fail_build(b, SYN_E_SHAPE, "buckets is %d, wanted an even number in an encoder",
                           p->buckets);
  p->half = b->decoder ? p->buckets : p->buckets / 2;
  p->future = p->buckets - p->half;
  if (max <= p->half / 2)
    return syn__fail_build(b, SYN_E_SHAPE,
                           "max is %d, wanted more than %d: so many distances have a bucket each",
                           max, p->half / 2);
  p->from = (int *)syn__arena_get(&b->g->arena, (size_t)p->half, sizeof(int));
  if (!p->from) return SYN_E_MEMORY;
  syn__distances(p->from, p->half, max);
  if (syn_build_param(b, n, "w", init, 2, shape)) return SYN_E_SHAPE;
  p->param = n->param[0];
  b->g->params[p->param].matrix = 0; /* no product reads it */
  p->outer = b->rel_pos;
  b->rel_pos = p;
  return syn_build_out_like(b, n, 0);
}

/* The bucket of r = i - j. The search begins at `near`, the bucket of a similar distance. */
static int syn__rel_pos_bucket(const syn__rel_pos *p, int r, int near) {
  int distance = r > 0 || !p->future ? syn__max(r, 0) : -r, k = near % p->half;
  while (k > 0 && p->from[k] > distance) k--;
  while (k + 1 < p->half && p->from[k + 1] <= distance) k++;
  return r < 0 ? p->future + k : k;
}

/* out[i] = sum over all rel_pos of w[h, bucket(first - i)] */
static void syn__rel_pos_row(const syn_tape *t, const syn__rel_pos *p, int h, int first, int count,
                             float *out) {
  int i, k = 0;
  memset(out, 0, (size_t)count * sizeof *out);
  for (; p; p = p->outer, k = 0) {
    const float *w = t->weights[p->param] + (size_t)h * (size_t)p->buckets;
    for (i = 0; i < count; i++) {
      k = syn__rel_pos_bucket(p, first - i, k);
      out[i] += w[k];
    }
  }
}

/* -- for the layer -- */

/* The row of head h, [2 L - 1], from i - j = L - 1 down to 1 - L. Query i reads it from L - 1 - i
   on, one number per key. */

static float *syn__rel_pos_biases(const syn_tape *t, const syn_node *n, int buffer, int h) {
  const syn__att *a = syn__att_of(n);
  size_t L = (size_t)syn__att_stream(t, n)->longest;
  return syn_saved(t, n, buffer) + (buffer == SYN__TABLE ? a->tables : a->dtables) +
         (size_t)h * 2 * L;
}
static void syn__rel_pos_prepare(const syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  int h, L = syn__att_stream(t, n)->longest;
  for (h = 0; a->rel_pos && h < a->heads; h++)
    syn__rel_pos_row(t, a->rel_pos, h, L - 1, 2 * L - 1,
                     syn__rel_pos_biases(t, n, SYN__TABLE, h));
}
/* S_i += biases, also behind the causal mask. A step computes them for its only query. */
static void syn__rel_pos_fill(const syn_tape *t, const syn_node *n, const syn__attention *o) {
  const float *from = t->decode ? o->z : syn__rel_pos_biases(t, n, SYN__TABLE, o->h);
  int i, L = t->decode ? o->g.first + 1 : syn__att_stream(t, n)->longest;
  if (t->decode)
    syn__rel_pos_row(t, syn__att_of(n)->rel_pos, o->h, o->g.first, o->g.nk, o->z);
  for (i = 0; i < o->g.nq; i++)
    t->k->acc(o->p + (size_t)i * (size_t)o->g.nk, from + (L - 1 - o->g.first - i),
              (size_t)o->g.nk);
}
/* dbiases += dS_i, queries and sentences in order */
static void syn__rel_pos_back(const syn_tape *t, const syn_node *n, const syn__attention *o) {
  float *to = syn__rel_pos_biases(t, n, SYN__DTABLE, o->h);
  int i, L = syn__att_stream(t, n)->longest;
  for (i = 0; i < o->g.nq; i++)
    t->k->acc(to + (L - 1 - i), o->p + (size_t)i * (size_t)o->g.nk, (size_t)o->g.nk);
}
/* dw[h, bucket(i - j)] += dbiases */
static void syn__rel_pos_finish(const syn_tape *t, const syn_node *n, int h) {
  const syn__rel_pos *p = syn__att_of(n)->rel_pos;
  const float *d = syn__rel_pos_biases(t, n, SYN__DTABLE, h);
  int i, k = 0, L = syn__att_stream(t, n)->longest;
  for (; p; p = p->outer, k = 0) {
    float *dw = t->dweights[p->param];
    if (!dw) continue; /* frozen */
    dw += (size_t)h * (size_t)p->buckets;
    for (i = 0; i < 2 * L - 1; i++) {
      k = syn__rel_pos_bucket(p, L - 1 - i, k);
      dw[k] += d[i];
    }
  }
}

static const syn_kind syn__kind_rel_pos = {
    "rel_pos", "i:buckets i:max", 0, NULL, syn__rel_pos_shape, syn__copy_forward,
    syn__copy_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind syn_att: the layer   mixture of scores, causal mask, softmax, values, output projection
   ============================================================================================== */

/*
   Multi-head self-attention with any mixture of scores (Vaswani et al. 2017, section 3.2; mixtures:
   Tay et al. 2021, section 3.3). x, out [rows,d]; shapes and saved buffers: >>attention heads. For
   one head, Pd being P after dropout:

     S = sum_s alpha_s S_s + bias    P = softmax(S + causal mask)    Y = Pd v    out = Y W_o^T
     dv = Pd^T dY    dPd = dY v^T    dP = dPd after the same dropout
     dS_i = P_i (dP_i - P_i . dP_i)    dS_s = alpha_s dS    dbias = dS
     dalpha_s = alpha_s (g_s - sum_k alpha_k g_k),  g_s = sum of dS_ij S_s,ij

   forward   v = u W_v^T, `prepare` of every score; one task per sentence and head (scores, mixture,
             causal mask, softmax, dropout, times v); W_o
   backward  W_o; one task per sentence and head, dS overwrites P; one task per head for what its
             sentences share (tables, W2, alpha, biases); `finish` of every score; W_v
   step      the same for one new token per hypothesis, with the KV cache for what came before
   softmax=0 omits softmax: P = S, dS = dP. */

/* -- the list of scores -- */

static const syn__score *const syn__scores[] = {
    &syn__score_v, &syn__score_r, &syn__score_fix, &syn__score_fr, &syn__score_d, &syn__score_fd,
    &syn__score_conv, &syn__score_crc, &syn__score_bd, &syn__score_bcrc, &syn__score_glu};

/* -- the mixture -- */

/* alpha [n_scores] of head h: softmax of the learned vector; all 1 for mix=sum */
static void syn__alpha(const syn_tape *t, const syn_node *n, int h, float *alpha) {
  const syn__att *a = syn__att_of(n);
  int s;
  for (s = 0; s < a->n_scores; s++) alpha[s] = 1.0f;
  if (a->mixed)
    t->k->softmax(alpha, syn_weight(t, n, a->alpha) + (size_t)(h * a->n_scores),
                  (size_t)a->n_scores);
}

/* `prepare` of every score. The score with keys is first: D may read its q. */
static void syn__att_prepare(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  int s;
  if (a->keyed >= 0) a->score[a->keyed]->prepare(t, n, a->keyed);
  for (s = 0; s < a->n_scores; s++)
    if (s != a->keyed && a->score[s]->prepare) a->score[s]->prepare(t, n, s);
}
/* `finish` of every score, the score with keys last, since D adds to its dq; then W_v. */
static void syn__att_finish(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  int s;
  for (s = 0; s < a->n_scores; s++)
    if (s != a->keyed && a->score[s]->finish) a->score[s]->finish(t, n, s);
  if (a->keyed >= 0) a->score[a->keyed]->finish(t, n, a->keyed);
  syn__linear_backward(t, n, a->w_v, -1, syn__att_keys(t, n), syn__att_v(t, n, SYN__DROWS));
}

/* -- one head of one sentence -- */

/* S_s [nq,nk]; tile: copies the first `size` columns into those behind them. */
static void syn__score_fill(syn_tape *t, const syn_node *n, int s, const syn__attention *o,
                            float *score) {
  const syn__att *a = syn__att_of(n);
  int i, j, columns = s == a->keyed ? o->g.nk : syn__att_columns(a, o->g.nk);
  a->score[s]->fill(t, n, s, o, score);
  for (i = 0; i < o->g.nq && columns < o->g.nk; i++, score += o->g.nk)
    for (j = columns; j < o->g.nk; j++) score[j] = score[j - columns];
}

/* S = sum_s alpha_s S_s + bias, into p. Backward needs the S_s of a mixture: they are kept, except
   tables, which it fills again. */
static void syn__head_scores(syn_tape *t, const syn_node *n, const syn__attention *o) {
  const syn__att *a = syn__att_of(n);
  size_t size = (size_t)o->g.nq * (size_t)o->g.nk;
  float alpha[SYN__MAX_SCORES];
  int s;
  syn__alpha(t, n, o->h, alpha);
  if (a->n_scores == 1) syn__score_fill(t, n, 0, o, o->p);
  for (s = 0; s < a->n_scores && a->n_scores > 1; s++) {
    float *score = syn__head_kept(t, n, o, a->kept[s]);
    if (!score) score = o->z;
    syn__score_fill(t, n, s, o, score);
    if (s == 0) t->k->scale(o->p, alpha[0], score, size);
    else t->k->acc_scale(o->p, alpha[s], score, size);
  }
  if (a->rel_pos) syn__rel_pos_fill(t, n, o);
}

/* dS_s = alpha_s dS; tile: columns from `size` on are added to those they repeat. Returns p where
   that changes nothing. */
static const float *syn__head_ds(const syn_tape *t, const syn_node *n, const syn__attention *o,
                                 int s) {
  const syn__att *a = syn__att_of(n);
  size_t nk = (size_t)o->g.nk, size = (size_t)o->g.nq * nk;
  float alpha[SYN__MAX_SCORES], *z = o->z;
  int i, j, tiled = s != a->keyed && syn__att_columns(a, o->g.nk) < o->g.nk;
  syn__alpha(t, n, o->h, alpha);
  if (!tiled && !a->mixed) return o->p;
  t->k->scale(z, alpha[s], o->p, size);
  for (i = 0; i < o->g.nq && tiled; i++)
    for (j = a->size; j < o->g.nk; j++)
      z[(size_t)i * nk + (size_t)(j % a->size)] += z[(size_t)i * nk + (size_t)j];
  return z;
}

/* The sums of dS_ij S_s,ij of a sentence, [H,n_scores], behind the other gradients of rows. */
static float *syn__alpha_parts(const syn_tape *t, const syn_node *n, int sentence) {
  const syn__att *a = syn__att_of(n);
  return syn__att_block(t, n, SYN__DROWS, a->row_floats) +
         (size_t)sentence * (size_t)(a->heads * a->n_scores);
}
static void syn__head_alpha(syn_tape *t, const syn_node *n, const syn__attention *o) {
  const syn__att *a = syn__att_of(n);
  int s;
  for (s = 0; s < a->n_scores && a->mixed; s++) {
    float *score = syn__head_kept(t, n, o, a->kept[s]);
    if (!score) syn__score_fill(t, n, s, o, score = o->z);
    syn__alpha_parts(t, n, o->sentence)[o->h * a->n_scores + s] =
        t->k->dot(o->p, score, (size_t)o->g.nq * (size_t)o->g.nk);
  }
}

/* -- attention weights that no input changes (R, Fix, FR alone) --

   Sentences of one length have the same P. In a decoder the causal mask makes P of a shorter
   sentence the top left part of P of the longest. So P, its dropout, dS are computed once for such
   a group of sentences, in the place of the group's first sentence. Only Y, dv and the summands of
   dPd = sum of dY v^T are computed for each sentence. Threads split the heads, or with fewer heads
   than threads also the queries; for Y, and for dv, which sums over queries, the sentences. */

static int syn__stream_length(const syn_stream *stream, int i) {
  return stream->off[i + 1] - stream->off[i];
}
/* 1: sentences i and k are of one group. */
static int syn__same_group(const syn_tape *t, const syn_node *n, int i, int k) {
  const syn_stream *stream = syn__att_stream(t, n);
  return syn__att_of(n)->causal || syn__stream_length(stream, i) == syn__stream_length(stream, k);
}
/* The first sentence of the group of sentence i; in a decoder the longest. */
static int syn__group_of(const syn_tape *t, const syn_node *n, int i) {
  const syn_stream *stream = syn__att_stream(t, n);
  int length = syn__att_of(n)->causal ? stream->longest : syn__stream_length(stream, i);
  for (i = 0; syn__stream_length(stream, i) != length; i++) continue;
  return i;
}
/* The first sentence of the next group, -1: none. `group` is the first sentence of this group, -1
   before the first. Groups come in the order of their lengths. Without such attention weights every
   sentence is a group. */
static int syn__next_group(const syn_tape *t, const syn_node *n, int group) {
  const syn__att *a = syn__att_of(n);
  const syn_stream *stream = syn__att_stream(t, n);
  int i, next = -1, above = group < 0 ? 0 : syn__stream_length(stream, group);
  if (!a->all_tables) return group + 1 < stream->count ? group + 1 : -1;
  if (a->causal) above = syn__max(above, stream->longest - 1); /* one group */
  for (i = 0; i < stream->count; i++) {
    int length = syn__stream_length(stream, i);
    if (length > above && (next < 0 || length < syn__stream_length(stream, next))) next = i;
  }
  return next;
}

/* P of every group. Items: heads. */
static void syn__task_table_weights(syn_tape *t, const void *job, int thread, size_t begin,
                                    size_t end) {
  const syn_node *n = (const syn_node *)job;
  int h, i;
  for (h = (int)begin; h < (int)end; h++)
    for (i = syn__next_group(t, n, -1); i >= 0; i = syn__next_group(t, n, i)) {
      syn__attention o = syn__head_of(t, n, i, h, syn_scratch(t, thread));
      syn__head_scores(t, n, &o);
      syn__softmax_rows(t, &o, 0, o.g.nq, o.z, (size_t)o.g.nk);
    }
}

/* Y = Pd v of every sentence, or in backward dv = Pd^T dY, with P of its group. Items: the
   sentences of head 0, those of head 1 ... Neighbours of one group share Pd. Outside of training
   syn_run_attention may read P: each sentence gets a copy. */
typedef struct syn__table_job {
  const syn_node *n;
  int backward;
} syn__table_job;
static void syn__task_table_values(syn_tape *t, const void *job, int thread, size_t begin,
                                   size_t end) {
  const syn__table_job *j = (const syn__table_job *)job;
  size_t item, row, sentences = (size_t)syn__att_stream(t, j->n)->count;
  const float *pd = NULL; /* of `group` */
  syn__attention group, o;
  for (item = begin; item < end; item++) {
    int h = (int)(item / sentences), i = (int)(item % sentences);
    if (!pd || i == 0 || !syn__same_group(t, j->n, group.sentence, i)) {
      group = syn__head_of(t, j->n, syn__group_of(t, j->n, i), h, syn_scratch(t, thread));
      pd = syn__dropped_weights(t, &group);
    }
    o = syn__head_of(t, j->n, i, h, group.pack);
    if (j->backward) {
      syn__causal_matmul_tn(t, &o.g, syn__soft_dv(&o, pd, (size_t)group.g.nk));
      continue;
    }
    syn__causal_matmul_nn(t, &o.g,
                          syn__product_of(syn_matrix_of(o.y, o.g.nq, o.c, o.y_row),
                                          syn_matrix_of(pd, o.g.nq, o.g.nk, (size_t)group.g.nk),
                                          syn_matrix_of(o.v, o.g.nk, o.c, o.v_row), NULL, 0));
    for (row = 0; row < (size_t)o.g.nq && !t->training && i != group.sentence; row++)
      memcpy(o.p + row * (size_t)o.g.nk, group.p + row * (size_t)group.g.nk,
             (size_t)o.g.nk * sizeof *o.p);
  }
}
static void syn__table_values(syn_tape *t, const syn_node *n, int backward) {
  syn__table_job j = {n, backward};
  syn_parallel(t, syn__task_table_values, &j,
               (size_t)syn__att_stream(t, n)->count * (size_t)syn__att_of(n)->heads, 1);
}

/* The queries begin .. end-1 of a group: dPd = sum over the sentences of dY v^T, in scratch; then
   dS in place of P. */
static void syn__table_backward(const syn_tape *t, const syn_node *n, const syn__attention *group,
                                int begin, int end) {
  size_t nk = (size_t)group->g.nk;
  float *dp = group->z;
  int i;
  memset(dp, 0, (size_t)(end - begin) * nk * sizeof *dp);
  for (i = 0; i < syn__att_stream(t, n)->count; i++) {
    syn__attention o = syn__head_of(t, n, i, group->h, group->pack);
    if (syn__group_of(t, n, i) != group->sentence || o.g.nq <= begin) continue;
    o.g.first = begin;
    o.g.nq = syn__min(end, o.g.nq) - begin;
    syn__causal_matmul_nt(
        t, &o.g,
        syn__product_of(syn_matrix_of(dp, o.g.nq, o.g.nk, nk),
                        syn_matrix_of(o.dy + (size_t)begin * o.y_row, o.g.nq, o.c, o.y_row),
                        syn__pack_keys(t, syn_matrix_of(o.v, o.g.nk, o.c, o.v_row), o.pack), NULL,
                        1));
  }
  for (i = begin; i < end; i++)
    syn__softmax_row_back(t, group, i, dp + (size_t)(i - begin) * nk, 0);
}
/* Parts into which the queries of a head are split. */
static int syn__table_parts(const syn_tape *t, const syn_node *n) {
  int heads = syn__att_of(n)->heads;
  return (t->threads + heads - 1) / heads;
}
/* Items: the parts of head 0, those of head 1 ... */
static void syn__task_table_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  int item, i, parts = syn__table_parts(t, n);
  for (item = (int)begin; item < (int)end; item++)
    for (i = syn__next_group(t, n, -1); i >= 0; i = syn__next_group(t, n, i)) {
      syn__attention o = syn__head_of(t, n, i, item / parts, syn_scratch(t, thread));
      int part = item % parts;
      syn__table_backward(t, n, &o, o.g.nq * part / parts, o.g.nq * (part + 1) / parts);
    }
}

/* -- forward -- */

/* Items: the heads of sentence 0, those of sentence 1 ... */
static void syn__task_heads(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    syn__attention o =
        syn__head_of(t, n, (int)(i / heads), (int)(i % heads), syn_scratch(t, thread));
    syn__head_scores(t, n, &o);
    syn__attention_forward(t, &o);
  }
}
/* out = Y W_o^T, of a batch or of a step */
static void syn__att_out(syn_tape *t, const syn_node *n) {
  syn_tensor y = *syn_out(t, n); /* for its rows */
  y.x = syn__att_y(t, n, SYN__ROWS);
  syn__linear_forward(t, n, syn__att_of(n)->w_o, -1, &y, syn_out(t, n)->x);
}
/* A forward pass in which `task` computes Y of the heads. */
static void syn__att_forward_by(syn_tape *t, const syn_node *n, syn_task task) {
  const syn__att *a = syn__att_of(n);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  syn__linear_forward(t, n, a->w_v, -1, syn__att_keys(t, n), syn__att_v(t, n, SYN__ROWS));
  syn__att_prepare(t, n);
  syn__rel_pos_prepare(t, n);
  if (a->all_tables) {
    syn_parallel(t, syn__task_table_weights, n, (size_t)a->heads, 1);
    syn__table_values(t, n, 0);
  } else {
    syn_parallel(t, task, n, sentences * (size_t)a->heads, 1);
  }
  syn__att_out(t, n);
}
static void syn__att_forward(syn_tape *t, const syn_node *n) {
  syn__att_forward_by(t, n, syn__task_heads);
}

/* -- backward -- */

/* dY = dout W_o, written; dW_o += dout^T Y */
static void syn__att_out_back(syn_tape *t, const syn_node *n) {
  syn_tensor y = *syn_out(t, n); /* Y and its gradient as a tensor */
  syn__linear_grad g;
  y.x = syn__att_y(t, n, SYN__ROWS);
  y.dx = syn__att_y(t, n, SYN__DROWS);
  g = syn__linear_grad_of(t, n, syn__att_of(n)->w_o, -1, &y, syn_out(t, n)->dx);
  g.first_write = 1;
  syn__linear_backward_of(t, &g);
}
/* dv, dS in place of P, then `back` of every score */
static void syn__task_heads_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  size_t i, heads = (size_t)a->heads;
  int s;
  for (i = begin; i < end; i++) {
    syn__attention o =
        syn__head_of(t, n, (int)(i / heads), (int)(i % heads), syn_scratch(t, thread));
    syn__attention_back(t, &o);
    syn__head_alpha(t, n, &o);
    for (s = 0; s < a->n_scores; s++)
      if (a->score[s]->back) a->score[s]->back(t, n, s, &o, syn__head_ds(t, n, &o, s));
  }
}
/* dalpha_s += alpha_s (g_s - sum_k alpha_k g_k), g_s = sum over sentences of dS_ij S_s,ij */
static void syn__alpha_back(const syn_tape *t, const syn_node *n, int h) {
  const syn__att *a = syn__att_of(n);
  float alpha[SYN__MAX_SCORES], g[SYN__MAX_SCORES] = {0.0f}, mean = 0.0f;
  int i, s;
  syn__alpha(t, n, h, alpha);
  for (i = syn__next_group(t, n, -1); i >= 0; i = syn__next_group(t, n, i))
    for (s = 0; s < a->n_scores; s++)
      g[s] += syn__alpha_parts(t, n, i)[h * a->n_scores + s];
  for (s = 0; s < a->n_scores; s++) mean += alpha[s] * g[s];
  for (s = 0; s < a->n_scores; s++)
    syn_dweight(t, n, a->alpha)[h * a->n_scores + s] += alpha[s] * (g[s] - mean);
}
/* Items: heads. Gradients that sentences share are summed in the order of the sentences, so that
   the number of threads changes no bit. */
static void syn__task_shared(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  int h, i, s;
  for (h = (int)begin; h < (int)end; h++) {
    for (i = syn__next_group(t, n, -1); i >= 0; i = syn__next_group(t, n, i)) {
      syn__attention o = syn__head_of(t, n, i, h, syn_scratch(t, thread));
      if (a->all_tables) syn__head_alpha(t, n, &o);
      for (s = 0; s < a->n_scores; s++)
        if (a->score[s]->back_shared)
          a->score[s]->back_shared(t, n, s, &o, syn__head_ds(t, n, &o, s));
      if (a->rel_pos) syn__rel_pos_back(t, n, &o);
    }
    if (a->rel_pos) syn__rel_pos_finish(t, n, h);
    if (a->mixed) syn__alpha_back(t, n, h);
  }
}
static void syn__att_backward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_stream *stream = syn__att_stream(t, n);
  size_t heads = (size_t)a->heads, sentences = (size_t)stream->count;
  size_t biases = a->rel_pos ? 2 * (size_t)stream->longest * heads : 0;
  memset(syn_saved(t, n, SYN__DTABLE), 0, (a->dtables + biases) * sizeof(float));
  syn__att_out_back(t, n);
  if (a->all_tables) {
    syn__table_values(t, n, 1);
    syn_parallel(t, syn__task_table_back, n, heads * (size_t)syn__table_parts(t, n), 1);
  } else {
    syn_parallel(t, syn__task_heads_back, n, sentences * heads, 1);
  }
  if (a->shared) syn__task_shared(t, n, 0, 0, heads); /* one thread: the heads share W2 */
  else syn_parallel(t, syn__task_shared, n, heads, 1);
  syn__att_finish(t, n);
}

/* A backward pass of linformer or fixed_att: `task` computes the gradients of v, q, k. */
static void syn__att_backward_by(syn_tape *t, const syn_node *n, syn_task task) {
  syn__att_out_back(t, n);
  syn_parallel(t, task, n, (size_t)(syn__att_stream(t, n)->count * syn__att_of(n)->heads), 1);
  syn__att_finish(t, n);
}

/* -- a decoding step -- */

/* Y = P v for the heads of a new token, P [heads, round16(nk)], v from the KV cache; summed in the
   order of forward. */
static void syn__att_step_values(syn_tape *t, const syn_node *n, const syn__attention *o,
                                const float *p) {
  const syn__att *a = syn__att_of(n);
  const syn__decode_state *l = t->decode;
  syn__weighted_values j;
  j.p = p;
  j.p_row = syn__round16((size_t)o->g.nk);
  j.v_row = (size_t)(a->cross ? n->source_cache : n->cache);
  j.v = a->cross ? l->source_cache[n->id] + (size_t)l->source_off[o->sentence] * j.v_row
                 : l->cache[n->id];
  j.v += o->h * a->c;
  j.at = a->cross ? NULL : syn__past(t, (int)o->row);
  j.count = (size_t)o->g.nk;
  j.heads = (size_t)o->heads;
  j.c = (size_t)a->c;
  t->k->values(syn__att_y(t, n, SYN__ROWS) + o->row * (size_t)a->e + o->h * a->c, &j);
}

/* Writes v of the new tokens, and their k if a score has keys, into the KV cache. */
static void syn__task_att_cache_write(syn_tape *t, const void *job, int thread, size_t begin,
                                      size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  size_t e = (size_t)a->e, r;
  int s = a->keyed;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    int slot = t->decode->slot[r], place = t->at[SYN_TGT][r];
    memcpy(syn__cache_row(t, n, slot, place), syn__att_v(t, n, SYN__ROWS) + r * e,
           e * sizeof(float));
    if (s >= 0)
      memcpy(syn__key_block(t, n, slot, place) + (size_t)(place % 16) * e,
             syn__att_k(t, n, SYN__ROWS, s) + r * e, e * sizeof(float));
  }
}

/* Items: the heads of row 0, those of row 1 ...; the heads of a row are done together. A row's
   hypothesis may belong to any sentence and be of any length. A new token sees itself and all
   tokens before it, which are all cached: there is no causal mask to apply.
   Scratch: p the mixture, z one score, a row for the gate of GLU, [nk] each; then for each head a
   row x of round16(nk): the scores of V, which P replaces. */
static void syn__task_att_step(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  size_t i, heads = (size_t)a->heads;
  syn__attention o;
  memset(&o, 0, sizeof o);
  o.g.nq = 1;
  o.pack = syn_scratch(t, thread);
  for (i = begin; i < end; i = (i / heads + 1) * heads) {
    int h, r = (int)(i / heads);
    float *all;
    o.sentence = t->decode->sentence[r];
    o.row = (size_t)r;
    o.g.first = t->at[SYN_TGT][r];
    o.g.nk = a->cross ? syn_source_length(t, r) : o.g.first + 1;
    o.h = (int)(i % heads);
    o.heads = h = syn__min(a->heads, o.h + (int)(end - i)) - o.h;
    o.p = o.pack;
    o.z = o.p + o.g.nk;
    o.x = all = o.pack + 3 * o.g.nk;
    if (a->keyed >= 0) syn__v_step(t, n, &o, all);
    for (; h > 0; h--, o.h++, o.x += syn__round16((size_t)o.g.nk)) {
      syn__head_scores(t, n, &o);
      if (a->softmax) t->k->softmax(o.x, o.p, (size_t)o.g.nk);
      else memcpy(o.x, o.p, (size_t)o.g.nk * sizeof *o.x);
    }
    o.h -= o.heads;
    syn__att_step_values(t, n, &o, all);
  }
}

/* Threads split the rows, or the heads of a single row; a small step runs on one thread, since
   waking the others would take longer. */
#define SYN__ATT_ONE_THREAD 12000 /* rows times width times keys */
static void syn__att_step_rows(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t rows = (size_t)t->decode->rows, heads = (size_t)a->heads;
  size_t keys = (size_t)(a->cross ? t->stream[SYN_SRC].longest : t->at[SYN_TGT][rows - 1] + 1);
  size_t unit = rows < (size_t)t->threads ? (heads + 1) / 2 : heads;
  if (rows * keys * (size_t)a->e < SYN__ATT_ONE_THREAD)
    syn__task_att_step(t, n, 0, 0, rows * heads);
  else syn_parallel(t, syn__task_att_step, n, rows * heads, unit);
}

/* x goes into the KV cache before `prepare`, whose convolutions read it there. */
static void syn__att_step(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  if (!a->cross && !n->key_cache) /* else `prepare` computes v together with q and k */
    syn__linear_forward(t, n, a->w_v, -1, x, syn__att_v(t, n, SYN__ROWS));
  if (a->cache_x >= 0) syn__conv_cache_write(t, n, (size_t)a->cache_x, (size_t)a->d, x->x);
  syn__att_prepare(t, n);
  if (!a->cross) syn_parallel(t, syn__task_att_cache_write, n, (size_t)t->decode->rows, 32);
  if (!a->cross && n->key_cache) syn__transpose_full_block(t, n);
  syn__att_step_rows(t, n);
  syn__att_out(t, n);
}

/* Multiply-adds per token: to the matrices, which the generic cost counts, come P v and the scores.
   In cross-attention k and v are per token of the source, which is assumed to be as long. */
static void syn__att_cost(const syn_node *n, syn_cost *cost) {
  const syn__att *a = syn__att_of(n);
  int s;
  cost->multiply_adds += (double)cost->length * a->e;
  for (s = 0; s < a->n_scores; s++)
    if (a->score[s]->cost) cost->multiply_adds += a->score[s]->cost(n, s, cost->length);
}

/* -- shapes -- */

/* Heads, their width c, e = H c: for every attention layer except mlp_src_att and aop. */
static syn_status syn__att_heads(syn_build *b, syn_node *n, syn__att *a) {
  int c;
  a->d = syn_build_width(b, n, 0);
  a->heads = syn_arg_int(b, "heads", b->config->heads, 1, 4096);
  c = syn_arg_int(b, "c", 0, 1, 65536);
  if (c == 0 && a->d % a->heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%d heads do not divide width %d", a->heads, a->d);
  a->c = c ? c : a->d / a->heads;
  if (a->c > SYN__MAX_WIDTH / a->heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%d heads of width %d, wanted %d in all at most",
                           a->heads, a->c, SYN__MAX_WIDTH);
  a->e = a->qk = a->heads * a->c;
  a->scale = 1.0f / sqrtf((float)a->c);
  a->row_floats = 2 * a->e; /* v, Y */
  a->cache_x = a->keyed = -1;
  return SYN_OK;
}
/* W_v [e, width of u], W_o [d,e], then the parameters of the scores as written. */
static syn_status syn__att_params(syn_build *b, syn_node *n, syn__att *a) {
  int s;
  a->w_v = n->n_param;
  if (syn__matrix_param(b, n, "w_v", a->e, syn_build_width(b, n, n->n_in - 1))) return SYN_E_SHAPE;
  a->w_o = n->n_param;
  if (syn__matrix_param(b, n, "w_o", a->d, a->e)) return SYN_E_SHAPE;
  for (s = 0; s < a->n_scores; s++) {
    a->param[s] = n->n_param;
    if (a->score[s]->shape(b, n, s)) return SYN_E_SHAPE;
  }
  return SYN_OK;
}

/* Reads "R+V" into the list of scores; alpha has this order. */
static syn_status syn__att_kinds(syn_build *b, syn__att *a, syn_text kinds) {
  const char *nearest = NULL;
  size_t i, at = 0, end;
  int s;
  while (at <= kinds.size) {
    syn_text word;
    for (end = at; end < kinds.size && kinds.at[end] != '+'; end++) continue;
    word.at = kinds.at + at;
    word.size = end - at;
    for (i = 0; i < SYN__COUNT(syn__scores) && !syn__text_is(word, syn__scores[i]->name); i++)
      continue;
    if (i == SYN__COUNT(syn__scores)) {
      for (i = 0; i < SYN__COUNT(syn__scores); i++)
        nearest = syn__nearer(word.at, word.size, nearest, syn__scores[i]->name);
      return syn__fail_build(b, SYN_E_TEXT,
                             "no kind '%.*s'; there are V, R, Fix, FR, D, FD, Conv, CRC,"
                             " BD, BCRC, GLU; did you mean '%s'?",
                             word.size < 20 ? (int)word.size : 20, word.at, nearest);
    }
    for (s = 0; s < a->n_scores; s++)
      if (a->score[s] == syn__scores[i])
        return syn__fail_build(b, SYN_E_TEXT, "kind %s is named twice", syn__scores[i]->name);
    if (syn__scores[i]->flags & SYN__HAS_KEYS) a->keyed = a->n_scores;
    a->score[a->n_scores++] = syn__scores[i];
    at = end + 1;
  }
  return SYN_OK;
}

static const char *const syn__mix_names[] = {"alpha", "sum"};

/* The other arguments, and which of them go together. A score with a table of N limits the length
   of sentences, except with tile. */
static syn_status syn__syn_att_options(syn_build *b, syn_node *n, syn__att *a) {
  int s, any = 0, every = ~0, mix = syn_arg_word(b, "mix", syn__mix_names, 2, 0);
  a->rel_pos = b->rel_pos;
  if (a->rel_pos && a->rel_pos->heads != a->heads)
    return syn__fail_build(b, SYN_E_SHAPE, "the rel_pos before it has %d heads, this layer %d",
                           a->rel_pos->heads, a->heads);
  a->tile = syn_arg_int(b, "tile", 0, 0, 1 << 20);
  a->size = a->tile ? a->tile : b->config->max_len;
  a->k = syn_arg_int(b, "k", 8, 1, 65536);
  a->softmax = syn_arg_int(b, "softmax", 1, 0, 1);
  a->shared = syn_arg_int(b, "shared", 0, 0, 1);
  a->mixed = a->n_scores > 1 && mix == 0;
  a->causal = b->decoder;
  for (s = 0; s < a->n_scores; s++) {
    any |= a->score[s]->flags;
    every &= a->score[s]->flags;
  }
  a->all_tables = (every & SYN__IS_TABLE) != 0;
  if (!(every & SYN__HAS_KEYS) && !a->tile) n->table = b->config->max_len;
  if (!a->softmax && !a->all_tables)
    return syn__fail_build(b, SYN_E_TEXT, "softmax=0 goes with R, Fix and FR alone");
  if (a->shared && !(any & SYN__SHARES_OUTPUT))
    return syn__fail_build(b, SYN_E_TEXT, "shared=1 goes with kind D");
  return b->c->status;
}

/* Saved buffers SYN__P ... SYN__DTABLE, once the scores have stated their sizes; scratch. dalpha
   needs the S_s of a mixture. Tables are filled again, instead of H n^2 floats per sentence. */
static syn_status syn__att_buffers(syn_build *b, syn_node *n, syn__att *a) {
  syn_extent e = {0, 0, (size_t)a->heads, 0, 0}; /* per pair */
  int s, row = a->row_floats;
  for (s = 0; s < a->n_scores; s++)
    a->kept[s] = a->mixed && !(a->score[s]->flags & SYN__IS_TABLE) ? a->n_kept++ : -1;
  if (syn_build_save(b, n, SYN_BOTH, e) || syn_build_save_rows(b, n, SYN_BOTH, (size_t)row))
    return SYN_E_SHAPE;
  row += a->mixed ? a->heads * a->n_scores : 0; /* of syn__alpha_parts */
  e.pair = (size_t)(a->heads * a->n_kept);
  if (syn_build_save_rows(b, n, SYN_BACKWARD, (size_t)row) || syn_build_save(b, n, SYN_BOTH, e))
    return SYN_E_SHAPE;
  e.pair = 0;
  e.length = a->rel_pos ? 2 * (size_t)a->heads : 0;
  e.fixed = a->tables;
  if (syn_build_save(b, n, SYN_BOTH, e)) return SYN_E_SHAPE;
  e.fixed = a->dtables;
  if (syn_build_save(b, n, SYN_BACKWARD, e)) return SYN_E_SHAPE;
  syn__attention_scratch(n, a->c);
  n->scratch.fixed += 16 * (size_t)a->heads; /* a step: rows of scores, rounded up to 16 */
  if (n->key_cache && !a->cross) /* 16 keys, row-major and transposed; the scores of a block */
    n->scratch.fixed += 32 * (size_t)a->e + 16 * (size_t)a->heads;
  n->scratch.length += 3 + (size_t)a->heads; /* a batch uses two of the three rows */
  n->seen_heads = a->heads;
  n->seen = SYN__P;
  return syn__att_parts(b, n, a) ? SYN_E_SHAPE
                                 : syn_build_out(b, n, syn_build_stream(b, n, 0), a->d);
}

/* Parameters in this order: w_v, w_o, those of the scores as written, alpha. The KV cache has e
   floats per token for v, and with V (a->keyed, the score q k^T) e more for k. */
static syn_status syn__syn_att_shape(syn_build *b, syn_node *n) {
  syn__att *a = (syn__att *)syn_build_own(b, n, sizeof *a);
  const syn__arg *kinds = syn__arg_find(b->layer, "kinds");
  if (!a) return SYN_E_MEMORY;
  if (syn__att_heads(b, n, a) || syn__att_kinds(b, a, kinds ? kinds->word : syn_text_of("V")))
    return SYN_E_SHAPE;
  a->cache = a->e;
  if (b->decoder && a->keyed >= 0) n->key_cache = a->e;
  if (syn__syn_att_options(b, n, a) || syn__att_params(b, n, a)) return SYN_E_SHAPE;
  a->alpha = n->n_param;
  if (a->mixed && syn__att_table_zero(b, n, "alpha", a->n_scores)) return SYN_E_SHAPE;
  n->cache = a->cache;
  return syn__att_buffers(b, n, a);
}
static const syn_kind syn__kind_syn_att = {
    "syn_att",
    "k:kinds i:heads i:c i:k i:a i:b i:f i:f2 i:m i:tile i:softmax w:mix i:shared f:dropout", 1,
    NULL, syn__syn_att_shape, syn__att_forward, syn__att_backward, NULL, syn__att_step,
    syn__att_cost};

#define SYN__MAX_SMALL_HEADS 64

/* Share s of the mixture of head h: softmax of alpha [H,n]. */
static float syn__lower_share(const syn__small_build *l, const syn_param *alpha, int n, int h,
                              int s) {
  float share[SYN__MAX_SCORES];
  l->c->kernels->softmax(share, alpha->x + h * n, (size_t)n);
  return share[s];
}
/* Scores that no input changes: the table F as int8, with a scale for each row of a head, which
   takes the share of a mixture, too. */
static void syn__lower_table(syn__small_build *l, const syn_node *n, int s, const float *share,
                             int flags) {
  const syn__att *a = syn__att_of(n);
  size_t N = (size_t)a->size, rows = (size_t)a->heads * N, i, j, k;
  const syn_param *p = &l->g->params[n->param[a->param[s]]];
  int32_t x[5], scales;
  x[0] = flags;
  x[2] = a->heads;
  x[3] = a->size;
  if (!syn__lower_data(l, rows * N, &x[1]) || !syn__lower_data(l, rows * sizeof(float), &scales))
    return;
  x[4] = scales;
  for (i = 0; i < rows; i++) {
    int8_t *q = (int8_t *)((int32_t *)l->data.items + x[1]) + i * N;
    float *scale = (float *)((int32_t *)l->data.items + scales) + i, most = 0.0f, z;
    int pass;
    for (pass = 0; pass < 2; pass++)
      for (j = 0; j < N; j++) {
        if (a->k && a->score[s] == &syn__score_fr) {
          const float *r1 = p->x + i * (size_t)a->k;
          const float *r2 = p[1].x + (i / N * N + j) * (size_t)a->k;
          for (z = 0.0f, k = 0; k < (size_t)a->k; k++) z += r1[k] * r2[k];
        } else z = p->x[i * N + j];
        if (!pass) most = fabsf(z) > most ? fabsf(z) : most;
        else if (most > 0.0f) q[j] = (int8_t)syn__small_round(z * (127.0f / most));
      }
    *scale = most / 127.0f * share[i / N];
  }
  syn__lower_emit(l, SYN__SMALL_OP_score_table, x, 5);
}
/* The score with keys: q of the row, k of the cache. */
static void syn__lower_keys(syn__small_build *l, const syn_node *n, int k, const float *share,
                            int flags) {
  const syn__att *a = syn__att_of(n);
  int q = syn__lower_linear(l, syn__lower_in(l, n, 0), n->param[a->param[a->keyed]], -1, 0), h;
  int32_t x[6];
  float *factor;
  x[0] = flags;
  x[1] = syn__lower_read(l, q);
  x[2] = syn__lower_read(l, k);
  factor = (float *)syn__lower_data(l, (size_t)a->heads * sizeof *factor, &x[3]);
  x[4] = a->heads;
  x[5] = a->c;
  for (h = 0; h < a->heads && factor; h++) factor[h] = a->scale * share[h];
  syn__lower_emit(l, SYN__SMALL_OP_score_v, x, 6);
}
/* One linear of the output layer of D or FD: W [H,columns,units] and its bias, which is the
   parameter behind it, on each head's part of u. */
static int syn__lower_heads(syn__small_build *l, const syn_node *n, int u, int w, int columns) {
  const syn__att *a = syn__att_of(n);
  const syn_param *p = &l->g->params[n->param[w]];
  int units = syn__lower_width(l, u) / a->heads, y = syn__lower_new(l, a->heads * columns), h;
  for (h = 0; h < a->heads && y >= 0; h++) {
    size_t rows = (size_t)h * (size_t)columns;
    int32_t x[7];
    x[1] = syn__lower_slice(l, u, h * units, units);
    x[0] = syn__lower_slice(l, y, h * columns, columns);
    x[2] = 0;
    x[3] = columns;
    x[4] = units;
    x[5] = syn__lower_weights(l, p->x + rows * (size_t)units, columns, units);
    x[6] = syn__lower_floats(l, l->g->params[n->param[w + 1]].x + rows, (size_t)columns);
    syn__lower_emit(l, SYN__SMALL_OP_linear, x, 7);
  }
  return y;
}
/* D: S_ij = y_j; FD: S_ij = A_[j div b] B_[j mod b], of rows that the hidden layer u makes. */
static void syn__lower_dense(syn__small_build *l, const syn_node *n, int s, const float *share,
                             int flags) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  int u = syn__lower_linear(l, syn__lower_in(l, n, 0), n->param[st->w1], n->param[st->b1], 1);
  int fd = a->score[s] == &syn__score_fd, w2 = st->b1 + 1, rows, more = -1;
  int32_t x[7];
  rows = syn__lower_heads(l, n, u, w2, fd ? a->a : a->size);
  if (fd) more = syn__lower_heads(l, n, u, w2 + 2, a->b);
  x[0] = flags;
  x[1] = syn__lower_read(l, rows);
  x[2] = fd ? syn__lower_read(l, more) : a->heads;
  x[3] = fd ? a->heads : a->size;
  x[4] = fd ? a->a : syn__lower_floats(l, share, (size_t)a->heads);
  x[5] = a->b;
  x[6] = fd ? syn__lower_floats(l, share, (size_t)a->heads) : 0;
  l->heads = syn__max(l->heads, a->heads);
  syn__lower_emit(l, fd ? SYN__SMALL_OP_score_factored : SYN__SMALL_OP_score_row, x, fd ? 7 : 5);
}
/* Why a layer cannot be lowered, or null. */
static const char *syn__lower_att_lacks(const syn__att *a) {
  int s;
  if (a->rel_pos) return "rel_pos";
  if (a->qk != a->e) return "heads without keys";
  for (s = 0; s < a->n_scores; s++)
    if (s != a->keyed && !(a->score[s]->flags & SYN__IS_TABLE) && a->score[s] != &syn__score_fd &&
        (a->score[s] != &syn__score_d || syn__shares_output(a, s)))
      return a->score[s]->name;
  return NULL;
}
/* Values and keys of every row into caches; behind that the scores of a row, their softmax, the
   weighted values, W_o. */
static int syn__lower_att(syn__small_build *l, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const char *lacks = syn__lower_att_lacks(a);
  int program = l->program, u = syn__lower_in(l, n, n->n_in - 1), v, k = -1, s, h, y;
  int flags = a->causal ? SYN__SMALL_CAUSAL : 0;
  float share[SYN__MAX_SMALL_HEADS];
  int32_t x[5];
  if (lacks) return syn__lower_refuse(l, n, lacks);
  if (a->heads > SYN__MAX_SMALL_HEADS) return syn__lower_refuse(l, n, "more than 64 heads");
  if (a->cross) l->program = SYN__SMALL_CACHE;
  else syn__lower_segment(l); /* the caches of the layer before are free again */
  v = syn__lower_store(l, syn__lower_linear(l, u, n->param[a->w_v], -1, 0), a->heads, a->c);
  if (a->keyed >= 0)
    k = syn__lower_store(l, syn__lower_linear(l, u, n->param[a->param[a->keyed] + 1], -1, 0),
                         a->heads, a->c);
  l->program = program;
  if (!a->cross) syn__lower_segment(l);
  for (s = 0; s < a->n_scores; s++) {
    int how = flags | (s ? SYN__SMALL_ADD : 0);
    for (h = 0; h < a->heads; h++) {
      share[h] = 1.0f;
      if (a->mixed)
        share[h] = syn__lower_share(l, &l->g->params[n->param[a->alpha]], a->n_scores, h, s);
    }
    if (s == a->keyed) syn__lower_keys(l, n, k, share, how);
    else if (a->score[s]->flags & SYN__IS_TABLE) syn__lower_table(l, n, s, share, how);
    else syn__lower_dense(l, n, s, share, how);
  }
  x[1] = syn__lower_read(l, v);
  x[0] = y = syn__lower_new(l, a->e);
  x[2] = flags | (a->softmax ? 0 : SYN__SMALL_NO_SOFTMAX);
  x[3] = a->heads;
  x[4] = a->c;
  syn__lower_emit(l, SYN__SMALL_OP_values, x, 5);
  return syn__lower_linear(l, y, n->param[a->w_o], -1, 0);
}

/* ==============================================================================================
   >>kind mh_dot_src_att   S_ij = scale q_i . k_j, queries of the decoder, keys of the encoder
   ============================================================================================== */

/*
   Cross-attention (Vaswani et al. 2017, section 3.2.3; which encoder layer is read: Domhan 2018,
   Table 2). x [rows,d] of the decoder, u [source rows,d_src] the encoder's output: q = x W_q^T,
   k = u W_k^T, v = u W_v^T, W_q [e,d], W_k, W_v [e,d_src], W_o [d,e], e = H c. It is syn_att with V
   alone and u in place of x for keys and values. A query sees its whole source sentence: there is
   no causal mask. saved for backward: as syn_att.
   KV cache of a source token: its v, and its k in a transposed block of 16 keys; computed once per
   sentence, shared by all hypotheses. */

static const char *const syn__source_names[] = {"upper", "increasing", "decreasing"};

/* Which encoder output the layer reads: the i-th of n layers reads block i, or n+1-i. */
static int syn__source_value(syn_build *b) {
  int which = syn_arg_word(b, "source", syn__source_names, 3, 0), n, i;
  if (which == 0) return b->encoder_out;
  n = which == 1 ? b->n_increasing : b->n_decreasing;
  i = which == 1 ? b->seen_increasing++ : b->seen_decreasing++;
  if (n != b->n_blocks || i >= n) {
    syn__fail_build(b, SYN_E_SHAPE,
                    "source=%s: the decoder has %d such layers, the encoder's repeat %d"
                    " copies",
                    syn__source_names[which], n, b->n_blocks);
    return -1;
  }
  return b->blocks[which == 1 ? i : n - 1 - i];
}

/* Also for mlp_src_att, which has no argument `source`. A decoder of seq2seq must have a layer of
   either kind, so both are counted. */
static int syn__src_att_build(syn_build *b, const syn_layer *l, int x) {
  syn_node *n;
  int in[2];
  if (!b->decoder || b->encoder_out < 0) {
    syn__fail_build(b, SYN_E_TEXT, "attention to the source %s", b->decoder
                    ? "where there is no encoder" : "inside the encoder");
    return -1;
  }
  in[0] = x;
  in[1] = syn__source_value(b);
  if (in[1] < 0) return -1;
  n = syn__node_new(b, l->kind, 2, in);
  if (n) n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  b->n_source_layers++;
  return syn__node_done(b, n);
}

/* W_v, W_o, then V as the only score, with W_q and W_k, where any head learns. */
static syn_status syn__att_only_v(syn_build *b, syn_node *n, syn__att *a) {
  a->softmax = 1;
  if (a->qk) {
    a->score[a->n_scores++] = &syn__score_v;
    a->keyed = 0;
  }
  return syn__att_params(b, n, a);
}
static syn_status syn__src_att_shape(syn_build *b, syn_node *n) {
  syn__att *a = (syn__att *)syn_build_own(b, n, sizeof *a);
  if (!a) return SYN_E_MEMORY;
  if (syn__att_heads(b, n, a)) return SYN_E_SHAPE;
  a->scale = syn_arg_float(b, "scale", a->scale, -1e6f, 1e6f);
  a->cross = 1;
  a->size = b->config->max_len;
  if (syn__att_only_v(b, n, a)) return SYN_E_SHAPE;
  n->source_cache = n->key_cache = a->e;
  return syn__att_buffers(b, n, a);
}

/* Before decoding: v of the source, and its k transposed, into the KV cache. */
static void syn__src_att_start(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *u = syn__att_keys(t, n);
  const int *off = t->decode->source_off;
  float *k = syn__att_k(t, n, SYN__ROWS, 0);
  int i;
  syn__linear_forward(t, n, a->w_v, -1, u, t->decode->source_cache[n->id]);
  syn__linear_forward(t, n, a->param[0] + 1, -1, u, k);
  for (i = 0; (size_t)off[i] < syn_rows(u); i++)
    syn__pack_keys(t,
                   syn_matrix_of(k + (size_t)off[i] * (size_t)a->e, off[i + 1] - off[i], a->e, 0),
                   syn__source_key_block(t, n, i, 0));
}
static const syn_kind syn__kind_mh_dot_src_att = {
    "mh_dot_src_att", "i:heads f:scale w:source i:c f:dropout", 1, syn__src_att_build,
    syn__src_att_shape, syn__att_forward, syn__att_backward, syn__src_att_start, syn__att_step,
    syn__att_cost};

/* ==============================================================================================
   >>kind light_conv   y = conv(u) W_out^T + b_out, u = glu(x W_in^T + b_in); also dyn_conv
   ============================================================================================== */

/*
   Lightweight and dynamic convolutions (Wu, Fan, Baevski, Dauphin, Auli 2019, sections 3 and 4): a
   depthwise convolution whose k taps are softmax weights shared by the channels of a head,

     conv_{t,ch} = sum_tap p_tap u_{t + first + tap, ch}

   light_conv: p = softmax(w_h), w [H,k], the same at every position. dyn_conv: p = softmax of the
   logits u_t W_k^T, W_k [H k,d]. first = -floor(k/2) in an encoder, -(k-1) in a decoder, which is
   its causal mask. Inputs outside the sentence are 0; p is not rescaled for them.
   x, u, y [rows,d], W_in [2d,d], W_out [d,d], d/H channels per head.
   saved for backward: the buffers below. KV cache of a token: its u. */

enum {
  SYN__LC_ROWS,  /* z = x W_in^T + b_in [rows,2d], u [rows,d], conv(u) [rows,d] */
  SYN__LC_DROWS, /* their gradients */
  SYN__LC_P,     /* [H,k], dyn_conv [rows,H,k] */
  SYN__LC_DP     /* [rows,H,k] */
};
/* Where the parts of SYN__LC_ROWS begin, in units of rows * d. */
enum { SYN__LC_Z = 0, SYN__LC_U = 2, SYN__LC_CONV = 3 };
enum { SYN__W_IN, SYN__B_IN, SYN__W_TAPS, SYN__W_OUT, SYN__B_OUT };

typedef struct syn__light {
  syn__depthwise taps; /* of any sentence, without its rows and its w */
  int dynamic, table; /* table: heads * taps */
} syn__light;

static const syn__light *syn__light_of(const syn_node *n) { return (const syn__light *)n->own; }
/* A part of SYN__LC_ROWS, or of its gradients. */
static float *syn__light_rows(const syn_tape *t, const syn_node *n, int buffer, int part) {
  return syn_saved(t, n, buffer) + (size_t)part * syn_count(syn_out(t, n));
}
/* u or conv(u) as a tensor; its gradient is null in a run without backward. */
static syn_tensor syn__light_tensor(const syn_tape *t, const syn_node *n, int part) {
  syn_tensor a = *syn_out(t, n);
  a.x = syn__light_rows(t, n, SYN__LC_ROWS, part);
  a.dx = a.dx ? syn__light_rows(t, n, SYN__LC_DROWS, part) : NULL;
  return a;
}

static syn_status syn__light_shape_of(syn_build *b, syn_node *n, int dynamic) {
  syn__light *l = (syn__light *)syn_build_own(b, n, sizeof *l);
  int heads = syn_arg_int(b, "heads", b->config->heads, 1, 4096);
  int k = syn_arg_int(b, "k", 7, 1, 65536), d = syn_build_width(b, n, 0), table;
  syn_extent e = {0, 0, 0, 0, 0};
  if (!l) return SYN_E_MEMORY;
  if (d % heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%d heads do not divide width %d", heads, d);
  if (k > SYN__MAX_WIDTH / heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%d heads of %d taps, wanted %d in all at most", heads,
                           k, SYN__MAX_WIDTH);
  if (d > SYN__MAX_ROW / k)
    return syn__fail_build(b, SYN_E_SHAPE, "k is %d and the input %d wide, wanted %d numbers in a"
                           " window at most", k, d, SYN__MAX_ROW);
  l->dynamic = dynamic;
  l->table = table = heads * k;
  l->taps.width = d;
  l->taps.heads = heads;
  l->taps.taps = k;
  l->taps.first = -(b->decoder ? k - 1 : k / 2);
  if (dynamic) l->taps.w_row = (size_t)table; /* else 0: all rows have the same p */
  if (syn__matrix_param(b, n, "w_in", 2 * d, d) || syn__bias_param(b, n, "b_in", 2 * d) ||
      (dynamic ? syn__matrix_param(b, n, "w_k", table, d)
               : syn__matrix_param(b, n, "w", heads, k)) ||
      syn__matrix_param(b, n, "w_out", d, d) || syn__bias_param(b, n, "b_out", d))
    return SYN_E_SHAPE;
  *(dynamic ? &e.row : &e.fixed) = (size_t)table;
  if (syn_build_save_rows(b, n, SYN_BOTH, 4 * (size_t)d) ||
      syn_build_save_rows(b, n, SYN_BACKWARD, 4 * (size_t)d) ||
      syn_build_save(b, n, SYN_BOTH, e) || syn_build_save_rows(b, n, SYN_BACKWARD, (size_t)table))
    return SYN_E_SHAPE;
  n->cache = d;
  n->scratch.fixed = (size_t)k * (size_t)d; /* the window of a step; dp summed over all rows */
  return syn_build_out_like(b, n, 0);
}
static syn_status syn__light_shape(syn_build *b, syn_node *n) {
  return syn__light_shape_of(b, n, 0);
}
static syn_status syn__dyn_shape(syn_build *b, syn_node *n) { return syn__light_shape_of(b, n, 1); }

/* -- forward, step -- */

/* p = softmax of every group of k logits, in place: [groups,k] */
static void syn__task_taps(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, k = (size_t)syn__light_of(n)->taps.taps;
  float *p = syn_saved(t, n, SYN__LC_P);
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) t->k->softmax(p + i * k, p + i * k, k);
}
/* The convolution of sentence s; its first number is number *at of [rows,d]. */
static syn__depthwise syn__light_sentence(const syn_tape *t, const syn_node *n, size_t s,
                                          size_t *at) {
  const int *off = t->stream[t->g->values[n->out].stream].off;
  syn__depthwise j = syn__light_of(n)->taps;
  j.rows = off[s + 1] - off[s];
  j.w = syn_saved(t, n, SYN__LC_P) + (size_t)off[s] * j.w_row;
  *at = (size_t)off[s] * (size_t)j.width;
  return j;
}
/* conv(u) of whole sentences, which do not see each other. Items: sentences. */
static void syn__task_light(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const float *u = syn__light_rows(t, n, SYN__LC_ROWS, SYN__LC_U);
  float *conv = syn__light_rows(t, n, SYN__LC_ROWS, SYN__LC_CONV);
  size_t s, at;
  SYN__UNUSED(thread);
  for (s = begin; s < end; s++) {
    syn__depthwise j = syn__light_sentence(t, n, s, &at);
    t->k->taps(&j, conv + at, u + at, 0, j.rows, 0);
  }
}
/* One new token each: its window, copied from the KV cache, is a sentence whose row 0 sees all. */
static void syn__task_light_step(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  float *conv = syn__light_rows(t, n, SYN__LC_ROWS, SYN__LC_CONV), *window = syn_scratch(t, thread);
  size_t r, width = (size_t)syn_width(syn_out(t, n));
  for (r = begin; r < end; r++) {
    syn__depthwise j = syn__light_of(n)->taps;
    int i, place = t->at[SYN_TGT][r];
    j.rows = syn__min(j.taps, place + 1); /* fewer at the beginning of a sentence */
    j.first = j.rows - j.taps;            /* row 0 of the window is the oldest token */
    j.w = syn_saved(t, n, SYN__LC_P) + r * j.w_row;
    for (i = 0; i < j.rows; i++)
      memcpy(window + (size_t)i * width, syn_cache_row(t, n, (int)r, place + 1 - j.rows + i),
             width * sizeof *window);
    t->k->taps(&j, conv + r * width, window, 0, 1, 0);
  }
}
/* All rows of a batch, or (step 1) the new rows of a step. */
static void syn__light_run(syn_tape *t, const syn_node *n, int step) {
  const syn__light *l = syn__light_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  syn_tensor u = syn__light_tensor(t, n, SYN__LC_U), conv = syn__light_tensor(t, n, SYN__LC_CONV);
  float *z = syn__light_rows(t, n, SYN__LC_ROWS, SYN__LC_Z), *p = syn_saved(t, n, SYN__LC_P);
  size_t rows = syn_rows(x), width = (size_t)l->taps.width;
  syn__linear_forward(t, n, SYN__W_IN, SYN__B_IN, x, z);
  syn__glu_forward(t, u.x, z, rows, width);
  /* the logits of the taps, then their softmax in place */
  if (l->dynamic) syn__linear_forward(t, n, SYN__W_TAPS, -1, &u, p);
  else memcpy(p, syn_weight(t, n, SYN__W_TAPS), (size_t)l->table * sizeof *p);
  syn_parallel(t, syn__task_taps, n, (l->dynamic ? rows : 1) * (size_t)l->taps.heads, 8);
  if (step) syn__conv_cache_write(t, n, 0, width, u.x);
  if (step) syn_parallel(t, syn__task_light_step, n, rows, 1);
  else syn_parallel(t, syn__task_light, n, (size_t)syn_out_stream(t, n)->count, 1);
  syn__linear_forward(t, n, SYN__W_OUT, SYN__B_OUT, &conv, syn_out(t, n)->x);
}
static void syn__light_forward(syn_tape *t, const syn_node *n) { syn__light_run(t, n, 0); }
static void syn__light_step(syn_tape *t, const syn_node *n) { syn__light_run(t, n, 1); }

/* -- backward -- */

/* dp_r[h][tap] = sum over the channels of head h of dy_r u_{r + first + tap}; 0 outside the
   sentence */
static void syn__light_dots(const syn_tape *t, const syn__depthwise *j, float *dp, const float *dy,
                            const float *u) {
  size_t c = (size_t)(j->width / j->heads), width = (size_t)j->width;
  int r, h, tap;
  for (r = 0; r < j->rows; r++)
    for (h = 0; h < j->heads; h++, dy += c)
      for (tap = 0; tap < j->taps; tap++) {
        int at = r + j->first + tap;
        *dp++ = at >= 0 && at < j->rows
                    ? t->k->dot(dy, u + (size_t)at * width + (size_t)h * c, c) : 0.0f;
      }
}
/* du and dp of each sentence; dyn_conv: dp becomes the gradient of the logits, row by row */
static void syn__task_light_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__light *l = syn__light_of(n);
  const syn_tensor u = syn__light_tensor(t, n, SYN__LC_U);
  const float *dy = syn__light_rows(t, n, SYN__LC_DROWS, SYN__LC_CONV);
  size_t s, i, at, k = (size_t)l->taps.taps;
  SYN__UNUSED(thread);
  for (s = begin; s < end; s++) {
    syn__depthwise j = syn__light_sentence(t, n, s, &at);
    float *dp = syn_saved(t, n, SYN__LC_DP) + at / (size_t)j.width * (size_t)l->table;
    t->k->taps(&j, u.dx + at, dy + at, 0, j.rows, 1);
    syn__light_dots(t, &j, dp, dy + at, u.x + at);
    for (i = 0; l->dynamic && i < (size_t)(j.rows * j.heads); i++)
      t->k->softmax_back(dp + i * k, j.w + i * k, dp + i * k, k);
  }
}
/* light_conv: dw = dp summed over all rows in order, then through the softmax of each head */
static void syn__light_taps_back(syn_tape *t, const syn_node *n) {
  const syn__light *l = syn__light_of(n);
  float *sum = syn_scratch(t, 0);
  const float *p = syn_saved(t, n, SYN__LC_P);
  size_t h, k = (size_t)l->taps.taps, table = (size_t)l->table;
  memset(sum, 0, table * sizeof *sum);
  syn__column_sums(t, sum, syn_saved(t, n, SYN__LC_DP), syn_rows(syn_out(t, n)), table);
  for (h = 0; h < table; h += k) t->k->softmax_back(sum + h, p + h, sum + h, k);
  t->k->acc(syn_dweight(t, n, SYN__W_TAPS), sum, table);
}
/* W_out, convolution, taps, glu, W_in. The products add, so du and dconv begin at 0. */
static void syn__light_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  syn_tensor u = syn__light_tensor(t, n, SYN__LC_U), conv = syn__light_tensor(t, n, SYN__LC_CONV);
  float *z = syn__light_rows(t, n, SYN__LC_ROWS, SYN__LC_Z);
  float *dz = syn__light_rows(t, n, SYN__LC_DROWS, SYN__LC_Z);
  memset(u.dx, 0, 2 * syn_count(y) * sizeof *u.dx); /* du, and dconv behind it */
  syn__linear_backward(t, n, SYN__W_OUT, SYN__B_OUT, &conv, y->dx);
  syn_parallel(t, syn__task_light_back, n, (size_t)syn_out_stream(t, n)->count, 1);
  if (!syn__light_of(n)->dynamic) syn__light_taps_back(t, n);
  else syn__linear_backward(t, n, SYN__W_TAPS, -1, &u, syn_saved(t, n, SYN__LC_DP));
  syn__glu_backward(t, dz, z, u.dx, syn_rows(y), (size_t)syn_width(y));
  syn__linear_backward(t, n, SYN__W_IN, SYN__B_IN, syn_in(t, n, 0), dz);
}

/* The generic cost counts the parameters; w [H,k] of light_conv is no matrix. Convolution: k d. */
static void syn__light_cost(const syn_node *n, syn_cost *cost) {
  const syn__light *l = syn__light_of(n);
  cost->multiply_adds += (double)l->taps.taps * l->taps.width - (l->dynamic ? 0 : l->table);
}
static const syn_kind syn__kind_light_conv = {
    "light_conv", "i:k i:heads f:dropout", 1, NULL, syn__light_shape, syn__light_forward,
    syn__light_backward, NULL, syn__light_step, syn__light_cost};
static const syn_kind syn__kind_dyn_conv = {
    "dyn_conv", "i:k i:heads f:dropout", 1, NULL, syn__dyn_shape, syn__light_forward,
    syn__light_backward, NULL, syn__light_step, syn__light_cost};

/* light_conv: its tap weights do not depend on the input. */
static int syn__lower_light(syn__small_build *l, const syn_node *n) {
  const syn__light *own = syn__light_of(n);
  const syn__depthwise *t = &own->taps;
  int u, h;
  int32_t a[6];
  float *p;
  if (own->dynamic) return syn__lower_refuse(l, n, "taps made from the token");
  u = syn__lower_linear(l, syn__lower_in(l, n, 0), n->param[SYN__W_IN], n->param[SYN__B_IN], 0);
  u = syn__lower_window(l, syn__lower_glu(l, u), t->taps, 1, t->first);
  a[1] = syn__lower_read(l, u);
  p = (float *)syn__lower_data(l, (size_t)own->table * sizeof *p, &a[2]);
  for (h = 0; h < t->heads && p; h++)
    l->c->kernels->softmax(p + h * t->taps, l->g->params[n->param[SYN__W_TAPS]].x + h * t->taps,
                           (size_t)t->taps);
  a[3] = t->taps;
  a[4] = t->width;
  a[5] = t->heads;
  l->heads = syn__max(l->heads, t->heads);
  a[0] = u = syn__lower_new(l, t->width);
  syn__lower_emit(l, SYN__SMALL_OP_taps, a, 6);
  return syn__lower_linear(l, u, n->param[SYN__W_OUT], n->param[SYN__B_OUT], 0);
}

#endif /* !SYN_SMALL */

/* taps y, window, weights, taps, width, heads: y_c = sum_k weights_hk window_kc, c of head h */
static long syn__small_taps(syn_small *s, const int32_t *a) {
  int32_t taps = a[3], width = a[4], c, k;
  const float *u = syn__small_row(s, a[1], taps * width), *w = syn__small_floats(s, a[2]);
  float *y = syn__small_row(s, a[0], width);
  for (c = 0; c < width; c++) {
    const float *p = w + (uint32_t)c * (uint32_t)a[5] / (uint32_t)width * (uint32_t)taps;
    float sum = 0.0f;
    for (k = 0; k < taps; k++) sum = sum + p[k] * u[k * width + c];
    y[c] = sum;
  }
  return (long)taps * width;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>kind mlp_src_att   s_ij = w_s . tanh(W_q q_i + W_k u_j), context_i = sum_j softmax(s_i)_j u_j
   ============================================================================================== */

/*
   Additive cross-attention (Bahdanau, Cho, Bengio 2015, section A.1.2). Queries q [rows,d] of the
   decoder; u [source rows,d_src], the encoder's output, gives keys and values: the output has width
   d_src. W_q [n,d], W_k [n,d_src], w_s [n]. A = q W_q^T and B = u W_k^T are products over all rows;
   the scores s_ij = w_s . tanh(A_i + B_j) are computed sentence by sentence. Threads split the
   sentences; dw_s is summed per sentence, then over the sentences.
   saved for backward: 0 P [pairs], before dropout   1 A, then B, [rows,n] each   2 dA, dB, then
   dw_s [sentences,n].
   KV cache of a source token: its B, then its u. Dropout: of P alone, none of the output. */

enum { SYN__MLP_P, SYN__MLP_ROWS, SYN__MLP_DROWS };
enum { SYN__MLP_A, SYN__MLP_B, SYN__MLP_W }; /* blocks of the buffers of rows */
enum { SYN__MLP_W_Q, SYN__MLP_W_K, SYN__MLP_W_S };

/* n, the width of A and B */
static int syn__mlp_wide(const syn_node *n) { return *(const int *)n->own; }

static syn_status syn__mlp_shape(syn_build *b, syn_node *n) {
  int wide = syn_arg_int(b, "n", b->config->d_model, 1, SYN__MAX_WIDTH);
  int d_src = syn_build_width(b, n, 1);
  const syn_part parts[] = {{"q", SYN__MLP_ROWS, SYN_PART_ROWS, 0, 1, wide},
                            {"k", SYN__MLP_ROWS, SYN_PART_KEYS, wide, 1, wide}};
  const syn_extent e = {0, 0, 1, 0, 0}; /* a float per pair */
  n->seen_heads = 1;
  n->seen = SYN__MLP_P;
  n->source_cache = wide + d_src;
  syn__attention_scratch(n, d_src);
  if (syn__own_copy(b, n, &wide, sizeof wide)) return SYN_E_MEMORY;
  if (syn__matrix_param(b, n, "w_q", wide, syn_build_width(b, n, 0)) ||
      syn__matrix_param(b, n, "w_k", wide, d_src) ||
      syn_build_param(b, n, "w_s", syn_initial_glorot(wide, 1), 1, &wide))
    return SYN_E_SHAPE;
  if (syn_build_save(b, n, SYN_BOTH, e) || syn_build_save_rows(b, n, SYN_BOTH, 2 * (size_t)wide) ||
      syn_build_save_rows(b, n, SYN_BACKWARD, 3 * (size_t)wide) || syn__parts(b, n, parts, 2))
    return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d_src);
}

/* A, B, dw_s, or their gradients: block `which` of a buffer of rows. */
static float *syn__mlp_block(const syn_tape *t, const syn_node *n, int buffer, int which) {
  return syn_saved(t, n, buffer) + (size_t)which * (size_t)syn__mlp_wide(n) * syn__att_rows(t, n);
}

/* One sentence as a head: queries A, keys B, values u. */
static syn__attention syn__mlp_head(const syn_tape *t, const syn_node *n, size_t sentence,
                                    int thread) {
  int to = t->g->values[n->out].stream, from = t->g->values[n->in[1]].stream;
  const int *q = t->stream[to].off + sentence, *k = t->stream[from].off + sentence;
  const syn_tensor *u = syn_in(t, n, 1);
  syn__attention o = syn__attention_of(t, n, q[1] - q[0], k[1] - k[0], syn_width(u));
  o.add = 1; /* W_k adds to du, too */
  o.q_row = o.k_row = (size_t)syn__mlp_wide(n); /* n, the width of A and B */
  o.v_row = o.y_row = (size_t)o.c;      /* d_src */
  o.q = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A) + (size_t)q[0] * o.q_row;
  o.k = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_B) + (size_t)k[0] * o.k_row;
  o.v = u->x + (size_t)k[0] * o.v_row;
  o.y = syn_out(t, n)->x + (size_t)q[0] * o.y_row;
  o.drop_index = t->pairs[to][from][sentence]; /* pairs of the sentences before */
  o.p = syn_saved(t, n, SYN__MLP_P) + o.drop_index;
  o.pack = syn_scratch(t, thread);
  o.x = o.pack + o.v_row * syn__round16((size_t)o.g.nk);
  return o;
}

/* Operands of the kernel for row a of A and `keys` rows of B, b_row floats apart. */
static syn__additive syn__mlp_operands(const syn_tape *t, const syn_node *n, const float *a,
                                       const float *b, size_t b_row, int keys) {
  const syn__additive j = {
      syn_weight(t, n, SYN__MLP_W_S), a, b, (size_t)syn__mlp_wide(n), (size_t)keys, b_row};
  return j;
}
/* -- forward, backward -- */

/* Scores, attention weights and contexts of whole sentences. */
static void syn__task_mlp(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t s, i;
  for (s = begin; s < end; s++) {
    syn__attention o = syn__mlp_head(t, n, s, thread);
    for (i = 0; i < (size_t)o.g.nq; i++) {
      syn__additive a = syn__mlp_operands(t, n, o.q + i * o.q_row, o.k, o.k_row, o.g.nk);
      t->k->additive(o.p + i * a.keys, &a);
    }
    syn__attention_forward(t, &o);
  }
}
/* A and B of all rows at once, then the sentences. */
static void syn__mlp_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, SYN__MLP_W_Q, -1, syn_in(t, n, 0),
                      syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A));
  syn__linear_forward(t, n, SYN__MLP_W_K, -1, syn_in(t, n, 1),
                      syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_B));
  syn_parallel(t, syn__task_mlp, n, (size_t)syn__att_stream(t, n)->count, 1);
}

/* du += Pd^T dY; the kernel adds the gradients of the scores to dA_i, dB, dw_s of the sentence. dA
   and dB lie in their buffer as A and B in theirs. */
static void syn__task_mlp_back(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *u = syn_in(t, n, 1), *y = syn_out(t, n);
  const float *rows = syn_saved(t, n, SYN__MLP_ROWS);
  float *drows = syn_saved(t, n, SYN__MLP_DROWS), *dw;
  size_t s, i;
  for (s = begin; s < end; s++) {
    syn__attention o = syn__mlp_head(t, n, s, thread);
    dw = syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_W) + s * (size_t)syn__mlp_wide(n);
    o.dv = u->dx + (o.v - u->x);
    o.dy = y->dx + (o.y - y->x);
    syn__attention_back(t, &o);
    for (i = 0; i < (size_t)o.g.nq; i++) {
      syn__additive a = syn__mlp_operands(t, n, o.q + i * o.q_row, o.k, o.k_row, o.g.nk);
      t->k->additive_back(&a, o.p + i * a.keys, drows + (a.a - rows), drows + (o.k - rows), dw);
    }
  }
}
/* The kernel and the products add, so dA, dB and dw_s begin at 0. */
static void syn__mlp_backward(syn_tape *t, const syn_node *n) {
  size_t wide = (size_t)syn__mlp_wide(n);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  memset(syn_saved(t, n, SYN__MLP_DROWS), 0, 3 * wide * syn__att_rows(t, n) * sizeof(float));
  syn_parallel(t, syn__task_mlp_back, n, sentences, 1);
  syn__column_sums(t, syn_dweight(t, n, SYN__MLP_W_S),
                   syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_W), sentences, wide);
  syn__linear_backward(t, n, SYN__MLP_W_Q, -1, syn_in(t, n, 0),
                       syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_A));
  syn__linear_backward(t, n, SYN__MLP_W_K, -1, syn_in(t, n, 1),
                       syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_B));
}

/* -- decoding -- */

/* B and u of the source into the KV cache, once per sentence. */
static void syn__mlp_start(syn_tape *t, const syn_node *n) {
  const syn_tensor *u = syn_in(t, n, 1);
  size_t r, rows = syn_rows(u), wide = (size_t)syn__mlp_wide(n), d = (size_t)syn_width(u);
  float *to = t->decode->source_cache[n->id], *b = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_B);
  syn__linear_forward(t, n, SYN__MLP_W_K, -1, u, b);
  for (r = 0; r < rows; r++, to += n->source_cache) {
    memcpy(to, b + r * wide, wide * sizeof *to);
    memcpy(to + wide, u->x + r * d, d * sizeof *to);
  }
}

/* Items: new tokens. The kernels of forward over the KV cache, whose rows hold B and u. */
static void syn__task_mlp_rows(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  const syn__decode_state *l = t->decode;
  const float *rows = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A);
  float *p = syn_scratch(t, thread);
  size_t r, d = (size_t)syn_width(y), wide = (size_t)syn__mlp_wide(n);
  size_t row = (size_t)n->source_cache;
  for (r = begin; r < end; r++) {
    const float *b = syn_source_cache(t, n, (int)r, 0);
    const int *off = l->source_off + l->sentence[r];
    syn__additive a = syn__mlp_operands(t, n, rows + r * wide, b, row, off[1] - off[0]);
    t->k->additive(p, &a);
    t->k->softmax(p, p, a.keys);
    syn__gemm_serial(t, syn_matrix_of(y->x + r * d, 1, (int)d, 0),
                     syn_matrix_of(p, 1, (int)a.keys, 0),
                     syn_matrix_of(b + a.n, (int)a.keys, (int)d, a.b_row), 0, NULL);
  }
}
/* A of the new rows; B and u are in the KV cache. */
static void syn__mlp_step(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, SYN__MLP_W_Q, -1, syn_in(t, n, 0),
                      syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A));
  syn_parallel(t, syn__task_mlp_rows, n, (size_t)t->decode->rows, 1);
}

/* W_k is applied once per source token, not per token; a pair costs n + d_src. */
static void syn__mlp_cost(const syn_node *n, syn_cost *cost) {
  int wide = syn__mlp_wide(n);
  cost->multiply_adds -= (double)wide * (n->source_cache - wide);
  cost->multiply_adds += (double)cost->length * n->source_cache;
}
static const syn_kind syn__kind_mlp_src_att = {
    "mlp_src_att", "i:n f:dropout", SYN_SOURCE_WIDTH | SYN_OWN_DROPOUT, syn__src_att_build,
    syn__mlp_shape, syn__mlp_forward, syn__mlp_backward, syn__mlp_start, syn__mlp_step,
    syn__mlp_cost};

/* ==============================================================================================
   >>kind aop   per head softmax(q (sqrt(d) K)^T / sqrt(c_k)) (sqrt(d) V): attention over parameters
   ============================================================================================== */

/*
   (Vaswani et al. 2017, in an early version of the preprint: "Two feed-forward layers = attention
   over parameters"; it replaces a feed-forward layer.) x [rows,d], queries q = x W_q^T
   [rows, H c_k]; the keys K [H,n,c_k] and values V [H,n,c_v] are parameters. P = softmax of the
   scores [rows,n], Y_h = Pd V_h, out = [Y_1; ...; Y_H] W_o^T, W_q [H c_k,d], W_o [d, H c_v]. There
   is no mask: no row sees another row.
   saved for backward: 0 q sqrt(d/c_k), then Y, [rows, H c_k] and [rows, H c_v]   1 their gradients.
   P is computed for a block of rows at a time, which stays in the second-level cache, and computed
   again in backward: all of it would be rows H n floats. */

enum { SYN__AOP_W_Q, SYN__AOP_KEYS, SYN__AOP_VALUES, SYN__AOP_W_O };

typedef struct syn__aop {
  int heads, keys, c_k, c_v;
  float scale, lift; /* sqrt(d/c_k), applied to q; sqrt(d), applied to Y */
} syn__aop;

static const syn__aop *syn__aop_of(const syn_node *n) { return (const syn__aop *)n->own; }

/* Width of a head's keys or values: d/H where the argument is not given. */
static int syn__aop_width(syn_build *b, const char *name, int d, int heads) {
  int c = syn_arg_int(b, name, 0, 1, SYN__MAX_WIDTH);
  if (c == 0 && d % heads)
    syn__fail_build(b, SYN_E_SHAPE, "%d heads do not divide width %d, and %s is not given", heads,
                    d, name);
  if (c == 0) c = d / heads;
  if (c > SYN__MAX_WIDTH / heads)
    syn__fail_build(b, SYN_E_SHAPE, "%d heads of %s %d, wanted %d in all at most", heads, name, c,
                    SYN__MAX_WIDTH);
  return c;
}
static syn_status syn__aop_shape(syn_build *b, syn_node *n) {
  syn__aop *a = (syn__aop *)syn_build_own(b, n, sizeof *a);
  int d = syn_build_width(b, n, 0), shape[3]; /* of keys, then of values */
  syn_initial init = syn_initial_of(SYN_INIT_NORMAL, 1.0 / sqrt((double)d));
  size_t columns, wide;
  if (!a) return SYN_E_MEMORY;
  a->heads = syn_arg_int(b, "heads", b->config->heads, 1, 4096);
  a->keys = syn_arg_int(b, "keys", 3 * d, 1, SYN__MAX_ROW);
  a->c_k = syn__aop_width(b, "c_k", d, a->heads);
  a->c_v = syn__aop_width(b, "c_v", d, a->heads);
  if (b->c->status) return b->c->status;
  a->scale = (float)sqrt((double)d / (double)a->c_k);
  a->lift = (float)sqrt((double)d);
  shape[0] = a->heads;
  shape[1] = a->keys;
  shape[2] = a->c_k;
  if (syn__matrix_param(b, n, "w_q", a->heads * a->c_k, d) ||
      syn_build_param(b, n, "keys", init, 3, shape))
    return SYN_E_SHAPE;
  shape[2] = a->c_v;
  if (syn_build_param(b, n, "values", init, 3, shape) ||
      syn__matrix_param(b, n, "w_o", d, a->heads * a->c_v))
    return SYN_E_SHAPE;
  wide = (size_t)(a->heads * (a->c_k + a->c_v));
  if (syn_build_save_rows(b, n, SYN_BOTH, wide) || syn_build_save_rows(b, n, SYN_BACKWARD, wide))
    return SYN_E_SHAPE;
  columns = syn__round16((size_t)a->keys);
  /* of syn__aop_attention: panels of K^T and V^T, then two blocks of attention weights */
  n->scratch.fixed = syn__add_size(syn__mul_size(columns, (size_t)(a->c_k + a->c_v)),
                                   syn__mul_size(SYN__QUERIES, 2 * columns + 16));
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d);
}

/* Y [rows, H c_v], behind q; its gradient in buffer 1 */
static float *syn__aop_y(const syn_tape *t, const syn_node *n, int buffer) {
  const syn__aop *a = syn__aop_of(n);
  return syn_saved(t, n, buffer) + (size_t)(a->heads * a->c_k) * syn_rows(syn_out(t, n));
}

/* Head h of the block of rows that begins with `row`, as attention to n keys. c is c_k, and must be
   set to c_v for products with values. Scratch: K_h^T and V_h^T in panels, P, a block of Pd. */
static syn__attention syn__aop_attention(const syn_tape *t, const syn_node *n, size_t h, size_t row,
                                         int thread) {
  const syn__aop *a = syn__aop_of(n);
  size_t keys = (size_t)a->keys, left = syn_rows(syn_out(t, n)) - row;
  int rows = left < SYN__QUERIES ? (int)left : SYN__QUERIES;
  syn__attention o = syn__attention_of(t, n, rows, a->keys, a->c_k);
  o.add = 1; /* all rows add to the gradients of the keys and values */
  o.k_row = (size_t)a->c_k;
  o.v_row = (size_t)a->c_v;
  o.q_row = (size_t)a->heads * o.k_row;
  o.y_row = (size_t)a->heads * o.v_row;
  o.q = syn_saved(t, n, 0) + row * o.q_row + h * o.k_row;
  o.y = syn__aop_y(t, n, 0) + row * o.y_row + h * o.v_row;
  o.k = (float *)syn_weight(t, n, SYN__AOP_KEYS) + h * keys * o.k_row; /* read only, as v */
  o.v = (float *)syn_weight(t, n, SYN__AOP_VALUES) + h * keys * o.v_row;
  o.drop_row = (size_t)a->heads * keys; /* attention weights count as [rows,H,n] */
  o.drop_index = row * o.drop_row + h * keys;
  o.k_panels = syn_scratch(t, thread);
  o.v_panels = o.k_panels + syn__round16(keys) * o.k_row;
  o.p = o.v_panels + syn__round16(keys) * o.v_row;
  o.x = o.p + SYN__QUERIES * keys;
  return o;
}

/* -- forward -- */

/* S of a few new tokens: packing the keys would take longer than the product, so q is packed
   instead. S^T = K q^T [n,rows] has the same bits; x holds it. */
enum { SYN__AOP_FEW = 16 };
static void syn__aop_scores_few(const syn_tape *t, const syn__attention *o) {
  size_t i, j, rows = (size_t)o->g.nq, keys = (size_t)o->g.nk;
  syn_matrix q = syn_matrix_of(o->q, o->g.nq, o->c, o->q_row);
  syn__gemm_serial(t, syn_matrix_of(o->x, o->g.nk, o->g.nq, 0),
                   syn_matrix_of(o->k, o->g.nk, o->c, 0), syn_transposed(q), 0, o->k_panels);
  for (i = 0; i < rows; i++)
    for (j = 0; j < keys; j++) o->p[i * keys + j] = o->x[j * rows + i];
}

/* Blocks of rows of one head. */
static size_t syn__aop_blocks(const syn_tape *t, const syn_node *n) {
  return (syn_rows(syn_out(t, n)) + SYN__QUERIES - 1) / SYN__QUERIES;
}
/* Y = Pd V. Items: the blocks of head 0, those of head 1 ...: a thread packs the keys of a head
   once for all its blocks of that head. */
static void syn__task_aop(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, blocks = syn__aop_blocks(t, n);
  for (i = begin; i < end; i++) {
    size_t block = i % blocks;
    syn__attention o = syn__aop_attention(t, n, i / blocks, block * SYN__QUERIES, thread);
    if (t->decode && o.g.nq <= SYN__AOP_FEW) {
      syn__aop_scores_few(t, &o);
    } else {
      if (i == begin || block == 0)
        syn__pack_keys(t, syn_matrix_of(o.k, o.g.nk, o.c, 0), o.k_panels);
      syn__dot_scores(t, &o);
    }
    o.c = (int)o.v_row; /* from here on, the products have values */
    syn__attention_forward(t, &o);
  }
}
/* Also a decoding step: rows do not see each other. */
static void syn__aop_forward(syn_tape *t, const syn_node *n) {
  const syn__aop *a = syn__aop_of(n);
  syn_tensor y = *syn_out(t, n); /* for its rows */
  size_t rows = syn_rows(&y);
  float *q = syn_saved(t, n, 0);
  y.x = syn__aop_y(t, n, 0);
  syn__linear_forward(t, n, SYN__AOP_W_Q, -1, syn_in(t, n, 0), q);
  t->k->scale(q, a->scale, q, rows * (size_t)(a->heads * a->c_k));
  syn_parallel(t, syn__task_aop, n, syn__aop_blocks(t, n) * (size_t)a->heads, 1);
  t->k->scale(y.x, a->lift, y.x, rows * (size_t)(a->heads * a->c_v));
  syn__linear_forward(t, n, SYN__AOP_W_O, -1, &y, syn_out(t, n)->x);
}

/* -- backward -- */

/* P again; dS, dV += Pd^T dY; dK += dS^T q, whose scale is in q; dq = dS K, scaled later. Items:
   heads; all rows share the keys and values of a head, so one thread walks them in order. */
static void syn__task_aop_back(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t h, row, rows = syn_rows(syn_out(t, n));
  int i;
  for (h = begin; h < end; h++)
    for (row = 0; row < rows; row += SYN__QUERIES) {
      syn__attention o = syn__aop_attention(t, n, h, row, thread);
      size_t keys = h * (size_t)o.g.nk; /* rows of keys and values before those of head h */
      o.dq = syn_saved(t, n, 1) + (o.q - syn_saved(t, n, 0));
      o.dy = syn__aop_y(t, n, 1) + (o.y - syn__aop_y(t, n, 0));
      o.dk = syn_dweight(t, n, SYN__AOP_KEYS) + keys * o.k_row;
      o.dv = syn_dweight(t, n, SYN__AOP_VALUES) + keys * o.v_row;
      if (row == 0) {
        syn__pack_keys(t, syn_matrix_of(o.k, o.g.nk, (int)o.k_row, 0), o.k_panels);
        syn__pack_keys(t, syn_matrix_of(o.v, o.g.nk, (int)o.v_row, 0), o.v_panels);
      }
      syn__dot_scores(t, &o);
      /* x gets Pd, which is not read: syn__attention_back restores it from the signs of P */
      for (i = 0; i < o.g.nq; i++) syn__softmax_row(t, &o, i, o.x, 0);
      o.c = (int)o.v_row;
      syn__attention_back(t, &o);
      o.c = (int)o.k_row;
      syn__dot_scores_back(t, &o);
    }
}
/* W_o, the heads, W_q; the scales of q and Y are those of their gradients, too. */
static void syn__aop_backward(syn_tape *t, const syn_node *n) {
  const syn__aop *a = syn__aop_of(n);
  syn_tensor y = *syn_out(t, n); /* Y and its gradient as a tensor */
  size_t rows = syn_rows(&y), wide = (size_t)(a->heads * a->c_v);
  float *dq = syn_saved(t, n, 1);
  y.x = syn__aop_y(t, n, 0);
  y.dx = syn__aop_y(t, n, 1);
  memset(y.dx, 0, rows * wide * sizeof *y.dx);
  syn__linear_backward(t, n, SYN__AOP_W_O, -1, &y, syn_out(t, n)->dx);
  t->k->scale(y.dx, a->lift, y.dx, rows * wide);
  syn_parallel(t, syn__task_aop_back, n, (size_t)a->heads, 1);
  t->k->scale(dq, a->scale, dq, rows * (size_t)(a->heads * a->c_k));
  syn__linear_backward(t, n, SYN__AOP_W_Q, -1, syn_in(t, n, 0), dq);
}

/* The generic cost counts W_q and W_o; here q K^T and P V. */
static void syn__aop_cost(const syn_node *n, syn_cost *cost) {
  const syn__aop *a = syn__aop_of(n);
  cost->multiply_adds += (double)a->heads * a->keys * (a->c_k + a->c_v);
}
static const syn_kind syn__kind_aop = {
    "aop", "i:heads i:keys i:c_k i:c_v f:dropout", 1, NULL, syn__aop_shape, syn__aop_forward,
    syn__aop_backward, NULL, NULL, syn__aop_cost};

/* ==============================================================================================
   >>kind linformer   attention to k sums of the sentence instead of to its n tokens
   ============================================================================================== */

/*
   (Wang et al. 2020, section 4.) For head h of a sentence of n tokens: K~ = E K_h, V~ = F V_h
   [k,c], P = softmax(Q_h K~^T / sqrt(c)) [n,k], Y_h = Pd V~, out = [Y_1; ...; Y_H] W_o^T. Q, K, V
   [rows,d] = x W_q^T, x W_k^T, x W_v^T, all W [d,d]; E and F [k,N], shared by the heads, of which a
   sentence uses the first n columns. Time and memory grow with n k instead of n^2. Every sum reads
   the whole sentence, so a causal mask is impossible: encoders only.
   The rows buffers are those of syn_att with V as score 0; E and F are the parameters of score 1.
   saved for backward: 0 P [sentence][H][n][k]; in backward dS, then the head's part of dE [k,n]
   1 rows: v, Y, q / sqrt(c), k   2 the gradients of 1   3 as 0: the head's part of dF. Backward
   computes K~ and V~ again. */

/* The part of a head of a sentence in saved buffer 0 or 3: [n,k] or [k,n]. */
static float *syn__lin_part(const syn_tape *t, const syn_node *n, int buffer, int sentence, int h) {
  const syn__att *a = syn__att_of(n);
  const int *off = syn__att_stream(t, n)->off + sentence;
  return syn_saved(t, n, buffer) +
         ((size_t)off[0] * (size_t)a->heads + (size_t)h * (size_t)(off[1] - off[0])) * (size_t)a->k;
}

/* A head with the k sums as keys: nq = n, nk = k. Scratch: a packed matrix of n or k columns; dK~,
   dV~, K~, V~ [k,c]; a block of attention weights. */
static syn__attention syn__lin_head(const syn_tape *t, const syn_node *n, int sentence, int h,
                               float *scratch) {
  const syn__att *a = syn__att_of(n);
  const int *off = syn__att_stream(t, n)->off + sentence;
  size_t kc = (size_t)a->k * (size_t)a->c, e = (size_t)a->e;
  size_t at = (size_t)off[0] * e + (size_t)(h * a->c);
  syn__attention o = syn__attention_of(t, n, off[1] - off[0], a->k, a->c);
  o.q_row = o.y_row = e;
  o.k_row = o.v_row = (size_t)a->c;
  o.q = syn__score_rows(t, n, SYN__ROWS, 0) + at;
  o.y = syn__att_y(t, n, SYN__ROWS) + at;
  o.p = syn__lin_part(t, n, SYN__P, sentence, h);
  o.drop_index = (size_t)(o.p - syn_saved(t, n, SYN__P));
  o.pack = scratch;
  o.dk = scratch + (size_t)a->c * ((size_t)o.g.nq + (size_t)a->k + 16);
  o.dv = o.dk + kc;
  o.k = o.dv + kc;
  o.v = o.k + kc;
  o.x = o.v + kc;
  return o;
}

/* The columns of E (w 0) or F (w 1) for the tokens of the sentence, [k,n]. */
static syn_matrix syn__lin_table(const syn_tape *t, const syn_node *n, const syn__attention *o,
                                 int w) {
  const syn__att *a = syn__att_of(n);
  return syn_matrix_of(syn__att_weight(t, n, 1, w), a->k, o->g.nq, (size_t)a->size);
}
/* K_h (w 0) or V_h (w 1) [n,c], or its gradient. */
static syn_matrix syn__lin_rows(const syn_tape *t, const syn_node *n, const syn__attention *o,
                                int w, int buffer) {
  size_t at = (size_t)(o->y - syn__att_y(t, n, SYN__ROWS));
  float *rows = w ? syn__att_v(t, n, buffer) : syn__att_k(t, n, buffer, 0);
  return syn_matrix_of(rows + at, o->g.nq, o->c, o->y_row);
}
/* K~ = E K_h, V~ = F V_h */
static void syn__lin_sums(const syn_tape *t, const syn_node *n, const syn__attention *o) {
  syn__gemm_serial(t, syn_matrix_of(o->k, o->g.nk, o->c, 0), syn__lin_table(t, n, o, 0),
                   syn__lin_rows(t, n, o, 0, SYN__ROWS), 0, NULL);
  syn__gemm_serial(t, syn_matrix_of(o->v, o->g.nk, o->c, 0), syn__lin_table(t, n, o, 1),
                   syn__lin_rows(t, n, o, 1, SYN__ROWS), 0, NULL);
}
/* w 0: dK_h = E^T dK~, part [k,n] of dE = dK~ K_h^T; w 1: the same with F and V. dsum: dK~, dV~ */
static void syn__lin_sum_back(const syn_tape *t, const syn_node *n, const syn__attention *o, int w,
                              const float *dsum, float *part) {
  syn_matrix d = syn_matrix_of(dsum, o->g.nk, o->c, 0);
  syn__gemm_serial(t, syn__lin_rows(t, n, o, w, SYN__DROWS),
                   syn_transposed(syn__lin_table(t, n, o, w)), d, 0, NULL);
  syn__gemm_serial(t, syn_matrix_of(part, o->g.nk, o->g.nq, 0), d,
                   syn_transposed(syn__lin_rows(t, n, o, w, SYN__ROWS)), 0, o->pack);
}

/* K~, V~, then attention of the n queries to them. */
static void syn__task_linformer(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn_node *n = (const syn_node *)job;
  int i, heads = syn__att_of(n)->heads;
  for (i = (int)begin; i < (int)end; i++) {
    syn__attention o = syn__lin_head(t, n, i / heads, i % heads, syn_scratch(t, thread));
    syn__lin_sums(t, n, &o);
    syn__dot_scores(t, &o);
    syn__attention_forward(t, &o);
  }
}
/* K~ and V~ again; dq, dK~, dV~; then dk, dv and this head's parts of dE and dF, which are summed
   later. The part of dE overwrites dS, that of dF is in buffer 3. */
static void syn__task_linformer_back(syn_tape *t, const void *job, int thread, size_t begin,
                                     size_t end) {
  const syn_node *n = (const syn_node *)job;
  int i, heads = syn__att_of(n)->heads;
  for (i = (int)begin; i < (int)end; i++) {
    syn__attention o = syn__lin_head(t, n, i / heads, i % heads, syn_scratch(t, thread));
    size_t at = (size_t)(o.y - syn__att_y(t, n, SYN__ROWS));
    o.dy = syn__att_y(t, n, SYN__DROWS) + at;
    o.dq = syn__score_rows(t, n, SYN__DROWS, 0) + at;
    syn__lin_sums(t, n, &o);
    syn__attention_back(t, &o);
    syn__dot_scores_back(t, &o);
    syn__lin_sum_back(t, n, &o, 0, o.dk, o.p);
    syn__lin_sum_back(t, n, &o, 1, o.dv,
                      syn__lin_part(t, n, SYN__UNMIXED, i / heads, i % heads));
  }
}
/* dE, dF += the parts of all heads of all sentences, in their order. Items: rows of E and F. */
static void syn__task_linformer_tables(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  const syn_stream *stream = syn__att_stream(t, n);
  int table, s, h;
  size_t i;
  SYN__UNUSED(thread);
  for (table = 0; table < 2; table++)
    for (s = 0; s < stream->count; s++)
      for (h = 0; h < a->heads; h++) {
        size_t length = (size_t)syn__stream_length(stream, s);
        const float *part = syn__lin_part(t, n, table ? SYN__UNMIXED : SYN__P, s, h);
        float *sum = syn__att_dweight(t, n, 1, table);
        for (i = begin; i < end; i++)
          t->k->acc(sum + i * (size_t)a->size, part + i * length, length);
      }
}
static void syn__linformer_forward(syn_tape *t, const syn_node *n) {
  syn__att_forward_by(t, n, syn__task_linformer);
}
/* Sentences and heads share E and F, so their gradients are summed when all heads are done. */
static void syn__linformer_backward(syn_tape *t, const syn_node *n) {
  syn__att_backward_by(t, n, syn__task_linformer_back);
  syn_parallel(t, syn__task_linformer_tables, n, (size_t)syn__att_of(n)->k, 1);
}

/* Of linformer and fixed_att, whose first `fixed` heads have no q and k. Both need the whole
   sentence, so a decoder cannot have them. Null: recorded. */
static syn__att *syn__encoder_att(syn_build *b, syn_node *n, int fixed) {
  syn__att *a = (syn__att *)syn_build_own(b, n, sizeof *a);
  if (!a) return NULL;
  if (syn_build_decoder(b)) {
    syn__fail_build(b, SYN_E_TEXT, "reads the whole sentence, so it has no place in a decoder");
    return NULL;
  }
  if (syn__att_heads(b, n, a)) return NULL;
  a->qk = syn__max(0, a->heads - fixed) * a->c;
  return syn__att_only_v(b, n, a) ? NULL : a;
}

/* The columns of E and F [k,N] are positions, so N limits the length of a sentence. */
static syn_status syn__linformer_shape(syn_build *b, syn_node *n) {
  syn__att *a = syn__encoder_att(b, n, 0);
  syn_initial init;
  syn_extent part = {0, 0, 0, 0, 0};
  size_t c, k;
  int shape[2];
  if (!a) return SYN_E_SHAPE;
  shape[0] = a->k = n->seen_keys = syn_arg_int(b, "k", 32, 1, 65536);
  shape[1] = a->size = n->table = b->config->max_len;
  a->param[1] = n->n_param;
  init = syn_initial_glorot(shape[1], shape[0]);
  if (syn_build_param(b, n, "e", init, 2, shape) || syn_build_param(b, n, "f", init, 2, shape))
    return SYN_E_SHAPE;
  c = (size_t)a->c;
  k = (size_t)a->k;
  part.row = (size_t)a->heads * k;
  if (syn_build_save(b, n, SYN_BOTH, part) ||
      syn_build_save_rows(b, n, SYN_BOTH, (size_t)a->row_floats) ||
      syn_build_save_rows(b, n, SYN_BACKWARD, (size_t)a->row_floats) ||
      syn_build_save(b, n, SYN_BACKWARD, part))
    return SYN_E_SHAPE;
  /* of syn__lin_head */
  n->scratch.fixed = syn__add_size(syn__mul_size(c, 16 + 5 * k), SYN__QUERIES * (k + 32));
  n->scratch.length = c;
  n->seen_heads = a->heads;
  n->seen = SYN__P;
  return syn__att_parts(b, n, a) ? SYN_E_SHAPE
                                 : syn_build_out(b, n, syn_build_stream(b, n, 0), a->d);
}
/* Projections; E and F, one column each per token; scores and values of k sums. */
static void syn__linformer_cost(const syn_node *n, syn_cost *cost) {
  const syn__att *a = syn__att_of(n);
  cost->multiply_adds = 4.0 * a->d * a->e + 4.0 * a->k * a->e;
}
static const syn_kind syn__kind_linformer = {
    "linformer", "i:k i:heads f:dropout", 1, NULL, syn__linformer_shape, syn__linformer_forward,
    syn__linformer_backward, NULL, NULL, syn__linformer_cost};

/* ==============================================================================================
   >>kind fixed_att   seven heads with fixed attention weights, the other heads learn theirs
   ============================================================================================== */

/*
   (Raganato, Scherrer, Tiedemann 2020, section 3.) Y_h = Pd_h (x W_v^T)_h, out = [Y_1; ...; Y_H]
   W_o^T, W_v, W_o [d,d]. Attention weights P_ij of query i in a sentence of n tokens, i and j from
   0 on, before every row is divided by its sum:

     head 1  j = i            current      head 4  j <= i-2: (j+1)^3    left context
     head 2  j = i - 1        previous     head 5  j >= i+2: (n-j)^3    right context
     head 3  j = i + 1        next         head 6  all j: (j+1)^3       towards the end
                                           head 7  all j: (n-j)^3       towards the start

   An empty row becomes 1 at j = i. Heads from 8 on are V of syn_att: P = softmax(q k^T / sqrt(c)),
   W_q, W_k [(H-7) c, d]. Fixed weights depend on n alone: all sentences share their dropout mask.
   The cubes and their sums, which have a closed form, are computed in double, then rounded once.
   saved for backward: 0 P [pairs,H]   1 rows: v, Y, q / sqrt(c), k   2 the gradients of 1. */

#define SYN__PATTERNS 7

/* cubes [n]: 1 for the patterns of one key; then (j+1)^3 for the odd patterns, (n-j)^3 for the even
   ones; patterns count from 0 */
static void syn__fixed_cubes(int pattern, int n, float *cubes) {
  int j;
  for (j = 0; j < n; j++) {
    double place = pattern < 3 ? 1 : pattern % 2 ? j + 1 : n - j;
    cubes[j] = (float)(place * place * place);
  }
}
/* Row i of a pattern: keys first .. last, else key i. 1^3 + ... + m^3 = (m (m+1) / 2)^2. */
static void syn__fixed_row(const syn_tape *t, int pattern, int i, int n, const float *cubes,
                           float *row) {
  static const int beside[3] = {0, -1, 1};
  int first = pattern == 4 ? i + 2 : 0, last = pattern == 3 ? i - 2 : n - 1;
  double m, root;
  memset(row, 0, (size_t)n * sizeof *row);
  if (pattern < 3) first = last = i + beside[pattern];
  if (first > last || first < 0 || last >= n) {
    row[i] = 1.0f;
    return;
  }
  m = last - first + 1;
  root = m * (m + 1.0) / 2.0; /* of the sum of the m cubes */
  t->k->scale(row + first, (float)(1.0 / (root * root)), cubes + first, (size_t)m);
}

/* One head; q and k only where it learns. Dropout indices: [longest,longest] per fixed head, the
   same for all sentences; behind those one index for every attention weight. */
static syn__attention syn__fixed_head(const syn_tape *t, const syn_node *n, int sentence, int h,
                                 float *scratch) {
  size_t longest = (size_t)syn__att_stream(t, n)->longest;
  syn__attention o = syn__head_of(t, n, sentence, h, scratch);
  if (h < SYN__PATTERNS) {
    o.no_softmax = 1;
    o.drop_index = (size_t)h * longest * longest;
    o.drop_row = longest;
    return o;
  }
  o.drop_index += SYN__PATTERNS * longest * longest; /* behind those of the fixed heads */
  return o;
}

/* Fixed heads: P itself, with the cubes in the scratch of packed keys; others: their scores. */
static void syn__task_fixed(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    int r, h = (int)(i % heads);
    syn__attention o = syn__fixed_head(t, n, (int)(i / heads), h, syn_scratch(t, thread));
    if (o.q) syn__dot_scores(t, &o);
    else syn__fixed_cubes(h, o.g.nk, o.pack);
    for (r = 0; !o.q && r < o.g.nq; r++)
      syn__fixed_row(t, h, r, o.g.nk, o.pack, o.p + (size_t)r * (size_t)o.g.nk);
    syn__attention_forward(t, &o);
  }
}
/* dv = Pd^T dy; heads that learn also dS, dq, dk */
static void syn__task_fixed_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    int sentence = (int)(i / heads), h = (int)(i % heads);
    syn__attention o = syn__fixed_head(t, n, sentence, h, syn_scratch(t, thread));
    if (o.q) {
      syn__attention_back(t, &o);
      syn__dot_scores_back(t, &o);
    } else {
      syn__causal_matmul_tn(t, &o.g, syn__soft_dv(&o, syn__dropped_weights(t, &o), (size_t)o.g.nk));
    }
  }
}
static void syn__fixed_forward(syn_tape *t, const syn_node *n) {
  syn__att_forward_by(t, n, syn__task_fixed);
}
static void syn__fixed_backward(syn_tape *t, const syn_node *n) {
  syn__att_backward_by(t, n, syn__task_fixed_back);
}

/* Heads beyond the seven patterns have q and k; with seven or fewer, none has. */
static syn_status syn__fixed_shape(syn_build *b, syn_node *n) {
  syn__att *a = syn__encoder_att(b, n, SYN__PATTERNS);
  return a ? syn__att_buffers(b, n, a) : SYN_E_SHAPE;
}
/* v, out and the values of all heads; q, k and the scores of the heads that learn. */
static void syn__fixed_cost(const syn_node *n, syn_cost *cost) {
  const syn__att *a = syn__att_of(n);
  cost->multiply_adds = 2.0 * a->d * (a->e + a->qk) + (double)cost->length * (a->e + a->qk);
}
static const syn_kind syn__kind_fixed_att = {
    "fixed_att", "i:heads f:dropout", 1, NULL, syn__fixed_shape, syn__fixed_forward,
    syn__fixed_backward, NULL, NULL, syn__fixed_cost};

/* ==============================================================================================
   >>kinds   the one list of all kinds
   ============================================================================================== */

static const syn_kind *const syn__kinds[] = {
    &syn__kind_pos,
    &syn__kind_learn_pos,
    &syn__kind_dropout,
    &syn__kind_id,
    &syn__kind_linear,
    &syn__kind_ff,
    &syn__kind_cnn,
    &syn__kind_act,
    &syn__kind_norm,
    &syn__kind_rms_norm,
    &syn__kind_rnn,
    &syn__kind_birnn,
    &syn__kind_res,
    &syn__kind_highway,
    &syn__kind_concat,
    &syn__kind_parallel_add,
    &syn__kind_repeat,
    &syn__kind_universal,
    &syn__kind_input_feed,
    &syn__kind_rel_pos,
    &syn__kind_syn_att,
    &syn__kind_mh_dot_src_att,
    &syn__kind_light_conv,
    &syn__kind_dyn_conv,
    &syn__kind_mlp_src_att,
    &syn__kind_aop,
    &syn__kind_linformer,
    &syn__kind_fixed_att,
};

size_t syn_kind_count(void) { return SYN__COUNT(syn__kinds); }
const syn_kind *syn_kind_at(size_t i) { return i < SYN__COUNT(syn__kinds) ? syn__kinds[i] : NULL; }

#endif /* !SYN_SMALL */

/* ==============================================================================================
   >>small   checks a small model, places its RAM, runs its instructions
   ============================================================================================== */

/* 1: the instruction is compiled. */
static int syn__small_has(int32_t code) {
#define SYN__SMALL_IS(name) \
  if (code == SYN__SMALL_OP_##name) return 1;
  SYN_SMALL_KINDS(SYN__SMALL_IS)
#undef SYN__SMALL_IS
  return code == SYN__SMALL_OP_end || code == SYN__SMALL_OP_segment;
}

/* -- checks: every operand of every instruction, once, when a model is opened -- */

/* What a check knows: the array, and the smallest sizes that its places must hold. */
typedef struct syn__small_check {
  const int32_t *w;
  int32_t words, program;
} syn__small_check;

/* 1: `count` elements of `bytes` bytes lie between the place and the end of the array. */
static int syn__small_holds(const syn__small_check *c, int32_t place, int64_t count,
                            int32_t bytes) {
  return place >= SYN__SMALL_HEADER && place < c->words &&
         count * bytes <= 4 * (int64_t)(c->words - place);
}
/* 1: `bytes` at the operand's offset lie within a row of its region. */
static int syn__small_fits(const syn__small_check *c, int32_t operand, int64_t bytes) {
  int32_t region = operand & 7, offset = operand >> 3;
  if (operand < 0 || region >= SYN__SMALL_REGIONS || offset % 4) return 0;
  if (c->program == SYN__SMALL_DECODE ? region == SYN__SMALL_ENCODER : region == SYN__SMALL_TARGET)
    return 0;
  return offset + bytes <= c->w[SYN__SMALL_ROW_BYTES + region];
}
/* 1: the data of a matrix [n,k], of a format that is compiled. */
static int syn__small_is_matrix(const syn__small_check *c, int32_t place, int32_t n, int32_t k) {
  int32_t format;
  if (!syn__small_holds(c, place, 1, 4)) return 0;
  format = c->w[place];
  if (!syn__small_kernel(format, 0) || (format == SYN__SMALL_i4 && k > SYN__SMALL_I4_COLUMNS))
    return 0;
  k = syn__small_panel(format, syn__small_columns(format, k)) / 4 + 4;
  return syn__small_holds(c, place, 1 + (int64_t)syn__small_round4(n) / 4 * k, 4);
}
/* Operand a[i] of the kind `kind`; at: the digits behind it name operands. */
static int syn__small_operand(const syn__small_check *c, const int32_t *a, int32_t i, char kind,
                              const char *at) {
  const int32_t *head = c->w;
  int64_t n = *at >= '0' && *at <= '9' ? a[at[0] - '0'] : 0;
  int64_t k = n && at[1] >= '0' && at[1] <= '9' ? a[at[1] - '0'] : 0;
  int32_t source = head[SYN__SMALL_SOURCE_LEN], target = head[SYN__SMALL_TARGET_LEN];
  switch (kind) {
    case 'n': return a[i] > 0 && a[i] < 65536;
    case 'o': return a[i] == head[SYN__SMALL_TARGET_VOCAB];
    case 'w': return a[i] > 0 && a[i] <= head[SYN__SMALL_WIDEST];
    case 'h': return a[i] > 0 && a[i] <= head[SYN__SMALL_HEADS];
    case 'v': return a[i] == head[c->program == SYN__SMALL_DECODE ? SYN__SMALL_TARGET_VOCAB
                                                               : SYN__SMALL_SOURCE_VOCAB];
    case 'x': return syn__small_fits(c, a[i], 4 * n);
    case 'X': return syn__small_fits(c, a[i], 4 * n * k);
    case 'd': return syn__small_fits(c, a[i], 8 * n);
    case 'l': return syn__small_fits(c, a[i], 16 * n);
    case 'k': return (a[i] & 7) == SYN__SMALL_ENCODER && syn__small_fits(c, a[i], 4 * n);
    case 'r': return syn__small_fits(c, a[i], 12 * n);
    case 'c': return syn__small_fits(c, a[i], n * (4 + ((k + 3) & ~(int64_t)3)));
    case 'm': return syn__small_is_matrix(c, a[i], (int32_t)n, (int32_t)k);
    case 'b': return syn__small_holds(c, a[i], n * k * k, 1);
    case 'g': return !a[i] || syn__small_holds(c, a[i], n, 4);
    case 'f': return syn__small_holds(c, a[i], n, 4);
    case 'F': return syn__small_holds(c, a[i], n * k, 4);
    case 't':
      return syn__small_holds(
          c, a[i], 2 + n * (c->program == SYN__SMALL_DECODE ? target : source), 2);
    default: return kind != '!';
  }
}

/* 1: the operands of an instruction are right. Sizes first: places and rows depend on them. */
static int syn__small_operands(const syn__small_check *c, const int32_t *a, const char *text,
                               int32_t count) {
  int sizes;
  for (sizes = 1; sizes >= 0; sizes--) {
    const char *at = text;
    int32_t i;
    for (i = 0; *at; i++) {
      char kind = *at++;
      int is_size = kind == 'n' || kind == 'w' || kind == 'h' || kind == 'v';
      if (i == count || (is_size == sizes && !syn__small_operand(c, a, i, kind, at))) return 0;
      while (*at >= '0' && *at <= '9') at++;
    }
    if (i != count) return 0;
  }
  return 1;
}
static const char *syn__small_text(int32_t code) {
#define SYN__SMALL_TEXT(name, operands) \
  if (code == SYN__SMALL_OP_##name) return operands;
  SYN__SMALL_LIST(SYN__SMALL_TEXT)
#undef SYN__SMALL_TEXT
  return NULL;
}
static int syn__small_program(syn__small_check *c, int32_t program) {
  int32_t at = c->w[SYN__SMALL_PROGRAMS + program];
  c->program = program;
  if (at < SYN__SMALL_HEADER) return 0;
  for (;;) {
    int32_t code, words;
    const char *text;
    if (at >= c->words) return 0;
    code = c->w[at] & 255;
    words = c->w[at] >> 8;
    text = syn__small_text(code);
    if (!text || !syn__small_has(code) || words < 1 || words > c->words - at ||
        !syn__small_operands(c, c->w + at + 1, text, words - 1) ||
        (code == SYN__SMALL_OP_segment && program != SYN__SMALL_ENCODE))
      return 0;
    if (code == SYN__SMALL_OP_end) return 1;
    at += words;
  }
}
static int syn__small_model(const int32_t *w, size_t size) {
  syn__small_check c = {w, 0, 0};
  int32_t i;
  if (!w || (uintptr_t)w % 4 || size < 4 * SYN__SMALL_HEADER || size > INT32_MAX ||
      w[SYN__SMALL_MAGIC] != SYN__SMALL_VERSION || w[SYN__SMALL_TASK] < 0 ||
      w[SYN__SMALL_TASK] > SYN__SMALL_TAG || w[SYN__SMALL_BYTES] < 4 * SYN__SMALL_HEADER ||
      (size_t)w[SYN__SMALL_BYTES] > size)
    return 0;
  c.words = w[SYN__SMALL_BYTES] / 4;
  for (i = SYN__SMALL_SOURCE_LEN; i < SYN__SMALL_HEADER; i++) {
    int most = i < SYN__SMALL_PROGRAMS ? 65535 : 1 << 24;
    int least = (i == SYN__SMALL_SOURCE_VOCAB && w[SYN__SMALL_TASK] != SYN__SMALL_LM) ||
                        (i == SYN__SMALL_TARGET_VOCAB && w[SYN__SMALL_TASK] <= SYN__SMALL_LM)
                    ? SYN_FIRST_TOKEN : 0;
    if (w[i] < least || w[i] > most) return 0;
    if (i >= SYN__SMALL_ROW_BYTES && w[i] % 4) return 0;
  }
  return syn__small_program(&c, SYN__SMALL_ENCODE) && syn__small_program(&c, SYN__SMALL_CACHE) &&
         syn__small_program(&c, SYN__SMALL_DECODE);
}

/* -- RAM -- */

/* The configuration with its defaults; 0: a value outside its range. */
static int syn__small_config(syn_small_config *k, const int32_t *w, const syn_small_config *from) {
  int text = w[SYN__SMALL_TASK] <= SYN__SMALL_LM;
  memset(k, 0, sizeof *k);
  if (from) *k = *from;
  if (!k->source_len) k->source_len = w[SYN__SMALL_SOURCE_LEN];
  if (!k->max_len) k->max_len = w[SYN__SMALL_TARGET_LEN];
  if (!k->beam) k->beam = 1;
  if (!k->top_k) k->top_k = w[SYN__SMALL_TARGET_VOCAB];
  if (!(k->alpha < 0.0f || k->alpha > 0.0f)) k->alpha = 0.6f;
  if (k->alpha < 0.0f) k->alpha = 0.0f;
  if (k->beam > 1 && (!text || !SYN__SMALL_BEAM)) return 0;
  if (k->temperature > 0.0f && (!text || k->beam > 1 || !SYN__SMALL_SAMPLE)) return 0;
  return k->source_len > 0 && k->source_len <= w[SYN__SMALL_SOURCE_LEN] && k->max_len > 0 &&
         k->max_len <= w[SYN__SMALL_TARGET_LEN] && k->beam > 0 && k->beam <= SYN_SMALL_MAX_BEAM &&
         k->alpha <= 100.0f && k->temperature >= 0.0f && k->temperature <= 1e6f && k->top_k > 0 &&
         k->top_k <= w[SYN__SMALL_TARGET_VOCAB] && k->top_p >= 0.0f && k->top_p <= 1.0f;
}

/* The next `bytes` of RAM, rounded up to 8; *used: of what came before. Null base: only counts. */
static void *syn__small_take(unsigned char *base, int64_t *used, int64_t bytes) {
  void *at = base ? base + *used : NULL;
  *used += (bytes + 7) & ~(int64_t)7;
  return at;
}
/* The memory of sampling, of a beam search; null where there is neither. */
static void syn__small_take_search(syn_small *s, unsigned char *base, int64_t *used) {
  int64_t beam = s->k.beam, rows = 2 * beam * s->k.max_len;
  int64_t most = beam > 1 ? 2 * beam : s->k.top_k, pick = sizeof(syn__small_pick);
  syn__small_search unused, *b;
  if (!(SYN__SMALL_BEAM && beam > 1) && !(SYN__SMALL_SAMPLE && s->k.temperature > 0.0f)) return;
  s->search = (syn__small_search *)syn__small_take(base, used, SYN__SMALL_SEARCH);
  b = base ? s->search : &unused; /* only counted */
  b->most = (int32_t)most;
  b->picks = (syn__small_pick *)syn__small_take(base, used, most * pick);
  if (!SYN__SMALL_BEAM || beam == 1) return;
  b->best = (syn__small_pick *)syn__small_take(base, used, most * pick);
  b->score = (float *)syn__small_take(base, used, 2 * beam * 4);
  b->text = (uint16_t *)syn__small_take(base, used, rows * 2);
  b->answer = (uint16_t *)syn__small_take(base, used, s->k.max_len * 2);
  b->lineage = (unsigned char *)syn__small_take(base, used, rows);
  b->states = (unsigned char *)syn__small_take(
      base, used, 2 * beam * s->w[SYN__SMALL_ROW_BYTES + SYN__SMALL_STATE]);
}
/* Divides the RAM at s, whose w and k are set; `base` null: only counts. Returns the bytes. */
static int64_t syn__small_layout(syn_small *s, unsigned char *base) {
  int64_t used = 0, shared = 0;
  int32_t longest = s->k.source_len > s->k.max_len ? s->k.source_len : s->k.max_len, r;
  int32_t widest = syn__small_round_up(s->w[SYN__SMALL_WIDEST], 32);
  syn__small_take(base, &used, SYN__SMALL_STRUCT);
  for (r = 0; r < SYN__SMALL_REGIONS; r++) {
    int64_t bytes = s->w[SYN__SMALL_ROW_BYTES + r];
    s->count[r] = r == SYN__SMALL_TARGET ? s->k.max_len * s->k.beam
                  : r == SYN__SMALL_ENCODER || r == SYN__SMALL_SOURCE ? s->k.source_len : 1;
    bytes *= s->count[r];
    if (r == SYN__SMALL_ENCODER || r == SYN__SMALL_TARGET) {
      if (bytes > shared) shared = bytes;
    } else if (r != SYN__SMALL_STATE || s->k.beam == 1)
      s->base[r] = (unsigned char *)syn__small_take(base, &used, bytes);
  }
  s->base[SYN__SMALL_ENCODER] = (unsigned char *)syn__small_take(base, &used, shared);
  s->base[SYN__SMALL_TARGET] = s->base[SYN__SMALL_ENCODER];
  s->scores = (float *)syn__small_take(base, &used, 4 * (int64_t)longest * s->w[SYN__SMALL_HEADS]);
  s->weights = (int16_t *)syn__small_take(base, &used, 2 * (int64_t)longest);
  s->tokens = (uint16_t *)syn__small_take(base, &used, 2 * (int64_t)longest);
  s->q = (int8_t *)syn__small_take(base, &used, widest);
  s->x = syn__small_take(base, &used, (int64_t)widest / 8 * 17);
  syn__small_take_search(s, base, &used);
  return used;
}

long syn_small_ram(const void *model, size_t size, const syn_small_config *config) {
  syn_small s;
  int64_t bytes;
  memset(&s, 0, sizeof s);
  s.w = (const int32_t *)model;
  if (!syn__small_model(s.w, size)) return SYN_SMALL_E_MODEL;
  if (!syn__small_config(&s.k, s.w, config)) return SYN_SMALL_E_VALUE;
  bytes = syn__small_layout(&s, NULL);
  return bytes < INT32_MAX ? (long)bytes : (long)SYN_SMALL_E_RAM;
}

syn_small *syn_small_open(void *ram, size_t bytes, const void *model, size_t size,
                          const syn_small_config *config, int *error) {
  syn_small *s = (syn_small *)ram;
  long wanted = syn_small_ram(model, size, config);
  if (wanted >= 0 && (!ram || (uintptr_t)ram % 8 || (size_t)wanted > bytes))
    wanted = SYN_SMALL_E_RAM;
  if (error) *error = wanted < 0 ? (int)wanted : 0;
  if (wanted < 0) return NULL;
  memset(ram, 0, (size_t)wanted);
  s->w = (const int32_t *)model;
  syn__small_config(&s->k, s->w, config);
  syn__small_layout(s, (unsigned char *)ram);
  s->isa = syn__small_isa();
  s->phase = SYN__SMALL_IDLE;
  s->choose = SYN__SMALL_OP_out;
  if (SYN__SMALL_BEAM && s->k.beam > 1) s->choose = SYN__SMALL_OP_beam;
  if (SYN__SMALL_SAMPLE && s->k.temperature > 0.0f) s->choose = SYN__SMALL_OP_sample;
  return s;
}

/* -- running -- */

/* Runs one instruction; returns about how many multiply-adds it took. */
static long syn__small_run(syn_small *s, int32_t code, const int32_t *a) {
#define SYN__SMALL_CASE(name) \
  if (code == SYN__SMALL_OP_##name) return syn__small_##name(s, a);
#define SYN__SMALL_NAMED(name) (void)syn__small_##name; /* no warning for those that are left out */
  SYN_SMALL_KINDS(SYN__SMALL_CASE)
  SYN__SMALL_KINDS(SYN__SMALL_NAMED)
#undef SYN__SMALL_NAMED
#undef SYN__SMALL_CASE
  return 0;
}

/* Begins a program over the rows row .. row+count-1. */
static void syn__small_begin(syn_small *s, int32_t phase, int32_t row, int32_t count) {
  s->phase = phase;
  s->at = s->segment = s->w[SYN__SMALL_PROGRAMS + phase];
  s->row = row;
  s->rows = row + count;
}

/* -- beam search: as >>search, with one answer -- */

/* Hypothesis `slot` runs the last program for place `row`: its newest token, its state. */
static void syn__small_hypothesis(syn_small *s, int32_t slot, int32_t row) {
  syn__small_search *b = s->search;
  int32_t at = b->half * s->k.beam + slot;
  s->slot = slot;
  s->base[SYN__SMALL_STATE] =
      b->states + at * s->w[SYN__SMALL_ROW_BYTES + SYN__SMALL_STATE];
  if (row) s->token = b->text[at * s->k.max_len + row - 1];
  syn__small_begin(s, SYN__SMALL_DECODE, row, 1);
}
/* Before the source is read: one hypothesis, no answer. */
static void syn__small_search_begin(syn_small *s) {
  syn__small_search *b = s->search;
  b->live = 1;
  b->half = b->size = b->at = b->n_best = b->n_answers = 0;
  b->score[0] = 0.0f;
  syn__small_hypothesis(s, 0, 0);
}

/* The length penalty of Wu et al. 2016, section 7: ((5 + length) / 6)^alpha. */
static float syn__small_penalty(const syn_small *s, int32_t length) {
  return syn__small_exp(s->k.alpha * syn__small_log((float)(5 + length) * 0.166666672f));
}
/* A hypothesis is complete with its text [place], which may be the best answer. `ended`: by an end
   token, which counts for the length. */
static void syn__small_finish(syn_small *s, const uint16_t *text, int32_t place, float score,
                              int ended) {
  syn__small_search *b = s->search;
  score = score / syn__small_penalty(s, place + ended);
  if (b->n_answers && !(ended && score > b->answer_score)) return;
  b->n_answers = 1;
  b->answer_score = score;
  b->size = place;
  memcpy(b->answer, text, (size_t)place * sizeof *text);
}
/* Hypothesis `to` of the other half: `pick` behind the text [place] of hypothesis pick.row. */
static void syn__small_extend(syn_small *s, int32_t to, syn__small_pick pick, int32_t place) {
  syn__small_search *b = s->search;
  int32_t len = s->k.max_len, state = s->w[SYN__SMALL_ROW_BYTES + SYN__SMALL_STATE];
  int32_t from = b->half * s->k.beam + pick.row;
  to += !b->half * s->k.beam;
  memcpy(b->text + to * len, b->text + from * len, (size_t)place * sizeof *b->text);
  memcpy(b->lineage + to * len, b->lineage + from * len, (size_t)place);
  memcpy(b->states + to * state, b->states + from * state, (size_t)state);
  b->text[to * len + place] = pick.token;
  b->lineage[to * len + place] = (unsigned char)pick.row;
  b->score[to] = pick.score;
}
/* The best extensions become answers and the next hypotheses. 0: no hypothesis is left, or none
   can win any more, since log p only falls. */
static int syn__small_choose(syn_small *s, int32_t place) {
  syn__small_search *b = s->search;
  int32_t kept = 0, len = s->k.max_len, last = place + 1 == len, i;
  for (i = 0; i < b->n_best; i++) {
    syn__small_pick pick = b->best[i];
    int32_t from = b->half * s->k.beam + pick.row;
    if (pick.token == SYN_END) syn__small_finish(s, b->text + from * len, place, pick.score, 1);
    else if (kept < s->k.beam) syn__small_extend(s, kept++, pick, place);
  }
  b->half = !b->half;
  b->live = kept;
  for (i = 0; i < kept && last; i++) {
    int32_t at = b->half * s->k.beam + i;
    syn__small_finish(s, b->text + at * len, len, b->score[at], 0);
  }
  if (!kept || last) return 0;
  return !b->n_answers ||
         b->score[b->half * s->k.beam] / syn__small_penalty(s, len) > b->answer_score;
}
/* After a hypothesis: the next one; after the last one the next place, or the answer. In a prompt
   there is one hypothesis, which gets `given` as its token; else that is -1. */
static int syn__small_advance(syn_small *s, int32_t given) {
  syn__small_search *b = s->search;
  int go = given >= 0;
  if (go) {
    syn__small_pick pick = {0.0f, 0, 0};
    pick.token = (uint16_t)given;
    syn__small_extend(s, 0, pick, s->row - 1);
    b->half = !b->half;
  } else if (s->slot + 1 < b->live) {
    syn__small_hypothesis(s, s->slot + 1, s->row - 1);
    return SYN_SMALL_MORE;
  } else go = syn__small_choose(s, s->row - 1);
  b->n_best = 0;
  if (go) syn__small_hypothesis(s, 0, s->row);
  else {
    b->at = s->w[SYN__SMALL_TASK] == SYN__SMALL_LM ? s->sources : 0; /* behind the prompt */
    s->phase = SYN__SMALL_ANSWER;
  }
  return SYN_SMALL_MORE;
}

/* -- the loop -- */

int syn_small_source(syn_small *s, const int *tokens, int count) {
  int i, lm, most;
  if (!s || count < 0 || (!tokens && count)) return SYN_SMALL_E_VALUE;
  lm = s->w[SYN__SMALL_TASK] == SYN__SMALL_LM;
  most = lm ? s->k.max_len - 1 : s->k.source_len;
  if (count > most || count < !lm) return SYN_SMALL_E_VALUE;
  s->phase = SYN__SMALL_IDLE;
  s->chosen = 0;
  for (i = 0; i < count; i++) {
    if (tokens[i] <= SYN_PAD ||
        tokens[i] >= s->w[lm ? SYN__SMALL_TARGET_VOCAB : SYN__SMALL_SOURCE_VOCAB])
      return SYN_SMALL_E_VALUE;
    s->tokens[i] = (uint16_t)tokens[i];
  }
  s->sources = count;
  s->token = SYN_BEGIN;
  s->slot = 0;
  s->outputs++;
  if (SYN__SMALL_BEAM && s->k.beam > 1) syn__small_search_begin(s);
  memset(s->base[SYN__SMALL_STATE], 0, (size_t)s->w[SYN__SMALL_ROW_BYTES + SYN__SMALL_STATE]);
  if (lm) syn__small_begin(s, SYN__SMALL_DECODE, 0, 1);
  else syn__small_begin(s, SYN__SMALL_ENCODE, 0, count);
  return 0;
}

/* After a row of the last program: its token, or the next one of an lm's prompt. */
static int syn__small_chosen(syn_small *s) {
  int32_t task = s->w[SYN__SMALL_TASK], token = s->token;
  int prompt = task == SYN__SMALL_LM && s->row <= s->sources;
  if (prompt) token = s->tokens[s->row - 1];
  if (SYN__SMALL_BEAM && s->k.beam > 1) return syn__small_advance(s, prompt ? token : -1);
  if (!prompt && (task == SYN__SMALL_CLASSIFY || token == SYN_END)) {
    s->phase = SYN__SMALL_IDLE;
    return task == SYN__SMALL_CLASSIFY ? token : SYN_SMALL_END;
  }
  s->token = token;
  if (s->row == s->k.max_len) s->phase = SYN__SMALL_IDLE;
  else syn__small_begin(s, SYN__SMALL_DECODE, s->row, 1);
  return prompt ? SYN_SMALL_MORE : token;
}

/* At the end of a segment or of a program: the next row, segment or program. Returns a token when
   one was chosen. */
static int syn__small_next(syn_small *s) {
  int last = (s->w[s->at] & 255) == SYN__SMALL_OP_end;
  int tag = s->phase == SYN__SMALL_ENCODE && last && s->w[SYN__SMALL_TASK] == SYN__SMALL_TAG;
  if (++s->row < s->rows) {
    s->at = s->segment;
    return tag ? s->token : SYN_SMALL_MORE;
  }
  if (!last) {
    s->row = 0;
    s->segment = s->at += s->w[s->at] >> 8;
  } else if (tag) {
    s->phase = SYN__SMALL_IDLE;
    return s->token;
  } else if (s->phase == SYN__SMALL_ENCODE) {
    syn__small_begin(s, SYN__SMALL_CACHE, 0, s->sources);
  } else if (s->phase == SYN__SMALL_CACHE) {
    syn__small_begin(s, SYN__SMALL_DECODE, 0, 1);
  } else return syn__small_chosen(s);
  return SYN_SMALL_MORE;
}

uint64_t syn_small_work(const syn_small *s) { return s ? s->work : 0; }

int syn_small_step(syn_small *s, long work) {
  if (!s) return SYN_SMALL_E_VALUE;
  s->chosen = 0;
  for (;;) {
    int32_t word, code;
    long done;
    int token;
    if (SYN__SMALL_BEAM && s->phase == SYN__SMALL_ANSWER && s->search->at < s->search->size)
      return s->search->answer[s->search->at++];
    if (s->phase >= SYN__SMALL_IDLE) return SYN_SMALL_END;
    word = s->w[s->at];
    code = word & 255;
    if (code > SYN__SMALL_OP_segment) {
      if (work <= 0) return SYN_SMALL_MORE;
      if (code == SYN__SMALL_OP_out) code = s->choose;
      done = syn__small_run(s, code, s->w + s->at + 1);
      work -= done;
      s->work += (uint64_t)done;
      s->at += word >> 8;
      continue;
    }
    token = syn__small_next(s);
    if (token == SYN_SMALL_MORE) continue;
    s->chosen = 1;
    return token;
  }
}

/* -- learning: the output layer alone, z = (W + U) h + b + c, with h as int8 -- */

/* Place of the operands of the first output layer; 0: there is none. */
static int32_t syn__small_find_out(const int32_t *w) {
  int32_t p, at;
  for (p = SYN__SMALL_ENCODE; p < SYN__SMALL_IDLE; p++)
    for (at = w[SYN__SMALL_PROGRAMS + p]; (w[at] & 255) != SYN__SMALL_OP_end; at += w[at] >> 8)
      if ((w[at] & 255) == SYN__SMALL_OP_out) return at + 1;
  return 0;
}

long syn_small_learn(syn_small *s, float *memory, long floats) {
  int32_t out = s ? syn__small_find_out(s->w) : 0;
  int64_t wanted;
  if (!s) return SYN_SMALL_E_VALUE;
  if (!out) return SYN_SMALL_E_MODEL;
  wanted = (int64_t)s->w[out + 1] * (s->w[out + 2] + 2);
  if (wanted > INT32_MAX / 4 || (memory && floats < wanted)) return SYN_SMALL_E_RAM;
  s->out = memory ? out : 0;
  s->learned = memory;
  return (long)wanted;
}

/* Gradients of -log p_t, p = softmax(z): dz_j = p_j - [j = t], dU_ji = dz_j h_i, dc_j = dz_j. */
int syn_small_correct(syn_small *s, int token, float rate) {
  int32_t i, j, n, k, text;
  float *u, *bias, *z, most, sum = 0.0f;
  if (!s || !s->learned || !s->chosen || s->k.beam > 1 || !(rate > 0.0f && rate < 1e6f))
    return SYN_SMALL_E_VALUE;
  n = s->w[s->out + 1];
  k = s->w[s->out + 2];
  text = s->w[SYN__SMALL_TASK] <= SYN__SMALL_LM;
  if (token < 0 || token >= n || (text && (token == SYN_PAD || token == SYN_BEGIN)))
    return SYN_SMALL_E_VALUE;
  u = s->learned;
  bias = u + n * k;
  z = bias + n;
  for (most = z[0], j = 1; j < n; j++)
    if (z[j] > most) most = z[j];
  for (j = 0; j < n; j++) {
    z[j] = syn__small_exp(z[j] - most);
    sum = sum + z[j];
  }
  for (j = 0; j < n && sum > 0.0f; j++, u += k) {
    float step = rate * ((float)(j == token) - z[j] / sum);
    bias[j] = bias[j] + step;
    step = step * s->q_scale;
    for (i = 0; i < k; i++) u[i] = u[i] + step * (float)s->q[i];
  }
  s->chosen = 0;
  if (!text) return 0;
  s->token = token;
  if (token == SYN_END || s->row == s->k.max_len) s->phase = SYN__SMALL_IDLE;
  else syn__small_begin(s, SYN__SMALL_DECODE, s->row, 1);
  return 0;
}

#ifndef SYN_SMALL
#if SYN__LEVELS /* texts, files, bookkeeping: see the end of >>dispatch */
#pragma GCC optimize("Og", "fp-contract=off")
#endif

/* ==============================================================================================
   >>language   lexer, alias expansion, recursive descent parser: from text to syntax tree
   ============================================================================================== */

/*
   chain := layer ( "->" layer )*    layer := NAME [ "(" [ arg ( ("," | "|") arg )* ] ")" ]
   arg := KEY "=" value | value | chain    The kind's argument list says what an argument is.
   Each rule has a function syn__parse_... The syntax tree (syn_layer, syn__arg of >>graph) lies in
   the arena of the graph; its names and words point into the caller's text, so it is used only
   while the network is built. */

/* -- alias expansion: a layer of the text stands for one or more others -- */

/* `args` is written as for a kind, so the arguments of an alias are checked before it is expanded.
   `expand` returns the chain that l stands for, null: failed, recorded; `width`: that of the input
   of l. Aliases are expanded while the graph is built, at each place anew, because the width is
   not known before. */
struct syn__alias {
  const char *name, *args;
  const syn_kind *kind; /* what it renames; res_nd: the first layer of the branch */
  syn_layer *(*expand)(syn_build *b, const syn_layer *l, int width);
};

/* A layer without arguments. In an expansion `name` is that of the alias, which is what the user
   wrote: errors name it and its place. */
static syn_layer *syn__layer_new(syn_build *b, syn_text name, const syn_kind *kind) {
  syn_layer *l = (syn_layer *)syn__arena_get(&b->g->arena, 1, sizeof *l);
  if (!l) return NULL;
  l->kind = kind;
  l->name = name;
  return l;
}

/* Appends an argument. The array moves when it grows, so the pointer is valid until the next call;
   the arena keeps the old array. */
static syn__arg *syn__arg_new(syn_build *b, syn_layer *l, const char *name) {
  syn__arg *args;
  if (l->n_args == l->cap_args) {
    args = (syn__arg *)syn__arena_get(&b->g->arena, (size_t)l->cap_args * 2 + 4, sizeof *args);
    if (!args) return NULL;
    if (l->n_args) memcpy(args, l->args, (size_t)l->n_args * sizeof *args);
    l->args = args;
    l->cap_args = l->cap_args * 2 + 4;
  }
  l->args[l->n_args].name = name;
  return &l->args[l->n_args++];
}
/* Returns l; null: l is null, or no memory. */
static syn_layer *syn__arg_add(syn_build *b, syn_layer *l, const char *name, double number) {
  syn__arg *a = l ? syn__arg_new(b, l, name) : NULL;
  if (!a) return NULL;
  a->number = number;
  return l;
}

/* The layer under the name of the alias's kind. Both share the arguments: cap_args = n_args, so
   syn__arg_new copies them before it appends one. */
static syn_layer *syn__expand_renamed(syn_build *b, const syn_layer *l, int width) {
  syn_layer *copy = syn__layer_new(b, l->name, l->alias->kind);
  SYN__UNUSED(width);
  if (!copy) return NULL;
  copy->args = l->args;
  copy->n_args = copy->cap_args = l->n_args;
  return copy;
}

/* ffl(n=4d, act) = ff(n, act) -> linear(d), d the width of the input. */
static syn_layer *syn__expand_ffl(syn_build *b, const syn_layer *l, int width) {
  syn_layer *ff = syn__expand_renamed(b, l, width);
  if (ff && !syn__arg_find(l, "n")) ff = syn__arg_add(b, ff, "n", 4.0 * width);
  if (!ff) return NULL;
  ff->next = syn__arg_add(b, syn__layer_new(b, l->name, &syn__kind_linear), "n", width);
  return ff->next ? ff : NULL;
}

/* res_d(X) = res(X -> dropout), res_nd(X) = res(norm -> X -> dropout), a sublayer of the pre-norm
   Transformer (Domhan 2018). The layers of X are copied, because the `next` of its last layer
   changes; they share their arguments. Where X ends with dropout, syn__build_layers skips the one
   that is appended here. */
static syn_layer *syn__expand_res(syn_build *b, const syn_layer *l, int width) {
  const syn_layer *inner = syn__arg_chain(b, l);
  syn_layer *res = syn__layer_new(b, l->name, &syn__kind_res), *first = NULL, *copy, **end = &first;
  syn__arg *chain = res ? syn__arg_new(b, res, "chain") : NULL;
  SYN__UNUSED(width);
  if (!inner || !chain) return NULL;
  if (l->alias->kind && (*end = syn__layer_new(b, l->name, l->alias->kind)) != NULL)
    end = &(*end)->next;
  for (; inner; inner = inner->next) {
    copy = (syn_layer *)syn__arena_get(&b->g->arena, 1, sizeof *copy);
    if (!copy) return NULL;
    *copy = *inner;
    copy->next = NULL;
    *end = copy;
    end = &copy->next;
  }
  *end = syn__layer_new(b, l->name, &syn__kind_dropout);
  chain->chain = first;
  return *end ? res : NULL;
}

/* Published texts use one name on both sides; an encoder has no source to attend to. */
static syn_layer *syn__expand_source_att(syn_build *b, const syn_layer *l, int width) {
  if (b->decoder) return syn__expand_renamed(b, l, width);
  syn__fail_build(b, SYN_E_TEXT,
                  "attention to the source in an encoder; did you mean mh_dot_self_att?");
  return NULL;
}
/* dot_src_att(s) = mh_dot_src_att(heads=1, scale=1/sqrt(s)), the attention of convolutional
   networks (Gehring et al. 2017) where s=1. Without s the scale is the default of a head. */
static syn_layer *syn__expand_dot_att(syn_build *b, const syn_layer *l, int width) {
  syn_layer *dot = syn__expand_source_att(b, l, width);
  double s = (double)syn_arg_float(b, "s", 0.0f, 1e-9f, 1e9f);
  if (b->c->status) return NULL;
  dot = syn__arg_add(b, dot, "heads", 1.0);
  return s == 0.0 ? dot : syn__arg_add(b, dot, "scale", 1.0 / sqrt(s));
}

static const struct syn__alias syn__aliases[] = {
    {"ffl", "i:n w:act", &syn__kind_ff, syn__expand_ffl},
    {"res_d", "c:chain", NULL, syn__expand_res},
    {"res_nd", "c:chain", &syn__kind_norm, syn__expand_res},
    {"mh_dot_self_att", "i:heads i:c f:dropout", &syn__kind_syn_att, syn__expand_renamed},
    {"mh_dot_att", "i:heads f:scale w:source i:c f:dropout", &syn__kind_mh_dot_src_att,
     syn__expand_source_att},
    {"dot_src_att", "f:s f:dropout", &syn__kind_mh_dot_src_att, syn__expand_dot_att},
    {"mlp_att", "i:n f:dropout", &syn__kind_mlp_src_att, syn__expand_renamed},
    {"parallel", "C:chain", &syn__kind_concat, syn__expand_renamed}};

/* -- lexer: b->at is the position in the text; setting it back ends a look ahead -- */

/* A character of a name: ASCII, independent of the locale of the host program. */
static int syn__is_name(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
         ch == '_';
}

/* An error at a place of the text. It shows the token there: at most 40 bytes of a name, or one
   character with all its bytes. nearest: the known name to propose, up to a space, or null. */
static syn_status syn__fail_at(const syn_build *b, const char *at, const char *what,
                               const char *nearest) {
  char text[350];
  const char *token = *at ? at : "end of text";
  int size = *at ? 0 : (int)strlen(token), used;
  while (size < 40 && syn__is_name(token[size])) size++;
  while (!size || ((unsigned char)token[size] & 0xC0) == 0x80) size++;
  used = syn__snprintf(text, sizeof text, "'%.*s': %.200s", size, token, what);
  if (nearest)
    syn__snprintf(text + used, sizeof text - (size_t)used, "; did you mean '%.*s'?",
             syn__min(40, (int)strcspn(nearest, " ")), nearest);
  return syn__fail_place(b, at, SYN_E_TEXT, text);
}

/* Skips white space and comments. Called behind every token, so that b->at is the first character
   of the next one. */
static void syn__lexer_space(syn_build *b) {
  for (;;) {
    b->at += strspn(b->at, " \t\n\r");
    if (*b->at != '#') return;
    b->at += strcspn(b->at, "\n");
  }
}

/* Takes a name, which may be empty. Does not skip the space behind it. */
static syn_text syn__lexer_name(syn_build *b) {
  const char *from = b->at;
  while (syn__is_name(*b->at)) b->at++;
  return syn__text_of(from, (size_t)(b->at - from));
}

/* 1: the sign stood here; b->at is behind it and the space that follows. */
static int syn__lexer_accept(syn_build *b, const char *sign) {
  if (strncmp(b->at, sign, strlen(sign))) return 0;
  b->at += strlen(sign);
  syn__lexer_space(b);
  return 1;
}

/* Reads [+-] digits [ . digits ] [ e [+-] digits ] and returns its length, 0: no number. Unlike
   strtod it does not depend on the locale. A double holds up to 15 digits exactly; more than 60 are
   refused. */
static size_t syn__number_read(const char *text, double *number) {
  const char *at = text;
  double value = 0.0, scale = 1.0;
  int digits = 0, exponent = 0, negative = 0, exponent_digits = 1;
  if (*at == '-' || *at == '+') at++;
  for (; *at >= '0' && *at <= '9'; at++, digits++) value = value * 10.0 + (*at - '0');
  if (*at == '.')
    for (at++; *at >= '0' && *at <= '9'; at++, digits++)
      value = value * 10.0 + (*at - '0'), scale *= 10.0;
  if (digits && (*at == 'e' || *at == 'E')) {
    at++;
    if (*at == '-' || *at == '+') negative = *at++ == '-';
    for (exponent_digits = 0; *at >= '0' && *at <= '9'; at++, exponent_digits++)
      exponent = syn__min(exponent * 10 + (*at - '0'), 400);
  }
  if (!digits || !exponent_digits || digits > 60) return 0;
  for (value /= scale; exponent > 0; exponent--) value = negative ? value / 10.0 : value * 10.0;
  *number = *text == '-' ? -value : value;
  return (size_t)(at - text);
}

/* The number as its shortest text of `digits` digits, with a point in every locale. Returns the
   bytes of the text, also where they do not fit. */
static size_t syn__number_write(char *out, size_t capacity, int digits, double number) {
  int size = syn__snprintf(out, capacity, "%.*g", digits, number), i;
  for (i = 0; i < size && (size_t)i < capacity; i++)
    if (out[i] == ',') out[i] = '.';
  return (size_t)size;
}

/* -- names of layers, lists of arguments -- */

/* Layer name i: those of the user's kinds, then the built-in ones, then aliases; null past the end.
   The user's come first, so they may replace a built-in kind. */
static const char *syn__name_at(const syn_options *o, size_t i, const syn_kind **kind,
                                const struct syn__alias **alias) {
  size_t user = (size_t)o->n_kinds;
  *kind = NULL;
  *alias = NULL;
  if (i < user) return (*kind = o->kinds[i])->name;
  i -= user;
  if (i < SYN__COUNT(syn__kinds)) return (*kind = syn__kinds[i])->name;
  i -= SYN__COUNT(syn__kinds);
  return i < SYN__COUNT(syn__aliases) ? (*alias = &syn__aliases[i])->name : NULL;
}

/* Finds the kind or alias that l->name names. The parser needs it at once: the argument list of the
   kind tells it whether an argument is a number, a word or a chain. */
static syn_status syn__name_bind(const syn_build *b, syn_layer *l) {
  const char *name, *nearest = NULL;
  size_t i;
  for (i = 0; (name = syn__name_at(&b->c->options, i, &l->kind, &l->alias)) != NULL; i++) {
    if (syn__text_is(l->name, name)) return SYN_OK;
    nearest = syn__nearer(l->name.at, l->name.size, nearest, name);
  }
  return syn__fail_at(b, l->name.at, "no such layer", nearest);
}

/* The number given for $NAME; null: none. */
static const syn_var *syn__var_find(const syn_config *config, syn_text name) {
  int i;
  for (i = 0; i < config->n_vars; i++)
    if (syn__text_is(name, config->vars[i].name)) return &config->vars[i];
  return NULL;
}

/* The argument list as its kind or alias declares it: "type:name type:name ...". */
static const char *syn__layer_args(const syn_layer *l) {
  return l->alias ? l->alias->args : l->kind->args;
}

/* Takes the first "type:name" from an argument list; returns the type, 0: the list is empty. */
static char syn__list_take(const char **list, syn_text *name) {
  char type = **list;
  if (!type) return 0;
  name->at = *list + 2;
  name->size = strcspn(name->at, " ");
  *list = name->at + name->size;
  *list += **list == ' ';
  return type;
}

/* -- parser -- */

/* Any chain in brackets calls this function again; SYN_MAX_DEPTH bounds the recursion. */
static syn_status syn__parse_chain(syn_build *b, syn_layer **chain);

/* A keyword: KEY "=". Empty, and b->at stays, where no "=" follows: then the word is a value or the
   name of a layer. */
static syn_text syn__parse_key(syn_build *b) {
  const char *from = b->at;
  syn_text key = syn__lexer_name(b);
  syn__lexer_space(b);
  if (key.size && syn__lexer_accept(b, "=")) return key;
  b->at = from;
  return syn__text_of(from, 0);
}

/* A number, or a $NAME with the number given for it. `8x` is no number. The layer checks its range
   when it is built. */
static syn_status syn__parse_number(syn_build *b, double *number) {
  const char *from = b->at;
  syn_text name;
  const syn_var *var;
  if (*from == '$') {
    b->at++;
    name = syn__lexer_name(b);
    var = syn__var_find(b->config, name);
    if (!var)
      return syn__fail_at(b, from + 1, "no number was given for this $NAME",
                          syn__nearest(name.at, name.size, b->config->vars,
                                       (size_t)b->config->n_vars, sizeof *var));
    *number = var->value;
  } else {
    b->at += syn__number_read(from, number);
    if (b->at == from || syn__is_name(*b->at))
      return syn__fail_at(b, from, "wanted a number", NULL);
  }
  syn__lexer_space(b);
  return SYN_OK;
}

/* A word, or `many` joined by +, stored without the space and comments between them. Which words
   are allowed only the layer knows: see syn_arg_word. */
static syn_status syn__parse_words(syn_build *b, int many, syn_text *words) {
  const char *from = b->at;
  char *out;
  do {
    if (!syn__lexer_name(b).size) return syn__fail_at(b, b->at, "wanted a word", NULL);
    syn__lexer_space(b);
  } while (many && syn__lexer_accept(b, "+"));
  out = (char *)syn__arena_get(&b->g->arena, (size_t)(b->at - from), 1);
  if (!out) return SYN_E_MEMORY;
  *words = syn__text_of(out, 0);
  for (; from < b->at; from++) {
    if (*from == '#') from += strcspn(from, "\n");
    if (syn__is_name(*from) || *from == '+') out[words->size++] = *from;
  }
  return SYN_OK;
}

/* The argument with a keyword, or in that position, from 0. Type C, any number of chains, is the
   last of its list and takes all further positions; only its name may be given twice. A chain is
   stored by its index, because parsing it may move the array. */
static syn_status syn__parse_arg(syn_build *b, syn_layer *l, int position) {
  const char *from = b->at, *list = syn__layer_args(l), *nearest = NULL;
  syn_text name, key = syn__parse_key(b);
  char type, text[200];
  syn__arg *a;
  while ((type = syn__list_take(&list, &name)) != 0) {
    if (key.size ? !syn__text_compare(name, key) : type == 'C' || position-- == 0) break;
    nearest = syn__nearer(key.at, key.size, nearest, name.at);
  }
  if (!type && !key.size) return syn__fail_at(b, from, "one argument too many", NULL);
  if (!type) {
    syn__snprintf(text, sizeof text, "no such argument; %.*s takes (%s)",
             l->name.size < 30 ? (int)l->name.size : 30, l->name.at, syn__layer_args(l));
    return syn__fail_at(b, from, text, nearest);
  }
  a = syn__arg_new(b, l, syn__arena_text(&b->g->arena, name.at, name.size));
  if (!a || !a->name) return SYN_E_MEMORY;
  if (type != 'C' && syn__arg_find(l, a->name) != a) {
    syn__snprintf(text, sizeof text, "the argument %.40s is given twice", a->name);
    return syn__fail_at(b, from, text, NULL);
  }
  if (type == 'c' || type == 'C') {
    syn_layer *chain = NULL;
    syn_status s = syn__parse_chain(b, &chain);
    l->args[l->n_args - 1].chain = chain;
    return s;
  }
  if (type == 'w' || type == 'k') return syn__parse_words(b, type == 'k', &a->word);
  return syn__parse_number(b, &a->number);
}

/* No brackets and () are the same: every argument has its default. `,` and `|` are the same, too:
   published texts write `|` between chains. */
static syn_status syn__parse_args(syn_build *b, syn_layer *l) {
  int position = 0;
  if (!syn__lexer_accept(b, "(") || syn__lexer_accept(b, ")")) return SYN_OK;
  do {
    if (syn__parse_arg(b, l, position++)) return b->c->status;
  } while (syn__lexer_accept(b, ",") || syn__lexer_accept(b, "|"));
  return syn__lexer_accept(b, ")") ? SYN_OK : syn__fail_at(b, b->at, "wanted , | or )", NULL);
}

/* *out: the layer, with its kind or alias. Null only where memory failed. */
static syn_status syn__parse_layer(syn_build *b, syn_layer **out) {
  syn_layer *l = *out = syn__layer_new(b, syn__lexer_name(b), NULL);
  if (!l) return SYN_E_MEMORY;
  if (!l->name.size) return syn__fail_at(b, b->at, "wanted the name of a layer", NULL);
  if (syn__name_bind(b, l)) return SYN_E_TEXT;
  syn__lexer_space(b);
  return syn__parse_args(b, l);
}

/* The arrow is -> or U+2192. */
static syn_status syn__parse_chain(syn_build *b, syn_layer **chain) {
  if (++b->depth > SYN_MAX_DEPTH)
    return syn__fail_at(b, b->at, "chains inside chains, more than 32 deep", NULL);
  do {
    if (syn__parse_layer(b, chain)) return b->c->status;
    chain = &(*chain)->next;
  } while (syn__lexer_accept(b, "->") || syn__lexer_accept(b, "\xE2\x86\x92"));
  b->depth--;
  return SYN_OK;
}

/* 1: recorded. */
static int syn__text_too_long(syn_build *b, size_t size) {
  return size > SYN_MAX_TEXT && syn__fail(b->c, SYN_E_TEXT, "%s: the text has more than %d bytes",
                                          b->side, SYN_MAX_TEXT);
}

/* The syntax tree of b->text; null: recorded. Comments must be UTF-8, too, because a model file
   holds the whole text. */
static syn_layer *syn__parse(syn_build *b) {
  syn_layer *chain = NULL;
  const char *bad = syn__utf8_invalid(b->text);
  char text[40];
  if (syn__text_too_long(b, strlen(b->text))) return NULL;
  if (*bad) {
    syn__snprintf(text, sizeof text, "byte 0x%02X is not UTF-8", (unsigned)(unsigned char)*bad);
    syn__fail_place(b, bad, SYN_E_TEXT, text);
    return NULL;
  }
  b->at = b->text;
  syn__lexer_space(b);
  if (syn__parse_chain(b, &chain)) return NULL;
  if (!*b->at) return chain;
  syn__fail_at(b, b->at, "wanted -> or the end of the text", NULL);
  return NULL;
}

/* Variable substitution: the text with every $NAME replaced by its number, so that a model file
   alone says what the network is. A $NAME in a comment may have no number and stays. 17 digits give
   every double back exactly. Returns the bytes; with `out` null it only counts them. */
static size_t syn__replace_names(syn_build *b, const char *text, char *out) {
  size_t used = 0, size;
  char number[40];
  for (b->at = text; *b->at; used += size) { /* a byte, or a $NAME, at a time */
    const char *from = b->at++;
    const syn_var *var = *from == '$' ? syn__var_find(b->config, syn__lexer_name(b)) : NULL;
    if (!var) b->at = from + 1;
    size = var ? syn__number_write(number, sizeof number, 17, var->value) : 1;
    if (out) memcpy(out + used, var ? number : from, size);
  }
  return used;
}
/* The same as a copy in the arena. */
static char *syn__text_replaced(syn_build *b, const char *text) {
  size_t size = syn__replace_names(b, text, NULL);
  char *out = NULL;
  if (!syn__text_too_long(b, size)) out = (char *)syn__arena_get(&b->g->arena, size + 1, 1);
  if (out) syn__replace_names(b, text, out);
  return out;
}

/* ==============================================================================================
   >>build   the graph of a network from its configuration: layers, embeddings, tied weights
   ============================================================================================== */

/* A task: what its network consists of, and whose rows have labels: those of the target, of the
   source, or one row per sentence (SYN_EACH), which the node pool makes. */
typedef struct syn__task_kind {
  const char *name;
  int encoder, decoder, classes; /* 1: it has that */
  int labels;                    /* SYN_SRC, SYN_TGT, SYN_EACH */
} syn__task_kind;

static const syn__task_kind syn__tasks[] = {{"seq2seq", 1, 1, 0, SYN_TGT}, /* the default */
                                            {"lm", 0, 1, 0, SYN_TGT},
                                            {"classify", 1, 0, 1, SYN_EACH},
                                            {"tag", 1, 0, 1, SYN_SRC}};

/* Parameter tying (Press and Wolf 2017). SYN__TIE_OUT: the embedding table of the target is also
   the matrix of the output. SYN__TIE_ALL: and the embedding table of the source. */
enum { SYN__TIE_NONE, SYN__TIE_OUT, SYN__TIE_ALL };
static const char *const syn__ties[] = {"none", "out", "all"};

struct syn_model {
  syn_context *c;
  syn_config config;           /* defaults resolved, texts in the graph's arena */
  const syn__task_kind *task;
  syn__graph g;
  int tie;                     /* SYN__TIE_...; -1: not given, until the head is built */
  int final, head;             /* the value that `out` reads; the node `out` */
  float *weights;              /* the block of all weights; null: they lie in the file, in panels */
  int packed;                  /* 1: decoders share `panels`, unless there is a block of weights */
  float **panels;              /* by number of the parameter; null: this one is not in panels */
  size_t trained, floats;      /* floats of trained weights, which come first; of all weights */
  syn_tokenizer *tokenizer[2]; /* source, target; may be the same; null: none */
  syn_file *file;              /* what it was loaded from, kept for its metadata; or null */
};

/* -- layers -- */

/* Builds layer `number` of a chain; x: its input; returns its output, -1: failed. b->path is one
   buffer for the whole recursion: the layer's number is appended to it, and removed afterwards. A
   user's kind may lack a function that a pass would call, where nothing can fail (`backward` is
   checked by syn_trainer_new, because it may be missing where nothing before it is trained). The
   status is checked, too, since syn_arg_int and its like record an error and return a default. */
static int syn__build_layer(syn_build *b, const syn_layer *l, int number, int x) {
  const syn_kind *kind = l->kind;
  size_t size = strlen(b->path);
  int y;
  b->layer = l;
  if (!kind->build && !(kind->shape && kind->forward))
    syn__fail_build(b, SYN_E_VALUE, "the kind %.40s has %s", kind->name,
                    kind->shape ? "shape, but no forward" : "neither build nor shape");
  if (b->c->status || syn__path_push(b, number)) return -1;
  y = kind->build ? kind->build(b, l, x) : syn__build_leaf(b, l, x);
  b->path[size] = 0;
  b->layer = l;
  if (b->c->status == SYN_OK && (y < 0 || (size_t)y >= b->g->n_values))
    syn__fail_build(b, SYN_E_VALUE, "%s of kind %.40s failed without an error",
                    kind->build ? "build" : "shape", kind->name);
  return b->c->status == SYN_OK ? y : -1;
}

/* Builds the layers of a chain. The expansion of an alias continues the numbers of the chain. A
   `dropout` directly behind a layer that ends with dropout does nothing (*dropped). Layers are
   counted, because nodes do not bound the time: repeat(1000, repeat(1000, id)) makes none. */
static int syn__build_layers(syn_build *b, const syn_layer *l, int *number, int *dropped, int x) {
  for (; l && x >= 0; l = l->next) {
    b->layer = l;
    if (b->layers++ == SYN_MAX_LAYERS) {
      syn__fail_build(b, SYN_E_TEXT, "a network of more than %d layers", SYN_MAX_LAYERS);
      return -1;
    }
    if (l->alias) {
      const syn_layer *expanded = l->alias->expand(b, l, syn__build_width_of(b, x));
      x = expanded ? syn__build_layers(b, expanded, number, dropped, x) : -1;
      continue;
    }
    if (!(*dropped && l->kind == &syn__kind_dropout)) x = syn__build_layer(b, l, *number, x);
    *dropped = l->kind->flags & SYN_DROPS;
    ++*number; /* a dropout that does nothing has a number, too */
  }
  return x;
}

/* Each chain has numbers of its own, from 0. A rel_pos holds until the end of its chain. The parser
   has bounded the depth of texts; a user's kind may call syn_build_chain deeper. */
static int syn__build_chain(syn_build *b, const syn_layer *chain, int x) {
  int number = 0, dropped = 0;
  const syn__rel_pos *outer = b->rel_pos;
  if (++b->depth > SYN_MAX_DEPTH + 1) {
    syn__fail_build(b, SYN_E_TEXT, "chains inside chains, more than %d deep", SYN_MAX_DEPTH);
    return -1;
  }
  x = syn__build_layers(b, chain, &number, &dropped, x);
  b->rel_pos = outer;
  b->depth--;
  return x;
}

/* -- configuration -- */

/* Written so that NaN, which fails every comparison, is refused. */
static syn_status syn__config_rate(syn_context *c, const char *name, float value) {
  if (value >= 0.0f && value < 1.0f) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "%s is %g, wanted 0 to below 1", name, (double)value);
}
/* The bounds of all sizes keep products of two of them inside 2^63, and small multiples of one
   inside an int. Sizes that the task does not use are not checked. */
static syn_status syn__config_sizes(syn_context *c, const syn_config *k,
                                    const syn__task_kind *task) {
  const struct {
    const char *name;
    int used, value, least, most;
  } sizes[] = {{"d_model", 1, k->d_model, 1, 1 << 16},
               {"heads", 1, k->heads, 1, 4096},
               {"max_len", 1, k->max_len, 1, 1 << 20},
               {"src_vocab", task->encoder, k->src_vocab, SYN_FIRST_TOKEN, 1 << 24},
               {"tgt_vocab", task->decoder, k->tgt_vocab, SYN_FIRST_TOKEN, 1 << 24},
               {"classes", task->classes, k->classes, 2, 1 << 24}};
  size_t i;
  for (i = 0; i < SYN__COUNT(sizes); i++)
    if (sizes[i].used && (sizes[i].value < sizes[i].least || sizes[i].value > sizes[i].most))
      return syn__fail(c, SYN_E_VALUE, "%s is %d, wanted %d to %d", sizes[i].name, sizes[i].value,
                       sizes[i].least, sizes[i].most);
  if (syn__config_rate(c, "dropout", k->dropout)) return SYN_E_VALUE;
  return syn__config_rate(c, "label_smoothing", k->label_smoothing);
}

/* m->task from the name of the task. */
static syn_status syn__config_task(syn_model *m, syn_config *k) {
  int i;
  if (!k->task) k->task = syn__tasks[0].name;
  i = syn__name_index(m->c, "task", k->task, syn__tasks, SYN__COUNT(syn__tasks),
                      sizeof *syn__tasks);
  if (i < 0) return SYN_E_VALUE;
  m->task = &syn__tasks[i];
  k->task = m->task->name;
  return SYN_OK;
}

/* m->tie from its name; -1 where none is given: syn__build_head chooses. */
static syn_status syn__config_tie(syn_model *m, const syn_config *k) {
  m->tie = -1;
  if (!k->tie) return SYN_OK;
  m->tie = syn__name_index(m->c, "tie", k->tie, syn__ties, SYN__COUNT(syn__ties),
                           sizeof *syn__ties);
  if (m->tie < 0) return SYN_E_VALUE;
  if (m->task->classes && m->tie > SYN__TIE_NONE)
    return syn__fail(m->c, SYN_E_VALUE, "tie=%s: %s has only tie=none", k->tie, k->task);
  if (m->task->encoder && m->task->decoder && m->tie == SYN__TIE_ALL &&
      k->src_vocab != k->tgt_vocab)
    return syn__fail(m->c, SYN_E_VALUE, "tie=all: the vocabularies have %d and %d tokens",
                     k->src_vocab, k->tgt_vocab);
  return SYN_OK;
}

/* Resolves all defaults but `tie` and checks the configuration. Pointers to the caller's strings
   are replaced by the model's own here (task), in syn__build_head (tie), in syn__build_network
   (texts, vars). A text that the task does not use is dropped. */
static syn_status syn__config_resolve(syn_model *m, const syn_config *given) {
  syn_config *k = &m->config;
  int vars = 0;
  if (!syn__given(m->c, given, "configuration")) return SYN_E_VALUE;
  *k = *given;
  while (vars < k->n_vars && k->vars && k->vars[vars].name) vars++;
  if (vars != k->n_vars) /* names are compared later, where nothing looks for null */
    return syn__fail(m->c, SYN_E_VALUE, "%d vars: the list or a name is null", k->n_vars);
  if (!k->d_model) k->d_model = 64;
  if (!k->heads) k->heads = 4;
  if (!k->max_len) k->max_len = 128;
  if (syn__config_task(m, k) || syn__config_tie(m, k)) return SYN_E_VALUE;
  if ((m->task->encoder && !k->encoder) || (m->task->decoder && !k->decoder))
    return syn__fail(m->c, SYN_E_VALUE, "%s needs the text of its %s", k->task,
                     m->task->encoder && !k->encoder ? "encoder" : "decoder");
  if (!m->task->encoder) k->encoder = NULL; /* from here on, a text tells that its side is there */
  if (!m->task->decoder) k->decoder = NULL;
  return syn__config_sizes(m->c, k, m->task);
}

/* -- encoder -- */

/* Paths and messages of what is built next begin with the name of the side, whose text may have a
   byte order mark. */
static void syn__build_side(syn_build *b, const char *side, const char *text) {
  b->side = side;
  b->text = text + syn__bom_size(text, strlen(text));
  b->decoder = side[0] == 'd';
  b->layer = NULL;
  syn__snprintf(b->path, sizeof b->path, "%s", side);
}

/* The embeddings of one side, [rows, d_model]; returns the value, -1: failed. Standard deviation
   d^-1/2, so that a row has length about 1; `pos` multiplies it by sqrt(d). With tie=all both sides
   name one table: the second call finds the parameter that the first one made. */
static int syn__build_embedding(syn_build *b, const char *name, int vocabulary) {
  syn_node *n = syn__node_new(b, &syn__kind_embedding, 0, NULL);
  int shape[2] = {vocabulary, b->config->d_model};
  if (!n) return -1;
  n->param[0] = syn__param_new(
      b, name, syn_initial_of(SYN_INIT_NORMAL, 1.0 / sqrt((double)shape[1])), 2, shape);
  n->n_param = 1;
  return n->param[0] < 0 ? -1 : syn__node_done(b, n);
}

/* How many attentions to the source with this `source` a chain has; a repeat counts them n times.
   Needed before the decoder is built: with source=decreasing layer i of n reads block n + 1 - i.
   Sums stop at 2^20, so that repeats inside repeats do not overflow. */
static int syn__count_source(const syn_layer *l, const char *source) {
  int sum = 0, i;
  for (; l; l = l->next) {
    const syn__arg *a = syn__arg_find(l, "source"), *n = syn__arg_find(l, "n");
    int repeats = l->kind == &syn__kind_repeat && n && n->number >= 1 && n->number <= 1000;
    int copies = repeats ? (int)n->number : 1;
    sum += a && syn__text_is(a->word, source);
    for (i = 0; i < l->n_args; i++)
      if (l->args[i].chain)
        sum = syn__min(sum + copies * syn__count_source(l->args[i].chain, source), 1 << 20);
  }
  return sum;
}

/* For source=increasing|decreasing: passes the output of each encoder block through the norm that
   the encoder ends with. The new nodes get the path of that norm, so that syn__param_new finds its
   parameters. */
static syn_status syn__build_blocks(syn_build *b, const syn_layer *chain) {
  const syn_layer *l, *norm = NULL;
  int repeats = 0, last = (int)b->g->n_nodes - 1, i;
  for (l = chain; l; l = l->next) {
    int flags = l->kind ? l->kind->flags : 0;
    repeats += (flags & SYN_COPIES) != 0;
    if (!repeats || (flags & SYN_COPIES)) continue;
    if (flags & SYN_NORM) norm = l;
    else if (!(flags & SYN_IDENTITY)) repeats = 2;
  }
  if (repeats != 1)
    return syn__fail(b->c, SYN_E_SHAPE,
                     "source=increasing|decreasing wants an encoder with one repeat, "
                     "and nothing but a norm, dropout or id behind it");
  while (norm && last > 0 && b->g->nodes[last]->kind != norm->kind) last--;
  for (i = 0; norm && i < b->n_blocks; i++) {
    b->layer = norm;
    syn__snprintf(b->path, sizeof b->path, "%s", b->g->nodes[last]->path);
    b->blocks[i] = syn__build_leaf(b, norm, b->blocks[i]);
    if (b->blocks[i] < 0) return SYN_E_SHAPE;
  }
  return SYN_OK;
}

/* `decoder` is the syntax tree of the other side, whose attentions may read the blocks. While
   decoding, the nodes before n_encoder run once per sentence, the others once per token. */
static int syn__build_encoder(syn_build *b, const syn_model *m, const syn_layer *decoder) {
  const syn_layer *chain;
  int x;
  syn__build_side(b, "encoder", m->config.encoder);
  chain = syn__parse(b);
  if (!chain) return -1;
  x = syn__build_embedding(b, m->tie == SYN__TIE_ALL ? "tgt.embed" : "src.embed",
                           m->config.src_vocab);
  if (x >= 0) x = syn_build_chain(b, chain, x);
  b->n_increasing = syn__count_source(decoder, "increasing");
  b->n_decreasing = syn__count_source(decoder, "decreasing");
  if (x >= 0 && b->n_increasing + b->n_decreasing && syn__build_blocks(b, chain)) return -1;
  b->encoder_out = x;
  b->g->n_encoder = (int)b->g->n_nodes;
  return x;
}

/* -- decoder -- */

/* A first guess of the width of the decoder's output, by what its layers say of their own; `width`
   reaches the first of them. No layer is asked: one that is fed a wrong width may refuse it (heads
   that do not divide it), and the network would be refused with it. Sums are capped: branches
   inside branches would overflow an int. */
static int syn__feedback_guess(syn_build *b, const syn_layer *l, int width) {
  for (; l; l = l->next) {
    const syn__arg *n = syn__arg_find(l, "n");
    int flags = l->kind ? l->kind->flags : 0, i, sum = 0;
    if (l->alias) {
      b->layer = l;
      width = syn__feedback_guess(b, l->alias->expand(b, l, width), width);
      continue;
    }
    for (i = 0; i < l->n_args; i++) {
      if (!l->args[i].chain) continue;
      sum = flags & SYN_SUM_WIDTHS ? syn__min(sum, SYN__MAX_WIDTH) : 0;
      sum += syn__feedback_guess(b, l->args[i].chain, width);
    }
    if (sum) width = sum; /* of the other kinds every chain gives the width of the whole */
    else if (flags & SYN_SOURCE_WIDTH)
      width = b->encoder_out < 0 ? width : syn__build_width_of(b, b->encoder_out);
    else if (l->kind && !strncmp(l->kind->args, "i:n ", 4)) {
      width = b->config->d_model;
      if (n && n->number >= 1.0 && n->number <= SYN__MAX_WIDTH) width = (int)n->number;
    }
  }
  return syn__min(width, SYN__MAX_WIDTH);
}

/* The decoder; returns the value `out` reads, -1: failed. With a recurrent node it is built a
   second time where the guess of the width was wrong; what the first time put into the graph is
   removed. */
static int syn__build_decoder(syn_build *b, const syn_model *m, const syn_layer *chain) {
  const syn_build before = *b;
  syn__graph *g = b->g;
  const size_t nodes = g->n_nodes, values = g->n_values, params = g->n_params;
  int first = syn__feedback_guess(b, chain, b->config->d_model), fed = first, x, width, i;
  for (i = 0; i < 2; i++) {
    *b = before; /* the first time, this changes nothing but what the guess left */
    g->n_nodes = nodes;
    g->n_values = values;
    g->n_params = params;
    b->feedback_width = fed;
    x = syn__build_embedding(b, "tgt.embed", m->config.tgt_vocab);
    if (x >= 0) x = syn_build_chain(b, chain, x);
    if (x < 0) return -1;
    width = syn__build_width_of(b, x);
    if (!g->recurrent || width == fed) return x;
    if (i == 0) fed = width; /* the guess was wrong: the width it led to is fed instead */
  }
  b->layer = chain;
  syn__fail_build(b, SYN_E_SHAPE, "the decoder's output has width %d when %d is fed, and %d when %d"
                  " is: it must not depend on this layer", fed, first, width, fed);
  return -1;
}

/* -- output -- */

/* The node `out`: logits = x w^T + b, w [V or classes, width of x], b [V or classes]. Tied weights
   need x as wide as the embedding; by default they are tied where it is. A tied w is found by its
   name, so it keeps its own initial values and gets the gradients of both uses. */
static syn_status syn__build_head(syn_build *b, syn_model *m, int x) {
  syn_node *n;
  int width = syn__build_width_of(b, x), fits = width == m->config.d_model;
  int shape[2] = {m->task->classes ? m->config.classes : m->config.tgt_vocab, width};
  b->layer = NULL;
  syn__snprintf(b->path, sizeof b->path, "out");
  if (m->tie < 0) m->tie = fits && m->task->decoder ? SYN__TIE_OUT : SYN__TIE_NONE;
  if (m->tie > SYN__TIE_NONE && !fits)
    return syn__fail(b->c, SYN_E_SHAPE,
                     "tie=%s: the decoder's output has width %d, the embedding %d",
                     syn__ties[m->tie], width, m->config.d_model);
  m->config.tie = syn__ties[m->tie];
  n = syn__node_new(b, &syn__kind_output, 1, &x);
  if (!n) return SYN_E_MEMORY;
  n->param[0] = syn__param_new(b, m->tie > SYN__TIE_NONE ? "tgt.embed" : "out.w",
                               syn_initial_glorot(width, shape[0]), 2, shape);
  n->n_param = 1;
  if (n->param[0] < 0 || syn__bias_param(b, n, "b", shape[0])) return SYN_E_MEMORY;
  m->final = x;
  m->head = n->id;
  return syn__node_done(b, n) < 0 ? SYN_E_SHAPE : SYN_OK;
}

/* The graph of the whole network. The decoder is parsed before the encoder is built, and built
   after it. No memory of weights is needed. */
static syn_status syn__build_network(syn_model *m) {
  syn_config *k = &m->config;
  syn_build b;
  syn_layer *decoder = NULL;
  int x = -1;
  memset(&b, 0, sizeof b);
  b.c = m->c;
  b.g = &m->g;
  b.config = k;
  b.chain = syn__build_chain;
  b.encoder_out = -1;
  if (k->decoder) {
    syn__build_side(&b, "decoder", k->decoder);
    decoder = syn__parse(&b);
    if (!decoder) return m->c->status;
  }
  if (k->encoder) {
    x = syn__build_encoder(&b, m, decoder);
    if (x < 0) return m->c->status;
  }
  if (k->decoder) {
    syn__build_side(&b, "decoder", k->decoder);
    x = m->g.feedback = syn__build_decoder(&b, m, decoder);
    /* Without it the model would train without complaint and translate nothing. */
    if (x >= 0 && k->encoder && !b.n_source_layers)
      return syn__fail(b.c, SYN_E_TEXT, "decoder: a seq2seq decoder needs attention to the source "
                       "(mh_dot_att), here is none");
  }
  if (x >= 0 && m->task->labels == SYN_EACH)
    x = syn__node_done(&b, syn__node_new(&b, &syn__kind_pool, 1, &x));
  if (x < 0 || syn__build_head(&b, m, x)) return m->c->status;
  /* The graph is built. What a model file stores must not point to memory of the caller. */
  if (k->encoder) k->encoder = syn__text_replaced(&b, k->encoder);
  if (k->decoder) k->decoder = syn__text_replaced(&b, k->decoder);
  k->vars = NULL;
  k->n_vars = 0;
  return m->c->status;
}

/* ==============================================================================================
   >>model   the weights of a network: memory, initial values, access
   ============================================================================================== */

/* In messages, by the stream: SYN_SRC, SYN_TGT, SYN_EACH. */
static const char *const syn__stream_names[] = {"source", "target", "sentence"};

/* FNV-1a of 64 bits (Fowler, Noll, Vo), of the names of parameters here. Not cryptographic. */
uint64_t syn_hash(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t i;
  for (i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001B3u;
  return hash;
}

/* Assigns each tensor its offset in the block of all weights: a multiple of 16 floats, so that no
   cache line holds two tensors. Trained ones come first: optimizer, gradient and averages are
   arrays over that part. The padding is zero and stays zero, as its gradient is. */
static void syn__weights_place(syn_model *m) {
  size_t i, at = 0;
  int trained;
  for (trained = 1; trained >= 0; trained--) {
    for (i = 0; i < m->g.n_params; i++)
      if (m->g.params[i].trained == trained) {
        m->g.params[i].offset = at;
        at = syn__add_size(at, syn__round16(m->g.params[i].size));
      }
    if (trained) m->trained = at;
  }
  m->floats = at;
}

/* A random orthogonal matrix a [m,m], uniformly distributed (Stewart 1980): the Q of the QR
   decomposition of a Gaussian matrix, with the diagonal of R positive. It grows from its last
   corner. For each Gaussian vector v the Householder reflection A -= f u (u^T A),
   u = v + sign(v_0) |v| e_0, f = 2/|u|^2, makes v/|v| the first column. Behind a lie u [m] and
   w = u^T A [m]. In double; 2/3 m^3 multiply-adds, twice. */
static void syn__orthogonal(double *a, int m, syn_random *r) {
  double *u = a + (size_t)m * (size_t)m, *w = u + m, *row, norm, sign, f; /* norm: |v| */
  int i, j, k;
  for (k = m - 1; k >= 0; k--) {
    for (i = k, norm = 0.0; i < m; i++) {
      u[i] = (double)syn_random_normal(r); /* v, which becomes u */
      norm += u[i] * u[i];
      w[i] = a[k * m + i] = a[i * m + k] = 0.0;
    }
    norm = sqrt(norm);
    sign = u[k] < 0.0 ? -1.0 : 1.0;
    a[k * m + k] = -sign;
    u[k] += sign * norm;
    for (i = k; i < m; i++) /* w = u^T A */
      for (j = k, row = a + i * m, f = u[i]; j < m; j++) w[j] += f * row[j];
    for (i = k; i < m; i++) { /* A -= f u w; f = 1 / (|v| |u_0|), since |u|^2 = 2 |v| |u_0| */
      f = norm > 0.0 ? u[i] / (norm * fabs(u[k])) : 0.0;
      for (j = k, row = a + i * m; j < m; j++) row[j] -= f * w[j];
    }
  }
}

/* A tensor of square matrices, one below the other, as wide as the tensor. Of a wide one only
   diagonal blocks of this size are drawn, because the time grows with the cube of the size. */
#define SYN__ORTHOGONAL 1024
static syn_status syn__orthogonal_init(syn_context *c, const syn_param *p, float amount,
                                       syn_random *r) {
  int width = p->shape[p->rank - 1], rows = (int)(p->size / (size_t)width), row, m, i, j;
  size_t most = (size_t)syn__min(SYN__ORTHOGONAL, width);
  double *a = (double *)syn__alloc(c, (most + 2) * most, sizeof *a); /* with u and w behind it */
  if (!a) return SYN_E_MEMORY;
  memset(p->x, 0, p->size * sizeof *p->x);
  for (row = 0; row < rows; row += m) {
    m = syn__min(syn__min((int)most, rows - row), width - row % width); /* the last are smaller */
    syn__orthogonal(a, m, r);
    for (i = 0; i < m; i++)
      for (j = 0; j < m; j++)
        p->x[(size_t)(row + i) * (size_t)width + (size_t)(row % width + j)] =
            (float)a[i * m + j] * amount;
  }
  syn__free(c, a);
  return SYN_OK;
}

/* Initial values of parameter i. The random numbers depend on the seed and the name alone: a
   network with one more layer has the same values in all others. syn__mix spreads neighbouring
   seeds over all 64 bits. */
static syn_status syn__weights_init(syn_model *m, size_t i) {
  syn_param *p = &m->g.params[i];
  syn_initial init = m->g.inits[i];
  float amount = (float)init.amount;
  syn_random r = {syn_hash(syn__mix(m->config.seed + 1), p->name, strlen(p->name))};
  size_t k;
  if (init.kind == SYN_INIT_ORTHOGONAL) return syn__orthogonal_init(m->c, p, amount, &r);
  for (k = 0; k < p->size; k++)
    p->x[k] = amount * (init.kind == SYN_INIT_CONSTANT  ? 1.0f
                        : init.kind == SYN_INIT_UNIFORM ? 2.0f * syn_random_uniform(&r) - 1.0f
                                                        : syn_random_normal(&r));
  return SYN_OK;
}

/* 1: matrices lie in panels alone, which runs and decoders share. */
static int syn__in_panels(const syn_model *m) { return m->packed && !m->weights; }

/* 1: the weights can be read by row. */
static int syn__weights_by_row(syn_context *c, const syn_model *m) {
  return !syn__in_panels(m) ||
         !syn__fail(c, SYN_E_VALUE, "the model was loaded for decoding alone, its weights lie in "
                    "panels: load it with syn_model_load");
}

/* Copies a matrix x [n,k] out of its panels. */
static void syn__unpack(float *x, const float *panels, const syn_param *p) {
  size_t n = (size_t)p->shape[0], k = p->size / n, row, i;
  for (row = 0; row < n; row++, x += k)
    for (i = 0; i < k; i++) x[i] = panels[syn__panel_row(row, k) + 16 * i];
}

/* Allocates the block of all weights if there is none: zeros, or copies of the weights that lie in
   a file or in panels. Called before weights are changed: those in a file may be read-only
   (syn_model_view). Runs that exist already go on reading the file or the panels. */
static syn_status syn__weights_own(syn_model *m) {
  size_t i;
  if (m->weights) return SYN_OK;
  m->weights = (float *)syn__alloc(m->c, m->floats, sizeof(float));
  if (!m->weights) return SYN_E_MEMORY;
  for (i = 0; i < m->g.n_params; i++) {
    syn_param *p = &m->g.params[i];
    float *x = m->weights + p->offset;
    if (p->x) memcpy(x, p->x, p->size * sizeof *x);
    else if (m->panels) syn__unpack(x, m->panels[i], p);
    p->x = x;
  }
  return SYN_OK;
}

void syn_model_free(syn_model *m) {
  if (!m) return;
  syn_model_set_tokenizers(m, NULL, NULL); /* frees them */
  syn_file_free(m->file);
  syn__free(m->c, m->weights);
  syn__free(m->c, m->panels);
  syn__graph_free(m->c, &m->g);
  syn__free(m->c, m);
}

/* 1: a kind of the caller's, of whose functions nothing is known. */
static int syn__kind_foreign(const syn_context *c, const syn_kind *kind) {
  size_t i;
  int k;
  for (i = 0; i < SYN__COUNT(syn__kinds); i++)
    if (syn__kinds[i] == kind) return 0;
  for (k = 0; k < c->options.n_kinds; k++)
    if (c->options.kinds[k] == kind) return 1;
  return 0;
}

/* Decoding reads a matrix in panels alone where only products of the library's kinds read it: not
   an embedding, whose node has no input, unless it is the output's matrix too (a tied tgt.embed).
   Kinds of the caller read weights as they are stored, and may pack any matrix. */
static void syn__panels_mark(syn_model *m) {
  syn__graph *g = &m->g;
  size_t i;
  int k;
  for (i = 0; i < g->n_params; i++) g->params[i].panels = g->params[i].matrix;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    int foreign = syn__kind_foreign(m->c, n->kind);
    if (foreign) g->pack = SIZE_MAX;
    for (k = 0; k < n->n_param && (foreign || !n->n_in); k++) g->params[n->param[k]].panels = 0;
  }
  g->params[g->nodes[m->head]->param[0]].panels = 1;
}

/* A model without memory for its weights: what plans, new and loaded models have in common. The
   status is checked, too, because a kind may record an error and still return. */
static syn_model *syn__model_shell(syn_context *c, const syn_config *config) {
  syn_model *m = (syn_model *)syn__alloc(c, 1, sizeof *m);
  if (!m) return NULL;
  m->c = c;
  m->g.arena.c = c;
  if (syn__config_resolve(m, config) == SYN_OK && syn__build_network(m) == SYN_OK &&
      c->status == SYN_OK) {
    syn__weights_place(m);
    syn__panels_mark(m);
    return m;
  }
  syn_model_free(m);
  return NULL;
}

/* A model with initial values; null: failed, with the error in the context. */
syn_model *syn_model_new(syn_context *c, const syn_config *config) {
  syn_model *m = syn__model_shell(c, config);
  syn_status s = m ? syn__weights_own(m) : SYN_E_MEMORY;
  size_t i;
  for (i = 0; s == SYN_OK && i < m->g.n_params; i++) s = syn__weights_init(m, i);
  if (s == SYN_OK) return m;
  syn_model_free(m);
  return NULL;
}

/* What a model consists of; null or 0 for a null model or a number that it does not have. */
const syn_config *syn_model_config(const syn_model *m) { return m ? &m->config : NULL; }
size_t syn_model_param_count(const syn_model *m) { return m ? m->g.n_params : 0; }
const syn_param *syn_model_param(const syn_model *m, size_t i) {
  return i < syn_model_param_count(m) ? &m->g.params[i] : NULL;
}
const syn_param *syn_model_find(const syn_model *m, const char *name) {
  int i = m && name ? syn__param_find(&m->g, name) : -1;
  return i < 0 ? NULL : &m->g.params[i];
}
size_t syn_model_node_count(const syn_model *m) { return m ? m->g.n_nodes : 0; }
const syn_node *syn_model_node(const syn_model *m, size_t i) {
  return i < syn_model_node_count(m) ? m->g.nodes[i] : NULL;
}

/* A matrix costs as many multiply-adds per token as it has numbers; an embedding, which has no
   input, only copies a row. The kind adds what depends on the length of the sentence. */
syn_cost syn_model_cost(const syn_model *m, const syn_node *n, int length) {
  syn_cost cost = {0.0, 0.0, 0.0, length};
  int i;
  if (!m || !n) return cost;
  cost.decode_bytes = 4.0 * (n->cache + n->key_cache);
  for (i = 0; i < n->n_param; i++) {
    const syn_param *p = &m->g.params[n->param[i]];
    cost.parameters += (double)p->size;
    if (p->matrix && n->n_in) cost.multiply_adds += (double)p->size;
  }
  if (n->kind->cost) n->kind->cost(n, &cost);
  return cost;
}

/* Frees each of the old tokenizers that the new pair does not hold, once where both were one. */
void syn_model_set_tokenizers(syn_model *m, syn_tokenizer *source, syn_tokenizer *target) {
  int i;
  if (!m) return;
  if (m->tokenizer[SYN_TGT] == m->tokenizer[SYN_SRC]) m->tokenizer[SYN_TGT] = NULL;
  for (i = 0; i < 2; i++)
    if (m->tokenizer[i] != source && m->tokenizer[i] != target) syn_tokenizer_free(m->tokenizer[i]);
  m->tokenizer[SYN_SRC] = source;
  m->tokenizer[SYN_TGT] = target;
}
const syn_tokenizer *syn_model_tokenizer(const syn_model *m, int side) {
  return m && (side == SYN_SRC || side == SYN_TGT) ? m->tokenizer[side] : NULL;
}

/* The token that names class 0 in the tokenizer of the target, see syn_model_set_tokenizers. */
static int syn__class_token(const syn_model *m) {
  return SYN_FIRST_TOKEN - (m->task->labels == SYN_SRC);
}

/* 1: each tokenizer has as many tokens as the vocabulary of its side, which the loader of model
   files checks; training checks it before it begins. */
static int syn__tokenizers_fit(syn_context *c, const syn_model *m) {
  const syn_config *k = &m->config;
  int classes = k->classes + syn__class_token(m), i;
  /* a task without a decoder names its classes by the tokenizer of the target */
  int sizes[2] = {m->task->encoder ? k->src_vocab : 0, m->task->decoder ? k->tgt_vocab : classes};
  for (i = 0; i < 2; i++)
    if (m->tokenizer[i] && sizes[i] && syn_tokenizer_size(m->tokenizer[i]) != sizes[i])
      return !syn__fail(c, m->file ? SYN_E_FORMAT : SYN_E_VALUE,
                        "model: the %s tokenizer has %d tokens, wanted %d",
                        syn__stream_names[i], syn_tokenizer_size(m->tokenizer[i]), sizes[i]);
  return 1;
}

/* -- initial values from a pretrained model -- */

/* The parameter of `from` that p of m gets its values from: that of the same name, or else the
   table that it is tied to in `from`. Null: there is none. */
static const syn_param *syn__init_source(const syn_model *m, const syn_model *from,
                                         const syn_param *p) {
  const syn_param *q = syn_model_find(from, p->name);
  int tied = !strcmp(p->name, "src.embed") ? from->tie == SYN__TIE_ALL
           : !strcmp(p->name, "out.w") ? from->tie > SYN__TIE_NONE && m->task->decoder : 0;
  return !q && tied ? syn_model_find(from, "tgt.embed") : q;
}

/* 1: both models have the same tokens under the same ids on that side, or one has no tokenizer. */
static int syn__init_tokens(const syn_model *m, const syn_model *from, int side) {
  const syn_tokenizer *a = m->tokenizer[side], *b = from->tokenizer[side];
  int i, size = syn_tokenizer_size(a);
  if (!a || !b) return 1;
  if (size != syn_tokenizer_size(b)) return 0;
  for (i = SYN_FIRST_TOKEN; i < size; i++) {
    syn_text x = syn_tokenizer_piece(a, i, 0), y = syn_tokenizer_piece(b, i, 0);
    if (syn__text_compare(x, y)) return 0;
  }
  return 1;
}

/* 1: p has the shape of its source q, and, where its rows are tokens or classes, the same ones.
   same[side]: the result of syn__init_tokens. */
static int syn__init_fits(const syn_model *m, const syn_model *from, const syn_param *p,
                          const syn_param *q, const int same[2]) {
  int target = !strcmp(p->name, "tgt.embed"), head = !strncmp(p->name, "out.", 4);
  int source = !strcmp(p->name, "src.embed") || (target && m->tie == SYN__TIE_ALL);
  if (!q || q->rank != p->rank ||
      memcmp(q->shape, p->shape, (size_t)p->rank * sizeof *p->shape) ||
      (source && !same[SYN_SRC]) || ((target || head) && !same[SYN_TGT]))
    return 0;
  /* logits of tokens and logits of classes are not the same, even where their numbers agree */
  return !head || m->task == from->task || (m->task->decoder && from->task->decoder);
}

/* 1: no parameter of m has q of `from` as its source. */
static int syn__init_unused(const syn_model *m, const syn_model *from, const syn_param *q) {
  static const char *const tied[] = {"src.embed", "out.w"}; /* see syn__init_source */
  int i;
  if (syn_model_find(m, q->name)) return 0;
  for (i = 0; i < 2; i++) {
    const syn_param *p = syn_model_find(m, tied[i]);
    if (p && syn__init_source(m, from, p) == q) return 0;
  }
  return 1;
}

/* Returns how many parameters were copied; -1: failed. The others keep their initial values and are
   reported: with the source that does not fit, or with null; then the sources that nobody reads. */
int syn_model_init_from(syn_model *m, const syn_model *from, int flags, syn_init_report report,
                        void *user) {
  int same[2], copied = 0;
  size_t i;
  if (!m || !syn__given(m->c, from, "model to begin from") || !syn__weights_by_row(m->c, from))
    return -1;
  if (m->task != from->task && !(flags & SYN_OTHER_TASK)) {
    syn__fail(m->c, SYN_E_VALUE, "a model of the task %s was given to begin one of %s from",
              from->task->name, m->task->name);
    return -1;
  }
  if (syn__weights_own(m)) return -1;
  same[SYN_SRC] = syn__init_tokens(m, from, SYN_SRC);
  same[SYN_TGT] = syn__init_tokens(m, from, SYN_TGT);
  for (i = 0; i < m->g.n_params; i++) {
    const syn_param *p = &m->g.params[i], *q = syn__init_source(m, from, p);
    if (syn__init_fits(m, from, p, q, same)) {
      memcpy(p->x, q->x, p->size * sizeof(float));
      copied++;
    } else if (report) report(user, p, q);
  }
  for (i = 0; report && i < from->g.n_params; i++)
    if (syn__init_unused(m, from, &from->g.params[i])) report(user, NULL, &from->g.params[i]);
  return copied;
}

/* ==============================================================================================
   >>run   one batch through a network: buffers, binding, results
   ============================================================================================== */

/* Hands out parts of one block. With `base` null it only adds up their sizes: one function
   measures the block first and divides it later, so a planned size always equals the size used. */
typedef struct syn__layout {
  char *base;   /* not owned; null: only measure */
  size_t used;  /* bytes handed out so far */
} syn__layout;

/* Every part begins at a multiple of 64 bytes. Sums saturate at SIZE_MAX, which every allocation
   refuses. With `base` null the pointers returned are null. */
static void *syn__layout_add(syn__layout *k, size_t count, size_t size) {
  size_t bytes = syn__mul_size(count, size), at = k->used;
  if (bytes > SIZE_MAX - SYN__ALIGN) bytes = SIZE_MAX - SYN__ALIGN;
  k->used = syn__add_size(at, (bytes + SYN__ALIGN - 1) / SYN__ALIGN * SYN__ALIGN);
  return k->base ? k->base + at : NULL;
}

/* Arrays [rows, width]; floats: null where the width is 0. */
static float *syn__layout_floats(syn__layout *k, size_t rows, size_t width) {
  return width ? (float *)syn__layout_add(k, syn__mul_size(rows, width), sizeof(float)) : NULL;
}
static int *syn__layout_ints(syn__layout *k, size_t rows, size_t width) {
  return (int *)syn__layout_add(k, syn__mul_size(rows, width), sizeof(int));
}

/* Workspace of >>loss, in runs with a backward pass. rows, drows [block,d]: labelled rows and their
   gradient; logits [block,V]; panels: out.w packed; each [block]: losses. */
typedef struct syn__loss_buffers {
  size_t block;          /* labelled rows whose logits exist at the same time */
  float *rows, *logits, *drows, *each, *panels;
  int *which;            /* rows that have a label */
} syn__loss_buffers;

/* A tape over the graph of a model, with the token ids of one batch. The struct and all its
   buffers are one allocation. */
struct syn_run {
  syn_tape tape;
  const syn_model *m;    /* not owned: it must outlive the run */
  size_t bytes;          /* of the allocation */
  int mode, nodes;       /* SYN__TRAIN ...; how many nodes of the graph run */
  syn__capacity cap;     /* the largest batch it has memory for */
  int *off[SYN_STREAMS]; /* by stream, [sentences+1]: first row of each sentence */
  int *labels;           /* [rows of the side that has labels] */
  int n_labels;          /* labels that are not ignored, in the batch bound last */
  int has_gradient;      /* 1: the last pass was syn_run_backward */
  int *text;             /* [2, longest] tokens of a source and of a target text */
  float *dweights;       /* of all trained weights; in a run with keep */
  syn__item *items;      /* of the plan; null once the buffers have their places */
  syn__loss_buffers loss;
};

/* A side that the task does not have gets no rows. A batch never has more sentences than rows. */
static syn__capacity syn__capacity_of(const syn_model *m, const syn_limits *limits) {
  syn__capacity cap;
  int src = limits->src_rows ? limits->src_rows : 4096;
  int tgt = limits->tgt_rows ? limits->tgt_rows : src;
  cap.rows[SYN_SRC] = m->task->encoder ? (size_t)src : 0;
  cap.rows[SYN_TGT] = m->task->decoder ? (size_t)tgt : 0;
  cap.rows[SYN_EACH] = (size_t)(limits->sentences ? limits->sentences : syn__max(src, tgt));
  cap.longest = (size_t)(limits->length ? limits->length : m->config.max_len);
  return cap;
}

/* Arrays of one batch. pairs [sentences+1]: where the attention matrix of each sentence begins. */
static void syn__layout_batch(syn_run *r, syn__layout *k) {
  size_t sentences = r->cap.rows[SYN_EACH];
  int i, j;
  for (i = 0; i < SYN_STREAMS; i++) r->off[i] = syn__layout_ints(k, 1, sentences + 1);
  for (i = 0; i < 2; i++) {
    r->tape.ids[i] = syn__layout_ints(k, 1, r->cap.rows[i]);
    r->tape.at[i] = syn__layout_ints(k, 1, r->cap.rows[i]);
    for (j = 0; j < 2; j++)
      r->tape.pairs[i][j] = (size_t *)syn__layout_add(k, sentences + 1, sizeof(size_t));
  }
  r->labels = syn__layout_ints(k, 1, r->cap.rows[r->m->task->labels]);
  r->text = syn__layout_ints(k, 2, r->cap.longest);
}

/* Logits of `block` rows instead of the whole batch: 512 rows, fewer where their logits take more
   than 64 MiB, at least 32. Every block reads out.w and reads and writes its gradient once, so
   smaller blocks mean more memory traffic. */
static void syn__layout_loss(syn_run *r, syn__layout *k) {
  const syn_param *w = &r->m->g.params[r->m->g.nodes[r->m->head]->param[0]];
  size_t v = (size_t)w->shape[0], d = (size_t)w->shape[1];
  syn__loss_buffers *l = &r->loss;
  l->block = ((size_t)1 << 24) / v; /* floats of 64 MiB */
  if (l->block > 512) l->block = 512;
  if (l->block < 32) l->block = 32;
  l->rows = syn__layout_floats(k, l->block, d);
  l->drows = syn__layout_floats(k, l->block, d);
  l->logits = syn__layout_floats(k, l->block, v);
  l->each = syn__layout_floats(k, 1, l->block);
  l->panels = syn__layout_floats(k, syn__round16(v), d);
  l->which = syn__layout_ints(k, 1, r->cap.rows[r->m->task->labels]);
}

/* Floats of t->pack. A decoder has its weights in panels and packs nothing but g.pack. */
static size_t syn__run_pack(const syn_run *r) {
  size_t any = syn__pack_floats(r->tape.threads);
  return r->mode == SYN__INFER && r->m->g.pack < any ? r->m->g.pack : any;
}

/* All buffers. Values and saved buffers come last: syn__place overlays those whose lifetimes do
   not meet, so it needs all of them together. In training and in decoders the head does not
   run, and its value (the logits of all rows) is left out of `shown`. */
static void syn__layout_run(syn_run *r, syn__layout *k) {
  syn__graph shown = r->m->g; /* a shallow copy: the arrays are the model's */
  syn_tape *t = &r->tape;
  syn__items l = {&shown, r->mode, &r->cap, r->items, 0};
  size_t i;
  float *base;
  if (r->mode == SYN__TRAIN || r->mode == SYN__INFER)
    shown.n_nodes = (size_t)r->m->head, shown.n_values--;
  r->nodes = (int)shown.n_nodes;
  t->tensors = (syn_tensor *)syn__layout_add(k, r->m->g.n_values, sizeof(syn_tensor));
  t->saved = (float **)syn__layout_add(k, r->m->g.n_nodes * SYN_MAX_SAVE, sizeof(float *));
  t->weights = (const float **)syn__layout_add(k, r->m->g.n_params, sizeof(float *));
  t->dweights = (float **)syn__layout_add(k, r->m->g.n_params, sizeof(float *));
  syn__layout_batch(r, k);
  if (r->mode == SYN__KEEP)
    t->kept_grads = (float **)syn__layout_add(k, r->m->g.n_values, sizeof(float *));
  t->pack = (float *)syn__layout_add(k, syn__run_pack(r), sizeof(float));
  t->scratch_size = syn__scratch_floats(&shown, &r->cap);
  t->scratch = (float *)syn__layout_add(k, syn__mul_size(t->scratch_size, (size_t)t->threads),
                                        sizeof(float));
  if (r->mode == SYN__KEEP) r->dweights = syn__layout_floats(k, 1, r->m->trained);
  if (r->mode <= SYN__KEEP) syn__layout_loss(r, k);
  syn__item_values(&l, k->base ? t : NULL);
  syn__item_saved(&l, k->base ? t->saved : NULL);
  syn__item_recurrent(&l);
  base = syn__layout_floats(k, 1, syn__place(&l));
  for (i = 0; i < l.count && base; i++)
    if (r->items[i].where) *r->items[i].where = base + r->items[i].at;
  /* an alias has a smaller number than the value it shares the gradient with */
  for (i = shown.n_values; i-- > 0 && base && r->mode <= SYN__KEEP;)
    if (syn__dx_alias(&shown, (int)i) >= 0)
      t->tensors[syn__dx_alias(&shown, (int)i)].dx = t->tensors[i].dx;
}

/* Sets up a run that has no buffers yet and returns the bytes of their block; 0: failed. The
   caller frees `items`, of which there are `most` at most. c may differ from the model's context:
   several threads can each run one model with a context of their own. */
static size_t syn__run_measure(syn_run *r, syn_context *c, const syn_model *m, int mode,
                               const syn_limits *limits) {
  static const syn_limits none = {0, 0, 0, 0, 0};
  size_t most = 3 * m->g.n_values + m->g.n_nodes * SYN_MAX_SAVE; /* 3: x, its gradient, a copy */
  syn__layout k = {NULL, 0};
  memset(r, 0, sizeof *r);
  if (!limits) limits = &none;
  if (limits->sentences < 0 || limits->src_rows < 0 || limits->tgt_rows < 0 || limits->length < 0)
    return !syn__fail(c, SYN_E_VALUE,
                      "limits: %d sentences, %d and %d rows, length %d; wanted 0 or more",
                      limits->sentences, limits->src_rows, limits->tgt_rows, limits->length);
  r->m = m;
  r->mode = mode;
  r->cap = syn__capacity_of(m, limits);
  r->tape.c = c;
  r->tape.k = c->kernels;
  r->tape.g = &m->g;
  r->tape.threads = c->options.threads;
  r->items = (syn__item *)syn__alloc(c, most, sizeof(syn__item));
  if (r->items) syn__layout_run(r, &k);
  return k.used;
}

/* Bytes of the block of such a run. */
static size_t syn__run_bytes(syn_context *c, const syn_model *m, int mode,
                             const syn_limits *limits) {
  syn_run r;
  size_t bytes = syn__run_measure(&r, c, m, mode, limits);
  syn__free(c, r.items);
  return bytes;
}

/* Measures, allocates once, divides. `head`: the struct in front, rounded up to 64 bytes. Tensors
   get their rows with every batch (syn__bind_shapes). */
static syn_run *syn__run_new(syn_context *c, const syn_model *m, int mode,
                             const syn_limits *limits) {
  syn_run measured, *r = NULL;
  size_t head = (sizeof(syn_run) + SYN__ALIGN - 1) / SYN__ALIGN * SYN__ALIGN;
  size_t bytes = syn__run_measure(&measured, c, m, mode, limits);
  syn__layout k = {NULL, 0};
  size_t i;
  if (c->status == SYN_OK) r = (syn_run *)syn__alloc(c, 1, syn__add_size(head, bytes));
  if (r) {
    *r = measured;
    r->bytes = head + bytes;
    if (syn__in_panels(m)) r->tape.packed = (const float *const *)m->panels;
    k.base = (char *)r + head;
    syn__layout_run(r, &k);
    r->items = NULL;
    for (i = 0; i < m->g.n_values; i++) syn__tensor_begin(&r->tape, (int)i);
    for (i = 0; i < m->g.n_params; i++) {
      const syn_param *p = &m->g.params[i];
      r->tape.weights[i] = p->x;
      if (mode == SYN__KEEP && p->trained) r->tape.dweights[i] = r->dweights + p->offset;
    }
  }
  syn__free(c, measured.items);
  return r;
}

syn_run *syn_run_new(syn_context *c, const syn_model *m, const syn_limits *limits) {
  if (!syn__given(c, m, "model")) return NULL;
  return syn__run_new(c, m, limits && limits->keep ? SYN__KEEP : SYN__READ, limits);
}
void syn_run_free(syn_run *r) {
  if (r) syn__free(r->tape.c, r);
}

/* Asked before every batch of a training or an evaluation. */
static syn_status syn__cancelled(syn_context *c) {
  const syn_options *o = &c->options;
  if (!o->cancel || !o->cancel(o->cancel_user)) return SYN_OK;
  return syn__fail(c, SYN_E_CANCELLED, "cancelled by the caller");
}

/* -- binding a batch: padded arrays become rows without padding -- */

/* Tokens of a padded row without the zeros at its end. A zero inside is left for the check that
   refuses it. */
static int syn__row_length(const int *row, int width) {
  while (width > 0 && row[width - 1] == SYN_PAD) width--;
  return width;
}

/* Appends the tokens of one sentence. This is the only check of a token: embeddings read w[token]
   without one. Lengths are compared by differences, because a sum of two ints could overflow. */
static syn_status syn__bind_sentence(syn_run *r, int side, const int *row, int length,
                                     int sentence) {
  const char *name = syn__stream_names[side];
  int vocabulary = side == SYN_TGT ? r->m->config.tgt_vocab : r->m->config.src_vocab, i;
  int *off = r->off[side];
  if (length < 1)
    return syn__fail(r->tape.c, SYN_E_VALUE, "%s sentence %d is empty", name, sentence);
  if ((size_t)length > r->cap.longest ||
      (size_t)length > r->cap.rows[side] - (size_t)off[sentence])
    return syn__fail(r->tape.c, SYN_E_SHAPE,
                     "%s sentence %d has %d tokens after %d of the batch; planned "
                     "were %d at most, %d in all",
                     name, sentence, length, off[sentence], (int)r->cap.longest,
                     (int)r->cap.rows[side]);
  for (i = 0; i < length; i++) {
    if (row[i] <= SYN_PAD || row[i] >= vocabulary)
      return syn__fail(r->tape.c, SYN_E_VALUE, "%s sentence %d: token %d is %d, wanted 1 to %d",
                       name, sentence, i, row[i], vocabulary - 1);
    r->tape.ids[side][off[sentence] + i] = row[i];
    r->tape.at[side][off[sentence] + i] = i;
  }
  off[sentence + 1] = off[sentence] + length;
  return SYN_OK;
}

/* Rows [count,width] of the caller become off, ids, at. An empty sentence is refused: a mean over
   no rows and a softmax over no keys are not defined. */
static syn_status syn__bind_side(syn_run *r, int side, const int *rows, int width, int count) {
  syn_stream *s = &r->tape.stream[side];
  int i;
  r->off[side][0] = 0;
  s->count = count;
  s->longest = 0;
  s->off = r->off[side];
  if (!rows || width < 1)
    return syn__fail(r->tape.c, SYN_E_VALUE, "the batch has no %s tokens",
                     syn__stream_names[side]);
  for (i = 0; i < count; i++) {
    const int *row = rows + (size_t)i * (size_t)width;
    int length = syn__row_length(row, width);
    if (syn__bind_sentence(r, side, row, length, i)) return r->tape.c->status;
    s->longest = syn__max(s->longest, length);
  }
  return SYN_OK;
}

/* Copies the labels next to their rows. Width of the label array: 1 for classify, else that of the
   side it belongs to. Label 0 means ignored, except for classify, where it is a class. n_labels
   counts labels that are not ignored: the loss is their mean. Labels may be null for a forward
   pass. */
static syn_status syn__bind_labels(syn_run *r, const syn_batch *b) {
  const syn__task_kind *task = r->m->task;
  int classes = task->classes ? r->m->config.classes : r->m->config.tgt_vocab;
  int width = task->labels == SYN_EACH ? 1 : task->labels == SYN_TGT ? b->tgt_width : b->src_width;
  int i, j;
  r->n_labels = 0;
  for (i = 0; i < b->count && b->labels; i++) {
    const int *row = b->labels + (size_t)i * (size_t)width, *off = r->off[task->labels];
    for (j = 0; j < width; j++) {
      int inside = j < off[i + 1] - off[i];
      if (row[j] < 0 || row[j] >= classes || (row[j] && !inside))
        return syn__fail(r->tape.c, SYN_E_VALUE, "sentence %d: label %d is %d, wanted 0 to %d%s", i,
                         j, row[j], inside ? classes - 1 : 0, inside ? "" : " past the end");
      if (inside) r->labels[off[i] + j] = row[j];
      r->n_labels += task->labels == SYN_EACH || row[j] != 0;
    }
  }
  return SYN_OK;
}

/* Rows of every tensor. pairs[q][k][s] = sum over the sentences before s of queries times keys:
   the attention matrices of all sentences lie in one buffer, one behind the other. */
static void syn__bind_shapes(syn_run *r) {
  const syn__graph *g = &r->m->g;
  syn_tape *t = &r->tape;
  size_t i;
  int q, k, s;
  for (i = 0; i < g->n_values; i++) {
    const syn_stream *stream = &t->stream[g->values[i].stream];
    t->tensors[i].shape[0] = stream->off ? stream->off[stream->count] : 0; /* all its rows */
  }
  for (q = 0; q < 2; q++)
    for (k = 0; k < 2; k++) {
      const int *a = t->stream[q].off, *b = t->stream[k].off;
      t->pairs[q][k][0] = 0;
      for (s = 0; a && b && s < t->stream[q].count; s++)
        t->pairs[q][k][s + 1] =
            t->pairs[q][k][s] + (size_t)(a[s + 1] - a[s]) * (size_t)(b[s + 1] - b[s]);
    }
}

/* A kind with a table of N positions (R, D, learn_pos) refuses a longer sentence. */
static syn_status syn__bind_tables(syn_run *r) {
  const syn__graph *g = &r->m->g;
  size_t i;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    int longest = syn_out_stream(&r->tape, n)->longest;
    if (n->table && longest > n->table)
      return syn__fail(r->tape.c, SYN_E_SHAPE,
                       "%s: a sentence of %d tokens, but %s has a table of %d (max_len)", n->path,
                       longest, n->kind->name, n->table);
  }
  return SYN_OK;
}

/* Table sizes are checked last, when the longest sentence is known. A side that the task does not
   have keeps count 0 and a null `off`. */
static syn_status syn__bind_all(syn_run *r, const syn_batch *b) {
  int i;
  if (b->count < 1 || (size_t)b->count > r->cap.rows[SYN_EACH])
    return syn__fail(r->tape.c, SYN_E_SHAPE, "a batch of %d sentences, planned were 1 to %d",
                     b->count, (int)r->cap.rows[SYN_EACH]);
  if (r->m->task->encoder && syn__bind_side(r, SYN_SRC, b->src, b->src_width, b->count))
    return r->tape.c->status;
  if (r->m->task->decoder && syn__bind_side(r, SYN_TGT, b->tgt, b->tgt_width, b->count))
    return r->tape.c->status;
  for (i = 0; i <= b->count; i++) r->off[SYN_EACH][i] = i;
  r->tape.stream[SYN_EACH].count = b->count;
  r->tape.stream[SYN_EACH].off = r->off[SYN_EACH];
  syn__bind_shapes(r);
  if (syn__bind_tables(r)) return SYN_E_SHAPE;
  return syn__bind_labels(r, b);
}

/* A run holds no batch after one was refused: no result of it can be read. */
static syn_status syn__bind(syn_run *r, const syn_batch *b) {
  syn_status s = syn__given(r->tape.c, b, "batch") ? syn__bind_all(r, b) : SYN_E_VALUE;
  if (s != SYN_OK) memset(r->tape.stream, 0, sizeof r->tape.stream);
  return s;
}

/* For a loss: without labels, those of the previous batch would still stand in r->labels. */
static syn_status syn__bind_labelled(syn_run *r, const syn_batch *b) {
  if (b && !b->labels) return syn__fail(r->tape.c, SYN_E_VALUE, "the batch has no labels");
  return syn__bind(r, b);
}

/* -- forward passes, results -- */

/* All nodes, the head included. In training the head does not run; >>loss makes its logits block
   by block. */
syn_status syn_run_forward(syn_run *r, const syn_batch *batch) {
  syn_status s = r ? syn__bind(r, batch) : SYN_E_VALUE;
  if (s != SYN_OK) return s;
  r->tape.training = r->has_gradient = 0;
  syn__forward(&r->tape, r->nodes);
  return SYN_OK;
}

/* Logits [rows, tokens or classes] of a sentence, rows those of the side that has labels; null: no
   such sentence. They live until the next pass. */
const float *syn_run_logits(const syn_run *r, int sentence, int *rows) {
  const syn_stream *s = r ? &r->tape.stream[r->m->task->labels] : NULL;
  const syn_tensor *z;
  *rows = 0;
  if (!r || sentence < 0 || sentence >= s->count) return NULL;
  z = &r->tape.tensors[r->m->g.nodes[r->m->head]->out];
  *rows = s->off[sentence + 1] - s->off[sentence];
  return z->x + (size_t)s->off[sentence] * (size_t)syn_width(z);
}

/* The next class behind `last` in the order of falling logits, equal ones by number; last < 0: the
   first. -1: none. Nothing is sorted, because callers read only the first few ranks. */
static int syn__next_class(const float *z, int first, int classes, int last) {
  int i, best = -1;
  for (i = first; i < classes; i++) {
    if (last >= 0 && (z[i] > z[last] || (z[i] == z[last] && i <= last))) continue;
    if (best < 0 || z[i] > z[best]) best = i;
  }
  return best;
}

/* p_k = exp(z_k - m) / sum_j exp(z_j - m), m the largest logit, in double. Comparisons with NaN
   are false, so NaN logits give -1 or any class, never an index outside. */
int syn_run_class(const syn_run *r, int sentence, int row, int rank, float *p) {
  int rows, classes = r ? r->m->config.classes : 0, tag, i, k = -1, top; /* top: of the largest */
  const float *z = r && r->m->task->classes ? syn_run_logits(r, sentence, &rows) : NULL;
  double sum = 0.0;
  if (p) *p = 0.0f;
  if (!z || row < 0 || row >= rows || rank < 0 || rank >= classes) return -1;
  z += (size_t)row * (size_t)classes;
  tag = r->m->task->labels == SYN_SRC; /* class 0 of tag means ignored: never chosen */
  do k = syn__next_class(z, tag, classes, k);
  while (k >= 0 && rank-- > 0);
  if (k < 0 || !p) return k;
  top = syn__next_class(z, 0, classes, -1);
  for (i = 0; i < classes; i++) sum += syn__exp((double)z[i] - (double)z[top]);
  *p = (float)(syn__exp((double)z[k] - (double)z[top]) / sum);
  return k;
}

syn_text syn_run_class_name(const syn_run *r, int sentence, int row, int rank, float *p) {
  int k = syn_run_class(r, sentence, row, rank, p);
  const syn_tokenizer *names = k < 0 ? NULL : r->m->tokenizer[SYN_TGT]; /* no names: "" */
  return syn_tokenizer_piece(names, names ? k + syn__class_token(r->m) : 0, 1);
}

/* Encodes the text of one side as a sentence of at most `room` tokens. A target begins with the
   begin token; a source ends with the end token, except for tag, which has a label for every token.
   Returns how many tokens the sentence has; -1: failed. */
static int syn__text_ids(syn_context *c, const syn_model *m, int side, syn_text text, int *ids,
                         int room) {
  const syn_tokenizer *t = m->tokenizer[side];
  int begin = side == SYN_TGT, end = !begin && m->task->labels != SYN_SRC;
  int most = room - begin - end, n = t ? syn_tokenizer_encode(t, text, ids + begin, most) : 0;
  if (!t) syn__fail(c, SYN_E_VALUE, "the model has no %s tokenizer", syn__stream_names[side]);
  if (n > most)
    syn__fail(c, SYN_E_SHAPE, "the %s text has %d tokens, planned were %d", syn__stream_names[side],
              n, most);
  if (!t || n > most) return -1;
  if (begin) ids[0] = SYN_BEGIN;
  if (end) ids[n] = SYN_END;
  return begin + n + end;
}

/* A batch of one sentence, without labels. */
syn_status syn_run_text(syn_run *r, syn_text source, syn_text target) {
  syn_batch b = {1, NULL, NULL, NULL, 0, 0};
  int *tgt, longest;
  if (!r) return SYN_E_VALUE;
  longest = (int)r->cap.longest;
  b.src = r->text;
  b.tgt = tgt = r->text + longest;
  r->tape.stream[r->m->task->labels].count = 0; /* no results until the pass is done */
  if (r->m->task->encoder)
    b.src_width = syn__text_ids(r->tape.c, r->m, SYN_SRC, source, r->text, longest);
  if (r->m->task->decoder)
    b.tgt_width = syn__text_ids(r->tape.c, r->m, SYN_TGT, target, tgt, longest);
  if (b.src_width < 0 || b.tgt_width < 0) return r->tape.c->status;
  return syn_run_forward(r, &b);
}

/* The i-th layer with attention weights, in the order of the nodes (encoder first). */
static const syn_node *syn__attention_at(const syn_model *m, int i) {
  size_t k;
  for (k = 0; m && i >= 0 && k < m->g.n_nodes; k++)
    if (m->g.nodes[k]->seen_heads && i-- == 0) return m->g.nodes[k];
  return NULL;
}

const char *syn_model_attention(const syn_model *m, int i, int *heads) {
  const syn_node *n = syn__attention_at(m, i);
  *heads = n ? n->seen_heads : 0;
  return n ? n->path : NULL;
}

/* Matrices [matrices, queries, keys] of a sentence in a saved buffer of pairs; size: the queries
   and keys. Where a kind has a fixed number of keys (linformer), it is seen_keys. */
static const float *syn__run_pairs(const syn_run *r, const syn_node *n, int save, int matrices,
                                   int sentence, int size[2]) {
  int to = r->m->g.values[n->out].stream, from = r->m->g.values[n->in[n->n_in - 1]].stream;
  const int *q = r->tape.stream[to].off + sentence, *k = r->tape.stream[from].off + sentence;
  size_t before = n->seen_keys ? (size_t)q[0] * (size_t)n->seen_keys
                               : r->tape.pairs[to][from][sentence];
  size[0] = q[1] - q[0];
  size[1] = n->seen_keys ? n->seen_keys : k[1] - k[0];
  return syn_saved(&r->tape, n, save) + before * (size_t)matrices;
}

/* Weights [queries, keys] of one head, behind the softmax; null with sizes 0: none. */
const float *syn_run_attention(const syn_run *r, int layer, int head, int sentence, int size[2]) {
  const syn_node *n = r ? syn__attention_at(r->m, layer) : NULL;
  const float *weights;
  size[0] = size[1] = 0;
  if (!n || head < 0 || head >= n->seen_heads || sentence < 0 ||
      sentence >= syn_out_stream(&r->tape, n)->count)
    return NULL;
  weights = syn__run_pairs(r, n, n->seen, n->seen_heads, sentence, size);
  return weights + (size_t)head * (size_t)size[0] * (size_t)size[1];
}

/* One character for each weight, from light to full in five steps: a space, U+2591, 2592, 2593,
   2588, as bytes, so that the encoding of this file does not matter. */
size_t syn_attention_shades(const float *row, int keys, char *out, size_t capacity) {
  static const char *const shades[] = {" ", "\xE2\x96\x91", "\xE2\x96\x92", "\xE2\x96\x93",
                                       "\xE2\x96\x88"};
  syn__text_out w = syn__text_begin(out, capacity);
  int j;
  for (j = 0; row && j < keys; j++) {
    float p = row[j] > 0.0f ? row[j] : 0.0f; /* also what is not a number */
    syn__print(&w, "%s", shades[p < 0.8f ? (int)(p * 5.0f) : 4]);
  }
  return w.used;
}

/* ==============================================================================================
   >>loss   mean over the labels of -sum_v q_v log p_v, q = 1-eps at the label, eps/(V-1) elsewhere
   ============================================================================================== */

/* Cross-entropy with label smoothing (Szegedy et al. 2016), and its gradient p_v - q_v, p = softmax
   of the logits. Computed for blocks of labelled rows, each: copy rows, logits = rows out.w^T +
   out.b, loss kernel (which writes scale (p - q) over the logits), gradients of out.w, out.b, rows.
   The logits of a whole batch never exist; rows without a label are never computed. */

/* One block: the rows first .. first+rows-1 of `which`, the list of labelled rows. */
typedef struct syn__loss_job {
  const syn_run *r;
  const syn_node *head;
  size_t d, classes;
  syn_matrix w;      /* out.w^T [d,classes] in panels */
  int first, rows;   /* of `which` */
  float eps, scale;  /* scale 0: no gradient */
} syn__loss_job;

/* A loss for each row. They are added up later, in the order of rows: same bits for any number of
   threads. */
static void syn__task_loss(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__loss_job *j = (const syn__loss_job *)job;
  const syn__loss_buffers *l = &j->r->loss;
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++)
    l->each[i] = t->k->loss(l->logits + i * j->classes, j->classes,
                            j->r->labels[l->which[(size_t)j->first + i]], j->eps, j->scale);
}

/* Copies the labelled rows of the block together, then logits = rows out.w^T + out.b. */
static void syn__loss_logits(syn_tape *t, const syn__loss_job *j) {
  const syn__loss_buffers *l = &j->r->loss;
  const float *x = syn_in(t, j->head, 0)->x;
  int i, d = (int)j->d, classes = (int)j->classes;
  for (i = 0; i < j->rows; i++)
    memcpy(l->rows + (size_t)i * j->d, x + (size_t)l->which[j->first + i] * j->d,
           j->d * sizeof *x);
  syn_gemm(t, syn_matrix_of(l->logits, j->rows, classes, 0),
           syn_matrix_of(l->rows, j->rows, d, 0), j->w, syn_weight(t, j->head, 1), 0);
}

/* Copies rows [rows of the block,width] to their places among all rows of the batch. */
static void syn__loss_scatter(const syn__loss_job *j, float *to, const float *rows, size_t width) {
  int i;
  for (i = 0; i < j->rows; i++)
    memcpy(to + (size_t)j->r->loss.which[j->first + i] * width, rows + (size_t)i * width,
           width * sizeof *to);
}

/* dx = dlogits W, dW += dlogits^T x, db += column sums. A row belongs to one label, so its
   gradient is written, not added; dx of rows without a label stays 0. */
static void syn__loss_backward(syn_tape *t, const syn__loss_job *j) {
  const syn__loss_buffers *l = &j->r->loss;
  syn_tensor *x = syn_in(t, j->head, 0);
  syn__linear_grad g = syn__linear_grad_of(t, j->head, 0, 1, x, l->logits);
  g.x = l->rows;
  g.dx = l->drows;
  g.first_write = 1;
  g.rows = (size_t)j->rows;
  syn__linear_backward_of(t, &g);
  syn__loss_scatter(j, x->dx, l->drows, j->d);
}

/* Sum of the losses of the batch, in double; with scale != 0 also the gradients times scale. The
   head is no node of a training run, so the gradient of its input is zeroed here and not in the
   backward pass. */
static double syn__loss(syn_run *r, float eps, float scale) {
  syn_tape *t = &r->tape;
  const syn_node *head = t->g->nodes[r->m->head];
  const syn_tensor *x = syn_in(t, head, 0);
  int i, all = 0, rows = x->shape[0];
  double sum = 0.0;
  syn_matrix w = syn__weight_transposed(t, head, 0);
  syn__loss_job j = {r, head, (size_t)w.rows, (size_t)w.cols, w, 0, 0, eps, scale};
  if (!w.panel) j.w = syn__pack_b(t, w, r->loss.panels); /* once for all blocks */
  for (i = 0; i < rows; i++)
    if (r->m->task->labels == SYN_EACH || r->labels[i]) r->loss.which[all++] = i;
  if (scale != 0.0f && all < rows) syn__zero(t, x->dx, syn_count(x));
  for (; j.first < all; j.first += j.rows) {
    j.rows = syn__min((int)r->loss.block, all - j.first);
    syn__loss_logits(t, &j);
    syn_parallel(t, syn__task_loss, &j, (size_t)j.rows, 1);
    for (i = 0; i < j.rows; i++) sum += (double)r->loss.each[i];
    if (t->kept_grads)
      syn__loss_scatter(&j, t->kept_grads[head->out], r->loss.logits, j.classes);
    if (scale != 0.0f) syn__loss_backward(t, &j);
  }
  return sum;
}

/* ==============================================================================================
   >>values   numbers of a network by their place in its text
   ============================================================================================== */

/* -- a network as text -- */

/* One line: path, with @k where the path comes again, kind, inputs, output, parameters. */
static void syn__describe_node(const syn_model *m, const syn_node *n, syn__text_out *w) {
  const syn__value *v = m->g.values;
  int i, k, again = 0; /* again: nodes before this one with the same path */
  for (i = 0; i < n->id; i++) again += !strcmp(m->g.nodes[i]->path, n->path);
  syn__print(w, "%s", n->path);
  if (again) syn__print(w, "@%d", again);
  syn__print(w, "\t%s\t", n->kind->name);
  for (i = 0; i < n->n_in; i++)
    syn__print(w, "%s[%s,%d]", i ? " " : "", syn__stream_names[v[n->in[i]].stream],
               v[n->in[i]].shape[1]);
  syn__print(w, "\t[%s,%d]\t", syn__stream_names[v[n->out].stream], v[n->out].shape[1]);
  for (i = 0; i < n->n_param; i++) {
    const syn_param *p = &m->g.params[n->param[i]];
    syn__print(w, "%s%s", i ? " " : "", p->name);
    for (k = 0; k < p->rank; k++) syn__print(w, "%c%d", k ? ',' : '[', p->shape[k]);
    syn__print(w, "]");
  }
  syn__print(w, "\n");
}

/* A table with one line for each node, fields separated by tabs. The weights get no memory. */
size_t syn_model_describe(syn_context *c, const syn_config *config, char *out, size_t capacity) {
  syn_model *m = syn__model_shell(c, config);
  syn__text_out w = syn__text_begin(out, capacity);
  size_t i;
  if (!m) return 0;
  syn__print(&w, "path\tkind\tinputs\toutput\tparameters\n");
  for (i = 0; i < m->g.n_nodes; i++) syn__describe_node(m, m->g.nodes[i], &w);
  syn_model_free(m);
  return w.used;
}

/* -- finding a value -- */

/* What stands in `name` behind the path: "" or ".part"; null: another path. *k: the number in
   "path@k", -1: none. */
static const char *syn__path_rest(const char *path, const char *name, int *k) {
  size_t size = strlen(path);
  *k = -1;
  if (strncmp(path, name, size)) return NULL;
  name += size;
  if (*name == '@')
    for (*k = 0, name++; *name >= '0' && *name <= '9' && *k <= SYN_MAX_NODES; name++)
      *k = *k * 10 + (*name - '0');
  return !*name || *name == '.' ? name : NULL;
}

/* The part of that name, its name null: none. "weights" is the buffer `seen` of an attention. */
static syn_part syn__part_find(const syn_node *n, const char *name) {
  syn_part weights = {"weights", n->seen, SYN_PART_PAIRS, 0, n->seen_heads, 1};
  int i;
  for (i = 0; i < n->n_part; i++)
    if (!strcmp(n->part[i].name, name)) return n->part[i];
  if (!n->seen_heads || strcmp(name, weights.name)) weights.name = NULL;
  return weights;
}

/* The node of "path", "path@k" or "path.part", with its part; without a name: its output. Where a
   path comes again (universal) and no @k is given: the last one. Null: none. */
static const syn_node *syn__value_find(const syn_model *m, const char *name, syn_part *part) {
  const syn_node *found = NULL;
  size_t i;
  int k, count = 0;
  for (i = 0; i < m->g.n_nodes; i++) {
    const syn_node *n = m->g.nodes[i];
    const char *rest = syn__path_rest(n->path, name, &k);
    syn_part p = syn__part_find(n, rest && *rest ? rest + 1 : "");
    if (!rest || (*rest && !p.name) || (k >= 0 && count++ != k)) continue;
    found = n;
    *part = p;
  }
  return found;
}

/* Bytes of the name of a value or of a part of it. */
enum { SYN__VALUE_NAME = SYN__PATH + 64 };

/* Sets `nearest` to path + dot + part where that is nearer to `wanted`. */
static void syn__nearest_path(char nearest[SYN__VALUE_NAME], const char *wanted, const char *path,
                              const char *dot, const char *part) {
  char name[SYN__VALUE_NAME];
  syn__snprintf(name, sizeof name, "%s%s%s", path, dot, part);
  if (syn__nearer(wanted, strlen(wanted), *nearest ? nearest : NULL, name) == name)
    memcpy(nearest, name, sizeof name);
}

/* An error that names the known path nearest to `path`. */
static syn_status syn__value_unknown(const syn_run *r, const char *path) {
  const syn__graph *g = &r->m->g;
  char nearest[SYN__VALUE_NAME] = "";
  size_t i;
  int k;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    syn__nearest_path(nearest, path, n->path, "", "");
    for (k = 0; k < n->n_part; k++) syn__nearest_path(nearest, path, n->path, ".", n->part[k].name);
    if (n->seen_heads) syn__nearest_path(nearest, path, n->path, ".", "weights");
  }
  for (i = 0; i < g->n_params; i++) syn__nearest_path(nearest, path, g->params[i].name, "", "");
  return syn__fail(r->tape.c, SYN_E_VALUE, "no value is named '%.80s'; the nearest is %.80s", path,
                   nearest);
}

/* -- reading a value -- */

/* Adds an axis to the shape of the value. */
static void syn__value_axis(syn_value *v, const char *name, int size) {
  v->axes[v->rank] = name;
  v->shape[v->rank++] = size;
}

/* A parameter: no sentence has one of its own. A convolution has two axes of inputs: its taps and
   the width of a row. */
static void syn__value_param(const syn_run *r, const syn_param *p, syn_value *v) {
  int i;
  for (i = 0; i < p->rank; i++)
    syn__value_axis(v, !p->matrix ? "unit" : i ? "input" : "output", p->shape[i]);
  v->x = p->x;
  if (r->has_gradient && p->trained) v->dx = r->dweights + p->offset;
}

/* The output of a node: the rows of a sentence are contiguous. */
static void syn__value_output(const syn_run *r, const syn_node *n, int sentence, syn_value *v) {
  const syn_tensor *y = syn_out(&r->tape, n);
  int stream = r->m->g.values[n->out].stream, width = syn_width(y);
  const int *off = r->tape.stream[stream].off + sentence;
  size_t before = (size_t)off[0] * (size_t)width;
  syn__value_axis(v, stream == SYN_EACH ? "sentence" : "token", off[1] - off[0]);
  syn__value_axis(v, n->id != r->m->head ? "feature" : r->m->task->classes ? "class" : "vocabulary",
                  width);
  v->x = y->x + before;
  if (r->has_gradient) v->dx = r->tape.kept_grads[n->out] + before;
}

/* Rows of a part: [token, heads, width], the axis of heads left out where there is one. */
static void syn__value_rows(const syn_run *r, const syn_node *n, const syn_part *p, int sentence,
                            syn_value *v) {
  const syn_tape *t = &r->tape;
  const syn_stream *s = p->form == SYN_PART_KEYS ? syn_in_stream(t, n, n->n_in - 1)
                                                 : syn_out_stream(t, n);
  const int *off = s->off + sentence;
  size_t rows = syn_rows(syn_out(t, n)), keys = syn_rows(syn_in(t, n, n->n_in - 1));
  if (keys > rows) rows = keys; /* the buffer is planned for whichever are more */
  syn__value_axis(v, "token", off[1] - off[0]);
  if (p->heads > 1) syn__value_axis(v, "head", p->heads);
  syn__value_axis(v, "feature", p->width);
  v->x = syn_saved(t, n, p->save) + rows * (size_t)p->at +
         (size_t)off[0] * (size_t)(p->heads * p->width);
}

/* [head, query, key], with an axis of matrices per head where a part has several of them. */
static void syn__value_pairs(const syn_run *r, const syn_node *n, const syn_part *p, int sentence,
                             syn_value *v) {
  int size[2];
  v->x = syn__run_pairs(r, n, p->save, p->heads * p->width, sentence, size);
  syn__value_axis(v, "head", p->heads);
  if (p->width > 1) syn__value_axis(v, "kind", p->width);
  syn__value_axis(v, "query", size[0]);
  syn__value_axis(v, "key", size[1]);
}

syn_status syn_run_value(const syn_run *r, const char *path, int sentence, syn_value *value) {
  const syn_node *n;
  syn_part part; /* set where n is found */
  const syn_param *p;
  memset(value, 0, sizeof *value); /* defined on every path */
  if (!r || !syn__given(r->tape.c, path, "path")) return SYN_E_VALUE;
  if (r->mode != SYN__KEEP)
    return syn__fail(r->tape.c, SYN_E_VALUE,
                     "%.80s: the run was made without `keep`, so it reuses the memory of values",
                     path);
  p = syn_model_find(r->m, path);
  n = p ? NULL : syn__value_find(r->m, path, &part);
  if (!p && !n) return syn__value_unknown(r, path);
  if (p && !p->x) return syn__weights_by_row(r->tape.c, r->m) ? SYN_OK : SYN_E_VALUE;
  if (p) syn__value_param(r, p, value);
  else if (sentence < 0 || sentence >= syn_out_stream(&r->tape, n)->count)
    return syn__fail(r->tape.c, SYN_E_VALUE, "%.80s: sentence %d, the last pass had %d", path,
                     sentence, syn_out_stream(&r->tape, n)->count);
  else if (!part.name) syn__value_output(r, n, sentence, value);
  else if (part.form == SYN_PART_PAIRS) syn__value_pairs(r, n, &part, sentence, value);
  else syn__value_rows(r, n, &part, sentence, value);
  return SYN_OK;
}

/* The mean of the rows from `first` on: all rows, or the last one alone. Sums in double, in the
   order of rows. */
syn_status syn_run_vector(const syn_run *r, const char *path, int sentence, int what, float *out,
                          int width) {
  syn_value v;
  syn_status s = syn_run_value(r, path, sentence, &v);
  int i, k, first;
  if (s != SYN_OK) return s;
  if (v.rank != 2 || !v.axes[0] || !strcmp(v.axes[0], "output") || v.shape[1] != width)
    return syn__fail(r->tape.c, SYN_E_SHAPE, "%.80s: a vector of width %d was wanted, rows have "
                     "rank %d and width %d", path, width, v.rank, v.shape[v.rank - 1]);
  if (what != SYN_VECTOR_MEAN && what != SYN_VECTOR_LAST)
    return syn__fail(r->tape.c, SYN_E_VALUE, "a vector is the mean (%d) or the last row (%d), not "
                     "%d", SYN_VECTOR_MEAN, SYN_VECTOR_LAST, what);
  first = what == SYN_VECTOR_LAST ? v.shape[0] - 1 : 0;
  for (k = 0; k < width; k++) {
    double sum = 0.0;
    for (i = first; i < v.shape[0]; i++) sum += (double)v.x[(size_t)i * (size_t)width + (size_t)k];
    out[k] = (float)(sum / (v.shape[0] - first));
  }
  return SYN_OK;
}

/* -- gradients of values -- */

/* A kind may overwrite the gradient of its output in its backward pass, and nodes of input feeding
   run several times, so the pass adds every gradient to a copy first (kept_grads). It may overwrite
   saved buffers too: a second forward pass computes them again. */
syn_status syn_run_backward(syn_run *r, const syn_batch *batch, float *loss) {
  double sum;
  syn_status s;
  size_t i;
  if (loss) *loss = 0.0f;
  if (!r) return SYN_E_VALUE;
  r->has_gradient = 0;
  if (r->mode != SYN__KEEP)
    return syn__fail(r->tape.c, SYN_E_VALUE, "syn_run_backward: the run was made without `keep`, "
                     "so it has no memory for gradients");
  if (r->tape.packed)
    return syn__fail(r->tape.c, SYN_E_VALUE, "syn_run_backward: the model was loaded for decoding "
                     "alone: load it with syn_model_load");
  s = syn__bind_labelled(r, batch);
  if (s != SYN_OK) return s;
  if (!r->n_labels) return syn__fail(r->tape.c, SYN_E_VALUE, "a batch without a label");
  for (i = 0; i < r->m->g.n_values; i++) /* passes add to these */
    syn__zero(&r->tape, r->tape.kept_grads[i], syn_count(&r->tape.tensors[i]));
  syn__zero(&r->tape, r->dweights, r->m->trained);
  r->tape.training = 0;
  syn__forward(&r->tape, r->m->head); /* without the head: >>loss makes the logits */
  sum = syn__loss(r, r->m->config.label_smoothing, 1.0f / (float)r->n_labels);
  syn__backward(&r->tape, r->m->head);
  syn__forward(&r->tape, r->nodes); /* with the head */
  if (loss) *loss = (float)(sum / (double)r->n_labels);
  r->has_gradient = 1;
  return SYN_OK;
}

/* ==============================================================================================
   >>optim   learning-rate schedules, the norm of the gradient, Adam, AdamW, Adafactor, SGD
   ============================================================================================== */

/* One update, from the gradient of the summed loss (called by syn__train_finish):

     syn__gradient_norm      the norm, for clipping; not finite where any number is not
     syn__step_of            learning rate from the schedule, scale of the gradient
     syn__optimizer.prepare  arguments of the kernels, a bound of how far a weight can move
     syn__optimize           the update of weights and moments, unless the bound is too large */

/* -- schedules: the learning rate of step t = 1, 2, ... -- */

static const char *const syn__schedules[] = {"noam",   "rsqrt",    "linear",
                                             "cosine", "constant", "plateau"};
enum { SYN__NOAM, SYN__RSQRT, SYN__LINEAR, SYN__COSINE, SYN__CONSTANT, SYN__PLATEAU };

/* The factor of lr; w: warm-up steps (linear from 0 in all schedules), n: all steps, d: d_model.
   rsqrt falls as sqrt(w/t) behind the warm-up; linear and cosine reach 0 at t = n; plateau is
   constant here, because validations change state.factor. */
static double syn__schedule(int which, double t, double w, double n, double d) {
  double rest, sine, cosine;
  if (which == SYN__NOAM) { /* Vaswani et al. 2017, section 5.3 */
    double fall = 1.0 / sqrt(t), rise = w > 0.0 ? t / (w * sqrt(w)) : fall;
    return (fall < rise ? fall : rise) / sqrt(d);
  }
  if (t < w) return t / w;
  if (which == SYN__RSQRT) return sqrt((w > 1.0 ? w : 1.0) / t);
  if (which == SYN__CONSTANT || which == SYN__PLATEAU) return 1.0;
  rest = n > w ? (t - w) / (n - w) : 1.0;
  if (rest > 1.0) rest = 1.0;
  if (which == SYN__LINEAR) return 1.0 - rest;
  syn__sincos(3.14159265358979323846 * rest, &sine, &cosine); /* Loshchilov and Hutter 2017 */
  return 0.5 * (1.0 + cosine);
}

/* A trained tensor, and where its numbers stand in the arrays of the trainer: `at` in the gradient
   and in every kept checkpoint, `first` and `second` in the two moments. A frozen tensor has
   none. */
typedef struct syn__trained {
  const syn_param *p;
  size_t at, first, second;
  double rms; /* of its weights before the step: adafactor alone */
} syn__trained;

/* A training step: what is the same for all tensors. */
typedef struct syn__step {
  syn_trainer *t;
  double number;   /* 1, 2, ... */
  float rate;      /* learning rate */
  float decay;     /* of the weights: rate times weight_decay */
  float scale;     /* of the gradient: 1 / labels, and clipping */
  double gradient; /* bound of every |scale g| */
  double first;    /* bound of every |first moment| after the step */
  /* arguments of the kernels, as far as tensors share them; a rule sets those that it uses */
  syn__adam adam;
  syn__weight_update update;
  syn__factor factor;
} syn__step;

/* An update rule. A default of 0 means: beta2, eps: the rule has none; beta1: none by default; lr:
   the rule finds its own. A first moment has the size of its tensor. */
typedef struct syn__optimizer {
  const char *name;
  float lr, beta1, beta2, eps;
  int decays;      /* 1: uses weight_decay */
  int keeps_first; /* 1: has a first moment also without beta1 */
  /* floats of the second moment of one tensor; null: none */
  size_t (*second)(const syn_param *p);
  /* floats of workspace for one tensor; null: the rule is element-wise and needs none */
  size_t (*workspace)(const syn_param *p);
  /* Sets s->first and the arguments of the kernels; changes no weight. Returns a bound of how far
     the step can move any weight, without the decay */
  double (*prepare)(syn__step *s);
  /* Updates numbers from .. from+n-1 of a tensor; all of them where there is a workspace */
  void (*update)(const syn__step *s, const syn__trained *w, size_t from, size_t n);
} syn__optimizer;

/* The arrays belong to the trainer: a model that is only read stays small. Their places in the
   block: syn__layout_trainer. */
struct syn_trainer {
  syn_context *c;
  syn_model *m;
  syn_run *run;
  char *block;              /* holds all arrays below */
  syn_train_config config;  /* with every default resolved */
  const syn__optimizer *optimizer;
  int schedule;
  int n_trained;
  size_t floats, firsts, seconds, works; /* of the gradient, both moments, the workspace */
  float *gradient, *first, *second, *work;
  float *best;              /* [average, floats] weights of the kept checkpoints */
  syn__trained *trained;    /* [n_trained] in the order of the weights */
  float **discarded_grads;  /* [params] gradients of frozen tensors, in `discarded`, or null */
  float *discarded;
  char *skip_backward;      /* [nodes] 1: the backward pass skips the node; or null */
  float *best_loss;         /* [average] validation losses of the kept checkpoints, best first */
  int n_best;
  double max_first;         /* bound of every |first moment| */
  double loss_sum;          /* of the batches of this training step so far, */
  long labels;              /* which have so many labels */
  syn_train_state state;
  float loss;               /* of the last update of syn_trainer_run */
  int validation_due;       /* 1: syn_trainer_run was cancelled before the one of this step ended */
  int *ints;                /* [3 batch_tokens] the padded arrays of one batch */
};

/* -- sums of squares -- */

/* sum[r] = sum of x^2 along row r of x; with root: of (x root)^2, root [cols] of the matrix of the
   row */
typedef struct syn__squares {
  const float *x, *root; /* [size], rows of `cols`, of which the last may be shorter; or null */
  float *sum;            /* a number per row */
  size_t size, cols;
  size_t rows;           /* of one matrix */
} syn__squares;

static void syn__task_squares(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__squares *s = (const syn__squares *)job;
  SYN__UNUSED(thread);
  for (; begin < end; begin++) {
    const float *x = s->x + begin * s->cols;
    size_t left = s->size - begin * s->cols, n = left < s->cols ? left : s->cols;
    s->sum[begin] =
        s->root ? t->k->squares(x, s->root + begin / s->rows * s->cols, n) : t->k->dot(x, x, n);
  }
}

/* The smallest slice of a thread, in rows or columns of so many numbers each. */
static size_t syn__grain(size_t each) { return each < 4096 ? 4096 / each : 1; }

static void syn__sum_squares(syn_tape *t, const syn__squares *s) {
  syn_parallel(t, syn__task_squares, s, s->size / s->cols + (s->size % s->cols != 0),
               syn__grain(s->cols));
}

/* The sum of the gradient goes by chunks of fixed size, so it does not depend on the number of
   threads. */
#define SYN__CHUNK ((size_t)1 << 16)

static size_t syn__chunks(size_t floats) {
  return floats / SYN__CHUNK + (floats % SYN__CHUNK != 0);
}

/* The norm of the gradient of the summed loss; the caller divides by the labels. Dot products of
   chunks are in float, their sum is in double, in order. Every step takes it, also without
   clipping: any number that is not finite makes the norm not finite. */
static double syn__gradient_norm(syn_trainer *t) {
  syn__squares s = {t->gradient, NULL, t->work, t->floats, SYN__CHUNK, 1};
  double sum = 0.0;
  size_t i;
  syn__sum_squares(&t->run->tape, &s);
  for (i = 0; i < syn__chunks(t->floats); i++) sum += (double)t->work[i];
  return sqrt(sum);
}

/* -- a step after which a number might not be finite is refused before it begins --

   A weight w becomes w - (decay w + u). Where w is finite, 0 <= decay <= 1 and |u| <= 1e30, so is
   the result: 1e30 is less than half the distance of the largest float to its neighbour. So
   each rule states a bound of |u|, from bounds of the gradient (its norm) and of the first moment
   (carried from step to step). A norm of at most 1e18 keeps squares, so the second moments, far
   below the largest float. */
#define SYN__MAX_UPDATE 1e30
#define SYN__MAX_NORM 1e18

/* -- element-wise rules: threads may split tensors anywhere -- */

/* A slice of all trained tensors as if they stood in one array, so that small ones share a
   slice. */
static void syn__task_update(syn_tape *tape, const void *job, int thread, size_t begin,
                             size_t end) {
  const syn__step *s = (const syn__step *)job;
  int i;
  SYN__UNUSED(thread);
  SYN__UNUSED(tape);
  for (i = 0; i < s->t->n_trained; i++) {
    const syn__trained *w = &s->t->trained[i];
    size_t from = w->at > begin ? w->at : begin, to = w->at + w->p->size;
    if (to > end) to = end;
    if (from < to) s->t->optimizer->update(s, w, from - w->at, to - from);
  }
}

/* A value below 0 means none. */
static float syn__beta1(const syn_train_config *k) { return k->beta1 > 0.0f ? k->beta1 : 0.0f; }

/* Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019, algorithm 2):
     m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, w -= lr (m fix1) / (sqrt(v fix2) + eps) + decay w,
   fix1 = 1/(1 - b1^t) and fix2 undo that both moments begin at 0. */
static size_t syn__adam_second(const syn_param *p) { return p->size; }
/* |u| <= lr fix1 |m| / eps, and |m| <= b1 |m before| + (1-b1) |g| */
static double syn__adam_prepare(syn__step *s) {
  const syn_train_config *k = &s->t->config;
  syn__adam *a = &s->adam;
  a->lr = s->rate;
  a->beta1 = syn__beta1(k);
  a->beta2 = k->beta2;
  a->eps = k->eps;
  a->decay = s->decay;
  a->fix1 = (float)(1.0 / (1.0 - syn__pow((double)a->beta1, s->number)));
  a->fix2 = (float)(1.0 / (1.0 - syn__pow((double)a->beta2, s->number)));
  a->scale = s->scale;
  s->first = (double)a->beta1 * s->t->max_first + (1.0 - (double)a->beta1) * s->gradient;
  return (double)a->lr * (double)a->fix1 * s->first / (double)a->eps;
}
static void syn__adam_update(const syn__step *s, const syn__trained *w, size_t from, size_t n) {
  const syn_trainer *t = s->t;
  t->c->kernels->adam(&s->adam, w->p->x + from, t->first + w->first + from,
                      t->second + w->second + from, t->gradient + w->at + from, n);
}

/* SGD with momentum (Polyak 1964, the heavy ball; as in Sutskever et al. 2013, equations 1 and 2):
     m = b1 m + lr g, w -= m + decay w.
   m holds lr g and not g: earlier gradients keep the learning rate of their own step. Without b1:
   w -= lr g + decay w, without moments. */

/* |u| = |m|, or lr |g| */
static double syn__sgd_prepare(syn__step *s) {
  s->update.rate = s->rate * s->scale;
  s->update.beta = syn__beta1(&s->t->config);
  s->update.rest = 1.0f;
  s->update.decay = s->decay;
  s->first = (double)s->update.beta * s->t->max_first + (double)s->rate * s->gradient;
  return s->first;
}
static void syn__sgd_update(const syn__step *s, const syn__trained *w, size_t from, size_t n) {
  const syn_trainer *t = s->t;
  t->c->kernels->descend(&s->update, w->p->x + from, t->firsts ? t->first + w->first + from : NULL,
                         t->gradient + w->at + from, NULL, n);
}

/* -- Adafactor --

   (Shazeer and Stern 2018, algorithms 4 and 5 with the hyperparameters of algorithm 6.) For a
   matrix of gradients G [n,m], of which it keeps R [n] and C [m] in place of V [n,m]:
     R = b R + (1-b) (row means of G^2 + eps),  C = b C + (1-b) (column means of G^2 + eps),
     V_ij = R_i C_j / mean(R),  U = G / sqrt(V),  b = 1 - t^-0.8,  eps = 1e-30,
     W -= a U / max(1, RMS(U) / 1),  a = max(1e-3, RMS(W)) rho,  rho = min(0.01, t^-1/2).
   (The paper has sums where this has means: V is the same.) A learning rate that is given replaces
   rho, with its schedule. A tensor of rank above 2 is a list of matrices of its last two axes, each
   with its own R and C; both RMS are those of the whole tensor. A vector is a matrix of one row:
   V = C is its full second moment, it keeps no R. With b1 the updates are averaged:
   M = b1 M + (1-b1) update, W -= M.

   Passes: RMS(W) of all tensors first (syn__adafactor_prepare), then four over G and one over W of
   each tensor. Threads split rows, or columns where rows are summed; one thread adds up the sums of
   rows, in order, in double. */

/* A tensor as matrices [rows,cols], and where its arrays are. */
typedef struct syn__factored {
  size_t mats, rows, cols;
  float *row, *col;        /* R [mats,rows], null for a vector; C [mats,cols] */
  float *a, *b;            /* workspace: 1 / sqrt(R / mean(R)), 1 / sqrt(C) */
  float *w, *m;            /* weights; first moment, null: none */
  const float *g;
  syn__squares squares;    /* of w, then of g */
  syn__factor factor;
  syn__weight_update update;
} syn__factored;

/* The sizes alone. Products of a shape fit an int (syn__param_new). */
static syn__factored syn__factored_of(const syn_param *p) {
  syn__factored f;
  memset(&f, 0, sizeof f);
  f.cols = (size_t)p->shape[p->rank - 1];
  f.rows = p->rank > 1 ? (size_t)p->shape[p->rank - 2] : 1;
  f.mats = p->size / (f.rows * f.cols);
  return f;
}
/* The same with the arrays. */
static syn__factored syn__factored_at(const syn_trainer *t, const syn__trained *w) {
  syn__factored f = syn__factored_of(w->p);
  size_t rows = f.mats * f.rows;
  const syn__squares squares = {NULL, NULL, t->work + rows, w->p->size, f.cols, f.rows};
  f.w = w->p->x;
  f.m = t->firsts ? t->first + w->first : NULL;
  f.g = t->gradient + w->at;
  f.row = w->p->rank > 1 ? t->second + w->second : NULL;
  f.col = t->second + w->second + (f.row ? rows : 0);
  f.a = t->work;
  f.b = f.a + 2 * rows;
  f.squares = squares;
  return f;
}
static size_t syn__adafactor_second(const syn_param *p) {
  syn__factored f = syn__factored_of(p);
  return f.mats * ((p->rank > 1 ? f.rows : 0) + f.cols);
}
static size_t syn__adafactor_workspace(const syn_param *p) {
  syn__factored f = syn__factored_of(p);
  return f.mats * (2 * f.rows + f.cols);
}

/* C, and b from it; columns of all matrices one behind the other */
static void syn__task_factor_cols(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn__factored *f = (const syn__factored *)job;
  size_t mat, c0, c1;
  SYN__UNUSED(thread);
  for (; begin < end; begin += c1 - c0) {
    syn__factor q = f->factor;
    mat = begin / f->cols;
    c0 = begin - mat * f->cols;
    c1 = end - mat * f->cols < f->cols ? end - mat * f->cols : f->cols;
    q.g = f->g + mat * f->rows * f->cols;
    t->k->factor(&q, f->col + mat * f->cols, f->b + mat * f->cols, c0, c1);
  }
}
static void syn__task_factor_step(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn__factored *f = (const syn__factored *)job;
  syn__weight_update d = f->update;
  size_t r;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    size_t at = r * f->cols;
    d.rate = f->update.rate * f->a[r];
    if (d.rate > FLT_MAX) d.rate = FLT_MAX; /* of a row whose gradients are 0: infinity times 0 */
    t->k->descend(&d, f->w + at, f->m ? f->m + at : NULL, f->g + at, f->b + r / f->rows * f->cols,
                  f->cols);
  }
}

/* From the sums of G^2: R and a = sqrt(mean(R) / R). A vector: a = 1. */
static void syn__factor_rows(const syn__factored *f) {
  const float square = f->factor.square * (float)f->rows / (float)f->cols;
  size_t i, k;
  for (i = 0; i < f->mats; i++) {
    float *row = f->row ? f->row + i * f->rows : NULL, *a = f->a + i * f->rows;
    const float *sum = f->squares.sum + i * f->rows;
    double mean = 0.0;
    for (k = 0; k < f->rows && row; k++) {
      row[k] = f->factor.beta * row[k] + f->factor.rest * (sum[k] * square + f->factor.eps);
      mean += (double)row[k];
    }
    mean /= (double)f->rows;
    for (k = 0; k < f->rows; k++) a[k] = row ? (float)sqrt(mean / (double)row[k]) : 1.0f;
  }
}

/* RMS of W, or of U / scale: the rows' sums, each times the square of its factor. */
static double syn__factored_rms(const syn__factored *f, const float *factor) {
  double sum = 0.0;
  size_t r;
  for (r = 0; r < f->mats * f->rows; r++) {
    double a = factor ? (double)factor[r] : 1.0;
    sum += a * a * (double)f->squares.sum[r];
  }
  return sqrt(sum / ((double)(f->mats * f->rows) * (double)f->cols));
}

static double syn__factored_rate(const syn__trained *w, const syn__step *s) {
  return (double)s->rate * (w->rms > 1e-3 ? w->rms : 1e-3);
}

/* RMS(W) of every tensor, before any of them changes. |U| / max(1, RMS(U)) is at most the root of
   the tensor's size; where squares of U are too small for a float and are missing in RMS(U), it is
   at most 1e18. */
static double syn__adafactor_prepare(syn__step *s) {
  double most = 0.0, rate, beta1 = (double)syn__beta1(&s->t->config);
  double rest = syn__pow(s->number, -0.8);
  int i;
  s->factor.beta = (float)(1.0 - rest);
  s->factor.rest = (float)rest;
  s->factor.eps = 1e-30f;
  s->update.beta = syn__beta1(&s->t->config);
  s->update.rest = 1.0f - s->update.beta;
  s->update.decay = s->decay;
  for (i = 0; i < s->t->n_trained; i++) {
    syn__trained *w = &s->t->trained[i];
    syn__factored f = syn__factored_at(s->t, w);
    f.squares.x = f.w;
    syn__sum_squares(&s->t->run->tape, &f.squares);
    w->rms = syn__factored_rms(&f, NULL);
    rate = syn__factored_rate(w, s);
    if (!(rate <= most)) most = rate;
  }
  s->first = beta1 * s->t->max_first + (1.0 - beta1) * 1e18 * most;
  return s->first;
}

static void syn__adafactor_update(const syn__step *s, const syn__trained *w, size_t from,
                                  size_t n) {
  syn_tape *tape = &s->t->run->tape;
  syn__factored f = syn__factored_at(s->t, w);
  double rms;
  SYN__UNUSED(from);
  SYN__UNUSED(n);
  f.factor = s->factor;
  f.factor.rows = f.rows;
  f.factor.width = f.cols;
  f.factor.square = s->scale * s->scale / (float)f.rows;
  f.update = s->update;
  f.squares.x = f.g;
  syn__sum_squares(tape, &f.squares);
  syn_parallel(tape, syn__task_factor_cols, &f, f.mats * f.cols,
               syn__round16(syn__grain(f.rows)));
  syn__factor_rows(&f);
  f.squares.root = f.b;
  syn__sum_squares(tape, &f.squares);
  rms = syn__factored_rms(&f, f.a) * (double)s->scale;
  f.update.rate =
      (float)(syn__factored_rate(w, s) * (double)s->scale / (rms > 1.0 ? rms : 1.0));
  syn_parallel(tape, syn__task_factor_step, &f, f.mats * f.rows, syn__grain(f.cols));
}

/* -- the list of optimizers, one step -- */

/* adam has no weight decay: L2 in its gradient is not decay (Loshchilov and Hutter 2019); use
   adamw. */
static const syn__optimizer syn__optimizers[] = {
    {"adam", 0.001f, 0.9f, 0.98f, 1e-9f, 0, 1, syn__adam_second, NULL, syn__adam_prepare,
     syn__adam_update},
    {"adamw", 0.001f, 0.9f, 0.98f, 1e-9f, 1, 1, syn__adam_second, NULL, syn__adam_prepare,
     syn__adam_update},
    {"adafactor", 0.0f, 0.0f, 0.0f, 0.0f, 1, 0, syn__adafactor_second, syn__adafactor_workspace,
     syn__adafactor_prepare, syn__adafactor_update},
    {"sgd", 0.1f, 0.9f, 0.0f, 0.0f, 1, 0, NULL, NULL, syn__sgd_prepare, syn__sgd_update}};

/* The learning rate of step t. Adafactor's own follows no schedule but the factor of plateau. */
static float syn__rate(const syn_trainer *t, double step) {
  const syn_train_config *k = &t->config;
  double own = 1.0 / sqrt(step);
  if (k->lr == 0.0f) return (float)(own < 0.01 ? own : 0.01) * t->state.factor;
  return (float)(syn__schedule(t->schedule, step, (double)k->warmup, (double)k->steps,
                               (double)t->m->config.d_model) *
                 (double)k->lr) *
         t->state.factor;
}

/* The training step from the gradient of the summed loss; norm: of the gradient of the mean loss.
   Clipping and the mean are one factor, `scale`, so they cost no pass over the gradient. Weight
   decay is apart from the gradient and follows the learning rate. `gradient` bounds every element:
   the norm, with a margin for what its float sums lose. */
static syn__step syn__step_of(syn_trainer *t, double norm) {
  const syn_train_config *k = &t->config;
  double labels = (double)t->labels;
  syn__step s;
  memset(&s, 0, sizeof s);
  s.t = t;
  s.number = (double)(t->state.step + 1);
  s.rate = syn__rate(t, s.number);
  s.decay = t->optimizer->decays ? k->weight_decay * s.rate : 0.0f;
  s.scale =
      (float)((k->clip > 0.0f && norm > (double)k->clip ? (double)k->clip / norm : 1.0) / labels);
  s.gradient = 1.1 * (double)s.scale * (norm * labels + 1e-18);
  return s;
}

/* One training step of all tensors. */
static void syn__optimize(const syn__step *s) {
  syn_trainer *t = s->t;
  int i;
  t->state.step++;
  t->state.rate = s->rate;
  t->max_first = s->first;
  if (!t->optimizer->workspace)
    syn_parallel(&t->run->tape, syn__task_update, s, t->floats, 4096);
  for (i = 0; t->optimizer->workspace && i < t->n_trained; i++)
    t->optimizer->update(s, &t->trained[i], 0, t->trained[i].p->size);
}

/* ==============================================================================================
   >>data   rows of token ids, cut into batches of similar length
   ============================================================================================== */

/* All rows keep their tokens in one array, `tokens`. An epoch is laid out before its first batch:
   syn__data_epoch puts rows of similar lengths side by side (`order`), syn__data_cut makes ranges
   of this order (`batches`), which are then shuffled. A batch is written as padded arrays when it
   is wanted (syn__data_batch), so an epoch costs no second copy of the tokens. Laying out
   allocates; later epochs of the same rows find their memory. */

/* Tokens begin .. begin+n[0]-1 are the source, the n[1] behind them the target. */
typedef struct syn__data_row {
  size_t begin;
  int n[2];
  int context; /* leading labels that are ignored; -1: a sentence, with end */
} syn__data_row;

/* The rows of a batch, by their places in `order`. */
typedef struct syn__data_range {
  size_t first, end;
} syn__data_range;

struct syn_data {
  syn_context *c;
  int *tokens;
  syn__data_row *rows;       /* [count] */
  size_t n_tokens, count;
  uint64_t *order;           /* [count] sort keys of the epoch; low 28 bits: number of the row */
  syn__data_range *batches;  /* [n_batches] in the order of the epoch */
  size_t n_batches;
  size_t cap_tokens, cap_rows, cap_order, cap_batches;
  size_t epoch_count;        /* the epoch laid out in these arrays: of so many rows; 0: none */
  int epoch_tokens;
  uint64_t epoch_seed;
  long epoch_number;
  syn_corruption corruption; /* count 0: none */
};

#define SYN__DATA_ROWS ((size_t)1 << 27) /* within the 28 bits of a sort key */
#define SYN__DATA_LENGTH (1 << 24)       /* no batch holds a longer row */

syn_data *syn_data_new(syn_context *c) {
  syn_data *d = (syn_data *)syn__alloc(c, 1, sizeof *d);
  if (d) d->c = c;
  return d;
}

void syn_data_free(syn_data *d) {
  if (!d) return;
  syn__free(d->c, d->tokens);
  syn__free(d->c, d->rows);
  syn__free(d->c, d->order);
  syn__free(d->c, d->batches);
  syn__free(d->c, d);
}

size_t syn_data_count(const syn_data *d) { return d ? d->count : 0; }

/* The n_src + n_tgt tokens that stand behind those of all rows become a row. Space for one token
   more keeps `tokens` from being null where all rows are empty. */
static syn_status syn__data_commit(syn_data *d, int n_src, int n_tgt) {
  size_t end = d->n_tokens + (size_t)n_src + (size_t)n_tgt;
  const syn__data_row row = {d->n_tokens, {n_src, n_tgt}, -1}; /* -1: not a window */
  if (d->count >= SYN__DATA_ROWS)
    return syn__fail(d->c, SYN_E_VALUE, "data: more than %lu rows", (unsigned long)SYN__DATA_ROWS);
  if (syn__grow(d->c, &d->tokens, &d->cap_tokens, end + 1, sizeof(int)) ||
      syn__grow(d->c, &d->rows, &d->cap_rows, d->count + 1, sizeof row))
    return SYN_E_MEMORY;
  d->rows[d->count++] = row;
  d->n_tokens = end;
  return SYN_OK;
}

/* Tokens are checked when a batch is bound, where the vocabulary is known. */
syn_status syn_data_add(syn_data *d, const int *src, int n_src, const int *tgt, int n_tgt) {
  if (!d) return SYN_E_VALUE;
  if (n_src < 0 || n_tgt < 0 || n_src > SYN__DATA_LENGTH || n_tgt > SYN__DATA_LENGTH)
    return syn__fail(d->c, SYN_E_VALUE, "data: rows of %d and %d tokens, wanted 0 to %d", n_src,
                     n_tgt, SYN__DATA_LENGTH);
  if ((n_src && !syn__given(d->c, src, "source row")) ||
      (n_tgt && !syn__given(d->c, tgt, "target row")))
    return SYN_E_VALUE;
  if (syn__grow(d->c, &d->tokens, &d->cap_tokens, d->n_tokens + (size_t)n_src + (size_t)n_tgt,
                sizeof(int)))
    return SYN_E_MEMORY;
  if (n_src > 0) memcpy(d->tokens + d->n_tokens, src, (size_t)n_src * sizeof(int));
  if (n_tgt > 0) memcpy(d->tokens + d->n_tokens + n_src, tgt, (size_t)n_tgt * sizeof(int));
  return syn__data_commit(d, n_src, n_tgt);
}

/* -- rows as texts -- */

/* Writes the tokens of a text where those of the next row will stand, behind `before` others of
   that row; *n: how many, at most one more than the text has bytes (syn_tokenizer_encode). The row
   is added later. */
static syn_status syn__data_encode(syn_data *d, const syn_model *m, int side, syn_text text,
                                   int before, int *n) {
  const syn_tokenizer *t = m->tokenizer[side];
  int most = m->config.max_len, end = m->task->labels != SYN_SRC;
  size_t at = d->n_tokens + (size_t)before, capacity = text.size + 1;
  if (text.size && !syn__given(d->c, text.at, side ? "target text" : "source text"))
    return SYN_E_VALUE;
  if (!t)
    return syn__fail(d->c, SYN_E_VALUE, "data: row %lu: the model has no tokenizer for the %s",
                     (unsigned long)d->count, syn__stream_names[side]);
  if (text.size > SYN__DATA_LENGTH)
    return syn__fail(d->c, SYN_E_SHAPE,
                     "data: row %lu: the %s has too many bytes: %lu, wanted at most %d",
                     (unsigned long)d->count, syn__stream_names[side], (unsigned long)text.size,
                     SYN__DATA_LENGTH);
  if (syn__grow(d->c, &d->tokens, &d->cap_tokens, at + capacity, sizeof(int)))
    return SYN_E_MEMORY;
  *n = syn_tokenizer_encode(t, text, d->tokens + at, (int)capacity);
  if (*n + end > most && !(m->task->classes && side == SYN_TGT))
    return syn__fail(d->c, SYN_E_SHAPE,
                     "data: row %lu: the %s has too many tokens%s: %d, wanted at most %d",
                     (unsigned long)d->count, syn__stream_names[side], end ? " with its end" : "",
                     *n + end, most);
  return SYN_OK;
}

/* Word k of a text (tag), or all of it (classify). */
static syn_text syn__label_text(const syn_model *m, syn_text text, int k) {
  size_t i = 0, end;
  if (m->task->labels == SYN_EACH) return text;
  for (;; i = end) {
    while (i < text.size && strchr(" \t\r\n", text.at[i])) i++;
    for (end = i; end < text.size && !strchr(" \t\r\n", text.at[end]); end++) continue;
    if (k-- == 0 || end == text.size) break;
  }
  return syn__text_of(text.at + i, end - i);
}

static syn_status syn__label_unknown(const syn_data *d, const syn_model *m, syn_text text, int k) {
  const syn_tokenizer *t = m->tokenizer[SYN_TGT];
  syn_text label = syn__label_text(m, text, k);
  char nearest[40] = "", name[40];
  int i, size = syn_tokenizer_size(t);
  for (i = SYN_FIRST_TOKEN; i < size; i++) {
    syn_text piece = syn_tokenizer_piece(t, i, 1);
    if (piece.size >= sizeof name) continue;
    memcpy(name, piece.at, piece.size);
    name[piece.size] = 0;
    if (syn__nearer(label.at, label.size, *nearest ? nearest : NULL, name) == name)
      memcpy(nearest, name, piece.size + 1);
  }
  return syn__fail(d->c, SYN_E_VALUE, "data: row %lu: label %d: no class is named '%.*s'%s%s",
                   (unsigned long)d->count, k, label.size < 60 ? (int)label.size : 60, label.at,
                   *nearest ? "; the nearest is " : "", nearest);
}

/* classify wants one label for a row, tag one for every token. */
static syn_status syn__label_count(syn_context *c, const syn_model *m, size_t row, int tokens,
                                   int labels) {
  int tag = m->task->labels == SYN_SRC;
  if (labels > 0 && labels == (tag ? tokens : 1)) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "data: row %lu has %d source tokens with %d labels, %s",
                   (unsigned long)row, tokens, labels,
                   tag ? "tag wants as many, one at least" : "classify wants one");
}

/* The tokens of a label text become classes. */
static syn_status syn__data_classes(const syn_data *d, const syn_model *m, syn_text text, int n_src,
                                    int n) {
  int *label = d->tokens + d->n_tokens + n_src, k;
  for (k = 0; k < n; k++) {
    if (label[k] < SYN_FIRST_TOKEN) return syn__label_unknown(d, m, text, k);
    label[k] -= syn__class_token(m);
  }
  return syn__label_count(d->c, m, d->count, n_src, n);
}

/* Tokens are encoded where the new row will stand, so nothing is moved afterwards. */
syn_status syn_data_add_text(syn_data *d, const syn_model *m, syn_text source, syn_text target) {
  int n_src = 0, n_tgt = 0;
  if (!d || !syn__given(d->c, m, "model")) return SYN_E_VALUE;
  if (!m->task->encoder && source.size)
    return syn__fail(d->c, SYN_E_VALUE, "data: row %lu: a source text, but the task %s has none",
                     (unsigned long)d->count, m->config.task);
  if (m->task->encoder && syn__data_encode(d, m, SYN_SRC, source, 0, &n_src)) return d->c->status;
  if (target.size || !d->corruption.count) {
    if (syn__data_encode(d, m, SYN_TGT, target, n_src, &n_tgt)) return d->c->status;
    if (m->task->classes && syn__data_classes(d, m, target, n_src, n_tgt)) return d->c->status;
  }
  return syn__data_commit(d, n_src, n_tgt);
}

/* Labels of the overlap with the window before become 0 (ignored), so that each token counts once;
   `context` says how many. A last window without a new token is not added. */
syn_status syn_data_add_windows(syn_data *d, const int *tokens, size_t count, int window,
                                int stride) {
  syn_status s;
  size_t at;
  if (!d) return SYN_E_VALUE;
  if (window < 1 || stride < 1 || stride > window)
    return syn__fail(d->c, SYN_E_VALUE, "data: windows of %d tokens every %d", window, stride);
  if (count && !syn__given(d->c, tokens, "text")) return SYN_E_VALUE;
  for (at = 0; at < count; at += (size_t)stride) {
    int n = count - at < (size_t)window ? (int)(count - at) : window;
    if (at && n <= window - stride) break; /* nothing new in it */
    s = syn_data_add(d, NULL, 0, tokens + at, n);
    if (s != SYN_OK) return s;
    d->rows[d->count - 1].context = at ? window - stride : 0;
  }
  return SYN_OK;
}

/* -- span corruption (Raffel et al. 2020, sections 3.1.4, 3.3.4) -- */

/* How many of n tokens are masked, in how many spans:

     masked = round(n noise), 1 .. n-1      spans = round(masked / span), 1 .. count

   Each span has a token of its own and one that is not masked before it, so there are at most as
   many spans as tokens of either sort. Comparisons are written so that NaN ends at the least. */
static int syn__corrupt_spans(const syn_corruption *k, int n, int *masked) {
  double noise = k->noise != 0.0f ? (double)k->noise : 0.15;
  double span = k->span != 0.0f ? (double)k->span : 3.0, wanted = floor(noise * n + 0.5), spans;
  int most;
  *masked = 0;
  if (n < 2 || k->count < 1) return 0;
  *masked = !(wanted >= 1.0) ? 1 : wanted < n - 1 ? (int)wanted : n - 1;
  most = syn__min(k->count, syn__min(*masked, n - *masked));
  spans = floor(*masked / span + 0.5);
  return !(spans >= 1.0) ? 1 : spans < most ? (int)spans : most;
}

void syn_corrupt_sizes(const syn_corruption *k, int n, int *n_src, int *n_tgt) {
  int masked, spans = syn__corrupt_spans(k, n, &masked);
  *n_src = n - masked + spans;
  *n_tgt = masked + spans;
}

/* The length of the next span, where `tokens` are left for it and `cuts` spans behind it, each of
   at least one token. Each place between tokens becomes a cut with probability (cuts left) /
   (places left), one after the other, so all sets of cuts are equally probable (Knuth, volume 2,
   3.4.2, algorithm S). */
static int syn__span_length(int tokens, int cuts, syn_random *r) {
  int size = 1;
  while (size < tokens && syn_random_below(r, tokens - size) >= cuts) size++;
  return size;
}

/* Spans that are kept and spans that are masked alternate. Source: the kept ones, each with the
   token that stands for the masked span behind it; target: these tokens, each with its span. */
void syn_corrupt(const syn_corruption *k, const int *tokens, int n, syn_random *r, int *src,
                 int *tgt) {
  int masked, spans = syn__corrupt_spans(k, n, &masked), kept = n - masked, i, size;
  for (i = 0; i < spans; i++) {
    size = syn__span_length(kept, spans - 1 - i, r);
    for (kept -= size; size > 0; size--) *src++ = *tokens++;
    *src++ = *tgt++ = k->first + i;
    size = syn__span_length(masked, spans - 1 - i, r);
    for (masked -= size; size > 0; size--) *tgt++ = *tokens++;
  }
  for (i = 0; !spans && i < n; i++) src[i] = tokens[i];
}

/* Rows change their lengths, so the next epoch is laid out anew. */
syn_status syn_data_corrupt(syn_data *d, const syn_corruption *k) {
  if (!d || !syn__given(d->c, k, "corruption")) return SYN_E_VALUE;
  if (!(k->noise >= 0.0f && k->noise < 1.0f && (k->span == 0.0f || k->span >= 1.0f)) ||
      k->first < SYN_FIRST_TOKEN || k->count < 1 || k->count > SYN__DATA_LENGTH ||
      k->first > SYN__DATA_LENGTH)
    return syn__fail(d->c, SYN_E_VALUE,
                     "corruption: noise %g, span %g, sentinels from %d, %d of them: wanted 0 to "
                     "below 1, 1 or more, %d or more, 1 or more",
                     (double)k->noise, (double)k->span, k->first, k->count, SYN_FIRST_TOKEN);
  d->corruption = *k;
  d->epoch_count = 0;
  return SYN_OK;
}

/* -- the order of an epoch -- */

/* Tokens of a row after corruption, which depend on the length alone: an epoch is laid out before
   spans are drawn. */
static int syn__data_length(const syn_data *d, size_t i, int side) {
  const int *stored = d->rows[i].n;
  int size[2];
  if (!d->corruption.count) return stored[side];
  syn_corrupt_sizes(&d->corruption, stored[SYN_SRC], &size[0], &size[1]);
  return size[side];
}
const int *syn_data_row(const syn_data *d, size_t i, int side, int *length) {
  *length = 0;
  if (!d || i >= d->count || (side != SYN_SRC && side != SYN_TGT)) return NULL;
  *length = d->rows[i].n[side];
  return d->tokens + d->rows[i].begin + (side ? d->rows[i].n[SYN_SRC] : 0);
}

/* Tokens of the longer side with its end: what batch_tokens counts. At least 2, so a batch has at
   most batch_tokens / 2 sentences. */
static int syn__data_longest(const syn_data *d, size_t i) {
  return syn__max(1, syn__max(syn__data_length(d, i, 0), syn__data_length(d, i, 1))) + 1;
}

/* The row at a place of `order`: the lowest bits of its sort key. */
static size_t syn__data_at(const syn_data *d, size_t place) {
  return (size_t)(d->order[place] & (2 * SYN__DATA_ROWS - 1));
}

/* Cuts the sorted rows into batches of at most `tokens` padded tokens a side. `longest`: of the
   batch so far; `most`: with the row at i. The pass i == count closes the last batch. */
static syn_status syn__data_cut(syn_data *d, int tokens) {
  size_t i, begin = 0;
  int longest = 0;
  d->n_batches = 0;
  for (i = 0; i <= d->count; i++) {
    int n = i < d->count ? syn__data_longest(d, syn__data_at(d, i)) : 0;
    int most = syn__max(longest, n);
    if (n > tokens)
      return syn__fail(d->c, SYN_E_SHAPE, "a sentence of %d tokens does not fit a batch of %d", n,
                       tokens);
    if (i == d->count || (size_t)most * (i - begin + 1) > (size_t)tokens) {
      const syn__data_range batch = {begin, i};
      if (syn__grow(d->c, &d->batches, &d->cap_batches, d->n_batches + 1, sizeof batch))
        return SYN_E_MEMORY;
      d->batches[d->n_batches++] = batch;
      begin = i;
      most = n;
    }
    longest = most;
  }
  return SYN_OK;
}

/* The batches of one epoch, from seed and epoch number alone. Rows are sorted by length (in steps
   of 3 tokens, ties at random), cut into batches, and the batches are shuffled (Fisher and Yates),
   so rows of a batch have similar lengths and little padding. A random remainder before the
   division moves lengths across the border of a step, so batches differ between epochs. epoch < 0:
   by length, not shuffled. Sort key: 12 bits target length / 3, 12 bits source length / 3, 12
   random bits, 28 bits row number: no two are equal, so the order is unique. A failure leaves
   epoch_count 0.

   Nothing is done where the arrays hold that epoch already. A validation on the training data or a
   second trainer may have laid out another one, so every reader of batches calls this first. */
static syn_status syn__data_epoch(syn_data *d, int tokens, uint64_t seed, long epoch) {
  syn__heap heap;
  uint64_t largest;
  syn_random r = {syn__mix(seed ^ (0xD1B54A32D192ED03u * (uint64_t)(epoch + 2)))};
  size_t i;
  if (d->epoch_count && d->epoch_count == d->count && d->epoch_tokens == tokens &&
      d->epoch_seed == seed && d->epoch_number == epoch)
    return SYN_OK;
  d->epoch_count = 0;
  if (!d->count) return syn__fail(d->c, SYN_E_VALUE, "there is no data");
  if (syn__grow(d->c, &d->order, &d->cap_order, d->count, sizeof(uint64_t)))
    return SYN_E_MEMORY;
  for (i = 0; i < d->count; i++) {
    uint64_t chance = epoch < 0 ? 0 : syn_random_next(&r);
    uint64_t tgt = ((uint64_t)syn__data_length(d, i, 1) + (epoch < 0 ? 0 : chance >> 32) % 3) / 3;
    uint64_t src = (uint64_t)syn__data_length(d, i, 0) / 3;
    if (tgt > 4095) tgt = 4095;
    if (src > 4095) src = 4095;
    d->order[i] = tgt << 52 | src << 40 | (chance & 0xFFF) << 28 | (uint64_t)i;
  }
  /* Heapsort, in place: n log n for every input. qsort of libc promises neither. */
  heap = syn__heap_of(d->order, d->count);
  while (syn__heap_pop(&heap, &largest)) d->order[heap.keys.count] = largest;
  if (syn__data_cut(d, tokens)) return d->c->status;
  for (i = d->n_batches; i > 1 && epoch >= 0; i--) {
    size_t k = (size_t)syn_random_below(&r, (int)i);
    syn__data_range swap = d->batches[k];
    d->batches[k] = d->batches[i - 1];
    d->batches[i - 1] = swap;
  }
  d->epoch_count = d->count;
  d->epoch_tokens = tokens;
  d->epoch_seed = seed;
  d->epoch_number = epoch;
  return SYN_OK;
}

size_t syn_data_batches(syn_data *d, int batch_tokens, uint64_t seed) {
  return !d || syn__data_epoch(d, batch_tokens, seed, 0) ? 0 : d->n_batches;
}

/* -- batches -- */

/* Sentences of a batch and the widths of its arrays: source with its end (tag: without); decoder
   input and labels with begin or end (classify, tag: none). */
static syn_batch syn__data_shape(const syn_data *d, const syn__task_kind *task,
                                 const syn__data_range *range) {
  syn_batch b = {(int)(range->end - range->first), NULL, NULL, NULL, 0, 0};
  size_t i;
  for (i = range->first; i < range->end; i++) {
    size_t row = syn__data_at(d, i);
    b.src_width =
        syn__max(b.src_width, syn__data_length(d, row, SYN_SRC) + (task->labels != SYN_SRC));
    if (task->decoder) b.tgt_width = syn__max(b.tgt_width, syn__data_length(d, row, SYN_TGT) + 1);
  }
  return b;
}

/* Source tokens of a row into s, target into l. Spans are drawn from epoch, seed and row alone, so
   a resumed training sees the same ones. */
static void syn__data_fill(const syn_data *d, size_t i, int *s, int *l) {
  const syn__data_row *row = &d->rows[i];
  const int *tokens = d->tokens + row->begin;
  if (d->corruption.count) {
    const uint64_t epoch = syn__mix(d->epoch_seed ^ syn__mix((uint64_t)(d->epoch_number + 2)));
    syn_random r = {syn__mix(epoch + (uint64_t)i)};
    syn_corrupt(&d->corruption, tokens, row->n[SYN_SRC], &r, s, l);
    return;
  }
  memcpy(s, tokens, (size_t)row->n[SYN_SRC] * sizeof(int));
  memcpy(l, tokens + row->n[SYN_SRC], (size_t)row->n[SYN_TGT] * sizeof(int));
}

/* Decoder input y of the labels l. Sentence: y = begin y_1 .. y_n, l = y_1 .. y_n end. Window of a
   long text: y = begin y_1 .. y_n-1, l = y_1 .. y_n, the first `context` of them 0. */
static void syn__data_shift(int *y, int *l, int n, int context) {
  y[0] = SYN_BEGIN;
  if (context < 0) l[n] = SYN_END;
  else n--;
  if (n > 0) memcpy(y + 1, l, (size_t)n * sizeof(int));
  if (context > 0) memset(l, 0, (size_t)context * sizeof(int));
}

/* Batch `number` of the epoch as padded arrays in `ints`: source, decoder input, labels;
   syn__data_cut keeps each within batch_tokens. Padded, although a run removes padding: syn_batch
   is the only input of a run. */
static syn_batch syn__data_batch(const syn_data *d, const syn__task_kind *task, size_t number,
                                 int *ints) {
  const syn__data_range *range = &d->batches[number];
  syn_batch b = syn__data_shape(d, task, range);
  size_t count = (size_t)b.count, src = (size_t)b.src_width, tgt = (size_t)b.tgt_width, i;
  size_t width = task->decoder ? tgt : task->labels == SYN_SRC ? src : 1; /* of the labels */
  int *inputs = ints + count * src, *labels = inputs + count * tgt;
  memset(ints, 0, count * (src + tgt + width) * sizeof(int));
  for (i = 0; i < count; i++) {
    size_t row = syn__data_at(d, range->first + i);
    int *s = ints + i * src, *l = labels + i * width;
    syn__data_fill(d, row, s, l);
    if (task->labels != SYN_SRC) s[syn__data_length(d, row, SYN_SRC)] = SYN_END;
    if (task->decoder)
      syn__data_shift(inputs + i * tgt, l, syn__data_length(d, row, SYN_TGT),
                      d->rows[row].context);
  }
  b.src = ints;
  b.tgt = task->decoder ? inputs : NULL;
  b.labels = labels;
  return b;
}

/* ==============================================================================================
   >>train   the training loop
   ============================================================================================== */

/* One training step:

     syn__train_begin    zeroes the gradient; seeds dropout from config.seed and the step number
     syn__train_batch    for each of `accumulate` batches: forward pass, loss, backward pass, which
                         adds to the gradient of the summed loss
     syn__train_finish   divides by the labels, clips, refuses a step that is not safe; or updates

   syn_trainer_run repeats it, with validations between steps. The trainer owns its run and its
   arrays. The model belongs to the caller and must outlive the trainer, which changes its weights.
   Weights, moments, kept checkpoints, syn_train_state, configuration and data decide everything
   that follows: a training that continues from a checkpoint (>>checkpoint) gives the same bits. */

/* -- frozen tensors -- */

/* 1: the name matches the pattern, in which * stands for any characters. Only the last * may have
   to take more, so one place to return to is enough. */
static int syn__pattern_is(syn_text pattern, const char *name) {
  size_t i = 0, star = SIZE_MAX;
  const char *from = name;
  while (*name) {
    if (i < pattern.size && pattern.at[i] == '*') star = i++, from = name;
    else if (i < pattern.size && pattern.at[i] == *name) i++, name++;
    else if (star != SIZE_MAX) i = star + 1, name = ++from;
    else return 0;
  }
  while (i < pattern.size && pattern.at[i] == '*') i++;
  return i == pattern.size;
}
/* The next pattern of a list with |; *at moves behind it, null after the last. */
static syn_text syn__pattern_next(const char **at) {
  const char *end = strchr(*at, '|');
  syn_text pattern = syn__text_of(*at, end ? (size_t)(end - *at) : strlen(*at));
  *at = end ? end + 1 : NULL;
  return pattern;
}
/* 1: training does not change the tensor: its kind says so (Fix), or a pattern of `freeze`. */
static int syn__frozen(const syn_trainer *t, const syn_param *p) {
  const char *at = t->config.freeze;
  int found = !p->trained;
  while (at && !found) found = syn__pattern_is(syn__pattern_next(&at), p->name);
  return found;
}

/* A pattern that matches no tensor is an error: it would train what was meant to stay. */
static syn_status syn__freeze_check(const syn_trainer *t) {
  const char *at = t->config.freeze;
  size_t i;
  if (at && (strlen(at) > SYN_MAX_TEXT || *syn__utf8_invalid(at))) /* a checkpoint holds it */
    return syn__fail(t->c, SYN_E_VALUE,
                     "freeze: patterns of %lu bytes, wanted at most %d, all of them UTF-8",
                     (unsigned long)strlen(at), SYN_MAX_TEXT);
  while (at) {
    syn_text pattern = syn__pattern_next(&at);
    const char *nearest = NULL;
    int found = 0;
    for (i = 0; i < t->m->g.n_params && !found; i++) {
      const char *name = t->m->g.params[i].name;
      nearest = syn__nearer(pattern.at, pattern.size, nearest, name);
      found = syn__pattern_is(pattern, name);
    }
    if (!found)
      return syn__fail(t->c, SYN_E_VALUE, "freeze: no tensor is named '%.*s'; the nearest is %.80s",
                       pattern.size < 80 ? (int)pattern.size : 80, pattern.at,
                       nearest ? nearest : "");
  }
  if (!t->n_trained)
    return syn__fail(t->c, SYN_E_VALUE, "freeze: '%.80s' leaves no tensor to train",
                     t->config.freeze ? t->config.freeze : "");
  return SYN_OK;
}

/* -- the arrays of the trainer -- */

/* Places of every trained tensor in the arrays, and their sizes. Without memory it only counts.
   Every part is a multiple of 16 floats, as in the weights: where nothing is frozen, `at` equals
   the offset there. */
static void syn__train_trained(syn_trainer *t) {
  const syn__optimizer *o = t->optimizer;
  size_t i;
  t->n_trained = 0;
  t->floats = t->firsts = t->seconds = t->works = 0;
  for (i = 0; i < t->m->g.n_params; i++) {
    const syn_param *p = &t->m->g.params[i];
    size_t first = o->keeps_first || t->config.beta1 > 0.0f ? p->size : 0;
    size_t second = o->second ? o->second(p) : 0, work = o->workspace ? o->workspace(p) : 0;
    const syn__trained s = {p, t->floats, t->firsts, t->seconds, 0.0};
    if (syn__frozen(t, p)) continue;
    if (t->trained) t->trained[t->n_trained] = s;
    t->n_trained++;
    t->floats = syn__add_size(t->floats, syn__round16(p->size));
    t->firsts = syn__add_size(t->firsts, syn__round16(first));
    t->seconds = syn__add_size(t->seconds, syn__round16(second));
    if (work > t->works) t->works = work;
  }
  if (syn__chunks(t->floats) > t->works) t->works = syn__chunks(t->floats);
}

/* Kinds add gradients of frozen tensors too; these go into `discarded`, which all nodes share.
   Those of one node lie apart, since threads may write them at the same time. Returns its floats;
   with memory it sets the pointers. A tensor of several nodes keeps the place of the first. */
static size_t syn__train_discarded(const syn_trainer *t) {
  const syn__graph *g = &t->m->g;
  size_t i, most = 0;
  int k;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    size_t at = 0;
    for (k = 0; k < n->n_param; k++) {
      const syn_param *p = &g->params[n->param[k]];
      if (!p->trained || !syn__frozen(t, p)) continue;
      if (t->discarded_grads && !t->discarded_grads[n->param[k]])
        t->discarded_grads[n->param[k]] = t->discarded + at;
      at = syn__add_size(at, syn__round16(p->size));
    }
    if (at > most) most = at;
  }
  return most;
}

/* The backward pass skips a node when no parameter of it and of the nodes before it is trained (a
   frozen encoder with its embedding). Never a recurrent node: its gradient goes to the end
   of the decoder. */
static void syn__train_skipped(const syn_trainer *t) {
  const syn__graph *g = &t->m->g;
  size_t i;
  int k;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    char skip = !n->recurrence;
    for (k = 0; k < n->n_param; k++) skip = skip && syn__frozen(t, &g->params[n->param[k]]);
    for (k = 0; k < n->n_in; k++) skip = skip && t->skip_backward[g->values[n->in[k]].maker];
    t->skip_backward[i] = skip;
  }
}

/* The memory of the trainer; k->base null: only counted. `freeze` is copied. */
static void syn__layout_trainer(syn_trainer *t, syn__layout *k) {
  const syn_train_config *config = &t->config;
  size_t name = config->freeze ? strlen(config->freeze) + 1 : 0, average = (size_t)config->average;
  char *freeze = (char *)syn__layout_add(k, name, 1);
  t->gradient = (float *)syn__layout_add(k, t->floats, sizeof(float));
  t->first = (float *)syn__layout_add(k, t->firsts, sizeof(float));
  t->second = (float *)syn__layout_add(k, t->seconds, sizeof(float));
  t->best = (float *)syn__layout_add(k, syn__mul_size(t->floats, average), sizeof(float));
  t->best_loss = (float *)syn__layout_add(k, average, sizeof(float));
  t->work = (float *)syn__layout_add(k, t->works, sizeof(float));
  t->trained = (syn__trained *)syn__layout_add(k, (size_t)t->n_trained, sizeof(syn__trained));
  t->ints = (int *)syn__layout_add(k, 3 * (size_t)config->batch_tokens, sizeof(int));
  if (name) {
    t->discarded = (float *)syn__layout_add(k, syn__train_discarded(t), sizeof(float));
    t->discarded_grads = (float **)syn__layout_add(k, t->m->g.n_params, sizeof(float *));
    t->skip_backward = (char *)syn__layout_add(k, t->m->g.n_nodes, 1);
  }
  if (!k->base) return;
  if (name) t->config.freeze = (char *)memcpy(freeze, config->freeze, name);
  syn__train_trained(t);
  if (name) syn__train_discarded(t), syn__train_skipped(t);
}

static size_t syn__trainer_bytes(syn_trainer *t) {
  syn__layout k = {NULL, 0};
  syn__layout_trainer(t, &k);
  return k.used;
}

/* -- the trainer -- */

/* The optimizer and its defaults. An option that the optimizer does not read is refused. */
static syn_status syn__train_rule(syn_trainer *t) {
  syn_train_config *k = &t->config;
  const syn__optimizer *o;
  int i;
  if (!k->optimizer) k->optimizer = "adam";
  i = syn__name_index(t->c, "optimizer", k->optimizer, syn__optimizers,
                      SYN__COUNT(syn__optimizers), sizeof *syn__optimizers);
  if (i < 0) return SYN_E_VALUE;
  t->optimizer = o = &syn__optimizers[i];
  if ((o->beta2 == 0.0f && k->beta2 != 0.0f) || (o->eps == 0.0f && k->eps != 0.0f))
    return syn__fail(t->c, SYN_E_VALUE, "training: beta2 %g, eps %g: %s has no %s",
                     (double)k->beta2, (double)k->eps, o->name,
                     o->beta2 == 0.0f && k->beta2 != 0.0f ? "beta2" : "eps");
  if (k->lr == 0.0f && o->lr > 0.0f) k->lr = t->schedule == SYN__NOAM ? 1.0f : o->lr;
  if (k->beta1 == 0.0f) k->beta1 = o->beta1;
  if (k->beta2 == 0.0f) k->beta2 = o->beta2;
  if (k->eps == 0.0f) k->eps = o->eps;
  k->optimizer = o->name;
  return SYN_OK;
}

/* The one place that resolves the defaults of a training, in a trainer that is zeroed. Names become
   those of our own lists. Comparisons are written so that NaN fails them. */
static syn_status syn__train_resolve(syn_trainer *t, const syn_train_config *given) {
  syn_train_config *k = &t->config;
  if (given) *k = *given;
  if (!k->schedule) k->schedule = "rsqrt";
  if (!k->batch_tokens) k->batch_tokens = 4096;
  if (!k->accumulate) k->accumulate = 1;
  if (!k->steps) k->steps = 1000;
  if (!k->patience) k->patience = 3;
  if (k->freeze && !*k->freeze) k->freeze = NULL;
  t->schedule = syn__name_index(t->c, "schedule", k->schedule, syn__schedules,
                                SYN__COUNT(syn__schedules), sizeof *syn__schedules);
  if (t->schedule < 0 || syn__train_rule(t)) return SYN_E_VALUE;
  k->schedule = syn__schedules[t->schedule];
  if (k->average < 0 || k->average > 1000 || k->accumulate < 1 || k->accumulate > 10000 ||
      k->batch_tokens < 2 || k->batch_tokens > SYN__DATA_LENGTH || k->length < 0 ||
      k->steps < 0 || k->warmup < 0)
    return syn__fail(t->c, SYN_E_VALUE,
                     "training: average %d, accumulate %d, batch_tokens %d, length %d, steps %ld, "
                     "warmup %ld: one is out of range",
                     k->average, k->accumulate, k->batch_tokens, k->length, k->steps, k->warmup);
  if (k->every < 0 || k->patience < 0 || k->stop_after < 0)
    return syn__fail(t->c, SYN_E_VALUE,
                     "training: every %ld, patience %d, stop_after %d: wanted 0 or more", k->every,
                     k->patience, k->stop_after);
  if (!(k->lr >= 0.0f && k->beta1 < 1.0f && k->beta2 >= 0.0f && k->beta2 < 1.0f &&
        k->eps >= 0.0f && k->clip >= 0.0f && k->weight_decay >= 0.0f))
    return syn__fail(t->c, SYN_E_VALUE, "training: lr %g, beta1 %g, beta2 %g, eps %g, clip %g, "
                     "weight_decay %g: one is out of range", (double)k->lr, (double)k->beta1,
                     (double)k->beta2, (double)k->eps, (double)k->clip, (double)k->weight_decay);
  syn__train_trained(t);
  return syn__freeze_check(t);
}

/* batch_tokens bounds each side by itself, and so the sentences: an empty row is one token long,
   its end or its begin. */
static syn_limits syn__train_limits(int batch_tokens, int length) {
  const syn_limits limits = {batch_tokens, batch_tokens, batch_tokens, length, 0};
  return limits;
}

/* A kind without `backward` would end the gradient: weights before it would not be trained. The
   first node of every network is an embedding, so only frozen weights can make it unnecessary. */
static syn_status syn__backward_check(const syn_trainer *t) {
  int i;
  for (i = 0; i < t->run->nodes; i++) { /* all but the output, whose gradient >>loss makes */
    const syn_node *n = t->m->g.nodes[i];
    if (n->kind->backward || (t->skip_backward && t->skip_backward[i])) continue;
    return syn__fail(t->c, SYN_E_VALUE,
                     "%s: the kind %.40s has no backward, which training needs: give it one, or "
                     "freeze all weights up to there", n->path, n->kind->name);
  }
  return SYN_OK;
}

/* Allocates the run and the block with the arrays, and points the run to the gradient: null, as it
   is at first, for a tensor that is not trained. */
static syn_status syn__trainer_memory(syn_trainer *t) {
  int i;
  syn_limits limits = syn__train_limits(t->config.batch_tokens, t->config.length);
  syn__layout k = {NULL, 0};
  t->run = syn__run_new(t->c, t->m, SYN__TRAIN, &limits);
  t->block = (char *)syn__alloc(t->c, 1, syn__trainer_bytes(t));
  if (!t->run || !t->block) return t->c->status;
  k.base = t->block;
  syn__layout_trainer(t, &k);
  t->run->tape.discarded_grads = t->discarded_grads;
  t->run->tape.skip_backward = t->skip_backward;
  for (i = 0; i < t->n_trained; i++)
    t->run->tape.dweights[t->trained[i].p - t->m->g.params] = t->gradient + t->trained[i].at;
  return SYN_OK;
}

/* The run takes pointers to the weights, so the model must own them first. */
syn_trainer *syn_trainer_new(syn_context *c, syn_model *m, const syn_train_config *config) {
  syn_trainer *t = syn__given(c, m, "model") ? (syn_trainer *)syn__alloc(c, 1, sizeof *t) : NULL;
  if (!t) return NULL;
  t->c = c;
  t->m = m;
  t->state.factor = 1.0f;
  t->state.best = (float)INFINITY;
  if (!syn__train_resolve(t, config) && syn__tokenizers_fit(c, m) &&
      !syn__weights_own(m) && !syn__trainer_memory(t) && !syn__backward_check(t))
    return t;
  syn_trainer_free(t);
  return NULL;
}

void syn_trainer_free(syn_trainer *t) {
  if (!t) return;
  syn_run_free(t->run);
  syn__free(t->c, t->block);
  syn__free(t->c, t);
}

const syn_train_state *syn_trainer_state(const syn_trainer *t) { return t ? &t->state : NULL; }
const syn_train_config *syn_trainer_config(const syn_trainer *t) { return t ? &t->config : NULL; }

/* Adds the gradients of the bound batch (of its summed loss times `scale`), its summed loss and its
   labels to those of the training step. */
static void syn__train_pass(syn_trainer *t, float scale) {
  syn_tape *tape = &t->run->tape;
  syn__forward(tape, t->run->nodes);
  t->loss_sum += syn__loss(t->run, t->m->config.label_smoothing, scale);
  t->labels += t->run->n_labels;
  syn__backward(tape, t->run->nodes);
  tape->seed = syn__mix(tape->seed + 1); /* other dropout masks for the next batch of the step */
}
/* The gradient of the summed loss: how many labels the step has is known after its last batch. */
static syn_status syn__train_batch(syn_trainer *t, const syn_batch *b) {
  syn_status s = syn__bind_labelled(t->run, b);
  if (s == SYN_OK) syn__train_pass(t, 1.0f);
  return s;
}

/* Dropout depends on seed and step alone, so a resumed training has the same masks. The constant
   keeps step 0 from leaving the seed unchanged, since mix(0) = 0. */
static void syn__train_begin(syn_trainer *t, int dropout) {
  syn__zero(&t->run->tape, t->gradient, t->floats);
  t->loss_sum = 0.0;
  t->labels = 0;
  t->run->tape.training = dropout;
  t->run->tape.seed = syn__mix(t->config.seed ^ syn__mix((uint64_t)t->state.step + 0x51ED27));
}

syn_status syn_trainer_backward(syn_trainer *t, const syn_batch *batch, float *loss) {
  syn_status s;
  *loss = 0.0f;
  if (!t) return SYN_E_VALUE;
  s = syn__bind_labelled(t->run, batch);
  if (s != SYN_OK) return s;
  if (!t->run->n_labels) return syn__fail(t->c, SYN_E_VALUE, "a batch without a label");
  syn__train_begin(t, 0);
  syn__train_pass(t, 1.0f / (float)t->run->n_labels);
  *loss = (float)(t->loss_sum / (double)t->labels);
  return SYN_OK;
}

/* Found by the offset of the tensor, because p may be a copy. */
const float *syn_trainer_gradient(const syn_trainer *t, const syn_param *p) {
  int i;
  for (i = 0; t && p && p->trained && i < t->n_trained; i++)
    if (t->trained[i].p->offset == p->offset) return t->gradient + t->trained[i].at;
  return NULL;
}

/* The update after the batches of a training step. It is refused where there is no label (then
   there is no mean), where the loss or the gradient is not finite, and where a weight could move
   too far (SYN__MAX_UPDATE). A refused step has changed neither weights nor moments nor their bound
   max_first; state->step, ->tokens and ->rate stay, so the next step takes the same number and
   learning rate. It has changed: *loss and state->diverged (not without a label); the gradient with
   loss_sum and labels, which the next step clears; the workspace, RMS(W) of Adafactor, the buffers
   and the dropout seed of the run, which the next step computes anew. On data state->epoch and
   ->batch stand behind the batches of the refused step (syn__train_update). */
static syn_status syn__train_finish(syn_trainer *t, float *loss) {
  double norm, reach, labels = (double)t->labels;
  syn__step s;
  if (!t->labels) return syn__fail(t->c, SYN_E_VALUE, "a training step without a label");
  norm = syn__gradient_norm(t) / labels;
  *loss = (float)(t->loss_sum / labels);
  s = syn__step_of(t, norm);
  reach = t->optimizer->prepare(&s);
  t->state.diverged = /* the comparisons are written so that NaN fails them */
      !(fabs(t->loss_sum) < (double)INFINITY && norm * labels <= SYN__MAX_NORM &&
        (double)s.rate <= SYN__MAX_UPDATE && s.decay <= 1.0f && reach <= SYN__MAX_UPDATE);
  if (t->state.diverged)
    return syn__fail(t->c, SYN_E_VALUE,
                     "the loss is %g at step %ld, the norm of its gradient %g, the learning rate "
                     "%g (weights could move by %g, decay by a share of %g): the weights stay as "
                     "they were before it",
                     (double)*loss, t->state.step + 1, fabs(norm), (double)s.rate, fabs(reach),
                     (double)s.decay);
  t->state.tokens += t->labels;
  syn__optimize(&s);
  return SYN_OK;
}

/* Sources of seq2seq and classify end in SYN_END. Those of syn_data do; those of a caller may lack
   it, and the network would meet it for the first time while decoding. */
static syn_status syn__train_ends(const syn_trainer *t, const syn_batch *b) {
  const syn__task_kind *task = t->m->task;
  int i, n;
  if (!task->encoder || task->labels == SYN_SRC || !b->src || b->src_width < 1) return SYN_OK;
  for (i = 0; i < b->count; i++) {
    const int *row = b->src + (size_t)i * (size_t)b->src_width;
    n = syn__row_length(row, b->src_width);
    if (n && row[n - 1] != SYN_END)
      return syn__fail(t->c, SYN_E_VALUE,
                       "source sentence %d ends in token %d, wanted %d (SYN_END)", i, row[n - 1],
                       SYN_END);
  }
  return SYN_OK;
}

/* The gradient of the summed loss over all labels of all batches; the optimizer divides by the
   labels. So `count` small batches equal one large batch. After an error the optimizer has not
   run, and the next step clears the gradient. */
syn_status syn_trainer_step(syn_trainer *t, const syn_batch *batches, int count, float *loss) {
  int i;
  syn_status s = SYN_OK;
  *loss = 0.0f;
  if (!t || !syn__given(t->c, batches, "batch")) return SYN_E_VALUE;
  syn__train_begin(t, 1);
  for (i = 0; i < count && s == SYN_OK; i++) {
    s = syn__train_ends(t, &batches[i]);
    if (s == SYN_OK) s = syn__train_batch(t, &batches[i]);
  }
  return s != SYN_OK ? s : syn__train_finish(t, loss);
}

/* Cross-entropy without smoothing, without gradient: perplexity is its exponential. */
static syn_status syn__run_loss(syn_run *r, const syn_batch *batch, double *sum, long *labels) {
  syn_status s = syn__bind_labelled(r, batch);
  if (s != SYN_OK) return s;
  r->tape.training = 0;
  syn__forward(&r->tape, r->nodes);
  *sum += syn__loss(r, 0.0f, 0.0f);
  *labels += r->n_labels;
  return SYN_OK;
}

syn_status syn_trainer_batch_loss(syn_trainer *t, const syn_batch *batch, double *sum,
                                  long *labels) {
  return t ? syn__run_loss(t->run, batch, sum, labels) : SYN_E_VALUE;
}

/* -- steps on data -- */

/* Checks a row against the task of the model; token ids are checked when they are bound. */
static syn_status syn__data_row_fits(syn_context *c, const syn_model *m, const syn_data *d,
                                     size_t i) {
  int labels, k;
  const int *l = syn_data_row(d, i, SYN_TGT, &labels);
  if (d->corruption.count && labels)
    return syn__fail(c, SYN_E_VALUE, "data: row %lu has %d target tokens, a corrupted text none",
                     (unsigned long)i, labels);
  if (m->task->decoder) return SYN_OK;
  if (syn__label_count(c, m, i, d->rows[i].n[SYN_SRC], labels)) return SYN_E_VALUE;
  for (k = 0; k < labels; k++)
    if (l[k] < 0 || l[k] >= m->config.classes)
      return syn__fail(c, SYN_E_VALUE, "data: row %lu: label %d is %d, wanted 0 to %d",
                       (unsigned long)i, k, l[k], m->config.classes - 1);
  return SYN_OK;
}

/* Checks every row before any of them is used. */
static syn_status syn__data_task(syn_context *c, const syn_model *m, const syn_data *d) {
  const syn_config *k = &m->config;
  const syn_corruption *s = &d->corruption;
  size_t i;
  if (s->count && !(m->task->encoder && m->task->decoder))
    return syn__fail(c, SYN_E_VALUE, "data: corrupted texts are for seq2seq, not for %s", k->task);
  if (s->count && (s->first + s->count > k->src_vocab || s->first + s->count > k->tgt_vocab))
    return syn__fail(c, SYN_E_VALUE,
                     "data: sentinels %d to %d, but the vocabularies have %d and %d tokens",
                     s->first, s->first + s->count - 1, k->src_vocab, k->tgt_vocab);
  for (i = 0; i < d->count; i++)
    if (syn__data_row_fits(c, m, d, i)) return SYN_E_VALUE;
  return SYN_OK;
}

/* The next batch of the data; lays out the next epoch where one ends, also after a checkpoint that
   was written there. Seed, state.epoch and state.batch alone decide which batch it is. */
static syn_status syn__train_next(syn_trainer *t, syn_data *d, syn_batch *b) {
  syn_train_state *s = &t->state;
  const syn_train_config *k = &t->config;
  syn_status status = syn__data_epoch(d, k->batch_tokens, k->seed, s->epoch);
  if (status == SYN_OK && s->batch >= (long)d->n_batches) {
    s->epoch++;
    s->batch = 0;
    status = syn__data_epoch(d, k->batch_tokens, k->seed, s->epoch);
  }
  if (status == SYN_OK) *b = syn__data_batch(d, t->m->task, (size_t)s->batch++, t->ints);
  return status;
}

/* One update from `accumulate` batches. A refused batch counts as done: the next call continues
   behind it. */
static syn_status syn__train_update(syn_trainer *t, syn_data *d, float *loss) {
  const syn_train_state before = t->state;
  syn_status s = SYN_OK;
  syn_batch b;
  int i;
  syn__train_begin(t, 1);
  for (i = 0; i < t->config.accumulate && s == SYN_OK; i++) {
    s = syn__cancelled(t->c);
    if (s != SYN_OK) t->state = before; /* its batches come again */
    else s = syn__train_next(t, d, &b);
    if (s == SYN_OK) s = syn__train_batch(t, &b);
  }
  return s != SYN_OK ? s : syn__train_finish(t, loss);
}

/* Mean loss over the data. `ints`: arrays of one batch. Epoch -1 is the order by length, so the
   loss is always summed in one order. *loss and *labels were zeroed by the caller. */
static syn_status syn__run_evaluate(syn_run *r, syn_data *d, int tokens, int *ints, double *loss,
                                    long *labels) {
  double sum = 0.0;
  size_t i;
  syn_status s = syn__data_task(r->tape.c, r->m, d);
  if (s == SYN_OK) s = syn__data_epoch(d, tokens, 0, -1);
  for (i = 0; s == SYN_OK && i < d->n_batches; i++) {
    syn_batch b = syn__data_batch(d, r->m->task, i, ints);
    s = syn__cancelled(r->tape.c);
    if (s == SYN_OK) s = syn__run_loss(r, &b, &sum, labels);
  }
  if (s == SYN_OK && *labels) *loss = sum / (double)*labels;
  return s;
}

/* On the trainer's buffers. Where d is also the training data, syn__train_next lays it out anew. */
syn_status syn_trainer_evaluate(syn_trainer *t, syn_data *d, double *loss, long *labels) {
  *loss = 0.0;
  *labels = 0;
  if (!t || !syn__given(t->c, d, "data")) return SYN_E_VALUE;
  return syn__run_evaluate(t->run, d, t->config.batch_tokens, t->ints, loss, labels);
}

/* With a training run, which makes logits block by block. Its gradients are not used. */
syn_status syn_model_evaluate(syn_context *c, const syn_model *m, syn_data *d, int batch_tokens,
                              double *loss, long *labels) {
  int tokens = batch_tokens ? batch_tokens : 4096, *ints;
  syn_status s = SYN_E_MEMORY;
  syn_limits limits;
  syn_run *r;
  *loss = 0.0;
  *labels = 0;
  if (!syn__given(c, m, "model") || !syn__given(c, d, "data")) return SYN_E_VALUE;
  if (tokens < 2 || tokens > SYN__DATA_LENGTH)
    return syn__fail(c, SYN_E_VALUE, "evaluation: batches of %d tokens, wanted 2 to %d", tokens,
                     SYN__DATA_LENGTH);
  limits = syn__train_limits(tokens, 0);
  r = syn__run_new(c, m, SYN__TRAIN, &limits);
  ints = (int *)syn__alloc(c, 3 * (size_t)tokens, sizeof(int));
  if (r && ints) s = syn__run_evaluate(r, d, tokens, ints, loss, labels);
  else if (c->status) s = c->status;
  syn__free(c, ints);
  syn_run_free(r);
  return s;
}

/* Keeps the current weights for averaging, among the `average` checkpoints of lowest loss (without
   validation data the loss is -step: the newest). best_loss is sorted; the worst falls out; of
   equal ones the older stays. Frozen tensors are not kept. */
static void syn__train_keep(syn_trainer *t, float loss) {
  int most = t->config.average, k, i;
  size_t size = t->floats;
  if (most < 1 || !(loss < (float)INFINITY)) return; /* what is not a number would never leave */
  if (t->n_best == most && !(loss < t->best_loss[most - 1])) return;
  if (t->n_best < most) t->n_best++;
  for (k = t->n_best - 1; k > 0 && loss < t->best_loss[k - 1]; k--) {
    memcpy(t->best + (size_t)k * size, t->best + (size_t)(k - 1) * size, size * sizeof(float));
    t->best_loss[k] = t->best_loss[k - 1];
  }
  for (i = 0; i < t->n_trained; i++)
    memcpy(t->best + (size_t)k * size + t->trained[i].at, t->trained[i].p->x,
           t->trained[i].p->size * sizeof(float));
  t->best_loss[k] = loss;
}

/* `worse` counts validations since the best one: plateau halves the learning rate at every
   `patience` of them, stop_after ends the training (early stopping). */
syn_status syn_trainer_validate(syn_trainer *t, syn_data *valid) {
  syn_train_state *s = t ? &t->state : NULL;
  double loss;
  long labels;
  syn_status status;
  if (!t) return SYN_E_VALUE;
  loss = -(double)s->step; /* without data the newest is the best */
  status = valid ? syn_trainer_evaluate(t, valid, &loss, &labels) : SYN_OK;
  if (status != SYN_OK) return status;
  s->validations++;
  s->valid = valid ? (float)loss : 0.0f;
  syn__train_keep(t, (float)loss);
  if (!valid) return SYN_OK;
  if (s->valid < s->best) s->best = s->valid, s->worse = 0;
  else s->worse++;
  if (t->schedule == SYN__PLATEAU && s->worse && s->worse % t->config.patience == 0)
    s->factor *= 0.5f;
  s->stopped = t->config.stop_after && s->worse >= t->config.stop_after;
  return SYN_OK;
}

/* Each round: update, validation where one is due, report; a checkpoint written by the report
   holds all three. The trainer keeps the whole state, so a further call, or another process with a
   checkpoint, continues. */
syn_status syn_trainer_run(syn_trainer *t, syn_data *data, syn_data *valid, syn_report report,
                     void *user) {
  syn_status s;
  if (!t || !syn__given(t->c, data, "data")) return SYN_E_VALUE;
  s = syn__data_task(t->c, t->m, data);
  if (s != SYN_OK) return s;
  while (t->validation_due || (t->state.step < t->config.steps && !t->state.stopped)) {
    int validated = t->validation_due;
    if (!validated) {
      s = syn__train_update(t, data, &t->loss);
      if (s != SYN_OK) return s;
      validated = t->config.every && t->state.step % t->config.every == 0;
    }
    s = validated ? syn_trainer_validate(t, valid) : SYN_OK;
    t->validation_due = s == SYN_E_CANCELLED;
    if (s != SYN_OK) return s;
    if (report && report(user, t, t->loss, validated)) return SYN_OK;
  }
  return SYN_OK;
}

/* Sum from the best checkpoint on, then one product with 1/n: the bits do not depend on when each
   was kept. Frozen tensors are the same in all of them. */
int syn_trainer_average(syn_trainer *t) {
  int i, k;
  if (!t || t->n_best < 1) return 0;
  for (i = 0; i < t->n_trained; i++) {
    const syn_param *p = t->trained[i].p;
    memcpy(p->x, t->best + t->trained[i].at, p->size * sizeof(float));
    for (k = 1; k < t->n_best; k++)
      t->c->kernels->acc(p->x, t->best + (size_t)k * t->floats + t->trained[i].at, p->size);
    t->c->kernels->scale(p->x, 1.0f / (float)t->n_best, p->x, p->size);
  }
  return t->n_best;
}

/* ==============================================================================================
   >>decode state   memory of one decoder; its new rows; its outputs
   ============================================================================================== */

/*
   A step reads one new token per hypothesis. Nothing is computed again for the tokens before it: a
   layer that looks back keeps `cache` floats per token in a slot of its KV cache. A hypothesis is a
   list of slots, so beam search reorders integers and never moves keys or values.

   Prefill: the prompt is read in chunks. All its tokens in a chunk are rows of one step, so that
   every product of a layer has many rows. No logits are computed for tokens that are given. */

/* A live hypothesis. Those of a sentence are neighbours. */
typedef struct syn__hypothesis {
  int sentence;
  int slot;    /* where its newest token is kept */
  float score; /* sum of log p of its tokens */
  int *past;   /* [L] slot * L + place of every token read */
  int *text;   /* [L] tokens of the output */
} syn__hypothesis;

/* A hypothesis, `row`, with one more token; the score includes that token. */
typedef struct syn__extension {
  float score;
  int row, token;
  int ended; /* 1: no token follows this one */
} syn__extension;

/* An output of a sentence; its tokens are in out_tokens of the decoder. */
typedef struct syn__output {
  float score;
  int size; /* tokens, the end included */
} syn__output;

/* int8 logit bounds, used in >>sampling: they tell without all logits which tokens cannot be the
   most probable one. q: out.w [V,d] as bytes in panels [ceil(V/16), d, 16], w is about scale q.
   Null: there are no bounds. */
typedef struct syn__logit_bounds {
  signed char *q;
  float *scale;      /* [V] */
  float *radius;     /* [V] how far a logit can be from that for an x of length 1 */
  float *low, *high; /* [round16(V)] bounds of the logits of one row */
  float slack;       /* for the rounding of the bias */
  size_t width;      /* d */
  const float *x;    /* [d] the row that low and high are for */
  int *candidates;   /* [V/16] tokens that can be its most probable one */
} syn__logit_bounds;

/* rows = beam * sentences; a step has so many at most, a step of a prefill step_rows. A decoding
   step reads `row` and writes row_next; then the two change places. */
struct syn_decoder {
  syn_context *c;
  const syn_model *m;
  syn_run *run;
  syn_decode_config config;        /* with every default resolved */
  syn_limits limits;               /* of the run */
  int rows, step_rows, limit;      /* limit: most tokens of an output, L */
  int live, sentences;
  int place;                       /* of the newest tokens: so many were read before them */
  int last;                        /* 1: no step follows this one */
  int cancelled;                   /* 1: by syn_options.cancel */
  int has_logits;                  /* 1: this step's logits are computed */
  const uint64_t *seeds;           /* these three are the caller's; null: not given */
  const unsigned char *allowed;    /* [sentences, V] */
  const int *banned;               /* sequences of tokens */
  syn__decode_state decode;        /* what the layers read; its lists: [step_rows] */
  syn__hypothesis *row, *row_next; /* [rows] */
  int *taken;                      /* [beam] 1: a hypothesis uses this slot of the sentence */
  int *out_tokens;                 /* [sentences, best, L] */
  syn__output *out;                /* [sentences, best] best first */
  int *n_out;                      /* [sentences] outputs so far */
  syn__extension *top;             /* [sentences, 2 * beam] the best extensions, best first */
  int *n_top;                      /* [sentences] */
  float *logits;                   /* [rows, V] */
  float *block_max;                /* [rows, ceil(V/64)] largest logit of every block of 64 */
  float *log_sum;                  /* [rows] log of the sum of exp of the logits; beam search */
  float *high;                     /* [sentences, 2 * beam] largest block maxima of a row */
  syn__logit_bounds bounds;
  float *p;                        /* [V] probabilities, for sampling */
  uint64_t *heap;                  /* [V] keys of tokens, for sampling */
  int *ids[2];                     /* [source_len], [L] tokens of a text given as text */
  void *block;
};

/* Fills in the defaults; `given` may be null. The limits keep products inside an int:
   1024 * 65536 = 2^26. Beam search and sampling exclude each other. */
static syn_status syn__decode_resolve(syn_decoder *d, const syn_decode_config *given) {
  syn_decode_config *k = &d->config;
  if (given) *k = *given;
  if (!k->beam) k->beam = 1;
  if (!k->best) k->best = 1;
  if (!k->sentences) k->sentences = 1;
  if (!k->prefill) k->prefill = 64;
  if (k->alpha == 0.0f) k->alpha = 0.6f;
  if (k->alpha < 0.0f) k->alpha = 0.0f;
  if (!k->max_len) k->max_len = d->m->config.max_len;
  if (!k->source_len) k->source_len = d->m->config.max_len;
  if (!d->m->task->decoder)
    return syn__fail(d->c, SYN_E_VALUE, "decoding: the task %s has no decoder", d->m->task->name);
  if (k->beam < 1 || k->beam > 1024 || k->best < 1 || k->best > k->beam || k->sentences < 1 ||
      k->sentences > 65536 || k->prefill < 1 || k->prefill > 65536)
    return syn__fail(d->c, SYN_E_VALUE,
                     "decoding: beam %d (1 to 1024), best %d (1 to beam), %d sentences "
                     "(1 to 65536), prefill %d (1 to 65536)",
                     k->beam, k->best, k->sentences, k->prefill);
  if (k->max_len < 1 || k->max_len > d->m->config.max_len)
    return syn__fail(d->c, SYN_E_VALUE, "decoding: max_len %d, wanted 1 to the model's %d",
                     k->max_len, d->m->config.max_len);
  if (k->source_len < 1 || k->source_len > INT_MAX / k->sentences)
    return syn__fail(d->c, SYN_E_VALUE, "decoding: source_len %d, wanted 1 to %d for %d sentences",
                     k->source_len, INT_MAX / k->sentences, k->sentences);
  if (!(k->temperature >= 0.0f) || k->top_k < 0 || !(k->top_p >= 0.0f && k->top_p <= 1.0f) ||
      !(k->alpha >= 0.0f) || (k->temperature > 0.0f && k->beam > 1))
    return syn__fail(d->c, SYN_E_VALUE,
                     "decoding: temperature %g, top_k %d, top_p %g, alpha %g, beam %d do not go "
                     "together",
                     (double)k->temperature, k->top_k, (double)k->top_p, (double)k->alpha, k->beam);
  d->limit = k->max_len;
  d->rows = k->beam * k->sentences;
  d->step_rows = k->prefill / k->sentences < k->max_len ? k->prefill : k->sentences * k->max_len;
  d->step_rows = syn__max(d->step_rows, d->rows);
  return SYN_OK;
}

/* Hypotheses, each with its lists. Those of all rows make one array [rows, L], since a layer finds
   the past of row r there (syn__past). */
static syn__hypothesis *syn__layout_rows(const syn_decoder *d, syn__layout *k) {
  size_t rows = (size_t)d->rows, limit = (size_t)d->limit, i;
  syn__hypothesis *row = (syn__hypothesis *)syn__layout_add(k, rows, sizeof *row);
  int *past = syn__layout_ints(k, rows, limit), *text = syn__layout_ints(k, rows, limit);
  for (i = 0; k->base && i < rows; i++) {
    row[i].past = past + i * limit;
    row[i].text = text + i * limit;
  }
  return row;
}

/* The KV cache: history [rows, L, floats] of every decoder node that looks back; source [tokens of
   all sources, floats] of those that attend to the source, shared by the whole beam; transposed
   keys of either in blocks of 16 tokens, of which each slot or sentence may leave one partial. */
static void syn__layout_cache(syn_decoder *d, syn__layout *k) {
  const syn__graph *g = &d->m->g;
  size_t rows = (size_t)d->rows, limit = (size_t)d->limit, sentences = (size_t)d->config.sentences;
  size_t i, sources = sentences * (size_t)d->config.source_len;
  d->decode.length = d->limit;
  d->decode.slots = d->config.beam;
  d->decode.cache = (float **)syn__layout_add(k, g->n_nodes, sizeof(float *));
  d->decode.source_cache = (float **)syn__layout_add(k, g->n_nodes, sizeof(float *));
  d->decode.key_cache = (float **)syn__layout_add(k, g->n_nodes, sizeof(float *));
  for (i = (size_t)g->n_encoder; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    size_t blocks = n->source_cache ? sources / 16 + sentences : rows * ((limit + 15) / 16);
    float *history = syn__layout_floats(k, rows * limit, (size_t)n->cache);
    float *source = syn__layout_floats(k, sources, (size_t)n->source_cache);
    float *keys = syn__layout_floats(k, 16 * blocks, (size_t)n->key_cache);
    if (!k->base) continue;
    d->decode.cache[i] = history;
    d->decode.source_cache[i] = source;
    d->decode.key_cache[i] = keys;
  }
}

/* The panels of 16 outputs of a matrix: a step reads them from the beginning to the end. */
static float *syn__layout_panels(const syn_param *p, syn__layout *k) {
  size_t rows = (size_t)p->shape[0];
  return syn__layout_floats(k, syn__round16(rows), p->size / rows);
}

/* Packs the matrices of products, once, unless the model has them in panels already. */
static void syn__layout_packed(syn_decoder *d, syn__layout *k) {
  const syn__graph *g = &d->m->g;
  const float **packed;
  size_t i;
  if (syn__in_panels(d->m)) return;
  packed = (const float **)syn__layout_add(k, g->n_params, sizeof *packed);
  for (i = 0; i < g->n_params; i++) {
    const syn_param *p = &g->params[i];
    float *at = p->panels ? syn__layout_panels(p, k) : NULL;
    syn_matrix w;
    if (!k->base || !at) continue;
    w = syn_transposed(syn_matrix_of(p->x, p->shape[0], (int)(p->size / (size_t)p->shape[0]), 0));
    d->c->kernels->pack_b(&w, at);
    packed[i] = at;
  }
  if (k->base) d->run->tape.packed = packed;
}

/* All weights of a model that only decodes: matrices in panels, the others as they are. */
static void syn__layout_weights(syn_model *m, syn__layout *k) {
  size_t i;
  m->panels = (float **)syn__layout_add(k, m->g.n_params, sizeof *m->panels);
  for (i = 0; i < m->g.n_params; i++) {
    syn_param *p = &m->g.params[i];
    float *at = p->panels ? syn__layout_panels(p, k) : syn__layout_floats(k, 1, p->size);
    if (!k->base) continue;
    if (p->panels) m->panels[i] = at;
    else p->x = at;
  }
}

/* One row w [d] of out.w, in a panel: q counts steps of `scale`, 127 of them for the largest number. With
   e = w - scale q, |w x - scale q x| <= |e| |x|. Both sums have d terms and are rounded d times by
   at most 2^-24 of |w| |x| or (|w| + |e|) |x|; the radius has room for this, for the few operations
   behind the sums, and with 1e-28 for underflow. 0: the numbers are too large for a bound. */
static int syn__bounds_row(const float *w, size_t d, signed char *q, float *scale, float *radius) {
  double sum = 0.0, error = 0.0, e;
  float top = 0.0f, step;
  size_t i;
  for (i = 0; i < d; i++) {
    float x = w[16 * i];
    top = fabsf(x) > top ? fabsf(x) : top;
    sum += (double)x * (double)x;
  }
  if (!(sum < 1e30)) return 0;
  *scale = step = top > 1e-30f ? top / 127.0f : 1.0f;
  for (i = 0; i < d; i++) {
    float x = w[16 * i];
    int n = (int)floorf(x / step + 0.5f);
    q[16 * i] = (signed char)syn__max(-127, syn__min(127, n));
    e = (double)x - (double)step * (double)q[16 * i];
    error += e * e;
  }
  sum = sqrt(sum), error = sqrt(error);
  *radius = (float)(1.001 * error + (4.0 * (double)d + 64.0) * 6e-8 * (2.0 * sum + error) + 1e-28);
  return 1;
}

/* Only greedy decoding needs just the largest logit. A partial panel is filled with 0. */
#define SYN__BOUNDS_LEAST 100000 /* numbers of out.w from which on the bounds save time */
#define SYN__BOUNDS_ROWS 3       /* with more rows the product with out.w costs less */
static void syn__layout_bounds(syn_decoder *d, syn__layout *k) {
  const syn_node *head = d->m->g.nodes[d->m->head];
  const syn_param *w = &d->m->g.params[head->param[0]], *b = &d->m->g.params[head->param[1]];
  size_t i, v = (size_t)w->shape[0], width = w->size / v, wide = syn__round16(v);
  syn__logit_bounds *s = &d->bounds;
  const float *panels;
  float most = 0.0f;
  if (d->config.beam > 1 || d->config.temperature > 0.0f || w->size < SYN__BOUNDS_LEAST) return;
  s->q = (signed char *)syn__layout_add(k, syn__mul_size(wide, width), 1);
  s->scale = syn__layout_floats(k, 1, wide);
  s->radius = syn__layout_floats(k, 1, wide);
  s->low = syn__layout_floats(k, 1, wide);
  s->high = syn__layout_floats(k, 1, wide);
  s->candidates = syn__layout_ints(k, 1, v / 16);
  s->width = width;
  if (!k->base) return;
  memset(s->q, 0, wide * width);
  panels = d->run->tape.packed[head->param[0]];
  for (i = 0; i < v; i++) {
    size_t at = syn__panel_row(i, width);
    if (!(fabsf(b->x[i]) < 1e15f) || !syn__bounds_row(panels + at, width, s->q + at,
                                                      &s->scale[i], &s->radius[i])) {
      s->q = NULL;
      return;
    }
    most = fabsf(b->x[i]) > most ? fabsf(b->x[i]) : most;
  }
  s->slack = 2e-6f * most;
}

/* Blocks of a row of logits, each with its maximum. */
static size_t syn__decode_blocks(const syn_decoder *d) {
  return ((size_t)d->m->config.tgt_vocab + SYN__BLOCK - 1) / SYN__BLOCK;
}

static void syn__layout_decoder(syn_decoder *d, syn__layout *k) {
  size_t rows = (size_t)d->rows, limit = (size_t)d->limit, sentences = (size_t)d->config.sentences;
  size_t outs = sentences * (size_t)d->config.best, v = (size_t)d->m->config.tgt_vocab;
  d->row = syn__layout_rows(d, k);
  d->row_next = syn__layout_rows(d, k);
  d->decode.slot = syn__layout_ints(k, 1, (size_t)d->step_rows);
  d->decode.sentence = syn__layout_ints(k, 1, (size_t)d->step_rows);
  d->decode.source_off = syn__layout_ints(k, 1, sentences + 1);
  d->taken = syn__layout_ints(k, 1, (size_t)d->config.beam);
  d->out_tokens = syn__layout_ints(k, outs, limit);
  d->out = (syn__output *)syn__layout_add(k, outs, sizeof *d->out);
  d->n_out = syn__layout_ints(k, 1, sentences);
  d->top = (syn__extension *)syn__layout_add(k, 2 * rows, sizeof *d->top);
  d->n_top = syn__layout_ints(k, 1, sentences);
  d->logits = syn__layout_floats(k, rows, v);
  d->block_max = syn__layout_floats(k, rows, syn__decode_blocks(d));
  d->log_sum = syn__layout_floats(k, 1, rows);
  d->high = syn__layout_floats(k, 2, rows);
  d->p = syn__layout_floats(k, 1, v);
  d->heap = (uint64_t *)syn__layout_add(k, v, sizeof *d->heap);
  d->ids[SYN_SRC] = syn__layout_ints(k, 1, (size_t)d->config.source_len);
  d->ids[SYN_TGT] = syn__layout_ints(k, 1, limit);
  syn__layout_cache(d, k);
  syn__layout_packed(d, k);
  syn__layout_bounds(d, k);
}

/* Resolves the configuration, sets the limits of the run and returns the bytes of the block; 0: it
   was refused. `d` is zeroed and has no memory yet. The encoder sees whole sources, the decoder the
   rows of one step: that is why a decoder's activations are small whatever L is. */
static size_t syn__decoder_measure(syn_decoder *d, syn_context *c, const syn_model *m,
                                   const syn_decode_config *config) {
  syn__layout k = {NULL, 0};
  d->c = c;
  d->m = m;
  if (syn__decode_resolve(d, config)) return 0;
  d->limits.sentences = d->config.sentences;
  d->limits.length = syn__max(d->config.source_len, d->limit);
  d->limits.src_rows = syn__max(d->config.sentences * d->config.source_len, d->step_rows);
  d->limits.tgt_rows = d->step_rows;
  syn__layout_decoder(d, &k);
  return k.used;
}

/* The same layout gives every array its place and packs the weights. The logits are the decoder's,
   not the run's: a prefill needs only those of its last place. */
syn_decoder *syn_decoder_new(syn_context *c, const syn_model *m, const syn_decode_config *config) {
  syn_decoder *d = syn__given(c, m, "model") ? (syn_decoder *)syn__alloc(c, 1, sizeof *d) : NULL;
  size_t bytes;
  syn__layout k = {NULL, 0};
  if (!d) return NULL;
  bytes = syn__decoder_measure(d, c, m, config);
  if (bytes) d->run = syn__run_new(c, m, SYN__INFER, &d->limits);
  if (d->run) d->block = syn__alloc(c, 1, bytes);
  if (!d->block) {
    syn_decoder_free(d);
    return NULL;
  }
  k.base = (char *)d->block;
  syn__layout_decoder(d, &k);
  d->run->tape.tensors[m->g.nodes[m->head]->out].x = d->logits;
  return d;
}

/* The run has a block of its own; the model is not ours. */
void syn_decoder_free(syn_decoder *d) {
  if (!d) return;
  syn_run_free(d->run);
  syn__free(d->c, d->block);
  syn__free(d->c, d);
}

/* These keep pointers: the caller may change what they point to between two calls. */
void syn_decoder_set_seeds(syn_decoder *d, const uint64_t *seeds) {
  if (d) d->seeds = seeds;
}
void syn_decoder_set_allowed(syn_decoder *d, const unsigned char *allowed) {
  if (d) d->allowed = allowed;
}
void syn_decoder_set_banned(syn_decoder *d, const int *banned) {
  if (d) d->banned = banned;
}

/* Length penalty: ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14). Log p is divided by it,
   so that long hypotheses are not worse for having more factors; length counts the end. */
static float syn__length_penalty(const syn_decoder *d, int length) {
  return (float)syn__pow((5.0 + (double)length) / 6.0, (double)d->config.alpha);
}

/* -- one step -- */

/* Runs the encoder over all sentences; then every layer that attends to the source projects its
   keys and values once (`start`). The encoder's nodes run as in training without dropout. Target
   rows come later, step by step. source_off is copied, because a later batch overwrites r->off. */
static syn_status syn__decode_encode(syn_decoder *d, const syn_batch *b) {
  syn_run *r = d->run;
  syn_tape *t = &r->tape;
  int i;
  memset(t->stream, 0, sizeof t->stream);
  if (d->m->task->encoder) {
    syn_status s = syn__bind_side(r, SYN_SRC, b->src, b->src_width, b->count);
    if (s != SYN_OK) return s;
    if (t->stream[SYN_SRC].longest > d->config.source_len)
      return syn__fail(d->c, SYN_E_SHAPE, "decoding: a source of %d tokens, planned were %d",
                       t->stream[SYN_SRC].longest, d->config.source_len);
    memcpy(d->decode.source_off, r->off[SYN_SRC], (size_t)(b->count + 1) * sizeof(int));
  }
  syn__bind_shapes(r);
  if (syn__bind_tables(r)) return SYN_E_SHAPE;
  t->decode = NULL;
  syn__forward(t, t->g->n_encoder);
  t->decode = &d->decode;
  for (i = t->g->n_encoder; i < d->m->head; i++)
    if (t->g->nodes[i]->kind->start) t->g->nodes[i]->kind->start(t, t->g->nodes[i]);
  return SYN_OK;
}

/* Lists the rows of a step: of every live hypothesis the tokens at d->place and the next places - 1
   (more than one in a prefill), all hypotheses of a place before those of the next. */
static void syn__decode_bind(syn_decoder *d, int places) {
  syn_run *r = d->run;
  int i, place, row = 0;
  for (place = d->place; place < d->place + places; place++)
    for (i = 0; i < d->live; i++, row++) {
      const syn__hypothesis *h = &d->row[i];
      r->tape.ids[SYN_TGT][row] = place ? h->text[place - 1] : SYN_BEGIN;
      r->tape.at[SYN_TGT][row] = place;
      d->decode.slot[row] = h->slot;
      d->decode.sentence[row] = h->sentence;
      h->past[place] = h->slot * d->limit + place;
    }
  d->decode.rows = row;
  d->decode.live = d->live;
  d->decode.past = d->row[0].past;
}

/* One step up to the input of the output layer. Nodes whose output belongs to the source have no
   new row. */
static void syn__decode_rows(syn_decoder *d, int places) {
  syn_tape *t = &d->run->tape;
  size_t v;
  int i;
  syn__decode_bind(d, places);
  for (v = 0; v < t->g->n_values; v++)
    if (t->g->values[v].stream == SYN_TGT) t->tensors[v].shape[0] = d->decode.rows;
  for (i = t->g->n_encoder; i < d->m->head; i++) {
    const syn_node *n = t->g->nodes[i];
    if (t->g->values[n->out].stream != SYN_TGT) continue;
    if (n->kind->step) n->kind->step(t, n);
    else n->kind->forward(t, n);
  }
  if (t->g->recurrent) {
    const syn_node *n = t->g->nodes[t->g->recurrent];
    n->recurrence->step(t, n, &t->tensors[t->g->feedback]);
  }
}

/* [V] of one live row. */
static float *syn__decode_logits(const syn_decoder *d, int row) {
  const syn_tensor *z = &d->run->tape.tensors[d->m->g.nodes[d->m->head]->out];
  return z->x + (size_t)row * (size_t)syn_width(z);
}

/* -- outputs -- */

/* Puts the text of a hypothesis, whose newest token is at d->place, among the best outputs of its
   sentence, best first; of equal scores the one that finished first stays in front. The score is
   `sum`, that of log p, divided by the length penalty. ended 0: a hypothesis that is still live
   after the last step; it comes behind all others, where too few have finished. */
static void syn__decode_finish(syn_decoder *d, int sentence, const int *text, float sum,
                               int ended) {
  size_t best = (size_t)d->config.best, limit = (size_t)d->limit;
  size_t n = (size_t)d->n_out[sentence], k = n, behind;
  syn__output *out = d->out + (size_t)sentence * best;
  int *tokens = d->out_tokens + (size_t)sentence * best * limit, size = d->place + 1;
  float score = sum / syn__length_penalty(d, size);
  while (ended && k > 0 && score > out[k - 1].score) k--;
  if (k == best) return;
  if (n == best) n--; /* the worst one leaves */
  behind = n - k;
  memmove(out + k + 1, out + k, behind * sizeof *out);
  memmove(tokens + (k + 1) * limit, tokens + k * limit, behind * limit * sizeof *tokens);
  memcpy(tokens + k * limit, text, (size_t)size * sizeof *tokens);
  out[k].score = score;
  out[k].size = size;
  d->n_out[sentence] = (int)n + 1;
}

/* The next row `to` is the extension e: a copy of the hypothesis' lists with one more token. Keys
   and values stay where they are; two children of one row share their past. */
static void syn__decode_extend(syn_decoder *d, int to, const syn__extension *e) {
  const syn__hypothesis *from = &d->row[e->row];
  syn__hypothesis *row = &d->row_next[to];
  size_t size = (size_t)(d->place + 1) * sizeof(int);
  memcpy(row->past, from->past, size);
  memcpy(row->text, from->text, size);
  row->text[d->place] = e->token;
  row->sentence = from->sentence;
  row->slot = from->slot;
  row->score = e->score;
}

/* ==============================================================================================
   >>sampling   the next token: greedy, or sampling with temperature, top-k, top-p
   ============================================================================================== */

/* Sets what may not be chosen in the row z [V] to -inf: padding, begin, what the caller's list does
   not allow, and the last token of a banned sequence whose others are the newest of the text. The
   end can always be chosen. */
static void syn__exclude(const syn_decoder *d, int row, float *z) {
  const int *text = d->row[row].text, *b;
  size_t v = (size_t)d->m->config.tgt_vocab, i;
  float end = z[SYN_END];
  int n;
  z[SYN_PAD] = z[SYN_BEGIN] = -INFINITY;
  if (d->allowed) {
    const unsigned char *allowed = d->allowed + (size_t)d->row[row].sentence * v;
    for (i = 0; i < v; i++)
      if (!allowed[i]) z[i] = -INFINITY;
  }
  for (b = d->banned; b && *b; b += n + 1) {
    for (n = 0; b[n]; n++) continue;
    if (n - 1 <= d->place &&
        !memcmp(b, text + (d->place - (n - 1)), (size_t)(n - 1) * sizeof *b))
      z[b[n - 1]] = -INFINITY;
  }
  z[SYN_END] = end;
}

/* Of the live rows begin..end-1: block maxima of what may be chosen; for a beam log sum exp, which
   is over all V classes: leaving tokens out when choosing does not change a probability. */
static void syn__task_maxima(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_decoder *d = (const syn_decoder *)job;
  size_t v = (size_t)d->m->config.tgt_vocab, blocks = syn__decode_blocks(d);
  SYN__UNUSED(thread);
  for (; begin < end; begin++) {
    float *z = syn__decode_logits(d, (int)begin);
    if (d->config.beam > 1) d->log_sum[begin] = t->k->log_sum_exp(z, v, t->k->max(z, v));
    syn__exclude(d, (int)begin, z);
    t->k->block_max(d->block_max + begin * blocks, z, v);
  }
}

/* The logits of all live rows; sampling needs no block maxima. */
static void syn__make_logits(syn_decoder *d) {
  syn__linear_kind_forward(&d->run->tape, d->m->g.nodes[d->m->head]);
  if (d->config.temperature == 0.0f)
    syn_parallel(&d->run->tape, syn__task_maxima, d, (size_t)d->live, 1);
  d->has_logits = 1;
}

/* -- int8 logit bounds: the most probable token without all logits --

   With few rows a step waits for memory, and most of its weights may be those of out.w. For a
   token's logit z = w x + b we compute z' = scale q x + b from a quarter of the bytes, and
   |z - z'| <= radius |x|. A token whose upper bound is below the largest lower bound is not the
   answer. The logits of the few others are computed as always, with the same bits, and the largest
   is chosen by the same rule. */

static void syn__task_bounds(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__logit_bounds *s = (const syn__logit_bounds *)job;
  size_t n = s->width;
  SYN__UNUSED(thread);
  t->k->gemv_int8(s->high + 16 * begin, s->x, s->q + 16 * n * begin, n, end - begin);
}

/* The most probable of the n candidates, in rising order. The logits of a panel are computed
   together, at their places in the row. */
static int syn__choose_candidate(syn_decoder *d, int row, int n) {
  syn_tape *t = &d->run->tape;
  const syn_node *head = t->g->nodes[d->m->head];
  const syn__logit_bounds *s = &d->bounds;
  syn_matrix w = syn__weight_transposed(t, head, 0);
  float *z = syn__decode_logits(d, row), top = -INFINITY;
  syn__product p =
      syn__product_of(syn_matrix_of(z, 1, w.cols, 0), syn_matrix_of(s->x, 1, w.rows, 0), w,
                      syn_weight(t, head, 1), 0);
  int i, panel = -1, best = -1;
  for (i = 0; i < n; i++) {
    int token = s->candidates[i];
    if (token / 16 != panel) {
      panel = token / 16;
      t->k->gemm(&p, 0, 1, panel, panel + 1);
    }
    if (z[token] > top) top = z[token], best = token;
  }
  return best;
}

/* The token of a row, or -1: all logits are needed, because |x| is 0 or too large for bounds, or
   because the bounds leave too many candidates. `high` is first z', then the upper bounds. */
static int syn__choose_bounded(syn_decoder *d, int row) {
  syn_tape *t = &d->run->tape;
  const syn_node *head = t->g->nodes[d->m->head];
  syn__logit_bounds *s = &d->bounds;
  size_t v = (size_t)d->m->config.tgt_vocab, i;
  float norm, least;
  int n = 0;
  s->x = syn_in(t, head, 0)->x + (size_t)row * s->width;
  norm = 1.001f * sqrtf(t->k->dot(s->x, s->x, s->width));
  if (!(norm > 1e-10f && norm < 1e15f)) return -1;
  syn_parallel(t, syn__task_bounds, s, (v + 15) / 16, 4);
  t->k->mul(s->high, s->high, s->scale, v);
  t->k->add(s->high, s->high, syn_weight(t, head, 1), v);
  syn__exclude(d, row, s->high);
  memcpy(s->low, s->high, v * sizeof *s->low);
  t->k->acc_scale(s->low, -norm, s->radius, v);
  t->k->acc_scale(s->high, norm, s->radius, v);
  least = t->k->max(s->low, v) - s->slack; /* of the most probable token's logit */
  t->k->block_max(d->block_max, s->high, v);
  for (i = 0; i < v; i++) {
    if (i % SYN__BLOCK == 0 && d->block_max[i / SYN__BLOCK] < least) i += SYN__BLOCK - 1;
    else if (s->high[i] >= least) {
      if (n == (int)v / 16) return -1;
      s->candidates[n++] = (int)i;
    }
  }
  return syn__choose_candidate(d, row, n);
}

/* Greedy: the most probable token of a row. Ties: the smaller token, on every machine. It lies in
   the first block that has the maximum. */
static int syn__choose_best(syn_decoder *d, int row) {
  const float *z = syn__decode_logits(d, row), *block_max;
  int i, v = d->m->config.tgt_vocab, blocks = (int)syn__decode_blocks(d), at = 0;
  if (!d->has_logits) {
    int token = syn__choose_bounded(d, row);
    if (token >= 0) return token;
    syn__make_logits(d);
  }
  block_max = d->block_max + (size_t)row * (size_t)blocks;
  for (i = 1; i < blocks; i++)
    if (block_max[i] > block_max[at]) at = i;
  for (i = at * SYN__BLOCK; i < v; i++)
    if (z[i] == block_max[at] && z[i] > -INFINITY) return i;
  return SYN_END; /* no logit is a number */
}

/* -- sampling -- */

/* A key of the heap: the bits of the probability, then ~token. No probability is negative, so their
   bits have the same order; of equal probabilities the smaller token comes first. A total order,
   else the heap's layout would decide. */
static uint64_t syn__sample_key(const float *p, uint64_t token) {
  uint32_t bits;
  memcpy(&bits, &p[token], sizeof bits);
  return (uint64_t)bits << 32 | (uint32_t)~token;
}
static int syn__sample_token(uint64_t key) { return (int)~(uint32_t)key; }

/* Sampling: p = softmax(z / temperature) over what may be chosen. Candidates are the top_k most
   probable tokens (Fan, Lewis, Dauphin 2018), or those whose probabilities first reach top_p
   (nucleus sampling, Holtzman et al. 2020). A heap gives them one by one in log V, where sorting
   would take V log V. The point falls uniformly within the candidates' sum; when rounding leaves it
   behind the last one, that one is chosen. The random number is a hash of seed (or the sentence's
   own), sentence and place, not a running state: a sentence gets the same output whoever is decoded
   beside it. */
static int syn__choose_sampled(syn_decoder *d, int row) {
  uint64_t sentence = (uint64_t)d->row[row].sentence, place = (uint64_t)d->place;
  size_t i, v = (size_t)d->m->config.tgt_vocab, n = 0;
  size_t most = d->config.top_k ? (size_t)d->config.top_k : v;
  float wanted = d->config.top_p > 0.0f ? d->config.top_p : 1.0f, sum = 0.0f, point;
  float inverse = 1.0f / d->config.temperature; /* limited: 0 * infinity is no number */
  float *p = d->p;
  syn__heap heap;
  uint64_t top;
  syn_random random = {d->seeds ? syn__mix(d->seeds[sentence] ^ syn__mix(place))
                                : syn__mix(d->config.seed ^ syn__mix(sentence * 0x10001u + place))};
  d->c->kernels->scale(p, inverse < 1e20f ? inverse : 1e20f, syn__decode_logits(d, row), v);
  syn__exclude(d, row, p);
  for (i = 0; i < v; i++)
    if (p[i] != -INFINITY) d->heap[n++] = i;
  if (n == 0) return SYN_END;
  d->c->kernels->softmax(p, p, v);
  for (i = 0; i < n; i++) d->heap[i] = syn__sample_key(p, d->heap[i]);
  heap = syn__heap_of(d->heap, n);
  while (n - heap.keys.count < most && sum < wanted && syn__heap_pop(&heap, &top)) {
    sum += p[syn__sample_token(top)];
    d->heap[heap.keys.count] = top; /* what was taken stands behind the heap */
  }
  point = syn_random_uniform(&random) * sum;
  for (i = n - 1; i > heap.keys.count; i--) {
    point -= p[syn__sample_token(d->heap[i])];
    if (point < 0.0f) break;
  }
  return syn__sample_token(d->heap[i]);
}

/* Greedy and sampling: every row is the only one of its sentence and gets one extension. */
static void syn__choose_extensions(syn_decoder *d, syn_token_callback call, void *user) {
  int i;
  for (i = 0; i < d->live; i++) {
    int sentence = d->row[i].sentence;
    syn__extension *e = d->top + 2 * (size_t)sentence * (size_t)d->config.beam;
    e->row = i;
    e->score = 0.0f;
    e->token = d->config.temperature > 0.0f ? syn__choose_sampled(d, i) : syn__choose_best(d, i);
    e->ended = (call && call(user, sentence, e->token)) || e->token == SYN_END;
    d->n_top[sentence] = 1;
  }
}

/* ==============================================================================================
   >>search   beam search; the loop over steps; text in, text out
   ============================================================================================== */

/* Beam search keeps K = `beam` live hypotheses of every sentence. A step has three parts:
     syn__decode_read      the layers read the newest token of every hypothesis; logits
     syn__task_beam_top    of every sentence the best 2K extensions by one more token; greedy
                           decoding and sampling, where K is 1: syn__choose_extensions
     syn__decode_advance   extensions that end become outputs, the best K others live on */

/* What the 2K-th best extension of a row scores at least: the 2K-th largest of its block maxima,
   each of which is a token; -inf where there are fewer blocks. high [2K]. */
static float syn__beam_floor(const syn_decoder *d, float *high, const float *block_max,
                             float base) {
  int most = 2 * d->config.beam, n = 0, i, k, blocks = (int)syn__decode_blocks(d);
  for (i = 0; i < blocks; i++) {
    if (n == most && !(block_max[i] > high[n - 1])) continue;
    if (n < most) n++;
    for (k = n - 1; k > 0 && block_max[i] > high[k - 1]; k--) high[k] = high[k - 1];
    high[k] = block_max[i];
  }
  return n == most ? base + high[n - 1] : -INFINITY;
}

/* The best 2K extensions of rows begin..end-1, those of one sentence, best first; equal scores keep
   the order row, token. log p = logit - log sum exp, so no row of probabilities is ever written. A
   block whose maximum is too small is skipped: its sums are too small too, since rounding keeps the
   order. 2K are enough: at most K of them end (one end token per row), so K others live on. */
static void syn__beam_top(const syn_decoder *d, int begin, int end) {
  int n = 0, at, last, k, v = d->m->config.tgt_vocab, blocks = (int)syn__decode_blocks(d);
  int sentence = d->row[begin].sentence, most = 2 * d->config.beam;
  syn__extension *top = d->top + (size_t)sentence * (size_t)most, e;
  for (e.row = begin; e.row < end; e.row++) {
    const float *z = syn__decode_logits(d, e.row);
    const float *block_max = d->block_max + (size_t)e.row * (size_t)blocks;
    float base = d->row[e.row].score - d->log_sum[e.row];
    float least = syn__beam_floor(d, d->high + (size_t)sentence * (size_t)most, block_max, base);
    for (at = 0; at < blocks; at++) {
      float best = base + block_max[at];
      if (best < least || (n == most && !(best > top[n - 1].score))) continue;
      last = syn__min(v, (at + 1) * SYN__BLOCK);
      for (e.token = at * SYN__BLOCK; e.token < last; e.token++) {
        e.score = base + z[e.token];
        if (e.score < least || z[e.token] == -INFINITY) continue;
        if (n == most && !(e.score > top[n - 1].score)) continue;
        e.ended = e.token == SYN_END;
        if (n < most) n++; /* else the worst one leaves */
        for (k = n - 1; k > 0 && e.score > top[k - 1].score; k--) top[k] = top[k - 1];
        top[k] = e;
      }
    }
  }
  d->n_top[sentence] = n;
}

/* Behind the live rows of the sentence of row `begin`. */
static int syn__beam_end(const syn_decoder *d, int begin) {
  int end = begin + 1;
  while (end < d->live && d->row[end].sentence == d->row[begin].sentence) end++;
  return end;
}

/* Items are live rows; the first of a sentence looks at all of them. */
static void syn__task_beam_top(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn_decoder *d = (const syn_decoder *)job;
  int i;
  SYN__UNUSED(t), SYN__UNUSED(thread);
  for (i = (int)begin; i < (int)end; i++)
    if (!i || d->row[i].sentence != d->row[i - 1].sentence)
      syn__beam_top(d, i, syn__beam_end(d, i));
}

/* Slots of the next rows to .. to + kept - 1 of a sentence, which has K slots. The first child of a
   row stays in its parent's slot, where most of its past is, in one piece; the others take free
   slots. What dead rows left there at earlier places stays. */
static void syn__beam_slots(syn_decoder *d, int to, int kept) {
  int base = d->row_next[to].sentence * d->config.beam, i, *slot, empty = 0;
  memset(d->taken, 0, (size_t)d->config.beam * sizeof *d->taken);
  for (i = to; i < to + kept; i++) {
    slot = &d->row_next[i].slot;
    if (d->taken[*slot - base]++) *slot = -1;
  }
  for (i = to; i < to + kept; i++) {
    if (d->row_next[i].slot >= 0) continue;
    while (d->taken[empty]) empty++;
    d->row_next[i].slot = base + empty++;
  }
}

/* One sentence. Of its best extensions those that end become outputs; the first K others become the
   next rows from `to` on, scored with the plain sum. Returns how many rows live on: none after the
   last step, and none when a bound says that no live hypothesis can win any more. After the K-th
   has finished a later one can still win. Greedy decoding and sampling are a beam of one. */
static int syn__beam_sentence(syn_decoder *d, int sentence, int to) {
  const syn__extension *top = d->top + 2 * (size_t)sentence * (size_t)d->config.beam;
  int k, kept = 0, best = d->config.best;
  float bound;
  for (k = 0; k < d->n_top[sentence]; k++) {
    const syn__extension *e = &top[k];
    if (e->ended) {
      d->row[e->row].text[d->place] = e->token;
      syn__decode_finish(d, sentence, d->row[e->row].text, e->score, 1);
    } else if (kept < d->config.beam)
      syn__decode_extend(d, to + kept++, e);
  }
  for (k = to; k < to + kept && d->last; k++)
    syn__decode_finish(d, sentence, d->row_next[k].text, d->row_next[k].score, 0);
  if (!kept || d->last) return 0;
  syn__beam_slots(d, to, kept);
  if (d->n_out[sentence] < best) return kept;
  /* the bound: log p only falls, and the largest divisor is that of L tokens */
  bound = d->row_next[to].score / syn__length_penalty(d, d->limit);
  return bound <= d->out[(sentence + 1) * best - 1].score ? 0 : kept;
}

/* The extensions become outputs and the next rows. Sentences that are done leave; the rows of the
   others move up, still in order. */
static void syn__decode_advance(syn_decoder *d) {
  syn__hypothesis *row = d->row;
  int begin, n = 0;
  for (begin = 0; begin < d->live; begin = syn__beam_end(d, begin))
    n += syn__beam_sentence(d, row[begin].sentence, n);
  d->row = d->row_next;
  d->row_next = row;
  d->live = n;
}

/* -- the loop -- */

/* Checks prompts and banned sequences. Sets *length to that of the prompts with begin, 1 where
   none is given. All have the same, because all rows of a step stand at one place. */
static syn_status syn__decode_check(syn_decoder *d, const syn_batch *b, int *length) {
  const int *banned = d->banned;
  int i, j, v = d->m->config.tgt_vocab;
  *length = 1;
  if (b->count < 1 || b->count > d->config.sentences)
    return syn__fail(d->c, SYN_E_SHAPE, "decoding: %d sentences, planned were 1 to %d", b->count,
                     d->config.sentences);
  for (i = 0; i < b->count && b->tgt; i++) {
    const int *row = b->tgt + (size_t)i * (size_t)b->tgt_width;
    int n = syn__row_length(row, b->tgt_width);
    if (i == 0) *length = n;
    if (n != *length || n < 1 || n > d->limit || row[0] != SYN_BEGIN)
      return syn__fail(d->c, SYN_E_SHAPE,
                       "decoding: the prompt of sentence %d has %d tokens; wanted a "
                       "begin first, all of one length, at most %d",
                       i, n, d->limit);
    for (j = 0; j < n; j++)
      if (row[j] < 1 || row[j] >= v)
        return syn__fail(d->c, SYN_E_VALUE,
                         "decoding: token %d of sentence %d is %d, wanted 1 to %d", j, i, row[j],
                         v - 1);
  }
  for (i = 0; banned && (banned[i] || (i && banned[i - 1])); i++) /* two zeros end the last one */
    if (banned[i] < 0 || banned[i] >= v)
      return syn__fail(d->c, SYN_E_VALUE, "decoding: banned token %d is %d, wanted 1 to %d", i,
                       banned[i], v - 1);
  return SYN_OK;
}

/* One hypothesis a sentence, whose text begins with the prompt [length] without its begin. */
static void syn__decode_begin(syn_decoder *d, const syn_batch *b, int length) {
  int i;
  d->sentences = d->live = b->count;
  d->place = d->last = 0;
  for (i = 0; i < b->count; i++) {
    d->row[i].sentence = i;
    d->row[i].slot = i * d->config.beam;
    d->row[i].score = 0.0f;
    d->n_out[i] = 0;
    if (length > 1)
      memcpy(d->row[i].text, b->tgt + (size_t)i * (size_t)b->tgt_width + 1,
             (size_t)(length - 1) * sizeof(int));
  }
}

static int syn__decode_cancelled(syn_decoder *d) {
  return d->cancelled = d->cancelled || syn__cancelled(d->c) != SYN_OK;
}

/* Reads the tokens at d->place .. end-1 of every live hypothesis: one each, or in a prefill chunks
   of `prefill` rows. A recurrent node needs the output before, so its chunks have one place. Then
   come the logits of the last place, unless bounds may do. 0: cancelled between two chunks. */
static int syn__decode_read(syn_decoder *d, int end) {
  int most = d->m->g.recurrent ? 1 : syn__max(1, d->config.prefill / d->live), places;
  syn_tape *t = &d->run->tape;
  const syn_node *head = t->g->nodes[d->m->head];
  syn_tensor *x = syn_in(t, head, 0);
  size_t floats = (size_t)d->live * (size_t)syn_width(x);
  for (;; d->place += places) {
    places = syn__min(most, end - d->place);
    syn__decode_rows(d, places);
    if (d->place + places == end) break;
    if (syn__decode_cancelled(d)) return 0;
  }
  d->place = end - 1;
  if (places > 1) /* the rows of the last place alone are read: they move to the front */
    memmove(x->x, x->x + (size_t)(places - 1) * floats, floats * sizeof *x->x);
  x->shape[0] = syn_out(t, head)->shape[0] = d->live;
  d->has_logits = 0;
  if (!d->bounds.q || d->live > SYN__BOUNDS_ROWS) syn__make_logits(d);
  return 1;
}

/* Each round reads the newest tokens and chooses the next. Ends when no row lives or L tokens are
   made. Nothing is allocated. */
syn_status syn_decoder_run(syn_decoder *d, const syn_batch *b, syn_token_callback call,
                           void *user) {
  int length;
  syn_status s;
  if (!d) return SYN_E_VALUE;
  d->sentences = 0; /* of what failed nothing can be read */
  if (!syn__given(d->c, b, "batch")) return SYN_E_VALUE;
  s = syn__decode_check(d, b, &length);
  if (s == SYN_OK) s = syn__decode_encode(d, b);
  if (s != SYN_OK) return s;
  syn__decode_begin(d, b, length);
  d->cancelled = 0;
  while (d->live && syn__decode_read(d, length)) {
    d->last = length == d->limit || syn__decode_cancelled(d);
    if (d->config.beam == 1) syn__choose_extensions(d, call, user);
    else
      syn_parallel(&d->run->tape, syn__task_beam_top, d, (size_t)d->live, (size_t)d->config.beam);
    syn__decode_advance(d);
    d->place = length++;
  }
  d->run->tape.decode = NULL;
  return d->cancelled ? SYN_E_CANCELLED : SYN_OK;
}

/* A place in a buffer of the decoder, valid until it decodes again. */
const int *syn_decoder_output(const syn_decoder *d, int sentence, int rank, int *size,
                              float *score) {
  int at;
  *size = 0;
  if (score) *score = 0.0f;
  if (!d || sentence < 0 || sentence >= d->sentences || rank < 0 || rank >= d->n_out[sentence])
    return NULL;
  at = sentence * d->config.best + rank;
  *size = d->out[at].size;
  if (score) *score = d->out[at].score;
  return d->out_tokens + (size_t)at * (size_t)d->limit;
}

/* -- text in, text out -- */

/* Passes pieces of text on as whole characters. Only the tokenizer "byte" cuts a character: its
   bytes wait in part[0..n) until all are there; n + left of them make the character. */
typedef struct syn__text_stream {
  const syn_tokenizer *t;
  syn_text_callback call;
  void *user;
  int first; /* 1: no token yet, which the first piece of a text must know */
  int n, left;
  char part[4];
} syn__text_stream;

/* Passes the bytes that wait on as one character; as U+FFFD, the replacement character, where bytes
   are missing or no character begins with the first one. */
static int syn__stream_flush(syn__text_stream *s) {
  int whole = s->n > 1 && !s->left;
  syn_text piece = syn__text_of(whole ? s->part : "\xEF\xBF\xBD", whole ? (size_t)s->n : 3);
  if (!s->n) return 0;
  s->n = s->left = 0;
  return s->call(s->user, piece);
}

/* A syn_token_callback. First bytes: C2..DF begin 2 bytes, E0..EF 3, F0..F4 4; 80..BF follow. */
static int syn__stream_token(void *user, int sentence, int token) {
  syn__text_stream *s = (syn__text_stream *)user;
  syn_text piece = syn_tokenizer_piece(s->t, token, s->first);
  int byte = piece.size == 1 ? (unsigned char)piece.at[0] : 0, stop = 0;
  SYN__UNUSED(sentence);
  s->first = 0;
  if (piece.size == 0) return 0;
  if ((byte & 0xC0) != 0x80 || !s->left) stop = syn__stream_flush(s);
  if (byte < 0x80) return s->call(s->user, piece) || stop;
  if (!s->n) s->left = byte < 0xC2 || byte > 0xF4 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  else s->left--;
  s->part[s->n++] = piece.at[0];
  return (!s->left && syn__stream_flush(s)) || stop;
}

/* The batch of one sentence lies in d->ids. */
syn_status syn_decoder_run_text(syn_decoder *d, syn_text source, syn_text prompt,
                                syn_text_callback call, void *user) {
  syn__text_stream stream = {NULL, call, user, 0, 0, 0, {0}};
  syn_batch b = {1, NULL, NULL, NULL, 0, 0};
  syn_status status;
  if (!d) return SYN_E_VALUE;
  d->sentences = 0;
  if (!d->m->task->encoder && source.size)
    return syn__fail(d->c, SYN_E_VALUE, "decoding text: the task %s has no source, %lu bytes given",
                     d->m->task->name, (unsigned long)source.size);
  b.src = d->ids[SYN_SRC];
  b.tgt = d->ids[SYN_TGT];
  if (d->m->task->encoder)
    b.src_width = syn__text_ids(d->c, d->m, SYN_SRC, source, d->ids[SYN_SRC], d->config.source_len);
  b.tgt_width = syn__text_ids(d->c, d->m, SYN_TGT, prompt, d->ids[SYN_TGT], d->limit);
  if (b.src_width < 0 || b.tgt_width < 0) return d->c->status;
  stream.t = d->m->tokenizer[SYN_TGT];
  stream.first = b.tgt_width == 1;
  status = syn_decoder_run(d, &b, call ? syn__stream_token : NULL, &stream);
  if (call) syn__stream_flush(&stream);
  return status;
}

size_t syn_decoder_output_text(const syn_decoder *d, int sentence, int rank, char *out,
                               size_t capacity, float *score) {
  int size;
  const int *ids = syn_decoder_output(d, sentence, rank, &size, score);
  return syn_tokenizer_decode(ids ? d->m->tokenizer[SYN_TGT] : NULL, ids, size, out, capacity);
}

/* -- the plan -- */

/* The graph is built as for a model, without weights: only so are the sizes those that will be.
   Trainer and decoder resolve their configurations themselves; neither has memory here. */
syn_status syn_plan_of(syn_context *c, const syn_config *config, const syn_train_config *train,
                       const syn_decode_config *decode, syn_plan *plan) {
  syn_model *m = syn__model_shell(c, config);
  syn_trainer t;
  syn_decoder d;
  size_t bytes;
  memset(plan, 0, sizeof *plan);
  if (!m) return c->status;
  memset(&t, 0, sizeof t);
  memset(&d, 0, sizeof d);
  t.c = c;
  t.m = m;
  if (!syn__train_resolve(&t, train)) {
    const syn_limits limits = syn__train_limits(t.config.batch_tokens, t.config.length);
    plan->weights = syn__mul_size(m->floats, sizeof(float));
    plan->training = syn__trainer_bytes(&t);
    plan->activations = syn__run_bytes(c, m, SYN__TRAIN, &limits);
    plan->keep = syn__run_bytes(c, m, SYN__KEEP, &limits);
    bytes = m->task->decoder ? syn__decoder_measure(&d, c, m, decode) : 0;
    if (bytes) plan->decoding = syn__add_size(bytes, syn__run_bytes(c, m, SYN__INFER, &d.limits));
  }
  if (c->status) memset(plan, 0, sizeof *plan); /* half of it is no plan */
  syn_model_free(m);
  return c->status;
}

/* ==============================================================================================
   >>tokenizer   what all tokenizers share: reading characters, the vocabulary, counting words
   ============================================================================================== */

/* A text is decoded to characters, characters are grouped to tokens, tokens have ids. Each kind is
   one section `>>tokenizer NAME` below; the list in >>tokenizers says how to add one.

     kind    tokens          ids from 4 on are in the order of     unknown
     byte    the 256 bytes   their value                           never
     char    characters      their code point                      a new character, an invalid byte
     space   words           how often they occur, then bytes      a new word
     bpe     parts of words  characters: code point; then merges   a new character, an invalid byte
     line    whole lines     bytes                                 a new line

   A word is one white-space character and all that follows up to the next: the tokens joined
   together are the text again. Every order is one of counts or of bytes, so the vocabulary depends
   neither on hash values, nor on the machine, nor on the order of the lines. Learning reads the
   lines once and keeps their distinct words, not the text. */

#define SYN__MAX_VOCAB (1 << 24)         /* sizes in a saved tokenizer then fit in 32 bits */
#define SYN__SENTINELS 100               /* as many as T5 has */

#endif /* !SYN_SMALL */

#define SYN__REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD in UTF-8 */
#define SYN__MAX_WORD 256 /* bpe: characters of a word; the rest is a new word */

/* Reads the characters of a text. Learning and encoding both read through it, so they see the same
   words. A copy keeps a position. */
typedef struct syn__reader {
  syn_text text;
  size_t at;  /* the byte that is decoded next */
  int lower;  /* 1: in lower case */
  int split;  /* 1: a word begins at white space; 0: the whole text is one word */
  int space;  /* 1: a space comes next, before the text */
} syn__reader;

/* 1: there is another character, for which the caller may call syn__reader_next. */
static int syn__reader_more(const syn__reader *r) { return r->space || r->at < r->text.size; }

static uint32_t syn__reader_next(syn__reader *r) {
  uint32_t ch;
  if (r->space) {
    r->space = 0;
    return ' ';
  }
  ch = syn__utf8_decode(r->text, &r->at);
  return r->lower ? syn__lower(ch) : ch; /* an invalid byte is above every range */
}

/* Where a word begins. These are single bytes in UTF-8 and have no lower case. */
static int syn__is_white(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* After a character: does its word go on? */
static int syn__reader_in_word(const syn__reader *r) {
  return r->at < r->text.size && !(r->split && syn__is_white(r->text.at[r->at]));
}

#ifndef SYN_SMALL
/* Every character of a text as it is. */
static syn__reader syn__reader_of(syn_text text) {
  syn__reader r = {text, 0, 0, 0, 0};
  return r;
}

/* Where encoding writes: all ids are counted, the first `capacity` are kept. */
typedef struct syn__ids {
  int *at;
  int capacity, count;
} syn__ids;

/* The count stops at INT_MAX, above any capacity. */
static void syn__ids_add(syn__ids *out, int id) {
  if (out->count < out->capacity) out->at[out->count] = id; /* else it is only counted */
  if (out->count < INT_MAX) out->count++;
}

/* A kind of tokenizer: its section defines one. */
typedef struct syn__tokenizer_kind {
  const char *name;
  const char *unknown; /* what SYN_UNKNOWN adds to a decoded text */
  int split;           /* 1: a text is split at white space, and one space is put before it */
  int sized;           /* 1: the spec is NAME:SIZE */
  size_t longest;      /* characters of a word; those behind them begin a new word */
  int utf8;            /* 1: a word with an invalid byte is not learned */
  /* Adds one token of a saved file, checked; learning adds through it, too. Null: the tokens are
     always the same, `learn` makes them without lines. */
  syn_status (*add)(syn_tokenizer *t, syn_text token);
  syn_status (*learn)(syn_tokenizer *t, const syn_text *lines, size_t count);
  void (*encode)(const syn_tokenizer *t, syn__reader r, syn__ids *out); /* all of r */
} syn__tokenizer_kind;

/* A merge of byte pair encoding: the ids of two neighbours. The merges follow the characters in the
   vocabulary, so the place of a merge gives its own id. */
typedef struct syn__merge {
  int left, right; /* ids of older tokens */
} syn__merge;

/* Read-only once it was made. Token `id` is text id - SYN_FIRST_TOKEN of the vocabulary; a kind
   chooses the keys of its map: code point, hash of a word, pair of ids. */
struct syn_tokenizer {
  syn_context *c;
  const syn__tokenizer_kind *kind; /* one of syn__tokenizer_kinds */
  int flags, size;    /* size: SIZE of the spec, else 0 */
  char type[24];      /* the spec */
  syn__texts vocab; /* the tokens in the order of their ids */
  syn__array merges;  /* syn__merge */
  size_t n_learned;   /* tokens without the sentinels behind them */
};

/* Reads a text of the caller for a tokenizer, without its byte order mark. */
static syn__reader syn__reader_given(const syn_tokenizer *t, syn_text text) {
  size_t mark = syn__bom_size(text.at, text.size);
  int split = t->kind->split, space = split && text.size > mark; /* an empty text has no word */
  const syn__reader r = {text, mark, t->flags & SYN_LOWERCASE, split, space};
  return r;
}

static syn_text syn__token_text(const syn_tokenizer *t, int id) {
  return syn__texts_at(&t->vocab, (size_t)(id - SYN_FIRST_TOKEN));
}

/* The id of the token with this key, 0 when there is none. */
static int syn__token_find(const syn_tokenizer *t, uint64_t key) {
  int found = syn__map_find(&t->vocab.map, key);
  return found ? found + SYN_FIRST_TOKEN - 1 : 0;
}

/* Adds the next token: `token` behind the bytes that are written already, mostly none. */
static syn_status syn__token_add(syn_tokenizer *t, syn_text token, uint64_t key) {
  if (syn_tokenizer_size(t) >= SYN__MAX_VOCAB)
    return syn__fail(t->c, SYN_E_VALUE, "tokenizer: more than %d tokens", SYN__MAX_VOCAB);
  return syn__texts_write(&t->vocab, token) ? SYN_E_MEMORY : syn__texts_end(&t->vocab, key);
}

/* Refuses the next token of a saved tokenizer. */
static syn_status syn__token_refuse(syn_tokenizer *t, const char *wanted) {
  return syn__fail(t->c, SYN_E_FORMAT, "tokenizer %s: token %d is not %s", t->type,
                   syn_tokenizer_size(t), wanted);
}

/* Distinct words of the lines with their counts. */
typedef struct syn__counter {
  syn__texts texts; /* the distinct ones; a key is the hash of its text */
  syn__array counts; /* uint64_t */
  int utf8; /* 1: words with an invalid byte are not counted */
} syn__counter;

#define SYN__COUNTER(c, utf8) {{c, {NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}}, {NULL, 0, 0}, utf8}

static void syn__counter_free(syn__counter *k) {
  syn__free(k->texts.c, k->counts.items);
  syn__texts_free(&k->texts);
}

static uint64_t *syn__counter_count(const syn__counter *k, int i) {
  return (uint64_t *)k->counts.items + i;
}

/* Counts every word of r, of at most `longest` characters, `times` times. A word is written as the
   unfinished text; its bytes are dropped when it is known or not counted. So memory grows with the
   number of distinct words alone. */
static syn_status syn__count_words(syn__counter *k, syn__reader r, size_t longest,
                                   uint64_t times) {
  syn__texts *t = &k->texts;
  char bytes[4];
  while (syn__reader_more(&r)) {
    size_t begin = t->bytes.count, n = 0;
    uint32_t ch, invalid = 0;
    syn_text word;
    int known;
    do {
      ch = syn__reader_next(&r);
      invalid |= ch & SYN__INVALID_BYTE;
      if (syn__texts_write(t, syn__text_of(bytes, syn__utf8_encode(ch, bytes))))
        return SYN_E_MEMORY;
    } while (++n < longest && syn__reader_in_word(&r));
    word = syn__text_of((const char *)t->bytes.items + begin, t->bytes.count - begin);
    known = syn__texts_find(t, word);
    if (known) *syn__counter_count(k, known - 1) += times;
    if (known || (invalid && k->utf8)) t->bytes.count = begin;
    else if (syn__append(t->c, &k->counts, &times, 1, sizeof times) ||
             syn__texts_end(t, syn__text_hash(word)))
      return SYN_E_MEMORY;
  }
  return SYN_OK;
}

/* Counts every word of the lines. */
static syn_status syn__count_lines(syn__counter *k, const syn_tokenizer *t, const syn_text *lines,
                                   size_t count) {
  syn_status status = SYN_OK;
  size_t i;
  for (i = 0; i < count && !status; i++)
    status = syn__count_words(k, syn__reader_given(t, lines[i]), t->kind->longest, 1);
  return status;
}

/* Orders of the texts of a counter: by bytes, by count. */
static int syn__order_text(const void *owner, int a, int b) {
  const syn__texts *t = &((const syn__counter *)owner)->texts;
  return syn__text_compare(syn__texts_at(t, (size_t)a), syn__texts_at(t, (size_t)b));
}
static int syn__order_count(const void *owner, int a, int b) {
  const syn__counter *k = (const syn__counter *)owner;
  uint64_t x = *syn__counter_count(k, a), y = *syn__counter_count(k, b);
  return x != y ? (x > y ? -1 : 1) : syn__order_text(owner, a, b);
}

/* Adds every text with a count above 0 as a token, in order. */
static syn_status syn__add_counted(syn_tokenizer *t, const syn__counter *k, syn__order order) {
  size_t n = k->texts.ends.count, i;
  int *sorted = syn__sorted(t->c, k, n, order);
  syn_status status = sorted ? SYN_OK : SYN_E_MEMORY;
  for (i = 0; i < n && !status; i++)
    if (*syn__counter_count(k, sorted[i]))
      status = t->kind->add(t, syn__texts_at(&k->texts, (size_t)sorted[i]));
  syn__free(t->c, sorted);
  return status;
}

/* Learns the words of the lines. Where texts are split, in order of their counts: a vocabulary that
   is cut to its first ids keeps the frequent words. Elsewhere in order of their bytes. */
static syn_status syn__words_learn(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn__counter k = SYN__COUNTER(t->c, t->kind->utf8);
  syn_status status = syn__count_lines(&k, t, lines, count);
  if (!status)
    status = syn__add_counted(t, &k, t->kind->split ? syn__order_count : syn__order_text);
  syn__counter_free(&k);
  return status;
}

/* ==============================================================================================
   >>tokenizer byte   a token for each of the 256 bytes
   ============================================================================================== */

/* Encoding needs no map: the id of a byte is its value + 4. Decoding uses the tokens. */
static syn_status syn__byte_learn(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn_status status = SYN_OK;
  int i;
  SYN__UNUSED(lines);
  SYN__UNUSED(count);
  for (i = 0; i < 256 && !status; i++) {
    const char byte = (char)i;
    status = syn__token_add(t, syn__text_of(&byte, 1), (uint64_t)i);
  }
  return status;
}

/* Decodes characters only for lower case: an invalid byte is written as it was read. */
static void syn__byte_encode(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  char bytes[4];
  size_t i, size;
  SYN__UNUSED(t);
  while (syn__reader_more(&r)) {
    size = syn__utf8_encode(syn__reader_next(&r), bytes);
    for (i = 0; i < size; i++) syn__ids_add(out, SYN_FIRST_TOKEN + (unsigned char)bytes[i]);
  }
}

static const syn__tokenizer_kind syn__tokenizer_byte = {
    "byte", SYN__REPLACEMENT, 0, 0, 0, 0, NULL, syn__byte_learn, syn__byte_encode};

/* ==============================================================================================
   >>tokenizer char   a token for each character of the lines
   ============================================================================================== */

static syn_status syn__char_add(syn_tokenizer *t, syn_text token) {
  size_t at = 0;
  uint32_t ch = token.size ? syn__utf8_decode(token, &at) : SYN__INVALID_BYTE;
  if (ch & SYN__INVALID_BYTE || at != token.size || syn__token_find(t, ch))
    return syn__token_refuse(t, "one new UTF-8 character"); /* a saved file is damaged */
  return syn__token_add(t, token, ch);
}

/* The id of a character; SYN_UNKNOWN for a new one, and for an invalid byte, which no map holds. */
static int syn__char_id(const syn_tokenizer *t, uint32_t ch) {
  int id = syn__token_find(t, ch);
  return id ? id : SYN_UNKNOWN;
}

static void syn__char_encode(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  while (syn__reader_more(&r)) syn__ids_add(out, syn__char_id(t, syn__reader_next(&r)));
}

/* Learning takes every character for a word. */
static const syn__tokenizer_kind syn__tokenizer_char = {
    "char", SYN__REPLACEMENT, 0, 0, 1, 1, syn__char_add, syn__words_learn, syn__char_encode};

/* ==============================================================================================
   >>tokenizer space   a token for each word of the lines
   ============================================================================================== */

/* A word is one white-space character, then UTF-8 characters that are none; of a kind that does not
   split texts it is any text. A token of a saved file may be neither. */
static syn_status syn__word_add(syn_tokenizer *t, syn_text token) {
  int split = t->kind->split;
  int valid = token.size > 0 && (!split || syn__is_white(token.at[0]));
  size_t at = 1; /* behind the white space */
  while (split && valid && at < token.size)
    valid = !syn__is_white(token.at[at]) && !(syn__utf8_decode(token, &at) & SYN__INVALID_BYTE);
  if (!valid || syn__texts_find(&t->vocab, token)) return syn__token_refuse(t, "one new word");
  return syn__token_add(t, token, syn__text_hash(token));
}

/* Is the word that begins at r this token? It is read, since it may be too long for a buffer. */
static int syn__word_equal(syn__reader r, syn_text token) {
  char bytes[4];
  size_t at = 0, size;
  do {
    size = syn__utf8_encode(syn__reader_next(&r), bytes);
    if (token.size - at < size || memcmp(token.at + at, bytes, size) != 0) return 0;
    at += size;
  } while (syn__reader_in_word(&r));
  return at == token.size;
}

/* Reads a word once for its hash, then again to compare it with the tokens of that hash. */
static void syn__word_encode(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  char bytes[4];
  while (syn__reader_more(&r)) {
    syn__reader word = r; /* its begin, to read it again */
    uint64_t key = SYN_HASH_START;
    size_t probe = 0;
    int i;
    do key = syn_hash(key, bytes, syn__utf8_encode(syn__reader_next(&r), bytes));
    while (syn__reader_in_word(&r));
    do i = syn__map_next(&t->vocab.map, key, &probe); /* words of equal hash are compared */
    while (i && !syn__word_equal(word, syn__texts_at(&t->vocab, (size_t)i - 1)));
    syn__ids_add(out, i ? i + SYN_FIRST_TOKEN - 1 : SYN_UNKNOWN);
  }
}

/* The unknown word brings its space along. */
static const syn__tokenizer_kind syn__tokenizer_space = {
    "space", " " SYN__REPLACEMENT, 1, 0, SIZE_MAX, 1, syn__word_add, syn__words_learn,
    syn__word_encode};

/* ==============================================================================================
   >>tokenizer bpe   byte pair encoding (Sennrich, Haddow, Birch 2016, algorithm 1)
   ============================================================================================== */

/* The tokens are first the characters. Then, again and again, the pair of neighbours with the
   highest sum over the distinct words of (times in the word) x (count of the word) is merged to a
   new token wherever it occurs. With "low" seen 5 times and "lower" twice: " l", " lo", " low" (7
   each), then " lowe", " lower" (2). A merge gets the next id, so ids are in the order of merging.

   Encoding merges, while there is one, the pair of a word whose merge has the lowest id. A token is
   part of later merges only, so this equals applying all merges in the order they were learned.

   Learning keeps each distinct word once, as ids. Each pair has its count and a list of the words
   it came up in; a word that it has left since is noticed when the word is read. A count grows only
   in the step that makes one of its two tokens, so a heap entry is at worst too high: when it comes
   first, it is pushed again with its true count. A merge costs what changes in the words that hold
   its pair. Links are indices, because arrays move when they grow. */

/* Ids are at least 1, so a pair is at least 2^32 and no code point in the same map. */
static uint64_t syn__pair_key(int left, int right) {
  return (uint64_t)left << 32 | (uint32_t)right;
}

/* Adds the merge of two older tokens. Two merges may make equal texts: they stay two tokens, found
   by their pairs. The bytes are reserved first: they are copied within the array. */
static syn_status syn__merge_add(syn_tokenizer *t, int left, int right) {
  syn__array *bytes = &t->vocab.bytes;
  syn__merge merge = {left, right};
  int id = syn_tokenizer_size(t);
  if (left < SYN_FIRST_TOKEN || right < SYN_FIRST_TOKEN || left >= id || right >= id ||
      syn__token_find(t, syn__pair_key(left, right)))
    return syn__token_refuse(t, "a new pair of tokens before it");
  if (syn__grow(t->c, &bytes->items, &bytes->capacity,
                bytes->count + syn__token_text(t, left).size + syn__token_text(t, right).size, 1) ||
      syn__append(t->c, &t->merges, &merge, 1, sizeof merge) ||
      syn__texts_write(&t->vocab, syn__token_text(t, left)))
    return SYN_E_MEMORY;
  return syn__token_add(t, syn__token_text(t, right), syn__pair_key(left, right));
}

/* The merge of the neighbours s[0], s[1]; 0 for none. */
static int syn__merge_find(const syn_tokenizer *t, const int *s) {
  return syn__token_find(t, syn__pair_key(s[0], s[1]));
}

/* Merges the ids s[0..n) of one word, returns how many are left. merged[i] is the merge of s[i] and
   s[i+1]; the lowest goes first, of equal ones the left. An unknown id is in no pair. A merge
   changes two entries of merged[] alone, so the map is searched fewer than 3 n times. */
static int syn__merge_word(const syn_tokenizer *t, int *s, int n) {
  int merged[SYN__MAX_WORD], i, best, low;
  for (i = 0; i + 1 < n; i++) merged[i] = syn__merge_find(t, s + i);
  for (;;) {
    for (low = best = i = 0; i + 1 < n; i++)
      if (merged[i] && (!low || merged[i] < low)) low = merged[i], best = i;
    if (!low) return n; /* no pair of this word is a merge */
    s[best] = low; /* its right neighbour goes: */
    n--;
    for (i = best + 1; i < n; i++) s[i] = s[i + 1], merged[i - 1] = merged[i];
    if (best + 1 < n) merged[best] = syn__merge_find(t, s + best);
    if (best > 0) merged[best - 1] = syn__merge_find(t, s + best - 1);
  }
}

static void syn__bpe_encode(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  int s[SYN__MAX_WORD], n, i;
  while (syn__reader_more(&r)) {
    n = 0;
    do s[n++] = syn__char_id(t, syn__reader_next(&r)); /* the characters of one word */
    while (n < SYN__MAX_WORD && syn__reader_in_word(&r));
    n = syn__merge_word(t, s, n);
    for (i = 0; i < n; i++) syn__ids_add(out, s[i]);
  }
}

typedef struct syn__bpe_pair {
  syn__merge ids;
  int words; /* the last of its links + 1; 0: none */
  uint64_t count, queued; /* queued: its count when it was pushed, which orders it in the heap */
} syn__bpe_pair;
typedef struct syn__bpe_link {
  int word, next; /* next: the link before it + 1; 0: none */
} syn__bpe_link;
typedef struct syn__bpe {
  syn_tokenizer *t;
  syn__counter counter;                  /* of the words */
  syn__array ids;                        /* int, those of all words, a 0 before and behind each */
  syn__array begins;                     /* int, of each word: its first id */
  syn__array pairs, links;               /* syn__bpe_pair, syn__bpe_link */
  syn__map map;                          /* pair key -> pair + 1 */
  syn__heap heap;                        /* of pairs */
  int first_new;                         /* pairs from here on are new in this step */
} syn__bpe;

static void syn__bpe_free(syn__bpe *b) {
  syn__counter_free(&b->counter);
  syn__free(b->t->c, b->ids.items);
  syn__free(b->t->c, b->begins.items);
  syn__free(b->t->c, b->pairs.items);
  syn__free(b->t->c, b->links.items);
  syn__free(b->t->c, b->map.slots);
  syn__free(b->t->c, b->heap.keys.items);
}

static syn__bpe_pair *syn__bpe_pair_at(const syn__bpe *b, int i) {
  return (syn__bpe_pair *)b->pairs.items + i;
}

/* Order of pairs in the heap: the larger count first; of equal counts, which are frequent, left
   text, then right text, then ids. Without a rule two machines would learn two vocabularies. */
static int syn__bpe_order(const void *owner, int i, int j) {
  const syn__bpe *b = (const syn__bpe *)owner;
  const syn__bpe_pair *p = syn__bpe_pair_at(b, i), *q = syn__bpe_pair_at(b, j);
  syn__merge x = p->ids, y = q->ids;
  int order = p->queued != q->queued ? (p->queued > q->queued ? -1 : 1) : 0;
  if (!order)
    order = syn__text_compare(syn__token_text(b->t, x.left), syn__token_text(b->t, y.left));
  if (!order)
    order = syn__text_compare(syn__token_text(b->t, x.right), syn__token_text(b->t, y.right));
  if (!order) order = x.left != y.left ? x.left - y.left : x.right - y.right;
  return order;
}

/* The alphabet: space, then the most frequent characters, as many as SIZE allows; in order of code
   point. The space counts more than all others together, because every word begins with one. All
   other characters are SYN_UNKNOWN, and no merge is learned across them. */
static syn_status syn__bpe_alphabet(syn__bpe *b) {
  const syn__texts *words = &b->counter.texts;
  syn__counter all = SYN__COUNTER(b->t->c, 1);
  int *sorted = NULL;
  size_t i, most = (size_t)(b->t->size - SYN_FIRST_TOKEN);
  syn__reader space = syn__reader_of(syn__text_of(" ", 1));
  syn_status status = syn__count_words(&all, space, 1, UINT64_MAX / 2);
  for (i = 0; i < words->ends.count && !status; i++)
    status = syn__count_words(&all, syn__reader_of(syn__texts_at(words, i)), 1,
                              *syn__counter_count(&b->counter, (int)i));
  if (!status) sorted = syn__sorted(b->t->c, &all, all.texts.ends.count, syn__order_count);
  if (!sorted) status = SYN_E_MEMORY;
  for (i = most; i < all.texts.ends.count && !status; i++)
    *syn__counter_count(&all, sorted[i]) = 0; /* the rare ones are left out */
  if (!status) status = syn__add_counted(b->t, &all, syn__order_text);
  syn__free(b->t->c, sorted);
  syn__counter_free(&all);
  return status;
}

/* Adds `times` to the count of a pair in a word (modulo 2^64: 0 - n subtracts n). SYN_UNKNOWN and
   the 0 at an end of the word are in no pair. A new pair is made; the word is linked to a pair that
   is new in this step, once: words are read one after the other. */
static syn_status syn__bpe_count(syn__bpe *b, int word, int left, int right, uint64_t times) {
  uint64_t key = syn__pair_key(left, right);
  syn__bpe_pair *p, added = {{left, right}, 0, 0, 0};
  syn__bpe_link link;
  int found;
  if (left < SYN_FIRST_TOKEN || right < SYN_FIRST_TOKEN) return SYN_OK;
  found = syn__map_find(&b->map, key);
  if (!found) {
    if (syn__append(b->t->c, &b->pairs, &added, 1, sizeof added)) return SYN_E_MEMORY;
    found = (int)b->pairs.count;
    if (syn__map_add(b->t->c, &b->map, key, found)) return SYN_E_MEMORY;
  }
  p = syn__bpe_pair_at(b, found - 1);
  p->count += times;
  if (found <= b->first_new) return SYN_OK; /* its words were linked before */
  if (p->words && ((syn__bpe_link *)b->links.items)[p->words - 1].word == word) return SYN_OK;
  link.word = word, link.next = p->words;
  if (syn__append(b->t->c, &b->links, &link, 1, sizeof link)) return SYN_E_MEMORY;
  p->words = (int)b->links.count;
  return SYN_OK;
}

/* Pushes a pair that occurs twice: the merge of a pair that occurs once would only store a part of
   the training text. */
static syn_status syn__bpe_push(syn__bpe *b, int pair) {
  syn__bpe_pair *p = syn__bpe_pair_at(b, pair);
  p->queued = p->count;
  return p->count >= 2 ? syn__heap_push(b->t->c, &b->heap, (uint64_t)pair) : SYN_OK;
}

/* Replaces the pair by `id` in one word, from left to right. The word gets shorter in its place.
   When x left right y becomes x id y, three pairs go and two come. In a a a the pair a a is there
   twice: the first place subtracts both, as left right and as right y. */
static syn_status syn__bpe_merge_word(syn__bpe *b, int word, syn__merge pair, int id) {
  int *s = (int *)b->ids.items + ((const int *)b->begins.items)[word];
  uint64_t times = *syn__counter_count(&b->counter, word);
  int i, n = 0;
  for (i = 0; s[i]; i++) {
    int x = s[n - 1], y; /* s[-1] is 0 */
    if (s[i] != pair.left || s[i + 1] != pair.right) {
      s[n++] = s[i];
      continue;
    }
    y = s[i + 2];
    if (syn__bpe_count(b, word, pair.left, pair.right, 0 - times) ||
        syn__bpe_count(b, word, x, pair.left, 0 - times) ||
        syn__bpe_count(b, word, x, id, times) ||
        syn__bpe_count(b, word, pair.right, y, 0 - times) ||
        syn__bpe_count(b, word, id, y, times))
      return SYN_E_MEMORY;
    s[n++] = id; /* takes the place of two ids */
    i++;
  }
  s[n] = 0;
  return SYN_OK;
}

/* The distinct words as ids, and the counts of their pairs. */
static syn_status syn__bpe_words(syn__bpe *b) {
  int i, begin, left, id = 0;
  if (syn__append(b->t->c, &b->ids, &id, 1, sizeof id)) return SYN_E_MEMORY;
  for (i = 0; i < (int)b->counter.texts.ends.count; i++) {
    syn__reader r = syn__reader_of(syn__texts_at(&b->counter.texts, (size_t)i));
    begin = (int)b->ids.count;
    if (syn__append(b->t->c, &b->begins, &begin, 1, sizeof begin)) return SYN_E_MEMORY;
    do {
      left = id; /* 0 before the first */
      id = syn__reader_more(&r) ? syn__char_id(b->t, syn__reader_next(&r)) : 0;
      if (syn__append(b->t->c, &b->ids, &id, 1, sizeof id) ||
          syn__bpe_count(b, i, left, id, *syn__counter_count(&b->counter, i)))
        return SYN_E_MEMORY;
    } while (id);
  }
  return SYN_OK;
}

/* Merges until the vocabulary has SIZE tokens or no pair occurs twice. `p` is a copy, because the
   array of pairs may move. The links of its own pair do not grow meanwhile: it is not new. */
static syn_status syn__bpe_merge(syn__bpe *b) {
  syn_context *c = b->t->c;
  uint64_t first;
  int id, next;
  while ((id = syn_tokenizer_size(b->t)) < b->t->size) {
    syn__bpe_pair p;
    for (; b->first_new < (int)b->pairs.count; b->first_new++)
      if (syn__bpe_push(b, b->first_new)) return SYN_E_MEMORY;
    if (!syn__heap_pop(&b->heap, &first)) break;
    p = *syn__bpe_pair_at(b, (int)first);
    if (p.count != p.queued) { /* it fell since it was pushed */
      if (syn__bpe_push(b, (int)first)) return SYN_E_MEMORY;
      continue;
    }
    if (syn__merge_add(b->t, p.ids.left, p.ids.right)) return c->status; /* its id is `id` */
    for (next = p.words; next;) {
      syn__bpe_link link = ((const syn__bpe_link *)b->links.items)[next - 1];
      if (syn__bpe_merge_word(b, link.word, p.ids, id)) return SYN_E_MEMORY;
      next = link.next;
    }
  }
  return SYN_OK;
}

static syn_status syn__bpe_learn(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn__bpe b;
  syn_status status;
  memset(&b, 0, sizeof b);
  b.t = t;
  b.counter.texts.c = t->c;
  b.heap.owner = &b;
  b.heap.order = syn__bpe_order;
  status = syn__count_lines(&b.counter, t, lines, count); /* distinct words */
  if (!status) status = syn__bpe_alphabet(&b); /* their characters become tokens */
  if (!status) status = syn__bpe_words(&b); /* the words as ids, their pairs */
  if (!status) status = syn__bpe_merge(&b); /* the merges become tokens */
  syn__bpe_free(&b);
  return status;
}

static const syn__tokenizer_kind syn__tokenizer_bpe = {
    "bpe", SYN__REPLACEMENT, 1, 1, SYN__MAX_WORD, 0, syn__char_add, syn__bpe_learn,
    syn__bpe_encode};

/* ==============================================================================================
   >>tokenizer line   a token for each whole line
   ============================================================================================== */

/* The functions of the tokenizer for words, without splitting. */
static const syn__tokenizer_kind syn__tokenizer_line = {
    "line", SYN__REPLACEMENT, 0, 0, SIZE_MAX, 0, syn__word_add, syn__words_learn, syn__word_encode};

/* ==============================================================================================
   >>tokenizers   the one list of tokenizers; the public functions
   ============================================================================================== */

/* To add one: a section `>>tokenizer NAME` above, with a syn__tokenizer_kind at its end; a line at
   the end of this list, whose places are in saved tokenizers; a row of the table in >>tokenizer; a
   line of the comment of syn_tokenizer_learn in >>api. Outside: SPECS in tests/test_text.c, the
   option --tokenizer in tools/syn.c. */
static const syn__tokenizer_kind *const syn__tokenizer_kinds[] = {
    &syn__tokenizer_byte, /* 0 in a saved file */
    &syn__tokenizer_char, /* 1 */
    &syn__tokenizer_space, /* 2 */
    &syn__tokenizer_bpe, /* 3 */
    &syn__tokenizer_line, /* 4 */
};

/* 1: a tokenizer of this kind may have this SIZE. */
static int syn__tokenizer_sized(const syn__tokenizer_kind *kind, uint32_t size) {
  return kind->sized ? size > SYN_FIRST_TOKEN && size <= SYN__MAX_VOCAB : size == 0;
}

/* The kind that a spec names, and its SIZE; null (recorded) when it names none. Reading stops at
   the first number above the limit, so it cannot overflow. */
static const syn__tokenizer_kind *syn__tokenizer_spec(syn_context *c, const char *spec,
                                                      uint32_t *size) {
  char names[200] = "";
  size_t i, n, used = 0;
  for (i = 0; i < SYN__COUNT(syn__tokenizer_kinds); i++) {
    const syn__tokenizer_kind *kind = syn__tokenizer_kinds[i];
    n = strlen(kind->name);
    *size = 0;
    if (used < sizeof names)
      used += (size_t)syn__snprintf(names + used, sizeof names - used, "%s%s, ", kind->name,
                               kind->sized ? ":SIZE" : "");
    if (!spec || strncmp(spec, kind->name, n) != 0 || spec[n] != (kind->sized ? ':' : 0)) continue;
    while (kind->sized && spec[++n] >= '0' && spec[n] <= '9' && *size <= SYN__MAX_VOCAB)
      *size = *size * 10 + (uint32_t)(spec[n] - '0');
    if (spec[n] == 0 && syn__tokenizer_sized(kind, *size)) return kind; /* nothing follows it */
  }
  syn__fail(c, SYN_E_VALUE, "tokenizer: \"%.40s\" given, wanted one of %sSIZE from %d to %d",
            spec ? spec : "", names, SYN_FIRST_TOKEN + 1, SYN__MAX_VOCAB);
  return NULL;
}

/* An empty tokenizer. The spec is printed again, so that "bpe:010" is "bpe:10" and equal tokenizers
   have equal types. */
static syn_tokenizer *syn__tokenizer_new(syn_context *c, const syn__tokenizer_kind *kind, int flags,
                                         uint32_t size) {
  syn_tokenizer *t = (syn_tokenizer *)syn__alloc(c, 1, sizeof *t);
  if (!t) return NULL;
  t->c = t->vocab.c = c;
  t->kind = kind;
  t->flags = flags;
  t->size = (int)size;
  syn__snprintf(t->type, sizeof t->type, kind->sized ? "%s:%d" : "%s", kind->name, t->size);
  return t;
}

/* t with its sentinels behind the other tokens, or null and freed when `status` or a step is an
   error. Sentinels are in no map, so no text is encoded to them; they are not saved, because the
   flag tells all. */
static syn_tokenizer *syn__tokenizer_finish(syn_tokenizer *t, syn_status status) {
  char text[16];
  int i, n = t->flags & SYN_SENTINELS ? SYN__SENTINELS : 0;
  t->n_learned = t->vocab.ends.count; /* the sentinels come behind */
  if (!status && syn_tokenizer_size(t) + n > SYN__MAX_VOCAB)
    status = syn__token_refuse(t, "among 2^24 with its sentinels");
  for (i = 0; i < n && !status; i++) {
    syn__snprintf(text, sizeof text, "%s<%d>", t->kind->split ? " " : "", i);
    if (syn__texts_write(&t->vocab, syn__text_of(text, strlen(text))) ||
        syn__append(t->c, &t->vocab.ends, &t->vocab.bytes.count, 1, sizeof(size_t)))
      status = SYN_E_MEMORY;
  }
  if (!status) return t;
  syn_tokenizer_free(t);
  return NULL;
}

syn_tokenizer *syn_tokenizer_learn(syn_context *c, const char *spec, int flags,
                                   const syn_text *lines, size_t count) {
  uint32_t size = 0;
  const syn__tokenizer_kind *kind;
  syn_tokenizer *t;
  if (count && !syn__given(c, lines, "array of lines")) return NULL;
  kind = syn__tokenizer_spec(c, spec, &size);
  if (kind && flags & ~(SYN_LOWERCASE | SYN_SENTINELS)) {
    syn__fail(c, SYN_E_VALUE, "tokenizer: flags %d given; 0, SYN_LOWERCASE (%d), SYN_SENTINELS "
              "(%d) or both wanted", flags, SYN_LOWERCASE, SYN_SENTINELS);
    return NULL;
  }
  t = kind ? syn__tokenizer_new(c, kind, flags, size) : NULL;
  return t ? syn__tokenizer_finish(t, kind->learn(t, lines, count)) : NULL;
}

void syn_tokenizer_free(syn_tokenizer *t) {
  if (!t) return;
  syn__texts_free(&t->vocab);
  syn__free(t->c, t->merges.items);
  syn__free(t->c, t);
}

int syn_tokenizer_size(const syn_tokenizer *t) {
  return t ? SYN_FIRST_TOKEN + (int)t->vocab.ends.count : 0;
}
int syn_tokenizer_flags(const syn_tokenizer *t) { return t ? t->flags : 0; }
int syn_tokenizer_sentinels(const syn_tokenizer *t, int *first) {
  *first = t ? SYN_FIRST_TOKEN + (int)t->n_learned : 0;
  return syn_tokenizer_size(t) - *first;
}
const char *syn_tokenizer_type(const syn_tokenizer *t) { return t ? t->type : ""; }

int syn_tokenizer_encode(const syn_tokenizer *t, syn_text text, int *ids, int capacity) {
  syn__ids out = {ids, capacity, 0};
  if (!t) return 0;
  t->kind->encode(t, syn__reader_given(t, text), &out);
  return out.count;
}

syn_text syn_tokenizer_piece(const syn_tokenizer *t, int id, int first) {
  const char *unknown = t ? t->kind->unknown : "";
  syn_text text = syn__text_of(unknown, strlen(unknown));
  if (!t) return text;
  if (id == SYN_PAD || id == SYN_BEGIN || id == SYN_END) text.size = 0;
  if (id >= SYN_FIRST_TOKEN && id < syn_tokenizer_size(t)) text = syn__token_text(t, id);
  if (first && t->kind->split && text.size && text.at[0] == ' ') text.at++, text.size--;
  return text;
}

/* `size` counts all; `kept` stops at the first token that does not fit, so that no shorter one
   after it leaves a hole in the text. */
size_t syn_tokenizer_decode(const syn_tokenizer *t, const int *ids, int count, char *out,
                            size_t capacity) {
  size_t size = 0, kept = 0;
  int i, first = 1;
  for (i = 0; i < count && ids[i] != SYN_END; i++) {
    syn_text text = syn_tokenizer_piece(t, ids[i], first);
    if (ids[i] == SYN_PAD || ids[i] == SYN_BEGIN) continue; /* the next is still the first */
    first = 0;
    if (kept == size && text.size < capacity - kept) { /* the final 0 fits, too */
      if (text.size) memcpy(out + kept, text.at, text.size);
      kept += text.size;
    }
    size += text.size;
  }
  if (capacity > 0) out[kept] = 0;
  return size;
}

/* The saved form, all numbers u32, little-endian:
      0  "syntok1" and its final 0
      8  kind (its place in the list above), flags, SIZE (0 but for bpe), P tokens, M merges
     28  the bytes of each token [P]
         left, right of each merge [M,2]: merge m is token 4 + P - M + m
         the texts of all tokens, one after the other
   byte stores no tokens. The texts of merges are stored, though they follow from the pairs: so a
   reader needs no more memory than the file has, and other programs see the vocabulary. */
#define SYN__TOKENIZER_MAGIC "syntok1"
#define SYN__TOKENIZER_HEADER 28
static void syn__put32(unsigned char *out, size_t x) { syn__put_bytes(out, x, 4); }
static uint32_t syn__get32(const unsigned char *in) { return (uint32_t)syn__get_bytes(in, 4); }

/* All or nothing is written. */
size_t syn_tokenizer_save(const syn_tokenizer *t, void *out, size_t capacity) {
  unsigned char *at = (unsigned char *)out;
  const syn__merge *merges = t ? (const syn__merge *)t->merges.items : NULL;
  size_t n_tokens = t && t->kind->add ? t->n_learned : 0, n_merges = t ? t->merges.count : 0, i;
  size_t bytes = n_tokens ? syn__texts_begin(&t->vocab, n_tokens) : 0;
  size_t need = SYN__TOKENIZER_HEADER + 4 * n_tokens + 8 * n_merges + bytes;
  if (!t) return 0;
  if (need > capacity) return need;
  memcpy(at, SYN__TOKENIZER_MAGIC, 8); /* with its final 0 */
  for (i = 0; syn__tokenizer_kinds[i] != t->kind;) i++; /* the place in the list */
  syn__put32(at + 8, i);
  syn__put32(at + 12, (size_t)t->flags);
  syn__put32(at + 16, (size_t)t->size);
  syn__put32(at + 20, n_tokens);
  syn__put32(at + 24, n_merges);
  at += SYN__TOKENIZER_HEADER;
  for (i = 0; i < n_tokens; i++, at += 4) syn__put32(at, syn__texts_at(&t->vocab, i).size);
  for (i = 0; i < n_merges; i++, at += 8) {
    syn__put32(at, (size_t)merges[i].left);
    syn__put32(at + 4, (size_t)merges[i].right);
  }
  if (bytes) memcpy(at, t->vocab.bytes.items, bytes); /* the texts of all tokens */
  return need;
}

/* An empty tokenizer from the header of a saved one; null (recorded) when `size` bytes cannot hold
   one. Below the limit on tokens, 4 * tokens + 8 * merges fits in 32 bits. */
static syn_tokenizer *syn__tokenizer_load_header(syn_context *c, const unsigned char *in,
                                                 size_t size) {
  uint32_t field[5] = {UINT32_MAX, 0, 0, 0, 0}; /* kind, flags, SIZE, tokens, merges */
  const syn__tokenizer_kind *kind = NULL;
  int i, fits = 0;
  if (in && size >= SYN__TOKENIZER_HEADER && memcmp(in, SYN__TOKENIZER_MAGIC, 8) == 0)
    for (i = 0; i < 5; i++) field[i] = syn__get32(in + 8 + 4 * i);
  if (field[0] < SYN__COUNT(syn__tokenizer_kinds)) {
    kind = syn__tokenizer_kinds[field[0]]; /* each of the other fields must fit to it */
    fits = !(field[1] & ~(uint32_t)(SYN_LOWERCASE | SYN_SENTINELS)) &&
           syn__tokenizer_sized(kind, field[2]) && field[3] <= (uint32_t)SYN__MAX_VOCAB &&
           field[4] <= field[3] && 4 * field[3] + 8 * field[4] <= size - SYN__TOKENIZER_HEADER &&
           (kind->sized ? SYN_FIRST_TOKEN + field[3] <= field[2] : field[4] == 0) &&
           (kind->add || field[3] == 0);
  }
  if (fits) return syn__tokenizer_new(c, kind, (int)field[1], field[2]);
  syn__fail(c, SYN_E_FORMAT, "tokenizer: the %lu bytes given do not begin one (kind %lu, "
            "flags %lu, size %lu, %lu tokens, %lu merges)", (unsigned long)size,
            (unsigned long)field[0], (unsigned long)field[1], (unsigned long)field[2],
            (unsigned long)field[3], (unsigned long)field[4]);
  return NULL;
}

/* Adds tokens and merges with the checks of learning. A merge is compared with its text in the file
   as soon as it is made: merges that double in length are stopped at the first. */
static syn_status syn__tokenizer_load_tokens(syn_tokenizer *t, const unsigned char *in,
                                             size_t size) {
  size_t n_tokens = syn__get32(in + 20), n_merges = syn__get32(in + 24), i;
  const unsigned char *sizes = in + SYN__TOKENIZER_HEADER, *merge = sizes + 4 * n_tokens;
  size_t at = SYN__TOKENIZER_HEADER + 4 * n_tokens + 8 * n_merges;
  syn_status status = SYN_OK;
  for (i = 0; i < n_tokens && !status; i++) {
    syn_text token = syn__text_of((const char *)in + at, syn__get32(sizes + 4 * i));
    if (token.size > size - at) return syn__token_refuse(t, "inside the bytes given");
    at += token.size;
    if (i < n_tokens - n_merges) { /* a token of the kind; merges follow */
      status = t->kind->add(t, token);
      continue;
    }
    status = syn__merge_add(t, (int)syn__get32(merge), (int)syn__get32(merge + 4));
    merge += 8;
    if (!status && syn__text_compare(syn__texts_at(&t->vocab, i), token) != 0)
      status = syn__token_refuse(t, "preceded by the tokens it is made of");
  }
  if (!status && at != size)
    status = syn__fail(t->c, SYN_E_FORMAT, "tokenizer %s: %lu bytes given, %lu wanted", t->type,
                       (unsigned long)size, (unsigned long)at);
  return status;
}

syn_tokenizer *syn_tokenizer_load(syn_context *c, const void *bytes, size_t size) {
  const unsigned char *in = (const unsigned char *)bytes;
  syn_tokenizer *t = syn__tokenizer_load_header(c, in, size);
  syn_status status = SYN_OK;
  if (!t) return NULL;
  if (!t->kind->add) status = t->kind->learn(t, NULL, 0); /* no token is stored */
  if (!status) status = syn__tokenizer_load_tokens(t, in, size);
  return syn__tokenizer_finish(t, status);
}

/* ==============================================================================================
   >>small text   the tokenizers of a small model
   ============================================================================================== */

#endif /* !SYN_SMALL */

/* A tokenizer in the array of a small model. Its words are: the numbers below up to `merges`; ends
   [count + 1] of the tokens' bytes; order [by_bytes] 16-bit; pairs [merges,2] 16-bit; pair_order
   [merges] 16-bit; the bytes of all tokens. Each list begins at a whole word. Tokens are found by
   binary search in `order`, merges in `pair_order`. */
enum { SYN__TEXT_BYTE, SYN__TEXT_CHAR, SYN__TEXT_SPACE, SYN__TEXT_BPE, SYN__TEXT_LINE };
enum { SYN__TEXT_HEADER = 5 };
typedef struct syn__small_tokenizer {
  int32_t kind;     /* as in syn__tokenizer_kinds */
  int32_t lower;    /* 1: texts are read in lower case */
  int32_t count;    /* tokens from SYN_FIRST_TOKEN on */
  int32_t by_bytes; /* tokens that are found by their bytes, the first ones; byte: 0 */
  int32_t merges;   /* the next ones, merges of bpe; then come sentinels */
  const uint32_t *ends;
  const uint16_t *order, *pairs, *pair_order;
  const char *bytes;
} syn__small_tokenizer;

/* The tokenizer of a side, checked; 0: there is none. Checked each time: a program that uses no
   texts needs no check, and it takes less time than a token. */
static int syn__small_tokenizer_of(const syn_small *s, int side, syn__small_tokenizer *t) {
  int64_t place = s->w[SYN__SMALL_TOKENIZERS + side], words = s->w[SYN__SMALL_BYTES] / 4;
  const int32_t *w = s->w + place;
  int32_t i;
  if (place < SYN__SMALL_HEADER || place + SYN__TEXT_HEADER > words) return 0;
  t->kind = w[0];
  t->lower = w[1];
  t->count = w[2];
  t->by_bytes = w[3];
  t->merges = w[4];
  place += SYN__TEXT_HEADER;
  if (t->count < 0 || t->by_bytes < 0 || t->merges < 0 || t->count > 65535 ||
      t->by_bytes > t->count || t->merges > t->count - t->by_bytes)
    return 0;
  t->ends = (const uint32_t *)(const void *)(s->w + place);
  place += t->count + 1;
  t->order = (const uint16_t *)(const void *)(s->w + place);
  place += (t->by_bytes + 1) / 2;
  t->pairs = (const uint16_t *)(const void *)(s->w + place);
  place += t->merges;
  t->pair_order = (const uint16_t *)(const void *)(s->w + place);
  place += (t->merges + 1) / 2;
  t->bytes = (const char *)(s->w + place);
  if (place > words || t->ends[t->count] > (uint64_t)(words - place) * 4) return 0;
  for (i = 0; i < t->count; i++)
    if (t->ends[i] > t->ends[i + 1]) return 0;
  for (i = 0; i < t->by_bytes; i++)
    if (t->order[i] >= t->count) return 0;
  for (i = 0; i < t->merges; i++)
    if (t->pair_order[i] >= t->merges) return 0;
  return 1;
}
static syn_text syn__small_token_text(const syn__small_tokenizer *t, int32_t i) {
  syn_text text = {t->bytes + t->ends[i], t->ends[i + 1] - t->ends[i]};
  return text;
}

/* < 0, 0, > 0: the word of at most `most` characters at r beside a token. *r moves behind the word
   or to the first difference. */
static int syn__small_compare(syn__reader *r, int32_t most, syn_text token) {
  char bytes[4];
  size_t at = 0, n, i;
  do {
    n = syn__utf8_encode(syn__reader_next(r), bytes);
    for (i = 0; i < n; i++, at++) {
      if (at == token.size) return 1;
      if (bytes[i] != token.at[at])
        return (unsigned char)bytes[i] < (unsigned char)token.at[at] ? -1 : 1;
    }
  } while (--most && syn__reader_in_word(r));
  return at < token.size ? -1 : 0;
}
/* The id of the word at r. */
static int syn__small_find(const syn__small_tokenizer *t, syn__reader r, int32_t most) {
  int32_t low = 0, high = t->by_bytes;
  while (low < high) {
    int32_t middle = (low + high) / 2, i = t->order[middle];
    syn__reader word = r;
    int order = syn__small_compare(&word, most, syn__small_token_text(t, i));
    if (!order) return SYN_FIRST_TOKEN + i;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return SYN_UNKNOWN;
}
/* The id of the merge of two neighbours, 0: none. */
static int syn__small_pair(const syn__small_tokenizer *t, const int *s) {
  int32_t low = 0, high = t->merges;
  while (low < high) {
    int32_t middle = (low + high) / 2, i = t->pair_order[middle];
    int order = s[0] != t->pairs[2 * i] ? s[0] - t->pairs[2 * i] : s[1] - t->pairs[2 * i + 1];
    if (!order) return SYN_FIRST_TOKEN + t->by_bytes + i;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return 0;
}
/* Merges the characters s [n] of a word, again and again the pair of the lowest id wherever it
   stands; returns how many ids are left. */
static int syn__small_merge(const syn__small_tokenizer *t, int *s, int n) {
  for (;;) {
    int low = 0, i, k;
    for (i = 0; i + 1 < n; i++) {
      int id = syn__small_pair(t, s + i);
      if (id && (!low || id < low)) low = id;
    }
    if (!low) return n;
    for (i = k = 0; i < n; i++) {
      int found = i + 1 < n && syn__small_pair(t, s + i) == low;
      s[k++] = found ? low : s[i];
      i += found;
    }
    n = k;
  }
}
/* The ids of the word at *r, which moves on; -1: more than `room`. */
static int syn__small_word(const syn__small_tokenizer *t, syn__reader *r, int *ids, int room) {
  int one = t->kind == SYN__TEXT_CHAR || t->kind == SYN__TEXT_BPE, n = 0, i;
  if (t->kind == SYN__TEXT_BYTE) {
    char bytes[4];
    n = (int)syn__utf8_encode(syn__reader_next(r), bytes);
    for (i = 0; i < n && n <= room; i++) ids[i] = SYN_FIRST_TOKEN + (unsigned char)bytes[i];
    return n <= room ? n : -1;
  }
  do {
    if (n == room) return -1;
    ids[n++] = syn__small_find(t, *r, one ? 1 : 0);
    do syn__reader_next(r);
    while (!one && syn__reader_in_word(r));
  } while (t->kind == SYN__TEXT_BPE && n < SYN__MAX_WORD && syn__reader_in_word(r));
  return t->kind == SYN__TEXT_BPE ? syn__small_merge(t, ids, n) : n;
}

int syn_small_encode(syn_small *s, syn_text text, int *tokens, int capacity) {
  syn__small_tokenizer t;
  syn__reader r;
  int lm, end, n = 0, more;
  if (!s || (!text.at && text.size) || (!tokens && capacity)) return SYN_SMALL_E_VALUE;
  lm = s->w[SYN__SMALL_TASK] == SYN__SMALL_LM;
  end = s->w[SYN__SMALL_TASK] == SYN__SMALL_SEQ2SEQ || s->w[SYN__SMALL_TASK] == SYN__SMALL_CLASSIFY;
  if (!syn__small_tokenizer_of(s, lm, &t)) return SYN_SMALL_E_MODEL;
  memset(&r, 0, sizeof r);
  r.text = text;
  r.lower = t.lower;
  r.split = t.kind == SYN__TEXT_SPACE || t.kind == SYN__TEXT_BPE;
  if (text.size >= 3 && text.at[0] == '\xEF' && text.at[1] == '\xBB' && text.at[2] == '\xBF')
    r.at = 3; /* a byte order mark */
  r.space = r.split && text.size > r.at;
  while (syn__reader_more(&r)) {
    more = syn__small_word(&t, &r, tokens + n, capacity - n - end);
    if (more < 0) return SYN_SMALL_E_VALUE;
    n += more;
  }
  if (end && n >= capacity) return SYN_SMALL_E_VALUE;
  if (end) tokens[n++] = SYN_END;
  return n;
}

static syn_text syn__small_piece(const syn__small_tokenizer *t, int token, int first) {
  int split = t->kind == SYN__TEXT_SPACE || t->kind == SYN__TEXT_BPE;
  syn_text text = {" " SYN__REPLACEMENT, 4};
  if (t->kind != SYN__TEXT_SPACE) text.at++, text.size--;
  if (token == SYN_PAD || token == SYN_BEGIN || token == SYN_END) text.size = 0;
  else if (token >= SYN_FIRST_TOKEN && token - SYN_FIRST_TOKEN < t->count)
    text = syn__small_token_text(t, token - SYN_FIRST_TOKEN);
  if (first && split && text.size && text.at[0] == ' ') text.at++, text.size--;
  return text;
}
/* The token of an output: class k is the k-th token, tag k the one before, since tag 0 means
   padding. What is outside every vocabulary becomes SYN_PAD. */
static int syn__small_token(const syn_small *s, int output) {
  int32_t task = s->w[SYN__SMALL_TASK];
  if (output < 0 || output > 65535) return SYN_PAD;
  return output + (task <= SYN__SMALL_LM ? 0
                   : task == SYN__SMALL_CLASSIFY ? SYN_FIRST_TOKEN : SYN_FIRST_TOKEN - 1);
}

syn_text syn_small_piece(syn_small *s, int token, int first) {
  syn_text none = {NULL, 0};
  syn__small_tokenizer t;
  if (!s || !syn__small_tokenizer_of(s, 1, &t)) return none;
  return syn__small_piece(&t, syn__small_token(s, token), first);
}

long syn_small_decode(syn_small *s, const int *tokens, int count, char *out, size_t capacity) {
  syn__small_tokenizer t;
  size_t size = 0, kept = 0;
  int i, first = 1;
  if (!s || count < 0 || (!tokens && count) || (!out && capacity)) return SYN_SMALL_E_VALUE;
  if (!syn__small_tokenizer_of(s, 1, &t)) return SYN_SMALL_E_MODEL;
  for (i = 0; i < count; i++) {
    int token = syn__small_token(s, tokens[i]);
    syn_text text = syn__small_piece(&t, token, first);
    if (token == SYN_END) break;
    if (token != SYN_PAD && token != SYN_BEGIN) first = 0;
    if (kept == size && text.size < capacity - kept) { /* the final 0 fits, too */
      memcpy(out + kept, text.at, text.size);
      kept += text.size;
    }
    size += text.size;
  }
  if (capacity) out[kept] = 0;
  return (long)size;
}

#ifndef SYN_SMALL
/* ==============================================================================================
   >>dtypes   element types of tensors in files: names, sizes, byte order, half precision
   ============================================================================================== */

/* One line of SYN_DTYPE_LIST; the last row stands for every number that is no dtype. */
typedef struct syn__dtype_info {
  const char *name;
  size_t bits; /* of one element, 4 and 6 bits included */
  size_t unit; /* bytes of the number that is swapped on a big-endian machine */
} syn__dtype_info;

static const syn__dtype_info *syn__dtype_at(syn_dtype dtype) {
#define SYN__DTYPE(id, name, bits, unit) {name, bits, unit},
  static const syn__dtype_info rows[] = {SYN_DTYPE_LIST(SYN__DTYPE){"?", 0, 1}};
#undef SYN__DTYPE
  return &rows[(int)dtype >= 0 && dtype < SYN_DTYPE_COUNT ? dtype : SYN_DTYPE_COUNT];
}

const char *syn_dtype_name(syn_dtype dtype) { return syn__dtype_at(dtype)->name; }

/* Bytes that shape and dtype require; SIZE_MAX when they do not fit, end inside a byte (F4, F6), or
   when rank, dtype or a dimension is invalid: SIZE_MAX is how the reader marks a number that is too
   large. Eight elements at a time, so that no count of bits overflows. */
static size_t syn__entry_bytes(const syn_entry *e) {
  size_t bits = syn__dtype_at(e->dtype)->bits, n = 1, rest;
  int i;
  if (bits == 0 || e->rank < 0 || e->rank > SYN_FILE_RANK) return SIZE_MAX;
  for (i = 0; i < e->rank; i++) {
    if (e->shape[i] == SIZE_MAX) return SIZE_MAX;
    n = syn__mul_size(n, e->shape[i]);
  }
  rest = n % 8 * bits; /* bits of the last elements; 8 of them fill `bits` bytes */
  if (n == SIZE_MAX || rest % 8 != 0) return SIZE_MAX;
  return syn__add_size(syn__mul_size(n / 8, bits), rest / 8);
}

/* Files are little-endian, entries have the byte order of the machine. Tested at run time, so that
   every machine compiles the same text; a compiler folds it to a constant. */
static int syn__big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

/* Swaps the bytes of every number of `unit` bytes, in place. */
static void syn__swap(unsigned char *at, size_t bytes, size_t unit) {
  size_t i, k;
  for (i = 0; i + unit <= bytes; i += unit)
    for (k = 0; k < unit / 2; k++) {
      unsigned char byte = at[i + k];
      at[i + k] = at[i + unit - 1 - k];
      at[i + unit - 1 - k] = byte;
    }
}

/* Bits of the float with the value of a half: 1 sign, 5 exponent (bias 15), 10 mantissa. */
static uint32_t syn__from_f16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, e = (half >> 10) & 31u, m = half & 0x3FFu;
  float subnormal = (float)m / 16777216.0f; /* e = 0: m 2^-24, which a float can normalize */
  if (e == 31) return sign | 0x7F800000u | m << 13; /* infinite, or not a number */
  if (e > 0) return sign | (e + 112u) << 23 | m << 13; /* 112 = 127 - 15, the two biases */
  memcpy(&m, &subnormal, 4);
  return sign | m;
}

/* Bytes of one number of a dtype that syn_entry_floats converts; 0: another dtype. */
static size_t syn__float_width(syn_dtype dtype) {
  return dtype == SYN_F32 ? 4 : dtype == SYN_F16 || dtype == SYN_BF16 ? 2 : 0;
}

/* The bits of element i as a float, exact: BF16 is the upper half of a float, F16 is rebuilt from
   its bits. memcpy, because data may be unaligned. */
static uint32_t syn__entry_float_bits(const syn_entry *e, size_t i) {
  size_t width = syn__float_width(e->dtype);
  const unsigned char *at = (const unsigned char *)e->data + i * width;
  uint32_t bits;
  uint16_t half;
  memcpy(&half, at, 2);
  bits = e->dtype == SYN_F16 ? syn__from_f16(half) : (uint32_t)half << 16;
  if (width == 4) memcpy(&bits, at, 4);
  return bits;
}

/* Refuses an entry that cannot be converted to `count` floats. The caller may have made it: only
   its bytes are trusted. */
static syn_status syn__floats_check(syn_context *c, const syn_entry *e, size_t count) {
  size_t width = e ? syn__float_width(e->dtype) : 0;
  char shown[SYN__SHORT];
  if (!syn__given(c, e, "entry")) return SYN_E_VALUE;
  if (width && e->bytes == syn__mul_size(count, width) && (e->data || !count)) return SYN_OK;
  syn__shorten(shown, e->name ? e->name : "");
  if (!width)
    return syn__fail(c, SYN_E_FORMAT, "tensor \"%s\" is %s, wanted F32, F16 or BF16", shown,
                     syn_dtype_name(e->dtype));
  return syn__fail(c, SYN_E_SHAPE, "tensor \"%s\" has %lu bytes of %s, wanted %lu elements", shown,
                   (unsigned long)e->bytes, syn_dtype_name(e->dtype), (unsigned long)count);
}

/* Copies bits, because a float in an x87 register loses its signalling NaN. */
syn_status syn_entry_floats(syn_context *c, const syn_entry *e, float *out, size_t count) {
  syn_status status = syn__floats_check(c, e, count);
  size_t i;
  for (i = 0; i < count; i++) {
    uint32_t bits = status ? 0 : syn__entry_float_bits(e, i); /* defined after an error, too */
    memcpy(out + i, &bits, 4);
  }
  return status;
}

/* ==============================================================================================
   >>json   a strict parser for the header of a safetensors file
   ============================================================================================== */

/* The first error ends parsing: `at` becomes `end`, every later function does nothing and every
   loop stops, so only the last function checks `ok`. Decoded strings are written to `text`; a
   string that nobody keeps is released by setting `text` back. */
typedef struct syn__json {
  syn_context *c;
  const char *where;                     /* the path, or "memory" */
  const char *tensor;                    /* the one that is parsed, or null */
  const unsigned char *start, *at, *end; /* of the JSON text */
  char *text;       /* where the next character is decoded to; as large as the JSON text */
  int ok;           /* 0: an error was recorded */
  syn_file *file;   /* gets the tensors and metadata */
  size_t data_size; /* bytes of the data, which begin at `end` */
} syn__json;

/* Ends parsing with a message: path, tensor, what is wrong, where in the header. The place is the
   byte at which parsing stopped, which may be just behind what is wrong. */
static void syn__json_fail(syn__json *j, const char *format, ...) SYN__PRINTF(2, 3);
static void syn__json_fail(syn__json *j, const char *format, ...) {
  char text[160], shown[SYN__SHORT];
  unsigned long byte = (unsigned long)(j->at - j->start);
  va_list args;
  if (!j->ok) return;
  j->ok = 0;
  j->at = j->end; /* all loops stop */
  va_start(args, format);
  syn__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  syn__shorten(shown, j->tensor ? j->tensor : "");
  syn__fail(j->c, SYN_E_FORMAT, "%s: %s%s%s%s (byte %lu of the header)", j->where,
            j->tensor ? "tensor \"" : "", shown, j->tensor ? "\": " : "", text, byte);
}

/* Skips white space; the next byte, or -1 at the end. */
static int syn__json_peek(syn__json *j) {
  for (; j->at < j->end; j->at++)
    if (*j->at != ' ' && *j->at != '\t' && *j->at != '\n' && *j->at != '\r') return *j->at;
  return -1;
}

static void syn__json_expected(syn__json *j, const char *what) {
  int found = syn__json_peek(j);
  if (found < 0) syn__json_fail(j, "expected %s, found the end", what);
  else if (found > 32 && found < 127) syn__json_fail(j, "expected %s, found '%c'", what, found);
  else syn__json_fail(j, "expected %s, found byte 0x%02X", what, (unsigned)found);
}

/* Skips `byte` if it is the next one behind white space. */
static int syn__json_accept(syn__json *j, int byte) {
  if (syn__json_peek(j) != byte) return 0;
  j->at++;
  return 1;
}

/* Goes to the next element of an array, "[]", or an object, "{}"; *n counts the elements and is 0
   before the first. Returns 0 at the end and after an error, so every list is parsed by
     while (syn__json_more(j, "[]", &n)) element;
   A comma with nothing behind it fails in the element: ']' begins no value, '}' no string. */
static int syn__json_more(syn__json *j, const char *brackets, size_t *n) {
  int object = *brackets == '{';
  if (*n == 0 && !syn__json_accept(j, *brackets)) syn__json_expected(j, object ? "'{'" : "'['");
  if (!j->ok || syn__json_accept(j, brackets[1])) return 0;
  if (*n > 0 && !syn__json_accept(j, ','))
    syn__json_expected(j, object ? "',' or '}'" : "',' or ']'");
  ++*n;
  return j->ok;
}

/* Skips \uXXXX and returns its code; UINT32_MAX, without a move, when something else stands
   there. */
static uint32_t syn__json_hex(syn__json *j) {
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  uint32_t code = 0;
  int i;
  if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u') return UINT32_MAX;
  for (i = 2; i < 6; i++) {
    const char *digit = j->at[i] ? strchr(digits, j->at[i]) : NULL;
    if (!digit) return UINT32_MAX;
    code = code << 4 | (uint32_t)((digit - digits) & 15);
  }
  j->at += 6;
  return code;
}

/* \uXXXX, or two for what is above U+FFFF: 0x10000 + (high - 0xD800) 1024 + (low - 0xDC00). A zero
   is refused: it would end a C string early. */
static void syn__json_unicode(syn__json *j) {
  uint32_t code = syn__json_hex(j), low;
  if (code == UINT32_MAX) syn__json_fail(j, "\\u without four hexadecimal digits");
  else if (code == 0) syn__json_fail(j, "\\u0000 in a string");
  else if (code >= 0xD800 && code < 0xE000) {
    low = syn__json_hex(j);
    if (code >= 0xDC00 || low < 0xDC00 || low >= 0xE000)
      syn__json_fail(j, "half a surrogate pair: \\u%04X", (unsigned)code);
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (j->ok) j->text += syn__utf8_encode(code, j->text);
}

/* Decodes one escape of a string, or copies one byte. `letter` is 0 at the end of the text; strchr
   would find the 0 that ends the list. */
static void syn__json_character(syn__json *j) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const unsigned letter = j->end - j->at < 2 ? 0 : j->at[1];
  const char *found = letter ? strchr(from, (int)letter) : NULL;
  if (*j->at < 32) syn__json_fail(j, "control byte 0x%02X in a string", (unsigned)*j->at);
  else if (*j->at != '\\') *j->text++ = (char)*j->at++;
  else if (letter == 'u') syn__json_unicode(j);
  else if (!found) syn__json_fail(j, "unknown escape: \\ and byte 0x%02X", letter);
  else {
    *j->text++ = to[found - from];
    j->at += 2;
  }
}

/* A string, decoded; "" after an error. It takes no more bytes than in the JSON text: two quotes
   there, one 0 here; and no escape is shorter than its character. So all strings fit. UTF-8 is
   checked at the end: no escape can complete a character that was cut off. */
static const char *syn__json_string(syn__json *j) {
  const char *start = j->text, *invalid;
  if (!syn__json_accept(j, '"')) syn__json_expected(j, "a string");
  while (j->at < j->end && *j->at != '"') syn__json_character(j);
  if (!j->ok) return "";
  *j->text++ = 0;
  invalid = syn__utf8_invalid(start);
  if (*invalid)
    syn__json_fail(j, "invalid UTF-8 in a string: byte 0x%02X", (unsigned)(unsigned char)*invalid);
  else if (!syn__json_accept(j, '"')) syn__json_fail(j, "a string without its end");
  return j->ok ? start : "";
}

/* The key of a field, with its colon. */
static const char *syn__json_key(syn__json *j) {
  const char *key = syn__json_string(j);
  if (!syn__json_accept(j, ':')) syn__json_expected(j, "':'");
  return key;
}

/* One digit or more, as a number; SIZE_MAX when it does not fit. */
static size_t syn__json_digits(syn__json *j, const char *wanted) {
  const unsigned char *start = j->at;
  size_t n = 0;
  for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++)
    n = syn__add_size(syn__mul_size(n, 10), (size_t)(*j->at - '0'));
  if (j->at == start) syn__json_expected(j, wanted);
  return n;
}

/* A size: digits alone. 4.0 and 4e0 are JSON numbers but no sizes; the caller fails at their '.' or
   'e'. */
static size_t syn__json_size(syn__json *j) {
  int first = syn__json_peek(j);
  const unsigned char *start = j->at;
  size_t n = syn__json_digits(j, "a whole number from 0");
  if (first == '0' && j->at - start > 1) syn__json_fail(j, "a number that begins with 0");
  if (n == SIZE_MAX) syn__json_fail(j, "a number above the largest size");
  return n;
}

/* An array of sizes, of which the first `most` are kept; returns how many it has. */
static size_t syn__json_sizes(syn__json *j, size_t *sizes, size_t most) {
  size_t n = 0, size;
  while (syn__json_more(j, "[]", &n)) {
    size = syn__json_size(j);
    if (n <= most) sizes[n - 1] = size;
  }
  return n;
}

/* -?digits(.digits)?([eE][+-]?digits)? without a 0 in front of other digits. */
static void syn__json_skip_number(syn__json *j) {
  if (*j->at == '-') j->at++;
  if (j->at < j->end && *j->at == '0') j->at++;
  else syn__json_digits(j, "a digit");
  if (j->at < j->end && *j->at == '.') j->at++, syn__json_digits(j, "a digit");
  if (j->at < j->end && (*j->at | 32) == 'e') {
    j->at++;
    if (j->at < j->end && (*j->at == '+' || *j->at == '-')) j->at++;
    syn__json_digits(j, "a digit");
  }
}

/* Checks a value of any kind and ignores it. `depth` bounds the recursion. A word that is longer
   than true, false or null fails at its next letter, which is no comma. */
static void syn__json_skip(syn__json *j, int depth) {
  int first = syn__json_peek(j);
  const char *word = first == 't' ? "true" : first == 'f' ? "false" : "null";
  char *text = j->text;
  size_t n = 0;
  if (depth > SYN_MAX_DEPTH)
    syn__json_fail(j, "values nested deeper than %d levels", SYN_MAX_DEPTH);
  else if (first == '"') syn__json_string(j); /* checked, then released */
  else if (first == '-' || (first >= '0' && first <= '9')) syn__json_skip_number(j);
  else if (first == '{' || first == '[') {
    while (syn__json_more(j, first == '{' ? "{}" : "[]", &n)) {
      if (first == '{') syn__json_key(j);
      syn__json_skip(j, depth + 1);
    }
  } else if ((size_t)(j->end - j->at) < strlen(word) || memcmp(j->at, word, strlen(word))) {
    syn__json_expected(j, "a value");
  } else {
    j->at += strlen(word);
  }
  j->text = text;
}

/* ==============================================================================================
   >>safetensors reader   a file or a block of memory becomes a checked list of tensors
   ============================================================================================== */

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
   where offsets count from the first byte of the data. The rules that the reader checks (and the
   writer, too), from huggingface/safetensors on GitHub unless "ours" is said:
     - the header has 2 bytes to 100 MB, ends inside the file, and is one JSON object with white
       space around it; keys come in any order, unknown fields of a tensor are skipped;
     - metadata is an object of strings;
     - bytes of a tensor = product of its shape * bits / 8, all in checked arithmetic;
     - the tensors fill the data: no overlap, no hole, no byte behind the last;
     - ours: names and keys are unique, UTF-8 and without \u0000;
     - ours: a shape has at most SYN_FILE_RANK numbers.

   Memory is bounded by the size of the file: one block for the file (none for a view), one of the
   header's length for all texts, lists of entries and pairs. Time is n log n in the number of
   tensors, whatever their names are. */

#define SYN__HEADER_MAX 100000000u

/* Named items, entries or pairs, with their numbers sorted by name. Both structs begin with a
   pointer to their name, so a pointer to the struct is one to that pointer. */
typedef struct syn__index {
  const void *items;
  size_t n, size; /* items, bytes of one */
  int *sorted;
} syn__index;

/* Entries stand in the order of the header. Their data point into `start`, names into `text`. */
struct syn_file {
  syn_context *c;
  void *block;                /* the bytes of the file when they are ours, else null */
  const unsigned char *start; /* first byte of the file, in `block` or the caller's memory */
  char *text;                 /* names, keys and values of the header, decoded, each ends in 0 */
  syn__array entries, pairs;  /* syn_entry, syn_pair */
  syn__index names, keys;     /* of entries, of pairs */
};

/* The name of item i. */
static const char *syn__item_name(const syn__index *x, int i) {
  const void *item = (const char *)x->items + (size_t)i * x->size;
  return *(const char *const *)item;
}

/* The order of items by the bytes of their names; strcoll would depend on the locale. */
static int syn__order_name(const void *owner, int a, int b) {
  const syn__index *x = (const syn__index *)owner;
  return strcmp(syn__item_name(x, a), syn__item_name(x, b));
}

/* Sorts the items, refuses a name that occurs twice: sorted, equal names are neighbours. The caller
   frees x->sorted. */
static syn_status syn__index_sort(syn_context *c, syn__index *x, syn_status status,
                                  const char *where, const char *what) {
  char shown[SYN__SHORT];
  size_t i;
  x->sorted = syn__sorted(c, x, x->n, syn__order_name);
  if (!x->sorted) return SYN_E_MEMORY; /* recorded */
  for (i = 1; i < x->n; i++)
    if (syn__order_name(x, x->sorted[i - 1], x->sorted[i]) == 0)
      return syn__fail(c, status, "%s: two %s \"%s\"", where, what,
                       syn__shorten(shown, syn__item_name(x, x->sorted[i])));
  return SYN_OK;
}

/* The item of this name by bisection; null: there is none, or `name` is null. */
static const void *syn__index_find(const syn__index *x, const char *name) {
  size_t low = 0, high = x->n;
  while (name && low < high) { /* if it is there, then at low .. high-1 of the sorted ones */
    size_t mid = low + (high - low) / 2;
    int order = strcmp(name, syn__item_name(x, x->sorted[mid]));
    if (order == 0) return (const char *)x->items + (size_t)x->sorted[mid] * x->size;
    if (order < 0) high = mid;
    else low = mid + 1;
  }
  return NULL;
}

/* [begin, end], counted from the first byte of the data, becomes a pointer and a size. The pointer
   is computed after both were checked: computing one outside the block is undefined. */
static void syn__header_offsets(syn__json *j, syn_entry *e) {
  size_t range[2] = {0, 0}, n = syn__json_sizes(j, range, 2);
  if (n != 2) {
    syn__json_fail(j, "data_offsets of %lu numbers, not 2", (unsigned long)n);
  } else if (range[0] > range[1] || range[1] > j->data_size) {
    syn__json_fail(j, "data_offsets [%lu,%lu] in %lu bytes of data", (unsigned long)range[0],
                   (unsigned long)range[1], (unsigned long)j->data_size);
  } else {
    e->data = j->end + range[0];
    e->bytes = range[1] - range[0];
  }
}

/* One field of a tensor; `seen` has a bit for each of the three known ones, others are skipped. An
   unknown dtype is an error: without its width the offsets cannot be checked. */
static void syn__header_field(syn__json *j, syn_entry *e, unsigned *seen) {
  static const char *const fields[] = {"dtype", "shape", "data_offsets"};
  char *text = j->text, shown[SYN__SHORT];
  const char *key = syn__json_key(j), *name;
  unsigned i = 0, type = 0; /* of the key in `fields`, of the dtype */
  while (i < 3 && strcmp(key, fields[i]) != 0) i++;
  if (i < 3 && (*seen >> i & 1)) syn__json_fail(j, "two times \"%s\"", fields[i]);
  *seen |= 1u << i;
  if (i == 0) {
    name = syn__json_string(j);
    while (type < SYN_DTYPE_COUNT && strcmp(name, syn_dtype_name((syn_dtype)type))) type++;
    if (type == SYN_DTYPE_COUNT)
      syn__json_fail(j, "unknown dtype \"%s\"", syn__shorten(shown, name));
    e->dtype = (syn_dtype)type;
  } else if (i == 1) {
    size_t n = syn__json_sizes(j, e->shape, SYN_FILE_RANK);
    if (n <= SYN_FILE_RANK) e->rank = (int)n;
    else syn__json_fail(j, "shape of more than %d numbers", SYN_FILE_RANK);
  } else if (i == 2) syn__header_offsets(j, e);
  else syn__json_skip(j, 1);
  j->text = text; /* neither the key nor the name of a dtype is kept */
}

/* The object of one tensor becomes an entry of the file. Fields come in any order, so what needs
   all three is checked at the end. */
static void syn__header_tensor(syn__json *j, const char *name) {
  syn_entry e = {name, SYN_F32, 0, {0}, NULL, 0};
  unsigned seen = 0;
  size_t n = 0, bytes;
  j->tensor = name; /* for messages */
  while (syn__json_more(j, "{}", &n)) syn__header_field(j, &e, &seen);
  if ((seen & 7) != 7)
    syn__json_fail(j, "no \"%s\"", !(seen & 1) ? "dtype" : !(seen & 2) ? "shape" : "data_offsets");
  bytes = syn__entry_bytes(&e);
  if (bytes == SIZE_MAX) syn__json_fail(j, "a shape without a whole number of bytes that fits");
  if (bytes != e.bytes)
    syn__json_fail(j, "data_offsets hold %lu bytes, its shape in %s wants %lu",
                   (unsigned long)e.bytes, syn_dtype_name(e.dtype), (unsigned long)bytes);
  j->tensor = NULL;
  if (j->ok && syn__append(j->c, &j->file->entries, &e, 1, sizeof e)) j->ok = 0;
}

/* {key: value, ...}, both strings, become pairs of the file. */
static void syn__header_metadata(syn__json *j) {
  syn_pair pair;
  size_t n = 0;
  while (syn__json_more(j, "{}", &n)) {
    pair.key = syn__json_key(j);
    pair.value = syn__json_string(j);
    if (j->ok && syn__append(j->c, &j->file->pairs, &pair, 1, sizeof pair)) j->ok = 0;
  }
}

/* The order of entries by offset; an empty one comes before the one that begins where it does. */
static int syn__order_offset(const void *owner, int a, int b) {
  const syn_entry *entries = (const syn_entry *)((const syn_file *)owner)->entries.items;
  const syn_entry *x = entries + a, *y = entries + b;
  const char *p = (const char *)x->data, *q = (const char *)y->data;
  if (p != q) return p < q ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* 1: the tensors, by offset, fill the data from the first byte to the last. */
static int syn__header_covers(const syn__json *j) {
  const syn_file *f = j->file;
  int *sorted = syn__sorted(f->c, f, f->entries.count, syn__order_offset);
  size_t i, end = 0; /* of the tensors so far, in bytes of the data */
  syn_status status = SYN_OK;
  char shown[SYN__SHORT];
  if (!sorted) return 0; /* recorded */
  for (i = 0; i < f->entries.count && !status; i++) {
    const syn_entry *e = (const syn_entry *)f->entries.items + sorted[i];
    size_t begin = (size_t)((const unsigned char *)e->data - j->end);
    if (begin != end)
      status = syn__fail(f->c, SYN_E_FORMAT,
                         "%s: tensor \"%s\" begins at byte %lu of the data, not at %lu where the "
                         "one before it ends: %s", j->where, syn__shorten(shown, e->name),
                         (unsigned long)begin, (unsigned long)end,
                         begin < end ? "overlap" : "hole");
    end += e->bytes;
  }
  syn__free(f->c, sorted);
  if (!status && end != j->data_size)
    status = syn__fail(f->c, SYN_E_FORMAT, "%s: %lu bytes of data, but the tensors end at %lu",
                       j->where, (unsigned long)j->data_size, (unsigned long)end);
  return !status;
}

/* 1: the header of `length` bytes is valid; the file has its tensors and metadata. Behind the
   object only white space may stand: writers pad with it. */
static int syn__header_parse(syn_file *f, const char *where, size_t length, size_t data_size) {
  const unsigned char *json = f->start + 8;
  syn__json parser = {f->c, where, NULL, json, json, json + length, f->text, 1, f, data_size};
  syn__json *j = &parser;
  size_t n = 0;
  int metadata = 0;
  while (syn__json_more(j, "{}", &n)) {
    const char *name = syn__json_key(j);
    if (strcmp(name, "__metadata__") != 0) syn__header_tensor(j, name);
    else if (metadata++) syn__json_fail(j, "two times \"__metadata__\"");
    else syn__header_metadata(j);
  }
  if (j->ok && syn__json_peek(j) >= 0) syn__json_expected(j, "white space to the end");
  return j->ok && syn__header_covers(j);
}

/* Checks the header length, before it is used for anything: 2 bytes to SYN__HEADER_MAX, all of it
   inside the `size` bytes of the file. 0 (recorded): refused. */
static size_t syn__header_length(syn_context *c, const char *where, const unsigned char *bytes,
                                 size_t size) {
  uint64_t n = size < 10 ? 0 : syn__get_bytes(bytes, 8);
  if (n >= 2 && n <= size - 8 && n <= SYN__HEADER_MAX) return (size_t)n;
  if (size < 10)
    syn__fail(c, SYN_E_FORMAT, "%s: %lu bytes, a safetensors file has at least 10", where,
              (unsigned long)size);
  else
    syn__fail(c, SYN_E_FORMAT,
              "%s: not a safetensors file: header of %llu bytes (2 to %lu) in a file of %lu", where,
              (unsigned long long)n, (unsigned long)SYN__HEADER_MAX, (unsigned long)size);
  return 0;
}

/* 1: all names of tensors differ, and all keys; both are sorted now. */
static int syn__file_sort(syn_file *f, const char *where) {
  syn__index names = {f->entries.items, f->entries.count, sizeof(syn_entry), NULL};
  syn__index keys = {f->pairs.items, f->pairs.count, sizeof(syn_pair), NULL};
  f->names = names; /* the file frees what is sorted, also after a failure */
  f->keys = keys;
  return !syn__index_sort(f->c, &f->names, SYN_E_FORMAT, where, "tensors") &&
         !syn__index_sort(f->c, &f->keys, SYN_E_FORMAT, where, "metadata keys");
}

/* The file of these bytes; null (recorded) when they are not valid. In order: header length, JSON,
   offsets without overlap or hole, unique names. `block` is the block they lie in, or null for the
   caller's memory; it is freed with the file. On a big-endian machine the numbers in the block are
   swapped; tensors do not overlap, so no byte is swapped twice. */
static syn_file *syn__file_open(syn_context *c, const char *where, void *block, const void *bytes,
                                size_t size) {
  syn_file *f = (syn_file *)syn__alloc(c, 1, sizeof *f);
  size_t length, i;
  if (!f) {
    syn__free(c, block);
    return NULL;
  }
  f->c = c;
  f->block = block; /* from here on syn_file_free frees it */
  f->start = (const unsigned char *)bytes;
  length = syn__header_length(c, where, f->start, size);
  if (length) f->text = (char *)syn__alloc(c, length, 1); /* bounded by the file */
  if (!f->text || !syn__header_parse(f, where, length, size - 8 - length) ||
      !syn__file_sort(f, where)) {
    syn_file_free(f);
    return NULL;
  }
  for (i = 0; syn__big_endian() && i < f->entries.count; i++) {
    const syn_entry *e = (const syn_entry *)f->entries.items + i;
    syn__swap((unsigned char *)block + ((const unsigned char *)e->data - f->start), e->bytes,
              syn__dtype_at(e->dtype)->unit);
  }
  return f;
}

syn_file *syn_file_view(syn_context *c, const void *bytes, size_t size) {
  void *block = NULL;
  if (!bytes && size) {
    syn__fail(c, SYN_E_VALUE, "syn_file_view: null for %lu bytes", (unsigned long)size);
    return NULL;
  }
  if (size && syn__big_endian()) { /* the caller's bytes must not be swapped */
    block = syn__alloc(c, size, 1);
    if (!block) return NULL;
    bytes = memcpy(block, bytes, size);
  }
  return syn__file_open(c, "memory", block, bytes, size);
}

void syn_file_free(syn_file *f) {
  if (!f) return;
  syn__free(f->c, f->keys.sorted);
  syn__free(f->c, f->names.sorted);
  syn__free(f->c, f->pairs.items);
  syn__free(f->c, f->entries.items);
  syn__free(f->c, f->text);
  syn__free(f->c, f->block);
  syn__free(f->c, f);
}

size_t syn_file_count(const syn_file *f) { return f ? f->entries.count : 0; }
size_t syn_file_pair_count(const syn_file *f) { return f ? f->pairs.count : 0; }

const syn_entry *syn_file_entry(const syn_file *f, size_t i) {
  return i < syn_file_count(f) ? (const syn_entry *)f->entries.items + i : NULL;
}

const syn_pair *syn_file_pair(const syn_file *f, size_t i) {
  return i < syn_file_pair_count(f) ? (const syn_pair *)f->pairs.items + i : NULL;
}

const syn_entry *syn_file_find(const syn_file *f, const char *name) {
  return f ? (const syn_entry *)syn__index_find(&f->names, name) : NULL;
}

const char *syn_file_value(const syn_file *f, const char *key) {
  const syn_pair *pair = f ? (const syn_pair *)syn__index_find(&f->keys, key) : NULL;
  return pair ? pair->value : NULL;
}

#ifndef SYN_NO_STDIO

/* The last bytes of a path, where its file is named: the message is 400 bytes long. */
static const char *syn__path_end(const char *path) {
  size_t n = strlen(path);
  return n > 150 ? path + (n - 150) : path;
}

/* "path: cannot open: No such file or directory" */
static syn_status syn__path_fail(syn_context *c, const char *path, const char *what, int error) {
  return syn__fail(c, SYN_E_FILE, "%s: cannot %s: %s", syn__path_end(path), what,
                   error ? strerror(error) : "unknown reason");
}

/* Bytes of an open file, which is then at its beginning; UINT64_MAX when it has no size, as a pipe.
   A long of Windows ends at 2 GiB, hence its own functions. */
static uint64_t syn__file_length(FILE *in) {
#ifdef _WIN32
  int64_t size = _fseeki64(in, 0, SEEK_END) == 0 ? _ftelli64(in) : -1;
#else
  int64_t size = fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
#endif
  return size < 0 || fseek(in, 0, SEEK_SET) != 0 ? UINT64_MAX : (uint64_t)size;
}

/* The whole file as one block, or null. The first 8 bytes are read first: on Unix a folder opens as
   a file and fails only here. Memory is allocated only when they can begin a safetensors file of
   that size. */
static unsigned char *syn__file_read(syn_context *c, const char *path, FILE *in, size_t *size) {
  unsigned char head[8], *block;
  uint64_t length;
  size_t got;
  errno = 0;
  got = fread(head, 1, 8, in);
  length = ferror(in) ? UINT64_MAX : syn__file_length(in);
  if (length == UINT64_MAX) {
    syn__path_fail(c, path, ferror(in) ? "read" : "tell its size", errno);
    return NULL;
  }
  *size = length < SIZE_MAX / 2 ? (size_t)length : SIZE_MAX / 2;
  if (!syn__header_length(c, syn__path_end(path), head, got < 8 ? got : *size)) return NULL;
  block = (unsigned char *)syn__alloc(c, *size, 1);
  if (!block) return NULL;
  got = fread(block, 1, *size, in);
  if (got == *size) return block;
  syn__fail(c, SYN_E_FILE, "%s: only %lu of %lu bytes can be read: %s", syn__path_end(path),
            (unsigned long)got, (unsigned long)*size,
            ferror(in) ? strerror(errno) : "the file ends");
  syn__free(c, block);
  return NULL;
}

syn_file *syn_file_load(syn_context *c, const char *path) {
  void *block;
  size_t size = 0;
  FILE *in;
  errno = 0;
  in = path ? fopen(path, "rb") : NULL;
  if (!in) {
    syn__path_fail(c, path ? path : "null path", "open", path ? errno : EINVAL);
    return NULL;
  }
  block = syn__file_read(c, path, in, &size);
  fclose(in);
  return block ? syn__file_open(c, syn__path_end(path), block, block, size) : NULL;
}

#endif /* !SYN_NO_STDIO */

/* ==============================================================================================
   >>safetensors writer   metadata with tensors become the bytes of a file
   ============================================================================================== */

/* What is written, borrowed from the caller, and what is computed from it. */
typedef struct syn__content {
  const syn_pair *pairs; /* metadata */
  size_t n_pairs;
  const syn_entry *entries; /* tensors */
  size_t n_entries;
  char *header;       /* what stands before the data; owned, or null */
  size_t front, size; /* bytes of the header, of the whole file */
} syn__content;

/* A JSON string. The text was checked to be UTF-8, so only ", \ and control characters are escaped.
   A header above the limit will be refused: its rest is not counted. */
static void syn__print_string(syn__text_out *out, const char *text) {
  static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  for (syn__print(out, "\""); *text && out->used <= SYN__HEADER_MAX; text++) {
    const char *code = strchr(codes, *text);
    if (code) syn__print(out, "\\%c", letters[code - codes]); /* it has a short escape */
    else syn__print(out, (unsigned char)*text < 32 ? "\\u%04x" : "%c", (unsigned char)*text);
  }
  syn__print(out, "\"");
}

/* The format allows no gaps, so the order of the data aligns it: first the tensors whose size is a
   multiple of 64, then of 32, 16, 8, 4, 2, 1. Each then begins at a multiple of the same number.
   Alignment class k holds the multiples of 64 >> k in the given order. */
enum { SYN__ALIGN_CLASSES = 7 };

static int syn__align_class(size_t bytes) {
  int k = 0;
  while (bytes & ((64u >> k) - 1)) k++; /* 0 bytes are a multiple of all */
  return k;
}

/* Where the data of class k begin; of k = SYN__ALIGN_CLASSES: the bytes of all data. SIZE_MAX: they
   do not fit. */
static size_t syn__align_offset(const syn__content *content, int k) {
  size_t at = 0, i;
  for (i = 0; i < content->n_entries; i++)
    if (syn__align_class(content->entries[i].bytes) < k)
      at = syn__add_size(at, content->entries[i].bytes);
  return at;
}

/* "name":{...} of a tensor whose data begin at `begin`. */
static void syn__print_entry(syn__text_out *out, const syn_entry *e, size_t begin) {
  char digits[24];
  int i;
  syn__print_string(out, e->name);
  syn__print(out, ":{\"dtype\":\"%s\",\"shape\":[", syn_dtype_name(e->dtype));
  for (i = 0; i < e->rank; i++)
    syn__print(out, "%s%s", i ? "," : "", syn__decimal(digits, e->shape[i], 0));
  syn__print(out, "],\"data_offsets\":[%s,", syn__decimal(digits, begin, 0));
  syn__print(out, "%s]}", syn__decimal(digits, begin + e->bytes, 0));
}

/* The JSON object without white space: equal input gives equal bytes. Tensors are in the given
   order, their data in the order of the classes. */
static void syn__print_header(syn__text_out *out, const syn__content *content) {
  size_t at[SYN__ALIGN_CLASSES], i; /* at[k]: where the next tensor of class k begins */
  int k;
  for (k = 0; k < SYN__ALIGN_CLASSES; k++) at[k] = syn__align_offset(content, k);
  for (i = 0; i < content->n_pairs; i++) {
    syn__print(out, i ? "," : "{\"__metadata__\":{");
    syn__print_string(out, content->pairs[i].key);
    syn__print(out, ":");
    syn__print_string(out, content->pairs[i].value);
  }
  syn__print(out, i ? "}" : "{");
  for (i = 0; i < content->n_entries; i++) {
    if (i || content->n_pairs) syn__print(out, ",");
    k = syn__align_class(content->entries[i].bytes);
    syn__print_entry(out, &content->entries[i], at[k]);
    at[k] += content->entries[i].bytes;
  }
  syn__print(out, "}");
}

/* Makes what stands before the data: the length of the header, the JSON, spaces that align the data
   to 64 bytes. The JSON is printed twice, once to learn its length. */
static syn_status syn__make_header(syn_context *c, syn__content *content) {
  syn__text_out out = {NULL, 0, 0};
  size_t data = syn__align_offset(content, SYN__ALIGN_CLASSES);
  syn__print_header(&out, content);
  content->front = (out.used + 8 + 63) / 64 * 64;
  if (out.used > SYN__HEADER_MAX || data > SIZE_MAX - content->front)
    return syn__fail(c, SYN_E_VALUE, "write: header of %lu bytes (at most %lu), data of %lu",
                     (unsigned long)out.used, (unsigned long)SYN__HEADER_MAX, (unsigned long)data);
  content->header = (char *)syn__alloc(c, content->front + 1, 1); /* 1: printing ends with a 0 */
  if (!content->header) return SYN_E_MEMORY;
  out.out = content->header + 8; /* the length stands in the first 8 bytes */
  out.capacity = out.used + 1;
  out.used = 0;
  syn__print_header(&out, content);
  memset(out.out + out.used, ' ', content->front - 8 - out.used);
  syn__put_bytes((unsigned char *)content->header, content->front - 8, 8);
  content->size = content->front + data;
  return SYN_OK;
}

/* 1: the sink took all bytes. It is not called for none. */
static int syn__sink_all(const syn_sink *sink, const void *bytes, size_t size) {
  return !size || sink->write(sink->user, bytes, size) == size;
}

/* The data of a tensor; a big-endian machine swaps them in a copy of 64 bytes, a multiple of every
   unit. 0 when the sink failed. */
static int syn__write_data(const syn_sink *sink, const syn_entry *e) {
  const unsigned char *at = (const unsigned char *)e->data;
  unsigned char part[64];
  size_t left = e->bytes, n; /* bytes still to write, bytes of this part */
  for (; left && syn__big_endian(); at += n, left -= n) {
    n = left < sizeof part ? left : sizeof part;
    memcpy(part, at, n);
    syn__swap(part, n, syn__dtype_at(e->dtype)->unit);
    if (!syn__sink_all(sink, part, n)) return 0;
  }
  return syn__sink_all(sink, at, left);
}

/* The whole file into a sink; 0 when the sink failed, which is then not called again. */
static int syn__write_file(const syn__content *content, const syn_sink *sink) {
  int ok = syn__sink_all(sink, content->header, content->front), k;
  size_t i;
  for (k = 0; k < SYN__ALIGN_CLASSES; k++)
    for (i = 0; i < content->n_entries && ok; i++)
      if (syn__align_class(content->entries[i].bytes) == k)
        ok = syn__write_data(sink, &content->entries[i]);
  return ok;
}

/* 1: the reader accepts it as a name or value. */
static int syn__file_text_ok(const char *text) { return text && !*syn__utf8_invalid(text); }

/* Refuses a tensor, number i, that the reader would refuse, or that has no data. */
static syn_status syn__check_entry(syn_context *c, const syn_entry *e, size_t i) {
  char shown[SYN__SHORT];
  size_t bytes = syn__entry_bytes(e);
  if (!syn__file_text_ok(e->name) || strcmp(e->name, "__metadata__") == 0)
    return syn__fail(c, SYN_E_VALUE, "write: tensor %lu has a name that is %s", (unsigned long)i,
                     !e->name ? "null" : syn__file_text_ok(e->name) ? "__metadata__" : "not UTF-8");
  if (bytes == SIZE_MAX || bytes != e->bytes)
    return syn__fail(c, SYN_E_SHAPE,
                     "write: tensor \"%s\" of %s, rank %d, has %lu bytes, wants %lu",
                     syn__shorten(shown, e->name), syn_dtype_name(e->dtype), e->rank,
                     (unsigned long)e->bytes, (unsigned long)bytes);
  if (!e->data && bytes)
    return syn__fail(c, SYN_E_VALUE, "write: tensor \"%s\" has no data",
                     syn__shorten(shown, e->name));
  return SYN_OK;
}

/* Refuses what the reader would refuse, before a byte is written; else makes the header, which the
   caller frees. */
static syn_status syn__content_prepare(syn_context *c, syn__content *content) {
  syn__index keys = {content->pairs, content->n_pairs, sizeof *content->pairs, NULL};
  syn__index names = {content->entries, content->n_entries, sizeof *content->entries, NULL};
  syn_status status = SYN_OK;
  size_t i;
  if ((content->n_pairs && !syn__given(c, content->pairs, "metadata")) ||
      (content->n_entries && !syn__given(c, content->entries, "entries")))
    return SYN_E_VALUE;
  for (i = 0; i < content->n_pairs; i++)
    if (!syn__file_text_ok(content->pairs[i].key) || !syn__file_text_ok(content->pairs[i].value))
      return syn__fail(c, SYN_E_VALUE, "write: metadata %lu is null or not UTF-8",
                       (unsigned long)i);
  for (i = 0; i < content->n_entries && !status; i++)
    status = syn__check_entry(c, &content->entries[i], i);
  if (!status) status = syn__index_sort(c, &keys, SYN_E_VALUE, "write", "times the name");
  if (!status) status = syn__index_sort(c, &names, SYN_E_VALUE, "write", "times the name");
  syn__free(c, keys.sorted);
  syn__free(c, names.sorted);
  return status ? status : syn__make_header(c, content);
}

size_t syn_file_size(syn_context *c, const syn_pair *pairs, size_t n_pairs,
                     const syn_entry *entries, size_t n_entries) {
  syn__content content = {pairs, n_pairs, entries, n_entries, NULL, 0, 0};
  syn__content_prepare(c, &content);
  syn__free(c, content.header);
  return content.size;
}

syn_status syn_file_write_to(syn_context *c, const syn_sink *sink, const syn_pair *pairs,
                             size_t n_pairs, const syn_entry *entries, size_t n_entries) {
  syn__content content = {pairs, n_pairs, entries, n_entries, NULL, 0, 0};
  syn_status status = syn__content_prepare(c, &content);
  if (!status && !syn__given(c, sink && sink->write ? sink : NULL, "sink")) status = SYN_E_VALUE;
  if (!status && !syn__write_file(&content, sink))
    status = syn__fail(c, SYN_E_FILE, "write: the sink did not take all of %lu bytes",
                       (unsigned long)content.size);
  syn__free(c, content.header);
  return status;
}

#ifndef SYN_NO_STDIO

#ifdef SYN__POSIX
/* 1 for a device, pipe or folder, which a rename must not replace: renaming over /dev/null would
   make it a file. */
static int syn__path_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Waits until a closed file is on the disk: else after a power cut the rename may be there and the
   bytes not. Opened again, because -std=c99 hides fileno. */
static int syn__path_sync(const char *path) {
  int file = open(path, O_WRONLY);
  int ok = file >= 0 && (fsync(file) == 0 || errno == EINVAL); /* EINVAL: nothing to sync there */
  return file >= 0 && close(file) == 0 && ok;
}
#else
static int syn__path_special(const char *path) { return path == NULL; }
static int syn__path_sync(const char *path) { return path != NULL; }
#endif

#ifdef _WIN32
#ifdef __cplusplus
extern "C"
#endif
__declspec(dllimport) int __stdcall MoveFileExA(const char *from, const char *to,
                                                unsigned long flags);
#endif

/* rename of Windows does not replace a file; MoveFileEx does: 1 (replace) + 8 (write through). */
static int syn__path_rename(const char *from, const char *to) {
#ifdef _WIN32
  return MoveFileExA(from, to, 9) != 0;
#else
  return rename(from, to) == 0;
#endif
}

/* The sink of an open file. */
static size_t syn__sink_file(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)user);
}

/* Writes to path.tmp, syncs, renames; a device or pipe is written directly. A temporary file that
   could not be created is not removed: it may belong to somebody else. Any call may find the disk
   full; C does not promise that fwrite then sets errno, and 0 becomes "unknown reason". */
static syn_status syn__write_path(syn_context *c, const syn__content *content, const char *path) {
  int special = syn__path_special(path), ok; /* special: written directly, without a rename */
  size_t size = strlen(path);
  char *target = (char *)syn__alloc(c, size + 5, 1); /* zeroed: the path, ".tmp", a 0 */
  syn_sink sink = {syn__sink_file, NULL};
  syn_status status = SYN_OK;
  FILE *out;
  if (!target) return SYN_E_MEMORY;
  memcpy(target, path, size);
  if (!special) memcpy(target + size, ".tmp", 5);
  errno = 0;
  out = fopen(target, "wb");
  if (!out) {
    status = syn__path_fail(c, target, special ? "open for writing" : "create", errno);
    syn__free(c, target);
    return status;
  }
  errno = 0; /* opening may set it without an error */
  sink.user = out;
  ok = syn__write_file(content, &sink);
  ok = fclose(out) == 0 && ok && (special || syn__path_sync(target));
  if (!ok) status = syn__path_fail(c, path, "write", errno);
  else if (!special && !syn__path_rename(target, path))
    status = syn__path_fail(c, path, "rename the temporary file to it", errno);
  if (status && !special) remove(target); /* `path` is as it was */
  syn__free(c, target);
  return status;
}

syn_status syn_file_write(syn_context *c, const char *path, const syn_pair *pairs, size_t n_pairs,
                          const syn_entry *entries, size_t n_entries) {
  syn__content content = {pairs, n_pairs, entries, n_entries, NULL, 0, 0};
  syn_status status = syn__content_prepare(c, &content);
  if (!status && !path) status = syn__fail(c, SYN_E_VALUE, "write: null path");
  if (!status) status = syn__write_path(c, &content, path);
  syn__free(c, content.header);
  return status;
}

#endif /* !SYN_NO_STDIO */

/* ==============================================================================================
   >>model file   a model becomes metadata with tensors; a file becomes a model
   ============================================================================================== */

/* A model file is a safetensors file. Its metadata are the configuration (syn__add_config writes
   it, syn__config_read reads it) and what other programs added; its tensors are the weights under
   the names of the parameters, and up to two tokenizers as bytes. Tensors whose names begin with
   "test.", "optimizer." or "tokenizer." are no weights. */

/* Collects metadata and tensors of one file. After a failure `status` is set, and adding does
   nothing. Tensors are borrowed; texts and bytes that are made here lie in the arena. */
typedef struct syn__builder {
  syn_context *c;
  syn__array pairs, entries; /* syn_pair, syn_entry */
  syn__arena arena;          /* of numbers as text, of tokenizers as bytes */
  syn_status status;         /* of the first failure */
} syn__builder;

#define SYN__BUILDER(c) {c, {NULL, 0, 0}, {NULL, 0, 0}, {c, NULL}, SYN_OK}

static void syn__builder_free(syn__builder *b) {
  syn__free(b->c, b->pairs.items);
  syn__free(b->c, b->entries.items);
  syn__arena_free(&b->arena);
}

/* Adds metadata; both texts are borrowed until the file is written. */
static void syn__add_text(syn__builder *b, const char *key, const char *value) {
  syn_pair pair = {key, value};
  if (!b->status && !value) b->status = SYN_E_MEMORY; /* a copy that the arena could not make */
  if (!b->status) b->status = syn__append(b->c, &b->pairs, &pair, 1, sizeof pair);
}

/* syn__decimal of a signed number; -INT64_MIN does not fit, hence the unsigned subtraction. */
static const char *syn__signed_decimal(char out[24], int64_t n) {
  return syn__decimal(out, n < 0 ? 0u - (uint64_t)n : (uint64_t)n, n < 0);
}

static void syn__add_int(syn__builder *b, const char *key, int64_t value) {
  char digits[24];
  const char *text = syn__signed_decimal(digits, value);
  syn__add_text(b, key, syn__arena_text(&b->arena, text, strlen(text)));
}

/* Nine digits give a float back exactly. */
static void syn__add_float(syn__builder *b, const char *key, float value) {
  char text[40];
  syn__number_write(text, sizeof text, 9, (double)value);
  syn__add_text(b, key, syn__arena_text(&b->arena, text, strlen(text)));
}

/* A tensor [n], which borrows its name and data. */
static syn_entry syn__vector_entry(const char *name, syn_dtype dtype, const void *data, size_t n) {
  syn_entry e = {name, dtype, 1, {n}, data, 0};
  e.bytes = syn__entry_bytes(&e);
  return e;
}

/* A weight in its shape; it borrows the weight's name and numbers. */
static syn_entry syn__weight_entry(const syn_param *w) {
  syn_entry e = syn__vector_entry(w->name, SYN_F32, w->x, w->size);
  int i;
  e.rank = w->rank;
  for (i = 0; i < w->rank; i++) e.shape[i] = (size_t)w->shape[i];
  return e;
}

/* Adds a tensor; its name and data are borrowed until the file is written. */
static void syn__add_tensor(syn__builder *b, syn_entry e) {
  if (!b->status) b->status = syn__append(b->c, &b->entries, &e, 1, sizeof e);
}

/* Everything needed to build the same network again, with every default resolved, so that a later
   version may change its defaults. $NAMEs are numbers by now. */
static void syn__add_config(syn__builder *b, const syn_model *m) {
  const syn_config *k = &m->config;
  syn__add_text(b, "format", "synthesizer");
  syn__add_text(b, "version", "1"); /* of this list: a reader refuses another one */
  syn__add_text(b, "task", k->task);
  if (m->task->encoder) syn__add_text(b, "encoder", k->encoder);
  if (m->task->decoder) syn__add_text(b, "decoder", k->decoder);
  syn__add_int(b, "d_model", k->d_model);
  syn__add_int(b, "heads", k->heads);
  syn__add_int(b, "max_len", k->max_len);
  if (m->task->encoder) syn__add_int(b, "src_vocab", k->src_vocab);
  if (m->task->decoder) syn__add_int(b, "tgt_vocab", k->tgt_vocab);
  if (m->task->classes) syn__add_int(b, "classes", k->classes);
  syn__add_text(b, "tie", k->tie);
  syn__add_float(b, "dropout", k->dropout);
  syn__add_float(b, "label_smoothing", k->label_smoothing);
  syn__add_int(b, "seed", (int64_t)k->seed); /* the signed number of the same bits */
}

/* Metadata that came with the file of the model (a licence, notes), but for keys that were written
   anew, and for those of a training: a model saved after it is no checkpoint. */
static void syn__add_foreign(syn__builder *b, const syn_model *m) {
  size_t i, k, own = b->pairs.count; /* own: keys that were written anew */
  for (i = 0; i < syn_file_pair_count(m->file); i++) {
    const syn_pair *pair = syn_file_pair(m->file, i);
    for (k = 0; k < own && !b->status; k++)
      if (!strcmp(((const syn_pair *)b->pairs.items)[k].key, pair->key)) break;
    if (k == own && strncmp(pair->key, "train.", 6)) syn__add_text(b, pair->key, pair->value);
  }
}

/* The tensors of tokenizers, by side: SYN_SRC, SYN_TGT. */
static const char *const syn__tokenizer_names[] = {"tokenizer.src", "tokenizer.tgt"};

/* One tokenizer for both sides is stored once, as that of the source. */
static void syn__add_tokenizer(syn__builder *b, const syn_model *m, int side) {
  const syn_tokenizer *t = m->tokenizer[side];
  size_t size = t ? syn_tokenizer_save(t, NULL, 0) : 0;
  void *bytes;
  if (b->status || !t || (side == SYN_TGT && t == m->tokenizer[SYN_SRC])) return;
  bytes = syn__arena_get(&b->arena, size, 1);
  if (bytes) syn_tokenizer_save(t, bytes, size); /* it fits: `size` was measured */
  else b->status = SYN_E_MEMORY;
  syn__add_tensor(b, syn__vector_entry(syn__tokenizer_names[side], SYN_U8, bytes, size));
}

/* The configuration, metadata that came with the model, weights in the order of the network as F32,
   tokenizers. */
static void syn__add_model(syn__builder *b, const syn_model *m) {
  size_t i;
  syn__add_config(b, m);
  syn__add_foreign(b, m);
  for (i = 0; i < m->g.n_params; i++) syn__add_tensor(b, syn__weight_entry(&m->g.params[i]));
  syn__add_tokenizer(b, m, SYN_SRC);
  syn__add_tokenizer(b, m, SYN_TGT);
}

syn_status syn_model_save_to(syn_context *c, const syn_model *m, const syn_sink *sink) {
  syn__builder b = SYN__BUILDER(c);
  if (!syn__given(c, m, "model")) return SYN_E_VALUE;
  syn__add_model(&b, m);
  if (!b.status)
    b.status = syn_file_write_to(c, sink, (const syn_pair *)b.pairs.items, b.pairs.count,
                                 (const syn_entry *)b.entries.items, b.entries.count);
  syn__builder_free(&b);
  return b.status;
}

#ifndef SYN_NO_STDIO
/* Writes the file and frees the builder. */
static syn_status syn__builder_save(syn__builder *b, const char *path) {
  if (!b->status)
    b->status = syn_file_write(b->c, path, (const syn_pair *)b->pairs.items, b->pairs.count,
                               (const syn_entry *)b->entries.items, b->entries.count);
  syn__builder_free(b);
  return b->status;
}

syn_status syn_model_save(syn_context *c, const syn_model *m, const char *path) {
  syn__builder b = SYN__BUILDER(c);
  if (!syn__given(c, m, "model")) return SYN_E_VALUE;
  syn__add_model(&b, m);
  return syn__builder_save(&b, path);
}
#endif

/* Names the key, the value found and what was wanted. */
static syn_status syn__metadata_fail(syn_context *c, const char *key, const char *value,
                                     const char *wanted) {
  char shown[SYN__SHORT];
  return syn__fail(c, SYN_E_FORMAT, "model file: %s is '%s', wanted %s", key,
                   syn__shorten(shown, value ? value : "missing"), wanted);
}

/* A whole number of at most 19 digits, so that it fits 64 bits; *out stays where the key is absent,
   since older files lack newer keys. Seeds are unsigned and written as the signed number of the
   same bits. Not strtol, which accepts white space and a plus. */
static syn_status syn__metadata_int(syn_context *c, const syn_file *f, const char *key,
                                    int64_t least, int64_t most, int64_t *out) {
  const char *value = syn_file_value(f, key), *at = value;
  char wanted[80], low[24], high[24];
  uint64_t sum = 0;
  int64_t number;
  int minus, digits = 0; /* minus: 1 where a minus sign stands in front */
  if (!value) return SYN_OK;
  minus = *at == '-';
  for (at += minus; *at >= '0' && *at <= '9' && digits < 19; at++, digits++)
    sum = sum * 10 + (uint64_t)(*at - '0');
  number = (int64_t)(minus ? 0u - sum : sum); /* if `sum` fits, which the next line checks */
  if (!*at && digits && sum <= (uint64_t)INT64_MAX + (uint64_t)minus && number >= least &&
      number <= most) {
    *out = number;
    return SYN_OK;
  }
  syn__snprintf(wanted, sizeof wanted, "a whole number from %s to %s",
                syn__signed_decimal(low, least), syn__signed_decimal(high, most));
  return syn__metadata_fail(c, key, value, wanted);
}

/* A float, which stays where the key is absent. Its range is checked by syn__config_sizes. */
static syn_status syn__metadata_float(syn_context *c, const syn_file *f, const char *key,
                                      float *out) {
  const char *value = syn_file_value(f, key);
  double number;
  size_t size;
  if (!value) return SYN_OK;
  size = syn__number_read(value, &number);
  if (!size || value[size]) /* no number, or something behind it */
    return syn__metadata_fail(c, key, value, "a number");
  *out = (float)number;
  return SYN_OK;
}

/* Fills a configuration with pointers into the file. format and version are checked first: the file
   of another program should be refused as such, not for a missing d_model. */
static syn_status syn__config_read(syn_context *c, const syn_file *f, syn_config *k) {
  const char *format = syn_file_value(f, "format"), *version = syn_file_value(f, "version");
  const struct {
    const char *key;
    int *out; /* in *k */
  } sizes[] = {{"d_model", &k->d_model},     {"heads", &k->heads},
               {"max_len", &k->max_len},     {"src_vocab", &k->src_vocab},
               {"tgt_vocab", &k->tgt_vocab}, {"classes", &k->classes}};
  int64_t size, seed = 0;
  size_t i;
  memset(k, 0, sizeof *k);
  if (!format || strcmp(format, "synthesizer"))
    return syn__metadata_fail(c, "format", format, "'synthesizer'");
  if (!version || strcmp(version, "1")) return syn__metadata_fail(c, "version", version, "'1'");
  k->task = syn_file_value(f, "task"); /* texts point into the file */
  k->encoder = syn_file_value(f, "encoder");
  k->decoder = syn_file_value(f, "decoder");
  k->tie = syn_file_value(f, "tie");
  if (!k->task) return syn__metadata_fail(c, "task", NULL, "seq2seq, lm, classify or tag");
  for (i = 0; i < SYN__COUNT(sizes); i++) { /* an absent one stays 0, for syn__config_sizes */
    size = 0;
    if (syn__metadata_int(c, f, sizes[i].key, 0, 1 << 30, &size)) return SYN_E_FORMAT;
    *sizes[i].out = (int)size;
  }
  if (syn__metadata_float(c, f, "dropout", &k->dropout) ||
      syn__metadata_float(c, f, "label_smoothing", &k->label_smoothing) ||
      syn__metadata_int(c, f, "seed", INT64_MIN, INT64_MAX, &seed))
    return SYN_E_FORMAT;
  k->seed = (uint64_t)seed;
  return SYN_OK;
}

/* The shape as text, "[3,4]", cut off at `capacity`. */
static void syn__shape_text(char *out, size_t capacity, const syn_entry *e) {
  syn__text_out w = {out, capacity, 0};
  int i;
  syn__print(&w, "[");
  for (i = 0; i < e->rank; i++) syn__print(&w, "%s%lu", i ? "," : "", (unsigned long)e->shape[i]);
  syn__print(&w, "]");
}

/* Refuses numbers that are not finite (all exponent bits are set), which would spread to every
   result, and unless `negative` is 1 those below 0. */
static syn_status syn__entry_finite(syn_context *c, const syn_file *f, const syn_entry *e,
                                    int negative) {
  size_t width = syn__float_width(e->dtype), n = e->bytes / width, i;
  char shown[SYN__SHORT];
  for (i = 0; i < n && !c->options.not_finite; i++) {
    uint32_t bits = syn__entry_float_bits(e, i);
    if ((bits & 0x7F800000u) == 0x7F800000u || (!negative && bits >> 31))
      return syn__fail(c, SYN_E_FORMAT,
                       "model file: tensor %s: number %lu, at byte %lu of the file, is not "
                       "finite%s (syn_options.not_finite accepts it)",
                       syn__shorten(shown, e->name), (unsigned long)i,
                       (unsigned long)((const unsigned char *)e->data + i * width - f->start),
                       negative ? "" : " or below 0");
  }
  return SYN_OK;
}

/* The entry of a weight, checked; null (recorded) when it is missing or does not fit. Every tensor
   is checked before memory for weights is allocated. */
static const syn_entry *syn__weight_find(syn_context *c, const syn_file *f, const syn_param *w) {
  const syn_entry *e = syn_file_find(f, w->name), want = syn__weight_entry(w);
  size_t bytes = (size_t)want.rank * sizeof *want.shape; /* of the numbers of its shape */
  int same = e && e->rank == want.rank && memcmp(e->shape, want.shape, bytes) == 0;
  char wanted[60], given[60]; /* shapes for the message */
  if (same && syn__float_width(e->dtype)) return syn__entry_finite(c, f, e, 1) ? NULL : e;
  syn__shape_text(wanted, sizeof wanted, &want);
  if (!e) syn__fail(c, SYN_E_FORMAT, "model file: tensor %s %s is missing", w->name, wanted);
  else if (same)
    syn__fail(c, SYN_E_FORMAT, "model file: tensor %s has dtype %s, wanted F32, F16 or BF16",
              w->name, syn_dtype_name(e->dtype));
  else {
    syn__shape_text(given, sizeof given, e);
    syn__fail(c, SYN_E_FORMAT, "model file: tensor %s is %s, wanted %s", w->name, given, wanted);
  }
  return NULL;
}

/* Checks every weight, then refuses a surplus tensor: the metadata would describe another network
   than the weights. */
static syn_status syn__weights_check(syn_context *c, const syn_file *f, const syn_model *m) {
  size_t i;
  char shown[SYN__SHORT];
  for (i = 0; i < m->g.n_params; i++)
    if (!syn__weight_find(c, f, &m->g.params[i])) return SYN_E_FORMAT;
  for (i = 0; i < syn_file_count(f); i++) {
    const char *name = syn_file_entry(f, i)->name; /* three prefixes name no weights */
    if (strncmp(name, "test.", 5) && strncmp(name, "optimizer.", 10) &&
        strncmp(name, "tokenizer.", 10) && !syn_model_find(m, name))
      return syn__fail(c, SYN_E_FORMAT, "model file: tensor %s is not part of this network",
                       syn__shorten(shown, name));
  }
  return SYN_OK;
}

/* Weights are used in place if all are F32 at multiples of 4 bytes; else they are copied. Every
   entry is checked before memory is allocated; copying cannot fail. */
static syn_status syn__weights_read(syn_context *c, const syn_file *f, syn_model *m) {
  size_t i;
  int in_place = 1;
  if (syn__weights_check(c, f, m)) return SYN_E_FORMAT;
  for (i = 0; i < m->g.n_params; i++) {
    const syn_entry *e = syn_file_find(f, m->g.params[i].name);
    in_place = in_place && e->dtype == SYN_F32 && (uintptr_t)e->data % sizeof(float) == 0;
  }
  if (!in_place && syn__weights_own(m)) return SYN_E_MEMORY; /* only now, after all checks */
  for (i = 0; i < m->g.n_params; i++) {
    syn_param *w = &m->g.params[i];
    const syn_entry *e = syn_file_find(f, w->name);
    union { const void *from; void *to; } data; /* read only: training copies first */
    data.from = e->data;
    if (in_place) w->x = (float *)data.to;
    else syn_entry_floats(c, e, w->x, w->size);
  }
  return SYN_OK;
}

/* One tokenizer in the file serves both sides. */
static syn_status syn__tokenizers_read(syn_context *c, const syn_file *f, syn_model *m) {
  int side;
  for (side = SYN_SRC; side <= SYN_TGT; side++) {
    const syn_entry *e = syn_file_find(f, syn__tokenizer_names[side]);
    if (e && !(m->tokenizer[side] = syn_tokenizer_load(c, e->data, e->bytes))) return c->status;
  }
  if (!m->tokenizer[SYN_TGT] && m->task->decoder) m->tokenizer[SYN_TGT] = m->tokenizer[SYN_SRC];
  return syn__tokenizers_fit(c, m) ? SYN_OK : c->status;
}

/* The model takes the file and frees it at its end. f may be null: then its error is recorded. */
static syn_model *syn__model_of(syn_context *c, syn_file *f) {
  syn_config config;
  syn_model *m = f && !syn__config_read(c, f, &config) ? syn__model_shell(c, &config) : NULL;
  if (m) m->file = f; /* from here on the model frees it */
  else syn_file_free(f);
  if (m && !syn__weights_read(c, f, m) && !syn__tokenizers_read(c, f, m)) return m;
  syn_model_free(m);
  return NULL;
}

syn_model *syn_model_view(syn_context *c, const void *bytes, size_t size) {
  return syn__model_of(c, syn_file_view(c, bytes, size));
}
#ifndef SYN_NO_STDIO
syn_model *syn_model_load(syn_context *c, const char *path) {
  return syn__model_of(c, syn_file_load(c, path));
}
#endif
const syn_file *syn_model_file(const syn_model *m) { return m ? m->file : NULL; }

/* ==============================================================================================
   >>checkpoint   a model file with the state of its training
   ============================================================================================== */

/* To a model file it adds
     metadata   train.optimizer, train.freeze, and the numbers of syn__state_fields
     tensors    optimizer.first, optimizer.second    moments, where the optimizer keeps them
                optimizer.best, optimizer.best_loss  the best weights so far with their losses
   syn_trainer_save writes them. syn_trainer_load reads the numbers (syn__state_read), checks every
   tensor (syn__checkpoint_check), and only then copies into the trainer
   (syn__checkpoint_restore): weights, moments of the optimizer, best weights, numbers. */

#ifndef SYN_NO_STDIO

/* Floats are stored by their bits, so that infinities are restored. */
static int64_t syn__float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int64_t)bits;
}

/* A number of a checkpoint: its key, its value in the trainer, its range, where it is restored.
   From SYN__STATE_FIXED on they have no such place: a training that resumes must have the same. */
typedef struct syn__state_field {
  const char *key;
  int64_t value, least, most;
  long *whole; /* where a whole number is restored, or null */
  float *real; /* where a float is restored, or null */
} syn__state_field;
enum {
  SYN__STATE_KEPT = 11,  /* train.kept, how many best weights there are */
  SYN__STATE_FIXED = 12, /* the first that a resumed training must have, too */
  SYN__STATE_SAVED = 16, /* the others are part of every model file */
  SYN__STATE_FIELDS = 17,
  SYN__STATE_TENSORS = 4
};

/* The numbers of trainer t; *s, its state, is where they are restored. `stopped` is not:
   with a larger stop_after, or none, the training goes on. The order of an epoch follows from seed
   and epoch. */
static void syn__state_fields(const syn_trainer *t, syn_train_state *s, syn__state_field *f) {
  const int64_t most = LONG_MAX / 2, bits = UINT32_MAX; /* most: the training can still count on */
  const syn_train_config *k = &t->config;
  const syn__state_field fields[SYN__STATE_FIELDS] = {
      {"train.step", s->step, 0, most, &s->step, NULL}, /* updates done */
      {"train.epoch", s->epoch, 0, most, &s->epoch, NULL}, /* the epoch and the batch */
      {"train.batch", s->batch, 0, most, &s->batch, NULL}, /* that come next */
      {"train.tokens", s->tokens, 0, most, &s->tokens, NULL}, /* labels seen */
      {"train.validations", s->validations, 0, most, &s->validations, NULL},
      {"train.worse", s->worse, 0, most, &s->worse, NULL}, /* validations since the best */
      {"train.stopped", s->stopped, 0, 1, NULL, NULL}, /* computed again */
      {"train.rate", syn__float_bits(s->rate), 0, bits, NULL, &s->rate}, /* of the last step */
      {"train.factor", syn__float_bits(s->factor), 0, bits, NULL, &s->factor}, /* of plateau */
      {"train.valid", syn__float_bits(s->valid), 0, bits, NULL, &s->valid}, /* last validation */
      {"train.best", syn__float_bits(s->best), 0, bits, NULL, &s->best}, /* best validation */
      {"train.kept", t->n_best, 0, k->average, NULL, NULL}, /* best weights in the file */
      {"train.seed", (int64_t)k->seed, INT64_MIN, INT64_MAX, NULL, NULL}, /* from here on: fixed */
      {"train.batch_tokens", k->batch_tokens, INT64_MIN, INT64_MAX, NULL, NULL},
      {"train.accumulate", k->accumulate, INT64_MIN, INT64_MAX, NULL, NULL},
      {"train.every", k->every, INT64_MIN, INT64_MAX, NULL, NULL},
      {"heads", t->m->config.heads, 1, INT_MAX, NULL, NULL}}; /* no shape shows them */
  memcpy(f, fields, sizeof fields);
}

/* The moments of the optimizer and the `kept` best weights with their losses; 0 bytes: none. */
static void syn__state_tensors(const syn_trainer *t, size_t kept, syn_entry *list) {
  list[0] = syn__vector_entry("optimizer.first", SYN_F32, t->first, t->firsts); /* moments */
  list[1] = syn__vector_entry("optimizer.second", SYN_F32, t->second, t->seconds);
  list[2] = syn__vector_entry("optimizer.best", SYN_F32, t->best, kept * t->floats);
  list[3] = syn__vector_entry("optimizer.best_loss", SYN_F32, t->best_loss, kept);
}

syn_status syn_trainer_save(syn_context *c, const syn_trainer *t, const char *path) {
  syn_entry tensors[SYN__STATE_TENSORS];
  syn__state_field fields[SYN__STATE_FIELDS];
  syn_train_state state; /* a copy: t is const, and the list of fields may change the state */
  syn__builder b = SYN__BUILDER(c);
  int i;
  if (!syn__given(c, t, "trainer")) return SYN_E_VALUE;
  syn__add_model(&b, t->m);
  syn__add_text(&b, "train.optimizer", t->optimizer->name);
  if (t->config.freeze) syn__add_text(&b, "train.freeze", t->config.freeze);
  state = t->state;
  syn__state_fields(t, &state, fields);
  for (i = 0; i < SYN__STATE_SAVED; i++) syn__add_int(&b, fields[i].key, fields[i].value);
  syn__state_tensors(t, (size_t)t->n_best, tensors);
  for (i = 0; i < SYN__STATE_TENSORS; i++)
    if (tensors[i].bytes) syn__add_tensor(&b, tensors[i]);
  return syn__builder_save(&b, path);
}

/* Checks that a value of the file is that of the training; a file without the key has "". */
static syn_status syn__state_same(syn_context *c, const syn_file *f, const char *key,
                                  const char *now) {
  const char *then = syn_file_value(f, key);
  char a[SYN__SHORT], b[SYN__SHORT];
  if (!then) then = "";
  if (!strcmp(then, now)) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "checkpoint: %s is '%s', this training has '%s'", key,
                   syn__shorten(a, then), syn__shorten(b, now));
}

/* Reads the numbers and checks them. Another seed or batch size would go on with other batches than
   those still to come. */
static syn_status syn__state_read(const syn_trainer *t, const syn_file *f, syn__state_field *n) {
  syn_context *c = t->c;
  int i;
  if ((syn_file_value(f, "train.optimizer") && /* older files were all of adam or adamw */
       syn__state_same(c, f, "train.optimizer", t->optimizer->name)) ||
      syn__state_same(c, f, "train.freeze", t->config.freeze ? t->config.freeze : ""))
    return SYN_E_VALUE;
  for (i = 0; i < SYN__STATE_FIELDS; i++, n++) {
    int64_t now = n->value;
    if (!syn_file_value(f, n->key))
      return syn__fail(c, SYN_E_FORMAT, "checkpoint: %s is missing; a model file cannot be resumed",
                       n->key);
    if (syn__metadata_int(c, f, n->key, n->least, n->most, &n->value)) return SYN_E_FORMAT;
    if (i >= SYN__STATE_FIXED && n->value != now)
      return syn__fail(c, SYN_E_VALUE, "checkpoint: %s is %ld, this training has %ld", n->key,
                       (long)n->value, (long)now);
  }
  return SYN_OK;
}

/* Checks a tensor of the state: it is there exactly when the training keeps it, and has as many
   floats, finite, not below 0 unless `negative` is 1. */
static syn_status syn__state_entry(syn_context *c, const syn_file *f, const syn_entry *kept,
                                   int negative) {
  const syn_entry *e = syn_file_find(f, kept->name);
  syn_status status;
  if (!e && !kept->bytes) return SYN_OK;
  if (!e || !kept->bytes)
    return syn__fail(c, SYN_E_FORMAT, e ? "checkpoint: it has %s, which this training does not keep"
                                        : "checkpoint: tensor %s is missing", kept->name);
  status = syn__floats_check(c, e, kept->shape[0]);
  return status ? status : syn__entry_finite(c, f, e, negative);
}

/* Checks every weight, every tensor of the state, then the network: weights of the same names and
   shapes do not prove it, as another activation may have them. */
static syn_status syn__checkpoint_check(const syn_trainer *t, const syn_file *f,
                                        const syn_entry *list) {
  syn_context *c = t->c;
  const syn_config *k = &t->m->config;
  syn_status status = syn__weights_check(c, f, t->m);
  int i;
  for (i = 0; i < SYN__STATE_TENSORS && !status; i++) /* 1: second moments have a square root */
    status = syn__state_entry(c, f, &list[i], i != 1);
  if (!status) status = syn__state_same(c, f, "task", k->task);
  if (!status) status = syn__state_same(c, f, "encoder", t->m->task->encoder ? k->encoder : "");
  if (!status) status = syn__state_same(c, f, "decoder", t->m->task->decoder ? k->decoder : "");
  return status;
}

/* Restores the weights, the optimizer's moments and the best weights (`list`), then the numbers
   (n). All was checked, so copying cannot fail. */
static void syn__checkpoint_restore(syn_trainer *t, const syn_file *f, const syn_entry *list,
                                    const syn__state_field *n) {
  float *const to[SYN__STATE_TENSORS] = {t->first, t->second, t->best, t->best_loss};
  size_t i;
  for (i = 0; i < t->m->g.n_params; i++) {
    const syn_param *w = &t->m->g.params[i];
    syn_entry_floats(t->c, syn_file_find(f, w->name), w->x, w->size);
  }
  for (i = 0; i < SYN__STATE_TENSORS; i++)
    if (list[i].bytes)
      syn_entry_floats(t->c, syn_file_find(f, list[i].name), to[i], list[i].shape[0]);
  for (i = 0; i < SYN__STATE_FIXED; i++) {
    uint32_t bits = (uint32_t)n[i].value;
    if (n[i].whole) *n[i].whole = (long)n[i].value; /* checked: it fits */
    if (n[i].real) memcpy(n[i].real, &bits, sizeof bits);
  }
  t->n_best = (int)n[SYN__STATE_KEPT].value;
  t->state.stopped = t->config.stop_after && t->state.worse >= t->config.stop_after;
  t->validation_due = 0;
  t->max_first = 0.0; /* the largest |first moment| */
  for (i = 0; i < t->firsts; i++)
    if (!(fabs((double)t->first[i]) <= t->max_first)) t->max_first = fabs((double)t->first[i]);
}

/* A file that is refused leaves the trainer and its model as they were. */
syn_status syn_trainer_load(syn_trainer *t, const char *path) {
  syn_file *f = t ? syn_file_load(t->c, path) : NULL;
  syn_entry tensors[SYN__STATE_TENSORS];
  syn__state_field fields[SYN__STATE_FIELDS];
  syn_status s;
  if (!f) return t ? t->c->status : SYN_E_VALUE;
  syn__state_fields(t, &t->state, fields);
  s = syn__state_read(t, f, fields); /* reads and checks the numbers */
  if (s == SYN_OK) {
    syn__state_tensors(t, (size_t)fields[SYN__STATE_KEPT].value, tensors);
    s = syn__checkpoint_check(t, f, tensors);
  }
  if (s == SYN_OK) syn__checkpoint_restore(t, f, tensors, fields);
  syn_file_free(f);
  return s;
}

#endif /* SYN_NO_STDIO */

/* ==============================================================================================
   >>small model   a model as the array of a small model
   ============================================================================================== */

typedef struct syn__lowering {
  const syn_kind *kind;
  /* returns the number of the node's output value, -1: failed */
  int (*lower)(syn__small_build *l, const syn_node *n);
} syn__lowering;
static const syn__lowering syn__lowerings[] = {
    {&syn__kind_embedding, syn__lower_embedding}, {&syn__kind_pos, syn__lower_pos},
    {&syn__kind_learn_pos, syn__lower_learn_pos}, {&syn__kind_pool, syn__lower_pool},
    {&syn__kind_norm, syn__lower_norm},           {&syn__kind_rms_norm, syn__lower_norm},
    {&syn__kind_cnn, syn__lower_cnn},             {&syn__kind_light_conv, syn__lower_light},
    {&syn__kind_rnn, syn__lower_rnn},             {&syn__kind_highway, syn__lower_highway},
    {&syn__kind_add, syn__lower_add},             {&syn__kind_linear, syn__lower_linear_kind},
    {&syn__kind_ff, syn__lower_ff},               {&syn__kind_syn_att, syn__lower_att},
    {&syn__kind_mh_dot_src_att, syn__lower_att},  {&syn__kind_output, syn__lower_output}};

static int syn__lower_node(syn__small_build *l, const syn_node *n) {
  size_t i;
  if (n->kind->flags & SYN_IDENTITY) return syn__lower_in(l, n, 0);
  for (i = 0; i < SYN__COUNT(syn__lowerings); i++)
    if (syn__lowerings[i].kind == n->kind) return syn__lowerings[i].lower(l, n);
  return syn__lower_refuse(l, n, "this kind");
}

/* -- places of values in RAM -- */

/* 1: values v and w need memory of a region at the same time. */
static int syn__lower_meet(const syn__small_value *v, const syn__small_value *w) {
  if (v->region != w->region) return 0;
  if (v->region == SYN__SMALL_ROW)
    return v->program == w->program && v->from <= w->to && w->from <= v->to;
  if (v->region != SYN__SMALL_ENCODER) return 1;
  return (w->kept || v->segment <= w->last) && (v->kept || w->segment <= v->last);
}
static int syn__lower_region(const syn__small_value *v) {
  if (v->state) return SYN__SMALL_STATE;
  if (v->program == SYN__SMALL_ENCODE)
    return v->cache || v->kept || v->last != v->segment ? SYN__SMALL_ENCODER : SYN__SMALL_ROW;
  if (!v->cache) return SYN__SMALL_ROW;
  return v->program == SYN__SMALL_CACHE ? SYN__SMALL_SOURCE : SYN__SMALL_TARGET;
}
/* First fit, in the order in which values are written. A value takes the row of its alias where
   that is read for the last time by its own instruction. */
static void syn__lower_offsets(syn__small_build *l, int32_t *bytes) {
  syn__small_value *v = (syn__small_value *)l->values.items, *w;
  int i, k, count = (int)l->values.count;
  for (i = 0; i < count; i++) {
    v[i].region = syn__lower_region(&v[i]);
    if (v[i].anew || v[i].whole >= 0) v[i].bytes = 0; /* names without memory of their own */
  }
  for (i = 0; i < count; i++) {
    w = v[i].alias < 0 ? NULL : &v[v[i].alias];
    if (w && !w->kept && !w->around && w->program == v[i].program && w->to == v[i].from &&
        w->bytes == v[i].bytes && (w->region == v[i].region || v[i].region == SYN__SMALL_ROW)) {
      v[i].region = w->region;
      v[i].offset = w->offset;
    } else {
      for (k = 0; k < i; k++) {
        if (!syn__lower_meet(&v[i], &v[k]) || v[i].offset >= v[k].offset + v[k].bytes ||
            v[k].offset >= v[i].offset + v[i].bytes)
          continue;
        v[i].offset = v[k].offset + v[k].bytes;
        k = -1; /* again from the first */
      }
    }
    bytes[v[i].region] = syn__max(bytes[v[i].region], v[i].offset + v[i].bytes);
  }
}
/* Numbers of values become operands, places of the data become places of the array. */
static void syn__lower_resolve(const syn__small_build *l, int32_t *code, size_t words,
                               int32_t data) {
  size_t i;
  for (i = 0; i < words; i += (size_t)(code[i] >> 8)) {
    const char *at = syn__small_text(code[i] & 255);
    int32_t *a = code + i + 1;
    for (; *at; at++) {
      if (*at >= '0' && *at <= '9') continue;
      if (strchr("xXdlrkc", *at)) {
        const syn__small_value *v = syn__lower_at(l, *a);
        const syn__small_value *whole = v->whole < 0 ? v : syn__lower_at(l, v->whole);
        *a = 8 * (whole->offset + v->part) + whole->region;
      } else if (strchr("mbft", *at) || *at == 'F' || (*at == 'g' && *a)) *a += data;
      a++;
    }
  }
}
/* -- tokenizers -- */

/* Orders of tokens by their bytes, of merges by their pair. */
static int syn__order_token(const void *owner, int a, int b) {
  const syn__texts *t = &((const syn_tokenizer *)owner)->vocab;
  return syn__text_compare(syn__texts_at(t, (size_t)a), syn__texts_at(t, (size_t)b));
}
static int syn__order_merge(const void *owner, int a, int b) {
  const syn__merge *m = (const syn__merge *)((const syn_tokenizer *)owner)->merges.items;
  return m[a].left != m[b].left ? m[a].left - m[b].left : m[a].right - m[b].right;
}
/* The numbers 0 .. n-1 in an order, 16 bits each. */
static void syn__lower_order(syn__small_build *l, const syn_tokenizer *t, size_t n,
                             syn__order order) {
  int *sorted = syn__sorted(l->c, t, n, order);
  int32_t place;
  uint16_t *to = sorted ? (uint16_t *)syn__lower_data(l, 2 * n, &place) : NULL;
  size_t i;
  for (i = 0; i < n && to; i++) to[i] = (uint16_t)sorted[i];
  syn__free(l->c, sorted);
}
/* Returns the place of the tokenizer, see >>small text; 0: failed. */
static int32_t syn__lower_tokenizer(syn__small_build *l, const syn_tokenizer *t) {
  size_t count = t->vocab.ends.count, merges = t->merges.count, i, k = 0;
  size_t by_bytes = t->kind == &syn__tokenizer_byte ? 0 : t->n_learned - merges;
  int32_t place, unused, *head = (int32_t *)syn__lower_data(l, 4 * (SYN__TEXT_HEADER + count + 1),
                                                            &place);
  uint16_t *pair;
  void *bytes;
  if (count > 65535 - SYN_FIRST_TOKEN) {
    syn__fail(l->c, SYN_E_VALUE, "a small model has at most 65535 tokens, the tokenizer has %lu",
              (unsigned long)count);
    return 0;
  }
  if (!head) return 0;
  while (k + 1 < SYN__COUNT(syn__tokenizer_kinds) && syn__tokenizer_kinds[k] != t->kind) k++;
  head[0] = (int32_t)k;
  head[1] = !!(t->flags & SYN_LOWERCASE);
  head[2] = (int32_t)count;
  head[3] = (int32_t)by_bytes;
  head[4] = (int32_t)merges;
  for (i = 0; i < count; i++)
    head[SYN__TEXT_HEADER + 1 + i] = (int32_t)((const size_t *)t->vocab.ends.items)[i];
  syn__lower_order(l, t, by_bytes, syn__order_token);
  pair = (uint16_t *)syn__lower_data(l, 4 * merges, &unused);
  for (i = 0; i < merges && pair; i++) {
    pair[2 * i] = (uint16_t)((const syn__merge *)t->merges.items)[i].left;
    pair[2 * i + 1] = (uint16_t)((const syn__merge *)t->merges.items)[i].right;
  }
  syn__lower_order(l, t, merges, syn__order_merge);
  bytes = syn__lower_data(l, t->vocab.bytes.count, &unused);
  if (bytes && t->vocab.bytes.count) memcpy(bytes, t->vocab.bytes.items, t->vocab.bytes.count);
  return place;
}

/* The array from all instructions and data. */
static int32_t *syn__lower_array(syn__small_build *l, size_t *words) {
  int32_t head[SYN__SMALL_HEADER], *w;
  size_t at = SYN__SMALL_HEADER, code = 0, p;
  memset(head, 0, sizeof head);
  for (p = 0; p < 3; p++) {
    l->program = (int)p;
    syn__lower_emit(l, SYN__SMALL_OP_end, NULL, 0);
    code += l->code[p].count;
  }
  *words = at + code + l->data.count;
  if (l->c->status != SYN_OK || *words > INT32_MAX / 4) return NULL;
  w = (int32_t *)syn__alloc(l->c, *words, sizeof *w);
  if (!w) return NULL;
  syn__lower_offsets(l, head + SYN__SMALL_ROW_BYTES);
  head[SYN__SMALL_MAGIC] = SYN__SMALL_VERSION;
  head[SYN__SMALL_BYTES] = (int32_t)(*words * 4);
  head[SYN__SMALL_SOURCE_LEN] = head[SYN__SMALL_TARGET_LEN] = l->config->max_len;
  head[SYN__SMALL_SOURCE_VOCAB] = l->config->src_vocab;
  head[SYN__SMALL_TASK] = l->task;
  head[SYN__SMALL_TARGET_VOCAB] =
      l->task <= SYN__SMALL_LM ? l->config->tgt_vocab : l->config->classes;
  head[SYN__SMALL_WIDEST] = syn__small_round_up(l->widest, 32);
  head[SYN__SMALL_HEADS] = l->heads;
  for (p = 0; p < 3; p++) {
    head[SYN__SMALL_PROGRAMS + p] = (int32_t)at;
    memcpy(w + at, l->code[p].items, l->code[p].count * sizeof *w);
    syn__lower_resolve(l, w + at, l->code[p].count, (int32_t)(SYN__SMALL_HEADER + code));
    at += l->code[p].count;
  }
  for (p = 0; p < 2; p++)
    if (l->tokenizer[p])
      head[SYN__SMALL_TOKENIZERS + p] = l->tokenizer[p] + (int32_t)(SYN__SMALL_HEADER + code);
  memcpy(w, head, sizeof head);
  memcpy(w + at, l->data.items, l->data.count * sizeof *w);
  return w;
}

/* Lowers all nodes: those of the encoder, then those of the decoder. */
static void syn__lower_nodes(syn__small_build *l, const syn_model *m) {
  int32_t unused;
  size_t i;
  l->program = SYN__SMALL_ENCODE;
  syn__lower_data(l, 4, &unused); /* place 0 means none */
  for (i = 0; i < l->g->n_nodes && l->c->status == SYN_OK; i++) {
    if (m->task->decoder && (int)i == m->g.n_encoder) {
      l->program = SYN__SMALL_DECODE;
      l->segment = 0;
    }
    l->of[l->g->nodes[i]->out] = syn__lower_node(l, l->g->nodes[i]);
  }
}

/* The format of the matrices; below 0 (recorded): no such format. */
static int32_t syn__small_format(syn_context *c, const syn_small_options *options) {
  const char *type = options && options->type ? options->type : "i8";
  const char *layout = options && options->layout ? options->layout : "smlad";
  if (!strcmp(type, "i4")) return SYN__SMALL_i4;
  if (!strcmp(type, "i8") && !strcmp(layout, "smlad")) return SYN__SMALL_smlad;
  if (!strcmp(type, "i8") && !strcmp(layout, "rows")) return SYN__SMALL_rows;
  if (!strcmp(type, "i8") && !strcmp(layout, "mve")) return SYN__SMALL_mve;
  syn__fail(c, SYN_E_VALUE,
            "small model: type %.20s, layout %.20s; types are i8, i4, layouts smlad, rows, mve",
            type, layout);
  return -1;
}

/* The array of a model, which the caller frees; null (recorded): failed. */
static int32_t *syn__small_array(syn_context *c, const syn_model *m,
                                 const syn_small_options *options, size_t *words) {
  const syn_tokenizer *source = m->tokenizer[SYN_SRC], *target = m->tokenizer[SYN_TGT];
  syn__small_build l;
  int32_t *w = NULL;
  size_t i;
  memset(&l, 0, sizeof l);
  l.format = syn__small_format(c, options);
  l.task = (int)(m->task - syn__tasks); /* in the order of SYN__SMALL_SEQ2SEQ ... */
  l.c = c;
  l.g = &m->g;
  l.config = &m->config;
  if (c->status == SYN_OK) l.of = (int *)syn__alloc(c, m->g.n_values, sizeof *l.of);
  if (l.of) l.matrix = (int32_t *)syn__alloc(c, m->g.n_params, sizeof *l.matrix);
  if (l.matrix) {
    syn__lower_nodes(&l, m);
    if (options && options->tokenizers) {
      if (source) l.tokenizer[0] = syn__lower_tokenizer(&l, source);
      l.tokenizer[1] = l.tokenizer[0];
      if (target && target != source) l.tokenizer[1] = syn__lower_tokenizer(&l, target);
    }
    w = syn__lower_array(&l, words);
  }
  for (i = 0; i < 3; i++) syn__free(c, l.code[i].items);
  syn__free(c, l.data.items);
  syn__free(c, l.values.items);
  syn__free(c, l.of);
  syn__free(c, l.matrix);
  return w;
}

static syn_status syn__small_sink(syn_context *c, const syn_sink *sink, const void *bytes,
                                  size_t size) {
  if (sink->write(sink->user, bytes, size) == size) return SYN_OK;
  return syn__fail(c, SYN_E_FILE, "the small model could not be written");
}

syn_status syn_small_write(syn_context *c, const syn_model *m, const syn_small_options *options,
                           const syn_sink *sink) {
  size_t words;
  int32_t *w;
  if (!c || !syn__given(c, m, "model") || !syn__given(c, sink, "sink")) return SYN_E_VALUE;
  w = syn__small_array(c, m, options, &words);
  if (w) syn__small_sink(c, sink, w, words * sizeof *w);
  syn__free(c, w);
  return c->status;
}

static void syn__small_print(syn_context *c, const syn_sink *sink, const char *text) {
  syn__small_sink(c, sink, text, strlen(text));
}

/* The name of an instruction. */
static const char *syn__small_name(int32_t code) {
#define SYN__SMALL_NAME(name, operands) \
  if (code == SYN__SMALL_OP_##name) return #name;
  SYN__SMALL_LIST(SYN__SMALL_NAME)
#undef SYN__SMALL_NAME
  return NULL;
}

/* What a program needs that runs the model, in the order of the list: the instructions that it has,
   and how the configuration chooses tokens. */
static void syn__small_embed_kinds(syn_context *c, const int32_t *w, const syn_small_config *config,
                                   const syn_sink *sink) {
  char text[40];
  int32_t code, p, at, used;
  syn__small_print(c, sink, "#define SYN_SMALL_KINDS(X)");
  for (code = SYN__SMALL_OP_segment + 1; code < SYN__SMALL_OPS; code++) {
    for (used = 0, p = 0; p < SYN__SMALL_IDLE; p++)
      for (at = w[SYN__SMALL_PROGRAMS + p]; (w[at] & 255) != SYN__SMALL_OP_end; at += w[at] >> 8)
        used |= (w[at] & 255) == code;
    if (code == SYN__SMALL_OP_sample) used = config && config->temperature > 0.0f;
    if (code == SYN__SMALL_OP_beam) used = config && config->beam > 1;
    if (!used) continue;
    syn__snprintf(text, sizeof text, " X(%s)", syn__small_name(code));
    syn__small_print(c, sink, text);
  }
}
/* The formats of their matrices. */
static void syn__small_embed_formats(syn_context *c, const int32_t *w, const syn_sink *sink) {
  static const char *const names[] = {" X(smlad)", " X(rows)", " X(mve)", " X(i4)"};
  int32_t p, at, used = 0, i;
  for (p = 0; p < SYN__SMALL_IDLE; p++)
    for (at = w[SYN__SMALL_PROGRAMS + p]; (w[at] & 255) != SYN__SMALL_OP_end; at += w[at] >> 8) {
      const char *text = syn__small_text(w[at] & 255);
      for (i = at; *text; text++) {
        if (*text < '0' || *text > '9') i++;
        if (*text == 'm') used |= 1 << w[w[i]];
      }
    }
  syn__small_print(c, sink, "\n#define SYN_SMALL_FORMATS(X)");
  for (i = 0; i < (int32_t)SYN__COUNT(names); i++)
    if (used >> i & 1) syn__small_print(c, sink, names[i]);
}

syn_status syn_small_embed(syn_context *c, const syn_model *m, const syn_small_options *options,
                           const char *name, const syn_sink *sink) {
  const syn_small_config *config = options ? options->config : NULL;
  size_t words, i;
  long ram;
  int32_t *w;
  char line[200];
  if (!c || !syn__given(c, m, "model") || !syn__given(c, sink, "sink") ||
      !syn__given(c, name, "name"))
    return SYN_E_VALUE;
  w = syn__small_array(c, m, options, &words);
  ram = w ? syn_small_ram(w, words * 4, config) : 0;
  if (ram < 0)
    syn__fail(c, SYN_E_VALUE, "small model: a length, beam or temperature is outside its range, or "
              "it needs 2 GB of RAM and more");
  if (ram > 0) {
    int n = syn__snprintf(line, sizeof line,
                     "/* A small model for synthesizer.h: %lu bytes. */\n#include <stdint.h>\n",
                     (unsigned long)(words * 4));
    syn__small_sink(c, sink, line, (size_t)n);
    syn__small_embed_kinds(c, w, config, sink);
    syn__small_embed_formats(c, w, sink);
    n = syn__snprintf(line, sizeof line,
                 "\nenum { %.40s_RAM = %ld };\nstatic const int32_t %.40s_model[%lu] = {", name,
                 ram, name, (unsigned long)words);
    syn__small_sink(c, sink, line, (size_t)n);
    for (i = 0; i < words && c->status == SYN_OK; i++) { /* the least int32 has no literal */
      n = syn__snprintf(line, sizeof line, "%s%ld%s", i % 10 ? " " : "\n",
                   (long)(w[i] == INT32_MIN ? w[i] + 1 : w[i]), w[i] == INT32_MIN ? "-1," : ",");
      syn__small_sink(c, sink, line, (size_t)n);
    }
    syn__small_print(c, sink, "\n};\n");
  }
  syn__free(c, w);
  return c->status;
}

/* ==============================================================================================
   >>check   proves a kind inside small networks: causality, padding, steps, files, gradients
   ============================================================================================== */

/* What syn_network_check proves, in this order, on a model of the given configuration:

     padding    a sentence has the same logits with columns of padding and without other sentences
     causality  no row of a decoder depends on later tokens
     steps      decoding computes the rows of the full pass, token by token and with a prefill pass
     files      a model that was saved and loaded has the same logits
     gradients  of all parameters agree with finite differences, without dropout and with it, and
                have the same bits when they are computed twice

   "Same" means the same bits; only steps with kernels that are not exact have a tolerance. The
   first failure ends the check; the message of the context tells where it was. */

/* Sentences of up to 9 tokens, 8 of them a batch, with up to 4 columns of padding. */
enum { SYN__CHECK_LEN = 9, SYN__CHECK_SENTENCES = 8, SYN__CHECK_WIDTH = SYN__CHECK_LEN + 4 };

/* A network whose weights were moved away from 0 and 1, a batch for it, and the logits of an
   earlier pass, which those of later passes are compared with. */
typedef struct syn__checker {
  syn_context *c;
  syn_model *m;
  syn_limits limits; /* of the runs */
  syn_run *run;      /* a plain one: values share memory */
  syn_run *kept;     /* for steps: every value has memory of its own */
  int longest;       /* tokens of the longest sentence */
  int tokens[2][SYN__CHECK_SENTENCES * SYN__CHECK_WIDTH]; /* source, target */
  int labels[SYN__CHECK_SENTENCES * SYN__CHECK_WIDTH];
  syn_batch b;
  float *wanted; /* [sentences, SYN__CHECK_LEN, width] the logits; a sentence may have fewer rows */
  int width;
  syn__array file; /* bytes of the model file */
} syn__checker;

/* All trained weights get noise, so that none is 0 or 1; less of it in deep networks, where
   differences grow from layer to layer. */
static void syn__check_weights(const syn_model *m) {
  float amount = m->g.n_nodes > 30 ? 0.05f : 0.35f;
  syn_random r = {m->config.seed + 99};
  size_t i, k;
  for (i = 0; i < m->g.n_params; i++) {
    const syn_param *p = &m->g.params[i];
    for (k = 0; p->trained && k < p->size; k++) p->x[k] += amount * syn_random_normal(&r);
  }
}

/* Sentences first .. first+count-1 of an endless list, `pad` more columns than they need. Some
   labels are 0, which do not count. */
static void syn__check_batch(syn__checker *k, int first, int count, int pad) {
  static const int sizes[2][7] = {{5, 2, 4, 9, 1, 7, 3}, {4, 6, 1, 3, 9, 2, 5}};
  const int vocab[2] = {k->m->config.src_vocab, k->m->config.tgt_vocab};
  int each = k->m->task->labels == SYN_EACH, labelled = k->m->task->labels != SYN_SRC;
  int i, j, side, n[2], width[2] = {1, 1};
  memset(k->tokens, 0, sizeof k->tokens);
  memset(k->labels, 0, sizeof k->labels);
  for (i = first; i < first + count; i++)
    for (side = 0; side < 2; side++)
      width[side] = syn__max(width[side], syn__min(sizes[side][i % 7], k->longest) + pad);
  for (i = 0; i < count; i++) {
    int *labels = k->labels + (each ? i : i * width[labelled]);
    syn_random r = {(uint64_t)(first + i) * 77};
    for (side = 0; side < 2; side++) {
      n[side] = syn__min(sizes[side][(first + i) % 7], k->longest);
      for (j = 0; j < n[side]; j++)
        k->tokens[side][i * width[side] + j] =
            side && !j ? SYN_BEGIN : 1 + syn_random_below(&r, vocab[side] - 1);
    }
    for (j = 0; j < n[labelled]; j++) labels[j] = syn_random_below(&r, k->width);
    labels[0] = each ? (first + i * 3) % k->width : 1;
  }
  k->b.count = count;
  k->b.src = k->tokens[SYN_SRC];
  k->b.tgt = k->tokens[SYN_TGT];
  k->b.labels = k->labels;
  k->b.src_width = width[SYN_SRC];
  k->b.tgt_width = width[SYN_TGT];
}

/* Everything that a pass computes becomes NaN: no result may depend on what stood there before.
   What the run reads, its pointers and shapes, stands in front of `pack` (syn__layout_run). */
static void syn__check_poison(syn_run *r) {
  char *begin = (char *)r->tape.pack; /* behind it scratch, buffers of the loss, all tensors */
  memset(begin, 0xFF, (size_t)((char *)r + r->bytes - begin));
}
/* A pass of r over the batch. */
static syn_status syn__check_pass(syn__checker *k, syn_run *r) {
  k->b.labels = NULL;
  syn__check_poison(r);
  return syn_run_forward(r, &k->b);
}

/* Where the kept logits of sentence i begin. */
static float *syn__check_wanted(const syn__checker *k, int i) {
  return k->wanted + (size_t)i * SYN__CHECK_LEN * (size_t)k->width;
}

/* A pass over sentences 0 .. count-1, whose logits are kept. */
static syn_status syn__check_keep(syn__checker *k, int count) {
  int i, rows;
  syn__check_batch(k, 0, count, 0);
  if (syn__check_pass(k, k->run)) return k->c->status;
  for (i = 0; i < count; i++) {
    const float *z = syn_run_logits(k->run, i, &rows);
    memcpy(syn__check_wanted(k, i), z, (size_t)rows * (size_t)k->width * sizeof *z);
  }
  return SYN_OK;
}

/* A pass of r over the batch: its sentence i must have the bits of the kept sentence first + i in
   its first `most` rows. `text` tells what the two passes differ in. */
static syn_status syn__check_same(syn__checker *k, syn_run *r, int first, int most,
                                  const char *text) {
  int i, j, rows;
  if (syn__check_pass(k, r)) return k->c->status;
  for (i = 0; i < k->b.count; i++) {
    const float *got = syn_run_logits(r, i, &rows), *wanted = syn__check_wanted(k, first + i);
    for (j = 0; j < syn__min(rows, most) * k->width; j++)
      if (memcmp(&got[j], &wanted[j], sizeof *got))
        return syn__fail(k->c, SYN_E_VALUE,
                         "%s: sentence %d, row %d, logit %d is %.9g, wanted %.9g", text, first + i,
                         j / k->width, j % k->width, (double)got[j], (double)wanted[j]);
  }
  return SYN_OK;
}

/* Behind row `row` of every sentence the decoder gets other tokens, then none. */
static syn_status syn__check_causal(syn__checker *k) {
  enum { COUNT = 5 };
  int i, j, row, none, *tgt;
  char text[60];
  if (syn__check_keep(k, COUNT)) return k->c->status;
  for (row = 0; row < k->longest; row++)
    for (none = 0; none < 2; none++) {
      syn__check_batch(k, 0, COUNT, 0);
      for (i = 0; i < COUNT; i++) {
        tgt = k->tokens[SYN_TGT] + i * k->b.tgt_width;
        for (j = row + 1; j < k->b.tgt_width && tgt[j]; j++)
          tgt[j] = none ? 0 : 1 + (tgt[j] + j) % (k->m->config.tgt_vocab - 1);
      }
      syn__snprintf(text, sizeof text, "causal: with %s tokens behind row %d",
                    none ? "no" : "other", row);
      if (syn__check_same(k, k->run, 0, row + 1, text)) return k->c->status;
    }
  return SYN_OK;
}

/* Every sentence of a batch has the bits that it has with padding, and alone. */
static syn_status syn__check_padding(syn__checker *k) {
  int i;
  if (syn__check_keep(k, SYN__CHECK_SENTENCES)) return k->c->status;
  syn__check_batch(k, 0, SYN__CHECK_SENTENCES, 4);
  if (syn__check_same(k, k->run, 0, SYN__CHECK_LEN, "padding: with four columns of it"))
    return k->c->status;
  for (i = 0; i < SYN__CHECK_SENTENCES; i++) {
    syn__check_batch(k, i, 1, 0);
    if (syn__check_same(k, k->run, i, SYN__CHECK_LEN, "padding: without the other sentences"))
      return k->c->status;
  }
  return SYN_OK;
}

/* Appends what syn_model_save_to writes to k->file. */
static size_t syn__check_write(void *user, const void *bytes, size_t size) {
  syn__checker *k = (syn__checker *)user;
  return syn__append(k->c, &k->file, bytes, size, 1) == SYN_OK ? size : 0;
}

/* The model that a saved file gives back has the same logits. It reads its weights from k->file. */
static syn_status syn__check_file(syn__checker *k) {
  syn_sink sink = {syn__check_write, k};
  syn_model *m = NULL;
  syn_run *r = NULL;
  if (syn__check_keep(k, SYN__CHECK_SENTENCES) || syn_model_save_to(k->c, k->m, &sink))
    return k->c->status;
  m = syn_model_view(k->c, k->file.items, k->file.count);
  if (m) r = syn_run_new(k->c, m, &k->limits);
  if (r) syn__check_same(k, r, 0, SYN__CHECK_LEN, "file: loaded again");
  syn_run_free(r);
  syn_model_free(m);
  return k->c->status;
}

/* -- steps -- */

/* Ends every output at its first chosen token. */
static int syn__check_stop(void *user, int sentence, int token) {
  SYN__UNUSED(user);
  SYN__UNUSED(sentence);
  SYN__UNUSED(token);
  return 1;
}

/* Rows of `place` of one node, which begin at row `first` of the step, against the full pass: the
   same bits; within 1e-5 where kernels are not exact. */
static syn_status syn__check_rows(const syn__checker *k, const syn_decoder *d, const syn_node *n,
                                  int place, int first) {
  const syn_tensor *x = syn_out(&k->kept->tape, n), *y = syn_out(&d->run->tape, n);
  int i, j, width = syn_width(x);
  for (i = 0; i < k->b.count; i++) {
    int row = k->kept->tape.stream[SYN_TGT].off[i] + place;
    const float *wanted = x->x + (size_t)row * (size_t)width;
    const float *got = y->x + (size_t)(first + i) * (size_t)width;
    for (j = 0; j < width; j++) {
      double w = (double)wanted[j], margin = 1e-5 * (fabs(w) > 1.0 ? fabs(w) : 1.0);
      if (k->c->kernels->exact ? !memcmp(&got[j], &wanted[j], sizeof *got)
                               : fabs((double)got[j] - w) <= margin)
        continue;
      return syn__fail(k->c, SYN_E_VALUE,
                       "step: %s at %s, sentence %d, row %d, column %d is %.9g, by forward %.9g",
                       n->kind->name, n->path, i, place, j, (double)got[j], w);
    }
  }
  return SYN_OK;
}

/* The last step read the places begin .. end-1. The outputs of all nodes of the decoder, where they
   are still there; of the value that the output layer reads only the last place; the logits. */
static syn_status syn__check_step(const syn__checker *k, const syn_decoder *d, int begin, int end) {
  const syn__graph *g = &k->m->g;
  int node, place;
  for (node = g->n_encoder; node < k->m->head && d->run->mode == SYN__KEEP; node++) {
    const syn_node *n = g->nodes[node];
    int last = n->out == k->m->final;
    if (g->values[n->out].stream != SYN_TGT) continue;
    for (place = last ? end - 1 : begin; place < end; place++)
      if (syn__check_rows(k, d, n, place, last ? 0 : (place - begin) * k->b.count))
        return k->c->status;
  }
  /* choosing has changed the logits */
  syn__linear_kind_forward(&d->run->tape, g->nodes[k->m->head]);
  return syn__check_rows(k, d, g->nodes[k->m->head], end - 1, 0);
}

/* Reads prompts of 1, 2, ... tokens of sentences that all have the longest length. */
static syn_status syn__check_places(syn__checker *k, syn_decoder *d) {
  syn_batch b = k->b;
  int *tgt = k->labels, i, j; /* labels are not read here */
  int one = d->config.prefill == 1 || k->m->g.recurrent;
  b.tgt = tgt;
  syn__check_poison(d->run);
  d->run->tape.tensors[k->m->g.nodes[k->m->head]->out].x = d->logits;
  for (b.tgt_width = 1; b.tgt_width <= k->longest; b.tgt_width++) {
    for (i = 0; i < b.count; i++)
      for (j = 0; j < b.tgt_width; j++)
        tgt[i * b.tgt_width + j] = k->b.tgt[i * k->b.tgt_width + j];
    if (syn_decoder_run(d, &b, syn__check_stop, NULL) ||
        syn__check_step(k, d, one ? b.tgt_width - 1 : 0, b.tgt_width))
      return k->c->status;
  }
  return SYN_OK;
}

/* First with memory in which every node's output stays, then with a decoder's own, where the logits
   alone outlive a step. */
static syn_status syn__check_decoder(syn__checker *k, int prefill) {
  syn_decode_config config;
  syn_decoder *d;
  syn_run *own;
  memset(&config, 0, sizeof config);
  config.sentences = k->b.count;
  config.source_len = config.max_len = k->longest;
  config.prefill = prefill;
  d = syn_decoder_new(k->c, k->m, &config);
  if (!d) return k->c->status;
  own = d->run;
  d->run = syn__run_new(k->c, k->m, SYN__KEEP, &d->limits);
  if (d->run) {
    d->run->tape.packed = own->tape.packed;
    syn__check_places(k, d);
  }
  syn_run_free(d->run);
  d->run = own;
  if (k->c->status == SYN_OK) syn__check_places(k, d);
  syn_decoder_free(d);
  return k->c->status;
}

/* Token by token, then prompts in one pass (prefill). */
static syn_status syn__check_steps(syn__checker *k) {
  enum { COUNT = 4 };
  syn_limits limits = k->limits;
  int i;
  limits.keep = 1;
  k->kept = syn_run_new(k->c, k->m, &limits);
  if (!k->kept) return k->c->status;
  syn__check_batch(k, 0, COUNT, 0);
  k->b.tgt_width = k->longest;
  for (i = 0; i < COUNT * k->longest; i++)
    k->tokens[SYN_TGT][i] =
        i % k->longest ? 1 + (i * 7 + i / 3) % (k->m->config.tgt_vocab - 1) : SYN_BEGIN;
  if (!syn__check_pass(k, k->kept) && !syn__check_decoder(k, 1)) syn__check_decoder(k, 0);
  return k->c->status;
}

/* -- gradients: the derivative along a direction in double-difference form -- */

/* What is compared: the gradient of one parameter, and the loss around its numbers. */
typedef struct syn__probe {
  syn_trainer *t;
  const syn_batch *b;
  const syn_param *p;
  int training;             /* 1: with dropout, always the same masks */
  double loss;              /* with the weights as they are */
  const float *gradient;    /* [size] */
  float *keep, *direction;  /* [size] the numbers as they are; how they are moved */
  size_t largest, element;  /* of the largest gradient; the one that the direction moves */
  double got, wanted;       /* of the last comparison: gradient, difference */
} syn__probe;

/* Every pass has the same batch and the same dropout masks, so the loss is a function of the
   weights alone. */
static syn_status syn__probe_bind(const syn__probe *q) {
  q->t->run->tape.training = q->training;
  q->t->run->tape.seed = 12345;
  return syn__bind_labelled(q->t->run, q->b);
}
/* Mean loss per label; infinite where the batch does not fit. */
static double syn__probe_loss(const syn__probe *q) {
  syn_run *r = q->t->run;
  if (syn__probe_bind(q)) return (double)INFINITY;
  syn__forward(&r->tape, r->nodes);
  return syn__loss(r, r->m->config.label_smoothing, 0.0f) / (double)r->n_labels;
}
/* The gradient of all weights, in the trainer, on buffers of NaN. */
static syn_status syn__probe_gradient(const syn__probe *q) {
  syn__check_poison(q->t->run);
  if (syn__probe_bind(q)) return q->t->c->status;
  syn__zero(&q->t->run->tape, q->t->gradient, q->t->floats);
  syn__train_pass(q->t, 1.0f / (float)q->t->run->n_labels);
  return SYN_OK;
}

/* The loss where the parameter is moved by h along the direction; then it is put back. */
static double syn__probe_along(const syn__probe *q, double h) {
  double loss;
  size_t i;
  for (i = 0; i < q->p->size; i++)
    q->p->x[i] = (float)((double)q->keep[i] + h * (double)q->direction[i]);
  loss = syn__probe_loss(q);
  memcpy(q->p->x, q->keep, q->p->size * sizeof(float));
  return loss;
}

/* The slope (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h, whose truncation error is of order h^4; f
   is a float of order 1, so its rounding leaves noise of about 1e-6 / h. One of the h must agree;
   the smallest counts only for gradients above its noise. A kink (relu) near by spoils the
   differences, and then shows in one of two ways: slopes of two h differ, or the slopes to the
   right and to the left do not come together in proportion to h. 1: the gradient agrees; 0: it
   does not; -1: a kink. */
static int syn__probe_one(syn__probe *q) {
  static const double steps[4] = {1.0 / 64, 1.0 / 256, 1.0 / 1024, 1.0 / 4096};
  double g = 0.0, slope[4], second[4], noise[4];
  size_t k;
  int i, kink;
  for (k = 0; k < q->p->size; k++) g += (double)q->gradient[k] * (double)q->direction[k];
  q->got = g;
  for (i = 0; i < 4; i++) {
    double h = steps[i], right = syn__probe_along(q, h), left = syn__probe_along(q, -h);
    double two = syn__probe_along(q, 2 * h) - syn__probe_along(q, -2 * h);
    noise[i] = 1.5e-6 * (q->loss > 4.0 ? q->loss / 4.0 : 1.0) / h;
    slope[i] = (8.0 * (right - left) - two) / (12.0 * h);
    second[i] = (right - 2.0 * q->loss + left) / h;
    if (i == 3 && noise[i] > 1e-3 * fabs(g)) break;
    q->wanted = slope[i];
    if (fabs(slope[i] - g) <= noise[i] + 1e-3 * fabs(g)) return 1;
  }
  kink = fabs(slope[1] - slope[2]) > (noise[1] + noise[2]) / 2.0 ||
         fabs(second[2] - second[1] / 4.0) > noise[2] / 2.0;
  return kink ? -1 : 0;
}

/* Direction i of a parameter. mixed: its gradient and random numbers, each of length 1, added. Else
   one element: that of the largest gradient, then random ones. */
static void syn__probe_move(syn__probe *q, syn_random *r, int mixed, int i) {
  double g2 = 0.0, r2 = 0.0;
  size_t k, n = q->p->size;
  if (!mixed) {
    q->element = i ? (size_t)syn_random_below(r, (int)n) : q->largest;
    memset(q->direction, 0, n * sizeof(float));
    q->direction[q->element] = 1.0f;
    return;
  }
  for (k = 0; k < n; k++) {
    q->direction[k] = syn_random_normal(r);
    g2 += (double)q->gradient[k] * (double)q->gradient[k];
    r2 += (double)q->direction[k] * (double)q->direction[k];
  }
  for (k = 0; k < n; k++)
    q->direction[k] =
        (float)((double)q->direction[k] / sqrt(r2) + (double)q->gradient[k] / sqrt(g2));
}

/* 1: so many directions agree, where others took the place of those that met a kink; 0: one does
   not; -1: there are too many kinks. */
static int syn__probe_some(syn__probe *q, syn_random *r, int mixed, int needed) {
  enum { TRIES = 12 };
  int i, agree = 0, result;
  for (i = 0; agree < needed; i++) {
    syn__probe_move(q, r, mixed, i);
    result = syn__probe_one(q);
    if (result == 0 || (result < 0 && i >= TRIES * needed)) return result;
    agree += result > 0;
  }
  return 1;
}

/* One mixed direction and 3 elements must agree. Where all mixed ones meet kinks, as in deep
   networks of relus, 20 elements must. */
static syn_status syn__probe_param(syn__probe *q) {
  enum { ELEMENTS = 3, MORE_ELEMENTS = 20 };
  const char *dropout = q->training ? " with dropout" : "";
  size_t k, columns = q->p->size / (size_t)q->p->shape[0];
  char element[60] = " along a direction";
  syn_random r = {q->t->m->config.seed};
  double sum = 0.0; /* NaN where an element is: then the differences below refuse it */
  int mixed, result;
  memcpy(q->keep, q->p->x, q->p->size * sizeof(float));
  for (q->largest = k = 0; k < q->p->size; k++) {
    sum += fabs((double)q->gradient[k]);
    if (fabsf(q->gradient[k]) > fabsf(q->gradient[q->largest])) q->largest = k;
  }
  if (sum == 0.0)
    return syn__fail(q->t->c, SYN_E_VALUE, "gradient: that of %s is 0%s", q->p->name, dropout);
  syn__probe_move(q, &r, 1, 0); /* left out: the draws stay those that proved published networks */
  mixed = syn__probe_some(q, &r, 1, 1);
  result = mixed ? syn__probe_some(q, &r, 0, mixed > 0 ? ELEMENTS : MORE_ELEMENTS) : 0;
  if (result > 0) return SYN_OK;
  if (mixed)
    syn__snprintf(element, sizeof element, "[%lu,%lu]", (unsigned long)(q->element / columns),
             (unsigned long)(q->element % columns));
  return syn__fail(q->t->c, SYN_E_VALUE, "gradient: %s%s%s: %.6g, finite differences %.6g%s",
                   q->p->name, element, dropout, q->got, q->wanted,
                   result < 0 ? ", and so for others, all with kinks" : "");
}

/* All parameters; at the end the gradient comes once more, with the same bits. `gradient` [trained]
   is filled. */
static syn_status syn__check_params(syn__probe *q, float *gradient) {
  const syn_model *m = q->t->m;
  size_t i;
  if (syn__probe_gradient(q)) return q->t->c->status;
  memcpy(gradient, q->t->gradient, m->trained * sizeof *gradient);
  q->loss = syn__probe_loss(q);
  for (i = 0; i < m->g.n_params; i++) {
    q->p = &m->g.params[i];
    q->gradient = gradient + q->p->offset;
    if (q->p->trained && syn__probe_param(q)) return q->t->c->status;
  }
  if (syn__probe_gradient(q)) return q->t->c->status;
  if (memcmp(gradient, q->t->gradient, m->trained * sizeof *gradient))
    return syn__fail(q->t->c, SYN_E_VALUE, "gradient: the second time it has other bits");
  return SYN_OK;
}

/* `space` has four parts, each with the floats of all weights: numbers as they are, direction,
   gradient without dropout, gradient with dropout. */
static syn_status syn__check_gradients(syn__checker *k) {
  size_t floats = k->m->floats;
  float *space = (float *)syn__alloc(k->c, 4, floats * sizeof *space);
  syn_train_config config;
  syn__probe q;
  memset(&config, 0, sizeof config);
  memset(&q, 0, sizeof q);
  config.batch_tokens = 2 * SYN__CHECK_SENTENCES * SYN__CHECK_LEN;
  syn__check_batch(k, 0, 5, 0);
  q.b = &k->b;
  q.t = space ? syn_trainer_new(k->c, k->m, &config) : NULL;
  q.keep = space;
  q.direction = space + floats;
  if (q.t && syn__check_params(&q, space + 2 * floats) == SYN_OK) {
    q.training = 1;
    if (syn__probe_gradient(&q) == SYN_OK && /* the same without dropout: nothing is dropped */
        memcmp(space + 2 * floats, q.t->gradient, k->m->trained * sizeof *space))
      syn__check_params(&q, space + 3 * floats);
  }
  syn_trainer_free(q.t);
  syn__free(k->c, space);
  return k->c->status;
}

/* -- networks -- */

syn_status syn_network_check(syn_context *c, const syn_config *config) {
  syn__checker *k = (syn__checker *)syn__alloc(c, 1, sizeof *k);
  if (!k) return SYN_E_MEMORY;
  k->c = c;
  k->m = syn_model_new(c, config);
  if (k->m) {
    k->longest = syn__min(k->m->config.max_len, SYN__CHECK_LEN);
    k->width = k->m->task->classes ? k->m->config.classes : k->m->config.tgt_vocab;
    k->limits.sentences = SYN__CHECK_SENTENCES;
    k->limits.src_rows = k->limits.tgt_rows = SYN__CHECK_SENTENCES * SYN__CHECK_LEN;
    k->limits.length = k->longest;
    k->run = syn_run_new(c, k->m, &k->limits);
    k->wanted = (float *)syn__alloc(c, SYN__CHECK_SENTENCES * SYN__CHECK_LEN,
                                    (size_t)k->width * sizeof(float));
  }
  if (k->run && k->wanted) {
    syn__check_weights(k->m);
    if (syn__check_padding(k) == SYN_OK && k->m->task->decoder) syn__check_causal(k);
    if (c->status == SYN_OK && k->m->task->decoder) syn__check_steps(k);
    if (c->status == SYN_OK && syn__check_file(k) == SYN_OK) syn__check_gradients(k);
  }
  syn__free(c, k->file.items);
  syn__free(c, k->wanted);
  syn_run_free(k->kept);
  syn_run_free(k->run);
  syn_model_free(k->m);
  syn__free(c, k);
  return c->status;
}

/* In the tagger `id` stands beside the text: its input has two readers, so that the gradient of the
   kind is added there, while in the language model it is written first. */
syn_status syn_kind_check(syn_context *c, const syn_kind *kind, const char *text) {
  static const char *const tasks[] = {"lm", "tag"};
  const syn_kind **kinds;
  char *beside;
  syn_context inner;
  syn_config k;
  int i;
  if (!syn__given(c, kind, "kind")) return SYN_E_VALUE;
  if (c->status) return c->status;
  if (!text) text = kind->name;
  inner = *c;
  kinds = (const syn_kind **)syn__alloc(c, (size_t)c->options.n_kinds + 1, sizeof *kinds);
  beside = (char *)syn__alloc(c, strlen(text) + 16, 1);
  if (kinds && beside) {
    kinds[0] = kind;
    for (i = 0; i < c->options.n_kinds; i++) kinds[i + 1] = c->options.kinds[i];
    inner.options.kinds = kinds;
    inner.options.n_kinds = c->options.n_kinds + 1;
    syn__snprintf(beside, strlen(text) + 16, "concat(id | %s)", text);
  }
  memset(&k, 0, sizeof k);
  k.d_model = 8, k.heads = 2, k.max_len = SYN__CHECK_LEN, k.classes = 5, k.dropout = 0.25f;
  k.src_vocab = k.tgt_vocab = 13, k.seed = 5;
  for (i = 0; i < 2 && c->status == SYN_OK; i++) {
    k.task = tasks[i];
    k.encoder = k.decoder = i ? beside : text;
    if (syn_network_check(&inner, &k))
      syn__fail(c, inner.status, "%s, as %s: %s", kind->name, i ? "an encoder" : "a decoder",
                inner.message);
  }
  syn__free(c, (void *)kinds);
  syn__free(c, beside);
  return c->status;
}

/* ==============================================================================================
   >>license   MIT-0 or public domain, at your choice; see LICENSE
   ============================================================================================== */

#if SYN__LEVELS
#pragma GCC pop_options
#endif
#endif /* !SYN_SMALL */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#define SYN__IMPLEMENTED
#endif /* !SYN__ISA */
#endif /* SYNTHESIZER_IMPLEMENTATION */
