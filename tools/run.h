/* run.h   the commands run and eval: decode lines of text, measure a model on a file.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* ==============================================================================================
   >>tool run   one output line per input line
   ============================================================================================== */

/* Several lines are read at a time, and decoded in one call; the output keeps the order of the input.
   Line ends inside an output become spaces: one line per input
   line. */

#define UNKNOWN_TO_MODEL "the training had none of them; --tokenizer byte of train knows every text"

/* One line of input and its output. */
typedef struct job {
  size_t line;  /* from 1 */
  int *ids;     /* [count] tokens of the input; null where its text is decoded */
  buffer text;
  float *features; /* [count] rows of the model's features instead of tokens, or null */
  int count, skip; /* skip: not decoded, the output is empty */
  int unknown, cut; /* tokens that are unknown; 1: the input was too long */
  buffer out;
} job;

/* The form of what a model writes, to which its references are brought: SYN_NFC where a tokenizer
   composes, SYN_LOWERCASE where its targets are in lower case. */
static int model_form(const syn_model *m) {
  int target = syn_tokenizer_flags(syn_model_tokenizer(m, SYN_TGT));
  int both = target | syn_tokenizer_flags(syn_model_tokenizer(m, SYN_SRC));
  int lower = strcmp(syn_model_config(m)->task, "seq2seq") == 0 ? SYN_LOWERCASE : 0;
  return (both & SYN_NFC) | (target & lower);
}

typedef struct runner runner;
struct runner {
  syn_context *c;
  const syn_model *m;
  syn_decoder *d;  /* seq2seq, lm */
  syn_run *run;    /* classify, tag */
  const syn_tokenizer *in, *out;
  task of;
  int features;    /* numbers of a row of the source; 0: tokens */
  number_list x;   /* of one line */
  int lm, json, terminal, stream, batch;
  int raw;         /* eval: a class may hold a carriage return, which its reference has, too */
  int rows;        /* run: most tokens of a batch */
  int mask;        /* mlm: the token that hides others, -1: none */
  int vectors;     /* run --vectors: SYN_VECTOR_..., -1: none */
  int most;        /* most tokens of an input, its end or begin token included */
  uint64_t seed;
  syn_decode_config config;
  encoder e;
  int first;     /* stream: 1 before the first token of a line */
  int cut, stop;        /* --too-long: SYN_CUT_..., 0: an empty output, or with `stop` the end */
  size_t long_lines;    /* how many were too long */
  int stopped;          /* 1: one of them ended the run */
  text_scan scan;       /* run: of all lines */
  size_t bytes;
  buffer piece;         /* stream: what is not printed yet, a part of a character */
  runner *workers;      /* one for each thread, with a context of one thread, or null */
};

/* Decoders need at most so many bytes beside the weights. */
#define DECODER_BYTES ((size_t)512 << 20)

static size_t decoder_bytes(runner *r) {
  syn_plan plan;
  r->config.sentences = r->batch;
  syn_plan_of(r->c, syn_model_config(r->m), NULL, &r->config, &plan);
  check_use(r->c);
  return plan.packed - plan.weights;
}

/* Halves the batch until the decoder is small enough. */
static void runner_batch(runner *r) {
  while (decoder_bytes(r) > DECODER_BYTES && r->batch > 1) r->batch /= 2;
}

static syn_model *runner_model(syn_context *c, const arguments *a) {
  const char *path = opt_text(a, "model");
  int most = opt_int(a, "max-len");
  syn_model *m = syn_model_load(c, path);
  int longest;
  check_file(c, path);
  longest = syn_model_config(m)->max_len;
  if (most <= longest) return m;
  syn_model_free(m);
  fail(WRONG_USE, "%s --max-len wants at most %d, the model's, given: %d", a->command->name, longest,
       most);
  return NULL;
}

/* Reads DECODE_OPTIONS; run_configure reads those of sampling, which only `run` has. */
static void runner_open(runner *r, syn_context *c, const syn_model *m, const arguments *a) {
  memset(r, 0, sizeof *r);
  r->c = c;
  r->m = m;
  r->of = task_of(syn_model_config(m)->task);
  r->vectors = -1;
  r->lm = r->of == LM;
  r->out = syn_model_tokenizer(m, SYN_TGT);
  r->in = r->lm ? r->out : syn_model_tokenizer(m, SYN_SRC);
  if (r->of == MLM) r->mask = mask_of(r->out = r->in);
  r->features = syn_model_config(m)->src_features;
  if ((!r->in && !r->features) || (!r->out && r->of < REGRESS))
    fail(FAILED_JOB, "%s has no tokenizer, so it cannot read text", opt_text(a, "model"));
  if (r->features && r->of == SEQ2SEQ)
    fail(FAILED_JOB, "%s writes text from features: syn_decoder_run does it, this command reads "
         "features of classify, tag and regress", opt_text(a, "model"));
  r->config.beam = opt_int(a, "beam");
  r->config.alpha = (float)opt_number(a, "alpha");
  if (r->config.alpha <= 0.0f) r->config.alpha = -1.0f; /* 0 would be the library's default */
  r->config.max_len = opt_int(a, "max-len");
  r->most = syn_model_config(m)->max_len;
  if (r->lm && r->config.max_len) r->most = r->config.max_len;
  r->config.type = opt_text(a, "type");
  r->cut = cut_of(opt_text(a, "too-long"), r->of);
  r->stop = strcmp(opt_text(a, "too-long"), "stop") == 0;
  r->config.cut = r->cut ? r->cut : SYN_CUT_NONE;
  r->batch = opt_int(a, "batch");
  r->config.best = 1;
}

/* classify and tag need no decoder: one forward pass gives the logits of a batch. Vectors need the
   encoder alone, a line at a time. */
static void runner_ready(runner *r) {
  syn_limits limits;
  memset(&limits, 0, sizeof limits);
  if (r->vectors >= 0) {
    limits.sentences = limits.tgt_rows = 1;
    limits.src_rows = r->most;
    limits.cut = r->config.cut;
    r->run = syn_run_new(r->c, r->m, &limits);
    check_use(r->c);
    return;
  }
  if (r->of >= CLASSIFY) {
    limits.sentences = r->batch;
    limits.src_rows = r->rows = r->most < 1024 ? 1024 : r->most;
    r->run = syn_run_new(r->c, r->m, &limits);
    check_use(r->c);
    return;
  }
  runner_batch(r);
  r->d = syn_decoder_new(r->c, r->m, &r->config);
  check_use(r->c);
}

/* The worker decodes as r does, in one thread. */
static void worker_open(runner *w, const runner *r) {
  syn_options options = r->c->options;
  *w = *r;
  w->c = (syn_context *)take(1, sizeof *w->c);
  options.threads = 1;
  syn_context_init(w->c, &options);
  runner_ready(w);
}

/* Makes the workers, unless there is one thread, or a decoder so large that its loops feed the
   threads. */
static void runner_workers(runner *r) {
  const int threads = r->c->options.threads;
  int i;
  if (r->workers || threads == 1) return;
  if (r->d && decoder_bytes(r) > DECODER_BYTES / (size_t)threads) return;
  r->workers = (runner *)take((size_t)threads, sizeof *r->workers);
  for (i = 0; i < threads; i++) worker_open(&r->workers[i], r);
}

static void runner_close(runner *r) {
  int i;
  for (i = 0; r->workers && i < r->c->options.threads; i++) {
    syn_decoder_free(r->workers[i].d);
    syn_run_free(r->workers[i].run);
    free(r->workers[i].c);
  }
  free(r->workers);
  syn_decoder_free(r->d);
  syn_run_free(r->run);
  free(r->e.ids);
  free(r->x.at);
  free(r->piece.at);
}

/* -- output -- */

/* Appends text with its line ends replaced by spaces. */
static void put_line_text(buffer *b, const char *at, size_t size) {
  size_t i, from = b->size;
  put(b, at, size);
  for (i = from; i < b->size; i++)
    if (b->at[i] == '\n' || b->at[i] == '\r') b->at[i] = ' ';
}

/* Appends a JSON string; bytes that are not UTF-8 become U+FFFD. What a terminal would obey is
   escaped. */
static void put_json(buffer *b, syn_text t) {
  char escape[8];
  uint32_t code;
  size_t i, size;
  syn_text one;
  put_byte(b, '"');
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    one.at = t.at + i;
    one.size = size;
    if (code > 0x10FFFF) put(b, "\xEF\xBF\xBD", 3);
    else if (code == '"' || code == '\\') put_byte(b, '\\'), put_byte(b, (char)code);
    else if (syn_text_visible(one, NULL, 0) != size) {
      snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code);
      put(b, escape, 6);
    } else put(b, t.at + i, size);
  }
  put_byte(b, '"');
}

/* The begin of an object of --json, up to the value of its last field; what holds of few lines has
   no field in the others. */
static void head_json(char head[160], const job *j, const char *scores, const char *last) {
  int n = snprintf(head, 160, "{\"line\":%lu,%s", (unsigned long)j->line, scores);
  if (j->unknown) n += snprintf(head + n, 160 - (size_t)n, "\"unknown\":%d,", j->unknown);
  snprintf(head + n, 160 - (size_t)n, "%s\"%s\":", j->cut ? "\"too_long\":true," : "", last);
}

/* Appends one hypothesis as a line: the text; with --nbest line TAB score TAB text; with --json an
   object. */
static void put_hypothesis(const runner *r, job *j, int rank, syn_text text, float score) {
  char head[160], scores[60];
  int several = r->config.best > 1;
  snprintf(scores, sizeof scores, "\"rank\":%d,\"score\":%.6f,", rank + 1, (double)score);
  if (r->json) head_json(head, j, scores, "text");
  else snprintf(head, sizeof head, "%lu\t%.6f\t", (unsigned long)j->line, (double)score);
  if (r->json || several) put(&j->out, head, strlen(head));
  if (r->json) put_json(&j->out, text), put_byte(&j->out, '}');
  else if (r->raw) put(&j->out, text.at, text.size);
  else put_line_text(&j->out, text.at, text.size);
  put_byte(&j->out, '\n');
}

static buffer decode_tokens(const syn_tokenizer *t, const int *ids, int count) {
  buffer text = {NULL, 0, 0};
  text.size = syn_tokenizer_decode(t, ids, count, NULL, 0);
  text.at = (char *)take(text.size + 1, 1);
  syn_tokenizer_decode(t, ids, count, text.at, text.size + 1);
  return text;
}

/* Appends all hypotheses of a sentence; lm: without the tokens of the prompt. */
static void put_output(const runner *r, job *j, int sentence) {
  int rank, size, given = r->lm ? j->count : 0;
  float score;
  for (rank = 0; rank < r->config.best; rank++) {
    const int *ids = syn_decoder_output(r->d, sentence, rank, &size, &score);
    buffer text;
    if (!ids) break;
    if (given > size) given = size;
    text = decode_tokens(r->out, ids + given, size - given);
    put_hypothesis(r, j, rank, buffer_text(&text), score);
    free(text.at);
  }
}

/* Prints the whole characters of r->piece and keeps the rest; `end` 1: prints all. */
static void stream_print(runner *r, int end) {
  buffer *b = &r->piece;
  size_t n = end ? b->size : syn_text_whole(buffer_text(b));
  print_result(b->at, n);
  fflush(stdout);
  b->size -= n;
  if (b->size) memmove(b->at, b->at + n, b->size);
}

/* Prints each token as soon as it is decoded; a character may be split over tokens. */
static int stream_token(void *user, int sentence, int token) {
  runner *r = (runner *)user;
  syn_text piece = syn_tokenizer_piece(r->out, token, r->first);
  UNUSED(sentence);
  r->first = 0;
  if (r->terminal && is_terminal(1)) put(&r->piece, piece.at, piece.size);
  else put_line_text(&r->piece, piece.at, piece.size);
  stream_print(r, 0);
  return 0;
}

/* -- decoding -- */

/* One per line: sampling does not depend on the batch. */
static uint64_t line_seed(const runner *r, const job *j) {
  syn_random random;
  random.state = r->seed + (uint64_t)j->line;
  return syn_random_next(&random);
}

/* Prints a line as it is decoded: its source with the end token; lm: the prompt after the begin. */
static void decode_stream(runner *r, job *j) {
  int *ids = (int *)take((size_t)j->count + 1, sizeof *ids);
  uint64_t seed = line_seed(r, j);
  syn_batch b;
  memset(&b, 0, sizeof b);
  memcpy(ids + r->lm, j->ids, (size_t)j->count * sizeof *ids);
  ids[r->lm ? 0 : j->count] = r->lm ? SYN_BEGIN : SYN_END;
  b.count = 1;
  if (r->lm) b.tgt = ids, b.tgt_width = j->count + 1;
  else b.src = ids, b.src_width = j->count + 1;
  r->first = 1;
  syn_decoder_set_seeds(r->d, &seed);
  syn_decoder_run(r->d, &b, stream_token, r);
  check(r->c);
  syn_decoder_set_seeds(r->d, NULL);
  stream_print(r, 1);
  put_byte(&j->out, '\n');
  free(ids);
}

/* Lines that are decoded in one call. */
typedef struct decoded_lines {
  const runner *r;
  job *const *at;
} decoded_lines;

static int line_done(void *user, const syn_decoder *d, size_t index, int sentence) {
  const decoded_lines *decoded = (const decoded_lines *)user;
  UNUSED(d);
  put_output(decoded->r, decoded->at[index], sentence);
  return 0;
}

static void decode_lines(runner *r, job *const *jobs, size_t n) {
  decoded_lines decoded = {r, jobs};
  syn_text *texts = (syn_text *)take(n, sizeof *texts);
  uint64_t *seeds = (uint64_t *)take(n, sizeof *seeds);
  size_t i;
  for (i = 0; i < n; i++) texts[i] = buffer_text(&jobs[i]->text), seeds[i] = line_seed(r, jobs[i]);
  syn_decoder_set_seeds(r->d, seeds);
  syn_decoder_run_texts(r->d, r->lm ? NULL : texts, r->lm ? texts : NULL, n, line_done, &decoded);
  syn_decoder_set_seeds(r->d, NULL);
  free(texts);
  free(seeds);
}

/* Appends numbers with `between` in their gaps. Nine digits give a float back exactly. */
static void put_floats(buffer *b, const float *y, int n, const char *between) {
  char digits[32];
  int i;
  for (i = 0; i < n; i++) {
    snprintf(digits, sizeof digits, "%s%.9g", i ? between : "", (double)y[i]);
    put(b, digits, strlen(digits));
  }
}

/* The numbers of regress. */
static void put_numbers(const runner *r, job *j, int sentence) {
  int rows;
  const float *y = syn_run_logits(r->run, sentence, &rows);
  buffer text = {NULL, 0, 0};
  put_floats(&text, y, rows * syn_model_config(r->m)->outputs, " ");
  put_hypothesis(r, j, 0, buffer_text(&text), 0.0f);
  free(text.at);
}

/* --vectors: appends the vector of a line, with --json as a list; of one that is skipped an empty
   line or list. */
static void put_vector(const runner *r, job *j) {
  const syn_text text = buffer_text(&j->text);
  const int n = j->skip ? 0 : syn_embed(r->run, text, r->vectors, NULL, 0);
  float *x = (float *)take((size_t)n, sizeof *x);
  char head[160];
  int i;
  if (n) syn_embed(r->run, text, r->vectors, x, n);
  check(r->c);
  for (i = 0; i < n; i++)
    if (!(fabs((double)x[i]) < (double)INFINITY))
      fail(FAILED_JOB, "the vector of line %lu is not of numbers: weights are none, or far too large",
           (unsigned long)j->line);
  if (r->json) head_json(head, j, "", "vector"), put(&j->out, head, strlen(head));
  if (r->json) put_byte(&j->out, '[');
  put_floats(&j->out, x, n, r->json ? "," : " ");
  if (r->json) put(&j->out, "]}", 2);
  put_byte(&j->out, '\n');
  free(x);
}

/* Appends the class of one sentence, or its best classes with --nbest; tag: the best tag of each
   token. The score is the log probability, for tag its sum over the tokens. */
static void put_classes(const runner *r, job *j, int sentence) {
  int rank, rows = r->of == TAG ? j->count : 1, i;
  int *ids = (int *)take((size_t)rows, sizeof *ids);
  for (rank = 0; rank < r->config.best; rank++) {
    buffer text;
    double score = 0.0;
    float p;
    for (i = 0; i < rows; i++) {
      ids[i] = syn_run_class(r->run, sentence, i, rank, &p) + task_shift(r->of);
      score += log(p > 0.0f ? (double)p : 1e-45); /* JSON has no -infinity */
    }
    if (ids[0] < SYN_FIRST_TOKEN) break; /* fewer classes than --nbest */
    text = decode_tokens(r->out, ids, rows);
    put_hypothesis(r, j, rank, buffer_text(&text), (float)score);
    free(text.at);
  }
  free(ids);
}

/* mlm: appends the text with the most probable token in each hidden place; the score is the sum of
   their log probabilities. */
static void put_filled(const runner *r, job *j, int sentence) {
  buffer text;
  double score = 0.0;
  float p;
  int i;
  for (i = 0; i < j->count; i++) {
    if (j->ids[i] != r->mask) continue;
    j->ids[i] = syn_run_class(r->run, sentence, i, 0, &p);
    score += log(p > 0.0f ? (double)p : 1e-45);
  }
  text = decode_tokens(r->in, j->ids, j->count);
  put_hypothesis(r, j, 0, buffer_text(&text), (float)score);
  free(text.at);
}

/* The same of rows of features. */
static void signal_group(runner *r, job *const *group, int n) {
  int *lengths = (int *)take((size_t)n, sizeof *lengths), i;
  const size_t f = (size_t)r->features;
  float *x = (float *)take((size_t)n * (size_t)group[n - 1]->count * f, sizeof *x), *to = x;
  syn_batch b;
  memset(&b, 0, sizeof b);
  for (i = 0; i < n; i++) {
    const size_t count = (size_t)group[i]->count * f;
    memcpy(to, group[i]->features, count * sizeof *x);
    to += count;
    lengths[i] = group[i]->count;
  }
  b.count = n;
  b.features = x;
  b.lengths = lengths;
  syn_run_forward(r->run, &b);
  for (i = 0; i < n && !r->c->status; i++)
    if (r->of >= REGRESS) put_numbers(r, group[i], i);
    else put_classes(r, group[i], i);
  free(lengths);
  free(x);
}

/* Classifies n lines in one batch: sources with their end token, for tag and mlm without it. */
static void classify_group(runner *r, job *const *group, int n) {
  int width = group[n - 1]->count + has_end(r->of), i;
  int *ids = (int *)take((size_t)n * (size_t)width, sizeof *ids);
  syn_batch b;
  memset(&b, 0, sizeof b);
  for (i = 0; i < n; i++) {
    int *row = ids + (size_t)i * (size_t)width;
    memcpy(row, group[i]->ids, (size_t)group[i]->count * sizeof *row);
    if (has_end(r->of)) row[group[i]->count] = SYN_END;
  }
  b.count = n;
  b.src = ids;
  b.src_width = width;
  syn_run_forward(r->run, &b);
  for (i = 0; i < n && !r->c->status; i++)
    if (r->of == MLM) put_filled(r, group[i], i);
    else put_classes(r, group[i], i);
  free(ids);
}

static int job_order(const void *a, const void *b) {
  const job *x = *(job *const *)a, *y = *(job *const *)b;
  if (x->count != y->count) return x->count < y->count ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* Classifies lines of similar length together: at most r->batch, of at most r->rows tokens. */
static void classify_lines(runner *r, job **jobs, size_t count) {
  size_t begin, end, n;
  qsort(jobs, count, sizeof *jobs, job_order);
  for (begin = 0; begin < count; begin = end) {
    for (end = begin + 1, n = 2; end < count && n <= (size_t)r->batch; end++, n++)
      if (n * ((size_t)jobs[end]->count + 1) > (size_t)r->rows) break;
    if (r->features) signal_group(r, jobs + begin, (int)(end - begin));
    else classify_group(r, jobs + begin, (int)(end - begin));
  }
}

/* An error stays in r->c: threads cannot end the program. */
static void decode_some(runner *r, job **jobs, size_t count) {
  size_t i;
  if (r->of >= CLASSIFY) classify_lines(r, jobs, count);
  else if (!r->stream) decode_lines(r, jobs, count);
  for (i = 0; i < count && r->stream; i++) decode_stream(r, jobs[i]);
}

/* More lines than a batch are divided among threads: each takes a batch of lines of similar length,
   the longest first, then the next. The output of a line does not depend on the others. */
static void decode_divided(runner *r, job **jobs, size_t count) {
#ifdef _OPENMP
  const size_t size = (size_t)r->batch;
  int i;
  qsort(jobs, count, sizeof *jobs, job_order);
#pragma omp parallel for num_threads(r->c->options.threads) schedule(dynamic)
  for (i = 0; i < (int)((count + size - 1) / size); i++) {
    const size_t end = count - (size_t)i * size, n = end < size ? end : size;
    decode_some(&r->workers[omp_get_thread_num()], jobs + (end - n), n);
  }
#else
  decode_some(r, jobs, count);
#endif
}

/* Decodes all lines that are not skipped. Each line has an output. */
static void decode_jobs(runner *r, job *jobs, size_t n) {
  job **read = (job **)take(n, sizeof *read);
  size_t count = 0, i;
  syn_text none = {NULL, 0};
  for (i = 0; i < n; i++) {
    if (r->vectors >= 0) put_vector(r, &jobs[i]);
    else if (!jobs[i].skip) read[count++] = &jobs[i];
  }
  if (count > (size_t)r->batch && !r->stream) runner_workers(r);
  if (count > (size_t)r->batch && r->workers) decode_divided(r, read, count);
  else decode_some(r, read, count);
  check(r->c);
  for (i = 0; r->workers && i < (size_t)r->c->options.threads; i++) check(r->workers[i].c);
  for (i = 0; i < n; i++)
    if (!jobs[i].out.size) put_hypothesis(r, &jobs[i], 0, none, 0.0f);
  free(read);
}

/* -- lines that are too long -- */

enum { LONG_LINES_NAMED = 10 };

/* Says what happens to a line of `tokens` tokens that is too long. */
static void say_long(runner *r, const job *j) {
  const char *what = r->stop ? "--too-long stop ends here" : "its output is empty";
  char left[40];
  if (++r->long_lines > LONG_LINES_NAMED) return;
  snprintf(left, sizeof left, "its %s tokens are read", cut_left(r->cut));
  fprintf(stderr, "syn: line %lu has %d tokens%s, the model takes %d: %s\n", (unsigned long)j->line,
          j->count + has_end(r->of),
          r->lm ? " with its begin" : has_end(r->of) ? " with its end" : "", r->most,
          r->cut ? left : what);
}

/* Says how many were too long, when not all are named. */
static void say_long_lines(const runner *r) {
  if (r->long_lines > LONG_LINES_NAMED)
    fprintf(stderr, "syn: %lu lines are too long in all; the first %d are named\n",
            (unsigned long)r->long_lines, LONG_LINES_NAMED);
}

/* Cuts a line to what the model takes; the prompt of a language model to half of it, so that there
   is room to continue. */
static void job_cut(runner *r, job *j, syn_text text) {
  const int framed = is_framed(r->of, r->in), own = has_end(r->of) + 2 * framed;
  j->count = r->lm ? r->most / 2 : r->most > own ? r->most - own : 0;
  encode_cut(&r->e, r->of, r->in, text, r->cut, j->count);
  if (framed) j->count = put_frame(&r->e, j->count);
}

/* Encodes one line. One that is too long is handled by --too-long; 0: it ends the run. A line of
   white space is empty, but for a language model, which continues any prompt. */
static int signal_fill(runner *r, job *j, syn_text text) {
  j->count = read_rows(&r->x, text, r->features, *file_read ? file_read : "the data",
                       (unsigned long)j->line);
  if (j->count > r->most) {
    say_long(r, j);
    j->skip = 1;
    return !r->stop;
  }
  j->features = (float *)take(r->x.count, sizeof *j->features);
  memcpy(j->features, r->x.at, r->x.count * sizeof *j->features);
  return 1;
}
static int job_fill(runner *r, job *j, size_t line, syn_text text) {
  int i;
  memset(j, 0, sizeof *j);
  j->line = line;
  if (r->features) return signal_fill(r, j, text);
  if (!r->lm && is_blank(text)) text.size = 0;
  j->skip = text.size == 0 && !r->lm;
  j->count = r->of == MLM && r->vectors < 0 ? encode_masked(&r->e, r->in, r->mask, text)
                                            : encode_task(&r->e, r->of, r->in, text);
  for (i = 0; i < j->count; i++) j->unknown += r->e.ids[i] == SYN_UNKNOWN;
  if (j->count + has_end(r->of) > r->most) {
    say_long(r, j);
    j->cut = 1;
    if (r->stop) return 0;
    j->skip |= !r->cut;
    job_cut(r, j, text);
  }
  j->skip |= j->count == 0 && !r->lm;
  if (r->vectors >= 0 || (r->of < CLASSIFY && !r->stream))
    return put(&j->text, text.at, text.size), 1;
  j->ids = (int *)take((size_t)j->count, sizeof *j->ids);
  memcpy(j->ids, r->e.ids, (size_t)j->count * sizeof *j->ids);
  return 1;
}

static void job_free(job *j) {
  free(j->ids);
  free(j->features);
  free(j->text.at);
  free(j->out.at);
}

/* The lines of a file or pipe, one after the other, as read_lines finds them. */
typedef struct line_reader {
  FILE *f;
  buffer text;
  const char *path;
  syn_text rest;   /* of a text that ends its lines in CR, or of tensors: all of it is in `text` */
  size_t bytes;    /* read so far */
  int feeds;       /* 1: a '\n' was read */
  char head[TENSORS_HEAD]; /* of a model of features: bytes that were read ahead */
  size_t headed, head_at;  /* how many; the next of them */
} line_reader;

static int next_byte(line_reader *in) {
  return in->head_at < in->headed ? (unsigned char)in->head[in->head_at++] : getc(in->f);
}

/* Reads what shows whether sources are lines or a safetensors file. The first line of a text may be
   all that there is for now: of 3 bytes and more its end is waited for, no further byte. The size of
   a header, which is below 2^27, may have a '\n' among its first bytes, so of a shorter line 4 bytes
   are waited for. */
static void read_head(line_reader *in, int features) {
  syn_text head;
  int c = 0;
  while (in->headed < TENSORS_HEAD && !(c == '\n' && in->headed > 3) && (c = getc(in->f)) != EOF)
    in->head[in->headed++] = (char)c;
  head.at = in->head;
  head.size = in->headed;
  if (!is_tensors(head)) return;
  put(&in->text, in->head, in->headed);
  read_rest(&in->text, in->f);
  in->text = signals_text(in->text, in->path, features, 0, 0);
  in->bytes = in->text.size--; /* without the last '\n' */
  in->rest = buffer_text(&in->text);
  in->head_at = in->headed;
}

/* Reads up to the next '\n'. */
static int read_to_feed(line_reader *in) {
  int c;
  in->text.size = 0;
  while ((c = next_byte(in)) != EOF && c != '\n') put_byte(&in->text, (char)c);
  in->bytes += in->text.size + (c == '\n');
  if (c == '\n') in->feeds = 1;
  return c != EOF || in->text.size;
}

/* The next line; 0 at the end. The first one shows whether this is a text in UTF-8. */
static int read_line(line_reader *in, syn_text *line) {
  int first = !in->bytes;
  while (!in->rest.at) {
    if (!read_to_feed(in)) return 0;
    buffer_reserve(&in->text, 1);
    if (first) check_text(buffer_text(&in->text), in->path);
    if (first) skip_byte_order_mark(&in->text);
    if (first && !in->text.size && !in->feeds) return 0;
    if (!in->feeds) {
      unify_line_ends(&in->text);
      if (in->text.at[in->text.size - 1] == '\n') in->text.size--;
    }
    in->rest = buffer_text(&in->text);
    if (in->rest.size && in->feeds && in->rest.at[in->rest.size - 1] == '\r') in->rest.size--;
  }
  return next_piece(&in->rest, in->feeds ? "" : "\n", line);
}

/* Reads, decodes and prints up to `most` lines; returns their number. */
static size_t run_chunk(runner *r, line_reader *in, job *jobs, size_t most, size_t line) {
  syn_text text;
  size_t n = 0, i;
  while (n < most && !r->stopped && read_line(in, &text)) {
    free(scan_composed(&r->scan, text).at);
    r->bytes += text.size;
    r->stopped = !job_fill(r, &jobs[n], line + n + 1, text);
    n += !r->stopped;
  }
  decode_jobs(r, jobs, n);
  for (i = 0; i < n; i++) print_result(jobs[i].out.at, jobs[i].out.size);
  if (fflush(stdout)) fail(FAILED_JOB, "cannot write the results: %s", strerror(errno));
  for (i = 0; i < n; i++) job_free(&jobs[i]);
  return n;
}

/* Says what was unusual in the lines, after the last one. */
static void run_say(const runner *r, const char *path) {
  say_long_lines(r);
  say_scan(&r->scan, path, r->bytes, model_form(r->m) & SYN_NFC);
  say_unknown(&r->e, path, "", UNKNOWN_TO_MODEL);
}

#define SEARCH_OPTIONS "beam|alpha|max-len|temperature|top-k|top-p|unknown|type|seed"
#define NO_SEARCH "classes and tags are chosen without a search"

/* --vectors: refuses models of which there are none. */
static void vectors_configure(runner *r, const arguments *a) {
  static const char *const names[] = {"mean", "last", "first"}; /* SYN_VECTOR_... */
  r->vectors = 2;
  while (r->vectors >= 0 && strcmp(opt_text(a, "vectors"), names[r->vectors]) != 0) r->vectors--;
  if (r->vectors < 0) return;
  if (r->lm)
    fail(WRONG_USE, "run --vectors wants an encoder, which reads a line from both sides; %s is for lm "
         "and has none. Models of mlm (bert and its kin), classify, tag and seq2seq (t5, marian) do; "
         "in C syn_embed makes vectors of lm, too", opt_text(a, "model"));
  if (r->features)
    fail(WRONG_USE, "run --vectors reads text, but the source of %s is rows of %d numbers",
         opt_text(a, "model"), r->features);
  say_idle(a, SEARCH_OPTIONS "|nbest|batch", "a vector needs no search");
}

/* Settings that only `run` has: sampling, --nbest, streaming. --top-p 0 means the first token
   alone; in the library 0 would be the default, all tokens. */
static void run_configure(runner *r, const arguments *a) {
  r->config.temperature = (float)opt_number(a, "temperature");
  r->config.top_k = opt_int(a, "top-k");
  r->config.top_p = (float)opt_number(a, "top-p");
  if (r->config.top_p <= 0.0f) r->config.top_p = FLT_MIN;
  r->config.unknown = opt_flag(a, "unknown");
  vectors_configure(r, a);
  r->json = opt_flag(a, "json");
  if (r->vectors >= 0) return;
  if (r->of >= CLASSIFY) say_idle(a, SEARCH_OPTIONS, NO_SEARCH);
  else if (r->config.temperature > 0.0f)
    say_idle(a, r->config.beam > 1 ? "beam|alpha" : "alpha", "--temperature samples");
  else say_idle(a, "top-k|top-p|seed", "there is no --temperature");
  if (r->config.temperature > 0.0f) r->config.beam = 1;
  r->config.best = opt_int(a, "nbest");
  if (r->config.best > 1 && !has_end(r->of))
    fail(WRONG_USE, "run --nbest %d: %s has one output a line", r->config.best, task_names[r->of]);
  if (r->config.best > r->config.beam && r->of != CLASSIFY)
    fail(WRONG_USE, "run --nbest wants at most as many as the beam has, %d, given: %d",
         r->config.beam, r->config.best);
  r->seed = opt_big(a, "seed");
  r->config.score = r->json && r->config.beam == 1;
  r->terminal = !a->word_count && is_terminal(0);
  if (r->terminal) r->batch = 1;
  r->stream = r->batch == 1 && r->config.beam == 1 && !r->json && r->of < CLASSIFY;
}

static int run_run(const arguments *a) {
  syn_context c;
  runner r;
  syn_model *m;
  job *jobs;
  size_t line = 0, n, most;
  int from_file = a->word_count && strcmp(a->words[0], "-") != 0;
  line_reader in;
  memset(&in, 0, sizeof in);
  if (!from_file && is_stream(1, "-"))
    fail(WRONG_USE, "run reads standard input, and standard output goes to the same file");
  in.path = from_file ? a->words[0] : "stdin";
  snprintf(file_read, sizeof file_read, "%s", in.path);
  in.f = from_file ? open_file(in.path, "rb") : stdin;
  if (!in.f) fail(FAILED_JOB, "cannot open %s: %s", in.path, strerror(errno));
  context_open(&c, a);
  m = runner_model(&c, a);
  syn_model_pack(m); /* all decoders share the weights in panels */
  runner_open(&r, &c, m, a);
  run_configure(&r, a);
  if (r.features && !r.terminal) read_head(&in, r.features);
  runner_ready(&r);
  say_threads(&c, a);
  most = r.batch == 1 ? 1 : 16 * (size_t)r.batch;
  jobs = (job *)take(most, sizeof *jobs);
  do line += n = run_chunk(&r, &in, jobs, most, line);
  while (n && !r.stopped);
  if (ferror(in.f)) fail(FAILED_JOB, "cannot read %s: %s", in.path, strerror(errno));
  run_say(&r, in.path);
  if (from_file) fclose(in.f);
  free(in.text.at);
  free(jobs);
  runner_close(&r);
  syn_model_free(m);
  return r.stopped ? FAILED_JOB : 0;
}

/* ==============================================================================================
   >>tool eval   metrics of a model on a file
   ============================================================================================== */

/* eval has the metrics of metrics.h, and ppl, nats and nats_char, which come from the loss. */
typedef struct evaluation {
  const arguments *a;
  syn_context c;
  syn_model *m;
  metric_options options;
  task of;
  pairs p;                  /* all but lm */
  syn_text *hyp;            /* [p.count] outputs; null until a metric needs them */
  syn_text *tags[2];        /* tag: [n_tags] outputs and references, tag by tag */
  size_t n_tags, outputs; /* outputs: what the last metric compared, lines or tags */
  job *jobs;
  double loss, per_char;    /* nats per token, per character; loss < 0: not computed yet */
  int64_t labels;
  size_t left;              /* pairs that do not fit the model */
  int spans;                /* 1: --span-corruption */
  double unknown;           /* share of the tokens that the model does not know */
  int how;                  /* of read_data */
} evaluation;

static int is_loss_metric(syn_text name) {
  return text_is(name, "ppl") || text_is(name, "nats") || text_is(name, "nats_char");
}

/* Adds pair i, if it fits the model. Returns the characters of its target, 0: it does not fit. */
static double loss_add(evaluation *e, syn_data *d, size_t i) {
  const syn_tokenizer *t[2];
  t[0] = syn_model_tokenizer(e->m, SYN_SRC);
  t[1] = syn_model_tokenizer(e->m, SYN_TGT);
  size_t left = pairs_add(d, &e->p, i, i + 1, t, syn_model_config(e->m)->max_len);
  check(&e->c);
  if (left) {
    e->left++;
    return 0.0;
  }
  return count_characters(first_alternative(&e->p, i));
}

/* Says how many pairs the loss leaves out, or reads in part. */
static void loss_left_out(const evaluation *e) {
  if (e->p.cut_rows)
    fprintf(stderr, "syn: %lu of %lu pairs do not fit the model's max_len %d: the loss is of their "
            "%s tokens\n", (unsigned long)e->p.cut_rows, (unsigned long)e->p.count,
            syn_model_config(e->m)->max_len, cut_left(e->p.cut));
  if (e->left)
    fprintf(stderr,
            "syn: %lu of %lu pairs do not fit the model's max_len %d: the loss leaves them out\n",
            (unsigned long)e->left, (unsigned long)e->p.count, syn_model_config(e->m)->max_len);
}

/* The share of unknown tokens in what was encoded, and says it. */
static void eval_unknown(evaluation *e) {
  const encoder *in = &e->p.encoders[0], *out = &e->p.encoders[1];
  const char *path[2];
  int two = e->of == SEQ2SEQ && !e->spans;
  path[0] = e->p.names[0] ? e->p.names[0] : opt_text(e->a, "data");
  path[1] = e->p.names[1] ? e->p.names[1] : path[0];
  if (e->of >= CLASSIFY || e->spans) out = NULL;
  if (e->of == LM) in = out, out = NULL;
  e->unknown = (in->unknown + (out ? out->unknown : 0.0)) /
               (in->tokens + (out ? out->tokens : 0.0) + 1e-9);
  say_unknown(in, path[0], two ? "source " : "", UNKNOWN_TO_MODEL);
  if (out) say_unknown(out, path[1], "target ", UNKNOWN_TO_MODEL);
}

/* --span-corruption: texts in which the spans are hidden that train hides in its --valid. */
static void eval_spans(evaluation *e, syn_data *d) {
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_SRC);
  const syn_corruption k = hides_of(SEQ2SEQ, t);
  const int most = syn_model_config(e->m)->max_len;
  size_t left[2];
  if (!k.count)
    fail(FAILED_JOB, "eval --span-corruption: the tokenizer of %s has no sentinels: it was not "
         "trained with --span-corruption", opt_text(e->a, "model"));
  hidden_add(d, &e->p, &k, t, most, left);
  check(&e->c);
  if (left[0] + left[1])
    fprintf(stderr, "syn: of %lu lines of %s %lu have less than two tokens, %lu do not fit the "
            "model's max_len %d; they are left out\n", (unsigned long)e->p.count, e->p.names[0],
            (unsigned long)left[0], (unsigned long)left[1], most);
  eval_unknown(e);
}

/* Loss on the first alternatives; lm: on windows that overlap by half their length. */
static void eval_loss(evaluation *e) {
  const syn_config *k = syn_model_config(e->m);
  int tokens = k->max_len < 2047 ? 2048 : k->max_len + 1;
  syn_data *d = syn_data_new(&e->c);
  double characters = 0.0;
  size_t i;
  check(&e->c);
  if (e->spans) eval_spans(e, d);
  else
    for (i = 0; i < e->p.count; i++) characters += loss_add(e, d, i);
  if (e->of == LM) {
    buffer text = read_data(opt_text(e->a, "data"), e->how);
    characters = count_characters(buffer_text(&text));
    windows_add(&e->p.encoders[1], d, buffer_text(&text), syn_model_tokenizer(e->m, SYN_TGT),
                k->max_len, k->max_len > 1 ? k->max_len / 2 : 1);
    check(&e->c);
    eval_unknown(e);
    free(text.at);
  }
  loss_left_out(e);
  e->loss = 0.0;
  if (syn_data_count(d)) syn_model_evaluate(&e->c, e->m, d, tokens, &e->loss, &e->labels);
  else fprintf(stderr, "syn: no line has a loss: it is not defined\n");
  check(&e->c);
  e->per_char = characters > 0.0 ? e->loss * (double)e->labels / characters : 0.0;
  syn_data_free(d);
}

/* Decodes all sources. */
static void eval_decode(evaluation *e) {
  runner r;
  size_t i;
  runner_open(&r, &e->c, e->m, e->a);
  r.raw = e->of == CLASSIFY;
  runner_ready(&r);
  e->jobs = (job *)take(e->p.count, sizeof *e->jobs);
  e->hyp = (syn_text *)take(e->p.count, sizeof *e->hyp);
  for (i = 0; i < e->p.count; i++)
    if (!job_fill(&r, &e->jobs[i], i + 1, e->p.side[0][i])) exit(FAILED_JOB);
  say_long_lines(&r);
  decode_jobs(&r, e->jobs, e->p.count);
  for (i = 0; i < e->p.count; i++) {
    e->hyp[i] = buffer_text(&e->jobs[i].out);
    e->hyp[i].size--; /* its line end */
  }
  runner_close(&r);
}

/* -- labels that the training had not -- */

enum { NEW_LABELS_NAMED = 5 };

/* Some of these labels, and how often they and all others occur. */
typedef struct new_labels {
  syn_text at[NEW_LABELS_NAMED];
  size_t times[NEW_LABELS_NAMED], all;
  int named;
} new_labels;

static void new_label_add(new_labels *l, syn_text label) {
  int i = 0;
  l->all++;
  while (i < l->named && !text_equal(l->at[i], label)) i++;
  if (i == NEW_LABELS_NAMED) return;
  if (i == l->named) l->at[l->named++] = label;
  l->times[i]++;
}

static void new_labels_say(const new_labels *l, const char *path, size_t labels) {
  buffer b = {NULL, 0, 0};
  size_t rest = l->all;
  char times[40];
  int i;
  for (i = 0; i < l->named; rest -= l->times[i++]) {
    snprintf(times, sizeof times, " (%lu)", (unsigned long)l->times[i]);
    put(&b, i ? ", " : "", i ? 2 : 0);
    put(&b, l->at[i].at, (size_t)short_size(l->at[i]));
    put(&b, times, strlen(times));
  }
  if (rest) put(&b, ", ...", 5);
  if (l->all)
    fprintf(stderr, "syn: %s: %lu of %lu labels are not in the training; they count as wrong and "
            "have no loss: %.*s\n", path, (unsigned long)l->all, (unsigned long)labels, (int)b.size,
            b.at);
  free(b.at);
}

/* Encodes all pairs of classify and tag, checks that every token has a tag, counts the tags. */
static void eval_labels(evaluation *e) {
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_TGT);
  new_labels l;
  size_t i, all = 0;
  int n, m, k;
  memset(&l, 0, sizeof l);
  e->p.new_labels = 1;
  for (i = 0; i < e->p.count; i++) {
    n = e->p.features ? read_rows(&e->p.x[0], e->p.side[0][i], e->p.features, e->p.names[0],
                                  line_of(&e->p, i))
                      : encode_task(&e->p.encoders[0], e->of, syn_model_tokenizer(e->m, SYN_SRC),
                                    e->p.side[0][i]);
    m = encode_labels(&e->p.encoders[1], &e->p, i, t, n);
    for (k = 0; k < m; k++)
      if (e->p.encoders[1].ids[k] < 0) new_label_add(&l, label_at(&e->p, t, i, k));
    all += (size_t)m;
  }
  e->n_tags = all;
  new_labels_say(&l, e->p.names[1], all);
}

/* Encodes all pairs of seq2seq, for the counts alone. */
static void eval_texts(evaluation *e) {
  size_t i;
  for (i = 0; i < e->p.count; i++) {
    encode(&e->p.encoders[0], syn_model_tokenizer(e->m, SYN_SRC), e->p.side[0][i]);
    encode(&e->p.encoders[1], syn_model_tokenizer(e->m, SYN_TGT), first_alternative(&e->p, i));
  }
}

/* Splits a line into its tags, out[0 .. count-1], and returns count; count 0: all tags of the line.
   Missing tags are empty, and so wrong. Decoded tags may be split into more pieces than there were
   (bpe); those above count are dropped. */
static size_t eval_split_tags(const evaluation *e, encoder *ids, syn_text line, syn_text *out,
                       size_t count) {
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_TGT);
  int words = strcmp(syn_tokenizer_type(t), "space") == 0;
  size_t n = (size_t)encode(ids, t, line), i;
  syn_text word;
  if (!count) count = n;
  for (i = 0; i < count; i++) {
    if (words) word.size = 0, next_word(&line, &word);
    out[i] = i >= n ? syn_text_of("") : words ? word : syn_tokenizer_piece(t, ids->ids[i], 1);
  }
  return i;
}

/* The tags one by one: accuracy, f1 and mcc of tag are over tokens, other metrics over lines. */
static void eval_tags(evaluation *e) {
  encoder ids;
  size_t i, at = 0, n;
  int k;
  memset(&ids, 0, sizeof ids);
  for (k = 0; k < 2; k++) e->tags[k] = (syn_text *)take(e->n_tags, sizeof(syn_text));
  for (i = 0; i < e->p.count; i++, at += n) {
    n = eval_split_tags(e, &ids, e->p.side[1][i], e->tags[1] + at, 0);
    eval_split_tags(e, &ids, e->hyp[i], e->tags[0] + at, n);
  }
  free(ids.ids);
}

static double eval_output(evaluation *e, const char *name) {
  int of_tags = e->of == TAG && in_choices("accuracy|f1|mcc", name);
  const syn_text *hyp, *ref;
  if (!e->hyp) eval_decode(e);
  if (of_tags && !e->tags[0]) eval_tags(e);
  hyp = of_tags ? e->tags[0] : e->hyp;
  ref = of_tags ? e->tags[1] : e->p.side[1];
  e->outputs = of_tags ? e->n_tags : e->p.count;
  return metric(name, hyp, ref, e->outputs, &e->options);
}

static int is_number_metric(syn_text name) {
  return text_is(name, "mse") || text_is(name, "mae") || text_is(name, "r2");
}
/* Over all numbers of regress: the mean of squared errors, of absolute ones; the share of the
   variance of the targets, around the mean of each, that is explained. */
static double eval_numbers(evaluation *e, syn_text name) {
  const size_t k = (size_t)e->p.outputs;
  double *mean = (double *)take(k, sizeof *mean), squares = 0.0, sizes = 0.0, spread = 0.0, n = 0.0;
  size_t i, j, pass;
  if (e->of < REGRESS)
    fail(WRONG_USE, "%.*s is of the tasks regress and regress_rows", (int)name.size, name.at);
  if (!e->hyp) eval_decode(e);
  for (pass = 0; pass < 2; pass++)
    for (i = 0; i < e->p.count; i++) {
      read_rows(&e->p.x[1], e->p.side[1][i], (int)k, e->p.names[1], line_of(&e->p, i));
      read_numbers(&e->p.x[0], e->hyp[i], "output", line_of(&e->p, i));
      if (e->p.x[0].count != e->p.x[1].count)
        fail(FAILED_JOB, "%s line %lu has %lu targets, the model writes %lu", e->p.names[1],
             line_of(&e->p, i), (unsigned long)e->p.x[1].count, (unsigned long)e->p.x[0].count);
      for (j = 0; j < e->p.x[1].count; j++) {
        const double y = (double)e->p.x[1].at[j], error = (double)e->p.x[0].at[j] - y;
        const double from = y - mean[j % k] * (double)k / n;
        if (pass) squares += error * error, sizes += fabs(error), spread += from * from;
        else mean[j % k] += y, n += 1.0;
      }
    }
  free(mean);
  e->outputs = (size_t)n;
  if (text_is(name, "r2")) return spread > 0.0 ? 1.0 - squares / spread : (double)NAN;
  return (text_is(name, "mse") ? squares : sizes) / n;
}

/* NaN: no pair has a loss. */
static double eval_of_loss(evaluation *e, syn_text name) {
  double value;
  if (e->loss < 0.0) eval_loss(e);
  value = text_is(name, "ppl") ? exp(e->loss) : text_is(name, "nats") ? e->loss : e->per_char;
  if (!e->labels) return (double)NAN;
  if (!(fabs(value) < (double)INFINITY))
    fail(FAILED_JOB, "%.*s of %s is %g: its weights are no numbers, or far too large",
         (int)name.size, name.at, opt_text(e->a, "model"), value);
  return value;
}

/* A loss has the share of unknown tokens beside it. */
static void print_loss(const evaluation *e, syn_text name, double value) {
  char share[32], number[JSON_NUMBER], beside[60] = "";
  int json = opt_flag(e->a, "json");
  if (json && e->unknown > 0.0) snprintf(beside, sizeof beside, "\"unknown\":%.6f,", e->unknown);
  if (!json && e->unknown > 0.0)
    snprintf(beside, sizeof beside, " (%s of the tokens are unknown)",
             percent(share, e->unknown, 1.0));
  if (json)
    printf("{\"metric\":\"%.*s\",\"value\":%s,%s\"n\":%lld}\n", (int)name.size, name.at,
           json_number(number, value, 6), beside, (long long)e->labels);
  else {
    snprintf(number, sizeof number, value == value ? "%.4f" : "nan", value);
    printf("%.*s %s%s\n", (int)name.size, name.at, number, beside);
  }
}

static void print_number(const evaluation *e, syn_text name, double value, size_t n) {
  char number[JSON_NUMBER];
  if (opt_flag(e->a, "json"))
    printf("{\"metric\":\"%.*s\",\"value\":%s,\"n\":%lu}\n", (int)name.size, name.at,
           json_number(number, value, 6), (unsigned long)n);
  else printf("%.*s %.6g\n", (int)name.size, name.at, value);
}

/* Prints after the last metric is computed, because one may fail. */
static void eval_metrics(evaluation *e, syn_text list) {
  double *value = (double *)take(list.size + 1, sizeof *value); /* of each name */
  size_t *outputs = (size_t *)take(list.size + 1, sizeof *outputs), n = 0;
  syn_text rest = list, name;
  for (; next_piece(&rest, ",", &name); n++) {
    if (is_loss_metric(name)) value[n] = eval_of_loss(e, name);
    else if (is_number_metric(name)) value[n] = eval_numbers(e, name);
    else value[n] = eval_output(e, metric_find(name)->name);
    outputs[n] = e->outputs;
  }
  for (n = 0; next_piece(&list, ",", &name); n++)
    if (is_loss_metric(name)) print_loss(e, name, value[n]);
    else if (is_number_metric(name)) print_number(e, name, value[n], outputs[n]);
    else print_metric(metric_find(name)->name, value[n], outputs[n], opt_flag(e->a, "json"));
  free(value);
  free(outputs);
}

/* The metrics without --metric. */
static const char *eval_default(const evaluation *e) {
  const syn_tokenizer *t = syn_model_tokenizer(e->m, SYN_TGT);
  if (e->of >= REGRESS) return "mse,mae,r2";
  if (e->of >= CLASSIFY) return "accuracy";
  if (e->spans) return "nats,ppl";
  if (e->of != LM) return "ppl,bleu";
  return t && strcmp(syn_tokenizer_type(t), "char") == 0 ? "nats,nats_char,ppl" : "nats,ppl";
}

/* Reads the options and the model. */
static void eval_open(evaluation *e, const arguments *a) {
  memset(e, 0, sizeof *e);
  e->a = a;
  e->loss = -1.0;
  e->options = metric_options_of(a);
  context_open(&e->c, a);
  e->m = runner_model(&e->c, a);
  if (!opt_flag(a, "reject")) syn_model_pack(e->m);
  e->of = task_of(syn_model_config(e->m)->task);
  if (e->of >= CLASSIFY) e->options.alternatives = NULL;
  if (e->of == CLASSIFY) e->options.line = split_whole;
  if (!syn_model_tokenizer(e->m, e->of == MLM ? SYN_SRC : SYN_TGT) && e->of < REGRESS)
    fail(FAILED_JOB, "%s has no tokenizer", opt_text(a, "model"));
  e->how = model_form(e->m) & COMPOSE; /* so that outputs can equal the references */
  e->options.form |= model_form(e->m);
  say_threads(&e->c, a);
}

/* Reads the data, but not those of lm, which eval_loss reads. */
static void eval_read(evaluation *e) {
  static const char *const names[] = {"data", "src", "tgt"};
  const syn_config *k = syn_model_config(e->m);
  int lm = e->of == LM;
  if (e->spans) {
    e->p = plain_lines(opt_text(e->a, "data"), SEQ2SEQ, e->how);
    return;
  }
  if (lm) check_one_file(e->a, "lm");
  if (lm && !*opt_text(e->a, "data")) fail(WRONG_USE, "eval of a language model wants --data FILE");
  if (!lm && !pairs_read(&e->p, e->of, e->a, names, k->src_features, e->how))
    fail(WRONG_USE, "eval wants --data, or --src and --tgt");
  e->p.cut = pair_cut_of(opt_text(e->a, "too-long"), e->of);
  e->p.outputs = k->outputs;
  if (e->of >= REGRESS) return;
  if (e->of >= CLASSIFY) eval_labels(e);
  else if (!lm) eval_texts(e);
  if (!lm) eval_unknown(e);
}

static void eval_close(evaluation *e) {
  size_t i;
  for (i = 0; e->jobs && i < e->p.count; i++) job_free(&e->jobs[i]);
  free(e->jobs);
  free(e->hyp);
  free(e->tags[0]);
  free(e->tags[1]);
  pairs_free(&e->p);
  syn_model_free(e->m);
}

/* Says which options of decoding do nothing for these metrics. */
static void eval_say_idle(const evaluation *e, syn_text list) {
  int decodes = 0;
  syn_text name;
  while (next_piece(&list, ",", &name)) decodes |= !is_loss_metric(name);
  if (e->of >= REGRESS) return;
  if (!decodes) say_idle(e->a, SEARCH_OPTIONS "|batch", "a loss needs no output");
  if (!decodes && !pair_cut_of(opt_text(e->a, "too-long"), e->of))
    say_idle(e->a, "too-long", "a loss needs no output");
  else if (e->of >= CLASSIFY) say_idle(e->a, SEARCH_OPTIONS, NO_SEARCH);
}

/* mlm: of the hidden tokens; --data is plain text, a text a line. */
static int eval_masked(evaluation *e) {
  const char *path = opt_text(e->a, "data");
  const char *metrics = *opt_text(e->a, "metric") ? opt_text(e->a, "metric") : "nats,accuracy";
  syn_text list = syn_text_of(metrics), rest = list, name;
  masked_scores s;
  lines l;
  check_one_file(e->a, "mlm");
  if (!*path) fail(WRONG_USE, "eval of mlm wants --data FILE, a text a line");
  while (next_piece(&rest, ",", &name))
    if (!text_is(name, "nats") && !text_is(name, "ppl") && !text_is(name, "accuracy"))
      fail(WRONG_USE, "eval of mlm has nats, ppl and accuracy of hidden tokens, given: %.*s",
           (int)name.size, name.at);
  say_idle(e->a, SEARCH_OPTIONS "|batch|too-long", "hidden tokens need no search");
  l = lines_of(read_data(path, e->how));
  s = masked_lines(&e->c, e->m, &e->p.encoders[0], &l);
  if (s.left)
    fprintf(stderr, "syn: %lu of %lu lines of %s have no token to hide, or more than max_len %d; "
            "they are left out\n", (unsigned long)s.left, (unsigned long)l.count, path,
            syn_model_config(e->m)->max_len);
  e->labels = s.hidden;
  say_unknown(&e->p.encoders[0], path, "", UNKNOWN_TO_MODEL);
  while (next_piece(&list, ",", &name)) {
    const double nats = s.nats / (double)s.hidden; /* of none: NaN */
    if (text_is(name, "accuracy"))
      print_metric("accuracy", (double)s.right / (double)s.hidden, (size_t)s.hidden,
                   opt_flag(e->a, "json"));
    else print_loss(e, name, text_is(name, "ppl") ? exp(nats) : nats);
  }
  lines_free(&l);
  eval_close(e);
  return 0;
}

/* Checks what goes with --span-corruption. */
static void eval_check_spans(const evaluation *e) {
  syn_text list = syn_text_of(*opt_text(e->a, "metric") ? opt_text(e->a, "metric") : "nats"), name;
  if (opt_flag(e->a, "reject"))
    fail(WRONG_USE, "eval wants either --reject or --span-corruption, given: both");
  if (e->of != SEQ2SEQ)
    fail(WRONG_USE, "--span-corruption is for seq2seq, not for %s", syn_model_config(e->m)->task);
  check_one_file(e->a, "--span-corruption");
  if (!*opt_text(e->a, "data"))
    fail(WRONG_USE, "eval --span-corruption wants --data FILE, a text a line");
  while (next_piece(&list, ",", &name))
    if (!text_is(name, "nats") && !text_is(name, "ppl"))
      fail(WRONG_USE, "eval --span-corruption has nats and ppl of the hidden spans, given: %.*s",
           (int)name.size, name.at);
}

static int run_eval(const arguments *a) {
  evaluation e;
  syn_text list, rest, name;
  eval_open(&e, a);
  e.spans = opt_flag(a, "span-corruption");
  if (e.spans) eval_check_spans(&e);
  if (opt_flag(a, "reject")) {
    if (e.of != SEQ2SEQ && e.of != CLASSIFY)
      fail(WRONG_USE, "eval --reject is for seq2seq and classify, this model is for %s",
           syn_model_config(e.m)->task);
    eval_read(&e);
    reject_curve(&e.c, e.m, &e.p, a);
    eval_close(&e);
    return 0;
  }
  say_idle(a, "other|units", "there is no --reject");
  if (e.of == MLM) return eval_masked(&e);
  list = syn_text_of(*opt_text(a, "metric") ? opt_text(a, "metric") : eval_default(&e));
  for (rest = list; next_piece(&rest, ",", &name);)
    if (!is_loss_metric(name) && !is_number_metric(name) && metric_find(name) && e.of == LM)
      fail(WRONG_USE, "eval of a language model has ppl, nats and nats_char, given: %.*s",
           (int)name.size, name.at);
  say_idle_options(a, ALL_METRIC_OPTIONS, list.at);
  want_metric_files(a, list, 1);
  eval_say_idle(&e, list);
  eval_read(&e);
  if (e.options.form & SYN_LOWERCASE && !opt_flag(a, "lowercase") && !e.spans)
    fprintf(stderr, "syn: %s writes lower case: the references are compared in lower case\n",
            opt_text(a, "model"));
  eval_metrics(&e, list);
  eval_close(&e);
  return 0;
}
