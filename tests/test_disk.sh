#!/bin/sh
# Files in places that do not take them: a disk that fills up, closed pipes and closed descriptors, a
# folder that may only be read, a damaged checkpoint. What was saved stays, the next run goes on.
# Run from anywhere: sh tests/test_disk.sh    CC names the compiler, SYN a tool already built.
# Ends with "disk: N checks, N failed"; exit 1 when any failed. (Kills: lanes/disk.)

. "$(dirname "$0")/checks.sh"
need_syn
chmod 755 .

awk 'BEGIN { for (i = 0; i < 40; i++) print substr("abcdefabcdef", i % 6 + 1, i % 4 + 2) "\t" \
  substr("fedcbafedcba", i % 6 + 1, i % 4 + 2) }' >data.tsv
cut -f 1 data.tsv >lines
layers='--encoder pos->res_nd(syn_att(R+V))->norm --decoder pos->res_nd(mh_dot_att)->norm'
net="--data $dir/data.tsv --tokenizer char --d-model 32 --heads 2 --max-len 9 --batch 60 $layers
  --warmup 2 --lr 0.01 --schedule rsqrt --every 2"
train() { "$SYN" train $net "$@"; }
train --steps 2 -o old --checkpoint c2 2>err
is 'train' 0 $?
train --steps 6 -o final --checkpoint c6 2>err
is 'train' 0 $?

# -- a disk that fills up: checkpoint and model fit once, not twice; with room again it goes on --
mkdir tiny
cat >fill <<'EOF'
mount -t tmpfs -o size="$1"k none tiny && cp c2 tiny/c && cp old tiny/m || exit
"$SYN" train $net --steps 6 -o tiny/m --checkpoint tiny/c --resume >log 2>err
echo $? >status
ls tiny >files
cmp tiny/m old && cmp tiny/c c2
echo $? >kept
mount -o remount,size=4m tiny
"$SYN" train $net --steps 6 -o tiny/m --checkpoint tiny/c --resume >log 2>&1
cmp tiny/m final && cmp tiny/c c6
EOF
if unshare -rm mount -t tmpfs -o size=64k none tiny 2>err; then
  export SYN net
  both=$((($(wc -c <c6) + $(wc -c <final)) / 1024 + 8))
  for room in $both $((both + 16)) $((both + 64)); do
    unshare -rm sh fill $room >out 2>&1
    is "a full disk of $room: with space again it goes on" 0 $?
    is "a full disk of $room: status" 1 "$(cat status)"
    has "a full disk of $room" 'syn: tiny/c: cannot write: No space left on device*' \
      "$(tail -n 1 err)"
    is "a full disk of $room: both files stay" 0 "$(cat kept)"
    is "a full disk of $room: nothing else is left" 'c m' "$(echo $(cat files))"
  done
else
  echo "skipped: a disk of some kilobytes: needs unshare -rm with tmpfs"
fi

# -- pipes that nobody reads, with SIGPIPE and without; descriptors that are closed --
train --steps 6 -o m --checkpoint c --json 2>err | true
[ ! -f c ] || is 'a closed pipe: the checkpoint is whole' 0 \
  "$("$SYN" info -m c >out 2>err; echo $?)"
train --steps 6 -o m --checkpoint c --resume 2>err
same 'a closed pipe: it goes on' m final
rm -f m c
(trap '' PIPE; train --steps 6 -o m --checkpoint c --json 2>err; echo $? >status) | sleep 0
is 'a closed pipe, ignored: status' 'yes' "$([ "$(cat status)" -le 1 ] && echo yes)"
same 'a closed pipe, ignored: the model' m final
same 'a closed pipe, ignored: the checkpoint' c c6
(trap '' PIPE; "$SYN" run -m final lines 2>err; echo $? >status) | sleep 0
rm -f m c
train --steps 6 -o m --checkpoint c <&- >&- 2>&-
is 'no descriptors: status' yes "$([ $? -le 1 ] && echo yes)"
same 'no descriptors: the model' m final
same 'no descriptors: the checkpoint' c c6
"$SYN" run -m final lines >want 2>err
"$SYN" run -m final lines 2>&- >got
same 'no stderr: the outputs' got want

# -- a folder that may only be read: said before the first step, and nothing in it changes --
mkdir fixed && cp c2 fixed/c && cp old fixed/m && chmod 444 fixed/* && chmod 555 fixed
user=
[ "$(id -u)" -ne 0 ] || user='setpriv --reuid=65534 --regid=65534 --clear-groups'
if $user true 2>err && ! $user touch fixed/x 2>err && chmod 777 . && $user "$SYN" help >out 2>err; then
  $user "$SYN" train $net --steps 6 -o fixed/m >out 2>err
  is 'a read-only folder: status' 1 $?
  is 'a read-only folder' 'syn: fixed/m: cannot create a file beside it: Permission denied' "$(cat err)"
  $user "$SYN" train $net --steps 6 -o m --checkpoint fixed/c --resume >out 2>err
  is 'a read-only checkpoint: status' 1 $?
  is 'a read-only checkpoint' 'syn: fixed/c: cannot create a file beside it: Permission denied' "$(cat err)"
  same 'a read-only folder: its model' fixed/m old
  same 'a read-only folder: its checkpoint' fixed/c c2
  is 'a read-only folder: its files' 'c m' "$(echo $(ls fixed))"
  "$SYN" run -m fixed/m lines >out 2>err
  is 'a read-only model runs' 0 $?
else
  echo "skipped: a read-only folder: needs setpriv or another user than root"
fi

# -- pages and arrays: a file that cannot be written whole stays what it was --
"$SYN" embed -m final -o net.h && cp net.h whole.h
"$SYN" trace -m final -o net.html && cp net.html whole.html
train --steps 1 --encoder 'linear(65536)->linear(2)' -o odd 2>err
"$SYN" embed -m odd -o net.h 2>err
is 'embed: a layer that has no instructions: status' 1 $?
has 'embed: a layer that has no instructions' 'syn: small model: a size of linear encoder.0 is 65536, *' \
  "$(cat err)"
same 'embed: a layer that has no instructions: the file stays' net.h whole.h
limited() { (trap '' XFSZ; ulimit -f 1; "$SYN" "$@" 2>err); } # files of one block at most
limited embed -m final -o net.h --layout file
is 'embed: a file too large: status' 1 $?
has 'embed: a file too large' 'syn: net.h: cannot write: *' "$(cat err)"
same 'embed: a file too large: the file stays' net.h whole.h
limited trace -m final -o net.html
is 'trace: a file too large: status' 1 $?
same 'trace: a file too large: the page stays' net.html whole.html
is 'nothing else is left' '' "$(ls ./*.tmp 2>err)"
if [ -c /dev/full ]; then
  "$SYN" embed -m odd -o /dev/full 2>err
  is 'embed: a device stays' yes "$([ -c /dev/full ] && echo yes)"
fi

# -- what a killed run leaves behind; a damaged checkpoint --
cp c2 c && echo half >syn-0123456789abcdef.tmp && echo half >m.tmp
train --steps 6 -o m --checkpoint c --resume 2>err
is 'half a file of a killed run: status' 0 $?
same 'half a file of a killed run: the model' m final
cp c2 c
size=$(wc -c <c)
printf '\125' | dd of=c bs=1 seek=$((size - 200)) conv=notrunc 2>err
cp c damaged
train --steps 6 -o m --checkpoint c --resume >out 2>err
is 'a damaged checkpoint: status' 1 $?
has 'a damaged checkpoint' 'syn: c: *the file is damaged: its content has the checksum*' "$(tail -n 1 err)"
same 'a damaged checkpoint stays' c damaged
sed 's/train.checksum/xrain.checksum/' c2 >c # as earlier versions wrote it
train --steps 6 -o m --checkpoint c --resume 2>err
is 'a checkpoint without checksum: status' 0 $?
same 'a checkpoint without checksum' m final

echo "disk: $checks checks, $failed failed"
[ $failed = 0 ]
