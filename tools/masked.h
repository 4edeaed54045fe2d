/* masked.h   texts with hidden tokens or spans: the rows of their training, scores of what is found.
   Part of syn.c, behind data.h. */

/* ==============================================================================================
   >>tool masked   texts with hidden tokens
   ============================================================================================== */

/* The token that hides others: the first sentinel; of published models the one with a known name.
   -1: none. */
static int mask_of(const syn_tokenizer *t) {
  char name[8];
  int first, i, n = t ? syn_tokenizer_size(t) : 0;
  if (t && syn_tokenizer_sentinels(t, &first)) return first;
  for (i = n - 1; i >= 0; i--) {
    syn_tokenizer_name(t, i, name, sizeof name);
    if (!strcmp(name, "[MASK]") || !strcmp(name, "<mask>")) break;
  }
  return i;
}

/* Where the name begins in the text; its size: nowhere. */
static size_t masked_find(syn_text text, syn_text name) {
  size_t i;
  for (i = 0; i + name.size <= text.size; i++)
    if (memcmp(text.at + i, name.at, name.size) == 0) return i;
  return text.size;
}

/* The tokens of a text in which the name of `mask`, as <0>, stands for hidden tokens; returns how
   many e->ids has. Tokenizers of published models know that name; for others the text is cut there.
   The spaces beside it belong to the words, and the tokenizer adds them by itself, but where tokens
   are characters or bytes. The words of gpt2 begin with theirs. */
static int masked_tokens(encoder *e, const syn_tokenizer *t, int mask, syn_text text) {
  char spelled[8] = "";
  syn_text name;
  const char *type = syn_tokenizer_type(t);
  const int joined = strcmp(type, "char") == 0 || strcmp(type, "byte") == 0;
  const int apart = !joined && strcmp(type, "gpt2") != 0;
  const encoder before = *e; /* its counts */
  int *all = NULL, count = 0, n = encode(e, t, text), i, last;
  size_t at;
  if (mask >= 0) syn_tokenizer_name(t, mask, spelled, sizeof spelled);
  name = syn_text_of(spelled + (*spelled == ' ')); /* also without a blank before */
  for (i = 0; i < n && e->ids[i] != mask; i++) continue;
  if (i < n || !name.size || masked_find(text, name) == text.size) return n;
  e->unknown = before.unknown, e->tokens = before.tokens, e->invalid = before.invalid;
  do {
    syn_text part = text;
    at = masked_find(text, name);
    last = at == text.size;
    part.size = at;
    if (!joined && !last && at && part.at[at - 1] == ' ') part.size--;
    if (apart && count && part.size && *part.at == ' ') part.at++, part.size--;
    n = part.size ? encode(e, t, part) : 0;
    all = (int *)grow(all, (size_t)(count + n + 3), sizeof *all);
    if (n) memcpy(all + count, e->ids, (size_t)n * sizeof *all);
    count += n;
    if (last) break;
    all[count++] = mask;
    text.at += at + name.size;
    text.size -= at + name.size;
  } while (text.size);
  free(e->ids);
  e->ids = all;
  e->cap = (size_t)count;
  return count;
}
/* The same as a source of mlm. */
static int encode_masked(encoder *e, const syn_tokenizer *t, int mask, syn_text text) {
  const int n = masked_tokens(e, t, mask, text);
  return is_framed(MLM, t) ? put_frame(e, n) : n;
}

/* What is hidden for seq2seq: spans, behind sentinels; for mlm: tokens. count 0: the tokenizer has no
   token for it. */
static syn_corruption hides_of(task of, const syn_tokenizer *t) {
  syn_corruption k;
  memset(&k, 0, sizeof k);
  k.count = syn_tokenizer_sentinels(t, &k.first);
  k.mask = of == MLM;
  if (!k.mask) return k;
  k.count = k.count ? k.first : syn_tokenizer_size(t);
  k.first = mask_of(t);
  if (k.first < 0) k.count = 0;
  return k;
}

/* The lines of a file as sources without targets. */
static pairs plain_lines(const char *path, task of, int how) {
  pairs p;
  memset(&p, 0, sizeof p);
  p.of = of;
  p.names[0] = path;
  p.files[0] = lines_of(read_data(path, how));
  p.side[0] = p.files[0].at;
  p.files[0].at = NULL;
  p.count = p.files[0].count;
  return p;
}

/* Adds them as rows in which k hides something. Source and target, with their ends, have less than
   `room` tokens and one. left: lines of less than two tokens; those that do not fit. */
static void hidden_add(syn_data *d, pairs *p, const syn_corruption *k, const syn_tokenizer *t,
                       int room, size_t left[2]) {
  encoder *e = &p->encoders[0];
  int n, n_src, n_tgt;
  size_t i;
  left[0] = left[1] = 0;
  syn_data_corrupt(d, k);
  for (i = 0; i < p->count; i++) {
    n = encode_task(e, p->of, t, p->side[0][i]);
    syn_corrupt_sizes(k, n, &n_src, &n_tgt);
    if (n < 2 + 2 * is_framed(p->of, t)) left[0]++;
    else if (n_src >= room || n_tgt >= room) left[1]++;
    else syn_data_add(d, e->ids, n, NULL, 0);
  }
}

/* What a model finds in hidden places. */
typedef struct masked_scores {
  int64_t hidden, right;
  double nats; /* sum of -log p of the hidden tokens */
  size_t left; /* lines without a hidden token */
} masked_scores;

/* One text of n tokens, with `width` logits each. */
static void masked_row(masked_scores *s, syn_run *r, int width, const int *src, const int *labels,
                       int n) {
  const int64_t before = s->hidden;
  const float *z;
  syn_batch b;
  int i, k, rows;
  memset(&b, 0, sizeof b);
  b.count = 1;
  b.src = src;
  b.src_width = n;
  if (syn_run_forward(r, &b)) return;
  z = syn_run_logits(r, 0, &rows);
  for (i = 0; z && i < rows; i++, z += width) {
    double sum = 0.0, top = (double)z[0];
    if (!labels[i]) continue;
    for (k = 1; k < width; k++) top = (double)z[k] > top ? (double)z[k] : top;
    for (k = 0; k < width; k++) sum += exp((double)z[k] - top);
    s->nats += log(sum) + top - (double)z[labels[i]];
    s->right += syn_run_class(r, 0, i, 0, NULL) == labels[i];
    s->hidden++;
  }
  s->left += s->hidden == before;
}

/* Each line with BERT's masks, always the same. */
static masked_scores masked_lines(syn_context *c, const syn_model *m, encoder *e, const lines *l) {
  const syn_tokenizer *t = syn_model_tokenizer(m, SYN_SRC);
  const syn_corruption k = hides_of(MLM, t);
  const int most = syn_model_config(m)->max_len;
  int *src = (int *)take((size_t)most * 2, sizeof *src), *labels = src + most;
  syn_run *r = syn_run_new(c, m, NULL);
  masked_scores s;
  size_t i;
  memset(&s, 0, sizeof s);
  if (!k.count) fail(FAILED_JOB, "the tokenizer of the model has no token that hides others");
  for (i = 0; i < l->count; i++) {
    syn_random random = {i};
    const int n = encode_task(e, MLM, t, l->at[i]);
    if (n < 1 || n > most) {
      s.left++;
      continue;
    }
    syn_corrupt(&k, e->ids, n, &random, src, labels);
    masked_row(&s, r, syn_model_config(m)->tgt_vocab, src, labels, n);
    check(c);
  }
  syn_run_free(r);
  free(src);
  return s;
}
