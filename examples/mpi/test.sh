# test.sh FOLDER   build/train in its checks: the bits of ranks and of one process, a rank that is
# killed, resuming with other numbers of ranks. Ends with "mpi: passed" or status 1.
train=$(cd "$1" && pwd)/train
work=$1/test
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # the machines of a gate are containers
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0

fail() {
  echo "mpi: FAILED: $1"
  tail -n 20 log
  exit 1
}
run() { # RANKS OPTIONS...: 0 ranks: without mpirun
  ranks=$1
  shift
  if [ "$ranks" -eq 0 ]; then timeout 120 "$train" --steps 12 --every 4 "$@" >log 2>&1
  else timeout 120 mpirun -n "$ranks" --oversubscribe "$train" --steps 12 --every 4 "$@" >log 2>&1
  fi
}
good() {
  run "$@" || fail "status $?: $*"
}
same() {
  cmp "$1" "$2" >>log 2>&1 || fail "$1 and $2 have other bytes"
}

good 0 --accumulate 2 --model one2
good 2 --model two
same one2 two
good 0 --accumulate 4 --model one4
good 4 --model four
same one4 four
good 3 --model three
good 0 --accumulate 3 --model one3
same one3 three
good 2 --accumulate 4 --model two4
same one4 two4

run 2 --model half --die 6
status=$?
[ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "a killed rank: status $status"
grep -q '^step 4 ' log && ! grep -q '^step 8 ' log || fail "a killed rank: the others went on"
cp half half2
good 0 --accumulate 2 --model half --resume
same one2 half
good 2 --model half2 --resume
same one2 half2

run 2 --accumulate 3 --model bad && fail "accumulate 3 with 2 ranks"
grep -q 'wanted a multiple' log || fail "no word of the multiple"
run 2 --model half --accumulate 4 --resume && fail "resumed with other batches"
grep -q 'train.accumulate is 2, this training has 4' log || fail "no word of accumulate"
run 3 --data nowhere && fail "no data"
printf 'one two\tthree\nfour\tfive six\n' >pairs.tsv
good 2 --data pairs.tsv --tokenizer space --model pairs --steps 2
sed 's/six/ten/' pairs.tsv >other.tsv
run 2 --data other.tsv --tokenizer space --model pairs --resume && fail "resumed with other data"
grep -q 'learned from other texts' log || fail "no word of the other data"
run 0 --steps twelve && fail "a word for a number"
grep -q -e '--steps: wanted a number' log || fail "no word of the number"
echo "mpi: passed"
