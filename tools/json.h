/* json.h   reads JSON into a tree: configurations, tokenizers and answers of other programs.
   A part of syn.c, which includes it behind text.h. Wrong JSON exits with its path and byte. */

enum { JSON_DEPTH = 64 }; /* lists inside lists */

typedef enum json_kind {
  JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUM, JSON_TEXT, JSON_LIST, JSON_OBJECT
} json_kind;

/* Values lie in one array in the order of the file. Values inside of one follow it; `next` is the
   place of its neighbour, 0: it is the last. */
typedef struct json_value {
  syn_text key, text; /* key: of a member of an object; text: of a text, a number */
  uint32_t next, count; /* count: of values inside */
  json_kind kind;
} json_value;

typedef struct json {
  buffer bytes; /* the file; its texts are decoded in place, where they become no longer */
  json_value *at;
  size_t count, cap, read; /* read: bytes that were read */
  const char *path;
} json;

MAYBE_UNUSED static void json_fail(const json *j, const char *wanted) NO_RETURN;
MAYBE_UNUSED static void json_fail(const json *j, const char *wanted) {
  fail(FAILED_JOB, "%s: byte %.0f: %s wanted in JSON", j->path, (double)j->read, wanted);
}

/* The next byte that is no white space, 0 at the end. */
MAYBE_UNUSED static char json_peek(json *j) {
  while (j->read < j->bytes.size && strchr(" \t\r\n", j->bytes.at[j->read]) &&
         j->bytes.at[j->read])
    j->read++;
  return (char)(j->read < j->bytes.size ? j->bytes.at[j->read] : 0);
}
MAYBE_UNUSED static int json_next_is(json *j, char c) {
  if (json_peek(j) != c || j->read >= j->bytes.size) return 0;
  j->read++;
  return 1;
}

/* Four hexadecimal digits behind \u. */
MAYBE_UNUSED static uint32_t json_hex(json *j) {
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  uint32_t code = 0;
  int i;
  for (i = 0; i < 4; i++, j->read++) {
    const char c = j->read < j->bytes.size ? j->bytes.at[j->read] : 0, *digit = strchr(digits, c);
    if (!c || !digit) json_fail(j, "a hexadecimal digit");
    code = code << 4 | ((uint32_t)(digit - digits) & 15);
  }
  return code;
}

/* Writes a character behind `used` decoded bytes; returns the bytes with it. */
MAYBE_UNUSED static size_t json_put(char *at, size_t used, uint32_t code) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
  int i;
  at[used++] = (char)(lead[more] | code >> 6 * more);
  for (i = more - 1; i >= 0; i--) at[used++] = (char)(0x80 | (code >> 6 * i & 63));
  return used;
}

/* The character behind a backslash. */
MAYBE_UNUSED static uint32_t json_escape(json *j) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char c = j->read < j->bytes.size ? j->bytes.at[j->read] : 0, *name = strchr(names, c);
  uint32_t code, low;
  if (c && name) return j->read++, (uint32_t)(unsigned char)values[name - names];
  if (c != 'u') json_fail(j, "a character to escape");
  j->read++;
  code = json_hex(j);
  if (code - 0xD800 >= 0x800) return code;
  if (code >= 0xDC00 || j->read + 2 > j->bytes.size || memcmp(j->bytes.at + j->read, "\\u", 2) != 0)
    json_fail(j, "a pair of surrogates");
  j->read += 2;
  low = json_hex(j);
  if (low - 0xDC00 >= 0x400) json_fail(j, "a pair of surrogates");
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

/* A text behind its first quotation mark. */
MAYBE_UNUSED static syn_text json_text(json *j) {
  char *out = j->bytes.at + j->read;
  syn_text text;
  size_t used = 0;
  text.at = out;
  for (;;) {
    const char c = j->read < j->bytes.size ? j->bytes.at[j->read] : 0;
    if (!c || (unsigned char)c < 32) json_fail(j, "the end of a text");
    j->read++;
    if (c == '"') break;
    if (c == '\\') used = json_put(out, used, json_escape(j));
    else out[used++] = c;
  }
  text.size = used;
  return text;
}

/* A new value behind the others. */
MAYBE_UNUSED static size_t json_add(json *j, json_kind kind) {
  if (j->count == j->cap) {
    j->cap = j->cap ? 2 * j->cap : 64;
    if (j->cap > UINT32_MAX / 2) json_fail(j, "fewer values");
    j->at = (json_value *)grow(j->at, j->cap, sizeof *j->at);
  }
  memset(&j->at[j->count], 0, sizeof *j->at);
  j->at[j->count].kind = kind;
  return j->count++;
}

MAYBE_UNUSED static void json_word(json *j) {
  static const char *const words[] = {"null", "false", "true"};
  const size_t begin = j->read;
  size_t i, at;
  double number;
  char text[64];
  for (i = 0; i < 3; i++) {
    const size_t size = strlen(words[i]);
    if (j->bytes.size - begin < size || memcmp(j->bytes.at + begin, words[i], size) != 0) continue;
    j->read += size;
    json_add(j, (json_kind)i);
    return;
  }
  while (j->read < j->bytes.size && j->bytes.at[j->read] &&
         strchr("+-.0123456789eE", j->bytes.at[j->read]))
    j->read++;
  at = json_add(j, JSON_NUM);
  j->at[at].text.at = j->bytes.at + begin;
  j->at[at].text.size = j->read - begin;
  if (j->read - begin >= sizeof text) json_fail(j, "a shorter number");
  memcpy(text, j->bytes.at + begin, j->read - begin);
  text[j->read - begin] = 0;
  if (!parse_number(text, &number)) json_fail(j, "a value");
}

/* The values of a list or an object, behind its first bracket. */
MAYBE_UNUSED static void json_read(json *j, int depth);
MAYBE_UNUSED static void json_inside(json *j, size_t owner, int depth) {
  const int object = j->at[owner].kind == JSON_OBJECT;
  size_t last = 0;
  if (json_next_is(j, object ? '}' : ']')) return;
  do {
    const size_t at = j->count;
    syn_text key = {NULL, 0};
    if (object && !json_next_is(j, '"')) json_fail(j, "a name in quotation marks");
    if (object) key = json_text(j);
    if (object && !json_next_is(j, ':')) json_fail(j, "a colon");
    json_read(j, depth + 1);
    j->at[at].key = key;
    if (last) j->at[last].next = (uint32_t)at;
    last = at;
    j->at[owner].count++;
  } while (json_next_is(j, ','));
  if (!json_next_is(j, object ? '}' : ']')) json_fail(j, "a comma or a closing bracket");
}

MAYBE_UNUSED static void json_read(json *j, int depth) {
  const char c = json_peek(j);
  if (depth > JSON_DEPTH) json_fail(j, "fewer lists inside lists");
  if (c != '{' && c != '[' && c != '"') {
    json_word(j);
    return;
  }
  j->read++;
  if (c == '"') {
    const syn_text text = json_text(j);
    const size_t at = json_add(j, JSON_TEXT);
    j->at[at].text = text;
  } else {
    json_inside(j, json_add(j, c == '{' ? JSON_OBJECT : JSON_LIST), depth);
  }
}

/* The tree of a block of bytes, which it owns; values are pointers into it from then on. */
MAYBE_UNUSED static json json_parse(buffer bytes, const char *path) {
  json j;
  memset(&j, 0, sizeof j);
  j.bytes = bytes;
  j.path = path;
  skip_byte_order_mark(&j.bytes);
  json_read(&j, 0);
  if (json_peek(&j) || j.read < j.bytes.size) json_fail(&j, "the end");
  return j;
}
MAYBE_UNUSED static void json_free(json *j) {
  free(j->bytes.at);
  free(j->at);
}

/* -- looking; null stands for a value that is not there, and has none inside -- */

MAYBE_UNUSED static const json_value *json_first(const json_value *v) {
  return v && v->count ? v + 1 : NULL;
}
/* The value behind v in its list or object; `j` holds both. */
MAYBE_UNUSED static const json_value *json_after(const json *j, const json_value *v) {
  return v && v->next ? j->at + v->next : NULL;
}
/* The member of an object with this name; of two the last. */
MAYBE_UNUSED static const json_value *json_get(const json *j, const json_value *v,
                                               const char *key) {
  const json_value *found = NULL, *k = v && v->kind == JSON_OBJECT ? json_first(v) : NULL;
  for (; k; k = json_after(j, k))
    if (text_is(k->key, key)) found = k;
  return found;
}
MAYBE_UNUSED static int json_is(const json_value *v, const char *text) {
  return v && v->kind == JSON_TEXT && text_is(v->text, text);
}
MAYBE_UNUSED static int json_true(const json_value *v) { return v && v->kind == JSON_TRUE; }
/* A number; `other` where v is none. */
MAYBE_UNUSED static double json_double(const json_value *v, double other) {
  char text[64];
  double number = other;
  if (!v || v->kind != JSON_NUM) return other;
  memcpy(text, v->text.at, v->text.size); /* it was checked when it was read */
  text[v->text.size] = 0;
  parse_number(text, &number);
  return number;
}
/* A whole number of an int; `other` where v is none. */
MAYBE_UNUSED static int json_int(const json_value *v, int other) {
  const double number = json_double(v, 0.5);
  return number == floor(number) && fabs(number) <= 2147483647.0 ? (int)number : other;
}
