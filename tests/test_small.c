/* Small models: written from a model, they choose the tokens that the model chooses, greedy and
   with a beam; samples have their frequencies; RAM is what was planned; a damaged array, tokens and
   sizes outside their range give an error or an output. */
#include <limits.h>
#include <stdint.h>
static void see_logit(float z);
#define SYN__SMALL_TRACE(z) see_logit(z)
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "sign.h"
#include "sink.h"

static float logits[256];
static int n_logits;
static void see_logit(float z) {
  if (n_logits < 256) logits[n_logits++] = z;
}

enum { LETTERS = 12, LENGTH = 9, VOCAB = SYN_FIRST_TOKEN + LETTERS };

/* Row i: up to 7 letters; the target is the source reversed. */
static int row_of(uint64_t i, int *src, int *tgt) {
  syn_random r = {i * 2654435761u + 1};
  int n = 1 + syn_random_below(&r, LENGTH - 2), k;
  for (k = 0; k < n; k++) src[k] = tgt[n - 1 - k] = SYN_FIRST_TOKEN + syn_random_below(&r, LETTERS);
  src[n] = SYN_END;
  return n;
}

static syn_model *trained(syn_context *c, const char *encoder, const char *decoder, long steps) {
  syn_config k;
  syn_train_config how;
  syn_data *d = syn_data_new(c);
  syn_model *m;
  syn_trainer *t;
  int i, src[LENGTH], tgt[LENGTH];
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  k.encoder = encoder;
  k.decoder = decoder;
  k.d_model = 32;
  k.heads = 4;
  k.max_len = LENGTH;
  k.src_vocab = k.tgt_vocab = VOCAB;
  k.seed = 1;
  how.lr = 0.004f;
  how.warmup = 50;
  how.steps = steps;
  how.batch_tokens = CHECK_SHORT ? 200 : 400;
  m = syn_model_new(c, &k);
  for (i = 0; i < 2000; i++) {
    int n = row_of((uint64_t)i, src, tgt);
    syn_data_add(d, src, n + 1, tgt, n);
  }
  t = syn_trainer_new(c, m, &how);
  syn_trainer_run(t, d, NULL, NULL, NULL);
  syn_trainer_free(t);
  syn_data_free(d);
  return m;
}

/* The small model of m with a type and layout, null: the default; free it. *size: its bytes. */
static int32_t *small_with(syn_context *c, const syn_model *m, const char *type, const char *layout,
                           size_t *size) {
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_small_options options;
  memset(&options, 0, sizeof options);
  options.type = type;
  options.layout = layout;
  syn_small_write(c, m, &options, &sink);
  *size = b.size;
  return (int32_t *)(void *)b.at;
}

static int32_t *small_of(syn_context *c, const syn_model *m, size_t *size) {
  return small_with(c, m, NULL, NULL, size);
}

/* The output of a source by the small model: its tokens without the end; -1: an error. */
static int output_of(syn_small *s, const int *src, int count, long work, int *out) {
  int n = 0, token = syn_small_source(s, src, count);
  while (token >= SYN_SMALL_MORE) {
    token = syn_small_step(s, work);
    if (token >= 0 && n < LENGTH) out[n++] = token;
  }
  return token == SYN_SMALL_END ? n : -1;
}

/* Unseen rows: the outputs are those of the model, but for a few where it has learned; slices of any
   size change nothing. */
static void test_tokens(syn_context *c, const syn_model *m, int beam, const char *name, int learned) {
  syn_decode_config config;
  syn_small_config how;
  syn_decoder *d;
  syn_small *s;
  size_t size;
  int32_t *w = small_of(c, m, &size);
  long ram;
  void *block;
  int i, k, error = 0, same = 0, rows = CHECK_QUICK ? 20 : 200;
  CHECK(w, "%s: %s", name, c->message);
  if (!w) return;
  memset(&how, 0, sizeof how);
  how.beam = beam;
  ram = syn_small_ram(w, size, &how);
  block = ram > 0 ? malloc((size_t)ram) : NULL;
  memset(&config, 0, sizeof config);
  config.beam = beam;
  d = syn_decoder_new(c, m, &config);
  s = block ? syn_small_open(block, (size_t)ram, w, size, &how, &error) : NULL;
  CHECK(d && s && !error, "%s: RAM %ld, error %d, %s", name, ram, error, c->message);
  for (i = 0; i < rows && d && s; i++) {
    int src[LENGTH], tgt[LENGTH], out[LENGTH], slices[LENGTH], count, n, size_out;
    const int *want;
    syn_batch b;
    count = row_of(100000 + (uint64_t)i, src, tgt) + 1;
    memset(&b, 0, sizeof b);
    b.count = 1;
    b.src = src;
    b.src_width = count;
    CHECK(syn_decoder_run(d, &b, NULL, NULL) == SYN_OK, "%s", c->message);
    want = syn_decoder_output(d, 0, 0, &size_out, NULL);
    n = output_of(s, src, count, 1000000, out);
    k = output_of(s, src, count, 1 + i * 37, slices);
    CHECK(n >= 0 && n == k && !memcmp(out, slices, (size_t)n * sizeof *out), "%s: slices of %d",
          name, 1 + i * 37);
    if (size_out && want[size_out - 1] == SYN_END) size_out--;
    same += n == size_out && !memcmp(out, want, (size_t)n * sizeof *out);
  }
  CHECK(!learned || same * 10 >= rows * 9, "%s, beam %d: %d of %d outputs are those of the model", name, beam,
        same, rows);
  syn_decoder_free(d);
  free(block);
  free(w);
}

/* -- formats of matrices and their kernels -- */

/* One panel of a format: the kernel gives the integers of the definition, for each ISA. mode 0:
   weights and inputs of any value; 1: the largest everywhere; 2: of either sign. The panel ends
   where its memory ends. */
static void test_kernel(int format, int isa, int k, int mode) {
  int32_t columns = syn__small_columns(format, k), size = syn__small_panel(format, columns), sum[4];
  int8_t *w = (int8_t *)malloc((size_t)size), q[8192 + 32];
  static int32_t lanes[8192 / 32 * 17];
  syn_random r = {(uint64_t)(k + mode)};
  int i, row;
  memset(q, 0, sizeof q);
  for (i = 0; i < size; i++) {
    int any = syn_random_below(&r, 256) - 128, sign = syn_random_below(&r, 2) ? 127 : -127;
    w[i] = (int8_t)(mode == 0 ? any : mode == 1 ? 127 : sign);
    if (format == SYN__SMALL_i4 && mode) w[i] = -1; /* two weights of 7, or a scale of 255 */
  }
  for (i = 0; i < k; i++)
    q[i] = (int8_t)(mode == 0 ? syn_random_below(&r, 255) - 127 : mode == 1 || i % 2 ? 127 : -127);
  syn__small_kernel(format, isa)(sum, w, syn__small_lanes(lanes, q, columns, format), columns);
  for (row = 0; row < 4; row++) {
    int64_t want = 0;
    for (i = 0; i < k; i++) want += syn__small_weight(w, format, columns, row, i) * (int64_t)q[i];
    CHECK(sum[row] == want, "format %d, ISA %d, %d columns, mode %d, row %d: %ld, wanted %ld",
          format, isa, k, mode, row, (long)sum[row], (long)want);
  }
  free(w);
}
static void test_kernels(void) {
  static const int columns[] = {1,  4,  5,  8,  12, 15,  16,  20,  28,
                                31, 32, 36, 64, 95, 100, 257, 1000, 8192};
  int format, isa, mode;
  size_t i;
  for (format = 0; format <= SYN__SMALL_i4; format++)
    for (isa = 0; isa <= syn__small_isa(); isa++)
      for (i = 0; i < sizeof columns / sizeof *columns; i++)
        for (mode = 0; mode < 3; mode++) test_kernel(format, isa, columns[i], mode);
  CHECK(!syn__small_kernel(-1, 0) && !syn__small_kernel(SYN__SMALL_i4 + 1, 0), "no such format");
}

/* A matrix becomes a format and is read again: each weight is at most half a step away, where rows
   of a panel are up to 50 times as large as others, and those behind the last are 0. */
static void test_matrix(syn_context *c, int format) {
  enum { ROWS = 6, COLUMNS = 40 };
  float x[ROWS * COLUMNS];
  syn__small_build l;
  syn_random r = {7};
  syn_small s;
  syn__small_matrix m;
  int32_t place;
  int i, j;
  for (i = 0; i < ROWS * COLUMNS; i++)
    x[i] = (syn_random_uniform(&r) - 0.5f) * (i / COLUMNS == 3 ? 0.02f : 1.0f);
  memset(&l, 0, sizeof l);
  memset(&s, 0, sizeof s);
  l.c = c;
  l.format = format;
  syn__lower_data(&l, 4, &place);
  place = syn__lower_weights(&l, x, ROWS, COLUMNS);
  s.w = (const int32_t *)l.data.items;
  m = syn__small_matrix_at(&s, place, ROWS, COLUMNS);
  CHECK((const char *)m.w + 2 * m.panel == (const char *)(s.w + l.data.count), "format %d: %lu words",
        format, (unsigned long)l.data.count);
  for (i = 0; i < 8; i++)
    for (j = 0; j < m.cols; j++) {
      float scale = m.scales[syn__small_scale(format, i)], step = scale;
      float y = scale * (float)syn__small_weight(m.w + i / 4 * m.panel, format, m.cols, i % 4, j);
      float want = i < ROWS && j < COLUMNS ? x[i * COLUMNS + j] : 0.0f;
      if (format == SYN__SMALL_i4)
        step *= (float)(uint8_t)m.w[i / 4 * m.panel + j / 32 * SYN__SMALL_I4_BYTES + 64 + i % 4];
      /* of i4 the largest weights may be cut, by half of their size at most */
      CHECK(fabsf(y - want) <= step * 0.501f || (format == SYN__SMALL_i4 && fabsf(y) > step * 6.5f &&
                                                fabsf(y) <= fabsf(want) && fabsf(want) < 2 * fabsf(y)),
            "format %d, weight %d, %d: %g, wanted %g, step %g", format, i, j, (double)y, (double)want,
            (double)step);
    }
  syn__free(c, l.data.items);
}

/* Every layout and ISA gives the same outputs and logits; i4 has others. */
static void test_formats(syn_context *c, const syn_model *m) {
  static const char *const formats[][2] = {
      {"i8", "smlad"}, {"i8", "rows"}, {"i8", "mve"}, {"i4", NULL}};
  enum { ROWS = 20 };
  static int first[ROWS][LENGTH + 1];
  float bits[64];
  int out[LENGTH + 1], src[LENGTH], tgt[LENGTH], isa, i, f;
  size_t size, whole = 0;
  for (f = 0; f < 4; f++)
    for (isa = 0; isa <= syn__small_isa(); isa++) {
      int32_t *w = small_with(c, m, formats[f][0], formats[f][1], &size);
      long ram = syn_small_ram(w, size, NULL);
      void *block = malloc(ram > 0 ? (size_t)ram : 1);
      syn_small *s = ram > 0 ? syn_small_open(block, (size_t)ram, w, size, NULL, NULL) : NULL;
      CHECK(s, "format %d: RAM %ld, %s", f, ram, c->message);
      if (s) s->isa = (unsigned char)isa;
      for (i = n_logits = 0; i < ROWS && s; i++) {
        memset(out, 0, sizeof out);
        out[LENGTH] = output_of(s, src, row_of(7000 + (uint64_t)i, src, tgt) + 1, 900, out);
        if (f % 3 == 0 && !isa) memcpy(first[i], out, sizeof out);
        CHECK(out[LENGTH] >= 0 && !memcmp(out, first[i], sizeof out),
              "format %d, ISA %d: another output %d", f, isa, i);
      }
      if (f % 3 == 0 && !isa) memcpy(bits, logits, sizeof bits);
      CHECK(!memcmp(bits, logits, sizeof bits), "format %d, ISA %d: other logits", f, isa);
      if (!f) whole = size;
      CHECK(f < 3 || size < whole * 7 / 10, "i4: %d bytes, i8: %d", (int)size, (int)whole);
      free(block);
      free(w);
    }
}
/* The tables of positions of encoder and decoder, which are equal, are there once. */
static void test_shared(syn_context *c, const syn_model *m) {
  size_t size;
  int32_t *w = small_of(c, m, &size), place[SYN__SMALL_IDLE] = {0}, p, at;
  for (p = 0; w && p < SYN__SMALL_IDLE; p++)
    for (at = w[SYN__SMALL_PROGRAMS + p]; (w[at] & 255) != SYN__SMALL_OP_end; at += w[at] >> 8)
      if ((w[at] & 255) == SYN__SMALL_OP_places) place[p] = w[at + 5];
  CHECK(place[SYN__SMALL_ENCODE] && place[SYN__SMALL_ENCODE] == place[SYN__SMALL_DECODE],
        "tables at %d and %d", (int)place[SYN__SMALL_ENCODE], (int)place[SYN__SMALL_DECODE]);
  free(w);
}
/* A type or layout without a name in the list. */
static void test_options(syn_context *c, const syn_model *m) {
  static const char *const bad[][2] = {{"i5", NULL}, {"i8", "i4"}, {NULL, "columns"}, {"", NULL}};
  size_t i, size;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    free(small_with(c, m, bad[i][0], bad[i][1], &size));
    CHECK(c->status == SYN_E_VALUE && !size && strstr(c->message, "types are"), "%s", c->message);
    syn_context_clear(c);
  }
}

/* -- other tasks: outputs beside those of a run -- */

/* A row of a task: letters in steps of `step`; label of a sentence: step - 1; of a token: its
   number modulo 3, plus 1. */
static int letters_of(uint64_t i, int *letters, int *step) {
  syn_random r = {i * 40503u + 9};
  int n = 2 + syn_random_below(&r, LENGTH - 3), at = syn_random_below(&r, LETTERS), k;
  *step = 1 + syn_random_below(&r, 3);
  for (k = 0; k < n; k++) letters[k] = SYN_FIRST_TOKEN + (at + k * *step) % LETTERS;
  return n;
}

/* A copy of the array is refused, or accepted, with another number in place of w[at]. */
static void check_word(int32_t *w, size_t size, int32_t at, int32_t value, int accepted, const char *what) {
  int32_t kept = w[at];
  long ram;
  w[at] = value;
  sign(w, size);
  ram = syn_small_ram(w, size, NULL);
  CHECK(accepted ? ram > 0 : ram == SYN_SMALL_E_DAMAGED, "word %d as %d, %s: %ld", (int)at, (int)value, what, ram);
  w[at] = kept;
  sign(w, size);
}
/* An operand may only name a region that has every row that is read there: else a model reads and
   writes behind the region. All regions are made as wide as the widest, so the rows alone decide. */
static void test_regions(syn_context *c, const syn_model *m) {
  size_t size;
  int32_t *w = small_of(c, m, &size), wide = 0, seen = 0, p, at, r;
  int lm = w[SYN__SMALL_TASK] == SYN__TASK_LM;
  for (r = 0; r < SYN__SMALL_REGIONS; r++) wide = syn__max(wide, w[SYN__SMALL_ROW_BYTES + r]);
  for (r = 0; r < SYN__SMALL_REGIONS; r++) w[SYN__SMALL_ROW_BYTES + r] = wide;
  sign(w, size);
  CHECK(syn_small_ram(w, size, NULL) > 0, "wide regions");
  for (p = lm ? SYN__SMALL_DECODE : 0; p < SYN__SMALL_IDLE; p++)
    for (at = w[SYN__SMALL_PROGRAMS + p]; (w[at] & 255) != SYN__SMALL_OP_end; at += w[at] >> 8) {
      const char *text = syn__small_text(w[at] & 255, 1);
      int32_t i = at, flags = at + (text[0] == 'i' ? 1 : 3), decode = p == SYN__SMALL_DECODE;
      for (; *text; text++) {
        if (*text < '0' || *text > '9') i++;
        if (strchr("xXSdlrc", *text)) {
          check_word(w, size, i, decode ? SYN__SMALL_SOURCE : SYN__SMALL_TARGET, 0, "rows of the other side");
          check_word(w, size, i, SYN__SMALL_STATE, 1, "the row that stays");
        }
        if (*text != 'C') continue;
        seen++;
        check_word(w, size, flags, w[flags] ^ SYN__SMALL_CAUSAL, 0, "keys of the other side");
        for (r = 0; r < SYN__SMALL_REGIONS; r++)
          check_word(w, size, i, r,
                     !decode ? r == SYN__SMALL_ENCODER || r == SYN__SMALL_SOURCE
                             : r == (w[flags] & SYN__SMALL_CAUSAL ? SYN__SMALL_TARGET : SYN__SMALL_SOURCE),
                     "a cache");
        if (!lm) continue;
        w[flags] ^= SYN__SMALL_CAUSAL;
        check_word(w, size, i, SYN__SMALL_SOURCE, 0, "keys of a source that is none");
        w[flags] ^= SYN__SMALL_CAUSAL;
      }
    }
  CHECK(seen > 1, "%d caches are read", (int)seen);
  free(w);
}

/* The output of that rank behind a prompt of two tokens, without its end, into `out`; returns its
   tokens. */
static int lm_output(const syn_decoder *d, int rank, int *out, float *score) {
  int count = 0, k;
  const int *ids = syn_decoder_output(d, 0, rank, &count, score);
  for (k = 2; k < count; k++) out[k - 2] = ids[k];
  return count - 2 - (count > 2 && ids[count - 1] == SYN_END);
}
static void test_task(syn_context *c, const char *task, const char *text, int beam,
                      const char *type) {
  int lm = !strcmp(task, "lm"), tag = !strcmp(task, "tag"), i, k, n, step, right = 0, all = 0;
  int rows = CHECK_SHORT ? 20 : 200, x[LENGTH], labels[LENGTH], width;
  syn_config config;
  syn_train_config how;
  syn_small_config how_small;
  syn_data *d = syn_data_new(c);
  syn_model *m;
  syn_trainer *t;
  syn_small *s;
  syn_run *run;
  size_t size;
  int32_t *w;
  long ram;
  void *block;
  memset(&config, 0, sizeof config);
  memset(&how, 0, sizeof how);
  config.task = task;
  if (lm) config.decoder = text;
  else config.encoder = text;
  config.d_model = 32;
  config.max_len = LENGTH;
  config.src_vocab = config.tgt_vocab = VOCAB;
  config.classes = tag ? 4 : 3;
  how.lr = 0.004f;
  how.steps = CHECK_SHORT ? 150 : 300;
  how.batch_tokens = 400;
  m = syn_model_new(c, &config);
  for (i = 0; i < 1000; i++) {
    n = letters_of((uint64_t)i, x, &step);
    for (k = 0; k < n; k++) labels[k] = tag ? 1 + x[k] % 3 : step - 1;
    x[n] = SYN_END;
    if (lm) syn_data_add(d, NULL, 0, x, n);
    else syn_data_add(d, x, tag ? n : n + 1, labels, tag ? n : 1);
  }
  t = syn_trainer_new(c, m, &how);
  syn_trainer_run(t, d, NULL, NULL, NULL);
  syn_trainer_free(t);
  syn_data_free(d);
  w = small_with(c, m, type, NULL, &size);
  if (lm) test_regions(c, m);
  memset(&how_small, 0, sizeof how_small);
  how_small.beam = beam;
  ram = w ? syn_small_ram(w, size, &how_small) : 0;
  block = ram > 0 ? malloc((size_t)ram) : NULL;
  s = block ? syn_small_open(block, (size_t)ram, w, size, &how_small, NULL) : NULL;
  run = syn_run_new(c, m, NULL);
  CHECK(s && run, "%s: %ld, %s", task, ram, c->message);
  for (i = 0; i < rows && s && run; i++) {
    int got[LENGTH], want[LENGTH], wanted = 0, count = 0, token;
    int other[LENGTH], others = -1; /* what the host finds nearly as likely; -1: nothing */
    syn_batch b;
    memset(&b, 0, sizeof b);
    b.count = 1;
    n = letters_of(70000 + (uint64_t)i, x, &step);
    if (lm) { /* the prompt: two letters */
      syn_decode_config how_decode;
      syn_decoder *decoder;
      int prompt[3] = {SYN_BEGIN, x[0], x[1]};
      float best, second;
      memset(&how_decode, 0, sizeof how_decode);
      how_decode.beam = beam;
      how_decode.best = beam > 1 ? 2 : 1;
      b.tgt = prompt;
      b.tgt_width = 3;
      decoder = syn_decoder_new(c, m, &how_decode);
      syn_decoder_run(decoder, &b, NULL, NULL);
      wanted = lm_output(decoder, 0, want, &best);
      n = beam > 1 ? lm_output(decoder, 1, other, &second) : -1;
      if (n >= 0 && best - second < 0.1f) others = n; /* the error of logits in int8 is up to 0.06 */
      syn_decoder_free(decoder);
      token = syn_small_source(s, prompt + 1, 2);
    } else {
      x[n] = SYN_END;
      b.src = x;
      b.src_width = tag ? n : n + 1;
      syn_run_forward(run, &b);
      for (k = 0; k < (tag ? n : 1); k++) {
        const float *z = syn_run_logits(run, 0, &wanted) + k * (tag ? 4 : 3);
        for (width = tag ? 4 : 3, want[k] = 0, token = 1; token < width; token++)
          if (z[token] > z[want[k]]) want[k] = token;
      }
      token = syn_small_source(s, x, b.src_width);
    }
    while (token >= SYN_SMALL_MORE) {
      token = syn_small_step(s, 500);
      if (token >= 0 && count < LENGTH) got[count++] = token;
    }
    if (count != wanted && count == others) {
      memcpy(want, other, sizeof want);
      wanted = others;
    }
    CHECK(token == SYN_SMALL_END && count == wanted, "%s: %d outputs, wanted %d", task, count,
          wanted);
    for (k = 0; k < count && k < wanted; k++) right += got[k] == want[k];
    all += wanted;
  }
  CHECK(all >= rows / beam && right * 20 >= all * 19,
        "%s, %s: %d of %d outputs are those of the model", task, type, right, all);
  syn_run_free(run);
  syn_model_free(m);
  free(block);
  free(w);
}

/* -- sampling -- */

/* The first tokens of many samples have the frequencies of the probabilities. */
static void test_samples(const int32_t *w, size_t size, const syn_small_config *how, int nucleus) {
  int rows = CHECK_EMULATED ? 1000 : 4000, i, src[] = {4, 5, 3}, seen[VOCAB] = {0}, order[VOCAB], n = 0;
  long ram = syn_small_ram(w, size, how);
  void *block = malloc((size_t)(ram > 0 ? ram : 1));
  syn_small *s = syn_small_open(block, (size_t)ram, w, size, how, NULL);
  double p[VOCAB], sum = 0.0, kept = 0.0;
  CHECK(s, "sampling needs %ld bytes", ram);
  for (i = 0; i < rows && s; i++) {
    int token = syn_small_source(s, src, 3);
    n_logits = 0;
    while (token == 0 || token == SYN_SMALL_MORE) token = syn_small_step(s, 1000000);
    if (token == SYN_SMALL_END) token = SYN_END;
    CHECK(token > SYN_BEGIN || (how->unknown && token == SYN_UNKNOWN), "token %d", token);
    seen[token > 0 ? token : 0]++;
  }
  for (i = 0; i < VOCAB; i++) {
    p[i] = i == SYN_PAD || i == SYN_BEGIN || (i == SYN_UNKNOWN && !how->unknown)
               ? 0.0 : exp((double)(logits[i] / how->temperature));
    sum += p[i];
  }
  for (i = 0; i < VOCAB; i++) { /* sorted, the most probable first */
    int k;
    p[i] /= sum;
    for (k = i; k > 0 && p[i] > p[order[k - 1]]; k--) order[k] = order[k - 1];
    order[k] = i;
  }
  while (n < (how->top_k ? how->top_k : VOCAB) && kept < (double)how->top_p) kept += p[order[n++]];
  CHECK(nucleus == n, "%d candidates, wanted %d", n, nucleus);
  for (i = 0; i < VOCAB; i++) {
    double q = i < n ? p[order[i]] / kept : 0.0, sd = sqrt(q * (1.0 - q) / rows);
    double got = (double)seen[order[i]] / rows;
    CHECK(fabs(got - q) <= 4.5 * sd + 1e-9, "token %d: %.4f of the samples, probability %.4f",
          order[i], got, q);
  }
  free(block);
}
static void test_sampling(syn_context *c) {
  syn_small_config how;
  syn_model *m =
      trained(c, "pos -> res_nd(syn_att(V)) -> norm", "pos -> res_nd(mh_dot_att) -> norm", 3);
  size_t size;
  int32_t *w = small_of(c, m, &size);
  memset(&how, 0, sizeof how);
  how.temperature = 0.7f;
  how.top_p = 0.9999f;
  how.seed = 5;
  test_samples(w, size, &how, VOCAB - 3);
  how.unknown = 1;
  test_samples(w, size, &how, VOCAB - 2);
  how.unknown = 0;
  how.top_k = 5;
  test_samples(w, size, &how, 5);
  how.top_k = 1;
  test_samples(w, size, &how, 1);
  how.beam = 2;
  CHECK(syn_small_ram(w, size, &how) == SYN_SMALL_E_VALUE, "a beam of samples");
  how.temperature = 0.0f;
  CHECK(syn_small_ram(w, size, &how) > 0, "a beam");
  how.beam = SYN_SMALL_MAX_BEAM + 1;
  CHECK(syn_small_ram(w, size, &how) == SYN_SMALL_E_VALUE, "a beam of 17");
  how.beam = 0;
  how.top_k = VOCAB + 1;
  CHECK(syn_small_ram(w, size, &how) == SYN_SMALL_E_VALUE, "more candidates than tokens");
  syn_model_free(m);
  free(w);
}

/* -- text -- */

/* Encodes and decodes as the tokenizer of the model does. */
static void test_text(syn_context *c, const char *spec, int flags) {
  static const char *const lines[] = {
      "The low lower lowest lows slow", "a newer new news  and low",
      "\xC3\x84pfel und \xC3\xA4pfel, Gr\xC3\xBC\xC3\x9F", "tab\tand lower  spaces ", "x", "",
      "\xEF\xBB\xBFlow mark", "unseen \xE2\x82\xAC and \xFF byte, lowerest", " low"};
  enum { LINES = sizeof lines / sizeof *lines };
  syn_text given[LINES];
  syn_tokenizer *t;
  syn_config config;
  syn_small_options options;
  syn_model *m;
  syn_small *s;
  bytes b;
  syn_sink sink = sink_of(&b);
  void *block;
  long ram;
  int i, k;
  for (i = 0; i < LINES; i++) given[i] = syn_text_of(lines[i]);
  t = syn_tokenizer_learn(c, spec, flags, given, 5);
  memset(&config, 0, sizeof config);
  config.encoder = "pos";
  config.decoder = "mh_dot_att";
  config.d_model = 8;
  config.heads = 1;
  config.max_len = 64;
  config.src_vocab = config.tgt_vocab = syn_tokenizer_size(t);
  m = syn_model_new(c, &config);
  syn_model_set_tokenizers(m, t, t);
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  CHECK(!syn_small_write(c, m, &options, &sink), "%s", c->message);
  ram = syn_small_ram(b.at, b.size, NULL);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = ram > 0 ? syn_small_open(block, (size_t)ram, b.at, b.size, NULL, NULL) : NULL;
  CHECK(s, "%s: RAM %ld", spec, ram);
  for (i = 0; i < LINES && s; i++) {
    int want[100], got[100], n = syn_tokenizer_encode(t, given[i], want, 99), m2;
    char text[200], back[200];
    size_t size;
    want[n++] = SYN_END;
    m2 = syn_small_encode(s, given[i], got, 100);
    CHECK(m2 == n && !memcmp(got, want, (size_t)n * sizeof *got), "%s: line %d has %d tokens, %d",
          spec, i, n, m2);
    CHECK(syn_small_encode(s, given[i], got, n - 1) == SYN_SMALL_E_VALUE, "%s: no room", spec);
    size = syn_tokenizer_decode(t, want, n, text, sizeof text);
    CHECK(syn_small_decode(s, want, n, back, sizeof back) == (long)size && !strcmp(text, back),
          "%s: line %d is \"%s\", wanted \"%s\"", spec, i, back, text);
    memmove(got + 1, want, (size_t)n * sizeof *got); /* a begin is no text, nor what follows an end */
    got[0] = SYN_BEGIN, got[n + 1] = SYN_FIRST_TOKEN;
    CHECK(syn_small_decode(s, got, n + 2, back, sizeof back) == (long)size && !strcmp(text, back),
          "%s: line %d behind a begin is \"%s\", wanted \"%s\"", spec, i, back, text);
    for (k = 0; k <= (int)size + 1; k++) { /* what fits, with a final 0 */
      memset(back, '?', sizeof back);
      CHECK(syn_small_decode(s, want, n, back, (size_t)k) == (long)size && back[k] == '?' &&
                (k ? strlen(back) < (size_t)k && !memcmp(back, text, strlen(back)) : 1) &&
                (k <= (int)size || !strcmp(back, text)),
            "%s: line %d in %d bytes", spec, i, k);
    }
    for (k = 0; k < n; k++) {
      syn_text piece = syn_small_piece(s, want[k], !k), whole = syn_tokenizer_piece(t, want[k], !k);
      CHECK(piece.size == whole.size && !memcmp(piece.at, whole.at, piece.size), "%s: token %d",
            spec, want[k]);
    }
  }
  for (i = 0; s && i < (CHECK_QUICK ? 500 : 20000); i++) { /* damaged words of the tokenizer */
    syn_random r = {(uint64_t)i};
    int32_t *w = (int32_t *)(void *)b.at, begin = w[SYN__SMALL_TOKENIZERS], *at, kept;
    int got[100], ids[3] = {4, i % 2 ? -1 : INT_MAX, 9};
    char back[50];
    at = w + (i % 8 ? begin + syn_random_below(&r, i % 2 ? 8 : (int)(b.size / 4) - begin)
                    : SYN__SMALL_TOKENIZERS);
    kept = *at;
    *at = i % 3 ? *at ^ (int32_t)(UINT32_C(1) << syn_random_below(&r, 32))
                : (int32_t)syn_random_next(&r);
    syn_small_encode(s, given[i % LINES], got, 100);
    syn_small_decode(s, ids, 3, back, sizeof back);
    *at = kept;
  }
  free(block);
  free(b.at);
  syn_model_free(m);
}

/* Texts of a small model without tokenizers, and without the model, the text or the tokens. */
static void test_no_tokenizers(syn_small *s) {
  syn_text text = syn_text_of("a b"), none = {NULL, 3};
  int tokens[4] = {4, 5, 6, 3};
  char out[9];
  CHECK(syn_small_encode(s, text, tokens, 4) == SYN_SMALL_E_MODEL, "encoding without a tokenizer");
  CHECK(syn_small_decode(s, tokens, 4, out, sizeof out) == SYN_SMALL_E_MODEL, "decoding without a tokenizer");
  CHECK(!syn_small_piece(s, 4, 1).size && !syn_small_piece(NULL, 4, 1).size, "pieces without a tokenizer");
  CHECK(syn_small_encode(NULL, text, tokens, 4) == SYN_SMALL_E_VALUE, "encoding without a model");
  CHECK(syn_small_encode(s, none, tokens, 4) == SYN_SMALL_E_VALUE, "encoding without a text");
  CHECK(syn_small_encode(s, text, NULL, 4) == SYN_SMALL_E_VALUE, "encoding to nowhere");
  CHECK(syn_small_decode(NULL, tokens, 4, out, sizeof out) == SYN_SMALL_E_VALUE, "decoding without a model");
  CHECK(syn_small_decode(s, tokens, -1, out, sizeof out) == SYN_SMALL_E_VALUE, "fewer than no tokens");
  CHECK(syn_small_decode(s, NULL, 4, out, sizeof out) == SYN_SMALL_E_VALUE, "decoding without tokens");
  CHECK(syn_small_decode(s, tokens, 4, NULL, 9) == SYN_SMALL_E_VALUE, "decoding to nowhere");
  CHECK(syn_small_learn(NULL, NULL, 0) == SYN_SMALL_E_VALUE, "learning without a model");
  CHECK(syn_small_correct(NULL, 4, 0.1f) == SYN_SMALL_E_VALUE, "correcting without a model");
}

/* What is wrong beside the array. */
static void test_limits(syn_context *c, const syn_model *m) {
  static const int bad[][3] = {{0, 4, 3}, {4, VOCAB, 3}, {4, -1, 3}};
  syn_small_config k;
  size_t size, i;
  int32_t *w = small_of(c, m, &size);
  int error = 0, src[LENGTH + 1] = {4, 5, 3};
  long ram = syn_small_ram(w, size, NULL), less;
  char *block = (char *)malloc((size_t)ram + 8);
  syn_small *s;
  CHECK(!syn_small_open(block, (size_t)ram - 1, w, size, NULL, &error) && error == SYN_SMALL_E_RAM,
        "one byte less: %d", error);
  CHECK(!syn_small_open(block + 4, (size_t)ram, w, size, NULL, &error) && error == SYN_SMALL_E_ALIGN,
        "not aligned: %d", error);
  CHECK(!syn_small_open(NULL, (size_t)ram, w, size, NULL, NULL), "no RAM");
  CHECK(syn_small_ram(NULL, size, NULL) == SYN_SMALL_E_MODEL, "no model");
  CHECK(syn_small_ram(w, size - 4, NULL) == SYN_SMALL_E_DAMAGED, "a part of a model");
  CHECK(syn_small_ram((char *)w + 2, size - 4, NULL) == SYN_SMALL_E_ALIGN, "two bytes further");
  memset(&k, 0, sizeof k);
  k.source_len = 4;
  k.max_len = 3;
  less = syn_small_ram(w, size, &k);
  CHECK(less > 0 && less < ram, "%ld bytes for short sentences, %ld for all", less, ram);
  k.source_len = LENGTH + 1;
  CHECK(syn_small_ram(w, size, &k) == SYN_SMALL_E_VALUE, "longer than the model's");
  s = syn_small_open(block, (size_t)ram, w, size, NULL, NULL);
  CHECK(syn_small_step(s, 100) == SYN_SMALL_END, "no source yet");
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(syn_small_source(s, bad[i], 3) == SYN_SMALL_E_VALUE, "tokens %d", (int)i);
  CHECK(syn_small_source(s, src, 0) == SYN_SMALL_E_VALUE, "no token");
  CHECK(syn_small_source(s, src, LENGTH + 1) == SYN_SMALL_E_VALUE, "too many tokens");
  CHECK(syn_small_source(NULL, src, 3) == SYN_SMALL_E_VALUE, "null");
  CHECK(syn_small_source(s, src, -1) == SYN_SMALL_E_VALUE, "fewer than none");
  CHECK(syn_small_source(s, NULL, 3) == SYN_SMALL_E_VALUE, "no tokens");
  test_no_tokenizers(s);
  free(block);
  free(w);
}

/* Every field of the configuration at its limits and one beyond. */
static void test_configs(syn_context *c, const syn_model *m) {
  static const syn_small_config good[] = {
      {LENGTH, LENGTH, 1, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {1, 1, 16, -1.0f, 0.0f, 0, 0.0f, 0, 0, 0},
      {0, 0, 2, 60.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 0, 0.0f, 1e6f, VOCAB, 1.0f, 0, 0, 0},
      {0, 0, 1, 0.0f, 0.5f, 1, 0.25f, 7, 0, 0}, {0, 0, 2, 1e-45f, 0.0f, 0, 0.0f, 0, 1, 0},
      {0, 0, 2, -1e30f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 1, 0.0f, 1e-45f, VOCAB, 1e-45f, 0, 1, 0},
      {0, 1, 2, 1e30f, 0.0f, 0, 0.99999994f, 0, 0, 0}};
  static const syn_small_config bad[] = {
      {-1, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {LENGTH + 1, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0},
      {0, -1, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, LENGTH + 1, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0},
      {0, 0, -1, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 17, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0},
      {0, 0, 2, 90.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 0, 0.0f, -0.5f, 0, 0.0f, 0, 0, 0},
      {0, 0, 0, 0.0f, 2e6f, 0, 0.0f, 0, 0, 0}, {0, 0, 2, 0.0f, 0.5f, 0, 0.0f, 0, 0, 0},
      {0, 0, 0, 0.0f, 0.5f, -1, 0.0f, 0, 0, 0}, {0, 0, 0, 0.0f, 0.5f, VOCAB + 1, 0.0f, 0, 0, 0},
      {0, 0, 0, 0.0f, 0.5f, 0, -0.5f, 0, 0, 0}, {0, 0, 0, 0.0f, 0.5f, 0, 1.5f, 0, 0, 0},
      {0, 0, 2, NAN, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 2, INFINITY, 0.0f, 0, 0.0f, 0, 0, 0},
      {0, 0, 0, 0.0f, NAN, 0, 0.0f, 0, 0, 0}, {0, 0, 0, 0.0f, INFINITY, 0, 0.0f, 0, 0, 0},
      {0, 0, 0, 0.0f, 0.5f, 0, NAN, 0, 0, 0}, {0, 0, 0, 0.0f, 0.5f, 0, 1.0000001f, 0, 0, 0},
      {0, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, 2, 0}, {0, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, -1, 0}};
  syn_small_options options;
  syn_sink sink;
  bytes b;
  size_t size, i;
  int32_t *w = small_of(c, m, &size);
  for (i = 0; i < sizeof good / sizeof *good; i++)
    CHECK(syn_small_ram(w, size, &good[i]) > 0, "good configuration %d", (int)i);
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(syn_small_ram(w, size, &bad[i]) == SYN_SMALL_E_VALUE, "bad configuration %d", (int)i);
  memset(&options, 0, sizeof options);
  options.config = &bad[0];
  sink = sink_of(&b);
  CHECK(syn_small_embed(c, m, &options, "x", &sink) == SYN_E_VALUE && strstr(c->message, "outside its range"), "%s",
        c->message);
  syn_context_clear(c);
  CHECK(syn_small_embed(c, m, NULL, NULL, &sink) == SYN_E_VALUE, "no name");
  syn_context_clear(c);
  free(b.at);
  free(w);
}

/* The text of a model: what a program needs that runs it stands there, and nothing else. */
static void test_embed(syn_context *c, const syn_model *m) {
  static const syn_small_config configs[] = {
      {0, 0, 1, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 3, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 1, 0.0f, 1.0f, 5, 0.0f, 0, 0, 0}};
  int i;
  for (i = 0; i < 3; i++) {
    syn_small_options options;
    bytes b;
    syn_sink sink = sink_of(&b);
    memset(&options, 0, sizeof options);
    options.config = &configs[i];
    CHECK(!syn_small_embed(c, m, &options, "abc", &sink), "%s", c->message);
    bytes_write(&b, "", 1);
    CHECK(strstr(b.at, " X(linear)") && strstr(b.at, " X(out)") && strstr(b.at, "abc_RAM"), "a part is missing");
    CHECK(strstr(b.at, "\n#ifndef abc_") && strstr(b.at, "\n#undef SYN_SMALL_KINDS\n") &&
              !strcmp(b.at + b.size - 12, "\n};\n#endif\n"), "include guard");
    CHECK(!strstr(b.at, " X(beam)") == (i != 1) && !strstr(b.at, " X(sample)") == (i != 2), "configuration %d", i);
    free(b.at);
  }
}

/* What a walk shows: the names of the instructions, multiply-adds of what the names tell. */
typedef struct walk {
  char names[2000];
  int instructions, ends, outs; /* ends: calls of a complete output */
  double work, units;
  uint64_t done; /* multiply-adds that the library counted */
} walk;
static void walk_see(void *user, const syn_small *s) {
  walk *w = (walk *)user;
  const char *name = syn_small_instruction(s);
  const size_t used = strlen(w->names);
  double units = 0.0;
  int i;
  w->instructions += name != NULL;
  w->ends += !name;
  for (i = CHAR_MIN; i <= CHAR_MAX; i++) units += syn_small_unit(s, (char)i); /* also those that are not there */
  CHECK(units - units == 0.0 && (name || units == 0.0), "%s: %g", name ? name : "the end", units);
  w->units += units;
  if (!name) return;
  if (used + strlen(name) + 2 < sizeof w->names) sprintf(w->names + used, "%s ", name);
  w->outs += !strcmp(name, "out") || !strcmp(name, "rank") || !strcmp(name, "beam") || !strcmp(name, "sample");
  if (!strcmp(name, "embed")) w->work += syn_small_unit(s, '1');
  if (!strcmp(name, "linear")) w->work += syn_small_unit(s, '3') * syn_small_unit(s, 'C');
  if (!strcmp(name, "out")) w->work += syn_small_unit(s, '1') * syn_small_unit(s, 'C');
  CHECK((strcmp(name, "linear") && strcmp(name, "out")) || syn_small_unit(s, 'x') <= syn_small_unit(s, 'C'),
        "%s: %g of %g inputs", name, syn_small_unit(s, 'x'), syn_small_unit(s, 'C'));
}
/* The same walk twice; its tokens. */
static int walk_of(syn_context *c, const syn_model *m, const char *type, const syn_small_config *how, walk *w) {
  size_t size;
  int32_t *array = small_with(c, m, type, NULL, &size);
  const long ram = syn_small_ram(array, size, how);
  void *block = malloc(ram > 0 ? (size_t)ram : 1);
  syn_small *s = syn_small_open(block, (size_t)ram, array, size, how, NULL);
  walk again;
  int tokens;
  memset(w, 0, sizeof *w);
  memset(&again, 0, sizeof again);
  CHECK(s && !syn_small_instruction(s) && syn_small_unit(s, 'n') == 0.0, "no output is begun: RAM %ld, %s", ram,
        c->message);
  CHECK(syn_small_walk(s, NULL, NULL) == SYN_SMALL_E_VALUE, "nothing sees it");
  tokens = syn_small_walk(s, walk_see, w);
  w->done = syn_small_work(s);
  CHECK(!syn_small_instruction(s) && syn_small_step(s, 1) == SYN_SMALL_END, "behind it no output is begun");
  CHECK(how->temperature > 0.0f || (syn_small_walk(s, walk_see, &again) == tokens && again.units == w->units &&
                                    !strcmp(again.names, w->names)), "another walk of %d instructions", w->instructions);
  CHECK(w->ends == 1 && tokens > 0, "%d tokens, complete %d times", tokens, w->ends);
  free(block);
  free(array);
  return tokens;
}
static void test_walk_of(syn_context *c, const syn_model *m) {
  static const syn_small_config configs[] = {{0, 0, 1, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0}, {0, 0, 3, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0},
                                             {0, 0, 1, 0.0f, 1.0f, 5, 0.0f, 0, 0, 0}, {0, 0, 1, 0.0f, 0.0f, 0, 0.0f, 0, 0, 3}};
  static const char *const out[] = {" out ", " beam ", " sample ", " rank "};
  walk w;
  int i;
  for (i = 0; i < 4; i++) {
    const int tokens = walk_of(c, m, i % 2 ? "i8" : "i4", &configs[i], &w);
    CHECK(i == 1 || (tokens == (LENGTH + 1) / 2 && w.outs == tokens), "%d tokens, %d of%s", tokens, w.outs, out[i]);
    CHECK(!strncmp(w.names, "embed ", 6) || strstr(w.names, "types ") || strstr(w.names, "ngram "), "%s", w.names);
  }
}
static void test_walk(syn_context *c) {
  static const syn_small_config how = {0, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0};
  syn_config k;
  syn_model *m;
  walk w;
  memset(&k, 0, sizeof k); /* formats pad neither 32 and 64 columns nor 24 rows */
  k.task = "lm", k.decoder = "linear(64) -> linear", k.d_model = 32, k.max_len = 6, k.tgt_vocab = 24;
  m = syn_model_new(c, &k);
  CHECK(walk_of(c, m, "i8", &how, &w) == 3, "half of 6 tokens: %s", c->message);
  CHECK(!strcmp(w.names, "embed linear linear out end embed linear linear out end embed linear linear out end "
                         "embed linear linear out end "), "behind the prompt: %s", w.names);
  CHECK((double)w.done == w.work && w.done == 4 * (32 + 2 * 32 * 64 + 24 * 32), "%g of %lu multiply-adds", w.work,
        (unsigned long)w.done);
  syn_model_free(m);
  k.max_len = 1;
  m = syn_model_new(c, &k);
  CHECK(walk_of(c, m, "i8", &how, &w) == 1 && !strcmp(w.names, "embed linear linear out end "), "no prompt: %s", w.names);
  syn_model_free(m);
  memset(&k, 0, sizeof k);
  k.task = "tag", k.encoder = "ff(8, tanh) -> cnn(8, 3, relu)", k.d_model = 8, k.max_len = 8, k.src_features = 3;
  k.classes = 4;
  m = syn_model_new(c, &k);
  CHECK(walk_of(c, m, "i8", &how, &w) == 4 && !strncmp(w.names, "features linear ", 16), "%s: %s", w.names, c->message);
  syn_model_free(m);
  CHECK(syn_small_walk(NULL, walk_see, NULL) == SYN_SMALL_E_VALUE && !syn_small_instruction(NULL) &&
            syn_small_unit(NULL, 'n') == 0.0, "no model");
}

/* Rotation by a table of int16 beside cosines and sines: it loses far less than the int8 of q and k,
   whose step is 1/127 of the largest number. Columns behind the rotated ones stay. */
static void test_rotate(void) {
  enum { HEADS = 2, C = 6, N = 4, PLACE = 5, WIDTH = HEADS * C };
  float rows[2 * WIDTH], *x = rows + WIDTH, most = 0.0f;
  int32_t w[2 + N * (PLACE + 1) / 2], a[7] = {0, 8 * 4 * WIDTH, 1, HEADS, C, N, 0};
  int16_t *table = (int16_t *)(w + 2) + PLACE * N;
  const float scale = 1.0f / 32767.0f;
  const double place = (double)PLACE;
  syn_random r = {5};
  syn_small s;
  int i, j, h;
  memset(&s, 0, sizeof s);
  memset(w, 0, sizeof w);
  memcpy(w + 1, &scale, sizeof scale);
  for (j = 0; j < N / 2; j++) {
    table[j] = (int16_t)syn__small_round(32767.0f * (float)cos(place * pow(100.0, -j)));
    table[N / 2 + j] = (int16_t)syn__small_round(32767.0f * (float)sin(place * pow(100.0, -j)));
  }
  s.w = w;
  s.base[SYN__SMALL_ROW] = (unsigned char *)rows;
  s.count[SYN__SMALL_ROW] = 1;
  s.row = PLACE;
  for (i = 0; i < WIDTH; i++) x[i] = 2.0f * syn_random_uniform(&r) - 1.0f;
  for (a[6] = 0; a[6] < 2; a[6]++) {
    syn__small_rotate(&s, a);
    for (h = 0; h < HEADS; h++)
      for (j = 0; j < N / 2; j++) {
        const int p = h * C + (a[6] ? 2 * j : j), q = a[6] ? p + 1 : p + N / 2;
        const double angle = place * pow(100.0, -j), left = (double)x[p], right = (double)x[q];
        const double y = left * cos(angle) - right * sin(angle), z = left * sin(angle) + right * cos(angle);
        most = fmaxf(most, fmaxf((float)fabs((double)rows[p] - y), (float)fabs((double)rows[q] - z)));
      }
    CHECK(rows[N] == x[N] && rows[C + N + 1] == x[C + N + 1], "columns behind the rotated ones");
  }
  CHECK(most > 0.0f && most < 4e-5f, "rotated by int16: error %g", (double)most);
}

/* Damaged arrays: refused, or run without harm (under sanitizers) for some steps. */
static void test_damaged(syn_context *c, const syn_model *m, const char *type) {
  size_t size;
  int32_t *w = small_with(c, m, type, NULL, &size), *copy = (int32_t *)malloc(size);
  int i, k, run = 0, times = CHECK_QUICK ? 300 : 5000;
  syn_random r = {7};
  for (i = 0; i < times; i++) {
    int changes = 1 + syn_random_below(&r, 3), src[] = {4, 5, 6, 3};
    syn_small_config how;
    long ram;
    memset(&how, 0, sizeof how);
    if (i % 3 == 1) how.beam = 1 + syn_random_below(&r, 4);
    if (i % 3 == 2) how.temperature = 1.0f;
    memcpy(copy, w, size);
    for (k = 0; k < changes; k++) {
      /* half of them in the header and the instructions */
      int words = i % 2 ? (int)(size / 4) : w[SYN__SMALL_PROGRAMS + 2] + 200;
      int at = syn_random_below(&r, words);
      if (k % 2) copy[at] = (int32_t)syn_random_next(&r);
      else copy[at] ^= (int32_t)(UINT32_C(1) << syn_random_below(&r, 32));
    }
    sign(copy, size);
    ram = syn_small_ram(copy, size, &how);
    if (ram > 0 && ram < (1 << 24)) {
      void *block = malloc((size_t)ram);
      syn_small *s = syn_small_open(block, (size_t)ram, copy, size, &how, NULL);
      CHECK(s, "what syn_small_ram accepts, syn_small_open does");
      if (s && !syn_small_source(s, src, 4))
        for (k = 0; k < 50 && syn_small_step(s, 1000) >= SYN_SMALL_MORE; k++) continue;
      free(block);
      run++;
    }
  }
  CHECK(run > times / 10 && run < times, "%d of %d damaged arrays ran", run, times);
  free(copy);
  free(w);
}

/* kv=: the caches of a small model have the heads of k and v alone. The copy without kv, whose
   matrices have the rows of a head for each head that reads it, has the same logits and larger
   caches. */
static syn_model *heads_model(syn_context *c, int kv) {
  syn_config k;
  char text[80];
  memset(&k, 0, sizeof k);
  sprintf(text, "rope -> repeat(2, res_nd(syn_att(V, heads=4, kv=%d, bias=1))) -> norm", kv);
  k.task = "lm";
  k.decoder = text;
  k.d_model = 32;
  k.max_len = 20;
  k.tgt_vocab = VOCAB;
  k.seed = 3;
  return syn_model_new(c, &k);
}
static void heads_fill(syn_model *to, const syn_model *from, int group) {
  size_t i;
  int h;
  for (i = 0; i < syn_model_param_count(to); i++) {
    const syn_param *p = syn_model_param(to, i), *q = syn_model_param(from, i);
    size_t head = p->size / 4; /* of w_v, w_k, b_v, b_k */
    if (p->size == q->size) memcpy(p->x, q->x, q->size * sizeof *q->x);
    for (h = 0; p->size != q->size && h < 4; h++)
      memcpy(p->x + (size_t)h * head, q->x + (size_t)(h / group) * head, head * sizeof *q->x);
  }
}
static long heads_logits(syn_context *c, const syn_model *m, int beam, float *z, int *out) {
  size_t size;
  int32_t *w = small_of(c, m, &size);
  syn_small_config how;
  const int src[] = {4, 9, 6};
  long ram;
  void *block;
  syn_small *s;
  memset(&how, 0, sizeof how);
  how.beam = beam;
  ram = syn_small_ram(w, size, &how);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = syn_small_open(block, (size_t)ram, w, size, &how, NULL);
  n_logits = 0;
  memset(logits, 0, sizeof logits);
  CHECK(s && output_of(s, src, 3, 1, out) >= 0, "kv: RAM %ld, %s", ram, c->message);
  memcpy(z, logits, sizeof logits);
  free(block);
  free(w);
  return ram;
}
static void test_heads(syn_context *c) {
  int kv, beam, out[2][LENGTH] = {{0}};
  float z[2][256];
  for (kv = 1; kv < 4; kv *= 2)
    for (beam = 1; beam < 4; beam += 2) {
      syn_model *shared = heads_model(c, kv), *all = heads_model(c, 4);
      long ram[2];
      heads_fill(all, shared, 4 / kv);
      ram[0] = heads_logits(c, shared, beam, z[0], out[0]);
      ram[1] = heads_logits(c, all, beam, z[1], out[1]);
      CHECK(!memcmp(z[0], z[1], sizeof z[0]) && !memcmp(out[0], out[1], sizeof out[0]),
            "kv=%d, beam %d: the logits with a head of k and v for each head", kv, beam);
      /* 2 layers, k and v of 20 tokens, 4 + 8 bytes a head */
      CHECK(ram[1] - ram[0] == 2L * 2 * 20 * beam * (4 - kv) * 12, "kv=%d: RAM %ld, without %ld",
            kv, ram[0], ram[1]);
      syn_model_free(shared);
      syn_model_free(all);
    }
}

/* A damaged array may name operands that overlap: the rows are copied all the same (sanitizers find
   memcpy). In w each `shift` reads its row 4 bytes beside the last row that it writes, each `window`
   writes into the rows that it reads. Returns how many there are. */
static int overlap(int32_t *w, int program) {
  int32_t *encoder = w + SYN__SMALL_ROW_BYTES + SYN__SMALL_ENCODER, *a;
  int32_t at, code = -1;
  int changed = 0;
  for (at = w[SYN__SMALL_PROGRAMS + program]; code != SYN__SMALL_OP_end; at += w[at] >> 8) {
    code = w[at] & 255;
    a = w + at + 1;
    if (code == SYN__SMALL_OP_shift) a[1] = a[0] + 8 * (4 * a[2] * (a[3] - 1) - 4);
    if (code == SYN__SMALL_OP_window) {
      a[0] = SYN__SMALL_ENCODER;
      a[1] = SYN__SMALL_ENCODER + 8 * 4;
      if (*encoder < 4 * a[2] * a[3]) *encoder = 4 * a[2] * a[3];
    }
    changed += code == SYN__SMALL_OP_shift || code == SYN__SMALL_OP_window;
  }
  return changed;
}
static void test_overlap(syn_context *c, const syn_model *m) {
  size_t size;
  int32_t *w = small_of(c, m, &size);
  const int src[] = {4, 5, 6, 7, SYN_END};
  int out[LENGTH], windows = overlap(w, SYN__SMALL_ENCODE), shifts = overlap(w, SYN__SMALL_DECODE);
  syn_small *s;
  long ram;
  void *block;
  sign(w, size);
  ram = syn_small_ram(w, size, NULL);
  CHECK(windows > 0 && shifts > 0 && ram > 0, "%d windows, %d shifts, RAM %ld", windows, shifts, ram);
  block = malloc(ram > 0 ? (size_t)ram : 1);
  s = syn_small_open(block, (size_t)ram, w, size, NULL, NULL);
  CHECK(s && output_of(s, src, 5, 1000, out) >= -1, "rows that overlap");
  free(block);
  free(w);
}

/* Corrects the output of a source to the letters of `right` and END. Returns 0 or an error. */
static int correct_all(syn_small *s, const int *src, int count, const int *right, int n) {
  int k, token, error = syn_small_source(s, src, count);
  for (k = 0; k <= n && !error; k++) {
    do token = syn_small_step(s, 300);
    while (token == SYN_SMALL_MORE);
    error = syn_small_correct(s, k < n ? right[k] : SYN_END, 0.05f);
  }
  return error;
}

/* Learning: zeros change nothing; one step is that of the gradient; corrections lead to the output
   that was wanted, twice to the same bits; without the memory all is as before. */
static void test_learning(syn_context *c, const syn_model *m) {
  static const int right[] = {5, 6, 4, 7};
  int src[LENGTH], tgt[LENGTH], before[LENGTH], out[LENGTH], count, n, k, pass;
  size_t size;
  int32_t *w = small_of(c, m, &size);
  long ram = syn_small_ram(w, size, NULL), floats;
  void *block = malloc((size_t)ram);
  syn_small *s = syn_small_open(block, (size_t)ram, w, size, NULL, NULL);
  float *memory, *again, sum = 0, wanted[VOCAB];
  count = row_of(100000, src, tgt) + 1;
  n = output_of(s, src, count, 1000, before);
  floats = syn_small_learn(s, NULL, 0);
  CHECK(floats == VOCAB * (32 + 2), "%ld floats", floats);
  memory = (float *)calloc((size_t)floats, sizeof *memory);
  again = (float *)calloc((size_t)floats, sizeof *again);
  CHECK(syn_small_learn(s, memory, floats - 1) == SYN_SMALL_E_RAM, "one float less");
  CHECK(syn_small_correct(s, 4, 0.1f) == SYN_SMALL_E_VALUE, "no memory");
  CHECK(syn_small_learn(s, memory, floats) == floats, "memory");
  CHECK(output_of(s, src, count, 1000, out) == n && !memcmp(out, before, (size_t)n * sizeof *out),
        "zeros change nothing");
  syn_small_source(s, src, count);
  CHECK(syn_small_correct(s, 4, 0.1f) == SYN_SMALL_E_VALUE, "no token yet");
  n_logits = 0;
  while (syn_small_step(s, 100) == SYN_SMALL_MORE) continue;
  CHECK(syn_small_correct(s, VOCAB, 0.1f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, SYN_PAD, 0.1f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, -1, 0.1f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, SYN_BEGIN, 0.1f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, 4, 0.0f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, 4, 1e6f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, 4, -1.0f) == SYN_SMALL_E_VALUE &&
            syn_small_correct(s, 4, (float)NAN) == SYN_SMALL_E_VALUE &&
            syn_small_correct(NULL, 4, 0.1f) == SYN_SMALL_E_VALUE, "tokens and rates");
  for (k = 0; k < VOCAB; k++) sum += expf(logits[k]);
  for (k = 0; k < VOCAB; k++) wanted[k] = 0.1f * ((float)(k == 4) - expf(logits[k]) / sum);
  CHECK(!syn_small_correct(s, 4, 0.1f) && syn_small_correct(s, 4, 0.1f) == SYN_SMALL_E_VALUE,
        "once for a token");
  for (k = 0; k < VOCAB; k++)
    CHECK(fabsf(memory[VOCAB * 32 + k] - wanted[k]) < 1e-6f, "bias %d: %g, wanted %g", k,
          (double)memory[VOCAB * 32 + k], (double)wanted[k]);
  memset(memory, 0, (size_t)floats * sizeof *memory);
  for (pass = 0; pass < 60; pass++)
    CHECK(!correct_all(s, src, count, right, 4), "correction %d", pass);
  n = output_of(s, src, count, 1000, out);
  CHECK(n == 4 && !memcmp(out, right, sizeof right), "learned: %d tokens", n);
  syn_small_learn(s, again, floats);
  for (pass = 0; pass < 60; pass++) correct_all(s, src, count, right, 4);
  CHECK(!memcmp(memory, again, (size_t)(VOCAB * 33) * sizeof *memory), "the same weights again");
  syn_small_learn(s, NULL, 0);
  n = output_of(s, src, count, 1000, out);
  CHECK(!memcmp(out, before, (size_t)n * sizeof *out), "without memory");
  free(again);
  free(memory);
  free(block);
  free(w);
}

/* Corrections of a classifier, which chooses one class and is done. */
static void test_classes(syn_context *c) {
  static const int src[] = {4, 5, 3};
  syn_config k;
  syn_model *m;
  size_t size;
  int32_t *w;
  long ram, floats;
  void *block;
  syn_small *s;
  float *memory;
  static const int longer[] = {4, 5, 6, 7, 8, 3};
  int chosen = -1, pass;
  long work[4];
  memset(&k, 0, sizeof k);
  k.task = "classify";
  k.encoder = "pos -> res_nd(syn_att(V)) -> norm";
  k.d_model = 8, k.heads = 2, k.max_len = LENGTH, k.src_vocab = VOCAB, k.classes = 3;
  m = syn_model_new(c, &k);
  w = small_of(c, m, &size);
  ram = syn_small_ram(w, size, NULL);
  block = malloc((size_t)ram);
  s = syn_small_open(block, (size_t)ram, w, size, NULL, NULL);
  floats = syn_small_learn(s, NULL, 0);
  memory = (float *)calloc((size_t)floats, sizeof *memory);
  CHECK(floats == 3 * (8 + 2) && syn_small_learn(s, memory, floats) == floats, "%ld floats", floats);
  for (pass = 0; pass < 50; pass++) {
    int token = syn_small_source(s, src, 3);
    while (token == 0 || token == SYN_SMALL_MORE) {
      token = syn_small_step(s, 100000);
      if (token >= 0) break;
    }
    chosen = token;
    CHECK(chosen >= 0 && chosen < 3 && !syn_small_correct(s, 2, 0.1f), "class %d", chosen);
    CHECK(syn_small_correct(s, 2, 0.1f) == SYN_SMALL_E_VALUE && syn_small_step(s, 1000) == SYN_SMALL_END, "it is done");
  }
  CHECK(chosen == 2, "class %d after corrections", chosen);
  for (pass = 0; pass < 4; pass++) { /* n keys for each of n tokens: scores and values of width 8 */
    int token = syn_small_source(s, longer, 3 + pass);
    uint64_t before = syn_small_work(s);
    while (token >= SYN_SMALL_MORE) token = syn_small_step(s, 100000);
    work[pass] = (long)(syn_small_work(s) - before);
  }
  for (pass = 1; pass < 3; pass++)
    CHECK(work[pass + 1] - 2 * work[pass] + work[pass - 1] == 2 * 2 * 8, "work %ld, %ld, %ld", work[pass - 1], work[pass],
          work[pass + 1]);
  CHECK(syn_small_work(NULL) == 0 && syn_small_step(NULL, 1) == SYN_SMALL_E_VALUE &&
            syn_small_source(s, NULL, 2) == SYN_SMALL_E_VALUE,
        "nothing to run");
  free(memory);
  free(block);
  free(w);
  syn_model_free(m);
}

/* Of equal logits the first token that may be chosen, as the model does. */
static void test_ties(syn_context *c, const syn_model *m) {
  int src[LENGTH], tgt[LENGTH], out[LENGTH], count = row_of(5, src, tgt) + 1, n;
  const syn_param *w = syn_model_find(m, "tgt.embed"), *b = syn_model_find(m, "out.b");
  float *kept = (float *)malloc((w->size + b->size) * sizeof *kept);
  syn_small_config how;
  size_t size;
  int32_t *array;
  long ram;
  void *block;
  syn_small *s;
  memcpy(kept, w->x, w->size * sizeof *kept);
  memcpy(kept + w->size, b->x, b->size * sizeof *kept);
  memset(w->x, 0, w->size * sizeof *kept);
  memset(b->x, 0, b->size * sizeof *kept);
  array = small_of(c, m, &size);
  memset(&how, 0, sizeof how);
  for (how.unknown = 0; how.unknown < 2; how.unknown++) {
    ram = syn_small_ram(array, size, &how);
    block = malloc((size_t)ram);
    s = syn_small_open(block, (size_t)ram, array, size, &how, NULL);
    n = output_of(s, src, count, 100000, out);
    CHECK(n == how.unknown * LENGTH && (!n || (out[0] == SYN_UNKNOWN && out[LENGTH - 1] == SYN_UNKNOWN)),
          "%d tokens, the first is %d", n, out[0]);
    free(block);
  }
  memcpy(w->x, kept, w->size * sizeof *kept);
  memcpy(b->x, kept + w->size, b->size * sizeof *kept);
  free(array);
  free(kept);
}

/* A model whose most probable token is SYN_UNKNOWN: it writes what the decoder writes, and that
   token only where config.unknown is 1; greedy, beam search, sampling; also next to temperature 0. */
static void test_unknown(syn_context *c, const syn_model *m) {
  int src[LENGTH], tgt[LENGTH], out[LENGTH], count = row_of(5, src, tgt) + 1, n, i, k, size_out;
  const syn_param *b = syn_model_find(m, "out.b");
  size_t size;
  int32_t *w;
  b->x[SYN_UNKNOWN] += 20.0f;
  w = small_of(c, m, &size);
  for (i = 0; i < 8; i++) {
    syn_decode_config config;
    syn_small_config how;
    syn_decoder *d;
    syn_batch batch;
    const int *want;
    long ram;
    void *block;
    syn_small *s;
    int seen = 0;
    memset(&config, 0, sizeof config);
    memset(&how, 0, sizeof how);
    memset(&batch, 0, sizeof batch);
    how.unknown = config.unknown = i % 2;
    how.beam = config.beam = i / 2 == 1 ? 3 : 1;
    if (i > 3) how.temperature = config.temperature = i > 5 ? 1e-44f : 1e-4f;
    batch.count = 1, batch.src = src, batch.src_width = count;
    d = syn_decoder_new(c, m, &config);
    CHECK(d && !syn_decoder_run(d, &batch, NULL, NULL), "%s", c->message);
    want = syn_decoder_output(d, 0, 0, &size_out, NULL);
    if (size_out && want[size_out - 1] == SYN_END) size_out--;
    ram = syn_small_ram(w, size, &how);
    block = malloc((size_t)(ram > 0 ? ram : 1));
    s = syn_small_open(block, (size_t)ram, w, size, &how, NULL);
    CHECK(s, "case %d: %ld bytes", i, ram);
    n = s ? output_of(s, src, count, 100000, out) : 0;
    CHECK(n == size_out && !memcmp(out, want, (size_t)n * sizeof *out), "case %d: %d tokens, wanted %d", i, n, size_out);
    for (k = 0; k < n; k++) seen += out[k] == SYN_UNKNOWN;
    /* case 2: each token of an output costs a beam the probability of the unknown one */
    CHECK((n > 0 || i == 2) && !seen == !(i % 2), "case %d: unknown %d times in %d tokens", i, seen, n);
    syn_decoder_free(d);
    free(block);
  }
  b->x[SYN_UNKNOWN] -= 20.0f;
  free(w);
}

/* x Phi(x) against that of libm, far from 0, too. */
static void test_gelu_erf(void) {
  float row[1000];
  const int32_t a[3] = {0, 0, 1000};
  syn_small s;
  int i;
  memset(&s, 0, sizeof s);
  s.base[SYN__SMALL_ROW] = (unsigned char *)row;
  s.count[SYN__SMALL_ROW] = 1;
  for (i = 0; i < 1000; i++) row[i] = 0.02f * (float)(i - 500);
  row[0] = -1e20f, row[999] = 1e20f;
  syn__small_gelu_erf(&s, a);
  CHECK(row[0] == 0.0f && row[999] == 1e20f, "gelu_erf far from 0: %g, %g", (double)row[0], (double)row[999]);
  for (i = 1; i < 999; i++) {
    const double x = 0.02 * (i - 500), want = 0.5 * x * erfc(-x / sqrt(2.0));
    CHECK(fabs((double)row[i] - want) < 3e-7 * (1.0 + fabs(x)), "gelu_erf of %g: %g, not %g", x, (double)row[i], want);
  }
}

/* Functions of the small model against those of libm; the scales of 4 bits against all others. */
static void test_functions(void) {
  syn_random r = {5};
  float x, group[32];
  int i, k, at;
  for (x = -90.0f; x < 100.0f; x += 0.37f) {
    double want = x > -87.0f ? exp((double)(x > 88.0f ? 88.0f : x)) : 0.0;
    CHECK(fabs((double)syn__small_exp(x) - want) <= 3e-7 * want, "exp(%g) = %g", (double)x, (double)syn__small_exp(x));
  }
  CHECK(syn__small_exp((float)NAN) == 0.0f && syn__small_exp(1e30f) == syn__small_exp(88.0f), "exp far outside");
  for (x = -9.0f; x < 9.0f; x += 0.13f) {
    const double d = (double)x, sigma = 1.0 / (1.0 + exp(-d));
    const double want[] = {d, d > 0.0 ? d : 0.0, 0.5 * d * (1.0 + tanh(0.7978845608 * (d + 0.044715 * d * d * d))),
                           tanh(d), sigma, d * sigma};
    for (i = 0; i < 6; i++)
      CHECK(fabs((double)syn__small_act(i, x) - want[i]) < 2e-6 * (1.0 + fabs(d)), "act %d of %g: %g, not %g", i,
            d, (double)syn__small_act(i, x), want[i]);
  }
  test_gelu_erf();
  for (k = 0; k < 50; k++) {
    const float scale = 0.001f;
    float least;
    for (i = 0; i < 32; i++) group[i] = 0.4f * syn_random_normal(&r);
    at = syn__i4_search(group, 32, scale);
    least = syn__i4_error(group, 32, scale * (float)at, INFINITY);
    for (i = syn__round_to(syn__largest(group, 32) / (7.0f * scale), 255); i > at / 2 && i > 1; i--)
      if (i > syn__round_to(syn__largest(group, 32) / (7.0f * scale), 255) / 2)
        CHECK(least <= syn__i4_error(group, 32, scale * (float)i, INFINITY), "group %d: %d is worse than %d", k, at, i);
  }
  CHECK(syn__i4_search(group, 32, 0.0f) == 0, "a row of zeros");
}

/* A matrix of i4 has the same weights in a small model and in a model file. */
static void test_i4(syn_context *c) {
  enum { ROWS = 7, COLS = 45 };
  static float x[ROWS * COLS];
  syn__arena arena = {c, NULL};
  syn_param p;
  syn__stored s;
  syn_random r = {9};
  int i, k, n;
  memset(&p, 0, sizeof p);
  for (i = 0; i < ROWS * COLS; i++) x[i] = syn_random_normal(&r) * (i % 37 ? 0.1f : 0.9f);
  p.name = "w", p.rank = 2, p.shape[0] = ROWS, p.shape[1] = COLS, p.size = ROWS * COLS, p.matrix = 1, p.x = x;
  CHECK(!syn__stored_make(&arena, &p, SYN__TYPE_I4, &s), "%s", c->message);
  for (i = 0; i < ROWS; i += 4) {
    int8_t panel[2 * SYN__SMALL_I4_BYTES];
    float scale = syn__lower_i4(panel, x + i * COLS, n = ROWS - i < 4 ? ROWS - i : 4, COLS);
    for (k = 0; k < n * COLS; k++) {
      float w = (float)syn__small_weight(panel, SYN__SMALL_i4, 64, k / COLS, k % COLS) * scale;
      CHECK(w == syn__stored_value(&s, (size_t)(i + k / COLS), (size_t)(k % COLS)), "row %d, column %d: %g",
            i + k / COLS, k % COLS, (double)w);
    }
  }
  syn__arena_free(&arena);
}

/* ngram: more buckets than other sizes may have; their number lies in its range. */
static void test_buckets(syn_context *c) {
  syn_config k;
  syn_model *m;
  int32_t *w, at;
  size_t size;
  memset(&k, 0, sizeof k);
  k.task = "classify", k.encoder = "ngram(2, 70000)", k.d_model = 4, k.max_len = LENGTH;
  k.src_vocab = VOCAB, k.classes = 2;
  m = syn_model_new(c, &k);
  w = small_of(c, m, &size);
  CHECK(w && syn_small_ram(w, size, NULL) > 0, "%s", c->message);
  for (at = w[SYN__SMALL_PROGRAMS]; (w[at] & 255) != SYN__SMALL_OP_ngram; at += w[at] >> 8)
    CHECK((w[at] & 255) != SYN__SMALL_OP_end, "no ngram");
  CHECK(w[at + 4] == 70000, "%d buckets", (int)w[at + 4]);
  check_word(w, size, at + 4, 0, 0, "no bucket");
  check_word(w, size, at + 4, 70000 * 9, 0, "more buckets than the table has");
  check_word(w, size, at + 7, 0, 0, "n-grams of no token");
  check_word(w, size, at + 7, 1000, 0, "more tokens than are kept");
  free(w);
  syn_model_free(m);
}

/* The logits of every row of tag, and of classify, for an encoder: those of the model up to the
   rounding of int8, and of 4 bits. Sources have ends inside, which `types` counts. */
static void test_source_logits(syn_context *c, const char *task, const char *encoder, const char *type) {
  enum { CLASSES = 4 };
  const int tag = !strcmp(task, "tag");
  syn_config k;
  syn_model *m;
  syn_small *s;
  syn_run *run;
  size_t size, i;
  int32_t *w;
  void *block;
  long ram;
  int row, rows, all = 0;
  memset(&k, 0, sizeof k);
  k.task = task, k.encoder = encoder, k.d_model = 32, k.heads = 4, k.max_len = LENGTH;
  k.src_vocab = VOCAB, k.classes = CLASSES;
  m = syn_model_new(c, &k);
  w = small_with(c, m, type, NULL, &size);
  ram = w ? syn_small_ram(w, size, NULL) : 0;
  block = ram > 0 ? malloc((size_t)ram) : NULL;
  s = block ? syn_small_open(block, (size_t)ram, w, size, NULL, NULL) : NULL;
  run = syn_run_new(c, m, NULL);
  CHECK(s && run, "%s: %ld bytes: %s", encoder, ram, c->message);
  for (row = 0; row < 20 && s && run; row++) {
    int src[LENGTH], tgt[LENGTH], n = row_of((uint64_t)row, src, tgt) + !tag, token;
    double far_off = 0.0;
    const float *z;
    syn_batch b;
    memset(&b, 0, sizeof b);
    if (n > 3) src[1] = SYN_END;
    if (n > 5) src[4] = SYN_END;
    b.count = 1, b.src = src, b.src_width = n;
    CHECK(!syn_run_forward(run, &b), "%s", c->message);
    z = syn_run_logits(run, 0, &rows);
    n_logits = 0;
    token = syn_small_source(s, src, n);
    while (token >= SYN_SMALL_MORE) token = syn_small_step(s, 1 + row * 29);
    CHECK(token == SYN_SMALL_END && n_logits == rows * CLASSES, "%s: %d logits", encoder, n_logits);
    for (i = 0; i < (size_t)n_logits; i++) far_off = fmax(far_off, fabs((double)(z[i] - logits[i])));
    CHECK(far_off < (type ? 0.8 : 0.08), "%s, %s: row %d, %d tokens: %g away", task, encoder, row, n, far_off);
    all += rows;
  }
  CHECK(all >= 20, "%d rows", all);
  syn_run_free(run);
  syn_model_free(m);
  free(block);
  free(w);
}

/* The logits after each token of a decoder, behind prompts and outputs of every length, are those of
   the model up to the rounding of int8, and of 4 bits. encoder null: a language model. Tables of
   n-grams get large numbers. */
static void test_next_logits(syn_context *c, const char *encoder, const char *decoder, const char *type) {
  syn_config k;
  syn_model *m;
  const syn_param *table;
  syn_random random = {7};
  syn_small_config how;
  syn_small *s;
  syn_run *run;
  int32_t *w;
  size_t size, i;
  void *block;
  long ram;
  int row, rows, all = 0;
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  k.task = encoder ? NULL : "lm", k.encoder = encoder, k.decoder = decoder, k.d_model = 32, k.heads = 4;
  k.max_len = LENGTH, k.tgt_vocab = VOCAB, k.src_vocab = encoder ? VOCAB : 0;
  m = syn_model_new(c, &k);
  table = syn_model_find(m, "decoder.1.w");
  for (i = 0; table && i < table->size; i++) table->x[i] = (float)syn_random_below(&random, 201) / 100.0f - 1.0f;
  for (i = 0; i < syn_model_param_count(m); i++) { /* places of sgu and aft begin near 0 */
    const syn_param *p = syn_model_param(m, i);
    for (row = 0; row < (int)p->size && p->size == LENGTH * LENGTH; row++) p->x[row] *= 100.0f;
    for (row = 0; row < (int)p->size && strstr(p->name, ".b_s"); row++) p->x[row] = 0.1f * (float)row;
  }
  w = small_with(c, m, type, NULL, &size);
  ram = w ? syn_small_ram(w, size, &how) : 0;
  block = ram > 0 ? malloc((size_t)ram) : NULL;
  s = block ? syn_small_open(block, (size_t)ram, w, size, &how, NULL) : NULL;
  run = syn_run_new(c, m, NULL);
  CHECK(s && run, "%ld bytes: %s", ram, c->message);
  for (row = 0; row < 20 && s && run; row++) {
    int ids[LENGTH + 1] = {SYN_BEGIN}, src[LENGTH], tgt[LENGTH], n = 1, width = row_of((uint64_t)row, src, tgt), token;
    syn_batch b;
    memset(&b, 0, sizeof b);
    b.count = 1, b.tgt = ids;
    if (encoder) b.src = src, b.src_width = ++width;
    for (; !encoder && n <= width; n++) ids[n] = src[n - 1];
    for (token = syn_small_source(s, src, width); token >= SYN_SMALL_MORE && n <= LENGTH; ids[n++] = token) {
      const float *z;
      double far_off = 0.0;
      n_logits = 0;
      do token = syn_small_step(s, encoder ? 1 + 29 * row : 1000000);
      while (token == SYN_SMALL_MORE);
      b.tgt_width = n;
      CHECK(!syn_run_forward(run, &b), "%s", c->message);
      z = syn_run_logits(run, 0, &rows) + (n - 1) * VOCAB;
      for (i = SYN_END; i < VOCAB && n_logits >= VOCAB; i++) far_off = fmax(far_off, fabs((double)(z[i] - logits[(size_t)n_logits - VOCAB + i])));
      CHECK(n_logits >= VOCAB && far_off < (type ? 0.8 : 0.08), "%s: row %d, %d tokens: %d logits, %g away", decoder, row, n, n_logits, far_off);
      all++;
      if (token < 0) break;
    }
  }
  CHECK(all > 30, "%d steps", all);
  syn_run_free(run);
  syn_model_free(m);
  free(block);
  free(w);
}

/* Kinds and scores that no small model has are named. */
static void no_lowering(syn_context *c, const char *encoder, const char *decoder, const char *word) {
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_config k;
  syn_model *m;
  memset(&k, 0, sizeof k);
  k.encoder = encoder, k.decoder = decoder;
  k.d_model = 8, k.heads = 2, k.max_len = LENGTH, k.src_vocab = k.tgt_vocab = VOCAB;
  m = syn_model_new(c, &k);
  CHECK(m && syn_small_write(c, m, NULL, &sink) == SYN_E_VALUE && strstr(c->message, word) && !b.size,
        "wanted \"%s\" in: %s", word, c->message);
  syn_context_clear(c);
  syn_model_free(m);
}
/* What an array cannot hold is not written: it could not be opened. */
static void size_of_small(syn_context *c, const char *decoder, int d_model, int max_len, int vocabulary,
                          const char *word) {
  bytes b;
  syn_sink sink = sink_of(&b);
  syn_config k;
  syn_model *m;
  memset(&k, 0, sizeof k);
  k.task = "lm", k.decoder = decoder;
  k.d_model = d_model, k.heads = 1, k.max_len = max_len, k.tgt_vocab = vocabulary;
  m = syn_model_new(c, &k);
  CHECK(m && !syn_small_write(c, m, NULL, &sink) == !word, "d %d, max_len %d, %d tokens: %s", d_model, max_len,
        vocabulary, c->message);
  if (word) CHECK(strstr(c->message, word) && !b.size, "wanted \"%s\" in: %s", word, c->message);
  else CHECK(syn_small_ram(b.at, b.size, NULL) > 0, "d %d, max_len %d, %d tokens", d_model, max_len, vocabulary);
  syn_context_clear(c);
  syn_model_free(m);
  free(b.at);
}
static void test_sizes(syn_context *c) {
  size_of_small(c, "id", 8, 65535, 9, NULL);
  size_of_small(c, "id", 8, 65536, 9, "small model: max_len of the model is 65536, wanted at most 65535");
  size_of_small(c, "id", 8, 9, 65535, NULL);
  size_of_small(c, "id", 8, 9, 65536, "small model: tgt_vocab of the model is 65536, wanted at most 65535");
  size_of_small(c, "id", 65504, 9, 9, NULL);
  size_of_small(c, "id", 65505, 9, 9, "small model: a size of output out is 65505, wanted at most 65504");
  size_of_small(c, "id", 65536, 9, 9, "small model: a size of embedding decoder is 65536, wanted at most 65535");
  size_of_small(c, "pos", 256, 16384, 9, NULL);
  size_of_small(c, "pos", 256, 16385, 9, "small model: max_len for the table of pos decoder.0 is 16385, wanted at most 16384");
  size_of_small(c, "rope -> syn_att(heads=1)", 256, 16385, 9,
                "small model: max_len for the rope of syn_att decoder.1 is 16385, wanted at most 16384");
}

static void test_no_lowering(syn_context *c) {
  no_lowering(c, "linear(65) -> linformer(65535, heads=1) -> linear", "mh_dot_att",
              "small model: the width of a row of linformer encoder.1 is 4259775, wanted at most 4194304");
  no_lowering(c, "linear(65) -> linformer(65536, heads=1) -> linear", "mh_dot_att",
              "small model: k of linformer encoder.1 is 65536, wanted at most 65535");
  no_lowering(c, "linear(65536) -> linear", "mh_dot_att",
              "small model: a size of linear encoder.0 is 65536, wanted at most 65535");
}

/* A kind of the caller, which no board knows, is named. */
static void test_refused(void) {
  syn_kind mine = syn__kind_linear;
  const syn_kind *kinds[1] = {&mine};
  syn_options options;
  syn_context own;
  mine.name = "mine";
  memset(&options, 0, sizeof options);
  options.kinds = kinds;
  options.n_kinds = 1;
  syn_context_init(&own, &options);
  no_lowering(&own, "id -> mine", "mh_dot_att", "small model: mine encoder.1 is a kind of a program, wanted layers of the language");
  syn_context_clear(&own);
}

/* Weights that cannot be rounded are refused by name, as is a sink that cannot write. */
static void test_not_finite(syn_context *c) {
  static const char *const names[] = {"encoder.0.w", "encoder.1.b", "tgt.embed", "out.b"};
  const float numbers[] = {(float)NAN, (float)INFINITY, -(float)INFINITY, 2e30f};
  syn_config k;
  syn_model *m;
  bytes b;
  syn_sink sink = sink_of(&b), closed = {NULL, NULL};
  int i;
  memset(&k, 0, sizeof k);
  k.encoder = "linear -> norm", k.decoder = "mh_dot_att", k.d_model = 8, k.src_vocab = k.tgt_vocab = 9;
  m = syn_model_new(c, &k);
  for (i = 0; i < 4; i++, syn_context_clear(c)) {
    const syn_param *p = syn_model_find(m, names[i]);
    float keep;
    CHECK(p, "%s is not there: %s", names[i], c->message);
    if (!p) continue;
    keep = p->x[p->size - 1];
    p->x[p->size - 1] = numbers[i];
    CHECK(syn_small_write(c, m, NULL, &sink) == SYN_E_VALUE && strstr(c->message, names[i]) && !b.size, "%s",
          c->message);
    syn_context_clear(c);
    CHECK(syn_small_embed(c, m, NULL, "x", &sink) == SYN_E_VALUE && strstr(c->message, names[i]), "%s", c->message);
    p->x[p->size - 1] = keep;
  }
  CHECK(syn_small_write(c, m, NULL, &closed) == SYN_E_VALUE && strstr(c->message, "sink"), "%s", c->message);
  syn_context_clear(c);
  CHECK(syn_small_embed(c, m, NULL, "x", &closed) == SYN_E_VALUE && strstr(c->message, "sink"), "%s", c->message);
  syn_context_clear(c);
  CHECK(syn_small_write(c, m, NULL, &sink) == SYN_OK && b.size > 1000, "%s", c->message);
  free(b.at);
  syn_model_free(m);
}

/* Scores of FR are products: finite weights may make infinite ones, or ones that are nearly 0. */
static void test_scores(syn_context *c) {
  const float weights[] = {1e-22f, 1e20f, 1.0f};
  syn_config k;
  syn_model *m;
  bytes b;
  syn_sink sink = sink_of(&b);
  const syn_param *r[2];
  size_t i, j;
  memset(&k, 0, sizeof k);
  k.task = "classify", k.encoder = "syn_att(FR)", k.d_model = 8, k.heads = 2, k.max_len = 8;
  k.src_vocab = 9, k.classes = 3;
  m = syn_model_new(c, &k);
  r[0] = syn_model_find(m, "encoder.0.r1"), r[1] = syn_model_find(m, "encoder.0.r2");
  CHECK(r[0] && r[1], "%s", c->message);
  for (i = 0; r[0] && r[1] && i < 3; i++, syn_context_clear(c)) {
    const int large = weights[i] > 1e15f;
    for (j = 0; j < r[0]->size; j++) r[0]->x[j] = weights[i];
    for (j = 0; j < r[1]->size; j++) r[1]->x[j] = j % 2 ? weights[i] : -weights[i]; /* a sum of infinities */
    CHECK((syn_small_write(c, m, NULL, &sink) != SYN_OK) == large, "%g: %s", (double)weights[i], c->message);
    CHECK(!large || strstr(c->message, "encoder.0 has a score that is too large"), "%s", c->message);
  }
  free(b.at);
  syn_model_free(m);
}

int main(void) {
  static const char *const pairs[][2] = {
      {"pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm",
       "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm"},
      {"pos(layout=half, first=1) -> res(rms_norm(eps=0.01) -> syn_att(R+V, bias=1, scale=0.7)) -> "
       "res_nd(ffl(32, bias=0)) -> norm(eps=0.001)",
       "pos -> res_nd(syn_att(V, bias=1)) -> res_nd(mh_dot_att(bias=1)) -> norm"},
      {"pos -> res_nd(syn_att(V+FD)) -> res_nd(ffl(64, gelu)) -> norm",
       "pos -> res_nd(syn_att(FR+T+V+D, mix=sum)) -> res_nd(mh_dot_att) -> res_nd(ffl(64, swish)) -> "
       "rms_norm"},
      {"pos -> res(rms_norm -> syn_att(Fix+V)) -> res_nd(ffl(48, tanh)) -> rms_norm",
       "learn_pos -> res_nd(syn_att(R)) -> res_nd(mh_dot_att) -> res_nd(ffl(64, sigmoid)) -> norm"},
      {"pos -> res_nd(light_conv(5)) -> res(cnn(32, k=3)) -> res_nd(dyn_conv(5)) -> norm",
       "pos -> res_nd(light_conv(5)) -> res_nd(dyn_conv(4)) -> res_nd(mh_dot_att) -> res(cnn(32, k=3, act=relu)) -> "
       "res(ff(32, glu)) -> norm"},
      {"ngram(3, 200) -> rnn(32) -> res_nd(rnn(32, gru)) -> norm",
       "ngram(2, 300, 1) -> rnn(32, gru) -> highway(ff(32)) -> res_nd(mh_dot_att) -> res(rnn(32)) -> norm -> dropout(0.1)"},
      /* pos, too: rope alone tells cross-attention no places, so the logits of this task lie so close
         that int8 changes outputs whatever the layers are */
      {"pos -> rope(layout=pair) -> repeat(2, res(rms_norm -> syn_att(V, kv=2, bias=1)) -> res(rms_norm -> ffl(24, swiglu))) -> norm",
       "pos -> rope(part=4) -> res(rms_norm -> syn_att(V, kv=1)) -> res_nd(mh_dot_att(kv=2)) -> "
       "res_nd(ffl(24, geglu, bias=0)) -> res(ffl(16, reglu)) -> norm"},
      {"pos -> share(2, res_nd(syn_att(R, softmax=0, mix=free)) -> res_nd(ffl(32))) -> norm",
       "pos -> res_nd(syn_att(FR+T+Fix, softmax=0, mix=free)) -> res_nd(mh_dot_att) -> norm"},
      {"types -> pos -> res_nd(linformer(6)) -> res_nd(fixed_att(8)) -> res_nd(ffl(48, gelu_erf)) -> norm",
       "pos -> res_nd(syn_att(V, window=4)) -> res_nd(mlp_att(24)) -> res_nd(ffl(48, quick_gelu)) -> norm -> scale(0.8)"},
      {"pos -> res_nd(syn_att(D+V, shared=1)) -> res_nd(syn_att(D, shared=1, heads=66, c=2)) -> norm",
       "pos -> res_nd(cnn(dilate=2)) -> res_nd(syn_att(V+D, shared=1)) -> res_nd(mh_dot_att(66, c=2)) -> norm"}};
  static const char *const encoders[] = {
      "types(3) -> norm", "pos -> act(gelu_erf) -> ff(act=quick_gelu) -> ff(act=gelu_erf) -> norm -> scale(-0.5)",
      "pos -> res_nd(linformer(6)) -> norm", "linear(10) -> res_nd(linformer(2, heads=1)) -> norm",
      "pos -> res(fixed_att(8)) -> res_nd(fixed_att(4)) -> norm",
      "linear(36) -> pos -> res_nd(fixed_att(9)) -> norm", "pos -> res_nd(syn_att(GLU+R)) -> syn_att(GLU) -> norm",
      "pos -> res(syn_att(Conv+CRC)) -> res_nd(syn_att(CRC+V+BCRC+Conv, f=5, f2=3)) -> norm",
      "pos->res_nd(syn_att(V+R, window=3))->res(syn_att(FR+T, softmax=0, window=2))->syn_att(R, tile=4, window=1)->norm",
      "pos -> res_nd(syn_att(D, shared=1)) -> res(syn_att(V+R+D, shared=1, mix=sum, kv=2, bias=1)) -> norm",
      "pos -> res(syn_att(CRC+D+V, shared=1, c=5)) -> res_nd(syn_att(D+V, shared=1, tile=5, scale=2)) -> norm",
      "pos -> res_nd(syn_att(V+D, heads=70, c=3)) -> res_nd(syn_att(FR+R, heads=65, c=2)) -> norm",
      "linear(66) -> pos -> res_nd(fixed_att(66)) -> norm"};
  static const char *const decoders[] = {"pos -> ngram(3, 300, 1) -> norm",
                                         "pos -> res(lin_att) -> res_nd(lin_att(2, decay=0)) -> norm",
                                         "input_feed -> ssru -> linear -> norm",
                                         "pos -> res(aft) -> res(ff(48) -> sgu -> linear) -> norm",
                                         "pos -> res(syn_att(Conv)) -> res(aop) -> norm",
                                         "pos -> res(syn_att(V+CRC+BCRC, m=3, f2=2)) -> res(syn_att(GLU+BD)) -> norm",
                                         "pos -> res_nd(syn_att(GLU)) -> norm",
                                         "pos -> res(syn_att(V+D, window=3)) -> res(syn_att(R+T, softmax=0, window=2)) -> norm",
                                         "pos -> res(ff(act=quick_gelu)) -> cnn(k=2, act=gelu_erf) -> norm -> scale(0.5)",
                                         "pos -> res(syn_att(D, shared=1)) -> res(syn_att(V+D, shared=1, mix=sum, heads=65, c=2, kv=5, bias=1)) -> norm",
                                         "pos -> res_nd(syn_att(D+V, shared=1)) -> norm",
                                         /* the oldest tap lies inside of the longest text, at its first token, before it */
                                         "pos -> res_nd(cnn(k=2, dilate=8, act=swiglu)) -> res(cnn(dilate=2)) -> norm",
                                         "pos -> res_nd(cnn(k=2, dilate=9)) -> res(cnn(k=4, dilate=5, act=tanh)) -> norm",
                                         "res(cnn(k=200, n=4, dilate=300) -> linear) -> pos -> norm"};
  syn_context c;
  size_t i;
  syn_context_init(&c, NULL);
  test_kernels();
  for (i = 0; i <= SYN__SMALL_i4; i++) test_matrix(&c, (int)i);
  for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    int learned = CHECK_EMULATED ? i == 0 : !CHECK_SHORT || i % 4 == 0;
    syn_model *m = trained(&c, pairs[i][0], pairs[i][1], !learned ? 1 : CHECK_SHORT ? 150 : 400);
    test_tokens(&c, m, 1, pairs[i][0], learned);
    test_tokens(&c, m, 4, pairs[i][0], learned);
    test_embed(&c, m);
    test_walk_of(&c, m);
    if (i == 0) test_configs(&c, m);
    if (i == 0) test_limits(&c, m);
    if (i == 0) test_learning(&c, m);
    if (i == 0) test_ties(&c, m);
    if (i == 0) test_unknown(&c, m);
    test_regions(&c, m);
    if (i == 0) test_damaged(&c, m, NULL);
    if (i == 0) test_damaged(&c, m, "i4");
    if (strstr(pairs[i][0], "cnn")) test_overlap(&c, m);
    if (strstr(pairs[i][0], "kv=") || strstr(pairs[i][0], "linformer") || strstr(pairs[i][0], "shared=1"))
      test_damaged(&c, m, NULL);
    if (i == 0) test_formats(&c, m);
    if (i == 0) test_options(&c, m);
    if (i == 0) test_shared(&c, m);
    syn_model_free(m);
  }
  for (i = CHECK_SHORT ? 1 : 0; i < 2; i++) {
    const char *type = i ? "i4" : "i8";
    test_task(&c, "classify", "ngram(4, 100) -> dropout", 1, type);
    if (CHECK_EMULATED) continue; /* the logits of these tasks are compared below, without a training */
    test_task(&c, "lm", i ? "pos -> res_nd(syn_att(D+V)) -> res_nd(lin_att) -> res_nd(ffl) -> norm"
                          : "pos -> repeat(2, res_nd(syn_att(D+V)) -> res_nd(ffl)) -> norm",
              i ? 3 : 1, "i8");
    test_task(&c, "classify", "pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm", 1, type);
    test_task(&c, "tag", "pos -> res_nd(syn_att(R+V)) -> res_nd(rnn(32, gru)) -> norm", 1, type);
  }
  test_buckets(&c);
  for (i = 0; i < sizeof decoders / sizeof *decoders; i++) {
    test_next_logits(&c, NULL, decoders[i], NULL);
    test_next_logits(&c, NULL, decoders[i], "i4");
  }
  for (i = 0; i < 2; i++)
    test_next_logits(&c, "pos -> norm", "pos -> res_nd(cnn(dilate=3)) -> res_nd(mh_dot_att(70, c=3)) -> res(syn_att(D+V, shared=1)) -> norm",
                     i ? "i4" : NULL);
  for (i = 0; i < 2 * sizeof encoders / sizeof *encoders; i++) {
    test_source_logits(&c, i % 2 ? "tag" : "classify", encoders[i / 2], NULL);
    test_source_logits(&c, i % 2 ? "tag" : "classify", encoders[i / 2], "i4");
  }
  for (i = 0; i < 2 * sizeof pairs / sizeof *pairs; i++) /* also where the pairs above have not learned */
    test_source_logits(&c, i % 4 < 2 ? "tag" : "classify", pairs[i / 2][0], i % 2 ? "i4" : NULL);
  test_sampling(&c);
  test_text(&c, "byte", 0);
  test_text(&c, "byte", SYN_LOWERCASE);
  test_text(&c, "char", SYN_LOWERCASE | SYN_SENTINELS);
  test_text(&c, "space", 0);
  test_text(&c, "bpe:40", SYN_LOWERCASE);
  test_text(&c, "bpe:60", SYN_SENTINELS);
  test_text(&c, "line", 0);
  test_classes(&c);
  test_functions();
  test_rotate();
  test_walk(&c);
  test_i4(&c);
  test_heads(&c);
  if (!CHECK_EMULATED) test_sizes(&c);
  test_no_lowering(&c);
  test_refused();
  test_not_finite(&c);
  test_scores(&c);
  return CHECK_END("small");
}
