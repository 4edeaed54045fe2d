#!/bin/sh
# table.sh MAKE...   for each board: instructions of the library for a token of the output (gestures: for a row
# of the source, of 64; vibration: of 16; keywords: for a row, 40 a second, with the front end), bytes of flash
# (program and model), of RAM (stack of STACK_SIZE bytes included) and of the library's code.
cd "$(dirname "$0")" || exit 1
. ./lib.sh
make="$*"
if ! have_tools; then echo "table: skipped, needs $missing"; exit 0; fi
$make "$OUT/dates_data" "$OUT/letters_data" "$OUT/signals" "$OUT/vibration_data" || exit 1
"$OUT/signals" test 2 2 | thousandths | cut -f 1 >"$OUT/gestures.few"
for demo in gestures_cnn gestures_att; do cp "$OUT/gestures.few" "$OUT/$demo.few"; done
vibrations 8 3 | cut -f 1 >"$OUT/vibration.few"
head -n 2 keywords_sounds.tsv | cut -f 1 >"$OUT/keywords.few"
"$OUT/dates_data" test 20 | cut -f 1 >"$OUT/dates.few"
"$OUT/letters_data" 20 | cut -f 1 >"$OUT/letters.few"
count() { # LINES: instructions of the library for them
  emulate "$board" "$elf" "$OUT/$1.few" "$OUT/table.out" -plugin "$OUT/icnt.so" -d plugin -D "$OUT/table.count"
  sed -n 's/^library \([0-9]*\) .*/\1/p' "$OUT/table.count"
}
printf '%-14s %-17s %14s %8s %8s %8s\n' demo board instructions flash RAM code
# Fewer lines: without a floating-point unit a token takes hundreds of millions of instructions. What
# opening a model takes is not counted.
: >"$OUT/none.few"
head -n 5 "$OUT/dates.few" >"$OUT/dates_float.few"
cp "$OUT/dates_float.few" "$OUT/dates64_float.few"
head -n 5 "$OUT/letters.few" >"$OUT/letters_float.few"
for demo in gestures gestures_cnn gestures_att vibration keywords dates letters dates_float dates64_float letters_float; do
  for pair in $MACHINES; do
    board=${pair%%:*}
    case $board in rv32*) have_riscv || continue ;; esac
    elf=$OUT/$board/$demo-table.elf
    if ! $make "$elf" >"$OUT/build.log" 2>&1; then # too little memory on this board
      printf '%-14s %-17s %14s\n' $demo "$board" "does not fit"
      continue
    fi
    opening=0
    case $demo in *_float) opening=$(count none) ;; esac
    total=$(count $demo)
    # the self-test answers its sentence twice, the second time counted
    case $demo in
      gestures*|vibration|keywords) tokens=$(figure rows "$OUT/table.out") ;;
      *) tokens=$(($(figure tokens "$OUT/table.out") + 2 * $(figure "self-test tokens" "$OUT/table.out"))) ;;
    esac
    code=$("${CROSS}nm" -S "$elf" | awk '$3 ~ /[tT]/ && $4 ~ /^syn_/ { print "0x" $2 }' |
      while read -r n; do echo $((n)); done | awk '{ n += $1 } END { print n }')
    "${CROSS}size" "$elf" | awk 'NR == 2 { print $1 + $2, $2 + $3 }' >"$OUT/table.size"
    read -r flash ram <"$OUT/table.size"
    printf '%-14s %-17s %14s %8s %8s %8s\n' $demo "$board" $(((total - opening) / tokens)) "$flash" "$ram" "$code"
  done
done
