/* learn.c   The board learns: an electrician has moved the lights of all rooms from pin 0 to 5.
   Ten corrections of answers of the model of commands.c, a few times over, and the
   light is on pin 5 in rooms and phrases that were not among them, too. Only the output
   layer learns, in a buffer of this program; the model in flash stays as it is. All machines
   learn the same weights, as their hash shows.

   make run DEMO=learn BOARD=an386 */
#include "commands_model.h"
#include "commands_text.h"
#include "demo.h"

enum { TOKENS = 23, FLOATS = TOKENS * (32 + 2), PASSES = 10 }; /* width 32, see syn_small_learn */
static const float rate = 0.05f;
static const char *const corrections[][2] = {
    {"turn on the light in the kitchen", "a5=1"},
    {"schalte das licht im bad aus", "b5=0"},
    {"turn off the radio in the garden", "g2=0"},
    {"turn on the fan in the kitchen", "a1=1"},
    {"stelle das licht im wohnzimmer auf drei\303\237ig prozent", "d5=30"},
    {"switch the hall light off", "e5=0"},
    {"garage heizung aus", "f3=0"},
    {"open the blind in the office", "h4=1"},
    {"schalte den l\303\274fter im garten aus", "g1=0"},
    {"bedroom light fifty percent", "c5=50"}};
enum { CORRECTIONS = sizeof corrections / sizeof *corrections };

static uint64_t ram[(commands_RAM + 7) / 8];
static float learned[FLOATS];
static demo learn = {DEMO_MODEL(commands), 1000000, NULL, NULL, 0, 0, {0}, 0, 0};

/* The token whose text is one character; 0: the end. */
static int demo_token(demo *d, char letter) {
  int token;
  for (token = SYN_FIRST_TOKEN; letter && token < TOKENS; token++) {
    syn_text text = syn_small_piece(d->s, token, 1);
    if (text.size == 1 && *text.at == letter) return token;
  }
  return letter ? SYN_UNKNOWN : SYN_END;
}
/* Gives a sentence to the model and corrects it token by token. Returns 0 or an error. */
static int demo_correct(demo *d, const char *sentence, const char *right) {
  int error;
  demo_encode(d, sentence, strlen(sentence));
  error = syn_small_source(d->s, d->ids, d->count);
  do {
    while (!error && syn_small_step(d->s, d->work) == SYN_SMALL_MORE) continue;
    if (!error) error = syn_small_correct(d->s, demo_token(d, *right), rate);
  } while (!error && *right++);
  return error;
}

int main(void) {
  int status = demo_start(&learn, ram, sizeof ram), i, pass;
  if (status) return status;
  board_stack_paint();
  if (syn_small_learn(learn.s, learned, FLOATS) < 0) return 1;
  for (pass = 0; pass < PASSES; pass++)
    for (i = 0; i < CORRECTIONS; i++)
      if (demo_correct(&learn, corrections[i][0], corrections[i][1])) return 1;
  serial_figure("stack of learning", board_stack_used());
  serial_figure("RAM without stack", (uint32_t)(sizeof ram + sizeof learned + sizeof learn));
  board_put("learned weights ");
  demo_put_hash(demo_fnv(SYN_HASH_START, learned, (FLOATS - TOKENS) * sizeof *learned));
  board_put("\n");
  return demo_lines(&learn);
}
