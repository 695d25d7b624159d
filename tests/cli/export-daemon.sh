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
for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null && sleep 0.05; done
if kill -0 "$pid" 2>/dev/null; then kill -KILL "$pid"; die "still there"; fi
[ ! -e pid ] || die "the pid file is still there"
[ ! -e "$SOCK" ] || die "the socket is still there"
