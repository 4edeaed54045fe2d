#!/bin/sh
# The command-line tool while it trains: resuming, options of training, what is said of a training, --minutes alone.
# Run from anywhere: sh tests/test_training.sh    CC names the compiler, SYN a tool already built.
# Ends with "training: N checks, N failed"; exit 1 when any failed. QUICK, SHORT: see test_tool.sh.

. "$(dirname "$0")/checks.sh"
need_syn
. "$here/tool_data.sh"
cut -f 2- valid.tsv >tgt

# -- equal runs give equal bytes; whatever stops a training, it goes on bit for bit --
long="$net --steps 30 --every 7 --average 3" # the end is no multiple of 7
train $long -o whole --json >log 2>err
mkdir elsewhere
train $long -o elsewhere/again --json >log 2>err
same 'equal runs' whole elsewhere/again
train $long -o n --seed 2 --json >log 2>err
is 'another seed' different "$(cmp -s whole n && echo same || echo different)"
train $long -o n --steps 17 --checkpoint c --json >log 2>err
train $long -o n --checkpoint c --resume --json >log 2>err
same 'resume' whole n
for round in $rounds; do
  rm -f c
  "$SYN" train $long -o n --checkpoint c --json >log 2>err & # not a function: $! would be a shell
  process=$!
  while kill -0 $process 2>err && [ ! -s c ]; do sleep 0.02; done
  [ $round = 1 ] || sleep 0.0$round
  kill -9 $process 2>err
  wait $process 2>err
  train $long -o n --checkpoint c --resume --json >log 2>err
  same "killed and resumed, round $round" whole n
done
# this batch holds two steps an epoch, so every checkpoint stands where an epoch ends
ends="$net --batch 2000 --steps $((2 * epochs)) --every 2"
batches=$(train $ends -o n --epochs 1 --json 2>err | tail -n 1 | sed 's/.*"step":\([0-9]*\).*/\1/')
train $ends -o whole --every "$batches" --json >log 2>err
train $ends -o n --every "$batches" --steps $((2 * batches)) --checkpoint d --json >log 2>err
train $ends -o n --every "$batches" --checkpoint d --resume --json >log 2>err
same 'resumed where an epoch ends' whole n

rm -f c n
"$SYN" train $long -o n --steps 1000000 --checkpoint c --json >log 2>err &
process=$!
while kill -0 $process 2>err && [ ! -s c ]; do sleep 0.02; done
kill -TERM $process
wait $process 2>/dev/null
is 'stopped: status' 1 $?
has 'stopped' 'syn: stopped at step [0-9]*; n is written' "$(cat err)"
is 'stopped: the model is whole' 40 "$("$SYN" run -m n lines | wc -l | tr -d ' ')"
has 'resume without a checkpoint' '*there is no nothing yet: the training begins*' \
  "$(train $long -o n --steps 2 --checkpoint nothing --resume 2>&1)"
if train $net -o n --steps 1 --threads 2 >out 2>err; then
  train $long -o n --threads 2 --json >log 2>err
  train $long -o whole --threads 1 --json >log 2>err
  same 'two threads' whole n
  train $long -o n --json >log 2>err # as many as the machine has cores
  same 'threads by default' whole n
else
  has 'threads without OpenMP' '*--threads 2 needs a build with -fopenmp' "$(cat err)"
fi

# -- options of training --
for schedule in noam linear cosine constant plateau; do
  train $net -o n --steps 4 --every 2 --warmup 2 --schedule $schedule --json >log 2>err
  is "schedule $schedule" "0 " "$? $(cat err)"
done
train --src lines --tgt tgt $small -o whole --steps 8 --warmup 2 --json >log 2>err
for ema in 0 1; do # of the whole training, there is no validation
  train --src lines --tgt tgt $small -o n --steps 8 --warmup 2 --ema $ema --json >log 2>err
  is "--ema $ema" "0  $((1 - ema))" "$? $(cat err) $(cmp -s whole n && echo 1 || echo 0)"
done
has '--ema 2' '*--ema*0..1*' "$(train --src lines --tgt tgt $small -o n --steps 8 --ema 2 2>&1)"
train --src lines --tgt tgt $small -o n --steps 4 --json \
  --optimizer adamw --accumulate 2 --clip 1 >log 2>err
is 'train --src --tgt' 0 $?
for rule in adafactor sgd; do
  rule_net="$net --lr 0 --steps 30 --every 7 --average 3 --clip 1 --optimizer $rule"
  [ $rule = sgd ] || rule_net=$(echo "$rule_net" | sed 's/--warmup 20//; s/--schedule constant//')
  train $rule_net -o whole --json >log 2>err
  is "$rule" '0 ' "$? $(cat err)"
  is "$rule: the loss falls" yes "$(sed 's/.*"loss":\([0-9.]*\).*/\1/' log |
    awk 'NR == 1 { first = $1 } { last = $1 } END { print last < 0.95 * first ? "yes" : last }')"
  train $rule_net -o n --steps 17 --checkpoint r --json >log 2>err
  train $rule_net -o n --checkpoint r --resume --json >log 2>err
  same "$rule: resume" whole n
done
refused 'the checkpoint of another rule' 1 \
  "*train.optimizer is 'sgd', this training has 'muon'" \
  train $net -o n --checkpoint r --resume --json
frozen="$net --steps 9 --warmup 5 --every 4 --freeze src.embed|*.w_v"
train $frozen -o n --checkpoint f --json >log 2>err
is 'train --freeze' '0 ' "$? $(cat err)"
train $net --steps 9 --warmup 5 --every 4 -o whole --checkpoint g --json >log 2>err
is '--freeze: a smaller checkpoint' yes \
  "$([ "$(wc -c <f)" -lt "$(wc -c <g)" ] && echo yes || wc -c f g)"
refused 'a checkpoint with other names' 1 \
  "*train.freeze is '', this training has 'src.embed|\*.w_v'" \
  train $frozen -o n --checkpoint g --resume --json
train $net --tie all --tokenizer bpe:14 -o n --steps 4 --json >log 2>err
is 'train --tie all' 0 $?
has 'one vocabulary for both' '*src_vocab 14, tgt_vocab 14, tie all*' "$("$SYN" info -m n)"
train $net --src-tokenizer byte --tgt-tokenizer bpe:12 --lowercase -o n --steps 4 --json >log 2>err
has 'one vocabulary each' '*src_vocab 260, tgt_vocab 12,*' "$("$SYN" info -m n)"
has 'pairs that do not fit' \
  '*syn: [0-9]* of 300 pairs of data.tsv do not fit --max-len 4 and are left out*' \
  "$(train $net --max-len 4 -o n --steps 2 2>&1)"
train $net --encoder 'pos->res(ff($N)->linear)' --var N=8 -o n --steps 2 --json >log 2>err
has '--var' '*encoder pos->res(ff(8)->linear)*' "$("$SYN" info -m n)"

if [ -z "$QUICK" ]; then # nothing here depends on the processor
# -- what a training says of itself: a warm-up that is too long, a loss that rises --
warm="$net -o n --warmup 30 --lr 0.002 --json"
train $warm --steps 8 >log 2>err
is 'a warm-up longer than the run' '0 syn: the warm-up takes 30 steps, the whole run 8: the learning rate never reaches its value; --warmup N sets a shorter one' \
  "$? $(cat err)"
train $warm --steps 30 >log 2>err
is 'a warm-up as long as the run' '0 ' "$? $(cat err)"
train $warm --minutes 0.00001 >log 2>err
has 'a run that --minutes ends in its warm-up' '0 *syn: the warm-up takes 30 steps, the whole run 2: *' \
  "$? $(cat err)"
train --data data.tsv --tokenizer char --d-model 16 --heads 2 --max-len 9 -o n --steps 4 \
  --optimizer adafactor --json >log 2>err
is 'adafactor without --lr has no warm-up' '0 ' "$? $(cat err)"
for rate in 10 1000; do
  rm -f n
  train --data data.tsv $small -o n --optimizer adam --lr $rate --steps 30 --json >log 2>err
  is "--lr $rate: status" 1 $?
  has "--lr $rate" 'syn: the training has not learned: its final loss, [0-9]*, is above that of the first step, 2.*; n is written all the same; a smaller --lr*' \
    "$(cat err)"
  is "--lr $rate: the model is written" 40 "$("$SYN" run -m n lines | wc -l | tr -d ' ')"
done
train --data data.tsv $small -o n --lr 1000 --steps 4 --warmup 2 --json >log 2>err
is 'a few steps are enough to see it' 1 $?
train $net -o m --steps $steps --every 10 --json >log 2>err
train --init m --data data.tsv --valid valid.tsv --lr 1e-6 --steps 40 --warmup 0 --json -o n >log 2>err
is 'a learned model that learns no more is no failure' 0 $?

# -- --minutes alone: everything is chosen; the command printed gives the same model --
cut -f 2 data.tsv >poem
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 2 ? "no\tbad bad day" : "yes\ta good day" }' >said
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 2 ? "a b\tX Y" : "b a b\tY X Y" }' >tagged
for what in 'seq2seq data.tsv' 'lm poem' 'classify said' 'tag tagged'; do
  set -- $what
  for minutes in 0.1 0.5 2 8; do # more where a busy machine does not do in time what it chose
    train --task $1 --data $2 --minutes $minutes --seed 7 -o alone --json >log 2>err
    is "$1: --minutes alone" 0 $?
    grep -q 'syn: the training ended at step' err || break
    [ -z "$SHORT" ] || break
  done
  has "$1: the command" 'syn: chosen; the same training again: syn train --task * --hold-back 0.05 * --steps *' \
    "$(grep '^syn: chosen' err)"
  again=$(sed -n 's/^syn: chosen; the same training again: syn //p' err)
  [ $1 != classify ] || is 'classify: one validation, at the end' \
    "$(echo "$again" | sed 's/.* --steps \([0-9]*\).*/\1/')" "$(echo "$again" | sed 's/.* --every \([0-9]*\).*/\1/')"
  # under a sanitizer a training that it slows too much would only run the same code again, and longer
  if [ -n "$SHORT" ] && grep -q 'syn: the training ended at step' err; then continue; fi
  eval "'$SYN' $again --output again" >log 2>err
  status=$?
  is "$1: the command again" '0 ' "$status $(grep -v 'are in its training part' err)"
  same "$1: the same model" alone again
done
train --init alone --data tagged --minutes 0.1 -o n --json >log 2>err
has 'a model to begin with' '0 *syn train --init alone *' "$? $(cat err)"
train --span-corruption --data poem --tokenizer char --d-model 16 --heads 2 --max-len 20 --minutes 0.05 \
  -o n --json >log 2>err
has 'hidden spans' '0 *--hold-back 0.05 *' "$? $(cat err)"
has 'hidden spans: validation' '*"valid":[0-9]*' "$(cat log)"
for i in 1 2 3 4 5 6 7 8 9; do echo 'a b c d'; echo 'e f g h'; echo 'b a d c'; done >hidden
train --task mlm --data hidden --tokenizer space --encoder 'learn_pos -> res_nd(syn_att(V)) -> norm' --d-model 16 \
  --max-len 4 --batch 80 --steps 60 --lr 0.02 --hold-back 0.1 -o masked --json >log 2>err
is 'mlm: status' 0 $?
has 'mlm: validation' '*"valid":[0-9]*' "$(cat log)"
printf 'a <0> c d\n<0> f g <0>\n\nb a d c\n' >in
is 'mlm: run' 'a b c d|e f g h||b a d c|' "$("$SYN" run -m masked in | tr '\n' '|')"
has 'mlm: score' '{"line":1,"rank":1,"score":-[0-9]*,"text":"a b c d"}*' "$("$SYN" run -m masked --json in)"
has 'mlm: eval' 'ppl [1-9].* accuracy [01].*' "$("$SYN" eval -m masked --data hidden --metric ppl,accuracy | tr '\n' ' ')"
refused 'mlm: a metric of texts' 2 'syn: eval of mlm has nats, ppl and accuracy *, given: bleu' \
  eval -m masked --data hidden --metric bleu
refused 'mlm: lines of pairs' 2 'syn: train of --task mlm reads plain text *' \
  train --task mlm --data hidden --src in -o m
refused 'mlm: gaps' 2 'syn: --span-corruption is for seq2seq, not for mlm' \
  train --task mlm --span-corruption --data hidden -o m
refused 'mlm: minutes' 2 'syn: train --minutes chooses nothing for --task mlm: *' \
  train --task mlm --data hidden --minutes 1 -o m
refused 'mlm: compare' 2 'syn: compare has no metrics for the task mlm; *' \
  compare --task mlm --kinds V --data hidden -o m
train --data data.tsv $small --steps 20 --every 10 --hold-back 0.1 -o n --json >log 2>err
awk 'NR % 10 == 1' data.tsv >held; awk 'NR % 10 != 1' data.tsv >rest
train --data rest --valid held $small --steps 20 --every 10 -o whole --json >log2 2>err
same '--hold-back is every tenth line' n whole
# what was chosen does not end the training: one line, a held-back line that is too long, one tokenizer for both sides
head -n 1 data.tsv >one.tsv
train --data one.tsv --minutes 0.01 -o n --json >log 2>err
has 'one line alone' '0 *syn: one.tsv has one line: none is held back*' "$? $(cat err)"
awk 'NR == 1 { for (i = 0; i < 300; i++) printf "a "; print "\tb" } NR < 40' data.tsv >long.tsv
train --data long.tsv --tokenizer char --hold-back 0.02 $small --steps 20 -o n --json >log 2>err
has 'the held-back line is too long' '0 *syn: none of the 1 pairs held back fits --max-len *: there is no validation*' "$? $(cat err)"
has 'and is not validated on' '*"step":20,*"valid":null,*' "$(tail -n 1 log)"
awk '{ print "one two three " NR "\t" $1 }' data.tsv >mixed.tsv
train --data mixed.tsv --tie all --minutes 0.02 -o n --json >log 2>err
has '--tie all without a tokenizer' '0 syn: chosen; * --tie all * --tokenizer *' "$? $(cat err)"
train --data data.tsv --minutes 0.02 --schedule plateau --stop-after 3 -o n --json >log 2>err
has '--minutes chooses what plateau needs' '0 *--hold-back 0.05 *' "$? $(cat err)"
cp data.tsv ./--data.tsv
train --data=--data.tsv --minutes 0.02 -o n --json >log 2>err
has 'a name that begins with dashes' '0 *syn: chosen; the same training again: syn train --data=--data.tsv --output n *' "$? $(cat err)"
train --task classify --data said --d-model 16 --heads 2 --max-len 8 --batch 200 --epochs 1 -o class --json >log 2>err
train --init class --data said --minutes 0.1 -o n --json >log 2>err
is 'the rule is that of the task of --init' yes \
  "$(sed -n 's/.* --steps \([0-9]*\).*/\1/p' err | awk '{ print $1 <= 8 ? "yes" : $1 }')"
# the log: the last update has a line; what is not finite is null; a resumed training that does not learn fails, too
train --data data.tsv $small --steps 20 -o n --json >log 2>err
has 'the last update is in the log' '{"step":20,*' "$(tail -n 1 log)"
train --data data.tsv $small --optimizer sgd --lr 1e16 --warmup 0 --schedule constant --steps 20 --every 1 --hold-back 0.1 \
  -o n --json >log 2>err
is 'JSON has no NaN' 0 "$(grep -c -i -e ':-*nan' -e ':-*inf' log)"
bad="--data data.tsv $small --optimizer adam --lr 1000 --json -o n --checkpoint bad"
rm -f bad
train $bad --steps 15 >log 2>err
train $bad --steps 30 --resume >log 2>err
has 'resumed, and not learned' '1 *syn: the training has not learned: *is above that of guessing, *' "$? $(cat err)"
printf x >letter
train --task lm --data letter --tokenizer char --d-model 16 --max-len 8 --batch 32 --steps 2 --hold-back 0.1 \
  -o n --json >log 2>err
is 'lm: a text too short to hold a part back' '0 syn: --hold-back 0.1 holds nothing of letter back: there is no validation' \
  "$? $(cat err)"
fi

echo "training: $checks checks, $failed failed"
[ "$failed" = 0 ]
