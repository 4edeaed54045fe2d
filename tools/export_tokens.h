/* export_tokens.h   a tokenizer in the files of other programs: tokenizer.json of Hugging Face, the
   model file of SentencePiece. A part of syn.c, which includes it in front of export.h. */

/* ==============================================================================================
   >>export pieces   the parts of a tokenizer of a published model, from its saved form
   ============================================================================================== */

/* As syn_tokenizer_parts; numbers are those of the file. */
typedef struct token_parts {
  const char *kind; /* null: there is no tokenizer, or one of another kind */
  int count, options;
  int special[4];       /* as in syn_tokenizer_parts */
  int around[2];        /* numbers of the tokens in front of and behind a text; -1: none */
  syn_text *names;      /* [count] */
  unsigned char *types; /* [count] SYN_PIECE_... */
  float *scores;        /* [count], or null */
  int *merges;          /* [n_merges,2] */
  size_t n_merges;
  syn_text charsmap;
  buffer text; /* what names point to */
  buffer saved; /* what charsmap points to */
} token_parts;

static void token_parts_free(token_parts *p) {
  free(p->names);
  free(p->types);
  free(p->scores);
  free(p->merges);
  free(p->text.at);
  free(p->saved.at);
}

/* The names of all tokens, one behind the other. */
static void token_parts_names(token_parts *p, const syn_tokenizer *t) {
  size_t at = 0;
  int i;
  p->names = (syn_text *)take((size_t)p->count, sizeof *p->names);
  for (i = 0; i < p->count; i++) {
    const int id = syn_tokenizer_id(t, i);
    p->names[i].size = syn_tokenizer_name(t, id, NULL, 0);
    buffer_reserve(&p->text, p->names[i].size + 1);
    syn_tokenizer_name(t, id, p->text.at + p->text.size, p->names[i].size + 1);
    p->text.size += p->names[i].size;
  }
  for (i = 0; i < p->count; at += p->names[i++].size) p->names[i].at = p->text.at + at;
}

/* The special tokens get the names by which readers know them; the model keeps none. GPT-2 has one
   for begin and end, Llama 3 two. */
static void token_parts_special(token_parts *p, const char *path) {
  const int begin = p->special[SYN_BEGIN], end = p->special[SYN_END];
  const int gpt2 = !strcmp(p->kind, "gpt2");
  int i, k;
  if (gpt2 && begin >= 0) p->names[begin] = syn_text_of("<|begin_of_text|>");
  if (gpt2 && end >= 0) p->names[end] = syn_text_of("<|end_of_text|>");
  if (end >= 0 && (begin == end || (gpt2 && begin < 0)))
    p->names[end] = syn_text_of("<|endoftext|>");
  for (i = 0; i < 4; i++)
    for (k = 0; p->special[i] >= 0 && k < p->count; k++)
      if (k != p->special[i] && text_equal(p->names[k], p->names[p->special[i]]))
        fail(FAILED_JOB, "%s: token %d has the name of a special one, %.*s", path, k,
             short_size(p->names[k]), p->names[k].at);
}

static buffer tokenizer_saved(const syn_tokenizer *t) {
  buffer b = {NULL, 0, 0};
  b.size = syn_tokenizer_save(t, NULL, 0);
  b.at = (char *)take(b.size, 1);
  syn_tokenizer_save(t, b.at, b.size);
  return b;
}

/* The saved form: 8 bytes that name it; kind, options, flags, size, tokens, merges, bytes of the
   charsmap, 1 with scores, 4 special numbers; then of each token its length; the merges; the
   scores; the types; the charsmap. */
static void token_parts_of(token_parts *p, const syn_tokenizer *t, const char *path) {
  static const char *const kinds[] = {"gpt2", "llama", "unigram", "wordpiece"};
  const unsigned char *at;
  int n, id, scored;
  size_t i = 0;
  while (i < COUNT(kinds) && strncmp(syn_tokenizer_type(t), kinds[i], strlen(kinds[i]))) i++;
  if (i == COUNT(kinds)) return;
  p->kind = kinds[i];
  p->saved = tokenizer_saved(t);
  at = (const unsigned char *)p->saved.at + 8;
  p->options = (int)little32(at + 4);
  if (little32(at + 8))
    fail(FAILED_JOB, "%s: tokenizer %s with --lowercase, --nfc or sentinels: the formats have none",
         path, syn_tokenizer_type(t));
  n = (int)little32(at + 16);
  p->n_merges = little32(at + 20);
  p->charsmap.size = little32(at + 24);
  scored = little32(at + 28) != 0;
  at += 48 + 4 * (size_t)n;
  for (id = 0; id < 4 + n; id++) p->count = larger(p->count, syn_tokenizer_number(t, id) + 1);
  token_parts_names(p, t);
  for (i = 0; i < 4; i++) p->special[i] = syn_tokenizer_number(t, (int)i);
  token_parts_special(p, path);
  p->merges = (int *)take(p->n_merges, 2 * sizeof *p->merges);
  for (i = 0; i < 2 * p->n_merges; i++, at += 4)
    p->merges[i] = syn_tokenizer_number(t, (int)little32(at));
  p->scores = scored ? (float *)take((size_t)p->count, sizeof *p->scores) : NULL;
  p->types = (unsigned char *)take((size_t)p->count, 1);
  memset(p->types, SYN_PIECE_CONTROL, (size_t)p->count); /* of the special tokens */
  for (id = 4; scored && id < 4 + n; id++, at += 4)
    p->scores[syn_tokenizer_number(t, id)] = little_float(little32(at));
  for (id = 4; id < 4 + n; id++) p->types[syn_tokenizer_number(t, id)] = *at++;
  p->charsmap.at = (const char *)at;
}


/* How many there are in front of the empty ones at the end, which only fill a vocabulary. */
static int token_parts_named(const token_parts *p) {
  int n = p->count;
  while (n && p->types[n - 1] == SYN_PIECE_UNUSED && !p->names[n - 1].size) n--;
  return n;
}

/* ==============================================================================================
   >>export sentencepiece   its model file, as >>tool sentencepiece reads it
   ============================================================================================== */

static void proto_put_varint(buffer *b, uint64_t x) {
  for (; x > 127; x >>= 7) put_byte(b, (char)((x & 127) | 128));
  put_byte(b, (char)x);
}
static void proto_put_int(buffer *b, uint64_t number, uint64_t x) {
  proto_put_varint(b, number << 3);
  proto_put_varint(b, x);
}
static void proto_put_bytes(buffer *b, uint64_t number, syn_text text) {
  proto_put_varint(b, number << 3 | 2);
  proto_put_varint(b, text.size);
  put(b, text.at, text.size);
}
static void proto_put_buffer(buffer *b, uint64_t number, buffer *message) {
  proto_put_bytes(b, number, buffer_text(message));
  free(message->at);
}

static void spm_put_piece(buffer *b, const token_parts *p, int i) {
  static const uint64_t types[] = {1, 6, 3, 4, 5}; /* of SYN_PIECE_... */
  buffer piece = {NULL, 0, 0};
  uint32_t bits;
  float score = p->scores[i];
  int k;
  memcpy(&bits, &score, sizeof bits);
  proto_put_bytes(&piece, 1, p->names[i]);
  proto_put_varint(&piece, 2 << 3 | 5);
  for (k = 0; k < 4; k++) put_byte(&piece, (char)(bits >> 8 * k & 255));
  proto_put_int(&piece, 3, i == p->special[SYN_UNKNOWN] ? 2 : types[p->types[i]]);
  proto_put_buffer(b, 1, &piece);
}

/* A tokenizer with scores: unigram, or llama without merges. */
static void spm_write(const token_parts *p, const char *path) {
  static const int ids[][2] = {{43, 48}, {40, 45}, {41, 46}, {42, 47}}; /* fields of number, name */
  buffer b = {NULL, 0, 0}, trainer = {NULL, 0, 0}, normalizer = {NULL, 0, 0};
  const int named = token_parts_named(p);
  int i;
  for (i = 0; i < named; i++) spm_put_piece(&b, p, i);
  proto_put_int(&trainer, 3, !strcmp(p->kind, "unigram") ? 1 : 2);
  proto_put_int(&trainer, 4, (uint64_t)named);
  proto_put_int(&trainer, 35, (p->options & SYN_PIECES_BYTES) != 0);
  for (i = 0; i < 4; i++) {
    const int number = p->special[i];
    proto_put_int(&trainer, (uint64_t)ids[i][0], (uint64_t)(int64_t)number);
    if (number >= 0) proto_put_bytes(&trainer, (uint64_t)ids[i][1], p->names[number]);
  }
  proto_put_buffer(&b, 2, &trainer);
  proto_put_bytes(&normalizer, 1, syn_text_of(p->charsmap.size ? "user_defined" : "identity"));
  proto_put_bytes(&normalizer, 2, p->charsmap);
  proto_put_int(&normalizer, 3, (p->options & SYN_PIECES_SPACE) != 0);
  proto_put_int(&normalizer, 4, (p->options & SYN_PIECES_TRIM) != 0);
  proto_put_int(&normalizer, 5, 1);
  proto_put_buffer(&b, 3, &normalizer);
  write_file(path, b.at, b.size);
  free(b.at);
}

/* ==============================================================================================
   >>export tokenizer.json   as >>tool tokenizer.json reads it
   ============================================================================================== */

#define HF_SPACE "\xE2\x96\x81" /* U+2581, which stands for a space */

static void put_words(buffer *b, const char *text) { put(b, text, strlen(text)); }

static void put_in_base64(buffer *b, syn_text text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t i, k;
  for (i = 0; i < text.size; i += 3) {
    uint32_t bits = 0;
    for (k = 0; k < 3; k++)
      bits = bits << 8 | (i + k < text.size ? (unsigned char)text.at[i + k] : 0u);
    for (k = 0; k < 4; k++)
      put_byte(b, i + k > text.size ? '=' : digits[bits >> (18 - 6 * k) & 63]);
  }
}

/* Texts of llama and unigram: rules for characters, spaces, the space in front. */
static void hf_put_spaces(buffer *b, const token_parts *p) {
  put_words(b, "  \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [\n");
  if (p->charsmap.size) {
    put_words(b, "    {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"");
    put_in_base64(b, p->charsmap);
    put_words(b, "\"},\n");
  }
  if (p->options & SYN_PIECES_TRIM)
    put_words(b, "    {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"^ +| +$\"}, "
                 "\"content\": \"\"},\n"
                 "    {\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, "
                 "\"content\": \" \"},\n");
  if (p->options & SYN_PIECES_SPACE)
    put_words(b, "    {\"type\": \"Prepend\", \"prepend\": \"" HF_SPACE "\"},\n");
  put_words(b, "    {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": "
               "\"" HF_SPACE "\"}]},\n"
               "  \"pre_tokenizer\": null,\n"
               "  \"decoder\": {\"type\": \"Sequence\", \"decoders\": [\n"
               "    {\"type\": \"Replace\", \"pattern\": {\"String\": \"" HF_SPACE "\"}, "
               "\"content\": \" \"},\n"
               "    {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}");
  if (p->options & SYN_PIECES_SPACE)
    put_words(b, ",\n    {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"^ \"}, "
                 "\"content\": \"\"}");
  put_words(b, "]},\n");
}

/* Refuses what the files cannot hold. */
static void hf_check_parts(const token_parts *p, const char *path) {
  const int split = p->options & (SYN_PIECES_GPT4 | SYN_PIECES_DIGIT | SYN_PIECES_DIGITS);
  const int named = token_parts_named(p), model = !strcmp(p->kind, "llama") && p->scores;
  int i;
  if (split == SYN_PIECES_GPT4 || (split & SYN_PIECES_DIGITS && !(split & SYN_PIECES_GPT4)))
    fail(FAILED_JOB, "%s: tokenizer.json has no expression for how this tokenizer splits texts",
         path);
  if (model && p->special[SYN_UNKNOWN] < 0)
    fail(FAILED_JOB, "%s: a model of SentencePiece wants an unknown token, which this one lacks",
         path);
  for (i = 0; i < named && !model; i++)
    if ((p->types[i] == SYN_PIECE_USER && strcmp(p->kind, "gpt2")) ||
        p->types[i] == SYN_PIECE_UNUSED)
      fail(FAILED_JOB, "%s: token %d, %.*s, is %s: tokenizer.json is not written with such ones",
           path, i, short_size(p->names[i]), p->names[i].at,
           p->types[i] == SYN_PIECE_USER ? "of the user" : "unused");
}

/* Texts of gpt2. */
static void hf_put_bytes(buffer *b, const token_parts *p) {
  const int split = p->options & (SYN_PIECES_GPT4 | SYN_PIECES_DIGIT | SYN_PIECES_DIGITS);
  const int gpt4 = split & SYN_PIECES_GPT4;
  const char *regex = split & SYN_PIECES_DIGITS ? hf_llama3 : hf_qwen2;
  put_line(b, "  \"normalizer\": %s,\n",
           p->options & SYN_PIECES_NFC ? "{\"type\": \"NFC\"}" : "null");
  put_words(b, "  \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n");
  if (split == SYN_PIECES_DIGIT)
    put_words(b, "    {\"type\": \"Digits\", \"individual_digits\": true},\n");
  if (gpt4) {
    put_words(b, "    {\"type\": \"Split\", \"pattern\": {\"Regex\": ");
    put_json(b, syn_text_of(regex));
    put_words(b, "}, \"behavior\": \"Isolated\", \"invert\": false},\n");
  }
  put_line(b,
           "    {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
           "\"use_regex\": %s}]},\n",
           gpt4 ? "false" : "true");
  put_words(b, "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
               "\"trim_offsets\": true, \"use_regex\": true},\n");
}

/* Texts of wordpiece. */
static void hf_put_bert(buffer *b, const token_parts *p) {
  put_line(b,
           "  \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": true, "
           "\"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": %s},\n"
           "  \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},\n"
           "  \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true},\n",
           p->options & SYN_PIECES_LOWER ? "true" : "false");
}

/* Tokens that stand in no text, and pieces of the user. */
static void hf_put_added(buffer *b, const token_parts *p) {
  const int named = token_parts_named(p);
  int i, count = 0;
  put_words(b, "  \"added_tokens\": [");
  for (i = 0; i < named; i++) {
    if (p->types[i] != SYN_PIECE_CONTROL && p->types[i] != SYN_PIECE_USER) continue;
    put_line(b, "%s\n    {\"id\": %d, \"content\": ", count++ ? "," : "", i);
    put_json(b, p->names[i]);
    put_line(b,
             ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
             "\"normalized\": false, \"special\": %s}",
             p->types[i] == SYN_PIECE_USER ? "false" : "true");
  }
  put_words(b, "],\n");
}

/* What stands around a text. */
static void hf_put_template(buffer *b, const token_parts *p) {
  const int *around = p->around;
  int i, count = 0;
  if (around[0] < 0 && around[1] < 0) return;
  put_words(b, "  \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [\n    ");
  for (i = 0; i < 2; i++) {
    if (i) put_words(b, around[0] < 0 ? "" : ", ");
    if (i) put_words(b, "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}");
    if (around[i] < 0) continue;
    put_words(b, i ? ", {\"SpecialToken\": {\"id\": " : "{\"SpecialToken\": {\"id\": ");
    put_json(b, p->names[around[i]]);
    put_words(b, ", \"type_id\": 0}}");
  }
  put_words(b, "],\n    \"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, "
               "{\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}],\n    \"special_tokens\": {");
  for (i = 0; i < 2; i++) {
    if (around[i] < 0 || (i && around[0] == around[1])) continue;
    if (count++) put_words(b, ", ");
    put_json(b, p->names[around[i]]);
    put_words(b, ": {\"id\": ");
    put_json(b, p->names[around[i]]);
    put_line(b, ", \"ids\": [%d], \"tokens\": [", around[i]);
    put_json(b, p->names[around[i]]);
    put_words(b, "]}");
  }
  put_words(b, "}},\n");
}

static void hf_put_vocabulary(buffer *b, const token_parts *p) {
  const int named = token_parts_named(p), unigram = !strcmp(p->kind, "unigram");
  int i;
  put_words(b, unigram ? "    \"vocab\": [\n" : "    \"vocab\": {\n");
  for (i = 0; i < named; i++) {
    put_words(b, unigram ? "      [" : "      ");
    put_json(b, p->names[i]);
    if (unigram) put_line(b, ", %.9g]", (double)p->scores[i]);
    else put_line(b, ": %d", i);
    put_words(b, i + 1 < named ? ",\n" : "\n");
  }
  put_words(b, unigram ? "    ]" : "    }");
}

static void hf_put_merges(buffer *b, const token_parts *p) {
  size_t i;
  put_words(b, ",\n    \"merges\": [");
  for (i = 0; i < p->n_merges; i++) {
    put_words(b, i ? ",\n      [" : "\n      [");
    put_json(b, p->names[p->merges[2 * i]]);
    put_words(b, ", ");
    put_json(b, p->names[p->merges[2 * i + 1]]);
    put_byte(b, ']');
  }
  put_byte(b, ']');
}

/* The model: its options, the vocabulary, the merges. */
static void hf_put_model(buffer *b, const token_parts *p) {
  const int unknown = p->special[SYN_UNKNOWN], unigram = !strcmp(p->kind, "unigram");
  const int words = !strcmp(p->kind, "wordpiece"), bytes = p->options & SYN_PIECES_BYTES;
  put_line(b, "  \"model\": {\"type\": \"%s\",\n",
           unigram ? "Unigram" : words ? "WordPiece" : "BPE");
  if (unigram && unknown >= 0) put_line(b, "    \"unk_id\": %d,\n", unknown);
  if (unigram && unknown < 0) put_words(b, "    \"unk_id\": null,\n");
  if (!unigram && unknown >= 0) {
    put_words(b, "    \"unk_token\": ");
    put_json(b, p->names[unknown]);
    put_words(b, ",\n");
  }
  if (words)
    put_words(b, "    \"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100,\n");
  else put_line(b, "    \"byte_fallback\": %s,\n", bytes ? "true" : "false");
  if (!unigram && !words)
    put_line(b, "    \"fuse_unk\": %s, \"ignore_merges\": %s,\n", bytes ? "true" : "false",
             p->options & SYN_PIECES_WHOLE ? "true" : "false");
  hf_put_vocabulary(b, p);
  if (!unigram && !words) hf_put_merges(b, p);
  put_words(b, "}\n}\n");
}

/* Any tokenizer but llama with scores, whose merges the format would want. */
static void hf_write(const token_parts *p, const char *file) {
  buffer b = {NULL, 0, 0};
  put_words(&b, "{\n  \"version\": \"1.0\", \"truncation\": null, \"padding\": null,\n");
  hf_put_added(&b, p);
  if (!strcmp(p->kind, "gpt2")) hf_put_bytes(&b, p);
  else if (!strcmp(p->kind, "wordpiece")) hf_put_bert(&b, p);
  else hf_put_spaces(&b, p);
  hf_put_template(&b, p);
  hf_put_model(&b, p);
  write_file(file, b.at, b.size);
  free(b.at);
}

/* tokenizer_config.json: the class of transformers, and the names of the special tokens. */
static void hf_write_config(const token_parts *p, const char *file, int length) {
  static const char *const names[] = {"pad", "unk", "bos", "eos"};
  const int model = !strcmp(p->kind, "llama") && p->scores;
  buffer b = {NULL, 0, 0};
  int i;
  put_line(&b, "{\n  \"tokenizer_class\": \"%s\",\n",
           model ? "LlamaTokenizer" : "PreTrainedTokenizerFast");
  if (model)
    put_line(&b, "  \"add_bos_token\": %s,\n  \"add_eos_token\": false,\n  \"legacy\": true,\n",
             p->special[SYN_BEGIN] < 0 ? "false" : "true");
  for (i = 0; i < 4; i++) {
    if (p->special[i] < 0) continue;
    put_line(&b, "  \"%s_token\": ", names[i]);
    put_json(&b, p->names[p->special[i]]);
    put_words(&b, ",\n");
  }
  put_line(&b, "  \"clean_up_tokenization_spaces\": false,\n  \"model_max_length\": %d\n}\n",
           length);
  write_file(file, b.at, b.size);
  free(b.at);
}

/* The tokenizer in a folder of Hugging Face. */
static void hf_write_tokenizer(const token_parts *p, const char *folder, int length) {
  const int model = !strcmp(p->kind, "llama") && p->scores;
  char *file = path_inside(folder, model ? "tokenizer.model" : "tokenizer.json");
  char *config = path_inside(folder, "tokenizer_config.json");
  if (model) spm_write(p, file);
  else hf_write(p, file);
  hf_write_config(p, config, length);
  free(file);
  free(config);
}

