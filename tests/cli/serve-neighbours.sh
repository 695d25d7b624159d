#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest host is served, whatever its neighbours do: hosts that freeze, that take all they can, that announce data and don't
# send it, and that are only slow, more of them than there are reserved buffers. How long it may wait for each of them is in the
# frame_* tests, with a clock of their own.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

serve ram:64M --nvmf --tcp 127.0.0.1:0 --nqn "$NQN" --queues 2 --poll-us 0
among() { # COUNT [PID…]
	PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/neighbours.py" nvme "$PORT" "$SERVER" "$1" "$NQN" "${@:2}"
}
among 60
stop

# Hosts over RDMA whose processes are stopped with writes in flight: their connections have to be ended without their help.
serve ram:64M --nvmf --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --nqn "$NQN" --queues 1 --poll-us 0
hosts=()
go_on() { kill -KILL "${hosts[@]}" 2>/dev/null || true; }
cleanup_fn go_on
for i in $(seq 12); do
	"$RDMASTOR" bench "$RDMA&hostnqn=nqn.test:stopped$i" --rw write --bs 128k --iodepth 64 --runtime 3600 --poll-us 0 >/dev/null 2>&1 &
	hosts+=($!)
	disown $!
done
all_write() { # a queue for administration and one for I/O each
	kill -USR1 "$SERVER"
	sleep 0.1
	[ "$(grep '^hosts:' err | tail -1 | xargs)" = 'hosts: 12' ] && under_load "$SERVER"
}
wait_running "$SERVER" all_write
kill -0 "${hosts[@]}" || die 'a host ended'
among 0 "${hosts[@]}"
stop
