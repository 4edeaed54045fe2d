# checks.sh   what the scripts test_*.sh share. Read it by `. "$(dirname "$0")/checks.sh"`: it names the
# folder of the tests `here`, goes to an empty folder `dir`, which is removed at the end, and counts checks.
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
checks=0 failed=0

need_syn() { # SYN is the tool; built here unless it is named already
  [ -z "$SYN" ] || return 0
  SYN=$dir/syn
  ${CC:-cc} -O2 "$here/../tools/syn.c" -o "$SYN" -lm || exit 1
}
is() { # is NAME WANTED GOT
  checks=$((checks + 1))
  [ "$2" = "$3" ] && return
  failed=$((failed + 1))
  printf 'FAILED %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
}
has() { # has NAME PATTERN GOT: a shell pattern that GOT must match
  case $3 in
    $2) is "$1" ok ok ;;
    *) is "$1" "$2" "$3" ;;
  esac
}
same() { # same NAME FILE FILE: the same bytes
  is "$1" same "$(cmp -s "$2" "$3" && echo same || echo different)"
}
words() { # words LETTERS SEED COUNT [ALTERNATIVE]: lines "abc TAB cba"; every third ends with ALTERNATIVE
  awk -v letters="$1" -v seed="$2" -v count="$3" -v alternative="$4" 'BEGIN {
    size = length(letters); x = seed
    for (i = 0; i < count; i++) {
      x = (x * 7141 + 54773) % 259200; n = 1 + x % (size + 1); s = ""; t = ""
      for (k = 0; k < n; k++) {
        x = (x * 7141 + 54773) % 259200; c = substr(letters, 1 + int(x / (259200 / size)), 1)
        s = s c; t = c t
      }
      print s "\t" t (i % 3 ? "" : alternative)
    }
  }'
}
