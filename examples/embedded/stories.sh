#!/bin/sh
# stories.sh MAKE...   stories260K of llama2.c, which lies in the folder STORIES, on the PC and on the emulated
# board BOARD: the stories, whether tokens and logits of the board are those of the PC, and what they cost.
cd "$(dirname "$0")" || exit 1
. ./lib.sh
make="$*"
for file in stories260K.bin tok512.bin; do
  [ -f "$STORIES/$file" ] || { echo "skipped, needs STORIES, a folder with $file of llama2.c"; exit 77; }
done
$make "$OUT/pc/stories" || exit 1
echo 'Once upon a time' >"$OUT/stories.txt"
"$OUT/syn" tokenize -m "$OUT/stories.safetensors" --ids "$OUT/stories.txt" >"$OUT/stories.in" || exit 1
(cat "$OUT/stories.in"; echo) | "$OUT/pc/stories" >"$OUT/stories.pc" || exit 1
sed -n '/^[0-9]/p' "$OUT/stories.pc" | paste -d ' ' "$OUT/stories.in" - >"$OUT/stories.all"
"$OUT/syn" tokenize -m "$OUT/stories.safetensors" --ids --back "$OUT/stories.all" || exit 1
if ! have_tools; then echo "$BOARD: skipped, needs $missing"; exit 0; fi
$make "$OUT/$BOARD/stories-test.elf" "$OUT/$BOARD/stories-table.elf" "$OUT/icnt.so" || exit 1
emulate "$BOARD" "$OUT/$BOARD/stories-test.elf" "$OUT/stories.in" "$OUT/stories.board" || exit 1
for side in pc board; do grep -v '^#' "$OUT/stories.$side" >"$OUT/stories.$side.answers"; done
cmp "$OUT/stories.pc.answers" "$OUT/stories.board.answers" || exit 1
: >"$OUT/none.few"
for lines in none.few stories.in; do # opening the model is not counted
  opening=${total:-0}
  emulate "$BOARD" "$OUT/$BOARD/stories-table.elf" "$OUT/$lines" "$OUT/table.out" -plugin "$OUT/icnt.so" -d plugin \
    -D "$OUT/table.count" || exit 1
  total=$(sed -n 's/^library \([0-9]*\) .*/\1/p' "$OUT/table.count")
done
tokens=$(figure tokens "$OUT/table.out")
"${CROSS}size" "$OUT/$BOARD/stories-table.elf" | awk 'NR == 2 { print $1 + $2, $2 + $3 }' >"$OUT/table.size"
read -r flash ram <"$OUT/table.size"
echo "$BOARD: tokens and logits of the PC; $tokens tokens, prompt included, $(((total - opening) / tokens)) instructions each;" \
  "flash $flash, RAM $ram, stack $(figure stack "$OUT/stories.board") bytes"
