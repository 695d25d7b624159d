#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest host is served in time, whatever its neighbours do: hosts that freeze, that want everything, that promise data
# and don't send it, and that are only slow. Few of them, and more than there are reserved buffers for.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

serve ram:64M --nvmf --tcp 127.0.0.1:0 --nqn "$NQN" --queues 2 --poll-us 0
among() { # KIND COUNT LIMIT-MS PID…
	PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/neighbours.py" nvme "$PORT" "$SERVER" "$1" "$2" "$3" "$NQN" "${@:4}" >out.py 2>&1 ||
		die "$(cat out.py)"
	cat out.py
}
among frozen 2 500
among frozen 60 500
among greedy 8 500
among lying 2 500
among lying 60 2000
among slow 60 2000
stop

# Hosts over RDMA whose processes are stopped with writes in flight: their connections have to be ended without their help.
serve ram:64M --nvmf --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --nqn "$NQN" --queues 1 --poll-us 0
hosts=()
go_on() { kill -KILL "${hosts[@]}" 2>/dev/null || true; }
cleanup_fn go_on
for i in $(seq 12); do
	"$RDMASTOR" bench "$RDMA&hostnqn=nqn.test:stopped$i" --rw write --bs 128k --iodepth 64 --runtime 60 --poll-us 0 >/dev/null 2>&1 &
	hosts+=($!)
	disown $!
done
sleep 1
kill -0 "${hosts[@]}" || die 'a host ended'
among stopped 12 500 "${hosts[@]}"
stop
