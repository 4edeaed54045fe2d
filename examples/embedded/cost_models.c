/* cost_models.c   networks whose instructions are counted, as files FOLDER/NAME-FORMAT.bin (two
   words, the beam and the number of best candidates, then the array) and FOLDER/NAME.safetensors.
     cost_models FOLDER    prints the lines "NAME FORMAT" of what it has written

   fit_...: each kind of layer in several widths and lengths, from which cost_fit.c finds the
   numbers of cost_table.h. more_...: for instructions that those do not have, of a beam, scores, a
   mask of keys, beside which other instructions are slower or faster. held_...: networks whose
   widths are drawn at random, to see how good the numbers are. */
#include "../../synthesizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of a text: # is 3/2 of the width, made even; @ the width. */
typedef struct network {
  const char *task, *encoder, *decoder;
  int features, beam, best, i4, grown, rare;
} network;

static const network fit[] = {
    {"seq2seq", "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl(#)) -> norm",
     "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl(#, tanh)) -> norm", 0, 0, 0, 1, 0, 0},
    {"seq2seq", "learn_pos -> res(rms_norm -> syn_att(D+V, bias=1)) -> res_nd(ffl(#, gelu)) -> norm",
     "pos -> res_nd(syn_att(V+FD)) -> res_nd(mh_dot_att) -> res_nd(ffl(#, swish)) -> norm", 0, 0, 2, 0, 0, 0},
    {"seq2seq", "pos -> res_nd(syn_att(R, softmax=0)) -> res_nd(ffl(#, sigmoid)) -> norm",
     "pos -> res_nd(syn_att(FD)) -> res_nd(mh_dot_att) -> norm", 0, 3, 0, 0, 0, 0},
    {"seq2seq", "cnn(#, 3, relu) -> linear -> res_nd(light_conv(5)) -> res_nd(dyn_conv(3)) -> norm",
     "pos -> res_nd(light_conv(5)) -> res_nd(dyn_conv(4)) -> res_nd(mh_dot_att) -> "
     "cnn(#, 3) -> ff(glu)", 0, 0, 0, 0, 0, 0},
    {"classify", "ngram(3, 200) -> rnn(#) -> rnn(#, gru) -> norm", NULL, 0, 0, 0, 1, 1, 0},
    {"classify", "ngram(6, 300)", NULL, 0, 0, 2, 1, 0, 0},
    {"seq2seq", "birnn(#) -> linear", "rnn(@, gru) -> res_nd(mh_dot_att) -> rnn", 0, 0, 0, 0, 1, 0},
    {"lm", NULL, "pos -> ngram(3, 300, 1) -> res_nd(ffl(#)) -> norm -> softcap(9)", 0, 0, 0, 1, 0, 0},
    {"lm", NULL, "pos -> res(lin_att) -> norm -> softcap(9)", 0, 0, 2, 1, 0, 0},
    {"lm", NULL, "input_feed -> ssru(@) -> linear -> norm", 0, 3, 0, 1, 0, 0},
    {"lm", NULL, "pos -> res(aft) -> res(ff(#) -> sgu -> linear) -> norm", 0, 0, 0, 0, 0, 0},
    {"lm", NULL, "pos -> res(syn_att(Conv)) -> res(aop) -> norm", 0, 0, 0, 0, 0, 0},
    {"lm", NULL, "rope -> res(rms_norm -> syn_att(V, kv=1)) -> ff(#, swiglu) -> ff(@, geglu)", 0, 0, 0, 0, 0, 0},
    {"classify", "pos -> res(lin_att) -> ff(#, reglu) -> linear(@) -> norm", NULL, 0, 0, 0, 0, 0, 0},
    {"classify", "pos -> res(aft) -> res(ff(#) -> sgu -> linear) -> pool(first)", NULL, 0, 0, 0, 0, 0, 0},
    {"tag", "highway(ff(@)) -> act(gelu) -> linear(#) -> act(tanh) -> act(swish) -> act -> act(sigmoid)",
     NULL, 0, 0, 0, 0, 0, 0},
    {"classify", "linear(#) -> rnn(@, gru)", NULL, 5, 0, 0, 0, 1, 0},
    {"classify", "cnn(#, 5, relu) -> cnn(@, 3, relu, dilate=2) -> cnn(#, 5, relu, dilate=4)", NULL, 3, 0, 1, 0, 0, 0},
    {"regress_rows", "ff(#, tanh) -> ff(@, tanh) -> ff(#, tanh)", NULL, 16, 0, 0, 0, 0, 0},
    {"seq2seq", "types -> pos -> res_nd(linformer) -> res_nd(fixed_att) -> norm",
     "pos -> res_nd(syn_att(V, window=3)) -> res_nd(mlp_att) -> ff(#, gelu_erf) -> linear -> scale(2) -> "
     "norm", 0, 0, 0, 1, 0, 1},
    {"seq2seq", "pos -> res_nd(light_conv(9)) -> res_nd(dyn_conv(12)) -> norm",
     "pos -> res_nd(light_conv(15)) -> res_nd(light_conv(3)) -> res_nd(mh_dot_att) -> norm", 0, 0, 0, 0, 0, 0},
    {"classify", "types -> pos -> linear(24) -> res_nd(fixed_att(8)) -> res_nd(linformer(9)) -> "
     "res_nd(fixed_att(12)) -> res_nd(fixed_att(6)) -> linear -> norm", NULL, 0, 0, 0, 0, 0, 1}};

/* Chains from which networks of other widths are made. */
static const network held[] = {
    {"seq2seq", "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl(#))) -> norm",
     "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl(#))) -> norm", 0, 0, 0, 0, 0, 0},
    {"seq2seq", "pos -> res_nd(light_conv(7)) -> res_nd(ffl(#)) -> norm",
     "pos -> res_nd(light_conv(3)) -> res_nd(mh_dot_att) -> res_nd(ffl(#, gelu)) -> norm", 0, 0, 0, 0, 0, 0},
    {"seq2seq", "pos -> res_nd(syn_att(D)) -> res_nd(syn_att(V)) -> norm",
     "rnn(@) -> res_nd(mh_dot_att) -> norm", 0, 0, 2, 0, 0, 0},
    {"classify", "pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(ffl(#, swish))) -> norm", NULL, 0, 0, 0, 0, 0, 0},
    {"classify", "cnn(#, 5, relu) -> pos(scale=0) -> res_nd(syn_att(R+D, heads=1)) -> norm", NULL, 3, 0, 0, 0, 0, 0},
    {"classify", "cnn(#, 5, relu) -> cnn(@, 5, relu, dilate=2) -> cnn(#, 5, relu, dilate=4)", NULL, 4, 0, 0, 0, 0, 0},
    {"classify", "linear(#) -> rnn(#, gru)", NULL, 3, 0, 1, 0, 0, 0},
    {"classify", "linear(@) -> rnn(#)", NULL, 6, 0, 0, 0, 0, 0},
    {"classify", "ngram(5, 500) -> dropout", NULL, 0, 0, 0, 0, 0, 0},
    {"tag", "birnn(#) -> ff(@) -> linear", NULL, 0, 0, 0, 0, 0, 0},
    {"lm", NULL, "pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(ffl(#, gelu))) -> norm", 0, 0, 0, 0, 0, 0},
    {"lm", NULL, "rope -> repeat(2, res(rms_norm -> syn_att(V)) -> res(rms_norm -> ffl(#, swiglu)))", 0, 0, 0, 0, 0, 0},
    {"regress", "linear(#) -> ff(@, relu) -> pool", NULL, 8, 0, 0, 0, 0, 0},
    {"classify", "pos -> res(light_conv(31))", NULL, 0, 0, 0, 0, 0, 0},
    {"seq2seq", "pos -> res_nd(light_conv(21)) -> res_nd(dyn_conv(25)) -> norm",
     "pos -> res_nd(light_conv(11)) -> res_nd(dyn_conv(7)) -> res_nd(mh_dot_att) -> norm", 0, 0, 0, 0, 0, 0},
    {"classify", "pos -> linear(48) -> res(fixed_att(8))", NULL, 0, 0, 0, 0, 0, 0},
    {"tag", "types -> pos -> linear(60) -> res_nd(fixed_att(5)) -> res_nd(fixed_att(10)) -> linear", NULL, 0, 0, 0, 0,
     0, 0},
    {"classify", "types -> pos -> res(linformer(20)) -> ff(#, gelu_erf) -> linear", NULL, 0, 0, 0, 0, 0, 0},
    {"seq2seq", "types -> pos -> res_nd(linformer(14)) -> res_nd(fixed_att(4)) -> norm",
     "pos -> res_nd(syn_att(V, window=9)) -> res_nd(mlp_att(#)) -> ff(#, gelu_erf) -> linear -> scale(3) -> norm",
     0, 0, 0, 0, 0, 0}};

static const char *folder;

static uint32_t chance(uint32_t *random) {
  *random = *random * UINT32_C(1664525) + UINT32_C(1013904223);
  return *random >> 8;
}
static void numbers(char *to, const char *text, int width) {
  for (; text && *text; text++)
    if (*text == '#') to += sprintf(to, "%d", width * 3 / 4 * 2);
    else if (*text == '@') to += sprintf(to, "%d", width);
    else *to++ = *text;
  *to = 0;
}
static size_t write_file(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)user);
}
static void array(syn_context *c, const syn_model *m, const network *n, const char *name,
                  const char *type, const char *layout) {
  const int32_t config[2] = {n->beam, n->best};
  syn_small_options options;
  syn_small_config search;
  syn_sink sink;
  char path[300];
  FILE *f;
  memset(&options, 0, sizeof options);
  memset(&search, 0, sizeof search);
  options.type = type;
  options.layout = layout;
  snprintf(path, sizeof path, "%s/%s-%s.bin", folder, name, layout ? layout : type);
  f = fopen(path, "wb");
  if (!f) perror(path), exit(1);
  fwrite(config, 1, sizeof config, f);
  sink.write = write_file;
  sink.user = f;
  if (syn_small_write(c, m, &options, &sink)) fprintf(stderr, "%s: %s\n", name, c->message), exit(1);
  fclose(f);
  printf("%s %s\n", name, layout ? layout : type);
  if (strncmp(name, "held", 4)) return;
  search.beam = n->beam;
  search.best = n->best;
  options.config = &search; /* its instructions, as a header */
  snprintf(path, sizeof path, "%s/%s-%s.h", folder, name, layout ? layout : type);
  sink.user = f = fopen(path, "w");
  if (!f || syn_small_embed(c, m, &options, "cost", &sink)) perror(path), exit(1);
  fclose(f);
}
/* A network of a width and a length, with any weights; i4: as an array of 4 bits, too. */
static void make(syn_context *c, const network *n, const char *name, int width, int length, int i4) {
  char encoder[300], decoder[300], path[300];
  uint32_t random = 7;
  syn_config k;
  syn_model *m;
  size_t i, j;
  memset(&k, 0, sizeof k);
  numbers(encoder, n->encoder, width);
  numbers(decoder, n->decoder, width);
  k.task = n->task;
  k.encoder = n->encoder ? encoder : NULL;
  k.decoder = n->decoder ? decoder : NULL;
  k.d_model = width;
  k.heads = width % 8 == 0 ? 4 : width % 6 == 0 ? 3 : 2; /* of an even width */
  k.max_len = length;
  k.src_vocab = length + width;
  k.tgt_vocab = 9 + width;
  if (n->features) k.src_features = n->features, k.src_vocab = 0;
  k.classes = k.outputs = 2 + width / 3;
  k.seed = 3;
  m = syn_model_new(c, &k);
  if (!m) fprintf(stderr, "%s: %s\n", name, c->message), exit(1);
  for (i = 0; i < syn_model_param_count(m); i++) { /* no number is 0; cells learn larger ones */
    const syn_param *p = syn_model_param(m, i);
    const float grown = n->grown && width % 8 ? 3.0f : 1.0f;
    for (j = 0; j < p->size; j++)
      p->x[j] = grown * (p->x[j] + 1e-3f * ((float)(chance(&random) % 64) - 31.5f));
  }
  array(c, m, n, name, "i8", "smlad");
  array(c, m, n, name, "i8", "mve");
  if (i4) array(c, m, n, name, "i4", NULL);
  snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
  syn_model_save(c, m, path);
  if (c->status) fprintf(stderr, "%s: %s\n", name, c->message), exit(1);
  syn_model_free(m);
}

int main(int argc, char **argv) {
  static const int sizes[][2] = {{8, 12}, {20, 44}, {36, 24}, {60, 70}}; /* width, length */
  uint32_t random = 1;
  syn_context c;
  char name[40];
  size_t i, j;
  if (argc != 2) return 2;
  folder = argv[1];
  syn_context_init(&c, NULL);
  for (i = 0; i < sizeof fit / sizeof *fit; i++)
    for (j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      network plain = fit[i];
      plain.beam = plain.best = 0;
      sprintf(name, "fit_%02d_%d", (int)i, sizes[j][0]);
      if (!fit[i].rare) make(&c, &plain, name, sizes[j][0], sizes[j][1], fit[i].i4 && j % 2);
      sprintf(name, "more_%02d_%d", (int)i, sizes[j][0]);
      if (fit[i].rare || ((fit[i].beam || fit[i].best) && j % 2))
        make(&c, &fit[i], name, sizes[j][0], sizes[j][1], fit[i].i4);
    }
  for (i = 0; i < 2 * sizeof held / sizeof *held; i++) {
    const int width = 4 * (int)(3 + chance(&random) % 14), length = 10 + (int)(chance(&random) % 60);
    sprintf(name, "held_%02d_%d", (int)i, width);
    make(&c, &held[i / 2], name, width, length, i % 4 == 0);
  }
  syn_context_free(&c);
  return 0;
}
