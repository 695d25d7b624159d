#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# detach accepts the device names of export; a missing device is success.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:detach jq
[ ! -e /dev/ublkc77777 ] || { echo "this machine has such a device"; exit 77; }
for word in /dev/sda /dev/ublkb /dev/ublkbx /dev/ublkb0p1 /dev/ublkb99999999999 ./file ''; do
	error 2 usage '' "'$word' /dev/ublkbN /dev/nbdN" "$RDMASTOR" detach "$word"
done
error 2 usage '' '\<DEVICE\> missing|expected|given' "$RDMASTOR" detach
error 2 usage '' "'/dev/ublkb1' operand" "$RDMASTOR" detach /dev/ublkb0 /dev/ublkb1
for word in /dev/ublkb77777 ublkb77777; do
	out=$("$RDMASTOR" detach "$word") || die "$word: status $?"
	[[ $out == /dev/ublkb77777:* ]] || die "output: $out"
done
ours detach /dev/ublkb77777 --json --dry-run | jq -e '.dry_run and .device == "/dev/ublkb77777" and .existed == false and .detached == false' >/dev/null || die "JSON"
