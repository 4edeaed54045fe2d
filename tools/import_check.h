/* import_check.h   compares an imported model with the answers of the program that it comes from.
   A part of syn.c, which includes it behind import.h. */

/* The answers are JSON: one object with `inputs`, or one object a line. Token numbers are those of
   the checkpoint. Everything is computed by forward passes over ids, so that an input may begin
   with any token and a search follow the rules of the other program. Each field of each input is
   one check. */

enum { CHECK_TOKENS = 12, LONGEST_TOKENS = 64 }; /* tokens of a search */
static const double check_logits = 1e-4, check_numbers = 1e-5, far_off = 1e300;

/* The larger difference; one that is not a number is far off. */
static double farther(double a, double b) { return b <= a ? a : b <= far_off ? b : far_off; }

typedef struct answers {
  checkpoint *p;
  const json *j;
  syn_run *run;
  int *src, *tgt, src_size, tgt_size, room; /* ids of the pass */
  const float *z;                           /* logits [rows, V] of our ids */
  int rows, passed, failed, input;
} answers;

static void answer_is(answers *a, const char *field, double difference, double tolerance) {
  if (difference <= tolerance) { /* not so for one that is not a number */
    a->passed++;
    return;
  }
  a->failed++;
  printf("input %d: %s: off by %.3g, allowed is %.3g\n", a->input, field, difference, tolerance);
}

/* The vocabulary of the logits. */
static const foreign_vocabulary *answer_vocabulary(const answers *a) {
  return &a->p->vocabulary[a->p->k.decoder ? SYN_TGT : SYN_SRC];
}
/* The logit of a token of theirs. */
static double answer_logit(const answers *a, int row, int number) {
  const foreign_vocabulary *v = answer_vocabulary(a);
  return (double)a->z[(size_t)row * (size_t)v->size + (size_t)v->id[number]];
}
/* log of the sum of e^logit of a row. */
static double answer_total(const answers *a, int row) {
  const int count = answer_vocabulary(a)->count;
  double most = -far_off, sum = 0.0;
  int i;
  for (i = 0; i < count; i++) most = fmax(most, answer_logit(a, row, i));
  for (i = 0; i < count; i++) sum += exp(answer_logit(a, row, i) - most);
  return most + log(sum);
}

static int answer_id(const answers *a, int side, int number) {
  const foreign_vocabulary *v = &a->p->vocabulary[side];
  if (number < 0 || number >= v->count)
    fail(FAILED_JOB, "%s: token %d of a vocabulary of %d", a->j->path, number, v->count);
  return v->id[number];
}
/* ids [room] = the tokens of a list; returns how many. */
static int answer_ids(const answers *a, int side, const json_value *list, int *ids) {
  const json_value *v = json_first(list);
  int n = 0;
  for (; v && n < a->room; v = json_after(a->j, v)) ids[n++] = answer_id(a, side, json_int(v, -1));
  return n;
}

static void answer_pass(answers *a) {
  syn_batch b;
  memset(&b, 0, sizeof b);
  b.count = 1;
  if (a->p->k.encoder) b.src = a->src, b.src_width = a->src_size;
  if (a->p->k.decoder) b.tgt = a->tgt, b.tgt_width = a->tgt_size;
  syn_run_forward(a->run, &b);
  check(a->p->c);
  a->z = syn_run_logits(a->run, 0, &a->rows);
}

/* The largest difference to a list of numbers; one of another length is infinitely far. */
static double list_difference(const answers *a, const json_value *list, const float *x, int count) {
  const json_value *v = json_first(list);
  double most = 0.0;
  int i = 0;
  for (; v && i < count; v = json_after(a->j, v), i++)
    most = farther(most, fabs(json_double(v, far_off) - (double)x[i]));
  return v || i < count ? far_off : most;
}

/* A row of logits in the order of the checkpoint. */
static double row_difference(const answers *a, const json_value *list, int row) {
  const foreign_vocabulary *v = answer_vocabulary(a);
  float *x = (float *)take((size_t)v->count, sizeof *x);
  double most;
  int i;
  for (i = 0; i < v->count; i++) x[i] = (float)answer_logit(a, row, i);
  most = list_difference(a, list, x, v->count);
  free(x);
  return most;
}
static void answer_rows(answers *a, const char *field, const json_value *rows) {
  const json_value *v = json_first(rows);
  double most = 0.0;
  int i = 0;
  for (; v && i < a->rows; v = json_after(a->j, v), i++)
    most = farther(most, row_difference(a, v, i));
  answer_is(a, field, v || i < a->rows ? far_off : most, check_logits);
}

static double answer_log_p(const answers *a, int row, int number) {
  return answer_logit(a, row, number) - answer_total(a, row);
}

/* ==============================================================================================
   >>import search   greedy and beam search as the other programs have them
   ============================================================================================== */

/* The best token behind the target of the pass; ban: one that is never chosen. */
static int answer_best(const answers *a, int ban) {
  const int count = answer_vocabulary(a)->count;
  int best = -1, i;
  for (i = 0; i < count; i++)
    if (i != ban &&
        (best < 0 || answer_logit(a, a->rows - 1, i) > answer_logit(a, a->rows - 1, best)))
      best = i;
  return best;
}

/* Continues the target of `size` tokens; compares with the list, whose last token is the end, or
   the last there is room for. */
static void answer_greedy(answers *a, const char *field, const json_value *list, int size) {
  const int end = answer_vocabulary(a)->special[3];
  const json_value *v = json_first(list);
  int wrong = !v, chosen = -1; /* an empty list is no answer */
  a->tgt_size = size;
  for (; v && !wrong && a->tgt_size < a->room; v = json_after(a->j, v)) {
    wrong = chosen >= 0 && chosen == end;
    answer_pass(a);
    chosen = a->p->forced_end && a->tgt_size == size + CHECK_TOKENS - 1
                 ? end
                 : answer_best(a, a->p->banned);
    wrong |= chosen != json_int(v, -1);
    a->tgt[a->tgt_size++] = answer_id(a, SYN_TGT, chosen);
  }
  answer_is(a, field, wrong ? far_off : 0.0, 0.0);
}

typedef struct hypothesis {
  int tokens[LONGEST_TOKENS], size; /* numbers of the checkpoint */
  double log_p, score;
} hypothesis;

static int hypothesis_order(const void *x, const void *y) {
  const hypothesis *a = (const hypothesis *)x, *b = (const hypothesis *)y;
  return a->score < b->score ? 1 : -(a->score > b->score);
}

/* The 2 beam best extensions of all hypotheses, by log_p. last: only the end is left, for sure. */
static int beam_extend(answers *a, const hypothesis *live, int n, hypothesis *next, int beam,
                       int last) {
  const int count = answer_vocabulary(a)->count, end = answer_vocabulary(a)->special[3];
  hypothesis *all = (hypothesis *)take((size_t)n * (size_t)count, sizeof *all);
  int h, i, k, total = 0;
  for (h = 0; h < n; h++) {
    double sum;
    a->tgt_size = 1;
    for (i = 0; i < live[h].size; i++)
      a->tgt[a->tgt_size++] = answer_id(a, SYN_TGT, live[h].tokens[i]);
    answer_pass(a);
    sum = answer_total(a, a->rows - 1);
    for (k = 0; k < count; k++) {
      hypothesis *to = &all[total];
      if (k == a->p->banned || (last && k != end)) continue;
      *to = live[h];
      to->tokens[to->size++] = k;
      to->log_p += last ? 0.0 : answer_logit(a, a->rows - 1, k) - sum;
      to->score = to->log_p;
      total++;
    }
  }
  qsort(all, (size_t)total, sizeof *all, hypothesis_order);
  if (total > 2 * beam) total = 2 * beam;
  memcpy(next, all, (size_t)total * sizeof *all);
  free(all);
  return total;
}

/* Of each step's 2 beam best, those among the first beam that end are finished; score: log p by
   tokens, the end included; at the limit the live ones count, too. It ends where `enough` are
   finished. done [beam (LONGEST_TOKENS + 1)], the best first. */
static int beam_search(answers *a, hypothesis *done, int beam, int limit, int enough) {
  const int end = answer_vocabulary(a)->special[3];
  hypothesis live[16], next[32];
  int n = 1, finished = 0, step, i;
  memset(live, 0, sizeof live);
  for (step = 0; step < limit && finished < enough; step++) {
    const int last = a->p->forced_end && step == limit - 1;
    const int total = beam_extend(a, live, n, next, beam, last);
    for (n = i = 0; i < total && n < beam; i++) {
      next[i].score = next[i].log_p / (double)next[i].size;
      if (next[i].tokens[next[i].size - 1] != end) live[n++] = next[i];
      else if (i < beam)
        done[finished++] = next[i];
    }
  }
  for (i = 0; step == limit && i < n; i++) done[finished++] = live[i];
  qsort(done, (size_t)finished, sizeof *done, hypothesis_order);
  return finished;
}

static void answer_beam(answers *a, const json_value *in) {
  hypothesis done[4 * (LONGEST_TOKENS + 1)];
  const json_value *list = json_get(a->j, in, "beam4"), *v, *score;
  int wrong = 0, i = 0, n;
  if (!list) return;
  n = beam_search(a, done, 4, CHECK_TOKENS, INT_MAX);
  for (v = json_first(list); v; v = json_after(a->j, v), i++)
    wrong |= i >= done[0].size || done[0].tokens[i] != json_int(v, -1);
  answer_is(a, "beam4", wrong || i != done[0].size ? far_off : 0.0, 0.0);
  score = json_get(a->j, in, "beam4_score");
  if (score)
    answer_is(a, "beam4_score", fabs(json_double(score, far_off) - done[0].score), check_numbers);
  score = n > 1 ? json_get(a->j, in, "beam4_second_score") : NULL;
  if (score)
    answer_is(a, "beam4_second_score", fabs(json_double(score, far_off) - done[1].score),
              check_numbers);
}

/* ==============================================================================================
   >>import answers   the fields of each kind of network
   ============================================================================================== */

/* Mean of -log p of the tokens of a list, the first of them behind row `row`. */
static double answer_loss(const answers *a, const json_value *list, int row, int skip, int *count) {
  const json_value *v = json_first(list);
  double sum = 0.0;
  int n = 0;
  for (; v && row + n < a->rows; v = json_after(a->j, v)) {
    if (skip-- > 0) continue;
    answer_id(a, SYN_TGT, json_int(v, -1));
    sum -= answer_log_p(a, row + n, json_int(v, -1));
    n++;
  }
  *count += n;
  return n ? sum / (double)n : 0.0;
}

static void answer_number(answers *a, const json_value *in, const char *field, double x) {
  const json_value *v = json_get(a->j, in, field);
  if (v) answer_is(a, field, fabs(json_double(v, far_off) - x), check_numbers);
}

/* Returns the sum of the losses of its tokens, whose number is added to *count. */
static double answer_lm(answers *a, const json_value *in, int *count) {
  const json_value *ids = json_get(a->j, in, "ids"), *greedy = json_get(a->j, in, "greedy");
  const json_value *prompt = json_get(a->j, in, "prompt"), *sorted;
  int own = 0;
  double loss;
  a->tgt_size = answer_ids(a, SYN_TGT, ids, a->tgt);
  answer_pass(a);
  answer_rows(a, "logits", json_get(a->j, in, "logits"));
  loss = answer_loss(a, ids, 0, 1, &own);
  answer_number(a, in, "loss", loss);
  sorted = json_get(a->j, in, "loss_of_sorted_half");
  if (sorted && (!prompt || !prompt->count))
    fail(FAILED_JOB, "%s: loss_of_sorted_half wants a prompt", a->j->path);
  if (sorted) {
    own = 0;
    loss = answer_loss(a, greedy, (int)prompt->count - 1, 0, &own);
    answer_number(a, in, "loss_of_sorted_half", loss);
  }
  *count += own;
  loss *= (double)own;
  if (greedy)
    answer_greedy(a, "greedy", greedy, answer_ids(a, SYN_TGT, prompt ? prompt : ids, a->tgt));
  return loss;
}

/* The output of a layer at a row of the source. */
static void answer_layer(answers *a, const json_value *in, const char *field, const char *path,
                         int row) {
  const json_value *list = json_get(a->j, in, field);
  syn_value value;
  if (!list) return;
  syn_run_value(a->run, path, 0, &value);
  check(a->p->c);
  answer_is(
      a, field,
      list_difference(a, list, value.x + (size_t)row * (size_t)value.shape[1], value.shape[1]),
      check_numbers * 10);
}

/* The path of the last operation of the encoder, in front of the head. */
static const char *encoder_end(const checkpoint *p) {
  const char *path = NULL;
  size_t i;
  for (i = 0; i < syn_model_node_count(p->m); i++) {
    const syn_node *n = syn_model_node(p->m, i);
    int at;
    if (sscanf(n->path, "encoder.%d", &at) == 1 && (!p->hidden || at < p->hidden)) path = n->path;
  }
  return path;
}

static double answer_seq2seq(answers *a, const json_value *in, int *count) {
  const json_value *labels = json_get(a->j, in, "labels"), *greedy = json_get(a->j, in, "greedy");
  int own = 0;
  double loss;
  a->src_size = answer_ids(a, SYN_SRC, json_get(a->j, in, "source"), a->src);
  a->tgt_size = answer_ids(a, SYN_TGT, json_get(a->j, in, "decoder_input"), a->tgt);
  answer_pass(a);
  answer_rows(a, "logits", json_get(a->j, in, "logits"));
  loss = answer_loss(a, labels, 0, 0, &own);
  answer_number(a, in, "loss", loss);
  answer_layer(a, in, "encoder_last_position", encoder_end(a->p), a->src_size - 1);
  *count += own;
  if (greedy) answer_greedy(a, "greedy", greedy, 1);
  answer_beam(a, in);
  return loss * (double)own;
}

/* Masked tokens: places with the right ids, or the places where ids and masked_ids differ. */
static double answer_masked(answers *a, const json_value *in, int *count) {
  const json_value *masked = json_get(a->j, in, "masked"), *v;
  const json_value *places = json_get(a->j, in, "masked_positions"),
                   *ids = json_get(a->j, in, "ids");
  double sum = 0.0;
  int n = 0;
  for (v = json_first(masked ? masked : places); v; v = json_after(a->j, v), n++) {
    const json_value *place = masked ? json_first(v) : v, *id = json_after(a->j, place);
    const int row = json_int(place, -1);
    int i;
    if (!masked)
      for (i = 0, id = json_first(ids); i < row && id; i++) id = json_after(a->j, id);
    if (row < 0 || row >= a->rows || !id)
      fail(FAILED_JOB, "%s: a masked token is wrong", a->j->path);
    answer_id(a, SYN_SRC, json_int(id, -1));
    sum -= answer_log_p(a, row, json_int(id, -1));
  }
  answer_number(a, in, "loss", n ? sum / (double)n : 0.0);
  *count += n;
  return sum;
}

/* The logits at some places; the best five tokens everywhere. */
static void answer_places(answers *a, const json_value *in) {
  const json_value *place = json_first(json_get(a->j, in, "masked_positions"));
  const json_value *row = json_first(json_get(a->j, in, "logits_at_masked"));
  const json_value *ids = json_first(json_get(a->j, in, "top5_ids")), *id, *z;
  const json_value *logits = json_first(json_get(a->j, in, "top5_logits"));
  double most = place && row ? 0.0 : far_off; /* an empty list is no answer */
  int at;
  for (; place && row; place = json_after(a->j, place), row = json_after(a->j, row)) {
    at = json_int(place, -1);
    most = farther(most, at < 0 || at >= a->rows ? far_off : row_difference(a, row, at));
  }
  if (json_get(a->j, in, "logits_at_masked")) answer_is(a, "logits_at_masked", most, 2e-4);
  most = 0.0;
  for (at = 0; ids && logits && at < a->rows; at++) {
    if (!json_first(ids) || !json_first(logits)) most = far_off;
    for (id = json_first(ids), z = json_first(logits); id && z; id = json_after(a->j, id)) {
      const int number = json_int(id, -1);
      answer_id(a, SYN_SRC, number);
      most = farther(most, fabs(answer_logit(a, at, number) - json_double(z, far_off)));
      z = json_after(a->j, z);
    }
    ids = json_after(a->j, ids);
    logits = json_after(a->j, logits);
  }
  if (json_get(a->j, in, "top5_ids"))
    answer_is(a, "top5_logits", ids || at < a->rows ? far_off : most, 2e-4);
}

/* y [rows] = the tensor NAME.weight [rows,cols] times x, plus NAME.bias; null: it has another shape,
   or there is none. The caller frees it. */
static float *answer_linear(const answers *a, const char *name, const float *x, int cols,
                            int rows) {
  char whole[80];
  const foreign *parts[2];
  float *w, *y;
  int i, k;
  snprintf(whole, sizeof whole, "%s.weight", name);
  parts[0] = checkpoint_find(a->p, whole);
  snprintf(whole, sizeof whole, "%s.bias", name);
  parts[1] = checkpoint_find(a->p, whole);
  if (!parts[0] || !parts[1] || parts[0]->count != (size_t)rows * (size_t)cols ||
      parts[1]->count != (size_t)rows)
    return NULL;
  w = foreign_floats(a->p, parts[0]);
  y = foreign_floats(a->p, parts[1]);
  for (i = 0; i < rows; i++) {
    double sum = (double)y[i];
    for (k = 0; k < cols; k++) sum += (double)w[i * cols + k] * (double)x[k];
    y[i] = (float)sum;
  }
  free(w);
  return y;
}

/* What BERT's pre-training has beside masked tokens: the pooler, tanh of a linear layer of the first
   row, and whether two sentences follow each other. A model has neither; this proves the row. */
static void answer_pooler(answers *a, const json_value *in, const char *hidden) {
  const json_value *pooled = json_get(a->j, in, "pooler"),
                   *follows = json_get(a->j, in, "seq_relationship");
  const char *name = checkpoint_find(a->p, "pooler.weight") ? "pooler" : "pooler.dense";
  float *x, *y, *z = NULL;
  syn_value value;
  int d, i;
  if (!pooled) return;
  syn_run_value(a->run, hidden, 0, &value);
  check(a->p->c);
  d = value.shape[1];
  x = (float *)take((size_t)d, sizeof *x);
  memcpy(x, value.x, (size_t)d * sizeof *x);
  y = answer_linear(a, name, x, d, d);
  for (i = 0; y && i < d; i++) y[i] = (float)tanh((double)y[i]);
  answer_is(a, "pooler", y ? list_difference(a, pooled, y, d) : far_off, check_numbers);
  if (y) z = answer_linear(a, "cls.seq_relationship", y, d, 2);
  if (follows)
    answer_is(a, "seq_relationship", z ? list_difference(a, follows, z, 2) : far_off,
              check_numbers);
  free(x);
  free(y);
  free(z);
}

static double answer_tag(answers *a, const json_value *in, int *count) {
  const json_value *ids = json_get(a->j, in, "masked_ids"),
                   *mean = json_get(a->j, in, "mean_pooled");
  const json_value *logits = json_get(a->j, in, "logits");
  const char *hidden = encoder_end(a->p);
  a->src_size = answer_ids(a, SYN_SRC, ids ? ids : json_get(a->j, in, "ids"), a->src);
  answer_pass(a);
  if (logits) answer_rows(a, "logits", logits);
  answer_layer(a, in, "last_hidden_first_row", hidden, 0);
  if (mean) {
    float *x = (float *)take(mean->count, sizeof *x);
    syn_run_vector(a->run, hidden, 0, SYN_VECTOR_MEAN, x, (int)mean->count);
    check(a->p->c);
    answer_is(a, "mean_pooled", list_difference(a, mean, x, (int)mean->count), check_numbers);
    free(x);
  }
  answer_pooler(a, in, hidden);
  answer_places(a, in);
  return answer_masked(a, in, count);
}

/* ==============================================================================================
   >>import check   a file of answers
   ============================================================================================== */

/* The token behind which the types of BERT change, of the first input that has both: a checkpoint
   without a tokenizer does not tell it. 0: none. */
static int answers_separator(const json *j) {
  const json_value *in = json_first(json_get(j, j->at, "inputs"));
  for (; in; in = json_after(j, in)) {
    const json_value *id = json_first(json_get(j, in, "ids"));
    const json_value *type = json_first(json_get(j, in, "token_types"));
    while (id && type && json_after(j, type)) {
      if (!json_int(type, 0) && json_int(json_after(j, type), 0) == 1) return json_int(id, 0);
      id = json_after(j, id);
      type = json_after(j, type);
    }
  }
  return 0;
}

/* Tokens of the longest list of an input. */
static int answers_longest(const json *j, const json_value *inputs) {
  const json_value *in, *list;
  uint32_t most = 1;
  for (in = json_first(inputs); in; in = json_after(j, in))
    for (list = json_first(in); list; list = json_after(j, list))
      if (list->kind == JSON_LIST && list->count > most) most = list->count;
  return (int)(most < 1 << 20 ? most : 1 << 20) + CHECK_TOKENS;
}

static void answers_open(answers *a, checkpoint *p, const json *j, int longest) {
  syn_limits limits;
  memset(a, 0, sizeof *a);
  memset(&limits, 0, sizeof limits);
  a->p = p;
  a->j = j;
  a->room = longest;
  limits.sentences = 1;
  limits.keep = 1;
  limits.src_rows = limits.length = longest;
  a->run = syn_run_new(p->c, p->m, &limits);
  check(p->c);
  a->src = (int *)take((size_t)longest, sizeof *a->src);
  a->tgt = (int *)take((size_t)longest, sizeof *a->tgt);
}

static int answers_close(answers *a) {
  printf("%d passed, %d failed\n", a->passed, a->failed);
  syn_run_free(a->run);
  free(a->src);
  free(a->tgt);
  return a->failed ? FAILED_JOB : 0;
}

/* Checks a file; returns the exit status. */
static int answers_check(checkpoint *p, const json *j) {
  const json_value *inputs = json_get(j, j->at, "inputs"), *in;
  double sum = 0.0;
  answers a;
  int count = 0;
  answers_open(&a, p, j, answers_longest(j, inputs));
  for (in = json_first(inputs); in; in = json_after(j, in), a.input++) {
    if (p->k.encoder && p->k.decoder) sum += answer_seq2seq(&a, in, &count);
    else
      sum += p->k.encoder ? answer_tag(&a, in, &count) : answer_lm(&a, in, &count);
  }
  if (count) answer_number(&a, j->at, "mean_loss", sum / (double)count);
  return answers_close(&a);
}

/* What run -t 0 -n 120 of llama2.c writes for a prompt: so many tokens with it. */
enum { STORY_POSITIONS = 120 };

static void answer_story(answers *a, const json_value *in) {
  const json_value *prompt = json_get(a->j, in, "prompt"), *text = json_get(a->j, in, "text");
  const int begins = syn_tokenizer_encode(a->p->tokenizers[SYN_TGT], prompt->text, NULL, 0);
  syn_decode_config config;
  syn_decoder *d;
  char got[8192];
  size_t size;
  memset(&config, 0, sizeof config);
  config.max_len = STORY_POSITIONS + 1;
  config.unknown = 1;
  d = syn_decoder_new(a->p->c, a->p->m, &config);
  syn_decoder_set_limit(d, STORY_POSITIONS - begins);
  syn_decoder_run_text(d, syn_text_of(""), prompt->text, NULL, NULL);
  check(a->p->c);
  size = syn_decoder_output_text(d, 0, 0, got, sizeof got, NULL);
  if (size == text->text.size + 1 && got[size - 1] == '\n') size--; /* run.c prints one, too */
  answer_is(a, "text", size == text->text.size && !memcmp(got, text->text.at, size) ? 0.0 : far_off,
            0.0);
  syn_decoder_free(d);
}

/* The number of a token's name, or that of the unknown token; -1: there is none. */
static int name_number(const answers *a, int side, syn_text name) {
  const int count = a->p->vocabulary[side].count;
  int i;
  for (i = 0; i < count; i++)
    if (text_equal(a->p->names[side][i], name)) return i;
  return a->p->vocabulary[side].special[SYN_UNKNOWN];
}

/* How far the tokens of a hypothesis, without its end, are from a text of names. */
static double names_difference(const answers *a, const hypothesis *h, const json_value *text) {
  syn_text rest, name;
  int i = 0, size = h->size;
  if (!text || text->kind != JSON_TEXT) return far_off;
  rest = text->text;
  if (size && h->tokens[size - 1] == answer_vocabulary(a)->special[3]) size--;
  while (rest.size && next_piece(&rest, " ", &name))
    if (i >= size || name_number(a, SYN_TGT, name) != h->tokens[i++]) return far_off;
  return i == size ? 0.0 : far_off;
}

/* Text and log p of a search in CTranslate2, under these names. */
static void answer_output(answers *a, const json_value *in, const hypothesis *h, const char *text,
                          const char *log_p) {
  if (json_get(a->j, in, text))
    answer_is(a, text, names_difference(a, h, json_get(a->j, in, text)), 0.0);
  answer_number(a, in, log_p, h->log_p);
}

/* The finished hypotheses: [text, score] in the order of their scores. */
static void answer_finished(answers *a, const json_value *in, const hypothesis *done, int count) {
  const json_value *all = json_get(a->j, in, "beam5_all"), *v = json_first(all);
  double most = 0.0;
  int i = 0;
  if (!all) return;
  for (; v && i < count; v = json_after(a->j, v), i++) {
    const json_value *text = json_first(v);
    most = farther(most, names_difference(a, &done[i], text));
    most = farther(most, fabs(json_double(json_after(a->j, text), far_off) - done[i].score));
  }
  answer_is(a, "beam5_all", v || i < count ? far_off : most, check_numbers);
}

/* A line of CTranslate2's answers. Those of integer weights have names of their own. */
static void answer_ct2(answers *a, const json_value *in) {
  const json_value *source = json_get(a->j, in, "source"), *first;
  hypothesis *done = (hypothesis *)take(5 * (LONGEST_TOKENS + 1), sizeof *done);
  const int type = a->p->integers;
  syn_text rest = source->text, name;
  a->src_size = 0;
  while (rest.size && next_piece(&rest, " ", &name) && a->src_size < a->room)
    a->src[a->src_size++] = answer_id(a, SYN_SRC, name_number(a, SYN_SRC, name));
  a->tgt[0] = SYN_BEGIN;
  beam_search(a, done, 1, LONGEST_TOKENS, 1);
  if (type) {
    answer_output(a, in, done, type == FOREIGN_I8 ? "greedy_i8" : "greedy_i16",
                  type == FOREIGN_I8 ? "greedy_log_prob_i8" : "greedy_log_prob_i16");
  } else {
    int count;
    answer_output(a, in, done, "greedy", "greedy_log_prob");
    answer_number(a, in, "greedy_score", done->score);
    count = beam_search(a, done, 5, LONGEST_TOKENS, 5);
    answer_output(a, in, done, "beam5", "beam5_log_prob");
    answer_number(a, in, "beam5_score", done->score);
    answer_finished(a, in, done, count);
    first = json_get(a->j, in, "first_step_logits");
    a->tgt_size = 1;
    answer_pass(a);
    if (first) answer_is(a, "first_step_logits", row_difference(a, first, 0), check_logits);
  }
  free(done);
}

/* Letters to phonemes: greedily, at most 20; the first eight logits of the first step. */
static void answer_word(answers *a, const json_value *in) {
  const json_value *word = json_get(a->j, in, "word"),
                   *list = json_get(a->j, in, "first_logits_0_7");
  hypothesis done[LONGEST_TOKENS + 1];
  const json_value *v = json_first(list);
  double most = 0.0;
  size_t i;
  int k = 0;
  a->src_size = 0;
  for (i = 0; i < word->text.size && a->src_size < a->room - 1; i++) {
    syn_text letter = word->text;
    letter.at += i;
    letter.size = 1;
    a->src[a->src_size++] = answer_id(a, SYN_SRC, name_number(a, SYN_SRC, letter));
  }
  a->src[a->src_size++] = SYN_END;
  a->tgt[0] = SYN_BEGIN;
  a->tgt_size = 1;
  answer_pass(a);
  for (; v && k < answer_vocabulary(a)->count; v = json_after(a->j, v), k++)
    most = farther(most, fabs(answer_logit(a, 0, k) - json_double(v, far_off)));
  if (list) answer_is(a, "first_logits_0_7", v ? far_off : most, check_logits);
  beam_search(a, done, 1, 20, 1);
  answer_is(a, "phonemes", names_difference(a, done, json_get(a->j, in, "phonemes")), 0.0);
}

/* Lines of JSON, each with the answer to one input. */
static int lines_check(checkpoint *p, syn_text rest, const char *path) {
  answers a;
  syn_text line;
  answers_open(&a, p, NULL, LONGEST_TOKENS + 1);
  while (rest.size && next_piece(&rest, "\n", &line)) {
    buffer bytes = {NULL, 0, 0};
    json j;
    if (!line.size) continue;
    put(&bytes, line.at, line.size);
    j = json_parse(bytes, path);
    a.j = &j;
    if (json_get(&j, j.at, "prompt") && json_get(&j, j.at, "text") && p->tokenizers[SYN_TGT])
      answer_story(&a, j.at);
    else if (json_get(&j, j.at, "source") && p->names[SYN_SRC])
      answer_ct2(&a, j.at);
    else if (json_get(&j, j.at, "word") && p->names[SYN_SRC])
      answer_word(&a, j.at);
    else
      fail(FAILED_JOB, "%s: line %d: no answer that is known for this model%s", path, a.input + 1,
           p->tokenizers[SYN_TGT] ? "" : "; --tokenizer is not given");
    json_free(&j);
    a.input++;
  }
  return answers_close(&a);
}

/* Lines: place, token, logits; one text. */
static int logits_check(checkpoint *p, syn_text rest, const char *path) {
  const foreign_vocabulary *v = &p->vocabulary[SYN_TGT];
  syn_text all = rest, line, word;
  answers a;
  json none;
  int rows = 0, i, number;
  double x;
  memset(&none, 0, sizeof none);
  while (all.size && next_piece(&all, "\n", &line)) rows++;
  answers_open(&a, p, &none, rows);
  none.path = path;
  for (all = rest; all.size && next_piece(&all, "\n", &line);) {
    if (line.size && next_piece(&line, " ", &word) && next_piece(&line, " ", &word))
      a.tgt[a.tgt_size++] = answer_id(&a, SYN_TGT, atoi(word.at));
  }
  answer_pass(&a);
  for (; rest.size && next_piece(&rest, "\n", &line) && a.input < a.rows; a.input++) {
    double most = 0.0;
    for (i = 0; i < 2 + v->count && next_piece(&line, " ", &word); i++) {
      char text[40];
      snprintf(text, sizeof text, "%.*s", (int)(word.size < 39 ? word.size : 39), word.at);
      number = i - 2;
      x = parse_number(text, &x) ? x : far_off;
      if (number >= 0) most = farther(most, fabs(answer_logit(&a, a.input, number) - x));
    }
    answer_is(&a, "logits", i == 2 + v->count && !line.at ? most : far_off, check_logits);
  }
  return answers_close(&a);
}

/* The answers of a file in the form that its first line shows. */
static int expected_check(checkpoint *p, json *whole, const buffer *bytes, const char *path) {
  if (whole->count) return answers_check(p, whole);
  if (bytes->size && *bytes->at == '{') return lines_check(p, buffer_text(bytes), path);
  return logits_check(p, buffer_text(bytes), path);
}
/* One object with `inputs`, not one a line. */
static int expected_is_whole(const buffer *b) {
  const char *end = b->size ? (const char *)memchr(b->at, '\n', b->size) : NULL;
  const size_t size = end ? (size_t)(end - b->at) : b->size;
  if (!b->size || *b->at != '{') return 0;
  return !end || end[-1] != '}' || size + 1 == b->size;
}

/* ==============================================================================================
   >>import command
   ============================================================================================== */

static int run_import(const arguments *a) {
  const char *expected = opt_text(a, "check"), *output = opt_text(a, "output");
  buffer bytes = {NULL, 0, 0}, none = {NULL, 0, 0};
  syn_import_options o;
  checkpoint p;
  syn_context c;
  json j;
  int status = 0;
  memset(&j, 0, sizeof j);
  memset(&o, 0, sizeof o);
  context_open(&c, a);
  o.tokenizer = *opt_text(a, "tokenizer") ? opt_text(a, "tokenizer") : NULL;
  o.max_len = opt_int(a, "max-len");
  o.report = stdout;
  o.map = *opt_text(a, "map") ? opt_text(a, "map") : NULL;
  o.task = opt_text(a, "task");
  o.encoder = opt_text(a, "encoder");
  o.decoder = opt_text(a, "decoder");
  o.tie = strcmp(opt_text(a, "tie"), "auto") ? opt_text(a, "tie") : NULL;
  o.d_model = opt_int(a, "d-model");
  o.heads = opt_int(a, "heads");
  if (*expected) bytes = read_file(expected);
  if (expected_is_whole(&bytes)) {
    j = json_parse(bytes, expected);
    bytes = none;
    o.separator = answers_separator(&j);
  }
  checkpoint_import(&p, &c, a->words[0], &o);
  syn_model_save(&c, p.m, output);
  check(&c);
  if (*expected) status = expected_check(&p, &j, &bytes, expected);
  checkpoint_free(&p);
  json_free(&j);
  free(bytes.at);
  syn_model_free(p.m);
  return status;
}
