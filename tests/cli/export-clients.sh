#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --clients is the most at once; one that leaves makes room.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer ram:1M --nbd "unix:$SOCK" --clients 2 --queues 1
PYTHONPATH=$HERE python3 - "$SOCK" <<'END'
import sys, time
from nbd_raw import Raw
a, b = Raw(sys.argv[1]), Raw(sys.argv[1])
c = Raw(sys.argv[1], hello=False)
assert c.closed()
b.s.close()
while True: # until there is room
    try:
        Raw(sys.argv[1])
        break
    except (EOFError, ConnectionError):
        time.sleep(0.02)
a.ask(0, 0, 512)
assert a.simple()[0] == 0
END
# logged once
same "notices" "$(grep -c 'refused.*2 connections' err)" 1
kill -USR1 "$SERVER"
wait_until grep -Eq '^refused: [1-9]' err
stop
