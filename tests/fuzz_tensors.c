/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined -o fuzz_tensors \
     tests/fuzz_tensors.c -lm
   mkdir seeds corpus; ./fuzz_tensors --seeds seeds; ./fuzz_tensors corpus seeds
   Any bytes as a safetensors file: viewed, all read, written again, viewed again. */
#define FUZZ_NAME "tensors"
#define FUZZ_EDGES 430
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) X(viewed) X(tensors) X(metadata) X(floats) X(empty) X(written)
#include "fuzz.h"
#include "fuzz_mutate.h"

/* Reads every byte of names, texts and data. */
static uint64_t hash_file(const syn_file *f) {
  uint64_t hash = SYN_HASH_START;
  size_t i;
  for (i = 0; i < syn_file_count(f); i++) {
    const syn_entry *e = syn_file_entry(f, i);
    hash = syn_hash(hash, e->name, strlen(e->name) + 1);
    hash = syn_hash(hash, syn_dtype_name(e->dtype), 2);
    hash = syn_hash(hash, e->shape, (size_t)e->rank * sizeof *e->shape);
    hash = syn_hash(hash, e->data, e->bytes);
    FUZZ_WANT(syn_file_find(f, e->name) == e, "tensor %s is not found", e->name);
  }
  for (i = 0; i < syn_file_pair_count(f); i++) {
    const syn_pair *p = syn_file_pair(f, i);
    hash = syn_hash(hash, p->key, strlen(p->key) + 1);
    hash = syn_hash(hash, p->value, strlen(p->value) + 1);
    FUZZ_WANT(syn_file_value(f, p->key) == p->value, "key %s is not found", p->key);
  }
  FUZZ_WANT(!syn_file_entry(f, syn_file_count(f)), "a tensor behind the last one");
  FUZZ_WANT(!syn_file_pair(f, syn_file_pair_count(f)), "a pair behind the last one");
  return hash;
}

static void read_floats(syn_context *c, const syn_file *f) {
  size_t i;
  for (i = 0; i < syn_file_count(f); i++) {
    const syn_entry *e = syn_file_entry(f, i);
    size_t k, count = 1;
    float *x;
    for (k = 0; k < (size_t)e->rank; k++) count *= e->shape[k];
    fuzz_mark(count ? MARK_tensors : MARK_empty);
    x = (float *)malloc((count + 1) * sizeof *x);
    if (!x) abort();
    if (syn_entry_floats(c, e, x, count) == SYN_OK) fuzz_mark(MARK_floats);
    FUZZ_WANT(syn_entry_floats(c, e, x, count + 1) != SYN_OK, "one float too many");
    free(x);
    syn_context_clear(c);
  }
}

/* The tensors and pairs of the file as new bytes; null: the writer refuses. */
static fuzz_bytes write_again(syn_context *c, const syn_file *f) {
  size_t i, n = syn_file_count(f), pairs = syn_file_pair_count(f), size;
  syn_entry *e = (syn_entry *)calloc(n + 1, sizeof *e);
  syn_pair *p = (syn_pair *)calloc(pairs + 1, sizeof *p);
  fuzz_bytes b;
  syn_sink sink = fuzz_sink(&b);
  if (!e || !p) abort();
  for (i = 0; i < n; i++) e[i] = *syn_file_entry(f, i);
  for (i = 0; i < pairs; i++) p[i] = *syn_file_pair(f, i);
  size = syn_file_size(c, p, pairs, e, n);
  FUZZ_WANT(size || c->status, "no size and no error");
  FUZZ_WANT(size, "what was read cannot be written: %s", c->message);
  FUZZ_WANT(syn_file_write_to(c, &sink, p, pairs, e, n) == SYN_OK, "%s", c->message);
  FUZZ_WANT(b.size == size, "%lu bytes written, %lu said", (unsigned long)b.size,
            (unsigned long)size);
  free(e);
  free(p);
  return b;
}

static void fuzz_one(void) {
  syn_context c;
  size_t size, shift = (size_t)fuzz_random(16), seen;
  unsigned char *at = fuzz_rest(shift, &size);
  syn_file *f, *again;
  fuzz_bytes b;
  fuzz_context(&c, "scalar", 0);
  f = syn_file_view(&c, at, size);
  FUZZ_WANT(!f == (c.status != SYN_OK), "status %d", (int)c.status);
  FUZZ_WANT(fuzz.most <= 64 * size + 65536, "%lu bytes for %lu", (unsigned long)fuzz.most,
            (unsigned long)size);
  if (f) {
    seen = syn_file_count(f);
    fuzz_mark(MARK_viewed);
    if (syn_file_pair_count(f)) fuzz_mark(MARK_metadata);
    read_floats(&c, f);
    b = write_again(&c, f);
    again = syn_file_view(&c, b.at, b.size);
    FUZZ_WANT(again && syn_file_count(again) == seen, "written, but not read: %s", c.message);
    FUZZ_WANT(syn_file_pair_count(again) == syn_file_pair_count(f), "pairs lost");
    hash_file(f);
    hash_file(again);
    fuzz_mark(MARK_written);
    syn_file_free(again);
    free(b.at);
  }
  syn_file_free(f);
  fuzz_free(at, shift);
}

/* A file with one tensor of each dtype, empty ones and scalars among them. */
static void seed_file(const char *name, int rank, int pairs) {
  static const unsigned char data[64] = {0, 0, 128, 63, 0, 0, 0, 192, 1, 2, 3, 4, 5, 6, 7, 8};
  static const syn_pair texts[] = {
      {"format", "pt"}, {"\xC3\xA9 \"\\\n", "\xE2\x82\xAC \t"}, {"", ""}};
#define BITS(dtype, name, bits, unit) bits,
  static const unsigned char bits[] = {SYN_DTYPE_LIST(BITS)};
#undef BITS
  static char names[SYN_DTYPE_COUNT][8];
  syn_entry e[SYN_DTYPE_COUNT];
  syn_context c;
  fuzz_bytes b;
  syn_sink sink = fuzz_sink(&b);
  int i, k;
  memset(e, 0, sizeof e);
  fuzz_context(&c, "scalar", 0);
  for (i = 0; i < SYN_DTYPE_COUNT; i++) {
    syn_entry *t = &e[i];
    snprintf(names[i], sizeof names[i], "t%d", i);
    t->name = names[i];
    t->dtype = (syn_dtype)i;
    t->rank = rank;
    t->data = data;
    t->bytes = rank ? bits[i] : bits[i] / 8u; /* 8 elements, or one */
    for (k = 0; k < rank; k++) t->shape[k] = k ? 1 : 8;
    if (i == 3 && rank) t->shape[0] = t->bytes = 0;
  }
  if (syn_file_write_to(&c, &sink, texts, (size_t)pairs, e, rank ? SYN_DTYPE_COUNT : 7)) abort();
  fuzz_seed(name, b.at, b.size);
  free(b.at);
}

static void fuzz_seeds(void) {
  seed_file("scalars", 0, 0);
  seed_file("vectors", 1, 1);
  seed_file("rank8", 8, 3);
  fuzz_seed("empty", "\2\0\0\0\0\0\0\0{}", 10);
}
