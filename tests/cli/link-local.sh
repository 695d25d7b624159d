#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2154 # $peer is set by two_hosts
# Link-local addresses between two network namespaces whose interfaces have different numbers: the server reports addresses
# without its own scope, and the client adds the interface through which it asked.
. "$(dirname "$0")/lib.sh"
requires unshare ip jq python3
two_hosts
ip link add unused type veth || { echo "needs veth"; exit 77; } # for other numbers
wire here there
other ip link set lo up
other ip addr add fe80::a/64 dev there nodad
other ip link set there up
ip addr add fe80::b/64 dev here nodad
ip link set here up
theirs=$(other cat /sys/class/net/there/ifindex 2>/dev/null || other ip -o link show there | cut -d: -f1)
mine=$(ip -o link show here | cut -d: -f1)
[ "$mine" != "$theirs" ] || die "the interfaces have the same number"

nsenter -n -t $peer "$RDMASTOR" serve ram:1M --nvmf --nqn "$NQN" --tcp "[fe80::a%there]:4420" \
	--iscsi --iqn iqn.2024-01.test:disk --tcp "[fe80::a%there]:3260" --json >served 2>errors &
cleanup_fn kill $!
wait_until grep -q 'fe80::a.*3260' served
! grep '%' served || die "the server's own number is reported"
own="fe80::a%$mine"
ours nvmf-discover -t tcp -a fe80::a%here -s 4420 --json >out || die "$(cat out)"
same discovery "$own" "$(jq -r '.records[0].traddr' out)"
ours nvmf-connect-all "nvme+tcp://[fe80::a%here]:4420" --dry-run --json -q "$HOST" >out || die "$(cat out)"
jq -r ".results[0].line" out | grep -Eq "traddr=fe80::a%(here|$mine)," || die "$(cat out)"
ours iser-discover "iscsi://[fe80::a%here]" --json >out || die "$(cat out)"
same SendTargets "$own" "$(jq -r '.records[0].traddr' out)"
same 'the probe' tcp "$(jq -r '.records[0].transports[0]' out)"
same 'the disk of a record' 1048576 "$(ours info "nvme+tcp://[$own]:4420/$NQN" --json | jq .size)"
