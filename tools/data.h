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

static int default_threads; /* of --threads 0; 0: the physical cores */

static void context_open(syn_context *c, const arguments *a) {
  int threads = opt_int(a, "threads");
  if (!threads) threads = default_threads ? default_threads : physical_cores();
  context_of(c, threads, opt_text(a, "isa"));
}
/* Tells a person how many threads --threads 0 has started; scripts read errors on stderr. */
static void say_threads(const syn_context *c, const arguments *a) {
  const int threads = c->options.threads;
  if (threads < 2 || opt_int(a, "threads") || !is_terminal(2)) return;
  fprintf(stderr, "syn: %d threads, one a core; --threads 1 leaves the others free\n", threads);
}

/* The defaults of --encoder and --decoder. */
#define PLAIN_CHAIN "pos->repeat(3,res_nd(syn_att(R+V))->res_nd(ffl))->norm"
#define FEATURE_CHAIN "linear->" PLAIN_CHAIN /* of --features: the width becomes d_model first */
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
  n.config.src_features = opt_int(a, "features");
  n.config.encoder = *encoder ? encoder : n.config.src_features ? FEATURE_CHAIN : PLAIN_CHAIN;
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
typedef enum task { SEQ2SEQ, LM, CLASSIFY, TAG, MLM, REGRESS, REGRESS_ROWS } task;

static const char *const task_names[] = {"seq2seq", "lm",      "classify",    "tag",
                                         "mlm",     "regress", "regress_rows"};

static task task_of(const char *name) {
  int i = REGRESS_ROWS;
  while (i > 0 && strcmp(name, task_names[i]) != 0) i--;
  return (task)i;
}
/* The target of a line is one label or one for each token. */
static int has_labels(task of) { return of == CLASSIFY || of == TAG; }

/* Whether a source ends with the end token: not where each token has a label of its own. */
static int has_end(task of) { return of != TAG && of != MLM; }

/* Labels are tokens of the target's tokenizer: classify has class = token - 4. tag has class =
   token - 3, because its class 0 means padding. */
static int task_shift(task of) { return of == TAG ? SYN_FIRST_TOKEN - 1 : SYN_FIRST_TOKEN; }

/* What a word of --too-long removes of a text: SYN_CUT_..., 0: it is not cut. `cut` goes by the task:
   the newest tokens of a prompt stay, of other texts the first ones. */
static int cut_of(const char *word, task of) {
  if (strcmp(word, "head") == 0 || (strcmp(word, "cut") == 0 && of == LM)) return SYN_CUT_HEAD;
  if (strcmp(word, "tail") == 0 || strcmp(word, "cut") == 0) return SYN_CUT_TAIL;
  return strcmp(word, "middle") == 0 ? SYN_CUT_MIDDLE : 0;
}

/* The same of pairs. `cut` cuts those of classify alone: elsewhere labels or targets belong to every
   token. Tags go with the tokens from the first on, so `tail` alone cuts those of tag. */
static int pair_cut_of(const char *word, task of) {
  const int cut = cut_of(word, of);
  if (of == LM || of > TAG || (of != CLASSIFY && strcmp(word, "cut") == 0)) return 0;
  return of == TAG && cut != SYN_CUT_TAIL ? 0 : cut;
}

/* What is read of a text that was cut. */
static const char *cut_left(int cut) {
  return cut == SYN_CUT_HEAD ? "last" : cut == SYN_CUT_TAIL ? "first" : "first and last";
}

/* ==============================================================================================
   >>tool data   text files become pairs of texts, tokenizers, sequences of tokens
   ============================================================================================== */

/* A buffer for the token ids of one text at a time, and counts of all that it encoded; all zero it
   is empty. */
typedef struct encoder {
  int *ids;
  size_t cap;
  double tokens, unknown, invalid; /* invalid: bytes that are not UTF-8 */
} encoder;

/* The numbers of one text at a time; all zero it is empty. */
typedef struct number_list {
  float *at;
  size_t count, cap;
} number_list;

/* Reads the numbers of a text, with white space between. Exits where one is none, or too large. */
static void read_numbers(number_list *x, syn_text text, const char *path, unsigned long line) {
  syn_text word;
  double value;
  char digits[64];
  for (x->count = 0; next_word(&text, &word); x->at[x->count++] = (float)value) {
    snprintf(digits, sizeof digits, "%.*s", (int)(word.size < 63 ? word.size : 63), word.at);
    if (!parse_number(digits, &value) || fabs(value) > (double)SYN_MOST_FEATURE)
      fail(FAILED_JOB, "%s line %lu: number %lu is %s, wanted a number of at most %g in size", path,
           line, (unsigned long)x->count + 1, digits, (double)SYN_MOST_FEATURE);
    if (x->count < x->cap) continue;
    x->cap = 2 * x->cap + 1024;
    x->at = (float *)grow(x->at, x->cap, sizeof *x->at);
  }
}

/* The same as rows of so many features; returns the rows. */
static int read_rows(number_list *x, syn_text text, int features, const char *path,
                     unsigned long line) {
  read_numbers(x, text, path, line);
  if (!x->count || x->count % (size_t)features || x->count > INT_MAX)
    fail(FAILED_JOB, "%s line %lu has %lu numbers, wanted rows of %d", path, line,
         (unsigned long)x->count, features);
  return (int)(x->count / (size_t)features);
}

/* Source and target of each line, as slices of the files. classify: the source is one text or
   several, separated by TABs, and the target a label. tag: the target is the tags. */
typedef struct pairs {
  task of;
  lines files[2];
  const char *names[2];  /* file names of both sides */
  syn_text *side[2];     /* [count] source; target with all its alternatives */
  size_t count;
  const char *alternatives; /* of a target, see next_alternative */
  int new_labels;        /* 1: a label that the training had not is allowed */
  encoder encoders[2];   /* of both sides */
  size_t nth;            /* --hold-back: every n-th row is in the part held back; 0: none */
  int held;              /* 1: this is that part */
  size_t first_left;     /* line of the first pair that does not fit; 0: all fit */
  int cut;               /* SYN_CUT_... of texts that do not fit; 0: their pairs are left out */
  size_t cut_rows, cut_tokens, first_cut; /* pairs that were cut; what they lost; their first line */
  int features, outputs; /* the source is rows of so many numbers, 0: tokens; numbers of a target */
  number_list x[2];      /* of one line */
} pairs;

/* -- what a file holds beside text -- */

/* Characters of a text. */
static double count_characters(syn_text t) {
  size_t i = 0, n = 0;
  uint32_t code;
  for (; i < t.size; n++) i += decode(t, i, &code);
  return (double)n;
}

/* A share in per cent, as text. */
static const char *percent(char out[32], double part, double all) {
  double share = all > 0.0 ? 100.0 * part / all : 0.0;
  if (share > 0.0 && share < 0.01) snprintf(out, 32, "below 0.01 %%");
  else snprintf(out, 32, share < 10.0 ? "%.2g %%" : "%.0f %%", share);
  return out;
}

/* Bytes that are not UTF-8: those of Latin-1 stand between ASCII, and its upper control characters
   are letters and quotation marks in Windows-1252. */
static void say_invalid(const text_scan *s, const char *path, size_t bytes) {
  char share[32];
  int latin = !s->wide && 2 * s->alone > s->invalid;
  fprintf(stderr, "syn: %s: %lu bytes are not UTF-8 (%s); %s\n", path, (unsigned long)s->invalid,
          percent(share, (double)s->invalid, (double)bytes),
          !latin ? "convert from its encoding with iconv -f NAME -t utf-8"
          : s->upper ? "looks like Windows-1252: convert with iconv -f windows-1252 -t utf-8"
                     : "looks like Latin-1: convert with iconv -f latin1 -t utf-8");
}

/* Says what is unusual in a text. composed: --nfc was given. */
static void say_scan(const text_scan *s, const char *path, size_t bytes, int composed) {
  char share[32];
  if (s->invalid) say_invalid(s, path, bytes);
  if (s->zeros)
    fprintf(stderr, "syn: %s: %lu bytes are 0, as in no text file; they are kept as characters\n",
            path, (unsigned long)s->zeros);
  if (s->returns)
    fprintf(stderr, "syn: %s: %lu carriage returns inside of lines are kept as characters\n", path,
            (unsigned long)s->returns);
  if (s->orders)
    fprintf(stderr, "syn: %s: %lu byte order marks (U+FEFF) inside of the text\n", path,
            (unsigned long)s->orders);
  if (s->apart && !composed)
    fprintf(stderr, "syn: %s: %s of the letters are decomposed: train --nfc composes them\n", path,
            percent(share, (double)(s->apart < s->letters ? s->apart : s->letters),
                    (double)s->letters)); /* a letter may have several marks */
}

/* What helps against unknown tokens of that tokenizer, while training. */
static const char *unknown_remedy(const syn_tokenizer *t) {
  const char *type = syn_tokenizer_type(t);
  return strncmp(type, "bpe", 3) == 0 || strncmp(type, "unigram", 7) == 0
             ? "a larger SIZE, or --tokenizer byte, knows more texts"
         : strcmp(type, "space") == 0 ? "--tokenizer bpe:SIZE makes them of known parts"
                                      : "--tokenizer byte knows every text";
}

/* Says how many of the tokens of a side are unknown, if any are; above 1 % with a remedy. */
static void say_unknown(const encoder *e, const char *path, const char *side, const char *remedy) {
  char share[32];
  int many = e->unknown > 0.01 * e->tokens;
  if (e->unknown <= 0.0) return;
  if (e->invalid >= e->unknown) remedy = "they are bytes that are not UTF-8";
  percent(share, e->unknown, e->tokens);
  fprintf(stderr, "syn: %s%s: %.0f of %.0f %stokens are unknown (%s)%s%s\n",
          many ? "warning: " : "", path, e->unknown, e->tokens, side, share, many ? ": " : "",
          many ? remedy : "");
}

/* How data are read. */
enum { COMPOSE = SYN_NFC, QUIET = 256 }; /* QUIET: without a word, because it was or will be said */

/* Adds the counts of a text and returns it composed; the caller frees it. */
static buffer scan_composed(text_scan *s, syn_text text) {
  double before = count_characters(text), after;
  buffer b = {NULL, 0, 0};
  put_normalized(&b, text, SYN_NFC);
  after = count_characters(buffer_text(&b));
  scan_text(s, text);
  if (after < before) s->apart += (size_t)(before - after);
  return b;
}

/* Looks at a text for training or eval, and says what is unusual in it. */
static buffer scan_data(buffer text, const char *path, int how) {
  buffer composed;
  text_scan s;
  memset(&s, 0, sizeof s);
  check_zeros(buffer_text(&text), path, 1);
  composed = scan_composed(&s, buffer_text(&text));
  if (!(how & QUIET)) say_scan(&s, path, text.size, how & COMPOSE);
  free(how & COMPOSE ? text.at : composed.at);
  return how & COMPOSE ? composed : text;
}
/* Reads one. */
static buffer read_data(const char *path, int how) { return scan_data(read_text(path), path, how); }

/* The same of sources with targets, or (`alone`) of sources; a safetensors file of `features`
   numbers a row becomes lines of text. */
static buffer read_sources(task of, int alone, const char *path, int features, int how) {
  static const int targets[] = {0, 0, SIGNAL_TARGET | SIGNAL_LABELS,
                                SIGNAL_TARGET | SIGNAL_LABELS | SIGNAL_ROWS, 0, SIGNAL_TARGET,
                                SIGNAL_TARGET | SIGNAL_ROWS};
  buffer bytes = read_file(path);
  if (!is_tensors(buffer_text(&bytes))) return scan_data(text_of(bytes, path), path, how);
  if (features && of == SEQ2SEQ && !alone)
    fail(FAILED_JOB, "%s: targets of seq2seq are text, which a safetensors file has not: wanted "
         "lines of numbers TAB text, or this file as --src and text as --tgt", path);
  bytes = signals_text(bytes, path, features, alone ? 0 : targets[of], how & QUIET);
  return scan_data(bytes, path, how);
}

/* -- lines -- */

/* The line of row i in its file, from 1. */
static unsigned long line_of(const pairs *p, size_t i) {
  size_t line = !p->nth ? i : p->held ? i * p->nth : i + i / (p->nth - 1) + 1;
  return (unsigned long)line + 1;
}

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
           line.size ? short_size(line) : 7, line.size ? line.at : "nothing");
    p->side[first][i] = p->side[!first][i] = line;
    p->side[first][i].size = (size_t)(tab - line.at);
    p->side[!first][i].at = tab + 1;
    p->side[!first][i].size = line.size - p->side[first][i].size - 1;
  }
}

/* The first alternative of a target, which training uses. Blanks around a mark are no part of it. */
static syn_text first_alternative(const pairs *p, size_t i) {
  syn_text rest = p->side[1][i], piece;
  next_alternative(&rest, p->alternatives, &piece);
  if (!p->alternatives || !*p->alternatives) return piece;
  while (piece.size && piece.at[0] == ' ') piece.at++, piece.size--;
  while (piece.size && piece.at[piece.size - 1] == ' ') piece.size--;
  return piece;
}

/* How many TABs a text has, which separate its columns. */
static size_t count_tabs(syn_text t) {
  size_t i, n = 0;
  for (i = 0; i < t.size; i++) n += t.at[i] == '\t';
  return n;
}

/* Says how many targets have further columns, for a TAB may be there by mistake. */
static void say_alternatives(const syn_text *target, size_t count, const char *path) {
  size_t i, several = 0;
  for (i = 0; i < count; i++) several += count_tabs(target[i]) > 0;
  if (several)
    fprintf(stderr, "syn: %s: %lu of %lu targets have further columns, which are other accepted "
            "targets\n", path, (unsigned long)several, (unsigned long)count);
}

/* classify: says where a few texts only have several columns. */
static void say_columns(const pairs *p) {
  size_t i, first = p->count ? count_tabs(p->side[0][0]) : 0, other = 0, line = 0;
  for (i = p->count; i-- > 0;)
    if (count_tabs(p->side[0][i]) != first) other++, line = i + 1;
  if (other)
    fprintf(stderr, "syn: %s: %lu of %lu lines have not as many columns as the first one; the "
            "first of them is line %lu\n", p->names[0], (unsigned long)other,
            (unsigned long)p->count, (unsigned long)line);
}

/* Refuses empty texts and labels of classify and tag; counts those of seq2seq. A line of white
   space is empty. */
static void pairs_check(pairs *p, int how) {
  size_t i, none[2] = {0, 0}, blanks = 0;
  int k;
  for (i = 0; i < p->count; i++)
    for (k = 0; k < 2; k++) {
      if (is_blank(p->side[k][i])) p->side[k][i].size = 0;
      none[k] += !(k ? first_alternative(p, i) : p->side[0][i]).size;
      if (!p->side[k][i].size && p->of >= CLASSIFY)
        fail(FAILED_JOB, "%s line %lu has no %s", p->names[k], (unsigned long)i + 1,
             k == 0 ? "text" : p->of == TAG ? "tags" : "label");
      blanks += k && p->of == CLASSIFY &&
                (p->side[1][i].at[0] == ' ' || p->side[1][i].at[p->side[1][i].size - 1] == ' ');
    }
  if (how & QUIET) return;
  if (p->alternatives) say_alternatives(p->side[1], p->count, p->names[1]);
  if (p->of == CLASSIFY) say_columns(p);
  if (blanks)
    fprintf(stderr, "syn: %s: %lu labels begin or end in a blank, which makes them other labels\n",
            p->names[1], (unsigned long)blanks);
  if (none[0] + none[1])
    fprintf(stderr, "syn: %s: of %lu pairs %lu have no source, %lu no target or an empty first "
            "one\n", p->names[0], (unsigned long)p->count, (unsigned long)none[0], (unsigned long)none[1]);
}

/* The mark of --alternatives; null: targets have none. */
static const char *alternatives_of(const arguments *a, task of) {
  const char *mark = opt_text(a, "alternatives");
  if (*mark && of != SEQ2SEQ)
    fail(WRONG_USE, "%s --alternatives %s: only targets of seq2seq have alternatives",
         a->command->name, mark);
  return of == SEQ2SEQ ? mark : NULL;
}

/* Reads the file of option names[0], or those of names[1] and names[2]; 0 when none is given.
   `features`: numbers of a row of the source, 0: it is text, -1: any. `how`: see scan_data. */
static int pairs_read(pairs *p, task of, const arguments *a, const char *const names[3],
                      int features, int how) {
  const char *data = opt_text(a, names[0]);
  const char *src = opt_text(a, names[1]), *tgt = opt_text(a, names[2]);
  memset(p, 0, sizeof *p);
  p->of = of;
  p->features = features > 0 ? features : 0;
  p->alternatives = alternatives_of(a, of);
  if (!*data && !*src && !*tgt) return 0;
  if (*data ? *src || *tgt : !*src || !*tgt)
    fail(WRONG_USE, "%s wants either --%s, or --%s and --%s", a->command->name, names[0], names[1],
         names[2]);
  p->names[0] = *data ? data : src;
  p->names[1] = *data ? data : tgt;
  p->files[0] = lines_of(read_sources(of, !*data, p->names[0], features, how));
  p->count = p->files[0].count;
  p->side[0] = (syn_text *)take(p->count, sizeof(syn_text));
  p->side[1] = (syn_text *)take(p->count, sizeof(syn_text));
  if (*data) return pairs_split(p), pairs_check(p, how), 1;
  p->files[1] = lines_of(read_data(tgt, how));
  if (p->files[1].count != p->count)
    fail(FAILED_JOB, "%s has %lu lines, %s has %lu; as many of both are wanted", src,
         (unsigned long)p->count, tgt, (unsigned long)p->files[1].count);
  memcpy(p->side[0], p->files[0].at, p->count * sizeof(syn_text));
  memcpy(p->side[1], p->files[1].at, p->count * sizeof(syn_text));
  pairs_check(p, how);
  return 1;
}

static void pairs_free(pairs *p) {
  lines_free(&p->files[0]);
  lines_free(&p->files[1]);
  free(p->side[0]);
  free(p->side[1]);
  free(p->encoders[0].ids);
  free(p->encoders[1].ids);
  free(p->x[0].at);
  free(p->x[1].at);
}

/* syn_tokenizer_cut for the task. classify: texts separated by TAB are joined by the end token, a 3 b
   3 c. */
static int encode_cut(const encoder *e, task of, const syn_tokenizer *t, syn_text text, int cut,
                      int most) {
  return syn_tokenizer_cut(t, text, cut + (of == CLASSIFY ? SYN_CUT_TEXTS : 0), e->ids, most);
}

/* 1: sources of the task stand between a begin and an end token. */
static int is_framed(task of, const syn_tokenizer *t) { return of == MLM && syn_tokenizer_framed(t); }
/* Puts these tokens around e->ids [n], which has room for them; returns the new n. */
static int put_frame(encoder *e, int n) {
  memmove(e->ids + 1, e->ids, (size_t)n * sizeof *e->ids);
  e->ids[0] = SYN_BEGIN;
  e->ids[n + 1] = SYN_END;
  return n + 2;
}

/* Encodes into e->ids, which keeps room for a begin and an end, and returns the number of tokens. A
   text of n bytes has at most 3 n + 1, but of some published models more. */
static int encode_task(encoder *e, task of, const syn_tokenizer *t, syn_text text) {
  int n, i;
  if (text.size >= INT_MAX / 4)
    fail(FAILED_JOB, "a text of %.0f bytes is too long", (double)text.size);
  if (e->cap < 3 * text.size + 4) {
    free(e->ids);
    e->cap = 4 * text.size + 64;
    e->ids = (int *)take(e->cap, sizeof *e->ids);
  }
  n = encode_cut(e, of, t, text, 0, (int)e->cap);
  if (n > (int)e->cap) {
    e->cap = (size_t)n + 2;
    e->ids = (int *)grow(e->ids, e->cap, sizeof *e->ids);
    encode_cut(e, of, t, text, 0, n);
  }
  e->invalid += (double)syn_text_invalid(text);
  for (i = 0; i < n; i++) e->unknown += e->ids[i] == SYN_UNKNOWN;
  e->tokens += n;
  return is_framed(of, t) ? put_frame(e, n) : n;
}
static int encode(encoder *e, const syn_tokenizer *t, syn_text text) {
  return encode_task(e, SEQ2SEQ, t, text);
}

/* Label k of line i. */
static syn_text label_at(const pairs *p, const syn_tokenizer *t, size_t i, int k) {
  syn_text rest = p->side[1][i], label = rest;
  if (strcmp(syn_tokenizer_type(t), "space") == 0)
    for (; k >= 0; k--) next_word(&rest, &label);
  return label;
}

/* Encodes the classes of line i, whose source has `tokens` tokens; returns their number. A label
   that did not occur in training has class -1, where it is allowed. */
static int encode_labels(encoder *e, const pairs *p, size_t i, const syn_tokenizer *t,
                         int tokens) {
  int n = encode(e, t, p->side[1][i]), k;
  for (k = 0; k < n; k++) {
    syn_text label = label_at(p, t, i, k);
    if (e->ids[k] == SYN_UNKNOWN && !p->new_labels)
      fail(FAILED_JOB, "%s line %lu: the label %.*s is none of the %d of the training", p->names[1],
           line_of(p, i), short_size(label), label.at,
           syn_tokenizer_size(t) - SYN_FIRST_TOKEN);
    e->ids[k] = e->ids[k] == SYN_UNKNOWN ? -1 : e->ids[k] - task_shift(p->of);
  }
  if (p->of == TAG && n != tokens)
    fail(FAILED_JOB, "%s line %lu has %d tags for %d tokens", p->names[1], line_of(p, i), n,
         tokens);
  return n;
}

/* Adds one pair with its labels. Of tag nothing is asked where the training had no such label, of
   classify there is no row then. */
static void pair_add(syn_data *d, const pairs *p, int n, int m) {
  int *labels = p->encoders[1].ids, k;
  for (k = 0; k < m && p->of == TAG; k++)
    if (labels[k] < 0) labels[k] = 0;
  if (p->of != CLASSIFY || labels[0] >= 0) syn_data_add(d, p->encoders[0].ids, n, labels, m);
}

/* Cuts a side of pair i, which has n tokens, to `most`; returns how many are left. The tags of tag
   lose their tail, as its source does. */
static int pair_cut(pairs *p, size_t i, int side, const syn_tokenizer *t, int n, int most) {
  if (!p->cut || n <= most) return n;
  if (side && has_labels(p->of)) return p->of == TAG ? most : n;
  encode_cut(&p->encoders[side], p->of, t, side ? first_alternative(p, i) : p->side[0][i], p->cut,
             most);
  p->cut_tokens += (size_t)(n - most);
  return most;
}

/* regress: how many numbers the first line has as targets, for each row of features where it is
   regress_rows. */
static int pairs_outputs(pairs *p) {
  int rows = 1;
  if (p->count && p->of == REGRESS_ROWS)
    rows = read_rows(&p->x[0], p->side[0][0], p->features, p->names[0], 1);
  if (p->count) read_numbers(&p->x[1], p->side[1][0], p->names[1], 1);
  return p->x[1].count < (size_t)rows ? 1 : (int)(p->x[1].count / (size_t)rows);
}

/* Adds line i, whose source is rows of numbers; 0: it has more than `most` of them. */
static int signal_add(syn_data *d, pairs *p, size_t i, const syn_tokenizer *t, int most) {
  int rows = read_rows(&p->x[0], p->side[0][i], p->features, p->names[0], line_of(p, i)), n, k;
  const int *ids = NULL;
  if (rows > most) return 0;
  if (p->of >= REGRESS) {
    n = read_rows(&p->x[1], p->side[1][i], p->outputs, p->names[1], line_of(p, i));
    if (n != (p->of == REGRESS ? 1 : rows))
      fail(FAILED_JOB, "%s line %lu has %d rows of %d targets for %d rows of features", p->names[1],
           line_of(p, i), n, p->outputs, rows);
    syn_data_add_regress(d, p->x[0].at, rows, p->features, p->x[1].at, n * p->outputs);
    return 1;
  }
  n = has_labels(p->of) ? encode_labels(&p->encoders[1], p, i, t, rows)
                        : encode(&p->encoders[1], t, first_alternative(p, i));
  if (p->of == SEQ2SEQ && n >= most) return 0;
  for (k = 0; k < n && p->of == TAG; k++)
    if (p->encoders[1].ids[k] < 0) p->encoders[1].ids[k] = 0;
  ids = p->encoders[1].ids;
  if (p->of != CLASSIFY || ids[0] >= 0)
    syn_data_add_features(d, p->x[0].at, rows, p->features, ids, n);
  return 1;
}

/* Adds each of the pairs i..end-1 that fits `most` tokens a side, with the end token of the source or
   the begin token of the decoder (tag has neither), or was cut to fit. Returns the number of pairs
   that do not fit. */
static size_t pairs_add(syn_data *d, pairs *p, size_t i, size_t end,
                        const syn_tokenizer *const t[2], int most) {
  const int fits = most - has_end(p->of);
  size_t left = 0, lost;
  int n, m;
  for (; i < end; i++) {
    if (p->features) {
      if (!signal_add(d, p, i, t[1], most) && !left++ && !p->first_left)
        p->first_left = line_of(p, i);
      continue;
    }
    n = encode_task(&p->encoders[0], p->of, t[0], p->side[0][i]);
    m = p->of >= CLASSIFY ? encode_labels(&p->encoders[1], p, i, t[1], n)
                          : encode(&p->encoders[1], t[1], first_alternative(p, i));
    lost = p->cut_tokens;
    n = pair_cut(p, i, 0, t[0], n, fits);
    m = pair_cut(p, i, 1, t[1], m, fits);
    if (p->cut_tokens > lost && !p->cut_rows++) p->first_cut = line_of(p, i);
    if (n <= fits && m <= fits) pair_add(d, p, n, m);
    else if (!left++ && !p->first_left) p->first_left = line_of(p, i);
  }
  return left;
}

/* Adds a text as windows of `window` tokens, one every `stride` tokens. */
static void windows_add(encoder *e, syn_data *d, syn_text text, const syn_tokenizer *t, int window,
                        int stride) {
  int n = encode(e, t, text);
  syn_data_add_windows(d, e->ids, (size_t)n, window, stride);
}

/* Refuses options that name a second file, where the data are one plain text. */
static void check_one_file(const arguments *a, const char *what) {
  static const char *const names[] = {"src", "tgt", "alternatives", "valid-src", "valid-tgt"};
  size_t i;
  for (i = 0; i < COUNT(names); i++)
    if (opt_given(a, names[i]))
      fail(WRONG_USE, "%s of %s reads plain text by --data%s, given: --%s", a->command->name, what,
           i < 3 ? "" : " and --valid", names[i]);
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

/* --lowercase is for sources and the text of lm, --lowercase-targets for targets, --nfc for both.
   Labels keep their case; read_data has composed them. */
static int tokenizer_flags(const arguments *a, task of, int side) {
  const char *lower = side && of != LM ? "lowercase-targets" : "lowercase";
  if (side && of >= CLASSIFY) return 0;
  return (opt_flag(a, lower) ? SYN_LOWERCASE : 0) | (opt_flag(a, "nfc") ? SYN_NFC : 0);
}

/* Learns those tokenizers from the training texts that --init did not bring. `joint`: one for both
   sides, as --tie all requires. */
static void learn_tokenizers(syn_context *c, const arguments *a, const pairs *p, int joint,
                             syn_tokenizer *t[2]) {
  const char *src = tokenizer_spec(a, p->of, 0), *tgt = tokenizer_spec(a, p->of, 1);
  const int flags[2] = {tokenizer_flags(a, p->of, 0), tokenizer_flags(a, p->of, 1)};
  if (joint && strcmp(src, tgt) != 0)
    fail(WRONG_USE, "--tie all wants one tokenizer for both sides, given: %s and %s", src, tgt);
  if (joint && flags[0] != flags[1])
    fail(WRONG_USE, "--tie all has one tokenizer for both sides: it wants --lowercase and "
         "--lowercase-targets, or none of them");
  if (!t[0] && !p->features) t[0] = learn_side(c, p, joint ? 2 : 0, src, flags[0]);
  if (p->of >= REGRESS) return;
  if (!t[1]) t[1] = joint ? t[0] : learn_side(c, p, 1, tgt, flags[1]);
}

/* lm: learns the one tokenizer from the parts of syn_text_hold_back that are trained on, unless --init
   brought it. */
static void learn_tokenizer(syn_context *c, const arguments *a, const syn_text *part, int count,
                            syn_tokenizer *t[2]) {
  int i, n = 0;
  syn_text texts[SYN_HELD_PARTS];
  for (i = 1; i < count; i += 2) texts[n++] = part[i];
  if (!t[1])
    t[1] = syn_tokenizer_learn(c, tokenizer_spec(a, LM, 1), tokenizer_flags(a, LM, 1), texts,
                               (size_t)n);
  check_use(c);
}
