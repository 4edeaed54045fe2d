/* cost.h   what the instructions of a small model cost on a processor. A part of syn.c, which
   includes it before board.h, and of examples/embedded/cost_fit.c, which finds the numbers. */

/* ==============================================================================================
   >>tool cost   instructions that a processor runs for each instruction of a small model
   ============================================================================================== */

/* Processors whose instructions were counted. */
enum { COST_M0, COST_M3, COST_M4, COST_M55, COST_RV32, COST_CORES };

/* So many instructions of a processor for each unit of a term of an instruction. */
typedef struct cost_term {
  const char *name, *term;
  double each[COST_CORES];
} cost_term;
#define COST(name, term, m0, m3, m4, m55, rv32) {#name, term, {m0, m3, m4, m55, rv32}},

/* A term is a product of units: those of syn_small_unit, and of its operands a[0] to a[9]
     j        1: a matrix has 8 bits
     k + E    of an attention: keys of this row; 1: to scores that are there; weights that are not 0
     m b      multiply-adds with the zeros behind; 1: there is a bias
     RGTSW    1: the activation is relu, gelu, tanh, sigmoid, swish
     r        of score_v: bytes of a head
     w        of window: rows of the source in it; the others are 0
     L f v    of fixed: logarithms; heads with fixed weights; the others
     h g H    of rotate: pairs of a head; of ngram: hashes, rows that are added */
static inline int cost_is(const syn_small *s, const char *name) {
  return !strcmp(syn_small_instruction(s), name);
}
static inline int cost_operand(const syn_small *s, int i) {
  return (int)syn_small_unit(s, (char)('0' + i));
}
/* Of window: rows from p + first, `dilate` apart. */
static inline int cost_window(const syn_small *s) {
  const double n = syn_small_unit(s, 'n');
  double row = syn_small_unit(s, 'p') + cost_operand(s, 4);
  int taps = cost_operand(s, 3), count = 0;
  for (; taps > 0; taps--, row += cost_operand(s, 5)) count += row >= 0 && row < n;
  return count;
}
/* Of fixed: a logarithm for each key that a head may see, see >>kind fixed_att. */
static inline int cost_logarithms(const syn_small *s) {
  const int n = (int)syn_small_unit(s, 'n'), i = (int)syn_small_unit(s, 'p');
  const int heads = cost_operand(s, 0);
  int count = heads < 3 ? heads : 3;
  if (heads > 3) count += i > 1 ? i - 1 : 1;
  if (heads > 4) count += n - i > 2 ? n - i - 2 : 1;
  if (heads > 5) count += (heads < 7 ? heads - 5 : 2) * n;
  return count;
}
/* Flags of an attention: 1: its keys are those up to this row; 2: it adds to scores. */
static inline int cost_flags(const syn_small *s) {
  return cost_operand(s, cost_is(s, "values") || cost_is(s, "aft") ? 2 : 0);
}
/* Of ngram: hashes, one for each n-gram that ends in this row. */
static inline int cost_grams(const syn_small *s) {
  const int row = (int)syn_small_unit(s, 'p') + 1, n = cost_operand(s, 6);
  return n < row ? n : row;
}
static inline double cost_unit(const syn_small *s, char unit) {
  static const char acts[] = "RGTSW";
  const char *act = strchr(acts, unit);
  int n;
  if (act) return cost_operand(s, 2) == act - acts + 1;
  switch (unit) {
    case 'j': return syn_small_unit(s, 'i') == 0.0;
    case 'k': return cost_flags(s) & 1 ? syn_small_unit(s, 'p') + 1 : syn_small_unit(s, 'n');
    case '+': return (cost_flags(s) & 2) != 0;
    case 'm':
      return (cost_operand(s, cost_is(s, "linear") ? 3 : 1) + 3) / 4 * 4 * syn_small_unit(s, 'C');
    case 'b': return cost_operand(s, cost_is(s, "linear") ? 6 : 4) != 0;
    case 'r': return (cost_operand(s, 5) + 3) / 4 * 4;
    case 'w': return cost_window(s);
    case 'L': return cost_logarithms(s);
    case 'f': n = cost_operand(s, 0); return n < 7 ? n : 7;
    case 'v': n = cost_operand(s, 0); return n > 7 ? n - 7 : 0;
    case 'h': n = cost_operand(s, 5); return (n < cost_operand(s, 4) ? n : cost_operand(s, 4)) / 2;
    case 'g': return cost_grams(s);
    case 'H': n = cost_grams(s) - cost_operand(s, 7) + 1; return n > 0 ? n : 0;
    default: return syn_small_unit(s, unit);
  }
}
static inline double cost_value(const syn_small *s, const char *term) {
  double value = 1.0;
  for (; *term; term++) value *= cost_unit(s, *term);
  return value;
}
