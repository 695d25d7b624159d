#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --timeout 0 waits for a target longer than the usual 10 s; timeout= still limits the attempt.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires jq python3
end() { kill -KILL "$1" 2>/dev/null; }

python3 -c '
import signal, socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >port &
MUTE=$!
cleanup_fn end $MUTE
wait_running $MUTE test -s port
at=127.0.0.1:$(cat port) pids=()
for uri in "nvme+tcp://$at/nqn.x" "nvme+rdma://$at/nqn.x?rdma=iwarp" "nbd://$at/x"; do
	"$RDMASTOR" info "$uri" --timeout 0 >out.${#pids[@]} 2>&1 &
	pids+=($!)
	cleanup_fn end $!
done
"$RDMASTOR" nvmf-discover "nvme+tcp://$at" --timeout 0 >out.discover 2>&1 &
pids+=($!)
cleanup_fn end $!
error 1 timeout "$at" '' "$RDMASTOR" info "nbd://$at/x?timeout=0.5" --timeout 0
sleep 11
for pid in "${pids[@]}"; do
	kill -0 "$pid" 2>/dev/null || die "one has given up: $(cat out.*)"
done
kill $MUTE
for pid in "${pids[@]}"; do
	wait "$pid"
	[ $? = 1 ] || die "not ended by the target: $(cat out.*)"
done
