/* letters_float.c   The model of letters.c in float32, as it was trained, to be compared with it.

   make run DEMO=letters_float BOARD=an386 */
#include "letters_float_model.h"
#define SYN_KINDS(X) X(pos) X(repeat) X(res) X(norm) X(dropout) X(syn_att) X(mh_dot_src_att) X(ff)
#define SYN_SCORES(X) X(v) X(r)
#define SOURCE 20
#define TARGET 20
#define HEAP (110 * 1024)
#include "demo_float.h"

int main(void) { return demo_main(letters_float_model.bytes, sizeof letters_float_model.bytes); }
