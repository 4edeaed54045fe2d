/* 01   A network that reads dates: "the first of may two thousand twenty six" -> 2026-05-01

   Idea: one line of text is a whole network. This program makes its own data, trains a Synthesizer
   (attention from a learned matrix R, mixed with ordinary attention V), translates dates it has
   never seen, shows where one translation looked, saves the model, loads it, gets the same answers.

   Compile, run:  cc -O2 examples/01_quickstart.c -o quickstart -lm && ./quickstart
   Expected:      tests/expected/01.txt, the same on every machine; its last line tells the score */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

enum { TRAIN = 8000, TEST = 1000, STEPS = 500 };

/* -- data: a date in one of many phrasings -- */

static const char *const months[] = {"january", "february", "march", "april", "may", "june", "july",
  "august", "september", "october", "november", "december"};
static const char *const ones[] = {"", "one", "two", "three", "four", "five", "six", "seven",
  "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
  "seventeen", "eighteen", "nineteen"};
static const char *const nths[] = {"", "first", "second", "third", "fourth", "fifth", "sixth",
  "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth",
  "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};
static const char *const tens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy",
  "eighty", "ninety"};
static const char *const shapes[] = {"the %s of %s %s", "%s of %s %s", "%s %s %s",
  "on the %s of %s in %s", "the %s day of %s in the year %s"};

static void say(char *out, int n, const char *const *last, int whole) { /* 1..99; whole: of last */
  if (n < whole) strcpy(out, last[n]);
  else if (last == nths && n == 30) strcpy(out, "thirtieth");
  else sprintf(out, "%s%s%s", tens[n / 10], n % 10 ? " " : "", last[n % 10]);
}

/* Writes a random date both ways; returns a number that tells dates apart. */
static int make_date(syn_random *r, char *words, char *digits) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int year = 1901 + syn_random_below(r, 199), month = syn_random_below(r, 12), low = year % 100;
  int day = 1 + syn_random_below(r, days[month]), shape = syn_random_below(r, 8);
  const char *m = months[month], *century = year < 2000 ? "nineteen" : "twenty";
  char d[40], y[60], part[40];
  say(d, day, nths, 21);
  say(part, low, ones, 20);
  if (year >= 2000 && (low < 10 || shape % 2)) century = "two thousand", low += low ? 10 : 0;
  sprintf(y, "%s%s%s", century, low == 0 ? "" : low < 10 ? " oh " : " ", part);
  if (shape < 5) sprintf(words, shapes[shape], d, m, y);
  else if (shape < 7) sprintf(words, shape == 5 ? "%s the %s %s" : "%s %s %s", m, d, y);
  else sprintf(words, "in %s on %s the %s", y, m, d);
  sprintf(digits, "%04d-%02d-%02d", year, month + 1, day);
  return (year * 12 + month) * 31 + day;
}

/* -- translating one text, and looking at it -- */
static syn_text text(const char *s) {
  syn_text t = {s, 0};
  t.size = strlen(s);
  return t;
}

/* `b` gets the tokens of the text and, as decoder input, those of the translation `out`. */
static void translate(syn_decoder *d, const syn_model *m, const char *words, char *out,
                      syn_batch *b) {
  static int src[40], tgt[40];
  const int *y;
  b->count = 1, b->src = src, b->tgt = NULL, tgt[0] = SYN_BEGIN;
  b->src_width = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_SRC), text(words), src, 39);
  src[b->src_width++] = SYN_END;
  syn_decoder_run(d, b, NULL, NULL);
  y = syn_decoder_output(d, 0, 0, &b->tgt_width, NULL);
  syn_tokenizer_decode(syn_model_tokenizer(m, SYN_TGT), y, b->tgt_width, out, 32);
  if (b->tgt_width) memcpy(tgt + 1, y, (size_t)(b->tgt_width - 1) * sizeof *tgt);
  b->tgt = tgt;
}

/* The last attention to the source, first head: a line a word, a column a character. */
static void show_attention(syn_run *run, const syn_model *m, const char *words,
                           const syn_batch *b) {
  int layer = 0, heads, i, j, size[2] = {0, 0};
  float row[40];
  char line[200];
  while (syn_model_attention(m, layer + 1, &heads)) layer++;
  const float *p = syn_run_forward(run, b) ? NULL : syn_run_attention(run, layer, 0, 0, size);
  for (j = 0; j + 1 < size[1]; j++) {
    int length = (int)strcspn(words, " ");
    for (i = 0; i + 1 < size[0]; i++) row[i] = p[i * size[1] + j];
    syn_attention_shades(row, size[0] - 1, line, sizeof line);
    printf("%12.*s %s|\n", length, words, line);
    words += length + (words[length] == ' ');
  }
}

static int progress(void *user, const syn_trainer *t, float loss, int validated) {
  long step = syn_trainer_state(t)->step;
  if (step % 50 == 0) fprintf(stderr, "step %ld of %d, loss %.4f\n", step, STEPS, (double)loss);
  return (void)user, (void)validated, 0;
}

int main(void) {
  static char words[TRAIN + TEST][100], digits[TRAIN + TEST][16];
  static syn_text sources[TRAIN], targets[TRAIN];
  const char *one = "the twenty first of november two thousand twenty six";
  syn_random r = {2026};
  syn_context c;
  syn_batch b = {0, NULL, NULL, NULL, 0, 0};
  char out[40], again[40];
  int i, src[40], tgt[40], right = 0, same = 0;

  /* Dates whose number is a multiple of 10 are kept for the test: none of them is learned. */
  for (i = 0; i < TRAIN + TEST;) i += !(make_date(&r, words[i], digits[i]) % 10) == (i >= TRAIN);
  for (i = 0; i < TRAIN; i++) sources[i] = text(words[i]), targets[i] = text(digits[i]);

  /* A model from two lines of text, and tokenizers that become part of it. */
  syn_context_init(&c, NULL);
  syn_tokenizer *in = syn_tokenizer_learn(&c, "space", 0, sources, TRAIN);
  syn_tokenizer *to = syn_tokenizer_learn(&c, "char", 0, targets, TRAIN);
  syn_config k = {"seq2seq", "pos->repeat(2, res_nd(syn_att(R+V))->res_nd(ffl))->norm",
    "pos->repeat(2, res_nd(syn_att(R+V))->res_nd(mh_dot_att)->res_nd(ffl))->norm", 64, 4, 20,
    syn_tokenizer_size(in), syn_tokenizer_size(to), 0, NULL, 0, 0, 0, NULL, 0};
  syn_model *m = syn_model_new(&c, &k), *loaded;
  if (!m) return puts(c.message), 1;
  syn_model_set_tokenizers(m, in, to);

  /* Training on rows of token ids, a fixed number of steps. */
  syn_train_config how = {0, "cosine", 0.003f, 100, STEPS, 0,0,0,0, 1, 1024, 0,0,0,0,0,0,0,0};
  syn_data *data = syn_data_new(&c);
  for (i = 0; i < TRAIN; i++)
    syn_data_add(data, src, syn_tokenizer_encode(in, sources[i], src, 40), tgt,
                 syn_tokenizer_encode(to, targets[i], tgt, 40));
  if (syn_trainer_run(syn_trainer_new(&c, m, &how), data, NULL, progress, NULL))
    return puts(c.message), 1;

  /* Save, load, and compare the two on dates that neither has seen. */
  syn_model_save(&c, m, "dates.safetensors");
  loaded = syn_model_load(&c, "dates.safetensors");
  syn_decoder *d = syn_decoder_new(&c, m, NULL), *second = syn_decoder_new(&c, loaded, NULL);
  for (i = TRAIN; i < TRAIN + TEST && c.status == SYN_OK; i++) {
    translate(d, m, words[i], out, &b);
    translate(second, loaded, words[i], again, &b);
    if (i < TRAIN + 5) printf("%-52s -> %s\n", words[i], out);
    right += !strcmp(out, digits[i]), same += !strcmp(out, again);
  }
  translate(d, m, one, out, &b);
  printf("\n%s\n%12s %s\n", one, "", out);
  show_attention(syn_run_new(&c, m, NULL), m, one, &b);
  if (c.status) return puts(c.message), 1; /* the first failure, if there was one, is still there */
  printf("\nsaved and loaded: %d of %d answers the same\n%d of %d unseen dates exact (%.1f %%)\n",
         same, TEST, right, TEST, 100.0 * right / TEST);
  return 0; /* the system takes the memory back; elsewhere every _new has its _free */
}
