/* sign.h   what a test needs to damage the array of a small model behind its checksum. */
#ifndef SIGN_H
#define SIGN_H

/* Writes the checksum (word 2) of an array [size bytes] that a test has changed: a hash of its other
   words, as many as word 3 counts in bytes. */
static void sign(void *array, size_t size) {
  uint32_t *w = (uint32_t *)array, hash = 0;
  size_t i;
  if (size < 16 || w[3] > size) return;
  for (i = 0; i < w[3] / 4; i++)
    if (i != 2) hash = ((hash << 5 | hash >> 27) ^ w[i]) * UINT32_C(0x9E3779B1);
  w[2] = hash;
}
#endif
