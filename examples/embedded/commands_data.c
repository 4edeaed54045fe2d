/* commands_data.c   commands in English and German, lines "sentence TAB pin=value".
     commands_data train 12000 >commands.tsv
   A room is a port of the board (kitchen: a), a device is a pin of it (light: 0). About a fifth of
   what can be said, a language, room, device and value together, occurs only in the tests:
   `commands_data test 200`. */
#include "../../synthesizer.h"
#include <stdlib.h>
#include <string.h>

enum { LANGUAGES = 2, ROOMS = 8, DEVICES = 5, LIGHT = 0, HEATING = 3, BLIND = 4 };

static const char *const rooms[LANGUAGES][ROOMS] = {
    {"kitchen", "bathroom", "bedroom", "living room", "hall", "garage", "garden", "office"},
    {"küche", "bad", "schlafzimmer", "wohnzimmer", "flur", "garage", "garten", "büro"}};
static const char *const in_rooms[LANGUAGES][ROOMS] = {
    {"in the kitchen", "in the bathroom", "in the bedroom", "in the living room", "in the hall",
     "in the garage", "in the garden", "in the office"},
    {"in der küche", "im bad", "im schlafzimmer", "im wohnzimmer", "im flur", "in der garage",
     "im garten", "im büro"}};
static const char *const devices[LANGUAGES][DEVICES] = {
    {"light", "fan", "radio", "heating", "blind"},
    {"licht", "lüfter", "radio", "heizung", "rollladen"}};
static const char *const the_devices[LANGUAGES][DEVICES] = {
    {"the light", "the fan", "the radio", "the heating", "the blind"},
    {"das licht", "den lüfter", "das radio", "die heizung", "den rollladen"}};

/* D: the device, T: with its article, R: its room, I: in its room, V: the value in words. The value
   is one of: 1, 0, percent (light), degrees (heating), 1 and 0 of the blind. */
enum { ON, OFF, PERCENT, DEGREES, UP, DOWN, ACTIONS };
static const char *const phrases[LANGUAGES][ACTIONS][6] = {
    {{"turn on T I", "switch on T I", "turn T I on", "switch the R D on", "R D on", "put T on I"},
     {"turn off T I", "switch off T I", "turn T I off", "switch the R D off", "R D off",
      "put T off I"},
     {"dim T I to V percent", "set T I to V percent", "dim the R D to V percent", "R D V percent"},
     {"set T I to V degrees", "heat I to V degrees", "set the R D to V degrees", "R V degrees"},
     {"open T I", "raise T I", "move T I up", "move the R D up", "R D up"},
     {"close T I", "lower T I", "move T I down", "move the R D down", "R D down"}},
    {{"schalte T I ein", "mach T I an", "schalte I T an", "R D an", "T I einschalten",
      "I T anmachen"},
     {"schalte T I aus", "mach T I aus", "schalte I T aus", "R D aus", "T I ausschalten",
      "I T ausmachen"},
     {"dimme T I auf V prozent", "stelle T I auf V prozent", "R D V prozent"},
     {"stelle T I auf V grad", "heize I auf V grad", "R V grad", "I V grad"},
     {"öffne T I", "fahre T I hoch", "R D hoch", "mach T I auf"},
     {"schließe T I", "fahre T I herunter", "R D herunter", "mach T I zu"}}};
static const char *const before[LANGUAGES][4] = {{"", "please ", "could you ", "now "},
                                                 {"", "bitte ", "kannst du ", "jetzt "}};
static const char *const after[LANGUAGES][3] = {{"", " please", " now"}, {"", " bitte", " sofort"}};
static const char *const percents[LANGUAGES][9] = {
    {"ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"},
    {"zehn", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig",
     "neunzig"}};
static const char *const degrees[LANGUAGES][9] = {
    {"sixteen", "seventeen", "eighteen", "nineteen", "twenty", "twenty one", "twenty two",
     "twenty three", "twenty four"},
    {"sechzehn", "siebzehn", "achtzehn", "neunzehn", "zwanzig", "einundzwanzig", "zweiundzwanzig",
     "dreiundzwanzig", "vierundzwanzig"}};

/* Writes a phrase with its letters replaced; what[0 .. 4]: D, T, R, I, V. */
static void fill(char *out, const char *phrase, const char *const *what) {
  static const char letters[] = "DTRIV";
  for (; *phrase; phrase++) {
    const char *at = strchr(letters, *phrase);
    if (!at) *out++ = *phrase;
    else {
      strcpy(out, what[at - letters]);
      out += strlen(out);
    }
  }
  *out = 0;
}

/* Writes one command. Returns 1 if it is for tests. */
static int make_command(syn_random *r, char *words, char *answer) {
  int language = syn_random_below(r, LANGUAGES), room = syn_random_below(r, ROOMS);
  int device = syn_random_below(r, DEVICES), action = syn_random_below(r, 2), count = 0, value;
  int step = syn_random_below(r, 9);
  const char *what[5];
  char text[120];
  if (device == BLIND) action += UP;
  else if (device == LIGHT && syn_random_below(r, 2)) action = PERCENT;
  else if (device == HEATING && syn_random_below(r, 4)) action = DEGREES;
  value = action == PERCENT ? 10 * (step + 1) : action == DEGREES ? 16 + step : action % 2 == 0;
  what[0] = devices[language][device];
  what[1] = the_devices[language][device];
  what[2] = rooms[language][room];
  what[3] = in_rooms[language][room];
  what[4] = (action == PERCENT ? percents : degrees)[language][step];
  while (count < 6 && phrases[language][action][count]) count++;
  fill(text, phrases[language][action][syn_random_below(r, count)], what);
  sprintf(words, "%s%s%s", before[language][syn_random_below(r, 4)], text,
          after[language][syn_random_below(r, 3)]);
  sprintf(answer, "%c%d=%d", 'a' + room, device, value);
  return (language * 7 + room * 3 + device * 2 + value) % 5 == 0;
}

int main(int argc, char **argv) {
  int test = argc > 1 && !strcmp(argv[1], "test"), count = argc > 2 ? atoi(argv[2]) : 0, i;
  syn_random random = {test ? 7 : 2026};
  char words[160], answer[16];
  for (i = 0; i < count;) {
    if (make_command(&random, words, answer) != test) continue;
    printf("%s\t%s\n", words, answer);
    i++;
  }
  return 0;
}
