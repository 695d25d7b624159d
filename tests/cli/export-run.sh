#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --run ends with the command's exit status and gives it the URI.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

rc=0
"$RDMASTOR" export ram:1M --run 'nbdinfo --size "$uri"; exit 7' >out || rc=$?
same "exit status" "$rc" 7
same size "$(cat out)" 1048576
"$RDMASTOR" export ram:1M --run nbdinfo --size '$uri' >out
same "the size" "$(cat out)" 1048576
rc=0
"$RDMASTOR" export ram:1M --run 'kill -9 $$' || rc=$?
same "exit status after a signal" "$rc" 137
same "folders left behind" "$(find "$TMP" -name 'rdmastor-*')" ""
error 1 - '' 'no-such-program-here' "$RDMASTOR" export ram:1M --run no-such-program-here --now
