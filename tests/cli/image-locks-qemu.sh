#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# qemu's programs and ours see each other's locks of an image, in both directions.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires qemu-io qemu-nbd qemu-img

random_file disk 2
cp disk src

# ours first
offer disk --nbd "unix:$SOCK"
refused 1 'Failed to get "write" lock' qemu-io -f raw -c 'write 0 4k' disk
refused 1 'Failed to get "write" lock' qemu-nbd -f raw -k "$TMP/qemu.sock" disk
refused 1 'Failed to get shared "write" lock' qemu-img convert -f raw -O raw disk image
qemu-io -r -U -f raw -c 'read 0 4k' disk >/dev/null || die 'a reader that shares it is refused'
stop
qemu-io -f raw -c 'write -P 0x11 0 4k' disk >/dev/null || die 'the lock is left'

# qemu first
up qemu-nbd -t -f raw -k "$SOCK" disk
error 1 busy disk 'qemu-nbd pid.[0-9]+' ours copy src disk
error 1 busy disk 'qemu-nbd pid.[0-9]+' ours serve disk --nvmf --tcp 127.0.0.1:0
ours copy disk image >/dev/null 2>copy.err || die "a copy of it is refused: $(cat copy.err)"
grep -q 'disk: .*qemu-nbd' copy.err || die "no warning: $(cat copy.err)"
ours copy src disk --force >/dev/null || die 'force'
down
ours copy src disk >/dev/null || die 'the lock is left'

# a block device as well, which qemu does not open exclusively
[ "$(id -u)" = 0 ] || exit 0
device=$(losetup -f --show src 2>/dev/null) || exit 0
cleanup_fn losetup -d "$device"
up qemu-nbd -t -f raw -k "$SOCK" "$device"
error 1 busy "$device" qemu-nbd ours copy disk "$device"
down
offer "$device" --nbd "unix:$SOCK"
refused 1 'Failed to get "write" lock' qemu-io -f raw -c 'write 0 4k' "$device"
stop
