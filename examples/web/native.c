/* native.c   the page's training as a program: the same settings, the same hash of the loss curve

   Compile, run:  cc -O2 examples/web/native.c -o native -lm && ./native 200 seed=1
   Arguments:     how many steps, then settings by the names of the page's URL: task encoder decoder
                  width heads seed rate warmup steps batch dropout ...
   Prints:        loss of the last step, hash of all losses, pairs of the test answered exactly; as JSON
                  with a first argument --json */
#include "web.c"
#include <time.h>

int main(int count, char **words) {
  int i, json = count > 1 && !strcmp(words[1], "--json"), right, tests;
  long steps = count > 1 + json ? atol(words[1 + json]) : 200;
  float loss = 0, last = 0;
  double least = 1e9, ms;
  struct timespec begin, end;
  for (i = 2 + json; i < count; i++) {
    strcpy(page_memory(strlen(words[i]) + 1), words[i]);
    if (!page_set()) return fprintf(stderr, "%s\n", page_message()), 2;
  }
  if (!page_create()) return fprintf(stderr, "%s\n", page_message()), 1;
  while (page_steps() < steps && loss >= 0) {
    timespec_get(&begin, TIME_UTC);
    loss = page_train();
    timespec_get(&end, TIME_UTC);
    ms = 1000.0 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec);
    if (loss >= 0) last = loss, least = ms < least ? ms : least;
  }
  if (loss < -1) return fprintf(stderr, "%s\n", page_message()), 1;
  tests = page_tests() < 200 ? page_tests() : 200;
  right = page_score(0, tests);
  printf(json ? "{\"steps\":%d,\"loss\":%.9g,\"hash\":\"%s\",\"right\":%d,\"tests\":%d,"
                "\"unseen\":%s,\"ms\":%.3f}\n"
              : "%d steps, loss %.9g, hash %s, %d of %d %s pairs exact; "
                "the fastest step %.3f ms\n",
         page_steps(), (double)last, page_hash(), right, tests,
         json ? page_unseen() ? "true" : "false" : page_unseen() ? "unseen" : "learned", least);
  return 0;
}
