#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-disconnect: wrong calls, and what is not connected.
. "$(dirname "$0")/lib.sh"
requires jq
d="$RDMASTOR nvmf-disconnect --dry-run"

# shellcheck disable=SC2086 # several words
{
	fails 2 'what to disconnect is missing: a URI, -n NQN, -d DEVICE, or --all' $d
	fails 2 'say the same thing: give one of both' $d nvme0 -n nqn.x
	fails 1 "there is no NVMe-oF connection 'nvme987'" $d nvme987
	fails 1 "there is no NVMe-oF connection '/dev/null'" $d -d /dev/null
	fails 1 "there is no NVMe-oF connection 'sda1'" $d --json -d sda1
	fails 2 'the name of a device is empty' $d -d ''
	fails 2 'the name of a device is empty' $d -d ,
	fails 1 "there is no NVMe-oF connection '/tmp/nvme0'" $d -d /tmp/nvme0
	fails 2 'not one of rdma\|tcp' $d --all -t fc
	fails 2 "unknown key 'sparkle'" $d 'nvme+tcp://127.0.0.1/nqn.x?sparkle=1'
}
[ "$("$RDMASTOR" nvmf-disconnect -n nqn.never.connected)" = 'nothing is connected' ] || die "an NQN that is not connected"
"$RDMASTOR" nvmf-disconnect --json nvme+tcp://192.0.2.1/nqn.never.connected | jq -e '.connections == []' >/dev/null || die "JSON"
uri='nvme+tcp://127.0.0.1/nqn.never.connected?secret-file=/gone/with/its/stick'
[ "$(RDMASTOR_DHCHAP_SECRET=worn "$RDMASTOR" nvmf-disconnect "$uri")" = 'nothing is connected' ] || die "an end needs no secret"
