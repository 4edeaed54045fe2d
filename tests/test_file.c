/* The safetensors container: what is written is read back, what is broken is refused with a reason,
   and nothing crashes or is lost when memory, disk or sink fail.
   cc -I.. test_file.c -o test_file -lm && ./test_file */

#if defined(__unix__) || defined(__APPLE__)
#define _XOPEN_SOURCE 700    /* setrlimit, opendir */
#define _FILE_OFFSET_BITS 64 /* else a 32-bit readdir stumbles over long inode numbers */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#define POSIX
#endif

#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#include "check.h"
#ifdef POSIX
#include "guard.h"
#endif
#include "heap.h"
#include "left.h"

#define SCRATCH "test_file_scratch.safetensors"

/* -- a file in memory -- */

typedef struct store {
  unsigned char at[8192];
  size_t size, limit; /* writes past the limit fail */
} store;

static size_t bytes_write(void *user, const void *from, size_t size) {
  store *b = (store *)user;
  size_t room = b->limit - b->size, n = size < room ? size : room;
  memcpy(b->at + b->size, from, n);
  b->size += n;
  return n;
}

static syn_sink sink_of(store *b, size_t limit) {
  syn_sink sink;
  sink.write = bytes_write;
  sink.user = b;
  b->size = 0;
  b->limit = limit;
  return sink;
}

/* Header text and data_size bytes 0, 1, 2 ... */
static void make(store *b, const char *header, size_t header_size, size_t data_size) {
  size_t i;
  b->size = 0;
  for (i = 0; i < 8; i++)
    b->at[b->size++] = (unsigned char)(i < 4 ? header_size >> (8 * i) & 255 : 0);
  memcpy(b->at + b->size, header, header_size);
  b->size += header_size;
  for (i = 0; i < data_size; i++) b->at[b->size++] = (unsigned char)i;
}

/* The bytes in a block of exactly that size, so that a sanitizer sees a read past the end. */
static syn_file *view_exact(syn_context *c, const unsigned char *at, size_t size,
                            unsigned char **block) {
  *block = (unsigned char *)malloc(size ? size : 1);
  if (!*block) return NULL;
  memcpy(*block, at, size);
  return syn_file_view(c, *block, size);
}

/* -- the content most tests write -- */

#define ENTRIES 8
#define PAIRS 4

typedef struct content {
  float f32[16], odd[3];
  uint16_t f16[5];
  signed char i8[7];
  int32_t i32[32];
  int64_t i64[1];
  syn_entry entries[ENTRIES];
  syn_pair pairs[PAIRS];
} content;

static syn_entry entry_of(const char *name, syn_dtype dtype, size_t rows, size_t cols,
                          const void *data, size_t size) {
  syn_entry e;
  memset(&e, 0, sizeof e);
  e.name = name;
  e.dtype = dtype;
  e.rank = 2;
  e.shape[0] = rows;
  e.shape[1] = cols;
  e.data = data;
  e.bytes = size;
  return e;
}

static void fill(content *t) {
  static const char *const pairs[PAIRS][2] = {
      {"format", "synthesizer"}, {"encoder", "line \"one\"\n\ttwo \\ \b\f\r\x01\x1f\x7f"},
      {"", ""}, {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF\xEF\xBF\xBF"}};
  int i;
  memset(t, 0, sizeof *t);
  for (i = 0; i < 16; i++) t->f32[i] = (float)i / 3.0f;
  for (i = 0; i < 3; i++) t->odd[i] = -(float)i;
  for (i = 0; i < 5; i++) t->f16[i] = (uint16_t)(0x3C00 + i);
  for (i = 0; i < 7; i++) t->i8[i] = (signed char)(i - 3);
  for (i = 0; i < 32; i++) t->i32[i] = i * 1000003;
  t->i64[0] = -2;
  for (i = 0; i < PAIRS; i++) t->pairs[i].key = pairs[i][0], t->pairs[i].value = pairs[i][1];
  t->entries[0] = entry_of("small.i8", SYN_I8, 7, 1, t->i8, 7);
  t->entries[1] = entry_of("b.f16", SYN_F16, 1, 5, t->f16, 10);
  t->entries[2] = entry_of("empty", SYN_F32, 0, 3, NULL, 0);
  t->entries[3] = entry_of("odd.f32", SYN_F32, 3, 1, t->odd, 12);
  t->entries[4] = entry_of("a.f32", SYN_F32, 4, 4, t->f32, 64);
  t->entries[5] = entry_of("scalar", SYN_I64, 1, 1, t->i64, 8);
  t->entries[5].rank = 0;
  t->entries[6] = entry_of("\xE2\x82\xAC \"quoted\"/\n", SYN_I32, 8, 4, t->i32, 128);
  t->entries[7] = entry_of("f4", SYN_F4, 2, 3, t->i8, 3);
}

static void check_same(const syn_file *f, const content *t, const char *where) {
  size_t i;
  CHECK(syn_file_count(f) == ENTRIES && syn_file_pair_count(f) == PAIRS, "%s: %lu, %lu", where,
        (unsigned long)syn_file_count(f), (unsigned long)syn_file_pair_count(f));
  for (i = 0; i < ENTRIES && i < syn_file_count(f); i++) {
    const syn_entry *want = &t->entries[i], *e = syn_file_entry(f, i);
    CHECK(strcmp(e->name, want->name) == 0, "%s: %s is %s", where, want->name, e->name);
    CHECK(syn_file_find(f, want->name) == e, "%s: %s is not found", where, want->name);
    CHECK(e->dtype == want->dtype && e->rank == want->rank && e->bytes == want->bytes, "%s: %s",
          where, e->name);
    CHECK(memcmp(e->shape, want->shape, (size_t)e->rank * sizeof *e->shape) == 0, "%s: shape of %s",
          where, e->name);
    CHECK(!e->bytes || memcmp(e->data, want->data, e->bytes) == 0, "%s: data of %s", where,
          e->name);
  }
  for (i = 0; i < PAIRS && i < syn_file_pair_count(f); i++) {
    const char *value = syn_file_value(f, t->pairs[i].key);
    CHECK(strcmp(syn_file_pair(f, i)->key, t->pairs[i].key) == 0, "%s: key %lu", where,
          (unsigned long)i);
    CHECK(value && strcmp(value, t->pairs[i].value) == 0, "%s: value %lu", where, (unsigned long)i);
  }
  CHECK(!syn_file_find(f, "none") && !syn_file_value(f, "none"), "%s: found none", where);
  CHECK(!syn_file_find(f, NULL) && !syn_file_value(f, NULL), "%s: found null", where);
  CHECK(!syn_file_entry(f, ENTRIES) && !syn_file_pair(f, PAIRS), "%s: past the end", where);
}

static int exists(const char *path) {
  FILE *f = fopen(path, "rb");
  if (f) fclose(f);
  return f != NULL;
}

static void test_round(const content *t, store *b) {
  syn_context c;
  heap h;
  syn_sink sink = sink_of(b, sizeof b->at);
  syn_file *f;
  static store again;
  size_t i, start_of_data;
  context_on(&c, &h, 0);
  CHECK(!syn_file_write_to(&c, &sink, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(syn_file_size(&c, t->pairs, PAIRS, t->entries, ENTRIES) == b->size, "size is not %lu",
        (unsigned long)b->size);
  CHECK(memcmp(b->at + 8, "{\"__metadata__\":{\"format\":", 25) == 0, "metadata is not first");
  f = syn_file_view(&c, b->at, b->size);
  CHECK(f != NULL, "%s", c.message);
  if (!f) return;
  check_same(f, t, "view");
  start_of_data = 8 + ((size_t)b->at[0] | (size_t)b->at[1] << 8);
  CHECK(start_of_data % 64 == 0, "data begin at %lu", (unsigned long)start_of_data);
  for (i = 0; i < syn_file_count(f) && !syn__big_endian(); i++) {
    const syn_entry *e = syn_file_entry(f, i);
    size_t at = (size_t)((const unsigned char *)e->data - b->at), unit = 64;
    while (e->bytes % unit) unit /= 2; /* the largest power of two in its size */
    CHECK(at % unit == 0, "%s at %lu", e->name, (unsigned long)at);
  }
  /* what was read can be written again, and gives the same bytes */
  sink = sink_of(&again, sizeof again.at);
  syn_file_write_to(&c, &sink, syn_file_pair(f, 0), PAIRS, syn_file_entry(f, 0), ENTRIES);
  CHECK(c.status == SYN_OK, "%s", c.message);
  CHECK(again.size == b->size && memcmp(again.at, b->at, b->size) == 0, "second writing differs");
  syn_file_free(f);
  remove(SCRATCH);
  CHECK(!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES), "again: %s", c.message);
  CHECK(exists(SCRATCH) && !left_files(), "the temporary file is left");
  f = syn_file_load(&c, SCRATCH);
  CHECK(f != NULL, "%s", c.message);
  if (f) check_same(f, t, "open");
  if (f) CHECK((uintptr_t)syn_file_find(f, "a.f32")->data % 8 == 0, "block is not aligned");
  syn_file_free(f);
  sink = sink_of(&again, sizeof again.at);
  CHECK(!syn_file_write_to(&c, &sink, NULL, 0, NULL, 0), "%s", c.message);
  f = syn_file_view(&c, again.at, again.size);
  CHECK(f && syn_file_count(f) == 0 && syn_file_pair_count(f) == 0, "empty content: %s", c.message);
  CHECK(f && !syn_file_find(f, "x") && !syn_file_value(f, "x") && !syn_file_entry(f, 0), "empty");
  syn_file_free(f);
  syn_file_free(NULL);
  CHECK(h.blocks == 0, "%ld blocks are left", h.blocks);
}

/* -- valid files in unusual clothes -- */

static void test_tolerance(void) {
  static const struct {
    const char *header;
    size_t data, count;
  } good[] = {
      {"{}", 0, 0},
      {" \t\r\n{ } \n ", 0, 0},
      {"{\"__metadata__\":{}}", 0, 0},
      {"{\"a\":{\"shape\":[],\"data_offsets\":[0,4],\"dtype\":\"F32\"}}", 4, 1},
      {"{ \"a\" : { \"dtype\" : \"U8\" , \"shape\" : [ 2 , 3 ] , \"data_offsets\" : [ 0 , 6 ] } } ",
       6, 1},
      {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]},"
       "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 6, 2},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],"
       "\"x\":{\"y\":[1,-2.5e+3,0,0.5,1E9,true,false,null,\"\\u0041\",[],{}]},\"z\":-0}}", 1, 1},
      {"{\"z\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[1,1]},"
       "\"y\":{\"dtype\":\"F32\",\"shape\":[99999999,0,99999999,99999999],\"data_offsets\":[0,0]},"
       "\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
       "\"b\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[1,2]}}", 2, 4},
      {"{\"\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3, 1},
      {"{\"a\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]},"
       "\"__metadata__\":{\"k\":\"v\"}}", 16, 1}};
  static const char escapes[] = "{\"__metadata__\":{\"\\u00e9\\uD83D\\uDE00\\u20aC\":"
                                "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\"}}";
  static store b;
  syn_context c;
  heap h;
  syn_file *f;
  size_t i;
  for (i = 0; i < sizeof good / sizeof good[0]; i++) {
    context_on(&c, &h, 0);
    make(&b, good[i].header, strlen(good[i].header), good[i].data);
    f = syn_file_view(&c, b.at, b.size);
    CHECK(f && syn_file_count(f) == good[i].count, "%s: %s", good[i].header, c.message);
    syn_file_free(f);
    CHECK(h.blocks == 0, "%s: %ld blocks left", good[i].header, h.blocks);
  }
  context_on(&c, &h, 0);
  make(&b, escapes, strlen(escapes), 0);
  f = syn_file_view(&c, b.at, b.size);
  CHECK(f && syn_file_value(f, "\xC3\xA9\xF0\x9F\x98\x80\xE2\x82\xAC"), "escapes: %s", c.message);
  CHECK(f && strcmp(syn_file_pair(f, 0)->value, "\"\\/\b\f\n\r\t\x01") == 0, "escapes");
  syn_file_free(f);
}

/* -- broken files; each must be refused with these words in the message -- */

typedef struct hostile {
  const char *header;
  size_t data;
  const char *words;
} hostile;

#define T(fields) "{\"a\":{" fields "}}"
#define A "\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]"
#define B(begin, end) "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" begin "," end "]}"

static const hostile broken[] = {
    {"[]", 0, "expected '{', found '['"},
    {"  ", 0, "expected '{', found the end"},
    {"{ ", 0, "expected a string, found the end"},
    {"{} x", 0, "white space to the end, found 'x'"},
    {"{}{}", 0, "white space to the end"},
    {"{,}", 0, "expected a string, found ','"},
    {"{\"a\"}", 0, "expected ':', found '}'"},
    {"{\"a\":1}", 0, "tensor \"a\": expected '{', found '1'"},
    {"{\"a\":[]}", 0, "expected '{', found '['"},
    {"{\"a\":{" A "},}", 4, "expected a string, found '}'"},
    {"{\"a\":{" A "} \"b\"", 4, "expected ',' or '}', found '\"'"},
    {"{\"a\":{" A "}", 4, "expected ',' or '}', found the end"},
    {"{\"a", 0, "without its end"},
    {"{\"a\\", 0, "unknown escape"},
    {"{\"a\\\"", 0, "without its end"},
    {"{\"\\x\":1}", 0, "unknown escape: \\ and byte 0x78"},
    {"{\"\\u12g4\":1}", 0, "four hexadecimal digits"},
    {"{\"\\u12", 0, "four hexadecimal digits"},
    {"{\"\\u0000\":1}", 0, "\\u0000"},
    {"{\"\\uD800\":1}", 0, "half a surrogate pair: \\uD800"},
    {"{\"\\uDC00\\uD800\":1}", 0, "half a surrogate pair: \\uDC00"},
    {"{\"\\uD83D\\u0041\":1}", 0, "half a surrogate pair"},
    {"{\"\\uD83D\\", 0, "half a surrogate pair"},
    {"{\"a\":{\"x\":-", 0, "expected a digit"},
    {"{\"a\":{\"x\":0", 0, "expected ',' or '}'"},
    {"{\"a\":{\"x\":12", 0, "expected ',' or '}'"},
    {"{\"a\":{\"x\":1.5", 0, "expected ',' or '}'"},
    {"{\"a\":{\"x\":1e", 0, "expected a digit"},
    {"{\"a\":{\"x\":-1E+", 0, "expected a digit"},
    {"{\"\\uD83D\\n1234567\":1}", 0, "half a surrogate pair"},
    {"{\"\\uD83Dabcdefg\":1}", 0, "half a surrogate pair"},
    {"{\"a\nb\":1}", 0, "control byte 0x0A"},
    {"{\"\x80\":1}", 0, "invalid UTF-8 in a string: byte 0x80"},
    {"{\"\xC0\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xC3\":1}", 0, "invalid UTF-8"},
    {"{\"\xE0\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xED\xA0\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xF0\x80\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xF4\x90\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xFF\":1}", 0, "invalid UTF-8"},
    {"{\"\xF0\x9F", 0, "invalid UTF-8"},
    {"\xEF\xBB\xBF{}", 0, "expected '{', found byte 0xEF"},
    {T(""), 0, "tensor \"a\": no \"dtype\""},
    {T("\"dtype\":\"U8\""), 0, "no \"shape\""},
    {T("\"dtype\":\"U8\",\"shape\":[0]"), 0, "no \"data_offsets\""},
    {T("\"shape\":[4],\"data_offsets\":[0,4]"), 4, "no \"dtype\""},
    {T(A ",\"shape\":[4]"), 4, "two times \"shape\""},
    {T("\"dtype\":\"U9\",\"shape\":[4],\"data_offsets\":[0,4]"), 4, "unknown dtype \"U9\""},
    {T("\"dtype\":7,\"shape\":[4],\"data_offsets\":[0,4]"), 4, "expected a string, found '7'"},
    {T("\"dtype\":\"?\",\"shape\":[4],\"data_offsets\":[0,4]"), 4, "unknown dtype"},
    {T("\"dtype\":\"U8\",\"shape\":4,\"data_offsets\":[0,4]"), 4, "expected '[', found '4'"},
    {T("\"dtype\":\"U8\",\"shape\":[-4],\"data_offsets\":[0,4]"), 4,
     "whole number from 0, found '-'"},
    {T("\"dtype\":\"U8\",\"shape\":[4.0],\"data_offsets\":[0,4]"), 4,
     "expected ',' or ']', found '.'"},
    {T("\"dtype\":\"U8\",\"shape\":[4e0],\"data_offsets\":[0,4]"), 4, "found 'e'"},
    {T("\"dtype\":\"U8\",\"shape\":[04],\"data_offsets\":[0,4]"), 4, "begins with 0"},
    {T("\"dtype\":\"U8\",\"shape\":[\"4\"],\"data_offsets\":[0,4]"), 4, "whole number"},
    {T("\"dtype\":\"U8\",\"shape\":[4,],\"data_offsets\":[0,4]"), 4,
     "whole number from 0, found ']'"},
    {T("\"dtype\":\"U8\",\"shape\":[4,2],\"data_offsets\":[0,4]"), 4,
     "hold 4 bytes, its shape in U8 wants 8"},
    {T("\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,4]"), 4,
     "hold 4 bytes, its shape in F32 wants 16"},
    {T("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]"), 1,
     "more than 8 numbers"},
    {T("\"dtype\":\"U8\",\"shape\":[18446744073709551616],\"data_offsets\":[0,1]"), 1,
     "above the largest"},
    {T("\"dtype\":\"U8\",\"shape\":[0,18446744073709551615],\"data_offsets\":[0,0]"), 0,
     "above the largest"},
    {T("\"dtype\":\"U8\",\"shape\":[99999999999999999999999],\"data_offsets\":[0,1]"), 1,
     "above the largest"},
    {T("\"dtype\":\"F32\",\"shape\":[2147483648,2147483648,4],\"data_offsets\":[0,0]"), 0,
     "whole number of bytes that fits"},
    {T("\"dtype\":\"F64\",\"shape\":[4294967294,1073741824],\"data_offsets\":[0,0]"), 0,
     "wants|that fits"},
    {T("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]"), 1, "whole number of bytes"},
    {T("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0]"), 4, "data_offsets of 1 numbers"},
    {T("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]"), 4, "data_offsets of 3 numbers"},
    {T("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[]"), 4, "data_offsets of 0 numbers"},
    {T("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]"), 4,
     "data_offsets [4,0] in 4 bytes"},
    {T("\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]"), 4,
     "data_offsets [0,5] in 4 bytes"},
    {T("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4294967294]"), 4, "in 4 bytes of data"},
    {T(A ",\"x\":[}"), 4, "expected a value, found '}'"},
    {T(A ",\"x\":nul"), 4, "expected a value, found 'n'"},
    {T(A ",\"x\":truex"), 4, "found 'x'"},
    {T(A ",\"x\":01"), 4, "found '1'"},
    {T(A ",\"x\":-"), 4, "expected a digit"},
    {T(A ",\"x\":1."), 4, "expected a digit"},
    {T(A ",\"x\":1e+"), 4, "expected a digit"},
    {T(A ",\"x\":{\"y\":1,}"), 4, "expected a string, found '}'"},
    {T(A ",\"x\":{1:1}"), 4, "expected a string, found '1'"},
    {T(A ",\"x\":[1 2]"), 4, "expected ',' or ']', found '2'"},
    {"{\"a\":{" A "},\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]}}", 4,
     "two tensors \"a\""},
    {"{\"a\":{" A "},\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]}}", 5,
     "two tensors \"a\""},
    {"{\"a\":{" A "}," B("0", "4") "}", 4,
     "begins at byte 0 of the data, not at 4 where the one before it ends: overlap"},
    {"{\"a\":{" A "}," B("3", "7") "}", 7, "tensor \"b\" begins at byte 3 of the data, not at 4"},
    {"{\"a\":{" A "}," B("5", "9") "}", 9,
     "tensor \"b\" begins at byte 5 of the data, not at 4 where the one before it ends: hole"},
    {"{" B("1", "5") "}", 5, "hole"},
    {"{\"a\":{" A "}}", 6, "6 bytes of data, but the tensors end at 4"},
    {"{}", 1, "1 bytes of data, but the tensors end at 0"},
    {"{\"a\":{" A "},\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}", 4,
     "tensor \"a\"|tensor \"b\""},
    {"{\"__metadata__\":1}", 0, "expected '{', found '1'"},
    {"{\"__metadata__\":null}", 0, "expected '{', found 'n'"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "expected a string, found '1'"},
    {"{\"__metadata__\":{\"k\":{}}}", 0, "expected a string, found '{'"},
    {"{\"__metadata__\":{\"k\":\"v\" \"l\"}}", 0, "expected ',' or '}'"},
    {"{\"__metadata__\":{\"k\":\"v\",\"k\":\"v\"}}", 0, "two metadata keys \"k\""},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "two times \"__metadata__\""},
    {"{\"__metadata__\":{\"k\":\"\xFF\"}}", 0, "invalid UTF-8"},
    {"{'a':1}", 0, "expected a string, found '''"},
    {"{\"bad\\u0007\\nname\":1}", 0, "tensor \"bad\\x07\\x0aname\""},
    {"{\v}", 0, "expected a string, found byte 0x0B"}};

static int has_words(const char *message, const char *words) {
  char part[200];
  const char *bar = strchr(words, '|');
  if (!bar) return strstr(message, words) != NULL;
  memcpy(part, words, (size_t)(bar - words));
  part[bar - words] = 0;
  return strstr(message, part) != NULL || strstr(message, bar + 1) != NULL;
}

static void check_refused(const store *b, const char *what, const char *words) {
  syn_context c;
  heap h;
  unsigned char *block;
  syn_file *f;
  context_on(&c, &h, 0);
  f = view_exact(&c, b->at, b->size, &block);
  CHECK(!f && c.status == SYN_E_FORMAT, "accepted: %s", what);
  CHECK(has_words(c.message, words), "%s\n  wanted: %s\n  got:    %s", what, words, c.message);
  CHECK(strncmp(c.message, "memory: ", 8) == 0 && strlen(c.message) < sizeof c.message - 1, "%s",
        c.message);
  syn_file_free(f);
  free(block);
  CHECK(h.blocks == 0, "%s: %ld blocks left", what, h.blocks);
  CHECK(h.most < 4096 + 32 * b->size, "%s: %lu bytes at most", what, (unsigned long)h.most);
}

static void test_hostile(void) {
  static store b;
  char deep[2000], *p = deep;
  size_t i, n;
  for (i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    make(&b, broken[i].header, strlen(broken[i].header), broken[i].data);
    check_refused(&b, broken[i].header, broken[i].words);
  }
  make(&b, "{\"a\0\":{}}", 9, 0);
  check_refused(&b, "a zero byte in a name", "control byte 0x00");
  make(&b, "{}\0\0", 4, 0);
  check_refused(&b, "padding with zeros", "found byte 0x00");
  p += sprintf(p, "{\"a\":{" A ",\"x\":");
  for (i = 0; i < 900; i++) *p++ = '[';
  make(&b, deep, (size_t)(p - deep), 4);
  check_refused(&b, "900 times [", "deeper than 32 levels");
  p = deep + sprintf(deep, "{\"");
  for (i = 0; i < 400; i++) p += sprintf(p, "\xE2\x82\xAC");
  p += sprintf(p, "\":1}");
  make(&b, deep, (size_t)(p - deep), 0);
  check_refused(&b, "a long name", "...\": expected '{'");
  for (n = 0; n < 10; n++) {
    make(&b, "{}", 2, 0);
    b.size = n;
    check_refused(&b, "a short file", "bytes, a safetensors file has at least 10");
  }
  for (i = 0; i < 8; i++) {
    make(&b, "{}  ", 4, 0);
    b.at[i] = i ? 1 : 5;
    check_refused(&b, "a header past the end", "not a safetensors file: header of");
  }
  make(&b, "{}", 2, 0);
  b.at[0] = 1;
  check_refused(&b, "a header of one byte", "header of 1 bytes");
}

/* -- no cut and no flipped bit may do more than be refused -- */

static void test_damage(const store *whole) {
  static store b;
  syn_context c;
  heap h;
  unsigned char *block;
  syn_file *f;
  size_t n, i, refused = 0;
  for (n = 0; n < whole->size; n++) {
    context_on(&c, &h, 0);
    f = view_exact(&c, whole->at, n, &block);
    CHECK(!f && c.status == SYN_E_FORMAT && h.blocks == 0, "cut at %lu: %s", (unsigned long)n,
          c.message);
    syn_file_free(f);
    free(block);
  }
  b = *whole;
  for (n = 0; n < 8 * b.size; n++) {
    context_on(&c, &h, 0);
    b.at[n / 8] = (unsigned char)(b.at[n / 8] ^ 1u << n % 8);
    f = view_exact(&c, b.at, b.size, &block);
    refused += f == NULL;
    CHECK(f ? c.status == SYN_OK : c.status == SYN_E_FORMAT && c.message[0], "bit %lu: %s",
          (unsigned long)n, c.message);
    for (i = 0; f && i < syn_file_count(f); i++) {
      const syn_entry *e = syn_file_entry(f, i);
      const unsigned char *at = (const unsigned char *)e->data;
      CHECK(syn__big_endian() || (at >= block && at + e->bytes <= block + b.size), "bit %lu",
            (unsigned long)n);
      CHECK(e->bytes == syn__entry_bytes(e) && syn_file_find(f, e->name) == e, "bit %lu",
            (unsigned long)n);
    }
    CHECK(!f || syn_file_size(&c, syn_file_pair(f, 0), syn_file_pair_count(f), syn_file_entry(f, 0),
                              syn_file_count(f)),
          "bit %lu: what was read cannot be written: %s", (unsigned long)n, c.message);
    syn_file_free(f);
    free(block);
    CHECK(h.blocks == 0, "bit %lu: %ld blocks left", (unsigned long)n, h.blocks);
    b.at[n / 8] = (unsigned char)(b.at[n / 8] ^ 1u << n % 8);
  }
  CHECK(refused > 1000, "only %lu flipped bits were refused", (unsigned long)refused);
}

/* -- memory that ends -- */

static void test_memory(const content *t, const store *whole) {
  syn_context c;
  heap h;
  syn_file *f = NULL;
  long n;
  for (n = 1; n < 100 && !f; n++) {
    context_on(&c, &h, n);
    f = syn_file_view(&c, whole->at, whole->size);
    CHECK(f || c.status == SYN_E_MEMORY, "view, allocation %ld: %s", n, c.message);
    CHECK(f || h.blocks == 0, "view, allocation %ld: %ld blocks left", n, h.blocks);
  }
  CHECK(f && n > 5, "view never succeeds");
  syn_file_free(f);
  for (n = 1, f = NULL; n < 100 && !f; n++) {
    context_on(&c, &h, n);
    f = syn_file_load(&c, SCRATCH);
    CHECK(f || c.status == SYN_E_MEMORY, "open, allocation %ld: %s", n, c.message);
    CHECK(f || h.blocks == 0, "open, allocation %ld: %ld blocks left", n, h.blocks);
  }
  CHECK(f && n > 6, "open never succeeds");
  syn_file_free(f);
  for (n = 1; n < 100; n++) {
    context_on(&c, &h, n);
    if (!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES)) break;
    CHECK(c.status == SYN_E_MEMORY && h.blocks == 0, "write, allocation %ld: %s", n, c.message);
    CHECK(!left_files(), "write, allocation %ld: temporary file", n);
  }
  CHECK(n > 2 && n < 100, "write: %ld", n);
}

/* -- content a writer must refuse -- */

static void refuse(const syn_pair *pairs, size_t n_pairs, const syn_entry *entries,
                   size_t n_entries, const char *words) {
  static store b;
  syn_context c;
  heap h;
  syn_sink sink = sink_of(&b, sizeof b.at);
  context_on(&c, &h, 0);
  CHECK(syn_file_write_to(&c, &sink, pairs, n_pairs, entries, n_entries), "written: %s", words);
  CHECK(strstr(c.message, words) != NULL, "wanted %s, got %s", words, c.message);
  CHECK(b.size == 0 && h.blocks == 0, "%s: %lu bytes written", words, (unsigned long)b.size);
  CHECK(syn_file_size(&c, pairs, n_pairs, entries, n_entries) == 0, "%s: has a size", words);
}

static void test_refused(const content *good) {
  content t = *good;
  syn_pair pair[2];
  t.entries[1].name = t.entries[0].name;
  refuse(NULL, 0, t.entries, ENTRIES, "two times the name \"small.i8\"");
  t.entries[1].name = NULL;
  refuse(NULL, 0, t.entries, ENTRIES, "tensor 1 has a name that is null");
  t.entries[1].name = "__metadata__";
  refuse(NULL, 0, t.entries, ENTRIES, "that is __metadata__");
  t.entries[1].name = "\xC3";
  refuse(NULL, 0, t.entries, ENTRIES, "not UTF-8");
  t = *good;
  t.entries[1].bytes++;
  refuse(NULL, 0, t.entries, ENTRIES, "tensor \"b.f16\" of F16, rank 2, has 11 bytes, wants 10");
  t = *good;
  t.entries[1].rank = 9;
  refuse(NULL, 0, t.entries, ENTRIES, "rank 9");
  t.entries[1].rank = -1;
  refuse(NULL, 0, t.entries, ENTRIES, "rank -1");
  t = *good;
  t.entries[1].data = NULL;
  refuse(NULL, 0, t.entries, ENTRIES, "tensor \"b.f16\" has no data");
  t = *good;
  t.entries[1].dtype = SYN_DTYPE_COUNT;
  refuse(NULL, 0, t.entries, ENTRIES, "\"b.f16\" of ?");
  t = *good;
  t.entries[2].shape[1] = SIZE_MAX; /* how the reader marks a size that is too large */
  refuse(NULL, 0, t.entries, ENTRIES, "\"empty\" of F32, rank 2, has 0 bytes, wants");
  pair[0].key = pair[1].key = "k";
  pair[0].value = pair[1].value = "v";
  refuse(pair, 2, NULL, 0, "two times the name \"k\"");
  pair[1].key = NULL;
  refuse(pair, 2, NULL, 0, "metadata 1 is null or not UTF-8");
  pair[1].key = "l";
  pair[1].value = "\xFF";
  refuse(pair, 2, NULL, 0, "metadata 1 is null or not UTF-8");
}

/* -- disks and sinks that fail -- */

static void test_sink(const content *t, const store *whole) {
  static store b;
  syn_context c;
  heap h;
  syn_sink sink;
  size_t n;
  for (n = 0; n < whole->size; n++) {
    context_on(&c, &h, 0);
    sink = sink_of(&b, n);
    CHECK(syn_file_write_to(&c, &sink, t->pairs, PAIRS, t->entries, ENTRIES) == SYN_E_FILE,
          "sink of %lu", (unsigned long)n);
    CHECK(c.status == SYN_E_FILE && strstr(c.message, "sink") && h.blocks == 0, "%s", c.message);
    CHECK(b.size <= n && memcmp(b.at, whole->at, b.size) == 0, "sink of %lu got other bytes",
          (unsigned long)n);
  }
}

static void cannot_open(const char *path, syn_status status, const char *words) {
  char shown[400] = "";
  syn_context c;
  heap h;
  syn_file *f;
  if (path) syn__show(shown, sizeof shown, path, strlen(path));
  context_on(&c, &h, 0);
  f = syn_file_load(&c, path);
  CHECK(!f && c.status == status && h.blocks == 0, "open %s: %s", path ? path : "null", c.message);
  CHECK(strstr(c.message, words) && strstr(c.message, shown), "wanted %s, got %s", words,
        c.message);
  syn_file_free(f);
}

/* A source of bytes of which `limit` can be read; it notes a call behind the end. */
typedef struct spring {
  const store *from;
  size_t at, limit;
  int behind;
} spring;
static size_t spring_read(void *user, void *to, size_t size) {
  spring *s = (spring *)user;
  size_t left = s->limit - s->at, n = size < left ? size : left;
  s->behind += !size || s->at + size > s->from->size;
  memcpy(to, s->from->at + s->at, n);
  s->at += n;
  return n;
}

/* The same file from a source as from memory; each byte once; any number of them may be missing. */
static void test_source(const store *whole) {
  syn_context c;
  heap h;
  syn_source source;
  spring s;
  syn_file *f, *view;
  size_t n, i;
  source.read = spring_read;
  source.user = &s;
  source.size = whole->size;
  for (n = 0; n <= whole->size; n++) {
    memset(&s, 0, sizeof s);
    s.from = whole;
    s.limit = n;
    context_on(&c, &h, 0);
    f = syn_file_load_from(&c, &source);
    CHECK(!s.behind && s.at == n, "%lu bytes: read to %lu", (unsigned long)n, (unsigned long)s.at);
    if (n == whole->size) break;
    CHECK(!f && c.status == SYN_E_FILE && strstr(c.message, "source: only ") &&
          strstr(c.message, "it ends there") && !h.blocks, "%lu bytes: %s", (unsigned long)n, c.message);
  }
  view = syn_file_view(&c, whole->at, whole->size);
  CHECK(f && view && syn_file_count(f) == ENTRIES, "%s", c.message);
  for (i = 0; f && view && i < ENTRIES; i++)
    CHECK(!memcmp(syn_file_entry(f, i)->data, syn_file_entry(view, i)->data, syn_file_entry(f, i)->bytes),
          "tensor %lu", (unsigned long)i);
  syn_file_free(view);
  syn_file_free(f);
  for (n = 0; n < 12; n++) { /* of a source that is too small no byte is read, or the first 8 */
    s.at = 0;
    source.size = n;
    context_on(&c, &h, 0);
    CHECK(!syn_file_load_from(&c, &source) && c.status == SYN_E_FORMAT && s.at <= 8, "%s", c.message);
  }
  source.read = NULL;
  context_on(&c, &h, 0);
  CHECK(!syn_file_load_from(&c, &source) && strstr(c.message, "no source"), "%s", c.message);
  context_on(&c, &h, 0);
  CHECK(!syn_model_load_from(&c, NULL) && strstr(c.message, "no source"), "%s", c.message);
  CHECK(syn_trainer_load_from(NULL, NULL) == SYN_E_VALUE, "no trainer");
}

static void cannot_write(const content *t, const char *path, const char *words) {
  char shown[400];
  syn_context c;
  heap h;
  syn__show(shown, sizeof shown, path, strlen(path));
  context_on(&c, &h, 0);
  CHECK(syn_file_write(&c, path, t->pairs, PAIRS, t->entries, ENTRIES) == SYN_E_FILE, "written: %s",
        path);
  CHECK(strstr(c.message, shown) && strstr(c.message, words), "wanted %s, got %s", words,
        c.message);
  CHECK(!left_files() && h.blocks == 0, "%s: something is left", path);
}

/* The scratch file must still be what was written first. */
static void check_untouched(const store *whole, const char *when) {
  static store b;
  FILE *f = fopen(SCRATCH, "rb");
  b.size = f ? fread(b.at, 1, sizeof b.at, f) : 0;
  if (f) fclose(f);
  CHECK(b.size == whole->size && memcmp(b.at, whole->at, b.size) == 0, "%s: file changed", when);
}

#ifdef __linux__
/* A pipe under a path that leads to no other path. */
static void test_pipe(const content *t, const store *whole) {
  static store b;
  char path[40];
  syn_context c;
  heap h;
  int ends[2];
  if (pipe(ends) != 0) return;
  context_on(&c, &h, 0);
  sprintf(path, "/proc/self/fd/%d", ends[1]);
  CHECK(!syn_file_write(&c, path, t->pairs, PAIRS, t->entries, ENTRIES) && !h.blocks, "%s", c.message);
  close(ends[1]);
  b.size = c.status ? 0 : (size_t)read(ends[0], b.at, sizeof b.at);
  CHECK(b.size == whole->size && !memcmp(b.at, whole->at, b.size), "%lu bytes", (unsigned long)b.size);
  close(ends[0]);
}
#endif

/* Any bytes, as safely; null only looks whether the file could be written. */
static void test_text_write(void) {
  static const char path[] = "test_file.txt";
  syn_text text = syn_text_of("one\n"), wrong = {NULL, 4}, none = {NULL, 0};
  char out[8];
  syn_context c;
  heap h;
  FILE *f;
  context_on(&c, &h, 0);
  remove(path);
  CHECK(!syn_text_write(&c, path, NULL) && !exists(path), "only looked: %s", c.message);
  CHECK(!syn_text_write(&c, path, &text) && !syn_text_write(&c, path, NULL), "%s", c.message);
  f = fopen(path, "rb");
  CHECK(f && fread(out, 1, sizeof out, f) == 4 && !memcmp(out, "one\n", 4), "other bytes");
  if (f) fclose(f);
  CHECK(!syn_text_write(&c, path, &none) && exists(path), "an empty file: %s", c.message);
  CHECK(syn_text_write(&c, path, &wrong) == SYN_E_VALUE && strstr(c.message, "no text"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_text_write(&c, "no/such/folder", NULL) == SYN_E_FILE && strstr(c.message, "no/such/folder: cannot create"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_text_write(&c, NULL, &text) == SYN_E_VALUE, "no path");
  remove(path);
  CHECK(!left_files() && !h.blocks, "something is left");
}

/* A path beyond ASCII: the file is written, replaced, read and removed. */
static void test_utf8_path(const content *t) {
  static const char path[] = "test_file_\xC3\x9C\xE6\x97\xA5.safetensors";
  syn_context c;
  heap h;
  syn_file *f;
  int i;
  context_on(&c, &h, 0);
  for (i = 0; i < 2; i++)
    CHECK(!syn_file_write(&c, path, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  f = syn_file_load(&c, path);
  CHECK(f && syn_file_count(f) == ENTRIES, "%s", c.message);
  syn_file_free(f);
  syn__path_remove(path);
  cannot_open(path, SYN_E_FILE, "No such file");
#ifdef _WIN32
  cannot_open("\xFF.safetensors", SYN_E_FILE, "Invalid argument");
  cannot_write(t, "\xFF.safetensors", "Invalid argument");
#endif
}

static void test_files(const content *t, const store *whole) {
  FILE *f = fopen("test_file_short", "wb");
  if (f) fclose(f);
  cannot_open(NULL, SYN_E_FILE, "null path");
  cannot_open("no_such_folder/x.safetensors", SYN_E_FILE, "cannot open: No such file");
  cannot_open("test_file_short", SYN_E_FORMAT, "0 bytes, a safetensors file has at least 10");
  f = fopen("test_file_short", "wb");
  if (f) fwrite(whole->at, 1, whole->size - 1, f), fclose(f);
  cannot_open("test_file_short", SYN_E_FORMAT, "in 231 bytes of data");
  remove("test_file_short");
  cannot_write(t, "no_such_folder/x.safetensors", "cannot create a file beside it: No such file");
  CHECK(!syn__file_text_ok(NULL), "null text");
  check_untouched(whole, "nothing happened");
  test_text_write();
  test_utf8_path(t);
#ifdef POSIX
  cannot_open(".", SYN_E_FILE, "Is a directory");
  cannot_open("/dev/zero", SYN_E_FORMAT, "bytes");
  cannot_write(t, ".", "Is a directory");
  mkdir("test_file_locked", 0555);
  if (access("test_file_locked", W_OK) != 0) cannot_write(t, "test_file_locked/x", "denied");
  else printf("skipped: a folder without write permission needs another user than root\n");
  rmdir("test_file_locked");
#endif
#ifdef __linux__
  test_pipe(t, whole);
  cannot_open("/proc/self/mem", SYN_E_FILE, "cannot read");
  cannot_write(t, "/proc/x.safetensors", "cannot create");
  if (exists("/dev/full")) cannot_write(t, "/dev/full", "No space left on device");
  if (exists("/dev/full")) {
    struct stat info;
    CHECK(stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode), "/dev/full was replaced");
  }
#endif
}

/* A disk that ends after n bytes, by the limit of the process. */
static void test_full(const content *t, const store *whole) {
#ifdef POSIX
  struct rlimit limit, old;
  rlim_t n;
  if (getrlimit(RLIMIT_FSIZE, &old) != 0) return;
  fflush(stdout);
  signal(SIGXFSZ, SIG_IGN);
  for (n = 0; n < whole->size; n += n < 16 ? 1 : 97) {
    limit = old;
    limit.rlim_cur = n;
    setrlimit(RLIMIT_FSIZE, &limit);
    {
      syn_context c;
      heap h;
      int wrong;
      context_on(&c, &h, 0);
      wrong = syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES) != SYN_E_FILE ||
              !strstr(c.message, SCRATCH ": cannot write: File too large");
      setrlimit(RLIMIT_FSIZE, &old); /* before anything is printed */
      CHECK(!wrong && h.blocks == 0, "a disk of %lu bytes: %s", (unsigned long)n, c.message);
    }
    CHECK(!left_files(), "a disk of %lu bytes: temporary file left", (unsigned long)n);
    check_untouched(whole, "a full disk");
  }
  signal(SIGXFSZ, SIG_DFL);
#else
  (void)t, (void)whole;
  printf("skipped: a full disk needs setrlimit\n");
#endif
}

/* -- what messages show of names -- */

/* The message about a file that is not there, without what the system says. */
static void name_shown(const char *path, const char *wanted) {
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  CHECK(!syn_file_load(&c, path), "there is a file");
  CHECK(!strncmp(c.message, wanted, strlen(wanted)), "wanted %s, got %s", wanted, c.message);
  CHECK(!*syn__utf8_invalid(c.message), "not UTF-8: %s", c.message);
}

static void test_messages(void) {
  char name[500];
  syn_context c;
  heap h;
  size_t i, k;
  name_shown("a\x1b[2J\n\tb\x7f", "a\\x1b[2J\\x0a\\x09b\\x7f: cannot open");
  name_shown("\xC2\x85\xC2\x9B" "31m\xC2\xA0\xC3\xA9", "\\u0085\\u009b31m\xC2\xA0\xC3\xA9: ");
  name_shown("\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8F\xD8\x9C\xE2\x80\xA8\xE2\x80\x8D",
             "\\u202e\\u2066\\u200f\\u061c\\u2028\xE2\x80\x8D: ");
  name_shown("\x9B" "31m \xE9t\xC3", "\\x9b31m \\xe9t\\xc3: "); /* not UTF-8 */
  for (i = 140; i < 160; i++) { /* the end of a long path begins with a whole character */
    for (k = 0; k < i; k++) name[k] = "\xE6\x97\xA5"[k % 3];
    memcpy(name + i - i % 3, "x", 2);
    name_shown(name, "\xE6\x97\xA5");
  }
  for (i = 300; i < 420; i++) { /* a message that does not fit */
    char out[400];
    for (k = 0; k + 3 <= i; k += 3) memcpy(name + k, k % 2 ? "\xE6\x97\xA5" : "\xE2\x80\xAE", 3);
    memcpy(name + k, "end", 4);
    syn__show(out, sizeof out, name, strlen(name));
    CHECK(strlen(out) < sizeof out && !*syn__utf8_invalid(out), "%lu: %s", (unsigned long)i, out);
    CHECK(!strcmp(out + strlen(out) - 3, "..."), "%lu: %s", (unsigned long)i, out);
  }
  memset(name, 'a', sizeof name);
  name[399] = 0;
  context_on(&c, &h, 0);
  syn__fail(&c, SYN_E_VALUE, "%s", name);
  CHECK(!strcmp(c.message, name), "a message that just fits: %s", c.message);
  name[399] = 'a', name[400] = 0;
  syn_context_clear(&c);
  syn__fail(&c, SYN_E_VALUE, "%s", name);
  CHECK(strlen(c.message) == 399 && !strcmp(c.message + 396, "..."), "one more: %s", c.message);
}

/* -- names that lead elsewhere, modes -- */

#ifdef POSIX
static void put_text(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  if (f) fputs(text, f), fclose(f);
}
static int has_text(const char *path, const char *text) {
  char got[100] = "";
  FILE *f = fopen(path, "rb");
  if (f) got[fread(got, 1, sizeof got - 1, f)] = 0, fclose(f);
  return !strcmp(got, text);
}
/* A link of our own in a folder for everybody is followed, one of another user is not by Linux. */
static int make_link(const char *to, const char *path) {
  remove(path);
  return symlink(to, path) == 0;
}
static unsigned mode_of(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (unsigned)info.st_mode & 07777 : 0;
}
static int is_link(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* Files of the name that the library once wrote to are not touched: a link, a file, a pipe. */
static void test_beside(const content *t) {
  static const char path[] = "beside.safetensors", old[] = "beside.safetensors.tmp";
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  put_text("victim", "mine");
  CHECK(make_link("victim", old), "no link");
  CHECK(!syn_file_write(&c, path, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(has_text("victim", "mine") && is_link(old), "what the link leads to was written");
  remove(old);
  put_text(old, "mine, too");
  CHECK(!syn_file_write(&c, path, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(has_text(old, "mine, too"), "a file was overwritten");
  remove(old);
  mkfifo(old, 0600);
  alarm(10); /* a writer would wait for a reader */
  CHECK(!syn_file_write(&c, path, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  alarm(0);
  remove(old);
  remove(path);
  remove("victim");
  CHECK(!left_files(), "a temporary file is left");
}

/* A path that is a link stays one; the file behind it is replaced. */
static void test_links(const content *t, const store *whole) {
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  mkdir("behind", 0777);
  put_text("behind/file", "old");
  CHECK(make_link("file", "behind/second") && make_link("behind/second", SCRATCH), "no link");
  CHECK(!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(is_link(SCRATCH) && is_link("behind/second"), "a link was replaced");
  check_untouched(whole, "through two links");
  remove("behind/file");
  CHECK(!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(is_link(SCRATCH) && exists("behind/file"), "a link to a file that is not there yet");
  cannot_write(t, "behind/file/below", "Not a directory");
  make_link(SCRATCH, SCRATCH);
  cannot_write(t, SCRATCH, "cannot reach the file: ");
  CHECK(is_link(SCRATCH), "a link to itself was replaced");
  remove(SCRATCH);
  remove("behind/second");
  remove("behind/file");
  CHECK(rmdir("behind") == 0, "a file is left in the folder of the target");
}

/* A new file has the mode of any new file, an old one keeps its own. */
static void test_modes(const content *t) {
  static const mode_t modes[] = {0600, 0640, 0604, 0666, 0755, 0400};
  mode_t mask = umask(027);
  syn_context c;
  heap h;
  size_t i;
  context_on(&c, &h, 0);
  remove(SCRATCH);
  CHECK(!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
  CHECK(mode_of(SCRATCH) == 0640, "a new file: %o", mode_of(SCRATCH));
  for (i = 0; i < SYN__COUNT(modes); i++) {
    chmod(SCRATCH, modes[i]);
    CHECK(!syn_file_write(&c, SCRATCH, t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
    CHECK(mode_of(SCRATCH) == modes[i], "mode %o became %o", modes[i], mode_of(SCRATCH));
  }
  umask(mask);
  chmod(SCRATCH, 0600);
}

/* -- the steps of a writer, each where it fails -- */

static void writer_closed(const char *path, size_t waiting, syn_status status, const char *words) {
  static syn__writer o; /* another hand closed its file */
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  CHECK(syn__writer_open(&o, &c, path) == SYN_OK, "%s", c.message);
  close(fileno(o.file));
  o.used = waiting;
  CHECK(syn__writer_close(&o, 1) == status && strstr(c.message, words), "%s, %lu bytes: %s", path,
        (unsigned long)waiting, c.message);
  CHECK(h.blocks == 0 && !left_files() && !exists("steps"), "%s: something is left", path);
}
static void writer_refused(void) {
  static syn__writer o;
  static unsigned char many[5000];
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  CHECK(syn__writer_open(&o, &c, "steps") == SYN_OK, "%s", c.message);
  CHECK(syn__writer_write(&o, many, 100) == 100 && o.used == 100, "100 bytes wait");
  CHECK(syn__writer_write(&o, many, 5000) == 5000 && o.used == 0, "more than there is room for");
  CHECK(syn__writer_write(&o, many, 100) == 100, "100 bytes wait");
  close(fileno(o.file));
  CHECK(syn__writer_write(&o, many, 4000) == 0, "what waits cannot be written");
  o.used = 0;
  CHECK(syn__writer_write(&o, many, 5000) == 0, "what does not wait cannot be written");
  CHECK(syn__writer_close(&o, 0) == SYN_E_FILE && strstr(c.message, "steps: cannot write: "), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn__writer_open(&o, &c, "/dev/null") == SYN_OK, "%s", c.message);
  CHECK(syn__writer_close(&o, 0) == SYN_E_FILE && strstr(c.message, "/dev/null: cannot write: "), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn__writer_open(&o, &c, "steps") == SYN_OK && mkdir("steps", 0777) == 0, "%s", c.message);
  CHECK(syn__writer_close(&o, 1) == SYN_E_FILE && strstr(c.message, "rename the temporary file to it"), "%s",
        c.message);
  syn_context_clear(&c);
  CHECK(rmdir("steps") == 0 && h.blocks == 0 && !left_files(), "something is left");
  errno = EINVAL;
  CHECK(syn__path_fail(&c, "steps", "write", 0) == SYN_E_FILE && strstr(c.message, "unknown reason"), "%s", c.message);
}
/* Where all names of temporary files are taken, nothing is written; where some are, the next is. The names begin at the
   second of the clock: all of them are taken only while it moves by less than TAKEN_NAMES - 100 seconds, so the case
   is repeated where it moved by more (a computer that slept, a clock that was set). */
#define TAKEN_NAMES 130
static void writer_names(int taken) {
  static syn__writer o; /* the names depend on its address */
  static char target[] = "steps", names[TAKEN_NAMES][40];
  syn_context c;
  heap h;
  int i, all = taken == TAKEN_NAMES;
  time_t began, moved;
  syn_status status;
  context_on(&c, &h, 0);
  do {
    syn_context_clear(&c);
    o.target = target;
    began = time(NULL);
    for (i = 0; i < taken; i++) {
      o.name = names[i];
      syn__writer_name(&o, (unsigned)i);
      put_text(names[i], "");
    }
    status = syn__writer_open(&o, &c, "steps");
    if (status == SYN_OK) CHECK(syn__writer_close(&o, -1) == SYN_OK && !exists("steps"), "%s", c.message);
    moved = time(NULL) - began;
    for (i = 0; i < taken; i++) remove(names[i]);
  } while (moved < 0 || moved > TAKEN_NAMES - 100);
  CHECK(status == (all ? SYN_E_FILE : SYN_OK), "%s", c.message);
  if (all) CHECK(strstr(c.message, "steps: cannot create a file beside it: "), "%s", c.message);
  CHECK(h.blocks == 0 && !left_files(), "something is left");
}
/* A file of another user keeps its owner, or loses the rights of a group that it cannot keep. */
static void writer_owner(const content *t, uid_t owner, uid_t user, gid_t group, unsigned mode) {
  struct stat info;
  syn_context c;
  heap h;
  syn_status status;
  context_on(&c, &h, 0);
  put_text("owned/file", "old");
  if (chown("owned/file", owner, 4002) != 0 || chmod("owned/file", 0664) != 0) return;
  if (setegid(group) != 0 || seteuid(user) != 0 || stat("owned/file", &info) != 0) {
    printf("skipped: files of other users need the rights of root\n");
  } else {
    status = syn_file_write(&c, "owned/file", t->pairs, PAIRS, t->entries, ENTRIES);
    CHECK(status == SYN_OK && stat("owned/file", &info) == 0, "%s", c.message);
    CHECK((info.st_uid == owner) == (user == 0) && (unsigned)(info.st_mode & 0777) == mode, "%u writes: %u, mode %o",
          (unsigned)user, (unsigned)info.st_uid, (unsigned)(info.st_mode & 0777));
  }
  CHECK(seteuid(0) == 0 && setegid(0) == 0, "the user is not restored");
}
static void test_steps(const content *t) {
  char path[64] = "owned/link", folder[2000];
  int ends[2];
  FILE *pipe_end;
  syn_context c;
  heap h;
  context_on(&c, &h, 0);
  writer_closed("steps", 0, SYN_E_FILE, "steps: cannot write: ");
  writer_closed("steps", 9, SYN_E_FILE, "steps: cannot write: ");
  writer_closed("/dev/null", 0, SYN_E_FILE, "/dev/null: cannot write: ");
  writer_refused();
  writer_names(1);
  writer_names(TAKEN_NAMES);
  CHECK(!syn__sync(-1) && errno == EBADF, "a file that is not open is synced");
  CHECK(pipe(ends) == 0, "no pipe");
  CHECK(syn__sync(ends[1]) || errno != EINVAL, "nothing to sync is no failure");
  pipe_end = fdopen(ends[0], "rb");
  CHECK(pipe_end && syn__file_length(pipe_end) == UINT64_MAX, "a pipe has a size");
  if (pipe_end) fclose(pipe_end);
  close(ends[1]);
  CHECK(mkdir("owned", 0777) == 0 && chmod("owned", 0777) == 0 && make_link("a_longer_name", "owned/link"), "no link");
  CHECK(!syn__path_follow(path, 12) && errno == ENAMETOOLONG, "a name that is longer than there is room");
  CHECK(syn__path_follow(path, sizeof path) && !strcmp(path, "owned/a_longer_name"), "%s", path);
  remove("owned/link");
  if (getcwd(folder, sizeof folder - 20)) { /* a link that begins at the root */
    strcat(folder, "/owned/file");
    CHECK(make_link(folder, "owned/link"), "no link");
    CHECK(!syn_file_write(&c, "owned/link", t->pairs, PAIRS, t->entries, ENTRIES), "%s", c.message);
    CHECK(is_link("owned/link") && exists("owned/file"), "the link was replaced");
    remove("owned/link");
  }
  strcpy(path, "owned/nowhere/file");
  syn__path_sync_folder(path);
  CHECK(!strcmp(path, "owned/nowhere/"), "%s", path);
  if (geteuid() == 0) {
    writer_owner(t, 0, 0, 0, 0664);
    writer_owner(t, 4001, 0, 0, 0664);
    writer_owner(t, 4001, 4003, 4002, 0664); /* the group can be kept */
    writer_owner(t, 4001, 4003, 4004, 0604);
  }
  remove("owned/file");
  CHECK(rmdir("owned") == 0, "something is left");
}

/* -- a file that another process writes while it is read -- */

/* An allocator whose blocks end where no memory may be read. At call number `at` it overwrites
   bytes of the file. */
typedef struct changing {
  long calls, at;
  const char *path;   /* of the file, or null: */
  unsigned char *to;  /* the bytes of one in memory */
  const unsigned char *bytes;
  size_t size;
} changing;

static void *changing_alloc(void *user, size_t bytes) {
  changing *h = (changing *)user;
  static char blanks[1 << 18]; /* JSON goes on through what the library rounds sizes up by */
  if (++h->calls == h->at && !h->path) memcpy(h->to, h->bytes, h->size);
  else if (h->calls == h->at) {
    int file = open(h->path, O_WRONLY);
    CHECK(file >= 0 && write(file, h->bytes, h->size) == (ssize_t)h->size, "cannot write");
    close(file);
  }
  memset(blanks, ' ', sizeof blanks);
  return bytes > sizeof blanks ? NULL : guarded(blanks, bytes);
}
static void changing_release(void *user, void *at, size_t bytes) {
  (void)user, (void)at, (void)bytes;
}

/* The same for a file in memory whose tokenizer gets other counts of tokens and merges. */
static void test_changing_view(syn_context *c, syn_model *m) {
  static const unsigned char counts[3][8] = {
      {0xF0, 0xFF, 0xFF, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0xF0, 0xFF, 0xFF, 0}, {5, 0, 0, 0x40, 0, 0, 0, 0}};
  static store b;
  syn_text text = syn_text_of("a b c d e");
  syn_sink sink = sink_of(&b, sizeof b.at);
  size_t i, from;
  long at;
  syn_model_set_tokenizers(m, syn_tokenizer_learn(c, "space", 0, &text, 1), NULL);
  CHECK(!syn_model_save_as_to(c, m, "i8", &sink), "%s", c->message);
  for (from = 0; from + 28 < b.size && memcmp(b.at + from, SYN__TOKENIZER_MAGIC, 8); from++) {}
  for (i = 0; i < 3; i++)
    for (at = 1; at < 60; at++) {
      unsigned char *copy = (unsigned char *)guarded(b.at, b.size);
      changing w = {0, at, NULL, NULL, counts[i], 8};
      syn_options o;
      syn_context own;
      memset(&o, 0, sizeof o);
      w.to = copy + from + 20;
      o.alloc = changing_alloc;
      o.release = changing_release;
      o.alloc_user = &w;
      syn_context_init(&own, &o);
      syn_model_free(syn_model_view(&own, copy, b.size));
      if (w.calls < at) break;
    }
  CHECK(from + 28 < b.size && at > 5, "no tokenizer, or %ld allocations", at);
}

/* At every allocation the beginning of the file becomes another one: a longer header, header bytes
   that are no JSON, both. Loading succeeds or is refused, and reads nothing behind its blocks. */
static void test_changing(void) {
  static const char path[] = "changing.safetensors";
  syn_config k;
  syn_context c;
  heap h;
  syn_model *m;
  unsigned char head[3][1400]; /* more than the header */
  size_t n = 0;
  int variant, load;
  long at;
  context_on(&c, &h, 0);
  memset(&k, 0, sizeof k);
  k.task = "classify";
  k.encoder = "linear -> norm";
  k.d_model = 32; /* the file is longer than what stdio keeps of it */
  k.src_vocab = 90;
  k.classes = 3;
  m = syn_model_new(&c, &k);
  CHECK(m != NULL, "%s", c.message);
  memset(head, ' ', sizeof head);
  for (load = 0; load < 2; load++)
    for (variant = 0; variant < 3; variant++)
      for (at = 1; at < 60; at++) {
        changing w = {0, at, path, NULL, head[variant], sizeof head[variant]};
        syn_options o;
        syn_context own;
        FILE *f;
        memset(&o, 0, sizeof o);
        if (syn_model_save(&c, m, path)) break;
        f = fopen(path, "rb");
        n = f ? fread(head[variant], 1, 8, f) : 0;
        if (variant == 0 && f) n += fread(head[0] + 8, 1, sizeof head[0] - 8, f);
        if (f) fclose(f);
        CHECK(n >= 8, "%s is not there", path);
        if (variant != 1) head[variant][1] = (unsigned char)(head[variant][1] + 1); /* 256 bytes more */
        o.alloc = changing_alloc;
        o.release = changing_release;
        o.alloc_user = &w;
        syn_context_init(&own, &o);
        if (load) syn_model_free(syn_model_load(&own, path));
        else syn_file_free(syn_file_load(&own, path));
        if (w.calls < at) break;
      }
  CHECK(at > 5, "%ld allocations", at);
  test_changing_view(&c, m);
  syn_model_free(m);
  remove(path);
}
#endif

/* -- numbers -- */

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

static void test_halves(void) {
  static unsigned char raw[2 * 65536 + 1];
  static float out[65536];
  syn_entry e;
  syn_context c;
  heap h;
  uint32_t i, wrong = 0;
  context_on(&c, &h, 0);
  for (i = 0; i < 65536; i++) {
    uint16_t half = (uint16_t)i;
    memcpy(raw + 1 + 2 * i, &half, 2); /* unaligned on purpose */
  }
  e = entry_of("halves", SYN_F16, 256, 256, raw + 1, 2 * 65536);
  CHECK(!syn_entry_floats(&c, &e, out, 65536), "%s", c.message);
  for (i = 0; i < 65536; i++) {
    int exponent = (int)(i >> 10 & 31), mantissa = (int)(i & 1023);
    double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    uint32_t special = 0x7F800000u | (i & 0x8000u) << 16 | (uint32_t)mantissa << 13;
    if (exponent == 31) wrong += bits_of(out[i]) != special;
    else wrong += fabs((double)out[i]) != value || bits_of(out[i]) >> 31 != i >> 15;
  }
  CHECK(wrong == 0, "%lu halves are wrong", (unsigned long)wrong);
  e.dtype = SYN_BF16;
  CHECK(!syn_entry_floats(&c, &e, out, 65536), "%s", c.message);
  for (i = 0; i < 65536; i++) wrong += bits_of(out[i]) != i << 16;
  CHECK(wrong == 0, "%lu bf16 are wrong", (unsigned long)wrong);
  e.dtype = SYN_F32;
  CHECK(!syn_entry_floats(&c, &e, out, 32768), "%s", c.message);
  CHECK(memcmp(out, raw + 1, 4 * 32768) == 0, "F32 is not copied");
  CHECK(syn_entry_floats(&c, &e, out, 32767) == SYN_E_SHAPE, "%s", c.message);
  CHECK(bits_of(out[5]) == 0, "out is not zeroed");
  CHECK(strstr(c.message, "\"halves\" has 131072 bytes of F32, wanted 32767 elements"), "%s",
        c.message);
  syn_context_clear(&c);
  e.dtype = SYN_I32;
  CHECK(syn_entry_floats(&c, &e, out, 32768) == SYN_E_FORMAT, "%s", c.message);
  CHECK(strstr(c.message, "\"halves\" is I32, wanted F32, F16 or BF16"), "%s", c.message);
}

/* Small halves are multiples of 2^-24; what lies between two of them goes to the nearest, ties to even. */
static void test_to_half(void) {
  static const float parts[] = {0.0f, 0.25f, 0.5f, 0.75f};
  uint32_t n, k, wrong = 0;
  for (n = 0; n < 1024; n++)
    for (k = 0; k < 4; k++) {
      uint32_t up = k == 3 || (k == 2 && n % 2), bits = bits_of(((float)n + parts[k]) / 16777216.0f);
      wrong += syn__to_f16(bits) != n + up || syn__to_f16(bits | 0x80000000u) != (n + up + 0x8000u);
    }
  CHECK(wrong == 0, "%lu small halves are wrong", (unsigned long)wrong);
  CHECK(syn__to_f16(bits_of(1.0f)) == 0x3C00 && syn__to_f16(bits_of(-2.5f)) == 0xC100, "halves");
}

/* An entry that the caller made: only its bytes are trusted. */
static void test_own_entry(void) {
  static float from[4] = {1, 2, 3, 4};
  syn__stored s;
  float out[4];
  syn_context c;
  heap h;
  syn_entry e = entry_of("own", SYN_F32, 2, 2, (unsigned char *)from, sizeof from);
  context_on(&c, &h, 0);
  memset(&s, 0, sizeof s);
  s.entry[0] = e, s.k = 2, s.rows = 2;
  CHECK(syn__stored_value(&s, 1, 0) == 3.0f, "weight (1, 0) of floats");
  CHECK(syn_entry_floats(&c, NULL, out, 4) == SYN_E_VALUE && strstr(c.message, "no entry"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_entry_floats(&c, &e, out, 4) == SYN_OK && out[3] == 4.0f, "%s", c.message);
  e.data = NULL;
  CHECK(syn_entry_floats(&c, &e, out, 4) == SYN_E_SHAPE || c.status, "%s", c.message);
  syn_context_clear(&c);
  e.bytes = 0;
  CHECK(syn_entry_floats(&c, &e, out, 0) == SYN_OK, "no floats: %s", c.message);
  e.name = NULL;
  CHECK(syn_entry_floats(&c, &e, out, 1) == SYN_E_SHAPE && strstr(c.message, "\"\""), "%s", c.message);
  syn_context_clear(&c);
  e.dtype = SYN_I8;
  CHECK(syn_entry_floats(&c, &e, out, 0) == SYN_E_FORMAT && strstr(c.message, "\"\" is I8"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(syn_file_write(&c, SCRATCH, NULL, 1, NULL, 0) == SYN_E_VALUE && strstr(c.message, "metadata"), "%s",
        c.message);
  syn_context_clear(&c);
  CHECK(syn_file_write(&c, SCRATCH, NULL, 0, NULL, 1) == SYN_E_VALUE && strstr(c.message, "entries"), "%s", c.message);
  syn_context_clear(&c);
  CHECK(!syn_file_view(&c, NULL, 9) && c.status == SYN_E_VALUE && strstr(c.message, "null for 9 bytes"), "%s",
        c.message);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

static void test_swap(void) {
  unsigned char a[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  syn__swap(a, 16, 1);
  CHECK(a[0] == 0 && a[15] == 15, "swap of bytes");
  syn__swap(a, 6, 2);
  CHECK(a[0] == 1 && a[1] == 0 && a[5] == 4 && a[6] == 6, "swap of 2");
  syn__swap(a + 8, 8, 8);
  CHECK(a[7] == 7 && a[8] == 15 && a[15] == 8, "swap of 8");
}

/* -- many tensors: names are found, loading does not grow with the square -- */

static void test_many(void) {
  enum { N = 20000 };
  syn_entry *entries = (syn_entry *)calloc(N, sizeof *entries);
  char *names = (char *)calloc(N, 16);
  syn_context c;
  heap h;
  syn_file *f;
  size_t i, found = 0;
  int32_t number = 7;
  if (!entries || !names) return;
  context_on(&c, &h, 0);
  for (i = 0; i < N; i++) {
    sprintf(names + 16 * i, "t%lu", (unsigned long)(i * 7919 % N));
    entries[i] = entry_of(names + 16 * i, SYN_I32, 1, i % 3 ? 1 : 0, &number, i % 3 ? 4 : 0);
  }
  CHECK(!syn_file_write(&c, SCRATCH, NULL, 0, entries, N), "%s", c.message);
  f = syn_file_load(&c, SCRATCH);
  CHECK(f && syn_file_count(f) == N, "%s", c.message);
  for (i = 0; f && i < N; i++) found += syn_file_find(f, names + 16 * i) == syn_file_entry(f, i);
  CHECK(found == N, "%lu of %d found", (unsigned long)found, (int)N);
  syn_file_free(f);
  free(names);
  free(entries);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

/* -- golden files -- */

static void test_golden(void) {
#ifdef POSIX
  const char *root = getenv("ROOT");
  char folder[1000], path[1300];
  struct dirent *item;
  int count = 0;
  DIR *dir;
  snprintf(folder, sizeof folder, "%.900s/tests/golden", root ? root : "..");
  dir = opendir(folder);
  CHECK(dir, "%s: no such folder", folder);
  while (dir && (item = readdir(dir)) != NULL) {
    syn_context c;
    heap h;
    syn_file *f;
    size_t n = strlen(item->d_name);
    if (n < 12 || strcmp(item->d_name + n - 12, ".safetensors") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
    context_on(&c, &h, 0);
    f = syn_file_load(&c, path);
    CHECK(f && syn_file_count(f) > 2 && syn_file_pair_count(f) > 2, "%s: %s", path, c.message);
    CHECK(f && syn_file_value(f, "format") && syn_file_value(f, "task"), "%s: no format", path);
    CHECK(f && syn_file_find(f, "test.logits"), "%s: no logits", path);
    syn_file_free(f);
    count++;
  }
  if (dir) closedir(dir);
  CHECK(count == 95, "%s: %d golden files, not 95", folder, count);
#else
  printf("skipped: golden, no folders here\n");
#endif
}

/* -- weights in fewer bits -- */

static const char *const weight_types[] = {"f32", "f16", "bf16", "i8", "i4"};

static syn_model *small_model(syn_context *c) {
  syn_config k;
  syn_model *m;
  syn_random r = {5};
  size_t n, i;
  memset(&k, 0, sizeof k);
  k.task = "lm";
  k.decoder = "pos -> res_nd(syn_att(R+V)) -> cnn(35, 3, relu)";
  k.d_model = 35; /* more than a group; odd */
  k.heads = 5;
  k.max_len = 4;
  k.tgt_vocab = 7;
  k.tie = "none";
  m = syn_model_new(c, &k);
  CHECK(m, "%s", c->message);
  for (n = 0; n < syn_model_param_count(m); n++) {
    const syn_param *p = syn_model_param(m, n);
    for (i = 0; i < p->size; i++) p->x[i] = syn_random_normal(&r) * (i % 40 == 3 ? 3.0f : 1.0f);
    for (i = 0; p->rank > 1 && i < (size_t)p->shape[p->rank - 1]; i++) p->x[i] = 0.0f; /* a row of zeros */
  }
  return m;
}

typedef struct large {
  unsigned char at[65536];
  size_t size;
} large;
static size_t large_write(void *user, const void *from, size_t size) {
  large *b = (large *)user;
  if (size > sizeof b->at - b->size) return 0;
  memcpy(b->at + b->size, from, size);
  b->size += size;
  return size;
}
static syn_status large_save(syn_context *c, const syn_model *m, const char *type, large *b) {
  syn_sink sink;
  sink.write = large_write;
  sink.user = b;
  b->size = 0;
  return syn_model_save_as_to(c, m, type, &sink);
}

/* The largest error of a weight as a share of the largest of its tensor (f16, bf16: of itself), and
   the root of the mean square. */
static void weight_errors(const syn_model *m, const syn_model *q, const char *type) {
  static const double most[] = {0.0, 1.0 / 2048, 1.0 / 256, 0.5 / 126, 0.25};
  int t = 0;
  size_t n, i;
  double sum = 0.0, all = 0.0;
  while (strcmp(weight_types[t], type)) t++;
  for (n = 0; n < syn_model_param_count(m); n++) {
    const syn_param *a = syn_model_param(m, n), *b = syn_model_param(q, n);
    double top = 0.0, worst = 0.0;
    CHECK(!strcmp(b->type, a->rank > 1 ? type : "f32"), "%s has type %s", b->name, b->type);
    for (i = 0; i < a->size; i++) top = fmax(top, fabs((double)a->x[i]));
    for (i = 0; i < a->size; i++) {
      double e = fabs((double)a->x[i] - (double)b->x[i]), unit = t < 3 ? fabs((double)a->x[i]) : top;
      if (e > 0.0) worst = fmax(worst, e / unit);
      sum += e * e, all += (double)a->x[i] * (double)a->x[i];
    }
    CHECK(worst <= (a->rank > 1 ? most[t] : 0.0), "%s as %s: error %g", a->name, type, worst);
  }
  CHECK(sqrt(sum / all) < (t < 4 ? 0.01 : 0.11), "%s: errors of %g", type, sqrt(sum / all));
}

static void test_types(void) {
  static large b, again, plain;
  static const size_t sizes[] = {4, 2, 2, 1, 1};
  syn_context c;
  heap h;
  syn_model *m, *q, *m32;
  size_t t, first = 0;
  context_on(&c, &h, 0);
  m = small_model(&c);
  for (t = 0; m && t < 5; t++) {
    CHECK(large_save(&c, m, weight_types[t], &b) == SYN_OK, "%s: %s", weight_types[t], c.message);
    if (t == 0) first = b.size;
    CHECK(b.size < first * sizes[t] / 4 + 4000, "%s: %lu bytes", weight_types[t], (unsigned long)b.size);
    q = syn_model_view(&c, b.at, b.size);
    CHECK(q, "%s: %s", weight_types[t], c.message);
    if (!q) continue;
    weight_errors(m, q, weight_types[t]);
    CHECK(!large_save(&c, q, weight_types[t], &again) && again.size == b.size && !memcmp(again.at, b.at, b.size),
          "%s of %s: other bytes", weight_types[t], weight_types[t]);
    m32 = syn_model_save_as(&c, m, weight_types[t], "types.safetensors") ? NULL : syn_model_load(&c, "types.safetensors");
    CHECK(!large_save(&c, m32, weight_types[t], &again) && again.size == b.size && !memcmp(again.at, b.at, b.size),
          "%s of %s: other bytes once loaded", weight_types[t], weight_types[t]);
    syn_model_free(m32);
    CHECK(!large_save(&c, q, "f32", &plain), "%s", c.message);
    if (t > 2) { /* a changed weight is written as it is now */
      syn_param *p = (syn_param *)syn_model_find(q, "out.w");
      syn_model *changed;
      p->x[36] = 20.0f;
      CHECK(!large_save(&c, q, weight_types[t], &again) && memcmp(again.at, b.at, b.size), "not changed");
      changed = syn_model_view(&c, again.at, again.size);
      CHECK(changed && fabsf(syn_model_find(changed, "out.w")->x[36] - 20.0f) < (t == 3 ? 0.1f : 1.5f), "%s",
            c.message);
      syn_model_free(changed);
    }
    syn_model_free(q);
    q = syn_model_view(&c, b.at, b.size); /* the same floats as the file in f32 */
    m32 = syn_model_view(&c, plain.at, plain.size);
    CHECK(m32, "%s", c.message);
    if (q && m32) weight_errors(q, m32, "f32");
    syn_model_free(m32);
    syn_model_free(q);
  }
  if (m) {
    syn_model_find(m, "out.w")->x[0] = 70000.0f;
    CHECK(large_save(&c, m, "f16", &b) == SYN_E_VALUE && strstr(c.message, "out.w"), "%s", c.message);
    syn_context_clear(&c);
    syn_model_find(m, "out.w")->x[0] = INFINITY;
    for (t = 1; t < 5; t++, syn_context_clear(&c))
      CHECK(large_save(&c, m, weight_types[t], &b) == SYN_E_VALUE && strstr(c.message, "row 0 of out.w"),
            "%s", c.message);
    CHECK(large_save(&c, m, "i5", &b) == SYN_E_VALUE && strstr(c.message, "i5"), "%s", c.message);
  }
  syn_model_free(m);
  CHECK(h.blocks == 0, "%ld blocks left", h.blocks);
}

/* The file with tensor `name` changed to `e` (null: left out) is refused with these words. */
static void refuse_weights(const large *b, const char *name, const syn_entry *e, const char *words) {
  static large bad;
  syn_entry entries[64];
  syn_pair pairs[32];
  syn_context c;
  heap h;
  syn_sink sink;
  syn_file *f;
  size_t i, n = 0, found = 0;
  context_on(&c, &h, 0);
  f = syn_file_view(&c, b->at, b->size);
  for (i = 0; i < syn_file_pair_count(f); i++) pairs[i] = *syn_file_pair(f, i);
  for (i = 0; i < syn_file_count(f); i++) {
    entries[n] = *syn_file_entry(f, i);
    if (!strcmp(entries[n].name, name)) {
      found = 1;
      if (!e) continue;
      entries[n] = *e;
    }
    n++;
  }
  if (!found && e) entries[n++] = *e; /* a surplus tensor */
  sink.write = large_write, sink.user = &bad, bad.size = 0;
  CHECK(!syn_file_write_to(&c, &sink, pairs, syn_file_pair_count(f), entries, n), "%s", c.message);
  syn_file_free(f);
  CHECK(!syn_model_view(&c, bad.at, bad.size) && c.status == SYN_E_FORMAT && strstr(c.message, words),
        "wanted %s, got %s", words, c.message);
  CHECK(h.blocks == 0, "%s: %ld blocks left", words, h.blocks);
}

static void hostile_scale(const large *b, float value, const char *words) {
  float scale[7] = {1, 1, 1, 1, 1, 1, 1};
  syn_entry e = entry_of("out.w.scale", SYN_F32, 7, 0, scale, sizeof scale);
  e.rank = 1;
  scale[4] = value;
  refuse_weights(b, e.name, &e, words);
}
static void test_hostile_types(void) {
  static large b;
  static unsigned char zeros[300];
  syn_context c;
  heap h;
  syn_model *m, *q;
  syn_entry e;
  size_t t, i;
  long n;
  context_on(&c, &h, 0);
  m = small_model(&c);
  for (t = 3; m && t < 5; t++) {
    syn_context_clear(&c);
    CHECK(large_save(&c, m, weight_types[t], &b) == SYN_OK, "%s", c.message);
    hostile_scale(&b, NAN, "out.w.scale: number 4");
    hostile_scale(&b, -INFINITY, "out.w.scale: number 4");
    hostile_scale(&b, 2e35f, "scale 4 is above");
    refuse_weights(&b, "out.w.scale", NULL, "out.w.scale [7] is missing");
    e = entry_of("out.w.scale", SYN_F32, 1, 7, zeros, 28);
    refuse_weights(&b, e.name, &e, "is [1,7], wanted [7]");
    e = entry_of("out.w.scale", SYN_F16, 7, 0, zeros, 14);
    e.rank = 1;
    refuse_weights(&b, e.name, &e, "out.w.scale has dtype F16, wanted F32");
    e = entry_of("out.b", t == 3 ? SYN_I8 : SYN_U8, 7, 0, zeros, 7);
    e.rank = 1;
    refuse_weights(&b, e.name, &e, "out.b has dtype");
    e = entry_of("out.b.scale", SYN_F32, 7, 0, zeros, 28);
    e.rank = 1;
    refuse_weights(&b, e.name, &e, "out.b.scale is not part");
    e = entry_of("out.w", t == 3 ? SYN_I8 : SYN_U8, 7, 34, zeros, 238);
    refuse_weights(&b, e.name, &e, "out.w is [7,34], wanted [7,");
    e = entry_of("out.w.group", SYN_U8, 7, t == 3 ? 2 : 3, zeros, t == 3 ? 14 : 21);
    refuse_weights(&b, e.name, &e, t == 3 ? "out.w.group is not part" : "is [7,3], wanted [7,2]");
    for (i = 0; i < b.size; i += 97) { /* truncated; one byte of the header or the data changed */
      unsigned char *block = (unsigned char *)malloc(b.size);
      if (!block) exit(2);
      memcpy(block, b.at, b.size);
      syn_context_clear(&c);
      CHECK(!syn_model_view(&c, block, i) && c.status, "%lu bytes", (unsigned long)i);
      syn_context_clear(&c);
      block[i] ^= 0x55;
      syn_model_free(syn_model_view(&c, block, b.size));
      free(block);
    }
    syn_context_clear(&c);
  }
  for (n = 1, q = NULL; m && n < 200 && !q; n++) {
    heap h2;
    syn_context c2;
    context_on(&c2, &h2, n);
    q = syn_model_view(&c2, b.at, b.size);
    CHECK(q || (c2.status == SYN_E_MEMORY && !h2.blocks), "allocation %ld: %s", n, c2.message);
    if (q) {
      long calls = h2.calls, k;
      static large out;
      for (k = 1; k < 200; k++) {
        h2.fail_at = h2.calls + k;
        syn_context_clear(&c2);
        if (!large_save(&c2, q, "i8", &out)) break;
        CHECK(c2.status == SYN_E_MEMORY, "allocation %ld of saving: %s", k, c2.message);
      }
      CHECK(calls && k > 2 && k < 200, "saving: %ld", k);
      syn_model_free(q);
    }
  }
  syn_model_free(m);
}

int main(void) {
  static content t;
  static store whole;
  fill(&t);
  test_round(&t, &whole);
  test_tolerance();
  test_hostile();
  test_damage(&whole);
  test_memory(&t, &whole);
  test_refused(&t);
  test_sink(&t, &whole);
  test_source(&whole);
  test_files(&t, &whole);
  test_full(&t, &whole);
  test_messages();
#ifdef POSIX
  test_beside(&t);
  test_links(&t, &whole);
  test_modes(&t);
  test_steps(&t);
  test_changing();
#endif
  test_halves();
  test_to_half();
  test_own_entry();
  test_swap();
  test_many();
  test_types();
  test_hostile_types();
  test_golden();
  remove(SCRATCH);
  return check_end("file");
}
