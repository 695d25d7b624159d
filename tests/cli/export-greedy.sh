#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Clients that stay in their handshake, or take no replies, keep others neither out nor waiting, and memory is bounded.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 jq

truncate -s 64M disk
offer disk --nbd 127.0.0.1:0 --clients 64 --queues 2 --json
port=$(jq -r '.listeners[0].trsvcid' out)
PYTHONPATH=$HERE python3 - "$port" <<'END'
import socket, sys, time
import nbd_raw
at = ("127.0.0.1", int(sys.argv[1]))

class Client(nbd_raw.Raw):
    def __init__(self, source):
        self.s = socket.create_connection(at, 10, (source, 0))
        self.get(18)
        self.s.sendall(b"\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0")
        self.get(10)

def honest():
    began = time.time()
    c = Client("127.0.0.1")
    for i in range(8):
        c.ask(0, i << 20, 262144, cookie=i)
    for i in range(8):
        assert c.simple()[0] == 0
        c.get(262144)
    c.s.close()
    took = time.time() - began
    assert took < 2, took

honest()
mute = [socket.create_connection(at, 10, ("127.0.0.2", 0)) for _ in range(80)]
honest()
# Of one address no more than 16 stay in the handshake
time.sleep(0.3)
left = 0
for s in mute:
    s.setblocking(False)
    try:
        while True:
            if not s.recv(4096): break
    except BlockingIOError: left += 1
    except ConnectionResetError: pass
assert left == 16, left
for s in mute: s.close()
time.sleep(0.2)
greedy = []
for _ in range(64):
    try:
        c = Client("127.0.0.2")
        for k in range(32): c.ask(0, k * 262144, 262144, cookie=k)
        greedy.append(c)
    except (EOFError, ConnectionError): pass
assert len(greedy) >= 32, len(greedy)
for _ in range(5): honest()
END
[ "$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$SERVER/status")" -lt 100000 ] || die "memory grew"
stop
