#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The target is killed under load. What it had answered can be checked once it is back, and what it lost is counted.
. "$(dirname "$0")/lib.sh"
requires jq nbdkit
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

# a disk that the state is not about: what differs is named, and so is the state
truncate -s 1M small
"$RDMASTOR" bench --rw write --size 1M --verify --verify-state own small >own.out 2>&1 || die "$(cat own.out)"
{ cat small && head -c 1M /dev/zero; } >larger
"$RDMASTOR" bench --verify-only own --json larger >larger.out 2>larger.err || die "status $?: $(cat larger.err)"
valid larger.out
has_line 'warning: .*2097152 .*own.*1048576' "$(<larger.err)" || die "no warning of another size: $(cat larger.err)"
jq -e '[.warnings[].code] == ["other-size"]' larger.out >/dev/null || die "$(jq -c .warnings larger.out)"
nbdkit -U - --filter=blocksize-policy file larger blocksize-minimum=4096 \
	--run "$RDMASTOR bench --verify-only own --json \"\$uri\"" >blocks.out 2>blocks.err || die "status $?: $(cat blocks.err)"
valid blocks.out
jq -e '[.warnings[].code] == ["other-size", "other-block-size"]' blocks.out >/dev/null || die "$(cat blocks.out)"
has_line 'warning: .*4096.*own.*512' "$(<blocks.err)" || die "no warning of another block size: $(cat blocks.err)"
"$RDMASTOR" bench --rw write --size 1M --verify small >own.out 2>&1 || die "$(cat own.out)"
error 1 mismatch small '256.of.256 another.run' "$RDMASTOR" bench --verify-only own small
jq -e '.error.hint | startswith("own ")' error.out >/dev/null || die "$(cat error.out)"
! grep -q warning: error.err || die "a warning of the same disk: $(cat error.err)"
truncate -s 2M small
error 1 mismatch small 'another.run' "$RDMASTOR" bench --verify-only own small
has_line 'warning: .*2097152 .*own.*1048576' "$(<error.err)" || die "no warning of another size: $(cat error.err)"

error 2 usage '' '--verify-state --verify' "$RDMASTOR" bench --verify-state x --rw write ram:1M
error 2 usage '' '--verify-only --rw' "$RDMASTOR" bench --verify-only state --rw write ram:8M
error 2 usage '' '--verify-only --bs' "$RDMASTOR" bench --verify-only state --bs 4K ram:8M
error 2 usage '' '--verify-only disk' "$RDMASTOR" bench --verify-only state --tcp localhost
error 2 usage '' '--matrix --verify-only' "$RDMASTOR" bench --verify-only state --matrix ram:8M
error 2 usage disk 'not.a.state' "$RDMASTOR" bench --verify-only disk ram:8M
error 1 not-found none open "$RDMASTOR" bench --verify-only none ram:8M
error 1 mismatch ram:1M 'state' "$RDMASTOR" bench --verify-only state ram:1M
error 1 not-found none/x create "$RDMASTOR" bench --rw write --verify --verify-state none/x ram:1M
