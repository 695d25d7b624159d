#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# As many clients as --clients allows may be in their handshakes at once.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer ram:1M --nbd "unix:$SOCK" --clients 63 --queues 2
PYTHONPATH=$HERE python3 - "$SOCK" <<'END'
import sys
from nbd_raw import Raw
crowd = [Raw(sys.argv[1], hello=False) for _ in range(63)]
# greeted, and silent: no client was evicted for another
for client in crowd:
    assert client.get(18)[:8] == b"NBDMAGIC"
for client in crowd:
    client.s.setblocking(False)
    try:
        raise SystemExit(f"got {client.s.recv(1)}")
    except BlockingIOError:
        client.s.setblocking(True)
# all places are taken: the oldest goes
late = Raw(sys.argv[1])
assert crowd[0].closed()
late.ask(0, 0, 512)
assert late.simple()[0] == 0
END
stop
