/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_model.c -o fuzz_model -lm
   mkdir seeds corpus; ./fuzz_model --seeds seeds; ./fuzz_model -max_len=16384 corpus seeds
   Any bytes as a model file: loaded, then all that a program may do with a model
   (fuzz_network.h). */
#define FUZZ_NAME "model"
#define FUZZ_EDGES 4500
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) X(loaded) X(not_finite) X(tokenizer) NETWORK_MARKS(X)
#include "fuzz.h"
#include "fuzz_mutate.h"
#include "fuzz_network.h"

static int show(void *user, syn_text piece) {
  (void)user;
  return piece.size > 1000;
}

static void use_text(syn_context *c, const syn_model *m) {
  syn_decode_config k;
  syn_decoder *d;
  char out[40];
  memset(&k, 0, sizeof k);
  k.max_len = 5;
  k.source_len = syn_model_config(m)->max_len < 9 ? 0 : 9;
  d = syn_decoder_new(c, m, &k);
  if (!syn_decoder_run_text(d, syn_text_of("a b\xC3\xA9"), syn_text_of(""), show, NULL)) {
    fuzz_mark(MARK_tokenizer);
    syn_decoder_output_text(d, 0, 0, out, sizeof out, NULL);
  }
  syn_decoder_free(d);
  syn_context_clear(c);
}

static void fuzz_one(void) {
  syn_context c;
  int not_finite = fuzz_random(4) == 0;
  size_t size, shift = fuzz_random(2) ? 0 : (size_t)fuzz_random(16);
  unsigned char *at = fuzz_rest(shift, &size);
  syn_model *m;
  fuzz_context(&c, fuzz_random(2) ? "scalar" : NULL, not_finite);
  m = syn_model_view(&c, at, size);
  FUZZ_WANT(!m == (c.status != SYN_OK), "status %d", (int)c.status);
  FUZZ_WANT(fuzz.most <= ((size_t)64 << 20) + 64 * size, "%lu bytes for %lu",
            (unsigned long)fuzz.most, (unsigned long)size);
  if (m) {
    fuzz_mark(MARK_loaded);
    if (not_finite) fuzz_mark(MARK_not_finite);
    if (syn_model_tokenizer(m, SYN_TGT) && size < 1 << 15) use_text(&c, m);
    network_use(&c, m);
  }
  syn_model_free(m);
  fuzz_free(at, shift);
}

static void seed_model(const char *name, const syn_config *given, const char *type,
                       const char *tokenizer) {
  static const char *const lines[] = {"a b", "b c\xC3\xA9", "c"};
  syn_config k = *given;
  syn_text texts[3];
  syn_context c;
  syn_tokenizer *t = NULL;
  syn_model *m;
  fuzz_bytes b;
  syn_sink sink = fuzz_sink(&b);
  int i;
  for (i = 0; i < 3; i++) texts[i] = syn_text_of(lines[i]);
  fuzz_context(&c, "scalar", 0);
  if (tokenizer) t = syn_tokenizer_learn(&c, tokenizer, 0, texts, 3);
  if (t) k.src_vocab = k.tgt_vocab = syn_tokenizer_size(t);
  m = syn_model_new(&c, &k);
  if (t) syn_model_set_tokenizers(m, t, t);
  if (!m || syn_model_save_as_to(&c, m, type, &sink))
    fprintf(stderr, "%s: %s\n", name, c.message), exit(1);
  fuzz_seed(name, b.at, b.size);
  syn_model_free(m);
  free(b.at);
}

static void fuzz_seeds(void) {
  static const char *const texts[][4] = {
      {"seq2seq", "pos -> res_nd(syn_att(R+V)) -> norm",
       "learn_pos -> res_nd(syn_att(D)) -> res(mh_dot_att) -> norm", "f32"},
      {"seq2seq", "birnn -> id", "input_feed -> rnn -> concat(id|mlp_att) -> ff(4,tanh)", "i8"},
      {"lm", NULL, "universal(2, res_nd(syn_att(FR+FD)) -> highway(ff))", "f16"},
      {"lm", NULL, "res(light_conv(k=3)) -> res(cnn(k=3, act=glu)) -> norm", "bf16"},
      {"tag", "rel_pos -> syn_att(V) -> fixed_att -> parallel_add(dyn_conv(k=3)|linear)", NULL,
       "i4"},
      {"classify", "repeat(2, res_nd(linformer) -> res_nd(aop)) -> dropout", NULL, "f32"},
      {"seq2seq", "res(aft) -> res(ff(6) -> sgu -> linear)", "res(lin_att) -> syn_att(T) -> mh_dot_att",
       "f32"}};
  static const char *const tokenizers[] = {"char", NULL, "space", "bpe:20", NULL, "line", NULL};
  size_t i;
  for (i = 0; i < sizeof texts / sizeof *texts; i++) {
    char name[16];
    syn_config k;
    memset(&k, 0, sizeof k);
    k.task = texts[i][0];
    k.encoder = texts[i][1];
    k.decoder = texts[i][2];
    k.d_model = 4;
    k.heads = strstr(k.encoder ? k.encoder : "", "fixed") ? 8 : 2;
    if (k.heads == 8) k.d_model = 8;
    k.max_len = 7;
    k.src_vocab = k.tgt_vocab = 9;
    k.classes = 3;
    k.seed = i + 1;
    snprintf(name, sizeof name, "model%d", (int)i);
    seed_model(name, &k, texts[i][3], tokenizers[i]);
  }
}
