#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-logout: wrong calls, names of nothing, and that what is gone already is success.
. "$(dirname "$0")/lib.sh"
requires jq
o="$RDMASTOR iser-logout"

# shellcheck disable=SC2086 # several words
{
	fails 2 'what to log out of is missing: a URI, --target and --portal, session1, a disk, or --all' $o
	fails 2 '--all and a target say different things' $o --all session1
	fails 2 '--all and a target say different things' $o --all -p 127.0.0.1
	fails 2 '--target goes with --portal' $o -T iqn.x:gone
	fails 2 'is not an iser: or iscsi: URI' $o nbd://x/y
	fails 2 "'disk1' is no iSCSI name" $o iscsi://127.0.0.1/disk1
	fails 1 'session99: there is no iSCSI session of this name' $o session99
	fails 1 '/dev/null: there is no iSCSI session of this name' $o --json /dev/null
	for gone in iscsi://127.0.0.1:9/iqn.x:gone iser://127.0.0.1:9 '-T iqn.x:gone -p 127.0.0.1:9' '-p 127.0.0.1:9 -t tcp'; do
		[ "$($o $gone)" = 'nothing is logged in' ] || die "$gone"
	done
	$o --json iscsi://127.0.0.1:9/iqn.x:gone | jq -e '.schema == "rdmastor.iser-logout" and .sessions == []' >/dev/null || die "the document"
}
