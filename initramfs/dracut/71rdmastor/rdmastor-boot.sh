#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# Attach all disks, and leave the exit status; the messages are for the console.
. /lib/dracut-lib.sh

read -r skip < /run/rdmastor/skip
# shellcheck disable=SC2086 # words
rdmastor boot --mount "$NEWROOT" $skip > /run/rdmastor/devices 2> /run/rdmastor/messages.new
status=$?
while read -r line; do warn "$line"; done < /run/rdmastor/messages.new
echo "$status" > /run/rdmastor/status
