/* stories.c   A published language model tells stories: stories260K of llama2.c, 5 layers of rotary
   attention, 260,032 weights. A line is the numbers of a prompt's tokens, the answer is the numbers
   of the tokens behind it, as `syn tokenize --ids` prints and reads them: its tokenizer does not run
   on boards.

   make stories STORIES=FOLDER BOARD=an547 */
#include "stories_model.h"
#include "hash.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "serial.h"

/* LENGTH: tokens of a prompt and its story, as --max-len of `syn embed`. MOVED: the model begins its
   numbers with four fixed tokens in place of begin and end, 1 and 2 of the file; no text has those. */
enum { LENGTH = 256, MOVED = 2, LINE = 200, MOST = LINE / 2 };

static uint64_t ram[(stories_RAM + 7) / 8];
static char line[LINE];
static int prompt[MOST];

/* The numbers of a line as tokens; returns how many. */
static int parse(syn_text line, int *tokens) {
  int count = 0, digits = 0;
  size_t i;
  for (i = 0; i < line.size; i++)
    if (line.at[i] < '0' || line.at[i] > '9') digits = 0;
    else {
      if (!digits++) tokens[count++] = 0;
      tokens[count - 1] = (10 * tokens[count - 1] + line.at[i] - '0') % 65536;
    }
  for (i = 0; i < (size_t)count; i++) tokens[i] += MOVED;
  return count;
}

int main(void) {
  int error = 0, token;
  uint32_t tokens = 0;
  syn_text text;
  static const syn_small_config config = {0, LENGTH, 0, 0, 0, 0, 0, 0, 0, 0};
  syn_small *s = syn_small_open(ram, sizeof ram, stories_model, sizeof stories_model, &config,
                                &error);
  serial_figure("error of open", (uint32_t)-error);
  if (!s) return 1;
  board_put("self-test passed\n"); /* syn_small_open has computed the checksum of the model */
  board_stack_paint();
  while (text = serial_read(line, sizeof line), text.size > 0) {
    const int count = parse(text, prompt);
    token = syn_small_source(s, prompt, count);
    tokens += (uint32_t)count;
    while (token >= SYN_SMALL_MORE) {
      token = syn_small_step(s, 1000000);
      if (token >= 0) {
        board_put_number((uint32_t)(token - MOVED));
        board_put(" ");
      }
      tokens += token != SYN_SMALL_MORE;
    }
    if (token != SYN_SMALL_END) {
      serial_write(text);
      board_put(": no prompt of this model");
    }
    board_put("\n");
  }
  serial_figure("stack", board_stack_used());
  serial_figure("tokens", tokens);
  demo_put_logits();
  return 0;
}
