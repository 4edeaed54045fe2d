#!/bin/sh
# check.sh [COMMAND...]   the one gate: the commands in order (`make -C tests` when none is given), then
# every lane of tests/Makefile, two at a time. Ends with "N passed, N failed, N skipped", status 1 when any
# failed. A command that ends with such a line itself counts as what that line says.
cd "$(dirname "$0")/.." || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
[ $# -gt 0 ] || set -- "make --no-print-directory -C tests"
passed=0 failed=0 skipped=0

count() { # PATTERN: lines of the log
  grep -c "$1" "$log"
}

for command; do
  echo "== $command"
  { sh -c "$command" && echo "status 0" >>"$log.status"; } 2>&1 | tee "$log"
  line=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
  if [ -n "$line" ]; then
    read -r p f s <<EOF
$line
EOF
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ -f "$log.status" ] || [ "$f" -gt 0 ] || failed=$((failed + 1))
  elif [ -f "$log.status" ]; then
    passed=$((passed + 1))
  else
    echo "FAILED: $command"
    failed=$((failed + 1))
  fi
  rm -f "$log.status"
done

echo "== lanes"
rm -f tests/build/times.txt tests/build/*/times.txt
make --no-print-directory -C tests -k -j2 lanes 2>&1 | grep -v '^make' | tee "$log"
passed=$((passed + $(count '^lane [a-z0-9]*: passed$')))
skipped=$((skipped + $(count '^lane [a-z0-9]*: skipped: ')))
failed=$((failed + $(count '^lane [a-z0-9]*: FAILED$')))
for lane in $(make -s --no-print-directory -C tests lane_names); do
  grep -q "^lane $lane: " "$log" && continue
  echo "lane $lane: no word from it"
  failed=$((failed + 1))
done
[ "$(count '^lane ')" -gt 0 ] || failed=$((failed + 1))
slowest() { # FILE...: the five longest times, "12 s lane asan, 9 s lane ubsan" or "5 s ubsan/test_kinds.c"
  for file; do
    folder=${file%/times.txt} folder=${folder#tests/build} folder=${folder#/}
    sed "s|^\([0-9]* s \)|\1${folder:+$folder/}|" "$file"
  done | sort -rn | head -n 5 | tr '\n' ',' | sed 's/,$//; s/,/, /g'
}
echo "== the slowest lanes: $(slowest tests/build/times.txt)"
echo "== the slowest units: $(slowest tests/build/*/times.txt)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
