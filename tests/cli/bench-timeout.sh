#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --timeout bounds the attempt to connect of --tcp and --rdma, and 0 means no limit: a server that does not accept. A signal ends it.
. "$(dirname "$0")/lib.sh"
requires jq python3
end() { kill -KILL "$@" 2>/dev/null; }
# its queue of connections is full, so the kernel drops further SYNs
python3 -c '
import signal, socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(0)
clients = [socket.socket() for _ in range(4)]
for c in clients:
    c.setblocking(False)
    c.connect_ex(s.getsockname())
time.sleep(0.2)
print(s.getsockname()[1], flush=True)
signal.pause()' >port &
cleanup_fn end $!
wait_until test -s port
at=127.0.0.1:$(cat port) pids=()
for kind in --tcp --rdma; do
	"$RDMASTOR" bench $kind "$at?rdma=iwarp" --timeout 0 >"out.$kind" 2>&1 &
	pids+=($!)
	cleanup_fn end $!
done
start=$(date +%s%N)
error 1 timeout "$at" '' "$RDMASTOR" bench --tcp "$at" --timeout 1
error 1 timeout "$at" '' "$RDMASTOR" bench --rdma "$at?rdma=iwarp" --timeout 1
ms=$((($(date +%s%N) - start) / 1000000))
[ $ms -gt 1900 ] || die "two of 1 s took $ms ms"
sleep 4.5
for pid in "${pids[@]}"; do kill -0 "$pid" || die "one has given up: $(cat out.*)"; done
for pid in "${pids[@]}"; do
	kill "$pid"
	rc=0
	wait "$pid" || rc=$?
	same 'status of one that was interrupted while it connected' "$rc" 3
done
