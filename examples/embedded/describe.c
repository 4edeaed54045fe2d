/* describe.c   what the self-test of a model compares: the hash of the array, a sentence, its
   answer. Compiled with -include NAME_model.h -DNAME=NAME; the sentence is the argument; of a model
   of features it is one row of integers, which is repeated. */
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include <stdio.h>
#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define MODEL JOIN(NAME, _model)

/* Feeds the row of numbers as often as a source may have rows. Returns 0 or an error. */
static int describe_rows(syn_small *s, const char *numbers) {
  int16_t row[64] = {0};
  char *end;
  int count, error = syn_small_source(s, NULL, 0);
  for (count = 0; count < 64 && !error; numbers = end) {
    long x = strtol(numbers, &end, 10);
    if (end == numbers) break;
    row[count++] = (int16_t)x;
  }
  while (!error && syn_small_step(s, 1000000) == SYN_SMALL_ROW && !syn_small_feed(s, row)) continue;
  return error ? error : syn_small_feed(s, NULL);
}

int main(int argc, char **argv) {
  static uint64_t ram[(JOIN(NAME, _RAM) + 7) / 8];
  const unsigned char *at = (const unsigned char *)MODEL, *end = at + sizeof MODEL;
  uint64_t hash = SYN_HASH_START; /* FNV-1a */
  int ids[64], out[64], count = 0, token, n;
  char answer[200];
  syn_small *s = syn_small_open(ram, sizeof ram, MODEL, sizeof MODEL, NULL, NULL);
  syn_text sentence = {argc > 1 ? argv[1] : "", 0};
  sentence.size = strlen(sentence.at);
  for (; at < end; at++) hash = (hash ^ *at) * UINT64_C(0x100000001B3);
  n = syn_small_encode(s, sentence, ids, 64);
  if (n == SYN_SMALL_E_MODEL ? describe_rows(s, sentence.at) : n < 0 || syn_small_source(s, ids, n))
    return 1;
  while ((token = syn_small_step(s, 1000000)) >= SYN_SMALL_MORE)
    if (token >= 0 && count < 64) out[count++] = token;
  if (syn_small_decode(s, out, count, answer, sizeof answer) < 0) return 1;
  printf("/* The self-test of %s_model.h, written by describe.c. */\n", TEXT(NAME));
  printf("#define %s_HASH UINT64_C(0x%08lX%08lX)\n", TEXT(NAME), (unsigned long)(hash >> 32),
         (unsigned long)(hash & 0xFFFFFFFFu));
  printf("#define %s_SENTENCE \"%s\"\n", TEXT(NAME), sentence.at);
  printf("#define %s_ANSWER \"%s\"\n", TEXT(NAME), answer);
  return 0;
}
