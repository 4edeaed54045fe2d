/* tasks.h   four tasks for a language model: copy, sort, look up, both

   A sentence has T = 2 N tokens: N that are given, then an answer of N tokens. A language model
   reads from left to right: at each place of the answer it sees what was given and the right answer
   so far. Its label there is the next token. Label 0: no question at this place. */

#ifndef TASKS_H
#define TASKS_H
enum { N = 8, T = 2 * N, LETTERS = 16, DIGITS = 8, SENTENCES = 32 };
enum { VOCABULARY = SYN_FIRST_TOKEN + N * DIGITS + N };
enum { COPY, SORT, LOOK_UP, BOTH };
static int tokens[SENTENCES * T], labels[SENTENCES * T]; /* [SENTENCES, T] */
static syn_batch batch = {SENTENCES, NULL, tokens, labels, 0, T, NULL, NULL, NULL};

static int compare_letters(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}
/* h e a d, then h e a d again, or sorted a d e h: each letter is asked at the one before it. */
static void make_letters(syn_random *r, int *in, int *label, int sorted) {
  int answer[N];
  for (int i = 0; i < N; i++) in[i] = answer[i] = SYN_FIRST_TOKEN + syn_random_below(r, LETTERS);
  if (sorted) qsort(answer, N, sizeof *answer, compare_letters);
  for (int i = 0; i < N; i++) label[N - 1 + i] = answer[i];
  memcpy(in + N, answer, (N - 1) * sizeof *answer);
}
/* N pairs of a name and a digit, one token each, names in random order; then names: which digit?
   both: two digits, first the one that stands N places before, then that of the name. */
static void make_pairs(syn_random *r, int *in, int *label, int both) {
  int digit[N], name[N];
  for (int i = 0; i < N; i++) {
    int other = syn_random_below(r, i + 1); /* a random order of the names so far */
    name[i] = i;
    name[i] = name[other], name[other] = i;
    digit[i] = syn_random_below(r, DIGITS);
  }
  for (int i = 0; i < N; i++) in[i] = SYN_FIRST_TOKEN + name[i] * DIGITS + digit[name[i]];
  for (int i = N; i < T; i++) {
    int asked = syn_random_below(r, N);
    in[i] = SYN_FIRST_TOKEN + N * DIGITS + asked;
    label[i] = SYN_FIRST_TOKEN + digit[asked];
    if (both) label[i] += DIGITS * digit[name[i - N]];
  }
}
static void make_batch(syn_random *r, int task) {
  memset(tokens, 0, sizeof tokens), memset(labels, 0, sizeof labels);
  for (int i = 0; i < SENTENCES; i++)
    if (task < LOOK_UP) make_letters(r, tokens + i * T, labels + i * T, task == SORT);
    else make_pairs(r, tokens + i * T, labels + i * T, task == BOTH);
}
#endif
