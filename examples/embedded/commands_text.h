/* The self-test of commands_model.h, written by describe.c. */
#define commands_HASH UINT64_C(0x10837CC4B880A3A4)
#define commands_SENTENCE "turn on the light in the kitchen"
#define commands_ANSWER "a0=1"
