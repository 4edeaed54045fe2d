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

# wrong NN NAME HINT SED: the solution changed by the sed command; NAME is the first wrong tensor
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
wrong 01 'gradient of w by hand' '0.5 times' 's/2 \* error->x/error->x/'
wrong 01 'w after a step' 'the wrong way' 's/w->x\[0\] -= rate/w->x[0] += rate/'
wrong 01 'w after a step' 'it should move by' 's/w->x\[0\] -= rate \* w->dx/w->x[0] -= rate * w->x/'
wrong 01 guess 'mul: a \[1,1\], b \[4,1\]' 's/syn_mul(x, w)/syn_mul(w, x)/'
wrong 01 'gradient of w by hand' '1 / 4 is 0' 's|2 \* error->x\[i\] \* x->x\[i\] / 4|2 / 4 * error->x[i] * x->x[i]|'
wrong 02 sums 'linear: b is null' 's/syn_linear(x, w1, b1)/syn_linear(x, w1, NULL)/'
wrong 02 'sums by matmul' 'matmul: a ends in 2' 's/syn_matmul(x, syn_transpose(w1))/syn_matmul(x, w1)/'
wrong 02 hidden 'yours' 's/"tanh"/"sigmoid"/'
wrong 03 rows 'yours' 's/syn_lookup(table, ids/syn_lookup(table, labels/'
wrong 03 'loss by hand' '4 times' 's/(p\[i\]\[labels\[i\]\]) \/ ROWS/(p[i][labels[i]])/'
wrong 03 probabilities 'all later rows are wrong' 's/logits->x\[i \* V + v\]/logits->x[i + v]/'
wrong 03 'gradient of the logits by hand' 'the numbers of "probabilities"' 's|(p\[i\]\[v\] - (v == labels\[i\])) / ROWS|p[i][v] - (v == labels[i]) / ROWS|'
wrong 03 'gradient of the logits by hand' '0.25 too large' 's|(p\[i\]\[v\] - (v == labels\[i\])) / ROWS|p[i][v] / ROWS - (v == labels[i]) / ROWS|'
wrong 04 v 'matmul: a ends in 4' 's/syn_transpose(wv)/wv/'
wrong 04 y 'matmul: a ends in 3' 's/syn_transpose(wo)/wo/'
wrong 04 mask 'a mask is added' 's/j = i + 1; j < T; j++) mask->x\[i \* T + j\] = -INFINITY/j = 0; j < T; j++) mask->x[i * T + j] = j <= i/'
wrong 04 'masked scores' 'a mask is added' 's/syn_add(scores, mask)/syn_mul(scores, mask)/'
wrong 04 'gradient of the scores by hand' '24 of 25 numbers are wrong' 's/weights->x\[i \* T + j\] \* (weights->dx\[i \* T + j\] - sum)/weights->dx[i * T + j] - sum/'
wrong 04 'gradient of the scores by hand' 'yours' 's/dx\[i \* T + j\] - sum)/dx[i * T + j] + sum)/'
wrong 04 k 'the numbers of "q"' 's/syn_transpose(wk)/syn_transpose(wq)/'
wrong 04 scores 'every number is 1.73205 times' 's/syn_scale(q, 1 \/ sqrtf(K))/q/'
wrong 04 scores 'transposed' 's/= syn_matmul(syn_scale(q, 1 \/ sqrtf(K)), syn_transpose(k))/= syn_transpose(syn_matmul(syn_scale(q, 1 \/ sqrtf(K)), syn_transpose(k)))/'
wrong 04 mask 'expected 0, yours -inf' 's/j = i + 1; j < T/j = i; j < T/'
wrong 04 'masked scores' 'causal mask is missing' 's/masked = syn_add(scores, mask)/masked = scores/'
wrong 04 weights 'the columns sum to 1' 's/syn_softmax(masked)/syn_transpose(syn_softmax(syn_transpose(masked)))/'
wrong 04 'gradient of the scores by hand' 'yours' 's/dx\[i \* T + j\] - sum)/dx[i * T + j])/'
wrong 05 'hidden layer of D' 'yours' 's/syn_act(syn_linear(x, w1, b1), "relu")/syn_linear(x, w1, b1)/'
wrong 05 alpha 'every row should sum to 1' 's/alpha = syn_softmax(mix)/alpha = mix/'
wrong 06 'scores of head 0' '0.707' 's/sqrtf(C)/sqrtf(D)/'
wrong 06 sum 'the numbers of "both heads"' 's/sum = syn_add(x, both)/sum = both/'
wrong 06 norm 'NaN' 's/variance + 1e-6f/-1/'
wrong 07 labels 'the numbers of "tokens that the decoder reads"' 's/i < T - 1 ? answer\[i\] : SYN_END/i ? answer[i - 1] : SYN_BEGIN/'
wrong 07 queries 'yours' 's/w\[i \* D + j\]/w[j * D + i]/'
wrong 07 scores 'every number is 2 times' 's/q\[t \* D + i\] \* k\[s \* D + i\] \/ sqrtf(D)/q[t * D + i] * k[s * D + i]/'
wrong 07 'gradient of scores' 'yours' 's/ - mean);/);/'
wrong 08 'log p behind begin' 'yours' 's/z\[i\] - logf(sum)/expf(z[i]) \/ sum/'
wrong 08 'beam: log p of all texts of two tokens' 'yours' 's/live\[i\] + log_p\[j\]/log_p[j]/'
wrong 08 'drawn tokens' 'yours' 's/points\[i\] \* reached/points[i]/'
wrong 09 'gradient of x' 'yours' 's/g \* now + (1 - g) \* next/g * now/'
wrong 09 'proven by syn_kind_check' 'the library says: shift, as a decoder: padding' 's/r > off\[i\] ?/r ?/'
wrong 09 'proven by syn_kind_check' 'the library says: shift, as a decoder: step' 's/place\[r\] - 1) : NULL/place[r]) : NULL/'
wrong 10 'parameters of R' 'yours' 's/s\.H \* s\.N \* s\.N/s.N * s.N/'
wrong 10 'multiply-adds of FD' 'yours' 's/(s\.a + s\.b) \* s\.d + s\.H \* s\.N/(s.a + s.b) * s.d/'
wrong 11 'partial sums on 4 lanes' 'yours' 's/(i + lane) % LANES/lane/'
wrong 11 'bits of the product-sum' 'yours' 's/fmaf(a\[i\], b\[i\], sum)/a[i] * b[i] + sum/'
wrong 12 integers 'yours' 's/= roundf(w\[i\]/= truncf(w[i]/'
wrong 12 'W x' 'times the expected' 's/scale\[r\] \* x_scale \* sums/scale[r] * sums/'

# -- what is no wrong number: a crash, a check that was taken away, a file that does not compile --
wrong 04 k 'expected here: v' '/check("v", v)/d'
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
