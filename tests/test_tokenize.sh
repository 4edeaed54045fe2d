#!/bin/sh
# syn tokenize: files of other programs, made here and tiny, as tokenizers; what of them is refused.
# Run from anywhere: sh tests/test_tokenize.sh    CC names the compiler, SYN a tool already built.
# Ends with "tokenize: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
gives() { # gives NAME TOKENIZER TEXT PIECES NUMBERS BACK
  is "$1: pieces" "$4" "$(printf '%s\n' "$3" | "$SYN" tokenize --tokenizer "$2" 2>&1)"
  is "$1: numbers" "$5" "$(printf '%s\n' "$3" | "$SYN" tokenize --tokenizer "$2" --ids 2>&1)"
  is "$1: back" "$6" "$(printf '%s\n' "$5" | "$SYN" tokenize --tokenizer "$2" --back 2>&1)"
}
refuses() { # refuses NAME TOKENIZER MESSAGE
  printf 'a\n' | "$SYN" tokenize --tokenizer "$2" >out 2>err
  is "$1: status" 1 $?
  is "$1" "syn: $3" "$(cat err)"
}

# -- BERT's list of words: without upper case, texts are read in lower case --
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' low '##er' , new >vocab.txt
gives vocab.txt vocab.txt 'Lower, LOW odd' 'low ##er , low [UNK]' '5 6 7 5 1' 'lower , low [UNK]'
sed "s/\$/$(printf '\r')/" vocab.txt >ends.txt
gives 'lines that end in CR LF' ends.txt 'Lower, LOW odd' 'low ##er , low [UNK]' '5 6 7 5 1' 'lower , low [UNK]'
printf '%s\n' '[UNK]' Low low >cased.txt
gives 'upper case' cased.txt 'Low LOW' 'Low [UNK]' '1 0' 'Low [UNK]'

# -- llama2.c: longest; of each token score, bytes --
token() { # token SCORE(4 bytes) TEXT
  printf "$1\\$(printf %o ${#2})\\0\\0\\0%s" "$2"
}
{
  printf '\6\0\0\0'
  token '\0\0\0\0' '<unk>' && token '\0\0\0\0' '<s>--' && token '\0\0\0\0' '</s>-'
  token '\0\0\0\0' '<0x21>' && token '\0\0\200\277' ' ' && token '\0\0\200\277' a
  token '\0\0\200\277' b && token '\0\0\0\277' ab && token '\0\0\200\276' ' a'
} >tokenizer.bin
gives tokenizer.bin tokenizer.bin 'ab b!' '▁a b ▁ b <0x21>' '8 6 4 6 3' 'ab b!'
head -c 40 tokenizer.bin >cut.bin
refuses 'a file that is cut' cut.bin 'cut.bin: byte 30: a token is damaged'

# -- GPT-2: vocabulary and merges --
mkdir gpt2 && awk 'BEGIN { printf "{\"<|endoftext|>\": 0"; for (i = 33; i < 127; i++) {
  c = sprintf("%c", i); if (c == "\"" || c == "\\") c = "\\" c; printf ", \"%s\": %d", c, i }
  print ", \"\\u0120\": 1, \"ab\": 127, \"\\u0120ab\": 128}" }' >gpt2/vocab.json
printf '#version: 0.2\na b\nĠ ab\n' >gpt2/merges.txt
gives 'a folder' gpt2 'ab ab b' 'ab Ġab Ġ b' '127 128 1 98' 'ab ab b'
mkdir alone && cp gpt2/vocab.json alone
refuses 'no merges' alone/vocab.json 'alone/vocab.json: a vocabulary of JSON wants merges.txt or vocab.bpe beside it'
printf 'a b\na odd\n' >alone/merges.txt
refuses 'another merge' alone "alone/vocab.json: the merge 'a odd' is not of two tokens of the vocabulary"

# -- SentencePiece: pieces, a trainer (type 3), a normalizer (3: space before, 4: spaces trimmed) --
piece() { # piece TEXT SCORE [TYPE]
  size=$(printf "$1" | wc -c) type=${3:+2}
  printf "\\12\\$(printf %o $((size + 7 + ${type:-0})))\\12\\$(printf %o "$size")$1\\25$2${3:+\\30\\$3}"
}
pieces() {
  piece '<unk>' '\0\0\0\0' 2 && piece '<s>' '\0\0\0\0' 3 && piece '</s>' '\0\0\0\0' 3
  piece '\342\226\201' '\0\0\0\300' && piece a '\0\0\0\300' && piece b '\0\0\0\300' && piece ab '\0\0\100\300'
  piece '\342\226\201a' '\0\0\40\300'
}
{ pieces && printf '\22\2\30\1'; } >uni.model
gives unigram uni.model ' ab   b?? ' '▁a b ▁ b <unk>' '7 5 3 5 0' 'ab b ⁇ '
# Marian: the numbers of a vocabulary; what SentencePiece does not hold is in no text
printf '%s' '{"</s>": 0, "<unk>": 1, "b": 2, "odd": 3, "▁a": 4, "a": 5, "▁": 6, "<pad>": 7}' >marian.json
is 'numbers of a vocabulary' '4 2 4 5 1' "$(printf ' ab  aaodd\n' | "$SYN" tokenize --tokenizer uni.model --vocab marian.json --ids 2>&1)"
is 'numbers of a vocabulary: back' 'abodd aa ⁇ ' "$(echo 4 2 3 6 5 5 1 0 | "$SYN" tokenize --tokenizer uni.model --vocab marian.json --back)"
{ pieces && printf '\22\2\30\2\32\4\40\0\30\0'; } >bpe.model
gives 'SentencePiece bpe' bpe.model ' ab' '▁a b' '7 5' ' ab'
{ pieces && printf '\22\2\30\3'; } >word.model
refuses 'words' word.model 'word.model: model_type: word is not read, wanted unigram or bpe'
head -c 60 uni.model >cut.model
refuses 'a model that is cut' cut.model 'cut.model: this is no whole model of SentencePiece'
for size in 58 59; do # behind the mark of a piece, behind its size
  head -c $size uni.model >cut.model
  refuses "a model that is cut at $size" cut.model 'cut.model: this is no whole model of SentencePiece'
done

# -- tokenizer.json --
model='"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "<s>": 4}, "merges": [["a", "b"]]}'
level='"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}'
printf '%s' "{$level, $model, \"added_tokens\": [{\"id\": 4, \"content\": \"<s>\", \"special\": true}]}" >bpe.json
gives 'bpe of bytes' bpe.json 'ab b' 'ab Ġ b' '3 2 1' 'ab b'
printf '%s' "{\"normalizer\": {\"type\": \"NFC\"}, $level, $model}" >nfc.json
gives 'no letters to compose' nfc.json 'ab b' 'ab Ġ b' '3 2 1' 'ab b'
printf '%s' "{\"normalizer\": {\"type\": \"NFC\"}, $level, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"Ã\": 1, \"¤\": 2, \
  \"Ã¤\": 3}, \"merges\": [[\"Ã\", \"¤\"]]}}" >nfc.json
gives 'a letter and its mark' nfc.json "$(printf 'aa\314\210a')" 'a Ã¤ a' '0 3 0' 'aäa'
sed 's/"NFC"/"NFKC"/' nfc.json >nfkc.json
refuses 'NFKC' nfkc.json 'nfkc.json: normalizer: NFKC is not read'
printf '%s' "{$level, $model, \"added_tokens\": [{\"id\": 4, \"content\": \"<t x>\", \"special\": false}]}" | sed 's/<s>/<t x>/' >added.json
gives 'a token that cuts a text' added.json 'ab<t x>ab b' 'ab <t x> ab Ġ b' '3 4 3 2 1' 'ab<t x>ab b'
sed 's/"special": false/"special": false, "single_word": true/' added.json >word.json
refuses 'a token of whole words' word.json 'word.json: added_tokens: a token that is not special is not read'
sed 's/"BPE", /"BPE", "byte_fallback": true, /' added.json >added.json.new && mv added.json.new added.json
refuses 'an added token' added.json 'added.json: added_tokens: a token that is not special is not read'
printf '%s' "{$level, $model}" | sed 's/"b": 1/"b": 0/' >twice.json
refuses 'a number twice' twice.json "twice.json: the tokens 'a' and 'b' have the number 0"
printf '%s' "{$model}" >none.json
wanted='of a gpt2 are wanted: NFC or nothing; ByteLevel, with Split or Digits before it, no others'
refuses 'no pre-tokenizer' none.json "none.json: normalizer and pre_tokenizer: $wanted"
for type in Metaspace WhitespaceSplit BertPreTokenizer; do
  printf '%s' "{\"pre_tokenizer\": {\"type\": \"$type\"}, $model}" >other.json
  refuses "$type before BPE of bytes" other.json "other.json: normalizer and pre_tokenizer: $wanted"
done
printf '%s' "{\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", \
  \"continuing_subword_prefix\": \"##\", \"vocab\": {\"[UNK]\": 0, \"a\": 1}}}" >clean.json
refuses 'WordPiece without cleaning' clean.json \
  'clean.json: normalizer and pre_tokenizer: of a wordpiece are wanted: BertNormalizer and BertPreTokenizer, no others'
printf '%s' "{$level, \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0]]}}" >level.json
refuses 'ByteLevel before unigrams' level.json \
  'level.json: normalizer and pre_tokenizer: of a unigram are wanted: Metaspace, or Replace of spaces by U+2581, no others'
printf '%s' '{"pre_tokenizer": {"type": "Metaspace", "replacement": "_"}, "model": {"type": "Unigram", "unk_id": 0,
  "vocab": [["<unk>", 0]]}}' >low.json
refuses 'another mark of spaces' low.json 'low.json: Metaspace: another replacement than U+2581 is not read'
printf '%s' '{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
  {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}, "model": {"type": "BPE", "byte_fallback": true,
  "vocab": {"<unk>": 0, "<0x21>": 1, "▁": 2, "a": 3, "▁a": 4}, "merges": ["▁ a"]}}' >spells.json
gives 'byte fallback' spells.json 'a a!' '▁a ▁a <0x21>' '4 4 1' 'a a!'
printf '%s' '{"pre_tokenizer": {"type": "Metaspace"}, "model": {"type": "Unigram", "unk_id": 0,
  "vocab": [["<unk>", 0], ["▁", -2], ["a", -2.5], ["\u2581a", -3]]}}' >uni.json
gives 'Unigram' uni.json 'aab' '▁a a <unk>' '3 2 0' 'aa ⁇ '
printf '%s' '{"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
  "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece",
  "continuing_subword_prefix": "##", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}}' >words.json
gives 'WordPiece' words.json 'AB c' 'a ##b [UNK]' '1 2 0' 'ab [UNK]'
printf '%s' "{$level, \"model\": {\"type\": \"BPE\", \"vocab\": [0, 1], \"merges\": []}}" >list.json
refuses 'numbers without names' list.json 'list.json: no vocabulary is there'
printf '%s' '{"model": {"type": "WordLevel", "vocab": {"a": 0}}}' >level.json
refuses 'WordLevel' level.json 'level.json: model: its type is not read'
for text in '{"model": {"vocab": {"a": 0}' '{"model": {"vocab": {"a": 0}}} x' '{"a": "\ud800"}' '{"a": 01x}' \
  "$(awk 'BEGIN { while (i++ < 70) printf "{\"a\": " }')"; do
  printf '%s' "$text" >wrong.json
  "$SYN" tokenize --tokenizer wrong.json </dev/null >out 2>err
  is "wrong JSON: $text" 1 $?
  has "wrong JSON: $text" 'syn: wrong.json: byte *wanted in JSON' "$(cat err)"
done

# -- answers --
printf '%s\n' '{"text": "Lower, odd", "ids": [5, 6, 7, 1], "pieces": ["low", "##er", ",", "odd"]}' \
  '{"text": "low", "ids": [6]}' '{"text": "low", "decoded": "high"}' '{"text": "low", "pieces": ["##low"]}' >answers
is 'answers' 'line 2: ids differ
line 3: decoded differ
line 4: pieces differ
1 passed, 3 failed' "$("$SYN" tokenize --tokenizer vocab.txt --check answers)"

# -- the tokenizer of a model --
words abc 1 30 >data.tsv
"$SYN" train --data data.tsv --tokenizer bpe:20 --d-model 4 --heads 1 --max-len 20 --steps 1 --warmup 1 -o m 2>err
is 'train' 0 $?
text=$(cut -f 1 data.tsv | head -n 1)
printf '%s' '{"a": 16000000}' >large.json && cp large.json vocab.json && : >merges.txt
refuses 'a large number' large.json 'large.json: token number 16000000 is too large for the file'
is 'a model: back' "$text" "$(printf '%s\n' "$text" | "$SYN" tokenize -m m --ids | "$SYN" tokenize -m m --back)"
"$SYN" train --data data.tsv --task lm --tokenizer char --decoder id --d-model 4 --heads 1 --steps 1 --warmup 1 -o lm 2>err
printf 'a\n' | "$SYN" tokenize -m lm --side source >out 2>err
is 'a model without sources' 'syn: lm has no source tokenizer' "$(cat err)"
printf 'a\n' | "$SYN" tokenize >out 2>err
is 'neither: status' 2 $?
is 'neither' 'syn: tokenize wants --tokenizer or --model, one of them' "$(cat err)"
refuses 'a file that is none' data.tsv.none 'cannot open data.tsv.none: No such file or directory'

echo "tokenize: $checks checks, $failed failed"
[ "$failed" -eq 0 ]
