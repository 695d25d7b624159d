#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A mounted device is not written to without --force, and who holds it is named; reading it is harmless.
. "$(dirname "$0")/lib.sh"
requires losetup mkfs.ext4 mount
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
truncate -s 16M disk
mkfs.ext4 -q disk
device=$(losetup -f --show disk 2>err) || { echo "no loop device: $(cat err)"; exit 77; }
cleanup_fn losetup -d "$device"
mkdir mnt
mount "$device" mnt 2>err || { echo "no mounting: $(cat err)"; exit 77; }
cleanup_fn umount mnt
head -c 16M /dev/urandom >src
fails 1 "$device: is in use: mounted on $PWD/mnt\$" "$RDMASTOR" copy src "$device"
fails 1 "$device: is in use: mounted on" "$RDMASTOR" copy src "$device" --json
grep -q -- '--force' fails.err || die "no way out is named: $(cat fails.err)"
"$RDMASTOR" copy "$device" image >/dev/null || die "reading a mounted device"
"$RDMASTOR" info "$device" >/dev/null || die "info on a mounted device"
umount mnt
trap 'losetup -d "$device"' EXIT
"$RDMASTOR" copy src "$device" --verify >out 2>err || die "not mounted any more: $(cat err)"
cmp src <(dd if="$device" bs=1M status=none) || die "bytes differ"
