#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An export whose length is not a multiple of 512 is a disk of the next multiple: the rest reads as zeroes and takes only zeroes.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit cmp jq

head -c 100000 /dev/urandom >src
cp src disk
kit file disk
[ "$(ours info "$URI" --json | jq .size)" = 100352 ] || die size
ours copy "$URI" dst --verify >out || die "from it"
cmp -n 100000 src dst || die "bytes differ"
cmp -n 352 -i 100000:0 dst /dev/zero || die "the rest of the last block is not zero"
head -c 100000 /dev/urandom >src2
ours copy src2 "$URI" --verify >out || die "to it"
cmp src2 disk || die "bytes differ on the server"
head -c 100352 /dev/urandom >src3
error 1 io "$(ere "$URI")" '\<write\> byte.[0-9]+ no.space' "$RDMASTOR" copy src3 "$URI"
down
truncate -s 100000 sparse
kit file sparse
ours copy "$URI" dst4 >out || die "a hole"
cmp -n 100352 dst4 /dev/zero || die "a hole of odd length"
down

# the tail behind the last whole minimum block, by a server that takes short requests there, and by one that does not
policy() {
	kit --filter=blocksize-policy "$@" blocksize-minimum=4096 blocksize-preferred=4096 blocksize-maximum=32M
}
policy file disk
[ "$(ours info "$URI" --json | jq .size)" = 102400 ] || die "minimum block 4096: $(ours info "$URI" --json)"
ours copy "$URI" dst5 --verify >out || die "with its tail"
cmp -n 100000 disk dst5 || die "the tail differs"
ours copy src "$URI" --verify >out || die "to its tail"
cmp src disk || die "the tail differs on the server"
down
policy file disk blocksize-error-policy=error
error 1 io "$(ere "$URI")" 'read at.byte.[0-9]+ last.1696.bytes keep-going' "$RDMASTOR" copy "$URI" dst6
ours copy "$URI" dst7 --keep-going --json >out
same "status without the tail" $? 3
valid out
same "bytes without the tail" "$(jq -c '[.copied_bytes, .unreadable_bytes]' out)" '[98304,4096]'
cmp -n 98304 disk dst7 || die "all but the tail differs"
down

# a size that is 2^63 when rounded up
kit -r null size=9223372036854775807
ours info "$URI" --json >out || die "largest size"
grep -q "\"size\":9223372036854775296" out || die "largest size: $(cat out)"
down
error 2 usage null:8E '8E' "$RDMASTOR" info null:8E
"$RDMASTOR" bench null:9223372036854775296 --offset 7E --size 1M --runtime 0.1 >out || die "bench at 7E"
