/* heap.h   an allocator that counts its blocks and bytes and refuses call number `fail_at`, every call
   from number `fail_from` on (from 1; 0: never) and more than 2^28 bytes; a context on it. Include it
   after synthesizer.h. */
#ifndef HEAP_H
#define HEAP_H
#include <stdlib.h>
#include <string.h>

typedef struct heap {
  long calls, blocks, fail_at, fail_from;
  size_t live, most, last; /* bytes: now, at most, of the last call */
} heap;

static void *heap_alloc(void *user, size_t bytes) {
  heap *h = (heap *)user;
  char *block;
  if (++h->calls == h->fail_at || bytes > (size_t)1 << 28) return NULL;
  if (h->fail_from && h->calls >= h->fail_from) return NULL;
  block = (char *)malloc(bytes);
  if (!block) return NULL;
  h->blocks++;
  h->live += h->last = bytes;
  if (h->live > h->most) h->most = h->live;
  return block;
}

static void heap_release(void *user, void *block, size_t bytes) {
  heap *h = (heap *)user;
  if (!block) return;
  h->blocks--;
  h->live -= bytes;
  free(block);
}

static void context_on(syn_context *c, heap *h, long fail_at) {
  syn_options o;
  memset(&o, 0, sizeof o);
  memset(h, 0, sizeof *h);
  h->fail_at = fail_at;
  o.alloc = heap_alloc;
  o.release = heap_release;
  o.alloc_user = h;
  syn_context_init(c, &o);
}

#endif
