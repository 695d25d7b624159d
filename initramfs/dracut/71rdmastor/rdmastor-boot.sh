#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# Attach all disks, show the messages as they come, and leave the exit status.
. /lib/dracut-lib.sh

read -r skip < /run/rdmastor/skip
{
	# shellcheck disable=SC2086 # words
	rdmastor boot --mount "$NEWROOT" $skip 2>&1 > /run/rdmastor/devices
	echo $? > /run/rdmastor/status.new
} | while read -r line; do warn "$line"; done
mv /run/rdmastor/status.new /run/rdmastor/status
