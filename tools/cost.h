/* cost.h   what the instructions of a small model cost on a processor. A part of syn.c, which
   includes it before board.h, and of examples/embedded/cost.c and cost_fit.c, which find the
   numbers. */

/* ==============================================================================================
   >>tool cost   instructions that a processor runs for each instruction of a small model
   ============================================================================================== */

/* An output is run as syn_small_step runs it, whatever its weights are: `see` gets each instruction
   before it runs, its code and operands; code -1: the output is complete. */
typedef void cost_see(void *user, const syn_small *s, int code, const int32_t *a);

/* What is run: a source of `rows` tokens or rows of features, then `tokens` tokens of a text, whose
   end does not end it; 0: up to the end of a beam search. features: rows that come again and again. */
enum { COST_ROWS = 8 };
typedef struct cost_input {
  int *source;       /* [rows] */
  int16_t *features; /* [COST_ROWS, width] */
  int rows, tokens;
} cost_input;

/* Half of the largest lengths, with any tokens: source [rows]. */
static inline void cost_lengths(const syn_small *s, cost_input *in) {
  const int lm = s->w[SYN__SMALL_TASK] == SYN__TASK_LM;
  in->rows = lm ? 1 : (s->k.source_len + 1) / 2;
  in->tokens = s->k.beam > 1 ? 0 : (s->k.max_len + 1) / 2;
}
/* Fills them: any tokens; features that are spread around their mean as when it was learned. */
static inline uint32_t cost_chance(uint32_t *random) {
  *random = *random * UINT32_C(1664525) + UINT32_C(1013904223);
  return *random >> 16;
}
static inline void cost_fill(const syn_small *s, const cost_input *in) {
  const int32_t *w = s->w, *a = w + w[SYN__SMALL_PROGRAMS] + 1, width = syn__small_width(w);
  const int lm = w[SYN__SMALL_TASK] == SYN__TASK_LM;
  const int32_t vocab = w[lm ? SYN__SMALL_TARGET_VOCAB : SYN__SMALL_SOURCE_VOCAB];
  uint32_t random = 1;
  int32_t i;
  for (i = 0; i < in->rows && !width; i++) {
    in->source[i] = SYN_UNKNOWN;
    if (vocab > SYN_FIRST_TOKEN)
      in->source[i] =
          SYN_FIRST_TOKEN + (int)(cost_chance(&random) % (uint32_t)(vocab - SYN_FIRST_TOKEN));
  }
  if (!lm && !width && in->rows > 1) in->source[in->rows - 1] = SYN_END;
  for (i = 0; i < COST_ROWS * width; i++) {
    const float gain = syn__small_floats(s, a[2])[i % width];
    float x = ((float)cost_chance(&random) / 19000.0f - 1.7f) - syn__small_floats(s, a[3])[i % width];
    if (gain > 1e-20f) x = x / gain; /* y = gain q + offset */
    in->features[i] = (int16_t)(x > 32767.0f ? 32767.0f : x > -32767.0f ? x : -32767.0f);
  }
}
static inline int cost_begin(syn_small *s, const cost_input *in) {
  return syn_small_source(s, in->source, syn__small_width(s->w) ? 0 : in->rows);
}

/* Tokens of the output, or below 0 an error. */
static inline int cost_run(syn_small *s, const cost_input *in, cost_see *see, void *user) {
  const int32_t *w = s->w;
  const int text = w[SYN__SMALL_TASK] <= SYN__TASK_LM;
  int rows = in->rows, tokens = 0, token = cost_begin(s, in);
  if (token) return token;
  while (s->phase < SYN__SMALL_IDLE) {
    const int32_t word = w[s->at];
    int code = word & 255;
    if (s->feed == SYN__SMALL_WANTED) {
      const int16_t *row = in->features + rows % COST_ROWS * syn__small_width(w);
      token = syn_small_feed(s, rows-- > 0 ? row : NULL);
      if (token) return token;
      continue;
    }
    if (code == SYN__SMALL_OP_out) code = s->choose;
    see(user, s, code, w + s->at + 1);
    if (code > SYN__SMALL_OP_segment) {
      s->left = 1 << 30;
      s->work += (uint64_t)syn__small_run(s, code, w + s->at + 1);
      if (!s->part) s->at += word >> 8;
      continue;
    }
    if (text && s->phase == SYN__SMALL_DECODE && s->token == SYN_END) s->token = SYN_UNKNOWN;
    token = syn__small_next(s);
    if (token != SYN_SMALL_MORE && ++tokens == in->tokens) break;
  }
  if (s->phase == SYN__SMALL_ANSWER) tokens = s->search->size - s->search->at + 1;
  see(user, s, -1, NULL);
  return tokens ? tokens : 1;
}

/* A term is a product: a digit is that operand; the other letters are those of cost_factor. */
static inline int32_t cost_grams(const syn_small *s, const int32_t *a) {
  return a[6] < s->row + 1 ? a[6] : s->row + 1;
}
/* Of the input [n] of a product: those that are not 0. */
static inline int32_t cost_inputs(const syn_small *s, int32_t operand, int32_t n) {
  const float *x = syn__small_row(s, operand, n);
  int32_t count = 0, i;
  for (i = 0; i < n; i++) count += x[i] < 0.0f || x[i] > 0.0f;
  return count;
}
/* Of values: keys whose weight is not 0. Masked ones are cheap without floating point. */
static inline int32_t cost_weights(const syn_small *s, const int32_t *a) {
  const int32_t keys = syn__small_keys(s, a[2]);
  const float *score = s->scores;
  int32_t h, j, count = 0;
  for (h = 0; h < a[3] && !(a[2] & SYN__SMALL_NO_SOFTMAX); h++, score += keys) {
    float most = score[0];
    for (j = 1; j < keys; j++)
      if (score[j] > most) most = score[j];
    for (j = 0; j < keys; j++) count += score[j] - most > -87.0f;
  }
  return count;
}
/* Of window: rows of the source in it; the others are 0. */
static inline int32_t cost_window(const syn_small *s, const int32_t *a) {
  int32_t k, count = 0;
  for (k = 0; k < a[3]; k++) {
    const int64_t row = (int64_t)s->row + a[4] + (int64_t)k * a[5];
    count += row >= 0 && row < s->sources;
  }
  return count;
}
/* Of fixed: logarithms, see syn__small_fixed. */
static inline int32_t cost_logarithms(const syn_small *s, int32_t heads) {
  const int32_t n = s->sources, i = s->row;
  int32_t count = heads < 3 ? heads : 3;
  if (heads > 3) count += i > 1 ? i - 1 : 1;
  if (heads > 4) count += n - i > 2 ? n - i - 2 : 1;
  if (heads > 5) count += (heads < 7 ? heads - 5 : 2) * n;
  return count;
}
static inline double cost_factor(const syn_small *s, int code, const int32_t *a, char letter) {
  const int linear = code == SYN__SMALL_OP_linear, last = code == SYN__SMALL_OP_values ? 2 : 0;
  const int32_t *out = linear ? a + 3 : a + 1; /* n, k, place of a matrix [n,k], bias */
  const int32_t place = code == SYN__SMALL_OP_ngram ? a[4] : code == SYN__SMALL_OP_embed ? a[3]
                                                                                         : out[2];
  const int32_t flags = a[code == SYN__SMALL_OP_aft ? 2 : last];
  int32_t n;
  switch (letter) {
    case 'F': return s->feed != 0;              /* a row of features was fed */
    case 'k': return syn__small_keys(s, flags); /* keys of an attention */
    case '+': return (flags & SYN__SMALL_ADD) != 0;
    case 'E': return cost_weights(s, a);
    case 'r': return syn__small_round4(a[5]); /* of score_v: bytes of a head */
    case 'm': return syn__small_round4(out[0]) * cost_factor(s, code, a, 'C'); /* multiply-adds */
    case 'C': return syn__small_matrix_at(s, place, out[0], out[1]).cols; /* with zeros behind k */
    case 'x': return cost_inputs(s, a[linear], out[1]);
    case 'z': return cost_inputs(s, a[1], a[3] * a[4]); /* of taps: of the window */
    case 'w': return cost_window(s, a);
    case 'i': return s->w[place] == SYN__SMALL_i4;
    case 'j': return s->w[place] != SYN__SMALL_i4;
    case 'b': return (code == SYN__SMALL_OP_norm ? a[4] : out[3]) != 0; /* there is a bias */
    case 'R': return a[2] == 1; /* relu */
    case 'G': return a[2] == 2; /* gelu */
    case 'T': return a[2] == 3; /* tanh */
    case 'S': return a[2] == 4; /* sigmoid */
    case 'W': return a[2] == 5; /* swish */
    case 'c': return syn__small_cap(a) > 0.0f;
    case 'p': return s->row;     /* places before this one */
    case 'n': return s->sources;
    case 'L': return cost_logarithms(s, a[0]);
    case 'f': return a[0] < 7 ? a[0] : 7; /* of fixed: heads with fixed weights, the others */
    case 'v': return a[0] > 7 ? a[0] - 7 : 0;
    case 'h': return (a[5] < a[4] ? a[5] : a[4]) / 2; /* of rotate: pairs of a head */
    case 'g': return cost_grams(s, a);                /* of ngram: hashes, and rows that are added */
    case 'H': n = cost_grams(s, a) - a[7] + 1; return n > 0 ? n : 0;
    default: return a[letter - '0'];
  }
}
static inline double cost_value(const syn_small *s, int code, const int32_t *a, const char *term) {
  double value = 1.0;
  for (; *term; term++) value *= cost_factor(s, code, a, *term);
  return value;
}

/* Processors whose instructions were counted. */
enum { COST_M0, COST_M3, COST_M4, COST_M55, COST_RV32, COST_CORES };

/* So many instructions of a processor for each unit of a term of an instruction. */
typedef struct cost_term {
  int code;
  const char *name, *term;
  double each[COST_CORES];
} cost_term;
#define COST(name, term, m0, m3, m4, m55, rv32) \
  {SYN__SMALL_OP_##name, #name, term, {m0, m3, m4, m55, rv32}},
