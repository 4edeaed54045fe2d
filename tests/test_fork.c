/* A process with OpenMP threads calls fork(), as a server does that starts its workers: the child
   decodes with the context that it inherited and with a new one, and so does a child of the child.
   Built with -fopenmp by the lane threads; without it, one thread each. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "check.h"

#if !defined(__unix__) && !defined(__APPLE__)
int main(void) { return puts("needs fork"), 77; }
#else
#include <sys/wait.h>
#include <unistd.h>

static int keep_loss(void *user, const syn_trainer *t, float loss, int validated) {
  (void)t, (void)validated;
  memcpy(user, &loss, sizeof(uint32_t));
  return 0;
}

/* Two steps of training on two threads; the bits of the last loss. */
static uint32_t train(syn_context *c) {
  static const int row[] = {4, 5, 6, 7, 8, 9, 4, 5, 6, 7, 8, 9};
  syn_config k;
  syn_train_config how;
  syn_model *m;
  syn_data *d = syn_data_new(c);
  syn_trainer *t;
  uint32_t bits = 0;
  int i;
  memset(&k, 0, sizeof k);
  memset(&how, 0, sizeof how);
  k.task = "lm", k.decoder = "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl) -> norm";
  k.tgt_vocab = 64, k.max_len = 16, k.d_model = 64, k.heads = 2;
  how.steps = 2;
  m = syn_model_new(c, &k);
  for (i = 0; i < 8; i++) syn_data_add(d, NULL, 0, row, 12);
  t = syn_trainer_new(c, m, &how);
  syn_trainer_run(t, d, NULL, keep_loss, &bits);
  syn_trainer_free(t), syn_data_free(d), syn_model_free(m);
  return c->status ? 0 : bits;
}

/* In a child: both contexts give the bits of the parent; `depth` more children. */
static int works(syn_context *inherited, uint32_t wanted, int depth) {
  syn_options o;
  syn_context c;
  pid_t child;
  int status = 1;
  memset(&o, 0, sizeof o);
  o.threads = 2;
  child = fork();
  if (child == 0) {
    alarm(20); /* ends the child if it waits for threads that are not there */
    syn_context_init(&c, &o);
    _exit(train(inherited) != wanted || train(&c) != wanted ||
          (depth > 0 && !works(&c, wanted, depth - 1)));
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void) {
  syn_options o;
  syn_context c;
  uint32_t wanted;
  memset(&o, 0, sizeof o);
  o.threads = 2;
  CHECK(!syn_context_init(&c, &o), "%s", c.message);
  CHECK(works(&c, train(&c), 0), "a child of a process with threads");
  wanted = train(&c);
  CHECK(wanted, "%s", c.message);
  CHECK(works(&c, wanted, 1), "a child and its child");
  CHECK(train(&c) == wanted, "the parent goes on");
  return CHECK_END("fork");
}
#endif
