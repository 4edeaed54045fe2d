/* For the lane exact: what syn_context_exact says on each ISA of this machine, "scalar 1 avx2 1". A
   library of static functions, of which the compiler drops what is not called. */
#ifdef __GNUC__
#define SYN_API static __attribute__((unused))
#else
#define SYN_API static
#endif
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

int main(void) {
  int i;
  for (i = 0; i < syn_isa_count(); i++) {
    syn_options o;
    syn_context c;
    memset(&o, 0, sizeof o);
    o.isa = syn_isa_name(i);
    if (!syn_isa_usable(i) || syn_context_init(&c, &o)) continue;
    printf("%s %d ", o.isa, syn_context_exact(&c));
  }
  return puts("") < 0;
}
