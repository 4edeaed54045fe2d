#!/bin/sh
# The command-line tool: `syn import` on checkpoints of other programs, tiny and random, written with
# their answers by tiny_checkpoints.py; what it refuses.
# Run from anywhere: sh tests/test_import.sh    CC names the compiler, SYN a tool already built.
# Ends with "import: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
command -v python3 >/dev/null || {
  echo "needs python3"
  exit 77
}
python3 "$here/tiny_checkpoints.py" made

# answers NAME CHECKS: the model of that checkpoint gives the answers, and is a model file
answers() {
  path=made/$1
  [ ! -f "$path/model.gguf" ] || path=$path/model.gguf
  is "$1" "$2 passed, 0 failed" "$("$SYN" import "$path" -o m.safetensors --check "made/$1/expected.json" | tail -1)"
  is "$1: a model file" 0 "$("$SYN" info -m m.safetensors >info 2>&1; echo $?)"
}
answers gpt2 8
answers gpt2-untied 8
answers llama 8
answers mistral 8
answers qwen2 8
answers gemma 8
answers gpt2-f64 8
answers t5-v1_0 6
answers t5-v1_1 6
answers marian 6
answers marian-forced 6
answers bert 10
has 'bert: a masked language model with one table' '*task mlm*tie all*' "$(cat info)"
answers roberta 8
has 'roberta: the same' '*task mlm*tie all*' "$(cat info)"
answers albert 8
# vectors of lines: the tokens stand between [CLS] and [SEP], and what predicts hidden tokens is left out
printf '[PAD]\n[CLS]\n[SEP]\n[UNK]\n[MASK]\n' >vocab.txt
for letter in a b c d e f g h i j k l m n; do echo $letter; done >>vocab.txt
for name in bert roberta albert; do
  "$SYN" import made/$name --tokenizer vocab.txt -o m.safetensors >/dev/null
  python3 - made/$name/expected.json >line <<'end'
import json, sys
print(*(chr(92 + i) for i in json.load(open(sys.argv[1]))["inputs"][0]["ids"][1:-1]))
end
  is "$name: a hidden token" 0 "$(echo 'a [MASK] b' | "$SYN" run -m m.safetensors | grep -c 'MASK\|UNK')"
  for rows in mean first; do
    "$SYN" run -m m.safetensors --vectors $rows line >out
    is "$name: vector, $rows" equal "$(python3 - made/$name/expected.json out $rows <<'end'
import json, sys
wanted = json.load(open(sys.argv[1]))["inputs"][0]["mean_pooled" if sys.argv[3] == "mean" else "last_hidden_first_row"]
got = [float(x) for x in open(sys.argv[2]).read().split()]
print("equal" if len(got) == len(wanted) and max(abs(a - b) for a, b in zip(got, wanted)) < 1e-5 else got)
end
)"
  done
done
# the tokenizer of roberta: the space before a hidden token belongs to it, that behind it to the next word
echo '{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE", "merges": [],
  "vocab": {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "a": 5, "b": 6, "Ġ": 7}}, "added_tokens": [
  {"id": 0, "content": "<pad>", "special": true}, {"id": 1, "content": "<s>", "special": true},
  {"id": 2, "content": "</s>", "special": true}, {"id": 4, "content": "<mask>", "special": true}]}' >bytes.json
"$SYN" import made/roberta --tokenizer bytes.json -o r.safetensors >/dev/null
out=$(echo 'a <mask> b' | "$SYN" run -m r.safetensors)
has 'roberta: spaces beside a hidden token' 'a* b' "$out"
is 'roberta: one token is filled in' 1 "$(echo "$out" | grep -c '^a[ab ]* b$')"
yes 'a b c d e f g h' | head -40 >lines
"$SYN" train --task mlm --init m.safetensors --data lines --steps 60 --lr 0.01 --batch 400 -o trained.safetensors 2>err
is 'training on: status' 0 $?
is 'training on: hidden tokens' 'h' "$(echo 'a b c d e f g [MASK]' | "$SYN" run -m trained.safetensors | awk '{ print $8 }')"
# llama2.c in three versions, CTranslate2 in two: model.bin
answers llama2c-0 8
answers llama2c-1 8
answers llama2c-2 8
answers ct2-2 6
answers ct2-6 6
cp -r made/ct2-6 made/ct2-json
sed 's/.*/"&"/; 1s/^/[/; $!s/$/,/; $s/$/]/' made/ct2-6/source_vocabulary.txt >made/ct2-json/shared_vocabulary.json
rm made/ct2-json/*.txt
answers ct2-json 6
echo '{"layer_norm_epsilon": null}' >made/ct2-json/config.json
answers ct2-json 6
echo '{"layer_norm_epsilon": 0.001}' >made/ct2-json/config.json
has 'an epsilon of config.json' '*norm(eps=0.001) -> ffl*' "$("$SYN" import made/ct2-json -o m.safetensors)"
is 'no other epsilon' 0 "$("$SYN" import made/ct2-json -o m.safetensors | grep -c eps=1e-05)"
# GGUF: gpt2; llama with its tokenizer, in four types of blocks
answers gguf-f16 5
answers gguf-q8_0 5
answers gguf-q4_0 5
answers gguf-q4_K 5
answers gguf-q6_K 5
answers gguf-gemma 5
is 'tokenizer of GGUF' '3 4 7' "$(echo ad | "$SYN" tokenize -m m.safetensors --ids)"
# llama with a byte-level tokenizer inside, as Llama 3, Qwen2 and SmolLM have it; numbers are cut by three or one digits
for pre in llama-bpe qwen2 smollm; do
  answers gguf-$pre 5
  digits='7 8 7 8'
  [ $pre != llama-bpe ] || digits='10 7 8'
  is "gguf-$pre: tokens" "4 5 4 3 5 $digits 5 3 18" "$(echo 'abc abcab 1212 ab<t x>' | "$SYN" tokenize -m m.safetensors --ids)"
  is "gguf-$pre: text" 'abc abcab 1212 ab<t x>' "$(echo "4 5 4 3 5 $digits 5 3 18" | "$SYN" tokenize -m m.safetensors --ids --back)"
done
for name in llama3 tekken; do # as long as the name that they replace
  LC_ALL=C sed "s/smollm/$name/" made/gguf-smollm/model.gguf >$name.gguf
done
"$SYN" import llama3.gguf -o m.safetensors >out 2>&1
is 'tokenizer.ggml.pre llama3' 0 $?
"$SYN" import tekken.gguf -o m.safetensors >out 2>&1
has 'tokenizer.ggml.pre tekken' '*tokenizer.ggml.pre: tekken is not read*' "$(cat out)"

# a tokenizer beside the checkpoint, which knows that outputs begin with the padding only from the configuration
cp -r made/t5-v1_0 made/t5-text
awk 'BEGIN {
  printf "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": [[\"<pad>\", 0], [\"</s>\", 0], [\"<unk>\", 0]"
  for (i = 3; i < 19; i++) printf ", [\"%c\", -%d]", 94 + i, i
  print "]}, \"pre_tokenizer\": {\"type\": \"Metaspace\"}, \"added_tokens\": [{\"id\": 0, \"content\": \"<pad>\","
  print "\"special\": true}, {\"id\": 1, \"content\": \"</s>\", \"special\": true}]}"
}' >made/t5-text/tokenizer.json
answers t5-text 6
is 'a tokenizer beside it' '5 4' "$("$SYN" tokenize -m m.safetensors --ids <<'END' | sed 's/^2 //'
cb
END
)"

# named arrays with a text and a map of the user's, in a zip file with and without compression
cat >gru.map <<'END'
# of a language model
= target begin=1 end=2
tgt.embed emb
decoder.0.w_i w_ih
decoder.0.w_h w_hh
decoder.0.b_i b_ih
decoder.0.b_h b_hh
out.w fc_w
out.b fc_b
END
for file in stored packed; do
  is "npz, $file" '8 passed, 0 failed' "$("$SYN" import made/npz/$file.npz --map gru.map --task lm --decoder 'rnn(cell=gru)' \
    --d-model 8 --tie none -o m.safetensors --check made/npz/expected.json | tail -1)"
done

# a wrong answer is found
sed 's/"loss": [0-9.]*/"loss": 3.5/g' made/qwen2/expected.json >wrong.json
"$SYN" import made/qwen2 -o m.safetensors --check wrong.json >out
is 'wrong answers: status' 1 $?
is 'wrong answers' '6 passed, 2 failed' "$(tail -1 out)"
has 'wrong answers are named' '*input 1: loss: off by*' "$(cat out)"

for prompt in '' '"prompt": [], '; do
  printf '%s' "{\"inputs\": [{\"ids\": [5, 6], \"greedy\": [5], $prompt\"loss_of_sorted_half\": 1}]}" >wrong.json
  "$SYN" import made/gpt2 -o m.safetensors --check wrong.json >out 2>err
  is "answers without a prompt, $prompt: status" 1 $?
  is "answers without a prompt, $prompt" 'syn: wrong.json: loss_of_sorted_half wants a prompt' "$(cat err)"
done

# smaller weights, and training on
"$SYN" quantize -m m.safetensors -o q.safetensors --type i8
is 'quantize: status' 0 $?
"$SYN" import made/gpt2 -o m.safetensors --max-len 8 >out
has 'a shorter table of places' '*max_len 8,*' "$("$SYN" info -m m.safetensors)"

# an answer that is empty is none
sed 's/"greedy": \[[0-9, ]*\]/"greedy": []/g' made/llama/expected.json >empty.json
"$SYN" import made/llama -o m.safetensors --check empty.json >out
is 'empty lists of tokens' '5 passed, 3 failed' "$(tail -1 out)"

# refused NAME PATTERN ARGUMENT...: status 1, one line on stderr, no model
refused() {
  name=$1 pattern=$2
  shift 2
  rm -f no.safetensors
  "$SYN" import "$@" -o no.safetensors >out 2>err
  is "$name: status" 1 $?
  is "$name: lines" 1 "$(wc -l <err | tr -d ' ')"
  has "$name" "$pattern" "$(cat err)"
  is "$name: no model" 0 "$(ls no.safetensors 2>/dev/null | wc -l | tr -d ' ')"
}
# changed SED: the checkpoint of mistral with another configuration
changed() {
  rm -rf c && cp -r made/mistral c
  sed "$1" made/mistral/config.json >c/config.json
}
changed 's/"rope_scaling": null/"rope_scaling": {"rope_type": "yarn", "factor": 4}/'
refused 'a scaling' '*rope_scaling: yarn is not read*' c
changed 's/"silu"/"mish"/'
refused 'an activation' '*hidden_act: mish is not read*' c
changed 's/^{/{"logit_scale": 2, /'
refused 'an unknown key' '*logit_scale: 2: this key is not known*' c
changed ''
is 'the configuration as path' '8 passed, 0 failed' \
  "$("$SYN" import c/config.json -o m.safetensors --check made/mistral/expected.json | tail -1)"
changed 's/"mistral"/"gptj"/'
refused 'a family' '*model_type: gptj is not read*' c
changed 's/"num_hidden_layers": 2/"num_hidden_layers": 1/'
refused 'tensors left over' '*tensor model.layers.1.* belongs to nothing*' c
changed 's/"num_hidden_layers": 2/"num_hidden_layers": 3/'
refused 'a missing tensor' '*tensor layers.2.* is missing*' c
changed 's/"num_hidden_layers": 2/"num_hidden_layers": 2000000/'
refused 'too many layers' '*num_hidden_layers: 2000000 is not read*' c
changed 's/"intermediate_size": 12/"intermediate_size": 16/'
refused 'another shape' '*tensor model.layers.0.mlp.up_proj.weight has 12 rows of 8 numbers*' c
changed 's/"intermediate_size": 12/"intermediate_size": 1000000/'
refused 'more memory than the file' '*the network has * weights, the checkpoint *' c
changed 's/"vocab_size": 19/"vocab_size": 16000000/'
refused 'more tokens than numbers' '*more than there are numbers*' c
changed 's/"bos_token_id": 1/"bos_token_id": 77/'
refused 'a token outside' '*token 77 is special, the vocabulary has 19*' c
changed 's/"vocab_size": 19/"vocab_size": /'
refused 'no JSON' '*wanted in JSON*' c
changed 's/"sliding_window": [0-9]*/"use_cache": true/'
has 'the window that mistral has without a key' '*window=4096*' "$("$SYN" import c -o m.safetensors)"
changed 's/"sliding_window": [0-9]*/"sliding_window": null/'
is 'no window' 0 "$("$SYN" import c -o m.safetensors | grep -c window)"
changed 's/"mistral"/"llama"/'
refused 'a window of llama, which has none' '*sliding_window: 4: this key is not known*' c
changed 's/^{/{"layer_types": ["full_attention", "sliding_attention"], /'
refused 'layers that differ' '*layer_types: sliding_attention is not read; wanted: full_attention*' c
changed 's/^{/{"layer_types": ["full_attention"], "_num_labels": 1, "transformers.js_config": {"dtype": "q4"}, \
  "_attn_implementation_autoset": true, "pad_token_id": 0, "cls_token_id": 4, "no_repeat_ngram_size": 3, \
  "repetition_penalty": 1.0, /; s/"eos_token_id": 2/"eos_token_id": [2, 5]/'
out=$("$SYN" import c -o m.safetensors --check made/mistral/expected.json)
is 'keys that change nothing' '8 passed, 0 failed' "$(echo "$out" | tail -1)"
is 'what a search would do' 'no_repeat_ngram_size: 3: of a search, is not taken' "$(echo "$out" | grep search)"
has 'tokens that end a text' '*eos_token_id: the first of 2 tokens is taken*' "$out"
# the tokens of the configuration, whatever names the tokenizer has for others
awk 'BEGIN {
  printf "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"<s>\", 0], [\"<|end|>\", 0]"
  for (i = 3; i < 19; i++) printf ", [\"%s\", -%d]", i == 7 ? "</s>" : sprintf("%c", 94 + i), i
  print "]}, \"pre_tokenizer\": {\"type\": \"Metaspace\"}}"
}' >c/tokenizer.json
is 'an end that only the configuration names' '8 passed, 0 failed' \
  "$("$SYN" import c -o m.safetensors --check made/mistral/expected.json | tail -1)"
# converted NAME SED: the same of another checkpoint
converted() {
  rm -rf c && cp -r "made/$1" c
  sed "$2" "made/$1/config.json" >c/config.json
}
converted bert 's/^{/{"is_decoder": true, /'
refused 'bert as a decoder' '*is_decoder: true is not read; wanted: false*' c
converted albert 's/^{/{"is_decoder": true, /'
refused 'albert as a decoder' '*is_decoder: true is not read; wanted: false*' c
converted t5-v1_1 's/^{/{"dense_act_fn": "relu", /'
refused 'another activation than the one that is named' '*dense_act_fn: relu is not read; wanted: gelu_new*' c
converted marian 's/\[\[18\]\]/[[18], [5]]/'
refused 'more forbidden tokens' '*bad_words_ids: a list is not read; wanted: \[\[pad_token_id\]\]*' c
converted marian 's/^{/{"forced_bos_token_id": 4, /'
refused 'a forced begin' '*forced_bos_token_id: 4 is not read; wanted: null*' c
converted marian 's/^{/{"forced_eos_token_id": 4, /'
refused 'a forced token that is no end' '*forced_eos_token_id: 4 is not read*' c
converted marian 's/"bad_words_ids": [^,]*, //; s/"eos_token_id": 0/"eos_token_id": 4/'
echo '{"bad_words_ids": [[18]], "eos_token_id": 0, "max_length": 512}' >c/generation_config.json
is 'generation_config.json' '6 passed, 0 failed' "$("$SYN" import c -o m.safetensors --check made/marian/expected.json | tail -1)"
echo '{"suppress_tokens": [3]}' >c/generation_config.json
refused 'suppressed tokens' '*generation_config.json: suppress_tokens: a list is not read; wanted: null*' c
{ printf '{"long": [0'; awk 'BEGIN { while (n++ < 20000) printf ", 0" }'; echo '], "sequence_bias": {"a": [1, 2], "b": [3]}}'; } >c/generation_config.json
refused 'an object far behind the length of config.json' '*sequence_bias: an object is not read; wanted: null*' c
echo '{"bad_words_ids": {"a": [18]}}' >c/generation_config.json
refused 'forbidden tokens that are no list' '*bad_words_ids: an object is not read*' c
changed ''
head -c 900 made/mistral/model.safetensors >c/model.safetensors
refused 'a file that is cut' '*model.safetensors*' c
rm c/model.safetensors
printf '\200\002' >c/pytorch_model.bin
refused 'a pickle' '*Convert it: python3*' c
# every format, cut anywhere
for which in llama2c-0 llama2c-1 llama2c-2 ct2-2 ct2-6; do
  size=$(wc -c <made/$which/model.bin)
  rm -rf c && cp -r made/$which c
  for part in 1 7 29 63 99; do
    head -c $((size * part / 100)) made/$which/model.bin >c/model.bin
    refused "$which, $part of 100 bytes" 'syn: c*' c
    head -c $((part * 40)) made/gguf-q8_0/model.gguf >c.gguf
    refused "GGUF, $part of its first bytes" 'syn: c.gguf*' c.gguf
  done
done
refused 'arrays without a map' '*--map, --task*' made/npz/packed.npz
echo 'encoder.1.g 0.5 1+' >plus.map
refused 'a number with 1+' '*line 1 of the map*1+ is for a tensor, 0.5 is a number' made/npz/packed.npz --map plus.map --task lm \
  --decoder 'rnn(cell=gru)' --d-model 8
refused 'arrays that the map leaves out' '*the map fills 0 of them*' made/npz/packed.npz --map /dev/stdin \
  --task lm --decoder 'rnn(cell=gru)' --d-model 8 --tie none <<'END'
tgt.embed emb
END
for part in 300 900 2000 2500; do
  head -c $part made/npz/packed.npz >c.npz
  refused "npz, $part bytes" 'syn: c.npz*' c.npz --map gru.map --task lm --decoder 'rnn(cell=gru)' --d-model 8
done
printf 'PK\005\006' >c.npz
# files that would take more memory or time than they have bytes, and other damage
python3 - <<'END'
import re, struct, zipfile

def read(path):
    with open("made/" + path, "rb") as f:
        return f.read()

def write(path, *parts):
    with open(path, "wb") as f:
        f.write(b"".join(parts))

gguf = bytearray(read("gguf-q8_0/model.gguf"))
write("name.gguf", gguf.replace(b"output_norm.weight", b"output_norm.weigh "))
for name in re.finditer(rb"(blk\.\d\.[a-z_]+|output|output_norm|token_embd)\.weight", gguf):
    rank = struct.unpack_from("<I", gguf, name.end())[0]
    struct.pack_into("<Q", gguf, name.end() + 8 + 8 * rank, 0)
    if name[1] == b"token_embd":
        dims = name.end() + 4
write("shared.gguf", gguf[:len(gguf) * 2 // 3])
struct.pack_into("<QQ", gguf, dims, 0, 16000000)
write("empty.gguf", gguf)

stored = read("npz/stored.npz")
write("crc.npz", stored[:200], bytes([stored[200] ^ 1]), stored[201:])
with zipfile.ZipFile("one.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("w.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 70) +
               b"{'descr': '<f4', 'fortran_order': False, 'shape': (25000,), }".ljust(70) + bytes(100000))
with open("one.npz", "rb") as f:
    one = f.read()
first, end = one.index(b"PK\1\2"), one.index(b"PK\5\6")
write("one.npz", one[:first], one[first:end] * 40, one[end:end + 10], struct.pack("<H", 40), one[end + 12:])

def text(name):
    return struct.pack("<H", len(name) + 1) + name + b"\0"
write("none.bin", struct.pack("<I", 2), text(b"TransformerSpec"), struct.pack("<II", 5, 1), text(b"x"),
      struct.pack("<BIIBI", 2, 1 << 24, 1 << 24, 0, 0))
write("names.bin", struct.pack("<I", 6), text(b"TransformerSpec"), struct.pack("<II", 5, 1), text(b"x"),
      struct.pack("<BIBI", 1, 1, 1, 1), b"a", struct.pack("<I", 20000), text(b"0") + text(b"x"),
      b"".join(text(b"%d" % (i + 1)) + text(b"%d" % i) for i in range(19999)))
llama = read("llama2c-1/model.bin")
write("version.bin", llama[:4], struct.pack("<i", -1), llama[8:])

with zipfile.ZipFile("made/npz/stored.npz") as z, zipfile.ZipFile("both.npz", "w") as out:
    for name in z.namelist():
        data = z.read(name)
        if name == "fc_w.npy":  # rows of zeros in front of its own
            size = struct.unpack_from("<H", data, 8)[0]
            rows, d = map(int, re.search(rb"\((\d+), (\d+),?\)", data).groups())
            head = data[10:10 + size].replace(b"(%d," % rows, b"(%d," % (2 * rows))
            data = data[:8] + struct.pack("<H", len(head)) + head + bytes(4 * rows * d) + data[10 + size:]
        out.writestr(name, data)
END
# transformers' classes of llama and gemma ignore these keys of gemma2: which of both is meant cannot be known
rm -rf c && cp -r made/llama c
for key in final_logit_softcapping attn_logit_softcapping; do
  sed "s/}\$/, \"$key\": 30.0}/" made/llama/config.json >c/config.json
  refused "llama with $key" "*$key: 30.0: this key is not known*" c
  sed "s/}\$/, \"$key\": null}/" made/llama/config.json >c/config.json
  is "llama with $key: null" 0 "$("$SYN" import c -o m.safetensors >out 2>&1; echo $?)"
done
cp made/gemma/model.safetensors c
sed 's/"hidden_activation": null/"hidden_activation": "gelu"/' made/gemma/config.json >c/config.json
refused 'gemma with the gelu of erf' '*hidden_activation: gelu is not read; wanted: silu, gelu_new*' c
sed 's/"hidden_act": "gelu"/"hidden_act": "relu"/' made/gemma/config.json >c/config.json
refused 'gemma with relu' '*hidden_act: relu is not read; wanted: gelu|gelu_pytorch_tanh*' c
refused 'tensors that share bytes' '*shares bytes with another one*' shared.gguf
refused 'a name of GGUF with another end' '*norm.weight is missing, which fills decoder.2.g*' name.gguf
refused 'a table without columns' '*token_embd.weight is missing, or is no matrix*' empty.gguf
arrays="--map gru.map --task lm --decoder rnn(cell=gru) --d-model 8 --tie none"
refused 'a zip file whose files share bytes' '*the directory of this zip file is damaged*' one.npz $arrays
refused 'a byte that changed' '*is damaged: it has another CRC-32*' crc.npz $arrays
refused 'items without bytes' '*items of x have no bytes*' none.bin
refused 'names of names' '*1 is another name of nothing*' names.bin
refused 'a negative version' '*no checkpoint of llama2.c of version*' version.bin
sed 's,^out.w fc_w,& 1/2,' gru.map >half.map
is 'rows of tokens in a part of a tensor' '8 passed, 0 failed' "$("$SYN" import both.npz --map half.map --task lm \
  --decoder 'rnn(cell=gru)' --d-model 8 --tie none -o m.safetensors --check made/npz/expected.json | tail -1)"
changed 's/"vocab_size": 19/"vocab_size": 16000000/'
echo '{' >c/tokenizer.json
refused 'more tokens than numbers, before the tokenizer is read' '*more than there are numbers*' c
rm -rf c && cp -r made/bert c
sed 's/"bert"/"roberta"/; s/"pad_token_id": 0/"pad_token_id": 2147483647/' made/bert/config.json >c/config.json
refused 'padding behind the places' '*pad_token_id: 2147483647 is not read*' c
refused 'no directory' '*no directory*' c.npz --map gru.map --task lm --decoder id
printf 'fmgg\144\0\0\0' >rwkv.bin
refused RWKV '*RWKV is not read: *' rwkv.bin
refused 'no checkpoint' '*a file that exists: .gguf*' nothing
refused 'a table of places' '*has 16 places*' made/gpt2 --max-len 17

echo "import: $checks checks, $failed failed"
[ "$failed" = 0 ]
