#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-logout: wrong calls, unknown names; a missing target or session is success.
. "$(dirname "$0")/lib.sh"
requires jq
o="$RDMASTOR iser-logout"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'session URI --target --portal session1 --all' $o
	error 2 usage '' '--all [^-_]target' $o --all session1
	error 2 usage '' '--all [^-_]target' $o --all -p 127.0.0.1
	error 2 usage '' '^[^:]*--target.*--portal' $o -T iqn.x:gone
	error 2 usage '' "'-u' iscsiadm.*iser-logout.-T" $o -u
	error 2 usage '' "'-m' iscsiadm.*iser-logout.-T" $o -m node -T iqn.x:a -p 127.0.0.1 -u
	error 2 usage '' "'--targetname' iscsiadm.*-T" $o --targetname iqn.x:a -p 127.0.0.1
	error 2 usage '' "'nbd://x/y' iser: iscsi: URI" $o nbd://x/y
	error 2 usage '' "'disk 1' name blanks" $o iscsi://127.0.0.1/disk%201
	error 1 not-found /dev/null 'session URI session1 /dev/sda' $o --json /dev/null
	for gone in iscsi://127.0.0.1:9/iqn.x:gone iser://127.0.0.1:9 session9999 /dev/sdzzz9 iqn.x:gone '-T iqn.x:gone -p 127.0.0.1:9,1' '-p 127.0.0.1:9 -t tcp'; do
		$o $gone >out && [ -s out ] || die "$gone: $(cat out)"
		ours iser-logout --json $gone >out
		jq -e '.schema == "rdmastor.iser-logout" and .sessions == []' out >/dev/null ||
			die "$gone: the document"
	done
}
