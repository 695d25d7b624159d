#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A host that does not send the data it announced delays the stop for a limited time, and the disk is still closed in order.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
truncate -s 64M disk
serve disk --nvmf --tcp 127.0.0.1:0
below=$SERVER
end_below() { kill -KILL "$below" 2>/dev/null || true; }
cleanup_fn end_below

serve "$TCP" --nvmf --tcp 127.0.0.1:0 --stop-timeout 1 --verbose
"$RDMASTOR" bench "$TCP" --rw write --bs 1M --iodepth 32 --runtime 3600 >/dev/null 2>&1 &
host=$!
end_host() { kill -KILL "$host" 2>/dev/null || true; }
cleanup_fn end_host
wait_running "$host" under_load "$SERVER"
kill -STOP "$host"
sleep 0.5
stop 1
grep -q 'requests.*\<1 s' err || die "output: $(cat err)"
grep -q 'wait.*shutdown' err || die 'the disk below was not closed in order'
