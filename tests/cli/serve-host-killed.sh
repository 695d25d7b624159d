#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Hosts killed under load leave nothing behind: the target goes on for others, then stops cleanly.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file src 8
serve ram:8M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --queues 2
for uri in "$TCP?queues=4" "$RDMA&queues=4"; do
	for _ in 1 2 3; do
		"$RDMASTOR" export "$uri" --nbd "unix:$TMP/sock" --ready-fd 3 3>ready.host >/dev/null 2>&1 &
		host=$!
		for _ in $(seq 100); do [ -s ready.host ] && break; sleep 0.05; done
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
for _ in $(seq 50); do
	kill -USR1 "$SERVER"
	sleep 0.1
	[ "$(grep '^hosts:' err | tail -1)" = 'hosts:   0' ] && break
done
[ "$(grep '^queues:' err | tail -1)" = 'queues:  0' ] || die "$(tail -6 err)"
stop
