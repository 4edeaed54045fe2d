/* The stack that each phase of the library takes, on every ISA: 64 KiB at most, as the manual says,
   whatever the optimization. Each runs on a stack of its own, which was filled with a pattern. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "../tools/document.h"
#include "check.h"
#include "sink.h"

#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__)
int main(void) { return puts("needs ucontext.h of glibc, no sanitizer"), 77; }
#else
#include <ucontext.h>

enum { STACK = 1 << 20, LIMIT = 64 << 10, PATTERN = 0xA5 };

/* What the phases share. */
typedef struct work {
  syn_context c;
  const char *task, *encoder, *decoder, *optimizer;
  syn_model *m;
  bytes file;
} work;

static work w;
static void (*phase)(void);
static ucontext_t outside, inside;

static void run_phase(void) { phase(); }

/* Bytes of the stack that `f` takes; the pattern is still below them. */
static size_t stack_of(void (*f)(void)) {
  unsigned char *stack = (unsigned char *)malloc(STACK);
  size_t i = 0;
  memset(stack, PATTERN, STACK);
  phase = f;
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = STACK;
  inside.uc_link = &outside;
  makecontext(&inside, run_phase, 0);
  swapcontext(&outside, &inside);
  while (i < STACK && stack[i] == PATTERN) i++;
  free(stack);
  return STACK - i;
}

static const char *const lines[] = {"a b c d", "d c b a", "b b a", "a b b", "c a", "a c", "d d d d", "d"};
enum { LINES = sizeof lines / sizeof *lines };

static void build(void) {
  syn_config k;
  syn_tokenizer *t;
  syn_text texts[LINES];
  int i;
  for (i = 0; i < LINES; i++) texts[i] = syn_text_of(lines[i]);
  t = syn_tokenizer_learn(&w.c, "space", 0, texts, LINES);
  memset(&k, 0, sizeof k);
  k.task = w.task, k.encoder = w.encoder, k.decoder = w.decoder;
  k.d_model = 16, k.heads = 2, k.max_len = 8, k.dropout = 0.1f;
  k.src_vocab = k.tgt_vocab = syn_tokenizer_size(t);
  w.m = syn_model_new(&w.c, &k);
  syn_model_set_tokenizers(w.m, w.encoder ? t : NULL, t);
}

static void save(void) {
  syn_sink to = sink_of(&w.file);
  syn_model_save_to(&w.c, w.m, &to);
}

static void load(void) {
  static char text[20000];
  syn_model *m = syn_model_view(&w.c, w.file.at, w.file.size);
  size_t n = syn_model_describe(&w.c, syn_model_config(m), text, sizeof text);
  CHECK(m && n > 0, "%s", w.c.message);
  syn_model_free(m);
}

static void train(void) {
  syn_train_config how;
  syn_data *d = syn_data_new(&w.c);
  syn_trainer *t;
  int i;
  memset(&how, 0, sizeof how);
  how.steps = 3, how.every = 2, how.average = 1, how.batch_tokens = 40, how.clip = 1.0f;
  how.optimizer = w.optimizer;
  for (i = 0; i + 1 < LINES; i++)
    syn_data_add_text(d, w.m, syn_text_of(w.encoder ? lines[i] : ""), syn_text_of(lines[i + 1]));
  t = syn_trainer_new(&w.c, w.m, &how);
  syn_trainer_run(t, d, d, NULL, NULL);
  syn_trainer_save(t, "state.safetensors");
  syn_trainer_load(t, "state.safetensors");
  syn_trainer_average(t);
  syn_trainer_free(t), syn_data_free(d);
}

static int show(void *user, syn_text piece) { return (void)user, (void)piece, 0; }

static void decode(void) {
  static const struct {
    const char *type;
    int beam;
    float temperature;
  } ways[] = {{"f32", 1, 0.0f}, {"f32", 3, 0.0f}, {"i8", 2, 0.0f}, {"f32", 1, 1.0f}};
  size_t i;
  for (i = 0; i < SYN__COUNT(ways); i++) {
    syn_decode_config k;
    syn_decoder *d;
    memset(&k, 0, sizeof k);
    k.type = ways[i].type, k.beam = ways[i].beam, k.temperature = ways[i].temperature;
    d = syn_decoder_new(&w.c, w.m, &k);
    syn_decoder_run_text(d, syn_text_of(w.encoder ? lines[0] : ""), syn_text_of("a"),
                         k.beam > 1 ? NULL : show, NULL);
    syn_decoder_free(d);
  }
}

static void trace(void) {
  bytes b;
  syn_sink to = sink_of(&b);
  syn_trace_network(&w.c, syn_model_config(w.m), &to);
  free(b.at);
}

static void prove(void) { syn_network_check(&w.c, syn_model_config(w.m)); }

static void embed(void) {
  bytes b;
  syn_sink to = sink_of(&b);
  syn_small_options o;
  memset(&o, 0, sizeof o);
  o.tokenizers = 1;
  syn_small_embed(&w.c, w.m, &o, "name", &to);
  free(b.at);
}

static void small(void) {
  bytes b;
  syn_sink to = sink_of(&b);
  syn_small_options o;
  syn_small_config k;
  int ids[20], n, token;
  long size;
  void *ram;
  syn_small *s;
  memset(&o, 0, sizeof o), memset(&k, 0, sizeof k);
  o.tokenizers = 1, k.beam = 2;
  syn_small_write(&w.c, w.m, &o, &to);
  size = syn_small_ram(b.at, b.size, &k);
  ram = malloc((size_t)size);
  s = syn_small_open(ram, (size_t)size, b.at, b.size, &k, NULL);
  n = syn_small_encode(s, syn_text_of(lines[0]), ids, 20);
  CHECK(!syn_small_source(s, ids, n), "a source");
  while ((token = syn_small_step(s, 1000)) >= SYN_SMALL_MORE) continue;
  free(ram), free(b.at);
}

static double next_second(void *user) { return *(double *)user += 0.5; }

static void learn(void) {
  static double now;
  syn_text src[40], tgt[40];
  syn_learn_config how;
  syn_choice choice;
  int i;
  memset(&how, 0, sizeof how), memset(&choice, 0, sizeof choice);
  for (i = 0; i < 40; i++)
    src[i] = syn_text_of(lines[i % LINES]), tgt[i] = syn_text_of(lines[(i + i / LINES) % LINES]);
  if (!getenv("MEASURE")) { /* else it measures the machine, by a network that takes long here */
    choice.steps = 3;
    strcpy(choice.encoder, "pos -> res_nd(syn_att(R+V)) -> norm");
    strcpy(choice.decoder, "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> norm");
    strcpy(choice.src_tokenizer, "space");
    strcpy(choice.tgt_tokenizer, "bpe:300");
    choice.d_model = 16, choice.heads = 2, choice.max_len = 16;
  }
  how.task = "seq2seq", how.minutes = 0.5, how.seconds = next_second, how.user = &now;
  how.choice = &choice;
  syn_model_free(syn_learn(&w.c, &how, src, tgt, 40));
}

static void tokenize(void) {
  syn_text texts[LINES];
  int i, ids[40];
  static const char *const specs[] = {"bpe:300", "char", "byte", "space"};
  size_t k;
  for (i = 0; i < LINES; i++) texts[i] = syn_text_of(lines[i]);
  for (k = 0; k < SYN__COUNT(specs); k++) {
    syn_tokenizer *t = syn_tokenizer_learn(&w.c, specs[k], SYN_LOWERCASE, texts, LINES);
    syn_tokenizer_encode(t, texts[0], ids, 40);
    syn_tokenizer_free(t);
  }
}

static void measure(const char *name, void (*f)(void)) {
  static struct {
    const char *name;
    size_t most;
  } seen[16];
  size_t used = stack_of(f), i;
  CHECK(used <= LIMIT, "%s, %s, %s: %lu bytes of stack, at most %d", w.c.kernels->name, name,
        w.decoder ? w.decoder : w.encoder, (unsigned long)used, LIMIT);
  CHECK(!w.c.status, "%s: %s", name, w.c.message);
  for (i = 0; seen[i].name && strcmp(seen[i].name, name); i++) continue;
  seen[i].name = name;
  if (used > seen[i].most) seen[i].most = used;
  if (f == tokenize) /* the last of an ISA */
    for (i = 0; seen[i].name; i++) printf("%s %lu\n", seen[i].name, (unsigned long)seen[i].most);
}

static char deep[SYN_MAX_DEPTH * 5 + 20]; /* chains inside chains */

int main(void) {
  static const struct {
    const char *task, *encoder, *decoder, *optimizer;
    int small;
  } cases[] = {
      {"seq2seq", "pos -> res_nd(syn_att(R+V)) -> res_nd(ffl(act=gelu)) -> norm",
       "pos -> res_nd(syn_att(V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm", "adam", 1},
      {"seq2seq", "birnn -> res(linear)",
       "rnn(cell=gru) -> res_d(mlp_att) -> highway(ff(16, tanh)) -> rnn", "sgd", 0},
      {"seq2seq", "pos -> res_d(cnn) -> res_nd(syn_att(CRC)) -> res_nd(light_conv(3))",
       "pos -> res_d(cnn(k=2)) -> res_nd(dyn_conv(3)) -> res_nd(mh_dot_att) -> norm", "adafactor", 0},
      {"lm", NULL, "universal(2, res_nd(syn_att(FD+V)) -> res_nd(aop(2, 4))) -> rms_norm", "muon", 0},
      {"lm", NULL, deep, "adamw", 0}};
  syn_options o;
  size_t i;
  int isa, best = 0;
  for (i = 1; i < SYN_MAX_DEPTH; i++) strcat(deep, "res(");
  strcat(deep, "linear");
  for (i = 1; i < SYN_MAX_DEPTH; i++) strcat(deep, ")");
  memset(&o, 0, sizeof o);
  for (isa = 0; isa < syn_isa_count(); isa++)
    if (syn_isa_usable(isa)) best = isa;
  for (isa = 0; isa < syn_isa_count(); isa++) {
    if (!syn_isa_usable(isa)) continue;
    o.isa = syn_isa_name(isa);
    syn_context_init(&w.c, &o);
    for (i = 0; i < SYN__COUNT(cases); i++) {
      w.task = cases[i].task, w.encoder = cases[i].encoder, w.decoder = cases[i].decoder;
      w.optimizer = cases[i].optimizer;
      measure("build", build), measure("save", save), measure("load", load);
      measure("train", train), measure("decode", decode), measure("trace", trace);
      if (i < 2 && isa == best) measure("check", prove);
      if (cases[i].small) measure("embed", embed), measure("small", small);
      syn_model_free(w.m), free(w.file.at);
      syn_context_clear(&w.c);
    }
    measure("learn", learn), measure("tokenize", tokenize);
  }
  return CHECK_END("stack");
}
#endif
