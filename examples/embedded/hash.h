/* hash.h   the hash of a model; with DEMO_TEST all logits go into another one, which must be the
   same on every machine. Include it before synthesizer.h. */
#ifndef HASH_H
#define HASH_H
#include "board.h"
#include <stddef.h>

static inline uint64_t demo_fnv(uint64_t hash, const void *bytes, size_t size) { /* FNV-1a */
  const unsigned char *at = (const unsigned char *)bytes;
  for (; size; size--) hash = (hash ^ *at++) * UINT64_C(0x100000001B3);
  return hash;
}
#ifdef DEMO_TEST
static uint64_t demo_hash = UINT64_C(0xCBF29CE484222325);
__attribute__((noinline)) static void demo_trace(float z) {
  demo_hash = demo_fnv(demo_hash, &z, sizeof z);
}
#define SYN__SMALL_TRACE(z) demo_trace(z)
#endif

static inline void demo_put_hash(uint64_t hash) {
  char digit[2] = {0, 0};
  int shift;
  for (shift = 60; shift >= 0; shift -= 4) {
    digit[0] = "0123456789abcdef"[hash >> shift & 15];
    board_put(digit);
  }
}
/* With DEMO_TEST a line with the hash of the logits. */
static void demo_put_logits(void) {
#ifdef DEMO_TEST
  board_put("logits ");
  demo_put_hash(demo_hash);
  board_put("\n");
#endif
}

#endif
