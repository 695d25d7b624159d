#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-discover: each wrong call and each missing target has its own message and status.
. "$(dirname "$0")/lib.sh"
requires jq
d="$RDMASTOR nvmf-discover"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'URI --transport --traddr' $d
	error 2 usage '' '--traddr ADDRESS' $d -t tcp
	error 2 usage '' 'URI -t -a' $d -t tcp -a 127.0.0.1 nvme+tcp://127.0.0.1
	error 2 usage file:x "nvme[+]rdma: nvme[+]tcp:" $d file:x
	error 2 usage '' "-t 'fc' rdma tcp" $d -t fc -a 127.0.0.1
	error 2 usage '' "traddr 'a.b'" $d -t tcp -a 'a b'
	error 2 usage '' '--trsvcid 65535' $d -t tcp -a 127.0.0.1 -s 99999
	error 2 usage 'nvme[+]tcp://127.0.0.1[?]hostid=x' "hostid= 'x' UUID" \
		$d 'nvme+tcp://127.0.0.1?hostid=x'
	error 2 usage 'nvme[+]tcp://127.0.0.1[?]sparkle=1' "'sparkle'" \
		$d 'nvme+tcp://127.0.0.1?sparkle=1'
	error 2 usage 'nvme[+]rdma://127.0.0.1[?]rdma=ib' "rdma= 'ib' verbs iwarp auto" \
		$d 'nvme+rdma://127.0.0.1?rdma=ib'
	error 2 usage 'nvme[+]rdma://127.0.0.1[?]rdma=iwarp&dev=x' "dev= 'x' rdma=iwarp" \
		$d 'nvme+rdma://127.0.0.1?rdma=iwarp&dev=x'
	error 1 refused 127.0.0.1:1 'connection.refused' $d 'nvme+rdma://127.0.0.1:1?rdma=iwarp'
	error 1 refused 127.0.0.1:1 'connection.refused' $d -t tcp -a 127.0.0.1 -s 1
	error 1 - '^rdmastor nvmf-discover: 127.0.0.1:1: ' 'connection.refused' \
		$d -o normal nvme+tcp://127.0.0.1:1
	error 1 refused 127.0.0.1 'connection.refused 8009 4420' $d -t tcp -a 127.0.0.1
	same 'refusals reported' "$(grep -o refused error.err | wc -l)" 1
	error 1 refused 127.0.0.1:1 'connection.refused' $d nvme+tcp://127.0.0.1:1
}
