#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A socket left by a dead server is replaced; it has mode 0600, or the one asked for.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

offer ram:1M --nbd "unix:$SOCK"
same mode "$(stat -c %a "$SOCK")" 600
kill -KILL "$SERVER"
wait "$SERVER" || true
[ -S "$SOCK" ]
offer ram:1M --nbd "unix:$SOCK" --mode 660
same mode "$(stat -c %a "$SOCK")" 660
same size "$(nbdinfo --size "$URI")" 1048576
stop
[ ! -e "$SOCK" ] || die "the socket is still there"
