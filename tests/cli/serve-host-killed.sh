#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Hosts killed under load leave nothing behind: the target continues for others, then stops cleanly.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file src 8
serve ram:8M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --queues 2
for uri in "$TCP?queues=4" "$RDMA&queues=4"; do
	for _ in 1 2 3; do
		"$RDMASTOR" export "$uri" --nbd "unix:$TMP/sock" --ready-fd 3 3>ready.host >/dev/null 2>&1 &
		host=$!
		wait_running $host test -s ready.host
		"$RDMASTOR" copy -q src "nbd+unix:///?socket=$TMP/sock&loss=fail-fast" 2>/dev/null &
		load=$!
		sleep 0.05
		kill -KILL $host
		wait $host 2>/dev/null || true
		wait $load || true
		rm -f ready.host sock
	done
	ours copy -q --verify src "$uri"
done
left() {
	kill -USR1 "$SERVER"
	sleep 0.1
	[ "$(grep -E '^(hosts|queues):' err | tail -2 | xargs)" = 'hosts: 0 queues: 0' ]
}
wait_running "$SERVER" left
stop
