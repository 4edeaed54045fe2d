#!/bin/sh
# The command-line tool: `syn compare`: its rows, its table, its tests against values computed by hand, killed and
# started again. Run from anywhere: sh tests/test_compare.sh    CC names the compiler, SYN a tool already built.
# Ends with "compare: N checks, N failed"; exit 1 when any failed. QUICK: shorter trainings, fewer of them. SHORT: only shorter.

. "$(dirname "$0")/checks.sh"
need_syn

# refused NAME STATUS PATTERN ARGUMENT...: that exit status, nothing on stdout, one line on stderr, no run
refused() {
  name=$1 status=$2 pattern=$3
  shift 3
  "$SYN" compare "$@" >out 2>err </dev/null
  is "$name: status" "$status" "$?"
  is "$name: stdout" "" "$(cat out)"
  is "$name: lines" 1 "$(wc -l <err | tr -d ' ')"
  has "$name" "$pattern" "$(cat err)"
}
same_table() { # NAME FILE FILE: the same but for the times
  is "$1" "$(cut -f 1-12 "$2")" "$(cut -f 1-12 "$3")"
}
cell() { # FILE ROW METRIC COLUMN of a table in TSV
  awk -F '\t' -v row="$2" -v metric="$3" -v column="$4" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
    $1 == row && $2 == metric { print $at }' "$1"
}
between() { # NAME LOW HIGH VALUE
  is "$1" yes "$(awk -v low="$2" -v high="$3" -v x="$4" 'BEGIN { print (x != "" && x >= low && x <= high) ? "yes" : x }')"
}

# -- data: words of a to d, to be reversed --
words abcd 1 200 >data.tsv
words abcd 2 20 >valid.tsv
words abcd 3 40 >test.tsv
steps=200
brief=$QUICK$SHORT
[ -z "$brief" ] || steps=60
small='--tokenizer char --d-model 16 --heads 2 --max-len 8 --batch 200 --warmup 20 --lr 0.01'
chains='--encoder pos->res_nd(syn_att(V))->norm --decoder pos->res_nd(syn_att(V))->res_nd(mh_dot_att)->norm'
net="--data data.tsv --valid valid.tsv $small $chains"
one="--data data.tsv --test test.tsv $small $chains --steps 2 --seeds 1"

# -- the table --
run="$net --test test.tsv --kinds V,R --seeds 2 --steps $steps --every 20 --beam 2 --metric per,chrf,ppl"
"$SYN" compare $run --tsv -o whole --jobs 2 >whole.tsv 2>err
is 'compare' 0 $?
is 'a line on stderr a run' 4 "$(wc -l <err | tr -d ' ')"
has 'what it says' '*V, seed 2: per [0-9]*, [0-9]* minutes; [1-4] of 4 runs*' "$(cat err)"
is 'a line a row and metric' 7 "$(wc -l <whole.tsv | tr -d ' ')"
for row in 1 2; do
  for seed in 1 2; do
    "$SYN" eval -m whole/row$row-seed$seed.safetensors --data test.tsv --beam 2 --metric per,chrf,ppl
  done | awk '{ sum[$1] += $2 / 2 } END { printf "%.2f %.2f %.3f\n", sum["per"], sum["chrf"], sum["ppl"] }' >wanted
  kind=$(echo V R | cut -d ' ' -f $row)
  for metric in per chrf ppl; do cell whole.tsv $kind $metric mean; done | tr '\n' ' ' >got
  is "means are those of eval, $kind" yes "$(paste -d ' ' wanted got | awk '{
    print ($1 - $4 < 0.011 && $4 - $1 < 0.011 && $2 - $5 < 0.011 && $5 - $2 < 0.011 &&
           $3 - $6 < 0.0011 && $6 - $3 < 0.0011) ? "yes" : $0 }')"
done
"$SYN" train $net --steps $steps --every 20 --seed 2 --json -o n >log 2>err
same 'a run is what train makes' n whole/row1-seed2.safetensors
is 'updates' "$steps" "$(cell whole.tsv R per updates)"
"$SYN" compare $run --tsv -o whole >again.tsv 2>err
same 'what is finished is not done again' whole.tsv again.tsv
is 'and it says so' '4 of 4 runs were finished before' "$(cat err)"
"$SYN" compare $run --tsv -o alone --jobs 1 >again.tsv 2>err
same_table 'one run at a time' whole.tsv again.tsv
is 'text' "row  seeds" "$("$SYN" compare $run -o whole 2>err | head -n 1 | cut -c 1-10)"
has 'markdown' '| row | seeds | *| --- | ---: |*| V *' "$("$SYN" compare $run -o whole --format markdown 2>err)"
has 'json' '{"row":"V","metric":"per","lower_is_better":true,"seeds":2,"values":[[]*,"p":null,*{"row":"R",*' \
  "$("$SYN" compare $run -o whole --json 2>err)"
"$SYN" compare $run -o whole --page page.html >out 2>err
is 'the page: two charts, a line each run' '2 8' "$(grep -c '<svg' page.html) $(grep -c '<polyline' page.html)"
has 'another metric of the same runs' 'V	bleu	2	*' \
  "$("$SYN" compare $run -o whole --tsv --metric bleu 2>err | sed -n 2p)"
is 'needs no run' '4 of 4 runs were finished before' "$(cat err)"
printf 'a 1 0\nb 0 1\nc 1 1\nd -1 0\n' >vectors
printf 'a b\nc d\n' >meanings
files="--metric meteor,embedding --synonyms meanings --vectors vectors --tokenize char"
"$SYN" compare $run -o whole --tsv $files >again.tsv 2>err
for seed in 1 2; do "$SYN" eval -m whole/row2-seed$seed.safetensors --data test.tsv --beam 2 $files 2>err; done |
  awk '{ sum[$1] += $2 / 2 } END { printf "%.2f %.2f\n", sum["meteor"], sum["embedding"] }' >wanted
for metric in meteor embedding; do cell again.tsv R $metric mean; done | tr '\n' ' ' >got
is 'metrics with files are those of eval' yes "$(paste -d ' ' wanted got | awk '{
  print ($2 > 1 && $1 - $3 < 0.011 && $3 - $1 < 0.011 && $2 - $4 < 0.011 && $4 - $2 < 0.011) ? "yes" : $0 }')"
"$SYN" compare $run -o whole --metric meteor >out 2>err
is 'a metric wants its file' 'syn: compare --metric meteor wants --synonyms FILE, given: none' "$(cat err)"
printf 'q 1 0\n' >other
"$SYN" compare $run -o whole --metric embedding --vectors other --synonyms meanings --tsv >out 2>err
is 'words without vectors, and a file without effect, are said once' \
  'syn: --synonyms has no effect: no metric of embedding uses it
syn: embedding: 100 % of the words have no vector in other; --lowercase looks for small letters
syn: embedding: in 40 of 40 lines a side has no word with a vector, so they count as 0' "$(grep -v finished err)"
"$SYN" compare $run -o whole --tsv --seeds 3 >more.tsv 2>err
is 'more seeds add runs' '2 3' "$(grep -c 'seed 3: ' err) $(cell more.tsv R per seeds)"

# -- killed and started again --
delays='0.05 0.3 0.6'
[ -z "$brief" ] || delays=0.3
for delay in $delays; do
  rm -rf again
  "$SYN" compare $run --tsv -o again >out 2>err &
  process=$!
  sleep "$delay"
  kill -9 $process 2>err
  wait $process 2>err
  "$SYN" compare $run --tsv -o again >again.tsv 2>err
  same_table "killed after $delay s" whole.tsv again.tsv
done
rm -rf again
"$SYN" compare $run --steps 1000000 -o again --jobs 2 >out 2>err &
process=$!
while kill -0 $process 2>/dev/null && ! [ -s again/row1-seed1.checkpoint -a -s again/row2-seed1.checkpoint ]; do
  sleep 0.02
done
kill -TERM $process
wait $process 2>/dev/null
is 'stopped: status' 1 $?
has 'stopped' '*syn: compare is stopped, 0 of 4 runs are finished; the same command goes on' "$(cat err)"
has 'stopped: a run' 'syn: stopped at step [0-9]*' "$(tail -n 1 again/row1-seed1.err)"
is 'stopped: no model' no "$([ -e again/row1-seed1.safetensors ] && echo yes || echo no)"
# a training of a fixed time: its log and its total go on from the time of the first session
"$SYN" compare $run --steps 0 --minutes 0.03 -o timed --seeds 1 >out 2>err &
process=$!
sleep 1
kill -TERM $process
wait $process 2>/dev/null
"$SYN" compare $run --steps 0 --minutes 0.03 -o timed --seeds 1 --tsv >timed.tsv 2>err
seconds_of() { sed 's/.*"seconds":\([0-9.]*\).*/\1/' timed/row1-seed1.jsonl; }
is 'the time goes on' "$(seconds_of | sort -g)" "$(seconds_of)"
between 'the time of both sessions' "$(seconds_of | tail -n 1)" 3 "$(cat timed/row1-seed1.time)"

# -- the bootstrap, by outputs made by hand --
hand() { # FOLDER ROW SEED LINE...: the outputs of that run
  file=$1/row$2-seed$3.out
  shift 3
  printf '%s\n' "$@" >"$file"
}
printf 'a\ta\nb\tb\n' >two.tsv
two="--data data.tsv --test two.tsv $small $chains --steps 2 --kinds V,R --seeds 1 --metric exact,wer --tsv"
"$SYN" compare $two -o two >out 2>err
is 'two lines' 0 $?
hand two 1 1 a b
hand two 2 1 x x
"$SYN" compare $two -o two >t 2>err
boot='difference bootstrap_low bootstrap_high'
# every sample has the difference -100, so p = 2 (1 + 0) / 1001; one seed decides nothing, whatever the sentences say
is 'all worse' '-100.000000 -100.000000 -100.000000 0.001998' \
  "$(for c in $boot bootstrap_p; do cell t R exact $c; done | tr '\n' ' ' | sed 's/ $//')"
is 'one seed: undecided' '-undecided' "$(cell t R exact p)$(cell t R exact low)$(cell t R exact mixed_p)-$(cell t R exact verdict)"
is 'the first row has no verdict' '-' "$(cell t V exact verdict)-"
# the second line is drawn 0, 1 or 2 times: differences 0, -50, -100 in 1/4, 1/2, 1/4 of the samples: p = 2/4
hand two 2 1 a x
"$SYN" compare $two -o two >t 2>err
is 'half of the lines' '-50.000000 -100.000000 0.000000' \
  "$(for c in $boot; do cell t R exact $c; done | tr '\n' ' ' | sed 's/ $//')"
between 'half of the lines: p' 0.42 0.58 "$(cell t R exact bootstrap_p)"
hand two 2 1 a b
"$SYN" compare $two -o two >t 2>err
is 'equal outputs' '0.000000 1.000000' "$(cell t R exact difference) $(cell t R exact bootstrap_p)"
is 'no samples, no bootstrap' ' -' "$("$SYN" compare $two -o two --samples 0 --tsv 2>err >t; cell t R exact bootstrap_p) -"
# a seed of which all is wrong, one of which all is right: the seeds are not drawn, and each sentence has the same difference
"$SYN" compare $two -o two --seeds 2 >t 2>err
hand two 1 2 a b
hand two 2 1 x x
hand two 2 2 a b
"$SYN" compare $two -o two --seeds 2 >t 2>err
is 'two seeds' '50.000000 70.710678 -50.000000 -50.000000 -50.000000' \
  "$(for c in mean deviation $boot; do cell t R exact $c; done | tr '\n' ' ' | sed 's/ $//')"
# the differences of the seeds are -100 and 0: t = 1 with one degree of freedom, p = 1/2, -50 +- 12.706 * 50. With n seeds t
# would be sqrt(n / 2): 2.236 of ten, where 2.262 is wanted, 2.345 of eleven, where 2.228 is. All sentences say the same, so
# the mixed interval is this one
is 'two seeds: t' '-685.310237 585.310237 0.500000 undecided 11' \
  "$(for c in low high p verdict seeds_wanted; do cell t R exact $c; done | tr '\n' ' ' | sed 's/ $//')"
is 'two seeds: mixed' '-685.310237 585.310237 0.500000' \
  "$(for c in mixed_low mixed_high mixed_p; do cell t R exact $c; done | tr '\n' ' ' | sed 's/ $//')"
is 'text: undecided' '0.500 undecided' "$("$SYN" compare ${two% --tsv} -o two --seeds 2 2>err | grep -o '0.500 undecided' | head -n 1)"
# differences of the seeds -50 and 0, of the first sentence 0, of the second -50: the bootstrap has 0, -25, -50 in 1/4, 1/2, 1/4
# of its samples, variance 312.5, the seeds have 625: t = 25 / sqrt(937.5), of 937.5^2 / (312.5^2 + 625^2) = 1.8 degrees of
# freedom, so 1: p = 1 - 2 / pi atan(t) = 0.564
hand two 2 1 a x
"$SYN" compare $two -o two --seeds 2 >t 2>err
between 'sentences and seeds: mixed' 0.55 0.58 "$(cell t R exact mixed_p)"
is 'sentences and seeds: the seeds alone' '0.500000' "$(cell t R exact p)"
is 'no samples: no mixed test' '0.500000 -' "$("$SYN" compare $two -o two --seeds 2 --samples 0 2>err >t; cell t R exact p) $(cell t R exact mixed_p)-"
# three seeds, wer: differences 100, 150, 100 of 0, 0, 0: t = 7, p of two degrees of freedom 0.0198
"$SYN" compare $two -o two --seeds 3 >t 2>err
for seed in 1 2 3; do hand two 1 $seed a b; hand two 2 $seed x x; done
hand two 2 2 'x x' x
"$SYN" compare $two -o two --seeds 3 >t 2>err
is 'three seeds: lower is better' '116.666667 0.019804 worse 3' \
  "$(for c in difference p verdict seeds_wanted; do cell t R wer $c; done | tr '\n' ' ' | sed 's/ $//')"
is 'all seeds differ alike: no t' '-100.000000  undecided' "$(cell t R exact difference) $(cell t R exact p) $(cell t R exact verdict)"
# a second row halves what the first p says (Holm), and the verdict is gone
three=$(echo "$two" | sed 's/--kinds V,R/--kinds V,R,D/')
"$SYN" compare $three -o three --seeds 3 >t 2>err
for seed in 1 2 3; do hand three 1 $seed a b; hand three 2 $seed x x; hand three 3 $seed x b; done
hand three 2 2 'x x' x
hand three 3 1 a b
"$SYN" compare $three -o three --seeds 3 >t 2>err
is 'Holm: two rows' '0.039608 worse 0.183503 undecided' "$(cell t R wer p) $(cell t R wer verdict) $(cell t D wer p) $(cell t D wer verdict)"
# 10 of 100 lines are right in one row alone: the difference is binomial, of n 100 and p 0.1: 95 % are in 5 ... 16
awk 'BEGIN { for (i = 0; i < 100; i++) printf "a\t%s\n", i % 2 ? "a" : "b" }' >many.tsv
many="--data data.tsv --test many.tsv $small $chains --steps 2 --kinds V,R --seeds 1 --metric exact,f1 --tsv"
"$SYN" compare $many -o many >out 2>err
awk 'BEGIN { for (i = 0; i < 100; i++) print (i < 50 && i % 2 ? "a" : "c") }' >many/row1-seed1.out
awk 'BEGIN { for (i = 0; i < 100; i++) print (i < 70 && i % 2 ? "a" : "c") }' >many/row2-seed1.out
"$SYN" compare $many -o many >t 2>err
is 'a hundred lines' '10.000000 0.001998' "$(cell t R exact difference) $(cell t R exact bootstrap_p)"
between 'a hundred lines: low' 4 5 "$(cell t R exact bootstrap_low)"
between 'a hundred lines: high' 15 17 "$(cell t R exact bootstrap_high)"
# f1 is no function of sums over lines. Classes a, b and c: of a 2 25/(25+50), 2 35/(35+50); of b and c nothing
is 'f1' '22.222222 27.450980' "$(cell t V f1 mean) $(cell t R f1 mean)"

# -- losses that do not compare: other tokens, sentences left out --
"$SYN" compare $one --tokenizer space --metric ppl,nats_char --vary src-tokenizer=space,char --tsv -o same >t 2>err
is 'another source tokenizer: tested' '0 yes' "$? $([ -n "$(cell t src-tokenizer=char ppl bootstrap_p)" ] && echo yes)"
loose=$(echo "$one" | sed 's/--tokenizer char//')
"$SYN" compare $loose --metric ppl,nats_char --vary tokenizer=char,space --tsv -o tokens >t 2>err
is 'another target tokenizer: ppl is not tested, nats_char is' ' yes' \
  "$(cell t tokenizer=space ppl bootstrap_p) $([ -n "$(cell t tokenizer=space nats_char bootstrap_p)" ] && echo yes)"
has 'and it says so' '*syn: compare, tokenizer=space: its ppl is not of the same sentences and tokens as that of tokenizer=char: *' \
  "$(cat err)"
cut_off=$(echo "$one" | sed 's/--max-len 8//; s/--data [^ ]* --test [^ ]*/--data test.tsv --test data.tsv/')
"$SYN" compare $cut_off --metric ppl,nats_char --vary max-len=8,4 --tsv -o lengths >t 2>err
is 'sentences left out: not tested' ' ' "$(cell t max-len=4 ppl bootstrap_p) $(cell t max-len=4 nats_char bootstrap_p)"
has 'and it says how many' '*max-len=4, seed 1: 100 of 200 pairs do not fit the model?s max_len 4: the loss leaves them out*' \
  "$(cat err)"
"$SYN" eval -m lengths/row2-seed1.safetensors --data data.tsv --metric ppl,nats_char >wanted 2>err
printf 'ppl %.4f\nnats_char %.4f\n' "$(cell t max-len=4 ppl mean)" "$(cell t max-len=4 nats_char mean)" >got
is 'both leave out the characters, too' "$(cat wanted)" "$(cat got)"
awk -F '\t' '{ print $1 "\t" length($1) }' test.tsv >numbers.tsv
"$SYN" compare $one --test numbers.tsv --kinds V,R --metric pearson,exact --tsv -o numbers >t 2>err
is 'outputs that are no numbers: no value, the other metric has one' '0 0 1' \
  "$? $(cell t R pearson seeds) $(cell t R exact seeds)"
has 'and it says which' '*syn: compare, R, seed 1: no pearson, line [0-9]* of the outputs is no number*' "$(cat err)"
"$SYN" compare $one --kinds V --vary lr=1e9,0.01 --optimizer sgd --steps 20 --warmup 0 --metric nats,ppl --json -o inf >t 2>err
is 'JSON has no infinity' 0 "$(grep -c -i -e 'inf[,}]' -e 'nan[,}]' t)"

# -- the share of unknown tokens: beside every result, also of a second command --
printf 'abX\tbaX\nYab\tba\n' >strange.tsv
strange="--data data.tsv --test strange.tsv $small $chains --steps 2 --seeds 1 --kinds V,R --metric ppl -o strange"
"$SYN" compare $strange --tsv >t 2>err
is 'unknown tokens: TSV' '0 0.272727 0.272727' "$? $(cell t V ppl unknown) $(cell t R ppl unknown)"
has 'unknown tokens: the line of a run' '*, 27 % of the tokens are unknown*' "$(cat err)"
has 'unknown tokens: JSON' '*"minutes":*,"unknown":0.272727}' "$("$SYN" compare $strange --json 2>err | head -n 1)"
has 'unknown tokens: text' '*  27.27 %  *' "$("$SYN" compare $strange 2>err | tail -n 1)"
"$SYN" compare --task lm --data data.tsv --test strange.tsv --tokenizer char --decoder linear --d-model 8 --max-len 8 --batch 60 \
  --steps 2 --seeds 1 --vary lr=0.01,0.02 --tsv -o strange.lm >t 2>err
is 'unknown tokens: lm' '0 0.200000' "$? $(cell t lr=0.01 nats unknown)"

# -- outputs in lower case or composed: the references of all rows are brought to that form --
printf 'a\tX\nb\te\314\201\n' >form.tsv
form='--data form.tsv --test form.tsv --d-model 32 --heads 2 --max-len 4 --batch 40 --dropout 0 --seeds 1 --metric exact --tsv'
"$SYN" compare $form --tokenizer char --steps 60 --encoder pos --decoder 'pos->res(mh_dot_att)' --vary lowercase-targets=on,off --vary nfc=on,off -o form >t 2>err
is 'forms of targets by --vary' '100.000000 100.000000 100.000000 100.000000 ' "$(sed 1d t | cut -f 4 | tr '\n' ' ')"
"$SYN" compare $form --vary lr=0.0001 --steps 1 --init form/row1-seed1.safetensors -o form2 >t 2>err
is 'forms of targets by --init' 100.000000 "$(sed 1d t | cut -f 4)"

# -- rows --
"$SYN" compare $one --vary heads=1,2 --vary optimizer=adam,sgd -o vary --heads 2 >out 2>err
is 'an option given twice' '2 syn: compare has --heads and varies it, too; one of them is wanted' "$? $(cat err)"
bare='--data data.tsv --test test.tsv --tokenizer char --d-model 16 --max-len 8 --batch 200 --steps 2 --seeds 1'
"$SYN" compare $bare --vary heads=1,2 --vary optimizer=adam,sgd -o vary --tsv >out 2>err
is '--vary' 'heads=1, optimizer=adam;heads=1, optimizer=sgd;heads=2, optimizer=adam;heads=2, optimizer=sgd;' \
  "$(sed 1d out | cut -f 1 | tr '\n' ';')"
"$SYN" train --data data.tsv --tokenizer char --d-model 16 --max-len 8 --batch 200 --steps 2 --heads 2 \
  --optimizer sgd --json -o n >log 2>err
same 'a row has its options' n vary/row4-seed1.safetensors
text() { "$SYN" info -m "$1.safetensors" | sed -n "s/^$2 //p" | head -n 1; } # MODEL SIDE
"$SYN" compare $one --kinds 'R+V; syn_att(FR, k=2); light_conv(k=3); cnn' -o kinds >out 2>err
is '--kinds: a mixture' 'pos->res_nd(syn_att(R+V))->norm' "$(text kinds/row1-seed1 encoder)"
is '--kinds: with arguments' 'pos->res_nd(syn_att(FR, k=2))->res_nd(mh_dot_att)->norm' "$(text kinds/row2-seed1 decoder)"
is '--kinds: a layer' 'pos->res_nd(light_conv(k=3))->norm' "$(text kinds/row3-seed1 encoder)"
is '--kinds: a layer, decoder' 'pos->res_nd(cnn)->res_nd(mh_dot_att)->norm' "$(text kinds/row4-seed1 decoder)"
"$SYN" compare $one --kinds linformer --where encoder -o where >out 2>err
is '--where' 'pos->res_nd(linformer)->norm pos->res_nd(syn_att(V))->res_nd(mh_dot_att)->norm' \
  "$(text where/row1-seed1 encoder) $(text where/row1-seed1 decoder)"
"$SYN" compare $one --encoder 'pos->res(syn_att($KIND, heads=1))->res($KIND)->res(syn_att(V))' --kinds D -o mark >out 2>err
is '$KIND' 'pos->res(syn_att(D, heads=1))->res(syn_att(D))->res(syn_att(V))' "$(text mark/row1-seed1 encoder)"
"$SYN" compare $one --kinds 'none: id; light: light_conv(k=3)' -o names --tsv >out 2>err
is '--kinds with names' 'none;light; pos->res_nd(light_conv(k=3))->norm' \
  "$(sed 1d out | cut -f 1 | tr '\n' ';') $(text names/row2-seed1 encoder)"
"$SYN" compare $bare --heads 2 --vary 'encoder=RNN, norm: pos->res_nd(rnn)->norm;
  of it: @rnmt' --var NUM_HIDDEN=16 -o named --tsv >out 2>err
is 'texts with names, on lines of their own' 'encoder=RNN, norm;encoder=of it; dropout->birnn->repeat(5,res_d(rnn))' \
  "$(sed 1d out | cut -f 1 | tr '\n' ';') $(text named/row2-seed1 encoder | tr -d ' ')"
"$SYN" compare $bare --heads 2 --vary 'encoder=@rnmt,pos->res(syn_att(R,heads=1))->norm' --vary lowercase=on,off \
  --kinds V --where decoder --var NUM_HIDDEN=16 -o preset --tsv >out 2>err
is 'a preset, a flag, commas in parentheses, all combinations' \
  'V, encoder=@rnmt, lowercase=on;V, encoder=@rnmt, lowercase=off;V, encoder=pos->res(syn_att(R,heads=1))->norm, lowercase=on;V, encoder=pos->res(syn_att(R,heads=1))->norm, lowercase=off;' \
  "$(sed 1d out | cut -f 1 | tr '\n' ';')"
is 'the text of the preset' 'dropout->birnn->repeat(5,res_d(rnn))' "$(text preset/row1-seed1 encoder | tr -d ' ')"
"$SYN" compare $one --lowercase --vary lowercase=on,off -o flag >out 2>err
cmp flag/row1-seed1.safetensors flag/row2-seed1.safetensors >out 2>&1
is 'a flag that is given and varies' 1 $?
"$SYN" compare --preset transformer --data data.tsv --test test.tsv --tokenizer char --heads 2 --max-len 8 --batch 200 \
  --steps 1 --seeds 1 --vary d-model=8,16 -o sizes --tsv >t 2>err
is 'an option of --preset may vary' '0 d-model=8;d-model=16;' "$? $(sed 1d t | cut -f 1 | tr '\n' ';')"
tab=$(printf '\t')
"$SYN" compare $bare --heads 2 --vary "encoder=pos->
  norm;pos$tab->norm" -o lines --tsv >t 2>err
is 'a name is one line without TABs' '0 encoder=pos->   norm;encoder=pos ->norm; 22' \
  "$? $(sed 1d t | cut -f 1 | tr '\n' ';') $(awk -F '\t' '{ print NF }' t | uniq | tr '\n' ' ' | sed 's/ $//')"
"$SYN" compare $one --kinds V,R --page inside/page.html -o inside >out 2>err
is 'the page in the folder of results' '0 1' "$? $(grep -c '<h1>' inside/page.html)"
# a rate that learns nothing is a result, one that diverges is none
"$SYN" compare --data data.tsv --test test.tsv --tokenizer char --d-model 16 --heads 2 --max-len 8 --batch 200 $chains \
  --steps 30 --warmup 0 --optimizer adam --seeds 1 --vary lr=0.01,1000,1e38 -o rates --tsv >t 2>err
is 'a failed run: status' 1 $?
is 'a failed run: the others' '1 1 0' "$(cut -f 3 t | sed 1d | tr '\n' ' ' | sed 's/ $//')"
has 'a failed run' '*syn: compare, lr=1e38, seed 1: *the run failed*syn: compare: 1 runs failed; *' "$(cat err)"
has 'one that has not learned' '*syn: compare, lr=1000, seed 1: the training has not learned: *lr=1000, seed 1: bleu*' \
  "$(cat err)"
has 'a message of all runs comes once' 1 "$("$SYN" compare $one --max-len 4 --kinds V,R -o short 2>&1 >out |
  grep -c 'syn: compare, [VR], seed 1: [0-9]* of 200 pairs of data.tsv do not fit --max-len 4')"
if [ -z "$QUICK" ]; then
  "$SYN" compare $run --steps 1000000 -o busy >out 2>err &
  process=$!
  while kill -0 $process 2>/dev/null && ! [ -s busy/row1-seed1.jsonl ]; do sleep 0.02; done
  refused 'two at a time' 1 'syn: busy/lock: another syn compare uses this folder' $run --steps 1000000 -o busy
  kill -TERM $process
  wait $process 2>/dev/null
fi

# each run starts from the model of its row and seed in another folder
more="--data data.tsv --test test.tsv --kinds V,R --seeds 2 --warmup 1 --steps 4 --batch 200"
"$SYN" compare $more --kinds V,D --init whole -o init >out 2>err
is '--init of a folder, other rows' '2 syn: compare --init whole wants the rows of that comparison, its --kinds is another one' \
  "$? $(cat err)"
"$SYN" compare $more --init whole $chains -o init >out 2>err
has '--init of a folder and a text' '2 syn: compare --init whole --kinds: each row has the network of its model there;*' "$? $(cat err)"
"$SYN" compare $more --init whole -o init >out 2>err
is '--init of a folder: status' 0 $?
"$SYN" train --data data.tsv --init whole/row2-seed2.safetensors --warmup 1 --steps 4 --batch 200 --seed 2 -o n --json \
  >log 2>err
same '--init of a folder: the model' n init/row2-seed2.safetensors

# -- other tasks --
if [ -z "$QUICK" ]; then
sed 's/.*	//' data.tsv >text
cut -f 1 test.tsv >test_text
awk -F '\t' '{ s = $1; gsub(/./, "& ", s); print (s ~ /d/ ? "has d" : "none") "\t" s }' data.tsv >class.tsv
awk -F '\t' '{ s = $1; gsub(/./, "& ", s); sub(/ $/, "", s); print s "\t" toupper(s) }' data.tsv >tag.tsv
tasks() { # TASK DATA TEST METRICS
  "$SYN" compare --task $1 --data $2 --test $3 --d-model 16 --heads 2 --max-len 8 --batch 200 --steps 20 --seeds 1 \
    --tokenizer $5 --kinds V,D --encoder 'pos->res(syn_att(V))->norm' --decoder 'pos->res(syn_att(V))->norm' \
    --metric $4 -o "of_$1" --tsv >out 2>err
  is "$1" 0 $?
  "$SYN" eval -m "of_$1/row2-seed1.safetensors" --data $3 --metric $4 >wanted
  for metric in $(echo $4 | tr , ' '); do
    echo "$metric $(cell out D $metric mean)"
  done | awk '{ printf "%s " ($1 ~ /nats|ppl/ ? "%.4f" : "%.2f") "\n", $1, $2 }' >got
  is "$1: values of eval" "$(cat wanted)" "$(cat got)"
  is "$1: tested" yes "$([ -n "$(cell out D ${4%%,*} bootstrap_p)" ] && echo yes)"
}
tasks lm text test_text nats,ppl,nats_char char
tasks classify class.tsv class.tsv accuracy,f1,mcc,nats space
tasks tag tag.tsv tag.tsv accuracy,f1,exact,nats space
fi

# -- tools/results: the networks of each table build, only the data are missing --
SYN=$SYN sh "$here/../tools/results" nowhere tables >out 2>err
is 'results: status' 1 $?
is 'results: no other complaint' '' "$(grep '^syn: ' err | grep -v -e 'cannot open nowhere/' -e 'beside --init')"
mkdir -p small/trec
for half in train test; do awk 'BEGIN { for (i = 0; i < 40; i++) print i % 2 "\t" (i % 2 ? "a b" : "c") }' >small/trec/$half.tsv; done
SYN=$SYN MORE='--steps 2 --warmup 1 --seeds 2 --d-model 8 --tokenizer space' sh "$here/../tools/results" small tables trec 2>err
is 'results: a table with its command, a row a kind, two runs each' '0 1 6' \
  "$? $(grep -c '^syn compare' tables/trec.md) $(grep -c '^| [VRFD+]* | 2 | [0-9.]* | [0-9.]* | [0-9.]* [0-9.]* | [0-9]* | 2 |$' tables/trec.md)"
sh "$here/../tools/results" -n nowhere nowhere core | sed -n '/^syn compare/{s/WIDTH/99/g;s/=RATE /=0.1 /p;}' >commands
while IFS= read -r line; do eval "$(echo "$line" | sed 's/^syn/"$SYN"/')"; done <commands >out 2>err
is 'results, five seeds: rows' '95 95' "$(wc -l <commands | tr -d ' ') $(wc -l <err | tr -d ' ')"
is 'results, five seeds: no other complaint' '' "$(grep -v 'cannot open nowhere/' err)"

if [ -x /bin/bash ]; then
  ln -sf /bin/bash sh
  is 'results: another shell' "$(sh "$here/../tools/results" -n data folder)" "$(./sh "$here/../tools/results" -n data folder)"
fi
sh "$here/../tools/results" -n 'my data' folder >out 2>err
is 'results: blanks' '2 results: no blanks are wanted in DATA and FOLDER, given: my data, folder' "$? $(cat err)"

# -- refused --
refused 'a tokenizer that train refuses' 2 'syn: compare, row V: tokenizer: "foo" given, *' $one --tokenizer foo --kinds V -o first
"$SYN" compare $one --kinds V -o first >out 2>err
is 'the folder of a refused first run is free' 0 $?
refused 'standard input' 2 'syn: compare wants files, *given: - (standard input)' $one --valid - --kinds V -o input
refused 'nothing varies' 2 'syn: compare wants --kinds A,B,... or --vary OPTION=A,B,...' $one -o no
refused 'no test' 2 'syn: compare wants --test, or --test-src and --test-tgt' --data data.tsv --kinds V,R -o no
refused 'no such option' 2 'syn: compare has no option --kind; the nearest is --kinds *' $one --kind V -o no
refused 'no such option varies' 2 'syn: compare --vary headz: train has no such option; the nearest is heads' \
  $one --vary headz=1 -o no
refused 'an option of its own varies' 2 'syn: compare --vary seed: compare itself sets --seed' $one --vary seed=1 -o no
refused 'a value that train refuses' 2 'syn: compare --vary steps wants values *, given: x' \
  --data data.tsv --test test.tsv --vary steps=x -o no
refused 'an empty value' 2 'syn: compare --kinds wants values with commas between, one is empty' $one --kinds V, -o no
refused 'no such kind' 2 "syn: compare, row Q: encoder line 1 column 13: syn_att: no kind 'Q'; *" $one --kinds V,Q -o no
refused 'not in a decoder' 2 'syn: compare, row linformer: decoder *' $one --kinds linformer -o no
refused 'nothing to replace' 2 'syn: compare --kinds found nothing to replace: *' $one --encoder 'pos->res(rnn)' \
  --where encoder --kinds V -o no
refused 'no such metric' 2 'syn: no metric blue; the nearest is bleu, *' $one --kinds V --metric blue -o no
refused 'a metric of outputs for lm' 2 'syn: compare of lm has ppl, nats and nats_char, given: bleu' \
  --task lm --data data.tsv --test test.tsv --kinds V --metric bleu -o no
refused 'two tasks' 2 'syn: compare: the rows task=lm and task=seq2seq are of different tasks*' \
  --data data.tsv --test test.tsv --vary task=lm,seq2seq -o no
refused 'a rule of train' 2 'syn: adam has no --weight-decay, adamw has; given: 1' $one --optimizer adam --weight-decay 1 --kinds V -o no
is 'nothing was begun' no "$([ -e no ] && echo yes || echo no)"
refused 'another command' 2 'syn: compare: the runs in whole have --kinds "V,R", now given: "V,D"; --folder DIR *' \
  $run --kinds V,D -o whole
refused 'another option' 2 'syn: compare: the runs in whole have --lr "0.01", now given: "0.02"; *' $run --lr 0.02 -o whole
sed -i.all '/^board	/d; /^latency-ms	/d' whole/command
"$SYN" compare $run --tsv -o whole >again.tsv 2>err
is 'a folder of a syn without some options' '0 4 of 4 runs were finished before' "$? $(sed 's/^syn: //' err)"
refused 'one of these options given' 2 'syn: compare: the runs in whole have --latency-ms "0", now given: "5"; *' \
  $run --latency-ms 5 -o whole
echo 'later	"1"' >>whole/command
refused 'an option of a later syn' 2 'syn: compare: the runs in whole have --later, which this syn does not know; *' $run -o whole
for size in 0 9; do
  head -c $size whole/command.all >whole/command
  refused "the first $size bytes of the command" 1 "syn: whole/command: $size bytes without an end of the last line, *" $run -o whole
done
mv whole/command.all whole/command
cp data.tsv first.tsv
cp data.tsv second.tsv
files="--test test.tsv $small $chains --steps 2 --seeds 1 --vary data=first.tsv,second.tsv -o files"
"$SYN" compare $files >out 2>err
is 'files that vary' 0 $?
echo 'a	a' >>second.tsv
refused 'a file that varies was changed' 2 'syn: compare: the runs in files have --vary "data=first.tsv,second.tsv" of the bytes *' \
  $files
echo 'a	a' >>data.tsv
refused 'another text' 2 'syn: compare: the runs in whole have --data "data.tsv" of the bytes *' $run -o whole

echo "compare: $checks checks, $failed failed"
[ "$failed" = 0 ]
