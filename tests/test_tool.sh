#!/bin/sh
# The command-line tool with models: run, eval, tasks, info, grad, trace, presets; wrong input. test_training.sh has trainings.
# Run from anywhere: sh tests/test_tool.sh    CC names the compiler, SYN a tool already built.
# Ends with "tool: N checks, N failed"; exit 1 when any failed. QUICK: shorter trainings, some are left out.
# SHORT: only shorter; set where a sanitizer watches, since a longer training runs the same code again.

. "$(dirname "$0")/checks.sh"
need_syn

. "$here/tool_data.sh"

is 'version' "syn $(sed -n 's/^#define SYN_VERSION "\(.*\)"/\1/p' "$here/../synthesizer.h")" "$("$SYN" --version)"

# -- train: the loss falls, progress in its two forms --
train $net -o m --steps $steps --every 10 --json >log 2>err
is 'train' 0 $?
is 'train: no news on stderr' '' "$(cat err)"
is 'train: the loss falls' yes "$(sed 's/.*"loss":\([0-9.]*\).*/\1/' log |
  awk 'NR == 1 { first = $1 } { last = $1 } END { print last < 0.8 * first ? "yes" : last }')"
keys='"step":10,"loss":[0-9]*,"valid":[0-9]*,"lr":[0-9]*,"tokens_per_s":[0-9]*,"seconds":[0-9]*'
has 'train: json' "{$keys}" "$(head -n 1 log)"
is 'train: a line each --every' $((steps / 10)) "$(wc -l <log | tr -d ' ')"
has 'train: plain lines' \
  '*step 10  loss *  valid *  lr * tokens/s*step 10, epoch 1: n is written, best*' \
  "$(train $net -o n --steps 10 --every 10 2>&1)"
words abcde 1 300 '\tother' >others.tsv # every third target has an alternative
"$SYN" train --data others.tsv --valid valid.tsv $small $one_layer -o n --steps 2 --json >log2 2>err
is 'train: alternatives are said' 'syn: others.tsv: 100 of 300 targets have further columns, which are other accepted targets' \
  "$(head -n 1 err)"
train --data data.tsv --valid valid.tsv $small $one_layer -o n --steps 2 --json >log3 2>err
is 'train: alternatives are not trained on' "$(cut -d , -f 1-4 log3)" "$(cut -d , -f 1-4 log2)"
is 'train: nothing on stdout' '' "$(train $net -o n --steps 2 2>err)"
has 'train: the default end' '*pairs, vocabulary 9, * parameters, [0-9]* steps*' \
  "$(train $net -o n --steps 0 --epochs 0.1 2>&1)"

has 'train: rows for validation' '*, 2 steps; 40 for validation*' "$(train $net -o n --steps 2 2>&1)"

# -- run --
"$SYN" run -m m lines >out 2>err
is 'run' '0 ' "$? $(cat err)"
is 'run: a line a line' 40 "$(wc -l <out | tr -d ' ')"
"$SYN" run -m m <lines >from_stdin
same 'run: from stdin' out from_stdin
"$SYN" run -m m --batch 1 lines >one_by_one
same 'run: in any batch' out one_by_one
{ head -n 3 lines; echo; tail -n 2 lines; } >gap
is 'run: an empty line stays' "$(head -n 3 out; echo; tail -n 2 out)" "$("$SYN" run -m m gap)"
"$SYN" run -m m --beam 1 lines >greedy
"$SYN" run -m m --beam 1 --batch 1 lines >streamed
same 'run: streamed' greedy streamed
is 'run: --max-len' "$(cut -c 1-2 greedy)" "$("$SYN" run -m m --beam 1 --max-len 2 lines)"
is 'run: --nbest' '3 3 1 1' "$("$SYN" run -m m --nbest 3 gap | awk -F '\t' '
  { count[$1]++ } $1 == last && $2 > score { wrong = 1 } { last = $1; score = $2 }
  END { print count[1], count[2], count[4], !wrong }')"
has 'run: --json' '{"line":1,"rank":1,"score":-[0-9]*,"text":"*"}' \
  "$("$SYN" run -m m --json gap | head -n 1)"
"$SYN" run -m m --temperature 1 --seed 5 lines >sampled
"$SYN" run -m m --temperature 1 --seed 5 --batch 3 lines >sampled_again
same 'run: sampling does not depend on the batch' sampled sampled_again
"$SYN" run -m m --temperature 1 --seed 6 lines >other_sampled
is 'run: --seed' different "$(cmp -s sampled other_sampled && echo same || echo different)"
"$SYN" run -m m --temperature 1 --top-k 1 lines >top
same 'run: --top-k 1 is greedy' greedy top

# -- eval --
has 'eval' 'ppl [0-9]*bleu [0-9]*' "$("$SYN" eval -m m --data valid.tsv)"
is 'eval is run and score' "$(cut -f 2- valid.tsv >ref; "$SYN" score --metric exact,chrf out ref)" \
  "$("$SYN" eval -m m --data valid.tsv --metric exact,chrf)"
cut -f 2- valid.tsv >tgt
is 'eval --src --tgt' "$("$SYN" eval -m m --data valid.tsv --metric wer,nats)" \
  "$("$SYN" eval -m m --src lines --tgt tgt --metric wer,nats)"
is 'eval: nats are those of the best validation' \
  "$(sed 's/.*"valid":\([0-9.]*\).*/\1/' log | sort -n |
    awk 'NR == 1 { printf "nats %.4f", $1 }')" \
  "$("$SYN" eval -m m --data valid.tsv --metric nats)"
has 'eval --json' '{"metric":"ppl","value":[0-9]*,"n":[0-9]*}' \
  "$("$SYN" eval -m m --data valid.tsv --metric ppl --json)"

bom() { printf '\357\273\277'; cat "$@"; }
if [ -z "$QUICK" ]; then # nothing here depends on the processor
# -- a byte order mark at the beginning of a file is no text --
bom data.tsv >bom.tsv
bom valid.tsv >bom_valid.tsv
train $net -o whole --steps 2 --json >log 2>err
train $net --data bom.tsv --valid bom_valid.tsv -o n --steps 2 --json >log 2>err
same 'byte order mark: --data' whole n
cut -f 1 data.tsv | bom >bom_lines
cut -f 2- data.tsv | bom >bom_tgt
train --src bom_lines --tgt bom_tgt $small -o n --steps 2 --json >log 2>err
cut -f 1 data.tsv >plain_lines
cut -f 2- data.tsv >plain_tgt
train --src plain_lines --tgt plain_tgt $small -o whole --steps 2 --json >log 2>err
same 'byte order mark: --src --tgt' whole n
bom lines >bom_lines
"$SYN" run -m m --json lines >out_plain
"$SYN" run -m m --json bom_lines >out_bom
same 'byte order mark: run' out_plain out_bom
"$SYN" run -m m --json --batch 1 - <bom_lines >out_bom
same 'byte order mark: run from stdin' out_plain out_bom
is 'byte order mark: eval' "$("$SYN" eval -m m --data valid.tsv)" \
  "$("$SYN" eval -m m --data bom_valid.tsv)"
is 'byte order mark: score' "$("$SYN" score --metric exact,chrf lines lines)" \
  "$("$SYN" score --metric exact,chrf bom_lines lines)"
bom </dev/null >bom_alone
refused 'a byte order mark alone' 1 'syn: bom_alone is empty, *' train $net -o n --data bom_alone
fi

# -- lm --
cut -f 2 data.tsv >text
train --task lm --data text --valid text $small -o l --steps $steps --every 50 --json >log 2>err
is 'lm' 0 $?
is 'lm: nats per token are per character' 'same 1' "$("$SYN" eval -m l --data text | awk '
  $1 == "nats" { a = $2 } $1 == "nats_char" { b = $2 } $1 == "ppl" { p = $2 }
  END { print a == b ? "same" : a " " b, log(p) - a < 0.001 && a - log(p) < 0.001 }')"
is 'lm: every token once' "$(wc -c <text | tr -d ' ')" \
  "$("$SYN" eval -m l --data text --metric nats --json | sed 's/.*"n":\([0-9]*\)}/\1/')"
"$SYN" run -m l --temperature 1 gap >out
is 'lm: a line a line' 6 "$(wc -l <out | tr -d ' ')"
"$SYN" run -m l --temperature 1 --batch 1 gap >one_by_one
same 'lm: in any batch' out one_by_one

bom text >bom_text
is 'byte order mark: lm' "$("$SYN" eval -m l --data text)" "$("$SYN" eval -m l --data bom_text)"
# -- classify: is there a d; pairs of texts: are they equal --
awk -F '\t' '{ s = $1; gsub(/./, "& ", s); sub(/ $/, "", s)
  print (s ~ /d/ ? "has d" : "none") "\t" s }' data.tsv >class.tsv
awk -F '\t' '{ s = $1; gsub(/./, "& ", s); sub(/ $/, "", s)
  print (s ~ /d/ ? "has d" : "none") "\t" s }' valid.tsv >class_valid.tsv
words="--tokenizer space --d-model 16 --heads 2 --max-len 9 --batch 200 --warmup 20 --lr 0.01$short"
ctask="--task classify --data class.tsv --valid class_valid.tsv $words"
[ -z "$brief" ] || ctask="$ctask $one_encoder"
train $ctask -o k --steps 60 --every 20 --json >log 2>err
is 'classify' '0 ' "$? $(cat err)"
has 'classify: json' "{$keys}" "$(sed -n 's/"step":20/"step":10/p' log)"
has 'classify: headline' '*300 texts, vocabulary 9, 2 classes, * parameters, 2 steps*' \
  "$(train $ctask -o n --steps 2 2>&1)"
is 'classify: learns' yes \
  "$("$SYN" eval -m k --data class_valid.tsv | awk '{ print ($2 > 90 ? "yes" : $0) }')"
cut -f 2 class_valid.tsv >texts
cut -f 1 class_valid.tsv >labels
"$SYN" run -m k texts >out
is 'classify: eval is run and score' "$("$SYN" score --metric accuracy,f1,mcc out labels)" \
  "$("$SYN" eval -m k --data class_valid.tsv --metric accuracy,f1,mcc)"
is 'classify: --src --tgt' "$("$SYN" eval -m k --data class_valid.tsv --metric nats,accuracy)" \
  "$("$SYN" eval -m k --src texts --tgt labels --metric nats,accuracy)"
is 'classify: nats are those of the best validation' \
  "$(sed 's/.*"valid":\([0-9.]*\).*/\1/' log | sort -n |
    awk 'NR == 1 { printf "nats %.4f", $1 }')" \
  "$("$SYN" eval -m k --data class_valid.tsv --metric nats)"
"$SYN" run -m k --batch 1 texts >one_by_one
same 'classify: in any batch' out one_by_one
{ head -n 3 texts; echo; tail -n 2 texts; } >gap_texts
is 'classify: an empty line stays' "$(head -n 3 out; echo; tail -n 2 out)" \
  "$("$SYN" run -m k gap_texts)"
has 'classify: --json' '{"line":1,"rank":1,"score":-[0-9]*,"text":"*"}' \
  "$("$SYN" run -m k --json texts | head -n 1)"
is 'classify: --nbest' '2 2 1' "$("$SYN" run -m k --nbest 9 texts | awk -F '\t' '
  { count[$1]++; sum[$1] += exp($2) } END { print count[1], count[40], (sum[1] > 0.999) }')"
awk -F '\t' '{ print (NR % 2 ? "same" : "other") "\t" $2 "\t" (NR % 2 ? $2 : "e " $2) }' \
  class.tsv >pair.tsv
train --task classify --data pair.tsv $words --max-len 15 -o n --steps 30 --json >log 2>err
is 'classify: two texts' '0 ' "$? $(cat err)"
is 'classify: two texts run' '3 same' "$(printf 'a b\ta b\na\na\te a\n' | "$SYN" run -m n |
  awk 'END { print NR, "same" }')"
"$SYN" trace -m n --data pair.tsv -o page 2>err
has 'classify: two texts in a trace' '*"source":[[[]*,[[]3,"*"],[[]*,[[]3,"*"]],"target":null*' \
  "$(grep -m 1 '"tokens"' page)"
has 'classify: longer than max_len' \
  '*syn: [0-9]* of 300 pairs of pair.tsv do not fit --max-len 5: their first tokens are read, [0-9]* are not; the first is line *' \
  "$(train --task classify --data pair.tsv $words --max-len 5 -o n --steps 2 2>&1)"
has 'classify: left out when asked' '*syn: [0-9]* of 300 pairs of pair.tsv do not fit --max-len 5 and are left out*' \
  "$(train --task classify --data pair.tsv $words --max-len 5 --too-long empty -o left --steps 2 2>&1)"
refused 'classify: stop' 1 'syn: pair.tsv line [0-9]* does not fit --max-len 5: --too-long stop ends here' \
  train --task classify --data pair.tsv $words --max-len 5 --too-long stop -o left --steps 2
has 'classify: the loss of all pairs' '*syn: [0-9]* of 300 pairs do not fit the model?s max_len 5: the loss is of their first tokens*' \
  "$("$SYN" eval -m n --data pair.tsv --metric nats 2>&1)"
"$SYN" eval -m n --too-long empty --data pair.tsv >out 2>err
has 'classify: eval counts what does not fit' '*299 lines are too long in all; *' "$(cat err)"
clong="$ctask --steps 30 --every 7 --average 3 --ema 0.2"
train $clong -o whole --json >log 2>err
train $clong -o n --steps 17 --checkpoint ck --json >log 2>err
train $clong -o n --checkpoint ck --resume --json >log 2>err
same 'classify: resume' whole n
train $ctask -o n --minutes 0.002 --warmup 1 --every 9 --average 2 --json >log 2>err
has 'classify: --minutes' '0 syn: chosen; *' "$? $(cat err)"
# the weights of V have the same shapes for any number of heads
train $ctask --encoder 'pos->res(syn_att(V))' --steps 2 -o n --checkpoint cv --json >log 2>err
refused 'classify: other heads' 1 'syn: cv: checkpoint: heads is 2, this training has 4' \
  train $ctask --encoder 'pos->res(syn_att(V))' --heads 4 -o n --checkpoint cv --resume --json
gelu='pos->repeat(3,res_nd(syn_att(R+V))->res_nd(ffl(act=gelu)))->norm'
[ -z "$brief" ] || gelu='pos->res_nd(syn_att(R+V))->res_nd(ffl(act=gelu))->norm'
refused 'classify: another activation' 1 "syn: ck: checkpoint: encoder is '*', this training has '*'" \
  train $clong -o n --encoder "$gelu" --checkpoint ck --resume --json
"$SYN" trace -m k --src texts --tgt labels -o page
is 'classify: a trace of two files' '0 1' "$? $(grep -c '"tokens":{"source":\[' page)"

bom class.tsv >bom.tsv
train $ctask --data bom.tsv -o n --steps 2 2>err
has 'byte order mark: labels' '*300 texts, vocabulary 9, 2 classes,*' "$(cat err)"
# translation pairs read as label TAB text
awk 'BEGIN { for (i = 0; i < 60; i++) print "sentence " i "\tein Satz " i }' >translation.tsv
refused 'as many classes as rows' 1 'syn: translation.tsv has 60 different labels in 60 lines: *label TAB text*--task seq2seq*--many-classes*' \
  train --task classify --data translation.tsv $words -o n --steps 2
train --task classify --data translation.tsv $words -o n --steps 2 --many-classes --json >log 2>err
has '--many-classes' '*classes 60,*' "$("$SYN" info -m n)"
head -n 20 translation.tsv >few.tsv
train --task classify --data few.tsv $words -o n --steps 2 --json >log 2>err
is 'up to 20 classes are no slip, but said' '0 syn: few.tsv has 20 different labels in 20 lines: each has hardly an example' \
  "$? $(grep few.tsv err)"
sed 's/sentence \([0-9]*\)[0-9]	/topic \1	/; s/sentence [0-9]	/topic 0	/' translation.tsv >topics.tsv
train --task classify --data topics.tsv $words -o n --steps 2 --json >log 2>err
is 'few labels in many lines are no slip' 0 $?
# -- tag: every letter against the one before it --
for file in data valid; do
  awk -F '\t' '{ s = t = ""; for (i = 1; i <= length($1); i++) {
      c = substr($1, i, 1); b = substr($1, i - 1, 1)
      s = s (i > 1 ? " " : "") c
      t = t (i > 1 ? " " : "") (i == 1 || c == b ? "=" : c > b ? "up|" : "down")
    } print s "\t" t }' $file.tsv >tag_$file.tsv
done
ttask="--task tag --data tag_data.tsv --valid tag_valid.tsv --d-model 16 --heads 2 --max-len 6
  --batch 200 --warmup 20 --lr 0.01"
[ -z "$brief" ] || ttask="$ttask $one_encoder"
train $ttask -o g --steps $((2 * steps)) --every 20 --average 1 --json >log 2>err
is 'tag' '0 ' "$? $(cat err)"
bom tag_data.tsv >bom.tsv
train $ttask --data bom.tsv -o n --steps 2 --json >log 2>err
train $ttask -o whole --steps 2 --json >log 2>err
same 'byte order mark: tags' whole n
has 'tag: its tokenizer is space, class 0 is no tag' '*src_vocab 9, classes 4,*' \
  "$("$SYN" info -m g)"
cut -f 1 tag_valid.tsv >texts
cut -f 2 tag_valid.tsv >tags
is 'tag: learns' yes "$("$SYN" eval -m g --data tag_valid.tsv |
  awk -v want=${brief:+60} '{ print ($2 > (want ? want : 80) ? "yes" : $0) }')"
"$SYN" run -m g texts >out
is 'tag: as many tags' "$(awk '{ print NF }' tags)" "$(awk '{ print NF }' out)"
tr ' ' '\n' <out >out_tags
tr ' ' '\n' <tags >tags_tags
is 'tag: metrics of tags and of lines' \
  "$("$SYN" score --metric accuracy,f1,mcc out_tags tags_tags
     "$SYN" score --metric exact out tags)" \
  "$("$SYN" eval -m g --data tag_valid.tsv --metric accuracy,f1,mcc,exact)"
is 'tag: n counts tags' "$(wc -l <tags_tags | tr -d ' ')" \
  "$("$SYN" eval -m g --data tag_valid.tsv --json | sed 's/.*"n":\([0-9]*\)}/\1/')"
"$SYN" run -m g --batch 1 texts >one_by_one
same 'tag: in any batch' out one_by_one
tlong="$ttask --steps 30 --every 7 --average 2 --dropout 0.2"
train $tlong -o whole --json >log 2>err
train $tlong -o n --steps 17 --checkpoint ck --json >log 2>err
train $tlong -o n --checkpoint ck --resume --json >log 2>err
same 'tag: resume' whole n
train --task tag --data tag_data.tsv --tokenizer char -o n --steps 1 --json >log 2>err
has 'tag: counts disagree' 'syn: tag_data.tsv line [0-9]* has [0-9]* tags for [0-9]* tokens' "$(cat err)"

# pairs that are longer than max_len: a cut trains the model of the pairs that were cut by hand
pcut="--tokenizer byte --d-model 8 --heads 2 --max-len 5 --steps 2 --json --encoder linear"
seq="$pcut --decoder rnn(8,gru,state=source)"
printf 'abcdef\tuvwxyz\nab\tuvwxyz\nba\tu\nabcdef\tu\n' >long_pairs
for row in head,cdef,wxyz,last tail,abcd,uvwx,first middle,adef,uxyz,'first and last'; do
  IFS=, read -r cut src tgt left <<END
$row
END
  printf "$src\t$tgt\nab\t$tgt\nba\tu\n$src\tu\n" >cut_pairs
  train $seq --data cut_pairs -o whole >log 2>err
  train $seq --data long_pairs --too-long $cut -o n >log 2>err
  same "seq2seq: --too-long $cut" whole n
  is "seq2seq: --too-long $cut says what it cuts" \
    "syn: 3 of 4 pairs of long_pairs do not fit --max-len 5: their $left tokens are read, 8 are not; the first is line 1" "$(cat err)"
  loss=$("$SYN" eval -m n --data cut_pairs --metric nats)
  is "eval: the loss after --too-long $cut" "$loss" "$("$SYN" eval -m n --data long_pairs --metric nats --too-long $cut 2>err)"
done
train $seq --data long_pairs -o n >log 2>err
is 'seq2seq: left out' 'syn: 3 of 4 pairs of long_pairs do not fit --max-len 5 and are left out; the first is line 1' "$(cat err)"
printf 'abcdefg\tuvwxyzz\nba\tuv\n' >long_pairs
printf 'abcde\tuvwxy\nba\tuv\n' >cut_pairs
printf 'zz\tzz\n' | tee -a long_pairs >>cut_pairs # the tags of both are the same
train $pcut --task tag --data cut_pairs -o whole >log 2>err
train $pcut --task tag --data long_pairs --too-long tail -o n >log 2>err
same 'tag: --too-long tail' whole n
has 'tag: --too-long tail says what it cuts' '*1 of 3 pairs *: their first tokens are read, 2 are not; *' "$(cat err)"
train $pcut --task tag --data long_pairs --too-long head -o n >log 2>err
has 'tag: no other cut' '*--too-long has no effect: pairs of tag are cut by tail alone*1 of 3 pairs*left out*' "$(cat err)"

# what bpe makes of a line of tags may be more pieces than there were tags
awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "ab\tab" : "abcd\tabcd") }' >pieces.tsv
train --task tag --data pieces.tsv --tokenizer bpe:20 --steps 2 -o n >out 2>err
has 'tag: bpe' 'accuracy [0-9]*' "$("$SYN" eval -m n --data pieces.tsv 2>&1)"

# -- --stop-after: a training that was stopped goes on with a larger one --
stops="$net --every 1 --lr 1 --warmup 0 --steps 40 --json"
train $stops --stop-after 2 -o n --checkpoint st >log 2>err
first=$(tail -n 1 log | sed 's/.*"step":\([0-9]*\).*/\1/')
is '--stop-after' yes "$([ "$first" -lt 40 ] && echo yes || echo "$first")"
train $stops --stop-after $patience -o n --checkpoint st --resume >log 2>err
is '--stop-after: a larger one goes on' yes "$(tail -n 1 log |
  awk -F '[:,]' -v first="$first" '{ print ($2 > first ? "yes" : $2) }')"

# -- the schedule plateau: a learning rate that changes no weight is lowered after 2 and 4 validations --
train $net --every 1 --lr 1e-20 --warmup 0 --steps 6 --schedule plateau --patience 2 --factor 0.7 -o n --json >log 2>err
has '--patience, --factor' '*"step":6,*"lr":4.8999*e-21,*' "$(tail -n 1 log)$(cat err)"
train $net --steps 1 --factor 0.7 -o n >log 2>err
has '--factor without plateau' '*--factor*plateau*' "$(cat err)"

# -- span corruption: gaps in the words --
gaps='--span-corruption --data class_texts --valid class_texts'
[ -z "$brief" ] || gaps="$gaps $one_layer"
cut -f 2 class.tsv >class_texts
train $gaps $words --steps $((2 * gap)) --every $gap -o s --json >log 2>err
has 'span corruption' '*of 300 lines of class_texts [0-9]* have less than two tokens, 0 do not*' \
  "$(cat err)"
is 'span corruption: validation' 2 "$(grep -c '"valid":[0-9]' log)"
is 'span corruption: eval has the nats of the best validation' \
  "nats $(sed -n 's/.*"valid":\([0-9.]*\).*/\1/p' log | sort -n | awk 'NR == 1 { printf "%.4f", $1 }')" \
  "$("$SYN" eval -m s --span-corruption --data class_texts --metric nats)"
has 'span corruption: eval' 'nats [0-9.]* ppl [0-9.]* syn: of 301 lines * have less than two tokens, 0 do not fit the model*' \
  "$( (cat class_texts; echo a) | "$SYN" eval -m s --span-corruption --data - 2>err | tr '\n' ' '; cat err)"
has 'span corruption: sentinels' '*src_vocab 109, tgt_vocab 109,*' "$("$SYN" info -m s)"
bom class_texts >bom_text
train $gaps $words --steps 2 -o whole --json >log 2>err
train $gaps $words --steps 2 --data bom_text -o n --json >log 2>err
same 'byte order mark: span corruption' whole n
has 'span corruption: they can be read' '*<[0-9]*>*' "$("$SYN" run -m s class_texts)"
glong="$gaps $words --steps 30 --every 7"
train $glong -o whole --json >log 2>err
train $glong -o n --steps 17 --checkpoint ck --json >log 2>err
train $glong -o n --checkpoint ck --resume --json >log 2>err
same 'span corruption: resume' whole n

# -- --init --
w=47 pair=109 # tensors of weights of k, of s
[ -z "$brief" ] || w=19 pair=41
train --init k --data class.tsv --steps 1 --lr 1e-9 -o n >log 2>err
has '--init: all of it' "*syn: --init k: $w of $w weights are taken*" "$(cat err)"
is '--init: the network is that of the model' "$("$SYN" info -m k | head -n 2)" \
  "$("$SYN" info -m n | head -n 2)"
is '--init: the weights are, too' "$("$SYN" eval -m k --data class_valid.tsv)" \
  "$("$SYN" eval -m n --data class_valid.tsv)"
sed 's/^none/nothing/' class.tsv >renamed.tsv
has '--init: other labels' "*$((w - 2)) of $w *, 2 in part*rows of tokens that it has (2): out.w 1 of 2 out.b 1 of 2*" \
  "$(train --init k --data renamed.tsv --steps 1 -o n 2>&1)"
has '--init: fewer labels' "*$w of $w weights are taken*" \
  "$(grep none class.tsv | train --init k --data - --steps 1 -o n 2>&1)"
has '--init: another tokenizer' "*$((w - 3)) of $w *, 3 in part*rows of tokens that it has (3): src.embed [0-9]* of 12 *" \
  "$(train --init k --data renamed.tsv --tokenizer bpe:12 --steps 1 -o n 2>&1)"
has '--init: another task' "*$((w - 2)) of $w *not in it (1): out.w*shape (1): out.b\\[2\\] there*use here*" \
  "$(train --init s --init-other-task --task classify --data class.tsv --steps 1 -o n 2>&1)"
awk -F '\t' '{ print $2 "\t" $2 }' class.tsv >copy.tsv
has '--init: fine-tuning after span corruption' "*$pair of $pair weights are taken*" \
  "$(train --init s --data copy.tsv --steps 1 -o n 2>&1)"

# -- info, grad --
has 'info: sizes of 2^20 bytes are MiB' '*weights * MiB float32*' "$("$SYN" info -m m)"
is 'info: sums' same "$("$SYN" info -m m --json | awk -F '[:,"}]+' '
  /"layer"/ && !/"total"/ { sum += $7 } /"all"/ { all = $7 } /"weights"/ { bytes = $5 }
  END { if (sum == all && 4 * all <= bytes && bytes < 4 * all + 64 * NR) print "same"
        else print sum, all, bytes }')"
has 'info of options' '*encoder.1.0.0.1 *syn_att *decoding* MiB *packed * MiB *' "$("$SYN" info)"
has 'grad' '*encoder.0.0.w *ok*15 of 15 parameters ok' "$("$SYN" grad --d-model 8 --heads 2 \
  --encoder 'res(linear)' --decoder 'pos->res(syn_att(R+V))->res(mh_dot_att)')"

# -- trace --
printf '%s\t%s\n' 'x<b>' '<&' 'abc' 'cba' "\"a'" 'b c' 'abcdeabcdeabc' 'a' >hostile.tsv
hostile="--data hostile.tsv $small --steps 4 --every 1 -o h"
chain='pos->res_nd(fixed_att(heads=8))->res_nd(linformer(k=3)) # <script>&"</script>'
train $hostile --encoder "$chain" --decoder 'res(syn_att)->mh_dot_att' --json >json 2>err
train $hostile --encoder "$chain" --decoder 'res(syn_att)->mh_dot_att' 2>plain
mkdir pictures drawings
"$SYN" trace -m h --data hostile.tsv -o page --log json --count 2 --pgm pictures --svg drawings >out 2>err
is 'trace' '0  ' "$? $(cat out) $(cat err)"
is 'trace: nothing from elsewhere' '2 0' \
  "$(grep -c '<script' page) $(grep -c 'src=\|href="[^d]\|url([^#]\|fetch(\|XMLHttp\|import(' page)"
has 'trace: hostile texts' '*# \\u003cscript>&\\u0022\\u003c/script>*' "$(cat page)"
has 'trace: tokens' '*"source":[[[]*,"x"],[[]*,"\\u003c"],[[]*,"b"],[[]*,">"],[[]3,*]],*' "$(cat page)"
is 'trace: a document for each sentence, with weights of each layer' '2 8' \
  "$(grep -c '"tokens":{"source"' page) $(grep -c '"weights":{"axes":."head","query","key".,"shape":.[0-9,]*.,"x":"' page)"
is 'trace: and a picture of each head' 28 "$(ls pictures | wc -l | tr -d ' ')"
one='AACAPwAAAAAAAAAAAAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAAAAAAAAAAACA'
is 'trace: the first pattern looks at itself' 1 "$(grep '"path":"encoder.1.1"' page | head -n 1 |
  grep -c '"weights":{"axes":."head","query","key".,"shape":.8,5,5.,"x":"'"$one")"
is 'trace: a picture of it' 'P5 40 40 255 0' "$(cd pictures && f=1.encoder.1.1.1.pgm &&
  head -n 3 $f | tr '\n' ' ' && tail -c 1 $f | od -An -tu1 | tr -d ' ')"
"$SYN" trace -m h --data hostile.tsv -o page2 --svg drawings --pgm drawings >out 2>err
is 'trace: pictures and drawings in one folder' '0 42' "$? $(ls drawings | wc -l | tr -d ' ')"
rm drawings/*.pgm
is 'trace: a drawing of each head' 28 "$(ls drawings | wc -l | tr -d ' ')"
is 'trace: black squares of the diagonal' '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" viewBox="0 0 5 5" shape-rendering="crispEdges">
<title>encoder.1.1, head 1: attention weights, black is 1</title>
<rect width="5" height="5" fill="#fff"/>
<path fill="#000000" d="M0 0h1v1H0zM1 1h1v1H1zM2 2h1v1H2zM3 3h1v1H3zM4 4h1v1H4z"/>
</svg>' "$(cat drawings/1.encoder.1.1.1.svg)"
point='\[[0-9]*,[0-9.]*,[0-9.nul]*\]'
is 'trace: a curve of four points' 1 "$(grep -c "\"loss\":\[$point,$point,$point,$point\],\$" page)"
"$SYN" trace -m h -o page2 --log plain
is 'trace: the same curve from plain lines' "$(grep -o '"loss":\[.1,[0-9]*' page)" \
  "$(grep -o '"loss":\[.1,[0-9]*' page2)"
is 'trace: without data no values' '0 1' \
  "$(grep -c '"weights":{[^}]*"x":"' page2) $(grep -c '"tokens":{"source":null' page2)"
has 'trace: parameters with numbers' '*"name":"encoder.2.1.f",*"shape":[[]3,9],"x":"*' "$(cat page2)"
"$SYN" trace -m h --data hostile.tsv -o page --count 9 2>err
is 'trace: what does not fit is named' \
  "syn: 1 of 4 lines do not fit the model's max_len 9: they are left out" "$(cat err)"
"$SYN" trace -m l --data text -o page --count 3 2>err
is 'trace of lm' '0 3 ' "$? $(grep -c '"tokens":{"source":null,"target":\[' page) $(cat err)"
cp page page_kept
tail -n 1 hostile.tsv >long.tsv
refused 'trace: nothing fits' 1 'syn: no line of long.tsv fits the model*9' \
  trace -m m --data long.tsv -o page
same 'trace: the old page stays' page page_kept
refused 'trace without a page' 2 'syn: trace wants --output FILE*' trace -m h
refused 'trace: no log' 1 'syn: data.tsv has no line that syn train prints' \
  trace -m h -o page --log data.tsv
refused 'trace: no folder' 1 'syn: nowhere/1.*.pgm: cannot create a file beside it: *' \
  trace -m h --data data.tsv -o page --pgm nowhere
refused 'trace: no folder of drawings' 1 'syn: nowhere/1.*.svg: cannot create a file beside it: *' \
  trace -m h --data data.tsv -o page --svg nowhere
"$SYN" trace -m h -o page2 --svg drawings --pgm pictures 2>err
is 'trace: pictures of no text are said' '0 syn: --pgm has no effect: there is no text, by --input or --data
syn: --svg has no effect: there is no text, by --input or --data' "$? $(cat err)"
refused 'trace: no such folder' 1 'syn: nowhere/page: cannot create a file beside it: *' trace -m h -o nowhere/page
"$SYN" trace -m m --input abc -o page 2>err
is 'trace: gradients of what the model answers' '0  1' \
  "$? $(cat err) $(grep -c '"passes":{"loss":[0-9]' page)"
is 'trace: a target' '1 0 0 1' "$("$SYN" trace -m m --input abc --target cba -o page2; cmp -s page page2
  echo $? $(grep -c '"labels":null' page2) $(grep -c '"own":true' page2) $(grep -c '"own":true' page))"
"$SYN" trace -m m --input abc --input2 cba --compare h -o page 2>err
is 'trace: two inputs and two models' '0 4' "$? $(grep -c '"tokens":{"source":\[' page)"
printf 'red cat\tchat rouge\n' >young.tsv
"$SYN" train --d-model 8 --heads 1 --steps 1 --max-len 20 --tokenizer char --encoder 'pos->syn_att' \
  --decoder 'pos->syn_att->mh_dot_att' --data young.tsv -o young 2>/dev/null
"$SYN" trace -m young --input 'red zzz' -o page 2>err
is 'trace: an answer without an end' "0 1 syn: the model's answer to --input has no end within its max_len 20: \
its first tokens are shown" "$? $(grep -c '"tokens":{"source":\[' page) $(head -n 1 err)"
is 'trace: the text of unknown tokens' 1 "$(grep -c '\[1,"z"\],\[1,"z"\],\[1,"z"\]' page)"
has 'trace: unknown tokens' 'syn: warning: --input: 3 of 7 source tokens are unknown (43 %)*' "$(tail -n 1 err)"
refused 'trace: a source that is too long' 1 "syn: --input does not fit the model's max_len 20: red*" \
  trace -m young --input 'red cat red cat red cat' -o page
"$SYN" trace -m l --input 'some text' -o page
is 'trace of lm' '0 1' "$? $(grep -c '"tokens":{"source":null,"target":\[.*"labels":\[' page)"
"$SYN" trace -m k --input 'a b' -o page
is 'trace of classify: no label, no gradients' '0 1 0' \
  "$? $(grep -c '"labels":null' page) $(grep -c '"dx":"' page)"
"$SYN" trace -m k --input 'a b' --target "$(head -n 1 labels)" -o page
is 'trace of classify: a label' '0 1' "$? $(grep -c '"labels":\[\[' page)"
refused 'trace of classify: no such label' 1 'syn: target line 1: *nolabel* none*' \
  trace -m k --input 'a b' --target nolabel -o page
"$SYN" trace --encoder 'pos->res(syn_att)' --decoder 'pos->res(sinatt)' -o page 2>err
is 'trace: a text that does not build' "0 syn: decoder line 1 column 10: 'sinatt': no such layer" \
  "$? $(sed 's/; did.*//' err)"
has 'trace: the part before the error' '*"path":"decoder.0"*"error":{"message":"*"path":"decoder.1.0"*' \
  "$(cat page)"
refused 'trace: a long input' 1 "syn: --input does not fit the model's max_len*" \
  trace -m m --input "$(printf 'abcde%.0s' 1 2 3 4 5 6 7 8 9)" --target a -o page
refused 'trace of lm with a target' 2 'syn: trace of lm reads --input alone, given: --target' \
  trace -m l --input a --target b -o page
refused 'trace: two tasks' 1 'syn: m is for seq2seq, l for lm: *' trace -m m --compare l -o page
refused 'trace: --compare alone' 2 'syn: --compare wants --model' trace --compare m -o page
"$SYN" trace -m m --input abc -o page
sed -n '/"documents":/,/^"error":null}/p' page | sed '1s/.*"data"://; s/^"error":null}.*/"error":null}/' >run.json
"$SYN" trace --document run.json --document run.json -o page2 2>err
is 'trace: documents of a program' '0  2' "$? $(cat err) $(grep -c '"tokens":{"source":\[' page2)"
refused 'trace: no document' 1 'syn: data.tsv is no document of syn_trace' \
  trace --document data.tsv -o page
same 'trace: the viewer in the tool is tools/trace.js' "$here/../tools/trace_page.h" \
  "$(sh "$here/../tools/trace_page" print >printed && echo printed)"

# -- info against the formulas: parameters, multiply-adds per token, bytes kept per decoded token --
d=64 H=4 N=32 k=8
c=$((d / H))
layer() { # layer CHAIN KIND: of a decoder of that width
  "$SYN" info --json --task lm --d-model $d --heads $H --max-len $N --tgt-vocab 100 --decoder "$1" |
    sed -n '/"kind":"'"$2"'"/s/.*"parameters":\([0-9]*\),.*adds":\([0-9]*\),.*bytes":\([0-9]*\).*/\1 \2 \3/p'
}
costs() { # costs KINDS PARAMETERS MULTIPLY_ADDS BYTES: beside w_v and w_o, and the sum of values
  is "info: $1" "$((2 * d * d + $2)) $((2 * d * d + N * d + $3)) $((4 * d + $4))" \
    "$(layer "res(syn_att($1))" syn_att)"
}
# Synthesizer, table 1, and the biases; a row of scores is a sum of d products for each of N keys
costs V $((2 * d * d)) $((2 * d * d + N * d)) $((4 * d))
costs R $((H * N * N)) 0 0
costs Fix $((H * N * N)) 0 0
costs T $((H * N)) 0 0
costs T,tile=8 $((H * 8)) 0 0
costs FR $((H * 2 * N * k)) $((H * N * k)) 0
costs FR,k=3 $((H * 2 * N * 3)) $((H * N * 3)) 0
costs D $((d * d + d * N + d + H * N)) $((d * d + N * d)) 0
costs FD $((d * d + d * (6 + 6) + d + H * (6 + 6))) $((d * d + d * (6 + 6) + H * N)) 0
costs FD,a=4,b=8 $((d * d + d * (4 + 8) + d + H * (4 + 8))) $((d * d + d * (4 + 8) + H * N)) 0
costs D,shared=1 $((d * d + N * c)) $((d * d + N * d)) 0
costs R+V $((2 * d * d + H * N * N + 2 * H)) $((2 * d * d + N * d)) $((4 * d))
costs D+V,shared=1 $((2 * d * d + N * c + 2 * H)) $((2 * d * d + 2 * N * d)) $((4 * d))
costs R,tile=8 $((H * 8 * 8)) 0 0
costs D,tile=8 $((d * d + 8 * d + d + H * 8)) $((d * d + 8 * d)) 0
is 'info: lin_att keeps no token' "$((4 * d * d)) $((4 * d * d + 2 * d * (c + 1))) 0" "$(layer lin_att lin_att)"
is 'info: aft' "$((4 * d * d + N * N)) $((4 * d * d + 2 * N * d)) $((8 * d))" "$(layer aft aft)"
is 'info: sgu' "$((d + N * N + N)) $((d / 2 * (N + 1))) $((2 * d))" "$(layer 'sgu->linear' sgu)"
is 'info: heads of 8' "$((4 * d * 32)) $((4 * d * 32 + 2 * N * 32)) $((8 * 32))" \
  "$(layer 'res(syn_att(V,c=8))' syn_att)"
is 'info: linear, ff' "$((5 * d + 5)) $((5 * d)) 0 $((14 * 5 + 14)) $((14 * 5)) 0" \
  "$(echo $(layer 'linear(5)->ff(7,glu)->linear' linear | head -n 1) \
    $(layer 'linear(5)->ff(7,glu)->linear' ff))"
is 'info: a table of places is only added' "$((N * d)) 0 0" "$(layer learn_pos learn_pos)"
is 'info: embedding and output, tied' "$((100 * d)) 0 0 100 $((100 * d)) 0" \
  "$(echo $(layer pos embedding) $(layer pos output))"
# all four products: of each token, and of each token of a source as long
is 'info: attention to the source' "$((4 * d * d)) $((4 * d * d + 2 * N * d)) $((8 * d))" \
  "$("$SYN" info --json --d-model $d --heads $H --max-len $N --encoder pos \
    --decoder 'pos->res(mh_dot_att)' |
    sed -n '/src_att/s/.*"parameters":\([0-9]*\),.*adds":\([0-9]*\),.*bytes":\([0-9]*\).*/\1 \2 \3/p')"

# -- published sizes, in millions: the C4 table of the Synthesizer paper, T5-base (Raffel et al. 2020).
# The attention to the source keeps T5's 12 heads of 64; self-attention has 8 heads of 128 --
near() { # near NAME MILLIONS NUMBER: within half a per cent
  is "$1: $2 M" yes "$(echo "$2 $3" |
    awk '{ r = $2 / ($1 * 1e6); print (r > 0.995 && r < 1.005 ? "yes" : $2) }')"
}
parameters() { sed -n '/"all"/s/.*"parameters":\([0-9]*\),.*/\1/p'; }
t5() { # t5 NORM ATTENTION
  "$SYN" info --json --d-model 768 --heads 8 --max-len 512 --src-vocab 32128 --tgt-vocab 32128 \
    --tie all --encoder "repeat(12,res($1->$2)->res($1->ffl))->$1" \
    --decoder "repeat(12,res($1->$2)->res($1->mh_dot_att(12))->res($1->ffl))->$1" | parameters
}
for norm in rms_norm norm; do
  near "T5-base, $norm" 223 "$(t5 $norm 'syn_att(V,12)')"
  near "Synthesizer (R), $norm" 254 "$(t5 $norm 'syn_att(R,c=128)')"
  near "Synthesizer (R+V), $norm" 292 "$(t5 $norm 'syn_att(R+V,c=128)')"
  near "Synthesizer (D), $norm" 224 "$(t5 $norm 'syn_att(D,c=128,shared=1)')"
  near "Synthesizer (D+V), $norm" 243 "$(t5 $norm 'syn_att(D+V,c=128,shared=1)')"
done
is 'attention over parameters, both published shapes' '2097152 2097152' "$(
  for shape in '8, 1536' '16, 512'; do
    "$SYN" info --task lm --decoder "aop($shape, 64, 64)" --d-model 512 --tgt-vocab 100 |
      awk '$2 == "aop" { print $3 }'
  done | paste -s -d ' ')"
near 'GPT-2, the smallest' 124.44 "$("$SYN" info --preset gpt --json | parameters)"

# -- presets --
"$SYN" presets --json >list 2>err
is 'presets' '0 ' "$? $(cat err)"
is 'presets: each can be built' '' "$(grep -v '"parameters":[0-9]' list)"
is 'presets: names are different' '' "$(sed 's/.*"preset":"\([^"]*\)".*/\1/' list | sort | uniq -d)"
is 'presets: all that the list has can be described' '' "$(
  sed -n 's/.*"preset":"\([^"]*\)".*"parameters":\([0-9]*\).*/\1 \2/p' list |
    while read -r name size; do
      [ "$("$SYN" info --json --preset "$name" | parameters)" = "$size" ] || echo "$name"
    done)"
for row in t5:223 t5-synthesizer-r:254 t5-synthesizer-r+v:292 t5-synthesizer-d:224 \
  t5-synthesizer-d+v:243; do # as soon as relative positions are built
  size=$(sed -n 's/.*"preset":"'"${row%:*}"'".*"parameters":\([0-9]*\).*/\1/p' list)
  [ -z "$size" ] || near "preset ${row%:*}" "${row#*:}" "$size"
done
has 'presets: with its texts' '*synthesizer-fr *encoder pos->repeat(6,res_nd(syn_att(FR))*' \
  "$("$SYN" presets synthesizer-fr)"
has 'preset: options win, in any order' '*d_model 32, heads 8, max_len 9,*decoder pos->res(mh*' \
  "$("$SYN" info --decoder 'pos->res(mh_dot_att)' --max-len 9 --preset transformer --d-model 32)"
has 'preset: numbers of a text' '*ff(2048)*' "$("$SYN" info --preset domhan-self-none)"
has 'preset: other numbers' '*ff(8)*' \
  "$("$SYN" info --preset domhan-self-none --var FF_NUM_HIDDEN=8)"
train $net --preset synthesizer-r+v --encoder 'pos->res(syn_att(R))' \
  --decoder 'pos->res(mh_dot_att)' -o n --steps 2 --warmup 1 --json >log 2>err
is 'train --preset' '0 ' "$? $(cat err)"
has 'train --preset: what it says and what was given' '*d_model 16, heads 2, *tie all*syn_att(R)*' \
  "$("$SYN" info -m n)"
has 'grad --preset' '*parameters ok*' "$("$SYN" grad --preset synthesizer-r --d-model 8 --heads 2 \
  --encoder 'res(syn_att(R))' --decoder 'res(mh_dot_att)')"
refused 'no such preset' 2 'syn: no preset transfomer; the nearest is transformer *' \
  info --preset transfomer
refused 'no such preset in the list' 2 'syn: no preset gtp; *' presets gtp

# -- wrong input: one line, nothing lost --
cp m kept
mkdir elsewhere
long="$net --steps 30 --every 7 --average 3"
train $long -o n --steps 4 --checkpoint c --json >log 2>err
: >empty
printf 'a b\n' >no_tab
printf 'a\tb\tc\n\n' >no_tab_2
printf 'abc\tcba\n' >no_fit
printf 'ab\tba\n' >other.tsv
printf 'ba\tab\n' >other_valid.tsv
printf 'abc\nabcdeabcdeabcde\nabc\n' >too_long
dd if=m of=cut bs=1 count=1000 2>/dev/null
sed 's/"d_model":"16"/"d_model":"32"/' m >shaped 2>/dev/null # of the same size
refused 'unknown layer' 2 '*column 10*nrom*norm*' train $net -o m --encoder 'pos->res(nrom->linear)'
refused 'heads that do not divide' 2 '*[0-9]*16*' train $net -o m --heads 3
refused 'empty data' 1 'syn: empty is empty, *' train $net -o m --data empty
refused 'no data' 2 'syn: train wants --data, or --src and --tgt' train -o m
refused 'both kinds of data' 2 'syn: train wants either --data, or --src and --tgt' \
  train $net -o m --src lines --tgt tgt
refused 'half of the data' 2 'syn: train wants either *' train -o m --src lines
refused 'no TAB' 1 'syn: no_tab line 1 has no TAB; *given: a b' train $net -o m --data no_tab
refused 'no TAB later' 1 'syn: no_tab_2 line 2 has no TAB; *' train $net -o m --data no_tab_2
refused 'unequal files' 1 'syn: lines has 40 lines, no_tab has 1; *' \
  train $small -o m --src lines --tgt no_tab
refused 'nothing fits' 1 'syn: no pair of * fits --max-len 2' \
  train $net -o m --data no_fit --max-len 2
refused 'missing data' 1 'syn: cannot open nowhere: *' train $net -o m --data nowhere
refused 'missing folder' 1 'syn: nowhere/m: cannot create a file beside it: *' train $net -o nowhere/m
refused 'a folder' 1 'syn: cannot write elsewhere: it is a folder' train $net -o elsewhere
refused 'checkpoint in a missing folder' 1 'syn: nowhere/c: cannot create a file beside it: *' \
  train $net -o m --checkpoint nowhere/c
refused 'two tokenizers for one table' 2 'syn: --tie all wants one tokenizer *' \
  train $net -o m --tie all --src-tokenizer byte
refused 'no tokenizer' 2 '*bpe*' train $net -o m --tokenizer bpe
refused 'resume without a name' 2 'syn: train --resume wants --checkpoint FILE' \
  train $net -o m --resume
refused 'one name for two' 2 'syn: train --output and --checkpoint name the same file: m' \
  train $net -o m --checkpoint m
refused 'two parts for validation' 2 'syn: train wants either --valid or --hold-back 0.1' \
  train $net -o m --hold-back 0.1
refused 'nothing to follow' 2 'syn: the schedule plateau *' \
  train --data data.tsv -o m --schedule plateau
refused 'a model as checkpoint' 1 '*cannot be resumed*' \
  train $net -o n --checkpoint kept --resume --json
refused 'another network' 1 '*c: *tensor * is *, wanted *' \
  train $long -o n --d-model 32 --checkpoint c --resume --json
refused 'another text' 1 'syn: c: checkpoint: its tokenizer.src is not that of *' \
  train $long --data other.tsv --valid other_valid.tsv -o n --checkpoint c --resume --json
printf 'none\ta\nperhaps\tb\n' >new_label
printf 'none\ta\nnone\t\n' >no_text
printf 'none\ta\n\tb\n' >no_label
printf 'none\ta\nnone\tb\n' >one_label
printf 'a b\t= up|\na b\t= left\n' >new_tag
printf 'a b\t= up|\na b\t=\n' >few_tags
refused 'a new label in --valid' 1 'syn: new_label line 2: the label perhaps is none of the 2 *' \
  train $ctask --valid new_label -o m
refused 'a text that is missing' 1 'syn: no_text line 2 has no text' train $ctask --data no_text -o m
refused 'a label that is missing' 1 'syn: no_label line 2 has no label' eval -m k --data no_label
refused 'one label' 1 'syn: one_label has one label in all, *' train $ctask --data one_label -o m
refused 'classify without TAB' 1 'syn: no_tab line 1 has no TAB; label TAB text is *' \
  train $ctask --data no_tab -o m
refused 'labels have no tokenizer' 2 'syn: --tgt-tokenizer space: *' \
  train $ctask --tgt-tokenizer space -o m
refused 'a new tag in --valid' 1 'syn: new_tag line 2: the label left is none of the 3 *' \
  train $ttask --valid new_tag -o m
refused 'too few tags' 1 'syn: few_tags line 2 has 1 tags for 2 tokens' \
  train $ttask --data few_tags -o m
refused 'tag has one output' 2 'syn: run --nbest 2: *' run -m g --nbest 2 texts
refused 'another task' 2 'syn: --init k is a model of the task classify, this training is of tag; *' \
  train $ttask --init k -o m
sed 's/^has d/with/' renamed.tsv >new_names.tsv
train --init k --data new_names.tsv --d-model 32 --encoder 'ff(7)' --tokenizer bpe:12 -o n >out 2>err
is 'nothing of --init fits: status' 1 $?
has 'nothing of --init fits' '*--init k: none of its weights fits this network' "$(cat err)"
refused 'a missing model for --init' 1 'syn: nowhere: *' train $ctask --init nowhere -o m
refused 'no --init' 2 'syn: train --init-other-task wants --init MODEL' \
  train $ctask --init-other-task -o m
refused 'gaps for lm' 2 'syn: --span-corruption is for seq2seq, not for lm' \
  train --task lm $gaps $words -o m
refused 'gaps with targets' 2 'syn: train of --span-corruption reads plain text *--valid-tgt' \
  train $gaps --valid-tgt text -o m
refused 'lm with two files' 2 'syn: train of lm reads plain text *, given: --valid-src' \
  train --task lm --data text --valid-src text $small -o m
refused 'eval: gaps of a model without sentinels' 1 'syn: eval --span-corruption: * m has no sentinels: *' \
  eval -m m --span-corruption --data text
refused 'eval: gaps of lm' 2 'syn: --span-corruption is for seq2seq, not for lm' eval -m l --span-corruption --data text
refused 'eval: gaps in two files' 2 'syn: eval of --span-corruption reads plain text *--src' \
  eval -m s --span-corruption --src text
refused 'eval: gaps without data' 2 'syn: eval --span-corruption wants --data FILE, *' eval -m s --span-corruption
refused 'eval: gaps have no bleu' 2 'syn: eval --span-corruption has nats and ppl *, given: bleu' \
  eval -m s --span-corruption --data text --metric nats,bleu
refused 'eval: gaps or a board' 2 'syn: eval wants either *' eval -m s --span-corruption --reject --data text
refused 'lm with two files in eval' 2 'syn: eval of lm reads plain text *, given: --src' \
  eval -m l --data text --src text
refused 'lm with two files in trace' 2 'syn: trace of lm *, given: --src' trace -m l --src text -o page
refused 'adam decays nothing' 2 'syn: adam has no --weight-decay, adamw has; given: 0.1' \
  train $net -o m --optimizer adam --weight-decay 0.1
refused 'nothing to stop after' 2 'syn: train --stop-after 3 *--valid*' \
  train --data data.tsv -o m --stop-after 3
refused 'data as output' 2 'syn: train --output and --data name the same file: data.tsv' \
  train $net -o data.tsv
refused 'data as checkpoint' 2 'syn: train --checkpoint and --valid name *: valid.tsv' \
  train $net -o m --checkpoint valid.tsv
refused 'a page over its model' 2 'syn: trace --output and --model name the same file: m' \
  trace -m m -o m
refused 'info of two networks' 2 'syn: info wants either *, --d-model' info -m m --d-model 8
refused 'a message is one line' 2 "syn: no preset a\\\\x0ab; *" info --preset "$(printf 'a\nb')"
has 'sampling options without temperature' '*no effect: there is no --temperature*' \
  "$("$SYN" run -m m --top-k 3 lines 2>&1)"
"$SYN" golden m nowhere >out 2>err
is 'golden: what is no golden file' '1  m: FAILED: test.src is not there' \
  "$? $(cat err) $(head -n 1 out)"
has 'golden: the last line' '0 passed, 2 failed' "$(tail -n 1 out)"
refused 'gaps in two files' 2 'syn: --span-corruption has one text *' \
  train $gaps --src-tokenizer char -o m
refused 'no sentinels' 2 'syn: --init m: *' train --init m $gaps -o n
refused 'no such tensor' 2 "syn: freeze: no tensor is named 'src.embd'; the nearest is src.embed" \
  train $net -o m --freeze 'out.*|src.embd'
refused 'nothing to train' 2 '*leaves no tensor to train' train $net -o m --freeze '*'
refused 'steps of its own' 2 'syn: adafactor without --lr *--warmup*' \
  train --data data.tsv -o m --optimizer adafactor --warmup 9
refused 'no such rule' 2 '*adam|adamw|adafactor|sgd*' train $net -o m --optimizer lamb
refused 'unknown option' 2 'syn: train has no option --step; *--steps *' train $net -o m --step 4
refused 'bad number' 2 'syn: train --steps wants an integer *given: ten' train $net -o m --steps ten
refused 'bad variable' 2 'syn: train --var wants NAME=NUMBER, given: N' train $net -o m --var N
refused 'no variable' 2 '*FF*' train $net -o m --encoder 'ff($FF)'
refused 'missing model' 1 'syn: nowhere: *' run -m nowhere lines
refused 'empty model' 1 'syn: empty: *' run -m empty lines
refused 'truncated model' 1 'syn: cut: *' run -m cut lines
refused 'no model' 1 'syn: data.tsv: *' eval -m data.tsv --data valid.tsv
if [ "$(wc -c <shaped)" = "$(wc -c <m)" ]; then
  refused 'wrong shape' 1 'syn: shaped: *tensor * is *, wanted *' run -m shaped lines
fi
refused 'missing lines' 1 'syn: cannot open nowhere: *' run -m m nowhere
refused 'too many outputs' 2 'syn: run --nbest *4, given: 5' run -m m --nbest 5 lines
refused 'longer than the model' 2 'syn: run --max-len wants at most 9, *' \
  run -m m --max-len 10 lines
refused 'no such metric' 2 'syn: no metric blue; *' eval -m m --data valid.tsv --metric blue
refused 'text metric of lm' 2 'syn: eval of a language model *' eval -m l --data text --metric bleu
"$SYN" run -m m --too-long stop too_long >out 2>err
is 'text longer than max_len: status' 1 $?
is 'text longer than max_len: what came before' 1 "$(wc -l <out | tr -d ' ')"
is 'text longer than max_len' \
  'syn: line 2 has 16 tokens with its end, the model takes 9: --too-long stop ends here' "$(cat err)"
refused 'diverged' 1 'syn: the loss is *--lr*' \
  train $net -o m --steps 50 --lr 1e30 --warmup 0 --json
same 'the old model stays' kept m

# -- disk full --
if [ -c /dev/full ]; then
  train $net -o /dev/full --steps 1 --warmup 1 --json >log 2>err
  is 'full device: status' 1 $?
  has 'full device' 'syn: /dev/full: cannot write: *' "$(cat err)"
  "$SYN" run -m m lines >/dev/full 2>err
  is 'full output' '1 1' "$? $(wc -l <err | tr -d ' ')"
fi
if [ -c /dev/full ]; then # a checkpoint that cannot be written
  broken="$net -o n --every 4 --steps 12 --warmup 4 --json --checkpoint /dev/full"
  rm -f n
  train $broken >log 2>err
  is 'a failed checkpoint: status' 1 $?
  has 'a failed checkpoint' 'syn: /dev/full: cannot write: *--ignore-save-errors*' "$(cat err)"
  is 'a failed checkpoint: one line' 1 "$(wc -l <err | tr -d ' ')"
  is 'a failed checkpoint ends the training at once' 1 "$(wc -l <log | tr -d ' ')"
  is 'a failed checkpoint: no model' '' "$(ls n 2>/dev/null)"
  train $broken --ignore-save-errors >log 2>err
  is '--ignore-save-errors: status' 0 $?
  is '--ignore-save-errors: it trains to the end' 3 "$(wc -l <log | tr -d ' ')"
  has '--ignore-save-errors: it says so' 'syn: /dev/full: cannot write: *' "$(cat err)"
  is '--ignore-save-errors: the model is written' 40 "$("$SYN" run -m n lines | wc -l | tr -d ' ')"
  train $broken --every 100 >log 2>err
  is 'the last checkpoint fails: status' 1 $?
  is 'the last checkpoint fails: the model is written' 40 \
    "$("$SYN" run -m n lines | wc -l | tr -d ' ')"
fi

# -- smaller weights; a model file as an array --
for type in f32 f16 bf16 i8 i4; do
  "$SYN" quantize -m m -o q --type $type
  is "quantize $type: status" 0 $?
  cp q twice
  "$SYN" quantize -m twice -o twice --type $type
  same "quantize $type twice" q twice
  is "run reads $type" 40 "$("$SYN" run -m q lines | wc -l | tr -d ' ')"
  is "info: bytes of $type" 1 "$("$SYN" info --json -m q | grep -c "\"file_$type\"")"
done
is 'run --type i8' 40 "$("$SYN" run -m m --type i8 lines | wc -l | tr -d ' ')"
refused 'quantize: no such type' 2 'syn: quantize --type wants f32|f16|*' quantize -m m -o q --type i5
refused 'quantize: no model' 1 'syn: lines: *' quantize -m lines -o q --type i8
"$SYN" embed -m m -o net.h --layout file
cat >net.c <<END
#include <stdio.h>
#include "net.h"
int main(void) {
  return fwrite(net_model.bytes, 1, sizeof net_model.bytes, stdout) != sizeof net_model.bytes;
}
END
${CC:-cc} $CFLAGS net.c -o net && $RUN ./net >net.bytes
same 'embed --layout file: the bytes of the file' m net.bytes
"$SYN" embed -m m -o net.h --tokenizers yes --beam 2
has 'embed: the kinds of the network, the search' '*X(values)*X(out) X(beam)*' "$(cat net.h)"
size=$(sed -n '1s/.*: \([0-9]*\) bytes.*/\1/p' net.h) ram=$(sed -n 's/.*_RAM = \([0-9]*\).*/\1/p' net.h)
board=$("$SYN" info -m m --board an386 --beam 2 --json | tail -n 1)
has 'info --board: RAM is that of the array' "*,\"ram\":$ram,*,\"fits\":true}" "$board"
flash=$(echo "$board" | sed 's/.*"flash":\([0-9]*\).*/\1/')
is "info --board: flash $flash: the array and its code" 1 "$((flash > size + 15000 && flash < size + 25000))"
"$SYN" embed -m m -o net.h --tokenizers yes --best 3
has 'info --board --best: RAM with scores' \
  "*,\"ram\":$(sed -n '1,/_RAM/s/.*_RAM = \([0-9]*\).*/\1/p' net.h),*" \
  "$("$SYN" info -m m --board an386 --best 3 --json | tail -n 1)"
"$SYN" embed -m m -o net.h --tokenizers yes --beam 2
cat >net.c <<END
#include "net.h"
#define SYN_SMALL
#define SYNTHESIZER_IMPLEMENTATION
#include "$here/../synthesizer.h"
#include <stdio.h>
static uint64_t ram[(net_RAM + 7) / 8];
int main(void) {
  char line[100], text[100];
  syn_small *s = syn_small_open(ram, sizeof ram, net_model, sizeof net_model, NULL, NULL);
  while (s && fgets(line, sizeof line, stdin)) {
    int ids[20], n = 0, token;
    syn_text given = {line, strlen(line) - 1};
    syn_small_source(s, ids, syn_small_encode(s, given, ids, 20));
    while ((token = syn_small_step(s, 9999)) >= SYN_SMALL_MORE)
      if (token >= 0) ids[n++] = token;
    syn_small_decode(s, ids, n, text, sizeof text);
    puts(text);
  }
  return !s;
}
END
${CC:-cc} $CFLAGS net.c -o net && $RUN ./net <lines >net.out
"$SYN" run -m m --beam 1 lines >greedy
is 'embed: nine of ten outputs are those of run' yes \
  "$(paste net.out greedy | awk -F '\t' '$1 == $2 { n++ } END { print (n >= 36 ? "yes" : n) }')"
refused 'no such board' 2 'syn: no board an38; the nearest is an385. *' info -m m --board an38
refused 'a model of 2 GiB of RAM' 2 'syn: --board an386: the model needs 2 GiB of RAM or more *' \
  train --data data.tsv -o large --board an386 --src-tokenizer char --tgt-tokenizer char --encoder norm \
  --decoder 'repeat(30, res(syn_att(V)) -> res(mh_dot_att))' --d-model 64 --heads 64 --max-len 65535

rm -f ./*.tmp # of killed trainings
(ulimit -f 8 && train $net -o m --steps 1 --warmup 1 --json >log 2>err)
is 'full disk: status' 1 $?
has 'full disk' 'syn: *' "$(cat err)"
is 'full disk: one line' 1 "$(wc -l <err | tr -d ' ')"
same 'full disk: the old model stays' kept m
is 'full disk: nothing is left over' '' "$(ls ./*.tmp 2>/dev/null)"

echo "tool: $checks checks, $failed failed"
[ "$failed" = 0 ]
