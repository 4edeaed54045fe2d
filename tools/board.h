/* board.h   what a small model needs on a board. A part of syn.c, which includes it behind
   data.h. */

/* ==============================================================================================
   >>tool board   flash, RAM, stack and instructions of a small model
   ============================================================================================== */

/* Cores: what was measured with gcc 12 -Os in emulators (examples/embedded: make table). Bytes of
   code with tokenizers, without beam search; instructions for each multiply-add of a network of
   width d, about a + b / d: products take a, the float operations of rows b / d. */
typedef struct core {
  const char *name, *layout;
  int code;
  double a, b;
} core;
enum { M0, M3, M4, M7, M33, M55 };
static const core cores[] = {{"Cortex-M0", "smlad", 17288, 7.5, 986.0},
                             {"Cortex-M3", "smlad", 17492, 3.3, 480.0},
                             {"Cortex-M4", "smlad", 16390, 1.43, 72.0},
                             {"Cortex-M7", "smlad", 16374, 1.43, 72.0},
                             {"Cortex-M33", "smlad", 16376, 1.43, 72.0},
                             {"Cortex-M55", "mve", 17096, 0.25, 40.0}};
enum { BOARD_STACK = 400 }; /* bytes of a call at most */

/* Sizes in KiB as the makers give them. an385 ... are Arm's images for its boards, which emulators
   know. */
typedef struct board {
  const char *name, *chip;
  int core, mhz, flash, ram;
} board;
static const board boards[] = {
    {"microbit", "nRF51822", M0, 16, 256, 16},
    {"microbit2", "nRF52833", M4, 64, 512, 128},
    {"pico", "RP2040", M0, 133, 2048, 264},
    {"pico2", "RP2350", M33, 150, 4096, 520},
    {"bluepill", "STM32F103C8", M3, 72, 64, 20},
    {"stm32vldiscovery", "STM32F100RB", M3, 24, 128, 8},
    {"netduinoplus2", "STM32F405RG", M4, 168, 1024, 128},
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
  char all[300] = "";
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

/* The array of the model; its config: what the board runs. */
static buffer board_array(syn_context *c, const syn_model *m, const arguments *a, const core *k) {
  buffer array = {NULL, 0, 0};
  syn_small_options options;
  syn_sink sink;
  memset(&options, 0, sizeof options);
  options.tokenizers = 1;
  options.layout = k->layout;
  options.type = strcmp(opt_text(a, "type"), "auto") ? opt_text(a, "type") : NULL;
  sink.write = board_write;
  sink.user = &array;
  syn_small_write(c, m, &options, &sink);
  check(c);
  return array;
}

/* A step, with another row of zeros where a model of features wants one, *rows in all. */
static int board_step(syn_small *s, const int16_t *row, int *rows) {
  const int token = syn_small_step(s, LONG_MAX / 2);
  if (token != SYN_SMALL_ROW) return token;
  syn_small_feed(s, (*rows)-- > 0 ? row : NULL);
  return SYN_SMALL_MORE;
}
/* Multiply-adds for each token, the end included, of an output of half the largest length, from a
   source of half the largest length. An output may end early; then its tokens behind the first
   tell what the others would take. */
static double board_work(const syn_model *m, syn_small *s, int beam) {
  const syn_config *k = syn_model_config(m);
  int lm = strcmp(k->task, "lm") == 0, n = (k->max_len + 1) / 2, tokens = 0, i, token;
  int rows = n, *source = (int *)take((size_t)n + 1, sizeof *source);
  int16_t *row = (int16_t *)take((size_t)k->src_features + 1, sizeof *row);
  double first = 0.0, all;
  for (i = 0; i < n; i++) source[i] = SYN_FIRST_TOKEN;
  if (!lm && n > 1) source[n - 1] = SYN_END;
  token = syn_small_source(s, source, k->src_features ? 0 : lm ? 1 : n);
  while (token >= SYN_SMALL_MORE && (tokens < n || beam > 1)) {
    token = board_step(s, row, &rows);
    if (token != SYN_SMALL_MORE && !tokens++) first = (double)syn_small_work(s);
  }
  free(row);
  free(source);
  all = (double)syn_small_work(s);
  if (tokens < 2 || beam > 1) return all / (tokens ? tokens : 1);
  return (first + (n - 1) * (all - first) / (tokens - 1)) / n;
}

static void board_print(const board *b, int json, const double value[5], int fits) {
  const core *k = &cores[b->core];
  const char *format =
      json ? "{\"board\":\"%s\",\"chip\":\"%s\",\"core\":\"%s\",\"mhz\":%d,\"flash\":%.0f,"
             "\"ram\":%.0f,\"stack\":%.0f,\"instructions\":%.0f,\"tokens_s\":%.2f,\"fits\":%s}\n"
           : "\nboard %s: %s, %s, %d MHz\n"
             "flash        %10.0f bytes, code and tokenizers included\n"
             "ram          %10.0f bytes\n"
             "stack        %10.0f bytes at most\n"
             "instructions %10.0f a token of the output, about\n"
             "tokens/s     %10.2f at one instruction a cycle\n"
             "fits         %10s\n";
  printf(format, b->name, b->chip, k->name, b->mhz, value[0], value[1], value[2], value[3],
         value[4], json ? (fits ? "true" : "false") : fits ? "yes" : "no");
}

/* The part of `info` that --board adds. A beam counts where --beam is given. */
static void info_board(syn_context *c, const syn_model *m, const arguments *a) {
  const board *b = board_find(opt_text(a, "board"));
  const core *k = &cores[b->core];
  buffer array = board_array(c, m, a, k);
  syn_small_config config;
  syn_small *s;
  double value[5];
  void *memory;
  long ram;
  memset(&config, 0, sizeof config);
  if (opt_given(a, "beam")) config.beam = opt_int(a, "beam");
  ram = syn_small_ram(array.at, array.size, &config);
  if (ram < 0)
    fail(WRONG_USE, "info --board: beam %d, wanted 1 to %d, 1 for classify and tag", config.beam,
         SYN_SMALL_MAX_BEAM);
  memory = take((size_t)ram, 1);
  s = syn_small_open(memory, (size_t)ram, array.at, array.size, &config, NULL);
  value[0] = (double)array.size + k->code;
  value[1] = (double)ram;
  value[2] = BOARD_STACK;
  value[3] = board_work(m, s, config.beam) * (k->a + k->b / syn_model_config(m)->d_model);
  value[4] = b->mhz * 1e6 / value[3];
  board_print(b, opt_flag(a, "json"), value,
              value[0] <= 1024.0 * b->flash && value[1] + value[2] <= 1024.0 * b->ram);
  free(memory);
  free(array.at);
}
