# tool_data.sh   what test_tool.sh and test_training.sh share, read behind checks.sh: data, options, calls of the tool.

# refused NAME STATUS PATTERN ARGUMENT...: that exit status, nothing on stdout, one line on stderr
refused() {
  name=$1 status=$2 pattern=$3
  shift 3
  "$SYN" "$@" >out 2>err </dev/null
  is "$name: status" "$status" "$?"
  is "$name: stdout" "" "$(cat out)"
  is "$name: lines" 1 "$(wc -l <err | tr -d ' ')"
  has "$name" "$pattern" "$(cat err)"
}
train() { "$SYN" train "$@"; }

# -- data: words of a to e, to be reversed --
words abcde 1 300 >data.tsv
words abcde 2 40 >valid.tsv
cut -f 1 valid.tsv >lines
brief=$QUICK$SHORT
steps=100 epochs=6 gap=40 patience=30 rounds='1 2 3' # rounds by their numbers
[ -z "$brief" ] || steps=30 epochs=3 gap=20 patience=12 rounds=2
short= # a run of few steps learns more at a constant rate
[ -z "$brief" ] || short=' --schedule constant'
small="--tokenizer char --d-model 16 --heads 2 --max-len 9 --batch 200 --warmup 20 --lr 0.01$short"
net="--data data.tsv --valid valid.tsv $small"
one_encoder='--encoder pos->res_nd(syn_att(R+V))->res_nd(ffl)->norm'
one_layer="$one_encoder --decoder pos->res_nd(syn_att(R+V))->res_nd(mh_dot_att)->res_nd(ffl)->norm"
[ -z "$brief" ] || net="$net $one_layer --batch 100"
