/* 04   Which line of a log is unusual? A language model is surprised by it

   Idea: a model of characters learns from lines of normal days. syn_score gives the log probability
   of each token of a line; their mean, negated, is the surprise in nats a token. A line above the
   largest surprise of other normal lines is reported.

   Compile, run:  cc -O2 -c library.c && cc 04_log_anomaly.c library.o -lm && ./a.out
   Prints:
     0.40 normal : 09:12 user clara GET /shop/pay 200 31 ms
     3.02 UNUSUAL: 09:13 user root GET /etc/passwd 200 4 ms
     0.59 UNUSUAL: 09:13 user ben GET /news.html 500 88 ms
     1.04 UNUSUAL: 09:14 user anna GET /index.html 200 9000 ms */
#include "../../synthesizer.h"
#include <stdio.h>
enum { ROWS = 600, NORMAL = 100, LONGEST = 100 }; /* to learn from, to find the limit; tokens */
static const char *const user[] = {"anna", "ben", "clara", "david"};
static const char *const page[] = {"index.html", "news.html", "shop/cart", "shop/pay"};
static const char *const today[] = {
    "09:12 user clara GET /shop/pay 200 31 ms", "09:13 user root GET /etc/passwd 200 4 ms",
    "09:13 user ben GET /news.html 500 88 ms", "09:14 user anna GET /index.html 200 9000 ms"};

static void make_line(syn_random *r, char line[80]) {
  sprintf(line, "%02d:%02d user %s GET /%s 200 %d ms", syn_random_below(r, 24),
          syn_random_below(r, 60), user[syn_random_below(r, 4)], page[syn_random_below(r, 4)],
          5 + syn_random_below(r, 90));
}
static double surprise(syn_run *run, const char *line) {
  float log_p[LONGEST];
  double sum = 0.0;
  int n = syn_score(run, syn_text_of(""), syn_text_of(line), log_p, LONGEST);
  for (int i = 0; i < n; i++) sum -= (double)log_p[i];
  return n > 0 ? sum / n : 0.0; /* -1: an error, which the context keeps */
}

int main(void) {
  static char lines[ROWS + NORMAL][80];
  syn_text texts[ROWS];
  syn_random random = {.state = 1};
  for (int i = 0; i < ROWS + NORMAL; i++) make_line(&random, lines[i]);
  for (int i = 0; i < ROWS; i++) texts[i] = syn_text_of(lines[i]);
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.tgt_tokenizer = "char", .d_model = 32, .heads = 4, .max_len = LONGEST,
                  .decoder = "pos -> repeat(2, res_nd(cnn(k=8)) -> res_nd(syn_att(V))) -> norm",
                  .batch_tokens = 1000, .lr = 0.01f, .steps = 150};
  syn_learn_config how = {.task = "lm", .choice = &k};
  syn_model *m = syn_learn(&c, &how, NULL, texts, ROWS);
  syn_run *run = syn_run_new(&c, m, NULL);
  double limit = 0.0, s;
  for (int i = ROWS; i < ROWS + NORMAL; i++)
    if ((s = surprise(run, lines[i])) > limit) limit = s;
  for (int i = 0; i < 4 && c.status == SYN_OK; i++) {
    s = surprise(run, today[i]);
    printf("%.2f %s: %s\n", s, s > limit ? "UNUSUAL" : "normal ", today[i]);
  }
  if (c.status != SYN_OK) fprintf(stderr, "log: %s\n", c.message);
  syn_run_free(run);
  syn_model_free(m);
  return c.status != SYN_OK;
}
