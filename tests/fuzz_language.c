/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined -o fuzz_language \
     tests/fuzz_language.c -lm
   mkdir seeds corpus; ./fuzz_language --seeds seeds
   ./fuzz_language -dict=seeds/words.dict -max_len=600 corpus seeds
   Any bytes as the texts of a network: described, planned, traced; what is small is built and used
   as fuzz_network.h does it. The input: one byte for the task, three for sizes, encoder, a 0,
   decoder. */
#define FUZZ_NAME "language"
#define FUZZ_EDGES 4000
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) X(described) X(refused) X(built) NETWORK_MARKS(X)
#include "fuzz.h"
#include "../tools/document.h"
#include "fuzz_network.h"

static const char *const tasks[] = {"seq2seq", "lm", "classify", "tag"};

/* What can be planned can be described and traced. */
static void describe(syn_context *c, const syn_config *k) {
  char text[200];
  fuzz_bytes b;
  syn_sink sink = fuzz_sink(&b);
  FUZZ_WANT(syn_model_describe(c, k, text, sizeof text) > 0, "planned, but not described: %s",
            c->message);
  FUZZ_WANT(syn_trace_network(c, k, &sink) == SYN_OK, "planned, but not traced: %s", c->message);
  free(b.at);
}

static void fuzz_one(void) {
  static const syn_var vars[] = {{"W", 6.0}, {"N", 2.0}, {"BIG", 1e9}, {"P", 0.5}};
  syn_context c;
  syn_config k;
  syn_plan plan;
  syn_model *m = NULL;
  size_t size;
  unsigned char *at;
  fuzz_bytes b = {NULL, 0, 0};
  memset(&k, 0, sizeof k);
  k.task = tasks[fuzz_below(4)];
  k.d_model = 1 + fuzz_below(16);
  k.heads = 1 + fuzz_below(4);
  k.max_len = 2 + fuzz_below(12);
  k.src_vocab = 8;
  k.tgt_vocab = 9;
  k.classes = 3;
  k.vars = vars;
  k.n_vars = 4;
  at = fuzz_rest(0, &size);
  fuzz_put(&b, at, size);
  fuzz_put(&b, "\0\0", 2);
  k.encoder = b.at;
  k.decoder = b.at + strlen(b.at) + 1;
  if (strcmp(k.task, "lm") == 0 && !*k.decoder) k.decoder = k.encoder;
  fuzz_context(&c, NULL, 0);
  if (syn_plan_of(&c, &k, NULL, NULL, &plan)) {
    fuzz_mark(MARK_refused);
    FUZZ_WANT(!plan.weights && !plan.training && !plan.activations && !plan.decoding,
              "plan of an error");
    FUZZ_WANT(c.message[0], "an error without a message");
    syn_context_clear(&c);
  } else {
    fuzz_mark(MARK_described);
    describe(&c, &k);
    if (plan.weights < 1 << 21) m = syn_model_new(&c, &k);
    FUZZ_WANT(m || plan.weights >= 1 << 21, "planned, but not built: %s", c.message);
  }
  if (m) {
    fuzz_mark(MARK_built);
    network_use(&c, m);
  }
  syn_model_free(m);
  free(b.at);
  fuzz_free(at, 0);
}

/* A layer with arguments as its kind declares them: "i:n w:act f:scale k:kinds c:chain". */
static size_t random_layer(char *out, size_t capacity, syn_random *r) {
  static const char *const words[] = {"relu",  "glu",        "tanh",  "lstm", "gru",   "swiglu", "gelu_erf",
                                      "upper", "increasing", "alpha", "sum"};
  static const char *const scores[] = {"V", "R", "D", "FR", "FD", "Fix", "DV", "CD", "R+V", "D+FD", "T"};
  static const char *const chains[] = {"norm",      "ff",         "id",      "res(rnn)",
                                       "linear(4)", "syn_att(V)", "cnn(k=3)"};
  const syn_kind *kind = syn_kind_at((size_t)syn_random_below(r, (int)syn_kind_count()));
  const char *at = kind->args;
  size_t used = (size_t)snprintf(out, capacity, "->%s(", kind->name);
  int count = 0;
  while (*at && at[1] == ':' && used < capacity - 60) {
    size_t name = strcspn(at + 2, " ");
    if (syn_random_below(r, 2) || *at == 'c' || *at == 'k') {
      used += (size_t)snprintf(out + used, capacity - used, count++ ? "," : "");
      if (*at == 'i' || *at == 'f' || *at == 'w')
        used += (size_t)snprintf(out + used, capacity - used, "%.*s=", (int)name, at + 2);
      if (*at == 'i')
        used += (size_t)snprintf(out + used, capacity - used, "%d", syn_random_below(r, 9));
      if (*at == 'f')
        used += (size_t)snprintf(out + used, capacity - used, "0.%d", syn_random_below(r, 10));
      if (*at == 'w')
        used += (size_t)snprintf(out + used, capacity - used, "%s", words[syn_random_below(r, 9)]);
      if (*at == 'k')
        used += (size_t)snprintf(out + used, capacity - used, "%s", scores[syn_random_below(r, 10)]);
      if (*at == 'c' || *at == 'C')
        used += (size_t)snprintf(out + used, capacity - used, "%s", chains[syn_random_below(r, 7)]);
    }
    at += 2 + name;
    at += *at == ' ';
  }
  return used + (size_t)snprintf(out + used, capacity - used, ")");
}

/* Every third time a random layer goes to an end or before a "->"; else bytes change as libFuzzer
   likes. */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t size, size_t most, unsigned seed) {
  syn_random r;
  char layer[300];
  size_t n, place, places[64];
  int count = 0;
  r.state = seed;
  if (seed % 3 || size < 4) return LLVMFuzzerMutate(at, size, most);
  n = random_layer(layer, sizeof layer, &r);
  for (place = 4; place < size && count < 62; place++)
    if (!at[place] || (at[place] == '-' && place + 1 < size && at[place + 1] == '>'))
      places[count++] = place;
  places[count++] = size;
  place = places[syn_random_below(&r, count)];
  if (size + n > most) return LLVMFuzzerMutate(at, size, most);
  memmove(at + place + n, at + place, size - place);
  memcpy(at + place, layer, n);
  return size + n;
}

static void seed_text(const char *name, int task, const char *encoder, const char *decoder) {
  char text[1000] = {(char)task, 7, 1, 8};
  size_t n = 4;
  if (encoder) n += (size_t)snprintf(text + n, 400, "%s", encoder);
  n++;
  if (decoder) n += (size_t)snprintf(text + n, 400, "%s", decoder);
  fuzz_seed(name, text, n);
}

/* Each kind alone, its arguments by their names, and the words of the language as a dictionary. */
static void fuzz_seeds(void) {
  static const char words[] =
      "\"->\"\n\"res_nd(\"\n\"res_d(\"\n\"ffl\"\n\"mh_dot_att\"\n\"mlp_att\"\n\"dot_src_att(s=\"\n"
      "\"parallel(\"\n\"$W\"\n\"$N\"\n\"$BIG\"\n\"$P\"\n\"lstm\"\n\"glu\"\n\"upper\"\n\"R+"
      "V\"\n\"FD\"\n"
      "\"FR\"\n\"Fix\"\n\"dropout=\"\n\"heads=\"\n\"s=\"\n\"cnn(glu\"\n\"#\"\n\"|"
      "\"\n\"65536\"\n\"2147483648\"\n\"1e300\"\n";
  fuzz_bytes dict = {NULL, 0, 0};
  size_t i;
  char text[200];
  fuzz_put(&dict, words, sizeof words - 1);
  for (i = 0; i < syn_kind_count(); i++) {
    const syn_kind *kind = syn_kind_at(i);
    int n = snprintf(text, sizeof text, "\"%s(\"\n", kind->name);
    fuzz_put(&dict, text, (size_t)n);
    snprintf(text, sizeof text,
             strpbrk(kind->args, "cC") && strstr(kind->args, ":chain") ? "%s(res(ff))" : "%s",
             kind->name);
    if (strstr(kind->args, "k:kinds")) snprintf(text, sizeof text, "%s(R+V)", kind->name);
    seed_text(kind->name, 1, NULL, text);
    snprintf(text, sizeof text, "tag_%s", kind->name);
    seed_text(text, 3,
              strstr(kind->args, "k:kinds")  ? "syn_att(D+FD)"
              : strstr(kind->args, ":chain") ? "rnn"
                                             : kind->name,
              NULL);
  }
  fuzz_seed("words.dict", dict.at, dict.size);
  free(dict.at);
  seed_text("plain", 0, "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm",
            "pos -> res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl) -> norm");
  seed_text("rnmt", 0, "dropout -> birnn -> repeat(2, res_d(rnn))",
            "input_feed -> linear($W) -> res_d(rnn) -> "
            "concat(id | mlp_att) -> ff($W)");
  seed_text("convs2s", 0, "pos -> repeat($N, res(cnn))",
            "pos -> res(dropout(0.1) -> cnn -> res(dot_src_att(s=1)))");
  seed_text("classes", 2, "universal(2, res_nd(syn_att(CD, k=3)) -> res_nd(aop)) # comment", NULL);
}
