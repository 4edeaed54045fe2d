#!/bin/sh
# The command-line tool: `syn export` writes what `syn import` reads, bit for bit; what it refuses.
# Run from anywhere: sh tests/test_export.sh    CC names the compiler, SYN a tool already built.
# Ends with "export: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
command -v python3 >/dev/null || {
  echo "needs python3"
  exit 77
}
python3 "$(dirname "$0")/tiny_checkpoints.py" made

# a tokenizer beside a checkpoint keeps the numbers of its tokens, so that the exported one gives the answers
tokenizer() {
  awk 'BEGIN {
    printf "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"<s>\", 0], [\"</s>\", 0]"
    for (i = 3; i < 19; i++) printf ", [\"%c\", -%d]", 94 + i, i
    print "]}, \"pre_tokenizer\": {\"type\": \"Metaspace\"}, \"added_tokens\": [{\"id\": 1, \"content\": \"<s>\","
    print "\"special\": true}, {\"id\": 2, \"content\": \"</s>\", \"special\": true}]}"
  }' >"$1/tokenizer.json"
}
for name in llama mistral qwen2 gpt2 gpt2-untied; do
  for tokens in none own; do
    rm -rf one two
    [ $tokens = none ] || case $name in gpt2*) continue ;; *) tokenizer made/$name ;; esac
    "$SYN" import made/$name -o a.safetensors >/dev/null
    "$SYN" export -m a.safetensors -o one 2>/dev/null
    is "$name, tokenizer $tokens: export" 0 $?
    [ $tokens = none ] || tokenizer one
    "$SYN" import one -o b.safetensors --check made/$name/expected.json >out
    [ $tokens = none ] || is "$name: answers" '8 passed, 0 failed' "$(tail -1 out)"
    same "$name, tokenizer $tokens: import, export, import" a.safetensors b.safetensors
    "$SYN" export -m b.safetensors -o two 2>/dev/null
    same "$name, tokenizer $tokens: weights" one/model.safetensors two/model.safetensors
    same "$name, tokenizer $tokens: configuration" one/config.json two/config.json
  done
done

# refused NAME PATTERN: status 1, one line that names what the format cannot hold, no folder
refused() {
  rm -rf no
  "$SYN" export -m m.safetensors -o no >out 2>err
  is "$1: status" 1 $?
  is "$1: lines" 1 "$(wc -l <err | tr -d ' ')"
  has "$1" "$2" "$(cat err)"
  is "$1: no folder" 0 "$(ls -d no 2>/dev/null | wc -l | tr -d ' ')"
}
"$SYN" import made/llama2c-0 -o m.safetensors >/dev/null
refused 'neighbouring columns rotated' "*'rope(base=10000, layout=pair)*the format cannot hold this*"
"$SYN" import made/t5-v1_0 -o m.safetensors >/dev/null
refused 'an encoder' '*the network has an encoder*'
printf 'a b c d e f g\n' >text
"$SYN" train --task lm --data text --steps 2 --warmup 1 --max-len 8 --tokenizer char -o m.safetensors --d-model 8 --heads 2 --decoder \
  'rope(base=10000, layout=half) -> repeat(1, res(rms_norm(eps=1e-05) -> syn_att(V, c=4, bias=0, kv=1)) -> res(syn_att(R))) -> rms_norm(eps=1e-05)' \
  >/dev/null 2>&1
refused 'another layer' "*'syn_att(R)*the format cannot hold this*"
"$SYN" train --task lm --data text --steps 2 --warmup 1 --max-len 8 --tokenizer char -o m.safetensors --d-model 8 --heads 2 --decoder \
  'rope(base=10000, layout=half) -> repeat(1, res(rms_norm(eps=1e-05) -> syn_att(V, c=4, bias=0, kv=1)) -> res(rms_norm(eps=1e-05) -> ffl(12, swiglu, bias=0))) -> rms_norm(eps=1e-05)' \
  >/dev/null 2>&1
refused 'a bias of the output' '*out.b: the bias of token *'

echo "export: $checks checks, $failed failed"
[ "$failed" = 0 ]
