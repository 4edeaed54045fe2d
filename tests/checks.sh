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
