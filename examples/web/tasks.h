/* tasks.h   the pairs of texts that the page learns: dates, small tasks on letters, or pairs of the
   reader's own. Include it after synthesizer.h and ../dates.h. */

enum { ROWS = 8000, UNSEEN = 1000, TEXT = 128 };

/* The pairs 0 .. train-1 are learned, train .. count-1 are kept for the test. */
typedef struct pairs {
  syn_text *source, *target; /* [count] */
  char *letters;             /* the memory of the texts */
  int train, count;
} pairs;

/* For qsort: the order of two letters. */
static int by_letter(const void *a, const void *b) {
  return *(const char *)a - *(const char *)b;
}

/* Letters with spaces between: as they are (copy), backwards (reverse), or in order (sort). */
static void make_letters(syn_random *r, const char *task, char *source, char *target) {
  char given[16], wanted[16];
  int n = 3 + syn_random_below(r, 8), i;
  for (i = 0; i < n; i++) given[i] = (char)('a' + syn_random_below(r, 12));
  for (i = 0; i < n; i++) wanted[i] = given[*task == 'r' ? n - 1 - i : i];
  if (*task == 's') qsort(wanted, (size_t)n, 1, by_letter);
  for (i = 0; i < n; i++) {
    source[2 * i] = given[i], target[2 * i] = wanted[i];
    source[2 * i + 1] = target[2 * i + 1] = i + 1 < n ? ' ' : 0;
  }
}

/* Whether a pair is kept for the test: one target in ten, so that no test answer was ever seen. */
static int is_unseen(const char *target) {
  return syn_hash(SYN_HASH_START, target, strlen(target)) % 10 == 0;
}

static int pairs_new(pairs *p, int rows, size_t letters) {
  p->source = (syn_text *)calloc((size_t)rows, sizeof *p->source);
  p->target = (syn_text *)calloc((size_t)rows, sizeof *p->target);
  p->letters = (char *)calloc(letters, 1);
  return p->source && p->target && p->letters;
}
static void pairs_free(pairs *p) {
  free(p->source);
  free(p->target);
  free(p->letters);
  memset(p, 0, sizeof *p);
}

static int pairs_know(const char *task) {
  static const char *const tasks[] = {"dates", "copy", "reverse", "sort"};
  int i;
  for (i = 0; i < 4; i++)
    if (!strcmp(task, tasks[i])) return 1;
  return 0;
}

/* The pairs of a task that pairs_know knows, the same on every machine. 0: no memory. */
static int pairs_make(pairs *p, const char *task) {
  syn_random random = {2026};
  int i, at[2] = {0, ROWS};
  if (!pairs_new(p, ROWS + UNSEEN, (size_t)2 * TEXT * (ROWS + UNSEEN))) return 0;
  while (at[0] < ROWS || at[1] < ROWS + UNSEEN) {
    char source[TEXT], target[TEXT], *mine;
    if (!strcmp(task, "dates")) make_date(&random, source, target);
    else make_letters(&random, task, source, target);
    i = is_unseen(target);
    if (at[i] == (i ? ROWS + UNSEEN : ROWS)) continue;
    mine = p->letters + (size_t)2 * TEXT * (size_t)at[i];
    p->source[at[i]] = syn_text_of(strcpy(mine, source));
    p->target[at[i]++] = syn_text_of(strcpy(mine + TEXT, target));
  }
  p->train = ROWS, p->count = ROWS + UNSEEN;
  return 1;
}

/* Pairs from lines "source TAB target", or "source => target"; other lines are left out. Of 20
   pairs or more every tenth is kept for the test, of fewer all are learned and tested. 0: no pair,
   or no memory. */
static int pairs_read(pairs *p, const char *lines) {
  int rows = 1, i, n = 0, kept = 0;
  char *line, *next, *middle;
  const char *c;
  for (c = lines; *c; c++) rows += *c == '\n';
  if (!pairs_new(p, 2 * rows, strlen(lines) + 1)) return 0;
  for (line = strcpy(p->letters, lines); line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    line[strcspn(line, "\r")] = 0;
    middle = strstr(line, "\t") ? strstr(line, "\t") : strstr(line, "=>");
    if (!middle) continue;
    c = middle + (*middle == '\t' ? 1 : 2);
    while (middle > line && middle[-1] == ' ') middle--;
    *middle = 0;
    p->source[n] = syn_text_of(line);
    p->target[n++] = syn_text_of(c + strspn(c, " "));
  }
  for (i = 0; i < n; i++) { /* the test moves behind; the order of the rest stays */
    int unseen = n >= 20 && i % 10 == 9;
    int to = unseen ? rows + kept++ : i - kept;
    p->source[to] = p->source[i], p->target[to] = p->target[i];
  }
  p->train = n - kept;
  memmove(p->source + p->train, p->source + rows, (size_t)kept * sizeof *p->source);
  memmove(p->target + p->train, p->target + rows, (size_t)kept * sizeof *p->target);
  p->count = n;
  return n > 0;
}
/* Where the test begins: all pairs are tested where none are kept. */
static int pairs_test(const pairs *p) { return p->train < p->count ? p->train : 0; }
