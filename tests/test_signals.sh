#!/bin/sh
# The command-line tool on sources of numbers: train, eval, run, info and grad of classify, tag, regress and
# regress_rows; what is refused. The gestures of examples/signals, made by its program, are learned in one epoch
# well above chance.
# Run from anywhere: sh tests/test_signals.sh    CC names the compiler, SYN a tool already built.
# Ends with "signals: N checks, N failed"; exit 1 when any failed.

root=$(cd "$(dirname "$0")/.." && pwd)
. "$(dirname "$0")/checks.sh"
need_syn
at_least() { # at_least NAME LEAST NUMBER
  is "$1: $3, at least $2" 1 "$(awk "BEGIN { print ($3 >= $2) }" </dev/null)"
}
refused() { # refused NAME PATTERN ARGUMENT...
  name=$1 pattern=$2
  shift 2
  "$SYN" "$@" >out 2>err
  is "$name: stdout" "" "$(cat out)"
  has "$name" "*$pattern*" "$(tail -1 err)"
}

# -- gestures --
"${CC:-cc}" -O1 "$root/examples/signals/gestures.c" -o gestures -lm
./gestures train 450 1 >train.tsv
./gestures test 90 2 >test.tsv
is "rows" 450 "$(wc -l <train.tsv | tr -d ' ')"
"$SYN" train --task classify --features 3 --max-len 64 --encoder 'cnn(12, 5, relu) -> cnn(16, 5, relu, dilate=3)' \
  --data train.tsv --hold-back 0.1 --epochs 4 --batch 1024 --output g.st 2>log
has "headline" "405 texts, 3 features, 9 classes*" "$(head -1 log)"
at_least "gestures" 50 "$("$SYN" eval --model g.st --data test.tsv --metric accuracy | cut -d' ' -f2)"
is "metrics" "accuracy f1 nats " "$("$SYN" eval --model g.st --data test.tsv --metric accuracy,f1,nats | cut -d' ' -f1 | tr '\n' ' ')"
cut -f2 test.tsv | "$SYN" run --model g.st >answers
is "one answer a line" 90 "$(wc -l <answers | tr -d ' ')"
at_least "run and eval agree" 50 "$(cut -f1 test.tsv | paste - answers | awk '$1 == $2' | wc -l | awk '{ print 100 * $1 / 90 }')"
has "info" "*src_features 3, classes 9*" "$("$SYN" info --model g.st | head -1)"

printf 'a\tb c\nb\tc d\n' >words.tsv
"$SYN" train --task classify --encoder rnn --d-model 8 --data words.tsv --steps 1 --output words.st 2>log || cat log
# -- for boards: integers with a unit, fed row by row
embed() { "$SYN" embed --model g.st --tokenizers yes --name gestures "$@"; }
embed --units 0.001 --output gestures_model.h
cat >feed.c <<'EOF2'
#include "gestures_model.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "synthesizer.h"
#include <stdio.h>
int main(void) {
  static uint64_t ram[(gestures_RAM + 7) / 8];
  syn_small *s = syn_small_open(ram, sizeof ram, gestures_model, sizeof gestures_model, NULL, NULL);
  int n = 0, token = SYN_SMALL_END, ended = 0, ch;
  int16_t row[3];
  double x;
  for (; scanf("%lf", &x) == 1;) {
    if (!n && token == SYN_SMALL_END) syn_small_source(s, NULL, 0), ended = 0;
    row[n++] = (int16_t)(x * 1000 + (x < 0 ? -0.5 : 0.5));
    if ((ch = getchar()) != '\n' && n < 3) continue;
    while ((token = syn_small_step(s, 500)) == SYN_SMALL_MORE) continue;
    syn_small_feed(s, row);
    n = 0;
    if (ch != '\n') continue;
    while ((token = syn_small_step(s, 500)) != SYN_SMALL_END) {
      if (token == SYN_SMALL_ROW && !ended++) syn_small_feed(s, NULL);
      if (token >= 0) printf("%.*s\n", (int)syn_small_piece(s, token, 1).size, syn_small_piece(s, token, 1).at);
    }
  }
  return 0;
}
EOF2
"${CC:-cc}" -O1 -I. -I"$root" feed.c -o feed
cut -f2 test.tsv | $RUN ./feed >small
is "one answer a line of the small model" 90 "$(wc -l <small | tr -d ' ')"
at_least "the small model answers as run does" 87 "$(paste small answers | awk '$1 == $2' | wc -l | tr -d ' ')"
embed --units 0.001,0.001,0.001 --output three_model.h
same "units of each feature" gestures_model.h three_model.h
embed --units 0.001$digits --output three_model.h
same "units of 75 digits" gestures_model.h three_model.h
embed --output one_model.h
is "without units: another array" 1 "$(cmp -s gestures_model.h one_model.h; echo $?)"
digits=$(printf '%070d' 0)
for bad in 0.1,0.2 1,2,3,4 x 1,x,3 1, 1,2,3, ,1 1,,3 1e-46 1,1e39,1 0.1${digits}x; do
  refused "units $bad" "--units $bad: wanted one number that float32 holds, or 3 with commas between" \
    embed --model g.st --units $bad --output x.h
done
right=$(cut -f1 test.tsv | paste - small | awk '$1 == $2' | wc -l)
"$SYN" eval --reject --model g.st --data test.tsv --units 0.001 --json >curve
is "eval --reject --units: the answers of the board" "$(awk "BEGIN { printf \"%.4f\", $right / 90 }")" \
  "$(head -1 curve | sed 's/.*"right":\([0-9.]*\).*/\1/')"
printf 'wave\t1 2 3\nwave\t1 2 3 1 40 3\n' >large.tsv
refused "a number above 32767 units" "large.tsv line 2 row 2 has the number 40, which is 40000 units; at most 32767: see --units" \
  eval --reject --model g.st --data large.tsv --units 0.001
refused "units of tokens" "--units: *reads tokens, not numbers" eval --reject --model words.st --data words.tsv --units 2
"$SYN" eval --model g.st --data test.tsv --units 2 >out 2>err
has "units without --reject" "*--units*there is no --reject*" "$(cat err)"
"$SYN" trace --model g.st --input '1 2 3' --svg . --output page 2>err
is "maps without attention are said" "syn: --svg has no effect: the network has no attention" "$(cat err)"
refused "unit 0" "feature 0 has unit 0,*" embed --model g.st --units 0 --output x.h
"$SYN" info --model g.st --board microbit --json >board.json
at_least "instructions of a window" 1000 "$(sed -n 's/.*"instructions":\([0-9]*\).*/\1/p' board.json)"
has "nearest" "nearest neighbour: [0-9]* of 90*" "$(./gestures nearest train.tsv test.tsv)"

# -- regress, regress_rows, tag: x y -> the mean of x, x - y, the sign of x --
awk 'BEGIN { srand(3); for (i = 0; i < 300; i++) { n = 3 + int(rand() * 5); s = t = u = ""; sum = 0
  for (k = 0; k < n; k++) { a = int(rand() * 1000) / 100 - 5; b = int(rand() * 100) / 100; e = k ? " " : ""
    s = s e a " " b; t = t e a / 5 - b; u = u e (a > 0 ? "up" : "down"); sum += a }
  print s "\t" sum / n / 5 " 1" >"r.tsv"; print s "\t" t >"rows.tsv"; print s "\t" u >"tag.tsv" } }'
learn() { # learn TASK FILE: model TASK.st
  "$SYN" train --task "$1" --features 2 --max-len 20 --encoder 'linear(8) -> res_nd(ffl)' --data "$2" --epochs 25 \
    --dropout 0 --label-smoothing 0 --batch 512 --output "$1.st" 2>log || cat log
}
learn regress r.tsv
learn regress_rows rows.tsv
learn tag tag.tsv
for task in regress:r regress_rows:rows; do
  "$SYN" eval --model "${task%:*}.st" --data "${task#*:}.tsv" >out
  is "$task: metrics" "mse mae r2 " "$(cut -d' ' -f1 out | tr '\n' ' ')"
  at_least "$task: r2" 0.8 "$(sed -n 's/^r2 //p' out)"
done
# mse of the tool is the loss of the library
is "mse is the loss" "$("$SYN" eval --model regress.st --data r.tsv --metric mse | awk '{ printf "%.4f", $2 }')" \
  "$("$SYN" eval --model regress.st --data r.tsv --metric nats | awk '{ printf "%.4f", $2 }')"
at_least "tag" 90 "$("$SYN" eval --model tag.st --data tag.tsv | cut -d' ' -f2)"
is "two numbers" 2 "$(printf '1 2 3 4\n' | "$SYN" run --model regress.st | wc -w | tr -d ' ')"
is "one number a row" 2 "$(printf '1 2 3 4\n' | "$SYN" run --model regress_rows.st | wc -w | tr -d ' ')"

# -- the same data as safetensors: the same model, the same answers --
cat >tensors.c <<'EOF2'
/* Writes a safetensors file of lines "classes NAME NAME ..." and "NAME TYPE SHAPE NUMBER ...". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char line[1 << 20], head[1 << 16], data[1 << 20];
static size_t bytes;
static void put(const char *type, double x) {
  float one = (float)x;
  uint64_t bits = (uint64_t)(int64_t)x;
  uint32_t four;
  int i, size = atoi(type + strcspn(type, "123468")) / 8;
  memcpy(&four, &one, 4);
  if (*type == 'F') bits = four;
  if (*type == 'B') bits = four >> 16;
  if (!strcmp(type, "F64")) memcpy(&bits, &x, 8);
  for (i = 0; i < size; i++) data[bytes++] = (char)(bits >> 8 * i);
}
int main(void) {
  char name[40], type[40], shape[40], *at, *end;
  size_t n = 1, from;
  int used, i;
  head[0] = '{';
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "%39s %39s %39s%n", name, type, shape, &used) == 3 && strcmp(name, "classes")) {
      for (from = bytes, at = line + used;; at = end) {
        double x = strtod(at, &end);
        if (end == at) break;
        put(type, x);
      }
      n += (size_t)sprintf(head + n, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%lu,%lu]}",
                           n > 1 ? "," : "", name, type, strcmp(shape, "-") ? shape : "", (unsigned long)from,
                           (unsigned long)bytes);
      continue;
    }
    n += (size_t)sprintf(head + n, "%s\"__metadata__\":{\"classes\":\"", n > 1 ? "," : "");
    for (at = strtok(line + 8, " \n"); at; at = strtok(NULL, " \n")) n += (size_t)sprintf(head + n, "%s\\n", at);
    n += (size_t)sprintf(head + n, "\"}");
  }
  head[n++] = '}';
  for (i = 0; i < 8; i++) putchar((int)((uint64_t)n >> 8 * i & 255));
  fwrite(head, 1, n, stdout);
  fwrite(data, 1, bytes, stdout);
  return 0;
}
EOF2
"${CC:-cc}" -O1 tensors.c -o tensors
tensors() { $RUN ./tensors; }
spec_of() { # spec_of TASK FEATURES TYPE <TSV: the lines that tensors reads
  awk -F'\t' -v task="$1" -v f="$2" -v type="$3" '{ first = task == "classify"; s = first ? $2 : $1; t = first ? $1 : $2
    n = split(s, v, " ") / f; rows += n; x = x " " s; lengths = lengths " " n; m = split(t, w, " "); ys += m
    for (i = 1; i <= m; i++) { if (first || task == "tag") { if (!(w[i] in id)) { id[w[i]] = k++; names = names " " w[i] }
      y = y " " id[w[i]] } else y = y " " w[i] } }
    END { each = task == "tag" || task == "regress_rows" ? rows : NR; if (k) print "classes" names
      print "x", type, rows "," f x; print "lengths", k ? "I32" : "I64", NR lengths
      print "y", k ? "I16" : "F32", each (k ? "" : "," ys / each) y }'
}
head -40 train.tsv >classify.tsv
cp r.tsv regress.tsv
cp rows.tsv regress_rows.tsv
for task in classify tag regress regress_rows; do
  f=2
  [ $task != classify ] || f=3
  spec_of $task $f F32 <$task.tsv | tensors >$task.tensors
  for file in $task.tsv $task.tensors; do
    "$SYN" train --task $task --features $f --max-len 64 --encoder 'linear(6) -> rnn(6)' --data $file --hold-back 0.1 \
      --epochs 9 --steps 20 --output $file.st >$file.log 2>&1 || cat $file.log
  done
  same "$task: the model of a safetensors file is that of TSV" $task.tsv.st $task.tensors.st
  for file in $task.tsv $task.tensors; do "$SYN" eval --model $task.tsv.st --data $file >$file.eval 2>&1; done
  same "$task: eval of both" $task.tsv.eval $task.tensors.eval
  column=1
  [ $task != classify ] || column=2
  cut -f$column $task.tsv | "$SYN" run --model $task.tsv.st >of_text
  "$SYN" run --model $task.tsv.st $task.tensors >of_tensors
  same "$task: run of both" of_text of_tensors
  "$SYN" run --model $task.tsv.st <$task.tensors >of_tensors
  same "$task: run of a pipe" of_text of_tensors
done
is "run without lengths: one source, no y" "$(printf '1 2 3 4 5 6\n' | "$SYN" run --model regress.tsv.st)" \
  "$(echo 'x I16 3,2 1 2 3 4 5 6' | tensors | "$SYN" run --model regress.tsv.st)"
awk 'BEGIN { printf "classes"; for (i = 0; i < 440; i++) printf " a%d", i; print "\nx F32 3,2 1 2 3 4 5 6" }' </dev/null >named
tensors <named >tensors.named
is "its header has a line end in its size" 10 "$(od -An -tu1 -j1 -N1 tensors.named | tr -d ' ')"
is "run reads it" "$(printf '1 2 3 4 5 6\n' | "$SYN" run --model regress.tsv.st)" "$("$SYN" run --model regress.tsv.st <tensors.named)"
is "run of a pipe: the first line does not depend on the next one" "$(printf '1 2\n' | "$SYN" run --model regress.tsv.st)" \
  "$(printf '1 2\n3 4\n' | "$SYN" run --model regress.tsv.st | head -1)"
printf 'x F64 3,2 0.1 0.2 0.3 1e-3 -5 6\nlengths U8 2 1 2\ny F64 2 0.1 7\n' | tensors >double.tensors
printf '0.1 0.2\t0.1\n0.3 1e-3 -5 6\t7\n' >double.tsv
for file in double.tsv double.tensors; do
  "$SYN" train --task regress --features 2 --encoder 'linear(2)' --valid $file --data $file --steps 3 --batch 64 \
    --output $file.st >/dev/null 2>&1
done
same "float64, targets of one dimension" double.tsv.st double.tensors.st
is "BF16" "$(printf '1.5 -0.25\n' | "$SYN" run --model regress.tsv.st)" \
  "$(echo 'x BF16 1,2 1.5 -0.25' | tensors | "$SYN" run --model regress.tsv.st)"
printf 'x F32 3,2 1 2 3 4 5 6\nlengths I64 2 1 2\n' | tensors >sources.tensors
printf 'a b\nb\n' >targets.txt
printf '1 2\ta b\n3 4 5 6\tb\n' >sources.tsv
seq2seq='--task seq2seq --features 2 --d-model 8 --heads 2 --max-len 8 --tokenizer space --steps 2 --batch 32'
"$SYN" train $seq2seq --src sources.tensors --tgt targets.txt --output a.st 2>log || cat log
"$SYN" train $seq2seq --data sources.tsv --output b.st 2>log || cat log
same "seq2seq: sources as tensors, targets as text" a.st b.st
refused "seq2seq has no y" 'targets of seq2seq are text,*lines of numbers TAB text, or this file as --src' train $seq2seq \
  --data sources.tensors --output a.st
"$SYN" compare --task tag --features 2 --encoder 'linear(4)' --data tag.tensors --test tag.tensors --vary 'lr=0.01' --seeds 1 \
  --steps 2 -o tag_runs >out 2>log || cat log
has "compare reads tensors" "*accuracy*" "$(cat out)"

given() { # given NAME PATTERN TASK [TRAIN OPTION...]: what the lines of `spec` make is refused
  name=$1 pattern=$2 task=$3
  shift 3
  tensors <spec >given.tensors
  refused "$name" "given.tensors*$pattern" train --task "$task" --features 2 --data given.tensors --output x.st --steps 1 \
    --encoder rnn "$@"
}
lines() { printf "$1\nlengths I64 2 1 2\n$2\n" >spec; }
x='x F32 3,2 1 2 3 4 5 6'
lines "$x" 'y I64 2 0 1'
given "another width" ': tensor x is F32 \[3, 2\], wanted numbers of shape \[rows, 3\]' classify --features 3
lines 'x F32 6 1 2 3 4 5 6' 'y I64 2 0 1'
given "one dimension" 'x is F32 \[6\], wanted numbers of shape \[rows, 2\]' classify
lines 'x F32 0,2' 'y I64 2 0 1'
given "no rows" 'x is F32 \[0, 2\], wanted numbers of shape \[rows, 2\]' classify
lines 'x C64 3,1 1 2 3' 'y I64 2 0 1'
given "complex numbers" 'x is C64 \[3, 1\], wanted numbers*' classify --features 1
lines "$x" 'y F32 2 0 1'
given "labels as floats" 'y is F32 \[2\], wanted integers of shape \[2\], as there are 2 lengths' classify
lines "$x" 'y I64 3 0 1 1'
given "a label too many" 'y is I64 \[3\], wanted integers of shape \[2\]*' classify
lines "$x" 'y I64 2 0 1'
given "tags by sources" 'y is I64 \[2\], wanted integers of shape \[3\], as there are 3 rows of x' tag
lines "$x" 'y F32 3,1 1 2 3'
given "targets" 'y is F32 \[3, 1\], wanted numbers of shape \[2, targets\]*' regress
lines "$x" 'y F32 2,0'
given "no targets" 'y is F32 \[2, 0\], wanted*' regress
lines "$x" 'z I64 2 0 1'
given "no y" 'has no tensor y, wanted y of shape \[2\]' classify
printf "$x\ny I64 1 0\n" >spec
given "no lengths" 'has no tensor lengths, wanted lengths of shape \[sources\]' classify
printf 'lengths I64 1 1\ny I64 1 0\n' >spec
given "no x" 'without a tensor x: wanted x, lengths and y, or a text file' classify
lines 'classes a b' "$x\ny I64 2 0 2"
given "an unknown class" 'y\[1\] is 2, but classes of its metadata has 2 lines, from 0 on' classify
lines 'classes a b' "$x\ny I64 2 0 -1"
given "a class below 0" 'y\[1\] is -1, but*' classify
lines 'classes a a' "$x\ny I64 2 0 1"
given "two equal names" 'two classes are called "a"' classify
lines 'classes \\t b' "$x\ny I64 2 0 1"
given "a TAB in a name" 'class 0 is called*wanted a line of text of at most 255 bytes' classify
lines 'classes a\\u0020a b' "$x\ny I64 3 0 1 1"
given "two words are no tag" 'class 0 is called "a a", wanted a word*' tag
for bad in '2 0 3' '2 -1 4' '2 1 1' '2 4 -1' '2 2 2' '2 9223372036854775807 2' '1 2'; do
  printf "$x\nlengths I64 $bad\ny I64 ${bad%% *} 0 1\n" >given.lines
  sed "s/^y I64 1 0 1/y I64 1 0/" given.lines >spec
  given "lengths $bad" 'lengths*, *' classify
done
printf "$x\nlengths F32 2 1 2\ny I64 2 0 1\n" >spec
given "lengths as floats" 'lengths is F32 \[2\], wanted integers of shape \[sources\]' classify
printf "$x\nlengths I64 0\ny I64 0\n" >spec
given "no sources" 'lengths is I64 \[0\], wanted integers*' classify
lines 'x F32 3,2 1 2 nan 4 5 6' 'y I64 2 0 1'
given "no number" ' line 2: number 1 is nan, wanted a number of at most 1e+30*' classify
lines 'x F32 3,2 1 2 1 4 inf 6' 'y I64 2 0 1'
given "infinity" ' line 2: number 3 is inf, wanted*' classify
lines 'x F64 3,2 1 2 1 4 1e300 6' 'y I64 2 0 1'
given "huge" ' line 2: number 3 is 1*e+300, wanted*' classify
lines "$x" 'y F32 2,1 nan 1'
given "no target" ' line 1: number 1 is *nan, wanted*' regress
refused "a model of words" 'sources.tensors has rows of 2 numbers, but the source is text: wanted a text file, or * --features 2' \
  eval --model words.st --data sources.tensors
refused "a model file" 'words.st: this is a model file, or another safetensors file without a tensor x' eval --model regress.st --data words.st
size=$(wc -c <tag.tensors)
for cut in 9 30 200 $((size - 1)); do
  head -c $cut tag.tensors >given.tensors
  refused "cut to $cut bytes" 'given.tensors: *' eval --model tag.st --data given.tensors
done
lines "$x\nextra I64 1 7" 'y I64 2 0 1'
tensors <spec >extra.tensors
"$SYN" train --task classify --features 2 --data extra.tensors --encoder rnn --steps 1 --batch 200 --output x.st 2>log
has "what is not read is said" "*extra.tensors: the tensor extra is not read*" "$(cat log)"

# -- --minutes chooses a network, which fits a board where one is named --
chosen() { # chosen NAME PATTERN TRAIN OPTION...
  name=$1 pattern=$2
  shift 2
  "$SYN" train --minutes 0.01 --output x.st "$@" >out 2>log || cat log
  has "$name" "*--hold-back $held --clip 1 $pattern --steps*" "$(grep 'the same training again' log)"
}
held=0 # of fewer than 50 rows
chosen "minutes: classify" "--encoder 'cnn(16,5,relu)->cnn(24,5,relu,dilate=2)->cnn(32,5,relu,dilate=4)' --d-model 128 --heads 4 --max-len 64 --batch 2048 --dropout 0.1 --label-smoothing 0.1 --optimizer muon" \
  --task classify --features 3 --data classify.tsv
held=0.05
chosen "minutes: tag, sources of other lengths" '*--max-len 14 *' --task tag --features 2 --data tag.tensors
chosen "minutes: regress" '*cnn(16*--dropout 0 --label-smoothing 0 *' --task regress --features 2 --data r.tsv
chosen "minutes: regress_rows" '*cnn(16*' --task regress_rows --features 2 --data rows.tsv
awk '{ print "1 " NR " 3 -" NR "\t1 " NR " 3 -" NR }' r.tsv >same.tsv
chosen "minutes: targets that are the rows" "*'ff(4,tanh)->ff(1,tanh)->ff(4,tanh)'*" --task regress_rows --features 2 --data same.tsv
chosen "minutes: what is given stays" "--d-model 128 *" --task regress --features 2 --data r.tsv --encoder 'linear(4)' --max-len 30
is "its network" 1 "$("$SYN" info --model x.st | grep -c 'linear(4)')"
held=0
chosen "minutes, a board: a narrower network" "--encoder 'cnn([1-9],5,relu)*" --task classify --features 3 --data classify.tsv \
  --board m0-16k --latency-ms 40
has "it fits the board" "syn: on m0-16k: *" "$(grep 'on m0-16k' log)"

# the program of examples/signals, where there is NumPy
for python in python3 /usr/bin/python3; do
  $python -c 'import numpy' 2>/dev/null || continue
  { echo 'import numpy as np'
    echo 'x, lengths, y = np.array([[1, 2], [3, 4], [5, 6.5]]), np.array([1, 2]), np.array([1, 0], "int8")'
    awk '/^```python/ { shown = 1; next } /^```/ { shown = 0 } shown' "$root/examples/signals/README.md"; } >save.py
  $python save.py
  printf 'none\t1 2\ncircle\t3 4 5 6.5\n' >shown.tsv
  for file in shown.tsv train.safetensors; do
    "$SYN" train --task classify --features 2 --data $file --encoder rnn --d-model 4 --steps 2 --batch 200 --output $file.st 2>log || cat log
  done
  same "the file that the program writes" shown.tsv.st train.safetensors.st
  break
done

# -- faults of a machine by the error of a network that saw healthy ones --
"${CC:-cc}" -O1 "$root/examples/embedded/vibration_data.c" -o vibration -lm
./vibration train 500 1 >healthy.tsv
./vibration test 200 2 >machines.txt
"$SYN" train --task regress_rows --features 16 --max-len 16 --encoder 'ff(32, tanh) -> ff(6, tanh) -> ff(32, tanh)' \
  --dropout 0 --data healthy.tsv --hold-back 0.1 --epochs 30 --output machine.st 2>log || cat log
"$SYN" run --model machine.st <machines.txt | ./vibration auc machines.txt >auc.txt
is "faults" "bearing imbalance looseness " "$(cut -d' ' -f1 auc.txt | tr '\n' ' ')"
at_least "AUC of a damaged bearing" 0.95 "$(sed -n 's/^bearing //p' auc.txt)"
at_least "AUC of looseness" 0.8 "$(sed -n 's/^looseness //p' auc.txt)"
said=$(./vibration auc machines.txt 2>&1 </dev/null)
is "AUC of no answers" "1 vibration_data: machines.txt and the answers have 0 windows in common, wanted 4 or more" "$? $said"
said=$(./vibration auc none.txt 2>&1 </dev/null)
is "AUC without a file" "1 vibration_data: cannot open none.txt" "$? $said"

# -- gradients by the tool --
for task in classify regress_rows seq2seq; do
  "$SYN" grad --task $task --features 3 --encoder 'cnn(6, 3, tanh) -> rnn(6)' >out 2>&1
  is "grad $task" 0 "$?"
done

# -- answers of independent programs, tests/golden_src/*.py --
golden() { # GROUP COUNT
  "$SYN" golden "$root"/tests/$1/*.safetensors >out
  is "$1: passed" "$2 passed, 0 failed" "$(tail -1 out)"
  case $(sed -n 's/^hash //p' out) in
    inexact) ;;
    *) is "$1: hash" "$(cat "$root/tests/$1/hash.txt")" "$(sed -n 's/^hash //p' out)" ;;
  esac
}
golden golden_features 4
golden golden_kinds 15

# -- refused --
refused "rows" 'stdin line 1 has 3 numbers, wanted rows of 2' run --model regress.st <<X
1 2 3
X
refused "no number" 'number 2 is nan, wanted a number' run --model regress.st <<X
1 nan
X
refused "huge" 'number 1 is 1e31, wanted a number of at most 1e+30' run --model regress.st <<X
1e31 2
X
refused "no features" 'wants --features N' train --task regress --data r.tsv --output x.st
refused "minutes without features" 'train --task regress wants --features N' train --task regress --minutes 1 --data r.tsv \
  --output x.st
refused "minutes, text from numbers" 'chooses nothing for --features of seq2seq: give --steps or --epochs, --encoder and --decoder' \
  train --features 2 --minutes 1 --data sources.tsv --output x.st
refused "minutes, --init" 'chooses nothing for --features with --init: give --steps or --epochs' train --task tag --features 2 \
  --init tag.st --minutes 1 --data tag.tsv --output x.st
refused "minutes, a latency" 'train --board microbit: no network that --minutes chooses fits; the nearest needs*' train \
  --task classify --features 3 --minutes 1 --board microbit --latency-ms 0.01 --data classify.tsv --output x.st
refused "compare" 'no metrics for the task regress; eval has' compare --task regress --features 2 --data r.tsv --test r.tsv \
  --vary 'd-model=4,8' --epochs 1
refused "lm" 'reads text' train --task lm --features 2 --data r.tsv --output x.st
printf '1 2\t1 2\n1 2 3 4\t1\n' >bad.tsv
refused "targets" 'bad.tsv line 2 has 1 numbers, wanted rows of 2' train --task regress --features 2 --data bad.tsv --output x.st
printf '1 2\tup\n1 2 3 4\tup\n' >bad.tsv
refused "tags" 'bad.tsv line 2 has 1 tags for 2 tokens' train --task tag --features 2 --data bad.tsv --output x.st
refused "no metric" 'all are bleu *, of regress mse mae r2' eval --model regress.st --data r.tsv --metric mean
refused "trace" 'input line 1 has 3 numbers, wanted rows of 2' trace --model regress.st --output x.html --input '1 2 3'
is "trace of numbers" 'features' \
  "$("$SYN" trace --model regress.st --output x.html --input '1 2' && grep -o '"kind":"features"' x.html | cut -d'"' -f4 | head -n 1)"

# -- what has no effect is said --
"$SYN" train --task regress --features 2 --data r.tsv --encoder 'linear(2)' --steps 1 --lowercase --tokenizer char --nfc \
  --output x.st 2>err
is "no effect" 3 "$(grep -c 'has no effect' err)"

echo "signals: $checks checks, $failed failed"
[ "$failed" = 0 ]
