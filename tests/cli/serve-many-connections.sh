#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# All descriptors the process may have are used: further connections are refused at once, and this is logged. Peers that connect
# and send nothing keep no host out.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

end_holder() { kill "$HOLDER" 2>/dev/null || true; }
# hold COUNT LEAST: connections that say what NVMe/TCP hosts say first, and then nothing; how many of them were ended, at least LEAST, is in ENDED
hold() {
	python3 -c "
import signal, socket, struct, time
held = []
for i in range($1):
    s = socket.create_connection(('127.0.0.1', $PORT))
    s.send(bytes([0, 0, 128, 0]) + struct.pack('<I', 128) + bytes(120))
    held.append(s)
def ended(): return sum(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1 for s in held) # TCP_ESTABLISHED
while ended() < $2: time.sleep(0.05)
time.sleep(0.5)
print(ended(), flush=True)
signal.pause()" >ended &
	HOLDER=$!
	cleanup_fn end_holder
	wait_running $HOLDER test -s ended
	ENDED=$(cat ended)
}

real=$RDMASTOR
printf '#!/bin/sh\nulimit -Sn 32; ulimit -Hn 100; exec "%s" "$@"\n' "$real" >limited
chmod +x limited
RDMASTOR=./limited serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --queues 1 --poll-us 0
[ "$(awk '/open files/ { print $4, $5 }' "/proc/$SERVER/limits")" = '100 100' ] || die "$(cat "/proc/$SERVER/limits")"
hold 150 50
[ "$ENDED" -lt 150 ] || die "of 150 connections $ENDED were ended"
ours info "$TCP?timeout=60" >/dev/null
! grep -q 'connection' err || die "output: $(cat err)"
kill "$HOLDER"

# these are all hosts
error 1 - '' 'connection.(closed|reset)' \
	ours export "$TCP" --queues 60 --run "'$real' export '$TCP?timeout=60' --queues 60 --run true"
grep -q 'accept.*ulimit -n' err || die "output: $(cat err)"
[ "$(grep -c 'ulimit -n' err)" = 1 ] || die "printed more than once: $(cat err)"
ours info "$TCP" >/dev/null
kill -USR1 "$SERVER"
wait_until grep -q '^refused: [1-9]' err
stop
