/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined -o fuzz_checkpoint \
     tests/fuzz_checkpoint.c -lm
   mkdir seeds corpus; ./fuzz_checkpoint --seeds seeds
   ./fuzz_checkpoint -max_len=16384 corpus seeds
   Any bytes as the checkpoint of one of four trainers: refused, and then model and trainer are what
   they were; or loaded, and then training goes on, saves, loads. The same file is loaded with
   packed weights, and as a model. */
#define FUZZ_NAME "checkpoint"
#define FUZZ_EDGES 2300
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) X(refused) X(resumed) X(trained) X(saved) X(averaged) X(packed) X(decoded)
#include "fuzz.h"
#include "fuzz_mutate.h"

typedef struct training {
  syn_context c;
  syn_model *m;
  syn_data *data;
  syn_trainer *t;
} training;

static int training_make(training *a, int optimizer) {
  static const char *const names[] = {"adam", "adamw", "adafactor", "sgd", "muon"};
  syn_config k;
  syn_train_config how;
  int i, row[4] = {4, 5, 6, 7};
  memset(a, 0, sizeof *a);
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  fuzz_context(&a->c, "scalar", 0);
  k.task = "lm";
  k.decoder = "res_nd(syn_att(Fix+V)) -> norm";
  k.d_model = 4;
  k.heads = 2;
  k.max_len = 6;
  k.tgt_vocab = 9;
  k.seed = 1;
  how.optimizer = names[optimizer];
  how.batch_tokens = 12;
  how.average = 2;
  how.ema = 0.2f;
  how.every = 2;
  how.steps = 3;
  a->m = syn_model_new(&a->c, &k);
  a->data = syn_data_new(&a->c);
  for (i = 0; i < 4; i++) syn_data_add(a->data, NULL, 0, row + i, 4 - i);
  a->t = syn_trainer_new(&a->c, a->m, &how);
  return a->t != NULL;
}
static void training_free(training *a) {
  syn_trainer_free(a->t);
  syn_data_free(a->data);
  syn_model_free(a->m);
}

static uint64_t training_hash(const training *a) {
  uint64_t hash =
      syn_hash(SYN_HASH_START, syn_trainer_state(a->t), sizeof *syn_trainer_state(a->t));
  size_t i;
  for (i = 0; i < syn_model_param_count(a->m); i++) {
    const syn_param *p = syn_model_param(a->m, i);
    hash = syn_hash(hash, p->x, p->size * sizeof *p->x);
  }
  return hash;
}

/* The optimizer that the file names, 0: none. */
static int optimizer_of(const unsigned char *at, size_t size) {
  size_t i;
  for (i = 0; i + 9 < size; i++) {
    if (!memcmp(at + i, "\"adamw\"", 7)) return 1;
    if (!memcmp(at + i, "\"adafacto", 9)) return 2;
    if (!memcmp(at + i, "\"sgd\"", 5)) return 3;
    if (!memcmp(at + i, "\"muon\"", 6)) return 4;
  }
  return 0;
}

static void go_on(training *a, const char *path) {
  fuzz_mark(MARK_resumed);
  if (!syn_trainer_run(a->t, a->data, a->data, NULL, NULL)) fuzz_mark(MARK_trained);
  syn_context_clear(&a->c);
  if (!syn_trainer_save(a->t, path)) {
    fuzz_mark(MARK_saved);
    FUZZ_WANT(!syn_trainer_load(a->t, path), "saved, but not loaded: %s", a->c.message);
  } else {
    FUZZ_WANT(a->c.status == SYN_E_VALUE, "not saved: %s", a->c.message);
  }
  if (syn_trainer_average(a->t) > 0) fuzz_mark(MARK_averaged);
}

static void decode(syn_context *c, const char *path, int packed) {
  syn_model *m = syn_model_load(c, path);
  syn_decode_config k;
  syn_batch b;
  syn_decoder *d;
  memset(&k, 0, sizeof k);
  memset(&b, 0, sizeof b);
  b.count = 1;
  k.max_len = 4;
  if (fuzz_random(2)) k.type = "i8";
  if (packed && !syn_model_pack(m)) fuzz_mark(MARK_packed);
  /* the file may exaggerate: a decoder's memory grows with all sizes */
  if (m && syn_model_config(m)->d_model <= 64 && syn_model_config(m)->max_len <= 64 &&
      syn_model_node_count(m) < 40 && !strcmp(syn_model_config(m)->task, "lm")) {
    d = syn_decoder_new(c, m, &k);
    if (!syn_decoder_run(d, &b, NULL, NULL)) fuzz_mark(MARK_decoded);
    syn_decoder_free(d);
  }
  syn_model_free(m);
  syn_context_clear(c);
}

static void fuzz_one(void) {
  const char *path = fuzz_path();
  uint64_t before;
  training a;
  syn_model *m, *viewed;
  if (!training_make(&a, optimizer_of(fuzz.at, fuzz.left))) abort();
  before = training_hash(&a);
  fuzz_file(path, fuzz.at, fuzz.left);
  if (syn_trainer_load(a.t, path)) {
    fuzz_mark(MARK_refused);
    FUZZ_WANT(training_hash(&a) == before, "refused, but not as before: %s", a.c.message);
    syn_context_clear(&a.c);
  } else {
    go_on(&a, path);
    fuzz_file(path, fuzz.at, fuzz.left);
  }
  viewed = syn_model_view(&a.c, fuzz.at, fuzz.left);
  syn_context_clear(&a.c);
  m = syn_model_load(&a.c, path);
  FUZZ_WANT((viewed != NULL) == (m != NULL), "viewed %d: %s", viewed != NULL, a.c.message);
  syn_model_free(m);
  syn_model_free(viewed);
  syn_context_clear(&a.c);
  decode(&a.c, path, fuzz_random(2));
  training_free(&a);
  remove(path);
}

static void fuzz_seeds(void) {
  int i;
  for (i = 0; i < 8; i++) {
    char name[1000];
    training a;
    if (!training_make(&a, i % 4)) abort();
    if (i >= 4 && syn_trainer_run(a.t, a.data, a.data, NULL, NULL)) abort();
    snprintf(name, sizeof name, "%s/checkpoint%d", fuzz.seeds, i);
    if (syn_trainer_save(a.t, name)) fprintf(stderr, "%s\n", a.c.message), exit(1);
    training_free(&a);
  }
}
