/* serial.h   lines, texts and figures over the serial line, for demos in int8 and in float32.
   Included behind synthesizer.h: it uses syn_text. */
#ifndef SERIAL_H
#define SERIAL_H
#include "board.h"

/* Reads a line into `line`; bytes beyond `capacity` are left out. Size 0: an empty line, or the end
   of all. */
static inline syn_text serial_read(char *line, size_t capacity) {
  syn_text text;
  int byte;
  text.at = line;
  text.size = 0;
  while ((byte = board_get()) >= 0 && byte != '\n')
    if (byte != '\r' && text.size < capacity) line[text.size++] = (char)byte;
  return text;
}
static inline void serial_write(syn_text text) {
  char one[2] = {0, 0};
  size_t i;
  for (i = 0; i < text.size; i++) {
    one[0] = text.at[i];
    board_put(one);
  }
}
/* A line of a measured figure begins with #. */
static void serial_figure(const char *name, uint32_t n) {
  board_put("# ");
  board_put(name);
  board_put(" ");
  board_put_number(n);
  board_put("\n");
}

#endif
