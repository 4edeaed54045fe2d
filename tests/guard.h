/* guard.h   guarded(array, bytes) is a copy that ends where no memory may be read or written: code
   that goes one past the end of a caller's array crashes. Where the system has no mmap it is a block
   of its own, which sanitizers guard. It stays until the program ends. */
#ifndef GUARD_H
#define GUARD_H
#include <stdlib.h>
#include <string.h>
#if defined(__unix__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

static void *guarded(const void *array, size_t bytes) {
  char *copy;
#if defined(__unix__)
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
  int zero = open("/dev/zero", O_RDWR);
  void *at = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
  close(zero);
  if (at == MAP_FAILED || mprotect((char *)at + size, page, PROT_NONE)) exit(1);
  copy = (char *)at + size - bytes;
#else
  copy = (char *)malloc(bytes);
  if (!copy) exit(1);
#endif
  return memcpy(copy, array, bytes);
}

#endif
