/* The self-test of dates_model.h, written by describe.c. */
#define dates_HASH UINT64_C(0x745629B45D4152B4)
#define dates_SENTENCE "the fourth of may nineteen oh six"
#define dates_ANSWER "1906-05-04"
