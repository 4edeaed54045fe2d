/* signals.h   a safetensors file of numbers and their targets becomes the lines of a text file.
   A part of syn.c, which includes it behind overlap.h. */

/* ==============================================================================================
   >>tool signals   tensors x, lengths and y become lines of numbers and targets
   ============================================================================================== */

/* x [rows, features] has the rows of all sources, one source after the other; lengths [sources]
   tells how many rows are of each; y is the target of each source or of each row. The lines are
   those of a TSV file with the same numbers: nine digits give a float32 back exactly, so training
   on them gives the same bits. A file is hostile: every length, class and shape is checked here,
   every number where the lines are read. */

/* What y is, a sum. 0: it is not read. */
enum {
  SIGNAL_TARGET = 1, /* numbers of each source: [sources, k], or [sources] of one */
  SIGNAL_LABELS = 2, /* classes instead: [sources] */
  SIGNAL_ROWS = 4    /* of each row: [rows] in place of [sources] */
};

/* A class name may be so long, since each row of a small file may name it. */
enum { CLASS_BYTES = 255, SHAPE_BYTES = 200 };

typedef struct signals {
  syn_context c;
  syn_file *f;
  const char *path;
  const syn_entry *x, *lengths, *y;
  int target;
  syn_text *name; /* [names] of the classes */
  size_t names;   /* 0: the file has none, so labels are the numbers themselves */
  buffer out;
} signals;

/* -- one tensor -- */

/* Its type and shape, as messages show them. */
static const char *entry_shape(char out[SHAPE_BYTES], const syn_entry *e) {
  size_t n = (size_t)snprintf(out, SHAPE_BYTES, "%s [", syn_dtype_name(e->dtype));
  int i;
  for (i = 0; i < e->rank; i++)
    n += (size_t)snprintf(out + n, SHAPE_BYTES - n, "%s%lu", i ? ", " : "",
                          (unsigned long)e->shape[i]);
  snprintf(out + n, SHAPE_BYTES - n, "]");
  return out;
}

static void entry_check(const signals *s, const syn_entry *e, int right, const char *wanted) {
  char shape[SHAPE_BYTES];
  if (!right)
    fail(FAILED_JOB, "%s: tensor %s is %s, wanted %s", s->path, e->name, entry_shape(shape, e),
         wanted);
}

/* Integers; of 64 bits those with a sign alone, which an int64_t holds. */
static int entry_is_whole(const syn_entry *e) {
  return e->dtype == SYN_BOOL || e->dtype == SYN_I8 || e->dtype == SYN_U8 || e->dtype == SYN_I16 ||
         e->dtype == SYN_U16 || e->dtype == SYN_I32 || e->dtype == SYN_U32 || e->dtype == SYN_I64;
}
static int entry_is_real(const syn_entry *e) {
  return e->dtype == SYN_F32 || e->dtype == SYN_F16 || e->dtype == SYN_BF16 || e->dtype == SYN_F64;
}

/* The bytes of element i, which may stand at any address. */
static syn_text entry_at(const syn_entry *e, size_t i) {
  size_t count = 1;
  syn_text element;
  int k;
  for (k = 0; k < e->rank; k++) count *= e->shape[k]; /* the reader has checked the product */
  element.size = e->bytes / count;
  element.at = (const char *)e->data + i * element.size;
  return element;
}

/* Element i of integers. */
static int64_t entry_whole(const syn_entry *e, size_t i) {
  const syn_text at = entry_at(e, i);
  const int is_signed = e->dtype != SYN_BOOL && e->dtype != SYN_U8 && e->dtype != SYN_U16 &&
                        e->dtype != SYN_U32;
  uint8_t one;
  uint16_t two;
  uint32_t four;
  int64_t eight;
  if (at.size == 1) return memcpy(&one, at.at, 1), is_signed ? (int8_t)one : one;
  if (at.size == 2) return memcpy(&two, at.at, 2), is_signed ? (int16_t)two : two;
  if (at.size == 4) return memcpy(&four, at.at, 4), is_signed ? (int32_t)four : (int64_t)four;
  memcpy(&eight, at.at, 8);
  return eight;
}

/* Appends elements i .. i+n-1 with blanks between, in digits that give each back exactly. */
static void put_entries(signals *s, const syn_entry *e, size_t i, size_t n) {
  const size_t end = i + n;
  const int whole = entry_is_whole(e);
  char digits[40];
  for (; i < end; i++) {
    if (whole) {
      snprintf(digits, sizeof digits, "%lld ", (long long)entry_whole(e, i));
    } else if (e->dtype == SYN_F64) {
      double x;
      memcpy(&x, entry_at(e, i).at, sizeof x);
      snprintf(digits, sizeof digits, "%.17g ", x);
    } else {
      const syn_text at = entry_at(e, i);
      syn_entry one = *e;
      float x;
      one.rank = 0;
      one.data = at.at;
      one.bytes = at.size;
      syn_entry_floats(&s->c, &one, &x, 1);
      snprintf(digits, sizeof digits, "%.9g ", (double)x);
    }
    put(&s->out, digits, strlen(digits) - (i + 1 == end));
  }
}

/* -- names of classes -- */

static int name_order(const void *a, const void *b) {
  return text_compare(*(const syn_text *)a, *(const syn_text *)b);
}

/* A name must survive as a label of a line; two equal ones would make one class of two. */
static void names_check(const signals *s) {
  syn_text *sorted = (syn_text *)take(s->names, sizeof *sorted), rest, word;
  size_t i, k;
  for (i = 0; i < s->names; i++) {
    const syn_text name = sorted[i] = s->name[i];
    int right = name.size <= CLASS_BYTES && !is_blank(name);
    for (k = 0; k < name.size && right; k++) right = (unsigned char)name.at[k] >= 32;
    rest = name;
    if (right && s->target & SIGNAL_ROWS) right = next_word(&rest, &word) && word.size == name.size;
    if (!right)
      fail(FAILED_JOB, "%s: class %lu is called \"%.*s\", wanted a %s of at most %d bytes", s->path,
           (unsigned long)i, short_size(name), name.size ? name.at : "",
           s->target & SIGNAL_ROWS ? "word" : "line of text", CLASS_BYTES);
  }
  qsort(sorted, s->names, sizeof *sorted, name_order);
  for (i = 1; i < s->names; i++)
    if (text_equal(sorted[i - 1], sorted[i]))
      fail(FAILED_JOB, "%s: two classes are called \"%.*s\"", s->path, short_size(sorted[i]),
           sorted[i].at);
  free(sorted);
}

/* The names in `classes` of the metadata, one a line. */
static void names_read(signals *s) {
  const char *value = syn_file_value(s->f, "classes");
  syn_text rest, name;
  size_t i, most = 1;
  if (!value) return;
  for (i = 0; value[i]; i++) most += value[i] == '\n';
  s->name = (syn_text *)take(most, sizeof *s->name);
  rest = syn_text_of(value);
  while (next_piece(&rest, "\n", &name)) s->name[s->names++] = name;
  if (s->names > 1 && !s->name[s->names - 1].size) s->names--; /* the end of the last line */
  names_check(s);
}

/* Appends the labels of y, first .. first+n-1. */
static void put_labels(signals *s, size_t first, size_t n) {
  size_t i;
  for (i = first; i < first + n; i++) {
    const int64_t label = entry_whole(s->y, i);
    if (i > first) put_byte(&s->out, ' ');
    if (!s->names) {
      put_entries(s, s->y, i, 1);
      continue;
    }
    if (label < 0 || (uint64_t)label >= s->names)
      fail(FAILED_JOB, "%s: y[%lu] is %lld, but classes of its metadata has %lu lines, from 0 on",
           s->path, (unsigned long)i, (long long)label, (unsigned long)s->names);
    put(&s->out, s->name[label].at, s->name[label].size);
  }
}

/* -- the file -- */

static const syn_entry *signals_need(const signals *s, const char *name, const char *shape) {
  const syn_entry *e = syn_file_find(s->f, name);
  if (!e)
    fail(FAILED_JOB, "%s has no tensor %s, wanted %s of shape %s", s->path, name, name, shape);
  return e;
}

/* Checks x; `features` 0: the network reads text; -1: any number of them is right. */
static void signals_x(signals *s, int features) {
  char wanted[60] = "numbers of shape [rows, features]";
  s->x = syn_file_find(s->f, "x");
  if (!s->x)
    fail(FAILED_JOB, "%s: this is a model file, or another safetensors file without a tensor x: "
         "wanted %s", s->path, features ? "x, lengths and y, or a text file" : "a text file");
  if (features > 0) snprintf(wanted, sizeof wanted, "numbers of shape [rows, %d]", features);
  entry_check(s, s->x, (entry_is_whole(s->x) || entry_is_real(s->x)) && s->x->rank == 2 &&
              s->x->shape[0] && s->x->shape[1] &&
              (features <= 0 || s->x->shape[1] == (size_t)features), wanted);
  if (!features)
    fail(FAILED_JOB, "%s has rows of %lu numbers, but the source is text: wanted a text file, or "
         "a network of --features %lu", s->path, (unsigned long)s->x->shape[1],
         (unsigned long)s->x->shape[1]);
}

/* Checks lengths, without which all rows are one source; returns the sources. */
static size_t signals_lengths(signals *s) {
  s->lengths = s->target ? signals_need(s, "lengths", "[sources]") : syn_file_find(s->f, "lengths");
  if (!s->lengths) return 1;
  entry_check(s, s->lengths, entry_is_whole(s->lengths) && s->lengths->rank == 1 &&
              s->lengths->shape[0], "integers of shape [sources]");
  return s->lengths->shape[0];
}

/* Checks y. */
static void signals_y(signals *s, size_t sources) {
  const int labels = s->target & SIGNAL_LABELS, rows = s->target & SIGNAL_ROWS;
  const size_t count = rows ? s->x->shape[0] : sources;
  const char *of = rows ? "rows of x" : "lengths";
  char shape[60], wanted[160];
  int right;
  if (!s->target) return;
  snprintf(shape, sizeof shape, labels ? "[%lu]" : "[%lu, targets]", (unsigned long)count);
  s->y = signals_need(s, "y", shape);
  right = entry_is_whole(s->y) || (!labels && entry_is_real(s->y));
  right = right && (s->y->rank == 1 || (!labels && s->y->rank == 2 && s->y->shape[1]));
  snprintf(wanted, sizeof wanted, "%s of shape %s, as there are %lu %s",
           labels ? "integers" : "numbers", shape, (unsigned long)count, of);
  entry_check(s, s->y, right && s->y->shape[0] == count, wanted);
  if (labels) names_read(s);
}

/* The rows of a source, of those that are left. */
static size_t signals_rows(const signals *s, size_t source, size_t left) {
  const int64_t n = s->lengths ? entry_whole(s->lengths, source) : (int64_t)left;
  if (n < 1 || (uint64_t)n > left)
    fail(FAILED_JOB, "%s: lengths[%lu] is %lld, wanted 1 or more, and at most the %lu rows of x "
         "that are left", s->path, (unsigned long)source, (long long)n, (unsigned long)left);
  return (size_t)n;
}

/* Appends the target of a source, whose rows begin at `row`. */
static void put_target(signals *s, size_t source, size_t row, size_t rows) {
  const int each = s->target & SIGNAL_ROWS;
  const size_t k = s->y->rank == 2 ? s->y->shape[1] : 1, first = each ? row : source;
  const size_t n = each ? rows : 1;
  if (s->target & SIGNAL_LABELS) put_labels(s, first, n);
  else put_entries(s, s->y, first * k, n * k);
}

static void signals_say(const signals *s) {
  size_t i;
  for (i = 0; i < syn_file_count(s->f); i++)
    if (!in_choices("x|lengths|y", syn_file_entry(s->f, i)->name))
      fprintf(stderr, "syn: %s: the tensor %s is not read\n", s->path,
              syn_file_entry(s->f, i)->name);
}

/* The bytes of a file as text, a line for each source: numbers; label TAB numbers where a source
   has one label; numbers TAB target elsewhere. It takes the bytes. `quiet`: unread tensors are not
   said. */
static buffer signals_text(buffer bytes, const char *path, int features, int target, int quiet) {
  size_t sources, i, row = 0, n, f;
  signals s;
  memset(&s, 0, sizeof s);
  s.path = path;
  s.target = target;
  syn_context_init(&s.c, NULL);
  s.f = syn_file_view(&s.c, bytes.at, bytes.size);
  check_file(&s.c, path);
  signals_x(&s, features);
  sources = signals_lengths(&s);
  signals_y(&s, sources);
  if (!quiet) signals_say(&s);
  f = s.x->shape[1];
  for (i = 0; i < sources; i++, row += n) {
    const int first = (target & (SIGNAL_LABELS | SIGNAL_ROWS)) == SIGNAL_LABELS;
    n = signals_rows(&s, i, s.x->shape[0] - row);
    if (first) put_target(&s, i, row, n), put_byte(&s.out, '\t');
    put_entries(&s, s.x, row * f, n * f);
    if (target && !first) put_byte(&s.out, '\t'), put_target(&s, i, row, n);
    put_byte(&s.out, '\n');
  }
  if (row < s.x->shape[0])
    fail(FAILED_JOB, "%s: lengths are %lu rows in all, x has %lu", path, (unsigned long)row,
         (unsigned long)s.x->shape[0]);
  syn_file_free(s.f);
  free(s.name);
  free(bytes.at);
  return s.out;
}
