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
refused "minutes of numbers" 'with --features give --steps or --epochs' train --task regress --minutes 1 --data train.tsv \
  --output x.st
refused "minutes" 'with --features give --steps or --epochs' train --task classify --features 3 --minutes 1 --data train.tsv \
  --output x.st
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
