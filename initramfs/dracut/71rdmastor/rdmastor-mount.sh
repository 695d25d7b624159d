#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2154 # variables of dracut
# root=iscsi:… names no device: mount the first one with a file system. Also with systemd, whose generator leaves such a root alone.
if [ "$root" = rdmastor ] && [ -e /run/rdmastor/devices ]; then
	command -v fsck_single > /dev/null || . /lib/fs-lib.sh
	udevadm settle --timeout=30
	while read -r rdmastor_from rdmastor_disk; do
		[ "$rdmastor_from" = iscsi: ] || continue
		udevadm info --query=property --name="$rdmastor_disk" | grep -qx ID_FS_USAGE=filesystem || continue
		getargbool 0 rd.skipfsck || fsck_single "$rdmastor_disk" "$fstype"
		mount -t "$fstype" -o "${rflags:-defaults}" "$rdmastor_disk" "$NEWROOT"
		break
	done < /run/rdmastor/devices
	unset rdmastor_from rdmastor_disk
fi
