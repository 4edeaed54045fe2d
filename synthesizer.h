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

   A WHOLE PROGRAM: it learns that a b c becomes c b a, and says so

     #define SYNTHESIZER_IMPLEMENTATION
     #include "synthesizer.h"
     static int show(void *user, int sentence, int token) { // every token as it is chosen
       return (void)user, token != SYN_END && printf("%d: %c\n", sentence, 'a' + token - 4) < 0;
     }
     int main(void) {
       int src[] = {4, 5, 6, SYN_END}, in[] = {SYN_BEGIN, 6, 5, 4}, out[] = {6, 5, 4, SYN_END}, n;
       syn_batch b = {1, src, in, out, 4, 4}; // one sentence, 4 tokens on each side
       syn_config k = {"seq2seq", "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm",
                       "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm"};
       syn_decode_config beam = {0};
       syn_context c;
       float loss, score;
       k.src_vocab = k.tgt_vocab = 30, k.max_len = 16, beam.beam = 4;
       syn_model *m = syn_context_init(&c, NULL) ? NULL : syn_model_new(&c, &k);
       syn_trainer *t = syn_trainer_new(&c, m, NULL);
       for (n = 0; n < 200; n++) syn_trainer_step(t, &b, 1, &loss);
       syn_model_save(&c, m, "reverse.safetensors");
       m = syn_model_load(&c, "reverse.safetensors"); // or syn_model_view(&c, bytes, size)
       b.tgt = NULL; // from here on the decoder writes it: greedy, then with a beam of 4
       syn_decoder_run(syn_decoder_new(&c, m, NULL), &b, show, NULL);
       syn_decoder *d = syn_decoder_new(&c, m, &beam);
       if (!syn_decoder_run(d, &b, NULL, NULL)) syn_decoder_output(d, 0, 0, &n, &score);
       return puts(c.status ? c.message : "learned"), c.status;
     }

   (It ends at once, so it leaves its memory to the system; every _new has its _free.)

   CONTENTS    grep -n '>>' synthesizer.h is the map: config, types, api, then the implementation,
   where a room calls only rooms above it (below it only public functions):

     base status memory random    sizes, elementary functions, errors, allocator, splitmix64
     words kernels dispatch       one text of every kernel; rows scalar, AVX2, AVX-512, NEON
     tensor tape                  recording operations, planning memory, forward, backward
     kind NAME ... kinds          one room per layer or operation, and the one list of them
     language model loss          text to network; weights and runs; smoothed cross entropy
     optim train decode           Adam and others; data, steps, checkpoints; greedy, beam, sampling
     text file                    tokenizers; safetensors, model files, checkpoints

   THE MODEL    A text is a chain of layers, "->" between them; an encoder reads source tokens, a
   decoder writes target tokens. Building turns the text into a graph of nodes (one operation
   each) and values (tensors between them), checks every shape and names every parameter after its
   place: "encoder.1.0.0.1.w_v". A run gives the graph memory for a batch; forward walks the
   nodes, backward walks them back. A kind of layer is a struct of a name and functions
   (syn_kind); yours can be added through syn_options.kinds. The layers are listed in README.md;
   every room tells its equation.

   LETTERS of shapes:  B sentences of a batch, T and S tokens of target and source, N max_len, d
   width, H heads, c = d/H width of a head, e = H c, V vocabulary. Matrices are row-major; W of y
   = x W^T + b is [out, in]. Rows are tokens: the sentences of a batch lie packed one behind the
   other, so padding costs nothing and changes nothing.

   BUILD OPTIONS    SYN_SELF "synthesizer.h": the name under which the header finds itself.
   SYN_NO_SIMD: only scalar kernels. SYN_NO_STDIO: no files, only memory. SYN_NO_LARGE_PAGES: no
   madvise. SYN_EXACT: fmaf even where it is slow. With -fopenmp, syn_options.threads counts.

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
     - Sources end in 3. Decoder input is 2 y_1 .. y_n, labels are y_1 .. y_n 3.
     - max_len counts begin or end. A longer sentence is an error for layers with a table of it
       (R, D ...).
     - Classes of classify begin at 0. Tags begin at 1 (0: nothing is asked of that token), and
       sources of tag have no end.
     - res needs equal widths; heads must divide d; a decoder of seq2seq needs attention to the
       source.
     - A decoder packs the weights when it is made: make a new one after training on.
     - syn_trainer_new moves the weights of a loaded model; runs and decoders made before keep
       reading the old ones.

   RELEASES    0.1: seq2seq, lm, classify and tag networks of the layers in README.md, and their
   training. */

#ifndef SYNTHESIZER_H
#define SYNTHESIZER_H

/* ==============================================================================================
   >>config   what the compiler and the machine give; every option has a default
   ============================================================================================== */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYN_VERSION "0.1"

#ifndef SYN_SELF
/* the name by which the header includes itself, once per kernel row */
#define SYN_SELF "synthesizer.h"
#endif

/* SYN_NO_SIMD, defined by the user: only the scalar kernels are compiled.
   SYN_EXACT, defined by the user: a machine without fused multiply-add calls fmaf instead of a*b+c.
   SYN_NO_STDIO, defined by the user: no file is opened; models come from memory, go to a sink.
   SYN_NO_LARGE_PAGES, defined by the user: no madvise on Linux, see >>memory. */

#define SYN_MAX_THREADS 64
#define SYN_MAX_TEXT 65536  /* bytes of an architecture text, also with its $NAMEs replaced */
#define SYN_MAX_DEPTH 32    /* chains inside chains */
#define SYN_MAX_NODES 4096  /* operations of one network */
#define SYN_MAX_LAYERS 65536 /* of one network, with those that need no operation */
#define SYN_MAX_PARAMS 16384 /* tensors of weights of one network */
#define SYN_MAX_IN 16       /* inputs of one operation */
#define SYN_MAX_PARAM 48    /* parameters of one operation */
#define SYN_MAX_SAVE 6      /* buffers an operation keeps for its backward pass */
#define SYN_MAX_RANK 4
#define SYN_FILE_RANK 8     /* of a tensor in a file */

/* Token ids every vocabulary begins with. */
enum { SYN_PAD = 0, SYN_UNKNOWN = 1, SYN_BEGIN = 2, SYN_END = 3, SYN_FIRST_TOKEN = 4 };

#define SYN_HASH_START UINT64_C(0xCBF29CE484222325) /* of FNV-1a */

#ifdef __cplusplus
extern "C" {
#endif

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
  X(SYN_E_FORMAT, "a file is not what it should be")

#define SYN__ENUM(name, text) name,
typedef enum syn_status { SYN_STATUS_LIST(SYN__ENUM) SYN_STATUS_COUNT } syn_status;
#undef SYN__ENUM

typedef struct syn_kind syn_kind;       /* a kind of layer, see below */
typedef struct syn_kernels syn_kernels; /* one row of kernels: scalar, avx2, avx512, neon */

/* What a caller may choose about the machine. Zeroed, every field means its default. */
typedef struct syn_options {
  /* 0: malloc. Called only by functions that make something */
  void *(*alloc)(void *user, size_t bytes);
  void (*release)(void *user, void *block);     /* 0: free */
  void *user;                                   /* handed to both */
  const char *isa; /* 0: the best row this machine has; or a row's name, for example "scalar" */
  int threads;                                  /* 0: 1. More need a build with OpenMP */
  /* [n_kinds] kinds of your own, searched before the built-in ones, also for a model that is
     loaded; must outlive every model made with the context. Their functions are trusted */
  const syn_kind *const *kinds;
  int n_kinds;
} syn_options;

/* The context: allocator, kernels, and the first error with its numbers. One per thread of the
   caller; whatever is made with a context refers to it and must be released before it goes. */
typedef struct syn_context {
  syn_options options;
  const syn_kernels *kernels;
  syn_status status;   /* the first failure since syn_context_init or syn_context_clear */
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

/* What a layer costs: `syn info` prints it. */
typedef struct syn_cost {
  double parameters;
  double multiply_adds;    /* per token of a sentence of `length` tokens */
  double decode_bytes;     /* remembered per token already decoded */
  int length;              /* given: tokens of the sentence the cost is asked for */
} syn_cost;

/* How long a saved buffer is needed. */
enum { SYN_FORWARD, SYN_BACKWARD, SYN_BOTH };

/* What a backward pass does without: see `not_needed` of a node. */
enum { SYN_INPUT_NOT_NEEDED = 1, SYN_OUTPUT_NOT_NEEDED = 2, SYN_BOTH_NOT_NEEDED = 3 };

/* How the numbers of a parameter begin: all `amount`; uniform within +-amount; normal with that
   standard deviation; the same, never trained; or as square matrices one below the other, each
   orthogonal and drawn uniformly among those, times amount. Of matrices wider than 1024 only blocks
   of 1024 along the diagonal are drawn, the rest is 0: still orthogonal, and the time for a number
   stays bounded. */
typedef struct syn_initial {
  int kind;
  double amount;
} syn_initial;
enum {
  SYN_INIT_CONSTANT, SYN_INIT_UNIFORM, SYN_INIT_NORMAL, SYN_INIT_FIXED, SYN_INIT_ORTHOGONAL
};

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
  int cache;                     /* floats a decoded token leaves behind for later steps */
  int key_cache; /* further ones, of it or of a source token: see syn__decode_state */
  int source_cache;              /* floats a source token leaves behind for all steps */
  int table;                     /* longest sentence it can take; 0: any */
  float drop;                    /* dropout on the output while training */
  /* What a kind does beyond its contract, to spare passes over memory; 0: nothing of it.
     first_write: backward writes the gradient of an input nobody has come back to yet
     (syn__is_first_write), the tape need not zero it. alias_dx: the gradient of input 0 gets that
     of the output as it stands, so both may be one buffer. own_dropout: the kind, or the one
     reader, does the output's dropout. not_needed: backward reads no number of the inputs
     (SYN_INPUT_NOT_NEEDED), of the output (_OUT), or of both */
  int first_write, alias_dx, own_dropout, not_needed;
  int which;                     /* small arguments of the elementary operations */
  float number;
  /* Attention weights that can be looked at after a pass: of so many heads (0: none), in the saved
     buffer `seen`, sentence by sentence [heads, queries, keys]. seen_keys 0: the keys are the rows
     of the last input's sentence; else that many */
  int seen_heads, seen, seen_keys;
  void *own;                     /* a struct of the kind's own, filled by its shape function */
};

/* A kind of layer or operation: one struct, one room. Give `shape`, with `forward` and (to train)
   `backward`, or `build` alone; `name` and `args` are never null. `forward` may read inputs,
   parameters and write `out` and its saved buffers; `backward` only ever adds into gradients and
   may read of `out` only the sign (dropout has changed it). After `shape` accepted, nothing can
   fail. A kind without `step` computes every row alone: then its forward is its step. */
struct syn_kind {
  const char *name;
  /* "i:n w:act f:scale k:kinds c:chain": type and name of each argument, in order; i integer,
     f number, w word, k kinds joined by +, c chain, C any number of chains; "": none */
  const char *args;
  int drops;        /* 1: ends with dropout on its output */
  /* kinds made of others: tensor id, -1: failed */
  int (*build)(syn_build *b, const syn_layer *l, int x);
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

/* What a model is. Zeroed, a field means what its comment says; texts, names and numbers are
   copied, kinds are not. Limits: d_model 1 to 65536, heads to 4096, max_len to 2^20, vocabularies
   4 to 2^24, classes 2 to 2^24, rates 0 to below 1. */
typedef struct syn_config {
  const char *task;            /* "seq2seq" (0 means that), "lm", "classify", "tag" */
  const char *encoder;         /* architecture text; not for lm */
  const char *decoder;         /* architecture text; seq2seq and lm */
  int d_model;                 /* width of the embeddings; 0: 64 */
  int heads;                   /* of attention layers that do not say; 0: 4 */
  int max_len;                 /* N: longest sentence with its begin or end; 0: 128 */
  int src_vocab, tgt_vocab;    /* sizes of the vocabularies, the four fixed tokens included */
  int classes;                 /* classify and tag */
  const char *tie; /* "none", "out", "all"; 0: "out" where the widths allow, else "none" */
  float dropout;               /* rate of every dropout that does not say its own */
  float label_smoothing;       /* eps of the training loss */
  uint64_t seed;               /* of the initial values */
  const syn_var *vars;         /* the numbers of $NAMEs, [n_vars]; null when there are none */
  int n_vars;
} syn_config;

typedef struct syn_model syn_model;

/* One tensor of weights, row-major; W of y = x W^T + b is [out, in]. Lives as long as its model. */
typedef struct syn_param {
  const char *name;          /* "encoder.1.0.0.1.w_v" */
  int rank, shape[SYN_MAX_RANK];
  size_t size;               /* numbers */
  int trained;               /* 0: never changed by training (Fix) */
  /* 1: products read it as a matrix [shape[0], all else]: rank 2, and a convolution's [n,k,d];
     0: vectors, tables of heads */
  int matrix;
  float *x; /* the numbers, in the model's memory or in the file it was loaded from */
  size_t offset;             /* of its first number in the block of all weights */
} syn_param;

/* A weight `mine` of a model that begins from another one, and stays new: `theirs` has another
   shape or other tokens; null: there is none. `mine` null: `theirs` has no use. */
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

/* How large a batch a run must hold; a larger one is SYN_E_SHAPE. The buffers grow with all
   four. */
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
  size_t decoding;     /* one decoder with the limits given; 0 where the task has none */
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
     noam: 1; adafactor: steps of its own, min(0.01, t^-1/2), which no schedule changes. adafactor
     multiplies either by the size of the tensor (root of the mean square, at least 0.001) */
  float lr;
  long warmup;            /* steps until it is reached, w; 0: it begins there */
  long steps;             /* updates in all; 0: 1000 */
  float beta1;            /* sgd: momentum. 0: 0.9, adafactor: none; below 0: none */
  float beta2, eps;       /* adam and adamw alone; 0: 0.98, 1e-9 */
  float weight_decay;     /* per step, times the learning rate; not for adam */
  float clip;             /* largest norm of the gradient of the mean loss; 0: any */
  int batch_tokens;       /* sentences times their longest side, at most; 0: 4096 */
  int accumulate;         /* batches per update; 0: 1 */
  int length;             /* tokens of the longest sentence; 0: the model's max_len */
  long every;             /* updates between validations; 0: never */
  int average;            /* so many best weights are kept, at most 1000; without validation data
                             the newest. Each takes the memory of all weights that change */
  int patience;           /* plateau: validations without progress before lr is halved; 0: 3 */
  int stop_after;         /* validations without progress before training stops; 0: it does not */
  uint64_t seed;          /* of dropout and of the order of the batches */
  /* names of tensors that stay as they are, patterns with * for any characters between |:
     "src.embed|encoder.*"; 0: none */
  const char *freeze;
} syn_train_config;

/* Where a training is; a checkpoint holds it. */
typedef struct syn_train_state {
  long step, epoch, batch; /* updates done; epoch and batch that come next */
  long tokens;             /* labels seen */
  long validations, worse; /* done; since the best one */
  float rate, factor;      /* learning rate of the last step; what plateau made of it */
  float valid, best;       /* loss of the last and of the best validation; infinite: none was */
  int stopped;             /* by stop_after */
  int diverged; /* loss or gradient of the last step were not finite: it was refused */
} syn_train_state;

/* Span corruption (Raffel et al. 2020): of a text of n tokens, round(n noise) are hidden, at least
   one and at most n - 1, in round(hidden / span) runs, at least one and at most `count`. */
typedef struct syn_corruption {
  float noise;      /* share of the tokens that are hidden; 0: 0.15 */
  float span;       /* mean length of a hidden run, 1 or more; 0: 3 */
  int first, count; /* sentinels: the tokens first .. first + count - 1, of both vocabularies */
} syn_corruption;

/* Called after every update with its loss. `validated`: a validation was due, state->valid is new
   if there are data for it. It may save, evaluate and decode. Nonzero ends this syn_trainer_run. */
typedef int (*syn_report)(void *user, const syn_trainer *t, float loss, int validated);

/* -- decoding -- */

/* How to decode. Zeroed, a field means what its comment says. */
typedef struct syn_decode_config {
  int sentences;      /* at most so many at a time; 0: 1 */
  int source_len;     /* tokens of the longest source with its end; 0: the model's max_len */
  int max_len;        /* tokens of an output at most, L, with its end; 0: the model's max_len */
  int beam;           /* hypotheses per sentence, K; 0: 1, greedy */
  int best;           /* outputs kept per sentence; 0: 1 */
  float alpha;        /* length penalty; 0: 0.6; below 0: none */
  float temperature;  /* 0: the most probable token; else by chance, from p^(1/temperature) */
  int top_k;          /* by chance from so many; 0: from all */
  float top_p;        /* by chance from those that first reach this probability; 0: from all */
  uint64_t seed;      /* of chance */
} syn_decode_config;

/* A token of sentence `sentence` as it is chosen, SYN_END included; nonzero ends the sentence,
   whose output then ends with this token. */
typedef int (*syn_token_callback)(void *user, int sentence, int token);

/* -- text -- */

/* A tokenizer: text to token ids and back. Made by syn_tokenizer_learn or syn_tokenizer_load; never
   changed afterwards, so any number of threads may encode and decode with one at the same time. */
typedef struct syn_tokenizer syn_tokenizer;

/* Flags of syn_tokenizer_learn. SYN_LOWERCASE: upper case becomes lower case first. SYN_SENTINELS:
   behind the vocabulary (of bpe: beyond its SIZE) stand 100 more tokens, <0> to <99>, which no text
   is encoded to: the marks of syn_corrupt. */
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

/* ==============================================================================================
   >>api   the functions, in the order of the implementation
   ============================================================================================== */

/* -- status -- */

/* Prepares a context; `options` may be null. Fails when `isa` names a row this machine does not
   have. */
syn_status syn_context_init(syn_context *c, const syn_options *options);
/* Forgets the recorded error. */
void syn_context_clear(syn_context *c);
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
int syn_random_below(syn_random *r, int n);          /* 0 .. n-1, unbiased; 0 for n <= 0 */

/* -- dispatch -- */

/* The rows of kernels in this build, by rising speed: 0 .. count-1; 0 is "scalar". */
int syn_isa_count(void);
const char *syn_isa_name(int i); /* "scalar", "avx2", "avx512", "neon"; never null */
int syn_isa_usable(int i);       /* 1: this machine has it */
/* 1: results of this context have the bits of every other exact one, whatever the machine; 0: the
   machine lacks fused multiply-add, or flushes denormals (NEON of 32-bit ARM). */
int syn_context_exact(const syn_context *c);

/* -- tensors and tapes of your own -- */

/* A tape with `bytes` for the numbers of its tensors. Operations run as they are recorded; each
   returns its result, or null with the error in the context (a null argument gives null, so that
   only the last result of a formula must be looked at). */
syn_tape *syn_tape_new(syn_context *c, size_t bytes);
void syn_tape_free(syn_tape *t);
void syn_tape_clear(syn_tape *t); /* not_needed all tensors; the memory stays */
/* A tensor of zeros, to be filled through ->x. */
syn_tensor *syn_tensor_new(syn_tape *t, int rank, const int *shape);
/* The numbers as text, one line a row; returns its bytes, writes what fits and a final 0. Null:
   none. */
size_t syn_tensor_text(const syn_tensor *a, char *out, size_t room);
/* b: the shape of a, its last part, or one number */
syn_tensor *syn_add(syn_tensor *a, syn_tensor *b);
syn_tensor *syn_sub(syn_tensor *a, syn_tensor *b);
syn_tensor *syn_mul(syn_tensor *a, syn_tensor *b); /* element by element */
syn_tensor *syn_scale(syn_tensor *x, float s);
syn_tensor *syn_matmul(syn_tensor *a, syn_tensor *b);   /* [m,k] [k,n] -> [m,n] */
syn_tensor *syn_act(syn_tensor *x, const char *name);   /* relu, gelu, tanh, sigmoid, swish */
syn_tensor *syn_softmax(syn_tensor *x);                 /* along the last axis */
syn_tensor *syn_sum(syn_tensor *x);                     /* [1] */
syn_tensor *syn_mean(syn_tensor *x);                    /* [1] */
/* Gradients of a tensor of one number by every tensor of its tape, in ->dx. */
syn_status syn_backward(syn_tensor *loss);
/* Runs the whole tape again, after leaves were changed. */
void syn_tape_forward(syn_tape *t);
/* Largest difference between the gradient of `loss` by `leaf` and the central difference with
   step h, over the largest gradient. Infinite on error. */
float syn_gradient_check(syn_tensor *loss, syn_tensor *leaf, float h);

/* -- for authors of kinds: in `shape` and `build` -- */

int syn_arg_int(syn_build *b, const char *name, int otherwise, int least, int most);
float syn_arg_float(syn_build *b, const char *name, float otherwise, float least, float most);
int syn_arg_word(syn_build *b, const char *name, const char *const *words, int count,
                 int otherwise);
int syn_build_width(const syn_build *b, const syn_node *n, int input);  /* of an input */
/* SYN_SRC, SYN_TGT, SYN_EACH */
int syn_build_stream(const syn_build *b, const syn_node *n, int input);
int syn_build_decoder(const syn_build *b);                              /* 1: must be causal */
const syn_config *syn_build_config(const syn_build *b);
syn_status syn_build_out(syn_build *b, syn_node *n, int stream, int width);
syn_status syn_build_param(syn_build *b, syn_node *n, const char *name, syn_initial init, int rank,
                           const int *shape); /* becomes "path.name", number n_param of the node */
syn_status syn_build_save(syn_build *b, syn_node *n, int life, syn_extent extent);
/* records it with the place in the text */
syn_status syn_build_fail(syn_build *b, const char *message);
/* tensor after the chain, or -1 */
int syn_build_chain(syn_build *b, const syn_layer *chain, int x);
syn_initial syn_initial_of(int kind, double amount);
/* uniform within sqrt(6 / (inputs + outputs)) */
syn_initial syn_initial_glorot(int inputs, int outputs);

/* -- for authors of kinds: in `forward`, `backward`, `step` -- */

syn_tensor *syn_in(const syn_tape *t, const syn_node *n, int i);
syn_tensor *syn_out(const syn_tape *t, const syn_node *n);
const float *syn_weight(const syn_tape *t, const syn_node *n, int i);
float *syn_dweight(const syn_tape *t, const syn_node *n, int i); /* add to it */
float *syn_saved(const syn_tape *t, const syn_node *n, int i);

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
syn_matrix syn_matrix_of(const float *x, int rows, int cols, size_t row);
syn_matrix syn_transposed(syn_matrix a); /* the same memory as [cols,rows] */
/* c [m,n] = bias [n] (null: 0) + a [m,k] b [k,n]; accumulate 1: c += a b. By all threads: not to be
   called inside a task. c has contiguous rows and overlaps neither a nor b. Each element is one sum
   in the order of k, whatever the strides and the number of threads. */
void syn_gemm(syn_tape *t, syn_matrix c, syn_matrix a, syn_matrix b, const float *bias,
              int accumulate);
/* In an encoder the taps are centred on the row, in a decoder they end with it. */
syn_conv syn_conv_of(const syn_build *b, int taps, int dilate);
/* col [rows,taps,width] = the rows of x [rows,width] that each row's taps read; 0 outside its
   sentence. The rows are those of the node's output. Convolution: col W^T, W [out, taps width]. */
void syn_im2col(syn_tape *t, const syn_node *n, const syn_conv *w, syn_matrix x, float *col);
/* dx [rows,width] += the gradient dcol [rows,taps,width] of each row's copies */
void syn_col2im(syn_tape *t, const syn_node *n, const syn_conv *w, const float *dcol,
                syn_matrix dx);

/* The kinds of the language that are built, 0 .. count-1. */
size_t syn_kind_count(void);
const syn_kind *syn_kind_at(size_t i);

/* -- models -- */

/* Builds the network and gives its weights their initial values, which depend on the seed and on
   the name and shape of each tensor alone: layers can be added behind others without changing them.
   Null: a text, a number or a shape is wrong (the context says where), or no memory. */
syn_model *syn_model_new(syn_context *c, const syn_config *config);
void syn_model_free(syn_model *m);
/* With every default resolved and every $NAME replaced. This and all that is asked of a model lives
   as long as it does. */
const syn_config *syn_model_config(const syn_model *m);
size_t syn_model_param_count(const syn_model *m);
const syn_param *syn_model_param(const syn_model *m, size_t i);
const syn_param *syn_model_find(const syn_model *m, const char *name); /* null: there is none */
/* The operations in the order they run; null past the end. */
size_t syn_model_node_count(const syn_model *m);
const syn_node *syn_model_node(const syn_model *m, size_t i);
/* What one operation of the model costs in a sentence of `length` tokens. */
syn_cost syn_model_cost(const syn_model *m, const syn_node *n, int length);
/* Tokenizers that are saved with the model, which then owns them and frees those it had; either may
   be null, both may be the same. That of the target names the classes of classify and tag: class k
   is its token k + 4 for classify ("line" makes one), k + 3 for tag, whose class 0 has no name. */
void syn_model_set_tokenizers(syn_model *m, syn_tokenizer *source, syn_tokenizer *target);
/* SYN_SRC, SYN_TGT; or null */
const syn_tokenizer *syn_model_tokenizer(const syn_model *m, int side);
/* Begins from another model: every weight of m for which `from` has one of the same name and shape
   takes its numbers, the others stay as they are. Embeddings, and the weights of the output, count
   as another shape where both models have tokenizers and these do not have the same tokens in the
   same order. A tied table of `from` serves where m has a table of its own. `report` (may be null)
   is told of what does not fit. Models of two tasks are an error unless `flags` has SYN_OTHER_TASK.
   Returns how many weights were taken; -1: an error. */
enum { SYN_OTHER_TASK = 1 };
int syn_model_init_from(syn_model *m, const syn_model *from, int flags, syn_init_report report,
                        void *user);
/* Bytes needed, from the configuration alone, with nothing allocated but the graph. `train` and
   `decode` may be null: their defaults. *plan is zeroed on failure. */
syn_status syn_plan_of(syn_context *c, const syn_config *config, const syn_train_config *train,
                       const syn_decode_config *decode, syn_plan *plan);
/* FNV-1a of some bytes, continued from `hash`; begin with SYN_HASH_START. */
uint64_t syn_hash(uint64_t hash, const void *bytes, size_t size);

/* -- forward passes -- */

/* Buffers for forward passes whose results can be read. `limits` may be null. The model must
   outlive the run; weights that change between two passes count from the next pass on. */
syn_run *syn_run_new(syn_context *c, const syn_model *m, const syn_limits *limits);
void syn_run_free(syn_run *r);
/* The network over a batch, without dropout. Labels are not needed. */
syn_status syn_run_forward(syn_run *r, const syn_batch *batch);
/* The logits of a sentence [rows, V] after it (classify: [1, classes], tag: [rows, classes]); null
   with *rows 0 when there is no such sentence. They live until the next pass. */
const float *syn_run_logits(const syn_run *r, int sentence, int *rows);
/* classify, tag: the class of row `row` of a sentence after it (classify: row 0) that has `rank`
   classes before it, 0: the most probable; of equal ones the lower number comes first. Class 0 of
   tag is never an answer. *p (may be null): its probability among all classes. -1 with *p 0: no
   such. */
int syn_run_class(const syn_run *r, int sentence, int row, int rank, float *p);
/* The place in the text ("encoder.1.0.0.1") and heads of attention layer i = 0, 1, ...; null: no
   such. */
const char *syn_model_attention(const syn_model *m, int i, int *heads);
/* The attention weights [size[0] queries, size[1] keys] of the last pass; null with sizes 0: no
   such. They live until the next pass. */
const float *syn_run_attention(const syn_run *r, int layer, int head, int sentence, int size[2]);
/* One row of weights [keys] as shades from blank to full, a character for each fifth, in UTF-8.
   Returns its bytes; `out` gets what fits into `room` with a final 0. */
size_t syn_attention_shades(const float *row, int keys, char *out, size_t room);
/* Weights [size[0], size[1]] as a picture file, PGM ("P5", one byte a pixel): a square of cell by
   cell pixels each, from white (0 and below) to black: `full` and above, 0: the largest of them.
   Returns its bytes, all written if they fit into `room`; 0: sizes below 1, or too many bytes. */
size_t syn_attention_picture(const float *weights, const int size[2], int cell, float full,
                             void *out, size_t room);
/* Adds to counts [bins] how many of x [n] lie in each of the equal bins from low to high, high
   included; returns how many lie in none (also what is no number; all of them, where low and high
   are no finite range). Several calls make one histogram, of parameters (syn_param.x) or of
   attention weights. */
size_t syn_histogram(const float *x, size_t n, float low, float high, size_t *counts, int bins);

/* -- training -- */

/* Rows of token ids without begin and end. The tokens are copied. What a row is depends on the task
   of the model that reads it, and is checked there:
     seq2seq   source tokens and target tokens; lm: no source
     classify  source tokens; the target is one number, the class, 0 .. classes-1
     tag       source tokens, at least one; the target is as many tags, 1 .. classes-1, or 0 where
               nothing is asked */
syn_data *syn_data_new(syn_context *c);
void syn_data_free(syn_data *d);
size_t syn_data_count(const syn_data *d); /* rows */
/* One row: n_src source tokens and n_tgt target tokens (classes, tags), at most 2^24 each. */
syn_status syn_data_add(syn_data *d, const int *src, int n_src, const int *tgt, int n_tgt);
/* A long text for lm, cut into rows of `window` tokens that begin every `stride` tokens. With
   stride < window they overlap: the first window - stride tokens of a row are only read, so every
   token counts once. No end token is asked for. */
syn_status syn_data_add_windows(syn_data *d, const int *tokens, size_t count, int window,
                                int stride);
/* The tokens of a row, SYN_SRC or SYN_TGT; null with *length 0: no such. Lives until rows are
   added. */
const int *syn_data_row(const syn_data *d, size_t i, int side, int *length);
/* Makes pre-training data of texts: every row, also of those added later, is a text as source and
   nothing as target; whenever it comes, source and target are made of it by syn_corrupt, in each
   epoch of each seed with other spans, in evaluations always with the same. For seq2seq. */
syn_status syn_data_corrupt(syn_data *d, const syn_corruption *k);
/* Tokens that syn_corrupt writes, without end: n - hidden + runs and hidden + runs; n and 0 where
   n < 2, for then nothing is hidden. */
void syn_corrupt_sizes(const syn_corruption *k, int n, int *n_src, int *n_tgt);
/* src: the n tokens, each hidden run replaced by the next sentinel; tgt: sentinel, run, sentinel,
   run ... (the end token that follows it stands for the last sentinel of the paper). Which tokens
   are hidden is drawn from r: all ways to cut the hidden ones and the others into as many runs, of
   at least one token each, are equally probable. A text begins with tokens that are not hidden. */
void syn_corrupt(const syn_corruption *k, const int *tokens, int n, syn_random *r, int *src,
                 int *tgt);
/* How many batches the first epoch of a training has; 0: it fails. */
size_t syn_data_batches(syn_data *d, int batch_tokens, uint64_t seed);

/* `config` may be null. The trainer changes the weights of the model, which must outlive it. A
   model loaded from a file gets a copy of its weights first. One model, one trainer at a time. */
syn_trainer *syn_trainer_new(syn_context *c, syn_model *m, const syn_train_config *config);
void syn_trainer_free(syn_trainer *t);
const syn_train_state *syn_trainer_state(const syn_trainer *t);
const syn_train_config *syn_trainer_config(const syn_trainer *t); /* with every default resolved */
/* One update from the mean gradient of `count` batches; *loss: mean per label, with smoothing, of
   the weights before the update. After an error nothing was updated; SYN_E_VALUE with
   state->diverged: loss or gradient were not finite. */
syn_status syn_trainer_step(syn_trainer *t, const syn_batch *batches, int count, float *loss);
/* The gradient of the mean loss alone, without dropout; the weights stay. It lives until the next
   call of the trainer; read it, in the shape of the parameter, with syn_trainer_gradient. */
syn_status syn_trainer_backward(syn_trainer *t, const syn_batch *batch, float *loss);
const float *syn_trainer_gradient(const syn_trainer *t, const syn_param *p); /* null: not trained */
/* Adds the losses of one batch, without dropout and smoothing, and how many labels they are of. */
syn_status syn_trainer_batch_loss(syn_trainer *t, const syn_batch *batch, double *sum,
                                  long *labels);
/* Mean loss per label over the data, the same way; *labels: how many. */
syn_status syn_trainer_evaluate(syn_trainer *t, syn_data *d, double *loss, long *labels);
/* The same without a trainer, with memory for batches of so many tokens; 0: 4096. */
syn_status syn_model_evaluate(syn_context *c, const syn_model *m, syn_data *d, int batch_tokens,
                              double *loss, long *labels);
/* Updates until `steps`, early stop, or until `report` returns nonzero; `valid` and `report` may be
   null. A further call goes on. The order of the batches depends on data, batch_tokens and seed
   alone. */
syn_status syn_trainer_run(syn_trainer *t, syn_data *data, syn_data *valid, syn_report report,
                     void *user);
/* A validation now: state->valid, state->best, the kept weights. `valid` may be null. */
syn_status syn_trainer_validate(syn_trainer *t, syn_data *valid);
/* The model's weights become the mean of the kept ones, for the end of a training: the moments of
   the optimizer stay those of the last step. Returns how many they are, 0: none were kept. */
int syn_trainer_average(syn_trainer *t);

/* -- decoding -- */

/* `config` may be null. Many decoders may use one model at the same time, each with its own
   context. The weights are packed as they are now. Memory: sentences * beam * max_len tokens of
   what the layers remember (syn_cost.decode_bytes each), and a copy of the weights. */
syn_decoder *syn_decoder_new(syn_context *c, const syn_model *m, const syn_decode_config *config);
void syn_decoder_free(syn_decoder *d);
/* Decodes b->count sentences: b->src as in training; b->tgt, if not null, is how the outputs
   begin (begin, then tokens; all rows of one length). `call`, if not null, gets every token as
   it is chosen (not with a beam); when it returns nonzero, its sentence ends. */
syn_status syn_decoder_run(syn_decoder *d, const syn_batch *b, syn_token_callback call, void *user);
/* Chance for sentence i comes from seeds[i], not from its place in the batch; read by every later
   syn_decoder_run. Null: from the configuration's seed and the place. */
void syn_decoder_set_seeds(syn_decoder *d, const uint64_t *seeds);
/* Output `rank` (0: the best) of a sentence: *size tokens, the last is SYN_END unless the limit
   came first; null: there is none. *score (may be null): log p / ((5+size)/6)^alpha with a beam,
   else 0. Lives until the next syn_decoder_run. */
const int *syn_decoder_output(const syn_decoder *d, int sentence, int rank, int *size,
                              float *score);

/* -- text -- */

/* Learns a tokenizer from `count` lines. It never emits SYN_PAD, SYN_BEGIN or SYN_END; what it
   does not know is SYN_UNKNOWN; its own tokens follow from SYN_FIRST_TOKEN. `spec` names the kind:
     "byte"      ids 4 .. 259 are the bytes: every text comes back exactly
     "char"      the characters of the lines, in order of code point
     "space"     the words of the lines, the most frequent first (ties: in order of their bytes)
     "line"      whole lines, in order of their bytes: a text is one token. The classes of classify
     "bpe:SIZE"  byte pair encoding (Sennrich, Haddow, Birch 2016) until the vocabulary has SIZE
                 tokens, the 4 fixed ones included, or no pair is left that occurs twice
   Words (of space and bpe) begin at white space (space, tab, line ends) and hold it as their first
   character; one space is put before a text and taken away again by syn_tokenizer_decode. So every
   text of known pieces comes back exactly; for "space" a run of n spaces holds n - 1 empty words,
   known if the lines had one. A byte that is not UTF-8 is SYN_UNKNOWN, except for "byte" and
   "line". `flags`: 0, SYN_LOWERCASE (ASCII, Latin-1, Latin Extended-A, Greek, Cyrillic),
   SYN_SENTINELS or their sum. Null on failure: spec or flags wrong, or no memory. */
syn_tokenizer *syn_tokenizer_learn(syn_context *c, const char *spec, int flags,
                                   const syn_text *lines, size_t count);
void syn_tokenizer_free(syn_tokenizer *t);                  /* null is allowed */
int syn_tokenizer_size(const syn_tokenizer *t);             /* the vocabulary, fixed ids included */
int syn_tokenizer_flags(const syn_tokenizer *t);
/* How many sentinels it has, 100 or 0; they are the tokens *first, *first + 1 ... */
int syn_tokenizer_sentinels(const syn_tokenizer *t, int *first);
const char *syn_tokenizer_type(const syn_tokenizer *t);     /* the spec, for example "bpe:10000" */
/* Writes the first `room` ids of the text, without begin and end, and returns how many it has: a
   call with room 0 measures; no text has more tokens than bytes + 1. Allocates nothing. */
int syn_tokenizer_encode(const syn_tokenizer *t, syn_text text, int *ids, int room);
/* The text of `count` ids: stops at SYN_END, skips SYN_PAD and SYN_BEGIN; SYN_UNKNOWN and ids
   outside the vocabulary become U+FFFD. Returns its bytes. `out` gets the first tokens that fit in
   `room` bytes together with a final 0, which is there whenever room > 0; only "byte" may cut a
   character. */
size_t syn_tokenizer_decode(const syn_tokenizer *t, const int *ids, int count, char *out,
                            size_t room);
/* What one token adds to a text, to print tokens as they come; `first`: nonzero for the first of a
   text, which loses its space. Whole characters, except for "byte". Lives as long as `t`. */
syn_text syn_tokenizer_piece(const syn_tokenizer *t, int id, int first);
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
syn_file *syn_file_load(syn_context *c, const char *path);
#endif
/* The same for a file in memory; `bytes` are not copied and must outlive the syn_file. */
syn_file *syn_file_view(syn_context *c, const void *bytes, size_t size);
/* Releases the file and all that was had from it: entries, pairs, names, data. Null is allowed. */
void syn_file_free(syn_file *f);

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

/* -- model files and checkpoints -- */

/* Writes the model with its tokenizers, weights as F32; a file as syn_file_write does, or into a
   sink. Metadata that came with the file of a loaded model go on with it. */
syn_status syn_model_save_to(syn_context *c, const syn_model *m, const syn_sink *sink);
/* A model from a file in memory. F32 weights at multiples of 4 bytes are used where they lie, so
   the bytes must outlive the model; F16 and BF16 weights are converted into memory of their own.
   Null (SYN_E_FORMAT): no model file, or a tensor missing, surplus or of another shape than the
   network in the metadata wants; the message names it. */
syn_model *syn_model_view(syn_context *c, const void *bytes, size_t size);
const syn_file *syn_model_file(const syn_model *m); /* what it was loaded from, or null */
#ifndef SYN_NO_STDIO
syn_status syn_model_save(syn_context *c, const syn_model *m, const char *path);
syn_model *syn_model_load(syn_context *c, const char *path);
/* A checkpoint is a model file with the optimizer's moments, the kept weights and the place in
   the data; a trainer of the same configuration, on a model of the same texts, that loads it goes
   on as if it had never stopped, bit for bit. A checkpoint that does not fit (optimizer, freeze,
   seed, batch_tokens, accumulate, every, shapes) is refused, and then trainer and model are what
   they were. */
syn_status syn_trainer_save(syn_context *c, const syn_trainer *t, const char *path);
syn_status syn_trainer_load(syn_trainer *t, const char *path);
#endif

#ifdef __cplusplus
}
#endif
#endif /* SYNTHESIZER_H */

#if defined(SYNTHESIZER_IMPLEMENTATION) && !defined(SYN__IMPLEMENTED)
#ifndef SYN__ISA /* inside a row's pass only >>words and >>kernels are compiled, see >>dispatch */

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

/* gcc -O2 spends most of its time on code in which a program spends none. 1: rooms say how much is
   worth doing there (O1, Og), which halves the compile time. Not for -O0, nor for -Os, where O1
   made the whole a tenth larger. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    !defined(__OPTIMIZE_SIZE__)
#define SYN__LEVELS 1
#else
#define SYN__LEVELS 0
#endif

/* ==============================================================================================
   >>base   includes, checked sizes, elementary functions that give the same bits everywhere
   ============================================================================================== */

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) && !defined(SYN_NO_LARGE_PAGES)
#include <sys/mman.h>
#endif

/* Forced: left to itself, gcc -O2 calls the words of a kernel and hands their vectors over in
   memory. The formats are checked by the compiler, since messages carry names that come from
   files. */
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
  vsnprintf(c->message, sizeof c->message, format, args);
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

/* ==============================================================================================
   >>memory   the caller's allocator, aligned blocks, growing arrays, the arena of a graph
   ============================================================================================== */

#define SYN__ALIGN 64 /* bytes: one cache line, one AVX-512 register */

/* A large block of the default allocator asks Linux for pages of 2 MB where the system grants them
   on request. A step walks through all its memory once, and so meets every page anew: with pages
   of 4 KB, under a hypervisor, the search for their addresses took 40 % of a training step. It is a
   hint: a system that knows no such pages changes nothing, and errno may be set. Built with
   -std=c99, the C library shows no madvise, and nothing is asked. */
#if defined(__linux__) && defined(MADV_HUGEPAGE) && !defined(SYN_NO_LARGE_PAGES)
#define SYN__LARGE_PAGE ((size_t)1 << 21)
/* From a boundary of such pages on, so that the beginning of the block stands in one, too. */
static void *syn__malloc(size_t bytes) {
  void *block = NULL;
  if (bytes < 2 * SYN__LARGE_PAGE) return malloc(bytes);
  if (posix_memalign(&block, SYN__LARGE_PAGE, bytes)) return NULL;
  madvise(block, bytes / SYN__LARGE_PAGE * SYN__LARGE_PAGE, MADV_HUGEPAGE);
  return block;
}
#else
static void *syn__malloc(size_t bytes) { return malloc(bytes); }
#endif

/* The defaults, which need no user pointer. */
static void *syn__default_alloc(void *user, size_t bytes) {
  SYN__UNUSED(user);
  return syn__malloc(bytes);
}
static void syn__default_release(void *user, void *block) {
  SYN__UNUSED(user);
  free(block);
}

/* `count` elements of `size` bytes, zeroed, at a multiple of 64; null (recorded) when there is
   no room. Zeroed, for a struct half filled when an error comes must be fit to be freed. The
   caller's allocator promises no alignment, so there is room for any, and in front of what is
   returned stands what must be given back:
     block: [0 to 63 bytes unused] [the pointer `block`] [count * size bytes, from a multiple of 64]
   It is copied in and out: `at` moves by whatever alignment wants, a pointer may not. */
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

/* Makes room for `need` elements in an array of *cap elements; keeps what is there, the rest is
   zero. `at` is where the pointer to the array stands; that pointer has a type of its own, so it is
   copied, not read through a void **. Twice the room each time: n elements added one by one are
   moved O(n) times in all. After a failure the array is as it was. */
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

/* Small objects that live and die together (the graph of a model): chunks in a list, each a header
   of SYN__ALIGN bytes and `size` bytes of room behind it. */
typedef struct syn__chunk {
  struct syn__chunk *next;
  size_t used, size;
} syn__chunk;
typedef struct syn__arena {
  syn_context *c;
  syn__chunk *chunks;
} syn__arena;

/* `count` elements of `size` bytes, zeroed, at a multiple of 16; null (recorded) when there is no
   room. They go with the arena, never alone. An object larger than a chunk gets one of its own. A
   size that does not fit is SIZE_MAX here and no chunk: it must not be made smaller, the caller
   would write behind it. */
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

#define SYN__BLOCK 64 /* elements of a block of the kernel `tops` */
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
typedef struct syn__descent {
  float rate;       /* learning rate */
  float beta, rest; /* momentum = beta momentum + rest update */
  float decay;      /* weight decay, already times the learning rate */
} syn__descent;

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
typedef struct syn__taps {
  const float *w; /* [heads,taps] of row r at w + r * w_row */
  size_t w_row;   /* 0: one w for all rows */
  /* width is a multiple of heads, first is 1-taps to 0: a row sees itself */
  int rows, width, heads, taps, first;
} syn__taps;

/* Additive attention scores of one query (Bahdanau et al. 2015): w, a [n], b [keys,n], rows of b
   b_row floats apart. */
typedef struct syn__additive {
  const float *w, *a, *b;
  size_t n, keys, b_row;
} syn__additive;

/* Attention output of one new token over `count` keys: y_h [c] = sum_j p_hj v_j,h, where head h has
   the columns h c .. (h+1) c - 1 of y and v. Row j of v is at[j]; j where `at` is null. */
typedef struct syn__mixed {
  const float *p, *v; /* [heads, p_row] of which count are read; rows of v, v_row floats apart */
  const int *at;
  size_t p_row, v_row, count, heads, c;
} syn__mixed;

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
  void (*values)(float *y, const syn__mixed *j);
  /* z[16 j + l] = sum_i x_i q[(j n + i) 16 + l], j < panels, l < 16: panels of int8 */
  void (*gemv_int8)(float *z, const float *x, const signed char *q, size_t n, size_t panels);
  float (*max)(const float *x, size_t n);
  /* tops[j] = max of x[j SYN__BLOCK ..], SYN__BLOCK elements or what is left */
  void (*tops)(float *tops, const float *x, size_t n);
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
  /* db[c] += sum over rows of dy[row,c], c0 <= c < c1, rows in order */
  void (*column_sums)(float *db, const float *dy, size_t rows, size_t width, size_t c0, size_t c1);
  /* rows r0..r1: y = convolution of u; du += its gradient from dy */
  void (*taps)(const syn__taps *j, float *y, const float *u, int r0, int r1);
  void (*taps_back)(const syn__taps *j, float *du, const float *dy, int r0, int r1);
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
  void (*descend)(const syn__descent *d, float *w, float *m, const float *g, const float *root,
                  size_t n);
};

/* The dispatch section includes this header into itself once per ISA, with SYN__ISA set; every name
   in such a pass has the suffix of its ISA, so that all of them live in one object file. One file
   per ISA would need flags of its own: a user compiles one file with plain cc -O2. One copy of the
   code per ISA would diverge. The ISAs are numbers, since the preprocessor compares no names. */
#define SYN__ISA_SCALAR 0
#define SYN__ISA_FUSED 1 /* scalar, with fmaf as one instruction */
#define SYN__ISA_AVX2 2
#define SYN__ISA_AVX512 3
#define SYN__ISA_NEON 4

/* Two macros, since an argument of ## is not expanded and SYN__SUFFIX must be. */
#define SYN__PASTE2(a, b) a##b
#define SYN__PASTE(a, b) SYN__PASTE2(a, b)
#define SYN__N(name) SYN__PASTE(syn__##name##_, SYN__SUFFIX)

#include <float.h>
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
   SYN_EXACT asks for the same bits. */
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

/* The SIMD operations are used without their suffix. v: a vector of 16 floats, u: of 16 unsigned
   integers of 32 bits. These macros serve all ISAs: SYN__SUFFIX is expanded where one is used. */
#define syn__reg SYN__N(reg)
#define syn__ireg SYN__N(ireg)
#define syn__v16 SYN__N(v16)
#define syn__u16 SYN__N(u16)
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
#define syn__vkeep SYN__N(vkeep)
#define syn__ucast SYN__N(ucast)
#define syn__uset SYN__N(uset)
#define syn__uiota SYN__N(uiota)
#define syn__uadd SYN__N(uadd)
#define syn__uxor SYN__N(uxor)
#define syn__umul SYN__N(umul)
#define syn__ushr SYN__N(ushr)
#define syn__vexp SYN__N(vexp)
#define syn__vneg SYN__N(vneg)
#define syn__vsigmoid SYN__N(vsigmoid)
#define syn__vtanh SYN__N(vtanh)

/* Compared with n, these numbers tell which lanes of a tail exist. */
static const float syn__iota[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const float syn__zeros[16 * 8] = {0}; /* where the sums of up to 8 panels start */

/* Added to a variance. A part of the model: with another eps its weights give other outputs. */
#define SYN__NORM_EPS 1e-6f

/* The sum of one row of a depthwise convolution: `count` steps through taps and rows. */
typedef struct syn__span {
  const float *w, *x;
  ptrdiff_t w_step, x_step;
  int count;
} syn__span;

#define SYN__L2_FLOATS 65536 /* floats of b that stay in the second-level cache */

#endif /* !SYN__ISA */
#ifdef SYN__ISA

/* ==============================================================================================
   >>simd   SIMD operations on vectors of 16 floats, over the registers of one ISA
   ============================================================================================== */

/* A vector of 16 lanes consists of SYN__REGS registers of SYN__LANES floats. An ISA defines the
   operations on one register: syn__r... on floats, syn__i... on unsigned integers of 32 bits; those
   on vectors, syn__v... and syn__u..., are written once below. rselect(a, b, x, y): a > b ? x : y
   in every lane, y for a NaN. rswapH(a): lane l gets lane l^H. rmixH(a, b, mask): lane l^H of b
   where the mask has bit l, else a.

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
typedef __m512i syn__ireg;
#define syn__rset _mm512_set1_ps
#define syn__rload _mm512_loadu_ps
#define syn__rstore _mm512_storeu_ps
#define syn__rload_i8(p)            \
  _mm512_maskz_cvtepi32_ps(SYN__ALL, _mm512_maskz_cvtepi8_epi32( \
      SYN__ALL, _mm_loadu_si128((const __m128i *)(p))))
#define syn__radd _mm512_add_ps
#define syn__rsub _mm512_sub_ps
#define syn__rmul _mm512_mul_ps
#define syn__rdiv _mm512_div_ps
#define syn__rsqrt(a) _mm512_maskz_sqrt_ps(SYN__ALL, a)
#define syn__rfma _mm512_fmadd_ps
#define syn__rselect(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), y, x)
#define syn__rfirst _mm512_cvtss_f32
#define syn__rswap8(a) _mm512_maskz_shuffle_f32x4(SYN__ALL, a, a, 0x4E)
#define syn__rswap4(a) _mm512_maskz_shuffle_f32x4(SYN__ALL, a, a, 0xB1)
#define syn__rswap2(a) _mm512_maskz_permute_ps(SYN__ALL, a, 0x4E)
#define syn__rswap1(a) _mm512_maskz_permute_ps(SYN__ALL, a, 0xB1)
#define syn__rmix8(a, b, m) _mm512_mask_shuffle_f32x4(a, (__mmask16)(m), b, b, 0x4E)
#define syn__rmix4(a, b, m) _mm512_mask_shuffle_f32x4(a, (__mmask16)(m), b, b, 0xB1)
#define syn__rmix2(a, b, m) _mm512_mask_permute_ps(a, (__mmask16)(m), b, 0x4E)
#define syn__rmix1(a, b, m) _mm512_mask_permute_ps(a, (__mmask16)(m), b, 0xB1)
#define syn__rcast _mm512_castsi512_ps
#define syn__rmax(a, b) _mm512_maskz_max_ps(SYN__ALL, a, b)
#define syn__rmin(a, b) _mm512_maskz_min_ps(SYN__ALL, a, b)
#define syn__rkeep(a, h, least) _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(h, least), a)
#define syn__icast _mm512_castps_si512
#define syn__iset(x) _mm512_set1_epi32((int)(x))
#define syn__iadd _mm512_add_epi32
#define syn__ixor _mm512_xor_si512
#define syn__imul _mm512_mullo_epi32
#define syn__ishl(a, n) _mm512_maskz_sllv_epi32(SYN__ALL, a, _mm512_set1_epi32(n))
#define syn__ishr(a, n) _mm512_maskz_srlv_epi32(SYN__ALL, a, _mm512_set1_epi32(n))

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
typedef __m256i syn__ireg;
#define syn__rset _mm256_set1_ps
#define syn__rload _mm256_loadu_ps
#define syn__rstore _mm256_storeu_ps
#define syn__rload_i8(p) \
  _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#define syn__radd _mm256_add_ps
#define syn__rsub _mm256_sub_ps
#define syn__rmul _mm256_mul_ps
#define syn__rdiv _mm256_div_ps
#define syn__rsqrt _mm256_sqrt_ps
#define syn__rfma _mm256_fmadd_ps
#define syn__rselect(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_GT_OQ))
#define syn__rfirst _mm256_cvtss_f32
#define syn__rswap4(a) _mm256_permute2f128_ps(a, a, 1)
#define syn__rswap2(a) _mm256_permute_ps(a, 0x4E)
#define syn__rswap1(a) _mm256_permute_ps(a, 0xB1)
#define syn__rmix4(a, b, m) _mm256_blend_ps(a, syn__rswap4(b), (m) & 255)
#define syn__rmix2(a, b, m) _mm256_blend_ps(a, syn__rswap2(b), (m) & 255)
#define syn__rmix1(a, b, m) _mm256_blend_ps(a, syn__rswap1(b), (m) & 255)
#define syn__rcast _mm256_castsi256_ps
#define syn__rmax _mm256_max_ps
#define syn__rmin _mm256_min_ps
#define syn__rkeep(a, h, least) \
  _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(h, least), h)))
#define syn__icast _mm256_castps_si256
#define syn__iset(x) _mm256_set1_epi32((int)(x))
#define syn__iadd _mm256_add_epi32
#define syn__ixor _mm256_xor_si256
#define syn__imul _mm256_mullo_epi32
#define syn__ishl _mm256_slli_epi32
#define syn__ishr _mm256_srli_epi32

#elif SYN__ISA == SYN__ISA_NEON
/* NEON takes the addend of an fma first; a right shift is a left shift by a negative number. */
#define SYN__ISA_NAME "neon"
#define SYN__REGS 4
#define SYN__LANES 4
typedef float32x4_t syn__reg;
typedef uint32x4_t syn__ireg;
/* masks of lanes: 2 and 3, 0 and 1 from the third on; odd ones from the seventh, even ones from the
   eighth */
static const uint32_t syn__lanes[11] = {0, 0, ~0u, ~0u, 0, 0, 0, ~0u, 0, ~0u, 0};
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
#define syn__rswap2(a) vextq_f32(a, a, 2)
#define syn__rswap1(a) vrev64q_f32(a)
#define syn__rmix2(a, b, m) vbslq_f32(vld1q_u32(syn__lanes + ((m) & 4 ? 0 : 2)), syn__rswap2(b), a)
#define syn__rmix1(a, b, m) vbslq_f32(vld1q_u32(syn__lanes + ((m) & 2 ? 6 : 7)), syn__rswap1(b), a)
#define syn__rcast vreinterpretq_f32_u32
#define syn__rmax(a, b) syn__rselect(a, b, a, b)
#define syn__rmin(a, b) syn__rselect(b, a, a, b)
#define syn__rkeep(a, h, least) \
  vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vcgeq_u32(h, least)))
#define syn__icast vreinterpretq_u32_f32
#define syn__iset vdupq_n_u32
#define syn__iadd vaddq_u32
#define syn__ixor veorq_u32
#define syn__imul vmulq_u32
#define syn__ishl(a, n) vshlq_u32(a, vdupq_n_s32(n))
#define syn__ishr(a, n) vshlq_u32(a, vdupq_n_s32(-(n)))
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
#define syn__rdiv vdivq_f32
#define syn__rsqrt vsqrtq_f32
#else
/* 16 registers: 8 sums, 4 of b, 1 of a. This NEON flushes denormals and has no division. */
#define SYN__ISA_EXACT 0
#define SYN__MR 2
#define SYN__NR 1
#define SYN__ROWS_2 2
#define SYN__PANELS_2 1
#define SYN__PANELS_1 2
#define SYN__K_UNROLL 1
SYN__INLINE syn__reg SYN__N(rdiv)(syn__reg a, syn__reg b) {
  float x[4], y[4];
  int i;
  vst1q_f32(x, a);
  vst1q_f32(y, b);
  for (i = 0; i < 4; i++) x[i] /= y[i];
  return vld1q_f32(x);
}
SYN__INLINE syn__reg SYN__N(rsqrt)(syn__reg a) {
  float x[4];
  int i;
  vst1q_f32(x, a);
  for (i = 0; i < 4; i++) x[i] = sqrtf(x[i]);
  return vld1q_f32(x);
}
#define syn__rdiv SYN__N(rdiv)
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
#define syn__rdiv(a, b) ((a) / (b))
#define syn__rsqrt sqrtf
#define syn__rfma syn__fma1
#define syn__rselect(a, b, x, y) ((a) > (b) ? (x) : (y))
#define syn__rfirst(a) (a)
#define syn__rmax(a, b) ((a) > (b) ? (a) : (b))
#define syn__rmin(a, b) ((a) < (b) ? (a) : (b))
#define syn__rkeep(a, h, least) ((h) >= (least) ? (a) : 0.0f)
#define syn__iset(x) (x)
#define syn__iadd(a, b) ((a) + (b))
#define syn__ixor(a, b) ((a) ^ (b))
#define syn__imul(a, b) ((a) * (b))
#define syn__ishl(a, n) ((a) << (n))
#define syn__ishr(a, n) ((a) >> (n))
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
typedef struct syn__u16 {
  syn__ireg p[SYN__REGS];
} syn__u16;

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
  SYN__EACH(a.p[i] = syn__rdiv(a.p[i], b.p[i]));
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
/* h >= least ? a : 0, compared as unsigned integers */
SYN__OP syn__v16 syn__vkeep(syn__v16 a, syn__u16 h, syn__u16 least) {
  SYN__EACH(a.p[i] = syn__rkeep(a.p[i], h.p[i], least.p[i]));
  return a;
}
SYN__OP syn__u16 syn__ucast(syn__v16 a) {
  syn__u16 r;
  SYN__EACH(r.p[i] = syn__icast(a.p[i]));
  return r;
}
/* Integers wrap modulo 2^32: hashes, and exponents of floats. */
SYN__OP syn__u16 syn__uset(uint32_t x) {
  syn__u16 r;
  SYN__EACH(r.p[i] = syn__iset(x));
  return r;
}
SYN__OP syn__u16 syn__uadd(syn__u16 a, syn__u16 b) {
  SYN__EACH(a.p[i] = syn__iadd(a.p[i], b.p[i]));
  return a;
}
SYN__OP syn__u16 syn__uxor(syn__u16 a, syn__u16 b) {
  SYN__EACH(a.p[i] = syn__ixor(a.p[i], b.p[i]));
  return a;
}
SYN__OP syn__u16 syn__umul(syn__u16 a, syn__u16 b) {
  SYN__EACH(a.p[i] = syn__imul(a.p[i], b.p[i]));
  return a;
}
SYN__OP syn__u16 syn__ushr(syn__u16 a, int n) {
  SYN__EACH(a.p[i] = syn__ishr(a.p[i], n));
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
  r.p[0] = _mm256_maskload_ps(x, SYN__N(mask)(n, 0));
  r.p[1] = _mm256_maskload_ps(x + 8, SYN__N(mask)(n, 1));
  return r;
}
SYN__INLINE void SYN__N(tail_store)(float *y, syn__v16 a, size_t n) {
  _mm256_maskstore_ps(y, SYN__N(mask)(n, 0), a.p[0]);
  _mm256_maskstore_ps(y + 8, SYN__N(mask)(n, 1), a.p[1]);
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

/* 0, 1, ... 15 */
SYN__OP syn__u16 syn__uiota(void) {
  /* the bits of 2^23 + l are the bits of 2^23, plus l: no conversion is needed */
  syn__v16 big = syn__vset(8388608.0f);
  return syn__uxor(syn__ucast(syn__vadd(big, syn__vload(syn__iota))), syn__ucast(big));
}

/* The tree: whole registers first, then within one. A swap and an addition give every lane the sum
   of its pair; lane 0 has the defined bits since a + b = b + a. No instruction for the sum of a
   register is used: its order depends on the machine. */
SYN__OP float syn__vsum(syn__v16 a) {
  int h, i;
  for (h = SYN__REGS / 2; h > 0; h /= 2)
    for (i = 0; i < h; i++) a.p[i] = syn__radd(a.p[i], a.p[i + h]);
#if SYN__LANES > 8
  a.p[0] = syn__radd(a.p[0], syn__rswap8(a.p[0]));
#endif
#if SYN__LANES > 4
  a.p[0] = syn__radd(a.p[0], syn__rswap4(a.p[0]));
#endif
#if SYN__LANES > 1
  a.p[0] = syn__radd(a.p[0], syn__rswap2(a.p[0]));
  a.p[0] = syn__radd(a.p[0], syn__rswap1(a.p[0]));
#endif
  return syn__rfirst(a.p[0]);
}
/* The largest lane, by the same tree, since 0 and -0 compare equal; no lane may be NaN. */
SYN__OP float syn__vmax_lane(syn__v16 a) {
  int h, i;
  for (h = SYN__REGS / 2; h > 0; h /= 2)
    for (i = 0; i < h; i++) a.p[i] = syn__rmax(a.p[i], a.p[i + h]);
#if SYN__LANES > 8
  a.p[0] = syn__rmax(a.p[0], syn__rswap8(a.p[0]));
#endif
#if SYN__LANES > 4
  a.p[0] = syn__rmax(a.p[0], syn__rswap4(a.p[0]));
#endif
#if SYN__LANES > 1
  a.p[0] = syn__rmax(a.p[0], syn__rswap2(a.p[0]));
  a.p[0] = syn__rmax(a.p[0], syn__rswap1(a.p[0]));
#endif
  return syn__rfirst(a.p[0]);
}

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
  power = syn__ishl(syn__icast(n), 23);
  n = syn__rsub(n, round);
  r = syn__rfma(n, syn__rset(-0.693359375f), z);
  r = syn__rfma(n, syn__rset(2.12194440e-4f), r);
  q = syn__rfma(r, syn__rset(0.00139264006f), syn__rset(0.00836335309f));
  q = syn__rfma(r, q, syn__rset(0.0416665524f));
  q = syn__rfma(r, q, syn__rset(0.166665763f));
  q = syn__rfma(r, q, syn__rset(0.5f));
  q = syn__rfma(syn__rmul(r, r), q, r);
  q = syn__radd(q, syn__rset(1.0f));
  q = syn__rcast(syn__iadd(syn__icast(q), power));
  q = syn__rfma(z, zero, q);
  return syn__rselect(low, x, zero, q);
}

/* sigmoid: sigma(x) = 1 / (1 + e), from e = e^-x. Its derivative is sigma (1 - sigma) = (e sigma)
 * sigma. */
SYN__INLINE syn__reg SYN__N(sigmoid)(syn__reg e) {
  const syn__reg one = syn__rset(1.0f);
  return syn__rdiv(one, syn__radd(one, e));
}
/* -x for the e of sigma, at most 87: the reciprocal of e^87 is still a normal number. */
SYN__INLINE syn__reg SYN__N(neg)(syn__reg x) {
  const syn__reg least = syn__rset(-87.0f);
  x = syn__rmax(least, x);
  return syn__rsub(syn__rset(0.0f), x);
}

/* tanh x, from e = e^2|x|: sign(x) (1 - 2 / (1 + e)); where that would cancel, |x| < 0.625, it is
   x + x^3 p(x^2), p of degree 4 (Chebyshev fit, relative error 2e-8). */
SYN__INLINE syn__reg SYN__N(tanh)(syn__reg x, syn__reg e) {
  const syn__reg zero = syn__rset(0.0f), one = syn__rset(1.0f), edge = syn__rset(0.625f * 0.625f);
  syn__reg x2 = syn__rmul(x, x), p, far = SYN__N(sigmoid)(e), close;
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
SYN__OP syn__v16 syn__vneg(syn__v16 a) {
  SYN__EACH(a.p[i] = SYN__N(neg)(a.p[i]));
  return a;
}
SYN__OP syn__v16 syn__vtanh(syn__v16 a, syn__v16 e) {
  SYN__EACH(a.p[i] = SYN__N(tanh)(a.p[i], e.p[i]));
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

/* One step of a transpose: registers i and i + h exchange half of their lanes. After the steps
   h = LANES/2 ... 2, 1 for all i without bit h, lane l of register i is lane i of register l. */
#if SYN__LANES > 8
SYN__INLINE void SYN__N(swap_lanes8)(syn__reg *low, syn__reg *high) {
  syn__reg a = *low, b = *high;
  *low = syn__rmix8(a, b, 0xFF00);
  *high = syn__rmix8(b, a, 0x00FF);
}
#endif
#if SYN__LANES > 4
SYN__INLINE void SYN__N(swap_lanes4)(syn__reg *low, syn__reg *high) {
  syn__reg a = *low, b = *high;
  *low = syn__rmix4(a, b, 0xF0F0);
  *high = syn__rmix4(b, a, 0x0F0F);
}
#endif
#if SYN__LANES > 1
SYN__INLINE void SYN__N(swap_lanes2)(syn__reg *low, syn__reg *high) {
  syn__reg a = *low, b = *high;
  *low = syn__rmix2(a, b, 0xCCCC);
  *high = syn__rmix2(b, a, 0x3333);
}
SYN__INLINE void SYN__N(swap_lanes1)(syn__reg *low, syn__reg *high) {
  syn__reg a = *low, b = *high;
  *low = syn__rmix1(a, b, 0xAAAA);
  *high = syn__rmix1(b, a, 0x5555);
}
#endif
/* dst = transpose of a LANES x LANES block of src, whose rows are `row` floats apart; rows of dst
   are 16 floats apart. Only the first `rows` rows of src exist, the others count as 0. */
SYN__INLINE void SYN__N(transpose_block)(const float *src, size_t row, int rows, float *dst) {
  syn__reg r[SYN__LANES];
  int i;
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    r[i] = i < rows ? syn__rload(src + (size_t)i * row) : syn__rset(0.0f);
#if SYN__LANES > 8
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    if (!(i & 8)) SYN__N(swap_lanes8)(&r[i], &r[i + 8]);
#endif
#if SYN__LANES > 4
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    if (!(i & 4)) SYN__N(swap_lanes4)(&r[i], &r[i + 4]);
#endif
#if SYN__LANES > 1
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    if (!(i & 2)) SYN__N(swap_lanes2)(&r[i], &r[i + 2]);
  SYN__UNROLL for (i = 0; i < SYN__LANES; i++)
    if (!(i & 1)) SYN__N(swap_lanes1)(&r[i], &r[i + 1]);
#endif
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
      SYN__N(swap_lanes8)(&low.p[0], &high.p[0]);
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
   tile of a large c prefetches its places of c, or its stores would wait for memory. */
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
/* 6 x 4 panels, for a b of four panels: heads of width 64 */
SYN__NOINLINE void SYN__N(micro_four)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 6, 4, SYN__FULL_TILE);
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
SYN__NOINLINE void SYN__N(micro_1_edge)(const syn__product *p, int m, int j) {
  SYN__N(micro)(p, m, j, 1, 1, SYN__EDGE_TILE);
}

/* Row tiles, largest first; the later ones take the rows that are left. The fewer the rows, the
   more panels: an fma takes about 4 cycles and two begin in each: at least 8 sums are needed. */
static const syn__row_tile SYN__N(row_tiles)[] = {
#if SYN__NR == 3
    {6, 4, SYN__N(micro_four), NULL, SYN__N(micro_edge)},
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
    {1, SYN__PANELS_1, SYN__N(micro_1_full), NULL, SYN__N(micro_1_edge)},
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
  const int step = SYN__N(panels_in_cache)(p, m1 - m0), has_four = SYN__NR == 3;
  const syn__row_tile *s;
  for (; p0 < p1; p0 += step) {
    const int end = syn__min(p1, p0 + step), whole = syn__min(end, p->c.cols / 16);
    const int four = has_four && whole - p0 == 4 && whole == end && !p->a.panel && !p->streamed;
    int m = m0, j, first = p->streamed ? SYN__N(gemm_streamed)(p, m0, m1, p0, whole) : p0;
    int last = four && (m1 - m0) % 6 == 2 ? m1 - 8 : m1; /* leave 8 rows, not 2 */
    for (s = SYN__N(row_tiles) + (has_four && !four); m < m1; s++, first = p0, last = m1)
      for (; m + s->rows <= last; m += s->rows) { /* loop 2 */
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

/* Four panels at a time, so that four sums are independent. An int8 costs one conversion more than
   a float and a quarter of the memory traffic. */
static void SYN__N(gemv_int8)(float *z, const float *x, const signed char *q, size_t n,
                          size_t panels) {
  const size_t row = 16 * n;
  size_t i;
  syn__v16 s0, s1, s2, s3, b;
  for (; panels >= 4; panels -= 4, z += 64, q += 4 * row) {
    s0 = s1 = s2 = s3 = syn__vset(0.0f);
    for (i = 0; i < n; i++) {
      const signed char *at = q + 16 * i;
      b = syn__vload_i8(at), syn__vfma1(&s0, x[i], &b);
      b = syn__vload_i8(at + row), syn__vfma1(&s1, x[i], &b);
      b = syn__vload_i8(at + 2 * row), syn__vfma1(&s2, x[i], &b);
      b = syn__vload_i8(at + 3 * row), syn__vfma1(&s3, x[i], &b);
    }
    syn__vstore(z, s0), syn__vstore(z + 16, s1);
    syn__vstore(z + 32, s2), syn__vstore(z + 48, s3);
  }
  for (; panels > 0; panels--, z += 16, q += row) {
    s0 = syn__vset(0.0f);
    for (i = 0; i < n; i++) b = syn__vload_i8(q + 16 * i), syn__vfma1(&s0, x[i], &b);
    syn__vstore(z, s0);
  }
}

/* -- attention of one new token -- */

/* A vector holds 16 keys of a head; four heads at a time, so that four sums are independent. Every
   score is one chain over i. */
static void SYN__N(scores)(float *s, size_t s_row, const float *q, const float *k, size_t heads,
                           size_t c) {
  const syn__v16 zero = syn__vset(0.0f);
  syn__v16 s0, s1, s2, s3, b;
  size_t i;
  for (; heads >= 4; heads -= 4, s += 4 * s_row, q += 4 * c, k += 64 * c) {
    s0 = s1 = s2 = s3 = zero;
    for (i = 0; i < c; i++) {
      b = syn__vload(k + 16 * i), syn__vfma1(&s0, q[i], &b);
      b = syn__vload(k + 16 * (i + c)), syn__vfma1(&s1, q[i + c], &b);
      b = syn__vload(k + 16 * (i + 2 * c)), syn__vfma1(&s2, q[i + 2 * c], &b);
      b = syn__vload(k + 16 * (i + 3 * c)), syn__vfma1(&s3, q[i + 3 * c], &b);
    }
    syn__vstore(s, s0), syn__vstore(s + s_row, s1);
    syn__vstore(s + 2 * s_row, s2), syn__vstore(s + 3 * s_row, s3);
  }
  for (; heads > 0; heads--, s += s_row, q += c, k += 16 * c) {
    s0 = zero;
    for (i = 0; i < c; i++) b = syn__vload(k + 16 * i), syn__vfma1(&s0, q[i], &b);
    syn__vstore(s, s0);
  }
}

/* `left` columns of y, from column i on, of the head with attention weights p. */
static void SYN__N(value)(float *y, const syn__mixed *j, const float *p, size_t i, size_t left) {
  syn__v16 sum = syn__vset(0.0f), b;
  size_t k;
  for (k = 0; k < j->count; k++) {
    b = syn__vload_n(j->v + (j->at ? (size_t)j->at[k] : k) * j->v_row + i, left);
    syn__vfma1(&sum, p[k], &b);
  }
  syn__vstore_n(y + i, sum, left);
}
/* Where no vector spans two heads, four vectors at a time; else, and for the rest, one by one. */
static void SYN__N(values)(float *y, const syn__mixed *j) {
  size_t i = 0, k, c = j->c, e = j->heads * c, n;
  for (; c % 16 == 0 && i + 64 <= e; i += 64) {
    const float *p0 = j->p + i / c * j->p_row, *p1 = j->p + (i + 16) / c * j->p_row;
    const float *p2 = j->p + (i + 32) / c * j->p_row, *p3 = j->p + (i + 48) / c * j->p_row;
    syn__v16 s0 = syn__vset(0.0f), s1 = s0, s2 = s0, s3 = s0, b;
    for (k = 0; k < j->count; k++) {
      const float *v = j->v + (j->at ? (size_t)j->at[k] : k) * j->v_row + i;
      b = syn__vload(v), syn__vfma1(&s0, p0[k], &b);
      b = syn__vload(v + 16), syn__vfma1(&s1, p1[k], &b);
      b = syn__vload(v + 32), syn__vfma1(&s2, p2[k], &b);
      b = syn__vload(v + 48), syn__vfma1(&s3, p3[k], &b);
    }
    syn__vstore(y + i, s0), syn__vstore(y + i + 16, s1);
    syn__vstore(y + i + 32, s2), syn__vstore(y + i + 48, s3);
  }
  for (; i < e; i += n) {
    n = c - i % c < 16 ? c - i % c : 16;
    SYN__N(value)(y, j, j->p + i / c * j->p_row, i, n);
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
static void SYN__N(tops)(float *tops, const float *x, size_t n) {
  size_t i;
  for (i = 0; i < n; i += SYN__BLOCK)
    *tops++ = SYN__N(max)(x + i, n - i < SYN__BLOCK ? n - i : SYN__BLOCK);
}

/* -- activations -- */

/* swish x sigma(x); gelu x sigma(u), u = 2 sqrt(2/pi) (x + 0.044715 x^3), which is the usual
   0.5 x (1 + tanh(u/2)) (Hendrycks & Gimpel 2016); a NaN passes through all of them. */
#define SYN__GELU_1 1.59576912f   /* 2 sqrt(2/pi) */
#define SYN__GELU_3 0.0713548163f /* that times 0.044715 */

/* The exponential of an activation: e^2|x| for tanh, e^-u for the others. The function and its
   derivative both call it, so both see the same e. */
SYN__OP syn__v16 SYN__N(act_exp)(int which, syn__v16 x) {
  syn__v16 u = x;
  if (which == SYN__TANH)
    return syn__vexp(syn__vmax(syn__vadd(x, x), syn__vmul(x, syn__vset(-2.0f))));
  if (which == SYN__GELU) {
    u = syn__vfma(syn__vset(SYN__GELU_3), syn__vmul(x, x), syn__vset(SYN__GELU_1));
    u = syn__vmul(x, u);
  }
  return syn__vexp(syn__vneg(u));
}

/* relu keeps a NaN, since 0 > NaN is false: an error in the weights shows in the loss. */
static void SYN__N(act)(int which, float *y, const float *x, size_t n) {
  const syn__v16 zero = syn__vset(0.0f);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 a = syn__vload_n(x + i, n - i), r, e;
    if (which == SYN__RELU) {
      r = syn__vmax(zero, a);
    } else {
      e = SYN__N(act_exp)(which, a);
      r = which == SYN__TANH ? syn__vtanh(a, e) : syn__vsigmoid(e);
      if (which == SYN__GELU || which == SYN__SWISH) r = syn__vmul(a, r);
    }
    syn__vstore_n(y + i, r, n - i);
  }
}

/* f'(x): relu 1 where x > 0; tanh 1 - tanh^2; sigmoid s' = s (1 - s); x s(u): s + x s' u',
   u' = 1 for swish and 2 sqrt(2/pi) (1 + 3 * 0.044715 x^2) for gelu. All are computed from x, which
   is saved for backward; for relu y serves as well, for y > 0 where x > 0. */
SYN__INLINE syn__v16 SYN__N(derivative)(int which, syn__v16 x) {
  const syn__v16 zero = syn__vset(0.0f), one = syn__vset(1.0f);
  syn__v16 e, s, slope, u = one;
  if (which == SYN__RELU) return syn__vselect(x, zero, one, zero);
  e = SYN__N(act_exp)(which, x);
  if (which == SYN__TANH) {
    s = syn__vtanh(x, e);
    return syn__vfma(syn__vsub(zero, s), s, one);
  }
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
    syn__v16 s = syn__vsigmoid(syn__vexp(syn__vneg(syn__vload_n(b + i, n - i))));
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
    e = syn__vexp(syn__vneg(syn__vload_n(b + i, left)));
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
  syn__v16 x = syn__vadd(syn__vload_n(gate, left), syn__vload_n(part, left)), e;
  e = SYN__N(act_exp)(which, x);
  x = which == SYN__TANH ? syn__vtanh(x, e) : syn__vsigmoid(e);
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
    g = syn__vtanh(g, SYN__N(act_exp)(SYN__TANH, g));
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
    y = syn__vtanh(y, SYN__N(act_exp)(SYN__TANH, y));
    syn__vstore_n(gates + 2 * n + k, y, n - k);
    x = SYN__N(gate)(SYN__SIGMOID, gates + n + k, part + n + k, n - k);
    syn__vstore_n(h + k, syn__vfma(x, syn__vsub(old, y), y), n - k);
  }
}

/* start - y^2, rounded once: the derivative of tanh with y = tanh and start 1, that of sigma with
   y = sigma and start y. */
SYN__INLINE syn__v16 SYN__N(minus_square)(syn__v16 y, syn__v16 start) {
  return syn__vfma(syn__vsub(syn__vset(0.0f), y), y, start);
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
    t = syn__vtanh(t, SYN__N(act_exp)(SYN__TANH, t));
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
      x = syn__vtanh(x, SYN__N(act_exp)(SYN__TANH, x));
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
  const syn__v16 zero = syn__vset(0.0f), one = syn__vset(1.0f);
  size_t key, i;
  for (i = 0; i < j->n; i += 16) {
    size_t left = j->n - i;
    syn__v16 a = syn__vload_n(j->a + i, left), w = syn__vload_n(j->w + i, left);
    syn__v16 sum = syn__vload_n(da + i, left), sum_w = syn__vload_n(dw + i, left);
    for (key = 0; key < j->keys; key++) {
      syn__v16 d = syn__vset(ds[key]),
               t = syn__vadd(a, syn__vload_n(j->b + key * j->b_row + i, left));
      t = syn__vtanh(t, SYN__N(act_exp)(SYN__TANH, t));
      sum_w = syn__vfma(d, t, sum_w);
      d = syn__vmul(syn__vmul(d, w), syn__vfma(syn__vsub(zero, t), t, one));
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

/* Cross-entropy with label smoothing (Szegedy et al. 2016, section 7, the label left out of the
   rest): log p_v = z_v - shift - log_sum; the terms of v != label are eps/(n-1) times (sum_v log
   p_v
   - log p_label), sum_v log p_v = sum_v (z_v - shift) - n log_sum. The logarithms are double: for a
   sure model the loss is a small difference of large numbers. The label's place of the gradient
   (p - q) scale is computed before the row is overwritten. scale 0: the loss only, z is kept. */
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

/* The gradient of a bias. Four vectors of columns stay in registers while the rows pass: one alone
   would wait for its own additions. A column is one chain in the order of the rows. */
static void SYN__N(column_sums)(float *db, const float *dy, size_t rows, size_t width, size_t c0,
                                size_t c1) {
  size_t c, r;
  for (c = c0; c + 64 <= c1; c += 64) {
    const float *x = dy + c;
    syn__v16 b = syn__vload(db + c), b2 = syn__vload(db + c + 16);
    syn__v16 b3 = syn__vload(db + c + 32), b4 = syn__vload(db + c + 48);
    for (r = 0; r < rows; r++, x += width) {
      b = syn__vadd(b, syn__vload(x));
      b2 = syn__vadd(b2, syn__vload(x + 16));
      b3 = syn__vadd(b3, syn__vload(x + 32));
      b4 = syn__vadd(b4, syn__vload(x + 48));
    }
    syn__vstore(db + c, b);
    syn__vstore(db + c + 16, b2);
    syn__vstore(db + c + 32, b3);
    syn__vstore(db + c + 48, b4);
  }
  for (; c < c1; c += 16) {
    syn__v16 b = syn__vload_n(db + c, c1 - c);
    for (r = 0; r < rows; r++) b = syn__vadd(b, syn__vload_n(dy + r * width + c, c1 - c));
    syn__vstore_n(db + c, b, c1 - c);
  }
}

/* -- depthwise convolution -- */

/* y[c] = start + sum_i w[i w_step] x[i x_step + c] over the n channels of a head, i < count; start:
   0, or y where `add`. 16 channels stay in a register while the taps pass. */
SYN__INLINE void SYN__N(tap_sums)(float *y, const syn__span *s, size_t n, int add) {
  size_t c;
  ptrdiff_t i;
  for (c = 0; c < n; c += 16) {
    syn__v16 sum = add ? syn__vload_n(y + c, n - c) : syn__vset(0.0f), x;
    for (i = 0; i < s->count; i++) {
      x = syn__vload_n(s->x + i * s->x_step + c, n - c);
      syn__vfma1(&sum, s->w[i * s->w_step], &x);
    }
    syn__vstore_n(y + c, sum, n - c);
  }
}

/* y_r = sum_tap w_r[tap] u_{r + first + tap}, over the taps whose row is in the sentence */
static void SYN__N(taps)(const syn__taps *j, float *y, const float *u, int r0, int r1) {
  size_t c = (size_t)(j->width / j->heads), width = (size_t)j->width;
  int r, h;
  syn__span s;
  s.w_step = 1;
  s.x_step = (ptrdiff_t)width;
  for (r = r0; r < r1; r++) {
    int low = syn__max(0, -j->first - r), at = r + j->first + low;
    s.count = syn__min(j->taps, j->rows - r - j->first) - low;
    s.w = j->w + (size_t)r * j->w_row + low;
    s.x = u + (size_t)at * width;
    for (h = 0; h < j->heads; h++, s.w += j->taps, s.x += c)
      SYN__N(tap_sums)(y + (size_t)r * width + (size_t)h * c, &s, c, 0);
  }
}

/* du_s += sum_tap w_r[tap] dy_r, r = s - first - tap: over the rows that read row s. */
static void SYN__N(taps_back)(const syn__taps *j, float *du, const float *dy, int r0, int r1) {
  size_t c = (size_t)(j->width / j->heads), width = (size_t)j->width;
  int r, h;
  syn__span s;
  s.w_step = 1 - (ptrdiff_t)j->w_row;
  s.x_step = -(ptrdiff_t)width;
  for (r = r0; r < r1; r++) {
    int low = syn__max(0, r - j->first - j->rows + 1), at = r - j->first - low;
    s.count = syn__min(j->taps, r - j->first + 1) - low;
    s.w = j->w + (size_t)at * j->w_row + low;
    s.x = dy + (size_t)at * width;
    for (h = 0; h < j->heads; h++, s.w += j->taps, s.x += c)
      SYN__N(tap_sums)(du + (size_t)r * width + (size_t)h * c, &s, c, 1);
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
SYN__OP syn__u16 SYN__N(dropout_hash)(uint64_t mixed, uint32_t index) {
  syn__u16 h = syn__uadd(syn__uset(index), syn__uiota());
  h = syn__uxor(h, syn__uset((uint32_t)(mixed >> 32)));
  h = syn__umul(syn__uxor(h, syn__ushr(h, 16)), syn__uset(0x85EBCA6Bu));
  h = syn__uxor(syn__uxor(h, syn__ushr(h, 13)), syn__uset((uint32_t)mixed));
  h = syn__umul(h, syn__uset(0xC2B2AE35u));
  return syn__uxor(h, syn__ushr(h, 16));
}
static void SYN__N(dropout)(const syn__dropout *d, uint32_t index, float *x, size_t n) {
  const uint64_t mixed = syn__mix((uint64_t)d->key << 32 | d->key2);
  const syn__u16 least = syn__uset(d->limit << 8);
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 y = syn__vmul(syn__vload_n(x + i, n - i), syn__vset(d->scale));
    syn__vstore_n(x + i, syn__vkeep(y, SYN__N(dropout_hash)(mixed, index + (uint32_t)i), least),
                  n - i);
  }
}

/* Softmax and dropout in one pass. A probability is never negative, so its sign records what was
   dropped, and backward need not compute the hash again: 2 w - w is w, 0 - w is -w. */
static void SYN__N(softmax_drop)(const syn__dropout *d, uint32_t index, float *p, float *y,
                                 size_t n) {
  const uint64_t mixed = syn__mix((uint64_t)d->key << 32 | d->key2);
  const syn__u16 least = syn__uset(d->limit << 8);
  float sum = SYN__N(exps)(p, p, SYN__N(softmax_shift)(p, n), n, NULL);
  float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  size_t i;
  for (i = 0; i < n; i += 16) {
    syn__v16 w = syn__vmul(syn__vset(inverse), syn__vload_n(p + i, n - i));
    syn__v16 kept = syn__vkeep(w, SYN__N(dropout_hash)(mixed, index + (uint32_t)i), least);
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
static void SYN__N(descend)(const syn__descent *d, float *w, float *m, const float *g,
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
    SYN__N(gemv_int8), SYN__N(max), SYN__N(tops), SYN__N(act), SYN__N(act_back), SYN__N(slope),
    SYN__N(glu), SYN__N(glu_back), SYN__N(lstm), SYN__N(gru), SYN__N(lstm_back), SYN__N(gru_back),
    SYN__N(softmax), SYN__N(softmax_back), SYN__N(additive), SYN__N(additive_back), SYN__N(norm),
    SYN__N(norm_back), SYN__N(norm_back_columns), SYN__N(column_sums), SYN__N(taps),
    SYN__N(taps_back), SYN__N(dropout), SYN__N(softmax_drop), SYN__N(softmax_drop_back),
    SYN__N(loss), SYN__N(log_sum_exp), SYN__N(adam), SYN__N(squares), SYN__N(factor),
    SYN__N(descend)};

#if SYN__LEVELS
#pragma GCC pop_options
#endif

/* The next ISA defines all of these again; a macro forgotten here is redefined there with a
 * warning. */
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
#undef syn__rdiv
#undef syn__rsqrt
#undef syn__rfma
#undef syn__rselect
#undef syn__rfirst
#undef syn__rmix8
#undef syn__rmix4
#undef syn__rmix2
#undef syn__rmix1
#undef syn__rswap8
#undef syn__rswap4
#undef syn__rswap2
#undef syn__rswap1
#undef syn__rcast
#undef syn__rmax
#undef syn__rmin
#undef syn__rkeep
#undef syn__icast
#undef syn__iset
#undef syn__iadd
#undef syn__ixor
#undef syn__imul
#undef syn__ishl
#undef syn__ishr

#endif /* SYN__ISA */
#ifndef SYN__ISA

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
#undef SYN__ISA
#undef SYN__SUFFIX
#if SYN__LEVELS && SYN__HAS_X86
#pragma GCC pop_options
#endif

#if SYN__HAS_X86
/* The scalar code once more, with fmaf as one instruction: the same bits. It serves isa = "scalar",
   and processors with FMA but without AVX2.

   Between push and pop functions are compiled for a machine we may not have: none may be reached
   before syn_isa_usable returns 1, and none is inlined into code for a lesser target. */
#define SYN__ISA SYN__ISA_FUSED
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
#undef SYN__ISA
#undef SYN__SUFFIX

/* clang has no push_options; its attribute applies to functions, which is enough. */
#define SYN__ISA SYN__ISA_AVX2
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
#undef SYN__ISA
#undef SYN__SUFFIX

#define SYN__ISA SYN__ISA_AVX512
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
#undef SYN__ISA
#undef SYN__SUFFIX
#endif /* SYN__HAS_X86 */

/* No target region: where arm_neon.h works, the whole program is compiled for NEON. */
#if SYN__HAS_NEON
#define SYN__ISA SYN__ISA_NEON
#define SYN__SUFFIX neon
#include SYN_SELF
#undef SYN__ISA
#undef SYN__SUFFIX
#endif

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
  int i, best = 0;
  for (i = 0; i < syn_isa_count(); i++) {
    if (!syn_isa_usable(i)) continue;
    best = i;
    if (isa && !strcmp(isa, syn_isa_name(i))) break;
    strcat(names, " "); /* at most four names of at most six letters */
    strcat(names, syn_isa_name(i));
  }
  c->kernels = syn__isa_kernels(best);
  if (!isa || i < syn_isa_count()) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE,
                   "syn_context_init: isa \"%.40s\" is not usable here, these are:%s", isa, names);
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
#ifdef _OPENMP
  o->threads = syn__max(1, syn__min(o->threads, SYN_MAX_THREADS));
#else
  o->threads = 1;
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
   >>tensor   sizes and rows of a tensor; its numbers as text
   ============================================================================================== */

/* Numbers of a shape, SIZE_MAX when they do not fit. Sizes below 0 (a caller's shape) become huge
   and fail the same way. */
static size_t syn__size(int rank, const int *shape) {
  size_t size = 1;
  int i;
  for (i = 0; i < rank; i++) size = syn__mul_size(size, (size_t)shape[i]);
  return size;
}

/* A tensor [..., width] is rows of `width` numbers; most operations see no more of its shape. */
static int syn__width(const syn_tensor *a) { return a->shape[a->rank - 1]; }
static size_t syn__tensor_rows(const syn_tensor *a) {
  return syn__size(a->rank - 1, a->shape);
}
static size_t syn__count(const syn_tensor *a) { return syn__size(a->rank, a->shape); }

/* Counts every byte and writes those that fit, so that a call with room 0 measures. */
size_t syn_tensor_text(const syn_tensor *a, char *out, size_t room) {
  size_t i, used = 0, n = a ? syn__count(a) : 0, width = a ? (size_t)syn__width(a) : 1;
  char number[32];
  for (i = 0; i < n; i++) {
    size_t j, size = (size_t)snprintf(number, sizeof number, "%10.4g%c", (double)a->x[i],
                                      (i + 1) % width ? ' ' : '\n');
    for (j = 0; j < size; j++, used++)
      if (used + 1 < room) out[used] = number[j];
  }
  if (room) out[used < room ? used : room - 1] = 0;
  return used;
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

/* The graph: nodes in the order they run, the values between them, the weights they use. */
typedef struct syn__graph {
  syn__arena arena;
  syn_node **nodes;    /* [n_nodes] pointers: syn__grow moves the array, a node stays */
  syn__value *values;  /* [n_values] named by number, since the array moves when it grows */
  syn_param *params;   /* [n_params] */
  syn_initial *inits;  /* [n_params] how the numbers of each begin */
  size_t n_nodes, cap_nodes, n_values, cap_values, n_params, cap_params, cap_inits;
  int n_encoder; /* nodes before the decoder's first */
  int feed, fed; /* the node input_feed, 0: there is none; the value it feeds back */
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
  char path[SYN__PATH];     /* of the layer being built, or of the chain */
  int decoder, depth;
  int layers;               /* built so far: layers without an operation count, too */
  size_t next_param;        /* behind the one found last: a universal asks again in that order */
  int encoder_out;          /* value, -1 before it is there */
  int n_blocks, *blocks;    /* values: outputs of the copies of the encoder's outermost repeat */
  int n_increasing, n_decreasing;      /* mh_dot_src_att layers of the decoder with that source */
  int seen_increasing, seen_decreasing;
  int n_source_layers;                 /* attentions to the source so far */
  int fed_width;                       /* of what input_feed feeds back */
  const struct syn__rel_pos *rel_pos;  /* the last one of this chain or around it, null: none */
  int (*chain)(syn_build *b, const syn_layer *chain, int x); /* of >>language, which stands below */
};

/* All that a pass reads and writes. One batch, one tape: many tapes may share a graph, which none
   of them changes. */
struct syn_tape {
  syn_context *c;
  const syn_kernels *k;
  const syn__graph *g;
  int threads, training;               /* training: 1 where dropout drops */
  int kept;             /* on the way back: gradients of nodes before this one go on adding */
  uint64_t seed;                       /* of this step's dropout */
  syn_tensor *tensors;                 /* one per value */
  float **saved;                       /* [nodes * SYN_MAX_SAVE] */
  const float **weights;               /* by number of the parameter */
  float **dweights;                    /* by the same; a null one is not trained */
  float **discarded_grads; /* gradients of frozen weights, never read; null: none is frozen */
  const char *skip_backward; /* by node, 1: nothing before it is trained; null: run every node */
  const float **packed;                /* weights in panels, while decoding; else null */
  float *pack; /* the packed block of a large product, then one of a per thread */
  float *scratch;                      /* threads * scratch_size floats */
  size_t scratch_size;
  syn_stream stream[SYN_STREAMS];
  const int *ids[2];                   /* tokens of the source and target rows */
  const int *at[2];                    /* place of every row in its sentence */
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
  int line, column;
  double number;
  syn_text word;     /* a word, or kinds joined by + */
  syn_layer *chain;
} syn__arg;

struct syn_layer {
  syn_text name;
  int line, column;
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

/* An error with its place in the text, and the layer's name as it is written there. */
static syn_status syn__fail_build(syn_build *b, syn_status s, const char *format, ...)
    SYN__PRINTF(3, 4);
static syn_status syn__fail_build(syn_build *b, syn_status s, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!b->layer) return syn__fail(b->c, s, "%s", text);
  return syn__fail(b->c, s, "%s line %d column %d: %.*s: %s", b->side, b->layer->line,
                   b->layer->column, b->layer->name.size < 40 ? (int)b->layer->name.size : 40,
                   b->layer->name.at, text);
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
  int shape[2];
  shape[0] = 0;
  shape[1] = width;
  if (width < 1 || width > SYN__MAX_ROW)
    return syn__fail_build(b, SYN_E_SHAPE, "the output has width %d, wanted 1 to %d", width,
                           SYN__MAX_ROW);
  if (stream < SYN_SRC || stream > SYN_EACH)
    return syn__fail_build(b, SYN_E_VALUE, "the output has stream %d, wanted 0 to 2", stream);
  n->out = syn__value_new(b, stream, 2, shape);
  return n->out < 0 ? SYN_E_MEMORY : SYN_OK;
}

/* The output has the shape of an input, whatever its rank. */
static syn_status syn__out_like(syn_build *b, syn_node *n, int input) {
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

/* A buffer [rows,floats], rows those of the output or of the last input, whichever are more. */
static syn_status syn__save_rows(syn_build *b, syn_node *n, int life, size_t floats) {
  syn_extent e;
  memset(&e, 0, sizeof e);
  e.row = floats;
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
  size_t size = rank < 1 || rank > SYN_MAX_RANK ? 0 : syn__size(rank, shape);
  double numbers = 1.0; /* for the message: on a small machine `size` cannot say how many */
  syn_param *p;
  int i;
  for (i = 0; i < rank && i < SYN_MAX_RANK; i++) numbers *= (double)shape[i];
  if (size == 0 || size > INT_MAX) { /* so that any part of a shape multiplies inside an int */
    syn__fail_build(b, SYN_E_SHAPE, "%s of rank %d would have %.0f numbers, wanted 1 to %d", name,
                    rank, numbers, INT_MAX);
    return -1;
  }
  if (old >= 0) {
    p = &g->params[old];
    b->next_param = (size_t)old + 1;
    if (p->rank == rank && !memcmp(p->shape, shape, (size_t)rank * sizeof *shape)) return old;
    syn__fail_build(b, SYN_E_SHAPE, "two tensors of different shapes are named %s", name);
    return -1;
  }
  if (g->n_params == SYN_MAX_PARAMS) {
    syn__fail_build(b, SYN_E_SHAPE, "%s: a network of more than %d tensors", name, SYN_MAX_PARAMS);
    return -1;
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
  p->size = size;
  p->matrix = rank == 2;
  p->trained = init.kind != SYN_INIT_FIXED;
  g->inits[g->n_params] = init;
  return (int)g->n_params++;
}

syn_status syn_build_param(syn_build *b, syn_node *n, const char *name, syn_initial init, int rank,
                           const int *shape) {
  char full[SYN__PATH + 64];
  int id;
  if (n->n_param == SYN_MAX_PARAM) return syn_build_fail(b, "the kind has too many parameters");
  if (strlen(name) > 60) return syn_build_fail(b, "the kind's parameter has too long a name");
  snprintf(full, sizeof full, "%s.%s", n->path, name);
  id = syn__param_new(b, full, init, rank, shape);
  if (id < 0) return SYN_E_SHAPE;
  n->param[n->n_param++] = id;
  return SYN_OK;
}

/* Glorot and Bengio 2010: uniform within sqrt(6 / (inputs + outputs)). */
syn_initial syn_initial_glorot(int inputs, int outputs) {
  syn_initial init;
  init.kind = SYN_INIT_UNIFORM;
  init.amount = sqrt(6.0 / ((double)inputs + (double)outputs));
  return init;
}
syn_initial syn_initial_of(int kind, double amount) {
  syn_initial init;
  init.kind = kind;
  init.amount = amount;
  return init;
}

/* The kind's own struct of a node: zeroed, lives as long as the graph. */
static void *syn__own(syn_build *b, syn_node *n, size_t size) {
  return n->own = syn__arena_get(&b->g->arena, 1, size);
}

/* A node with its inputs, not yet in the graph; the caller may set `which`, `number`, `drop` before
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
  for (i = 0; i < n->n_in; i++) {
    syn__value *v = &g->values[n->in[i]]; /* after `shape`, which may have moved them */
    if (v->first < 0) v->first = n->id;
    v->last = n->id;
  }
  g->values[n->out].maker = n->id;
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

/* By number, as `shape` counted them: inputs, parameters (syn_build_param), buffers (_save). */

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
/* The scratch floats of one thread: a task uses those of the thread it was given, no other's. */
static float *syn__scratch(const syn_tape *t, int thread) {
  return t->scratch + (size_t)thread * t->scratch_size;
}

/* ==============================================================================================
   >>kv cache   what earlier tokens leave for later ones while decoding
   ============================================================================================== */

/* Rows that are decoded together, one per hypothesis; t->decode of the tape while it decodes. A
   token keeps the place it was given: hypotheses that begin alike share the slots of their
   beginning, and a beam that reorders its rows moves lists of slots, never what is kept in them. */
typedef struct syn__decode_state {
  int rows, length;    /* length: places per slot */
  int slots;           /* of a sentence; those of the next one follow */
  const int *slot;     /* [rows] where the new token of a row is kept */
  const int *past;     /* [rows,length] slot * length + place of every token of the row's
                          hypothesis: which history is its own */
  const int *sentence; /* [rows] */
  const int *source_off; /* first source row of every sentence, [sentences+1] */
  float **cache;        /* by node: [slots, length, n->cache] */
  float **source_cache; /* by node: [source rows, n->source_cache] */
  /* by node: [slots, ceil(length/16), n->key_cache, 16], or for what comes from the source blocks
     of 16 tokens of a sentence, [., n->key_cache, 16]: keys across, so that a vector has 16 of
     them; the block of a slot to which the newest token belongs has them straight, [16,
     n->key_cache] */
  float **key_cache;
} syn__decode_state;

/* [n->cache] of the token at `place` that is kept in a slot. */
static float *syn__cache_row(const syn_tape *t, const syn_node *n, int slot, int place) {
  return t->decode->cache[n->id] +
         ((size_t)slot * (size_t)t->decode->length + (size_t)place) * (size_t)n->cache;
}
/* What token `place` of row r's hypothesis left; the newest one counts once it is kept. */
static const float *syn__cached_row(const syn_tape *t, const syn_node *n, int r, int place) {
  const syn__decode_state *l = t->decode;
  return l->cache[n->id] +
         (size_t)l->past[(size_t)r * (size_t)l->length + (size_t)place] * (size_t)n->cache;
}
/* [n->key_cache,16] of the tokens `place` / 16 * 16 and the 15 behind it that are kept in a slot;
   straight, [16,n->key_cache], while the newest token is among them. */
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
/* What token j of the source sentence of row r left, [n->source_cache]. */
static const float *syn__source_cache(const syn_tape *t, const syn_node *n, int r, int j) {
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

typedef void (*syn__task)(syn_tape *t, const void *job, int thread, size_t begin, size_t end);

/* Runs the task over 0..items in slices whose ends are multiples of `unit`: whole vectors or tiles,
   and no cache line that two threads write. `thread` is the number of the slice, not of OpenMP's
   thread, which may be given two slices: scratch memory stays apart all the same. */
static void syn__parallel(syn_tape *t, syn__task task, const void *job, size_t items, size_t unit) {
  size_t units = (items + unit - 1) / unit;
  int i, threads = t->threads;
  if ((size_t)threads > units) threads = (int)units;
  if (threads <= 1) {
    if (items) task(t, job, 0, 0, items);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
  for (i = 0; i < threads; i++) {
    size_t begin = units * (size_t)i / (size_t)threads * unit;
    size_t end = units * (size_t)(i + 1) / (size_t)threads * unit;
    task(t, job, i, begin, end < items ? end : items);
  }
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

#define SYN__KC 512 /* a block of 512 x 512 floats stays in a second-level cache of 2 MB */
#define SYN__NC 512
#define SYN__MC 48 /* a multiple of every MR */
#define SYN__PACK_B ((size_t)SYN__KC * SYN__NC)
#define SYN__PACK_A ((size_t)SYN__MC * SYN__KC + SYN__MC / 2 * SYN__PANEL_END)

/* Floats of t->pack: the block of b that all threads read, then the block of a of each. */
static size_t syn__pack_floats(int threads) { return SYN__PACK_B + (size_t)threads * SYN__PACK_A; }

syn_matrix syn_matrix_of(const float *x, int rows, int cols, size_t row) {
  syn_matrix m;
  m.x = (float *)x;
  m.rows = rows;
  m.cols = cols;
  m.row = row ? row : (size_t)cols;
  m.col = 1;
  m.panel = 0;
  return m;
}
syn_matrix syn_transposed(syn_matrix a) {
  syn_matrix m = a;
  m.rows = a.cols;
  m.cols = a.rows;
  m.row = a.col;
  m.col = a.row;
  return m;
}
/* b [rows,cols] as pack_b left it */
static syn_matrix syn__packed(const float *panels, int rows, int cols) {
  syn_matrix m = syn_matrix_of(panels, rows, cols, 16);
  m.panel = 16 * (size_t)rows;
  return m;
}
/* Rows and columns of a matrix that is not packed. */
static syn_matrix syn__submatrix(syn_matrix a, int row, int rows, int col, int cols) {
  a.x += (size_t)row * a.row + (size_t)col * a.col;
  a.rows = rows;
  a.cols = cols;
  return a;
}
static syn__product syn__product_of(syn_matrix c, syn_matrix a, syn_matrix b, const float *bias,
                                    int accumulate) {
  syn__product p;
  p.a = a;
  p.b = b;
  p.c = c;
  p.bias = bias;
  p.accumulate = accumulate;
  p.streamed = p.by_rows = 0;
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
  syn__pack_job j;
  j.b = b;
  j.panels = panels;
  syn__parallel(t, syn__task_pack, &j, ((size_t)b.cols + 15) / 16, 4);
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
  if (p->by_rows) syn__parallel(t, syn__task_gemm, p, (size_t)p->c.rows, (size_t)t->k->mr);
  else syn__parallel(t, syn__task_gemm, p, ((size_t)p->c.cols + 15) / 16, 2);
}

void syn_gemm(syn_tape *t, syn_matrix c, syn_matrix a, syn_matrix b, const float *bias,
              int accumulate) {
  syn__product p = syn__product_of(c, a, b, bias, accumulate);
  int n0, k0, nc = SYN__NC * (SYN__KC / syn__max(64, syn__min(SYN__KC, a.cols)));
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

/* W^T [in,out] of parameter w [out,in] of a node; packed while decoding. */
static syn_matrix syn__weight_transposed(const syn_tape *t, const syn_node *n, int w) {
  const syn_param *p = &t->g->params[n->param[w]];
  int out = p->shape[0], in = (int)(p->size / (size_t)out);
  const float *panels = t->packed ? t->packed[n->param[w]] : NULL;
  if (panels) return syn__packed(panels, in, out);
  return syn_transposed(syn_matrix_of(t->weights[n->param[w]], out, in, 0));
}
/* y [rows,out] = x [rows,in] W^T + b with the parameters `w` [out,in] and `bias` [out] (-1: none)
   of a node. The rows are those of x: keys and values of attention to the source have more than
   its output. */
static void syn__linear_forward(syn_tape *t, const syn_node *n, int w, int bias,
                                const syn_tensor *x, float *y) {
  syn_matrix wt = syn__weight_transposed(t, n, w);
  int rows = (int)syn__tensor_rows(x);
  syn_gemm(t, syn_matrix_of(y, rows, wt.cols, 0), syn_matrix_of(x->x, rows, wt.rows, 0), wt,
           bias >= 0 ? t->weights[n->param[bias]] : NULL, 0);
}

typedef struct syn__columns {
  float *sums;        /* [width] */
  const float *x;     /* [rows,width] */
  size_t rows, width;
} syn__columns;

static void syn__task_columns(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__columns *j = (const syn__columns *)job;
  SYN__UNUSED(thread);
  t->k->column_sums(j->sums, j->x, j->rows, j->width, begin, end);
}

/* sums[c] += sum over the rows of x[row,c], rows in order: threads share out the columns */
static void syn__column_sums(syn_tape *t, float *sums, const float *x, size_t rows, size_t width) {
  syn__columns j;
  j.sums = sums;
  j.x = x;
  j.rows = rows;
  j.width = width;
  syn__parallel(t, syn__task_columns, &j, width, 64);
}

/* What y = x W^T + b sends back: dx += dy W, dW += dy^T x, db += column sums of dy. */
typedef struct syn__linear_grad {
  const float *x, *dy, *w; /* [rows,in], [rows,out], [out,in] */
  float *dx, *dw, *db;     /* the same shapes, db [out]; each may be null */
  size_t rows;
  int in, out, first_write;      /* first_write: dx is written, whatever stands there */
} syn__linear_grad;

static void syn__linear_backward_of(syn_tape *t, const syn__linear_grad *g) {
  int rows = (int)g->rows, in = g->in, out = g->out;
  syn_matrix dy = syn_matrix_of(g->dy, rows, out, 0), x = syn_matrix_of(g->x, rows, in, 0);
  if (g->dx)
    syn_gemm(t, syn_matrix_of(g->dx, rows, in, 0), dy, syn_matrix_of(g->w, out, in, 0), NULL,
             !g->first_write);
  if (g->dw) syn_gemm(t, syn_matrix_of(g->dw, out, in, 0), syn_transposed(dy), x, NULL, 1);
  if (g->db) syn__column_sums(t, g->db, g->dy, g->rows, (size_t)out);
}

/* The same for parameters `w` and `bias` (-1: none) of a node; x brings x and dx. */
static syn__linear_grad syn__linear_grad_of(const syn_tape *t, const syn_node *n, int w, int bias,
                                            const syn_tensor *x, const float *dy) {
  const syn_param *p = &t->g->params[n->param[w]];
  syn__linear_grad g;
  g.x = x->x;
  g.dx = x->dx;
  g.dy = dy;
  g.w = t->weights[n->param[w]];
  g.dw = t->dweights[n->param[w]];
  g.db = bias >= 0 ? t->dweights[n->param[bias]] : NULL;
  g.rows = syn__tensor_rows(x);
  g.out = p->shape[0];
  g.in = (int)(p->size / (size_t)p->shape[0]);
  g.first_write = 0;
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
  syn_conv w;
  w.taps = taps;
  w.dilate = dilate;
  w.first = -(b->decoder ? taps - 1 : (taps - 1) / 2) * dilate;
  return w;
}

typedef struct syn__im2col_job {
  const syn_conv *w;
  const int *off; /* first row of every sentence */
  syn_matrix x;   /* [rows,width], or its gradient */
  float *col;     /* [rows,taps,width] */
} syn__im2col_job;

/* The sentences begin .. end-1. */
static void syn__task_im2col(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__im2col_job *j = (const syn__im2col_job *)job;
  size_t s, width = (size_t)j->x.cols;
  int r, tap;
  SYN__UNUSED(thread);
  SYN__UNUSED(t);
  for (s = begin; s < end; s++)
    for (r = j->off[s]; r < j->off[s + 1]; r++)
      for (tap = 0; tap < j->w->taps; tap++) {
        int from = r + j->w->first + tap * j->w->dilate;
        float *to = j->col + ((size_t)r * (size_t)j->w->taps + (size_t)tap) * width;
        if (from < j->off[s] || from >= j->off[s + 1]) memset(to, 0, width * sizeof *to);
        else memcpy(to, j->x.x + (size_t)from * j->x.row, width * sizeof *to);
      }
}
/* The same; a row adds up the taps that read it, in order. */
static void syn__task_col2im(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__im2col_job *j = (const syn__im2col_job *)job;
  size_t s, width = (size_t)j->x.cols;
  int r, tap;
  SYN__UNUSED(thread);
  for (s = begin; s < end; s++)
    for (r = j->off[s]; r < j->off[s + 1]; r++)
      for (tap = 0; tap < j->w->taps; tap++) {
        int at = r - j->w->first - tap * j->w->dilate;
        if (at < j->off[s] || at >= j->off[s + 1]) continue;
        t->k->acc(j->x.x + (size_t)r * j->x.row,
                  j->col + ((size_t)at * (size_t)j->w->taps + (size_t)tap) * width, width);
      }
}
static void syn__im2col_run(syn_tape *t, const syn_node *n, syn__task task, syn__im2col_job j) {
  const syn_stream *stream = &t->stream[t->g->values[n->out].stream];
  j.off = stream->off;
  syn__parallel(t, task, &j, (size_t)stream->count, 1);
}
void syn_im2col(syn_tape *t, const syn_node *n, const syn_conv *w, syn_matrix x, float *col) {
  syn__im2col_job j;
  j.w = w;
  j.x = x;
  j.col = col;
  syn__im2col_run(t, n, syn__task_im2col, j);
}
void syn_col2im(syn_tape *t, const syn_node *n, const syn_conv *w, const float *dcol,
                syn_matrix dx) {
  syn__im2col_job j;
  j.w = w;
  j.x = dx;
  j.col = (float *)dcol; /* read only */
  syn__im2col_run(t, n, syn__task_col2im, j);
}

/* While decoding: writes the new rows x [rows,width] to the node's cache, `at` floats from its
   beginning, for the convolutions of later rows. */
static void syn__conv_cache_write(const syn_tape *t, const syn_node *n, size_t at, size_t width,
                             const float *x) {
  int r;
  for (r = 0; r < t->decode->rows; r++)
    memcpy(syn__cache_row(t, n, t->decode->slot[r], t->at[SYN_TGT][r]) + at, x + (size_t)r * width,
           width * sizeof *x);
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
      else memcpy(to, syn__cached_row(t, n, r, place) + at, width * sizeof *to);
    }
}

/* ==============================================================================================
   >>pass   forward pass, backward pass over the nodes of a graph
   ============================================================================================== */

/* The key of one layer's dropout in one step. Whether an element is dropped is a hash of this key
   and the element's place, so that backward makes the same mask again instead of keeping it, and
   no thread waits for another's random numbers. `stream`: 2 id for the output of a node, 2 id + 1
   for the weights of an attention. */
static syn__dropout syn__dropout_of(const syn_tape *t, int stream, float rate) {
  uint64_t key = syn__mix(t->seed + 0x9E3779B97F4A7C15u * (uint64_t)(stream + 1));
  syn__dropout d;
  d.key = (uint32_t)key;
  d.key2 = (uint32_t)(key >> 32);
  d.limit = (uint32_t)(rate * 16777216.0f + 0.5f);
  d.scale = 1.0f / (1.0f - rate);
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

/* Dropout of a node's output, and of the gradient that comes back to it: the same mask. */
static void syn__drop(syn_tape *t, const syn_node *n, float *x) {
  syn__drop_job j;
  if (n->own_dropout || !syn__drops(t, n, &j.d)) return;
  j.x = x;
  syn__parallel(t, syn__task_drop, &j, syn__count(syn_out(t, n)), 4096);
}

/* Passes over memory. A pass that does little for every number is worth a second thread from
   SYN__GRAIN numbers on: waking it takes a microsecond or two. Where one pass does two things, the
   second follows on SYN__BITE numbers at a time, which are still in the first cache. */
#define SYN__GRAIN ((size_t)1 << 14)
#define SYN__BITE ((size_t)1 << 11)

static void syn__task_zero(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  SYN__UNUSED(t);
  SYN__UNUSED(thread);
  memset(*(float *const *)job + begin, 0, (end - begin) * sizeof(float));
}
static void syn__zero(syn_tape *t, float *x, size_t n) {
  syn__parallel(t, syn__task_zero, &x, n, SYN__GRAIN);
}

typedef struct syn__acc_job {
  float *y;           /* both as long as syn__accumulate is told */
  const float *x;
  float factor;
  int first_write;
} syn__acc_job;

static void syn__task_acc(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__acc_job *j = (const syn__acc_job *)job;
  SYN__UNUSED(thread);
  if (j->first_write) t->k->scale(j->y + begin, j->factor, j->x + begin, end - begin);
  else if (j->factor == 1.0f) t->k->acc(j->y + begin, j->x + begin, end - begin);
  else t->k->acc_scale(j->y + begin, j->factor, j->x + begin, end - begin);
}

/* y += factor x over n numbers, in parallel; first_write: y = factor x */
static void syn__accumulate(syn_tape *t, float *y, const float *x, float factor, size_t n,
                            int first_write) {
  syn__acc_job j;
  j.y = y;
  j.x = x;
  j.factor = factor;
  j.first_write = first_write;
  syn__parallel(t, syn__task_acc, &j, n, SYN__GRAIN);
}

/* Nobody has come back to input i of the node yet: what its gradient holds is of another time.
   Values a user's tape made are all zeroed before, those in front of a pass that is run again
   (input feeding) go on adding. */
static int syn__is_first_write(const syn_tape *t, const syn_node *n, int i) {
  const syn__value *v = &t->g->values[n->in[i]];
  int k;
  for (k = 0; k < i; k++)
    if (n->in[k] == n->in[i]) return 0;
  return v->last == n->id && v->stream != SYN_OWN && v->maker >= t->kept;
}

/* dx += factor dy for input 0, dx = factor dy at its first write, nothing where both are one. */
static void syn__send(syn_tape *t, const syn_node *n, float factor) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  if (x->dx != y->dx)
    syn__accumulate(t, x->dx, y->dx, factor, syn__count(y),
                    n->first_write && syn__is_first_write(t, n, 0));
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

/* The gradient of a value starts at zero when its last reader, the first to come back, is
   reached; a kind that can, starts it by itself (n->first_write), and one that hands it on as it is
   has nothing to start. `again`: but for values made before `begin`, which go on adding. A value
   nobody reads (the encoder's final norm where every layer has a block of its own) has none. */
static void syn__backward_nodes(syn_tape *t, int begin, int end, int again) {
  int i, k;
  t->kept = again ? begin : 0;
  for (i = end - 1; i >= begin; i--) {
    const syn_node *n = t->g->nodes[i];
    const syn__value *out = &t->g->values[n->out];
    syn_tensor *y = syn_out(t, n), *x;
    int runs = y->dx && (out->last >= 0 || out->stream == SYN_OWN) && n->kind->backward;
    if (t->skip_backward && t->skip_backward[i])
      continue; /* what it reads was made by skipped nodes */
    for (k = 0; k < n->n_in; k++) {
      x = syn_in(t, n, k);
      if (x->dx && syn__is_first_write(t, n, k) && !(runs && (n->first_write || x->dx == y->dx)))
        syn__zero(t, x->dx, syn__count(x));
    }
    if (!runs) continue;
    /* all readers have added: from the gradient behind the dropout to the one before it */
    syn__drop(t, n, y->dx);
    n->kind->backward(t, n);
  }
}

/* -- input feeding: the decoder's output z of one token is an input of the next --

   That makes the decoder one recurrence through all its layers, of which most can only run over all
   rows at once. So it is solved as the equation z = decoder(shift(z), x): begin with z = 0 and run
   all rows again and again. z of the first token is right after one pass, of token i after pass
   i + 1, whatever the layers are, since a causal decoder's row i reads z only before i: as many
   passes as the longest sentence has tokens give the exact result, and a pass more would change
   no bit. The way back is the same sum of passes, dz_t += what token t + 1 sends back, from the end
   (a Neumann series whose terms end: one token further back each time). A pass of the way back may
   use up what forward has kept (attention does), so forward fills it again. */

/* The rows [rows, width of z] that are fed: the first save buffer of the node. 1: some changed. */
static int syn__feed_shift(syn_tape *t) {
  const syn_node *n = t->g->nodes[t->g->feed];
  const syn_tensor *z = &t->tensors[t->g->fed];
  size_t r, rows = syn__tensor_rows(z), d = (size_t)syn__width(z);
  float *fed = syn_saved(t, n, 0);
  int changed = 0;
  for (r = 0; r < rows; r++) {
    const float *before = z->x + (r ? r - 1 : 0) * d;
    if (t->at[SYN_TGT][r] == 0 || !memcmp(fed + r * d, before, d * sizeof *fed)) continue;
    memcpy(fed + r * d, before, d * sizeof *fed);
    changed = 1;
  }
  return changed;
}
/* dz = what the token behind sent back through input_feed; 0 at the end of a sentence. 1: there is
   any. */
static int syn__feed_back(syn_tape *t) {
  const syn_tensor *y = syn_out(t, t->g->nodes[t->g->feed]), *z = &t->tensors[t->g->fed];
  size_t r, i, rows = syn__tensor_rows(z), d = (size_t)syn__width(z), wide = (size_t)syn__width(y);
  int any = 0;
  for (r = 0; r < rows; r++) {
    float *dz = z->dx + r * d;
    if (r + 1 == rows || t->at[SYN_TGT][r + 1] == 0) memset(dz, 0, d * sizeof *dz);
    else memcpy(dz, y->dx + (r + 1) * wide, d * sizeof *dz);
    for (i = 0; i < d && !any; i++) any = dz[i] != 0.0f;
  }
  return any;
}

/* The nodes from input_feed to the maker of z run as one. */
static int syn__feed_end(const syn_tape *t) { return t->g->values[t->g->fed].maker + 1; }
static void syn__feed_forward(syn_tape *t) {
  const syn_node *n = t->g->nodes[t->g->feed];
  const syn_tensor *z = &t->tensors[t->g->fed];
  int pass, longest = t->stream[SYN_TGT].longest;
  memset(syn_saved(t, n, 0), 0, syn__count(z) * sizeof(float));
  for (pass = 0; pass < longest; pass++) {
    syn__forward_nodes(t, t->g->feed, syn__feed_end(t));
    if (!syn__feed_shift(t)) return;
  }
}
static void syn__feed_backward(syn_tape *t) {
  int pass, longest = t->stream[SYN_TGT].longest, end = syn__feed_end(t);
  for (pass = 1; pass < longest && syn__feed_back(t); pass++) {
    syn__forward_nodes(t, t->g->feed, end);
    syn__backward_nodes(t, t->g->feed, end, 1);
  }
}

static void syn__forward(syn_tape *t, int begin, int end) {
  int feed = t->g->feed;
  if (!feed || feed < begin || feed >= end) {
    syn__forward_nodes(t, begin, end);
    return;
  }
  syn__forward_nodes(t, begin, feed);
  syn__feed_forward(t);
  syn__forward_nodes(t, syn__feed_end(t), end);
}
static void syn__backward(syn_tape *t, int end) {
  int feed = t->g->feed;
  syn__backward_nodes(t, feed, end, 0);
  if (feed) syn__feed_backward(t);
  syn__backward_nodes(t, 0, feed, 0);
}

/* ==============================================================================================
   >>plan   where every buffer of a graph lies: lifetimes, offsets, peak
   ============================================================================================== */

/* The largest batch a run is planned for. */
typedef struct syn__capacity {
  size_t rows[SYN_STREAMS]; /* tokens of all sentences together; SYN_EACH: sentences */
  size_t longest[2];        /* tokens of one sentence, source and target */
} syn__capacity;

/* Floats of an extent for the largest batch. pair: every query meets the keys of its own sentence,
   `longest` at most, so that rows * longest holds any batch that fits. SIZE_MAX when it is too
   much: the allocation then fails. */
static size_t syn__extent_floats(const syn__graph *g, const syn_node *n, const syn_extent *e,
                                 const syn__capacity *cap) {
  int to = g->values[n->out].stream, from = n->n_in ? g->values[n->in[n->n_in - 1]].stream : to;
  size_t rows = cap->rows[to], keys = cap->longest[from == SYN_EACH ? SYN_SRC : from];
  size_t longest = cap->longest[0] > cap->longest[1] ? cap->longest[0] : cap->longest[1];
  size_t sum = e->fixed;
  sum = syn__add_size(sum, syn__mul_size(e->row, rows > cap->rows[from] ? rows : cap->rows[from]));
  sum = syn__add_size(sum, syn__mul_size(e->pair, syn__mul_size(rows, keys)));
  sum = syn__add_size(sum, syn__mul_size(e->length, longest));
  return syn__round16(
      syn__add_size(sum, syn__mul_size(e->square, syn__mul_size(longest, longest))));
}

/* One buffer: when it is needed, how large, where it lies. */
typedef struct syn__item {
  int from, to;    /* first and last time, both included */
  size_t size, at; /* floats; size is a multiple of 16, so that every buffer is aligned */
  float **where; /* pointer to set; null while only sizes are asked */
} syn__item;

/* First fit: items come in order of `from`; those that ended make room, and a new one takes the
   first gap it fits in. Returns the floats needed. Only sizes and times are known here, so a plan
   without memory (syn_plan_of) gives the same places as the run. */
static size_t syn__place(syn__item *items, size_t count, size_t *active) {
  size_t i, k, live = 0, peak = 0;
  for (i = 0; i < count; i++) {
    size_t at = 0, kept = 0, put;
    for (k = 0; k < live; k++)
      if (items[active[k]].to >= items[i].from) active[kept++] = active[k];
    live = kept;
    for (k = 0; k < live; k++) { /* active is sorted by place */
      if (at + items[i].size <= items[active[k]].at) break;
      at = items[active[k]].at + items[active[k]].size;
    }
    put = k;
    for (k = live; k > put; k--) active[k] = active[k - 1];
    active[put] = i;
    live++;
    items[i].at = at;
    if (syn__add_size(at, items[i].size) > peak) peak = syn__add_size(at, items[i].size);
    if (peak > SIZE_MAX / 16) return SIZE_MAX;
  }
  return peak;
}

/* What a run is for. TRAIN: forward and backward; KEEP: forward, everything can be read after it;
   INFER: forward, a buffer is given away after its last reader. */
enum { SYN__TRAIN, SYN__KEEP, SYN__INFER };

/* Keeps the list in order of `from`, and of arrival where that is equal. */
static void syn__item_add(syn__item *items, size_t *count, const syn__item *item) {
  size_t k = (*count)++;
  for (; k > 0 && items[k - 1].from > item->from; k--) items[k] = items[k - 1];
  items[k] = *item;
}

/* The value whose gradient goes on in the buffer of that of `value`, -1: none. Its maker hands on
   what came back, and nobody has come back to the input before: so the gradient of a whole chain of
   residual sums is one buffer, and y = x + chain(x) sends back to x by doing nothing. Not where
   nodes run more than once (input feeding). */
static int syn__dx_alias(const syn__graph *g, int value) {
  int maker = g->values[value].maker;
  const syn_node *n = maker < 0 ? NULL : g->nodes[maker];
  if (!n || !n->alias_dx || g->feed || g->values[n->in[0]].last != maker) return -1;
  return n->n_in > 1 && n->in[1] == n->in[0] ? -1 : n->in[0];
}
/* 1: the gradient of `value` is that of what its last reader makes. */
static int syn__is_dx_alias(const syn__graph *g, int value) {
  int last = g->values[value].last;
  return last >= 0 && syn__dx_alias(g, g->nodes[last]->out) == value;
}

/* 1: no backward pass reads the numbers of the value, so that its last reader on the way there
   frees them. The head of a training run stands behind the nodes and reads what it reads. */
static int syn__not_needed(const syn__graph *g, const syn__value *v) {
  int i, k, not_needed = g->feed ? 0 : g->nodes[v->maker]->not_needed & SYN_OUTPUT_NOT_NEEDED;
  for (i = v->first; i >= 0 && i <= v->last && not_needed; i++)
    for (k = 0; k < g->nodes[i]->n_in; k++)
      if (&g->values[g->nodes[i]->in[k]] == v) not_needed &= g->nodes[i]->not_needed << 1;
  return not_needed && v->last < (int)g->n_nodes;
}

/* Times: node i runs forward at i, backward at 2n-1-i. What backward may read lives until then: a
   value until its maker has gone back, since the maker may look at its own output; one that all
   forget until its last reader has run; its gradient from the last reader's way back, where it is
   zeroed, until the maker's. A gradient nobody reads begins at n, where the way back does. What is
   handed on lives until the last heir's maker. */
static size_t syn__item_values(const syn__graph *g, int mode, const syn__capacity *cap,
                               syn__item *items, syn_tensor *tensors) {
  int n = (int)g->n_nodes, end = 2 * n - 1, heir;
  size_t i, count = 0;
  for (i = 0; i < g->n_values; i++) {
    const syn__value *v = &g->values[i];
    syn__item item;
    item.size = syn__round16(syn__mul_size((size_t)v->shape[1], cap->rows[v->stream]));
    item.from = v->maker;
    item.to = mode == SYN__TRAIN && !syn__not_needed(g, v) ? end - v->maker
              : mode == SYN__KEEP || v->last < 0          ? end
                                                          : v->last;
    item.where = tensors ? &tensors[i].x : NULL;
    syn__item_add(items, &count, &item);
    if (mode != SYN__TRAIN || syn__is_dx_alias(g, (int)i)) continue;
    for (heir = (int)i; heir >= 0; heir = syn__dx_alias(g, heir))
      item.to = end - g->values[heir].maker;
    item.from = v->last < 0 ? n : end - v->last;
    item.where = tensors ? &tensors[i].dx : NULL;
    syn__item_add(items, &count, &item);
  }
  return count;
}

/* Saved buffers by their life: FORWARD for the moment of forward, BACKWARD for that of backward,
   BOTH from one to the other. Without a backward pass only the moment of forward is left. */
static void syn__item_saved(const syn__graph *g, int mode, const syn__capacity *cap,
                            syn__item *items, size_t *count, float **saved) {
  int n = (int)g->n_nodes, i, k;
  for (i = 0; i < n; i++)
    for (k = 0; k < g->nodes[i]->n_save; k++) {
      int life = g->nodes[i]->save_life[k];
      syn__item item;
      if (mode != SYN__TRAIN && life == SYN_BACKWARD) continue;
      item.size = syn__extent_floats(g, g->nodes[i], &g->nodes[i]->save[k], cap);
      item.from = life == SYN_BACKWARD ? 2 * n - 1 - i : i;
      item.to = life == SYN_FORWARD ? i : 2 * n - 1 - i;
      if (mode == SYN__INFER) item.to = i;
      if (mode == SYN__KEEP) item.to = 2 * n;
      item.where = saved ? &saved[i * SYN_MAX_SAVE + k] : NULL;
      syn__item_add(items, count, &item);
    }
}

/* What input feeding runs more than once must find its buffers as it left them: whatever is needed
   while the repeated nodes run is kept until the last of them is done. */
static void syn__item_feed(const syn__graph *g, int mode, syn__item *items, size_t count) {
  int n = (int)g->n_nodes, last = mode == SYN__TRAIN ? 2 * n - 1 - g->feed : n - 1;
  size_t i;
  for (i = 0; i < count && g->feed; i++)
    if (items[i].to >= g->feed && items[i].to < last) items[i].to = last;
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

static const syn__arg *syn__arg_find(const syn_layer *l, const char *name) {
  int i;
  for (i = 0; i < l->n_args; i++)
    if (!strcmp(l->args[i].name, name)) return &l->args[i];
  return NULL;
}

/* These three return `otherwise` where the layer does not say, and after recording an error: the
   builder looks at the context's status once, when the node is done. */
int syn_arg_int(syn_build *b, const char *name, int otherwise, int least, int most) {
  const syn__arg *a = syn__arg_find(b->layer, name);
  if (!a) return otherwise;
  if (a->number != floor(a->number) || a->number < least || a->number > most) {
    syn__fail_build(b, SYN_E_TEXT, "%s is %g, wanted a whole number from %d to %d", name, a->number,
                    least, most);
    return otherwise;
  }
  return (int)a->number;
}

float syn_arg_float(syn_build *b, const char *name, float otherwise, float least, float most) {
  const syn__arg *a = syn__arg_find(b->layer, name);
  if (!a) return otherwise;
  if (!(a->number >= (double)least && a->number <= (double)most)) {
    syn__fail_build(b, SYN_E_TEXT, "%s is %g, wanted a number from %g to %g", name, a->number,
                    (double)least, (double)most);
    return otherwise;
  }
  return (float)a->number;
}

static int syn__text_is(syn_text a, const char *b) {
  return strlen(b) == a.size && !memcmp(a.at, b, a.size);
}

/* The place of the word in a list of names. */
int syn_arg_word(syn_build *b, const char *name, const char *const *words, int count,
                 int otherwise) {
  const syn__arg *a = syn__arg_find(b->layer, name);
  char list[160] = "";
  int i;
  if (!a) return otherwise;
  for (i = 0; i < count; i++) {
    if (syn__text_is(a->word, words[i])) return i;
    if (strlen(list) + strlen(words[i]) + 3 < sizeof list) {
      if (i) strcat(list, ", ");
      strcat(list, words[i]);
    }
  }
  syn__fail_build(b, SYN_E_TEXT, "%s is '%.*s', wanted one of %s", name,
                  a->word.size < 40 ? (int)a->word.size : 40, a->word.at, list);
  return otherwise;
}

/* A node of a kind with one input, as most layers are. */
static int syn__build_leaf(syn_build *b, const syn_layer *l, int x) {
  syn_node *n = syn__node_new(b, l->kind, 1, &x);
  if (n && l->kind->drops) n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  return syn__node_done(b, n);
}

/* The layers of a chain one after the other; b->path names the chain. */
int syn_build_chain(syn_build *b, const syn_layer *chain, int x) { return b->chain(b, chain, x); }

/* Appends .number to the path. A path that were cut would give two layers the same name. */
static syn_status syn__path_push(syn_build *b, int number) {
  size_t size = strlen(b->path), room = sizeof b->path - size;
  if (snprintf(b->path + size, room, ".%d", number) < (int)room) return SYN_OK;
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

/* Gives the newest value its tensor. */
static syn_tensor *syn__tape_tensor(syn_tape *t, int id) {
  const syn__value *v = &t->own.g->values[id];
  syn_tensor *a = &t->tensors[id];
  size_t size = syn__size(v->rank, v->shape);
  a->tape = t;
  a->id = id;
  a->rank = v->rank;
  memcpy(a->shape, v->shape, sizeof a->shape);
  a->x = (float *)syn__tape_get(t, size);
  a->dx = a->x ? (float *)syn__tape_get(t, size) : NULL;
  return a->dx ? a : NULL;
}

/* How much stands on a tape. An operation that fails is taken back, or the next run would meet
   it. */
typedef struct syn__mark {
  size_t nodes, values, used;
} syn__mark;
static syn__mark syn__tape_mark(const syn_tape *t) {
  syn__mark mark;
  mark.nodes = t->g->n_nodes;
  mark.values = t->g->n_values;
  mark.used = t->block_used;
  return mark;
}
static syn_tensor *syn__tape_back(syn_tape *t, syn__mark mark) {
  t->own.g->n_nodes = mark.nodes;
  t->own.g->n_values = mark.values;
  t->block_used = mark.used;
  return NULL;
}

static int syn__tape_full(syn_tape *t) {
  if (t->g->n_values < SYN__TAPE_TENSORS) return 0;
  syn__fail(t->c, SYN_E_MEMORY, "a tape of more than %d tensors", SYN__TAPE_TENSORS);
  return 1;
}

syn_tape *syn_tape_new(syn_context *c, size_t bytes) {
  syn_tape *t = (syn_tape *)syn__alloc(c, 1, sizeof *t);
  syn__graph *g = (syn__graph *)syn__alloc(c, 1, sizeof *g);
  size_t packed = 0;
  if (t) {
    t->c = c;
    t->k = c->kernels;
    t->threads = c->options.threads;
    packed = syn__round16(syn__pack_floats(t->threads)) * sizeof(float);
    t->g = g;
    t->own.c = c;
    t->own.g = g;
    t->own.side = "tape";
    t->tensors = (syn_tensor *)syn__alloc(c, SYN__TAPE_TENSORS, sizeof *t->tensors);
    t->saved = (float **)syn__alloc(c, SYN__TAPE_TENSORS * SYN_MAX_SAVE, sizeof *t->saved);
    /* one block, as that of a model: if it is large, products find their panels in large pages */
    t->pack = (float *)syn__alloc(c, 1, syn__add_size(packed, bytes));
    if (t->pack) t->block = (char *)t->pack + packed;
    t->block_size = bytes;
  }
  if (g) g->arena.c = c;
  /* the graph has an owner only once there is a tape */
  if (t && g && t->tensors && t->saved && t->pack) return t;
  if (t) syn_tape_free(t);
  else syn__free(c, g);
  return NULL;
}

void syn_tape_free(syn_tape *t) {
  syn_context *c;
  if (!t) return;
  c = t->c;
  if (t->own.g) syn__graph_free(c, t->own.g);
  syn__free(c, t->own.g);
  syn__free(c, t->tensors);
  syn__free(c, t->saved);
  syn__free(c, t->pack);
  syn__free(c, t);
}

void syn_tape_clear(syn_tape *t) {
  syn__graph *g = t ? t->own.g : NULL;
  if (!g) return;
  syn__graph_free(t->c, g);
  g->arena.c = t->c;
  t->block_used = 0;
}

syn_tensor *syn_tensor_new(syn_tape *t, int rank, const int *shape) {
  syn__mark mark;
  syn_tensor *a;
  int id, i;
  if (!t || !shape || syn__tape_full(t)) return NULL;
  for (i = 0; i < rank && rank <= SYN_MAX_RANK && shape[i] > 0; i++) continue;
  /* i == rank when all is well */
  if (rank < 1 || i < rank) {
    syn__fail(t->c, SYN_E_SHAPE, "tensor: rank %d, wanted 1 to %d with every size above 0", rank,
              SYN_MAX_RANK);
    return NULL;
  }
  mark = syn__tape_mark(t);
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
    floats = n->save[k].fixed + n->save[k].row * syn__tensor_rows(out);
    t->saved[n->id * SYN_MAX_SAVE + k] = (float *)syn__tape_get(t, floats);
    if (!t->saved[n->id * SYN_MAX_SAVE + k]) out = NULL;
  }
  return out;
}

/* Records one operation and runs it. What fails leaves no trace: a value without memory, or a node
   that writes to one, would be met by the next syn_backward. */
static syn_tensor *syn__record(const syn_kind *kind, int n_in, syn_tensor *const *in, int which,
                               float number) {
  int ids[2], i;
  syn_tape *t = in[0] ? in[0]->tape : NULL;
  syn_node *n;
  syn_tensor *out;
  syn__mark mark;
  if (!t || (n_in > 1 && !in[1]) || syn__tape_full(t)) return NULL;
  for (i = 0; i < n_in; i++) ids[i] = in[i]->id;
  if (n_in > 1 && in[1]->tape != t) {
    syn__fail(t->c, SYN_E_VALUE, "%s: the two tensors stand on different tapes", kind->name);
    return NULL;
  }
  mark = syn__tape_mark(t);
  n = syn__node_new(&t->own, kind, n_in, ids);
  if (!n) return syn__tape_back(t, mark);
  n->which = which;
  n->number = number;
  out = syn__node_done(&t->own, n) < 0 ? NULL : syn__record_memory(t, n);
  if (!out) return syn__tape_back(t, mark);
  kind->forward(t, n);
  return out;
}

void syn_tape_forward(syn_tape *t) {
  if (t) syn__forward(t, 0, (int)t->g->n_nodes);
}

syn_status syn_backward(syn_tensor *loss) {
  syn_tape *t;
  size_t i;
  if (!loss) return SYN_E_VALUE;
  t = loss->tape;
  if (syn__count(loss) != 1)
    return syn__fail(t->c, SYN_E_SHAPE, "backward: the tensor has %lu numbers, wanted 1 (a loss)",
                     (unsigned long)syn__count(loss));
  for (i = 0; i < t->g->n_values; i++)
    memset(t->tensors[i].dx, 0, syn__count(&t->tensors[i]) * sizeof(float));
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
   NaN anywhere comes out as NaN, since it is not below `worst`. */
float syn_gradient_check(syn_tensor *loss, syn_tensor *leaf, float h) {
  size_t i, n;
  double worst = 0.0, largest = 1e-8;
  int bad = 0;
  if (!loss || !leaf || syn_backward(loss)) return (float)INFINITY;
  n = syn__count(leaf);
  for (i = 0; i < n; i++) {
    double g = (double)leaf->dx[i], difference = fabs(syn__difference(loss, &leaf->x[i], h) - g);
    if (difference > worst) worst = difference;
    if (fabs(g) > largest) largest = fabs(g);
    bad |= !(difference < (double)INFINITY); /* also not a number */
  }
  syn_tape_forward(loss->tape);
  return bad ? INFINITY : (float)(worst / largest);
}

/* ==============================================================================================
   >>kind add   y = a + b, also y = a - b and y = a b; b may be a row that repeats, or one number
   ============================================================================================== */

/*
   a and y have one shape; b [...] has the last part of it, or is [1]: b is read again for every
   repetition, and its gradient is the sum over them. Nothing is saved: backward of y = a b reads
   the inputs. In a model's text this is `res` and `parallel_add`; syn_add, syn_sub, syn_mul record
   it on a user's tape. a and b may be the same tensor: both gradients are added, none written. */

/* Both have the same shape, or that of b, without its leading ones, is the last part of that of
   a. */
static syn_status syn__pair_shape(syn_build *b, syn_node *n) {
  const syn__value *x = &b->g->values[n->in[0]], *y = &b->g->values[n->in[1]];
  int i, ones = 0, rank;
  while (ones < y->rank && y->shape[ones] == 1 && x->shape[0] != 0) ones++;
  rank = y->rank - ones;
  for (i = 1; i <= rank; i++)
    if (rank > x->rank || y->shape[y->rank - i] != x->shape[x->rank - i])
      return syn__fail_build(b, SYN_E_SHAPE, "%s: sizes %d and %d do not fit", n->kind->name,
                             rank > x->rank ? rank : x->shape[x->rank - i],
                             y->shape[y->rank - i]);
  return syn__out_like(b, n, 0);
}

typedef struct syn__pair {
  void (*f)(float *y, const float *a, const float *b, size_t n);
  float *y;           /* [numbers of a] */
  const float *a, *b;
  size_t size_b;      /* numbers of b, which divides those of a */
} syn__pair;

static void syn__task_pair(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__pair *j = (const syn__pair *)job;
  size_t i, n;
  SYN__UNUSED(t);
  SYN__UNUSED(thread);
  for (i = begin; i < end; i += n) { /* up to where b repeats */
    n = j->size_b - i % j->size_b;
    if (n > end - i) n = end - i;
    j->f(j->y + i, j->a + i, j->b + i % j->size_b, n);
  }
}

static void syn__pair_run(syn_tape *t, const syn_node *n,
                          void (*f)(float *, const float *, const float *, size_t)) {
  syn__pair j;
  j.f = f;
  j.y = syn_out(t, n)->x;
  j.a = syn_in(t, n, 0)->x;
  j.b = syn_in(t, n, 1)->x;
  j.size_b = syn__count(syn_in(t, n, 1));
  syn__parallel(t, syn__task_pair, &j, syn__count(syn_out(t, n)), SYN__GRAIN);
}

/* db += factor times the sum of dy over the repetitions of b, one after the other: they all add
   into the same numbers, so threads may not share them out. */
static void syn__pair_fold(syn_tape *t, const syn_node *n, const float *dy, float factor) {
  syn_tensor *b = syn_in(t, n, 1);
  size_t size = syn__count(b), count = syn__count(syn_out(t, n)), i;
  if (size == count) {
    syn__accumulate(t, b->dx, dy, factor, count, n->first_write && syn__is_first_write(t, n, 1));
    return;
  }
  if (size == 1) b->dx[0] += factor * t->k->sum(dy, count);
  else
    for (i = 0; i < count; i += size) t->k->acc_scale(b->dx, factor, dy + i, size);
}

/* The second operand comes with its dropout still to do (>>kind res): y = a + mask(b), where the
   mask of b stays in b; db = mask(dy). */
typedef struct syn__masked {
  syn__dropout d;
  float *y, *b;
  const float *a; /* null: backward */
} syn__masked;

static void syn__task_masked(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__masked *j = (const syn__masked *)job;
  size_t n;
  SYN__UNUSED(thread);
  for (; begin < end; begin += n) {
    n = end - begin < SYN__BITE ? end - begin : SYN__BITE;
    if (!j->a) memcpy(j->b + begin, j->y + begin, n * sizeof(float));
    t->k->dropout(&j->d, (uint32_t)begin, j->b + begin, n);
    if (j->a) t->k->add(j->y + begin, j->a + begin, j->b + begin, n);
  }
}
/* 0: there is no dropout left to do. The node that made b has this one reader, so that db is
   always written for the first time. */
static int syn__add_masked(syn_tape *t, const syn_node *n, int back) {
  const syn_tensor *b = syn_in(t, n, 1), *y = syn_out(t, n);
  syn__masked j;
  if (!n->which || !syn__drops(t, t->g->nodes[t->g->values[b->id].maker], &j.d)) return 0;
  j.y = back ? y->dx : y->x;
  j.b = back ? b->dx : b->x;
  j.a = back ? NULL : syn_in(t, n, 0)->x;
  syn__parallel(t, syn__task_masked, &j, syn__count(y), 4096);
  return 1;
}

static void syn__add_forward(syn_tape *t, const syn_node *n) {
  if (!syn__add_masked(t, n, 0)) syn__pair_run(t, n, t->k->add);
}
/* da += dy, db += dy */
static void syn__add_backward(syn_tape *t, const syn_node *n) {
  syn__send(t, n, 1.0f);
  if (!syn__add_masked(t, n, 1)) syn__pair_fold(t, n, syn_out(t, n)->dx, 1.0f);
}
static const syn_kind syn__kind_add = {
    "add", "", 0, NULL, syn__pair_shape, syn__add_forward, syn__add_backward, NULL, NULL, NULL};

static void syn__sub_forward(syn_tape *t, const syn_node *n) { syn__pair_run(t, n, t->k->sub); }
/* da += dy, db -= dy */
static void syn__sub_backward(syn_tape *t, const syn_node *n) {
  syn__send(t, n, 1.0f);
  syn__pair_fold(t, n, syn_out(t, n)->dx, -1.0f);
}
static const syn_kind syn__kind_sub = {
    "sub", "", 0, NULL, syn__pair_shape, syn__sub_forward, syn__sub_backward, NULL, NULL, NULL};

static void syn__mul_forward(syn_tape *t, const syn_node *n) { syn__pair_run(t, n, t->k->mul); }
/* da += dy b, db += dy a; for b [1] the second is one dot product over all of dy and a */
static void syn__mul_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n), *a = syn_in(t, n, 0), *b = syn_in(t, n, 1);
  size_t size = syn__count(b), count = syn__count(y), i;
  for (i = 0; i < count; i += size) {
    if (size == 1) {
      t->k->acc_scale(a->dx, b->x[0], y->dx, count);
      b->dx[0] += t->k->dot(y->dx, a->x, count);
      return;
    }
    t->k->acc_mul(a->dx + i, y->dx + i, b->x, size);
    t->k->acc_mul(b->dx, y->dx + i, a->x + i, size);
  }
}
static const syn_kind syn__kind_mul = {
    "mul", "", 0, NULL, syn__pair_shape, syn__mul_forward, syn__mul_backward, NULL, NULL, NULL};

static syn_tensor *syn__record_pair(const syn_kind *kind, syn_tensor *a, syn_tensor *b) {
  syn_tensor *in[2];
  in[0] = a;
  in[1] = b;
  return syn__record(kind, 2, in, 0, 0.0f);
}
syn_tensor *syn_add(syn_tensor *a, syn_tensor *b) { return syn__record_pair(&syn__kind_add, a, b); }
syn_tensor *syn_sub(syn_tensor *a, syn_tensor *b) { return syn__record_pair(&syn__kind_sub, a, b); }
syn_tensor *syn_mul(syn_tensor *a, syn_tensor *b) { return syn__record_pair(&syn__kind_mul, a, b); }

/* ==============================================================================================
   >>kind scale   y = s x
   ============================================================================================== */

/* s is a number of the caller, n->number, and no tensor: it has no gradient. */

static syn_status syn__same_shape(syn_build *b, syn_node *n) { return syn__out_like(b, n, 0); }

static void syn__scale_forward(syn_tape *t, const syn_node *n) {
  t->k->scale(syn_out(t, n)->x, n->number, syn_in(t, n, 0)->x, syn__count(syn_out(t, n)));
}
/* dx += s dy */
static void syn__scale_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  t->k->acc_scale(syn_in(t, n, 0)->dx, n->number, y->dx, syn__count(y));
}
static const syn_kind syn__kind_scale = {
    "scale", "", 0, NULL, syn__same_shape, syn__scale_forward, syn__scale_backward, NULL, NULL,
    NULL};
syn_tensor *syn_scale(syn_tensor *x, float s) { return syn__record(&syn__kind_scale, 1, &x, 0, s); }

/* ==============================================================================================
   >>kind sum   y [1] = sum of all numbers of x, or their mean
   ============================================================================================== */

/* x of any shape. which: 1 is the mean, n->number what the sum is multiplied by: 1 or 1/count. The
   sum goes through the kernels' fixed tree, as every sum along a row: the same bits everywhere. */

static syn_status syn__sum_shape(syn_build *b, syn_node *n) {
  const int one = 1;
  const syn__value *x = &b->g->values[n->in[0]];
  if (n->which) n->number = 1.0f / (float)syn__size(x->rank, x->shape);
  n->out = syn__value_new(b, SYN_OWN, 1, &one);
  return n->out < 0 ? SYN_E_MEMORY : SYN_OK;
}
static void syn__sum_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn_out(t, n)->x[0] = n->number * t->k->sum(x->x, syn__count(x));
}
/* dx_i += dy (mean: / count) */
static void syn__sum_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  size_t i, count = syn__count(x);
  float dy = n->number * syn_out(t, n)->dx[0];
  for (i = 0; i < count; i++) x->dx[i] += dy;
}
static const syn_kind syn__kind_sum = {
    "sum", "", 0, NULL, syn__sum_shape, syn__sum_forward, syn__sum_backward, NULL, NULL, NULL};
syn_tensor *syn_sum(syn_tensor *x) { return syn__record(&syn__kind_sum, 1, &x, 0, 1.0f); }
syn_tensor *syn_mean(syn_tensor *x) { return syn__record(&syn__kind_sum, 1, &x, 1, 1.0f); }

/* ==============================================================================================
   >>kind matmul   y [m,n] = a [m,k] b [k,n]
   ============================================================================================== */

/*
   Both factors are tensors with gradients; products with weights are `linear`. The three products
   are one function (syn_gemm) with other strides: a transposed matrix is read by its columns, never
   copied as a whole. Nothing is saved. */

static syn_status syn__matmul_shape(syn_build *b, syn_node *n) {
  const syn__value *x = &b->g->values[n->in[0]], *y = &b->g->values[n->in[1]];
  int shape[2];
  if (x->rank != 2 || y->rank != 2 || x->shape[1] != y->shape[0])
    return syn__fail_build(b, SYN_E_SHAPE, "matmul: a ends in %d, b begins with %d, both of rank 2",
                           x->shape[x->rank - 1], y->shape[0]);
  shape[0] = x->shape[0];
  shape[1] = y->shape[1];
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

/* x and y [rows,n]. The kernel subtracts the largest x first: exp never overflows, and y is the
   same. While going back one row [n] of scratch (the buffer 0): the kernel writes dx, but a
   gradient is added to. */

static void syn__softmax_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  size_t r, width = (size_t)syn__width(x), rows = syn__tensor_rows(x);
  for (r = 0; r < rows; r++) t->k->softmax(y->x + r * width, x->x + r * width, width);
}
/* dx_i += y_i (dy_i - sum_j y_j dy_j): from dy_i/dx_j = y_i ((i = j) - y_j) */
static void syn__softmax_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  size_t r, width = (size_t)syn__width(x), rows = syn__tensor_rows(x);
  float *row = syn_saved(t, n, 0);
  for (r = 0; r < rows; r++) {
    t->k->softmax_back(row, y->x + r * width, y->dx + r * width, width);
    t->k->acc(x->dx + r * width, row, width);
  }
}
static syn_status syn__softmax_shape(syn_build *b, syn_node *n) {
  syn_extent row;
  memset(&row, 0, sizeof row);
  row.fixed = (size_t)syn_build_width(b, n, 0);
  return syn_build_save(b, n, SYN_BACKWARD, row) ? SYN_E_SHAPE : syn__out_like(b, n, 0);
}
static const syn_kind syn__kind_softmax = {
    "softmax", "", 0, NULL, syn__softmax_shape, syn__softmax_forward, syn__softmax_backward, NULL,
    NULL, NULL};
syn_tensor *syn_softmax(syn_tensor *x) { return syn__record(&syn__kind_softmax, 1, &x, 0, 0.0f); }

/* ==============================================================================================
   >>kind act   y = f(x), elementwise: relu, gelu (tanh form), tanh, sigmoid, swish
   ============================================================================================== */

/* relu(x) = max(x, 0); gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and
   Gimpel 2016); sigmoid(x) = 1/(1+e^-x); swish(x) = x sigmoid(x) (Ramachandran, Zoph and Le
   2017). x and y of one shape; nothing is saved, backward reads x. As a layer it stands where no
   `ff` does the same along with its product. glu is of `ff` alone: it halves the width. */

/* In the order of the kernels' functions; glu follows them, since no kernel of them is it. */
static const char *const syn__act_names[] = {"relu", "gelu", "tanh", "sigmoid", "swish", "glu"};
enum { SYN__GLU = SYN__ACTS };

static syn_status syn__act_shape(syn_build *b, syn_node *n) {
  if (b->layer) n->which = syn_arg_word(b, "act", syn__act_names, SYN__ACTS, SYN__RELU);
  return syn__out_like(b, n, 0);
}

typedef struct syn__act_job {
  int which;           /* SYN__RELU ... */
  float *y;            /* the result; with dy the gradient that is added to */
  const float *x, *dy; /* dy null: forward */
} syn__act_job;

static void syn__task_act(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__act_job *j = (const syn__act_job *)job;
  SYN__UNUSED(thread);
  if (j->dy) t->k->act_back(j->which, j->y + begin, j->x + begin, j->dy + begin, end - begin);
  else t->k->act(j->which, j->y + begin, j->x + begin, end - begin);
}

/* y = f(x); with dy: y += dy f'(x) */
static void syn__act_forward(syn_tape *t, const syn_node *n) {
  syn__act_job j;
  j.which = n->which;
  j.y = syn_out(t, n)->x;
  j.x = syn_in(t, n, 0)->x;
  j.dy = NULL;
  syn__parallel(t, syn__task_act, &j, syn__count(syn_out(t, n)), 4096);
}
static void syn__act_backward(syn_tape *t, const syn_node *n) {
  syn__act_job j;
  j.which = n->which;
  j.y = syn_in(t, n, 0)->dx;
  j.x = syn_in(t, n, 0)->x;
  j.dy = syn_out(t, n)->dx;
  syn__parallel(t, syn__task_act, &j, syn__count(syn_out(t, n)), 4096);
}
static const syn_kind syn__kind_act = {
    "act", "w:act", 0, NULL, syn__act_shape, syn__act_forward, syn__act_backward, NULL, NULL, NULL};

syn_tensor *syn_act(syn_tensor *x, const char *name) {
  int i;
  for (i = 0; x && name && i < SYN__ACTS; i++)
    if (!strcmp(name, syn__act_names[i])) return syn__record(&syn__kind_act, 1, &x, i, 0.0f);
  if (x)
    syn__fail(x->tape->c, SYN_E_VALUE, "act: '%.20s', wanted relu, gelu, tanh, sigmoid or swish",
              name ? name : "null");
  return NULL;
}

/* ==============================================================================================
   >>kind linear   y [rows,n] = x [rows,d] W^T + b; W [n,d], b [n]
   ============================================================================================== */

/*
   d is the width of x, n that of y, the model's d_model if not given. bias=0: no b. Rows are
   independent, so that a step of decoding is the forward pass over the new rows. Nothing is saved:
   backward reads x. Both parameters have the layout of PyTorch, one row of W for every output.
   dx += dy W, dW += dy^T x, db += column sums of dy (syn__linear_backward_of). */

/* A matrix [rows,columns], columns the width it multiplies; a vector [size] that begins at 0. */
static syn_status syn__matrix_param(syn_build *b, syn_node *n, const char *name, int rows,
                                    int columns) {
  int shape[2];
  shape[0] = rows;
  shape[1] = columns;
  return syn_build_param(b, n, name, syn_initial_glorot(columns, rows), 2, shape);
}
static syn_status syn__bias_param(syn_build *b, syn_node *n, const char *name, int size) {
  return syn_build_param(b, n, name, syn_initial_of(SYN_INIT_CONSTANT, 0.0), 1, &size);
}

/* w [out,width of x] and b [out], the first two parameters of linear, ff and highway. */
static syn_status syn__linear_params(syn_build *b, syn_node *n, int out, int bias) {
  if (syn__matrix_param(b, n, "w", out, syn_build_width(b, n, 0))) return SYN_E_SHAPE;
  return bias ? syn__bias_param(b, n, "b", out) : SYN_OK;
}

static syn_status syn__linear_shape(syn_build *b, syn_node *n) {
  int out = syn_arg_int(b, "n", b->config->d_model, 1, 1 << 20);
  n->which = syn_arg_int(b, "bias", 1, 0, 1); /* 1: there is a b */
  n->first_write = 1;
  n->not_needed = SYN_OUTPUT_NOT_NEEDED;
  if (syn__linear_params(b, n, out, n->which)) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), out);
}
static void syn__linear_kind_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, 0, n->which ? 1 : -1, syn_in(t, n, 0), syn_out(t, n)->x);
}
/* What a layer of one product, w and (bias 1; -1: none) b, sends back to its input. */
static void syn__linear_send(syn_tape *t, const syn_node *n, int bias, const float *dy) {
  syn__linear_grad g = syn__linear_grad_of(t, n, 0, bias, syn_in(t, n, 0), dy);
  g.first_write = syn__is_first_write(t, n, 0);
  syn__linear_backward_of(t, &g);
}
static void syn__linear_kind_backward(syn_tape *t, const syn_node *n) {
  syn__linear_send(t, n, n->which ? 1 : -1, syn_out(t, n)->dx);
}
static const syn_kind syn__kind_linear = {
    "linear", "i:n i:bias f:dropout", 1, NULL, syn__linear_shape, syn__linear_kind_forward,
    syn__linear_kind_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind ff   y [rows,n] = act(x W^T + b); glu: W [2n,d], y = first half * sigma(second half)
   ============================================================================================== */

/* The hidden layer of the feed-forward block (Vaswani et al. 2017, section 3.3); glu: Dauphin,
   Fan, Auli and Grangier 2017. x [rows,d], y [rows,n], z = x W^T + b [rows,n], for glu [rows,2n]
   with the gate in the second half. saved: 0 dz of glu, while going back; of the others dy becomes
   dz in place   1 z, but not for relu, which works in place: y > 0 says what its derivative is,
   and where dropout has kept y, too. Activation and dropout, and on the way back both again, are
   one pass over memory. */

/* What cnn has along with ff: `act`, the width of z, and the two buffers. */
static int syn__ff_wide(syn_build *b, syn_node *n, int out, int otherwise) {
  n->which = syn_arg_word(b, "act", syn__act_names, SYN__GLU + 1, otherwise);
  return n->which == SYN__GLU ? 2 * out : out;
}
static syn_status syn__ff_saves(syn_build *b, syn_node *n, int wide) {
  n->own_dropout = n->which != SYN__GLU;
  if (syn__save_rows(b, n, SYN_BACKWARD, n->own_dropout ? 0 : (size_t)wide)) return SYN_E_SHAPE;
  return syn__save_rows(b, n, SYN_BOTH, n->which == SYN__RELU ? 0 : (size_t)wide);
}
static syn_status syn__ff_shape(syn_build *b, syn_node *n) {
  int out = syn_arg_int(b, "n", b->config->d_model, 1, 1 << 20);
  int wide = syn__ff_wide(b, n, out, SYN__RELU);
  n->first_write = 1;
  n->not_needed = n->which == SYN__RELU ? 0 : SYN_OUTPUT_NOT_NEEDED;
  if (syn__linear_params(b, n, wide, 1) || syn__ff_saves(b, n, wide)) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), out);
}

/* z [rows,2 width], y [rows,width]; going back the gradients of both */
typedef struct syn__glu_job {
  const float *z, *dy;
  float *y, *dz; /* y null: backward */
  size_t width;
} syn__glu_job;

/* y = a sigma(b), z = [a; b] of every row; or da += dy sigma(b), db += dy a sigma'(b) */
static void syn__task_glu(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__glu_job *j = (const syn__glu_job *)job;
  size_t r, width = j->width;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    const float *z = j->z + 2 * r * width;
    float *dz = j->y ? NULL : j->dz + 2 * r * width;
    if (j->y) {
      t->k->glu(j->y + r * width, z, z + width, width);
    } else {
      memset(dz, 0, 2 * width * sizeof *dz); /* the kernel adds */
      t->k->glu_back(dz, dz + width, z, z + width, j->dy + r * width, width);
    }
  }
}
static void syn__glu_forward(syn_tape *t, float *y, const float *z, size_t rows, size_t width) {
  syn__glu_job j;
  memset(&j, 0, sizeof j);
  j.y = y;
  j.z = z;
  j.width = width;
  syn__parallel(t, syn__task_glu, &j, rows, 8);
}
/* dz [rows,2 width] = what dy sends back */
static void syn__glu_backward(syn_tape *t, float *dz, const float *z, const float *dy, size_t rows,
                              size_t width) {
  syn__glu_job j;
  memset(&j, 0, sizeof j);
  j.dz = dz;
  j.z = z;
  j.dy = dy;
  j.width = width;
  syn__parallel(t, syn__task_glu, &j, rows, 8);
}

/* z, where the product is written, and from there y = act(z) */
static float *syn__ff_z(const syn_tape *t, const syn_node *n) {
  return n->which == SYN__RELU ? syn_out(t, n)->x : syn_saved(t, n, 1);
}

/* y = mask(act(z)), or dz = act'(z) mask(dy) in place of dy */
typedef struct syn__ff_job {
  int which, drops;
  syn__dropout d;  /* when it drops */
  float *y;        /* y, or dy that becomes dz */
  const float *z;
} syn__ff_job;

static void syn__task_ff(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__ff_job *j = (const syn__ff_job *)job;
  size_t n;
  SYN__UNUSED(thread);
  for (; begin < end; begin += n) {
    n = end - begin < SYN__BITE ? end - begin : SYN__BITE;
    t->k->act(j->which, j->y + begin, j->z + begin, n);
    if (j->drops) t->k->dropout(&j->d, (uint32_t)begin, j->y + begin, n);
  }
}
/* relu: z is y, and y > 0 where z > 0 and the mask let it pass: no mask is made again, what is left
   of it is its scale. */
static void syn__task_ff_back(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__ff_job *j = (const syn__ff_job *)job;
  int relu = j->which == SYN__RELU;
  float scale = relu && j->drops ? j->d.scale : 1.0f;
  size_t n;
  SYN__UNUSED(thread);
  for (; begin < end; begin += n) {
    n = end - begin < SYN__BITE ? end - begin : SYN__BITE;
    if (j->drops && !relu) t->k->dropout(&j->d, (uint32_t)begin, j->y + begin, n);
    t->k->slope(j->which, j->y + begin, j->z + begin, scale, n);
  }
}

static void syn__ff_run(syn_tape *t, const syn_node *n, syn__task task, float *y) {
  syn__ff_job j;
  j.which = n->which;
  j.drops = syn__drops(t, n, &j.d);
  j.y = y;
  j.z = syn__ff_z(t, n);
  syn__parallel(t, task, &j, syn__count(syn_out(t, n)), 4096);
}
static void syn__ff_act(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  if (n->which != SYN__GLU) syn__ff_run(t, n, syn__task_ff, y->x);
  else syn__glu_forward(t, y->x, syn__ff_z(t, n), syn__tensor_rows(y), (size_t)syn__width(y));
}
/* dz */
static const float *syn__ff_act_back(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  float *dz = n->which == SYN__GLU ? syn_saved(t, n, 0) : y->dx;
  if (n->which != SYN__GLU) syn__ff_run(t, n, syn__task_ff_back, dz);
  else syn__glu_backward(t, dz, syn__ff_z(t, n), y->dx, syn__tensor_rows(y), (size_t)syn__width(y));
  return dz;
}

static void syn__ff_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, 0, 1, syn_in(t, n, 0), syn__ff_z(t, n));
  syn__ff_act(t, n);
}
static void syn__ff_backward(syn_tape *t, const syn_node *n) {
  syn__linear_send(t, n, 1, syn__ff_act_back(t, n));
}
static const syn_kind syn__kind_ff = {
    "ff", "i:n w:act f:dropout", 1, NULL, syn__ff_shape, syn__ff_forward, syn__ff_backward, NULL,
    NULL, NULL};

/* ==============================================================================================
   >>kind cnn   y_t = act(b + sum over taps of W_tap x_{t + first + tap dilate})
   ============================================================================================== */

/*
   A convolution along the sentence (Gehring, Auli, Grangier, Yarats and Dauphin 2017, section 3;
   dilate: van den Oord et al. 2016, section 2.1). first = -(k-1)/2 dilate in an encoder, so that
   the window is centred, -(k-1) dilate in a decoder, so that it ends with the row itself; inputs
   outside the sentence are 0. x [rows,d], y [rows,n], W [n,k,d], b [n]; for glu W [2n,k,d], b [2n].
   With the windows of all rows side by side, col [rows,k d], and W as it stands, [n,k d], it is the
   product z = col W^T + b; what follows is that of ff.
   saved: 0 dz, while going back   1 z, as ff   2 col, for the moment of forward   3 col and then
   dcol, for that of backward: kept between them they would be k times as large as x.
   history of a decoded token: its x. */

static const syn_conv *syn__cnn_window(const syn_node *n) { return (const syn_conv *)n->own; }

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
  syn_conv *w = (syn_conv *)syn__own(b, n, sizeof *w);
  int out = syn_arg_int(b, "n", b->config->d_model, 1, 1 << 20), d = syn_build_width(b, n, 0);
  int wide = syn__ff_wide(b, n, out, SYN__GLU), shape[3];
  double fans; /* of Glorot and Bengio 2010: taps times inputs, and taps times outputs */
  if (!w) return SYN_E_MEMORY;
  if (syn__cnn_taps(b, w, d)) return SYN_E_SHAPE;
  shape[0] = wide;
  shape[1] = w->taps;
  shape[2] = d;
  fans = (double)w->taps * ((double)d + (double)wide);
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_UNIFORM, sqrt(6.0 / fans)), 3, shape))
    return SYN_E_SHAPE;
  b->g->params[n->param[0]].matrix = 1;
  if (syn__bias_param(b, n, "b", wide)) return SYN_E_SHAPE;
  if (syn__ff_saves(b, n, wide)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_FORWARD, (size_t)w->taps * (size_t)d)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BACKWARD, (size_t)w->taps * (size_t)d)) return SYN_E_SHAPE;
  n->cache = d;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), out);
}

/* y = act(col W^T + b): of all rows, or of those of a step */
static void syn__cnn_rows(syn_tape *t, const syn_node *n) {
  syn_tensor col = *syn_out(t, n); /* for its rows */
  col.x = syn_saved(t, n, 2);
  syn__linear_forward(t, n, 0, 1, &col, syn__ff_z(t, n));
  syn__ff_act(t, n);
}

static syn_matrix syn__cnn_matrix(const syn_tensor *x, const float *numbers) {
  return syn_matrix_of(numbers, (int)syn__tensor_rows(x), syn__width(x), 0);
}
static void syn__cnn_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn_im2col(t, n, syn__cnn_window(n), syn__cnn_matrix(x, x->x), syn_saved(t, n, 2));
  syn__cnn_rows(t, n);
}
static void syn__cnn_step(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn__conv_cache_write(t, n, 0, (size_t)syn__width(x), x->x);
  syn__conv_cached(t, n, syn__cnn_window(n), 0, (size_t)syn__width(x), syn_saved(t, n, 2));
  syn__cnn_rows(t, n);
}

/* dcol [rows,k d] = dz [rows,wide] W: written, not added, so that it need not be cleared first */
static void syn__cnn_dcol(syn_tape *t, const syn_node *n, const float *dz, float *dcol) {
  const syn_param *w = &t->g->params[n->param[0]];
  int rows = (int)syn__tensor_rows(syn_out(t, n)), wide = w->shape[0];
  int cols = w->shape[1] * w->shape[2];
  syn_gemm(t, syn_matrix_of(dcol, rows, cols, 0), syn_matrix_of(dz, rows, wide, 0),
           syn_matrix_of(syn_weight(t, n, 0), wide, cols, 0), NULL, 0);
}

/* dW += dz^T col, db += column sums of dz, dx += dcol at the rows the windows were taken from */
static void syn__cnn_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  const float *dz = syn__ff_act_back(t, n);
  syn_tensor col = *syn_out(t, n);
  col.x = syn_saved(t, n, 3);
  col.dx = NULL;
  syn_im2col(t, n, syn__cnn_window(n), syn__cnn_matrix(x, x->x), col.x);
  syn__linear_backward(t, n, 0, 1, &col, dz);
  syn__cnn_dcol(t, n, dz, col.x);
  syn_col2im(t, n, syn__cnn_window(n), col.x, syn__cnn_matrix(x, x->dx));
}
static void syn__cnn_cost(const syn_node *n, syn_cost *cost) {
  cost->decode_bytes = 4.0 * n->cache;
}
static const syn_kind syn__kind_cnn = {
    "cnn", "i:n i:k w:act i:dilate f:dropout", 1, NULL, syn__cnn_shape, syn__cnn_forward,
    syn__cnn_backward, NULL, syn__cnn_step, syn__cnn_cost};

/* ==============================================================================================
   >>kind norm   y = (x - mean) / sqrt(var + 1e-6) * g + b, mean and biased variance over the row
   ============================================================================================== */

/*
   (Ba, Kiros and Hinton 2016); rms_norm: y = x / sqrt(mean(x^2) + 1e-6) * g (Zhang and Sennrich
   2019). x, y [rows,d], g and b [d]; rms_norm has no b, and by that the room tells them apart.
   saved: 0 mean and r = 1/sqrt(...) of every row, [rows,2]: with x they give xhat = (x - mean) r
   again, which is as large as x and need not be kept.
   With q = dy g: dx += r (q - mean(q) - xhat mean(q xhat)), for rms_norm without mean(q);
   dg += sum over rows of dy xhat, db += sum over rows of dy. */

static syn_status syn__norm_params(syn_build *b, syn_node *n, int shift) {
  int d = syn_build_width(b, n, 0);
  n->first_write = 1;
  n->not_needed = SYN_OUTPUT_NOT_NEEDED;
  if (syn_build_param(b, n, "g", syn_initial_of(SYN_INIT_CONSTANT, 1.0), 1, &d)) return SYN_E_SHAPE;
  if (shift && syn__bias_param(b, n, "b", d)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BOTH, 2)) return SYN_E_SHAPE;
  return syn__out_like(b, n, 0);
}
static syn_status syn__norm_shape(syn_build *b, syn_node *n) { return syn__norm_params(b, n, 1); }
static syn_status syn__rms_shape(syn_build *b, syn_node *n) { return syn__norm_params(b, n, 0); }

static void syn__task_norm(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0), *b = n->n_param > 1 ? syn_weight(t, n, 1) : NULL;
  size_t r, width = (size_t)syn__width(x);
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++)
    t->k->norm(y->x + r * width, x->x + r * width, g, b, width, syn_saved(t, n, 0) + 2 * r);
}
static void syn__norm_forward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_norm, n, syn__tensor_rows(syn_out(t, n)), 8);
}

/* What the two kernels of the way back read. */
static syn__norm_rows syn__norm_rows_of(const syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn__norm_rows j;
  j.x = x->x;
  j.g = syn_weight(t, n, 0);
  j.dy = syn_out(t, n)->dx;
  j.stats = syn_saved(t, n, 0);
  j.rows = syn__tensor_rows(x);
  j.width = (size_t)syn__width(x);
  j.rms = n->n_param == 1;
  return j;
}
static void syn__task_norm_back(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn_node *n = (const syn_node *)job;
  syn__norm_rows j = syn__norm_rows_of(t, n);
  float *dx = syn_in(t, n, 0)->dx;
  int first_write = syn__is_first_write(t, n, 0);
  size_t r;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    if (first_write) memset(dx + r * j.width, 0, j.width * sizeof *dx);
    t->k->norm_back(dx, &j, r);
  }
}
static void syn__task_norm_params(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn_node *n = (const syn_node *)job;
  syn__norm_rows j = syn__norm_rows_of(t, n);
  SYN__UNUSED(thread);
  t->k->norm_back_columns(syn_dweight(t, n, 0), j.rms ? NULL : syn_dweight(t, n, 1), &j, begin,
                            end);
}
/* dx is split by rows; dg and db, sums over all rows, by columns. */
static void syn__norm_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  syn__parallel(t, syn__task_norm_back, n, syn__tensor_rows(x), 8);
  syn__parallel(t, syn__task_norm_params, n, (size_t)syn__width(x), 32);
}
static const syn_kind syn__kind_norm = {
    "norm", "", 0, NULL, syn__norm_shape, syn__norm_forward, syn__norm_backward, NULL, NULL, NULL};
static const syn_kind syn__kind_rms_norm = {
    "rms_norm", "", 0, NULL, syn__rms_shape, syn__norm_forward, syn__norm_backward, NULL, NULL,
    NULL};

/* ==============================================================================================
   >>kind rnn   h_t = cell(x_t, h_{t-1}): lstm or gru; and birnn: one from either end, side by side
   ============================================================================================== */

/*
   With a = x_t W_i^T + b_i and p = h W_h^T + b_h, h the state before, W_i [G n,d], W_h [G n,n]:
   lstm (Hochreiter and Schmidhuber 1997; gate f: Gers, Schmidhuber and Cummins 2000), G = 4, gates
     i, f, g, o = sigma, sigma, tanh, sigma of a + p:  c' = f c + i g,  h' = o tanh(c')
   gru (Cho et al. 2014, first version: r behind the product), G = 3, gates r, z, n:
     r, z = sigma(a + p),  m = p of gate n,  n = tanh(a + r m),  h' = (1-z) n + z h
   x [rows,d], y [rows,n] the h'. States begin at 0. birnn (Schuster and Paliwal 1997): two cells of
   n/2, side 1 walks from the true end of each sentence to its beginning; y = [side 0; side 1].

   a is one product for all rows. p must wait for the token before: sentences are sorted by length,
   so that those still running at time t are the first running[t+1], and their states one matrix
   without gaps; W_h is packed once a pass. On the way back the gradient of p at time t gives the
   state before its dh += dp W_h; the weights wait for the end, where each is one product over all
   rows. Derivatives of the cells stand at their kernels.
   saved: 0 gates [rows,G n]; the way back leaves da there   1 lstm: c; gru: m [rows,n]   2 order
   of the sentences   3 and 4 memory of the moment, forward and back. With two sides, 0 and 1 hold
   the rows of one behind those of the other.
   history of a decoded token: h, and behind it c of lstm. */

typedef struct syn__rnn {
  int gates; /* G */
  int n;     /* width of one side */
  int sides; /* 1; birnn: 2 */
} syn__rnn;

static const char *const syn__cell_names[] = {"lstm", "gru"};
enum { SYN__W_I, SYN__W_H, SYN__B_I, SYN__B_H, SYN__CELL_PARAMS }; /* of one side */
enum { SYN__GATES, SYN__KEPT, SYN__ORDER, SYN__AHEAD, SYN__BACK };

/* One side of a pass at one time. A buffer of "running" has a row for each sentence that is not at
   its end yet, in the sorted order; one of "rows" has a row for every token, packed as in x. */
typedef struct syn__rnn_side {
  const syn_node *node;
  const syn__rnn *own;
  int side, t;          /* t: tokens this side has passed before */
  size_t n, wide;       /* wide: G n */
  const int *off, *order;
  const int *running;   /* [longest+1] sentences of at least so many tokens */
  float *gates, *kept;  /* rows [.,wide], [.,n] */
  syn_matrix panels;    /* W_h^T [n,G n], backward W_h [G n,n], packed */
  float *h, *part;      /* forward: running [.,n], [.,wide]: h, p */
  float *dh, *dc;       /* back: running [.,n]; dc of lstm */
  float *dstep;         /* running [.,wide]: gradient of p at this time */
  float *past, *dpart;  /* rows [.,n], [.,wide]: h before, gradient of p; for lstm it is da */
} syn__rnn_side;

/* One token of one sentence. kept: c or m; past: c of lstm, h of gru, null at the beginning. */
typedef void (*syn__cell)(float *h, float *kept, float *gates, const float *part,
                          const float *past, size_t n);

/* -- shapes -- */

/* The four tensors of one side; a prefix tells the sides apart. */
static syn_status syn__rnn_params(syn_build *b, syn_node *n, const syn__rnn *own,
                                  const char *prefix) {
  static const char *const names[SYN__CELL_PARAMS] = {"w_i", "w_h", "b_i", "b_h"};
  syn_initial init = syn_initial_of(SYN_INIT_CONSTANT, 0.0);
  int shape[2], i;
  char name[16];
  shape[0] = own->gates * own->n;
  for (i = 0; i < SYN__CELL_PARAMS; i++) {
    shape[1] = i == SYN__W_I ? syn_build_width(b, n, 0) : own->n;
    if (i == SYN__W_I) init = syn_initial_glorot(shape[1], shape[0]);
    if (i == SYN__W_H) init = syn_initial_of(SYN_INIT_ORTHOGONAL, 1.0);
    if (i == SYN__B_I) init = syn_initial_of(SYN_INIT_CONSTANT, 0.0);
    snprintf(name, sizeof name, "%s%s", prefix, names[i]);
    if (syn_build_param(b, n, name, init, i < SYN__B_I ? 2 : 1, shape)) return SYN_E_SHAPE;
  }
  return SYN_OK;
}

/* After the parameters: they bound n, so that the panels of W_h can be counted. */
static syn_status syn__rnn_buffers(syn_build *b, syn_node *n, const syn__rnn *own) {
  size_t width = (size_t)own->n, wide = width * (size_t)own->gates, sides = (size_t)own->sides;
  syn_extent e;
  if (syn__save_rows(b, n, SYN_BOTH, sides * wide)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BOTH, sides * width)) return SYN_E_SHAPE;
  memset(&e, 0, sizeof e);
  e.row = e.length = e.fixed = 1;
  if (syn_build_save(b, n, SYN_BOTH, e)) return SYN_E_SHAPE;
  e.length = 0;
  e.row = width + wide;
  e.fixed = syn__mul_size(syn__round16(wide), width);
  if (syn_build_save(b, n, SYN_FORWARD, e)) return SYN_E_SHAPE;
  e.row = own->gates == 4 ? 3 * width + wide : 2 * width + 2 * wide;
  e.fixed = syn__mul_size(syn__round16(width), wide);
  return syn_build_save(b, n, SYN_BACKWARD, e);
}

static syn_status syn__rnn_shape_of(syn_build *b, syn_node *n, int sides) {
  syn__rnn *own = (syn__rnn *)syn__own(b, n, sizeof *own);
  int out = syn_arg_int(b, "n", b->config->d_model, 1, SYN__MAX_WIDTH);
  n->which = syn_arg_word(b, "cell", syn__cell_names, 2, 0);
  if (!own) return SYN_E_MEMORY;
  if (sides == 2 && b->decoder)
    return syn__fail_build(b, SYN_E_TEXT, "inside a decoder, where no token sees those behind it");
  if (out % sides)
    return syn__fail_build(b, SYN_E_SHAPE, "n is %d, wanted an even number: a half for each side",
                           out);
  own->gates = n->which ? 3 : 4;
  own->n = out / sides;
  own->sides = sides;
  if (syn__rnn_params(b, n, own, sides == 2 ? "fwd." : "")) return SYN_E_SHAPE;
  if (sides == 2 && syn__rnn_params(b, n, own, "bwd.")) return SYN_E_SHAPE;
  n->cache = n->which ? own->n : 2 * own->n;
  if (syn__rnn_buffers(b, n, own)) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), out);
}
static syn_status syn__rnn_shape(syn_build *b, syn_node *n) { return syn__rnn_shape_of(b, n, 1); }
static syn_status syn__birnn_shape(syn_build *b, syn_node *n) {
  return syn__rnn_shape_of(b, n, 2);
}
static void syn__rnn_cost(const syn_node *n, syn_cost *cost) {
  cost->decode_bytes = 4.0 * n->cache;
}

/* -- what both ways have in common -- */

static int syn__rnn_param(const syn__rnn_side *s, int which) {
  return SYN__CELL_PARAMS * s->side + which;
}
/* The packed row of running sentence i at time t. */
static size_t syn__rnn_row(const syn__rnn_side *s, size_t i, int t) {
  const int *off = s->off + s->order[i];
  return (size_t)(s->side ? off[1] - 1 - t : off[0] + t);
}
/* Where this side of a row of the output begins. */
static size_t syn__rnn_at(const syn__rnn_side *s, size_t row) {
  return (row * (size_t)s->own->sides + (size_t)s->side) * s->n;
}
static syn__cell syn__cell_of(const syn_tape *t, const syn__rnn *own) {
  return own->gates == 4 ? t->k->lstm : t->k->gru;
}

/* The sentences from the longest to the shortest, equal ones in their order; behind them how many
   have at least 0, 1, 2 ... tokens: places are counted from the longest down, and when a length has
   been filled in, its place is where the next shorter one begins. */
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

static syn__rnn_side syn__rnn_side_of(const syn_tape *t, const syn_node *n, int side) {
  const syn_stream *in = &t->stream[t->g->values[n->out].stream];
  size_t rows = syn__tensor_rows(syn_out(t, n));
  syn__rnn_side s;
  memset(&s, 0, sizeof s);
  s.node = n;
  s.own = (const syn__rnn *)n->own;
  s.side = side;
  s.n = (size_t)s.own->n;
  s.wide = s.n * (size_t)s.own->gates;
  s.off = in->off;
  s.order = (const int *)(const void *)syn_saved(t, n, SYN__ORDER);
  s.running = s.order + in->count;
  s.gates = syn_saved(t, n, SYN__GATES) + (size_t)side * rows * s.wide;
  s.kept = syn_saved(t, n, SYN__KEPT) + (size_t)side * rows * s.n;
  return s;
}

/* Packs W_h^T [n,G n] for h W_h^T, or, backward, W_h [G n,n] for dp W_h. A decoder has the first
   ready. */
static syn_matrix syn__rnn_pack(syn_tape *t, const syn__rnn_side *s, int backward, float *panels) {
  syn_matrix w = syn__weight_transposed(t, s->node, syn__rnn_param(s, SYN__W_H));
  if (w.panel) return w;
  return syn__pack_b(t, backward ? syn_transposed(w) : w, panels);
}

/* -- forward -- */

/* What a pass and a step begin with: a of all rows, and memory. */
static syn__rnn_side syn__rnn_ahead(syn_tape *t, const syn_node *n, int side) {
  size_t rows = syn__tensor_rows(syn_out(t, n));
  syn__rnn_side s = syn__rnn_side_of(t, n, side);
  syn__linear_forward(t, n, syn__rnn_param(&s, SYN__W_I), syn__rnn_param(&s, SYN__B_I),
                      syn_in(t, n, 0), s.gates);
  s.h = syn_saved(t, n, SYN__AHEAD);
  s.part = s.h + rows * s.n;
  s.panels = syn__rnn_pack(t, &s, 0, s.part + rows * s.wide);
  return s;
}

/* p = h W_h^T + b_h for the first `count` rows of h; at the beginning h is 0 and p is b_h. */
static void syn__rnn_part(syn_tape *t, const syn__rnn_side *s, size_t count, int begins) {
  int rows = (int)count, n = (int)s->n, wide = (int)s->wide;
  syn_gemm(t, syn_matrix_of(s->part, rows, wide, 0),
           syn_matrix_of(s->h, rows, begins ? 0 : n, s->n), s->panels,
           syn_weight(t, s->node, syn__rnn_param(s, SYN__B_H)), 0);
}

static void syn__task_rnn(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__rnn_side *s = (const syn__rnn_side *)job;
  syn__cell cell = syn__cell_of(t, s->own);
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    size_t row = syn__rnn_row(s, i, s->t);
    float *y = syn_out(t, s->node)->x + syn__rnn_at(s, row), *h = s->h + i * s->n;
    const float *past = s->t ? h : NULL;
    if (past && s->own->gates == 4) past = s->kept + syn__rnn_row(s, i, s->t - 1) * s->n;
    cell(y, s->kept + row * s->n, s->gates + row * s->wide, s->part + i * s->wide, past, s->n);
    memcpy(h, y, s->n * sizeof *h);
  }
}

static void syn__rnn_forward(syn_tape *t, const syn_node *n) {
  const syn_stream *in = &t->stream[t->g->values[n->out].stream];
  int side;
  syn__rnn_sort(in, (int *)(void *)syn_saved(t, n, SYN__ORDER));
  for (side = 0; side < ((const syn__rnn *)n->own)->sides; side++) {
    syn__rnn_side s = syn__rnn_ahead(t, n, side);
    for (s.t = 0; s.t < in->longest; s.t++) {
      size_t count = (size_t)s.running[s.t + 1];
      syn__rnn_part(t, &s, count, s.t == 0);
      syn__parallel(t, syn__task_rnn, &s, count, 8);
    }
  }
}

/* -- one token while decoding: the same product and the same cell, the state from the history -- */

static void syn__task_rnn_step(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn__rnn_side *s = (const syn__rnn_side *)job;
  syn__cell cell = syn__cell_of(t, s->own);
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    int place = t->at[SYN_TGT][i], lstm = s->own->gates == 4;
    float *to = syn__cache_row(t, s->node, t->decode->slot[i], place);
    const float *past = place ? syn__cached_row(t, s->node, (int)i, place - 1) : NULL;
    float *y = syn_out(t, s->node)->x + i * s->n;
    if (lstm && past) past += s->n;
    cell(y, lstm ? to + s->n : s->kept + i * s->n, s->gates + i * s->wide, s->part + i * s->wide,
         past, s->n);
    memcpy(to, y, s->n * sizeof *y);
  }
}

static void syn__rnn_step(syn_tape *t, const syn_node *n) {
  syn__rnn_side s = syn__rnn_ahead(t, n, 0);
  int i;
  for (i = 0; i < t->decode->rows; i++) {
    int place = t->at[SYN_TGT][i];
    float *h = s.h + (size_t)i * s.n;
    if (place) memcpy(h, syn__cached_row(t, n, i, place - 1), s.n * sizeof *h);
    else memset(h, 0, s.n * sizeof *h);
  }
  syn__rnn_part(t, &s, (size_t)t->decode->rows, 0);
  syn__parallel(t, syn__task_rnn_step, &s, (size_t)t->decode->rows, 8);
}

/* -- backward -- */

/* dh holds what the token behind gave; with dy of this one it is whole. Afterwards dstep is the
   gradient of p, and dh, dc are those of the state before, but for what goes through p. */
static void syn__task_rnn_back(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn__rnn_side *s = (const syn__rnn_side *)job;
  const syn_tensor *y = syn_out(t, s->node);
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    size_t row = syn__rnn_row(s, i, s->t), old = s->t ? syn__rnn_row(s, i, s->t - 1) : row;
    float *gates = s->gates + row * s->wide, *kept = s->kept + row * s->n;
    float *dh = s->dh + i * s->n, *dstep = s->dstep + i * s->wide, *past = s->past + row * s->n;
    t->k->acc(dh, y->dx + syn__rnn_at(s, row), s->n);
    if (s->t) memcpy(past, y->x + syn__rnn_at(s, old), s->n * sizeof *past);
    else memset(past, 0, s->n * sizeof *past);
    if (s->own->gates == 4) {
      t->k->lstm_back(gates, s->dc + i * s->n, dh, kept, s->t ? s->kept + old * s->n : NULL, s->n);
      memcpy(dstep, gates, s->wide * sizeof *dstep);
    } else {
      t->k->gru_back(gates, dstep, dh, kept, past, s->n);
      memcpy(s->dpart + row * s->wide, dstep, s->wide * sizeof *dstep);
    }
  }
}

/* All times of one side, from its last: dh of the state before = dp W_h, for gru added to the
   part that did not go through p. */
static void syn__rnn_times_back(syn_tape *t, syn__rnn_side *s, int longest) {
  size_t count = (size_t)s->running[0] * s->n;
  int gru = s->own->gates != 4;
  memset(s->dh, 0, count * sizeof *s->dh);
  if (s->dc) memset(s->dc, 0, count * sizeof *s->dc);
  for (s->t = longest - 1; s->t >= 0; s->t--) {
    int rows = s->running[s->t + 1];
    syn__parallel(t, syn__task_rnn_back, s, (size_t)rows, 8);
    if (s->t)
      syn_gemm(t, syn_matrix_of(s->dh, rows, (int)s->n, 0),
               syn_matrix_of(s->dstep, rows, (int)s->wide, 0), s->panels, NULL, gru);
  }
}

/* dx += da W_i, dW_i += da^T x, db_i += column sums of da; dW_h += dp^T past, db_h += those of
   dp. */
static void syn__rnn_weights_back(syn_tape *t, const syn__rnn_side *s) {
  syn_tensor past = *syn_out(t, s->node); /* for its rows */
  past.x = s->past;
  past.dx = NULL;
  syn__linear_backward(t, s->node, syn__rnn_param(s, SYN__W_I), syn__rnn_param(s, SYN__B_I),
                       syn_in(t, s->node, 0), s->gates);
  syn__linear_backward(t, s->node, syn__rnn_param(s, SYN__W_H), syn__rnn_param(s, SYN__B_H), &past,
                       s->dpart);
}

static void syn__rnn_backward(syn_tape *t, const syn_node *n) {
  size_t rows = syn__tensor_rows(syn_out(t, n));
  int side;
  for (side = 0; side < ((const syn__rnn *)n->own)->sides; side++) {
    syn__rnn_side s = syn__rnn_side_of(t, n, side);
    float *at = syn_saved(t, n, SYN__BACK);
    s.dh = at, at += rows * s.n;
    s.past = at, at += rows * s.n;
    s.dstep = at, at += rows * s.wide;
    if (s.own->gates == 4) s.dpart = s.gates, s.dc = at, at += rows * s.n;
    else s.dpart = at, at += rows * s.wide;
    s.panels = syn__rnn_pack(t, &s, 1, at);
    syn__rnn_times_back(t, &s, t->stream[t->g->values[n->out].stream].longest);
    syn__rnn_weights_back(t, &s);
  }
}

static const syn_kind syn__kind_rnn = {
    "rnn", "i:n w:cell", 0, NULL, syn__rnn_shape, syn__rnn_forward, syn__rnn_backward, NULL,
    syn__rnn_step, syn__rnn_cost};
static const syn_kind syn__kind_birnn = {
    "birnn", "i:n w:cell", 0, NULL, syn__birnn_shape, syn__rnn_forward, syn__rnn_backward, NULL,
    NULL, syn__rnn_cost};

/* ==============================================================================================
   >>kind pos   y_t = sqrt(d) x_t + p_t, p_{t,2j} = sin(t / 10000^(2j/d)), p_{t,2j+1} = cos(same)
   ============================================================================================== */

/*
   x, y [rows,d], t the place of a row in its sentence, from 0 (Vaswani et al. 2017, section 3.5).
   sqrt(d) lifts the embeddings, of standard deviation d^-1/2 at first, to the size of the
   sinusoids.
   scale=0: y_t = x_t + p_t. No parameter, so no length limit; nothing is saved. A step of decoding
   is the forward pass: every row is computed alone, from its own place. */

/* Floats of the table at most: max_len and widths are one line of a file that may be hostile, and
   must not make gigabytes of it. */
#define SYN__POS_TABLE (1 << 22)

typedef struct syn__pos {
  int places, d; /* the first places have a row in the table, later ones are computed anew */
  int step;      /* of a universal, whose p_step is added to every row, too; -1: none */
  float scale;   /* of x: sqrt(d) or 1 */
  int made;      /* 1: the table was made for this layer */
  float *table;  /* [places,d] */
} syn__pos;

/* p [d] of one place, far dearer than reading it from the table; the bits are the same. An odd d
   ends in a sine. */
static void syn__pos_row(float *p, int place, int d) {
  int j;
  for (j = 0; j < d; j += 2) {
    double sine, cosine;
    syn__sincos((double)place / syn__pow(10000.0, (double)j / (double)d), &sine, &cosine);
    p[j] = (float)sine;
    if (j + 1 < d) p[j + 1] = (float)cosine;
  }
}

/* p [d] of one place: a row of the table, or `room` [d] filled with it. */
static const float *syn__pos_at(const syn__pos *own, int place, float *room) {
  if (place < own->places) return own->table + (size_t)place * (size_t)own->d;
  syn__pos_row(room, place, own->d);
  return room;
}

static void syn__task_pos(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__pos *own = (const syn__pos *)n->own;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *at = t->at[t->g->values[n->out].stream];
  size_t r, d = (size_t)own->d;
  float *room = syn__scratch(t, thread);
  const float *step = own->step < 0 ? NULL : syn__pos_at(own, own->step, room + d);
  for (r = begin; r < end; r++) {
    t->k->scale(y->x + r * d, own->scale, x->x + r * d, d);
    t->k->acc(y->x + r * d, syn__pos_at(own, at[r], room), d);
    if (step) t->k->acc(y->x + r * d, step, d);
  }
}
static void syn__pos_forward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_pos, n, syn__tensor_rows(syn_out(t, n)), 8);
}

/* The table of a width that an earlier layer has serves again; nodes that run the same forward have
   one (pos, universal). All tables together are bounded; rows behind the bound are computed anew
   whenever they are read, to the same bits. */
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

static syn_status syn__pos_node(syn_build *b, syn_node *n, int scaled, int step) {
  syn__pos *own = (syn__pos *)syn__own(b, n, sizeof *own);
  if (!own) return SYN_E_MEMORY;
  own->d = syn_build_width(b, n, 0);
  own->scale = scaled ? sqrtf((float)own->d) : 1.0f;
  own->step = step;
  if (syn__pos_table(b, n->kind, own)) return SYN_E_MEMORY;
  n->scratch.fixed = 2 * (size_t)own->d; /* a row of the place, one of the step */
  n->first_write = 1;
  n->alias_dx = !scaled;
  n->not_needed = SYN_BOTH_NOT_NEEDED;
  return syn__out_like(b, n, 0);
}
static syn_status syn__pos_shape(syn_build *b, syn_node *n) {
  int scaled = syn_arg_int(b, "scale", 1, 0, 1);
  if (scaled) n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  return syn__pos_node(b, n, scaled, -1);
}

/* dx += sqrt(d) dy */
static void syn__pos_backward(syn_tape *t, const syn_node *n) {
  syn__send(t, n, ((const syn__pos *)n->own)->scale);
}
static const syn_kind syn__kind_pos = {
    "pos", "i:scale f:dropout", 0, NULL, syn__pos_shape, syn__pos_forward, syn__pos_backward, NULL,
    NULL, NULL};

/* ==============================================================================================
   >>kind learn_pos   y_t = x_t + w_t, w [N,d]
   ============================================================================================== */

/*
   x, y [rows,d], t the place of the row in its sentence. A sentence cannot be longer than N: the
   runner checks n->table and names both numbers. Nothing is saved. */

static syn_status syn__learn_pos_shape(syn_build *b, syn_node *n) {
  int shape[2];
  shape[0] = b->config->max_len;
  shape[1] = syn_build_width(b, n, 0);
  n->drop = syn_arg_float(b, "dropout", b->config->dropout, 0.0f, 0.99f);
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_NORMAL, 1.0 / sqrt((double)shape[1])), 2,
                      shape))
    return SYN_E_SHAPE;
  n->table = shape[0];
  n->first_write = n->alias_dx = 1;
  n->not_needed = SYN_BOTH_NOT_NEEDED;
  return syn__out_like(b, n, 0);
}
static void syn__task_learn_pos(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *at = t->at[t->g->values[n->out].stream];
  size_t r, d = (size_t)syn__width(x);
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++)
    t->k->add(y->x + r * d, x->x + r * d, syn_weight(t, n, 0) + (size_t)at[r] * d, d);
}
static void syn__learn_pos_forward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_learn_pos, n, syn__tensor_rows(syn_out(t, n)), 8);
}
/* dw_t += dy_t, rows in order: rows of different sentences meet in the same w_t, so threads share
   out the columns */
static void syn__task_learn_pos_back(syn_tape *t, const void *job, int thread, size_t begin,
                                     size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  const int *at = t->at[t->g->values[n->out].stream];
  size_t r, d = (size_t)syn__width(y), rows = syn__tensor_rows(y);
  SYN__UNUSED(thread);
  for (r = 0; r < rows; r++)
    t->k->acc(syn_dweight(t, n, 0) + (size_t)at[r] * d + begin, y->dx + r * d + begin,
              end - begin);
}
/* dx += dy */
static void syn__learn_pos_backward(syn_tape *t, const syn_node *n) {
  syn__send(t, n, 1.0f);
  syn__parallel(t, syn__task_learn_pos_back, n, (size_t)syn__width(syn_out(t, n)), 32);
}
/* w is a table of rows to add: no product. */
static void syn__learn_pos_cost(const syn_node *n, syn_cost *cost) {
  SYN__UNUSED(n);
  cost->multiply_adds = 0.0;
}
static const syn_kind syn__kind_learn_pos = {
    "learn_pos", "f:dropout", 0, NULL, syn__learn_pos_shape, syn__learn_pos_forward,
    syn__learn_pos_backward, NULL, NULL, syn__learn_pos_cost};

/* ==============================================================================================
   >>kind dropout   y = x / (1 - rate) or 0 while training (Srivastava et al. 2014); and id: y = x
   ============================================================================================== */

/*
   Dividing by 1 - rate while training keeps the mean, so that nothing is scaled afterwards. Neither
   has a room in the graph where it can be spared: id and a rate of 0 hand their input on, and most
   dropouts are the rate of the layer before them (the kinds that `drops`). */

static int syn__id_build(syn_build *b, const syn_layer *l, int x) {
  SYN__UNUSED(b);
  SYN__UNUSED(l);
  return x;
}
static const syn_kind syn__kind_id = {"id", "",   0,    syn__id_build, NULL,
                                      NULL, NULL, NULL, NULL,          NULL};

/* The runner drops the output of any node with a rate, so that this one only copies. */
static int syn__dropout_build(syn_build *b, const syn_layer *l, int x) {
  float rate = syn_arg_float(b, "rate", b->config->dropout, 0.0f, 0.99f);
  syn_node *n;
  if (rate == 0.0f) return b->c->status == SYN_OK ? x : -1;
  n = syn__node_new(b, l->kind, 1, &x);
  if (n) n->drop = rate, n->first_write = n->alias_dx = 1, n->not_needed = SYN_BOTH_NOT_NEEDED;
  return syn__node_done(b, n);
}
static void syn__copy_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *y = syn_out(t, n);
  syn__accumulate(t, y->x, syn_in(t, n, 0)->x, 1.0f, syn__count(y), 1);
}
/* dx += dy: the mask was put on dy by the runner before */
static void syn__copy_backward(syn_tape *t, const syn_node *n) { syn__send(t, n, 1.0f); }
static const syn_kind syn__kind_dropout = {
    "dropout", "f:rate", 0, syn__dropout_build, syn__same_shape, syn__copy_forward,
    syn__copy_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind res   y = x + chain(x) (He et al. 2016)
   ============================================================================================== */

/* Made of the operation `add`: it builds, and has no forward of its own. */

static int syn__build_width_of(const syn_build *b, int value) {
  const syn__value *v = &b->g->values[value];
  return v->shape[v->rank - 1];
}

/* Layers that add need equal widths; names the layer and both numbers. Where the chain's end, which
   nobody else reads, drops its output, the sum does it: one pass instead of two. */
static int syn__build_add(syn_build *b, int x, int y) {
  syn_node *n, *maker = b->g->nodes[b->g->values[y].maker];
  int in[2];
  if (syn__build_width_of(b, x) != syn__build_width_of(b, y)) {
    syn__fail_build(b, SYN_E_SHAPE, "cannot add width %d to width %d", syn__build_width_of(b, y),
                    syn__build_width_of(b, x));
    return -1;
  }
  in[0] = x;
  in[1] = y;
  n = syn__node_new(b, &syn__kind_add, 2, in);
  if (!n) return -1;
  n->first_write = n->alias_dx = 1;
  n->not_needed = SYN_BOTH_NOT_NEEDED;
  n->which = x != y && b->g->values[y].first < 0 && maker->drop > 0.0f && !maker->own_dropout;
  if (n->which) maker->own_dropout = 1;
  return syn__node_done(b, n);
}

/* The chain argument `number` of a layer, from 0. */
static const syn_layer *syn__arg_chain(syn_build *b, const syn_layer *l, int number) {
  int i;
  for (i = 0; i < l->n_args; i++)
    if (l->args[i].chain && number-- == 0) return l->args[i].chain;
  syn__fail_build(b, SYN_E_TEXT, "a chain is missing in the brackets");
  return NULL;
}

static int syn__res_build(syn_build *b, const syn_layer *l, int x) {
  const syn_layer *chain = syn__arg_chain(b, l, 0);
  int y = chain ? syn_build_chain(b, chain, x) : -1;
  b->layer = l; /* the chain's layers have put themselves there */
  return y < 0 ? -1 : syn__build_add(b, x, y);
}
static const syn_kind syn__kind_res = {"res", "c:chain", 0, syn__res_build, NULL,
                                       NULL, NULL, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind highway   z = x W^T + b, g = sigma(z), y = g x + (1-g) c, c = chain(x); W [d,d]
   ============================================================================================== */

/*
   (Srivastava, Greff and Schmidhuber 2015, there with the chain on the other side of the gate.)
   x, c, y [rows,d], b [d]. Two inputs: the chain is built first, this operation joins both.
   saved: 0 z, turned into g at once, [rows,d]   1 dz while going back, [rows,d] */

static syn_status syn__highway_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  if (syn_build_width(b, n, 1) != d)
    return syn__fail_build(b, SYN_E_SHAPE, "the chain has width %d, the input %d",
                           syn_build_width(b, n, 1), d);
  if (syn__linear_params(b, n, d, 1)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BOTH, (size_t)d)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BACKWARD, (size_t)d)) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d);
}
static int syn__highway_build(syn_build *b, const syn_layer *l, int x) {
  const syn_layer *chain = syn__arg_chain(b, l, 0);
  int in[2];
  in[0] = x;
  in[1] = chain ? syn_build_chain(b, chain, x) : -1;
  b->layer = l;
  return in[1] < 0 ? -1 : syn__node_done(b, syn__node_new(b, l->kind, 2, in));
}
/* g x + (1-g) c = c + g (x - c), in three elementwise kernels */
static void syn__task_highway(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const float *x = syn_in(t, n, 0)->x, *c = syn_in(t, n, 1)->x;
  float *y = syn_out(t, n)->x, *z = syn_saved(t, n, 0);
  size_t count;
  SYN__UNUSED(thread);
  for (; begin < end; begin += count) {
    count = end - begin < SYN__BITE ? end - begin : SYN__BITE;
    t->k->act(SYN__SIGMOID, z + begin, z + begin, count); /* from here on z holds g */
    t->k->sub(y + begin, x + begin, c + begin, count);
    t->k->mul(y + begin, y + begin, z + begin, count);
    t->k->acc(y + begin, c + begin, count);
  }
}
static void syn__highway_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, 0, 1, syn_in(t, n, 0), syn_saved(t, n, 0));
  syn__parallel(t, syn__task_highway, n, syn__count(syn_out(t, n)), 4096);
}
/* dx += g dy, dc += (1-g) dy, dz = dy (x-c) g (1-g), then as linear */
static void syn__task_highway_back(syn_tape *t, const void *job, int thread, size_t begin,
                                   size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *c = syn_in(t, n, 1), *y = syn_out(t, n);
  const float *g = syn_saved(t, n, 0);
  float *dz = syn_saved(t, n, 1);
  size_t i;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    float dy = y->dx[i], both = dy * g[i];
    x->dx[i] += both;
    c->dx[i] += dy - both;
    dz[i] = both * (1.0f - g[i]) * (x->x[i] - c->x[i]);
  }
}
static void syn__highway_backward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_highway_back, n, syn__count(syn_out(t, n)), 4096);
  syn__linear_backward(t, n, 0, 1, syn_in(t, n, 0), syn_saved(t, n, 1));
}
static const syn_kind syn__kind_highway = {
    "highway", "c:chain", 0, syn__highway_build, syn__highway_shape, syn__highway_forward,
    syn__highway_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind concat   y = [a(x); b(x); ...] along the width
   ============================================================================================== */

/* x [rows,d], y [rows, sum of the widths]: the branches read the same x, each builds below a number
   of its own in the path. Nothing is saved. */

/* Builds every chain of the brackets over x into out [SYN_MAX_IN]; how many, or -1. */
static int syn__branches(syn_build *b, const syn_layer *l, int x, int *out) {
  int count = 0, i;
  for (i = 0; i < l->n_args; i++) {
    if (count == SYN_MAX_IN) {
      syn__fail_build(b, SYN_E_TEXT, "more than %d chains", SYN_MAX_IN);
      return -1;
    }
    out[count] = syn__build_branch(b, l->args[i].chain, count, x);
    if (out[count++] < 0) return -1;
  }
  b->layer = l;
  if (!count) syn__fail_build(b, SYN_E_TEXT, "a chain is missing in the brackets");
  return count ? count : -1;
}

static int syn__concat_build(syn_build *b, const syn_layer *l, int x) {
  int in[SYN_MAX_IN], count = syn__branches(b, l, x, in);
  return count < 0 ? -1 : syn__node_done(b, syn__node_new(b, l->kind, count, in));
}
static syn_status syn__concat_shape(syn_build *b, syn_node *n) {
  int i, width = 0;
  n->not_needed = SYN_BOTH_NOT_NEEDED;
  for (i = 0; i < n->n_in; i++) width += syn_build_width(b, n, i);
  return syn_build_out(b, n, syn_build_stream(b, n, 0), width);
}
static void syn__task_concat(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  size_t r, wide = (size_t)syn__width(y), at = 0;
  int i;
  SYN__UNUSED(thread);
  for (i = 0; i < n->n_in; i++) {
    const syn_tensor *x = syn_in(t, n, i);
    size_t width = (size_t)syn__width(x);
    for (r = begin; r < end; r++)
      memcpy(y->x + r * wide + at, x->x + r * width, width * sizeof(float));
    at += width;
  }
}
static void syn__concat_forward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_concat, n, syn__tensor_rows(syn_out(t, n)), 32);
}
/* dx_i += its columns of dy */
static void syn__task_concat_back(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  size_t r, wide = (size_t)syn__width(y), at = 0;
  int i;
  SYN__UNUSED(thread);
  for (i = 0; i < n->n_in; i++) {
    const syn_tensor *x = syn_in(t, n, i);
    size_t width = (size_t)syn__width(x);
    for (r = begin; r < end; r++) t->k->acc(x->dx + r * width, y->dx + r * wide + at, width);
    at += width;
  }
}
static void syn__concat_backward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_concat_back, n, syn__tensor_rows(syn_out(t, n)), 32);
}
static const syn_kind syn__kind_concat = {
    "concat", "C:chain", 0, syn__concat_build, syn__concat_shape, syn__concat_forward,
    syn__concat_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind parallel_add   y = a(x) + b(x) + ...
   ============================================================================================== */

/* Adds pairwise from the left with `add`; one chain alone is that chain. */

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

/* Nothing runs here: the graph simply has n copies. The number of a copy stands in the path, and so
   in the names of its parameters: without it the copies would share them. */

/* The copies of the encoder's outermost repeat are its blocks (source=increasing). `count` bounds
   the list: it is called once for each copy of one repeat. */
static syn_status syn__note_block(syn_build *b, int count, int y) {
  if (!b->blocks) b->blocks = (int *)syn__arena_get(&b->g->arena, (size_t)count, sizeof(int));
  if (!b->blocks) return SYN_E_MEMORY;
  b->blocks[b->n_blocks++] = y;
  return SYN_OK;
}

static int syn__repeat_build(syn_build *b, const syn_layer *l, int x) {
  const syn_layer *chain = syn__arg_chain(b, l, 0);
  int i, n, outermost = !b->decoder && b->depth == 1 && !b->blocks;
  if (chain && !syn__arg_find(l, "n"))
    syn__fail_build(b, SYN_E_TEXT, "the number of copies is missing");
  n = syn_arg_int(b, "n", 1, 1, 1000);
  if (!chain || b->c->status) return -1;
  for (i = 0; i < n && x >= 0; i++) {
    x = syn__build_branch(b, chain, i, x);
    if (x >= 0 && outermost && syn__note_block(b, n, x)) return -1;
  }
  return x;
}
static const syn_kind syn__kind_repeat = {"repeat", "i:n c:chain", 0, syn__repeat_build, NULL,
                                          NULL, NULL, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind universal   n steps of a chain with the same parameters; before step s: x_t += p_t + p_s
   ============================================================================================== */

/*
   (Universal Transformer, Dehghani et al. 2019, section 2.1, without halting; there places and
   steps count from 1.) p are the sinusoids of `pos`, of the width of x; t is the place of a row, s
   counts the steps from 0. The graph has n copies of the chain, built at one path: so a parameter
   is found again by its name, and every copy adds into its one gradient. What a copy keeps
   (buffers, masks of dropout, the history of decoding) belongs to its own nodes. The kind is also
   the operation that adds p_t + p_s: it runs the text of `pos` with n->which = s. x, y [rows,d]. */

static syn_status syn__universal_shape(syn_build *b, syn_node *n) {
  return syn__pos_node(b, n, 0, n->which);
}

/* One step. The counts of source=increasing|decreasing begin anew with every step: a layer reads
   the same block in all of them. */
static int syn__universal_step(syn_build *b, const syn_layer *l, const syn_layer *chain, int x,
                               int step) {
  syn_node *n = syn__node_new(b, l->kind, 1, &x);
  if (n) n->which = step;
  x = syn__node_done(b, n);
  if (x >= 0) x = syn_build_chain(b, chain, x);
  b->layer = l; /* the chain's layers have put themselves there */
  return x;
}

static int syn__universal_build(syn_build *b, const syn_layer *l, int x) {
  const syn_layer *chain = syn__arg_chain(b, l, 0);
  int increasing = b->seen_increasing, decreasing = b->seen_decreasing, from = x, i, n;
  if (chain && !syn__arg_find(l, "n"))
    syn__fail_build(b, SYN_E_TEXT, "the number of steps is missing");
  n = syn_arg_int(b, "n", 1, 1, 1000);
  if (!chain || b->c->status) return -1;
  for (i = 0; i < n && x >= 0; i++) {
    if (syn__build_width_of(b, x) != syn__build_width_of(b, from)) {
      syn__fail_build(b, SYN_E_SHAPE, "the chain has width %d, the input %d, and %d steps",
                      syn__build_width_of(b, x), syn__build_width_of(b, from), n);
      return -1;
    }
    b->seen_increasing = increasing;
    b->seen_decreasing = decreasing;
    x = syn__universal_step(b, l, chain, x, i);
  }
  return x;
}
static const syn_kind syn__kind_universal = {
    "universal", "i:n c:chain", 0, syn__universal_build, syn__universal_shape, syn__pos_forward,
    syn__pos_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind embedding   y_r = w[token of row r]; w [V,d]
   ============================================================================================== */

/*
   V tokens, y [rows,d]; n->which is the side whose tokens are read, SYN_SRC or SYN_TGT. No input:
   the ids are the batch, checked against V when it was bound. w may be shared with the output layer
   or the other side (tie): each reader adds to the one gradient. */

static syn_status syn__embedding_shape(syn_build *b, syn_node *n) {
  n->not_needed = SYN_OUTPUT_NOT_NEEDED;
  return syn_build_out(b, n, n->which, b->g->params[n->param[0]].shape[1]);
}
static void syn__task_embed(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  size_t r, d = (size_t)syn__width(y);
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++)
    memcpy(y->x + r * d, syn_weight(t, n, 0) + (size_t)t->ids[n->which][r] * d, d * sizeof(float));
}
static void syn__embedding_forward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_embed, n, syn__tensor_rows(syn_out(t, n)), 32);
}
/* dw[token] += dy: threads share out the columns, so that every sum keeps the order of the rows */
static void syn__task_embedding(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  size_t r, rows = syn__tensor_rows(y), d = (size_t)syn__width(y);
  SYN__UNUSED(thread);
  for (r = 0; r < rows; r++)
    t->k->acc(syn_dweight(t, n, 0) + (size_t)t->ids[n->which][r] * d + begin,
              y->dx + r * d + begin, end - begin);
}
static void syn__embedding_backward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_embedding, n, (size_t)syn__width(syn_out(t, n)), 32);
}
static const syn_kind syn__kind_embedding = {
    "embedding", "", 0, NULL, syn__embedding_shape, syn__embedding_forward, syn__embedding_backward,
    NULL, NULL, NULL};

/* ==============================================================================================
   >>kind input_feed   y_t = [z_{t-1}; x_t], z = what `out` reads of the token before; z_{-1} = 0
   ============================================================================================== */

/*
   (Luong, Pham and Manning 2015, section 3.3.) x [rows,d], z [rows,w], y [rows,w+d]. The first
   layer of a decoder. The width w is known only when the decoder is built: >>model builds it with
   a guess first. saved: 0 z of the token before, [rows,w], filled by the tape (input feeding),
   which also carries its gradient back. history: z, kept by >>decode when the step is done.
   dx += dy's last d columns; the first w are read where they lie. */

static syn_status syn__feed_shape(syn_build *b, syn_node *n) {
  if (strcmp(n->path, "decoder.0"))
    return syn__fail_build(b, SYN_E_TEXT, "only the first layer of a decoder can be this one");
  b->g->feed = n->id;
  n->which = b->fed_width;
  n->cache = b->fed_width;
  if (syn__save_rows(b, n, SYN_BOTH, (size_t)b->fed_width)) return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), b->fed_width + syn_build_width(b, n, 0));
}
/* y_r = [z; x_r] */
static void syn__feed_row(const syn_tape *t, const syn_node *n, size_t r, const float *z) {
  const syn_tensor *x = syn_in(t, n, 0);
  size_t w = (size_t)n->which, d = (size_t)syn__width(x);
  float *y = syn_out(t, n)->x + r * (w + d);
  if (z) memcpy(y, z, w * sizeof *y);
  else memset(y, 0, w * sizeof *y);
  memcpy(y + w, x->x + r * d, d * sizeof *y);
}
static void syn__feed_kind_forward(syn_tape *t, const syn_node *n) {
  size_t r, rows = syn__tensor_rows(syn_out(t, n));
  for (r = 0; r < rows; r++)
    syn__feed_row(t, n, r, syn_saved(t, n, 0) + r * (size_t)n->which);
}
static void syn__feed_kind_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  size_t r, rows = syn__tensor_rows(y), w = (size_t)n->which, d = (size_t)syn__width(x);
  for (r = 0; r < rows; r++) t->k->acc(x->dx + r * d, y->dx + r * (w + d) + w, d);
}
static void syn__feed_step(syn_tape *t, const syn_node *n) {
  int r;
  for (r = 0; r < t->decode->rows; r++) {
    int place = t->at[SYN_TGT][r];
    syn__feed_row(t, n, (size_t)r, place ? syn__cached_row(t, n, r, place - 1) : NULL);
  }
}
static void syn__feed_cost(const syn_node *n, syn_cost *cost) {
  cost->decode_bytes = 4.0 * n->cache;
}
static const syn_kind syn__kind_input_feed = {
    "input_feed", "", 0, NULL, syn__feed_shape, syn__feed_kind_forward, syn__feed_kind_backward,
    NULL, syn__feed_step, syn__feed_cost};

/* ==============================================================================================
   >>kind pool   y [sentences,d] = mean over the rows of each sentence (classify)
   ============================================================================================== */

/* x [rows,d] of the source side; a bound sentence has a token at least, so the mean exists. dx of
   each row of a sentence += dy / rows of the sentence. */

static syn_status syn__pool_shape(syn_build *b, syn_node *n) {
  n->not_needed = SYN_BOTH_NOT_NEEDED;
  return syn_build_out(b, n, SYN_EACH, syn_build_width(b, n, 0));
}
static void syn__task_pool(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *off = t->stream[SYN_SRC].off;
  size_t i, d = (size_t)syn__width(x);
  int r;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    float *row = y->x + i * d;
    memset(row, 0, d * sizeof *row);
    for (r = off[i]; r < off[i + 1]; r++) t->k->acc(row, x->x + (size_t)r * d, d);
    t->k->scale(row, 1.0f / (float)(off[i + 1] - off[i]), row, d);
  }
}
static void syn__pool_forward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_pool, n, (size_t)t->stream[SYN_SRC].count, 1);
}
static void syn__task_pool_back(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *off = t->stream[SYN_SRC].off;
  size_t i, d = (size_t)syn__width(x);
  int r;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++)
    for (r = off[i]; r < off[i + 1]; r++)
      t->k->acc_scale(x->dx + (size_t)r * d, 1.0f / (float)(off[i + 1] - off[i]), y->dx + i * d,
                      d);
}
static void syn__pool_backward(syn_tape *t, const syn_node *n) {
  syn__parallel(t, syn__task_pool_back, n, (size_t)t->stream[SYN_SRC].count, 1);
}
static const syn_kind syn__kind_pool = {"pool", "", 0, NULL, syn__pool_shape, syn__pool_forward,
                                        syn__pool_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind output   logits [rows,V] = x w^T + b; while training the loss does this in blocks of rows
   ============================================================================================== */

/*
   w [V,d], often the embedding (tie), b [V]; for classify and tag V is the number of classes. All
   logits of a training batch would be by far the largest tensor, and each is needed for a moment
   only: >>loss makes them and their gradients block by block, so this kind has no backward. */

static syn_status syn__output_shape(syn_build *b, syn_node *n) {
  return syn_build_out(b, n, syn_build_stream(b, n, 0), b->g->params[n->param[0]].shape[0]);
}
static void syn__output_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, 0, 1, syn_in(t, n, 0), syn_out(t, n)->x);
}
static const syn_kind syn__kind_output = {"output", "", 0, NULL, syn__output_shape,
                                          syn__output_forward, NULL, NULL, NULL, NULL};

/* ==============================================================================================
   >>attention heads   scores, softmax, values of one head: shared by all attention layers
   ============================================================================================== */

/*
   For head h of a sentence: Y_h = softmax_rows(S_h + mask) (u W_v^T)_h, out = [Y_1; ...] W_o^T.
   x [rows,d] gives the queries, u the values: u = x (syn_att) or the source (mh_dot_src_att).
   W_v [e,d], W_o [d,e], e = H c. S_h [n,n] is one score or a mixture: S = sum_s alpha_s S_s,
   alpha = softmax of a learned vector per head (Tay et al. 2021, section 3.3). Mask: keys past the
   end of the sentence are not there at all; in a decoder key j > query i gets probability 0.
   saved: 0 P [pairs,H], while training negative where it was dropped; of R, Fix and FR once for all
   sentences of one length   1 rows: v, Y, and what the scores keep   2 the same for their gradients
   3 raw scores of a mixture, and the two sides of GLU   4 tables made from parameters   5 the
   gradients of those; in 4 and 5 the biases of rel_pos come last.
   history of a decoded token: its v, then what convolutions look back to; its k stands across once
   its block of 16 is full. */

#define SYN__MAX_SCORES 12
enum { SYN__P, SYN__ROWS, SYN__DROWS, SYN__RAW, SYN__TABLE, SYN__DTABLE };

/* One sentence and one head; while decoding one row (nq = 1) and one head. */
typedef struct syn__head {
  int sentence, h;
  int heads;      /* while decoding: this one and those behind it */
  int nq, nk;     /* queries and keys of the sentence */
  int first;      /* place of the first query in its sentence: in a step that of the token, of a
                     part of weights that no input changes that of its first row, else 0 */
  size_t q0, k0;  /* first row of its queries and keys */
  float *p;       /* [nq,nk] probabilities; while going back, the gradient of the scores */
  float *scratch; /* of one thread: see syn__soft_scratch */
} syn__head;

/* A way to make scores: a struct of functions, as a kind is. `s` is its place in the mixture.
   Forward calls `prepare` once, then `fill` for every sentence and head (tasks of any thread).
   Backward calls `back` for every sentence and head, in any order, so that it may write only what
   belongs to both; `back_shared` for the sentences of a head one after the other, so that what
   they share is summed in one order; then `finish` once. Decoding calls `prepare` with the new
   rows, then `row` for every row and head, or `rows` once for all heads. Null: nothing to do. */
typedef struct syn__score {
  const char *name;
  int table;   /* 1: does not depend on the input */
  int limited; /* 1: has a table of N, so that a sentence cannot be longer */
  /* parameters, floats per row (a->wide), floats of tables (syn__att_table) */
  syn_status (*shape)(syn_build *b, syn_node *n, int s);
  void (*prepare)(syn_tape *t, const syn_node *n, int s); /* products over all rows */
  /* score [nq,nk] = S_h, keys no query may see included */
  void (*fill)(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score);
  /* ds [nq,nk], 0 where masked; gradients of rows: written, not added (each is met once) */
  void (*back)(syn_tape *t, const syn_node *n, int s, const syn__head *x, const float *ds);
  /* gradients of parameters and tables: added */
  void (*back_shared)(syn_tape *t, const syn_node *n, int s, const syn__head *x, const float *ds);
  void (*finish)(syn_tape *t, const syn_node *n, int s); /* products over all rows, backwards */
  /* score [nk] of one row: `fill` itself where nothing is gained by another text */
  void (*row)(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score);
  /* the same of x->heads heads from x->h on, in rows of round16(nk): in place of `row` */
  void (*rows)(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score);
  double (*cost)(const syn_node *n, int s, int length); /* multiply-adds per token */
} syn__score;

/* What D, its family and FD make their scores of: a hidden stage u [rows,wide] = relu(x W1^T + b1)
   or none, where u is x; then an output stage of its own for each head, over the head's columns of
   u. A stage is a linear (taps 0) or a convolution, which is a linear of windows; windows of one
   tap are the rows themselves, and none are made. Parameters count among those of the node, -1:
   there is none. */
typedef struct syn__stages {
  int hidden, gated;         /* 1: u is made; 1: the output is the glu of two linears */
  int w1, b1, w2, b2;        /* gated: w2 + 2 and b2 + 2 are the gate's */
  int width, wide;           /* columns of u: of a head, of all */
  int matrices;              /* of the output stage: one a head, or 1 for all */
  syn_conv first, second; /* the taps of both stages */
  int windows;               /* place of the windows in the rows buffers, floats per row */
  int past;                  /* place of u in the history */
  int sides;                 /* place of the two sides of the glu among the raw scores */
} syn__stages;

typedef struct syn__att {
  int heads, c, e, d;      /* e = heads * c */
  int size;                /* N, or the tile */
  int tile, causal, cross, softmax, shared, mixed, n_scores, n_raw, all_tables;
  int k, a, b, wide;       /* of FR and FD; floats per row in buffers 1 and 2 */
  float scale;
  const syn__score *score[SYN__MAX_SCORES];
  int param[SYN__MAX_SCORES];    /* first parameter of each score */
  int at[SYN__MAX_SCORES];       /* its place in the rows buffer, floats per row */
  int raw[SYN__MAX_SCORES];      /* its place among the raw scores, -1: not kept */
  size_t table[SYN__MAX_SCORES]; /* its place in the table buffer */
  size_t tables, dtables;        /* floats of the table buffer and of that of its gradients: FR
                                    alone has any there, from 0 on; then those of rel_pos */
  syn__stages stages[SYN__MAX_SCORES];
  int past, past_x;              /* floats of the history; the place of x there, -1: not kept */
  int w_v, w_o, alpha;           /* parameters */
  const struct syn__rel_pos *rel_pos; /* biases to be added, innermost first; null: none */
} syn__att;

static const syn__att *syn__att_of(const syn_node *n) { return (const syn__att *)n->own; }

/* The sentences of the output, which are those of the queries. */
static const syn_stream *syn__att_stream(const syn_tape *t, const syn_node *n) {
  return &t->stream[t->g->values[n->out].stream];
}
/* A row of the saved buffers stands for a query or a key: as many rows as the longer side has. */
static size_t syn__att_rows(const syn_tape *t, const syn_node *n) {
  size_t q = syn__tensor_rows(syn_out(t, n)), k = syn__tensor_rows(syn_in(t, n, n->n_in - 1));
  return q > k ? q : k;
}
/* The block of a rows buffer that begins `at` floats per row. */
static float *syn__att_block(const syn_tape *t, const syn_node *n, int buffer, int at) {
  return syn_saved(t, n, buffer) + (size_t)at * syn__att_rows(t, n);
}
static float *syn__att_v(const syn_tape *t, const syn_node *n, int buffer) {
  return syn__att_block(t, n, buffer, 0);
}
static float *syn__att_y(const syn_tape *t, const syn_node *n, int buffer) {
  return syn__att_block(t, n, buffer, syn__att_of(n)->e);
}
static float *syn__att_own(const syn_tape *t, const syn_node *n, int buffer, int s) {
  return syn__att_block(t, n, buffer, syn__att_of(n)->at[s]);
}
static const float *syn__att_weight(const syn_tape *t, const syn_node *n, int s, int i) {
  return syn_weight(t, n, syn__att_of(n)->param[s] + i);
}
static float *syn__att_dweight(const syn_tape *t, const syn_node *n, int s, int i) {
  return syn_dweight(t, n, syn__att_of(n)->param[s] + i);
}

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

typedef struct syn__causal_range {
  int nq, nk;
  int causal; /* 1: query i sees the keys 0 .. first + i alone */
  int first;
} syn__causal_range;

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

/* -- dropout of attention weights, of all layers that have such -- */

/* n->number is the rate; n->drop is that of the layer's output. */
static int syn__weights_dropped(const syn_tape *t, const syn_node *n) {
  return t->training && n->number > 0.0f;
}
/* `count` weights, or gradients that come back to them: the same mask. A weight's chance hangs on
   its number among those of the node, of which the first one here has `index`; weights with one
   number share a mask. */
static void syn__weights_drop(const syn_tape *t, const syn_node *n, size_t index, float *x,
                              size_t count) {
  syn__dropout d;
  if (!syn__weights_dropped(t, n)) return;
  d = syn__dropout_of(t, 2 * n->id + 1, n->number);
  t->k->dropout(&d, (uint32_t)index, x, count);
}

/* -- what all scores share -- */

/* The table of score s takes `heads` parts of `part` floats behind those before it. */
static void syn__att_table(syn__att *a, int s, size_t heads, size_t part) {
  a->table[s] = a->tables;
  a->tables = syn__add_size(a->tables, syn__mul_size(heads, part));
}

/* Columns that the table of a limited score has for n keys. */
static int syn__att_columns(const syn__att *a, int nk) {
  return a->tile ? syn__min(nk, a->size) : nk;
}

/* The place of a score in the mixture, -1: it is not there. */
static int syn__score_at(const syn__att *a, const char *name) {
  int s;
  for (s = 0; s < a->n_scores; s++)
    if (!strcmp(a->score[s]->name, name)) return s;
  return -1;
}
/* One number for each head and column, all 0: biases, alpha. Looked up, never a factor of a
   product, so that the decoder has nothing to pack. */
static syn_status syn__att_table_zero(syn_build *b, syn_node *n, const char *name, int columns) {
  int shape[2];
  shape[0] = syn__att_of(n)->heads;
  shape[1] = columns;
  if (syn_build_param(b, n, name, syn_initial_of(SYN_INIT_CONSTANT, 0.0), 2, shape))
    return SYN_E_SHAPE;
  b->g->params[n->param[n->n_param - 1]].matrix = 0;
  return SYN_OK;
}
/* Rows and columns of a table that this batch can reach: no more are made. */
static int syn__att_longest(const syn_tape *t, const syn_node *n) {
  int longest = syn__att_stream(t, n)->longest;
  return syn__min(longest, syn__att_of(n)->size);
}
/* A tiled table repeats its columns. */
static void syn__tile_columns(const syn__att *a, const syn__head *x, float *score) {
  int i, j;
  for (i = 0; i < x->nq && a->tile; i++)
    for (j = a->size; j < x->nk; j++)
      score[(size_t)i * (size_t)x->nk + (size_t)j] =
          score[(size_t)i * (size_t)x->nk + (size_t)(j % a->size)];
}
/* Where the columns of the head begin in rows [rows,e]: [nq,c] of queries, [nk,c] of keys. */
static size_t syn__head_q(const syn__att *a, const syn__head *x) {
  return x->q0 * (size_t)a->e + (size_t)(x->h * a->c);
}
static size_t syn__head_k(const syn__att *a, const syn__head *x) {
  return x->k0 * (size_t)a->e + (size_t)(x->h * a->c);
}
/* What of its weights is seen. */
static syn__causal_range syn__head_range(const syn__att *a, const syn__head *x) {
  syn__causal_range g;
  g.nq = x->nq;
  g.nk = x->nk;
  g.causal = a->causal;
  g.first = x->first;
  return g;
}
/* The scratch of a head: first the room to pack a turned matrix of c or fewer columns, */
static size_t syn__head_pack(const syn__att *a, const syn__head *x) {
  return (size_t)a->c * syn__round16((size_t)x->nk);
}
/* then weights of a block of queries, whose rows are not a power of two apart: those would all fall
   into a few lines of the cache; */
static size_t syn__soft_row(int nk) { return syn__round16((size_t)nk) + 16; }
static float *syn__head_x(const syn__att *a, const syn__head *x) {
  return x->scratch + syn__head_pack(a, x);
}
/* then a matrix [nq,nk]; */
static float *syn__head_z(const syn__att *a, const syn__head *x) {
  return syn__head_x(a, x) + SYN__QUERIES * syn__soft_row(x->nk);
}
/* then two rows [nk]. */
static float *syn__head_rows(const syn__att *a, const syn__head *x) {
  return syn__head_z(a, x) + (size_t)x->nq * (size_t)x->nk;
}
/* All of it but the rows, for values of width c. */
static void syn__soft_scratch(syn_node *n, int c) {
  n->scratch.fixed = 16 * (size_t)c + 32 * SYN__QUERIES;
  n->scratch.length = (size_t)c + SYN__QUERIES;
  n->scratch.square = 1;
}
/* Matrix `place` of those kept for a head, [nq,nk] each; null: place -1. */
static float *syn__head_raw(const syn_tape *t, const syn_node *n, const syn__head *x, int place) {
  const syn__att *a = syn__att_of(n);
  size_t size = (size_t)x->nq * (size_t)x->nk;
  size_t before = (size_t)(x->p - syn_saved(t, n, SYN__P)) - (size_t)x->h * size;
  if (place < 0) return NULL;
  return syn_saved(t, n, SYN__RAW) + before / (size_t)a->heads * (size_t)(a->heads * a->n_raw) +
         (size_t)(x->h * a->n_raw + place) * size;
}

/* -- weights and values of one head of one sentence, for all layers with attention weights --

   Forward takes a block of queries through all steps before the next one: scores become P, a copy
   of it that is dropped, Pd, stays in the first cache until it has met the values. So does backward
   with dPd, in the place of which Pd comes once more. P is kept with the signs of >>kernels,
   softmax_drop: what was dropped in it is negative. */

/* nq queries against nk keys. Rows of q, k, v, y are q_row ... floats apart, those of their
   gradients too. q and k are for layers whose scores are q k^T alone. Backward turns p into dS. */
typedef struct syn__soft {
  syn__causal_range g;             /* nq, nk, and what is masked */
  int c;
  int raw;                  /* 1: no softmax, the scores are the weights, and without signs */
  int adds;                 /* 1: dv is added to; else, as dq and dk, written */
  size_t q_row, k_row, v_row, y_row;
  float *q, *k, *v, *y;     /* [nq,c], [nk,c], [nk,c], [nq,c] */
  float *dq, *dk, *dv, *dy; /* null while going forward */
  float *p;                 /* [nq,nk]: scores S, then P */
  float *pack, *x, *z;      /* scratch as that of a head: c round16(nk) floats, a block, [nq,nk] */
  int dropped;              /* 1: weights are dropped, by `drop` */
  syn__dropout drop;
  size_t mask, mask_row;    /* number of the first weight for dropout; from query to query */
} syn__soft;

/* All but the pointers. */
static syn__soft syn__soft_of(const syn_tape *t, const syn_node *n, int nq, int nk, int c) {
  syn__soft o;
  memset(&o, 0, sizeof o);
  o.g.nq = nq;
  o.g.nk = nk;
  o.c = c;
  o.mask_row = (size_t)nk;
  o.dropped = syn__weights_dropped(t, n);
  o.drop = syn__dropout_of(t, 2 * n->id + 1, n->number);
  return o;
}
/* Number of the first weight of query i. */
static uint32_t syn__soft_index(const syn__soft *o, int i) {
  return (uint32_t)(o->mask + (size_t)i * o->mask_row);
}

/* S = q k^T; q holds the scale */
static void syn__soft_scores(const syn_tape *t, const syn__soft *o) {
  syn_matrix k = syn_matrix_of(o->k, o->g.nk, o->c, o->k_row);
  syn__causal_matmul_nt(t, &o->g,
                        syn__product_of(syn_matrix_of(o->p, o->g.nq, o->g.nk, 0),
                                        syn_matrix_of(o->q, o->g.nq, o->c, o->q_row),
                                        syn__pack_keys(t, k, o->pack), NULL, 0));
}

/* Of `count` rows of nk weights the one that is done after `at` others: 0, 2, 4, ... and then 1, 3,
   5, ... where nk is no number of whole vectors. Such a row ends with a masked one, whose hidden
   lanes lie where the next row begins; a processor that reads there waits until the store has left
   for the cache (rows of 14: softmax and dropout 185 -> 86 cycles, backward 73 -> 23). */
static int syn__row_after(int at, int count, int nk) {
  if (nk % 16 == 0) return at;
  return 2 * at < count ? 2 * at : 2 * at - ((count - 1) | 1);
}

/* P_i = softmax(S_i + mask), what is not seen gets 0 and takes no part; and, where weights are
   dropped, the first `most` of Pd_i. */
static void syn__soft_row_weights(const syn_tape *t, const syn__soft *o, int i, float *pd,
                                  int most) {
  size_t nk = (size_t)o->g.nk, seen = (size_t)syn__keys_seen(&o->g, i);
  float *p = o->p + (size_t)i * nk;
  if (!o->raw && o->dropped) t->k->softmax_drop(&o->drop, syn__soft_index(o, i), p, pd, seen);
  else if (!o->raw) t->k->softmax(p, p, seen);
  if (nk > seen) memset(p + seen, 0, (nk - seen) * sizeof *p);
  if (!o->dropped) return;
  if (o->raw) memcpy(pd, p, seen * sizeof *p);
  if (o->raw) t->k->dropout(&o->drop, syn__soft_index(o, i), pd, seen);
  if ((size_t)most > seen) memset(pd + seen, 0, ((size_t)most - seen) * sizeof *pd);
}

/* The same of the queries begin .. end-1, as far as these see; rows of pd are pd_row floats apart.
   Returns Pd of the first of them. */
static const float *syn__soft_weights(const syn_tape *t, const syn__soft *o, int begin, int end,
                                      float *pd, size_t pd_row) {
  int at, r, count = end - begin, most = syn__keys_seen(&o->g, end - 1);
  for (at = 0; at < count; at++) {
    r = syn__row_after(at, count, o->g.nk);
    syn__soft_row_weights(t, o, begin + r, pd + (size_t)r * pd_row, most);
  }
  return o->dropped ? pd : o->p + (size_t)begin * (size_t)o->g.nk;
}

/* y = Pd v, from scores in p */
static void syn__soft_forward(const syn_tape *t, const syn__soft *o) {
  size_t row = syn__soft_row(o->g.nk), step = o->dropped ? row : (size_t)o->g.nk;
  syn__causal_range part = o->g;
  int i;
  for (i = 0; i < o->g.nq; i += part.nq) {
    const float *pd;
    part.first = i;
    part.nq = syn__query_block_end(&o->g, i) - i;
    pd = syn__soft_weights(t, o, i, i + part.nq, o->x, row);
    syn__causal_matmul_nn(
        t, &part,
        syn__product_of(syn_matrix_of(o->y + (size_t)i * o->y_row, part.nq, o->c, o->y_row),
                        syn_matrix_of(pd, part.nq, o->g.nk, step),
                        syn_matrix_of(o->v, o->g.nk, o->c, o->v_row), NULL, 0));
  }
}

/* Pd once more, of all queries: in z, or p itself where nothing is dropped. */
static const float *syn__soft_dropped(const syn_tape *t, const syn__soft *o) {
  size_t nk = (size_t)o->g.nk, size = (size_t)o->g.nq * nk;
  int i;
  if (!o->dropped) return o->p;
  if (o->raw) {
    memcpy(o->z, o->p, size * sizeof *o->z);
    for (i = 0; i < o->g.nq; i++)
      t->k->dropout(&o->drop, syn__soft_index(o, i), o->z + (size_t)i * nk, nk);
  } else { /* what is negative was dropped */
    t->k->act(SYN__RELU, o->z, o->p, size);
    t->k->scale(o->z, o->drop.scale, o->z, size);
  }
  return o->z;
}
/* dv = Pd^T dy, from that: the product of causal_matmul_tn */
static syn__product syn__soft_dv(const syn__soft *o, const float *pd, size_t pd_row) {
  return syn__product_of(syn_matrix_of(o->dv, o->g.nk, o->c, o->v_row),
                         syn_transposed(syn_matrix_of(pd, o->g.nq, o->g.nk, pd_row)),
                         syn_matrix_of(o->dy, o->g.nq, o->c, o->y_row), NULL, o->adds);
}

/* One query: dP is dPd after the same dropout, dS_i = P_i (dP_i - P_i . dP_i). In p stood P, there
   comes dS; in dp stood dPd, there comes Pd, but where there was no softmax; of its first `most`
   those not seen become 0. */
static void syn__soft_back_row(const syn_tape *t, const syn__soft *o, int i, float *dp, int most) {
  float *p = o->p + (size_t)i * (size_t)o->g.nk;
  size_t seen = (size_t)syn__keys_seen(&o->g, i);
  if (o->raw) memcpy(p, dp, seen * sizeof *p);
  else t->k->softmax_drop_back(o->dropped ? o->drop.scale : 1.0f, p, dp, seen);
  if (o->raw && o->dropped) t->k->dropout(&o->drop, syn__soft_index(o, i), p, seen);
  if ((size_t)most > seen) memset(dp + seen, 0, ((size_t)most - seen) * sizeof *dp);
}

/* Block by block dPd = dy v^T, dS in place of P, and dv = Pd^T dy. Of dPd all columns of a tile are
   made; those not seen become 0 again, as they are in Pd. */
static void syn__soft_backward(const syn_tape *t, const syn__soft *o) {
  size_t row = syn__soft_row(o->g.nk);
  int i, r, at, end, most;
  syn__product dp = syn__product_of(
      syn_matrix_of(o->x, o->g.nq, o->g.nk, row), syn_matrix_of(o->dy, o->g.nq, o->c, o->y_row),
      syn__pack_keys(t, syn_matrix_of(o->v, o->g.nk, o->c, o->v_row), o->pack), NULL, 0);
  syn__product dv = syn__soft_dv(o, o->x, row);
  for (i = 0; i < o->g.nq; i = end) {
    end = syn__query_block_end(&o->g, i);
    dp.a.x = dv.b.x = (float *)o->dy + (size_t)i * o->y_row;
    most = syn__keys_seen(&o->g, end - 1);
    t->k->gemm(&dp, 0, end - i, 0, (most + 15) / 16);
    for (at = 0; at < end - i; at++) {
      r = syn__row_after(at, end - i, o->g.nk);
      syn__soft_back_row(t, o, i + r, o->x + (size_t)r * row, most);
    }
    syn__causal_block_tn(t, &o->g, dv, i, end);
  }
}
/* dq = dS k, dk = dS^T q */
static void syn__soft_back_scores(const syn_tape *t, const syn__soft *o) {
  syn_matrix ds = syn_matrix_of(o->p, o->g.nq, o->g.nk, 0);
  syn_matrix q = syn_matrix_of(o->q, o->g.nq, o->c, o->q_row), dq = q;
  syn_matrix k = syn_matrix_of(o->k, o->g.nk, o->c, o->k_row), dk = k;
  dq.x = o->dq, dk.x = o->dk;
  syn__causal_matmul_nn(t, &o->g, syn__product_of(dq, ds, k, NULL, 0));
  syn__causal_matmul_tn(t, &o->g, syn__product_of(dk, syn_transposed(ds), q, NULL, 0));
}

/* ==============================================================================================
   >>kind syn_att: V   S_ij = q_i . k_j / sqrt(c)
   ============================================================================================== */

/*
   (Vaswani et al. 2017, section 3.2.) q = x W_q^T [rows,e], k = u W_k^T [rows of u,e], W_q [e,d],
   W_k [e,width of u]; head h has the columns h c .. (h+1) c - 1 of both. No biases.
   rows buffer: q, multiplied by 1/sqrt(c) once instead of every S_ij, then k; 2 e floats a row.
   kept of a decoded token, or of one of the source: its v, and its k, across once its block of 16
   is full. */

static syn_status syn__v_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  int d_keys = syn_build_width(b, n, n->n_in - 1);
  a->at[s] = a->wide; /* q, then k */
  a->wide += 2 * a->e;
  return syn__matrix_param(b, n, "w_q", a->e, a->d) || syn__matrix_param(b, n, "w_k", a->e, d_keys)
             ? SYN_E_SHAPE : SYN_OK;
}

/* k [rows,e], or dk in the buffer of gradients */
static float *syn__v_keys(const syn_tape *t, const syn_node *n, int buffer, int s) {
  const syn__att *a = syn__att_of(n);
  return syn__att_block(t, n, buffer, a->at[s] + a->e);
}

/* x [count] times s, by all threads. */
typedef struct syn__scale_job {
  float *x, s;
} syn__scale_job;
static void syn__task_scale(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__scale_job *j = (const syn__scale_job *)job;
  SYN__UNUSED(thread);
  t->k->scale(j->x + begin, j->s, j->x + begin, end - begin);
}
static void syn__scale_all(syn_tape *t, float *x, float s, size_t count) {
  syn__scale_job j;
  j.x = x;
  j.s = s;
  syn__parallel(t, syn__task_scale, &j, count, 4096);
}

/* v, q and k of the new rows, [rows,e] each, of weights in panels: three products in one slice of
   work for each thread. Each meeting of the threads takes 1.5 microseconds; a product of width 256
   by two of them takes 5. */
typedef struct syn__v_job {
  syn__product p[3];
} syn__v_job;
static void syn__task_v_project(syn_tape *t, const void *job, int thread, size_t begin,
                                size_t end) {
  const syn__v_job *j = (const syn__v_job *)job;
  int i, panels = (j->p[0].c.cols + 15) / 16;
  SYN__UNUSED(thread);
  for (i = 0; i < 3; i++) {
    int from = syn__max(0, (int)begin - i * panels), to = syn__min(panels, (int)end - i * panels);
    if (from < to) t->k->gemm(&j->p[i], 0, j->p[i].c.rows, from, to);
  }
}
static void syn__v_project(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const int w[3] = {a->w_v, a->param[s], a->param[s] + 1};
  float *to[3];
  syn__v_job j;
  int i;
  to[0] = syn__att_v(t, n, SYN__ROWS);
  to[1] = syn__att_own(t, n, SYN__ROWS, s);
  to[2] = syn__v_keys(t, n, SYN__ROWS, s);
  for (i = 0; i < 3; i++) {
    j.p[i] = syn__product_of(syn_matrix_of(to[i], t->decode->rows, a->e, 0),
                             syn_matrix_of(syn_in(t, n, 0)->x, t->decode->rows, a->d, 0),
                             syn__weight_transposed(t, n, w[i]), NULL, 0);
    j.p[i].streamed = 1;
  }
  syn__parallel(t, syn__task_v_project, &j, 3 * (((size_t)a->e + 15) / 16), 2);
}

static void syn__v_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  float *q = syn__att_own(t, n, SYN__ROWS, s);
  int step = t->decode && !a->cross; /* self-attention of new rows */
  if (step) syn__v_project(t, n, s);
  else syn__linear_forward(t, n, a->param[s], -1, x, q);
  /* q is kept with its 1/sqrt(c) */
  syn__scale_all(t, q, a->scale, syn__tensor_rows(x) * (size_t)a->e);
  if (t->decode) return; /* keys: of the source there since `start`, else made with q */
  syn__linear_forward(t, n, a->param[s] + 1, -1, syn__att_keys(t, n),
                      syn__v_keys(t, n, SYN__ROWS, s));
}

/* S [nq,nk] = q k^T over the columns of the head; the scale is in q */
static void syn__v_fill(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score) {
  const syn__att *a = syn__att_of(n);
  const float *q = syn__att_own(t, n, SYN__ROWS, s) + syn__head_q(a, x);
  const float *k = syn__v_keys(t, n, SYN__ROWS, s) + syn__head_k(a, x);
  syn__causal_range g = syn__head_range(a, x);
  syn_matrix keys = syn_matrix_of(k, x->nk, a->c, (size_t)a->e);
  syn__causal_matmul_nt(t, &g,
                        syn__product_of(syn_matrix_of(score, x->nq, x->nk, 0),
                                        syn_matrix_of(q, x->nq, a->c, (size_t)a->e),
                                        syn__pack_keys(t, keys, x->scratch), NULL, 0));
}

/* dq = dS k (the scale comes in finish), dk = dS^T q. With s = 1/sqrt(c) and S = (s q) k^T: dq is
   s dS k, but dk = dS^T (s q), which is what the buffer holds. */
static void syn__v_back(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                        const float *ds) {
  const syn__att *a = syn__att_of(n);
  size_t e = (size_t)a->e, at_q = syn__head_q(a, x), at_k = syn__head_k(a, x);
  syn__causal_range g = syn__head_range(a, x);
  syn_matrix m = syn_matrix_of(ds, x->nq, x->nk, 0);
  syn_matrix q = syn_matrix_of(syn__att_own(t, n, SYN__ROWS, s) + at_q, x->nq, a->c, e), dq = q;
  syn_matrix k = syn_matrix_of(syn__v_keys(t, n, SYN__ROWS, s) + at_k, x->nk, a->c, e), dk = k;
  dq.x = syn__att_own(t, n, SYN__DROWS, s) + at_q;
  dk.x = syn__v_keys(t, n, SYN__DROWS, s) + at_k;
  syn__causal_matmul_nn(t, &g, syn__product_of(dq, m, k, NULL, 0));
  syn__causal_matmul_tn(t, &g, syn__product_of(dk, syn_transposed(m), q, NULL, 0));
}

/* Through W_q into x and through W_k into u, which in self-attention is x: both add. */
static void syn__v_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  float *dq = syn__att_own(t, n, SYN__DROWS, s);
  syn__scale_all(t, dq, a->scale, syn__tensor_rows(x) * (size_t)a->e);
  syn__linear_backward(t, n, a->param[s], -1, x, dq);
  syn__linear_backward(t, n, a->param[s] + 1, -1, syn__att_keys(t, n),
                       syn__v_keys(t, n, SYN__DROWS, s));
}

/* score [n] += a [c] times the rows of a table [n,c]: one row of the product that `fill` makes. */
static void syn__att_dots(const syn_tape *t, float *score, const float *a, const float *table,
                          int n, size_t c) {
  const float *rows[16];
  int j, i, count;
  for (j = 0; j < n; j += 16) {
    count = syn__min(16, n - j);
    for (i = 0; i < count; i++) rows[i] = table + (size_t)(j + i) * c;
    t->k->dots(score + j, a, rows, c, (size_t)count);
  }
}

/* Floats of a new row's scratch that hold scores: three rows of nk keys, then one for each head in
   whole vectors. A block of keys uses what is behind. */
static size_t syn__att_scores_end(const syn__att *a, int nk) {
  return 3 * (size_t)nk + (size_t)a->heads * syn__round16((size_t)nk);
}

/* Copies the lanes of `from` [heads,16] that `lanes` names: a bit a lane. */
static void syn__v_lanes(float *score, size_t row, const float *from, int heads, unsigned lanes) {
  int h, l;
  for (h = 0; h < heads; h++, score += row, from += 16)
    for (l = 0; lanes >> l; l++)
      if (lanes >> l & 1) score[l] = from[l];
}
/* Scores of the 16 keys from place j on, whose block is full and across. They lie in the slots the
   hypothesis has been in, mostly one or two. Of every slot all 16 are scored into part [heads,16],
   and its own are taken. */
static void syn__v_closed(const syn_tape *t, const syn_node *n, const syn__head *x, const float *q,
                          float *score, int j) {
  const syn__decode_state *l = t->decode;
  const int *past = l->past + x->q0 * (size_t)l->length + j;
  const syn__att *a = syn__att_of(n);
  size_t c = (size_t)a->c, row = syn__round16((size_t)x->nk), heads = (size_t)x->heads;
  float *part = x->scratch + syn__att_scores_end(a, x->nk);
  unsigned left = 0xFFFF, lanes;
  int i, slot;
  while (left) {
    for (i = 0; !(left >> i & 1); i++) continue;
    slot = past[i] / l->length;
    for (lanes = 0; i < 16; i++)
      if (past[i] / l->length == slot) lanes |= 1u << i;
    left &= ~lanes;
    i = lanes == 0xFFFF;
    t->k->scores(i ? score + j : part, i ? row : 16, q,
                 syn__key_block(t, n, slot, j) + (size_t)x->h * c * 16, heads, c);
    if (!i) syn__v_lanes(score + j, row, part, x->heads, lanes);
  }
}
/* The same for the newest block, whose keys are still straight: they are turned into [heads c,16]
   here. Where they lie in several slots, their rows [.,heads c] are first copied together. */
static void syn__v_open(const syn_tape *t, const syn_node *n, const syn__head *x, const float *q,
                        float *score, int j) {
  const syn__decode_state *l = t->decode;
  const int *past = l->past + x->q0 * (size_t)l->length + j;
  const syn__att *a = syn__att_of(n);
  size_t wide = (size_t)(x->heads * a->c), e = (size_t)a->e, at = (size_t)(x->h * a->c);
  float *rows = x->scratch + syn__att_scores_end(a, x->nk), *turned = rows + 16 * wide;
  const float *keys = syn__key_block(t, n, past[0] / l->length, j) + at;
  int i, count = x->nk - j, apart = 0; /* 1: in more than one slot */
  for (i = 1; i < count; i++) apart |= past[i] - past[0] != i;
  for (i = 0; i < count && apart; i++)
    memcpy(rows + (size_t)i * wide,
           syn__key_block(t, n, past[i] / l->length, j) + (size_t)i * e + at, wide * sizeof *rows);
  syn__pack_keys(t, syn_matrix_of(apart ? rows : keys, count, (int)wide, apart ? wide : e), turned);
  t->k->scores(score + j, syn__round16((size_t)x->nk), q, turned, (size_t)x->heads, (size_t)a->c);
}
/* Where the newest token begins a block, the one before it has got all of its keys: those of all
   slots of a sentence, also of those in which nothing lives now, are turned. Items are rows; the
   first of a sentence does it. */
static void syn__task_v_close(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__decode_state *l = t->decode;
  size_t e = (size_t)syn__att_of(n)->e;
  float *turned = syn__scratch(t, thread);
  for (; begin < end; begin++) {
    int i, sentence = l->sentence[begin], place = t->at[SYN_TGT][begin];
    if (begin && l->sentence[begin - 1] == sentence) continue;
    for (i = 0; i < l->slots; i++) {
      float *keys = syn__key_block(t, n, sentence * l->slots + i, place - 16);
      syn__pack_keys(t, syn_matrix_of(keys, 16, (int)e, 0), turned);
      memcpy(keys, turned, 16 * e * sizeof *keys);
    }
  }
}
static void syn__v_close(syn_tape *t, const syn_node *n) {
  int place = t->at[SYN_TGT][0];
  if (place && place % 16 == 0)
    syn__parallel(t, syn__task_v_close, n, (size_t)t->decode->rows, (size_t)t->decode->slots);
}
/* Another text than `fill`, with the same bits. */
static void syn__v_rows(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score) {
  const syn__att *a = syn__att_of(n);
  size_t c = (size_t)a->c;
  const float *q = syn__att_own(t, n, SYN__ROWS, s) + syn__head_q(a, x);
  int j;
  for (j = 0; j < x->nk; j += 16)
    if (a->cross)
      t->k->scores(score + j, syn__round16((size_t)x->nk), q,
                   syn__source_key_block(t, n, x->sentence, j) + (size_t)x->h * c * 16,
                   (size_t)x->heads, c);
    else if (j + 16 <= x->first) syn__v_closed(t, n, x, q, score, j);
    else syn__v_open(t, n, x, q, score, j);
}
static double syn__v_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  return 2.0 * a->e * a->d + (double)length * a->e;
}

/* ==============================================================================================
   >>kind syn_att: R, Fix, FR   S_ij = F_ij, a table that no input changes
   ============================================================================================== */

/*
   (Random Synthesizer, Tay et al. 2021, section 3.2; FR: 3.3.) R: F = r [H,N,N], learned. Fix: the
   same, never trained: drawn once from the seed and saved. FR: F_ij = r1_i . r2_j of rank k, r1 and
   r2 [H,N,k]. A sentence of n tokens uses the first n rows and columns. tile: both indices modulo
   the tile. Decoding needs nothing of the past but the values. Since all sentences add into the
   one table, its gradient is made in back_shared.
   rows buffer: nothing. tables: FR the product F [H,N,N], and its gradient. */

static syn_status syn__r_params(syn_build *b, syn_node *n, const char *name, syn_initial init) {
  const syn__att *a = syn__att_of(n);
  int shape[3];
  shape[0] = a->heads;
  shape[1] = shape[2] = a->size;
  return syn_build_param(b, n, name, init, 3, shape);
}
/* Uniform within sqrt(3/N): variance 1/N. A softmax over such small scores begins almost
   uniform. */
static syn_status syn__r_shape(syn_build *b, syn_node *n, int s) {
  SYN__UNUSED(s); /* one parameter, no rows, no table made of it */
  return syn__r_params(b, n, "r",
                       syn_initial_of(SYN_INIT_UNIFORM, sqrt(3.0 / syn__att_of(n)->size)));
}
static syn_status syn__fix_shape(syn_build *b, syn_node *n, int s) {
  SYN__UNUSED(s);
  return syn__r_params(b, n, "fix", syn_initial_of(SYN_INIT_FIXED, 1.0));
}

/* score [n] = row i of a table [size,size], repeated every `size` columns when tiled. */
static void syn__table_row(const syn__att *a, const float *table, int i, int n, float *score) {
  const float *row = table + (size_t)(i % a->size) * (size_t)a->size;
  int j, m;
  for (j = 0; j < n; j += m) {
    m = syn__min(a->size, n - j);
    memcpy(score + j, row, (size_t)m * sizeof *score);
  }
}
/* All queries of a sentence, or the one of a step: the same text. */
static void syn__table_fill(const syn__att *a, const float *table, const syn__head *x,
                            float *score) {
  int i;
  for (i = 0; i < x->nq; i++)
    syn__table_row(a, table, x->first + i, x->nk, score + (size_t)i * (size_t)x->nk);
}
/* dtable[i,j] += dS_ij, sentence after sentence; ds is folded into the first `size` columns */
static void syn__table_back(const syn_tape *t, const syn__att *a, const syn__head *x,
                            const float *ds, float *dtable) {
  int i;
  for (i = 0; i < x->nq; i++)
    t->k->acc(dtable + (size_t)(i % a->size) * (size_t)a->size, ds + (size_t)i * (size_t)x->nk,
              (size_t)syn__att_columns(a, x->nk));
}

/* Where head h begins in a table [H,size,size]. */
static size_t syn__table_at(const syn__att *a, int h) {
  return (size_t)h * (size_t)a->size * (size_t)a->size;
}
/* For r and for fix: both are the first parameter of their score. */
static void syn__r_fill(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score) {
  const syn__att *a = syn__att_of(n);
  syn__table_fill(a, syn__att_weight(t, n, s, 0) + syn__table_at(a, x->h), x, score);
}
static void syn__r_back(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                        const float *ds) {
  const syn__att *a = syn__att_of(n);
  syn__table_back(t, a, x, ds, syn__att_dweight(t, n, s, 0) + syn__table_at(a, x->h));
}

/* FR: S_ij = r1_i . r2_j, r1 and r2 [H,N,k]; the table is made once per pass. Their product of k
   terms has variance 1/N when both are uniform within sqrt(3) (kN)^(-1/4). */
static syn_status syn__fr_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  syn_initial init = syn_initial_of(SYN_INIT_UNIFORM, sqrt(3.0 / sqrt((double)a->k * a->size)));
  int shape[3];
  shape[0] = a->heads;
  shape[1] = a->size;
  shape[2] = a->k;
  syn__att_table(a, s, (size_t)a->heads, syn__mul_size((size_t)a->size, (size_t)a->size));
  a->dtables = a->tables - a->table[s];
  return syn_build_param(b, n, "r1", init, 3, shape) || syn_build_param(b, n, "r2", init, 3, shape)
             ? SYN_E_SHAPE : SYN_OK;
}

/* Where head h begins in r1 and r2. */
static size_t syn__fr_at(const syn__att *a, int h) {
  return (size_t)h * (size_t)a->size * (size_t)a->k;
}
/* F_h [L,L] = r1_h r2_h^T, once for all sentences of the batch; L rows and columns of [N,N] */
static void syn__fr_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  float *table = syn_saved(t, n, SYN__TABLE) + a->table[s];
  int h, L = syn__att_longest(t, n);
  if (t->decode) return; /* a step computes its own row */
  for (h = 0; h < a->heads; h++)
    syn_gemm(t, syn_matrix_of(table + syn__table_at(a, h), L, L, (size_t)a->size),
             syn_matrix_of(syn__att_weight(t, n, s, 0) + syn__fr_at(a, h), L, a->k, 0),
             syn_transposed(
                 syn_matrix_of(syn__att_weight(t, n, s, 1) + syn__fr_at(a, h), L, a->k, 0)),
             NULL, 0);
}
/* From here on as R, with F in the place of the parameter. */
static void syn__fr_fill(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score) {
  const syn__att *a = syn__att_of(n);
  syn__table_fill(a, syn_saved(t, n, SYN__TABLE) + a->table[s] + syn__table_at(a, x->h), x, score);
}
static void syn__fr_back(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                         const float *ds) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  syn__table_back(t, a, x, ds, syn_saved(t, n, SYN__DTABLE) + syn__table_at(a, x->h));
}
/* dr1 += dF r2, dr2 += dF^T r1 */
static void syn__fr_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  int h, L = syn__att_longest(t, n);
  for (h = 0; h < a->heads; h++) {
    size_t at = syn__fr_at(a, h);
    syn_matrix df = syn_matrix_of(syn_saved(t, n, SYN__DTABLE) + syn__table_at(a, h), L, L,
                                  (size_t)a->size);
    syn_gemm(t, syn_matrix_of(syn__att_dweight(t, n, s, 0) + at, L, a->k, 0), df,
             syn_matrix_of(syn__att_weight(t, n, s, 1) + at, L, a->k, 0), NULL, 1);
    syn_gemm(t, syn_matrix_of(syn__att_dweight(t, n, s, 1) + at, L, a->k, 0), syn_transposed(df),
             syn_matrix_of(syn__att_weight(t, n, s, 0) + at, L, a->k, 0), NULL, 1);
  }
}
/* Another text than `fill`, with the same bits: a step needs one row of the table. */
static void syn__fr_row(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score) {
  const syn__att *a = syn__att_of(n);
  size_t k = (size_t)a->k, head = (size_t)x->h * (size_t)a->size;
  const float *r1 = syn__att_weight(t, n, s, 0) + (head + (size_t)(x->first % a->size)) * k;
  const float *r2 = syn__att_weight(t, n, s, 1) + head * k;
  int columns = syn__att_columns(a, x->nk);
  memset(score, 0, (size_t)columns * sizeof *score);
  syn__att_dots(t, score, r1, r2, columns, k);
  syn__tile_columns(a, x, score);
}
static double syn__fr_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  return (double)syn__min(length, a->size) * a->heads * a->k;
}

/* ==============================================================================================
   >>kind syn_att: D and its family   a row of N scores from the row's token, or window of tokens
   ============================================================================================== */

/*
   (D: Dense Synthesizer, Tay et al. 2021, section 3.1; Conv, CRC, BD, BCRC and GLU vary its two
   stages.) u = relu(x W1^T + b1) or x itself, S_ij = W2_h[j] . u_i's slice + b2_h[j]; GLU: that
   times sigma of the same with another W2, b2.

     D      linear, linear            W1 [e,d]      W2 [H,N,c]       u [rows,e]
     BD     linear, linear            W1 [H m,d]    W2 [H,N,m]       u [rows,H m]
     CRC    convolution, convolution  W1 [e,f,d]    W2 [H,N,f2,c]    u [rows,e]
     BCRC   convolution, convolution  W1 [H m,f,d]  W2 [H,N,f,m]     u [rows,H m]
     Conv   convolution               -             W [H,N,f,c]      x
     GLU    glu of two linears        -             Wa, Wb [H,N,c]   x

   The way of a pass, and back:
     hidden_forward       windows of x, then u = relu(windows W1^T + b1)       all rows
     dense_prepare        windows of u, head by head; W2 into panels           all rows
     dense_fill           A = z W2^T + b2, z a row of u or its window; glu     a head, a sentence
     dense_back           dz = dA W2                                           a head, a sentence
     dense_back_shared    dW2 += dA^T z, db2 += column sums of dA              a head
     dense_finish         windows dz back into du                              all rows
     hidden_back          through relu, W1 and b1 into dx                      all rows
   Where a stage is missing the next one reads and writes what the one before would have: Conv and
   GLU have no u and work on x, linears have no windows.

   A convolution reads the window of a row, W[.., tap, ..] the tap of it; what lies outside the
   sentence is 0, in u too (not relu(b1)). Only the columns the sentence has are computed.
   shared=1, for D, as in the published code: one W2 [N,c] for all heads and no biases; beside V,
   relu(q) of V is the hidden stage, and there is no W1.
   rows buffer: u; then the windows of x [rows,f,d] until u is made, from then on in the same place
   those of u, head by head [H,rows,f2,width], so that each head's product reads neighbours. In the
   buffer of gradients the same: du, then dz; dwindows. Raw scores: both sides of GLU, then their
   gradients. tables: W2 in panels of 16 columns, packed once per pass instead of once per sentence;
   a step of decoding, with its few rows, reads W2 as it stands.
   history: x for windows of x, once for all scores; u for windows of u. */

typedef struct syn__family {
  const char *name, *w1, *b1, *w2, *b2, *w_gate, *b_gate; /* null: no such stage or side */
  int narrow;        /* 1: m hidden units a head, else c */
  int first, second; /* 0: a linear; 1: a convolution of width f; 2: of width f2 */
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

/* Numbers that one output reads of a row of `width` inputs. */
static int syn__conv_size(const syn_conv *w, int width) {
  return syn__max(1, w->taps) * width;
}

/* Glorot of one matrix of a convolution: both its fans times its taps. */
static syn_initial syn__glorot_taps(int taps, int inputs, int outputs) {
  double fans = ((double)inputs + (double)outputs) * syn__max(1, taps);
  return syn_initial_of(SYN_INIT_UNIFORM, sqrt(6.0 / fans));
}

/* The window of a stage; `which` as in the family. */
static syn_status syn__stage_window(syn_build *b, const char *name, int which, int width,
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

/* Room for u, and W1 and b1 under these names: null: there is none. Of the stages, `wide` and
   `first` are set. */
static syn_status syn__hidden_shape(syn_build *b, syn_node *n, int s, const char *w,
                                    const char *bias) {
  syn__att *a = (syn__att *)n->own;
  syn__stages *st = &a->stages[s];
  int shape[3], taps = st->first.taps;
  a->at[s] = a->wide;
  a->wide += st->wide;
  st->hidden = 1;
  st->w1 = w ? n->n_param : -1;
  st->b1 = bias ? n->n_param + 1 : -1;
  shape[0] = st->wide;
  shape[1] = taps ? taps : a->d;
  shape[2] = a->d;
  if (w && syn_build_param(b, n, w, syn__glorot_taps(taps, a->d, st->wide), taps ? 3 : 2, shape))
    return SYN_E_SHAPE;
  if (w) b->g->params[n->param[st->w1]].matrix = 1; /* also where it is a convolution */
  return bias ? syn__bias_param(b, n, bias, st->wide) : SYN_OK;
}

/* One linear of the output stage: [H,N,taps,width] and [H,N]; where all heads share it [N,width]
   and no bias. */
static syn_status syn__output_params(syn_build *b, syn_node *n, int s, const char *w,
                                     const char *bias) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  int shape[4], taps = st->second.taps;
  syn_initial init = syn__glorot_taps(taps, st->width, a->size);
  shape[0] = a->heads;
  shape[1] = a->size;
  shape[2] = taps ? taps : st->width;
  shape[3] = st->width;
  if (!bias) return syn_build_param(b, n, w, init, 2, shape + 1);
  if (syn_build_param(b, n, w, init, taps ? 4 : 3, shape)) return SYN_E_SHAPE;
  return syn__att_table_zero(b, n, bias, a->size);
}

/* 1: the hidden stage is relu(q) of V. Since V must then have made q first and must finish last,
   the layer knows this order (syn__att_prepare). */
static int syn__d_uses_q(const syn__att *a) { return a->shared && syn__score_at(a, "V") >= 0; }

/* Both stages as the text says: widths, windows; D alone can share its output stage. */
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
  st->width = f->narrow ? m : a->c;
  st->wide = a->heads * st->width;
  st->gated = f->w_gate != NULL;
  st->matrices = a->shared && f == &syn__families[0] ? 1 : a->heads;
  if (syn__stage_window(b, f->name, f->first, a->d, &st->first)) return SYN_E_SHAPE;
  return syn__stage_window(b, f->name, f->second, st->wide, &st->second);
}

/* Places of what is kept: windows, x and u in the history, the two sides of GLU, packed W2. The
   windows of x have served when those of u are made: both have one place, of the larger one. x
   stands once in the history for all scores that look back to it. */
static void syn__stages_places(syn__att *a, int s) {
  syn__stages *st = &a->stages[s];
  int x = st->first.taps > 1 ? st->first.taps * a->d : 0;
  int u = st->second.taps > 1 ? st->second.taps * st->wide : 0;
  st->windows = a->wide;
  a->wide += syn__max(x, u);
  st->past = -1;
  if (a->past_x < 0 && (x || (u && !st->hidden))) {
    a->past_x = a->past;
    a->past += a->d;
  }
  if (u && st->hidden) {
    st->past = a->past;
    a->past += st->wide;
  }
  st->sides = a->n_raw;
  a->n_raw += 2 * st->gated;
  syn__att_table(a, s, (size_t)(st->matrices * (1 + st->gated)),
                 syn__mul_size((size_t)syn__conv_size(&st->second, st->width),
                               syn__round16((size_t)a->size)));
}

/* Of every name of the family: the parameters stand in the order w1, b1, w2, b2 and, of the gate,
   w2, b2; which is why the gate's are found 2 behind. */
static syn_status syn__dense_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  syn__stages *st = &a->stages[s];
  const syn__family *f = syn__families;
  int shared, uses_q;
  while (strcmp(f->name, a->score[s]->name)) f++;
  shared = a->shared && f == syn__families;
  uses_q = shared && syn__d_uses_q(a);
  if (syn__stages_shape(b, n, s, f)) return SYN_E_SHAPE;
  if (f->w1 && syn__hidden_shape(b, n, s, uses_q ? NULL : f->w1, shared ? NULL : f->b1))
    return SYN_E_SHAPE;
  syn__stages_places(a, s);
  st->w2 = n->n_param;
  st->b2 = shared ? -1 : st->w2 + 1;
  if (syn__output_params(b, n, s, f->w2, shared ? NULL : f->b2)) return SYN_E_SHAPE;
  return f->w_gate ? syn__output_params(b, n, s, f->w_gate, f->b_gate) : SYN_OK;
}

/* -- the hidden stage -- */

/* im2col of x; while decoding of the cache, from `past` on */
static void syn__stage_im2col(syn_tape *t, const syn_node *n, const syn_conv *w, int past,
                              syn_matrix x, float *col) {
  if (t->decode) syn__conv_cached(t, n, w, (size_t)past, (size_t)x.cols, col);
  else syn_im2col(t, n, w, x, col);
}

/* The input of W1: x, or the windows of x, made anew (those of u lie there while going back). */
static syn_tensor syn__hidden_input(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  syn_tensor x = *syn_in(t, n, 0);
  float *col = syn__att_block(t, n, SYN__ROWS, st->windows);
  if (st->first.taps < 2) return x;
  syn__stage_im2col(t, n, &st->first, a->past_x,
                    syn_matrix_of(x.x, (int)syn__tensor_rows(&x), a->d, 0), col);
  x.x = col;
  return x;
}

/* u = relu(x W1^T + b1), in place */
static void syn__hidden_forward(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  float *u = syn__att_own(t, n, SYN__ROWS, s);
  size_t count = syn__tensor_rows(syn_in(t, n, 0)) * (size_t)st->wide;
  if (st->w1 < 0) { /* q is kept scaled: relu(q) = relu(scaled q) / scale */
    t->k->act(SYN__RELU, u, syn__att_own(t, n, SYN__ROWS, syn__score_at(a, "V")), count);
    t->k->scale(u, 1.0f / a->scale, u, count);
  } else {
    syn_tensor x = syn__hidden_input(t, n, s);
    syn__linear_forward(t, n, st->w1, st->b1, &x, u);
    t->k->act(SYN__RELU, u, u, count);
  }
}

/* dz = du where u > 0, else 0, in place; then as linear, for windows back to the rows they were
   made of. Written so that a NaN in u stops, too. */
static void syn__hidden_back(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  const float *u = syn__att_own(t, n, SYN__ROWS, s);
  float *du = syn__att_own(t, n, SYN__DROWS, s), *dx = syn_in(t, n, 0)->dx;
  syn_tensor x = syn__hidden_input(t, n, s);
  size_t i, rows = syn__tensor_rows(&x), count = rows * (size_t)st->wide;
  for (i = 0; i < count; i++)
    if (!(u[i] > 0.0f)) du[i] = 0.0f;
  if (st->first.taps > 1) {
    x.dx = syn__att_block(t, n, SYN__DROWS, st->windows);
    memset(x.dx, 0, rows * (size_t)(st->first.taps * a->d) * sizeof *x.dx);
  }
  syn__linear_backward(t, n, st->w1, st->b1, &x, du);
  if (st->first.taps > 1)
    syn_col2im(t, n, &st->first, x.dx, syn_matrix_of(dx, (int)rows, a->d, 0));
}

/* Where u = relu(q): into the dq that V takes on from here. V multiplies dq by its scale at the
   end: divided by it here, du arrives whole. */
static void syn__hidden_back_q(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const float *u = syn__att_own(t, n, SYN__ROWS, s), *du = syn__att_own(t, n, SYN__DROWS, s);
  float *dq = syn__att_own(t, n, SYN__DROWS, syn__score_at(a, "V"));
  size_t i, count = syn__tensor_rows(syn_in(t, n, 0)) * (size_t)a->e;
  for (i = 0; i < count; i++)
    if (u[i] > 0.0f) dq[i] += du[i] / a->scale;
}

/* -- the output stage -- */

/* Numbers of a row that the output stage of a head multiplies. */
static int syn__dense_size(const syn__stages *st) {
  return syn__conv_size(&st->second, st->width);
}
/* u [rows,wide], or x itself where there is no hidden stage; or the gradient of either. */
static float *syn__stages_u(const syn_tape *t, const syn_node *n, int buffer, int s) {
  const syn_tensor *x = syn_in(t, n, 0);
  if (syn__stages_of(n, s)->hidden) return syn__att_own(t, n, buffer, s);
  return buffer == SYN__ROWS ? x->x : x->dx;
}
/* Where head h has them in the windows; the rows of a head are neighbours. */
static float *syn__dense_windows(const syn_tape *t, const syn_node *n, int buffer, int s, int h) {
  const syn__stages *st = syn__stages_of(n, s);
  return syn__att_block(t, n, buffer, st->windows) +
         (size_t)h * syn__att_rows(t, n) * (size_t)syn__dense_size(st);
}
/* z: the first of them of a sentence's head, and how far it is to the next row's. In the windows,
   else in u, else in x itself; with the buffer of gradients, their gradients. */
static float *syn__dense_rows(const syn_tape *t, const syn_node *n, int buffer, int s,
                              const syn__head *x, size_t *row) {
  const syn__stages *st = syn__stages_of(n, s);
  float *at = syn__stages_u(t, n, buffer, s) + x->h * st->width;
  *row = (size_t)st->wide;
  if (st->second.taps > 1) {
    at = syn__dense_windows(t, n, buffer, s, x->h);
    *row = (size_t)syn__dense_size(st);
  }
  return at + x->q0 * *row;
}

/* W2_h [N,taps,width] of head h, or its gradient, in its parameter; side 1: that of the gate */
static size_t syn__dense_w2_at(const syn_node *n, int s, int h) {
  const syn__stages *st = syn__stages_of(n, s);
  size_t head = st->matrices == 1 ? 0 : (size_t)h;
  return head * (size_t)syn__att_of(n)->size * (size_t)syn__dense_size(st);
}
static const float *syn__dense_w2(const syn_tape *t, const syn_node *n, int s, int side, int h) {
  return syn_weight(t, n, syn__stages_of(n, s)->w2 + 2 * side) + syn__dense_w2_at(n, s, h);
}
/* b2 of head h: [N] of [H,N]; null: none */
static const float *syn__dense_b2(const syn_tape *t, const syn_node *n, int s, int side, int h) {
  const syn__stages *st = syn__stages_of(n, s);
  if (st->b2 < 0) return NULL;
  return syn_weight(t, n, st->b2 + 2 * side) + (size_t)h * (size_t)syn__att_of(n)->size;
}
/* W2_h as panels [ceil(N/16)][taps width][16] */
static float *syn__dense_panels(const syn_tape *t, const syn_node *n, int s, int side, int h) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  size_t head = (size_t)(side * st->matrices + (st->matrices == 1 ? 0 : h));
  return syn_saved(t, n, SYN__TABLE) + a->table[s] +
         head * (size_t)syn__dense_size(st) * syn__round16((size_t)a->size);
}

/* The windows of u, or of x where there is no hidden stage, for every head. */
static void syn__dense_gather(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  const float *u = syn__stages_u(t, n, SYN__ROWS, s);
  int rows = (int)syn__tensor_rows(syn_in(t, n, 0));
  int h, past = st->hidden ? st->past : a->past_x;
  if (t->decode && st->past >= 0)
    syn__conv_cache_write(t, n, (size_t)st->past, (size_t)st->wide, u);
  for (h = 0; h < a->heads; h++)
    syn__stage_im2col(t, n, &st->second, past + h * st->width,
                      syn_matrix_of(u + h * st->width, rows, st->width, (size_t)st->wide),
                      syn__dense_windows(t, n, SYN__ROWS, s, h));
}

static void syn__dense_prepare(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  int h, side;
  if (st->hidden) syn__hidden_forward(t, n, s);
  if (st->second.taps > 1) syn__dense_gather(t, n, s);
  if (t->decode) return; /* a step reads W2 by rows */
  for (side = 0; side <= st->gated; side++)
    for (h = 0; h < st->matrices; h++)
      syn__pack_keys(t, syn_matrix_of(syn__dense_w2(t, n, s, side, h), syn__att_longest(t, n),
                                      syn__dense_size(st), 0),
                     syn__dense_panels(t, n, s, side, h));
}

/* One linear: score [nq, columns] = z W2^T + b2 */
static void syn__dense_linear(const syn_tape *t, const syn_node *n, int s, int side,
                              const syn__head *x, float *score) {
  const syn__att *a = syn__att_of(n);
  size_t row;
  const float *u = syn__dense_rows(t, n, SYN__ROWS, s, x, &row);
  int size = syn__dense_size(&a->stages[s]), columns = syn__att_columns(a, x->nk);
  syn__causal_range g = syn__head_range(a, x);
  g.nk = columns;
  syn__causal_matmul_nt(
      t, &g,
      syn__product_of(
          syn_matrix_of(score, x->nq, columns, (size_t)x->nk), syn_matrix_of(u, x->nq, size, row),
          syn__packed(syn__dense_panels(t, n, s, side, x->h), size, columns),
          syn__dense_b2(t, n, s, side, x->h), 0));
}

/* The sides of GLU, [nq,nk] each, are kept: going back needs both. */
static void syn__dense_fill(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                            float *score) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  size_t i, nk = (size_t)x->nk, columns = (size_t)syn__att_columns(a, x->nk);
  if (!st->gated) {
    syn__dense_linear(t, n, s, 0, x, score);
  } else {
    float *A = syn__head_raw(t, n, x, st->sides), *B = syn__head_raw(t, n, x, st->sides + 1);
    syn__dense_linear(t, n, s, 0, x, A);
    syn__dense_linear(t, n, s, 1, x, B);
    for (i = 0; i < (size_t)x->nq; i++)
      t->k->glu(score + i * nk, A + i * nk, B + i * nk, columns);
  }
  syn__tile_columns(a, x, score);
}

/* dA = dS sigma(B), dB = dS A sigma'(B), in place of A and B: the kernel adds, so each row goes
   aside and leaves zeros. */
static void syn__dense_glu_back(const syn_tape *t, const syn_node *n, int s, const syn__head *x,
                                const float *ds) {
  const syn__att *a = syn__att_of(n);
  float *A = syn__head_raw(t, n, x, a->stages[s].sides);
  float *B = syn__head_raw(t, n, x, a->stages[s].sides + 1);
  float *rows = syn__head_rows(a, x);
  size_t i, nk = (size_t)x->nk, columns = (size_t)syn__att_columns(a, x->nk);
  for (i = 0; i < (size_t)x->nq; i++, A += nk, B += nk) {
    memcpy(rows, A, columns * sizeof *A);
    memcpy(rows + nk, B, columns * sizeof *B);
    memset(A, 0, columns * sizeof *A);
    memset(B, 0, columns * sizeof *B);
    t->k->glu_back(A, B, rows, rows + nk, ds + i * nk, columns);
  }
}
/* The gradient of one linear's scores. */
static const float *syn__dense_ds(const syn_tape *t, const syn_node *n, int s, int side,
                                  const syn__head *x, const float *ds) {
  const syn__stages *st = syn__stages_of(n, s);
  return st->gated ? syn__head_raw(t, n, x, st->sides + side) : ds;
}

/* dz = dA W2, A being S or a side of glu; the columns or windows of this head only: `back` of
   another head writes the others. Straight into x they are added: there they meet the gradients of
   others. */
static void syn__dense_back(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                            const float *ds) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  size_t row;
  float *to = syn__dense_rows(t, n, SYN__DROWS, s, x, &row);
  int side, size = syn__dense_size(st), straight = !st->hidden && st->second.taps < 2;
  syn__causal_range g = syn__head_range(a, x);
  g.nk = syn__att_columns(a, x->nk);
  if (st->gated) syn__dense_glu_back(t, n, s, x, ds);
  for (side = 0; side <= st->gated; side++)
    syn__causal_matmul_nn(
        t, &g,
        syn__product_of(
            syn_matrix_of(to, x->nq, size, row),
            syn_matrix_of(syn__dense_ds(t, n, s, side, x, ds), x->nq, g.nk, (size_t)x->nk),
            syn_matrix_of(syn__dense_w2(t, n, s, side, x->h), g.nk, size, 0), NULL,
            straight || side));
}
/* dW2 += dA^T z, db2 += column sums of dA. Columns no sentence of the batch reaches get
   nothing. */
static void syn__dense_back_shared(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                                   const float *ds) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  size_t row, nk = (size_t)x->nk;
  const float *u = syn__dense_rows(t, n, SYN__ROWS, s, x, &row);
  int side, size = syn__dense_size(st);
  syn__causal_range g = syn__head_range(a, x);
  g.nk = syn__att_columns(a, x->nk);
  for (side = 0; side <= st->gated; side++) {
    const float *from = syn__dense_ds(t, n, s, side, x, ds);
    float *dw2 = syn_dweight(t, n, st->w2 + 2 * side) + syn__dense_w2_at(n, s, x->h);
    syn__causal_matmul_tn(
        t, &g,
        syn__product_of(syn_matrix_of(dw2, g.nk, size, 0),
                        syn_transposed(syn_matrix_of(from, x->nq, g.nk, nk)),
                        syn_matrix_of(u, x->nq, size, row), NULL, 1));
    if (st->b2 >= 0)
      t->k->column_sums(syn_dweight(t, n, st->b2 + 2 * side) + (size_t)x->h * (size_t)a->size, from,
                        (size_t)x->nq, nk, 0, (size_t)g.nk);
  }
}

/* Windows of all heads go back to the rows of u (or x) they were made of; then u to x. */
static void syn__dense_finish(syn_tape *t, const syn_node *n, int s) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  float *du = syn__stages_u(t, n, SYN__DROWS, s);
  int rows = (int)syn__tensor_rows(syn_in(t, n, 0));
  int h, heads = st->second.taps > 1 ? a->heads : 0;
  if (heads && st->hidden)
    memset(du, 0, (size_t)rows * (size_t)st->wide * sizeof *du);
  for (h = 0; h < heads; h++)
    syn_col2im(t, n, &st->second, syn__dense_windows(t, n, SYN__DROWS, s, h),
               syn_matrix_of(du + h * st->width, rows, st->width, (size_t)st->wide));
  if (st->hidden && st->w1 >= 0) syn__hidden_back(t, n, s);
  else if (st->hidden) syn__hidden_back_q(t, n, s);
}

/* Another text than `fill`, with the same bits: a step has no panels, made for many rows. The
   gate's side of GLU stands behind the two rows [nk] that the layer uses of the scratch. */
static void syn__dense_row(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                           float *score) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  size_t row, size = (size_t)syn__dense_size(st);
  const float *u = syn__dense_rows(t, n, SYN__ROWS, s, x, &row);
  int side, columns = syn__att_columns(a, x->nk);
  for (side = 0; side <= st->gated; side++) {
    const float *w2 = syn__dense_w2(t, n, s, side, x->h), *b2 = syn__dense_b2(t, n, s, side, x->h);
    float *to = side ? x->scratch + 2 * x->nk : score;
    if (b2) memcpy(to, b2, (size_t)columns * sizeof *to);
    else memset(to, 0, (size_t)columns * sizeof *to);
    syn__att_dots(t, to, u, w2, columns, size);
  }
  if (st->gated) t->k->glu(score, score, x->scratch + 2 * x->nk, (size_t)columns);
  syn__tile_columns(a, x, score);
}
static double syn__dense_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  const syn__stages *st = &a->stages[s];
  double hidden = st->hidden && st->w1 >= 0 ? (double)syn__conv_size(&st->first, a->d) : 0.0;
  double row = (double)syn__min(length, a->size) * a->heads * syn__dense_size(st);
  return hidden * st->wide + row * (1 + st->gated);
}

/* ==============================================================================================
   >>kind syn_att: FD   S_ij = A_i[j div b] B_i[j mod b]
   ============================================================================================== */

/* (Factorized Dense Synthesizer, Tay et al. 2021, section 3.3.) From a row come a + b numbers,
   not N, a b >= N: A = WA_h u + ba_h, B = WB_h u + bb_h, u = relu(x W1^T + b1)'s slice; W1
   [e,d], b1 [e], WA [H,a,c], ba [H,a], WB [H,b,c], bb [H,b]. The column j is written as (j div
   b, j mod b), so a row of S is a times a copy of B, each copy multiplied by one number of A.
   rows buffer: u [rows,e], A [rows,H,a], B [rows,H,b]; the same for their gradients. */

/* The two sides A and B are one text; only their sizes and parameters differ. */
static syn_status syn__fd_side(syn_build *b, syn_node *n, const char *w, const char *bias,
                               int size) {
  const syn__att *a = syn__att_of(n);
  int shape[3];
  shape[0] = a->heads;
  shape[1] = size;
  shape[2] = a->c;
  if (syn_build_param(b, n, w, syn_initial_glorot(a->c, size), 3, shape)) return SYN_E_SHAPE;
  return syn__att_table_zero(b, n, bias, size);
}

/* a and b as given; else the smallest pair. Both W1 and b1 are those of a hidden stage of width e,
   as D has it; of the output stages only A and B are of this room. */
static syn_status syn__fd_shape(syn_build *b, syn_node *n, int s) {
  syn__att *a = (syn__att *)n->own;
  int root = 1;
  while (root * root < a->size) root++; /* ceil(sqrt N): a = b is the smallest a + b */
  a->a = syn_arg_int(b, "a", root, 1, 1 << 16);
  a->b = syn_arg_int(b, "b", (a->size + a->a - 1) / a->a, 1, 1 << 16);
  if ((double)a->a * a->b < a->size)
    return syn__fail_build(b, SYN_E_SHAPE, "FD: a*b is %d*%d = %.0f, wanted at least %d", a->a,
                           a->b, (double)a->a * a->b, a->size);
  if ((double)a->heads * ((double)a->a + a->b) > SYN__MAX_WIDTH)
    return syn__fail_build(b, SYN_E_SHAPE, "FD: %d heads of a+b = %d+%d, wanted at most %d in all",
                           a->heads, a->a, a->b, SYN__MAX_WIDTH);
  a->stages[s].wide = a->e;
  if (syn__hidden_shape(b, n, s, "fd_w1", "fd_b1")) return SYN_E_SHAPE;
  a->wide += a->heads * (a->a + a->b);
  if (syn__fd_side(b, n, "fd_wa", "fd_ba", a->a)) return SYN_E_SHAPE;
  return syn__fd_side(b, n, "fd_wb", "fd_bb", a->b);
}

/* Numbers of a row and head: side 0: A, side 1: B */
static int syn__fd_size(const syn__att *a, int side) { return side ? a->b : a->a; }
/* A [rows,H,a] or B [rows,H,b] */
static float *syn__fd_rows(const syn_tape *t, const syn_node *n, int buffer, int s, int side) {
  const syn__att *a = syn__att_of(n);
  return syn__att_block(t, n, buffer, a->at[s] + a->e + (side ? a->heads * a->a : 0));
}

/* Where head h begins in WA [H,a,c] or WB [H,b,c]. */
static size_t syn__fd_at(const syn__att *a, int side, int h) {
  return (size_t)h * (size_t)syn__fd_size(a, side) * (size_t)a->c;
}

/* A_h [rows,a] = u's slice WA_h^T + ba_h for every head, as columns of [rows,H a]; the same for B.
   Parameters of the score: 0 W1, 1 b1, 2 WA, 3 ba, 4 WB, 5 bb. */
static void syn__fd_side_forward(syn_tape *t, const syn_node *n, int s, int side) {
  const syn__att *a = syn__att_of(n);
  const float *u = syn__att_own(t, n, SYN__ROWS, s), *w = syn__att_weight(t, n, s, 2 + 2 * side);
  float *to = syn__fd_rows(t, n, SYN__ROWS, s, side);
  int h, size = syn__fd_size(a, side), rows = (int)syn__tensor_rows(syn_in(t, n, 0));
  for (h = 0; h < a->heads; h++)
    syn_gemm(t, syn_matrix_of(to + h * size, rows, size, (size_t)(a->heads * size)),
             syn_matrix_of(u + h * a->c, rows, a->c, (size_t)a->e),
             syn_transposed(syn_matrix_of(w + syn__fd_at(a, side, h), size, a->c, 0)),
             syn__att_weight(t, n, s, 3 + 2 * side) + h * size, 0);
}
static void syn__fd_prepare(syn_tape *t, const syn_node *n, int s) {
  syn__hidden_forward(t, n, s);
  syn__fd_side_forward(t, n, s, 0);
  syn__fd_side_forward(t, n, s, 1);
}

/* Row `row` of head h: columns in groups of b, one factor A a group. */
static void syn__fd_one(syn_tape *t, const syn_node *n, int s, size_t row, const syn__head *x,
                        float *score) {
  const syn__att *a = syn__att_of(n);
  int j, columns = syn__att_columns(a, x->nk);
  size_t at = row * (size_t)a->heads + (size_t)x->h;
  const float *A = syn__fd_rows(t, n, SYN__ROWS, s, 0) + at * (size_t)a->a;
  const float *B = syn__fd_rows(t, n, SYN__ROWS, s, 1) + at * (size_t)a->b;
  for (j = 0; j < columns; j += a->b)
    t->k->scale(score + j, A[j / a->b], B, (size_t)syn__min(a->b, columns - j));
}
/* Forward and step: a step is a sentence of one query, whose row is x->q0. */
static void syn__fd_fill(syn_tape *t, const syn_node *n, int s, const syn__head *x, float *score) {
  int i;
  for (i = 0; i < x->nq; i++)
    syn__fd_one(t, n, s, x->q0 + (size_t)i, x, score + (size_t)i * (size_t)x->nk);
  syn__tile_columns(syn__att_of(n), x, score);
}
/* dA_i[g] = sum over the group g of dS B, dB_i += A_i[g] dS of the group. Groups the sentence does
   not reach keep the 0 they begin with: `finish` sums over all of A and B. The last group may be
   cut; then B's end gets nothing from it. */
static void syn__fd_back(syn_tape *t, const syn_node *n, int s, const syn__head *x,
                         const float *ds) {
  const syn__att *a = syn__att_of(n);
  int i, j, columns = syn__att_columns(a, x->nk);
  for (i = 0; i < x->nq; i++) {
    size_t row = (x->q0 + (size_t)i) * (size_t)a->heads + (size_t)x->h;
    const float *A = syn__fd_rows(t, n, SYN__ROWS, s, 0) + row * (size_t)a->a;
    const float *B = syn__fd_rows(t, n, SYN__ROWS, s, 1) + row * (size_t)a->b;
    float *dA = syn__fd_rows(t, n, SYN__DROWS, s, 0) + row * (size_t)a->a;
    float *dB = syn__fd_rows(t, n, SYN__DROWS, s, 1) + row * (size_t)a->b;
    memset(dA, 0, (size_t)a->a * sizeof *dA);
    memset(dB, 0, (size_t)a->b * sizeof *dB);
    for (j = 0; j < columns; j += a->b) {
      const float *group = ds + (size_t)i * (size_t)x->nk + (size_t)j;
      size_t size = (size_t)syn__min(a->b, columns - j);
      dA[j / a->b] = t->k->dot(group, B, size);
      t->k->acc_scale(dB, A[j / a->b], group, size);
    }
  }
}
/* du += dA WA, dWA += dA^T u, dba += column sums of dA; the same for B. Side A comes first and
   writes du (start 0), side B adds to it. */
static void syn__fd_side_back(syn_tape *t, const syn_node *n, int s, int side) {
  const syn__att *a = syn__att_of(n);
  const float *u = syn__att_own(t, n, SYN__ROWS, s), *d = syn__fd_rows(t, n, SYN__DROWS, s, side);
  float *du = syn__att_own(t, n, SYN__DROWS, s), *dw = syn__att_dweight(t, n, s, 2 + 2 * side);
  const float *w = syn__att_weight(t, n, s, 2 + 2 * side);
  size_t e = (size_t)a->e;
  int h, c = a->c, size = syn__fd_size(a, side), wide = a->heads * size;
  int rows = (int)syn__tensor_rows(syn_in(t, n, 0));
  for (h = 0; h < a->heads; h++) {
    size_t at = syn__fd_at(a, side, h);
    syn_matrix m = syn_matrix_of(d + h * size, rows, size, (size_t)wide); /* dA_h */
    syn_gemm(t, syn_matrix_of(du + h * c, rows, c, e), m, syn_matrix_of(w + at, size, c, 0), NULL,
             side);
    syn_gemm(t, syn_matrix_of(dw + at, size, c, 0), syn_transposed(m),
             syn_matrix_of(u + h * c, rows, c, e), NULL, 1);
  }
  syn__column_sums(t, syn__att_dweight(t, n, s, 3 + 2 * side), d, (size_t)rows, (size_t)wide);
}
static void syn__fd_finish(syn_tape *t, const syn_node *n, int s) {
  syn__fd_side_back(t, n, s, 0);
  syn__fd_side_back(t, n, s, 1);
  syn__hidden_back(t, n, s);
}
/* W1, both sides, and one product for every column. */
static double syn__fd_cost(const syn_node *n, int s, int length) {
  const syn__att *a = syn__att_of(n);
  SYN__UNUSED(s);
  return (double)a->e * a->d + (double)a->e * (a->a + a->b) +
         (double)syn__min(length, a->size) * a->heads;
}

#if SYN__LEVELS /* entered for every head of every new token: see the end of >>dispatch */
#pragma GCC optimize("O1", "fp-contract=off")
#endif

/* ==============================================================================================
   >>kind rel_pos   y = x; a learned bias of the distance i - j for the attentions behind it
   ============================================================================================== */

/*
   (T5: Raffel et al. 2020, section 2.1.) w [H,buckets], H the model's heads. To S_h[i,j] of every
   later syn_att of the same chain, and of the chains inside it, w[h, bucket(i - j)] is added, after
   the mixture and before the mask; several of them add up. An encoder has two halves of the
   buckets, for j <= i and for j > i; a decoder sees j <= i alone. Near distances have a bucket each
   (the first half), the others share buckets that grow as powers of max/e; all from max on share
   the last.
   A bias depends on i - j alone, so a pass makes it once for a head, [2 L] for the longest
   sentence, and every query adds a piece of it; the gradient goes the same way back. No product is
   made. tables of the attention: these biases, behind all others. */

#define SYN__MAX_BUCKETS 1024

typedef struct syn__rel_pos {
  const struct syn__rel_pos *outer; /* the one before it that still holds, null: none */
  int param, heads, buckets;        /* param: w among all of the network's */
  int half;   /* buckets of one direction */
  int future; /* first bucket of j > i: half, or 0 in a decoder */
  int *from;  /* [half] smallest distance of each bucket */
} syn__rel_pos;

/* x times a number; x is `size` digits of 32 bits, the lowest first. Returns the new size. */
static int syn__digits_times(uint32_t *x, int size, int factor) {
  uint64_t carry = 0;
  int i;
  for (i = 0; i < size; i++) {
    carry += (uint64_t)x[i] * (uint32_t)factor;
    x[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) x[size++] = (uint32_t)carry;
  return size;
}
/* The digits of x = a^n b^k. Numbers up to 2^20 and n + k up to 512: 321 digits hold it. */
static int syn__digits_powers(uint32_t *x, int a, int n, int b, int k) {
  int size = 1;
  x[0] = 1;
  while (n-- > 0) size = syn__digits_times(x, size, a);
  while (k-- > 0) size = syn__digits_times(x, size, b);
  return size;
}
/* 1: r^n >= max^v e^(n-v) */
static int syn__distance_reaches(int r, int n, int max, int v, int e) {
  uint32_t x[SYN__MAX_BUCKETS / 2], y[SYN__MAX_BUCKETS / 2];
  int i = syn__digits_powers(x, r, n, 1, 0), k = syn__digits_powers(y, max, v, e, n - v);
  if (i != k) return i > k;
  while (--i > 0 && x[i] == y[i]) continue;
  return x[i] >= y[i];
}

/* The smallest r with floor(n ln(r/e) / ln(max/e)) >= v, which is r^n >= max^v e^(n-v). A root in
   double finds it where no integer is near; beside one, where rounding could decide, integers do:
   a bucket must not depend on the last bit of a logarithm. */
static int syn__distance_from(int n, int max, int v, int e) {
  double root = (double)e * syn__pow((double)max / (double)e, (double)v / (double)n);
  int near = (int)floor(root + 0.5);
  if (fabs(root - (double)near) > 1e-6) return (int)ceil(root);
  return syn__distance_reaches(near, n, max, v, e) ? near : near + 1;
}

/* from[k]: smallest distance of bucket k of `half` buckets; max is larger than half / 2. */
static void syn__distances(int *from, int half, int max) {
  int k, e = half / 2;
  for (k = 0; k < half; k++) from[k] = k <= e ? k : syn__distance_from(half - e, max, k - e, e);
}

static syn_status syn__rel_pos_shape(syn_build *b, syn_node *n) {
  syn__rel_pos *p = (syn__rel_pos *)syn__own(b, n, sizeof *p);
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
  b->g->params[p->param].matrix = 0; /* it is looked up, no product reads it */
  p->outer = b->rel_pos;
  b->rel_pos = p;
  return syn__out_like(b, n, 0);
}

/* The bucket of r = i - j; `near` is any bucket of the direction: found fast where it is close. */
static int syn__rel_pos_bucket(const syn__rel_pos *p, int r, int near) {
  int distance = r > 0 || !p->future ? syn__max(r, 0) : -r, k = near % p->half;
  while (k > 0 && p->from[k] > distance) k--;
  while (k + 1 < p->half && p->from[k + 1] <= distance) k++;
  return r < 0 ? p->future + k : k;
}

/* out[i] = sum over the biases that hold of w[h, bucket(first - i)]: of a whole pass, or of the one
   query of a step. */
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
/* dw[h, bucket(first - i)] += d[i], in this order */
static void syn__rel_pos_row_back(const syn_tape *t, const syn__rel_pos *p, int h, int first,
                                  int count, const float *d) {
  int i, k = 0;
  for (; p; p = p->outer, k = 0) {
    float *dw = t->dweights[p->param];
    if (!dw) continue; /* frozen */
    dw += (size_t)h * (size_t)p->buckets;
    for (i = 0; i < count; i++) {
      k = syn__rel_pos_bucket(p, first - i, k);
      dw[k] += d[i];
    }
  }
}

/* The biases of head h, [2 L - 1]: from i - j = L - 1 down to 1 - L. Query i reads them from
   L - 1 - i on, key after key. */
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
/* S_i += biases, keys no query may see included */
static void syn__rel_pos_fill(const syn_tape *t, const syn_node *n, const syn__head *x) {
  const float *from = syn__rel_pos_biases(t, n, SYN__TABLE, x->h);
  int i, L = syn__att_stream(t, n)->longest;
  for (i = 0; i < x->nq; i++)
    t->k->acc(x->p + (size_t)i * (size_t)x->nk, from + (L - 1 - x->first - i), (size_t)x->nk);
}
/* Of one head: dbiases += dS_i, query after query, sentence after sentence; then into w */
static void syn__rel_pos_back(const syn_tape *t, const syn_node *n, const syn__head *x) {
  float *to = syn__rel_pos_biases(t, n, SYN__DTABLE, x->h);
  int i, L = syn__att_stream(t, n)->longest;
  for (i = 0; i < x->nq; i++)
    t->k->acc(to + (L - 1 - i), x->p + (size_t)i * (size_t)x->nk, (size_t)x->nk);
}
static void syn__rel_pos_finish(const syn_tape *t, const syn_node *n, int h) {
  int L = syn__att_stream(t, n)->longest;
  syn__rel_pos_row_back(t, syn__att_of(n)->rel_pos, h, L - 1, 2 * L - 1,
                        syn__rel_pos_biases(t, n, SYN__DTABLE, h));
}

static const syn_kind syn__kind_rel_pos = {
    "rel_pos", "i:buckets i:max", 0, NULL, syn__rel_pos_shape, syn__copy_forward,
    syn__copy_backward, NULL, NULL, NULL};

/* ==============================================================================================
   >>kind syn_att: the layer   mixture, mask, softmax, values; the only room that knows the list
   ============================================================================================== */

/*
   The order of a pass: v = u W_v^T, `prepare` of every score, then one task for each sentence and
   head (fill, mix, mask, softmax, drop, times v), then W_o; where no input changes P, one for each
   head (see there). For a head, Pd being the dropped P:

     S = sum_s alpha_s S_s + bias    P = softmax(S)    Y = Pd v
     dv = Pd^T dY    dPd = dY v^T    dP = dPd after the same dropout
     dS_i = P_i (dP_i - P_i . dP_i)    dS_s = alpha_s dS    dbias = dS
     dalpha_s = alpha_s (g_s - sum_k alpha_k g_k),  g_s = sum of dS_ij S_s,ij

   Backward walks it the other way round: W_o, one task for each sentence and head up to dS, which
   takes the place of P; then one for each head, over the sentences in order, for what they share
   (tables, W2, alpha, biases); then `finish` of every score, and W_v. softmax=0 leaves softmax out
   and its row of the way back: dS = dP.
   A step of decoding does the same with one row for each hypothesis and what was remembered. */

/* -- the list of scores -- */

#define SYN__FAMILY(name) \
  {name, 0, 1, syn__dense_shape, syn__dense_prepare, syn__dense_fill, syn__dense_back, \
   syn__dense_back_shared, syn__dense_finish, syn__dense_row, NULL, syn__dense_cost}
static const syn__score syn__scores[] = {
    {"V", 0, 0, syn__v_shape, syn__v_prepare, syn__v_fill, syn__v_back, NULL, syn__v_finish, NULL,
     syn__v_rows, syn__v_cost},
    {"R", 1, 1, syn__r_shape, NULL, syn__r_fill, NULL, syn__r_back, NULL, syn__r_fill, NULL, NULL},
    {"Fix", 1, 1, syn__fix_shape, NULL, syn__r_fill, NULL, NULL, NULL, syn__r_fill, NULL, NULL},
    {"FR", 1, 1, syn__fr_shape, syn__fr_prepare, syn__fr_fill, NULL, syn__fr_back, syn__fr_finish,
     syn__fr_row, NULL, syn__fr_cost},
    SYN__FAMILY("D"),
    {"FD", 0, 1, syn__fd_shape, syn__fd_prepare, syn__fd_fill, syn__fd_back, NULL, syn__fd_finish,
     syn__fd_fill, NULL, syn__fd_cost},
    SYN__FAMILY("Conv"),
    SYN__FAMILY("CRC"),
    SYN__FAMILY("BD"),
    SYN__FAMILY("BCRC"),
    SYN__FAMILY("GLU")};

/* -- the mixture -- */

/* alpha_s of head h: softmax of the learned vector; all 1 without mixing */
static void syn__alpha(const syn_tape *t, const syn_node *n, int h, float *alpha) {
  const syn__att *a = syn__att_of(n);
  int s;
  for (s = 0; s < a->n_scores; s++) alpha[s] = 1.0f;
  if (a->mixed)
    t->k->softmax(alpha, syn_weight(t, n, a->alpha) + (size_t)(h * a->n_scores),
                  (size_t)a->n_scores);
}

/* Every score's preparation or finish; V prepares first and finishes last, since D may use its
   q. */
static void syn__att_prepare(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  int s, v = syn__score_at(a, "V");
  if (v >= 0) a->score[v]->prepare(t, n, v);
  for (s = 0; s < a->n_scores; s++)
    if (s != v && a->score[s]->prepare) a->score[s]->prepare(t, n, s);
}
static void syn__att_finish(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  int s, v = syn__score_at(a, "V");
  for (s = 0; s < a->n_scores; s++)
    if (s != v && a->score[s]->finish) a->score[s]->finish(t, n, s);
  if (v >= 0) a->score[v]->finish(t, n, v);
}

/* -- one head of one sentence -- */

/* P of all lies sentence by sentence, [H,nq,nk] each: `pairs` counts the products nq nk of the
   sentences before. The scratch is set by the task, which knows its thread. */
static syn__head syn__head_of(const syn_tape *t, const syn_node *n, int sentence, int h) {
  const syn__att *a = syn__att_of(n);
  int to = t->g->values[n->out].stream, from = t->g->values[n->in[n->n_in - 1]].stream;
  const int *q = t->stream[to].off, *k = t->stream[from].off;
  syn__head x;
  x.sentence = sentence;
  x.h = h;
  x.first = 0;
  x.q0 = (size_t)q[sentence];
  x.k0 = (size_t)k[sentence];
  x.nq = q[sentence + 1] - q[sentence];
  x.nk = k[sentence + 1] - k[sentence];
  x.p = syn_saved(t, n, SYN__P) + t->pairs[to][from][sentence] * (size_t)a->heads +
        (size_t)h * (size_t)x.nq * (size_t)x.nk;
  x.scratch = NULL;
  return x;
}

/* S = sum_s alpha_s S_s into p. The S_s that backward needs for alpha are kept, but tables, which
   are filled again. */
static void syn__head_mixture(syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  size_t size = (size_t)x->nq * (size_t)x->nk;
  float alpha[SYN__MAX_SCORES];
  int s;
  if (a->n_scores == 1) {
    a->score[0]->fill(t, n, 0, x, x->p);
    return;
  }
  syn__alpha(t, n, x->h, alpha);
  for (s = 0; s < a->n_scores; s++) {
    float *raw = syn__head_raw(t, n, x, a->raw[s]);
    if (!raw) raw = syn__head_z(a, x);
    a->score[s]->fill(t, n, s, x, raw);
    if (s == 0) t->k->scale(x->p, alpha[0], raw, size);
    else t->k->acc_scale(x->p, alpha[s], raw, size);
  }
}

/* v, y and P of the head. Weights that no input changes have one mask for all sentences. */
static syn__soft syn__head_soft(const syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  size_t longest = (size_t)syn__att_stream(t, n)->longest;
  syn__soft o = syn__soft_of(t, n, x->nq, x->nk, a->c);
  o.g = syn__head_range(a, x);
  o.raw = !a->softmax;
  o.v_row = o.y_row = (size_t)a->e;
  o.v = syn__att_v(t, n, SYN__ROWS) + syn__head_k(a, x);
  o.y = syn__att_y(t, n, SYN__ROWS) + syn__head_q(a, x);
  o.p = x->p;
  o.pack = x->scratch;
  o.x = syn__head_x(a, x);
  o.z = syn__head_z(a, x);
  o.mask = (size_t)(x->p - syn_saved(t, n, SYN__P));
  if (a->all_tables) {
    o.mask = ((size_t)x->h * longest + (size_t)x->first) * longest;
    o.mask_row = longest;
  }
  return o;
}
/* The same with the gradients of v and y. */
static syn__soft syn__head_soft_back(const syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  syn__soft o = syn__head_soft(t, n, x);
  o.dv = syn__att_v(t, n, SYN__DROWS) + syn__head_k(a, x);
  o.dy = syn__att_y(t, n, SYN__DROWS) + syn__head_q(a, x);
  return o;
}

/* S + bias */
static void syn__head_scores(syn_tape *t, const syn_node *n, const syn__head *x) {
  syn__head_mixture(t, n, x);
  if (syn__att_of(n)->rel_pos) syn__rel_pos_fill(t, n, x);
}

/* alpha_s dS, folded into the columns of the table where it is tiled; p itself when that changes
   nothing */
static const float *syn__head_ds(const syn_tape *t, const syn_node *n, const syn__head *x, int s) {
  const syn__att *a = syn__att_of(n);
  size_t nk = (size_t)x->nk, size = (size_t)x->nq * nk;
  float alpha[SYN__MAX_SCORES], *z = syn__head_z(a, x);
  int i, j, fold = a->tile && a->score[s]->limited && x->nk > a->size;
  syn__alpha(t, n, x->h, alpha);
  if (!fold && !a->mixed) return x->p;
  t->k->scale(z, alpha[s], x->p, size);
  for (i = 0; i < x->nq && fold; i++)
    for (j = a->size; j < x->nk; j++)
      z[(size_t)i * nk + (size_t)(j % a->size)] += z[(size_t)i * nk + (size_t)j];
  return z;
}

/* Row sums for d alpha: [sentence rows, H * scores], behind the other gradients. */
static float *syn__alpha_parts(const syn_tape *t, const syn_node *n, int sentence) {
  const syn__att *a = syn__att_of(n);
  return syn__att_block(t, n, SYN__DROWS, a->wide) +
         (size_t)sentence * (size_t)(a->heads * a->n_scores);
}

/* What the alpha_s get of these dS: one number each */
static void syn__head_alpha(syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  int s;
  for (s = 0; s < a->n_scores && a->mixed; s++) {
    float *raw = syn__head_raw(t, n, x, a->raw[s]);
    if (!raw) a->score[s]->fill(t, n, s, x, raw = syn__head_z(a, x));
    syn__alpha_parts(t, n, x->sentence)[x->h * a->n_scores + s] =
        t->k->dot(x->p, raw, (size_t)x->nq * (size_t)x->nk);
  }
}
/* dv; dS in place of P; then each score's share of it, and what alpha_s gets of this sentence */
static void syn__head_backward(syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  syn__soft o = syn__head_soft_back(t, n, x);
  int s;
  syn__soft_backward(t, &o);
  syn__head_alpha(t, n, x);
  for (s = 0; s < a->n_scores; s++)
    if (a->score[s]->back) a->score[s]->back(t, n, s, x, syn__head_ds(t, n, x, s));
}

/* -- weights that no input changes --

   Sentences of one length have the same P, and in a decoder, where a query sees what is before it
   alone, that of a shorter sentence is a corner of that of the longest. So P, its dropout and dS
   are made once for such a group of sentences, in the place of the first of them; only Y, dv and
   their share of dPd = dY v^T are made for each, and of dPd the sum over the group goes back
   through the dropout and the softmax. Threads share out heads, and where these are fewer, parts of
   the queries; of dv, which sums over queries, the sentences. */

/* How many groups there may be, */
static int syn__att_groups(const syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_stream *stream = syn__att_stream(t, n);
  if (!a->all_tables) return stream->count;
  return a->causal ? 1 : stream->longest;
}
static int syn__stream_length(const syn_stream *stream, int i) {
  return stream->off[i + 1] - stream->off[i];
}
/* the sentence in whose place P of group g is, -1: nobody has this length; */
static int syn__att_group(const syn_tape *t, const syn_node *n, int g) {
  const syn__att *a = syn__att_of(n);
  const syn_stream *stream = syn__att_stream(t, n);
  int i = 0, length = a->causal ? stream->longest : g + 1;
  if (!a->all_tables) return g;
  while (i < stream->count && syn__stream_length(stream, i) != length) i++;
  return i < stream->count ? i : -1;
}
/* 1: sentence i has its P there. */
static int syn__att_grouped(const syn_tape *t, const syn_node *n, int group, int i) {
  const syn_stream *stream = syn__att_stream(t, n);
  return syn__att_of(n)->causal ||
         syn__stream_length(stream, i) == syn__stream_length(stream, group);
}

/* Tasks of a head are so many parts. */
static int syn__table_parts(const syn_tape *t, const syn_node *n) {
  int heads = syn__att_of(n)->heads;
  return (t->threads + heads - 1) / heads;
}
/* Part `part` of the queries of a group; nq 0: it has none. */
static syn__head syn__table_part(const syn_tape *t, const syn_node *n, int group, int h, int part) {
  syn__head x = syn__head_of(t, n, group, h);
  int parts = syn__table_parts(t, n), end;
  x.first = x.nq * part / parts;
  end = x.nq * (part + 1) / parts;
  x.nq = end - x.first;
  x.p += (size_t)x.first * (size_t)x.nk;
  return x;
}
/* The same queries and keys in sentence i, as many as it has. P stays that of the group. */
static syn__head syn__table_sentence(const syn_tape *t, const syn_node *n, const syn__head *x,
                                     int i) {
  syn__head y = syn__head_of(t, n, i, x->h);
  y.first = syn__min(x->first, y.nq);
  y.nq = syn__min(x->first + x->nq, y.nq) - y.first;
  y.q0 += (size_t)y.first;
  y.scratch = x->scratch;
  return y;
}

/* P; Y of every sentence. Where nothing is dropped P may be looked at (syn_run_attention): then
   each sentence gets its own. */
static void syn__table_forward(syn_tape *t, const syn_node *n, const syn__head *x) {
  syn__soft o = syn__head_soft(t, n, x);
  size_t nk = (size_t)x->nk;
  const float *pd;
  int i, r;
  syn__head_scores(t, n, x);
  pd = syn__soft_weights(t, &o, 0, x->nq, o.z, nk);
  for (i = 0; i < syn__att_stream(t, n)->count; i++) {
    syn__head y;
    float *p;
    if (!syn__att_grouped(t, n, x->sentence, i)) continue;
    y = syn__table_sentence(t, n, x, i);
    p = y.p + (size_t)y.first * (size_t)y.nk;
    o.g = syn__head_range(syn__att_of(n), &y);
    syn__causal_matmul_nn(
        t, &o.g,
        syn__product_of(
            syn_matrix_of(syn__att_y(t, n, SYN__ROWS) + syn__head_q(syn__att_of(n), &y), y.nq, o.c,
                          o.y_row),
            syn_matrix_of(pd, y.nq, y.nk, nk),
            syn_matrix_of(syn__att_v(t, n, SYN__ROWS) + syn__head_k(syn__att_of(n), &y), y.nk, o.c,
                          o.v_row),
            NULL, 0));
    for (r = 0; r < y.nq && !t->training && i != x->sentence; r++)
      memcpy(p + (size_t)r * (size_t)y.nk, x->p + (size_t)r * nk, (size_t)y.nk * sizeof *p);
  }
}
/* dv of the sentences begin .. end-1 of a group */
static void syn__table_back_values(syn_tape *t, const syn_node *n, const syn__head *x, int begin,
                                   int end) {
  syn__soft whole = syn__head_soft(t, n, x);
  const float *pd = NULL;
  int i;
  for (i = begin; i < end; i++) {
    syn__head y;
    syn__soft o;
    if (!syn__att_grouped(t, n, x->sentence, i)) continue;
    y = syn__table_sentence(t, n, x, i);
    o = syn__head_soft_back(t, n, &y);
    if (!pd) pd = syn__soft_dropped(t, &whole);
    syn__causal_matmul_tn(t, &o.g, syn__soft_dv(&o, pd, (size_t)x->nk));
  }
}
/* items: the sentences of the first head, those of the second ... */
static void syn__task_tables_values(syn_tape *t, const void *job, int thread, size_t begin,
                                    size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t h, sentences = (size_t)syn__att_stream(t, n)->count;
  int g;
  for (h = begin / sentences; h * sentences < end; h++)
    for (g = 0; g < syn__att_groups(t, n); g++) {
      int group = syn__att_group(t, n, g);
      size_t from = h * sentences;
      syn__head x;
      if (group < 0) continue;
      x = syn__head_of(t, n, group, (int)h);
      x.scratch = syn__scratch(t, thread);
      syn__table_back_values(t, n, &x, begin > from ? (int)(begin - from) : 0,
                             (int)(end - from < sentences ? end - from : sentences));
    }
}

/* dPd = sum over the sentences of dY v^T, behind z; then dS in place of P. A head that is one part
   makes dv along with it, while what both read is in the cache. */
static void syn__table_backward(syn_tape *t, const syn_node *n, const syn__head *x) {
  syn__soft o = syn__head_soft(t, n, x);
  size_t nk = (size_t)x->nk, size = (size_t)x->nq * nk;
  const float *pd = syn__table_parts(t, n) == 1 ? syn__soft_dropped(t, &o) : NULL;
  float *dp = o.z + size;
  int i;
  memset(dp, 0, size * sizeof *dp);
  for (i = 0; i < syn__att_stream(t, n)->count; i++) {
    syn__head y;
    syn__soft part;
    if (!syn__att_grouped(t, n, x->sentence, i)) continue;
    y = syn__table_sentence(t, n, x, i);
    if (!y.nq) continue;
    part = syn__head_soft_back(t, n, &y);
    syn__causal_matmul_nt(
        t, &part.g,
        syn__product_of(
            syn_matrix_of(dp, y.nq, y.nk, nk), syn_matrix_of(part.dy, y.nq, o.c, part.y_row),
            syn__pack_keys(t, syn_matrix_of(part.v, y.nk, o.c, part.v_row), o.pack), NULL, 1));
    if (pd) syn__causal_matmul_tn(t, &part.g, syn__soft_dv(&part, pd, nk));
  }
  for (i = 0; i < x->nq; i++) syn__soft_back_row(t, &o, i, dp + (size_t)i * nk, 0);
}
/* Of a pass, forward or backward: what is done with each part. */
typedef struct syn__table_job {
  const syn_node *n;
  void (*work)(syn_tape *t, const syn_node *n, const syn__head *x);
} syn__table_job;
/* items: the parts of the first head, those of the second ...; of each the parts of all groups */
static void syn__task_tables(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__table_job *j = (const syn__table_job *)job;
  const syn_node *n = j->n;
  int g, parts = syn__table_parts(t, n), i;
  for (i = (int)begin; i < (int)end; i++)
    for (g = 0; g < syn__att_groups(t, n); g++) {
      int group = syn__att_group(t, n, g);
      syn__head x;
      if (group < 0) continue;
      x = syn__table_part(t, n, group, i / parts, i % parts);
      x.scratch = syn__scratch(t, thread);
      if (x.nq) j->work(t, n, &x);
    }
}
static void syn__tables(syn_tape *t, const syn_node *n,
                        void (*work)(syn_tape *, const syn_node *, const syn__head *)) {
  size_t items = (size_t)syn__att_of(n)->heads * (size_t)syn__table_parts(t, n);
  syn__table_job j;
  j.n = n;
  j.work = work;
  syn__parallel(t, syn__task_tables, &j, items, 1);
}

/* dalpha_s = alpha_s (g_s - sum_k alpha_k g_k), g_s = sum over sentences of <dS, S_s> */
static void syn__alpha_back(const syn_tape *t, const syn_node *n, int h) {
  const syn__att *a = syn__att_of(n);
  float alpha[SYN__MAX_SCORES], g[SYN__MAX_SCORES] = {0.0f}, mean = 0.0f;
  int i, s;
  syn__alpha(t, n, h, alpha);
  for (i = 0; i < syn__att_groups(t, n); i++) {
    int sentence = syn__att_group(t, n, i);
    for (s = 0; s < a->n_scores && sentence >= 0; s++)
      g[s] += syn__alpha_parts(t, n, sentence)[h * a->n_scores + s];
  }
  for (s = 0; s < a->n_scores; s++) mean += alpha[s] * g[s];
  for (s = 0; s < a->n_scores; s++)
    syn_dweight(t, n, a->alpha)[h * a->n_scores + s] += alpha[s] * (g[s] - mean);
}

/* -- the layer -- */

/* Tasks: a thread has whole heads of sentences, and writes nothing that another one writes. */
static void syn__task_heads(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    syn__head x = syn__head_of(t, n, (int)(i / heads), (int)(i % heads));
    syn__soft o;
    x.scratch = syn__scratch(t, thread);
    o = syn__head_soft(t, n, &x);
    syn__head_scores(t, n, &x);
    syn__soft_forward(t, &o);
  }
}
static void syn__task_heads_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    syn__head x = syn__head_of(t, n, (int)(i / heads), (int)(i % heads));
    x.scratch = syn__scratch(t, thread);
    syn__head_backward(t, n, &x);
  }
}
/* What sentences share is summed head by head, sentence after sentence. */
static void syn__task_shared(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  int h, i, s, groups = syn__att_groups(t, n);
  for (h = (int)begin; h < (int)end; h++) {
    for (i = 0; i < groups; i++) {
      int sentence = syn__att_group(t, n, i);
      syn__head x;
      if (sentence < 0) continue;
      x = syn__head_of(t, n, sentence, h);
      x.scratch = syn__scratch(t, thread);
      if (a->all_tables) syn__head_alpha(t, n, &x);
      for (s = 0; s < a->n_scores; s++)
        if (a->score[s]->back_shared)
          a->score[s]->back_shared(t, n, s, &x, syn__head_ds(t, n, &x, s));
      if (a->rel_pos) syn__rel_pos_back(t, n, &x);
    }
    if (a->rel_pos) syn__rel_pos_finish(t, n, h);
    if (a->mixed) syn__alpha_back(t, n, h);
  }
}

/* out = Y W_o^T, of a whole pass or of the rows of a step */
static void syn__att_out(syn_tape *t, const syn_node *n) {
  syn_tensor y = *syn_out(t, n); /* for its rows */
  y.x = syn__att_y(t, n, SYN__ROWS);
  syn__linear_forward(t, n, syn__att_of(n)->w_o, -1, &y, syn_out(t, n)->x);
}

/* dY = dout W_o, dW_o += dout^T Y. Nobody has begun dY: it is written. */
static void syn__att_out_back(syn_tape *t, const syn_node *n) {
  syn_tensor y = *syn_out(t, n); /* Y and its gradient as a tensor */
  syn__linear_grad g;
  y.x = syn__att_y(t, n, SYN__ROWS);
  y.dx = syn__att_y(t, n, SYN__DROWS);
  g = syn__linear_grad_of(t, n, syn__att_of(n)->w_o, -1, &y, syn_out(t, n)->dx);
  g.first_write = 1;
  syn__linear_backward_of(t, &g);
}

/* Every head of every sentence is one task: what it reads was made by the lines before, what it
   writes is its own piece of P, of Y and of the raw scores. */
static void syn__att_forward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  syn__linear_forward(t, n, a->w_v, -1, syn__att_keys(t, n), syn__att_v(t, n, SYN__ROWS));
  syn__att_prepare(t, n);
  syn__rel_pos_prepare(t, n);
  if (a->all_tables) syn__tables(t, n, syn__table_forward);
  else syn__parallel(t, syn__task_heads, n, sentences * (size_t)a->heads, 1);
  syn__att_out(t, n);
}

/* Floats of this batch's gradients of tables. */
static size_t syn__att_dtables(const syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t longest = (size_t)syn__att_stream(t, n)->longest;
  return a->dtables + (a->rel_pos ? 2 * longest * (size_t)a->heads : 0);
}

/* What belongs to one sentence goes back first, for all heads at once; then what sentences share, a
   head at a time: its sums keep the order of the sentences, whatever the number of threads. */
static void syn__att_backward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t heads = (size_t)a->heads, sentences = (size_t)syn__att_stream(t, n)->count;
  memset(syn_saved(t, n, SYN__DTABLE), 0, syn__att_dtables(t, n) * sizeof(float));
  syn__att_out_back(t, n);
  if (a->all_tables) {
    if (syn__table_parts(t, n) > 1)
      syn__parallel(t, syn__task_tables_values, n, sentences * heads, 1);
    syn__tables(t, n, syn__table_backward);
  } else {
    syn__parallel(t, syn__task_heads_back, n, sentences * heads, 1);
  }
  if (a->shared)
    syn__task_shared(t, n, 0, 0, (size_t)a->heads); /* the heads share W2, too */
  else
    syn__parallel(t, syn__task_shared, n, (size_t)a->heads, 1);
  syn__att_finish(t, n);
  syn__linear_backward(t, n, a->w_v, -1, syn__att_keys(t, n), syn__att_v(t, n, SYN__DROWS));
}

/* Decoding, attention to the source: its values, and its keys across, once per sentence. */
static void syn__att_start(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *u = syn__att_keys(t, n);
  const int *off = t->decode->source_off;
  float *k = syn__v_keys(t, n, SYN__ROWS, 0);
  int i;
  syn__linear_forward(t, n, a->w_v, -1, u, t->decode->source_cache[n->id]);
  syn__linear_forward(t, n, a->param[0] + 1, -1, u, k);
  for (i = 0; (size_t)off[i] < syn__tensor_rows(u); i++)
    syn__pack_keys(t,
                   syn_matrix_of(k + (size_t)off[i] * (size_t)a->e, off[i + 1] - off[i], a->e, 0),
                   syn__source_key_block(t, n, i, 0));
}

/* Scores of head x->h of a new row: the mixture of every score's, which `rows` has left in `all`
   or `row` makes now. scratch: the sum, one score, and a row for the side of GLU, [nk] each. */
static void syn__att_row_scores(syn_tape *t, const syn_node *n, const syn__head *x, float *all) {
  const syn__att *a = syn__att_of(n);
  float *sum = x->scratch, *raw = sum + x->nk, alpha[SYN__MAX_SCORES];
  size_t nk = (size_t)x->nk;
  int s;
  syn__alpha(t, n, x->h, alpha);
  for (s = 0; s < a->n_scores; s++) {
    const float *score = a->score[s]->rows ? all : raw;
    if (score == raw) a->score[s]->row(t, n, s, x, raw);
    if (s == 0) t->k->scale(sum, alpha[0], score, nk);
    else t->k->acc_scale(sum, alpha[s], score, nk);
  }
  if (a->rel_pos) {
    syn__rel_pos_row(t, a->rel_pos, x->h, x->first, x->nk, raw);
    t->k->acc(sum, raw, nk);
  }
  if (a->softmax) t->k->softmax(all, sum, nk);
  else memcpy(all, sum, nk * sizeof *all);
}

/* y = P v for the heads of a row, P [heads, round16(nk)]: the order of the product that a full pass
   makes, wherever the values lie. */
static void syn__att_row_values(syn_tape *t, const syn_node *n, const syn__head *x,
                                const float *p) {
  const syn__att *a = syn__att_of(n);
  const syn__decode_state *l = t->decode;
  syn__mixed j;
  j.p = p;
  j.p_row = syn__round16((size_t)x->nk);
  j.v_row = (size_t)(a->cross ? n->source_cache : n->cache);
  j.v = a->cross ? l->source_cache[n->id] + (size_t)l->source_off[x->sentence] * j.v_row
                 : l->cache[n->id];
  j.v += x->h * a->c;
  j.at = a->cross ? NULL : l->past + x->q0 * (size_t)l->length;
  j.count = (size_t)x->nk;
  j.heads = (size_t)x->heads;
  j.c = (size_t)a->c;
  t->k->values(syn__att_y(t, n, SYN__ROWS) + syn__head_q(a, x), &j);
}

/* What the new row leaves behind, of its heads: v, and k where V is among the scores. */
static void syn__att_row_keep(syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  size_t at = (size_t)(x->h * a->c), count = (size_t)(x->heads * a->c);
  int slot = t->decode->slot[x->q0], s = syn__score_at(a, "V");
  float *to = syn__cache_row(t, n, slot, x->first) + at;
  memcpy(to, syn__att_v(t, n, SYN__ROWS) + syn__head_q(a, x), count * sizeof *to);
  if (s < 0) return;
  to = syn__key_block(t, n, slot, x->first) + (size_t)(x->first % 16 * a->e) + at;
  memcpy(to, syn__v_keys(t, n, SYN__ROWS, s) + syn__head_q(a, x), count * sizeof *to);
}

/* Heads of one new row: the same mixture and softmax over the keys that are there. A token sees
   itself, therefore kept first, and what came before: nothing is masked. V alone needs no sum. */
static void syn__att_row(syn_tape *t, const syn_node *n, const syn__head *x) {
  const syn__att *a = syn__att_of(n);
  size_t row = syn__round16((size_t)x->nk);
  float *all = x->scratch + 3 * (size_t)x->nk, *p = all;
  syn__head one = *x;
  int s;
  if (!a->cross) syn__att_row_keep(t, n, x);
  for (s = 0; s < a->n_scores; s++)
    if (a->score[s]->rows) a->score[s]->rows(t, n, s, x, all);
  for (; one.h < x->h + x->heads; one.h++, p += row)
    if (a->n_scores == 1 && a->score[0]->rows && !a->rel_pos) t->k->softmax(p, p, (size_t)x->nk);
    else syn__att_row_scores(t, n, &one, p);
  syn__att_row_values(t, n, x, all);
}

/* A hypothesis may belong to any sentence and stand at any place: both are asked of the row. Items
   are heads of rows; all those of a row are done together. */
static void syn__task_att_rows(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  size_t i, heads = (size_t)a->heads;
  for (i = begin; i < end; i = (i / heads + 1) * heads) {
    int r = (int)(i / heads), place = t->at[SYN_TGT][r], sentence = t->decode->sentence[r];
    syn__head x;
    memset(&x, 0, sizeof x);
    x.sentence = sentence;
    x.h = (int)(i % heads);
    x.heads = syn__min(a->heads, x.h + (int)(end - i)) - x.h;
    x.q0 = (size_t)r;
    x.first = place;
    x.nq = 1;
    x.nk = a->cross ? t->decode->source_off[sentence + 1] - t->decode->source_off[sentence]
                    : place + 1;
    x.scratch = syn__scratch(t, thread);
    syn__att_row(t, n, &x);
  }
}

/* Threads share out rows, or the heads of a single one; where all is a matter of a few
   microseconds, waking them would take longer. */
#define SYN__ATT_ALONE 12000 /* rows times width times keys */
static void syn__att_all_rows(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t rows = (size_t)t->decode->rows, heads = (size_t)a->heads;
  size_t keys = (size_t)(a->cross ? t->stream[SYN_SRC].longest : t->at[SYN_TGT][0] + 1);
  size_t unit = rows < (size_t)t->threads ? (heads + 1) / 2 : heads;
  if (rows * keys * (size_t)a->e < SYN__ATT_ALONE) syn__task_att_rows(t, n, 0, 0, rows * heads);
  else syn__parallel(t, syn__task_att_rows, n, rows * heads, unit);
}

/* x is kept before `prepare`, whose convolutions look back to it. */
static void syn__att_step(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  if (!a->cross && !n->key_cache) /* else V makes v together with its q and k */
    syn__linear_forward(t, n, a->w_v, -1, x, syn__att_v(t, n, SYN__ROWS));
  if (a->past_x >= 0) syn__conv_cache_write(t, n, (size_t)a->past_x, (size_t)a->d, x->x);
  syn__att_prepare(t, n);
  if (!a->cross && n->key_cache) syn__v_close(t, n);
  syn__att_all_rows(t, n);
  syn__att_out(t, n);
}

/* Projections d e each, e for every key of the values, and what each score says of itself.
   Attention to the source: all four products count, q and out once per token, k and v once per
   token of the source, which is taken to be as long. */
static void syn__att_cost(const syn_node *n, syn_cost *cost) {
  const syn__att *a = syn__att_of(n);
  int s;
  cost->decode_bytes = 4.0 * (n->cache + n->key_cache);
  if (a->cross) {
    cost->multiply_adds += 2.0 * (double)cost->length * a->e;
    return;
  }
  cost->multiply_adds = 2.0 * a->d * a->e + (double)cost->length * a->e;
  for (s = 0; s < a->n_scores; s++)
    if (a->score[s]->cost) cost->multiply_adds += a->score[s]->cost(n, s, cost->length);
}

/* -- shapes -- */

/* Reads "R+V" into the list of scores: the order as written is that of alpha. */
static syn_status syn__att_kinds(syn_build *b, syn__att *a, syn_text kinds) {
  size_t i, at = 0, end;
  while (at <= kinds.size) {
    syn_text word;
    for (end = at; end < kinds.size && kinds.at[end] != '+'; end++) continue;
    word.at = kinds.at + at;
    word.size = end - at;
    for (i = 0; i < SYN__COUNT(syn__scores) && !syn__text_is(word, syn__scores[i].name); i++)
      continue;
    if (i == SYN__COUNT(syn__scores))
      return syn__fail_build(b, SYN_E_TEXT,
                             "no kind '%.*s'; there are V, R, Fix, FR, D, FD, Conv, CRC,"
                             " BD, BCRC, GLU",
                             word.size < 20 ? (int)word.size : 20, word.at);
    if (syn__score_at(a, syn__scores[i].name) >= 0)
      return syn__fail_build(b, SYN_E_TEXT, "kind %s is named twice", syn__scores[i].name);
    a->score[a->n_scores++] = &syn__scores[i];
    at = end + 1;
  }
  return SYN_OK;
}

/* Heads, their width c and the inner width e = H c: of every layer with attention weights but
   mlp_src_att and aop. */
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
  a->e = a->heads * a->c;
  a->scale = 1.0f / sqrtf((float)a->c);
  a->wide = 2 * a->e;
  a->past_x = -1;
  return SYN_OK;
}

/* The buffers, once the scores have said what they keep, in the order of SYN__P ... SYN__DTABLE.
   Raw scores are kept for d alpha; those of tables are filled again, which costs a copy where
   keeping them would cost H n^2 floats for every sentence. */
static syn_status syn__att_buffers(syn_build *b, syn_node *n, syn__att *a) {
  syn_extent e;
  int s;
  for (s = 0; s < a->n_scores; s++)
    a->raw[s] = a->mixed && !a->score[s]->table ? a->n_raw++ : -1;
  memset(&e, 0, sizeof e);
  e.pair = (size_t)a->heads;
  if (syn_build_save(b, n, SYN_BOTH, e)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BOTH, (size_t)a->wide)) return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BACKWARD, (size_t)(a->wide + a->heads * a->n_scores)))
    return SYN_E_SHAPE;
  e.pair = (size_t)(a->heads * a->n_raw);
  if (syn_build_save(b, n, SYN_BOTH, e)) return SYN_E_SHAPE;
  e.pair = 0;
  e.length = a->rel_pos ? 2 * (size_t)a->heads : 0;
  e.fixed = a->tables;
  if (syn_build_save(b, n, SYN_BOTH, e)) return SYN_E_SHAPE;
  e.fixed = a->dtables;
  if (syn_build_save(b, n, SYN_BACKWARD, e)) return SYN_E_SHAPE;
  syn__soft_scratch(n, a->c);
  n->scratch.fixed += 16 * (size_t)a->heads; /* a step: rows of scores in whole vectors */
  if (n->key_cache && !a->cross) /* 16 keys, straight and turned; the scores of a block */
    n->scratch.fixed += 32 * (size_t)a->e + 16 * (size_t)a->heads;
  n->scratch.length += 3 + (size_t)a->heads; /* a pass: two rows */
  n->scratch.square += (size_t)a->all_tables;
  n->number = n->drop; /* the rate of the attention weights, too */
  n->seen_heads = a->heads;
  n->seen = SYN__P;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), syn__att_of(n)->d);
}

/* W_v [e, width of the values], W_o [d,e] */
static syn_status syn__att_projections(syn_build *b, syn_node *n, syn__att *a) {
  a->w_v = n->n_param;
  if (syn__matrix_param(b, n, "w_v", a->e, syn_build_width(b, n, n->n_in - 1))) return SYN_E_SHAPE;
  a->w_o = n->n_param;
  return syn__matrix_param(b, n, "w_o", a->d, a->e);
}

static const char *const syn__mix_names[] = {"alpha", "sum"};

/* All arguments but the kinds and heads, and which of them go together. A sentence has a limit
   where a score has a table of N without tile. */
static syn_status syn__syn_att_options(syn_build *b, syn_node *n, syn__att *a) {
  int s, limited = 0, mix = syn_arg_word(b, "mix", syn__mix_names, 2, 0);
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
  a->all_tables = 1;
  for (s = 0; s < a->n_scores; s++) {
    a->all_tables &= a->score[s]->table;
    limited |= a->score[s]->limited;
  }
  if (limited && !a->tile) n->table = b->config->max_len;
  if (!a->softmax && !a->all_tables)
    return syn__fail_build(b, SYN_E_TEXT, "softmax=0 goes with R, Fix and FR alone");
  if (a->shared && syn__score_at(a, "D") < 0)
    return syn__fail_build(b, SYN_E_TEXT, "shared=1 goes with kind D");
  return b->c->status;
}

/* The order of the parameters is that of the text: w_v, w_o, those of the scores as written, alpha.
   The scores add their floats to a->wide, a->tables, a->past; buffers come last. */
static syn_status syn__syn_att_shape(syn_build *b, syn_node *n) {
  syn__att *a = (syn__att *)syn__own(b, n, sizeof *a);
  const syn__arg *kinds = syn__arg_find(b->layer, "kinds");
  syn_text v;
  int s;
  v.at = "V";
  v.size = 1;
  if (!a) return SYN_E_MEMORY;
  if (syn__att_heads(b, n, a) || syn__att_kinds(b, a, kinds ? kinds->word : v)) return SYN_E_SHAPE;
  if (syn__syn_att_options(b, n, a) || syn__att_projections(b, n, a)) return SYN_E_SHAPE;
  a->past = a->e;
  if (b->decoder && syn__score_at(a, "V") >= 0) n->key_cache = a->e;
  for (s = 0; s < a->n_scores; s++) {
    a->param[s] = n->n_param;
    if (a->score[s]->shape(b, n, s)) return SYN_E_SHAPE;
  }
  a->alpha = n->n_param;
  if (a->mixed && syn__att_table_zero(b, n, "alpha", a->n_scores)) return SYN_E_SHAPE;
  n->cache = a->past;
  return syn__att_buffers(b, n, a);
}
static const syn_kind syn__kind_syn_att = {
    "syn_att",
    "k:kinds i:heads i:c i:k i:a i:b i:f i:f2 i:m i:tile i:softmax w:mix i:shared f:dropout",
    1,
    NULL,
    syn__syn_att_shape,
    syn__att_forward,
    syn__att_backward,
    NULL,
    syn__att_step,
    syn__att_cost};

/* ==============================================================================================
   >>kind mh_dot_src_att   S_ij = scale q_i . k_j, queries of the decoder, keys of the encoder
   ============================================================================================== */

/*
   (Vaswani et al. 2017, section 3.2.3; which encoder layer is read: Domhan 2018, Table 2.) Of x
   [rows,d] of the decoder and u [source rows,d_src]: q = x W_q^T, k = u W_k^T, v = u W_v^T, W_q
   [e,d], W_k, W_v [e,d_src], W_o [d,e], e = H c. The machinery is that of syn_att with V alone: the
   last input gives the keys, nothing is masked, since a query sees its whole source sentence.
   source floats of a token while decoding: its v, and its k across; made once, shared by the
   beam. */

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

/* Also of mlp_src_att, whose text has no `source`. A decoder of seq2seq must have one of the two:
   they are counted. */
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

static syn_status syn__src_att_shape(syn_build *b, syn_node *n) {
  syn__att *a = (syn__att *)syn__own(b, n, sizeof *a);
  if (!a) return SYN_E_MEMORY;
  if (syn__att_heads(b, n, a)) return SYN_E_SHAPE;
  a->scale = syn_arg_float(b, "scale", a->scale, -1e6f, 1e6f);
  a->cross = a->softmax = 1;
  a->size = b->config->max_len;
  a->n_scores = 1;
  a->score[0] = &syn__scores[0];
  if (syn__att_projections(b, n, a)) return SYN_E_SHAPE;
  a->param[0] = n->n_param;
  if (syn__v_shape(b, n, 0)) return SYN_E_SHAPE;
  n->source_cache = n->key_cache = a->e;
  return syn__att_buffers(b, n, a);
}
static const syn_kind syn__kind_mh_dot_src_att = {
    "mh_dot_src_att", "i:heads f:scale w:source i:c f:dropout", 1, syn__src_att_build,
    syn__src_att_shape, syn__att_forward, syn__att_backward, syn__att_start, syn__att_step,
    syn__att_cost};

/* ==============================================================================================
   >>kind light_conv   y = conv(u) W_out^T + b_out, u = glu(x W_in^T + b_in); and dyn_conv
   ============================================================================================== */

/*
   (Wu, Fan, Baevski, Dauphin and Auli 2019, sections 3 and 4.) The convolution is of each channel
   by itself, and the channels of a head share their k taps: conv_{t,ch} = sum_tap p_tap u_{t +
   first + tap, ch}. light_conv: p = softmax(w_h), w [H,k], the same at every place; dyn_conv:
   p = softmax over the taps of the logits u_t W_k^T, W_k [H k,d], another at every place. first =
   -floor(k/2) in an encoder, -(k-1) in a decoder. Inputs outside the sentence are 0, and the taps
   that meet them are lost: p is not scaled up for the others.
   x, u, y [rows,d], W_in [2d,d], W_out [d,d], c = d/H channels a head.
   saved: 0 z = x W_in^T + b_in [rows,2d]   1 u   2 p [H,k], dyn_conv [rows,H,k]   3 conv(u)
   4 while going back, one behind the other: dz, du, the gradient of conv(u), dp [rows,H,k]
   5 while going back, light_conv: dp summed over all rows, then that of w [H,k]
   history of a decoded token: its u. */

typedef struct syn__light {
  syn__taps taps; /* for every sentence, but for its rows and its w */
  int dynamic, table; /* table: heads * taps */
} syn__light;
enum { SYN__W_IN, SYN__B_IN, SYN__W_TAPS, SYN__W_OUT, SYN__B_OUT };
enum { SYN__DZ = 0, SYN__DU = 2, SYN__DCONV = 3, SYN__DTAPS = 4 }; /* at so many d of buffer 4 */

static const syn__light *syn__light_of(const syn_node *n) { return (const syn__light *)n->own; }
static float *syn__light_back(const syn_tape *t, const syn_node *n, int part) {
  return syn_saved(t, n, 4) + (size_t)part * syn__count(syn_out(t, n));
}
/* Buffer i, of the width of y, as a tensor; dx: its gradient, or null. */
static syn_tensor syn__light_tensor(const syn_tape *t, const syn_node *n, int i, float *dx) {
  syn_tensor a = *syn_out(t, n);
  a.x = syn_saved(t, n, i);
  a.dx = dx;
  return a;
}

static syn_status syn__light_sizes(syn_build *b, syn__light *l, int d) {
  int heads = syn_arg_int(b, "heads", b->config->heads, 1, 4096);
  int k = syn_arg_int(b, "k", 7, 1, 65536);
  if (d % heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%d heads do not divide width %d", heads, d);
  if (k > SYN__MAX_WIDTH / heads)
    return syn__fail_build(b, SYN_E_SHAPE, "%d heads of %d taps, wanted %d in all at most", heads,
                           k, SYN__MAX_WIDTH);
  if (d > SYN__MAX_ROW / k)
    return syn__fail_build(b, SYN_E_SHAPE, "k is %d and the input %d wide, wanted %d numbers in a"
                           " window at most", k, d, SYN__MAX_ROW);
  l->taps.width = d;
  l->taps.heads = heads;
  l->taps.taps = k;
  l->taps.first = -(b->decoder ? k - 1 : k / 2);
  l->table = heads * k;
  if (l->dynamic) l->taps.w_row = (size_t)l->table;
  return SYN_OK;
}

static syn_status syn__light_shape_of(syn_build *b, syn_node *n, int dynamic) {
  syn__light *l = (syn__light *)syn__own(b, n, sizeof *l);
  int d = syn_build_width(b, n, 0);
  syn_extent e;
  if (!l) return SYN_E_MEMORY;
  l->dynamic = dynamic;
  if (syn__light_sizes(b, l, d)) return SYN_E_SHAPE;
  if (syn__matrix_param(b, n, "w_in", 2 * d, d) || syn__bias_param(b, n, "b_in", 2 * d) ||
      (dynamic ? syn__matrix_param(b, n, "w_k", l->table, d)
               : syn__matrix_param(b, n, "w", l->taps.heads, l->taps.taps)) ||
      syn__matrix_param(b, n, "w_out", d, d) || syn__bias_param(b, n, "b_out", d))
    return SYN_E_SHAPE;
  memset(&e, 0, sizeof e);
  *(dynamic ? &e.row : &e.fixed) = (size_t)l->table;
  if (syn__save_rows(b, n, SYN_BOTH, 2 * (size_t)d) || syn__save_rows(b, n, SYN_BOTH, (size_t)d) ||
      syn_build_save(b, n, SYN_BOTH, e) || syn__save_rows(b, n, SYN_BOTH, (size_t)d) ||
      syn__save_rows(b, n, SYN_BACKWARD, 4 * (size_t)d + (size_t)l->table))
    return SYN_E_SHAPE;
  e.row = 0;
  if (syn_build_save(b, n, SYN_BACKWARD, e)) return SYN_E_SHAPE;
  n->cache = d;
  if (b->decoder) n->scratch.fixed = (size_t)l->taps.taps * (size_t)d;
  return syn__out_like(b, n, 0);
}
static syn_status syn__light_shape(syn_build *b, syn_node *n) {
  return syn__light_shape_of(b, n, 0);
}
static syn_status syn__dyn_shape(syn_build *b, syn_node *n) { return syn__light_shape_of(b, n, 1); }

/* -- forward -- */

/* p = softmax of every group of k logits, in place: [groups,k] */
static void syn__task_taps(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, k = (size_t)syn__light_of(n)->taps.taps;
  float *p = syn_saved(t, n, 2);
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) t->k->softmax(p + i * k, p + i * k, k);
}

/* u and p of all rows, or of those of a step */
static void syn__light_prepare(syn_tape *t, const syn_node *n) {
  const syn__light *l = syn__light_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  syn_tensor u = syn__light_tensor(t, n, 1, NULL);
  float *z = syn_saved(t, n, 0), *p = syn_saved(t, n, 2);
  size_t rows = syn__tensor_rows(x);
  syn__linear_forward(t, n, SYN__W_IN, SYN__B_IN, x, z);
  syn__glu_forward(t, u.x, z, rows, (size_t)l->taps.width);
  if (l->dynamic) syn__linear_forward(t, n, SYN__W_TAPS, -1, &u, p);
  else memcpy(p, syn_weight(t, n, SYN__W_TAPS), (size_t)l->table * sizeof *p);
  syn__parallel(t, syn__task_taps, n, (l->dynamic ? rows : 1) * (size_t)l->taps.heads, 8);
}
static void syn__light_out(syn_tape *t, const syn_node *n) {
  syn_tensor conv = syn__light_tensor(t, n, 3, NULL);
  syn__linear_forward(t, n, SYN__W_OUT, SYN__B_OUT, &conv, syn_out(t, n)->x);
}

/* The convolution of sentence s, whose first row is *at. */
static syn__taps syn__light_sentence(const syn_tape *t, const syn_node *n, size_t s, size_t *at) {
  const int *off = t->stream[t->g->values[n->out].stream].off;
  syn__taps j = syn__light_of(n)->taps;
  j.rows = off[s + 1] - off[s];
  j.w = syn_saved(t, n, 2) + (size_t)off[s] * j.w_row;
  *at = (size_t)off[s] * (size_t)j.width;
  return j;
}
static void syn__task_light(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t s, at;
  SYN__UNUSED(thread);
  for (s = begin; s < end; s++) {
    syn__taps j = syn__light_sentence(t, n, s, &at);
    t->k->taps(&j, syn_saved(t, n, 3) + at, syn_saved(t, n, 1) + at, 0, j.rows);
  }
}
static void syn__light_forward(syn_tape *t, const syn_node *n) {
  size_t sentences = (size_t)t->stream[t->g->values[n->out].stream].count;
  syn__light_prepare(t, n);
  syn__parallel(t, syn__task_light, n, sentences, 1);
  syn__light_out(t, n);
}

/* One new row each: its window, fetched from where the hypothesis kept it, is a sentence whose row
   0 sees all that is there. */
static void syn__task_light_step(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t r, width = (size_t)syn__width(syn_out(t, n));
  float *u = syn__scratch(t, thread);
  for (r = begin; r < end; r++) {
    syn__taps j = syn__light_of(n)->taps;
    int i, place = t->at[SYN_TGT][r];
    j.rows = syn__min(j.taps, place + 1);
    j.first = j.rows - j.taps;
    j.w = syn_saved(t, n, 2) + r * j.w_row;
    for (i = 0; i < j.rows; i++)
      memcpy(u + (size_t)i * width, syn__cached_row(t, n, (int)r, place + 1 - j.rows + i),
             width * sizeof *u);
    t->k->taps(&j, syn_saved(t, n, 3) + r * width, u, 0, 1);
  }
}
static void syn__light_step(syn_tape *t, const syn_node *n) {
  syn__light_prepare(t, n);
  syn__conv_cache_write(t, n, 0, (size_t)syn__width(syn_out(t, n)), syn_saved(t, n, 1));
  syn__parallel(t, syn__task_light_step, n, (size_t)t->decode->rows, 1);
  syn__light_out(t, n);
}

/* -- backward -- */

/* dp_r[h][tap] = sum over the channels of head h of dy_r u_{r + first + tap}, 0 where no such row
   is; one dot each, for a kernel of all of a row is no faster */
static void syn__light_dots(const syn_tape *t, const syn__taps *j, float *dp, const float *dy,
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

/* du and dp of each sentence; of dyn_conv dp becomes the gradient of the logits, row by row */
static void syn__task_light_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__light *l = syn__light_of(n);
  const float *dy = syn__light_back(t, n, SYN__DCONV);
  size_t s, i, at, k = (size_t)l->taps.taps;
  SYN__UNUSED(thread);
  for (s = begin; s < end; s++) {
    syn__taps j = syn__light_sentence(t, n, s, &at);
    float *dp = syn__light_back(t, n, SYN__DTAPS) + at / (size_t)j.width * (size_t)l->table;
    t->k->taps_back(&j, syn__light_back(t, n, SYN__DU) + at, dy + at, 0, j.rows);
    syn__light_dots(t, &j, dp, dy + at, syn_saved(t, n, 1) + at);
    for (i = 0; l->dynamic && i < (size_t)(j.rows * j.heads); i++)
      t->k->softmax_back(dp + i * k, j.w + i * k, dp + i * k, k);
  }
}

/* dw of light_conv: dp summed over all rows in order, then through the softmax of each head */
static void syn__light_taps_back(syn_tape *t, const syn_node *n) {
  const syn__light *l = syn__light_of(n);
  float *sum = syn_saved(t, n, 5);
  const float *p = syn_saved(t, n, 2);
  size_t h, k = (size_t)l->taps.taps, table = (size_t)l->table;
  memset(sum, 0, table * sizeof *sum);
  syn__column_sums(t, sum, syn__light_back(t, n, SYN__DTAPS), syn__tensor_rows(syn_out(t, n)),
                   table);
  for (h = 0; h < table; h += k) t->k->softmax_back(sum + h, p + h, sum + h, k);
  t->k->acc(syn_dweight(t, n, SYN__W_TAPS), sum, table);
}

/* Back through W_out, the convolution, the taps, glu and W_in. The products and kernels add, so
   what they add into begins at 0. */
static void syn__light_backward(syn_tape *t, const syn_node *n) {
  const syn__light *l = syn__light_of(n);
  const syn_tensor *y = syn_out(t, n);
  size_t sentences = (size_t)t->stream[t->g->values[n->out].stream].count;
  float *dz = syn__light_back(t, n, SYN__DZ), *du = syn__light_back(t, n, SYN__DU);
  float *dconv = syn__light_back(t, n, SYN__DCONV);
  syn_tensor u = syn__light_tensor(t, n, 1, du), conv = syn__light_tensor(t, n, 3, dconv);
  memset(du, 0, syn__count(y) * sizeof *du);
  memset(dconv, 0, syn__count(y) * sizeof *dconv);
  syn__linear_backward(t, n, SYN__W_OUT, SYN__B_OUT, &conv, y->dx);
  syn__parallel(t, syn__task_light_back, n, sentences, 1);
  if (l->dynamic)
    syn__linear_backward(t, n, SYN__W_TAPS, -1, &u, syn__light_back(t, n, SYN__DTAPS));
  else syn__light_taps_back(t, n);
  syn__glu_backward(t, dz, syn_saved(t, n, 0), du, syn__tensor_rows(y), (size_t)syn__width(y));
  syn__linear_backward(t, n, SYN__W_IN, SYN__B_IN, syn_in(t, n, 0), dz);
}

/* k d for the convolution; the matrices are counted already, w [H,k] of light_conv is none. */
static void syn__light_cost(const syn_node *n, syn_cost *cost) {
  const syn__light *l = syn__light_of(n);
  cost->multiply_adds += (double)l->taps.taps * l->taps.width - (l->dynamic ? 0 : l->table);
  cost->decode_bytes = 4.0 * n->cache;
}
static const syn_kind syn__kind_light_conv = {
    "light_conv", "i:k i:heads f:dropout", 1, NULL, syn__light_shape, syn__light_forward,
    syn__light_backward, NULL, syn__light_step, syn__light_cost};
static const syn_kind syn__kind_dyn_conv = {
    "dyn_conv", "i:k i:heads f:dropout", 1, NULL, syn__dyn_shape, syn__light_forward,
    syn__light_backward, NULL, syn__light_step, syn__light_cost};

/* ==============================================================================================
   >>kind mlp_src_att   s_ij = w_s . tanh(W_q q_i + W_k u_j), context_i = sum_j softmax(s_i)_j u_j
   ============================================================================================== */

/*
   (Bahdanau, Cho and Bengio 2015, section A.1.2.) q [rows,d] of the decoder, u [source rows,d_src]
   the encoder's output, W_q [n,d], W_k [n,d_src], w_s [n]; the context is of u itself, so that the
   output has width d_src. A = q W_q^T and B = u W_k^T are products over all rows; the pairs, a tanh
   for each of their n numbers, are made sentence by sentence, which threads share out: gradients of
   A, B and u belong to one sentence, those of w_s are summed for each, then over the sentences.
   saved: 0 P [pairs], weights before dropout   1 A, then B, [rows,n] each   2 while going back
   their gradients, then [sentences,n] of w_s.
   source floats of a token while decoding: its B, then its u. */

enum { SYN__MLP_P, SYN__MLP_ROWS, SYN__MLP_DROWS };
enum { SYN__MLP_A, SYN__MLP_B, SYN__MLP_W }; /* blocks of the buffers of rows */
enum { SYN__MLP_W_Q, SYN__MLP_W_K, SYN__MLP_W_S };

/* The context is no product of the layer's own: it has the width of u, and no dropout behind it. */
static syn_status syn__mlp_shape(syn_build *b, syn_node *n) {
  int wide = syn_arg_int(b, "n", b->config->d_model, 1, SYN__MAX_WIDTH);
  int d_src = syn_build_width(b, n, 1);
  syn_extent e;
  memset(&e, 0, sizeof e);
  e.pair = 1;
  n->which = wide;
  n->number = n->drop; /* the rate is of the weights alone */
  n->drop = 0.0f;
  n->seen_heads = 1;
  n->seen = SYN__MLP_P;
  n->source_cache = wide + d_src;
  syn__soft_scratch(n, d_src);
  if (syn__matrix_param(b, n, "w_q", wide, syn_build_width(b, n, 0)) ||
      syn__matrix_param(b, n, "w_k", wide, d_src) ||
      syn_build_param(b, n, "w_s", syn_initial_glorot(wide, 1), 1, &wide))
    return SYN_E_SHAPE;
  if (syn_build_save(b, n, SYN_BOTH, e) || syn__save_rows(b, n, SYN_BOTH, 2 * (size_t)wide) ||
      syn__save_rows(b, n, SYN_BACKWARD, 3 * (size_t)wide))
    return SYN_E_SHAPE;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d_src);
}

/* Block `which` of a buffer of rows, [rows,n]. */
static float *syn__mlp_block(const syn_tape *t, const syn_node *n, int buffer, int which) {
  return syn_saved(t, n, buffer) + (size_t)which * (size_t)n->which * syn__att_rows(t, n);
}

/* One sentence: a head whose values are u itself and whose scores are made here. q0, k0: its first
   rows among the queries and the keys. */
typedef struct syn__mlp {
  syn__soft o;
  size_t q0, k0;
} syn__mlp;

static syn__mlp syn__mlp_of(const syn_tape *t, const syn_node *n, size_t sentence, int thread) {
  int to = t->g->values[n->out].stream, from = t->g->values[n->in[1]].stream;
  const int *q = t->stream[to].off + sentence, *k = t->stream[from].off + sentence;
  const syn_tensor *u = syn_in(t, n, 1);
  syn__mlp m;
  m.q0 = (size_t)q[0];
  m.k0 = (size_t)k[0];
  m.o = syn__soft_of(t, n, q[1] - q[0], k[1] - k[0], syn__width(u));
  m.o.adds = 1; /* W_k sends its gradient into u, too */
  m.o.v_row = m.o.y_row = (size_t)m.o.c;
  m.o.v = u->x + m.k0 * m.o.v_row;
  m.o.y = syn_out(t, n)->x + m.q0 * m.o.y_row;
  m.o.mask = t->pairs[to][from][sentence];
  m.o.p = syn_saved(t, n, SYN__MLP_P) + m.o.mask;
  m.o.pack = syn__scratch(t, thread);
  m.o.x = m.o.pack + m.o.v_row * syn__round16((size_t)m.o.g.nk);
  return m;
}

/* What the kernels read of query row q and keys b, rows of which are b_row floats apart. */
static syn__additive syn__mlp_scores(const syn_tape *t, const syn_node *n, size_t q, const float *b,
                                     size_t b_row) {
  syn__additive j;
  j.w = syn_weight(t, n, SYN__MLP_W_S);
  j.n = (size_t)n->which;
  j.a = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A) + q * j.n;
  j.b = b;
  j.b_row = b_row;
  j.keys = 0;
  return j;
}
/* Query row q of a full pass: the keys are the sentence's rows of B. */
static syn__additive syn__mlp_pairs(const syn_tape *t, const syn_node *n, const syn__mlp *m,
                                    size_t q) {
  const float *b = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_B);
  syn__additive j = syn__mlp_scores(t, n, q, b + m->k0 * (size_t)n->which, (size_t)n->which);
  j.keys = (size_t)m->o.g.nk;
  return j;
}

/* P_i = softmax over the keys of s_i, then the contexts Pd u of all queries of the sentence */
static void syn__task_mlp(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t s, i;
  for (s = begin; s < end; s++) {
    syn__mlp m = syn__mlp_of(t, n, s, thread);
    for (i = 0; i < (size_t)m.o.g.nq; i++) {
      syn__additive a = syn__mlp_pairs(t, n, &m, m.q0 + i);
      t->k->additive(m.o.p + i * a.keys, &a);
    }
    syn__soft_forward(t, &m.o);
  }
}
static void syn__mlp_forward(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, SYN__MLP_W_Q, -1, syn_in(t, n, 0),
                      syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A));
  syn__linear_forward(t, n, SYN__MLP_W_K, -1, syn_in(t, n, 1),
                      syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_B));
  syn__parallel(t, syn__task_mlp, n, (size_t)syn__att_stream(t, n)->count, 1);
}

/* du += Pd^T dY; then the kernel sends dS back into A_i, the sentence's rows of B, and its part of
   w_s */
static void syn__task_mlp_back(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t s, i, wide = (size_t)n->which;
  float *da = syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_A);
  float *db = syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_B);
  float *dw = syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_W);
  for (s = begin; s < end; s++) {
    syn__mlp m = syn__mlp_of(t, n, s, thread);
    m.o.dv = syn_in(t, n, 1)->dx + m.k0 * m.o.v_row;
    m.o.dy = syn_out(t, n)->dx + m.q0 * m.o.y_row;
    syn__soft_backward(t, &m.o);
    for (i = 0; i < (size_t)m.o.g.nq; i++) {
      syn__additive a = syn__mlp_pairs(t, n, &m, m.q0 + i);
      t->k->additive_back(&a, m.o.p + i * a.keys, da + (m.q0 + i) * wide, db + m.k0 * wide,
                          dw + s * wide);
    }
  }
}
/* The kernel adds, so its gradients begin at 0. The parts of w_s are summed in the order of the
   sentences. */
static void syn__mlp_backward(syn_tape *t, const syn_node *n) {
  size_t wide = (size_t)n->which;
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  memset(syn_saved(t, n, SYN__MLP_DROWS), 0, 3 * wide * syn__att_rows(t, n) * sizeof(float));
  syn__parallel(t, syn__task_mlp_back, n, sentences, 1);
  syn__column_sums(t, syn_dweight(t, n, SYN__MLP_W_S),
                   syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_W), sentences, wide);
  syn__linear_backward(t, n, SYN__MLP_W_Q, -1, syn_in(t, n, 0),
                       syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_A));
  syn__linear_backward(t, n, SYN__MLP_W_K, -1, syn_in(t, n, 1),
                       syn__mlp_block(t, n, SYN__MLP_DROWS, SYN__MLP_B));
}

/* Decoding: B and u of the source, once per sentence. */
static void syn__mlp_start(syn_tape *t, const syn_node *n) {
  const syn_tensor *u = syn_in(t, n, 1);
  size_t r, rows = syn__tensor_rows(u), wide = (size_t)n->which, d = (size_t)syn__width(u);
  float *to = t->decode->source_cache[n->id], *b = syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_B);
  syn__linear_forward(t, n, SYN__MLP_W_K, -1, u, b);
  for (r = 0; r < rows; r++, to += n->source_cache) {
    memcpy(to, b + r * wide, wide * sizeof *to);
    memcpy(to + wide, u->x + r * d, d * sizeof *to);
  }
}

/* The same kernels over what `start` left, whose rows are n->source_cache floats apart. */
static void syn__task_mlp_rows(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn_tensor *y = syn_out(t, n);
  const syn__decode_state *l = t->decode;
  float *p = syn__scratch(t, thread);
  size_t r, d = (size_t)syn__width(y);
  for (r = begin; r < end; r++) {
    const float *b = syn__source_cache(t, n, (int)r, 0);
    const int *off = l->source_off + l->sentence[r];
    syn__additive a = syn__mlp_scores(t, n, r, b, (size_t)n->source_cache);
    a.keys = (size_t)(off[1] - off[0]);
    t->k->additive(p, &a);
    t->k->softmax(p, p, a.keys);
    syn__gemm_serial(t, syn_matrix_of(y->x + r * d, 1, (int)d, 0),
                     syn_matrix_of(p, 1, (int)a.keys, 0),
                     syn_matrix_of(b + n->which, (int)a.keys, (int)d, a.b_row), 0, NULL);
  }
}
static void syn__mlp_step(syn_tape *t, const syn_node *n) {
  syn__linear_forward(t, n, SYN__MLP_W_Q, -1, syn_in(t, n, 0),
                      syn__mlp_block(t, n, SYN__MLP_ROWS, SYN__MLP_A));
  syn__parallel(t, syn__task_mlp_rows, n, (size_t)t->decode->rows, 1);
}

/* W_k meets the source once per sentence; a pair costs n for its score, d_src for the context. */
static void syn__mlp_cost(const syn_node *n, syn_cost *cost) {
  cost->multiply_adds -= (double)n->which * (n->source_cache - n->which);
  cost->multiply_adds += (double)cost->length * n->source_cache;
}
static const syn_kind syn__kind_mlp_src_att = {
    "mlp_src_att", "i:n f:dropout", 0, syn__src_att_build, syn__mlp_shape, syn__mlp_forward,
    syn__mlp_backward, syn__mlp_start, syn__mlp_step, syn__mlp_cost};

/* ==============================================================================================
   >>kind aop   per head softmax(q (sqrt(d) K)^T / sqrt(c_k)) (sqrt(d) V): attention over parameters
   ============================================================================================== */

/*
   (Vaswani et al. 2017, in an early version of the preprint: "Two feed-forward layers = attention
   over parameters"; it stands in the place of a feed-forward block.) x [rows,d], q = x W_q^T
   [rows, H c_k], keys K [H,n,c_k], values V [H,n,c_v], out = [Y_1; ...; Y_H] W_o^T, W_q [H c_k,d],
   W_o [d, H c_v]. Nothing is masked and no row looks at another one.
   saved: 0 q, multiplied by sqrt(d/c_k), then Y, [rows, H c_k] and [rows, H c_v]   1 while going
   back their gradients.
   The weights P [rows,n] of a head are made for a block of rows at a time, which stays in the
   second-level cache, and made again on the way back: all of them would be rows H n floats (200 MB
   for 4096 rows of 8 heads and 1536 keys). Keeping the maximum and sum of every row would save two
   short passes over numbers in the cache; product and exp would be made again all the same. */

enum { SYN__AOP_W_Q, SYN__AOP_KEYS, SYN__AOP_VALUES, SYN__AOP_W_O };

#define SYN__AOP_BLOCK (1 << 16) /* floats of a block of weights: 256 KB */

typedef struct syn__aop {
  int heads, keys, c_k, c_v;
  int block;       /* rows at a time: whole tiles of 6 and 12 */
  size_t stride;   /* of a row of weights: an odd number of cache lines, or the same column of all
                      rows would fall into a few lines of the cache */
  size_t panels;   /* columns of packed keys */
  float scale, lift; /* sqrt(d/c_k), sqrt(d) */
} syn__aop;

static const syn__aop *syn__aop_own(const syn_node *n) { return (const syn__aop *)n->own; }

/* Width of a head, d/H where the layer does not say. */
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

/* keys or values [H,n,c] */
static syn_status syn__aop_table(syn_build *b, syn_node *n, const char *name, int c) {
  const syn__aop *a = syn__aop_own(n);
  int shape[3];
  shape[0] = a->heads;
  shape[1] = a->keys;
  shape[2] = c;
  return syn_build_param(
      b, n, name, syn_initial_of(SYN_INIT_NORMAL, 1.0 / sqrt((double)syn_build_width(b, n, 0))), 3,
      shape);
}

/* sqrt(d) K and 1/sqrt(c_k) both go into q, once for a row: scale. That of the values goes into Y:
   lift. As many rows a block as keep its weights at 256 KB, within 24 and 252. */
static void syn__aop_sizes(syn__aop *a, int d) {
  a->scale = (float)sqrt((double)d / (double)a->c_k);
  a->lift = (float)sqrt((double)d);
  a->panels = syn__round16((size_t)a->keys);
  a->stride = (a->panels / 16 | 1) * 16;
  a->block = syn__max(24, syn__min(252, (int)(SYN__AOP_BLOCK / a->stride) / 12 * 12));
}

static syn_status syn__aop_shape(syn_build *b, syn_node *n) {
  syn__aop *a = (syn__aop *)syn__own(b, n, sizeof *a);
  int d = syn_build_width(b, n, 0);
  if (!a) return SYN_E_MEMORY;
  a->heads = syn_arg_int(b, "heads", b->config->heads, 1, 4096);
  a->keys = syn_arg_int(b, "keys", 3 * d, 1, SYN__MAX_ROW);
  a->c_k = syn__aop_width(b, "c_k", d, a->heads);
  a->c_v = syn__aop_width(b, "c_v", d, a->heads);
  if (b->c->status) return b->c->status;
  syn__aop_sizes(a, d);
  if (syn__matrix_param(b, n, "w_q", a->heads * a->c_k, d) ||
      syn__aop_table(b, n, "keys", a->c_k) || syn__aop_table(b, n, "values", a->c_v) ||
      syn__matrix_param(b, n, "w_o", d, a->heads * a->c_v))
    return SYN_E_SHAPE;
  if (syn__save_rows(b, n, SYN_BOTH, (size_t)(a->heads * (a->c_k + a->c_v))) ||
      syn__save_rows(b, n, SYN_BACKWARD, (size_t)(a->heads * (a->c_k + a->c_v))))
    return SYN_E_SHAPE;
  n->number = n->drop; /* the rate of the attention weights, too */
  n->scratch.fixed = syn__add_size(syn__mul_size(a->panels, (size_t)(a->c_k + a->c_v)),
                                   syn__mul_size(2 * (size_t)a->block, a->stride));
  return syn_build_out(b, n, syn_build_stream(b, n, 0), d);
}

/* A block of rows of one head, and the scratch of a thread. */
typedef struct syn__aop_part {
  int h, rows;
  size_t r0;                 /* the first row */
  float *packed_k, *packed_v; /* K^T and V^T in panels */
  float *p, *dp;             /* two matrices [rows,n], rows `stride` apart */
} syn__aop_part;

static syn__aop_part syn__aop_part_of(const syn_tape *t, const syn_node *n, int h, size_t r0,
                                      int thread) {
  const syn__aop *a = syn__aop_own(n);
  size_t left = syn__tensor_rows(syn_out(t, n)) - r0;
  syn__aop_part x;
  x.h = h;
  x.r0 = r0;
  x.rows = left < (size_t)a->block ? (int)left : a->block;
  x.packed_k = syn__scratch(t, thread);
  x.packed_v = x.packed_k + a->panels * (size_t)a->c_k;
  x.p = x.packed_v + a->panels * (size_t)a->c_v;
  x.dp = x.p + (size_t)a->block * a->stride;
  return x;
}

/* q of all heads [rows, H c_k], and behind it y [rows, H c_v]; or their gradients. */
static float *syn__aop_q(const syn_tape *t, const syn_node *n, int buffer) {
  return syn_saved(t, n, buffer);
}
static float *syn__aop_y(const syn_tape *t, const syn_node *n, int buffer) {
  const syn__aop *a = syn__aop_own(n);
  return syn_saved(t, n, buffer) + (size_t)(a->heads * a->c_k) * syn__tensor_rows(syn_out(t, n));
}
/* Where the slice of a part begins in one of them, whose heads have width c. */
static size_t syn__aop_slice(const syn__aop *a, const syn__aop_part *x, int c) {
  return x->r0 * (size_t)(a->heads * c) + (size_t)(x->h * c);
}
/* Keys or values of the head, [n,c], or their gradients. */
static size_t syn__aop_head(const syn__aop *a, const syn__aop_part *x, int c) {
  return (size_t)x->h * (size_t)a->keys * (size_t)c;
}

/* K_h^T [c_k,n] or V_h^T [c_v,n] in panels: read by every block of rows of the head. */
static void syn__aop_pack(const syn_tape *t, const syn_node *n, const syn__aop_part *x,
                          int values) {
  const syn__aop *a = syn__aop_own(n);
  int c = values ? a->c_v : a->c_k;
  const float *from = syn_weight(t, n, values ? SYN__AOP_VALUES : SYN__AOP_KEYS);
  syn__pack_keys(t, syn_matrix_of(from + syn__aop_head(a, x, c), a->keys, c, 0),
                 values ? x->packed_v : x->packed_k);
}
/* [rows,c] slices of heads times panels [c,n] into a matrix of weights */
static void syn__aop_across(const syn_tape *t, const syn_node *n, const syn__aop_part *x,
                            const float *slices, int values) {
  const syn__aop *a = syn__aop_own(n);
  int c = values ? a->c_v : a->c_k;
  syn__gemm_serial(
      t, syn_matrix_of(values ? x->dp : x->p, x->rows, a->keys, a->stride),
      syn_matrix_of(slices + syn__aop_slice(a, x, c), x->rows, c, (size_t)(a->heads * c)),
      syn__packed(values ? x->packed_v : x->packed_k, c, a->keys), 0, NULL);
}

/* The same q K^T for the few rows of a decoder's step, which would not repay packing the keys: K
   times q^T, q packed, then turned. Each sum has the same terms in the same order. */
static int syn__aop_is_few(const syn_tape *t, const syn_node *n) {
  return t->decode && syn__tensor_rows(syn_out(t, n)) <= 16;
}
static void syn__aop_few(const syn_tape *t, const syn_node *n, const syn__aop_part *x) {
  const syn__aop *a = syn__aop_own(n);
  const float *q = syn__aop_q(t, n, 0) + syn__aop_slice(a, x, a->c_k);
  const float *keys = syn_weight(t, n, SYN__AOP_KEYS) + syn__aop_head(a, x, a->c_k);
  size_t rows = (size_t)x->rows;
  int r, key;
  syn__gemm_serial(
      t, syn_matrix_of(x->dp, a->keys, x->rows, 0), syn_matrix_of(keys, a->keys, a->c_k, 0),
      syn_transposed(syn_matrix_of(q, x->rows, a->c_k, (size_t)(a->heads * a->c_k))), 0,
      x->packed_k);
  for (r = 0; r < x->rows; r++)
    for (key = 0; key < a->keys; key++)
      x->p[(size_t)r * a->stride + (size_t)key] = x->dp[(size_t)key * rows + (size_t)r];
}

/* P = softmax(q K^T) */
static void syn__aop_weights(const syn_tape *t, const syn_node *n, const syn__aop_part *x) {
  const syn__aop *a = syn__aop_own(n);
  int r;
  if (syn__aop_is_few(t, n)) syn__aop_few(t, n, x);
  else syn__aop_across(t, n, x, syn__aop_q(t, n, 0), 0);
  for (r = 0; r < x->rows; r++) {
    float *row = x->p + (size_t)r * a->stride;
    t->k->softmax(row, row, (size_t)a->keys);
  }
}
/* Dropout of a matrix of weights, or of their gradient. */
static void syn__aop_drop(const syn_tape *t, const syn_node *n, const syn__aop_part *x, float *p) {
  const syn__aop *a = syn__aop_own(n);
  int r;
  for (r = 0; r < x->rows; r++) {
    size_t row = (x->r0 + (size_t)r) * (size_t)a->heads + (size_t)x->h;
    syn__weights_drop(t, n, row * (size_t)a->keys, p + (size_t)r * a->stride, (size_t)a->keys);
  }
}

/* Y = Pd V, Pd the dropped weights; V is read as it stands. Heads one after the other, and the
   blocks of each: the panels of a head serve all the blocks a thread has of it. */
static void syn__task_aop(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__aop *a = syn__aop_own(n);
  size_t block = (size_t)a->block, blocks = (syn__tensor_rows(syn_out(t, n)) + block - 1) / block;
  const float *values = syn_weight(t, n, SYN__AOP_VALUES);
  float *y = syn__aop_y(t, n, 0);
  size_t i;
  for (i = begin; i < end; i++) {
    syn__aop_part x = syn__aop_part_of(t, n, (int)(i / blocks), i % blocks * block, thread);
    if (!syn__aop_is_few(t, n) && (i == begin || x.r0 == 0)) syn__aop_pack(t, n, &x, 0);
    syn__aop_weights(t, n, &x);
    syn__aop_drop(t, n, &x, x.p);
    syn__gemm_serial(
        t, syn_matrix_of(y + syn__aop_slice(a, &x, a->c_v), x.rows, a->c_v,
                         (size_t)(a->heads * a->c_v)),
        syn_matrix_of(x.p, x.rows, a->keys, a->stride),
        syn_matrix_of(values + syn__aop_head(a, &x, a->c_v), a->keys, a->c_v, 0), 0, NULL);
  }
}
/* q with its scale; the heads; Y with its lift; W_o. A step of decoding is the same text. */
static void syn__aop_forward(syn_tape *t, const syn_node *n) {
  const syn__aop *a = syn__aop_own(n);
  syn_tensor y = *syn_out(t, n); /* for its rows */
  size_t rows = syn__tensor_rows(&y), block = (size_t)a->block;
  float *q = syn__aop_q(t, n, 0);
  y.x = syn__aop_y(t, n, 0);
  syn__linear_forward(t, n, SYN__AOP_W_Q, -1, syn_in(t, n, 0), q);
  t->k->scale(q, a->scale, q, rows * (size_t)(a->heads * a->c_k));
  syn__parallel(t, syn__task_aop, n, (rows + block - 1) / block * (size_t)a->heads, 1);
  t->k->scale(y.x, a->lift, y.x, rows * (size_t)(a->heads * a->c_v));
  syn__linear_forward(t, n, SYN__AOP_W_O, -1, &y, syn_out(t, n)->x);
}

/* dV += Pd^T dY, dK += dS^T q, which has its scale, and dq = dS K, whose scale comes later */
static void syn__aop_back_products(const syn_tape *t, const syn_node *n, const syn__aop_part *x) {
  const syn__aop *a = syn__aop_own(n);
  int c_k = a->c_k, c_v = a->c_v;
  size_t at = syn__aop_head(a, x, c_k), slice = syn__aop_slice(a, x, c_k);
  syn_matrix pd = syn_matrix_of(x->p, x->rows, a->keys, a->stride);
  syn_matrix ds = syn_matrix_of(x->dp, x->rows, a->keys, a->stride);
  syn_matrix dy = syn_matrix_of(syn__aop_y(t, n, 1) + syn__aop_slice(a, x, c_v), x->rows, c_v,
                                (size_t)(a->heads * c_v));
  syn_matrix q = syn_matrix_of(syn__aop_q(t, n, 0) + slice, x->rows, c_k,
                               (size_t)(a->heads * c_k)), dq = q;
  dq.x = syn__aop_q(t, n, 1) + slice;
  syn__gemm_serial(t, syn_matrix_of(syn_dweight(t, n, SYN__AOP_VALUES) + syn__aop_head(a, x, c_v),
                                    a->keys, c_v, 0), syn_transposed(pd), dy, 1, NULL);
  syn__gemm_serial(t, syn_matrix_of(syn_dweight(t, n, SYN__AOP_KEYS) + at, a->keys, c_k, 0),
                   syn_transposed(ds), q, 1, NULL);
  syn__gemm_serial(t, dq, ds, syn_matrix_of(syn_weight(t, n, SYN__AOP_KEYS) + at, a->keys, c_k, 0),
                   0, NULL);
}

/* dS_i = P_i (dP_i - P_i . dP_i), dP the gradient dY V^T of Pd after the same dropout. Keys and
   values are shared by all rows: a thread has a head and walks its rows in order. */
static void syn__task_aop_back(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__aop *a = syn__aop_own(n);
  size_t h, r0, rows = syn__tensor_rows(syn_out(t, n));
  int r;
  for (h = begin; h < end; h++)
    for (r0 = 0; r0 < rows; r0 += (size_t)a->block) {
      syn__aop_part x = syn__aop_part_of(t, n, (int)h, r0, thread);
      if (r0 == 0) syn__aop_pack(t, n, &x, 0), syn__aop_pack(t, n, &x, 1);
      syn__aop_weights(t, n, &x);
      syn__aop_across(t, n, &x, syn__aop_y(t, n, 1), 1);
      syn__aop_drop(t, n, &x, x.dp);
      for (r = 0; r < x.rows; r++) {
        float *dp = x.dp + (size_t)r * a->stride;
        t->k->softmax_back(dp, x.p + (size_t)r * a->stride, dp, (size_t)a->keys);
      }
      syn__aop_drop(t, n, &x, x.p);
      syn__aop_back_products(t, n, &x);
    }
}
static void syn__aop_backward(syn_tape *t, const syn_node *n) {
  const syn__aop *a = syn__aop_own(n);
  syn_tensor y = *syn_out(t, n); /* Y and its gradient as a tensor, for W_o */
  size_t rows = syn__tensor_rows(&y), wide = (size_t)(a->heads * a->c_v);
  float *dq = syn__aop_q(t, n, 1);
  y.x = syn__aop_y(t, n, 0);
  y.dx = syn__aop_y(t, n, 1);
  memset(y.dx, 0, rows * wide * sizeof *y.dx);
  syn__linear_backward(t, n, SYN__AOP_W_O, -1, &y, syn_out(t, n)->dx);
  t->k->scale(y.dx, a->lift, y.dx, rows * wide);
  syn__parallel(t, syn__task_aop_back, n, (size_t)a->heads, 1);
  t->k->scale(dq, a->scale, dq, rows * (size_t)(a->heads * a->c_k));
  syn__linear_backward(t, n, SYN__AOP_W_Q, -1, syn_in(t, n, 0), dq);
}

/* Beside W_q and W_o, which every node's cost counts: q K^T and P V of all heads. */
static void syn__aop_cost(const syn_node *n, syn_cost *cost) {
  const syn__aop *a = syn__aop_own(n);
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
   [k,c], P = softmax(Q_h K~^T / sqrt(c)) [n,k], Y_h = P V~, out = [Y_1; ...] W_o^T. Q, K, V
   [rows,d] = x W_q^T, x W_k^T, x W_v^T, all W [d,d] without bias; E and F [k,N], shared by the
   heads, of which a sentence uses the first n columns. Time and memory grow with n k, not n^2; a
   sum sees the whole sentence, so there is no causal form: encoders only.
   Buffers and rows are those of syn_att, so that its functions for W_q, W_k and W_o serve here; E
   and F are the parameters of its score 1.
   saved: 0 P [sentence][H][n][k]; while going back dS, then the head's part of dE [k,n]
   1 rows: v, y, q (with its 1/sqrt(c)), k   2 the same for their gradients   3 as 0, of dF
   K~ and V~ are made again on the way back: k d floats each for every sentence would be far more
   than all the rest where sentences are short. */

/* Where one head of one sentence stands in saved buffer 0 or 3: [n,k] or [k,n]. */
static float *syn__lin_part(const syn_tape *t, const syn_node *n, int buffer, int sentence, int h) {
  const syn__att *a = syn__att_of(n);
  const int *off = syn__att_stream(t, n)->off + sentence;
  return syn_saved(t, n, buffer) +
         ((size_t)off[0] * (size_t)a->heads + (size_t)h * (size_t)(off[1] - off[0])) * (size_t)a->k;
}

/* Pointers of a head, whose k sums are its keys: nq = n, nk = k. Scratch: the pack, for a turned
   matrix of n or k columns; dK~, dV~, K~, V~ [k,c]; a block of weights. */
static syn__soft syn__lin_head(const syn_tape *t, const syn_node *n, int sentence, int h,
                               float *scratch) {
  const syn__att *a = syn__att_of(n);
  const int *off = syn__att_stream(t, n)->off + sentence;
  size_t kc = (size_t)a->k * (size_t)a->c, e = (size_t)a->e;
  size_t at = (size_t)off[0] * e + (size_t)(h * a->c);
  syn__soft o = syn__soft_of(t, n, off[1] - off[0], a->k, a->c);
  o.q_row = o.y_row = e;
  o.k_row = o.v_row = (size_t)a->c;
  o.q = syn__att_own(t, n, SYN__ROWS, 0) + at;
  o.y = syn__att_y(t, n, SYN__ROWS) + at;
  o.p = syn__lin_part(t, n, SYN__P, sentence, h);
  o.mask = (size_t)(o.p - syn_saved(t, n, SYN__P));
  o.pack = scratch;
  o.dk = scratch + (size_t)a->c * ((size_t)o.g.nq + (size_t)a->k + 16);
  o.dv = o.dk + kc;
  o.k = o.dv + kc;
  o.v = o.k + kc;
  o.x = o.v + kc;
  return o;
}

/* to [k,c] = K~ = E K_h (w 0) or V~ = F V_h (w 1): the first n columns of E or F [k,N] */
static void syn__lin_sum(const syn_tape *t, const syn_node *n, const syn__soft *o, int w,
                         const float *rows, float *to) {
  const syn__att *a = syn__att_of(n);
  syn__gemm_serial(t, syn_matrix_of(to, a->k, a->c, 0),
                   syn_matrix_of(syn__att_weight(t, n, 1, w), a->k, o->g.nq, (size_t)a->size),
                   syn_matrix_of(rows, o->g.nq, a->c, (size_t)a->e), 0, NULL);
}
/* The way back: drows [n,c] = w^T dto, part [k,n] = dto rows^T. */
typedef struct syn__lin_back {
  const float *rows, *dto;
  float *drows, *part;
} syn__lin_back;
static void syn__lin_sum_back(const syn_tape *t, const syn_node *n, const syn__soft *o, int w,
                              const syn__lin_back *g) {
  const syn__att *a = syn__att_of(n);
  int n_rows = o->g.nq;
  syn_matrix dto = syn_matrix_of(g->dto, a->k, a->c, 0);
  syn_matrix weight = syn_matrix_of(syn__att_weight(t, n, 1, w), a->k, n_rows, (size_t)a->size);
  syn__gemm_serial(t, syn_matrix_of(g->drows, n_rows, a->c, (size_t)a->e), syn_transposed(weight),
                   dto, 0, NULL);
  syn__gemm_serial(t, syn_matrix_of(g->part, a->k, n_rows, 0), dto,
                   syn_transposed(syn_matrix_of(g->rows, n_rows, a->c, (size_t)a->e)), 0, o->pack);
}

/* K~ and V~, then attention of the n queries to them. */
static void syn__task_lin(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  size_t i, heads = (size_t)a->heads;
  for (i = begin; i < end; i++) {
    syn__soft o = syn__lin_head(t, n, (int)(i / heads), (int)(i % heads), syn__scratch(t, thread));
    size_t at = (size_t)(o.y - syn__att_y(t, n, SYN__ROWS));
    syn__lin_sum(t, n, &o, 0, syn__v_keys(t, n, SYN__ROWS, 0) + at, o.k);
    syn__lin_sum(t, n, &o, 1, syn__att_v(t, n, SYN__ROWS) + at, o.v);
    syn__soft_scores(t, &o);
    syn__soft_forward(t, &o);
  }
}
/* K~ and V~ anew, back through the attention to dq, dK~, dV~, then from those to dk, dv and this
   head's share of dE and dF: [k,n] each, kept until all heads are done, since all add into the one
   E and F. That of dE stands where dS was, that of dF in buffer 3. */
static void syn__task_lin_back(syn_tape *t, const void *job, int thread, size_t begin,
                               size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  size_t i, heads = (size_t)a->heads;
  for (i = begin; i < end; i++) {
    int sentence = (int)(i / heads), h = (int)(i % heads);
    syn__soft o = syn__lin_head(t, n, sentence, h, syn__scratch(t, thread));
    size_t at = (size_t)(o.y - syn__att_y(t, n, SYN__ROWS));
    syn__lin_back e, f;
    e.rows = syn__v_keys(t, n, SYN__ROWS, 0) + at;
    e.drows = syn__v_keys(t, n, SYN__DROWS, 0) + at;
    e.dto = o.dk;
    e.part = o.p; /* dS has served by then */
    f.rows = syn__att_v(t, n, SYN__ROWS) + at;
    f.drows = syn__att_v(t, n, SYN__DROWS) + at;
    f.dto = o.dv;
    f.part = syn__lin_part(t, n, SYN__RAW, sentence, h);
    o.dy = syn__att_y(t, n, SYN__DROWS) + at;
    o.dq = syn__att_own(t, n, SYN__DROWS, 0) + at;
    syn__lin_sum(t, n, &o, 0, e.rows, o.k);
    syn__lin_sum(t, n, &o, 1, f.rows, o.v);
    syn__soft_backward(t, &o);
    syn__soft_back_scores(t, &o);
    syn__lin_sum_back(t, n, &o, 0, &e);
    syn__lin_sum_back(t, n, &o, 1, &f);
  }
}

/* dE, dF += the parts of all heads of all sentences, in their order; threads split the rows. */
static void syn__task_lin_tables(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  const syn__att *a = syn__att_of(n);
  const syn_stream *stream = &t->stream[t->g->values[n->out].stream];
  int table, s, h;
  size_t i;
  SYN__UNUSED(thread);
  for (table = 0; table < 2; table++)
    for (s = 0; s < stream->count; s++)
      for (h = 0; h < a->heads; h++) {
        size_t length = (size_t)(stream->off[s + 1] - stream->off[s]);
        const float *part = syn__lin_part(t, n, table ? SYN__RAW : SYN__P, s, h);
        float *sum = syn__att_dweight(t, n, 1, table);
        for (i = begin; i < end; i++)
          t->k->acc(sum + i * (size_t)a->size, part + i * length, length);
      }
}

static void syn__linformer_forward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  syn__linear_forward(t, n, a->w_v, -1, syn_in(t, n, 0), syn__att_v(t, n, SYN__ROWS));
  syn__v_prepare(t, n, 0);
  syn__parallel(t, syn__task_lin, n, sentences * (size_t)a->heads, 1);
  syn__att_out(t, n);
}

/* dQ, dK, dV of all heads and their shares of dE and dF; the sums of these; the projections. */
static void syn__linformer_backward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  syn__att_out_back(t, n);
  syn__parallel(t, syn__task_lin_back, n, sentences * (size_t)a->heads, 1);
  syn__parallel(t, syn__task_lin_tables, n, (size_t)a->k, 1);
  syn__v_finish(t, n, 0);
  syn__linear_backward(t, n, a->w_v, -1, syn_in(t, n, 0), syn__att_v(t, n, SYN__DROWS));
}

/* What linformer and fixed_att share: they read the whole sentence, so only an encoder has them. */
static syn_status syn__soft_shape(syn_build *b, syn_node *n, syn__att *a) {
  if (syn_build_decoder(b))
    return syn__fail_build(b, SYN_E_TEXT, "reads the whole sentence, so it has no place in a"
                           " decoder");
  return syn__att_heads(b, n, a) ? SYN_E_SHAPE : syn__att_projections(b, n, a);
}

/* E and F [k,N]: their columns are the places of a sentence, so N limits it. */
static syn_status syn__linformer_shape(syn_build *b, syn_node *n) {
  syn__att *a = (syn__att *)syn__own(b, n, sizeof *a);
  syn_initial init;
  syn_extent part;
  size_t c, k;
  int shape[2];
  if (!a) return SYN_E_MEMORY;
  if (syn__soft_shape(b, n, a)) return SYN_E_SHAPE;
  a->param[0] = n->n_param;
  if (syn__v_shape(b, n, 0)) return SYN_E_SHAPE;
  shape[0] = a->k = syn_arg_int(b, "k", 32, 1, 65536);
  shape[1] = a->size = n->table = b->config->max_len;
  a->param[1] = n->n_param;
  init = syn_initial_glorot(shape[1], shape[0]);
  if (syn_build_param(b, n, "e", init, 2, shape) || syn_build_param(b, n, "f", init, 2, shape))
    return SYN_E_SHAPE;
  c = (size_t)a->c;
  k = (size_t)a->k;
  memset(&part, 0, sizeof part);
  part.row = (size_t)a->heads * k;
  if (syn_build_save(b, n, SYN_BOTH, part) || syn__save_rows(b, n, SYN_BOTH, (size_t)a->wide) ||
      syn__save_rows(b, n, SYN_BACKWARD, (size_t)a->wide) ||
      syn_build_save(b, n, SYN_BACKWARD, part))
    return SYN_E_SHAPE;
  n->scratch.fixed = syn__add_size(syn__mul_size(c, 16 + 5 * k), SYN__QUERIES * (k + 32));
  n->scratch.length = c;
  n->number = n->drop; /* the rate of the attention weights, too */
  n->seen_heads = a->heads;
  n->seen = SYN__P;
  n->seen_keys = a->k;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), a->d);
}
/* Projections; E and F meet every row of K and V once; scores and values against k sums. */
static void syn__linformer_cost(const syn_node *n, syn_cost *cost) {
  const syn__att *a = syn__att_of(n);
  cost->multiply_adds = 4.0 * a->d * a->e + 4.0 * a->k * a->e;
}
static const syn_kind syn__kind_linformer = {
    "linformer", "i:k i:heads f:dropout", 1, NULL, syn__linformer_shape, syn__linformer_forward,
    syn__linformer_backward, NULL, NULL, syn__linformer_cost};

/* ==============================================================================================
   >>kind fixed_att   heads that look at fixed places of the sentence, and heads that learn where
   ============================================================================================== */

/*
   (Raganato, Scherrer, Tiedemann 2020, section 3: seven of eight heads of an encoder are fixed.)
   Y_h = P_h (x W_v^T)_h, out = [Y_1; ...] W_o^T, W_v, W_o [d,d]. In row i of P_h of a sentence of n
   tokens, j counts from 0 and every row is divided by its sum:
     head 1  j = i     2  j = i - 1     3  j = i + 1         current, previous, next
     head 4  j <= i-2: (j+1)^3          5  j >= i+2: (n-j)^3  left and right context
     head 6  all j: (j+1)^3             7  all j: (n-j)^3     towards the end, towards the start
   An empty row attends to itself. Heads from 8 on are V of syn_att: softmax(q k^T / sqrt(c)), with
   W_q, W_k [(H-7) c, d]. The weights of a pattern depend on n alone: while training, one mask per
   head drops them in all sentences. Cubes are numbers to 2^60 and their sums have a closed form, so
   both are made in double and rounded once; a row is then the same cubes times one number.
   saved: buffers and rows of syn_att, 0 P [pairs,H]   1 rows: v, y, q (with its 1/sqrt(c)), k
   2 the same for their gradients; q and k are of the learning heads alone */

#define SYN__PATTERNS 7

/* Width of q and k: that of the heads that learn. */
static int syn__fixed_width(const syn__att *a) {
  return syn__max(0, a->heads - SYN__PATTERNS) * a->c;
}

/* cubes [n]: (j+1)^3, or (n-j)^3 for the patterns that fall from left to right */
static void syn__fixed_cubes(int pattern, int n, float *cubes) {
  int j;
  for (j = 0; j < n; j++) {
    double place = pattern % 2 ? j + 1 : n - j;
    cubes[j] = (float)(place * place * place);
  }
}

/* Row i of a pattern, counted from 0: the keys first .. last, or key i where there are none. The
   sum of m cubes 1^3 + ... + m^3 is (m (m+1) / 2)^2. */
static void syn__fixed_row(const syn_tape *t, int pattern, int i, int n, const float *cubes,
                           float *row) {
  static const int beside[3] = {0, -1, 1};
  int first = pattern == 4 ? i + 2 : 0, last = pattern == 3 ? i - 2 : n - 1;
  memset(row, 0, (size_t)n * sizeof *row);
  if (pattern < 3) first = last = i + beside[pattern];
  if (first > last || first < 0 || last >= n) {
    row[i] = 1.0f;
  } else if (pattern < 3) {
    row[first] = 1.0f;
  } else {
    double m = last - first + 1, root = m * (m + 1.0) / 2.0;
    t->k->scale(row + first, (float)(1.0 / (root * root)), cubes + first, (size_t)m);
  }
}

/* Pointers of a head; q and k only where it learns. Masks: a pattern has [longest,longest] numbers
   for all sentences, since its weights do not depend on the words; a head that learns has those of
   its weights, counted from behind the patterns' on. */
static syn__soft syn__fixed_head(const syn_tape *t, const syn_node *n, int sentence, int h,
                                 float *scratch) {
  const syn__att *a = syn__att_of(n);
  int stream = t->g->values[n->out].stream;
  const int *off = t->stream[stream].off + sentence;
  size_t learned = (size_t)syn__fixed_width(a), longest = (size_t)t->stream[stream].longest;
  size_t at = (size_t)off[0] * (size_t)a->e + (size_t)(h * a->c), size;
  int length = off[1] - off[0];
  syn__soft o = syn__soft_of(t, n, length, length, a->c);
  size = (size_t)length * (size_t)length;
  o.v_row = o.y_row = (size_t)a->e;
  o.q_row = o.k_row = learned;
  o.v = syn__att_v(t, n, SYN__ROWS) + at;
  o.y = syn__att_y(t, n, SYN__ROWS) + at;
  o.p = syn_saved(t, n, SYN__P) + t->pairs[stream][stream][sentence] * (size_t)a->heads +
        (size_t)h * size;
  o.pack = scratch;
  o.x = scratch + (size_t)a->c * syn__round16((size_t)length);
  o.z = o.x + SYN__QUERIES * syn__soft_row(length);
  if (h < SYN__PATTERNS) {
    o.raw = 1;
    o.mask = (size_t)h * longest * longest;
    o.mask_row = longest;
    return o;
  }
  at = (size_t)off[0] * learned + (size_t)((h - SYN__PATTERNS) * a->c);
  o.q = syn__att_own(t, n, SYN__ROWS, 0) + at;
  o.k = syn__att_block(t, n, SYN__ROWS, a->at[0] + (int)learned) + at;
  /* behind the masks of the patterns */
  o.mask = SYN__PATTERNS * longest * longest + (size_t)(o.p - syn_saved(t, n, SYN__P));
  return o;
}

/* A pattern is written as weights straight away, a head that learns makes them of its scores; from
   there on they are alike. The cubes of a pattern stand where others pack k. */
static void syn__task_fixed(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    int r, h = (int)(i % heads);
    syn__soft o = syn__fixed_head(t, n, (int)(i / heads), h, syn__scratch(t, thread));
    if (h < SYN__PATTERNS) {
      syn__fixed_cubes(h, o.g.nk, o.pack);
      for (r = 0; r < o.g.nq; r++)
        syn__fixed_row(t, h, r, o.g.nk, o.pack, o.p + (size_t)r * (size_t)o.g.nk);
    } else {
      syn__soft_scores(t, &o);
    }
    syn__soft_forward(t, &o);
  }
}
/* dv = Pd^T dy of all heads; dP, dS, dq and dk of those that learn */
static void syn__task_fixed_back(syn_tape *t, const void *job, int thread, size_t begin,
                                 size_t end) {
  const syn_node *n = (const syn_node *)job;
  size_t i, heads = (size_t)syn__att_of(n)->heads;
  for (i = begin; i < end; i++) {
    int sentence = (int)(i / heads), h = (int)(i % heads);
    syn__soft o = syn__fixed_head(t, n, sentence, h, syn__scratch(t, thread));
    o.dv = syn__att_v(t, n, SYN__DROWS) + (o.v - syn__att_v(t, n, SYN__ROWS));
    o.dy = syn__att_y(t, n, SYN__DROWS) + (o.y - syn__att_y(t, n, SYN__ROWS));
    if (!o.q) { /* a pattern learns nothing */
      syn__causal_matmul_tn(t, &o.g, syn__soft_dv(&o, syn__soft_dropped(t, &o), (size_t)o.g.nk));
      continue;
    }
    o.dq = syn_saved(t, n, SYN__DROWS) + (o.q - syn_saved(t, n, SYN__ROWS));
    o.dk = syn_saved(t, n, SYN__DROWS) + (o.k - syn_saved(t, n, SYN__ROWS));
    syn__soft_backward(t, &o);
    syn__soft_back_scores(t, &o);
  }
}

/* v for all heads, q and k for the heads that learn: their W are as much lower. */
static void syn__fixed_forward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  int learned = syn__fixed_width(a);
  syn__linear_forward(t, n, a->w_v, -1, x, syn__att_v(t, n, SYN__ROWS));
  if (learned) {
    float *q = syn__att_own(t, n, SYN__ROWS, 0);
    syn__linear_forward(t, n, a->param[0], -1, x, q);
    syn__scale_all(t, q, a->scale, syn__tensor_rows(x) * (size_t)learned);
    syn__linear_forward(t, n, a->param[0] + 1, -1, x,
                        syn__att_block(t, n, SYN__ROWS, a->at[0] + learned));
  }
  syn__parallel(t, syn__task_fixed, n, sentences * (size_t)a->heads, 1);
  syn__att_out(t, n);
}

/* The 1/sqrt(c) that q holds comes to dq here; dk had it from q. */
static void syn__fixed_backward(syn_tape *t, const syn_node *n) {
  const syn__att *a = syn__att_of(n);
  const syn_tensor *x = syn_in(t, n, 0);
  size_t sentences = (size_t)syn__att_stream(t, n)->count;
  int learned = syn__fixed_width(a);
  syn__att_out_back(t, n);
  syn__parallel(t, syn__task_fixed_back, n, sentences * (size_t)a->heads, 1);
  if (learned) {
    float *dq = syn__att_own(t, n, SYN__DROWS, 0);
    syn__scale_all(t, dq, a->scale, syn__tensor_rows(x) * (size_t)learned);
    syn__linear_backward(t, n, a->param[0], -1, x, dq);
    syn__linear_backward(t, n, a->param[0] + 1, -1, x,
                         syn__att_block(t, n, SYN__DROWS, a->at[0] + learned));
  }
  syn__linear_backward(t, n, a->w_v, -1, x, syn__att_v(t, n, SYN__DROWS));
}

static syn_status syn__fixed_shape(syn_build *b, syn_node *n) {
  syn__att *a = (syn__att *)syn__own(b, n, sizeof *a);
  syn_extent pairs;
  int learned;
  if (!a) return SYN_E_MEMORY;
  if (syn__soft_shape(b, n, a)) return SYN_E_SHAPE;
  learned = syn__fixed_width(a);
  a->at[0] = a->wide;
  a->wide += 2 * learned;
  a->param[0] = n->n_param;
  if (learned && (syn__matrix_param(b, n, "w_q", learned, a->d) ||
                  syn__matrix_param(b, n, "w_k", learned, a->d)))
    return SYN_E_SHAPE;
  memset(&pairs, 0, sizeof pairs);
  pairs.pair = (size_t)a->heads;
  if (syn_build_save(b, n, SYN_BOTH, pairs) || syn__save_rows(b, n, SYN_BOTH, (size_t)a->wide) ||
      syn__save_rows(b, n, SYN_BACKWARD, (size_t)a->wide))
    return SYN_E_SHAPE;
  syn__soft_scratch(n, a->c);
  n->number = n->drop; /* the rate of the attention weights, too */
  n->seen_heads = a->heads;
  n->seen = SYN__P;
  return syn_build_out(b, n, syn_build_stream(b, n, 0), a->d);
}
/* v and out; q and k of the heads that learn; a pattern pays for its values alone. */
static void syn__fixed_cost(const syn_node *n, syn_cost *cost) {
  const syn__att *a = syn__att_of(n);
  int learned = syn__fixed_width(a);
  cost->multiply_adds = 2.0 * a->d * (a->e + learned) + (double)cost->length * (a->e + learned);
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

#if SYN__LEVELS /* texts, files, bookkeeping: see the end of >>dispatch */
#pragma GCC optimize("Og", "fp-contract=off")
#endif

/* ==============================================================================================
   >>language   one line of text becomes a chain of layers, a chain of layers becomes a graph
   ============================================================================================== */

/*
   chain := layer ( "->" layer )*    layer := NAME [ "(" [ arg ( ("," | "|") arg )* ] ")" ]
   arg := KEY "=" value | value | chain    The kind's argument list says what an argument is. */

/* -- aliases: other names for one or more layers -- */

/* An empty layer of that kind, which says it stands where `at` stands: a message about what an
   alias has become points at the alias, the only thing the user wrote. */
static syn_layer *syn__layer_new(syn_build *b, const syn_layer *at, const syn_kind *kind) {
  syn_layer *l = (syn_layer *)syn__arena_get(&b->g->arena, 1, sizeof *l);
  if (!l) return NULL;
  l->kind = kind;
  l->name = at->name;
  l->line = at->line;
  l->column = at->column;
  return l;
}

/* Room for one argument more. The array moves when it grows and the arena keeps the old one until
   the end, so doubling wastes at most as much as it holds; no pointer to an argument survives the
   next call. */
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

/* ffl(n=4d, act) = ff(n, act) -> linear(d), d the width that reaches it. The width is known
   only while building, not while reading, and a copy in a repeat may see another one than the
   copy before: that is why aliases are expanded at every place they stand, each time anew. The
   number is set in the argument `n` as if it had been written there. Both layers end with
   dropout: relu's output and the sum's branch, as in Sockeye. */
static syn_layer *syn__expand_ffl(syn_build *b, const syn_layer *l, int width) {
  syn_layer *ff = syn__layer_new(b, l, &syn__kind_ff);
  syn_layer *linear = syn__layer_new(b, l, &syn__kind_linear);
  syn__arg *n;
  int i;
  if (!ff || !linear) return NULL;
  for (i = 0; i < l->n_args; i++) {
    syn__arg *copy = syn__arg_new(b, ff, l->args[i].name);
    if (!copy) return NULL;
    *copy = l->args[i];
  }
  if (!syn__arg_find(l, "n")) {
    n = syn__arg_new(b, ff, "n");
    if (!n) return NULL;
    n->number = 4.0 * width;
  }
  n = syn__arg_new(b, linear, "n");
  if (!n) return NULL;
  n->number = width;
  ff->next = linear;
  return ff;
}

/* res(before -> X -> dropout); before may be null. The layers of X are copied, because `next` of
   the last one must now point to the dropout; their arguments are shared, nobody changes them. A
   dropout behind a layer that ends with dropout is dropped later, in syn__build_layers, by the
   same rule as one that was written by hand. */
static syn_layer *syn__expand_res(syn_build *b, const syn_layer *l, const syn_kind *before) {
  const syn_layer *inner = syn__arg_chain(b, l, 0);
  syn_layer *res = syn__layer_new(b, l, &syn__kind_res), *first = NULL, *copy, **end = &first;
  syn__arg *chain = res ? syn__arg_new(b, res, "chain") : NULL;
  if (!inner || !chain) return NULL;
  if (before && (*end = syn__layer_new(b, l, before)) != NULL) end = &(*end)->next;
  for (; inner; inner = inner->next) {
    copy = (syn_layer *)syn__arena_get(&b->g->arena, 1, sizeof *copy);
    if (!copy) return NULL;
    *copy = *inner;
    copy->next = NULL;
    *end = copy;
    end = &copy->next;
  }
  *end = syn__layer_new(b, l, &syn__kind_dropout);
  chain->chain = first;
  return *end ? res : NULL;
}
/* Domhan 2018 writes res_d and res_nd for the two ways of wrapping a sublayer; the second is
   the pre-norm Transformer. */
static syn_layer *syn__expand_res_d(syn_build *b, const syn_layer *l, int width) {
  SYN__UNUSED(width);
  return syn__expand_res(b, l, NULL);
}
static syn_layer *syn__expand_res_nd(syn_build *b, const syn_layer *l, int width) {
  SYN__UNUSED(width);
  return syn__expand_res(b, l, &syn__kind_norm);
}

/* The same arguments under the name of a kind. Aliases of this sort are spellings: published
   texts say mh_dot_self_att where this language says syn_att. cap_args = n_args, so that adding
   one to the copy would make it move to an array of its own. */
static syn_layer *syn__expand_same(syn_build *b, const syn_layer *l, const syn_kind *kind) {
  syn_layer *copy = syn__layer_new(b, l, kind);
  if (!copy) return NULL;
  copy->args = l->args;
  copy->n_args = copy->cap_args = l->n_args;
  return copy;
}
static syn_layer *syn__expand_self_att(syn_build *b, const syn_layer *l, int width) {
  SYN__UNUSED(width);
  return syn__expand_same(b, l, &syn__kind_syn_att);
}
/* Domhan's texts write the same name on both sides; in an encoder there is no source to attend
   to, and what was meant can be guessed. */
static syn_layer *syn__expand_att(syn_build *b, const syn_layer *l, int width) {
  SYN__UNUSED(width);
  if (b->decoder) return syn__expand_same(b, l, &syn__kind_mh_dot_src_att);
  syn__fail_build(b, SYN_E_TEXT,
                  "attention to the source in an encoder; mh_dot_self_att is meant?");
  return NULL;
}
/* dot_src_att(s) = mh_dot_src_att(heads=1, scale=1/sqrt(s)): the one head of the convolutional
   networks (Gehring et al. 2017), which at s=1 scales nothing. Without s the scale is the one that
   any head has. */
static syn_layer *syn__expand_dot_att(syn_build *b, const syn_layer *l, int width) {
  syn_layer *dot = syn__expand_att(b, l, width);
  double s = (double)syn_arg_float(b, "s", 0.0f, 1e-9f, 1e9f);
  syn__arg *a = dot && b->c->status == SYN_OK ? syn__arg_new(b, dot, "heads") : NULL;
  if (!a) return NULL;
  a->number = 1.0;
  if (s == 0.0) return dot;
  a = syn__arg_new(b, dot, "scale");
  if (!a) return NULL;
  a->number = 1.0 / sqrt(s);
  return dot;
}
static syn_layer *syn__expand_mlp_att(syn_build *b, const syn_layer *l, int width) {
  SYN__UNUSED(width);
  return syn__expand_same(b, l, &syn__kind_mlp_src_att);
}
/* The published texts say parallel where this language says concat. */
static syn_layer *syn__expand_parallel(syn_build *b, const syn_layer *l, int width) {
  SYN__UNUSED(width);
  return syn__expand_same(b, l, &syn__kind_concat);
}

/* `args` is written as for a kind (syn_kind.args), so an alias checks its arguments before it is
   expanded; `width` is the width that reaches it. Null: failed, recorded. */
struct syn__alias {
  const char *name, *args;
  syn_layer *(*expand)(syn_build *b, const syn_layer *l, int width);
};
/* width is used by ffl alone; the rest ignore it. */
static const struct syn__alias syn__aliases[] = {
    {"ffl", "i:n w:act", syn__expand_ffl},
    {"res_d", "c:chain", syn__expand_res_d},
    {"res_nd", "c:chain", syn__expand_res_nd},
    {"mh_dot_self_att", "i:heads i:c f:dropout", syn__expand_self_att},
    {"mh_dot_att", "i:heads f:scale w:source i:c f:dropout", syn__expand_att},
    {"dot_src_att", "f:s f:dropout", syn__expand_dot_att},
    {"mlp_att", "i:n f:dropout", syn__expand_mlp_att},
    {"parallel", "C:chain", syn__expand_parallel}};

/* -- names -- */

/* Edit distance, for "did you mean"; names are short. One row of the table of Wagner and Fischer
   1974: row[j] is the distance between the first i letters of a and the first j of b, `diagonal`
   the entry up and left, which the row has already lost. */
static int syn__distance(syn_text a, const char *b) {
  int row[40], i, j, nb = (int)strlen(b), na = (int)a.size;
  if (nb > 38 || na > 38) return 99;
  for (j = 0; j <= nb; j++) row[j] = j;
  for (i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (j = 1; j <= nb; j++) {
      int best = syn__min(syn__min(row[j], row[j - 1]) + 1, diagonal + (a.at[i - 1] != b[j - 1]));
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[nb];
}

/* A place in the text, and what stands there. Copied freely: to look ahead is to walk with a
   copy, to go back is to take the old one. */
typedef struct syn__lexer {
  syn_build *b;
  const char *at;
  int line, column, depth;
} syn__lexer;

/* The i-th name of the language: the user's kinds, then ours, then aliases. A list in three parts
   that is read as one. The user's come first, so he may replace a layer by his own. */
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

/* Line and column are those of the lexer, that is of the first character of the word; 40 bytes of
   it are shown. A message that names side, line, column and word can be found in any editor. */
static syn_status syn__fail_at(const syn__lexer *x, const char *what, syn_text word) {
  return syn__fail(x->b->c, SYN_E_TEXT, "%s line %d column %d: '%.*s': %s", x->b->side, x->line,
                   x->column, word.size < 40 ? (int)word.size : 40, word.at, what);
}

/* Names become kinds while reading, not while building: then a chain in brackets knows from the
   kind's argument list whether `8` is a number, a word or a chain, and a wrong name fails at its
   place. */
static syn_status syn__name_bind(syn__lexer *x, syn_layer *l) {
  const syn_kind *kind;
  const struct syn__alias *alias;
  const char *name, *nearest = "";
  int least = 99;
  size_t i;
  char text[80];
  for (i = 0; (name = syn__name_at(&x->b->c->options, i, &kind, &alias)) != NULL; i++) {
    int distance = syn__distance(l->name, name);
    if (syn__text_is(l->name, name)) {
      l->kind = kind;
      l->alias = alias;
      return SYN_OK;
    }
    if (distance < least) least = distance, nearest = name;
  }
  snprintf(text, sizeof text, "no such layer%s%s", least < 99 ? "; the nearest name is " : "",
           nearest);
  return syn__fail_at(x, text, l->name);
}

/* -- words of the text -- */

/* ASCII alone, and not isalnum, which asks the locale of the host program. */
static int syn__is_name(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
         ch == '_';
}

/* The only step forward, so that line and column are right everywhere. Columns count characters,
   as editors do: bytes 10xxxxxx of UTF-8 follow a character's first and count nothing. */
static void syn__lexer_move(syn__lexer *x) {
  if (*x->at == '\n') x->line++, x->column = 1;
  else if (((unsigned char)*x->at & 0xC0) != 0x80) x->column++; /* count characters, not bytes */
  x->at++;
}

/* White space and comments. Called behind every word and sign, so that the lexer always stands on
   the first character of the next one and a place taken for a message is a word's place. */
static void syn__lexer_space(syn__lexer *x) {
  for (;;) {
    if (*x->at == ' ' || *x->at == '\t' || *x->at == '\n' || *x->at == '\r') syn__lexer_move(x);
    else if (*x->at == '#')
      while (*x->at && *x->at != '\n') syn__lexer_move(x);
    else return;
  }
}

/* Letters, digits and _; may be empty. Steps over no space behind it: whether = or ( follows is
   for the caller to see. */
static syn_text syn__lexer_name(syn__lexer *x) {
  syn_text word;
  word.at = x->at;
  while (syn__is_name(*x->at)) syn__lexer_move(x);
  word.size = (size_t)(x->at - word.at);
  return word;
}

/* What stands here, for a message: a name, or one character with all its bytes. A name is shown
   whole, so that a message says `rezidual` and not `r`. */
static syn_text syn__lexer_here(const syn__lexer *x) {
  syn__lexer y = *x;
  syn_text word = syn__lexer_name(&y);
  static const char end[] = "end of text";
  if (word.size) return word;
  if (!*x->at) {
    word.at = end;
    word.size = sizeof end - 1;
    return word;
  }
  word.size = 1;
  while (((unsigned char)word.at[word.size] & 0xC0) == 0x80) word.size++;
  return word;
}

/* Steps over the sign if it stands here, and over the space behind it. All branching of the
   grammar is this one question, so it is read with one character of foresight (two for ->). */
static int syn__lexer_take(syn__lexer *x, const char *sign) {
  size_t i, size = strlen(sign);
  if (strncmp(x->at, sign, size)) return 0;
  for (i = 0; i < size; i++) syn__lexer_move(x);
  syn__lexer_space(x);
  return 1;
}
/* -> or U+2192 in UTF-8. */
static int syn__lexer_arrow(syn__lexer *x) {
  return syn__lexer_take(x, "->") || syn__lexer_take(x, "\xE2\x86\x92");
}

/* -- numbers -- */

/* [+-] digits [ . digits ] [ e [+-] digits ]; returns how many characters, 0: no number. Our
   own, since strtod reads what the host program's locale says. Digits are gathered in a double:
   up to 15 of them are exact, and the few numbers of a network have fewer. More than 60 are no
   number anybody means. */
static size_t syn__number_read(const char *text, double *number) {
  const char *at = text;
  double value = 0.0, tenth = 1.0;
  int digits = 0, exponent = 0, down = 0, power = 1;
  if (*at == '-' || *at == '+') at++;
  for (; *at >= '0' && *at <= '9'; at++, digits++) value = value * 10.0 + (*at - '0');
  if (*at == '.')
    for (at++; *at >= '0' && *at <= '9'; at++, digits++)
      value = value * 10.0 + (*at - '0'), tenth *= 10.0;
  if (digits && (*at == 'e' || *at == 'E')) {
    at++;
    if (*at == '-' || *at == '+') down = *at++ == '-';
    for (power = 0; *at >= '0' && *at <= '9'; at++, power++)
      exponent = syn__min(exponent * 10 + (*at - '0'), 400);
  }
  if (!digits || !power || digits > 60) return 0;
  for (value /= tenth; exponent > 0; exponent--) value = down ? value / 10.0 : value * 10.0;
  *number = *text == '-' ? -value : value;
  return (size_t)(at - text);
}

/* The shortest text of `digits` digits; what the locale calls a comma is a point here. Returns its
   bytes, also where they do not fit. */
static size_t syn__number_write(char *out, size_t room, int digits, double number) {
  int size = snprintf(out, room, "%.*g", digits, number), i;
  for (i = 0; i < size && (size_t)i < room; i++)
    if (out[i] == ',') out[i] = '.';
  return (size_t)size;
}

/* A letter right behind the digits is an error: `8x` is not 8. What the number may be is for the
   layer to say, while building. */
static syn_status syn__lexer_number(syn__lexer *x, double *number) {
  size_t size = syn__number_read(x->at, number);
  if (!size || syn__is_name(x->at[size]))
    return syn__fail_at(x, "wanted a number", syn__lexer_here(x));
  while (size--) syn__lexer_move(x);
  syn__lexer_space(x);
  return SYN_OK;
}

/* $NAME by its name; null: nobody gave a number for it. */
static const syn_var *syn__var_find(const syn_config *config, syn_text name) {
  int i;
  for (i = 0; i < config->n_vars; i++)
    if (syn__text_is(name, config->vars[i].name)) return &config->vars[i];
  return NULL;
}

/* The published texts of Domhan 2018 say $FF_NUM_HIDDEN, and one text serves every size. A number
   may stand here or a $NAME, nothing else. */
static syn_status syn__lexer_value(syn__lexer *x, double *number) {
  syn__lexer from = *x;
  const syn_var *var;
  if (*x->at != '$') return syn__lexer_number(x, number);
  syn__lexer_move(x);
  var = syn__var_find(x->b->config, syn__lexer_name(x));
  if (!var) {
    syn__lexer_move(&from);
    return syn__fail_at(&from, "no number was given for this $NAME", syn__lexer_here(&from));
  }
  *number = var->value;
  syn__lexer_space(x);
  return SYN_OK;
}

/* -- arguments -- */

/* The k-th "type:name" of an argument list; chains repeat the last one. Returns the type, 0:
   none. Asked in two ways: by place (`wanted` null) for positional arguments, by name for `KEY
   =`. The list is a string and not an array of structs, because messages show it as it is. */
static char syn__spec_at(const char *spec, int k, const char *wanted, syn_text *name) {
  while (*spec) {
    char type = spec[0];
    const char *end = spec + 2;
    while (*end && *end != ' ') end++;
    name->at = spec + 2;
    name->size = (size_t)(end - name->at);
    if (wanted ? syn__text_is(*name, wanted) : k == 0 || type == 'C') return type;
    k--;
    spec = *end ? end + 1 : end;
  }
  return 0;
}

/* Of the alias while the layer has not been expanded: only one of the two pointers is set. */
static const char *syn__layer_args(const syn_layer *l) {
  return l->alias ? l->alias->args : l->kind->args;
}
/* chain, layer and arg call each other; SYN_MAX_DEPTH bounds how deep, else a text of brackets
   alone would overflow the stack. */
static syn_status syn__parse_chain(syn__lexer *x, syn_layer **chain);

/* KEY "=" in front of a value: the key, and its type from the argument list. Without `=` behind
   it the word is not a key but a value or a layer's name (`res` in `repeat(2, res(id))`): then
   the lexer goes back and the place decides. `heads` alone could be both, hence the look ahead. */
static syn_status syn__parse_key(syn__lexer *x, const syn_layer *l, syn_text *name, char *type) {
  syn__lexer from = *x;
  char key[40], text[200];
  syn_text word = syn__lexer_name(x);
  syn__lexer_space(x);
  if (!word.size || !syn__lexer_take(x, "=")) {
    *x = from;
    return SYN_OK;
  }
  snprintf(key, sizeof key, "%.*s", (int)(word.size < 39 ? word.size : 39), word.at);
  *type = syn__spec_at(syn__layer_args(l), -1, key, name);
  if (*type) return SYN_OK;
  snprintf(text, sizeof text, "no such argument; %.*s takes (%s)",
           l->name.size < 30 ? (int)l->name.size : 30, l->name.at, syn__layer_args(l));
  return syn__fail_at(&from, text, word);
}

/* A word is what a name is; which words are allowed only the layer knows (syn_arg_word). */
static syn_status syn__parse_word(syn__lexer *x, syn_text *word) {
  *word = syn__lexer_name(x);
  if (!word->size) return syn__fail_at(x, "wanted a word", syn__lexer_here(x));
  syn__lexer_space(x);
  return SYN_OK;
}

/* Kinds joined by +, kept without the white space and comments between them. Read twice, first to
   learn where they end: room for the rest of the text at every layer would be the square of it. */
static syn_status syn__parse_kinds(syn__lexer *x, syn_text *kinds) {
  syn__lexer end = *x;
  syn_text word;
  char *out;
  do {
    if (syn__parse_word(&end, &word)) return SYN_E_TEXT;
  } while (syn__lexer_take(&end, "+"));
  out = (char *)syn__arena_get(&x->b->g->arena, (size_t)(end.at - x->at) + 1, 1);
  kinds->at = out;
  kinds->size = 0;
  if (!out) return SYN_E_MEMORY;
  do {
    if (syn__parse_word(x, &word)) return SYN_E_TEXT;
    if (kinds->size) out[kinds->size++] = '+';
    memcpy(out + kinds->size, word.at, word.size);
    kinds->size += word.size;
  } while (syn__lexer_take(x, "+"));
  return SYN_OK;
}

/* A chain is stored through the index, so that nothing hangs on where the list lies after a
   whole chain was read.
   An argument given twice is refused here, because syn__arg_find would silently take the first. */
static syn_status syn__parse_arg(syn__lexer *x, syn_layer *l, int place) {
  syn__lexer from = *x;
  syn_text name;
  char type = syn__spec_at(syn__layer_args(l), place, NULL, &name);
  syn__arg *a;
  if (syn__parse_key(x, l, &name, &type)) return SYN_E_TEXT;
  if (!type) return syn__fail_at(&from, "one argument too many", syn__lexer_here(&from));
  a = syn__arg_new(x->b, l, syn__arena_text(&x->b->g->arena, name.at, name.size));
  if (!a || !a->name) return SYN_E_MEMORY;
  if (type != 'C' && syn__arg_find(l, a->name) != a)
    return syn__fail_at(&from, "an argument given twice", name);
  a->line = from.line;
  a->column = from.column;
  if (type == 'c' || type == 'C') {
    syn_layer *chain = NULL;
    syn_status s = syn__parse_chain(x, &chain);
    l->args[l->n_args - 1].chain = chain;
    return s;
  }
  if (type == 'w') return syn__parse_word(x, &a->word);
  if (type == 'k') return syn__parse_kinds(x, &a->word);
  return syn__lexer_value(x, &a->number);
}

/* `,` and `|` are the same to us: Sockeye writes `|` between chains, and people forget which one
   it was. */
static syn_status syn__parse_args(syn__lexer *x, syn_layer *l) {
  int place = 0;
  if (syn__lexer_take(x, ")")) return SYN_OK;
  do {
    if (syn__parse_arg(x, l, place++)) return x->b->c->status;
  } while (syn__lexer_take(x, ",") || syn__lexer_take(x, "|"));
  if (!syn__lexer_take(x, ")")) return syn__fail_at(x, "wanted , | or )", syn__lexer_here(x));
  return SYN_OK;
}

/* *out is set before anything can fail, so that the chain read so far hangs together. No
   bracket and () are the same: all arguments have their defaults. Where the name stands is kept
   for messages while building, long after the lexer has gone. */
static syn_status syn__parse_layer(syn__lexer *x, syn_layer **out) {
  syn__lexer from = *x;
  syn_layer *l = (syn_layer *)syn__arena_get(&x->b->g->arena, 1, sizeof *l);
  if (!l) return SYN_E_MEMORY;
  *out = l;
  l->line = x->line;
  l->column = x->column;
  l->name = syn__lexer_name(x);
  if (!l->name.size)
    return syn__fail_at(&from, "wanted the name of a layer", syn__lexer_here(&from));
  if (syn__name_bind(&from, l)) return x->b->c->status;
  syn__lexer_space(x);
  return syn__lexer_take(x, "(") ? syn__parse_args(x, l) : SYN_OK;
}

static syn_status syn__parse_chain(syn__lexer *x, syn_layer **chain) {
  syn_layer **end = chain;
  if (++x->depth > SYN_MAX_DEPTH)
    return syn__fail_at(x, "chains inside chains, more than 32 deep", syn__lexer_here(x));
  do {
    if (syn__parse_layer(x, end)) return x->b->c->status;
    end = &(*end)->next;
  } while (syn__lexer_arrow(x));
  x->depth--;
  return SYN_OK;
}

/* Reads all of a text; null: recorded. The tree lies in the arena of the graph and lives as long
   as the model does, since kinds keep paths and words of it. */
static syn_layer *syn__parse(syn_build *b, const char *text) {
  syn__lexer x;
  syn_layer *chain = NULL;
  memset(&x, 0, sizeof x);
  x.b = b;
  x.at = text;
  x.line = x.column = 1;
  syn__lexer_space(&x);
  if (syn__parse_chain(&x, &chain)) return NULL;
  if (*x.at) {
    syn__fail_at(&x, "wanted -> or the end of the text", syn__lexer_here(&x));
    return NULL;
  }
  return chain;
}

static syn_status syn__text_long(syn_build *b) {
  return syn__fail(b->c, SYN_E_TEXT, "%s: the text has more than %d bytes", b->side, SYN_MAX_TEXT);
}

/* The caller's text, so that it need not live as long as the model. */
static char *syn__text_copy(syn_build *b, const char *text) {
  size_t size = strlen(text);
  if (size <= SYN_MAX_TEXT) return syn__arena_text(&b->g->arena, text, size);
  syn__text_long(b);
  return NULL;
}

/* The text with every $NAME replaced by its number: what a model file stores. Only $NAMEs that
   were given are replaced; one in a comment may have no number and stays. %.17g gives every
   double back exactly. A file without $ can be read by whoever does not know the numbers, and its
   text alone says what the network is. */
static char *syn__text_replaced(syn_build *b, const char *text) {
  char *out = (char *)syn__arena_get(&b->g->arena, SYN_MAX_TEXT + 1, 1);
  size_t used = 0;
  if (!out) return NULL;
  while (*text && used <= SYN_MAX_TEXT) {
    syn_text name;
    const syn_var *var;
    name.at = text + 1;
    for (name.size = 0; *text == '$' && syn__is_name(name.at[name.size]); name.size++) continue;
    var = name.size && *text == '$' ? syn__var_find(b->config, name) : NULL;
    if (!var) out[used++] = *text++;
    else {
      used += syn__number_write(out + used, SYN_MAX_TEXT + 1 - used, 17, var->value);
      text = name.at + name.size;
    }
  }
  if (used <= SYN_MAX_TEXT) return out;
  syn__text_long(b);
  return NULL;
}

/* -- building -- */

/* One layer at the end of b->path, which names its parameters. A path that was cut off would
   give two layers one name, so the second would run on the weights of the first, whatever their
   shape. The numbers of branches come without a look of their own: behind each stands one of a
   layer. b->path is one buffer for the whole recursion: each level appends its number and cuts
   it off again. The result is asked of the status as well, since syn_arg_int and its like
   record an error and return a default, so that a kind needs no check behind every argument. */
static int syn__build_layer(syn_build *b, const syn_layer *l, int number, int x) {
  size_t size = strlen(b->path);
  int y;
  b->layer = l;
  if (syn__path_push(b, number)) return -1;
  y = l->kind->build ? l->kind->build(b, l, x) : syn__build_leaf(b, l, x);
  b->path[size] = 0;
  return b->c->status == SYN_OK ? y : -1;
}

/* The layers of a chain or of an alias, which take the next numbers of the chain. A `dropout`
   directly after a layer that ends with dropout does nothing. Layers are counted, since nodes
   alone do not bound the time: repeat(1000, repeat(1000, repeat(1000, id))) makes none. Chains
   inside expansions share `number` and `dropped` with the chain around them: ffl counts as two
   layers and ends with the dropout of its linear. */
static int syn__build_layers(syn_build *b, const syn_layer *l, int *number, int *dropped, int x) {
  for (; l && x >= 0; l = l->next) {
    if (b->layers++ == SYN_MAX_LAYERS) {
      b->layer = l;
      syn__fail_build(b, SYN_E_TEXT, "a network of more than %d layers", SYN_MAX_LAYERS);
      return -1;
    }
    if (l->alias) {
      const syn_layer *expanded;
      b->layer = l;
      expanded = l->alias->expand(b, l, syn__build_width_of(b, x));
      x = expanded ? syn__build_layers(b, expanded, number, dropped, x) : -1;
      continue;
    }
    if (!(*dropped && l->kind == &syn__kind_dropout)) x = syn__build_layer(b, l, *number, x);
    *dropped = l->kind->drops;
    ++*number;
  }
  return x;
}

/* Numbers of layers begin anew, `dropped` too: a dropout at the head of a chain follows nothing
   of that chain. A rel_pos holds until the end of its chain. The depth was bounded while reading
   already; this bound is for kinds of a user that call syn_build_chain on their own account. */
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

/* How many source attentions with this `source` a chain has, repeat counted out. Needed before
   the decoder is built: the i-th of n layers with source=decreasing reads block n+1-i, so the
   first one must know n. Sums are capped at 2^20, far above SYN_MAX_NODES; without a cap repeats
   inside repeats would overflow an int. */
static int syn__count_source(syn_build *b, const syn_layer *l, const char *source) {
  int sum = 0, i;
  for (; l; l = l->next) {
    const syn__arg *a = syn__arg_find(l, "source"), *n = syn__arg_find(l, "n");
    int inside = 0;
    if (a && syn__text_is(a->word, source)) sum++;
    for (i = 0; i < l->n_args; i++)
      if (l->args[i].chain)
        inside = syn__min(inside + syn__count_source(b, l->args[i].chain, source), 1 << 20);
    if (inside && l->kind == &syn__kind_repeat && n && n->number >= 1 && n->number <= 1000)
      inside *= (int)n->number;
    sum = syn__min(sum + inside, 1 << 20);
  }
  return sum;
}

/* ==============================================================================================
   >>build   configuration, text of both sides: a network as a graph
   ============================================================================================== */

/* What the four tasks differ in. A seq2seq model is trained on the rows of its target, tag on
   those of its source, classify on one row a sentence: everything else (loss, labels, limits)
   follows from `labels`. */
typedef struct syn__task_kind {
  const char *name;
  int encoder, decoder, classes; /* what it has */
  int labels;                    /* whose rows have a label */
} syn__task_kind;

/* seq2seq stands first because it is the default. SYN_EACH: one row a sentence, made by the
   node pool. */
static const syn__task_kind syn__tasks[] = {{"seq2seq", 1, 1, 0, SYN_TGT},
                                            {"lm", 0, 1, 0, SYN_TGT},
                                            {"classify", 1, 0, 1, SYN_EACH},
                                            {"tag", 1, 0, 1, SYN_SRC}};
static const char *const syn__ties[] = {"none", "out", "all"};
/* Press and Wolf 2017: the table that embeds target tokens also scores them, which saves V d
   weights and usually helps. `all` shares it with the source side too, where both speak one
   vocabulary. */
enum { SYN__TIE_NONE, SYN__TIE_OUT, SYN__TIE_ALL };

/* g: the graph, nodes and parameters; its arena holds every text, path and name. weights and
   file exclude each other but for F16 and BF16, whose file stays open for its metadata. c is
   the context it was made with and frees with. */
struct syn_model {
  syn_context *c;
  syn_config config;           /* with every default resolved; texts in the graph's arena */
  const syn__task_kind *task;
  syn__graph g;
  int tie, final, head;        /* final: the value that `out` reads; head: the output node */
  float *weights;              /* the block of all weights, null when they lie in a file */
  size_t trained, floats;      /* floats of trained weights (they come first), of all */
  syn_tokenizer *tokenizer[2]; /* source, target; may be the same; null: none */
  syn_file *file;              /* the file whose bytes the weights are, or null */
};

/* -- configuration -- */

/* The bounds are wide, but they keep products of two of these numbers inside 2^63 and products of
   one with a small constant inside an int, so that code below needs no check of its own. */
static syn_status syn__config_range(syn_context *c, const char *name, int value, int least,
                                    int most) {
  if (value >= least && value <= most) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "%s is %d, wanted %d to %d", name, value, least, most);
}

/* !(x >= 0 && x < 1) instead of (x < 0 || x >= 1): what is not a number fails every comparison,
   and must be refused. */
static syn_status syn__config_sizes(syn_context *c, const syn_config *k,
                                    const syn__task_kind *task) {
  if (syn__config_range(c, "d_model", k->d_model, 1, 1 << 16) ||
      syn__config_range(c, "heads", k->heads, 1, 4096) ||
      syn__config_range(c, "max_len", k->max_len, 1, 1 << 20))
    return SYN_E_VALUE;
  if (task->encoder && syn__config_range(c, "src_vocab", k->src_vocab, SYN_FIRST_TOKEN, 1 << 24))
    return SYN_E_VALUE;
  if (task->decoder && syn__config_range(c, "tgt_vocab", k->tgt_vocab, SYN_FIRST_TOKEN, 1 << 24))
    return SYN_E_VALUE;
  if (task->classes && syn__config_range(c, "classes", k->classes, 2, 1 << 24)) return SYN_E_VALUE;
  if (!(k->dropout >= 0.0f && k->dropout < 1.0f))
    return syn__fail(c, SYN_E_VALUE, "dropout is %g, wanted 0 to below 1", (double)k->dropout);
  if (!(k->label_smoothing >= 0.0f && k->label_smoothing < 1.0f))
    return syn__fail(c, SYN_E_VALUE, "label_smoothing is %g, wanted 0 to below 1",
                     (double)k->label_smoothing);
  return SYN_OK;
}

/* The caller's $NAMEs: read while the network is built. */
static syn_status syn__config_vars(syn_context *c, const syn_config *k) {
  int i, bad = k->n_vars < 0 || (k->n_vars && !k->vars);
  for (i = 0; !bad && i < k->n_vars; i++) bad = !k->vars[i].name;
  if (!bad) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "%d vars: the list or a name is null", k->n_vars);
}

/* The one place where defaults are resolved. Order: lists and task first, since the rest
   depends on them. `tie` 0 stays open (m->tie -1) until the width of the decoder's output is
   known, in syn__build_head. Pointers into the caller's memory (task, tie) are replaced by our
   own; texts are copied when they are built. Ties are refused where they cannot be: classify
   and tag have no target vocabulary, `all` needs two of one size. */
static syn_status syn__config_resolve(syn_model *m, const syn_config *given) {
  syn_config *k = &m->config;
  size_t i;
  if (!syn__given(m->c, given, "configuration")) return SYN_E_VALUE;
  *k = *given;
  if (syn__config_vars(m->c, k)) return SYN_E_VALUE;
  if (!k->task) k->task = "seq2seq";
  if (!k->d_model) k->d_model = 64;
  if (!k->heads) k->heads = 4;
  if (!k->max_len) k->max_len = 128;
  for (i = 0; i < SYN__COUNT(syn__tasks); i++)
    if (!strcmp(k->task, syn__tasks[i].name)) m->task = &syn__tasks[i];
  if (!m->task)
    return syn__fail(m->c, SYN_E_VALUE, "task is '%.30s', wanted seq2seq, lm, classify or tag",
                     k->task);
  k->task = m->task->name;
  m->tie = -1;
  for (i = 0; k->tie && i < SYN__COUNT(syn__ties); i++)
    if (!strcmp(k->tie, syn__ties[i])) m->tie = (int)i;
  if (k->tie && m->tie < 0)
    return syn__fail(m->c, SYN_E_VALUE, "tie is '%.30s', wanted none, out or all", k->tie);
  if (m->task->classes && m->tie > SYN__TIE_NONE)
    return syn__fail(m->c, SYN_E_VALUE, "tie=%s: %s has only tie=none", k->tie, k->task);
  if (m->task->encoder && m->task->decoder && m->tie == SYN__TIE_ALL &&
      k->src_vocab != k->tgt_vocab)
    return syn__fail(m->c, SYN_E_VALUE, "tie=all: the vocabularies have %d and %d tokens",
                     k->src_vocab, k->tgt_vocab);
  if ((m->task->encoder && !k->encoder) || (m->task->decoder && !k->decoder))
    return syn__fail(m->c, SYN_E_VALUE, "%s needs the text of its %s", k->task,
                     m->task->encoder && !k->encoder ? "encoder" : "decoder");
  if (!m->task->encoder) k->encoder = NULL; /* what is not used is not copied and must not stay */
  if (!m->task->decoder) k->decoder = NULL;
  return syn__config_sizes(m->c, k, m->task);
}

/* -- building the graph -- */

/* From here on paths begin with the side's name and messages speak of it. `decoder` makes
   attention causal. */
static void syn__build_side(syn_build *b, const char *side) {
  b->side = side;
  b->decoder = side[0] == 'd';
  b->layer = NULL;
  snprintf(b->path, sizeof b->path, "%s", side);
}

/* Embedded tokens of one side: [rows, d_model]. Standard deviation d^-1/2, so that a row has
   length about 1; `pos` scales it by sqrt(d) to the size of the sinusoids. The embedding is a
   node like any other, only that the text does not name it. which = the stream whose ids it
   reads. With tie=all the source side asks for tgt.embed too: the first of the two makes it,
   the second finds it. */
static int syn__build_embedding(syn_build *b, const char *name, int stream, int vocabulary) {
  syn_node *n = syn__node_new(b, &syn__kind_embedding, 0, NULL);
  int shape[2];
  shape[0] = vocabulary;
  shape[1] = b->config->d_model;
  if (!n) return -1;
  n->which = stream;
  n->param[0] = syn__param_new(
      b, name, syn_initial_of(SYN_INIT_NORMAL, 1.0 / sqrt((double)b->config->d_model)), 2, shape);
  n->n_param = 1;
  return n->param[0] < 0 ? -1 : syn__node_done(b, n);
}

/* source=increasing|decreasing: the encoder's blocks, each through the norm the encoder ends in.
   The copies of the norm take its path, so that syn__param_new gives them its parameters. */
static syn_status syn__build_blocks(syn_build *b, const syn_layer *chain) {
  const syn_layer *l, *norm = NULL;
  int repeats = 0, last = (int)b->g->n_nodes - 1, i;
  for (l = chain; l; l = l->next) {
    repeats += l->kind == &syn__kind_repeat;
    if (l->alias && repeats) repeats = 2;
    if (!repeats || l->kind == &syn__kind_repeat) continue;
    if (l->kind == &syn__kind_norm || l->kind == &syn__kind_rms_norm) norm = l;
    else if (l->kind != &syn__kind_dropout && l->kind != &syn__kind_id) repeats = 2;
  }
  if (repeats != 1)
    return syn__fail(b->c, SYN_E_SHAPE,
                     "source=increasing|decreasing wants an encoder with one repeat, "
                     "and nothing but a norm, dropout or id behind it");
  while (norm && last > 0 && b->g->nodes[last]->kind != norm->kind) last--; /* its own node */
  for (i = 0; norm && i < b->n_blocks; i++) {
    b->layer = norm;
    snprintf(b->path, sizeof b->path, "%s", b->g->nodes[last]->path);
    b->blocks[i] = syn__build_leaf(b, norm, b->blocks[i]);
    if (b->blocks[i] < 0) return SYN_E_SHAPE;
  }
  return SYN_OK;
}

/* Order of events: parse, embed, build, then the blocks that source=increasing wants, which needs
   the decoder's text (parsed before) to know whether anybody asks for them. Nodes up to here run
   once per sentence when decoding; n_encoder divides them from those that run once per token. */
static int syn__build_encoder(syn_build *b, const syn_model *m, const syn_layer *decoder) {
  const syn_layer *chain;
  int x = -1;
  syn__build_side(b, "encoder");
  chain = syn__parse(b, m->config.encoder);
  if (!chain) return -1;
  x = syn__build_embedding(b, m->tie == SYN__TIE_ALL ? "tgt.embed" : "src.embed", SYN_SRC,
                           m->config.src_vocab);
  if (x >= 0) x = syn_build_chain(b, chain, x);
  b->n_increasing = syn__count_source(b, decoder, "increasing");
  b->n_decreasing = syn__count_source(b, decoder, "decreasing");
  if (x >= 0 && b->n_increasing + b->n_decreasing && syn__build_blocks(b, chain)) return -1;
  b->encoder_out = x;
  b->g->n_encoder = (int)b->g->n_nodes;
  return x;
}

/* Embedding and chain; the value `out` reads, or -1. */
static int syn__build_decoder_chain(syn_build *b, const syn_model *m, const syn_layer *chain) {
  int x = syn__build_embedding(b, "tgt.embed", SYN_TGT, m->config.tgt_vocab);
  return x < 0 ? -1 : syn_build_chain(b, chain, x);
}

/* A first guess of the width of the decoder's output, by what its layers say of their own; `width`
   reaches the first of them. No layer is asked: one that is fed a wrong width may refuse it (heads
   that do not divide it), and the network would be refused with it. Sums are capped: branches
   inside branches would overflow an int. */
static int syn__fed_guess(const syn_build *b, const syn_layer *l, int width) {
  for (; l; l = l->next) {
    syn_layer *(*expand)(syn_build *, const syn_layer *, int) = l->alias ? l->alias->expand : NULL;
    const syn__arg *n = syn__arg_find(l, "n");
    int beside = l->kind == &syn__kind_concat || expand == syn__expand_parallel, i, sum = 0;
    for (i = 0; i < l->n_args; i++) {
      if (!l->args[i].chain) continue;
      sum = beside ? syn__min(sum, SYN__MAX_WIDTH) : 0;
      sum += syn__fed_guess(b, l->args[i].chain, width);
    }
    if (sum) width = sum; /* of the other kinds every chain gives the width of the whole */
    else if (l->kind == &syn__kind_mlp_src_att || expand == syn__expand_mlp_att)
      width = b->encoder_out < 0 ? width : syn__build_width_of(b, b->encoder_out);
    else if (l->kind && !strncmp(l->kind->args, "i:n ", 4)) {
      width = b->config->d_model;
      if (n && n->number >= 1.0 && n->number <= SYN__MAX_WIDTH) width = (int)n->number;
    }
  }
  return syn__min(width, SYN__MAX_WIDTH);
}

/* The decoder; with input_feed it is built a second time where the guess was wrong, and what the
   first time has put into the graph is forgotten. */
static int syn__build_fed(syn_build *b, const syn_model *m, const syn_layer *chain) {
  syn_build before;
  syn__graph *g = b->g;
  size_t nodes = g->n_nodes, values = g->n_values, params = g->n_params;
  int x, width;
  b->fed_width = syn__fed_guess(b, chain, b->config->d_model);
  before = *b;
  x = syn__build_decoder_chain(b, m, chain);
  if (x < 0 || !g->feed || syn__build_width_of(b, x) == b->fed_width) return x;
  width = syn__build_width_of(b, x);
  *b = before;
  g->n_nodes = nodes;
  g->n_values = values;
  g->n_params = params;
  b->fed_width = width;
  x = syn__build_decoder_chain(b, m, chain);
  if (x < 0 || syn__build_width_of(b, x) == width) return x;
  b->layer = chain;
  syn__fail_build(b, SYN_E_SHAPE, "the decoder's output has width %d when %d is fed, and %d when %d"
                  " is: it must not depend on this layer", width, before.fed_width,
                  syn__build_width_of(b, x), width);
  return -1;
}

/* A seq2seq decoder that never looks at the source would train without complaint and translate
   nothing: an error is kinder. */
static int syn__build_decoder(syn_build *b, const syn_model *m, const syn_layer *chain) {
  int x;
  syn__build_side(b, "decoder");
  x = syn__build_fed(b, m, chain);
  if (x >= 0 && m->task->encoder && !b->n_source_layers) {
    syn__fail(b->c, SYN_E_TEXT, "decoder: a seq2seq decoder needs attention to the source "
              "(mh_dot_att), here is none");
    return -1;
  }
  b->g->fed = x;
  return x;
}

/* out.w and out.b, tied as asked, and the output node. Tied weights need the width of the
   embedding; by default they are tied where that is so. syn__param_new finds the name tgt.embed
   again and shares it, gradients and all. Last comes syn__node_done: it asks the kind for its
   shapes, and those need the parameters. w is [V or classes, d_out], b [V or classes]. Glorot's
   bounds are asked for even where the name is found again: then they are not used. */
static syn_status syn__build_head(syn_build *b, syn_model *m, int x) {
  syn_node *n;
  int shape[2], width = syn__build_width_of(b, x), fits = width == m->config.d_model;
  shape[0] = m->task->classes ? m->config.classes : m->config.tgt_vocab;
  shape[1] = width;
  b->layer = NULL;
  snprintf(b->path, sizeof b->path, "out");
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
  n->param[1] = syn__param_new(b, "out.b", syn_initial_of(SYN_INIT_CONSTANT, 0.0), 1, shape);
  n->n_param = 2;
  if (n->param[0] < 0 || n->param[1] < 0) return SYN_E_MEMORY;
  m->final = x;
  m->head = n->id;
  return syn__node_done(b, n) < 0 ? SYN_E_SHAPE : SYN_OK;
}

/* The decoder is parsed before the encoder is built and built after it. No number of any weight
   is touched: a plan and a file that will not fit cost the graph and nothing more. */
static syn_status syn__build_network(syn_model *m) {
  syn_build b;
  syn_layer *decoder = NULL;
  int x = -1;
  memset(&b, 0, sizeof b);
  b.c = m->c;
  b.g = &m->g;
  b.config = &m->config;
  b.chain = syn__build_chain;
  b.encoder_out = -1;
  if (m->task->decoder) {
    syn__build_side(&b, "decoder");
    m->config.decoder = syn__text_copy(&b, m->config.decoder);
    decoder = m->config.decoder ? syn__parse(&b, m->config.decoder) : NULL;
    if (!decoder) return m->c->status;
  }
  if (m->task->encoder) {
    syn__build_side(&b, "encoder");
    m->config.encoder = syn__text_copy(&b, m->config.encoder);
    if (!m->config.encoder) return SYN_E_MEMORY;
    x = syn__build_encoder(&b, m, decoder);
    if (x < 0) return m->c->status;
  }
  if (m->task->decoder) x = syn__build_decoder(&b, m, decoder);
  if (x >= 0 && m->task->labels == SYN_EACH)
    x = syn__node_done(&b, syn__node_new(&b, &syn__kind_pool, 1, &x));
  if (x < 0 || syn__build_head(&b, m, x)) return m->c->status;
  if (m->config.encoder && m->task->encoder)
    m->config.encoder = syn__text_replaced(&b, m->config.encoder);
  if (m->task->decoder) m->config.decoder = syn__text_replaced(&b, m->config.decoder);
  m->config.vars = NULL;
  m->config.n_vars = 0;
  return m->c->status;
}

/* ==============================================================================================
   >>model   the weights of a network: memory, initial values, access
   ============================================================================================== */

/* FNV-1a, 64 bits (Fowler, Noll, Vo): of names, and of results in `syn golden`. Used because it
   is a line long, needs no table and gives one number on every machine; it protects against
   nothing. */
uint64_t syn_hash(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t i;
  for (i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001B3u;
  return hash;
}

/* Every tensor begins at a multiple of 16 floats; those that training never changes come last. 16
   floats are 64 bytes, a cache line: rows of different tensors never share one, and a kernel's
   first load is aligned. Trained ones lie together, so optimizer, gradient and average walk one
   array; padding between tensors is zero and stays zero under Adam (its gradient is). */
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

/* A random orthogonal matrix [m,m]: the Q of a Gaussian matrix whose R has a diagonal above 0,
   which is uniform among all of them (Stewart 1980). It grows from its last corner: a Gaussian
   vector v of s numbers becomes the first column, v/|v|, by a reflection of what is there,
   A -= f u (u^T A) with u = v + sign(v_0) |v| e_0, f = 2/|u|^2. In double and plain arithmetic:
   2/3 m^3 steps of two. a [m,m], then u and u^T A of [m] behind it. */
static void syn__orthogonal(double *a, int m, syn_random *r) {
  double *u = a + (size_t)m * (size_t)m, *w = u + m, *row, norm, sign, f;
  int i, j, k;
  for (k = m - 1; k >= 0; k--) {
    for (i = k, norm = 0.0; i < m; i++) {
      u[i] = (double)syn_random_normal(r);
      norm += u[i] * u[i];
      w[i] = a[k * m + i] = a[i * m + k] = 0.0;
    }
    norm = sqrt(norm);
    sign = u[k] < 0.0 ? -1.0 : 1.0;
    a[k * m + k] = -sign;
    u[k] += sign * norm;
    for (i = k; i < m; i++)
      for (j = k, row = a + i * m, f = u[i]; j < m; j++) w[j] += f * row[j];
    for (i = k; i < m; i++) {
      f = norm > 0.0 ? u[i] / (norm * fabs(u[k])) : 0.0;
      for (j = k, row = a + i * m; j < m; j++) row[j] -= f * w[j];
    }
  }
}

/* The largest matrix that is drawn whole: one of 1024 takes about half a second. */
#define SYN__ORTHOGONAL 1024

/* Square blocks along the diagonals of the matrices, whose side is the width of the tensor. */
static syn_status syn__orthogonal_init(syn_context *c, const syn_param *p, float amount,
                                       syn_random *r) {
  int width = p->shape[p->rank - 1], rows = (int)(p->size / (size_t)width), row, m, i, j;
  size_t most = (size_t)syn__min(SYN__ORTHOGONAL, width);
  double *a = (double *)syn__alloc(c, (most + 2) * most, sizeof *a);
  if (!a) return SYN_E_MEMORY;
  memset(p->x, 0, p->size * sizeof *p->x);
  for (row = 0; row < rows; row += m) {
    m = syn__min(syn__min((int)most, rows - row), width - row % width);
    syn__orthogonal(a, m, r);
    for (i = 0; i < m; i++)
      for (j = 0; j < m; j++)
        p->x[(size_t)(row + i) * (size_t)width + (size_t)(row % width + j)] =
            (float)a[i * m + j] * amount;
  }
  syn__free(c, a);
  return SYN_OK;
}

/* The numbers of a tensor depend on the seed and its name alone. Not on the order of tensors, nor
   on the number of threads: a network with one more layer begins with the same numbers in all the
   others, which makes experiments comparable. syn__mix(seed + 1) spreads neighbouring seeds over
   all 64 bits before the name is hashed in. p->size numbers, row-major, one or two draws each. */
static syn_status syn__weights_init(syn_model *m, size_t i) {
  syn_param *p = &m->g.params[i];
  syn_initial init = m->g.inits[i];
  syn_random r;
  size_t k;
  r.state = syn_hash(syn__mix(m->config.seed + 1), p->name, strlen(p->name));
  if (init.kind == SYN_INIT_ORTHOGONAL)
    return syn__orthogonal_init(m->c, p, (float)init.amount, &r);
  for (k = 0; k < p->size; k++) {
    if (init.kind == SYN_INIT_CONSTANT) p->x[k] = (float)init.amount;
    else if (init.kind == SYN_INIT_UNIFORM)
      p->x[k] = (2.0f * syn_random_uniform(&r) - 1.0f) * (float)init.amount;
    else p->x[k] = syn_random_normal(&r) * (float)init.amount;
  }
  return SYN_OK;
}

/* One block for all weights. syn__alloc zeroes it, the padding too. */
static syn_status syn__weights_new(syn_model *m) {
  size_t i;
  m->weights = (float *)syn__alloc(m->c, m->floats, sizeof(float));
  if (!m->weights) return SYN_E_MEMORY;
  for (i = 0; i < m->g.n_params; i++) m->g.params[i].x = m->weights + m->g.params[i].offset;
  return SYN_OK;
}

/* Weights that lie in a file are copied before they are trained. The caller's bytes
   (syn_model_view) may be a read-only mapping, and were promised to be only read. Pointers of
   runs made before keep the old place. Done once; a second trainer finds them owned. The file's
   bytes are kept all the same, for its metadata and names. */
static syn_status syn__weights_own(syn_model *m) {
  size_t i;
  if (m->weights) return SYN_OK;
  m->weights = (float *)syn__alloc(m->c, m->floats, sizeof(float));
  if (!m->weights) return SYN_E_MEMORY;
  for (i = 0; i < m->g.n_params; i++) {
    syn_param *p = &m->g.params[i];
    memcpy(m->weights + p->offset, p->x, p->size * sizeof(float));
    p->x = m->weights + p->offset;
  }
  return SYN_OK;
}

/* Null is nothing to free. Both tokenizers may be one, freed once. The arena goes last but for
   the struct itself: names, paths and texts lie in it. */
void syn_model_free(syn_model *m) {
  if (!m) return;
  syn_tokenizer_free(m->tokenizer[0]);
  if (m->tokenizer[1] != m->tokenizer[0]) syn_tokenizer_free(m->tokenizer[1]);
  syn_file_free(m->file);
  syn__free(m->c, m->weights);
  syn__graph_free(m->c, &m->g);
  syn__free(m->c, m);
}

/* A model without the numbers of its weights. What a plan, a new model and a loaded one have in
   common: configuration, graph, sizes and names of all parameters. c->status is asked too,
   because a kind may record an error and still return. The configuration is the caller's only
   until this returns. */
static syn_model *syn__model_shell(syn_context *c, const syn_config *config) {
  syn_model *m = (syn_model *)syn__alloc(c, 1, sizeof *m);
  if (!m) return NULL;
  m->c = c;
  m->g.arena.c = c;
  if (syn__config_resolve(m, config) == SYN_OK && syn__build_network(m) == SYN_OK &&
      c->status == SYN_OK) {
    syn__weights_place(m);
    return m;
  }
  syn_model_free(m);
  return NULL;
}

syn_model *syn_model_new(syn_context *c, const syn_config *config) {
  syn_model *m = syn__model_shell(c, config);
  syn_status s = m ? syn__weights_new(m) : SYN_E_MEMORY;
  size_t i;
  for (i = 0; s == SYN_OK && i < m->g.n_params; i++) s = syn__weights_init(m, i);
  if (s == SYN_OK) return m;
  syn_model_free(m);
  return NULL;
}

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

/* A matrix is read once per token: so many multiply-adds. An embedding has no input and only
   copies a row. What depends on the length of the sentence (attention) the kind adds itself. */
syn_cost syn_model_cost(const syn_model *m, const syn_node *n, int length) {
  syn_cost cost;
  int i;
  memset(&cost, 0, sizeof cost);
  cost.length = length;
  if (!m || !n) return cost;
  for (i = 0; i < n->n_param; i++) {
    const syn_param *p = &m->g.params[n->param[i]];
    cost.parameters += (double)p->size;
    if (p->matrix && n->n_in) cost.multiply_adds += (double)p->size;
  }
  if (n->kind->cost) n->kind->cost(n, &cost);
  return cost;
}

/* Both sides may share one, and a call may hand in what the model has already: freed is only what
   the new pair does not hold, and once. */
void syn_model_set_tokenizers(syn_model *m, syn_tokenizer *source, syn_tokenizer *target) {
  syn_tokenizer *old[2];
  int i;
  if (!m) return;
  memcpy(old, m->tokenizer, sizeof old);
  m->tokenizer[SYN_SRC] = source;
  m->tokenizer[SYN_TGT] = target;
  if (old[1] == old[0]) old[1] = NULL;
  for (i = 0; i < 2; i++)
    if (old[i] != source && old[i] != target) syn_tokenizer_free(old[i]);
}
const syn_tokenizer *syn_model_tokenizer(const syn_model *m, int side) {
  return m && (side == SYN_SRC || side == SYN_TGT) ? m->tokenizer[side] : NULL;
}

/* -- beginning from another model -- */

/* The weight of `from` that stands for p of m: of the same name; where that is missing because it
   is tied, the table it is tied to. */
static const syn_param *syn__init_source(const syn_model *m, const syn_model *from,
                                         const syn_param *p) {
  const syn_param *q = syn_model_find(from, p->name);
  int tied = !strcmp(p->name, "src.embed") ? from->tie == SYN__TIE_ALL
           : !strcmp(p->name, "out.w") ? from->tie > SYN__TIE_NONE && m->task->decoder : 0;
  return !q && tied ? syn_model_find(from, "tgt.embed") : q;
}

/* The same pieces under the same ids. A model without a tokenizer on that side says nothing. */
static int syn__init_tokens(const syn_model *m, const syn_model *from, int side) {
  const syn_tokenizer *a = m->tokenizer[side], *b = from->tokenizer[side];
  int i, size = syn_tokenizer_size(a);
  if (!a || !b) return 1;
  if (size != syn_tokenizer_size(b)) return 0;
  for (i = SYN_FIRST_TOKEN; i < size; i++) {
    syn_text x = syn_tokenizer_piece(a, i, 0), y = syn_tokenizer_piece(b, i, 0);
    if (x.size != y.size || (x.size && memcmp(x.at, y.at, x.size))) return 0;
  }
  return 1;
}

/* What syn__init_tokens said of both sides, so that vocabularies are compared once. Rows of tables
   and outputs are tokens or classes: their numbers mean nothing under another numbering. */
static int syn__init_fits(const syn_model *m, const syn_model *from, const syn_param *p,
                          const int same[2]) {
  const syn_param *q = syn__init_source(m, from, p);
  int i, fits = q && q->rank == p->rank, head = !strncmp(p->name, "out.", 4);
  for (i = 0; fits && i < p->rank; i++) fits = q->shape[i] == p->shape[i];
  if (!strcmp(p->name, "src.embed")) fits = fits && same[SYN_SRC];
  if (!strcmp(p->name, "tgt.embed") || head) fits = fits && same[SYN_TGT];
  if (!strcmp(p->name, "tgt.embed") && m->tie == SYN__TIE_ALL) fits = fits && same[SYN_SRC];
  return fits && (!head || m->task == from->task || (m->task->decoder && from->task->decoder));
}

/* A weight of `from` that no weight of m asks for. */
static int syn__init_unused(const syn_model *m, const syn_model *from, const syn_param *q) {
  static const char *const tied[] = {"src.embed", "out.w"};
  int i;
  if (syn_model_find(m, q->name)) return 0;
  for (i = 0; i < 2; i++) {
    const syn_param *p = syn_model_find(m, tied[i]);
    if (p && syn__init_source(m, from, p) == q) return 0;
  }
  return 1;
}

/* The weights become m's own first: those of a file are only read. */
int syn_model_init_from(syn_model *m, const syn_model *from, int flags, syn_init_report report,
                        void *user) {
  int same[2], taken = 0;
  size_t i;
  if (!m || !syn__given(m->c, from, "model to begin from")) return -1;
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
    if (syn__init_fits(m, from, p, same)) {
      memcpy(p->x, q->x, p->size * sizeof(float));
      taken++;
    } else if (report) report(user, p, q);
  }
  for (i = 0; report && i < from->g.n_params; i++)
    if (syn__init_unused(m, from, &from->g.params[i])) report(user, NULL, &from->g.params[i]);
  return taken;
}

/* ==============================================================================================
   >>run   one batch through a network: buffers, binding, results
   ============================================================================================== */

/* Hands out parts of a block; with `base` null it only adds up. The same function first measures
   and then cuts: sizes that are planned and memory that is used cannot drift apart. */
typedef struct syn__layout {
  char *base;
  size_t used;
} syn__layout;

/* Every part begins at a multiple of 64 bytes. Sums saturate at SIZE_MAX, which no allocation
   gets, so no caller has to check. With `base` null nothing is handed out, and callers may use
   no pointer they got. */
static void *syn__layout_add(syn__layout *k, size_t count, size_t size) {
  size_t bytes = syn__mul_size(count, size), at = k->used;
  if (bytes > SIZE_MAX - SYN__ALIGN) bytes = SIZE_MAX - SYN__ALIGN;
  k->used = syn__add_size(at, (bytes + SYN__ALIGN - 1) / SYN__ALIGN * SYN__ALIGN);
  return k->base ? k->base + at : NULL;
}

/* What >>loss needs beside the tape. rows, drows [block, d] a block of labelled rows and their
   gradient; logits [block, V]; panels: out.w packed for the product; each [block] losses. The
   logits of a block take 8 MB, or up to 32 MB for 256 rows: every block reads and writes the
   gradient of out.w and packs out.w for its own way back, which fewer rows would not pay for (V
   32,000, d 512: with 64 rows the whole step takes a tenth longer). They exist in a training run
   only. */
typedef struct syn__loss_buffers {
  size_t block;          /* rows at a time */
  float *rows, *logits, *drows, *each, *panels;
  int *which;            /* rows that have a label */
} syn__loss_buffers;

/* A tape over the graph of a model, with the integers of one batch. The run lies at the head of
   its own block: one allocation, one free. */
struct syn_run {
  syn_tape tape;
  const syn_model *m;
  int mode, nodes;       /* nodes: how many of the graph run */
  syn__capacity cap;
  size_t sentences;
  int *off[SYN_STREAMS], *ids[2], *at[2], *labels;
  int n_labels;          /* labels that count in the batch bound last */
  syn__item *items;
  size_t *active;
  syn__loss_buffers loss;
};

/* A side that the task has not gets no rows, so nothing is planned for it. More sentences than
   rows there can never be. */
static syn__capacity syn__capacity_of(const syn_model *m, const syn_limits *limits,
                                      size_t *sentences) {
  syn__capacity cap;
  int length = limits->length ? limits->length : m->config.max_len;
  int src = limits->src_rows ? limits->src_rows : 4096;
  int tgt = limits->tgt_rows ? limits->tgt_rows : src;
  *sentences = (size_t)(limits->sentences ? limits->sentences : syn__max(src, tgt));
  cap.rows[SYN_SRC] = m->task->encoder ? (size_t)src : 0;
  cap.rows[SYN_TGT] = m->task->decoder ? (size_t)tgt : 0;
  cap.rows[SYN_EACH] = *sentences;
  cap.longest[SYN_SRC] = cap.longest[SYN_TGT] = (size_t)length;
  return cap;
}

/* The integers: lengths, tokens, places, labels. off [stream][sentences+1] first rows of the
   sentences; ids and at [rows] tokens and their places; pairs [sentences+1]: sums of products of
   lengths, where the attention matrix of a sentence begins. */
static void syn__layout_batch(syn_run *r, syn__layout *k) {
  int i, j;
  for (i = 0; i < SYN_STREAMS; i++)
    r->off[i] = (int *)syn__layout_add(k, r->sentences + 1, sizeof(int));
  for (i = 0; i < 2; i++) {
    r->ids[i] = (int *)syn__layout_add(k, r->cap.rows[i], sizeof(int));
    r->at[i] = (int *)syn__layout_add(k, r->cap.rows[i], sizeof(int));
  }
  for (i = 0; i < 2; i++)
    for (j = 0; j < 2; j++)
      r->tape.pairs[i][j] = (size_t *)syn__layout_add(k, r->sentences + 1, sizeof(size_t));
  r->labels = (int *)syn__layout_add(k, r->cap.rows[r->m->task->labels], sizeof(int));
}

/* Three buffers [block, d or V], not of all rows: the logits of a whole batch (4096 x 32000
   floats, half a gigabyte) are never needed at one time. 512 rows, or 64 MB of logits: every block
   walks through all of W and of its gradient once, so smaller ones cost more traffic than they save
   (V 32,000: 65 rows a block would move 16 x 130 MB of gradients). */
static void syn__layout_loss(syn_run *r, syn__layout *k) {
  const syn_param *w = &r->m->g.params[r->m->g.nodes[r->m->head]->param[0]];
  size_t v = (size_t)w->shape[0], d = (size_t)w->shape[1];
  syn__loss_buffers *l = &r->loss;
  l->block = ((size_t)1 << 24) / v;
  if (l->block > 512) l->block = 512;
  if (l->block < 32) l->block = 32;
  l->rows = (float *)syn__layout_add(k, l->block * d, sizeof(float));
  l->drows = (float *)syn__layout_add(k, l->block * d, sizeof(float));
  l->logits = (float *)syn__layout_add(k, syn__mul_size(l->block, v), sizeof(float));
  l->each = (float *)syn__layout_add(k, l->block, sizeof(float));
  l->panels = (float *)syn__layout_add(k, syn__mul_size(syn__round16(v), d), sizeof(float));
  l->which = (int *)syn__layout_add(k, r->cap.rows[r->m->task->labels], sizeof(int));
}

/* All buffers; while training the logits of the head are never whole, so its node does not run.
   Order matters in one way only: values and saved buffers come last, because syn__place
   overlays buffers whose times of use do not meet and needs them all together. Measuring and
   cutting do the same steps; `where` is null while measuring. In training the last node (the
   head) and its value are left out of the copy `shown`, so nothing is planned for logits [rows,
   V]. */
static void syn__layout_run(syn_run *r, syn__layout *k) {
  syn__graph shown = r->m->g;
  syn_tape *t = &r->tape;
  size_t count, floats, i;
  float *base;
  if (r->mode == SYN__TRAIN) shown.n_nodes = (size_t)r->m->head, shown.n_values--;
  r->nodes = (int)shown.n_nodes;
  t->tensors = (syn_tensor *)syn__layout_add(k, r->m->g.n_values, sizeof(syn_tensor));
  t->saved = (float **)syn__layout_add(k, r->m->g.n_nodes * SYN_MAX_SAVE, sizeof(float *));
  t->weights = (const float **)syn__layout_add(k, r->m->g.n_params, sizeof(float *));
  t->dweights = (float **)syn__layout_add(k, r->m->g.n_params, sizeof(float *));
  syn__layout_batch(r, k);
  t->pack = (float *)syn__layout_add(k, syn__pack_floats(t->threads), sizeof(float));
  t->scratch_size = syn__scratch_floats(&shown, &r->cap);
  t->scratch = (float *)syn__layout_add(k, syn__mul_size(t->scratch_size, (size_t)t->threads),
                                        sizeof(float));
  if (r->mode == SYN__TRAIN) syn__layout_loss(r, k);
  count = syn__item_values(&shown, r->mode, &r->cap, r->items, k->base ? t->tensors : NULL);
  syn__item_saved(&shown, r->mode, &r->cap, r->items, &count, k->base ? t->saved : NULL);
  syn__item_feed(&shown, r->mode, r->items, count);
  floats = syn__place(r->items, count, r->active);
  base = (float *)syn__layout_add(k, floats, sizeof(float));
  for (i = 0; i < count && base; i++)
    if (r->items[i].where) *r->items[i].where = base + r->items[i].at;
  for (i = shown.n_values; i-- > 0 && base && r->mode == SYN__TRAIN;) /* an heir is a smaller one */
    if (syn__dx_alias(&shown, (int)i) >= 0)
      t->tensors[syn__dx_alias(&shown, (int)i)].dx = t->tensors[i].dx;
}

/* What a run knows before it has memory. `items` and `active` serve the placing alone and are
   given back right after it. `most`: a value and its gradient each, and the saved buffers of
   every node. c may be another context than the model's: a run allocates, computes and fails
   with its own, so that several threads can run one model. */
static syn_status syn__run_setup(syn_run *r, syn_context *c, const syn_model *m, int mode,
                                 const syn_limits *limits) {
  static const syn_limits none = {0, 0, 0, 0};
  size_t most = 2 * m->g.n_values + m->g.n_nodes * SYN_MAX_SAVE;
  if (!limits) limits = &none;
  if (limits->sentences < 0 || limits->src_rows < 0 || limits->tgt_rows < 0 || limits->length < 0)
    return syn__fail(c, SYN_E_VALUE,
                     "limits: %d sentences, %d and %d rows, length %d; wanted 0 or more",
                     limits->sentences, limits->src_rows, limits->tgt_rows, limits->length);
  r->m = m;
  r->mode = mode;
  r->cap = syn__capacity_of(m, limits, &r->sentences);
  r->tape.c = c;
  r->tape.k = c->kernels;
  r->tape.g = &m->g;
  r->tape.threads = c->options.threads;
  r->items = (syn__item *)syn__alloc(c, most, sizeof(syn__item));
  r->active = (size_t *)syn__alloc(c, most, sizeof(size_t));
  return r->items && r->active ? SYN_OK : SYN_E_MEMORY;
}

/* Of use only until the buffers have their places; what stays is one block. */
static void syn__run_forget(syn_run *r, syn_context *c) {
  syn__free(c, r->items);
  syn__free(c, r->active);
  r->items = NULL;
  r->active = NULL;
}

/* The tensors' shapes but for their rows; pointers to the weights. Rows come with every batch, in
   syn__bind_shapes; the rest of a shape never changes. */
static void syn__run_tensors(syn_run *r) {
  const syn__graph *g = &r->m->g;
  size_t i;
  for (i = 0; i < g->n_values; i++) {
    syn_tensor *a = &r->tape.tensors[i];
    a->tape = &r->tape;
    a->id = (int)i;
    a->rank = g->values[i].rank;
    memcpy(a->shape, g->values[i].shape, sizeof a->shape);
  }
  for (i = 0; i < g->n_params; i++) r->tape.weights[i] = g->params[i].x;
  for (i = 0; i < 2; i++) {
    r->tape.ids[i] = r->ids[i];
    r->tape.at[i] = r->at[i];
  }
}

/* Bytes of the block of such a run, counted on a run that stands on the stack and has no memory. */
static size_t syn__run_bytes(syn_context *c, const syn_model *m, int mode,
                             const syn_limits *limits) {
  syn_run r;
  syn__layout k;
  memset(&r, 0, sizeof r);
  k.base = NULL;
  k.used = 0;
  if (syn__run_setup(&r, c, m, mode, limits) == SYN_OK) syn__layout_run(&r, &k);
  syn__run_forget(&r, c);
  return k.used;
}

/* Measure, allocate once, cut. `head` keeps the first part at a multiple of 64 behind the
   struct. */
static syn_run *syn__run_new(syn_context *c, const syn_model *m, int mode,
                             const syn_limits *limits) {
  size_t head = (sizeof(syn_run) + SYN__ALIGN - 1) / SYN__ALIGN * SYN__ALIGN;
  size_t bytes = syn__run_bytes(c, m, mode, limits);
  syn_run *r = c->status == SYN_OK ? (syn_run *)syn__alloc(c, 1, syn__add_size(head, bytes)) : NULL;
  syn__layout k;
  if (!r) return NULL;
  if (syn__run_setup(r, c, m, mode, limits) != SYN_OK) {
    syn__run_forget(r, c);
    syn__free(c, r);
    return NULL;
  }
  k.base = (char *)r + head;
  k.used = 0;
  syn__layout_run(r, &k);
  syn__run_forget(r, c);
  syn__run_tensors(r);
  return r;
}

syn_run *syn_run_new(syn_context *c, const syn_model *m, const syn_limits *limits) {
  if (!syn__given(c, m, "model")) return NULL;
  return syn__run_new(c, m, SYN__KEEP, limits);
}
void syn_run_free(syn_run *r) {
  if (r) syn__free(r->tape.c, r);
}

/* -- binding a batch: padded arrays become packed rows -- */

/* The tokens of a padded row without the zeros at its end. Only zeros behind the last token are
   padding; one in between is left for the check that refuses it. */
static int syn__row_length(const int *row, int width) {
  while (width > 0 && row[width - 1] == SYN_PAD) width--;
  return width;
}

/* Copies the tokens of a sentence behind those before. Tokens are checked here and never again:
   an embedding reads w[token] without a look. A 0 inside a sentence is refused, since it could
   only be a mistake. Differences, not sums, are compared: two ints near 2^31 must not be added. */
static syn_status syn__bind_sentence(syn_run *r, int side, const int *row, int length,
                                     int sentence) {
  static const char *const sides[] = {"source", "target"};
  int vocabulary = side ? r->m->config.tgt_vocab : r->m->config.src_vocab, i;
  int *off = r->off[side];
  if (length < 1)
    return syn__fail(r->tape.c, SYN_E_VALUE, "%s sentence %d is empty", sides[side], sentence);
  if ((size_t)length > r->cap.longest[side] ||
      (size_t)length > r->cap.rows[side] - (size_t)off[sentence])
    return syn__fail(r->tape.c, SYN_E_SHAPE,
                     "%s sentence %d has %d tokens after %d of the batch; planned "
                     "were %d at most, %d in all",
                     sides[side], sentence, length, off[sentence], (int)r->cap.longest[side],
                     (int)r->cap.rows[side]);
  for (i = 0; i < length; i++) {
    if (row[i] <= SYN_PAD || row[i] >= vocabulary)
      return syn__fail(r->tape.c, SYN_E_VALUE, "%s sentence %d: token %d is %d, wanted 1 to %d",
                       sides[side], sentence, i, row[i], vocabulary - 1);
    r->ids[side][off[sentence] + i] = row[i];
    r->at[side][off[sentence] + i] = i;
  }
  off[sentence + 1] = off[sentence] + length;
  return SYN_OK;
}

/* Rows [count, width] of the caller become off, ids, at. Padding vanishes here: from now on it
   costs nothing and can change nothing. longest is kept for the tables of N and for buffers
   that grow with it. An empty sentence is refused: a mean over no rows, a softmax over no keys
   have no value. */
static syn_status syn__bind_side(syn_run *r, int side, const int *rows, int width, int count) {
  syn_stream *s = &r->tape.stream[side];
  int i;
  r->off[side][0] = 0;
  s->count = count;
  s->longest = 0;
  s->off = r->off[side];
  if (!rows || width < 1)
    return syn__fail(r->tape.c, SYN_E_VALUE, "the batch has no %s tokens",
                     side ? "target" : "source");
  for (i = 0; i < count; i++) {
    const int *row = rows + (size_t)i * (size_t)width;
    int length = syn__row_length(row, width);
    if (syn__bind_sentence(r, side, row, length, i)) return r->tape.c->status;
    s->longest = syn__max(s->longest, length);
  }
  return SYN_OK;
}

/* Labels beside the rows; a label where there is no row, or none that fits, is an error. Width
   of the labels: 1 for classify, else that of the side they belong to. Label 0 is `ignored`,
   but for classify, where it is a class. n_labels counts those that count: the mean is over
   them. Labels may be null for a forward pass; a loss asks for them before
   (syn__bind_labelled). */
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

/* Rows of every tensor, and where the attention of each sentence begins. pairs[q][k][s] = sum
   over the sentences before s of queries times keys: attention of all sentences lies in one
   buffer, each sentence its own rectangle. A side that is not there has no `off` and no rows. */
static void syn__bind_shapes(syn_run *r) {
  const syn__graph *g = &r->m->g;
  syn_tape *t = &r->tape;
  size_t i;
  int q, k, s;
  for (i = 0; i < g->n_values; i++) {
    const syn_stream *stream = &t->stream[g->values[i].stream];
    t->tensors[i].shape[0] = stream->off ? stream->off[stream->count] : 0;
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

/* Tables of N are a promise of the text (R, D, learn_pos): a longer sentence is an error that
   names both numbers, never a silent cut. */
static syn_status syn__bind_tables(syn_run *r) {
  const syn__graph *g = &r->m->g;
  size_t i;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    int longest = r->tape.stream[g->values[n->out].stream].longest;
    if (n->table && longest > n->table)
      return syn__fail(r->tape.c, SYN_E_SHAPE,
                       "%s: a sentence of %d tokens, but %s has a table of %d "
                       "(max_len)",
                       n->path, longest, n->kind->name, n->table);
  }
  return SYN_OK;
}

/* Source before target; limits before copies; tables last, when the longest sentence is known. A
   stream that is not bound has count 0 and a null `off`. */
static syn_status syn__bind_all(syn_run *r, const syn_batch *b) {
  int i;
  if (!syn__given(r->tape.c, b, "batch")) return SYN_E_VALUE;
  if (b->count < 1 || (size_t)b->count > r->sentences)
    return syn__fail(r->tape.c, SYN_E_SHAPE, "a batch of %d sentences, planned were 1 to %d",
                     b->count, (int)r->sentences);
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

/* After a batch that was refused the run holds none: no sentence of it can be read. Binding is
   all or nothing for those who read results, and the first thing every pass does. */
static syn_status syn__bind(syn_run *r, const syn_batch *b) {
  syn_status s;
  memset(r->tape.stream, 0, sizeof r->tape.stream);
  s = syn__given(r->tape.c, b, "batch") ? syn__bind_all(r, b) : SYN_E_VALUE;
  if (s != SYN_OK) memset(r->tape.stream, 0, sizeof r->tape.stream);
  return s;
}

/* For a loss: without labels those of the batch before would still stand in r->labels.
   Everything that computes a loss comes through here. */
static syn_status syn__bind_labelled(syn_run *r, const syn_batch *b) {
  if (b && !b->labels) return syn__fail(r->tape.c, SYN_E_VALUE, "the batch has no labels");
  return syn__bind(r, b);
}

/* -- forward passes and what can be read after them -- */

/* All nodes, the head included; training stops in front of the head and lets >>loss make logits
   block by block. */
syn_status syn_run_forward(syn_run *r, const syn_batch *batch) {
  syn_status s = r ? syn__bind(r, batch) : SYN_E_VALUE;
  if (s != SYN_OK) return s;
  r->tape.training = 0;
  syn__forward(&r->tape, 0, r->nodes);
  return SYN_OK;
}

/* The rows of the stream that carries the labels: those of the target for seq2seq and lm, of the
   source for tag, one a sentence for classify. They lie packed, so a sentence is one pointer. */
const float *syn_run_logits(const syn_run *r, int sentence, int *rows) {
  const syn_stream *s = r ? &r->tape.stream[r->m->task->labels] : NULL;
  const syn_tensor *z;
  *rows = 0;
  if (!r || r->mode != SYN__KEEP || sentence < 0 || sentence >= s->count) return NULL;
  z = &r->tape.tensors[r->m->g.nodes[r->m->head]->out];
  *rows = s->off[sentence + 1] - s->off[sentence];
  return z->x + (size_t)s->off[sentence] * (size_t)syn__width(z);
}

/* The class that comes next behind `last` in the order of falling logits, equal ones by their
   number; last < 0: the first of all. -1: there is none. No list is sorted: ranks asked for are
   low. */
static int syn__class_behind(const float *z, int first, int classes, int last) {
  int i, best = -1;
  for (i = first; i < classes; i++) {
    if (last >= 0 && (z[i] > z[last] || (z[i] == z[last] && i <= last))) continue;
    if (best < 0 || z[i] > z[best]) best = i;
  }
  return best;
}

/* p_k = exp(z_k - m) / sum_j exp(z_j - m), m the largest logit, in double. Logits that are not
   numbers compare false everywhere and end as -1 or as any class: no place outside is read. */
int syn_run_class(const syn_run *r, int sentence, int row, int rank, float *p) {
  int rows, classes = r ? r->m->config.classes : 0, tag, i, k = -1, top;
  const float *z = r && r->m->task->classes ? syn_run_logits(r, sentence, &rows) : NULL;
  double sum = 0.0;
  if (p) *p = 0.0f;
  if (!z || row < 0 || row >= rows || rank < 0 || rank >= classes) return -1;
  z += (size_t)row * (size_t)classes;
  tag = r->m->task->labels == SYN_SRC;
  do k = syn__class_behind(z, tag, classes, k);
  while (k >= 0 && rank-- > 0);
  if (k < 0 || !p) return k;
  top = syn__class_behind(z, 0, classes, -1);
  for (i = 0; i < classes; i++) sum += syn__exp((double)z[i] - (double)z[top]);
  *p = (float)(syn__exp((double)z[k] - (double)z[top]) / sum);
  return k;
}

/* The i-th layer whose weights can be looked at, in the order of the text; encoder first. Null past
   the last. */
static const syn_node *syn__attention_at(const syn_model *m, int i) {
  size_t k;
  for (k = 0; m && i >= 0 && k < m->g.n_nodes; k++)
    if (m->g.nodes[k]->seen_heads && i-- == 0) return m->g.nodes[k];
  return NULL;
}

/* i counts attentions alone; the path says where in the text each stands. */
const char *syn_model_attention(const syn_model *m, int i, int *heads) {
  const syn_node *n = m ? syn__attention_at(m, i) : NULL;
  *heads = n ? n->seen_heads : 0;
  return n ? n->path : NULL;
}

/* KEEP lets every saved buffer live to the end of the pass, so the weights of all layers can be
   read afterwards: those behind the softmax, before any dropout (a run has none). */
const float *syn_run_attention(const syn_run *r, int layer, int head, int sentence, int size[2]) {
  const syn_node *n = r ? syn__attention_at(r->m, layer) : NULL;
  int to, from;
  const int *q, *k;
  size_t before;
  size[0] = size[1] = 0;
  if (!n || r->mode != SYN__KEEP || head < 0 || head >= n->seen_heads || sentence < 0) return NULL;
  to = r->m->g.values[n->out].stream;
  from = r->m->g.values[n->in[n->n_in - 1]].stream;
  if (sentence >= r->tape.stream[to].count) return NULL;
  q = r->tape.stream[to].off + sentence;
  k = r->tape.stream[from].off + sentence;
  size[0] = q[1] - q[0];
  size[1] = n->seen_keys ? n->seen_keys : k[1] - k[0];
  before = n->seen_keys ? (size_t)q[0] * (size_t)n->seen_keys : r->tape.pairs[to][from][sentence];
  return syn_saved(&r->tape, n, n->seen) + before * (size_t)n->seen_heads +
         (size_t)head * (size_t)size[0] * (size_t)size[1];
}

/* The blocks U+2591, 2592, 2593 and 2588 as bytes: a source file that was saved in another
   encoding must not change them. Counts on when `room` is full, like snprintf. */
size_t syn_attention_shades(const float *row, int keys, char *out, size_t room) {
  static const char *const shades[] = {" ", "\xE2\x96\x91", "\xE2\x96\x92", "\xE2\x96\x93",
                                       "\xE2\x96\x88"};
  size_t used = 0;
  int j;
  for (j = 0; row && j < keys; j++) {
    float p = row[j] > 0.0f ? row[j] : 0.0f; /* also what is not a number */
    int level = p < 0.8f ? (int)(p * 5.0f) : 4;
    const char *s = shades[level];
    for (; *s; s++, used++)
      if (used + 1 < room) out[used] = *s;
  }
  if (room) out[used < room ? used : room - 1] = 0;
  return used;
}

/* 0 where nothing is above it. */
static float syn__largest(const float *x, size_t n) {
  float most = 0.0f;
  size_t i;
  for (i = 0; i < n; i++)
    if (x[i] > most) most = x[i];
  return most;
}

/* Pixels of a row of cells, repeated `cell` times. */
static unsigned char *syn__picture_row(const float *row, int columns, int cell, float full,
                                       unsigned char *at) {
  size_t width = (size_t)columns * (size_t)cell;
  int j, k;
  for (j = 0; j < columns; j++) {
    float share = row[j] > 0.0f && full > 0.0f ? row[j] / full : 0.0f; /* NaN: blank */
    int ink = share < 1.0f ? (int)(share * 255.0f + 0.5f) : 255;
    memset(at + (size_t)j * (size_t)cell, 255 - ink, (size_t)cell);
  }
  for (k = 1; k < cell; k++) memcpy(at + (size_t)k * width, at, width);
  return at + (size_t)cell * width;
}

/* http://netpbm.sourceforge.net/doc/pgm.html: "P5", width, height, largest value, one byte of
   white space, then the rows from the top. */
size_t syn_attention_picture(const float *weights, const int size[2], int cell, float full,
                             void *out, size_t room) {
  unsigned char *at = (unsigned char *)out;
  size_t width, height, bytes, i;
  char head[60];
  int n;
  if (!weights || size[0] < 1 || size[1] < 1 || cell < 1) return 0;
  width = syn__mul_size((size_t)size[1], (size_t)cell);
  height = syn__mul_size((size_t)size[0], (size_t)cell);
  n = snprintf(head, sizeof head, "P5\n%lu %lu\n255\n", (unsigned long)width,
               (unsigned long)height);
  bytes = syn__add_size(syn__mul_size(width, height), (size_t)n);
  if (bytes == SIZE_MAX) return 0;
  if (!at || room < bytes) return bytes;
  if (!(full > 0.0f)) full = syn__largest(weights, (size_t)size[0] * (size_t)size[1]);
  memcpy(at, head, (size_t)n);
  at += n;
  for (i = 0; i < (size_t)size[0]; i++)
    at = syn__picture_row(weights + i * (size_t)size[1], size[1], cell, full, at);
  return bytes;
}

/* The bin is found by one product, so that a number on a border may fall to either side of it. */
size_t syn_histogram(const float *x, size_t n, float low, float high, size_t *counts, int bins) {
  double width = (double)high - (double)low, scale = (double)bins / width;
  size_t i, outside = 0;
  if (!x || !counts || bins < 1 || !(width > 0.0 && width < (double)INFINITY)) return n;
  for (i = 0; i < n; i++) {
    int bin = bins;
    if (x[i] >= low && x[i] <= high)
      bin = syn__min((int)(((double)x[i] - (double)low) * scale), bins - 1);
    if (bin < bins) counts[bin]++;
    else outside++;
  }
  return outside;
}

/* ==============================================================================================
   >>loss   mean over the labels of -sum_v q_v log p_v, q = 1-eps at the label, eps/(V-1) elsewhere
   ============================================================================================== */

/* (Szegedy et al. 2016), together with its gradient, in blocks of rows: the logits of a
   whole batch never exist, and rows without a label are never computed */

/* One block: rows first .. first+rows-1 of `which`, the list of rows that have a label. With
   scale s the kernel leaves s (p - q) where the logits were, the gradient of s times the loss:
   softmax minus target, p_v - q_v. */
typedef struct syn__loss_job {
  const syn_run *r;
  int first, rows;   /* of `which` */
  float eps, scale;  /* scale 0: no gradient */
} syn__loss_job;

/* Rows are independent; threads share them out, each row is summed by one thread in one order.
   The losses are added up afterwards, in the order of the rows: same bits for any number of
   threads. */
static void syn__task_loss(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__loss_job *j = (const syn__loss_job *)job;
  size_t i, v = (size_t)t->g->params[t->g->nodes[j->r->m->head]->param[0]].shape[0];
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++)
    j->r->loss.each[i] =
        t->k->loss(j->r->loss.logits + i * v, v,
                   j->r->labels[j->r->loss.which[(size_t)j->first + i]], j->eps, j->scale);
}

/* 1: the rows of the block stand side by side as they are, no row between them is without a
   label. */
static int syn__loss_whole(const syn__loss_job *j) {
  const int *which = j->r->loss.which + j->first;
  return which[j->rows - 1] - which[0] == j->rows - 1;
}
static const float *syn__loss_rows(const syn__loss_job *j) {
  const syn_tape *t = &j->r->tape;
  const syn_tensor *x = syn_in(t, t->g->nodes[j->r->m->head], 0);
  if (!syn__loss_whole(j)) return j->r->loss.rows;
  return x->x + (size_t)j->r->loss.which[j->first] * (size_t)syn__width(x);
}

/* Logits of a block: the labelled rows side by side, times out.w in panels, plus out.b. Rows
   without a label (ignored positions) are left out by copying the others side by side: the
   product of [rows, d] with [V, d] is the largest of the network, and no row of it should be for
   nothing. panels: packed once per batch, used by all blocks. */
static void syn__loss_logits(syn_run *r, const syn__loss_job *j) {
  syn_tape *t = &r->tape;
  const syn_node *n = t->g->nodes[r->m->head];
  const syn_tensor *x = syn_in(t, n, 0);
  size_t d = (size_t)syn__width(x);
  int i, vocab = t->g->params[n->param[0]].shape[0];
  for (i = 0; i < j->rows && !syn__loss_whole(j); i++)
    memcpy(r->loss.rows + (size_t)i * d, x->x + (size_t)r->loss.which[j->first + i] * d,
           d * sizeof(float));
  syn_gemm(t, syn_matrix_of(r->loss.logits, j->rows, vocab, 0),
           syn_matrix_of(syn__loss_rows(j), j->rows, (int)d, 0),
           syn__packed(r->loss.panels, (int)d, vocab), t->weights[n->param[1]], 0);
}

/* The logits have become their gradient: to out.w, out.b and the rows they came from. dx =
   dlogits W, dW += dlogits^T x, db += column sums. Each row belongs to one label, so the gradient
   of a row is written, not added; rows without a label keep the zeros of syn__loss. */
static void syn__loss_back(syn_run *r, const syn__loss_job *j) {
  syn_tape *t = &r->tape;
  const syn_node *n = t->g->nodes[r->m->head];
  const syn_tensor *x = syn_in(t, n, 0);
  size_t d = (size_t)syn__width(x);
  int i, whole = syn__loss_whole(j);
  syn__linear_grad g;
  g.x = syn__loss_rows(j);
  g.dy = r->loss.logits;
  g.w = t->weights[n->param[0]];
  g.dx = whole ? x->dx + (size_t)r->loss.which[j->first] * d : r->loss.drows;
  g.first_write = 1;
  g.dw = t->dweights[n->param[0]];
  g.db = t->dweights[n->param[1]];
  g.rows = (size_t)j->rows;
  g.in = (int)d;
  g.out = t->g->params[n->param[0]].shape[0];
  syn__linear_backward_of(t, &g);
  for (i = 0; i < j->rows && !whole; i++)
    memcpy(x->dx + (size_t)r->loss.which[j->first + i] * d, r->loss.drows + (size_t)i * d,
           d * sizeof(float));
}

/* out.w in panels, once for all blocks of a batch */
static void syn__loss_pack(syn_run *r) {
  syn_tape *t = &r->tape;
  int id = t->g->nodes[r->m->head]->param[0];
  const syn_param *w = &t->g->params[id];
  syn__pack_b(t, syn_transposed(syn_matrix_of(t->weights[id], w->shape[0], w->shape[1], 0)),
              r->loss.panels);
}

/* Sum of the losses of the batch that was run; with scale != 0 also the gradients, times scale.
   The sum is in double: in float the low digits of each of some thousand losses would be lost.
   x->dx is zeroed here and not in syn__backward, which begins one node earlier: the head is no node
   of a training run. */
static double syn__loss(syn_run *r, float eps, float scale) {
  syn_tape *t = &r->tape;
  const syn_node *n = t->g->nodes[r->m->head];
  const syn_tensor *x = syn_in(t, n, 0);
  int i, all = 0, rows = x->shape[0];
  double sum = 0.0;
  syn__loss_job j;
  syn__loss_pack(r);
  for (i = 0; i < rows; i++)
    if (r->m->task->labels == SYN_EACH || r->labels[i]) r->loss.which[all++] = i;
  if (scale != 0.0f && all < rows) syn__zero(t, x->dx, syn__count(x));
  j.r = r;
  j.eps = eps;
  j.scale = scale;
  for (j.first = 0; j.first < all; j.first += j.rows) {
    j.rows = syn__min((int)r->loss.block, all - j.first);
    syn__loss_logits(r, &j);
    syn__parallel(t, syn__task_loss, &j, (size_t)j.rows, 1);
    for (i = 0; i < j.rows; i++) sum += (double)r->loss.each[i];
    if (scale != 0.0f) syn__loss_back(r, &j);
  }
  return sum;
}

/* ==============================================================================================
   >>optim   learning-rate schedules, the norm of the gradient, Adam, AdamW, Adafactor, SGD
   ============================================================================================== */

/* A learning rate for step t = 1, 2, ...; w: warm-up steps, n: all steps, d: the model's width.
   Warm-up is linear from 0 in all of them. */
static const char *const syn__schedules[] = {"noam",   "rsqrt",    "linear",
                                             "cosine", "constant", "plateau"};
enum { SYN__NOAM, SYN__RSQRT, SYN__LINEAR, SYN__COSINE, SYN__CONSTANT, SYN__PLATEAU };

/* Returns the factor of lr. t counts from 1, so that the first step of a warm-up is not 0. rsqrt
   falls as sqrt(w/t) from its peak at t = w; linear and cosine end at 0 at t = n; plateau is
   constant here, validations halve state.factor instead. cos(pi t) by our own syn__sincos: libm
   differs in the last bit, and a training must not. */
static double syn__schedule(int which, double t, double w, double n, double d) {
  double up = w > 0.0 && t < w ? t / w : 1.0, rest, sine, cosine;
  if (which == SYN__NOAM) { /* Vaswani et al. 2017, section 5.3 */
    double fall = 1.0 / sqrt(t), rise = w > 0.0 ? t / (w * sqrt(w)) : fall;
    return (fall < rise ? fall : rise) / sqrt(d);
  }
  if (which == SYN__RSQRT) return t < w ? up : sqrt((w > 1.0 ? w : 1.0) / t);
  if (which == SYN__CONSTANT || which == SYN__PLATEAU || t < w) return up;
  rest = n > w ? (t - w) / (n - w) : 1.0;
  if (rest > 1.0) rest = 1.0;
  if (which == SYN__LINEAR) return 1.0 - rest;
  syn__sincos(3.14159265358979323846 * rest, &sine, &cosine); /* Loshchilov and Hutter 2017 */
  return 0.5 * (1.0 + cosine);
}

/* A tensor that is trained, and where its numbers stand in the arrays of the trainer: in those of
   the gradient and of each kept weights at `at`, in the two moments at `first` and `second`.
   A frozen tensor has no such place, and so no gradient, no moments, no step. */
typedef struct syn__trained {
  const syn_param *p;
  size_t at, first, second;
} syn__trained;

/* What is the same for all tensors in one step. */
typedef struct syn__step {
  double t;    /* 1, 2, ... */
  float rate;  /* learning rate */
  float decay; /* of the weights: rate times weight_decay */
  float scale; /* of the gradient: 1 / labels, and clipping */
} syn__step;

/* A rule of a step. Of its defaults 0 means for beta2 and eps that it has none, for beta1 that it
   does well without, for lr that it finds its own. */
typedef struct syn__optimizer {
  const char *name;
  float lr, beta1, beta2, eps;
  int decays; /* 1: weight_decay counts */
  /* floats it remembers of a tensor in the first (0) or second (1) moment */
  size_t (*keeps)(const syn_train_config *k, const syn_param *p, int moment);
  size_t (*work)(const syn_param *p); /* floats it needs while it steps along a tensor; or null */
  void (*update)(syn_trainer *t, const syn__step *s); /* one step of all tensors */
} syn__optimizer;

/* The arrays lie in one block, which begins with the gradient (syn__layout_trainer). They belong to
   the trainer and not to the model, so a model that is only read stays small. */
struct syn_trainer {
  syn_context *c;
  syn_model *m;
  syn_run *run;
  syn_train_config config;  /* with every default resolved */
  const syn__optimizer *optimizer;
  int schedule;
  int n_trained;
  size_t floats, firsts, seconds, works; /* of the gradient, both moments, the work */
  float *gradient, *first, *second, *work;
  float *best;              /* [average, floats] weights of the best checkpoints */
  syn__trained *trained;         /* [n_trained] in the order of the weights */
  float **discarded_grads; /* of the tape, and what they point into; null: nothing is frozen */
  float *sink;
  char *skip_backward;
  float *best_loss;         /* [average] their validation losses, best first */
  int n_best;
  syn_train_state state;
  int *ints;                /* [3 batch_tokens] the padded arrays of one batch */
};

/* -- the norm of the gradient -- */

/* Fixed chunks, so that the sum does not depend on the number of threads. */
#define SYN__CHUNK ((size_t)1 << 16)

static void syn__task_chunks(syn_tape *tape, const void *job, int thread, size_t begin,
                             size_t end) {
  const syn_trainer *t = (const syn_trainer *)job;
  size_t i, at, n;
  SYN__UNUSED(thread);
  for (i = begin; i < end; i++) {
    at = i * SYN__CHUNK;
    n = t->floats - at < SYN__CHUNK ? t->floats - at : SYN__CHUNK;
    t->work[i] = tape->k->dot(t->gradient + at, t->gradient + at, n);
  }
}
static size_t syn__chunks(size_t floats) {
  return floats / SYN__CHUNK + (floats % SYN__CHUNK != 0);
}

/* The norm of the sum over all labels; the caller divides. Each chunk's dot product is in float
   along 16 lanes, the chunks are added in double, in order. It is taken in every step, also where
   nothing is clipped: a number that is not finite makes it so, wherever it stands, and reading the
   gradient once costs a seventh of what the step of Adam reads and writes. */
static double syn__gradient_norm(syn_trainer *t) {
  size_t i, chunks = syn__chunks(t->floats);
  double sum = 0.0;
  syn__parallel(&t->run->tape, syn__task_chunks, t, chunks, 1);
  for (i = 0; i < chunks; i++) sum += (double)t->work[i];
  return sqrt(sum);
}

/* -- rules that treat every number alone: any slicing gives the same bits -- */

/* Numbers from .. from+n-1 of a tensor; `rule` is the kernel's struct. */
typedef void (*syn__rule)(const syn_trainer *t, const void *rule, const syn__trained *s,
                          size_t from, size_t n);
typedef struct syn__piece_job {
  const syn_trainer *t;
  const void *rule;
  syn__rule piece;
} syn__piece_job;

/* A slice of all tensors as they stand one behind the other: small ones go together. */
static void syn__task_pieces(syn_tape *tape, const void *job, int thread, size_t begin,
                             size_t end) {
  const syn__piece_job *j = (const syn__piece_job *)job;
  int i;
  SYN__UNUSED(thread);
  SYN__UNUSED(tape);
  for (i = 0; i < j->t->n_trained; i++) {
    const syn__trained *s = &j->t->trained[i];
    size_t from = s->at > begin ? s->at : begin, to = s->at + s->p->size;
    if (to > end) to = end;
    if (from < to) j->piece(j->t, j->rule, s, from - s->at, to - from);
  }
}
static void syn__update_pieces(syn_trainer *t, syn__rule piece, const void *rule) {
  syn__piece_job j;
  j.t = t;
  j.rule = rule;
  j.piece = piece;
  syn__parallel(&t->run->tape, syn__task_pieces, &j, t->floats, 4096);
}

/* Below 0 it was switched off. */
static float syn__beta1(const syn_train_config *k) { return k->beta1 > 0.0f ? k->beta1 : 0.0f; }

/* Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019, algorithm 2):
     m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, w -= lr (m fix1) / (sqrt(v fix2) + eps) + decay w,
   fix1 = 1/(1 - b1^t) and fix2 undo that both moments begin at 0. */
static size_t syn__adam_keeps(const syn_train_config *k, const syn_param *p, int moment) {
  SYN__UNUSED(k);
  SYN__UNUSED(moment);
  return p->size;
}
static void syn__adam_piece(const syn_trainer *t, const void *rule, const syn__trained *s,
                            size_t from, size_t n) {
  t->c->kernels->adam((const syn__adam *)rule, s->p->x + from, t->first + s->first + from,
                      t->second + s->second + from, t->gradient + s->at + from, n);
}
static void syn__adam_update(syn_trainer *t, const syn__step *s) {
  const syn_train_config *k = &t->config;
  syn__adam a;
  a.lr = s->rate;
  a.beta1 = syn__beta1(k);
  a.beta2 = k->beta2;
  a.eps = k->eps;
  a.decay = s->decay;
  a.fix1 = (float)(1.0 / (1.0 - syn__pow((double)a.beta1, s->t)));
  a.fix2 = (float)(1.0 / (1.0 - syn__pow((double)a.beta2, s->t)));
  a.scale = s->scale;
  syn__update_pieces(t, syn__adam_piece, &a);
}

/* SGD with momentum (Polyak 1964, the heavy ball; as in Sutskever et al. 2013, equations 1 and 2):
     m = b1 m + lr g, w -= m + decay w.
   The rate is in the memory, so a schedule that falls lets old steps roll out at their own rate.
   Without b1: w -= lr g + decay w, and nothing is kept. */
static size_t syn__sgd_keeps(const syn_train_config *k, const syn_param *p, int moment) {
  return moment == 0 && k->beta1 > 0.0f ? p->size : 0;
}
static void syn__sgd_piece(const syn_trainer *t, const void *rule, const syn__trained *s,
                           size_t from, size_t n) {
  t->c->kernels->descend((const syn__descent *)rule, s->p->x + from,
                         t->firsts ? t->first + s->first + from : NULL,
                         t->gradient + s->at + from, NULL, n);
}
static void syn__sgd_update(syn_trainer *t, const syn__step *s) {
  syn__descent d;
  d.rate = s->rate * s->scale;
  d.beta = syn__beta1(&t->config);
  d.rest = 1.0f;
  d.decay = s->decay;
  syn__update_pieces(t, syn__sgd_piece, &d);
}

/* -- Adafactor --

   (Shazeer and Stern 2018, algorithms 4 and 5 with the hyperparameters of algorithm 6.) For a
   matrix of gradients G [n,m], of which it keeps R [n] and C [m] in place of V [n,m]:
     R = b R + (1-b) (row means of G^2 + eps),  C = b C + (1-b) (column means of G^2 + eps),
     V_ij = R_i C_j / mean(R),  U = G / sqrt(V),  b = 1 - t^-0.8,  eps = 1e-30,
     W -= a U / max(1, RMS(U) / 1),  a = max(1e-3, RMS(W)) rho,  rho = min(0.01, t^-1/2).
   (The paper has sums for our means: V is the same.) A rate that is given takes the place of rho,
   and its schedule with it. Axes before the last two (heads, the channels of a convolution) are a
   row of matrices, each with an R and a C of its own; both RMS are those of the whole tensor. A
   vector is a matrix of one row, for which V = C is the full second moment: it keeps no R. With
   b1 the steps are smoothed: M = b1 M + (1-b1) (what was taken from W), W -= M.

   Four passes along G, two along W. Threads split rows, or columns where rows are summed; sums
   over rows are taken by one thread, in order, in double. */

/* The tensor as matrices [rows,cols], and where its numbers are. */
typedef struct syn__factored {
  size_t mats, rows, cols;
  float *row, *col;        /* R [mats,rows], null for a vector; C [mats,cols] */
  float *a, *sum, *b;      /* work: 1 / sqrt(R / mean(R)), a sum per row, 1 / sqrt(C) */
  float *w, *m;            /* m null: no memory */
  const float *g;
  syn__factor factor;
  syn__descent descent;
} syn__factored;

/* A shape multiplies inside an int (syn__param_new). */
static syn__factored syn__factored_of(const syn_param *p) {
  syn__factored f;
  memset(&f, 0, sizeof f);
  f.cols = (size_t)p->shape[p->rank - 1];
  f.rows = p->rank > 1 ? (size_t)p->shape[p->rank - 2] : 1;
  f.mats = p->size / (f.rows * f.cols);
  return f;
}
static size_t syn__adafactor_keeps(const syn_train_config *k, const syn_param *p, int moment) {
  syn__factored f = syn__factored_of(p);
  if (moment == 0) return k->beta1 > 0.0f ? p->size : 0;
  return f.mats * ((p->rank > 1 ? f.rows : 0) + f.cols);
}
static size_t syn__adafactor_work(const syn_param *p) {
  syn__factored f = syn__factored_of(p);
  return f.mats * (2 * f.rows + f.cols);
}

/* How many rows or columns are worth a thread, each of so many numbers. */
static size_t syn__grain(size_t each) { return each < 4096 ? 4096 / each : 1; }

/* a = sums of G^2 along the rows, sum = those of W^2 */
static void syn__task_factor_rows(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn__factored *f = (const syn__factored *)job;
  size_t r;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    f->a[r] = t->k->dot(f->g + r * f->cols, f->g + r * f->cols, f->cols);
    f->sum[r] = t->k->dot(f->w + r * f->cols, f->w + r * f->cols, f->cols);
  }
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
/* sum = sums of (G b)^2 along the rows */
static void syn__task_factor_size(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn__factored *f = (const syn__factored *)job;
  size_t r;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++)
    f->sum[r] = t->k->squares(f->g + r * f->cols, f->b + r / f->rows * f->cols, f->cols);
}
static void syn__task_factor_step(syn_tape *t, const void *job, int thread, size_t begin,
                                  size_t end) {
  const syn__factored *f = (const syn__factored *)job;
  syn__descent d = f->descent;
  size_t r;
  SYN__UNUSED(thread);
  for (r = begin; r < end; r++) {
    size_t at = r * f->cols;
    d.rate = f->descent.rate * f->a[r];
    t->k->descend(&d, f->w + at, f->m ? f->m + at : NULL, f->g + at, f->b + r / f->rows * f->cols,
                  f->cols);
  }
}

/* From the sums in `a`: R, and then a = sqrt(mean(R) / R). A vector: a = 1. */
static void syn__factor_rows(const syn__factored *f) {
  const float square = f->factor.square * (float)f->rows / (float)f->cols;
  size_t i, k;
  for (i = 0; i < f->mats; i++) {
    float *row = f->row ? f->row + i * f->rows : NULL, *a = f->a + i * f->rows;
    double mean = 0.0;
    for (k = 0; k < f->rows && row; k++) {
      row[k] = f->factor.beta * row[k] + f->factor.rest * (a[k] * square + f->factor.eps);
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
    sum += a * a * (double)f->sum[r];
  }
  return sqrt(sum / ((double)(f->mats * f->rows) * (double)f->cols));
}

static void syn__adafactor_tensor(syn_trainer *t, const syn__trained *s, syn__factored *f,
                                  const syn__step *step) {
  syn_tape *tape = &t->run->tape;
  size_t rows = f->mats * f->rows, cols = f->mats * f->cols, grain = syn__grain(f->cols);
  double rate = (double)step->rate, rms;
  f->w = s->p->x;
  f->m = t->firsts ? t->first + s->first : NULL;
  f->g = t->gradient + s->at;
  f->row = s->p->rank > 1 ? t->second + s->second : NULL;
  f->col = t->second + s->second + (f->row ? rows : 0);
  f->a = t->work;
  f->sum = f->a + rows;
  f->b = f->sum + rows;
  syn__parallel(tape, syn__task_factor_rows, f, rows, grain);
  rms = syn__factored_rms(f, NULL);
  rate *= rms > 1e-3 ? rms : 1e-3;
  syn__parallel(tape, syn__task_factor_cols, f, cols, syn__round16(syn__grain(f->rows)));
  syn__factor_rows(f);
  syn__parallel(tape, syn__task_factor_size, f, rows, grain);
  rms = syn__factored_rms(f, f->a) * (double)step->scale;
  f->descent.rate = (float)(rate * (double)step->scale / (rms > 1.0 ? rms : 1.0));
  syn__parallel(tape, syn__task_factor_step, f, rows, grain);
}

static void syn__adafactor_update(syn_trainer *t, const syn__step *s) {
  double rest = syn__pow(s->t, -0.8);
  int i;
  for (i = 0; i < t->n_trained; i++) {
    syn__factored f = syn__factored_of(t->trained[i].p);
    f.factor.rows = f.rows;
    f.factor.width = f.cols;
    f.factor.beta = (float)(1.0 - rest);
    f.factor.rest = (float)rest;
    f.factor.square = s->scale * s->scale / (float)f.rows;
    f.factor.eps = 1e-30f;
    f.descent.beta = syn__beta1(&t->config);
    f.descent.rest = 1.0f - f.descent.beta;
    f.descent.decay = s->decay;
    syn__adafactor_tensor(t, &t->trained[i], &f, s);
  }
}

/* -- the one list of rules, and the step -- */

/* adam has no decay: L2 in the gradient is not what anybody wants from it (Loshchilov and Hutter
   2019), and the one beside it is called adamw. */
static const syn__optimizer syn__optimizers[] = {
    {"adam", 0.001f, 0.9f, 0.98f, 1e-9f, 0, syn__adam_keeps, NULL, syn__adam_update},
    {"adamw", 0.001f, 0.9f, 0.98f, 1e-9f, 1, syn__adam_keeps, NULL, syn__adam_update},
    {"adafactor", 0.0f, 0.0f, 0.0f, 0.0f, 1, syn__adafactor_keeps, syn__adafactor_work,
     syn__adafactor_update},
    {"sgd", 0.1f, 0.9f, 0.0f, 0.0f, 1, syn__sgd_keeps, NULL, syn__sgd_update}};

/* The rate of step t. Adafactor's own relative steps know no schedule, but plateau's factor. */
static float syn__rate(const syn_trainer *t, double step) {
  const syn_train_config *k = &t->config;
  double own = 1.0 / sqrt(step);
  if (k->lr == 0.0f) return (float)(own < 0.01 ? own : 0.01) * t->state.factor;
  return (float)(syn__schedule(t->schedule, step, (double)k->warmup, (double)k->steps,
                               (double)t->m->config.d_model) *
                 (double)k->lr) *
         t->state.factor;
}

/* One step with the gradients of `labels` losses added up, that is with their mean, whose norm is
   given. Clipping is folded into the scale, so no pass over the gradient is spent on it. The decay
   stands apart from the gradient and shares the rate's schedule. */
static void syn__optimize(syn_trainer *t, long labels, double norm) {
  const syn_train_config *k = &t->config;
  syn__step s;
  s.t = (double)++t->state.step;
  s.rate = t->state.rate = syn__rate(t, s.t);
  s.decay = t->optimizer->decays ? k->weight_decay * s.rate : 0.0f;
  s.scale = (float)((k->clip > 0.0f && norm > (double)k->clip ? (double)k->clip / norm : 1.0) /
                    (double)labels);
  t->optimizer->update(t, &s);
}

/* ==============================================================================================
   >>data   rows of tokens, batches of like length, the order of an epoch
   ============================================================================================== */

/* -- data: pairs of token rows in one growing array -- */

/* Row i owns tokens at[2i] .. at[2i+1]-1 (source) and at[2i+1] .. at[2i+2]-1 (target): two arrays
   for any number of rows, and a row costs no allocation. */
struct syn_data {
  syn_context *c;
  int *tokens;
  size_t n_tokens, cap_tokens;
  size_t *at;              /* [2 * count + 1] source, target, source, ... */
  int *context;            /* [count] first labels that do not count; -1: a sentence with its end */
  size_t count, cap_at;
  uint64_t *order;         /* [count] the rows of an epoch, sorted; 28 low bits: which row */
  size_t *first;           /* [n_batches + 1] where each batch begins in `order` */
  size_t *shuffled;        /* [n_batches] the batches in the order they come */
  size_t n_batches, cap_order, cap_first, cap_shuffled, cap_context;
  size_t laid_count;       /* which epoch that is: of so many rows, 0: none was laid out */
  int laid_tokens;
  uint64_t laid_seed;
  long laid_epoch;
  syn_corruption corruption; /* count 0: the rows are what they are */
};

#define SYN__DATA_ROWS ((size_t)1 << 27) /* fit the 28 bits of `order` */
#define SYN__DATA_LENGTH (1 << 24)       /* no batch holds a longer row */

/* at[0] is 0 because grown memory is zeroed; nothing more is allocated before the first row. */
syn_data *syn_data_new(syn_context *c) {
  syn_data *d = (syn_data *)syn__alloc(c, 1, sizeof *d);
  if (d) d->c = c;
  return d;
}

/* Its arrays were grown with the context it was made with, and go back to that. */
void syn_data_free(syn_data *d) {
  if (!d) return;
  syn__free(d->c, d->tokens);
  syn__free(d->c, d->at);
  syn__free(d->c, d->context);
  syn__free(d->c, d->order);
  syn__free(d->c, d->first);
  syn__free(d->c, d->shuffled);
  syn__free(d->c, d);
}

size_t syn_data_count(const syn_data *d) { return d ? d->count : 0; }

/* Three arrays grow before anything is written: when one fails, the rows that were there are
   whole and no row is half there. What the tokens are is checked when a batch is bound, where the
   vocabulary is known. */
syn_status syn_data_add(syn_data *d, const int *src, int n_src, const int *tgt, int n_tgt) {
  size_t need;
  if (!d) return SYN_E_VALUE;
  if (n_src < 0 || n_tgt < 0 || n_src > SYN__DATA_LENGTH || n_tgt > SYN__DATA_LENGTH)
    return syn__fail(d->c, SYN_E_VALUE, "data: rows of %d and %d tokens, wanted 0 to %d", n_src,
                     n_tgt, SYN__DATA_LENGTH);
  if ((n_src && !syn__given(d->c, src, "source row")) ||
      (n_tgt && !syn__given(d->c, tgt, "target row")))
    return SYN_E_VALUE;
  if (d->count >= SYN__DATA_ROWS)
    return syn__fail(d->c, SYN_E_VALUE, "data: more than %lu rows", (unsigned long)SYN__DATA_ROWS);
  need = d->n_tokens + (size_t)n_src + (size_t)n_tgt;
  if (syn__grow(d->c, &d->tokens, &d->cap_tokens, need, sizeof(int)) ||
      syn__grow(d->c, &d->at, &d->cap_at, 2 * d->count + 3, sizeof(size_t)) ||
      syn__grow(d->c, &d->context, &d->cap_context, d->count + 1, sizeof(int)))
    return SYN_E_MEMORY;
  if (n_src > 0) memcpy(d->tokens + d->n_tokens, src, (size_t)n_src * sizeof(int));
  if (n_tgt > 0) memcpy(d->tokens + d->n_tokens + n_src, tgt, (size_t)n_tgt * sizeof(int));
  d->at[2 * d->count + 1] = d->n_tokens + (size_t)n_src;
  d->at[2 * d->count + 2] = need;
  d->n_tokens = need;
  d->context[d->count++] = -1;
  return SYN_OK;
}

/* Overlap gives the first tokens of a window something to look back on; their labels become 0
   (ignored), or each token would count twice. `context` says how many: 0 in the first window,
   where nothing was before. A last window without a new token is not made. */
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
    d->context[d->count - 1] = at ? window - stride : 0;
  }
  return SYN_OK;
}

/* -- span corruption (Raffel et al. 2020, sections 3.1.4 and 3.3.4) -- */

/* How much of n tokens is hidden, in how many runs:

     hidden = round(n noise), 1 .. n-1      runs = round(hidden / span), 1 .. count

   and each run needs a token of its own and one before it, so there are at most as many as tokens
   of either sort. With T5's 0.15 and 3, 40 tokens lose 6 in 2 runs. Written so that what is not a
   number ends at the least. */
static int syn__corrupt_runs(const syn_corruption *k, int n, int *hidden) {
  double noise = k->noise != 0.0f ? (double)k->noise : 0.15;
  double span = k->span != 0.0f ? (double)k->span : 3.0, wanted = floor(noise * n + 0.5), runs;
  int most;
  *hidden = 0;
  if (n < 2 || k->count < 1) return 0;
  *hidden = !(wanted >= 1.0) ? 1 : wanted < n - 1 ? (int)wanted : n - 1;
  most = syn__min(k->count, syn__min(*hidden, n - *hidden));
  runs = floor(*hidden / span + 0.5);
  return !(runs >= 1.0) ? 1 : runs < most ? (int)runs : most;
}

void syn_corrupt_sizes(const syn_corruption *k, int n, int *n_src, int *n_tgt) {
  int hidden, runs = syn__corrupt_runs(k, n, &hidden);
  *n_src = n - hidden + runs;
  *n_tgt = hidden + runs;
}

/* `items` that are left, to be cut at `cuts` of the places between them. */
typedef struct syn__cutting {
  int items, cuts;
} syn__cutting;

/* The length of the next run. Every set of places is equally probable when each place is taken with
   the chance (cuts left) / (places left), one after the other (Knuth, volume 2, 3.4.2, algorithm
   S): no list of places is needed. Behind the first item of a run as many places are left as
   items. */
static int syn__cutting_next(syn__cutting *k, syn_random *r) {
  int size = 1;
  k->items--;
  while (k->items > 0 && syn_random_below(r, k->items) >= k->cuts) k->items--, size++;
  if (k->cuts) k->cuts--;
  return size;
}

/* Runs that stay and runs that are hidden take turns. */
void syn_corrupt(const syn_corruption *k, const int *tokens, int n, syn_random *r, int *src,
                 int *tgt) {
  int hidden, runs = syn__corrupt_runs(k, n, &hidden), i, size;
  syn__cutting stays, hides;
  stays.items = n - hidden;
  hides.items = hidden;
  stays.cuts = hides.cuts = runs - 1;
  for (i = 0; i < runs; i++) {
    for (size = syn__cutting_next(&stays, r); size > 0; size--) *src++ = *tokens++;
    *src++ = *tgt++ = k->first + i;
    for (size = syn__cutting_next(&hides, r); size > 0; size--) *tgt++ = *tokens++;
  }
  for (i = 0; !runs && i < n; i++) src[i] = tokens[i];
}

/* A layout made before is that of other lengths. */
syn_status syn_data_corrupt(syn_data *d, const syn_corruption *k) {
  if (!d) return SYN_E_VALUE;
  if (!syn__given(d->c, k, "corruption")) return SYN_E_VALUE;
  if (!(k->noise >= 0.0f && k->noise < 1.0f && (k->span == 0.0f || k->span >= 1.0f)) ||
      k->first < SYN_FIRST_TOKEN || k->count < 1 || k->count > SYN__DATA_LENGTH ||
      k->first > SYN__DATA_LENGTH)
    return syn__fail(d->c, SYN_E_VALUE,
                     "corruption: noise %g, span %g, sentinels from %d, %d of them: wanted 0 to "
                     "below 1, 1 or more, %d or more, 1 or more",
                     (double)k->noise, (double)k->span, k->first, k->count, SYN_FIRST_TOKEN);
  d->corruption = *k;
  d->laid_count = 0;
  return SYN_OK;
}

/* -- the order of an epoch -- */

/* Fits an int: a row has at most 2^24 tokens. */
static int syn__data_stored(const syn_data *d, size_t i, int side) {
  return (int)(d->at[2 * i + (size_t)side + 1] - d->at[2 * i + (size_t)side]);
}
/* Of the row as it comes: its length after corruption does not depend on chance, so an epoch can be
   laid out before anything is drawn. */
static int syn__data_length(const syn_data *d, size_t i, int side) {
  int size[2];
  if (!d->corruption.count) return syn__data_stored(d, i, side);
  syn_corrupt_sizes(&d->corruption, syn__data_stored(d, i, SYN_SRC), &size[0], &size[1]);
  return size[side];
}
/* Rows are numbered as they were added, whatever order an epoch has. */
const int *syn_data_row(const syn_data *d, size_t i, int side, int *length) {
  *length = 0;
  if (!d || i >= d->count || (side != SYN_SRC && side != SYN_TGT)) return NULL;
  *length = syn__data_stored(d, i, side);
  return d->tokens ? d->tokens + d->at[2 * i + (size_t)side] : NULL; /* null: all rows are empty */
}
/* Tokens of the longer side with its end: what batch_tokens counts. At least 2, so that a batch
   has at most batch_tokens / 2 sentences, as syn__train_limits plans. */
static int syn__data_longest(const syn_data *d, size_t i) {
  return syn__max(1, syn__max(syn__data_length(d, i, 0), syn__data_length(d, i, 1))) + 1;
}

/* Heapsort: n log n whatever the lengths are, and no memory; qsort of libc promises neither and
   may call malloc behind the caller's allocator. No two keys are equal, so the order is one.
   key[0..n) is a heap but for `root`, whose key sinks below its larger children. The children
   of k are 2k + 1 and 2k + 2. */
static void syn__sort_sift(uint64_t *key, size_t root, size_t n) {
  uint64_t sinking = key[root];
  size_t child;
  while ((child = 2 * root + 1) < n) {
    if (child + 1 < n && key[child] < key[child + 1]) child++;
    if (sinking > key[child]) break;
    key[root] = key[child];
    root = child;
  }
  key[root] = sinking;
}
static void syn__sort_keys(uint64_t *key, size_t n) {
  size_t i;
  for (i = n / 2; i-- > 0;) syn__sort_sift(key, i, n);
  for (i = n; i-- > 1;) {
    uint64_t largest = key[0];
    key[0] = key[i];
    key[i] = largest;
    syn__sort_sift(key, 0, i);
  }
}

/* Cuts the sorted rows into batches of at most `tokens` padded tokens a side. A row that is too
   long alone is found wherever it stands: the arrays of a batch have no room for it. `longest`
   is that of the batch so far, `most` with the row at i: (i - begin + 1) rows of `most` tokens
   is what the padded batch would take. At i == count, n is 0 and the last batch is closed.
   first[k] .. first[k+1]-1 are the rows of batch k in `order`; n_batches and the closing entry
   are right after every step, so what stands there when memory ends is consistent. */
static syn_status syn__data_cut(syn_data *d, int tokens) {
  size_t i, begin = 0;
  int longest = 0;
  d->n_batches = 0;
  for (i = 0; i <= d->count; i++) {
    int n = i < d->count ? syn__data_longest(d, (size_t)(d->order[i] & 0xFFFFFFF)) : 0;
    int most = syn__max(longest, n);
    if (n > tokens)
      return syn__fail(d->c, SYN_E_SHAPE, "a sentence of %d tokens does not fit a batch of %d", n,
                       tokens);
    if (i == d->count || (size_t)most * (i - begin + 1) > (size_t)tokens) {
      if (syn__grow(d->c, &d->first, &d->cap_first, d->n_batches + 2, sizeof(size_t)))
        return SYN_E_MEMORY;
      d->first[d->n_batches] = begin;
      d->n_batches++;
      d->first[d->n_batches] = begin = i;
      most = n;
    }
    longest = most;
  }
  return SYN_OK;
}

/* The batches of one epoch. Rows are sorted by length (in steps of 3 tokens, ties by chance),
   cut, and the batches shuffled; all from the seed and the epoch's number. epoch < 0: in order
   of length, unshuffled. Key of a row: 12 bits of target length / 3, 12 bits of source length /
   3, 12 bits of chance, 28 bits of the row's number, so one sort of integers does it all. Rows
   of like length waste no padding; a random remainder before the division lets a length fall on
   either side of a border, so batches differ from epoch to epoch. Shuffled after Fisher and
   Yates. A failure leaves laid_count 0: nobody reads half a layout. The batches are shuffled,
   not the rows: rows of one batch stay of like length. */
static syn_status syn__data_epoch(syn_data *d, int tokens, uint64_t seed, long epoch) {
  syn_random r;
  size_t i;
  syn_status s;
  d->laid_count = 0;
  r.state = syn__mix(seed ^ (0xD1B54A32D192ED03u * (uint64_t)(epoch + 2)));
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
  syn__sort_keys(d->order, d->count);
  s = syn__data_cut(d, tokens);
  if (s != SYN_OK) return s;
  if (syn__grow(d->c, &d->shuffled, &d->cap_shuffled, d->n_batches, sizeof(size_t)))
    return SYN_E_MEMORY;
  for (i = 0; i < d->n_batches; i++) d->shuffled[i] = i;
  for (i = d->n_batches; i > 1 && epoch >= 0; i--) {
    size_t k = (size_t)syn_random_below(&r, (int)i), swap = d->shuffled[k];
    d->shuffled[k] = d->shuffled[i - 1];
    d->shuffled[i - 1] = swap;
  }
  d->laid_count = d->count;
  d->laid_tokens = tokens;
  d->laid_seed = seed;
  d->laid_epoch = epoch;
  return SYN_OK;
}

/* The same, unless it lies there already. Others may have laid the data out since the last
   batch (a validation on the training data, a second trainer), and with larger batches than fit
   our arrays: so whoever is about to read a batch asks here first. Asking is four comparisons;
   a layout is n log n. */
static syn_status syn__data_lay(syn_data *d, int tokens, uint64_t seed, long epoch) {
  if (d->laid_count && d->laid_count == d->count && d->laid_tokens == tokens &&
      d->laid_seed == seed && d->laid_epoch == epoch)
    return SYN_OK;
  return syn__data_epoch(d, tokens, seed, epoch);
}

size_t syn_data_batches(syn_data *d, int batch_tokens, uint64_t seed) {
  return !d || syn__data_lay(d, batch_tokens, seed, 0) ? 0 : d->n_batches;
}

/* -- batches -- */

/* How many sentences batch k has, and the widths of its arrays: source with its end (tag: without),
   decoder input and labels with begin or end (classify and tag: none). */
static syn_batch syn__data_shape(const syn_data *d, const syn__task_kind *task, size_t k) {
  syn_batch b;
  size_t i;
  memset(&b, 0, sizeof b);
  for (i = d->first[k]; i < d->first[k + 1]; i++) {
    size_t row = (size_t)(d->order[i] & 0xFFFFFFF);
    b.src_width =
        syn__max(b.src_width, syn__data_length(d, row, SYN_SRC) + (task->labels != SYN_SRC));
    if (task->decoder) b.tgt_width = syn__max(b.tgt_width, syn__data_length(d, row, SYN_TGT) + 1);
    b.count++;
  }
  return b;
}

/* The tokens of a row: source into s, target into l. Corruption draws from epoch, seed and row
   alone, so a training that was resumed sees what it would have seen. */
static void syn__data_fill(const syn_data *d, size_t row, int *s, int *l) {
  int n, m;
  const int *at = syn_data_row(d, row, SYN_SRC, &n), *labels = syn_data_row(d, row, SYN_TGT, &m);
  syn_random r;
  if (d->corruption.count) {
    r.state = syn__mix(d->laid_seed ^ syn__mix((uint64_t)(d->laid_epoch + 2))) + (uint64_t)row;
    r.state = syn__mix(r.state);
    syn_corrupt(&d->corruption, at, n, &r, s, l);
    return;
  }
  if (n) memcpy(s, at, (size_t)n * sizeof(int));
  if (m) memcpy(l, labels, (size_t)m * sizeof(int));
}

/* Decoder input y of the labels l. A sentence: input begin y_1 .. y_n, labels y_1 .. y_n end. A
   window of a long text has no end, so its last token is only a label: input begin y_1 .. y_n-1,
   labels y_1 .. y_n, the first `context` of them 0. */
static void syn__data_shift(int *y, int *l, int n, int context) {
  y[0] = SYN_BEGIN;
  if (context < 0) l[n] = SYN_END;
  else n--;
  if (n > 0) memcpy(y + 1, l, (size_t)n * sizeof(int));
  if (context > 0) memset(l, 0, (size_t)context * sizeof(int));
}

/* Batch `number` of the epoch as padded arrays in `ints`: source, target, labels. Three arrays of
   count rows each at most; syn__data_cut saw to it that they fit 3 batch_tokens. Padded again,
   although a run packs rows: syn_batch is the one way in, for data of ours and for arrays of a
   caller, and one way can be tested. */
static syn_batch syn__data_batch(const syn_data *d, const syn__task_kind *task, size_t number,
                                 int *ints) {
  size_t k = d->shuffled[number], i, count, width;
  syn_batch b = syn__data_shape(d, task, k);
  int *tgt, *labels;
  count = (size_t)b.count;
  width = (size_t)(task->decoder ? b.tgt_width : task->labels == SYN_SRC ? b.src_width : 1);
  tgt = ints + count * (size_t)b.src_width;
  labels = tgt + count * (size_t)b.tgt_width;
  memset(ints, 0, count * ((size_t)b.src_width + (size_t)b.tgt_width + width) * sizeof(int));
  for (i = 0; i < count; i++) {
    size_t row = (size_t)(d->order[d->first[k] + i] & 0xFFFFFFF);
    int *s = ints + i * (size_t)b.src_width, *l = labels + i * width;
    syn__data_fill(d, row, s, l);
    if (task->labels != SYN_SRC) s[syn__data_length(d, row, SYN_SRC)] = SYN_END;
    if (task->decoder)
      syn__data_shift(tgt + i * (size_t)b.tgt_width, l, syn__data_length(d, row, SYN_TGT),
                      d->context[row]);
  }
  b.src = ints;
  b.tgt = task->decoder ? tgt : NULL;
  b.labels = labels;
  return b;
}

/* ==============================================================================================
   >>train   updates, validation, the mean of the best weights
   ============================================================================================== */

/* 1: the name is the pattern, in which * stands for any characters. Only the last * that was met
   may have to take more, so there is one place to come back to. */
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
/* The next of the patterns between |; *at moves behind it, and is null after the last. */
static syn_text syn__pattern_next(const char **at) {
  const char *end = strchr(*at, '|');
  syn_text pattern;
  pattern.at = *at;
  pattern.size = end ? (size_t)(end - *at) : strlen(*at);
  *at = end ? end + 1 : NULL;
  return pattern;
}
/* 1: training does not change it: a kind says so (Fix), or a pattern does. */
static int syn__frozen(const syn_trainer *t, const syn_param *p) {
  const char *at = t->config.freeze;
  int found = !p->trained;
  while (at && !found) found = syn__pattern_is(syn__pattern_next(&at), p->name);
  return found;
}

/* A pattern that means nothing is a slip, and would train what was to stay as it is. */
static syn_status syn__freeze_check(const syn_trainer *t) {
  const char *at = t->config.freeze;
  size_t i;
  while (at) {
    syn_text pattern = syn__pattern_next(&at);
    const char *nearest = NULL;
    int found = 0, least = 99;
    for (i = 0; i < t->m->g.n_params && !found; i++) {
      const char *name = t->m->g.params[i].name;
      int distance = syn__distance(pattern, name);
      if (distance < least) least = distance, nearest = name;
      found = syn__pattern_is(pattern, name);
    }
    if (!found)
      return syn__fail(t->c, SYN_E_VALUE, "freeze: no tensor is named '%.*s'%s%.80s",
                       pattern.size < 80 ? (int)pattern.size : 80, pattern.at,
                       nearest ? "; the nearest is " : "", nearest ? nearest : "");
  }
  if (!t->n_trained)
    return syn__fail(t->c, SYN_E_VALUE, "freeze: '%.80s' leaves no tensor to train",
                     t->config.freeze ? t->config.freeze : "");
  return SYN_OK;
}

/* Where the numbers of every trained tensor stand, and how many there are in all. The places
   are written where they have memory: what plans is what places. Every part is a multiple of 16
   floats, as in the weights, so that where nothing is frozen `at` is the offset there. */
static void syn__train_trained(syn_trainer *t) {
  const syn__optimizer *o = t->optimizer;
  size_t i;
  t->n_trained = 0;
  t->floats = t->firsts = t->seconds = t->works = 0;
  for (i = 0; i < t->m->g.n_params; i++) {
    const syn_param *p = &t->m->g.params[i];
    syn__trained s;
    size_t work = o->work ? o->work(p) : 0;
    if (syn__frozen(t, p)) continue;
    s.p = p;
    s.at = t->floats;
    s.first = t->firsts;
    s.second = t->seconds;
    if (t->trained) t->trained[t->n_trained] = s;
    t->n_trained++;
    t->floats = syn__add_size(t->floats, syn__round16(p->size));
    t->firsts = syn__add_size(t->firsts, syn__round16(o->keeps(&t->config, p, 0)));
    t->seconds = syn__add_size(t->seconds, syn__round16(o->keeps(&t->config, p, 1)));
    if (work > t->works) t->works = work;
  }
  if (syn__chunks(t->floats) > t->works) t->works = syn__chunks(t->floats);
}

/* Kinds add the gradients of frozen tensors too; into a sink, which nodes share: those of one node
   lie apart in it, since threads may write them at the same time. Returns its floats; with memory
   the pointers are set. A tensor of several nodes has the place the first of them gives it. */
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
        t->discarded_grads[n->param[k]] = t->sink + at;
      at = syn__add_size(at, syn__round16(p->size));
    }
    if (at > most) most = at;
  }
  return most;
}

/* A node is skipped in the backward pass when nothing it reads, and nothing before that, is
   trained: the whole encoder, where it is frozen with its embedding. Not input_feed, which sends
   back to the end of the decoder. */
static void syn__train_skipped(const syn_trainer *t) {
  const syn__graph *g = &t->m->g;
  size_t i;
  int k;
  for (i = 0; i < g->n_nodes; i++) {
    const syn_node *n = g->nodes[i];
    char skip = !(g->feed && n->id == g->feed);
    for (k = 0; k < n->n_param; k++) skip = skip && syn__frozen(t, &g->params[n->param[k]]);
    for (k = 0; k < n->n_in; k++) skip = skip && t->skip_backward[g->values[n->in[k]].maker];
    t->skip_backward[i] = skip;
  }
}

/* The trainer's memory; k->base null: only counted. The caller's `freeze` need not live on. */
static void syn__layout_trainer(syn_trainer *t, syn__layout *k) {
  size_t name = t->config.freeze ? strlen(t->config.freeze) + 1 : 0;
  size_t nodes = name ? t->m->g.n_nodes : 0, params = name ? t->m->g.n_params : 0;
  char *freeze;
  t->gradient = (float *)syn__layout_add(k, t->floats, sizeof(float));
  t->first = (float *)syn__layout_add(k, t->firsts, sizeof(float));
  t->second = (float *)syn__layout_add(k, t->seconds, sizeof(float));
  t->best = (float *)syn__layout_add(k, syn__mul_size(t->floats, (size_t)t->config.average),
                                sizeof(float));
  t->work = (float *)syn__layout_add(k, t->works, sizeof(float));
  t->trained = (syn__trained *)syn__layout_add(k, (size_t)t->n_trained, sizeof(syn__trained));
  t->sink = (float *)syn__layout_add(k, syn__train_discarded(t), sizeof(float));
  t->discarded_grads = (float **)syn__layout_add(k, params, sizeof(float *));
  t->skip_backward = (char *)syn__layout_add(k, nodes, 1);
  freeze = (char *)syn__layout_add(k, name, 1);
  if (!k->base || !name) t->discarded_grads = NULL, t->skip_backward = NULL;
  if (!k->base) return;
  if (name) t->config.freeze = (char *)memcpy(freeze, t->config.freeze, name);
  syn__train_trained(t);
  if (name) syn__train_discarded(t), syn__train_skipped(t);
}

static size_t syn__trainer_bytes(syn_trainer *t) {
  syn__layout k;
  k.base = NULL;
  k.used = 0;
  syn__layout_trainer(t, &k);
  return k.used;
}

/* -- the trainer -- */

/* The place of a name in a list; -1: not in it. */
static int syn__name_index(const char *name, const char *const *names, int count) {
  int i;
  for (i = 0; i < count; i++)
    if (!strcmp(name, names[i])) return i;
  return -1;
}

/* The rule of that name, and its defaults where the configuration says nothing. What it has not
   is refused: a number that nobody reads was meant for another rule. */
static syn_status syn__train_rule(syn_trainer *t) {
  syn_train_config *k = &t->config;
  const syn__optimizer *o = NULL;
  size_t i;
  if (!k->optimizer) k->optimizer = "adam";
  for (i = 0; i < SYN__COUNT(syn__optimizers); i++)
    if (!strcmp(k->optimizer, syn__optimizers[i].name)) o = &syn__optimizers[i];
  if (!o)
    return syn__fail(t->c, SYN_E_VALUE,
                     "optimizer is '%.30s', wanted adam, adamw, adafactor or sgd", k->optimizer);
  if ((o->beta2 == 0.0f && k->beta2 != 0.0f) || (o->eps == 0.0f && k->eps != 0.0f))
    return syn__fail(t->c, SYN_E_VALUE, "training: beta2 %g, eps %g: %s has no %s",
                     (double)k->beta2, (double)k->eps, o->name,
                     o->beta2 == 0.0f && k->beta2 != 0.0f ? "beta2" : "eps");
  if (k->lr == 0.0f && o->lr > 0.0f) k->lr = strcmp(k->schedule, "noam") ? o->lr : 1.0f;
  if (k->beta1 == 0.0f) k->beta1 = o->beta1;
  if (k->beta2 == 0.0f) k->beta2 = o->beta2;
  if (k->eps == 0.0f) k->eps = o->eps;
  k->optimizer = o->name;
  t->optimizer = o;
  return SYN_OK;
}

/* The one place where defaults of training are resolved; a plan asks it too. Names are replaced
   by those of our own lists, so the caller's strings need not live on. Comparisons are written
   so that what is not a number fails them. */
static syn_status syn__train_resolve(syn_trainer *t, const syn_train_config *given) {
  syn_train_config *k = &t->config;
  *k = *given;
  if (!k->schedule) k->schedule = "rsqrt";
  if (!k->batch_tokens) k->batch_tokens = 4096;
  if (!k->accumulate) k->accumulate = 1;
  if (!k->steps) k->steps = 1000;
  if (!k->patience) k->patience = 3;
  if (k->freeze && !*k->freeze) k->freeze = NULL;
  t->schedule = syn__name_index(k->schedule, syn__schedules, (int)SYN__COUNT(syn__schedules));
  if (t->schedule < 0)
    return syn__fail(t->c, SYN_E_VALUE,
                     "schedule is '%.30s', wanted noam, rsqrt, linear, cosine, constant"
                     " or plateau",
                     k->schedule);
  k->schedule = syn__schedules[t->schedule];
  if (syn__train_rule(t)) return SYN_E_VALUE;
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

/* batch_tokens bounds each side of a batch by itself. syn__data_longest is at least 2,
   hence half as many sentences as tokens. */
static syn_limits syn__train_limits(const syn_model *m, int batch_tokens, int length) {
  syn_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.src_rows = limits.tgt_rows = batch_tokens;
  limits.sentences = batch_tokens; /* empty rows are one token long: their end, or their begin */
  limits.length = length ? length : m->config.max_len;
  return limits;
}

/* The weights must be the model's own before the run takes pointers to them. Whatever fails,
   syn_trainer_free takes what is there: everything else is null. */
syn_trainer *syn_trainer_new(syn_context *c, syn_model *m, const syn_train_config *config) {
  syn_train_config none;
  syn_trainer *t = syn__given(c, m, "model") ? (syn_trainer *)syn__alloc(c, 1, sizeof *t) : NULL;
  syn_limits limits;
  syn__layout k;
  if (!t) return NULL;
  memset(&none, 0, sizeof none);
  t->c = c;
  t->m = m;
  t->state.factor = 1.0f;
  t->state.best = (float)INFINITY;
  if (syn__train_resolve(t, config ? config : &none) || syn__weights_own(m)) {
    syn_trainer_free(t);
    return NULL;
  }
  limits = syn__train_limits(m, t->config.batch_tokens, t->config.length);
  t->run = syn__run_new(c, m, SYN__TRAIN, &limits);
  k.base = (char *)syn__alloc(c, 1, syn__trainer_bytes(t));
  k.used = 0;
  t->gradient = (float *)(void *)k.base;
  t->best_loss = (float *)syn__alloc(c, (size_t)t->config.average + 1, sizeof(float));
  t->ints = (int *)syn__alloc(c, 3 * (size_t)t->config.batch_tokens, sizeof(int));
  if (!t->run || !t->gradient || !t->best_loss || !t->ints) {
    syn_trainer_free(t);
    return NULL;
  }
  syn__layout_trainer(t, &k);
  t->run->tape.discarded_grads = t->discarded_grads;
  t->run->tape.skip_backward = t->skip_backward;
  return t;
}

/* All but two arrays lie in the block of `gradient`. */
void syn_trainer_free(syn_trainer *t) {
  if (!t) return;
  syn_run_free(t->run);
  syn__free(t->c, t->gradient);
  syn__free(t->c, t->best_loss);
  syn__free(t->c, t->ints);
  syn__free(t->c, t);
}

const syn_train_state *syn_trainer_state(const syn_trainer *t) { return t ? &t->state : NULL; }
const syn_train_config *syn_trainer_config(const syn_trainer *t) { return t ? &t->config : NULL; }

/* Zeros, and pointers to where the gradient of every tensor is added up; null for what is not
   trained, which kinds then skip. Set anew every step because it costs nothing and holds no
   state. */
static void syn__gradients_clear(syn_trainer *t) {
  int i;
  syn__zero(&t->run->tape, t->gradient, t->floats);
  memset(t->run->tape.dweights, 0, t->m->g.n_params * sizeof(float *));
  for (i = 0; i < t->n_trained; i++)
    t->run->tape.dweights[t->trained[i].p - t->m->g.params] = t->gradient + t->trained[i].at;
}

/* Adds the gradients of one batch: of the sum of its losses times `scale`. Adds to that sum.
   dweights are added into, so batches of one step accumulate. syn__loss leaves the gradient in
   the last value; syn__backward carries it from there to the embeddings. */
static syn_status syn__train_batch(syn_trainer *t, const syn_batch *b, float scale, double *sum) {
  syn_tape *tape = &t->run->tape;
  syn_status s = syn__bind_labelled(t->run, b);
  if (s != SYN_OK) return s;
  syn__forward(tape, 0, t->run->nodes);
  *sum += syn__loss(t->run, t->m->config.label_smoothing, scale);
  syn__backward(tape, t->run->nodes);
  tape->seed = syn__mix(tape->seed + 1); /* other masks for the next batch of the same step */
  return SYN_OK;
}

/* Dropout depends on seed and step alone: a training that was resumed drops what it would have
   dropped. The constant keeps step 0 from leaving the seed as it is, since mix(0) = 0. */
static void syn__train_begin(syn_trainer *t, int dropout) {
  syn__gradients_clear(t);
  t->run->tape.training = dropout;
  t->run->tape.seed = syn__mix(t->config.seed ^ syn__mix((uint64_t)t->state.step + 0x51ED27));
}

/* Bound twice: once to count the labels, since the scale must be known before the backward
   pass. */
syn_status syn_trainer_backward(syn_trainer *t, const syn_batch *batch, float *loss) {
  double sum = 0.0;
  syn_status s;
  *loss = 0.0f;
  if (!t) return SYN_E_VALUE;
  s = syn__bind_labelled(t->run, batch); /* to count the labels, which scale the gradient */
  if (s != SYN_OK) return s;
  if (!t->run->n_labels) return syn__fail(t->c, SYN_E_VALUE, "a batch without a label");
  syn__train_begin(t, 0);
  s = syn__train_batch(t, batch, 1.0f / (float)t->run->n_labels, &sum);
  if (s != SYN_OK) return s;
  *loss = (float)(sum / (double)t->run->n_labels);
  return SYN_OK;
}

/* Found by its place among the weights: what is asked with may be a copy. */
const float *syn_trainer_gradient(const syn_trainer *t, const syn_param *p) {
  int i;
  for (i = 0; t && p && p->trained && i < t->n_trained; i++)
    if (t->trained[i].p->offset == p->offset) return t->gradient + t->trained[i].at;
  return NULL;
}

/* The step after its batches. No label: no mean, and division by zero would end in the weights. A
   loss or a gradient that is not finite would end there too, and in the moments for good: the
   norm meets every number of it. The loss is that of the weights before the step. */
static syn_status syn__train_finish(syn_trainer *t, double sum, long labels, float *loss) {
  double norm;
  if (!labels) return syn__fail(t->c, SYN_E_VALUE, "a training step without a label");
  norm = syn__gradient_norm(t) / (double)labels;
  *loss = (float)(sum / (double)labels);
  t->state.diverged = !(norm < (double)INFINITY && fabs(sum) < (double)INFINITY);
  if (t->state.diverged)
    return syn__fail(t->c, SYN_E_VALUE,
                     "the loss is %g at step %ld, the norm of its gradient %g: the weights stay as "
                     "they were before it",
                     (double)*loss, t->state.step + 1, fabs(norm));
  t->state.tokens += labels;
  syn__optimize(t, labels, norm);
  return SYN_OK;
}

/* The gradient is that of the sum over all labels of all batches; the mean is taken at the end,
   by the optimizer, so a batch with more labels counts for more: `accumulate` small batches are
   one large one. After an error the optimizer has not run, the next step clears the gradient. */
syn_status syn_trainer_step(syn_trainer *t, const syn_batch *batches, int count, float *loss) {
  double sum = 0.0;
  long labels = 0;
  int i;
  syn_status s = SYN_OK;
  *loss = 0.0f;
  if (!t) return SYN_E_VALUE;
  if (!syn__given(t->c, batches, "batch")) return SYN_E_VALUE;
  syn__train_begin(t, 1);
  for (i = 0; i < count && s == SYN_OK; i++) {
    s = syn__train_batch(t, &batches[i], 1.0f, &sum);
    labels += t->run->n_labels;
  }
  return s != SYN_OK ? s : syn__train_finish(t, sum, labels, loss);
}

/* Plain cross entropy (eps 0) without gradient (scale 0): what perplexity is made of. */
static syn_status syn__run_loss(syn_run *r, const syn_batch *batch, double *sum, long *labels) {
  syn_status s = syn__bind_labelled(r, batch);
  if (s != SYN_OK) return s;
  r->tape.training = 0;
  syn__forward(&r->tape, 0, r->nodes);
  *sum += syn__loss(r, 0.0f, 0.0f);
  *labels += r->n_labels;
  return SYN_OK;
}

syn_status syn_trainer_batch_loss(syn_trainer *t, const syn_batch *batch, double *sum,
                                  long *labels) {
  return t ? syn__run_loss(t->run, batch, sum, labels) : SYN_E_VALUE;
}

/* -- steps on data -- */

/* The label l of row i of classify or tag, in place k. */
static syn_status syn__data_label(syn_context *c, const syn_model *m, size_t i, int k, int l) {
  if (l >= 0 && l < m->config.classes) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "data: row %lu: label %d is %d, wanted 0 to %d",
                   (unsigned long)i, k, l, m->config.classes - 1);
}

/* A row of data is what the task of the model wants it to be; tokens are looked at when they are
   bound. */
static syn_status syn__data_row_fits(syn_context *c, const syn_model *m, const syn_data *d,
                                     size_t i) {
  int n = syn__data_stored(d, i, SYN_SRC), labels, k;
  const int *l = syn_data_row(d, i, SYN_TGT, &labels);
  if (d->corruption.count && labels)
    return syn__fail(c, SYN_E_VALUE, "data: row %lu has %d target tokens, a corrupted text none",
                     (unsigned long)i, labels);
  if (m->task->decoder) return SYN_OK;
  if (m->task->labels == SYN_EACH && labels != 1)
    return syn__fail(c, SYN_E_VALUE, "data: row %lu has %d labels, classify wants one",
                     (unsigned long)i, labels);
  if (m->task->labels == SYN_SRC && (labels != n || n < 1))
    return syn__fail(c, SYN_E_VALUE,
                     "data: row %lu has %d tokens and %d labels, tag wants as many, one at least",
                     (unsigned long)i, n, labels);
  for (k = 0; k < labels; k++)
    if (syn__data_label(c, m, i, k, l[k])) return SYN_E_VALUE;
  return SYN_OK;
}

/* A look at every row, before any of them is used: a label in the wrong place would train nonsense.
   It costs nothing beside a pass over the same rows. */
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

/* The next batch of the data; lays out the next epoch where one ends. state.batch counts within
   the epoch and is what a checkpoint keeps: from seed, epoch and batch alone the next batch
   follows. A checkpoint may have been written where an epoch ends. */
static syn_status syn__train_next(syn_trainer *t, syn_data *d, syn_batch *b) {
  syn_train_state *s = &t->state;
  const syn_train_config *k = &t->config;
  syn_status status = syn__data_lay(d, k->batch_tokens, k->seed, s->epoch);
  if (status != SYN_OK) return status;
  if (s->batch >= (long)d->n_batches) { /* also of a checkpoint written where an epoch ends */
    s->epoch++;
    s->batch = 0;
    status = syn__data_lay(d, k->batch_tokens, k->seed, s->epoch);
    if (status != SYN_OK) return status;
  }
  *b = syn__data_batch(d, t->m->task, (size_t)s->batch++, t->ints);
  return SYN_OK;
}

/* One update from `accumulate` batches. Counters of state move even when a batch is refused: the
   next call goes on behind it. */
static syn_status syn__train_update(syn_trainer *t, syn_data *d, float *loss) {
  double sum = 0.0;
  long labels = 0;
  syn_status s = SYN_OK;
  syn_batch b;
  int i;
  syn__train_begin(t, 1);
  for (i = 0; i < t->config.accumulate && s == SYN_OK; i++) {
    s = syn__train_next(t, d, &b);
    if (s == SYN_OK) s = syn__train_batch(t, &b, 1.0f, &sum);
    labels += t->run->n_labels;
  }
  return s != SYN_OK ? s : syn__train_finish(t, sum, labels, loss);
}

/* `ints`: room for the arrays of one batch. Epoch -1 is the order of length without chance, so
   that a loss is always summed in one order. The data stay laid out that way: a validation set
   is sorted once. *labels was zeroed by the caller and counts on; *loss is set at the end
   alone. */
static syn_status syn__run_evaluate(syn_run *r, syn_data *d, int tokens, int *ints, double *loss,
                                    long *labels) {
  double sum = 0.0;
  size_t i;
  syn_status s = syn__data_task(r->tape.c, r->m, d);
  if (s == SYN_OK) s = syn__data_lay(d, tokens, 0, -1);
  for (i = 0; s == SYN_OK && i < d->n_batches; i++) {
    syn_batch b = syn__data_batch(d, r->m->task, i, ints);
    s = syn__run_loss(r, &b, &sum, labels);
  }
  if (s != SYN_OK) return s;
  *loss = *labels ? sum / (double)*labels : 0.0;
  return SYN_OK;
}

/* On the trainer's own buffers. When d is also the training data, syn__train_next lays them out
   anew afterwards. */
syn_status syn_trainer_evaluate(syn_trainer *t, syn_data *d, double *loss, long *labels) {
  *loss = 0.0;
  *labels = 0;
  if (!t) return SYN_E_VALUE;
  if (!syn__given(t->c, d, "data")) return SYN_E_VALUE;
  return syn__run_evaluate(t->run, d, t->config.batch_tokens, t->ints, loss, labels);
}

/* A training run, because that is the one that makes logits block by block; it has gradients it
   does not use, the price of one path for every loss. Two blocks, both freed before it returns. */
syn_status syn_model_evaluate(syn_context *c, const syn_model *m, syn_data *d, int batch_tokens,
                              double *loss, long *labels) {
  int tokens = batch_tokens ? batch_tokens : 4096, *ints;
  syn_status s = SYN_E_MEMORY;
  syn_limits limits;
  syn_run *r;
  *loss = 0.0;
  *labels = 0;
  if (!syn__given(c, m, "model") || !syn__given(c, d, "data")) return SYN_E_VALUE;
  if (tokens < 2 || tokens > 1 << 24)
    return syn__fail(c, SYN_E_VALUE, "evaluation: batches of %d tokens, wanted 2 to %d", tokens,
                     1 << 24);
  limits = syn__train_limits(m, tokens, 0);
  r = syn__run_new(c, m, SYN__TRAIN, &limits);
  ints = (int *)syn__alloc(c, 3 * (size_t)tokens, sizeof(int));
  if (r && ints) s = syn__run_evaluate(r, d, tokens, ints, loss, labels);
  else if (c->status) s = c->status;
  syn__free(c, ints);
  syn_run_free(r);
  return s;
}

/* Keeps the weights of now among the best; without validation the newest are the best.
   best_loss is sorted, best first; the new one sinks to its place and the last falls out. Ties
   keep the older. Moving whole weights costs a copy each, once per validation. Without
   validation data the loss is -step, so newest is best. [average, floats]: with average 5 the
   kept weights are the largest part of a trainer's memory. Frozen ones are not kept. */
static void syn__train_keep(syn_trainer *t, float loss) {
  int most = t->config.average, at = t->n_best < most ? t->n_best : most - 1, k, i;
  size_t size = t->floats;
  if (most < 1 || !(loss < (float)INFINITY)) return; /* what is not a number would never leave */
  if (t->n_best == most && !(loss < t->best_loss[at])) return;
  if (t->n_best < most) t->n_best++;
  for (k = at; k > 0 && loss < t->best_loss[k - 1]; k--) {
    memcpy(t->best + (size_t)k * size, t->best + (size_t)(k - 1) * size, size * sizeof(float));
    t->best_loss[k] = t->best_loss[k - 1];
  }
  for (i = 0; i < t->n_trained; i++)
    memcpy(t->best + (size_t)k * size + t->trained[i].at, t->trained[i].p->x,
           t->trained[i].p->size * sizeof(float));
  t->best_loss[k] = loss;
}

/* best begins at infinity, so the first loss is better than none. worse counts validations since
   the best; plateau halves the rate at every `patience` of them, stop_after ends the training. */
syn_status syn_trainer_validate(syn_trainer *t, syn_data *valid) {
  syn_train_state *s;
  double loss;
  long labels;
  syn_status status;
  if (!t) return SYN_E_VALUE;
  s = &t->state;
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

/* Each round: an update, perhaps a validation, the report, in that order, so a checkpoint
   written in the report holds all three. Nothing of a training lives in this function: that is
   why a further call, or another process with the checkpoint, goes on. */
syn_status syn_trainer_run(syn_trainer *t, syn_data *data, syn_data *valid, syn_report report,
                     void *user) {
  float loss = 0.0f;
  syn_status s;
  if (!t) return SYN_E_VALUE;
  if (!syn__given(t->c, data, "data")) return SYN_E_VALUE;
  s = syn__data_task(t->c, t->m, data);
  if (s != SYN_OK) return s;
  while (t->state.step < t->config.steps && !t->state.stopped) {
    int validated = 0;
    s = syn__train_update(t, data, &loss);
    if (s != SYN_OK) return s;
    if (t->config.every && t->state.step % t->config.every == 0) {
      validated = 1;
      s = syn_trainer_validate(t, valid);
      if (s != SYN_OK) return s;
    }
    if (report && report(user, t, loss, validated)) return SYN_OK;
  }
  return SYN_OK;
}

/* Sum first, then one product with 1/n, in order from the best: the bits do not depend on when
   each was kept. Fixed and frozen tensors are the same in all of them and are not touched. */
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
   >>decode state   memory of one decoder; one new row per live hypothesis
   ============================================================================================== */

/*
   Nothing is recomputed over the prefix: a layer that looks back left `history` floats per token in
   a slot; a hypothesis is a list of slots, so that reordering a beam copies integers, not keys and
   values. */

/* A live hypothesis, one row of every tensor of the decoder. All rows of a sentence are
   neighbours, so a beam finds its own by walking. */
typedef struct syn__beam_row {
  int sentence;
  int slot;    /* of those of its sentence */
  int token;   /* to be fed next */
  float score; /* sum of log p */
} syn__beam_row;

/* An extension of a hypothesis by one token. Row and token say which; `score` is the sum of log
   p with it. */
typedef struct syn__extension {
  float score;
  int row, token;
} syn__extension;

/* What tells without all logits which tokens cannot be the most probable one, see below: of
   out.w [V,d] bytes q in panels [ceil(V/16), d, 16], w about scale q, and how far a logit can be
   from that for an x of length 1. q null: not used. */
typedef struct syn__screen {
  signed char *q;
  float *scale, *reach; /* [V] */
  float *low, *high;    /* [round16(V)] bounds of the logits of a row */
  float slack;          /* for the rounding of the bias */
} syn__screen;

/* rows = beam * sentences. Everything of size rows * L or V lies in `block`, cut once. Tokens
   are kept as integers twice: `text` is what was made, `past` is where each token fed left its
   history. */
struct syn_decoder {
  syn_context *c;
  const syn_model *m;
  syn_run *run;
  syn_decode_config config;  /* with every default resolved */
  int rows, limit;           /* most live rows; most tokens of an output, L */
  int n_live, sentences;
  syn__decode_state decode;
  syn__beam_row *row, *row_next;   /* [rows] */
  int *past, *past_next;           /* [rows, L] slot L + place of the tokens fed so far */
  int *text, *text_next;           /* [rows, L] tokens made so far */
  int *slot, *sentence;            /* [rows] for the tape */
  int *taken;                      /* [beam] slots of a sentence that have a row */
  int *source_off;                 /* [sentences + 1] */
  int *out_tokens;                 /* [sentences, best, L] */
  int *out_size;                   /* [sentences, best] */
  float *out_score;                /* [sentences, best] */
  int *n_out;                      /* [sentences] finished so far */
  syn__extension *top;             /* [sentences, 2 * beam] the best extensions, best first */
  int *n_top;                      /* [sentences] */
  float *peaks;                    /* [rows, ceil(V/64)] largest logits of blocks of 64 */
  float *log_sum;                  /* [rows] log of the sum of exp of the logits; of a beam */
  float *high;                     /* [sentences, 2 * beam] */
  syn__screen screen;
  float *chance;                   /* [V] probabilities, for sampling */
  int *heap;                       /* [V] */
  const uint64_t *seeds;           /* of the sentences, the caller's; null: none given */
  void *block;
};

/* rows = beam * sentences is the most that can be alive: every buffer of a step is sized by it.
   Products stay inside an int by the limits: 1024 * 65536 = 2^26. Beam and chance exclude each
   other, since a beam of random hypotheses is neither. */
static syn_status syn__decode_resolve(syn_decoder *d, const syn_decode_config *given) {
  syn_decode_config *k = &d->config;
  *k = *given;
  if (!k->beam) k->beam = 1;
  if (!k->best) k->best = 1;
  if (!k->sentences) k->sentences = 1;
  if (k->alpha == 0.0f) k->alpha = 0.6f;
  if (k->alpha < 0.0f) k->alpha = 0.0f;
  if (!k->max_len) k->max_len = d->m->config.max_len;
  if (!k->source_len) k->source_len = d->m->config.max_len;
  if (!d->m->task->decoder)
    return syn__fail(d->c, SYN_E_VALUE, "decoding: the task %s has no decoder", d->m->task->name);
  if (k->beam < 1 || k->beam > 1024 || k->best < 1 || k->best > k->beam || k->sentences < 1 ||
      k->sentences > 65536)
    return syn__fail(d->c, SYN_E_VALUE,
                     "decoding: beam %d (1 to 1024), best %d (1 to beam), %d sentences "
                     "(1 to 65536)",
                     k->beam, k->best, k->sentences);
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
  return SYN_OK;
}

/* Slots for the new tokens of all rows; a cross-attention node keeps source rows instead.
   history [rows, L, floats] for every decoder node that looks back; source [tokens of all
   sources, floats] for those that attend to the source, shared by the whole beam; of either what
   stands across, in blocks of 16 tokens, of which each slot or sentence may leave one unfilled.
   This is nearly all of a decoder's memory, so it is asked of every node alone. */
static float *syn__layout_node(syn__layout *k, size_t tokens, int floats) {
  return floats ? (float *)syn__layout_add(k, syn__mul_size(tokens, (size_t)floats), sizeof(float))
                : NULL;
}
static void syn__layout_live(syn_decoder *d, syn__layout *k) {
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
    float *history = syn__layout_node(k, rows * limit, n->cache);
    float *source = syn__layout_node(k, sources, n->source_cache);
    float *across = syn__layout_node(k, 16 * blocks, n->key_cache);
    if (!k->base) continue;
    d->decode.cache[i] = history;
    d->decode.source_cache[i] = source;
    d->decode.key_cache[i] = across;
  }
}

/* Weights of products in panels of 16 outputs, once: a step then reads them straight through.
   An embedding is read row by row, never as a product, and needs no panels: src.embed never,
   tgt.embed unless it is the output's matrix too. Tables of heads are packed by nobody. */
static void syn__layout_packed(syn_decoder *d, syn__layout *k) {
  const syn__graph *g = &d->m->g;
  size_t i;
  const float **packed = (const float **)syn__layout_add(k, g->n_params, sizeof(float *));
  for (i = 0; i < g->n_params; i++) {
    const syn_param *p = &g->params[i];
    size_t rows = syn__round16((size_t)p->shape[0]), columns = p->size / (size_t)p->shape[0];
    syn_matrix w;
    float *at;
    int head = (int)i == g->nodes[d->m->head]->param[0]; /* a tied tgt.embed is read as a product */
    if (!p->matrix || !strcmp(p->name, "src.embed")) continue;
    if (!strcmp(p->name, "tgt.embed") && !head) continue;
    at = (float *)syn__layout_add(k, syn__mul_size(rows, columns), sizeof(float));
    if (!k->base) continue;
    w = syn_transposed(syn_matrix_of(p->x, p->shape[0], (int)columns, 0));
    d->c->kernels->pack_b(&w, at);
    packed[i] = at;
  }
  if (k->base) d->run->tape.packed = packed;
}

/* Of one row w [d] of out.w: q in steps of `scale`, 127 of them for its largest number, and the
   reach. With e = w - scale q, |w x - scale q x| <= |e| |x|. Both sums have d terms and are rounded
   d times by at most 2^-24 of what can come together there, |w| |x| or (|w| + |e|) |x|; so are the
   few operations behind them; 1e-28 is for what underflows. 0: numbers too large to say so. */
static int syn__screen_row(const float *w, size_t d, signed char *q, float *scale, float *reach) {
  double sum = 0.0, apart = 0.0, e;
  float top = 0.0f, step;
  size_t i;
  for (i = 0; i < d; i++) {
    top = fabsf(w[i]) > top ? fabsf(w[i]) : top;
    sum += (double)w[i] * (double)w[i];
  }
  if (!(sum < 1e30)) return 0;
  *scale = step = top > 1e-30f ? top / 127.0f : 1.0f;
  for (i = 0; i < d; i++) {
    int n = (int)floorf(w[i] / step + 0.5f);
    q[16 * i] = (signed char)syn__max(-127, syn__min(127, n));
    e = (double)w[i] - (double)step * (double)q[16 * i];
    apart += e * e;
  }
  sum = sqrt(sum), apart = sqrt(apart);
  *reach = (float)(1.001 * apart + (4.0 * (double)d + 64.0) * 6e-8 * (2.0 * sum + apart) + 1e-28);
  return 1;
}

/* A greedy decoder reads out.w for one token a sentence: where it is large, its bytes are read
   instead. Without memory only measured; panels of fewer than 16 are filled with 0. */
#define SYN__SCREEN 100000 /* numbers of out.w from which on it pays */
#define SYN__SCREEN_ROWS 3 /* with more, all logits cost less */
static void syn__layout_screen(syn_decoder *d, syn__layout *k) {
  const syn_node *head = d->m->g.nodes[d->m->head];
  const syn_param *w = &d->m->g.params[head->param[0]], *b = &d->m->g.params[head->param[1]];
  size_t i, v = (size_t)w->shape[0], width = w->size / v, wide = syn__round16(v);
  syn__screen *s = &d->screen;
  float most = 0.0f;
  if (d->config.beam > 1 || d->config.temperature > 0.0f || w->size < SYN__SCREEN) return;
  s->q = (signed char *)syn__layout_add(k, syn__mul_size(wide, width), 1);
  s->scale = (float *)syn__layout_add(k, wide, sizeof(float));
  s->reach = (float *)syn__layout_add(k, wide, sizeof(float));
  s->low = (float *)syn__layout_add(k, wide, sizeof(float));
  s->high = (float *)syn__layout_add(k, wide, sizeof(float));
  if (!k->base) return;
  memset(s->q, 0, wide * width);
  for (i = 0; i < v; i++) {
    if (!(fabsf(b->x[i]) < 1e15f) ||
        !syn__screen_row(w->x + i * width, width, s->q + i / 16 * 16 * width + i % 16,
                         &s->scale[i], &s->reach[i])) {
      s->q = NULL;
      return;
    }
    most = fabsf(b->x[i]) > most ? fabsf(b->x[i]) : most;
  }
  s->slack = 2e-6f * most;
}

/* Maxima of a row of logits. */
static size_t syn__decode_blocks(const syn_decoder *d) {
  return ((size_t)d->m->config.tgt_vocab + SYN__BLOCK - 1) / SYN__BLOCK;
}

/* past and text twice: the rows of the next step are written while those of this step are read,
   then the two change places (syn__decode_turn). */
static void syn__layout_decoder(syn_decoder *d, syn__layout *k) {
  size_t rows = (size_t)d->rows, limit = (size_t)d->limit, sentences = (size_t)d->config.sentences;
  size_t outs = sentences * (size_t)d->config.best, v = (size_t)d->m->config.tgt_vocab;
  d->row = (syn__beam_row *)syn__layout_add(k, rows, sizeof *d->row);
  d->row_next = (syn__beam_row *)syn__layout_add(k, rows, sizeof *d->row);
  d->past = (int *)syn__layout_add(k, rows * limit, sizeof(int));
  d->past_next = (int *)syn__layout_add(k, rows * limit, sizeof(int));
  d->text = (int *)syn__layout_add(k, rows * limit, sizeof(int));
  d->text_next = (int *)syn__layout_add(k, rows * limit, sizeof(int));
  d->slot = (int *)syn__layout_add(k, rows, sizeof(int));
  d->sentence = (int *)syn__layout_add(k, rows, sizeof(int));
  d->taken = (int *)syn__layout_add(k, (size_t)d->config.beam, sizeof(int));
  d->source_off = (int *)syn__layout_add(k, sentences + 1, sizeof(int));
  d->out_tokens = (int *)syn__layout_add(k, outs * limit, sizeof(int));
  d->out_size = (int *)syn__layout_add(k, outs, sizeof(int));
  d->out_score = (float *)syn__layout_add(k, outs, sizeof(float));
  d->n_out = (int *)syn__layout_add(k, sentences, sizeof(int));
  d->top = (syn__extension *)syn__layout_add(k, 2 * rows, sizeof *d->top);
  d->n_top = (int *)syn__layout_add(k, sentences, sizeof(int));
  d->peaks = (float *)syn__layout_add(k, syn__mul_size(rows, syn__decode_blocks(d)), sizeof(float));
  d->log_sum = (float *)syn__layout_add(k, rows, sizeof(float));
  d->high = (float *)syn__layout_add(k, 2 * rows, sizeof(float));
  d->chance = (float *)syn__layout_add(k, v, sizeof(float));
  d->heap = (int *)syn__layout_add(k, v, sizeof(int));
  syn__layout_live(d, k);
  syn__layout_packed(d, k);
  syn__layout_screen(d, k);
}

/* The encoder sees whole sources, the decoder one token per live row: that is why a decoder's
   activations are small whatever L is. */
static syn_limits syn__decode_limits(const syn_decoder *d) {
  syn_limits limits;
  limits.sentences = d->config.sentences;
  limits.length = syn__max(d->config.source_len, d->limit);
  limits.src_rows = syn__max(d->config.sentences * d->config.source_len, d->rows);
  limits.tgt_rows = d->rows;
  return limits;
}

/* Measure, allocate, cut, as a run is made; the second pass also packs the weights. */
syn_decoder *syn_decoder_new(syn_context *c, const syn_model *m, const syn_decode_config *config) {
  syn_decode_config none;
  syn_decoder *d = syn__given(c, m, "model") ? (syn_decoder *)syn__alloc(c, 1, sizeof *d) : NULL;
  syn_limits limits;
  syn__layout k;
  if (!d) return NULL;
  memset(&none, 0, sizeof none);
  d->c = c;
  d->m = m;
  if (syn__decode_resolve(d, config ? config : &none)) {
    syn_decoder_free(d);
    return NULL;
  }
  limits = syn__decode_limits(d);
  d->run = syn__run_new(c, m, SYN__INFER, &limits);
  k.base = NULL;
  k.used = 0;
  syn__layout_decoder(d, &k);
  d->block = d->run ? syn__alloc(c, 1, k.used) : NULL;
  if (!d->block) {
    syn_decoder_free(d);
    return NULL;
  }
  k.base = (char *)d->block;
  k.used = 0;
  syn__layout_decoder(d, &k);
  return d;
}

/* The run has a block of its own; the model is not ours. */
void syn_decoder_free(syn_decoder *d) {
  if (!d) return;
  syn_run_free(d->run);
  syn__free(d->c, d->block);
  syn__free(d->c, d);
}

/* Kept as a pointer: the caller may change the seeds between two calls. */
void syn_decoder_set_seeds(syn_decoder *d, const uint64_t *seeds) {
  if (d) d->seeds = seeds;
}

/* ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14). Divides log p, so that long
   hypotheses are not worse for having more factors; length counts the end. alpha 0: 1, no
   penalty. */
static float syn__length_penalty(const syn_decoder *d, int length) {
  return (float)syn__pow((5.0 + (double)length) / 6.0, (double)d->config.alpha);
}

/* -- one step -- */

/* The encoder over all sentences, then what the decoder keeps of it. Binds the source alone:
   target rows come one at a time. The encoder's nodes run as in training without dropout; then
   every layer that attends to the source projects keys and values of it once (`start`).
   source_off is kept, because r->off is the run's and a later batch writes it. */
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
    memcpy(d->source_off, r->off[SYN_SRC], (size_t)(b->count + 1) * sizeof(int));
  }
  syn__bind_shapes(r);
  if (syn__bind_tables(r)) return SYN_E_SHAPE;
  t->decode = NULL;
  syn__forward(t, 0, t->g->n_encoder);
  t->decode = &d->decode;
  d->decode.source_off = d->source_off;
  for (i = t->g->n_encoder; i < r->nodes; i++)
    if (t->g->nodes[i]->kind->start) t->g->nodes[i]->kind->start(t, t->g->nodes[i]);
  return SYN_OK;
}

/* What input_feed will want of these tokens in the next step, z, goes into its history. */
static void syn__feed_remember(syn_tape *t) {
  const syn_node *n = t->g->nodes[t->g->feed];
  const syn_tensor *z = &t->tensors[t->g->fed];
  size_t d = (size_t)syn__width(z);
  int r;
  for (r = 0; r < t->decode->rows; r++)
    memcpy(syn__cache_row(t, n, t->decode->slot[r], t->at[SYN_TGT][r]), z->x + (size_t)r * d,
           d * sizeof(float));
}

/* 1: the logits of this step are not made, only what tells the largest. */
static int syn__decode_screens(const syn_decoder *d) {
  return d->screen.q && d->n_live <= SYN__SCREEN_ROWS;
}

/* Feeds the newest token of every live row at `place`; leaves logits [rows,V] in the head's
   tensor. Row i writes what it leaves behind into its slot at this place, and past[i][place] says
   so; later steps find there the values of place p of hypothesis i. Shapes of all target tensors
   become n_live rows. A node whose output is not of the target has no new row. */
static void syn__decode_rows(syn_decoder *d, int place) {
  syn_run *r = d->run;
  syn_tape *t = &r->tape;
  size_t v;
  int i;
  for (i = 0; i < d->n_live; i++) {
    r->ids[SYN_TGT][i] = d->row[i].token;
    r->at[SYN_TGT][i] = place;
    d->slot[i] = d->row[i].slot;
    d->sentence[i] = d->row[i].sentence;
    d->past[(size_t)i * (size_t)d->limit + (size_t)place] = d->slot[i] * d->limit + place;
  }
  d->decode.rows = d->n_live;
  d->decode.slot = d->slot;
  d->decode.past = d->past;
  d->decode.sentence = d->sentence;
  for (v = 0; v < t->g->n_values; v++)
    if (t->g->values[v].stream == SYN_TGT) t->tensors[v].shape[0] = d->n_live;
  for (i = t->g->n_encoder; i < r->nodes; i++) {
    const syn_node *n = t->g->nodes[i];
    if (t->g->values[n->out].stream != SYN_TGT) continue;
    if (i == d->m->head && syn__decode_screens(d)) continue;
    if (n->kind->step) n->kind->step(t, n);
    else n->kind->forward(t, n);
  }
  if (t->g->feed) syn__feed_remember(t);
}

/* [V] of one live row, over all V classes: what may not be chosen is left out when choosing,
   not here, so probabilities are those of the softmax over all of them. */
static float *syn__decode_logits(const syn_decoder *d, int row) {
  const syn_tensor *z = &d->run->tape.tensors[d->m->g.nodes[d->m->head]->out];
  return z->x + (size_t)row * (size_t)syn__width(z);
}

/* -- outputs -- */

/* out_tokens [sentences, best, L]. */
static int *syn__out_tokens(const syn_decoder *d, int sentence, int rank) {
  return d->out_tokens + (size_t)(sentence * d->config.best + rank) * (size_t)d->limit;
}

static void syn__decode_put(syn_decoder *d, int sentence, int rank, const int *text, int size,
                            float score) {
  memcpy(syn__out_tokens(d, sentence, rank), text, (size_t)size * sizeof(int));
  d->out_score[sentence * d->config.best + rank] = score;
  d->out_size[sentence * d->config.best + rank] = size;
}

/* Puts a finished hypothesis among the best of its sentence. The list is sorted, best first,
   and a tie goes to the one that finished first. Copying L tokens for each step down is nothing
   beside a step of the network. */
static void syn__decode_finish(syn_decoder *d, int sentence, const int *text, int size,
                               float score) {
  int best = d->config.best, k;
  const float *scores = d->out_score + sentence * best;
  int at = d->n_out[sentence] < best ? d->n_out[sentence] : best - 1;
  if (d->n_out[sentence] == best && !(score > scores[at])) return;
  if (d->n_out[sentence] < best) d->n_out[sentence]++;
  for (k = at; k > 0 && score > scores[k - 1]; k--)
    syn__decode_put(d, sentence, k, syn__out_tokens(d, sentence, k - 1),
                    d->out_size[sentence * best + k - 1], scores[k - 1]);
  syn__decode_put(d, sentence, k, text, size, score);
}

/* Row `from` lives on as the next row `to`, with one more token. Copies the hypothesis
   (integers: its slots and its tokens so far), whose keys and values stay where they are; two
   children of one row share their past. text gets the token now, past only when it is fed. */
static void syn__decode_extend(syn_decoder *d, int to, const syn__extension *e, int place) {
  size_t size = (size_t)(place + 1) * sizeof(int), limit = (size_t)d->limit;
  syn__beam_row *row = &d->row_next[to];
  memcpy(d->past_next + (size_t)to * limit, d->past + (size_t)e->row * limit, size);
  memcpy(d->text_next + (size_t)to * limit, d->text + (size_t)e->row * limit, size);
  d->text_next[(size_t)to * limit + (size_t)place] = e->token;
  *row = d->row[e->row];
  row->token = e->token;
  row->score = e->score;
}

/* What was written becomes what is read. Only pointers move. */
static void syn__decode_turn(syn_decoder *d, int n_live) {
  syn__beam_row *row = d->row;
  int *past = d->past, *text = d->text;
  d->row = d->row_next;
  d->past = d->past_next;
  d->text = d->text_next;
  d->row_next = row;
  d->past_next = past;
  d->text_next = text;
  d->n_live = n_live;
}

/* ==============================================================================================
   >>sampling   the next token: most probable, or sampled
   ============================================================================================== */

/* Of the live rows begin..end: the largest logits of all blocks, and for a beam the logarithms. */
static void syn__task_peaks(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn_decoder *d = (const syn_decoder *)job;
  size_t v = (size_t)d->m->config.tgt_vocab, blocks = syn__decode_blocks(d);
  SYN__UNUSED(thread);
  for (; begin < end; begin++) {
    const float *z = syn__decode_logits(d, (int)begin);
    float *peaks = d->peaks + begin * blocks;
    t->k->tops(peaks, z, v);
    if (d->config.beam > 1)
      d->log_sum[begin] = t->k->log_sum_exp(z, v, t->k->max(peaks, blocks));
  }
}
static void syn__decode_peaks(syn_decoder *d) {
  syn__parallel(&d->run->tape, syn__task_peaks, d, (size_t)d->n_live, 1);
}

/* Ties: the smaller token, on every machine. Padding and begin are never chosen: the block in which
   they are is looked through, of the others the one with the largest peak. */
static int syn__choose_most(const syn_decoder *d, int row) {
  const float *z = syn__decode_logits(d, row);
  int i, v = d->m->config.tgt_vocab, best = SYN_UNKNOWN, at = 0;
  int blocks = (int)syn__decode_blocks(d);
  const float *peaks = d->peaks + (size_t)row * (size_t)blocks;
  float top;
  for (i = SYN_UNKNOWN; i < syn__min(v, SYN__BLOCK); i++)
    if (i != SYN_BEGIN && z[i] > z[best]) best = i;
  top = z[best];
  for (i = 1; i < blocks; i++)
    if (peaks[i] > top) top = peaks[i], at = i;
  if (!at) return best;
  for (i = at * SYN__BLOCK; z[i] != top; i++) continue;
  return i;
}

/* -- the most probable token without all logits --

   A single row waits for memory, and most of its weights may be those of out.w. Of a token's logit
   z = w x + b we know z' = scale q x + b from a quarter of the bytes, and |z - z'| <= reach |x|: a
   token whose bound from above is below the largest bound from below is not the answer. Of the few
   others the logits are made as always, with the same bits, and the largest is chosen by the same
   rule. */

typedef struct syn__rough_job {
  const syn__screen *s;
  const float *x;
  size_t n;
} syn__rough_job;

static void syn__task_rough(syn_tape *t, const void *job, int thread, size_t begin, size_t end) {
  const syn__rough_job *j = (const syn__rough_job *)job;
  SYN__UNUSED(thread);
  t->k->gemv_int8(j->s->high + 16 * begin, j->x, j->s->q + 16 * j->n * begin, j->n, end - begin);
}

/* Bounds of all logits for x [width], and what a candidate's must reach. 0: |x| is 0, or so large
   that a bound is none. */
static int syn__screen_bounds(syn_decoder *d, const float *x, float *wanted) {
  syn_tape *t = &d->run->tape;
  const syn_node *head = t->g->nodes[d->m->head];
  syn__screen *s = &d->screen;
  size_t v = (size_t)d->m->config.tgt_vocab;
  syn__rough_job j;
  float norm;
  j.s = s;
  j.x = x;
  j.n = (size_t)syn__width(syn_in(t, head, 0));
  norm = 1.001f * sqrtf(t->k->dot(x, x, j.n));
  if (!(norm > 1e-10f && norm < 1e15f)) return 0;
  syn__parallel(t, syn__task_rough, &j, (v + 15) / 16, 4);
  t->k->mul(s->high, s->high, s->scale, v);
  t->k->add(s->high, s->high, syn_weight(t, head, 1), v);
  memcpy(s->low, s->high, v * sizeof *x);
  t->k->acc_scale(s->low, -norm, s->reach, v);
  t->k->acc_scale(s->high, norm, s->reach, v);
  s->low[SYN_PAD] = s->low[SYN_BEGIN] = s->high[SYN_PAD] = s->high[SYN_BEGIN] = -INFINITY;
  *wanted = t->k->max(s->low, v) - s->slack;
  return 1;
}

/* Makes the logits of `count` tokens, the next in their order: the one whose logit is the first to
   be larger than all before, or -1. */
static int syn__screen_exact(syn_decoder *d, const float *x, const int *tokens, int count,
                             float *top) {
  syn_tape *t = &d->run->tape;
  const syn_node *head = t->g->nodes[d->m->head];
  size_t n = (size_t)syn__width(syn_in(t, head, 0));
  const float *rows[16], *w = syn_weight(t, head, 0), *b = syn_weight(t, head, 1);
  float z[16];
  int i, best = -1;
  for (i = 0; i < count; i++) rows[i] = w + (size_t)tokens[i] * n, z[i] = b[tokens[i]];
  t->k->dots(z, x, rows, n, (size_t)count);
  for (i = 0; i < count; i++)
    if (z[i] > *top) *top = z[i], best = tokens[i];
  return best;
}

/* The token of a row, or -1: not found, all logits are needed. */
static int syn__choose_screened(syn_decoder *d, int row) {
  syn_tape *t = &d->run->tape;
  const syn_tensor *in = syn_in(t, t->g->nodes[d->m->head], 0);
  const float *x = in->x + (size_t)row * (size_t)syn__width(in);
  int v = d->m->config.tgt_vocab, i, k, n = 0, all = 0, best = -1, found, tokens[16];
  float wanted, top = -INFINITY;
  if (!syn__screen_bounds(d, x, &wanted)) return -1;
  t->k->tops(d->peaks, d->screen.high, (size_t)v);
  for (i = 0; i < v; i += SYN__BLOCK) {
    if (d->peaks[i / SYN__BLOCK] < wanted) continue;
    for (k = i; k < syn__min(v, i + SYN__BLOCK); k++) {
      if (!(d->screen.high[k] >= wanted)) continue;
      if (all++ >= v / 16) return -1;
      tokens[n++] = k;
      if (n < 16) continue;
      found = syn__screen_exact(d, x, tokens, n, &top);
      if (found >= 0) best = found;
      n = 0;
    }
  }
  found = syn__screen_exact(d, x, tokens, n, &top);
  return found >= 0 ? found : best;
}

/* The most probable token of a row; *made: the logits of all rows are. */
static int syn__choose_best(syn_decoder *d, int row, int *made) {
  syn_tape *t = &d->run->tape;
  int token = -1;
  if (!*made && syn__decode_screens(d)) token = syn__choose_screened(d, row);
  if (token >= 0) return token;
  if (!*made && syn__decode_screens(d)) syn__output_forward(t, t->g->nodes[d->m->head]);
  if (!*made) syn__decode_peaks(d);
  *made = 1;
  return syn__choose_most(d, row);
}

/* The heap's largest probability is at its root; equal ones by the smaller token. A total order
   even among equal probabilities, else the heap's layout would decide. */
static int syn__heap_less(const float *p, int a, int b) {
  return p[a] < p[b] || (!(p[b] < p[a]) && a > b);
}
/* Puts heap[i] in its place among heap[0..n), whose other entries are in order below it. */
static void syn__heap_down(const float *p, int *heap, int i, int n) {
  int child, swap;
  while ((child = 2 * i + 1) < n) {
    if (child + 1 < n && syn__heap_less(p, heap[child], heap[child + 1])) child++;
    if (!syn__heap_less(p, heap[i], heap[child])) return;
    swap = heap[i];
    heap[i] = heap[child];
    heap[child] = swap;
    i = child;
  }
}

/* From the k most probable tokens, or those whose probabilities first reach p, by chance. top_k
   and top_p need the largest few of V: a heap is built in V steps and gives each next in log V,
   where sorting all would take V log V. chance [V] and heap [V] are the decoder's buffers. The
   point falls uniformly within the sum of those taken; when rounding leaves it behind the last,
   the last is it. */
static int syn__choose_chance(syn_decoder *d, const float *z, syn_random *random) {
  int i, v = d->m->config.tgt_vocab, n = 0, left, most = d->config.top_k ? d->config.top_k : v;
  float wanted = d->config.top_p > 0.0f ? d->config.top_p : 1.0f, sum = 0.0f, point;
  float cold = 1.0f / d->config.temperature;
  d->c->kernels->scale(d->chance, cold < 1e20f ? cold : 1e20f, z, (size_t)v);
  d->chance[SYN_PAD] = d->chance[SYN_BEGIN] = -INFINITY;
  d->c->kernels->softmax(d->chance, d->chance, (size_t)v);
  for (i = SYN_UNKNOWN; i < v; i++)
    if (i != SYN_BEGIN) d->heap[n++] = i;
  for (i = n / 2 - 1; i >= 0; i--) syn__heap_down(d->chance, d->heap, i, n);
  /* taken ones behind the heap */
  for (left = n; left > 0 && n - left < most && sum < wanted; left--) {
    int top = d->heap[0];
    sum += d->chance[top];
    d->heap[0] = d->heap[left - 1];
    d->heap[left - 1] = top;
    syn__heap_down(d->chance, d->heap, 0, left - 1);
  }
  point = syn_random_uniform(random) * sum;
  for (i = n - 1; i > left; i--) {
    point -= d->chance[d->heap[i]];
    if (point < 0.0f) break;
  }
  return d->heap[i];
}

/* One token for every row; rows that ended leave. Greedy or by chance: one row per sentence.
   Chance is a hash of seed (or the sentence's own), sentence and place and not a running state,
   so a sentence gets the same output whoever is decoded beside it. Rows that go on close ranks:
   n <= i, and what is read (d->row) is not what is written. */
static void syn__decode_single(syn_decoder *d, int place, syn_token_callback call, void *user) {
  int i, n = 0, made = 0;
  for (i = 0; i < d->n_live; i++) {
    int sentence = d->row[i].sentence, ended;
    syn_random random;
    syn__extension e;
    random.state = d->seeds ? syn__mix(d->seeds[sentence] ^ syn__mix((uint64_t)place)) : syn__mix(
        d->config.seed ^ syn__mix((uint64_t)sentence * 0x10001u + (uint64_t)place));
    e.row = i;
    e.score = d->row[i].score;
    e.token = d->config.temperature > 0.0f
                  ? syn__choose_chance(d, syn__decode_logits(d, i), &random)
                  : syn__choose_best(d, i, &made);
    ended = e.token == SYN_END || place + 1 >= d->limit;
    syn__decode_extend(d, n, &e, place);
    if (call && call(user, sentence, e.token)) ended = 1;
    if (ended)
      syn__decode_finish(d, sentence, d->text_next + (size_t)n * (size_t)d->limit, place + 1, 0.0f);
    else n++;
  }
  syn__decode_turn(d, n);
}

/* ==============================================================================================
   >>search   beam search, the loop over steps, the outputs
   ============================================================================================== */

/* What the 2K-th best extension of a row scores at least: the 2K-th largest of its peaks, each of
   which is a token. -inf where there are fewer; the block with those never chosen does not
   count. high [2K]. */
static float syn__beam_floor(const syn_decoder *d, float *high, const float *peaks, float base) {
  int most = 2 * d->config.beam, n = 0, i, k, blocks = (int)syn__decode_blocks(d);
  for (i = 1; i < blocks; i++) {
    if (n == most && !(peaks[i] > high[n - 1])) continue;
    if (n < most) n++;
    for (k = n - 1; k > 0 && peaks[i] > high[k - 1]; k--) high[k] = high[k - 1];
    high[k] = peaks[i];
  }
  return n == most ? base + high[n - 1] : -INFINITY;
}

/* Puts an extension among the best n of at most 2K; returns how many there are then. Equal ones
   keep their order. */
static int syn__beam_put(const syn_decoder *d, syn__extension *top, int n,
                         const syn__extension *e) {
  int most = 2 * d->config.beam, k;
  if (n == most && !(e->score > top[n - 1].score)) return n;
  if (n < most) n++;
  for (k = n - 1; k > 0 && e->score > top[k - 1].score; k--) top[k] = top[k - 1];
  top[k] = *e;
  return n;
}

/* The best 2K extensions of rows begin..end-1, those of one sentence, best first; equal scores keep
   the order row, token. log p = logit - log sum exp, so no row of probabilities is ever written. Of
   the V candidates of a row most lie in blocks whose peak is too small: then so are they all, since
   a sum rounds up or down with its terms. 2K are enough: at most K of them end (one end token per
   row), so K others live on. */
static void syn__beam_top(const syn_decoder *d, int begin, int end) {
  int n = 0, at, last, v = d->m->config.tgt_vocab, blocks = (int)syn__decode_blocks(d);
  int sentence = d->row[begin].sentence, most = 2 * d->config.beam;
  syn__extension *top = d->top + (size_t)sentence * (size_t)most, e;
  for (e.row = begin; e.row < end; e.row++) {
    const float *z = syn__decode_logits(d, e.row);
    const float *peaks = d->peaks + (size_t)e.row * (size_t)blocks;
    float base = d->row[e.row].score - d->log_sum[e.row];
    float least = syn__beam_floor(d, d->high + (size_t)sentence * (size_t)most, peaks, base);
    for (at = 0; at < blocks; at++) {
      float best = base + peaks[at];
      if (best < least || (n == most && !(best > top[n - 1].score))) continue;
      last = syn__min(v, (at + 1) * SYN__BLOCK);
      for (e.token = at * SYN__BLOCK; e.token < last; e.token++) {
        e.score = base + z[e.token];
        if (!(e.score < least) && e.token != SYN_PAD && e.token != SYN_BEGIN)
          n = syn__beam_put(d, top, n, &e);
      }
    }
  }
  d->n_top[sentence] = n;
}

/* Behind the live rows of the sentence of row `begin`. */
static int syn__beam_end(const syn_decoder *d, int begin) {
  int end = begin + 1;
  while (end < d->n_live && d->row[end].sentence == d->row[begin].sentence) end++;
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

/* Slots of the next rows to .. to + kept - 1 of a sentence, whose K they share. The first child of
   a row stays in its parent's slot and most of what it looks back to is there, in one piece; the
   others take what is free: what dead rows left in those slots at other places stays. */
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

/* One sentence of a beam: of its best extensions those that end are finished, the first K others
   live on, from row `to` of the next step on; returns how many. An ending hypothesis is scored at
   once with its length, the live ones keep the plain sum. Going on past the K-th finish is right,
   since a later one can still win, until the bound below says none can. */
static int syn__beam_sentence(syn_decoder *d, int sentence, int place, int to) {
  const syn__extension *top = d->top + 2 * (size_t)sentence * (size_t)d->config.beam;
  int k, kept = 0;
  size_t limit = (size_t)d->limit;
  float best, worst;
  for (k = 0; k < d->n_top[sentence]; k++) {
    const syn__extension *e = &top[k];
    if (e->token != SYN_END) {
      if (kept < d->config.beam) syn__decode_extend(d, to + kept++, e, place);
      continue;
    }
    d->text[(size_t)e->row * limit + (size_t)place] = SYN_END;
    syn__decode_finish(d, sentence, d->text + (size_t)e->row * limit, place + 1,
                       e->score / syn__length_penalty(d, place + 1));
  }
  if (!kept) return 0;
  syn__beam_slots(d, to, kept);
  if (place + 1 >= d->limit) { /* no more tokens: live ones follow where too few have finished */
    for (k = 0; k < kept && d->n_out[sentence] < d->config.best; k++)
      syn__decode_put(d, sentence, d->n_out[sentence]++, d->text_next + (size_t)(to + k) * limit,
                      place + 1, d->row_next[to + k].score / syn__length_penalty(d, place + 1));
    return 0;
  }
  /* No live one can win any more: log p only falls, and the largest divisor is that of L tokens. */
  best = d->row_next[to].score / syn__length_penalty(d, d->limit);
  worst = d->n_out[sentence] == d->config.best
              ? d->out_score[sentence * d->config.best + d->config.best - 1] : -INFINITY;
  return best <= worst ? 0 : kept;
}

/* Sentences that are done leave; the rows of the others move up, still in order. */
static void syn__decode_beam(syn_decoder *d, int place) {
  int begin, n = 0;
  syn__decode_peaks(d);
  syn__parallel(&d->run->tape, syn__task_beam_top, d, (size_t)d->n_live, (size_t)d->config.beam);
  for (begin = 0; begin < d->n_live; begin = syn__beam_end(d, begin))
    n += syn__beam_sentence(d, d->row[begin].sentence, place, n);
  syn__decode_turn(d, n);
}

/* -- the loop -- */

/* While a sentence's given beginning lasts, its tokens are fed instead of chosen. 0 behind the
   beginning, also where the caller's array is wider: there it is padding. */
static int syn__decode_forced(const syn_batch *b, int sentence, int place) {
  if (!b->tgt || place + 1 >= b->tgt_width) return 0;
  return b->tgt[(size_t)sentence * (size_t)b->tgt_width + (size_t)place + 1];
}

/* With score and all as if chosen, so the beam begins behind the beginning with K = 1 row a
   sentence. The callback is not told: the caller knows these tokens. */
static void syn__decode_feed(syn_decoder *d, const syn_batch *b, int place) {
  int i;
  for (i = 0; i < d->n_live; i++) {
    syn__extension e;
    e.row = i;
    e.score = d->row[i].score;
    e.token = syn__decode_forced(b, d->row[i].sentence, place);
    syn__decode_extend(d, i, &e, place);
  }
  syn__decode_turn(d, d->n_live);
}

/* Beginnings of one length, because all rows stand at one place at a time; a mixture of chosen
   and given tokens in one step would be possible, but nobody needs it. */
static syn_status syn__decode_check(syn_decoder *d, const syn_batch *b) {
  int i, j, length = 0;
  if (!syn__given(d->c, b, "batch")) return SYN_E_VALUE;
  if (b->count < 1 || b->count > d->config.sentences)
    return syn__fail(d->c, SYN_E_SHAPE, "decoding: %d sentences, planned were 1 to %d", b->count,
                     d->config.sentences);
  for (i = 0; i < b->count && b->tgt; i++) {
    const int *row = b->tgt + (size_t)i * (size_t)b->tgt_width;
    int n = syn__row_length(row, b->tgt_width);
    if (i == 0) length = n;
    if (n != length || n < 1 || n > d->limit || row[0] != SYN_BEGIN)
      return syn__fail(d->c, SYN_E_SHAPE,
                       "decoding: the beginning of sentence %d has %d tokens; wanted a "
                       "begin first, all of one length, at most %d",
                       i, n, d->limit);
    for (j = 0; j < n; j++)
      if (row[j] < 1 || row[j] >= d->m->config.tgt_vocab)
        return syn__fail(d->c, SYN_E_VALUE,
                         "decoding: token %d of sentence %d is %d, wanted 1 to %d", j, i, row[j],
                         d->m->config.tgt_vocab - 1);
  }
  return SYN_OK;
}

/* One hypothesis a sentence, about to feed begin. */
static void syn__decode_begin(syn_decoder *d, int count) {
  int i;
  d->sentences = d->n_live = count;
  for (i = 0; i < count; i++) {
    d->row[i].sentence = i;
    d->row[i].slot = i * d->config.beam;
    d->row[i].token = SYN_BEGIN;
    d->row[i].score = 0.0f;
    d->n_out[i] = 0;
  }
}

/* Each round feeds the newest token of every live row at `place` and chooses the next; the
   first is begin, fed for everybody. Ends when no row lives or L tokens are made. Nothing is
   allocated. */
syn_status syn_decoder_run(syn_decoder *d, const syn_batch *b, syn_token_callback call,
                           void *user) {
  int place;
  syn_status s;
  if (!d) return SYN_E_VALUE;
  d->sentences = 0; /* of what failed nothing can be read */
  if (!syn__given(d->c, b, "batch")) return SYN_E_VALUE;
  s = syn__decode_check(d, b);
  if (s == SYN_OK) s = syn__decode_encode(d, b);
  if (s != SYN_OK) return s;
  syn__decode_begin(d, b->count);
  for (place = 0; place < d->limit && d->n_live; place++) {
    syn__decode_rows(d, place);
    if (syn__decode_forced(b, 0, place)) syn__decode_feed(d, b, place);
    else if (d->config.beam > 1) syn__decode_beam(d, place);
    else syn__decode_single(d, place, call, user);
  }
  d->run->tape.decode = NULL;
  return SYN_OK;
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
  *size = d->out_size[at];
  if (score) *score = d->out_score[at];
  return syn__out_tokens(d, sentence, rank);
}

/* -- the plan: the same carving, with nothing to carve -- */

/* Measured on a decoder without memory. A configuration that is refused has 0 bytes, and the
   error is recorded. */
static size_t syn__decoder_bytes(syn_context *c, const syn_model *m,
                                 const syn_decode_config *config) {
  syn_decode_config none;
  syn_decoder d;
  syn_limits limits;
  syn__layout k;
  memset(&none, 0, sizeof none);
  memset(&d, 0, sizeof d);
  d.c = c;
  d.m = m;
  k.base = NULL;
  k.used = 0;
  if (syn__decode_resolve(&d, config ? config : &none)) return 0;
  limits = syn__decode_limits(&d);
  syn__layout_decoder(&d, &k);
  return syn__add_size(k.used, syn__run_bytes(c, m, SYN__INFER, &limits));
}

/* The graph is built as for a model, without weights: only so are the sizes those that will be.
   Training is resolved by the trainer's own function, on a trainer that has no memory. */
syn_status syn_plan_of(syn_context *c, const syn_config *config, const syn_train_config *train,
                       const syn_decode_config *decode, syn_plan *plan) {
  syn_model *m = syn__model_shell(c, config);
  syn_train_config none;
  syn_trainer t;
  syn_limits limits;
  memset(plan, 0, sizeof *plan);
  if (!m) return c->status;
  memset(&none, 0, sizeof none);
  memset(&t, 0, sizeof t);
  t.c = c;
  t.m = m;
  if (!syn__train_resolve(&t, train ? train : &none)) {
    limits = syn__train_limits(m, t.config.batch_tokens, t.config.length);
    plan->weights = syn__mul_size(m->floats, sizeof(float));
    plan->training = syn__trainer_bytes(&t);
    plan->activations = syn__run_bytes(c, m, SYN__TRAIN, &limits);
    if (m->task->decoder) plan->decoding = syn__decoder_bytes(c, m, decode);
  }
  syn_model_free(m);
  return c->status;
}

/* ==============================================================================================
   >>text   tokenizers: char, byte, space, line, bpe
   ============================================================================================== */

/* Bytes become characters, characters become pieces, pieces have ids. A word is one white-space
   character and all that follows up to the next, so that pieces joined together are the text
   again.

     kind    pieces          ids from 4 on are in the order of     unknown
     byte    the 256 bytes   their value                           never
     char    characters      their code point                      a new character, a bad byte
     space   whole words     how often they were seen, then bytes  a new word
     line    whole lines     bytes                                 a new line
     bpe     parts of words  characters: code point; then merges   a new character, a bad byte

   Byte pair encoding (Sennrich, Haddow, Birch 2016, algorithm 1): the pieces are first the
   characters; then, again and again, the pair of neighbours with the highest sum over the distinct
   words of (times in the word) x (count of the word) becomes a new piece wherever it stands. With
   "low" seen 5 times and "lower" twice: " l", " lo", " low" (7 each), then " lowe", " lower" (2).
   A merge gets the next id, so its id is its rank. Encoding a word joins, as long as there is one,
   the pair whose piece has the lowest id. As a new piece is only part of later ones, this is the
   same as applying all merges in the order in which they were learned, without trying each.

   Nothing depends on hash values or on the machine: every order here is one of counts and, for
   equal counts, of bytes. Nor on the order of the lines, since counts are taken over all of them.

   Cost: learning reads the lines once; a merge then costs what changes in the words that hold its
   pair, O(changes log pairs) in all, not a pass over the text. Encoding is one look into a map for
   each character or word, for bpe about n^2 steps a word of n characters. Memory: the distinct
   words, not the text. */

#define SYN__MAX_VOCAB (1 << 24)         /* sizes in a saved tokenizer then fit in 32 bits */
#define SYN__MAX_WORD 256                /* characters of a word in bpe; the rest is a new word */
#define SYN__BAD_CHAR 0x80000000u        /* set in a "character" that is one byte, not UTF-8 */
#define SYN__TOKENIZER_MAGIC "syntok1"   /* with its final 0: the first 8 bytes when saved */
#define SYN__TOKENIZER_HEADER 28         /* and the bytes before its pieces */
#define SYN__SENTINELS 100               /* as many as T5 has */

/* -- growing arrays and a hash map -- */

/* An array of any type: the caller knows which, C has no better way without a text for each. */
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

/* Open addressing, never more than half full, so a search ends at an empty slot, after 1.5 probes
   on average when the key is there. Nothing is ever taken out: what learning drops is dropped
   whole. A key may be there more than once: texts with the same hash, which the caller tells
   apart. */
typedef struct syn__map {
  syn__slot *slots;
  size_t cap, count; /* cap is 0 or a power of two */
} syn__map;

/* The next value stored with this key, 0 when there is none. *probe counts on; begin with 0. An
   empty map has no slot to look at. The search ends, for half of the slots are empty. */
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

/* Stores a pair where a slot is known to be free. The key is mixed first: pairs of ids and code
   points differ in few low bits, and would stand in one cluster. */
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

/* -- characters -- */

/* C++11 knows no compound literals, so a text is made by a call. */
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

/* Writes a character, or the byte it stands for; returns its bytes, at most 4. From the last to the
   first: 6 bits in each that follows, the rest in the first under its mark of length. */
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
   Cyrillic: every `step`-th character from `first` to `last` moves by `add` (in Latin Extended-A
   the cases alternate, so step 2). In order of `first`: the search stops at the first range above
   ch. None grows in UTF-8, so a text has at most as many tokens as bytes, and its space. tolower of
   the C library would depend on the locale. */
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

/* Is there another character? To be asked before each syn__read_char, which does not look. */
static int syn__reading(const syn__reader *r) { return r->space || r->at < r->text.size; }

/* The one place where a text becomes characters. */
static uint32_t syn__read_char(syn__reader *r) {
  uint32_t ch;
  if (r->space) {
    r->space = 0;
    return ' ';
  }
  ch = syn__char_next(r->text, &r->at);
  return r->flags & SYN_LOWERCASE ? syn__lower(ch) : ch; /* a bad byte is above every range */
}

/* After a character of a word: does the word go on? White space ends it and begins the next, so no
   character is lost between words. */
static int syn__reading_word(const syn__reader *r) {
  return r->at < r->text.size && !syn__is_white(r->text.at[r->at]);
}
/* The same for a unit of "space", a word, or of "line", which only its end ends. */
static int syn__reading_unit(const syn__reader *r, int words) {
  return words ? syn__reading_word(r) : syn__reading(r);
}

/* -- the tokenizer and its pieces -- */

/* A merge: the ids of two neighbours; its own id follows from its place. */
typedef struct syn__merge_of {
  int left, right;
} syn__merge_of;

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

/* Pieces stand in one block of bytes, without pointers: the block may move while it grows. Piece i
   ends at ends[i] and begins where the one before it ends. Made once, then only read. */
struct syn_tokenizer {
  syn_context *c;
  const syn__token_kind *kind;
  int flags;
  int asked;           /* SIZE of bpe, else 0 */
  char type[24];
  syn__growing bytes;  /* char: the texts of the pieces, one after the other */
  syn__growing ends;   /* size_t: where each of them ends */
  syn__growing pairs;  /* syn__merge_of: what the last pieces were merged from */
  syn__map ids;        /* of a code point, of the hash of a word, of a pair (left << 32 | right) */
  size_t own;          /* pieces before the sentinels */
};

/* Ids are at least 1, so a pair is at least 2^32 and never meets a code point in the same map.
   Words are alone in theirs. */
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

/* A file that tells something impossible; in learning, a mistake of ours. */
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

/* Different words may have the same hash: the texts decide. A line is any text but the empty
   one. */
static syn_status syn__add_word(syn_tokenizer *t, syn_text piece) {
  uint64_t key = syn_hash(SYN_HASH_START, piece.at, piece.size);
  size_t probe = 0;
  int id, known = t->kind->words ? !syn__is_word(piece) : piece.size == 0;
  while (!known && (id = syn__map_next(&t->ids, key, &probe)) != 0)
    known = syn__text_compare(syn__piece(t, id), piece) == 0;
  return known ? syn__refuse_piece(t, "one new word") : syn__add_piece(t, piece, key);
}

/* Joins two older pieces to the next one. Two merges may make equal texts: they stay two tokens,
   and encoding finds them by their pairs. The texts are looked up after the pool has grown. */
static syn_status syn__add_merge(syn_tokenizer *t, int left, int right) {
  syn__merge_of *pair;
  size_t size;
  char *at;
  int id = syn_tokenizer_size(t);
  if (left < SYN_FIRST_TOKEN || right < SYN_FIRST_TOKEN || left >= id || right >= id ||
      syn__map_find(&t->ids, syn__pair_key(left, right)))
    return syn__refuse_piece(t, "a new pair of tokens before it");
  size = syn__piece(t, left).size;
  at = (char *)syn__growing_add(t->c, &t->bytes, size + syn__piece(t, right).size, 1);
  pair = at ? (syn__merge_of *)syn__growing_add(t->c, &t->pairs, 1, sizeof *pair) : NULL;
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

/* A character the lines did not hold is unknown, and so is a byte that is not UTF-8. */
static int syn__char_id(const syn_tokenizer *t, uint32_t ch) {
  int id = syn__map_find(&t->ids, ch); /* no bad byte is in the map */
  return id ? id : SYN_UNKNOWN;
}

/* char: one look into the map for each character, whatever the size of the vocabulary. */
static void syn__encode_chars(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  while (syn__reading(&r)) syn__emit(out, syn__char_id(t, syn__read_char(&r)));
}

/* Is the unit that begins at r this piece? Read again in place of a copy: units have any length. */
static int syn__word_is(syn__reader r, int words, syn_text piece) {
  char bytes[4];
  size_t at = 0, size;
  do {
    size = syn__char_put(syn__read_char(&r), bytes);
    if (piece.size - at < size || memcmp(piece.at + at, bytes, size) != 0) return 0;
    at += size;
  } while (syn__reading_unit(&r, words));
  return at == piece.size;
}

/* The hash is taken while reading; whoever has the same hash is compared with the text itself. */
static void syn__encode_words(const syn_tokenizer *t, syn__reader r, syn__ids *out) {
  char bytes[4];
  while (syn__reading(&r)) {
    syn__reader word = r;
    uint64_t key = SYN_HASH_START;
    size_t probe = 0;
    int id;
    do key = syn_hash(key, bytes, syn__char_put(syn__read_char(&r), bytes));
    while (syn__reading_unit(&r, t->kind->words));
    do id = syn__map_next(&t->ids, key, &probe);
    while (id && !syn__word_is(word, t->kind->words, syn__piece(t, id)));
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
   is in no pair, so nothing is merged across it. Only two ranks can change by a merge, those with
   its new symbol: a map is asked n + 2 (n - 1) times, not n^2. */
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
/* Bytes grow with the number of distinct units alone: a text of gigabytes has few different
   words. */
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

/* Ends the open unit and counts it `times` times; its bytes stay only when it is new. Equal hashes
   prove nothing, so the texts are compared; a place in the map is a unit + 1, for 0 means empty. */
static syn_status syn__count_unit(syn__counter *k, uint64_t times) {
  syn_text text = syn__text_of((const char *)k->bytes.at + k->open, k->bytes.count - k->open);
  uint64_t key = syn_hash(SYN_HASH_START, text.at, text.size);
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

/* Every word of the lines, at most `limit` characters each, a bad byte kept as the byte it is; for
   "line" every line. */
static syn_status syn__count_words(syn__counter *k, syn_tokenizer *t, const syn_text *lines,
                                   size_t count, size_t limit) {
  size_t i, n;
  for (i = 0; i < count; i++) {
    syn__reader r = syn__read(lines[i], t->flags, t->kind->words);
    while (syn__reading(&r)) {
      n = 0;
      do
        if (syn__count_char(k, syn__read_char(&r)) != SYN_OK) return SYN_E_MEMORY;
      while (++n < limit && syn__reading_unit(&r, t->kind->words));
      if (syn__count_unit(k, 1) != SYN_OK) return SYN_E_MEMORY;
    }
  }
  return SYN_OK;
}

/* Every character of a text, `times` times. Bad bytes are no characters: they are left out, so that
   none becomes a piece. */
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
   first. Entry i stands before 2i+1 and 2i+2; push and pop cost O(log n). Items have different
   texts or ids, so the order is total and what comes out does not depend on how it went in: qsort,
   which has no pointer to hand to its comparison, would need a global. */
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
  syn__ranked *e, added;
  size_t i = h->entries.count;
  added.count = count;
  added.item = item;
  if (!syn__growing_add(c, &h->entries, 1, sizeof *e)) return SYN_E_MEMORY;
  e = (syn__ranked *)h->entries.at;
  for (; i > 0 && syn__heap_before(h, &added, &e[(i - 1) / 2]); i = (i - 1) / 2)
    e[i] = e[(i - 1) / 2];
  e[i] = added;
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

/* The texts of two units: UTF-8 is in order of code points when it is in order of bytes. */
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

/* Nothing to learn; the map stays unused in encoding: a byte's id is its value + 4. The pieces are
   made all the same: decoding and printing then need no case for bytes. */
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

/* char: one pass over the lines counts the characters; the counts play no part. Order of code point
   makes the ids the same whatever the lines say first. */
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

/* space: words of any length, in order of their counts: so a vocabulary cut to its first ids keeps
   the frequent words. line: in order of their bytes. */
static syn_status syn__learn_words(syn_tokenizer *t, const syn_text *lines, size_t count) {
  syn__counter k;
  syn_status status;
  memset(&k, 0, sizeof k);
  k.c = t->c;
  status = syn__count_words(&k, t, lines, count, SIZE_MAX);
  if (status == SYN_OK) status = syn__add_units(t, &k, t->kind->words);
  syn__counter_free(&k);
  return status;
}

/* -- learning byte pair encoding -- */

/* Each distinct word is kept once, as symbols. Each pair knows its count and the words in which it
   came up; a word it has left since is found out when it is read. A count can only grow in the
   step that makes one of the two symbols, so a heap entry is at worst too high: it is put back
   with its true count. That saves searching the heap for every count that falls.
   Places in growing arrays are ints, for pointers would not outlive the next growth. */
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
  int first_new;                                 /* pairs from here on are new in this step */
} syn__bpe;

/* Safe at any point of the learning: what was not made yet is null. */
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
   texts do the ids decide. Counts are often equal towards the end of the learning: without a rule
   two machines would learn two vocabularies. */
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
   the list of a pair that is new, once: words are read one after the other. */
static syn_status syn__bpe_count(syn__bpe *b, int word, int left, int right, uint64_t times) {
  syn__bpe_pair *p;
  syn__bpe_link *link;
  if (left == SYN_UNKNOWN || right == SYN_UNKNOWN) return SYN_OK;
  p = syn__bpe_pair_of(b, left, right);
  if (!p) return SYN_E_MEMORY;
  p->count += times;
  if (p < syn__bpe_pair_at(b, b->first_new)) return SYN_OK;
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
  for (; b->first_new < (int)b->pairs.count; b->first_new++) {
    uint64_t count = syn__bpe_pair_at(b, b->first_new)->count;
    if (count >= 2 && syn__heap_push(b->t->c, &b->heap, count, b->first_new) != SYN_OK)
      return SYN_E_MEMORY;
  }
  return SYN_OK;
}

/* x left right y in a word becomes x id y: besides left right two pairs go, and two are new. x and
   y are null at the ends of the word. In a a a the pair a a is there twice: the first place takes
   both away, once as left right, once as right y. */
static syn_status syn__bpe_replace(syn__bpe *b, int word, const int *x, const int *y,
                                   syn__merge_of pair, int id) {
  uint64_t times = ((const syn__bpe_word *)b->words.at)[word].count;
  syn_status status = syn__bpe_count(b, word, pair.left, pair.right, 0 - times);
  if (x && status == SYN_OK) status = syn__bpe_count(b, word, *x, pair.left, 0 - times);
  if (x && status == SYN_OK) status = syn__bpe_count(b, word, *x, id, times);
  if (y && status == SYN_OK) status = syn__bpe_count(b, word, pair.right, *y, 0 - times);
  if (y && status == SYN_OK) status = syn__bpe_count(b, word, id, *y, times);
  return status;
}

/* Puts `id` for the pair in one word, from the left: what stands before a place is done already. */
static syn_status syn__bpe_join(syn__bpe *b, int word, syn__merge_of pair, int id) {
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

/* The distinct words as symbols, and the counts of their pairs: a word seen c times adds c to each
   of its pairs. All symbols stand in one array; a word only ever gets shorter, in its own place. */
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
   pair is walked by indices: its array may move while words are joined. `p` is a copy for the same
   reason. The pair itself is never new again, so its list does not grow under the walk. */
static syn_status syn__bpe_merge(syn__bpe *b) {
  syn__ranked top;
  syn_status status = SYN_OK;
  int id, at;
  while (status == SYN_OK && (id = syn_tokenizer_size(b->t)) < b->t->asked &&
         syn__heap_pop(&b->heap, &top)) {
    syn__bpe_pair p = *syn__bpe_pair_at(b, top.item);
    syn__merge_of pair;
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

/* A saved tokenizer holds the place in this list: new kinds go to its end. U+FFFD, the replacement
   character, is three bytes in UTF-8; a word brings its space along. */
static const syn__token_kind syn__token_kinds[] = {
    {"byte", "\xEF\xBF\xBD", 0, 0, NULL, syn__learn_bytes, syn__encode_bytes},
    {"char", "\xEF\xBF\xBD", 0, 0, syn__add_char, syn__learn_chars, syn__encode_chars},
    {"space", " \xEF\xBF\xBD", 1, 0, syn__add_word, syn__learn_words, syn__encode_words},
    {"bpe", "\xEF\xBF\xBD", 1, 1, syn__add_char, syn__learn_pairs, syn__encode_pairs},
    {"line", "\xEF\xBF\xBD", 0, 0, syn__add_word, syn__learn_words, syn__encode_words}};

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

/* An empty tokenizer, with its spec as a text: written anew, so that "bpe:010" is "bpe:10" and
   equal tokenizers have equal types. */
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

/* The last pieces, when they are asked for; a word's own begin with its space. They are in no map,
   so nothing is encoded to them. Not saved: the flag tells all. */
static syn_status syn__add_sentinels(syn_tokenizer *t) {
  char text[8], *at;
  size_t *end;
  int i, size;
  t->own = t->ends.count;
  for (i = 0; i < SYN__SENTINELS && t->flags & SYN_SENTINELS; i++) {
    if (syn_tokenizer_size(t) >= SYN__MAX_VOCAB) return syn__refuse_piece(t, "among 2^24");
    size = snprintf(text, sizeof text, "%s<%d>", t->kind->words ? " " : "", i);
    at = (char *)syn__growing_add(t->c, &t->bytes, (size_t)size, 1);
    end = (size_t *)syn__growing_add(t->c, &t->ends, 1, sizeof *end);
    if (!at || !end) return SYN_E_MEMORY;
    memcpy(at, text, (size_t)size);
    *end = t->bytes.count;
  }
  return SYN_OK;
}

syn_tokenizer *syn_tokenizer_learn(syn_context *c, const char *spec, int flags,
                                   const syn_text *lines, size_t count) {
  uint32_t asked = 0;
  const syn__token_kind *kind = syn__token_spec(spec, &asked);
  syn_tokenizer *t = NULL;
  if (count && !lines)
    syn__given(c, lines, "array of lines");
  else if (!kind)
    syn__fail(c, SYN_E_VALUE, "tokenizer: \"%.40s\" given; byte, char, space, line or bpe:SIZE "
              "wanted, SIZE from %d to %d", spec ? spec : "", SYN_FIRST_TOKEN + 1, SYN__MAX_VOCAB);
  else if (flags & ~(SYN_LOWERCASE | SYN_SENTINELS))
    syn__fail(c, SYN_E_VALUE, "tokenizer: flags %d given; 0, SYN_LOWERCASE (%d), SYN_SENTINELS "
              "(%d) or both wanted", flags, SYN_LOWERCASE, SYN_SENTINELS);
  else
    t = syn__tokenizer_make(c, kind, flags, asked);
  if (t && (kind->learn(t, lines, count) != SYN_OK || syn__add_sentinels(t) != SYN_OK)) {
    syn_tokenizer_free(t);
    t = NULL;
  }
  return t;
}

/* Half-built ones too: the makers above and below come here with what they have. */
void syn_tokenizer_free(syn_tokenizer *t) {
  if (!t) return;
  syn__free(t->c, t->bytes.at);
  syn__free(t->c, t->ends.at);
  syn__free(t->c, t->pairs.at);
  syn__free(t->c, t->ids.slots);
  syn__free(t->c, t);
}

int syn_tokenizer_size(const syn_tokenizer *t) {
  return t ? SYN_FIRST_TOKEN + (int)t->ends.count : 0;
}
int syn_tokenizer_flags(const syn_tokenizer *t) { return t ? t->flags : 0; }
int syn_tokenizer_sentinels(const syn_tokenizer *t, int *first) {
  *first = t ? SYN_FIRST_TOKEN + (int)t->own : 0;
  return syn_tokenizer_size(t) - *first;
}
const char *syn_tokenizer_type(const syn_tokenizer *t) { return t ? t->type : ""; }

/* Reads only what was built before: no scratch, no cache, nothing to lock. The reader and the ids
   are on the stack, so one tokenizer serves any number of threads. */
int syn_tokenizer_encode(const syn_tokenizer *t, syn_text text, int *ids, int room) {
  syn__ids out;
  if (!t) return 0;
  out.at = ids;
  out.room = room;
  out.count = 0;
  t->kind->encode(t, syn__read(text, t->flags, t->kind->words), &out);
  return out.count;
}

/* Unknown stands for one character, for "space" for a word with its space. */
syn_text syn_tokenizer_piece(const syn_tokenizer *t, int id, int first) {
  const char *unknown = t ? t->kind->unknown : "";
  syn_text text = syn__text_of(unknown, strlen(unknown));
  if (!t) return text;
  if (id == SYN_PAD || id == SYN_BEGIN || id == SYN_END) text.size = 0;
  if (id >= SYN_FIRST_TOKEN && id < syn_tokenizer_size(t)) text = syn__piece(t, id);
  if (first && t->kind->words && text.size && text.at[0] == ' ') text.at++, text.size--;
  return text;
}

/* `size` counts all; `kept` stops at the first token that does not fit, so that no shorter one
   after it leaves a hole in the text. */
size_t syn_tokenizer_decode(const syn_tokenizer *t, const int *ids, int count, char *out,
                            size_t room) {
  size_t size = 0, kept = 0;
  int i, first = 1;
  for (i = 0; i < count && ids[i] != SYN_END; i++) {
    syn_text text = syn_tokenizer_piece(t, ids[i], first);
    if (ids[i] == SYN_PAD || ids[i] == SYN_BEGIN) continue;
    first = 0;
    if (kept == size && text.size < room - kept) { /* room for the final 0 is left */
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
static void syn__put32(unsigned char *out, size_t x) { syn__put_bytes(out, x, 4); }
static uint32_t syn__get32(const unsigned char *in) { return (uint32_t)syn__get_bytes(in, 4); }

/* Equal tokenizers give equal bytes. Nothing is written unless all fits: half a tokenizer helps
   nobody. */
size_t syn_tokenizer_save(const syn_tokenizer *t, void *out, size_t room) {
  unsigned char *at = (unsigned char *)out;
  const syn__merge_of *pairs = t ? (const syn__merge_of *)t->pairs.at : NULL;
  size_t stored = t && t->kind->add ? t->own : 0, merges = t ? t->pairs.count : 0, i;
  size_t bytes = stored ? ((const size_t *)t->ends.at)[stored - 1] : 0; /* byte stores none */
  size_t need = SYN__TOKENIZER_HEADER + 4 * stored + 8 * merges + bytes;
  if (!t) return 0;
  if (need > room) return need;
  memcpy(at, SYN__TOKENIZER_MAGIC, 8);
  syn__put32(at + 8, (size_t)(t->kind - syn__token_kinds));
  syn__put32(at + 12, (size_t)t->flags);
  syn__put32(at + 16, (size_t)t->asked);
  syn__put32(at + 20, stored);
  syn__put32(at + 24, merges);
  at += SYN__TOKENIZER_HEADER;
  for (i = 0; i < stored; i++, at += 4)
    syn__put32(at, syn__piece(t, SYN_FIRST_TOKEN + (int)i).size);
  for (i = 0; i < merges; i++, at += 8) {
    syn__put32(at, (size_t)pairs[i].left);
    syn__put32(at + 4, (size_t)pairs[i].right);
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
    for (i = 0; i < 5; i++) field[i] = syn__get32(in + 8 + 4 * i);
  if (field[0] < SYN__COUNT(syn__token_kinds)) {
    kind = &syn__token_kinds[field[0]];
    fits = !(field[1] & ~(uint32_t)(SYN_LOWERCASE | SYN_SENTINELS));
    fits = fits && syn__token_size_fits(kind, field[2]);
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

/* An id, 0 for a number that is none: syn__add_merge refuses 0 as it does every id not made yet. */
static int syn__load_id(const unsigned char *in) {
  uint32_t id = syn__get32(in);
  return id < SYN__MAX_VOCAB ? (int)id : 0;
}

/* The pieces and merges: each is added as in learning, with its checks. A merge is compared with
   its text in the file as soon as it is made: pieces that double in length are stopped at the
   first. */
static syn_status syn__load_pieces(syn_tokenizer *t, const unsigned char *in, size_t size) {
  size_t pieces = syn__get32(in + 20), merges = syn__get32(in + 24), i;
  const unsigned char *sizes = in + SYN__TOKENIZER_HEADER, *pairs = sizes + 4 * pieces;
  size_t at = SYN__TOKENIZER_HEADER + 4 * pieces + 8 * merges;
  syn_status status = SYN_OK;
  for (i = 0; i < pieces && status == SYN_OK; i++) {
    syn_text piece = syn__text_of((const char *)in + at, syn__get32(sizes + 4 * i));
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
  if (t && status == SYN_OK) status = syn__add_sentinels(t);
  if (status == SYN_OK) return t;
  syn_tokenizer_free(t);
  return NULL;
}

/* ==============================================================================================
   >>file   safetensors: reader, writer, model files
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

/* One line of SYN_DTYPE_LIST; the last row stands for every number that is no dtype. bits: of
   one element, 4 and 6 bits included; unit: bytes of the number that is turned on a big-endian
   machine. */
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

/* Never null, so messages need no check. */
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

/* Bytes of the character at `at`, 0 when it is not UTF-8; left > 0. */
static size_t syn__file_utf8(const unsigned char *at, size_t left) {
  size_t n = 0;
  uint32_t ch = syn__char_next(syn__text_of((const char *)at, left), &n);
  return ch & SYN__BAD_CHAR ? 0 : n;
}

/* 1 for a text that is not null and UTF-8 to its end. What is written must be readable by the
   next reader: the header of a safetensors file is UTF-8. */
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

/* Both syn_entry and syn_pair begin with the text they are sorted by, so one list, one search and
   one look for doubles serves both. memcpy, since the two structs have no type in common. */
static const char *syn__item_name(const void *item) {
  const char *name;
  memcpy(&name, item, sizeof name);
  return name;
}

/* < 0, 0, > 0 when a belongs before, beside, behind b. */
typedef int (*syn__order)(const void *a, const void *b);

/* Byte by byte as unsigned, the same on every machine; strcoll would ask the locale. */
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

/* A name that stands twice in a list sorted by name, or null. In a sorted list doubles are
   neighbours: n comparisons instead of n^2. */
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

/* Two orders of the same entries: that of the header, which is what a caller walks and a writer
   keeps, and sorted by name for searching. Entries point into `block` or the caller's bytes;
   names into `text`. */
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
   nothing and every loop stops, so that only the last step has to look at `ok`. text walks
   forward only: names, keys and values stay, strings that are only looked at (fields, dtypes,
   skipped values) are given back by setting it back. */
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

/* Steps over `byte` if it is the next. White space in front is stepped over too, and stays
   stepped over when something else stands there. */
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
  return out + syn__char_put(code, out);
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

/* One digit or more. Both halves of a fraction and the exponent need at least one. */
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

/* A dtype by its name; SYN_F32 after an error. An unknown one ends the reading: without its
   width the offsets cannot be checked. */
static syn_dtype syn__json_dtype(syn__json *j) {
  char shown[SYN__SHOWN];
  const char *name = syn__json_string(j);
  int i;
  for (i = 0; i < SYN_DTYPE_COUNT; i++)
    if (strcmp(name, syn_dtype_name((syn_dtype)i)) == 0) return (syn_dtype)i;
  syn__json_bad(j, "unknown dtype \"%s\"", syn__show(shown, name));
  return SYN_F32;
}

/* [rows, columns, ...]. Numbers beyond the room for them are read and fail; the loop then ends
   by itself. */
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

/* The object of one tensor. What needs all three fields is checked behind the last, because
   their order is free; after an earlier error the checks say nothing and nothing is kept. The
   entry is built on the stack and appended when it is whole, so the list never holds half an
   entry. */
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

/* {key: value, ...}, both strings. Doubles are found later, in the sorted list. A pair is
   appended when both strings are there. */
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

/* All of the header. Behind the object only white space may stand: writers pad with it. Names
   are decoded before they are compared: "__metadata__" written with escapes is the same name. */
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

/* Lists by name and key; no name may stand twice. by_name serves as the list by place before.
   by_name is filled by place first: the look for holes needs that order once, the search needs
   the other for ever, one array does both. */
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
  if (size < 10) {
    syn__fail(c, SYN_E_FORMAT, "%s: %lu bytes, a safetensors file has at least 10", where,
              (unsigned long)size);
    return 0;
  }
  n = syn__get_bytes(bytes, 8);
  if (n >= 2 && n <= size - 8 && n <= SYN__HEADER_MAX) return (size_t)n;
  syn__fail(c, SYN_E_FORMAT,
            "%s: not a safetensors file: header of %llu bytes (2 to %lu) in a file of %lu", where,
            (unsigned long long)n, (unsigned long)SYN__HEADER_MAX, (unsigned long)size);
  return 0;
}

/* Reads the bytes of a file into f. syn__file_header has left size >= 8 + header. The block for
   texts has the length of the header, which itself ends inside the file: memory asked for is
   bounded by bytes that are there. */
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

/* A file with nothing in it, or null. Zeroed: syn_file_free may be called on it at any time
   from now on. */
static syn_file *syn__file_new(syn_context *c) {
  syn_file *f = (syn_file *)syn__alloc(c, 1, sizeof *f);
  if (f) f->c = c;
  return f;
}

/* f when the bytes (f->block, or the caller's) are a valid file, else null; then f is gone. f
   is taken in any case: the caller not_needed it, whichever way this goes. */
static syn_file *syn__file_finish(syn_file *f, const char *where, const void *bytes, size_t size) {
  if (!syn__file_parse(f, where, (const unsigned char *)bytes, size)) {
    syn_file_free(f);
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
    else syn_file_free(f), f = NULL;
  }
  return f ? syn__file_finish(f, "memory", bytes, size) : NULL;
}

void syn_file_free(syn_file *f) {
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

size_t syn_file_count(const syn_file *f) { return f ? f->n_entries : 0; }
size_t syn_file_pair_count(const syn_file *f) { return f ? f->n_pairs : 0; }

const syn_entry *syn_file_entry(const syn_file *f, size_t i) {
  return i < syn_file_count(f) ? &f->entries[i] : NULL;
}

const syn_pair *syn_file_pair(const syn_file *f, size_t i) {
  return i < syn_file_pair_count(f) ? &f->pairs[i] : NULL;
}

const syn_entry *syn_file_find(const syn_file *f, const char *name) {
  return f ? (const syn_entry *)syn__lookup(f->by_name, f->n_entries, name) : NULL;
}

const char *syn_file_value(const syn_file *f, const char *key) {
  const syn_pair *pair =
      f ? (const syn_pair *)syn__lookup(f->by_key, f->n_pairs, key) : NULL;
  return pair ? pair->value : NULL;
}

/* Bytes of one number of a dtype that comes back as floats; 0: another dtype. */
static size_t syn__float_width(syn_dtype dtype) {
  return dtype == SYN_F32 ? 4 : dtype == SYN_F16 || dtype == SYN_BF16 ? 2 : 0;
}

/* Says why an entry cannot be had as `count` floats. */
static syn_status syn__entry_refuse(syn_context *c, const syn_entry *e, size_t count) {
  char shown[SYN__SHOWN];
  const char *name = syn__show(shown, e->name ? e->name : "");
  if (!syn__float_width(e->dtype))
    return syn__fail(c, SYN_E_FORMAT, "tensor \"%s\" is %s, wanted F32, F16 or BF16", name,
                     syn_dtype_name(e->dtype));
  return syn__fail(c, SYN_E_SHAPE, "tensor \"%s\" has %lu bytes of %s, wanted %lu elements", name,
                   (unsigned long)e->bytes, syn_dtype_name(e->dtype), (unsigned long)count);
}

/* F32 is copied, BF16 is the upper half of a float, F16 is rebuilt bit by bit: all exact.
   memcpy, because data may lie at odd addresses. `out` is defined on every path: zeros when
   refused. */
syn_status syn_entry_floats(syn_context *c, const syn_entry *e, float *out, size_t count) {
  const unsigned char *at = e ? (const unsigned char *)e->data : NULL;
  size_t i, width = e ? syn__float_width(e->dtype) : 0;
  uint32_t bits;
  uint16_t half;
  /* e may be of the caller's making: only its bytes count, against what `count` elements need */
  if (!width || e->bytes != syn__mul_size(count, width) || (count && !at)) {
    for (i = 0; i < count; i++) out[i] = 0.0f;
    return !syn__given(c, e, "entry") ? SYN_E_VALUE : syn__entry_refuse(c, e, count);
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

/* What is to be written. Borrowed from the caller for the time of one call. */
typedef struct syn__content {
  const syn_pair *pairs;
  size_t n_pairs;
  const syn_entry *entries;
  size_t n_entries;
} syn__content;

/* Bytes on their way to a sink. Small pieces are gathered, so that a sink is not called for every
   comma; large ones go straight through. Without a sink bytes are only counted: the header is made
   twice, once to learn its length, which stands in front of it, and no memory is needed for it. */
typedef struct syn__emitter {
  const syn_sink *sink;
  size_t total, used; /* bytes so far, bytes in the buffer */
  int failed;
  unsigned char buffer[512];
} syn__emitter;

/* Begins with nothing sent; `sink` null counts. */
static void syn__emit_start(syn__emitter *e, const syn_sink *sink) {
  memset(e, 0, sizeof *e);
  e->sink = sink;
}

/* Hands bytes to the sink; after its first failure it is not called again. */
static void syn__emit_now(syn__emitter *e, const void *bytes, size_t size) {
  if (e->failed || !size) return;
  e->failed = e->sink->write(e->sink->user, bytes, size) != size;
}

/* Sends what was gathered. */
static void syn__emit_flush(syn__emitter *e) {
  if (e->sink) syn__emit_now(e, e->buffer, e->used);
  e->used = 0;
}

/* Sends or gathers; the order of bytes is that of the calls. */
static void syn__emit_bytes(syn__emitter *e, const void *bytes, size_t size) {
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

/* Names and JSON signs; the final 0 is not sent. */
static void syn__emit_text(syn__emitter *e, const char *text) {
  syn__emit_bytes(e, text, strlen(text));
}

/* Decimal digits. Not by printf: its length for size_t differs between C libraries. */
static void syn__emit_size(syn__emitter *e, size_t n) {
  char digits[24];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + (int)(n % 10));
  while ((n /= 10) != 0);
  syn__emit_bytes(e, digits + at, sizeof digits - at);
}

/* A JSON string. Beyond ", \ and control characters nothing has to be escaped: the text is UTF-8 by
   now, and so is the header. */
static void syn__emit_string(syn__emitter *e, const char *text) {
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

/* start[k] = where class k begins; returns the size of all data, SIZE_MAX when it does not fit.
   Sums saturate; syn__check_content refuses what does not fit. */
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
static void syn__emit_pairs(syn__emitter *e, const syn__content *w) {
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

/* "name":{...} of a tensor whose data begin at `begin`. No white space and one order of fields:
   equal input, equal bytes. */
static void syn__emit_entry(syn__emitter *e, const syn_entry *t, size_t begin) {
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
static void syn__emit_header(syn__emitter *e, const syn__content *w) {
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

/* Bytes of the header with the spaces that bring the data to a multiple of 64. Counting, not
   estimating: the header is made without a sink. A multiple of 64 behind the 8 bytes of its
   length, so the data begin aligned in any block or mapping that is. */
static size_t syn__header_size(const syn__content *w) {
  syn__emitter e;
  syn__emit_start(&e, NULL);
  syn__emit_header(&e, w);
  return e.total > SIZE_MAX - 80 ? SIZE_MAX : (e.total + 8 + 63) / 64 * 64 - 8;
}

/* The data of a tensor; on a big-endian machine through a small copy, whose 64 bytes are a multiple
   of every unit. */
static void syn__emit_data(syn__emitter *e, const syn_entry *t) {
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
  syn__emitter e;
  int k;
  syn__emit_start(&e, sink);
  syn__put_bytes(length, header, 8);
  syn__emit_bytes(&e, length, 8);
  syn__emit_header(&e, w);
  while (e.total < header + 8) syn__emit_text(&e, " ");
  for (k = 0; k < SYN__CLASSES && !e.failed; k++)
    for (i = 0; i < w->n_entries; i++)
      if (syn__class(w->entries[i].bytes) == k) syn__emit_data(&e, &w->entries[i]);
  syn__emit_flush(&e);
  return !e.failed;
}

/* Tensor number i by itself: name, bytes, data. What is checked here is what a reader would
   check: a file that cannot be read must not be written. */
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

/* Refuses what the reader would refuse; *size = bytes of the file, 0 when refused. In this
   order, cheapest first. Only when all of it passed is a byte written, so a refused file leaves
   no trace. */
static syn_status syn__check_content(syn_context *c, const syn__content *w, size_t *size) {
  size_t i, start[SYN__CLASSES], header, data;
  syn_status status = SYN_OK;
  *size = 0;
  if ((w->n_pairs && !syn__given(c, w->pairs, "metadata")) ||
      (w->n_entries && !syn__given(c, w->entries, "entries")))
    return SYN_E_VALUE;
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

/* Without emitting a byte of data: their sizes are known, only the header is counted. */
size_t syn_file_size(syn_context *c, const syn_pair *pairs, size_t n_pairs,
                     const syn_entry *entries, size_t n_entries) {
  syn__content w = syn__content_of(pairs, n_pairs, entries, n_entries);
  size_t size;
  syn__check_content(c, &w, &size);
  return size;
}

/* Nobody knows what a sink did with the bytes before it failed; that is its owner's to undo. */
syn_status syn_file_write_to(syn_context *c, const syn_sink *sink, const syn_pair *pairs,
                             size_t n_pairs, const syn_entry *entries, size_t n_entries) {
  syn__content w = syn__content_of(pairs, n_pairs, entries, n_entries);
  size_t size;
  syn_status status = syn__check_content(c, &w, &size);
  if (status) return status;
  if (!syn__given(c, sink && sink->write ? sink : NULL, "sink")) return SYN_E_VALUE;
  if (syn__emit_file(&w, sink)) return SYN_OK;
  return syn__fail(c, SYN_E_FILE, "write: the sink did not take all of %lu bytes",
                   (unsigned long)size);
}

#ifndef SYN_NO_STDIO

/* -- files -- */

/* The end of a path, where its file is named: the message has room for 400 bytes in all. */
static const char *syn__show_path(const char *path) {
  size_t n = strlen(path);
  return n > 150 ? path + (n - 150) : path;
}

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
syn_file *syn_file_load(syn_context *c, const char *path) {
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
  syn_file_free(f);
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

/* A sink that is a file. fwrite says how many bytes it took, which is what a sink says. */
static size_t syn__file_sink(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)user);
}

/* Writes all of a file, closes it, waits for the disk. 0 when any of that fails, errno says
   why. Every step can be the one that finds the disk full: write, flush, close, sync. The first
   failure's errno is kept. */
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

/* -- model files: the facts of a model as metadata, its weights as tensors -- */

#define SYN__FACTS 40
#define SYN__FACT_SIZE 40

/* The metadata of a file to be written. Numbers are spelled into `space`. format, version,
   task, texts, sizes, and for checkpoints the state: SYN__FACTS is above their sum. Keys are
   constants, values strings of the model or digits in `space`; both live until the file is
   written. */
typedef struct syn__facts {
  syn_pair pairs[SYN__FACTS];
  char space[SYN__FACTS][SYN__FACT_SIZE];
  size_t count;
} syn__facts;

/* The room is counted by hand (see SYN__FACTS): a list that is full keeps what it has, which no
   caller of today can reach. */
static void syn__fact(syn__facts *f, const char *key, const char *value) {
  if (f->count == SYN__FACTS) return;
  f->pairs[f->count].key = key;
  f->pairs[f->count++].value = value;
}
/* Digits are made by hand: the length of a 64-bit number in printf differs between C libraries. */
static void syn__fact_int(syn__facts *f, const char *key, int64_t value) {
  char *out = f->space[f->count % SYN__FACTS], digits[24];
  uint64_t rest = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
  size_t n = 0, at = 0;
  do digits[n++] = (char)('0' + (int)(rest % 10));
  while ((rest /= 10) != 0);
  if (value < 0) out[at++] = '-';
  while (n) out[at++] = digits[--n];
  out[at] = 0;
  syn__fact(f, key, out);
}
/* Nine digits give a float back exactly; a locale's decimal comma becomes a point. snprintf is
   right to the last digit in every C library we know, but speaks the locale of the host
   program. */
static void syn__fact_float(syn__facts *f, const char *key, float value) {
  char *out = f->space[f->count % SYN__FACTS];
  syn__number_write(out, SYN__FACT_SIZE, 9, (double)value);
  syn__fact(f, key, out);
}

/* Everything needed to build the same network again, with no default left open, so that a later
   version may change its defaults. $NAMEs are numbers by now. The order of keys is fixed: same
   model, same bytes. */
static void syn__facts_model(syn__facts *f, const syn_model *m) {
  const syn_config *k = &m->config;
  f->count = 0;
  syn__fact(f, "format", "synthesizer");
  syn__fact(f, "version", "1");
  syn__fact(f, "task", k->task);
  if (m->task->encoder) syn__fact(f, "encoder", k->encoder);
  if (m->task->decoder) syn__fact(f, "decoder", k->decoder);
  syn__fact_int(f, "d_model", k->d_model);
  syn__fact_int(f, "heads", k->heads);
  syn__fact_int(f, "max_len", k->max_len);
  if (m->task->encoder) syn__fact_int(f, "src_vocab", k->src_vocab);
  if (m->task->decoder) syn__fact_int(f, "tgt_vocab", k->tgt_vocab);
  if (m->task->classes) syn__fact_int(f, "classes", k->classes);
  syn__fact(f, "tie", k->tie);
  syn__fact_float(f, "dropout", k->dropout);
  syn__fact_float(f, "label_smoothing", k->label_smoothing);
  syn__fact_int(f, "seed", (int64_t)k->seed);
}

/* Zeroed first: an entry of rank 0 with no bytes, until shape and bytes are set. */
static void syn__entry_fill(syn_entry *e, const char *name, syn_dtype dtype, const void *data) {
  memset(e, 0, sizeof *e);
  e->name = name;
  e->dtype = dtype;
  e->data = data;
}
/* A tensor of rank 1: [n] floats, or n bytes. */
static void syn__entry_line(syn_entry *e, const char *name, syn_dtype dtype, const void *data,
                            size_t n) {
  syn__entry_fill(e, name, dtype, data);
  e->rank = 1;
  e->shape[0] = n;
  e->bytes = n * (dtype == SYN_F32 ? sizeof(float) : 1);
}

/* What goes into one file: facts, the facts of the file the model came from, tensors.
   Everything borrowed but the two lists and the tokenizers' bytes, which syn__parcel_free gives
   back whatever was made of them. */
typedef struct syn__parcel {
  syn__facts facts;
  syn_pair *pairs;
  syn_entry *entries;
  size_t n_pairs, n_entries;
  void *tokenizer[2]; /* as bytes */
} syn__parcel;

/* One tokenizer for both sides is stored once, as that of the source; the reader gives it to
   both sides. */
static syn_status syn__parcel_tokenizer(syn_context *c, const syn_model *m, int side,
                                        syn__parcel *p) {
  static const char *const names[] = {"tokenizer.src", "tokenizer.tgt"};
  const syn_tokenizer *t = m->tokenizer[side];
  size_t size;
  if (!t || (side == SYN_TGT && t == m->tokenizer[SYN_SRC])) return SYN_OK;
  size = syn_tokenizer_save(t, NULL, 0);
  p->tokenizer[side] = syn__alloc(c, size, 1);
  if (!p->tokenizer[side]) return SYN_E_MEMORY;
  syn_tokenizer_save(t, p->tokenizer[side], size);
  syn__entry_line(&p->entries[p->n_entries++], names[side], SYN_U8, p->tokenizer[side], size);
  return SYN_OK;
}

/* Keys that are written anew. Facts of a training are known too: a model saved after it is no
   checkpoint, and stale ones must not make it look like one. */
static int syn__fact_known(const syn__facts *f, const char *key) {
  size_t i;
  for (i = 0; i < f->count; i++)
    if (!strcmp(f->pairs[i].key, key)) return 1;
  return !strncmp(key, "train.", 6);
}

/* Our facts first, then those of others that came with the file. Metadata of others (a licence,
   a training's notes) survive loading and saving; those with our keys are ours to say anew.
   Strings are borrowed from the file, which lives as long as the model. */
static syn_status syn__parcel_facts(syn_context *c, const syn_model *m, syn__parcel *p) {
  size_t i, more = m->file ? syn_file_pair_count(m->file) : 0;
  p->pairs = (syn_pair *)syn__alloc(c, p->facts.count + more + 1, sizeof *p->pairs);
  if (!p->pairs) return SYN_E_MEMORY;
  memcpy(p->pairs, p->facts.pairs, p->facts.count * sizeof *p->pairs);
  p->n_pairs = p->facts.count;
  for (i = 0; i < more; i++)
    if (!syn__fact_known(&p->facts, syn_file_pair(m->file, i)->key))
      p->pairs[p->n_pairs++] = *syn_file_pair(m->file, i);
  return SYN_OK;
}

/* Weights and tokenizers; room for `more` entries behind them. Weights in the order of the
   network, as F32 whatever they were loaded from; their bytes are not copied. */
static syn_status syn__parcel_model(syn_context *c, const syn_model *m, syn__parcel *p,
                                    size_t more) {
  size_t i;
  int k;
  p->entries = (syn_entry *)syn__alloc(c, m->g.n_params + 2 + more, sizeof *p->entries);
  if (!p->entries) return SYN_E_MEMORY;
  for (i = 0; i < m->g.n_params; i++) {
    const syn_param *w = &m->g.params[i];
    syn_entry *e = &p->entries[p->n_entries++];
    syn__entry_fill(e, w->name, SYN_F32, w->x);
    e->rank = w->rank;
    for (k = 0; k < w->rank; k++) e->shape[k] = (size_t)w->shape[k];
    e->bytes = w->size * sizeof(float);
  }
  return syn__parcel_tokenizer(c, m, SYN_SRC, p) || syn__parcel_tokenizer(c, m, SYN_TGT, p)
             ? SYN_E_MEMORY : SYN_OK;
}

/* Null where a step failed before it. */
static void syn__parcel_free(syn_context *c, syn__parcel *p) {
  syn__free(c, p->pairs);
  syn__free(c, p->entries);
  syn__free(c, p->tokenizer[0]);
  syn__free(c, p->tokenizer[1]);
}

/* Two steps of preparation, each can fail; the sink is called only when both are done. */
syn_status syn_model_save_to(syn_context *c, const syn_model *m, const syn_sink *sink) {
  syn__parcel p;
  syn_status s = SYN_E_MEMORY;
  if (!syn__given(c, m, "model")) return SYN_E_VALUE;
  memset(&p, 0, sizeof p);
  syn__facts_model(&p.facts, m);
  if (!syn__parcel_facts(c, m, &p) && !syn__parcel_model(c, m, &p, 0))
    s = syn_file_write_to(c, sink, p.pairs, p.n_pairs, p.entries, p.n_entries);
  syn__parcel_free(c, &p);
  return s;
}

#ifndef SYN_NO_STDIO
syn_status syn_model_save(syn_context *c, const syn_model *m, const char *path) {
  syn__parcel p;
  syn_status s = SYN_E_MEMORY;
  if (!syn__given(c, m, "model")) return SYN_E_VALUE;
  memset(&p, 0, sizeof p);
  syn__facts_model(&p.facts, m);
  if (!syn__parcel_facts(c, m, &p) && !syn__parcel_model(c, m, &p, 0))
    s = syn_file_write(c, path, p.pairs, p.n_pairs, p.entries, p.n_entries);
  syn__parcel_free(c, &p);
  return s;
}
#endif

/* -- reading a model -- */

/* Names the key, what stands there and what was wanted; the value is somebody else's text and
   is shown as such. */
static syn_status syn__fact_bad(syn_context *c, const char *key, const char *value,
                                const char *wanted) {
  char shown[SYN__SHOWN];
  return syn__fail(c, SYN_E_FORMAT, "model file: %s is '%s', wanted %s", key,
                   syn__show(shown, value ? value : "missing"), wanted);
}

/* A whole number of at most 19 digits, so that the sum fits 64 bits; leaves *out where the key
   is absent. Seeds are unsigned and written as the signed number of the same bits: -2^63 too.
   Absent is not wrong: the format grows by keys, and older files lack them. Not strtol: it
   takes white space, a plus and what the locale likes. */
static syn_status syn__fact_read_int(syn_context *c, const syn_file *f, const char *key,
                                     int64_t least, int64_t most, int64_t *out) {
  const char *value = syn_file_value(f, key), *at = value;
  uint64_t sum = 0;
  int minus = 0, digits = 0;
  if (!value) return SYN_OK;
  if (*at == '-') minus = 1, at++;
  for (; *at >= '0' && *at <= '9' && digits < 19; at++, digits++)
    sum = sum * 10 + (uint64_t)(*at - '0');
  if (*at || !digits || sum > (uint64_t)INT64_MAX + (uint64_t)minus)
    return syn__fact_bad(c, key, value, "a whole number in range");
  *out = !minus ? (int64_t)sum : sum ? -(int64_t)(sum - 1) - 1 : 0;
  if (*out < least || *out > most)
    return syn__fact_bad(c, key, value, "a whole number in range");
  return SYN_OK;
}
/* An absent size stays 0 and gets its default or, where the task needs it, the error of
   syn__config_sizes. */
static syn_status syn__fact_read_size(syn_context *c, const syn_file *f, const char *key,
                                      int *out) {
  int64_t value = 0;
  if (syn__fact_read_int(c, f, key, 0, 1 << 30, &value)) return SYN_E_FORMAT;
  *out = (int)value;
  return SYN_OK;
}
/* By the reader of the language's numbers, which knows no locale; nine digits were written, so
   the float comes back. Its range is for syn__config_sizes to judge. */
static syn_status syn__fact_read_float(syn_context *c, const syn_file *f, const char *key,
                                       float *out) {
  const char *value = syn_file_value(f, key);
  double number;
  size_t size;
  if (!value) return SYN_OK;
  size = syn__number_read(value, &number);
  if (!size || value[size]) return syn__fact_bad(c, key, value, "a number");
  *out = (float)number;
  return SYN_OK;
}

/* Fills a configuration with pointers into the file; syn__model_shell copies what it keeps.
   format and version come first: a file of another program should say that, not that its
   d_model is missing. */
static syn_status syn__config_read(syn_context *c, const syn_file *f, syn_config *k) {
  const char *format = syn_file_value(f, "format"), *version = syn_file_value(f, "version");
  int64_t seed = 0;
  memset(k, 0, sizeof *k);
  if (!format || strcmp(format, "synthesizer"))
    return syn__fact_bad(c, "format", format, "'synthesizer'");
  if (!version || strcmp(version, "1")) return syn__fact_bad(c, "version", version, "'1'");
  k->task = syn_file_value(f, "task");
  k->encoder = syn_file_value(f, "encoder");
  k->decoder = syn_file_value(f, "decoder");
  k->tie = syn_file_value(f, "tie");
  if (!k->task) return syn__fact_bad(c, "task", NULL, "seq2seq, lm, classify or tag");
  if (syn__fact_read_size(c, f, "d_model", &k->d_model) ||
      syn__fact_read_size(c, f, "heads", &k->heads) ||
      syn__fact_read_size(c, f, "max_len", &k->max_len) ||
      syn__fact_read_size(c, f, "src_vocab", &k->src_vocab) ||
      syn__fact_read_size(c, f, "tgt_vocab", &k->tgt_vocab) ||
      syn__fact_read_size(c, f, "classes", &k->classes) ||
      syn__fact_read_float(c, f, "dropout", &k->dropout) ||
      syn__fact_read_float(c, f, "label_smoothing", &k->label_smoothing) ||
      syn__fact_read_int(c, f, "seed", INT64_MIN, INT64_MAX, &seed))
    return SYN_E_FORMAT;
  k->seed = (uint64_t)seed;
  return SYN_OK;
}

/* The shape as text, "[3,4]", for messages. Cut off where the room ends: the message stays
   readable. */
static void syn__shape_text(char *out, size_t room, const size_t *shape, int rank) {
  size_t used = 0;
  int i;
  for (i = 0; i < rank && used < room; i++)
    used +=
        (size_t)snprintf(out + used, room - used, "%s%lu", i ? "," : "[", (unsigned long)shape[i]);
  if (used < room) snprintf(out + used, room - used, rank ? "]" : "[]");
}

/* Null: recorded, with name, wanted and given. No memory for weights is asked for before every
   tensor has passed here, so a small file cannot make the loader allocate what its metadata
   dream of. */
static const syn_entry *syn__weight_find(syn_context *c, const syn_file *f, const syn_param *w) {
  const syn_entry *e = syn_file_find(f, w->name);
  size_t shape[SYN_MAX_RANK];
  char wanted[60], given[60];
  int i, same = e && e->rank == w->rank;
  memset(shape, 0, sizeof shape);
  for (i = 0; i < w->rank; i++) {
    shape[i] = (size_t)w->shape[i];
    same = same && e->shape[i] == shape[i];
  }
  if (same && syn__float_width(e->dtype)) return e;
  syn__shape_text(wanted, sizeof wanted, shape, w->rank);
  if (!e) syn__fail(c, SYN_E_FORMAT, "model file: tensor %s %s is missing", w->name, wanted);
  else if (same)
    syn__fail(c, SYN_E_FORMAT, "model file: tensor %s has dtype %s, wanted F32, F16 or BF16",
              w->name, syn_dtype_name(e->dtype));
  else {
    syn__shape_text(given, sizeof given, e->shape, e->rank);
    syn__fail(c, SYN_E_FORMAT, "model file: tensor %s is %s, wanted %s", w->name, given, wanted);
  }
  return NULL;
}

static int syn__name_weight(const char *name) {
  return strncmp(name, "test.", 5) && strncmp(name, "optimizer.", 10) &&
         strncmp(name, "tokenizer.", 10);
}

/* Every tensor of the file is a weight, or belongs to tests, optimizer or tokenizers. Every
   weight was found by now and names are unique, so counting tells; the search is only for the
   message. A surplus tensor means that the metadata describe another network than the weights:
   the right numbers at the wrong place would be worse than an error. */
static syn_status syn__weights_surplus(syn_context *c, const syn_file *f, const syn_model *m) {
  size_t i, count = 0;
  char shown[SYN__SHOWN];
  for (i = 0; i < syn_file_count(f); i++) count += syn__name_weight(f->entries[i].name) != 0;
  for (i = 0; count != m->g.n_params && i < syn_file_count(f); i++) {
    const char *name = f->entries[i].name;
    if (syn__name_weight(name) && !syn_model_find(m, name))
      return syn__fail(c, SYN_E_FORMAT, "model file: tensor %s is not part of this network",
                       syn__show(shown, name));
  }
  return SYN_OK;
}

/* Weights are used where they lie if all are F32 at multiples of 4; else they are copied. First
   every entry is looked at, then memory is asked for, then it is filled: the second pass cannot
   fail. Bytes of a view that lie crooked would be read as floats at odd addresses, hence the
   copy. */
static syn_status syn__weights_read(syn_context *c, const syn_file *f, syn_model *m) {
  size_t i;
  int in_place = 1;
  for (i = 0; i < m->g.n_params; i++) {
    const syn_entry *e = syn__weight_find(c, f, &m->g.params[i]);
    if (!e) return SYN_E_FORMAT;
    in_place = in_place && e->dtype == SYN_F32 && (uintptr_t)e->data % sizeof(float) == 0;
  }
  if (syn__weights_surplus(c, f, m)) return SYN_E_FORMAT;
  if (!in_place && syn__weights_new(m)) return SYN_E_MEMORY;
  for (i = 0; i < m->g.n_params; i++) {
    syn_param *w = &m->g.params[i];
    const syn_entry *e = syn_file_find(f, w->name);
    union { const void *from; void *to; } data; /* read only: training copies first */
    data.from = e->data;
    if (in_place) w->x = (float *)data.to;
    else if (syn_entry_floats(c, e, w->x, w->size)) return c->status;
  }
  return SYN_OK;
}

/* A tokenizer with more tokens than the model would make ids that are refused only when a batch
   is bound; the file is the place where the two can be compared. What was loaded before an
   error belongs to the model and goes with it. One tokenizer in the file serves both sides
   (syn__parcel_tokenizer stored it once). */
static syn_status syn__tokenizers_read(syn_context *c, const syn_file *f, syn_model *m) {
  const syn_entry *src = syn_file_find(f, "tokenizer.src"),
                  *tgt = syn_file_find(f, "tokenizer.tgt");
  int sizes[2], i;
  if (src && !(m->tokenizer[SYN_SRC] = syn_tokenizer_load(c, src->data, src->bytes)))
    return c->status;
  if (tgt && !(m->tokenizer[SYN_TGT] = syn_tokenizer_load(c, tgt->data, tgt->bytes)))
    return c->status;
  if (!tgt && m->task->decoder) m->tokenizer[SYN_TGT] = m->tokenizer[SYN_SRC];
  sizes[0] = m->task->encoder ? m->config.src_vocab : 0;
  sizes[1] = m->task->decoder ? m->config.tgt_vocab
                              : m->config.classes + SYN_FIRST_TOKEN - (m->task->labels == SYN_SRC);
  for (i = 0; i < 2; i++)
    if (m->tokenizer[i] && sizes[i] && syn_tokenizer_size(m->tokenizer[i]) != sizes[i])
      return syn__fail(c, SYN_E_FORMAT, "model file: the %s tokenizer has %d tokens, wanted %d",
                       i ? "target" : "source", syn_tokenizer_size(m->tokenizer[i]), sizes[i]);
  return SYN_OK;
}

/* The model takes the file, and closes it in the end. f may be null (it could not be opened):
   then the error is recorded already. From m->file = f on, freeing the model closes the file,
   before that it is done here. The configuration points into the file until the shell has
   copied what it keeps. */
static syn_model *syn__model_of(syn_context *c, syn_file *f) {
  syn_config config;
  syn_model *m;
  if (!f) return NULL;
  m = syn__config_read(c, f, &config) ? NULL : syn__model_shell(c, &config);
  if (!m) {
    syn_file_free(f);
    return NULL;
  }
  m->file = f;
  if (!syn__weights_read(c, f, m) && !syn__tokenizers_read(c, f, m)) return m;
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

/* -- checkpoints: a model file with the state of its training -- */

#ifndef SYN_NO_STDIO

/* The bits of a float as a whole number: also infinities come back. */
static int64_t syn__float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int64_t)bits;
}

/* Numbers of the state under their keys, in one list for writing and reading. 12 numbers to go
   on with, then 4 that must agree. One list, so that what is written and what is read cannot
   differ. */
typedef struct syn__state_list {
  const char *key[16];
  int64_t value[16];
  int count;
} syn__state_list;

static void syn__state_put(syn__state_list *l, const char *key, int64_t value) {
  l->key[l->count] = key;
  l->value[l->count++] = value;
}
/* The order is that of syn__state_take and of the limits in syn__state_sane. */
static void syn__state_list_of(syn__state_list *l, const syn_trainer *t) {
  const syn_train_state *s = &t->state;
  l->count = 0;
  syn__state_put(l, "train.step", s->step);
  syn__state_put(l, "train.epoch", s->epoch);
  syn__state_put(l, "train.batch", s->batch);
  syn__state_put(l, "train.tokens", s->tokens);
  syn__state_put(l, "train.validations", s->validations);
  syn__state_put(l, "train.worse", s->worse);
  syn__state_put(l, "train.stopped", s->stopped);
  syn__state_put(l, "train.rate", syn__float_bits(s->rate));
  syn__state_put(l, "train.factor", syn__float_bits(s->factor));
  syn__state_put(l, "train.valid", syn__float_bits(s->valid));
  syn__state_put(l, "train.best", syn__float_bits(s->best));
  syn__state_put(l, "train.kept", t->n_best);
  syn__state_put(l, "train.seed", (int64_t)t->config.seed);
  syn__state_put(l, "train.batch_tokens", t->config.batch_tokens);
  syn__state_put(l, "train.accumulate", t->config.accumulate);
  syn__state_put(l, "train.every", t->config.every);
}
/* The inverse of syn__float_bits. */
static float syn__bits_float(int64_t value) {
  uint32_t bits = (uint32_t)value;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
/* Only after everything was checked. The order of an epoch is no state: it follows from seed
   and epoch. Nor is `stopped`: with a larger stop_after, or none, a training goes on. */
static void syn__state_take(const syn__state_list *l, syn_trainer *t) {
  syn_train_state *s = &t->state;
  s->step = (long)l->value[0];
  s->epoch = (long)l->value[1];
  s->batch = (long)l->value[2];
  s->tokens = (long)l->value[3];
  s->validations = (long)l->value[4];
  s->worse = (long)l->value[5];
  s->stopped = t->config.stop_after && s->worse >= t->config.stop_after;
  s->rate = syn__bits_float(l->value[7]);
  s->factor = syn__bits_float(l->value[8]);
  s->valid = syn__bits_float(l->value[9]);
  s->best = syn__bits_float(l->value[10]);
  t->n_best = (int)l->value[11];
}

/* A tensor of the state, and where its numbers stand; size 0: there is none. */
typedef struct syn__state_tensor {
  const char *name;
  float *at;
  size_t size;
} syn__state_tensor;

enum { SYN__STATE_TENSORS = 4 };
static void syn__state_tensors_of(syn__state_tensor *list, const syn_trainer *t, size_t kept) {
  list[0].name = "optimizer.first";
  list[0].at = t->first;
  list[0].size = t->firsts;
  list[1].name = "optimizer.second";
  list[1].at = t->second;
  list[1].size = t->seconds;
  list[2].name = "optimizer.best";
  list[2].at = t->best;
  list[2].size = kept * t->floats;
  list[3].name = "optimizer.best_loss";
  list[3].at = t->best_loss;
  list[3].size = kept;
}

/* A checkpoint is a model file with more in it: it can be loaded as a model, too. Written over
   the old one by syn_file_write, so a crash leaves one of the two whole. */
syn_status syn_trainer_save(syn_context *c, const syn_trainer *t, const char *path) {
  syn__state_tensor tensors[SYN__STATE_TENSORS];
  syn__state_list list;
  syn__parcel p;
  syn_status s = SYN_E_MEMORY;
  int i;
  if (!syn__given(c, t, "trainer")) return SYN_E_VALUE;
  memset(&p, 0, sizeof p);
  syn__facts_model(&p.facts, t->m);
  syn__fact(&p.facts, "train.optimizer", t->optimizer->name);
  if (t->config.freeze) syn__fact(&p.facts, "train.freeze", t->config.freeze);
  syn__state_list_of(&list, t);
  for (i = 0; i < list.count; i++) syn__fact_int(&p.facts, list.key[i], list.value[i]);
  syn__state_tensors_of(tensors, t, (size_t)t->n_best);
  if (!syn__parcel_facts(c, t->m, &p) && !syn__parcel_model(c, t->m, &p, SYN__STATE_TENSORS)) {
    for (i = 0; i < SYN__STATE_TENSORS; i++)
      if (tensors[i].size)
        syn__entry_line(&p.entries[p.n_entries++], tensors[i].name, SYN_F32, tensors[i].at,
                        tensors[i].size);
    s = syn_file_write(c, path, p.pairs, p.n_pairs, p.entries, p.n_entries);
  }
  syn__parcel_free(c, &p);
  return s;
}

/* A tensor of the state that can be had as n floats. dtype and bytes are what syn_entry_floats
   asks for: after this it cannot fail. n 0: it must not be there, or a part of the state would be
   lost. */
static syn_status syn__state_entry(syn_context *c, const syn_file *f, const char *name, size_t n) {
  const syn_entry *e = syn_file_find(f, name);
  if (!n && e)
    return syn__fail(c, SYN_E_FORMAT, "checkpoint: it has %s, which this training does not keep",
                     name);
  if (!n) return SYN_OK;
  if (!e) return syn__fail(c, SYN_E_FORMAT, "checkpoint: tensor %s is missing", name);
  if (!syn__float_width(e->dtype) || e->bytes != syn__mul_size(n, syn__float_width(e->dtype)))
    return syn__entry_refuse(c, e, n);
  return SYN_OK;
}

/* Numbers that can be those of a training; half of LONG_MAX leaves room to go on. A step near
   LONG_MAX would overflow at the next one, a `kept` above `average` would be copied past the
   end of the block. */
static int syn__state_sane(const syn__state_list *l, const syn_trainer *t) {
  int i, ok = l->value[11] >= 0 && l->value[11] <= t->config.average;
  for (i = 0; i < 6; i++) ok = ok && l->value[i] >= 0 && l->value[i] <= LONG_MAX / 2;
  for (i = 7; i < 11; i++) ok = ok && l->value[i] >= 0 && l->value[i] <= UINT32_MAX;
  return ok && (l->value[6] == 0 || l->value[6] == 1);
}

/* A name that must be the same; in a file that does not know the key, none is. */
static syn_status syn__state_name(syn_context *c, const syn_file *f, const char *key,
                                  const char *now) {
  const char *then = syn_file_value(f, key);
  char a[SYN__SHOWN], b[SYN__SHOWN];
  if (!then) then = "";
  if (!strcmp(then, now)) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "checkpoint: %s is '%s', this training has '%s'", key,
                   syn__show(a, then), syn__show(b, now));
}

/* Tensors alone would not tell: other heads or another activation may have weights of the same
   names and shapes. */
static syn_status syn__state_network(syn_context *c, const syn_file *f, const syn_model *m) {
  const syn_config *k = &m->config;
  int64_t heads = k->heads;
  if (syn__state_name(c, f, "task", k->task) ||
      syn__state_name(c, f, "encoder", m->task->encoder ? k->encoder : "") ||
      syn__state_name(c, f, "decoder", m->task->decoder ? k->decoder : ""))
    return SYN_E_VALUE;
  if (syn__fact_read_int(c, f, "heads", 1, INT_MAX, &heads)) return SYN_E_FORMAT;
  if (heads == k->heads) return SYN_OK;
  return syn__fail(c, SYN_E_VALUE, "checkpoint: heads is %ld, this training has %d", (long)heads,
                   k->heads);
}

/* The facts of the training that is asked for must be those of the checkpoint. Reads into a
   list of its own. Entries from 12 on are compared: another seed or batch size would go on with
   other batches than those that were still to come, without anybody noticing. */
static syn_status syn__state_read(syn_context *c, const syn_file *f, const syn_trainer *t,
                                  syn__state_list *l) {
  syn__state_list now;
  int i;
  syn__state_list_of(&now, t);
  if (syn_file_value(f, "train.optimizer") && /* older files were all of adam or adamw */
      syn__state_name(c, f, "train.optimizer", t->optimizer->name))
    return SYN_E_VALUE;
  if (syn__state_name(c, f, "train.freeze", t->config.freeze ? t->config.freeze : ""))
    return SYN_E_VALUE;
  *l = now;
  for (i = 0; i < l->count; i++) {
    if (!syn_file_value(f, l->key[i]))
      return syn__fail(c, SYN_E_FORMAT, "checkpoint: %s is missing; a model file cannot be resumed",
                       l->key[i]);
    if (syn__fact_read_int(c, f, l->key[i], INT64_MIN, INT64_MAX, &l->value[i]))
      return SYN_E_FORMAT;
    if (i >= 12 && l->value[i] != now.value[i])
      return syn__fail(c, SYN_E_VALUE, "checkpoint: %s is %ld, this training has %ld", l->key[i],
                       (long)l->value[i], (long)now.value[i]);
  }
  if (!syn__state_sane(l, t))
    return syn__fail(c, SYN_E_FORMAT,
                     "checkpoint: step %ld, epoch %ld, batch %ld, %ld kept of %d: a number of the "
                     "state is out of range",
                     (long)l->value[0], (long)l->value[1], (long)l->value[2], (long)l->value[11],
                     t->config.average);
  return SYN_OK;
}

/* Everything is looked at before anything is taken: a file that is refused leaves the trainer
   and its model as they were. What was looked at cannot fail when it is copied. The weights of
   the checkpoint go where the model's lie, the rest into the trainer's block: every destination
   exists and has the size that was compared. */
static syn_status syn__state_tensors(syn_trainer *t, const syn_file *f, size_t kept) {
  syn_context *c = t->c;
  syn__state_tensor list[SYN__STATE_TENSORS];
  size_t i;
  syn__state_tensors_of(list, t, kept);
  for (i = 0; i < t->m->g.n_params; i++)
    if (!syn__weight_find(c, f, &t->m->g.params[i])) return SYN_E_FORMAT;
  if (syn__weights_surplus(c, f, t->m)) return SYN_E_FORMAT;
  for (i = 0; i < SYN__STATE_TENSORS; i++) {
    syn_status s = syn__state_entry(c, f, list[i].name, list[i].size);
    if (s != SYN_OK) return s;
  }
  if (syn__state_network(c, f, t->m)) return c->status;
  for (i = 0; i < t->m->g.n_params; i++) {
    const syn_param *w = &t->m->g.params[i];
    syn_entry_floats(c, syn_file_find(f, w->name), w->x, w->size);
  }
  for (i = 0; i < SYN__STATE_TENSORS; i++)
    if (list[i].size)
      syn_entry_floats(c, syn_file_find(f, list[i].name), list[i].at, list[i].size);
  return SYN_OK;
}

/* All or nothing, in the order: open, read the numbers, look at every tensor, take. */
syn_status syn_trainer_load(syn_trainer *t, const char *path) {
  syn_file *f = t ? syn_file_load(t->c, path) : NULL;
  syn__state_list list;
  syn_status s;
  if (!f) return t ? t->c->status : SYN_E_VALUE;
  s = syn__state_read(t->c, f, t, &list);
  if (s == SYN_OK) s = syn__state_tensors(t, f, (size_t)list.value[11]);
  if (s == SYN_OK) syn__state_take(&list, t);
  syn_file_free(f);
  return s;
}

#endif /* SYN_NO_STDIO */

/* ==============================================================================================
   >>small   int8 and constant models for boards without an operating system: not built yet
   ============================================================================================== */

/* ==============================================================================================
   >>license   MIT-0 or public domain, at your choice; see LICENSE
   ============================================================================================== */

#if SYN__LEVELS
#pragma GCC pop_options
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#define SYN__IMPLEMENTED
#endif /* !SYN__ISA */
#endif /* SYNTHESIZER_IMPLEMENTATION */
