/* look.h   the second half of web.c: answers, attention, files of the network in training */

/* -- pairs of the test -- */

/* How many pairs are tested; 1: the network never learns them; one of them as text. side 0: source,
   1: target. */
EXPORT(page_tests) int page_tests(void) { return page.texts.count - pairs_test(&page.texts); }
EXPORT(page_unseen) int page_unseen(void) { return page.texts.train < page.texts.count; }
EXPORT(page_pair) const char *page_pair(int i, int side) {
  const pairs *p = &page.texts;
  i += pairs_test(p);
  return i >= 0 && i < p->count ? (side ? p->target : p->source)[i].at : "";
}

/* -- answers -- */

static syn_decoder *page_decoder(int sentences, int greedy) {
  syn_decode_config k;
  memset(&k, 0, sizeof k);
  k.sentences = sentences;
  if (!greedy) {
    k.beam = k.best = (int)number(BEAM);
    k.temperature = (float)number(TEMPERATURE), k.top_k = (int)number(TOP_K);
    k.seed = (uint64_t)number(DRAW);
  }
  if (!page.m) page_fail("there is no network");
  return page.m ? syn_decoder_new(&page.c, page.m, &k) : NULL;
}

/* Writes the outputs of the decoder for the first sentence: a line for each, score TAB 1 where it
   ended TAB text. */
static void page_outputs(const syn_decoder *d) {
  syn_sink sink = page_sink();
  char line[1024], numbers_of[64];
  const int *tokens;
  float points;
  int rank, size;
  for (rank = 0; (tokens = syn_decoder_output(d, 0, rank, &size, NULL)) != NULL; rank++) {
    syn_decoder_output_text(d, 0, rank, line, sizeof line, &points);
    snprintf(numbers_of, sizeof numbers_of, "%.4f\t%d\t", (double)points,
             size > 0 && tokens[size - 1] == SYN_END);
    sink.write(NULL, numbers_of, strlen(numbers_of));
    sink.write(NULL, line, strlen(line));
    sink.write(NULL, "\n", 1);
  }
}
/* The answers to the text of the call by beam, temperature, top_k and draw, of at most `limit`
   tokens; 0: as many as the network can write. Null: an error. */
EXPORT(page_answer) const char *page_answer(int limit) {
  syn_decoder *d = page_decoder(1, 0);
  if (!d) return page_done(), (const char *)NULL;
  syn_decoder_set_limit(d, limit);
  syn_decoder_run_text(d, syn_text_of(page.in), syn_text_of(""), NULL, NULL);
  page_outputs(d);
  syn_decoder_free(d);
  return page_done() ? page.out : NULL;
}

/* One batch of sources: the pairs first .. first+count-1 of the test, as tokens with their end. */
static int *page_sources(int first, int count, int width) {
  const syn_tokenizer *t = syn_model_tokenizer(page.m, SYN_SRC);
  int *tokens = (int *)calloc((size_t)count * (size_t)width, sizeof *tokens), i, n;
  for (i = 0; tokens && i < count; i++) {
    syn_text source = page.texts.source[pairs_test(&page.texts) + first + i];
    n = syn_tokenizer_encode(t, source, tokens + i * width, width - 1);
    tokens[i * width + (n < width - 1 ? n : width - 1)] = SYN_END;
  }
  return tokens;
}
/* How many of the pairs first .. first+count-1 of the test are answered exactly, greedily; one
   answer on each line of page_bytes. */
EXPORT(page_score) int page_score(int first, int count) {
  syn_sink sink = page_sink();
  syn_decoder *d = page_decoder(count, 1);
  syn_batch batch;
  char line[1024];
  int *tokens = d ? page_sources(first, count, page.longest + 1) : NULL, i, right = 0;
  memset(&batch, 0, sizeof batch);
  batch.count = count, batch.src = tokens, batch.src_width = page.longest + 1;
  if (tokens) syn_decoder_run(d, &batch, NULL, NULL);
  for (i = 0; tokens && i < count; i++) {
    syn_decoder_output_text(d, i, 0, line, sizeof line, NULL);
    right += !strcmp(line, page_pair(first + i, 1));
    sink.write(NULL, line, strlen(line));
    sink.write(NULL, "\n", 1);
  }
  free(tokens);
  syn_decoder_free(d);
  return page_done() ? right : -1;
}

/* -- attention -- */

/* A forward pass over the text of the call, "source TAB target". 0: an error. */
EXPORT(page_look) int page_look(void) {
  char *target = strchr(page.in, '\t');
  syn_limits limits;
  if (!page.m || !target) return page_fail("wanted: source TAB target");
  *target++ = 0;
  memset(&limits, 0, sizeof limits);
  limits.cut = SYN_CUT_TAIL; /* of an answer without an end */
  if (!page.run) page.run = syn_run_new(&page.c, page.m, &limits);
  syn_run_text(page.run, syn_text_of(page.in), syn_text_of(target));
  return page_done();
}
/* The place in the text of attention layer i, "decoder.1.0.1.1"; "": no such. */
EXPORT(page_layer) const char *page_layer(int i) {
  int heads;
  const char *path = page.m ? syn_model_attention(page.m, i, &heads) : NULL;
  return path ? path : "";
}
EXPORT(page_heads) int page_heads(int i) {
  int heads = 0;
  return page.m && syn_model_attention(page.m, i, &heads) ? heads : 0;
}
/* The kind of its layer: "syn_att", "mh_dot_src_att" ... */
EXPORT(page_kind) const char *page_kind(int i) {
  const char *path = page_layer(i);
  const syn_node *n;
  size_t k;
  for (k = 0; (n = syn_model_node(page.m, k)) != NULL; k++)
    if (n->seen_heads && !strcmp(n->path, path)) return n->kind->name;
  return "";
}
/* The attention weights [page_queries, page_keys] of the last page_look; null: none. */
EXPORT(page_attention) const float *page_attention(int layer, int head) {
  page.shape[0] = page.shape[1] = 0;
  return page.run ? syn_run_attention(page.run, layer, head, 0, page.shape) : NULL;
}
EXPORT(page_queries) int page_queries(void) { return page.shape[0]; }
EXPORT(page_keys) int page_keys(void) { return page.shape[1]; }
/* The table of an attention layer that no input changes, [heads, N, N] with N = page_keys: what R
   learns, or Fix keeps. Null: it has none. */
EXPORT(page_table) const float *page_table(int layer) {
  const char *path = page_layer(layer);
  size_t i, size = strlen(path);
  page.shape[0] = page.shape[1] = 0;
  for (i = 0; *path && i < syn_model_param_count(page.m); i++) {
    const syn_param *p = syn_model_param(page.m, i);
    if (p->rank != 3 || strncmp(p->name, path, size)) continue;
    if (strcmp(p->name + size, ".r") && strcmp(p->name + size, ".fix")) continue;
    page.shape[0] = p->shape[1], page.shape[1] = p->shape[2];
    return p->x;
  }
  return NULL;
}
/* A token as text; those without a text of their own by their name. */
static const char *page_token(const syn_tokenizer *t, int id, char out[128]) {
  static const char *const names[] = {"<padding>", "<unknown>", "<begin>", "<end>"};
  syn_text piece;
  if (id < 4) return names[id];
  piece = syn_tokenizer_piece(t, id, 1);
  snprintf(out, 128, "%.*s", piece.size < 127 ? (int)piece.size : 127, piece.at);
  return out;
}
/* The tokens of the text of the call, a line for each. side 0: of a source, 1: of a target. */
EXPORT(page_tokens) const char *page_tokens(int side) {
  const syn_tokenizer *t = page.m ? syn_model_tokenizer(page.m, side ? SYN_TGT : SYN_SRC) : NULL;
  syn_sink sink = page_sink();
  char out[128];
  int ids[256], i, n = t ? syn_tokenizer_encode(t, syn_text_of(page.in), ids, 256) : 0;
  for (i = 0; i < n && i < 256; i++) {
    const char *token = page_token(t, ids[i], out);
    sink.write(NULL, token, strlen(token));
    sink.write(NULL, "\n", 1);
  }
  return n ? page.out : "";
}
/* The five most probable tokens at each place of the last page_look, a line for each: place TAB
   probability TAB token. */
EXPORT(page_next) const char *page_next(void) {
  const syn_tokenizer *t = page.m ? syn_model_tokenizer(page.m, SYN_TGT) : NULL;
  syn_sink sink = page_sink();
  char out[128], line[192];
  int rows = 0, row, rank, id, i, width = page.vocabulary[1];
  const float *z = page.run ? syn_run_logits(page.run, 0, &rows) : NULL;
  for (row = 0; t && row < rows; row++, z += width)
    for (rank = 0, id = -1; rank < 5; rank++) {
      double sum = 0;
      id = doc_next_class(z, width, id);
      if (id < 0) break;
      for (i = 0; i < width; i++) sum += exp((double)z[i] - (double)z[id]);
      snprintf(line, sizeof line, "%d\t%.4f\t%s\n", row, 1 / sum, page_token(t, id, out));
      sink.write(NULL, line, strlen(line));
    }
  return page.out ? page.out : "";
}

/* -- files: bytes at page_bytes, page_size of them. 0: an error -- */

EXPORT(page_safetensors) int page_safetensors(void) {
  syn_sink sink = page_sink();
  if (!page.m) return page_fail("there is no network");
  syn_model_save_to(&page.c, page.m, &sink);
  return page_done();
}
/* The header of a small model for a board: the array dates_model, with its tokenizers. */
EXPORT(page_array) int page_array(void) {
  syn_sink sink = page_sink();
  syn_small_options options;
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  if (!page.m) return page_fail("there is no network");
  syn_small_embed(&page.c, page.m, &options, text(TASK), &sink);
  return page_done();
}

/* -- the trace view: documents of syn_trace at page_bytes. 0: an error -- */

/* The tokens of a text in a row of `width`: behind `begin` (0: none), before `end` (0: none). */
static void page_row(int *row, int width, int side, const char *words, int begin, int end) {
  const syn_tokenizer *t = syn_model_tokenizer(page.m, side);
  int first = begin != 0, most = width - first - (end != 0);
  int n = syn_tokenizer_encode(t, syn_text_of(words), row + first, most);
  if (first) row[0] = begin;
  if (end) row[first + (n < most ? n : most)] = end;
}
/* Forward and backward pass over the text of the call, "source TAB target", and all its values. */
EXPORT(page_trace) int page_trace(void) {
  char *target = strchr(page.in, '\t');
  int width = page.longest, row[3][512] = {{0}};
  syn_limits limits;
  syn_batch batch;
  syn_sink sink = page_sink();
  syn_trace_config config;
  syn_run *r;
  float loss;
  if (!page.m || !target || width > 512) return page_fail("wanted: source TAB target");
  *target++ = 0;
  page_row(row[0], width, SYN_SRC, page.in, 0, SYN_END);
  page_row(row[1], width, SYN_TGT, target, SYN_BEGIN, 0);
  page_row(row[2], width, SYN_TGT, target, 0, SYN_END);
  memset(&limits, 0, sizeof limits);
  limits.sentences = 1, limits.src_rows = limits.tgt_rows = limits.length = width, limits.keep = 1;
  memset(&config, 0, sizeof config);
  memset(&batch, 0, sizeof batch);
  batch.count = 1, batch.src_width = batch.tgt_width = width;
  batch.src = row[0], batch.tgt = row[1], batch.labels = row[2];
  r = syn_run_new(&page.c, page.m, &limits);
  config.loss = &loss;
  config.spare = 1 << 19; /* the matrices, too: the sum behind a number shows its operands */
  config.source = syn_text_of(page.in), config.target = syn_text_of(target);
  if (r && !syn_run_backward(r, &batch, &loss)) syn_trace(page.m, r, &config, &sink);
  syn_run_free(r);
  return page_done();
}
/* The network of the settings without values; of a text with an error, what comes before it. */
EXPORT(page_graph) int page_graph(void) {
  syn_config k = page_network();
  syn_sink sink = page_sink();
  syn_trace_network(&page.c, &k, &sink);
  syn_context_clear(&page.c);
  return page.size > 0;
}
