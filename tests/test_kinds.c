/* Every kind of layer inside small networks: gradients, step = full pass, causality, padding, files,
   threads and rows of kernels, dropout. A kind, score, activation or choice without a case fails.

   With the name of a file, the same checks (with 7 seeds) over its networks instead, a
   line each: table|row|encoder|decoder; then each must learn to copy. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"
#include "pool.h"

typedef struct net {
  const char *task, *encoder, *decoder, *tie;
} net;

/* $D is d_model. Most cases are made from the attention texts below: */
static const char *const attentions[] = {
    "V", "V, heads=1", "V, c=3", "R", "R, heads=1", "Fix", "FR", "FR, k=2", "D", "D, c=3", "FD",
    "FD, a=2", "FD, a=2, b=7", "D, shared=1", "D, shared=1, heads=1", "D+V, shared=1",
    "V+D, shared=1, c=5", "R+V", "R+V, mix=sum", "FR+D+V", "D+FD", "Fix+V, mix=alpha", "R+FR+Fix",
    "R, mix=free", "Fix, mix=free, tile=3", "V, mix=free, kv=1", "D+V+T, mix=free, shared=1",
    "R, softmax=0", "Fix, softmax=0", "FR, softmax=0", "R+Fix, softmax=0",
    "R+FR, softmax=0, mix=sum", "R, tile=3", "Fix, tile=2", "FR, tile=3", "D, tile=3", "FD, tile=4",
    "R+D+V, tile=3", "D+V, tile=3, shared=1", "R, tile=3, softmax=0", "D+R, tile=2, mix=sum",
    "FD+FR+V+R+D+Fix", "D, heads=4, tile=1", "Conv", "Conv, f=5, tile=4", "CRC", "CRC, f=1, f2=3",
    "CRC, f=3, f2=1, c=3", "BD", "BD, m=3, c=5", "BCRC, m=3", "BCRC, f=5, m=2, tile=3", "GLU",
    "GLU, tile=2, heads=1", "GLU+Conv, mix=sum", "D+BD+V, shared=1, m=5", "CRC+D, shared=1, f=11",
    "V, bias=1", "V, heads=4, kv=2, bias=1, scale=0.4", "V, kv=1, window=3", "R+V, bias=1, window=2, scale=-1",
    "D+V, shared=1, bias=1, scale=2, kv=1", "R, window=3, bias=1", "FR, softmax=0, window=2",
    "GLU+V+Conv, heads=4, kv=1, window=4, tile=5", "FD+D, window=20, bias=1",
    "T", "T, heads=1, c=3", "T, tile=3", "T, softmax=0", "T, softmax=0, tile=4, window=3", "R+T",
    "T+V, bias=1, window=4", "D+T+FR, tile=5, mix=sum", "T+Fix+R, tile=2", "V+T, tile=20, kv=1",
    "V+R+Fix+FR+D+FD+Conv+CRC+BD+BCRC+GLU+T, m=5",
    "T+GLU+BCRC+BD+CRC+Conv+FD+D+FR+Fix+R+V, tile=3, m=2, f2=5"};

static const net nets[] = {
    {"seq2seq", "pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm",
     "pos -> repeat(2, res_nd(mh_dot_self_att) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm", NULL},
    {"seq2seq", "learn_pos -> res_d(syn_att(R+V)) -> rms_norm",
     "learn_pos -> res_d(syn_att(D)) -> res(mh_dot_src_att(heads=1, scale=0.5) -> dropout)", "all"},
    {"seq2seq", "id", "mh_dot_src_att(c=3, scale=1)", "none"},
    {"seq2seq", "pos -> res_nd(mh_dot_self_att(4, bias=1, kv=2, window=2))",
     "res_nd(mh_dot_self_att(bias=1, kv=1, scale=1)) -> res_nd(mh_dot_att(4, kv=2, bias=1)) -> mh_dot_src_att(kv=1)",
     NULL},
    {"seq2seq", "linear(6) -> ff(10, act=tanh)", "res(mh_dot_src_att(heads=4)) -> linear(5)", "none"},
    {"seq2seq", "pos -> repeat(2, res_nd(ffl)) -> norm",
     "pos -> repeat(2, res_nd(mh_dot_src_att(source=increasing)))", NULL},
    {"seq2seq", "repeat(2, res_nd(syn_att(R))) -> rms_norm -> dropout",
     "repeat(2, res(mh_dot_src_att(source=decreasing))) -> norm", "out"},
    {"seq2seq", "pos -> ffl(6) -> res_d(ffl) -> repeat(2, ffl(7)) -> norm -> id",
     "mh_dot_att(source=decreasing) -> repeat(2, res(mh_dot_att(source=increasing))) ->"
     " mh_dot_att(source=upper) -> mh_dot_att(source=decreasing)", NULL},
    {"seq2seq", "repeat(2, res(ff))", "repeat(2, res(mh_dot_src_att(source=increasing)))", NULL},
    {"seq2seq", "pos -> repeat(2, res_nd(ffl)) -> norm",
     "universal(2, repeat(2, res_nd(mh_dot_att(source=increasing)) -> res_nd(mh_dot_att(source=decreasing))))"
     " -> norm", NULL},
    {"seq2seq", "universal(2, res_nd(syn_att(R+V, dropout=0.3)))",
     "universal(3, res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm", "all"},
    {"seq2seq", "linear(6)", "mlp_src_att(5) -> linear", "none"},
    {"seq2seq", "pos -> res_nd(ffl)", "concat(id | mlp_att) -> ff(act=tanh) -> res(mlp_att(20))", NULL},
    {"seq2seq", "id", "res(dot_src_att(s=3)) -> universal(2, res(mlp_att(3)) -> res(dot_src_att))", NULL},
    {"lm", NULL, "ff(8, act=relu) -> linear", NULL},
    {"lm", NULL, "ff(8, act=gelu) -> linear(6, bias=0)", "none"},
    {"lm", NULL, "ff(8, act=tanh) -> ff", "out"},
    {"lm", NULL, "ff(8, act=sigmoid) -> linear(bias=1)", "all"},
    {"lm", NULL, "res(ff(8, act=swish) -> linear)", NULL},
    {"lm", NULL, "res(ff(act=glu)) -> ff(act=glu)", NULL},
    {"lm", NULL, "ff(8, act=gelu_erf) -> linear -> ff(7, quick_gelu, bias=0)", "none"},
    {"lm", NULL, "rms_norm(eps=0.01) -> res(ffl(9, swiglu, 0)) -> norm(eps=1e-3, bias=0) -> ffl(5, act=geglu)", NULL},
    {"tag", "norm(0.1, 0) -> ff(act=reglu, dropout=0.2) -> cnn(act=swiglu) -> cnn(6, 1, gelu_erf) -> rms_norm",
     NULL, NULL},
    {"lm", NULL, "cnn -> res(cnn(k=4, act=relu, dilate=2)) -> cnn(6, 1, gelu)", NULL},
    {"tag", "res(cnn) -> res_d(cnn(k=5, act=tanh, dilate=3)) -> cnn(10, 11, relu) -> norm", NULL, NULL},
    {"seq2seq", "pos -> cnn(7, act=sigmoid)", "mh_dot_att -> cnn(5, 12, swish, dropout=0.2)", "none"},
    {"lm", NULL, "res_nd(light_conv) -> light_conv(4, 8) -> res(light_conv(k=2))", NULL},
    {"lm", NULL, "res_nd(dyn_conv) -> dyn_conv(k=4, heads=8) -> dyn_conv(12, 1)", "none"},
    {"tag", "res(light_conv(k=11)) -> light_conv(4, heads=1) -> dyn_conv(5)", NULL, NULL},
    {"seq2seq", "pos -> res_d(dyn_conv(k=2)) -> dyn_conv(k=10, heads=4)",
     "res(light_conv(3)) -> res(mh_dot_att) -> dyn_conv(12, dropout=0.2)", NULL},
    {"lm", NULL, "linear -> act(relu) -> linear -> act(gelu)", NULL},
    {"lm", NULL, "linear -> act(tanh) -> linear -> act(sigmoid) -> linear -> act(swish)", NULL},
    {"lm", NULL, "linear -> act(gelu_erf) -> linear -> act(quick_gelu)", NULL},
    {"lm", NULL, "highway(ff) -> highway(linear) -> highway(syn_att(R))", NULL},
    {"lm", NULL, "concat(id | ff(6) | linear(3, bias=0)) -> linear", NULL},
    {"lm", NULL, "concat(id | id) -> norm -> parallel(ff(5) | syn_att(V)) -> ff", NULL},
    {"lm", NULL, "parallel_add(id | ff | linear) -> parallel_add(ff) -> rms_norm", NULL},
    {"lm", NULL, "repeat(2, repeat(2, res_nd(ff)) -> learn_pos) -> res(id)", NULL},
    {"lm", NULL, "res(syn_att(Conv, f=2)) -> res_nd(syn_att(CRC, f=4, f2=2)) -> syn_att(BCRC, f=10)",
     NULL},
    {"lm", NULL, "aop", NULL},
    {"lm", NULL, "pos -> res_nd(aop(2, 7, 5, 3)) -> linear(6) -> aop(3, 40, c_v=1)", NULL},
    {"lm", NULL, "universal(2, res_nd(aop(keys=9)) -> universal(2, res_nd(ff))) -> norm", NULL},
    {"lm", NULL, "id", NULL},
    {"lm", NULL, "pos(scale=0) -> dropout(0.3) -> res(norm -> syn_att(R+V, dropout=0.4) -> dropout)",
     NULL},
    {"lm", NULL, "input_feed -> ff(6, act=tanh) -> linear", NULL},
    {"lm", NULL, "input_feed -> linear(6) -> res_nd(syn_att(R+V)) -> ff(7, act=tanh)", "none"},
    {"seq2seq", "pos -> res_nd(ff)",
     "input_feed -> linear(6) -> res_d(syn_att(V)) -> concat(id | mh_dot_att) ->"
     " ff(5, act=tanh)", "none"},
    {"seq2seq", "dropout -> birnn -> res_d(rnn)", "input_feed -> linear -> dropout -> repeat(2, res_d(rnn(cell=gru)))"
     " -> concat(id | mlp_att) -> ff(6)", "none"},
    {"seq2seq", "birnn(6,gru) -> light_conv(4,3)", "input_feed -> cnn(8, 3, dilate=2) ->"
     " universal(2, res_nd(syn_att(D)) -> res_nd(mh_dot_att)) -> light_conv -> linear(6)", "none"},
    {"lm", NULL, "rnn -> dropout -> rnn(7, lstm)", NULL},
    {"lm", NULL, "res_d(rnn(cell=gru)) -> rnn(5, cell=gru) -> linear", NULL},
    {"seq2seq", "dropout -> birnn -> repeat(2, res_d(rnn))",
     "repeat(2, res_d(rnn)) -> res_d(mh_dot_att) -> ff", NULL},
    {"seq2seq", "rnn(6, gru)", "rnn(6, gru, source) -> linear(8) -> rnn(state=zero)", "none"},
    {"seq2seq", "res_d(rnn)", "rnn(state=source) -> ff -> res_d(rnn(cell=gru, state=source)) -> res(mh_dot_att)", NULL},
    {"lm", NULL, "res_d(ssru) -> ssru(6) -> norm", "none"},
    {"seq2seq", "ssru -> res(ssru)", "universal(2, res(ssru) -> norm -> res(mh_dot_att)) -> ssru(9)", NULL},
    {"lm", NULL, "pos -> repeat(2, res_nd(lin_att)) -> norm", NULL},
    {"lm", NULL, "lin_att(1, 0) -> res(lin_att(4, decay=1)) -> lin_att(8, dropout=0.2)", "none"},
    {"tag", "pos(scale=0) -> res_nd(lin_att(heads=4, decay=1)) -> lin_att(decay=0)", NULL, NULL},
    {"seq2seq", "res_nd(lin_att)", "input_feed -> linear -> universal(2, res_nd(lin_att(decay=2)) -> res(mh_dot_att))", "none"},
    {"lm", NULL, "repeat(2, res(norm -> ff(20, gelu) -> sgu -> linear)) -> norm", NULL},
    {"tag", "res(ff(12) -> sgu -> linear) -> sgu", NULL, NULL},
    {"seq2seq", "res(ff(6) -> sgu -> linear)", "input_feed -> linear(12) -> sgu -> res(concat(mh_dot_att | id) -> sgu)", "none"},
    {"lm", NULL, "pos -> repeat(2, res_nd(aft)) -> norm", NULL},
    {"tag", "res_nd(aft) -> aft(dropout=0.2)", NULL, NULL},
    {"seq2seq", "res(aft)", "universal(2, res_nd(aft) -> res(mh_dot_att)) -> linear(5) -> aft", "none"},
    {"classify", "birnn(cell=gru) -> res_nd(rnn(cell=gru)) -> birnn(2)", NULL, NULL},
    {"tag", "dropout -> birnn(6) -> rnn(3, gru)", NULL, NULL},
    {"classify", "pos -> res_nd(syn_att(V)) -> norm", NULL, NULL},
    {"lm", NULL, "rel_pos(6, 5) -> res(syn_att(V)) -> rel_pos(5, 9) -> repeat(2, res_nd(syn_att(R+D, tile=3)))",
     NULL},
    {"lm", NULL, "repeat(2, res_nd(rel_pos -> syn_att(Conv, shared=0))) -> res(syn_att(V, heads=1))", NULL},
    {"tag", "rel_pos(8, 6) -> syn_att(R, softmax=0) -> repeat(2, res_nd(rel_pos(6,3) -> syn_att(V+GLU)))", NULL,
     NULL},
    {"tag", "rel_pos(4, 3) -> res(syn_att(D+V, shared=1)) -> res_nd(syn_att(R+Fix+FR, mix=sum))", NULL, NULL},
    {"seq2seq", "rel_pos -> res_nd(syn_att(V))",
     "rel_pos(7, 20) -> repeat(2, res_nd(syn_att(FR, softmax=0)) -> res_nd(mh_dot_att(heads=4)))", NULL},
    {"classify", "rel_pos(2) -> parallel_add(rel_pos(16) -> syn_att(FR) | syn_att(V, c=3))", NULL, NULL},
    {"classify", "id", NULL, NULL},
    {"classify", "pos -> res_nd(syn_att(V)) -> ff(6, tanh) -> pool(first) -> dropout", NULL, NULL},
    {"classify", "res_nd(ffl) -> pool(mean)", NULL, NULL},
    {"mlm", "learn_pos -> types -> res(syn_att(V, bias=1)) -> norm(eps=1e-12)", NULL, NULL},
    {"seq2seq", "norm", "pos -> res_nd(syn_att(V)) -> res(mh_dot_att) -> norm -> softcap(0.5)", NULL},
    {"lm", NULL, "input_feed -> rnn -> linear -> softcap(2)", NULL},
    {"classify", "res_nd(syn_att(R)) -> pool(first) -> softcap(1.5) -> dropout", NULL, NULL},
    {"tag", "rnn -> linear -> softcap(s=1)", NULL, NULL},
    {"mlm", "learn_pos -> res(ffl) -> norm -> softcap(0.3)", NULL, "all"},
    {"mlm", "linear(6) -> share(2, res_nd(ffl)) -> linear($D)", NULL, "all"},
    {"mlm", "pos -> res(syn_att(R)) -> linear(6)", NULL, "none"},
    {"classify", "ngram", NULL, NULL},
    {"tag", "types(3) -> universal(2, res_nd(syn_att(V)) -> types) -> types(1)", NULL, NULL},
    {"seq2seq", "learn_pos -> types -> linear(6)", "res(mh_dot_att)", "none"},
    {"tag", "ngram(2, 7) -> ngram(9, 5, shortest=1) -> universal(2, ngram(1) -> ff)", NULL, NULL},
    {"lm", NULL, "ngram(4, 50, 3) -> res_nd(syn_att(V)) -> ngram(3, 40)", NULL},
    {"seq2seq", "ngram(16, 30) -> linear(6)", "input_feed -> ngram -> linear -> res(mh_dot_att)", "none"},
    {"lm", NULL, "universal(3, rel_pos(4, 6) -> res(syn_att(V+R)))", NULL},
    {"lm", NULL, "pos(half) -> res_nd(syn_att(V)) -> scale(-1.5) -> pos(0, layout=tensor2tensor, first=2) -> id",
     "none"},
    {"seq2seq", "linear(8) -> share(2, res_nd(syn_att(R+V)))", "share(3, res_nd(syn_att(V)) -> res(mh_dot_att)) -> scale(0.4)",
     "out"},
    {"lm", NULL, "rope -> repeat(2, res(syn_att(V)) -> res_nd(syn_att(R+V, heads=4, kv=2, bias=1, window=4)))", NULL},
    {"lm", NULL, "rope(100, pair, 2) -> res(syn_att(V, heads=1)) -> rope(1, half) -> rel_pos -> res(syn_att(D+V, c=6))"
                 " -> res(syn_att(D))", "none"},
    {"tag", "res(rope(layout=pair, base=30) -> syn_att(V+GLU, kv=1)) -> res(syn_att(V)) -> rope(7, part=4) ->"
            " res_nd(mh_dot_self_att(c=5, scale=1))", NULL, NULL},
    {"seq2seq", "rope -> res_nd(syn_att(V))", "rope(50) -> universal(2, res_nd(syn_att(V)) -> res_nd(mh_dot_att(kv=1)))",
     NULL},
    {"tag", "rel_pos(4, 5) -> universal(2, res_nd(syn_att(FR)) -> rel_pos(6, 4) -> res(syn_att(V)))", NULL, NULL},
    {"classify", "learn_pos -> res_nd(syn_att(R)) -> highway(ffl(6)) -> linear(5)", NULL, NULL},
    {"tag", "pos -> repeat(2, res_nd(syn_att(FD)) -> res_nd(ffl(act=glu)))", NULL, NULL},
    {"tag", "universal(3, res_nd(aop(1, 300)))", NULL, NULL},
    {"tag", "id", NULL, NULL},
    {"tag", "pos(scale=0) -> res_nd(linformer(k=3)) -> norm", NULL, NULL},
    {"tag", "linformer(heads=1, k=20) -> ff -> linformer", NULL, NULL},
    {"classify", "learn_pos -> res(norm -> linformer(k=2, heads=4))", NULL, NULL},
    {"seq2seq", "pos -> res_d(linformer(k=5)) -> res_nd(fixed_att)", "res_nd(mh_dot_att)", NULL},
    {"tag", "pos(scale=0) -> res_nd(fixed_att(heads=8)) -> norm", NULL, NULL},
    {"tag", "fixed_att(heads=1) -> ff -> fixed_att(heads=4)", NULL, NULL},
    {"classify", "linear(16) -> res(fixed_att(heads=16)) -> fixed_att(heads=8)", NULL, NULL}};

enum {
  N_ATT = (int)(sizeof attentions / sizeof attentions[0]),
  N_NETS = (int)(sizeof nets / sizeof nets[0]),
  N_CASES = 2 * N_ATT + N_NETS,
  MAX_LEN = 9,
  LONG_PROMPT = 110 /* tokens: chunks of lin_att */
};

enum { MAX_STRINGS = 200 };
static net strings[MAX_STRINGS]; /* the networks of a file */
static int n_strings;

/* Case i: each attention in a decoder and in an encoder, then the networks above. */
static net case_of(int i, char *space, size_t room) {
  net n = {"lm", NULL, NULL, NULL};
  if (n_strings) return strings[i];
  if (i >= 2 * N_ATT) return nets[i - 2 * N_ATT];
  snprintf(space, room, i % 2 ? "pos(scale=0) -> res_nd(syn_att(%s))"
                              : "learn_pos -> res(norm -> syn_att(%s)) -> norm", attentions[i / 2]);
  if (i % 2) n.task = i % 4 == 1 ? "tag" : "classify", n.encoder = space;
  else n.decoder = space;
  return n;
}

/* -- a model of a case, and a batch for it -- */

typedef struct bench {
  syn_context c;
  syn_model *m;
  net n;
  syn_var vars[3];
  char space[200], name[1200];
  int v_src, v_tgt, classes;
} bench;

static syn_config config_of(const net *n, int d, float dropout, syn_var *vars) {
  static const char *const names[] = {"D", "NUM_HIDDEN", "FF_NUM_HIDDEN"};
  syn_config k;
  int i;
  memset(&k, 0, sizeof k);
  for (i = 0; i < 3; i++) {
    vars[i].name = names[i];
    vars[i].value = i < 2 ? d : 4 * d;
  }
  k.task = n->task;
  k.encoder = n->encoder;
  k.decoder = n->decoder;
  k.tie = n->tie;
  k.d_model = d;
  k.heads = 2;
  k.max_len = MAX_LEN;
  k.src_vocab = k.tgt_vocab = n->tie && !strcmp(n->tie, "all") ? 11 : 13;
  if (!k.tie) k.tgt_vocab = 10;
  if (n_strings) k.src_vocab = k.tgt_vocab = SYN_FIRST_TOKEN + 8;
  k.classes = 5;
  k.dropout = dropout;
  k.seed = 5;
  k.vars = vars;
  k.n_vars = 3;
  return k;
}

/* All trained weights get noise, so that none is 0 or 1; less of it in deep networks, where it makes
   differences grow from layer to layer. */
static void stir(const syn_model *m) {
  syn_random r = {99};
  size_t i, k;
  for (i = 0; i < syn_model_param_count(m); i++) {
    const syn_param *p = syn_model_param(m, i);
    for (k = 0; p->trained && k < p->size; k++)
      p->x[k] += (n_strings ? 0.35f : 1.0f) * (syn_random_uniform(&r) - 0.5f);
  }
}

static int bench_begin(bench *b, int i, int d, float dropout, const syn_options *options) {
  syn_config k;
  memset(b, 0, sizeof *b);
  b->n = case_of(i, b->space, sizeof b->space);
  snprintf(b->name, sizeof b->name, "%s: %s / %s", b->n.task, b->n.encoder ? b->n.encoder : "",
           b->n.decoder ? b->n.decoder : "");
  if (syn_context_init(&b->c, options) != SYN_OK) return 0;
  k = config_of(&b->n, n_strings ? 16 : d, dropout, b->vars);
  b->v_src = k.src_vocab;
  b->v_tgt = k.tgt_vocab;
  b->classes = k.classes;
  b->m = syn_model_new(&b->c, &k);
  CHECK(b->m, "%s: %s", b->name, b->c.message);
  return b->m != NULL;
}
/* With weights of which none is 0 or 1; or as they begin. */
static int bench_make(bench *b, int i, int d, float dropout, const syn_options *options) {
  if (!bench_begin(b, i, d, dropout, options)) return 0;
  stir(b->m);
  return 1;
}
static int bench_make_plain(bench *b, int i) { return bench_begin(b, i, 16, 0.0f, NULL); }

enum { SENTENCES = 16, CELLS = SENTENCES * (MAX_LEN + 4) };
typedef struct sheet {
  int src[CELLS], tgt[CELLS], labels[CELLS];
  syn_batch b;
} sheet;

/* Sentences first .. first+count-1 of an endless list; `pad` more columns than needed. */
static void sheet_fill(sheet *s, const bench *b, int first, int count, int pad) {
  static const int src_size[] = {5, 2, 4, 9, 1, 7, 3}, tgt_size[] = {4, 6, 1, 3, 9, 2};
  int i, j, ns = 0, nt = 0;
  memset(s, 0, sizeof *s);
  for (i = first; i < first + count; i++) {
    ns = ns > src_size[i % 7] ? ns : src_size[i % 7];
    nt = nt > tgt_size[i % 6] ? nt : tgt_size[i % 6];
  }
  s->b.count = count;
  s->b.src_width = ns + pad;
  s->b.tgt_width = nt + pad;
  for (i = 0; i < count; i++) {
    int tag = !strcmp(b->n.task, "tag") || !strcmp(b->n.task, "mlm"), width = tag ? s->b.src_width : s->b.tgt_width;
    int size = tag ? src_size[(first + i) % 7] : tgt_size[(first + i) % 6];
    syn_random r;
    r.state = (uint64_t)(first + i) * 77;
    for (j = 0; j < src_size[(first + i) % 7]; j++)
      s->src[i * s->b.src_width + j] = 1 + syn_random_below(&r, b->v_src - 1);
    if (!tag) s->src[i * s->b.src_width + j - 1] = SYN_END;
    for (j = 0; j < tgt_size[(first + i) % 6]; j++)
      s->tgt[i * s->b.tgt_width + j] = j ? 1 + syn_random_below(&r, b->v_tgt - 1) : SYN_BEGIN;
    for (j = 0; j < size; j++) /* some labels are 0: they do not count */
      s->labels[i * width + j] = syn_random_below(&r, b->n.task[0] == 't' ? b->classes : b->v_tgt);
    s->labels[i * width] = 1;
  }
  for (i = 0; i < count && !strcmp(b->n.task, "classify"); i++)
    s->labels[i] = (first + i * 3) % b->classes;
  s->b.src = s->src;
  s->b.tgt = s->tgt;
  s->b.labels = s->labels;
}

/* -- what every kind must do: see syn_network_check -- */

static void test_network(int i, float dropout, uint64_t seed) {
  bench b;
  syn_config k;
  size_t n;
  if (!bench_begin(&b, i, 8, dropout, NULL)) return;
  for (n = 0; n < syn_model_param_count(b.m); n++) {
    const syn_param *p = syn_model_param(b.m, n);
    CHECK(p->trained == (strstr(p->name, ".fix") == NULL), "%s: trained is %d", p->name, p->trained);
  }
  k = config_of(&b.n, n_strings ? 16 : 8, dropout, b.vars);
  k.seed = seed;
  CHECK(syn_network_check(&b.c, &k) == SYN_OK, "%s: %s", b.name, b.c.message);
  syn_model_free(b.m);
}

/* -- gradients of some tensors alone -- */

static int gradient_of(syn_trainer *t, const syn_batch *b, int training) {
  syn_gradient g = {NULL, 0, 0.0, 0};
  if (syn__bind_labelled(t->run, b)) return 0;
  t->run->tape.training = training;
  t->run->tape.seed = 12345;
  syn__train_pass(t, 1.0f / (float)t->run->n_labels, &g);
  return 1;
}

static syn_trainer *trainer_of(bench *b, syn_train_config *k) {
  syn_train_config none;
  if (!k) memset(&none, 0, sizeof none), k = &none;
  k->batch_tokens = 200;
  return syn_trainer_new(&b->c, b->m, k);
}

/* With every second tensor frozen, or with all in front of the last ones, the others have the gradients that
   they have without. */
static void test_frozen(int i) {
  static char names[1 << 16];
  bench b;
  sheet s;
  syn_train_config k;
  syn_trainer *all, *some;
  size_t n, count;
  int which;
  if (!bench_make(&b, i, 8, 0.0f, NULL)) return;
  sheet_fill(&s, &b, 0, 5, 0);
  all = trainer_of(&b, NULL);
  CHECK(all && gradient_of(all, &s.b, 0), "%s: %s", b.name, b.c.message);
  count = syn_model_param_count(b.m);
  for (which = 0; all && which < 3; which++) {
    memset(&k, 0, sizeof k);
    for (names[0] = 0, n = 0; n < count; n++) {
      if (which < 2 ? (int)(n % 2) != which : n + 2 >= count) continue;
      if (names[0]) strcat(names, "|");
      strcat(names, syn_model_param(b.m, n)->name);
    }
    if (!names[0]) continue;
    k.freeze = names;
    some = trainer_of(&b, &k);
    CHECK(some && gradient_of(some, &s.b, 0), "%s, frozen %s: %s", b.name, names, b.c.message);
    for (n = 0; some && n < count; n++) {
      const syn_param *p = syn_model_param(b.m, n);
      const float *want = syn_trainer_gradient(all, p), *got = syn_trainer_gradient(some, p);
      int frozen = which < 2 ? (int)(n % 2) == which : n + 2 < count;
      CHECK((got != NULL) == (want && !frozen), "%s: %s", b.name, p->name);
      if (got && want)
        CHECK(!memcmp(got, want, p->size * sizeof(float)), "%s: %s has another gradient when others are frozen",
              b.name, p->name);
    }
    syn_trainer_free(some);
  }
  syn_trainer_free(all);
  syn_model_free(b.m);
}

/* -- the same bits for every row of kernels and number of threads -- */

typedef struct prints {
  uint64_t logits, gradient, weights;
  float loss[3];
} prints;

static int fingerprint(int i, const syn_options *options, prints *p) {
  static sheet s;
  bench b;
  syn_train_config k;
  syn_trainer *t;
  syn_run *r;
  int step;
  memset(p, 0, sizeof *p);
  if (!bench_make(&b, i, 48, 0.1f, options)) return 0;
  sheet_fill(&s, &b, 0, SENTENCES, 0);
  memset(&k, 0, sizeof k);
  k.lr = 0.01f;
  k.clip = 0.5f;
  t = trainer_of(&b, &k);
  r = syn_run_new(&b.c, b.m, NULL);
  CHECK(t && r && syn_run_forward(r, &s.b) == SYN_OK, "%s: %s", b.name, b.c.message);
  if (t && r) {
    const syn_tensor *z = &r->tape.tensors[b.m->g.nodes[b.m->head]->out];
    p->logits = syn_hash(SYN_HASH_START, z->x, syn_count(z) * sizeof(float));
    CHECK(syn_trainer_backward(t, &s.b, &p->loss[0]) == SYN_OK, "%s: %s", b.name, b.c.message);
    p->gradient = syn_hash(SYN_HASH_START, t->gradient, b.m->trained * sizeof(float));
    for (step = 1; step < 3; step++)
      CHECK(syn_trainer_step(t, &s.b, 1, &p->loss[step]) == SYN_OK, "%s: %s", b.name, b.c.message);
    p->weights = syn_hash(SYN_HASH_START, b.m->weights, b.m->floats * sizeof(float));
  }
  syn_run_free(r);
  syn_trainer_free(t);
  syn_model_free(b.m);
  return t && r;
}

/* The host's threads instead of OpenMP. */
static void test_host_threads(int i, syn_options *o, const prints *wanted) {
  static const int threads[] = {3, 7, 16, SYN_MAX_THREADS};
  long tasks = 0;
  prints p;
  o->isa = NULL;
  o->threads = threads[i / 2 % 4];
  o->parallel = pool_in_turn;
  o->parallel_user = &tasks;
  if (!fingerprint(i, o, &p)) return;
  CHECK(!memcmp(&p, wanted, sizeof p), "case %d: other bits with the host's threads", i);
  CHECK(tasks > 20, "case %d: %ld tasks by the host", i, tasks);
}

static void test_machines(int i) {
  syn_options o;
  syn_context c;
  prints first, p;
  int row, threads, best = 0;
  memset(&o, 0, sizeof o);
  if (syn_context_init(&c, &o) != SYN_OK || !syn_context_exact(&c)) return;
  if (!fingerprint(i, &o, &first)) return;
  for (row = 0; row < syn_isa_count(); row++)
    if (syn_isa_usable(row)) best = row;
  for (row = 0; row < syn_isa_count(); row++)
    for (threads = 1; threads <= 2; threads++) {
      o.isa = syn_isa_name(row);
      o.threads = threads;
#ifndef _OPENMP
      if (threads > 1) continue;
#endif
      if (threads > 1 && (row != best || (i < N_ATT * 2 && i / 2 % 2))) continue;
      if (!syn_isa_usable(row) || syn_context_init(&c, &o) != SYN_OK || !syn_context_exact(&c)) continue;
      if (!fingerprint(i, &o, &p)) continue;
      CHECK(p.logits == first.logits, "case %d: logits on %s, %d threads", i, o.isa, threads);
      CHECK(p.gradient == first.gradient && p.loss[0] == first.loss[0],
            "case %d: gradient on %s, %d threads", i, o.isa, threads);
      CHECK(p.weights == first.weights && p.loss[1] == first.loss[1] && p.loss[2] == first.loss[2],
            "case %d: weights after two steps on %s, %d threads", i, o.isa, threads);
    }
  if (i % 2 || CHECK_QUICK) test_host_threads(i, &o, &first);
}

/* Elementwise tasks that more than one thread shares: rows times width is a multiple of their slices. */
static void test_wide(const char *text) {
  enum { D = 256, ROWS = 64 }; /* 16384 numbers, slices of 4096 */
  static int tokens[ROWS + 1];
  uint64_t hash[2] = {0, 1};
  long tasks = 0;
  int i, pass;
  for (i = 0; i <= ROWS; i++) tokens[i] = SYN_FIRST_TOKEN + i * 7 % 13;
  for (pass = 0; pass < 2; pass++) {
    syn_train_config how;
    syn_config k;
    syn_options o;
    syn_context c;
    syn_batch b;
    syn_model *m;
    syn_trainer *t;
    float loss;
    memset(&o, 0, sizeof o);
    memset(&k, 0, sizeof k);
    memset(&b, 0, sizeof b);
    memset(&how, 0, sizeof how);
    o.threads = pass ? 3 : 1, o.parallel = pool_in_turn, o.parallel_user = &tasks;
    k.task = "lm", k.decoder = text, k.d_model = D, k.max_len = ROWS, k.tgt_vocab = 20, k.heads = 4, k.dropout = 0.1f;
    b.count = 1, b.tgt = tokens, b.labels = tokens + 1, b.tgt_width = ROWS;
    how.batch_tokens = ROWS;
    syn_context_init(&c, &o);
    m = syn_model_new(&c, &k);
    t = syn_trainer_new(&c, m, &how);
    CHECK(t && syn_trainer_step(t, &b, 1, &loss) == SYN_OK && syn_trainer_backward(t, &b, &loss) == SYN_OK, "%s: %s",
          text, c.message);
    if (t) hash[pass] = syn_hash(syn_hash(SYN_HASH_START, t->gradient, m->trained * sizeof(float)), &loss, sizeof loss);
    syn_trainer_free(t);
    syn_model_free(m);
  }
  CHECK(hash[0] == hash[1] && tasks > 50, "%s: other bits with threads, %ld tasks", text, tasks);
}

/* -- numbers that no backward pass reads: their place is given away after their last reader -- */

static long poisoned; /* inputs that were poisoned */

/* A forward pass in which every value that `syn__not_needed` names becomes NaN as soon as its last
   reader has run, whether another buffer needs its place or not. Input feeding frees nothing early. */
static void forward_poisoned(syn_run *r) {
  syn_tape *t = &r->tape;
  syn__graph shown = *t->g;
  int i, k;
  shown.n_nodes = (size_t)r->nodes;
  for (i = 0; i < r->nodes; i++) {
    const syn_node *n = t->g->nodes[i];
    syn__forward_nodes(t, i, i + 1);
    for (k = 0; k < n->n_in; k++) {
      const syn__value *v = &t->g->values[n->in[k]];
      syn_tensor *x = syn_in(t, n, k);
      if (v->last != i || v->maker < 0 || !syn__not_needed(&shown, v)) continue;
      memset(x->x, 0xFF, syn_count(x) * sizeof(float));
      poisoned++;
    }
  }
}

/* The gradient of a case in a plan of memory where every value is kept and no sum does the dropout of
   what it adds, or of one where unneeded values share memory and are poisoned. The caller frees it. */
static float *gradient_poisoned(int i, int poison, size_t *size) {
  static sheet s;
  bench b;
  syn_train_config k;
  syn_trainer *t;
  float *gradient = NULL;
  size_t n;
  memset(&k, 0, sizeof k);
  if (!bench_make(&b, i, 16, 0.2f, NULL)) return NULL;
  for (n = 0; n < b.m->g.n_nodes && !poison; n++)
    b.m->g.nodes[n]->flags &= ~(SYN_BOTH_NOT_NEEDED | SYN__DROPS_B);
  sheet_fill(&s, &b, 0, SENTENCES, 0);
  t = trainer_of(&b, &k);
  if (t && syn__bind_labelled(t->run, &s.b) == SYN_OK) {
    syn_tape *tape = &t->run->tape;
    syn__zero(&t->run->tape, t->gradient, t->floats);
    tape->training = 1;
    tape->seed = 12345;
    if (poison && !tape->g->recurrent) forward_poisoned(t->run);
    else syn__forward(tape, t->run->nodes);
    syn__loss(t->run, b.m->config.label_smoothing, 1.0f / (float)t->run->n_labels);
    syn__backward(tape, t->run->nodes);
    *size = b.m->trained * sizeof(float);
    gradient = (float *)malloc(*size);
    if (gradient) memcpy(gradient, t->gradient, *size);
  }
  syn_trainer_free(t);
  syn_model_free(b.m);
  return gradient;
}

static void test_not_needed(int i) {
  size_t size = 0;
  float *kept = gradient_poisoned(i, 0, &size), *gradient = gradient_poisoned(i, 1, &size);
  CHECK(kept && gradient, "case %d: no gradient", i);
  if (kept && gradient)
    CHECK(!memcmp(kept, gradient, size), "case %d: the gradient reads what was poisoned", i);
  free(kept);
  free(gradient);
}

/* -- a run with `keep` -- */

static void value_finite(const bench *b, const syn_run *r, const char *path, int sentence) {
  syn_value v;
  int i, size = 1;
  CHECK(syn_run_value(r, path, sentence, &v) == SYN_OK && v.x, "%s: %s: %s", b->name, path, b->c.message);
  for (i = 0; i < v.rank; i++) size *= v.shape[i];
  for (i = 0; v.x && i < size; i++)
    if (!(fabsf(v.x[i]) < 1e30f) || (v.dx && !(fabsf(v.dx[i]) < 1e30f))) break;
  CHECK(i == size, "%s: %s: number %d is not finite", b->name, path, i);
}

/* The gradient is that of a trainer to the bit; logits and attention weights are those of a forward
   pass; every value and part of a layer can be read. */
static void test_keep(int of) {
  static sheet s;
  bench made, *b = &made;
  syn_limits limits;
  syn_run *r, *plain;
  syn_trainer *t;
  float loss = 0, other = 1;
  size_t i;
  int k, j, rows, others;
  if (!bench_make(b, of, 8, 0.2f, NULL)) return;
  memset(&limits, 0, sizeof limits);
  limits.src_rows = CELLS;
  limits.keep = 1;
  sheet_fill(&s, b, 0, 5, 0);
  r = syn_run_new(&b->c, b->m, &limits);
  plain = syn_run_new(&b->c, b->m, NULL);
  t = trainer_of(b, NULL);
  CHECK(r && plain && t && !syn_run_backward(r, &s.b, &loss) && !syn_trainer_backward(t, &s.b, &other) &&
            loss == other,
        "%s: %g and %g: %s", b->name, (double)loss, (double)other, b->c.message);
  for (i = 0; r && t && i < syn_model_param_count(b->m); i++) {
    const syn_param *p = syn_model_param(b->m, i);
    const float *g = syn_trainer_gradient(t, p);
    syn_value v;
    syn_run_value(r, p->name, 0, &v);
    CHECK(g ? v.dx && !memcmp(g, v.dx, p->size * sizeof *g) : !v.dx, "%s: %s: another gradient", b->name, p->name);
  }
  for (k = 0; r && k < s.b.count; k++) { /* after the backward pass */
    const float *x = syn_run_logits(r, k, &rows);
    if (!k) CHECK(syn_run_forward(plain, &s.b) == SYN_OK, "%s", b->c.message);
    CHECK(x && syn_run_logits(plain, k, &others) && rows == others &&
              !memcmp(x, syn_run_logits(plain, k, &j), sizeof *x * (size_t)rows),
          "%s: other logits", b->name);
    for (i = 0; i < syn_model_node_count(b->m); i++) {
      const syn_node *n = syn_model_node(b->m, i);
      char path[400];
      value_finite(b, r, n->path, k);
      for (j = 0; j < n->n_part; j++) {
        snprintf(path, sizeof path, "%s.%s", n->path, n->part[j].name);
        value_finite(b, r, path, k);
      }
    }
  }
  syn_trainer_free(t);
  syn_run_free(plain);
  syn_run_free(r);
  syn_model_free(b->m);
}

/* -- dropout -- */

/* Steps with a learning rate too small to change a weight: only the masks differ. */
static void losses_of(int i, uint64_t seed, float *loss, int steps_made) {
  bench b;
  sheet s;
  syn_train_config k;
  syn_trainer *t;
  int step;
  if (!bench_make(&b, i, 8, 0.3f, NULL)) return;
  sheet_fill(&s, &b, 0, 5, 0);
  memset(&k, 0, sizeof k);
  k.lr = 1e-30f;
  k.seed = seed;
  t = trainer_of(&b, &k);
  for (step = 0; t && step < steps_made; step++)
    CHECK(syn_trainer_step(t, &s.b, 1, &loss[step]) == SYN_OK, "%s: %s", b.name, b.c.message);
  syn_trainer_free(t);
  syn_model_free(b.m);
}

/* Whether a case drops anything: "id" or "ngram" alone does not. */
static int drops(const net *n) {
  const char *text = n->decoder ? n->decoder : n->encoder;
  return strcmp(text, "id") && strcmp(text, "ngram");
}

static void test_dropout_seed(int i) {
  float a[4] = {0}, b[4] = {0}, other[4] = {0};
  char space[200];
  net n = case_of(i, space, sizeof space);
  if (!drops(&n)) return;
  losses_of(i, 7, a, 4);
  losses_of(i, 7, b, 4);
  losses_of(i, 8, other, 4);
  CHECK(!memcmp(a, b, sizeof a), "case %d: the seed does not give the same losses again", i);
  CHECK(a[0] != a[1] && a[1] != a[2] && a[2] != a[3], "case %d: losses %g %g %g %g", i, (double)a[0],
        (double)a[1], (double)a[2], (double)a[3]);
  CHECK(a[0] != other[0], "case %d: another seed, the same loss %g", i, (double)a[0]);
}

static void drop_forward(syn_trainer *t, const syn_batch *b, int training, uint64_t seed) {
  CHECK(syn__bind(t->run, b) == SYN_OK, "%s", t->c->message);
  t->run->tape.training = training;
  t->run->tape.seed = syn__mix(seed);
  syn__forward(&t->run->tape, t->run->nodes);
}

/* The mean of each output element over 600 seeds is within 5.5 standard errors of the undropped one,
   for networks whose output is linear in every mask. */
static void test_dropout_mean(const char *text) {
  enum { TIMES = 600, MOST = 400 };
  static double sum[MOST], squares[MOST];
  static float plain[MOST];
  net n = {"tag", NULL, NULL, NULL};
  syn_var vars[3];
  syn_config k;
  bench b;
  sheet s;
  syn_trainer *t;
  int i, e, size = 0;
  double worst = 0;
  memset(&b, 0, sizeof b);
  memset(sum, 0, sizeof sum);
  memset(squares, 0, sizeof squares);
  n.encoder = text;
  b.n = n;
  syn_context_init(&b.c, NULL);
  k = config_of(&n, 8, 0.3f, vars);
  b.v_src = k.src_vocab, b.v_tgt = k.tgt_vocab, b.classes = k.classes;
  b.m = syn_model_new(&b.c, &k);
  t = b.m ? trainer_of(&b, NULL) : NULL;
  CHECK(t, "%s: %s", text, b.c.message);
  sheet_fill(&s, &b, 0, 6, 0);
  for (i = -1; t && i < TIMES; i++) {
    const syn_tensor *y = &t->run->tape.tensors[b.m->final];
    drop_forward(t, &s.b, i >= 0, (uint64_t)i * 3);
    size = (int)syn_count(y);
    if (i < 0) memcpy(plain, y->x, (size_t)size * sizeof *plain);
    for (e = 0; e < size && i >= 0; e++)
      sum[e] += (double)y->x[e], squares[e] += (double)y->x[e] * (double)y->x[e];
  }
  CHECK(size > 100 && size <= MOST, "%d elements", size);
  for (e = 0; e < size; e++) {
    double times = TIMES, mean = sum[e] / times, variance = squares[e] / times - mean * mean;
    double z = fabs(mean - (double)plain[e]) / (sqrt(variance / times) + 1e-6);
    if (!(z <= worst)) worst = z;
  }
  CHECK(worst < 5.5, "%s: a mean is %.2f standard errors off", text, worst);
  syn_trainer_free(t);
  syn_model_free(b.m);
}

/* The weights of one head of one sentence after dropout; where they are 0 is the mask. */
static void mask_of(const syn_trainer *t, const syn_node *n, int sentence, int h, float *out, int *size) {
  syn__head o = syn__head_of(&t->run->tape, n, sentence, h, syn_scratch(&t->run->tape, 0));
  const float *z = syn__dropped_weights(&t->run->tape, &o);
  *size = o.g.nq;
  memcpy(out, z, (size_t)(o.g.nq * o.g.nk) * sizeof *out);
}

/* How many places of the common part of two masks differ. */
static int masks_apart(const float *a, int na, const float *b, int nb) {
  int i, j, apart = 0, n = na < nb ? na : nb;
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) apart += (a[i * na + j] == 0.0f) != (b[i * nb + j] == 0.0f);
  return apart;
}

/* Weights that no input changes have one mask per head for all sentences; others one for each. */
static void test_shared_masks(const char *kinds, int shared) {
  net n = {"tag", NULL, NULL, NULL};
  float a[MAX_LEN * MAX_LEN], z[MAX_LEN * MAX_LEN], head[MAX_LEN * MAX_LEN];
  char text[60];
  syn_var vars[3];
  syn_config k;
  bench b;
  sheet s;
  syn_trainer *t;
  int na, nz, i, zeros = 0;
  snprintf(text, sizeof text, "syn_att(%s)", kinds);
  n.encoder = text;
  memset(&b, 0, sizeof b);
  b.n = n;
  syn_context_init(&b.c, NULL);
  k = config_of(&n, 8, 0.4f, vars);
  b.v_src = k.src_vocab, b.v_tgt = k.tgt_vocab, b.classes = k.classes;
  b.m = syn_model_new(&b.c, &k);
  t = b.m ? trainer_of(&b, NULL) : NULL;
  sheet_fill(&s, &b, 3, 4, 0); /* lengths 9 1 7 3 */
  if (t) {
    const syn_node *att = b.m->g.nodes[1];
    drop_forward(t, &s.b, 1, 4);
    mask_of(t, att, 0, 0, a, &na);
    mask_of(t, att, 0, 1, head, &nz);
    CHECK(masks_apart(a, na, head, nz) > 10, "%s: two heads have one mask", kinds);
    mask_of(t, att, 2, 0, z, &nz);
    CHECK(na == 9 && nz == 7 && (masks_apart(a, na, z, nz) == 0) == shared,
          "%s: masks of sentences of %d and %d tokens differ in %d places", kinds, na, nz,
          masks_apart(a, na, z, nz));
    for (i = 0; i < 81; i++) zeros += a[i] == 0.0f;
    CHECK(zeros > 15 && zeros < 55, "%s: %d of 81 weights dropped at rate 0.4", kinds, zeros);
  }
  CHECK(t, "%s: %s", kinds, b.c.message);
  syn_trainer_free(t);
  syn_model_free(b.m);
}

/* aop: every row and head has a mask of its own, also where two heads and all rows are alike. */
static void test_aop_masks(void) {
  static const int src[] = {4, 4, 4, 4, 4, 4}, tags[] = {1, 1, 1, 1, 1, 1};
  net n = {"tag", "aop(2, 20)", NULL, NULL};
  static const char *const names[] = {"encoder.0.w_q", "encoder.0.keys", "encoder.0.values"};
  syn_var vars[3];
  syn_config k;
  bench b;
  syn_batch batch;
  syn_trainer *t;
  size_t i, row, wide;
  memset(&b, 0, sizeof b);
  memset(&batch, 0, sizeof batch);
  b.n = n;
  syn_context_init(&b.c, NULL);
  k = config_of(&n, 8, 0.4f, vars);
  b.v_src = k.src_vocab, b.v_tgt = k.tgt_vocab, b.classes = k.classes;
  b.m = syn_model_new(&b.c, &k);
  t = b.m ? trainer_of(&b, NULL) : NULL;
  CHECK(t, "%s", b.c.message);
  batch.count = 1, batch.src = src, batch.labels = tags, batch.src_width = 6;
  if (t) {
    const syn_node *aop = b.m->g.nodes[1];
    const float *y;
    for (i = 0; i < 3; i++) { /* head 1 = head 0 */
      const syn_param *p = syn_model_find(b.m, names[i]);
      memcpy(p->x + p->size / 2, p->x, p->size / 2 * sizeof(float));
    }
    drop_forward(t, &batch, 1, 4);
    y = syn__aop_y(&t->run->tape, aop, 0);
    wide = (size_t)syn__aop_of(aop)->c_v;
    for (row = 0; row < 12; row++)
      for (i = 0; i < row; i++)
        CHECK(memcmp(y + row * wide, y + i * wide, wide * sizeof *y), "rows of heads %d and %d have one mask", (int)row,
              (int)i);
  }
  syn_trainer_free(t);
  syn_model_free(b.m);
}

/* -- weights that no input changes, made once for all sentences of one length -- */

/* The gradient of 14 sentences, two of each length, is the mean of their own ones; the weights that
   are shown are those of each sentence alone; and more threads than heads give the same bits. */
static void groups_alone(bench *b, syn_trainer *t, const sheet *all, const float *whole, double *sum) {
  int i, q, h, size[2], alone[2], heads;
  size_t k;
  double labels = 0, worst = 0, most = 0;
  syn_run *r = syn_run_new(&b->c, b->m, NULL), *one = syn_run_new(&b->c, b->m, NULL);
  memset(sum, 0, b->m->trained * sizeof *sum);
  CHECK(r && one && syn_run_forward(r, &all->b) == SYN_OK && syn_model_attention(b->m, 0, &heads),
        "%s: %s", b->name, b->c.message);
  for (i = 0; r && one && i < all->b.count; i++) {
    syn_batch s = all->b;
    s.count = 1;
    s.src += i * s.src_width, s.tgt += i * s.tgt_width;
    s.labels += i * (b->n.decoder ? s.tgt_width : strcmp(b->n.task, "classify") ? s.src_width : 1);
    CHECK(gradient_of(t, &s, 0) && syn_run_forward(one, &s) == SYN_OK, "%s: %s", b->name, b->c.message);
    for (k = 0; k < b->m->trained; k++) sum[k] += (double)t->gradient[k] * t->run->n_labels;
    labels += t->run->n_labels;
    for (h = 0; h < heads; h++) {
      const float *p = syn_run_attention(r, 0, h, i, size), *w = syn_run_attention(one, 0, h, 0, alone);
      CHECK(p && w && size[0] == alone[0] && size[1] == alone[1], "%s: sentence %d", b->name, i);
      for (q = 0; p && w && q < size[0] * size[1]; q++)
        CHECK(p[q] == w[q], "%s: sentence %d, head %d, weight %d", b->name, i, h, q);
    }
  }
  for (k = 0; k < b->m->trained; k++) {
    if (fabs((double)whole[k]) > most) most = fabs((double)whole[k]);
    if (!(fabs((double)whole[k] - sum[k] / labels) <= worst)) worst = fabs((double)whole[k] - sum[k] / labels);
  }
  CHECK(worst < 3e-6 * most, "%s: a gradient is %g off, the largest is %g", b->name, worst, most);
  syn_run_free(r);
  syn_run_free(one);
}
static void test_groups(int i) {
  static sheet s;
  static const int threads[] = {1, 2, 3, 5};
  float *gradient = NULL;
  double *sum;
  int k;
  for (k = 0; k < 4; k++) {
    syn_options o;
    bench b;
    syn_trainer *t;
    memset(&o, 0, sizeof o);
    o.threads = threads[k];
#ifndef _OPENMP
    if (k) continue;
#endif
    if (!bench_make(&b, i, 8, 0.3f, &o)) return;
    sheet_fill(&s, &b, 0, 14, 0);
    t = trainer_of(&b, NULL);
    if (!gradient) gradient = (float *)calloc(b.m->trained, sizeof *gradient);
    sum = (double *)calloc(b.m->trained, sizeof *sum);
    CHECK(t && gradient && sum && gradient_of(t, &s.b, 1), "%s: %s", b.name, b.c.message);
    if (t && k == 0) memcpy(gradient, t->gradient, b.m->trained * sizeof *gradient);
    CHECK(!t || !memcmp(gradient, t->gradient, b.m->trained * sizeof *gradient),
          "%s: %d threads give another gradient", b.name, threads[k]);
    if (t && k == 0 && gradient_of(t, &s.b, 0)) {
      float *whole = (float *)malloc(b.m->trained * sizeof *whole);
      memcpy(whole, t->gradient, b.m->trained * sizeof *whole);
      groups_alone(&b, t, &s, whole, sum);
      free(whole);
    }
    free(sum);
    syn_trainer_free(t);
    syn_model_free(b.m);
  }
  free(gradient);
}

/* -- costs of D and its family, counted by hand: d 8, 2 heads of 4, N 9, a sentence of 5 -- */

static void test_costs(void) {
  static const struct { const char *kinds; double parameters, multiply_adds, floats; } wanted[] = {
    {"D", 128 + 64 + 8 + 72 + 18, 128 + 40 + 64 + 40, 8},
    {"BD, m=3", 128 + 48 + 6 + 54 + 18, 128 + 40 + 48 + 30, 8},
    {"CRC, f2=5", 128 + 192 + 8 + 360 + 18, 128 + 40 + 192 + 200, 24},
    {"BCRC, m=3", 128 + 144 + 6 + 162 + 18, 128 + 40 + 144 + 90, 22},
    {"Conv", 128 + 216 + 18, 128 + 40 + 120, 16},
    {"Conv, f=1", 128 + 72 + 18, 128 + 40 + 40, 8},
    {"GLU", 128 + 144 + 36, 128 + 40 + 80, 8},
    {"D, tile=3", 128 + 64 + 8 + 24 + 6, 128 + 40 + 64 + 24, 8},
    {"D, shared=1", 128 + 64 + 36, 128 + 40 + 64 + 40, 8},
    {"D+V, shared=1, mix=sum", 128 + 128 + 36, 128 + 40 + 128 + 40 + 40, 16},
    {"Conv+CRC, mix=sum", 128 + 234 + 434, 128 + 40 + 120 + 192 + 120, 24}};
  size_t i;
  for (i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    net n = {"lm", NULL, NULL, NULL};
    char text[60];
    syn_var vars[3];
    syn_context c;
    syn_config k;
    syn_model *m;
    syn_cost cost = {0, 0, 0, 0};
    snprintf(text, sizeof text, "syn_att(%s)", wanted[i].kinds);
    n.decoder = text;
    syn_context_init(&c, NULL);
    k = config_of(&n, 8, 0.0f, vars);
    m = syn_model_new(&c, &k);
    CHECK(m, "%s: %s", text, c.message);
    if (m) cost = syn_model_cost(m, m->g.nodes[1], 5);
    CHECK(m && cost.parameters == wanted[i].parameters, "%s: %g parameters", text, cost.parameters);
    CHECK(m && cost.multiply_adds == wanted[i].multiply_adds, "%s: %g products", text, cost.multiply_adds);
    CHECK(m && cost.decode_bytes == 4 * wanted[i].floats, "%s: %g bytes", text, cost.decode_bytes);
    syn_model_free(m);
  }
}

/* A token of an output is kept by self-attention (k, v), a source token by attention to it (k, v): nothing
   by the encoder, which runs once. */
static void test_decode_bytes(void) {
  static const double wanted[] = {0, 0, 0, 64, 64, 0}; /* two embeddings, the three layers, out */
  net n = {"seq2seq", "syn_att(V)", "syn_att(V) -> mh_dot_att", NULL};
  syn_var vars[3];
  syn_context c;
  syn_config k = config_of(&n, 8, 0.0f, vars);
  syn_model *m;
  size_t i;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(m && syn_model_node_count(m) == 6, "%s", c.message);
  for (i = 0; m && i < 6; i++) {
    double bytes = syn_model_cost(m, syn_model_node(m, i), 5).decode_bytes;
    CHECK(bytes == wanted[i], "node %lu keeps %g bytes, wanted %g", (unsigned long)i, bytes, wanted[i]);
  }
  syn_model_free(m);
}

/* Of every kind: the cost names all parameters of the layer, and longer sentences cost no less. */
static void test_costs_of(int i) {
  bench b;
  size_t k;
  int p;
  if (!bench_make_plain(&b, i)) return;
  for (k = 0; k < syn_model_node_count(b.m); k++) {
    const syn_node *n = syn_model_node(b.m, k);
    syn_cost one = syn_model_cost(b.m, n, 4), two = syn_model_cost(b.m, n, 8);
    double size = 0.0;
    for (p = 0; p < n->n_param; p++) size += (double)b.m->g.params[n->param[p]].size;
    CHECK(one.parameters == size && one.length == 4, "%s: %s: %g parameters, wanted %g", b.name, n->path,
          one.parameters, size);
    CHECK(one.multiply_adds >= 0.0 && two.multiply_adds >= one.multiply_adds && one.decode_bytes >= 0.0,
          "%s: %s: %g multiply-adds, then %g", b.name, n->path, one.multiply_adds, two.multiply_adds);
  }
  syn_model_free(b.m);
}

/* -- pos -- */

/* Each layout against libm: p of place `first` + row, of even and odd widths. */
static void test_waves(void) {
  static const struct {
    int layout, d, first;
  } cases[] = {{SYN__POS_PAIR, 7, 0}, {SYN__POS_HALF, 10, 0}, {SYN__POS_TENSOR2TENSOR, 32, 1}};
  float p[32];
  int i, row, j;
  for (i = 0; i < 3; i++)
    for (row = 0; row < 40; row++) {
      int d = cases[i].d, pair = cases[i].layout == SYN__POS_PAIR;
      syn__pos own;
      memset(&own, 0, sizeof own);
      own.layout = cases[i].layout;
      own.first = cases[i].first;
      own.d = d;
      syn__pos_rows(&own, p, row, 1);
      for (j = 0; j < d; j++) {
        int wave = pair ? j / 2 : j % (d / 2), cosine = pair ? j % 2 : j >= d / 2;
        double last = cases[i].layout == SYN__POS_TENSOR2TENSOR ? d / 2 - 1.0 : d / 2.0;
        double angle = (row + own.first) * exp(-log(10000.0) * wave / last);
        CHECK(fabs((cosine ? cos(angle) : sin(angle)) - (double)p[j]) < 1e-6, "layout %d, row %d, column %d: %g",
              own.layout, row, j, (double)p[j]);
      }
    }
}

/* -- rel_pos -- */

static uint64_t power(uint64_t x, int n) {
  uint64_t y = 1;
  while (n-- > 0) y *= x;
  return y;
}

/* Every distance up to past max, in integers of 64 bits: max^8 = 2^56 at most. */
static void test_buckets(void) {
  int from[16], half, max, r, v;
  syn__rel_pos p;
  memset(&p, 0, sizeof p);
  for (half = 1; half <= 16; half++)
    for (max = half / 2 + 1; max <= 128; max++) {
      int e = half / 2, n = half - e, k = 0;
      syn__distances(from, half, max);
      p.half = half;
      p.from = from;
      for (r = 0; r < 2 * max; r++) {
        for (v = 0; r >= e && v < n - 1; v++)
          if (power((uint64_t)(r < max ? r : max), n) <
              power((uint64_t)max, v + 1) * power((uint64_t)e, n - v - 1)) break;
        k = syn__rel_pos_bucket(&p, r, k);
        CHECK(k == (r < e ? r : e + v), "half %d, max %d: distance %d is in bucket %d, not %d", half, max,
              r, k, r < e ? r : e + v);
        CHECK(syn__rel_pos_bucket(&p, r, half - 1) == k, "half %d, max %d: %d from the end", half, max, r);
      }
    }
  syn__distances(from, 16, 128);
  CHECK(from[14] == 64 && from[10] == 16 && from[12] == 32, "powers of 16 begin their buckets");
}

/* Which biases an attention has: those before it in its chain and in the chains around. */
static void test_scope(void) {
  static const int wanted[] = {1, 2, 2, 1, 1, 0}; /* of each attention, in order */
  syn_var vars[3];
  syn_context c;
  syn_config k;
  syn_model *m;
  net n = {"tag", "repeat(1, rel_pos -> syn_att -> res_nd(rel_pos -> syn_att -> res(syn_att)) -> syn_att)"
                  " -> concat(rel_pos -> syn_att | syn_att)", NULL, NULL};
  size_t i, at = 0;
  syn_context_init(&c, NULL);
  k = config_of(&n, 8, 0.0f, vars);
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  for (i = 0; m && i < m->g.n_nodes; i++) {
    const syn__rel_pos *p;
    int count = 0;
    if (m->g.nodes[i]->kind != &syn__kind_syn_att) continue;
    for (p = syn__att_of(m->g.nodes[i])->rel_pos; p; p = p->outer) count++;
    CHECK(at < 6 && count == wanted[at], "%s: %d biases", m->g.nodes[i]->path, count);
    at++;
  }
  CHECK(at == 6, "%lu attentions", (unsigned long)at);
  syn_model_free(m);
}

/* -- mix=free: the learned numbers themselves -- */

/* A tagger of one layer. */
static syn_model *mix_model(syn_context *c, const char *layer) {
  net n = {"tag", NULL, NULL, NULL};
  syn_var vars[3];
  syn_config k;
  syn_model *m;
  n.encoder = layer;
  k = config_of(&n, 8, 0.0f, vars);
  m = syn_model_new(c, &k);
  CHECK(m, "%s: %s", layer, c->message);
  return m;
}
/* Its logits for sheet s. */
static const syn_tensor *mix_logits(syn_run *r, const sheet *s) {
  CHECK(syn_run_forward(r, &s->b) == SYN_OK, "forward");
  return &r->tape.tensors[r->tape.g->nodes[r->m->head]->out];
}
/* `free` computes with alpha [heads, kinds] what `other` does: with its softmax (shares), else with
   the tables of `other` times alpha. */
static void test_mix_free(const char *kinds, int shares) {
  static sheet s;
  bench b;
  char layer[80];
  syn_context c;
  syn_model *free_mix, *other;
  syn_run *r[2];
  const syn_tensor *z[2];
  syn_random random = {3};
  syn_param *alpha, *of;
  double most = 0.0;
  size_t i, k;
  syn_context_init(&c, NULL);
  snprintf(layer, sizeof layer, "res(syn_att(%s, mix=free))", kinds);
  free_mix = mix_model(&c, layer);
  snprintf(layer, sizeof layer, "res(syn_att(%s))", kinds);
  other = mix_model(&c, layer);
  if (!free_mix || !other) return;
  alpha = (syn_param *)syn_model_find(free_mix, "encoder.0.0.alpha");
  CHECK(alpha && alpha->trained, "%s: alpha", kinds);
  if (!alpha) return;
  for (i = 0; i < alpha->size; i++)
    CHECK(fabsf(alpha->x[i] - 1.0f) <= 0.0f, "%s: begins with %g", kinds, (double)alpha->x[i]);
  for (i = 0; i < other->g.n_params; i++) {
    const syn_param *from = &other->g.params[i];
    for (k = 0; k < from->size; k++) from->x[k] += 0.3f * syn_random_normal(&random);
    of = (syn_param *)syn_model_find(free_mix, from->name);
    CHECK(of && of->size == from->size, "%s: %s", kinds, from->name);
    if (of) memcpy(of->x, from->x, from->size * sizeof *of->x);
  }
  if (shares) {
    const size_t n = (size_t)alpha->shape[1];
    for (i = 0; i < alpha->size; i += n) c.kernels->softmax(alpha->x + i, alpha->x + i, n);
  } else {
    of = (syn_param *)syn_model_find(other, "encoder.0.0.r");
    for (i = 0; i < alpha->size; i++) alpha->x[i] = 1.0f + syn_random_normal(&random);
    for (i = 0; of && i < of->size; i++) of->x[i] *= alpha->x[i / (of->size / alpha->size)];
  }
  memset(&b, 0, sizeof b);
  b.n.task = "tag";
  b.v_src = b.v_tgt = 10;
  b.classes = 5;
  sheet_fill(&s, &b, 0, 5, 0);
  for (i = 0; i < 2; i++) {
    r[i] = syn_run_new(&c, i ? other : free_mix, NULL);
    z[i] = mix_logits(r[i], &s);
  }
  for (i = 0; i < syn_count(z[0]); i++) {
    most = fmax(most, fabs((double)z[0]->x[i] - (double)z[1]->x[i]));
    CHECK(isfinite(z[0]->x[i]), "%s: not finite", kinds);
  }
  CHECK(most < 1e-5, "%s: mix=free is %g away", kinds, most);
  for (i = 0; i < 2; i++) syn_run_free(r[i]);
  syn_model_free(free_mix);
  syn_model_free(other);
}

/* -- weights that are known: the patterns of fixed_att -- */

/* Weight of key j for query i, before the row is divided by its sum; pattern 0 to 6. */
static double pattern_weight(int pattern, int i, int j, int n) {
  double rising = (double)(j + 1) * (j + 1) * (j + 1), falling = (double)(n - j) * (n - j) * (n - j);
  switch (pattern) {
    case 0: return j == i;
    case 1: return j == i - 1;
    case 2: return j == i + 1;
    case 3: return j <= i - 2 ? rising : 0;
    case 4: return j >= i + 2 ? falling : 0;
    case 5: return rising;
    default: return falling;
  }
}
static void pattern_check(const float *p, int pattern, int i, int n) {
  double sum = 0, worst = 0, wanted;
  int j;
  for (j = 0; j < n; j++) sum += pattern_weight(pattern, i, j, n);
  for (j = 0; j < n; j++) {
    wanted = sum > 0 ? pattern_weight(pattern, i, j, n) / sum : j == i;
    if (!(fabs((double)p[j] - wanted) <= worst * wanted))
      worst = wanted > 0 ? fabs((double)p[j] - wanted) / wanted : (double)INFINITY;
  }
  CHECK(worst < 2e-7, "pattern %d, row %d of %d: %g off", pattern, i, n, worst);
}

/* What can be looked at: fixed heads hold the formulas, the others and linformer sum to 1. */
static void test_patterns(void) {
  net n = {"tag", "fixed_att(heads=8) -> linformer(k=4)", NULL, NULL};
  syn_var vars[3];
  syn_config k;
  bench b;
  sheet s;
  syn_run *r;
  int layer, h, heads, sentence, i, j, size[2], rows;
  memset(&b, 0, sizeof b);
  b.n = n;
  syn_context_init(&b.c, NULL);
  k = config_of(&n, 8, 0.0f, vars);
  b.v_src = k.src_vocab, b.v_tgt = k.tgt_vocab, b.classes = k.classes;
  b.m = syn_model_new(&b.c, &k);
  r = b.m ? syn_run_new(&b.c, b.m, NULL) : NULL;
  sheet_fill(&s, &b, 0, 7, 2);
  s.b.labels = NULL;
  CHECK(r && syn_run_forward(r, &s.b) == SYN_OK, "%s", b.c.message);
  for (layer = 0; r && syn_model_attention(b.m, layer, &heads); layer++)
    for (sentence = 0; sentence < 7; sentence++)
      for (h = 0; h < heads; h++) {
        const float *p = syn_run_attention(r, layer, h, sentence, size);
        syn_run_logits(r, sentence, &rows);
        CHECK(p && size[0] == rows && size[1] == (layer ? 4 : rows), "%d by %d", size[0], size[1]);
        for (i = 0; p && i < size[0]; i++) {
          double sum = 0;
          if (!layer && h < 7) pattern_check(p + i * size[1], h, i, size[1]);
          for (j = 0; j < size[1]; j++) sum += (double)p[i * size[1] + j];
          CHECK(fabs(sum - 1) < 1e-6, "layer %d, head %d: row %d sums to %g", layer, h, i, sum);
        }
      }
  CHECK(layer == 2, "%d layers", layer);
  syn_run_free(r);
  syn_model_free(b.m);
}

/* The longest sentence there can be: cubes to 2^60, whose sum is 2^78. */
static void test_patterns_long(void) {
  enum { LONG = 1 << 20 };
  static const int at[] = {0, 1, 2, 777777, LONG - 2, LONG - 1};
  syn_tape t;
  float *cubes = (float *)malloc(2 * LONG * sizeof *cubes), *row = cubes + LONG;
  int pattern, i;
  syn_context c;
  memset(&t, 0, sizeof t);
  syn_context_init(&c, NULL);
  t.k = c.kernels;
  for (pattern = 0; pattern < 7; pattern++)
    for (i = 0; i < (CHECK_QUICK ? 2 : 6); i++) {
      syn__fixed_cubes(pattern, LONG, cubes);
      syn__fixed_row(&t, pattern, at[i], LONG, cubes, row);
      pattern_check(row, pattern, at[i], LONG);
    }
  free(cubes);
}

/* -- syn_kind_check refuses what is wrong, and says why -- */

/* y_t = x_t + g x_{t-1}, with one defect. */
enum { RIGHT, WRONG_DX, WRONG_DG, WRITES_DX, WRONG_STEP, FUTURE, OTHER_SENTENCE, LEFT_OVER, DEFECTS };
static int defect;

static syn_status echo_shape(syn_build *b, syn_node *n) {
  int d = syn_build_width(b, n, 0);
  n->cache = d;
  if (syn_build_param(b, n, "g", syn_initial_of(SYN_INIT_CONSTANT, 0.5), 1, &d)) return SYN_E_SHAPE;
  return syn_build_out_like(b, n, 0);
}
/* The row whose echo row r has; -1: none. */
static int echo_of(const int *place, int r, int rows) {
  if (defect == FUTURE) return r + 1 < rows && place[r + 1] ? r + 1 : -1;
  return place[r] || (defect == OTHER_SENTENCE && r) ? r - 1 : -1;
}
static void echo_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0);
  int r, j, from, rows = (int)syn_rows(x), d = syn_width(x);
  for (r = 0; r < rows; r++) {
    from = echo_of(syn_places(t, n), r, rows);
    for (j = 0; j < d; j++) y->x[r * d + j] = x->x[r * d + j] + (from < 0 ? 0 : g[j] * x->x[from * d + j]);
  }
}
static void echo_backward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0);
  int r, j, from, rows = (int)syn_rows(x), d = syn_width(x);
  for (r = 0; r < rows && defect == WRITES_DX; r++) memset(x->dx + r * d, 0, (size_t)d * sizeof *g);
  for (r = 0; r < rows; r++) {
    from = echo_of(syn_places(t, n), r, rows);
    for (j = 0; j < d; j++) {
      float dy = y->dx[r * d + j];
      x->dx[r * d + j] += dy;
      if (from < 0) continue;
      x->dx[from * d + j] += defect == WRONG_DX ? dy : g[j] * dy;
      syn_dweight(t, n, 0)[j] += x->x[(defect == WRONG_DG ? r : from) * d + j] * dy;
    }
  }
}
static void echo_step(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0), *y = syn_out(t, n);
  const float *g = syn_weight(t, n, 0), *before;
  const int *place = syn_places(t, n);
  int r, j, rows = (int)syn_rows(x), d = syn_width(x);
  for (r = 0; r < rows; r++) {
    memcpy(syn_cache_new(t, n, r), x->x + r * d, (size_t)d * sizeof *g);
    before = place[r] ? syn_cache_row(t, n, r, defect == WRONG_STEP ? 0 : place[r] - 1) : NULL;
    for (j = 0; j < d; j++) y->x[r * d + j] = x->x[r * d + j] + (before ? g[j] * before[j] : 0);
  }
}

static void test_refused(void) {
  static const char *const wanted[] = {"", "gradient: tgt.embed", "gradient: decoder.0.g",
    "as an encoder: gradient: src.embed", "step: echo at decoder.0, sentence 0, row 2, column 0",
    "causal: with other tokens behind row 0: sentence 0, row 0", "padding: ", "gradient: tgt.embed"};
  syn_kind echo;
  syn_context c;
  memset(&echo, 0, sizeof echo);
  echo.name = "echo";
  echo.args = "";
  echo.shape = echo_shape;
  echo.forward = echo_forward;
  echo.backward = echo_backward;
  echo.step = echo_step;
  for (defect = RIGHT; defect < DEFECTS; defect++) {
    syn_context_init(&c, NULL);
    echo.flags = defect == LEFT_OVER ? SYN_FIRST_WRITE : 0;
    if (defect == RIGHT) CHECK(syn_kind_check(&c, &echo, NULL) == SYN_OK, "%s", c.message);
    else CHECK(syn_kind_check(&c, &echo, "echo -> linear(6) -> echo") == SYN_E_VALUE &&
               strstr(c.message, wanted[defect]), "defect %d: %s", defect, c.message);
    printf("  %s\n", c.message);
  }
  syn_context_clear(&c);
  CHECK(syn_kind_check(&c, NULL, NULL) == SYN_E_VALUE && strstr(c.message, "kind"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_kind_check(&c, syn_kind_at(0), "pos -> nothing") == SYN_E_TEXT, "%s", c.message);
}

/* -- every kind has a case -- */

static int has_word(const char *text, const char *word) {
  size_t size = strlen(word);
  const char *at = text;
  while (at && (at = strstr(at, word)) != NULL) {
    if ((at == text || !syn__is_name(at[-1])) && !syn__is_name(at[size])) return 1;
    at++;
  }
  return 0;
}

static int cases_with(const char *word) {
  int i, count = 0;
  for (i = 0; i < N_CASES; i++) {
    char space[200];
    net n = case_of(i, space, sizeof space);
    count += has_word(n.encoder, word) || has_word(n.decoder, word);
  }
  return count;
}

static void test_coverage(void) {
  size_t i;
  for (i = 0; i < syn_kind_count(); i++)
    CHECK(cases_with(syn_kind_at(i)->name) > 0, "kind %s has no case", syn_kind_at(i)->name);
  for (i = 0; i < SYN__COUNT(syn__scores); i++)
    CHECK(cases_with(syn__scores[i]->name) > 0, "score %s has no case", syn__scores[i]->name);
  for (i = 0; i < SYN__COUNT(syn__act_names); i++)
    CHECK(cases_with(syn__act_names[i]) > 0, "activation %s has no case", syn__act_names[i]);
  for (i = 0; i < SYN__COUNT(syn__cell_names); i++)
    CHECK(cases_with(syn__cell_names[i]) > 0, "cell=%s has no case", syn__cell_names[i]);
  for (i = 0; i < SYN__COUNT(syn__pos_layouts); i++)
    CHECK(cases_with(syn__pos_layouts[i]) > 0, "layout=%s has no case", syn__pos_layouts[i]);
  for (i = 0; i < SYN__COUNT(syn__pool_names); i++)
    CHECK(cases_with(syn__pool_names[i]) > 0, "take=%s has no case", syn__pool_names[i]);
  for (i = 0; i < SYN__COUNT(syn__state_names); i++)
    CHECK(cases_with(syn__state_names[i]) > 0, "state=%s has no case", syn__state_names[i]);
  for (i = 0; i < SYN__COUNT(syn__mix_names); i++)
    CHECK(cases_with(syn__mix_names[i]) > 0, "mix=%s has no case", syn__mix_names[i]);
  for (i = 0; i < SYN__COUNT(syn__source_names); i++)
    CHECK(cases_with(syn__source_names[i]) > 0, "source=%s has no case", syn__source_names[i]);
  for (i = 0; i < SYN__COUNT(syn__aliases); i++)
    CHECK(cases_with(syn__aliases[i].name) > 0, "alias %s has no case", syn__aliases[i].name);
  CHECK(syn_kind_at(syn_kind_count()) == NULL, "a kind past the end");
}

/* -- networks of a file -- */

/* The last loss of 300 steps over the first one: pairs of 1 to 5 of 8 symbols, the target a copy. */
static double copy_learned(int i, float rate) {
  enum { COUNT = 64, WIDTH = 6, STEPS = 300, LAST = 10 };
  static int src[COUNT * WIDTH], tgt[COUNT * WIDTH], labels[COUNT * WIDTH];
  syn_random r = {7};
  syn_train_config k;
  syn_trainer *t;
  syn_batch batch = {COUNT, src, tgt, labels, WIDTH, WIDTH, NULL, NULL, NULL};
  bench b;
  double first = 0, last = 0;
  float loss = 0;
  int step, j, n;
  memset(&k, 0, sizeof k);
  k.lr = rate;
  k.warmup = 20;
  k.clip = 1;
  k.schedule = "constant";
  k.batch_tokens = COUNT * WIDTH;
  if (!bench_make_plain(&b, i)) return (double)INFINITY;
  t = syn_trainer_new(&b.c, b.m, &k);
  for (step = 0; t && step < STEPS; step++) {
    memset(src, 0, sizeof src), memset(tgt, 0, sizeof tgt), memset(labels, 0, sizeof labels);
    for (j = 0; j < COUNT; j++) {
      int *x = src + j * WIDTH, *y = tgt + j * WIDTH, *z = labels + j * WIDTH;
      int length = 1 + syn_random_below(&r, 5);
      for (y[0] = SYN_BEGIN, n = 0; n < length; n++)
        x[n] = y[n + 1 < WIDTH ? n + 1 : n] = z[n] = SYN_FIRST_TOKEN + syn_random_below(&r, 8);
      x[length] = z[length] = SYN_END;
    }
    CHECK(syn_trainer_step(t, &batch, 1, &loss) == SYN_OK, "%s: %s", b.name, b.c.message);
    if (step == 0) first = (double)loss;
    if (step >= STEPS - LAST) last += (double)loss / (double)(int)LAST;
  }
  syn_trainer_free(t);
  syn_model_free(b.m);
  return last / first;
}

/* The best of three learning rates halves the loss. */
static void test_copy(int i) {
  static const float rates[] = {0.003f, 0.01f, 0.001f};
  double best = (double)INFINITY, seen;
  int k;
  for (k = 0; k < 3 && !(best < 0.5); k++) {
    seen = copy_learned(i, rates[k]);
    if (seen < best) best = seen;
  }
  CHECK(best < 0.5, "%s / %s: 300 steps leave %.2f of the loss", strings[i].encoder,
        strings[i].decoder, best);
  printf("  copies: %.2f of the first loss is left\n", best);
}

/* Cuts the lines of a file, which stays in memory. Lines that begin with # are left out. */
static int strings_read(const char *path) {
  static char text[65536];
  FILE *f = fopen(path, "rb");
  size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
  char *at = text, *line;
  if (f) fclose(f);
  text[size] = 0;
  while (*at && n_strings < MAX_STRINGS) {
    char *end = strchr(at, '\n'), *field[4];
    int i;
    line = at;
    at = end ? end + 1 : at + strlen(at);
    if (end) *end = 0;
    if (*line == '#') continue;
    for (i = 0; i < 3 && line; i++) { /* the third | ends the encoder; those inside brackets do not */
      int depth = 0;
      field[i] = line;
      for (; *line && (*line != '|' || depth); line++) depth += (*line == '(') - (*line == ')');
      if (!*line) break;
      *line++ = 0;
    }
    if (i < 3) continue;
    strings[n_strings].task = "seq2seq";
    strings[n_strings].encoder = field[2];
    strings[n_strings++].decoder = line;
  }
  return n_strings;
}

static int test_strings(const char *path) {
  uint64_t seed;
  int i;
  CHECK(strings_read(path) > 0, "%s: no line table|row|encoder|decoder", path);
  for (i = 0; i < n_strings; i++) {
    int failed = check_failed;
    printf("%s / %s\n", strings[i].encoder, strings[i].decoder);
    for (seed = 1; seed <= 7; seed++) test_network(i, 0.0f, seed); /* 3 elements of each tensor */
    test_copy(i);
    printf("  %s\n", check_failed == failed ? "ok" : "FAILED");
    fflush(stdout);
  }
  printf("%d networks\n", n_strings);
  return CHECK_END("strings");
}

/* -- a model that was loaded for decoding: its products read panels that all of it shares -- */

/* Hash of the logits of a forward pass; of the outputs and last logits of a decoder, 0 where the task has none. */
static void answers_of(const bench *b, const syn_model *m, const sheet *s, uint64_t hash[2]) {
  syn_decode_config k;
  syn_context c;
  syn_decoder *d;
  syn_run *r;
  syn_batch batch = s->b;
  int i, size;
  syn_context_init(&c, NULL);
  hash[0] = hash[1] = 0;
  r = syn_run_new(&c, m, NULL);
  CHECK(r && syn_run_forward(r, &batch) == SYN_OK, "%s: %s", b->name, c.message);
  if (r) {
    const syn_tensor *z = &r->tape.tensors[m->g.nodes[m->head]->out];
    hash[0] = syn_hash(SYN_HASH_START, z->x, syn_count(z) * sizeof(float));
  }
  syn_run_free(r);
  if (!m->task->decoder) return;
  memset(&k, 0, sizeof k);
  k.sentences = batch.count;
  batch.tgt = NULL;
  d = syn_decoder_new(&c, m, &k);
  CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s: %s", b->name, c.message);
  hash[1] = d ? syn_hash(SYN_HASH_START, d->logits, (size_t)b->v_tgt * sizeof(float)) : 0;
  for (i = 0; d && i < batch.count; i++) {
    const int *text = syn_decoder_output(d, i, 0, &size, NULL);
    hash[1] = syn_hash(hash[1], text, (size_t)size * sizeof *text);
  }
  syn_decoder_free(d);
}

/* The same bits as the model has that is not packed. */
static void test_packed(int i) {
  static sheet s;
  bench b;
  syn_model *m, *plain;
  uint64_t want[2], got[2];
  size_t k;
  if (!bench_make(&b, i, 24, 0.1f, NULL)) return;
  sheet_fill(&s, &b, 0, 5, 0);
  CHECK(syn_model_save(&b.c, b.m, "packed.safetensors") == SYN_OK, "%s", b.c.message);
  plain = syn_model_load(&b.c, "packed.safetensors");
  m = syn_model_load(&b.c, "packed.safetensors");
  CHECK(syn_model_pack(m) == SYN_OK && plain, "%s: %s", b.name, b.c.message);
  if (m && plain) {
    answers_of(&b, plain, &s, want);
    answers_of(&b, m, &s, got);
    CHECK(got[0] == want[0] && got[1] == want[1], "%s: other bits from panels", b.name);
    for (k = 0; k < m->g.n_params; k++)
      CHECK((m->g.params[k].x == NULL) == m->g.panels[k] && m->g.panels[k] <= m->g.params[k].matrix,
            "%s: %s", b.name, m->g.params[k].name);
  }
  syn_model_free(m);
  syn_model_free(plain);
  syn_model_free(b.m);
}

/* log p of the tokens y [size], from the first one behind the prompt on, by one forward pass over begin, y_0 .. */
static double log_p_of(bench *b, syn_run *r, const int *y, int size, int prompt) {
  int tgt[LONG_PROMPT + MAX_LEN] = {SYN_BEGIN}, rows, t, v;
  syn_batch one;
  double sum = 0.0;
  memset(&one, 0, sizeof one);
  memcpy(tgt + 1, y, (size_t)(size - 1) * sizeof *y);
  one.count = 1;
  one.tgt = tgt;
  one.tgt_width = size;
  CHECK(syn_run_forward(r, &one) == SYN_OK, "%s: %s", b->name, b->c.message);
  for (t = prompt; t < size; t++) {
    const float *z = syn_run_logits(r, 0, &rows) + (size_t)t * (size_t)b->v_tgt;
    double all = 0.0;
    for (v = 0; v < b->v_tgt; v++) all += exp((double)z[v] - (double)z[y[t]]);
    sum -= log(all);
  }
  return sum;
}

/* Every hypothesis of a beam, whose rows change places, has its own state: its score is that of a forward pass. A long
   prompt has several chunks of the pass, and its last token is in the middle of one. */
static void test_beam_states(const char *decoder, int prompt) {
  int begin[3 * (LONG_PROMPT + 1)];
  bench b;
  syn_config k;
  syn_decode_config how;
  syn_decoder *d;
  syn_run *r;
  syn_batch three;
  float score;
  int i, rank, size, texts = 0;
  memset(&b, 0, sizeof b);
  memset(&how, 0, sizeof how);
  memset(&three, 0, sizeof three);
  b.n.task = "lm", b.n.decoder = decoder, b.n.tie = "none";
  snprintf(b.name, sizeof b.name, "%s", decoder);
  syn_context_init(&b.c, NULL);
  k = config_of(&b.n, 8, 0.0f, b.vars);
  k.max_len += prompt;
  b.v_tgt = k.tgt_vocab;
  b.m = syn_model_new(&b.c, &k);
  if (b.m) stir(b.m);
  for (i = 0; i < 3 * (prompt + 1); i++) begin[i] = i % (prompt + 1) ? SYN_FIRST_TOKEN + i * i % 5 : SYN_BEGIN;
  three.tgt = begin;
  three.tgt_width = prompt + 1;
  three.count = how.sentences = 3;
  how.beam = how.best = 5;
  how.alpha = -1.0f; /* the score is the sum of log p */
  d = syn_decoder_new(&b.c, b.m, &how);
  r = syn_run_new(&b.c, b.m, NULL);
  CHECK(d && r && syn_decoder_run(d, &three, NULL, NULL) == SYN_OK, "%s: %s", decoder, b.c.message);
  for (i = 0; d && r && i < 3; i++)
    for (rank = 0; rank < 5; rank++) {
      const int *y = syn_decoder_output(d, i, rank, &size, &score);
      double wanted = size > 0 ? log_p_of(&b, r, y, size, prompt) : (double)score;
      CHECK(fabs(wanted - (double)score) < 1e-4 * (1 + fabs(wanted)), "%s: output %d: log p %g, wanted %g", decoder,
            rank, (double)score, wanted);
      texts += size > prompt + 2;
    }
  CHECK(texts > 3, "%s: %d outputs of more than two tokens", decoder, texts);
  syn_decoder_free(d);
  syn_run_free(r);
  syn_model_free(b.m);
}

/* Bytes that a decoder needs more for 512 tokens than for 256. */
static double decode_growth(const char *decoder) {
  net n = {"lm", NULL, NULL, "none"};
  syn_var vars[3];
  syn_context c;
  syn_plan plan[2];
  int i;
  n.decoder = decoder;
  memset(plan, 0, sizeof plan);
  for (i = 0; i < 2; i++) {
    syn_config k = config_of(&n, 32, 0.0f, vars);
    k.max_len = 256 << i;
    syn_context_init(&c, NULL);
    CHECK(syn_plan_of(&c, &k, NULL, NULL, &plan[i]) == SYN_OK, "%s", c.message);
  }
  return (double)plan[1].decoding - (double)plan[0].decoding;
}
static void test_state_memory(void) {
  static const struct {
    const char *decoder;
    double bytes; /* of a token: the order of the rows of rnn, which only a full pass reads */
  } states[] = {{"lin_att", 0.0}, {"rnn", 4.0}, {"rnn(cell=gru)", 4.0}, {"ssru", 0.0}, {"input_feed -> linear(32)", 0.0}};
  double lists = decode_growth("linear"), keys = decode_growth("syn_att(V)");
  size_t i;
  for (i = 0; i < sizeof states / sizeof *states; i++) {
    double state = decode_growth(states[i].decoder);
    CHECK(state < lists + 256.0 * states[i].bytes + 1.0, "%s: grows by %g bytes, lists by %g", states[i].decoder,
          state, lists);
  }
  CHECK(keys > lists + 256.0 * 2 * 32 * 4 - 1.0, "keys and values grow by %g bytes, lists by %g", keys, lists);
  for (i = 1; i < 8; i *= 2) { /* grouped queries: k and v of i heads */
    char shared[40];
    sprintf(shared, "syn_att(V, heads=8, kv=%d)", (int)i);
    CHECK(fabs(decode_growth("syn_att(V, heads=8)") - decode_growth(shared) - 256.0 * 2 * 4 * (double)(8 - i) * 4) < 1.0,
          "%s: grows by %g bytes", shared, decode_growth(shared));
  }
}

/* Numbers behind the limits of aft: the output is finite, the gradient there 0. */
static void test_aft_limits(void) {
  static sheet s;
  bench b;
  syn_trainer *t;
  const float *dw;
  const syn_param *w = NULL;
  int i, at = 0;
  for (i = 0; i < N_CASES; i++)
    if (case_of(i, b.space, sizeof b.space).decoder && strstr(case_of(i, b.space, sizeof b.space).decoder, "(aft")) at = i;
  if (!bench_make(&b, at, 8, 0.0f, NULL)) return;
  for (i = 0; i < (int)syn_model_param_count(b.m); i++) {
    const syn_param *p = syn_model_param(b.m, (size_t)i);
    size_t k;
    if (strstr(p->name, "w_k"))
      for (k = 0; k < p->size; k++) p->x[k] *= 1e4f;
    if (strlen(p->name) > 2 && !strcmp(p->name + strlen(p->name) - 2, ".w") && p->shape[0] == MAX_LEN) w = p;
  }
  CHECK(w, "%s: no position biases", b.name);
  if (!w) return;
  w->x[0] = -100.0f;
  w->x[MAX_LEN] = 100.0f;
  sheet_fill(&s, &b, 0, 5, 0);
  t = trainer_of(&b, NULL);
  CHECK(t && gradient_of(t, &s.b, 0), "%s: %s", b.name, b.c.message);
  dw = t ? syn_trainer_gradient(t, w) : NULL;
  CHECK(dw && dw[0] == 0.0f && dw[MAX_LEN] == 0.0f && dw[MAX_LEN + 1] != 0.0f, "%s: limits", b.name);
  for (i = 0; t && i < (int)b.m->trained; i++) CHECK(fabsf(t->gradient[i]) < 1e30f, "%s: gradient %d", b.name, i);
  syn_trainer_free(t);
  syn_model_free(b.m);
}

static syn_kind linear_kind(void) {
  size_t i = 0;
  while (strcmp(syn_kind_at(i)->name, "linear")) i++;
  return *syn_kind_at(i);
}

/* A kind of the caller's reads its matrix as it is stored, and may pack any: nothing of it lies in panels. */
static void test_packed_foreign(void) {
  static sheet s;
  syn_kind mine = linear_kind();
  const syn_kind *kinds[1] = {&mine};
  syn_options o;
  bench b;
  syn_config k;
  syn_model *m = NULL;
  const syn_param *p;
  uint64_t want[2], got[2];
  int of;
  memset(&o, 0, sizeof o);
  memset(&b, 0, sizeof b);
  mine.name = "mine";
  o.kinds = kinds;
  o.n_kinds = 1;
  b.n.task = "lm";
  b.v_tgt = b.v_src = 13;
  for (of = 0; of < 2; of++) {
    b.n.decoder = of ? "pos -> res(mine(24)) -> linear" : "pos -> res(linear(24)) -> linear";
    syn_context_init(&b.c, &o);
    k = config_of(&b.n, 24, 0.0f, b.vars);
    k.src_vocab = k.tgt_vocab = 13;
    b.m = syn_model_new(&b.c, &k);
    CHECK(b.m && syn_model_save(&b.c, b.m, "packed.safetensors") == SYN_OK, "%s", b.c.message);
    if (!b.m) return;
    if (!of) {
      sheet_fill(&s, &b, 0, 5, 0);
      answers_of(&b, b.m, &s, want);
      syn_model_free(b.m);
    }
  }
  m = syn_model_load(&b.c, "packed.safetensors");
  CHECK(syn_model_pack(m) == SYN_OK, "%s", b.c.message);
  p = syn_model_find(m, "decoder.1.0.w");
  CHECK(p && p->matrix && p->x, "%s", b.c.message);
  p = syn_model_find(m, "decoder.2.w");
  CHECK(p && p->matrix && !p->x, "%s", b.c.message);
  answers_of(&b, m, &s, got);
  CHECK(got[0] == want[0] && got[1] == want[1], "a kind of the caller's: other bits");
  answers_of(&b, b.m, &s, got);
  CHECK(got[0] == want[0] && got[1] == want[1], "a kind of the caller's, as stored: other bits");
  syn_model_free(m);
  syn_model_free(b.m);
}

int main(int argc, char **argv) {
  static const char *const linear_in_masks[] = {
      "dropout", "linear -> dropout", "ff -> linear", "pos", "learn_pos", "syn_att(V)", "syn_att(R)",
      "syn_att(R+V)", "syn_att(D, tile=2)", "res_d(linear) -> res(syn_att(FR))", "cnn -> linear",
      "light_conv -> linear", "dyn_conv", "aop(2, 5)", "universal(2, res(syn_att(R)))",
      "linformer(k=6)", "fixed_att(heads=8)"};
  int i;
  size_t k;
  if (argc > 1) return test_strings(argv[1]);
  test_coverage();
  test_refused();
  test_costs();
  test_decode_bytes();
  test_waves();
  test_buckets();
  test_scope();
  test_wide("pos -> highway(ff) -> norm");
  test_wide("learn_pos -> act(gelu) -> res_nd(ff(act=glu)) -> rms_norm");
  test_wide("res_d(syn_att(R+V)) -> ff(act=tanh) -> dropout(0.2) -> cnn(k=3)");
  test_packed_foreign();
  test_beam_states("res(lin_att(decay=1)) -> linear -> res(lin_att(4)) -> ff(act=tanh)", 0);
  test_beam_states("res(lin_att(decay=1)) -> res(lin_att(decay=0))", LONG_PROMPT);
  test_beam_states("input_feed -> linear(6) -> rnn(8) -> res(rnn(cell=gru)) -> ssru(6)", 0);
  test_beam_states("pos -> res(aft) -> res(ff(6) -> sgu -> linear)", 0);
  test_state_memory();
  test_aft_limits();
  for (i = 0; i < N_CASES; i++) {
    if (CHECK_EMULATED ? i % 7 == 0 : !CHECK_QUICK || (i + i / 2) % 2) test_network(i, CHECK_QUICK && i % 4 ? 0.0f : 0.25f, 5);
    if (i % (CHECK_QUICK ? 8 : CHECK_SHORT ? 3 : 1) == 0) test_machines(i);
    if (!CHECK_EMULATED || i % 4 == 3) test_dropout_seed(i);
    if (!CHECK_EMULATED || i % 4 == 3) test_packed(i);
    if (!CHECK_QUICK || i % 4 == 2) test_keep(i);
    if (!CHECK_EMULATED || i % 4 == 0) test_not_needed(i);
    test_costs_of(i);
    if (!CHECK_QUICK || i % 4 == 1) test_frozen(i);
  }
  CHECK(poisoned > (CHECK_EMULATED ? 100 : 150), "only %ld inputs were poisoned", poisoned);
  for (k = 0; k < sizeof linear_in_masks / sizeof linear_in_masks[0]; k++)
    test_dropout_mean(linear_in_masks[k]);
  test_patterns();
  test_patterns_long();
  test_mix_free("R+V", 1);
  test_mix_free("T+D+V", 1);
  test_mix_free("R", 0);
  for (i = 0; i < N_CASES; i++) {
    const net *n = i < 2 * N_ATT ? NULL : &nets[i - 2 * N_ATT];
    if (n ? strcmp(n->task, "seq2seq") && strstr(n->encoder ? n->encoder : n->decoder, "rel_pos") != NULL
          : !strpbrk(attentions[i / 2], "VDCBG")) test_groups(i);
  }
  test_aop_masks();
  test_shared_masks("R", 1);
  test_shared_masks("Fix", 1);
  test_shared_masks("FR", 1);
  test_shared_masks("T", 1);
  test_shared_masks("R+FR", 1);
  test_shared_masks("V", 0);
  test_shared_masks("D", 0);
  test_shared_masks("R+V", 0);
  return CHECK_END("kinds");
}
