/* 01   A network that reads dates: English words in, 2026-11-21 out

   Idea: one line of text is a whole network. This program makes its own data, trains a Synthesizer
   (attention from a learned matrix R mixed with ordinary attention V) on it, translates dates it has
   never seen, shows where one translation looked, saves the model, loads it and gets the same answers.

   Compile and run:  cc -O2 examples/01_quickstart.c -o quickstart -lm && ./quickstart
   Expected output:  tests/expected/01_quickstart.txt; the last line ends in "exact (99.7 %)" or more */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

enum { TRAIN = 8000, TEST = 1000 };

/* -- data: a date in one of many phrasings -- */

static const char *const months[] = {"january", "february", "march", "april", "may", "june", "july",
                                     "august", "september", "october", "november", "december"};
static const char *const ones[] = {"", "one", "two", "three", "four", "five", "six", "seven", "eight",
                                   "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen",
                                   "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const tens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy",
                                   "eighty", "ninety"};
static const char *const nths[] = {"", "first", "second", "third", "fourth", "fifth", "sixth",
                                   "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
                                   "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
                                   "eighteenth", "nineteenth", "twentieth"};

/* 1..99 as words; `last` names the ones of the final word (ones or nths) */
static void say(char *out, int n, const char *const *last) {
  if (n < 20 || (last == nths && n == 20)) sprintf(out, "%s", last[n]);
  else if (last == nths && n == 30) sprintf(out, "thirtieth");
  else sprintf(out, "%s%s%s", tens[n / 10], n % 10 ? " " : "", last[n % 10]);
}

/* Writes a random date both ways; returns a number that tells dates apart. */
static int make_date(syn_random *r, char *words, char *digits) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  static const char *const shapes[] = {"the %s of %s %s", "%s of %s %s", "%s %s %s", "on the %s of %s in %s",
                                       "the %s day of %s in the year %s"};
  int year = 1900 + syn_random_below(r, 200), month = syn_random_below(r, 12), shape;
  int day = 1 + syn_random_below(r, days[month]), low = year % 100;
  char d[40], y[60], part[40];
  say(d, day, nths);
  say(part, low, ones);
  if (year >= 2000 && (low < 10 || syn_random_below(r, 2))) sprintf(y, "two thousand%s%s", low ? " " : "", part);
  else if (low == 0) sprintf(y, "nineteen hundred");
  else sprintf(y, "%s %s%s", year < 2000 ? "nineteen" : "twenty", low < 10 ? "oh " : "", part);
  shape = syn_random_below(r, 8);
  if (shape < 5) sprintf(words, shapes[shape], d, months[month], y);
  else if (shape == 5) sprintf(words, "%s the %s %s", months[month], d, y);
  else if (shape == 6) sprintf(words, "%s %s %s", months[month], d, y);
  else sprintf(words, "in %s on %s the %s", y, months[month], d);
  sprintf(digits, "%04d-%02d-%02d", year, month + 1, day);
  return (year * 12 + month) * 31 + day;
}

/* -- text to tokens and back -- */

static syn_text text(const char *s) {
  syn_text t;
  t.at = s;
  t.size = strlen(s);
  return t;
}

/* Translates one text with the model; returns how many tokens `ids` (begin first) now holds. */
static int translate(syn_decoder *d, const syn_model *m, const char *words, char *out, int *src, int *ids) {
  syn_batch b = {1, NULL, NULL, NULL, 0, 0};
  int n = syn_tokenizer_encode(syn_model_tokenizer(m, SYN_SRC), text(words), src, 30), size;
  const int *y;
  src[n++] = SYN_END;
  b.src = src;
  b.src_width = n;
  out[0] = 0;
  if (syn_decode(d, &b, NULL, NULL)) return 0;
  y = syn_decoder_output(d, 0, 0, &size, NULL);
  syn_tokenizer_decode(syn_model_tokenizer(m, SYN_TGT), y, size, out, 32);
  ids[0] = SYN_BEGIN;
  memcpy(ids + 1, y, (size_t)(size - 1) * sizeof *ids);
  return size;
}

static int progress(void *user, const syn_trainer *t, float loss, int validated) {
  long step = syn_trainer_state(t)->step;
  (void)user, (void)validated;
  if (step % 100 == 0) fprintf(stderr, "step %4ld   loss %.4f\n", step, (double)loss);
  return 0;
}

/* Where the first head of the last attention to the source looked: a line a word, a column a character. */
static void show_attention(syn_context *c, const syn_model *m, const char *words, const char *out,
                           const int *src, const int *ids, int n) {
  syn_run *run = syn_run_new(c, m, NULL);
  syn_batch b = {1, NULL, NULL, NULL, 0, 0};
  int layer = 0, heads, i, j, size[2];
  float row[20];
  char line[100];
  b.src = src, b.tgt = ids, b.tgt_width = n;
  while (src[b.src_width++] != SYN_END) continue;
  while (syn_model_attention(m, layer + 1, &heads)) layer++;
  if (!run || syn_run_forward(run, &b)) return;
  printf("%12s %s\n", "", out);
  for (j = 0; j < b.src_width - 1; j++) {
    const float *p = syn_run_attention(run, layer, 0, 0, size);
    int length = (int)strcspn(words, " ");
    for (i = 0; i < n - 1; i++) row[i] = p[i * size[1] + j];
    syn_attention_shades(row, n - 1, line, sizeof line);
    printf("%12.*s %s|\n", length, words, line);
    words += length + (words[length] == ' ');
  }
  syn_run_free(run);
}

int main(void) {
  static char words[TRAIN + TEST][100], digits[TRAIN + TEST][16];
  static syn_text sources[TRAIN], targets[TRAIN];
  syn_random r = {2026};
  syn_context c;
  syn_config config = {0};
  syn_train_config training = {0};
  syn_decode_config decoding = {0};
  int i, src[40], tgt[40], ids[40], n, right = 0, same = 0;
  char out[40];

  /* Data: dates whose number is a multiple of 10 are kept for the test, so that none of them was seen. */
  for (i = 0; i < TRAIN + TEST;) i += (make_date(&r, words[i], digits[i]) % 10 == 0) == (i >= TRAIN);
  for (i = 0; i < TRAIN; i++) sources[i] = text(words[i]), targets[i] = text(digits[i]);

  /* A model from two lines of text. */
  syn_init(&c, NULL);
  config.encoder = "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm";
  config.decoder = "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm";
  syn_tokenizer *word_tokens = syn_tokenizer_learn(&c, "space", 0, sources, TRAIN);
  syn_tokenizer *char_tokens = syn_tokenizer_learn(&c, "char", 0, targets, TRAIN);
  config.src_vocab = syn_tokenizer_size(word_tokens);
  config.tgt_vocab = syn_tokenizer_size(char_tokens);
  config.max_len = 20;
  config.d_model = 64;
  syn_model *m = syn_model_new(&c, &config);
  if (m) syn_model_tokenizers(m, word_tokens, char_tokens);

  /* Training: rows of token ids, a fixed number of steps. */
  syn_data *data = syn_data_new(&c);
  for (i = 0; i < TRAIN && c.status == SYN_OK; i++) {
    int ns = syn_tokenizer_encode(word_tokens, sources[i], src, 40);
    syn_data_add(data, src, ns, tgt, syn_tokenizer_encode(char_tokens, targets[i], tgt, 40));
  }
  training.steps = 500;
  training.batch_tokens = 1024;
  training.lr = 0.003f;
  training.warmup = 100;
  training.schedule = "cosine";
  syn_trainer *t = c.status == SYN_OK ? syn_trainer_new(&c, m, &training) : NULL;
  if (!t || syn_train(t, data, NULL, progress, NULL)) return fprintf(stderr, "%s\n", c.message), 1;

  /* Unseen dates. */
  syn_decoder *d = syn_decoder_new(&c, m, &decoding);
  for (i = TRAIN; i < TRAIN + TEST; i++) {
    translate(d, m, words[i], out, src, ids);
    if (i < TRAIN + 5) printf("%-55s -> %s\n", words[i], out);
    right += !strcmp(out, digits[i]);
  }
  const char *one = "the twenty first of november two thousand twenty six";
  n = translate(d, m, one, out, src, ids);
  printf("\n%s -> %s, and where each character looked:\n", one, out);
  show_attention(&c, m, one, out, src, ids, n);

  /* Save, load, and the same answers. */
  syn_model_save(&c, m, "dates.safetensors");
  syn_model *loaded = syn_model_load(&c, "dates.safetensors");
  syn_decoder *again = loaded ? syn_decoder_new(&c, loaded, &decoding) : NULL;
  for (i = TRAIN; again && i < TRAIN + TEST; i++) {
    char second[40];
    translate(d, m, words[i], out, src, ids);
    translate(again, loaded, words[i], second, src, ids);
    same += !strcmp(out, second);
  }
  printf("\nsaved, loaded: %d of %d answers are the same\n", same, TEST);
  syn_decoder_free(again), syn_model_free(loaded), syn_decoder_free(d);
  syn_trainer_free(t), syn_data_free(data), syn_model_free(m);
  if (c.status) return fprintf(stderr, "%s\n", c.message), 1;
  printf("%d of %d unseen dates exact (%.1f %%)\n", right, TEST, 100.0 * right / TEST);
  return 0;
}
