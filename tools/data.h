/* data.h   makes contexts and networks from options, and training data from text files.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* ==============================================================================================
   >>tool library   contexts, errors of the library, networks from options
   ============================================================================================== */

/* As check, after a call that depends on options alone: a refused value is wrong use. */
static void check_use(const syn_context *c) {
  int use = c->status != SYN_E_MEMORY && c->status != SYN_E_FILE;
  if (c->status != SYN_OK) fail(use ? WRONG_USE : FAILED_JOB, "%s", c->message);
}

/* As check, after a call that reads the file `path`: the message shall begin with its name. */
static void check_file(const syn_context *c, const char *path) {
  char shown[sizeof c->message];
  size_t n;
  int named;
  syn__show(shown, sizeof shown, path, strlen(path)); /* as the message has it */
  n = strlen(shown);
  named = strncmp(c->message, shown, n) == 0 && c->message[n] == ':';
  if (c->status == SYN_OK) return;
  fail(FAILED_JOB, "%s%s%s", named ? "" : path, named ? "" : ": ", c->message);
}

static void context_open(syn_context *c, const arguments *a) {
  context_of(c, opt_int(a, "threads"), opt_text(a, "isa"));
}

/* The defaults of --encoder and --decoder. */
#define PLAIN_CHAIN "pos->repeat(3,res_nd(syn_att(R+V))->res_nd(ffl))->norm"
#define SOURCE_CHAIN "pos->repeat(3,res_nd(syn_att(R+V))->res_nd(mh_dot_att)->res_nd(ffl))->norm"

/* A configuration with the memory that it points to. */
typedef struct network {
  syn_config config;
  syn_var *vars;
  buffer names; /* of the vars */
} network;

/* Reads every --var NAME=NUMBER. */
static void network_vars(network *n, const arguments *a) {
  const char *each, *equals;
  int count = 0, i;
  size_t at = 0;
  while (opt_each(a, "var", count)) count++;
  n->vars = (syn_var *)take((size_t)count, sizeof *n->vars);
  for (i = 0; i < count; i++) {
    each = opt_each(a, "var", i);
    equals = strchr(each, '=');
    if (!equals || equals == each || !parse_number(equals + 1, &n->vars[i].value))
      fail(WRONG_USE, "%s --var wants NAME=NUMBER, given: %s", a->command->name, each);
    put(&n->names, each, (size_t)(equals - each));
    put_byte(&n->names, 0);
  }
  for (i = 0; i < count; i++, at += strlen(n->names.at + at) + 1)
    n->vars[i].name = n->names.at + at;
  n->config.vars = n->vars;
  n->config.n_vars = count;
}

/* Reads NETWORK_OPTIONS and SIZE_OPTIONS; vocabularies, dropout and the rest stay 0. */
static network network_of(const arguments *a) {
  const char *tie = opt_text(a, "tie"), *encoder = opt_text(a, "encoder");
  const char *decoder = opt_text(a, "decoder"), *task = opt_text(a, "task");
  network n;
  memset(&n, 0, sizeof n);
  network_vars(&n, a);
  n.config.task = task;
  n.config.encoder = *encoder ? encoder : PLAIN_CHAIN;
  n.config.decoder = *decoder ? decoder : strcmp(task, "lm") == 0 ? PLAIN_CHAIN : SOURCE_CHAIN;
  n.config.d_model = opt_int(a, "d-model");
  n.config.heads = opt_int(a, "heads");
  n.config.max_len = opt_int(a, "max-len");
  n.config.tie = strcmp(tie, "auto") == 0 ? NULL : tie;
  return n;
}

static void network_free(network *n) {
  free(n->vars);
  free(n->names.at);
}

/* What the network is trained for. It decides what a line of data holds. */
typedef enum task { SEQ2SEQ, LM, CLASSIFY, TAG } task;

static task task_of(const char *name) {
  static const char *const names[] = {"seq2seq", "lm", "classify", "tag"};
  int i = TAG;
  while (i > 0 && strcmp(name, names[i]) != 0) i--;
  return (task)i;
}

/* Labels are tokens of the target's tokenizer: classify has class = token - 4. tag has class =
   token - 3, because its class 0 means padding. */
static int task_shift(task of) { return of == TAG ? SYN_FIRST_TOKEN - 1 : SYN_FIRST_TOKEN; }

/* ==============================================================================================
   >>tool data   text files become pairs of texts, tokenizers, sequences of tokens
   ============================================================================================== */

/* Source and target of each line, as slices of the files. classify: the source is one text or
   several, separated by TABs, and the target a label. tag: the target is the tags. */
typedef struct pairs {
  task of;
  lines files[2];
  const char *names[2];  /* file names of both sides */
  syn_text *side[2];     /* [count] source; target with all its alternatives */
  size_t count;
  int literal;           /* 1: `|` and TAB in a target are text, not separators */
} pairs;

/* Splits lines: source TAB target [TAB target ...]; classify: label TAB text [TAB text ...]. */
static void pairs_split(pairs *p) {
  int first = p->of == CLASSIFY; /* the side before the TAB */
  size_t i;
  for (i = 0; i < p->count; i++) {
    syn_text line = p->files[0].at[i];
    const char *tab = line.size ? (const char *)memchr(line.at, '\t', line.size) : NULL;
    if (!tab)
      fail(FAILED_JOB, "%s line %lu has no TAB; %s is wanted, given: %.*s", p->names[0],
           (unsigned long)i + 1, first ? "label TAB text" : "source TAB target",
           short_size(line), line.at);
    p->side[first][i] = p->side[!first][i] = line;
    p->side[first][i].size = (size_t)(tab - line.at);
    p->side[!first][i].at = tab + 1;
    p->side[!first][i].size = line.size - p->side[first][i].size - 1;
  }
}

/* Refuses empty texts and labels of classify and tag. */
static void pairs_check(const pairs *p) {
  size_t i;
  int k;
  for (i = 0; i < p->count && p->of >= CLASSIFY; i++)
    for (k = 0; k < 2; k++)
      if (!p->side[k][i].size)
        fail(FAILED_JOB, "%s line %lu has no %s", p->names[k], (unsigned long)i + 1,
             k == 0 ? "text" : p->of == TAG ? "tags" : "label");
}

/* Reads the file of option names[0], or those of names[1] and names[2]; 0 when none is given. */
static int pairs_read(pairs *p, task of, const arguments *a, const char *const names[3]) {
  const char *data = opt_text(a, names[0]);
  const char *src = opt_text(a, names[1]), *tgt = opt_text(a, names[2]);
  memset(p, 0, sizeof *p);
  p->of = of;
  p->literal = of >= CLASSIFY || opt_flag(a, "literal"); /* a tag may be | */
  if (!*data && !*src && !*tgt) return 0;
  if (*data ? *src || *tgt : !*src || !*tgt)
    fail(WRONG_USE, "%s wants either --%s, or --%s and --%s", a->command->name, names[0], names[1],
         names[2]);
  p->names[0] = *data ? data : src;
  p->names[1] = *data ? data : tgt;
  p->files[0] = read_lines(p->names[0]);
  p->count = p->files[0].count;
  p->side[0] = (syn_text *)take(p->count, sizeof(syn_text));
  p->side[1] = (syn_text *)take(p->count, sizeof(syn_text));
  if (*data) return pairs_split(p), pairs_check(p), 1;
  p->files[1] = read_lines(tgt);
  if (p->files[1].count != p->count)
    fail(FAILED_JOB, "%s has %lu lines, %s has %lu; as many of both are wanted", src,
         (unsigned long)p->count, tgt, (unsigned long)p->files[1].count);
  memcpy(p->side[0], p->files[0].at, p->count * sizeof(syn_text));
  memcpy(p->side[1], p->files[1].at, p->count * sizeof(syn_text));
  pairs_check(p);
  return 1;
}

static void pairs_free(pairs *p) {
  lines_free(&p->files[0]);
  lines_free(&p->files[1]);
  free(p->side[0]);
  free(p->side[1]);
}

/* The first alternative of a target, which training uses, without the blanks around it. */
static syn_text first_alternative(const pairs *p, size_t i) {
  syn_text rest = p->side[1][i], piece = rest;
  if (p->literal) return piece;
  next_piece(&rest, "|\t", &piece);
  while (piece.size && piece.at[0] == ' ') piece.at++, piece.size--;
  while (piece.size && piece.at[piece.size - 1] == ' ') piece.size--;
  return piece;
}

/* A buffer for the token ids of one text at a time; all zero it is empty. */
typedef struct encoder {
  int *ids;
  size_t cap;
} encoder;

/* Encodes into e->ids and returns the number of tokens. classify: texts separated by TAB are joined
   by the end token, a 3 b 3 c. A text of n bytes has at most n + 1 tokens. */
static int encode_task(encoder *e, task of, const syn_tokenizer *t, syn_text text) {
  if (text.size >= INT_MAX / 4)
    fail(FAILED_JOB, "a text of %.0f bytes is too long", (double)text.size);
  if (e->cap < 2 * text.size + 2) {
    free(e->ids);
    e->cap = 4 * text.size + 64;
    e->ids = (int *)take(e->cap, sizeof *e->ids);
  }
  return syn__encode(t, of == CLASSIFY, text, e->ids, (int)e->cap);
}
static int encode(encoder *e, const syn_tokenizer *t, syn_text text) {
  return encode_task(e, SEQ2SEQ, t, text);
}

/* Exits: label k of line i did not occur in training. */
static void label_unknown(const pairs *p, const syn_tokenizer *t, size_t i, int k) {
  syn_text rest = p->side[1][i], label = rest;
  if (strcmp(syn_tokenizer_type(t), "space") == 0)
    for (; k >= 0; k--) next_piece(&rest, " \t", &label);
  fail(FAILED_JOB, "%s line %lu: the label %.*s is none of the %d of the training", p->names[1],
       (unsigned long)i + 1, short_size(label), label.at,
       syn_tokenizer_size(t) - SYN_FIRST_TOKEN);
}

/* Encodes the classes of line i, whose source has `tokens` tokens; returns their number. */
static int encode_labels(encoder *e, const pairs *p, size_t i, const syn_tokenizer *t,
                         int tokens) {
  int n = encode(e, t, p->side[1][i]), k;
  for (k = 0; k < n; k++) {
    if (e->ids[k] == SYN_UNKNOWN) label_unknown(p, t, i, k);
    e->ids[k] -= task_shift(p->of);
  }
  if (p->of == TAG && n != tokens)
    fail(FAILED_JOB, "%s line %lu has %d tags for %d tokens", p->names[1], (unsigned long)i + 1, n,
         tokens);
  return n;
}

/* Adds each of the pairs i..end-1 that fits `most` tokens a side, with the end token of the source or
   the begin token of the decoder (tag has neither). Returns the number of pairs that do not fit. */
static size_t pairs_add(syn_context *c, syn_data *d, const pairs *p, size_t i, size_t end,
                        const syn_tokenizer *const t[2], int most) {
  encoder src, tgt;
  size_t left = 0;
  int n, m;
  memset(&src, 0, sizeof src);
  memset(&tgt, 0, sizeof tgt);
  for (; i < end; i++) {
    n = encode_task(&src, p->of, t[0], p->side[0][i]);
    m = p->of >= CLASSIFY ? encode_labels(&tgt, p, i, t[1], n)
                          : encode(&tgt, t[1], first_alternative(p, i));
    if (n < most + (p->of == TAG) && m < most + (p->of == TAG))
      syn_data_add(d, src.ids, n, tgt.ids, m);
    else left++;
  }
  free(src.ids);
  free(tgt.ids);
  check(c);
  return left;
}

/* Adds a text as windows of `window` tokens, one every `stride` tokens. */
static void windows_add(syn_context *c, syn_data *d, syn_text text, const syn_tokenizer *t,
                        int window, int stride) {
  encoder e;
  int n;
  memset(&e, 0, sizeof e);
  n = encode(&e, t, text);
  syn_data_add_windows(d, e.ids, (size_t)n, window, stride);
  check(c);
  free(e.ids);
}

/* Refuses options that name a second file, where the data are one plain text. */
static void check_one_file(const arguments *a, const char *what) {
  static const char *const names[] = {"src", "tgt", "valid-src", "valid-tgt"};
  size_t i;
  for (i = 0; i < COUNT(names); i++)
    if (opt_given(a, names[i]))
      fail(WRONG_USE, "%s of %s reads plain text by --data%s, given: --%s", a->command->name, what,
           i < 2 ? "" : " and --valid", names[i]);
}

/* Reads a file as one text, line ends included. */
static buffer read_text(const char *path) {
  buffer text = read_file(path);
  if (!text.size) fail(FAILED_JOB, "%s is empty, a text is wanted", path);
  return text;
}

/* The tokenizer of a side: its own option, else --tokenizer, else the default of the task. */
static const char *tokenizer_spec(const arguments *a, task of, int side) {
  const char *own = opt_text(a, side ? "tgt-tokenizer" : "src-tokenizer");
  if (*own) return own;
  if (of == CLASSIFY && side) return "line";
  if (*opt_text(a, "tokenizer")) return opt_text(a, "tokenizer");
  return of == TAG ? "space" : "bpe:4000";
}

/* Learns a tokenizer from the texts of side 0, side 1 or both (side 2). */
static syn_tokenizer *learn_side(syn_context *c, const pairs *p, int side, const char *spec,
                                 int flags) {
  syn_text *all, rest, piece;
  size_t i, n = 0, most = 2 * p->count;
  syn_tokenizer *t;
  for (i = 0; i < p->files[0].bytes.size && p->of == CLASSIFY; i++)
    most += p->files[0].bytes.at[i] == '\t';
  all = (syn_text *)take(most, sizeof *all);
  for (i = 0; i < p->count && side != 1; i++)
    for (rest = p->side[0][i]; next_piece(&rest, p->of == CLASSIFY ? "\t" : "", &piece);)
      all[n++] = piece;
  for (i = 0; i < p->count && side != 0; i++)
    all[n++] = p->of >= CLASSIFY ? p->side[1][i] : first_alternative(p, i);
  t = syn_tokenizer_learn(c, spec, flags, all, n);
  check_use(c);
  free(all);
  return t;
}

/* Learns those tokenizers from the training texts that --init did not bring. `joint`: one for both
   sides, as --tie all requires. Labels keep their case. */
static void learn_tokenizers(syn_context *c, const arguments *a, const pairs *p, int joint,
                             syn_tokenizer *t[2]) {
  const char *src = tokenizer_spec(a, p->of, 0), *tgt = tokenizer_spec(a, p->of, 1);
  int flags = opt_flag(a, "lowercase") ? SYN_LOWERCASE : 0;
  if (joint && strcmp(src, tgt) != 0)
    fail(WRONG_USE, "--tie all wants one tokenizer for both sides, given: %s and %s", src, tgt);
  if (!t[0]) t[0] = learn_side(c, p, joint ? 2 : 0, src, flags);
  if (!t[1]) t[1] = joint ? t[0] : learn_side(c, p, 1, tgt, p->of >= CLASSIFY ? 0 : flags);
}

/* lm: learns the one tokenizer from the parts of syn__held_text that are trained on, unless --init
   brought it. */
static void learn_tokenizer(syn_context *c, const arguments *a, const syn_text *part, int count,
                            syn_tokenizer *t[2]) {
  int flags = opt_flag(a, "lowercase") ? SYN_LOWERCASE : 0, i, n = 0;
  syn_text texts[SYN__HELD_PARTS];
  for (i = 1; i < count; i += 2) texts[n++] = part[i];
  if (!t[1]) t[1] = syn_tokenizer_learn(c, tokenizer_spec(a, LM, 1), flags, texts, (size_t)n);
  check_use(c);
}
