/* board.h   what a small model needs on a board. A part of syn.c, which includes it behind
   data.h. */

/* ==============================================================================================
   >>tool board   flash, RAM, stack and instructions of a small model
   ============================================================================================== */

/* Cores: what was measured with gcc 12 -Os in emulators (examples/embedded: make table). Bytes of
   code with tokenizers and the float functions of the compiler, without beam search, of a network
   of convolutions and attention; others have up to 3 KB less. Bytes of stack of a call at most,
   up to 72 more with scores.
   Instructions for each multiply-add of a network of width d, about a + b / d: products take a, the
   float operations of rows b / d. bag: of a network that is a bag of n-grams, which adds floats;
   found with widths of 32 and 80, 10 % off at most with 16 and 48. */
typedef struct core {
  const char *name, *layout;
  int code, stack;
  double rate[2], bag[2]; /* a, b */
} core;
enum { M0, M3, M4, M7, M33, M55 };
static const core cores[] = {{"Cortex-M0", "smlad", 23700, 360, {7.5, 986.0}, {125.0, 533.0}},
                             {"Cortex-M3", "smlad", 21050, 344, {3.3, 480.0}, {56.4, 232.0}},
                             {"Cortex-M4", "smlad", 18450, 344, {1.43, 72.0}, {12.6, 204.0}},
                             {"Cortex-M7", "smlad", 18430, 344, {1.43, 72.0}, {12.6, 204.0}},
                             {"Cortex-M33", "smlad", 18400, 344, {1.43, 72.0}, {12.6, 204.0}},
                             {"Cortex-M55", "mve", 19100, 336, {0.25, 40.0}, {12.2, 198.0}}};
/* Bytes for the program around: vectors and start-up; a line of text and its tokens. */
static const double own_flash = 1024.0, own_ram = 256.0;

/* Sizes in KiB as the makers give them. an385 ... are Arm's images for its boards, which emulators
   know. m0-16k stands for a Cortex-M0 with 128 and 16 KiB, as the STM32F072RB has (data sheet
   DS9826); stm32f4 for the STM32F407VG (DS8626), whose 64 KiB of other RAM are not counted. */
typedef struct board {
  const char *name, *chip;
  int core, mhz, flash, ram;
} board;
static const board boards[] = {
    {"microbit", "nRF51822", M0, 16, 256, 16},
    {"m0-16k", "STM32F072RB", M0, 48, 128, 16},
    {"microbit2", "nRF52833", M4, 64, 512, 128},
    {"pico", "RP2040", M0, 133, 2048, 264},
    {"pico2", "RP2350", M33, 150, 4096, 520},
    {"bluepill", "STM32F103C8", M3, 72, 64, 20},
    {"stm32vldiscovery", "STM32F100RB", M3, 24, 128, 8},
    {"netduinoplus2", "STM32F405RG", M4, 168, 1024, 128},
    {"stm32f4", "STM32F407VG", M4, 168, 1024, 128},
    {"nucleo-h743", "STM32H743ZI", M7, 480, 2048, 512},
    {"nrf52840", "nRF52840", M4, 64, 1024, 256},
    {"teensy4", "i.MX RT1062", M7, 600, 1984, 512},
    {"lm3s6965evb", "LM3S6965", M3, 50, 256, 64},
    {"an385", "MPS2 AN385", M3, 25, 4096, 4096},
    {"an386", "MPS2 AN386", M4, 25, 4096, 4096},
    {"an500", "MPS2 AN500", M7, 25, 4096, 4096},
    {"an505", "MPS2 AN505", M33, 20, 4096, 2048},
    {"an547", "MPS3 AN547", M55, 32, 512, 4096}};

/* Exits, with the nearest name and all of them, when there is no such board. */
static const board *board_find(const char *name) {
  nearest near = {NULL, 0};
  char all[400] = "";
  size_t i;
  for (i = 0; i < COUNT(boards); i++) {
    if (strcmp(name, boards[i].name) == 0) return &boards[i];
    nearest_try(&near, syn_text_of(name), boards[i].name);
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", boards[i].name);
  }
  fail(WRONG_USE, "no board %.*s; the nearest is %s. The boards are %s",
       short_size(syn_text_of(name)), name, near.name, all);
  return NULL;
}

static size_t board_write(void *user, const void *bytes, size_t size) {
  put((buffer *)user, (const char *)bytes, size);
  return size;
}

/* What a model needs on a board, or what is there. RAM: with the stack of a call. Latency: of an
   output of half the largest length from a source of half the largest length. */
enum { BOARD_FLASH, BOARD_RAM, BOARD_MS, BOARD_PARTS };
typedef struct board_need {
  double part[BOARD_PARTS];
  double ram, instructions; /* without the stack; a token of the output */
} board_need;

/* The array of the model, what the board runs; empty: an error. */
static buffer board_array(syn_context *c, const syn_model *m, const char *type, const core *k) {
  buffer array = {NULL, 0, 0};
  syn_small_options options;
  syn_sink sink;
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  options.layout = k->layout;
  options.type = type;
  sink.write = board_write;
  sink.user = &array;
  syn_small_write(c, m, &options, &sink);
  return array;
}

/* A step, with another row of zeros where a model of features wants one, *rows in all. */
static int board_step(syn_small *s, const int16_t *row, int *rows) {
  const int token = syn_small_step(s, LONG_MAX / 2);
  if (token != SYN_SMALL_ROW) return token;
  syn_small_feed(s, (*rows)-- > 0 ? row : NULL);
  return SYN_SMALL_MORE;
}
/* Memory of syn_small_learn that makes the end of an output impossible, so that the length of an
   output does not depend on the weights. */
static float *board_endless(const syn_model *m, syn_small *s) {
  long floats = syn_small_learn(s, NULL, 0);
  float *memory = (float *)take(floats > 0 ? (size_t)floats : 1, sizeof *memory);
  if (floats > 0) memory[floats - 2L * syn_model_config(m)->tgt_vocab + SYN_END] = -1e30f;
  syn_small_learn(s, memory, floats);
  return memory;
}

/* Multiply-adds for all tokens of an output of half the largest length, the end included, from a
   source of half the largest length; classify has one token. */
static double board_work(const syn_model *m, syn_small *s, int beam, int *tokens) {
  const syn_config *k = syn_model_config(m);
  const int lm = strcmp(k->task, "lm") == 0, texts = lm || strcmp(k->task, "seq2seq") == 0;
  int n = (k->max_len + 1) / 2, rows = n, i, token;
  int16_t *row = (int16_t *)take((size_t)k->src_features + 1, sizeof *row);
  int *source = (int *)take((size_t)n + 1, sizeof *source);
  float *memory = texts && beam < 2 ? board_endless(m, s) : NULL;
  for (i = 0; i < n; i++) source[i] = SYN_FIRST_TOKEN;
  if (!lm && n > 1) source[n - 1] = SYN_END;
  token = syn_small_source(s, source, k->src_features ? 0 : lm ? 1 : n);
  for (*tokens = 0; token >= SYN_SMALL_MORE && (*tokens < n || beam > 1);) {
    token = board_step(s, row, &rows);
    if (token >= 0 || (texts && token == SYN_SMALL_END)) ++*tokens;
  }
  free(row);
  free(source);
  free(memory);
  if (!*tokens) *tokens = 1;
  return (double)syn_small_work(s);
}

/* 1: a bag of n-grams, which has no layer behind the n-grams but a dropout. */
static int board_bag(const syn_config *k) {
  const char *next = k->encoder ? strstr(k->encoder, "->") : NULL;
  return k->encoder && !strncmp(k->encoder, "ngram", 5) && (!next || !strcmp(next, "->dropout"));
}

/* What the model needs there; type null: of its file. An error: a layer is not for boards. The
   weights need not be trained. */
static syn_status board_needs(syn_context *c, const syn_model *m, const board *b, const char *type,
                              int beam, board_need *need) {
  const core *k = &cores[b->core];
  buffer array = board_array(c, m, type, k);
  syn_small_config config;
  const syn_param *out = syn_model_find(m, "out.w"); /* the width that the last layer has */
  const double *rate;
  double each, work;
  void *memory;
  long ram;
  int tokens;
  memset(&config, 0, sizeof config);
  config.beam = beam;
  if (c->status) return c->status;
  ram = syn_small_ram(array.at, array.size, &config);
  if (ram < 0)
    fail(WRONG_USE, "info --board: beam %d, wanted 1 to %d, 1 for classify and tag", beam,
         SYN_SMALL_MAX_BEAM);
  memory = take((size_t)ram, 1);
  work = board_work(m, syn_small_open(memory, (size_t)ram, array.at, array.size, &config, NULL),
                    beam, &tokens);
  rate = board_bag(syn_model_config(m)) ? k->bag : k->rate;
  each = rate[0] + rate[1] / (out ? out->shape[1] : syn_model_config(m)->d_model);
  need->ram = (double)ram;
  need->instructions = work * each / tokens;
  need->part[BOARD_FLASH] = (double)array.size + k->code;
  need->part[BOARD_RAM] = need->ram + k->stack;
  need->part[BOARD_MS] = work * each / (b->mhz * 1e3);
  free(memory);
  free(array.at);
  return SYN_OK;
}

/* What there is for a model; ms: the largest latency, 0: any. */
static board_need board_has(const board *b, double ms) {
  board_need has;
  memset(&has, 0, sizeof has);
  has.part[BOARD_FLASH] = 1024.0 * b->flash - own_flash;
  has.part[BOARD_RAM] = 1024.0 * b->ram - own_ram;
  has.part[BOARD_MS] = ms > 0.0 ? ms : HUGE_VAL;
  return has;
}
/* The largest share of what is there that a model needs; at most 1: it fits. */
static double board_share(const board_need *need, const board_need *has) {
  double most = 0.0;
  int i;
  for (i = 0; i < BOARD_PARTS; i++)
    if (need->part[i] / has->part[i] > most) most = need->part[i] / has->part[i];
  return most;
}
/* "flash 300000 of 261120 bytes, 38880 too many; RAM ..." */
static void board_text(char *text, size_t size, const board_need *need, const board_need *has) {
  static const char *const names[] = {"flash", "RAM", "latency"};
  size_t n = 0;
  int i;
  *text = 0;
  for (i = 0; i < BOARD_PARTS; i++) {
    const double wants = need->part[i], there = has->part[i];
    const char *const unit = i == BOARD_MS ? "ms" : "bytes";
    n += (size_t)snprintf(text + n, size - n, "%s%s %.*f", i ? "; " : "", names[i], i == BOARD_MS,
                          wants);
    if (there < HUGE_VAL)
      n += (size_t)snprintf(text + n, size - n, i == BOARD_MS ? " of %g" : " of %.0f", there);
    n += (size_t)snprintf(text + n, size - n, " %s", unit);
    if (wants > there)
      n += (size_t)snprintf(text + n, size - n, ", %.*f too many", i == BOARD_MS, wants - there);
  }
}

/* The part of `info` that --board adds. */
static void board_print(const board *b, int json, const board_need *need) {
  const core *k = &cores[b->core];
  const board_need has = board_has(b, 0.0);
  const int fits = board_share(need, &has) <= 1.0;
  const char *format =
      json ? "{\"board\":\"%s\",\"chip\":\"%s\",\"core\":\"%s\",\"mhz\":%d,\"flash\":%.0f,"
             "\"ram\":%.0f,\"stack\":%d,\"instructions\":%.0f,\"tokens_s\":%.2f,"
             "\"latency_ms\":%.1f,\"fits\":%s}\n"
           : "\nboard %s: %s, %s, %d MHz\n"
             "flash        %10.0f bytes, code and tokenizers included\n"
             "ram          %10.0f bytes\n"
             "stack        %10d bytes at most\n"
             "instructions %10.0f a token of the output, about\n"
             "tokens/s     %10.2f at one instruction a cycle\n"
             "latency      %10.1f ms, of half the largest length\n"
             "fits         %10s\n";
  printf(format, b->name, b->chip, k->name, b->mhz, need->part[BOARD_FLASH], need->ram, k->stack,
         need->instructions, b->mhz * 1e6 / need->instructions, need->part[BOARD_MS],
         json ? (fits ? "true" : "false") : fits ? "yes" : "no");
}

/* What the model needs there, for info --board. A beam counts where --beam is given. */
static board_need info_need(syn_context *c, const syn_model *m, const board *b,
                            const arguments *a) {
  const char *type = strcmp(opt_text(a, "type"), "auto") ? opt_text(a, "type") : NULL;
  board_need need;
  board_needs(c, m, b, type, opt_given(a, "beam") ? opt_int(a, "beam") : 0, &need);
  check(c);
  return need;
}
