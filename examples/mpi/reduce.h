/* reduce.h   syn_train_config.reduce by MPI: sums in the order of the ranks, beside the backward pass

   MPI_Allreduce may add in any order, so its last bits may change with the number of ranks, the
   algorithm and the machine. Here every block of n numbers is cut into a slice per rank:

     scatter   each rank sends slice r of its block to rank r           MPI_Ialltoallv
     sum       rank r adds the slices r of all: ((x_0 + x_1) + x_2) ... link__add
     gather    each rank gets the sums of the other slices              MPI_Iallgatherv

   A rank sends and receives 2 (N-1)/N of the block, as in a ring. Both messages run beside the
   backward pass; MPI moves them while the program is in a call of it, that is at every further
   block. Blocks begin in the same order on all ranks, the two kinds of messages on a communicator
   each, as MPI wants it. Memory: (N-1)/N of the gradient, for the slices of the others. */

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* A block whose sum is not there yet, or the memory for one. */
typedef struct link_block {
  void *x;
  size_t n, size;       /* numbers, bytes of each */
  void *others;         /* [ranks, slice] of x, from each rank but this one */
  size_t capacity;      /* bytes of it */
  int *count, *place;   /* [ranks] numbers of each slice of x, where they begin */
  int *sent;            /* [ranks] the same numbers, but none to this rank itself */
  int *received, *into; /* [ranks] numbers of each rank in `others`, where they begin */
  int gathering;        /* 0: scatter runs; 1: gather runs */
  MPI_Request request;
} link_block;

typedef struct link_state {
  MPI_Comm scatter, gather;
  int rank, ranks;
  link_block *block;    /* of one update, in the order of the calls; their memory is used again */
  int blocks, capacity; /* begun; with memory */
  int done;             /* so many of them have their sums */
  double waited;        /* seconds in the calls that wait for all sums */
  double seconds;       /* in all calls */
  double bytes;         /* sent */
} link_state;

/* Returns an MPI error code, 0: none. */
static int link_open(link_state *l) {
  int e;
  memset(l, 0, sizeof *l);
  MPI_Comm_rank(MPI_COMM_WORLD, &l->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &l->ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* inherited by the copies */
  e = MPI_Comm_dup(MPI_COMM_WORLD, &l->scatter);
  return e ? e : MPI_Comm_dup(MPI_COMM_WORLD, &l->gather);
}

static void link_close(link_state *l) {
  int i;
  for (i = 0; i < l->capacity; i++) free(l->block[i].others), free(l->block[i].count);
  free(l->block);
  MPI_Comm_free(&l->scatter);
  MPI_Comm_free(&l->gather);
}

/* Numbers before slice r of n. */
static size_t link__slice(const link_state *l, size_t n, int r) {
  return n * (size_t)r / (size_t)l->ranks;
}

/* The next block, with memory for the slices of n numbers; null: there is none. */
static link_block *link__next(link_state *l, size_t n, size_t size) {
  size_t ranks = (size_t)l->ranks, bytes = (n / ranks + 1) * ranks * size;
  link_block *b;
  if (l->blocks == l->capacity) {
    b = (link_block *)realloc(l->block, (size_t)(l->capacity + 1) * sizeof *b);
    if (!b) return NULL;
    l->block = b;
    b += l->capacity;
    memset(b, 0, sizeof *b);
    b->count = (int *)malloc(5 * ranks * sizeof(int));
    if (!b->count) return NULL;
    b->place = b->count + ranks, b->sent = b->place + ranks;
    b->received = b->sent + ranks, b->into = b->received + ranks;
    l->capacity++;
  }
  b = &l->block[l->blocks];
  if (b->capacity < bytes) {
    free(b->others);
    b->others = malloc(bytes);
    b->capacity = b->others ? bytes : 0;
  }
  return b->others ? b : NULL;
}

/* Numbers of slice r, and where rank r put them. */
static const void *link__slice_of(const link_state *l, const link_block *b, int r) {
  const char *own = (const char *)b->x + (size_t)b->place[r] * b->size;
  return r == l->rank ? own : (const char *)b->others + (size_t)b->into[r] * b->size;
}

/* The slice of this rank becomes the sum, from rank 0 on, in pieces that stay in the first cache. */
static void link__add_floats(const link_state *l, const link_block *b) {
  size_t n = (size_t)b->count[l->rank], step = 1024, i, k;
  float sum[1024], *own = (float *)b->x + b->place[l->rank];
  int r;
  for (i = 0; i < n; i += step) {
    if (step > n - i) step = n - i;
    memcpy(sum, (const float *)link__slice_of(l, b, 0) + i, step * sizeof *sum);
    for (r = 1; r < l->ranks; r++) {
      const float *x = (const float *)link__slice_of(l, b, r) + i;
      for (k = 0; k < step; k++) sum[k] += x[k];
    }
    memcpy(own + i, sum, step * sizeof *sum);
  }
}
static void link__add_doubles(const link_state *l, const link_block *b) {
  double sum, *own = (double *)b->x + b->place[l->rank];
  int r, i;
  for (i = 0; i < b->count[l->rank]; i++) {
    sum = ((const double *)link__slice_of(l, b, 0))[i];
    for (r = 1; r < l->ranks; r++) sum += ((const double *)link__slice_of(l, b, r))[i];
    own[i] = sum;
  }
}

static MPI_Datatype link__type(const link_block *b) {
  return b->size == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
}

/* Begins the scatter of a block. */
static int link__begin(link_state *l, void *x, size_t n, size_t size) {
  link_block *b = n <= INT_MAX / 2 ? link__next(l, n, size) : NULL;
  int r, at = 0;
  if (!b) return MPI_ERR_NO_MEM;
  b->x = x, b->n = n, b->size = size;
  b->gathering = 0;
  for (r = 0; r < l->ranks; r++) {
    b->place[r] = (int)link__slice(l, n, r);
    b->count[r] = (int)link__slice(l, n, r + 1) - b->place[r];
  }
  for (r = 0; r < l->ranks; r++) { /* nothing from this rank to itself */
    b->sent[r] = r == l->rank ? 0 : b->count[r];
    b->received[r] = r == l->rank ? 0 : b->count[l->rank];
    b->into[r] = at;
    at += b->received[r];
  }
  l->bytes += (double)size * ((double)n - b->count[l->rank]);               /* scatter */
  l->bytes += (double)size * (double)(l->ranks - 1) * b->count[l->rank]; /* gather */
  l->blocks++;
  return MPI_Ialltoallv(x, b->sent, b->place, link__type(b), b->others, b->received, b->into,
                        link__type(b), l->scatter, &b->request);
}

/* Carries the blocks on, in their order. wait 1: until all have their sums; 0: as far as messages
   are there. */
static int link__go_on(link_state *l, int wait) {
  int i, e, there;
  for (i = l->done; i < l->blocks; i++) {
    link_block *b = &l->block[i];
    there = 1;
    if (!b->gathering) {
      e = wait ? MPI_Wait(&b->request, MPI_STATUS_IGNORE)
               : MPI_Test(&b->request, &there, MPI_STATUS_IGNORE);
      if (e) return e;
      if (!there) return 0; /* gathers begin in the same order on all ranks */
      if (b->size == sizeof(float)) link__add_floats(l, b);
      else link__add_doubles(l, b);
      b->gathering = 1;
      e = MPI_Iallgatherv(MPI_IN_PLACE, 0, link__type(b), b->x, b->count, b->place, link__type(b),
                          l->gather, &b->request);
      if (e) return e;
    }
  }
  for (; l->done < l->blocks; l->done++) {
    there = 1;
    e = wait ? MPI_Wait(&l->block[l->done].request, MPI_STATUS_IGNORE)
             : MPI_Test(&l->block[l->done].request, &there, MPI_STATUS_IGNORE);
    if (e || !there) return e;
  }
  return 0;
}

/* syn_reduce; `user` is a link_state. */
static int link_reduce(void *user, void *x, size_t n, size_t size) {
  link_state *l = (link_state *)user;
  double start = MPI_Wtime();
  int e = x ? link__begin(l, x, n, size) : 0;
  if (!e) e = link__go_on(l, !x);
  if (!x) l->blocks = l->done = 0, l->waited += MPI_Wtime() - start;
  l->seconds += MPI_Wtime() - start;
  return e;
}
