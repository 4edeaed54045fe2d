#!/bin/sh
# test.sh MAKE...   the demos on the PC, then on every emulated board, whose answers and hashes must be those
# of the PC. Ends with "N passed, N failed", status 1 when any failed. INPUTS lines are sent to dates.
cd "$(dirname "$0")" || exit 1
. ./lib.sh
passed=0 failed=0
verdict() { # STATUS NAME TEXT
  if [ "$1" = 0 ]; then passed=$((passed + 1)) word=passed; else failed=$((failed + 1)) word=FAILED; fi
  echo "$2: $word${3:+, $3}"
}
answers() { grep -v '^[#]' "$1"; } # without the lines of figures

# The lines that are sent, with the right answers.
prepare() { # DEMO DATA COUNT ARGUMENTS...
  demo=$1 data=$2 count=$3
  shift 3
  "$OUT/$data" "$@" "$count" >"$OUT/$demo.test"
  cut -f 1 "$OUT/$demo.test" >"$OUT/$demo.in"
}
# pc DEMO LEAST: at least LEAST percent of the answers are right
pc() {
  (cat "$OUT/$1.in"; echo) | "$OUT/pc/$1" >"$OUT/$1.pc" || { verdict 1 "$1 on the PC" "its self-test"; return; }
  cut -f 2 "$OUT/$1.test" >"$OUT/$1.want"
  total=$(wc -l <"$OUT/$1.want")
  right=$(answers "$OUT/$1.pc" | sed '/^model /d; /^self-test /d; /^learned /d' | head -n "$total" | paste -d '|' - "$OUT/$1.want" |
    awk -F '|' '$1 == $2' | wc -l)
  [ $((right * 100)) -ge $((total * $2)) ]
  verdict $? "$1 on the PC" "$right of $total answers right, $2 % wanted"
}
# faults: what vibration calls a fault, of 2,000 windows; 80 of them are sent to the boards
faults() {
  vibrations 2000 3 >"$OUT/vibration.all"
  head -n 80 "$OUT/vibration.all" | cut -f 1 >"$OUT/vibration.in"
  for part in all in; do
    (cut -f 1 "$OUT/vibration.$part"; echo) | "$OUT/pc/vibration" >"$OUT/vibration.pc" ||
      { verdict 1 "vibration on the PC" "its self-test"; return; }
    [ $part = in ] || grep -E '^(healthy|fault) ' "$OUT/vibration.pc" >"$OUT/vibration.answers"
  done
  text=$(cut -f 2 "$OUT/vibration.all" | paste -d ' ' - "$OUT/vibration.answers" |
    awk '{ n[$1]++; faults[$1] += $2 == "fault" }
      END { for (kind in n) part[kind] = 100 * faults[kind] / n[kind]
        printf "a fault in %.1f %% of healthy windows, bearing %.1f %%, looseness %.1f %%, imbalance %.1f %%\n",
          part["healthy"], part["bearing"], part["looseness"], part["imbalance"]
        exit !(part["healthy"] <= 3 && part["bearing"] >= 95 && part["looseness"] >= 75 && part["imbalance"] >= 35) }')
  verdict $? "vibration on the PC" "$text"
}
# on BOARD DEMO QEMU-OPTIONS...: builds and runs; answers, hash and stack
on() {
  board=$1 demo=$2 out=$OUT/$1/$2.out
  shift 2
  if ! $make "$OUT/$board/$demo-test.elf" >"$OUT/build.log" 2>&1; then
    verdict 1 "$demo on $board" "does not build: $(tail -n 1 "$OUT/build.log")"
    return
  fi
  emulate "$board" "$OUT/$board/$demo-test.elf" "$OUT/$demo.in" "$out" "$@"
  status=$?
  if [ $status != 0 ]; then verdict 1 "$demo on $board" "status $status"; return; fi
  answers "$out" >"$out.answers"
  answers "$OUT/$demo.pc" | cmp -s - "$out.answers" || { verdict 1 "$demo on $board" "not the answers of the PC"; return; }
  stack=$(for call in open encode source step; do figure "stack of $call" "$out"; done | tr '\n' ' ')
  most=$(echo "$stack" | tr ' ' '\n' | sort -n | tail -n 1)
  [ "$most" -le 512 ]
  verdict $? "$demo on $board" "the answers and logits of the PC; stack of open, encode, source, step: $stack"
}

# float_on BOARD DEMO MODEL: the answers of `syn run`, all that the program has in RAM
float_on() {
  board=$1 demo=$2 out=$OUT/$1/$2.out elf=$OUT/$1/$2-test.elf
  if ! $make "$elf" "$OUT/syn" >"$OUT/build.log" 2>&1; then
    verdict 1 "$demo on $board" "does not build: $(tail -n 1 "$OUT/build.log")"
    return
  fi
  head -n 20 "$OUT/dates.in" >"$OUT/$demo.in"
  "$OUT/syn" run -m "$3" --beam 1 "$OUT/$demo.in" >"$OUT/$demo.want"
  emulate "$board" "$elf" "$OUT/$demo.in" "$out"
  answers "$out" | cmp -s - "$OUT/$demo.want" || { verdict 1 "$demo on $board" "not the answers of the PC"; return; }
  ram=$("${CROSS}size" "$elf" | awk 'NR == 2 { print $2 + $3 }')
  [ "$ram" -le 65536 ]
  verdict $? "$demo on $board" "the answers of the PC; RAM with stack $ram bytes, 65536 at most"
}

# cost_on BOARD NAME LAYOUT DEMO BEST: what `syn info --board NAME --best BEST` says is within 5 % of what was counted:
# flash without the program around the library, RAM, stack; instructions, in another program, which marks each of the
# model
cost_on() {
  board=$1 plain=$OUT/$1/cost-plain-$4.elf marked=$OUT/$1/cost-$4.elf out=$OUT/$1/cost-$4.out
  "$OUT/syn" embed -m "$OUT/$4.safetensors" --layout $3 --best $5 --name cost -o "$OUT/cost_$1_$4.h"
  options="-include $OUT/cost_$1_$4.h -DCOST_ARRAY=cost_model -DCOST_SEARCH=0,$5"
  if ! $make COST_OPTIONS="$options -DCOST_PLAIN" "$plain" >"$OUT/build.log" 2>&1 ||
    ! $make COST_OPTIONS="$options" "$marked" "$OUT/icnt.so" >"$OUT/build.log" 2>&1; then
    verdict 1 "cost of $4 on $1" "does not build: $(tail -n 1 "$OUT/build.log")"
    return
  fi
  emulate "$1" "$plain" /dev/null "$out.plain"
  emulate "$1" "$marked" /dev/null "$out" -plugin "$OUT/icnt.so" -d plugin -D "$out.marks"
  tokens=$(figure "self-test tokens" "$out")
  own=$("${CROSS}nm" -S "$plain" | awk '$4 ~ /^(board_|main|run$|serial_|vectors)/ { print "0x" $2 }' |
    while read -r n; do echo $((n)); done | awk '{ n += $1 } END { print n }')
  stack=$(figure "stack of open" "$out.plain")
  most=$(figure "stack of step" "$out.plain")
  [ "$most" -gt "$stack" ] || most=$stack
  measured="$(($("${CROSS}size" "$plain" | awk 'NR == 2 { print $1 + $2 }') - own)) $(figure RAM "$out.plain") $most
    $(sed -n '2,$s/^mark //p' "$out.marks" | awk '{ n += $1 } END { print n }')"
  text=$("$OUT/syn" info -m "$OUT/$4.safetensors" --board $2 --best $5 --json | tail -n 1 |
    sed 's/.*"flash":\([0-9]*\),"ram":\([0-9]*\),"stack":\([0-9]*\),"instructions":\([0-9]*\).*/\1 \2 \3 \4/' |
    awk -v measured="$(echo $measured)" -v tokens="$tokens" '{
      split(measured, m, " "); split("flash RAM stack instructions", name, " ")
      for (i = 1; i <= 4; i++) {
        e = 100 * ($i * (i == 4 ? tokens : 1) / m[i] - 1)
        printf "%s%s %+.1f %%", (i > 1 ? ", " : ""), name[i], e
        if (!(m[i] > 0) || e > 5 || e < -5) bad = 1
      }
      if (bad) print ": wanted 5 % at most"
    }')
  case $text in *wanted*) false ;; *%*) true ;; *) false ;; esac
  verdict $? "what info --board says of $4 on $1" "$text"
}

make="$*"
mkdir -p "$OUT"
$make "$OUT/dates_data" "$OUT/commands_data" "$OUT/letters_data" "$OUT/pc/dates" "$OUT/pc/dates_i4" "$OUT/pc/commands" \
  "$OUT/pc/learn" "$OUT/pc/letters" "$OUT/pc/gestures" "$OUT/pc/gestures_cnn" \
  "$OUT/pc/gestures_att" "$OUT/pc/vibration" "$OUT/pc/keywords" || exit 1
prepare dates dates_data "$INPUTS" test
prepare commands commands_data 200 test
sed 's/$/	?/' commands_other.txt >>"$OUT/commands.test" # sentences that are no commands
cut -f 1 "$OUT/commands.test" >"$OUT/commands.in"
cp "$OUT/dates.test" "$OUT/dates_i4.test"
cp "$OUT/dates.in" "$OUT/dates_i4.in"
head -n 200 "$OUT/commands.test" | sed 's/0=/5=/' >"$OUT/learn.test"
cut -f 1 "$OUT/learn.test" >"$OUT/learn.in"
"$OUT/letters_data" 20 unseen >"$OUT/letters.test"
cut -f 1 "$OUT/letters.test" >"$OUT/letters.in"
"$OUT/signals" test 90 2 | thousandths >"$OUT/gestures.test"
cut -f 1 "$OUT/gestures.test" >"$OUT/gestures.in"
cp "$OUT/gestures.test" "$OUT/gestures_cnn.test"
cp "$OUT/gestures.in" "$OUT/gestures_cnn.in"
for part in test in; do head -n 30 "$OUT/gestures.$part" >"$OUT/gestures_att.$part"; done
cp keywords_sounds.tsv "$OUT/keywords.test"
cut -f 1 "$OUT/keywords.test" >"$OUT/keywords.in"
pc gestures 95
pc gestures_cnn 95
pc gestures_att 95
faults
pc keywords 30 # of few voices, or refused; the next line counts without refusing
"$OUT/keywords_data" unpack 1 1 <keywords_test.tsv >"$OUT/keywords_test.tsv"
right=$("$OUT/syn" eval -m "$OUT/keywords.safetensors" --data "$OUT/keywords_test.tsv" | sed 's/[^ ]* //')
[ "${right%.*}" -ge 50 ]
verdict $? "keywords" "$right % of 36 words of voices that were never heard, 50 wanted"
! printf '\r\n0\n' | "$OUT/pc/keywords" | grep -q wanted
verdict $? "keywords" "a line of CR and LF alone is empty and ends the program"
pc dates 95
pc dates_i4 95
pc commands 95
pc learn 95
if [ -f "$OUT/letters.short" ]; then pc letters 50; else pc letters 0; fi # or the words of another model

if $make "$OUT/mutate" >"$OUT/build.log" 2>&1; then
  text=$("$OUT/mutate" 2>"$OUT/mutate.log" | tail -n 1)
  [ -n "$text" ] && [ ! -s "$OUT/mutate.log" ]
  verdict $? "damaged models" "$text$(head -n 3 "$OUT/mutate.log")"
else
  echo "damaged models: skipped, needs a compiler with sanitizers"
fi

if have_tools; then
  for board in $BOARDS; do on $board dates; done
  for board in microbit an386; do on $board dates_i4; done
  for board in m0 an386 an505; do on $board learn; done
  for board in an385 an386 an547; do on $board letters; done
  for board in m0 an386 an547; do
    for demo in gestures gestures_cnn gestures_att vibration keywords; do on $board $demo; done
  done
  for cost in "an386 an386 smlad gestures_att 0" "m0 m0-16k smlad gestures 0" "an385 an385 smlad gestures_cnn 0" \
    "an547 an547 mve gestures_cnn 0"; do cost_on $cost; done
  for model in dates dates64; do float_on an386 ${model}_float "$OUT/$model.safetensors"; done
  text=$(printf 'the fourth of may nineteen oh six\r\nthe first of june two thousand\r\n' |
    $make run DEMO=dates BOARD=an386 2>&1 | grep -c '^[12][0-9]*-')
  [ "$text" = 2 ]
  verdict $? "make run" "$text answers to 2 lines that end with CR and LF"
  on an386 commands -icount shift=5
  echo "   the longest slice of $(sed -n 's/.*SLICE = \([0-9]*\).*/\1/p' commands.c) multiply-adds takes" \
    "$(figure "longest slice in microseconds" "$OUT/an386/commands.out") microseconds at 32 ns an instruction"
  echo "   RAM with which learn learns: $(figure "RAM without stack" "$OUT/an386/learn.out") bytes and the stack," \
    "$(figure "stack of learning" "$OUT/an386/learn.out") bytes"
else
  echo "boards: skipped, needs $missing"
fi
if have_riscv; then
  for demo in dates dates_i4 gestures gestures_cnn gestures_att vibration keywords; do on rv32 $demo; done
  for demo in dates vibration; do on rv32d $demo; done
  cost_on rv32 esp32c3 smlad gestures_att 0
  cost_on rv32 esp32c3 smlad keywords 1
else
  echo "rv32: skipped, needs $missing"
fi
text=$(BOARD=an547 ./stories.sh "$@" 2>&1)
status=$?
text=$(echo "$text" | tail -n 1)
if [ $status = 77 ]; then echo "stories: $text"; else verdict $status stories "$text"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
