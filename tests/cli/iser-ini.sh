#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Disks behind iser://: wrong URIs, a target that has TCP only or nothing at all, and the disk served on by another protocol.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

IQN=iqn.2024-01.lab:d
error 2 usage iser:// 'iser://HOST/IQN/LUN' ours info iser://
error 2 usage iser://127.0.0.1 'iser://HOST/IQN/LUN iser-discover' ours info iser://127.0.0.1
error 2 usage 'iser://127.0.0.1/a%20disk' "'a disk' name blanks" ours info iser://127.0.0.1/a%20disk
error 2 usage 'iser:.*' "LUN 'x'" ours info iser://127.0.0.1/$IQN/x
error 2 usage 'iser:.*' "'usb' verbs iwarp auto" ours info "iser://127.0.0.1/$IQN/0?rdma=usb"
error 2 usage 'iser:.*' 'dev rdma=iwarp' ours info "iser://127.0.0.1/$IQN/0?rdma=iwarp&dev=mlx5_0"
error 2 usage 'iser:.*' "'hdr_digest'" ours info "iser://127.0.0.1/$IQN/0?hdr_digest=1"
error 2 usage 'iser:.*' "'iface'" ours info "iser://127.0.0.1/$IQN/0?iface=lo"
error 2 usage 'iser:.*' 'CHAP user' ours info "iser://127.0.0.1/$IQN/0?user=joe"
error 1 refused '127.0.0.1:1' 'refused' ours info "iser://127.0.0.1:1/$IQN/0?rdma=iwarp"

random_file disk 4
serve disk --iscsi --tcp 127.0.0.1:0 --iqn $IQN
PORTAL=$(sed -nE 's#^rdmastor: +iscsi://([^/]*)/.*#\1#p' out)
declare -A pids
for rdma in auto iwarp; do # most of the time is spent waiting for RDMA, the rest is for TCP
	"$RDMASTOR" info "iser://$PORTAL/$IQN/0?rdma=$rdma&timeout=10" >/dev/null 2>err.$rdma &
	pids[$rdma]=$!
done
for rdma in auto iwarp; do
	wait "${pids[$rdma]}" && die "iser:// at a portal without RDMA: $(cat err.*)"
done
for rdma in auto iwarp; do
	grep -q "^rdmastor info: $PORTAL: .*; iSCSI over TCP answers there$" err.$rdma || die "$rdma: $(cat err.$rdma)"
	grep -q "^hint: iscsi://$PORTAL/$IQN/0$" err.$rdma || die "$rdma: $(cat err.$rdma)"
done
stop

# what it serves is served on over NVMe/TCP, and comes back the same
serve disk --iscsi --rdma '127.0.0.1:0?rdma=iwarp' --iqn $IQN
ISER=$(sed -n 's/^rdmastor: *//p' out)
ours copy -q --verify "$ISER?rdma=iwarp&queues=4&depth=8" back
cmp disk back || die 'read over iSER'
FIRST=$SERVER
cleanup_fn end_first
end_first() { kill -KILL "$FIRST" 2>/dev/null || true; }
serve "$ISER?rdma=iwarp" --nvmf --tcp 127.0.0.1:0 --nqn "$NQN"
ours copy -q --verify "$TCP" back1
cmp disk back1 || die 'iSER relayed over NVMe/TCP'
random_file other 4
ours copy -q --force other "$TCP"
cmp other disk || die 'written over NVMe/TCP and iSER'
stop
SERVER=$FIRST
stop
