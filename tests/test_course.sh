#!/bin/sh
# The exercises of examples/course: as they are, solved, and solved wrongly. The checker must name the
# first wrong operation each time. The solutions stand outside of the tree it reads: it needs none.
# Run from anywhere: sh tests/test_course.sh    Ends with "course: N checks, N failed".

root=$(cd "$(dirname "$0")/.." && pwd)
base=$(mktemp -d) || exit 1
trap 'rm -rf "$base"' EXIT
dir="$base/a folder" # a path with a space
unset MAKEFLAGS MFLAGS MAKELEVEL OUT N
command -v cc >/dev/null 2>&1 || { echo "needs cc"; exit 77; }
mkdir -p "$dir/examples" && cp -R "$root/examples/course" "$dir/examples/" || exit 1
cp "$root/synthesizer.h" "$dir/" && cd "$dir/examples/course" || exit 1
rm -rf build && mv solutions "$dir/solutions" || exit 1
cp exercises/01_number.c "$dir/one.c"
checks=0 failed=0

# has NAME PATTERN TEXT: a shell pattern that TEXT must match
has() {
  checks=$((checks + 1))
  case $3 in
    $2) return ;;
  esac
  failed=$((failed + 1))
  printf 'FAILED %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
}
# course TARGET NN: what make says of exercise NN; tcc compiles all of them in seconds
compiler=cc
command -v tcc >/dev/null 2>&1 && compiler=tcc
course() {
  make CC=$compiler CFLAGS=-O0 "$1" N="$2" 2>&1
}

# -- as they are: the first hole; solved: all right --
for file in exercises/*.c; do
  number=$(basename "$file" | cut -c 1-2)
  first=$(sed -n 1p "expected/$number.values")
  cp "$file" "$dir/holes.c"
  has "$file as it is" "*nothing yet*FIRST WRONG: $first
*0 passed, 1 failed*" "$(course check "$number")"
  cp "$dir/solutions/$(basename "$file")" "$file"
  has "$file solved" "*exercise $number: all * values are right*1 passed, 0 failed*" "$(course check "$number")"
  cp "$dir/holes.c" "$file"
done

# wrong NN NAME HINT SED: the solution changed by the sed command; NAME is the first wrong tensor. One of each
# exercise; course_wrong.txt has the others, which the lane `course` tries.
wrong() {
  file=$(echo exercises/"$1"_*.c)
  solution=$dir/solutions/$(basename "$file")
  cp "$file" "$dir/holes.c"
  sed "$4" "$solution" >"$file"
  cmp -s "$file" "$solution" && has "$4" "a change" "no change"
  has "$1 $4" "*FIRST WRONG: $2
*$3*0 passed, 1 failed*" "$(course check "$1")"
  cp "$dir/holes.c" "$file"
}
wrong 01 error 'the sign' 's/syn_sub(guess, y)/syn_sub(y, guess)/'
wrong 01 guess 'mul: a \[1,1\], b \[4,1\]' 's/syn_mul(x, w)/syn_mul(w, x)/'
wrong 02 'gradient of w1' 'was syn_backward called' '/syn_backward(loss);/d'
wrong 03 'gradient of the sum' 'numbers of "gradient of the difference"' 's/y->dx\[i\] \* b->x\[i\];/y->dx[i] * a->x[i];/'
wrong 04 'momentum: m, step 1' 'the sign' 's/b \* m\[i\] + rate/b * m[i] - rate/'
wrong 05 'loss by hand' '4 times' 's/(p\[i\]\[labels\[i\]\]) \/ ROWS/(p[i][labels[i]])/'
wrong 06 mask 'a large negative number' 's/-INFINITY/-1e9f/'
wrong 06 weights 'a softmax was taken twice' 's/syn_softmax(masked)/syn_softmax(syn_softmax(masked))/'
wrong 07 dropped '0.6 times' 's|y\[i\]\[j\] / (1 - rate)|y[i][j]|'
wrong 08 alpha 'every row should sum to 1' 's/alpha = syn_softmax(mix)/alpha = mix/'
wrong 09 'both heads' 'columns in the wrong order' 's/syn_concat(head\[0\], head\[1\])/syn_concat(head[1], head[0])/'
wrong 10 loss '6 times' 's|-logf(p\[i\]) / (TEXT - 1)|-logf(p[i])|'
wrong 11 queries 'a null pointer: still a hole' 's/w\[0\], y, T/w[0], HOLE, T/'
wrong 12 'beam: the rows that the four best texts continue' 'beam: their last tokens' 's|best / V|best % V|'
wrong 13 'proven by syn_kind_check' 'the library says: shift, as a decoder: padding' 's/r > off\[i\] ?/r ?/'
wrong 14 'multiply-adds of FD' 'yours' 's/(s\.a + s\.b) \* s\.d + s\.H \* s\.N/(s.a + s.b) * s.d/'
wrong 15 'bits of the product-sum' 'only the last bits differ' 's/fmaf(a\[i\], b\[i\], sum)/a[i] * b[i] + sum/'
wrong 16 'W x' 'times the expected' 's/scale\[r\] \* x_scale \* sums/scale[r] * sums/'

# -- the slides: one page, a section for each heading, figures from what the lessons print --
has 'slides' '*build/slides.html*' "$(make slides 2>&1)"
page=build/slides.html source=teacher/slides.md
has 'a slide for each heading' "$(grep -c '^##* ' $source)" "$(grep -c '^<section' $page)"
has 'each figure' "$(grep -c '^!' $source)" "$(grep -c '<svg viewBox' $page)"
has 'nothing from a network' '' "$(grep -E 'src=|<link[^>]*href="http|@import|url\(' $page)"
has 'links' "$(grep -o '](https:[^)]*)' $source | wc -l | tr -d ' ')" "$(grep -o '<a href="https:' $page | wc -l | tr -d ' ')"
for number in $(sed 's/](https:[^)]*)//g' $source | grep -oE '[0-9]+\.[0-9]{3}' | sort -u); do
  grep -qF -- "$number" expected/*.txt || has "slides: $number" 'a number that a lesson prints' 'none'
done
for file in [0-9]*.c; do # it begins with what a student will be able to do, and ends with what to try
  has "$file: its beginning" '   You will be able to *' "$(sed -n 3p "$file")"
  has "$file: its end" '/[*] To try*' "$(tail -n 12 "$file" | grep '^/[*]')"
  has "$file: its answers" 1 "$(sed -n '/^## Answers of/,$p' teacher/README.md | grep -c "^$(expr "$file" : '0*\([0-9]*\)')[.] ")"
done
has 'a lesson for each objective' 16 "$(sed -n '/What a student can do/,/^## Questions/p' teacher/README.md | grep -c '^[0-9]')"
cp $source "$dir/slides.md" && echo '!lines expected/99.txt x 1 2 y' >>$source
has 'a figure that is missing' '*slides.md line*expected/99.txt is not there*' "$(make slides 2>&1)"
cp "$dir/slides.md" $source
echo '!trace 1,2 a,b alt teacher/11.2.1.1.svg head' >>$source
has 'a map of another shape' '*slides.md line*11.2.1.1.svg is no map of 2 rows, 2 columns*' "$(make slides 2>&1)"
cp "$dir/slides.md" $source

# -- what is no wrong number: a crash, a check that was taken away, a file that does not compile --
wrong 06 k 'expected here: v' '/check("v", v)/d'
file=exercises/01_number.c
sed 's/  check("loss", loss);/  *(volatile int *)0 = 1;/' "$dir/solutions/01_number.c" >$file
has 'a crash' '*exercise 01: the program crashed*0 passed, 1 failed*' "$(course check 1)"
sed 's/check_gradient("gradient of b", b);.*/return;/' "$dir/solutions/01_number.c" >$file
has 'an early end' '*FIRST WRONG: gradient of b*never shown*0 passed, 1 failed*' "$(course check 1)"
echo 'no C' >$file
has 'no program' '*does not compile*0 passed, 1 failed*' "$(course check 1)"

# -- a lesson with the library, by the command of its comment --
(cd ../.. && $compiler -O0 examples/course/01_number.c -o "$base/number" -lm && "$base/number") >"$base/out" 2>&1
has 'a lesson alone' 'equal' "$(diff expected/01.txt "$base/out" && echo equal)"

has 'no such exercise' '*there is no lesson 99*' "$(course check 99)"

# -- numbers of a student: others for each name, the solution passes, a number copied from another student fails --
mv "$dir/solutions" solutions
many() { make -s CC=$compiler CFLAGS=-O0 OUT=build_many "$@" 2>&1; }
students='a b c d e f g h i j k l m n o p q r s t'
for student in $students; do
  many values N=1 STUDENT=$student >/dev/null
  many values N=12 STUDENT=$student >/dev/null
done
for number in 01 12; do
  has "exercise $number: twenty names, different numbers" 20 \
    "$(for i in expected/?/$number.values; do cksum <"$i"; done | sort -u | wc -l | tr -d ' ')"
done
for student in $students; do
  many solutions N=1 STUDENT=$student
  many solutions N=12 STUDENT=$student
done >"$dir/all"
has 'the solutions of twenty students' 40 "$(grep -c '^1 passed, 0 failed' "$dir/all")"
sed 's/2 \* error->x\[i\] \* x->x\[i\] \/ 4/0.2615625f/' solutions/01_number.c >exercises/01_number.c
has 'a number of another student' '*FIRST WRONG: gradient of w by hand*' "$(many check N=1 STUDENT=b)"
cp "$dir/one.c" exercises/01_number.c

# -- grades: ten submissions, three of them cheat; "points of values" for each student --
from=$dir/submissions
for student in right half holes missing crash loop spells defines leaves prints; do
  mkdir -p "$from/$student"
  cp solutions/01_number.c "$from/$student/"
done
cd "$from" || exit 1
sed -i.old 's/syn_sub(guess, y)/syn_sub(y, guess)/' half/01_number.c
cp "$dir/one.c" holes/01_number.c
rm missing/01_number.c
sed -i.old 's/  check("loss", loss);/  *(volatile int *)0 = 1;/' crash/01_number.c
sed -i.old 's/  check("loss", loss);/  for (;;) continue;/' loop/01_number.c
echo 'no C' >spells/01_number.c
{ echo '#define main other'; echo '#define check_wrong(e, g, f, t) 0'; echo '#define check_equal(e, g) 1'; cat "$dir/one.c"; } >defines/01_number.c
sed 's/  (void)c;/  exit(0);/' "$dir/one.c" >leaves/01_number.c
sed 's/  (void)c;/  puts("exercise 01: all 8 values are right"); puts("\\"prints\\",\\"01\\",\\"guess\\",1"); exit(0);/' "$dir/one.c" >prints/01_number.c
waits=
if command -v timeout >/dev/null; then
  mkdir waits && waits='waits 2'
  { echo '#include <unistd.h>'; sed 's/  check("loss", loss);/  sleep(99);/' right/01_number.c; } >waits/01_number.c
fi
cd "$dir/examples/course" || exit 1
many grade N=1 FROM="$from" KEY=secret TIME=1 2>/dev/null >"$dir/grades.csv"
points() { awk -F'"' -v s="$1" '$2 == s { n++; p += substr($7, 2) } END { print p + 0 " of " n + 0 }' "$dir/grades.csv"; }
for pair in "right 11" "half 9" "holes 0" "missing 0" "crash 2" "loop 2" "spells 0" "defines 0" "leaves 0" "prints 0" \
  ${waits:+"$waits"}; do
  has "grade of ${pair% *}" "${pair#* } of 11" "$(points "${pair% *}")"
done
has 'the first line' '"student","exercise","value","points"' "$(head -n 1 "$dir/grades.csv")"
has 'a value' '"right","01","loss",1' "$(grep '"right","01","loss"' "$dir/grades.csv")"

# -- the folder of what is built: `make clean` removes it, so it must not hold anything else --
has 'OUT with files of others' '*OUT=exercises holds files of others*' \
  "$(make OUT=exercises clean 2>&1)"
has 'OUT is the course' '*holds files of others*' "$(make OUT=. clean 2>&1)"
has 'OUT is empty' '*OUT must be the name of one folder*' "$(make OUT= clean 2>&1)"
mkdir "$base/hidden" && : >"$base/hidden/.keep"
has 'OUT with a hidden file' '*holds files of others*' "$(make OUT="$base/hidden" clean 2>&1)"
has 'clean of a file' '*README.md*' "$(make OUT=README.md clean 2>&1; ls)"
make clean >/dev/null 2>&1
has 'clean' 'no build' "$([ -d build ] || echo no build)"

echo "course: $checks checks, $failed failed"
[ "$failed" -eq 0 ]
