/* import.h   reads the checkpoints of other programs: the text of the network, and its weights.
   A part of syn.c, which includes it behind token_files.h. */

/* It stands here and not in synthesizer.h, on the public functions alone: a program that runs a
   model reads a model file, and needs none of this. So the library and its boards stay small, and a
   family of networks is a text, a map of names and the keys of a configuration. A program of yours
   includes it behind synthesizer.h, with TOOL_NAME defined and tool.h, text.h, options.h, json.h
   and token_files.h before it, and calls syn_import. */

/* ==============================================================================================
   >>import checkpoint   tensors and configuration of another program
   ============================================================================================== */

/* How a tensor is stored. From Q4_0 on: blocks of GGUF. */
enum {
  FOREIGN_F32,
  FOREIGN_F16,
  FOREIGN_BF16,
  FOREIGN_I8,
  FOREIGN_I16,
  FOREIGN_I32,
  FOREIGN_F64,
  FOREIGN_OTHER,
  FOREIGN_Q4_0,
  FOREIGN_Q8_0,
  FOREIGN_Q4_K,
  FOREIGN_Q6_K
};

typedef struct foreign {
  const char *name; /* in the names of the checkpoint, or after it */
  int type, rank;
  size_t shape[4], count;
  const unsigned char *data; /* little-endian, at any address */
  size_t bytes;
  const unsigned char *scales; /* [scales_count] floats, each of as many integers in a row */
  size_t scales_count;
  int divided; /* value = integer / scale, else integer times scale */
  int used;    /* 1: taken, or known and not needed */
} foreign;

/* The tokens of one side. Ours: 0 padding, 1 unknown, 2 begin, 3 end; the others of the checkpoint
   follow from 4 on in its order. */
typedef struct foreign_vocabulary {
  int count, size;  /* tokens of the checkpoint; of ours */
  int special[4];   /* numbers of padding, unknown, begin, end in the checkpoint; -1: none */
  int *number, *id; /* [size] our id to its number, -1: it has none; [count] back */
} foreign_vocabulary;

typedef struct syn_import_options {
  const char *tokenizer; /* a file or folder; 0: what lies beside the checkpoint */
  int max_len;           /* 0: that of the checkpoint, at most IMPORT_LENGTH */
  int separator;         /* number of BERT's [SEP], where no tokenizer tells it; 0: none */
  /* of a file of named arrays: the network as for syn_config, and the file of its map */
  const char *map, *task, *encoder, *decoder, *tie;
  int d_model, heads;
  FILE *report; /* gets text and tensors; 0: nothing does */
} syn_import_options;

enum { IMPORT_LENGTH = 4096, IMPORT_FILES = 64 };

typedef struct checkpoint {
  syn_context *c;
  const syn_import_options *options;
  const char *path;
  syn_file *files[IMPORT_FILES]; /* safetensors */
  void **blocks;                 /* [n_blocks] files of other formats, names */
  size_t n_files, n_blocks, block_cap;
  foreign *tensors; /* [count] sorted by name */
  size_t count, cap;
  json config, generation; /* config.json; generation_config.json, if there is one */
  unsigned char *known;    /* [config.count] 1: the import knows this key */
  /* what the network is: the texts, the rules that fill its parameters, see >>import map */
  buffer encoder, decoder, rules;
  syn_config k;
  foreign_vocabulary vocabulary[2]; /* SYN_SRC, SYN_TGT */
  syn_tokenizer *tokenizers[2];     /* of the sides; null: the model works with ids alone */
  syn_text *names[2]; /* [vocabulary] tokens of the sides, where the format lists them */
  int hidden;         /* layers of the encoder in front of the head; 0: all */
  int integers;       /* FOREIGN_I8, FOREIGN_I16 where weights are stored so */
  int banned;         /* number of a token that a search never chooses; -1: none */
  int forced_end;     /* 1: the last token that a search has room for is the end */
  int writes;         /* 1: an export fills it, which has no tensors yet */
  syn_model *m;
} checkpoint;

/* Keeps a block until the import is done. */
static void *checkpoint_keep(checkpoint *p, void *block) {
  if (p->n_blocks == p->block_cap) {
    p->block_cap = p->block_cap ? 2 * p->block_cap : 64;
    p->blocks = (void **)grow(p->blocks, p->block_cap, sizeof *p->blocks);
  }
  return p->blocks[p->n_blocks++] = block;
}

/* A path of a file in a folder; the caller frees it. */
static char *path_inside(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = (char *)take(size, 1);
  snprintf(path, size, "%s%s%s", folder, *folder ? "/" : "", name);
  return path;
}

static int foreign_order(const void *a, const void *b) {
  return strcmp(((const foreign *)a)->name, ((const foreign *)b)->name);
}

static foreign *checkpoint_add(checkpoint *p, const char *name, int type, int rank) {
  foreign *t;
  if (p->count == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 64;
    p->tensors = (foreign *)grow(p->tensors, p->cap, sizeof *p->tensors);
  }
  t = &p->tensors[p->count++];
  memset(t, 0, sizeof *t);
  t->name = name;
  t->type = type;
  t->rank = rank;
  t->count = 1;
  return t;
}

/* The tensor of this name, also behind the name of the part of a model that holds it. */
static foreign *checkpoint_find(const checkpoint *p, const char *name) {
  static const char *const parts[] = {"",         "transformer.", "model.", "bert.",
                                      "roberta.", "distilbert.",  "albert."};
  char whole[300];
  foreign wanted, *found = NULL;
  size_t i;
  wanted.name = whole;
  for (i = 0; i < COUNT(parts) && !found && p->count; i++) {
    snprintf(whole, sizeof whole, "%s%s", parts[i], name);
    found = (foreign *)bsearch(&wanted, p->tensors, p->count, sizeof wanted, foreign_order);
  }
  return found;
}

static float half_value(unsigned h) {
  const int exponent = (int)(h >> 10 & 31);
  const double part = (double)(h & 1023), sign = h >> 15 ? -1.0 : 1.0;
  if (exponent == 31) return (float)(part > 0.0 ? (double)NAN : sign * (double)INFINITY);
  if (!exponent) return (float)(sign * ldexp(part, -24));
  return (float)(sign * ldexp(1024.0 + part, exponent - 25));
}
static unsigned little16(const unsigned char *at) { return at[0] | (unsigned)at[1] << 8; }
static uint32_t little32(const unsigned char *at) {
  return little16(at) | (uint32_t)little16(at + 2) << 16;
}
static uint64_t little64(const unsigned char *at) {
  return little32(at) | (uint64_t)little32(at + 4) << 32;
}
static float little_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double double_value(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Blocks of GGUF (ggml's ggml-quants.c): y [32] or [256] of one block. Q4_0 and Q8_0: a scale,
   then 4 or 8 bits. Q4_K: scale and minimum of 8 parts of 32, of 6 bits. Q6_K: 16 parts. */
static void block_q4_0(const unsigned char *at, float *y) {
  const float d = half_value(little16(at));
  int j;
  for (j = 0; j < 16; j++) {
    y[j] = (float)((at[2 + j] & 15) - 8) * d;
    y[j + 16] = (float)((at[2 + j] >> 4) - 8) * d;
  }
}
static void block_q8_0(const unsigned char *at, float *y) {
  const float d = half_value(little16(at));
  int j;
  for (j = 0; j < 32; j++) y[j] = (float)(signed char)at[2 + j] * d;
}
static void block_q4_k(const unsigned char *at, float *y) {
  const float d = half_value(little16(at)), least = half_value(little16(at + 2));
  const unsigned char *q = at + 4, *bits = at + 16;
  int j, l;
  for (j = 0; j < 8; j++) {
    const int scale = j < 4 ? q[j] & 63 : (q[j + 4] & 15) | (q[j - 4] >> 6) << 4;
    const int minimum = j < 4 ? q[j + 4] & 63 : q[j + 4] >> 4 | (q[j] >> 6) << 4;
    const float step = d * (float)scale, low = least * (float)minimum;
    for (l = 0; l < 32; l++) {
      const float part = step * (float)(bits[32 * (j / 2) + l] >> 4 * (j % 2) & 15);
      y[32 * j + l] = part - low;
    }
  }
}
static void block_q6_k(const unsigned char *at, float *y) {
  const float d = half_value(little16(at + 208));
  int i;
  for (i = 0; i < 256; i++) {
    const int half = i / 128, part = i % 128 / 32, l = i % 32;
    const int low = at[64 * half + 32 * (part % 2) + l] >> 4 * (part / 2) & 15;
    const int high = at[128 + 32 * half + l] >> 2 * part & 3;
    const int scale = (signed char)at[192 + 8 * half + 2 * part + l / 16];
    y[i] = d * (float)scale * (float)((low | high << 4) - 32);
  }
}

static const struct {
  int type;
  size_t bytes, count; /* of a block */
  void (*read)(const unsigned char *at, float *y);
} block_types[] = {{FOREIGN_Q4_0, 18, 32, block_q4_0},
                   {FOREIGN_Q8_0, 34, 32, block_q8_0},
                   {FOREIGN_Q4_K, 144, 256, block_q4_k},
                   {FOREIGN_Q6_K, 210, 256, block_q6_k}};

/* Its numbers; the caller frees them. */
static float *foreign_floats(const checkpoint *p, const foreign *t) {
  float *x = (float *)take(t->count, sizeof *x);
  const size_t row = t->scales_count ? t->count / t->scales_count : 0;
  size_t i, k;
  for (k = 0; t->type > FOREIGN_OTHER && k < COUNT(block_types); k++)
    for (i = 0; block_types[k].type == t->type && i < t->count / block_types[k].count; i++)
      block_types[k].read(t->data + i * block_types[k].bytes, x + i * block_types[k].count);
  for (i = 0; t->type <= FOREIGN_OTHER && i < t->count; i++) {
    const unsigned char *at = t->data;
    switch (t->type) {
      case FOREIGN_F32: x[i] = little_float(little32(at + 4 * i)); break;
      case FOREIGN_F16: x[i] = half_value(little16(at + 2 * i)); break;
      case FOREIGN_BF16: x[i] = little_float((uint32_t)little16(at + 2 * i) << 16); break;
      case FOREIGN_F64: x[i] = (float)double_value(little64(at + 8 * i)); break;
      case FOREIGN_I8: x[i] = (float)(signed char)at[i]; break;
      case FOREIGN_I16: x[i] = (float)(int16_t)(uint16_t)little16(at + 2 * i); break;
      default: fail(FAILED_JOB, "%s: tensor %s has a type that is not read", p->path, t->name);
    }
    if (row) {
      const float scale = little_float(little32(t->scales + 4 * (i / row)));
      x[i] = t->divided ? x[i] / scale : x[i] * scale;
    }
  }
  return x;
}

/* ==============================================================================================
   >>import configuration   every key is known and used, known and harmless, or refused
   ============================================================================================== */

/* Keys that change nothing of what is computed without dropout, or only what a search does. */
static const char *const harmless_keys =
    "architectures|_name_or_path|torch_dtype|dtype|transformers_version|use_cache|initializer_"
    "range|"
    "initializer_factor|init_std|attention_dropout|activation_dropout|classifier_dropout|"
    "classifier_dropout_prob|attn_pdrop|embd_pdrop|attention_probs_dropout_prob|summary_type|"
    "summary_use_proj|summary_activation|summary_proj_to_labels|summary_first_dropout|id2label|"
    "label2id|num_labels|output_attentions|output_hidden_states|output_past|return_dict|"
    "torchscript|use_bfloat16|finetuning_task|task_specific_params|do_sample|early_stopping|"
    "length_penalty|max_length|min_length|num_beams|num_beam_groups|diversity_penalty|"
    "repetition_penalty|temperature|top_k|top_p|typical_p|no_repeat_ngram_size|"
    "encoder_no_repeat_ngram_size|num_return_sequences|prefix|problem_type|gradient_checkpointing|"
    "remove_invalid_values|chunk_size_feed_forward|bos_token_id|eos_token_id|sep_token_id|"
    "cls_token_id|pad_token_id|_num_labels|_attn_implementation_autoset|transformers.js_config|"
    "xla_device|"
    "tokenizer_class|model_type|pretraining_tp|is_encoder_decoder|is_decoder|is_llama_config|"
    "directionality|pooler_fc_size|pooler_num_attention_heads|pooler_num_fc_layers|"
    "pooler_size_per_head|pooler_type|n_ctx|reorder_and_upcast_attn|eos_token_ids|seq_classif_"
    "dropout|"
    "qa_dropout|down_scale_factor|gap_size|net_structure_type|num_memory_blocks|n_positions|"
    "max_position_embeddings|sinusoidal_pos_embds|encoder_layerdrop|decoder_layerdrop|"
    "decoder_vocab_size|num_hidden_layers|max_window_layers|output_scores|"
    "return_dict_in_generate|tf_legacy_loss|classif_dropout|mask_token_id";

/* Those of them that make a search choose other tokens than the best ones; 0 and 1 are off. */
static const char *const search_keys =
    "repetition_penalty|no_repeat_ngram_size|encoder_no_repeat_ngram_size|min_length|"
    "diversity_penalty";

/* The file that holds a value. */
static const json *file_of(const checkpoint *p, const json_value *v) {
  size_t i = 0;
  while (i < p->generation.count && v != p->generation.at + i) i++;
  return i < p->generation.count ? &p->generation : &p->config;
}
/* A value as a message shows it. */
static void value_text(const checkpoint *p, const json_value *v, char out[80]) {
  static const char *const words[] = {"null", "false", "true"};
  const json_value *kind = NULL;
  if (v && v->kind == JSON_OBJECT) {
    const json *j = file_of(p, v);
    kind = json_get(j, v, "rope_type");
    if (!kind) kind = json_get(j, v, "type");
  }
  if (kind && kind->kind == JSON_TEXT) v = kind;
  if (!v) snprintf(out, 80, "nothing");
  else if (v->kind < JSON_NUM)
    snprintf(out, 80, "%s", words[v->kind]);
  else if (v->kind <= JSON_TEXT)
    snprintf(out, 80, "%.*s", short_size(v->text), v->text.at);
  else
    snprintf(out, 80, v->kind == JSON_LIST ? "a list" : "an object");
}

/* The value of a key, which is known from now on; null: it is not there, or null. */
static const json_value *key_of(checkpoint *p, const char *name) {
  const json_value *v = json_get(&p->config, p->config.at, name);
  if (v) p->known[v - p->config.at] = 1;
  return v && v->kind != JSON_NULL ? v : NULL;
}
static void key_fail(const checkpoint *p, const char *name, const json_value *v,
                     const char *wanted) NO_RETURN;
static void key_fail(const checkpoint *p, const char *name, const json_value *v,
                     const char *wanted) {
  char text[80];
  value_text(p, v, text);
  fail(FAILED_JOB, "%s: %s%s: %s is not read; wanted: %s", p->path,
       file_of(p, v) == &p->generation ? "generation_config.json: " : "", name, text, wanted);
}
static int key_int(checkpoint *p, const char *name, int otherwise) {
  const json_value *v = key_of(p, name);
  const int n = json_int(v, -1);
  if (!v && otherwise >= 0) return otherwise;
  if (n < 0) key_fail(p, name, v, "a whole number");
  return n;
}
/* A number of tokens, layers, columns. */
static int key_size(checkpoint *p, const char *name, int otherwise) {
  const int n = key_int(p, name, otherwise);
  if (n < 1 || n > 1 << 24) key_fail(p, name, key_of(p, name), "from 1 to 16777216");
  return n;
}
static double key_number(checkpoint *p, const char *name, double otherwise) {
  const json_value *v = key_of(p, name);
  if (v && v->kind != JSON_NUM) key_fail(p, name, v, "a number");
  return json_double(v, otherwise);
}
static int key_true(checkpoint *p, const char *name, int otherwise) {
  const json_value *v = key_of(p, name);
  if (v && v->kind != JSON_TRUE && v->kind != JSON_FALSE) key_fail(p, name, v, "true or false");
  return v ? json_true(v) : otherwise;
}
/* Refuses a key unless it is not there or has one of the values of "a|b". */
static void key_must(checkpoint *p, const char *name, const char *values) {
  const json_value *v = key_of(p, name);
  char text[80];
  value_text(p, v, text);
  if (v && !in_choices(values, text)) key_fail(p, name, v, values);
}
/* What tells of a search: generation_config.json, where it has the key, else config.json. */
static const json_value *key_search(checkpoint *p, const char *name) {
  const json_value *v = key_of(p, name), *now = NULL;
  if (p->generation.count) now = json_get(&p->generation, p->generation.at, name);
  return now && now->kind != JSON_NULL ? now : v;
}
/* A token; -1: none. Of a list the first one. */
static int key_token(checkpoint *p, const char *name) {
  const json_value *v = key_search(p, name);
  if (v && v->kind == JSON_LIST) {
    if (v->count > 1 && p->options->report)
      fprintf(p->options->report, "%s: the first of %lu tokens is taken\n", name,
              (unsigned long)v->count);
    v = json_first(v);
  }
  return json_int(v, -1);
}
/* Of an output: the padding may be forbidden, the end forced at the longest length; no more. */
static void keys_search(checkpoint *p, int padding) {
  static const char *const names[] = {"suppress_tokens", "begin_suppress_tokens", "sequence_bias",
                                      "forced_bos_token_id", "forced_decoder_ids"};
  const json_value *v = key_search(p, "bad_words_ids"), *word = json_first(v);
  size_t i;
  if (v && (v->kind != JSON_LIST || v->count > 1 ||
            (word && (word->count != 1 || json_int(json_first(word), -1) != padding))))
    key_fail(p, "bad_words_ids", v, "[[pad_token_id]]");
  if (word) p->banned = padding;
  v = key_search(p, "forced_eos_token_id");
  if (v && json_int(v, -1) != key_token(p, "eos_token_id"))
    key_fail(p, "forced_eos_token_id", v, "null, or eos_token_id");
  p->forced_end = v != NULL;
  for (i = 0; i < COUNT(names); i++) {
    v = key_search(p, names[i]);
    if (v && (v->kind < JSON_LIST || v->count)) key_fail(p, names[i], v, "null");
  }
}

/* The word of our language for an activation. */
static const char *key_activation(checkpoint *p, const char *name, const char *otherwise) {
  static const char *const words[][2] = {{"gelu_new", "gelu"},
                                         {"gelu_pytorch_tanh", "gelu"},
                                         {"gelu_fast", "gelu"},
                                         {"gelu", "gelu_erf"},
                                         {"gelu_python", "gelu_erf"},
                                         {"relu", "relu"},
                                         {"silu", "swish"},
                                         {"swish", "swish"},
                                         {"quick_gelu", "quick_gelu"},
                                         {"tanh", "tanh"}};
  const json_value *v = key_of(p, name);
  size_t i;
  for (i = 0; i < COUNT(words); i++)
    if (v ? json_is(v, words[i][0]) : !strcmp(otherwise, words[i][0])) return words[i][1];
  key_fail(p, name, v, "gelu_new, gelu, relu, silu, swish, quick_gelu, tanh");
  return NULL;
}

/* Refuses the keys that no family reads; those that are off (null, false) change nothing. */
static void keys_done(const checkpoint *p) {
  const json_value *v = json_first(p->config.at);
  char name[80], text[80];
  for (; v; v = json_after(&p->config, v)) {
    snprintf(name, sizeof name, "%.*s", short_size(v->key), v->key.at);
    value_text(p, v, text);
    if (in_choices(search_keys, name) && p->options->report && json_double(v, 0.0) > 0.0 &&
        json_double(v, 0.0) != 1.0)
      fprintf(p->options->report, "%s: %s: of a search, is not taken\n", name, text);
    if (p->known[v - p->config.at] || v->kind <= JSON_FALSE || in_choices(harmless_keys, name) ||
        (v->kind >= JSON_LIST && !v->count))
      continue;
    fail(FAILED_JOB,
         "%s: %s: %s: this key is not known, so that the network might compute "
         "something else",
         p->path, name, text);
  }
}

/* ==============================================================================================
   >>import map   which tensor, or which part of it, fills which parameter
   ============================================================================================== */

/* A rule is a line:   OURS THEIRS [options]     or   - THEIRS: known, not needed
   OURS is the name of a parameter, THEIRS that of a tensor; * in both stands for 0, 1, 2 ... while
   there is such a parameter (in a line with -: for any text). In place of THEIRS a number fills
   all of it. Options: T: theirs is [in,out], ours [out,in]. 1/3: the second third of its rows.
   @0/2: it fills the first half of our rows. +2: without its first 2 rows. <: ours may be fewer
   rows, the first ones. ?: nothing, where there is no such tensor. 1+: 1 is added to each number.
   Rows of embeddings and of out are those of the tokens, see foreign_vocabulary. A line with # is a
   comment, one with = tells of tokens, see custom_side. */

typedef struct map_rule {
  char ours[120], theirs[200];
  int constant, transposed, skip, fewer, optional, plus;
  int part, parts, to, tos;
  double value;
  size_t line;
} map_rule;

static map_rule rule_of(const checkpoint *p, syn_text line, size_t number) {
  map_rule r;
  syn_text rest = line, word;
  int words = 0;
  memset(&r, 0, sizeof r);
  r.parts = r.tos = 1;
  r.line = number;
  while (next_piece(&rest, " \t", &word)) {
    char text[200];
    if (!word.size) continue;
    snprintf(text, sizeof text, "%.*s", (int)(word.size < 199 ? word.size : 199), word.at);
    if (!words++) snprintf(r.ours, sizeof r.ours, "%.119s", text);
    else if (words == 2)
      snprintf(r.theirs, sizeof r.theirs, "%s", text);
    else if (!strcmp(text, "T"))
      r.transposed = 1;
    else if (!strcmp(text, "<"))
      r.fewer = 1;
    else if (!strcmp(text, "?"))
      r.optional = 1;
    else if (!strcmp(text, "1+"))
      r.plus = 1;
    else if (sscanf(text, "+%d", &r.skip) != 1 && sscanf(text, "@%d/%d", &r.to, &r.tos) != 2 &&
             sscanf(text, "%d/%d", &r.part, &r.parts) != 2)
      words = 99;
  }
  if (words < 2 || words > 50 || r.parts < 1 || r.part < 0 || r.part >= r.parts || r.tos < 1 ||
      r.to < 0 || r.to >= r.tos || r.skip < 0)
    fail(FAILED_JOB,
         "%s: line %lu of the map: %.*s: wanted OURS THEIRS [T] [I/N] [@I/N] [+N] [<] "
         "[?] [1+]",
         p->path, (unsigned long)number, short_size(line), line.at);
  r.constant = parse_number(r.theirs, &r.value);
  if (r.constant && r.plus)
    fail(FAILED_JOB, "%s: line %lu of the map: %.*s: 1+ is for a tensor, %s is a number", p->path,
         (unsigned long)number, short_size(line), line.at, r.theirs);
  return r;
}

/* Writes a name with i in place of its *. */
static void name_with(char *out, size_t size, const char *name, int i) {
  const size_t before = strcspn(name, "*");
  if (name[before]) snprintf(out, size, "%.*s%d%s", (int)before, name, i, name + before + 1);
  else
    snprintf(out, size, "%s", name);
}

/* Whether a name is the pattern, in which a * stands for any text. */
static int name_fits(const char *name, const char *pattern) {
  const char *star = NULL, *from = name;
  while (*name) {
    if (*pattern == '*') star = ++pattern, from = name;
    else if (*pattern == *name)
      pattern++, name++;
    else if (star)
      pattern = star, name = ++from;
    else
      return 0;
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

/* Rows and columns of a tensor for a parameter of this rank; a vector is a column. Axes of 1 that
   stand before those of the parameter do not count. */
static void foreign_shape(const foreign *t, int rank, size_t shape[2]) {
  int first = 0;
  while (first < t->rank - rank && t->shape[first] == 1) first++;
  shape[0] = t->rank ? t->shape[first] : 1;
  shape[1] = shape[0] ? t->count / shape[0] : 0;
}

/* The vocabulary whose tokens are the rows of a parameter, or null. */
static const foreign_vocabulary *vocabulary_of(const checkpoint *p, const char *name) {
  const int classify = p->k.task[0] == 'c';
  if (!strcmp(name, "src.embed")) return &p->vocabulary[SYN_SRC];
  if (!strcmp(name, "tgt.embed")) return &p->vocabulary[SYN_TGT];
  if (strncmp(name, "out.", 4) || classify) return NULL;
  return &p->vocabulary[p->decoder.size > 1 ? SYN_TGT : SYN_SRC];
}

/* What is added to the logits of an id that the checkpoint does not have, or has a second time. It
   has the row of a real token, so it lies that far below it: it never wins, and e^-100 of a
   probability is less than float rounds to. */
static const float no_token = -100.0f;
static int real_token(const foreign_vocabulary *v, int id) {
  return v->number[id] >= 0 && v->id[v->number[id]] == id;
}

/* x [rows,cols] of theirs, from row `first` of ours on; step: numbers from one of its rows to the
   next, to: from one of its columns. */
static void place_rows(const syn_param *mine, const map_rule *r, const foreign_vocabulary *v,
                       const float *x, const size_t shape[2], size_t rows) {
  const size_t mine_rows = (size_t)mine->shape[0], cols = mine->size / mine_rows;
  const size_t skip = (size_t)r->skip + shape[0] / (size_t)r->parts * (size_t)r->part;
  float *to = mine->x + mine_rows / (size_t)r->tos * (size_t)r->to * cols;
  size_t i, j;
  for (i = 0; i < rows; i++) {
    size_t row = skip + i;
    if (v) row = skip + (v->number[i] < 0 ? 0 : (size_t)v->number[i]);
    for (j = 0; j < cols; j++)
      to[i * cols + j] =
          (float)r->plus + (r->transposed ? x[j * shape[0] + row] : x[row * cols + j]);
    if (v && mine->rank == 1 && !real_token(v, (int)i)) to[i] += no_token;
  }
}

/* One rule for one parameter; returns how many numbers it has filled. */
static size_t rule_apply(checkpoint *p, const map_rule *r, const syn_param *mine, foreign *t) {
  const size_t mine_rows = (size_t)mine->shape[0], cols = mine->size / mine_rows;
  const foreign_vocabulary *v = vocabulary_of(p, mine->name);
  size_t shape[2], rows = mine_rows / (size_t)r->tos, theirs;
  float *x;
  foreign_shape(t, mine->rank, shape);
  if (r->transposed) theirs = shape[0], shape[0] = shape[1], shape[1] = theirs;
  theirs = shape[0] / (size_t)r->parts;
  theirs = theirs > (size_t)r->skip ? theirs - (size_t)r->skip : 0;
  if (mine_rows % (size_t)r->tos || shape[0] % (size_t)r->parts || cols != shape[1] ||
      (v          ? theirs != (size_t)v->count
       : r->fewer ? theirs < rows
                  : theirs != rows))
    fail(FAILED_JOB, "%s: tensor %s has %lu rows of %lu numbers for %s, wanted: %lu of %lu",
         p->path, t->name, (unsigned long)theirs, (unsigned long)shape[1], mine->name,
         (unsigned long)(v ? (size_t)v->count : rows), (unsigned long)cols);
  x = foreign_floats(p, t);
  place_rows(mine, r, v, x, shape, rows);
  free(x);
  t->used = 1;
  if (p->options->report)
    fprintf(p->options->report, "  %-28s %8lu numbers of %s\n", mine->name,
            (unsigned long)(rows * cols), t->name);
  return rows * cols;
}

static size_t rule_fill(checkpoint *p, const map_rule *r, const syn_param *mine) {
  const foreign_vocabulary *v = vocabulary_of(p, mine->name);
  size_t i;
  UNUSED(p);
  for (i = 0; i < mine->size; i++) mine->x[i] = (float)r->value;
  for (i = 0; v && mine->rank == 1 && i < mine->size; i++)
    if (!real_token(v, (int)i)) mine->x[i] += no_token;
  return mine->size;
}

/* filled [parameters of the model] counts the numbers of each. */
static void rule_run(checkpoint *p, const map_rule *r, size_t *filled) {
  const int many = strchr(r->ours, '*') != NULL;
  char ours[160], theirs[240];
  int i;
  for (i = 0; i == 0 || many; i++) {
    const syn_param *mine;
    foreign *t;
    size_t at = 0;
    name_with(ours, sizeof ours, r->ours, i);
    name_with(theirs, sizeof theirs, r->theirs, i);
    mine = syn_model_find(p->m, ours);
    if (!mine && i) return;
    if (!mine)
      fail(FAILED_JOB, "%s: line %lu of the map: the network has no parameter %s", p->path,
           (unsigned long)r->line, ours);
    while (syn_model_param(p->m, at) != mine) at++;
    t = r->constant ? NULL : checkpoint_find(p, theirs);
    if (!t && !r->constant && r->optional) continue;
    if (!t && !r->constant)
      fail(FAILED_JOB, "%s: tensor %s is missing, which fills %s", p->path, theirs, ours);
    filled[at] += t ? rule_apply(p, r, mine, t) : rule_fill(p, r, mine);
  }
}

/* Every parameter is filled, every tensor is taken or known. */
static void map_done(const checkpoint *p, const size_t *filled) {
  size_t i;
  for (i = 0; i < syn_model_param_count(p->m); i++) {
    const syn_param *mine = syn_model_param(p->m, i);
    if (filled[i] != mine->size)
      fail(FAILED_JOB, "%s: parameter %s has %lu numbers, the map fills %lu of them", p->path,
           mine->name, (unsigned long)mine->size, (unsigned long)filled[i]);
  }
  for (i = 0; i < p->count; i++)
    if (!p->tensors[i].used)
      fail(FAILED_JOB, "%s: tensor %s belongs to nothing in this network", p->path,
           p->tensors[i].name);
}

static void map_run(checkpoint *p) {
  size_t *filled = (size_t *)take(syn_model_param_count(p->m), sizeof *filled), line = 0, i;
  syn_text rest = buffer_text(&p->rules), text;
  while (next_piece(&rest, "\n", &text)) {
    map_rule r;
    line++;
    if (!text.size || strchr("#=", *text.at)) continue;
    r = rule_of(p, text, line);
    if (strcmp(r.ours, "-") != 0) rule_run(p, &r, filled);
    for (i = 0; !strcmp(r.ours, "-") && i < p->count; i++) {
      if (!name_fits(p->tensors[i].name, r.theirs)) continue;
      if (!p->tensors[i].used && p->options->report)
        fprintf(p->options->report, "  %-28s is not taken\n", p->tensors[i].name);
      p->tensors[i].used = 1;
    }
  }
  map_done(p, filled);
  free(filled);
}

/* ==============================================================================================
   >>import vocabulary   tokens of the checkpoint and ours
   ============================================================================================== */

/* Refuses a vocabulary that would take more memory than the file. */
static void vocabulary_fits(const checkpoint *p, int count) {
  double numbers = 0.0;
  size_t i;
  for (i = 0; i < p->count; i++) numbers += (double)p->tensors[i].count;
  if ((double)count > numbers)
    fail(FAILED_JOB, "%s: a vocabulary of %d, more than there are numbers", p->path, count);
}

/* Fills number and id of a side from its special tokens, or from its tokenizer. */
static void vocabulary_make(checkpoint *p, int side, int count) {
  foreign_vocabulary *v = &p->vocabulary[side];
  int i, k, next = 4, specials = 0;
  v->count = count;
  for (i = 0; i < 4; i++) {
    int same = 0;
    if (v->special[i] >= count)
      fail(FAILED_JOB, "%s: token %d is special, the vocabulary has %d", p->path, v->special[i],
           count);
    for (k = 0; k < i; k++) same |= v->special[k] == v->special[i];
    specials += v->special[i] >= 0 && !same;
  }
  v->size = 4 + count - specials;
  v->number = (int *)take((size_t)v->size, sizeof *v->number);
  v->id = (int *)take((size_t)count, sizeof *v->id);
  for (i = 0; i < count; i++) v->id[i] = -1;
  for (i = 0; i < 4; i++) {
    v->number[i] = v->special[i];
    if (v->special[i] >= 0) v->id[v->special[i]] = i; /* of two the last */
  }
  for (i = 0; i < count; i++) {
    if (v->id[i] >= 0) continue;
    v->number[next] = i;
    v->id[i] = next++;
  }
}

static void specials_are(checkpoint *p, int padding, int unknown, int begin, int end) {
  int side;
  for (side = 0; side < 2; side++) {
    int *special = p->vocabulary[side].special;
    special[0] = padding;
    special[1] = unknown;
    special[2] = begin;
    special[3] = end;
  }
}

/* ==============================================================================================
   >>import families   configuration to network: texts and rules of each family
   ============================================================================================== */

static void put_line(buffer *b, const char *format, ...) PRINTF_LIKE(2, 3);
static void put_line(buffer *b, const char *format, ...) {
  char text[1500];
  va_list args;
  int size;
  va_start(args, format);
  size = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (size >= (int)sizeof text) fail(FAILED_JOB, "%s: too long a line", text);
  put(b, text, (size_t)size);
}

/* The length: what the options want, of a checkpoint with a table of places at most that. */
static void length_is(checkpoint *p, int most, int table) {
  const int wanted = p->options->max_len;
  if (wanted > most && table)
    fail(FAILED_JOB, "--max-len %d: %s has %d places", wanted, p->path, most);
  p->k.max_len = wanted ? wanted : most < IMPORT_LENGTH || table ? most : IMPORT_LENGTH;
}

/* Layers: no more than tensors, so that a wrong number takes no more memory than the file. */
static int key_layers(checkpoint *p, const char *name, int otherwise) {
  const int layers = key_size(p, name, otherwise);
  if ((size_t)layers > p->count && !p->writes)
    key_fail(p, name, key_of(p, name), "no more layers than tensors");
  return layers;
}

/* transposed: matrices are [in,out], as those of Hugging Face. */
static void gpt2_network(checkpoint *p, const char *block, int layers, double eps, int tied,
                         int transposed) {
  const char *t = transposed ? "T" : "";
  p->k.task = "lm";
  p->k.tie = tied ? "out" : "none";
  put_line(&p->decoder, "learn_pos -> repeat(%d, %s) -> norm(eps=%.9g)", layers, block, eps);
  put_line(&p->rules,
           "tgt.embed wte.weight\n"
           "decoder.0.w wpe.weight <\n"
           "decoder.1.*.0.0.g h.*.ln_1.weight\ndecoder.1.*.0.0.b h.*.ln_1.bias\n"
           "decoder.1.*.0.1.w_q h.*.attn.c_attn.weight %s 0/3\n"
           "decoder.1.*.0.1.w_k h.*.attn.c_attn.weight %s 1/3\n"
           "decoder.1.*.0.1.w_v h.*.attn.c_attn.weight %s 2/3\n"
           "decoder.1.*.0.1.b_q h.*.attn.c_attn.bias 0/3\n"
           "decoder.1.*.0.1.b_k h.*.attn.c_attn.bias 1/3\n"
           "decoder.1.*.0.1.b_v h.*.attn.c_attn.bias 2/3\n"
           "decoder.1.*.0.1.w_o h.*.attn.c_proj.weight %s\n"
           "decoder.1.*.0.1.b_o h.*.attn.c_proj.bias\n",
           t, t, t, t);
  put_line(&p->rules,
           "decoder.1.*.1.0.g h.*.ln_2.weight\ndecoder.1.*.1.0.b h.*.ln_2.bias\n"
           "decoder.1.*.1.1.w h.*.mlp.c_fc.weight %s\ndecoder.1.*.1.1.b h.*.mlp.c_fc.bias\n"
           "decoder.1.*.1.2.w h.*.mlp.c_proj.weight %s\ndecoder.1.*.1.2.b h.*.mlp.c_proj.bias\n"
           "decoder.2.g ln_f.weight\ndecoder.2.b ln_f.bias\n"
           "- *h.*.attn.bias\n- *h.*.attn.masked_bias\nout.b 0\n%s",
           t, t, tied ? "- lm_head.weight\n" : "out.w lm_head.weight\n");
}

static void gpt2_family(checkpoint *p) {
  const int d = key_size(p, "n_embd", 768), n = key_size(p, "n_inner", 4 * d);
  const int layers = key_layers(p, "n_layer", 12);
  const double eps = key_number(p, "layer_norm_epsilon", 1e-5);
  const char *act = key_activation(p, "activation_function", "gelu_new");
  const int scaled = key_true(p, "scale_attn_weights", 1);
  char block[200];
  key_must(p, "scale_attn_by_inverse_layer_idx", "false");
  key_must(p, "add_cross_attention", "false");
  p->k.d_model = d;
  p->k.heads = key_size(p, "n_head", 12);
  p->k.dropout = (float)key_number(p, "resid_pdrop", 0.1);
  length_is(p, key_size(p, "n_positions", 1024), 1);
  specials_are(p, -1, -1, key_token(p, "bos_token_id"), key_token(p, "eos_token_id"));
  snprintf(block, sizeof block,
           "res(norm(eps=%.9g) -> syn_att(V, bias=1%s)) -> res(norm(eps=%.9g) -> ffl(%d, %s))", eps,
           scaled ? "" : ", scale=1", eps, n, act);
  gpt2_network(p, block, layers, eps, key_true(p, "tie_word_embeddings", 1), 1);
}

/* Refuses a rescaling of the rotary positions; returns their base. */
static double rope_base(checkpoint *p) {
  const json_value *scaling = key_of(p, "rope_scaling"), *now = key_of(p, "rope_parameters"), *base;
  double theta = key_number(p, "rope_theta", 10000.0);
  char text[80];
  value_text(p, scaling, text);
  if (scaling && strcmp(text, "default") != 0) key_fail(p, "rope_scaling", scaling, "null");
  value_text(p, now, text);
  if (now && strcmp(text, "default") != 0) key_fail(p, "rope_parameters", now, "default");
  base = json_get(&p->config, now, "rope_theta");
  key_must(p, "partial_rotary_factor", "1|1.0");
  return json_double(base, theta);
}

/* A network of the family of llama, of which each format has its own description. */
typedef struct llama_shape {
  int d, n, layers, heads, kv, c; /* c: width of a head */
  int window, bias, ff_bias;      /* bias 1: of q, k, v, o; 2: of q, k, v */
  int scaled, plus; /* of gemma: embeddings times sqrt(d); norms by 1 + weight */
  double eps, base;
  const char *gate, *layout;
} llama_shape;

/* The rules of parameters of a layer that repeats: ends of our names, their names. */
static void llama_rules(checkpoint *p, int at, const char *const (*names)[2], const char *more) {
  for (; (*names)[0]; names++)
    put_line(&p->rules, "decoder.%d.*.%s layers.*.%s%s\n", at, (*names)[0], (*names)[1], more);
}

/* Tensors have the names of Hugging Face. */
static void llama_network(checkpoint *p, const llama_shape *s, int tied) {
  static const char *const norms[][2] = {
      {"0.0.g", "input_layernorm.weight"}, {"1.0.g", "post_attention_layernorm.weight"}, {0, 0}};
  static const char *const matrices[][2] = {{"0.1.w_q", "self_attn.q_proj.weight"},
                                            {"0.1.w_k", "self_attn.k_proj.weight"},
                                            {"0.1.w_v", "self_attn.v_proj.weight"},
                                            {"0.1.w_o", "self_attn.o_proj.weight"},
                                            {"1.1.w", "mlp.up_proj.weight @0/2"},
                                            {"1.1.w", "mlp.gate_proj.weight @1/2"},
                                            {"1.2.w", "mlp.down_proj.weight"},
                                            {0, 0}};
  static const char *const biases[][2] = {{"0.1.b_q", "self_attn.q_proj.bias"},
                                          {"0.1.b_k", "self_attn.k_proj.bias"},
                                          {"0.1.b_v", "self_attn.v_proj.bias"},
                                          {0, 0}};
  static const char *const ff_biases[][2] = {{"1.1.b", "mlp.up_proj.bias @0/2"},
                                             {"1.1.b", "mlp.gate_proj.bias @1/2"},
                                             {"1.2.b", "mlp.down_proj.bias"},
                                             {0, 0}};
  const char *plus = s->plus ? " 1+" : "";
  const int at = 1 + s->scaled; /* place of `repeat` */
  char more[80] = "";
  p->k.task = "lm";
  p->k.d_model = s->d;
  p->k.heads = s->heads;
  p->k.tie = tied ? "out" : "none";
  if (s->window) snprintf(more, sizeof more, ", window=%d", s->window);
  if (s->scaled) put_line(&p->decoder, "scale(%.9g) -> ", sqrt((double)s->d));
  put_line(&p->decoder,
           "rope(base=%.9g, layout=%s) -> repeat(%d, res(rms_norm(eps=%.9g) -> syn_att(V, c=%d, "
           "bias=%d, kv=%d%s)) -> res(rms_norm(eps=%.9g) -> ffl(%d, %s, bias=%d))) -> "
           "rms_norm(eps=%.9g)",
           s->base, s->layout, s->layers, s->eps, s->c, s->bias != 0, s->kv, more, s->eps, s->n,
           s->gate, s->ff_bias, s->eps);
  put_line(&p->rules,
           "tgt.embed embed_tokens.weight\ndecoder.%d.g norm.weight%s\nout.b 0\n"
           "- *.rotary_emb.inv_freq\n%s",
           at + 1, plus, tied ? "- lm_head.weight\n" : "out.w lm_head.weight\n");
  llama_rules(p, at, norms, plus);
  llama_rules(p, at, matrices, "");
  if (s->bias) llama_rules(p, at, biases, "");
  if (s->bias)
    put_line(&p->rules, "decoder.%d.*.0.1.b_o %s\n", at,
             s->bias == 2 ? "0" : "layers.*.self_attn.o_proj.bias");
  if (s->ff_bias) llama_rules(p, at, ff_biases, "");
}

/* All layers must see all tokens. */
static void layers_alike(checkpoint *p) {
  const json_value *v = json_first(key_of(p, "layer_types"));
  for (; v; v = json_after(&p->config, v))
    if (!json_is(v, "full_attention")) key_fail(p, "layer_types", v, "full_attention");
}

/* llama; mistral has a window, qwen2 biases of q, k, v; gemma scales its embeddings, adds 1 to the
   weights of norms, and has its own name of the activation, whatever hidden_act says. */
static void llama_family(checkpoint *p) {
  const int qwen = json_is(key_of(p, "model_type"), "qwen2");
  const int mistral = json_is(key_of(p, "model_type"), "mistral");
  const int gemma = json_is(key_of(p, "model_type"), "gemma");
  const char *const key = gemma ? "hidden_activation" : "hidden_act", *act;
  llama_shape s;
  memset(&s, 0, sizeof s);
  s.d = key_size(p, "hidden_size", -1);
  s.n = key_size(p, "intermediate_size", -1);
  s.layers = key_layers(p, "num_hidden_layers", -1);
  s.heads = key_size(p, "num_attention_heads", -1);
  s.kv = key_size(p, "num_key_value_heads", gemma ? 16 : mistral ? 8 : s.heads);
  s.c = key_size(p, "head_dim", gemma ? 256 : s.d / s.heads);
  s.eps = key_number(p, "rms_norm_eps", 1e-6);
  s.base = rope_base(p);
  s.layout = "half";
  s.bias = key_true(p, "attention_bias", qwen) ? 1 + qwen : 0;
  s.ff_bias = key_true(p, "mlp_bias", 0);
  s.scaled = s.plus = gemma;
  if (gemma) key_must(p, "hidden_act", "gelu|gelu_pytorch_tanh");
  act = key_activation(p, key, gemma ? "gelu_pytorch_tanh" : "silu");
  s.gate = *act == 's' ? "swiglu" : "geglu";
  if (mistral) /* null: no window */
    s.window = key_int(p, "sliding_window",
                       json_get(&p->config, p->config.at, "sliding_window") ? 0 : 4096);
  if (qwen) key_of(p, "sliding_window");
  key_must(p, "use_sliding_window", "false");
  layers_alike(p);
  if (strcmp(act, "swish") && strcmp(act, "gelu"))
    key_fail(p, key, key_of(p, key), "silu, gelu_new, gelu_pytorch_tanh");
  length_is(p, key_size(p, "max_position_embeddings", 2048), 0);
  specials_are(p, -1, -1, key_token(p, "bos_token_id"), key_token(p, "eos_token_id"));
  llama_network(p, &s, key_true(p, "tie_word_embeddings", gemma));
}

/* One of the stacks of t5; layers of a block: attention, (attention to the source,) ff. */
static void t5_stack(checkpoint *p, const char *side, const char *ff, int gated, int c) {
  const int decoder = *side == 'd', last = 1 + decoder;
  const int layers = decoder ? key_layers(p, "num_decoder_layers", key_size(p, "num_layers", 6))
                             : key_layers(p, "num_layers", 6);
  const double eps = key_number(p, "layer_norm_epsilon", 1e-6);
  static const char *const names[] = {"q", "k", "v", "o"};
  int i, k;
  put_line(decoder ? &p->decoder : &p->encoder,
           "rel_pos(%d, %d) -> repeat(%d, "
           "res(rms_norm(eps=%.9g) -> syn_att(V, scale=1, c=%d)) -> ",
           key_size(p, "relative_attention_num_buckets", 32),
           key_size(p, "relative_attention_max_distance", 128), layers, eps, c);
  if (decoder)
    put_line(&p->decoder, "res(rms_norm(eps=%.9g) -> mh_dot_att(scale=1, c=%d)) -> ", eps, c);
  put_line(decoder ? &p->decoder : &p->encoder,
           "res(rms_norm(eps=%.9g) -> ffl(%d, %s, bias=0))) "
           "-> rms_norm(eps=%.9g)",
           eps, key_size(p, "d_ff", 2048), ff, eps);
  put_line(&p->rules,
           "%s.0.w %s.block.0.layer.0.SelfAttention.relative_attention_bias.weight T\n"
           "%s.2.g %s.final_layer_norm.weight\n- %s.embed_tokens.weight\n",
           side, side, side, side, side);
  for (i = 0; i <= last; i++)
    put_line(&p->rules, "%s.1.*.%d.0.g %s.block.*.layer.%d.layer_norm.weight\n", side, i, side, i);
  for (i = 0; i < last; i++)
    for (k = 0; k < 4; k++)
      put_line(&p->rules, "%s.1.*.%d.1.w_%s %s.block.*.layer.%d.%s.%s.weight\n", side, i, names[k],
               side, i, i ? "EncDecAttention" : "SelfAttention", names[k]);
  put_line(&p->rules, "%s.1.*.%d.2.w %s.block.*.layer.%d.DenseReluDense.wo.weight\n", side, last,
           side, last);
  if (gated)
    put_line(&p->rules,
             "%s.1.*.%d.1.w %s.block.*.layer.%d.DenseReluDense.wi_1.weight @0/2\n"
             "%s.1.*.%d.1.w %s.block.*.layer.%d.DenseReluDense.wi_0.weight @1/2\n",
             side, last, side, last, side, last, side, last);
  else
    put_line(&p->rules, "%s.1.*.%d.1.w %s.block.*.layer.%d.DenseReluDense.wi.weight\n", side, last,
             side, last);
}

static void t5_family(checkpoint *p) {
  static const char *const kinds[][3] = {{"relu", "relu", "relu"},
                                         {"gelu", "gelu_erf", "gelu"},
                                         {"gated-gelu", "geglu", "gelu_new"},
                                         {"gated-silu", "swiglu", "silu"},
                                         {"silu", "swish", "silu"}};
  const json_value *kind = key_of(p, "feed_forward_proj");
  const int tied = key_true(p, "tie_word_embeddings", 1);
  size_t i = 0;
  while (kind && i < COUNT(kinds) && !json_is(kind, kinds[i][0])) i++;
  if (i == COUNT(kinds))
    key_fail(p, "feed_forward_proj", kind, "relu, gelu, gated-gelu, gated-silu");
  key_must(p, "is_gated_act", i == 2 || i == 3 ? "true" : "false");
  key_must(p, "dense_act_fn", kinds[i][2]);
  p->k.task = "seq2seq";
  p->k.d_model = key_size(p, "d_model", 512);
  p->k.heads = key_size(p, "num_heads", 8);
  p->k.tie = tied ? "all" : "none";
  p->k.dropout = (float)key_number(p, "dropout_rate", 0.1);
  length_is(p, 512, 0);
  keys_search(p, key_token(p, "pad_token_id"));
  specials_are(p, key_token(p, "pad_token_id"), -1, key_token(p, "decoder_start_token_id"),
               key_token(p, "eos_token_id"));
  t5_stack(p, "encoder", kinds[i][1], i == 2 || i == 3, key_size(p, "d_kv", 64));
  t5_stack(p, "decoder", kinds[i][1], i == 2 || i == 3, key_size(p, "d_kv", 64));
  if (tied) put_line(&p->decoder, " -> scale(%.9g)", 1.0 / sqrt((double)p->k.d_model));
  put_line(&p->rules,
           "tgt.embed shared.weight\nout.b 0\n"
           "- decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight\n%s",
           tied ? "- lm_head.weight\n" : "src.embed shared.weight\nout.w lm_head.weight\n");
}

/* Attention and norm of a side of marian. ours: which layer of the block; theirs: its name. */
static void marian_attention(checkpoint *p, const char *side, int ours, const char *theirs,
                             const char *norm) {
  static const char *const names[][2] = {
      {"q", "q_proj"}, {"k", "k_proj"}, {"v", "v_proj"}, {"o", "out_proj"}};
  int k;
  for (k = 0; k < 4; k++)
    put_line(&p->rules,
             "%s.1.*.%d.0.w_%s %s.layers.*.%s.%s.weight\n"
             "%s.1.*.%d.0.b_%s %s.layers.*.%s.%s.bias\n",
             side, ours, names[k][0], side, theirs, names[k][1], side, ours, names[k][0], side,
             theirs, names[k][1]);
  put_line(&p->rules, "%s.1.*.%d.g %s.layers.*.%s.weight\n%s.1.*.%d.b %s.layers.*.%s.bias\n", side,
           ours + 1, side, norm, side, ours + 1, side, norm);
}

static void marian_stack(checkpoint *p, const char *side, const char *act) {
  const int decoder = *side == 'd', ff = decoder ? 4 : 2,
            scaled = key_true(p, "scale_embedding", 0);
  const int layers = key_layers(p, decoder ? "decoder_layers" : "encoder_layers", 12);
  const int heads =
      key_size(p, decoder ? "decoder_attention_heads" : "encoder_attention_heads", 16);
  buffer *text = decoder ? &p->decoder : &p->encoder;
  put_line(text,
           "pos(layout=half%s) -> repeat(%d, res(syn_att(V, heads=%d, bias=1)) -> "
           "norm(eps=1e-5) -> ",
           scaled ? "" : ", scale=0", layers, heads);
  if (decoder) put_line(text, "res(mh_dot_att(heads=%d, bias=1)) -> norm(eps=1e-5) -> ", heads);
  put_line(text, "res(ffl(%d, %s)) -> norm(eps=1e-5))",
           key_size(p, decoder ? "decoder_ffn_dim" : "encoder_ffn_dim", 4096), act);
  marian_attention(p, side, 0, "self_attn", "self_attn_layer_norm");
  if (decoder) marian_attention(p, side, 2, "encoder_attn", "encoder_attn_layer_norm");
  put_line(&p->rules,
           "%s.1.*.%d.0.w %s.layers.*.fc1.weight\n%s.1.*.%d.0.b %s.layers.*.fc1.bias\n"
           "%s.1.*.%d.1.w %s.layers.*.fc2.weight\n%s.1.*.%d.1.b %s.layers.*.fc2.bias\n",
           side, ff, side, side, ff, side, side, ff, side, side, ff, side);
  put_line(&p->rules,
           "%s.1.*.%d.g %s.layers.*.final_layer_norm.weight\n"
           "%s.1.*.%d.b %s.layers.*.final_layer_norm.bias\n- *%s.embed_positions.weight\n"
           "- *%s.embed_tokens.weight\n",
           side, ff + 1, side, side, ff + 1, side, side, side);
}

static void marian_family(checkpoint *p) {
  const char *act = key_activation(p, "activation_function", "gelu");
  const int padding = key_token(p, "pad_token_id"), begin = key_token(p, "decoder_start_token_id");
  key_must(p, "normalize_before", "false");
  key_must(p, "normalize_embedding", "false");
  key_must(p, "add_final_layer_norm", "false");
  key_must(p, "add_bias_logits", "false");
  key_must(p, "static_position_embeddings", "true");
  key_must(p, "share_encoder_decoder_embeddings", "true");
  key_must(p, "tie_word_embeddings", "true");
  p->k.task = "seq2seq";
  p->k.d_model = key_size(p, "d_model", 1024);
  p->k.heads = key_size(p, "encoder_attention_heads", 16);
  p->k.tie = "all";
  p->k.dropout = (float)key_number(p, "dropout", 0.1);
  length_is(p, key_size(p, "max_position_embeddings", 1024), 0);
  keys_search(p, padding);
  specials_are(p, padding, -1, begin < 0 ? padding : begin, key_token(p, "eos_token_id"));
  marian_stack(p, "encoder", act);
  marian_stack(p, "decoder", act);
  put_line(&p->rules, "tgt.embed shared.weight\nout.b final_logits_bias\n- lm_head.weight\n");
}

/* Where a family like bert keeps its parts; heads that predict tokens. */
typedef struct bert_names {
  const char *layer, *query, *key, *value, *out, *out_norm, *ff, *ff_out, *ff_norm;
  const char *dense, *norm, *bias;
} bert_names;

static const bert_names bert_layers = {"encoder.layer.*",
                                       "attention.self.query",
                                       "attention.self.key",
                                       "attention.self.value",
                                       "attention.output.dense",
                                       "attention.output.LayerNorm",
                                       "intermediate.dense",
                                       "output.dense",
                                       "output.LayerNorm",
                                       "cls.predictions.transform.dense",
                                       "cls.predictions.transform.LayerNorm",
                                       "cls.predictions.bias"};
static const bert_names roberta_layers = {
    "encoder.layer.*",      "attention.self.query",   "attention.self.key",
    "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
    "intermediate.dense",   "output.dense",           "output.LayerNorm",
    "lm_head.dense",        "lm_head.layer_norm",     "lm_head.bias"};
static const bert_names distilbert_layers = {"transformer.layer.*",
                                             "attention.q_lin",
                                             "attention.k_lin",
                                             "attention.v_lin",
                                             "attention.out_lin",
                                             "sa_layer_norm",
                                             "ffn.lin1",
                                             "ffn.lin2",
                                             "output_layer_norm",
                                             "vocab_transform",
                                             "vocab_layer_norm",
                                             "vocab_projector.bias"};
static const bert_names albert_layers = {"encoder.albert_layer_groups.0.albert_layers.0",
                                         "attention.query",
                                         "attention.key",
                                         "attention.value",
                                         "attention.dense",
                                         "attention.LayerNorm",
                                         "ffn",
                                         "ffn_output",
                                         "full_layer_layer_norm",
                                         "predictions.dense",
                                         "predictions.LayerNorm",
                                         "predictions.bias"};

/* Weight and bias of a linear layer; of a norm, whose old names are gamma and beta. */
static void rule_linear(checkpoint *p, const char *ours, const char *layer, const char *theirs) {
  const char *dot = *layer ? "." : "";
  put_line(&p->rules, "%s.w %s%s%s.weight\n%s.b %s%s%s.bias\n", ours, layer, dot, theirs, ours,
           layer, dot, theirs);
}
static void rule_norm(checkpoint *p, const char *ours, const char *layer, const char *theirs) {
  const char *dot = *layer ? "." : "";
  put_line(&p->rules,
           "%s.g %s%s%s.weight ?\n%s.b %s%s%s.bias ?\n%s.g %s%s%s.gamma ?\n"
           "%s.b %s%s%s.beta ?\n",
           ours, layer, dot, theirs, ours, layer, dot, theirs, ours, layer, dot, theirs, ours,
           layer, dot, theirs);
}
/* The block at `path`: attention, norm, ff, norm. */
static void bert_block(checkpoint *p, const char *path, const bert_names *n) {
  const char *const parts[][2] = {{"q", n->query}, {"k", n->key}, {"v", n->value}, {"o", n->out}};
  char ours[80];
  int i;
  for (i = 0; i < 4; i++)
    put_line(&p->rules, "%s.0.0.w_%s %s.%s.weight\n%s.0.0.b_%s %s.%s.bias\n", path, parts[i][0],
             n->layer, parts[i][1], path, parts[i][0], n->layer, parts[i][1]);
  snprintf(ours, sizeof ours, "%s.1", path);
  rule_norm(p, ours, n->layer, n->out_norm);
  snprintf(ours, sizeof ours, "%s.2.0", path);
  rule_linear(p, ours, n->layer, n->ff);
  snprintf(ours, sizeof ours, "%s.2.1", path);
  rule_linear(p, ours, n->layer, n->ff_out);
  snprintf(ours, sizeof ours, "%s.3", path);
  rule_norm(p, ours, n->layer, n->ff_norm);
}

/* The head that predicts tokens, where the checkpoint has one; else a model whose vectors are read:
   classify with two classes of zeros. `at`: layers in front of it. */
static void bert_head(checkpoint *p, int at, const bert_names *n, const char *head) {
  char ours[80];
  p->hidden = at;
  if (!p->writes && !checkpoint_find(p, n->bias)) {
    p->k.task = "classify";
    p->k.classes = 2;
    put_line(&p->rules, "src.embed embeddings.word_embeddings.weight\nout.w 0\nout.b 0\n");
    return;
  }
  p->k.task = "mlm"; /* its output has the table of the embeddings */
  p->k.tie = "all";
  put_line(&p->encoder, "%s", head);
  snprintf(ours, sizeof ours, "encoder.%d", at);
  rule_linear(p, ours, "", n->dense);
  snprintf(ours, sizeof ours, "encoder.%d", at + 1);
  rule_norm(p, ours, "", n->norm);
  put_line(&p->rules,
           "tgt.embed embeddings.word_embeddings.weight\nout.b %s\n"
           "- cls.predictions.decoder.*\n- lm_head.decoder.*\n"
           "- predictions.decoder.*\n- vocab_projector.weight\n",
           n->bias);
}

/* bert and roberta: the same blocks; roberta's places begin behind its padding. */
static void bert_family(checkpoint *p) {
  const int roberta = json_is(key_of(p, "model_type"), "roberta");
  const int padding = key_token(p, "pad_token_id"),
            places = key_size(p, "max_position_embeddings", 512),
            skip = roberta && padding < places ? (padding < 0 ? 1 : padding) + 1 : 0;
  const int layers = key_layers(p, "num_hidden_layers", 12),
            types = key_size(p, "type_vocab_size", 2);
  const int n = key_size(p, "intermediate_size", 3072);
  const double eps = key_number(p, "layer_norm_eps", 1e-12);
  const char *act = key_activation(p, "hidden_act", "gelu");
  char head[120];
  key_must(p, "position_embedding_type", "absolute");
  key_must(p, "add_cross_attention", "false");
  key_must(p, "is_decoder", "false");
  key_must(p, "tie_word_embeddings", "true");
  p->k.d_model = key_size(p, "hidden_size", 768);
  p->k.heads = key_size(p, "num_attention_heads", 12);
  p->k.dropout = (float)key_number(p, "hidden_dropout_prob", 0.1);
  if (skip >= places || (roberta && !skip))
    key_fail(p, "pad_token_id", key_of(p, "pad_token_id"), "a place of max_position_embeddings");
  length_is(p, places - skip, 1);
  specials_are(p, padding, -1, key_token(p, "bos_token_id"),
               larger(key_token(p, "sep_token_id"), key_token(p, "eos_token_id")));
  put_line(&p->encoder,
           "learn_pos -> types(%d) -> norm(eps=%.9g) -> repeat(%d, res(syn_att(V, "
           "bias=1)) -> norm(eps=%.9g) -> res(ffl(%d, %s)) -> norm(eps=%.9g))",
           types, eps, layers, eps, n, act, eps);
  put_line(&p->rules,
           "encoder.0.w embeddings.position_embeddings.weight < +%d\n"
           "encoder.1.w embeddings.token_type_embeddings.weight\n- *pooler.dense.*\n"
           "- *embeddings.position_ids\n- cls.seq_relationship.*\n",
           skip);
  rule_norm(p, "encoder.2", "embeddings", "LayerNorm");
  bert_block(p, "encoder.3.*", roberta ? &roberta_layers : &bert_layers);
  snprintf(head, sizeof head, " -> ff(act=%s) -> norm(eps=%.9g)", roberta ? "gelu_erf" : act, eps);
  bert_head(p, 4, roberta ? &roberta_layers : &bert_layers, head);
}

static void distilbert_family(checkpoint *p) {
  const int layers = key_layers(p, "n_layers", 6), n = key_size(p, "hidden_dim", 3072);
  const char *act = key_activation(p, "activation", "gelu");
  char head[80];
  key_must(p, "tie_weights_", "true");
  key_must(p, "tie_word_embeddings", "true");
  p->k.d_model = key_size(p, "dim", 768);
  p->k.heads = key_size(p, "n_heads", 12);
  p->k.dropout = (float)key_number(p, "dropout", 0.1);
  length_is(p, key_size(p, "max_position_embeddings", 512), 1);
  specials_are(p, key_token(p, "pad_token_id"), -1, -1, -1);
  put_line(&p->encoder,
           "learn_pos -> norm(eps=1e-12) -> repeat(%d, res(syn_att(V, bias=1)) -> "
           "norm(eps=1e-12) -> res(ffl(%d, %s)) -> norm(eps=1e-12))",
           layers, n, act);
  put_line(&p->rules,
           "encoder.0.w embeddings.position_embeddings.weight <\n- *embeddings.position_ids\n");
  rule_norm(p, "encoder.1", "embeddings", "LayerNorm");
  bert_block(p, "encoder.2.*", &distilbert_layers);
  snprintf(head, sizeof head, " -> ff(act=%s) -> norm(eps=1e-12)", act);
  bert_head(p, 3, &distilbert_layers, head);
}

/* Embeddings narrower than the network; one layer many times. */
static void albert_family(checkpoint *p) {
  const int layers = key_size(p, "num_hidden_layers", 12), d = key_size(p, "hidden_size", 4096);
  const int narrow = key_size(p, "embedding_size", 128), types = key_size(p, "type_vocab_size", 2);
  const double eps = key_number(p, "layer_norm_eps", 1e-12);
  const char *act = key_activation(p, "hidden_act", "gelu_new");
  char head[120];
  if (layers > 1024)
    key_fail(p, "num_hidden_layers", key_of(p, "num_hidden_layers"), "at most 1024");
  key_must(p, "num_hidden_groups", "1");
  key_must(p, "inner_group_num", "1");
  key_must(p, "position_embedding_type", "absolute");
  key_must(p, "is_decoder", "false");
  key_must(p, "tie_word_embeddings", "true");
  p->k.d_model = narrow;
  p->k.heads = key_size(p, "num_attention_heads", 64);
  p->k.dropout = (float)key_number(p, "hidden_dropout_prob", 0.0);
  length_is(p, key_size(p, "max_position_embeddings", 512), 1);
  specials_are(p, key_token(p, "pad_token_id"), -1, -1, key_token(p, "sep_token_id"));
  put_line(&p->encoder,
           "learn_pos -> types(%d) -> norm(eps=%.9g) -> linear(%d) -> share(%d, "
           "res(syn_att(V, bias=1)) -> norm(eps=%.9g) -> res(ffl(%d, %s)) -> norm(eps=%.9g))",
           types, eps, d, layers, eps, key_size(p, "intermediate_size", 16384), act, eps);
  put_line(&p->rules,
           "encoder.0.w embeddings.position_embeddings.weight <\n"
           "encoder.1.w embeddings.token_type_embeddings.weight\n- *pooler.*\n"
           "- *embeddings.position_ids\n- sop_classifier.*\n");
  rule_norm(p, "encoder.2", "embeddings", "LayerNorm");
  rule_linear(p, "encoder.3", "encoder", "embedding_hidden_mapping_in");
  bert_block(p, "encoder.4", &albert_layers);
  snprintf(head, sizeof head, " -> ff(act=%s) -> norm(eps=%.9g)", act, eps);
  bert_head(p, 5, &albert_layers, head);
}

static const struct {
  const char *name; /* model_type */
  void (*read)(checkpoint *p);
} families[] = {
    {"gpt2", gpt2_family},     {"llama", llama_family}, {"mistral", llama_family},
    {"qwen2", llama_family},   {"gemma", llama_family}, {"t5", t5_family},
    {"marian", marian_family}, {"bert", bert_family},   {"roberta", bert_family},
    {"albert", albert_family}, {"distilbert", distilbert_family}};

/* ==============================================================================================
   >>import safetensors   a folder of config.json and model.safetensors, also in several files
   ============================================================================================== */

static void safetensors_add(checkpoint *p, const char *path) {
  syn_file *f;
  size_t i;
  int k;
  if (p->n_files == IMPORT_FILES) fail(FAILED_JOB, "%s: more than %d files", p->path, IMPORT_FILES);
  f = p->files[p->n_files++] = syn_file_load(p->c, path);
  check(p->c);
  for (i = 0; i < syn_file_count(f); i++) {
    const syn_entry *e = syn_file_entry(f, i);
    const int type = e->dtype == SYN_F32    ? FOREIGN_F32
                     : e->dtype == SYN_F16  ? FOREIGN_F16
                     : e->dtype == SYN_BF16 ? FOREIGN_BF16
                     : e->dtype == SYN_F64  ? FOREIGN_F64
                                            : FOREIGN_OTHER;
    foreign *t;
    if (e->rank > 4) fail(FAILED_JOB, "%s: tensor %s has %d axes", path, e->name, e->rank);
    t = checkpoint_add(p, e->name, type, e->rank);
    for (k = 0; k < e->rank; k++) t->count *= t->shape[k] = e->shape[k];
    t->data = (const unsigned char *)e->data;
    t->bytes = e->bytes;
  }
}

/* The files that an index names, each once. */
static void safetensors_index(checkpoint *p, const char *folder, const char *path) {
  json index = json_parse(read_file(path), path);
  const json_value *v = json_first(json_get(&index, index.at, "weight_map"));
  syn_text seen[IMPORT_FILES];
  size_t files = 0, k;
  for (; v; v = json_after(&index, v)) {
    char name[200], *file;
    for (k = 0; k < files && !text_equal(seen[k], v->text);) k++;
    if (k < files && v->kind == JSON_TEXT) continue;
    snprintf(name, sizeof name, "%.*s", (int)(v->text.size < 199 ? v->text.size : 199), v->text.at);
    if (v->kind != JSON_TEXT || strpbrk(name, "/\\"))
      fail(FAILED_JOB, "%s: weight_map wants names of files in this folder", path);
    file = path_inside(folder, name);
    safetensors_add(p, file); /* at most IMPORT_FILES */
    seen[files++] = v->text;
    free(file);
  }
  json_free(&index);
}

static void pickle_refuse(const char *path) NO_RETURN;
static void pickle_refuse(const char *path) {
  fail(FAILED_JOB,
       "%s: this is a pickle of torch, a program that would be executed. Convert it: "
       "python3 -c \"import torch, safetensors.torch as s; s.save_file({k: v.contiguous().clone() "
       "for k, v in torch.load('%s', weights_only=True).items()}, 'model.safetensors')\"",
       path, path);
}

/* The folder of a file; the caller frees it. */
static char *folder_of(const char *path) {
  const size_t size = (size_t)(file_name(path) - path);
  char *folder = (char *)take(size + 2, 1);
  memcpy(folder, size ? path : ".", size > 1 ? size - 1 : 1);
  return folder;
}

static void folder_read(checkpoint *p, const char *folder) {
  char *config = path_inside(folder, "config.json"),
       *file = path_inside(folder, "model.safetensors");
  char *index = path_inside(folder, "model.safetensors.index.json");
  char *torch = path_inside(folder, "pytorch_model.bin");
  char *generation = path_inside(folder, "generation_config.json");
  const json_value *type;
  size_t i = 0;
  p->config = json_parse(read_file(config), config);
  p->known = (unsigned char *)take(p->config.count, 1);
  if (file_exists(generation)) p->generation = json_parse(read_file(generation), generation);
  if (file_exists(file)) safetensors_add(p, file);
  else if (file_exists(index))
    safetensors_index(p, folder, index);
  else if (file_exists(torch))
    pickle_refuse(torch);
  else
    fail(FAILED_JOB, "%s: there is no model.safetensors beside config.json", folder);
  free(config);
  free(file);
  free(index);
  free(torch);
  free(generation);
  if (p->count) qsort(p->tensors, p->count, sizeof *p->tensors, foreign_order);
  type = key_of(p, "model_type");
  while (i < COUNT(families) && !json_is(type, families[i].name)) i++;
  if (i == COUNT(families))
    key_fail(p, "model_type", type,
             "gpt2, llama, mistral, qwen2, gemma, t5, marian, bert, roberta, "
             "distilbert, albert");
  families[i].read(p);
  p->vocabulary[0].count = p->vocabulary[1].count = key_size(p, "vocab_size", -1);
  keys_done(p);
}

/* ==============================================================================================
   >>import llama2c   the .bin files of llama2.c: version 0, 1, and 2 in int8
   ============================================================================================== */

/* Bytes that are read one behind the other. */
typedef struct reader {
  checkpoint *p;
  const unsigned char *at;
  size_t left;
} reader;

static reader reader_of(checkpoint *p, const char *path) {
  reader r;
  const buffer b = read_file(path);
  r.p = p;
  r.at = (const unsigned char *)checkpoint_keep(p, b.at);
  r.left = b.size;
  return r;
}
static const unsigned char *reader_take(reader *r, size_t size) {
  const unsigned char *at = r->at;
  if (size > r->left)
    fail(FAILED_JOB, "%s: %.0f bytes are missing at its end", r->p->path,
         (double)size - (double)r->left);
  r->at += size;
  r->left -= size;
  return at;
}
static uint32_t reader_int(reader *r) { return little32(reader_take(r, 4)); }

/* A tensor [rows,cols] of floats; group > 0: of int8, behind them a scale for so many. `name` has
   the number of the layer in it, if there is one. */
static void llama2c_tensor(reader *r, const char *name, int layer, const size_t shape[2],
                           size_t group) {
  const size_t count = size_mul(shape[0], shape[1]);
  char *whole = (char *)checkpoint_keep(r->p, take(80, 1));
  foreign *t;
  name_with(whole, 80, name, layer);
  t = checkpoint_add(r->p, whole, group ? FOREIGN_I8 : FOREIGN_F32, shape[1] > 1 ? 2 : 1);
  t->shape[0] = shape[0];
  t->shape[1] = shape[1];
  t->count = count;
  t->data = reader_take(r, group ? count : size_mul(count, 4));
  if (!group) return;
  if (count % group) fail(FAILED_JOB, "%s: a matrix is no whole number of groups", r->p->path);
  t->scales_count = count / group;
  t->scales = reader_take(r, size_mul(t->scales_count, 4));
}

typedef struct llama2c_part {
  const char *name;
  size_t shape[2];
} llama2c_part;

static void llama2c_layers(reader *r, const llama2c_part *part, int layers, size_t group) {
  int i;
  for (i = 0; i < layers; i++) llama2c_tensor(r, part->name, i, part->shape, group);
}

/* h: width, hidden width, layers, heads, heads of k and v, vocabulary, places. Version 0 has the
   matrices among the norms, and two tables of rotary positions. */
static void llama2c_tensors(reader *r, const int h[7], int version, int tied, size_t group) {
  const size_t d = (size_t)h[0], n = (size_t)h[1], v = (size_t)h[5];
  const size_t kv = d / (size_t)h[3] * (size_t)h[4], table = (size_t)h[6] * (d / (size_t)h[3]) * 4;
  const llama2c_part norms[] = {{"layers.*.input_layernorm.weight", {d, 1}},
                                {"layers.*.post_attention_layernorm.weight", {d, 1}},
                                {"norm.weight", {d, 1}}};
  const llama2c_part parts[] = {{"embed_tokens.weight", {v, d}},
                                {"layers.*.self_attn.q_proj.weight", {d, d}},
                                {"layers.*.self_attn.k_proj.weight", {kv, d}},
                                {"layers.*.self_attn.v_proj.weight", {kv, d}},
                                {"layers.*.self_attn.o_proj.weight", {d, d}},
                                {"layers.*.mlp.gate_proj.weight", {n, d}},
                                {"layers.*.mlp.down_proj.weight", {d, n}},
                                {"layers.*.mlp.up_proj.weight", {n, d}},
                                {"lm_head.weight", {v, d}}};
  int i;
  for (i = 0; version && i < 3; i++) llama2c_layers(r, &norms[i], i < 2 ? h[2] : 1, 0);
  llama2c_layers(r, &parts[0], 1, group);
  if (!version) llama2c_layers(r, &norms[0], h[2], 0);
  for (i = 1; i < 5; i++) llama2c_layers(r, &parts[i], h[2], group);
  if (!version) llama2c_layers(r, &norms[1], h[2], 0);
  for (i = 5; i < 8; i++) llama2c_layers(r, &parts[i], h[2], group);
  if (!version) llama2c_layers(r, &norms[2], 1, 0);
  if (!version) reader_take(r, table);
  if (!tied) llama2c_layers(r, &parts[8], 1, group);
  if (r->left) fail(FAILED_JOB, "%s: %.0f bytes too many", r->p->path, (double)r->left);
}

/* Token 1 begins a text and ends it: run.c stops at it. */
static void llama2c_network(checkpoint *p, const int h[7], int tied) {
  llama_shape s;
  memset(&s, 0, sizeof s);
  s.d = h[0];
  s.n = h[1];
  s.layers = h[2];
  s.heads = h[3];
  s.kv = h[4];
  s.c = h[0] / h[3];
  s.eps = 1e-5;
  s.base = 10000.0;
  s.layout = "pair";
  s.gate = "swiglu";
  length_is(p, h[6], 0);
  specials_are(p, -1, h[5] > 1 ? 0 : -1, h[5] > 1 ? 1 : -1, h[5] > 1 ? 1 : -1);
  llama_network(p, &s, tied);
  p->vocabulary[0].count = p->vocabulary[1].count = h[5];
}

/* Seven numbers of the header; a negative vocabulary (version 0) means an output of its own. */
static void llama2c_read(checkpoint *p, const char *path) {
  reader r = reader_of(p, path);
  int version = 0, h[7], i, tied;
  size_t group = 0;
  if (r.left > 4 && little32(r.at) == 0x616B3432) {
    reader_take(&r, 4);
    version = (int)reader_int(&r);
  }
  for (i = 0; i < 7; i++) h[i] = (int)reader_int(&r);
  tied = version ? *reader_take(&r, 1) : h[5] > 0;
  if (version == 2) group = reader_int(&r);
  if (version) reader_take(&r, (size_t)(256 - (version == 2 ? 41 : 37)));
  if (h[5] < 0) h[5] = h[5] < -(1 << 24) ? 0 : -h[5];
  for (i = 0; i < 7; i++)
    if (h[i] < 1 || h[i] > 1 << 24) break;
  if (i < 7 || version < 0 || version > 2 || h[0] % h[3] || h[3] % h[4] || (size_t)h[2] > r.left ||
      (version == 2 && !group))
    fail(FAILED_JOB, "%s: this is no checkpoint of llama2.c of version 0, 1 or 2", p->path);
  llama2c_tensors(&r, h, version, tied, group);
  llama2c_network(p, h, tied);
}

/* ==============================================================================================
   >>import ctranslate2   model.bin of CTranslate2 of version 2 to 6, with its lists of tokens
   ============================================================================================== */

/* A text with its length and closing 0 in front of and behind it. */
static const char *ct2_text(reader *r) {
  const size_t size = little16(reader_take(r, 2));
  const char *text = (const char *)reader_take(r, size);
  if (!size || text[size - 1]) fail(FAILED_JOB, "%s: a name is damaged", r->p->path);
  return text;
}

static void ct2_tensor(reader *r, uint32_t version) {
  static const int types[] = {FOREIGN_F32, FOREIGN_I8,  FOREIGN_I16,
                              FOREIGN_I32, FOREIGN_F16, FOREIGN_BF16};
  static const size_t sizes[] = {4, 1, 2, 4, 2, 2};
  const char *name = ct2_text(r);
  const int rank = *reader_take(r, 1);
  foreign *t = checkpoint_add(r->p, name, FOREIGN_OTHER, rank);
  uint32_t type, bytes;
  int k;
  if (rank > 4) fail(FAILED_JOB, "%s: %s has %d axes", r->p->path, name, rank);
  for (k = 0; k < rank; k++) t->count = size_mul(t->count, t->shape[k] = reader_int(r));
  type = *reader_take(r, 1);
  bytes = reader_int(r);
  if (version < 4) { /* the size of an item in place of a type */
    t->type = type == 4 ? FOREIGN_F32 : type == 2 ? FOREIGN_I16 : type == 1 ? FOREIGN_I8 : t->type;
    t->bytes = size_mul(type, bytes);
    if (!type) fail(FAILED_JOB, "%s: items of %s have no bytes", r->p->path, name);
  } else {
    if (type < COUNT(types)) t->type = types[type];
    t->bytes = bytes;
    type = type < COUNT(types) ? (uint32_t)sizes[type] : 1;
  }
  if (t->bytes != size_mul(t->count, type))
    fail(FAILED_JOB, "%s: %s has another size than its shape", r->p->path, name);
  t->data = reader_take(r, t->bytes);
}

/* Gives each tensor of integers its scales: the tensor NAME_scale. */
static void ct2_scales(checkpoint *p) {
  char name[300];
  size_t i;
  for (i = 0; i < p->count; i++) {
    foreign *t = &p->tensors[i], *scale;
    snprintf(name, sizeof name, "%s_scale", t->name);
    scale = t->type == FOREIGN_I8 || t->type == FOREIGN_I16 ? checkpoint_find(p, name) : NULL;
    if (!scale) continue;
    if (scale->type != FOREIGN_F32 || !scale->count || t->count % scale->count)
      fail(FAILED_JOB, "%s: %s does not fit %s", p->path, name, t->name);
    t->scales = scale->data;
    t->scales_count = scale->count;
    t->divided = scale->used = 1;
    p->integers = t->type;
  }
}

/* The number that a tensor of rank 0 stores; `otherwise` where there is none. */
static int ct2_number(checkpoint *p, const char *name, int otherwise) {
  foreign *t = checkpoint_find(p, name);
  if (!t) return otherwise;
  if (t->count != 1 || (t->type != FOREIGN_I8 && t->type != FOREIGN_I16 && t->type != FOREIGN_I32))
    fail(FAILED_JOB, "%s: %s is no whole number", p->path, name);
  t->used = 1;
  return t->type == FOREIGN_I8    ? (signed char)*t->data
         : t->type == FOREIGN_I16 ? (int16_t)(uint16_t)little16(t->data)
                                  : (int)little32(t->data);
}
static void ct2_must(checkpoint *p, const char *side, const char *name, int wanted) {
  char whole[100];
  int found;
  snprintf(whole, sizeof whole, "%s/%s", side, name);
  found = ct2_number(p, whole, wanted);
  if (found != wanted)
    fail(FAILED_JOB, "%s: %s: %d is not read; wanted: %d", p->path, whole, found, wanted);
}

/* Weight and bias of a linear layer, a part of its rows; of a norm. */
static void ct2_linear(checkpoint *p, const char *ours, const char *theirs, const char *part) {
  const char *const letter = strchr("qkvo", ours[strlen(ours) - 1]) ? "_" : "";
  char path[80];
  snprintf(path, sizeof path, "%s", ours);
  if (*letter) path[strlen(path) - 2] = 0; /* "PATH_q" stands for PATH.w_q, PATH.b_q */
  put_line(&p->rules, "%s.w%s%s %s/weight %s\n%s.b%s%s %s/bias %s\n", path, letter,
           *letter ? ours + strlen(ours) - 1 : "", theirs, part, path, letter,
           *letter ? ours + strlen(ours) - 1 : "", theirs, part);
}
static void ct2_sublayer(checkpoint *p, const char *side, int at, const char *name, int source) {
  static const char *const parts[][3] = {{"_q", "0", "0/3"}, {"_k", "0", "1/3"}, {"_v", "0", "2/3"},
                                         {"_o", "1", ""},    {"_q", "0", ""},    {"_k", "1", "0/2"},
                                         {"_v", "1", "1/2"}, {"_o", "2", ""}};
  char ours[80], theirs[100];
  int i;
  put_line(&p->rules,
           "%s.1.*.%d.0.g %s/layer_*/%s/layer_norm/gamma\n"
           "%s.1.*.%d.0.b %s/layer_*/%s/layer_norm/beta\n",
           side, at, side, name, side, at, side, name);
  for (i = 0; source >= 0 && i < 4; i++) {
    const char *const *part = parts[4 * source + i];
    snprintf(ours, sizeof ours, "%s.1.*.%d.1%s", side, at, part[0]);
    snprintf(theirs, sizeof theirs, "%s/layer_*/%s/linear_%s", side, name, part[1]);
    ct2_linear(p, ours, theirs, part[2]);
  }
  for (i = 0; source < 0 && i < 2; i++) {
    snprintf(ours, sizeof ours, "%s.1.*.%d.%d", side, at, 1 + i);
    snprintf(theirs, sizeof theirs, "%s/layer_*/ffn/linear_%d", side, i);
    ct2_linear(p, ours, theirs, "");
  }
}

/* The epsilon of all norms: config.json of later versions may have one. */
static double ct2_epsilon(checkpoint *p, const char *folder) {
  char *path = path_inside(folder, "config.json");
  if (file_exists(path)) {
    p->config = json_parse(read_file(path), path);
    p->known = (unsigned char *)take(p->config.count, 1);
  }
  free(path);
  return p->config.count ? key_number(p, "layer_norm_epsilon", 1e-5) : 1e-5;
}

static void ct2_side(checkpoint *p, const char *side, double eps) {
  const int decoder = *side == 'd';
  buffer *text = decoder ? &p->decoder : &p->encoder;
  const foreign *first;
  char name[100];
  int layers = 0, heads;
  do {
    snprintf(name, sizeof name, "%s/layer_%d/ffn/linear_0/weight", side, layers);
  } while (checkpoint_find(p, name) && ++layers);
  snprintf(name, sizeof name, "%s/layer_0/ffn/linear_0/weight", side);
  first = checkpoint_find(p, name);
  if (!first) fail(FAILED_JOB, "%s: tensor %s is missing", p->path, name);
  snprintf(name, sizeof name, "%s/num_heads", side);
  heads = ct2_number(p, name, 8);
  ct2_must(p, side, "pre_norm", 1);
  ct2_must(p, side, "activation", 0);
  ct2_must(p, side, "scale_embeddings", 1);
  ct2_must(p, side, "num_source_embeddings", 1);
  ct2_must(p, side, "start_from_zero_embedding", 0);
  ct2_must(p, side, "layernorm_embedding", 0);
  ct2_must(p, side, "multi_query_attention", 0);
  ct2_must(p, side, "alibi", 0);
  put_line(text,
           "pos(layout=tensor2tensor, first=1) -> repeat(%d, res(norm(eps=%.9g) -> syn_att(V, "
           "heads=%d, bias=1)) -> ",
           layers, eps, heads);
  if (decoder)
    put_line(text, "res(norm(eps=%.9g) -> mh_dot_att(heads=%d, bias=1)) -> ", eps, heads);
  put_line(text, "res(norm(eps=%.9g) -> ffl(%d, relu))) -> norm(eps=%.9g)", eps,
           (int)first->shape[0], eps);
  ct2_sublayer(p, side, 0, "self_attention", 0);
  if (decoder) ct2_sublayer(p, side, 1, "attention", 1);
  ct2_sublayer(p, side, 1 + decoder, "ffn", -1);
  put_line(&p->rules,
           "%s.2.g %s/layer_norm/gamma\n%s.2.b %s/layer_norm/beta\n- %s/embeddings_merge\n"
           "- %s/alignment_*\n- %s/alibi_use_positive_positions\n- %s/scale_alibi\n",
           side, side, side, side, side, side, side, side);
  p->k.d_model = (int)(first->rank == 2 ? first->shape[1] : 0);
  p->k.heads = heads;
}

/* The file with the tokens of a side: a list of JSON, or a line each; the caller frees it. */
static char *ct2_list(const char *folder, int side) {
  static const char *const names[] = {"source_vocabulary.json", "source_vocabulary.txt",
                                      "target_vocabulary.json", "target_vocabulary.txt",
                                      "shared_vocabulary.json", "shared_vocabulary.txt"};
  char *path;
  int i = 0;
  while (!file_exists(path = path_inside(folder, names[i < 2 ? 2 * side + i : 2 + i])) && i < 3) {
    free(path);
    i++;
  }
  return path;
}

/* Reads them into names [most]; returns how many there are. */
static int ct2_names(checkpoint *p, const char *path, syn_text *names, int most) {
  syn_text rest, line;
  const json_value *v;
  buffer b;
  json j;
  int i = 0;
  if (strcmp(path + strlen(path) - 5, ".json") != 0) {
    b = read_text(path);
    checkpoint_keep(p, b.at);
    for (rest = buffer_text(&b); rest.size && next_piece(&rest, "\n", &line); i++)
      if (i < most) names[i] = line;
    return i;
  }
  j = json_parse(read_file(path), path);
  checkpoint_keep(p, j.bytes.at);
  checkpoint_keep(p, j.at);
  if (j.at->kind != JSON_LIST) fail(FAILED_JOB, "%s: a list of tokens is wanted", path);
  for (v = json_first(j.at); v; v = json_after(&j, v), i++)
    if (i < most) names[i] = v->text;
  return i;
}

/* The tokens of a side; the unknown token follows them where the embeddings have one row more. */
static void ct2_vocabulary(checkpoint *p, int side, const char *folder, const char *embeddings) {
  static const char *const special[] = {"<blank> <pad>", "<unk>", "<s>", "</s>"};
  const foreign *t = checkpoint_find(p, embeddings);
  char *path = ct2_list(folder, side);
  foreign_vocabulary *v = &p->vocabulary[side];
  syn_text *names, rest, line;
  int i;
  if (!t || t->rank != 2 || !t->count || t->shape[0] > 1 << 24)
    fail(FAILED_JOB, "%s: tensor %s is missing, or is no matrix", p->path, embeddings);
  v->count = (int)t->shape[0];
  names = p->names[side] =
      (syn_text *)checkpoint_keep(p, take((size_t)v->count + 1, sizeof *names));
  i = ct2_names(p, path, names, v->count);
  if (i != v->count && i != v->count - 1)
    fail(FAILED_JOB, "%s: %d tokens, %s has %d rows", path, i, embeddings, v->count);
  if (i < v->count) names[i] = syn_text_of("<unk>");
  for (i = 0; i < 4; i++) v->special[i] = -1;
  for (i = 0; i < 4 * v->count; i++) {
    rest = syn_text_of(special[i % 4]);
    while (next_piece(&rest, " ", &line))
      if (text_equal(line, names[i / 4])) v->special[i % 4] = i / 4;
  }
  free(path);
}

static void ct2_read(checkpoint *p, const char *folder, const char *path) {
  reader r = reader_of(p, path);
  const uint32_t version = reader_int(&r);
  const char *spec = ct2_text(&r);
  uint32_t i, count;
  size_t stored;
  double eps;
  if (version < 2 || version > 6 || strncmp(spec, "Transformer", 11) || strstr(spec, "Decoder"))
    fail(FAILED_JOB,
         "%s: version %lu of %s is not read; wanted: 2 to 6, TransformerBase, "
         "TransformerSpec",
         path, (unsigned long)version, spec);
  reader_int(&r); /* revision */
  for (i = 0, count = reader_int(&r); i < count; i++) ct2_tensor(&r, version);
  stored = p->count; /* other names are of these, which are sorted to find them */
  if (stored) qsort(p->tensors, stored, sizeof *p->tensors, foreign_order);
  for (i = 0, count = version < 3 ? 0 : reader_int(&r); i < count; i++) {
    foreign wanted, *from;
    const char *name = ct2_text(&r);
    wanted.name = ct2_text(&r);
    checkpoint_add(p, name, 0, 0);
    from = (foreign *)bsearch(&wanted, p->tensors, stored, sizeof wanted, foreign_order);
    if (!from) fail(FAILED_JOB, "%s: %s is another name of nothing", path, name);
    p->tensors[p->count - 1] = *from;
    p->tensors[p->count - 1].name = name;
    from->used = 1;
  }
  if (r.left) fail(FAILED_JOB, "%s: %.0f bytes too many", path, (double)r.left);
  qsort(p->tensors, p->count, sizeof *p->tensors, foreign_order);
  ct2_scales(p);
  p->k.task = "seq2seq";
  p->k.tie = "none";
  p->k.dropout = 0.1f;
  eps = ct2_epsilon(p, folder);
  ct2_side(p, "encoder", eps);
  ct2_side(p, "decoder", eps);
  length_is(p, 512, 0);
  put_line(&p->rules,
           "src.embed encoder/embeddings%s/weight\ntgt.embed decoder/embeddings/weight\n"
           "out.w decoder/projection/weight\nout.b decoder/projection/bias\n",
           checkpoint_find(p, "encoder/embeddings/weight") ? "" : "_0");
  ct2_vocabulary(p, SYN_SRC, folder,
                 checkpoint_find(p, "encoder/embeddings/weight") ? "encoder/embeddings/weight"
                                                                 : "encoder/embeddings_0/weight");
  ct2_vocabulary(p, SYN_TGT, folder, "decoder/embeddings/weight");
}

/* ==============================================================================================
   >>import gguf   files of llama.cpp, with the tokenizer inside
   ============================================================================================== */

/* Values: 0 to 7 u8, i8, u16, i16, u32, i32, f32, bool; 8 text; 9 array; 10 to 12 u64, i64, f64. */
enum { GGUF_TEXT = 8, GGUF_ARRAY = 9 };

/* A value of the metadata. Of an array: the type of its items and their bytes. */
typedef struct gguf_value {
  syn_text key, text;
  uint32_t type;
  double number;
  uint64_t count;
  const unsigned char *items;
  int used;
} gguf_value;

typedef struct gguf {
  checkpoint *p;
  gguf_value *at; /* [count] */
  size_t count;
} gguf;

static uint64_t reader_long(reader *r) { return little64(reader_take(r, 8)); }
static syn_text gguf_text(reader *r) {
  const uint64_t size = reader_long(r);
  syn_text text;
  text.size = size > r->left ? r->left + 1 : (size_t)size; /* too long: fails */
  text.at = (const char *)reader_take(r, text.size);
  return text;
}
static size_t gguf_size(const reader *r, uint32_t type) {
  static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  if (type >= COUNT(sizes))
    fail(FAILED_JOB, "%s: a value of type %lu", r->p->path, (unsigned long)type);
  return sizes[type];
}
static double gguf_number(uint32_t type, const unsigned char *at) {
  double x = 0.0;
  uint64_t bits;
  switch (type) {
    case 0:
    case 7: return *at;
    case 1: return (signed char)*at;
    case 2: return little16(at);
    case 3: return (int16_t)(uint16_t)little16(at);
    case 4: return little32(at);
    case 5: return (int32_t)little32(at);
    case 6: return (double)little_float(little32(at));
    case 12:
      bits = little64(at);
      memcpy(&x, &bits, sizeof x);
      return x;
    default: return type == 11 ? (double)(int64_t)little64(at) : (double)little64(at);
  }
}

static gguf_value gguf_read_value(reader *r) {
  gguf_value v;
  uint64_t i;
  memset(&v, 0, sizeof v);
  v.key = gguf_text(r);
  v.type = reader_int(r);
  if (v.type == GGUF_TEXT) {
    v.text = gguf_text(r);
  } else if (v.type == GGUF_ARRAY) {
    v.type = reader_int(r);
    v.count = reader_long(r);
    v.items = r->at;
    if (v.type == GGUF_ARRAY || v.count > r->left)
      fail(FAILED_JOB, "%s: an array of its metadata is damaged", r->p->path);
    if (v.type != GGUF_TEXT) reader_take(r, size_mul(gguf_size(r, v.type), (size_t)v.count));
    for (i = 0; v.type == GGUF_TEXT && i < v.count; i++) gguf_text(r);
  } else {
    v.number = gguf_number(v.type, reader_take(r, gguf_size(r, v.type)));
  }
  return v;
}

/* The value of a key, behind the name of its group; null: it is not there. */
static gguf_value *gguf_find(gguf *g, const char *name, const char *architecture) {
  char key[120];
  size_t i;
  snprintf(key, sizeof key, "%s%s", architecture, name);
  for (i = 0; i < g->count; i++) {
    if (!text_is(g->at[i].key, key)) continue;
    g->at[i].used = 1;
    return &g->at[i];
  }
  return NULL;
}
/* Of a float the shortest decimal that is this float: 1e-05, as the configuration has it. */
static double shortest(double x) {
  char text[40];
  double y = x;
  int digits;
  for (digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    y = strtod(text, NULL);
    if (!((float)y < (float)x) && !((float)y > (float)x)) break;
  }
  return y;
}
static double gguf_get(gguf *g, const char *architecture, const char *name, double otherwise) {
  const gguf_value *v = gguf_find(g, name, architecture);
  if (v && (v->type == GGUF_TEXT || v->items))
    fail(FAILED_JOB, "%s: %s%s is no number", g->p->path, architecture, name);
  if (v && v->type == 6) return shortest(v->number);
  return v ? v->number : otherwise;
}
static int gguf_int(gguf *g, const char *architecture, const char *name, int otherwise) {
  const double x = gguf_get(g, architecture, name, (double)otherwise);
  if (!(x >= 1.0 && x <= 16777216.0 && x == floor(x)))
    fail(FAILED_JOB, "%s: %s%s is %g, wanted: from 1 to 16777216", g->p->path, architecture, name,
         x);
  return (int)x;
}
static int gguf_token(gguf *g, const char *name) {
  const double x = gguf_get(g, "tokenizer.ggml.", name, -1.0);
  return x >= 0.0 && x <= 16777216.0 ? (int)x : -1;
}

/* The parts of a network: their names in GGUF, of llama, of gpt2. */
static const char *const gguf_names[][3] = {
    {"token_embd", "embed_tokens", "wte"},
    {"position_embd", "", "wpe"},
    {"output_norm", "norm", "ln_f"},
    {"output", "lm_head", "lm_head"},
    {"attn_norm", "input_layernorm", "ln_1"},
    {"attn_q", "self_attn.q_proj", ""},
    {"attn_k", "self_attn.k_proj", ""},
    {"attn_v", "self_attn.v_proj", ""},
    {"attn_qkv", "", "attn.c_attn"},
    {"attn_output", "self_attn.o_proj", "attn.c_proj"},
    {"ffn_norm", "post_attention_layernorm", "ln_2"},
    {"ffn_gate", "mlp.gate_proj", ""},
    {"ffn_up", "mlp.up_proj", "mlp.c_fc"},
    {"ffn_down", "mlp.down_proj", "mlp.c_proj"}};

/* The name that the other formats have for a tensor of a block, or outside of them. */
static const char *gguf_name(checkpoint *p, syn_text name, int gpt2) {
  char *whole = (char *)checkpoint_keep(p, take(name.size + 80, 1));
  char part[80], end[40];
  int layer = -1, used = 0;
  size_t i;
  memcpy(whole, name.at, name.size);
  if (sscanf(whole, "blk.%d.%79[a-z_].%39[a-z]%n", &layer, part, end, &used) != 3) {
    layer = -1;
    if (sscanf(whole, "%79[a-z_].%39[a-z]%n", part, end, &used) != 2) return whole;
  }
  if ((size_t)used != name.size) return whole; /* of another kind: its name stays */
  for (i = 0; i < COUNT(gguf_names); i++) {
    const char *other = gguf_names[i][1 + gpt2];
    if (strcmp(part, gguf_names[i][0]) || !*other) continue;
    if (layer < 0) snprintf(whole, name.size + 80, "%s.%s", other, end);
    else
      snprintf(whole, name.size + 80, "%s.%d.%s.%s", gpt2 ? "h" : "layers", layer, other, end);
    break;
  }
  return whole;
}

/* The description of a tensor: name, axes from the innermost one, type, place behind `data`. */
static uint64_t gguf_tensor(reader *r, int gpt2) {
  static const int types[][2] = {{0, FOREIGN_F32},  {1, FOREIGN_F16},   {2, FOREIGN_Q4_0},
                                 {8, FOREIGN_Q8_0}, {12, FOREIGN_Q4_K}, {14, FOREIGN_Q6_K},
                                 {30, FOREIGN_BF16}};
  const syn_text name = gguf_text(r);
  const char *other = gguf_name(r->p, name, gpt2);
  const uint32_t rank = reader_int(r);
  foreign *t;
  uint32_t k, type;
  if (rank > 4)
    fail(FAILED_JOB, "%s: tensor %s has %lu axes", r->p->path, other, (unsigned long)rank);
  t = checkpoint_add(r->p, other, FOREIGN_OTHER, (int)rank);
  for (k = 0; k < rank; k++) {
    const uint64_t n = reader_long(r);
    t->shape[rank - 1 - k] = n > SIZE_MAX ? SIZE_MAX : (size_t)n;
    t->count = size_mul(t->count, t->shape[rank - 1 - k]);
  }
  type = reader_int(r);
  for (k = 0; k < COUNT(types); k++)
    if (types[k][0] == (int)type) t->type = types[k][1];
  if (t->type == FOREIGN_OTHER)
    fail(FAILED_JOB,
         "%s: tensor %s: type %lu is not read; wanted: f32, f16, bf16, q8_0, q4_0, "
         "q4_K, q6_K",
         r->p->path, other, (unsigned long)type);
  t->bytes = size_mul(t->count, t->type == FOREIGN_F32 ? 4 : 2);
  for (k = 0; k < COUNT(block_types); k++) {
    if (block_types[k].type != t->type) continue;
    if (!rank || t->shape[rank - 1] % block_types[k].count)
      fail(FAILED_JOB, "%s: rows of tensor %s are no whole blocks", r->p->path, other);
    t->bytes = size_mul(t->count / block_types[k].count, block_types[k].bytes);
  }
  return reader_long(r);
}

/* Item i of an array of numbers. */
static double gguf_item(const gguf_value *v, uint64_t i) {
  static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return gguf_number(v->type, v->items + (size_t)i * sizes[v->type]);
}
static syn_text gguf_next(const unsigned char **at) {
  syn_text text;
  text.size = (size_t)little64(*at);
  text.at = (const char *)*at + 8;
  *at += 8 + text.size;
  return text;
}

/* How the texts of a byte-level tokenizer are split. */
static const struct {
  const char *name;
  int options;
} gguf_pres[] = {{"gpt-2", 0},
                 {"default", 0},
                 {"", 0},
                 {"smollm", SYN_PIECES_DIGIT},
                 {"qwen2", SYN_PIECES_GPT4 | SYN_PIECES_DIGIT}, /* llama.cpp composes no text */
                 {"qwen2", SYN_PIECES_GPT4 | SYN_PIECES_DIGIT | SYN_PIECES_NFC},
                 {"llama-bpe", SYN_PIECES_GPT4 | SYN_PIECES_DIGITS | SYN_PIECES_WHOLE}};

/* -1: it is not known. */
static int gguf_pre(syn_text pre) {
  size_t i;
  if (text_is(pre, "llama3") || text_is(pre, "llama-v3")) pre = syn_text_of("llama-bpe");
  for (i = 0; i < COUNT(gguf_pres); i++)
    if (text_is(pre, gguf_pres[i].name)) return gguf_pres[i].options;
  return -1;
}

/* What only a tokenizer of unigrams has. */
static void gguf_unigram(gguf *g, token_list *l) {
  const gguf_value *map = gguf_find(g, "precompiled_charsmap", "tokenizer.ggml.");
  if (map && (map->type > 1 || !map->items))
    fail(FAILED_JOB, "%s: tokenizer.ggml.precompiled_charsmap has no bytes", g->p->path);
  if (map) put(&l->charsmap, (const char *)map->items, (size_t)map->count);
  if (gguf_get(g, "tokenizer.ggml.", "remove_extra_whitespaces", 0.0) != 0.0)
    l->parts.options |= SYN_PIECES_TRIM;
}

static void gguf_tokenizer(gguf *g, size_t rows) {
  static const int types[] = {SYN_PIECE_NORMAL,  SYN_PIECE_NORMAL, SYN_PIECE_CONTROL,
                              SYN_PIECE_CONTROL, SYN_PIECE_USER,   SYN_PIECE_UNUSED,
                              SYN_PIECE_BYTE};
  gguf_value *model = gguf_find(g, "model", "tokenizer.ggml.");
  gguf_value *tokens = gguf_find(g, "tokens", "tokenizer.ggml.");
  gguf_value *scores = gguf_find(g, "scores", "tokenizer.ggml.");
  gguf_value *kinds = gguf_find(g, "token_type", "tokenizer.ggml.");
  gguf_value *merges = gguf_find(g, "merges", "tokenizer.ggml.");
  gguf_value *pre = gguf_find(g, "pre", "tokenizer.ggml.");
  const int bytes = model && text_is(model->text, "gpt2");
  const int unigram = model && text_is(model->text, "t5");
  token_list l = token_list_of(g->p->path);
  const unsigned char *at;
  int spells = !bytes && !unigram;
  uint64_t i;
  if (!model || !tokens || tokens->type != GGUF_TEXT ||
      (!bytes && !unigram && !text_is(model->text, "llama")))
    return;
  if ((scores && (scores->type != 6 || scores->count != tokens->count)) ||
      (kinds && (kinds->type == GGUF_TEXT || kinds->count != tokens->count)) ||
      (merges && merges->type != GGUF_TEXT))
    fail(FAILED_JOB, "%s: the arrays of its tokenizer do not fit", g->p->path);
  for (i = 0, at = tokens->items; i < tokens->count; i++) {
    const double kind = kinds ? gguf_item(kinds, i) : 1.0;
    token_set(&l, (size_t)i, gguf_next(&at), scores ? gguf_item(scores, i) : 0.0,
              kind >= 0.0 && kind < 7.0 ? types[(int)kind] : SYN_PIECE_NORMAL);
    spells |= l.types[i] == SYN_PIECE_BYTE;
  }
  for (i = 0, at = merges ? merges->items : NULL; bytes && merges && i < merges->count; i++)
    token_merge_line(&l, gguf_next(&at));
  l.parts.special[SYN_PAD] = gguf_token(g, "padding_token_id");
  l.parts.special[SYN_UNKNOWN] = gguf_token(g, "unknown_token_id");
  l.parts.special[SYN_BEGIN] = gguf_token(g, "bos_token_id");
  l.parts.special[SYN_END] = gguf_token(g, "eos_token_id");
  l.parts.options = bytes    ? gguf_pre(pre ? pre->text : syn_text_of(""))
                    : spells ? SYN_PIECES_BYTES
                             : 0;
  if (l.parts.options < 0)
    fail(FAILED_JOB, "%s: tokenizer.ggml.pre: %.*s is not read", g->p->path, short_size(pre->text),
         pre->text.at);
  if (!bytes && gguf_get(g, "tokenizer.ggml.", "add_space_prefix", 1.0) != 0.0)
    l.parts.options |= SYN_PIECES_SPACE;
  if (unigram) gguf_unigram(g, &l);
  g->p->tokenizers[SYN_SRC] = g->p->tokenizers[SYN_TGT] =
      token_list_end(g->p->c, &l, bytes ? "gpt2" : unigram ? "unigram" : "llama", rows);
}

static void gguf_llama(gguf *g, const char *a) {
  const int qwen = !strcmp(a, "qwen2."), gemma = !strcmp(a, "gemma.");
  gguf_value *scaling = gguf_find(g, "rope.scaling.type", a);
  llama_shape s;
  memset(&s, 0, sizeof s);
  if (scaling && !text_is(scaling->text, "none"))
    fail(FAILED_JOB, "%s: rope.scaling.type: %.*s is not read", g->p->path,
         short_size(scaling->text), scaling->text.at);
  s.d = gguf_int(g, a, "embedding_length", 0);
  s.n = gguf_int(g, a, "feed_forward_length", 0);
  s.layers = gguf_int(g, a, "block_count", 0);
  s.heads = gguf_int(g, a, "attention.head_count", 0);
  s.kv = gguf_int(g, a, "attention.head_count_kv", s.heads);
  s.c = gguf_int(g, a, "attention.key_length", s.d / s.heads);
  s.eps = gguf_get(g, a, "attention.layer_norm_rms_epsilon", 1e-5);
  s.base = gguf_get(g, a, "rope.freq_base", 10000.0);
  s.bias = qwen ? 2 : 0;
  s.scaled = gemma; /* weights of norms have their 1 in the file */
  s.gate = gemma ? "geglu" : "swiglu";
  s.layout = qwen || gemma ? "half" : "pair"; /* the rows of q and k lie so in the file */
  if (gguf_int(g, a, "rope.dimension_count", s.c) != s.c ||
      gguf_int(g, a, "attention.value_length", s.c) != s.c)
    fail(FAILED_JOB, "%s: rope.dimension_count or value_length is not the width of a head",
         g->p->path);
  if ((size_t)s.layers > g->p->count) fail(FAILED_JOB, "%s: block_count is wrong", g->p->path);
  length_is(g->p, gguf_int(g, a, "context_length", 2048), 0);
  llama_network(g->p, &s, !checkpoint_find(g->p, "lm_head.weight"));
}

static void gguf_gpt2(gguf *g, const char *a) {
  const double eps = gguf_get(g, a, "attention.layer_norm_epsilon", 1e-5);
  const int layers = gguf_int(g, a, "block_count", 0), n = gguf_int(g, a, "feed_forward_length", 0);
  char block[200];
  g->p->k.d_model = gguf_int(g, a, "embedding_length", 0);
  g->p->k.heads = gguf_int(g, a, "attention.head_count", 0);
  if ((size_t)layers > g->p->count) fail(FAILED_JOB, "%s: block_count is wrong", g->p->path);
  length_is(g->p, gguf_int(g, a, "context_length", 1024), 1);
  snprintf(block, sizeof block,
           "res(norm(eps=%.9g) -> syn_att(V, bias=1)) -> res(norm(eps=%.9g) -> ffl(%d, gelu))", eps,
           eps, n);
  gpt2_network(g->p, block, layers, eps, !checkpoint_find(g->p, "lm_head.weight"), 0);
}

/* Keys of the architecture that nothing has read might change what is computed. */
static void gguf_keys_done(const gguf *g, const char *a) {
  size_t i;
  for (i = 0; i < g->count; i++) {
    const gguf_value *v = &g->at[i];
    if (v->used || v->key.size < strlen(a) || memcmp(v->key.at, a, strlen(a))) continue;
    if (v->key.size == strlen(a) + 10 && !memcmp(v->key.at + strlen(a), "vocab_size", 10)) continue;
    fail(FAILED_JOB,
         "%s: %.*s: this key is not known, so that the network might compute something "
         "else",
         g->p->path, short_size(v->key), v->key.at);
  }
}

/* Places of the tensors count from the first multiple of the alignment behind all descriptions. */
static void gguf_places(gguf *g, const reader *r, const uint64_t *places, size_t size) {
  const size_t unit = (size_t)gguf_int(g, "general.", "alignment", 32);
  const size_t head = size - r->left, data = (head + unit - 1) / unit * unit;
  size_t left = r->left, i; /* tensors that share bytes would take more memory than the file */
  for (i = 0; i < g->p->count; i++) {
    foreign *t = &g->p->tensors[i];
    if (data > size || places[i] > size - data || t->bytes > size - data - (size_t)places[i])
      fail(FAILED_JOB, "%s: tensor %s lies behind its end", g->p->path, t->name);
    if (t->bytes > left)
      fail(FAILED_JOB, "%s: tensor %s shares bytes with another one", g->p->path, t->name);
    left -= t->bytes;
    t->data = r->at - head + data + (size_t)places[i];
  }
}

static void gguf_read(checkpoint *p, const char *path) {
  reader r = reader_of(p, path);
  const size_t size = r.left;
  uint64_t tensors, i, *places;
  const foreign *table;
  static const char *const kinds[] = {"gpt2", "llama", "qwen2", "gemma"};
  size_t kind = 0;
  char group[20]; /* the keys of the architecture begin so */
  gguf_value *name;
  gguf g;
  int gpt2;
  memset(&g, 0, sizeof g);
  g.p = p;
  reader_take(&r, 4);
  i = reader_int(&r);
  if (i != 2 && i != 3) fail(FAILED_JOB, "%s: version %.0f of GGUF is not read", path, (double)i);
  tensors = reader_long(&r);
  i = reader_long(&r);
  if (tensors > r.left / 24 || i > r.left / 12)
    fail(FAILED_JOB, "%s: more tensors and keys than it has bytes", path);
  g.at = (gguf_value *)checkpoint_keep(p, take((size_t)i, sizeof *g.at));
  for (; i; i--) g.at[g.count++] = gguf_read_value(&r);
  name = gguf_find(&g, "architecture", "general.");
  while (name && kind < COUNT(kinds) && !text_is(name->text, kinds[kind])) kind++;
  if (!name || kind == COUNT(kinds))
    fail(FAILED_JOB, "%s: general.architecture: %.*s is not read; wanted: llama, qwen2, gemma, gpt2",
         path, name ? short_size(name->text) : 7, name ? name->text.at : "nothing");
  gpt2 = kind == 0;
  snprintf(group, sizeof group, "%s.", kinds[kind]);
  places = (uint64_t *)checkpoint_keep(p, take((size_t)tensors, sizeof *places));
  for (i = 0; i < tensors; i++) places[i] = gguf_tensor(&r, gpt2);
  gguf_places(&g, &r, places, size);
  if (p->count) qsort(p->tensors, p->count, sizeof *p->tensors, foreign_order);
  if (gpt2) gguf_gpt2(&g, group);
  else gguf_llama(&g, group);
  specials_are(p, gguf_token(&g, "padding_token_id"), gguf_token(&g, "unknown_token_id"),
               gguf_token(&g, "bos_token_id"), gguf_token(&g, "eos_token_id"));
  table = checkpoint_find(p, gpt2 ? "wte.weight" : "embed_tokens.weight");
  if (!table || table->rank != 2 || !table->count || table->shape[0] > 1 << 24)
    fail(FAILED_JOB, "%s: tensor token_embd.weight is missing, or is no matrix", path);
  p->vocabulary[0].count = p->vocabulary[1].count = (int)table->shape[0];
  gguf_tokenizer(&g, table->shape[0]);
  gguf_keys_done(&g, group);
}

/* ==============================================================================================
   >>import inflate   compressed data of zip files (RFC 1951)
   ============================================================================================== */

/* Bits are read from the lowest one of each byte on. A code is canonical: count [16] codes of each
   length, their symbols in the order of the codes. Wrong data end the program with the path. */
typedef struct inflater {
  const char *path;
  const unsigned char *at;
  unsigned char *out;
  size_t left, size, used; /* bytes of the data; of out, and how many are written */
  uint32_t bits;
  int held;
} inflater;

typedef struct inflate_code {
  int count[16], symbol[288];
} inflate_code;

static void inflate_fail(const inflater *z) NO_RETURN;
static void inflate_fail(const inflater *z) {
  fail(FAILED_JOB, "%s: its compressed data are damaged", z->path);
}
static int inflate_bits(inflater *z, int n) {
  int value;
  while (z->held < n) {
    if (!z->left) inflate_fail(z);
    z->bits |= (uint32_t)*z->at++ << z->held;
    z->left--;
    z->held += 8;
  }
  value = (int)(z->bits & ((1u << n) - 1));
  z->bits >>= n;
  z->held -= n;
  return value;
}
static int inflate_symbol(inflater *z, const inflate_code *c) {
  int code = 0, first = 0, index = 0, length;
  for (length = 1; length < 16; length++) {
    code |= inflate_bits(z, 1);
    if (code - c->count[length] < first) return c->symbol[index + code - first];
    index += c->count[length];
    first = (first + c->count[length]) << 1;
    code <<= 1;
  }
  inflate_fail(z);
  return 0;
}
/* The code of these lengths [n]; 0: no symbol. */
static void inflate_make(inflater *z, inflate_code *c, const unsigned char *lengths, int n) {
  int offset[16], left = 1, i;
  memset(c, 0, sizeof *c);
  for (i = 0; i < n; i++) c->count[lengths[i]]++;
  c->count[0] = 0;
  for (i = 1; i < 16; i++) {
    left = 2 * left - c->count[i];
    if (left < 0) inflate_fail(z);
  }
  for (offset[1] = 0, i = 1; i < 15; i++) offset[i + 1] = offset[i] + c->count[i];
  for (i = 0; i < n; i++)
    if (lengths[i]) c->symbol[offset[lengths[i]]++] = i;
}

static void inflate_put(inflater *z, int byte) {
  if (z->used == z->size) inflate_fail(z);
  z->out[z->used++] = (unsigned char)byte;
}

/* A block of literals and copies of what was written before. */
static void inflate_block(inflater *z, const inflate_code *literal, const inflate_code *distance) {
  static const short base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                               31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const int far_base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                 33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  for (;;) {
    int symbol = inflate_symbol(z, literal), length, code;
    size_t back;
    if (symbol < 256) {
      inflate_put(z, symbol);
      continue;
    }
    if (symbol == 256) return;
    symbol -= 257;
    if (symbol > 28) inflate_fail(z);
    length = base[symbol];
    if (symbol > 7 && symbol < 28) length += inflate_bits(z, (symbol - 4) / 4);
    code = inflate_symbol(z, distance);
    if (code > 29) inflate_fail(z);
    back = (size_t)far_base[code];
    if (code > 3) back += (size_t)inflate_bits(z, (code - 2) / 2);
    if (back > z->used) inflate_fail(z);
    for (; length; length--) inflate_put(z, z->out[z->used - back]);
  }
}

/* The two codes of a block, which are compressed by a third one. */
static void inflate_codes(inflater *z, inflate_code *literal, inflate_code *distance) {
  static const unsigned char order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
  const int literals = inflate_bits(z, 5) + 257, distances = inflate_bits(z, 5) + 1;
  const int codes = inflate_bits(z, 4) + 4;
  unsigned char lengths[320];
  int i;
  memset(lengths, 0, sizeof lengths);
  for (i = 0; i < codes; i++) lengths[order[i]] = (unsigned char)inflate_bits(z, 3);
  inflate_make(z, literal, lengths, 19);
  for (i = 0; i < literals + distances;) {
    int symbol = inflate_symbol(z, literal), times = 1, value = symbol;
    if (symbol > 15) {
      value = symbol == 16 && i ? lengths[i - 1] : 0;
      times = symbol == 16   ? 3 + inflate_bits(z, 2)
              : symbol == 17 ? 3 + inflate_bits(z, 3)
                             : 11 + inflate_bits(z, 7);
    }
    if (times > literals + distances - i || (symbol == 16 && !i)) inflate_fail(z);
    for (; times; times--) lengths[i++] = (unsigned char)value;
  }
  if (literals > 286) inflate_fail(z);
  inflate_make(z, literal, lengths, literals);
  inflate_make(z, distance, lengths + literals, distances);
}

static void inflate_fixed(inflater *z, inflate_code *literal, inflate_code *distance) {
  unsigned char lengths[288];
  memset(lengths, 8, 144);
  memset(lengths + 144, 9, 112);
  memset(lengths + 256, 7, 24);
  memset(lengths + 280, 8, 8);
  inflate_make(z, literal, lengths, 288);
  memset(lengths, 5, 30);
  inflate_make(z, distance, lengths, 30);
}

/* Fills z->out, which the data must fill exactly. */
static void inflate(inflater *z) {
  inflate_code literal, distance;
  int last, type;
  do {
    last = inflate_bits(z, 1);
    type = inflate_bits(z, 2);
    if (type == 3) inflate_fail(z);
    if (type) {
      if (type == 1) inflate_fixed(z, &literal, &distance);
      else
        inflate_codes(z, &literal, &distance);
      inflate_block(z, &literal, &distance);
      continue;
    }
    z->held = 0; /* bytes as they are, from the next whole byte on */
    z->bits = 0;
    type = inflate_bits(z, 16);
    if ((type ^ inflate_bits(z, 16)) != 0xFFFF) inflate_fail(z);
    for (; type; type--) inflate_put(z, inflate_bits(z, 8));
  } while (!last);
  if (z->used != z->size) inflate_fail(z);
}

/* ==============================================================================================
   >>import npz   named arrays of NumPy, with a network and a map by the user
   ============================================================================================== */

/* The value of a key of the header of an array, a text of Python; null: it is not there. */
static const char *npy_value(const char *header, const char *key) {
  const char *at = strstr(header, key);
  return at ? at + strlen(key) + strspn(at + strlen(key), ": '") : NULL;
}

/* An array: magic, version, length of the header, header, numbers. */
static void npy_read(checkpoint *p, const char *name, const unsigned char *at, size_t size) {
  static const struct {
    const char *name;
    int type;
    size_t bytes;
  } types[] = {{"<f4", FOREIGN_F32, 4}, {"<f2", FOREIGN_F16, 2}, {"<f8", FOREIGN_F64, 8},
               {"|i1", FOREIGN_I8, 1},  {"<i2", FOREIGN_I16, 2}, {"<i4", FOREIGN_I32, 4}};
  const size_t fixed = size > 12 && at[6] == 1 ? 10 : 12;
  size_t length, i;
  char header[1000];
  const char *type, *order, *shape;
  foreign *t;
  if (size <= 12 || memcmp(at, "\x93NUMPY", 6) != 0)
    fail(FAILED_JOB, "%s: %s is no array of NumPy", p->path, name);
  length = fixed == 10 ? little16(at + 8) : little32(at + 8);
  if (length > size - fixed || length >= sizeof header)
    fail(FAILED_JOB, "%s: the header of %s is damaged", p->path, name);
  memcpy(header, at + fixed, length);
  header[length] = 0;
  type = npy_value(header, "'descr'");
  order = npy_value(header, "'fortran_order'");
  shape = npy_value(header, "'shape'");
  for (i = 0; i < COUNT(types) && (!type || strncmp(type, types[i].name, 3)); i++) continue;
  if (i == COUNT(types) || !order || strncmp(order, "False", 5) || !shape || *shape != '(')
    fail(FAILED_JOB, "%s: %s: %.40s is not read; wanted: numbers by rows", p->path, name, header);
  t = checkpoint_add(p, name, types[i].type, 0);
  for (shape++; *shape != ')';) {
    char *end;
    const double n = strtod(shape, &end);
    if (end == shape || t->rank == 4 || !(n >= 0.0 && n < 1e15))
      fail(FAILED_JOB, "%s: the shape of %s is not read", p->path, name);
    t->count = size_mul(t->count, t->shape[t->rank++] = (size_t)n);
    shape = end + strspn(end, ", ");
  }
  t->bytes = size_mul(t->count, types[i].bytes);
  t->data = at + fixed + length;
  if (t->bytes != size - fixed - length)
    fail(FAILED_JOB, "%s: %s has another size than its shape", p->path, name);
}

/* CRC-32, as zip files have it. */
static uint32_t zip_crc(const unsigned char *at, size_t size) {
  uint32_t crc = 0xFFFFFFFF;
  int k;
  for (; size; size--) {
    crc ^= *at++;
    for (k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

/* A file of the zip, by its entry in the directory: 46 bytes and its name. */
static void npz_entry(checkpoint *p, const unsigned char *file, size_t size,
                      const unsigned char *entry) {
  const unsigned method = little16(entry + 10);
  const size_t packed = little32(entry + 20), whole = little32(entry + 24);
  const size_t length = little16(entry + 28), at = little32(entry + 42);
  char *name = (char *)checkpoint_keep(p, take(length + 1, 1));
  const unsigned char *data;
  size_t begin;
  memcpy(name, entry + 46, length);
  if (strstr(name, "data.pkl")) pickle_refuse(p->path);
  if (strstr(name, "special:model.yml"))
    fail(FAILED_JOB,
         "%s: this is a model of Marian, which is not read: convert it to the format of "
         "Hugging Face by transformers' convert_marian_to_pytorch.py",
         p->path);
  if (length > 4 && !strcmp(name + length - 4, ".npy")) name[length - 4] = 0;
  if (at > size || size - at < 30 || memcmp(file + at, "PK\3\4", 4) != 0)
    fail(FAILED_JOB, "%s: %s is damaged", p->path, name);
  begin = at + 30 + little16(file + at + 26) + little16(file + at + 28);
  if (begin > size || packed > size - begin || (method != 0 && method != 8) ||
      (method ? whole / 1032 > packed : whole != packed) || little16(entry + 8) & 1)
    fail(FAILED_JOB, "%s: %s is damaged, or packed by another method than deflate", p->path, name);
  data = file + begin;
  if (method) {
    inflater z;
    memset(&z, 0, sizeof z);
    z.path = p->path;
    z.at = data;
    z.left = packed;
    z.size = whole;
    data = z.out = (unsigned char *)checkpoint_keep(p, take(whole, 1));
    inflate(&z);
  }
  npy_read(p, name, data, whole);
  if (zip_crc(data, whole) != little32(entry + 16))
    fail(FAILED_JOB, "%s: %s is damaged: it has another CRC-32", p->path, name);
}

/* The directory stands at the end; the record that tells where, in the last 64 KiB. */
static void npz_read(checkpoint *p, const char *path) {
  reader r = reader_of(p, path);
  const size_t size = r.left;
  size_t end = size < 22 ? 0 : size - 22, left = size, at, count;
  while (end && size - end < 65558 && memcmp(r.at + end, "PK\5\6", 4) != 0) end--;
  if (size < 22 || memcmp(r.at + end, "PK\5\6", 4) != 0)
    fail(FAILED_JOB, "%s: this zip file has no directory", path);
  at = little32(r.at + end + 16);
  for (count = little16(r.at + end + 10); count; count--) {
    if (at > end || end - at < 46 || memcmp(r.at + at, "PK\1\2", 4) != 0 ||
        end - at - 46 < little16(r.at + at + 28) || little32(r.at + at + 20) > left)
      fail(FAILED_JOB, "%s: the directory of this zip file is damaged", path);
    left -= little32(r.at + at + 20); /* files that share bytes would take more memory than it */
    npz_entry(p, r.at, size, r.at + at);
    at +=
        46 + (size_t)little16(r.at + at + 28) + little16(r.at + at + 30) + little16(r.at + at + 32);
  }
}

/* tokens=FILE:KEY of a side: a list in a file of JSON beside the checkpoint. */
static void custom_names(checkpoint *p, int side, const char *folder, const char *of) {
  const char *colon = strrchr(of, ':');
  const json_value *v;
  char *name, *path;
  json j;
  int i = 0;
  if (!colon) fail(FAILED_JOB, "%s: tokens=%s: wanted FILE:KEY", p->options->map, of);
  name = (char *)take((size_t)(colon - of) + 1, 1);
  memcpy(name, of, (size_t)(colon - of));
  path = path_inside(folder, name);
  j = json_parse(read_file(path), path);
  checkpoint_keep(p, j.bytes.at);
  checkpoint_keep(p, j.at);
  v = json_get(&j, j.at, colon + 1);
  if (!v || v->kind != JSON_LIST || v->count != (uint32_t)p->vocabulary[side].count)
    fail(FAILED_JOB, "%s: %s is no list of %d tokens", path, colon + 1, p->vocabulary[side].count);
  p->names[side] = (syn_text *)checkpoint_keep(p, take(v->count, sizeof(syn_text)));
  for (v = json_first(v); v; v = json_after(&j, v)) p->names[side][i++] = v->text;
  free(name);
  free(path);
}

/* A line "= source padding=0 unknown=1 begin=2 end=3 tokens=FILE:KEY" of the map. */
static void custom_side(checkpoint *p, const char *folder, syn_text line) {
  static const char *const names[] = {"padding=", "unknown=", "begin=", "end=", "tokens="};
  syn_text word;
  int side = -1;
  while (next_piece(&line, " \t", &word)) {
    char text[200];
    size_t i = 0;
    if (!word.size || text_is(word, "=")) continue;
    snprintf(text, sizeof text, "%.*s", (int)(word.size < 199 ? word.size : 199), word.at);
    if (!strcmp(text, "source") || !strcmp(text, "target")) {
      side = *text == 't';
      continue;
    }
    while (i < COUNT(names) && strncmp(text, names[i], strlen(names[i]))) i++;
    if (i == COUNT(names) || side < 0)
      fail(FAILED_JOB,
           "%s: %s: wanted source or target, then padding=, unknown=, begin=, end= a "
           "number, tokens=FILE:KEY",
           p->options->map, text);
    if (i == 4) custom_names(p, side, folder, text + strlen(names[i]));
    else if (!parse_int(text + strlen(names[i]), &p->vocabulary[side].special[i]))
      fail(FAILED_JOB, "%s: %s: wanted a number", p->options->map, text);
  }
}

/* The tokens of a side: as many as the array has rows that fills its embeddings. */
static int custom_count(const checkpoint *p, const char *embeddings) {
  syn_text rest = buffer_text(&p->rules), line;
  const foreign *t = NULL;
  size_t number = 0;
  while (rest.size && next_piece(&rest, "\n", &line)) {
    map_rule r;
    number++;
    if (!line.size || strchr("#=-", *line.at)) continue;
    r = rule_of(p, line, number);
    if (!strcmp(r.ours, embeddings)) t = checkpoint_find(p, r.theirs);
  }
  return t && t->rank == 2 && t->shape[0] < 1 << 24 ? (int)t->shape[0] : 0;
}

/* The network and the map of the options, for any file of named arrays. */
static void custom_read(checkpoint *p, const char *folder) {
  const syn_import_options *o = p->options;
  syn_text rest, line;
  p->rules = read_text(o->map);
  p->k.task = o->task;
  p->k.d_model = o->d_model;
  p->k.heads = o->heads;
  p->k.tie = o->tie;
  put_line(&p->encoder, "%s", o->encoder ? o->encoder : "");
  put_line(&p->decoder, "%s", o->decoder ? o->decoder : "");
  length_is(p, 512, 0);
  if (p->count) qsort(p->tensors, p->count, sizeof *p->tensors, foreign_order);
  specials_are(p, -1, -1, -1, -1);
  p->vocabulary[SYN_SRC].count = custom_count(p, "src.embed");
  p->vocabulary[SYN_TGT].count = custom_count(p, "tgt.embed");
  if (!p->vocabulary[SYN_SRC].count) p->vocabulary[SYN_SRC] = p->vocabulary[SYN_TGT];
  if (!p->vocabulary[SYN_TGT].count) p->vocabulary[SYN_TGT] = p->vocabulary[SYN_SRC];
  for (rest = buffer_text(&p->rules); rest.size && next_piece(&rest, "\n", &line);)
    if (line.size && *line.at == '=') custom_side(p, folder, line);
}

/* ==============================================================================================
   >>import   a checkpoint becomes a model
   ============================================================================================== */

/* Whether a file begins like model.bin of CTranslate2: a version, a text. */
static int is_ct2(const unsigned char *head, size_t size) {
  return size > 17 && head[0] >= 2 && head[0] <= 6 && !head[1] && !head[2] && !head[3] &&
         !memcmp(head + 6, "Transformer", 11);
}

/* Reads the format that the content shows. */
static void checkpoint_read(checkpoint *p) {
  char *config = path_inside(p->path, "config.json"), *bin = path_inside(p->path, "model.bin");
  const char *path = file_exists(bin) ? bin : file_exists(config) ? config : p->path;
  char *folder = folder_of(path);
  unsigned char head[32];
  FILE *f = open_file(path, "rb");
  size_t got = f ? fread(head, 1, sizeof head, f) : 0;
  if (f) fclose(f);
  if (!got)
    fail(FAILED_JOB,
         "%s: a checkpoint is wanted: a folder with config.json or model.bin, or a file that exists: "
         ".gguf, .npz, .safetensors, .bin of llama2.c", p->path);
  if (got > 4 && little32(head) == 0x67676D66)
    fail(FAILED_JOB, "%s: RWKV is not read: the language has no linear attention with decay", path);
  if (got > 4 && !memcmp(head, "GGUF", 4)) gguf_read(p, path);
  else if (is_ct2(head, got))
    ct2_read(p, folder, path);
  else if (got >= 4 && !memcmp(head, "PK", 2))
    npz_read(p, path);
  else if (path == config || (!p->options->map && (*head == '{' || (got > 8 && head[8] == '{'))))
    folder_read(p, folder);
  else if (got > 8 && head[8] == '{')
    safetensors_add(p, path);
  else if (got >= 2 && head[0] == 0x80)
    pickle_refuse(p->path);
  else
    llama2c_read(p, path);
  if (p->options->map) custom_read(p, folder);
  else if (!p->k.task)
    fail(FAILED_JOB,
         "%s: these are named arrays: --map, --task and the texts of the network are "
         "wanted",
         p->path);
  if (p->count) qsort(p->tensors, p->count, sizeof *p->tensors, foreign_order);
  free(config);
  free(bin);
  free(folder);
}

/* Refuses a configuration that wants more memory than the file: its network has copies of the
   embeddings at most, biases of zeros and four more tokens. */
static void checkpoint_size(const checkpoint *p) {
  syn_model *outline = syn_model_outline(p->c, &p->k, NULL);
  double mine = 0.0, theirs = 0.0;
  size_t i;
  check(p->c);
  for (i = 0; i < syn_model_param_count(outline); i++)
    mine += (double)syn_model_param(outline, i)->size;
  for (i = 0; i < p->count; i++) theirs += (double)p->tensors[i].count;
  syn_model_free(outline);
  if (mine > 4.0 * theirs + 100000.0)
    fail(FAILED_JOB, "%s: the network has %.0f weights, the checkpoint %.0f", p->path, mine,
         theirs);
}

/* The numbers of padding, unknown, begin, end are those of the tokenizer. A target may begin with
   another of them that the configuration names: t5 and marian begin with the padding. */
static void tokenizer_specials(checkpoint *p, int side) {
  int *special = p->vocabulary[side].special, begin = special[SYN_BEGIN], i, known = begin < 0;
  for (i = 0; i < 4; i++) {
    special[i] = syn_tokenizer_number(p->tokenizers[side], i);
    known |= special[i] == begin;
  }
  if (special[SYN_BEGIN] < 0 && known) special[SYN_BEGIN] = begin;
  if (!known && p->decoder.size && special[SYN_BEGIN] < 0)
    fail(FAILED_JOB, "%s: outputs begin with token %d, which is not special in the tokenizer",
         p->path, begin);
}

/* The tokenizers that the options name, those in the file, or in the folder of the checkpoint. */
static void checkpoint_tokenizer(checkpoint *p) {
  static const char *const models[] = {"source.spm", "target.spm"}; /* of marian, with one list */
  const char *wanted = p->options->tokenizer, *folder = wanted ? wanted : p->path;
  const size_t rows = (size_t)p->vocabulary[SYN_TGT].count;
  const int *named = p->vocabulary[SYN_TGT].special;
  /* of a tokenizer beside it: begin and end of the configuration, whatever others are named so; a
     decoder of seq2seq may begin with any token */
  const int special[4] = {-1, -1, p->encoder.size ? -1 : named[SYN_BEGIN], named[SYN_END]};
  char *file = tokenizer_path(folder), *list = path_inside(folder, "vocab.json");
  int side;
  if (wanted) {
    syn_tokenizer_free(p->tokenizers[SYN_TGT]);
    p->tokenizers[SYN_SRC] = p->tokenizers[SYN_TGT] = NULL;
  }
  for (side = 0; side < 2 && file_exists(list); side++) {
    char *model = path_inside(folder, models[side]);
    if (file_exists(model)) p->tokenizers[side] = tokenizer_read_numbered(p->c, model, list, rows);
    free(model);
  }
  if (!p->tokenizers[SYN_TGT] && (wanted || strcmp(file, p->path)))
    p->tokenizers[SYN_SRC] = p->tokenizers[SYN_TGT] =
        tokenizer_read(p->c, folder, rows, wanted ? NULL : special);
  for (side = 0; side < 2; side++)
    if (p->tokenizers[side]) tokenizer_specials(p, side);
  if (p->options->report && p->tokenizers[SYN_TGT])
    fprintf(p->options->report, "tokenizer %s\n", syn_tokenizer_type(p->tokenizers[SYN_TGT]));
  free(file);
  free(list);
}

static void checkpoint_build(checkpoint *p) {
  put_byte(&p->encoder, 0);
  put_byte(&p->decoder, 0);
  p->k.encoder = p->encoder.size > 1 ? p->encoder.at : NULL;
  p->k.decoder = p->decoder.size > 1 ? p->decoder.at : NULL;
  p->k.src_vocab = p->k.encoder ? p->vocabulary[SYN_SRC].size : 0;
  p->k.tgt_vocab = p->k.decoder ? p->vocabulary[SYN_TGT].size : 0;
  if (*p->k.task == 't') p->k.classes = p->k.src_vocab;
  checkpoint_size(p);
  p->m = syn_model_new(p->c, &p->k);
  check(p->c);
}

static void checkpoint_files_free(checkpoint *p) {
  size_t i;
  for (i = 0; i < p->n_files; i++) syn_file_free(p->files[i]);
}
static void checkpoint_free(checkpoint *p) {
  size_t i;
  checkpoint_files_free(p);
  for (i = 0; i < p->n_blocks; i++) free(p->blocks[i]);
  free(p->blocks);
  for (i = 0; i < 2; i++) {
    free(p->vocabulary[i].number);
    free(p->vocabulary[i].id);
  }
  json_free(&p->config);
  json_free(&p->generation);
  free(p->known);
  free(p->tensors);
  free(p->encoder.at);
  free(p->decoder.at);
  free(p->rules.at);
}

/* Everything but the model is freed by checkpoint_free. */
static void checkpoint_import(checkpoint *p, syn_context *c, const char *path,
                              const syn_import_options *o) {
  int side;
  memset(p, 0, sizeof *p);
  p->c = c;
  p->options = o;
  p->path = path;
  p->banned = -1;
  checkpoint_read(p);
  for (side = 0; side < 2; side++) vocabulary_fits(p, p->vocabulary[side].count);
  checkpoint_tokenizer(p);
  for (side = 0; side < 2; side++) {
    int *special = p->vocabulary[side].special;
    if (special[3] < 0 && o->separator > 0) special[3] = o->separator;
    vocabulary_make(p, side, p->vocabulary[side].count);
  }
  checkpoint_build(p);
  if (o->report) {
    if (p->k.encoder) fprintf(o->report, "encoder %s\n", p->k.encoder);
    if (p->k.decoder) fprintf(o->report, "decoder %s\n", p->k.decoder);
  }
  map_run(p);
  if (p->tokenizers[SYN_TGT] || p->tokenizers[SYN_SRC])
    syn_model_set_tokenizers(p->m, p->k.encoder ? p->tokenizers[SYN_SRC] : NULL,
                             p->tokenizers[SYN_TGT]);
}

#ifndef TOOL_ENDS
/* The same; 0: it has failed, and only what the library has made for p is there. */
static int checkpoint_try(checkpoint *p, syn_context *c, const char *path,
                          const syn_import_options *o, attempt *a) {
  attempt_begin(a);
  if (setjmp(a->back)) {
    attempt_end(a, 1);
    return 0;
  }
  checkpoint_import(p, c, path, o);
  attempt_end(a, 0);
  return 1;
}

/* A model with the weights of a checkpoint. Null: the error is recorded in c, see its message; all
   memory is free again. The program goes on, whatever the files hold. */
MAYBE_UNUSED static syn_model *syn_import(syn_context *c, const char *path,
                                          const syn_import_options *options) {
  checkpoint p;
  syn_import_options o;
  attempt a;
  memset(&o, 0, sizeof o);
  if (options) o = *options;
  if (c->status) return NULL;
  if (checkpoint_try(&p, c, path, &o, &a)) {
    checkpoint_free(&p);
    return p.m;
  }
  checkpoint_files_free(&p);
  if (p.tokenizers[SYN_SRC] != p.tokenizers[SYN_TGT]) syn_tokenizer_free(p.tokenizers[SYN_SRC]);
  syn_tokenizer_free(p.tokenizers[SYN_TGT]);
  syn_model_free(p.m);
  if (!c->status) c->status = SYN_E_FORMAT;
  syn_text_visible(syn_text_of(a.message), c->message, sizeof c->message);
  return NULL;
}
#endif
