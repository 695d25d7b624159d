#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A thousand connections of peers that are not on the allow list, of every kind: a host that is on it gets in at once and is
# served, and the target's memory stays small. Their limits are in rdmastor-serve(1), LIMITS.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3
ulimit -n 4096 2>/dev/null || { echo "needs 4096 open files"; exit 77; }

serve ram:64M --nvmf --tcp 127.0.0.1:0 --nqn "$NQN" --allow-host nqn.test:good --poll-us 0
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$HERE python3 - "$PORT" "$SERVER" "$NQN" >out.py 2>&1 <<'END' || die "$(cat out.py)"
import struct, sys
from nvme_raw import *
port, pid, nqn = int(sys.argv[1]), sys.argv[2], sys.argv[3]
before = resident(pid)

def mute(i): return Raw(port, source="127.0.0.%d" % (2 + i % 50), hello=False)
def greets(i): return Raw(port, source="127.0.0.2", timeout=20)
def promises(i):
    "Connect commands whose data never comes"
    r = Raw(port, source="127.0.0.%d" % (2 + i % 9), timeout=2)
    r.s.sendall(b"".join(r.capsule(connect(k, inside=False)) for k in range(100)))
    return r
def fills(i):
    "Commands with data in every slot, no reply taken"
    r = Raw(port, source="127.0.0.%d" % (2 + i % 9), timeout=20, rcvbuf=4096)
    r.s.settimeout(0.05)
    try:
        for k in range(200):
            r.send(command(1, k, 8192, inside=True, blocks=16), bytes(8192))
    except TimeoutError: pass
    return r
def looks(i):
    "A discovery controller that is kept for as long as the protocol allows, with log pages that are never taken"
    r = Raw(port, source="127.0.0.%d" % (2 + i % 9), timeout=20, rcvbuf=4096)
    r.connect(DISCOVERY, "nqn.test:stranger%d" % i, kato=0xFFFFFFFF)
    r.enable()
    for k in range(30):
        r.send(struct.pack("<BBHI16xQI3xBIIIIII", 2, 0x40, k, 0, 0, 1 << 20, 0x5A, 0x70 | 0xFFFF << 16, 3, 0, 0, 0, 0))
    return r

held = []
def good():
    queues = host(port, nqn, "nqn.test:good")
    queues[1].read(0, 4096)
    return queues
stays = good()
for i in range(1000):
    kind = (mute, greets, promises, fills, looks)[i % 5]
    try:
        held.append(kind(i))
    except (EOFError, OSError, AssertionError): pass
    if i % 50 == 49:
        for c in good():
            c.s.close()
        stays[1].read(0, 131072)
        assert any(r.connected() for r in held), "served only when the others were gone"
most = resident(pid)
print("%d strangers; %.0f MiB, %.0f before" % (len(held), most, before))
assert len(held) > 600
assert most - before < 48, "too much memory"
END
cat out.py
stop
