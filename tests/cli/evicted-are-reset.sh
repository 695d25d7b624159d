#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Silent connections that are evicted for newer ones are reset, over each protocol: an orderly close would leave state
# behind for each of them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

evicted_are_reset() {
	python3 - "$1" <<'END' || die "port $1"
import socket, sys, time
held, ends = [], []
for i in range(64):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=("127.0.0.2", 0)))
    held[-1].setblocking(False)
def end(s):
    try:
        while s.recv(4096): pass
        return "orderly"
    except BlockingIOError: return None
    except ConnectionResetError: return "reset"
while len(ends) < 32:
    for s in held[:]:
        how = end(s)
        if how:
            ends.append(how)
            held.remove(s)
    time.sleep(0.01)
assert "orderly" not in ends, ends
END
}

serve ram:16M --nvmf --tcp 127.0.0.1:0 --nqn "$NQN" --iscsi --tcp 127.0.0.1:0 --iqn iqn.2024-01.test:disk
evicted_are_reset "$PORT"
evicted_are_reset "$(sed -nE 's#^rdmastor: +iscsi://.*:([0-9]+)/.*#\1#p' out)"
stop
ready export ram:16M --nbd 127.0.0.1:0
evicted_are_reset "$(sed -nE "s|.*nbd://.*:([0-9]+)/,.*|\1|p" out)"
stop
