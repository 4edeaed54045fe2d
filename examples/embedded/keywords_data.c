/* keywords_data.c   data for keywords.c: ten words and "other", spoken by espeak-ng.

     cc -O2 keywords_data.c -o keywords_data -lm
     keywords_data train COUNT SEED FOLDER   "label TAB numbers" for syn train, eval; FOLDER is a
                                             copy of espeak-ng-data, to which it adds a voice
     keywords_data few|valid|test|accent COUNT SEED  the same of other voices; few: of train's
     keywords_data sounds COUNT SEED         "digits TAB label": words of valid for keywords.c
     keywords_data pack <FILE                makes lines of syn short, a character a number
     keywords_data unpack COPIES SEED <FILE  the reverse; copies differ in place, volume, noise

   The voices are variants of espeak-ng (of throat and mouth) times accents of English. `test` and
   `valid` have variants of their own, `accent` has those of test with an accent that no other part
   has. Words for "other" differ, too. Speed, pitch, volume, noise (5 to 35 dB below the word) and
   place in the window are drawn at random. Of two words of `train` one is spoken by a voice whose
   formants, pitch and breath are drawn, too. A word of it comes in four windows, each with another
   length of the throat and another tilt of the spectrum; `few` has its variants, a window for each
   word. The parts and sounds need the program espeak-ng, whose licence (GPL 3) is not one of what
   it speaks. */
#define _POSIX_C_SOURCE 200809L
#include "../signals/random.h"
#include "adpcm.h"
#include "sound.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 28, SAMPLES = SOUND_WINDOW + (ROWS - 1) * SOUND_HOP, NUMBERS = ROWS * SOUND_BANDS };
enum { WAV_RATE = 22050, WAV_MOST = 4 * WAV_RATE, UNIT = 128 };
enum { SILENCE = 24 * 256 };
enum { COPIES = 4 }; /* windows of training from a word that was spoken once */
enum { FOLDER_MOST = 240 }; /* bytes of the path of espeak-ng-data */
enum { WORDS = 10, OTHERS = 2 }; /* of 12 sounds two are "other" */

static const char *const words[WORDS] = {"yes",  "no",    "up", "down", "left",
                                         "right", "on", "off",  "stop", "go"};

/* Lists of words with blanks between. */
typedef struct part {
  const char *name, *variants, *accents, *others;
} part;
static const char accents[] = "en-us en en-gb-x-rp en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd "
                              "en-us-nyc";
static const char unheard[] =
    "m5 f2 klatt3 Lee grandma caleb belinda rob aunty RicishayMax Alex anika Alicia marcelo";
static const char unheard_others[] =
    "hundred oliver martha carpet mirror candle basket eleven purple radio torch cherry collar "
    "pillow smoke ticket ferry tiger onion golf";
static const part parts[] = {
    {"train",
     "m1 m2 m3 m6 m8 f1 f4 f5 klatt klatt5 klatt6 Andrea Andy Annie AnxiousAndy Denis Diogo Gene "
     "Henrique Hugo Jacky Marco Mario Michael Nguyen Storm adam announcer antonio benjamin boris "
     "david ed edward edward2 gustave iven iven2 iven3 john linda michel miguel norbert pablo paul "
     "pedro quincy grandpa",
     accents,
     "one two three four five six seven eight nine ten cat dog bird house tree happy wow bed "
     "learn follow forward visual backward water table chair green blue red black white "
     "morning evening apple orange sugar paper pencil school teacher mother father sister "
     "brother doctor light desk kitchen coffee butter bread milk rain snow wind sun moon "
     "star river mountain ocean city street car train plane ship boat horse cow sheep fish "
     "flower grass leaf stone fire hand foot head eye mouth nose hair open close play quit "
     "back next low high fast slow big small warm ill good bad sit pop drop nap lift light "
     "ride wrong long cup nut hut goal coat soap tap dot got note known town drown brown "
     "guess chess rest kept laugh cough soft twelve thirty sixty thousand million second today "
     "tomorrow monday friday sunday please thanks welcome never always under inside outside "
     "north south pause finish cancel volume station market office church village forest desert "
     "storm thunder spring banana lemon peach melon tomato potato carrot rice salad chicken pizza "
     "cookie honey plate spoon fork knife bowl oven sofa blanket key wall floor garage fence "
     "dress shirt shoe belt glove ring watch clock phone camera picture letter story dance violin "
     "piano football running singing yet yell mess pub dawn theft own often oaf stock shop grow "
     "ghost gold yawn yesterday arm bus duck nurse"},
    {"valid", "m4 m7 f3 klatt2 klatt4 robert steph Mike kaukovalta sandro shelby travis victor zac",
     accents,
     "hello summer winter computer engine finger guitar hammer island jungle kettle ladder zero "
     "marvin sheila garden window music bottle seventy yellow robot lamp cheese thumb valley cloud "
     "jacket bridge lesson pepper wolf"},
    {"test", unheard, accents, unheard_others},
    {"accent", unheard, "en-029", unheard_others},
};

/* A word of the list, into `word` [32]. */
static void draw(const char *list, char *word) {
  int count = 1, at, n = 0;
  const char *c;
  for (c = list; *c; c++) count += *c == ' ';
  at = (int)uniform(0, count);
  for (c = list; *c && at; c++) at -= *c == ' ';
  for (; *c && *c != ' ' && n < 31; c++) word[n++] = *c;
  word[n] = 0;
}

/* -- sounds -- */

static const char *folder; /* espeak-ng-data */
static char own[32];       /* the file of a voice that is drawn */

/* Draws a voice. Returns 0 if its file cannot be written. Frequency, height and width of the nine
   formants are in hundredths of those that espeak-ng has. */
static int draw_voice(void) {
  const double size = uniform(80, 125), pitch = uniform(65, 260);
  char name[300];
  FILE *file;
  int i;
  snprintf(name, sizeof name, "%s/voices/!v/%s", folder, own);
  file = fopen(name, "w");
  if (!file) return perror(name), 0;
  fprintf(file, "language variant\nname %s\npitch %d %d\n", own, (int)pitch,
          (int)(pitch * uniform(1.1, 1.8)));
  for (i = 0; i < 9; i++) {
    const double spread = i == 1 ? 0.35 : 0.2;
    const double at = size * uniform(1 - spread, 1 + spread), height = uniform(40, 140);
    fprintf(file, "formant %d %d %d %d\n", i, (int)at, (int)height, (int)uniform(70, 160));
  }
  fprintf(file, "flutter %d\nroughness %d\nvoicing %d\nconsonants %d %d\n", (int)uniform(0, 8),
          (int)uniform(0, 5), (int)uniform(30, 160), (int)uniform(60, 140), (int)uniform(60, 180));
  if (uniform(0, 1) < 0.2) fprintf(file, "klatt %d\n", (int)uniform(1, 7));
  if (uniform(0, 1) < 0.2) fprintf(file, "breath %d\n", (int)uniform(5, 100));
  return !fclose(file);
}
/* Lets espeak-ng speak; returns the samples of 22,050 Hz. */
static int speak(const part *p, const char *word, int16_t *wav) {
  const int drawn = folder && uniform(0, 1) < 0.5;
  char accent[32], variant[32], command[400];
  FILE *pipe;
  int byte, count = 0, n;
  draw(p->accents, accent);
  draw(p->variants, variant);
  if (drawn && !draw_voice()) return 0;
  snprintf(command, sizeof command, "espeak-ng %s%s%s -v %s+%s -s %d -p %d --stdout %s",
           folder ? "--path='" : "", folder ? folder : "", folder ? "'" : "", accent,
           drawn ? own : variant, (int)uniform(110, 190), (int)uniform(25, 75), word);
  pipe = popen(command, "r");
  if (!pipe) return 0;
  for (n = 0; (byte = getc(pipe)) != EOF; n++)
    if (n >= 44 && count < WAV_MOST) { /* behind the header of a WAV file */
      if (n % 2 == 0) wav[count] = (int16_t)byte;
      else wav[count] = (int16_t)(wav[count] | (int)((unsigned)byte << 8)), count++;
    }
  return pclose(pipe) ? 0 : count;
}
/* The sound between its first and last loud samples, at 8,000 Hz: up to 3,800 Hz are left by a
   low-pass filter, a windowed sinc of 64 samples. `step` samples become 160: 441 for the voice as
   it is, fewer for a longer throat, more for a shorter one. */
static int resample(const int16_t *wav, int count, int step, double *x) {
  static double filter[160][64]; /* for each fraction of a sample */
  const double pi = 3.14159265358979, cut = 2 * 3800.0 / WAV_RATE;
  int most = 0, first = 0, n, i;
  for (n = filter[0][31] == 0 ? 0 : 160; n < 160; n++)
    for (i = 0; i < 64; i++) {
      const double t = n / 160.0 + 31 - i, angle = pi * cut * t;
      filter[n][i] = cut * (angle * angle < 1e-12 ? 1 : sin(angle) / angle) *
                     (0.5 + 0.5 * cos(pi * t / 32.5));
    }
  for (i = 0; i < count; i++)
    if (abs(wav[i]) > most) most = abs(wav[i]);
  while (first < count && abs(wav[first]) < most / 40) first++;
  while (count > first && abs(wav[count - 1]) < most / 40) count--;
  for (n = 0; n < SAMPLES && first + n * step / 160 < count; n++) {
    const int begin = first + n * step / 160 - 31;
    x[n] = 0;
    for (i = begin < 0 ? -begin : 0; i < 64 && begin + i < count; i++)
      x[n] += wav[begin + i] * filter[n * step % 160][i];
  }
  return n;
}
/* Puts the word [count] at some place of the window, with noise and a volume. y[n] = x[n] + tilt
   x[n-1] is the word that is heard. */
static void mix(double *x, int count, double tilt, int16_t *sound) {
  const double volume = exp(uniform(log(1000), log(10000))), quiet = uniform(5, 35);
  const double color = uniform(0, 0.95), level = pow(10, -quiet / 20) * sqrt(1 - color * color);
  const int begin = (int)uniform(0, SAMPLES - count + 1);
  double power = 0, noise = 0;
  int i;
  for (i = count - 1; i > 0; i--) x[i] += tilt * x[i - 1];
  for (i = 0; i < count; i++) power += x[i] * x[i] / count;
  for (i = 0; i < SAMPLES; i++) {
    const int at = i - begin;
    double y;
    noise = color * noise + level * normal();
    y = volume * (noise + (at >= 0 && at < count && power > 0 ? x[at] / sqrt(power) : 0));
    sound[i] = (int16_t)(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
  }
}

/* -- lines -- */

static void put_rows(const int16_t *samples) {
  static sound s;
  int16_t row[SOUND_BANDS];
  int i, b, n = 0;
  memset(&s, 0, sizeof s);
  for (i = 0; i < SAMPLES; i++)
    if (sound_add(&s, samples[i], row))
      for (b = 0; b < SOUND_BANDS; b++) printf("%c%d", n++ ? ' ' : '\t', row[b]);
}
/* The code whose sample is nearest. */
static int encode(adpcm *a, int16_t sample) {
  adpcm best = *a;
  int code, chosen = 0, least = 1 << 20;
  for (code = 0; code < 16; code++) {
    adpcm b = *a;
    const int error = abs(adpcm_decode(&b, code) - sample);
    if (error < least) least = error, chosen = code, best = b;
  }
  *a = best;
  return chosen;
}
static void put_sound(const int16_t *samples) {
  adpcm a = {0, 0};
  int i;
  for (i = 0; i < SAMPLES; i++) putchar("0123456789abcdef"[encode(&a, samples[i])]);
}
/* `count` words, each in `copies` windows, with other throats where there are more than one. */
static int make(const part *p, int as_sound, int count, int copies) {
  static int16_t sound[SAMPLES], wav[WAV_MOST];
  static double x[SAMPLES];
  int i, k;
  for (i = 0; i < count; i++) {
    const int at = i % (WORDS + OTHERS), known = at < WORDS;
    const char *label = known ? words[at] : "other";
    char other[32];
    int size = 0;
    draw(p->others, other);
    if (known || uniform(0, 1) < 0.85) { /* or noise alone */
      size = speak(p, known ? label : other, wav);
      if (size < WAV_RATE / 10) return fprintf(stderr, "keywords_data: espeak-ng fails\n"), 1;
    }
    for (k = 0; k < copies; k++) {
      const int step = copies > 1 ? (int)uniform(360, 530) : 441;
      const double tilt = copies > 1 ? uniform(-0.6, 0.6) : 0;
      mix(x, resample(wav, size, step, x), tilt, sound);
      if (as_sound) put_sound(sound), printf("\t%s\n", label);
      else printf("%s", label), put_rows(sound), printf("\n");
    }
  }
  return 0;
}

/* -- short lines: of each second row a character a number, in steps of 128 from silence -- */

static int pack(void) {
  char label[32];
  int number, n;
  while (scanf("%31s", label) == 1) {
    printf("%s\t", label);
    for (n = 0; n < NUMBERS && scanf("%d", &number) == 1; n++) {
      const int code = (number - SILENCE + UNIT / 2) / UNIT;
      if (n / SOUND_BANDS % 2 == 0) putchar('0' + (code < 0 ? 0 : code > 63 ? 63 : code));
    }
    printf("\n");
  }
  return 0;
}
/* A number of the line; rows that were left out are the means of their neighbours. */
static int unpacked(const char *line, int row, int band) {
  const int low = row < 0 ? 0 : row > ROWS - 2 ? ROWS - 2 : row;
  const int high = low % 2 ? low + 1 : low;
  const int sum = line[low / 2 * SOUND_BANDS + band] + line[high / 2 * SOUND_BANDS + band];
  return SILENCE + UNIT * (sum - 2 * '0') / 2;
}
static int unpack(int copies) {
  char label[32], line[NUMBERS / 2 + 1];
  while (scanf("%31s %224s", label, line) == 2) {
    int copy, n;
    for (copy = 0; copy < copies; copy++) {
      const int moved = copies > 1 ? (int)uniform(-3, 4) : 0;
      const double volume = copies > 1 ? uniform(-300, 300) : 0;
      printf("%s", label);
      for (n = 0; n < NUMBERS; n++)
        printf("%c%d", n ? ' ' : '\t',
               (int)(unpacked(line, n / SOUND_BANDS + moved, n % SOUND_BANDS) + volume +
                     (copies > 1 ? uniform(-UNIT, UNIT) : 0)));
      printf("\n");
    }
  }
  return 0;
}

int main(int count, char **arguments) {
  const int n = count > 2 ? atoi(arguments[2]) : 0;
  size_t i;
  state = (count > 3 ? strtoull(arguments[3], NULL, 10) : 1) * 77777u + 12345u;
  if (count == 2 && !strcmp(arguments[1], "pack")) return pack();
  if (count == 4 && !strcmp(arguments[1], "unpack") && n > 0) return unpack(n);
  if (count == 4 && !strcmp(arguments[1], "sounds")) return make(&parts[1], 1, n, 1);
  if (count == 4 && !strcmp(arguments[1], "few")) return make(&parts[0], 0, n, 1);
  if (count == 5 && !strcmp(arguments[1], "train")) {
    folder = arguments[4];
    if (strlen(folder) > FOLDER_MOST || strchr(folder, '\''))
      return fprintf(stderr, "keywords_data: FOLDER has %d bytes; wanted at most %d, no quote '\n",
                     (int)strlen(folder), FOLDER_MOST), 2;
    snprintf(own, sizeof own, "own%d", atoi(arguments[3]));
    return make(&parts[0], 0, n, COPIES);
  }
  for (i = 1; i < sizeof parts / sizeof *parts; i++)
    if (count == 4 && !strcmp(arguments[1], parts[i].name))
      return make(&parts[i], 0, n, 1);
  return fprintf(stderr, "keywords_data train COUNT SEED FOLDER, few|valid|test|accent|sounds "
                         "COUNT SEED, pack, unpack COPIES SEED\n"), 2;
}
