#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A live server's socket, and a file that is not a socket, are left alone.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

offer ram:1M --nbd "unix:$SOCK"
error 1 busy "unix:$SOCK" 'server listening' "$RDMASTOR" export ram:2M --nbd "unix:$SOCK"
same size "$(nbdinfo --size "$URI")" 1048576
stop
echo data >plain
error 1 busy "unix:$PWD/plain" 'not.a.socket' "$RDMASTOR" export ram:1M --nbd "unix:$PWD/plain"
same plain "$(cat plain)" data
