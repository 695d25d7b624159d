#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Each of our connections, as a server and as a client, has TCP's keep-alive with the first probe due within half a minute.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh ss

# probed COUNT FILTER: there are that many ends of connections, and each has that timer once what it sent has been acknowledged
probed() {
	wait_until have_timers "$@"
	grep -Evq 'timer:\(keepalive,([0-9]+ms|[0-9](\.[0-9]+)?sec|[12][0-9]sec|30sec),' ends && die "a late probe: $(cat ends)"
	true
}
have_timers() {
	ss -tnoH state established "$2" >ends
	[ "$(grep -c 'timer:(keepalive' ends)" = "$1" ]
}

serve ram:8M --nvmf --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --nqn "$NQN" --queues 1
cleanup_fn kill -KILL "$SERVER"
for uri in "$TCP" "$RDMA"; do
	offer "$uri" --nbd 127.0.0.1:0 --queues 1
	port=$(sed -E 's#.*:([0-9]+)/.*#\1#' <<<"$uri")
	nbd=$(sed -nE 's#.*nbd://[^/]*:([0-9]+).*#\1#p' out | head -1)
	coproc nbdsh -u "nbd://127.0.0.1:$nbd" -c 'assert h.pread(512, 0) == bytes(512); print("up", flush=True); input()'
	read -r _ <&"${COPROC[0]}"
	probed 4 "( sport = :$port or dport = :$port )" # the admin queue and one for I/O
	probed 1 "( sport = :$nbd )"
	echo >&"${COPROC[1]}"
	wait "$COPROC_PID"
	stop
done
