#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-disconnect: wrong calls, names of nothing, and that what is gone already is success.
. "$(dirname "$0")/lib.sh"
requires jq
d="$RDMASTOR srp-disconnect"

# shellcheck disable=SC2086 # several words
{
	fails 2 'what to disconnect is missing: a URI, a string for add_target, host6, a disk, or --all' $d
	fails 2 '--all and a target say different things' $d --all host6
	fails 2 '--all and a target say different things' $d --all --id-ext 1
	fails 2 'id_ext and ioc_guid are needed' $d --id-ext 1
	fails 2 "is no srp: or srp\+cm: URI" $d nbd://x/y
	fails 2 "'sparkle' is nothing that add_target takes" $d sparkle=1
	fails 1 'host99: is no SRP connection' $d host99
	fails 1 '/dev/null: there is no SRP connection of this name' $d --json /dev/null
	for gone in srp+cm://127.0.0.1:5555/2/abcdef0123456789 srp://5/2/abcdef0123456789 id_ext=abcdef0123456789,ioc_guid=2 '--id-ext abcdef0123456789 --ioc-guid 2'; do
		[ "$($d $gone)" = 'nothing is connected' ] || die "$gone"
	done
	$d --json srp://5/2/abcdef0123456789 | jq -e '.connections == []' >/dev/null || die "the document"
}
