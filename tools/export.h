/* export.h   writes a model as a checkpoint of another program.
   A part of syn.c, which includes it behind compare.h. */

/* The import has a text of the network and a map of names for each family. The export makes that
   text again from the numbers in the text of the model. Where both are equal, the map tells which
   parameter fills which tensor; else the family cannot hold the network. */

/* ==============================================================================================
   >>export network   the family whose text is that of the model
   ============================================================================================== */

typedef struct exporter {
  checkpoint p; /* decoder: the text of the family; rules: its map; tensors: what is written */
  const syn_model *m;
  const syn_config *k;
  const char *path, *prefix; /* prefix: of the names of tensors */
  buffer config;             /* config.json without the tokens */
  int *ids, count;           /* [count] a number of a token in the checkpoint to our id */
  int special[4];            /* as those of foreign_vocabulary */
} exporter;

/* The number behind a name in the text of the network. */
static double text_value(const char *text, const char *name, double otherwise) {
  const char *at = strstr(text, name);
  return at ? strtod(at + strlen(name), NULL) : otherwise;
}
/* The same as a size; a number that is none gives another text, which is refused. */
static int text_size(const char *text, const char *name, int otherwise) {
  const double n = text_value(text, name, (double)otherwise);
  return n >= 0.0 && n <= (double)(1 << 24) ? (int)n : 0;
}

/* Whether all numbers of the parameters of these names are 0; * as in a rule. */
static int export_zero(const exporter *e, const char *pattern) {
  char name[160];
  const syn_param *mine;
  size_t k;
  int i;
  for (i = 0; !i || strchr(pattern, '*'); i++) {
    name_with(name, sizeof name, pattern, i);
    mine = syn_model_find(e->m, name);
    if (!mine) break;
    for (k = 0; k < mine->size; k++)
      if (mine->x[k] < 0.0f || mine->x[k] > 0.0f) return 0;
  }
  return 1;
}

/* llama; with a window mistral; with biases of q, k and v alone qwen2. */
static void export_llama(exporter *e, int tied) {
  const char *text = e->k->decoder, *type;
  llama_shape s;
  memset(&s, 0, sizeof s);
  s.d = e->k->d_model;
  s.heads = e->k->heads;
  s.layers = text_size(text, "repeat(", 0);
  s.n = text_size(text, "ffl(", 0);
  s.c = text_size(text, "c=", 0);
  s.kv = text_size(text, "kv=", 0);
  s.window = text_size(text, "window=", 0);
  s.bias = text_size(text, "bias=", 0);
  s.ff_bias = strstr(text, "glu, bias=1") != NULL;
  s.eps = text_value(text, "eps=", 0.0);
  s.base = text_value(text, "base=", 0.0);
  s.layout = "half";
  s.gate = strstr(text, "geglu") ? "geglu" : "swiglu";
  if (s.bias && !s.ff_bias && export_zero(e, "decoder.1.*.0.1.b_o")) s.bias = 2;
  type = s.window ? "mistral" : s.bias == 2 ? "qwen2" : "llama";
  e->prefix = "model.";
  llama_network(&e->p, &s, tied);
  put_line(&e->config,
           "  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n  \"hidden_size\": %d,\n"
           "  \"intermediate_size\": %d,\n  \"num_hidden_layers\": %d,\n"
           "  \"num_attention_heads\": %d,\n  \"num_key_value_heads\": %d,\n  \"head_dim\": %d,\n"
           "  \"rms_norm_eps\": %.9g,\n  \"rope_theta\": %.9g,\n  \"hidden_act\": \"%s\",\n"
           "  \"max_position_embeddings\": %d,\n",
           *type == 'm'   ? "MistralForCausalLM"
           : *type == 'q' ? "Qwen2ForCausalLM"
                          : "LlamaForCausalLM",
           type, s.d, s.n, s.layers, s.heads, s.kv, s.c, s.eps, s.base,
           s.gate[0] == 's' ? "silu" : "gelu_pytorch_tanh", e->k->max_len);
  if (s.window) put_line(&e->config, "  \"sliding_window\": %d,\n", s.window);
  if (*type == 'l')
    put_line(&e->config, "  \"attention_bias\": %s,\n  \"mlp_bias\": %s,\n",
             s.bias ? "true" : "false", s.ff_bias ? "true" : "false");
  if (s.window && (s.bias || s.ff_bias))
    fail(FAILED_JOB, "%s: window=%d with bias=1: no family of Hugging Face here has both", e->path,
         s.window);
}

static void export_gpt2(exporter *e, int tied) {
  const char *text = e->k->decoder;
  const int layers = text_size(text, "repeat(", 0), n = text_size(text, "ffl(", 0);
  const int scaled = !strstr(text, "scale=1");
  const double eps = text_value(text, "eps=", 0.0);
  char block[200];
  snprintf(block, sizeof block,
           "res(norm(eps=%.9g) -> syn_att(V, bias=1%s)) -> res(norm(eps=%.9g) -> ffl(%d, gelu))",
           eps, scaled ? "" : ", scale=1", eps, n);
  e->prefix = "transformer.";
  gpt2_network(&e->p, block, layers, eps, tied, 1);
  put_line(&e->config,
           "  \"architectures\": [\"GPT2LMHeadModel\"],\n  \"model_type\": \"gpt2\",\n"
           "  \"n_embd\": %d,\n  \"n_inner\": %d,\n  \"n_layer\": %d,\n  \"n_head\": %d,\n"
           "  \"n_positions\": %d,\n  \"layer_norm_epsilon\": %.9g,\n"
           "  \"activation_function\": \"gelu_new\",\n  \"scale_attn_weights\": %s,\n"
           "  \"resid_pdrop\": %.9g,\n",
           e->k->d_model, n, layers, e->k->heads, e->k->max_len, eps, scaled ? "true" : "false",
           (double)e->k->dropout);
}

/* Refuses the first layer that the family does not have. */
static void export_same(const exporter *e) {
  const char *text = e->k->decoder, *at = text;
  const char *family = e->p.decoder.at;
  while (*at && *at == family[at - text]) at++;
  if (!*at && !family[at - text]) return;
  while (at > text && !(at - text > 1 && at[-1] == ' ' && at[-2] == '>') &&
         !(at - text > 3 && !memcmp(at - 4, "res(", 4)))
    at--;
  fail(FAILED_JOB, "%s: decoder: '%.60s': the format cannot hold this; wanted: %s", e->path, at,
       family);
}

static void export_network(exporter *e) {
  const int tied = !syn_model_find(e->m, "out.w");
  if (e->k->encoder || !e->k->decoder || (e->k->task && strcmp(e->k->task, "lm") != 0))
    fail(FAILED_JOB,
         "%s: the network has an encoder: export writes language models of llama or gpt2", e->path);
  (strncmp(e->k->decoder, "learn_pos", 9) ? export_llama : export_gpt2)(e, tied);
  put_byte(&e->p.decoder, 0);
  export_same(e);
  put_line(&e->config, "  \"tie_word_embeddings\": %s,\n", tied ? "true" : "false");
}

/* ==============================================================================================
   >>export tokens   the numbers that our ids get
   ============================================================================================== */

/* With a tokenizer: its numbers. */
static void export_numbered(exporter *e, const syn_tokenizer *t, int size) {
  int i, id;
  for (id = 0; id < size; id++) e->count = larger(e->count, syn_tokenizer_number(t, id) + 1);
  for (i = 0; i < e->count; i++) e->ids[i] = syn_tokenizer_id(t, i);
  for (i = 0; i < 4; i++) e->special[i] = syn_tokenizer_number(t, i);
}

/* Without one the model does not tell the numbers that its tokens had: they get those of their
   order. An id that the import has added has the row of number 0 and `no_token`, so that the token
   with this row must be number 0. */
static void export_ordered(exporter *e, const syn_param *rows, const float *bias, int size) {
  const size_t d = rows->size / (size_t)size;
  int id, dead = -1, first = -1, i;
  for (id = 0; id < size; id++)
    if (bias[id] <= no_token && dead < 0) dead = id;
  for (id = 0; dead >= 0 && first < 0 && id < size; id++)
    if (bias[id] > no_token && !memcmp(rows->x + d * (size_t)id, rows->x + d * (size_t)dead,
                                       d * sizeof(float)))
      first = id;
  if (first >= 0) e->ids[e->count++] = first;
  for (id = 0; id < size; id++)
    if (bias[id] > no_token && id != first) e->ids[e->count++] = id;
  for (i = 0; i < e->count; i++)
    if (e->ids[i] < 4) e->special[e->ids[i]] = i;
  /* begin that is the end, too: only the end has kept its logit */
  if (e->special[2] < 0 && e->special[3] >= 0) {
    const size_t begin = 2 * d, end = 3 * d;
    if (!memcmp(rows->x + begin, rows->x + end, d * sizeof(float))) e->special[2] = e->special[3];
  }
}

static void export_tokens(exporter *e) {
  static const char *const names[] = {"pad", "unk", "bos", "eos"};
  const syn_param *rows = syn_model_find(e->m, "tgt.embed"), *bias = syn_model_find(e->m, "out.b");
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_TGT);
  const int size = e->k->tgt_vocab;
  int i;
  if (!rows || !bias) fail(FAILED_JOB, "%s: tgt.embed or out.b is missing", e->path);
  e->ids = (int *)take((size_t)size, sizeof *e->ids);
  for (i = 0; i < 4; i++) e->special[i] = -1;
  if (t) export_numbered(e, t, size);
  else export_ordered(e, rows, bias->x, size);
  for (i = 0; i < e->count; i++)
    if (bias->x[e->ids[i]] < 0.0f || bias->x[e->ids[i]] > 0.0f)
      fail(FAILED_JOB,
           "%s: out.b: the bias of token %d is %g; the format has no bias of the output", e->path,
           e->ids[i], (double)bias->x[e->ids[i]]);
  for (i = 0; i < 4; i++)
    if (i != 1 && e->special[i] >= 0)
      put_line(&e->config, "  \"%s_token_id\": %d,\n", names[i], e->special[i]);
  put_line(&e->config, "  \"vocab_size\": %d\n}\n", e->count);
}

/* ==============================================================================================
   >>export tensors   the map of the family, from our parameters to its tensors
   ============================================================================================== */

static foreign *export_tensor(exporter *e, const char *name, size_t rows, size_t cols) {
  foreign *t;
  char *copy;
  size_t i;
  for (i = 0; i < e->p.count; i++)
    if (!strcmp(e->p.tensors[i].name, name)) return &e->p.tensors[i];
  copy = (char *)checkpoint_keep(&e->p, take(strlen(name) + 1, 1));
  memcpy(copy, name, strlen(name));
  t = checkpoint_add(&e->p, copy, FOREIGN_F32, 2);
  t->shape[0] = rows;
  t->shape[1] = cols;
  t->count = rows * cols;
  t->bytes = 4 * t->count;
  t->data = (unsigned char *)checkpoint_keep(&e->p, take(t->count, 4));
  return t;
}

/* The opposite of place_rows. */
static void export_param(exporter *e, const map_rule *r, const syn_param *mine, const char *name) {
  const int tokens = !strcmp(mine->name, "tgt.embed") || !strcmp(mine->name, "out.w");
  const size_t mine_rows = (size_t)mine->shape[0], cols = mine->size / mine_rows;
  const size_t rows = tokens ? (size_t)e->count : mine_rows / (size_t)r->tos;
  const size_t all = rows * (size_t)r->parts, first = rows * (size_t)r->to;
  foreign *t = export_tensor(e, name, r->transposed ? cols : all, r->transposed ? all : cols);
  size_t i, j;
  t->rank = mine->rank;
  for (i = 0; i < rows; i++) {
    const size_t from = tokens ? (size_t)e->ids[i] : first + i, to = rows * (size_t)r->part + i;
    for (j = 0; j < cols; j++) {
      const size_t at = r->transposed ? j * all + to : to * cols + j;
      memcpy((unsigned char *)t->data + 4 * at, mine->x + from * cols + j, 4);
    }
  }
}

static void export_rule(exporter *e, const map_rule *r) {
  char ours[160], theirs[260], name[240];
  int i;
  for (i = 0; !i || strchr(r->ours, '*'); i++) {
    const syn_param *mine;
    name_with(ours, sizeof ours, r->ours, i);
    name_with(name, sizeof name, r->theirs, i);
    snprintf(theirs, sizeof theirs, "%s%s", strncmp(name, "lm_head", 7) ? e->prefix : "", name);
    mine = syn_model_find(e->m, ours);
    if (!mine) return;
    export_param(e, r, mine, theirs);
  }
}

static void export_tensors(exporter *e) {
  syn_text rest = buffer_text(&e->p.rules), line;
  while (next_piece(&rest, "\n", &line)) {
    map_rule r;
    if (!line.size || *line.at == '-') continue;
    r = rule_of(&e->p, line, 0);
    if (!r.constant) export_rule(e, &r);
  }
}

static void export_safetensors(const exporter *e, const char *path) {
  buffer head = {NULL, 0, 0}, file = {NULL, 0, 0};
  size_t i, at = 0;
  put_line(&head, "{\"__metadata__\": {\"format\": \"pt\"}");
  for (i = 0; i < e->p.count; i++) {
    const foreign *t = &e->p.tensors[i];
    put_line(&head, ", \"%s\": {\"dtype\": \"F32\", \"shape\": [%lu", t->name,
             (unsigned long)t->shape[0]);
    if (t->rank == 2) put_line(&head, ", %lu", (unsigned long)t->shape[1]);
    put_line(&head, "], \"data_offsets\": [%.0f, %.0f]}", (double)at, (double)(at + t->bytes));
    at += t->bytes;
  }
  put_byte(&head, '}');
  while (head.size % 8) put_byte(&head, ' ');
  for (i = 0; i < 8; i++) put_byte(&file, (char)((uint64_t)head.size >> 8 * i & 255));
  put(&file, head.at, head.size);
  for (i = 0; i < e->p.count; i++)
    put(&file, (const char *)e->p.tensors[i].data, e->p.tensors[i].bytes);
  write_file(path, file.at, file.size);
  free(head.at);
  free(file.at);
}

/* ==============================================================================================
   >>export command
   ============================================================================================== */

static int run_export(const arguments *a) {
  const char *folder = opt_text(a, "output");
  char *config = path_inside(folder, "config.json");
  char *weights = path_inside(folder, "model.safetensors");
  syn_model *m;
  syn_context c;
  exporter e;
  memset(&e, 0, sizeof e);
  context_open(&c, a);
  e.path = e.p.path = opt_text(a, "model");
  m = syn_model_load(&c, e.path);
  check_file(&c, e.path);
  e.m = m;
  e.k = syn_model_config(m);
  put_line(&e.config, "{\n");
  export_network(&e);
  export_tokens(&e);
  export_tensors(&e);
  folder_make(folder);
  write_file(config, e.config.at, e.config.size);
  export_safetensors(&e, weights);
  if (syn_model_tokenizer(m, SYN_TGT))
    fprintf(stderr, "syn: export writes no tokenizer: put the files of tokenizer %s beside it\n",
            syn_tokenizer_type(syn_model_tokenizer(m, SYN_TGT)));
  checkpoint_free(&e.p);
  free(e.config.at);
  free(e.ids);
  free(config);
  free(weights);
  syn_model_free(m);
  return 0;
}
