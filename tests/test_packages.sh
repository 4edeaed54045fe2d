#!/bin/sh
# The packages for boards: each has its files and keys; the generated header and the sketches compile
# without a warning, as C99 and as C++11 without exceptions, by compilers for boards where there are
# some: Arm, RISC-V.
# Run from anywhere: sh tests/test_packages.sh    CC and CXX name the compilers of this machine.
# Ends with "packages: N checks, N failed"; exit 1 when any failed.

. "$(dirname "$0")/checks.sh"
${MAKE:-make} -s -C "$here/../tools" packages TO="$dir/out"
is 'make packages' 0 $?
"$here/../tools/packages" "$dir/out" 2>err
is 'a folder that is there already is refused' 1 $?
cd out || exit 1
version=$(sed -n 's/^#define SYN_VERSION "\(.*\)"/\1/p' "$here/../synthesizer.h")
bytes=$(wc -c <synthesizer_small.h)
is 'the header for boards is small' yes "$([ "$bytes" -lt 150000 ] && echo yes || echo "$bytes")"

keys() { # keys FILE KEY...: each stands in the file
  file=$1
  shift
  for key; do is "$file: $key" 1 "$(grep -cE "$key" "$file")"; done
}
keys arduino/Synthesizer/library.properties ^name= "^version=$version" ^author= ^maintainer= \
  ^sentence= ^paragraph= ^category= ^url= '^architectures=\*' ^includes=synthesizer_small.h
keys platformio/library.json '"name":' "\"version\": \"$version\"" '"description":' '"license":' \
  '"headers": "synthesizer_small.h"'
keys esp-idf/synthesizer/idf_component.yml "^version: \"$version\"" ^description: ^url: ^license:
keys esp-idf/synthesizer/CMakeLists.txt 'idf_component_register.INCLUDE_DIRS "include"'
keys zephyr/synthesizer/zephyr/module.yml '^name: synthesizer' '^  cmake: zephyr' '^  kconfig: zephyr/Kconfig'
keys cmsis/Synthesizer.Synthesizer.pdsc '<vendor>' '<name>' "<release version=\"$version\">" \
  '<component Cclass=' '<file category="include"'
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys, xml.dom.minidom as x
json.load(open("platformio/library.json")), x.parse("cmsis/Synthesizer.Synthesizer.pdsc")'
  is 'JSON and XML are well formed' 0 $?
fi
for copy in arduino/Synthesizer/src platformio/include esp-idf/synthesizer/include \
  zephyr/synthesizer/include cmsis/include; do
  same "the header of $copy" synthesizer_small.h $copy/synthesizer_small.h
done

cat >Arduino.h <<'EOF2'
#include <stddef.h>
#include <stdint.h>
struct HardwareSerial {
  void begin(long), println(), println(int);
  size_t write(const uint8_t *, size_t);
  int read();
};
extern HardwareSerial Serial;
EOF2
printf '#define SYNTHESIZER_IMPLEMENTATION\n#include "synthesizer_small.h"\n' >all.c
strict='-Wall -Wextra -pedantic -Wconversion -Wshadow -Wdouble-promotion -Wundef -Werror'
quiet() { # quiet NAME COMMAND...: compiles without a word
  name=$1
  shift
  is "$name" '' "$("$@" 2>&1 | head -n 5)"
}
quiet 'the header, C99' ${CC:-cc} -std=c99 $strict -fsyntax-only all.c
if command -v ${CXX:-c++} >/dev/null; then
  quiet 'the header, C++11' ${CXX:-c++} -std=c++11 $strict -fsyntax-only -x c++ all.c
fi
board='-std=c++11 -Os -fno-exceptions -fno-rtti -Wall -Wextra -Werror'
if command -v arm-none-eabi-g++ >/dev/null; then
  for sketch in arduino/Synthesizer/examples/*/*.ino platformio/examples/*/*.ino; do
    quiet "$sketch" arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb $board -include ./Arduino.h -Iarduino/Synthesizer/src \
      -x c++ -c "$sketch" -o sketch.o
  done
fi
# RISC-V cores, without floating-point unit and with one
riscv=riscv64-unknown-elf-
if command -v ${riscv}g++ >/dev/null && ${riscv}gcc -print-file-name=picolibc.specs | grep -q /; then
  for core in rv32imc/ilp32 rv32imafdc/ilp32d; do
    flags="--specs=picolibc.specs -march=${core%/*} -mabi=${core#*/} $strict"
    quiet "the header, C99, $core" ${riscv}gcc $flags -std=c99 -Os -c all.c -o all.o
    quiet "the header, C++11, $core" ${riscv}g++ $flags $board -x c++ -c all.c -o all.o
  done
  for sketch in arduino/Synthesizer/examples/*/*.ino; do
    quiet "$sketch, RISC-V" ${riscv}g++ --specs=picolibc.specs -march=rv32imc -mabi=ilp32 $board \
      -include ./Arduino.h -Iarduino/Synthesizer/src -x c++ -c "$sketch" -o sketch.o
  done
fi

echo "packages: $checks checks, $failed failed"
[ "$failed" = 0 ]
