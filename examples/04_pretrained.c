/* 04   A network of somebody else: its answer as it is made, or the nearest lines of a file

   Idea: `syn import FOLDER -o model.safetensors` makes a model file of a published checkpoint,
   which a program loads as any other. With a file of lines, their vectors are compared with that
   of the text by their cosine.
   Compile:  cc -O2 examples/04_pretrained.c -o pretrained -lm
   Run:      ./pretrained model.safetensors "Once upon a time"    (and lines.txt behind it)
   Expected: tests/expected/04.txt without arguments */

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
static int show(void *user, syn_text piece) { /* as it is chosen; not 0: stop */
  (void)user;
  printf("%.*s", (int)piece.size, piece.at);
  return fflush(stdout);
}

static void answer(syn_context *c, const syn_model *m, const char *prompt) {
  syn_decode_config how;
  syn_decoder *d;
  memset(&how, 0, sizeof how);
  how.temperature = 0.8f;
  how.top_p = 0.9f;
  d = syn_decoder_new(c, m, &how);
  if (!strcmp(syn_model_config(m)->task, "lm"))
    syn_decoder_run_text(d, syn_text_of(""), syn_text_of(prompt), show, NULL);
  else
    syn_decoder_run_text(d, syn_text_of(prompt), syn_text_of(""), show, NULL);
  printf("\n");
  syn_decoder_free(d);
}

static double cosine(const float *x, const float *y, int n) {
  double xy = 0.0, xx = 1e-30, yy = 1e-30;
  int i;
  for (i = 0; i < n; i++) {
    xy += (double)(x[i] * y[i]);
    xx += (double)(x[i] * x[i]);
    yy += (double)(y[i] * y[i]);
  }
  return xy / sqrt(xx * yy);
}

static void nearest_lines(syn_context *c, const syn_model *m, const char *text, FILE *lines) {
  syn_limits limits;
  syn_run *r;
  char line[4096];
  float *x, *y;
  int n;
  memset(&limits, 0, sizeof limits);
  limits.cut = SYN_CUT_TAIL;
  r = syn_run_new(c, m, &limits);
  n = syn_embed(r, syn_text_of(text), SYN_VECTOR_MEAN, NULL, 0); /* the width alone */
  x = (float *)calloc(n > 0 ? 2 * (size_t)n : 1, sizeof *x);
  y = x + (n > 0 ? n : 0);
  if (x && syn_embed(r, syn_text_of(text), SYN_VECTOR_MEAN, x, n) == n)
    while (fgets(line, sizeof line, lines)) {
      line[strcspn(line, "\r\n")] = 0;
      if (syn_embed(r, syn_text_of(line), SYN_VECTOR_MEAN, y, n) != n) break;
      printf("%.3f  %s\n", cosine(x, y, n), line); /* ./pretrained ... | sort -r | head */
    }
  free(x);
  syn_run_free(r);
}

int main(int argc, char **argv) {
  syn_context c;
  syn_model *m;
  FILE *lines = argc > 3 ? fopen(argv[3], "r") : NULL;
  if (argc < 3) return puts("pretrained MODEL PROMPT, or pretrained MODEL TEXT LINES"), 0;
  if (argc > 3 && !lines) return fprintf(stderr, "cannot open %s\n", argv[3]), 1;
  syn_context_init(&c, NULL);
  m = syn_model_load(&c, argv[1]);
  if (m && lines) nearest_lines(&c, m, argv[2], lines);
  else if (m) answer(&c, m, argv[2]);
  if (lines) fclose(lines);
  syn_model_free(m);
  if (c.status) fprintf(stderr, "%s\n", c.message);
  return c.status != SYN_OK;
}
