/* Decoding: greedy, sampling, beam search against a plain search that knows every probability. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"
#include "guard.h"
#include "pool.h"

enum { V = 6, L = 5, SOURCES = 5 }; /* allowed tokens: 1, 3 (end), 4, 5 */

static const char *const decoders[] = {
    "learn_pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm",
    "pos -> res_nd(syn_att(FR+D)) -> res_nd(mh_dot_att) -> norm",
    "pos -> repeat(2, res_nd(syn_att(FD)) -> res_nd(mh_dot_att(source=increasing)))",
    "pos -> res_nd(syn_att(R, softmax=0)) -> res(mh_dot_att)", "pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm"};

typedef struct bench {
  syn_context c;
  syn_model *m;
  syn_run *r;
  int lm;
} bench;

/* Network `which` with noise of its own; `end` is added to the logit of the end token. */
static int bench_make(bench *b, int which, uint64_t seed, float end) {
  syn_config k;
  syn_random r;
  size_t i, n;
  memset(b, 0, sizeof *b);
  memset(&k, 0, sizeof k);
  syn_context_init(&b->c, NULL);
  b->lm = which == 4;
  k.task = b->lm ? "lm" : "seq2seq";
  k.encoder = "pos -> repeat(2, res_nd(syn_att(V))) -> norm";
  k.decoder = decoders[which];
  k.d_model = 8;
  k.heads = 2;
  k.max_len = L;
  k.src_vocab = 9;
  k.tgt_vocab = V;
  k.tie = "none";
  k.seed = seed;
  b->m = syn_model_new(&b->c, &k);
  b->r = b->m ? syn_run_new(&b->c, b->m, NULL) : NULL;
  CHECK(b->r, "%s", b->c.message);
  if (!b->r) return 0;
  r.state = seed * 77 + 5;
  for (n = 0; n < syn_model_param_count(b->m); n++) {
    const syn_param *p = syn_model_param(b->m, n);
    float noise = strstr(p->name, "out.") ? 0.8f : 0.3f;
    for (i = 0; i < p->size; i++) p->x[i] += noise * syn_random_normal(&r);
  }
  syn_model_find(b->m, "out.b")->x[SYN_END] += end;
  return 1;
}
static void bench_free(bench *b) {
  syn_run_free(b->r);
  syn_model_free(b->m);
}

/* Five sources of different lengths. */
static const int sources[SOURCES * 5] = {4, 5, 6, 7, 3, 8, 3, 0, 0, 0, 7, 7, 3, 0, 0, 3, 0, 0, 0, 0, 5, 8, 4, 3, 0};
static syn_batch source(const bench *b, int first, int count) {
  syn_batch batch;
  memset(&batch, 0, sizeof batch);
  batch.count = count;
  batch.src = b->lm ? NULL : sources + 5 * first;
  batch.src_width = 5;
  return batch;
}

/* log p of every next token after a prefix, from a full pass. */
static void next_of(const bench *b, int sentence, const int *prefix, int size, double *logp) {
  int in[L + 1], rows, i;
  syn_batch batch = source(b, sentence, 1);
  const float *z;
  double most, sum = 0;
  in[0] = SYN_BEGIN;
  for (i = 0; i < size; i++) in[i + 1] = prefix[i];
  batch.tgt = in;
  batch.tgt_width = size + 1;
  CHECK(syn_run_forward(b->r, &batch) == SYN_OK, "%s", b->c.message);
  z = syn_run_logits(b->r, 0, &rows);
  CHECK(z && rows == size + 1, "%d rows", rows);
  z += size * V;
  most = (double)z[0];
  for (i = 1; i < V; i++) most = (double)z[i] > most ? (double)z[i] : most;
  for (i = 0; i < V; i++) sum += exp((double)z[i] - most);
  for (i = 0; i < V; i++) logp[i] = (double)z[i] - most - log(sum);
}

/* -- the reference: section 8 of the language, word by word, without any early end -- */

/* What the decoder under test was told: [SOURCES, V], and sequences. */
static const unsigned char *given_allowed;
static const int *given_banned;
static int given_unknown; /* 1: it may choose SYN_UNKNOWN */

/* 1: token w may follow a text of `size` tokens. */
static int may_follow(int sentence, const int *text, int size, int w) {
  const int *b;
  int n;
  if (w == SYN_END) return 1;
  if (w == SYN_PAD || w == SYN_BEGIN || (w == SYN_UNKNOWN && !given_unknown)) return 0;
  if (given_allowed && !given_allowed[sentence * V + w]) return 0;
  for (b = given_banned; b && *b; b += n + 1) {
    for (n = 0; b[n];) n++;
    if (b[n - 1] == w && n - 1 <= size && !memcmp(text + size - (n - 1), b, (size_t)(n - 1) * sizeof *b))
      return 0;
  }
  return 1;
}

typedef struct hypothesis {
  int text[L], size;
  double logp, score;
} hypothesis;

enum { MANY = 1100 };
typedef struct answer {
  hypothesis best[8];
  int count;
} answer;

static double penalty(int size, double alpha) { return pow((5.0 + size) / 6.0, alpha); }

/* Stable: equal ones keep their order. */
static void sort_hypotheses(hypothesis *h, int n, int by_score) {
  int i, k;
  for (i = 1; i < n; i++) {
    hypothesis x = h[i];
    double value = by_score ? x.score : x.logp;
    for (k = i; k > 0 && value > (by_score ? h[k - 1].score : h[k - 1].logp); k--) h[k] = h[k - 1];
    h[k] = x;
  }
}

typedef struct search {
  const bench *b;
  int sentence, beam, best, limit;
  double alpha;
  const int *prefix;
  int n_prefix;
} search;

static void reference_beam(const search *s, answer *a) {
  static hypothesis live[MANY], next[MANY * 4], finished[MANY * 4];
  double logp[V];
  int n_live = 1, n_finished = 0, n, i, w, size;
  memset(&live[0], 0, sizeof live[0]);
  if (s->n_prefix) memcpy(live[0].text, s->prefix, (size_t)s->n_prefix * sizeof(int));
  live[0].size = s->n_prefix;
  for (size = s->n_prefix; size < s->limit && n_live; size++) {
    for (n = 0, i = 0; i < n_live; i++) {
      next_of(s->b, s->sentence, live[i].text, size, logp);
      for (w = 0; w < V; w++) {
        if (!may_follow(s->sentence, live[i].text, size, w)) continue;
        next[n] = live[i];
        next[n].text[next[n].size++] = w;
        next[n].logp += logp[w];
        next[n].score = next[n].logp / penalty(next[n].size, s->alpha);
        n++;
      }
    }
    sort_hypotheses(next, n, 0);
    for (n_live = 0, i = 0; i < n && i < 2 * s->beam; i++) {
      if (next[i].text[size] == SYN_END) finished[n_finished++] = next[i];
      else if (n_live < s->beam) live[n_live++] = next[i];
    }
  }
  sort_hypotheses(finished, n_finished, 1);
  for (a->count = 0; a->count < s->best && a->count < n_finished; a->count++)
    a->best[a->count] = finished[a->count];
  for (i = 0; a->count < s->best && i < n_live; i++) a->best[a->count++] = live[i];
}

/* All sequences that end, or else all of length `limit`: the best by score. */
static void brute_force(const search *s, int *text, int size, double sum, hypothesis *best, double *open_best) {
  double logp[V];
  int w;
  if (size == s->limit) {
    if (sum > *open_best) *open_best = sum;
    return;
  }
  next_of(s->b, s->sentence, text, size, logp);
  for (w = SYN_UNKNOWN; w < V; w++) {
    double score = (sum + logp[w]) / penalty(size + 1, s->alpha);
    if (w == SYN_BEGIN || (w == SYN_UNKNOWN && !given_unknown)) continue;
    text[size] = w;
    if (w != SYN_END) brute_force(s, text, size + 1, sum + logp[w], best, open_best);
    else if (!best->size || score > best->score) {
      memcpy(best->text, text, sizeof best->text);
      best->size = size + 1;
      best->score = score;
    }
  }
}

/* -- the decoder -- */

static syn_decoder *decoder_of(bench *b, int sentences, int beam, int best, float alpha, int limit) {
  syn_decode_config k;
  syn_decoder *d;
  memset(&k, 0, sizeof k);
  k.sentences = sentences;
  k.beam = beam;
  k.best = best;
  k.alpha = alpha;
  k.max_len = limit;
  k.unknown = given_unknown;
  d = syn_decoder_new(&b->c, b->m, &k);
  CHECK(d, "%s", b->c.message);
  return d;
}

static void show(char *out, size_t room, const int *text, int size) {
  size_t used = 0;
  int i;
  out[0] = 0;
  for (i = 0; text && i < size && used < room; i++)
    used += (size_t)snprintf(out + used, room - used, "%d ", text[i]);
}

/* Equal texts and scores within 1e-4. Where two scores of the reference are closer than that, the order of
   floats may be the other: then only the score counts. */
static void compare(const search *s, const answer *a, const syn_decoder *d, int sentence) {
  char got[80], want[80];
  int rank, size, close;
  float score;
  const int *text;
  for (rank = 0; rank < a->count; rank++) {
    const hypothesis *h = &a->best[rank];
    int ended = h->text[h->size - 1] == SYN_END;
    double value = h->logp / penalty(h->size, s->alpha);
    text = syn_decoder_output(d, sentence, rank, &size, &score);
    show(got, sizeof got, text, size);
    show(want, sizeof want, h->text, h->size);
    close = (rank > 0 && fabs(a->best[rank - 1].score - h->score) < 1e-4) ||
            (rank + 1 < a->count && fabs(a->best[rank + 1].score - h->score) < 1e-4);
    CHECK(text && fabs((double)score - value) < 1e-4, "beam %d best %d alpha %g rank %d: %s(%g), wanted %s(%g)",
          s->beam, s->best, s->alpha, rank, got, (double)score, want, value);
    CHECK(close || (text && size == h->size && !memcmp(text, h->text, (size_t)size * sizeof *text)),
          "beam %d best %d alpha %g rank %d: %s(%g), wanted %s(%g)%s", s->beam, s->best, s->alpha, rank, got,
          (double)score, want, value, ended ? "" : " (not ended)");
  }
  CHECK(!syn_decoder_output(d, sentence, a->count, &size, &score) && size == 0 && score == 0.0f,
        "beam %d best %d: more than %d outputs", s->beam, s->best, a->count);
}

static void beam_case(int which, uint64_t seed, float end) {
  static const int beams[] = {2, 3, 4, 7}, bests[] = {1, 2, 3, 5};
  static const float alphas[] = {0.0f, 1.5f, -1.0f};
  static const double meant[] = {0.6, 1.5, 0.0};
  bench b;
  search s;
  answer a;
  int i, sentences;
  if (!bench_make(&b, which, seed, end)) return;
  sentences = b.lm ? 1 : SOURCES;
  memset(&s, 0, sizeof s);
  s.b = &b;
  given_unknown = (int)(seed % 2);
  for (i = 0; i < 4; i++) {
    float alpha = alphas[(seed + (uint64_t)i) % 3];
    syn_decoder *d;
    syn_batch batch = source(&b, 0, sentences);
    s.beam = beams[i];
    s.best = bests[(seed + (uint64_t)i) % 4];
    if (s.best > s.beam) s.best = s.beam;
    s.alpha = meant[(seed + (uint64_t)i) % 3];
    s.limit = 2 + (int)((seed + (uint64_t)i) % 4);
    d = decoder_of(&b, sentences, s.beam, s.best, alpha, s.limit);
    CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
    for (s.sentence = 0; d && s.sentence < sentences; s.sentence++) {
      reference_beam(&s, &a);
      compare(&s, &a, d, s.sentence);
    }
    syn_decoder_free(d);
  }
  given_unknown = 0;
  bench_free(&b);
}

static void test_beam(void) {
  static const float ends[] = {0.0f, 2.0f, -2.0f, -4.0f, -30.0f, 5.0f};
  int which, seed, count = CHECK_QUICK ? 2 : 6;
  for (which = 0; which < 5; which++)
    for (seed = 0; seed < count; seed++) beam_case(which, (uint64_t)(seed + 10 * which), ends[seed]);
}

/* A beam as wide as the tree finds the best of all sequences. */
static void test_exhaustive(void) {
  int which, seed;
  for (which = 0; which < 5; which++)
    for (seed = 0; seed < (CHECK_QUICK ? 1 : 3); seed++) {
      bench b;
      search s;
      hypothesis best;
      double open_best = -1e30;
      int text[L], size;
      float score;
      const int *got;
      syn_decoder *d;
      syn_batch batch;
      if (!bench_make(&b, which, (uint64_t)seed + 500, seed == 2 ? -60.0f : -1.0f)) continue;
      memset(&s, 0, sizeof s);
      memset(&best, 0, sizeof best);
      s.b = &b;
      s.limit = 4;
      s.alpha = 0.6;
      given_unknown = seed == 1;
      batch = source(&b, 0, 1);
      brute_force(&s, text, 0, 0, &best, &open_best);
      d = decoder_of(&b, 1, 60, 1, 0.6f, 4);
      CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
      got = syn_decoder_output(d, 0, 0, &size, &score);
      CHECK(got && size == best.size && !memcmp(got, best.text, (size_t)size * sizeof *got) &&
                fabs((double)score - best.score) < 1e-4,
            "network %d seed %d: score %g, the best of all is %g", which, seed, (double)score, best.score);
      given_unknown = 0;
      syn_decoder_free(d);
      bench_free(&b);
    }
}

/* -- greedy -- */

/* The most probable token again and again, computed by full passes. */
static int greedy_reference(const bench *b, int sentence, int limit, int *text, int size) {
  double logp[V];
  int i, most;
  while (size < limit) {
    next_of(b, sentence, text, size, logp);
    for (most = SYN_END, i = 0; i < V; i++)
      if (may_follow(sentence, text, size, i) && (logp[i] > logp[most] || (logp[i] == logp[most] && i < most)))
        most = i;
    text[size++] = most;
    if (most == SYN_END) break;
  }
  return size;
}

static void test_greedy(void) {
  int which, seed, i, limit;
  for (which = 0; which < 5; which++)
    for (seed = 0; seed < 4; seed++) {
      bench b;
      syn_batch batch;
      syn_decoder *d;
      limit = seed == 3 ? 2 : L;
      if (!bench_make(&b, which, (uint64_t)seed + 30, seed == 2 ? -30.0f : 1.0f)) continue;
      batch = source(&b, 0, b.lm ? 1 : SOURCES);
      given_unknown = seed / 2;
      d = decoder_of(&b, SOURCES, seed % 2, 1, 0.0f, limit); /* beam 0 and 1 are greedy */
      CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
      for (i = 0; d && i < batch.count; i++) {
        int want[L], size, n = greedy_reference(&b, i, limit, want, 0);
        float score = 7;
        const int *text = syn_decoder_output(d, i, 0, &size, &score);
        CHECK(text && size == n && !memcmp(text, want, (size_t)n * sizeof *want) && score == 0.0f,
              "network %d seed %d sentence %d: %d tokens, wanted %d", which, seed, i, size, n);
      }
      given_unknown = 0;
      syn_decoder_free(d);
      bench_free(&b);
    }
}

/* -- batched = one by one, to the bit -- */

static void one_by_one(bench *b, int beam, float temperature) {
  static const uint64_t seeds[SOURCES] = {3, 1, 4, 1, 5};
  syn_decode_config k;
  syn_decoder *all, *one;
  syn_batch batch = source(b, 0, SOURCES);
  int i, rank, n, m;
  float score, alone;
  memset(&k, 0, sizeof k);
  k.beam = beam;
  k.best = beam ? 2 : 1;
  k.temperature = temperature;
  k.sentences = SOURCES;
  all = syn_decoder_new(&b->c, b->m, &k);
  k.sentences = 1;
  one = syn_decoder_new(&b->c, b->m, &k);
  syn_decoder_set_seeds(all, (const uint64_t *)guarded(seeds, sizeof seeds));
  /* twice: the second time begins with nothing of the first */
  CHECK(all && one && syn_decoder_run(all, &batch, NULL, NULL) == SYN_OK && syn_decoder_run(all, &batch, NULL, NULL) == SYN_OK, "%s", b->c.message);
  for (i = 0; all && one && i < SOURCES; i++) {
    batch = source(b, i, 1);
    syn_decoder_set_seeds(one, seeds + i);
    CHECK(syn_decoder_run(one, &batch, NULL, NULL) == SYN_OK, "%s", b->c.message);
    for (rank = 0; rank < k.best; rank++) {
      const int *x = syn_decoder_output(all, i, rank, &n, &score);
      const int *y = syn_decoder_output(one, 0, rank, &m, &alone);
      CHECK(n == m && score == alone && (!x) == (!y) && (!x || !memcmp(x, y, (size_t)n * sizeof *x)),
            "beam %d, sentence %d, rank %d: %d tokens of score %.9g, alone %d of %.9g", beam, i, rank, n,
            (double)score, m, (double)alone);
    }
  }
  syn_decoder_free(all);
  syn_decoder_free(one);
}

/* More tokens of sources than a run has place for when nobody says how many; every copy of a source
   gets the same output. */
static void test_many_sources(void) {
  enum { MANY_SOURCES = 1100 };
  static int src[MANY_SOURCES * 5];
  bench b;
  syn_batch batch;
  syn_decode_config k;
  syn_plan one, all;
  syn_decoder *d;
  int i, n, m;
  if (!bench_make(&b, 0, 61, -1.0f)) return;
  for (i = 0; i < MANY_SOURCES * 5; i++) src[i] = i % 5 < 4 ? 4 + (i / 5 % 7 + i % 5) % 5 : SYN_END;
  memset(&k, 0, sizeof k);
  CHECK(syn_plan_of(&b.c, syn_model_config(b.m), NULL, &k, &one) == SYN_OK, "%s", b.c.message);
  k.sentences = MANY_SOURCES;
  CHECK(syn_plan_of(&b.c, syn_model_config(b.m), NULL, &k, &all) == SYN_OK, "%s", b.c.message);
  CHECK(all.decoding > 50 * one.decoding, "%lu bytes for one sentence, %lu for %d",
        (unsigned long)one.decoding, (unsigned long)all.decoding, MANY_SOURCES);
  d = syn_decoder_new(&b.c, b.m, &k);
  batch = source(&b, 0, MANY_SOURCES);
  batch.src = src;
  CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
  for (i = 7; d && i < MANY_SOURCES; i++) {
    const int *x = syn_decoder_output(d, i % 7, 0, &n, NULL), *y = syn_decoder_output(d, i, 0, &m, NULL);
    CHECK(x && y && n == m && !memcmp(x, y, (size_t)n * sizeof *x), "sentence %d is not as %d", i, i % 7);
  }
  syn_decoder_free(d);
  bench_free(&b);
}

static void test_batched(void) {
  int which;
  bench b;
  for (which = 0; which < 4; which++) {
    if (!bench_make(&b, which, 60, 0.5f)) continue;
    one_by_one(&b, 0, 0.0f);
    one_by_one(&b, 0, 1.3f);
    one_by_one(&b, 3, 0.0f);
    bench_free(&b);
  }
}

/* -- sampling -- */

enum { TIMES = 4000, COUNT = 50 };

static const unsigned char *first_allowed; /* [COUNT, V], null: all */

/* How often each first token is chosen; p gets the probabilities it should have. */
static void first_tokens(bench *b, const syn_decode_config *given, int *count) {
  int tgt[COUNT * 1], i, round, size;
  syn_decode_config k = *given;
  syn_batch batch;
  syn_decoder *d;
  memset(count, 0, V * sizeof *count);
  k.sentences = COUNT;
  k.max_len = 1;
  k.unknown = given_unknown;
  memset(&batch, 0, sizeof batch);
  batch.count = COUNT;
  for (i = 0; i < COUNT; i++) tgt[i] = SYN_BEGIN;
  batch.tgt = tgt;
  batch.tgt_width = 1;
  for (round = 0; round < TIMES / COUNT; round++) {
    k.seed = given->seed + (uint64_t)round;
    d = syn_decoder_new(&b->c, b->m, &k);
    syn_decoder_set_allowed(d, first_allowed);
    CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b->c.message);
    for (i = 0; d && i < COUNT; i++) {
      const int *text = syn_decoder_output(d, i, 0, &size, NULL);
      if (text && size == 1 && text[0] >= 0 && text[0] < V) count[text[0]]++;
    }
    syn_decoder_free(d);
  }
}

/* Counts within 5 standard deviations of the probabilities; of probability 0 there is none. */
static void counts_check(const char *what, const int *count, const double *p) {
  double times = TIMES;
  int i, all = 0;
  for (i = 0; i < V; i++) {
    CHECK(fabs(count[i] - p[i] * times) <= 5 * sqrt(times * p[i] * (1 - p[i])), "%s: token %d %d times, not %.0f",
          what, i, count[i], p[i] * times);
    all += count[i];
  }
  CHECK(all == (int)TIMES, "%s: %d tokens", what, all);
}

/* p^(1/T) over the allowed tokens; the k largest or those that first reach `top` keep theirs. */
static void probabilities(const double *logp, double temperature, int k, double top, double *p) {
  int order[V], n = 0, i, j;
  double sum = 0, reached = 0;
  for (i = 0; i < V; i++) p[i] = may_follow(0, NULL, 0, i) ? exp(logp[i] / temperature) : 0;
  for (i = 0; i < V; i++) sum += p[i];
  for (i = 0; i < V; i++) p[i] /= sum;
  for (i = 0; i < V; i++) {
    for (j = n++; j > 0 && p[i] > p[order[j - 1]]; j--) order[j] = order[j - 1];
    order[j] = i;
  }
  for (i = 0; i < V; i++) {
    int out = (k && i >= k) || (top > 0 && reached >= top);
    if (out) p[order[i]] = 0;
    else reached += p[order[i]];
  }
  for (i = 0; i < V; i++) p[i] /= reached;
}

static void test_sampling(void) {
  bench b;
  syn_decode_config k;
  double logp[V], p[V];
  int count[V], again[V];
  if (!bench_make(&b, 4, 71, 0.0f)) return;
  next_of(&b, 0, NULL, 0, logp);
  memset(&k, 0, sizeof k);
  k.temperature = 1.0f;
  given_unknown = 1;
  first_tokens(&b, &k, count);
  probabilities(logp, 1, 0, 0, p);
  counts_check("unknown", count, p);
  CHECK(count[SYN_UNKNOWN] > TIMES / 100, "unknown %d times", count[SYN_UNKNOWN]);
  given_unknown = 0;
  first_tokens(&b, &k, count);
  probabilities(logp, 1, 0, 0, p);
  counts_check("temperature 1", count, p);
  first_tokens(&b, &k, again);
  CHECK(!memcmp(count, again, sizeof count), "the same seeds give other tokens");
  k.seed = 1000000;
  first_tokens(&b, &k, again);
  CHECK(memcmp(count, again, sizeof count) != 0, "other seeds give the same tokens");
  counts_check("other seeds", again, p);
  k.temperature = 0.5f;
  first_tokens(&b, &k, count);
  probabilities(logp, 0.5, 0, 0, p);
  counts_check("temperature 0.5", count, p);
  k.temperature = 3.0f;
  k.top_k = 2;
  first_tokens(&b, &k, count);
  probabilities(logp, 3, 2, 0, p);
  counts_check("top_k 2", count, p);
  k.top_k = 0;
  k.top_p = 0.6f;
  first_tokens(&b, &k, count);
  probabilities(logp, 3, 0, 0.6, p);
  counts_check("top_p 0.6", count, p);
  k.top_p = 1e-6f;
  first_tokens(&b, &k, count);
  probabilities(logp, 3, 1, 0, p);
  counts_check("top_p of nothing", count, p);
  bench_free(&b);
}

/* top_k=1, and a temperature of next to nothing, are greedy; a seed gives the same texts again. */
static void test_sampling_texts(void) {
  static const float temperatures[] = {1.0f, 1e-6f, 1e-40f};
  int texts[4][SOURCES * L], which, i, kind;
  for (which = 0; which < 4; which++) {
    bench b;
    memset(texts, 0, sizeof texts);
    if (!bench_make(&b, which, 80, 0.0f)) continue;
    for (kind = 0; kind < 4; kind++) {
      syn_batch batch = source(&b, 0, SOURCES);
      syn_decode_config k;
      syn_decoder *d;
      memset(&k, 0, sizeof k);
      k.sentences = SOURCES;
      k.seed = 5;
      if (kind) k.temperature = temperatures[kind - 1];
      k.top_k = kind == 1;
      d = syn_decoder_new(&b.c, b.m, &k);
      CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
      for (i = 0; d && i < SOURCES; i++) {
        int size;
        const int *text = syn_decoder_output(d, i, 0, &size, NULL);
        if (text) memcpy(&texts[kind][i * L], text, (size_t)size * sizeof *text);
      }
      CHECK(!memcmp(texts[0], texts[kind], sizeof texts[0]), "network %d: kind %d is not greedy", which, kind);
      syn_decoder_free(d);
    }
    bench_free(&b);
  }
}

/* -- prompts -- */

static void test_prefix(void) {
  static const int prefixes[] = {2, 4, 5, 2, 5, 5, 2, 4, 4, 2, 1, 4, 2, 3, 5};
  int which, i, width;
  for (which = 0; which < 5; which++)
    for (width = 1; width <= 3; width++) {
      bench b;
      search s;
      answer a;
      int tgt[SOURCES * 4] = {0}, text[L], size, count;
      syn_decoder *greedy, *beam;
      syn_batch batch;
      if (!bench_make(&b, which, 90, 0.0f)) continue;
      count = b.lm ? 3 : SOURCES;
      for (i = 0; i < count * width; i++) tgt[i / width * 4 + i % width] = prefixes[i / width * 3 + i % width];
      batch = source(&b, 0, count);
      batch.tgt = tgt;
      batch.tgt_width = 4; /* with a column of padding */
      greedy = decoder_of(&b, SOURCES, 1, 1, 0.0f, L);
      beam = decoder_of(&b, SOURCES, 3, 2, 0.0f, L);
      CHECK(greedy && syn_decoder_run(greedy, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
      CHECK(beam && syn_decoder_run(beam, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
      for (i = 0; i < count; i++) {
        const int *got = syn_decoder_output(greedy, i, 0, &size, NULL);
        int n;
        memcpy(text, tgt + i * 4 + 1, (size_t)(width - 1) * sizeof *text);
        n = greedy_reference(&b, i, L, text, width - 1);
        CHECK(got && size == n && !memcmp(got, text, (size_t)n * sizeof *text),
              "network %d, %d given, sentence %d: %d tokens, wanted %d", which, width - 1, i, size, n);
        memset(&s, 0, sizeof s);
        s.b = &b, s.sentence = i, s.beam = 3, s.best = 2, s.limit = L, s.alpha = 0.6;
        s.prefix = tgt + i * 4 + 1, s.n_prefix = width - 1;
        reference_beam(&s, &a);
        compare(&s, &a, beam, i);
      }
      syn_decoder_free(greedy);
      syn_decoder_free(beam);
      bench_free(&b);
    }
}

/* -- tokens that may not be chosen -- */

static void excluded_case(int which, const unsigned char *allowed, const int *banned) {
  static const int tgt[] = {2, 4, 2, 5, 2, 4, 2, 5, 2, 4};
  bench b;
  search s;
  answer a;
  syn_decoder *greedy, *beam;
  syn_batch batch;
  int i, size, text[L], count;
  if (!bench_make(&b, which, 95, -1.0f)) return;
  count = b.lm ? 2 : SOURCES;
  batch = source(&b, 0, count);
  batch.tgt_width = 2;
  if (batch.src) batch.src = (const int *)guarded(batch.src, sizeof sources);
  batch.tgt = (const int *)guarded(tgt, (size_t)count * 2 * sizeof *tgt);
  if (allowed) allowed = (const unsigned char *)guarded(allowed, (size_t)count * V);
  given_allowed = allowed, given_banned = banned, given_unknown = which % 2;
  greedy = decoder_of(&b, SOURCES, 1, 1, 0.0f, L);
  beam = decoder_of(&b, SOURCES, 3, 2, 0.0f, L);
  syn_decoder_set_allowed(greedy, allowed), syn_decoder_set_allowed(beam, allowed);
  syn_decoder_set_banned(greedy, banned), syn_decoder_set_banned(beam, banned);
  CHECK(greedy && syn_decoder_run(greedy, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
  CHECK(beam && syn_decoder_run(beam, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
  for (i = 0; i < count; i++) {
    const int *got = syn_decoder_output(greedy, i, 0, &size, NULL);
    int n;
    text[0] = tgt[2 * i + 1];
    n = greedy_reference(&b, i, L, text, 1);
    CHECK(got && size == n && !memcmp(got, text, (size_t)n * sizeof *text), "network %d, sentence %d: %d tokens, wanted %d",
          which, i, size, n);
    memset(&s, 0, sizeof s);
    s.b = &b, s.sentence = i, s.beam = 3, s.best = 2, s.limit = L, s.alpha = 0.6;
    s.prefix = tgt + 2 * i + 1, s.n_prefix = 1;
    reference_beam(&s, &a);
    compare(&s, &a, beam, i);
  }
  given_allowed = NULL, given_banned = NULL, given_unknown = 0;
  syn_decoder_free(greedy);
  syn_decoder_free(beam);
  bench_free(&b);
}

/* Lists for each sentence, banned sequences, both; nothing allowed leaves the end. */
static void test_excluded(void) {
  static const unsigned char lists[SOURCES * V] = {0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1,
                                                   1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1};
  static const int one[] = {5, 0, 0}, pairs[] = {4, 4, 0, 5, 1, 4, 0, 1, 0, 0}, ends[] = {3, 0, 4, 3, 0, 0};
  static const int high[] = {4, 6, 0, 0}, low[] = {4, -1, 0, 0};
  bench b;
  syn_decoder *d;
  syn_batch batch;
  int which, i, size;
  for (which = 0; which < 5; which++) {
    excluded_case(which, lists, NULL);
    excluded_case(which, NULL, one);
    excluded_case(which, NULL, pairs);
    excluded_case(which, NULL, ends);
    excluded_case(which, lists, pairs);
  }
  if (!bench_make(&b, 0, 96, -5.0f)) return;
  batch = source(&b, 0, SOURCES);
  for (i = 0; i < 3; i++) { /* sampling keeps to the lists */
    syn_decode_config k;
    int sentence, t;
    memset(&k, 0, sizeof k);
    k.sentences = SOURCES, k.temperature = 5.0f, k.top_k = i == 1 ? 3 : 0, k.top_p = i == 2 ? 0.9f : 0.0f;
    d = syn_decoder_new(&b.c, b.m, &k);
    syn_decoder_set_allowed(d, lists), syn_decoder_set_banned(d, pairs);
    given_allowed = lists, given_banned = pairs;
    CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
    for (sentence = 0; d && sentence < SOURCES; sentence++) {
      const int *text = syn_decoder_output(d, sentence, 0, &size, NULL);
      for (t = 0; text && t < size; t++)
        CHECK(may_follow(sentence, text, t, text[t]), "sentence %d: token %d is %d", sentence, t, text[t]);
    }
    given_allowed = NULL, given_banned = NULL;
    syn_decoder_free(d);
  }
  d = decoder_of(&b, SOURCES, 1, 1, 0.0f, L);
  for (i = 0; i < 2; i++) {
    syn_decoder_set_banned(d, i ? low : high);
    CHECK(syn_decoder_run(d, &batch, NULL, NULL) == SYN_E_VALUE && strstr(b.c.message, i ? "1 is -1" : "1 is 6"), "%s",
          b.c.message);
    syn_context_clear(&b.c);
  }
  syn_decoder_set_banned(d, NULL);
  CHECK(syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
  syn_decoder_free(d);
  bench_free(&b);
}

/* Sampling from a list has the probabilities of the list's tokens, over their sum. */
static void test_sampled_list(void) {
  static unsigned char allowed[COUNT * V];
  bench b;
  syn_decode_config k;
  double logp[V], p[V];
  int count[V], i;
  if (!bench_make(&b, 4, 71, 0.0f)) return;
  for (i = 0; i < COUNT; i++) allowed[i * V + 1] = allowed[i * V + 5] = 1;
  next_of(&b, 0, NULL, 0, logp);
  logp[4] = -1e9;
  memset(&k, 0, sizeof k);
  k.temperature = 2.0f;
  first_allowed = allowed;
  for (given_unknown = 1; given_unknown >= 0; given_unknown--) { /* the list alone allows no unknown */
    probabilities(logp, 2, 0, 0, p);
    first_tokens(&b, &k, count);
    counts_check("a list", count, p);
  }
  given_unknown = 0;
  first_allowed = NULL;
  bench_free(&b);
}

/* -- the cancel callback -- */

static int count_down(void *user) { return --*(int *)user < 0; }

/* Cancelled after so many steps: outputs are those of a decoder whose limit is that. */
static void test_cancel(void) {
  static const int begins[] = {2, 4, 2, 5, 2, 4, 2, 5, 2, 4};
  bench b;
  int beam, steps, i, rank, n, m, left;
  if (!bench_make(&b, 1, 62, -3.0f)) return;
  for (beam = 1; beam <= 3; beam += 2)
    for (steps = 0; steps < 3; steps++) {
      syn_decode_config k;
      syn_decoder *d, *limited;
      syn_batch batch = source(&b, 0, SOURCES);
      float x, y;
      memset(&k, 0, sizeof k);
      k.sentences = SOURCES, k.beam = k.best = beam, k.alpha = -1.0f;
      limited = decoder_of(&b, SOURCES, beam, beam, -1.0f, steps + 2);
      d = syn_decoder_new(&b.c, b.m, &k);
      batch.tgt = begins, batch.tgt_width = 2;
      b.c.options.cancel = count_down, b.c.options.cancel_user = &left, left = steps;
      CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_E_CANCELLED, "%s", b.c.message);
      b.c.options.cancel = NULL;
      syn_context_clear(&b.c);
      CHECK(limited && syn_decoder_run(limited, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
      for (i = 0; i < SOURCES; i++)
        for (rank = 0; rank < beam; rank++) {
          const int *got = syn_decoder_output(d, i, rank, &n, &x), *want = syn_decoder_output(limited, i, rank, &m, &y);
          CHECK(n == m && x == y && !got == !want && (!got || !memcmp(got, want, (size_t)n * sizeof *got)),
                "beam %d, %d steps, sentence %d: %d tokens, wanted %d", beam, steps, i, n, m);
        }
      syn_decoder_free(d);
      syn_decoder_free(limited);
    }
  { /* in the middle of a prompt */
    static const int prompt[] = {2, 4, 5, 4};
    syn_decode_config k;
    syn_decoder *d;
    syn_batch batch = source(&b, 0, 1);
    memset(&k, 0, sizeof k);
    k.prefill = 1;
    d = syn_decoder_new(&b.c, b.m, &k);
    batch.tgt = prompt, batch.tgt_width = 4;
    b.c.options.cancel = count_down, b.c.options.cancel_user = &left, left = 1;
    CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_E_CANCELLED, "%s", b.c.message);
    syn_context_clear(&b.c);
    CHECK(!syn_decoder_output(d, 0, 0, &n, NULL) && n == 0, "an output of a cancelled prompt");
    left = 100;
    CHECK(syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK && syn_decoder_output(d, 0, 0, &n, NULL) && n == L, "%d", n);
    b.c.options.cancel = NULL;
    syn_decoder_free(d);
  }
  bench_free(&b);
}

/* -- prefill: prompts read at once give the bits of token by token -- */

enum { PREFILL_LEN = 80, PREFILL_V = 70, PREFILL_COUNT = 3 };
static const char *const prefill_decoders[] = {
    "learn_pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm",
    "pos -> res_nd(syn_att(R)) -> res_nd(mlp_att) -> norm",
    "pos -> res_nd(syn_att(R, softmax=0)) -> res_nd(dot_src_att(s=1))",
    "pos -> res_nd(syn_att(Fix)) -> res_nd(syn_att(FR, k=3)) -> repeat(2, res_nd(mh_dot_att(source=increasing)))",
    "pos -> res_nd(syn_att(R, tile=9)) -> res_nd(syn_att(FD, tile=8)) -> res_nd(mh_dot_att)",
    "pos -> res_nd(syn_att(D)) -> res_nd(syn_att(Conv, a=3)) -> res_nd(mh_dot_att)",
    "pos -> res_nd(syn_att(CRC)) -> res_nd(syn_att(BD)) -> res_nd(syn_att(BCRC)) -> res_nd(mh_dot_att)",
    "pos -> res_nd(syn_att(GLU)) -> res_nd(syn_att(D, shared=1)) -> res_nd(mh_dot_att)",
    "pos -> res_nd(syn_att(R+V)) -> res_nd(syn_att(D+V+FR)) -> res_nd(mh_dot_att) -> norm",
    "rel_pos -> repeat(2, res_nd(syn_att(V, c=5))) -> res_nd(mh_dot_att)",
    "rel_pos -> res_nd(syn_att(CRC+V)) -> res_nd(mh_dot_att)",
    "rope(1000, pair) -> res_nd(syn_att(V, heads=4, kv=2, bias=1, window=19)) -> res_nd(mh_dot_att(heads=4, kv=1, bias=1))",
    "repeat(2, res_nd(light_conv(k=5)) -> res_nd(dyn_conv(k=3))) -> res_nd(mh_dot_att)",
    "repeat(2, res(cnn(k=3)) -> res(cnn(k=2, dilate=5))) -> res(mh_dot_att)",
    "repeat(2, res(rnn(cell=lstm)) -> res(rnn(cell=gru))) -> res(mh_dot_att)",
    "input_feed -> rnn -> mh_dot_att",
    "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> norm -> softcap(0.7)",
    "universal(3, res_nd(syn_att(V)) -> res_nd(ffl)) -> res_nd(mh_dot_att) -> norm",
    "pos -> highway(syn_att(V)) -> parallel(syn_att(R) | rnn) -> concat(id | cnn) -> ff(16) -> res_nd(mh_dot_att)",
    "pos -> res_nd(syn_att(V)) -> res_nd(aop(keys=20)) -> rms_norm -> res_nd(mh_dot_att)"};

static syn_model *prefill_model(syn_context *c, const char *encoder, const char *decoder) {
  static const syn_var vars[] = {{"NUM_HIDDEN", 16}, {"FF_NUM_HIDDEN", 24}};
  syn_config k;
  syn_random r;
  syn_model *m;
  size_t i, n;
  memset(&k, 0, sizeof k);
  k.encoder = encoder ? encoder : "pos -> repeat(2, res_nd(syn_att(V))) -> norm";
  k.decoder = decoder;
  k.vars = vars;
  k.n_vars = 2;
  k.d_model = 16;
  k.heads = 2;
  k.max_len = PREFILL_LEN;
  k.src_vocab = 9;
  k.tgt_vocab = PREFILL_V;
  k.tie = "none";
  m = syn_model_new(c, &k);
  CHECK(m, "%s: %s", decoder, c->message);
  r.state = 17;
  for (n = 0; m && n < syn_model_param_count(m); n++) {
    const syn_param *p = syn_model_param(m, n);
    for (i = 0; i < p->size && p->trained; i++) p->x[i] += 0.2f * syn_random_normal(&r);
  }
  return m;
}

/* The same prompts by two decoders that read them in other chunks: outputs, scores, last logits. */
static void prefill_case(syn_context *c, const syn_model *m, syn_decode_config k, int length) {
  static int tgt[PREFILL_COUNT * PREFILL_LEN];
  static const int chunks[] = {1, 0, 16, 3 * 21};
  syn_decoder *d[4];
  syn_batch batch;
  int i, j, rank, n, size;
  memset(&batch, 0, sizeof batch);
  batch.count = PREFILL_COUNT, batch.src = sources, batch.src_width = 5;
  batch.tgt = tgt, batch.tgt_width = length;
  for (i = 0; i < PREFILL_COUNT * length; i++) tgt[i] = i % length ? 4 + (i * 7 + i / 5) % (PREFILL_V - 4) : SYN_BEGIN;
  k.sentences = PREFILL_COUNT + length % 2; /* planned, one of them not used */
  k.max_len = length + 5;
  for (j = 0; j < 4; j++) {
    k.prefill = chunks[j];
    d[j] = syn_decoder_new(c, m, &k);
    CHECK(d[j] && syn_decoder_run(d[j], &batch, NULL, NULL) == SYN_OK, "%s", c->message);
    for (i = 0; i < PREFILL_COUNT; i++)
      for (rank = 0; rank < k.best; rank++) {
        float x, y;
        const int *want = syn_decoder_output(d[0], i, rank, &n, &x), *got = syn_decoder_output(d[j], i, rank, &size, &y);
        CHECK(want && got && n == size && x == y && !memcmp(want, got, (size_t)n * sizeof *got),
              "prompt %d, beam %d, prefill %d, sentence %d, rank %d: %d tokens of score %.9g, wanted %d of %.9g", length,
              k.beam, chunks[j], i, rank, size, (double)y, n, (double)x);
      }
    CHECK(!memcmp(d[0]->logits, d[j]->logits, (size_t)(d[0]->rows * PREFILL_V) * sizeof(float)),
          "prompt %d, beam %d, prefill %d: other logits", length, k.beam, chunks[j]);
  }
  for (j = 0; j < 4; j++) syn_decoder_free(d[j]);
}

/* One network: prompts of every length, or of a few; greedy, beam search, sampling. */
static void prefill_network(const char *encoder, const char *decoder, int threads, int few) {
  static const int lengths[] = {17, 33, 1, 2, 15, 16, 64, 70};
  syn_context c;
  syn_options o;
  syn_model *m;
  int i, kind;
  memset(&o, 0, sizeof o);
  o.threads = threads;
  syn_context_init(&c, &o);
  m = prefill_model(&c, encoder, decoder);
  for (i = 0; m && i < (few ? 2 : 8); i++)
    for (kind = 0; kind < 3; kind++) {
      syn_decode_config k;
      memset(&k, 0, sizeof k);
      k.beam = kind == 1 ? 4 : 1;
      k.best = kind == 1 ? 2 : 1;
      k.temperature = kind == 2 ? 1.5f : 0.0f;
      prefill_case(&c, m, k, lengths[i]);
    }
  syn_model_free(m);
}

/* The networks of strings.txt, a line each: table|row|encoder|decoder. */
static void prefill_file(const char *root) {
  char path[1000], line[1000], *field[3];
  FILE *f;
  int i, count = 0;
  snprintf(path, sizeof path, "%s/tests/strings.txt", root);
  f = fopen(path, "r");
  CHECK(f, "%s", path);
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    for (i = 0; i < 3 && *line != '#'; i++) {
      field[i] = strchr(i ? field[i - 1] : line, '|');
      if (!field[i]) break;
      *field[i]++ = 0;
    }
    if (i < 3 || *line == '#') continue;
    count++;
    prefill_network(field[1], field[2], 1, 1);
  }
  CHECK(count >= 6, "%d networks in %s", count, path);
  if (f) fclose(f);
}

static void test_prefill(void) {
  size_t which;
  for (which = 0; which < SYN__COUNT(prefill_decoders); which++)
    prefill_network(NULL, prefill_decoders[which], which % 4 ? 1 : 2, CHECK_QUICK);
  if (getenv("ROOT") && !CHECK_QUICK) prefill_file(getenv("ROOT"));
}

/* The logits behind a prompt and a source of more blocks of keys than one, token by token and at once,
   are those of a full pass. */
static void test_long(void) {
  enum { LENGTH = 45 };
  static const char *const texts[] = {
      "rope -> res(syn_att(V, heads=2, kv=1)) -> rope(50, pair, 4) -> res(syn_att(R+V, window=22)) -> res(mh_dot_att)",
      "res(syn_att(V, heads=4, kv=2, bias=1)) -> res_nd(syn_att(V, kv=1, window=20, scale=0.5))"
      " -> res(mh_dot_att(4, kv=2, bias=1))",
      "res(syn_att(V, window=17)) -> res_nd(syn_att(R+V, heads=6, kv=3, c=5, window=33, bias=1)) ->"
      " res(mh_dot_att(kv=1))",
      "res(syn_att(V)) -> res(mh_dot_att) -> softcap(0.5)",
      "res(syn_att(R, window=9)) -> res_nd(syn_att(D+V, shared=1, bias=1, heads=4, kv=1)) -> res(mh_dot_att(bias=1))"};
  static int tgt[LENGTH], src[21];
  size_t which, isa;
  int i, chunk, rows;
  for (i = 0; i < LENGTH; i++) tgt[i] = i ? 4 + (i * 7 + i / 5) % (PREFILL_V - 4) : SYN_BEGIN;
  for (i = 0; i < 21; i++) src[i] = i < 20 ? 4 + i % 5 : SYN_END;
  for (isa = 0; isa < (size_t)syn_isa_count(); isa++)
    for (which = 0; which < SYN__COUNT(texts) && syn_isa_usable((int)isa); which++) {
      syn_context c;
      syn_options o;
      syn_batch batch;
      syn_model *m;
      syn_run *r;
      memset(&o, 0, sizeof o);
      memset(&batch, 0, sizeof batch);
      o.isa = syn_isa_name((int)isa);
      syn_context_init(&c, &o);
      m = prefill_model(&c, NULL, texts[which]);
      r = syn_run_new(&c, m, NULL);
      batch.count = 1, batch.tgt = tgt, batch.tgt_width = LENGTH, batch.src = src, batch.src_width = 21;
      CHECK(syn_run_forward(r, &batch) == SYN_OK, "%s: %s", texts[which], c.message);
      for (chunk = 0; r && chunk < 2; chunk++) {
        const float *z = syn_run_logits(r, 0, &rows);
        syn_decode_config k;
        syn_decoder *d;
        double apart = 0.0;
        memset(&k, 0, sizeof k);
        k.max_len = LENGTH, k.prefill = chunk, k.beam = 1 + 2 * chunk;
        d = syn_decoder_new(&c, m, &k);
        CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s: %s", texts[which], c.message);
        for (i = SYN_END; d && i < PREFILL_V; i++) /* the first are never chosen */
          apart = fmax(apart, fabs((double)(z[(LENGTH - 1) * PREFILL_V + i] - d->logits[i])));
        CHECK(rows == LENGTH && apart < 1e-5, "%s, %s, prefill %d: logits differ by %g", o.isa, texts[which], chunk,
              apart);
        syn_decoder_free(d);
      }
      syn_run_free(r);
      syn_model_free(m);
    }
}

/* Bytes as planned, whatever `prefill` is; fewer tokens in a pass need fewer bytes. */
static void test_prefill_plan(void) {
  static const int chunks[] = {1, 0, 7, 500};
  syn_context c;
  syn_model *m;
  size_t bytes[4];
  int i;
  syn_context_init(&c, NULL);
  m = prefill_model(&c, NULL, prefill_decoders[0]);
  for (i = 0; m && i < 4; i++) {
    syn_decode_config k;
    syn_plan plan;
    memset(&k, 0, sizeof k);
    k.prefill = chunks[i];
    CHECK(syn_plan_of(&c, syn_model_config(m), NULL, &k, &plan) == SYN_OK, "%s", c.message);
    bytes[i] = plan.decoding;
  }
  CHECK(bytes[0] <= bytes[2] && bytes[2] < bytes[1] && bytes[1] < bytes[3], "%d %d %d %d bytes", (int)bytes[0],
        (int)bytes[2], (int)bytes[1], (int)bytes[3]);
  syn_model_free(m);
}

/* -- text in, text out -- */

typedef struct pieces {
  char text[400];
  size_t size;
  int count, stop_after;
} pieces;

static int add_piece(void *user, syn_text piece) {
  pieces *k = (pieces *)user;
  CHECK(piece.size > 0 && ((unsigned char)piece.at[0] & 0xC0) != 0x80, "a piece of %d bytes", (int)piece.size);
  memcpy(k->text + k->size, piece.at, piece.size);
  k->size += piece.size;
  k->text[k->size] = 0;
  return ++k->count == k->stop_after;
}
static syn_text text_of(const char *s) {
  syn_text t;
  t.at = s;
  t.size = strlen(s);
  return t;
}

/* A model with tokenizers of the kind; lm where `lm` is set. */
static syn_model *text_model(syn_context *c, const char *spec, int lm) {
  static const char *const words[] = {"ein kleiner Test", "\xC3\xA4pfel und \xE2\x82\xAC 5", "noch ein Satz und noch einer"};
  syn_text lines[3];
  syn_tokenizer *t[2];
  syn_config k;
  syn_random r;
  syn_model *m;
  size_t i, n;
  for (i = 0; i < 3; i++) lines[i] = text_of(words[i]);
  for (i = 0; i < 2; i++) t[i] = syn_tokenizer_learn(c, i ? spec : "char", 0, lines, 3);
  CHECK(t[0] && t[1], "%s", c->message);
  memset(&k, 0, sizeof k);
  k.task = lm ? "lm" : "seq2seq";
  k.encoder = lm ? NULL : "pos -> res_nd(syn_att(V))";
  k.decoder = lm ? "pos -> res_nd(syn_att(V))" : "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att)";
  k.d_model = 16;
  k.max_len = 24;
  k.src_vocab = syn_tokenizer_size(t[0]);
  k.tgt_vocab = syn_tokenizer_size(t[1]);
  k.tie = "none";
  m = syn_model_new(c, &k);
  CHECK(m, "%s", c->message);
  r.state = 3;
  for (n = 0; m && n < syn_model_param_count(m); n++) {
    const syn_param *p = syn_model_param(m, n);
    for (i = 0; i < p->size; i++) p->x[i] += 0.3f * syn_random_normal(&r);
  }
  if (m) syn_model_find(m, "out.b")->x[SYN_END] -= 30.0f;
  syn_model_set_tokenizers(m, t[0], t[1]);
  return m;
}

static int stop_never(void *user, int sentence, int token) {
  (void)user, (void)sentence, (void)token;
  return 0;
}

/* run_text is run with the tokens of the texts; the pieces are the output behind the prompt. */
static void text_case(const char *spec, int lm, const char *prompt, int beam) {
  const char *from = lm ? "" : "ein Satz";
  int src[40], tgt[40], n, size, same;
  syn_context c;
  syn_model *m;
  syn_decode_config k;
  syn_decoder *d, *by_ids;
  syn_batch b;
  pieces got;
  char text[400], want[400];
  float x, y;
  const int *ids, *other;
  syn_context_init(&c, NULL);
  m = text_model(&c, spec, lm);
  memset(&k, 0, sizeof k);
  memset(&b, 0, sizeof b);
  memset(&got, 0, sizeof got);
  k.beam = beam;
  d = syn_decoder_new(&c, m, &k);
  by_ids = syn_decoder_new(&c, m, &k);
  CHECK(d && syn_decoder_run_text(d, text_of(from), text_of(prompt), beam > 1 ? NULL : add_piece, &got) == SYN_OK, "%s",
        c.message);
  n = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_SRC), text_of(from), src, 39);
  src[n] = SYN_END;
  b.count = 1, b.src = lm ? NULL : src, b.src_width = n + 1;
  tgt[0] = SYN_BEGIN;
  n = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_TGT), text_of(prompt), tgt + 1, 39);
  b.tgt = tgt, b.tgt_width = n + 1;
  CHECK(by_ids && syn_decoder_run(by_ids, &b, NULL, NULL) == SYN_OK, "%s", c.message);
  ids = syn_decoder_output(d, 0, 0, &size, &x);
  other = syn_decoder_output(by_ids, 0, 0, &same, &y);
  CHECK(ids && other && size == same && x == y && !memcmp(ids, other, (size_t)size * sizeof *ids), "%s: other tokens", spec);
  syn_tokenizer_decode(syn_model_tokenizer(m, SYN_TGT), other, same, want, sizeof want);
  CHECK(syn_decoder_output_text(d, 0, 0, text, sizeof text, &y) == strlen(want) && !strcmp(text, want) && x == y,
        "%s: '%s', wanted '%s'", spec, text, want);
  if (beam > 1) {
    CHECK(syn_decoder_run_text(d, text_of(from), text_of(prompt), add_piece, &got) == SYN_E_VALUE && got.count == 0 &&
              strstr(c.message, "a beam of 3") && !syn_decoder_output(d, 0, 0, NULL, NULL),
          "%s: a beam with a callback: %s", spec, c.message);
    syn_context_clear(&c);
    CHECK(syn_decoder_run(d, &b, stop_never, NULL) == SYN_E_VALUE && strstr(c.message, "a beam of 3"), "%s", c.message);
  } else if (strcmp(spec, "byte")) {
    CHECK(got.count > 0 && !strncmp(text, prompt, strlen(prompt)) && !strcmp(text + strlen(prompt), got.text),
          "%s: streamed '%s' behind '%s', output '%s'", spec, got.text, prompt, text);
    got.stop_after = 2, got.count = 0, got.size = 0;
    CHECK(syn_decoder_run_text(d, text_of(from), text_of(prompt), add_piece, &got) == SYN_OK && got.count == 2 &&
              syn_decoder_output(d, 0, 0, &size, NULL) && size == n + 2, "%s: %d pieces, %d tokens", spec, got.count, size);
  }
  CHECK(syn_decoder_output_text(d, 0, 5, text, sizeof text, NULL) == 0 && !text[0], "rank 5");
  syn_decoder_free(d);
  syn_decoder_free(by_ids);
  syn_model_free(m);
}

/* Bytes become whole characters; what is none becomes U+FFFD. */
static void test_stream(void) {
  static const char bytes[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xFFz\xC3z\x80\xE2\x82\xC3\xA4\xF0\x9F";
  static const char want[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBDz\xEF\xBF\xBDz\xEF\xBF\xBD"
                             "\xEF\xBF\xBD\xC3\xA4\xEF\xBF\xBD";
  syn_context c;
  syn_tokenizer *t;
  syn__text_stream s;
  pieces got;
  size_t i;
  syn_context_init(&c, NULL);
  t = syn_tokenizer_learn(&c, "byte", 0, NULL, 0);
  CHECK(t, "%s", c.message);
  memset(&got, 0, sizeof got);
  memset(&s, 0, sizeof s);
  s.t = t, s.call = add_piece, s.user = &got, s.first = 1;
  for (i = 0; t && i + 1 < sizeof bytes; i++)
    syn__stream_token(&s, 0, SYN_FIRST_TOKEN + (unsigned char)bytes[i]);
  syn__stream_token(&s, 0, SYN_END);
  syn__stream_flush(&s);
  CHECK(!strcmp(got.text, want) && got.count == 12, "streamed '%s' in %d pieces", got.text, got.count);
  syn_tokenizer_free(t);
}

/* A text that was cut gives the output of what is left of it. */
static void cut_decoded(syn_decoder *d, const char *source, const char *prompt, const char *left[2], int removed) {
  char want[400], got[400];
  syn_context *c = d->c;
  int size = 0, same = -1;
  CHECK(!syn_decoder_run_text(d, text_of(left[0]), text_of(left[1]), NULL, NULL) && !syn_decoder_cut(d, 0), "%s", c->message);
  syn_decoder_output_text(d, 0, 0, want, sizeof want, NULL);
  syn_decoder_output(d, 0, 0, &size, NULL);
  CHECK(!syn_decoder_run_text(d, text_of(source), text_of(prompt), NULL, NULL) && syn_decoder_cut(d, 0) == removed,
        "'%s' '%s': %d removed: %s", source, prompt, syn_decoder_cut(d, 0), c->message);
  syn_decoder_output_text(d, 0, 0, got, sizeof got, NULL);
  syn_decoder_output(d, 0, 0, &same, NULL);
  CHECK(size == same && size && !strcmp(want, got), "'%s', wanted '%s'", got, want);
}

/* max_len is 24 here: a prompt that leaves no token is cut to 12. */
static void test_text_cut(void) {
  const char *const text = "ein kleiner und noch ein Satz", *left[2] = {"", "noch ein Satz"}; /* 29 tokens */
  syn_context c;
  syn_model *m;
  syn_decode_config k;
  syn_decoder *d;
  syn_context_init(&c, NULL);
  m = text_model(&c, "char", 1);
  d = syn_decoder_new(&c, m, NULL);
  left[1] = text + 29 - 12;
  cut_decoded(d, "", text, left, 17);
  left[1] = text + 29 - 23; /* one token more fits: it stays */
  cut_decoded(d, "", left[1], left, 0);
  CHECK(!syn_decoder_cut(NULL, 0) && !syn_decoder_cut(d, 1) && !syn_decoder_cut(d, -1), "no sentence");
  syn_decoder_free(d);
  memset(&k, 0, sizeof k);
  k.cut = SYN_CUT_TAIL, k.max_len = 5;
  d = syn_decoder_new(&c, m, &k);
  left[1] = "ei";
  cut_decoded(d, "", text, left, 27);
  left[1] = "klei";
  cut_decoded(d, "", "klei", left, 0);
  syn_decoder_free(d);
  k.max_len = 1;
  d = syn_decoder_new(&c, m, &k);
  left[1] = "";
  cut_decoded(d, "", text, left, 29);
  syn_decoder_free(d);
  k.max_len = 0, k.cut = SYN_CUT_NONE;
  d = syn_decoder_new(&c, m, &k);
  CHECK(syn_decoder_run_text(d, text_of(""), text_of(text), NULL, NULL) == SYN_E_SHAPE && strstr(c.message, "29 tokens"), "%s", c.message);
  syn_context_clear(&c);
  syn_decoder_free(d);
  syn_model_free(m);
  m = text_model(&c, "char", 0);
  k.cut = SYN_CUT_MIDDLE, k.source_len = 13;
  d = syn_decoder_new(&c, m, &k);
  left[0] = "einch ein Sa", left[1] = "ein";
  cut_decoded(d, "ein kleiner und noch ein Sa", "ein", left, 15);
  syn_decoder_free(d);
  k.cut = 7;
  CHECK(!syn_decoder_new(&c, m, &k) && strstr(c.message, "cut is 7"), "%s", c.message);
  syn_model_free(m);
}

/* -- many texts in one call -- */

enum { TEXTS = 11 };
static const char *const many_sources[TEXTS] = {"ein", "", "noch ein Satz", "Test", "ein kleiner", "ein", "und", "5", "kleiner Test ein",
                                                "noch", "nun"};
static const char *const many_prompts[TEXTS] = {"", "ein", "", "und", "e", "", "noch", "ein", "ein kleiner Test und noch einer", "", "und"};

/* What the callback has seen. */
typedef struct many {
  uint64_t hash[TEXTS]; /* of tokens and score of each output; 0: none */
  int calls, stop_after, cut[TEXTS];
  long *cancel;
} many;
static uint64_t hash_outputs(const syn_decoder *d, int sentence) {
  uint64_t hash = 1;
  int rank, size;
  float score;
  const int *ids;
  for (rank = 0; (ids = syn_decoder_output(d, sentence, rank, &size, &score)) != NULL; rank++)
    hash = syn_hash(syn_hash(hash, &score, sizeof score), ids, (size_t)size * sizeof *ids);
  return hash;
}
static int many_done(void *user, const syn_decoder *d, size_t index, int sentence) {
  many *k = (many *)user;
  CHECK(index < TEXTS && !k->hash[index], "text %lu is done twice", (unsigned long)index);
  k->hash[index] = hash_outputs(d, sentence);
  k->cut[index] = syn_decoder_cut(d, sentence);
  CHECK(syn_decoder_run_text((syn_decoder *)d, text_of(""), text_of(""), NULL, NULL) != SYN_OK && d->c->status, "a run inside");
  syn_context_clear(d->c);
  return ++k->calls == k->stop_after;
}

/* The outputs of each text are those that it has alone in one thread. */
static void many_case(int lm, const syn_decode_config *how, int limit, int threads) {
  static const uint64_t seeds[TEXTS] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11};
  syn_text given[TEXTS], prompts[TEXTS];
  syn_context c, alone;
  syn_options o;
  syn_model *m;
  syn_decoder *d, *one;
  syn_decode_config k = *how;
  many all;
  int i;
  memset(&o, 0, sizeof o);
  o.threads = threads;
  syn_context_init(&c, &o);
  syn_context_init(&alone, NULL);
  m = text_model(&c, "char", lm);
  for (i = 0; i < TEXTS; i++) given[i] = text_of(many_sources[i]), prompts[i] = text_of(many_prompts[lm || i != 8 ? i : 0]);
  memset(&all, 0, sizeof all);
  d = syn_decoder_new(&c, m, &k);
  k.sentences = 1;
  one = syn_decoder_new(&alone, m, &k);
  syn_decoder_set_seeds(d, seeds);
  syn_decoder_set_limit(d, limit), syn_decoder_set_limit(one, limit);
  CHECK(!syn_decoder_run_texts(d, lm ? NULL : given, prompts, TEXTS, many_done, &all) && all.calls == TEXTS, "%d: %s", all.calls,
        c.message);
  CHECK(!syn_decoder_output(d, 0, 0, NULL, NULL), "an output behind the last text");
  for (i = 0; i < TEXTS; i++) {
    syn_decoder_set_seeds(one, seeds + i);
    CHECK(!syn_decoder_run_text(one, lm ? text_of("") : given[i], prompts[i], NULL, NULL) && hash_outputs(one, 0) == all.hash[i] &&
              syn_decoder_cut(one, 0) == all.cut[i] && (all.cut[i] > 0) == (lm && i == 8),
          "text %d of %s in batches of %d, beam %d, %d threads", i, lm ? "lm" : "seq2seq", how->sentences, how->beam, threads);
  }
  memset(&all, 0, sizeof all);
  all.stop_after = 3;
  CHECK(!syn_decoder_run_texts(d, given, lm ? prompts : NULL, TEXTS, many_done, &all) && all.calls == 3, "%d: %s", all.calls, c.message);
  CHECK(!syn_decoder_run_texts(d, NULL, NULL, 0, many_done, &all), "no texts: %s", c.message);
  syn_decoder_free(one), syn_decoder_free(d);
  syn_model_free(m);
}

static int many_cancel(void *user) { return --*(int *)user < 0; }
static void test_many(void) {
  static const syn_text longs[2] = {{"ein", 3}, {"noch ein kleiner Test und noch ein Satz", 39}};
  syn_decode_config k;
  syn_options o;
  syn_context c;
  syn_model *m;
  syn_decoder *d;
  many all;
  int lm, left = 20;
  for (lm = 0; lm < 2; lm++) {
    memset(&k, 0, sizeof k);
    k.sentences = 4;
    many_case(lm, &k, 0, 1);
    k.score = 1;
    many_case(lm, &k, 5, 2);
    k.temperature = 1.0f, k.top_k = 5, k.sentences = 3;
    many_case(lm, &k, 0, 3);
    k.temperature = 0.0f, k.beam = 3, k.best = 2, k.sentences = 16;
    many_case(lm, &k, 7, 2 + lm);
  }
  memset(&o, 0, sizeof o);
  o.cancel = many_cancel, o.cancel_user = &left;
  syn_context_init(&c, &o);
  m = text_model(&c, "char", 0);
  memset(&all, 0, sizeof all);
  d = syn_decoder_new(&c, m, NULL);
  CHECK(syn_decoder_run_texts(d, longs, NULL, 2, many_done, &all) == SYN_E_SHAPE && !all.calls && strstr(c.message, "source text 1 has 39 tokens"),
        "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_decoder_run_texts(d, NULL, NULL, 2, many_done, &all) == SYN_E_VALUE && strstr(c.message, "array of sources"), "%s", c.message);
  syn_context_clear(&c);
  syn_decoder_set_limit(d, -1);
  CHECK(strstr(c.message, "a limit of -1 tokens"), "%s", c.message);
  syn_context_clear(&c);
  left = 30;
  CHECK(syn_decoder_run_texts(d, longs, NULL, 1, NULL, NULL) == SYN_OK, "%s", c.message);
  left = 3;
  CHECK(syn_decoder_run_texts(d, longs, NULL, 1, many_done, &all) == SYN_E_CANCELLED && !all.calls, "%s", c.message);
  CHECK(syn_decoder_run_texts(NULL, longs, NULL, 1, NULL, NULL) == SYN_E_VALUE, "no decoder");
  syn_decoder_set_limit(NULL, 1);
  syn_decoder_free(d);
  syn_model_free(m);
}

/* A limit for one call gives what a decoder of that max_len gives; a prompt that is cut leaves room for it. */
static void test_call_limit(void) {
  static const char *const prompts[] = {"", "ein Satz"};
  syn_context c;
  syn_model *m;
  syn_decode_config k;
  syn_decoder *d, *small;
  int i, size = 0, beam;
  syn_context_init(&c, NULL);
  m = text_model(&c, "char", 1);
  for (i = 0; i < 2; i++)
    for (beam = 1; beam < 4; beam += 2) {
      memset(&k, 0, sizeof k);
      k.beam = k.best = beam, k.score = 1;
      d = syn_decoder_new(&c, m, &k);
      k.max_len = 4 + (int)strlen(prompts[i]);
      small = syn_decoder_new(&c, m, &k);
      syn_decoder_set_limit(d, 4);
      CHECK(!syn_decoder_run_text(d, text_of(""), text_of(prompts[i]), NULL, NULL) &&
                !syn_decoder_run_text(small, text_of(""), text_of(prompts[i]), NULL, NULL) && hash_outputs(d, 0) == hash_outputs(small, 0) &&
                syn_decoder_output(d, 0, 0, &size, NULL) && size <= k.max_len,
            "'%s', beam %d: %d tokens: %s", prompts[i], beam, size, c.message);
      syn_decoder_set_limit(d, 0);
      CHECK(!syn_decoder_run_text(d, text_of(""), text_of(prompts[i]), NULL, NULL) && hash_outputs(d, 0) != hash_outputs(small, 0),
            "without the limit: %s", c.message);
      syn_decoder_free(d), syn_decoder_free(small);
    }
  d = syn_decoder_new(&c, m, NULL); /* max_len is 24 */
  syn_decoder_set_limit(d, 6);
  CHECK(!syn_decoder_run_text(d, text_of(""), text_of("ein kleiner Test und"), NULL, NULL) && syn_decoder_cut(d, 0) == 2, "%s", c.message);
  syn_decoder_set_limit(d, 1000000);
  CHECK(!syn_decoder_run_text(d, text_of(""), text_of("ein kleiner Test und"), NULL, NULL) && syn_decoder_cut(d, 0) == 8, "%s", c.message);
  syn_decoder_free(d);
  syn_model_free(m);
}

/* The score of an output: the sum of log softmax of its tokens over all V, by a forward pass. */
static void test_score(void) {
  syn_context c;
  syn_model *m;
  syn_decode_config k;
  syn_decoder *d, *plain;
  syn_run *r;
  int i, j, n, size, same, rows, tgt[24], lm;
  for (lm = 0; lm < 2; lm++)
    for (i = 0; i < 2; i++) {
      float score, none;
      double sum = 0.0;
      const int *ids, *other;
      const float *z;
      syn_batch b;
      int src[] = {4, 5, 6, SYN_END};
      syn_context_init(&c, NULL);
      m = text_model(&c, "char", lm);
      memset(&k, 0, sizeof k);
      memset(&b, 0, sizeof b);
      k.temperature = (float)i, k.seed = 3;
      plain = syn_decoder_new(&c, m, &k);
      k.score = 1;
      d = syn_decoder_new(&c, m, &k);
      b.count = 1, b.src_width = 4;
      if (!lm) b.src = src;
      CHECK(!syn_decoder_run(d, &b, NULL, NULL) && !syn_decoder_run(plain, &b, NULL, NULL), "%s", c.message);
      ids = syn_decoder_output(d, 0, 0, &size, &score), other = syn_decoder_output(plain, 0, 0, &same, &none);
      CHECK(ids && other && size == same && !memcmp(ids, other, (size_t)size * sizeof *ids) && none == 0.0f, "other tokens");
      tgt[0] = SYN_BEGIN;
      for (j = 1; j < size; j++) tgt[j] = ids[j - 1];
      b.tgt = tgt, b.tgt_width = size;
      r = syn_run_new(&c, m, NULL);
      CHECK(!syn_run_forward(r, &b), "%s", c.message);
      z = syn_run_logits(r, 0, &rows);
      n = syn_model_config(m)->tgt_vocab;
      for (j = 0; z && j < rows; j++) {
        double all = 0.0;
        int v;
        for (v = 0; v < n; v++) all += exp((double)z[j * n + v]);
        sum += (double)z[j * n + ids[j]] - log(all);
      }
      sum /= pow((5.0 + size) / 6.0, 0.6);
      CHECK(rows == size && fabs(sum - (double)score) < 1e-4 * fabs(sum) && score < 0.0f, "score %g, wanted %g", (double)score, sum);
      syn_run_free(r);
      syn_decoder_free(d), syn_decoder_free(plain);
      k.score = 2;
      CHECK(!syn_decoder_new(&c, m, &k) && strstr(c.message, "score 2 (0 or 1)"), "%s", c.message);
      syn_model_free(m);
    }
}

static void test_text(void) {
  static const char *const specs[] = {"char", "byte", "bpe:40", "space"};
  syn_context c;
  syn_model *m;
  syn_decode_config k;
  syn_decoder *d;
  int lm, i, size;
  for (lm = 0; lm < 2; lm++)
    for (i = 0; i < 4; i++) {
      text_case(specs[i], lm, "", 1);
      text_case(specs[i], lm, "ein", 1);
      text_case(specs[i], lm, "noch ein", 3);
    }
  test_stream();
  syn_context_init(&c, NULL);
  m = text_model(&c, "char", 0);
  memset(&k, 0, sizeof k);
  k.source_len = 6;
  k.max_len = 4;
  d = syn_decoder_new(&c, m, &k);
#define BAD_TEXT(source, prompt, word) \
  CHECK(syn_decoder_run_text(d, text_of(source), text_of(prompt), NULL, NULL) != SYN_OK && strstr(c.message, word), \
        "wanted %s: %s", word, c.message); \
  CHECK(!syn_decoder_output(d, 0, 0, &size, NULL), "an output of a text that was refused"); \
  syn_context_clear(&c)
  CHECK(syn_decoder_run_text(d, text_of("ein S"), text_of("ein"), NULL, NULL) == SYN_OK, "%s", c.message);
  BAD_TEXT("ein Sa", "", "source text has 6 tokens, planned were 5");
  BAD_TEXT("ein", "einer", "target text has 5 tokens, planned were 3");
  syn_model_set_tokenizers(m, NULL, NULL);
  BAD_TEXT("ein", "", "no source tokenizer");
  syn_decoder_free(d);
  syn_model_free(m);
  m = text_model(&c, "char", 1);
  d = syn_decoder_new(&c, m, NULL);
  BAD_TEXT("ein", "", "the task lm has no source");
  syn_model_set_tokenizers(m, NULL, NULL);
  BAD_TEXT("", "ein", "no target tokenizer");
#undef BAD_TEXT
  CHECK(syn_decoder_run_text(NULL, text_of(""), text_of(""), NULL, NULL) != SYN_OK, "no decoder");
  syn_decoder_free(d);
  syn_model_free(m);
}

/* -- the callback -- */

typedef struct calls {
  int sentence[SOURCES * L], token[SOURCES * L], count, stop_sentence, stop_after, seen;
} calls;

static int note(void *user, int sentence, int token) {
  calls *k = (calls *)user;
  k->sentence[k->count] = sentence;
  k->token[k->count++] = token;
  return sentence == k->stop_sentence && ++k->seen >= k->stop_after;
}

/* Tokens come place by place, within a place sentence by sentence, and are the outputs; a sentence that is
   stopped ends with the token that stopped it, the others do not notice. */
static void test_callback(void) {
  bench b;
  calls free_run, stopped;
  syn_batch batch;
  syn_decoder *d;
  int i, k, size, place[SOURCES] = {0}, last = 0, full[SOURCES], texts[SOURCES][L];
  if (!bench_make(&b, 0, 61, -3.0f)) return;
  batch = source(&b, 0, SOURCES);
  d = decoder_of(&b, SOURCES, 1, 1, 0.0f, L);
  memset(&free_run, 0, sizeof free_run);
  memset(&stopped, 0, sizeof stopped);
  free_run.stop_sentence = -1;
  CHECK(d && syn_decoder_run(d, &batch, note, &free_run) == SYN_OK, "%s", b.c.message);
  for (i = 0; i < free_run.count; i++) {
    int sentence = free_run.sentence[i], now = place[sentence]++ * SOURCES + sentence;
    const int *text = syn_decoder_output(d, sentence, 0, &size, NULL);
    CHECK(i == 0 || now > last, "call %d comes too late", i);
    CHECK(text && place[sentence] <= size && text[place[sentence] - 1] == free_run.token[i], "call %d", i);
    last = now;
  }
  for (i = 0; i < SOURCES; i++) {
    const int *text = syn_decoder_output(d, i, 0, &full[i], NULL);
    CHECK(text && place[i] == full[i], "sentence %d: %d calls, %d tokens", i, place[i], full[i]);
    if (text) memcpy(texts[i], text, (size_t)full[i] * sizeof *text);
  }
  stopped.stop_sentence = 2;
  stopped.stop_after = 2;
  CHECK(full[2] > 2 && syn_decoder_run(d, &batch, note, &stopped) == SYN_OK, "%s", b.c.message);
  for (i = 0; i < SOURCES; i++) {
    const int *text = syn_decoder_output(d, i, 0, &size, NULL);
    CHECK(text && size == (i == 2 ? 2 : full[i]), "sentence %d: %d tokens, before %d", i, size, full[i]);
    for (k = 0; text && k < size; k++) CHECK(text[k] == texts[i][k], "sentence %d, token %d", i, k);
  }
  syn_decoder_free(d);
  bench_free(&b);
}

/* A callback that uses its own decoder: refused each time, and the outputs are as without it. */
typedef struct inside {
  bench *b;
  syn_decoder *d;
  syn_batch batch;
  int calls, refused;
} inside;

static void inside_refused(inside *k) {
  k->refused += k->b->c.status == SYN_E_VALUE && strstr(k->b->c.message, "decoder is at work") != NULL;
  syn_context_clear(&k->b->c);
}
static int call_inside(void *user, int sentence, int token) {
  static const int banned[] = {4, -9, 1000000, 0, 0};
  inside *k = (inside *)user;
  (void)sentence, (void)token;
  k->calls += 4;
  CHECK(syn_decoder_run(k->d, &k->batch, call_inside, user), "a run inside a run");
  inside_refused(k);
  CHECK(syn_decoder_run_text(k->d, text_of(""), text_of(""), NULL, NULL), "a text inside a run");
  inside_refused(k);
  syn_decoder_set_banned(k->d, banned); /* nobody would check it any more */
  inside_refused(k);
  syn_decoder_free(k->d);
  inside_refused(k);
  return 0;
}
static void test_inside(void) {
  bench b;
  inside k;
  int i, n, m, want[SOURCES][L], sizes[SOURCES];
  if (!bench_make(&b, 1, 62, -3.0f)) return;
  memset(&k, 0, sizeof k);
  k.b = &b, k.batch = source(&b, 0, SOURCES), k.d = decoder_of(&b, SOURCES, 1, 1, 0.0f, L);
  CHECK(k.d && !syn_decoder_run(k.d, &k.batch, NULL, NULL), "%s", b.c.message);
  for (i = 0; i < SOURCES; i++) {
    const int *text = syn_decoder_output(k.d, i, 0, &n, NULL);
    memcpy(want[i], text, (size_t)n * sizeof *text), sizes[i] = n;
  }
  CHECK(!syn_decoder_run(k.d, &k.batch, call_inside, &k) && !b.c.status, "%s", b.c.message);
  CHECK(k.calls >= 20 && k.calls == k.refused, "%d of %d calls are refused", k.refused, k.calls);
  for (i = 0; i < SOURCES; i++) {
    const int *text = syn_decoder_output(k.d, i, 0, &m, NULL);
    CHECK(m == sizes[i] && !memcmp(text, want[i], (size_t)m * sizeof *text), "sentence %d: another output", i);
  }
  syn_decoder_free(k.d);
  bench_free(&b);
}

/* -- limits and errors -- */

static void bad_decoder(bench *b, syn_decode_config k, const char *word) {
  CHECK(!syn_decoder_new(&b->c, b->m, &k) && b->c.status == SYN_E_VALUE && strstr(b->c.message, word),
        "wanted %s: %s", word, b->c.message);
  syn_context_clear(&b->c);
}

static void test_configs(bench *b) {
  syn_decode_config none, k;
  memset(&none, 0, sizeof none);
#define BAD(field, value, word) k = none, k.field = value, bad_decoder(b, k, word)
  BAD(beam, -1, "beam is -1");
  BAD(beam, 1025, "beam is 1025");
  BAD(best, 2, "best is 2");
  BAD(best, -2, "best is -2");
  BAD(sentences, -1, "sentences is -1");
  BAD(sentences, 65537, "sentences is 65537");
  BAD(max_len, L + 1, "max_len 6");
  BAD(max_len, -1, "max_len -1");
  BAD(source_len, -1, "source_len -1");
  k = none, k.sentences = 3, k.source_len = INT_MAX, bad_decoder(b, k, "source_len 2147483647");
  BAD(prefill, -1, "prefill is -1");
  BAD(prefill, 65537, "prefill is 65537");
  BAD(temperature, -1.0f, "temperature -1");
  BAD(temperature, NAN, "temperature");
  BAD(top_k, -1, "top_k -1");
  BAD(top_p, 1.5f, "top_p 1.5");
  BAD(top_p, -0.5f, "top_p -0.5");
  BAD(top_p, NAN, "nan (0 to 1)");
  BAD(top_p, 1.0000001f, "top_p 1");
  BAD(temperature, INFINITY, "temperature inf");
  BAD(alpha, NAN, "nan: the length penalty");
  BAD(alpha, INFINITY, "alpha inf");
  BAD(alpha, 1e30f, "the length penalty of 5 tokens");
  BAD(unknown, 2, "unknown 2");
  BAD(unknown, -1, "unknown -1");
#undef BAD
  k = none;
  k.temperature = 1.0f;
  k.beam = 2;
  bad_decoder(b, k, "temperature 1 with beam 2");
  k = none;
  k.sentences = 65536;
  k.source_len = 1 << 20;
  bad_decoder(b, k, "source_len 1048576");
}

/* Values at the ends of their ranges: what comes out is what the nearest ordinary value gives. */
static void test_ends(void) {
  typedef struct {
    float temperature, top_p, alpha;
    int top_k, beam, max_len, prefill;
  } ends;
  static const ends same[][2] = {{{1e-45f, 0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0, 0}},
                                 {{1e-30f, 1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 0}},
                                 {{1, 1e-45f, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 0}},
                                 {{1e30f, FLT_MIN, 0, 0, 0, 0, 0}, {1e30f, 0, 0, 1, 0, 0, 0}},
                                 {{FLT_MAX, 0, 0, 0, 0, 0, 0}, {1e10f, 0, 0, 0, 0, 0, 0}},
                                 {{1, 0, 0, V, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0}},
                                 {{1, 0, 0, V + 1, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0}},
                                 {{1, 1, 0, INT_MAX, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0}},
                                 {{1, 0.99999994f, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0}},
                                 {{0, 0, 1e-45f, 0, 3, 0, 0}, {0, 0, -1, 0, 3, 0, 0}},
                                 {{0, 0, -FLT_MAX, 0, 3, 0, 0}, {0, 0, -1, 0, 3, 0, 0}},
                                 {{0, 0, 0, 0, 1024, 0, 0}, {0, 0, 0, 0, 1023, 0, 0}},
                                 {{0, 0, 100, 0, 3, 2, 0}, {0, 0, 90, 0, 3, 2, 0}},
                                 {{0, 0, 0, 0, 1, 1, 0}, {0, 0, 1e30f, 0, 1, 1, 0}},
                                 {{0, 0, 0, 0, 4, 1, 0}, {0, 0, FLT_MAX, 0, 4, 1, 0}},
                                 {{0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 65536}}};
  bench b;
  size_t i;
  int which, k, sentence, n, m;
  for (which = 0; which < 2; which++) {
    if (!bench_make(&b, which, 33, -1.0f)) continue;
    for (i = 0; i < sizeof same / sizeof *same; i++) {
      syn_batch batch = source(&b, 0, b.lm ? 1 : SOURCES);
      syn_decoder *d[2];
      for (k = 0; k < 2; k++) {
        const ends *e = &same[i][k];
        syn_decode_config how;
        memset(&how, 0, sizeof how);
        how.sentences = SOURCES, how.seed = 3;
        how.temperature = e->temperature, how.top_p = e->top_p, how.alpha = e->alpha;
        how.top_k = e->top_k, how.beam = e->beam, how.max_len = e->max_len, how.prefill = e->prefill;
        d[k] = syn_decoder_new(&b.c, b.m, &how);
        CHECK(d[k] && !syn_decoder_run(d[k], &batch, NULL, NULL), "case %d: %s", (int)i, b.c.message);
      }
      for (sentence = 0; d[0] && d[1] && sentence < batch.count; sentence++) {
        const int *x = syn_decoder_output(d[0], sentence, 0, &n, NULL), *y = syn_decoder_output(d[1], sentence, 0, &m, NULL);
        CHECK(x && y && n == m && !memcmp(x, y, (size_t)n * sizeof *x), "case %d, sentence %d: %d tokens, wanted %d", (int)i,
              sentence, n, m);
      }
      syn_decoder_free(d[0]), syn_decoder_free(d[1]);
    }
    bench_free(&b);
  }
}

static void bad_batch(bench *b, syn_decoder *d, const syn_batch *batch, const char *word) {
  int size;
  CHECK(syn_decoder_run(d, batch, NULL, NULL) != SYN_OK && b->c.status != SYN_OK && strstr(b->c.message, word),
        "wanted %s: %s", word, b->c.message);
  CHECK(!syn_decoder_output(d, 0, 0, &size, NULL) && size == 0, "an output of a batch that was refused");
  syn_context_clear(&b->c);
}

static void test_batches(bench *b) {
  static const int long_source[] = {4, 4, 4, 4, 4, 3}, high[] = {4, 9, 3}, low[] = {4, -1, 3}, hole[] = {4, 0, 3};
  static const int no_begin[] = {4, 4}, unequal[] = {2, 4, 2, 0}, gap[] = {2, 0, 4}, high_tgt[] = {2, 6}, long_tgt[] = {2, 4, 4, 4, 4, 4};
  static const int none[] = {0, 0, 0};
  syn_decoder *d = decoder_of(b, 2, 1, 1, 0.0f, L);
  syn_batch good = source(b, 0, 2), k;
  int size;
  float score;
  CHECK(!syn_decoder_output(d, 0, 0, &size, &score) && size == 0 && score == 0.0f, "before the first batch");
  k = source(b, 0, 3), bad_batch(b, d, &k, "3 sentences");
  k = source(b, 0, 0), bad_batch(b, d, &k, "0 sentences");
  k = good, k.count = 1, k.src = long_source, k.src_width = 6, bad_batch(b, d, &k, "6 tokens");
  k.src = high, k.src_width = 3, bad_batch(b, d, &k, "is 9");
  k.src = low, bad_batch(b, d, &k, "is -1");
  k.src = hole, bad_batch(b, d, &k, "is 0");
  k.src = none, bad_batch(b, d, &k, "empty");
  k.src = NULL, bad_batch(b, d, &k, "no source");
  k = good, k.tgt = no_begin, k.tgt_width = 1, bad_batch(b, d, &k, "prompt");
  k.tgt = unequal, k.tgt_width = 2, bad_batch(b, d, &k, "one length");
  k.count = 1, k.tgt = high_tgt, bad_batch(b, d, &k, "is 6");
  k.tgt = gap, k.tgt_width = 3, bad_batch(b, d, &k, "token 1 of sentence 0 is 0, wanted 1 to");
  k.tgt = long_tgt, k.tgt_width = 6, bad_batch(b, d, &k, "6 tokens");
  k.tgt = none, k.tgt_width = 3, bad_batch(b, d, &k, "0 tokens");
  bad_batch(b, d, NULL, "batch");
  CHECK(syn_decoder_run(d, &good, NULL, NULL) == SYN_OK, "after all that: %s", b->c.message);
  CHECK(!syn_decoder_output(d, 2, 0, &size, NULL) && !syn_decoder_output(d, -1, 0, &size, NULL) &&
            !syn_decoder_output(d, 0, 1, &size, NULL) && !syn_decoder_output(d, 0, -1, &size, NULL) &&
            !syn_decoder_output(d, INT_MAX, INT_MAX, &size, &score) && !syn_decoder_output(NULL, 0, 0, &size, &score),
        "outputs that are not there");
  CHECK(syn_decoder_run(NULL, &good, NULL, NULL) != SYN_OK, "no decoder");
  syn_decoder_free(d);
  syn_decoder_free(NULL);
}

static void test_limits(void) {
  bench b;
  syn_config k;
  syn_decode_config wide;
  syn_model *m;
  syn_decoder *d;
  if (!bench_make(&b, 1, 7, 0.0f)) return;
  test_configs(&b);
  test_batches(&b);
  CHECK(!syn_decoder_new(&b.c, NULL, NULL) && b.c.status == SYN_E_VALUE, "no model");
  syn_context_clear(&b.c);
  k = *syn_model_config(b.m);
  k.task = "classify";
  k.classes = 3;
  k.tie = NULL;
  m = syn_model_new(&b.c, &k);
  CHECK(m && !syn_decoder_new(&b.c, m, NULL) && strstr(b.c.message, "classify"), "%s", b.c.message);
  syn_model_free(m);
  syn_context_clear(&b.c);
  k = *syn_model_config(b.m); /* an encoder without tables reads sources longer than max_len */
  k.encoder = "pos -> res_nd(ffl)";
  memset(&wide, 0, sizeof wide);
  wide.source_len = 20;
  m = syn_model_new(&b.c, &k);
  d = m ? syn_decoder_new(&b.c, m, &wide) : NULL;
  CHECK(d, "%s", b.c.message);
  if (d) {
    int source_of[20], i, size;
    syn_batch batch;
    memset(&batch, 0, sizeof batch);
    for (i = 0; i < 20; i++) source_of[i] = 3 + i % 6;
    batch.count = 1, batch.src = source_of, batch.src_width = 20;
    CHECK(syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK && syn_decoder_output(d, 0, 0, &size, NULL), "%s",
          b.c.message);
  }
  syn_decoder_free(d);
  syn_model_free(m);
  bench_free(&b);
}

/* -- long outputs, large vocabularies: by full passes over what was made -- */

enum { LONG = 45 };
typedef struct large {
  syn_context c;
  syn_model *m;
  syn_run *r;
  int v;
} large;

/* end: what is added to the bias of the end; -30: it never comes. */
static int large_make(large *b, int v, const char *decoder, const char *isa, float end) {
  syn_config k;
  syn_options o;
  syn_random r;
  size_t i, n;
  memset(&k, 0, sizeof k);
  memset(&o, 0, sizeof o);
  o.isa = isa;
  o.threads = 2;
  syn_context_init(&b->c, &o);
  k.task = "lm";
  k.decoder = decoder;
  k.d_model = 64;
  k.max_len = LONG;
  k.tgt_vocab = b->v = v;
  k.tie = "none";
  b->m = syn_model_new(&b->c, &k);
  b->r = b->m ? syn_run_new(&b->c, b->m, NULL) : NULL;
  CHECK(b->r, "%s", b->c.message);
  if (!b->r) return 0;
  r.state = 5;
  for (n = 0; n < syn_model_param_count(b->m); n++) {
    const syn_param *p = syn_model_param(b->m, n);
    for (i = 0; i < p->size; i++) p->x[i] += 0.2f * syn_random_normal(&r);
  }
  syn_model_find(b->m, "out.b")->x[SYN_END] += end;
  return 1;
}
static void large_free(large *b) {
  syn_run_free(b->r);
  syn_model_free(b->m);
}
/* Logits [size, v] before every token of a text of n tokens behind begin and `first`. */
static const float *large_logits(large *b, const int *text, int n, int first) {
  static int in[LONG + 1];
  syn_batch batch;
  int rows;
  const float *z;
  memset(&batch, 0, sizeof batch);
  in[0] = SYN_BEGIN;
  memcpy(in + 1, text, (size_t)n * sizeof *in);
  batch.count = 1, batch.tgt = in, batch.tgt_width = n;
  CHECK(in[1] == first && syn_run_forward(b->r, &batch) == SYN_OK, "%s", b->c.message);
  z = syn_run_logits(b->r, 0, &rows);
  CHECK(z && rows == n, "%d rows", rows);
  return z;
}

/* The score of every output of a beam is the sum of log p of its tokens. */
static void long_beam(const char *decoder, float end) {
  static const int begins[] = {SYN_BEGIN, 7, SYN_BEGIN, 9, SYN_BEGIN, 4};
  large b;
  syn_decode_config k;
  syn_batch batch;
  syn_decoder *d;
  int sentence, rank, size, i, w;
  if (!large_make(&b, 90, decoder, NULL, end)) return;
  memset(&k, 0, sizeof k);
  memset(&batch, 0, sizeof batch);
  k.sentences = 3, k.beam = k.best = 5, k.alpha = -1.0f;
  batch.count = 3, batch.tgt = begins, batch.tgt_width = 2;
  d = syn_decoder_new(&b.c, b.m, &k);
  CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
  for (sentence = 0; d && sentence < 3; sentence++)
    for (rank = 0; rank < 5; rank++) {
      float score;
      const int *text = syn_decoder_output(d, sentence, rank, &size, &score);
      const float *z;
      double want = 0;
      CHECK(text && (size == LONG || (end > -30.0f && text[size - 1] == SYN_END)), "%s: %d tokens",
            decoder, size);
      if (!text) continue;
      z = large_logits(&b, text, size, begins[2 * sentence + 1]);
      for (i = 0; z && i < size; i++, z += b.v) {
        double sum = 0;
        for (w = 0; w < b.v; w++) sum += exp((double)z[w]);
        if (i) want += (double)z[text[i]] - log(sum); /* the first was given */
      }
      CHECK(fabs((double)score - want) < 1e-3, "%s sentence %d rank %d: %g, wanted %g", decoder, sentence, rank,
            (double)score, want);
    }
  syn_decoder_free(d);
  large_free(&b);
}

/* Greedy where out.w is large: the first of the largest logits, each row of out.w being there
   three times in `same` of the cases; and weights of which no bound can be told. */
static void large_greedy(const char *isa, int kind) {
  static const int begins[] = {SYN_BEGIN, 7, SYN_BEGIN, 9, SYN_BEGIN, 4, SYN_BEGIN, 800};
  large b;
  syn_decode_config k;
  syn_batch batch;
  syn_decoder *d;
  const syn_param *w, *bias;
  int sentence, size, i, t, best, unknown = 0;
  size_t n;
  if (!large_make(&b, 1701, "repeat(2, res_nd(syn_att(V))) -> norm", isa, -30.0f)) return;
  w = syn_model_find(b.m, "out.w"), bias = syn_model_find(b.m, "out.b");
  for (i = 567; kind == 1 && i < 1701; i++) { /* ties */
    memcpy(w->x + i * 64, w->x + i % 567 * 64, 64 * sizeof(float));
    bias->x[i] = bias->x[i % 567];
  }
  for (n = 0; kind == 2 && n < w->size; n++) w->x[n] *= 1e-4f; /* all nearly alike */
  if (kind == 3) w->x[900] = 1e20f;
  if (kind == 4) bias->x[9] = NAN;
  if (kind == 5) bias->x[0] = bias->x[1] = bias->x[2] = 1000.0f; /* never chosen */
  if (kind == 7) bias->x[1] = 12.0f; /* chosen where config.unknown is 1 */
  if (kind == 6) { /* the first of a block, another just below it, all others far below */
    memcpy(w->x + 700 * 64, w->x + 640 * 64, 64 * sizeof(float));
    bias->x[640] = 50.0f, bias->x[700] = 49.999f;
  }
  memset(&k, 0, sizeof k);
  memset(&batch, 0, sizeof batch);
  k.sentences = 4;
  k.unknown = kind == 7;
  batch.count = kind == 0 ? 4 : 3, batch.tgt = begins, batch.tgt_width = 2;
  d = syn_decoder_new(&b.c, b.m, &k);
  CHECK(d && syn_decoder_run(d, &batch, NULL, NULL) == SYN_OK, "%s", b.c.message);
  for (sentence = 0; d && sentence < batch.count; sentence++) {
    const int *text = syn_decoder_output(d, sentence, 0, &size, NULL);
    const float *z = text ? large_logits(&b, text, size, begins[2 * sentence + 1]) : NULL;
    CHECK(z && size == LONG, "%d tokens", size);
    for (t = 1; z && t < size; t++) {
      const float *row = z + t * b.v;
      for (best = kind == 7 ? SYN_UNKNOWN : SYN_END, i = best; i < b.v; i++)
        if (i != SYN_BEGIN && row[i] > row[best]) best = i;
      unknown += best == SYN_UNKNOWN;
      CHECK(text[t] == best, "case %d sentence %d place %d: %d (%g), wanted %d (%g)", kind, sentence, t, text[t],
            (double)row[text[t]], best, (double)row[best]);
    }
  }
  CHECK(kind != 7 || unknown > 3, "unknown %d times", unknown);
  syn_decoder_free(d);
  large_free(&b);
}

static void test_large(void) {
  int i;
  long_beam("repeat(2, res_nd(syn_att(V))) -> norm", -30.0f);
  long_beam("repeat(2, res_nd(syn_att(V))) -> norm", 1.5f); /* one leaves after 5 tokens, one after 28 */
  for (i = 0; i < 8; i += CHECK_EMULATED ? 3 : 1) large_greedy(NULL, i);
  large_greedy("scalar", 0);
  if (CHECK_QUICK) return;
  long_beam("rel_pos -> res_nd(syn_att(R+V, c=5)) -> res_nd(syn_att(V)) -> norm", -30.0f);
  long_beam("res_nd(syn_att(D, heads=3, c=16)) -> res_nd(syn_att(CRC+V, softmax=1)) -> norm", -30.0f);
  for (i = 1; i < 8; i++) large_greedy("scalar", i);
}

/* -- type i8: the same bits on every ISA, for every number of threads, alone or in a batch -- */

static const char *const int8_texts[][3] = {
    {"seq2seq", "pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm",
     "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl(40, gelu))) -> norm"},
    {"seq2seq", "birnn -> light_conv(3) -> cnn(18, 3, relu) -> linear",
     "input_feed -> rnn(18, lstm) -> mlp_src_att -> res_nd(aop(keys=20)) -> norm"},
    {"seq2seq", "pos -> linformer(4) -> highway(syn_att(D)) -> norm",
     "pos -> highway(syn_att(CRC)) -> parallel(rnn(9, gru) | cnn(9, 3, glu)) -> res_nd(mh_dot_att) -> norm"},
    {"lm", NULL, "pos -> repeat(2, res(rms_norm -> syn_att(V)) -> res(rms_norm -> ff(70, glu) -> linear)) -> norm"}};
enum { I8_V = 61, I8_N = 12, I8_S = 5 };

static syn_model *int8_model(syn_context *c, int which) {
  syn_config k;
  syn_random r = {99};
  syn_model *m;
  size_t i, n;
  memset(&k, 0, sizeof k);
  k.task = int8_texts[which][0];
  k.encoder = int8_texts[which][1];
  k.decoder = int8_texts[which][2];
  k.d_model = 18; /* no multiple of 4 */
  k.heads = 3;
  k.max_len = I8_N;
  k.src_vocab = k.tgt_vocab = I8_V;
  m = syn_model_new(c, &k);
  CHECK(m, "case %d: %s", which, c->message);
  for (n = 0; m && n < syn_model_param_count(m); n++)
    for (i = 0; i < syn_model_param(m, n)->size; i++)
      syn_model_param(m, n)->x[i] += 0.2f * syn_random_normal(&r);
  return m;
}

static int int8_packed; /* 1: the model is packed before: the int8 panels are made of its panels */

/* A hash of the outputs and scores, decoded `together` at a time. table: which int8 kernels of the ISA;
   -1: type f32. 0: it has no such kernels. */
static uint64_t int8_outputs(const syn_options *o, int which, int table, int beam, int together) {
  static const int src[I8_S * 6] = {4, 9, 30, 60, 3, 0, 7, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0,
                                    22, 23, 24, 25, 26, 3, 50, 4, 3, 0, 0, 0};
  syn_context c;
  syn_model *m;
  syn_decoder *d = NULL;
  syn_decode_config k;
  uint64_t hash = 1;
  int first, i, lm = !int8_texts[which][1];
  memset(&k, 0, sizeof k);
  syn_context_init(&c, o);
  m = int8_model(&c, which);
  k.sentences = together, k.beam = beam, k.best = beam, k.type = table < 0 ? "f32" : "i8";
  CHECK(!int8_packed || !syn_model_pack(m), "%s", c.message);
  if (table < 0 || syn__isas.int8(c.kernels, table)) d = syn_decoder_new(&c, m, &k);
  CHECK(d || table >= 0, "case %d: %s", which, c.message);
  if (d && table >= 0) d->run->tape.int8 = syn__isas.int8(c.kernels, table);
  for (first = 0; d && first < I8_S; first += together) {
    syn_batch b;
    memset(&b, 0, sizeof b);
    b.count = syn__min(together, I8_S - first);
    b.src = lm ? NULL : src + 6 * first, b.src_width = lm ? 0 : 6;
    CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "case %d: %s", which, c.message);
    for (i = 0; i < b.count * beam; i++) {
      float score;
      int size;
      const int *text = syn_decoder_output(d, i / beam, i % beam, &size, &score);
      hash = syn_hash(syn_hash(hash, &score, sizeof score), text, (size_t)size * sizeof *text);
    }
  }
  syn_decoder_free(d);
  syn_model_free(m);
  return d ? hash : 0;
}

static void test_int8(void) {
  syn_options o;
  uint64_t wanted, got;
  int which, beam, row, table;
  for (which = 0; which < (int)SYN__COUNT(int8_texts); which++)
    for (beam = 1; beam < 5; beam += 3) {
      memset(&o, 0, sizeof o);
      wanted = int8_outputs(&o, which, 0, beam, I8_S);
      CHECK(wanted != int8_outputs(&o, which, -1, beam, I8_S) || beam == 1, "case %d: type i8 does nothing", which);
      for (row = 0; row < syn_isa_count(); row++)
        for (o.isa = syn_isa_name(row), table = 0; table < 4 && syn_isa_usable(row); table++) {
          syn_context c;
          if (syn_context_init(&c, &o) != SYN_OK || !syn_context_exact(&c)) continue;
          got = int8_outputs(&o, which, table, beam, I8_S);
          CHECK(!got || got == wanted, "case %d beam %d: other bits on %s, table %d", which, beam, o.isa, table);
        }
      o.isa = NULL;
      got = int8_outputs(&o, which, 0, beam, 2);
      CHECK(got == wanted, "case %d beam %d: other bits in batches of 2", which, beam);
      int8_packed = 1;
      got = int8_outputs(&o, which, 0, beam, I8_S);
      int8_packed = 0;
      CHECK(got == wanted, "case %d beam %d: other bits of a packed model", which, beam);
      o.threads = which % 2 ? 3 : 16, o.parallel = pool_in_turn;
      got = int8_outputs(&o, which, 0, beam, I8_S);
      CHECK(got == wanted, "case %d beam %d: other bits with threads", which, beam);
    }
}

/* The logits of the first step are near those of floats. */
static void test_int8_near(void) {
  syn_context c;
  syn_model *m;
  syn_decode_config k;
  syn_decoder *d[2];
  const float *z[2];
  float error = 0.0f, most = 0.0f;
  int i;
  memset(&k, 0, sizeof k);
  syn_context_init(&c, NULL);
  m = int8_model(&c, 3);
  for (i = 0; m && i < 2; i++) {
    syn_batch b;
    memset(&b, 0, sizeof b);
    b.count = 1;
    k.type = i ? "i8" : NULL;
    k.max_len = 1;
    k.beam = 2; /* all logits, no bounds */
    d[i] = syn_decoder_new(&c, m, &k);
    CHECK(d[i] && syn_decoder_run(d[i], &b, NULL, NULL) == SYN_OK, "%s", c.message);
    if (!d[i]) return;
    z[i] = syn__decode_logits(d[i], 0);
  }
  for (i = SYN_END; m && i < I8_V; i++) {
    error = fabsf(z[0][i] - z[1][i]) > error ? fabsf(z[0][i] - z[1][i]) : error;
    most = fabsf(z[0][i]) > most ? fabsf(z[0][i]) : most;
  }
  CHECK(error > 0.0f && error < 0.05f * most, "logits of type i8 differ by %g, the largest is %g", (double)error,
        (double)most);
  for (i = 0; m && i < 2; i++) syn_decoder_free(d[i]);
  k.type = "i7";
  CHECK(m && !syn_decoder_new(&c, m, &k) && strstr(c.message, "i7") && strstr(c.message, "f32 or i8"), "%s",
        c.message);
  syn_model_free(m);
}

/* An encoder whose scores are a product that is packed: every ISA has the score of the scalar one. */
static void test_encoder_scores(void) {
  static const int source[] = {5, 1, 5, 3};
  static const char *const kinds[] = {"syn_att(FR+D)", "syn_att(FR)", "syn_att(FD)", "linformer", "aop", "light_conv"};
  float scalar = 0.0f, score;
  int i, n, size;
  for (n = 0; n < 6; n++)
    for (i = 0; i < syn_isa_count(); i++) {
      syn_options o;
      syn_config k;
      syn_decode_config how;
      syn_batch b;
      syn_context c;
      syn_model *m;
      syn_decoder *d;
      if (!syn_isa_usable(i) || !strcmp(syn_isa_name(i), "wasm_plain")) continue;
      memset(&o, 0, sizeof o), memset(&k, 0, sizeof k), memset(&how, 0, sizeof how), memset(&b, 0, sizeof b);
      o.isa = syn_isa_name(i);
      syn_context_init(&c, &o);
      k.encoder = kinds[n], k.decoder = "res(mh_dot_src_att)";
      k.d_model = 8, k.heads = 4, k.max_len = 4, k.src_vocab = k.tgt_vocab = 9;
      how.max_len = 4, how.beam = 2;
      b.count = 1, b.src = source, b.src_width = 4;
      m = syn_model_new(&c, &k);
      d = syn_decoder_new(&c, m, &how);
      CHECK(!syn_decoder_run(d, &b, NULL, NULL) && syn_decoder_output(d, 0, 0, &size, &score), "%s", c.message);
      if (!i) scalar = score;
      CHECK(!memcmp(&score, &scalar, sizeof score) || !syn_context_exact(&c), "%s, %s: %.9g, scalar %.9g", kinds[n],
            o.isa, (double)score, (double)scalar);
      syn_decoder_free(d);
      syn_model_free(m);
    }
}

int main(void) {
  test_encoder_scores();
  test_int8();
  test_int8_near();
  test_large();
  test_beam();
  test_exhaustive();
  test_greedy();
  test_batched();
  test_many_sources();
  test_sampling();
  test_sampling_texts();
  test_prefix();
  test_prefill();
  test_long();
  test_prefill_plan();
  test_excluded();
  test_sampled_list();
  test_cancel();
  test_text_cut();
  test_many();
  test_call_limit();
  test_score();
  test_text();
  test_callback();
  test_inside();
  test_ends();
  test_limits();
  return CHECK_END("decode");
}
