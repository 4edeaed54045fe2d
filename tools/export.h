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
  int gguf;                  /* 1: the format is GGUF, else a folder of Hugging Face */
  const char *family;        /* model_type; of GGUF the architecture */
  llama_shape shape;         /* what gpt2 has of it, too */
  int permuted;              /* 1: rotated columns become neighbours; -1: halves */
  syn_import_options options; /* of p: none */
  buffer config;             /* config.json without the tokens; of GGUF its keys, */
  size_t keys;               /* and how many they are */
  int *ids, count;           /* [count] a number of a token in the checkpoint to our id */
  int special[4];            /* as those of foreign_vocabulary */
  token_parts tokens;        /* of the tokenizer */
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

/* Columns that are rotated together lie as each program has them. */
static const char *export_layout(exporter *e) {
  const int pair = strstr(e->k->decoder, "layout=pair") != NULL;
  const int wanted = e->gguf && !strcmp(e->family, "llama");
  e->permuted = wanted - pair;
  return pair ? "pair" : "half";
}

/* Refuses what the kind of GGUF does not have: llama, qwen2; gemma. */
static void export_gguf_lacks(const exporter *e, int tied) {
  const llama_shape *s = &e->shape;
  const int geglu = *s->gate == 'g';
  const char *lacks = NULL;
  if (s->window) lacks = "window=";
  else if (s->bias == 1 || s->ff_bias) lacks = "bias=1 of the output of attention or of ffl";
  else if (s->scaled != geglu) lacks = geglu ? "geglu without scale" : "scale without geglu";
  else if (s->scaled && s->bias) lacks = "scale with bias=1";
  else if (s->scaled && !tied) lacks = "scale with an output of its own";
  if (lacks)
    fail(FAILED_JOB, "%s: %s: GGUF's llama, qwen2 and gemma have none", e->path, lacks);
}

/* llama; with a window mistral; with biases of q, k and v alone qwen2. GGUF's gemma has scaled
   embeddings; that of Hugging Face stores weight - 1 of norms, which would round. */
static void export_llama(exporter *e, int tied) {
  const char *text = e->k->decoder;
  llama_shape *s = &e->shape;
  s->n = text_size(text, "ffl(", 0);
  s->c = text_size(text, "c=", 0);
  s->kv = text_size(text, "kv=", 0);
  s->window = text_size(text, "window=", 0);
  s->bias = text_size(text, "bias=", 0);
  s->ff_bias = strstr(text, "glu, bias=1") != NULL;
  s->base = text_value(text, "base=", 0.0);
  s->gate = strstr(text, "geglu") ? "geglu" : "swiglu";
  if (s->bias && !s->ff_bias && export_zero(e, "decoder.1.*.0.1.b_o")) s->bias = 2;
  s->scaled = e->gguf && !strncmp(text, "scale(", 6);
  e->family = s->scaled ? "gemma" : s->window ? "mistral" : s->bias == 2 ? "qwen2" : "llama";
  s->layout = export_layout(e);
  e->prefix = "model.";
  llama_network(&e->p, s, tied);
  if (s->window && (s->bias || s->ff_bias))
    fail(FAILED_JOB, "%s: window=%d with bias=1: no family of Hugging Face here has both", e->path,
         s->window);
  if (e->gguf) export_gguf_lacks(e, tied);
}

static void export_gpt2(exporter *e, int tied) {
  const char *text = e->k->decoder;
  llama_shape *s = &e->shape;
  const int scaled = !strstr(text, "scale=1");
  char block[200];
  s->n = text_size(text, "ffl(", 0);
  snprintf(block, sizeof block,
           "res(norm(eps=%.9g) -> syn_att(V, bias=1%s)) -> res(norm(eps=%.9g) -> ffl(%d, gelu))",
           s->eps, scaled ? "" : ", scale=1", s->eps, s->n);
  e->family = "gpt2";
  e->prefix = "transformer.";
  gpt2_network(&e->p, block, s->layers, s->eps, tied, !e->gguf);
  if (!scaled && e->gguf)
    fail(FAILED_JOB, "%s: scale=1: GGUF's gpt2 has scores by 1/sqrt(c)", e->path);
}

/* The families with an encoder: from the keys of e->config the import makes texts and map. */
static void export_family(exporter *e, const char *name, const char *prefix,
                          void (*read)(checkpoint *p)) {
  buffer text = {NULL, 0, 0};
  e->family = name;
  e->prefix = prefix;
  put_line(&text, "{\n");
  put(&text, e->config.at, e->config.size);
  put_line(&text, "  \"model_type\": \"%s\"}", name);
  put_line(&e->config, "  \"model_type\": \"%s\",\n", name);
  e->p.config = json_parse(text, e->path);
  e->p.known = (unsigned char *)take(e->p.config.count, 1);
  e->p.options = &e->options;
  e->p.writes = 1;
  read(&e->p);
}

/* The activation of ffl in the words of Hugging Face. */
static const char *export_activation(const char *text) {
  static const char *const words[][2] = {{"gelu_erf)", "gelu"}, {"gelu)", "gelu_new"},
                                         {"relu)", "relu"},     {"swish)", "silu"},
                                         {"tanh)", "tanh"},     {"quick_gelu)", "quick_gelu"}};
  const char *at = strstr(text, "ffl("), *word = at ? strchr(at, ',') : NULL;
  size_t i;
  for (i = 0; word && i < COUNT(words); i++)
    if (!strncmp(word + 2, words[i][0], strlen(words[i][0]))) return words[i][1];
  return "gelu";
}

/* bert; albert where one layer is used many times. */
static void export_bert(exporter *e) {
  const char *text = e->k->encoder;
  const int albert = strstr(text, "share(") != NULL;
  put_line(&e->config,
           "  \"architectures\": [\"%s\"],\n  \"hidden_size\": %d,\n"
           "  \"num_attention_heads\": %d,\n  \"num_hidden_layers\": %d,\n"
           "  \"intermediate_size\": %d,\n  \"hidden_act\": \"%s\",\n"
           "  \"max_position_embeddings\": %d,\n  \"type_vocab_size\": %d,\n"
           "  \"layer_norm_eps\": %.9g,\n  \"hidden_dropout_prob\": %.9g,\n",
           albert ? "AlbertForMaskedLM" : "BertForMaskedLM",
           albert ? text_size(text, "linear(", 1) : e->k->d_model, e->k->heads,
           text_size(text, albert ? "share(" : "repeat(", 1), text_size(text, "ffl(", 1),
           export_activation(text), e->k->max_len, text_size(text, "types(", 1),
           text_value(text, "eps=", 1e-12), (double)e->k->dropout);
  if (albert) put_line(&e->config, "  \"embedding_size\": %d,\n", e->k->d_model);
  export_family(e, albert ? "albert" : "bert", albert ? "albert." : "bert.",
                albert ? albert_family : bert_family);
}

static void export_marian(exporter *e) {
  static const char *const names[] = {"encoder", "decoder"};
  int i;
  put_line(&e->config,
           "  \"architectures\": [\"MarianMTModel\"],\n  \"is_encoder_decoder\": true,\n"
           "  \"d_model\": %d,\n  \"activation_function\": \"%s\",\n"
           "  \"max_position_embeddings\": %d,\n  \"scale_embedding\": %s,\n  \"dropout\": %.9g,\n"
           "  \"static_position_embeddings\": true,\n"
           "  \"share_encoder_decoder_embeddings\": true,\n",
           e->k->d_model, export_activation(e->k->encoder), e->k->max_len,
           strstr(e->k->encoder, "scale=0") ? "false" : "true", (double)e->k->dropout);
  for (i = 0; i < 2; i++) {
    const char *text = i ? e->k->decoder : e->k->encoder;
    put_line(&e->config,
             "  \"%s_layers\": %d,\n  \"%s_attention_heads\": %d,\n  \"%s_ffn_dim\": %d,\n",
             names[i], text_size(text, "repeat(", 1), names[i], text_size(text, "heads=", 1),
             names[i], text_size(text, "ffl(", 1));
  }
  export_family(e, "marian", "model.", marian_family);
}

static void export_t5(exporter *e) {
  const char *text = e->k->encoder, *kind = "relu", *buckets = strstr(text, "rel_pos(");
  if (strstr(text, "gelu_erf")) kind = "gelu";
  if (strstr(text, "geglu")) kind = "gated-gelu";
  if (strstr(text, "swiglu")) kind = "gated-silu";
  if (strstr(text, "swish")) kind = "silu";
  put_line(&e->config,
           "  \"architectures\": [\"T5ForConditionalGeneration\"],\n"
           "  \"is_encoder_decoder\": true,\n  \"d_model\": %d,\n  \"num_heads\": %d,\n"
           "  \"num_layers\": %d,\n  \"num_decoder_layers\": %d,\n  \"d_ff\": %d,\n"
           "  \"d_kv\": %d,\n"
           "  \"relative_attention_num_buckets\": %d,\n"
           "  \"relative_attention_max_distance\": %d,\n  \"layer_norm_epsilon\": %.9g,\n"
           "  \"feed_forward_proj\": \"%s\",\n  \"dropout_rate\": %.9g,\n",
           e->k->d_model, e->k->heads, text_size(text, "repeat(", 1),
           text_size(e->k->decoder, "repeat(", 1), text_size(text, "ffl(", 1),
           text_size(text, "c=", 1), text_size(text, "rel_pos(", 1),
           buckets ? text_size(buckets, ", ", 1) : 1, text_value(text, "eps=", 1e-6), kind,
           (double)e->k->dropout);
  put_line(&e->config, "  \"tie_word_embeddings\": %s,\n",
           syn_model_find(e->m, "out.w") ? "false" : "true");
  export_family(e, "t5", "", t5_family);
}

/* Refuses the first layer that the family does not have. */
static void export_same(const exporter *e, const char *side, const char *text, buffer *wanted) {
  const char *at, *family;
  put_byte(wanted, 0);
  text = text ? text : "";
  family = wanted->at;
  for (at = text; *at && *at == family[at - text];) at++;
  if (!*at && !family[at - text]) return;
  while (at > text && !(at - text > 1 && at[-1] == ' ' && at[-2] == '>') &&
         !(at - text > 3 && !memcmp(at - 4, "res(", 4)))
    at--;
  fail(FAILED_JOB, "%s: %s: '%.60s': the format cannot hold this; wanted: %s", e->path, side, at,
       family);
}

/* The family of a network with an encoder, by its first layer. */
static void export_encoder(exporter *e) {
  const char *text = e->k->encoder, *name = e->k->task ? e->k->task : "seq2seq";
  const int masked = !strcmp(name, "mlm"), pair = !strcmp(name, "seq2seq") && e->k->decoder;
  const int one = !syn_model_find(e->m, "src.embed"); /* one table of embeddings */
  if (e->gguf || (!masked && !pair))
    fail(FAILED_JOB, "%s: the network has an encoder, the task %s: %s", e->path, name,
         e->gguf ? "export to GGUF writes gpt2, llama, qwen2 and gemma"
                 : "export writes such ones of mlm (bert, albert) and seq2seq (t5, marian)");
  if (masked) export_bert(e);
  else if (!strncmp(text, "rel_pos(", 8)) export_t5(e);
  else export_marian(e);
  if (one != !strcmp(e->p.k.tie, "all") || (one && syn_model_find(e->m, "out.w")))
    fail(FAILED_JOB, "%s: tie %s: %s wants %s", e->path, e->k->tie ? e->k->tie : "auto", e->family,
         e->p.k.tie);
}

static void export_network(exporter *e) {
  const int tied = !syn_model_find(e->m, "out.w");
  if (!e->k->encoder && (!e->k->decoder || (e->k->task && strcmp(e->k->task, "lm") != 0)))
    fail(FAILED_JOB, "%s: export writes no networks of the task %s", e->path, e->k->task);
  if (e->k->encoder) export_encoder(e);
  else {
    e->shape.d = e->k->d_model;
    e->shape.heads = e->k->heads;
    e->shape.layers = text_size(e->k->decoder, "repeat(", 0);
    e->shape.eps = text_value(e->k->decoder, "eps=", 0.0);
    (strncmp(e->k->decoder, "learn_pos", 9) ? export_llama : export_gpt2)(e, tied);
  }
  export_same(e, "encoder", e->k->encoder, &e->p.encoder);
  export_same(e, "decoder", e->k->decoder, &e->p.decoder);
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

/* An id that the import has added has the row of a token of the checkpoint and `no_token` below its
   bias. Returns that token; -1: the id is one of the checkpoint. */
static int export_twin(const syn_param *rows, const float *bias, int size, int id) {
  const size_t d = rows->size / (size_t)size;
  int i;
  for (i = 0; i < size; i++)
    if (i != id && bias[id] <= bias[i] + no_token &&
        !memcmp(rows->x + d * (size_t)i, rows->x + d * (size_t)id, d * sizeof(float)))
      return i;
  return -1;
}

/* Without one the model does not tell the numbers that its tokens had: they get those of their
   order. An id that was added has the row of number 0, so that the token with this row must be
   number 0; or that of another special token, as begin that is the end, too. */
static void export_ordered(exporter *e, const syn_param *rows, const float *bias, int size) {
  int twin[4], id, first = -1, i;
  for (id = 0; id < 4; id++) twin[id] = export_twin(rows, bias, size, id);
  for (id = 3; id >= 0; id--)
    if (twin[id] >= 0) first = twin[id];
  if (twin[1] >= 0) first = twin[1]; /* no other special token is unknown, too */
  for (id = 0; id < 4; id++)
    if (twin[id] > 3) first = twin[id];
  if (first >= 0) e->ids[e->count++] = first;
  for (id = 0; id < size; id++)
    if (id != first && (id > 3 || twin[id] < 0)) e->ids[e->count++] = id;
  for (i = 0; i < e->count; i++)
    if (e->ids[i] < 4) e->special[e->ids[i]] = i;
  if (e->special[2] < 0 && twin[2] == 3) e->special[2] = e->special[3];
  if (e->special[0] < 0 && twin[0] == 2 && e->k->encoder) e->special[0] = e->special[2];
}

/* The parts of the tokenizer, if both sides of a network share it; they must share its numbers.
   What stands around a text: begin of a language model, end of a source, both of mlm. */
static void export_tokenizer(exporter *e, const syn_tokenizer *t) {
  const syn_tokenizer *source = e->k->encoder ? syn_model_tokenizer(e->m, SYN_SRC) : t;
  buffer a = tokenizer_saved(source), b = tokenizer_saved(t);
  int id;
  for (id = 0; id < syn_tokenizer_size(t); id++)
    if (syn_tokenizer_number(source, id) != syn_tokenizer_number(t, id))
      fail(FAILED_JOB, "%s: source and target have other tokens: %s has one list", e->path,
           e->family);
  if (text_equal(buffer_text(&a), buffer_text(&b))) token_parts_of(&e->tokens, t, e->path);
  free(a.at);
  free(b.at);
  if (!e->tokens.kind) return;
  e->tokens.around[0] = e->k->encoder && e->k->decoder ? -1 : e->tokens.special[SYN_BEGIN];
  e->tokens.around[1] = e->k->encoder ? e->tokens.special[SYN_END] : -1;
}

static void export_tokens(exporter *e) {
  const int side = e->k->decoder ? SYN_TGT : SYN_SRC, bias_of = !strstr(e->p.rules.at, "out.b 0\n");
  const syn_param *rows = syn_model_find(e->m, "tgt.embed"), *bias = syn_model_find(e->m, "out.b");
  const syn_tokenizer *t = syn_model_tokenizer(e->m, side);
  int i, size;
  if (!rows || !bias) fail(FAILED_JOB, "%s: tgt.embed or out.b is missing", e->path);
  size = rows->shape[0];
  e->ids = (int *)take((size_t)size, sizeof *e->ids);
  for (i = 0; i < 4; i++) e->special[i] = -1;
  if (t) export_tokenizer(e, t);
  if (t) export_numbered(e, t, size);
  else export_ordered(e, rows, bias->x, size);
  for (i = 0; !bias_of && i < e->count; i++)
    if (bias->x[e->ids[i]] < 0.0f || bias->x[e->ids[i]] > 0.0f)
      fail(FAILED_JOB,
           "%s: out.b: the bias of token %d is %g; the format has no bias of the output: train "
           "with --freeze out.b",
           e->path, e->ids[i], (double)bias->x[e->ids[i]]);
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

/* The row of ours for row j of theirs of the matrices of q and k. */
static size_t export_permuted(const exporter *e, const char *ours, size_t j) {
  const char *part = strrchr(ours, '.');
  const size_t c = (size_t)e->shape.c, of = c ? j % c : 0;
  if (!e->permuted || !part || !strchr("qk", part[strlen(part) - 1]) || part[2] != '_') return j;
  if (e->permuted > 0) return j - of + of / 2 + of % 2 * (c / 2);
  return j - of + (of < c / 2 ? 2 * of : 2 * (of - c / 2) + 1);
}

/* The opposite of place_rows. */
static void export_param(exporter *e, const map_rule *r, const syn_param *mine, const char *name) {
  const int tokens = strstr(mine->name, ".embed") || !strncmp(mine->name, "out.", 4);
  const size_t mine_rows = (size_t)mine->shape[0], cols = mine->size / mine_rows;
  const size_t rows = tokens ? (size_t)e->count : mine_rows / (size_t)r->tos;
  const size_t all = rows * (size_t)r->parts, first = rows * (size_t)r->to;
  foreign *t = export_tensor(e, name, r->transposed ? cols : all, r->transposed ? all : cols);
  const int again = tokens && t->used; /* a second table of the same name must be equal */
  size_t i, j;
  t->rank = mine->rank;
  t->used = 1;
  for (i = 0; i < rows; i++) {
    const size_t to = rows * (size_t)r->part + i;
    const size_t from = tokens ? (size_t)e->ids[i] : first + export_permuted(e, mine->name, i);
    for (j = 0; j < cols; j++) {
      const size_t at = r->transposed ? j * all + to : to * cols + j;
      const float *x = mine->x + from * cols + j;
      if (again && memcmp(t->data + 4 * at, x, 4) != 0)
        fail(FAILED_JOB, "%s: %s has another table than the one before: %s has one for both",
             e->path, mine->name, e->family);
      memcpy((unsigned char *)t->data + 4 * at, x, 4);
    }
  }
}

/* Whether a name stands outside of the part that e->prefix names. */
static int export_outside(const char *name) {
  return !strncmp(name, "lm_head", 7) || !strncmp(name, "cls.", 4) ||
         !strncmp(name, "predictions.", 12) || !strcmp(name, "final_logits_bias");
}

static void export_rule(exporter *e, const map_rule *r) {
  char ours[160], theirs[260], name[240];
  int i;
  if (r->optional && (strstr(r->theirs, ".gamma") || strstr(r->theirs, ".beta"))) return;
  for (i = 0; !i || strchr(r->ours, '*'); i++) {
    const syn_param *mine;
    name_with(ours, sizeof ours, r->ours, i);
    name_with(name, sizeof name, r->theirs, i);
    snprintf(theirs, sizeof theirs, "%s%s", export_outside(name) ? "" : e->prefix, name);
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

/* ==============================================================================================
   >>export hf   a folder of Hugging Face: config.json, model.safetensors
   ============================================================================================== */

static void export_llama_config(exporter *e) {
  const llama_shape *s = &e->shape;
  put_line(&e->config,
           "  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n  \"hidden_size\": %d,\n"
           "  \"intermediate_size\": %d,\n  \"num_hidden_layers\": %d,\n"
           "  \"num_attention_heads\": %d,\n  \"num_key_value_heads\": %d,\n  \"head_dim\": %d,\n"
           "  \"rms_norm_eps\": %.9g,\n  \"rope_theta\": %.9g,\n  \"hidden_act\": \"%s\",\n"
           "  \"max_position_embeddings\": %d,\n",
           *e->family == 'm'   ? "MistralForCausalLM"
           : *e->family == 'q' ? "Qwen2ForCausalLM"
                               : "LlamaForCausalLM",
           e->family, s->d, s->n, s->layers, s->heads, s->kv, s->c, s->eps, s->base,
           s->gate[0] == 's' ? "silu" : "gelu_pytorch_tanh", e->k->max_len);
  if (s->window) put_line(&e->config, "  \"sliding_window\": %d,\n", s->window);
  if (*e->family == 'l')
    put_line(&e->config, "  \"attention_bias\": %s,\n  \"mlp_bias\": %s,\n",
             s->bias ? "true" : "false", s->ff_bias ? "true" : "false");
}

static void export_gpt2_config(exporter *e) {
  const llama_shape *s = &e->shape;
  put_line(&e->config,
           "  \"architectures\": [\"GPT2LMHeadModel\"],\n  \"model_type\": \"gpt2\",\n"
           "  \"n_embd\": %d,\n  \"n_inner\": %d,\n  \"n_layer\": %d,\n  \"n_head\": %d,\n"
           "  \"n_positions\": %d,\n  \"layer_norm_epsilon\": %.9g,\n"
           "  \"activation_function\": \"gelu_new\",\n  \"scale_attn_weights\": %s,\n"
           "  \"resid_pdrop\": %.9g,\n",
           s->d, s->n, s->layers, s->heads, e->k->max_len, s->eps,
           strstr(e->k->decoder, "scale=1") ? "false" : "true", (double)e->k->dropout);
}

/* The special tokens in the configuration: of language models, of encoders, of both. */
static const char *const *export_specials(const exporter *e) {
  static const char *const names[][4] = {{"pad", NULL, "bos", "eos"},
                                         {"pad", NULL, NULL, "sep"},
                                         {"pad", NULL, "decoder_start", "eos"}};
  return names[!e->k->encoder ? 0 : e->k->decoder ? 2 : 1];
}

static void export_config(exporter *e, const char *path) {
  const char *const *names = export_specials(e);
  buffer b = {NULL, 0, 0};
  int i;
  if (!e->k->encoder) (strcmp(e->family, "gpt2") ? export_llama_config : export_gpt2_config)(e);
  put_line(&b, "{\n");
  put(&b, e->config.at, e->config.size);
  if (strcmp(e->family, "t5"))
    put_line(&b, "  \"tie_word_embeddings\": %s,\n",
             syn_model_find(e->m, "out.w") ? "false" : "true");
  for (i = 0; i < 4; i++)
    if (names[i] && e->special[i] >= 0)
      put_line(&b, "  \"%s_token_id\": %d,\n", names[i], e->special[i]);
  put_line(&b, "  \"vocab_size\": %d\n}\n", e->count);
  write_file(path, b.at, b.size);
  free(b.at);
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

static void export_hf(exporter *e, const char *folder) {
  char *config = path_inside(folder, "config.json");
  char *weights = path_inside(folder, "model.safetensors");
  if (e->tokens.kind) hf_check_parts(&e->tokens, e->path);
  folder_make(folder);
  export_config(e, config);
  export_safetensors(e, weights);
  if (e->tokens.kind) hf_write_tokenizer(&e->tokens, folder, e->k->max_len);
  free(config);
  free(weights);
}

/* ==============================================================================================
   >>export gguf   a file of llama.cpp, with the tokenizer inside
   ============================================================================================== */

/* The lower bytes of a number, little-endian. */
static void put_little(buffer *b, uint64_t x, int bytes) {
  for (; bytes; bytes--, x >>= 8) put_byte(b, (char)(x & 255));
}
static void put_float(buffer *b, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  put_little(b, bits, 4);
}
static void gguf_put_text(buffer *b, syn_text text) {
  put_little(b, text.size, 8);
  put(b, text.at, text.size);
}

/* A key with its type: 0 u8, 4 u32, 5 i32, 6 f32, 7 bool. group: what stands before the name. */
static void gguf_key(exporter *e, const char *group, const char *name, uint32_t type) {
  char key[120];
  snprintf(key, sizeof key, "%s.%s", group, name);
  gguf_put_text(&e->config, syn_text_of(key));
  put_little(&e->config, type, 4);
  e->keys++;
}
static void gguf_key_int(exporter *e, const char *group, const char *name, int x) {
  gguf_key(e, group, name, 4);
  put_little(&e->config, (uint64_t)x, 4);
}
static void gguf_key_true(exporter *e, const char *name, int x) {
  gguf_key(e, "tokenizer.ggml", name, 7);
  put_little(&e->config, x != 0, 1);
}
static void gguf_key_float(exporter *e, const char *name, double x) {
  gguf_key(e, e->family, name, 6);
  put_float(&e->config, (float)x);
}
static void gguf_key_text(exporter *e, const char *group, const char *name, const char *text) {
  gguf_key(e, group, name, GGUF_TEXT);
  gguf_put_text(&e->config, syn_text_of(text));
}
/* The head of a list of the tokenizer; its items follow. */
static void gguf_key_list(exporter *e, const char *name, uint32_t type, size_t count) {
  gguf_key(e, "tokenizer.ggml", name, GGUF_ARRAY);
  put_little(&e->config, type, 4);
  put_little(&e->config, count, 8);
}

static void gguf_network_keys(exporter *e) {
  const llama_shape *s = &e->shape;
  const int gpt2 = !strcmp(e->family, "gpt2");
  gguf_key_int(e, e->family, "context_length", e->k->max_len);
  gguf_key_int(e, e->family, "embedding_length", s->d);
  gguf_key_int(e, e->family, "block_count", s->layers);
  gguf_key_int(e, e->family, "feed_forward_length", s->n);
  gguf_key_int(e, e->family, "attention.head_count", s->heads);
  gguf_key_float(e, gpt2 ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
                 s->eps);
  if (gpt2) return;
  gguf_key_int(e, e->family, "attention.head_count_kv", s->kv);
  gguf_key_int(e, e->family, "attention.key_length", s->c);
  gguf_key_int(e, e->family, "attention.value_length", s->c);
  gguf_key_int(e, e->family, "rope.dimension_count", s->c);
  gguf_key_float(e, "rope.freq_base", s->base);
  gguf_key_int(e, e->family, "vocab_size", e->count);
}

/* Refuses the tokenizers that the format does not have; returns its name of this one. */
static const char *gguf_model(const exporter *e) {
  const token_parts *t = &e->tokens;
  if (!t->kind) return "no_vocab";
  if (!strcmp(t->kind, "llama") && !t->scores)
    fail(FAILED_JOB,
         "%s: tokenizer llama by merges: GGUF wants scores: import with --tokenizer "
         "tokenizer.model",
         e->path);
  if (!strcmp(t->kind, "wordpiece"))
    fail(FAILED_JOB, "%s: tokenizer wordpiece: of a language model GGUF has llama, t5 or gpt2",
         e->path);
  return !strcmp(t->kind, "unigram") ? "t5" : t->kind;
}

static void gguf_lists(exporter *e) {
  static const int types[] = {1, 6, 3, 4, 5}; /* of SYN_PIECE_... */
  const token_parts *t = &e->tokens;
  buffer *b = &e->config;
  int i;
  gguf_key_list(e, "tokens", GGUF_TEXT, (size_t)e->count);
  for (i = 0; i < e->count; i++) gguf_put_text(b, t->names[i]);
  gguf_key_list(e, "token_type", 5, (size_t)e->count);
  for (i = 0; i < e->count; i++)
    put_little(b, (uint64_t)(i == e->special[1] && i != e->special[3] ? 2 : types[t->types[i]]), 4);
  if (t->scores) {
    gguf_key_list(e, "scores", 6, (size_t)e->count);
    for (i = 0; i < e->count; i++) put_float(b, t->scores[i]);
  }
  if (!t->n_merges) return;
  gguf_key_list(e, "merges", GGUF_TEXT, t->n_merges);
  for (i = 0; i < (int)t->n_merges; i++) {
    const syn_text left = t->names[t->merges[2 * i]], right = t->names[t->merges[2 * i + 1]];
    put_little(b, left.size + 1 + right.size, 8);
    put(b, left.at, left.size);
    put_byte(b, ' ');
    put(b, right.at, right.size);
  }
}

static void gguf_tokenizer_keys(exporter *e) {
  static const char *const names[] = {"padding_token_id", "unknown_token_id", "bos_token_id",
                                      "eos_token_id"};
  const char *group = "tokenizer.ggml", *model = gguf_model(e);
  const token_parts *t = &e->tokens;
  size_t i = 0;
  gguf_key_text(e, group, "model", model);
  if (t->kind) gguf_lists(e);
  for (i = 0; i < 4; i++)
    if (e->special[i] >= 0) gguf_key_int(e, group, names[i], e->special[i]);
  if (!t->kind) return;
  gguf_key_true(e, "add_bos_token", e->special[2] >= 0); /* every text here begins with it */
  gguf_key_true(e, "add_eos_token", 0);
  for (i = 0; i < COUNT(gguf_pres) && gguf_pres[i].options != t->options;) i++;
  if (!strcmp(model, "gpt2") && i == COUNT(gguf_pres))
    fail(FAILED_JOB, "%s: no tokenizer.ggml.pre splits texts as this tokenizer does", e->path);
  gguf_key_text(e, group, "pre", strcmp(model, "gpt2") ? "default" : gguf_pres[i].name);
  if (!strcmp(model, "gpt2")) return;
  gguf_key_true(e, "add_space_prefix", t->options & SYN_PIECES_SPACE);
  if (!strcmp(model, "llama") && (t->options & SYN_PIECES_TRIM || t->charsmap.size))
    fail(FAILED_JOB, "%s: tokenizer llama with rules for characters or spaces: GGUF has none",
         e->path);
  if (strcmp(model, "t5")) return;
  if (t->options & SYN_PIECES_BYTES)
    fprintf(stderr, "syn: characters that no token has are spelled in bytes here, and unknown in "
            "llama.cpp's tokenizer of this kind\n");
  gguf_key_true(e, "remove_extra_whitespaces", t->options & SYN_PIECES_TRIM);
  if (!t->charsmap.size) return; /* an empty one is refused */
  gguf_key_list(e, "precompiled_charsmap", 0, t->charsmap.size);
  put(&e->config, t->charsmap.at, t->charsmap.size);
}

/* The name that GGUF has for a tensor; it is kept with it. */
static const char *gguf_name_of(exporter *e, const char *name) {
  const int gpt2 = !strcmp(e->family, "gpt2");
  char *out = (char *)checkpoint_keep(&e->p, take(120, 1)), part[80];
  const char *end = strrchr(name, '.');
  int layer = -1, used = 0;
  size_t i = 0;
  name += strncmp(name, e->prefix, strlen(e->prefix)) ? 0 : strlen(e->prefix);
  sscanf(name, gpt2 ? "h.%d.%n" : "layers.%d.%n", &layer, &used);
  snprintf(part, sizeof part, "%.*s", (int)(end - name) - used, name + used);
  while (strcmp(gguf_names[i][1 + gpt2], part)) i++; /* the family has no other names */
  if (used) snprintf(out, 120, "blk.%d.%s%s", layer, gguf_names[i][0], end);
  else snprintf(out, 120, "%s%s", gguf_names[i][0], end);
  return out;
}

/* The bits of a number as f16; 0: it is none, and they are another's. */
static int half_bits(float x, unsigned *bits) {
  const double size = fabs((double)x);
  uint32_t own;
  int exponent;
  double part = frexp(size, &exponent); /* size = part 2^exponent, part from 0.5 to 1 */
  memcpy(&own, &x, sizeof own);
  *bits = own >> 31 << 15;
  if (!(size <= 65504.0)) return 0;
  if (size < ldexp(1.0, -14)) part = ldexp(size, 24);
  else {
    part = ldexp(part, 11) - 1024.0;
    *bits |= (unsigned)(exponent + 14) << 10;
  }
  *bits |= (unsigned)part;
  return !(part > floor(part));
}

/* Whether a tensor is stored as f16: a matrix whose numbers all are f16. */
static int gguf_halves(const foreign *t) {
  unsigned bits;
  size_t i;
  for (i = 0; i < t->count; i++)
    if (t->rank < 2 || !half_bits(little_float(little32(t->data + 4 * i)), &bits)) return 0;
  return 1;
}

/* Descriptions of the tensors, then their numbers, each from a multiple of 32 bytes on. */
static void gguf_tensors(exporter *e, buffer *head, buffer *data) {
  size_t i, k;
  for (i = 0; i < e->p.count; i++) {
    const foreign *t = &e->p.tensors[i];
    const int halves = gguf_halves(t);
    unsigned bits = 0;
    while (data->size % 32) put_byte(data, 0);
    gguf_put_text(head, syn_text_of(gguf_name_of(e, t->name)));
    put_little(head, (uint64_t)t->rank, 4);
    for (k = (size_t)t->rank; k; k--) put_little(head, t->shape[k - 1], 8);
    put_little(head, (uint64_t)halves, 4); /* type 0: f32, 1: f16 */
    put_little(head, data->size, 8);
    for (k = 0; halves && k < t->count; k++) {
      half_bits(little_float(little32(t->data + 4 * k)), &bits);
      put_little(data, bits, 2);
    }
    if (!halves) put(data, (const char *)t->data, t->bytes);
  }
}

static void export_gguf(exporter *e, const char *path) {
  buffer head = {NULL, 0, 0}, file = {NULL, 0, 0}, data = {NULL, 0, 0};
  gguf_key_text(e, "general", "architecture", e->family);
  gguf_network_keys(e);
  gguf_tokenizer_keys(e);
  gguf_tensors(e, &head, &data);
  put(&file, "GGUF", 4);
  put_little(&file, 3, 4);
  put_little(&file, e->p.count, 8);
  put_little(&file, e->keys, 8);
  put(&file, e->config.at, e->config.size);
  put(&file, head.at, head.size);
  while (file.size % 32) put_byte(&file, 0);
  put(&file, data.at, data.size);
  write_file(path, file.at, file.size);
  free(head.at);
  free(file.at);
  free(data.at);
}

/* ==============================================================================================
   >>export command
   ============================================================================================== */

static int run_export(const arguments *a) {
  const char *path = opt_text(a, "output");
  syn_model *m;
  syn_context c;
  exporter e;
  memset(&e, 0, sizeof e);
  context_open(&c, a);
  e.gguf = !strcmp(opt_text(a, "format"), "gguf");
  e.path = e.p.path = opt_text(a, "model");
  m = syn_model_load(&c, e.path);
  check_file(&c, e.path);
  e.m = m;
  e.k = syn_model_config(m);
  export_network(&e);
  put_byte(&e.p.rules, 0);
  e.p.rules.size--;
  export_tokens(&e);
  export_tensors(&e);
  if (e.gguf) export_gguf(&e, path);
  else export_hf(&e, path);
  if (!e.tokens.kind && syn_model_tokenizer(m, e.k->decoder ? SYN_TGT : SYN_SRC))
    fprintf(stderr, "syn: no tokenizer is written: the formats have one of unigram, llama, gpt2 or "
            "wordpiece\n");
  token_parts_free(&e.tokens);
  checkpoint_free(&e.p);
  free(e.config.at);
  free(e.ids);
  syn_model_free(m);
  return 0;
}
