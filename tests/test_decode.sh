#!/bin/sh
# The command-line tool: sampling at the ends of its options, the unknown token, --init with other tokens, vectors.
# Run from anywhere: sh tests/test_decode.sh    CC names the compiler, SYN a tool already built.
# Ends with "decode: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn

small="--tokenizer char --d-model 16 --heads 2 --max-len 9 --batch 200 --steps 12 --lr 0.01 --schedule constant"
small="$small --encoder pos->norm --decoder pos->res_nd(mh_dot_att)->norm"
words abcde 1 200 >data.tsv
words abcde 2 20 | cut -f 1 >lines
"$SYN" train --data data.tsv $small -o m 2>log
is 'train' 0 $?

# -- sampling: an option at its end is greedy, or samples from all --
"$SYN" run -m m --beam 1 lines >greedy
"$SYN" run -m m --temperature 1 lines >sampled
is 'sampled' different "$(cmp -s greedy sampled && echo same || echo different)"
ends() { # ends NAME FILE OPTION...: the output is that of the file
  name=$1 file=$2
  shift 2
  "$SYN" run -m m "$@" lines >out 2>err
  is "$name: status" "0 " "$? $(cat err)"
  same "$name" "$file" out
}
for p in 0 1e-9 1.3e-38; do ends "top-p $p" greedy --temperature 1 --top-p $p; done
for t in 1e-9 1e-30 1.3e-38; do ends "temperature $t" greedy --temperature $t; done
ends 'top-k 1' greedy --temperature 1 --top-k 1
ends 'top-p 1' sampled --temperature 1 --top-p 1
ends 'top-k of the vocabulary' sampled --temperature 1 --top-k 9
ends 'top-k above it' sampled --temperature 1 --top-k 2147483647
"$SYN" run -m m --temperature 1e30 lines >hot
ends 'temperature 3e38' hot --temperature 3e38
for o in 'temperature nan' 'temperature 1e60' 'temperature 1e-60' 'top-p nan' 'top-p 1e-60' 'alpha 1e30' 'top-p 1.0001' 'top-p -0.1' 'alpha inf' 'alpha -1' 'temperature -1e-30'; do
  set -- $o
  "$SYN" run -m m --$1 $2 lines >out 2>err
  has "$o" "2 syn: run --$1 wants a number *, given: $2" "$? $(cat err)"
done

# -- more lines than a batch: threads divide them, and the output is that of one thread --
"$SYN" run -m m --threads 1 --json lines >one
if "$SYN" run -m m --threads 3 lines >out 2>err; then # a build with OpenMP
  for how in '--threads 2 --batch 3' '--threads 3 --batch 2' '--threads 7 --batch 9' '--threads 3 --batch 64'; do
    "$SYN" run -m m $how --json lines >out 2>err
    same "lines, $how" one out
  done
  printf 'abcdeabcde\n' | cat lines - lines >long
  "$SYN" run -m m --too-long stop --threads 3 --batch 2 long >out 2>err
  is 'a long line ends the run' "1 20" "$? $(wc -l <out | tr -d ' ')"
else
  has 'no threads' 'syn: --threads 3 needs a build with -fopenmp' "$(cat err)"
fi

# -- the unknown token: written only with --unknown; U+FFFD stands for it --
tr a '\377' <data.tsv >bad.tsv # bytes that are no character
"$SYN" train --data bad.tsv $small --lowercase -o u 2>log
for how in '--beam 1' '--beam 4' '--temperature 2'; do
  is "unknown, $how" 0 "$("$SYN" run -m u $how lines 2>err | grep -c "$(printf '\357\277\275')")"
done
is 'unknown, with --unknown' yes \
  "$("$SYN" run -m u --temperature 2 --unknown lines 2>err | grep -q "$(printf '\357\277\275')" && echo yes || echo no)"

# -- --init with other tokens: rows go by their texts, and what has none is counted --
words vwxab 3 200 >other.tsv
"$SYN" train --data other.tsv --init m --steps 1 -o n 2>err
has 'init: its tokenizer, new words' '*[0-9]* of [0-9]* source tokens are unknown (*tokenizer is that of --init*' "$(cat err)"
"$SYN" train --data other.tsv --init m --tokenizer char --steps 1 -o n 2>err
has 'init: a tokenizer of its own' \
  '*weights are taken, 3 in part*rows of tokens that it has (3): src.embed 6 of 9 tgt.embed 6 of 9 out.b 6 of 9*' "$(cat err)"
is 'init: a tokenizer of its own knows all' '' "$(grep 'unknown' err)"
tr 'ab' 'ba' <data.tsv >swapped.tsv # the same letters: all of it, whatever their numbers
"$SYN" train --data swapped.tsv --init m --tokenizer char --steps 1 --lr 1e-9 -o n 2>err
is 'init: the same letters' '' "$(grep 'in part' err)"

# -- vectors: a line of numbers for each line; the same in JSON --
printf 'ab\n\nabcdeabcdeabc\n' >few
"$SYN" run -m m --vectors mean few >out 2>err
is 'vectors: status' 0 $?
is 'vectors: numbers of each line' '16 0 16 ' "$(awk '{ printf "%d ", NF }' out)"
has 'vectors: a line that is cut' '*line 3 has 14 tokens*the model takes 9*' "$(cat err)"
"$SYN" run -m m --vectors mean --json --nbest 3 --beam 2 few >json 2>err
is 'vectors: JSON' same "$(sed 's/.*\[\(.*\)\]}$/\1/; s/,/ /g' json | cmp -s - out && echo same || echo different)"
has 'vectors: JSON, a line that is cut' '{"line":3,"too_long":true,"vector":\[*' "$(tail -1 json)"
has 'vectors: no search' '*--beam has no effect*--nbest has no effect*' "$(tr '\n' ' ' <err)"
is 'vectors: other rows' 3 "$(for rows in mean first last; do "$SYN" run -m m --vectors $rows few 2>err | cksum; done | sort -u | wc -l | tr -d ' ')"
echo abc >text
"$SYN" train --task lm --data text --tokenizer char --d-model 4 --heads 2 --max-len 9 --steps 1 -o lm 2>err
"$SYN" run -m lm --vectors mean few >out 2>err
has 'vectors of lm' '2 *wants an encoder*lm is for lm*mlm (bert and its kin)*syn_embed*' "$? $(cat err)"
printf 'A\t1 2\nB\t3 4\n' >rows
"$SYN" train --task classify --features 2 --data rows --d-model 4 --heads 2 --max-len 9 --steps 1 -o features 2>err
"$SYN" run -m features --vectors mean few >out 2>err
has 'vectors of features' '2 *reads text, but the source of features is rows of 2 numbers*' "$? $(cat err)"

echo "decode: $checks checks, $failed failed"
[ "$failed" = 0 ]
