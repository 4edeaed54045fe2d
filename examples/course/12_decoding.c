/* 12   Greedy, beam search, sampling: three ways from logits to a text

   You will be able to choose between greedy decoding, beam search and sampling, and to write each.

   Idea: a decoder gives one row of logits z for the next token. Which token to take is a second
   question. log p (token) = z - log sum exp z; the log p of a text is the sum over its tokens.
     greedy     the most probable next token, again and again
     beam K     the K most probable texts so far; every token is tried behind each of them
     sampling   drawn by probability; a temperature < 1 makes unlikely ones rarer, top_p drops them
   60 of 100 sentences below begin with "the", but they go on in 18 ways. "rain" and "a storm comes"
   are each more probable than any of these 18. Greedy decoding never finds them.

   Compile, run:  make -C examples/course lesson N=12   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/12_decoding.c -o decoding -lm && ./decoding
   Expected:      examples/course/expected/12.txt */
#include "course.h"
enum { V = 18, LONGEST = 8, BEAM = 4, SENTENCES = 1000 }; /* V: 4 special tokens, 14 words */

typedef struct hypothesis { /* a text in the making */
  int tokens[LONGEST], size;
  float log_p;
} hypothesis;

/* z [V]: what the network says about the token behind begin, tokens[0] .. tokens[size-1] */
static void next_logits(syn_run *run, const hypothesis *h, float *z) {
  int in[LONGEST + 1] = {SYN_BEGIN}, rows;
  syn_batch b = {.count = 1, .tgt = in, .tgt_width = h->size + 1};
  memcpy(in + 1, h->tokens, (size_t)h->size * sizeof *in);
  syn_run_forward(run, &b);
  memcpy(z, syn_run_logits(run, 0, &rows) + h->size * V, V * sizeof *z); /* the last row */
}

/* log p divided by a power of the length, so that short texts do not always win (Wu et al. 2016) */
static float score(const hypothesis *h, float alpha) {
  return h->log_p / powf((5.0f + (float)h->size) / 6.0f, alpha);
}

static hypothesis beam_search(syn_run *run, int beam, float alpha) {
  hypothesis live[BEAM] = {{.size = 0}}, next[BEAM], done = {.log_p = -INFINITY};
  for (int step = 0, count = 1, kept = 0; step < LONGEST && count; step++) {
    float all[BEAM][V]; /* log p of every text with every next token */
    for (int r = 0; r < count; r++) {
      float sum = 0;
      next_logits(run, &live[r], all[r]);
      for (int i = 0; i < V; i++) sum += expf(all[r][i]);
      for (int i = 0; i < V; i++) all[r][i] += live[r].log_p - logf(sum);
      all[r][SYN_PAD] = all[r][SYN_UNKNOWN] = all[r][SYN_BEGIN] = -INFINITY; /* no text has these */
    }
    for (int n = 0; n < 2 * beam && kept < beam; n++) { /* 2K: at most K of them end */
      int best = 0;
      for (int i = 1; i < count * V; i++)
        best = all[i / V][i % V] > all[best / V][best % V] ? i : best;
      hypothesis h = live[best / V];
      h.tokens[h.size++] = best % V;
      h.log_p = all[best / V][best % V];
      all[best / V][best % V] = -INFINITY;
      if (best % V != SYN_END) next[kept++] = h;
      else if (score(&h, alpha) > score(&done, alpha)) done = h;
    }
    memcpy(live, next, sizeof live);
    count = kept, kept = 0;
  }
  return done;
}

/* The hash inside syn_random_next, which adds a constant first. */
static uint64_t mix(uint64_t z) {
  return syn_random_next(&(syn_random){z - UINT64_C(0x9E3779B97F4A7C15)});
}

static int draw(float *z, float temperature, float top_p, syn_random *r) {
  int order[V], n = 0; /* order: the tokens, the most probable first */
  float all = 0, kept = 0, point;
  for (int i = 0; i < V; i++) all += z[i] = expf(z[i] / temperature); /* p times `all` */
  for (int i = 0, k; i < V; i++) {
    for (k = i; k > 0 && z[order[k - 1]] < z[i]; k--) order[k] = order[k - 1];
    order[k] = i;
  }
  while (n < V && kept < top_p) kept += z[order[n++]] / all;
  point = syn_random_uniform(r) * kept; /* from 0 to the sum of those that are kept */
  for (n = 0; n + 1 < V && (point -= z[order[n]] / all) >= 0.0f;) n++;
  return order[n];
}

/* Token by token: greedy where the temperature is 0, else sampling. */
static hypothesis one_by_one(syn_run *run, float temperature, float top_p, uint64_t seed) {
  hypothesis h = {.size = 0};
  float z[V];
  for (int token = 0; h.size < LONGEST && token != SYN_END; h.tokens[h.size++] = token) {
    syn_random r = {mix(seed ^ mix((uint64_t)h.size))}; /* as the library does: >>sampling */
    next_logits(run, &h, z);
    z[SYN_PAD] = z[SYN_UNKNOWN] = z[SYN_BEGIN] = -INFINITY;
    token = 0;
    for (int i = 1; i < V; i++) token = z[i] > z[token] ? i : token;
    if (temperature > 0) token = draw(z, temperature, top_p, &r);
  }
  return h;
}

/* A sentence: "the" with one of 18 ends, or one of two others. */
static syn_text make_sentence(syn_random *r, char *out) {
  static const char *const nouns[] = {"cat", "dog", "fox", "owl", "bee", "cow"};
  static const char *const verbs[] = {"sleeps", "waits", "sings"};
  int chance = syn_random_below(r, 100);
  if (chance < 60) sprintf(out, "the %s %s", nouns[chance % 6], verbs[syn_random_below(r, 3)]);
  else strcpy(out, chance < 80 ? "rain" : "a storm comes");
  return syn_text_of(out);
}

int main(void) {
  static char lines[SENTENCES][40];
  static const struct {
    const char *name;
    syn_decode_config how;
  } ways[] = { /* alpha -1: no length penalty, for 0 stands for the library's default */
    {"greedy", {.beam = 1}}, {"beam 2, no length penalty", {.beam = 2, .alpha = -1}},
    {"beam 4, alpha 1", {.beam = 4, .alpha = 1}}, {"temperature 1", {.temperature = 1, .top_p = 1}},
    {"temperature 0.5, top_p 0.9", {.temperature = 0.5f, .top_p = 0.9f}}};
  syn_text texts[SENTENCES];
  syn_random r = {8};
  syn_context c; /* keeps the first error */
  for (int i = 0; i < SENTENCES; i++) texts[i] = make_sentence(&r, lines[i]);
  syn_context_init(&c, NULL);
  syn_tokenizer *words = syn_tokenizer_learn(&c, "space", 0, texts, SENTENCES);
  syn_config network = {.task = "lm", .decoder = "pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm",
    .d_model = 16, .heads = 2, .max_len = LONGEST, .tgt_vocab = V};
  syn_train_config how = {.lr = 0.01f, .steps = 400, .batch_tokens = 1024};
  syn_model *m = syn_model_new(&c, &network);
  syn_model_set_tokenizers(m, NULL, words);
  syn_data *data = syn_data_new(&c);
  for (int i = 0; i < SENTENCES; i++) syn_data_add_text(data, m, syn_text_of(""), texts[i]);
  syn_trainer_run(syn_trainer_new(&c, m, &how), data, NULL, NULL, NULL);
  syn_run *run = syn_run_new(&c, m, NULL);
  for (int i = 0; i < 5 && !c.status; i++) {
    const syn_decode_config *way = &ways[i].how;
    syn_decoder *d = syn_decoder_new(&c, m, way);
    uint64_t seed = 0;
    int same = 0, size, count = way->temperature > 0 ? 100 : 1;
    printf("%s:", ways[i].name);
    for (syn_decoder_set_seeds(d, &seed); seed < (uint64_t)count; seed++) {
      hypothesis h = way->beam > 1 ? beam_search(run, way->beam, fmaxf(way->alpha, 0))
                                   : one_by_one(run, way->temperature, way->top_p, seed);
      syn_decoder_run_text(d, syn_text_of(""), syn_text_of(""), NULL, NULL);
      const int *tokens = syn_decoder_output(d, 0, 0, &size, NULL);
      same += size == h.size && !memcmp(tokens, h.tokens, (size_t)size * sizeof *tokens);
      syn_tokenizer_decode(words, h.tokens, h.size, lines[0], sizeof lines[0]);
      if (seed < 5) printf(" [%s]", lines[0]);
    }
    printf("\n  syn_decoder_run writes the same: %d of %d\n", same, count);
  }
  return puts(c.message), c.status != SYN_OK;
}

/* To try: a beam of 1; temperature 3; top_p 0.2; alpha 0.3 (it divides log p, see `score`). */
