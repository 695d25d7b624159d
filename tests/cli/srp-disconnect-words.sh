#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-disconnect: wrong calls, unknown names; a missing target or session is success.
. "$(dirname "$0")/lib.sh"
requires jq
d="$RDMASTOR srp-disconnect"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'target URI add_target host6 --all' $d
	error 2 usage '' '--all .target' $d --all host6
	error 2 usage '' '--all .target' $d --all --id-ext 1
	error 2 usage '' 'id_ext ioc_guid' $d --id-ext 1
	error 2 usage nbd://x/y 'srp: srp\+cm: URI' $d nbd://x/y
	error 2 usage sparkle=1 "'sparkle' add_target max_it_iu_size" $d sparkle=1
	error 1 not-found /dev/null 'SRP' $d --json host9999 /dev/null
	error 1 not-found /dev/null 'SRP host6 /dev/sda' $d --json /dev/null
	for gone in host9999 /dev/sdzzz9 x srp+cm://127.0.0.1:5555/2/abcdef0123456789 srp://5/2/abcdef0123456789 id_ext=abcdef0123456789,ioc_guid=2 '--id-ext abcdef0123456789 --ioc-guid 2' 'host9999 srp://5/2/abcdef0123456789'; do
		$d $gone >out && [ -s out ] || die "$gone: $(cat out)"
		ours srp-disconnect --json $gone >out
		jq -e '.schema == "rdmastor.srp-disconnect" and .results == []' out >/dev/null ||
			die "$gone: the document"
	done
}
