/* fuzz_network.h   all that a program may do with a model: plan, forward, backward, decode, a
   training step, save, load, small model. Include it after fuzz.h; FUZZ_MARKS has the marks of
   NETWORK_MARKS. */

enum {
  NETWORK_SENTENCES = 2,
  NETWORK_LENGTH = 6,
  NETWORK_CELLS = NETWORK_SENTENCES * NETWORK_LENGTH
};

/* Arrays of a small batch that fits the configuration. */
typedef struct network_batch {
  int src[NETWORK_CELLS], tgt[NETWORK_CELLS], labels[NETWORK_CELLS], length;
  syn_batch b;
} network_batch;

static int network_token(int vocabulary) {
  int i = fuzz_random(vocabulary);
  return i == SYN_PAD || i == SYN_END ? SYN_UNKNOWN : i;
}

/* Row i of each array: a sentence, its end, zeros. */
static void network_batch_of(network_batch *n, const syn_config *k) {
  int i, j, lm = !strcmp(k->task, "lm"), tag = !strcmp(k->task, "tag"),
            classify = !strcmp(k->task, "classify");
  memset(n, 0, sizeof *n);
  n->length = k->max_len < NETWORK_LENGTH ? k->max_len : NETWORK_LENGTH;
  for (i = 0; i < NETWORK_SENTENCES; i++) {
    int *src = n->src + i * n->length, *tgt = n->tgt + i * n->length,
        *labels = n->labels + i * n->length;
    int tokens = 1 + fuzz_random(n->length);
    for (j = 0; j < tokens; j++) {
      if (!lm) src[j] = !tag && j == tokens - 1 ? SYN_END : network_token(k->src_vocab);
      if (lm || !(tag || classify)) {
        tgt[j] = j ? network_token(k->tgt_vocab) : SYN_BEGIN;
        labels[j] = j == tokens - 1 ? SYN_END : network_token(k->tgt_vocab);
      } else if (tag) labels[j] = 1 + fuzz_random(k->classes - 1);
    }
    if (classify) n->labels[i] = fuzz_random(k->classes);
  }
  n->b.count = NETWORK_SENTENCES;
  n->b.src = lm ? NULL : n->src;
  n->b.tgt = tag || classify ? NULL : n->tgt;
  n->b.labels = n->labels;
  n->b.src_width = n->b.tgt_width = n->length;
}

/* 1: what follows fits into the time and memory of a run. */
static int network_is_cheap(const syn_model *m, const syn_plan *plan) {
  double work = 0.0;
  size_t i;
  if (plan->weights > 1 << 21 || plan->activations > 1 << 22 || plan->training > 1 << 23) return 0;
  if (plan->decoding > 1 << 23 || plan->keep > 1 << 23) return 0;
  for (i = 0; i < syn_model_node_count(m); i++) {
    syn_cost cost = syn_model_cost(m, syn_model_node(m, i), NETWORK_LENGTH);
    work += cost.multiply_adds + 100.0;
  }
  return work < 2e5;
}

static void network_forward(syn_context *c, const syn_model *m, const network_batch *n) {
  syn_limits limits;
  syn_run *r;
  int rows, size[2], heads;
  memset(&limits, 0, sizeof limits);
  limits.src_rows = limits.tgt_rows = NETWORK_CELLS;
  limits.sentences = NETWORK_SENTENCES;
  limits.length = n->length;
  limits.keep = fuzz_random(2);
  r = syn_run_new(c, m, &limits);
  if (r && !syn_run_forward(r, &n->b)) {
    fuzz_mark(MARK_forward);
    FUZZ_WANT(syn_run_logits(r, 0, &rows) && rows > 0, "no logits");
    FUZZ_WANT(!syn_run_logits(r, NETWORK_SENTENCES, &rows) && !rows, "logits of no sentence");
    syn_run_class(r, 0, 0, 0, NULL);
    if (syn_model_attention(m, 0, &heads)) syn_run_attention(r, 0, heads - 1, 1, size);
    if (limits.keep && !syn_run_backward(r, &n->b, NULL)) fuzz_mark(MARK_backward);
  }
  syn_run_free(r);
}

static void network_decode(syn_context *c, const syn_model *m, const network_batch *n) {
  syn_decode_config k;
  syn_batch b = n->b;
  syn_decoder *d;
  const int *out;
  int i, j, size;
  memset(&k, 0, sizeof k);
  k.sentences = NETWORK_SENTENCES;
  k.source_len = k.max_len = n->length;
  k.beam = fuzz_random(2) ? 1 : 1 + fuzz_random(4);
  k.best = 1 + fuzz_random(k.beam);
  k.temperature = k.beam == 1 && fuzz_random(2) ? 0.7f : 0.0f;
  k.top_k = k.temperature > 0 ? fuzz_random(4) : 0;
  k.top_p = k.temperature > 0 && fuzz_random(2) ? 0.5f : 0.0f;
  k.type = fuzz_random(4) ? "f32" : "i8";
  k.prefill = fuzz_random(8);
  if (b.src || fuzz_random(2)) b.tgt = NULL;
  if (b.tgt) b.tgt_width = 1;
  d = syn_decoder_new(c, m, &k);
  if (d && !syn_decoder_run(d, &b, NULL, NULL)) {
    fuzz_mark(k.beam > 1 ? MARK_beam : k.temperature > 0 ? MARK_sampled : MARK_decoded);
    if (!strcmp(k.type, "i8")) fuzz_mark(MARK_int8);
    for (i = 0; i < NETWORK_SENTENCES; i++) {
      out = syn_decoder_output(d, i, 0, &size, NULL);
      FUZZ_WANT(!out || size <= n->length, "%d tokens of %d", size, n->length);
      for (j = 0; out && j < size; j++)
        FUZZ_WANT(out[j] >= 0 && out[j] < syn_model_config(m)->tgt_vocab, "token %d", out[j]);
    }
  }
  syn_decoder_free(d);
}

static void network_train(syn_context *c, syn_model *m, const network_batch *n) {
  static const char *const names[] = {"adam", "adamw", "adafactor", "sgd"};
  syn_train_config k;
  syn_trainer *t;
  float loss;
  memset(&k, 0, sizeof k);
  k.optimizer = names[fuzz_random(4)];
  k.batch_tokens = NETWORK_CELLS;
  k.length = n->length;
  k.average = fuzz_random(2);
  k.clip = fuzz_random(2) ? 1.0f : 0.0f;
  t = syn_trainer_new(c, m, &k);
  if (t && !syn_trainer_step(t, &n->b, 1, &loss)) {
    fuzz_mark(MARK_trained);
    syn_trainer_step(t, &n->b, 1, &loss);
  }
  syn_trainer_free(t);
}

/* What is saved is loaded again, and is saved as the same bytes. */
static void network_save(syn_context *c, const syn_model *m) {
  static const char *const types[] = {"f32", "f16", "bf16", "i8", "i4"};
  fuzz_bytes a, b;
  syn_sink to_a = fuzz_sink(&a), to_b = fuzz_sink(&b), small;
  int type = fuzz_random(5);
  syn_model *again;
  if (!syn_model_save_as_to(c, m, types[type], &to_a)) {
    fuzz_mark(MARK_saved);
    again = syn_model_view(c, a.at, a.size);
    FUZZ_WANT(again, "saved as %s, but not loaded: %s", types[type], c->message);
    FUZZ_WANT(!syn_model_save_as_to(c, again, types[type], &to_b), "not saved again: %s",
              c->message);
    FUZZ_WANT(a.size == b.size && !memcmp(a.at, b.at, a.size), "saved again as other bytes (%s)",
              types[type]);
    fuzz_mark(MARK_reloaded);
    syn_model_free(again);
  }
  free(a.at);
  free(b.at);
  syn_context_clear(c);
  small = fuzz_sink(&a);
  if (!syn_small_write(c, m, NULL, &small)) {
    fuzz_mark(MARK_small);
    FUZZ_WANT(syn_small_ram(a.at, a.size, NULL) > 0, "a small model that cannot be opened");
  }
  free(a.at);
  syn_context_clear(c);
}

/* Uses a model that was built or loaded; c->status is SYN_OK before and after. */
static void network_use(syn_context *c, syn_model *m) {
  const syn_config *k = syn_model_config(m);
  syn_train_config train;
  syn_decode_config decode;
  network_batch n;
  syn_plan plan;
  memset(&train, 0, sizeof train);
  memset(&decode, 0, sizeof decode);
  network_batch_of(&n, k);
  train.batch_tokens = NETWORK_CELLS;
  train.length = decode.source_len = decode.max_len = n.length;
  decode.sentences = NETWORK_SENTENCES;
  decode.beam = 4;
  if (syn_plan_of(c, k, &train, &decode, &plan)) {
    FUZZ_WANT(c->status == SYN_E_MEMORY || c->status == SYN_E_SHAPE, "a model without a plan: %s",
              c->message);
    syn_context_clear(c);
    return;
  }
  fuzz_mark(MARK_planned);
  if (!network_is_cheap(m, &plan)) return;
  fuzz_mark(MARK_used);
  network_forward(c, m, &n);
  syn_context_clear(c);
  network_decode(c, m, &n);
  syn_context_clear(c);
  network_save(c, m);
  network_train(c, m, &n);
  syn_context_clear(c);
  network_decode(c, m, &n);
  syn_context_clear(c);
}
