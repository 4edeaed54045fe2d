/* 04   Which line of a log is unusual? A language model is surprised by it

   Idea: a model of characters learns from lines of normal days. syn_score gives the log probability
   of each token of a line; their mean, negated, is the surprise in nats a token. A line above the
   largest surprise of other normal lines is reported, and one too long to be read to its end.

   Compile, run:  cc -O2 -c library.c && cc 04_log_anomaly.c library.o -lm && ./a.out
   Prints:
     0.36 normal : 09:12 user clara GET /shop/pay 200 31 ms
     3.08 UNUSUAL: 09:13 user root GET /etc/passwd 200 4 ms
     0.57 UNUSUAL: 09:13 user ben GET /news.html 500 88 ms
     1.12 UNUSUAL: 09:14 user anna GET /index.html 200 9000 ms */
#include "../../synthesizer.h"
#include <stdio.h>
enum { ROWS = 600, NORMAL = 100, ASKED = 4, MAX_LEN = 100 }; /* NORMAL lines give the limit */
static const char *const user[] = {"anna", "ben", "clara", "david"};
static const char *const page[] = {"index.html", "news.html", "shop/cart", "shop/pay"};
static const char *const today[ASKED] = {
    "09:12 user clara GET /shop/pay 200 31 ms", "09:13 user root GET /etc/passwd 200 4 ms",
    "09:13 user ben GET /news.html 500 88 ms", "09:14 user anna GET /index.html 200 9000 ms"};

static void make_line(syn_random *r, char line[80]) {
  int n[5], below[5] = {24, 60, 4, 4, 90}; /* drawn in this order with every compiler */
  for (int i = 0; i < 5; i++) n[i] = syn_random_below(r, below[i]);
  sprintf(line, "%02d:%02d user %s GET /%s 200 %d ms", n[0], n[1], user[n[2]], page[n[3]],
          5 + n[4]);
}
static double surprise(syn_run *run, const char *line) {
  float log_p[MAX_LEN]; /* no line has more tokens, its end included */
  double sum = 0.0;
  int n = syn_score(run, syn_text_of(""), syn_text_of(line), log_p, MAX_LEN);
  for (int i = 0; i < n; i++) sum -= (double)log_p[i];
  return n < 0 ? -1.0 : sum / n; /* -1: an error, which the context keeps */
}
int main(void) {
  static char lines[ROWS + NORMAL][80];
  syn_text texts[ROWS];
  syn_random random = {.state = 1};
  for (int i = 0; i < ROWS + NORMAL; i++) make_line(&random, lines[i]);
  for (int i = 0; i < ROWS; i++) texts[i] = syn_text_of(lines[i]);
  syn_context c;
  syn_context_init(&c, NULL);
  syn_choice k = {.tgt_tokenizer = "char", .d_model = 32, .heads = 4, .max_len = MAX_LEN,
                  .decoder = "pos -> repeat(2, res_nd(cnn(k=8)) -> res_nd(syn_att(V))) -> norm",
                  .batch_tokens = 1000, .lr = 0.01f, .steps = 150};
  syn_model *m = syn_learn(&c, &(syn_learn_config){.task = "lm", .choice = &k}, NULL, texts, ROWS);
  syn_run *run = syn_run_new(&c, m, &(syn_limits){.cut = SYN_CUT_TAIL});
  double limit = 0.0, s;
  for (int i = ROWS; i < ROWS + NORMAL; i++)
    if ((s = surprise(run, lines[i])) > limit) limit = s;
  for (int i = 0; i < ASKED; i++) {
    s = surprise(run, today[i]);
    if (c.status != SYN_OK) break; /* of any line before, too */
    printf("%.2f %s: %s\n", s, s > limit || syn_run_cut(run) ? "UNUSUAL" : "normal ", today[i]);
  }
  if (c.status != SYN_OK) fprintf(stderr, "log: %s\n", c.message);
  syn_run_free(run);
  syn_model_free(m);
  return c.status != SYN_OK;
}
