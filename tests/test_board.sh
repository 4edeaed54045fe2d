#!/bin/sh
# A program built with the options for boards decodes what the whole library decodes, and refuses
# what it was built without.
# Run from anywhere: sh tests/test_board.sh    CC names the compiler, RUN an emulator.
# Ends with "board: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"

cat >board.c <<'EOF'
#define SYNTHESIZER_IMPLEMENTATION
#include "synthesizer.h"
#include <stdio.h>

/* Makes the model file with random weights, where the library can. */
static void make(syn_context *c, const char *path) {
#ifdef SYN_NO_TRAIN
  SYN__UNUSED(c), SYN__UNUSED(path);
#else
  syn_config k = {0};
  syn_model *m;
  k.encoder = "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(ffl)) -> norm";
  k.decoder = "pos -> repeat(2, res_nd(syn_att(R+V)) -> res_nd(mh_dot_att) -> res_nd(ffl)) -> norm";
  k.d_model = 24, k.heads = 2, k.max_len = 21, k.src_vocab = 19, k.tgt_vocab = 13;
  k.tie = "none"; /* a tied random network repeats one token */
  m = syn_model_new(c, &k);
  syn_model_save(c, m, path);
  syn_model_free(m);
#endif
}

/* Tokens and score of every output, for sources of 1 to 20 tokens. */
static void decode(syn_decoder *d) {
  int source[21], n, i, rank, size;
  for (n = 1; n <= 20; n++) {
    syn_batch b = {1, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL};
    for (i = 0; i < n; i++) source[i] = 4 + (7 * i + 3 * n) % 15;
    source[n] = SYN_END, b.src = source, b.src_width = n + 1;
    if (syn_decoder_run(d, &b, NULL, NULL)) return;
    for (rank = 0; rank < 2; rank++) {
      float score;
      const int *tokens = syn_decoder_output(d, 0, rank, &size, &score);
      for (i = 0; tokens && i < size; i++) printf("%d ", tokens[i]);
      if (tokens) printf("%a\n", (double)score);
    }
  }
}

/* What a build for boards has not: a kind that was not listed. */
static int refuses(syn_context *c) {
  syn_config k = {0};
  syn_model *other;
  int refused;
  k.task = "lm", k.decoder = "rnn(8)", k.tgt_vocab = 9;
  other = syn_model_new(c, &k);
  refused = !other && c->status;
  syn_context_clear(c);
  syn_model_free(other);
  return refused;
}

int main(int argc, char **argv) {
  syn_options o = {0};
  syn_context c;
  syn_model *m;
  int beam;
  o.isa = "scalar";
  if (argc < 2 || syn_context_init(&c, &o)) return 2;
  make(&c, argv[1]);
  m = syn_model_load(&c, argv[1]);
  for (beam = 1; beam <= 3; beam += 2) {
    syn_decode_config k = {0};
    syn_decoder *d;
    k.beam = beam, k.best = beam > 1 ? 2 : 1, k.prefill = beam;
    d = syn_decoder_new(&c, m, &k);
    decode(d);
    syn_decoder_free(d);
  }
  if (c.status) return puts(c.message), 1;
  fprintf(stderr, "refuses: %d\n", refuses(&c));
  syn_model_free(m);
  return 0;
}
EOF

build() { # build NAME FLAG...
  name=$1
  shift
  ${CC:-cc} ${CFLAGS:--O1} -I"$here/.." "$@" board.c -o "$name" -lm >"$name.log" 2>&1 ||
    sed 's/^/  /' "$name.log"
  $RUN ./"$name" model.safetensors >"$name.out" 2>"$name.err"
}

build whole
is 'whole: 60 outputs' 60 "$(wc -l <whole.out | tr -d ' ')"
is 'whole: has all kinds' 'refuses: 0' "$(cat whole.err)"
build board -DSYN_NO_TRAIN -DSYN_NO_TOKENIZERS -DSYN_NO_MESSAGES -DSYN_NO_SIMD \
  '-DSYN_KINDS(X)=X(pos)X(repeat)X(res)X(norm)X(dropout)X(syn_att)X(mh_dot_src_att)X(ff)' \
  '-DSYN_SCORES(X)=X(v)X(r)'
is 'board: the same outputs' "$(cat whole.out)" "$(cat board.out)"
is 'board: has no other kinds' 'refuses: 1' "$(cat board.err)"
build kinds -DSYN_NO_TRAIN \
  '-DSYN_KINDS(X)=X(pos)X(repeat)X(res)X(norm)X(dropout)X(syn_att)X(mh_dot_src_att)'
is 'an alias of a kind that is not listed is refused' \
  'encoder line 1 column 49: ffl: this program was built without the kind ff' "$(cat kinds.out)"


# -- train --board: a network that fits is chosen, another one is refused with figures
need_syn
train() { # train ARGUMENT...: status, then what it says
  "$SYN" train "$@" -o m --json >log 2>err
  printf '%s %s' $? "$(cat err)"
}
info() { # info BOARD FIGURE: a figure of the model
  "$SYN" info -m m --board $1 --json | tail -n 1 | sed "s/.*\"$2\":\"*\([^,}\"]*\).*/\1/"
}
words abcdefgh 5 120 >pairs.tsv
awk 'BEGIN { for (i = 0; i < 60; i++) print i % 2 ? "no\tbad day " i : "yes\tgood day " i }' >said.tsv
awk 'BEGIN { for (i = 0; i < 1500; i++)
  print (i % 2 ? "no" : "yes") "\ta" i " b" 7 * i % 997 "\tc" 3 * i % 1303 " d" i % 50 }' >two.tsv
for board in microbit m0-16k stm32vldiscovery pico2 stm32f4; do
  got=$(train --board $board --data said.tsv --task classify --minutes 0.002)
  has "$board: a classifier" "0 *syn: on $board: flash [0-9]* of *syn: chosen; *--board $board *ngram(6,*" "$got"
  is "$board: fits" true "$(info $board fits)"
  has "$board: flash is that of info" "*: flash $(info $board flash) of *" "$got"
  has "$board: RAM is that of info, with the stack" \
    "*; RAM $(($(info $board ram) + $(info $board stack))) of *; latency $(info $board latency_ms) ms*" "$got"
done
awk -F '\t' '{ gsub(/[^ ]+/, "x", $2); print $1 "\t" $2 }' pairs.tsv >tags.tsv
for board in pico2 stm32f4 m0-16k; do
  data=pairs.tsv task=seq2seq
  [ $board = m0-16k ] && data=tags.tsv task=tag
  got=$(train --board $board --data $data --task $task --minutes 0.002)
  has "$board: $task" "0 *syn: on $board: flash [0-9]* of *syn: chosen; *--board $board *" "$got"
  is "$board: $task fits" true "$(info $board fits)"
  has "$board: RAM of $task is that of info, with the stack" "*; RAM $(($(info $board ram) + $(info $board stack))) of *" "$got"
done
got=$(train --board m0-16k --data two.tsv --task classify --minutes 0.002 --max-len 24)
has 'words that would not fit become parts' '0 *--src-tokenizer bpe:*' "$got"
is 'parts: fits' true "$(info m0-16k fits)"
got=$(train --board stm32vldiscovery --latency-ms 80 --data pairs.tsv --minutes 0.002)
has 'pairs in time' '0 *latency * of 80 ms*syn: chosen; *--latency-ms 80 *dyn_conv*' "$got"
is 'pairs: fits' true "$(info stm32vldiscovery fits)"
"$SYN" embed -m m --tokenizers yes -o m_model.h
is 'pairs: RAM is that of the array' "$(sed -n 's/.*m_RAM = \([0-9]*\).*/\1/p' m_model.h)" \
  "$(info stm32vldiscovery ram)"
has 'no time for any network' \
  '2 syn: train --board microbit: no network that --minutes chooses fits; the nearest needs flash *; latency * of 0.001 ms, * too many' \
  "$(train --board microbit --latency-ms 0.001 --data pairs.tsv --minutes 0.002)"
own='--data pairs.tsv --tokenizer char --steps 1 --warmup 0'
has 'a network that does not fit' \
  '2 syn: train --board microbit: the network does not fit: flash * of 261120 bytes, [0-9]* too many; RAM *' \
  "$(train --board microbit $own --d-model 256)"
has 'a layer that is not for boards' \
  '2 syn: train --board pico2: small model: a size of linear encoder.0 is 65536, wanted at most 65535' \
  "$(train --board pico2 $own --d-model 8 --heads 2 --encoder 'linear(65536)->linear')"
is 'info of a layer that is not for boards says nothing else' \
  'syn: small model: max_len for the table of pos encoder.0 is 65535, wanted at most 16384' \
  "$("$SYN" info --task classify --encoder 'pos->softcap(5)' --d-model 256 --max-len 65535 --board pico2 2>&1)"
is 'a task that is not for boards' \
  'syn: small model: boards do not run the task mlm, wanted another' \
  "$("$SYN" info --task mlm --encoder pos --d-model 8 --heads 1 --board pico2 2>&1)"
# 12 tokens of a bag of n-grams: 34,395 instructions were counted in the emulator (examples/embedded/cost.c)
got=$("$SYN" info --task classify --encoder 'ngram(3, 1000)' --d-model 32 --max-len 24 --src-vocab 44 --classes 2 \
  --board an386 --json | tail -n 1 | sed 's/.*"instructions":\([0-9]*\).*/\1/')
is "instructions of a bag of n-grams: $got, within 5 %" 1 "$((got > 32676 && got < 36114))"
has 'the layer, chosen with' '2 syn: train --board pico2: small model: a size of linear encoder.0 is *' \
  "$(train --board pico2 --data pairs.tsv --minutes 0.002 --encoder 'linear(65536)->linear')"
has 'a network that fits' '0 syn: on an547: flash *--tokenizers yes --layout mve' \
  "$(train --board an547 $own --d-model 8 --heads 2)"
has 'latency without a board' '2 syn: train --latency-ms 3 wants --board NAME' "$(train --latency-ms 3 $own)"
has 'no such board' '2 syn: no board microbyte; the nearest is microbit. *' "$(train --board microbyte $own)"

echo "board: $checks checks, $failed failed"
[ "$failed" = 0 ]
