/* The architecture language: grammar, aliases, parameter names, errors with their places, hostile texts. */
#ifndef TEST_LINKED /* the Makefile links it to linked.c */
#define SYNTHESIZER_IMPLEMENTATION
#endif
#include "../synthesizer.h"
#include "check.h"
#include "heap.h"
#include <time.h>

static const syn_var vars[] = {{"FF_NUM_HIDDEN", 24}, {"N", 2}, {"HALF", 0.5}, {"BIG", 1e300}};

static syn_config config_of(const char *task, const char *encoder, const char *decoder) {
  syn_config k;
  memset(&k, 0, sizeof k);
  k.task = task;
  k.encoder = encoder;
  k.decoder = decoder;
  k.d_model = 8;
  k.heads = 2;
  k.max_len = 9;
  k.src_vocab = k.tgt_vocab = 11;
  k.classes = 3;
  k.dropout = 0.25f;
  k.vars = vars;
  k.n_vars = 4;
  return k;
}

/* -- parameter names and shapes -- */

/* "name[3,4] ..." of all tensors, in order. */
static void names_of(const syn_model *m, char *out, size_t room) {
  size_t i, used = 0;
  int k;
  out[0] = 0;
  for (i = 0; i < syn_model_param_count(m) && used < room; i++) {
    const syn_param *p = syn_model_param(m, i);
    used += (size_t)snprintf(out + used, room - used, "%s%s", i ? " " : "", p->name);
    for (k = 0; k < p->rank && used < room; k++)
      used += (size_t)snprintf(out + used, room - used, "%c%d", k ? ',' : '[', p->shape[k]);
    if (used < room) used += (size_t)snprintf(out + used, room - used, "]");
  }
}

/* 1 if both lists have the same words, in any order. */
static int same_words(const char *a, const char *b) {
  const char *lists[2], *at, *end;
  int side;
  lists[0] = a, lists[1] = b;
  for (side = 0; side < 2; side++)
    for (at = lists[side]; *at; at = *end ? end + 1 : end) {
      const char *other = lists[!side];
      size_t size;
      end = strchr(at, ' ');
      if (!end) end = at + strlen(at);
      size = (size_t)(end - at);
      while ((other = strstr(other, "")) != NULL && *other) {
        const char *next = strchr(other, ' ');
        size_t length = next ? (size_t)(next - other) : strlen(other);
        if (length == size && !memcmp(other, at, size)) break;
        other += length + (next != NULL);
      }
      if (!*other) return 0;
    }
  return 1;
}

typedef struct naming {
  const char *task, *encoder, *decoder, *tie, *names;
} naming;

/* The first is the example of the language's section 7. */
static const naming namings[] = {
    {"classify", "pos->repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm", NULL, NULL,
     "src.embed[11,8] "
     "encoder.1.0.0.0.g[8] encoder.1.0.0.0.b[8] encoder.1.0.0.1.w_v[8,8] encoder.1.0.0.1.w_o[8,8] "
     "encoder.1.0.0.1.r[2,9,9] encoder.1.0.0.1.w_q[8,8] encoder.1.0.0.1.w_k[8,8] "
     "encoder.1.0.0.1.alpha[2,2] encoder.1.0.1.0.g[8] encoder.1.0.1.0.b[8] encoder.1.0.1.1.w[32,8] "
     "encoder.1.0.1.1.b[32] encoder.1.0.1.2.w[8,32] encoder.1.0.1.2.b[8] "
     "encoder.1.1.0.0.g[8] encoder.1.1.0.0.b[8] encoder.1.1.0.1.w_v[8,8] encoder.1.1.0.1.w_o[8,8] "
     "encoder.1.1.0.1.r[2,9,9] encoder.1.1.0.1.w_q[8,8] encoder.1.1.0.1.w_k[8,8] "
     "encoder.1.1.0.1.alpha[2,2] encoder.1.1.1.0.g[8] encoder.1.1.1.0.b[8] encoder.1.1.1.1.w[32,8] "
     "encoder.1.1.1.1.b[32] encoder.1.1.1.2.w[8,32] encoder.1.1.1.2.b[8] "
     "encoder.2.g[8] encoder.2.b[8] out.w[3,8] out.b[3]"},
    {"lm", NULL, "concat(id | ff(6) -> linear(5, bias=0)) -> ffl(3, glu) -> highway(linear(13))", NULL,
     "tgt.embed[11,8] decoder.0.1.0.w[6,8] decoder.0.1.0.b[6] decoder.0.1.1.w[5,6] decoder.1.w[6,13] "
     "decoder.1.b[6] decoder.2.w[13,3] decoder.2.b[13] decoder.3.w[13,13] decoder.3.b[13] "
     "decoder.3.0.w[13,13] decoder.3.0.b[13] out.w[11,13] out.b[11]"},
    {"lm", NULL, "parallel_add(res_d(linear) | repeat(2, norm) | id) -> learn_pos -> rms_norm", "out",
     "tgt.embed[11,8] decoder.0.0.0.0.w[8,8] decoder.0.0.0.0.b[8] decoder.0.1.0.0.0.g[8] "
     "decoder.0.1.0.0.0.b[8] decoder.0.1.0.1.0.g[8] decoder.0.1.0.1.0.b[8] decoder.1.w[9,8] "
     "decoder.2.g[8] out.b[11]"},
    {"tag", "id -> dropout(0) -> id -> syn_att(FD+D+FR+Fix, c=3, k=5, a=2) -> linear(6) -> linear", NULL,
     NULL,
     "src.embed[11,8] encoder.3.w_v[6,8] encoder.3.w_o[8,6] encoder.3.fd_w1[6,8] encoder.3.fd_b1[6] "
     "encoder.3.fd_wa[2,2,3] encoder.3.fd_ba[2,2] encoder.3.fd_wb[2,5,3] encoder.3.fd_bb[2,5] "
     "encoder.3.d_w1[6,8] encoder.3.d_b1[6] encoder.3.d_w2[2,9,3] encoder.3.d_b2[2,9] "
     "encoder.3.r1[2,9,5] encoder.3.r2[2,9,5] encoder.3.fix[2,9,9] encoder.3.alpha[2,4] "
     "encoder.4.w[6,8] encoder.4.b[6] encoder.5.w[8,6] encoder.5.b[8] out.w[3,8] out.b[3]"},
    {"lm", NULL, "syn_att(D+V, shared=1, mix=sum) -> syn_att(D, shared=1) -> syn_att(R, tile=4)", "none",
     "tgt.embed[11,8] decoder.0.w_v[8,8] decoder.0.w_o[8,8] decoder.0.d_w2[9,4] decoder.0.w_q[8,8] "
     "decoder.0.w_k[8,8] decoder.1.w_v[8,8] decoder.1.w_o[8,8] decoder.1.d_w1[8,8] decoder.1.d_w2[9,4] "
     "decoder.2.w_v[8,8] decoder.2.w_o[8,8] decoder.2.r[2,4,4] out.w[11,8] out.b[11]"},
    {"seq2seq", "pos -> ffl(5) -> repeat(2, res_nd(ffl(7))) -> norm -> dropout",
     "repeat(2, res(mh_dot_att(source=increasing, heads=1)))", "all",
     "tgt.embed[11,8] encoder.1.w[5,8] encoder.1.b[5] encoder.2.w[8,5] encoder.2.b[8] "
     "encoder.3.0.0.0.g[8] encoder.3.0.0.0.b[8] encoder.3.0.0.1.w[7,8] encoder.3.0.0.1.b[7] "
     "encoder.3.0.0.2.w[8,7] encoder.3.0.0.2.b[8] encoder.3.1.0.0.g[8] encoder.3.1.0.0.b[8] "
     "encoder.3.1.0.1.w[7,8] encoder.3.1.0.1.b[7] encoder.3.1.0.2.w[8,7] encoder.3.1.0.2.b[8] "
     "encoder.4.g[8] encoder.4.b[8] decoder.0.0.0.0.w_v[8,8] decoder.0.0.0.0.w_o[8,8] "
     "decoder.0.0.0.0.w_q[8,8] decoder.0.0.0.0.w_k[8,8] decoder.0.1.0.0.w_v[8,8] "
     "decoder.0.1.0.0.w_o[8,8] decoder.0.1.0.0.w_q[8,8] decoder.0.1.0.0.w_k[8,8] out.b[11]"},
    {"lm", NULL, "id -> universal(3, res_nd(aop) -> repeat(2, ff)) -> linear(4) -> aop(3, 5, 6, 7)", NULL,
     "tgt.embed[11,8] decoder.1.0.0.g[8] decoder.1.0.0.b[8] decoder.1.0.1.w_q[8,8] "
     "decoder.1.0.1.keys[2,24,4] decoder.1.0.1.values[2,24,4] decoder.1.0.1.w_o[8,8] "
     "decoder.1.1.0.0.w[8,8] decoder.1.1.0.0.b[8] decoder.1.1.1.0.w[8,8] decoder.1.1.1.0.b[8] "
     "decoder.2.w[4,8] decoder.2.b[4] decoder.3.w_q[18,4] decoder.3.keys[3,5,6] "
     "decoder.3.values[3,5,7] decoder.3.w_o[4,21] out.w[11,4] out.b[11]"},
    {"seq2seq", "linear(5)", "mlp_att(3) -> mlp_src_att -> dot_src_att(s=1)", "none",
     "src.embed[11,8] encoder.0.w[5,8] encoder.0.b[5] tgt.embed[11,8] decoder.0.w_q[3,8] "
     "decoder.0.w_k[3,5] decoder.0.w_s[3] decoder.1.w_q[8,5] decoder.1.w_k[8,5] decoder.1.w_s[8] "
     "decoder.2.w_v[5,5] decoder.2.w_o[5,5] decoder.2.w_q[5,5] decoder.2.w_k[5,5] out.w[11,5] out.b[11]"}};

static void test_names(void) {
  static char seen[8000];
  size_t i;
  for (i = 0; i < sizeof namings / sizeof namings[0]; i++) {
    const naming *n = &namings[i];
    syn_config k = config_of(n->task, n->encoder, n->decoder);
    syn_context c;
    syn_model *m;
    syn_context_init(&c, NULL);
    k.tie = n->tie;
    m = syn_model_new(&c, &k);
    CHECK(m, "%s", c.message);
    if (m) names_of(m, seen, sizeof seen);
    CHECK(!m || same_words(seen, n->names), "%s%s\n has %s\n not %s", n->encoder ? n->encoder : "",
          n->decoder ? n->decoder : "", seen, n->names);
    syn_model_free(m);
  }
}

/* -- texts that mean the same network -- */

/* In each row every text is the same network: same parameters, same bits, also while training with
   dropout. The first letter is the side. */
static const char *const same[][6] = {
    {"e:res(norm->ff(8)->linear)", "e:res_nd(ffl(8))", "e:res(norm->ff(8)->linear->dropout)",
     "e:res_d(norm->ff(8)->linear)", "e: res ( norm -> ff ( 8 ) -> linear )", "e:res_nd(ffl(n=8))"},
    {"e:ff(8, relu) -> linear", "e:ff(8|relu) \xE2\x86\x92 linear()", "e:ff(n=8, act=relu)->linear",
     "e:ff(act=relu, n = 8)\n\t-> # a comment -> nothing\nlinear", "e:#first\nff(+8.0)->linear#last",
     "e:ff(8e0)->linear(n=8, bias=1)->dropout"},
    {"e:syn_att(V, heads=2)", "e:syn_att", "e:mh_dot_self_att", "e:syn_att(V, 2)->dropout",
     "e:mh_dot_self_att(2)", "e:syn_att(kinds=V, c=4, dropout=0.25)"},
    {"e:syn_att(R+V)", "e:syn_att(R + V)", "e:syn_att(kinds = R # one\n + # two\n V)",
     "e:syn_att(R+V, mix=alpha)", "e:syn_att(R+V, f=3, m=16)", "e:syn_att(mix=alpha, kinds=R+V)"},
    {"e:concat(id | ff(5))", "e:parallel(id | ff(5))", "e:concat(id, ff(5))", "e:parallel(chain=id | ff(5))",
     "e:concat(id|ff(5))->dropout(0)", "e:concat(id\n|\nff(5)\n)"},
    {"e:repeat(2, ffl)", "e:repeat(2 | ffl)", "e:repeat(n=2, chain=ffl)", "e:repeat($N, ffl)",
     "e:repeat(2,ff(32)->linear)", "e:repeat(2,ffl(n=32,act=relu))"},
    {"e:linear(6)->ffl->ff", "e:linear(6)->ff(24)->linear(6)->ff(8)",
     "e:linear(6)->ff($FF_NUM_HIDDEN)->linear(6)->ff", "e:linear(6) -> ffl(act=relu) -> ff(act=relu)",
     "e:linear(6)->ffl($FF_NUM_HIDDEN)->ff(8)", "e:linear(n=6)->ffl(24,relu)->ff(n=8)"},
    {"e:ff->dropout(0.25)", "e:ff->dropout", "e:ff", "e:ff(8)", "e:ff(dropout=0.25)", "e:ff(8)->dropout(rate=0.25)"},
    {"e:ff(dropout=0.5)->dropout->linear(dropout=0)", "e:ff->dropout(0.5)->linear(dropout=0)",
     "e:ff->dropout($HALF)->linear->dropout(0)", "e:ff(dropout=0.5)->dropout(0.5)->linear->dropout(0)",
     "e:ff(8)->dropout(rate=0.5)->linear(dropout=0)->dropout", "e:ff->dropout(0.5)->linear(8)->dropout(0)"},
    {"d:mh_dot_att(dropout=0.5)->dropout->ff(32)->linear(dropout=0)", "d:mh_dot_att->dropout(0.5)->ffl->dropout(0)",
     "d:mh_dot_src_att->dropout($HALF)->ffl(32)->dropout(0)", "d:mh_dot_att(2)->dropout(0.5)->ffl(n=32)->dropout(0)",
     "d:mh_dot_att(dropout=0.5)->dropout->ff(32)->linear->dropout(rate=0)",
     "d:mh_dot_att(dropout=0.5)->dropout(0.5)->ffl->dropout(0)"},
    {"d:mh_dot_att", "d:mh_dot_src_att", "d:mh_dot_att(2)", "d:mh_dot_src_att(scale=$HALF)",
     "d:mh_dot_att(source=upper)->dropout", "d:mh_dot_src_att(2, 4, source=upper, c=4)"},
    {"d:mlp_att", "d:mlp_src_att", "d:mlp_att(8)", "d:mlp_src_att(n=8)", "d:mlp_att(dropout=0.25)",
     "d:mlp_att()"},
    {"d:dot_src_att(s=4)", "d:mh_dot_src_att(1, 4)", "d:dot_src_att(4)->dropout",
     "d:mh_dot_att(heads=1, scale=0.5)", "d:dot_src_att(4.0, 0.25)", "d:dot_src_att(dropout=0.25, s=4)"},
    {"d:dot_src_att", "d:mh_dot_att(heads=1)", "d:dot_src_att()", "d:dot_src_att->dropout",
     "d:dot_src_att(dropout=0.25)", "d:mh_dot_src_att(1, c=8)"},
    /* Domhan's places: the second number is s, the scale 1/sqrt(s) */
    {"d:mh_dot_att(2, 1)", "d:mh_dot_src_att(heads=2, s=1)", "d:mh_dot_att(s=1)", "d:mh_dot_att(scale=1)",
     "d:mh_dot_src_att(2, 1, c=4)", "d:mh_dot_att(upper, 1)"},
    {"e:mh_dot_self_att(2, 16)", "e:mh_dot_self_att(s=16)", "e:mh_dot_self_att(scale=0.25)",
     "e:mh_dot_self_att(2, scale=0.25, c=4)", "e:mh_dot_self_att(heads=2, s=16)->dropout", "e:mh_dot_self_att(2, 16.0)"},
    {"e:cnn(glu)", "e:cnn", "e:cnn(act=glu)", "e:cnn( glu )->dropout", "e:cnn(8, 3, glu)", "e:cnn(glu, 3)"},
    {"e:cnn(relu)->ff(gelu)->rnn(gru)", "e:cnn(act=relu)->ff(act=gelu)->rnn(cell=gru)",
     "e:cnn(8, 3, relu)->ff(8, gelu)->rnn(8, gru)", "e:cnn(relu, 3, dilate=1)->ff(gelu, n=8)->rnn(gru)",
     "e:cnn(relu|3)->ff(gelu)->rnn(gru)", "e:cnn(relu)->ff(8|gelu)->rnn(n=8, cell=gru)"},
    /* as Domhan's texts and the presets write it */
    {"e:res(norm->cnn)->res(birnn->dropout)", "e:res_nd(cnn)->res_d(birnn)", "e:res_nd(cnn(glu))->res_d(birnn)",
     "e:res(norm->cnn->dropout)->res(birnn->dropout)", "e:res_d(norm->cnn)->res(birnn->dropout)",
     "e:res_nd(cnn(act=glu))->res_d(birnn(8))"},
    {"e:aop", "e:aop(2, 24, 4, 4)", "e:aop(c_v=4, keys=24)", "e:aop->dropout", "e:aop(2, dropout=0.25)",
     "e:aop(heads=2, c_k=4)"},
    {"e:universal(2, ffl)", "e:universal($N, ffl)", "e:universal(n=2, chain=ff(32)->linear)",
     "e:universal(chain=ffl | n=2)", "e:universal(2|ff(32)->linear->dropout)", "e:universal(2, ffl(32))"}};

enum { SAME_ROWS = (int)(sizeof same / sizeof same[0]) };

/* Hash of all names, weights and the losses of three training steps. */
static uint64_t network_hash(const char *text) {
  static const int src[] = {4, 5, 6, 3, 7, 3, 0, 0}, tgt[] = {2, 5, 6, 7, 2, 6, 0, 0};
  static const int labels[] = {1, 2};
  static const int next[] = {5, 6, 7, 3, 6, 3, 0, 0};
  int decoder = text[0] == 'd', step;
  syn_config k = config_of(decoder ? "seq2seq" : "classify", decoder ? "id" : text + 2,
                           decoder ? text + 2 : NULL);
  syn_train_config train;
  syn_context c;
  syn_model *m;
  syn_trainer *t;
  syn_batch b;
  uint64_t hash = SYN_HASH_START;
  size_t i;
  float loss;
  syn_context_init(&c, NULL);
  memset(&b, 0, sizeof b);
  memset(&train, 0, sizeof train);
  train.batch_tokens = 32;
  b.count = 2, b.src = src, b.tgt = tgt, b.src_width = b.tgt_width = 4;
  b.labels = decoder ? next : labels;
  m = syn_model_new(&c, &k);
  t = m ? syn_trainer_new(&c, m, &train) : NULL;
  CHECK(t, "%s: %s", text, c.message);
  for (step = 0; t && step < 3; step++) {
    CHECK(syn_trainer_step(t, &b, 1, &loss) == SYN_OK, "%s: %s", text, c.message);
    hash = syn_hash(hash, &loss, sizeof loss);
  }
  for (i = 0; t && i < syn_model_param_count(m); i++) {
    const syn_param *p = syn_model_param(m, i);
    hash = syn_hash(hash, p->name, strlen(p->name));
    hash = syn_hash(hash, p->x, p->size * sizeof *p->x);
  }
  syn_trainer_free(t);
  syn_model_free(m);
  return hash;
}

static void test_same(void) {
  int i, k;
  for (i = 0; i < SAME_ROWS; i++)
    for (k = 1; k < 6; k++)
      CHECK(network_hash(same[i][k]) == network_hash(same[i][0]), "%s is not %s", same[i][k], same[i][0]);
  CHECK(network_hash("e:ff(dropout=0.5)") != network_hash("e:ff"), "an argument without effect");
  CHECK(network_hash("e:ff->dropout(0.5)") != network_hash("e:ff"), "a rate without effect");
  CHECK(network_hash("d:mh_dot_att(2, 1)") != network_hash("d:mh_dot_att"), "s without effect");
  CHECK(network_hash("e:mh_dot_self_att(2, 1)") != network_hash("e:mh_dot_self_att"), "s without effect");
  CHECK(network_hash("e:pos(scale=0, dropout=0.5)") != network_hash("e:pos(scale=0)"), "a rate without effect");
  CHECK(network_hash("e:dropout->id") != network_hash("e:id"), "dropout without effect");
  CHECK(network_hash("e:id->dropout->dropout") != network_hash("e:dropout"), "two dropouts are two");
}

/* -- the lists of the manual and of README.md -- */

/* A file of the repository with a final 0; null: there is none. */
static char *file_of(const char *root, const char *name) {
  char path[1000], *text = NULL;
  FILE *f;
  snprintf(path, sizeof path, "%s/%s", root, name);
  f = fopen(path, "rb");
  if (f && fseek(f, 0, SEEK_END) == 0) {
    long size = ftell(f);
    text = (char *)calloc(1, (size_t)size + 1);
    rewind(f);
    CHECK(text && fread(text, 1, (size_t)size, f) == (size_t)size, "%s is not read", path);
  }
  CHECK(text, "%s is missing", path);
  if (f) fclose(f);
  return text;
}

/* The signature that begins at a line of the list, "ff(n=d_model, act=relu, dropout)", in one line; empty:
   here is none. */
static void signature_of(const char *at, char *out) {
  int depth = 0;
  for (; *at && (depth || (*at != ' ' && *at != '\n')); at++) {
    depth += (*at == '(') - (*at == ')');
    if (*at != '\n' && (*at != ' ' || out[-1] != ' ')) *out++ = *at;
  }
  *out = 0;
}

/* The line of the list that begins with five spaces and the name; null: none. */
static const char *line_of(const char *list, const char *name) {
  size_t size = strlen(name);
  for (; (list = strstr(list, "\n     ")) != NULL; list += 6)
    if (!strncmp(list + 6, name, size) && (list[6 + size] == '(' || list[6 + size] == ' ')) return list + 6;
  return NULL;
}

/* What a call gives for an argument of the list: its default with the numbers of this test's network; null:
   nothing, as the list states no value. */
static const char *value_of(const char *name, const char *value) {
  static const char *const values[][2] = {
      {"d_model", "8"}, {"d", "8"}, {"d/heads", "4"}, {"3d", "24"}, {"4d", "32"}, {"c", "4"},
      {"1/sqrt(s)", NULL}, {"1/sqrt(c)", "0.5"}, {"f", "3"}, {"?", NULL}, {"V", "V+R+FR+D+FD+Conv+CRC+BD+BCRC+GLU"}, {"heads", "2"}, {"dropout", "0.25"},
      {"rate", "0.25"}, {"n", "2"}, {"s", "2"}, {"X", "ff"}, {"X | Y", "ff | linear"}};
  size_t i;
  for (i = 0; i < sizeof values / sizeof values[0]; i++)
    if (!strcmp(values[i][0], *value ? value : name)) return values[i][1];
  return *value ? value : NULL;
}

/* Appends to a call. */
static void call_append(char *call, const char *name, const char *value) {
  size_t size = strlen(call);
  char *end = call + size - (size && call[size - 1] == ')');
  if (*end != ')') strcpy(end, "(");
  else strcpy(end, ", ");
  sprintf(end + strlen(end), *name == 'X' ? "%.0s%s)" : "%s=%s)", name, value);
}

/* The arguments of the signature: their names as in syn_kind.args, without the types; a call that leaves out
   what has a default, of the list or of the model; a call that gives all. syn_att has several kinds in both,
   so that every argument has a meaning. */
static void calls_of(const char *signature, char *names, char *least, char *full) {
  const char *at = signature + strcspn(signature, "(");
  sprintf(least, "%.*s", (int)(at - signature), signature);
  strcpy(full, least);
  for (*names = 0; *at && *at != ')';) {
    char name[60] = "", value[60] = "";
    const char *given;
    at += strspn(at, "(, ");
    sscanf(at, "%59[^,=)]=%59[^,]", name, value);
    if (!strchr(at, ',') && *value) value[strlen(value) - 1] = 0; /* the ) of the signature */
    at += strlen(name) + (*value ? 1 + strlen(value) : 0);
    given = value_of(name, value);
    sprintf(names + strlen(names), "%s%s", *names ? " " : "", *name == 'X' ? "chain" : name);
    if (*name == 'X' || !strcmp(name, "kinds") || ((!strcmp(name, "n") || !strcmp(name, "s")) && !*value))
      call_append(least, name, given);
    if (given) call_append(full, name, given);
  }
}

/* The defaults of a line are those of the layer: a call that gives them is the same network. */
static void check_defaults(const char *least, const char *full) {
  char texts[2][400];
  syn_context c;
  syn_config k;
  syn_model *m;
  int decoder;
  const char *form;
  syn_context_init(&c, NULL);
  k = config_of("classify", least, NULL);
  m = syn_model_new(&c, &k);
  decoder = m == NULL; /* what an encoder does not have is a layer of decoders */
  syn_model_free(m);
  form = decoder ? "d:%s->linear->mh_dot_att" : "e:%s->syn_att"; /* rel_pos needs one */
  if (!strncmp(least, "pool", 4) || !strncmp(least, "softcap", 7)) form = "e:syn_att->%s"; /* the last layer */
  sprintf(texts[0], form, least);
  sprintf(texts[1], form, full);
  CHECK(network_hash(texts[0]) == network_hash(texts[1]), "%s is not %s", texts[1], texts[0]);
}

/* The names of a kind's arguments, without their types. */
static void names_of_args(const char *args, char *out) {
  for (; *args; args++)
    if (args[1] == ':') args++;
    else *out++ = *args;
  *out = 0;
}

/* Every layer stands in both lists, with its arguments in their order and their defaults. */
static void test_lists(void) {
  const char *root = getenv("ROOT"), *at;
  char *header = root ? file_of(root, "synthesizer.h") : NULL, *readme = root ? file_of(root, "README.md") : NULL;
  char *list = header ? strstr(header, "\n   LAYERS ") : NULL, *end = list ? strstr(list, "\n   BUILD OPTIONS ") : NULL;
  char sign[400], names[400], want[400], least[400], full[400], cell[420], *to;
  const char *from;
  size_t i;
  int lines = 0;
  CHECK(!root || (list && end && readme), "the manual has no list of layers");
  if (!root || !list || !end || !readme) return;
  *end = 0;
  for (i = 0; i < syn_kind_count(); i++) {
    at = line_of(list, syn_kind_at(i)->name);
    CHECK(at, "%s has no line in the manual", syn_kind_at(i)->name);
    if (!at) continue;
    signature_of(at, sign);
    calls_of(sign, names, least, full);
    names_of_args(syn_kind_at(i)->args, want);
    CHECK(!strcmp(names, want), "the manual has %s, the kind has the arguments %s", sign, want);
  }
  for (at = list; (at = strstr(at, "\n     ")) != NULL && (at += 6) != NULL;) {
    if (*at < 'a' || *at > 'z') continue; /* a second line, or a kind of syn_att */
    signature_of(at, sign);
    calls_of(sign, names, least, full);
    check_defaults(least, full);
    for (to = cell, *to++ = '`', from = sign; *from; *to++ = *from++)
      if (*from == '|') *to++ = '\\';
    strcpy(to, "`");
    CHECK(strstr(readme, cell), "README.md has no %s", cell);
    lines++;
  }
  CHECK(lines > (int)syn_kind_count(), "%d lines", lines);
  free(header);
  free(readme);
}

/* The kinds that the error of an unknown one lists are those of the manual. */
static void test_list_of_kinds(void) {
  const char *root = getenv("ROOT"), *at;
  char *header = root ? file_of(root, "synthesizer.h") : NULL, *list = header ? strstr(header, "\n   KINDS ") : NULL;
  syn_context c;
  syn_config k = config_of("classify", "syn_att(Q)", NULL);
  char name[20], text[60];
  int kinds = 0;
  syn_context_init(&c, NULL);
  CHECK(!syn_model_new(&c, &k) && (!root || list), "%s", c.message);
  at = strstr(c.message, "there are ");
  for (at = at ? at + 10 : ""; list && *at && *at != ';'; at += strspn(at, ", ")) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ",;"), at);
    CHECK(line_of(list, name), "%s has no line in the manual", name);
    sprintf(text, "e:syn_att(%s)", name);
    network_hash(text);
    at += strlen(name);
    kinds++;
  }
  CHECK(!list || kinds > 10, "%d kinds: %s", kinds, c.message);
  free(header);
}

/* The text in the model's configuration has numbers for its $NAMEs, and builds the same network. */
static void test_replaced(void) {
  syn_config k = config_of("classify", "repeat($N, res_nd(ffl($FF_NUM_HIDDEN))) # $N $UNKNOWN", NULL), again;
  syn_context c;
  syn_model *m, *other;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(m, "%s", c.message);
  if (!m) return;
  CHECK(!strcmp(syn_model_config(m)->encoder, "repeat(2, res_nd(ffl(24))) # 2 $UNKNOWN"), "%s",
        syn_model_config(m)->encoder);
  CHECK(syn_model_config(m)->n_vars == 0 && syn_model_config(m)->vars == NULL, "variables are left");
  CHECK(strcmp(syn_model_config(m)->tie, "none") == 0 && syn_model_config(m)->heads == 2, "defaults");
  again = *syn_model_config(m);
  other = syn_model_new(&c, &again);
  CHECK(other && syn_model_param_count(other) == syn_model_param_count(m), "%s", c.message);
  syn_model_free(other);
  syn_model_free(m);
}

/* -- errors -- */

typedef struct wrong {
  const char *task, *encoder, *decoder;
  syn_status status;
  int line, column; /* of the side whose text it is; 0: no place */
  const char *words[4];
} wrong;

#define E SYN_E_TEXT
#define S SYN_E_SHAPE
static const wrong wrongs[] = {
    {"tag", "lineer(4)", NULL, E, 1, 1, {"lineer", "no such layer", "did you mean 'linear'?", NULL}},
    {"tag", "norm -> rmsnorm", NULL, E, 1, 9, {"rmsnorm", "did you mean 'rms_norm'?", NULL, NULL}},
    {"tag", "norm ->\n  foo", NULL, E, 2, 3, {"foo", "no such layer", NULL, NULL}},
    {"tag", "# \xC3\xA4\xC3\xB6\n\xE2\x86\x92 ff", NULL, E, 2, 1, {"wanted the name of a layer", NULL, NULL, NULL}},
    {"tag", "\xEF\xBB\xBF" "norm -> bar", NULL, E, 1, 9, {"bar", NULL, NULL, NULL}},
    {"tag", "ff # \xE9", NULL, E, 1, 6, {"encoder", "byte 0xE9", "UTF-8", NULL}},
    {"lm", NULL, "norm\n# \xC3\xA4\xC3", E, 2, 4, {"decoder", "byte 0xC3", "UTF-8", NULL}},
    {"lm", NULL, "# \xED\xA0\x80\nnorm", E, 1, 3, {"byte 0xED", "UTF-8", NULL, NULL}},
    {"tag", "norm \xE2\x86\x92 bar", NULL, E, 1, 8, {"bar", NULL, NULL, NULL}},
    {"tag", "SYN_ATTT", NULL, E, 1, 1, {"SYN_ATTT", "did you mean 'syn_att'?", NULL, NULL}},
    {"tag", "ffn", NULL, E, 1, 1, {"did you mean 'ff'?", NULL, NULL, NULL}},
    {"tag", "norm -> mh_dot_selfatt", NULL, E, 1, 9, {"did you mean 'mh_dot_self_att'?", NULL, NULL, NULL}},
    {"tag", "ff(bar=3)", NULL, E, 1, 4, {"'bar'", "no such argument", "act", "did you mean"}},
    {"tag", "ff(8, dropuot=0.5)", NULL, E, 1, 7, {"'dropuot'", "ff takes (i:n w:act f:dropout i:bias)", "did you mean 'dropout'?", NULL}},
    {"tag", "syn_att(Head=2)", NULL, E, 1, 9, {"'Head'", "syn_att takes", "did you mean 'heads'?", NULL}},
    {"tag", "repeat(n=2, chian=ff)", NULL, E, 1, 13, {"did you mean 'chain'?", NULL, NULL, NULL}},
    {"tag", "ffl(atc=relu)", NULL, E, 1, 5, {"ffl takes (i:n w:act i:bias)", "did you mean 'act'?", NULL, NULL}},
    {"tag", "norm(n=8)", NULL, E, 1, 6, {"'n'", "no such argument", "norm takes (f:eps i:bias)", NULL}},
    {"tag", "ff(8, Swihs)", NULL, E, 1, 1, {"act is 'Swihs'", "swish", "did you mean 'swish'?", NULL}},
    {"tag", "rnn(cell=gr\xC3\xBC)", NULL, E, 1, 12, {"'\xC3\xBC'", "wanted", NULL, NULL}},
    {"tag", "rnn(cell=lsmt)", NULL, E, 1, 1, {"cell is 'lsmt'", "lstm, gru", "did you mean 'lstm'?", NULL}},
    {"tag", "syn_att(R+v)", NULL, E, 1, 1, {"no kind 'v'", "there are V, R", "did you mean 'V'?", NULL}},
    {"tag", "syn_att(R+BCRK)", NULL, E, 1, 1, {"no kind 'BCRK'", "did you mean 'BCRC'?", NULL, NULL}},
    {"tag", "syn_att(R+V, mix=summ)", NULL, E, 1, 1, {"alpha, sum", "did you mean 'sum'?", NULL, NULL}},
    {"seq2seq", "id", "mh_dot_att(source=incresing)", E, 1, 1, {"did you mean 'increasing'?", NULL, NULL, NULL}},
    {"tag", "ff($FF_NUM_HIDEN)", NULL, E, 1, 5, {"'FF_NUM_HIDEN'", "$NAME", "did you mean 'FF_NUM_HIDDEN'?", NULL}},
    {"tag", "ff(8, relu, 0.1, 1, 7)", NULL, E, 1, 21, {"'7'", "too many", NULL, NULL}},
    {"tag", "cnn(glue)", NULL, E, 1, 1, {"act is 'glue'", "did you mean 'glu'?", NULL, NULL}},
    {"tag", "cnn(glu, 3, relu)", NULL, E, 1, 13, {"twice", "act", NULL, NULL}},
    {"tag", "cnn(8, glu)", NULL, E, 1, 8, {"'glu'", "wanted a number", NULL, NULL}},
    {"tag", "mh_dot_self_att(2, 4, 0.5)", NULL, E, 1, 1, {"both s and scale", "give one", NULL, NULL}},
    {"seq2seq", "id", "mh_dot_att(2, 0.5)", E, 1, 1, {"s is 0.5", "from 1 to", NULL, NULL}},
    {"tag", "ff(8, n=8)", NULL, E, 1, 7, {"twice", "n", NULL, NULL}},
    {"tag", "id(8)", NULL, E, 1, 4, {"'8'", "too many", NULL, NULL}},
    {"tag", "norm(8)", NULL, E, 1, 1, {"eps is 8", "1e-20 to 1", NULL, NULL}},
    {"tag", "rms_norm(bias=1)", NULL, E, 1, 10, {"'bias'", "rms_norm takes (f:eps)", NULL, NULL}},
    {"tag", "syn_att(V, heads=4, kv=3)", NULL, S, 1, 1, {"kv is 3", "4 heads", NULL, NULL}},
    {"tag", "syn_att(R, kv=1)", NULL, E, 1, 1, {"kv goes with kind V", NULL, NULL, NULL}},
    {"tag", "syn_att(V+D, std=1)", NULL, E, 1, 1, {"std goes with R, Fix, FR and T", NULL, NULL, NULL}},
    {"tag", "syn_att(R, std=0)", NULL, E, 1, 1, {"std is 0", NULL, NULL, NULL}},
    {"tag", "syn_att(R+D, scale=1)", NULL, E, 1, 1, {"scale goes with kind V", NULL, NULL, NULL}},
    {"tag", "syn_att(D+V, shared=1, scale=0)", NULL, E, 1, 1, {"scale is 0", NULL, NULL, NULL}},
    {"tag", "rope(part=3) -> syn_att(V)", NULL, S, 1, 17, {"rotates 3 columns", "even", NULL, NULL}},
    {"tag", "rope(part=6) -> syn_att(V)", NULL, S, 1, 17, {"rotates 6 columns", "up to 4", NULL, NULL}},
    {"tag", "rope -> syn_att(V, c=3)", NULL, S, 1, 9, {"rotates 3 columns", "even", NULL, NULL}},
    {"tag", "rope -> syn_att(D+V, shared=1)", NULL, E, 1, 9, {"shared=1", "rope", NULL, NULL}},
    {"tag", "rope(layout=neox)", NULL, E, 1, 1, {"neox", "half, pair", NULL, NULL}},
    {"tag", "ff(8, act=swigly)", NULL, E, 1, 1, {"swigly", "did you mean 'swiglu'", NULL, NULL}},
    {"tag", "ff(8", NULL, E, 1, 5, {"end of text", "wanted", ")", NULL}},
    {"tag", "res(ff(8)", NULL, E, 1, 10, {"end of text", ")", NULL, NULL}},
    {"tag", "ff(8))", NULL, E, 1, 6, {"')'", "end of the text", NULL, NULL}},
    {"tag", "ff norm", NULL, E, 1, 4, {"'norm'", "->", NULL, NULL}},
    {"tag", "ff ->", NULL, E, 1, 6, {"end of text", "name of a layer", NULL, NULL}},
    {"tag", "", NULL, E, 1, 1, {"end of text", NULL, NULL, NULL}},
    {"tag", " # nothing", NULL, E, 1, 11, {"end of text", NULL, NULL, NULL}},
    {"tag", "linear(eight)", NULL, E, 1, 8, {"'eight'", "number", NULL, NULL}},
    {"tag", "ff(8x)", NULL, E, 1, 4, {"8x", "number", NULL, NULL}},
    {"tag", "ff(4e)", NULL, E, 1, 4, {"4e", "number", NULL, NULL}},
    {"tag", "ff(0x10)", NULL, E, 1, 4, {"0x10", "number", NULL, NULL}},
    {"tag", "ff(n=)", NULL, E, 1, 6, {"')'", "number", NULL, NULL}},
    {"tag", "ff(--3)", NULL, E, 1, 4, {"'-'", "number", NULL, NULL}},
    {"tag", "ff(0)", NULL, E, 1, 1, {"n is 0", "from 1", NULL, NULL}},
    {"tag", "ff(-5)", NULL, E, 1, 1, {"n is -5", NULL, NULL, NULL}},
    {"tag", "ff(2.5)", NULL, E, 1, 1, {"2.5", "whole number", NULL, NULL}},
    {"tag", "ff(99999999999)", NULL, E, 1, 1, {"1e+11", "1048576", NULL, NULL}},
    {"tag", "ff(1e400)", NULL, E, 1, 1, {"inf", NULL, NULL, NULL}},
    {"tag", "ff(-1e400)", NULL, E, 1, 1, {"inf", NULL, NULL, NULL}},
    {"tag", "ff(8, act=rleu)", NULL, E, 1, 1, {"rleu", "relu, gelu", NULL, NULL}},
    {"tag", "act(glu)", NULL, E, 1, 1, {"glu", "relu", NULL, NULL}},
    {"tag", "ff($NOPE)", NULL, E, 1, 5, {"'NOPE'", "$NAME", NULL, NULL}},
    {"tag", "ff($)", NULL, E, 1, 5, {"')'", "$NAME", NULL, NULL}},
    {"tag", "ff($BIG)", NULL, E, 1, 1, {"1e+300", NULL, NULL, NULL}},
    {"tag", "ff($HALF)", NULL, E, 1, 1, {"0.5", "whole", NULL, NULL}},
    {"tag", "dropout(1)", NULL, E, 1, 1, {"rate is 1", "0.99", NULL, NULL}},
    {"tag", "ff->dropout(1)", NULL, E, 1, 5, {"rate is 1", "0.99", NULL, NULL}},
    {"tag", "ff(dropout=0.1)->dropout(0.5)", NULL, E, 1, 18, {"rate is 0.5", "ff before it", "dropout=0.1", NULL}},
    {"tag", "ff(dropout=-0.1)", NULL, E, 1, 1, {"-0.1", "dropout", NULL, NULL}},
    {"tag", "res", NULL, E, 1, 1, {"chain is missing", NULL, NULL, NULL}},
    {"tag", "res()", NULL, E, 1, 1, {"chain is missing", NULL, NULL, NULL}},
    {"tag", "concat()", NULL, E, 1, 1, {"chain is missing", NULL, NULL, NULL}},
    {"tag", "norm -> highway", NULL, E, 1, 9, {"highway", "chain is missing", NULL, NULL}},
    {"tag", "repeat(ff)", NULL, E, 1, 8, {"'ff'", "number", NULL, NULL}},
    {"tag", "repeat(chain=ff)", NULL, E, 1, 1, {"number of copies is missing", NULL, NULL, NULL}},
    {"tag", "repeat(2)", NULL, E, 1, 1, {"chain is missing", NULL, NULL, NULL}},
    {"tag", "repeat(0, ff)", NULL, E, 1, 1, {"n is 0", "1000", NULL, NULL}},
    {"tag", "repeat(1001, ff)", NULL, E, 1, 1, {"1001", "1000", NULL, NULL}},
    {"tag", "syn_att(heads=3)", NULL, S, 1, 1, {"3 heads", "width 8", NULL, NULL}},
    {"tag", "linear(6) -> syn_att(R, heads=4)", NULL, S, 1, 14, {"syn_att", "4 heads", "width 6", NULL}},
    {"tag", "norm -> res(linear(5))", NULL, S, 1, 9, {"res", "width 5", "width 8", NULL}},
    {"tag", "highway(ff(7))", NULL, S, 1, 1, {"highway", "7", "8", NULL}},
    {"tag", "parallel_add(ff(7) | ff(6))", NULL, S, 1, 1, {"parallel_add", "6", "7", NULL}},
    {"tag", "syn_att(R+V+R)", NULL, E, 1, 1, {"kind R", "twice", NULL, NULL}},
    {"tag", "syn_att(Q)", NULL, E, 1, 1, {"'Q'", "V, R, Fix", NULL, NULL}},
    {"tag", "syn_att(R+)", NULL, E, 1, 11, {"')'", "word", NULL, NULL}},
    {"tag", "syn_att(R+V, mix=max)", NULL, E, 1, 1, {"max", "alpha, sum, free", NULL, NULL}},
    {"tag", "syn_att(V, softmax=0)", NULL, E, 1, 1, {"softmax=0", "R, Fix, FR and T", NULL, NULL}},
    {"tag", "syn_att(R+V, softmax=0)", NULL, E, 1, 1, {"softmax=0", NULL, NULL, NULL}},
    {"tag", "syn_att(R, shared=1)", NULL, E, 1, 1, {"shared=1", "kind D", NULL, NULL}},
    {"tag", "syn_att(FD, a=2, b=4)", NULL, S, 1, 1, {"2*4 = 8", "at least 9", NULL, NULL}},
    {"tag", "syn_att(Conv, f=4)", NULL, S, 1, 1, {"Conv: f is 4", "odd", NULL, NULL}},
    {"tag", "syn_att(BCRC, f=2, f2=3)", NULL, S, 1, 1, {"BCRC: f is 2", "odd", NULL, NULL}},
    {"tag", "syn_att(CRC, f2=2)", NULL, S, 1, 1, {"CRC: f2 is 2", "odd", NULL, NULL}},
    {"tag", "syn_att(CRC, f=0)", NULL, E, 1, 1, {"f is 0", "from 1", NULL, NULL}},
    {"tag", "syn_att(BD, m=0)", NULL, E, 1, 1, {"m is 0", "from 1", NULL, NULL}},
    {"tag", "syn_att(BD, heads=4096, c=1, m=65536)", NULL, S, 1, 1, {"BD", "4096", "65536", NULL}},
    {"tag", "syn_att(Conv, c=3)", NULL, S, 1, 1, {"Conv", "2 heads of c = 3", "width 8", NULL}},
    {"tag", "syn_att(V+GLU, c=5)", NULL, S, 1, 1, {"GLU", "2 heads of c = 5", "width 8", NULL}},
    {"tag", "linear(1000) -> syn_att(CRC, f=65535)", NULL, S, 1, 17, {"CRC", "65535", "1000", "16777216"}},
    {"lm", NULL, "syn_att(BCRC, m=512, f=65536)", S, 1, 1, {"BCRC", "65536", "1024", "16777216"}},
    {"tag", "syn_att(R, tile=-1)", NULL, E, 1, 1, {"tile is -1", NULL, NULL, NULL}},
    {"tag", "syn_att(V, heads=4096, c=65536)", NULL, S, 1, 1, {"4096", "65536", NULL, NULL}},
    {"tag", "syn_att(FD, heads=16, c=1, a=65536, b=65536)", NULL, S, 1, 1, {"16 heads", "65536", NULL, NULL}},
    {"tag", "rel_pos -> res(syn_att(V, heads=4))", NULL, S, 1, 16, {"rel_pos", "2 heads", "layer 4", NULL}},
    {"tag", "rel_pos(7)", NULL, S, 1, 1, {"rel_pos", "buckets is 7", "even", NULL}},
    {"tag", "rel_pos(0)", NULL, E, 1, 1, {"buckets is 0", "1 to 1024", NULL, NULL}},
    {"tag", "rel_pos(2048)", NULL, E, 1, 1, {"buckets is 2048", "1 to 1024", NULL, NULL}},
    {"tag", "rel_pos(8, max=2)", NULL, S, 1, 1, {"max is 2", "more than 2", NULL, NULL}},
    {"lm", NULL, "rel_pos(8, 4)", S, 1, 1, {"max is 4", "more than 4", NULL, NULL}},
    {"tag", "linformer(heads=3)", NULL, S, 1, 1, {"linformer", "3 heads", "width 8", NULL}},
    {"tag", "lin_att(3)", NULL, S, 1, 1, {"lin_att", "3 heads", "width 8", NULL}},
    {"tag", "lin_att(decay=21)", NULL, E, 1, 1, {"lin_att", "decay is 21", "20", NULL}},
    {"tag", "linear(1025) -> lin_att(1)", NULL, S, 1, 17, {"lin_att", "1025 wide", "1024", NULL}},
    {"tag", "linear(7) -> sgu", NULL, S, 1, 14, {"sgu", "7 wide", "even", NULL}},
    {"tag", "sgu(4)", NULL, E, 1, 5, {"one argument too many", NULL, NULL, NULL}},
    {"tag", "aft(heads=2)", NULL, E, 1, 5, {"aft takes", "heads", NULL, NULL}},
    {"tag", "syn_att(T, shared=1)", NULL, E, 1, 1, {"shared=1", "kind D", NULL, NULL}},
    {"tag", "linformer(k=0)", NULL, E, 1, 1, {"linformer", "k is 0", "65536", NULL}},
    {"tag", "norm -> fixed_att(3)", NULL, S, 1, 9, {"fixed_att", "3 heads", "width 8", NULL}},
    {"lm", NULL, "norm -> linformer", E, 1, 9, {"decoder", "linformer", "whole sentence", NULL}},
    {"seq2seq", "id", "fixed_att -> mh_dot_att", E, 1, 1, {"decoder", "fixed_att", NULL, NULL}},
    {"tag", "linear(1000000) -> linear(1000000)", NULL, S, 1, 20, {"encoder.1.w", "1000000000000", NULL, NULL}},
    {"tag", "cnn(k=4)", NULL, S, 1, 1, {"k is 4", "odd", "encoder", NULL}},
    {"tag", "cnn(k=0)", NULL, E, 1, 1, {"k is 0", "from 1", NULL, NULL}},
    {"tag", "cnn(k=65537)", NULL, E, 1, 1, {"k is 65537", "65536", NULL, NULL}},
    {"tag", "cnn(dilate=65537)", NULL, E, 1, 1, {"dilate is 65537", "65536", NULL, NULL}},
    {"lm", NULL, "light_conv(65537, 1)", E, 1, 1, {"k is 65537", "65536", NULL, NULL}},
    {"lm", NULL, "linear(257) -> light_conv(65536, 1)", S, 1, 16, {"65536", "257 wide", "16777216", NULL}},
    {"tag", "ff(dropout=.a)", NULL, E, 1, 12, {"number", NULL, NULL, NULL}},
    {"tag", "ff(1e+)", NULL, E, 1, 4, {"number", NULL, NULL, NULL}},
    {"tag", "ff(1e-)", NULL, E, 1, 4, {"number", NULL, NULL, NULL}},
    {"tag", "cnn(k=65535, dilate=17)", NULL, S, 1, 1, {"65535", "dilate 17", "1048576", NULL}},
    {"tag", "linear(257) -> cnn(k=65535)", NULL, S, 1, 16, {"65535", "257 wide", "16777216", NULL}},
    {"tag", "cnn(1000000, 65535)", NULL, S, 1, 1, {"encoder.0.w", "2147483647", NULL, NULL}},
    {"tag", "light_conv(heads=3)", NULL, S, 1, 1, {"light_conv", "3 heads", "width 8", NULL}},
    {"tag", "linear(4096) -> dyn_conv(257, 4096)", NULL, S, 1, 17,
     {"dyn_conv", "4096 heads", "257 taps", NULL}},
    {"tag", "linear(512) -> light_conv(65535, 1)", NULL, S, 1, 16, {"65535", "512 wide", "16777216", NULL}},
    {"tag", "norm -> mh_dot_att", NULL, E, 1, 9, {"mh_dot_att", "encoder", NULL, NULL}},
    {"tag", "mh_dot_src_att", NULL, E, 1, 1, {"mh_dot_src_att", "encoder", NULL, NULL}},
    {"tag", "birnn(7)", NULL, S, 1, 1, {"birnn", "n is 7", "even", NULL}},
    {"lm", NULL, "id -> input_feed -> linear", E, 1, 7, {"input_feed", "only the first layer", NULL}},
    {"lm", NULL, "input_feed -> res(id)", S, 1, 1, {"input_feed", "must not depend", "16", "24"}},
    {"seq2seq", "norm", "mh_dot_att -> birnn", E, 1, 15, {"decoder", "birnn", "inside a decoder", NULL}},
    {"tag", "rnn(cell=rnn)", NULL, E, 1, 1, {"cell", "lstm, gru", NULL, NULL}},
    {"tag", "rnn(1000000)", NULL, S, 1, 1, {"encoder.0.w_h", "4000000000000", NULL, NULL}},
    {"seq2seq", "norm", "norm", E, 0, 0, {"decoder", "attention to the source", "mh_dot_att", NULL}},
    {"seq2seq", "norm", "norm ->\nmh_dot_src_att(heads=5)", S, 2, 1, {"5 heads", "width 8", NULL, NULL}},
    {"seq2seq", "id", "mh_dot_att(source=lower)", E, 1, 1, {"lower", "upper, increasing", NULL, NULL}},
    {"seq2seq", "repeat(3, ff)", "repeat(2, mh_dot_att(source=increasing))", S, 1, 11,
     {"2", "3", "copies", NULL}},
    {"seq2seq", "ff", "mh_dot_att(source=decreasing)", S, 0, 0, {"one repeat", NULL, NULL, NULL}},
    {"seq2seq", "repeat(1, ff) -> repeat(1, ff)", "mh_dot_att(source=increasing)", S, 0, 0,
     {"one repeat", NULL, NULL, NULL}},
    {"seq2seq", "repeat(1, ff) -> ff", "mh_dot_att(source=increasing)", S, 0, 0,
     {"one repeat", NULL, NULL, NULL}},
    {"lm", NULL, "mh_dot_att", E, 1, 1, {"no encoder", NULL, NULL, NULL}},
    {"seq2seq", "repeat(2, res(syn_att(V, heads=3)))", "mh_dot_att", S, 1, 15, {"encoder", "3 heads", NULL, NULL}},
    {"tag", "res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res(res"
     "(res(res(res(res(res(res(res(res(ff)))))))))))))))))))))))))))))))))", NULL, E, 1, 129,
     {"32 deep", NULL, NULL, NULL}},
    {"tag", "universal(ff)", NULL, E, 1, 11, {"'ff'", "number", NULL, NULL}},
    {"tag", "universal(chain=ff)", NULL, E, 1, 1, {"number of steps is missing", NULL, NULL, NULL}},
    {"tag", "universal(2)", NULL, E, 1, 1, {"chain is missing", NULL, NULL, NULL}},
    {"tag", "share(2)", NULL, E, 1, 1, {"chain is missing", NULL, NULL, NULL}},
    {"tag", "share(2, linear(5))", NULL, S, 1, 1, {"share", "width 5", "input 8", NULL}},
    {"lm", NULL, "types", E, 1, 1, {"types", "inside a decoder", NULL, NULL}},
    {"lm", NULL, "id -> rnn(state=source)", E, 1, 7, {"rnn", "no encoder", NULL, NULL}},
    {"tag", "rnn(state=source)", NULL, E, 1, 1, {"inside the encoder", NULL, NULL, NULL}},
    {"seq2seq", "linear(5)", "rnn(4, state=source)", S, 1, 1, {"width 5", "state 4", NULL, NULL}},
    {"tag", "pool(first)", NULL, E, 1, 1, {"pool", "only classify and regress", "not tag", NULL}},
    {"classify", "res(pool)", NULL, E, 1, 5, {"inside another layer", NULL, NULL, NULL}},
    {"classify", "pool -> norm", NULL, E, 1, 9, {"norm", "behind a pool", NULL, NULL}},
    {"classify", "softcap", NULL, E, 1, 1, {"softcap", "cap is missing", NULL, NULL}},
    {"classify", "softcap(0)", NULL, E, 1, 1, {"s is 0", "0.01 to 1e+06", NULL, NULL}},
    {"classify", "softcap(3) -> norm", NULL, E, 1, 15, {"norm", "behind a softcap", NULL, NULL}},
    {"classify", "softcap(3) -> softcap(3)", NULL, E, 1, 15, {"caps the logits once", NULL, NULL, NULL}},
    {"lm", NULL, "res(softcap(3))", E, 1, 5, {"as the last layer", NULL, NULL, NULL}},
    {"seq2seq", "softcap(3)", "mh_dot_att", E, 1, 1, {"encoder of seq2seq has no logits", NULL, NULL, NULL}},
    {"tag", "id -> scale", NULL, E, 1, 7, {"scale", "factor is missing", NULL, NULL}},
    {"tag", "linear(5) -> pos(half)", NULL, S, 1, 14, {"width is 5", "even", "half", NULL}},
    {"tag", "pos(layout=halves)", NULL, E, 1, 1, {"layout is 'halves'", "'half'", NULL, NULL}},
    {"tag", "universal(0, ff)", NULL, E, 1, 1, {"n is 0", "1000", NULL, NULL}},
    {"tag", "universal(1001, ff)", NULL, E, 1, 1, {"1001", "1000", NULL, NULL}},
    {"tag", "norm -> universal(2, linear(5))", NULL, S, 1, 9, {"width 5", "input 8", "2 steps", NULL}},
    {"tag", "universal(2, norm -> linear(0))", NULL, E, 1, 22, {"linear", "n is 0", NULL, NULL}},
    {"tag", "mlp_src_att(3)", NULL, E, 1, 1, {"mlp_src_att", "inside the encoder", NULL, NULL}},
    {"tag", "norm -> mlp_att", NULL, E, 1, 9, {"mlp_att", "inside the encoder", NULL, NULL}},
    {"lm", NULL, "mlp_att", E, 1, 1, {"no encoder", NULL, NULL, NULL}},
    {"seq2seq", "id", "mlp_att(0)", E, 1, 1, {"n is 0", "1048576", NULL, NULL}},
    {"seq2seq", "id", "mlp_att(1048577)", E, 1, 1, {"n is 1.04858e+06", NULL, NULL, NULL}},
    {"seq2seq", "id", "mlp_att(source=upper)", E, 1, 9, {"'source'", "i:n f:dropout", NULL, NULL}},
    {"tag", "dot_src_att(s=1)", NULL, E, 1, 1, {"dot_src_att", "encoder", "mh_dot_self_att", NULL}},
    {"lm", NULL, "dot_src_att", E, 1, 1, {"no encoder", NULL, NULL, NULL}},
    {"seq2seq", "id", "dot_src_att(0)", E, 1, 1, {"s is 0", NULL, NULL, NULL}},
    {"seq2seq", "id", "dot_src_att(s=-4)", E, 1, 1, {"s is -4", NULL, NULL, NULL}},
    {"seq2seq", "id", "dot_src_att(heads=2)", E, 1, 13, {"'heads'", "f:s f:dropout", NULL, NULL}},
    {"tag", "aop(3)", NULL, S, 1, 1, {"3 heads", "width 8", "c_k", NULL}},
    {"tag", "aop(3, c_k=2)", NULL, S, 1, 1, {"3 heads", "width 8", "c_v", NULL}},
    {"tag", "aop(heads=0)", NULL, E, 1, 1, {"heads is 0", NULL, NULL, NULL}},
    {"tag", "aop(keys=0)", NULL, E, 1, 1, {"keys is 0", NULL, NULL, NULL}},
    {"tag", "aop(4096, 1, 1, 257)", NULL, S, 1, 1, {"4096 heads", "c_v 257", "1048576", NULL}},
    {"tag", "aop(8, 16777216, 16, 1)", NULL, S, 1, 1, {"encoder.0.keys", "2147483648", NULL, NULL}},
    {"tag", "aop(8, 16777216, 1, 16)", NULL, S, 1, 1, {"encoder.0.values", "2147483648", NULL, NULL}},
    {"tag", "linear(2048) -> aop(4096, 1, 256, 1)", NULL, S, 1, 17, {"encoder.1.w_q", "2147483648", NULL, NULL}},
    {"tag", "linear(2048) -> aop(4096, 1, 1, 256)", NULL, S, 1, 17, {"encoder.1.w_o", "2147483648", NULL, NULL}},
    {"tag", "linear(32768) -> light_conv(7, 1)", NULL, S, 1, 18, {"encoder.1.w_in", "2147483648", NULL, NULL}},
    {"tag", "linear(65536) -> mh_dot_self_att(1)", NULL, S, 1, 18, {"encoder.1.w_v", "4294967296", NULL, NULL}},
    {"tag", "linear(65536) -> linformer(heads=1)", NULL, S, 1, 18, {"encoder.1.w_v", "4294967296", NULL, NULL}},
    {"seq2seq", "id", "linear(2048) -> mlp_att(1048576)", S, 1, 17, {"decoder.1.w_q", "2147483648", NULL, NULL}},
    {"seq2seq", "linear(2048)", "mlp_att(1048576)", S, 1, 1, {"decoder.0.w_k", "2147483648", NULL, NULL}},
    {"seq2seq", "repeat(2, ff)", "universal(2, res(mh_dot_att(source=increasing)))", S, 1, 18,
     {"1 such", "2", "copies", NULL}}};

static void wrong_check(const wrong *w) {
  syn_config k = config_of(w->task, w->encoder, w->decoder);
  char place[60];
  syn_context c;
  heap h;
  int i;
  syn_model *m;
  const char *text = w->decoder ? w->decoder : w->encoder;
  context_on(&c, &h, 0);
  m = syn_model_new(&c, &k);
  snprintf(place, sizeof place, " line %d column %d: ", w->line, w->column);
  CHECK(!m && c.status == w->status, "%s: status %d: %s", text, (int)c.status, c.message);
  CHECK(!w->line || strstr(c.message, place), "%s: wanted%s in: %s", text, place, c.message);
  for (i = 0; i < 4 && w->words[i]; i++)
    CHECK(strstr(c.message, w->words[i]), "%s: wanted \"%s\" in: %s", text, w->words[i], c.message);
  CHECK(strlen(c.message) < sizeof c.message - 1, "%s: the message is cut", text);
  syn_model_free(m);
  CHECK(h.blocks == 0, "%s: %ld blocks left", text, h.blocks);
}

#undef E
#undef S

static void test_wrong(void) {
  size_t i;
  for (i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) wrong_check(&wrongs[i]);
}

/* -- hostile texts: an answer within a second of CPU time and 48 MB -- */

#ifdef __SANITIZE_ADDRESS__
#define HOSTILE_SECONDS 60 /* a sanitizer takes its time */
#else
#define HOSTILE_SECONDS (CHECK_QUICK ? 60 : 5)
#endif
static syn_status hostile(const char *text, const char *name, char *message) {
  syn_config k = config_of("lm", NULL, text);
  clock_t begin = clock();
  double seconds;
  syn_context c;
  syn_model *m;
  heap h;
  context_on(&c, &h, 0);
  m = syn_model_new(&c, &k);
  CHECK((m != NULL) == (c.status == SYN_OK), "%s: a model and an error, or none", name);
  syn_model_free(m);
  seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  CHECK(h.blocks == 0 && h.live == 0, "%s: %ld blocks left", name, h.blocks);
  CHECK(h.most < (size_t)48 << 20, "%s: %lu bytes", name, (unsigned long)h.most);
  CHECK(seconds < HOSTILE_SECONDS, "%s: %g s", name, seconds);
  if (message) strcpy(message, c.message);
  return c.status;
}

/* `piece` again and again, up to `size` bytes, between two ends. */
static char *long_text(const char *begin, const char *piece, const char *end, size_t size) {
  char *text = (char *)malloc(size + 1);
  size_t at = strlen(begin), n = strlen(piece), last = strlen(end);
  memcpy(text, begin, at);
  for (; at + n + last <= size; at += n) memcpy(text + at, piece, n);
  memcpy(text + at, end, last + 1);
  return text;
}

static void test_long(void) {
  static const char *const pieces[][3] = {
      {"", "id->", "id"}, {"", "syn_att(V)->", "id"}, {"", "dropout(0) -> ", "id"}, {"", " ", "id"},
      {"", "res_nd(ffl)->", "id"}, {"id #", "x", ""}, {"syn_att(", "R+", "R)"}, {"ff(", "8,", "8)"},
      {"concat(", "id|", "id)"}, {"", "res(", ""}, {"", "(", ""}, {"ff(n=", "9", ")"}, {"", "x", ""},
      {"ff($", "Y", ")"}, {"", "pos->", "id"}, {"", "pos->concat(id|linear(1))->", "id"},
      {"syn_att(kinds=", "V+R+", "D)"}, {"", "\xE2\x86\x92", "id"}, {"", "\xFF", "\x80"},
      {"", "mh_dot_self_att->", "id"}, {"ff(", "n=8,", "n=8)"}, {"", "-", "id"}};
  char message[400];
  size_t i;
  for (i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    char *text = long_text(pieces[i][0], pieces[i][1], pieces[i][2], SYN_MAX_TEXT);
    hostile(text, pieces[i][1], message);
    if (i == 0) CHECK(!message[0], "64 KiB of id: %s", message);
    free(text);
    text = long_text(pieces[i][0], pieces[i][1], pieces[i][2], SYN_MAX_TEXT + 40);
    CHECK(hostile(text, pieces[i][1], message) == SYN_E_TEXT && strstr(message, "65536"), "%s", message);
    free(text);
  }
}

/* Chains inside chains inside repeats. */
static void test_deep(void) {
  static const char *const texts[] = {
      "repeat(1000, repeat(1000, id))", "repeat(1000,repeat(1000,repeat(1000,repeat(1000,id))))",
      "repeat(1000,repeat(1000,dropout(0)))", "repeat(1000,repeat(1000,res(id)))",
      "repeat(1000,repeat(1000,parallel_add(id)))", "repeat(1000,repeat(1000,res_d(id->id->id)))",
      "repeat(1000,repeat(1000,syn_att(V+R+D+FR+FD+Fix)))", "repeat(1000,repeat(1000,learn_pos))",
      "repeat(1000,repeat(1000,concat(id|id)))", "repeat(12,concat(id|id))", "repeat(40,concat(id|id))",
      "repeat(1000, pos)", "repeat(1000, concat(id | linear(1)) -> pos)",
      "repeat(1000,repeat(1000,mh_dot_self_att))", "repeat(1000, ffl(1000000))",
      "universal(1000,universal(1000,id))", "universal(1000,repeat(1000,id))", "universal(1000, id)",
      "universal(5,repeat(800,syn_att(V+R+Fix+FR+D+FD)))", "repeat(500, aop(1, 99999))"};
  static const int built[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0};
  char message[400];
  size_t i;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
    CHECK((hostile(texts[i], texts[i], message) == SYN_OK) == built[i], "%s: %s", texts[i], message);
}

/* Sizes at their limits are built. */
static void test_at_limits(void) {
  static const char *const texts[] = {"linear(256) -> light_conv(65536, 1) -> linear",
                                      "linear(256) -> cnn(8, 65536, relu)", "cnn(8, 16, relu, dilate=65536)",
                                      "light_conv(65536, 8)", "ff(1e+1, dropout=1e-1) -> linear(2e0) -> linear"};
  syn_context c;
  size_t i;
  for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    syn_config k = config_of("lm", NULL, texts[i]);
    syn_context_init(&c, NULL);
    CHECK(syn_model_describe(&c, &k, NULL, 0) > 0 && c.status == SYN_OK, "%s: %s", texts[i], c.message);
  }
}

/* Places like .10.10.10 of many levels: never cut, or two layers would share their weights. */
static void test_path(void) {
  char text[4000] = "", message[400], *end = text;
  int levels, i, failed = 0;
  for (levels = 1; levels < 31; levels++) {
    end = text;
    for (i = 0; i < levels; i++)
      end += sprintf(end, "id->id->id->id->id->id->id->id->id->id->res(%s",
                     i % 2 ? "" : "repeat(1, id->id->id->id->id->id->id->id->id->id->");
    end += sprintf(end, "linear -> linear");
    for (i = 0; i < levels; i++) end += sprintf(end, i % 2 == levels % 2 ? ")" : "))");
    if (hostile(text, text, message) == SYN_OK) continue;
    failed = 1;
    CHECK(strstr(message, "longer than") || strstr(message, "deep"), "%d levels: %s", levels, message);
  }
  CHECK(failed, "30 levels are built");
}

/* -- chance -- */

/* A text with some bytes replaced, removed, doubled, or a piece of another text put in. */
static void mutate(char *text, size_t room, syn_random *r) {
  static const char letters[] = "()|,+->=#$ \nRVDF0123456789.eabn_\x80\xE2";
  static const char *const pieces[] = {"res(", "->", "repeat(", "syn_att(", "1000", ")", "|", "norm", "ffl",
                                       "concat(", "heads=", "\xE2\x86\x92", "dropout", "R+V", "$N", "c=", "tile=3"};
  int times = 1 + syn_random_below(r, 4);
  while (times--) {
    size_t size = strlen(text), at = (size_t)syn_random_below(r, (int)size + 1), n;
    const char *piece = pieces[syn_random_below(r, (int)(sizeof pieces / sizeof pieces[0]))];
    switch (syn_random_below(r, 4)) {
      case 0:
        if (at < size) text[at] = letters[syn_random_below(r, (int)sizeof letters - 1)];
        break;
      case 1:
        n = (size_t)syn_random_below(r, 6);
        if (at + n <= size) memmove(text + at, text + at + n, size - at - n + 1);
        break;
      case 2:
        n = strlen(piece);
        if (size + n + 1 >= room) break;
        memmove(text + at + n, text + at, size - at + 1);
        memcpy(text + at, piece, n);
        break;
      default:
        n = (size - at) / 2;
        if (size + n + 1 < room) memmove(text + at + n, text + at, size - at + 1);
    }
  }
}

static void test_chance(void) {
  static const char *const good[] = {
      "pos->repeat(2, res_nd(syn_att(R+V, heads=2)) -> res_nd(ffl)) -> norm",
      "concat(id | ff(6) -> linear(5, bias=0)) -> ffl(3, glu) -> highway(linear(13))",
      "parallel_add(res_d(linear) | repeat(2, norm) | id) -> learn_pos -> rms_norm",
      "syn_att(FD+D+FR+Fix, c=3, k=5, a=2, tile=4) -> linear(6) # x\n -> act(gelu) -> dropout(0.1)",
      "mh_dot_self_att(2) -> parallel(ff(5, tanh) | syn_att(D, shared=1)) -> linear($FF_NUM_HIDDEN)"};
  syn_random r = {17};
  char text[600];
  int i, built = 0, times = CHECK_QUICK ? 500 : 6000;
  for (i = 0; i < times; i++) {
    strcpy(text, good[i % 5]);
    mutate(text, sizeof text, &r);
    built += hostile(text, text, NULL) == SYN_OK;
  }
  CHECK(built > times / 50 && built < times, "%d of %d are still networks", built, times);
}

/* A kind of the caller's own stands beside the built-in ones, in texts and in proposals. */
static syn_status twice_shape(syn_build *b, syn_node *n) {
  float *by = (float *)syn_build_own(b, n, sizeof *by);
  if (!by) return SYN_E_MEMORY;
  *by = syn_arg_float(b, "by", 2.0f, -10.0f, 10.0f);
  return syn_build_out(b, n, syn_build_stream(b, n, 0), syn_build_width(b, n, 0));
}
static void twice_forward(syn_tape *t, const syn_node *n) {
  const syn_tensor *x = syn_in(t, n, 0);
  const float *by = (const float *)n->own;
  syn_tensor *y = syn_out(t, n);
  int i;
  for (i = 0; i < y->shape[0] * y->shape[1]; i++) y->x[i] = *by * x->x[i];
}

static void test_own_kind(void) {
  static const syn_kind twice = {"twice", "f:by", 0, NULL, twice_shape, twice_forward, NULL, NULL, NULL, NULL};
  static const syn_kind *const kinds[] = {&twice};
  syn_config k = config_of("tag", "res(twice(3))", NULL);
  static const int src[] = {4, 5};
  syn_options o;
  syn_context c;
  syn_model *m;
  syn_limits limits;
  syn_value x, y;
  syn_run *r;
  syn_batch b;
  int i;
  memset(&o, 0, sizeof o);
  o.kinds = kinds;
  o.n_kinds = 1;
  syn_context_init(&c, &o);
  m = syn_model_new(&c, &k);
  memset(&limits, 0, sizeof limits);
  limits.keep = 1;
  r = m ? syn_run_new(&c, m, &limits) : NULL;
  memset(&b, 0, sizeof b);
  b.count = 1, b.src = src, b.src_width = 2;
  CHECK(r && syn_run_forward(r, &b) == SYN_OK && !syn_run_value(r, "encoder@0", 0, &x) &&
            !syn_run_value(r, "encoder.0", 0, &y) && y.shape[0] * y.shape[1] == 16,
        "%s", c.message);
  for (i = 0; r && i < 16; i++) CHECK(y.x[i] == 4.0f * x.x[i], "number %d", i);
  syn_run_free(r);
  syn_model_free(m);
  k.encoder = "twise";
  CHECK(!syn_model_new(&c, &k) && strstr(c.message, "did you mean 'twice'?"), "%s", c.message);
}

/* What a file could not hold is refused when the model is built. */
static const char *odd_name;
static syn_status odd_shape(syn_build *b, syn_node *n) {
  static const int shape[] = {2};
  return syn_build_param(b, n, odd_name, syn_initial_of(SYN_INIT_CONSTANT, 0.0), 1, shape) ||
                 syn_build_out(b, n, syn_build_stream(b, n, 0), syn_build_width(b, n, 0))
             ? SYN_E_SHAPE : SYN_OK;
}
static void odd_forward(syn_tape *t, const syn_node *n) { (void)t, (void)n; }

static void test_odd_names(void) {
  static const syn_kind odd = {"odd", "", 0, NULL, odd_shape, odd_forward, odd_forward, NULL, NULL, NULL};
  static const syn_kind *const kinds[] = {&odd};
  static const char *const names[] = {"w", "\xFF", NULL};
  syn_config k = config_of("tag", "odd", NULL);
  syn_options o;
  syn_context c;
  int i;
  memset(&o, 0, sizeof o);
  o.kinds = kinds;
  o.n_kinds = 1;
  for (i = 0; i < 3; i++) {
    syn_model *m;
    syn_context_init(&c, &o);
    odd_name = names[i];
    m = syn_model_new(&c, &k);
    CHECK((m != NULL) == !i && (!i || strstr(c.message, "encoder line 1 column 1: odd: a parameter")), "%d: %s", i,
          c.message);
    syn_model_free(m);
  }
}

/* Kinds that lack a function, or whose functions do not do what they must: refused by name when the model is built,
   without `backward` when it is to be trained, unless all weights up to it are frozen. */
static syn_status no_out_shape(syn_build *b, syn_node *n) { return (void)b, (void)n, SYN_OK; }
static syn_status no_word_shape(syn_build *b, syn_node *n) { return (void)b, (void)n, SYN_E_SHAPE; }
static int no_word_build(syn_build *b, const syn_layer *l, int x) { return (void)b, (void)l, (void)x, -1; }
static int far_build(syn_build *b, const syn_layer *l, int x) { return (void)b, (void)l, x + 1; }

static void test_bad_kinds(void) {
  static const syn_kind cases[] = {{"mine", "", 0, NULL, twice_shape, NULL, odd_forward, NULL, NULL, NULL},
                                   {"mine", "", 0, NULL, NULL, twice_forward, odd_forward, NULL, NULL, NULL},
                                   {"mine", "", 0, NULL, no_out_shape, twice_forward, odd_forward, NULL, NULL, NULL},
                                   {"mine", "", 0, NULL, no_word_shape, twice_forward, odd_forward, NULL, NULL, NULL},
                                   {"mine", "", 0, no_word_build, NULL, NULL, NULL, NULL, NULL, NULL},
                                   {"mine", "", 0, far_build, NULL, NULL, NULL, NULL, NULL, NULL},
                                   {"mine", "", 0, NULL, twice_shape, twice_forward, NULL, NULL, NULL, NULL}};
  static const char *const words[] = {"the kind mine has shape, but no forward",
                                      "the kind mine has neither build nor shape",
                                      "the shape of kind mine states no output",
                                      "shape of kind mine failed without an error",
                                      "build of kind mine failed without an error",
                                      "build of kind mine failed without an error", NULL};
  syn_config k = config_of("tag", "linear -> res(mine) -> linear", NULL);
  syn_train_config train;
  const syn_kind *kinds[1];
  syn_trainer *t;
  syn_options o;
  syn_context c;
  syn_model *m = NULL;
  int i;
  memset(&o, 0, sizeof o);
  memset(&train, 0, sizeof train);
  train.freeze = "src.embed|encoder.0.*";
  o.kinds = kinds;
  o.n_kinds = 1;
  for (i = 0; i < 7; i++) {
    kinds[0] = &cases[i];
    syn_context_init(&c, &o);
    m = syn_model_new(&c, &k);
    CHECK((m != NULL) == !words[i] && (m || strstr(c.message, words[i])), "%d: %s", i, c.message);
    CHECK(m || strstr(c.message, "encoder line 1 column 15: mine: "), "%s", c.message);
  }
  t = syn_trainer_new(&c, m, NULL);
  CHECK(!t && strstr(c.message, "encoder.1.0: the kind mine has no backward"), "%s", c.message);
  syn_context_clear(&c);
  t = syn_trainer_new(&c, m, &train);
  CHECK(t != NULL, "%s", c.message);
  syn_trainer_free(t);
  syn_model_free(m);
}

/* Kinds that request what does not exist: refused by name when the model is built, whatever `shape` returns. */
static int too_much; /* which of the cases below */
static syn_status too_much_shape(syn_build *b, syn_node *n) {
  static const int one = 1, none = 0, huge[] = {1 << 20, 1 << 20}, many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const syn_initial zero = syn_initial_of(SYN_INIT_CONSTANT, 0.0);
  syn_part part = {"part", 0, SYN_PART_ROWS, 0, 1, 1, 0};
  int width = syn_build_width(b, n, 0), stream = syn_build_stream(b, n, 0), i;
  char name[80], *w = name;
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = 0;
  if (syn_build_config(b)->d_model != 8) return SYN_E_VALUE;
  switch (too_much) {
    case 0: return syn_build_out(b, n, stream, 0);
    case 1: return syn_build_out(b, n, stream, (1 << 24) + 1);
    case 2: return syn_build_out(b, n, -1, width);
    case 3: return syn_build_out(b, n, SYN_EACH + 1, width);
    case 4: return syn_build_out(b, n, SYN_OWN, width);
    case 5: for (i = 0; i <= SYN_MAX_SAVE; i++) syn_build_save_rows(b, n, SYN_BOTH, 1); break;
    case 6: for (i = 0; i <= SYN_MAX_PARAM; i++) sprintf(name, "w%d", i), syn_build_param(b, n, name, zero, 1, &one); break;
    case 7: syn_build_param(b, n, w, zero, 1, &one); break;
    case 8: syn_build_param(b, n, "w", zero, 0, &one); break;
    case 9: syn_build_param(b, n, "w", zero, SYN_MAX_RANK + 1, many); break;
    case 10: syn_build_param(b, n, "w", zero, 1, &none); break;
    case 11: syn_build_param(b, n, "w", zero, 2, huge); break;
    case 12: syn_build_param(b, n, "w", zero, 1, &one), syn_build_param(b, n, "w", zero, 2, many); break;
    case 13: syn_build_param(b, n, "w", zero, 1, &one), syn_build_param(b, n, "w", zero, 1, huge); break;
    case 14: syn_build_part(b, n, &part); break; /* of a buffer that it has not */
    case 15: part.save = -1, syn_build_part(b, n, &part); break;
    case 16: part.name = NULL, syn_build_save_rows(b, n, SYN_BOTH, 1), syn_build_part(b, n, &part); break;
    case 17: part.name = "", syn_build_save_rows(b, n, SYN_BOTH, 1), syn_build_part(b, n, &part); break;
    default:
      syn_build_save_rows(b, n, SYN_BOTH, 1);
      for (i = 0; i < SYN_MAX_PART + (too_much == 18); i++) syn_build_part(b, n, &part);
  }
  return syn_build_out(b, n, stream, width); /* as if all had gone well */
}
static void test_too_much(void) {
  static const syn_kind much = {"much", "", 0, NULL, too_much_shape, odd_forward, odd_forward, NULL, NULL, NULL};
  static const syn_kind *const kinds[] = {&much};
  static const char *const words[] = {
      "width 0, wanted 1 to 16777216", "width 16777217", "stream -1", "stream 3", "stream", "too many buffers",
      "too many parameters", "a parameter of the kind has no name", "rank 0", "rank 5", "would have 0 numbers",
      "would have 1099511627776 numbers", "two tensors of different shapes", "two tensors of different shapes",
      "too many parts", "too many parts", "without buffer or name", "without buffer or name", "too many parts", NULL};
  syn_config k = config_of("tag", "linear -> res(much) -> linear", NULL);
  syn_options o;
  memset(&o, 0, sizeof o);
  o.kinds = kinds;
  o.n_kinds = 1;
  for (too_much = 0; too_much < 20; too_much++) {
    const char *word = words[too_much];
    syn_context c;
    syn_model *m;
    syn_context_init(&c, &o);
    m = syn_model_new(&c, &k);
    CHECK((m != NULL) == !word && (m || strstr(c.message, word)), "%d: wanted \"%s\" in: %s", too_much, word, c.message);
    CHECK(m || strstr(c.message, "encoder line 1 column 15: much: "), "%d: %s", too_much, c.message);
    syn_model_free(m);
  }
}

/* Lists of kinds that are none: the context is usable, with an error and without kinds. */
static void test_no_kinds(void) {
  static const syn_kind nameless = {NULL, "", 0, NULL, twice_shape, odd_forward, odd_forward, NULL, NULL, NULL};
  static const syn_kind no_args = {"x", NULL, 0, NULL, twice_shape, odd_forward, odd_forward, NULL, NULL, NULL};
  static const syn_kind *const lists[][1] = {{NULL}, {&nameless}, {&no_args}};
  syn_config k = config_of("tag", "norm", NULL);
  int i;
  for (i = 0; i < 5; i++) {
    syn_context c;
    syn_options o;
    syn_model *m;
    memset(&o, 0, sizeof o);
    o.kinds = i < 3 ? lists[i] : NULL;
    o.n_kinds = i == 4 ? -1 : 1;
    CHECK(syn_context_init(&c, &o) == (i == 4 ? SYN_OK : SYN_E_VALUE), "list %d: %s", i, c.message);
    CHECK(i == 4 || strstr(c.message, "kind 0, its name or its args is null"), "list %d: %s", i, c.message);
    CHECK(c.options.n_kinds == 0, "list %d: %d kinds", i, c.options.n_kinds);
    syn_context_clear(&c);
    m = syn_model_new(&c, &k);
    CHECK(m, "list %d: %s", i, c.message);
    syn_model_free(m);
  }
}

/* -- what texts of unusual sizes, and kinds of unusual shapes, lead to -- */

#define ROW_NAME "a_kind_whose_name_has_more_than_forty_characters"

/* Builds the network; null words: it is one, else the message has them. */
static void row_builds(const syn_options *o, const syn_config *k, const char *words) {
  syn_context c;
  syn_model *m;
  syn_context_init(&c, o);
  m = syn_model_new(&c, k);
  CHECK((m != NULL) == !words && (m || strstr(c.message, words)), "%.80s | %.80s: wanted \"%s\" in: %s",
        k->encoder ? k->encoder : "", k->decoder ? k->decoder : "", words ? words : "", c.message);
  CHECK((c.status == SYN_OK) == (m != NULL), "status %d", (int)c.status);
  syn_model_free(m);
}

/* A layer that builds itself and what follows, again and again. */
static int row_build(syn_build *b, const syn_layer *l, int x) { return syn_build_chain(b, l, x); }
/* A part whose gradient is buffer number `by`, of the one buffer that there is; 0: it has none. */
static syn_status row_part_shape(syn_build *b, syn_node *n) {
  syn_part part = {"part", 0, SYN_PART_ROWS, 0, 1, 1, 0};
  part.gradient = syn_arg_int(b, "by", 0, -9, 9);
  syn_build_save_rows(b, n, SYN_BOTH, 1);
  syn_build_part(b, n, &part);
  return syn_build_out(b, n, syn_build_stream(b, n, 0), syn_build_width(b, n, 0));
}

static syn_status row_word_shape(syn_build *b, syn_node *n) {
  static const char *const words[] = {"", "some"};
  syn_arg_word(b, "by", words, 2, 0);
  return syn_build_out(b, n, syn_build_stream(b, n, 0), syn_build_width(b, n, 0));
}

static void test_rows_of_texts(void) {
  static const syn_kind word = {"word", "w:by", 0, NULL, row_word_shape, odd_forward, odd_forward, NULL, NULL, NULL};
  static const syn_kind deep = {"deep", "", 0, row_build, NULL, NULL, NULL, NULL, NULL, NULL};
  static const syn_kind part = {"part", "i:by", 0, NULL, row_part_shape, odd_forward, odd_forward, NULL, NULL, NULL};
  static const syn_kind lengthy = {ROW_NAME, "f:by", 0, NULL, twice_shape, twice_forward, NULL, NULL, NULL, NULL};
  static const syn_kind *const kinds[] = {&deep, &part, &lengthy, &word};
  static const char *const tags[][2] = {
      {"deep", "chains inside chains, more than"},
      {"word(many)", "by is 'many', wanted one of , some"},
      {"part(0)", NULL},
      {"part(-1)", "too many parts"},
      {"part(2)", "too many parts"},
      {ROW_NAME "(99)", "encoder line 1 column 1: a_kind_whose_name_has_more_than_forty_ch: by is 99"},
      {ROW_NAME "(of=9)", "no such argument; a_kind_whose_name_has_more_tha takes (f:by)"},
      {"ff(4, a_word_of_more_than_forty_characters_in_all_here)",
       "'a_word_of_more_than_forty_characters_in_'"},
      {"syn_att(kinds=R+a_kind_of_more_than_twenty)", "no kind 'a_kind_of_more_than_'"},
      {"ff(8E0) -> linear(5E+0) -> linear", NULL},
      {"linear(5) -> pos(layout=half)", "the width is 5, wanted an even number from 4 on for layout=half"},
      {"linear(2) -> pos(layout=half)", "the width is 2, wanted an even number from 4 on for layout=half"},
      {"pos -> pos(layout=half) -> pos(first=2) -> pos -> pos(first=2) -> linear(4) -> pos -> pos(first=3)", NULL},
      {"rope -> syn_att(V) -> syn_att(V) -> rope(base=5) -> syn_att(V) -> rope(base=6) -> syn_att(V)", NULL}};
  static const char *const both[][3] = {
      {"repeat(2, ff)", "repeat(n=1001, mh_dot_att(source=increasing))", "n is 1001"},
      {"repeat(2, ff)", "repeat(n=0, mh_dot_att(source=decreasing))", "n is 0"},
      {"repeat(2, ff)", "repeat(chain=mh_dot_att(source=increasing))", "repeat"},
      {"repeat(2, ff)", "rnn(n=0, state=source)", "n is 0"}, {"repeat(2, ff)", "rnn(n=70000)", "decoder.0.w_h"},
      {"repeat(2, ff)", "ff(n=0) -> rnn", "n is 0"}, {"id", "linear(99999999) -> rnn", "n is 1e+08"}};
  syn_options o;
  size_t i;
  memset(&o, 0, sizeof o);
  o.kinds = kinds;
  o.n_kinds = 4;
  for (i = 0; i < sizeof tags / sizeof tags[0]; i++) {
    syn_config k = config_of("tag", tags[i][0], NULL);
    row_builds(&o, &k, tags[i][1]);
  }
  for (i = 0; i < sizeof both / sizeof both[0]; i++) {
    syn_config k = config_of("seq2seq", both[i][0], both[i][1]);
    row_builds(&o, &k, both[i][2]);
  }
}

/* Settings that do not fit the task; names whose numbers make a text too long. */
static void test_rows_of_settings(void) {
  static const syn_var wide = {"Y", 123456789};
  char *text = long_text("id # ", "$Y ", "", SYN_MAX_TEXT - 40);
  syn_config k = config_of("lm", NULL, "norm");
  k.src_features = 3;
  row_builds(NULL, &k, "src_features is 3, but the task lm reads tokens alone");
  k = config_of("mlm", "norm", NULL);
  k.src_features = 3;
  row_builds(NULL, &k, "src_features is 3, but the task mlm reads tokens alone");
  k = config_of("mlm", "linear(5)", NULL);
  k.tie = "out";
  row_builds(NULL, &k, "the encoder's output has width 5, the embedding 8");
  k = config_of("lm", NULL, text);
  k.vars = &wide;
  k.n_vars = 1;
  row_builds(NULL, &k, "65536");
  free(text);
}

/* Outlines: of a context with an error, of texts with one; what a model without weights refuses. */
static void test_rows_of_outlines(void) {
  syn_config k = config_of("lm", NULL, "norm -> nomr");
  syn_fault fault;
  syn_context c;
  syn_trainer *t;
  syn_model *m;
  int stream = 9, width = 9;
  syn_context_init(&c, NULL);
  m = syn_model_outline(&c, &k, &fault);
  CHECK(m && c.status == SYN_E_TEXT && fault.path && fault.place == 8 && fault.in >= -1, "%s", c.message);
  CHECK(!syn_model_outline(&c, &k, &fault) && fault.place == -1 && fault.in == -1, "place %d", fault.place);
  syn_context_clear(&c);
  CHECK(syn_model_pack(m) == SYN_E_VALUE && strstr(c.message, "it has no weights"), "%s", c.message);
  syn_context_clear(&c);
  syn_model_free(m);
  k = config_of("no task", NULL, "norm");
  m = syn_model_outline(&c, &k, &fault);
  syn_context_clear(&c);
  CHECK(!m || (syn_model_pack(m) == SYN_E_VALUE && strstr(c.message, "it has no weights")), "%s", c.message);
  syn_model_free(m);
  syn_context_clear(&c);
  k = config_of("lm", NULL, "norm");
  m = syn_model_new(&c, &k);
  CHECK(syn_model_maker(NULL, 0, &stream, &width) == -1 && stream == SYN_SRC && !width, "stream %d", stream);
  syn_model_maker(m, SYN_FEEDBACK, &stream, &width);
  CHECK(stream == SYN_TGT && width == 8, "stream %d, width %d", stream, width);
  t = syn_trainer_new(&c, m, NULL);
  CHECK(t && syn_model_pack(m) == SYN_E_VALUE && strstr(c.message, "the model has a trainer"), "%s", c.message);
  syn_trainer_free(t);
  syn_context_clear(&c);
  CHECK(syn_model_pack(m) == SYN_OK && syn_model_pack(m) == SYN_OK, "%s", c.message);
  syn_model_free(m);
  k = config_of("tag", "norm", NULL);
  m = syn_model_new(&c, &k);
  CHECK(syn_model_maker(m, SYN_FEEDBACK, &stream, &width) == -1 && !width, "width %d", width);
  syn_model_free(m);
}

/* Contexts, names of instructions, random numbers and texts at their limits. */
static void test_rows_of_contexts(void) {
  static const char syllables[] = "\xEA\xB0\x80\xE1\x86\xA8", closed[] = "\xEA\xB0\x81\xE1\x86\xA8";
  static const char accent[] = "\xEA\xB0\x80\xCC\x81";
  static const char hidden[] = "\xD8\x9C\xE2\x81\xA6\xE2\x80\x8E\xE2\x80\x8F\xC2\x80";
  syn_options o;
  syn_context c;
  syn_random r;
  syn_text none;
  char isa[200], out[99];
  memset(&o, 0, sizeof o);
  memset(isa, 0x80, sizeof isa);
  isa[sizeof isa - 1] = 0;
  o.isa = isa;
  CHECK(syn_context_init(&c, &o) == SYN_E_VALUE && strstr(c.message, "isa \"...\" is not usable"), "%s", c.message);
  o.isa = NULL;
  o.threads = -1;
  CHECK(syn_context_init(&c, &o) == SYN_E_VALUE && strstr(c.message, "threads -1, wanted 0 or more"), "%s", c.message);
  CHECK(c.options.threads == 1 && !syn_context_exact(NULL), "%d threads", c.options.threads);
  memset(&c, 0, sizeof c);
  CHECK(!syn_context_exact(&c), "a context of zeros is exact");
  syn_context_init_abi(&c, NULL, SYN_ABI + 1);
  CHECK(!syn_context_exact(&c) && c.status == SYN_E_VERSION, "status %d", (int)c.status);
  CHECK(!syn_isa_usable(-1) && !syn_isa_usable(1000) && syn_isa_usable(0), "isas");
  r.state = UINT64_C(0x31628AF67B2131AB); /* whose next number is the largest: 7 does not divide what ends with it */
  CHECK(syn_random_below(&r, 7) < 7 && r.state == UINT64_C(0x31628AF67B2131AB) + 2 * UINT64_C(0x9E3779B97F4A7C15),
        "drawn once");
  none.at = NULL;
  none.size = 4;
  CHECK(syn_text_whole(none) == 4, "%lu bytes of no text", (unsigned long)syn_text_whole(none));
  CHECK(syn_text_normalize(syn_text_of(syllables), SYN_NFC, out, sizeof out) == 3 && !strcmp(out, "\xEA\xB0\x81"),
        "%s", out);
  CHECK(syn_text_normalize(syn_text_of(closed), SYN_NFC, out, sizeof out) == 6 && !strcmp(out, closed), "%s", out);
  CHECK(syn_text_normalize(syn_text_of(accent), SYN_NFC, out, sizeof out) == 5 && !strcmp(out, accent), "%s", out);
  CHECK(syn_text_normalize(syn_text_of("\xC2\x85\xC2\xA9"), SYN_LOWERCASE, out, sizeof out) == 4, "%s", out);
  syn_text_visible(syn_text_of(hidden), out, sizeof out);
  CHECK(!strcmp(out, "\\u061c\\u2066\\u200e\\u200f\\u0080"), "%s", out);
  syn_text_visible(syn_text_of("\xE2\x81\xA9\xE2\x81\xAA\xE2\x80\xAF\xE2\x80\xA7\xE2\x80\xA8"), out, sizeof out);
  CHECK(!strcmp(out, "\\u2069\xE2\x81\xAA\xE2\x80\xAF\xE2\x80\xA7\\u2028"), "%s", out);
}

/* A kind asks what runs it. */
static int row_asked[4];
static void row_asking_forward(syn_tape *t, const syn_node *n) {
  const syn_stream *in = syn_in_stream(t, n, 0), *out = syn_out_stream(t, n);
  row_asked[0] = syn_is_training(t);
  row_asked[1] = syn_is_decoding(t);
  row_asked[2] = syn_places(t, n) != NULL;
  row_asked[3] = in && out == in;
  memcpy(syn_out(t, n)->x, syn_in(t, n, 0)->x, syn_count(syn_out(t, n)) * sizeof(float));
}
static syn_status row_asking_shape(syn_build *b, syn_node *n) { return syn_build_out_like(b, n, 0); }
static syn_status row_own_shape(syn_build *b, syn_node *n) {
  return syn_build_out(b, n, SYN_OWN, syn_build_width(b, n, 0));
}

static void test_rows_of_asking(void) {
  static const syn_kind asking = {"asking", "", 0, NULL, row_asking_shape, row_asking_forward, odd_forward, NULL, NULL,
                                  NULL};
  static const syn_kind on_tape = {"asking", "", 0, NULL, row_own_shape, row_asking_forward, odd_forward, NULL, NULL,
                                   NULL};
  static const syn_kind *const kinds[] = {&asking};
  static const int tokens[] = {2, 5, 6, 7}, two[] = {2, 3}, three[] = {3}, cube[] = {2, 3, 1};
  static const int four[] = {2, 4};
  syn_config k = config_of("lm", NULL, "asking");
  syn_tensor *x, *y, *w, *bias;
  syn_options o;
  syn_context c;
  syn_model *m;
  syn_limits limits;
  syn_run *r;
  syn_batch b;
  syn_tape *t;
  memset(&o, 0, sizeof o);
  o.kinds = kinds;
  o.n_kinds = 1;
  syn_context_init(&c, &o);
  m = syn_model_new(&c, &k);
  memset(&limits, 0, sizeof limits);
  r = m ? syn_run_new(&c, m, &limits) : NULL;
  memset(&b, 0, sizeof b);
  b.count = 1, b.tgt = tokens, b.tgt_width = 4;
  CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c.message);
  CHECK(!row_asked[0] && !row_asked[1] && row_asked[2] && row_asked[3], "%d %d %d %d", row_asked[0], row_asked[1],
        row_asked[2], row_asked[3]);
  syn_run_free(r);
  syn_model_free(m);
  t = syn_tape_new(&c, 1 << 16);
  x = syn_tensor_new(t, 2, two);
  if (x) memset(x->x, 0, 6 * sizeof(float));
  y = syn_record(&on_tape, 1, &x, NULL, 0);
  CHECK(y && y->rank == 2 && !row_asked[2] && !row_asked[3], "%s", c.message);
  w = syn_tensor_new(t, 1, three);
  bias = syn_tensor_new(t, 1, two);
  CHECK(!syn_linear(x, w, bias) && strstr(c.message, "of rank 1"), "%s", c.message);
  syn_context_clear(&c);
  w = syn_tensor_new(t, 2, two);
  CHECK(!syn_linear(x, w, syn_tensor_new(t, 1, three)) && strstr(c.message, "b of 3 numbers"), "%s", c.message);
  syn_context_clear(&c);
  y = syn_tensor_new(t, 3, cube);
  CHECK(!syn_linear(x, y, bias) && strstr(c.message, "of rank 3"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_linear(x, syn_tensor_new(t, 2, four), bias) && strstr(c.message, "wanted w [n,3]"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_matmul(y, x) && strstr(c.message, "wanted [m,k] and [k,n]"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_matmul(x, y) && strstr(c.message, "wanted [m,k] and [k,n]"), "%s", c.message);
  syn_tape_free(t);
}

/* Threads that are none: `parallel` runs the slices one after the other. The bits are those of one thread. */
static void row_parallel(void *user, void (*task)(void *arg, int i), void *arg, int n) {
  int i;
  *(int *)user += n;
  for (i = 0; i < n; i++) task(arg, i);
}

static void test_rows_of_threads(void) {
  enum { ROWS = 100 }; /* tiles of every kernel, four at least */
  int tokens[ROWS];
  syn_config k = config_of("lm", NULL, "syn_att(V) -> ff(200) -> linear(40) -> linear(200) -> linear(8)");
  float first[ROWS * 8];
  int pass, calls = 0, i;
  k.max_len = ROWS;
  memset(first, 0, sizeof first);
  for (i = 0; i < ROWS; i++) tokens[i] = i ? 4 + i % 7 : 2;
  for (pass = 0; pass < 4; pass++) {
    syn_options o;
    syn_context c;
    syn_model *m;
    syn_limits limits;
    syn_value y;
    syn_run *r;
    syn_batch b;
    memset(&o, 0, sizeof o);
    o.threads = pass % 2 ? 8 : 1;
    o.parallel = row_parallel;
    o.parallel_user = &calls;
    syn_context_init(&c, &o);
    m = syn_model_new(&c, &k);
    if (m && pass > 1) syn_model_pack(m);
    memset(&limits, 0, sizeof limits);
    limits.keep = 1;
    r = m ? syn_run_new(&c, m, &limits) : NULL;
    memset(&b, 0, sizeof b);
    b.count = 1, b.tgt = tokens, b.tgt_width = ROWS;
    CHECK(r && syn_run_forward(r, &b) == SYN_OK && !syn_run_value(r, "decoder.4", 0, &y), "%s", c.message);
    CHECK((calls > 0) == (pass > 0), "pass %d: %d slices", pass, calls);
    for (i = 0; r && c.status == SYN_OK && i < ROWS * 8; i++) {
      if (!pass) first[i] = y.x[i];
      CHECK(y.x[i] == first[i], "pass %d, number %d: %g %g", pass, i, (double)y.x[i], (double)first[i]);
    }
    syn_run_free(r);
    syn_model_free(m);
  }
}

/* A kind that builds what is behind it a second time: there are more such layers than the text has. */
static int row_nested;
static int row_twin_build(syn_build *b, const syn_layer *l, int x) {
  int y = x;
  if (!row_nested++) y = syn_build_chain(b, l, x);
  row_nested--;
  return y;
}
static void row_report(void *user, const syn_param *p, const syn_param *from, int rows) {
  syn_model *m = (syn_model *)user;
  (void)p, (void)from, (void)rows;
  CHECK(syn_model_pack(m) == SYN_E_VALUE, "a model that is being written is packed");
}

static void test_rows_of_counts(void) {
  static const syn_kind twin = {"twin", "", 0, row_twin_build, NULL, NULL, NULL, NULL, NULL, NULL};
  static const syn_kind *const kinds[] = {&twin};
  syn_config k = config_of("seq2seq", "repeat(1, ff)", "twin -> mh_dot_att(source=increasing)");
  syn_options o;
  syn_context c, copy;
  syn_model *m, *other;
  static const int tokens[] = {2, 5, 6};
  syn_limits limits;
  syn_run *r;
  syn_batch b;
  syn_plan plan;
  memset(&o, 0, sizeof o);
  o.kinds = kinds;
  o.n_kinds = 1;
  row_builds(&o, &k, "source=increasing: the decoder has 1 such layers, the encoder's repeat 1 copies");
  k = config_of("lm", NULL, "norm");
  k.tgt_vocab = 1 << 20; /* of which 16 rows of scores are 64 MiB: 32 are computed together */
  syn_context_init(&c, NULL);
  CHECK(syn_plan_of(&c, &k, NULL, NULL, &plan) == SYN_OK && plan.weights >= (size_t)32 << 20 &&
            plan.activations > (size_t)128 << 20,
        "%s: %lu bytes", c.message, (unsigned long)plan.activations);
  k = config_of("seq2seq", "id", "res(linear) -> mlp_att -> res(linear)");
  CHECK(syn_plan_of(&c, &k, NULL, NULL, &plan) == SYN_OK && plan.activations && plan.keep, "%s", c.message);
  k = config_of("lm", NULL, "norm -> linear");
  m = syn_model_new(&c, &k);
  k.decoder = "norm";
  other = syn_model_new(&c, &k);
  syn_model_init_from(m, other, 0, row_report, m);
  CHECK(c.status == SYN_E_VALUE && strstr(c.message, "syn_model_pack"), "%s", c.message);
  syn_context_clear(&c);
  memset(&limits, 0, sizeof limits);
  r = syn_run_new(&c, m, &limits);
  memset(&b, 0, sizeof b);
  b.count = 1, b.tgt = tokens, b.tgt_width = 3;
  c.depth = 1, c.thread = &k; /* as if another thread had called */
  CHECK(r && syn_run_forward(r, &b) == SYN_E_VALUE, "status %d", (int)c.status);
  CHECK(strstr(c.message, "at work in another thread"), "%s", c.message);
  c.depth = 0;
  syn_context_clear(&c);
  CHECK(r && syn_run_forward(r, &b) == SYN_OK, "%s", c.message);
  syn_run_free(r);
  syn_model_free(other);
  syn_model_free(m);
  syn_context_clear(&c);
  copy = c;
  CHECK(!syn_model_new(&copy, &k) && copy.status == SYN_E_CONTEXT, "status %d", (int)copy.status);
  CHECK(!syn_model_new(&copy, &k) && copy.status == SYN_E_CONTEXT, "status %d", (int)copy.status);
  copy.place = NULL;
  copy.mark = ~(uintptr_t)0;
  copy.status = SYN_OK;
  CHECK(!syn_model_new(&copy, &k) && syn_context_status(&copy) == SYN_E_CONTEXT && !copy.status, "a freed context");
}

/* More places than the tables of rope and pos have room for: the rows beyond are computed, and are the same. */
static void test_rows_of_places(void) {
  static const int tokens[] = {2, 5, 6};
  syn_config k = config_of("lm", NULL, "rope(base=7) -> syn_att(V) -> rope(base=5) -> syn_att(V)");
  float first[24] = {0};
  int pass, i;
  for (pass = 0; pass < 2; pass++) {
    syn_context c;
    syn_model *m;
    syn_limits limits;
    syn_value y;
    syn_run *r;
    syn_batch b;
    k.max_len = pass ? 1 << 20 : 9;
    syn_context_init(&c, NULL);
    m = syn_model_new(&c, &k);
    memset(&limits, 0, sizeof limits);
    limits.keep = 1, limits.tgt_rows = limits.length = 3;
    r = m ? syn_run_new(&c, m, &limits) : NULL;
    memset(&b, 0, sizeof b);
    b.count = 1, b.tgt = tokens, b.tgt_width = 3;
    CHECK(r && syn_run_forward(r, &b) == SYN_OK && !syn_run_value(r, "decoder.3", 0, &y), "%s", c.message);
    for (i = 0; r && c.status == SYN_OK && i < 24; i++) {
      if (!pass) first[i] = y.x[i];
      CHECK(y.x[i] == first[i], "number %d: %g %g", i, (double)y.x[i], (double)first[i]);
    }
    syn_run_free(r);
    syn_model_free(m);
  }
}

int main(void) {
  test_rows_of_threads();
  test_rows_of_counts();
  test_rows_of_places();
  test_rows_of_texts();
  test_rows_of_settings();
  test_rows_of_outlines();
  test_rows_of_contexts();
  test_rows_of_asking();
  test_bad_kinds();
  test_too_much();
  test_no_kinds();
  test_odd_names();
  test_names();
  test_same();
  test_lists();
  test_list_of_kinds();
  test_replaced();
  test_wrong();
  test_long();
  test_deep();
  test_path();
  test_at_limits();
  test_chance();
  test_own_kind();
  return CHECK_END("language");
}
