#!/bin/sh
# Small models as files: the C header, also in C++, in a section, and two in one program; the bytes
# of the array. The program of examples/embedded/README.md is compiled as it stands there and run.
# Run from anywhere: sh tests/test_embed.sh    CC, CXX name the compilers, SYN a tool already built.
# Ends with "embed: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
root=$here/..
warn='-Wall -Wextra -pedantic -Werror'
printf 'a b\tb a\nb c\tc b\nc a\ta c\n' >data.tsv
net="--data data.tsv --tokenizer space --heads 2 --warmup 1 --steps 1 --batch 60 --max-len 9"
train() { "$SYN" train $net "$@" 2>err || cat err; }
layers='--encoder pos->res_nd(syn_att(R+V))->norm --decoder pos->res_nd(mh_dot_att)->norm'
train -o my.safetensors --d-model 16 $layers
train -o other --d-model 8 --task classify --encoder 'rnn->norm'
embed() { "$SYN" embed --tokenizers yes "$@"; }

# -- the program of the README, whose names follow from my_model.h
embed -m my.safetensors -o my_model.h
awk '/^ *```c$/ { on = 1; next } /^ *```$/ { on = 0 } on' "$root/examples/embedded/README.md" >program.c
cat >>program.c <<'EOF2'
#include <stdio.h>
static void show(syn_text piece) { printf("%.*s", (int)piece.size, piece.at); }
int main(void) {
  syn_text line = {"a b", 3};
  answer(line, show);
  puts("");
  return 0;
}
EOF2
${CC:-cc} -std=c99 -O0 $warn -I. -I"$root" program.c -o program
is 'the program of README compiles' 0 $?
want=$(echo 'a b' | "$SYN" run -m my.safetensors --beam 1 --type i8)
is 'the program of README answers' "$want" "$($RUN ./program)"

# -- C++, a section, two models
embed -m other -o other_model.h
sed 's/^#include "my_model.h"/#define SYN_SMALL_ATTRIBUTE __attribute__((section(".second"), aligned(8)))\n&\n#include "other_model.h"/' \
  program.c >two.cpp
cp two.cpp two.c
if ${CC:-cc} --version 2>/dev/null | grep -q 'GCC\|gcc\|clang\|Free Software'; then
  for compile in "${CC:-cc} -std=c99" "${CXX:-c++} -std=c++11"; do
    command -v ${compile%% *} >/dev/null || continue
    name=two.c
    case $compile in *c++11) name=two.cpp ;; esac
    $compile -O0 $warn -Wno-unused-variable -Wno-unused-const-variable -I. -I"$root" $name -o two
    is "two models in a section: $compile" 0 $?
    is "two models answer: $compile" "$want" "$($RUN ./two)"
  done
fi

# -- the bytes of the array
embed -m my.safetensors --format bin -o my.bin
cat >bytes.c <<'EOF2'
#include "my_model.h"
#include <stdio.h>
int main(void) { return fwrite(my_model, 1, sizeof my_model, stdout) != sizeof my_model; }
EOF2
${CC:-cc} bytes.c -o bytes && $RUN ./bytes >bytes.bin
same 'embed --format bin: the bytes of the array' bytes.bin my.bin
"$SYN" embed -m my.safetensors --format bin --layout file -o x 2>err
is 'embed --format bin --layout file: status' 2 $?
has 'embed --format bin --layout file' 'syn: embed --format bin: *the model file itself*' "$(cat err)"

# -- a classifier of n-grams, as --minutes chooses it
awk 'BEGIN { for (i = 0; i < 24; i++)
  print (i % 2 ? "music\tplay song " : "lamp\tturn on light ") substr("abcdefghijkl", 1 + i / 2, 1) }' >rows.tsv
"$SYN" train --task classify --data rows.tsv --minutes 0.01 -o bag 2>err || cat err
"$SYN" quantize -m bag --type i8 -o bag.i8
embed -m bag -o bag_model.h
has 'embed: n-grams' '*X(ngram)*' "$(cat bag_model.h)"
cat >bag.c <<EOF2
#include "bag_model.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "$root/synthesizer.h"
#include <stdio.h>
static uint64_t ram[(bag_RAM + 7) / 8];
int main(void) {
  char line[100];
  syn_small *s = syn_small_open(ram, sizeof ram, bag_model, sizeof bag_model, NULL, NULL);
  while (s && fgets(line, sizeof line, stdin)) {
    int ids[100], token;
    syn_text given = {line, strlen(line) - 1}, piece = {"", 0};
    syn_small_source(s, ids, syn_small_encode(s, given, ids, 100));
    while ((token = syn_small_step(s, 9999)) >= SYN_SMALL_MORE)
      if (token >= 0) piece = syn_small_piece(s, token, 1);
    printf("%.*s\n", (int)piece.size, piece.at);
  }
  return !s;
}
EOF2
cut -f 2 rows.tsv >lines
${CC:-cc} -O0 bag.c -o bag_run && $RUN ./bag_run <lines >bag.out
"$SYN" run -m bag.i8 lines >bag.want
is 'embed: n-grams: 24 answers' 24 "$(grep -c . bag.out)"
same 'embed: n-grams: the answers are those of run' bag.want bag.out

# -- refusals: the curve falls, and a model without tokens of its own is refused
cut -f 1 data.tsv >others
"$SYN" eval -m my.safetensors --reject --data data.tsv --other others --json >curve 2>err
is 'eval --reject' 0 $?
is 'eval --reject: thresholds rise' ok "$(sed 's/.*"threshold":\([0-9]*\).*/\1/' curve | sort -nc 2>&1 && echo ok)"
is 'eval --reject: all are accepted first' 1 "$(head -n 1 curve | grep -c '"accepted":1.0000')"
is 'eval --reject: the others are the same lines' 1 "$(head -n 1 curve | grep -c '"others_refused":0.0000')"
"$SYN" eval -m my.safetensors --reject --data data.tsv --json >alone 2>err
is 'eval --reject without others' 1 "$(head -n 1 alone | grep -c '"others_refused":null')"
is 'eval --reject: no row twice' "$(wc -l <curve)" "$(sort -u curve | wc -l)"
"$SYN" eval -m my.safetensors --data data.tsv --other others --metric exact >/dev/null 2>err
has 'eval --other without --reject' '*--other*there is no --reject*' "$(cat err)"

# -- the table of layers on boards has every layer of the language
sed -n '/^| layer | computes |/,/^$/s/` | .*//p' "$root/README.md" | grep -o '`[a-z_][a-z_]*' | tr -d '`' | sort >named
sed -n '/^| layer | RAM /,/^$/s/^\(| `[^|]*`[^|]*\) | .*/\1/p' "$root/examples/embedded/README.md" |
  grep -o '`[a-z_]*`' | tr -d '`' | sort >on_boards
is 'layers are found' 1 "$(($(wc -l <named) > 40))"
is 'layers that the table of boards lacks' '' "$(comm -23 named on_boards | tr '\n' ' ')"

echo "embed: $checks checks, $failed failed"
[ "$failed" = 0 ]
