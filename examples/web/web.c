/* web.c   the page's side of the library: what its worker calls, compiled to wasm

   Idea: one network, its data and its training are the state below; the page sets names to values
   ("seed=7"), creates, trains step by step, and looks. native.c is the same code as a program for
   the command line: the same settings give the same loss curve, to the last bit.

   A text comes in through page_memory, one text for each call; texts go out as addresses of strings
   that end in 0 and live until the next call. */
#include <stdio.h>
#define SYN_NO_STDIO  /* no files: models leave through page_bytes */
#define SYN_NO_PIECES /* the page learns its tokenizers itself */
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "../dates.h"
#include "tasks.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

/* -- settings: the names in the page's URL and in the arguments of native.c -- */

enum { SEED, WIDTH, HEADS, RATE, WARMUP, STEPS, BATCH, DROPOUT, BEAM, TEMPERATURE, TOP_K, DRAW,
  NUMBERS };
static struct number {
  const char *name;
  double value, least, most;
} numbers[NUMBERS] = {
    {"seed", 1, 0, 4294967295.0}, {"width", 64, 4, 512}, {"heads", 4, 1, 64},
    {"rate", 0.004, 1e-6, 1}, {"warmup", 50, 0, 1e6}, {"steps", 1000, 1, 1e7},
    {"batch", 512, 32, 65536}, {"dropout", 0, 0, 0.9},
    {"beam", 1, 1, 16}, {"temperature", 0, 0, 10}, {"top_k", 0, 0, 1000},
    {"draw", 1, 0, 4294967295.0}};

enum { TASK, ENCODER, DECODER, SOURCE, TARGET, PAIRS, ISA, TEXTS };
static struct text_setting {
  const char *name;
  char *value; /* null: the default */
  const char *otherwise;
} texts[TEXTS] = {
    {"task", NULL, "dates"},
    {"encoder", NULL, "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm"},
    {"decoder", NULL,
     "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm"},
    {"source", NULL, ""}, {"target", NULL, ""}, {"pairs", NULL, ""}, {"isa", NULL, ""}};

/* -- the state: everything null before page_create -- */

static struct page {
  syn_context c;
  pairs texts;
  int vocabulary[2], longest; /* of the task; tokens of its longest text, with begin or end */
  syn_model *m;
  syn_data *data;
  syn_trainer *trainer;
  syn_run *run;
  uint64_t hash; /* of the losses of all steps */
  float loss;
  char *in;      /* the text of a call */
  char *out;     /* what a call returns: bytes of a file, or a text */
  size_t size, capacity;
  char message[600];
  int shape[2];  /* queries and keys of the last page_attention */
} page;

static double number(int i) { return numbers[i].value; }
static const char *text(int i) { return texts[i].value ? texts[i].value : texts[i].otherwise; }

static int page_fail(const char *message) {
  snprintf(page.message, sizeof page.message, "%s", message);
  return 0;
}
/* Takes an error of the library; 1: there was none. */
static int page_done(void) {
  if (page.c.status == SYN_OK) return 1;
  page_fail(page.c.message);
  syn_context_clear(&page.c);
  return 0;
}
/* Why the last call returned 0. */
EXPORT(page_message) const char *page_message(void) { return page.message; }

/* A place for a text of `size` bytes with its 0, given to the next call. */
EXPORT(page_memory) char *page_memory(size_t size) {
  free(page.in);
  return page.in = (char *)calloc(size ? size : 1, 1);
}

/* "name=value"; 0: no such name, or a number outside its range. */
EXPORT(page_set) int page_set(void) {
  char *value = strchr(page.in, '='), *end;
  size_t size = value ? (size_t)(value - page.in) : 0;
  double x;
  int i, whole;
  for (i = 0; value && i < TEXTS; i++)
    if (strlen(texts[i].name) == size && !memcmp(texts[i].name, page.in, size)) {
      char *copy = (char *)malloc(strlen(value));
      if (!copy) return page_fail("out of memory");
      free(texts[i].value);
      texts[i].value = strcpy(copy, value + 1);
      return 1;
    }
  for (i = 0; value && i < NUMBERS; i++) {
    if (strlen(numbers[i].name) != size || memcmp(numbers[i].name, page.in, size)) continue;
    x = strtod(value + 1, &end);
    whole = i != RATE && i != DROPOUT && i != TEMPERATURE;
    if (end > value + 1 && !*end && x >= numbers[i].least && x <= numbers[i].most &&
        (!whole || x == floor(x)))
      return numbers[i].value = x, 1;
    snprintf(page.message, sizeof page.message, "%s is '%.40s', wanted a %snumber from %.10g to %.10g",
             numbers[i].name, value + 1, whole ? "whole " : "", numbers[i].least, numbers[i].most);
    return 0;
  }
  snprintf(page.message, sizeof page.message, "no setting '%.40s'", page.in);
  return 0;
}

/* -- a network and its training -- */

static void page_free(void) {
  syn_run_free(page.run);
  syn_trainer_free(page.trainer);
  syn_data_free(page.data);
  syn_model_free(page.m); /* with its tokenizers */
  page.run = NULL, page.trainer = NULL, page.data = NULL, page.m = NULL;
  pairs_free(&page.texts);
}

/* A tokenizer of the task's texts; where the setting is empty, words, and digits of dates as
   characters. */
static syn_tokenizer *page_tokenizer(int setting, const syn_text *lines) {
  const char *kind = text(setting);
  if (!*kind) kind = setting == TARGET && !strcmp(text(TASK), "dates") ? "char" : "space";
  return syn_tokenizer_learn(&page.c, kind, 0, lines, (size_t)page.texts.train);
}
static int page_longest(const syn_tokenizer *t, const syn_text *lines) {
  int i, n, longest = 0;
  for (i = 0; i < page.texts.count; i++) {
    n = syn_tokenizer_encode(t, lines[i], NULL, 0);
    longest = n > longest ? n : longest;
  }
  return longest;
}

/* The pairs of the task, and what the network must know of them. */
static int page_read(syn_tokenizer **source, syn_tokenizer **target) {
  const char *task = text(TASK);
  pairs *p = &page.texts;
  int own = !strcmp(task, "own"), n[2];
  if (!own && !pairs_know(task)) return page_fail("no such task: dates, copy, reverse, sort, own");
  if (!(own ? pairs_read(p, text(PAIRS)) : pairs_make(p, task)))
    return page_fail("no pair of texts: wanted lines 'source TAB target' or 'source => target'");
  *source = page_tokenizer(SOURCE, p->source);
  *target = page_tokenizer(TARGET, p->target);
  if (!*source || !*target) return page_done();
  n[0] = page_longest(*source, p->source), n[1] = page_longest(*target, p->target);
  page.longest = (n[0] > n[1] ? n[0] : n[1]) + 1;
  page.vocabulary[0] = syn_tokenizer_size(*source);
  page.vocabulary[1] = syn_tokenizer_size(*target);
  return 1;
}

/* What the settings and the task say about the network. */
static syn_config page_network(void) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.encoder = text(ENCODER), k.decoder = text(DECODER);
  k.d_model = (int)number(WIDTH), k.heads = (int)number(HEADS);
  k.dropout = (float)number(DROPOUT);
  k.seed = (uint64_t)number(SEED);
  k.max_len = page.longest;
  k.src_vocab = page.vocabulary[0], k.tgt_vocab = page.vocabulary[1];
  return k;
}

/* What the settings say about the training. */
static syn_train_config page_training(void) {
  syn_train_config how;
  memset(&how, 0, sizeof how);
  how.schedule = "cosine", how.lr = (float)number(RATE);
  how.warmup = (long)number(WARMUP), how.steps = (long)number(STEPS);
  how.batch_tokens = (int)number(BATCH), how.clip = 1;
  how.seed = (uint64_t)number(SEED);
  return how;
}
static int page_trainer(void) {
  const pairs *p = &page.texts;
  syn_train_config how = page_training();
  int i;
  page.data = syn_data_new(&page.c);
  for (i = 0; i < p->train; i++)
    syn_data_add_text(page.data, page.m, p->source[i], p->target[i]);
  page.trainer = syn_trainer_new(&page.c, page.m, &how);
  return page.trainer != NULL;
}

/* A new network from the settings, with its data; the one before goes. 0: see page_message. */
EXPORT(page_create) int page_create(void) {
  syn_tokenizer *source = NULL, *target = NULL;
  syn_options options;
  syn_config k;
  page_free();
  memset(&options, 0, sizeof options);
  if (*text(ISA)) options.isa = text(ISA);
  syn_context_init(&page.c, &options);
  page.hash = SYN_HASH_START;
  if (!page_done()) return 0;
  if (page_read(&source, &target)) {
    k = page_network();
    page.m = syn_model_new(&page.c, &k);
  }
  if (!page.m) {
    syn_tokenizer_free(source);
    syn_tokenizer_free(target);
    page_done();
    return 0;
  }
  syn_model_set_tokenizers(page.m, source, target); /* the model frees them */
  page_trainer();
  return page_done();
}

/* Keeps the loss; the training stops after each step. */
static int page_step(void *user, const syn_trainer *t, float loss, int validated) {
  (void)user, (void)t, (void)validated;
  page.loss = loss;
  page.hash = syn_hash(page.hash, &loss, sizeof loss);
  return 1;
}
/* One step. The loss; -1: all steps are done; -2: an error. */
EXPORT(page_train) float page_train(void) {
  page.loss = -1;
  if (!page.trainer) return page_fail("there is no network"), -2.0f;
  syn_trainer_run(page.trainer, page.data, NULL, page_step, NULL);
  return page_done() ? page.loss : -2.0f;
}
EXPORT(page_steps) int page_steps(void) {
  return page.trainer ? (int)syn_trainer_state(page.trainer)->step : 0;
}
/* The hash of the loss curve, and whether it may be compared with those of other machines. */
EXPORT(page_hash) const char *page_hash(void) {
  snprintf(page.message, sizeof page.message, "%08lx%08lx", (unsigned long)(page.hash >> 32),
           (unsigned long)(page.hash & 0xFFFFFFFFu));
  return page.message;
}
EXPORT(page_exact) int page_exact(void) { return syn_context_exact(&page.c); }
/* Whether an ISA, the text of the call, can be chosen on this machine. */
EXPORT(page_isa) int page_isa(void) {
  int i;
  for (i = 0; i < syn_isa_count(); i++)
    if (!strcmp(syn_isa_name(i), page.in)) return syn_isa_usable(i);
  return 0;
}
EXPORT(page_parameters) double page_parameters(void) {
  double count = 0;
  size_t i;
  for (i = 0; page.m && i < syn_model_param_count(page.m); i++)
    count += (double)syn_model_param(page.m, i)->size;
  return count;
}

/* -- texts that are checked while they are written -- */

/* Whether the training with batches of so many tokens takes at most `room` bytes. */
static int page_fits(int batch, double room) {
  syn_config k = page_network();
  syn_train_config how = page_training();
  syn_plan plan;
  how.batch_tokens = batch;
  if (syn_plan_of(&page.c, &k, &how, NULL, &plan)) return 0;
  return (double)plan.weights + (double)plan.training + (double)plan.activations <= room;
}
/* The largest batch that fits: at least the one of `fits` tokens, fewer than `large`. */
static int page_largest(int fits, int large, double room) {
  while (large - fits > 1) {
    int middle = fits + (large - fits) / 2;
    if (page_fits(middle, room)) fits = middle;
    else large = middle;
    syn_context_clear(&page.c);
  }
  return fits;
}
/* Whether the network of the settings builds and its training fits into memory; the network in
   training stays. Returns "" or the error. */
EXPORT(page_check) const char *page_check(void) {
  const double room = 2147483648.0; /* half of what WebAssembly can address */
  const int least = (int)numbers[BATCH].least, batch = (int)number(BATCH);
  int fits;
  if (!page.longest) return ""; /* nothing was read yet */
  fits = page_fits(least, room);
  if (!page_done()) return page.message;
  if (fits && page_fits(batch, room)) return "";
  syn_context_clear(&page.c);
  snprintf(page.message, sizeof page.message,
           "batch is %d: training would take more than the %.1f GB that this page may use; the "
           "largest batch for this network is %d",
           batch, room / 1e9, fits ? page_largest(least, batch, room) : 0);
  return page.message;
}

/* Bytes that a call writes: a sink of the library. */
static size_t page_write(void *user, const void *bytes, size_t size) {
  char *grown = page.out;
  (void)user;
  if (page.size + size + 1 > page.capacity) {
    page.capacity = 2 * (page.size + size) + 1024;
    grown = (char *)realloc(page.out, page.capacity);
    if (!grown) return 0;
    page.out = grown;
  }
  memcpy(page.out + page.size, bytes, size);
  page.size += size;
  page.out[page.size] = 0;
  return size;
}
static syn_sink page_sink(void) {
  syn_sink sink = {page_write, NULL};
  page.size = 0;
  if (page.out) page.out[0] = 0;
  return sink;
}
EXPORT(page_bytes) const char *page_bytes(void) { return page.out; }
EXPORT(page_size) size_t page_size(void) { return page.size; }

/* The kinds of layers with their arguments, a line for each: "ff n:i act:w". */
EXPORT(page_kinds) const char *page_kinds(void) {
  syn_sink sink = page_sink();
  size_t i;
  for (i = 0; i < syn_kind_count(); i++) {
    const syn_kind *k = syn_kind_at(i);
    sink.write(NULL, k->name, strlen(k->name));
    sink.write(NULL, " ", 1);
    sink.write(NULL, k->args, strlen(k->args));
    sink.write(NULL, "\n", 1);
  }
  return page.out;
}

#include "../../tools/document.h"
#include "look.h"
