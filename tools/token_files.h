/* token_files.h   tokenizers of other programs: files of SentencePiece, Hugging Face, GPT-2, BERT
   and llama2.c become a syn_tokenizer. A part of syn.c, which includes it behind json.h.

   What a file wants that is not computed here ends the program with its name. */

/* ==============================================================================================
   >>tool token list   the parts of a tokenizer, growing
   ============================================================================================== */

typedef struct token_list {
  const char *path;
  syn_tokenizer_parts parts; /* its arrays are those below */
  syn_text *tokens;          /* [count] */
  float *scores;
  unsigned char *types;
  size_t count, cap;
  int *merges; /* [n_merges,2] */
  size_t n_merges, merge_cap;
  numbered *sorted; /* [count] tokens in the order of their names; null: not yet */
  unsigned pipeline; /* HF_... of the parts that a tokenizer.json has */
  json tree;         /* what names and charsmap lie in */
  buffer bytes, more, charsmap;
} token_list;

static token_list token_list_of(const char *path) {
  token_list l;
  int i;
  memset(&l, 0, sizeof l);
  l.path = path;
  for (i = 0; i < 4; i++) l.parts.special[i] = -1;
  return l;
}

static void token_list_free(token_list *l) {
  free(l->tokens);
  free(l->scores);
  free(l->types);
  free(l->merges);
  free(l->sorted);
  json_free(&l->tree);
  free(l->bytes.at);
  free(l->more.at);
  free(l->charsmap.at);
}

/* Whether a token has one of the names of our fixed ids. GPT-2 has one for begin and end. */
static void token_special(token_list *l, int number, syn_text name) {
  static const char *const names[] = {
      "<pad> [PAD]", "<unk> [UNK]", "<s> [CLS] <bos> <|endoftext|> <|begin_of_text|>",
      "</s> [SEP] <eos> <|endoftext|> <|end_of_text|>"};
  size_t i;
  for (i = 0; i < COUNT(names); i++) {
    syn_text rest = syn_text_of(names[i]), one;
    while (next_piece(&rest, " ", &one))
      if (l->parts.special[i] < 0 && text_equal(one, name)) l->parts.special[i] = number;
  }
}

/* Room for the token of this number; those between are unused. A number of JSON is no larger than
   its file, so that a few bytes take no memory for millions of tokens. */
static void token_reserve(token_list *l, size_t number) {
  if (number >= ((size_t)1 << 24) - 4 ||
      (l->tree.count && number >= 1024 + l->tree.bytes.size && !l->parts.kind))
    fail(FAILED_JOB, "%s: token number %.0f is too large for the file", l->path, (double)number);
  while (l->cap <= number) {
    l->cap = l->cap ? 2 * l->cap : 1024;
    l->tokens = (syn_text *)grow(l->tokens, l->cap, sizeof *l->tokens);
    l->scores = (float *)grow(l->scores, l->cap, sizeof *l->scores);
    l->types = (unsigned char *)grow(l->types, l->cap, 1);
  }
  while (l->count <= number) {
    l->tokens[l->count].at = "";
    l->tokens[l->count].size = 0;
    l->scores[l->count] = 0.0f;
    l->types[l->count++] = SYN_PIECE_UNUSED;
  }
}

static void token_set(token_list *l, size_t number, syn_text name, double score, int type) {
  token_reserve(l, number);
  l->tokens[number] = name;
  l->scores[number] = (float)score;
  l->types[number] = (unsigned char)type;
}

/* The number of a name, -1: there is none. */
static int token_number(token_list *l, syn_text name) {
  size_t i, low = 0, high = l->count;
  if (!l->sorted) {
    l->sorted = (numbered *)take(l->count, sizeof *l->sorted);
    for (i = 0; i < l->count; i++) l->sorted[i].text = l->tokens[i], l->sorted[i].at = i;
    qsort(l->sorted, l->count, sizeof *l->sorted, numbered_order);
  }
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = text_compare(l->sorted[middle].text, name);
    if (!order) return (int)l->sorted[middle].at;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}

static void token_merge(token_list *l, syn_text left, syn_text right) {
  const int a = token_number(l, left), b = token_number(l, right);
  if (a < 0 || b < 0)
    fail(FAILED_JOB, "%s: the merge '%.*s %.*s' is not of two tokens of the vocabulary", l->path,
         short_size(left), left.at, short_size(right), right.at);
  if (l->n_merges == l->merge_cap) {
    l->merge_cap = l->merge_cap ? 2 * l->merge_cap : 1024;
    l->merges = (int *)grow(l->merges, l->merge_cap, 2 * sizeof *l->merges);
  }
  l->merges[2 * l->n_merges] = a;
  l->merges[2 * l->n_merges++ + 1] = b;
}
/* "left right" */
static void token_merge_line(token_list *l, syn_text line) {
  const char *space = line.size ? (const char *)memchr(line.at, ' ', line.size) : NULL;
  syn_text left, right;
  if (!space) fail(FAILED_JOB, "%s: a merge is '%.*s', wanted two names with a space between",
                   l->path, short_size(line), line.at ? line.at : "");
  left.at = line.at;
  left.size = (size_t)(space - line.at);
  right.at = space + 1;
  right.size = line.size - left.size - 1;
  token_merge(l, left, right);
}

/* The tokenizer of the list, with empty tokens up to `rows`. */
static syn_tokenizer *token_list_end(syn_context *c, token_list *l, const char *kind, size_t rows) {
  const int scores = !strcmp(kind, "unigram") || (!strcmp(kind, "llama") && !l->n_merges);
  syn_tokenizer *t;
  if (rows && l->count > rows)
    fail(FAILED_JOB, "%s: %.0f tokens, the model has %.0f", l->path, (double)l->count,
         (double)rows);
  l->parts.kind = kind;
  if (rows) token_reserve(l, rows - 1);
  l->parts.count = l->count;
  l->parts.tokens = l->tokens;
  l->parts.scores = scores ? l->scores : NULL;
  l->parts.types = l->types;
  l->parts.merges = l->merges;
  l->parts.n_merges = l->n_merges;
  l->parts.charsmap = buffer_text(&l->charsmap);
  t = syn_tokenizer_from(c, &l->parts);
  check_file(c, l->path);
  token_list_free(l);
  return t;
}

/* ==============================================================================================
   >>tool sentencepiece   model files of SentencePiece: a message of protocol buffers
   ============================================================================================== */

/* A field of a message: its number; a number, or bytes. */
typedef struct proto_field {
  uint64_t number, value;
  syn_text bytes;
} proto_field;

static int proto_varint(syn_text *rest, uint64_t *value) {
  int shift;
  *value = 0;
  for (shift = 0; shift < 64 && rest->size; shift += 7) {
    const unsigned char byte = (unsigned char)*rest->at;
    rest->at++, rest->size--;
    *value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return 1;
  }
  return 0;
}

/* The next field of a message, which moves behind it; 0: there is none, or it is damaged, and the
   message stays where it is. */
static int proto_next(syn_text *message, proto_field *f) {
  syn_text rest = *message;
  uint64_t key, size = 0;
  int i, fixed;
  if (!rest.size || !proto_varint(&rest, &key)) return 0;
  f->number = key >> 3;
  f->value = 0;
  fixed = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : 0;
  if ((key & 7) == 0 && !proto_varint(&rest, &f->value)) return 0;
  if ((key & 7) == 2 && !proto_varint(&rest, &size)) return 0;
  if ((!fixed && (key & 7) != 0 && (key & 7) != 2) || size > rest.size) return 0;
  if ((size_t)fixed > rest.size) return 0;
  for (i = fixed - 1; i >= 0; i--) f->value = f->value << 8 | (unsigned char)rest.at[i];
  f->bytes.at = rest.at;
  f->bytes.size = (size_t)size;
  message->at = rest.at + (size_t)size + (size_t)fixed;
  message->size = rest.size - (size_t)size - (size_t)fixed;
  return 1;
}

static double proto_float(uint64_t value) {
  const uint32_t bits = (uint32_t)value;
  float x;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

/* One piece: name 1, score 2, type 3. */
static void spm_piece(token_list *l, syn_text message) {
  static const int types[] = {SYN_PIECE_UNUSED, SYN_PIECE_NORMAL, SYN_PIECE_CONTROL, /* unknown */
                              SYN_PIECE_CONTROL, SYN_PIECE_USER, SYN_PIECE_UNUSED, SYN_PIECE_BYTE};
  syn_text name = {"", 0};
  double score = 0.0;
  uint64_t type = 1;
  proto_field f;
  while (proto_next(&message, &f)) {
    if (f.number == 1) name = f.bytes;
    if (f.number == 2) score = proto_float(f.value);
    if (f.number == 3) type = f.value;
  }
  if (message.size || type >= COUNT(types))
    fail(FAILED_JOB, "%s: token %.0f is damaged", l->path, (double)l->count);
  if (type == 2) l->parts.special[SYN_UNKNOWN] = (int)l->count;
  if (type == 3) token_special(l, (int)l->count, name);
  token_set(l, l->count, name, score, types[type]);
}

/* The normalizer: charsmap 2, add_dummy_prefix 3, remove_extra_whitespaces 4, escape_whitespaces
   5. */
static void spm_normalizer(token_list *l, syn_text message) {
  proto_field f;
  while (proto_next(&message, &f)) {
    if (f.number == 2) put(&l->charsmap, f.bytes.at, f.bytes.size);
    if (f.number == 3 && !f.value) l->parts.options &= ~SYN_PIECES_SPACE;
    if (f.number == 4 && !f.value) l->parts.options &= ~SYN_PIECES_TRIM;
    if (f.number == 5 && !f.value)
      fail(FAILED_JOB, "%s: escape_whitespaces: false is not read", l->path);
  }
  if (message.size) fail(FAILED_JOB, "%s: the normalizer is damaged", l->path);
}

/* The trainer: model_type 3 (1 unigram, 2 bpe), treat_whitespace_as_suffix 24, byte_fallback 35. */
static int spm_trainer(token_list *l, syn_text message) {
  static const char *const names[] = {"0", "unigram", "bpe", "word", "char"};
  int type = 1;
  proto_field f;
  while (proto_next(&message, &f)) {
    if (f.number == 3) type = f.value < COUNT(names) ? (int)f.value : 0;
    if (f.number == 35 && f.value) l->parts.options |= SYN_PIECES_BYTES;
    if (f.number == 24 && f.value)
      fail(FAILED_JOB, "%s: treat_whitespace_as_suffix: true is not read", l->path);
  }
  if (type != 1 && type != 2)
    fail(FAILED_JOB, "%s: model_type: %s is not read, wanted unigram or bpe", l->path, names[type]);
  return type;
}

/* The parts of a model file; returns its type: 1 unigram, 2 bpe. */
static int spm_parts(token_list *l) {
  syn_text rest = buffer_text(&l->bytes);
  int type = 1;
  proto_field f;
  l->parts.options = SYN_PIECES_SPACE | SYN_PIECES_TRIM;
  while (proto_next(&rest, &f)) {
    if (f.number == 1) spm_piece(l, f.bytes);
    if (f.number == 2) type = spm_trainer(l, f.bytes);
    if (f.number == 3) spm_normalizer(l, f.bytes);
  }
  if (rest.size) fail(FAILED_JOB, "%s: this is no whole model of SentencePiece", l->path);
  return type;
}

static const char *spm_kind(int type) { return type == 1 ? "unigram" : "llama"; }

/* ==============================================================================================
   >>tool token files   vocab.txt, tokenizer.bin of llama2.c, vocab.json with merges
   ============================================================================================== */

/* A token a line. Without upper case in it, texts are read in lower case. */
static syn_tokenizer *read_vocab_txt(syn_context *c, token_list *l, size_t rows) {
  syn_text rest = buffer_text(&l->bytes), line;
  int upper = 0;
  while (rest.size && next_piece(&rest, "\n", &line)) {
    int special;
    size_t i;
    if (line.size && line.at[line.size - 1] == '\r') line.size--;
    special = line.size > 2 && line.at[0] == '[' && line.at[line.size - 1] == ']';
    for (i = 0; i < line.size && !special; i++) upper |= line.at[i] >= 'A' && line.at[i] <= 'Z';
    token_special(l, (int)l->count, line);
    token_set(l, l->count, line, 0.0,
              text_is(line, "[MASK]") ? SYN_PIECE_CONTROL : SYN_PIECE_NORMAL);
  }
  if (!upper) l->parts.options |= SYN_PIECES_LOWER;
  return token_list_end(c, l, "wordpiece", rows);
}

/* int32 longest; then of each token float32 score, int32 bytes, the bytes. Number 0 is unknown; 1
   begins a text and ends it, as in llama2.c's run.c. */
static syn_tokenizer *read_llama2c(syn_context *c, token_list *l, size_t rows) {
  const buffer *b = &l->bytes;
  size_t at = 4;
  while (b->size - at >= 8) {
    const unsigned char *in = (const unsigned char *)b->at + at;
    const uint32_t bits =
        in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
    const uint32_t size =
        in[4] | (uint32_t)in[5] << 8 | (uint32_t)in[6] << 16 | (uint32_t)in[7] << 24;
    syn_text name;
    if (size > b->size - at - 8) break;
    name.at = b->at + at + 8;
    name.size = size;
    token_set(l, l->count, name, proto_float(bits),
              size == 6 && !memcmp(name.at, "<0x", 3) ? SYN_PIECE_BYTE : SYN_PIECE_NORMAL);
    at += 8 + size;
  }
  if (at != b->size || l->count < 3)
    fail(FAILED_JOB, "%s: byte %.0f: a token is damaged", l->path, (double)at);
  l->parts.special[SYN_UNKNOWN] = 0;
  l->parts.special[SYN_BEGIN] = l->parts.special[SYN_END] = 1;
  l->parts.options = SYN_PIECES_SPACE | SYN_PIECES_BYTES;
  return token_list_end(c, l, "llama", rows);
}

/* The names of an object with their numbers. */
static void read_vocab(token_list *l, const json_value *vocab) {
  const json_value *v = vocab && vocab->kind == JSON_OBJECT ? json_first(vocab) : NULL;
  for (; v; v = json_after(&l->tree, v)) {
    const int number = json_int(v, -1);
    if (number < 0)
      fail(FAILED_JOB, "%s: the token '%.*s' has no number", l->path, short_size(v->key),
           v->key.at);
    token_reserve(l, (size_t)number);
    if (l->types[number] != SYN_PIECE_UNUSED)
      fail(FAILED_JOB, "%s: the tokens '%.*s' and '%.*s' have the number %d", l->path,
           short_size(l->tokens[number]), l->tokens[number].at, short_size(v->key), v->key.at,
           number);
    token_special(l, number, v->key);
    token_set(l, (size_t)number, v->key, 0.0, SYN_PIECE_NORMAL);
  }
  if (!l->count) fail(FAILED_JOB, "%s: no vocabulary is there", l->path);
}

/* vocab.json, with the merges of a second file: GPT-2's. */
static syn_tokenizer *read_vocab_json(syn_context *c, token_list *l, const char *merges,
                                      size_t rows) {
  syn_text rest, line;
  read_vocab(l, l->tree.at);
  l->more = read_file(merges);
  rest = buffer_text(&l->more);
  while (rest.size && next_piece(&rest, "\n", &line)) {
    if (line.size && line.at[line.size - 1] == '\r') line.size--;
    if (line.size && !(line.size > 9 && !memcmp(line.at, "#version:", 9)))
      token_merge_line(l, line);
  }
  return token_list_end(c, l, "gpt2", rows);
}

/* ==============================================================================================
   >>tool tokenizer.json   the tokenizers of Hugging Face
   ============================================================================================== */

/* Parts of a pipeline that belong to some kinds of tokenizers alone. */
enum { HF_BYTES = 1, HF_SPACES = 2, HF_WORDS = 4, HF_BERT = 8, HF_SPLIT = 16, HF_MAP = 32,
       HF_COMPOSE = 64 };

/* Calls for each part of a pipeline: the value itself, or those of a Sequence. */
typedef void (*hf_part)(token_list *l, const json_value *v, const char *type);
static void hf_each(token_list *l, const json_value *v, const char *list, hf_part call) {
  const json_value *type = json_get(&l->tree, v, "type"), *k;
  char name[40] = "";
  if (!v || v->kind == JSON_NULL) return;
  if (json_is(type, "Sequence")) {
    for (k = json_first(json_get(&l->tree, v, list)); k; k = json_after(&l->tree, k)) {
      if (json_is(json_get(&l->tree, k, "type"), "Sequence"))
        fail(FAILED_JOB, "%s: a Sequence inside a Sequence is not read", l->path);
      hf_each(l, k, list, call);
    }
    return;
  }
  if (type && type->kind == JSON_TEXT)
    snprintf(name, sizeof name, "%.*s", short_size(type->text), type->text.at);
  call(l, v, name);
}

static void hf_refuse(const token_list *l, const char *what, const char *name) NO_RETURN;
static void hf_refuse(const token_list *l, const char *what, const char *name) {
  fail(FAILED_JOB, "%s: %s: %s is not read", l->path, what, name);
}

/* Bytes of base64 behind a buffer. */
static void put_base64(buffer *b, syn_text text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  size_t i;
  int count = 0;
  for (i = 0; i < text.size; i++) {
    const char *digit = text.at[i] ? strchr(digits, text.at[i]) : NULL;
    if (!digit) continue;
    bits = bits << 6 | (uint32_t)(digit - digits);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    put_byte(b, (char)(bits >> count & 255));
  }
}

static void hf_normalizer(token_list *l, const json_value *v, const char *type) {
  const json *j = &l->tree;
  const json_value *map = json_get(j, v, "precompiled_charsmap"),
                   *pattern = json_get(j, v, "pattern");
  if (!strcmp(type, "NFC")) {
    l->pipeline |= HF_COMPOSE;
    l->parts.options |= SYN_PIECES_NFC;
  } else if (!strcmp(type, "Precompiled")) {
    l->pipeline |= HF_MAP;
    if (map && map->kind == JSON_TEXT) put_base64(&l->charsmap, map->text);
  } else if (!strcmp(type, "Prepend") && json_is(json_get(j, v, "prepend"), "\xE2\x96\x81")) {
    l->parts.options |= SYN_PIECES_SPACE;
    l->pipeline |= HF_MAP;
  } else if ((!strcmp(type, "Replace") && (json_is(json_get(j, pattern, "Regex"), " {2,}") ||
                                           json_is(json_get(j, pattern, "Regex"), "^ +| +$"))) ||
             json_true(json_get(j, v, "strip_right"))) {
    l->parts.options |= SYN_PIECES_TRIM;
  } else if (!strcmp(type, "BertNormalizer")) {
    const json_value *accents = json_get(j, v, "strip_accents");
    const int lower = json_true(json_get(j, v, "lowercase"));
    if (accents && accents->kind != JSON_NULL && json_true(accents) != lower)
      hf_refuse(l, "BertNormalizer", "strip_accents that differs from lowercase");
    if (!json_true(json_get(j, v, "clean_text")) ||
        !json_true(json_get(j, v, "handle_chinese_chars")))
      hf_refuse(l, "BertNormalizer", "clean_text or handle_chinese_chars: false");
    l->pipeline |= HF_BERT;
    if (lower) l->parts.options |= SYN_PIECES_LOWER;
  } else if (strcmp(type, "Replace") || !json_is(json_get(j, pattern, "String"), " ") ||
             !json_is(json_get(j, v, "content"), "\xE2\x96\x81")) {
    hf_refuse(l, "normalizer", type);
  } else {
    l->pipeline |= HF_SPACES;
  }
}

/* The expressions of Split that SYN_PIECES_GPT4 computes: of Llama 3, of Qwen2. */
static const char hf_llama3[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char hf_qwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static int hf_split(const json *j, const json_value *v) {
  const json_value *regex = json_get(j, json_get(j, v, "pattern"), "Regex");
  if (json_is(regex, hf_llama3)) return SYN_PIECES_GPT4 | SYN_PIECES_DIGITS;
  return json_is(regex, hf_qwen2) ? SYN_PIECES_GPT4 | SYN_PIECES_DIGIT : 0;
}

static void hf_pre_tokenizer(token_list *l, const json_value *v, const char *type) {
  const json *j = &l->tree;
  if (!strcmp(type, "ByteLevel")) {
    const json_value *regex = json_get(j, v, "use_regex");
    l->pipeline |= HF_BYTES;
    if (json_true(json_get(j, v, "add_prefix_space")))
      hf_refuse(l, "ByteLevel", "add_prefix_space: true");
    if (regex && !json_true(regex) && !(l->parts.options & SYN_PIECES_GPT4))
      hf_refuse(l, "ByteLevel", "use_regex: false");
  } else if (!strcmp(type, "Metaspace")) {
    const json_value *scheme = json_get(j, v, "prepend_scheme"),
                     *add = json_get(j, v, "add_prefix_space"),
                     *space = json_get(j, v, "replacement");
    l->pipeline |= HF_SPACES;
    if (space && !json_is(space, "\xE2\x96\x81"))
      hf_refuse(l, "Metaspace", "another replacement than U+2581");
    if (!json_is(scheme, "never") && (scheme || !add || json_true(add)))
      l->parts.options |= SYN_PIECES_SPACE;
  } else if (!strcmp(type, "Split")) {
    if (!hf_split(j, v)) hf_refuse(l, "pre_tokenizer", "this expression of Split");
    l->parts.options |= hf_split(j, v);
    l->pipeline |= HF_SPLIT;
  } else if (!strcmp(type, "Digits")) {
    if (!json_true(json_get(j, v, "individual_digits")))
      hf_refuse(l, "Digits", "individual_digits: false");
    l->parts.options |= SYN_PIECES_DIGIT;
    l->pipeline |= HF_SPLIT;
  } else if (!strcmp(type, "WhitespaceSplit")) {
    l->parts.options |= SYN_PIECES_TRIM;
    l->pipeline |= HF_MAP;
  } else if (strcmp(type, "BertPreTokenizer")) {
    hf_refuse(l, "pre_tokenizer", type);
  } else {
    l->pipeline |= HF_WORDS;
  }
}

/* Each kind computes the parts of its own models: those it must have, and those it may. */
static void hf_pipeline(const token_list *l, const char *kind) {
  static const struct {
    const char *kind;
    unsigned must, may;
    const char *wanted;
  } kinds[] = {
      {"gpt2", HF_BYTES, HF_SPLIT | HF_COMPOSE,
       "NFC or nothing; ByteLevel, with Split or Digits before it"},
      {"wordpiece", HF_WORDS | HF_BERT, 0, "BertNormalizer and BertPreTokenizer"},
      {"unigram", HF_SPACES, HF_MAP, "Metaspace, or Replace of spaces by U+2581"},
      {"llama", HF_SPACES, HF_MAP, "Metaspace, or Replace of spaces by U+2581"}};
  size_t i = 0;
  while (strcmp(kinds[i].kind, kind)) i++;
  if ((l->pipeline & kinds[i].must) != kinds[i].must ||
      l->pipeline & ~(kinds[i].must | kinds[i].may))
    fail(FAILED_JOB, "%s: normalizer and pre_tokenizer: of a %s are wanted: %s, no others", l->path,
         kind, kinds[i].wanted);
}

/* Special tokens are in no text. Others cut a text before all else, as pieces of the user do.
   bytes: it is gpt2, whose kind has such pieces as they are written here. */
static void hf_added(token_list *l, int bytes) {
  const json *j = &l->tree;
  const json_value *v = json_first(json_get(j, j->at, "added_tokens"));
  for (; v; v = json_after(j, v)) {
    const json_value *name = json_get(j, v, "content");
    const int number = json_int(json_get(j, v, "id"), -1);
    const int special = json_true(json_get(j, v, "special"));
    const int alone = json_true(json_get(j, v, "single_word")) |
                      json_true(json_get(j, v, "lstrip")) | json_true(json_get(j, v, "rstrip"));
    if (!name || name->kind != JSON_TEXT || number < 0)
      hf_refuse(l, "added_tokens", "a token without id");
    if (!special && (!bytes || alone || !name->text.size))
      hf_refuse(l, "added_tokens", "a token that is not special");
    if (special) token_special(l, number, name->text);
    token_set(l, (size_t)number, name->text, 0.0, special ? SYN_PIECE_CONTROL : SYN_PIECE_USER);
  }
}

/* Unigram: a list of names with scores. */
static void hf_unigram(token_list *l, const json_value *model) {
  const json_value *v = json_first(json_get(&l->tree, model, "vocab"));
  for (; v; v = json_after(&l->tree, v)) {
    const json_value *name = json_first(v);
    const int byte =
        name && name->kind == JSON_TEXT && name->text.size == 6 && !memcmp(name->text.at, "<0x", 3);
    if (!name || name->kind != JSON_TEXT) hf_refuse(l, "vocab", "an entry without name");
    token_set(l, l->count, name->text, json_double(json_after(&l->tree, name), 0.0),
              byte ? SYN_PIECE_BYTE : SYN_PIECE_NORMAL);
  }
  l->parts.special[SYN_UNKNOWN] = json_int(json_get(&l->tree, model, "unk_id"), -1);
}

static void hf_merges(token_list *l, const json_value *model) {
  const json_value *v = json_first(json_get(&l->tree, model, "merges"));
  for (; v; v = json_after(&l->tree, v)) {
    const json_value *left = json_first(v), *right = json_after(&l->tree, left);
    if (v->kind == JSON_TEXT) token_merge_line(l, v->text);
    else if (right && left->kind == JSON_TEXT && right->kind == JSON_TEXT)
      token_merge(l, left->text, right->text);
    else hf_refuse(l, "merges", "an entry that is no pair");
  }
}

/* What the model may not have: members that are neither null, empty, 0 nor false. */
static void hf_plain(token_list *l, const json_value *model, const char *names) {
  const json *j = &l->tree;
  const json_value *v;
  for (v = json_first(model); v; v = json_after(j, v)) {
    char name[60];
    snprintf(name, sizeof name, "%.*s", short_size(v->key), v->key.at);
    if (in_choices(names, name) && v->kind != JSON_NULL && v->kind != JSON_FALSE &&
        !(v->kind == JSON_TEXT && !v->text.size))
      hf_refuse(l, "model", name);
  }
}

static syn_tokenizer *read_tokenizer_json(syn_context *c, token_list *l, size_t rows) {
  const json *j = &l->tree;
  const json_value *model = json_get(j, j->at, "model"), *type = json_get(j, model, "type");
  const int unigram = json_is(type, "Unigram"), words = json_is(type, "WordPiece");
  const int spells = json_true(json_get(j, model, "byte_fallback"));
  const int bytes = !unigram && !words && !spells;
  const char *kind;
  size_t i;
  if (!unigram && !words && !json_is(type, "BPE") && (type || !json_get(j, model, "merges")))
    hf_refuse(l, "model", "its type");
  hf_plain(l, model, words ? "" : "continuing_subword_prefix|end_of_word_suffix|dropout");
  if (unigram) hf_unigram(l, model);
  else read_vocab(l, json_get(j, model, "vocab"));
  for (i = 0; spells && i < l->count; i++)
    if (l->tokens[i].size == 6 && !memcmp(l->tokens[i].at, "<0x", 3)) l->types[i] = SYN_PIECE_BYTE;
  if (words && (json_int(json_get(j, model, "max_input_chars_per_word"), 100) != 100 ||
                !json_is(json_get(j, model, "continuing_subword_prefix"), "##")))
    hf_refuse(l, "WordPiece", "another prefix than ##, or length than 100,");
  hf_merges(l, model);
  if (spells) l->parts.options |= SYN_PIECES_BYTES;
  if (bytes && json_true(json_get(j, model, "ignore_merges"))) l->parts.options |= SYN_PIECES_WHOLE;
  hf_each(l, json_get(j, j->at, "normalizer"), "normalizers", hf_normalizer);
  hf_each(l, json_get(j, j->at, "pre_tokenizer"), "pretokenizers", hf_pre_tokenizer);
  hf_added(l, bytes);
  kind = unigram ? "unigram" : words ? "wordpiece" : bytes ? "gpt2" : "llama";
  hf_pipeline(l, kind);
  return token_list_end(c, l, kind, rows);
}

/* ==============================================================================================
   >>tool tokenizer_read   a file of another program, or a folder with it, by its content
   ============================================================================================== */

/* folder/name; the caller frees it. */
static char *file_in(const char *folder, const char *name) {
  char *path = (char *)take(strlen(folder) + strlen(name) + 2, 1);
  sprintf(path, "%s/%s", folder, name);
  return path;
}

/* The path beside a file: the name in its folder. The caller frees it. */
static char *path_beside(const char *path, const char *name) {
  const size_t folder = (size_t)(file_name(path) - path);
  char *beside = (char *)take(folder + strlen(name) + 1, 1);
  memcpy(beside, path, folder);
  memcpy(beside + folder, name, strlen(name));
  return beside;
}

/* JSON: a tokenizer.json has a model; a vocabulary has its merges beside it. */
static syn_tokenizer *read_token_json(syn_context *c, token_list *l, size_t rows) {
  static const char *const names[] = {"merges.txt", "vocab.bpe"};
  const buffer none = {NULL, 0, 0};
  syn_tokenizer *t = NULL;
  size_t i;
  l->tree = json_parse(l->bytes, l->path);
  l->bytes = none;
  if (json_get(&l->tree, json_get(&l->tree, l->tree.at, "model"), "vocab"))
    return read_tokenizer_json(c, l, rows);
  for (i = 0; i < COUNT(names) && !t; i++) {
    char *merges = path_beside(l->path, names[i]);
    if (file_exists(merges)) t = read_vocab_json(c, l, merges, rows);
    free(merges);
  }
  if (!t)
    fail(FAILED_JOB, "%s: a vocabulary of JSON wants merges.txt or vocab.bpe beside it", l->path);
  return t;
}

/* A text file whose lines are no numbers of bytes: none is 0. */
static int is_word_list(const buffer *b) {
  return b->size && !memchr(b->at, 0, b->size) && memchr(b->at, '\n', b->size) &&
         syn_text_invalid(buffer_text(b)) == 0;
}

/* The file in a folder that holds a tokenizer; the caller frees it. */
static char *tokenizer_path(const char *path) {
  static const char *const names[] = {"tokenizer.json", "tokenizer.model", "spiece.model",
                                      "vocab.json",     "encoder.json",    "vocab.txt",
                                      "tokenizer.bin"};
  char *found = NULL;
  size_t i;
  for (i = 0; i < COUNT(names) && !found; i++) {
    found = file_in(path, names[i]);
    if (file_exists(found)) continue;
    free(found);
    found = NULL;
  }
  if (found) return found;
  found = (char *)take(strlen(path) + 1, 1);
  memcpy(found, path, strlen(path));
  return found;
}

/* The tokenizer of a file, or of a folder: tokenizer.json, a model of SentencePiece, vocab.json
   with merges.txt (encoder.json, vocab.bpe), vocab.txt of BERT, tokenizer.bin of llama2.c. rows: of
   the vocabulary of its model, which may be larger; 0: as many as the file has. special: numbers of
   padding, unknown, begin, end that the model names, -1: the file tells; null: all -1. */
static syn_tokenizer *tokenizer_read(syn_context *c, const char *path, size_t rows,
                                     const int *special) {
  char *file = tokenizer_path(path);
  token_list l = token_list_of(file);
  syn_tokenizer *t = NULL;
  if (special) memcpy(l.parts.special, special, sizeof l.parts.special);
  l.bytes = read_file(file);
  put_byte(&l.bytes, 0);
  l.bytes.size--;
  if (l.bytes.size && l.bytes.at[strspn(l.bytes.at, " \t\r\n") % l.bytes.size] == '{')
    t = read_token_json(c, &l, rows);
  else if (l.bytes.size > 2 && l.bytes.at[0] == '\n' && !is_word_list(&l.bytes))
    t = token_list_end(c, &l, spm_kind(spm_parts(&l)), rows);
  else if (is_word_list(&l.bytes)) t = read_vocab_txt(c, &l, rows);
  else if (l.bytes.size > 12) t = read_llama2c(c, &l, rows);
  else fail(FAILED_JOB, "%s: this is no file of a tokenizer that is known", file);
  free(file);
  return t;
}

/* The same of a model of SentencePiece whose tokens have the numbers of a vocab.json, as Marian's
   have. What its model does not hold no text is encoded to. */
static syn_tokenizer *tokenizer_read_numbered(syn_context *c, const char *path, const char *vocab,
                                              size_t rows) {
  token_list pieces = token_list_of(path), l = token_list_of(vocab);
  syn_tokenizer *t;
  size_t i;
  int type;
  pieces.bytes = read_file(path);
  type = spm_parts(&pieces);
  l.tree = json_parse(read_file(vocab), vocab);
  read_vocab(&l, l.tree.at);
  for (i = 0; i < l.count; i++) {
    const int k = token_number(&pieces, l.tokens[i]);
    l.types[i] = (unsigned char)(k < 0 ? (int)SYN_PIECE_UNUSED : pieces.types[k]);
    l.scores[i] = k < 0 ? 0.0f : pieces.scores[k];
  }
  l.parts.options = pieces.parts.options;
  put(&l.charsmap, pieces.charsmap.at, pieces.charsmap.size);
  t = token_list_end(c, &l, spm_kind(type), rows);
  token_list_free(&pieces);
  return t;
}
