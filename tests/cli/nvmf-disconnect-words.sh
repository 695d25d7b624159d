#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-disconnect: wrong calls, and a missing connection.
. "$(dirname "$0")/lib.sh"
requires jq
d="$RDMASTOR nvmf-disconnect --dry-run"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'URI -n -d --all' $d
	error 2 usage nvme0 "'nvme0' -n -d" $d nvme0 -n nqn.x
	error 1 not-found /dev/null status $d nvme987 /dev/null
	error 2 usage 'nvme[+]tcp://127.0.0.1/nqn.x[?]paths=all' "'all' auto" $d nvme987 'nvme+tcp://127.0.0.1/nqn.x?paths=all'
	error 1 not-found /dev/null status $d -d /dev/null
	error 2 usage '' '-d empty' $d -d ''
	error 2 usage '' '-d empty' $d -d ,
	: >nvme0
	error 1 not-found "$TMP/nvme0" status $d -d "$TMP/nvme0"
	error 2 usage '' "-t 'fc' rdma tcp" $d --all -t fc
	error 2 usage 'nvme[+]tcp://127.0.0.1/nqn.x[?]sparkle=1' "'sparkle'" \
		$d 'nvme+tcp://127.0.0.1/nqn.x?sparkle=1'
}
none() {
	ours nvmf-disconnect --json "$@" |
		jq -e '.results == [] and (has("error") | not)' >/dev/null
}
none -n nqn.never.connected || die "an NQN that is not connected"
for gone in nvme987 '-d sdzzz9' '-d /gone/nvme0' '-d nvme987 -n nqn.x' '-d nvme987,nvme988'; do
	# shellcheck disable=SC2086 # several words
	none $gone || die "$gone: what is gone"
done
none nvme+tcp://192.0.2.1/nqn.never.connected || die "a URI that is not connected"
none nvme+tcp://192.0.2.1/nqn.never.connected 'nvme+tcp://192.0.2.2/nqn.never.connected?paths=auto' nvme987 ||
	die "several that are not connected"
uri='nvme+tcp://127.0.0.1/nqn.never.connected?secret-file=/gone/with/its/stick'
RDMASTOR_DHCHAP_SECRET=worn none "$uri" ||
	die "an end needs no secret"
"$RDMASTOR" nvmf-disconnect -n nqn.never.connected >out || die "in text: status $?"
[ -s out ] || die "prints nothing"
