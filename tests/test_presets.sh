#!/bin/sh
# Every network of `syn presets` is trained for 20 updates, at width 12 and with few hidden units; convs2s learns a toy.
# Ends with "presets: N checks, N failed"; exit 1 when any failed. QUICK: every fifth network.

. "$(dirname "$0")/checks.sh"
need_syn

words abcde 1 12 >pairs
cut -f 1 pairs >text
awk '{ print (NR % 2 ? "a" : "b") "\t" $1 }' pairs >classes
"$SYN" presets --json >list
field() { sed -n "${2}s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" list; }
small() { sed 's/([124]0[249][468])/(24)/; s/,1536,64,64/,24,4,4/; s/,512,64,64/,24,4,4/; s/c=128/c=4/'; }

count=$(wc -l <list)
row=1
while [ "$row" -le "$count" ]; do
  name=$(field preset $row) task=$(field task $row) encoder=$(field encoder $row | small) decoder=$(field decoder $row | small)
  data=pairs
  [ "$task" != lm ] || data=text
  [ "$task" != classify ] || data=classes
  "$SYN" train --preset "$name" ${encoder:+--encoder "$encoder"} ${decoder:+--decoder "$decoder"} --data $data \
    --tokenizer char --d-model 12 --heads 2 --max-len 8 --var NUM_HIDDEN=12 --var FF_NUM_HIDDEN=24 --batch 24 --steps 20 \
    --warmup 2 --lr 0.003 -o m --json >log 2>err
  has "$name" '0 {"step":20,"loss":[0-9]*' "$? $(tail -n 1 log)$(cat err)"
  is "$name: says what it is" '' "$(sed -n "${row}p" list | grep -v '"source":".*20[12][0-9].*","what":"..*"')"
  row=$((row + ${QUICK:+4} + 1))
done

# How many networks of each table are listed. Domhan's tables share rows: each row is counted in the first of its tables.
while IFS=: read -r table rows; do
  is "networks of $table" "$rows" "$(grep -c "\"source\":\"$table" list)"
done <<EOF
Vaswani et al. 2017, table 3:14
Vaswani et al. 2017, table 4:1
Vaswani et al. 2017, appendix:2
Domhan 2018, tables 2:1
Domhan 2018, table 2:2
Domhan 2018, tables* 3:9
Domhan 2018, tables* 4:9
Domhan 2018, table 5:6
Domhan 2018, encoders:2
Tay et al. 2020, further kinds:7
Tay et al. 2021, translation:8
Tay et al. 2021, heads:4
Tay et al. 2021, dialogue:5
Tay et al. 2021, language model:9
Tay et al. 2021, encoders:4
Tay et al. 2021, C4:6
EOF

# Without a norm and with s=1 the scores depend on the size of the input: ConvS2S learns from learned positions.
loss() {
  "$SYN" train --preset "$1" --data pairs --tokenizer char --d-model 24 --heads 2 --max-len 8 --batch 100 --steps 40 \
    --warmup 10 -o m --json 2>err | sed -n '$s/.*"loss":\([0-9.]*\).*/\1/p'
}
convolutions=$(loss convs2s) transformer=$(loss transformer)
is 'convs2s learns as the Transformer does' yes "$(awk -v a="$convolutions" -v b="$transformer" 'BEGIN {
  print (a < b + 0.2 && a < 2 ? "yes" : a " against " b) }')"

echo "presets: $checks checks, $failed failed"
[ "$failed" = 0 ]
