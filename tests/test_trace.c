/* test_trace   the JSON document of a run: every value, gradient and weight to the bit; what was not
   computed; summaries; networks that do not build; writes that fail. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "../tools/document.h"
#include "check.h"
#include "heap.h"
#include "sink.h"
#include "two.h"

/* -- JSON: a pointer to a value inside the text; null: none, or no JSON -- */

static const char *json_end(const char *at);

static const char *json_string_end(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++) {
    if ((unsigned char)*at < 32) return NULL;
    if (*at == '\\' && !*++at) return NULL;
  }
  return at + 1;
}

static const char *json_space(const char *at) { return at + strspn(at, " \n\r\t"); }

/* The end of the elements of an object or array. */
static const char *json_list_end(const char *at) {
  char close = *at == '{' ? '}' : ']';
  int object = *at == '{';
  at = json_space(at + 1);
  if (*at == close) return at + 1;
  for (;;) {
    if (object) {
      at = json_string_end(at);
      if (!at || *(at = json_space(at)) != ':') return NULL;
      at = json_space(at + 1);
    }
    at = json_end(at);
    if (!at) return NULL;
    at = json_space(at);
    if (*at == close) return at + 1;
    if (*at != ',') return NULL;
    at = json_space(at + 1);
  }
}

/* The end of a value; null: it is none. */
static const char *json_end(const char *at) {
  size_t n;
  if (*at == '"') return json_string_end(at);
  if (*at == '{' || *at == '[') return json_list_end(at);
  if (!strncmp(at, "null", 4) || !strncmp(at, "true", 4)) return at + 4;
  if (!strncmp(at, "false", 5)) return at + 5;
  n = strspn(at, "+-.0123456789e");
  return n ? at + n : NULL;
}

static const char *json_get(const char *object, const char *key) {
  const char *at = object && *object == '{' ? json_space(object + 1) : NULL;
  while (at && *at == '"') {
    const char *end = json_string_end(at);
    int same = end && (size_t)(end - at) == strlen(key) + 2 && !memcmp(at + 1, key, strlen(key));
    at = end ? json_space(json_space(end) + 1) : NULL;
    if (same) return at;
    at = at ? json_end(at) : NULL;
    at = at && *json_space(at) == ',' ? json_space(json_space(at) + 1) : NULL;
  }
  return NULL;
}

static const char *json_at(const char *array, size_t i) {
  const char *at = array && *array == '[' ? json_space(array + 1) : NULL;
  for (; at && *at != ']' && i; i--) {
    at = json_end(at);
    at = at && *json_space(at) == ',' ? json_space(json_space(at) + 1) : NULL;
  }
  return at && *at != ']' ? at : NULL;
}

static size_t json_count(const char *array) {
  size_t n = 0;
  while (json_at(array, n)) n++;
  return n;
}

/* 1: the value begins like this text. */
static int json_is(const char *at, const char *text) { return at && !strncmp(at, text, strlen(text)); }

/* -- arrays -- */

static int base64_digit(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = c ? strchr(digits, c) : NULL;
  return at ? (int)(at - digits) : -1;
}

/* 1: the string holds exactly these numbers, little-endian. */
static int floats_equal(const char *at, const float *x, size_t n) {
  uint32_t word = 0, bits = 0;
  size_t i, count = 0;
  int have = 0;
  if (!at || *at++ != '"') return 0;
  for (; base64_digit(*at) >= 0; at++) {
    word = word << 6 | (uint32_t)base64_digit(*at);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    i = count++;
    bits |= (word >> have & 255) << 8 * (i % 4);
    if (i % 4 < 3) continue;
    if (i / 4 >= n || memcmp(&bits, &x[i / 4], 4)) return 0;
    bits = 0;
  }
  return count == 4 * n;
}

static void value_equal(const char *json, const syn_value *v, const char *name) {
  const char *shape = json_get(json, "shape"), *axes = json_get(json, "axes");
  size_t n = 1;
  int i;
  for (i = 0; i < v->rank; i++) {
    n *= (size_t)v->shape[i];
    CHECK(json_at(shape, (size_t)i) && atoi(json_at(shape, (size_t)i)) == v->shape[i], "%s: shape %.40s", name, shape);
    CHECK(json_is(json_at(axes, (size_t)i), "\"") &&
              !strncmp(json_at(axes, (size_t)i) + 1, v->axes[i], strlen(v->axes[i])),
          "%s: axes %.60s", name, axes);
  }
  CHECK(json_count(shape) == (size_t)v->rank, "%s: rank", name);
  CHECK(v->x ? floats_equal(json_get(json, "x"), v->x, n) : json_is(json_get(json, "x"), "null"), "%s: x", name);
  CHECK(v->dx ? floats_equal(json_get(json, "dx"), v->dx, n) : json_is(json_get(json, "dx"), "null"), "%s: dx", name);
}

/* -- a run -- */

/* The document as text; the caller frees it. */
static char *document(syn_context *c, const syn_model *m, const syn_run *r, const syn_trace_config *k) {
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_status s = syn_trace(m, r, k, &sink);
  CHECK(s == SYN_OK, "%s", c->message);
  bytes_write(&b, "", 1);
  CHECK(json_end(b.at) && !*json_space(json_end(b.at)), "no JSON: %.80s", b.at);
  CHECK(!strstr(b.at, "<"), "a < in it");
  return b.at;
}

static void nodes_equal(syn_context *c, const syn_model *m, const syn_run *r, const char *json, int sentence) {
  const char *nodes = json_get(json, "nodes"), *params = json_get(json, "params"), *at;
  char name[400];
  size_t i, k, parts = 0;
  int p;
  CHECK(json_count(nodes) == syn_model_node_count(m) && json_count(params) == syn_model_param_count(m), "%.99s", json);
  for (i = 0; i < syn_model_node_count(m); i++) {
    const syn_node *n = syn_model_node(m, i);
    int again = 0;
    syn_value v;
    for (k = 0; k < i; k++) again += !strcmp(syn_model_node(m, k)->path, n->path);
    at = json_at(nodes, i);
    CHECK(json_get(at, "path") && !strncmp(json_get(at, "path") + 1, n->path, strlen(n->path)), "%.60s", at);
    CHECK(atoi(json_get(at, "heads")) == n->seen_heads && atoi(json_get(at, "place")) == n->place, "%s", n->path);
    for (p = 0; p < n->n_in; p++)
      CHECK(atoi(json_at(json_get(at, "in"), (size_t)p)) == m->g.values[n->in[p]].maker, "%s reads", n->path);
    snprintf(name, sizeof name, "%s@%d", n->path, again);
    if (!syn_run_value(r, name, sentence, &v)) value_equal(json_get(at, "value"), &v, name);
    CHECK(!c->status, "%s", c->message);
    for (p = 0; p <= n->n_part; p++) {
      const char *part = p < n->n_part ? n->part[p].name : n->seen_heads ? "weights" : NULL;
      size_t used = (size_t)snprintf(name, sizeof name, "%s", n->path);
      if (!part) continue;
      snprintf(name + used, sizeof name - used, "@%d.%s", 0, part);
      if (again || syn_run_value(r, name, sentence, &v)) continue; /* steps share their names */
      value_equal(json_get(json_get(at, "parts"), part), &v, name);
      parts++;
    }
    CHECK(!c->status, "%s", c->message);
  }
  for (i = 0; i < syn_model_param_count(m); i++) {
    const syn_param *q = syn_model_param(m, i);
    syn_value v;
    syn_run_value(r, q->name, 0, &v);
    value_equal(json_get(json_at(params, i), "value"), &v, q->name);
  }
  CHECK(strstr(json, "att") == NULL || parts > 0, "no parts were compared");
}

static void run_case(const syn_config *k) {
  syn_limits l;
  syn_trace_config t;
  syn_context c;
  syn_model *m;
  syn_run *r;
  syn_batch b = two(k->task);
  float loss = 0.0f;
  char *json;
  memset(&l, 0, sizeof l);
  memset(&t, 0, sizeof t);
  l.sentences = 2;
  l.src_rows = 20;
  l.keep = 1;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, k);
  r = m ? syn_run_new(&c, m, &l) : NULL;
  CHECK(r != NULL, "%s", c.message);
  if (!r) return;
  json = document(&c, m, r, NULL); /* no pass: no numbers but the weights */
  CHECK(json_is(json_get(json_get(json_at(json_get(json, "nodes"), 0), "value"), "x"), "null") &&
            json_is(json_get(json, "top"), "null") && json_is(json_get(json_get(json, "passes"), "loss"), "null"),
        "%s: numbers without a pass", k->task);
  free(json);
  CHECK(!syn_run_backward(r, &b, &loss), "%s", c.message);
  t.loss = &loss;
  for (t.sentence = 0; t.sentence < 2; t.sentence++) {
    json = document(&c, m, r, &t);
    nodes_equal(&c, m, r, json, t.sentence);
    CHECK(json_get(json_get(json, "passes"), "loss") &&
              (float)atof(json_get(json_get(json, "passes"), "loss")) == loss, "%s: loss", k->task);
    free(json);
  }
  t.sentence = 0;
  t.loss = NULL;
  CHECK(!syn_run_forward(r, &b), "%s", c.message);
  json = document(&c, m, r, &t);
  nodes_equal(&c, m, r, json, 0);
  free(json);
  syn_run_free(r);
  syn_model_free(m);
}

static void test_runs(void) {
  static const char *const tasks[] = {"seq2seq", "lm", "classify", "tag"};
  size_t i;
  syn_config k;
  for (i = 0; i < 4; i++) k = two_config(tasks[i]), run_case(&k);
  k = two_config("seq2seq");
  k.encoder = "repeat(2, parallel_add(birnn | light_conv(3)) -> res_nd(linformer(k=2))) -> norm";
  k.decoder = "input_feed -> linear -> universal(3, res(syn_att(V+R)) -> mlp_att)";
  run_case(&k);
  k.decoder = "concat(mh_dot_att | rel_pos -> syn_att(V)) -> highway(ffl) -> rms_norm";
  run_case(&k);
}

/* -- texts that the vocabulary does not hold; the loss without smoothing; an own answer -- */

/* "tokens".NAME of the text with a tokenizer that learned "ab b c. é", must contain `wanted`. */
static void own_text(const char *type, const char *given, const char *wanted) {
  syn_text known = syn_text_of("ab b c. \xC3\xA9"), own = syn_text_of(given);
  syn_config k = two_config("lm");
  syn_trace_config t;
  syn_limits l;
  syn_context c;
  syn_tokenizer *words;
  syn_model *m;
  syn_run *r;
  syn_batch b;
  int ids[64];
  char *json;
  memset(&l, 0, sizeof l);
  memset(&b, 0, sizeof b);
  memset(&t, 0, sizeof t);
  syn_context_init(&c, NULL);
  words = syn_tokenizer_learn(&c, type, 0, &known, 1);
  k.tgt_vocab = syn_tokenizer_size(words);
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, NULL, words);
  b.count = 1;
  b.tgt = ids;
  l.length = b.tgt_width = syn_tokenizer_encode(words, own, ids, 64);
  r = syn_run_new(&c, m, &l);
  CHECK(!syn_run_forward(r, &b), "%s: %s", type, c.message);
  t.target = own;
  json = document(&c, m, r, &t);
  CHECK(strstr(json, wanted) != NULL, "%s \"%s\": wanted %s in %.300s", type, given, wanted,
        json_get(json_get(json, "tokens"), "target"));
  free(json);
  t.target.size = 0;
  json = document(&c, m, r, &t);
  CHECK(!strstr(json, wanted), "%s: without the text", type);
  free(json);
  syn_run_free(r);
  syn_model_free(m);
}
static void test_own_text(void) {
  own_text("space", "zoo  b wolf\tx ab", "[1,\"zoo\"],[5,\"b\"],[1,\"wolf\"],[1,\"x\"],[4,\"ab\"]]");
  own_text("char", "axc", "[1,\"x\"]");
  own_text("char", "\xC3\xA9\xC3\xBC.", "[1,\"\xC3\xBC\"]");
  own_text("bpe:20", "ab x b", "[1,\"x\"]");
}

/* "passes" of a network with label smoothing and of the same without: the cross-entropy of both is the loss
   of the second. */
static void test_passes(const char *task) {
  double plain[2], loss[2];
  syn_context c;
  int i;
  syn_context_init(&c, NULL);
  for (i = 0; i < 2; i++) {
    syn_config k = two_config(task);
    syn_batch b = two(task);
    syn_trace_config t;
    syn_limits l;
    const char *passes;
    syn_model *m;
    syn_run *r;
    float measured = 0.0f;
    char *json;
    memset(&l, 0, sizeof l);
    memset(&t, 0, sizeof t);
    l.keep = b.count = 1;
    l.src_rows = 20;
    k.label_smoothing = i ? 0.0f : 0.25f;
    m = syn_model_new(&c, &k);
    r = syn_run_new(&c, m, &l);
    CHECK(!syn_run_backward(r, &b, &measured), "%s", c.message);
    t.loss = &measured;
    t.own = i;
    json = document(&c, m, r, &t);
    passes = json_get(json, "passes");
    loss[i] = atof(json_get(passes, "loss"));
    plain[i] = atof(json_get(passes, "cross_entropy"));
    CHECK(atof(json_get(passes, "smoothing")) == (double)k.label_smoothing, "%s: %.100s", task, passes);
    CHECK(json_is(json_get(passes, "own"), i ? "true" : "false"), "%s: %.100s", task, passes);
    free(json);
    syn_run_free(r);
    syn_model_free(m);
  }
  CHECK(fabs(plain[0] - loss[1]) < 1e-5 && fabs(plain[1] - loss[1]) < 1e-5 && fabs(loss[0] - loss[1]) > 1e-4,
        "%s: losses %.6f %.6f, cross-entropies %.6f %.6f", task, loss[0], loss[1], plain[0], plain[1]);
}

/* What it refuses; a run without `keep`, one of a model in panels; summaries. */
static void test_limits(void) {
  syn_config k = two_config("seq2seq");
  syn_limits l;
  syn_trace_config t;
  heap h;
  syn_context c;
  syn_model *m;
  syn_run *r;
  bytes all;
  syn_sink sink = sink_of(&all);
  syn_batch b = two("seq2seq");
  const char *node, *value;
  char *json;
  long taken;
  memset(&l, 0, sizeof l);
  memset(&t, 0, sizeof t);
  l.src_rows = 20;
  context_on(&c, &h, 0);
  m = syn_model_new(&c, &k);
  r = syn_run_new(&c, m, &l);
  CHECK(!syn_run_forward(r, &b), "%s", c.message);
  m->g.params[0].x[3] = NAN;
  m->g.params[0].x[4] = INFINITY;
  t.weights = 16;
  taken = h.calls;
  json = document(&c, m, r, &t);
  CHECK(h.calls == taken, "it allocates");
  node = json_at(json_get(json, "nodes"), 3);
  CHECK(json_is(json_get(json_get(node, "value"), "x"), "null"), "a value without keep: %.200s", node);
  value = json_get(json_get(json_get(node, "parts"), "weights"), "x");
  CHECK(json_is(value, "\""), "no weights: %.400s", node);
  value = json_get(json_get(json_at(json_get(json, "params"), 0), "value"), "x");
  CHECK(atoi(json_get(value, "count")) == 88 && atoi(json_get(value, "finite")) == 86 &&
            json_count(json_get(value, "bins")) == 20, "%.200s", value);
  free(json);
  t.sentence = 2;
  CHECK(syn_trace(m, r, &t, &sink) == SYN_E_VALUE && !c.status && !all.size, "sentence 2");
  CHECK(syn_trace(m, r, NULL, NULL) == SYN_E_VALUE && syn_trace(m, NULL, NULL, &sink) == SYN_E_VALUE &&
            syn_trace(NULL, r, NULL, &sink) == SYN_E_VALUE && !all.size, "null");
  CHECK(syn_trace_network(&c, NULL, &sink) == SYN_E_VALUE && strstr(c.message, "configuration"), "%s", c.message);
  syn_context_clear(&c);
  free(all.at);
  syn_run_free(r);
  syn_model_free(m);
}

/* A sink that takes `left` bytes. */
static size_t short_write(void *user, const void *from, size_t size) {
  size_t *left = (size_t *)user, n = size < *left ? size : *left;
  (void)from;
  *left -= n;
  return n;
}

static void test_sink(void) {
  syn_config k = two_config("lm");
  syn_context c;
  size_t left, whole, n;
  bytes all;
  syn_sink sink = sink_of(&all), shorter = {short_write, &left};
  syn_context_init(&c, NULL);
  CHECK(!syn_trace_network(&c, &k, &sink), "%s", c.message);
  whole = all.size;
  for (n = 0; n <= whole; n += CHECK_QUICK ? 97 : 7) {
    left = n;
    CHECK(syn_trace_network(&c, &k, &shorter) == (n < whole ? SYN_E_FILE : SYN_OK), "%lu bytes", (unsigned long)n);
    syn_context_clear(&c);
  }
  free(all.at);
}

/* -- networks that do not build -- */

/* The document of a configuration, whose error is that of syn_model_new. */
static size_t broken_case(const syn_config *k) {
  syn_context c;
  bytes all;
  syn_sink sink = sink_of(&all);
  char message[400];
  const char *error;
  syn_status s, wanted;
  size_t nodes;
  syn_model *m;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, k);
  wanted = c.status;
  snprintf(message, sizeof message, "%s", c.message);
  syn_model_free(m);
  syn_context_clear(&c);
  s = syn_trace_network(&c, k, &sink);
  bytes_write(&all, "", 1);
  CHECK(s == wanted && (!s || !strcmp(message, c.message) || strstr(c.message, "line")), "%s, not %s", c.message, message);
  CHECK(json_end(all.at) && !*json_space(json_end(all.at)), "no JSON: %.80s", all.at);
  error = json_get(all.at, "error");
  CHECK(s ? json_is(error, "{\"message\":\"") : json_is(error, "null"), "%.200s", error);
  nodes = json_count(json_get(all.at, "nodes"));
  free(all.at);
  return nodes;
}

static void test_broken(void) {
  static const char encoder[] = "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl(n=12))) -> norm";
  static const char decoder[] = "pos->res_nd(syn_att(V,heads=2))->res_nd(mh_dot_att)->concat(id|ffl)->linear(8)";
  static const struct {
    const char *encoder, *decoder;
    size_t nodes;
  } cases[] = {
      {encoder, "pos->res_nd(syn_att(V))->res_nd(mh_dott_att)", 17 + 6}, /* an unknown name */
      {encoder, "pos->res_nd(syn_att(V,heads=3))->mh_dot_att", 17 + 3}, /* heads that do not divide */
      {encoder, "pos->norm)", 17 + 3},
      {encoder, "pos->repeat(2,res(", 17 + 2},
      {encoder, "pos->norm", 17 + 3}, /* no attention to the source */
      {"pos->res_nd(syn_att(R+V)->linear(9))", decoder, 5}, /* widths that do not fit */
      {"pos -> mh_dot_att", "", 2},
      {"\xff", decoder, 0},
      {"nothing", "also nothing", 1}};
  char text[200];
  size_t i, k;
  syn_config config = two_config("seq2seq");
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    config.encoder = cases[i].encoder;
    config.decoder = cases[i].decoder;
    k = broken_case(&config);
    CHECK(k == cases[i].nodes, "%s, %s: %lu nodes", config.encoder, config.decoder, (unsigned long)k);
  }
  config.decoder = text;
  for (i = 0; i < sizeof decoder; i++) { /* every truncation, every wrong character, of both sides */
    config.encoder = encoder;
    memcpy(text, decoder, sizeof decoder);
    text[i] = 0;
    broken_case(&config);
    memcpy(text, decoder, sizeof decoder);
    if (text[i]) text[i] = "(->,|#9x$"[i % 9];
    broken_case(&config);
    config.encoder = text;
    broken_case(&config);
  }
}

/* Places in the text: of copies the same, behind $NAMEs those of the text with the numbers. */
static void test_places(void) {
  static const syn_var vars[] = {{"WIDE", 12345}, {"N", 2}};
  syn_config k = two_config("lm");
  syn_context c;
  syn_model *m;
  size_t i, found = 0;
  k.decoder = "\xEF\xBB\xBFrepeat($N, ff($WIDE) -> linear(8)) -> res_nd(syn_att(V)) -> norm";
  k.vars = vars;
  k.n_vars = 2;
  syn_context_init(&c, NULL);
  m = syn_model_new(&c, &k);
  CHECK(m != NULL, "%s", c.message);
  for (i = 0; i < syn_model_node_count(m); i++) {
    const syn_node *n = syn_model_node(m, i);
    const char *text = syn_model_config(m)->decoder + 3, *name = n->kind->name;
    if (n->place < 0) continue;
    if (!strcmp(n->path, "decoder.1") || !strncmp(n->path, "decoder.1.", 10))
      name = strcmp(name, "syn_att") ? "res_nd" : name;
    found++;
    CHECK(!strncmp(text + n->place, name, strlen(name)), "%s at %.20s", n->path, text + n->place);
  }
  CHECK(found == 8, "%lu nodes of layers", (unsigned long)found);
  syn_model_free(m);
}

/* Tokens with signs of HTML and JSON, and bytes that are not UTF-8. */
static void test_tokens(void) {
  static const char *const specs[] = {"byte", "space", "char"};
  syn_text line = syn_text_of("a</script> \"b\\ \xC3\xA9 \x01\n");
  size_t i;
  for (i = 0; i < 3; i++) {
    syn_config k = two_config("lm");
    syn_context c;
    syn_tokenizer *t;
    syn_model *m;
    syn_run *r;
    char *json;
    syn_context_init(&c, NULL);
    t = syn_tokenizer_learn(&c, specs[i], 0, &line, 1);
    k.tgt_vocab = syn_tokenizer_size(t);
    k.max_len = 40;
    m = syn_model_new(&c, &k);
    syn_model_set_tokenizers(m, t, t);
    r = syn_run_new(&c, m, NULL);
    CHECK(!syn_run_text(r, syn_text_of(""), line), "%s", c.message);
    json = document(&c, m, r, NULL);
    CHECK(json_count(json_get(json_get(json, "tokens"), "target")) ==
              (size_t)syn_tokenizer_encode(t, line, NULL, 0) + 1, "%s: tokens", specs[i]);
    CHECK(json_count(json_at(json_get(json, "top"), 0)) == 5, "top");
    CHECK(json_count(json_get(json, "vocabulary")) == (size_t)k.tgt_vocab, "vocabulary");
    CHECK(strstr(json, "\\u003c") && (i || strstr(json, "\\ufffd") || strstr(json, "\xEF\xBF\xBD")), "escapes");
    free(json);
    syn_run_free(r);
    syn_model_free(m);
  }
}

/* The viewer has a formula for every kind that makes a node. */
static void test_formulas(void) {
  static char text[200000], path[1000], wanted[100];
  const char *root = getenv("ROOT");
  FILE *f;
  size_t i;
  if (!root) return;
  snprintf(path, sizeof path, "%s/tools/trace.js", root);
  f = fopen(path, "rb");
  CHECK(f && fread(text, 1, sizeof text - 1, f) > 0, "%s", path);
  if (f) fclose(f);
  for (i = 0; i < syn_kind_count(); i++) {
    if (!syn_kind_at(i)->shape) continue;
    snprintf(wanted, sizeof wanted, " %s: '", syn_kind_at(i)->name);
    CHECK(strstr(text, wanted) != NULL, "trace.js has no formula of %s", syn_kind_at(i)->name);
  }
}

int main(void) {
  test_formulas();
  test_runs();
  test_limits();
  test_sink();
  test_broken();
  test_places();
  test_tokens();
  test_own_text();
  test_passes("seq2seq");
  test_passes("lm");
  test_passes("classify");
  test_passes("tag");
  return CHECK_END("trace");
}
