/* keywords.c   A word is recognized while it is heard: samples become rows of log-mel energies
   (sound.h), and each row is fed to a network of three convolutions. `make` trains it in seconds
   from a few voices; the README has the command for many.

   A line is a sound of 8,000 Hz, a hexadecimal digit a sample (adpcm.h). Its word is known when the
   line ends, ? where no word is sure; an empty line ends the program.

   make run DEMO=keywords BOARD=an386 */
#include "keywords_model.h"
#include "keywords_text.h"
#include "hash.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "adpcm.h"
#include "serial.h"
#include "sound.h"

enum { THRESHOLD = 16384 }; /* refused: words with a probability below 1/2 */

static uint64_t ram[(keywords_RAM + 7) / 8];
static struct {
  syn_small *model;
  sound sound;
  int16_t row[SOUND_BANDS];
  uint32_t rows; /* that were fed */
} all;

/* A function whose stack would lie above that of the network: 16 bytes on RISC-V. */
#define INLINED __attribute__((always_inline)) static inline

/* Computes until a row is wanted, the word is known or nothing is left to do. */
INLINED int keywords_step(void) {
  int token = SYN_SMALL_MORE;
  while (token == SYN_SMALL_MORE) token = syn_small_step(all.model, 1000);
  return token;
}
static void keywords_begin(void) {
  memset(&all.sound, 0, sizeof all.sound);
  syn_small_source(all.model, NULL, 0);
}
/* Adds a sample; 1: a row is complete. A function of its own: `make table` counts its instructions,
   not those of demo_line, and its stack is free again when the network computes. */
__attribute__((noinline)) static int keywords_hear(int16_t sample) {
  return sound_add(&all.sound, sample, all.row);
}
/* Feeds the row that a sample may complete. Returns 0 or an error. */
static int keywords_sample(int16_t sample) {
  if (!keywords_hear(sample)) return 0;
  keywords_step();
  all.rows++;
  return syn_small_feed(all.model, all.row);
}
/* The sound has ended. Returns the word or an error. */
INLINED int keywords_end(void) {
  int error;
  keywords_step();
  error = syn_small_feed(all.model, NULL);
  return error ? error : keywords_step();
}

/* Hears a line. Returns the word, SYN_SMALL_END for an empty line, or an error: other text than
   digits, too long or too short a sound. */
static int demo_line(void) {
  adpcm code = {0, 0};
  int byte, count = 0, error = 0;
  keywords_begin();
  while ((byte = board_get()) >= 0 && byte != '\n') {
    const char *digits = "0123456789abcdef", *at = byte ? strchr(digits, byte) : NULL;
    if (byte == '\r') continue;
    count++;
    if (!at) error = SYN_SMALL_E_VALUE;
    if (!error) error = keywords_sample(adpcm_decode(&code, (int)(at - digits)));
  }
  return error ? error : count ? keywords_end() : SYN_SMALL_END;
}

/* Silence: the answer, and the hash of the array, must be those of the PC. */
static int demo_self_test(void) {
  syn_text name;
  keywords_begin();
  while (!keywords_sample(0)) continue;
  all.rows--; /* the last one was refused */
  name = syn_small_piece(all.model, keywords_end(), 1);
  return demo_fnv(SYN_HASH_START, keywords_model, sizeof keywords_model) == keywords_HASH &&
         name.size == strlen(keywords_ANSWER) && !memcmp(name.at, keywords_ANSWER, name.size);
}

int main(void) {
  static const syn_small_config scores = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  int token, passed;
  board_put("model ");
  demo_put_hash(demo_fnv(SYN_HASH_START, keywords_model, sizeof keywords_model));
  board_put("\n");
  board_stack_paint();
  all.model =
      syn_small_open(ram, sizeof ram, keywords_model, sizeof keywords_model, &scores, NULL);
  serial_figure("stack of open", board_stack_used());
  if (!all.model) return board_put("the model does not open\n"), 1;
  board_stack_paint();
  passed = demo_self_test();
  serial_figure("stack of step", board_stack_used());
  board_put(passed ? "self-test passed\n" : "self-test FAILED\n");
  if (!passed) return 1;
  while ((token = demo_line()) != SYN_SMALL_END) {
    if (token < 0) board_put("wanted: hexadecimal digits, 256 to 5,855\n");
    else if (syn_small_reject(all.model, THRESHOLD)) board_put("?\n");
    else {
      serial_write(syn_small_piece(all.model, token, 1));
      board_put("\n");
    }
  }
  serial_figure("rows", all.rows);
  demo_put_logits();
  return 0;
}
