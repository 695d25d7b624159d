#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The udev rule for ublk devices, applied to a loop device: it creates links where udev skips such devices, as before systemd 257,
# so that root= can name a disk or a partition, and does not probe a second time with later versions.
# shellcheck disable=SC2016,SC2154 # a script for a namespace; names of lib.sh
. "$(dirname "$0")/lib.sh"
requires unshare udevadm sfdisk mkfs.ext4 losetup addpart
[ "$(id -u)" = 0 ] && unshare -m sh -c 'mount -t tmpfs none /mnt && mknod /mnt/null c 1 3' 2>/dev/null ||
	{ echo "needs root that may make devices in namespaces"; exit 77; }
system=/usr/lib/udev/rules.d/60-persistent-storage.rules
[ -e $system ] || system=/lib/udev/rules.d/60-persistent-storage.rules
[ -e $system ] || { echo "needs the rules of udev"; exit 77; }
truncate -s 12M disk part
mkfs.ext4 -q -L name -U 11111111-2222-3333-4444-555555555555 disk
printf 'label: gpt\nsize=8M, name=root, uuid=66666666-2222-3333-4444-555555555555\n' | sfdisk -q part
mkfs.ext4 -q -L inner -U 77777777-2222-3333-4444-555555555555 -E offset=1048576 part 8M
loop=$(losetup -f) && losetup -P "$loop" disk 2>err || { echo "needs loop devices"; exit 77; }
losetup -d "$loop"
rule=$top/initramfs/dracut/71rdmastor/60-rdmastor-ublk.rules

# probed IMAGE PARTITION RULES…: what udev does with the image, or its partition, by these rules: links, and how often blkid ran
probed() {
	local image=$1 part=$2 loop
	shift 2
	rm -rf rules.d
	mkdir rules.d
	for file; do sed 's/"ublkb\*"/"loop*"/' "$file" >"rules.d/${file##*/}"; done
	loop=$(losetup -P -f --show "$image")
	# not every kernel reads GPT
	[ -z "$part" ] || [ -e "/sys/class/block/${loop#/dev/}$part" ] || addpart "$loop" 1 2048 16384
	unshare -m bash -c 'mkdir -p /run/udev && mount -t tmpfs none /run && mkdir -p /run/udev/rules.d
		mount --bind "$2" /run/udev/rules.d
		for dir in /etc/udev /usr/lib/udev /lib/udev; do [ ! -d $dir ] || mount -t tmpfs none $dir; done
		mount -t tmpfs none /dev
		mknod /dev/null c 1 3
		for name in "$1" "${1%p1}"; do
			IFS=: read -r major minor <"/sys/class/block/$name/dev"
			[ -e "/dev/$name" ] || mknod "/dev/$name" b "$major" "$minor"
		done
		udevadm test --action=add "/sys/class/block/$1"' - "${loop#/dev/}$part" "$PWD/rules.d" >out 2>&1
	losetup -d "$loop"
	sed -n 's/^DEVLINKS=//p' out | tr ' ' '\n' | grep -E 'by-(uuid|label|partuuid|partlabel)/' | sort | xargs
	echo "blkid $(grep -c "results of builtin command 'blkid'" out)"
}
disk='/dev/disk/by-label/name /dev/disk/by-uuid/11111111-2222-3333-4444-555555555555'
inner='/dev/disk/by-label/inner /dev/disk/by-partlabel/root /dev/disk/by-partuuid/66666666-2222-3333-4444-555555555555'
inner+=' /dev/disk/by-uuid/77777777-2222-3333-4444-555555555555'
same "a disk" "$(probed disk '' "$rule")" "$disk"$'\nblkid 1'
same "a disk that udev knows" "$(probed disk '' "$rule" $system)" "$disk"$'\nblkid 1'
truncate -s 12M empty
same "an empty disk that udev knows" "$(probed empty '' "$rule" $system)" $'\nblkid 1'
same "a partition" "$(probed part p1 "$rule")" "$inner"$'\nblkid 1'
same "a partition that udev knows" "$(probed part p1 "$rule" $system)" "$inner"$'\nblkid 1'
