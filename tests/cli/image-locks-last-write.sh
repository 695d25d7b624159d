#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A killed writer whose write is still in flight in the kernel keeps its lock until that write has completed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires losetup mkfs.ext4 mount fsfreeze qemu-io
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
truncate -s 32M low
mkfs.ext4 -q low
device=$(losetup -f --show low 2>err) || { echo "no loop device: $(cat err)"; exit 77; }
cleanup_fn losetup -d "$device"
mkdir mnt
mount "$device" mnt 2>err || { echo "no mounting: $(cat err)"; exit 77; }
cleanup_fn umount -l mnt
truncate -s 1M mnt/disk

offer mnt/disk --nbd "unix:$SOCK"
fsfreeze --freeze mnt
thaw() { fsfreeze --unfreeze mnt 2>/dev/null; }
cleanup_fn thaw
qemu-io -f raw -c 'write -P 0x5a 0 64k' "$URI" >io 2>&1 &
client=$!
in_kernel() { grep -qsE '^State:[[:blank:]]+D' "/proc/$SERVER/task/"*/status; }
wait_running "$client" in_kernel
kill -KILL "$SERVER"
kill "$client" 2>/dev/null || true
wait "$client" || true
error 1 busy mnt/disk '' "$RDMASTOR" export mnt/disk --nbd "unix:$TMP/other.sock"
thaw
offer mnt/disk --nbd "unix:$SOCK"
stop
