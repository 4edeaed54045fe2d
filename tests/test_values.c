/* test_values   what a host program reads: values, gradients, vectors, classes by name; rows as
   texts; a training that is cancelled. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"
#include "heap.h"
#include "two.h"

/* For `task`, of width 8. */
static syn_config config_of(const char *task) {
  syn_config k = two_config(task);
  if (k.encoder) k.encoder = "pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(ffl(n=12))) -> norm";
  if (k.decoder) k.decoder = "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl(n=12)) -> norm";
  if (!k.encoder) k.decoder = "learn_pos -> res_nd(syn_att(V+D)) -> linear";
  k.tie = "none";
  k.label_smoothing = 0.1f;
  k.seed = 3;
  return k;
}

static syn_limits small(int keep) {
  syn_limits l;
  memset(&l, 0, sizeof l);
  l.sentences = 2;
  l.src_rows = 20;
  l.keep = keep;
  return l;
}
static syn_text text_of(const char *text) {
  syn_text t;
  t.at = text;
  t.size = strlen(text);
  return t;
}

/* classify and tag: a pass over one text; *rows: how many results it has. */
static syn_status classify(syn_run *r, syn_text text, int *rows) {
  syn_status s = syn_run_text(r, text, text_of(""));
  syn_run_logits(r, 0, rows);
  return s;
}

/* -- values -- */

/* One model, its run with `keep` and a trainer, after a backward pass of both. */
typedef struct bench {
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_trainer *t;
  syn_batch b;
  int sentences;
} bench;

static int bench_open(bench *b, const syn_config *k) {
  syn_limits l = small(1);
  syn_train_config train;
  float loss = 0.0f, other = 0.0f;
  size_t i;
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  syn_context_init(&b->c, NULL);
  b->m = syn_model_new(&b->c, k);
  b->b = two(k->task);
  for (i = 0; i < syn_model_param_count(b->m); i++) { /* biases too begin with numbers */
    const syn_param *p = syn_model_param(b->m, i);
    size_t j;
    for (j = 0; p->rank == 1 && j < p->size; j++) p->x[j] += (float)(j % 7) / 10.0f - 0.2f;
  }
  b->r = b->m ? syn_run_new(&b->c, b->m, &l) : NULL;
  b->t = b->m ? syn_trainer_new(&b->c, b->m, &train) : NULL;
  CHECK(b->r && b->t, "%s", b->c.message);
  if (!b->r || !b->t) return 0;
  CHECK(!syn_run_backward(b->r, &b->b, &loss) && !syn_trainer_backward(b->t, &b->b, &other) &&
            loss == other && loss > 0,
        "%s: losses %g and %g: %s", k->task, (double)loss, (double)other, b->c.message);
  return 1;
}
static void bench_close(bench *b) {
  syn_trainer_free(b->t);
  syn_run_free(b->r);
  syn_model_free(b->m);
}
static syn_value value_of(bench *b, const char *path, int sentence) {
  syn_value v;
  CHECK(syn_run_value(b->r, path, sentence, &v) == SYN_OK, "%s: %s", path, b->c.message);
  return v;
}

/* Every parameter: the weights, and the gradient of the trainer to the bit. */
static void params_case(bench *b) {
  size_t i;
  for (i = 0; i < syn_model_param_count(b->m); i++) {
    const syn_param *p = syn_model_param(b->m, i);
    syn_value v = value_of(b, p->name, 0);
    const float *g = syn_trainer_gradient(b->t, p);
    CHECK(v.x == p->x && v.rank == p->rank && v.shape[0] == p->shape[0], "%s: not the weights", p->name);
    CHECK(v.dx && g && !memcmp(v.dx, g, p->size * sizeof *g), "%s: another gradient", p->name);
  }
}

/* dW = sum over all rows of dy^T x, for y = x W^T + b; of ff dz is dy where y > 0. */
static void product_case(bench *b, const char *x_path, const char *y_path, const char *w, const char *bias,
                         int relu) {
  syn_value dw = value_of(b, w, 0), db = value_of(b, bias, 0);
  int s, i, j, r, out = dw.shape[0], in = dw.shape[1];
  double worst = 0.0, largest = 0.0;
  for (i = 0; i < out; i++)
    for (j = -1; j < in; j++) {
      double sum = 0.0, got = j < 0 ? (double)db.dx[i] : (double)dw.dx[i * in + j];
      for (s = 0; s < b->sentences; s++) {
        syn_value x = value_of(b, x_path, s), y = value_of(b, y_path, s);
        if (x.shape[1] != in || y.shape[1] != out) continue;
        for (r = 0; r < y.shape[0]; r++)
          if (!relu || y.x[r * out + i] > 0)
            sum += (double)y.dx[r * out + i] * (j < 0 ? 1.0 : (double)x.x[r * in + j]);
      }
      if (fabs(sum - got) > worst) worst = fabs(sum - got);
      if (fabs(got) > largest) largest = fabs(got);
    }
  CHECK(largest > 0 && worst < 1e-5 * largest, "%s: dy^T x is off by %g of %g", w, worst, largest);
}

/* The gradient of a table of embeddings is that of its rows, added up by token. */
static void embedding_case(bench *b, const char *path, const char *table, const int *tokens) {
  syn_value w = value_of(b, table, 0);
  double *sum = (double *)calloc((size_t)(w.shape[0] * w.shape[1]), sizeof *sum), worst = 0.0;
  int s, r, k;
  for (s = 0; s < b->sentences; s++) {
    syn_value y = value_of(b, path, s);
    for (r = 0; r < y.shape[0]; r++)
      for (k = 0; k < w.shape[1]; k++)
        sum[tokens[4 * s + r] * w.shape[1] + k] += (double)y.dx[r * w.shape[1] + k];
  }
  for (k = 0; k < w.shape[0] * w.shape[1]; k++)
    if (fabs(sum[k] - (double)w.dx[k]) > worst) worst = fabs(sum[k] - (double)w.dx[k]);
  CHECK(worst < 1e-6, "%s: off by %g", table, worst);
  free(sum);
}

/* weights = softmax(q k^T), context = weights v; the weights are those of syn_run_attention. */
static void attention_case(bench *b, const char *path, int layer) {
  char name[80];
  int s, h, i, j, c, size[2];
  for (s = 0; s < b->sentences; s++) {
    syn_value q, k, v, w, y;
    snprintf(name, sizeof name, "%s.q", path), q = value_of(b, name, s);
    snprintf(name, sizeof name, "%s.k", path), k = value_of(b, name, s);
    snprintf(name, sizeof name, "%s.v", path), v = value_of(b, name, s);
    snprintf(name, sizeof name, "%s.weights", path), w = value_of(b, name, s);
    snprintf(name, sizeof name, "%s.context", path), y = value_of(b, name, s);
    CHECK(q.rank == 3 && q.shape[1] == 2 && q.shape[2] == 4 && !strcmp(q.axes[1], "head"), "%s: q", path);
    CHECK(w.rank == 3 && w.shape[1] == q.shape[0] && w.shape[2] == k.shape[0] && !strcmp(w.axes[2], "key"),
          "%s: weights", path);
    CHECK(w.x == syn_run_attention(b->r, layer, 0, s, size) && size[0] == w.shape[1], "%s: other weights", path);
    for (h = 0; h < 2; h++)
      for (i = 0; i < q.shape[0]; i++) {
        const float *row = w.x + (h * w.shape[1] + i) * w.shape[2];
        double sum = 0.0, context = 0.0, score[9];
        for (j = 0; j < k.shape[0]; j++) {
          score[j] = 0.0;
          for (c = 0; c < 4; c++)
            score[j] += (double)q.x[(i * 2 + h) * 4 + c] * (double)k.x[(j * 2 + h) * 4 + c];
          if (row[j] != 0.0f) sum += exp(score[j]);
          context += (double)row[j] * (double)v.x[(j * 2 + h) * 4 + 3];
        }
        for (j = 0; j < k.shape[0]; j++)
          CHECK(row[j] == 0.0f || fabs(exp(score[j]) / sum - (double)row[j]) < 1e-5, "%s: %d %d", path, i, j);
        CHECK(fabs(context - (double)y.x[(i * 2 + h) * 4 + 3]) < 1e-5, "%s: context of %d", path, i);
      }
  }
}

/* The gradients of context, v, q, k of attention kind V without dropout follow from that of its output:
   dY = dy W_o, dP = dY v^T, dS = P (dP - sum P dP), dq = dS k, dk = dS^T q, dv = P^T dY. */
static void part_worst(double *worst, double got, double wanted) {
  if (fabs(got - wanted) > *worst) *worst = fabs(got - wanted);
}
static void parts_case(bench *b, const char *path) {
  enum { C = 4, H = 2, W = C * H };
  static const char *const names[] = {"q", "k", "v", "context", "weights", "w_o"};
  double worst[4] = {0}, largest = 0;
  syn_value v[6], y;
  char name[80];
  int s, h, i, j, c;
  for (s = 0; s < b->sentences; s++) {
    for (i = 0; i < 6; i++) snprintf(name, sizeof name, "%s.%s", path, names[i]), v[i] = value_of(b, name, s);
    y = value_of(b, path, s);
    CHECK(v[0].dx && v[1].dx && v[2].dx && v[3].dx && !v[4].dx, "%s: gradients", path);
    if (!v[0].dx || !v[1].dx || !v[2].dx || !v[3].dx) return;
    for (h = 0; h < H; h++) {
      int queries = v[4].shape[1], keys = v[4].shape[2];
      double ds[9][9], dk[9][C] = {{0}}, dv[9][C] = {{0}};
      for (i = 0; i < queries; i++) {
        const float *p = v[4].x + (h * queries + i) * keys, *dy = v[3].dx + i * W + h * C;
        double mean = 0;
        for (c = 0; c < C; c++) {
          double sum = 0;
          for (j = 0; j < y.shape[1]; j++) sum += (double)y.dx[i * y.shape[1] + j] * (double)v[5].x[j * W + h * C + c];
          part_worst(&worst[3], (double)dy[c], sum);
        }
        for (j = 0; j < keys; j++) {
          ds[i][j] = 0;
          for (c = 0; c < C; c++) ds[i][j] += (double)dy[c] * (double)v[2].x[j * W + h * C + c];
          mean += (double)p[j] * ds[i][j];
        }
        for (j = 0; j < keys; j++) ds[i][j] = (double)p[j] * (ds[i][j] - mean);
        for (c = 0; c < C; c++) {
          double sum = 0;
          for (j = 0; j < keys; j++) {
            sum += ds[i][j] * (double)v[1].x[j * W + h * C + c];
            dk[j][c] += ds[i][j] * (double)v[0].x[i * W + h * C + c];
            dv[j][c] += (double)p[j] * (double)dy[c];
          }
          part_worst(&worst[0], (double)v[0].dx[i * W + h * C + c], sum);
          if (fabs(sum) > largest) largest = fabs(sum);
        }
      }
      for (j = 0; j < keys; j++)
        for (c = 0; c < C; c++) {
          part_worst(&worst[1], (double)v[1].dx[j * W + h * C + c], dk[j][c]);
          part_worst(&worst[2], (double)v[2].dx[j * W + h * C + c], dv[j][c]);
        }
    }
  }
  CHECK(largest > 1e-6, "%s: all gradients are 0", path);
  for (i = 0; i < 4; i++) CHECK(worst[i] < 1e-6, "%s.%s: its gradient is off by %g", path, names[i], worst[i]);
}

/* Logits are those of a plain run, of another memory; their gradient sums to 0 in every labelled row. */
static void logits_case(bench *b) {
  syn_limits l = small(0);
  syn_run *plain = syn_run_new(&b->c, b->m, &l);
  int s, rows, i, j;
  CHECK(plain && syn_run_forward(plain, &b->b) == SYN_OK, "%s", b->c.message);
  for (s = 0; plain && s < 2; s++) {
    syn_value z = value_of(b, "out", s);
    const float *x = syn_run_logits(plain, s, &rows);
    CHECK(x && z.shape[0] == rows && !memcmp(x, z.x, (size_t)(rows * z.shape[1]) * sizeof *x), "other logits");
    CHECK(z.x == syn_run_logits(b->r, s, &rows), "the run itself has other logits");
    for (i = 0; i < rows; i++) {
      double sum = 0.0;
      for (j = 0; j < z.shape[1]; j++) sum += (double)z.dx[i * z.shape[1] + j];
      CHECK(fabs(sum) < 1e-6, "row %d: the gradient sums to %g", i, sum);
    }
  }
  syn_run_free(plain);
}

static void value_refused(bench *b, syn_run *r, const char *path, int sentence, const char *word) {
  syn_value v;
  CHECK(syn_run_value(r, path, sentence, &v) != SYN_OK && strstr(b->c.message, word) && !v.x && !v.rank,
        "%s: %s", path, b->c.message);
  syn_context_clear(&b->c);
}

static void test_values(void) {
  syn_config k = config_of("seq2seq");
  bench b;
  b.sentences = 2;
  if (bench_open(&b, &k)) {
    syn_limits l = small(0);
    syn_run *plain = syn_run_new(&b.c, b.m, &l);
    syn_value v = value_of(&b, "encoder.2", 1);
    float out[8], last[8];
    params_case(&b);
    logits_case(&b);
    embedding_case(&b, "encoder@0", "src.embed", two_src);
    embedding_case(&b, "decoder@0", "tgt.embed", two_tgt);
    product_case(&b, "decoder.4", "out", "out.w", "out.b", 0);
    CHECK(v.rank == 2 && v.shape[0] == 2 && v.shape[1] == 8 && !strcmp(v.axes[0], "token"), "encoder.2");
    CHECK(!syn_run_vector(b.r, "encoder.2", 1, SYN_VECTOR_MEAN, out, 8) &&
              !syn_run_vector(b.r, "encoder.2", 1, SYN_VECTOR_LAST, last, 8) && last[3] == v.x[8 + 3] &&
              fabsf(out[5] - (v.x[5] + v.x[13]) / 2) < 1e-6f,
          "vectors");
    CHECK(syn_run_vector(b.r, "encoder.2", 1, SYN_VECTOR_MEAN, out, 7) == SYN_E_SHAPE, "width 7");
    syn_context_clear(&b.c);
    CHECK(syn_run_vector(b.r, "encoder.2", 1, 3, out, 8) == SYN_E_VALUE, "no such vector");
    syn_context_clear(&b.c);
    value_refused(&b, plain, "encoder.2", 0, "keep");
    CHECK(syn_run_backward(plain, &b.b, NULL) == SYN_E_VALUE && strstr(b.c.message, "keep"), "%s", b.c.message);
    syn_context_clear(&b.c);
    value_refused(&b, b.r, "encoder.22", 0, "encoder.2");
    value_refused(&b, b.r, "encoder.2.q", 0, "encoder.2");
    value_refused(&b, b.r, "encoder@7", 0, "nearest");
    value_refused(&b, b.r, "src.embedd", 0, "src.embed");
    value_refused(&b, b.r, "", 0, "no value");
    value_refused(&b, b.r, "encoder.2", 2, "sentence 2");
    value_refused(&b, b.r, "encoder.2", -1, "sentence -1");
    CHECK(syn_run_forward(b.r, &b.b) == SYN_OK && !value_of(&b, "encoder.2", 0).dx && !value_of(&b, "out.w", 0).dx,
          "a gradient without a backward pass");
    syn_run_free(plain);
  }
  bench_close(&b);
}

/* Every node of some networks can be found by the path that syn_model_describe prints; attentions,
   feed-forward layers in place, mixtures, input feeding. */
static void every_node(bench *b, const syn_config *k) {
  size_t n = syn_model_describe(&b->c, k, NULL, 0), i, count = 0;
  char *text = (char *)malloc(n + 1), *line, path[300];
  CHECK(syn_model_describe(&b->c, k, text, n + 1) == n && strlen(text) == n, "%s", b->c.message);
  for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1, count++) {
    syn_value v;
    for (i = 0; line[i] != '\t'; i++) path[i] = line[i];
    path[i] = 0;
    CHECK(syn_run_value(b->r, path, 0, &v) == SYN_OK && v.x && v.dx && v.rank == 2, "%s: %s", path, b->c.message);
    CHECK(strstr(line, b->m->g.nodes[count]->kind->name) != NULL, "%.60s", line);
  }
  CHECK(count == syn_model_node_count(b->m), "%lu lines", (unsigned long)count);
  for (i = 0; i < n + 2; i++) { /* what fits, with a final 0 */
    char part[24];
    if (i > sizeof part - 1) break;
    memset(part, '?', sizeof part);
    CHECK(syn_model_describe(&b->c, k, part, i) == n && part[i] == '?' && (!i || strlen(part) == i - 1), "%lu",
          (unsigned long)i);
  }
  free(text);
}

static void test_networks(void) {
  syn_config k = config_of("seq2seq");
  bench b;
  int layer, heads;
  b.sentences = 2;
  if (bench_open(&b, &k)) {
    every_node(&b, &k);
    for (layer = 0; syn_model_attention(b.m, layer, &heads); layer++)
      attention_case(&b, syn_model_attention(b.m, layer, &heads), layer);
    CHECK(layer == 4, "%d attentions", layer);
    for (layer = 0; syn_model_attention(b.m, layer, &heads); layer++)
      parts_case(&b, syn_model_attention(b.m, layer, &heads));
    CHECK(syn_run_forward(b.r, &b.b) == SYN_OK, "%s", b.c.message);
    CHECK(!value_of(&b, "decoder.1.1.q", 0).dx, "a gradient of q without a backward pass");
  }
  bench_close(&b);
  k = config_of("classify");
  k.encoder = "pos -> ff(n=8, act=relu) -> linear(n=8) -> universal(3, res(ff(n=8, act=relu)))";
  if (bench_open(&b, &k)) {
    every_node(&b, &k);
    params_case(&b);
    product_case(&b, "encoder.0", "encoder.1", "encoder.1.w", "encoder.1.b", 1);
    product_case(&b, "encoder.1", "encoder.2", "encoder.2.w", "encoder.2.b", 0);
  }
  bench_close(&b);
  k = config_of("tag");
  k.encoder = "pos -> syn_att(V+FD) -> rnn(n=8, cell=lstm) -> norm";
  if (bench_open(&b, &k)) {
    syn_value s = value_of(&b, "encoder.1.scores", 1), w = value_of(&b, "encoder.1.weights", 1);
    every_node(&b, &k);
    params_case(&b);
    CHECK(s.rank == 4 && s.shape[1] == 2 && s.shape[2] == w.shape[1] && !strcmp(s.axes[1], "kind"), "scores");
  }
  bench_close(&b);
  k = config_of("lm");
  k.decoder = "input_feed -> rnn(n=8, cell=lstm) -> res(linear(n=8)) -> norm";
  if (bench_open(&b, &k)) { /* the layers run several times */
    every_node(&b, &k);
    params_case(&b);
    logits_case(&b);
    embedding_case(&b, "decoder@0", "tgt.embed", two_tgt);
    product_case(&b, "decoder.1", "decoder.2.0", "decoder.2.0.w", "decoder.2.0.b", 0);
    product_case(&b, "decoder.3", "out", "out.w", "out.b", 0);
  }
  bench_close(&b);
}

/* The plan counts what a run with `keep` takes, and nothing else is allocated; any allocation may
   fail. No weights for a description. */
static void test_memory(void) {
  syn_config k = config_of("seq2seq");
  syn_train_config train;
  syn_plan plan;
  syn_context c;
  syn_limits l;
  syn_model *m;
  syn_run *r;
  heap h;
  char text[3000];
  size_t before, run = (sizeof(syn_run) + 63) / 64 * 64;
  int i;
  context_on(&c, &h, 0);
  memset(&train, 0, sizeof train);
  train.batch_tokens = 40;
  CHECK(syn_plan_of(&c, &k, &train, NULL, &plan) == SYN_OK, "%s", c.message);
  m = syn_model_new(&c, &k);
  l = syn__train_limits(40, 0);
  l.keep = 1;
  before = h.live;
  r = syn_run_new(&c, m, &l);
  CHECK(r && h.live - before == plan.keep + run + SYN__ALIGN + sizeof(syn__block), "planned %lu, used %lu",
        (unsigned long)plan.keep, (unsigned long)(h.live - before));
  CHECK(plan.keep > plan.activations, "keep takes no more than training");
  before = (size_t)h.calls;
  for (i = 0; i < 2; i++) {
    syn_batch b = two("seq2seq");
    CHECK(syn_run_backward(r, &b, NULL) == SYN_OK, "%s", c.message);
  }
  CHECK((size_t)h.calls == before, "a pass allocates");
  syn_run_free(r);
  syn_model_free(m);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
  context_on(&c, &h, 0);
  k.max_len = 1 << 20;
  k.d_model = 2048;
  k.encoder = k.decoder = "pos -> res(ff(n=2048))";
  k.task = "lm";
  k.tgt_vocab = 500000;
  before = syn_model_describe(&c, &k, text, sizeof text);
  CHECK(before > 100 && h.most < (size_t)64 << 20, "%lu bytes: %s",
        (unsigned long)h.most, c.message);
  CHECK(strstr(text, "tgt.embed[500000,2048]") && strstr(text, "[target,2048]"), "%s", text);
  k.decoder = "nothing";
  CHECK(!syn_model_describe(&c, &k, text, sizeof text) && !*text && strstr(c.message, "nothing"), "%s", c.message);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

/* -- texts -- */

static syn_tokenizer *learn(syn_context *c, const char *spec, const char *const *lines, size_t n) {
  syn_text texts[8];
  size_t i;
  for (i = 0; i < n; i++) texts[i] = text_of(lines[i]);
  return syn_tokenizer_learn(c, spec, 0, texts, n);
}
static void text_refused(syn_data *d, const syn_model *m, const char *source, const char *target,
                         const char *word, const char *other) {
  size_t rows = syn_data_count(d);
  CHECK(syn_data_add_text(d, m, text_of(source), text_of(target)) != SYN_OK && syn_data_count(d) == rows &&
            strstr(d->c->message, word) && strstr(d->c->message, other),
        "'%s' '%s': %s", source, target, d->c->message);
  syn_context_clear(d->c);
}
static void row_is(const syn_data *d, size_t i, int side, const int *want, int n) {
  int length;
  const int *at = syn_data_row(d, i, side, &length);
  CHECK(length == n && (!n || !memcmp(at, want, (size_t)n * sizeof *at)), "row %lu, side %d: %d tokens",
        (unsigned long)i, side, length);
}

/* A source of two texts has an end token between them, also as a batch. */
static void two_texts(syn_context *c, syn_model *m) {
  const syn_tokenizer *words = syn_model_tokenizer(m, SYN_SRC);
  syn_data *d = syn_data_new(c);
  syn_run *one = syn_run_new(c, m, NULL), *other = syn_run_new(c, m, NULL);
  int ids[5], n = syn_tokenizer_encode(words, text_of("bad day"), ids, 5), class_id = 1;
  syn_batch b = {1, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL};
  float p = 0.0f, q = 0.0f;
  CHECK(n == 2, "%d tokens", n);
  ids[n++] = SYN_END;
  n += syn_tokenizer_encode(words, text_of("good"), ids + n, 1);
  CHECK(!syn_data_add_text(d, m, text_of("bad day\tgood"), text_of("good")), "%s", c->message);
  row_is(d, 0, SYN_SRC, ids, n);
  row_is(d, 0, SYN_TGT, &class_id, 1);
  ids[n++] = SYN_END;
  b.src = ids;
  b.src_width = n;
  CHECK(!syn_run_text(one, text_of("bad day\tgood"), text_of("")) && !syn_run_forward(other, &b), "%s",
        c->message);
  syn_run_class(one, 0, 0, 0, &p), syn_run_class(other, 0, 0, 0, &q);
  CHECK(p > 0.0f && memcmp(&p, &q, sizeof p) == 0, "%g, %g", (double)p, (double)q);
  syn_run_free(one), syn_run_free(other);
  syn_data_free(d);
}

static syn_model *text_model(syn_context *c, const char *task, const char *source, const char *target) {
  static const char *const words[] = {"good day", "bad day", "no no"}, *const labels[] = {"bad", "good"};
  syn_config k = config_of(task);
  syn_tokenizer *src, *tgt;
  syn_model *m;
  int classes = !strcmp(task, "classify") || !strcmp(task, "tag");
  src = learn(c, source, words, 3);
  tgt = learn(c, target, classes ? labels : words, classes ? 2 : 3);
  k.src_vocab = syn_tokenizer_size(src);
  k.tgt_vocab = syn_tokenizer_size(tgt);
  k.classes = k.tgt_vocab - SYN_FIRST_TOKEN + !strcmp(task, "tag");
  m = syn_model_new(c, &k);
  CHECK(m && src && tgt, "%s", c->message);
  syn_model_set_tokenizers(m, src, tgt);
  return m;
}

static void test_classify(void) {
  syn_context c;
  syn_model *m;
  syn_data *d;
  syn_run *r;
  syn_train_config train;
  syn_trainer *t;
  float p = 0, sum = 0, one;
  int rows, i;
  syn_context_init(&c, NULL);
  m = text_model(&c, "classify", "space", "line");
  d = syn_data_new(&c);
  CHECK(!syn_data_add_text(d, m, text_of("good day"), text_of("good")) &&
            !syn_data_add_text(d, m, text_of("bad day"), text_of("bad")),
        "%s", c.message);
  i = 1, row_is(d, 0, SYN_TGT, &i, 1);
  i = 0, row_is(d, 1, SYN_TGT, &i, 1);
  two_texts(&c, m);
  text_refused(d, m, "day", "goood", "row 2", "nearest is good");
  text_refused(d, m, "day", "", "row 2", "label");
  CHECK(!syn_data_set_cut(d, SYN_CUT_NONE), "%s", c.message);
  text_refused(d, m, "a b c d e f g h i", "good", "10", "at most 9");
  memset(&train, 0, sizeof train);
  train.batch_tokens = 20;
  train.steps = 60;
  train.lr = 0.01f;
  t = syn_trainer_new(&c, m, &train);
  CHECK(t && !syn_trainer_run(t, d, NULL, NULL, NULL), "%s", c.message);
  r = syn_run_new(&c, m, NULL);
  CHECK(!classify(r, text_of("bad day"), &rows) && rows == 1, "%s", c.message);
  CHECK(syn__text_is(syn_run_class_name(r, 0, 0, 0, &p), "bad") && p > 0.5f, "p is %g", (double)p);
  for (i = 0; i < 2; i++) syn_run_class_name(r, 0, 0, i, &one), sum += one;
  CHECK(fabsf(sum - 1) < 1e-6f && !syn_run_class_name(r, 0, 0, 2, &one).size && one == 0.0f, "sum %g", (double)sum);
  CHECK(!classify(r, text_of("good day"), &rows) &&
            syn__text_is(syn_run_class_name(r, 0, 0, 0, NULL), "good"),
        "%s", c.message);
  CHECK(!classify(r, text_of("a b c d e f g h i j"), &rows) && rows == 1 && syn_run_cut(r) == 2, "%d tokens: %s",
        syn_run_cut(r), c.message);
  CHECK(!classify(r, text_of("good \xFF day zzz"), &rows) && syn_run_unknown(r) == 2, "%d unknown: %s",
        syn_run_unknown(r), c.message);
  CHECK(!classify(r, text_of(""), &rows) && rows == 1 && !syn_run_unknown(r) && !syn_run_unknown(NULL),
        "only an end: %s", c.message);
  syn_trainer_free(t);
  syn_run_free(r);
  syn_data_free(d);
  syn_model_free(m);
}

static void test_tag(void) {
  static const int tags[] = {2, 1};
  syn_context c;
  syn_model *m;
  syn_data *d;
  syn_run *r;
  int rows, i;
  syn_context_init(&c, NULL);
  m = text_model(&c, "tag", "space", "space");
  d = syn_data_new(&c);
  i = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_TGT), text_of("good bad"), NULL, 0);
  CHECK(i == 2 && !syn_data_add_text(d, m, text_of("day no"), text_of("good bad")), "%s", c.message);
  {
    int ids[2];
    syn_tokenizer_encode(syn_model_tokenizer(m, SYN_TGT), text_of("good bad"), ids, 2);
    ids[0] -= 3, ids[1] -= 3;
    row_is(d, 0, SYN_TGT, ids, 2);
    CHECK(ids[0] + ids[1] == tags[0] + tags[1], "tags %d %d", ids[0], ids[1]);
  }
  CHECK(!syn_data_add_text(d, m, text_of("day  no "), text_of(" good\xC2\xA0 bad")), "%s", c.message);
  text_refused(d, m, "day no", "good bda", "label 1", "'bda'; the nearest is bad");
  text_refused(d, m, "day no", "good", "2 words and 1 tags", "a tag for each word");
  text_refused(d, m, "", "", "row 2", "");
  r = syn_run_new(&c, m, NULL);
  CHECK(!classify(r, text_of("day no day"), &rows) && rows == 3, "%s", c.message);
  for (i = 0; i < rows; i++) {
    syn_text name = syn_run_class_name(r, 0, i, 0, NULL);
    CHECK(syn__text_is(name, "good") || syn__text_is(name, "bad"), "row %d: %.*s", i, (int)name.size, name.at);
  }
  CHECK(classify(r, text_of(""), &rows) && !rows, "no token");
  syn_run_free(r);
  syn_data_free(d);
  syn_model_free(m);
}

/* The source row of each way to cut it; a pass over the text is one over these tokens. */
static void cut_row(syn_context *c, const syn_model *m, int cut, const char *text, const char *left) {
  const int ends = m->task->labels != SYN_SRC;
  syn_data *d = syn_data_new(c);
  syn_limits limits;
  syn_run *r;
  size_t lost;
  int ids[20], n = syn_tokenizer_cut(syn_model_tokenizer(m, SYN_SRC), text_of(left), SYN_CUT_TEXTS, ids, 20), i, size;
  const int *row, *seen;
  CHECK(!syn_data_set_cut(d, cut) && !syn_data_add_text(d, m, text_of(text), text_of(ends ? "good" : "good bad good bad good")),
        "cut %d: %s", cut, c->message);
  row_is(d, 0, SYN_SRC, ids, n);
  row = syn_data_row(d, 0, SYN_TGT, &size);
  for (i = 0; i < size; i++) CHECK(row[i] >= 0 && size == (ends ? 1 : n), "label %d of %d", i, size);
  i = (int)(syn_tokenizer_cut(syn_model_tokenizer(m, SYN_SRC), text_of(text), SYN_CUT_TEXTS, NULL, 0)) - n;
  CHECK(syn_data_cut(d, &lost) == (i > 0) && lost == (size_t)i, "%d tokens removed", i);
  memset(&limits, 0, sizeof limits);
  limits.cut = cut;
  r = syn_run_new(c, m, &limits);
  CHECK(!syn_run_text(r, text_of(text), text_of("")) && syn_run_cut(r) == i, "%s", c->message);
  seen = syn_run_tokens(r, SYN_SRC, 0, &size);
  CHECK(size == n + ends && !memcmp(seen, ids, (size_t)n * sizeof *ids) && (!ends || seen[n] == SYN_END), "%d tokens", size);
  syn_run_free(r);
  syn_data_free(d);
}

/* A text that is too long: these models take 9 tokens with the end. */
static void test_cut(void) {
  syn_context c;
  syn_model *m;
  syn_data *d;
  syn_run *r;
  syn_limits limits;
  int tags[9];
  syn_context_init(&c, NULL);
  m = text_model(&c, "classify", "char", "line");
  cut_row(&c, m, SYN_CUT_BY_TASK, "good day no", "good day");
  cut_row(&c, m, SYN_CUT_TAIL, "good day no", "good day");
  cut_row(&c, m, SYN_CUT_HEAD, "good day no", "d day no");
  cut_row(&c, m, SYN_CUT_MIDDLE, "good day no", "goday no");
  cut_row(&c, m, SYN_CUT_NONE, "good day", "good day");
  cut_row(&c, m, SYN_CUT_BY_TASK, "good day no\tbad", "good\tbad");
  cut_row(&c, m, SYN_CUT_BY_TASK, "no\tgood day no", "no\tgood ");
  d = syn_data_new(&c);
  CHECK(!syn_data_set_cut(d, SYN_CUT_NONE), "%s", c.message);
  text_refused(d, m, "good day no", "good", "12, wanted at most 9", "syn_data_set_cut");
  CHECK(syn_data_set_cut(d, 5) == SYN_E_VALUE && strstr(c.message, "cut is 5"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_data_set_cut(NULL, 0) == SYN_E_VALUE && !syn_data_cut(NULL, NULL) && !syn_run_cut(NULL), "null");
  syn_data_free(d);
  memset(&limits, 0, sizeof limits);
  limits.src_rows = 6; /* fewer rows than max_len */
  r = syn_run_new(&c, m, &limits);
  CHECK(!syn_run_text(r, text_of("good day"), text_of("")) && syn_run_cut(r) == 3, "%s", c.message);
  syn_run_free(r);
  syn_model_free(m);
  m = text_model(&c, "lm", "char", "char");
  limits.src_rows = 60, limits.length = 30, limits.cut = SYN_CUT_HEAD; /* the tables of this model have 9 places */
  r = syn_run_new(&c, m, &limits);
  CHECK(!syn_run_text(r, text_of(""), text_of("good day no")) && syn_run_cut(r) == 3, "%s", c.message);
  syn_run_free(r);
  syn_model_free(m);
  m = text_model(&c, "tag", "char", "space");
  cut_row(&c, m, SYN_CUT_TAIL, "good bad no day no", "good bad ");
  limits.cut = SYN_CUT_TAIL;
  limits.src_rows = limits.length = 0;
  r = syn_run_new(&c, m, &limits);
  CHECK(syn_tag(r, text_of("good bad no day no"), tags, 9) == 5 && tags[1] > 0 && !tags[2] && !tags[4], "%s", c.message);
  syn_run_free(r);
  limits.cut = SYN_CUT_HEAD;
  r = syn_run_new(&c, m, &limits);
  CHECK(syn_tag(r, text_of("good bad no day no"), tags, 9) == -1 && strstr(c.message, "9 tokens were cut"), "%s", c.message);
  syn_context_clear(&c);
  syn_run_free(r);
  d = syn_data_new(&c);
  text_refused(d, m, "good bad no", "no no no", "11, wanted at most 9", "source");
  CHECK(!syn_data_set_cut(d, SYN_CUT_MIDDLE), "%s", c.message);
  text_refused(d, m, "good bad no", "no no no", "SYN_CUT_TAIL", "tags go with the words");
  syn_data_free(d);
  syn_model_free(m);
}

static void test_texts(void) {
  syn_context c;
  syn_model *m;
  syn_data *d;
  syn_run *r;
  syn_config k = config_of("lm");
  int ids[20], n, rows = 0;
  syn_context_init(&c, NULL);
  m = text_model(&c, "seq2seq", "char", "byte");
  d = syn_data_new(&c);
  CHECK(!syn_data_add_text(d, m, text_of("good"), text_of("b\xC3\xB6se")), "%s", c.message);
  n = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_SRC), text_of("good"), ids, 20);
  row_is(d, 0, SYN_SRC, ids, n);
  n = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_TGT), text_of("b\xC3\xB6se"), ids, 20);
  CHECK(n == 5, "%d bytes", n);
  row_is(d, 0, SYN_TGT, ids, n);
  CHECK(!syn_data_add_text(d, m, text_of(""), text_of("")) && syn_data_count(d) == 2, "empty texts");
  text_refused(d, m, "good good", "no", "source", "10");
  text_refused(d, m, "good", "a long text", "target", "at most 9");
  r = syn_run_new(&c, m, NULL);
  CHECK(!syn_run_text(r, text_of("good"), text_of("b\xC3\xB6s")) && syn_run_logits(r, 0, &rows) && rows == 5, "%d rows: %s",
        rows, c.message);
  CHECK(syn_run_text(r, text_of("good"), text_of("a long text")) && strstr(c.message, "target text has 11 tokens"), "%s",
        c.message);
  CHECK(!syn_run_logits(r, 0, &rows) && !rows, "results of the pass before");
  syn_context_clear(&c);
  syn_run_free(r);
  syn_model_free(m);
  m = text_model(&c, "lm", "char", "char");
  text_refused(d, m, "good", "bad", "lm", "row 2");
  CHECK(!syn_data_add_text(d, m, text_of(""), text_of("bad day")) && syn_data_count(d) == 3, "%s", c.message);
  syn_model_free(m);
  m = syn_model_new(&c, &k);
  text_refused(d, m, "", "bad", "no tokenizer", "target");
  CHECK(syn_data_add_text(d, NULL, text_of(""), text_of("")) && syn_data_add_text(NULL, m, text_of(""), text_of("")),
        "null");
  syn_model_free(m);
  syn_data_free(d);
}

/* -- answers to one text -- */

/* A call that must fail, with these words in its message. */
#define REFUSED(c, failed, word) \
  do { \
    CHECK((failed) && (c)->status && strstr((c)->message, word), "%s: %s", #failed, (c)->message); \
    syn_context_clear(c); \
  } while (0)

static syn_text nothing_of(void) { return text_of(""); }

/* Of a classifier: the class, its probabilities, the score of a name, the vector. */
static void answers_of_classes(void) {
  static const char *const texts[] = {"good day", "bad day\tno", "", "no no no"}, *const many[] = {"a", "b", "c"};
  syn_limits l = small(1);
  syn_context c;
  syn_model *m;
  syn_run *r, *keep;
  float p[4], one, log_p[2], v[8], w[8];
  syn_text name;
  int i, k;
  syn_context_init(&c, NULL);
  m = text_model(&c, "classify", "space", "line");
  r = syn_run_new(&c, m, NULL);
  keep = syn_run_new(&c, m, &l);
  for (i = 0; i < 4; i++) {
    p[2] = 7.0f;
    name = syn_classify(r, text_of(texts[i]), p);
    CHECK(name.size && name.at == syn_run_class_name(r, 0, 0, 0, NULL).at && p[2] == 7.0f, "%s", c.message);
    for (k = 0; k < 2; k++) {
      int of = syn_run_class(r, 0, 0, k, &one);
      CHECK(one == p[of], "class %d: %g, %g", of, (double)one, (double)p[of]);
      CHECK(syn__text_is(syn_model_class_name(m, k), k ? "good" : "bad"), "class %d", k);
    }
    CHECK(syn_classify(r, text_of(texts[i]), NULL).at == name.at, "without p");
    for (k = 0; k < 2; k++) {
      log_p[0] = log_p[1] = 7.0f;
      CHECK(syn_score(r, text_of(texts[i]), syn_model_class_name(m, k), log_p, 2) == 1 && log_p[1] == 7.0f &&
                fabs(exp((double)log_p[0]) - (double)p[k]) < 1e-6,
            "class %d: %g, %g: %s", k, (double)log_p[0], (double)p[k], c.message);
    }
    CHECK(!syn_run_text(keep, text_of(texts[i]), nothing_of()), "%s", c.message);
    for (k = 0; k < 3; k++) {
      CHECK(syn_embed(r, text_of(texts[i]), k, v, 8) == 8 &&
                !syn_run_vector(keep, "encoder.2", 0, k, w, 8) && !memcmp(v, w, sizeof v),
            "text %d, vector %d: %s", i, k, c.message);
      CHECK(!syn_run_logits(r, 0, NULL), "results of a pass that ended early");
    }
  }
  CHECK(syn_model_class_name(m, -1).size + syn_model_class_name(m, 2).size + syn_model_class_name(NULL, 0).size == 0,
        "classes that are none");
  REFUSED(&c, syn_score(r, text_of("day"), text_of("goood"), log_p, 2) == -1, "the nearest is good");
  CHECK(syn_classify(r, text_of("day b c d e f g h i"), p).size && syn_run_cut(r) == 1, "%s", c.message);
  REFUSED(&c, syn_tag(r, text_of("day"), NULL, 0) == -1, "classify, wanted tag");
  REFUSED(&c, syn_align(r, text_of("day"), text_of("day"), NULL, 0) == -1, "wanted seq2seq");
  syn_model_set_tokenizers(m, learn(&c, "space", texts, 1), learn(&c, "line", many, 3));
  CHECK(syn_score(r, text_of("day"), text_of("b"), NULL, 0) == 1, "%s", c.message);
  REFUSED(&c, syn_score(r, text_of("day"), text_of("c"), log_p, 1) == -1, "no class is named 'c'");
  syn_model_set_tokenizers(m, learn(&c, "space", texts, 1), NULL);
  REFUSED(&c, !syn_classify(r, text_of("day"), p).size && p[0] + p[1] == 0.0f, "syn_run_class");
  REFUSED(&c, syn_score(r, text_of("day"), text_of("good"), NULL, 0) == -1, "no names");
  syn_run_free(keep), syn_run_free(r);
  syn_model_free(m);
}

/* Mean, first, last; of length 1. The run of a pass that ended early can be used again. */
static void answers_embed(const char *task, const char *path) {
  syn_limits l = small(1);
  syn_context c;
  syn_model *m;
  syn_run *r, *keep;
  float v[8], w[8];
  double squares = 0.0;
  int k, lm = !strcmp(task, "lm"), rows;
  syn_text day = text_of("bad day"), source = lm ? nothing_of() : day, target = lm ? day : nothing_of();
  syn_context_init(&c, NULL);
  m = text_model(&c, task, "char", "char");
  r = syn_run_new(&c, m, NULL);
  keep = syn_run_new(&c, m, &l);
  CHECK(!syn_run_text(keep, source, target), "%s", c.message);
  for (k = 0; k < 3; k++) {
    CHECK(syn_embed(r, day, k, v, 8) == 8 && !syn_run_vector(keep, path, 0, k, w, 8) && !memcmp(v, w, sizeof v),
          "%s, vector %d: %s", task, k, c.message);
    CHECK(syn_embed(keep, day, k, w, 8) == 8 && !memcmp(v, w, sizeof v), "%s: a run with keep", task);
    CHECK(!syn_run_text(keep, source, target) && syn_run_logits(keep, 0, &rows) && rows == (lm ? 8 : strcmp(task, "tag") ? 1 : 7),
          "%s: %d rows", task, rows);
  }
  CHECK(syn_embed(r, day, SYN_VECTOR_LAST + SYN_VECTOR_UNIT, w, 8) == 8, "%s", c.message);
  CHECK(syn_embed(r, day, SYN_VECTOR_LAST, v, 8) == 8, "%s", c.message);
  for (k = 0; k < 8; k++) squares += (double)w[k] * (double)w[k];
  CHECK(fabs(squares - 1) < 1e-6 && fabs((double)(v[0] * w[1] - v[1] * w[0])) < 1e-6, "length %g", sqrt(squares));
  CHECK(syn_embed(r, day, 99, NULL, 0) == 8 && !c.status, "the width");
  memcpy(w, v, sizeof v);
  REFUSED(&c, syn_embed(r, day, 0, v, 7) == -1, "width 7 was wanted");
  REFUSED(&c, syn_embed(r, day, 3, v, 8) == -1, "not 3");
  REFUSED(&c, syn_embed(r, day, 8, v, 8) == -1, "not 8");
  if (strcmp(task, "classify")) REFUSED(&c, syn_embed(r, text_of("a long text"), 0, v, 8) == -1, "11 tokens");
  CHECK(!memcmp(v, w, sizeof v), "a vector after an error");
  if (!strcmp(task, "classify"))
    CHECK(syn_embed(r, text_of("a long text"), 0, v, 8) == 8 && syn_run_cut(r) == 3, "%s", c.message);
  syn_run_free(keep), syn_run_free(r);
  syn_model_free(m);
}

/* Scores of all capacities are those of the logits, in double by other functions. */
static void answers_score(const char *task) {
  syn_context c;
  syn_model *m;
  syn_run *r;
  const float *z;
  float log_p[9];
  const int lm = !strcmp(task, "lm");
  const syn_text source = lm ? nothing_of() : text_of("good");
  int ids[8], n, rows, i, k, room, v;
  syn_context_init(&c, NULL);
  m = text_model(&c, task, "char", "char");
  v = syn_model_config(m)->tgt_vocab;
  r = syn_run_new(&c, m, NULL);
  n = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_TGT), text_of("bad day"), ids, 8);
  ids[n] = SYN_END;
  CHECK(n == 7 && syn_score(r, source, text_of("bad day"), NULL, 9) == 8, "%s", c.message);
  for (room = 0; room < 10; room++) {
    for (i = 0; i < 9; i++) log_p[i] = 7.0f;
    CHECK(syn_score(r, source, text_of("bad day"), log_p, room) == 8, "%s", c.message);
    z = syn_run_logits(r, 0, &rows);
    for (i = 0; i < 9; i++) {
      double sum = 0.0;
      for (k = 0; i < room && i < 8 && k < v; k++) sum += exp((double)z[i * v + k]);
      CHECK(i < room && i < 8 ? fabs((double)z[i * v + ids[i]] - log(sum) - (double)log_p[i]) < 1e-5 : log_p[i] == 7.0f,
            "%s: room %d, token %d: %g", task, room, i, (double)log_p[i]);
    }
  }
  CHECK(syn_score(r, source, nothing_of(), log_p, 1) == 1 && log_p[0] < 0.0f, "no token but the end");
  REFUSED(&c, syn_score(r, nothing_of(), text_of("a long text"), log_p, 1) == -1, "11 tokens");
  if (lm) REFUSED(&c, syn_score(r, text_of("bad"), nothing_of(), log_p, 1) == -1, "lm has no source, 3 bytes given");
  if (lm) REFUSED(&c, syn_run_text(r, text_of("bad"), nothing_of()) == SYN_E_VALUE, "lm has no source");
  REFUSED(&c, !syn_classify(r, text_of("day"), NULL).size, "wanted classify");
  syn_run_free(r);
  syn_model_free(m);
}

/* A word of the target to the word of the source that its tokens attend to most, in all layers. */
static int aligned(const syn_run *r, int from, int end, const int (*word)[2], int words) {
  double most = -1.0;
  int layer, heads, best = -1, k, h, i, j, size[2];
  for (k = 0; k < words; k++) {
    double sum = 0.0;
    for (layer = 0; syn_model_attention(r->m, layer, &heads); layer++)
      for (h = 0; h < heads && !strncmp(syn_model_attention(r->m, layer, NULL), "decoder.x", 7); h++) {
        const float *w = syn_run_attention(r, layer, h, 0, size);
        for (i = from; size[1] == 9 && i < end; i++)
          for (j = word[k][0]; j < word[k][1]; j++) sum += (double)w[i * size[1] + j];
      }
    if (sum > most) most = sum, best = k;
  }
  return best;
}

static void answers_align(void) {
  static const char *const decoders[] = {
      "pos -> res_nd(mh_dot_att) -> rnn(8) -> res_nd(mlp_att(5)) -> res_nd(mh_dot_att(4)) -> norm",
      "input_feed -> linear(8) -> res_nd(mlp_att(5)) -> norm"};
  static const int source[3][2] = {{0, 1}, {2, 4}, {6, 8}}, target[2][2] = {{0, 3}, {4, 7}};
  static const char *const words[] = {"a bc  de", "xyz uvw"};
  syn_context c;
  int which, k, room, word[3];
  syn_context_init(&c, NULL);
  for (which = 0; which < 2; which++) {
    syn_config n = config_of("seq2seq");
    syn_tokenizer *src = learn(&c, "char", words, 2), *tgt = learn(&c, "byte", words, 2);
    syn_model *m;
    syn_run *r;
    n.decoder = decoders[which];
    n.src_vocab = syn_tokenizer_size(src), n.tgt_vocab = syn_tokenizer_size(tgt);
    m = syn_model_new(&c, &n);
    syn_model_set_tokenizers(m, src, tgt);
    r = syn_run_new(&c, m, NULL);
    for (room = 0; room < 4; room++) {
      word[0] = word[1] = word[2] = 7;
      CHECK(syn_align(r, text_of(words[0]), text_of(words[1]), word, room) == 2, "%s", c.message);
      for (k = 0; k < 3; k++)
        CHECK(word[k] == (k < room && k < 2 ? aligned(r, target[k][0], target[k][1], source, 3) : 7), "%s: word %d: %d",
              decoders[which], k, word[k]);
    }
    CHECK(syn_align(r, text_of(words[0]), text_of(words[1]), NULL, 3) == 2, "%s", c.message);
    word[0] = 7;
    CHECK(syn_align(r, text_of(words[0]), nothing_of(), word, 3) == 0 && word[0] == 7, "no word: %s", c.message);
    CHECK(syn_align(r, text_of("  "), text_of("x"), word, 3) == 1 && word[0] == -1, "a source without words");
    syn_run_free(r);
    syn_model_free(m);
  }
}

/* Tags of words: labels of tokens [n] after syn_data_add_text. */
static void tags_are(syn_context *c, const char *spec, int flags, const char *text, const char *tags,
                     const int *want, int n) {
  static const char *const lines[] = {"ab cd", "e\xC3\xA9 ab"}, *const names[] = {"X Y"};
  syn_text learned[2];
  syn_config k = config_of("tag");
  syn_tokenizer *src, *tgt = learn(c, "space", names, 1);
  syn_model *m;
  syn_data *d = syn_data_new(c);
  syn_run *r;
  int words[9], got, i, word = 0;
  learned[0] = text_of(lines[0]), learned[1] = text_of(lines[1]);
  src = syn_tokenizer_learn(c, spec, flags, learned, 2);
  k.encoder = "cnn(k=3) -> norm";
  k.max_len = 20;
  k.src_vocab = syn_tokenizer_size(src), k.classes = syn_tokenizer_size(tgt) - 3;
  m = syn_model_new(c, &k);
  CHECK(src && tgt && m, "%s: %s", spec, c->message);
  syn_model_set_tokenizers(m, src, tgt);
  if (!want) {
    text_refused(d, m, text, tags, "words", "a tag for each word");
  } else {
    CHECK(!syn_data_add_text(d, m, text_of(text), text_of(tags)), "%s: %s", spec, c->message);
    row_is(d, 0, SYN_TGT, want, n);
  }
  r = syn_run_new(c, m, NULL);
  got = syn_tag(r, text_of(text), words, 9);
  for (i = 0; want && i < n; i++)
    if (want[i] && strlen(tags) < 4) {
      CHECK(word < got && words[word] == syn_run_class(r, 0, i, 0, NULL), "%s: word %d, token %d", spec, word, i);
      word++;
    }
  CHECK(!word || word == got, "%s: %d of %d words: %s", spec, word, got, c->message);
  words[0] = words[1] = 77;
  CHECK(syn_tag(r, text_of(text), words, 1) == got && words[0] < 3 && words[1] == 77, "room for one");
  CHECK(syn_tag(r, text_of(text), words, 0) == got && syn_tag(r, text_of(text), NULL, 5) == got, "none");
  REFUSED(c, syn_tag(r, nothing_of(), words, 5) == -1, "no source tokens");
  REFUSED(c, syn_score(r, text_of(text), text_of(tags), NULL, 0) == -1, "wanted seq2seq, lm or classify");
  syn_run_free(r);
  syn_data_free(d);
  syn_model_free(m);
}

static void answers_tags(void) {
  static const int by_char[] = {1, 0, 0, 2, 0}, by_byte[] = {0, 1, 0, 0, 0, 2}, by_token[] = {1, 2, 1, 2, 1};
  static const int by_word[] = {1, 2}, lower[] = {1, 0, 0, 0, 2}, unknown[] = {1, 0, 2}, by_part[] = {1, 0, 2, 0};
  syn_context c;
  syn_context_init(&c, NULL);
  tags_are(&c, "char", 0, "ab cd", "X Y", by_char, 5);
  tags_are(&c, "char", 0, "ab cd", "X Y X Y X", by_token, 5);
  tags_are(&c, "char", 0, "ab cd", "X Y X", NULL, 0);
  tags_are(&c, "char", 0, "ab cd", "", NULL, 0);
  tags_are(&c, "byte", 0, " \xC3\xA9\xC2\xA0" "a", "X Y", by_byte, 6);
  tags_are(&c, "space", 0, " ab \t cd ", "X Y", by_word, 2);
  tags_are(&c, "space", 0, "new words", "X Y", by_word, 2);
  tags_are(&c, "char", 0, "?\t?", "X Y", unknown, 3);
  tags_are(&c, "char", SYN_LOWERCASE, "\xC4\xB0" "b a", "X Y", lower, 5);
  tags_are(&c, "bpe:20", 0, "ab\nee", "X Y", by_part, 4);
  tags_are(&c, "bpe:20", 0, "ab\nee", "X", NULL, 0);
}

/* mlm of a published tokenizer: texts stand between a begin and an end token; the head, a last ff -> norm of the
   encoder's own chain, is no part of a vector. */
static void answers_masked(const char *encoder, const char *path) {
  static const char *const names[] = {"[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "a", "b"};
  syn_limits l = small(1);
  syn_tokenizer_parts parts;
  syn_corruption how;
  syn_text tokens[7];
  syn_context c;
  syn_config k = config_of("tag");
  syn_tokenizer *t;
  syn_model *m;
  syn_data *d;
  syn_run *r;
  float v[8], w[8];
  int i, n;
  const int *ids;
  syn_context_init(&c, NULL);
  memset(&parts, 0, sizeof parts);
  for (i = 0; i < 7; i++) tokens[i] = syn_text_of(names[i]);
  parts.kind = "wordpiece";
  parts.count = 7;
  parts.tokens = tokens;
  parts.special[0] = 0, parts.special[1] = 3, parts.special[2] = 1, parts.special[3] = 2;
  t = syn_tokenizer_from(&c, &parts);
  k.task = "mlm";
  k.encoder = encoder;
  k.src_vocab = syn_tokenizer_size(t);
  m = syn_model_new(&c, &k);
  CHECK(m && t, "%s", c.message);
  syn_model_set_tokenizers(m, t, NULL);
  r = syn_run_new(&c, m, &l);
  CHECK(!syn_run_text(r, text_of("a b b"), nothing_of()) && !syn_run_vector(r, path, 0, 0, w, 8), "%s", c.message);
  ids = syn_run_tokens(r, SYN_SRC, 0, &n);
  CHECK(n == 5 && ids[0] == SYN_BEGIN && ids[1] == syn_tokenizer_id(t, 5) && ids[3] == ids[2] && ids[4] == SYN_END,
        "%d tokens", n);
  CHECK(syn_embed(r, text_of("a b b"), 0, v, 8) == 8 && !memcmp(v, w, sizeof v), "%s: %s", path, c.message);
  d = syn_data_new(&c);
  memset(&how, 0, sizeof how);
  how.first = syn_tokenizer_id(t, 4);
  how.count = k.src_vocab;
  how.mask = 1;
  syn_data_corrupt(d, &how);
  CHECK(!syn_data_add_text(d, m, text_of("a b a"), nothing_of()), "%s", c.message);
  ids = syn_data_row(d, 0, SYN_SRC, &n);
  CHECK(n == 5 && ids[0] == SYN_BEGIN && ids[1] == ids[3] && ids[4] == SYN_END, "%d tokens of a row", n);
  syn_data_free(d);
  syn_run_free(r);
  syn_model_free(m);
}

static void test_answers(void) {
  float p[2];
  int word[2];
  answers_of_classes();
  answers_embed("classify", "encoder.2");
  answers_embed("tag", "encoder.2");
  answers_embed("seq2seq", "encoder.2");
  answers_embed("lm", "decoder.2");
  answers_masked("learn_pos -> types -> res(syn_att(V)) -> norm -> ff(act=gelu) -> norm", "encoder.3");
  answers_masked("learn_pos -> res(ffl) -> norm", "encoder.2");
  answers_masked("learn_pos -> repeat(2, ff -> norm)", "encoder.1.1.1");
  answers_masked("learn_pos -> linear", "encoder.1");
  answers_score("lm");
  answers_score("seq2seq");
  answers_align();
  answers_tags();
  CHECK(!syn_classify(NULL, text_of("a"), p).size && syn_tag(NULL, text_of("a"), word, 2) == -1 &&
            syn_score(NULL, text_of("a"), text_of("a"), p, 2) == -1 && syn_embed(NULL, text_of("a"), 0, p, 2) == -1 &&
            syn_align(NULL, text_of("a"), text_of("a"), word, 2) == -1,
        "a null run");
}

/* -- cancel -- */

typedef struct counter {
  long calls, stop_at; /* stop_at 0: never */
} counter;
static int count_down(void *user) {
  counter *k = (counter *)user;
  return ++k->calls == k->stop_at;
}

/* A training that is cancelled once before call `stop_at` and goes on: hash of its weights. */
static uint64_t cancel_case(long stop_at, long *calls) {
  static const int row[] = {4, 5, 6, 7, 8, 9, 10, 4};
  syn_config k = config_of("lm");
  syn_train_config train;
  syn_options o;
  syn_context c;
  syn_data *d, *valid;
  syn_model *m;
  syn_trainer *t;
  counter count = {0, stop_at};
  uint64_t hash = SYN_HASH_START;
  int i, times = 0;
  syn_status s;
  memset(&o, 0, sizeof o);
  memset(&train, 0, sizeof train);
  o.cancel = count_down;
  o.cancel_user = &count;
  syn_context_init(&c, &o);
  k.dropout = 0.1f;
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  valid = syn_data_new(&c);
  for (i = 0; i < 12; i++) syn_data_add(i % 4 ? d : valid, NULL, 0, row + i % 3, 2 + i % 4);
  train.batch_tokens = 12;
  train.accumulate = 2;
  train.steps = 8;
  train.every = 2;
  train.average = 2;
  train.schedule = "plateau";
  train.patience = 1;
  t = syn_trainer_new(&c, m, &train);
  CHECK(t != NULL, "%s", c.message);
  do {
    s = syn_trainer_run(t, d, valid, NULL, NULL);
    CHECK(s == SYN_OK || (s == SYN_E_CANCELLED && c.status == s && strstr(c.message, "cancelled")), "%s", c.message);
    syn_context_clear(&c);
  } while (s == SYN_E_CANCELLED && ++times < 3);
  CHECK(times == (stop_at > 0) && syn_trainer_state(t)->step == 8 && syn_trainer_state(t)->validations == 4,
        "cancelled %d times at %ld, %ld validations", times, stop_at, (long)syn_trainer_state(t)->validations);
  hash = syn_hash(hash, m->weights, m->floats * sizeof(float));
  hash = syn_hash(hash, &t->state.factor, sizeof(float));
  hash = syn_hash(hash, t->best, t->floats * 2 * sizeof(float));
  *calls = count.calls;
  syn_trainer_free(t);
  syn_data_free(d);
  syn_data_free(valid);
  syn_model_free(m);
  return hash;
}

static void test_cancel(void) {
  syn_config k = config_of("lm");
  syn_options o;
  syn_context c;
  syn_model *m;
  syn_data *d;
  counter count = {0, 1};
  double loss;
  long at, calls, ignored;
  int64_t labels;
  uint64_t whole = cancel_case(0, &calls);
  CHECK(calls > 16, "asked %ld times", calls);
  for (at = 1; at <= calls; at++)
    CHECK(cancel_case(at, &ignored) == whole, "cancelled at %ld: another training", at);
  memset(&o, 0, sizeof o);
  o.cancel = count_down;
  o.cancel_user = &count;
  syn_context_init(&c, &o);
  m = syn_model_new(&c, &k);
  d = syn_data_new(&c);
  syn_data_add(d, NULL, 0, two_src, 3);
  CHECK(syn_model_evaluate(&c, m, d, 0, &loss, &labels) == SYN_E_CANCELLED && loss == 0.0, "%s", c.message);
  syn_data_free(d);
  syn_model_free(m);
}

/* -- what is refused or absent -- */

static void absent_says(syn_context *c, int refused, const char *word) {
  CHECK(refused && c->status && strstr(c->message, word), "wanted '%s': %s", word, c->message);
  syn_context_clear(c);
}

/* Names, numbers and pieces of a tokenizer that has the tokens of another program. */
static void absent_names(syn_context *c, const syn_tokenizer_parts *parts, int count) {
  syn_tokenizer *t = syn_tokenizer_from(c, parts), *bytes = syn_tokenizer_learn(c, "byte", 0, NULL, 0);
  char out[8], again[8];
  int id, size = syn_tokenizer_size(t);
  CHECK(t && bytes && size > count, "%s: %s", parts->kind, c->message);
  for (id = 0; id < size; id++) {
    size_t n = syn_tokenizer_name(t, id, out, sizeof out), k;
    CHECK(n < sizeof out && strlen(out) == n && syn_tokenizer_name(t, id, NULL, 5) == n, "%s %d: %s", parts->kind, id,
          out);
    for (k = 0; k < n + 1; k++) {
      memset(again, '?', sizeof again);
      CHECK(syn_tokenizer_name(t, id, again, k) == n && again[k] == '?' && (!k || !strncmp(again, out, strlen(again))),
            "%s %d: %lu bytes", parts->kind, id, (unsigned long)k);
    }
    CHECK(id < SYN_FIRST_TOKEN || syn_tokenizer_number(t, id) < 0 ||
              syn_tokenizer_id(t, syn_tokenizer_number(t, id)) == id, "%s %d: another number", parts->kind, id);
  }
  CHECK(syn_tokenizer_number(t, -1) == -1 && syn_tokenizer_number(t, size) == -1 &&
            syn_tokenizer_number(NULL, 1) == -1 && syn_tokenizer_id(t, -1) == -1 &&
            syn_tokenizer_id(t, 1000) == -1 && syn_tokenizer_id(NULL, 1) == -1 &&
            syn_tokenizer_id(bytes, 7) == 7 && syn_tokenizer_number(bytes, 7) == 7 && syn_tokenizer_id(bytes, -7) == -1,
        "%s: numbers", parts->kind);
  CHECK(syn_tokenizer_name(NULL, 5, out, 8) == 0 && !*out &&
            syn_tokenizer_name(bytes, SYN_FIRST_TOKEN + 65, out, 8) == 1 && !strcmp(out, "A") &&
            syn_tokenizer_name(bytes, -1, out, 8) == syn_tokenizer_name(bytes, SYN_UNKNOWN, again, 8) &&
            syn_tokenizer_name(t, size, out, 8) == syn_tokenizer_name(t, size + 1, again, 8) && !strcmp(out, again) &&
            syn_tokenizer_name(t, -1, again, 8) == strlen(again), "%s: names", parts->kind);
  CHECK(syn_tokenizer_piece(t, size, 1).size == syn_tokenizer_piece(t, -1, 1).size &&
            syn_tokenizer_piece(NULL, 5, 1).size == 0, "%s: pieces", parts->kind);
  syn_tokenizer_free(t), syn_tokenizer_free(bytes);
}

static void test_absent_pieces(void) {
  static const syn_text gpt2[] = {{"a", 1}, {"b", 1}, {"ab", 2}, {"\xC4\xA0", 2}, {"<e>", 3}};
  static const syn_text others[] = {{"<unk>", 5}, {"a", 1}, {"b", 1}, {"<0x0A>", 6}, {"\xE2\x96\x81" "a", 4}};
  static const syn_text word[] = {{"[UNK]", 5}, {"a", 1}, {"##b", 3}, {"##", 2}, {"[X]", 3}};
  static const unsigned char types[] = {0, 0, 0, 0, SYN_PIECE_CONTROL};
  static const unsigned char byte_types[] = {SYN_PIECE_CONTROL, 0, 0, SYN_PIECE_BYTE, 0};
  static const unsigned char wrong_types[] = {SYN_PIECE_CONTROL, SYN_PIECE_BYTE, 0, 0, 0};
  static const float scores[] = {0.0f, -1.0f, -2.0f, -3.0f, -4.0f};
  static const int merge[] = {0, 1};
  static const char *const kinds[] = {"gpt2", "llama", "unigram", "wordpiece"};
  syn_tokenizer_parts p, at;
  syn_tokenizer *t;
  syn_context c;
  unsigned char saved[400], other[400];
  size_t size;
  int i;
  syn_context_init(&c, NULL);
  for (i = 0; i < 4; i++) {
    memset(&p, 0, sizeof p);
    p.kind = kinds[i], p.count = 5;
    p.tokens = !i ? gpt2 : i < 3 ? others : word;
    p.types = i == 1 || i == 2 ? byte_types : types;
    if (!i) p.merges = merge, p.n_merges = 1;
    if (i == 1 || i == 2) p.scores = scores, p.options = SYN_PIECES_BYTES;
    p.special[0] = p.special[2] = p.special[3] = -1, p.special[1] = i ? 0 : -1;
    absent_names(&c, &p, 4);
    at = p, at.kind = NULL;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "the kind '' given");
    at.kind = "gtp2";
    absent_says(&c, !syn_tokenizer_from(&c, &at), "the kind 'gtp2' given");
    at = p, at.tokens = NULL;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "no list of tokens");
    at = p, at.merges = NULL, at.n_merges = 1;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "no list of merges");
    absent_says(&c, !syn_tokenizer_from(&c, NULL), "no parts of a tokenizer");
    at = p, at.options = 1 << 20;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "do not fit together");
    at = p, at.special[2] = 5;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "special numbers");
    at.special[2] = -2;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "special numbers");
    at = p, at.scores = p.scores ? NULL : scores;
    absent_says(&c, !syn_tokenizer_from(&c, &at), p.scores ? "without scores" : "with scores");
    at = p, at.merges = merge, at.n_merges = (size_t)1 << 30;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "1073741824 merges");
    at = p, at.count = (size_t)1 << 30;
    absent_says(&c, !syn_tokenizer_from(&c, &at), "1073741824 tokens");
    at = p, at.merges = merge, at.n_merges = 1;
    if (i) absent_says(&c, !syn_tokenizer_from(&c, &at), "1 merges");
    at = p, at.types = wrong_types;
    if (i == 1 || i == 2) absent_says(&c, !syn_tokenizer_from(&c, &at), "the form <0x0A>");
    /* its saved form, with a number of the header that does not fit */
    t = syn_tokenizer_from(&c, &p);
    size = syn_tokenizer_save(t, saved, sizeof saved);
    CHECK(size > 56 && size < sizeof saved && syn_tokenizer_save(t, NULL, 400) == size &&
              syn_tokenizer_save(t, other, size - 1) == size, "%lu bytes", (unsigned long)size);
    syn_tokenizer_free(t);
    for (at.count = 0; at.count < 12; at.count++) {
      memcpy(other, saved, size);
      memset(other + 8 + 4 * at.count, 0x7F, 4);
      absent_says(&c, !syn_tokenizer_load(&c, other, size), "tokenizer");
    }
    memcpy(other, saved, size), other[20] = 5; /* a size, but nothing learned here */
    t = syn_tokenizer_load(&c, other, size);
    CHECK(!t == (c.status != SYN_OK), "%s", c.message);
    syn_tokenizer_free(t);
    syn_context_clear(&c);
    absent_says(&c, !syn_tokenizer_load(&c, saved, size - 1), "tokenizer");
    absent_says(&c, !syn_tokenizer_load(&c, saved, 20), "tokenizer");
    absent_says(&c, !syn_tokenizer_load(&c, NULL, size), "");
  }
}

/* A merge of saved byte pair encoding that is not of two tokens before it, or twice. */
static void test_absent_merges(void) {
  static const char *const lines[] = {"abab cdcd", "abab cd"};
  syn_context c;
  syn_tokenizer *t;
  unsigned char saved[600], other[600];
  size_t size, at;
  int i;
  syn_context_init(&c, NULL);
  t = learn(&c, "bpe:20", lines, 2);
  size = syn_tokenizer_save(t, saved, sizeof saved);
  CHECK(t && size < sizeof saved && t->merges.count > 2, "%lu merges", t ? (unsigned long)t->merges.count : 0ul);
  at = 28 + 4 * (size_t)syn__get32(saved + 20);
  for (i = 0; i < 6; i++) {
    static const unsigned char wrong[] = {3, 0, 200, 200};
    memcpy(other, saved, size);
    if (i < 4) other[at + 4 * ((size_t)i % 2)] = wrong[i];
    if (i == 4) memcpy(other + at + 8, other + at, 8);
    if (i == 5) other[at] = other[at + 8] = 19;
    absent_says(&c, !syn_tokenizer_load(&c, other, size), "a new pair of tokens before it");
  }
  for (i = 8; i < 28; i += 4) {
    memcpy(other, saved, size);
    memset(other + i, 0x7F, 4);
    absent_says(&c, !syn_tokenizer_load(&c, other, size), "do not begin one");
  }
  memcpy(other, saved, size), other[0]++;
  absent_says(&c, !syn_tokenizer_load(&c, other, size), "do not begin one");
  memcpy(other, saved, size), other[16] = other[20];
  absent_says(&c, !syn_tokenizer_load(&c, other, size), "do not begin one");
  syn_tokenizer_free(t);
  /* byte has neither tokens nor merges, words and characters no merges */
  for (i = 0; i < 4; i++) {
    t = learn(&c, i ? "char" : "byte", lines, 2);
    size = syn_tokenizer_save(t, saved, sizeof saved);
    CHECK(t && size < sizeof saved - 20, "%lu bytes", (unsigned long)size);
    if (!size || size > sizeof saved - 20) return;
    memset(saved + size, 0, 20);
    if (i != 2) saved[20]++;
    if (i == 1 || i == 2) saved[24]++;
    if (i == 3) saved[20] = 200;
    absent_says(&c, !syn_tokenizer_load(&c, saved, size + 20), i != 3 ? "" : "do not begin one");
    syn_tokenizer_free(t);
  }
}

/* The bytes of a text as characters; what begins none is U+FFFD, whatever the callback says. */
typedef struct absent_out {
  char text[64];
  size_t used;
  long stop_at, calls;
} absent_out;
static int absent_take(void *user, syn_text piece) {
  absent_out *o = (absent_out *)user;
  memcpy(o->text + o->used, piece.at, piece.size);
  o->used += piece.size;
  return ++o->calls == o->stop_at;
}
static void test_absent_bytes(void) {
  static const char *const texts[] = {"a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z", "\xC1z", "\xF5z", "\x80z",
                                      "\xC3z", "\xE2\x82z", "\xF0\x9F\x98\xC3\xA4"};
  static const char *const wanted[] = {"a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z", "\xEF\xBF\xBDz", "\xEF\xBF\xBDz",
                                       "\xEF\xBF\xBDz", "\xEF\xBF\xBDz", "\xEF\xBF\xBDz", "\xEF\xBF\xBD\xC3\xA4"};
  size_t i, k;
  int stop_at;
  for (i = 0; i < sizeof texts / sizeof *texts; i++)
    for (stop_at = 0; stop_at < 3; stop_at++) {
      syn__text_stream s;
      absent_out o;
      int stops = 0;
      memset(&s, 0, sizeof s);
      memset(&o, 0, sizeof o);
      o.stop_at = stop_at;
      s.call = absent_take, s.user = &o;
      for (k = 0; texts[i][k]; k++) stops += syn__stream_byte(&s, texts[i] + k) != 0;
      CHECK(!strcmp(o.text, wanted[i]) && stops == (stop_at > 0), "%lu: '%s', %d stops", (unsigned long)i, o.text,
            stops);
    }
}

/* The fourth largest maximum of the blocks of a vocabulary, for a beam of two. */
static void test_absent_floor(void) {
  static const float maxima[][6] = {{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}, {3, 3, 3, 3, 3, 3}, {2, 9, 1, 8, 1, 7}};
  static const float wanted[] = {3, 3, 3, 2};
  syn_decoder d;
  syn_model m;
  float high[4];
  int i;
  memset(&d, 0, sizeof d);
  memset(&m, 0, sizeof m);
  d.m = &m, d.config.beam = 2;
  m.config.tgt_vocab = 6 * SYN__BLOCK;
  for (i = 0; i < 4; i++) {
    float got = syn__beam_floor(&d, high, maxima[i], 0.5f);
    CHECK(got == wanted[i] + 0.5f, "%d: %g", i, (double)got);
  }
  m.config.tgt_vocab = 3 * SYN__BLOCK - 1;
  CHECK(syn__beam_floor(&d, high, maxima[0], 0.5f) == -INFINITY, "three blocks");
}

static int absent_cancel(void *user) { return *(int *)user; }

/* Functions without what they need. */
static void test_absent_arguments(void) {
  static const char *const tasks[] = {"seq2seq", "lm"};
  static const syn_text source[] = {{"good day", 8}};
  syn_options o;
  syn_context c;
  int i, stop = 0, count = 7;
  memset(&o, 0, sizeof o);
  o.cancel = absent_cancel, o.cancel_user = &stop;
  syn_context_init(&c, &o);
  for (i = 0; i < 2; i++) {
    syn_model *m = text_model(&c, tasks[i], "space", "space");
    syn_limits l = small(1);
    syn_run *r = syn_run_new(&c, m, &l);
    syn_decoder *d = syn_decoder_new(&c, m, NULL);
    syn_trainer *t = syn_trainer_new(&c, m, NULL);
    syn_data *data = syn_data_new(&c);
    static const int ids[] = {4, 5, 3, 0}, begun[] = {2, 5, 6, 0}, next[] = {5, 6, 3, 0};
    syn_batch b = {1, ids, begun, next, 4, 4, NULL, NULL, NULL};
    syn_value v;
    syn_gradient g;
    double loss = 1;
    int64_t labels = 1;
    float out[8];
    const syn_node *n;
    CHECK(r && d && t && m && m->g.n_nodes, "%s", c.message);
    if (!r || !d || !t) return;
    CHECK(!syn_run_forward(r, &b), "%s", c.message);
    n = m->g.nodes[0];
    CHECK(syn_run_node(r, n, NULL, 0, NULL) && syn_run_node(r, n, NULL, 0, &v) && v.x, "%s", n->path);
    CHECK(!syn_run_node(r, n, NULL, 1, &v) && !v.x, "%s", n->path);
    CHECK(!syn_run_node(NULL, n, NULL, 0, &v) && !syn_run_node(r, NULL, NULL, 0, &v) &&
              !syn_run_node(r, n, "none", 0, NULL) && !syn_run_node(r, n, NULL, -1, &v) &&
              !syn_run_node(r, n, NULL, 9, &v) && !v.x, "values of no node");
    CHECK(!syn_run_tokens(NULL, 0, 0, &count) && !count && !syn_run_tokens(r, -1, 0, NULL) &&
              !syn_run_tokens(r, 3, 0, NULL) && !syn_run_tokens(r, 1, -1, NULL) && !syn_run_tokens(r, 1, 9, NULL) &&
              !syn_run_tokens(r, 2, 1, NULL), "tokens of no sentence");
    CHECK(syn_run_tokens(r, 2, 0, &count) && count == 3, "%d labels", count);
    CHECK(syn_run_value(NULL, "out", 0, NULL) == SYN_E_VALUE && syn_run_class_name(NULL, 0, 0, 0, NULL).size == 0,
          "no run");
    absent_says(&c, syn_run_value(r, NULL, 0, NULL) == SYN_E_VALUE, "no path");
    CHECK(!syn_run_vector(r, m->g.nodes[0]->path, 0, SYN_VECTOR_FIRST | SYN_VECTOR_UNIT, NULL, 8), "%s", c.message);
    absent_says(&c, syn_run_vector(r, m->g.nodes[0]->path, 0, -1, out, 8) == SYN_E_VALUE, "not -1");
    absent_says(&c, syn_run_vector(r, "out.w", 0, 0, out, 8) == SYN_E_SHAPE, "a vector of width 8");
    CHECK(syn_decoder_run_texts(NULL, source, NULL, 1, NULL, NULL) == SYN_E_VALUE, "no decoder");
    if (!i) absent_says(&c, syn_decoder_run_texts(d, NULL, NULL, 1, NULL, NULL) != SYN_OK, "no array of sources");
    if (sizeof(size_t) > 4)
      absent_says(&c, syn_decoder_run_texts(d, source, NULL, (size_t)INT_MAX + 1, NULL, NULL) != SYN_OK,
                  "2147483648 texts");
    CHECK(!syn_decoder_run_texts(d, source, NULL, 0, NULL, NULL) &&
              !syn_decoder_run_texts(d, source, source, 1, NULL, NULL), "%s", c.message);
    stop = 1;
    absent_says(&c, syn_decoder_run_texts(d, source, source, 1, NULL, NULL) == SYN_E_CANCELLED, "cancelled");
    absent_says(&c, syn_decoder_run(d, &b, NULL, NULL) == SYN_E_CANCELLED, "cancelled");
    stop = 0;
    syn__fail(&c, SYN_E_VALUE, "kept");
    CHECK(!syn_trainer_new(&c, m, NULL), "a trainer");
    CHECK(syn_model_evaluate(&c, m, data, 0, &loss, &labels) != SYN_OK && loss == 0, "evaluation");
    CHECK(syn_model_evaluate_rows(&c, m, data, &loss, &labels) != SYN_OK, "rows");
    CHECK(syn_trainer_evaluate(t, data, NULL, NULL) != SYN_OK, "after an error");
    absent_says(&c, 1, "kept");
    syn_decoder_set_limit(NULL, 3), syn_decoder_set_allowed(NULL, NULL), syn_decoder_set_banned(NULL, NULL);
    syn_decoder_set_limit(d, 3), syn_decoder_set_allowed(d, NULL);
    CHECK(d->new_tokens == 3 && !d->allowed, "limit %d", d->new_tokens);
    syn_decoder_set_limit(d, -3);
    absent_says(&c, 1, "a limit of -3 tokens");
    absent_says(&c, syn_model_evaluate(&c, NULL, data, 0, NULL, NULL) != SYN_OK, "no model");
    absent_says(&c, syn_model_evaluate(&c, m, NULL, 0, NULL, NULL) != SYN_OK, "no data");
    absent_says(&c, syn_model_evaluate(&c, m, data, 1, NULL, NULL) != SYN_OK, "batches of 1 tokens");
    absent_says(&c, syn_model_evaluate(&c, m, data, INT_MAX, NULL, NULL) != SYN_OK, "tokens, wanted 2 to");
    absent_says(&c, syn_model_evaluate_rows(&c, NULL, data, &loss, &labels) != SYN_OK, "no model");
    absent_says(&c, syn_model_evaluate_rows(&c, m, NULL, &loss, &labels) != SYN_OK, "no data");
    absent_says(&c, syn_model_evaluate_rows(&c, m, data, NULL, &labels) != SYN_OK, "no loss");
    absent_says(&c, syn_model_evaluate_rows(&c, m, data, &loss, NULL) != SYN_OK, "no labels");
    absent_says(&c, syn_model_evaluate_rows(&c, m, data, &loss, &labels) != SYN_OK, "no data");
    CHECK(syn_trainer_evaluate(NULL, data, NULL, NULL) != SYN_OK && syn_trainer_step(NULL, &b, 1, NULL) != SYN_OK &&
              syn_trainer_accumulate(NULL, &b, 0, NULL) != SYN_OK && syn_trainer_update(NULL, NULL, NULL) != SYN_OK &&
              syn_trainer_next(NULL, data, &b) != SYN_OK && !syn_trainer_gradient(NULL, NULL) &&
              !syn_trainer_gradient(t, NULL), "no trainer");
    absent_says(&c, !syn_trainer_new(&c, NULL, NULL), "no model");
    absent_says(&c, syn_trainer_evaluate(t, NULL, NULL, NULL) != SYN_OK, "no data");
    absent_says(&c, syn_trainer_next(t, NULL, &b) != SYN_OK, "no data");
    absent_says(&c, syn_trainer_step(t, NULL, 1, NULL) != SYN_OK, "no batch");
    memset(&g, 0, sizeof g);
    absent_says(&c, syn_trainer_accumulate(t, NULL, 0, &g) != SYN_OK, "no batch");
    absent_says(&c, syn_trainer_accumulate(t, &b, 0, NULL) != SYN_OK, "no gradient");
    absent_says(&c, syn_trainer_accumulate(t, &b, -1, &g) != SYN_OK, "batch -1 of a step");
    absent_says(&c, syn_trainer_accumulate(t, &b, 1, &g) != SYN_OK, "batch 1 of a step");
    absent_says(&c, syn_trainer_update(t, &g, NULL) != SYN_OK, "a gradient of 0 numbers");
    g.x = out;
    absent_says(&c, syn_trainer_accumulate(t, &b, 0, &g) != SYN_OK, "not used yet");
    syn_data_free(data), syn_trainer_free(t), syn_decoder_free(d), syn_run_free(r), syn_model_free(m);
  }
  CHECK(syn_text_invalid(text_of("a\xFF")) == 1 && syn_text_normalize(text_of("A"), SYN_LOWERCASE, NULL, 3) == 1,
        "texts");
  {
    syn_text none = {NULL, 4};
    char small_out[2];
    CHECK(syn_text_invalid(none) == 0 && syn_text_normalize(none, 0, small_out, 2) == 0 && !*small_out &&
              syn_text_normalize(text_of("ab"), 0, small_out, 0) == 2, "no text");
  }
}

/* Each update is refused: the rate is halved down to 1/1024, and the weights stay. With `ema` their mean, too. */
static void test_absent_halve(void) {
  int i;
  for (i = 0; i < 4; i++) {
    syn_config k = config_of("lm");
    syn_train_config train;
    syn_context c;
    syn_model *m;
    syn_trainer *t;
    syn_data *d, *valid;
    uint64_t before;
    syn_context_init(&c, NULL);
    memset(&train, 0, sizeof train);
    train.schedule = "constant", train.optimizer = "sgd", train.lr = 3e38f, train.steps = 4, train.batch_tokens = 20;
    train.halve = i < 3, train.ema = i % 2 ? 0.9f : 0.0f;
    train.every = i < 2 ? 1 : 0;
    m = syn_model_new(&c, &k);
    d = syn_data_new(&c), valid = syn_data_new(&c);
    syn_data_add(d, NULL, 0, two_src, 3), syn_data_add(valid, NULL, 0, two_src, 2);
    t = syn_trainer_new(&c, m, &train);
    before = syn_hash(SYN_HASH_START, m->weights, m->floats * sizeof(float));
    CHECK(t && syn_trainer_run(t, d, i < 2 ? valid : NULL, NULL, NULL) == SYN_E_VALUE &&
              strstr(c.message, "the weights stay"), "%s", c.message);
    CHECK(syn_trainer_state(t)->factor == (i < 3 ? 1.0f / 1024.0f : 1.0f) && !syn_trainer_state(t)->step, "factor %g",
          (double)syn_trainer_state(t)->factor);
    CHECK(syn_hash(SYN_HASH_START, m->weights, m->floats * sizeof(float)) == before, "%d: other weights", i);
    syn_trainer_free(t), syn_data_free(d), syn_data_free(valid), syn_model_free(m);
  }
}

/* Pieces that a user has added are found first and never merged; special numbers in the middle of others. */
static void test_absent_user(void) {
#define ABSENT_SPACE "\xE2\x96\x81"
  static const syn_text tokens[] = {{"a", 1}, {"<s>", 3}, {"b", 1}, {"<unk>", 5}, {"</s>", 4}, {"ab", 2}, {"XY", 2},
                                    {"aXY", 3}, {"XYb", 3}, {ABSENT_SPACE, 3}, {ABSENT_SPACE "ab", 5}, {"X", 1},
                                    {ABSENT_SPACE "a", 4}};
  static const unsigned char types[] = {0, SYN_PIECE_CONTROL, 0, 0, SYN_PIECE_CONTROL, 0, SYN_PIECE_USER, 0, 0, 0, 0, 0,
                                        SYN_PIECE_UNUSED};
  static const float scores[] = {-1, 0, -2, 0, 0, -3, 0, -4, -5, -6, -7, -8, -9};
  static const int merges[] = {0, 2, 9, 5}, wanted[] = {10, 6, 2};
  syn_tokenizer_parts p;
  syn_context c;
  int i, k;
  syn_context_init(&c, NULL);
  for (i = 0; i < 3; i++) {
    syn_tokenizer *t, *again;
    unsigned char saved[600];
    char back[40], other[40];
    int ids[20], same[20], n, m;
    size_t size;
    memset(&p, 0, sizeof p);
    p.kind = i == 2 ? "unigram" : "llama", p.count = 13, p.tokens = tokens, p.types = types;
    if (i == 1) p.merges = merges, p.n_merges = 2;
    else p.scores = scores;
    p.options = SYN_PIECES_SPACE;
    p.special[0] = -1, p.special[1] = 3, p.special[2] = 1, p.special[3] = 4;
    t = syn_tokenizer_from(&c, &p);
    CHECK(t != NULL, "%s", c.message);
    n = syn_tokenizer_encode(t, text_of("abXYb"), ids, 20);
    CHECK(n == 3 || i == 2, "%d: %d tokens", i, n);
    for (k = 0; k < 3 && k < n && i < 2; k++)
      CHECK(syn_tokenizer_number(t, ids[k]) == wanted[k], "%d: token %d is %d", i, k, syn_tokenizer_number(t, ids[k]));
    for (k = 0; k < 13; k++)
      CHECK(syn_tokenizer_number(t, syn_tokenizer_id(t, k)) == k, "%d: number %d", i, k);
    CHECK(syn_tokenizer_number(t, SYN_PAD) == -1 && syn_tokenizer_id(t, 3) == SYN_UNKNOWN &&
              syn_tokenizer_id(t, 1) == SYN_BEGIN && syn_tokenizer_id(t, 4) == SYN_END, "special numbers");
    syn_tokenizer_name(t, syn_tokenizer_id(t, 10), back, sizeof back);
    CHECK(!strcmp(back, ABSENT_SPACE "ab"), "'%s'", back);
    size = syn_tokenizer_save(t, saved, sizeof saved);
    again = syn_tokenizer_load(&c, saved, size);
    m = syn_tokenizer_encode(again, text_of("abXYb"), same, 20);
    CHECK(again && m == n && !memcmp(ids, same, (size_t)n * sizeof *ids), "%d: another when loaded: %s", i, c.message);
    syn_tokenizer_decode(t, ids, n, back, sizeof back), syn_tokenizer_decode(again, ids, n, other, sizeof other);
    CHECK(!strcmp(back, "abXYb") && !strcmp(back, other), "%d: '%s', '%s'", i, back, other);
    memset(saved + 56, 255, 3); /* the bytes of the first token */
    absent_says(&c, !syn_tokenizer_load(&c, saved, size), "tokenizer");
    syn_tokenizer_free(t), syn_tokenizer_free(again);
  }
#undef ABSENT_SPACE
}

/* Saved words that are none; more characters than byte pair encoding may have. */
static void test_absent_words(void) {
  static const char *const lines[] = {"good day", "bad day", "abcdefghijklmnopqrstuvwxyz"};
  syn_context c;
  unsigned char saved[300], other[300];
  syn_tokenizer *t;
  size_t size, n;
  int i;
  syn_context_init(&c, NULL);
  t = learn(&c, "space", lines, 2);
  size = syn_tokenizer_save(t, saved, sizeof saved);
  n = syn__get32(saved + 20);
  CHECK(t && size < sizeof saved && n == 3, "%lu words", (unsigned long)n);
  for (i = 0; i < 5; i++) {
    const size_t at = 28 + 4 * n;
    memcpy(other, saved, size);
    if (i == 0) other[at] = 'x';
    if (i == 1) other[at + 2] = ' ';
    if (i == 2) other[at + 2] = 0xFF;
    if (i == 3) other[28] = 0;
    if (i == 4) memset(other + 28, 255, 4);
    absent_says(&c, !syn_tokenizer_load(&c, other, size), i < 4 ? "one new word" : "inside the bytes given");
  }
  syn_tokenizer_free(t);
  absent_says(&c, !learn(&c, "bpe:12", lines, 3), "wanted SIZE");
}

/* A decoder that runs takes nothing new from its callbacks. */
static int absent_busy(void *user, int sentence, int token) {
  syn_decoder *d = (syn_decoder *)user;
  const syn_text source = {"good", 4};
  (void)sentence, (void)token;
  syn_decoder_set_allowed(d, (const unsigned char *)"x"), syn_decoder_set_limit(d, 2);
  CHECK(syn_decoder_run_texts(d, &source, &source, 1, NULL, NULL) != SYN_OK && !d->allowed && !d->new_tokens, "busy");
  syn_context_clear(d->c);
  return 1;
}
static void test_absent_busy(void) {
  static const int ids[] = {4, 5, 3, 0}, begun[] = {2, 0};
  const syn_text source = {"good", 4};
  syn_batch b = {1, ids, begun, NULL, 4, 2, NULL, NULL, NULL};
  syn_context c;
  syn_model *m;
  syn_decoder *d;
  syn_data *data;
  syn_text large = {"good", 0};
  int i;
  syn_context_init(&c, NULL);
  m = text_model(&c, "seq2seq", "space", "space");
  d = syn_decoder_new(&c, m, NULL);
  CHECK(d && syn_decoder_run(d, &b, absent_busy, d) == SYN_OK, "%s", c.message);
  data = syn_data_new(&c);
  large.size = (size_t)SYN__DATA_LENGTH + 1;
  for (i = 0; i < 2; i++)
    absent_says(&c, syn_data_add_text(data, m, i ? source : large, i ? large : source) != SYN_OK, "too many bytes");
  CHECK(syn_data_count(data) == 0, "rows");
  syn_data_free(data);
  CHECK(syn_model_pack(m) == SYN_OK, "%s", c.message);
  absent_says(&c, syn_decoder_run_texts(d, &source, &source, 1, NULL, NULL) != SYN_OK, "make a new one");
  absent_says(&c, syn_decoder_run(d, &b, NULL, NULL) != SYN_OK, "make a new one");
  syn_decoder_free(d), syn_model_free(m);
}

/* Weights of the last layer that are all 0, or very large: the smallest of equal tokens, as with logits. */
static void test_absent_bounds(void) {
  static const int begun[] = {2, 5};
  static const float by[] = {0.0f, 1e20f};
  int i;
  for (i = 0; i < 4; i++) {
    syn_config k = config_of("lm");
    syn_batch b = {1, NULL, begun, NULL, 0, 2, NULL, NULL, NULL};
    syn_decode_config how;
    syn_context c;
    syn_model *m;
    syn_decoder *d, *scored;
    const int *one, *other;
    int n[2] = {0, 0};
    size_t p, at;
    syn_context_init(&c, NULL);
    memset(&how, 0, sizeof how);
    k.tgt_vocab = SYN__BOUNDS_LEAST / 8 + 20; /* from here on bounds of the logits are used */
    k.decoder = "pos -> res_nd(syn_att(V)) -> norm";
    m = syn_model_new(&c, &k);
    for (p = 0; p < syn_model_param_count(m); p++) {
      const syn_param *w = syn_model_param(m, p);
      const int norm = strstr(w->name, ".gain") != NULL || strstr(w->name, ".g") != NULL;
      if (i < 2 ? norm : !strcmp(w->name, "out.w") || !strcmp(w->name, "out.b"))
        for (at = 0; at < w->size; at++) w->x[at] *= by[i % 2];
    }
    d = syn_decoder_new(&c, m, &how);
    how.score = 1;
    scored = syn_decoder_new(&c, m, &how);
    CHECK(d && scored && !syn_decoder_run(d, &b, NULL, NULL) && !syn_decoder_run(scored, &b, NULL, NULL), "%d: %s", i,
          c.message);
    one = syn_decoder_output(d, 0, 0, &n[0], NULL), other = syn_decoder_output(scored, 0, 0, &n[1], NULL);
    CHECK(n[0] == n[1] && n[0] > 0 && !memcmp(one, other, (size_t)n[0] * sizeof *one), "%d: %d and %d tokens", i, n[0],
          n[1]);
    syn_decoder_free(d), syn_decoder_free(scored), syn_model_free(m);
  }
}

int main(void) {
  test_values();
  test_networks();
  test_memory();
  test_classify();
  test_tag();
  test_cut();
  test_texts();
  test_answers();
  test_cancel();
  test_absent_pieces();
  test_absent_merges();
  test_absent_bytes();
  test_absent_floor();
  test_absent_arguments();
  test_absent_halve();
  test_absent_user();
  test_absent_words();
  test_absent_busy();
  test_absent_bounds();
  return CHECK_END("values");
}
