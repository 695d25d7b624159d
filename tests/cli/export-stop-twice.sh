#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A second signal ends a stop at once, with status 1.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer ram:8M --nbd "unix:$SOCK" --queues 1
PYTHONPATH=$HERE python3 - "$SOCK" >mute <<'END' &
import socket, sys, time
from nbd_raw import Raw
r = Raw(sys.argv[1])
for i in range(32):
    r.ask(0, 0, 1 << 20, cookie=i)
time.sleep(0.2)
print("asked", flush=True)
time.sleep(30)
END
MUTE=$!
for _ in $(seq 100); do [ -s mute ] || sleep 0.05; done
kill -TERM "$SERVER"
sleep 0.2
kill -0 "$SERVER" || die "the stop did not wait for the client"
stop 1
kill "$MUTE"
