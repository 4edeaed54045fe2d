/* kernels.c   the kernels of the library, which the other tests link: compiled again only when their text changes. */
#define SYN_IMPLEMENT_KERNELS
#include "../synthesizer.h"
