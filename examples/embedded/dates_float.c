/* dates_float.c   The model of dates.c in float32, as it was trained, to be compared with it.

   make run DEMO=dates_float BOARD=an386 */
#include "dates_float_model.h"
#define SYN_KINDS(X) X(pos) X(repeat) X(res) X(norm) X(dropout) X(syn_att) X(mh_dot_src_att) X(ff)
#define SYN_SCORES(X) X(v) X(r)
#define SOURCE 13 /* twelve words, an end */
#define TARGET 11 /* ten digits and dashes, an end */
#define HEAP (50 * 1024 + 256)
#include "demo_float.h"

int main(void) { return demo_main(dates_float_model.bytes, sizeof dates_float_model.bytes); }
