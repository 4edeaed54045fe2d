/* cost_fit.c   finds the numbers of cost_table.h from what instructions of small models took on
   emulated boards.
     cost_fit FOLDER table|errors <LINES

   A line is "NAME FORMAT". FOLDER/NAME-FORMAT.bin is a model, FOLDER/NAME-FORMAT.CORE has a line
   for each mark of cost.c. The same model runs here, so each mark gets its instruction and its
   terms. table: of the networks fit_... and more_..., the numbers of each instruction, not below
   0, whose relative errors have the least sum of squares. errors: how far the table is from the
   totals. */
#define SYNTHESIZER_IMPLEMENTATION
#include "../../synthesizer.h"
#include "../../tools/cost.h"
#include "../../tools/cost_table.h"

enum { TERMS = sizeof cost_terms / sizeof *cost_terms, MOST = 16, NONE = -1, KNOWN = -2 };
static const char *const cores[COST_CORES] = {"m0", "an385", "an386", "an547", "rv32"};

/* An instruction that ran: its terms, what it took on each core; below 0: not counted. */
typedef struct sample {
  int kind; /* the first term of its instruction; KNOWN: a network fit_... has it, too */
  double x[MOST];
  float took[COST_CORES];
} sample;
static sample *samples;
static size_t count, capacity;
static unsigned char known[TERMS]; /* 1: a network fit_... has the instruction */
static int more;                 /* 1: a network more_..., for others alone */

/* The terms of an instruction: their places in the table. */
static int terms_of(const char *name, int *at) {
  int n = 0, i;
  for (i = 0; i < TERMS; i++)
    if (!strcmp(cost_terms[i].name, name) && n < MOST) at[n++] = i;
  return n;
}

typedef struct reader {
  FILE *file[COST_CORES]; /* null: not counted on this core */
} reader;
static void see(void *user, const syn_small *s) {
  reader *r = (reader *)user;
  const char *name = syn_small_instruction(s); /* null: the output is complete */
  sample *last = count ? samples + count - 1 : NULL, *next;
  int at[MOST], n = name ? terms_of(name, at) : 0, i;
  for (i = 0; i < COST_CORES; i++) { /* a mark: what the instruction before it took */
    long took = -1;
    if (r->file[i] && fscanf(r->file[i], "mark %ld ", &took) != 1)
      fprintf(stderr, "too few marks on %s\n", cores[i]), exit(1);
    if (last && last->kind != NONE) last->took[i] = (float)took;
  }
  if (name && !n) fprintf(stderr, "instruction %s has no terms\n", name), exit(1);
  if (count == capacity) {
    capacity = capacity ? 2 * capacity : 1 << 16;
    samples = (sample *)realloc(samples, capacity * sizeof *samples);
  }
  next = samples + count++;
  memset(next, 0, sizeof *next);
  next->kind = !n ? NONE : more && known[at[0]] ? KNOWN : at[0];
  if (n && !more) known[at[0]] = 1;
  for (i = 0; i < n; i++) next->x[i] = cost_value(s, cost_terms[at[i]].term);
}

/* Runs a model; its samples are those behind `count`. 0: no core has counted it. */
static int run(const char *folder, const char *name) {
  static int32_t model[1 << 20];
  static uint64_t ram[1 << 18];
  syn_small_config config;
  reader r;
  syn_small *s;
  char path[300];
  FILE *f;
  int i, some = 0;
  memset(&config, 0, sizeof config);
  for (i = 0; i < COST_CORES; i++) {
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, cores[i]);
    r.file[i] = fopen(path, "r");
    some += r.file[i] != NULL;
  }
  snprintf(path, sizeof path, "%s/%s.bin", folder, name);
  f = fopen(path, "rb");
  if (!f || fread(model, 1, sizeof model, f) < 8) perror(path), exit(1);
  fclose(f);
  config.beam = model[0];
  config.best = model[1];
  s = syn_small_open(ram, sizeof ram, model + 2, sizeof model - 8, &config, &i);
  if (!s) fprintf(stderr, "%s: error %d\n", path, i), exit(1);
  if (some) syn_small_walk(s, see, &r);
  for (i = 0; i < COST_CORES; i++)
    if (r.file[i]) fclose(r.file[i]);
  return some;
}

/* The numbers of an instruction on a core: coordinate descent on sum ((x b - y) / y)^2, b >= 0.
   0: it was not counted there. */
static int find(int kind, int core, int n, double *b) {
  double A[MOST][MOST] = {{0}}, c[MOST] = {0};
  size_t i;
  int j, k, round, some = 0;
  for (i = 0; i < count; i++) {
    const sample *t = samples + i;
    const double y = t->took[core];
    if (t->kind != kind || y <= 0) continue;
    some = 1;
    for (j = 0; j < n; j++) {
      c[j] += t->x[j] / y;
      for (k = 0; k < n; k++) A[j][k] += t->x[j] * t->x[k] / (y * y);
    }
  }
  for (round = 0; round < 100000; round++)
    for (j = 0; j < n; j++) {
      double rest = c[j];
      if (A[j][j] <= 0) continue;
      for (k = 0; k < n; k++) rest -= k == j ? 0 : A[j][k] * b[k];
      b[j] = rest > 0 ? rest / A[j][j] : 0;
    }
  return some;
}
static void print(const cost_term *t, const double *each) {
  int core;
  printf("    COST(%s, \"%s\"", t->name, t->term);
  for (core = 0; core < COST_CORES; core++) {
    if (each[core] < 5e-4) printf(", 0");
    else printf(each[core] < 1000 ? ", %.4g" : ", %.0f", each[core]);
  }
  printf(")\n");
}
/* Bytes of code, of files FOLDER/code.CORE with lines "instruction bytes". */
static void code(const char *folder) {
  size_t i;
  for (i = 0; i < sizeof cost_code / sizeof *cost_code; i++) {
    double each[COST_CORES] = {0};
    int core;
    for (core = 0; core < COST_CORES; core++) {
      char path[300], name[40];
      double bytes;
      FILE *f;
      snprintf(path, sizeof path, "%s/code.%s", folder, cores[core]);
      f = fopen(path, "r");
      while (f && fscanf(f, "%39s %lf", name, &bytes) == 2)
        if (!strcmp(name, cost_code[i].name)) each[core] = bytes;
      if (f) fclose(f);
      else each[core] = cost_code[i].each[core];
    }
    print(&cost_code[i], each);
  }
}
static void table(const char *folder) {
  static double each[TERMS][COST_CORES];
  int at[MOST], n, i, j, core;
  printf("/* cost_table.h   instructions of processors for each instruction of a small model, see cost.h. "
         "Made\n   by `make -C examples/embedded cost`, which keeps the names and terms and finds the "
         "numbers. A\n   new instruction needs its lines here, with zeros, and a network in "
         "cost_models.c. */\nstatic const cost_term cost_terms[] = {\n"
         "    /* instruction, term, Cortex-M0, M3, M4, M55, RV32IMC */\n");
  for (i = 0; i < TERMS; i++) {
    n = terms_of(cost_terms[i].name, at);
    for (core = 0; core < COST_CORES && at[0] == i; core++) {
      double b[MOST] = {0};
      const int some = find(i, core, n, b);
      for (j = 0; j < n; j++) each[at[j]][core] = some ? b[j] : cost_terms[at[j]].each[core];
    }
    print(&cost_terms[i], each[i]);
  }
  printf("};\n\n/* Bytes of the library's code. end: what all models have, with linear and out; segment: "
         "the\n   tokenizers. */\nstatic const cost_term cost_code[] = {\n");
  code(folder);
  printf("};\n");
}

/* A line for a model: on each core the measured instructions and the error of the table. VERBOSE:
   one for each of its kinds of instruction, too. */
static void errors(const char *name, double *most) {
  static double took[TERMS + 1][COST_CORES], told[TERMS + 1][COST_CORES]; /* the last: of all */
  int at[MOST], n, i, core, kind;
  size_t k;
  memset(took, 0, sizeof took);
  memset(told, 0, sizeof told);
  for (k = 0; k < count; k++)
    for (core = 0; core < COST_CORES && samples[k].kind >= 0; core++) {
      const double y = samples[k].took[core];
      double x = 0;
      kind = samples[k].kind;
      n = terms_of(cost_terms[kind].name, at);
      for (i = 0; i < n; i++) x += samples[k].x[i] * cost_terms[at[i]].each[core];
      if (y < 0) continue;
      told[kind][core] += x, told[TERMS][core] += x;
      took[kind][core] += y, took[TERMS][core] += y;
    }
  for (kind = getenv("VERBOSE") ? 0 : TERMS; kind <= TERMS; kind++) {
    for (k = 0, core = 0; core < COST_CORES; core++) k += took[kind][core] > 0;
    if (!k) continue;
    printf("%-22s", kind < TERMS ? cost_terms[kind].name : name);
    for (core = 0; core < COST_CORES; core++) {
      const double error = took[kind][core] > 0 ? told[kind][core] / took[kind][core] - 1 : 0;
      if (took[kind][core] > 0) printf(" %12.0f %+6.1f", took[kind][core], 100 * error);
      else printf(" %12s %6s", "-", "");
      if (kind == TERMS && fabs(error) > most[core]) most[core] = fabs(error);
    }
    printf("\n");
  }
}

int main(int argc, char **argv) {
  char name[100], format[20], path[130];
  double most[COST_CORES] = {0};
  const int finds = argc == 3 && !strcmp(argv[2], "table");
  int i;
  if (argc != 3) return 2;
  while (scanf("%99s %19s", name, format) == 2) {
    more = finds && !strncmp(name, "more_", 5);
    if (finds && !more && strncmp(name, "fit_", 4)) continue;
    if (!finds) count = 0;
    snprintf(path, sizeof path, "%s-%s", name, format);
    if (run(argv[1], path) && !finds) errors(path, most);
  }
  if (finds) table(argv[1]);
  else {
    printf("%-22s", "most, %");
    for (i = 0; i < COST_CORES; i++) printf(" %12s %6.1f", cores[i], 100 * most[i]);
    printf("\n");
  }
  return 0;
}
