/* test_settings: configurations from text. Every field of the structs in the header has a setting of
   its type, or stands in a list here of those that can have none; what is wrong is told; what is
   made from text is what the same struct makes. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"

/* -- every field -- */

#define FIELDS(table) table, sizeof table / sizeof *table
static const struct {
  const char *name;
  const syn__field *fields;
  size_t count;
  const char *without; /* callbacks, what they are handed, arrays, results */
} structs[] = {
    {"syn_options", FIELDS(syn__options_fields),
     " alloc release alloc_user parallel parallel_user kinds n_kinds cancel cancel_user "},
    {"syn_config", FIELDS(syn__config_fields), " vars n_vars "},
    {"syn_limits", FIELDS(syn__limits_fields), " "},
    {"syn_decode_config", FIELDS(syn__decode_fields), " "},
    {"syn_train_config", FIELDS(syn__train_fields), " "},
    {"syn_learn_config", FIELDS(syn__learn_fields), " choice seconds report user excess from "},
    {"syn_choice", FIELDS(syn__choice_fields),
     " rows valid_rows left_out cut tokens unknown not_utf8 repeated "}};

/* A name of a struct that the header declares: it has a setting, or stands in the list. */
static void check_name(size_t k, const char *name, size_t size, size_t *found) {
  char word[80];
  size_t i, here = 0;
  sprintf(word, " %.*s ", (int)(size < 70 ? size : 70), name);
  for (i = 0; i < structs[k].count; i++)
    here += strlen(structs[k].fields[i].name) == size &&
            !memcmp(structs[k].fields[i].name, name, size);
  *found += here;
  CHECK(here + (strstr(structs[k].without, word) != NULL) == 1,
        "%s.%s: a table of >>settings or the list of this test must have it", structs[k].name, word);
}

static int is_name(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '_';
}

/* One declaration up to its semicolon: the names before a comma, a bracket or the end; of a pointer
   to a function the name behind "(*". */
static void check_declaration(size_t k, const char *at, const char *end, size_t *found) {
  const char *pointer = strstr(at, "(*"), *from;
  if (pointer && pointer < end) {
    for (at = pointer += 2; is_name(*at);) at++;
    check_name(k, pointer, (size_t)(at - pointer), found);
    return;
  }
  for (; at <= end; at++) {
    if (*at != ',' && *at != '[' && at != end) continue;
    for (from = at; is_name(from[-1]);) from--;
    if (from < at) check_name(k, from, (size_t)(at - from), found);
    if (*at == '[') at = strchr(at, ']');
  }
}

/* The declarations between the braces. */
static void check_struct(size_t k, const char *at, const char *end) {
  char text[8000], *to = text;
  const char *next;
  size_t found = 0;
  for (; at < end && to < text + sizeof text - 1; at++) { /* without comments */
    if (at[0] == '/' && at[1] == '*') at = strstr(at, "*/") + 1;
    else *to++ = *at;
  }
  *to = 0;
  for (at = text; (next = strchr(at, ';')) != NULL; at = next + 1)
    check_declaration(k, at, next, &found);
  CHECK(found == structs[k].count, "%s: %lu of %lu settings are fields", structs[k].name,
        (unsigned long)found, (unsigned long)structs[k].count);
}

static void test_header(void) {
  static char text[1 << 21], begin[60], path[1000];
  const char *root = getenv("ROOT"), *at, *end;
  size_t k;
  FILE *f;
  sprintf(path, "%.900s/synthesizer.h", root ? root : "..");
  f = fopen(path, "rb");
  if (!f) {
    printf("skipped: fields: %s cannot be read\n", path);
    return;
  }
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  for (k = 0; k < sizeof structs / sizeof *structs; k++) {
    sprintf(begin, "typedef struct %s {", structs[k].name);
    at = strstr(text, begin);
    end = at ? strstr(at, "\n}") : NULL;
    CHECK(end, "%s", begin);
    if (end) check_struct(k, at + strlen(begin), end);
  }
}

/* Types have the bytes of their fields, and no two fields overlap. */
static void test_tables(void) {
  static const size_t sizes[] = {sizeof(int), sizeof(int), 8, 8, sizeof(float), sizeof(double), sizeof(char *)};
  size_t k, i, n;
  for (k = 0; k < sizeof structs / sizeof *structs; k++)
    for (i = 0; i < structs[k].count; i++) {
      const syn__field *f = &structs[k].fields[i];
      CHECK(f->type == SYN__FIELD_CHARS || f->size == sizes[f->type], "%s: %lu bytes", f->name,
            (unsigned long)f->size);
      for (n = 0; n < i; n++)
        CHECK(f->at >= structs[k].fields[n].at + structs[k].fields[n].size, "%s: its order", f->name);
    }
}

/* Each setting goes to its field and to no other byte. */
static void test_values(void) {
  static const char *const values[] = {"-7", "tail", "-12345678901", "18446744073709551615", "-0.5",
                                       "1e-3", "a text", "adam"};
  static union {
    char bytes[4000];
    double aligned;
  } to;
  char line[100];
  size_t k, i, n, changed;
  syn_context c;
  syn__settings s;
  syn_context_init(&c, NULL);
  for (k = 0; k < sizeof structs / sizeof *structs; k++)
    for (i = 0; i < structs[k].count; i++) {
      const syn__field *f = &structs[k].fields[i];
      const char *at = to.bytes + f->at, *text;
      int whole;
      int64_t large;
      uint64_t seed;
      float single;
      double real;
      memset(&to, 0, sizeof to);
      sprintf(line, "%s = %s", f->name, values[f->type]);
      syn__settings_begin(&s, &c, "test", line);
      syn__settings_into(&s, &to, structs[k].fields, structs[k].count);
      CHECK(syn__settings_read(&s), "%s: %s", line, c.message);
      for (n = changed = 0; n < sizeof to; n++)
        changed += to.bytes[n] && (n < f->at || n >= f->at + f->size);
      CHECK(!changed, "%s: other bytes", line);
      memcpy(&whole, at, sizeof whole), memcpy(&large, at, sizeof large);
      memcpy(&seed, at, sizeof seed), memcpy(&single, at, sizeof single);
      memcpy(&real, at, sizeof real), memcpy(&text, at, sizeof text);
      CHECK(f->type == SYN__FIELD_INT      ? whole == -7
            : f->type == SYN__FIELD_CUT    ? whole == SYN_CUT_TAIL
            : f->type == SYN__FIELD_LONG   ? large == -INT64_C(12345678901)
            : f->type == SYN__FIELD_SEED   ? seed == UINT64_MAX
            : f->type == SYN__FIELD_FLOAT  ? single < -0.4f && single > -0.6f
            : f->type == SYN__FIELD_DOUBLE ? real > 0.00099 && real < 0.00101
            : f->type == SYN__FIELD_TEXT   ? !strcmp(text, "a text")
                                           : !strcmp(at, "adam"),
            "%s", line);
      syn__settings_end(&s);
    }
}

/* -- the text -- */

static void wrong(const char *settings, const char *message) {
  syn_context c;
  syn_model *m;
  heap h;
  context_on(&c, &h, 0);
  m = syn_model_with(&c, settings);
  CHECK(!m && c.status == SYN_E_VALUE && strstr(c.message, message), "%s: %s", settings, c.message);
  CHECK(!h.blocks, "%s: %ld blocks", settings, h.blocks);
}

#define TAG "task=tag; src_vocab=9; classes=3; d_model=8; heads=2; max_len=8; encoder="
/* The message ends without a suggestion: no name is near. */
static void nothing_near(const char *settings, const char *end) {
  syn_context c;
  syn_model *m;
  size_t n = strlen(end);
  syn_context_init(&c, NULL);
  m = syn_model_with(&c, settings);
  CHECK(!m && strlen(c.message) >= n && !strcmp(c.message + strlen(c.message) - n, end), "%s: %s", settings, c.message);
}

static void test_wrong(void) {
  char far[200];
  nothing_near("call=8", "there is no setting 'call'");
  nothing_near("task=translate", "regress or regress_rows");
  nothing_near(TAG "bananas(2)", "'bananas': no such layer");
  nothing_near(TAG "ff(3, hot)", "geglu, reglu");
  nothing_near(TAG "syn_att(hard)", "GLU, T");
  nothing_near(TAG "ff(quux=2)", "ff takes (i:n w:act f:dropout i:bias)");
  wrong("d_modl=8", "syn_model_with: there is no setting 'd_modl'; did you mean 'd_model'?");
  wrong("d_model=8; task=lm; d_model=8", "d_model is given twice");
  wrong("$n=3; $n=4", "$n is given twice");
  wrong("$n=x", "$n is 'x', wanted a number");
  wrong("d_model=8.5", "d_model is '8.5', wanted a whole number below 2^31");
  wrong("d_model=", "d_model is '', wanted");
  wrong("d_model=2147483648", "wanted a whole number");
  wrong("heads=4 d_model=8", "heads is '4 d_model=8', wanted a whole number below 2^31; a ; or a line end separates");
  wrong("seed=-1", "seed is '-1', wanted a whole number from 0");
  wrong("seed=18446744073709551616", "wanted a whole number from 0");
  wrong("dropout=0,1", "dropout is '0,1', wanted a number");
  wrong("dropout=1e39", "wanted a number");
  wrong("dropout=0.1.2", "wanted a number");
  wrong("task", "'task', wanted key=value");
  wrong("=lm", "'', wanted key=value");
  wrong("task=lm\n d_model # = 8", "'d_model', wanted key=value");
  wrong("decoder=\"ff(8); task=lm", "a text in quotes that does not end");
  wrong("task=\"lm\" decoder=ff", "has more behind it");
  wrong("task=lmm; decoder=ff(8)", "did you mean 'lm'");
  memset(far, 'x', sizeof far - 1), far[sizeof far - 1] = 0;
  wrong(far, "wanted key=value");
}

static void test_text(void) {
  static const char *const texts[] = {
      "task=lm; decoder=res(syn_att(R+V, heads=2)) -> ff($n); $n=8; d_model=8; max_len=8; tgt_vocab=9",
      "# a network; with a comment\r\n task = lm\r\n\r\ndecoder = res(syn_att(R+V, heads=2)) -> "
      "ff($n) # heads=2; n\r\n$n = 8.0\nd_model=8;;max_len=8 # the last\n;tgt_vocab=9 ",
      "decoder=\"res(syn_att(R+V, # two; kinds\n heads=2)) -> ff($n)\" ; task=\"lm\"# no more\n"
      "d_model=8\nmax_len=8\ntgt_vocab=9\n$n=8\nencoder=\ntie=\"\""};
  syn_context c;
  heap h;
  size_t i;
  context_on(&c, &h, 0);
  for (i = 0; i < 3; i++) {
    syn_model *m = syn_model_with(&c, texts[i]);
    const syn_config *k = syn_model_config(m);
    CHECK(m && k->d_model == 8 && k->max_len == 8 && k->tgt_vocab == 9 && !strcmp(k->task, "lm") &&
              syn_model_find(m, "decoder.1.w") && syn_model_find(m, "decoder.1.w")->shape[0] == 8,
          "%s: %s", texts[i], c.message);
    syn_model_free(m);
  }
  CHECK(!h.blocks, "%ld blocks", h.blocks);
  CHECK(!syn_model_with(&c, NULL) && c.status, "a model without settings");
  CHECK(!syn_run_with(&c, NULL, "sentences=1") && !syn_model_with(NULL, "task=lm"), "after an error");
  syn_context_clear(&c);
  CHECK(!syn_run_with(&c, NULL, "cut=left") && strstr(c.message, "wanted none, head, tail"), "%s",
        c.message);
  syn_context_clear(&c);
  CHECK(!syn_decoder_with(&c, NULL, NULL) && strstr(c.message, "no model"), "%s", c.message);
}

/* -- what is made -- */

static void test_made(void) {
  const char *network = "task=classify; encoder=res(syn_att(R+V)) -> norm; d_model=16; max_len=8;"
                        "src_vocab=20; classes=3; seed=7";
  syn_context *c = syn_context_with("threads=1; isa=scalar; not_finite=1"), *d;
  syn_model *m = syn_model_with(c, network), *lm;
  syn_trainer *t = syn_trainer_with(c, m, "optimizer=sgd\nlr=0.25\nsteps=77\nfreeze=src.embed");
  syn_run *r = syn_run_with(c, m, "sentences=1; src_rows=8; keep=1");
  syn_decoder *decoder;
  const syn_train_config *k = syn_trainer_config(t);
  CHECK(!strcmp(c->kernels->name, "scalar") && !strcmp(c->options.isa, "scalar") &&
            c->options.not_finite == 1, "%s", c->message);
  CHECK(t && r && !strcmp(k->optimizer, "sgd") && k->lr > 0.24f && k->lr < 0.26f &&
            k->steps == 77 && !strcmp(k->freeze, "src.embed") && !strcmp(k->schedule, "rsqrt"), "%s",
        c->message);
  lm = syn_model_with(c, "task=lm; decoder=res(syn_att(V)) -> norm; d_model=16; tgt_vocab=20");
  decoder = syn_decoder_with(c, lm, "beam=2; type=i8; max_len=5; alpha=-1");
  CHECK(decoder && decoder->config.beam == 2 && !strcmp(decoder->config.type, "i8") &&
            decoder->config.max_len == 5, "%s", c->message);
  syn_decoder_free(decoder);
  syn_model_free(lm);
  syn_run_free(r);
  syn_trainer_free(t);
  syn_model_free(m);
  syn_context_free(c);
  d = syn_context_with("thread=1");
  CHECK(syn_context_status(d) == SYN_E_VALUE &&
            strstr(syn_context_message(d), "did you mean 'threads'"), "%s", syn_context_message(d));
  syn_context_free(d);
  d = syn_context_with("isa=mmx");
  CHECK(syn_context_status(d) == SYN_E_VALUE && strstr(syn_context_message(d), "mmx"), "%s",
        syn_context_message(d));
  syn_context_free(d);
}

static void test_learn(void) {
  syn_text src[4], tgt[4];
  syn_context *c = syn_context_with(NULL);
  syn_model *m;
  int i;
  for (i = 0; i < 4; i++) {
    src[i] = syn_text_of(i % 2 ? "the sun is warm" : "the snow is cold");
    tgt[i] = syn_text_of(i % 2 ? "summer" : "winter");
  }
  m = syn_learn_with(c, "task=classify; src_tokenizer=space; tgt_tokenizer=line; steps=3; epochs=3;"
                        "encoder=res(syn_att(V)); d_model=8; heads=2; max_len=8; tie=none;"
                        "batch_tokens=50; optimizer=adam; lr=0.01; hold_back=0", src, tgt, 4);
  CHECK(m && syn_model_config(m)->classes == 2 && syn_model_config(m)->d_model == 8, "%s",
        syn_context_message(c));
  syn_model_free(m);
  syn_context_clear(c);
  CHECK(!syn_learn_with(c, "task=classify; tie=longer than eight", src, tgt, 4) &&
            strstr(syn_context_message(c), "wanted a shorter text"), "%s", syn_context_message(c));
  syn_context_free(c);
}

int main(void) {
  test_header();
  test_tables();
  test_values();
  test_wrong();
  test_text();
  test_made();
  test_learn();
  return CHECK_END("test_settings");
}
