/* clang -DFUZZER -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_tool.c -o fuzz_tool -lm
   mkdir seeds corpus; ./fuzz_tool --seeds seeds; ./fuzz_tool -max_len=12000 corpus seeds
   tools/syn.c inside one process: any bytes as its command line, as a model file, as a text, as a
   data file, as the file that a model is trained on, runs on and is measured on. exit returns here,
   and what the tool leaves then, memory and open files, is released. It sees only names without
   "/", in a folder that is empty but for `model`, `data` and `text`. The input: one byte for what
   it is, one for the command; of a training, more bytes for its options. */
#define FUZZ_NAME "tool"
#define FUZZ_EDGES 6500
#define FUZZ_MUTATOR
#define FUZZ_MARKS(X) \
  X(commands) X(files) X(texts) X(tables) X(succeeded) X(failed) X(misused) X(trained) X(decoded) \
  X(wrote) X(learned) X(lines) X(measured) X(imported) X(exported)

#ifndef FUZZ_LINKED
#define FUZZ_LINKED /* tools/syn.c has the library */
#endif
#include "fuzz.h"
#define MUTATE_FILE
#include "fuzz_mutate.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#ifdef __SSE2__
#include <immintrin.h> /* declares posix_memalign, too */
#endif

/* -- memory: a list of the blocks of this run, newest first -- */

/* Enough for the commands on small networks. A text with millions of weights is refused
   before they take seconds. */
#define TOOL_BYTES ((size_t)32 << 20)

typedef struct own_block {
  struct own_block *before, *after;
  size_t size, room;
} own_block;
static own_block *own_newest;
static size_t own_held; /* bytes of all blocks */

static void *tool_alloc(size_t size) {
  own_block *b;
  size_t room;
  if (size > TOOL_BYTES || own_held + size > TOOL_BYTES) {
    fuzz.refused++;
    return NULL;
  }
  b = (own_block *)fuzz_take(sizeof *b + size, &room);
  if (!b) return NULL;
  b->room = room;
  b->before = own_newest;
  b->after = NULL;
  b->size = size;
  if (own_newest) own_newest->after = b;
  own_newest = b;
  own_held += size;
  if (own_held > fuzz.most) fuzz.most = own_held;
  return b + 1;
}
static void *tool_calloc(size_t count, size_t size) {
  void *at = size && count > TOOL_BYTES / size ? NULL : tool_alloc(count * size);
  if (at) memset(at, 0, count * size);
  return at;
}
static void tool_free(void *at) {
  own_block *b;
  if (!at) return;
  b = (own_block *)at - 1;
  if (b->before) b->before->after = b->after;
  if (b->after) b->after->before = b->before;
  else own_newest = b->before;
  own_held -= b->size;
  fuzz_give(b, sizeof *b + b->size, b->room);
}
static void *tool_realloc(void *at, size_t size) {
  void *moved = tool_alloc(size);
  size_t old = at ? ((own_block *)at - 1)->size : 0;
  if (!moved) return NULL;
  if (at) memcpy(moved, at, old < size ? old : size);
  tool_free(at);
  return moved;
}
static int tool_align(void **at, size_t align, size_t size) {
  (void)align;
  *at = tool_alloc(size);
  return *at ? 0 : ENOMEM;
}

/* -- files: open ones of this run; names -- */

enum { MAX_FILES = 64 };
static FILE *opened[MAX_FILES], *null_out, *text_in;
static FILE *tool_out; /* stdout of the tool: null_out, or a file whose lines are counted */
static char own_folder[64], own_paths[2][400];

/* The name inside the folder; null: one that leads out of it. */
static const char *inside(const char *path, int which) {
  if (!strncmp(path, "./", 2)) path += 2;
  if (!strncmp(path, "made/", 5)) path += 5; /* what `export` writes into a folder */
  if (!*path || strchr(path, '/') || strlen(path) > 200 || !strcmp(path, ".") ||
      !strcmp(path, ".."))
    return NULL;
  snprintf(own_paths[which], sizeof own_paths[which], "%s/%s", own_folder, path);
  return own_paths[which];
}
static FILE *tool_open(const char *path, const char *mode) {
  const char *name = inside(path, 0);
  int i;
  errno = ENOENT;
  for (i = 0; i < MAX_FILES; i++)
    if (!opened[i]) return name ? opened[i] = fopen(name, mode) : NULL;
  return NULL;
}
static int tool_close(FILE *f) {
  int i;
  for (i = 0; i < MAX_FILES; i++)
    if (opened[i] == f) opened[i] = NULL;
  return fclose(f);
}
static int tool_stat(const char *path, struct stat *info) {
  const char *name = inside(path, 0);
  return name ? stat(name, info) : -1;
}
static int tool_rename(const char *from, const char *to) {
  const char *a = inside(from, 0), *b = inside(to, 1);
  fuzz_mark(MARK_wrote);
  return a && b ? rename(a, b) : -1;
}
static int tool_remove(const char *path) {
  const char *name = inside(path, 0);
  return name ? remove(name) : -1;
}
static int tool_handle(const char *path, int flags, ...) {
  const char *name = inside(path, 0);
  return name ? open(name, flags, 0600) : -1;
}
static ssize_t tool_readlink(const char *path, char *to, size_t size);
static int tool_nothing(int x) { return x; }

/* -- the end: exit returns to run_tool -- */

static jmp_buf own_exit;
static int exit_status;
static void tool_exit(int status) __attribute__((noreturn));
static void tool_exit(int status) {
  exit_status = status;
  longjmp(own_exit, 1);
}

/* What the tool and the library call instead of the C library. */
#define malloc(size) tool_alloc(size)
#define calloc(count, size) tool_calloc(count, size)
#define realloc(at, size) tool_realloc(at, size)
#define free(at) tool_free(at)
#define posix_memalign(at, align, size) tool_align(at, align, size)
#define fopen(path, mode) tool_open(path, mode)
#define fclose(f) tool_close(f)
#define stat(path, info) tool_stat(path, info)
#define open(...) tool_handle(__VA_ARGS__)
#define readlink tool_readlink
#define rename(from, to) tool_rename(from, to)
#define remove(path) tool_remove(path)
#define isatty(file) tool_nothing((file) * 0)
#define signal(number, handler) ((void)(handler))
#define exit(status) tool_exit(status)
#define puts(text) fprintf(tool_out, "%s\n", text)
#define putchar(c) fputc(c, tool_out)
#undef stdout
#undef stderr
#undef stdin
#define stdout tool_out
#define stderr null_out
#define stdin text_in
#define main syn_main
#define NO_PROCESSES /* compare starts none */
#include "../tools/syn.c"
#undef main
#undef fopen
#undef fclose
#undef rename
#undef remove
#undef exit
#undef printf /* of tool.h */
#undef fprintf
#undef free

/* There are no links. It stands here, since the library may declare readlink. */
static ssize_t tool_readlink(const char *path, char *to, size_t size) {
  (void)to, (void)size;
  errno = inside(path, 0) ? EINVAL : ENOENT;
  return -1;
}

/* -- one run -- */

enum { MAX_WORDS = 40, EXPORTS = 12 }; /* from EXPORTS on the commands on a model are `export` */

static void put_file(const char *name, const void *at, size_t size) {
  FILE *f = fopen(inside(name, 0), "wb");
  if (!f || fwrite(at, 1, size, f) != size || fclose(f)) abort();
}

/* Runs `syn WORDS`; what is left of it is released. Returns the exit status. */
static int run_tool(int count, char **words) {
  own_block *before = own_newest;
  int status, i;
  if (setjmp(own_exit) == 0) exit_status = syn_main(count, words);
  status = exit_status;
  for (i = 0; i < MAX_FILES; i++) {
    if (opened[i]) fclose(opened[i]);
    opened[i] = NULL;
  }
  while (own_newest != before) tool_free(own_newest + 1);
  tool_blocks.newer = tool_blocks.older = &tool_blocks; /* its list of those */
  fuzz_mark(status == 0 ? MARK_succeeded : status == 1 ? MARK_failed : MARK_misused);
  if (!status && count > 1 && !strcmp(words[1], "train")) fuzz_mark(MARK_trained);
  if (!status && count > 1 && !strcmp(words[1], "run")) fuzz_mark(MARK_decoded);
  if (!status && count > 1 && !strcmp(words[1], "import")) fuzz_mark(MARK_imported);
  FUZZ_WANT(status >= 0 && status <= 2, "status %d", status);
  return status;
}

/* A line of words that single spaces separate, with the text in place of a word "%". */
static int run_line(const char *line, char *text) {
  char copy[1000], *words[MAX_WORDS], *at;
  int count = 0;
  snprintf(copy, sizeof copy, "syn %s", line);
  for (at = strtok(copy, " "); at && count < MAX_WORDS; at = strtok(NULL, " "))
    words[count++] = strcmp(at, "%") ? at : text;
  return run_tool(count, words);
}

/* What bounds the time of a run; the last value that is given of an option holds. A gradient check
   takes the square of the number of weights: the text of its network is no part of the input. */
static const char *bounds_of(const char *command) {
  if (!strcmp(command, "train"))
    return "--steps 2 --epochs 1 --batch 32 --accumulate 1 --d-model 4 --heads 2 --max-len 9 "
           "--tokenizer char";
  if (!strcmp(command, "grad"))
    return "--task lm --decoder rnn --d-model 2 --heads 1 --max-len 3 --tgt-vocab 5";
  if (!strcmp(command, "info"))
    return "--d-model 8 --heads 2 --max-len 20 --src-vocab 20 --tgt-vocab 20 --classes 3";
  if (!strcmp(command, "compare")) return "--d-model 4 --heads 2 --max-len 9";
  if (!strcmp(command, "trace")) return "--d-model 8 --heads 2 --max-len 20 --count 2";
  if (!strcmp(command, "presets")) return "transformer"; /* not all: they are large */
  return "";
}

/* -- a training, then run and eval, on one text -- */

/* The lines of a text: what ends in LF; where there is no LF, what ends in CR. */
static long lines_in(const char *at, size_t size) {
  char end = memchr(at, '\n', size) ? '\n' : '\r';
  long count = 0;
  size_t i;
  if (size >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3)) at += 3, size -= 3;
  for (i = 0; i < size; i++) count += at[i] == end;
  return count + (size && at[size - 1] != end);
}
/* The lines of a file in the folder. */
static long lines_written(const char *name) {
  FILE *f = fopen(inside(name, 0), "rb");
  long count = 0;
  int c;
  if (!f) abort();
  while ((c = getc(f)) != EOF) count += c == '\n';
  fclose(f);
  return count;
}

/* One of the parts that ; separates, from one byte of the input. */
enum { PART = 40 };
static void choose(char out[PART], const char *parts) {
  const char *at;
  int which = 1;
  for (at = parts; *at; at++) which += *at == ';';
  for (which = fuzz_below(which); which; which--) parts += strcspn(parts, ";") + 1;
  snprintf(out, PART, "%.*s", (int)strcspn(parts, ";"), parts);
}

/* Trains a tiny model on `text`, or, where the tool refuses that, on lines of letters; then run and
   eval on `text`. run writes a line for each line that it reads, whatever they hold. `end` is the
   end of the input's copy. Most texts get blanks for bytes 0, with which no training takes them. */
static void run_sequence(char *end) {
  static const char plain[] = "a b\tb a\nb c\tc b\na\ta\n";
  static const char *const parts[] = {
      "seq2seq;lm;classify;tag", "char;byte;space;bpe:30", ";--lowercase;--nfc;--hold-back 0.4",
      "8;5;2", "--data text;--src text --tgt text", ";--lowercase-targets;--alternatives |"};
  char part[6][PART], line[400], *text, *zero;
  int lm, i, odd = fuzz_random(2), cut = fuzz_random(2), drawn = fuzz_random(2);
  size_t size;
  for (i = 0; i < 6; i++) choose(part[i], parts[i]);
  lm = !strcmp(part[0], "lm");
  if (lm) strcpy(part[4], "--data text");
  text = end - fuzz.left;
  size = fuzz.left < 600 ? fuzz.left : 600; /* each line is decoded, which takes the time */
  while (fuzz_random(8) && (zero = (char *)memchr(text, 0, size)) != NULL) *zero = ' ';
  put_file("text", text, size);
  snprintf(line, sizeof line,
           "train --task %s --tokenizer %s %s %s --max-len %s %s -o new --steps 2 --batch 32 "
           "--d-model 4 --heads 2 --encoder res(syn_att(R+V)) --isa scalar --warmup 1 %s", part[0],
           part[1], part[2], part[4], part[3], strcmp(part[0], "seq2seq") ? "" : part[5],
           strcmp(part[0], "classify") ? "" : "--many-classes");
  if (!run_line(line, NULL)) {
    fuzz_mark(MARK_learned);
  } else {
    put_file("text", plain, sizeof plain - 1);
    if (run_line(line, NULL)) return;
    put_file("text", text, size);
  }
  snprintf(line, sizeof line, "run -m new --batch %d --too-long %s %s --isa scalar text",
           odd ? 1 : 5, cut ? "cut" : "empty", drawn ? "--temperature 1.5 --unknown" : "");
  tool_out = fopen(inside("out", 0), "wb");
  if (!tool_out) abort();
  cut = run_line(line, NULL);
  fclose(tool_out);
  tool_out = null_out;
  if (!cut) fuzz_mark(MARK_lines);
  if (!cut && lines_written("out") != lines_in(text, size))
    fuzz_fail("run writes a line for each line", __LINE__);
  snprintf(line, sizeof line, "eval -m new %s --metric ppl%s --isa scalar", part[4],
           lm ? "" : ",exact");
  if (!run_line(line, NULL)) fuzz_mark(MARK_measured);
}

/* The input's lines are the words. */
static void run_words(char *text) {
  char *words[MAX_WORDS + 30], bounds[200], *at = text;
  int count = 1;
  words[0] = text + strlen(text);
  while (count < MAX_WORDS && *at) {
    words[count++] = at;
    at += strcspn(at, "\n");
    if (*at) *at++ = 0;
  }
  snprintf(bounds, sizeof bounds, "%s", count > 1 ? bounds_of(words[1]) : "");
  for (at = strtok(bounds, " "); at; at = strtok(NULL, " ")) words[count++] = at;
  fuzz_mark(MARK_commands);
  run_tool(count, words);
}

static fuzz_bytes model; /* of every run that is not given another */
static const char table[] = "a b\tb a\nb c\tc b\na\ta\nc c a\ta c c\n";

/* Removes all files of the folder. */
static void clean(void) {
  DIR *d = opendir(own_folder);
  struct dirent *e;
  while (d && (e = readdir(d)))
    if (inside(e->d_name, 0)) remove(own_paths[0]);
  if (d) closedir(d);
}
static void leave(void) {
  clean();
  rmdir(own_folder);
}

/* `exported` 1: one that `export` writes, with a tokenizer that it writes, too. */
static void make_model(fuzz_bytes *b, int exported) {
  syn_text line = syn_text_of("a b c");
  syn_context c;
  syn_config k;
  syn_tokenizer *t;
  syn_model *m;
  syn_sink sink = fuzz_sink(b);
  memset(&k, 0, sizeof k);
  fuzz_context(&c, "scalar", 0);
  t = syn_tokenizer_learn(&c, exported ? "unigram:12" : "char", 0, &line, 1);
  k.task = exported ? "lm" : "seq2seq";
  k.encoder = "pos -> res_nd(syn_att(R+V)) -> norm";
  k.decoder = exported ? "rope(base=10000, layout=half) -> repeat(1, res(rms_norm(eps=1e-05) -> "
                         "syn_att(V, c=2, bias=0, kv=1)) -> res(rms_norm(eps=1e-05) -> "
                         "ffl(4, swiglu, bias=0))) -> rms_norm(eps=1e-05)"
                       : "learn_pos -> res(mh_dot_att) -> norm";
  k.d_model = 4;
  k.heads = 2;
  k.max_len = 9;
  k.src_vocab = k.tgt_vocab = syn_tokenizer_size(t);
  m = syn_model_new(&c, &k);
  syn_model_set_tokenizers(m, t, t);
  if (syn_model_save_to(&c, m, &sink)) abort();
  syn_model_free(m);
}

/* Before the first run: the folder, the model. */
static void start(void) {
  snprintf(own_folder, sizeof own_folder, "%s/fuzz_tool_%ld",
           access("/dev/shm", W_OK) ? "." : "/dev/shm", (long)getpid());
  mkdir(own_folder, 0700);
  atexit(leave);
  null_out = getenv("FUZZ_SHOW") ? fdopen(2, "w")
                                 : fopen("/dev/null", "wb"); /* FUZZ_SHOW: what the tool prints */
  tool_out = null_out;
  make_model(&model, 0);
  if (!null_out) abort();
}

static void fuzz_one(void) {
  static const char *const of_model[] = {
      "run -m model data",
      "info -m model",
      "run -m model --beam 1 --type i8 data",
      "eval -m model --data data",
      "quantize -m model -o new --type i4",
      "embed -m model -o new --tokenizers yes",
      "trace -m model -o new --input ab",
      "golden model",
      "info -m model --board pico",
      "embed -m model -o new --layout file",
      "train --init model --data data -o new --steps 1 --batch 32",
      "trace -m model -o new",
      "export -m model -o made",
      "export -m model --format gguf -o new"};
  static const char *const of_text[] = {
      "info --encoder % --d-model 8",
      "info --task lm --decoder % --d-model 8",
      "trace --encoder % -o new --d-model 8",
      "info --json --task tag --encoder % --d-model 8 --board pico",
      "trace -m model -o new --input %",
      "run -m model text",
      "run -m model --nbest 2 --json text",
      "compare --kinds % --data text --test text --d-model 4 --max-len 9",
      "compare --vary encoder=V --encoder % --data text --test text",
      "compare --vary % --data text --test text --task lm --d-model 4 --max-len 9",
      "trace --document text -o new",
      "trace -m model -o new --log text",
      "tokenize --tokenizer text text",
      "import text -o new",
      "import text --map data --task lm --decoder rnn --d-model 8 -o new",
      "tokenize --tokenizer text --check text",
      "import model -o new"};
  static const char *const of_table[] = {
      "train --data text -o new --steps 2 --batch 32 --d-model 4 --heads 2 --max-len 9 --tokenizer "
      "char",
      "train --task classify --data text -o new --steps 2 --batch 32 --d-model 4 --tokenizer "
      "bpe:20 --heads 2 --max-len 9",
      "train --task tag --data text -o new --steps 2 --batch 32 --d-model 4 --heads 2 --max-len 9",
      "train --task lm --data text -o new --steps 2 --batch 32 --d-model 4 --tokenizer byte "
      "--heads 2 --max-len 9",
      "train --src text --tgt data -o new --steps 2 --batch 32 --d-model 4 --heads 2 --max-len 9 "
      "--valid data",
      "train --span-corruption --data text -o new --steps 2 --batch 32 --d-model 4 --heads 2 "
      "--max-len 9 --tokenizer char",
      "eval -m model --data text",
      "score text data",
      "score text text --metric bleu,chrf++,ter,rougeLsum,meteor-es,f1,entity_f1",
      "score text text --metric meteor,embedding --synonyms text --vectors text",
      "eval -m model --span-corruption --data text",
      "train --task classify --features 2 --data text --valid text -o new --encoder rnn --d-model 4 "
      "--steps 2 --batch 64",
      "train --task regress_rows --features 1 --data text -o new --encoder linear(2) --steps 2 "
      "--batch 64"};
  int what = fuzz_below(5), which = fuzz_byte();
  size_t before, most = fuzz.left;
  char *text;
  if (!model.at) start();
  before = own_held;
  text = (char *)calloc(1, most + 1);
  if (!text) abort();
  if (most) memcpy(text, fuzz.at, most);
  put_file("model", what == 1 ? text : model.at, what == 1 ? most : model.size);
  put_file("data", table, sizeof table - 1);
  put_file("text", text, most);
  if (what == 2 && which == 16) { /* a checkpoint of Hugging Face, with names of another program */
    put_file("config.json", text, most);
    put_file("model.safetensors", model.at, model.size);
  }
  text_in = fopen(inside("text", 0), "rb");
  if (!text_in) abort();
  if (what == 0) run_words(text);
  which %= what == 1 ? (int)COUNT(of_model) : 256;
  if (what == 1 && !run_line(of_model[which], text) && which >= EXPORTS) {
    fuzz_mark(MARK_exported);
    run_line(which == EXPORTS ? "import model.safetensors -o again" : "import new -o again", text);
  }
  if (what == 2) run_line(of_text[which % (int)COUNT(of_text)], text);
  if (what == 3) run_line(of_table[which % (int)COUNT(of_table)], text);
  if (what == 4) run_sequence(text + most);
  else if (what) fuzz_mark(what == 1 ? MARK_files : what == 2 ? MARK_texts : MARK_tables);
  fclose(text_in);
  tool_free(text);
  FUZZ_WANT(own_held == before, "%lu bytes left", (unsigned long)(own_held - before));
  clean();
}

static void seed_line(const char *name, int what, int which, const void *at, size_t size) {
  char bytes[8000];
  bytes[0] = (char)what;
  bytes[1] = (char)which;
  if (size > sizeof bytes - 2) abort();
  memcpy(bytes + 2, at, size);
  fuzz_seed(name, bytes, size + 2);
}

/* Files that are no plain text, with each task and tokenizer. */
static void seed_sequences(void) {
  static const char *const texts[] = {
      "a\tb\r\nb\ta\r\n\r\n",
      "a\tb\rb\ta\r",
      "x | y\t| a | b |\n|\t|\n\t\na\t\n",
      "\xEF\xBB\xBF\ta\tb\n b \t a\n",
      "caf\xE9\tna\xEFve\n\xFF\xFE\t\x80\n",
      "e\xCC\x81\t\xC3\xA9\n\xE2\x80\xA8\t\xC2\x85\n\xF0\x9F\x98\x80\ta\n",
      "X\ta b c d e f g h i j k l m n o p q r s t u v w x y z\nY\tb",
      "A B\tX Y\n\x1b[31m C\tX Y\n\n\n"};
  char name[32], bytes[300];
  int i;
  for (i = 0; i < 32; i++) {
    size_t size = strlen(texts[i % 8]);
    char head[6] = {0}; /* task, tokenizer, change, length, files, what only seq2seq has */
    head[0] = (char)(i / 8);
    head[1] = (char)(i % 4);
    head[2] = head[5] = (char)(i % 3);
    head[4] = (char)(i % 2);
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, texts[i % 8], size);
    snprintf(name, sizeof name, "sequence%d", i);
    seed_line(name, 4, 0, bytes, size + sizeof head);
  }
}

/* -- checkpoints of other programs, with weights of 0 -- */

typedef struct made {
  unsigned char at[3000];
  size_t size;
} made;

static void made_bytes(made *m, const void *at, size_t size) {
  if (size > sizeof m->at - m->size) abort();
  if (at) memcpy(m->at + m->size, at, size);
  m->size += size;
}
/* A number of so many bytes, little-endian. */
static void made_number(made *m, uint64_t x, int bytes) {
  for (; bytes; bytes--, x >>= 8) {
    const unsigned char byte = (unsigned char)x;
    made_bytes(m, &byte, 1);
  }
}
static void made_text(made *m, const char *text) {
  made_number(m, strlen(text), 8);
  made_bytes(m, text, strlen(text));
}

/* GGUF of a llama of one layer with 2 numbers a token, and its tokenizer of 5 tokens. */
static void seed_gguf(void) {
  static const char *const numbers[] = {"context_length",   "embedding_length",
                                        "block_count",      "feed_forward_length",
                                        "attention.head_count"};
  static const int values[] = {8, 2, 1, 2, 1};
  static const struct {
    const char *name;
    int columns, rows; /* 0: a vector */
  } tensors[] = {{"token_embd", 2, 5},        {"output_norm", 2, 0},      {"output", 2, 5},
                 {"blk.0.attn_norm", 2, 0},   {"blk.0.attn_q", 2, 2},     {"blk.0.attn_k", 2, 2},
                 {"blk.0.attn_v", 2, 2},      {"blk.0.attn_output", 2, 2}, {"blk.0.ffn_norm", 2, 0},
                 {"blk.0.ffn_gate", 2, 2},    {"blk.0.ffn_up", 2, 2},     {"blk.0.ffn_down", 2, 2}};
  static const char *const tokens[] = {"<unk>", "<s>", "</s>", "\xE2\x96\x81", "a"};
  made m = {{0}, 0};
  char name[60];
  size_t i;
  made_bytes(&m, "GGUF\3\0\0", 8);
  made_number(&m, COUNT(tensors), 8);
  made_number(&m, 4 + COUNT(numbers), 8);
  made_text(&m, "general.architecture"), made_number(&m, 8, 4), made_text(&m, "llama");
  for (i = 0; i < COUNT(numbers); i++) {
    snprintf(name, sizeof name, "llama.%s", numbers[i]);
    made_text(&m, name), made_number(&m, 4, 4), made_number(&m, (uint64_t)values[i], 4);
  }
  made_text(&m, "tokenizer.ggml.model"), made_number(&m, 8, 4), made_text(&m, "llama");
  made_text(&m, "tokenizer.ggml.tokens"), made_number(&m, 9, 4), made_number(&m, 8, 4);
  for (i = 0, made_number(&m, 5, 8); i < 5; i++) made_text(&m, tokens[i]);
  made_text(&m, "tokenizer.ggml.scores"), made_number(&m, 9, 4), made_number(&m, 6, 4);
  made_number(&m, 5, 8), made_bytes(&m, NULL, 20);
  for (i = 0; i < COUNT(tensors); i++) {
    snprintf(name, sizeof name, "%s.weight", tensors[i].name);
    made_text(&m, name), made_number(&m, tensors[i].rows ? 2 : 1, 4);
    made_number(&m, (uint64_t)tensors[i].columns, 8);
    if (tensors[i].rows) made_number(&m, (uint64_t)tensors[i].rows, 8);
    made_number(&m, 0, 4), made_number(&m, 64 * i, 8); /* f32 */
  }
  made_bytes(&m, NULL, 64 * COUNT(tensors) + 32);
  seed_line("gguf", 2, 13, m.at, m.size);
}

/* llama2.c, version 1: width, hidden width, layers, heads, heads of k and v, tokens, places. */
static void seed_llama2c(void) {
  static const int header[] = {0x616B3432, 1, 2, 2, 1, 1, 1, 5, 4, 1};
  made m = {{0}, 0};
  size_t i;
  for (i = 0; i < COUNT(header); i++) made_number(&m, (uint64_t)header[i], 4);
  made_bytes(&m, NULL, 256 - m.size + 4 * 44);
  seed_line("llama2c", 2, 13, m.at, m.size);
}

/* CTranslate2, version 6: integers with a scale, a number, and a second name. */
static void ct2_entry(made *m, const char *name, int rows, int columns, int type, size_t bytes) {
  made_number(m, strlen(name) + 1, 2), made_bytes(m, name, strlen(name) + 1);
  made_number(m, columns ? 2 : rows ? 1 : 0, 1);
  if (rows) made_number(m, (uint64_t)rows, 4);
  if (columns) made_number(m, (uint64_t)columns, 4);
  made_number(m, (uint64_t)type, 1), made_number(m, bytes, 4), made_bytes(m, NULL, bytes);
}
static void seed_ct2(void) {
  made m = {{0}, 0};
  made_number(&m, 6, 4), made_number(&m, 16, 2), made_bytes(&m, "TransformerSpec", 16);
  made_number(&m, 5, 4), made_number(&m, 6, 4);
  ct2_entry(&m, "encoder/layer_0/ffn/linear_0/weight", 2, 2, 1, 4);
  ct2_entry(&m, "encoder/layer_0/ffn/linear_0/weight_scale", 2, 0, 0, 8);
  ct2_entry(&m, "decoder/layer_0/ffn/linear_0/weight", 2, 2, 0, 16);
  ct2_entry(&m, "encoder/num_heads", 0, 0, 2, 2);
  ct2_entry(&m, "encoder/embeddings_0/weight", 5, 2, 0, 40);
  ct2_entry(&m, "shared", 5, 2, 5, 20);
  made_number(&m, 1, 4), made_number(&m, 26, 2), made_bytes(&m, "decoder/embeddings/weight", 26);
  made_number(&m, 7, 2), made_bytes(&m, "shared", 7);
  seed_line("ct2", 2, 13, m.at, m.size);
}

/* An npz of two arrays, the second one deflated by codes of its own; a configuration of gpt2. */
static void seed_others(void) {
  static const char npz[] =
      "PK\3\4\24\0\0\0\0\0\0\0!\0\242\353\6]K\0\0\0K\0\0\0\7\0\0\0emb.npy\223NUMPY\1\09\0{'de"
      "scr': '<f4', 'fortran_order': False, 'shape': (2,), }\0\0\0\0\0\0\0\0PK\3\4\24\0\0\0"
      "\10\0\0\0!\0A\374\361\220\252\0\0\0\205\1\0\0\5\0\0\0w.npy\315\2161\12\2A\14E\363\3!"
      "\327\330n\24\266\20\261R\213\244\261Sl,\254d\321\25\13qe\327N<\205\27\366\357-\204\311"
      "0y\363\346g\276\273\303v\177\204\254\344].\355p\356\313\262*\353\353\242\324U\271v\375"
      "\253o\36\247\256\277\264#\3374\367\241%\37n\315\263e\77\231\317\352\305\264\256>\310"
      "\20MOIq\4\340\21n\2\11\23!\203\300\323\314\322E\11\34\60XXj\244%T\220\302#\275\4x=Z|"
      "\10\343F:z\14e\12\333 \246&\242J\311\234)AJ\310EMG\235\2254\\5\341\234/\377\376\277\37"
      "PK\1\2\24\3\24\0\0\0\0\0\0\0!\0\242\353\6]K\0\0\0K\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\200\1"
      "\0\0\0\0emb.npyPK\1\2\24\3\24\0\0\0\10\0\0\0!\0A\374\361\220\252\0\0\0\205\1\0\0\5\0\0"
      "\0\0\0\0\0\0\0\0\0\200\1p\0\0\0w.npyPK\5\6\0\0\0\0\2\0\2\0h\0\0\0=\1\0\0\0\0";
  static const char config[] =
      "{\"model_type\": \"gpt2\", \"n_embd\": 4, \"n_layer\": 1, \"n_head\": 2, "
      "\"n_positions\": 8, \"vocab_size\": 9, \"bos_token_id\": 5, \"eos_token_id\": 5}";
  seed_line("npz", 2, 14, npz, sizeof npz - 1);
  seed_line("config", 2, 16, config, sizeof config - 1);
}

/* Signals: two sources with classes, two with a target a row. */
static void seed_signals(void) {
  static const char *const heads[] = {
      "{\"__metadata__\":{\"classes\":\"a\\nb\"},\"x\":{\"dtype\":\"BF16\",\"shape\":[3,2],"
      "\"data_offsets\":[0,12]},\"lengths\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[12,14]},"
      "\"y\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[14,18]}}",
      "{\"x\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[0,12]},\"lengths\":{\"dtype\":\"I8\","
      "\"shape\":[2],\"data_offsets\":[12,14]},\"y\":{\"dtype\":\"I32\",\"shape\":[3],"
      "\"data_offsets\":[14,26]}}"};
  int i;
  for (i = 0; i < 2; i++) {
    made m = {{0}, 0};
    made_text(&m, heads[i]);
    made_bytes(&m, "\0\0\x80\x3F\0\0\x80\xBF\0\0\0\x40\2\1", 14);
    if (i) made_number(&m, 1, 4), made_number(&m, 2, 4), made_number(&m, 3, 4);
    else made_number(&m, 0, 2), made_number(&m, 1, 2);
    seed_line(i ? "signals1" : "signals0", 3, 10 + i, m.at, m.size);
  }
}

static void fuzz_seeds(void) {
  static const char *const words_of[] = {
      "run\n-m\nmodel\ndata",
      "train\n--data\ndata\n-o\nnew\n--checkpoint\npoint\n--every\n1",
      "score\ntext\ndata\n--metric=bleu",
      "presets",
      "info\n-m\nmodel\n--json",
      "help\ntrain",
      "eval\n--model=model\n--src=data\n--tgt=data",
      "compare\n--kinds\nR+V,cnn(k=3)\n--vary\nlr=0.1,1\n--data=data\n--test=data\n--seeds=2"};
  static const char *const texts[] = {
      "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm", "rnn -> ff", "a b c\nb",
      "{\"task\":\"lm\"}"};
  /* tokenizers of published models: three of JSON, one of SentencePiece with a trainer and a
     normalizer, one of llama2.c, a list of words; answers */
#define FILE_OF(text) {"" text, sizeof(text) - 1}
  static const syn_text tokens[] = {
      FILE_OF("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]},"
              "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}}"),
      FILE_OF("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"\\u2581a\",-1.5]]},"
              "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAABhAA==\"},"
              "\"pre_tokenizer\":{\"type\":\"Metaspace\"}}"),
      FILE_OF("{\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\",\"vocab\":{\"a\":0,"
              "\"##b\":1}},\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
              "\"handle_chinese_chars\":true,\"lowercase\":true},\"added_tokens\":[{\"id\":2,\"content\":\"[UNK]\","
              "\"special\":true}]}"),
      FILE_OF("\n\x0E\n\5<unk>\x15\0\0\0\0\x18\2\n\x8\n\1" "a\x15\0\0\0\xC0\n\x8\n\1" "b\x15\0\0\0\xC0"
              "\x12\5\x18\2\x98\2\1\x1A\xA\x12\4\0\0\0\0\x18\1\x20\1"),
      FILE_OF("\2\0\0\0\0\0\0\0\1\0\0\0?\0\0\0\0\1\0\0\0<\0\0\0\0\1\0\0\0>\0\0\x80\xBF\1\0\0\0a"),
      FILE_OF("[UNK]\nlow\n##er\n,\n"),
      FILE_OF("{\"a\":1}"),
      FILE_OF("{\"text\":\"a\",\"ids\":[0],\"pieces\":[\"a\"],\"decoded\":\"a\"}\n"),
      FILE_OF("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")}; /* tokens without bytes */
  char name[32];
  fuzz_bytes b;
  int i;
  make_model(&b, 0);
  for (i = 0; i < 8; i++) {
    snprintf(name, sizeof name, "words%d", i);
    seed_line(name, 0, 0, words_of[i], strlen(words_of[i]));
  }
  for (i = 0; i < 12; i++) {
    snprintf(name, sizeof name, "model%d", i);
    seed_line(name, 1, i, b.at, b.size);
  }
  for (i = 0; i < 48; i++) {
    snprintf(name, sizeof name, "text%d", i);
    seed_line(name, 2, i % 12, texts[i / 12], strlen(texts[i / 12]));
  }
  for (i = 0; i < 8; i++) {
    snprintf(name, sizeof name, "table%d", i);
    seed_line(name, 3, i, i == 2 ? "a b\tX Y\nb\tY\n" : table, i == 2 ? 10 : sizeof table - 1);
  }
  for (i = 0; i < 9; i++) {
    snprintf(name, sizeof name, "tokens%d", i);
    seed_line(name, 2, i == 7 ? 15 : 12, tokens[i].at, tokens[i].size);
  }
  seed_gguf();
  seed_llama2c();
  seed_ct2();
  seed_signals();
  seed_others();
  free(b.at);
  make_model(&b, 1);
  for (i = EXPORTS; i < EXPORTS + 2; i++) {
    snprintf(name, sizeof name, "export%d", i);
    seed_line(name, 1, i, b.at, b.size);
  }
  free(b.at);
  seed_sequences();
}

static const char *any_word(syn_random *r) {
  static const char *const words[] = {
      "0",    "1",           "2",        "-1",     "3",      "7",          "0.5",
      "1e9",  "99999999999", "nan",      "",       "a",      "model",      "data",
      "text", "new",         "missing",  "-",      "--",     "-m",         "--json",
      "id",   "rnn",         "norm",     "char",   "space",  "bpe:20",     "W=4",
      "pico", "bleu,chrf",   "accuracy", "x.html", "scalar", "transformer"};
  return words[syn_random_below(r, (int)COUNT(words))];
}

/* A command line of a command's own options, with values that are mostly of their kinds. */
static size_t random_words(char *at, size_t capacity, syn_random *r) {
  const command_row *c = &commands[syn_random_below(r, (int)COUNT(commands))];
  size_t used = (size_t)snprintf(at, capacity, "%s", c->name);
  int rows = 0, count = syn_random_below(r, 7), i;
  while (c->options && c->options[rows].name) rows++;
  for (i = 0; i < rows && used + 200 < capacity; i++) /* those that are required */
    if (!c->options[i].preset && syn_random_below(r, 20))
      used += (size_t)snprintf(at + used, capacity - used, "\n--%s=%s", c->options[i].name,
                               c->options[i].name[0] == 'o' ? "new" : "model");
  if (!strcmp(c->name, "train")) used += (size_t)snprintf(at + used, capacity - used, "\n--data=data");
  for (i = 0; i < count && rows && used + 200 < capacity; i++) {
    const option *o = &c->options[syn_random_below(r, rows)];
    size_t n = strcspn(o->wants, "|");
    if (o->kind == FLAG) used += (size_t)snprintf(at + used, capacity - used, "\n--%s", o->name);
    else if (o->kind == CHOICE && n < 40)
      used += (size_t)snprintf(at + used, capacity - used, "\n--%s=%.*s", o->name, (int)n, o->wants);
    else if (o->kind == INT)
      used +=
          (size_t)snprintf(at + used, capacity - used, "\n--%s=%d", o->name, syn_random_below(r, 12));
    else used += (size_t)snprintf(at + used, capacity - used, "\n--%s=%s", o->name, any_word(r));
  }
  for (i = 0; i < c->words_min || (c->words_max && syn_random_below(r, 2)); i++)
    if (used + 200 < capacity) used += (size_t)snprintf(at + used, capacity - used, "\n%s", any_word(r));
  return used;
}

/* A quarter of the inputs becomes a random command line, another one a mutated model file. */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t size, size_t most, unsigned seed) {
  syn_random r;
  size_t changed = 0;
  r.state = seed;
  if (most < 1000 || size < 2) return LLVMFuzzerMutate(at, size, most);
  if (seed % 4 == 0 && at[0] % 5 == 0) {
    char words[800];
    size = random_words(words, sizeof words, &r);
    memcpy(at + 2, words, size);
    return size + 2;
  }
  if (at[0] % 5 == 1 && seed % 2) changed = mutate_file(at + 2, size - 2, most - 2, seed);
  if (changed && syn_random_below(&r, 2)) at[1] = (uint8_t)syn_random_below(&r, EXPORTS + 2);
  return changed ? changed + 2 : LLVMFuzzerMutate(at, size, most);
}
