/* 16   On a board: the model as an array, run without malloc, files or floats from a library

   You will be able to put a network into constants, say what it loses, and run it in a fixed block
   of memory.

   Idea: a microcontroller has some kilobytes of RAM, but flash that can hold constants. So the
   weights become int8 numbers in one constant array, a fourth of the bytes; a row w of a matrix
   gets one scale:

     scale = largest |w_i| / 127     q_i = round(w_i / scale)     w . x = about scale (q . x)

   Each q_i is wrong by half a step at most. The errors of a row partly cancel and rarely change
   which token is the most probable. The bytes of RAM are known before a run begins. The answer
   comes in slices: after as many multiply-adds as you allow, your program has the processor again.

   This program trains, makes the array, opens it in a block of RAM and compares its answers with
   those of the float model. ../embedded/README.md runs such arrays on emulated boards.

   Compile, run:  make -C examples/course lesson N=16   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/16_board.c -o board -lm && ./board
   Expected:      examples/course/expected/16.txt */
#include "course.h"
enum { DATES = 4000, TESTS = 200, STEPS = 400, LONGEST = 12, ARRAY = 65536, RAM = 8192 };

/* A random date in words, and in digits. */
static void make_date(syn_random *r, char *words, char *digits) {
  static const char *const months[] = {"january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december"};
  int year = 1950 + syn_random_below(r, 100), month = syn_random_below(r, 12);
  int day = 1 + syn_random_below(r, 28);
  if (syn_random_below(r, 2)) sprintf(words, "%s %d %d", months[month], day, year);
  else sprintf(words, "on %d %s %d", day, months[month], year);
  sprintf(digits, "%d-%02d-%02d", year, month + 1, day);
}

/* q [n] and the scale that is returned stand for w [n]. */
static float quantize(const float *w, int n, signed char *q) {
  float largest = 0, scale;
  for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(w[i]));
  scale = largest > 0 ? largest / 127 : 1;
  for (int i = 0; i < n; i++) q[i] = (signed char)roundf(w[i] / scale);
  return scale;
}

/* Rows of a matrix by hand: products with x by integers, beside those by floats. */
static void by_hand(const syn_param *w) {
  enum { MOST = 256 };
  int columns = w->shape[1];
  float x[MOST], scale, x_scale;
  signed char q[MOST], qx[MOST];
  syn_random r = {12};
  for (int j = 0; j < columns; j++) x[j] = syn_random_normal(&r);
  x_scale = quantize(x, columns, qx);
  printf("%s [%d,%d]\n", w->name, w->shape[0], columns);
  for (int i = 0; i < 4; i++) {
    const float *row = w->x + i * columns;
    float exact = 0, error = 0;
    int sum = 0; /* of products up to 127 * 127: int8 times int8 into 32 bits */
    scale = quantize(row, columns, q);
    for (int j = 0; j < columns; j++) {
      exact += row[j] * x[j];
      sum += q[j] * qx[j];
      error = fmaxf(error, fabsf(row[j] - scale * q[j]));
    }
    printf("row %d: scale %.5f, largest error %.5f; product %8.4f, by integers %8.4f\n", i,
           (double)scale, (double)error, (double)exact, (double)(scale * x_scale * (float)sum));
  }
}

/* A sink that appends to memory. */
typedef struct memory {
  uint64_t bytes[ARRAY / 8];
  size_t size;
} memory;
static size_t append(void *user, const void *bytes, size_t size) {
  memory *m = user;
  if (size > ARRAY - m->size) return 0; /* full: syn_small_write fails */
  memcpy((char *)m->bytes + m->size, bytes, size);
  m->size += size;
  return size;
}
static size_t to_file(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, user);
}

/* The answer of the small model; returns the calls of syn_small_step. */
static int answer(syn_small *s, const char *words, char *out, size_t capacity) {
  int source[LONGEST], tokens[LONGEST], count = 0, calls = 0, token;
  int n = syn_small_encode(s, syn_text_of(words), source, LONGEST);
  if (n < 0 || syn_small_source(s, source, n) < 0) return -1;
  while ((token = syn_small_step(s, 1000)) >= SYN_SMALL_MORE && count < LONGEST) {
    if (token >= 0) tokens[count++] = token;
    calls++; /* here the board may read its buttons */
  }
  syn_small_decode(s, tokens, count, out, capacity);
  return calls;
}

int main(int argc, char **argv) {
  static char words[DATES][40], digits[DATES][12], by_float[40], by_int8[40];
  static syn_text in[DATES], out[DATES];
  static memory array;
  static uint64_t ram[RAM / 8]; /* all that the model may write to, aligned to 8 bytes */
  size_t floats = 0;
  int same = 0, right = 0, calls = 0, error;
  syn_random r = {7};
  syn_context c;
  for (int i = 0; i < DATES; i++) make_date(&r, words[i], digits[i]);
  for (int i = 0; i < DATES; i++) in[i] = syn_text_of(words[i]), out[i] = syn_text_of(digits[i]);
  syn_context_init(&c, NULL);
  syn_tokenizer *source = syn_tokenizer_learn(&c, "space", 0, in, DATES);
  syn_tokenizer *target = syn_tokenizer_learn(&c, "char", 0, out, DATES);
  syn_config network = {.encoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl) -> norm",
    .decoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm",
    .d_model = 32, .heads = 2, .max_len = LONGEST,
    .src_vocab = syn_tokenizer_size(source), .tgt_vocab = syn_tokenizer_size(target)};
  syn_train_config how = {.lr = 0.005f, .warmup = 40, .steps = STEPS, .batch_tokens = 1024};
  syn_model *m = syn_model_new(&c, &network);
  syn_model_set_tokenizers(m, source, target);
  syn_data *data = syn_data_new(&c);
  for (int i = 0; i < DATES; i++) syn_data_add_text(data, m, in[i], out[i]);
  syn_trainer_run(syn_trainer_new(&c, m, &how), data, NULL, NULL, NULL);
  syn_small_options options = {.tokenizers = 1, .type = "i8"};
  syn_sink sink = {append, &array};
  if (syn_small_write(&c, m, &options, &sink)) return puts(c.message), 1;
  by_hand(syn_model_find(m, "decoder.3.1.w"));
  long needed = syn_small_ram(array.bytes, array.size, NULL);
  for (size_t i = 0; i < syn_model_param_count(m); i++) floats += syn_model_param(m, i)->size;
  printf("\n%zu parameters, %zu bytes as floats; the array, words included: %zu; RAM: %ld\n",
         floats, floats * sizeof(float), array.size, needed);
  syn_small *s = syn_small_open(ram, sizeof ram, array.bytes, array.size, NULL, &error);
  if (!s) return printf("syn_small_open: %d\n", error), 1;
  syn_decoder *d = syn_decoder_new(&c, m, NULL);
  for (int i = 0; i < TESTS; i++) {
    make_date(&r, words[0], digits[0]);
    syn_decoder_run_text(d, syn_text_of(words[0]), syn_text_of(""), NULL, NULL);
    syn_decoder_output_text(d, 0, 0, by_float, sizeof by_float, NULL);
    calls += answer(s, words[0], by_int8, sizeof by_int8);
    same += !strcmp(by_float, by_int8);
    right += !strcmp(by_int8, digits[0]);
    if (i < 3) printf("%s -> %s\n", words[0], by_int8);
  }
  printf("%d of %d new dates right, %d as by the float model; %d calls a date\n", right, TESTS,
         same, calls / TESTS);
  FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (f) syn_small_embed(&c, m, &options, "dates", &(syn_sink){to_file, f});
  return c.status || (f && fclose(f));
}

/* To try: type "i4" (4 bits); slices of 100; RAM = 4096 (errors: >>small types). `./board
   dates_model.h` also writes the array as a C header, as a board's program includes it. */
