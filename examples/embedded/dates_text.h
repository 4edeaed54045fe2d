/* The self-test of dates_model.h, written by describe.c. */
#define dates_HASH UINT64_C(0x23AB3FF59144A1FB)
#define dates_SENTENCE "the fourth of may nineteen oh six"
#define dates_ANSWER "1906-05-04"
