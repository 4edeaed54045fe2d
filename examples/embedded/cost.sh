#!/bin/sh
# cost.sh MAKE...   counts what each instruction of small models takes on emulated boards, and writes the table
# from which `syn info --board` and `syn train --board` predict; prints how far it is from networks that it was
# not made from. ONLY: a pattern of names of the models that are run.
cd "$(dirname "$0")" || exit 1
. ./lib.sh
make="$*"
if ! have_tools; then echo "cost: skipped, needs $missing"; exit 0; fi
folder=$OUT/cost
mkdir -p "$folder"
$make "$OUT/cost_models" "$OUT/icnt.so" || exit 1
"$OUT/cost_models" "$folder" >"$folder/names" || exit 1
# the demos, with scores where they have them
array() { # NAME BEST FORMAT SYN-ARGUMENTS...
  name=$1 best=$2 format=$3
  shift 3
  "$OUT/syn" embed -m "$OUT/$name.safetensors" --format bin -o "$folder/array" "$@" || exit 1
  { printf '\000\000\000\000\00'"$best"'\000\000\000' && cat "$folder/array"; } >"$folder/$name-$format.bin"
  echo "$name $format" >>"$folder/names"
}
for demo in dates letters gestures gestures_cnn gestures_att keywords; do
  $make "$OUT/$demo.safetensors" || exit 1
  best=0
  [ $demo != keywords ] || best=1
  for layout in smlad mve; do array $demo $best $layout --layout $layout; done
  [ $demo != dates ] || array dates $best i4 --type i4
done
cores="m0 an385 an386 an547"
if have_riscv; then cores="$cores rv32"; fi
kinds=$(sed -n '/cost_code/,$ s/.*COST(\([a-z_0-9]*\),.*/\1/p' ../../tools/cost_table.h)
# all instructions but that of a beam search, which makes others slower
plain="X(linear) X(out) $(echo "$kinds" | grep -v -x -e end -e segment -e beam | sed 's/.*/X(&)/' | tr '\n' ' ')"
for core in $cores; do
  formats="smlad i4"
  [ $core != an547 ] || formats="mve i4"
  for format in $formats; do
    options="-D'SYN_SMALL_FORMATS(X)=X($format)'"
    $make COST_OPTIONS="$options" "$OUT/$core/cost-$format-search.elf" &&
      $make COST_OPTIONS="$options -D'SYN_SMALL_KINDS(X)=$plain'" "$OUT/$core/cost-$format.elf" || exit 1
  done
done
# NAME FORMAT CORE: FOLDER/NAME-FORMAT.CORE gets the marks, FOLDER/NAME-FORMAT.CORE.out the figures
count() {
  machine=$(echo "$MACHINES" | tr ' ' '\n' | sed -n "s/^$3://p")
  qemu=$QEMU bios=
  [ "$machine" != virt ] || qemu=$RISCV_QEMU bios="-bios none"
  at=$(echo "$COST_PLACES" | tr ' ' '\n' | sed -n "s/^$3://p")
  elf=$OUT/$3/cost-$2.elf # a beam: the word before the model
  [ "$(head -c 4 "$folder/$1-$2.bin" | od -An -tx1 | tr -d ' 0\n')" = "" ] || elf=$OUT/$3/cost-$2-search.elf
  # shellcheck disable=SC2086
  timeout 300 $qemu -M "$machine" -display none -monitor none -serial stdio $bios \
    -semihosting-config enable=on,target=native -plugin "$OUT/icnt.so" -d plugin -D "$folder/marks.$3" \
    -device loader,file="$folder/$1-$2.bin",addr=$((at - 8)),force-raw=on -kernel "$elf" \
    </dev/null >"$folder/$1-$2.$3.out" 2>"$folder/log.$3" || { echo "$1-$2 on $3: failed"; cat "$folder/log.$3"; return 1; }
  grep '^mark' "$folder/marks.$3" >"$folder/$1-$2.$3"
}
rm -f "$folder/failed"
for core in $cores; do
  grep "${ONLY:-.}" "$folder/names" | while read -r name format; do
    case $format:$core in mve:an547|smlad:m0|smlad:an385|smlad:an386|smlad:rv32|i4:*) ;; *) continue ;; esac
    count "$name" "$format" $core || { : >"$folder/failed"; exit 1; }
  done &
done
wait
[ ! -f "$folder/failed" ] || exit 1 # a table of a part would look like one of all

# Bytes of code: of linear and out, then of each instruction beside them, of each core.
bytes() { # CORE KINDS CALLS
  format=smlad
  [ "$1" != an547 ] || format=mve
  rm -f "$OUT/$1/cost-size.elf"
  $make COST_SOURCE=cost_size.c COST_OPTIONS="-D'SYN_SMALL_FORMATS(X)=X($format)' -D'SYN_SMALL_KINDS(X)=$2' \
    ${3:+-D'COST_CALLS=$3'}" "$OUT/$1/cost-size.elf" >&2 || exit 1
  "${CROSS}size" "$OUT/$1/cost-size.elf" | awk 'NR == 2 { print $1 + $2 }'
}
text='count = syn_small_encode(s, line, ids, 10); line = syn_small_piece(s, ids[0], 1);'
for core in $cores; do
  none=$(bytes $core "" "")
  base=$(bytes $core "X(linear) X(out)" ";") || exit 1
  for name in $kinds; do
    calls=";"
    case $name in
      end) echo "$name $((base - none))"; continue ;;
      segment) echo "$name $(($(bytes $core "X(linear) X(out)" "$text") - base))"; continue ;;
      features) calls='syn_small_feed(s, 0);' ;;
      numbers) calls='syn_small_numbers(s, 1.0f, numbers, 10);' ;;
      rank) calls='ids[0] = syn_small_reject(s, 1) + syn_small_score(s, 0, ids);' ;;
    esac
    echo "$name $(($(bytes $core "X(linear) X(out) X($name)" "$calls") - base))"
  done >"$folder/code.$core" || exit 1
done
$make "$OUT/cost_fit" || exit 1
{ grep '^fit_' "$folder/names" && grep '^more_' "$folder/names"; } | "$OUT/cost_fit" "$folder" table >"$folder/cost_table.h" || exit 1
cp "$folder/cost_table.h" ../../tools/cost_table.h
$make "$OUT/cost_fit" || exit 1
grep -v -e '^fit_' -e '^more_' "$folder/names" | "$OUT/cost_fit" "$folder" errors
