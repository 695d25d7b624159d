#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Killed and restarted under load: the initiator reconnects, nothing is lost.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires fio

truncate -s 16M disk
for carrier in TCP RDMA; do
	serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
	port=$PORT uri="$TCP?"
	[ $carrier = TCP ] || uri="$RDMA&"
	ours export "${uri}queues=2&loss=forever" --run 'fio --name=v --ioengine=nbd --uri="$uri" --rw=randwrite --bs=16k --rate=6m --size=12M --iodepth=8 --verify=crc32c --verify_fatal=1' \
		>fio.out 2>&1 &
	load=$!
	wait_running $load under_load "$SERVER"
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null || true
	sleep 0.5
	serve disk --nvmf --nqn "$NQN" --tcp "127.0.0.1:$port" --rdma "127.0.0.1:$port?rdma=iwarp"
	wait $load || die "$carrier: $(cat fio.out)"
	stop
done
