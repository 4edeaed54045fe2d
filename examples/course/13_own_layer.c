/* 13   A layer of one's own, and a proof that it is right

   You will be able to add a layer with forward, backward and step, and to check it.

   Idea: a layer is a few functions: how large, forward, backward, and one step of decoding. The
   layer below replaces attention by a moving average with a learned share a of the past for each
   feature (sigma is the sigmoid; m of the row before the first is 0):

     a = sigma(w)     m_t = a m_{t-1} + (1 - a) x_t     y_t = m_t        x, m, y [T,d]; w, a [d]

   So x_i counts (1 - a) a^(t-i) in row t: weights that fade with the distance. Those of attention
   sum to 1, these to 1 - a^(t+1), because m begins at 0: the first rows are too small.
   The chain rule, from the last row to the first:

     dm_t = dy_t + a dm_{t+1}     dx_t += (1 - a) dm_t
     da += dm_t (m_{t-1} - x_t)   dw += da a (1 - a)

   A wrong gradient often still learns, only worse, so looking at the loss proves nothing.
   syn_kind_check compares gradients with finite differences, decoding with the forward pass, and
   more. The five mistakes below show what it says. (More in ../03_own_layer.c: threads, matrices.)

   Compile, run:  make -C examples/course lesson N=13   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/13_own_layer.c -o own_layer -lm && ./own_layer
   Expected:      examples/course/expected/13.txt; lines with # may differ and are not compared */
#include "course.h"

static enum { NONE, FACTOR, WRITES_DX, FUTURE, NEIGHBOUR, CACHE, MISTAKES } mistake;

/* Called once, while a network is built: how wide, which parameters, which memory. */
static syn_status average_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  n->cache = d;                 /* of each token while decoding: m_t */
  n->scratch.fixed = (size_t)d; /* while backward runs: dm_t */
  if (syn_build_param(b, n, "w", syn_initial_of(SYN_INIT_NORMAL, 1), 1, &d) ||
      syn_build_save_rows(b, n, SYN_BOTH, (size_t)d)) /* from forward to backward: m of each row */
    return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}

static float share(float w) { return 1 / (1 + expf(-w)); }

/* One row: m [d] from x [d] and the m of the row before (null: there is none). forward and step
   call the same function, so they compute the same bits. */
static void average_row(const float *w, const float *x, const float *before, int d, float *m) {
  for (int j = 0; j < d; j++) {
    float a = share(w[j]);
    m[j] = a * (before ? before[j] : 0) + (1 - a) * x[j];
  }
}

/* The sentences of a batch lie one behind the other: i has the rows off[i] .. off[i+1]-1. */
static void average_forward(syn_tape *t, const syn_node *n) {
  const syn_stream *sentences = syn_out_stream(t, n);
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  float *m = syn_saved(t, n, 0);
  int d = syn_width(x);
  for (int i = 0; i < sentences->count; i++)
    for (int r = sentences->off[i]; r < sentences->off[i + 1]; r++) {
      int read = mistake == FUTURE && r + 1 < sentences->off[i + 1] ? r + 1 : r;
      int first = r == (mistake == NEIGHBOUR ? 0 : sentences->off[i]);
      const float *before = first ? NULL : m + (r - 1) * d;
      average_row(syn_weight(t, n, 0), x->x + read * d, before, d, m + r * d);
    }
  memcpy(y->x, m, syn_count(y) * sizeof *m);
}

/* Decoding: row r is the newest token of a hypothesis; earlier tokens left their m in its cache. */
static void average_step(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const int *place = syn_places(t, n), d = syn_width(x);
  for (int r = 0; r < (int)syn_rows(x); r++) {
    int none = place[r] == 0 || mistake == CACHE;
    const float *before = none ? NULL : syn_cache_row(t, n, r, place[r] - 1);
    float *m = syn_cache_new(t, n, r);
    average_row(syn_weight(t, n, 0), x->x + r * d, before, d, m);
    memcpy(y->x + r * d, m, (size_t)d * sizeof *m);
  }
}

static void average_backward(syn_tape *t, const syn_node *n) {
  const syn_stream *sentences = syn_out_stream(t, n);
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *w = syn_weight(t, n, 0), *m = syn_saved(t, n, 0);
  float *dw = syn_dweight(t, n, 0), *dm = syn_scratch(t, 0);
  int d = syn_width(x);
  for (int i = 0; i < sentences->count; i++) {
    memset(dm, 0, (size_t)d * sizeof *dm);
    for (int r = sentences->off[i + 1] - 1; r >= sentences->off[i]; r--)
      for (int j = 0; j < d; j++) {
        float a = share(w[j]), before = r > sentences->off[i] ? m[(r - 1) * d + j] : 0;
        dm[j] = y->dx[r * d + j] + a * dm[j];
        x->dx[r * d + j] = (mistake == WRITES_DX ? 0 : x->dx[r * d + j]) + (1 - a) * dm[j];
        dw[j] += dm[j] * (before - x->x[r * d + j]) * (mistake == FACTOR ? 1 : a * (1 - a));
      }
  }
}

static const syn_kind average = {.name = "average", .args = "", .shape = average_shape,
  .forward = average_forward, .backward = average_backward, .step = average_step};

enum { COUNT = 16, LENGTH = 12, STEPS = 200 };

/* Trains a tagger: is a token one of the more frequent of two letters so far? Returns the loss. */
static float learn(syn_context *c, const char *encoder) {
  int letters[COUNT * LENGTH], tags[COUNT * LENGTH];
  syn_batch b = {.count = COUNT, .src = letters, .labels = tags, .src_width = LENGTH};
  syn_config k = {.task = "tag", .encoder = encoder, .d_model = 16, .max_len = LENGTH,
                  .src_vocab = SYN_FIRST_TOKEN + 2, .classes = 3};
  syn_train_config how = {.schedule = "constant", .lr = 0.01f};
  syn_model *m = syn_model_new(c, &k);
  syn_trainer *t = syn_trainer_new(c, m, &how);
  syn_random r = {9};
  float loss = 0;
  for (int step = 0; step < STEPS && c->status == SYN_OK; step++) {
    for (int i = 0, more = 0; i < COUNT * LENGTH; i++) {
      int letter = syn_random_below(&r, 2);
      more = (i % LENGTH ? more : 0) + (letter ? 1 : -1);
      letters[i] = SYN_FIRST_TOKEN + letter;
      tags[i] = more > 0 ? 1 : 2;
    }
    syn_trainer_step(t, &b, 1, &loss);
  }
  syn_trainer_free(t);
  syn_model_free(m);
  return loss;
}

int main(void) {
  static const char *const names[] = {"as above", "dw without a (1 - a)", "dx = instead of dx +=",
    "forward reads x_{t+1}", "a sentence begins with the m of its neighbour", "step without cache"};
  const syn_kind *const kinds[] = {&average};
  syn_options options = {.kinds = kinds, .n_kinds = 1};
  syn_context c;
  syn_context_init(&c, &options);
  for (mistake = NONE; mistake < MISTAKES; mistake++) {
    syn_kind_check(&c, &average, NULL);
    printf("%s: %s\n", names[mistake], c.status ? "refused" : "proven");
    if (c.status) printf("# %s\n", c.message);
    syn_context_clear(&c);
  }
  mistake = NONE;
  float without = learn(&c, "res_nd(ffl) -> norm");
  float with = learn(&c, "res_nd(average) -> res_nd(ffl) -> norm");
  if (c.status) return puts(c.message), 1;
  printf("# last loss without the layer %.3f, with it %.3f\n", (double)without, (double)with);
  printf("the layer helps: %s\n", with < 0.25f * without ? "yes" : "no");
  return 0;
}

/* To try: a mistake of your own; an initial w of 4 (a long memory); one share a for all features.
   */
