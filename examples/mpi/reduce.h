/* reduce.h   the gradient of one training added up over the ranks of MPI, in their order

   MPI_Allreduce may add in any order, so its last bits may change with the number of ranks, the
   algorithm and the machine. Here every block of the gradient is cut into a slice per rank:

     scatter   each rank sends slice r of its block to rank r           MPI_Alltoallv
     sum       rank r adds the slices r of all: ((x_0 + x_1) + x_2) ...
     gather    each rank gets the sums of the other slices              MPI_Allgatherv

   A rank sends and receives 2 (N-1)/N of the gradient, as in a ring. Memory: one block. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { LINK_BLOCK = 1 << 20 }; /* numbers */

typedef struct link_state {
  MPI_Comm comm;
  int rank, ranks;
  float *slices;     /* [ranks, slice] of one block, from each rank */
  int *count, *from; /* [ranks] numbers of each slice of the block, where they begin */
  int *size, *at;    /* [ranks] numbers from each rank in `slices`, where they begin */
  double seconds;    /* in link_sum */
  double bytes;      /* sent */
} link_state;

/* Returns an MPI error code, 0: none. */
static int link_open(link_state *l) {
  int e;
  memset(l, 0, sizeof *l);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* inherited by the copy */
  e = MPI_Comm_dup(MPI_COMM_WORLD, &l->comm);
  if (e) return e;
  MPI_Comm_rank(l->comm, &l->rank);
  MPI_Comm_size(l->comm, &l->ranks);
  l->slices = (float *)malloc(((size_t)LINK_BLOCK + (size_t)l->ranks) * sizeof(float));
  l->count = (int *)malloc(4 * (size_t)l->ranks * sizeof(int));
  if (!l->slices || !l->count) return MPI_ERR_NO_MEM;
  l->from = l->count + l->ranks;
  l->size = l->from + l->ranks;
  l->at = l->size + l->ranks;
  return 0;
}

static void link_close(link_state *l) {
  free(l->slices);
  free(l->count);
  MPI_Comm_free(&l->comm);
}

static int link__sum_block(link_state *l, float *x, int n) {
  int r, k, own, e;
  for (r = 0; r < l->ranks; r++) l->from[r] = (int)((long long)n * r / l->ranks);
  for (r = 0; r < l->ranks; r++)
    l->count[r] = (r + 1 < l->ranks ? l->from[r + 1] : n) - l->from[r];
  own = l->count[l->rank];
  for (r = 0; r < l->ranks; r++) {
    l->size[r] = own;
    l->at[r] = own * r;
  }
  e = MPI_Alltoallv(x, l->count, l->from, MPI_FLOAT, l->slices, l->size, l->at, MPI_FLOAT, l->comm);
  if (e) return e;
  for (r = 1; r < l->ranks; r++)
    for (k = 0; k < own; k++) l->slices[k] += l->slices[own * r + k];
  l->bytes += 4.0 * (n - own + (double)own * (l->ranks - 1));
  return MPI_Allgatherv(l->slices, own, MPI_FLOAT, x, l->count, l->from, MPI_FLOAT, l->comm);
}

/* The gradient of all ranks, in all ranks. */
static int link_sum(link_state *l, syn_gradient *g) {
  double start = MPI_Wtime(), loss;
  size_t i;
  int r, e = 0;
  for (i = 0; i < g->size && !e; i += LINK_BLOCK)
    e = link__sum_block(l, g->x + i, g->size - i < LINK_BLOCK ? (int)(g->size - i) : LINK_BLOCK);
  if (!e) e = MPI_Allreduce(MPI_IN_PLACE, &g->labels, 1, MPI_INT64_T, MPI_SUM, l->comm);
  loss = g->loss;
  for (r = 0, g->loss = 0.0; r < l->ranks && !e; r++) {
    double part = loss;
    e = MPI_Bcast(&part, 1, MPI_DOUBLE, r, l->comm);
    g->loss += part;
  }
  l->seconds += MPI_Wtime() - start;
  return e;
}

/* One update, from batches of which rank r computes r, r + ranks ... There is a sum for each batch
   of a rank, because only then are the bits those of one process. Not 0: an error, of the context or
   of MPI. */
static int link_update(link_state *l, syn_trainer *t, syn_data *d, float *loss) {
  const syn_train_config *k = syn_trainer_config(t);
  syn_gradient g;
  syn_batch b;
  int i, mine;
  memset(&g, 0, sizeof g);
  for (i = 0; i < k->accumulate; i++) {
    mine = i % l->ranks == l->rank;
    if (syn_trainer_next(t, d, mine ? &b : NULL)) return 1;
    if (mine && l->rank) memset(&g, 0, sizeof g); /* rank 0 adds to the sum so far */
    if (mine && syn_trainer_accumulate(t, &b, i, &g)) return 1;
    if (i % l->ranks == l->ranks - 1 && l->ranks > 1 && link_sum(l, &g)) return 1;
  }
  return syn_trainer_update(t, &g, loss);
}
