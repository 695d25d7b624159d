#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Of a qcow2 image and of a sparse file only the data is read, as qemu-nbd, nbdkit's counters and libnbd see it.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires qemu-nbd qemu-img nbdkit nbdinfo nbdsh cmp jq

holes raw
qemu-img convert -f raw -O qcow2 raw img.qcow2 || die "qemu-img"
up qemu-nbd -t -f qcow2 -k "$SOCK" img.qcow2
told=$(nbdinfo --map --json "$URI" | jq '[.[] | select(.type | . % 4 < 2) | .length] | add')
ours copy "$URI" dst --json >out || die "from qcow2"
cmp raw dst || die "bytes differ"
jq -e ".copied_bytes <= $told and .skipped_bytes >= .size - $told" out >/dev/null || die "$(cat out), but qemu-nbd tells of $told bytes of data"
down
qemu-img check -q img.qcow2 || die "the image was harmed"

kit --filter=stats file raw statsfile="$TMP/stats"
told=$(nbdinfo --map --json "$URI" | jq '[.[] | select(.type % 4 < 2) | .length] | add')
[ "$told" = $DATA ] || { echo "this file system keeps no holes of 64 KiB: $told"; exit 77; }
ours copy "$URI" dst2 >out || die "from a file"
cmp raw dst2 || die "bytes differ"
down
grep '^read:' stats | grep -Eq '1\.07 MiB|1140736 bytes|1114 KiB|1\.1 MiB' || die "nbdkit counts: $(cat stats)"

# through our own server the same map comes out
kit file raw
"$RDMASTOR" export "$URI" --nbd "unix:$TMP/again" --name again >/dev/null 2>&1 &
pid=$!
cleanup_fn kill $pid
wait_until test -S again
nbdinfo --map "$URI" >map1
nbdinfo --map "nbd+unix:///again?socket=$TMP/again" >map2
cmp map1 map2 || die "maps differ: $(cat map1) $(cat map2)"
