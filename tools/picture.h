/* picture.h   a matrix of numbers as a picture of gray pixels.
   Needs no other header of this folder. */
#ifndef PICTURE_H
#define PICTURE_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The largest of n numbers; 0 where none is above 0. */
static float picture_largest(const float *x, size_t n) {
  float most = 0.0f;
  size_t i;
  for (i = 0; i < n; i++)
    if (x[i] > most) most = x[i];
  return most;
}

/* Pixels of one row of weights, `cell` times below each other. Returns the place behind them. */
static unsigned char *picture_row(const float *row, int columns, int cell, float full,
                                  unsigned char *at) {
  size_t width = (size_t)columns * (size_t)cell;
  int j, k;
  for (j = 0; j < columns; j++) {
    float share = row[j] > 0.0f && full > 0.0f ? row[j] / full : 0.0f; /* NaN: blank */
    int ink = share < 1.0f ? (int)(share * 255.0f + 0.5f) : 255;
    memset(at + (size_t)j * (size_t)cell, 255 - ink, (size_t)cell);
  }
  for (k = 1; k < cell; k++) memcpy(at + (size_t)k * width, at, width);
  return at + (size_t)cell * width;
}

/* a b, SIZE_MAX where it does not fit */
static size_t picture_times(size_t a, size_t b) { return a && b > SIZE_MAX / a ? SIZE_MAX : a * b; }

/* Weights [size[0], size[1]] as a picture file, PGM ("P5", one byte a pixel; see
   http://netpbm.sourceforge.net/doc/pgm.html): a square of cell by cell pixels for each weight,
   from white (0 and below) to black (`full` and above; full 0: the largest weight). Returns the
   bytes of the file; writes them all if they fit into `capacity`, else none. 0: a size below 1, or
   too many bytes. */
static size_t attention_picture(const float *weights, const int size[2], int cell, float full,
                                void *out, size_t capacity) {
  unsigned char *at = (unsigned char *)out;
  size_t width, height, bytes, i;
  char head[60];
  int n;
  if (!weights || size[0] < 1 || size[1] < 1 || cell < 1) return 0;
  width = picture_times((size_t)size[1], (size_t)cell);
  height = picture_times((size_t)size[0], (size_t)cell);
  n = snprintf(head, sizeof head, "P5\n%lu %lu\n255\n", (unsigned long)width,
               (unsigned long)height);
  bytes = picture_times(width, height);
  if (bytes > SIZE_MAX - (size_t)n) return 0;
  bytes += (size_t)n;
  if (!at || capacity < bytes) return bytes;
  if (!(full > 0.0f)) full = picture_largest(weights, (size_t)size[0] * (size_t)size[1]);
  memcpy(at, head, (size_t)n);
  at += n;
  for (i = 0; i < (size_t)size[0]; i++)
    at = picture_row(weights + i * (size_t)size[1], size[1], cell, full, at);
  return bytes;
}
#endif
