/* linked.c   the implementation for the tests that need only the public header: they are compiled with
   TEST_LINKED, and a lane compiles all of it once for them. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"
