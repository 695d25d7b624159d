#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An export whose length is no multiple of 512 is a disk of the next one: behind its end there are zeroes, and nothing else can be.
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
# what its own minimum block cannot reach is out of reach
kit --filter=blocksize-policy file disk blocksize-minimum=4096 blocksize-preferred=4096 blocksize-maximum=32M
[ "$(ours info "$URI" --json | jq .size)" = 98304 ] || die "minimum block 4096: $(ours info "$URI" --json)"
