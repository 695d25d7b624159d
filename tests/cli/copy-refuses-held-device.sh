#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A mounted device, or the file behind one, is not written to without --force, and what holds it is named. Reading it warns.
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
error 1 busy "$device" "mounted $PWD/mnt --force" "$RDMASTOR" copy src "$device"
ln disk same
for file in disk same; do
	error 1 busy $file "\b${device#/dev/}\b" "$RDMASTOR" copy src $file
	error 1 busy $file "\b${device#/dev/}\b" "$RDMASTOR" export $file --nbd "unix:$SOCK"
done
"$RDMASTOR" export disk --ro --nbd "unix:$SOCK" --run true || die "export --ro of the file behind it"
for from in "$device" same; do
	"$RDMASTOR" copy "$from" image >/dev/null 2>copy.err || die "reading a mounted device: $(cat copy.err)"
	grep -q "^rdmastor copy: warning: $from: .*mounted.* $PWD/mnt" copy.err ||
		die "no warning: $(cat copy.err)"
	[ "$(wc -l <copy.err)" = 1 ] || die "more than one line: $(cat copy.err)"
done
"$RDMASTOR" info "$device" >/dev/null || die "info on a mounted device"
mount -o remount,ro mnt
"$RDMASTOR" copy "$device" image >/dev/null 2>copy.err || die "reading a device mounted read-only"
[ ! -s copy.err ] || die "a warning where nothing is written: $(cat copy.err)"
umount mnt
trap 'losetup -d "$device"' EXIT
error 1 busy disk "\b${device#/dev/}\b" "$RDMASTOR" copy src disk
"$RDMASTOR" copy src disk --force >/dev/null || die "--force"
"$RDMASTOR" copy src "$device" --verify >out 2>err || die "not mounted any more: $(cat err)"
cmp src <(dd if="$device" bs=1M status=none) || die "bytes differ"
"$RDMASTOR" export "$device" "$device" --name a --name b --nbd "unix:$SOCK" >/dev/null &
server=$!
trap 'kill "$server"; wait "$server"; losetup -d "$device"' EXIT
wait_running "$server" test -S "$SOCK"
error 1 busy "$device" "rdmastor pid.$server\b" "$RDMASTOR" copy src "$device"
