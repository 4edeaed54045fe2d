/* speed   the step rate of ranks against one process, at the configuration `base` of tools/bench.c

   speed THREADS ACCUMULATE STEPS     under mpirun or alone: the median time of an update */

#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "reduce.h"
#include <time.h>

enum { VOCAB = 32000, SENTENCES = 16, TOKENS = 64, STEPS = 1000 };

static syn_model *network(syn_context *c) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = "seq2seq";
  k.encoder = "pos->repeat(6,res_nd(mh_dot_self_att)->res_nd(ffl(2048)))->norm";
  k.decoder = "pos->repeat(6,res_nd(mh_dot_self_att)->res_nd(mh_dot_att)->res_nd(ffl(2048)))->norm";
  k.d_model = 512;
  k.heads = 8;
  k.max_len = TOKENS;
  k.src_vocab = k.tgt_vocab = VOCAB;
  k.tie = "all";
  k.dropout = 0.1f;
  k.label_smoothing = 0.1f;
  k.seed = 1;
  return syn_model_new(c, &k);
}

/* Rows of 63 tokens, which begin and end make 64. */
static syn_data *rows(syn_context *c, int count) {
  syn_data *d = syn_data_new(c);
  syn_random r = {1};
  int row[2][TOKENS - 1], i, k;
  for (i = 0; i < count; i++) {
    for (k = 0; k < TOKENS - 1; k++) {
      row[0][k] = SYN_FIRST_TOKEN + syn_random_below(&r, VOCAB - SYN_FIRST_TOKEN);
      row[1][k] = SYN_FIRST_TOKEN + syn_random_below(&r, VOCAB - SYN_FIRST_TOKEN);
    }
    syn_data_add(d, row[0], TOKENS - 1, row[1], TOKENS - 1);
  }
  return d;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

int main(int argc, char **argv) {
  static double time[STEPS + 1];
  syn_context c;
  syn_options o;
  syn_train_config k;
  syn_model *m;
  syn_data *d;
  syn_trainer *t;
  link_state link;
  double cpu = 0.0;
  int steps = argc > 3 ? atoi(argv[3]) : 0, i;
  if (MPI_Init(&argc, &argv) || link_open(&link)) return 1;
  if (steps < 2 || steps > STEPS)
    return puts("speed THREADS ACCUMULATE STEPS"), MPI_Abort(MPI_COMM_WORLD, 2);
  memset(&o, 0, sizeof o);
  memset(&k, 0, sizeof k);
  o.threads = atoi(argv[1]);
  syn_context_init(&c, &o);
  m = network(&c);
  k.schedule = "constant";
  k.lr = 1e-4f;
  k.batch_tokens = SENTENCES * TOKENS;
  k.accumulate = atoi(argv[2]);
  t = syn_trainer_new(&c, m, &k);
  d = rows(&c, 40 * SENTENCES);
  for (i = 0; i <= steps; i++) { /* the first is not counted */
    time[i] = MPI_Wtime();
    if (link_update(&link, t, d, NULL)) return puts(c.message), MPI_Abort(MPI_COMM_WORLD, 1);
    time[i] = MPI_Wtime() - time[i];
    if (!i) cpu = cpu_seconds();
  }
  qsort(time + 1, (size_t)steps, sizeof *time, by_size);
  if (link.rank == 0)
    printf("%d ranks, %d threads, accumulate %d: %.0f ms an update (least %.0f), %.0f of CPU time; "
           "sums %.0f\n",
           link.ranks, o.threads, k.accumulate, 1e3 * time[1 + steps / 2], 1e3 * time[1],
           1e3 * (cpu_seconds() - cpu) / steps, 1e3 * link.seconds / (steps + 1));
  syn_data_free(d);
  syn_trainer_free(t);
  syn_model_free(m);
  link_close(&link);
  MPI_Finalize();
  return 0;
}
