#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A client that asks for thousands of reads and takes none holds up nobody, nor the stop.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 nbdcopy

offer ram:8M --nbd "unix:$SOCK" --queues 1
head -c 8M /dev/urandom >a
nbdcopy a "$URI"
PYTHONPATH=$HERE python3 - "$SOCK" >mute <<'END' &
import socket, sys, time
from nbd_raw import Raw
r = Raw(sys.argv[1])
r.s.settimeout(0.3)
sent = 0
try:
    while sent < 50000:
        r.ask(0, 0, 65536, cookie=sent)
        sent += 1
except socket.timeout:
    pass
print(sent, flush=True)
time.sleep(30)
END
MUTE=$!
for _ in $(seq 50); do [ -s mute ] || sleep 0.1; done
[ "$(cat mute)" -gt 100 ] && [ "$(cat mute)" -lt 50000 ] || die "the server took $(cat mute) requests"
nbdcopy "$URI" b
cmp a b
[ "$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$SERVER/status")" -lt 60000 ] || die "memory grew"
stop
kill "$MUTE"
