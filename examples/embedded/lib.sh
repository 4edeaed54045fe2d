# lib.sh   what test.sh and table.sh share. MACHINES: "board:machine of qemu ...", from the Makefile.

# Says which Debian package is missing; status 1 then.
have_tools() {
  missing=
  command -v "${CROSS}gcc" >/dev/null 2>&1 || missing=gcc-arm-none-eabi
  [ -n "$missing" ] || "${CROSS}gcc" -print-file-name=nano.specs | grep -q / || missing=libnewlib-arm-none-eabi
  command -v "$QEMU" >/dev/null 2>&1 || missing="${missing:+$missing }qemu-system-arm"
  [ -z "$missing" ]
}

# emulate BOARD ELF INPUT OUTPUT QEMU-OPTIONS...   Sends the lines of INPUT once the self-test is over.
emulate() {
  machine=$(echo "$MACHINES" | tr ' ' '\n' | sed -n "s/^$1://p")
  elf=$2 input=$3 output=$4
  shift 4
  : >"$output"
  {
    waited=0
    while ! grep -q self-test "$output" && [ "$waited" -lt 300 ]; do
      sleep 0.1
      waited=$((waited + 1))
    done
    cat "$input"
    echo
  } | timeout "${LIMIT:-300}" "$QEMU" -M "$machine" -display none -monitor none -serial stdio \
    -semihosting-config enable=on,target=native "$@" -kernel "$elf" >"$output" 2>"$output.log"
}

# Lines "gesture TAB numbers" become "integers TAB gesture": thousandths of g, as a sensor gives them.
thousandths() {
  awk -F '\t' '{ n = split($2, x, " ")
    for (i = 1; i <= n; i++) printf "%d%s", x[i] * 1000 + (x[i] < 0 ? -0.5 : 0.5), i < n ? " " : "\t" $1 "\n" }'
}

figure() { # NAME FILE: the number of a line "# NAME number"
  sed -n "s/^# $1 //p" "$2" | head -n 1
}
