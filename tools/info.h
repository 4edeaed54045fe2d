/* info.h   the commands info and presets: cost of a network, the networks of the papers.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* ==============================================================================================
   >>tool info   parameters, multiply-adds and memory of a network
   ============================================================================================== */

typedef struct description {
  const syn_model *m;
  unsigned char *seen; /* [parameters] 1: counted already; a tied table counts once */
  int length, json, quiet;
  syn_cost sum[2]; /* of encoder and decoder */
} description;

/* Parameters of a layer, without those that an earlier layer shares. */
static double info_parameters(description *d, const syn_node *n) {
  double sum = 0.0;
  int i;
  for (i = 0; i < n->n_param; i++) {
    if (!d->seen[n->param[i]]) sum += (double)syn_model_param(d->m, (size_t)n->param[i])->size;
    d->seen[n->param[i]] = 1;
  }
  return sum;
}

static void info_row(const description *d, const char *path, const char *kind, const syn_cost *k) {
  if (d->json)
    printf("{\"layer\":\"%s\",\"kind\":\"%s\",\"parameters\":%.0f,\"bytes\":%.0f,"
           "\"multiply_adds\":%.0f,\"decode_bytes\":%.0f}\n", path, kind, k->parameters,
           4.0 * k->parameters, k->multiply_adds, k->decode_bytes);
  else
    printf("%-24s %-14s %12.0f %13.0f %12.0f %13.0f\n", path, kind, k->parameters,
           4.0 * k->parameters, k->multiply_adds, k->decode_bytes);
}

/* Prints a layer and adds its cost. Operations without a cost (the sum of a `res`) are not
   shown. */
static void info_layer(description *d, const syn_node *n) {
  syn_cost k = syn_model_cost(d->m, n, d->length);
  int encodes = strncmp(n->path, "encoder", 7) == 0;
  syn_cost *sum = &d->sum[!encodes];
  k.parameters = info_parameters(d, n);
  sum->parameters += k.parameters;
  sum->multiply_adds += k.multiply_adds;
  sum->decode_bytes += k.decode_bytes;
  if (!d->quiet && (k.parameters > 0.0 || k.multiply_adds > 0.0 || k.decode_bytes > 0.0))
    info_row(d, n->path, n->kind->name, &k);
}

static void info_layers(description *d) {
  size_t i;
  d->seen = (unsigned char *)take(syn_model_param_count(d->m), 1);
  for (i = 0; i < syn_model_node_count(d->m); i++) info_layer(d, syn_model_node(d->m, i));
  free(d->seen);
}

/* The cost of encoder and decoder, without printing. The model needs no weights. */
static void info_sums(const syn_model *m, int length, syn_cost sum[2]) {
  description d;
  memset(&d, 0, sizeof d);
  d.m = m;
  d.length = length;
  d.quiet = 1;
  info_layers(&d);
  memcpy(sum, d.sum, sizeof d.sum);
}

/* The sum of encoder and decoder: one source token and one target token. */
static syn_cost info_total(const syn_cost sum[2]) {
  syn_cost total = sum[0];
  total.parameters += sum[1].parameters;
  total.multiply_adds += sum[1].multiply_adds;
  total.decode_bytes += sum[1].decode_bytes;
  return total;
}

static void info_bytes(const description *d, const char *name, const char *what, size_t bytes) {
  if (d->json) printf("{\"memory\":\"%s\",\"bytes\":%lu}\n", name, (unsigned long)bytes);
  else printf("%-12s %10.2f MiB %s\n", name, (double)bytes / 1048576.0, what);
}

/* Bytes of the weights in the file, by type. In memory all are floats. */
static void info_types(const description *d) {
  static const char *const types[] = {"f32", "f16", "bf16", "i8", "i4"};
  static const char *const parts[] = {"", ".scale", ".group"}; /* tensors of one parameter */
  const syn_file *f = syn_model_file(d->m);
  size_t t, i, k;
  for (t = 0; t < COUNT(types) && f; t++) {
    size_t bytes = 0;
    char name[2000], what[100];
    for (i = 0; i < syn_model_param_count(d->m); i++) {
      const syn_param *p = syn_model_param(d->m, i);
      for (k = 0; k < COUNT(parts) && !strcmp(p->type, types[t]); k++) {
        const syn_entry *e;
        snprintf(name, sizeof name, "%s%s", p->name, parts[k]);
        e = syn_file_find(f, name);
        if (e && (!k || !syn_model_find(d->m, name))) bytes += e->bytes;
      }
    }
    snprintf(what, sizeof what, "of the file, %s", types[t]);
    snprintf(name, sizeof name, "file_%s", types[t]);
    if (bytes) info_bytes(d, name, what, bytes);
  }
}

/* Prints the memory plan of training and decoding, computed from the configuration. */
static void info_plan(const description *d, syn_context *c, const arguments *a) {
  syn_train_config train;
  syn_decode_config decode_as;
  syn_plan plan;
  char what[100];
  memset(&train, 0, sizeof train);
  memset(&decode_as, 0, sizeof decode_as);
  train.batch_tokens = opt_int(a, "batch");
  decode_as.beam = opt_int(a, "beam");
  syn_plan_of(c, syn_model_config(d->m), &train, &decode_as, &plan);
  check_use(c);
  info_bytes(d, "weights", "float32", plan.weights);
  info_bytes(d, "training", "gradients and moments, beside the weights", plan.training);
  snprintf(what, sizeof what, "of one training step with --batch %d", opt_int(a, "batch"));
  info_bytes(d, "activations", what, plan.activations);
  snprintf(what, sizeof what, "one sentence with --beam %d", opt_int(a, "beam"));
  if (!plan.decoding) return;
  info_bytes(d, "decoding", what, plan.decoding);
  info_bytes(d, "packed", "weights and decoding in a process that only decodes: syn run",
             plan.packed);
}

static void info_facts(const description *d) {
  const syn_config *k = syn_model_config(d->m);
  int reads = strcmp(k->task, "lm") != 0;
  int writes = !reads || strcmp(k->task, "seq2seq") == 0;
  if (d->json) return;
  printf("task %s, d_model %d, heads %d, max_len %d", k->task, k->d_model, k->heads, k->max_len);
  if (k->src_features) printf(", src_features %d", k->src_features);
  else if (reads) printf(", src_vocab %d", k->src_vocab);
  if (writes) printf(", tgt_vocab %d", k->tgt_vocab);
  else if (strncmp(k->task, "regress", 7) == 0) printf(", outputs %d", k->outputs);
  else printf(", classes %d", k->classes);
  printf(", tie %s\n", k->tie);
  if (reads) printf("encoder %s\n", k->encoder);
  if (writes) printf("decoder %s\n", k->decoder);
  printf("\n%-24s %-14s %12s %13s %12s %13s\n", "layer", "kind", "parameters", "bytes", "mult-adds",
         "decode bytes");
}

/* Refuses options of a network beside --model. */
static void info_alone(const arguments *a) {
  static const char *const names[] = {"preset", "task", "encoder", "decoder", "var", "tie",
                                      "d-model", "heads", "max-len", "src-vocab", "tgt-vocab",
                                      "classes"};
  size_t i;
  for (i = 0; i < COUNT(names); i++)
    if (opt_given(a, names[i]))
      fail(WRONG_USE, "%s wants either --model or the options of a network, given: both, --%s",
           a->command->name, names[i]);
}

/* The model of --model, or a model made from the options. The latter has no memory for weights, so
   a network of many gigabytes can be described on any machine; with --board it has. */
static syn_model *info_model(syn_context *c, const arguments *a) {
  const char *path = opt_text(a, "model");
  network n;
  syn_model *m;
  if (*path) {
    info_alone(a);
    m = syn_model_load(c, path);
    check_file(c, path);
    return m;
  }
  n = network_of(a);
  n.config.src_vocab = opt_int(a, "src-vocab");
  n.config.outputs = 1;
  n.config.tgt_vocab = opt_int(a, "tgt-vocab");
  n.config.classes = opt_int(a, "classes");
  m = *opt_text(a, "board") ? syn_model_new(c, &n.config) : syn_model_outline(c, &n.config, NULL);
  check_use(c);
  network_free(&n);
  return m;
}

static int run_info(const arguments *a) {
  syn_context c;
  description d;
  syn_model *m;
  syn_cost total;
  const board *b = NULL;
  board_need need;
  context_open(&c, a);
  memset(&need, 0, sizeof need);
  if (*opt_text(a, "board")) b = board_find(opt_text(a, "board"));
  if (!b) say_idle(a, "type|best", "there is no --board");
  m = info_model(&c, a);
  if (b) need = info_need(&c, m, b, a); /* a model that is not for boards ends here */
  memset(&d, 0, sizeof d);
  d.m = m;
  d.json = opt_flag(a, "json");
  d.length = opt_int(a, "length") ? opt_int(a, "length") : syn_model_config(m)->max_len;
  info_facts(&d);
  info_layers(&d);
  total = info_total(d.sum);
  if (d.sum[0].parameters > 0.0) info_row(&d, "encoder", "total", &d.sum[0]);
  if (d.sum[0].parameters > 0.0) info_row(&d, "decoder", "total", &d.sum[1]);
  info_row(&d, "all", "total", &total);
  if (!d.json)
    printf("mult-adds: per token of sentences of %d, source and target; decode bytes: kept per\n"
           "token decoded, by attention to the source per token of the source\n\n", d.length);
  info_types(&d);
  info_plan(&d, &c, a);
  if (b) board_print(b, d.json, &need);
  syn_model_free(m);
  return 0;
}

/* ==============================================================================================
   >>tool presets   the networks of the papers, by name
   ============================================================================================== */

/* A preset is a list of options that is put before the given ones, so that given options win. Sizes
   are those of the source, or of the base Transformer where the source has none. Norms stand before
   the layers (pre-norm, res_nd), as in the authors' later code; Vaswani et al. 2017 print
   post-norm. Of Tay et al., whose tables have other numbers in each version, tables are named by
   what they measure.
   Each network in a table of the papers is a preset, but for those of Vaswani's rows B: d_k differs
   from d_v there, and syn_att has one width c. Rows that differ in the training alone are options:
   Vaswani's rows D are --dropout 0 and 0.2, --label-smoothing 0 and 0.2. */

typedef struct preset {
  const char *name, *task, *encoder, *decoder; /* null: not for this task */
  const char *d_model, *heads, *max_len, *vocabulary, *tie;
  const char *source, *what;
} preset;

/* The variables of the texts of Domhan 2018. */
static const char *const preset_vars[] = {"FF_NUM_HIDDEN=2048", "NUM_HIDDEN=512"};

#define READS(att) "pos->repeat(6,res_nd(" att ")->res_nd(ffl))->norm"
#define WRITES(att) "pos->repeat(6,res_nd(" att ")->res_nd(mh_dot_att)->res_nd(ffl))->norm"
#define SIZE_BASE "512", "8", "256", "37000", "all"
#define SIZE_BIG "1024", "16", "256", "37000", "all"

/* Rows of the ablation of Vaswani et al. 2017. */
#define VASWANI_LAYERS(pos, n, ffl) \
  pos "->repeat(" n ",res_nd(mh_dot_self_att)->res_nd(" ffl "))->norm", \
  pos "->repeat(" n ",res_nd(mh_dot_self_att)->res_nd(mh_dot_att)->res_nd(" ffl "))->norm"
#define VASWANI_ROW(name, layers, d, heads, what) \
  {name, "seq2seq", layers, d, heads, "256", "37000", "all", "Vaswani et al. 2017, table 3", what}
#define VASWANI(name, n, ffl, d, heads, what) \
  VASWANI_ROW(name, VASWANI_LAYERS("pos", n, ffl), d, heads, what)

#define SYNTHESIZER_ROW(name, att, heads, source, what) \
  {name, "seq2seq", READS(att), WRITES(att), "512", heads, "256", "37000", "all", source, what}
#define SYNTHESIZER(name, row, what) \
  SYNTHESIZER_ROW(name, "syn_att(" row ")", "8", \
                  "Tay et al. 2021, translation, summaries", row ": " what)
#define SYNTHESIZER_2020(name, att, what) \
  SYNTHESIZER_ROW(name, att, "8", "Tay et al. 2020, further kinds", what)
#define SYNTHESIZER_HEADS(name, heads) \
  SYNTHESIZER_ROW(name, "syn_att(R)", heads, "Tay et al. 2021, heads of R", heads " heads")
/* tensor2tensor's small Transformer. */
#define SYNTHESIZER_DIALOGUE(name, row) \
  {name, "seq2seq", "pos->repeat(2,res_nd(syn_att(" row "))->res_nd(ffl))->norm", \
   "pos->repeat(2,res_nd(syn_att(" row "))->res_nd(mh_dot_att)->res_nd(ffl))->norm", "256", "4", \
   "256", "32000", "all", "Tay et al. 2021, dialogue", row}
#define SYNTHESIZER_LM(name, row) \
  {name, "lm", NULL, READS("syn_att(" row ")"), "512", "8", "256", "32000", "none", \
   "Tay et al. 2021, language model", row}

/* Classifiers of the comparison with Linformer; k is 32 in both. */
#define SYNTHESIZER_READS(name, att, what) \
  {name, "classify", READS(att), NULL, "512", "8", "256", "32000", "none", \
   "Tay et al. 2021, encoders beside Linformer", what}

/* c = 128: the published code has 8 heads of width 128 in every Synthesizer layer, and T5-base's 12
   heads of width 64 in cross-attention. With these the parameter counts are those of its table. */
#define T5_READS(att) \
  "dropout->rel_pos->repeat(12,res(rms_norm->" att ")->res(rms_norm->ffl))->rms_norm->dropout"
#define T5_WRITES(att) \
  "dropout->rel_pos->repeat(12,res(rms_norm->" att ")->res(rms_norm->mh_dot_att(12))" \
  "->res(rms_norm->ffl))->rms_norm->dropout"
#define T5(name, att, heads, source, what) \
  {name, "seq2seq", T5_READS(att), T5_WRITES(att), "768", heads, "512", "32128", "all", source, \
   what}
#define T5_SYNTHESIZER(name, att, what) \
  T5(name, att, "8", "Tay et al. 2021, C4, GLUE, SuperGLUE", what)
#define T5_CONV(name, conv, what) \
  T5(name, conv, "12", "Tay et al. 2021, C4", what)

#define CONV_BLOCK(conv) "res_nd(" conv ")->res_nd(ffl)"
#define CONV_WRITES(conv) "res_nd(" conv ")->res_nd(mh_dot_att)->res_nd(ffl)"
#define CONVS(name, conv, what) \
  {name, "seq2seq", \
   "pos->" CONV_BLOCK(conv "(3)") "->" CONV_BLOCK(conv "(7)") "->" CONV_BLOCK(conv "(15)") \
   "->repeat(4," CONV_BLOCK(conv "(31)") ")->norm", \
   "pos->" CONV_WRITES(conv "(3)") "->" CONV_WRITES(conv "(7)") "->" CONV_WRITES(conv "(15)") \
   "->repeat(3," CONV_WRITES(conv "(31)") ")->norm", SIZE_BIG, \
   "Wu et al. 2019, WMT English to German", what}

#define AOP(name, att, what) \
  {name, "seq2seq", "pos->repeat(6,res_nd(mh_dot_self_att)->res_nd(" att "))->norm", \
   "pos->repeat(6,res_nd(mh_dot_self_att)->res_nd(mh_dot_att)->res_nd(" att "))->norm", SIZE_BASE, \
   "Vaswani et al. 2017, appendix of the first arXiv versions", what}

/* The networks of Domhan 2018. Where its texts end a branch with a layer that has dropout of its
   own, res(norm -> X) is res_nd(X) and res(X) is res_d(X). Its training ties all embeddings.
   Without a norm (CNN GLU, CNN ReLU) a residual layer makes the stream larger, so the loss begins
   far above that of a guess and takes some hundred updates to fall below it. */
#define DOMHAN_FFL "res_nd(ff($FF_NUM_HIDDEN)->linear)"
#define DOMHAN_ATT "->res_nd(mh_dot_att)"
#define DOMHAN_ONE "->res_nd(mh_dot_att(heads=1))"
#define DOMHAN_RELU "cnn($NUM_HIDDEN,3,relu)"
#define DOMHAN_SIX(block) "pos->repeat(6," block ")->norm"
#define DOMHAN_BLOCK(layer) "res_nd(" layer ")" DOMHAN_ATT "->" DOMHAN_FFL
#define DOMHAN_READS(layer) DOMHAN_SIX("res_nd(" layer ")->" DOMHAN_FFL)
#define DOMHAN_WRITES(layer) DOMHAN_SIX(DOMHAN_BLOCK(layer))
#define DOMHAN_FROM(source) \
  DOMHAN_SIX("res_nd(mh_dot_self_att)->res_nd(mh_dot_att(source=" source "))->" DOMHAN_FFL)
#define DOMHAN_SELF DOMHAN_READS("mh_dot_self_att")
#define DOMHAN_RNN(start) start "->res_d(birnn)->repeat(5,res_d(rnn))"
#define DOMHAN_RNN_WRITES(start, att) \
  start "->repeat(6,res_d(rnn))->res_d(" att ")->res_d(ff($FF_NUM_HIDDEN)->linear)"
#define DOMHAN_RNN_NORM "pos->res_nd(birnn)->repeat(5,res_nd(rnn))->norm"
#define DOMHAN_RNN_ATT(att) "pos->repeat(6,res_nd(rnn)" att ")->" DOMHAN_FFL "->norm"
#define DOMHAN_RNN_FF \
  "pos->res_nd(birnn)->" DOMHAN_FFL "->repeat(5,res_nd(rnn)->" DOMHAN_FFL ")->norm"
#define DOMHAN(name, reads, writes, where, what) \
  {name, "seq2seq", reads, writes, "512", "8", "128", "32000", "all", "Domhan 2018, " where, what}

static const preset presets[] = {
    {"transformer", "seq2seq", READS("mh_dot_self_att"), WRITES("mh_dot_self_att"), SIZE_BASE,
     "Vaswani et al. 2017, table 3", "base; paper: 65 M. V of Tay et al. 2021: 67 M"},
    {"transformer-big", "seq2seq", READS("mh_dot_self_att"), WRITES("mh_dot_self_att"), SIZE_BIG,
     "Vaswani et al. 2017, table 3", "big; paper: 213 M"},
    VASWANI("transformer-1-head", "6", "ffl", "512", "1", "row A, 1 head"),
    VASWANI("transformer-4-heads", "6", "ffl", "512", "4", "row A, 4 heads"),
    VASWANI("transformer-16-heads", "6", "ffl", "512", "16", "row A, 16 heads"),
    VASWANI("transformer-32-heads", "6", "ffl", "512", "32", "row A, 32 heads"),
    VASWANI("transformer-2-layers", "2", "ffl", "512", "8", "row C, 2 layers; paper: 36 M"),
    VASWANI("transformer-4-layers", "4", "ffl", "512", "8", "row C, 4 layers; paper: 50 M"),
    VASWANI("transformer-8-layers", "8", "ffl", "512", "8", "row C, 8 layers; paper: 80 M"),
    VASWANI("transformer-256", "6", "ffl(2048)", "256", "8", "row C, width 256; paper: 28 M"),
    VASWANI("transformer-1024", "6", "ffl(2048)", "1024", "8", "row C, width 1024; paper: 168 M"),
    VASWANI("transformer-ff-1024", "6", "ffl(1024)", "512", "8",
            "row C, 1024 hidden units; paper: 53 M"),
    VASWANI("transformer-ff-4096", "6", "ffl(4096)", "512", "8",
            "row C, 4096 hidden units; paper: 90 M"),
    VASWANI_ROW("transformer-learn-pos", VASWANI_LAYERS("learn_pos", "6", "ffl"), "512", "8",
                "row E, learned positions"),
    {"transformer-parsing", "seq2seq", VASWANI_LAYERS("pos", "4", "ffl"), "1024", "16", "512",
     "16000", "all", "Vaswani et al. 2017, table 4", "constituency parsing, trained on WSJ alone"},
    AOP("aop1", "aop(8,1536,64,64)", "attention over parameters for the feed-forward layers"),
    AOP("aop2", "aop(16,512,64,64)", "the same, more heads of fewer keys"),
    SYNTHESIZER("synthesizer-r", "R", "a learned matrix per head; paper: 67 M"),
    SYNTHESIZER("synthesizer-fix", "Fix", "a random matrix that is never trained; paper: 61 M"),
    SYNTHESIZER("synthesizer-fr", "FR", "a learned matrix of rank 8"),
    SYNTHESIZER("synthesizer-d", "D", "scores from each token alone; paper: 62 M"),
    SYNTHESIZER("synthesizer-fd", "FD", "the same, factorized"),
    SYNTHESIZER("synthesizer-r+d", "R+D", "mixture; paper: 67 M"),
    SYNTHESIZER("synthesizer-r+v", "R+V", "mixture with queries and keys; paper: 73 M"),
    SYNTHESIZER("synthesizer-d+v", "D+V", "mixture with queries and keys; paper: 74 M"),
    SYNTHESIZER_2020("synthesizer-fr+v", "syn_att(FR+V)", "mixture with queries and keys"),
    SYNTHESIZER_2020("synthesizer-bd", "syn_att(BD)", "D with a narrow hidden layer"),
    SYNTHESIZER_2020("synthesizer-conv", "syn_att(Conv)", "scores by a convolution"),
    SYNTHESIZER_2020("synthesizer-crc", "syn_att(CRC)", "by two, relu between, 3 tokens each"),
    SYNTHESIZER_2020("synthesizer-crc-5", "syn_att(CRC,f=5)", "by two, 5 tokens each"),
    SYNTHESIZER_2020("synthesizer-bcrc", "syn_att(BCRC)", "by two, a narrow layer between"),
    SYNTHESIZER_2020("synthesizer-glu", "syn_att(GLU)", "by a gated linear unit"),
    SYNTHESIZER_HEADS("synthesizer-r-2", "2"),
    SYNTHESIZER_HEADS("synthesizer-r-4", "4"),
    SYNTHESIZER_HEADS("synthesizer-r-16", "16"),
    SYNTHESIZER_HEADS("synthesizer-r-32", "32"),
    SYNTHESIZER_DIALOGUE("synthesizer-dialogue-v", "V"),
    SYNTHESIZER_DIALOGUE("synthesizer-dialogue-r", "R"),
    SYNTHESIZER_DIALOGUE("synthesizer-dialogue-d", "D"),
    SYNTHESIZER_DIALOGUE("synthesizer-dialogue-r+v", "R+V"),
    SYNTHESIZER_DIALOGUE("synthesizer-dialogue-d+v", "D+V"),
    SYNTHESIZER_LM("synthesizer-lm-v", "V"),
    SYNTHESIZER_LM("synthesizer-lm-fix", "Fix"),
    SYNTHESIZER_LM("synthesizer-lm-r", "R"),
    SYNTHESIZER_LM("synthesizer-lm-fr", "FR"),
    SYNTHESIZER_LM("synthesizer-lm-d", "D"),
    SYNTHESIZER_LM("synthesizer-lm-fd", "FD"),
    SYNTHESIZER_LM("synthesizer-lm-r+d", "R+D"),
    SYNTHESIZER_LM("synthesizer-lm-d+v", "D+V"),
    SYNTHESIZER_LM("synthesizer-lm-r+v", "R+V"),
    SYNTHESIZER_READS("encoder-v", "syn_att(V)", "the Transformer"),
    SYNTHESIZER_READS("encoder-linformer", "linformer(k=32)", "Linformer"),
    SYNTHESIZER_READS("encoder-fr", "syn_att(FR,k=32)", "FR"),
    SYNTHESIZER_READS("encoder-fr+v", "syn_att(FR+V,k=32)", "FR+V"),
    T5("t5", "mh_dot_self_att", "12", "Raffel et al. 2020, base",
       "relative positions, rms norm. V of Tay et al. 2021: 223 M"),
    T5_SYNTHESIZER("t5-synthesizer-r", "syn_att(R,c=128)", "paper: 254 M"),
    T5_SYNTHESIZER("t5-synthesizer-r+v", "syn_att(R+V,c=128)", "paper: 292 M"),
    T5_SYNTHESIZER("t5-synthesizer-d", "syn_att(D,c=128,shared=1)", "paper: 224 M"),
    T5_SYNTHESIZER("t5-synthesizer-d+v", "syn_att(D+V,c=128,shared=1)", "paper: 243 M"),
    T5_CONV("t5-light-conv", "light_conv", "lightweight convolution, window of 7 tokens"),
    T5_CONV("t5-dyn-conv", "dyn_conv", "dynamic convolution, window of 7; paper: 257 M"),
    {"gpt", "lm", NULL,
     "learn_pos->repeat(12,res_nd(syn_att(V))->res_nd(ffl(act=gelu)))->norm", "768", "12", "1024",
     "50257", "out", "Radford et al. 2019, 124 M", "language model"},
    {"universal", "seq2seq", "universal(6,res_nd(mh_dot_self_att)->res_nd(ffl))->norm",
     "universal(6,res_nd(mh_dot_self_att)->res_nd(mh_dot_att)->res_nd(ffl))->norm", SIZE_BIG,
     "Dehghani et al. 2019, base", "one block, six times"},
    CONVS("light-conv", "light_conv", "one softmax of taps per head"),
    CONVS("dyn-conv", "dyn_conv", "taps made from each token"),
    {"linformer", "classify",
     "learn_pos->repeat(12,res_nd(linformer(k=128))->res_nd(ffl(act=gelu)))->norm", NULL, "768",
     "12", "512", "50265", "auto", "Wang et al. 2020", "keys and values of length 128"},
    {"fixed-encoder", "seq2seq", READS("fixed_att"), WRITES("mh_dot_self_att"), SIZE_BASE,
     "Raganato et al. 2020", "seven fixed heads and one learned one read"},
    DOMHAN("rnmt", "dropout->birnn->repeat(5,res_d(rnn))",
           "input_feed->linear($NUM_HIDDEN)->dropout->repeat(6,res_d(rnn))->concat(id|mlp_att)"
           "->ff($NUM_HIDDEN)", "table 3", "RNMT, input feeding"),
    DOMHAN("rnmt-no-feeding", "dropout->birnn->repeat(5,res_d(rnn))",
           "dropout->repeat(6,res_d(rnn))->concat(id|mlp_att)->ff($NUM_HIDDEN)", "table 3",
           "RNMT without input feeding"),
    /* Learned positions (Gehring et al. 2017, section 3.1): with sinusoids and x sqrt(d), the
       scores, which no norm bounds and s=1 does not lower, saturate the softmax from the start. */
    DOMHAN("convs2s", "learn_pos->repeat(6,res(cnn(glu)))",
           "learn_pos->repeat(6,res(dropout->cnn(glu)->dropout->res(dot_src_att(s=1))))",
           "table 4", "ConvS2S of Gehring et al. 2017"),
    DOMHAN("domhan-transformer", DOMHAN_SELF, DOMHAN_WRITES("mh_dot_self_att"), "tables 2 to 5",
           "Transformer; upper; self-att / self-att"),
    DOMHAN("domhan-increasing", DOMHAN_SELF, DOMHAN_FROM("increasing"), "table 2",
           "block i of the encoder for block i of the decoder"),
    DOMHAN("domhan-decreasing", DOMHAN_SELF, DOMHAN_FROM("decreasing"), "table 2",
           "the other way round"),
    DOMHAN("domhan-rnn", DOMHAN_RNN("dropout"), DOMHAN_RNN_WRITES("dropout", "mh_dot_att(heads=1)"),
           "table 3", "RNN"),
    DOMHAN("domhan-rnn-mh", DOMHAN_RNN("dropout"), DOMHAN_RNN_WRITES("dropout", "mh_dot_att"),
           "table 3", "RNN + mh"),
    DOMHAN("domhan-rnn-pos", DOMHAN_RNN("pos"), DOMHAN_RNN_WRITES("pos", "mh_dot_att"), "table 3",
           "RNN + pos"),
    DOMHAN("domhan-rnn-norm", DOMHAN_RNN_NORM,
           "pos->repeat(6,res_nd(rnn))" DOMHAN_ATT "->" DOMHAN_FFL "->norm", "table 3",
           "RNN + norm"),
    DOMHAN("domhan-rnn-multi-att-1h", DOMHAN_RNN_NORM, DOMHAN_RNN_ATT(DOMHAN_ONE), "table 3",
           "RNN + multi-att-1h"),
    DOMHAN("domhan-rnn-multi-att", DOMHAN_RNN_NORM, DOMHAN_RNN_ATT(DOMHAN_ATT), "table 3",
           "RNN / multi-att"),
    DOMHAN("domhan-rnn-ff", DOMHAN_RNN_FF, DOMHAN_WRITES("rnn"), "tables 3 and 5",
           "RNN + ff; RNN / RNN"),
    /* Its published text lacks a parenthesis; the attention follows the convolution, as in CNN
       ReLU. */
    DOMHAN("domhan-cnn-glu", "pos->repeat(6,res_d(cnn(glu)))",
           "pos->repeat(6,res_d(cnn(glu))->res_d(mh_dot_att(heads=1)))", "table 4", "CNN GLU"),
    DOMHAN("domhan-cnn-glu-norm", DOMHAN_SIX("res_nd(cnn(glu))"),
           DOMHAN_SIX("res_nd(cnn(glu))" DOMHAN_ONE), "table 4", "CNN GLU + norm"),
    DOMHAN("domhan-cnn-glu-mh", DOMHAN_SIX("res_nd(cnn(glu))"),
           DOMHAN_SIX("res_nd(cnn(glu))" DOMHAN_ATT), "table 4", "CNN GLU + mh"),
    DOMHAN("domhan-cnn-glu-ff", DOMHAN_READS("cnn(glu)"), DOMHAN_WRITES("cnn(glu)"), "table 4",
           "CNN GLU + ff"),
    DOMHAN("domhan-cnn-relu", "pos->repeat(6,res_d(" DOMHAN_RELU "))",
           "pos->repeat(6,res_d(" DOMHAN_RELU ")->res_d(mh_dot_att(heads=1)))", "table 4",
           "CNN ReLU"),
    DOMHAN("domhan-cnn-relu-norm", DOMHAN_SIX("res_nd(" DOMHAN_RELU ")"),
           DOMHAN_SIX("res_nd(" DOMHAN_RELU ")" DOMHAN_ONE), "table 4", "CNN ReLU + norm"),
    DOMHAN("domhan-cnn-relu-mh", DOMHAN_SIX("res_nd(" DOMHAN_RELU ")"),
           DOMHAN_SIX("res_nd(" DOMHAN_RELU ")" DOMHAN_ATT), "table 4", "CNN ReLU + mh"),
    DOMHAN("domhan-cnn-relu-ff", DOMHAN_READS(DOMHAN_RELU), DOMHAN_WRITES(DOMHAN_RELU),
           "tables 4 and 5", "CNN ReLU + ff; CNN / CNN"),
    DOMHAN("domhan-self-rnn", DOMHAN_SELF, DOMHAN_WRITES("rnn"), "table 5", "self-att / RNN"),
    DOMHAN("domhan-self-cnn", DOMHAN_SELF, DOMHAN_WRITES(DOMHAN_RELU), "table 5", "self-att / CNN"),
    DOMHAN("domhan-rnn-self", DOMHAN_RNN_FF, DOMHAN_WRITES("mh_dot_self_att"), "table 5",
           "RNN / self-att"),
    DOMHAN("domhan-cnn-self", DOMHAN_READS(DOMHAN_RELU), DOMHAN_WRITES("mh_dot_self_att"),
           "table 5", "CNN / self-att"),
    DOMHAN("domhan-self-combined", DOMHAN_SELF,
           "pos->repeat(2," DOMHAN_BLOCK("mh_dot_self_att") "->" DOMHAN_BLOCK("rnn") "->"
           DOMHAN_BLOCK(DOMHAN_RELU) ")->norm", "table 5", "self-att / combined"),
    DOMHAN("domhan-self-none", DOMHAN_SELF, DOMHAN_SIX("res_nd(mh_dot_att)->" DOMHAN_FFL),
           "table 5", "self-att / none"),
    DOMHAN("domhan-combined-self",
           "pos->repeat(2,res_nd(mh_dot_self_att)->" DOMHAN_FFL "->res_nd(rnn)->" DOMHAN_FFL
           "->res_nd(" DOMHAN_RELU ")->" DOMHAN_FFL ")->norm", DOMHAN_WRITES("mh_dot_self_att"),
           "encoders", "combined / self-att"),
    DOMHAN("domhan-none-self", DOMHAN_SIX(DOMHAN_FFL), DOMHAN_WRITES("mh_dot_self_att"), "encoders",
           "none / self-att"),
};

/* Exits, with the nearest name, when there is no such preset. */
static const preset *preset_find(const char *name) {
  nearest near = {NULL, 0};
  size_t i;
  for (i = 0; i < COUNT(presets); i++) {
    if (strcmp(name, presets[i].name) == 0) return &presets[i];
    nearest_try(&near, syn_text_of(name), presets[i].name);
  }
  fail(WRONG_USE, "no preset %.*s; the nearest is %s (syn presets lists all)",
       short_size(syn_text_of(name)), name, near.name);
  return NULL;
}

/* Stores an option in the list of given ones at index *at; nothing if the command lacks the option
   or the preset has no value. */
static void preset_give(arguments *a, int *at, const char *name, const char *value) {
  const option *o = a->command->options;
  while (o->name && strcmp(o->name, name) != 0) o++;
  if (!o->name || !value) return;
  a->given[*at].of = o;
  a->given[*at].of_preset = 1;
  a->given[(*at)++].value = value;
}

/* Expands --preset. Its options go before the given ones, because the last value wins; only of
   --var the first wins, so those go after. grad keeps its own small sizes: those of the papers
   would take hours. */
static void preset_apply(arguments *a) {
  const char *name = NULL;
  const preset *p;
  given_option *own = a->given;
  int n = a->given_count, at = 0, i, sizes = strcmp(a->command->name, "grad") != 0;
  for (i = 0; i < n; i++)
    if (strcmp(own[i].of->name, "preset") == 0) name = own[i].value;
  if (!name || !*name) return;
  p = preset_find(name);
  a->given = (given_option *)take((size_t)n + 12, sizeof *own);
  preset_give(a, &at, "task", p->task);
  preset_give(a, &at, "encoder", p->encoder);
  preset_give(a, &at, "decoder", p->decoder);
  preset_give(a, &at, "d-model", sizes ? p->d_model : NULL);
  preset_give(a, &at, "heads", sizes ? p->heads : NULL);
  preset_give(a, &at, "max-len", sizes ? p->max_len : NULL);
  preset_give(a, &at, "tie", p->tie);
  preset_give(a, &at, "src-vocab", sizes ? p->vocabulary : NULL);
  preset_give(a, &at, "tgt-vocab", sizes ? p->vocabulary : NULL);
  for (i = 0; i < n; i++) a->given[at++] = own[i];
  for (i = 0; i < (int)COUNT(preset_vars); i++) preset_give(a, &at, "var", preset_vars[i]);
  a->given_count = at;
  free(own);
}

/* The configuration of a preset. It refers to vars [2], which this function fills. */
static syn_config preset_config(const preset *p, syn_var *vars) {
  static const char *const names[] = {"FF_NUM_HIDDEN", "NUM_HIDDEN"};
  syn_config k;
  int i;
  memset(&k, 0, sizeof k);
  k.task = p->task;
  k.encoder = p->encoder;
  k.decoder = p->decoder;
  parse_int(p->d_model, &k.d_model);
  parse_int(p->heads, &k.heads);
  parse_int(p->max_len, &k.max_len);
  parse_int(p->vocabulary, &k.src_vocab);
  k.tgt_vocab = k.src_vocab;
  k.classes = 3;
  k.tie = strcmp(p->tie, "auto") == 0 ? NULL : p->tie;
  for (i = 0; i < 2; i++) {
    vars[i].name = names[i];
    parse_number(strchr(preset_vars[i], '=') + 1, &vars[i].value);
  }
  k.vars = vars;
  k.n_vars = 2;
  return k;
}

static void preset_json(const preset *p, const syn_cost *k, const char *error) {
  printf("{\"preset\":\"%s\",\"task\":\"%s\",\"encoder\":\"%s\",\"decoder\":\"%s\",\"d_model\":%s,"
         "\"heads\":%s,\"max_len\":%s,\"vocabulary\":%s,\"tie\":\"%s\",", p->name, p->task,
         p->encoder ? p->encoder : "", p->decoder ? p->decoder : "", p->d_model, p->heads,
         p->max_len, p->vocabulary, p->tie);
  if (error) printf("\"error\":\"%s\",", error);
  else printf("\"parameters\":%.0f,\"multiply_adds\":%.0f,", k->parameters, k->multiply_adds);
  printf("\"source\":\"%s\",\"what\":\"%s\"}\n", p->source, p->what);
}

static void preset_line(const preset *p, const syn_cost *k, const char *error) {
  printf("%-23s %7s %5s %7s %6s ", p->name, p->d_model, p->heads, p->max_len, p->vocabulary);
  if (error) printf("%s (%s)\n", error, p->source);
  else printf("%12.0f %12.0f  %s: %s\n", k->parameters, k->multiply_adds, p->source, p->what);
}

static void preset_texts(const preset *p) {
  printf("  task %s, tie %s, %s, %s\n", p->task, p->tie, preset_vars[0], preset_vars[1]);
  if (p->encoder) printf("  encoder %s\n", p->encoder);
  if (p->decoder) printf("  decoder %s\n", p->decoder);
}

/* Prints one preset; 0 when its text has an error, which is printed instead of the numbers. */
static int preset_print(const preset *p, int json, int texts) {
  syn_context c;
  syn_var vars[2];
  syn_config k = preset_config(p, vars);
  syn_cost sum[2], all;
  syn_model *m;
  memset(&all, 0, sizeof all);
  syn_context_init(&c, NULL);
  m = syn_model_outline(&c, &k, NULL);
  if (m) {
    info_sums(m, k.max_len, sum);
    all = info_total(sum);
  }
  (json ? preset_json : preset_line)(p, &all, m ? NULL : c.message);
  if (texts && !json) preset_texts(p);
  syn_model_free(m);
  return m != NULL;
}

static int run_presets(const arguments *a) {
  int json = opt_flag(a, "json"), good = 1, i;
  size_t k;
  for (i = 0; i < a->word_count; i++) preset_find(a->words[i]);
  if (!json)
    printf("%-23s %7s %5s %7s %6s %12s %12s\n", "preset", "d_model", "heads", "max_len", "vocab",
           "parameters", "mult-adds");
  for (i = 0; i < a->word_count; i++) good &= preset_print(preset_find(a->words[i]), json, 1);
  for (k = 0; !a->word_count && k < COUNT(presets); k++)
    good &= preset_print(&presets[k], json, 0);
  if (!json)
    printf("mult-adds: per token of the source and token of the target, sentences of max_len\n");
  return good ? 0 : FAILED_JOB;
}
