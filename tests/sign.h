/* sign.h   what a test needs to damage the array of a small model behind its checksum. */
#ifndef SIGN_H
#define SIGN_H

/* Writes the checksum of an array [size bytes] that a test has changed. */
static void sign(void *array, size_t size) {
  int32_t *w = (int32_t *)array, words;
  if (size < 4 * SYN__SMALL_HEADER || size > INT32_MAX) return;
  words = w[SYN__SMALL_BYTES] / 4;
  if (words >= 0 && (size_t)words <= size / 4)
    w[SYN__SMALL_CHECKSUM] = syn__small_checksum(w, words);
}
#endif
