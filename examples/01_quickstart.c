/* 01   A network that reads dates: "the first of may two thousand twenty six" -> 2026-05-01

   Idea: one line of text is a whole network. This program makes its own data, trains a Synthesizer
   (attention from a learned matrix R, mixed with ordinary attention V), translates unseen dates,
   saves the model, loads it again, and shows where the network looked for one translation.

   Compile, run:  cc -O2 examples/01_quickstart.c -o quickstart -lm && ./quickstart
   Expected:      tests/expected/01.txt, the same on every machine; its last line tells the score */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "dates.h" /* make_date: a random date in words and in digits */
enum { TRAIN = 8000, TEST = 1000, STEPS = 500 };

static void translate(syn_decoder *d, const char *words, char *out, size_t capacity) {
  syn_decoder_run_text(d, syn_text_of(words), syn_text_of(""), NULL, NULL);
  syn_decoder_output_text(d, 0, 0, out, capacity, NULL);
}

/* The last attention to the source, first head: a line for a word, a column for a character. */
static void show_attention(syn_run *run, const syn_model *m, const char *words,
                           const char *digits) {
  int layer = 0, heads, i, j, size[2];
  char line[200];
  float column[40];
  while (syn_model_attention(m, layer + 1, &heads)) layer++;
  syn_run_text(run, syn_text_of(words), syn_text_of(digits));
  const float *weights = syn_run_attention(run, layer, 0, 0, size); /* [digits, words] */
  for (j = 0; j + 1 < size[1]; j++, words += strcspn(words, " ") + 1) {
    for (i = 0; i + 1 < size[0]; i++) column[i] = weights[i * size[1] + j];
    syn_attention_shades(column, size[0] - 1, line, sizeof line);
    printf("%12.*s %s|\n", (int)strcspn(words, " "), words, line);
  }
}

static int progress(void *user, const syn_trainer *t, float loss, int validated) {
  long step = (long)syn_trainer_state(t)->step;
  if (step % 50 == 0) fprintf(stderr, "step %ld of %d, loss %.4f\n", step, STEPS, (double)loss);
  return (void)user, (void)validated, 0; /* not 0: stop */
}

int main(void) {
  static char words[TRAIN + TEST][100], digits[TRAIN + TEST][16];
  static syn_text sources[TRAIN], targets[TRAIN];
  const char *one = "the twenty first of november two thousand twenty six";
  syn_random random = {.state = 2026};
  char out[40], again[40];
  int i, right = 0, same = 0;
  syn_context c; /* keeps the first error */

  /* Dates whose number is a multiple of 10 are kept for the test. */
  for (i = 0; i < TRAIN + TEST;)
    i += !(make_date(&random, words[i], digits[i]) % 10) == (i >= TRAIN);
  for (i = 0; i < TRAIN; i++) sources[i] = syn_text_of(words[i]);
  for (i = 0; i < TRAIN; i++) targets[i] = syn_text_of(digits[i]);

  /* Tokenizers, and a model from two lines of text. */
  syn_context_init(&c, NULL);
  syn_tokenizer *in = syn_tokenizer_learn(&c, "space", 0, sources, TRAIN);
  syn_tokenizer *to = syn_tokenizer_learn(&c, "char", 0, targets, TRAIN);
  syn_config network = {
      .encoder = "pos->repeat(2, res_nd(syn_att(R+V))->res_nd(ffl))->norm",
      .decoder = "pos->repeat(2, res_nd(syn_att(R+V))->res_nd(mh_dot_att)->res_nd(ffl))->norm",
      .d_model = 64, .heads = 4, .max_len = 20,
      .src_vocab = syn_tokenizer_size(in), .tgt_vocab = syn_tokenizer_size(to)};
  syn_model *m = syn_model_new(&c, &network);
  syn_model_set_tokenizers(m, in, to);

  syn_train_config how = {.schedule = "cosine", .lr = 0.003f, .warmup = 100, .steps = STEPS,
                          .clip = 1, .batch_tokens = 1024};
  syn_data *data = syn_data_new(&c);
  for (i = 0; i < TRAIN; i++) syn_data_add_text(data, m, sources[i], targets[i]);
  syn_trainer_run(syn_trainer_new(&c, m, &how), data, NULL, progress, NULL);

  syn_model_save(&c, m, "dates.safetensors");
  syn_model *loaded = syn_model_load(&c, "dates.safetensors");
  syn_decoder *d = syn_decoder_new(&c, m, NULL), *second = syn_decoder_new(&c, loaded, NULL);
  for (i = TRAIN; i < TRAIN + TEST && c.status == SYN_OK; i++) {
    translate(d, words[i], out, sizeof out);
    translate(second, words[i], again, sizeof again);
    if (i < TRAIN + 5) printf("%-52s -> %s\n", words[i], out);
    right += !strcmp(out, digits[i]), same += !strcmp(out, again);
  }
  translate(d, one, out, sizeof out);
  printf("\n%s\n%12s %s\n", one, "", out);
  show_attention(syn_run_new(&c, m, NULL), m, one, out);
  if (c.status) return puts(c.message), 1;
  printf("\nsaved and loaded: %d of %d answers the same\n%d of %d unseen dates exact (%.1f %%)\n",
         same, TEST, right, TEST, 100.0 * right / TEST);
  return 0; /* the system takes the memory back; elsewhere every _new has its _free */
}
