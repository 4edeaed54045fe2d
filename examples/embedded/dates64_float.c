/* dates64_float.c   The same with d 64, the network of examples/01_quickstart.c, in 64 KB of RAM.

   make run DEMO=dates64_float BOARD=an386 */
#include "dates64_float_model.h"
#define SYN_KINDS(X) X(pos) X(repeat) X(res) X(norm) X(dropout) X(syn_att) X(mh_dot_src_att) X(ff)
#define SYN_SCORES(X) X(v) X(r)
#define SOURCE 13 /* twelve words, an end */
#define TARGET 11 /* ten digits and dashes, an end */
#define HEAP 62336
#include "demo_float.h"

int main(void) { return demo_main(dates64_float_model.bytes, sizeof dates64_float_model.bytes); }
