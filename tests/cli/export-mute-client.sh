#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A client that requests thousands of reads and receives none delays neither other clients nor the stop.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 nbdcopy

offer ram:8M --nbd "unix:$SOCK" --queues 1
head -c 8M /dev/urandom >a
nbdcopy a "$URI"
PYTHONPATH=$HERE python3 - "$SOCK" >mute <<'END' &
import signal, sys
from nbd_raw import Raw
r = Raw(sys.argv[1])
for sent in range(50000):
    r.ask(0, 0, 65536, cookie=sent)
    if sent == 100: print("many", flush=True)
print("all", flush=True)
signal.pause()
END
MUTE=$!
wait_running $MUTE grep -q many mute
nbdcopy "$URI" b
cmp a b
running $MUTE || die "served only when the other was gone"
! grep -q all mute || die "the server took all requests"
[ "$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$SERVER/status")" -lt 60000 ] || die "memory grew"
stop
kill "$MUTE" 2>/dev/null || true # the stop has ended its connection
