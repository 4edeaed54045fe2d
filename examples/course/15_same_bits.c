/* 15   Same bits: a loss curve with one hash on every machine

   You will be able to explain why two machines disagree, and what it takes to agree.

   Idea: floats are rounded after each operation, so (a + b) + c and a + (b + c) differ in the last
   bit. A training step makes millions of operations and multiplies small differences: after some
   hundred steps two runs have different losses, and nobody can say whether a change of the program
   was right. Three things change bits from machine to machine; the first part shows each:

     order      a processor with 8 lanes adds every 8th number in a lane, one with 16 every 16th
     fma        a * b + c in one instruction rounds once, two instructions round twice; compilers
                choose (-ffp-contract, -march=native)
     expf       libraries round exp differently: the C standard says nothing about the last bit

   The library fixes all three: one order of 16 partial sums, fma everywhere, its own exp. (Where
   there is no instruction for fma it calls fmaf, since course.h defines SYN_EXACT: slow, but the
   same bits.) The second part trains a network with every instruction set that this machine has,
   its work cut for 1 and for 2 threads. It prints a hash over the bits of all losses and weights.
   The third part changes one bit of one weight: that is what another rounding does to a training.

   Compile, run:  make -C examples/course lesson N=15   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/15_same_bits.c -o same_bits -lm && ./same_bits
   Expected:      examples/course/expected/15.txt; lines with # may differ and are not compared */
#include "course.h"
enum { N = 1024, STEPS = 60, LONG = 601, SENTENCES = 16, LENGTH = 12 };

/* The sum of x [N] in partial sums: number i goes to lane i % lanes. */
static float sum_in(const float *x, int lanes) {
  float part[16] = {0}, sum = 0;
  for (int i = 0; i < N; i++) part[i % lanes] += x[i];
  for (int i = 0; i < lanes; i++) sum += part[i];
  return sum;
}

static float dot(const float *x, const float *y, int fused) {
  float sum = 0;
  for (int i = 0; i < N; i++) {
    volatile float product = x[i] * y[i]; /* volatile: rounded here, whatever the compiler likes */
    sum = fused ? fmaf(x[i], y[i], sum) : sum + product;
  }
  return sum;
}

/* e^x as a program may do it: 2^n times a polynomial of the rest. Right to 7 digits. */
static float our_exp(float x) {
  float n = rintf(x * 1.44269504f), r = x - n * 0.693147180f, p = 1.0f / 5040;
  static const float factor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1};
  for (int i = 0; i < 7; i++) p = p * r + factor[i];
  return ldexpf(p, (int)n);
}

static void ordinary(void) {
  float x[N], y[N], a = 1e8f, b = -1e8f, c = 1;
  int other = 0;
  syn_random r = {11};
  for (int i = 0; i < N; i++) x[i] = syn_random_normal(&r), y[i] = syn_random_normal(&r);
  printf("(1e8 - 1e8) + 1 = %g, 1e8 + (-1e8 + 1) = %g\n", (double)(a + b + c),
         (double)(a + (b + c)));
  for (int lanes = 1; lanes <= 16; lanes *= 4)
    printf("sum of %d numbers, %2d lanes   %.9g\n", N, lanes, (double)sum_in(x, lanes));
  printf("product and sum               %.9g\n", (double)dot(x, y, 0));
  printf("fused multiply-add            %.9g\n", (double)dot(x, y, 1));
  for (int i = 0; i < N; i++) other += our_exp(x[i]) != expf(x[i]);
  printf("# of %d values of e^x, %d have other bits than those of this libm\n", N, other);
}

/* The tasks of the threads, one after the other, the last one first. */
static void backwards(void *user, void (*task)(void *arg, int i), void *arg, int n) {
  (void)user;
  while (n-- > 0) task(arg, n);
}

/* Trains on sentences that are to be reversed; losses [steps]. flip: 1 changes the last bit of one
   weight first. Returns a hash of the bits of all losses and weights; 0: failed. */
static uint64_t train(const char *isa, int threads, int steps, int flip,
                      float *losses) {
  syn_options options = {.isa = isa, .threads = threads, .parallel = backwards};
  syn_config k = {.encoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl) -> norm",
    .decoder = "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm",
    .d_model = 32, .heads = 2, .max_len = LENGTH + 1, .src_vocab = 24, .tgt_vocab = 24,
    .dropout = 0.1f};
  int src[SENTENCES][LENGTH + 1], tgt[SENTENCES][LENGTH + 1], labels[SENTENCES][LENGTH + 1];
  syn_batch b = {.count = SENTENCES, .src = src[0], .tgt = tgt[0], .labels = labels[0],
                 .src_width = LENGTH + 1, .tgt_width = LENGTH + 1};
  syn_random r = {5};
  syn_context c;
  if (syn_context_init(&c, &options)) return puts(c.message), 0;
  syn_model *m = syn_model_new(&c, &k);
  syn_trainer *t = syn_trainer_new(&c, m, &(syn_train_config){.lr = 0.01f});
  uint64_t hash = SYN_HASH_START;
  float *w = m ? syn_model_find(m, "encoder.3.g")->x : NULL; /* 1.0 */
  if (w && flip) *w = nextafterf(*w, 2);
  for (int step = 0; step < steps && !c.status; step++) {
    for (int i = 0; i < SENTENCES * LENGTH; i++) {
      int at = i % LENGTH, token = SYN_FIRST_TOKEN + syn_random_below(&r, 20);
      src[i / LENGTH][at] = labels[i / LENGTH][LENGTH - 1 - at] = token;
      tgt[i / LENGTH][LENGTH - at] = token;
    }
    for (int i = 0; i < SENTENCES; i++) {
      src[i][LENGTH] = labels[i][LENGTH] = SYN_END;
      tgt[i][0] = SYN_BEGIN;
    }
    syn_trainer_step(t, &b, 1, &losses[step]);
  }
  hash = syn_hash(hash, losses, (size_t)steps * sizeof *losses);
  for (size_t i = 0; i < syn_model_param_count(m); i++)
    hash = syn_hash(hash, syn_model_param(m, i)->x, syn_model_param(m, i)->size * sizeof(float));
  if (c.status) puts(c.message);
  syn_trainer_free(t);
  syn_model_free(m);
  return hash;
}

int main(void) {
  static float losses[LONG], other[LONG];
  ordinary();
  uint64_t first = train("scalar", 1, STEPS, 0, losses);
  int same = 1;
  printf("\nloss %.6f, then %.6f; hash %016llx\n", (double)losses[0], (double)losses[STEPS - 1],
         (unsigned long long)first);
  for (int i = 0; i < syn_isa_count(); i++)
    for (int threads = 1; threads <= 2; threads++) {
      if (!syn_isa_usable(i)) continue;
      uint64_t hash = train(syn_isa_name(i), threads, STEPS, 0, other);
      printf("# %-7s %d threads %016llx\n", syn_isa_name(i), threads, (unsigned long long)hash);
      same &= hash == first;
    }
  printf("every instruction set and number of threads: %s\n", same ? "the same hash" : "different");
  train(NULL, 1, LONG, 0, losses);
  train(NULL, 1, LONG, 1, other);
  for (int step = 0; step < LONG; step += 100)
    printf("one bit changed: the loss of step %3d is %.7f instead of %.7f\n", step,
           (double)other[step], (double)losses[step]);
  return same && first ? 0 : 1;
}

/* To try, with CFLAGS="..." behind `make lesson N=15`: -O3 -march=native; -ffast-math (the header
   refuses it: why?); -O2 -fopenmp without `.parallel = backwards`: then two threads run at the same
   time. */
