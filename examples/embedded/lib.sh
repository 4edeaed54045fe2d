# lib.sh   what test.sh and table.sh share. MACHINES: "board:machine of qemu ...", from the Makefile.

# have CROSS SPECS QEMU PACKAGE...   Says in $missing which Debian packages of compiler, C library and emulator
# are missing; status 1 then.
have() {
  missing=
  command -v "${1}gcc" >/dev/null 2>&1 || missing=$4
  [ -n "$missing" ] || "${1}gcc" -print-file-name="$2" | grep -q / || missing=$5
  command -v "$3" >/dev/null 2>&1 || missing="${missing:+$missing }$6"
  [ -z "$missing" ]
}
have_tools() { have "$CROSS" nano.specs "$QEMU" gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm; }
have_riscv() {
  have "$RISCV_CROSS" picolibc.specs "$RISCV_QEMU" gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc
}

# emulate BOARD ELF INPUT OUTPUT QEMU-OPTIONS...   Sends the lines of INPUT once the self-test is over.
emulate() {
  machine=$(echo "$MACHINES" | tr ' ' '\n' | sed -n "s/^$1://p")
  elf=$2 input=$3 output=$4 qemu=$QEMU
  shift 4
  if [ "$machine" = virt ]; then
    qemu=$RISCV_QEMU
    set -- -bios none "$@"
  fi
  : >"$output"
  {
    waited=0
    while ! grep -q self-test "$output" && [ "$waited" -lt 300 ]; do
      sleep 0.1
      waited=$((waited + 1))
    done
    cat "$input"
    echo
  } | timeout "${LIMIT:-300}" "$qemu" -M "$machine" -display none -monitor none -serial stdio \
    -semihosting-config enable=on,target=native "$@" -kernel "$elf" >"$output" 2>"$output.log"
}

# Lines "gesture TAB numbers" become "integers TAB gesture": thousandths of g, as a sensor gives them.
thousandths() {
  awk -F '\t' '{ n = split($2, x, " ")
    for (i = 1; i <= n; i++) printf "%d%s", x[i] * 1000 + (x[i] < 0 ? -0.5 : 0.5), i < n ? " " : "\t" $1 "\n" }'
}

vibrations() { # COUNT SEED: lines "integers TAB kind" of vibration_data.c, the kinds in turns
  "$OUT/vibration_data" test "$1" "$2" |
    awk '{ split("healthy bearing imbalance looseness", kind, " "); print kind[(NR - 1) % 4 + 1] "\t" $0 }' | thousandths
}

figure() { # NAME FILE: the number of a line "# NAME number"
  sed -n "s/^# $1 //p" "$2" | head -n 1
}
