#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --daemon returns when the server is ready, leaves its process id, and ends cleanly.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

"$RDMASTOR" export ram:1M --nbd "unix:$SOCK" --daemon --pid-file pid >out
same size "$(nbdinfo --size "$URI")" 1048576
grep -q "$SOCK" out
pid=$(cat pid)
kill -TERM "$pid"
end() { kill -KILL "$pid" 2>/dev/null; }
cleanup_fn end
wait_while running "$pid"
[ ! -e pid ] || die "the pid file is still there"
[ ! -e "$SOCK" ] || die "the socket is still there"
