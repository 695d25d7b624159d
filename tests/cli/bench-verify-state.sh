#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The target is killed under load. What it had answered can be checked once it is back, and what it lost is counted.
. "$(dirname "$0")/lib.sh"
requires jq
truncate -s 8M disk
serve disk --nvmf --tcp 127.0.0.1:0
"$RDMASTOR" bench "$TCP" --rw randwrite --iodepth 8 --runtime 3600 --on-loss fail-fast --verify --verify-state state --log log --json >load.out 2>load.err &
load=$!
wait_until under_load "$SERVER"
kill -KILL "$SERVER"
SERVER=
rc=0
wait "$load" || rc=$?
same "status" "$rc" 1
valid load.out
[ -s log ] || die 'no log of a load that failed'
jq -e '.error.object | startswith("nvme+tcp://")' load.out >/dev/null || die "$(cat load.out)"

serve disk --nvmf --tcp 127.0.0.1:0
"$RDMASTOR" bench "$TCP" --verify-only state --json >check.out 2>check.err || die "status $?: $(cat check.err)"
valid check.out
jq -e '.verified_bytes > 0 and .write.requests == 0' check.out >/dev/null || die "$(cat check.out)"
"$RDMASTOR" bench "$TCP" --verify-only state --numjobs 3 --iodepth 4 2>check.err | grep -q 'verify .* of 8 MiB: as written' || die "$(cat check.err)"
stop
dd if=/dev/zero of=disk bs=1M seek=2 count=4 conv=notrunc status=none
error 1 mismatch disk 'written.blocks.are.wrong zeroes' "$RDMASTOR" bench --verify-only state disk
jq -e '.error.text | test("^[0-9]+ of [0-9]+ ")' error.out >/dev/null || die "$(cat error.out)"

error 2 usage '' '--verify-state --verify' "$RDMASTOR" bench --verify-state x --rw write ram:1M
error 2 usage '' '--verify-only --rw' "$RDMASTOR" bench --verify-only state --rw write ram:8M
error 2 usage '' '--verify-only --bs' "$RDMASTOR" bench --verify-only state --bs 4K ram:8M
error 2 usage '' '--verify-only disk' "$RDMASTOR" bench --verify-only state --tcp localhost
error 2 usage '' '--matrix --verify-only' "$RDMASTOR" bench --verify-only state --matrix ram:8M
error 2 usage disk 'not.a.state' "$RDMASTOR" bench --verify-only disk ram:8M
error 1 not-found none open "$RDMASTOR" bench --verify-only none ram:8M
error 1 mismatch ram:1M 'state' "$RDMASTOR" bench --verify-only state ram:1M
error 1 not-found none/x create "$RDMASTOR" bench --rw write --verify --verify-state none/x ram:1M
