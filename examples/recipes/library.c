/* The implementation, compiled once, with optimization, for all programs beside it. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
