/* speed   the step rate of ranks against one process, at the configuration `base` of tools/bench.c

   speed THREADS ACCUMULATE STEPS     under mpirun or alone: the median time of an update
   speed 1 table STEPS FASTER         alone, one batch an update: when each block of gradients is
                                      finished, in CPU time, which other programs change least; and
                                      so the time of a step on 2 to 64 machines, each FASTER times
                                      as fast as one core of this one */

#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "reduce.h"
#include <time.h>

enum { VOCAB = 32000, SENTENCES = 16, TOKENS = 64, BLOCKS = 1000 };

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

typedef struct clock_state {
  double start, time[2000];         /* of the updates */
  double cpu;                       /* CPU time when the first update was done; paper: the last */
  int steps, paper;
  double at[BLOCKS], bytes[BLOCKS]; /* of the last update: when each block is finished, its size */
  int blocks;
} clock_state;

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* A `reduce` of one rank, which only looks at the clock. */
static int look(void *user, void *x, size_t n, size_t size) {
  clock_state *s = (clock_state *)user;
  if (x && s->blocks < BLOCKS) {
    s->at[s->blocks] = cpu_seconds() - s->cpu;
    s->bytes[s->blocks++] = (double)n * (double)size;
  }
  return 0;
}

static int tick(void *user, const syn_trainer *t, float loss, int validated) {
  clock_state *s = (clock_state *)user;
  (void)loss, (void)validated;
  s->time[s->steps] = s->paper ? cpu_seconds() - s->cpu : MPI_Wtime() - s->start;
  s->start = MPI_Wtime();
  if (s->steps++ == 0 || s->paper) s->cpu = cpu_seconds();
  if (syn_trainer_state(t)->step < syn_trainer_config(t)->steps) s->blocks = 0;
  return 0;
}

/* Blocks go over the wire one after the other, each from when it is finished:
     end_i = max(end_{i-1}, at_i) + 2 (N-1)/N bytes_i / bandwidth
   and the step waits for the last of them, then for the optimizer. */
static void table(clock_state *s, double step, int last, double faster) {
  static const double gbit[] = {1, 10, 100};
  double all = 0, end, rate;
  int n, i, k;
  for (i = 0; i < s->blocks; i++) s->at[i] /= faster;
  step /= faster;
  for (i = 0; i < s->blocks; i++) all += s->bytes[i];
  printf("one machine: %.3f s a step, %.1f MB of gradients in %d blocks; the first is finished after "
         "%.3f s, the last, of %.1f MB, after %.3f s\n", step, all / 1e6, s->blocks, s->at[0],
         s->bytes[last] / 1e6, s->at[last]);
  printf("| machines | MB sent a step by each | 1 Gbit/s | 10 Gbit/s | 100 Gbit/s |\n"
         "| --- | --- | --- | --- | --- |\n");
  for (n = 2; n <= 64; n *= 2) {
    double share = 2.0 * (n - 1) / n;
    printf("| %d | %.0f |", n, share * all / 1e6);
    for (k = 0; k < 3; k++) {
      for (i = 0, end = 0; i < s->blocks; i++)
        end = (end > s->at[i] ? end : s->at[i]) + share * s->bytes[i] / (gbit[k] * 1.25e8);
      rate = end - s->at[last] + step;
      printf(" %.2f s, x %.1f (%.0f %%) |", rate, n * step / rate, 100 * step / rate);
    }
    printf("\n");
  }
}

int main(int argc, char **argv) {
  static clock_state s;
  syn_context c;
  syn_options o;
  syn_train_config k;
  syn_model *m;
  syn_data *d;
  syn_trainer *t;
  link_state link;
  int paper = argc > 2 && !strcmp(argv[2], "table"), steps = argc > 3 ? atoi(argv[3]) : 0;
  if (MPI_Init(&argc, &argv) || link_open(&link)) return 1;
  if (steps < 2 || steps > 1000)
    return puts("speed THREADS ACCUMULATE|table STEPS [FASTER]"), MPI_Abort(MPI_COMM_WORLD, 2);
  memset(&o, 0, sizeof o);
  memset(&k, 0, sizeof k);
  o.threads = atoi(argv[1]);
  syn_context_init(&c, &o);
  m = network(&c);
  k.schedule = "constant";
  k.lr = 1e-4f;
  k.batch_tokens = SENTENCES * TOKENS;
  k.accumulate = paper ? 1 : atoi(argv[2]);
  k.steps = steps + 1; /* the first is not counted */
  k.rank = link.rank;
  k.ranks = link.ranks;
  k.reduce = paper ? look : link.ranks > 1 ? link_reduce : NULL;
  k.reduce_user = paper ? (void *)&s : (void *)&link;
  t = syn_trainer_new(&c, m, &k);
  d = rows(&c, 40 * SENTENCES);
  s.paper = paper;
  s.start = MPI_Wtime();
  if (syn_trainer_run(t, d, NULL, tick, &s) || c.status)
    return puts(c.message), MPI_Abort(MPI_COMM_WORLD, 1);
  qsort(s.time + 1, (size_t)steps, sizeof s.time[0], by_size);
  if (paper) {
    int last = s.blocks - 1;
    while (last > 0 && s.bytes[last] < 1000.0) last--; /* behind it only loss and labels */
    s.blocks = last + 1;
    table(&s, s.time[1 + steps / 2], last, argc > 4 ? atof(argv[4]) : 1.0);
  } else if (link.rank == 0)
    printf("%d ranks, %d threads, accumulate %d: %.0f ms an update (least %.0f), %.0f of CPU time; "
           "reduce %.0f, of that waiting at the end %.0f\n",
           link.ranks, o.threads, k.accumulate, 1e3 * s.time[1 + steps / 2],
           1e3 * s.time[1], 1e3 * (cpu_seconds() - s.cpu) / steps,
           1e3 * link.seconds / (steps + 1), 1e3 * link.waited / (steps + 1));
  syn_data_free(d);
  syn_trainer_free(t);
  syn_model_free(m);
  link_close(&link);
  MPI_Finalize();
  return 0;
}
