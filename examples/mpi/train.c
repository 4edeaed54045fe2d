/* train   one training on several machines, by MPI

   Idea: every rank has the same network and the same data, and computes its own batches of each
   update; between the backward pass and the update the gradients are added up (reduce.h). So all
   ranks have the same weights all the time, and N ranks have the bits of one process with
   --accumulate N.

   make -C examples/mpi
   mpirun -n 2 examples/mpi/build/train --data pairs.tsv --model model.safetensors
   Lines of --data: source, tab, target. Without --data: words to be written backwards. */

#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "reduce.h"
#include <signal.h>

typedef struct job {
  const char *data, *tokenizer, *model;
  long steps, every, resume, die; /* die: the last rank kills itself after so many updates */
  int tokens, accumulate, width, threads;
  syn_context c;
  link_state link;
} job;

/* No rank may wait for one that has given up. */
static int stop(const char *what, const char *message) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "train: rank %d: %s: %s\n", rank, what, message);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

/* Every number is a whole one from 0 on. */
static long whole(const char *name, const char *text) {
  char *end;
  long value = strtol(text, &end, 10);
  if (!*text || *end || value < 0 || value > 1000000000L) stop(name, "wanted a number up to 1e9");
  return value;
}

static int options(job *j, int argc, char **argv) {
  int i;
  for (i = 1; i < argc; i++) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(name, "--resume")) {
      j->resume = 1;
      continue;
    }
    if (!value) return stop(name, "it wants a value");
    if (!strcmp(name, "--data")) j->data = value;
    else if (!strcmp(name, "--tokenizer")) j->tokenizer = value;
    else if (!strcmp(name, "--model")) j->model = value;
    else if (!strcmp(name, "--steps")) j->steps = whole(name, value);
    else if (!strcmp(name, "--every")) j->every = whole(name, value);
    else if (!strcmp(name, "--die")) j->die = whole(name, value);
    else if (!strcmp(name, "--tokens")) j->tokens = (int)whole(name, value);
    else if (!strcmp(name, "--accumulate")) j->accumulate = (int)whole(name, value);
    else if (!strcmp(name, "--d-model")) j->width = (int)whole(name, value);
    else if (!strcmp(name, "--threads")) j->threads = (int)whole(name, value);
    else
      return stop(name, "no such option; there are --data --tokenizer --model --resume --steps "
                        "--every --tokens --accumulate --d-model --threads --die");
    i++;
  }
  return 0;
}

/* -- data: a whole file, then its lines -- */

static char *made_up(void) {
  enum { WORDS = 600, BYTES = 24 };
  char *text = (char *)malloc(WORDS * BYTES + 1), *at = text;
  syn_random r = {1};
  int i, k, n;
  for (i = 0; text && i < WORDS; i++, at += 2 * n + 2) {
    n = 3 + syn_random_below(&r, 8);
    for (k = 0; k < n; k++) at[k] = at[2 * n - k] = (char)('a' + syn_random_below(&r, 26));
    at[n] = '\t', at[2 * n + 1] = '\n';
  }
  if (text) *at = 0;
  return text;
}

static char *file_text(const char *path) {
  FILE *f = fopen(path, "rb");
  long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
  char *text = size < 0 ? NULL : (char *)malloc((size_t)size + 1);
  if (text) rewind(f), text[fread(text, 1, (size_t)size, f)] = 0;
  if (f) fclose(f);
  return text;
}

/* The fields of a text: source and target by turns. Returns their number; 0: no memory, or a line
   without a tab. */
static size_t fields(const char *text, syn_text **list) {
  size_t n = 0, size;
  const char *at;
  for (at = text; *at; at++) n += *at == '\n' || *at == '\t';
  *list = (syn_text *)malloc((n + 2) * sizeof **list);
  for (n = 0, at = text; *list && *at; at += size + (at[size] != 0), n++) {
    size = strcspn(at, n % 2 ? "\n" : "\t\n");
    (*list)[n].at = at;
    (*list)[n].size = size && at[size - 1] == '\r' ? size - 1 : size;
    if (n % 2 == 0 && at[size] != '\t') return 0;
  }
  return n % 2 ? 0 : n;
}

/* -- the network and its data -- */

static syn_model *network(job *j, const syn_text *list, size_t n) {
  syn_tokenizer *t = syn_tokenizer_learn(&j->c, j->tokenizer, 0, list, n);
  syn_model *m;
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = "seq2seq";
  k.encoder = "pos -> repeat(2, res_nd(mh_dot_self_att) -> res_nd(ffl)) -> norm";
  k.decoder =
      "pos -> repeat(2, res_nd(mh_dot_self_att) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm";
  k.d_model = j->width;
  k.src_vocab = k.tgt_vocab = t ? syn_tokenizer_size(t) : 0;
  k.dropout = 0.1f;
  k.label_smoothing = 0.1f;
  k.seed = 1;
  m = t ? syn_model_new(&j->c, &k) : NULL;
  if (m) syn_model_set_tokenizers(m, t, t);
  return m;
}

static syn_trainer *trainer(job *j, syn_model *m) {
  syn_train_config k;
  memset(&k, 0, sizeof k);
  k.lr = 0.003f;
  k.warmup = 20;
  k.clip = 1.0f;
  k.steps = j->steps;
  k.batch_tokens = j->tokens;
  k.accumulate = j->accumulate ? j->accumulate : j->link.ranks; /* of all ranks together */
  k.seed = 1;
  return m ? syn_trainer_new(&j->c, m, &k) : NULL;
}

/* All updates. Rank 0 alone prints and saves. Not 0: an error. */
static int updates(job *j, syn_trainer *t, syn_data *d) {
  const syn_train_state *s = syn_trainer_state(t);
  float loss;
  while (s->step < syn_trainer_config(t)->steps) {
    if (link_update(&j->link, t, d, &loss)) return 1;
    if (j->link.rank == 0 && s->step % j->every == 0) {
      printf("step %lld   loss %.4f   labels %lld\n", (long long)s->step, (double)loss,
             (long long)s->tokens);
      fflush(stdout);
      if (syn_trainer_save(t, j->model)) return 1;
    }
    if (s->step == j->die && j->link.rank == j->link.ranks - 1) raise(SIGKILL);
  }
  return 0;
}

/* 1: all ranks have the same number. */
static int same_everywhere(unsigned long long number) {
  unsigned long long low, high;
  if (MPI_Allreduce(&number, &low, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD) ||
      MPI_Allreduce(&number, &high, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD))
    return 0;
  return low == high;
}

/* Weights and place in the data, which all ranks must share. */
static unsigned long long place(const syn_model *m, const syn_trainer *t) {
  const syn_train_state *s = syn_trainer_state(t);
  uint64_t hash = syn_hash(SYN_HASH_START, &s->step, sizeof s->step);
  size_t i;
  for (i = 0; i < syn_model_param_count(m); i++) {
    const syn_param *p = syn_model_param(m, i);
    hash = syn_hash(hash, p->x, p->size * sizeof *p->x);
  }
  return hash;
}

static int train(job *j, const syn_text *list, size_t n) {
  syn_model *m = network(j, list, n);
  syn_trainer *t = trainer(j, m);
  syn_data *d = syn_data_new(&j->c);
  size_t i;
  for (i = 0; t && d && i < n && !j->c.status; i += 2)
    syn_data_add_text(d, m, list[i], list[i + 1]);
  if (j->c.status) return stop("start", j->c.message);
  if (j->resume && syn_trainer_load(t, j->model)) return stop("resume", j->c.message);
  if (!same_everywhere(place(m, t)))
    return stop("start", "the ranks have other weights, or checkpoints");
  if (updates(j, t, d)) return stop("training", j->c.status ? j->c.message : "MPI has failed");
  if (!same_everywhere(place(m, t))) return stop("end", "the ranks have other weights");
  if (j->link.rank == 0 && syn_trainer_save(t, j->model)) return stop("end", j->c.message);
  if (j->link.rank == 0)
    printf("%lld updates, rank 0: %.1f MB sent, %.2f s in sums\n",
           (long long)syn_trainer_state(t)->step, j->link.bytes / 1e6, j->link.seconds);
  syn_data_free(d);
  syn_trainer_free(t);
  syn_model_free(m);
  return 0;
}

int main(int argc, char **argv) {
  job j;
  syn_options o;
  char *text;
  syn_text *list = NULL;
  size_t n;
  memset(&j, 0, sizeof j);
  memset(&o, 0, sizeof o);
  j.tokenizer = "char", j.model = "model.safetensors";
  j.steps = 200, j.every = 50, j.tokens = 512, j.width = 64, j.threads = 1;
  if (MPI_Init(&argc, &argv)) return 1;
  if (link_open(&j.link)) return stop("start", "MPI cannot copy its communicator, or there is no memory");
  if (options(&j, argc, argv)) return 1;
  if (j.every < 1) return stop("--every", "wanted 1 or more");
  if (j.accumulate % j.link.ranks) return stop("--accumulate", "wanted a multiple of the ranks");
  o.threads = j.threads; /* of each rank */
  syn_context_init(&j.c, &o);
  text = j.data ? file_text(j.data) : made_up();
  n = text ? fields(text, &list) : 0;
  if (!n) return stop(j.data ? j.data : "data", "cannot be read, or a line has no tab");
  if (!same_everywhere(syn_hash(SYN_HASH_START, text, strlen(text))))
    return stop("data", "the ranks have other data");
  if (train(&j, list, n)) return 1;
  free(list);
  free(text);
  link_close(&j.link);
  MPI_Finalize();
  return 0;
}
