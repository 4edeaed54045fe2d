/* test_context: contexts in memory of their own; a context that was moved, copied or freed, and one
   that two threads use at the same time: each call returns an error, none reads or writes what the
   context was. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#include "sink.h"

typedef struct world {
  syn_context *c;
  syn_tokenizer *letters;
  syn_model *m, *other;
  syn_data *d;
  syn_run *r;
  syn_decoder *decoder;
  syn_trainer *t;
  syn_tape *tape;
  syn_tensor *a, *loss;
} world;

static void world_make(world *w, syn_context *c) {
  static const int one[] = {1}, row[] = {4, 5, 6};
  const syn_text line = syn_text_of("abcd");
  syn_config k;
  syn_limits keep;
  memset(&k, 0, sizeof k);
  memset(&keep, 0, sizeof keep);
  k.task = "lm", k.decoder = "res(syn_att(R+V)) -> ff(8)", k.d_model = 8, k.heads = 2;
  k.max_len = 8, k.tgt_vocab = 8;
  keep.keep = 1;
  w->c = c;
  w->letters = syn_tokenizer_learn(c, "char", 0, &line, 1);
  w->m = syn_model_new(c, &k);
  w->other = syn_model_new(c, &k);
  syn_model_set_tokenizers(w->m, w->letters, w->letters);
  w->d = syn_data_new(c);
  syn_data_add(w->d, NULL, 0, row, 3);
  w->r = syn_run_new(c, w->other, &keep);
  w->decoder = syn_decoder_new(c, w->m, NULL);
  w->t = syn_trainer_new(c, w->m, NULL);
  w->tape = syn_tape_new(c, 1000);
  w->a = syn_tensor_new(w->tape, 1, one);
  w->loss = syn_scale(w->a, 2.0f);
  CHECK(c->status == SYN_OK && w->t && w->decoder && w->r && w->loss, "%s", c->message);
}

static void world_free(world *w) {
  syn_tape_free(w->tape);
  syn_trainer_free(w->t);
  syn_decoder_free(w->decoder);
  syn_run_free(w->r);
  syn_data_free(w->d);
  syn_model_free(w->other);
  syn_model_free(w->m);
}

/* -- contexts in memory of their own -- */

static void test_new(void) {
  syn_options o;
  syn_context *c = syn_context_new(NULL);
  world w;
  heap h;
  CHECK(c && syn_context_status(c) == SYN_OK && !*syn_context_message(c), "a context");
  syn_context_free(c);
  memset(&h, 0, sizeof h);
  memset(&o, 0, sizeof o);
  o.alloc = heap_alloc, o.release = heap_release, o.alloc_user = &h;
  c = syn_context_new(&o);
  world_make(&w, c);
  CHECK(!syn_model_new(c, NULL) && syn_context_status(c) == SYN_E_VALUE &&
            strstr(syn_context_message(c), "configuration"), "%s", syn_context_message(c));
  syn_context_clear(c);
  CHECK(!*syn_context_message(c), "cleared");
  world_free(&w);
  syn_context_free(c);
  CHECK(h.blocks == 0 && h.live == 0 && h.calls > 10, "%ld blocks, %lu bytes are left", h.blocks,
        (unsigned long)h.live);
  o.isa = "mmx";
  c = syn_context_new(&o);
  CHECK(syn_context_status(c) == SYN_E_VALUE && strstr(syn_context_message(c), "mmx"), "%s",
        syn_context_message(c));
  syn_context_free(c);
  c = syn_context_new_abi(&o, SYN_ABI + 1);
  CHECK(syn_context_status(c) == SYN_E_VERSION && strstr(syn_context_message(c), "compiled"), "%s",
        syn_context_message(c));
  CHECK(!syn_data_new(c), "data of another version");
  syn_context_free(c); /* the options were not read: it is of malloc */
  CHECK(h.blocks == 0, "%ld blocks are left", h.blocks);
  h.calls = 0, h.fail_at = 1, o.isa = NULL;
  c = syn_context_new(&o);
  CHECK(!c && syn_context_status(c) == SYN_E_MEMORY && *syn_context_message(c), "no memory");
  syn_context_free(c);
}

/* -- a context that was moved -- */

static int stays(void *user, int sentence, int token) {
  return (void)user, (void)sentence, (void)token, 1;
}

/* Each call that uses the context of an object. */
static void refused(world *w) {
  static const int row[] = {4, 5};
  const syn_text text = syn_text_of("ab");
  syn_batch b, next;
  syn_gradient g;
  syn_sink sink;
  bytes out;
  double sum;
  float loss;
  int64_t labels;
  memset(&b, 0, sizeof b);
  memset(&g, 0, sizeof g);
  sink = sink_of(&out);
  b.count = 1, b.tgt = b.labels = row, b.tgt_width = 2;
#define GONE(call) CHECK((call) == SYN_E_CONTEXT, #call)
  GONE(syn_data_add(w->d, NULL, 0, row, 2));
  GONE(syn_data_add_text(w->d, w->m, text, text));
  GONE(syn_run_forward(w->r, &b));
  GONE(syn_run_text(w->r, text, text));
  GONE(syn_run_backward(w->r, &b, &loss));
  GONE(syn_decoder_run(w->decoder, &b, stays, NULL));
  GONE(syn_decoder_run_text(w->decoder, text, text, NULL, NULL));
  GONE(syn_trainer_step(w->t, &b, 1, &loss));
  GONE(syn_trainer_next(w->t, w->d, &next));
  GONE(syn_trainer_accumulate(w->t, &b, 0, &g));
  GONE(syn_trainer_backward(w->t, &b, &loss));
  GONE(syn_trainer_batch_loss(w->t, &b, &sum, &labels));
  GONE(syn_trainer_evaluate(w->t, w->d, &sum, &labels));
  GONE(syn_trainer_validate(w->t, w->d));
  GONE(syn_trainer_run(w->t, w->d, w->d, NULL, NULL));
  GONE(syn_model_pack(w->other));
  GONE(syn_backward(w->loss));
#undef GONE
  CHECK(syn_trainer_save_to(w->t, &sink) != SYN_OK && !out.size, "a checkpoint");
  CHECK(!syn_trainer_average(w->t), "an average");
  CHECK(syn_model_init_from(w->m, w->other, 0, NULL, NULL) < 0, "another beginning");
  CHECK(!syn_scale(w->loss, 2.0f) && !syn_tensor_new(w->tape, 1, row), "a tensor");
  syn_tape_forward(w->tape);
  syn_decoder_set_seeds(w->decoder, NULL);
  world_free(w); /* frees nothing */
}

/* As of a struct that a function returns by value: the memory of the old one has other uses. */
static void test_moved(void) {
  syn_context old, moved, spoiled;
  const syn_text line = syn_text_of("ab");
  world w;
  heap h;
  context_on(&old, &h, 0);
  world_make(&w, &old);
  moved = old;
  CHECK(syn_context_status(&moved) == SYN_E_CONTEXT &&
            strstr(syn_context_message(&moved), "moved"), "%s", syn_context_message(&moved));
  CHECK(!syn_data_new(&moved) && moved.status == SYN_E_CONTEXT && strstr(moved.message, "moved"),
        "%s", moved.message);
  CHECK(!syn_tokenizer_learn(&moved, "char", 0, &line, 1) && !syn_tape_new(&moved, 10), "learned");
  syn_context_free(&moved);
  CHECK(syn_data_add_text(w.d, w.m, syn_text_of(""), line) == SYN_OK, "the first one stays: %s", old.message);
  moved = old;
  memset(&old, 0x55, sizeof old);
  memcpy(&spoiled, &old, sizeof old);
  refused(&w);
  CHECK(syn_context_status(&old) == SYN_E_CONTEXT && strstr(syn_context_message(&old), "moved"),
        "spoiled");
  CHECK(!memcmp(&spoiled, &old, sizeof old), "memory that is no context was written to");
  memset(&old, 0, sizeof old);
  memset(&spoiled, 0, sizeof old);
  refused(&w);
  CHECK(!memcmp(&spoiled, &old, sizeof old), "zeroed memory was written to");
  old = moved;
  world_free(&w);
  CHECK(h.blocks == 0 && h.live == 0, "%ld blocks are left", h.blocks);
}

/* Never begun: null results, no crash. */
static void test_zeroed(void) {
  syn_context c;
  memset(&c, 0, sizeof c);
  CHECK(!syn_model_new(&c, NULL) && !syn_data_new(&c) && !syn_tape_new(&c, 100), "objects");
  CHECK(syn_context_status(&c) == SYN_E_CONTEXT && *syn_context_message(&c), "its status");
  syn_context_free(&c);
}

/* The memory of a context that was freed: here its allocator keeps it until the end. */
typedef struct keeper {
  void *block[8];
  int n;
} keeper;
static void *keep_alloc(void *user, size_t size) {
  keeper *k = (keeper *)user;
  return k->block[k->n++] = malloc(size);
}
static void keep_release(void *user, void *block, size_t size) {
  (void)user, (void)block, (void)size;
}
static void test_freed(void) {
  keeper k;
  syn_options o;
  syn_context *c;
  syn_data *d;
  memset(&k, 0, sizeof k);
  memset(&o, 0, sizeof o);
  o.alloc = keep_alloc, o.release = keep_release, o.alloc_user = &k;
  c = syn_context_new(&o);
  d = syn_data_new(c);
  syn_context_free(c);
  CHECK(syn_context_status(c) == SYN_E_CONTEXT && strstr(syn_context_message(c), "freed"), "%s",
        syn_context_message(c));
  CHECK(syn_data_add(d, NULL, 0, NULL, 0) == SYN_E_CONTEXT && !syn_data_new(c), "its data");
  syn_data_free(d);
  syn_context_free(c);
  CHECK(k.n == 2, "%d blocks", k.n);
  while (k.n > 0) free(k.block[--k.n]);
}

/* -- two threads; tests/threads.c has real ones -- */

static void test_thread(void) {
  static const int row[] = {4, 5};
  syn_context c;
  syn_batch b;
  float loss;
  world w;
  heap h;
  context_on(&c, &h, 0);
  world_make(&w, &c);
  memset(&b, 0, sizeof b);
  b.count = 1, b.tgt = b.labels = row, b.tgt_width = 2;
  c.thread = &c, c.depth = 1; /* as if another one were inside */
#define REFUSED(call) \
  CHECK(SYN__THREAD == NULL || ((call) == SYN_E_VALUE && strstr(c.message, "another thread")), \
        #call ": %s", c.message); \
  syn_context_clear(&c)
  REFUSED(syn_run_forward(w.r, &b));
  REFUSED(syn_run_backward(w.r, &b, &loss));
  REFUSED(syn_decoder_run_text(w.decoder, syn_text_of(""), syn_text_of("a"), NULL, NULL));
  REFUSED(syn_trainer_step(w.t, &b, 1, &loss));
  REFUSED(syn_trainer_run(w.t, w.d, NULL, NULL, NULL));
#undef REFUSED
  CHECK(c.depth == 1, "depth %d", c.depth);
  c.depth = 0;
  CHECK(syn_run_forward(w.r, &b) == SYN_OK && syn_run_backward(w.r, &b, &loss) == SYN_OK &&
            syn_decoder_run_text(w.decoder, syn_text_of(""), syn_text_of("a"), NULL, NULL) ==
                SYN_OK && syn_trainer_step(w.t, &b, 1, &loss) == SYN_OK && c.depth == 0,
        "afterwards: %s, depth %d", c.message, c.depth);
  world_free(&w);
}

int main(void) {
  test_new();
  test_moved();
  test_zeroed();
  test_freed();
  test_thread();
  return CHECK_END("test_context");
}
