#!/bin/sh
# Files and terminals of the tool: what is written over what, through which names; what a terminal gets.
# Run from anywhere: sh tests/test_files.sh    CC names the compiler, SYN a tool already built.
# Ends with "files: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
awk 'BEGIN { for (i = 0; i < 40; i++) print substr("abcdefabcdef", i % 6 + 1, i % 4 + 2) "\t" \
  substr("fedcbafedcba", i % 6 + 1, i % 4 + 2) }' >data.tsv
net="--tokenizer char --d-model 16 --heads 2 --max-len 9 --batch 60 --steps 1 --warmup 1
  --encoder pos->ffl --decoder pos->res_nd(mh_dot_att)"
"$SYN" train --data data.tsv $net -o m 2>err
is 'train' 0 $?
cp m kept && cp data.tsv kept.tsv

# -- an output that is an input, or another output, under whatever name --
ln -s data.tsv soft && ln data.tsv hard && ln -s m soft_m && mkdir in out && ln -s .. in/up && cp data.tsv in/d
twice() { # twice NAME PATTERN ARGUMENT...
  name=$1 pattern=$2
  shift 2
  "$SYN" "$@" >got 2>err
  is "$name: status" 2 $?
  has "$name" "syn: $pattern" "$(cat err)"
}
for o in data.tsv ./data.tsv "$dir/data.tsv" soft hard in/up/data.tsv; do
  twice "data as output, $o" "train --output and --data name the same file: $o*" \
    train --data data.tsv $net -o "$o"
  twice "validation as checkpoint, $o" 'train --checkpoint and --valid name the same file: *' \
    train --data in/d --valid data.tsv $net -o new --checkpoint "$o"
done
twice 'sources' 'train --output and --src name *' train --src soft --tgt in/d $net -o hard
twice 'targets' 'train --output and --tgt name *' train --src in/d --tgt soft $net -o hard
twice 'a model to begin with' 'train --output and --init name *' train --data data.tsv --init m $net -o ./m
twice 'checkpoint and model' 'train --output and --checkpoint name *' \
  train --data data.tsv $net -o new --checkpoint ./new
ln -s new soft_new
twice 'a model that is not there yet' 'train --output and --checkpoint name *' \
  train --data data.tsv $net -o in/up/new --checkpoint soft_new
for o in m ./m soft_m "$dir/m"; do
  twice "embed over its model, $o" 'embed --output and --model name *' embed -m m -o "$o"
  twice "embed of all bytes over its model, $o" 'embed --output and --model name *' \
    embed -m m -o "$o" --layout file
  twice "a page over its model, $o" 'trace --output and --model name *' trace -m m --input a -o "$o"
  twice "a page over the second model, $o" 'trace --output and --compare name *' \
    trace -m kept --compare m --input a -o "$o"
done
twice 'a page over its data' 'trace --output and --data name *' trace -m m --data hard -o data.tsv
twice 'a page over its log' 'trace --output and --log name *' trace --log hard -o data.tsv
twice 'a page over its document' 'trace --output and --document name *' \
  trace --document in/d --document hard --document m -o data.tsv
"$SYN" trace -m m --input a --target b --pgm out -o page
map=$(ls ./out/*.pgm | sed q)
twice 'a map over the page' 'trace --pgm and --output name the same file: out/1.*.pgm, ./out/1.*.pgm' \
  trace -m m --input a --target b --pgm out -o "$map"
twice_in() { # twice_in NAME PATTERN ARGUMENT...: compare
  name=$1 pattern=$2
  shift 2
  twice "$name" "$pattern" compare --vary d-model=16 --seeds 1 --data data.tsv --test in/d $net "$@"
}
net=$(echo "$net" | sed 's/--d-model 16//')
twice_in 'a page of compare over its test' 'compare --page and --test name *' -o out --page in/up/in/d
twice_in 'a page of compare over a result' 'compare --page out/row1-seed1.tsv: *writes files of this name*' \
  -o out --page out/row1-seed1.tsv
cp data.tsv out/row1-seed1.out
twice_in 'compare over its data' 'compare --data in/up/out/row1-seed1.out: *' \
  --data in/up/out/row1-seed1.out -o ./out
cp data.tsv out/command
twice_in 'compare over its test' 'compare --test out/command: *' --test out/command -o out
cp data.tsv in/e
"$SYN" run -m m in/e >>in/up/in/e 2>err
is 'standard output is the input: status' 2 $?
is 'standard output is the input' 'syn: run reads in/e, and standard output goes there' "$(cat err)"
same 'standard output is the input' in/e kept.tsv
for word in '' -; do
  (ulimit -f 2000; "$SYN" run -m m $word <in/e >>in/e 2>err)
  is "standard output is standard input, '$word': status" 2 $?
  has "standard output is standard input, '$word'" 'syn: run reads *, and standard output goes *' "$(cat err)"
  same "standard output is standard input, '$word'" in/e kept.tsv
done
"$SYN" train --data - $net -o in/e <in/e 2>err
is 'data of standard input as output: status' 2 $?
has 'data of standard input as output' 'syn: train --output and --data name the same file: in/e, -' "$(cat err)"
same 'data of standard input as output' in/e kept.tsv
"$SYN" presets t5 >t5 2>err
is 'the words of presets are no files' 0 $?
same 'no data were overwritten' data.tsv kept.tsv
same 'no model was overwritten' m kept
is 'nothing was written' '' "$(ls new soft_new/x ./*.tmp 2>err)"
"$SYN" quantize -m ./m -o m --type f32 2>err
is 'quantize may write its own model' 0 $?
same 'quantize may write its own model' m kept
"$SYN" train --data data.tsv $net -o /dev/null --d-model 16 --valid /dev/null 2>err
has 'devices are no files' '*/dev/null is empty*' "$(cat err)"

# -- pages and arrays are written as models are: nothing beside them is touched, modes and links stay --
for what in 'embed -m m' 'trace -m m'; do
  ln -sf data.tsv page.tmp && echo old >page && chmod 640 page
  "$SYN" $what -o page
  is "$what: mode" '-rw-r-----' "$(ls -l page | cut -c 1-10)"
  is "$what: a link beside it" data.tsv "$(readlink page.tmp)"
  same "$what: what the link leads to" data.tsv kept.tsv
  rm -f page.tmp && ln -sf page soft_page
  "$SYN" $what -o soft_page
  is "$what: a link stays" page "$(readlink soft_page)"
  is "$what: what it leads to is written" yes "$([ "$(wc -c <page)" -gt 1000 ] && echo yes)"
  rm -f page soft_page
done
is 'no file is left' '' "$(ls ./*.tmp ./syn-* 2>err)"

# -- what a terminal gets: no character that it would obey --
e=$(printf '\033')
terminal() { # terminal ARGUMENT...: the bytes that a terminal gets, in `seen`
  command="'$SYN'"
  for word; do command="$command '$word'"; done
  script -qec "$command" /dev/null </dev/null 2>err | tr -d '\r' >seen
}
printf 'a\nb\n' >lines
printf 'a\t\033]0;x\007\302\233\342\200\256é\nb\t日\342\201\246本\n' >odd.tsv
"$SYN" train --data odd.tsv --tokenizer byte --d-model 16 --heads 2 --max-len 30 --encoder 'pos->ffl' \
  --decoder 'pos->res_nd(syn_att(V))->res_nd(mh_dot_att)->ffl->norm' --steps 150 --warmup 2 --lr 0.01 \
  --dropout 0 --label-smoothing 0 -o odd 2>err
cut -f 2 odd.tsv >wanted
"$SYN" run -m odd lines >got
same 'the outputs, in a file' got wanted
"$SYN" run -m odd --beam 1 --batch 1 lines >got
same 'the outputs token by token, in a file' got wanted
"$SYN" run -m odd --json lines >got
is 'JSON' '"text":"\u001b]0;x\u0007\u009b\u202eé"}' "$(sed -n 's/.*"text"/"text"/;1p' got)"
if command -v script >/dev/null && [ "$(script -qec 'echo x' /dev/null </dev/null 2>err | tr -d '\r')" = x ]; then
  shown='\x1b]0;x\x07\u009b\u202eé 日\u2066本'
  terminal run -m odd lines
  is 'a terminal: outputs' "$shown" "$(echo $(cat seen))"
  terminal run -m odd --beam 1 --batch 1 lines
  is 'a terminal: outputs token by token' "$shown" "$(echo $(cat seen))"
  terminal run -m odd --nbest 2 lines
  is 'a terminal: tabs and line ends stay' 4 "$(awk -F '\t' 'NF == 3' seen | wc -l | tr -d ' ')"
  terminal run -m odd --json lines
  is 'a terminal: JSON' '"text":"\u001b]0;x\u0007\u009b\u202eé"}' "$(sed -n 's/.*"text"/"text"/;1p' seen)"
  name=$(printf 'n\033[2J\342\200\256')
  cp m "$name"
  terminal golden "$name" "no$name"
  has 'a terminal: golden' '*n\\x1b\[2J\\u202e: FAILED: test.src is not there*non\\x1b\[2J\\u202e: FAILED: *' \
    "$(echo $(cat seen))"
  printf 'linear \r -> norm' >text
  terminal info --task classify --encoder "$(cat text)"
  is 'a terminal: a text of layers' 'encoder linear \x0d -> norm' "$(grep '^encoder l' seen)"
  terminal info -m "no$name"
  has 'a terminal: a message' 'syn: non\\x1b\[2J\\u202e: cannot open: *' "$(cat seen)"
  terminal compare --vary d-model=8 --kinds "$name: light_conv" --seeds 1 --steps 1 --warmup 1 --data data.tsv \
    --test data.tsv --tokenizer char --heads 1 --max-len 9 --batch 60 --samples 0 -o cmp \
    --encoder 'pos->$KIND' --decoder 'pos->res_nd(mh_dot_att)'
  has 'a terminal: a row of compare' '*\\u202e*' "$(cat seen)"
  is 'a terminal: nothing that it obeys' 0 "$(cat seen | LC_ALL=C grep -c "$e")"
else
  echo "skipped: a terminal: needs script of util-linux"
fi

# -- messages are one line of visible characters everywhere --
"$SYN" run -m "$(printf 'x\033[31m\ny\302\205')" lines 2>err
has 'a file name' 'syn: x\\x1b\[31m\\x0ay\\u0085: *' "$(cat err)"
printf 'a\tb\n%s\n' "$(printf 'c\033[1m\342\200\256')" >notab.tsv
"$SYN" train --data notab.tsv $net -o new 2>err
has 'a line of data' 'syn: notab.tsv line 2 has no TAB; *given: c\\x1b\[1m\\u202e' "$(cat err)"
i=0 long=
while [ $i -lt 40 ]; do long=$long日本 i=$((i + 1)); done
for cut in "$long" "a$long" "aa$long"; do
  for arguments in "--metric" "--board" "--preset"; do
    case $arguments in --metric) first=score words='lines lines' ;; *) first=info words= ;; esac
    "$SYN" $first $arguments "$cut" $words >got 2>err
    is "a name that is cut, $arguments" 0 "$(grep -c '\\x' err)"
  done
  printf 'a\tb\n%s\n' "$cut" >notab.tsv
  "$SYN" train --data notab.tsv $net -o new 2>err
  is 'a line that is cut' 0 "$(grep -c '\\x' err)"
done
is 'no file is left' '' "$(ls ./*.tmp ./syn-* 2>err)"

echo "files: $checks checks, $failed failed"
[ $failed = 0 ]
