#!/bin/sh
# The border between a program and a compiled library: the layout of all public structs is that of tests/abi.txt,
# on each machine whose compiler is here; a program of another version or layout is told so.
# `tests/test_abi.sh write` writes abi.txt anew, for a header that has another layout: then SYN_VERSION and
# SYN_VERSION_NUMBER must be new, too, unless they are not released yet.
. "$(dirname "$0")/checks.sh"
cc=${CC:-cc}
version=$(sed -n 's/^#define SYN_VERSION "\(.*\)"/\1/p' "$here/../synthesizer.h")
machines="x86_64-linux x86_64-windows i686-linux armv7-linux"

compiler() { # MACHINE: its compiler
  case $1 in
    x86_64-linux) [ "$(uname -m)" != x86_64 ] || echo gcc ;;
    x86_64-windows) echo x86_64-w64-mingw32-gcc ;;
    i686-linux) echo i686-linux-gnu-gcc ;;
    armv7-linux) echo arm-linux-gnueabihf-gcc ;;
  esac
}
# The structs of the header in the compiler's own debug information: "struct size", "struct.field offset"
layout() { # MACHINE
  compiler=$(compiler "$1")
  objdump=${compiler%gcc}objdump
  command -v "$compiler" >/dev/null 2>&1 && command -v "$objdump" >/dev/null 2>&1 || return
  printf '#include "synthesizer.h"\nconst unsigned syn_abi[2] = {SYN_ABI, 0xA0B1C2D3};\n' >layout.c
  "$compiler" -w -g -gdwarf-4 -fno-eliminate-unused-debug-types -I"$here/.." -c layout.c -o "$1.o" || return
  "$objdump" -s -j .rodata -j .rdata "$1.o" 2>/dev/null |
    sed -n 's/^ 0000 *\(..\)\(..\)\(..\)\(..\) d3c2b1a0.*/printf "SYN_ABI %d\\n" 0x\4\3\2\1/p' | sh
  "$objdump" --dwarf=info "$1.o" | awk '
    /^ *<[0-9a-f]+><[0-9a-f]+>:/ {
      level = $0; sub(/^ *</, "", level); sub(/>.*/, "", level)
      if (level == "1") { structure = /DW_TAG_structure_type/; name = "" }
      member = structure && level == "2" && /DW_TAG_member/; field = ""
    }
    !structure { next }
    /DW_AT_name/ { if (member) field = $NF; else if (name == "") name = $NF }
    /DW_AT_byte_size/ && !member && name ~ /^syn_/ { print name, $NF }
    /DW_AT_data_member_location/ && name ~ /^syn_/ { print name "." field, $NF }' |
    awk '{ name = $1; sub(/[.].*/, "", name); print name, NR, $0 }' | LC_ALL=C sort -k 1,1 -k 2,2n | cut -d " " -f 3-
}
# One table of what the machines have, a column each
table() {
  for machine in $machines; do
    layout "$machine" >"$machine.layout"
    [ -s "$machine.layout" ] || echo "skipped: $machine needs $(compiler "$machine") and its objdump" >&2
  done
  awk -v machines="$machines" 'BEGIN {
    n = split(machines, machine, " ")
    for (i = 1; i <= n; i++)
      while ((getline line < (machine[i] ".layout")) > 0) {
        split(line, word, " ")
        if (!(word[1] in seen)) { seen[word[1]] = 1; order[++count] = word[1] }
        value[word[1], i] = word[2]
      }
    for (k = 0; k <= count; k++) {
      printf "%-36s", k ? order[k] : "# bytes of structs, offsets of fields"
      for (i = 1; i <= n; i++) printf " %14s", k ? value[order[k], i] : machine[i]
      print ""
    }
  }'
}
column() { awk -v i="$1" 'NR > 1 { print $1, $(i + 1) }' "$2"; }

if [ "$1" = write ]; then
  if git -C "$here" rev-parse -q --verify "refs/tags/v$version" >/dev/null 2>&1; then
    echo "$version is released (tag v$version): give another SYN_VERSION and SYN_VERSION_NUMBER first"
    exit 1
  fi
  table >table || exit 1
  for machine in $machines; do [ -s "$machine.layout" ] || exit 1; done
  cp table "$here/abi.txt"
  exit
fi

table >now
i=0
for machine in $machines; do
  i=$((i + 1))
  [ -s "$machine.layout" ] || continue
  column $i "$here/abi.txt" >wanted.txt
  is "$machine: the layout of tests/abi.txt (see the top of test_abi.sh)" "" \
    "$(diff wanted.txt "$machine.layout" | grep '^[<>]' | head -n 6)"
  sed -n 's/^\(syn_[a-z_]*\) .*/\1/p' "$machine.layout" | sort >structs
  sed -n '/^#define SYN_STRUCTS/,/[^\\]$/p' "$here/../synthesizer.h" | grep -o 'X(syn_[a-z_]*)' |
    sed 's/X(\(.*\))/\1/' | sort >listed
  is "$machine: structs (<) and SYN_STRUCTS (>) are the same" "" "$(diff structs listed | grep '^[<>]')"
done

# -- programs and a library that was compiled apart

if command -v tcc >/dev/null 2>&1; then library="tcc -w"; else library="$cc -w -O0 -DSYN_NO_SIMD"; fi
printf '#define SYNTHESIZER_IMPLEMENTATION\n#include "synthesizer.h"\n' >library.c
$library -I"$here/.." -c library.c -o library.o || exit 1
cat >main.c <<'C'
int main(void) {
  struct { syn_context c; char behind[64]; } x;
  int i, s, changed = 0;
  for (i = 0; i < (int)sizeof x; i++) ((char *)&x)[i] = 99;
  s = (int)syn_context_init(&x.c, NULL);
  for (i = 0; i < 64; i++) changed += x.behind[i] != 99;
  syn_context_clear(&x.c);
  printf("%d %d %d %s\n", s == (int)x.c.status, changed, syn_data_new(&x.c) != NULL, x.c.message);
  return 0;
}
C
cat >program.c <<'C'
#include <stdio.h>
#include "synthesizer.h"
#include "main.c"
C
says() { # HEADER: what a program says that was compiled with it
  mkdir -p other && cp "$1" other/synthesizer.h && $library -Iother program.c library.o -o program -lm && ./program
}
header=$here/../synthesizer.h
is "the same header" "1 0 1 " "$(says "$header")"
sed 's/^#define SYN_VERSION_NUMBER .*/#define SYN_VERSION_NUMBER 13407/' "$header" >newer.h
is "another version" "1 0 0 syn_context_init: this program was compiled with synthesizer.h 1.34.7, the library is \
$version: compile both with the same header" "$(says newer.h)"
for field in "int threads" "size_t decoding" "float alpha"; do
  sed "s/^  $field;/  $field; long one_more;/" "$header" >larger.h
  has "a struct with one field more behind $field" "1 0 0 syn_context_init: program and library are compiled with \
synthesizer.h $version, but with options that change its structs, which have * and * bytes" "$(says larger.h)"
done

# The context of 0.1, which had no number: its callers link the function of this name.
cat >old.c <<'C'
#include <stdio.h>
typedef struct syn_options {
  void *alloc, *release, *user;
  const char *isa;
  int threads;
  void *parallel, *kinds;
  int n_kinds;
  void *cancel, *cancel_user;
  int not_finite;
} syn_options;
typedef struct syn_context {
  syn_options options;
  const void *kernels;
  int status;
  char message[400];
} syn_context;
int syn_context_init(syn_context *c, const syn_options *options);
void syn_context_clear(syn_context *c);
void *syn_data_new(syn_context *c);
#include "main.c"
C
$library old.c library.o -o old -lm
is "a program of 0.1" "1 0 0 syn_context_init: this program was compiled with synthesizer.h 0.1.0, the library is \
$version: compile both with the same header" "$(./old)"

# -- a header under another name must be told it

cp "$header" renamed.h
sed 's/__has_include/__has_nothing/' "$header" >plain.h # for a compiler without __has_include
for name in renamed plain; do
  sed "s/synthesizer.h/$name.h/" library.c >$name.c
  case $cc in tcc*) ;; *) has "$name.h" "*efine SYN_SELF as *" "$($cc -I. -fsyntax-only $name.c 2>&1)" ;; esac
  is "$name.h with SYN_SELF" "" "$($library -I. -DSYN_SELF="\"$name.h\"" -c $name.c -o $name.o 2>&1)"
done

echo "abi: $checks checks, $failed failed"
[ $failed = 0 ]
