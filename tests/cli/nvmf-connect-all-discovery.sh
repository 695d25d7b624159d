#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect-all: a discovered subsystem is connected with the options and the loss policy that its URI would have. Discovery
# controllers are asked at the same time, and SIGTERM ends all of it.
. "$(dirname "$0")/lib.sh"
set -e
requires jq python3

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
u="nvme+tcp://127.0.0.1:$PORT"

# alike KEYS WORD…: what is written for the discovered subsystem and for the URI with its NQN
alike() {
	local keys=$1 found direct
	shift
	ours nvmf-connect-all --dry-run --json -q "$HOST" "$@" "$u$keys" >out
	jq -e --arg u "$u" --arg nqn "$NQN" '.succeeded == 1 and .failed == 0 and .results[0].connected == false and
		.results[0].uri == $u + "/" + $nqn and .results[0].discovery == $u' out >/dev/null || die "$keys $*: $(cat out)"
	found=$(jq -r '.results[0].line' out)
	direct=$(ours nvmf-connect --dry-run --json -q "$HOST" "$@" "$u/$NQN$keys" | jq -r .line)
	same "$keys $*" "$found" "$direct"
}
alike ''
alike '' --on-loss 30
alike '?loss=fail-fast'
alike '?loss=forever&tos=4'
alike '' -l 33
alike '' -c 3 -F 5
alike '?reconnect_delay=3' --on-loss 30
alike '' -i 2 -Q 32 -g -k 7
[[ $(jq -r '.results[0].line' out) == *,queue_size=32,nr_io_queues=2,reconnect_delay=10,ctrl_loss_tmo=60,keep_alive_tmo=7,hdr_digest* ]] ||
	die "$(cat out)"

# One that accepts and never answers takes all the time, and none of the other's
python3 - >mute <<'PY' &
import socket
sock, keep = socket.create_server(("127.0.0.1", 0)), []
print(sock.getsockname()[1], flush=True)
while True:
    keep.append(sock.accept())
    print("accepted", flush=True)
PY
cleanup_fn kill $!
# has N: lines of the server
has() { [ "$(wc -l <mute)" -ge "$1" ]; }
wait_until has 1
mute=nvme+tcp://127.0.0.1:$(head -n 1 mute)
for limit in 6 60 600; do # a busy machine needs more time for the other one
	status=0
	ours nvmf-connect-all --dry-run --json -q "$HOST" --timeout $limit "$mute" "$u" >out 2>err || status=$?
	jq -e '.succeeded == 0' out >/dev/null || break
done
same 'one of two' $status 3
jq -e --arg mute "$mute" --arg u "$u" '.succeeded == 1 and .failed == 1 and .results[0].uri == $mute and
	.results[0].error.code == "timeout" and .results[1].discovery == $u' out >/dev/null || die "$(cat out err)"
"$RDMASTOR" nvmf-connect-all --dry-run --json -q "$HOST" "$mute" >out 2>err &
wait_until has 3
kill $!
status=0
wait $! || status=$?
same 'SIGTERM' $status 1
jq -e '.results[0].error.text == "interrupted"' out >/dev/null || die "$(cat out err)"

# Another subsystem as the discovery controller, unknown to this target
error 1 not-found '.*' "'nqn.x'" "$RDMASTOR" nvmf-connect-all --dry-run -t tcp -a 127.0.0.1 -s "$PORT" -n nqn.x -q "$HOST"
stop

# A log of more subsystems than are connected; a referral at its end is refused
python3 "$HERE/nvme_log.py" 4097 1 >log &
cleanup_fn kill $!
wait_until test -s log
status=0
ours nvmf-connect-all --dry-run --json -q "$HOST" "nvme+tcp://127.0.0.1:$(cat log)" >out 2>err || status=$?
same 'too many subsystems' $status 3
jq -e '.succeeded == 4096 and .failed == 2 and ([.results[].error.code // empty] | sort) == ["protocol", "refused"]' out >/dev/null ||
	die "$(tail -c 1000 out) $(cat err)"
