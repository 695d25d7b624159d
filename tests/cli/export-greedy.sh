#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Clients that stay in their handshake, or read no replies, neither lock out nor delay others, and memory is bounded.
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
        self.s = socket.create_connection(at, None, (source, 0))
        self.get(18)
        self.s.sendall(b"\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0")
        self.get(10)

def connected(s):
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1 # TCP_ESTABLISHED

def honest():
    c = Client("127.0.0.1")
    for i in range(8):
        c.ask(0, i << 20, 262144, cookie=i)
    for i in range(8):
        assert c.simple()[0] == 0
        c.get(262144)
    c.s.close()

honest()
def served_among(begin):
    "The server ends such clients at last. The honest one is served before; a machine so slow that none is left proves nothing."
    while True:
        others = begin()
        for _ in range(5): honest()
        if any(map(connected, others)): return others
        for s in others: s.close()

def mute():
    return [socket.create_connection(at, None, ("127.0.0.2", 0)) for _ in range(80)]

def greedy():
    others = []
    for tries in range(64):
        try:
            c = Client("127.0.0.2")
            for k in range(32): c.ask(0, k * 262144, 262144, cookie=k)
            others.append(c.s)
        except (EOFError, ConnectionError): time.sleep(0.02) # places of the others may not be free yet
    return others if len(others) >= 32 else greedy()

# Of one address 16 stay in the handshake; fewer are left only on a machine so slow that their time was over
left = 0
while left != 16:
    others = served_among(mute)
    while (left := sum(map(connected, others))) > 16: time.sleep(0.05)
    for s in others: s.close()
served_among(greedy)
END
[ "$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$SERVER/status")" -lt 100000 ] || die "memory grew"
stop
