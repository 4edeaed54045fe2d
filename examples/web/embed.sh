#!/bin/sh
# embed.sh PAGE FOLDER   prints PAGE with its parts inside: each line <!-- embed FILE --> becomes the
# text of FILE; <!-- embed NAME.wasm --> the bytes of FOLDER/NAME.wasm, by gzip and base64
page=$1 folder=$2
while IFS= read -r line; do
  file=$(printf '%s\n' "$line" | sed -n 's/^ *<!-- embed \([^ ]*\) -->$/\1/p')
  case $file in
    '') printf '%s\n' "$line" ;;
    *.wasm) gzip -9 -n -c "$folder/$file" | base64 | tr -d '\n' || exit 1 ;;
    *) cat "$file" || exit 1 ;;
  esac
done <"$page"
