/* fuzz_mutate.h   mutates safetensors files so that most of them stay valid: half of the time the
   library's reader and writer change one pair or one tensor; otherwise bytes change as libFuzzer
   likes. Include it after fuzz.h. */
enum { MUTATE_TENSORS = 256, MUTATE_PAIRS = 64 };
#define MUTATE_DATA ((size_t)1 << 16)

typedef struct mutation {
  syn_random r;
  syn_entry e[MUTATE_TENSORS];
  syn_pair p[MUTATE_PAIRS];
  int tensors, pairs;
  char text[4096];                 /* the one text that is new */
  unsigned char data[MUTATE_DATA]; /* of the one tensor that is new */
} mutation;

static int mutate_below(mutation *m, size_t n) { return syn_random_below(&m->r, (int)n); }

/* A text in place of *at: mutated, a number, or the value of another pair. */
static void mutate_text(mutation *m, const char **at) {
  static const char *const words[] = {
      "0",       "1",       "2",          "-1",          "3",
      "4",       "5",       "7",          "16",          "64",
      "65537",   "1048576", "2147483647", "4294967296",  "99999999999999999999",
      "1e9",     "0.5",     "1.0",        "nan",         "",
      "seq2seq", "lm",      "classify",   "tag",         "none",
      "out",     "all",     "learn_pos",  "pos -> norm", "res_nd(ff)",
      "rnn",     "id",      "linear(8)"};
  size_t size = strlen(*at);
  switch (mutate_below(m, 4)) {
    case 0: *at = words[mutate_below(m, sizeof words / sizeof *words)]; return;
    case 1: *at = m->p[mutate_below(m, (size_t)m->pairs)].value; return;
    default: break;
  }
  if (size > sizeof m->text / 2) size = sizeof m->text / 2;
  memcpy(m->text, *at, size);
  size = LLVMFuzzerMutate((uint8_t *)m->text, size, sizeof m->text - 1);
  m->text[size] = 0;
  *at = m->text;
}

/* A copy of the data with one number, or some bytes, that mean trouble. */
static void mutate_data(mutation *m, syn_entry *e) {
  static const uint32_t floats[] = {0x7FC00000u, 0x7F800000u, 0xFF800000u, 0x7F7FFFFFu,
                                    0xFF7FFFFFu, 1u,          0x80000000u, 0x7E967699u,
                                    0x00800000u, 0x3F800000u};
  size_t size = e->bytes < MUTATE_DATA ? e->bytes : MUTATE_DATA, at;
  if (e->bytes > MUTATE_DATA || !size) return;
  memcpy(m->data, e->data, size);
  at = (size_t)mutate_below(m, size);
  if (size >= 4 && mutate_below(m, 2))
    memcpy(m->data + (at & ~(size_t)3) % (size - 3), &floats[mutate_below(m, 10)], 4);
  else LLVMFuzzerMutate(m->data, size, size);
  e->data = m->data;
}

/* Another shape of as many bytes as the new shape needs; the data are zeros where there were
   none. */
static void mutate_shape(mutation *m, syn_entry *e) {
  static const unsigned char sizes[] = {0, 1, 2, 3, 4, 8, 16, 32};
#define MUTATE_BITS(dtype, name, bits, unit) bits,
  static const unsigned char bits[] = {SYN_DTYPE_LIST(MUTATE_BITS)};
#undef MUTATE_BITS
  size_t count = 1, bytes;
  int i;
  if (mutate_below(m, 2)) e->dtype = (syn_dtype)mutate_below(m, SYN_DTYPE_COUNT);
  else if (mutate_below(m, 3)) e->rank = mutate_below(m, SYN_FILE_RANK + 1);
  for (i = 0; i < e->rank; i++)
    if (!e->shape[i] || !mutate_below(m, 3)) e->shape[i] = sizes[mutate_below(m, 8)];
  for (i = 0; i < e->rank; i++)
    count = e->shape[i] && count > MUTATE_DATA / e->shape[i] ? MUTATE_DATA : count * e->shape[i];
  bytes = count * bits[e->dtype] / 8;
  if (bytes > MUTATE_DATA) return;
  memset(m->data, 0, bytes);
  memcpy(m->data, e->data, bytes < e->bytes ? bytes : e->bytes);
  e->data = m->data;
  e->bytes = bytes;
}

static void mutate_tensor(mutation *m) {
  int i = mutate_below(m, (size_t)m->tensors), k = mutate_below(m, (size_t)m->tensors);
  syn_entry e = m->e[i];
  switch (mutate_below(m, 8)) {
    case 0: m->e[i] = m->e[--m->tensors]; break;
    case 1: m->e[i].name = m->e[k].name; m->e[k].name = e.name; break;
    case 2: m->e[i].data = m->e[k].data; m->e[i].bytes = m->e[k].bytes; break;
    case 3: mutate_shape(m, &m->e[i]); break;
    case 4:
      if (m->tensors < MUTATE_TENSORS) m->e[m->tensors++] = e;
      m->e[m->tensors - 1].name = strcpy(m->text, "optimizer.new");
      break;
    default: mutate_data(m, &m->e[i]); break;
  }
}

static void mutate_pair(mutation *m) {
  int i = mutate_below(m, (size_t)m->pairs), k = mutate_below(m, (size_t)m->pairs);
  const char *value = m->p[i].value;
  switch (mutate_below(m, 8)) {
    case 0: m->p[i] = m->p[--m->pairs]; break;
    case 1: m->p[i].value = m->p[k].value; m->p[k].value = value; break;
    case 2: mutate_text(m, &m->p[i].key); break;
    default: mutate_text(m, &m->p[i].value); break;
  }
}

/* Mostly without the checksum of a checkpoint: with it, every change would end at that one
   check. */
static void mutate_checksum(mutation *m) {
  int i;
  for (i = 0; i < m->pairs; i++)
    if (!strcmp(m->p[i].key, "train.checksum") && mutate_below(m, 16)) m->p[i--] = m->p[--m->pairs];
}

/* Writes the changed file over `at`; 0: it was no file, or what became of it is none. */
static size_t mutate_file(uint8_t *at, size_t size, size_t most, unsigned seed) {
  static mutation m;
  syn_context c;
  fuzz_bytes b;
  syn_sink sink = fuzz_sink(&b);
  syn_file *f;
  fuzz_context(&c, "scalar", 0);
  f = syn_file_view(&c, at, size);
  if (!f) return 0;
  m.r.state = seed;
  for (m.tensors = 0; m.tensors < MUTATE_TENSORS && syn_file_entry(f, (size_t)m.tensors);
       m.tensors++)
    m.e[m.tensors] = *syn_file_entry(f, (size_t)m.tensors);
  for (m.pairs = 0; m.pairs < MUTATE_PAIRS && syn_file_pair(f, (size_t)m.pairs); m.pairs++)
    m.p[m.pairs] = *syn_file_pair(f, (size_t)m.pairs);
  mutate_checksum(&m);
  if (m.pairs && (!m.tensors || mutate_below(&m, 2))) mutate_pair(&m);
  else if (m.tensors) mutate_tensor(&m);
  size = 0;
  if (!syn_file_write_to(&c, &sink, m.p, (size_t)m.pairs, m.e, (size_t)m.tensors) &&
      b.size <= most) {
    memcpy(at, b.at, b.size);
    size = b.size;
  }
  syn_file_free(f);
  free(b.at);
  return size;
}

#ifndef MUTATE_FILE /* defined: the fuzzer has its own mutator, which calls mutate_file */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t size, size_t most, unsigned seed) {
  size_t changed = seed % 2 ? mutate_file(at, size, most, seed) : 0;
  return changed ? changed : LLVMFuzzerMutate(at, size, most);
}
#endif
