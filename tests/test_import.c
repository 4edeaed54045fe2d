/* test_import.c   tools/import.h as a program of its own includes it: checkpoints that are no good
   are errors of the context, one behind the other in one process, without a byte that stays; a good
   one between them is imported. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* of tool.h */
#endif
#ifndef TEST_LINKED /* the Makefile links it to linked.c */
#define SYNTHESIZER_IMPLEMENTATION
#endif
#include "../synthesizer.h"

#include "check.h"
#include "heap.h"
#define TOOL_NAME "import"
#include "../tools/tool.h"
#include "../tools/text.h"
#include "../tools/options.h"
#include "../tools/json.h"
#include "../tools/token_files.h"
#include "../tools/import.h"

static void write_to(const char *path, const void *at, size_t size) {
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(at, 1, size, f) == size && !fclose(f), "cannot write %s", path);
}

/* llama2.c, version 0: width 4, hidden width 4, 1 layer, 2 heads, vocabulary 5, 8 places. */
static size_t llama2c(unsigned char out[2000]) {
  static const int head[7] = {4, 4, 1, 2, 2, 5, 8};
  const int count = 5 * 4 + 4 + 4 * 16 + 4 + 3 * 16 + 4 + 8 * 2 * 2 / 2;
  size_t size = 0;
  int i;
  for (i = 0; i < 7; i++, size += 4) {
    memset(out + size, 0, 4);
    out[size] = (unsigned char)head[i];
  }
  for (i = 0; i < count; i++, size += 4) {
    const float x = (float)(i % 7) * 0.25f - 0.5f;
    memcpy(out + size, &x, 4);
  }
  return size;
}

/* A file that is no checkpoint; what the message has in it. */
static void bad(const char *path, const char *wanted) {
  const tool_block *newest = tool_blocks.older;
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  CHECK(!syn_import(&c, path, NULL), "%s is imported", path);
  CHECK(c.status && strstr(c.message, wanted), "%s: status %d, '%s'", path, c.status, c.message);
  CHECK(!h.blocks, "%s: %ld blocks of the library stay", path, h.blocks);
  CHECK(tool_blocks.older == newest && !attempting, "%s: blocks of the import stay", path);
}

static void good(const char *path) {
  const tool_block *newest = tool_blocks.older;
  syn_model *m;
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  m = syn_import(&c, path, NULL);
  CHECK(m && !c.status, "%s: %s", path, c.message);
  CHECK(m && syn_model_find(m, "decoder.2.g") && syn_model_config(m)->d_model == 4, "another network");
  CHECK(tool_blocks.older == newest && !attempting, "blocks of the import stay");
  syn_model_free(m);
  CHECK(!h.blocks, "%ld blocks stay", h.blocks);
}

/* A context that has an error already imports nothing and keeps it. */
static void test_first_error(void) {
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  syn_import(&c, "nothing", NULL);
  CHECK(!syn_import(&c, "good.bin", NULL) && strstr(c.message, "nothing"), "'%s'", c.message);
}

/* Memory that runs out in the library at any of its calls. */
static void test_memory(void) {
  const tool_block *newest = tool_blocks.older;
  long at;
  syn_model *m = NULL;
  for (at = 1; at < 200 && !m; at++) {
    syn_context c;
    heap h;
    context_on(&c, &h, at);
    m = syn_import(&c, "good.bin", NULL);
    CHECK(m || (c.status == SYN_E_MEMORY && strstr(c.message, "memory")), "call %ld: '%s'", at, c.message);
    syn_model_free(m);
    CHECK(!h.blocks && tool_blocks.older == newest, "call %ld: blocks stay", at);
  }
  CHECK(at > 5 && m, "%ld calls", at);
}

int main(void) {
  static const char many[] = "GGUF\3\0\0\0\377\377\377\377\377\377\377\377";
  unsigned char bytes[2000];
  const size_t size = llama2c(bytes);
  int i;
  write_to("good.bin", bytes, size);
  write_to("cut.bin", bytes, size - 5);
  write_to("empty", bytes, 0);
  write_to("cut.gguf", many, sizeof many);
  write_to("pickle", "\200\2}q\0.", 6);
  write_to("archive.npz", "PK\3\4 and no directory", 22);
  write_to("config.json", "{\"model_type\": \"gpt2\", ", 23);
  for (i = 0; i < 2; i++) {
    bad("nothing", "nothing: a checkpoint is wanted");
    bad("empty", "empty: a checkpoint is wanted");
    bad("cut.bin", "cut.bin: 5 bytes are missing");
    bad("cut.gguf", "cut.gguf:");
    good("good.bin");
    bad("pickle", "pickle: this is a pickle of torch");
    bad("archive.npz", "archive.npz: this zip file has no directory");
    bad(".", "config.json");
  }
  good("good.bin");
  test_first_error();
  test_memory();
  return CHECK_END("import");
}
