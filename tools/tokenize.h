/* tokenize.h   texts to tokens and back; the answers of another program for the same texts.
   A part of syn.c, which includes it behind token_files.h. */

/* The name of a token as its file spells it, in `b`. */
static syn_text token_name(const syn_tokenizer *t, int id, buffer *b) {
  b->size = 0;
  buffer_reserve(b, syn_tokenizer_name(t, id, NULL, 0) + 1);
  b->size = syn_tokenizer_name(t, id, b->at, b->cap);
  return buffer_text(b);
}

/* The tokens of a text and their text. */
typedef struct tokenized {
  const syn_tokenizer *t;
  int *ids, count;
  size_t cap;
  buffer text, name;
} tokenized;

static void tokenize(tokenized *k, syn_text text) {
  if (text.size >= INT_MAX / 4)
    fail(FAILED_JOB, "a text of %.0f bytes is too long", (double)text.size);
  k->count = syn_tokenizer_encode(k->t, text, k->ids, (int)k->cap);
  if ((size_t)k->count > k->cap) {
    k->cap = 2 * (size_t)k->count;
    k->ids = (int *)grow(k->ids, k->cap, sizeof *k->ids);
    k->count = syn_tokenizer_encode(k->t, text, k->ids, (int)k->cap);
  }
  k->text.size = 0;
  buffer_reserve(&k->text, syn_tokenizer_decode(k->t, k->ids, k->count, NULL, 0) + 1);
  k->text.size = syn_tokenizer_decode(k->t, k->ids, k->count, k->text.at, k->text.cap);
}

/* Numbers of tokens, separated by spaces, to their text. */
static void tokenize_back(tokenized *k, syn_text line) {
  syn_text rest = line, word;
  k->count = 0;
  if (k->cap < line.size + 1) {
    k->cap = 2 * line.size + 64;
    k->ids = (int *)grow(k->ids, k->cap, sizeof *k->ids);
  }
  while (next_piece(&rest, " ", &word)) {
    char digits[16] = "";
    int number = -1;
    if (!word.size) continue;
    if (word.size < sizeof digits) memcpy(digits, word.at, word.size);
    if (!parse_int(digits, &number) || (number = syn_tokenizer_id(k->t, number)) < 0)
      fail(FAILED_JOB, "no token has the number '%.*s'", short_size(word), word.at);
    k->ids[k->count++] = number;
  }
  k->text.size = 0;
  buffer_reserve(&k->text, syn_tokenizer_decode(k->t, k->ids, k->count, NULL, 0) + 1);
  k->text.size = syn_tokenizer_decode(k->t, k->ids, k->count, k->text.at, k->text.cap);
}

/* -- answers -- */

/* What differs from the answers of a line; null: nothing. The name of an unknown token is the text
   that it stands for, which the tokens do not tell: it is not compared. */
static const char *tokenize_differs(tokenized *k, const json *j) {
  const json_value *ids = json_get(j, j->at, "ids"), *pieces = json_get(j, j->at, "pieces"), *v;
  const json_value *decoded = json_get(j, j->at, "decoded");
  int i = 0;
  if (ids && ids->count != (uint32_t)k->count) return "ids";
  for (v = json_first(ids); v; v = json_after(j, v), i++)
    if (json_int(v, -2) != syn_tokenizer_number(k->t, k->ids[i])) return "ids";
  if (pieces && pieces->count != (uint32_t)k->count) return "pieces";
  for (v = json_first(pieces), i = 0; v; v = json_after(j, v), i++)
    if (k->ids[i] != SYN_UNKNOWN && !text_equal(token_name(k->t, k->ids[i], &k->name), v->text))
      return "pieces";
  return decoded && !text_equal(decoded->text, buffer_text(&k->text)) ? "decoded" : NULL;
}

static int tokenize_check(tokenized *k, const char *path) {
  lines l = read_lines(path);
  int passed = 0, failed = 0;
  size_t i;
  for (i = 0; i < l.count; i++) {
    buffer line = {NULL, 0, 0};
    const char *differs;
    const json_value *text;
    json j;
    put(&line, l.at[i].at, l.at[i].size);
    if (is_blank(l.at[i])) {
      free(line.at);
      continue;
    }
    j = json_parse(line, path);
    text = json_get(&j, j.at, "text");
    if (!text || text->kind != JSON_TEXT)
      fail(FAILED_JOB, "%s: line %.0f has no \"text\"", path, (double)i + 1);
    tokenize(k, text->text);
    differs = tokenize_differs(k, &j);
    passed += !differs;
    failed += differs != NULL;
    if (differs) printf("line %.0f: %s differ\n", (double)i + 1, differs);
    json_free(&j);
  }
  printf("%d passed, %d failed\n", passed, failed);
  lines_free(&l);
  return failed ? FAILED_JOB : 0;
}

/* One line of pieces, or of numbers. */
static void tokenize_print(tokenized *k, int numbers) {
  int i;
  for (i = 0; i < k->count; i++) {
    const char *space = i ? " " : "";
    if (numbers) printf("%s%d", space, syn_tokenizer_number(k->t, k->ids[i]));
    else {
      const syn_text name = token_name(k->t, k->ids[i], &k->name);
      printf("%s", space);
      print_result(name.at, name.size);
    }
  }
  printf("\n");
}

/* The tokenizer of the options: one of a file, which *own is then, or of the model *m. */
static const syn_tokenizer *tokenize_open(syn_context *c, const arguments *a, syn_tokenizer **own,
                                          syn_model **m) {
  const char *path = opt_text(a, "tokenizer"), *model = opt_text(a, "model");
  const char *vocab = opt_text(a, "vocab"), *side = opt_text(a, "side");
  const syn_tokenizer *t;
  if (!*path == !*model) fail(WRONG_USE, "tokenize wants --tokenizer or --model, one of them");
  if (*vocab && !*path) fail(WRONG_USE, "tokenize --vocab wants --tokenizer beside it");
  context_of(c, 1, "");
  if (*vocab) return *own = tokenizer_read_numbered(c, path, vocab, 0);
  if (*path) return *own = tokenizer_read(c, path, 0, NULL);
  *m = syn_model_load(c, model);
  check_file(c, model);
  t = syn_model_tokenizer(*m, strcmp(side, "source") ? SYN_TGT : SYN_SRC);
  if (!t) t = syn_model_tokenizer(*m, SYN_SRC);
  if (!t)
    fail(FAILED_JOB, "%s has no %stokenizer", model, strcmp(side, "source") ? "" : "source ");
  return t;
}

static int run_tokenize(const arguments *a) {
  const char *answers = opt_text(a, "check");
  const int numbers = opt_flag(a, "ids"), back = opt_flag(a, "back");
  syn_tokenizer *own = NULL;
  syn_model *m = NULL;
  tokenized k;
  syn_context c;
  int status = 0;
  size_t i;
  memset(&k, 0, sizeof k);
  k.t = tokenize_open(&c, a, &own, &m);
  if (*answers) status = tokenize_check(&k, answers);
  else {
    lines l = read_lines(a->word_count ? a->words[0] : "-");
    for (i = 0; i < l.count; i++) {
      if (back) tokenize_back(&k, l.at[i]), print_result(k.text.at, k.text.size), printf("\n");
      else tokenize(&k, l.at[i]), tokenize_print(&k, numbers);
    }
    lines_free(&l);
  }
  free(k.ids);
  free(k.text.at);
  free(k.name.at);
  syn_tokenizer_free(own);
  syn_model_free(m);
  return status;
}
