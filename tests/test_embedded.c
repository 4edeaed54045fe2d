/* Two embedded models in one program, one of them included twice: both give their answers. */
#include "../examples/embedded/dates_model.h"
#include "../examples/embedded/commands_model.h"
#include "../examples/embedded/dates_model.h"
#include "../examples/embedded/dates_text.h"
#include "../examples/embedded/commands_text.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
#include "../synthesizer.h" /* not implemented again */
#include "../examples/embedded/dates_model.h"

#include "check.h"
#include <string.h>

/* `best`: as the array was written for, `syn embed --best` */
static void answers(const int32_t *model, size_t size, int best, long planned, const char *sentence,
                    const char *wanted) {
  syn_small_config config = {0, 0, 0, 0.0f, 0.0f, 0, 0.0f, 0, 0, 0};
  long bytes;
  void *ram;
  int ids[64], out[64], error = 0, count = 0, token = SYN_SMALL_MORE, n = 0;
  char text[100] = "";
  syn_text given;
  syn_small *s;
  config.best = best;
  bytes = syn_small_ram(model, size, &config);
  ram = malloc(bytes > 0 ? (size_t)bytes : 1);
  s = syn_small_open(ram, bytes > 0 ? (size_t)bytes : 0, model, size, &config, &error);
  CHECK(bytes == planned && s, "%s: %ld bytes of RAM, wanted %ld, error %d", wanted, bytes, planned,
        error);
  given.at = sentence;
  given.size = strlen(sentence);
  if (s) count = syn_small_encode(s, given, ids, 64);
  if (s) CHECK(count > 0 && !syn_small_source(s, ids, count), "%s: %d tokens", wanted, count);
  while (s && n < 64 && (token = syn_small_step(s, 100000)) >= SYN_SMALL_MORE)
    if (token >= 0) out[n++] = token;
  if (s) syn_small_decode(s, out, n, text, sizeof text);
  CHECK(token == SYN_SMALL_END && !strcmp(text, wanted), "'%s': '%s', wanted '%s'", sentence, text,
        wanted);
  free(ram);
}

int main(void) {
  answers(dates_model, sizeof dates_model, 0, dates_RAM, dates_SENTENCE, dates_ANSWER);
  answers(commands_model, sizeof commands_model, 1, commands_RAM, commands_SENTENCE, commands_ANSWER);
  return CHECK_END("embedded");
}
