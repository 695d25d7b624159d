#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# info opens a disk for reading and reports whether it could be written, of each kind of disk.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

read_only() { # EXPECTED URI [COMMAND…]: runs info behind that command
	local want=$1 uri=$2
	shift 2
	"$@" "$RDMASTOR" info "$uri" --json >info.json || die "info $uri"
	valid info.json
	same "read_only of $uri" "$(jq .read_only info.json)" "$want"
}

truncate -s 1M disk
read_only false ram:1M
read_only false null:1M
read_only true 'ram:1M?ro=1'
read_only false disk
read_only true 'file:disk?ro=1'
ours info disk >out
grep -q '^read-only: *no$' out || die "$(cat out)"
chmod 444 disk
if [ "$(id -u)" = 0 ]; then
	chmod 755 .
	command -v setpriv >/dev/null && setpriv --reuid 65534 test -x "$RDMASTOR" -a -r "$PWD/disk" &&
		read_only true "$PWD/disk" setpriv --reuid 65534 --regid 65534 --clear-groups
else
	read_only true disk
fi
chmod 644 disk

offer disk --nbd "unix:$SOCK" --name w
read_only false "nbd+unix:///w?socket=$SOCK"
stop
offer disk --nbd "unix:$SOCK" --ro
read_only true "$URI"
stop
serve disk --nvmf --tcp 127.0.0.1:0
read_only false "$TCP"
read_only true "$TCP?ro=1"
stop
serve disk --nvmf --tcp 127.0.0.1:0 --ro
read_only true "$TCP"
stop

if [ "$(id -u)" = 0 ] && device=$(losetup -r -f --show disk 2>/dev/null); then
	cleanup_fn losetup -d "$device"
	read_only true "$device"
fi
if [ "$(id -u)" = 0 ]; then
	mkdir there
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -c 'mount --bind . there && mount -o remount,bind,ro there && "$RDMASTOR" info there/disk --json >info.json' &&
		same "read_only on a file system mounted read-only" "$(jq .read_only info.json)" true
fi
exit 0
