#!/bin/sh
# checkpoints.sh SYN FOLDER   imports the published and made-up checkpoints of a folder, which is no part of this
# project, and compares them with the answers that lie beside them. Without FOLDER it is skipped.
here=$(cd "$(dirname "$0")" && pwd)
syn=$1 data=$2 bad=0
[ -d "$data/hf" ] || { echo "needs DATA, a folder of checkpoints"; exit 77; }
model=$(mktemp)
trap 'rm -f "$model"' EXIT

checked() { # checked NAME ANSWERS PATH OPTION...
  name=$1 answers=$2
  shift 2
  out=$("$syn" import "$@" -o "$model" --check "$answers" 2>&1) || bad=1
  echo "$name: $(echo "$out" | tail -n 1)"
}
for folder in "$data"/hf/*; do checked "$(basename "$folder")" "$folder/expected.json" "$folder"; done
for answers in expected_greedy120.jsonl expected_logits_once.txt; do
  checked "stories260K $answers" "$data/llama2c/$answers" "$data/llama2c/stories260K.bin" \
    --tokenizer "$data/llama2c/tok512.bin"
done
for folder in "$data"/ctranslate2/aren*; do
  checked "$(basename "$folder")" "$data/ctranslate2/expected.jsonl" "$folder"
done
checked g2p_en "$data/g2p_en/expected.jsonl" "$data/g2p_en/checkpoint20.npz" --map "$here/g2p_en.map" --d-model 256 \
  --tie none --encoder 'rnn(cell=gru)' --decoder 'rnn(cell=gru, state=source)'
exit $bad
