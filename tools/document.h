/* document.h   a network, the values of a run, its attention as one JSON document

   Include it behind synthesizer.h, whose public functions are all that it needs. tools/syn.c makes
   pages of its documents (syn trace), examples/web shows them in a browser. */
#ifndef SYN_DOCUMENT_H
#define SYN_DOCUMENT_H
#ifndef SYNTHESIZER_H
#error "document.h: include synthesizer.h before it"
#endif
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What syn_trace writes. Zeroed, a field means what its comment says. */
typedef struct syn_trace_config {
  int sentence;   /* of the last pass */
  /* most numbers that an array of a sentence, or a parameter, may have to be written in full; of
     larger ones a summary is written. 0: 32,768 and 2,048 */
  size_t values, weights;
  /* so many numbers of larger parameters are written all the same: those of the first layers, not
     their gradients */
  size_t spare;
  const float *loss; /* of syn_run_backward; null: the pass was forward */
  /* the texts that the tokens were made of, or empty: a token that is unknown is shown as its own
     text, as far as the tokens can be found in the text, one after the other */
  syn_text source, target;
  int own; /* 1: the labels are what the model answered, which says nothing about right and wrong */
} syn_trace_config;

/* One JSON document of a network and one sentence of the last pass of its run.
   `syn trace --document FILE` makes a page of it, as does traceView(element, document) of
   tools/trace.js:
     task, encoder, decoder, config   the texts, all numbers resolved
     passes     {"loss", "smoothing", "cross_entropy", "own"}: loss of syn_run_backward, which has
                label smoothing; the same without it; both null after a forward pass; own as above
     tokens     {"source", "target", "labels"}: [id, text or null] each; null: there are none
     top        by row of the logits: the 5 most probable [id, text, probability]; null: no pass
     vocabulary texts of the classes; null: no tokenizer, or more than 1,024
     nodes      in the order they run; "in": numbers of the nodes they read; "feedback": one whose
                output for the token before it reads, -1: none; "place": the byte of the text where
                the layer begins, which copies of a repeat share, -1: none; "params": numbers of
                parameters; "value": the output; "parts": places inside, named as in syn_run_value
     params     name, trained, value
     error      syn_trace_network: message, path, name, place, input of the layer that failed
   A value has axes, shape, x, dx. x and dx: base64 of little-endian float32, row-major; null: not
   computed, or not kept (a run without `keep` has attention weights alone); of more numbers than
   the configuration allows: count, how many are finite, and low, high, mean, deviation, 20 bins of
   those. `k` may be null. Allocates nothing. Returns SYN_E_VALUE: no sink, no such sentence;
   SYN_E_FILE: the sink did not take all bytes. These are not recorded in a context. */
static inline syn_status syn_trace(const syn_model *m, const syn_run *r, const syn_trace_config *k,
                                   const syn_sink *sink);
/* The same of a configuration alone, without weights and values. Where it does not build, the
   document has the nodes before the error, and the error is also returned. */
static inline syn_status syn_trace_network(syn_context *c, const syn_config *config,
                                     const syn_sink *sink);

/* Every piece goes to the sink as soon as it is written, so no memory is needed. Texts are the only
   parts that come from a user: doc_text escapes them, also `<`, so that the document can
   stand in a page of HTML. */

typedef struct document_writer {
  const syn_sink *sink;
  const syn_model *m;
  const syn_run *r; /* null: the network alone */
  const syn_fault *fault; /* of a network that did not build, or null */
  const char *message;
  const float *loss;
  syn_text texts[2]; /* source, target */
  int sentence, own;
  size_t values, weights; /* largest arrays that are written in full */
  size_t spare;           /* of larger parameters */
  int ok;                 /* 0: the sink failed, it is not called again */
} document_writer;

static void doc_bytes(document_writer *w, const char *at, size_t size) {
  if (w->ok && size) w->ok = w->sink->write(w->sink->user, at, size) == size;
}
/* Fixed words, integers. */
static void doc_put(document_writer *w, const char *format, ...);
static void doc_put(document_writer *w, const char *format, ...) {
  char text[200];
  va_list args;
  int n;
  va_start(args, format);
  n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  doc_bytes(w, text, n > 0 ? (size_t)n : 0);
}
/* name: a number of 9 digits, which give a float back exactly. The caller gives finite ones. */
static void doc_number(document_writer *w, const char *name, double x) {
  doc_put(w, "%s%.9g", name, x);
}
/* A JSON string. Bytes that are not UTF-8 become U+FFFD. */
static void doc_text(document_writer *w, syn_text t) {
  size_t at = 0, from;
  doc_put(w, "\"");
  while (at < t.size) {
    uint32_t ch = syn_text_next(t, (from = at, &at));
    if (ch < 32 || ch == 127 || ch == '"' || ch == '\\' || ch == '<')
      doc_put(w, "\\u%04x", (unsigned)ch);
    else if (ch > 0x10FFFF) doc_bytes(w, "\xEF\xBF\xBD", 3);
    else doc_bytes(w, t.at + from, at - from);
  }
  doc_put(w, "\"");
}
/* "name": text; null: null */
static void doc_field(document_writer *w, const char *name, const char *text) {
  doc_put(w, "\"%s\":", name);
  if (text) doc_text(w, syn_text_of(text));
  else doc_put(w, "null");
}

/* -- arrays -- */

/* Base64 (RFC 4648) of the bytes of each number, lowest first. 48 numbers are 192 bytes, which are
   256 characters: only the last piece may need padding. */
static void doc_floats(document_writer *w, const float *x, size_t n) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  unsigned char block[194];
  char out[256];
  size_t count, i, k;
  uint32_t bits;
  doc_put(w, "\"");
  for (; n; x += count, n -= count) {
    count = n < 48 ? n : 48;
    memset(block, 0, sizeof block);
    for (i = 0; i < count; i++) {
      memcpy(&bits, &x[i], 4);
      for (k = 0; k < 4; k++) block[4 * i + k] = (unsigned char)(bits >> 8 * k & 255);
    }
    for (i = k = 0; i < 4 * count; i += 3, k += 4) {
      bits = (uint32_t)block[i] << 16 | (uint32_t)block[i + 1] << 8 | block[i + 2];
      out[k] = digits[bits >> 18];
      out[k + 1] = digits[bits >> 12 & 63];
      out[k + 2] = i + 1 < 4 * count ? digits[bits >> 6 & 63] : '=';
      out[k + 3] = i + 2 < 4 * count ? digits[bits & 63] : '=';
    }
    doc_bytes(w, out, k);
  }
  doc_put(w, "\"");
}

/* Of an array that is too large: its finite numbers in 20 equal bins from lowest to highest. */
static void doc_summary(document_writer *w, const float *x, size_t n) {
  double low = 0.0, high = 0.0, sum = 0.0, squares = 0.0, scale, mean;
  size_t bins[20] = {0}, finite = 0, i;
  for (i = 0; i < n; i++) {
    double v = (double)x[i];
    if (x[i] - x[i] != 0.0f) continue;
    if (!finite || v < low) low = v;
    if (!finite++ || v > high) high = v;
    sum += v;
    squares += v * v;
  }
  mean = finite ? sum / (double)finite : 0.0;
  scale = high > low ? 20.0 / (high - low) : 0.0;
  for (i = 0; i < n; i++) {
    double bin = ((double)x[i] - low) * scale;
    if (x[i] - x[i] == 0.0f) bins[bin < 20.0 ? (int)bin : 19]++;
  }
  squares = finite ? squares / (double)finite - mean * mean : 0.0;
  doc_put(w, "{\"count\":%lu,\"finite\":%lu", (unsigned long)n, (unsigned long)finite);
  doc_number(w, ",\"low\":", low);
  doc_number(w, ",\"high\":", high);
  doc_number(w, ",\"mean\":", mean);
  doc_number(w, ",\"deviation\":", sqrt(squares > 0.0 ? squares : 0.0));
  for (i = 0; i < 20; i++)
    doc_put(w, "%s%lu", i ? "," : ",\"bins\":[", (unsigned long)bins[i]);
  doc_put(w, "]}");
}

static void doc_array(document_writer *w, const char *name, const float *x, size_t n,
                      size_t most) {
  doc_put(w, ",\"%s\":", name);
  if (!x) doc_put(w, "null");
  else if (n > most) doc_summary(w, x, n);
  else doc_floats(w, x, n);
}

static void doc_value(document_writer *w, const syn_value *v, size_t most, size_t *spare) {
  size_t n = 1, more = 0;
  int i;
  for (i = 0; i < v->rank; i++) n *= (size_t)v->shape[i];
  for (i = 0; i < v->rank; i++) doc_put(w, "%s\"%s\"", i ? "," : "{\"axes\":[", v->axes[i]);
  for (i = 0; i < v->rank; i++) doc_put(w, "%s%d", i ? "," : "],\"shape\":[", v->shape[i]);
  doc_put(w, v->rank ? "]" : "{\"axes\":[],\"shape\":[]");
  if (n > most && n <= *spare) *spare -= more = n;
  doc_array(w, "x", v->x, n, more ? more : most);
  doc_array(w, "dx", v->dx, n, most);
  doc_put(w, "}");
}

/* -- tokens -- */

/* The text of a token; null without tokenizer. Words lose the space before them. */
static void doc_piece(document_writer *w, const syn_tokenizer *t, int id) {
  if (t) doc_text(w, syn_tokenizer_piece(t, id, !strcmp(syn_tokenizer_type(t), "space")));
  else doc_put(w, "null");
}

static int doc_is(const document_writer *w, const char *name) {
  const char *given = syn_model_config(w->m)->task;
  return given && strcmp(given, name) == 0;
}
static int doc_has_classes(const document_writer *w) {
  return doc_is(w, "classify") || doc_is(w, "tag");
}
/* What is added to the number of a class to get its token. */
static int doc_shift(const document_writer *w) {
  return !doc_has_classes(w) ? 0 : doc_is(w, "tag") ? SYN_FIRST_TOKEN - 1 : SYN_FIRST_TOKEN;
}

static int doc_is_space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }
static char doc_lower(char ch) { return ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) : ch; }

/* Moves *at behind the text of a token that the tokenizer knows, without regard to case and to
   spaces before it; 0: other text stands there. */
static int doc_pass(syn_text text, size_t *at, syn_text piece) {
  size_t i, from = *at, first = 0;
  while (from < text.size && doc_is_space(text.at[from])) from++;
  while (first < piece.size && doc_is_space(piece.at[first])) first++;
  if (piece.size - first > text.size - from) return 0;
  for (i = first; i < piece.size; i++)
    if (doc_lower(text.at[from + i - first]) != doc_lower(piece.at[i])) return 0;
  *at = from + piece.size - first;
  return 1;
}
/* The text of an unknown token at *at, which moves behind it: a word, or a character. */
static syn_text doc_unknown(syn_text text, size_t *at, int words) {
  size_t from;
  while (*at < text.size && words && doc_is_space(text.at[*at])) ++*at;
  from = *at;
  if (*at < text.size) syn_text_next(text, at);
  while (words && *at < text.size && !doc_is_space(text.at[*at])) ++*at;
  text.at += from;
  text.size = *at - from;
  return text;
}

/* own: the text that the tokens were made of, or empty. */
static void doc_ids(document_writer *w, const char *name, int side, const int *ids, int count,
                    int shift, syn_text own) {
  const syn_tokenizer *t = syn_model_tokenizer(w->m, side);
  const int words = t && !strncmp(syn_tokenizer_type(t), "space", 5);
  size_t at = 0;
  int i;
  doc_put(w, "\"%s\":", name);
  if (!ids || count < 1) doc_put(w, "null");
  for (i = 0; ids && i < count; i++) {
    doc_put(w, "%s[%d,", i ? "," : "[", ids[i]);
    if (ids[i] == SYN_UNKNOWN && at < own.size && t) doc_text(w, doc_unknown(own, &at, words));
    else doc_piece(w, t, ids[i] + shift);
    if (ids[i] >= SYN_FIRST_TOKEN && !doc_pass(own, &at, syn_tokenizer_piece(t, ids[i], words)))
      own.size = 0; /* lost: the tokens that follow are not found either */
    doc_put(w, i + 1 < count ? "]" : "]]");
  }
}

static void doc_tokens(document_writer *w) {
  static const char *const names[] = {"source", "target", "labels"};
  const syn_text none = {NULL, 0};
  int k, count;
  doc_put(w, ",\"tokens\":{");
  for (k = 0; k < 3; k++) {
    const int *ids = w->r ? syn_run_tokens(w->r, k, w->sentence, &count) : NULL;
    const int shift = k < 2 ? 0 : doc_shift(w);
    doc_ids(w, names[k], k > 0, ids, ids ? count : 0, shift, shift ? none : w->texts[k > 0]);
    doc_put(w, k < 2 ? "," : "}");
  }
}

/* The class behind `last` in the order of falling logits, of equal ones the first; -1: none. */
static int doc_next_class(const float *z, int width, int last) {
  int i, best = -1;
  for (i = 0; i < width; i++) {
    if (last >= 0 && (z[i] > z[last] || (z[i] == z[last] && i <= last))) continue;
    if (best < 0 || z[i] > z[best]) best = i;
  }
  return best;
}

/* Mean of -log p of the labels, p = softmax of the rows of logits z [rows, classes]. */
static double doc_cross_entropy(document_writer *w, const float *z, int width) {
  const int none = doc_is(w, "classify") ? -1 : SYN_PAD; /* this label does not count */
  int rows, i, j, count = 0;
  const int *labels = syn_run_tokens(w->r, 2, w->sentence, &rows);
  double loss = 0.0;
  for (i = 0; labels && i < rows; i++, z += width) {
    double sum = 0.0, top = (double)z[0];
    if (labels[i] == none || labels[i] < 0 || labels[i] >= width) continue;
    for (j = 1; j < width; j++) top = (double)z[j] > top ? (double)z[j] : top;
    for (j = 0; j < width; j++) sum += exp((double)z[j] - top);
    loss += log(sum) + top - (double)z[labels[i]];
    count++;
  }
  return count ? loss / count : 0.0;
}
static void doc_passes(document_writer *w, const float *z, int width) {
  const int done = w->loss && z && *w->loss - *w->loss == 0.0f;
  double plain = done ? doc_cross_entropy(w, z, width) : 0.0;
  doc_put(w, ",\"passes\":{");
  if (done) doc_number(w, "\"loss\":", (double)*w->loss);
  else doc_put(w, "\"loss\":null");
  doc_number(w, ",\"smoothing\":", (double)syn_model_config(w->m)->label_smoothing);
  if (done && width && plain - plain == 0.0) doc_number(w, ",\"cross_entropy\":", plain);
  else doc_put(w, ",\"cross_entropy\":null");
  doc_put(w, ",\"own\":%s}", w->own ? "true" : "false");
}

/* The most probable classes of each row of logits z [rows, classes]. */
static void doc_top(document_writer *w, const float *z, int rows, int width) {
  int i, k, rank;
  doc_put(w, ",\"top\":%s", z ? "[" : "null");
  for (i = 0; z && i < rows; i++, z += width) {
    int top = k = doc_next_class(z, width, -1);
    double sum = 0.0;
    for (rank = 0; rank < width && top >= 0; rank++)
      sum += exp((double)z[rank] - (double)z[top]);
    doc_put(w, i ? ",[" : "[");
    for (rank = 0; rank < 5 && k >= 0; rank++, k = doc_next_class(z, width, k)) {
      double p = exp((double)z[k] - (double)z[top]) / sum;
      doc_put(w, "%s[%d,", rank ? "," : "", k);
      doc_piece(w, syn_model_tokenizer(w->m, SYN_TGT), k + doc_shift(w));
      doc_number(w, ",", p >= 0.0 ? p : 0.0); /* of logits that are no numbers: 0 */
      doc_put(w, "]");
    }
    doc_put(w, "]");
  }
  doc_put(w, z ? "]" : "");
}

/* The texts of all classes, where they are few. */
static void doc_vocabulary(document_writer *w, int width) {
  const syn_tokenizer *t = width <= 1024 ? syn_model_tokenizer(w->m, SYN_TGT) : NULL;
  int i;
  doc_put(w, ",\"vocabulary\":%s", t ? "[" : "null");
  for (i = 0; t && i < width; i++) {
    doc_put(w, i ? "," : "");
    doc_piece(w, t, i + doc_shift(w));
  }
  doc_put(w, t ? "]" : "");
}

/* -- the network -- */

/* What a node keeps of the last pass: its output, its parts, its attention weights. */
static void doc_part(document_writer *w, const syn_node *n, const char *part) {
  size_t none = 0;
  syn_value v;
  memset(&v, 0, sizeof v);
  if (w->r) syn_run_node(w->r, n, part, w->sentence, &v);
  doc_value(w, &v, w->values, &none);
}
static void doc_node_values(document_writer *w, const syn_node *n) {
  int i;
  doc_put(w, ",\"value\":");
  doc_part(w, n, NULL);
  doc_put(w, ",\"parts\":{");
  for (i = 0; i <= n->n_part; i++) {
    const char *part = i < n->n_part ? n->part[i].name : n->seen_heads ? "weights" : NULL;
    if (!part) continue;
    doc_put(w, i ? "," : "");
    doc_text(w, syn_text_of(part));
    doc_put(w, ":");
    doc_part(w, n, part);
  }
  doc_put(w, "}}");
}

static void doc_node(document_writer *w, const syn_node *n) {
  int i, stream, width;
  doc_put(w, n->id ? ",\n{" : "\n{");
  doc_field(w, "path", n->path);
  doc_put(w, ",");
  doc_field(w, "kind", n->kind->name);
  doc_put(w, ",\"place\":%d,\"in\":[", n->place);
  for (i = 0; i < n->n_in; i++)
    doc_put(w, "%s%d", i ? "," : "", syn_model_maker(w->m, n->in[i], NULL, NULL));
  syn_model_maker(w->m, n->out, &stream, &width);
  doc_put(w, "],\"feedback\":%d,\"stream\":\"%s\",\"width\":%d,\"heads\":%d,\"params\":[",
          n->recurrence ? syn_model_maker(w->m, SYN_FEEDBACK, NULL, NULL) : -1,
          stream == SYN_SRC ? "source" : stream == SYN_TGT ? "target" : "sentence", width,
          n->seen_heads);
  for (i = 0; i < n->n_param; i++) doc_put(w, "%s%d", i ? "," : "", n->param[i]);
  doc_put(w, "]");
  doc_node_values(w, n);
}

static void doc_param(document_writer *w, const syn_param *p) {
  syn_value v;
  int i;
  memset(&v, 0, sizeof v);
  v.rank = p->rank;
  v.x = p->x;
  for (i = 0; i < p->rank; i++) {
    v.axes[i] = !p->matrix ? "unit" : i ? "input" : "output";
    v.shape[i] = p->shape[i];
  }
  if (w->loss && p->x) syn_run_value(w->r, p->name, 0, &v); /* with its gradient */
  doc_put(w, "{");
  doc_field(w, "name", p->name);
  doc_put(w, ",\"trained\":%d,\"value\":", p->trained);
  doc_value(w, &v, w->weights, &w->spare);
  doc_put(w, "}");
}

/* The layer that could not be built. */
static void doc_error(document_writer *w) {
  const syn_fault *f = w->fault;
  doc_put(w, ",\n\"error\":{");
  doc_field(w, "message", w->message);
  doc_put(w, ",");
  doc_field(w, "path", f->path);
  doc_put(w, ",\"name\":");
  doc_text(w, f->name);
  doc_put(w, ",\"place\":%d,\"in\":%d}", f->place, f->in);
}

static void doc_config_of(document_writer *w) {
  const syn_config *k = syn_model_config(w->m);
  const char *texts[2] = {k->encoder, k->decoder};
  int i;
  doc_put(w, "{");
  doc_field(w, "task", k->task);
  for (i = 0; i < 2; i++) {
    doc_put(w, ",");
    doc_field(w, i ? "decoder" : "encoder",
              texts[i] && !strncmp(texts[i], "\xEF\xBB\xBF", 3) ? texts[i] + 3 : texts[i]);
  }
  doc_put(w, ",\"config\":{\"d_model\":%d,\"heads\":%d,\"max_len\":%d,\"src_vocab\":%d,"
                 "\"tgt_vocab\":%d,\"classes\":%d,", k->d_model, k->heads, k->max_len,
                 k->src_vocab, k->tgt_vocab, k->classes);
  doc_field(w, "tie", k->tie);
  doc_put(w, "},\"limits\":{\"values\":%lu,\"weights\":%lu}", (unsigned long)w->values,
          (unsigned long)w->weights);
}

/* The whole document; w->m may be the part of a network before an error. */
static void doc_all(document_writer *w) {
  const syn_config *k = syn_model_config(w->m);
  const float *z = NULL;
  int width = doc_has_classes(w) ? k->classes : k->tgt_vocab, rows = 0;
  size_t i;
  w->ok = 1;
  doc_config_of(w);
  if (w->r) z = syn_run_logits(w->r, w->sentence, &rows);
  doc_passes(w, z, width);
  doc_tokens(w);
  doc_top(w, z, rows, width);
  doc_vocabulary(w, width);
  doc_put(w, ",\n\"nodes\":[");
  for (i = 0; i < syn_model_node_count(w->m); i++) doc_node(w, syn_model_node(w->m, i));
  doc_put(w, "],\n\"params\":[");
  for (i = 0; i < syn_model_param_count(w->m); i++) {
    doc_put(w, i ? ",\n" : "\n");
    doc_param(w, syn_model_param(w->m, i));
  }
  doc_put(w, "]");
  if (w->message) doc_error(w);
  else doc_put(w, ",\n\"error\":null");
  doc_put(w, "}\n");
}

static syn_status doc_write(document_writer *w, const syn_sink *sink) {
  if (!w->values) w->values = 32768;
  if (!w->weights) w->weights = 2048;
  w->sink = sink;
  doc_all(w);
  return w->ok ? SYN_OK : SYN_E_FILE;
}

static inline syn_status syn_trace(const syn_model *m, const syn_run *r, const syn_trace_config *k,
                                   const syn_sink *sink) {
  document_writer w;
  int count;
  memset(&w, 0, sizeof w);
  if (!m || !r || !sink || !sink->write) return SYN_E_VALUE;
  w.r = r;
  w.m = m;
  if (k) {
    w.sentence = k->sentence, w.values = k->values, w.weights = k->weights, w.loss = k->loss;
    w.spare = k->spare;
    w.texts[0] = k->source, w.texts[1] = k->target, w.own = k->own;
  }
  if (w.sentence && !syn_run_tokens(r, SYN_SRC, w.sentence, &count) &&
      !syn_run_tokens(r, SYN_TGT, w.sentence, &count))
    return SYN_E_VALUE;
  return doc_write(&w, sink);
}

static inline syn_status syn_trace_network(syn_context *c, const syn_config *config,
                                           const syn_sink *sink) {
  document_writer w;
  syn_fault fault;
  syn_model *m;
  syn_status status;
  memset(&w, 0, sizeof w);
  if (!sink || !sink->write) return SYN_E_VALUE;
  w.m = m = syn_model_outline(c, config, &fault);
  if (!m) return c->status;
  w.fault = &fault;
  w.message = c->status ? c->message : NULL;
  status = doc_write(&w, sink);
  syn_model_free(m);
  return status ? status : c->status;
}
#endif
