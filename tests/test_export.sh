#!/bin/sh
# The command-line tool: `syn export` writes what `syn import` reads, bit for bit; what it refuses. A file
# of GGUF is read by a program of its own, too (tiny_checkpoints.py), which computes its logits.
# Run from anywhere: sh tests/test_export.sh    CC names the compiler, SYN a tool already built.
# Ends with "export: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
command -v python3 >/dev/null || {
  echo "needs python3"
  exit 77
}
python3 "$here/tiny_checkpoints.py" made

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
    is "$name, tokenizer $tokens: its file" $tokens "$([ -f one/tokenizer.json ] && echo own || echo none)"
    "$SYN" import one -o b.safetensors --check made/$name/expected.json >out
    [ $tokens = none ] || is "$name: answers" '8 passed, 0 failed' "$(tail -1 out)"
    same "$name, tokenizer $tokens: import, export, import" a.safetensors b.safetensors
    "$SYN" export -m b.safetensors -o two 2>/dev/null
    same "$name, tokenizer $tokens: weights" one/model.safetensors two/model.safetensors
    same "$name, tokenizer $tokens: configuration" one/config.json two/config.json
  done
done

# networks with an encoder
for name in bert roberta albert marian t5-v1_0 t5-v1_1; do
  rm -rf one two
  "$SYN" import made/$name -o a.safetensors >/dev/null
  "$SYN" export -m a.safetensors -o one
  is "$name: export" 0 $?
  "$SYN" import one -o b.safetensors >/dev/null
  same "$name: import, export, import" a.safetensors b.safetensors
  "$SYN" export -m b.safetensors -o two
  same "$name: weights" one/model.safetensors two/model.safetensors
  same "$name: configuration" one/config.json two/config.json
done
"$SYN" import one -o b.safetensors --check made/t5-v1_1/expected.json >out
is 't5: answers' '6 passed, 0 failed' "$(tail -1 out)"

# GGUF. gguf NAME FILE WANTED [TOKENIZER]: the checkpoint FILE as GGUF; what Python finds in it; the import of it is exported to the same bytes
gguf() {
  "$SYN" import "$2" -o a.safetensors ${4:+--tokenizer "$4"} >/dev/null
  "$SYN" export -m a.safetensors --format gguf -o a.gguf 2>err
  is "gguf, $1: export" 0 $?
  is "gguf, $1: by Python" "$3" "$(python3 "$here/tiny_checkpoints.py" --gguf a.gguf made/"$1"/expected.json 2>&1 | tail -1)"
  "$SYN" import a.gguf -o b.safetensors --check made/"$1"/expected.json >out
  has "gguf, $1: answers" '[1-9]* passed, 0 failed' "$(tail -1 out)"
  "$SYN" export -m b.safetensors --format gguf -o b.gguf 2>err
  same "gguf, $1: the same file again" a.gguf b.gguf
}
# of_texts NAME: both models read texts as the same tokens
of_texts() {
  printf 'abcab ad\n  cab aab \n\naxb\n' >text
  for m in a b; do "$SYN" tokenize -m $m.safetensors --ids text >ids.$m 2>err; done
  same "gguf, $1: tokens" ids.a ids.b
}
gpt2_tokenizer() {
  mkdir -p "$1"
  printf '{"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "<|endoftext|>": 5, "ab": 6, "abc": 7, "\304\240": 8, "\304\240a": 9,
"x": 10, "f": 11, "g": 12, "h": 13, "i": 14, "j": 15, "k": 16, "l": 17, "\304\212": 18}' >"$1/vocab.json"
  printf '#version: 0.2\na b\nab c\n\304\240 a\n' >"$1/merges.txt"
}
gpt2_tokenizer merges
tokenizer made/llama
gguf llama made/llama 'llama F32 t5 default logits equal'
of_texts llama
tokenizer made/qwen2
gguf qwen2 made/qwen2 'qwen2 F32 t5 default logits equal'
same 'gguf, qwen2: model' a.safetensors b.safetensors
gguf gpt2 made/gpt2 'gpt2 F16 F32 gpt2 gpt-2 logits equal' merges
of_texts gpt2
gguf gpt2-untied made/gpt2-untied 'gpt2 F32 gpt2 gpt-2 logits equal' merges
gguf llama2c-0 made/llama2c-0/model.bin 'llama F32 no_vocab None logits equal'
same 'gguf, llama2c-0: model' a.safetensors b.safetensors
gguf gguf-q8_0 made/gguf-q8_0/model.gguf 'llama F32 llama default logits equal'
of_texts gguf-q8_0
same 'gguf, gguf-q8_0: model' a.safetensors b.safetensors
gguf gguf-gemma made/gguf-gemma/model.gguf 'gemma F32 llama default logits equal'
same 'gguf, gguf-gemma: model' a.safetensors b.safetensors
gguf gemma made/gemma 'gemma F32 no_vocab None logits equal'
for pre in llama-bpe qwen2 smollm; do
  gguf gguf-$pre made/gguf-$pre/model.gguf "llama F32 gpt2 $pre logits equal"
  of_texts gguf-$pre
  same "gguf, gguf-$pre: model" a.safetensors b.safetensors
  rm -rf one
  "$SYN" export -m a.safetensors -o one
  "$SYN" import one -o b.safetensors --check made/gguf-$pre/expected.json >out
  is "gguf-$pre, as a folder: answers" '5 passed, 0 failed' "$(tail -1 out)"
  of_texts "gguf-$pre, as a folder"
done

# tokenizers. back NAME TOKENIZER [FILE [TEST]]: the checkpoint of gpt2 with it, to a folder and back
back() {
  "$SYN" import made/"${4:-gpt2}" --tokenizer "$2" -o a.safetensors >/dev/null
  rm -rf one two
  "$SYN" export -m a.safetensors -o one 2>err
  is "tokenizer $1: export" 0 $?
  is "tokenizer $1: file" "${3:-tokenizer.json}" "$(cd one && ls tokenizer.json tokenizer.model 2>/dev/null)"
  "$SYN" import one -o b.safetensors >/dev/null
  same "tokenizer $1: model" a.safetensors b.safetensors
  python3 -c 'import json; json.load(open("one/tokenizer_config.json"))
for name in ("one/tokenizer.json",): json.load(open(name))' 2>err || [ "${3:-}" ]
  is "tokenizer $1: JSON" 0 $?
}
back gpt2 merges
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\nend\nA\n' >vocab.txt
back wordpiece vocab.txt
sed 's/^A$/a/' vocab.txt >lower.txt
back 'wordpiece in lower case' lower.txt
python3 - <<'end'
import json
names = ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "ab", "\u2581ab", "\"", "<0x0A>"]
special = [{"id": i, "content": names[i], "special": True} for i in range(3)]
spaces = [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]
merges = {"type": "BPE", "byte_fallback": True, "unk_token": "<unk>", "vocab": {n: i for i, n in enumerate(names)},
          "merges": [["a", "b"], ["\u2581", "ab"]]}
scores = {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": [[n, -0.1 * i if i > 2 else 0] for i, n in enumerate(names)]}
def write(name, model, normalizers, added=special, pre=None):
    with open(name, "w") as f:
        json.dump({"model": model, "normalizer": {"type": "Sequence", "normalizers": normalizers}, "added_tokens": added,
                   "pre_tokenizer": pre}, f)
write("merges.json", merges, spaces)
write("unigram.json", scores, [{"type": "Strip", "strip_left": True, "strip_right": True}] + spaces)
byte = dict(merges, byte_fallback=False, vocab={"a": 0, "b": 1, "ab": 2, "<|begin_of_text|>": 3, "<|end_of_text|>": 4}, merges=[["a", "b"]])
added = [{"id": 3 + i, "content": n, "special": True} for i, n in enumerate(("<|begin_of_text|>", "<|end_of_text|>"))]
last = {"type": "ByteLevel", "add_prefix_space": False}
head = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
tail = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
for name, first in (("llama3", {"type": "Split", "pattern": {"Regex": head + "{1,3}" + tail}}),
                    ("qwen2", {"type": "Split", "pattern": {"Regex": head + tail}}),
                    ("digits", {"type": "Digits", "individual_digits": True})):
    write(name + ".json", dict(byte, ignore_merges=name == "llama3"), [{"type": "NFC"}] * (name == "qwen2"), added,
          {"type": "Sequence", "pretokenizers": [first, dict(last, use_regex=name == "digits")]})
added.append({"id": 5, "content": "<t x>", "special": False})
write("user.json", byte, [], added, last)
end
for name in merges unigram llama3 qwen2 digits user; do back $name $name.json; done
around() { python3 -c 'import json; print(*(x.get("SpecialToken", x.get("Sequence"))["id"]
for x in json.load(open("one/tokenizer.json"))["post_processor"]["single"]))'; }
"$SYN" export -m a.safetensors --format gguf -o a.gguf
"$SYN" import a.gguf -o b.safetensors >/dev/null
is 'around texts of a language model' '<|begin_of_text|> A' "$(around)"
back 'wordpiece of bert' vocab.txt tokenizer.json bert
is 'around texts of bert' '[CLS] A [SEP]' "$(around)"
back 'unigram of t5' unigram.json tokenizer.json t5-v1_1
is 'around texts of t5' 'A </s>' "$(around)"
"$SYN" import a.gguf -o b.safetensors >/dev/null
is 'a token that cuts a text, in GGUF' 'ab <t x> a' "$(echo 'ab<t x>a' | "$SYN" tokenize -m b.safetensors | tr '\t' ' ')"
"$SYN" import made/gpt2 --tokenizer merges.json -o m.safetensors >/dev/null
"$SYN" export -m m.safetensors --format gguf -o no.gguf 2>err
has 'merges of llama in GGUF' '*GGUF wants scores*' "$(cat err)"

# SentencePiece's model file: llama by scores
"$SYN" import made/gguf-q8_0/model.gguf -o a.safetensors >/dev/null
rm -rf one two
"$SYN" export -m a.safetensors -o one
is 'llama by scores: file' tokenizer.model "$(cd one && ls tokenizer.json tokenizer.model 2>/dev/null)"
"$SYN" import one -o b.safetensors --check made/gguf-q8_0/expected.json >out
is 'llama by scores: answers' '5 passed, 0 failed' "$(tail -1 out)"
"$SYN" export -m b.safetensors -o two
same 'llama by scores: the same file again' one/tokenizer.model two/tokenizer.model
for m in a b; do "$SYN" tokenize -m $m.safetensors --ids text >ids.$m 2>err; done
same 'llama by scores: tokens' ids.a ids.b

# a model that was trained here, with its own tokenizer
printf 'the cat sat on the mat\nthe dog sat on the log\nthe cat ran\n' >text
llama='rope(base=10000, layout=half) -> repeat(1, res(rms_norm(eps=1e-05) -> syn_att(V, c=4, bias=0, kv=1)) -> res(rms_norm(eps=1e-05) -> ffl(12, swiglu, bias=0))) -> rms_norm(eps=1e-05)'
"$SYN" train --task lm --data text --steps 2 --warmup 1 --max-len 8 --tokenizer unigram:30 --freeze out.b -o a.safetensors \
  --d-model 8 --heads 2 --decoder "$llama" >/dev/null 2>&1
rm -rf one two
"$SYN" export -m a.safetensors -o one
is 'trained here: export' 0 $?
"$SYN" import one -o b.safetensors >/dev/null
"$SYN" export -m b.safetensors -o two
"$SYN" export -m a.safetensors --format gguf -o c.gguf
"$SYN" import c.gguf -o c.safetensors >/dev/null
for file in model.safetensors config.json tokenizer.json tokenizer_config.json; do
  same "trained here: $file" one/$file two/$file
done
for m in a b c; do
  "$SYN" tokenize -m $m.safetensors --ids text >ids.$m
  printf 'the cat\nthe d\n' | "$SYN" run -m $m.safetensors >out.$m
done
for m in b c; do
  same "trained here, $m: tokens" ids.a ids.$m
  same "trained here, $m: answers" out.a out.$m
done

# hf and gguf have rotated columns in another order
"$SYN" import made/llama2c-0/model.bin -o a.safetensors >/dev/null
rm -rf one
"$SYN" export -m a.safetensors -o one 2>/dev/null
"$SYN" import one -o b.safetensors --check made/llama2c-0/expected.json >out
is 'neighbouring columns as halves: answers' '8 passed, 0 failed' "$(tail -1 out)"
"$SYN" export -m b.safetensors --format gguf -o b.gguf
"$SYN" import b.gguf -o c.safetensors --check made/llama2c-0/expected.json >out
is 'and back: answers' '8 passed, 0 failed' "$(tail -1 out)"

# refused NAME PATTERN: status 1, one line that names what the format cannot hold, no folder
refused() {
  rm -rf no
  "$SYN" export -m m.safetensors -o no --format "${3:-hf}" >out 2>err
  is "$1: status" 1 $?
  is "$1: lines" 1 "$(wc -l <err | tr -d ' ')"
  has "$1" "$2" "$(cat err)"
  is "$1: no folder" 0 "$(ls -d no 2>/dev/null | wc -l | tr -d ' ')"
}
"$SYN" import made/mistral -o m.safetensors >/dev/null
refused 'a window in GGUF' "*window=: GGUF's llama, qwen2 and gemma have none*" gguf
"$SYN" import made/t5-v1_0 -o m.safetensors >/dev/null
refused 'an encoder in GGUF' '*the network has an encoder*export to GGUF writes gpt2, llama, qwen2 and gemma*' gguf
other() { # other TASK OPTION...: a small model of a task
  task=$1
  shift
  printf 'a b\tb a\nb c\tc b\n' >pairs
  [ "$task" = seq2seq ] || printf 'abc\nbca\n' >pairs
  "$SYN" train --task "$task" --data pairs --steps 1 --warmup 1 --max-len 8 --tokenizer char -o m.safetensors --d-model 8 \
    --heads 2 "$@" >out 2>&1 || cat out
}
"$SYN" import made/gemma -o m.safetensors >/dev/null
refused 'gemma as a folder' "*'scale(2.82842712) -> *the format cannot hold this*"
gemma() { # gemma FF: the text of gemma with that gated layer
  echo "scale(2.82842712) -> rope(base=10000, layout=half) -> repeat(1, res(rms_norm(eps=1e-05) -> syn_att(V, c=4, bias=0, kv=1))
-> res(rms_norm(eps=1e-05) -> ffl(12, $1, bias=0))) -> rms_norm(eps=1e-05)"
}
other lm --tie out --decoder "$(gemma swiglu)"
refused 'swiglu of gemma in GGUF' '*scale without geglu*have none*' gguf
other lm --tie none --decoder "$(gemma geglu)"
refused 'another output of gemma in GGUF' '*scale with an output of its own*have none*' gguf
other lm --tie out --decoder "$(gemma geglu | sed 's/^scale([0-9.]*) -> //')"
refused 'geglu in GGUF' '*geglu without scale*have none*' gguf
block='repeat(1, res(syn_att(V, bias=1)) -> norm(eps=1e-05) -> res(ffl(12, relu)) -> norm(eps=1e-05))'
other mlm --encoder "learn_pos -> types(2) -> norm(eps=1e-05) -> $block -> ff(act=relu) -> norm(eps=1e-05)" --tie none
refused 'a table of its own for the output' '*tie none: bert wants all*'
other mlm --encoder "learn_pos -> types(2) -> norm(eps=1e-05) -> $block" --tie all
refused 'no head' '*encoder: *the format cannot hold this; wanted: *'
other seq2seq --encoder "pos -> $block" --decoder 'pos -> repeat(1, res(syn_att(V)) -> res(mh_dot_att))' --tie all
refused 'another encoder' "*encoder: 'pos -> *the format cannot hold this; wanted: pos(layout=half)*"
printf 'x\ta b\ny\tb a\n' >pairs
"$SYN" train --task classify --data pairs --steps 1 --warmup 1 --max-len 8 --tokenizer char -o m.safetensors --d-model 8 \
  --heads 2 --encoder 'pos -> syn_att(V)' >/dev/null 2>&1
refused 'classes' '*the task classify: export writes such ones of mlm (bert, albert) and seq2seq (t5, marian)*'
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
