/* icnt.c   a plug-in for qemu: how many instructions the library took. It counts all of them but
   those of functions whose names begin with board_, demo_ or main. What the compiler calls for
   floats and memory counts for the library, which is its only user of weight.

   Debian has no header of the plug-in interface: the few declarations below are version 1 of it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*translated)(plugin_id id, struct qemu_plugin_tb *block);
typedef void (*ended)(plugin_id id, void *user);
typedef void (*executed)(unsigned core, void *user);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated call);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation,
                                                       void *counter, uint64_t amount);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed call,
                                                   int flags, void *user);
extern void qemu_plugin_register_atexit_cb(plugin_id id, ended call, void *user);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block,
                                                        size_t i);
extern const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
extern void qemu_plugin_outs(const char *text);
int qemu_plugin_version = 1;

static uint64_t counters[2]; /* of the library, of the rest */

/* board_mark, a function of one instruction: how many of the library ran since the mark before. */
static void print_mark(unsigned core, void *user) {
  static uint64_t before;
  char line[40];
  (void)core;
  (void)user;
  snprintf(line, sizeof line, "mark %llu\n", (unsigned long long)(counters[0] - before));
  qemu_plugin_outs(line);
  before = counters[0];
}
/* syn_small_walk makes up rows of features: what runs from there until it goes on is not counted. */
static uint64_t before_row;
static int in_row;
static void begin_row(unsigned core, void *user) {
  (void)core;
  (void)user;
  if (!in_row) before_row = counters[0];
  in_row = 1;
}
static void end_row(unsigned core, void *user) {
  (void)core;
  (void)user;
  if (in_row) counters[0] = before_row;
  in_row = 0;
}
/* Instructions are counted where they run, in code that qemu writes into the block. */
static void count_block(plugin_id id, struct qemu_plugin_tb *block) {
  size_t i, n = qemu_plugin_tb_n_insns(block);
  (void)id;
  for (i = 0; i < n; i++) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
    const char *name = qemu_plugin_insn_symbol(insn);
    int rest = !name || !strncmp(name, "board_", 6) || !strncmp(name, "demo_", 5) ||
               !strncmp(name, "main", 4);
    qemu_plugin_register_vcpu_insn_exec_inline(insn, 0, &counters[rest], 1);
    if (name && !strcmp(name, "board_mark"))
      qemu_plugin_register_vcpu_insn_exec_cb(insn, print_mark, 0, NULL);
    if (name && !strncmp(name, "syn__small_draw", 15))
      qemu_plugin_register_vcpu_insn_exec_cb(insn, begin_row, 0, NULL);
    if (name && !strcmp(name, "syn_small_walk"))
      qemu_plugin_register_vcpu_insn_exec_cb(insn, end_row, 0, NULL);
  }
}
static void print_counts(plugin_id id, void *user) {
  char line[80];
  (void)id;
  (void)user;
  snprintf(line, sizeof line, "library %llu rest %llu\n", (unsigned long long)counters[0],
           (unsigned long long)counters[1]);
  qemu_plugin_outs(line);
}
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
  qemu_plugin_register_atexit_cb(id, print_counts, NULL);
  return 0;
}
