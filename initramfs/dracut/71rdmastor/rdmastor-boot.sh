#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# Attach all disks, and leave the exit status. Messages go to the console at once, each with its hint on one line.
. /lib/dracut-lib.sh

rdmastor_messages() {
	last=
	while read -r line; do
		case $line in
			*': trying again') warn "$line" ;;
			hint:*) last="$last; $line" ;;
			*)
				[ -z "$last" ] || warn "$last"
				last=$line
				;;
		esac
	done
	[ -z "$last" ] || warn "$last"
}

read -r skip < /run/rdmastor/skip
{
	# shellcheck disable=SC2086 # words
	rdmastor boot --mount "$NEWROOT" $skip > /run/rdmastor/devices
	echo $? > /run/rdmastor/status.new
} 2>&1 | rdmastor_messages
mv /run/rdmastor/status.new /run/rdmastor/status
