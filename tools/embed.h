/* embed.h   a model as a C array. A part of syn.c, which includes it behind data.h. */

static size_t embed_write(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, (FILE *)user);
}

/* The C identifier of a file name: "models/dates-2.h" gives dates_2. */
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
  if (!n) snprintf(name, capacity, "small");
}

static int run_embed(const arguments *a) {
  const char *path = opt_text(a, "output");
  char name[41];
  syn_small_config config;
  syn_small_options options;
  syn_context c;
  syn_model *m;
  syn_sink sink;
  FILE *f;
  context_open(&c, a);
  m = syn_model_load(&c, opt_text(a, "model"));
  check(&c);
  f = fopen(path, "w");
  if (!f) fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
  sink.write = embed_write;
  sink.user = f;
  embed_name(name, sizeof name, *opt_text(a, "name") ? opt_text(a, "name") : path);
  memset(&options, 0, sizeof options);
  memset(&config, 0, sizeof config);
  options.tokenizers = !strcmp(opt_text(a, "tokenizers"), "yes");
  options.config = &config;
  options.type = opt_text(a, "type");
  options.layout = opt_text(a, "layout");
  config.source_len = opt_int(a, "source-len");
  config.max_len = opt_int(a, "max-len");
  config.beam = opt_int(a, "beam");
  config.top_k = opt_int(a, "top-k");
  config.temperature = !strcmp(opt_text(a, "sampling"), "yes");
  syn_small_embed(&c, m, &options, name, &sink);
  if (fclose(f) && c.status == SYN_OK)
    fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
  if (c.status != SYN_OK) remove(path);
  check(&c);
  syn_model_free(m);
  return 0;
}
