/* The self-test of commands_model.h, written by describe.c. */
#define commands_HASH UINT64_C(0x06F0CE326191969C)
#define commands_SENTENCE "turn on the light in the kitchen"
#define commands_ANSWER "a0=1"
