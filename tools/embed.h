/* embed.h   a model as a C array. A part of syn.c, which includes it behind trace.h. */

/* The C identifier of a file name: "models/dates-2.h" gives dates_2, "my_model.h" gives my. */
static void embed_name(char *name, size_t capacity, const char *path) {
  const char *at = path;
  size_t n = 0;
  for (; *path; path++)
    if (*path == '/' || *path == '\\') at = path + 1;
  if (*at >= '0' && *at <= '9') name[n++] = '_';
  for (; *at && *at != '.' && n + 1 < capacity; at++) {
    int letter =
        (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
    name[n++] = letter ? *at : '_';
  }
  name[n] = 0;
  if (n > 6 && !strcmp(name + n - 6, "_model")) name[n - 6] = 0; /* the array is NAME_model */
  if (!n) snprintf(name, capacity, "small");
}

static int embed_bytes(const arguments *a) { return !strcmp(opt_text(a, "format"), "bin"); }

/* The array of a small model, as C or as its bytes. */
static void embed_small(syn_context *c, const syn_model *m, const arguments *a, const char *name,
                        buffer *out) {
  syn_small_config config;
  syn_small_options options;
  number_list numbers = {NULL, 0, 0};
  syn_sink sink;
  sink.write = trace_write;
  sink.user = out;
  memset(&options, 0, sizeof options);
  memset(&config, 0, sizeof config);
  options.tokenizers = !strcmp(opt_text(a, "tokenizers"), "yes");
  options.config = &config;
  options.type = strcmp(opt_text(a, "type"), "auto") ? opt_text(a, "type") : NULL;
  options.layout = opt_text(a, "layout");
  options.units = units_read(&numbers, m, a);
  config.source_len = opt_int(a, "source-len");
  config.max_len = opt_int(a, "max-len");
  config.beam = opt_int(a, "beam");
  config.top_k = opt_int(a, "top-k");
  config.best = opt_int(a, "best");
  config.temperature = !strcmp(opt_text(a, "sampling"), "yes");
  if (embed_bytes(a)) syn_small_write(c, m, &options, &sink);
  else syn_small_embed(c, m, &options, name, &sink);
  free(numbers.at);
}

/* The bytes of the model file. A union with a double aligns them to 8 bytes, so that weights of F32
   are used where they lie; compilers that can align them to a cache line. */
static void embed_file(const buffer *bytes, const char *name, buffer *out) {
  unsigned long id = (unsigned long)(syn_hash(SYN_HASH_START, bytes->at, bytes->size) >> 32);
  size_t i;
  put_format(out,
             "/* The model file %s for synthesizer.h:\n"
             "     syn_model *m = syn_model_view(&c, %s_model.bytes, sizeof %s_model.bytes);\n"
             "   Weights of F32 are read where they lie, others become floats in memory. */\n"
             "#ifndef %s_%08lx_H\n#define %s_%08lx_H\n"
             "static const union {\n  unsigned char bytes[%lu];\n  double align;\n} %s_model\n"
             "#if defined(__GNUC__)\n    __attribute__((aligned(64)))\n#endif\n    = {{",
             name, name, name, name, id, name, id, (unsigned long)bytes->size, name);
  for (i = 0; i < bytes->size; i++)
    put_format(out, "%s%u,", i % 24 ? "" : "\n", (unsigned)(unsigned char)bytes->at[i]);
  put_format(out, "\n}};\n#endif\n");
}

/* The file is read once: the bytes that are written are those that were checked. */
static int run_embed(const arguments *a) {
  const char *path = opt_text(a, "output"), *model = opt_text(a, "model");
  char name[41];
  syn_context c;
  buffer out = {NULL, 0, 0}, bytes;
  syn_model *m;
  context_open(&c, a);
  bytes = read_file(model);
  m = syn_model_view(&c, bytes.at, bytes.size);
  check_file(&c, model);
  embed_name(name, sizeof name, *opt_text(a, "name") ? opt_text(a, "name") : path);
  if (embed_bytes(a)) say_idle(a, "name|source-len|max-len|beam|sampling|top-k|best", "--format bin");
  if (!strcmp(opt_text(a, "layout"), "file")) {
    if (embed_bytes(a)) fail(WRONG_USE, "embed --format bin: --layout file is the model file itself");
    say_idle(a, "type|tokenizers|units|source-len|max-len|beam|sampling|top-k|best",
             "--layout file writes the bytes of the model");
    embed_file(&bytes, name, &out);
  } else {
    if (!strcmp(opt_text(a, "sampling"), "no")) say_idle(a, "top-k", "there is no --sampling yes");
    embed_small(&c, m, a, name, &out);
  }
  check(&c);
  write_file(path, out.at, out.size);
  free(out.at);
  syn_model_free(m);
  free(bytes.at);
  return 0;
}
