#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# SIGHUP that is ignored at start-up (nohup) does not end the server; otherwise it does.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
[ -z "$(trap -p HUP)" ] || { echo "the hang-up is ignored here already"; exit 77; }
trap '' HUP
offer ram:1M --nbd "unix:$SOCK"
kill -HUP "$SERVER"
sleep 0.3
kill -0 "$SERVER" 2>/dev/null || die "the hang-up ended it"
stop
trap - HUP
offer ram:1M --nbd "unix:$SOCK"
kill -HUP "$SERVER"
rc=0
wait "$SERVER" || rc=$?
SERVER=
same "exit status" "$rc" 0
