#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# ^C: exit status 3, the results so far, and a message. --timeout likewise, but that is a failure.
. "$(dirname "$0")/lib.sh"
requires jq
set -m # a background job of a script would ignore SIGINT
for signal in INT TERM; do
	offer ram:1M --nbd "unix:$SOCK"
	"$RDMASTOR" bench "$URI" --runtime 3600 --json >out 2>err &
	job=$!
	wait_running "$job" under_load "$SERVER"
	kill -s "$signal" "$job"
	wait "$job"
	rc=$?
	[ $rc = 3 ] || die "$signal: status $rc: $(cat err)"
	valid out
	jq -e '.interrupted and (.warnings | any(.code == "interrupted")) and .read.requests > 0 and .seconds < 3600' out >/dev/null || die "$signal: $(cat out)"
	grep -q '^rdmastor bench: .*interrupted' err || die "$signal: output: $(cat err)"
	stop
done
"$RDMASTOR" bench ram:1M --runtime 3600 --timeout 2 --json >out 2>err
rc=$?
[ $rc = 1 ] || die "--timeout: status $rc"
valid out
jq -e '.read.requests > 0 and (.error | .code == "timeout" and (.text | contains("2 s")))' out >/dev/null ||
	die "$(cat out)"

# while it connects, to a server whose queue is full
python3 - >port <<'END' &
import socket, sys, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(0)
waiting = [socket.socket() for _ in range(4)]
for one in waiting:
    one.setblocking(False)
    one.connect_ex(server.getsockname())
print(server.getsockname()[1], flush=True)
time.sleep(3600)
END
full=$!
end_full() { kill -KILL "$full" 2>/dev/null || true; }
cleanup_fn end_full
wait_until test -s port
"$RDMASTOR" bench --tcp --timeout 0 "127.0.0.1:$(cat port)" --json >out 2>err &
job=$!
wait_running "$job" sh -c "ls -l /proc/$job/fd | grep -c socket: | grep -qx '[1-9]*'"
kill -s INT "$job"
rc=0
wait "$job" || rc=$?
[ $rc = 3 ] || die "connecting: status $rc: $(cat err)"
valid out
jq -e '.interrupted and .read.requests == 0' out >/dev/null || die "connecting: $(cat out)"
