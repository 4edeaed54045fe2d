/* two.h   the same small network and batch for every task. Include it after synthesizer.h. */
#ifndef TWO_H
#define TWO_H

/* Two sentences for any task. */
static const int two_src[] = {4, 5, 6, 3, 7, 3, 0, 0}, two_tgt[] = {2, 5, 6, 0, 2, 8, 9, 10};
static const int two_next[] = {5, 6, 3, 0, 8, 9, 10, 3}, two_tags[] = {1, 2, 0, 1, 2, 1, 0, 0};
static const int two_classes[] = {0, 2};
static syn_batch two(const char *task) {
  syn_batch b;
  b.count = 2;
  b.src = two_src;
  b.tgt = two_tgt;
  b.labels = !strcmp(task, "tag") ? two_tags : !strcmp(task, "classify") ? two_classes : two_next;
  b.src_width = b.tgt_width = 4;
  return b;
}

/* A network for that batch, of width 8. */
static syn_config two_config(const char *task) {
  syn_config k;
  int lm = !strcmp(task, "lm"), both = !strcmp(task, "seq2seq");
  memset(&k, 0, sizeof k);
  k.task = task;
  if (!lm) k.encoder = "pos -> res_nd(syn_att(R+V)) -> norm";
  if (both) k.decoder = "learn_pos -> res_nd(syn_att(FR+D)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm";
  if (lm) k.decoder = "learn_pos -> res_nd(syn_att(FD+Fix)) -> linear";
  k.d_model = 8;
  k.heads = 2;
  k.max_len = 9;
  k.src_vocab = k.tgt_vocab = 11;
  k.classes = 3;
  k.seed = 1;
  return k;
}

#endif
