#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-discover: each wrong call and each target that is not there has its own message and status.
. "$(dirname "$0")/lib.sh"
requires jq
d="$RDMASTOR nvmf-discover"

# shellcheck disable=SC2086 # several words
{
	fails 2 'no target given: expected a URI' $d
	fails 2 '--traddr is missing' $d -t tcp
	fails 2 'give one of both' $d -t tcp -a 127.0.0.1 nvme+tcp://127.0.0.1
	fails 2 "'file:x' is not an nvme\+rdma: or nvme\+tcp: URI" $d file:x
	fails 2 "'fc'" $d -t fc -a 127.0.0.1
	fails 2 "'a b' is no traddr" $d -t tcp -a 'a b'
	fails 2 '--trsvcid: must be 1 to 65535' $d -t tcp -a 127.0.0.1 -s 99999
	fails 2 "hostid='x' is no UUID" $d 'nvme+tcp://127.0.0.1?hostid=x'
	fails 2 "sparkle" $d 'nvme+tcp://127.0.0.1?sparkle=1'
	fails 2 "rdma='ib': verbs, iwarp and auto are possible" $d 'nvme+rdma://127.0.0.1?rdma=ib'
	fails 2 "dev='x' names an RDMA device; rdma=iwarp uses none" $d 'nvme+rdma://127.0.0.1?rdma=iwarp&dev=x'
	fails 1 '127.0.0.1:1: connection refused: nobody listens at TCP' $d 'nvme+rdma://127.0.0.1:1?rdma=iwarp'
	fails 1 '127.0.0.1:1: .*nobody listens' $d -t tcp -a 127.0.0.1 -s 1
	fails 1 '127.0.0.1:1: .*nobody listens' $d -o normal nvme+tcp://127.0.0.1:1
	fails 1 '127.0.0.1:8009: .*; port 4420: ' $d -t tcp -a 127.0.0.1
	fails 1 '127.0.0.1:1: .*nobody listens' $d --json nvme+tcp://127.0.0.1:1
}
[ "$(jq -r .error.code fails.out)" = refused ] || die "JSON says $(jq -c .error fails.out)"
