#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A second signal ends a stop at once, with status 1.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer ram:8M --nbd "unix:$SOCK" --queues 1 --stop-timeout 3600 --verbose
PYTHONPATH=$HERE python3 - "$SOCK" >mute <<'END' &
import signal, sys
from nbd_raw import Raw
r = Raw(sys.argv[1])
for i in range(32):
    r.ask(0, 0, 1 << 20, cookie=i)
r.get(16) # the rest of this reply does not fit into the socket
print("asked", flush=True)
signal.pause()
END
MUTE=$!
wait_until test -s mute
kill -TERM "$SERVER"
wait_until grep -q 'stopping: SIGTERM' err
kill -0 "$SERVER" || die "the stop did not wait for the client"
stop 1
kill "$MUTE"
