/* board.h   what a small model needs on a board. A part of syn.c, which includes it behind
   data.h. */

/* ==============================================================================================
   >>tool board   flash, RAM, stack and instructions of a small model
   ============================================================================================== */

/* Cores: the column of cost_table.h. stack: bytes of a call at most, [1] with scores or a beam, of
   any model, of one with `values`, with `lin_att`; `alone` fewer where a model has not both linear and
   out, since the compiler inlines what they share. Measured with gcc 12 -Os in emulators. */
typedef struct core {
  const char *name, *layout;
  int column, alone, stack[3][2];
} core;
enum { M0, M3, M4, M7, M33, M55, RV32 };
static const core cores[] = {
    {"Cortex-M0", "smlad", COST_M0, 0, {{352, 432}, {352, 432}, {352, 460}}},
    {"Cortex-M3", "smlad", COST_M3, 0, {{324, 404}, {324, 432}, {324, 460}}},
    {"Cortex-M4", "smlad", COST_M4, 0, {{324, 404}, {324, 404}, {324, 404}}},
    {"Cortex-M7", "smlad", COST_M4, 0, {{324, 404}, {324, 404}, {324, 404}}},
    {"Cortex-M33", "smlad", COST_M4, 0, {{324, 404}, {324, 404}, {324, 404}}},
    {"Cortex-M55", "mve", COST_M55, 0, {{320, 400}, {320, 400}, {320, 400}}},
    {"RV32IMC", "smlad", COST_RV32, 48, {{404, 512}, {436, 572}, {468, 612}}}};
/* Bytes for the program around: vectors and start-up; a line of text and its tokens. */
static const double own_flash = 1024.0, own_ram = 256.0;
/* An output without scores and without a beam. */
static const syn_small_config board_greedy = {0, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0};

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
    {"an547", "MPS3 AN547", M55, 32, 512, 4096},
    {"esp32c3", "ESP32-C3", RV32, 160, 4096, 400}};

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
  double ram, stack, instructions; /* without the stack; a token of the output */
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

/* Of the instructions of an output: what they take, added up; which there are. */
typedef struct board_sum {
  int column;
  double instructions;
  unsigned char used[COUNT(cost_code)], values, lin_att, linear, out; /* 1: there is one */
} board_sum;
static void board_see(void *user, const syn_small *s) {
  board_sum *sum = (board_sum *)user;
  const char *name = syn_small_instruction(s);
  size_t i;
  for (i = 0; name && i < COUNT(cost_terms); i++)
    if (cost_terms[i].each[sum->column] > 0.0 && !strcmp(cost_terms[i].name, name))
      sum->instructions += cost_terms[i].each[sum->column] * cost_value(s, cost_terms[i].term);
  for (i = 0; name && i < COUNT(cost_code); i++)
    if (!strcmp(cost_code[i].name, name)) sum->used[i] = 1;
  if (!name) return;
  sum->values |= !strcmp(name, "values");
  sum->lin_att |= !strcmp(name, "lin_att");
  sum->linear |= !strcmp(name, "linear");
  sum->out |= !strcmp(name, "out");
}
static double board_stack(const board_sum *sum, const core *k, const syn_small_config *config) {
  const int search = config->beam > 1 || config->best; /* in place of out */
  const int both = sum->linear && (sum->out || search);
  return k->stack[sum->lin_att ? 2 : sum->values][search] - (both ? 0 : k->alone);
}
/* Bytes of the library's code for these instructions: `end` is what all models have, `segment` the
   tokenizer that reads a text. */
static double board_code(const board_sum *sum, syn_small *s) {
  double bytes = 0.0;
  int none[1];
  size_t i;
  for (i = 0; i < COUNT(cost_code); i++) {
    int used = sum->used[i] || !strcmp(cost_code[i].name, "end");
    if (!strcmp(cost_code[i].name, "segment"))
      used = syn_small_encode(s, syn_text_of(""), none, 1) != SYN_SMALL_E_MODEL;
    if (used) bytes += cost_code[i].each[sum->column];
  }
  return bytes;
}

/* What the model needs there; type null: of its file. An error: a layer is not for boards. The
   weights need not be trained. */
static syn_status board_needs(syn_context *c, const syn_model *m, const board *b, const char *type,
                              const syn_small_config *config, board_need *need) {
  const core *k = &cores[b->core];
  buffer array = board_array(c, m, type, k);
  board_sum sum;
  syn_small *s;
  void *memory;
  long ram;
  int tokens;
  if (c->status) return c->status;
  ram = syn_small_ram(array.at, array.size, config);
  if (ram == SYN_SMALL_E_RAM)
    fail(WRONG_USE, "--board %s: the model needs 2 GiB of RAM or more with max_len %d; the board "
         "has %d KiB", b->name, syn_model_config(m)->max_len, b->ram);
  if (ram < 0 && ram != SYN_SMALL_E_VALUE)
    fail(WRONG_USE, "--board %s: the array of the model does not open, error %ld", b->name, ram);
  if (ram < 0)
    fail(WRONG_USE, "info --board: beam %d, best %d; wanted a beam of 1 to %d, 1 for classify and "
         "tag, and best candidates only without a beam, of a model that chooses tokens or classes",
         config->beam ? config->beam : 1, config->best, SYN_SMALL_MAX_BEAM);
  memory = take((size_t)ram, 1);
  s = syn_small_open(memory, (size_t)ram, array.at, array.size, config, NULL);
  memset(&sum, 0, sizeof sum);
  sum.column = k->column;
  tokens = syn_small_walk(s, board_see, &sum); /* of half the largest length, its end included */
  need->ram = (double)ram;
  need->stack = board_stack(&sum, k, config);
  need->instructions = sum.instructions / tokens;
  need->part[BOARD_FLASH] = (double)array.size + board_code(&sum, s);
  need->part[BOARD_RAM] = need->ram + need->stack;
  need->part[BOARD_MS] = sum.instructions / (b->mhz * 1e3);
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
             "\"ram\":%.0f,\"stack\":%.0f,\"instructions\":%.0f,\"tokens_s\":%.2f,"
             "\"latency_ms\":%.1f,\"fits\":%s}\n"
           : "\nboard %s: %s, %s, %d MHz\n"
             "flash        %10.0f bytes, code and tokenizers included\n"
             "ram          %10.0f bytes\n"
             "stack        %10.0f bytes at most\n"
             "instructions %10.0f a token of the output, about\n"
             "tokens/s     %10.2f at one instruction a cycle\n"
             "latency      %10.1f ms, of half the largest length\n"
             "fits         %10s\n";
  printf(format, b->name, b->chip, k->name, b->mhz, need->part[BOARD_FLASH], need->ram, need->stack,
         need->instructions, b->mhz * 1e6 / need->instructions, need->part[BOARD_MS],
         json ? (fits ? "true" : "false") : fits ? "yes" : "no");
}

/* What the model needs there, for info --board. A beam counts where --beam is given. */
static board_need info_need(syn_context *c, const syn_model *m, const board *b,
                            const arguments *a) {
  const char *type = strcmp(opt_text(a, "type"), "auto") ? opt_text(a, "type") : NULL;
  syn_small_config config;
  board_need need;
  memset(&config, 0, sizeof config);
  if (opt_given(a, "beam")) config.beam = opt_int(a, "beam");
  config.best = opt_int(a, "best");
  board_needs(c, m, b, type, &config, &need);
  check(c);
  return need;
}
