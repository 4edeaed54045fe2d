/* quantize.h   a model file with smaller weights.
   A part of syn.c, which includes it behind embed.h. */

static int run_quantize(const arguments *a) {
  syn_context c;
  syn_model *m;
  context_open(&c, a);
  m = syn_model_load(&c, opt_text(a, "model"));
  check_file(&c, opt_text(a, "model"));
  syn_model_save_as(&c, m, opt_text(a, "type"), opt_text(a, "output"));
  check(&c);
  syn_model_free(m);
  return 0;
}
