#!/bin/sh
# Between a user's file and the tokens nothing changes without a word: encodings, line ends, white space,
# alternatives, unknown tokens, lengths, labels, options at their ends. SYN names a tool already built.
# Ends with "border: N checks, N failed"; exit 1 when any failed. FILES: how many random files (60) go through
# the tool at the end, one line out for each line in.

. "$(dirname "$0")/checks.sh"
need_syn
LC_ALL=C
export LC_ALL

refused() { # refused NAME STATUS PATTERN ARGUMENT...: that exit status, nothing on stdout, one line on stderr
  name=$1 status=$2 pattern=$3
  shift 3
  "$SYN" "$@" >out 2>err </dev/null
  is "$name: status" "$status 0 1" "$? $(wc -c <out | tr -d ' ') $(wc -l <err | tr -d ' ')"
  has "$name" "$pattern" "$(cat err)"
}
says() { # says NAME PATTERN ARGUMENT...: status 0, and one line of stderr matches
  name=$1 pattern=$2
  shift 2
  "$SYN" "$@" >out 2>err </dev/null
  is "$name: status" 0 $?
  has "$name" "$pattern" "$(cat err)"
}
silent() { # silent NAME WORD ARGUMENT...: that word is not on stderr
  name=$1 word=$2
  shift 2
  "$SYN" "$@" >out 2>err </dev/null
  is "$name" '0 0' "$? $(grep -c -e "$word" err)"
}
share() { # share MODEL ...: what eval prints
  "$SYN" eval -m "$@" 2>/dev/null
}
net='--d-model 8 --heads 2 --steps 2 --warmup 1 --batch 400 --max-len 12 --json'
one='--encoder pos->res(syn_att(V)) --decoder pos->res(syn_att(V))->res(mh_dot_att)'
train() { "$SYN" train $net "$@"; }
c="$one --tokenizer char"

vocab() { # vocab MODEL: its source and target vocabulary
  "$SYN" info -m "$1" | sed -n '1s/.*src_vocab \([0-9]*\), tgt_vocab \([0-9]*\).*/\1 \2/p'
}

# -- | is text; alternatives are columns, or what --alternatives separates --
printf 'one\t| x | y |\ntwo\t|\n' >bar.tsv
train --data bar.tsv $c -o bar 2>err >log
is '| is text' '0  9 8' "$? $(cat err) $(vocab bar)"
printf 'a\tx | z\nb\ty|z\nc\tx\tz|\n' >marks.tsv
train --data marks.tsv $c --alternatives '|' -o mark >log 2>err
columns='syn: marks.tsv: 1 of 3 targets have further columns, which are other accepted targets'
is '--alternatives: the first, without the blanks around it' "0 $columns 6" "$? $(cat err) $(vocab mark | cut -d ' ' -f 2)"
train --data marks.tsv $c --alternatives ' | ' -o mark >log 2>err
is '--alternatives: a longer mark' "0 $columns 8" "$? $(cat err) $(vocab mark | cut -d ' ' -f 2)"
printf 'a\nb\n' >abc.src
printf 'x\tzzz\ny\tz z\n' >abc.tgt
train --src abc.src --tgt abc.tgt $c -o mark >log 2>err
is 'a TAB in a target file' '0 syn: abc.tgt: 2 of 2 targets have further columns, which are other accepted targets 6' "$? $(cat err) $(vocab mark | cut -d ' ' -f 2)"
says 'valid: a TAB in a target is said' '*syn: abc.tgt: 2 of 2 targets have further columns*' train $net $c --data bar.tsv --valid-src abc.src \
  --valid-tgt abc.tgt -o n
says 'eval: a TAB in a target is said' '*syn: abc.tgt: 2 of 2 targets have further columns*' eval -m mark --src abc.src --tgt abc.tgt
is 'eval: a bar is no separator' '0.00 0.00' "$(printf 'one\tq|%s\n' "$(echo one | "$SYN" run -m bar)" >q.tsv
  "$SYN" eval -m bar --data q.tsv --metric exact 2>err | cut -d ' ' -f 2) $(printf '|\n' >h; printf 'a|b\n' >r
  "$SYN" score --metric exact h r | cut -d ' ' -f 2)"
refused 'labels have no alternatives' 2 'syn: train --alternatives |: only targets of seq2seq *' train \
  --task classify --data bar.tsv --alternatives '|' -o n
printf 'a\t\tb\nc\td\n' >none.tsv
says 'an empty first alternative is said' '*of 2 pairs 0 have no source, 1 no target or an empty first one*' train $net $c \
  --data none.tsv -o n

# -- files that are no text in UTF-8 are named --
printf '\377\376a\000\t\000b\000\n\000' >utf16
printf 'a\000\t\000b\000\n\000' >utf16le
printf '\000a\000\t\000b\000\n' >utf16be
printf '\377\376\000\000a\000\000\000\t\000\000\000' >utf32
printf 'a\000\000\000\t\000\000\000b\000\000\000\n\000\000\000' >utf32le
printf '\037\213\010\000\000\000' >gzipped
printf 'PK\003\004\024\000' >zipped
printf 'a\tb\nc\000\td\n' >zero
for row in 'utf16:UTF-16: convert it with iconv -f utf-16 -t utf-8' 'utf16le:UTF-16LE: *' 'utf16be:UTF-16BE: *' \
  'utf32:UTF-32: *' 'utf32le:UTF-32LE: *' 'gzipped:gzip: unpack *' 'zipped:zip: unpack *' 'bar:a model file*'; do
  file=${row%%:*}
  wanted="syn: $file: this is ${row#*:}"
  refused "train: $file" 1 "$wanted" train $net $c --data $file -o n
  refused "run: $file" 1 "$wanted" run -m bar $file
  [ $file != utf16 ] || refused 'lm' 1 "$wanted" train $net --task lm --data $file -o n
  [ $file != utf16 ] || refused 'valid' 1 "$wanted" train $net $c --data bar.tsv --valid $file -o n
  [ $file != utf16 ] || refused 'eval' 1 "$wanted" eval -m bar --data $file
  [ $file != utf16 ] || refused 'score' 1 "$wanted" score --metric exact $file $file
done
"$SYN" run -m bar <utf16 >out 2>err
is 'run: UTF-16 from stdin' '1  syn: stdin: this is UTF-16: convert it with iconv -f utf-16 -t utf-8' "$? $(cat out) $(cat err)"
refused 'a byte 0 in data' 1 'syn: zero: a byte 0 in line 2: this is no text file' train $net $c --data zero -o n

# -- line ends: LF, CRLF, CR, none at the end --
printf 'ab\tba\ncd\tdc\nef\tfe\n' >lf.tsv
printf 'ab\tba\r\ncd\tdc\r\nef\tfe\r\n' >crlf.tsv
printf 'ab\tba\rcd\tdc\ref\tfe\r' >cr.tsv
printf 'ab\tba\ncd\tdc\nef\tfe' >open.tsv
printf '\357\273\277ab\tba\r\ncd\tdc\r\nef\tfe' >bom.tsv
train --data lf.tsv $c -o lf 2>err >log
train --task lm --data lf.tsv --decoder linear --batch 40 --tokenizer char -o lf.lm 2>err >log
train --task tag --data lf.tsv --encoder linear --tokenizer char -o lf.tag 2>err >log
train --task classify --data lf.tsv --encoder linear --tokenizer char -o lf.class 2>err >log
cut -f 1 lf.tsv >lf.in
"$SYN" run -m lf lf.in >lf.out
for file in crlf cr bom open; do
  [ $file = open ] || {
    train --data $file.tsv $c -o n 2>err >log
    same "seq2seq: $file" lf n
    train --task lm --data $file.tsv --decoder linear --batch 40 --tokenizer char -o n 2>err >log
    [ $file = bom ] || same "lm: $file" lf.lm n
  }
  train --task tag --data $file.tsv --encoder linear --tokenizer char -o n 2>err >log
  same "tag: $file" lf.tag n
  train --task classify --data $file.tsv --encoder linear --tokenizer char -o n 2>err >log
  same "classify: $file" lf.class n
  is "eval: $file" "$(share lf --data lf.tsv --metric nats,exact)" "$(share lf --data $file.tsv --metric nats,exact)"
  sed 's/	[a-z]*//g' $file.tsv >in
  "$SYN" run -m lf in >out
  same "run: $file" lf.out out
  "$SYN" run -m lf --batch 1 --beam 1 - <in >out
  "$SYN" run -m lf --batch 1 --beam 1 lf.in >out2
  same "run from stdin: $file" out out2
done
is 'lm: as many tokens' "$("$SYN" eval -m lf.lm --data lf.tsv --metric nats --json 2>err)" \
  "$("$SYN" eval -m lf.lm --data crlf.tsv --metric nats --json 2>err)"
printf 'a\rb\tc\nd\te\n' >inner.tsv
says 'a CR inside of a line' '*inner.tsv: 1 carriage returns inside of lines are kept*' train $net $c --data inner.tsv -o n

printf '\357\273\277ab\tba\n\357\273\277cd\tdc\n' >bom2.tsv
says 'a byte order mark inside' '*bom2.tsv: 1 byte order marks (U+FEFF) inside of the text*' eval -m lf --data bom2.tsv
silent 'a byte order mark at the beginning' 'byte order' eval -m lf --data bom.tsv

# -- bytes that are not UTF-8, unknown tokens: counted, with a remedy above 1 % --
printf 'gr\374n\tvert\nr\366t\trouge\n' >latin.tsv
says 'Latin-1 is named' \
  '*latin.tsv: 2 bytes are not UTF-8 (10 %); looks like Latin-1: convert with iconv -f latin1 -t utf-8*' \
  train $net $c --data latin.tsv -o n
says 'Latin-1 in lm' '*looks like Latin-1*' train $net --task lm --decoder linear --batch 40 --tokenizer char --data latin.tsv -o n
says 'Latin-1 in eval' '*looks like Latin-1*' eval -m lf --data latin.tsv
says 'Latin-1 in valid' '*looks like Latin-1*' train $net $c --data lf.tsv --valid latin.tsv -o n
says 'Latin-1 in run' '*latin.tsv: 2 bytes are not UTF-8*Latin-1*' run -m lf latin.tsv
printf '\223a\224\tb\n' >w.tsv
says 'Windows-1252 is named' '*looks like Windows-1252: convert with iconv -f windows-1252 -t utf-8*' train $net $c --data w.tsv -o n
printf 'ab\tba\nxyz\tdc\n' >new.tsv
says 'valid: unknown tokens' \
  '*syn: warning: new.tsv: 3 of 5 source tokens are unknown (60 %): --tokenizer byte knows every text*' \
  train $net $c --data lf.tsv --valid new.tsv -o n
has 'train --json: a field' '*"unknown":0.000000,"valid_unknown":0.333333,"lr"*' "$(cat out)"
"$SYN" train $(echo $net | sed 's/--json//') $c --data lf.tsv --valid new.tsv -o n 2>err
has 'train: beside the loss' '*  loss [0-9.]*  valid [0-9.]* (33 % unknown)  lr*' "$(cat err)"
says 'eval: unknown tokens' '*warning: new.tsv: 3 of 5 source tokens are unknown (60 %): *' eval -m lf --data new.tsv --metric ppl,nats,bleu
has 'eval: beside the perplexity' 'ppl [0-9.]* (33 % of the tokens are unknown)*nats [0-9.]* (33 %*' "$(cat out)"
has 'eval --json' '{"metric":"ppl","value":*,"unknown":0.333333,"n":*}' "$(share lf --data new.tsv --metric ppl --json)"
says 'lm: unknown tokens' '*warning: new.tsv: 3 of 13 tokens are unknown (23 %)*' eval -m lf.lm --data new.tsv
has 'lm: beside nats' '*nats [0-9.]* (23 % of*' "$(cat out)"
printf 'ba\tb?\n' >class.tsv
says 'classify: unknown tokens' '*class.tsv: 1 of 2 tokens are unknown (50 %)*' eval -m lf.class --data class.tsv
printf 'a?\tba\n' >tag.tsv
says 'tag: unknown tokens' '*tag.tsv: 1 of 2 tokens are unknown (50 %)*' eval -m lf.tag --data tag.tsv
printf 'abc?\n' >in
says 'run: unknown tokens' '*warning: in: 1 of 4 tokens are unknown (25 %): the training had none of them*' run -m lf in
has 'run --json: a field' '{"line":1,"rank":1,*,"unknown":1,"text":*' "$("$SYN" run -m lf --json in 2>err)"
silent 'nothing is said of a good file' . eval -m lf --data lf.tsv --metric ppl,exact

# -- lower case: of sources; of targets with --lowercase-targets --
printf 'AB c\tVOLT 5\n' >case.tsv
train --data case.tsv $c --lowercase -o n 2>err >log
is '--lowercase keeps targets' '0  8 10' "$? $(cat err) $(vocab n)"
printf 'a\taA\n' >case2.tsv
train --data case2.tsv $c --lowercase -o n 2>err >log
train --data case2.tsv $c --lowercase-targets -o low 2>err >log
is '--lowercase-targets' '5 6 5 5' "$(vocab n) $(vocab low)"
refused '--tie all has one tokenizer' 2 'syn: --tie all has one tokenizer for both sides: it wants --lowercase and *' \
  train $net $c --data case.tsv --tie all --lowercase -o n
refused 'labels keep their case' 2 'syn: train --lowercase-targets: * keep their case*' train $net --task classify \
  --data lf.tsv --lowercase-targets -o n
printf 'AB c\n' >upper
train --task lm --data upper --decoder linear --batch 40 --tokenizer char --lowercase -o low 2>err >log
printf 'ab c\n' | train --task lm --data - --decoder linear --batch 40 --tokenizer char -o n 2>err >log
is 'lm --lowercase' "$("$SYN" info -m low)" "$("$SYN" info -m n)"

# -- composed and decomposed letters --
printf 'e\314\201a\tx\314\200e\314\201\nba\tx\n' >nfd.tsv
printf '\303\251a\tx\314\200\303\251\nba\tx\n' >nfc.tsv
says 'decomposed letters are told' '*nfd.tsv: 29 % of the letters are decomposed: train --nfc composes them*' train $net $c \
  --data nfd.tsv -o nfd
silent 'accents that have no composed form are not' decomposed train $net $c --data nfc.tsv -o n
has 'eval tells them, too' '*29 % of the letters*' "$("$SYN" eval -m nfd --data nfd.tsv 2>&1)"
train --data nfd.tsv $c --nfc -o nfd 2>err >log
is '--nfc: nothing more to say' '0 ' "$? $(cat err)"
train --data nfc.tsv $c --nfc -o nfc 2>err >log
same '--nfc: the same model' nfd nfc
cut -f 1 nfd.tsv >nfd
cut -f 1 nfc.tsv >in
is '--nfc: the same answers' "$("$SYN" run -m nfc --nbest 4 in)" "$("$SYN" run -m nfc --nbest 4 nfd)"
is '--nfc: the same measures' "$(share nfc --data nfc.tsv --metric nats,chrf)" "$(share nfc --data nfd.tsv --metric nats,chrf)"
refused '--nfc and another tokenizer' 2 'syn: --nfc: the tokenizer of lf does not compose; *' train $net --init lf --data nfc.tsv \
  --nfc -o n
says '--beam with --temperature' '*syn: --beam has no effect: --temperature samples*' run -m lf --beam 2 --temperature 1 lf.in
refused 'trace of a model and a network' 2 'syn: trace wants either --model or *--encoder' trace -m lf --encoder linear -o page

# -- white space: runs separate words; a line of blanks is empty --
printf 'red cat\t= up\ncat\tup\nred red cat\t= = up\n' >tags.tsv
train --task tag --data tags.tsv --encoder linear -o tag 2>err >log
for blank in ' ' '  ' '\t' '\302\240' '\343\200\200' '\342\200\202 '; do
  printf "red${blank}cat\n" >in
  is "tag: two words between '$blank'" 2 "$("$SYN" run -m tag in 2>err | wc -w | tr -d ' ')"
  printf "red cat${blank}\n" >in
  is "tag: a trailing '$blank'" 2 "$("$SYN" run -m tag in 2>err | wc -w | tr -d ' ')"
  printf "${blank}red cat\n" >in
  is "tag: a leading '$blank'" 2 "$("$SYN" run -m tag in 2>err | wc -w | tr -d ' ')"
  [ "$blank" = '\t' ] || {
    printf "red${blank}cat${blank}\t=${blank}up${blank}\n" >blank.tsv
    is "eval: two tags between '$blank'" '{"metric":"accuracy",2}' \
      "$("$SYN" eval -m tag --data blank.tsv --json 2>err | sed 's/"value.*"n"://')"
    train --task tag --data blank.tsv --encoder linear -o n 2>err >log
    is "train: two tags between '$blank'" 0 $?
  }
  printf "${blank}\nab\n${blank}${blank}\n" >in
  for model in lf lf.class tag; do
    is "$model: a line of '$blank' is empty" '3 2' "$("$SYN" run -m $model --json in 2>err >out
      echo $(wc -l <out) $(grep -c '"score":0.000000,"text":""' out))"
  done
done

# -- one line out for each line in: lines that are too long --
printf 'ab\nabcdabcdabcdabcdabcd\ncd\n' >long
cut -c 1-11 long >shorter
for model in lf lf.class lf.tag; do
  "$SYN" run -m $model long >out 2>err
  is "$model: one line each" "0 3" "$? $(wc -l <out | tr -d ' ')"
  has "$model: it is said" 'syn: line 2 has 2[01] tokens*, the model takes 12: its first tokens are read' "$(cat err)"
done
"$SYN" run -m lf shorter >out
"$SYN" run -m lf long >out2 2>err
same 'cut: its beginning' out out2
"$SYN" run -m lf --too-long empty long >out 2>err
is 'empty' '3 ' "$(wc -l <out | tr -d ' ') $(sed -n 2p out)"
"$SYN" run -m lf --too-long stop long >out 2>err
is 'stop' '1 1 1' "$? $(wc -l <out | tr -d ' ') $(wc -l <err | tr -d ' ')"
"$SYN" run -m lf.lm --too-long cut --temperature 1 long >out 2>err
is 'lm: the end of the prompt' "$(sed 's/.*\(......\)$/\1/' long | "$SYN" run -m lf.lm --beam 1)" "$("$SYN" run -m lf.lm --beam 1 long 2>/dev/null)"
has 'lm: it is said' 'syn: line 2 has 21 tokens with its begin, the model takes 12: its last tokens are read' "$(cat err)"
sed 2s/.*/abcdabcdabcdabcdabcd/ long >long20
sed 2s/.*/bcdabcdabcd/ long >last_part
sed 2s/.*/abdabcdabcd/ long >both_parts
for row in head:last middle:both; do
  "$SYN" run -m lf ${row#*:}_part* >out
  "$SYN" run -m lf --too-long ${row%:*} long20 >out2 2>err
  same "${row%:*}: what is left" out out2
done
has 'middle: it is said' 'syn: line 2 has 21 tokens with its end, the model takes 12: its first and last tokens are read' "$(cat err)"
has 'a sample has a score' '*"score":-[0-9]*' "$("$SYN" run -m lf --temperature 1 --json lf.in | head -n 1)"
has '--json: a field' '*"line":2,"rank":1,*"too_long":true,"text"*' "$("$SYN" run -m lf --json long 2>err | sed -n 2p)"
awk 'BEGIN { for (i = 0; i < 30; i++) print "abcdabcdabcdabcd" }' >many
"$SYN" run -m lf many >out 2>err
is 'ten are named' '30 11 syn: 30 lines are too long in all; the first 10 are named' \
  "$(wc -l <out | tr -d ' ') $(wc -l <err | tr -d ' ') $(tail -n 1 err)"
printf 'ab\tba\nabcdabcdabcdabcd\ta\n' >long.tsv
says 'eval: cut' '*line 2 has 17 tokens with its end, the model takes 12: its first tokens are read*' \
  eval -m lf --data long.tsv --metric exact
refused 'eval: stop' 1 '*line 2 has 17*--too-long stop ends here' eval -m lf --too-long stop --data long.tsv --metric exact
says 'train: left out and counted' '*1 of 2 pairs of long.tsv do not fit --max-len 12 and are left out; the first is line 2*' \
  train $net $c --data long.tsv -o n
printf '\n\nab\n \n' >gaps
is '--nbest: one line at least' '1 2 3 4' "$(echo $("$SYN" run -m lf --nbest 3 gaps | cut -f 1 | uniq))"
is 'classify --nbest: one line at least' '1 2 3 4' "$(echo $("$SYN" run -m lf.class --nbest 3 gaps | cut -f 1 | uniq))"

# -- labels that the training had not; lines that are trained on and validated --
printf 'ab\tba\nwhat\tdc\nwho\tdc\nwhat\tba\n' >labels.tsv
says 'labels that are new' \
  'syn: labels.tsv: 3 of 4 labels are not in the training; they count as wrong and have no loss: what (2), who (1)' \
  eval -m lf.class --data labels.tsv --metric accuracy,nats
has 'labels that are new: accuracy counts them as wrong' "accuracy $(cut -f 2 labels.tsv | "$SYN" run -m lf.class | awk '{ right += NR == 1 && $0 == "ab" } END { printf "%.2f", right * 25 }')*nats *" "$(cat out)"
is 'the loss is of the others' "$(share lf.class --data lf.tsv --metric nats --json | sed 's/.*"n"/"n"/')" \
  "$(share lf.class --data labels.tsv --metric nats --json | sed 's/.*"n":1/"n":3/')"
printf 'a  b\tgood\na b\tbad\na\tab\na \tcd\n' >blanks.tsv
printf 'a b\tgood\na  b\tbad\na \tab\na\tcd\n' >changed.tsv
"$SYN" train --task classify --data blanks.tsv --tokenizer char --encoder 'pos->res(syn_att(V))' --d-model 16 \
  --heads 2 --steps 80 --warmup 1 --batch 300 --max-len 10 --dropout 0 -o blanks 2>err
"$SYN" eval -m blanks --data blanks.tsv --metric accuracy,f1,exact >out 2>err
is 'classes that differ in blanks only are right as they are' 'accuracy 100.00 f1 100.00 exact 100.00' "$(echo $(cat out))"
"$SYN" eval -m blanks --data changed.tsv --metric accuracy,f1,exact >out 2>err
is 'classes that differ in blanks only are wrong when exchanged' 'accuracy 0.00 f1 0.00 exact 0.00' "$(echo $(cat out))"
has 'classes that differ in blanks only: said' '*syn: accuracy: 4 of 4 lines are wrong for their white space alone*' "$(cat err)"
printf 'a\rb\tgood\na b\tbad\n' >returns.tsv
"$SYN" train --task classify --data returns.tsv --tokenizer char --encoder 'pos->res(syn_att(V))' --d-model 16 \
  --heads 2 --steps 40 --warmup 1 --batch 300 --max-len 10 --dropout 0 -o returns 2>err
is 'a class with a carriage return is right as it is' 'accuracy 100.00' \
  "$("$SYN" eval -m returns --data returns.tsv --metric accuracy 2>err)"
printf 'pos\tgood\nneg\tbad\tx\npos\tfine\n' >columns.tsv
says 'a TAB within a text of classify is said' '*columns.tsv: 1 of 3 lines have not as many columns as the first one; the first of them is line 2*' \
  train $net --task classify --encoder linear --tokenizer char --data columns.tsv -o n
printf 'red cat\t= never\n' >newtag.tsv
says 'tags that are new' '*newtag.tsv: 1 of 2 labels are not in the training*: never (1)' eval -m tag --data newtag.tsv \
  --metric accuracy,nats,f1
printf 'ab\tba\nab \tdc\n' >blanks.tsv
says 'labels with blanks' '*blanks.tsv: 1 labels begin or end in a blank, which makes them other labels*' train $net \
  --task classify --data blanks.tsv --encoder linear --tokenizer char -o n
# -- options that do nothing here --
unused='has no effect'
says 'no search' "syn: --alpha $unused: classes and tags are chosen without a search" run -m lf.class --alpha 1 lf.in
says 'eval: no search' "*syn: --beam $unused: classes and tags are chosen*" eval -m lf.class --beam 1 --data labels.tsv
says 'sampling without temperature' "syn: --top-k $unused: there is no --temperature*--seed $unused*" run -m lf --seed 1 --top-k 2 lf.in
says 'eval of lm' "*--beam $unused: a loss needs no output*--max-len $unused*--type $unused*" eval -m lf.lm --data lf.tsv --beam 2 \
  --max-len 3 --type i8
says 'a loss alone' "*--too-long $unused: a loss needs no output*" eval -m lf --data lf.tsv --metric ppl --too-long cut
says 'train: no decoder' "*--decoder $unused: classes and tags have no decoder*--every $unused*" train $net --task classify --data lf.tsv \
  --encoder linear --decoder linear --tokenizer char --every 2 -o n
says 'train: lm' "*--encoder $unused: a language model*--many-classes $unused*" train $net --task lm --data lf.tsv --encoder linear \
  --decoder linear --batch 40 --tokenizer char --many-classes -o n
says 'embed' "*--beam $unused: --layout file*" embed -m lf --layout file --beam 2 -o n
says 'trace' "*--target $unused: there is no --input*--count $unused: there is no --data*--cell $unused*" trace -m lf --target a \
  --count 2 --cell 2 -o n
says 'trace of a network' "*--input $unused: there is no --model*" trace --encoder linear --decoder 'linear->mh_dot_att' --input a -o n
says 'info' "*--type $unused: there is no --board*" info -m lf --type i4

# -- values are printed when all are computed; a loss of no line is not defined --
refused 'a metric that fails' 1 'syn: pearson wants one number a line*' score --metric exact,pearson lf.in lf.in
refused 'eval: --max-len' 2 "syn: eval --max-len wants at most 12, the model's, given: 13" eval -m lf --data lf.tsv --max-len 13
refused 'standard input twice' 2 'syn: score reads standard input once, given twice: -' score --metric exact - -
refused 'standard input for both sides' 2 'syn: eval reads standard input once*' eval -m lf --src - --tgt -
printf '\n\n' >letters
refused 'an empty line is no pair' 1 'syn: letters line 1 has no TAB; source TAB target is wanted, given: nothing' eval -m lf --data letters
printf 'what\tdc\n' >what.tsv
says 'no line has a loss' '*syn: no line has a loss: it is not defined*' eval -m lf.class --data what.tsv --metric nats,accuracy
is 'no line has a loss: the other metric has a value' 'nats nan accuracy 0.00' "$(echo $(cat out))"
refused 'a batch below any pair' 1 'syn: no pair of lf.tsv fits --max-len 12 or --batch' train $net $c --data lf.tsv --batch 2 -o n
printf 'ab\tba\nq\txyz\n' >part.tsv
says 'held back: unknown tokens' '*warning: part.tsv: * held-back source tokens are unknown*' train $net $c --data part.tsv \
  --hold-back 0.5 -o n
printf '\374\374a\tb\n' >latin2.tsv
says 'unknown bytes' '*source tokens are unknown (67 %): they are bytes that are not UTF-8' eval -m lf --data latin2.tsv --metric exact
for i in 1 2 3 4 5 6 7 8 9 10; do printf 'ab\tba\n'; done >twice.tsv
says 'lines held back that are trained on' '*syn: 1 of the 1 lines held back of twice.tsv are in its training part, too*' \
  train $net $c --data twice.tsv --hold-back 0.1 -o n
says '--valid of training lines' '*syn: every line of lf.tsv is in the training data, too*' train $net $c --data lf.tsv \
  --valid lf.tsv -o n
printf 'x y\ty x\n' >other.tsv
silent '--valid of other lines' 'in the training data' train $net $c --data lf.tsv --valid other.tsv -o n
says 'nothing is held back' '*syn: --hold-back 1e-20 holds nothing of lf.tsv back: there is no validation*' train $net $c \
  --data lf.tsv --hold-back 1e-20 -o n
printf x >letter
says 'lm: nothing is held back' '*syn: --hold-back 0.1 holds nothing of letter back: there is no validation*' train $net \
  --task lm --batch 40 --decoder linear --tokenizer char --data letter --hold-back 0.1 -o n
says 'hidden spans: nothing is held back' '*--hold-back 1e-20 holds nothing*' train $net $c --span-corruption --max-len 12 \
  --data lf.in --hold-back 1e-20 -o n

# -- options at their ends --
"$SYN" run -m lf --beam 1 lf.in >greedy
for p in 0 0.000000001; do
  "$SYN" run -m lf --temperature 1 --top-p $p lf.in >out
  same "--top-p $p is greedy" greedy out
done
for row in run:top-p run:temperature run:alpha train:lr train:dropout train:clip; do
  for value in nan inf '' 1e-300 1e300 -1; do
    refused "${row#*:} '$value'" 2 "syn: ${row%:*} --${row#*:} wants a number*" ${row%:*} --${row#*:} "$value"
  done
done
refused 'an empty file name' 2 'syn: train --valid wants FILE, given: nothing' train $net $c --data lf.tsv --valid '' -o n

# -- shares of letters, lower case of references, lines that both parts have --
printf 'e\314\243\314\202 o\314\233\314\211\tx\ny\tz\n' >marks.tsv
says 'a letter of two marks counts once' '*marks.tsv: 80 % of the letters are decomposed*' train $net $c --data marks.tsv -o k
printf 'x\314\202 \311\233\314\201\n' >alone
silent 'run: marks without a composed form' decomposed run -m k alone
printf 'e\314\201\n' >alone
says 'run: a mark with one' '*are decomposed*' run -m k alone
printf 'ab\tXY\ncd\tZW\n' >upper.tsv
train $c --data upper.tsv --lowercase-targets --steps 150 --d-model 32 --dropout 0 -o lower 2>err >log
says 'lower case of the references' '*lower writes lower case: the references are compared in lower case' eval -m lower --data upper.tsv --metric exact
is 'and equal' 'exact 100.00' "$(cat out)"
printf 'a\tb\nb\tc\nc\td\n' >most.tsv
printf 'a\tb\nb\tc\nq\tr\n' >both.tsv
says 'lines of --valid that are trained on' '*2 of the 3 lines of both.tsv are in the training data, too*' train $net $c --data most.tsv --valid both.tsv -o k

# -- random files: one line out for each line in, whatever they hold and whatever the options --
train --data lf.tsv $one --tokenizer byte -o p.byte 2>err >log
train --data lf.tsv $one --tokenizer bpe:14 -o p.bpe 2>err >log
train --task classify --data lf.tsv --encoder linear --tokenizer space -o p.class 2>err >log
mv lf p.char; mv lf.lm p.lm; mv tag p.tag; mv lf.tag p.letters
# A row of the list: how many lines a file has, and its bytes as printf writes them.
cat >random.awk <<'END'
function random(n) { seed = (seed * 16807) % 2147483647; return seed % n }
function hostile(  k) {
  k = random(24)
  return k < 7 ? substr("\\141\\142\\143\\144\\145\\101\\132", 4 * random(7) + 1, 4) : piece[k - 6]
}
BEGIN {
  split("\\040 \\040\\040 \\011 \\302\\240 \\343\\200\\200 \\015 \\303\\251 e\\314\\201 \\374 \\303 \\360\\237\\230\\200 " \
        "\\355\\240\\200 \\033[1m \\342\\200\\256 \\302\\205 \\342\\200\\250 |", piece, " ")
  for (i = 0; i < count; i++) {
    lines = random(6)
    kind = random(8)
    end = kind == 0 ? "\\015\\012" : kind == 1 ? "\\015" : "\\012"
    text = random(6) ? "" : "\\357\\273\\277"
    n = 0
    for (k = 0; k < lines; k++) {
      s = ""
      length_of = random(8) ? random(14) : random(3) ? 13 + random(3) : random(3000)
      for (c = 0; c < length_of; c++) s = s (kind == 1 && c ? "\\141" : hostile())
      if (kind == 1) gsub(/\\015/, "", s)
      if (random(9) == 0) s = s "\\000"
      last = k == lines - 1 && random(3) == 0
      if (last) sub(/(\\015)+$/, "", s)
      if (last && s == "") s = "\\141"
      text = text s (last ? "" : end)
    }
    body = text
    sub(/^\\357\\273\\277/, "", body)
    if (!index(body, "\\012") && index(body, "\\015")) { # its lines end in CR
      lines = body !~ /\\015$/
      lines += gsub(/\\015/, "", body)
    }
    print lines, text
  }
}
END
row=0 wrong=0
: "${FILES:=60}"
awk -v seed="${SEED:-7}" -v count="$FILES" -f random.awk >list
while IFS= read -r file; do
  lines=${file%% *} row=$((row + 1))
  printf "${file#* }" >in
  case $((row % 7)) in
    0) model=p.char ;; 1) model=p.byte ;; 2) model=p.bpe ;; 3) model=p.class ;; 4) model=p.lm ;; 5) model=p.tag ;;
    *) model=p.letters ;;
  esac
  long=cut options=
  [ $((row / 7 % 3)) != 0 ] || long=empty
  case $((row / 21 % 7)) in
    1) options='--batch 1' ;; 2) options='--json' ;; 3) options='--max-len 1' ;; 4) options='--beam 1 --batch 2' ;;
    5) options='--temperature 1 --top-p 0.5' ;; 6) options='--beam 1 --batch 1' ;;
  esac
  "$SYN" run -m $model --too-long $long $options <in >out 2>err
  got="$? $(wc -l <out | tr -d ' ')"
  [ "$got" = "0 $lines" ] || { wrong=$((wrong + 1)); is "file $row: run -m $model $options" "0 $lines" "$got $(head -n 2 err)"; }
  case $model in
    p.tag | p.letters | p.lm) ;;
    *) "$SYN" run -m $model --too-long $long --nbest 2 --beam 2 in >out 2>err
      got="$? $(cut -f 1 out | uniq | wc -l | tr -d ' ')"
      [ "$got" = "0 $lines" ] || { wrong=$((wrong + 1)); is "file $row: run -m $model --nbest" "0 $lines" "$got"; } ;;
  esac
  [ "$lines" != 0 ] || continue
  tr '\000' a <in >in2; mv in2 in # a byte 0 in data is refused
  case $model in
    p.char | p.byte | p.bpe) "$SYN" eval -m $model --too-long $long --src in --tgt in --metric exact --json >out 2>err ;;
    p.class) sed 's/^/ab	/' in >in.tsv
      "$SYN" eval -m $model --too-long $long --data in.tsv --json >out 2>err ;;
    p.tag) "$SYN" eval -m $model --too-long $long --src in --tgt in --metric exact --json >out 2>err ;;
    *) continue ;;
  esac
  got=$(sed -n 's/.*"n":\([0-9]*\)}/\1/p' out)
  case "$got $(tail -n 1 err)" in # or refused by name
    "$lines "* | ' syn: '*' is empty, '* | ' syn: '*' line '*' has no '*) ;;
    *) wrong=$((wrong + 1)); is "file $row: eval -m $model" "$lines" "$got $(cat err)" ;;
  esac
done <list
is "$row random files: one line out for each line in" "$FILES 0" "$row $wrong"

echo "border: $checks checks, $failed failed"
[ "$failed" = 0 ]
