/* 11   Encoder and decoder: a network reads "on 3 may 1987" and writes 1987-05-03

   You will be able to explain how the two halves of a translation network meet, and to find an
   error with the picture of attention.

   Idea: an encoder makes of the source one row of numbers for each word. A decoder writes the
   answer, one token after the other. Each of its rows makes a query; each row of the encoder makes
   a key and a value. The weights tell where the decoder looks, the values are what it gets (row t
   of the decoder, row s of the encoder):
     P_ts = softmax over s of (q_t . k_s / sqrt(c))     context_t = sum over s of P_ts v_s
   c is the number of columns of a head. Nothing else connects the two halves. No row of the decoder
   sees a later token.

   Compile, run:  make -C examples/course lesson N=11   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/11_encoder_decoder.c -o dates -lm && ./dates
   Expected:      examples/course/expected/11.txt */
#include "course.h"
enum { DATES = 4000, TESTS = 200, STEPS = 400, LONGEST = 12 /* tokens, with begin or end */ };
enum { WIDTH = 32, HEADS = 2, C = WIDTH / HEADS };

/* A random date in one of three orders, and in digits. */
static void make_date(syn_random *r, char *words, char *digits) {
  static const char *const months[] = {"january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december"};
  int year = 1950 + syn_random_below(r, 100), month = syn_random_below(r, 12);
  int day = 1 + syn_random_below(r, 28), order = syn_random_below(r, 3);
  if (order == 0) sprintf(words, "%s %d %d", months[month], day, year);
  if (order == 1) sprintf(words, "on %d %s %d", day, months[month], year);
  if (order == 2) sprintf(words, "%d the %d of %s", year, day, months[month]);
  sprintf(digits, "%d-%02d-%02d", year, month + 1, day);
}

/* y [c] = W x for head h: its rows h c .. h c + c - 1 of W [d,d]; x [d] */
static void project(const float *w, int h, const float *x, float *y) {
  for (int i = 0; i < C; i++) {
    y[i] = 0;
    for (int j = 0; j < WIDTH; j++) y[i] += w[(h * C + i) * WIDTH + j] * x[j];
  }
}

/* Head h of one row x [d] of the decoder looks at the rows e [S,d] of the encoder. w: the matrices
   of queries, keys, values. p [S]: the weights; context [c]. */
static void attend(const float *const w[3], int h, const float *x, const float *e, int S, float *p,
                   float *context) {
  float q[C], k[C], v[C], sum = 0;
  project(w[0], h, x, q);
  for (int s = 0; s < S; s++) { /* the scores */
    project(w[1], h, e + s * WIDTH, k);
    p[s] = 0;
    for (int i = 0; i < C; i++) p[s] += q[i] * k[i] / sqrtf(C);
  }
  for (int s = 0; s < S; s++) sum += p[s] = expf(p[s]);
  for (int s = 0; s < S; s++) p[s] /= sum; /* softmax */
  memset(context, 0, C * sizeof *context);
  for (int s = 0; s < S; s++) { /* the sum of the values */
    project(w[2], h, e + s * WIDTH, v);
    for (int i = 0; i < C; i++) context[i] += p[s] * v[i];
  }
}

/* The largest difference between our contexts and the library's. A path counts layers from 0:
   decoder.2 is res_nd(mh_dot_att), its norm decoder.2.0, its attention decoder.2.1; encoder.3 is
   the last norm of the encoder. */
static float compare(const syn_run *run, const syn_model *m) {
  const float *w[] = {syn_model_find(m, "decoder.2.1.w_q")->x,
    syn_model_find(m, "decoder.2.1.w_k")->x, syn_model_find(m, "decoder.2.1.w_v")->x};
  float p[LONGEST], context[C], worst = 0;
  syn_value x, e, wanted; /* [T,d], [S,d], [T,H,c] */
  syn_run_value(run, "decoder.2.0", 0, &x);
  syn_run_value(run, "encoder.3", 0, &e);
  syn_run_value(run, "decoder.2.1.context", 0, &wanted);
  for (int h = 0; h < HEADS; h++)
    for (int t = 0; t < x.shape[0]; t++) {
      attend(w, h, x.x + t * WIDTH, e.x, e.shape[0], p, context);
      for (int i = 0; i < C; i++)
        worst = fmaxf(worst, fabsf(context[i] - wanted.x[(t * HEADS + h) * C + i]));
    }
  return worst;
}

/* A line for a word of the source, a column for a token of the answer; mean of the heads. The row
   of the source's end is useful: by self-attention it knows all words. */
static void picture(const syn_run *run, const char *source, const char *digits) {
  syn_value p; /* [H,T,S] */
  char line[100];
  syn_run_value(run, "decoder.2.1.weights", 0, &p);
  printf("\n%10s %s\n", "", digits);
  for (int s = 0, T = p.shape[1]; s < p.shape[2]; s++, source += strcspn(source, " ") + 1) {
    float column[LONGEST] = {0};
    for (int i = 0; i < HEADS * T; i++) column[i % T] += p.x[i * p.shape[2] + s] / HEADS;
    syn_attention_shades(column, T, line, sizeof line);
    printf("%10.*s %s|\n", (int)strcspn(source, " "), source, line);
  }
}

/* Which rows of a value change (*) with this source, and with these digits in the decoder. */
static void changes(syn_run *run, const char *path, const char *source, const char *digits) {
  static float before[LONGEST * WIDTH];
  syn_value v; /* [tokens,d] */
  syn_run_value(run, path, 0, &v);
  memcpy(before, v.x, (size_t)(v.shape[0] * WIDTH) * sizeof *before);
  syn_run_text(run, syn_text_of(source), syn_text_of(digits));
  syn_run_value(run, path, 0, &v);
  printf("source \"%s\", the decoder reads %s: %s ", source, digits, path);
  for (int t = 0; t < v.shape[0]; t++)
    putchar(memcmp(before + t * WIDTH, v.x + t * WIDTH, WIDTH * sizeof *before) ? '*' : '=');
  puts("");
}

int main(int argc, char **argv) {
  static char words[DATES][40], digits[DATES][12], answer[LONGEST + 1];
  static syn_text in[DATES], out[DATES];
  syn_random r = {7};
  int right = 0;
  syn_context c; /* keeps the first error */
  for (int i = 0; i < DATES; i++) make_date(&r, words[i], digits[i]);
  for (int i = 0; i < DATES; i++) in[i] = syn_text_of(words[i]), out[i] = syn_text_of(digits[i]);
  syn_context_init(&c, NULL);
  syn_tokenizer *source = syn_tokenizer_learn(&c, "space", 0, in, DATES); /* words */
  syn_tokenizer *target = syn_tokenizer_learn(&c, "char", 0, out, DATES);
  syn_config network = {.encoder = "pos -> res_nd(syn_att(V)) -> res_nd(ffl) -> norm",
    .decoder = "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm",
    .d_model = WIDTH, .heads = HEADS, .max_len = LONGEST,
    .src_vocab = syn_tokenizer_size(source), .tgt_vocab = syn_tokenizer_size(target)};
  syn_train_config how = {.lr = 0.005f, .warmup = 40, .steps = STEPS, .batch_tokens = 1024};
  syn_model *m = syn_model_new(&c, &network);
  syn_model_set_tokenizers(m, source, target);
  syn_data *data = syn_data_new(&c);
  for (int i = 0; i < DATES; i++) syn_data_add_text(data, m, in[i], out[i]);
  syn_trainer_run(syn_trainer_new(&c, m, &how), data, NULL, NULL, NULL);
  /* keep: every value can be read */
  syn_run *run = syn_run_new(&c, m, &(syn_limits){.src_rows = LONGEST, .keep = 1});
  syn_run_text(run, syn_text_of("on 3 may 1987"), syn_text_of("1987-05-03"));
  if (c.status) return puts(c.message), 1;
  printf("attention by hand within 1e-5: %s\n", compare(run, m) < 1e-5f ? "yes" : "no");
  picture(run, "on 3 may 1987 (end)", "1987-05-03.");
  puts("\nRows that change (*) with another month in the decoder, then another day in the source:");
  changes(run, "encoder.3", "on 3 may 1987", "1987-12-03");
  changes(run, "decoder.4", "on 3 may 1987", "1987-05-03");
  changes(run, "encoder.3", "on 4 may 1987", "1987-05-03");
  changes(run, "decoder.4", "on 3 may 1987", "1987-05-03");
  syn_decoder *decoder = syn_decoder_new(&c, m, NULL);
  for (int i = 0; i < TESTS; i++) {
    make_date(&r, words[0], digits[0]);
    syn_decoder_run_text(decoder, syn_text_of(words[0]), syn_text_of(""), NULL, NULL);
    syn_decoder_output_text(decoder, 0, 0, answer, sizeof answer, NULL);
    if (i < 4) printf("%s -> %s\n", words[0], answer);
    right += !strcmp(answer, digits[0]);
  }
  printf("%d of %d new dates right\n", right, TESTS);
  if (argc > 1) syn_model_save(&c, m, argv[1]);
  return c.status != SYN_OK;
}

/* To try: remove mh_dot_att from the decoder's text: what does the library say? STEPS = 180: what
   is right first? Where does the decoder look then? `./dates dates.safetensors` also writes the
   network, and `syn trace -m dates.safetensors --input "on 3 may 1987" -o page.html` (../../tools)
   shows all its numbers. */
