/* trace.h   the command trace: one HTML page of a run, for any browser.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* The page holds the documents of syn_trace as JSON and the viewer, trace.js. It works offline.
   Texts of the user stand in JSON strings alone, where syn_trace and put_quoted escape `<`. */
#include "trace_page.h"

typedef struct tracer {
  const arguments *a;
  syn_context c;
  syn_model *m[2];        /* --model, --compare */
  task of;
  buffer page;
  int documents, shown, cut; /* documents; sentences so far; lines that did not fit */
  int own;                   /* the target is what the model answers; it may have no end */
  encoder read[2];           /* the counts of tokens that --model read, by side */
} tracer;

static void put_format(buffer *b, const char *format, ...) PRINTF_LIKE(2, 3);
static void put_format(buffer *b, const char *format, ...) {
  char text[1000]; /* enough for numbers, fixed words and paths of layers */
  va_list args;
  int n;
  va_start(args, format);
  n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  put(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* Appends a JSON string for a page of HTML. */
static void put_quoted(buffer *b, syn_text t) {
  buffer json = {NULL, 0, 0};
  size_t i;
  put_json(&json, t);
  for (i = 0; i < json.size; i++)
    if (json.at[i] == '<') put(b, "\\u003c", 6);
    else put_byte(b, json.at[i]);
  free(json.at);
}

static size_t trace_write(void *user, const void *bytes, size_t size) {
  put((buffer *)user, (const char *)bytes, size);
  return size;
}

/* -- the loss curve, from what `syn train` printed -- */

typedef struct curve_point {
  double step, loss, valid; /* valid: NaN where there was no validation */
} curve_point;

typedef struct curve {
  curve_point *at; /* [count] */
  size_t count;
} curve;

/* Reads the number after a key, "\"loss\":" or "loss "; 0 when there is none. */
static int log_number(const char *line, const char *key, double *value) {
  char *end;
  const char *at = strstr(line, key);
  *value = (double)NAN;
  if (!at) return 0;
  at += strlen(key);
  *value = strtod(at, &end);
  return end > at && fabs(*value) < 1e30;
}

/* Parses a line of --json, or a plain one: "step 10  loss 2.1  valid 2.2  lr ...". */
static int log_line(const char *line, curve_point *p) {
  int json = line[0] == '{';
  if (!json && strncmp(line, "step ", 5) != 0) return 0;
  if (!log_number(line, json ? "\"step\":" : "step ", &p->step)) return 0;
  if (!log_number(line, json ? "\"loss\":" : "  loss ", &p->loss)) return 0;
  if (!log_number(line, json ? "\"valid\":" : "  valid ", &p->valid)) p->valid = (double)NAN;
  return 1;
}

/* Reads the log of a training. A carriage return, as on a terminal, ends a line, too. Other lines
   are skipped. Plain lines repeat the last validation, which counts once. */
static curve curve_read(const char *path) {
  buffer file = read_text(path);
  curve k;
  size_t i, most = 1;
  double last = (double)NAN;
  char *line;
  put_byte(&file, 0);
  for (i = 0; i < file.size; i++) {
    if (file.at[i] == '\n' || file.at[i] == '\r') file.at[i] = 0;
    most += !file.at[i];
  }
  k.at = (curve_point *)take(most, sizeof *k.at);
  k.count = 0;
  for (line = file.at; line < file.at + file.size; line += strlen(line) + 1) {
    curve_point *p = &k.at[k.count];
    if (!log_line(line, p)) continue;
    if (line[0] != '{' && p->valid == last) p->valid = (double)NAN;
    else last = p->valid;
    k.count++;
  }
  free(file.at);
  if (!k.count) fail(FAILED_JOB, "%s has no line that syn train prints", path);
  return k;
}

/* At most about 1000 points: no display shows more. */
static void trace_curve(tracer *t) {
  const char *path = opt_text(t->a, "log");
  size_t i, every;
  curve k = {NULL, 0};
  put_format(&t->page, "\"loss\":[");
  if (*path) k = curve_read(path);
  every = k.count / 1000 + 1;
  for (i = 0; i < k.count; i++) {
    const curve_point *p = &k.at[i];
    if (i % every && i + 1 < k.count && p->valid != p->valid) continue;
    put_format(&t->page, "%s[%.9g,%.9g,", i ? "," : "", p->step, p->loss);
    if (p->valid == p->valid) put_format(&t->page, "%.9g]", p->valid);
    else put_format(&t->page, "null]");
  }
  put_format(&t->page, "],\n");
  free(k.at);
}

/* -- pictures of attention maps -- */

/* The level of weight w of a map whose largest is `full`, from 0, white, to 16, black. */
static int svg_level(float w, float full) {
  return w > 0.0f && full > 0.0f ? (int)(w / full * 16.0f + 0.5f) : 0; /* NaN: white */
}
/* The squares of one level, those of a row beside each other as one rectangle. */
static void svg_squares(buffer *b, const float *w, const int size[2], float full, int level) {
  int i, j, begin;
  for (i = 0; i < size[0]; i++, w += size[1])
    for (j = 0; j < size[1]; j++) {
      for (begin = j; j < size[1] && svg_level(w[j], full) == level; j++) continue;
      if (j > begin) put_format(b, "M%d %dh%dv1H%dz", begin, i, j - begin, begin);
    }
}
/* Weights [size[0], size[1]] as an SVG picture in 17 levels of gray. */
static void trace_svg(buffer *b, const char *path, int head, const float *w, const int size[2],
                      int cell) {
  const float full = picture_largest(w, (size_t)size[0] * (size_t)size[1]);
  int level;
  put_format(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %d %d\" shape-rendering=\"crispEdges\">\n",
             (double)size[1] * cell, (double)size[0] * cell, size[1], size[0]);
  put_format(b, "<title>%s, head %d: attention weights, black is %.3g</title>\n", path, head + 1,
             (double)full);
  put_format(b, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", size[1], size[0]);
  for (level = 1; level <= 16; level++) {
    const int gray = 255 - (level * 255 + 8) / 16;
    const size_t before = b->size;
    size_t begin;
    put_format(b, "<path fill=\"#%02x%02x%02x\" d=\"", gray, gray, gray);
    begin = b->size;
    svg_squares(b, w, size, full, level);
    if (b->size > begin) put_format(b, "\"/>\n");
    else b->size = before; /* no weight has this level */
  }
  put_format(b, "</svg>\n");
}
static void trace_pgm(buffer *b, const float *w, const int size[2], int cell) {
  const size_t bytes = attention_picture(w, size, cell, 0.0f, NULL, 0);
  void *out = take(bytes, 1);
  attention_picture(w, size, cell, 0.0f, out, bytes);
  put(b, (const char *)out, bytes);
  free(out);
}

/* Writes a map as DIR/SENTENCE.LAYER.HEAD.FORMAT, for example DIR/1.encoder.1.0.0.1.2.pgm, where
   option --FORMAT names a folder. */
static void trace_picture(const tracer *t, const char *format, const char *path, int head,
                          const float *w, const int size[2]) {
  const char *folder = opt_text(t->a, format);
  const int cell = opt_int(t->a, "cell");
  buffer name = {NULL, 0, 0}, picture = {NULL, 0, 0};
  if (!*folder || size[0] < 1 || size[1] < 1) return;
  put(&name, folder, strlen(folder));
  put_format(&name, "/%d.%s.%d.%s", t->shown + 1, path, head + 1, format);
  put_byte(&name, 0);
  check_written(t->a, format, name.at);
  if (!strcmp(format, "pgm")) trace_pgm(&picture, w, size, cell);
  else trace_svg(&picture, path, head, w, size, cell);
  write_file(name.at, picture.at, picture.size);
  free(picture.at);
  free(name.at);
}

static void trace_pictures(const tracer *t, const syn_run *r) {
  int layer, head, heads, size[2];
  const char *path;
  if (!*opt_text(t->a, "pgm") && !*opt_text(t->a, "svg")) return;
  for (layer = 0; (path = syn_model_attention(t->m[0], layer, &heads)) != NULL; layer++)
    for (head = 0; head < heads; head++) {
      const float *w = syn_run_attention(r, layer, head, 0, size);
      if (!w) continue;
      trace_picture(t, "pgm", path, head, w, size);
      trace_picture(t, "svg", path, head, w, size);
    }
}

/* -- one sentence -- */

/* A growing array of token ids. */
typedef struct token_row {
  encoder e;
  int *ids;
  int count;
} token_row;
static void token_put(token_row *t, const int *ids, int count) {
  t->ids = (int *)grow(t->ids, (size_t)t->count + (size_t)count + 1, sizeof *t->ids);
  if (count) memcpy(t->ids + t->count, ids, (size_t)count * sizeof *ids);
  t->count += count;
}
static void token_text(token_row *t, task of, const syn_tokenizer *by, syn_text text) {
  int count = encode_task(&t->e, of, by, text);
  token_put(t, t->e.ids, count);
}


/* What the network reads and is to answer: tokens of the source, of the decoder, labels. */
typedef struct trace_rows {
  token_row row[3];
  number_list x[2]; /* instead of tokens: features of the source, with row[0].count rows; targets */
  syn_text text[2]; /* of the source, of the decoder */
} trace_rows;

static void rows_free(trace_rows *r) {
  int k;
  for (k = 0; k < 3; k++) free(r->row[k].ids), free(r->row[k].e.ids);
  for (k = 0; k < 2; k++) free(r->x[k].at);
}

/* The numbers of pair i of a model of signals, and those that it is to answer. */
static void trace_numbers(const tracer *t, const syn_config *k, const pairs *p, size_t i,
                          trace_rows *r) {
  const int rows = read_rows(&r->x[0], p->side[0][i], k->src_features, p->names[0], line_of(p, i));
  int n;
  r->row[0].count = rows;
  r->x[1].count = 0;
  if (t->of < REGRESS || !p->side[1][i].at) return;
  n = read_rows(&r->x[1], p->side[1][i], k->outputs, p->names[1], line_of(p, i));
  if (n != (t->of == REGRESS ? 1 : rows))
    fail(FAILED_JOB, "%s line %lu has %d rows of targets for %d rows of features", p->names[1],
         line_of(p, i), n, rows);
}

/* Makes the rows of pair i. The labels of a decoder are its input, one token later, and the end. */
static void trace_encode(const tracer *t, const syn_model *m, const pairs *p, size_t i,
                         trace_rows *r) {
  static const int begin = SYN_BEGIN, end = SYN_END;
  const syn_tokenizer *target = syn_model_tokenizer(m, SYN_TGT);
  int k;
  for (k = 0; k < 3; k++) r->row[k].count = 0;
  memset(r->text, 0, sizeof r->text);
  if (t->of < CLASSIFY) r->text[1] = first_alternative(p, i);
  if (syn_model_config(m)->src_features) trace_numbers(t, syn_model_config(m), p, i, r);
  else if (t->of != LM) r->text[0] = p->side[0][i];
  if (r->text[0].at) token_text(&r->row[0], t->of, syn_model_tokenizer(m, SYN_SRC), p->side[0][i]);
  k = r->row[0].count;
  if (r->text[0].at && (t->of == SEQ2SEQ || t->of == CLASSIFY)) token_put(&r->row[0], &end, 1);
  if (t->of >= CLASSIFY) {
    if (!target || !p->side[1][i].at || t->of == MLM) return;
    k = encode_labels(&r->row[2].e, p, i, target, k);
    token_put(&r->row[2], r->row[2].e.ids, k);
    return;
  }
  token_put(&r->row[1], &begin, 1);
  token_text(&r->row[1], t->of, target, r->text[1]);
  token_put(&r->row[2], r->row[1].ids + 1, r->row[1].count - 1);
  token_put(&r->row[2], &end, 1);
}

/* How many numbers of parameters above --weights still fit a page of 1 MB, so that the sums of the
   first layers have all their operands. A page of several documents has none. */
static size_t trace_spare(const tracer *t, const syn_run *r, const syn_trace_config *config) {
  const size_t most = 998000; /* the rest is for titles and tags */
  buffer probe = {NULL, 0, 0};
  syn_sink sink = {trace_write, &probe};
  size_t size = t->page.size, i;
  if (t->m[1] || opt_given(t->a, "input2") || opt_int(t->a, "count") > 1 ||
      opt_given(t->a, "weights") || t->documents)
    return 0;
  for (i = 0; i < COUNT(trace_page); i++) size += strlen(trace_page[i]);
  syn_trace(t->m[0], r, config, &sink);
  size += probe.size;
  free(probe.at);
  return size < most ? (most - size) / 16 * 3 : 0; /* 3 numbers are 16 characters */
}

/* Runs model k over the rows, backward too where there are labels, and writes the document. Of
   further runs of a model the parameters are written as summaries: they were there before. */
static void trace_run(tracer *t, int k, const trace_rows *rows, syn_text title) {
  const token_row *row = rows->row;
  syn_sink sink = {trace_write, &t->page};
  syn_trace_config config;
  syn_limits limits;
  syn_batch b;
  syn_run *r;
  float loss;
  memset(&limits, 0, sizeof limits);
  memset(&b, 0, sizeof b);
  memset(&config, 0, sizeof config);
  limits.sentences = b.count = limits.keep = 1;
  limits.src_rows = limits.tgt_rows = limits.length = larger(row[0].count, row[1].count);
  if (rows->x[0].count) b.features = rows->x[0].at, b.lengths = &row[0].count;
  else if (row[0].count) b.src = row[0].ids;
  b.src_width = row[0].count;
  if (rows->x[1].count) b.targets = rows->x[1].at;
  if (row[1].count) b.tgt = row[1].ids, b.tgt_width = row[1].count;
  if (row[2].count) b.labels = row[2].ids;
  r = syn_run_new(&t->c, t->m[k], &limits);
  if (b.labels && t->of == CLASSIFY && row[2].count != 1) b.labels = NULL;
  config.loss = b.labels || b.targets ? &loss : NULL;
  if (config.loss) syn_run_backward(r, &b, &loss);
  else syn_run_forward(r, &b);
  check(&t->c);
  config.source = rows->text[0], config.target = rows->text[1], config.own = t->own;
  config.values = (size_t)opt_int(t->a, "values");
  config.weights = t->shown ? 1 : (size_t)opt_int(t->a, "weights");
  config.spare = trace_spare(t, r, &config);
  put_format(&t->page, "%s{\"title\":", t->documents ? "," : "");
  put_quoted(&t->page, title);
  put_format(&t->page, ",\"data\":");
  syn_trace(t->m[k], r, &config, &sink);
  check(&t->c);
  put_byte(&t->page, '}');
  if (!k) trace_pictures(t, r);
  syn_run_free(r);
  t->documents++;
}

/* The longest side of the rows, in tokens. */
static int rows_longest(const trace_rows *r) { return larger(r->row[0].count, r->row[1].count); }

/* Adds the counts of the rows to those of all lines. */
static void trace_count(tracer *t, const trace_rows *r) {
  int side;
  for (side = 0; side < 2; side++) {
    t->read[side].tokens += r->row[side].e.tokens;
    t->read[side].unknown += r->row[side].e.unknown;
  }
}

/* Says how many tokens of the texts are unknown to the model. */
static void trace_unknown(const tracer *t) {
  const char *data = opt_text(t->a, "data");
  const char *path = opt_given(t->a, "input") ? "--input" : *data ? data : "--src";
  say_unknown(&t->read[0], path, t->of == SEQ2SEQ ? "source " : "", UNKNOWN_TO_MODEL);
  say_unknown(&t->read[1], t->own ? "the answer" : path, t->of == SEQ2SEQ ? "target " : "",
              UNKNOWN_TO_MODEL);
}

/* Shows pair i with each model. A line that is too long is counted and left out; of lm, and of what
   the model answers, the beginning is shown. */
static void trace_line(tracer *t, const pairs *p, size_t i, const char *title) {
  trace_rows rows;
  buffer name = {NULL, 0, 0};
  int k, most;
  memset(&rows, 0, sizeof rows);
  for (k = 0; k < 2 && t->m[k]; k++) {
    most = syn_model_config(t->m[k])->max_len;
    trace_encode(t, t->m[k], p, i, &rows);
    if (rows_longest(&rows) > most && !k) t->cut++;
    if (!rows_longest(&rows)) break;
    if (rows.row[0].count > most || (rows_longest(&rows) > most && t->of != LM && !t->own)) break;
    if (!k) trace_count(t, &rows);
    if (rows.row[1].count > most) rows.row[1].count = rows.row[2].count = most;
    name.size = 0;
    put_format(&name, "%s", title);
    if (t->m[1]) put_format(&name, "%s%s", *title ? ", " : "",
                            opt_text(t->a, k ? "compare" : "model"));
    trace_run(t, k, &rows, buffer_text(&name));
  }
  t->shown += k > 0;
  rows_free(&rows);
  free(name.at);
}

/* -- which sentences -- */

/* Reads the sentences; none without --data. lm: each line of the text is a target. */
static pairs trace_pairs(const tracer *t) {
  static const char *const names[] = {"data", "src", "tgt"};
  pairs pair;
  if (t->of != LM) {
    pairs_read(&pair, t->of, t->a, names, syn_model_config(t->m[0])->src_features,
               model_form(t->m[0]) & COMPOSE);
    return pair;
  }
  check_one_file(t->a, "lm");
  memset(&pair, 0, sizeof pair);
  pair.of = LM;
  pair.names[0] = opt_text(t->a, "data");
  if (!*pair.names[0]) return pair;
  pair.files[0] = lines_of(read_data(pair.names[0], 0));
  pair.count = pair.files[0].count;
  pair.side[0] = (syn_text *)take(pair.count, sizeof(syn_text));
  pair.side[1] = (syn_text *)take(pair.count, sizeof(syn_text));
  memcpy(pair.side[1], pair.files[0].at, pair.count * sizeof(syn_text));
  return pair;
}

static void trace_file(tracer *t) {
  int wanted = opt_int(t->a, "count");
  pairs pair = trace_pairs(t);
  char title[40];
  size_t i;
  if (!pair.count) return;
  for (i = 0; i < pair.count && t->shown < wanted; i++) {
    snprintf(title, sizeof title, "line %lu", (unsigned long)i + 1);
    if (t->of != LM || pair.side[1][i].size) trace_line(t, &pair, i, title);
  }
  if (!t->shown)
    fail(FAILED_JOB, "no line of %s fits the model's max_len %d", pair.names[0],
         syn_model_config(t->m[0])->max_len);
  if (t->cut)
    fprintf(stderr, "syn: %d of %lu lines do not fit the model's max_len %d: %s\n", t->cut,
            (unsigned long)i, syn_model_config(t->m[0])->max_len,
            t->of == LM ? "only their beginning is shown" : "they are left out");
  pairs_free(&pair);
}

/* Refuses a source with more tokens than the model takes. */
static void trace_fits(const tracer *t, const char *input, syn_text source) {
  int most = syn_model_config(t->m[0])->max_len, count;
  encoder e;
  memset(&e, 0, sizeof e);
  count = encode_task(&e, t->of, syn_model_tokenizer(t->m[0], SYN_SRC), source);
  free(e.ids);
  if (count + has_end(t->of) > most)
    fail(FAILED_JOB, "--%s does not fit the model's max_len %d: %.*s", input, most,
         short_size(source), source.at);
}

/* What the model answers to the source; the caller frees it. */
static char *trace_answer(tracer *t, syn_text source) {
  syn_decoder *d = syn_decoder_new(&t->c, t->m[0], NULL);
  size_t size;
  char *out;
  syn_decoder_run_text(d, source, syn_text_of(""), NULL, NULL);
  check(&t->c);
  size = syn_decoder_output_text(d, 0, 0, NULL, 0, NULL);
  out = (char *)take(size + 1, 1);
  syn_decoder_output_text(d, 0, 0, out, size + 1, NULL);
  syn_decoder_free(d);
  return out;
}

/* The pair of --input and --target, or of --input2 and --target2. Without a target that of seq2seq
   is what the model answers; classify and tag then have no labels, and no gradients. */
static void trace_input(tracer *t, const char *input, const char *target) {
  syn_text source = syn_text_of(opt_text(t->a, input));
  syn_text wanted = syn_text_of(opt_text(t->a, target));
  char *answer = NULL;
  int most = syn_model_config(t->m[0])->max_len;
  pairs p;
  if (!opt_given(t->a, input)) return;
  if (t->of == LM && opt_given(t->a, target))
    fail(WRONG_USE, "%s of lm reads --%s alone, given: --%s", t->a->command->name, input, target);
  memset(&p, 0, sizeof p);
  p.of = t->of;
  p.count = 1;
  p.names[0] = input;
  p.names[1] = target;
  if (t->of == SEQ2SEQ && !opt_given(t->a, target)) {
    if (syn_model_config(t->m[0])->src_features)
      fail(WRONG_USE, "%s of a model of features wants --%s: it decodes texts alone",
           t->a->command->name, target);
    trace_fits(t, input, source);
    answer = trace_answer(t, source);
    wanted = syn_text_of(answer);
    t->own = 1;
  }
  if (t->of >= CLASSIFY && !opt_given(t->a, target)) wanted.at = NULL;
  if (t->of == LM) wanted = source;
  p.side[0] = &source;
  p.side[1] = &wanted;
  trace_line(t, &p, 0, source.at);
  if (t->cut && t->own)
    fprintf(stderr, "syn: the model's answer to --%s has no end within its max_len %d: its first "
            "tokens are shown\n", input, most);
  else if (t->cut && t->of != LM)
    fail(FAILED_JOB, "--%s does not fit the model's max_len %d: %.*s", input, most,
         short_size(source), source.at);
  if (t->own) t->cut = t->own = 0;
  free(answer);
}

/* -- the page -- */

/* A network from its options: without values, and up to the error where it does not build. */
static void trace_network(tracer *t) {
  syn_sink sink = {trace_write, &t->page};
  network n = network_of(t->a);
  n.config.src_vocab = opt_int(t->a, "src-vocab");
  n.config.tgt_vocab = opt_int(t->a, "tgt-vocab");
  n.config.classes = opt_int(t->a, "classes");
  put_format(&t->page, "{\"title\":\"\",\"data\":");
  if (syn_trace_network(&t->c, &n.config, &sink)) fprintf(stderr, "syn: %s\n", t->c.message);
  put_format(&t->page, "}");
  network_free(&n);
}

/* A model without sentences: a run without a pass. */
static void trace_model(tracer *t) {
  syn_limits limits;
  syn_trace_config config;
  syn_sink sink = {trace_write, &t->page};
  syn_run *r;
  memset(&limits, 0, sizeof limits);
  memset(&config, 0, sizeof config);
  limits.src_rows = 1;
  limits.length = 1;
  config.weights = (size_t)opt_int(t->a, "weights");
  r = syn_run_new(&t->c, t->m[0], &limits);
  config.spare = trace_spare(t, r, &config);
  put_format(&t->page, "{\"title\":\"\",\"data\":");
  syn_trace(t->m[0], r, &config, &sink);
  check(&t->c);
  put_format(&t->page, "}");
  syn_run_free(r);
}

/* Documents that a program of the user wrote with syn_trace. */
static void trace_documents(tracer *t) {
  const char *path;
  int k;
  for (k = 0; (path = opt_each(t->a, "document", k)) != NULL; k++) {
    buffer file = read_text(path);
    if (file.at[0] != '{' || memchr(file.at, '<', file.size))
      fail(FAILED_JOB, "%s is no document of syn_trace", path);
    put_format(&t->page, "%s{\"title\":", t->documents++ ? "," : "");
    put_quoted(&t->page, syn_text_of(path));
    put_format(&t->page, ",\"data\":");
    put(&t->page, file.at, file.size);
    put_byte(&t->page, '}');
    free(file.at);
  }
}

/* Loads the models; refuses options that need one, or that contradict it. */
static void trace_open(tracer *t) {
  static const char *const names[] = {"model", "compare"};
  int k;
  for (k = 0; k < 2; k++) {
    const char *path = opt_text(t->a, names[k]);
    if (!*path) continue;
    if (k && !t->m[0]) fail(WRONG_USE, "--compare wants --model");
    t->m[k] = syn_model_load(&t->c, path);
    check_file(&t->c, path);
  }
  if (!t->m[0]) return;
  info_alone(t->a);
  t->of = task_of(syn_model_config(t->m[0])->task);
  if (t->m[1] && task_of(syn_model_config(t->m[1])->task) != t->of)
    fail(FAILED_JOB, "%s is for %s, %s for %s: two models of one task are wanted",
         opt_text(t->a, "model"), syn_model_config(t->m[0])->task, opt_text(t->a, "compare"),
         syn_model_config(t->m[1])->task);
  if (!opt_given(t->a, "input") && !*opt_text(t->a, "data") && !*opt_text(t->a, "src")) return;
  for (k = 0; k < 2 * (t->m[1] ? 2 : 1); k++)
    if ((k % 2 || (t->of != LM && !syn_model_config(t->m[k / 2])->src_features)) &&
        (!(k % 2) || t->of < CLASSIFY) &&
        !syn_model_tokenizer(t->m[k / 2], k % 2 ? SYN_TGT : SYN_SRC))
      fail(FAILED_JOB, "%s has no tokenizer, so it cannot read text",
           opt_text(t->a, names[k / 2]));
}

/* The head of the page, the data, the viewer, the call. The icon keeps browsers from looking for
   one. */
static void trace_page_of(tracer *t) {
  size_t i;
  put_format(&t->page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
             "<link rel=\"icon\" href=\"data:,\"><title>syn trace</title>\n"
             "<style>body{margin:0;background:#f7f7f5;color:#1b2430}"
             "h1{font:600 20px system-ui,sans-serif;margin:12px 12px 0}"
             "@media(prefers-color-scheme:dark){body{background:#101419;color:#e7ebf0}}</style></head>\n"
             "<body><main><h1>What a network computes</h1>\n<div id=\"trace\"><noscript>A script in "
             "this page draws it.</noscript></div></main>\n<script id=\"data\" type=\"application/json\">{");
  trace_curve(t);
  put_format(&t->page, "\"beside\":%s,\"documents\":[",
             t->m[1] || opt_given(t->a, "input2") || opt_each(t->a, "document", 1) ? "true"
                                                                                   : "false");
  trace_documents(t);
  if (!t->m[0] && !t->documents) trace_network(t);
  if (t->m[0]) {
    trace_input(t, "input", "target");
    trace_input(t, "input2", "target2");
    trace_file(t);
    trace_unknown(t);
    if (!t->documents) trace_model(t);
  }
  put_format(&t->page, "]}</script>\n<script>\n");
  for (i = 0; i < COUNT(trace_page); i++) put(&t->page, trace_page[i], strlen(trace_page[i]));
  put_format(&t->page, "traceView(document.getElementById('trace'),\n"
             "  JSON.parse(document.getElementById('data').textContent));\n"
             /* for the arrow keys */
             "document.querySelector('.tv').focus({preventScroll: true});\n"
             "</script>\n</body></html>\n");
}

/* Says which options do nothing without others. */
static void trace_say_idle(const arguments *a) {
  int text = *opt_text(a, "data") || *opt_text(a, "src");
  if (!*opt_text(a, "model"))
    say_idle(a, "input|target|input2|target2|data|src|tgt", "there is no --model");
  else if (!opt_given(a, "input")) say_idle(a, "target", "there is no --input");
  if (*opt_text(a, "model") && !opt_given(a, "input2"))
    say_idle(a, "target2", "there is no --input2");
  if (!text) say_idle(a, "count|alternatives", "there is no --data");
  if (!*opt_text(a, "pgm") && !*opt_text(a, "svg"))
    say_idle(a, "cell", "there is no --pgm and no --svg");
}

static int run_trace(const arguments *a) {
  tracer t;
  int heads;
  memset(&t, 0, sizeof t);
  t.a = a;
  context_open(&t.c, a);
  trace_say_idle(a);
  trace_open(&t);
  trace_page_of(&t);
  if (!t.shown) say_idle(a, "pgm|svg", "there is no text, by --input or --data");
  else if (!syn_model_attention(t.m[0], 0, &heads))
    say_idle(a, "pgm|svg", "the network has no attention");
  write_file(opt_text(a, "output"), t.page.at, t.page.size);
  free(t.page.at);
  syn_model_free(t.m[0]);
  syn_model_free(t.m[1]);
  return 0;
}
