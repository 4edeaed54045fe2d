#!/bin/sh
# The command-line tool: `syn score` against values computed by hand or published; options; errors.
# Run from anywhere: sh tests/test_score.sh    CC names the compiler, SYN a tool already built.
# Ends with "score: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
need_syn
within() { # within KB: the memory that what follows may have; a sanitizer (SHORT) reserves far more
  [ -n "$SHORT" ] || ulimit -v "$1"
}

# score NAME VALUE HYP REF OPTION...: HYP and REF are printf formats, VALUE the lines without names;
# what stderr says is in the file notes
score() {
  name=$1 wanted=$2
  printf -- "$3" >h
  printf -- "$4" >r
  shift 4
  is "$name" "$wanted" "$("$SYN" score "$@" h r 2>notes | sed 's/^[^ ]* //' | tr '\n' ' ' | sed 's/ $//')"
}
# refused NAME STATUS PATTERN ARGUMENT...: that exit status, nothing on stdout, one line on stderr
refused() {
  name=$1 status=$2 pattern=$3
  shift 3
  "$SYN" "$@" >out 2>err
  is "$name: status" "$status" "$?"
  is "$name: stdout" "" "$(cat out)"
  is "$name: lines" 1 "$(wc -l <err | tr -d ' ')"
  has "$name" "$pattern" "$(cat err)"
}

# -- bleu --
b='--metric bleu --tokenize none'
score 'bleu of itself' 100.00 'a b c d\n' 'a b c d\n' $b
# the example of Papineni et al.: "the" counts twice, not seven times: p1 = 2/7; nothing else matches, so
# p2 = 1/(2 6), p3 = 1/(4 5), p4 = 1/(8 4); (2/7 1/12 1/20 1/32)^(1/4) = 0.07810
score 'bleu clips' 7.81 'the the the the the the the\n' 'the cat is on the mat\n' $b
# 3/4 2/3 1/2 and no 4-gram: 1/(2 1); (1/8)^(1/4) = 0.59460
score 'bleu smooths' 59.46 'this is a fest\n' 'this is a test\n' $b
# all match, brevity penalty e^(1-6/4) = 0.60653
score 'bleu is brief' 60.65 'a b c d\n' 'a b c d e f\n' $b
# longer than the reference: p = 4/6 3/5 2/4 1/3, no penalty; (1/15)^(1/4) = 0.50813
score 'bleu is long' 50.81 'a b c d e f\n' 'a b c d\n' $b
# sums over lines, not means: p1 = 7/8, p2 = 4/6, p3 = 2/4, p4 = 1/2, (7/48)^(1/4) = 0.61797
score 'bleu of a corpus' 61.80 'a b c d\ne f x h\n' 'a b c d\ne f g h\n' $b
score 'bleu without 4-grams' 0.00 'a b c\n' 'a b c\n' $b
# bleu1: 3 of 5 words match, 5 words for 7 of the reference: 100 * 3/5 * e^(1 - 7/5) = 40.22
score 'bleu1' 40.22 'a b x y c\n' 'a b c d e f g\n' --metric bleu1 --tokenize none
score 'bleu1 clips' 28.57 'the the the the the the the\n' 'the cat is on the mat\n' --metric bleu1 --tokenize none
score 'bleu1 without a match' 0.00 'a\n' 'b\n' --metric bleu1
score 'bleu without a match' 0.00 'a b c d\n' 'e f g h\n' $b
# p = 1, penalty e^(1-8/4) = 0.36788
score 'bleu, empty line' 36.79 'a b c d\n\n' 'a b c d\ne f g h\n' $b
score 'bleu, all empty' 0.00 '\n\n' 'a b c d\ne f g h\n' $b
# lengths 4 and 6 are equally near 5, the shorter counts: no penalty
score 'bleu, nearest length' 100.00 'a b c d e\n' 'a b c d e f\ta b c d\n' $b
# clipping takes the largest count of one reference: "a" twice, though three in sum; p1 = 4/5, p2 = 4/4,
# p3 = 2/3 (a b c is in none), p4 = 1/(2 2); (2/15)^(1/4) = 0.60428
score 'bleu, two references' 60.43 'a a b c a\n' 'a a b x y\tb c a z z\n' $b
score 'bleu, cased' 0.00 'THE CAT SAT \303\211T\303\211\n' 'the cat sat \303\251t\303\251\n' $b
score 'bleu, lowercase' 100.00 'THE CAT SAT \303\211T\303\211\n' 'the cat sat \303\251t\303\251\n' \
  $b --lowercase
# an empty alternative is none; of two empty ones one is left
score 'bleu, an empty alternative' 100.00 'a b c d\n' '\ta b c d\n' $b
score 'bleu, only empty alternatives' 0.00 'a b c d\n' '\t\n' $b
score 'bleu, | is text' 100.00 'a | b c\n' 'a | b c\n' $b
score 'bleu, half of a text with |' 13.53 'a b c d\n' 'a b c d | e f g h i j k\n' $b
score 'bleu, | as the mark of alternatives' 100.00 'a b c d\n' 'x y z | a b c d | e\n' $b --alternatives '|'
score 'bleu, a longer mark' 100.00 'a b c d\n' 'x y z /// a b c d\n' $b --alternatives ///
score 'bleu, TAB beside a mark' 100.00 'a b c d\n' 'x y z\ta b c d /// e\n' $b --alternatives ///
# published: README of sacrebleu (BLEU 48.53, chrF2 59.73) and its tests (49.1919566 without tokenizer)
hyp="The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n"
ref='The dog bit the man.\tThe dog had bit the man.\nIt was not unexpected.\tNo one was surprised.\n'
ref=$ref'The man bit him first.\tThe man had bitten the dog.\n'
score 'published' '48.53 59.73' "$hyp" "$ref" --metric bleu,chrf
score 'published, none' 49.19 "$hyp" "$ref" $b

# -- tokenizer 13a: the reference is written as the words that must come out --
t='--metric bleu --tokenize 13a'
score '13a marks' 100.00 'Hello, world! (test) a/b @c\n' 'Hello , world ! ( test ) a / b @ c\n' $t
score '13a entities' 100.00 '&quot;A&quot; &amp; B &lt;c&gt;\n' '" A " & B < c >\n' $t
score '13a entity of an entity' 100.00 'a b c &amp;lt;d\n' 'a b c < d\n' $t
score '13a skipped' 100.00 'a <skipped>b c d\n' 'a b c d\n' $t
score '13a last point' 100.00 'it costs 5.\n' 'it costs 5 .\n' $t
score '13a point inside' 100.00 'e.g. U.S.A is\n' 'e . g . U . S . A is\n' $t
score '13a two commas' 100.00 'a,,b c d\n' 'a , , b c d\n' $t
score '13a dashes' 100.00 '1-2 x-y 3-z\n' '1 - 2 x-y 3 - z\n' $t
score '13a point, dash' 100.00 '1.-x y z w\n' '1 . -x y z w\n' $t
score '13a digits and comma' 100.00 '7, 8,x y\n' '7 , 8 , x y\n' $t
score '13a comma behind a digit, point before one' 100.00 'in 1990, x .5 y\n' 'in 1990 , x . 5 y\n' $t
score '13a points in a row' 100.00 'a... b c d\n' 'a . . . b c d\n' $t
score '13a comma, point' 100.00 'a 1,.2 b c\n' 'a 1,.2 b c\n' $t
score '13a bars and brackets' 100.00 'a [b] {c} ~d `e ^f\n' 'a [ b ] { c } ~ d ` e ^ f\n' $t
score '13a entity in upper case' 100.00 '&QUOT;a b c\n' '" a b c\n' $t --lowercase
score '13a no-break space' 100.00 'a\302\240b c\302\240! d\n' 'a b c ! d\n' $t
score '13a beyond ASCII' 100.00 '\303\251, \303\251.\303\251 x\n' '\303\251 , \303\251 . \303\251 x\n' $t
score 'none keeps marks' 0.00 'a! b! c! d!\n' 'a ! b ! c ! d !\n' $b
# numbers stay whole: 4 words against 8; 3/4 2/3 1/2 1/2, e^(1-8/4): 0.59460 0.36788
score '13a number' 21.87 '1,000.5 a b c\n' '1 , 000 . 5 a b c\n' $t
# x-y stays whole: 6/7 4/6 2/5 and no 4-gram of 4: (6/7 2/3 2/5 1/8)^(1/4) e^(1-9/7) = 0.41113 0.75148
score '13a dash in a word' 30.90 '1-2 x-y 3-z\n' '1 - 2 x - y 3 - z\n' $t
# so does the apostrophe: 3/4 2/3 1/2 1/2, e^(1-6/4): 0.59460 0.60653
score '13a apostrophe' 36.06 "it's a b c\n" "it ' s a b c\n" $t

# -- chrf --
c='--metric chrf'
score 'chrf of itself' 100.00 'abc def\n' 'abc def\n' $c
score 'chrf, white space' 100.00 'a b c\n' 'abc\n' $c
score 'chrf, no match' 0.00 'abcdefg\n' 'hijklmnop\n' $c
score 'chrf, empty' 0.00 '\n' 'reference\n' $c
# order 1: P = R = 1/2; order 2: 0; the means are 1/4 (published with sacrebleu: 25)
score 'chrf, two orders' 25.00 'aa\n' 'ab\n' $c
score 'chrf of a corpus' 50.00 'a\nb\n' 'a\nc\n' $c
# P = (2/2 + 1/1)/2, R = (2/4 + 1/3)/2 = 0.41667; 5 P R / (4 P + R) = 0.47170: recall weighs more
score 'chrf, recall' 47.17 'ab\n' 'abcd\n' $c
# characters, not bytes: one of two matches, order 2 does not; 1/4
score 'chrf, UTF-8' 25.00 '\303\251\303\250\n' '\303\251\303\252\n' $c
# published with sacrebleu (test/test_chrf.py, beta 2): 39.14078, 31.22557, 57.15704
cs='Co n\303\241s nejv\303\255c tr\303\241p\303\255, proto\305\276e l\303\251ka\305\231i si vyb\303\255raj\303\255, kdo '
cs=$cs'bude \305\276\303\255t a kdo zem\305\231e.\n'
rs='Nejv\303\255ce smutn\303\255 jsme z toho, \305\276e mus\303\255me rozhodovat o tom, kdo bude \305\276\303\255t a '
rs=$rs'kdo zem\305\231e.\n'
score 'chrf, published 1' 39.14 "$cs" "$rs" $c
cs='Nebo prost\304\233 nemaj\303\255 vybaven\303\255, kter\303\251 by jim pomohlo, uvedli l\303\251ka\305\231i.\n'
rs='A n\304\233kdy nem\303\241me ani pot\305\231ebn\303\275 materi\303\241l, abychom jim pomohli, popsali '
rs=$rs'l\303\251ka\305\231i.\n'
score 'chrf, published 2' 31.23 "$cs" "$rs" $c
cs='Lapali po dechu, jejich \305\276ivoty skon\304\215ily d\305\231\303\255v, ne\305\276 skute\304\215n\304\233 za\304\215aly.\n'
rs='Lapali po dechu a pak jejich \305\276ivot skon\304\215il - d\305\231\303\255v, ne\305\276 skute\304\215n\304\233 mohl '
rs=$rs'za\304\215\303\255t, p\305\231ipomn\304\233li.\n'
score 'chrf, published 3' 57.16 "$cs" "$rs" $c
# published in the metric card of Hugging Face: 84.64215
score 'chrf, published corpus' 84.64 'The relationship between cats and dogs is not exactly friendly.
a good bookshop is just a genteel black hole that knows how to read.\n' \
  'The relationship between dogs and cats is not exactly friendly.
A good bookshop is just a genteel Black Hole that knows how to read.\n' $c
score 'chrf, best reference' 100.00 'ab\n' 'xy\tab\n' $c

# -- wer, per, exact, accuracy --
w='--metric wer,per,exact,accuracy'
# accuracy is of labels, which have none; right: lines 1 and 4; edits 0 1 2 0 over the lengths 3 3 2 3 of the nearest: 3/11
score 'alternatives' '27.27 27.27 50.00 0.00' 'K AE T\nD AO G Z\n\nF IH SH\n' \
  'K AE T|K AA T\nD AO G|D AA G Z S\nB IY\nF IY CH | F IH SH\n' $w --alternatives '|'
score 'alternatives in columns' '0.00 0.00 100.00 0.00' 'A B\n' 'A C\tA B\n' $w
score 'half an answer' '33.33 33.33 50.00 50.00' 'A B\nC\n' 'A B\nC|D\n' $w
score 'wer, first of equally near' 50.00 'A\n' 'A B\tB\n' --metric wer
# kitten, sitting: two replaced, one added, of seven
score 'wer, edits' 42.86 'k i t t e n\n' 's i t t i n g\n' --metric wer
score 'wer above 100' 300.00 'a b c\n' 'd\n' --metric wer
score 'exact, white space' 100.00 ' a  b\t\n' 'a b\n' --metric exact
score 'exact, case' '0.00' 'Yes\n' 'yes\n' --metric exact
score 'exact, lowercase' '100.00' '\320\224\320\220\n' '\320\264\320\260\n' --metric exact --lowercase

# -- rouge --
g='--metric rouge1,rouge2,rougeL'
# P = 1/3, R = 1: F = 1/2
score 'rouge, one word' '50.00 0.00 50.00' 'testing one two\n' 'testing\n' $g
# 2 of 3 and 2 of 2: 4/5; one pair of 2 and of 1: 2/3
score 'rouge' '80.00 66.67 80.00' 'testing one two\n' 'testing one\n' $g
score 'rouge, order' '80.00 0.00 80.00' 'testing one two\n' 'testing two\n' $g
score 'rouge, marks and case' '100.00 100.00 100.00' 'The CAT-sat (2).\n' 'the cat sat 2\n' $g
# common subsequence a c d (or b c d), 3 of 4 and 4
score 'rougeL' '75.00' 'b a c d\n' 'a b c d\n' --metric rougeL
score 'rouge, best reference' '100.00 100.00 100.00' 'a b\n' 'c d\ta b\n' $g
# the mean of lines: (1 + 0) / 2
score 'rouge, mean' '50.00 50.00 50.00' 'a b\nc d\n' 'a b\ne f\n' $g
score 'rouge, empty' '0.00 0.00 0.00' '\n' 'a b\n' $g

# the examples of Lin 2004, section 3.1, with F1: "police killed the gunman" against "police kill the
# gunman" (3 of 4) and "the gunman kill police" (2 of 4); ROUGE-2 is 1/3 for both
score 'rouge of the paper' '33.33 75.00' 'police kill the gunman\n' 'police killed the gunman\n' \
  --metric rouge2,rougeL
score 'rouge of the paper, order' '33.33 50.00' 'the gunman kill police\n' \
  'police killed the gunman\n' --metric rouge2,rougeL

# -- rougeLsum --
s='--metric rougeLsum'
# section 3.2: w1 w2 with the first sentence, w1 w3 w5 with the second, their union 4 of 5 words;
# P = 4/10, R = 4/5: F = 8/15 (also in the tests of rouge_score)
score 'rougeLsum of the paper' 53.33 'w1 w2 w6 w7 w8<q>w1 w3 w8 w9 w5\n' 'w1 w2 w3 w4 w5\n' $s
score 'rougeLsum, another mark' 53.33 'w1 w2 w6 w7 w8 @@ w1 w3 w8 w9 w5\n' 'w1 w2 w3 w4 w5\n' $s \
  --sentences @@
score 'rougeLsum, one sentence' '75.00 75.00' 'b a c d\n' 'a b c d\n' --metric rougeL,rougeLsum
# sentences in another order do not count as disorder; without marks they do: 2 of 4
score 'rougeLsum, order of sentences' 100.00 'c d<q>a b\n' 'a b<q>c d\n' $s
score 'rougeLsum, no marks' 50.00 'c d a b\n' 'a b c d\n' $s
score 'rougeLsum, an empty mark' 40.00 'c d<q>a b\n' 'a b<q>c d\n' $s --sentences= # q is a word
# a word of the output counts once: the union has a and a, the output one a; 1 of 1 and 2
score 'rougeLsum, used up' 66.67 'a\n' 'a<q>a\n' $s
score 'rougeLsum, empty' '0.00' '<q>\n' 'a b\n' $s
score 'rougeLsum, best reference' 100.00 'a<q>b\n' 'c\tb<q>a\n' $s

# -- cider --
d='--metric cider'
score 'cider of itself' 1000.00 'a b c d\ne f g h\n' 'a b c d\ne f g h\n' $d
score 'cider of one line' 0.00 'a b c d\n' 'a b c d\n' $d # log(1 / 1) = 0
# x is in both lines and weighs nothing; a is one of a, b: cosine 1/sqrt 2, e^(-1/72) = 0.98621; no
# pair is shared, the other line has 0: 1000/4/2 0.70711 0.98621
score 'cider, one word of two' 87.17 'x a\nz\n' 'x b a\nx y\n' $d
# clipped: 3 of the word against 1: 1 1 / (3 1), lengths 3 and 1: e^(-4/72) = 0.94596; 1000/4/2 0.31532
score 'cider clips' 39.41 'a a a\nz\n' 'a\nb\n' $d
# without repetition only the length: words 1 and 7 (6 of them nowhere else), cosine 1/sqrt 7,
# e^(-36/72) = 0.60653; 1000/4/2 0.37796 0.60653
score 'cider, length' 28.66 'a\nz\n' 'a b c d e f g\nh\n' $d
# the mean over the references: 1 and 0; four orders, but a text of one word has one
score 'cider, two references' 62.50 'a\nz\n' 'a\tc\nb\n' $d
# published in the README of aac-metrics (its tokenizer drops the marks): 0.9614
score 'cider, published' 96.14 'a man is speaking\nrain falls\n' \
  'a man speaks\tsomeone speaks\ta man is speaking while a bird is chirping in the background
rain is falling hard on a surface\n' $d

# -- meteor-es --
m='--metric meteor-es'
# all of 6 words in one chunk: 1 - 0.5 (1/6)^3
score 'meteor-es of itself' 99.77 'the cat sat on the mat\n' 'the cat sat on the mat\n' $m
# P = 6/7, R = 1: F = 10 P R / (R + 9 P) = 0.98361, two chunks: 1 - 0.5 (2/6)^3
score 'meteor-es, a word more' 96.54 'the cat was sat on the mat\n' 'the cat sat on the mat\n' $m
# "on the mat", "sat", "the cat": the fewest chunks are 3 of 6, though other pairs of "the" would cross
# less (and make 6): 1 - 0.5 (1/2)^3
score 'meteor-es, fewest chunks' 93.75 'on the mat sat the cat\n' 'the cat sat on the mat\n' $m
# 2005, section 2.2: "the president spoke to the audience", "the president then spoke to the audience":
# the chunks are "the president" and "spoke to the audience". P = 1, R = 6/7: F = 60/7 / (6/7 + 9)
score 'meteor-es, chunks of the paper' 85.35 'the president spoke to the audience\n' \
  'the president then spoke to the audience\n' $m
# 12 pairs of 18 and 16 words in 4 chunks: F = 0.5 / 0.675, 1 - 0.5 (4/12)^3; NLTK, whose example this
# is, pairs "that" with the wrong one of two and has 6 chunks, 69.44
score 'meteor-es, a guide to action' 72.70 \
  'It is a guide to action which ensures that the military always obeys the commands of the party\n' \
  'It is a guide to action that ensures that the military will forever heed Party commands\n' $m
# an equal word comes before one with its stem: "runs" takes "runs", "running" takes "run": 2 chunks
# of 2, 1 - 0.5 1 (by stem alone it were one chunk, 93.75)
score 'meteor-es, exact first' 50.00 'runs running\n' 'run runs\n' $m --tokenize none
score 'meteor-es, nothing' 0.00 'a b\n' 'c d\n' $m
score 'meteor-es, empty' 0.00 '\n' 'c d\n' $m
score 'meteor-es, marks stand alone' 98.15 'the cat.\n' 'The cat .\n' $m
score 'meteor-es, best reference' 93.75 'a b\n' 'c d\ta b\n' $m
# sums over lines: 3 pairs of 4 and 4 words, 2 chunks: P = R = 3/4, 1 - 0.5 (2/3)^3
score 'meteor-es of a corpus' 63.89 'a b\nc d\n' 'a b\nc e\n' $m
# -- meteor: the same, and words of one meaning --
printf 'dog hound\nfast Quickly rapid\na x y\nb x\n' >meanings
y='--metric meteor --synonyms meanings'
# "hounds" has the stem of "hound": 3 pairs of 3 words in one chunk, 1 - 0.5 (1/3)^3
score 'meteor, a word of the same meaning' 98.15 'the dog runs\n' 'the hounds run\n' $y
score 'meteor-es does not know it' 16.67 'the dog runs\n' 'the hounds away\n' $m
score 'meteor, in any case' 93.75 'so FAST\n' 'so quickly\n' $y
# equal words come before synonyms: two chunks of 2
score 'meteor, exact first' 50.00 'dog hound\n' 'hound dog\n' $y
# a takes x, then leaves it to b, which has no other: 2 pairs, 2 chunks
score 'meteor, as many pairs as possible' 50.00 'a b\n' 'x y\n' $y
# a takes y, which continues the chunk: P = 1, R = 2/3, F = 2/3 / (0.9 + 0.2/3), 1 - 0.5 (1/2)^3
score 'meteor, a chunk goes on' 64.66 'p a\n' 'x p y\n' $y
score 'meteor, meanings are not passed on' 0.00 'b\n' 'y\n' $y # b has one with x, x one with y
score 'meteor, nothing and empty' '0.00' '\nq\n' 'c d\nz\n' $y
# big takes huge, which stands before the partner of cat: 2 pairs in one chunk, P = 1, R = 1/2:
# F = 0.5 / (0.9 + 0.05), 1 - 0.5 (1/2)^3
printf 'big large huge\n' >sizes
score 'meteor, a chunk begins earlier' 49.34 'big cat\n' 'large feline huge cat\n' $m --metric meteor --synonyms sizes
printf 'cafe\314\201 bistro\n' >decomposed
score 'meteor --nfc: the file, too' 93.75 'the cafe\314\201\n' 'the bistro\n' --metric meteor --synonyms decomposed --nfc
# a long line whose words have other meanings, the last one that of its partner
awk 'BEGIN { for (i = 1; i <= 400; i++) print "h" i "q g" i "q"; for (i = 1; i <= 400; i++) print "r" i "q p" i "q"; print "big large" }' >long.meanings
score 'meteor of a long line' 0.12 "$(awk 'BEGIN { for (i = 1; i <= 400; i++) printf "h%dq ", i; print "big" }')\n" \
  "$(awk 'BEGIN { for (i = 1; i <= 400; i++) printf "r%dq ", i; print "large" }')\n" --metric meteor --synonyms long.meanings
is 'meteor of a long line: nothing to say' '' "$(cat notes)"
awk 'BEGIN { for (i = 0; i < 3000; i++) print "a x" i "q\nb y" i "q" }' >many
has 'meteor, the search ends' '*syn: meteor: in 1 of 1 lines the search for words of one meaning was too long and ended early' \
  "$(awk 'BEGIN { for (i = 0; i < 100; i++) printf "a "; print "" }' >h; tr a b <h >r
    "$SYN" score --metric meteor --synonyms many h r 2>&1 >out)"
refused 'meteor without its file' 2 'syn: score --metric meteor wants --synonyms FILE, given: none' score --metric meteor h r
refused 'meteor, standard input' 2 'syn: score --metric meteor wants --synonyms FILE, given: - (standard input)' \
  score --metric meteor --synonyms - h r
printf '3 \n\ncat,feline\n' >alone
refused 'meteor, a file of other form' 1 'syn: alone has no line with two words: *' score --metric meteor --synonyms alone h r
printf 'a b\nc \000d\n' >zero
refused 'meteor, a byte 0' 1 'syn: zero: a byte 0 in line 2: this is no text file' score --metric meteor --synonyms zero h r
refused 'meteor, no such file' 1 'syn: cannot open nowhere: *' score --metric bleu,meteor --synonyms nowhere h r

# -- embedding --
printf 'a 1 0\nb 0 1\nc 1 1\nd -1 0\n' >vectors
printf '\357\273\277e 3e38 3e38\nf 2e-38 2e-38\ng 1e39 1\n' >large
printf 'word\n' >meanings.txt
printf '\037\213\010' >packed
v='--metric embedding --vectors vectors --tokenize none'
score 'embedding, 45 degrees' 70.71 'a\n' 'c\n' $v
score 'embedding, the mean of two words' 100.00 'a b\n' 'c\n' $v
score 'embedding, opposite' -100.00 'a\n' 'd\n' $v
score 'embedding, a mean over lines' 35.36 'a\na\n' 'c\nb\n' $v
is 'embedding: nothing to say' '' "$(cat notes)"
score 'embedding, best reference' 70.71 'a\n' 'b\tc\n' $v
score 'embedding, unknown words' 100.00 'a q\n' 'a A\n' $v
is 'embedding, unknown words: said' \
  'syn: embedding: 50 % of the words have no vector in vectors; --lowercase looks for small letters' "$(cat notes)"
score 'embedding --lowercase' 100.00 'A\n' 'a\n' $v --lowercase
is 'embedding --lowercase: nothing to say' '' "$(cat notes)"
score 'embedding, nothing known' 50.00 'q\na\n' 'a\na\n' $v
has 'embedding, nothing known: said' '*syn: embedding: in 1 of 2 lines a side has no word with a vector, so they count as 0' \
  "$(cat notes)"
score 'embedding, an empty output' 0.00 '\n' 'a\n' $v
score 'embedding, of alternatives one that is known' -100.00 'a\n' 'd\tzzz\n' $v
printf 'cafe\314\201 1 1\n' >composed
score 'embedding --nfc: the file, too' 100.00 'cafe\314\201\n' 'caf\303\251\n' $v --vectors composed --nfc
score 'embedding, large and small numbers' 100.00 'e\n' 'f\n' --metric embedding --vectors large
is 'embedding: a byte order mark is no part of the first word' '' "$(cat notes)"
score 'embedding, no words at all' 0.00 '\n' '\n' $v
score 'embedding, a number that is no float' 0.00 'a\n' 'g\n' --metric embedding --vectors large
has 'embedding, a number that is no float: said' '*syn: embedding: 1 lines of large have a word *' "$(cat notes)"
{ echo '4 2'; cat vectors; printf 'e 1 x\n\r\n 1 1\nf\n. . 3 4\ne 0 1\r\na 0 1\r\ng 1 2 3'; } >other
score 'embedding, a file with a head' '70.71 0.00' 'a\n' 'c\n' $v --metric embedding,exact --vectors other
is 'embedding: nothing to say of words that are not wanted' '' "$(cat notes)"
score 'embedding, the first vector that is whole' 100.00 'e\n' 'b\n' $v --vectors other
is 'embedding: a broken line is said' 'syn: embedding: 1 lines of other have a word that is wanted, and not as many numbers behind it as the first line' \
  "$(cat notes)"
score 'embedding, fewer and more numbers' 0.00 'f g\n' 'a\n' $v --vectors other
has 'embedding, fewer and more numbers: said' '*syn: embedding: 2 lines of other have a word *' "$(cat notes)"
refused 'embedding without its file' 2 'syn: score --metric embedding wants --vectors FILE, given: none' \
  score --metric embedding h r
refused 'embedding, no such file' 1 'syn: cannot open nowhere: *' score --metric embedding --vectors nowhere h r
refused 'embedding, no vectors' 1 'syn: meanings.txt: the first line is no word and its vector, *' \
  score --metric embedding --vectors meanings.txt h r
refused 'embedding, a byte 0' 1 'syn: zero: a byte 0 in line 2: this is no text file' score --metric embedding --vectors zero h r
refused 'embedding, a packed file' 1 'syn: packed: this is gzip: unpack it with gunzip' \
  score --metric embedding --vectors packed h r

# the search ends, however often a word comes again
same=$(awk 'BEGIN { for (i = 0; i < 60; i++) printf "%s ", i % 7 ? "the" : "of" }')
other=$(awk 'BEGIN { for (i = 0; i < 60; i++) printf "%s ", i % 5 ? "the" : "of" }')
has 'meteor-es of many alike' '[5-9][0-9].[0-9][0-9]' \
  "$(echo "$same" >h; echo "$other" >r; "$SYN" score $m h r | sed 's/.* //')"

# -- Porter's stems: a line of words against the line of their stems --
stems() { # stems NAME WORD STEM ...: all n words are matched in one chunk, 1 - 0.5 / n^3
  name=$1
  shift
  : >h
  : >r
  for word; do
    if [ -z "$left" ]; then left=$word; else printf '%s ' "$left" >>h; printf '%s ' "$word" >>r; left=; fi
  done
  is "$name" yes "$("$SYN" score $m h r | awk '{ print ($2 >= 99.985 ? "yes" : $0) }')"
}
# the paper's own examples, step by step
stems 'stems 1' caresses caress ponies poni ties ti cats cat feed feed plastered plaster bled bled \
  motoring motor sing sing conflated conflat troubled troubl sized size hopping hop tanned tan \
  falling fall hissing hiss fizzed fizz failing fail filing file happy happi sky sky
stems 'stems 2' relational relat conditional condit rational ration valenci valenc hesitanci hesit \
  digitizer digit conformabli conform radicalli radic differentli differ analogousli analog \
  vietnamization vietnam predication predic operator oper feudalism feudal hopefulness hope \
  formaliti formal sensitiviti sensit sensibiliti sensibl
stems 'stems 3 and 4' triplicate triplic formative form formalize formal electriciti electr \
  electrical electr hopeful hope goodness good revival reviv allowance allow inference infer \
  airliner airlin gyroscopic gyroscop adjustable adjust irritant irrit replacement replac \
  adjustment adjust dependent depend adoption adopt homologou homolog communism commun activate \
  activ angulariti angular effective effect bowdlerize bowdler
stems 'stems 5' probate probat rate rate controll control roll roll generalizations gener \
  oscillators oscil connect connect connected connect connecting connect connection connect \
  connections connect size size hope hope tree tree toy toy syzygy syzygi be be is is by by
# samples of the published vocabulary and its stems (tartarus.org/martin/PorterStemmer)
stems 'stems, vocabulary' consign consign consigned consign consigning consign consignment consign \
  consistency consist consistently consist consolation consol consolatory consolatori \
  consolidating consolid consolingly consolingli consonant conson conspicuous conspicu \
  conspiracy conspiraci conspirators conspir constable constabl constancy constanc constant \
  constant knack knack knackeries knackeri knaves knave knavish knavish kneaded knead kneels kneel \
  knightly knightli knitted knit knives knive knockers knocker knopp knopp knots knot
score 'stems, longest ending alone' 0.00 'element\n' 'el\n' $m # ement, not ment: m(el) = 1 is not > 1
score 'stems of other letters' 0.00 'caf\303\251s x1s\n' 'caf\303\251 x1\n' $m

# -- f1, mcc, pearson, spearman --
# 2 hits, 3 given, 3 true: 4/6; (2 1 - 1 1) / sqrt(3 3 2 2) = 1/6
score 'two classes' '60.00 66.67 16.67' '1\n1\n0\n0\n1\n' '1\n0\n0\n1\n1\n' --metric accuracy,f1,mcc
# a: 2/3, b: 2/3, c: 0, the mean 4/9; (2 4 - 5) / sqrt((16 - 6) (16 - 6))
score 'three classes' '50.00 44.44 30.00' 'a\nb\nc\na\n' 'a\nb\nb\nc\n' --metric accuracy,f1,mcc
# published in the documentation of scikit-learn: macro F1 0.26, Matthews -0.33
score 'f1, published' 26.67 'A\nC\nB\nA\nA\nB\n' 'A\nB\nC\nA\nB\nC\n' --metric f1
score 'mcc, published' -33.33 '+1\n-1\n+1\n+1\n' '+1\n+1\n+1\n-1\n' --metric mcc
score 'f1, a line without output' '50.00 50.00' 'a\n\n' 'a\nb\n' --metric accuracy,f1
score 'f1 of a class' 66.67 'a\nb\nc\na\n' 'a\nb\nb\nc\n' --metric f1 --positive b
score 'f1 of a class nobody named' 0.00 'a\n' 'b\n' --metric f1 --positive d
score 'mcc of one class' 0.00 'a\na\n' 'a\nb\n' --metric mcc
# xy = 4, xx = yy = 5 about the means
score 'pearson' 80.00 '1\n2\n3\n4\n' '1\n3\n2\n4\n' --metric pearson
score 'pearson, negative' -100.00 '-1e3\n0\n1e3\n' '.5\n0\n-.5\n' --metric pearson
# published in the documentation of SciPy: pearsonr -0.7426106572, spearmanr 0.8207826817
score 'pearson, published' -74.26 '1\n2\n3\n4\n5\n' '10\n9\n2.5\n6\n4\n' --metric pearson
score 'spearman, published' 82.08 '1\n2\n3\n4\n5\n' '5\n6\n7\n8\n7\n' --metric spearman
score 'pearson, constant' 0.00 '1\n1\n' '1\n2\n' --metric pearson

# five classes, of which one is never given and one never true: F1 2/3 2/3 1 0 0, the mean 7/15;
# 3 right of 5: (3 5 - (1 2 + 2 1 + 1 1)) / sqrt((25 - 7) (25 - 7)), given 1 2 1 1, true 2 1 1 1
score 'five classes' '60.00 46.67 55.56' 'a\nb\nb\nc\ne\n' 'a\nb\na\nc\nd\n' --metric accuracy,f1,mcc
score 'wer of alternatives, empty output' '33.33 50.00' '\nA B\n' 'C\tD E\nA B\tA\n' --metric wer,exact
# ranks 1 2 3 4 and 1 3 2 4, and what rises at all rises fully
score 'spearman' 80.00 '1\n2\n3\n4\n' '10\n30\n20\n400\n' --metric spearman
score 'spearman, a curve' 100.00 '1\n2\n3\n4\n' '1\n8\n27\n64\n' --metric spearman
# ties: 1.5 1.5 3 4 and 2 2 2 4 (1 ... 3): xy = 3, xx = 4.5, yy = 3
score 'spearman, ties' 81.65 '1\n1\n2\n3\n' '5\n5\n5\n9\n' --metric spearman
score 'spearman, constant' 0.00 '1\n1\n' '1\n2\n' --metric spearman

# -- values of the published programs (sacrebleu 2, seqeval 1.2) for lines written here; @ is a TAB --
cat >hostile <<'END'
The cat's (new) hat, worth 1,000.50 -- sat | on a mat.
&quot;Bine&quot; &amp; ȘTEFAN merge în ȚARĂ 7.
TIẾNG Việt có sáu thanh: ĐẸP!
Ο ΣΟΦΌΣ, ΟΔΥΣΣΕΎΣ. ΣΑΣ Σ
ԲԱՐԵՎ Երևան|Գյումրի 12-13
我喜欢Python3.11和C，“你好”——2019.
é 😀 one two three four 5.

x
END
tr @ '\t' >hostile.ref <<'END'
The cat (new) sat on a hat | worth 1,000.50 -- a mat.@A cat's hat, worth 1,000.50, sat on the mat.
"Bine" & Ștefan merge în țară 7.
Tiếng việt có sáu thanh: đẹp!@tiếng Việt có sáu dấu thanh
ο σοφός, οδυσσεύς. σας σ
Բարև Երևան|Գյումրի 12-13@բարեվ երևան|գյումրի 12 - 13@Երևան
我喜欢Python3.11与C，“您好”—2019.
one two é 😀 three four 5 .@five
 @a
x y z
END
published() { # published NAME VALUES OPTION...
  name=$1 wanted=$2
  shift 2
  is "published, $name" "$wanted" \
    "$("$SYN" score "$@" hostile hostile.ref 2>notes | sed 's/^[^ ]* //' | tr '\n' ' ' | sed 's/ $//')"
}
published '13a' 40.20 --metric bleu
published '13a, lower case' 73.28 --metric bleu --lowercase
published 'none' 14.35 --metric bleu --tokenize none
published 'none, lower case' 47.81 --metric bleu --tokenize none --lowercase
published 'zh' 31.26 --metric bleu --tokenize zh
published 'zh, lower case' 53.30 --metric bleu --tokenize zh --lowercase
published 'char' 57.62 --metric bleu --tokenize char
published 'char, lower case' 80.64 --metric bleu --tokenize char --lowercase
published 'chrf' '52.30 52.24' --metric chrf,chrf++
published 'chrf, lower case' '77.99 76.62' --metric chrf,chrf++ --lowercase
published 'ter' 36.59 --metric ter

# -- ter --
r='--metric ter'
score 'ter of the paper' 12.50 'd e f g h a b c\n' 'a b c d e f g h\n' $r
score 'ter, no match' 100.00 'dddd eeee ffff\n' 'aaaa bbbb cccc\n' $r
score 'ter, empty' 100.00 '\n' 'a\n' $r
score 'ter, a long shift, case' 7.69 \
  'w\303\244hlen Sie " Bild neu berechnen , " um beim \303\204ndern der Bildgr\303\266\303\237e\n' \
  'um beim \303\244ndern der Bildgr\303\266\303\237e w\303\244hlen Sie " Bild neu berechnen , "\n' $r
score 'ter, two shifts' 28.57 'a b c d e f g\n' 'c d a b g e f\n' $r
score 'ter, words again' 80.00 'the the the the the cat the\n' 'the cat the dog the\n' $r
score 'ter, one alternative is right' 0.00 'A\n' 'a\t\ta b c d e f g h i j\n' $r
awk 'BEGIN { for (i = 0; i < 60; i++) printf "w%d ", i % 7; print "" }' >h
awk 'BEGIN { for (i = 0; i < 45; i++) printf "w%d ", (3 * i + 1) % 7; print "" }' >r
is 'ter, as many shifts as are tried' 'ter 100.00' "$("$SYN" score --metric ter h r)"

# -- entities --
e='--metric entity_f1,entity_precision,entity_recall'
score 'entities, BIO, one too long' '50.00 50.00 50.00' 'O O B-MISC I-MISC I-MISC I-MISC O\nB-PER I-PER O\n' \
  'O O O B-MISC I-MISC I-MISC O\nB-PER I-PER O\n' $e
score 'entities, IOBES' '66.67 66.67 66.67' 'S-LOC O B-PER E-PER O S-ORG\n' 'S-LOC O B-PER I-PER E-PER S-ORG\n' $e
score 'entities, IOB1' '66.67 75.00 60.00' 'I-PER I-PER I-PER O B-LOC\nI-LOC I-ORG\n' \
  'I-PER I-PER B-PER O I-LOC\nI-LOC I-ORG\n' $e
score 'entities, broken' '84.21 80.00 88.89' \
  'B-PER E-PER E-PER B-LOC B-ORG S-ORG B-ORG\nS-LOC O B-X-Y I-Y B-a|b\n' \
  'I-PER E-PER E-PER B-LOC I-ORG S-ORG I-ORG\nE-LOC O B-X-Y I-X-Y B-a|b\n' $e
score 'entities without types' '57.14 66.67 50.00' 'B I O I\nB I\n' 'B I O B\nS I\n' $e
is 'entities without types: notes' '' "$(cat notes)"
score 'entities of no scheme' '50.00 50.00 50.00' 'PER O O X\nX . I-LOC\n' 'PER PER O X\nX . B-LOC\n' $e
has 'entities of no scheme: said' 'syn: entity_f1: 4 tags of the outputs are neither O nor *' "$(head -n 1 notes)"
score 'no entity found' '0.00 0.00 0.00' 'O O\n' 'B-A O\n' $e
score 'no entity there' '0.00 0.00 0.00' 'B-A O\n' 'O O\n' $e
# the second line ends early: 1 of 1 and 2
score 'entities, tags that lack' '66.67 100.00 50.00' 'B-A O\nO\n' 'B-A O\nO B-A\n' $e
has 'entities, tags that lack: said' 'syn: entity_f1: 1 of 2 lines have fewer or more tags *' "$(head -n 1 notes)"
score 'entities, TABs are white space' '100.00 100.00 100.00' 'O\tB-A\n' 'O\tB-A\n' $e

# -- rouge of other languages --
score 'rouge, no letter counts' '0.00 0.00' '\320\264\320\260\n' '\320\264\320\260\n' --metric rouge1,rougeLsum
has 'rouge, no letter counts: said' 'syn: rouge1: in 1 of 1 references no letter counts: *unicode*' \
  "$(head -n 1 notes)"
# Da, net! against net da: lower case, marks apart; the longest common subsequence is 1 of 2
score 'rouge, all letters' '100.00 0.00 50.00 50.00' \
  '\320\224\320\260, \320\275\320\265\321\202!\n' '\320\275\320\265\321\202 \320\264\320\260\n' \
  --metric rouge1,rouge2,rougeL,rougeLsum --rouge-tokenize unicode
is 'rouge, all letters: notes' '' "$(cat notes)"
# a letter and its mark, a vowel sign of Devanagari, a digit of Arabic: no word ends there
score 'rouge, marks and digits' 100.00 'e\314\201a \340\244\225\340\244\277 \331\241x\n' \
  'e\314\201a\302\267\340\244\225\340\244\277-\331\241x\n' --metric rouge2 --rouge-tokenize unicode

# -- what a value does not show --
score 'no four words' 0.00 'a b c\n' 'a b c\n' $b
is 'no four words: said' 'syn: bleu: no output has four words, so it is 0' "$(cat notes)"
score 'no four words of Chinese' 0.00 '\344\270\255\345\233\275\n' '\344\270\255\n' --metric bleu
is 'no four words of Chinese: said' 'syn: bleu: no output has four words, so it is 0: --tokenize zh or char splits texts that have no blanks' \
  "$(cat notes)"
score 'rouge, most letters do not count' 100.00 '\305\202\304\205ka\n' '\305\274\303\263\305\202ka\n' --metric rouge1
has 'rouge, most letters do not count: said' \
  'syn: rouge1: 60 % of the letters of the references do not count: a-z and 0-9 alone do; *' "$(cat notes)"
score 'rouge, few letters do not count' 100.00 'caf\303\251\n' 'caf\303\251\n' --metric rouge1
is 'rouge, few letters do not count: nothing is said' '' "$(cat notes)"
score 'no entities' 0.00 'O O\n' 'O O\n' --metric entity_f1
is 'no entities: said' 'syn: entity_f1: neither outputs nor references have an entity, so it is 0' "$(cat notes)"
score 'tags of no scheme' 0.00 'X Y\n' 'O O\n' --metric entity_f1
has 'tags of no scheme: of which file' 'syn: entity_f1: 2 tags of the outputs are neither O nor *' "$(head -n 1 notes)"
score 'no words of the reference' '100.00 100.00' 'a\n' '\n' --metric wer,ter
has 'no words of the reference: said' 'syn: wer: no reference has a word, *' "$(head -n 1 notes)"
score 'a class nobody named' 0.00 'a\nb\n' 'b\nb\n' --metric f1 --positive d
is 'a class nobody named: said' 'syn: f1: no label is d, the class of --positive' "$(cat notes)"
score 'no label is 1' 0.00 '0\n' '0\n' --metric f1
is 'no label is 1: said' 'syn: f1: no label is 1, so it is 0' "$(cat notes)"
score 'constant outputs' '0.00 0.00 0.00' '1\n1\n' '1\n2\n' --metric pearson,spearman,mcc
is 'constant outputs: said' 'syn: pearson: all outputs are the same, so it is not defined and 0 is printed' \
  "$(head -n 1 notes)"
score 'numbers whose squares overflow' '100.00 100.00' '1e308\n-1e308\n0\n' '1e308\n-1e308\n0\n' \
  --metric pearson,spearman
score 'numbers whose squares vanish' 100.00 '1e-300\n-1e-300\n0\n' '1\n-1\n0\n' --metric pearson
echo nan >nan
refused 'not a number' 1 'syn: pearson wants one number a line, given in line 1 of the outputs: nan' \
  score --metric pearson nan nan
score 'constant references' 0.00 '1\n2\n' '3\n3\n' --metric pearson
has 'constant references: said' 'syn: pearson: all references are the same, *' "$(cat notes)"
score 'cider of a line' 0.00 'a b c d\n' 'a b c d\n' $d
has 'cider of a line: said' 'syn: cider: of one line it is 0*' "$(cat notes)"
score 'labels with a TAB' '100.00 100.00 100.00' 'pos\textra\nneg\n' 'pos\textra\nneg\n' --metric accuracy,f1,mcc
score 'a label is not the first part of another' 50.00 'pos\nneg\n' 'pos\textra\nneg\n' --metric accuracy
score 'an output with a TAB' 0.00 'a\tb\n' 'a\tb\n' --metric exact
is 'an output with a TAB: said' 'syn: r: 1 of 1 targets have further columns, which are other accepted targets
syn: 1 lines of h have a TAB: only references have alternatives, so it is a part of the output' "$(cat notes)"
# options that no metric uses
for option in '--tokenize zh' '--rouge-tokenize unicode' '--lowercase' '--alternatives |' '--sentences x' \
  '--positive 1' '--synonyms h' '--vectors h'; do
  score "$option without effect" 0.00 '1\n' '1\n' --metric pearson $option
  has "$option without effect: said" "syn: ${option%% *} has no effect: no metric of pearson uses it*" "$(cat notes)"
done
score 'options with effect' '100.00 100.00 100.00' '1\n' '1\n' --metric exact,f1,rougeLsum --lowercase \
  --positive 1 --alternatives '|' --sentences x --rouge-tokenize unicode
is 'options with effect: nothing is said' '' "$(cat notes)"
score 'labels with | and blanks' '0.00 0.00 0.00 50.00' 'a|b\nNew  York\n' 'a\nNew York\n' --metric accuracy,f1,mcc,exact
is 'labels with blanks: said' 'syn: accuracy: 1 of 2 lines are wrong for their white space alone' "$(cat notes)"
score 'a side in decomposed letters' '0.00' 'cafe\314\201\n' 'caf\303\251\n' --metric exact
is 'a side in decomposed letters: said' 'syn: 25 % of the letters of h are decomposed, 0 % of those of r: --nfc composes them' \
  "$(cat notes)"
score '--nfc' '100.00 100.00 0.00 100.00' 'cafe\314\201\n' 'caf\303\251\n' --nfc --metric exact,chrf,wer,rougeLsum
score 'both sides decomposed' '100.00' 'cafe\314\201\n' 'cafe\314\201\n' --metric exact
is 'both sides decomposed: nothing to say' '' "$(cat notes)"
score 'Latin-1' '0.00' 'caf\351\n' 'caf\303\251\n' --metric exact
has 'Latin-1: said' 'syn: h: 1 bytes are not UTF-8 *Latin-1*' "$(cat notes)"
refused 'an unknown tokenization' 2 'syn: score --tokenize wants 13a|none|zh|char, given: intl' score --tokenize intl --metric bleu h r

# -- long lines: memory grows with the line, ties take no longer --
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s ", i * i % 7 < 3 ? "a" : "b"; print "" }' >long
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s ", i % 5 < 2 ? "b" : "a"; print "" }' >long.ref
is 'a long line' 3 "$( (within 300000; exec "$SYN" score --metric rougeL,rougeLsum,ter long long.ref) | wc -l | tr -d ' ')"
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s ", 19 * i % 997; print "" }' >long
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s ", 23 * i % 997; print "" }' >long.ref
is 'a long line of many words' 1 "$( (within 300000; exec "$SYN" score --metric meteor-es long long.ref) | wc -l | tr -d ' ')"
tr -s ' ' '\n' <long | sort -u | awk '{ print NR % 2 ? $1 " x" : $1 " y" }' >meanings # all have one of two meanings
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s ", i % 2 ? "x" : "y"; print "" }' >long.ref
is 'a long line of many meanings' 1 \
  "$( (within 300000; exec "$SYN" score --metric meteor --synonyms meanings long long.ref) 2>err | wc -l | tr -d ' ')"
awk 'BEGIN { for (i = 0; i < 200000; i++) print i % 2 }' >ties
is 'many ties' 'spearman 100.00' "$("$SYN" score --metric spearman ties ties)"
[ -n "$SHORT" ] || {
  head -c 40000000 /dev/zero | tr '\000' a >large
  is 'out of memory' 'syn: out of memory: a block of 67108864 bytes is wanted, one of N fits; the last file read is large' \
    "$( (within 90000; exec "$SYN" score --metric exact large large) 2>&1 | sed 's/one of [0-9]*/one of N/')"
  rm large
  printf 'ab\tba\ncd\tdc\n' >pairs.tsv
  has 'out of memory: a batch that fits' 'syn: out of memory: * batch_tokens 16777216*; --batch [0-9]* fits' \
    "$( (within 1500000; exec "$SYN" train --encoder linear --decoder 'linear->mh_dot_att' --tokenizer char --d-model 16 --heads 2 \
      --max-len 8 --steps 1 --warmup 1 --data pairs.tsv --batch 16777216 --json -o n) 2>&1)"
}

# -- files --
score 'CRLF' 100.00 'a b\r\nc\r\n' 'a b\nc\n' --metric exact
score 'no last line end' 100.00 'a b\nc' 'a b\nc\n' --metric exact
printf 'a\377b\300 \000c d e\n\342\202\n' >h
is 'not UTF-8' 'bleu 100.00 chrf 100.00 per 0.00' \
  "$("$SYN" score --metric bleu,chrf,per --lowercase h h 2>err | tr '\n' ' ' | sed 's/ $//')"
printf 'a b c d\n' >h
is 'json' '{"metric":"bleu","value":100.00,"n":1}' "$("$SYN" score --json --metric bleu h h)"
is 'standard input' 'exact 100.00' "$("$SYN" score --metric exact - h <h)"
printf 'a\nb\n' >two
: >empty
refused 'count of lines' 1 'syn: h has 1 lines, two has 2; *' score --metric bleu h two
refused 'missing file' 1 'syn: cannot open nothing.txt: *' score --metric bleu nothing.txt h
refused 'empty file' 1 'syn: empty is empty, *' score --metric bleu h empty
refused 'directory' 1 'syn: cannot read .: *' score --metric bleu . h
refused 'no number' 1 'syn: pearson wants one number a line, given in line 1 of the outputs: a b c d' \
  score --metric pearson h h
refused 'no rank' 1 'syn: spearman wants one number a line, given in line 1 of the outputs: a b c d' \
  score --metric spearman h h
refused 'not a whole number' 1 '*line 1 of the outputs: 1x' score --metric pearson - h <<END
1x
END

# -- options --
is '--name=value' 'exact 100.00' "$("$SYN" score --metric=exact h h)"
is 'the last one holds' 'exact 100.00' "$("$SYN" score --metric=bleu h --metric exact h)"
is '--' 'exact 100.00' "$(cp h ./--json && "$SYN" score --metric exact -- --json h)"
refused 'no command' 2 'syn: no command given*'
refused 'no such command' 2 'syn: no command scor; the nearest is score *' scor
refused 'no such option' 2 'syn: score has no option --tokenise; the nearest is --tokenize *' \
  score --metric bleu --tokenise=13a h h
refused 'no such letter' 2 'syn: score has no option -m; *' score -m bleu h h
refused 'no value' 2 'syn: score --metric wants a value: LIST' score --metric --json h h
refused 'value at the end' 2 'syn: score --metric wants a value: LIST' score h h --metric
refused 'flag with a value' 2 'syn: score --json takes no value, given: yes' score --json=yes h h
refused 'no such choice' 2 'syn: score --tokenize wants 13a|none|zh|char, given: intl' \
  score --metric bleu --tokenize intl h h
refused 'must be given' 2 'syn: score wants --metric LIST *' score h h
refused 'one file' 2 'syn: score wants HYP REF after its options, given: 1, *' score --metric bleu h
refused 'three files' 2 'syn: score wants HYP REF after its options, given: 3, *' \
  score --metric bleu h h h
refused 'no such metric' 2 'syn: no metric blue; the nearest is bleu, *' score --metric exact,blue h h
for command in quantize embed; do
  refused "$command" 1 'syn: *cannot open*' $command -m in -o out
done
refused 'junk behind an integer' 2 'syn: train --batch wants an integer *, given: 12x' \
  train -o m --batch 12x
refused 'integer out of range' 2 'syn: train --batch wants an integer 2..*, given: 0' \
  train -o m --batch 0
refused 'integer too large' 2 'syn: train --batch wants *' train -o m --batch 99999999999
refused 'no integer' 2 'syn: train --batch wants *' train -o m --batch=
refused 'number out of range' 2 'syn: train --dropout wants a number 0..1, given: 1.01' \
  train -o m --dropout 1.01
refused 'no finite number' 2 'syn: train --lr wants *, given: nan' train -o m --lr nan
refused 'no seed' 2 'syn: train --seed wants *, given: -1' train -o m --seed -1
refused 'seed too large' 2 'syn: train --seed *' train -o m --seed 18446744073709551616

refused 'lm has no alternatives' 2 'syn: train of lm reads plain text by --data, given: --alternatives' \
  train --task lm --data h --alternatives '|' -o m
# a variable of the shell that is not set
for option in tokenizer src-tokenizer freeze alternatives encoder decoder preset isa; do
  refused "--$option is empty" 2 "syn: train --$option wants *, given: nothing" train --data h -o m --$option=
done
refused '--metric is empty' 2 'syn: score --metric wants LIST, given: nothing' score --metric '' h h
refused '--positive is empty' 2 'syn: score --positive wants CLASS, given: nothing' \
  score --metric f1 --positive '' h h
refused 'an empty name in --metric' 2 'syn: a name in the list of --metric is empty; all are bleu *' score --metric bleu, h h
is '--sentences may be empty' 'rougeLsum 100.00' "$("$SYN" score --metric rougeLsum --sentences '' h h)"

# -- help --
has 'help lists options' '*--tokenize 13a|none|zh|char*(default 13a)*' "$("$SYN" help)"
has 'help of a command' 'syn score *--metric LIST*(must be given)*' "$("$SYN" score h --help)"
is 'both ways to help' "$("$SYN" help score)" "$("$SYN" score --help)"
is 'help in short' "$("$SYN" help embed)" "$("$SYN" embed -h)"

echo "score: $checks checks, $failed failed"
[ "$failed" = 0 ]
