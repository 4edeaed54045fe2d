/* dates.h   data for the examples: dates in words, in one of eight phrasings, and in digits.
   Include it after synthesizer.h, whose random numbers it uses. */

static const char *const months[] = {"january", "february", "march", "april", "may", "june", "july",
  "august", "september", "october", "november", "december"};
static const char *const ones[] = {"", "one", "two", "three", "four", "five", "six", "seven",
  "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen",
  "seventeen", "eighteen", "nineteen"};
static const char *const nths[] = {"", "first", "second", "third", "fourth", "fifth", "sixth",
  "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth",
  "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"};
static const char *const tens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy",
  "eighty", "ninety"};
static const char *const phrases[] = {"the %s of %s %s", "%s of %s %s", "%s %s %s",
  "on the %s of %s in %s", "the %s day of %s in the year %s"};

/* A number of 1 to 99 in words; `last`: ones or nths, which has `count` names. */
static void number_words(char *out, int n, const char *const *last, int count) {
  if (n < count) strcpy(out, last[n]);
  else if (last == nths && n == 30) strcpy(out, "thirtieth");
  else sprintf(out, "%s%s%s", tens[n / 10], n % 10 ? " " : "", last[n % 10]);
}

/* Writes a random date in words and in digits. Returns another number for every date. */
static int make_date(syn_random *r, char *words, char *digits) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int year = 1901 + syn_random_below(r, 199), month = syn_random_below(r, 12), low = year % 100;
  int day = 1 + syn_random_below(r, days[month]), phrase = syn_random_below(r, 8);
  const char *m = months[month], *century = year < 2000 ? "nineteen" : "twenty";
  char d[40], y[60], rest[40];
  number_words(d, day, nths, 21);
  number_words(rest, low, ones, 20);
  if (year >= 2000 && (low < 10 || phrase % 2)) century = "two thousand", low += low ? 10 : 0;
  sprintf(y, "%s%s%s", century, low == 0 ? "" : low < 10 ? " oh " : " ", rest);
  if (phrase < 5) sprintf(words, phrases[phrase], d, m, y);
  else if (phrase < 7) sprintf(words, phrase == 5 ? "%s the %s %s" : "%s %s %s", m, d, y);
  else sprintf(words, "in %s on %s the %s", y, m, d);
  sprintf(digits, "%04d-%02d-%02d", year, month + 1, day);
  return (year * 12 + month) * 31 + day;
}
