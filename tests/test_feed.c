/* Small models whose source comes in row by row: the answers are those of the model within the
   rounding of int8, whatever the work of a step; the memory of recurrent layers and convolutions
   does not grow with the source; what is refused; damaged arrays. */
#include <limits.h>
#include <stdint.h>
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#include "sign.h"
#include "sink.h"

enum { F = 3, CLASSES = 5, MOST = 40, TOKENS = SYN_FIRST_TOKEN + 9 };

static const float units[F] = {0.01f, 0.5f, 0.001f}, mean[F] = {5.0f, -20.0f, 0.1f},
                   scale[F] = {0.1f, 0.002f, 1.0f};

/* Networks; memory: 1: as much for a long source as for a short one. tables: 1: the weights depend
   on max_len. */
static const struct {
  const char *encoder;
  int memory, tables;
} feed_networks[] = {
    {"linear", 1, 0},
    {"linear -> norm -> ff(8, gelu)", 1, 0},
    {"rnn(8)", 1, 0},
    {"rnn(7, gru) -> linear", 1, 0},
    {"cnn(8, 3, relu)", 1, 0},
    {"cnn(6, k=5, dilate=2) -> linear", 1, 0},
    {"cnn(8, 5, glu) -> cnn(8, 3, tanh) -> cnn(8, 1, relu)", 1, 0},
    {"linear -> light_conv(k=3) -> rnn(8)", 1, 0},
    {"linear -> res(cnn(8, 5, tanh)) -> norm", 1, 0},
    {"linear -> repeat(3, res_nd(cnn(8, 3, relu))) -> norm", 1, 0},
    {"concat(id | cnn(5, 3, relu) | cnn(4, 7, tanh)) -> linear -> highway(cnn(8, 3, relu))", 1, 0},
    {"cnn(8, 3, relu) -> rnn(8) -> cnn(8, 3, relu) -> rnn(8, gru)", 1, 0},
    {"linear -> learn_pos -> res(cnn(8, 3, tanh)) -> ff", 1, 1},
    {"birnn(8)", 0, 0},
    {"linear -> res(ssru) -> cnn(8, 3, relu) -> ssru(6)", 1, 0},
    {"linear -> res(cnn(8, 3, tanh)) -> norm -> pool(first)", 0, 0},
    {"linear -> res(lin_att) -> norm", 0, 0},
    {"cnn(8, 3, relu) -> res_nd(lin_att(heads=1, decay=0)) -> cnn(8, 5, tanh)", 0, 0},
    {"cnn(8, 3, relu) -> birnn(8) -> cnn(8, 5, tanh)", 0, 0},
    {"linear -> softcap(0.4)", 1, 0},
    {"linear -> pos -> res_nd(syn_att(V)) -> norm", 0, 1},
    {"linear -> res(syn_att(R))", 0, 1},
    {"linear -> res_nd(syn_att(V+Conv))", 0, 1},
    {"linear -> res(syn_att(CRC, f=5, f2=3) -> norm)", 0, 1},
    {"linear -> res_nd(syn_att(BCRC+D, m=3)) -> cnn(8, 3, relu)", 0, 1},
    {"linear -> res(syn_att(BD+GLU+CRC, m=5, f2=1))", 0, 1},
    {"linear -> res(syn_att(V+D, shared=1)) -> cnn(8, 3, relu) -> syn_att(D, shared=1)", 0, 1},
    {"linear -> res_nd(syn_att(CRC+D+V, shared=1, kv=1)) -> cnn(8, 3, relu)", 0, 1},
    {"cnn(8, 3, tanh) -> res_nd(syn_att(V, heads=70, c=2)) -> norm", 0, 0},
    {"linear -> res(aft) -> norm", 0, 1},
    {"cnn(8, 3, tanh) -> norm -> sgu -> concat(id | sgu) -> cnn(8, 3, relu)", 0, 1},
    {"linear -> res(aop) -> aop(4, 10, c_k=3, c_v=2)", 1, 0},
    {"linear -> res(syn_att(D)) -> res_nd(cnn(8, 3, relu))", 0, 1},
    {"cnn(8, 5, tanh) -> res_nd(syn_att(V)) -> cnn(8, 3, relu)", 0, 0}};

/* Weights of the output as large as those of a model that has learned. */
static syn_model *model_of(syn_context *c, const char *task, const char *encoder, int features,
                           int max_len) {
  syn_config k;
  syn_model *m;
  size_t i, j;
  memset(&k, 0, sizeof k);
  k.task = task, k.encoder = encoder;
  k.src_features = features;
  k.src_vocab = features ? 0 : TOKENS;
  k.d_model = 8, k.heads = 2, k.max_len = max_len, k.classes = k.outputs = CLASSES, k.seed = 3;
  m = syn_model_new(c, &k);
  CHECK(m, "%s %s: %s", task, encoder, c->message);
  if (!m) return NULL;
  for (i = 0; i < syn_model_param_count(m); i++) {
    const syn_param *p = syn_model_param(m, i);
    if (!strncmp(p->name, "out.", 4))
      for (j = 0; j < p->size; j++) p->x[j] *= 3.0f;
    for (j = 0; j < p->size && p->size == (size_t)max_len * (size_t)max_len; j++)
      p->x[j] *= 100.0f; /* places of sgu and aft begin near 0 */
    for (j = 0; j < p->size && strstr(p->name, ".b_s"); j++) p->x[j] = 0.1f * (float)(j % 7);
    if (!strcmp(p->name, "src.mean")) memcpy(p->x, mean, sizeof mean);
    if (!strcmp(p->name, "src.scale")) memcpy(p->x, scale, sizeof scale);
  }
  return m;
}

/* Its answers are numbers. */
static int is_regress(const syn_model *m) { return !strncmp(syn_model_config(m)->task, "regress", 7); }

/* The small model, null: none; and a block of just its RAM. */
typedef struct board {
  int32_t *w;
  size_t size;
  void *block;
  long ram;
  syn_small *s;
} board;
static void board_free(board *b) {
  free(b->block);
  free(b->w);
}
static board board_of(syn_context *c, const syn_model *m, int source_len) {
  syn_small_options o;
  syn_small_config k;
  board b;
  bytes into;
  syn_sink sink = sink_of(&into);
  int error = 0;
  memset(&o, 0, sizeof o);
  memset(&k, 0, sizeof k);
  memset(&b, 0, sizeof b);
  o.units = units;
  k.best = is_regress(m) ? 0 : CLASSES;
  k.source_len = source_len;
  syn_small_write(c, m, &o, &sink);
  b.w = (int32_t *)(void *)into.at;
  b.size = into.size;
  b.ram = b.w ? syn_small_ram(b.w, b.size, &k) : 0;
  b.block = malloc(b.ram > 0 ? (size_t)b.ram : 1);
  b.s = b.ram > 0 ? syn_small_open(b.block, (size_t)b.ram, b.w, b.size, &k, &error) : NULL;
  CHECK(b.s && !error, "RAM %ld, error %d, %s", b.ram, error, c->message);
  return b;
}

/* A source: integers of a sensor, or tokens. */
typedef struct source {
  int16_t rows[MOST * F];
  int tokens[MOST], count;
} source;
static source source_of(uint64_t seed, int count) {
  static const int around[F] = {500, -40, 100}, width[F] = {2000, 2000, 2000};
  syn_random r = {seed};
  source x;
  int i;
  memset(&x, 0, sizeof x);
  x.count = count;
  for (i = 0; i < count; i++) x.tokens[i] = SYN_FIRST_TOKEN + syn_random_below(&r, 9);
  for (i = 0; i < count * F; i++)
    x.rows[i] = (int16_t)(around[i % F] + syn_random_below(&r, width[i % F]) - 1000);
  return x;
}

/* Answers: of each the class, then the probability of each class, of 32767; of regress 0, then the
   numbers times SCALE. */
enum { SCALE = 10000 };
typedef struct answers {
  int count, at[MOST][1 + CLASSES];
} answers;
static void answer_of(answers *a, const syn_small *s, int token) {
  int rank, class_at = 0;
  int32_t y[CLASSES];
  a->at[a->count][0] = token;
  if (syn_small_numbers(s, (float)SCALE, y, CLASSES) == CLASSES)
    for (rank = 0; rank < CLASSES; rank++) a->at[a->count][1 + rank] = (int)y[rank];
  else for (rank = 0; rank < CLASSES; rank++) {
    int p = syn_small_score(s, rank, &class_at);
    a->at[a->count][1 + class_at] = p;
  }
  a->count++;
}
static answers run_board(syn_small *s, const source *x, int features, long work) {
  answers a;
  int fed = 0, token = syn_small_source(s, features ? NULL : x->tokens, features ? 0 : x->count);
  memset(&a, 0, sizeof a);
  CHECK(token == 0, "source: %d", token);
  while (token != SYN_SMALL_END) {
    token = syn_small_step(s, work);
    if (token >= 0 && a.count < MOST) answer_of(&a, s, token);
    if (token == SYN_SMALL_ROW) {
      token = syn_small_feed(s, fed < x->count ? x->rows + fed * F : NULL);
      CHECK(token == 0, "row %d: %d", fed, token);
      fed++;
    }
    if (token <= SYN_SMALL_E_MODEL) break;
  }
  CHECK(token == SYN_SMALL_END && (!features || fed == x->count + 1), "%d, %d rows", token, fed);
  return a;
}

/* The same by the model with floats. */
static answers run_host(syn_context *c, syn_run *r, const source *x, int features, int numbers) {
  answers a;
  syn_batch b;
  float rows[MOST * F];
  const float *z;
  int i, k;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.lengths = &x->count;
  for (i = 0; i < x->count * F; i++) rows[i] = (float)x->rows[i] * units[i % F];
  if (features) b.features = rows;
  else b.src = x->tokens, b.src_width = x->count;
  CHECK(syn_run_forward(r, &b) == SYN_OK, "%s", c->message);
  z = syn_run_logits(r, 0, &a.count);
  for (i = 0; i < a.count && z; i++, z += CLASSES) {
    double sum = 0.0;
    for (k = 0; k < CLASSES && numbers; k++) a.at[i][1 + k] = (int)floor((double)z[k] * (double)SCALE + 0.5);
    for (k = 0; k < CLASSES && !numbers; k++) {
      sum += exp((double)z[k]);
      if (z[k] > z[a.at[i][0]]) a.at[i][0] = k;
    }
    for (k = 0; k < CLASSES && !numbers; k++)
      a.at[i][1 + k] = (int)(exp((double)z[k]) / sum * 32767.0 + 0.5);
  }
  return a;
}

/* The largest difference of two probabilities or numbers. */
static int difference_of(const answers *a, const answers *b) {
  int i, k, most = a->count == b->count ? 0 : INT_MAX;
  for (i = 0; i < a->count && i < b->count; i++)
    for (k = 1; k <= CLASSES; k++) most = syn__max(most, abs(a->at[i][k] - b->at[i][k]));
  return most;
}

/* -- rows fed one at a time are the whole source, of any length -- */

static void check_network(const char *task, int network, int features) {
  static const int lengths[] = {1, 2, 3, 5, 9, 17, MOST};
  const char *encoder = feed_networks[network].encoder;
  syn_context c;
  syn_model *m;
  syn_run *run;
  board b;
  size_t i;
  syn_context_init(&c, NULL);
  m = model_of(&c, task, encoder, features, MOST);
  run = syn_run_new(&c, m, NULL);
  b = board_of(&c, m, 0);
  for (i = 0; i < SYN__COUNT(lengths) && b.s; i++) {
    const source x = source_of(7 + i, lengths[i]);
    const answers got = run_board(b.s, &x, features, LONG_MAX);
    const answers want = run_host(&c, run, &x, features, is_regress(m)), small = run_board(b.s, &x, features, 1);
    const answers other = run_board(b.s, &x, features, 100 + 37 * (long)i);
    CHECK(difference_of(&got, &want) <= 2000, "%s %s, %d rows: probabilities differ by %d of 32767",
          task, encoder, x.count, difference_of(&got, &want));
    CHECK(!memcmp(&got, &small, sizeof got), "%s %s, %d rows: other answers in small steps", task,
          encoder, x.count);
    CHECK(!memcmp(&got, &other, sizeof got), "%s %s, %d rows: other answers", task, encoder, x.count);
  }
  board_free(&b);
  syn_run_free(run);
  syn_model_free(m);
}

/* A model of short sources keeps all rows where others keep the newest: the bits are the same. */
static void check_lengths(const char *task, int network, int features) {
  static const int most[] = {2, 3, 6, 11};
  syn_context c;
  syn_model *m;
  board b[2];
  size_t i;
  syn_context_init(&c, NULL);
  m = model_of(&c, task, feed_networks[network].encoder, features, MOST);
  b[0] = board_of(&c, m, 0);
  syn_model_free(m);
  for (i = 0; i < SYN__COUNT(most) && !feed_networks[network].tables; i++) {
    const source x = source_of(70 + i, most[i]);
    m = model_of(&c, task, feed_networks[network].encoder, features, most[i]);
    b[1] = board_of(&c, m, 0);
    syn_model_free(m);
    if (b[0].s && b[1].s) {
      const answers want = run_board(b[0].s, &x, features, 900);
      const answers got = run_board(b[1].s, &x, features, 900);
      CHECK(!memcmp(&got, &want, sizeof got), "%s %s: other answers where max_len is %d", task,
            feed_networks[network].encoder, most[i]);
    }
    board_free(&b[1]);
  }
  board_free(&b[0]);
}

/* seq2seq: the first token of the output has the probabilities of the model, with an encoder whose
   rows are kept for the attention of the decoder. */
static void check_text(const char *decoder) {
  syn_context c;
  syn_config k;
  syn_model *m;
  syn_run *run;
  board b;
  int i;
  syn_context_init(&c, NULL);
  memset(&k, 0, sizeof k);
  k.encoder = "linear -> res(cnn(8, 5, tanh)) -> rnn(8) -> res(cnn(8, 3, relu))";
  k.decoder = decoder;
  k.src_features = F, k.tgt_vocab = CLASSES, k.max_len = MOST, k.d_model = 8, k.heads = 2, k.seed = 5;
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  if (!m) return;
  memcpy(syn_model_find(m, "src.mean")->x, mean, sizeof mean);
  memcpy(syn_model_find(m, "src.scale")->x, scale, sizeof scale);
  for (i = 0; i < CLASSES * 8; i++) syn_model_find(m, "tgt.embed")->x[i] *= 4.0f;
  syn_model_find(m, "out.b")->x[SYN_END] = -30.0f;
  run = syn_run_new(&c, m, NULL);
  b = board_of(&c, m, 0);
  for (i = 1; i < MOST && b.s; i += 4) {
    const int target[1] = {SYN_BEGIN};
    const source x = source_of(90 + (uint64_t)i, i);
    const answers got = run_board(b.s, &x, F, 700), other = run_board(b.s, &x, F, 1);
    float rows[MOST * F], sum = 0.0f;
    const float *z;
    syn_batch batch;
    int count = 0, p;
    memset(&batch, 0, sizeof batch);
    for (p = 0; p < i * F; p++) rows[p] = (float)x.rows[p] * units[p % F];
    batch.count = 1, batch.features = rows, batch.lengths = &x.count;
    batch.tgt = target, batch.tgt_width = 1;
    CHECK(syn_run_forward(run, &batch) == SYN_OK, "%s", c.message);
    z = syn_run_logits(run, 0, &count);
    for (p = 0; p < CLASSES && z; p++) sum += expf(z[p]);
    p = SYN_FIRST_TOKEN;
    CHECK(z && got.count && abs(got.at[0][1 + p] - (int)(expf(z[p]) / sum * 32767.0f)) < 500,
          "%d rows: probability %d, wanted %g", i, got.at[0][1 + p],
          z ? (double)(expf(z[p]) / sum * 32767.0f) : -1.0);
    CHECK(!memcmp(&got, &other, sizeof got), "%d rows: other outputs in small steps", i);
  }
  board_free(&b);
  syn_run_free(run);
  syn_model_free(m);
}

/* -- memory -- */

static void check_memory(const char *task, int network) {
  syn_context c;
  syn_model *m;
  board few, many;
  syn_context_init(&c, NULL);
  m = model_of(&c, task, feed_networks[network].encoder, F, 1000);
  few = board_of(&c, m, 64);
  many = board_of(&c, m, 1000);
  CHECK((few.ram == many.ram) == feed_networks[network].memory, "%s: %ld bytes for 64 rows, %ld for 1000",
        feed_networks[network].encoder, few.ram, many.ram);
  board_free(&few);
  board_free(&many);
  syn_model_free(m);
}

/* -- what is refused -- */

static void check_refused(void) {
  static const int16_t row[F] = {500, -40, 100};
  static const int token[1] = {SYN_FIRST_TOKEN};
  syn_context c;
  syn_model *m;
  board b;
  int i;
  syn_context_init(&c, NULL);
  m = model_of(&c, "classify", "cnn(8, 3, relu)", F, MOST);
  b = board_of(&c, m, 3);
  CHECK(syn_small_feed(NULL, row) == SYN_SMALL_E_VALUE, "no model");
  CHECK(syn_small_feed(b.s, row) == SYN_SMALL_E_VALUE, "no source is begun");
  CHECK(syn_small_source(b.s, token, 1) == SYN_SMALL_E_VALUE, "tokens");
  CHECK(syn_small_step(b.s, 1) == SYN_SMALL_END, "none is begun");
  CHECK(!syn_small_source(b.s, NULL, 0) && syn_small_step(b.s, 1) == SYN_SMALL_ROW, "begun");
  CHECK(syn_small_feed(b.s, NULL) == SYN_SMALL_E_VALUE, "an end without rows");
  for (i = 0; i < 3; i++) {
    CHECK(!syn_small_feed(b.s, row), "row %d", i);
    CHECK(syn_small_feed(b.s, row) == SYN_SMALL_MORE, "the row before is not done");
    CHECK(syn_small_feed(b.s, NULL) == SYN_SMALL_MORE, "the row before is not done");
    CHECK(syn_small_step(b.s, 1000000) == SYN_SMALL_ROW && syn_small_step(b.s, 1) == SYN_SMALL_ROW,
          "row %d is done", i);
  }
  CHECK(syn_small_feed(b.s, row) == SYN_SMALL_E_VALUE, "four rows of three");
  CHECK(!syn_small_feed(b.s, NULL) && syn_small_feed(b.s, NULL) == SYN_SMALL_E_VALUE, "two ends");
  CHECK(syn_small_feed(b.s, row) == SYN_SMALL_E_VALUE, "a row behind the end");
  CHECK(syn_small_step(b.s, 1000000) >= 0 && syn_small_feed(b.s, row) == SYN_SMALL_E_VALUE, "done");
  CHECK(syn_small_step(b.s, 1) == SYN_SMALL_END, "the class was all");
  CHECK(!syn_small_source(b.s, NULL, 0) && !syn_small_feed(b.s, row), "another source");
  CHECK(!syn_small_source(b.s, NULL, 0) && syn_small_feed(b.s, NULL) == SYN_SMALL_E_VALUE,
        "begun again: no rows");
  board_free(&b);
  syn_model_free(m);
  m = model_of(&c, "classify", "cnn(8, 3, relu)", 0, MOST);
  b = board_of(&c, m, 3);
  CHECK(!syn_small_source(b.s, token, 1) && syn_small_feed(b.s, row) == SYN_SMALL_E_MODEL, "tokens");
  CHECK(syn_small_source(b.s, NULL, 0) == SYN_SMALL_E_VALUE, "no tokens");
  board_free(&b);
  syn_model_free(m);
}

/* regress: numbers are there behind each 0 of syn_small_step, and nothing but numbers. */
static void check_numbers(void) {
  static const int16_t row[F] = {500, -40, 100};
  syn_context c;
  syn_model *m;
  syn_small_config k;
  board b;
  int32_t y[CLASSES], first[CLASSES];
  int i;
  syn_context_init(&c, NULL);
  memset(&k, 0, sizeof k);
  m = model_of(&c, "regress_rows", "linear", F, MOST);
  syn_model_find(m, "out.b")->x[0] = 1e20f, syn_model_find(m, "out.b")->x[1] = -1e20f;
  b = board_of(&c, m, 3);
  k.best = 1;
  CHECK(syn_small_ram(b.w, b.size, &k) == SYN_SMALL_E_VALUE, "candidates of numbers");
  CHECK(syn_small_learn(b.s, NULL, 0) == SYN_SMALL_E_MODEL, "learning of numbers");
  CHECK(syn_small_numbers(b.s, 1.0f, y, CLASSES) == SYN_SMALL_E_VALUE, "no source");
  CHECK(!syn_small_source(b.s, NULL, 0) && !syn_small_feed(b.s, row), "a row");
  CHECK(syn_small_step(b.s, 1) == SYN_SMALL_MORE && syn_small_numbers(b.s, 1.0f, y, CLASSES) < 0, "in between");
  for (i = 0; i < 2; i++) {
    CHECK(syn_small_step(b.s, 10000) == 0 && syn_small_numbers(b.s, 100.0f, y, CLASSES) == CLASSES, "row %d", i);
    CHECK(y[0] == 1 << 30 && y[1] == -(1 << 30), "limits %ld, %ld", (long)y[0], (long)y[1]);
    if (i == 0) memcpy(first, y, sizeof first);
    CHECK(!memcmp(first, y, sizeof first), "the same row again");
    CHECK(syn_small_numbers(NULL, 1.0f, y, CLASSES) < 0 && syn_small_numbers(b.s, 0.0f, y, CLASSES) < 0 &&
              syn_small_numbers(b.s, (float)NAN, y, CLASSES) < 0 && syn_small_numbers(b.s, 1e31f, y, CLASSES) < 0 &&
              syn_small_numbers(b.s, 1.0f, NULL, CLASSES) == SYN_SMALL_E_VALUE &&
              syn_small_numbers(b.s, 1.0f, y, CLASSES - 1) == SYN_SMALL_E_VALUE, "no numbers, no room");
    CHECK(syn_small_score(b.s, 0, NULL) == SYN_SMALL_E_VALUE &&
              syn_small_reject(b.s, 1) == SYN_SMALL_E_VALUE, "no scores");
    CHECK(syn_small_step(b.s, 1) == SYN_SMALL_ROW && syn_small_numbers(b.s, 1.0f, y, CLASSES) < 0, "behind it");
    CHECK(!syn_small_feed(b.s, row), "another row");
  }
  board_free(&b);
  syn_model_free(m);
  m = model_of(&c, "classify", "linear", F, MOST);
  b = board_of(&c, m, 3);
  CHECK(!syn_small_source(b.s, NULL, 0) && !syn_small_feed(b.s, row) &&
            syn_small_step(b.s, 10000) == SYN_SMALL_ROW && !syn_small_feed(b.s, NULL), "a row");
  CHECK(syn_small_step(b.s, 10000) >= 0 && syn_small_numbers(b.s, 1.0f, y, CLASSES) == SYN_SMALL_E_MODEL,
        "numbers of a class");
  board_free(&b);
  syn_model_free(m);
}

/* Learning behind softcap: the gradient of the capped logits, which the memory holds. */
static void check_softcap(void) {
  static const int16_t row[F] = {500, -40, 100};
  static const float cap = 0.5f, rate = 0.25f;
  float memory[CLASSES * (8 + 2)], *z = memory + CLASSES * 9, sum = 0.0f;
  syn_context c;
  syn_model *m;
  board b;
  int i;
  syn_context_init(&c, NULL);
  memset(memory, 0, sizeof memory);
  m = model_of(&c, "classify", "linear -> softcap(0.5)", F, MOST);
  b = board_of(&c, m, 3);
  CHECK(syn_small_learn(b.s, memory, (long)SYN__COUNT(memory)) == (long)SYN__COUNT(memory), "memory");
  CHECK(!syn_small_source(b.s, NULL, 0) && !syn_small_feed(b.s, row), "a row");
  CHECK(syn_small_step(b.s, 10000) == SYN_SMALL_ROW && !syn_small_feed(b.s, NULL), "its end");
  CHECK(syn_small_step(b.s, 10000) >= 0 && !syn_small_correct(b.s, 2, rate), "a class");
  for (i = 0; i < CLASSES; i++) sum += expf(z[i]);
  for (i = 0; i < CLASSES; i++) {
    const float want = rate * ((float)(i == 2) - expf(z[i]) / sum) * (1.0f - z[i] * z[i] / (cap * cap));
    CHECK(fabsf(z[i]) < cap && fabsf(memory[CLASSES * 8 + i] - want) < 1e-5f, "class %d: %g, wanted %g", i,
          (double)memory[CLASSES * 8 + i], (double)want);
  }
  board_free(&b);
  syn_model_free(m);
}

/* Units, and what the network makes of them, that are no numbers to multiply with. */
static void check_units(void) {
  static const float bad[] = {0.0f, -1.0f, 1e30f, NAN, INFINITY};
  float unit[F] = {1.0f, 1.0f, 1.0f};
  syn_small_options o;
  syn_context c;
  syn_model *m;
  bytes into;
  syn_sink sink = sink_of(&into);
  size_t i;
  memset(&o, 0, sizeof o);
  o.units = unit;
  syn_context_init(&c, NULL);
  m = model_of(&c, "classify", "linear", F, MOST);
  CHECK(!syn_small_write(&c, m, &o, &sink) && into.size, "%s", c.message);
  into.size = 0;
  for (i = 0; i < SYN__COUNT(bad); i++) {
    unit[2] = bad[i];
    CHECK(syn_small_write(&c, m, &o, &sink) == SYN_E_VALUE && !into.size &&
              strstr(c.message, "feature 2 has unit"), "unit %g: %s", (double)bad[i], c.message);
    syn_context_clear(&c);
  }
  unit[2] = 1.0f;
  syn_model_find(m, "src.mean")->x[1] = 1e20f, syn_model_find(m, "src.scale")->x[1] = 1e20f;
  CHECK(syn_small_write(&c, m, &o, &sink) == SYN_E_VALUE &&
            strstr(c.message, "feature 1 has unit 1, mean 1e+20, scale 1e+20"), "%s", c.message);
  free(into.at);
  syn_model_free(m);
}

/* Memory that ends at any place. */
static void check_heap(void) {
  syn_context c;
  heap h;
  syn_model *m;
  long i, status = 1;
  context_on(&c, &h, 0);
  m = model_of(&c, "tag", "cnn(8, 3, relu) -> res(cnn(8, 3, tanh)) -> birnn(8)", F, MOST);
  for (i = 1; status && i < 200; i++) {
    bytes into;
    syn_sink sink = sink_of(&into);
    const long blocks = h.blocks;
    h.calls = 0, h.fail_at = i;
    status = syn_small_write(&c, m, NULL, &sink);
    CHECK(h.blocks == blocks && !into.size == !!status, "block %ld: %ld blocks more", i,
          h.blocks - blocks);
    free(into.at);
    syn_context_clear(&c);
  }
  CHECK(i > 10 && i < 200, "%ld blocks", i);
  h.fail_at = 0;
  syn_model_free(m);
}

/* -- damaged arrays with a right checksum -- */

/* Words that are refused: place, number. */
static void check_word(board *b, int32_t at, int32_t word, const char *what) {
  const int32_t kept = b->w[at];
  long ram;
  b->w[at] = word;
  sign(b->w, b->size);
  ram = syn_small_ram(b->w, b->size, NULL);
  CHECK(ram == SYN_SMALL_E_DAMAGED, "%s: word %d as %d: %ld", what, (int)at, (int)word, ram);
  b->w[at] = kept;
  sign(b->w, b->size);
}
/* Segments, rings and features with other operands. */
static void check_operands(void) {
  syn_context c;
  syn_model *m;
  board b;
  int32_t at, ring, rings = 0, segments = 0;
  syn_context_init(&c, NULL);
  m = model_of(&c, "classify", "cnn(8, 3, relu)", F, MOST);
  b = board_of(&c, m, 0);
  at = b.w[SYN__SMALL_PROGRAMS];
  CHECK((b.w[at] & 255) == SYN__SMALL_OP_features && b.w[at + 2] == F, "the first instruction");
  check_word(&b, at + 2, 0, "no features");
  check_word(&b, SYN__SMALL_PROGRAMS + SYN__SMALL_CACHE, at, "features of the caches");
  check_word(&b, SYN__SMALL_PROGRAMS + SYN__SMALL_DECODE, at, "features of a decoder");
  check_word(&b, SYN__SMALL_TASK, SYN__TASK_LM, "features of an lm");
  for (; (b.w[at] & 255) != SYN__SMALL_OP_end; at += b.w[at] >> 8) {
    if ((b.w[at] & 255) == SYN__SMALL_OP_segment) {
      segments++;
      check_word(&b, at + 1, -1, "a segment of an earlier row");
      check_word(&b, at + 1, MOST + 2, "a delay of all rows");
      check_word(&b, at, (b.w[at] & ~255) + SYN__SMALL_OP_features, "features, later");
    }
    if ((b.w[at] & 255) != SYN__SMALL_OP_window) continue;
    ring = b.w[at + 2] >> 3;
    rings++;
    CHECK((b.w[at + 2] & 7) == SYN__SMALL_RING && b.w[ring + 1] == 3, "a ring of 3 rows");
    check_word(&b, ring, -4, "a ring before the rows");
    check_word(&b, ring, b.w[ring] + 2, "a ring of no whole words");
    check_word(&b, ring, b.w[SYN__SMALL_ROW_BYTES], "a ring behind the rows");
    check_word(&b, ring + 1, 0, "a ring without rows");
    check_word(&b, ring + 1, 65536, "a ring of too many rows");
    check_word(&b, ring + 1, 1000, "a ring that is too long");
    check_word(&b, at + 2, 8 * (int32_t)(b.size / 4 - 1) + SYN__SMALL_RING, "a ring at the end");
    check_word(&b, at + 2, SYN__SMALL_RING, "a ring in the header");
    check_word(&b, at + 2, SYN__SMALL_RING + 1, "a region that is none");
    check_word(&b, at + 2, SYN__SMALL_STATE, "a row that has no other rows");
  }
  CHECK(segments == 1 && rings == 1, "%d segments, %d rings", (int)segments, (int)rings);
  board_free(&b);
  syn_model_free(m);
}
/* Any other word: an error, or some answers; no access outside of the array and its RAM. */
static void check_damage(const char *task, const char *encoder) {
  const source x = source_of(5, 6);
  syn_context c;
  syn_model *m;
  board b;
  syn_random r = {1};
  int i, k, opened = 0;
  syn_context_init(&c, NULL);
  m = model_of(&c, task, encoder, F, 9);
  b = board_of(&c, m, 0);
  for (i = 0; i < (CHECK_QUICK ? 500 : 4000) && b.s; i++) {
    const int programs = b.w[SYN__SMALL_PROGRAMS + SYN__SMALL_DECODE] + 10;
    const int at = syn_random_below(&r, i % 4 ? programs : (int)b.size / 4);
    const int32_t kept = b.w[at], other = b.w[syn_random_below(&r, programs)];
    int token = 0, fed = 0;
    void *block;
    long ram;
    syn_small *s;
    b.w[at] = i % 3 == 0   ? other
              : i % 3 == 1 ? kept ^ (int32_t)(UINT32_C(1) << syn_random_below(&r, 16))
                           : kept + 8 * (syn_random_below(&r, 9) - 4);
    sign(b.w, b.size);
    ram = syn_small_ram(b.w, b.size, NULL);
    block = malloc(ram > 0 && ram < 1000000 ? (size_t)ram : 1);
    s = ram > 0 && ram < 1000000 ? syn_small_open(block, (size_t)ram, b.w, b.size, NULL, NULL) : NULL;
    opened += s != NULL;
    if (s && syn_small_source(s, NULL, 0)) s = NULL;
    for (k = 0; s && k < 300 && (token >= SYN_SMALL_MORE || token == SYN_SMALL_ROW); k++) {
      token = syn_small_step(s, 500);
      if (token == SYN_SMALL_ROW) token = syn_small_feed(s, fed < x.count ? x.rows : NULL), fed++;
    }
    free(block);
    b.w[at] = kept;
  }
  CHECK(opened > 10, "%d arrays opened", opened);
  board_free(&b);
  syn_model_free(m);
}

int main(void) {
  int i, k;
  for (i = 0; i < (int)SYN__COUNT(feed_networks); i++)
    for (k = 0; k < 2; k++) {
      const char *task = k ? "tag" : "classify";
      if (k && strstr(feed_networks[i].encoder, "pool")) continue;
      if (!strstr(feed_networks[i].encoder, "softcap"))
        check_network(k ? "regress_rows" : "regress", i, F);
      check_network(task, i, F);
      check_network(task, i, 0);
      check_lengths(task, i, F);
      check_lengths(task, i, 0);
      check_memory(task, i);
    }
  check_text("res(mh_dot_att) -> res_nd(ff)");
  check_text("rnn(8, state=source) -> rnn(8, gru, state=source) -> ff");
  check_refused();
  check_numbers();
  check_softcap();
  check_units();
  check_heap();
  check_operands();
  check_damage("classify", "cnn(8, 5, glu) -> res(cnn(8, 3, tanh)) -> birnn(8)");
  check_damage("regress", "linear -> res(syn_att(V+CRC)) -> aop(2, 5)");
  check_damage("classify", "linear -> res(lin_att) -> pool(first) -> softcap(2)");
  check_damage("regress_rows", "linear -> res(aft) -> sgu -> ssru");
  check_damage("tag", "linear -> res(syn_att(D)) -> cnn(8, 3, relu) -> rnn(8)");
  return CHECK_END("test_feed");
}
