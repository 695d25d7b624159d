#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What a request is: trims, zeroes, flushes, sizes by their shares; and the log of each, which has fio's columns.
. "$(dirname "$0")/lib.sh"
requires jq fio
b=("$RDMASTOR" bench)

truncate -s 4M disk
head -c 4M /dev/urandom >disk
"${b[@]}" --rw randzero --size 1M --offset 1M disk --json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.rw == "randzero" and .zero.requests == 256 and .zero.io_bytes == 1048576 and .write.requests == 0 and (has("trim") | not)' out >/dev/null || die "$(cat out)"
cmp -n 1M -i 1M:0 disk /dev/zero || die "not zeroes"
! cmp -s -n 1M disk /dev/zero || die "zeroes elsewhere"
"${b[@]}" --rw trim --bs 64K --size 4M ram:4M --output json+ >out 2>err || die "status $?: $(cat err)"
jq -e '.jobs[0] | .trim.total_ios == 64 and .write.total_ios == 0' out >/dev/null || die "$(cut -c1-200 out)"
"${b[@]}" --rw randwrite --fsync 8 --size 1M ram:4M --json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.fsync == 8 and .write.requests == 256 and .flushes.requests == 31 and .flushes.io_bytes == 0' out >/dev/null || die "$(cat out)"
"${b[@]}" --rw write --fsync 1 --size 1M ram:4M --output json+ >out 2>err || die "status $?: $(cat err)"
jq -e '.jobs[0].sync | .total_ios == 255 and .lat_ns.N == 255' out >/dev/null || die "$(cut -c1-200 out)"
"${b[@]}" --rw randread --bssplit 4K/50:8K/ --size 4M ram:4M --json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.bssplit == "4K/50:8K/" and .bs == 8192 and .read.requests == 682' out >/dev/null || die "$(cat out)"

# fio and ours write the same requests
job=(--rw=write --bs=64k --size=1M --filename=disk)
fio --name=f --ioengine=psync "${job[@]}" --write_lat_log=fio --log_offset=1 >out 2>&1 || die "fio: $(cat out)"
"${b[@]}" "${job[@]}" --log log >out 2>&1 || die "status $?: $(cat out)"
requests() { cut -d, -f3-6 "$1"; }
same "the log" "$(requests log)" "$(requests fio_clat.1.log)"
! grep -vEx '[0-9]+, [1-9][0-9]*, 1, 65536, [0-9]+, 0' log || die "columns"
"${b[@]}" --rw randtrim --size 1M --numjobs 2 --log log ram:4M >out 2>&1 || die "status $?: $(cat out)"
same "requests of both jobs" "$(requests log | grep -c '^ 2, 4096,')" 512
cut -d, -f1 log | sort -nc || die "not in order of time"

error 2 usage '' '--verify --rw' "${b[@]}" --rw trim --verify ram:1M
error 2 usage '' '--verify --bssplit' "${b[@]}" --rw write --bssplit 4K/100 --verify ram:1M
error 2 usage '' '--bssplit --bs' "${b[@]}" --bssplit 4K/100 --bs 4K ram:1M
error 2 usage '' '--fsync --rw' "${b[@]}" --fsync 1 ram:1M
error 2 usage --bssplit '120' "${b[@]}" --bssplit 4K/60:8K/60 ram:1M
error 2 usage ram:1M '--bssplit 512' "${b[@]}" --bssplit 4K/60:1000/40 ram:1M
error 2 usage '' '--matrix --log' "${b[@]}" --matrix --log x ram:1M
error 2 usage '' '--matrix --bssplit' "${b[@]}" --matrix --bssplit 4K/100 ram:1M
error 2 usage '' '--log disk' "${b[@]}" --tcp --log x localhost
error 2 usage '' '--bssplit disk' "${b[@]}" --tcp --bssplit 4K/100 localhost
error 1 not-found none/x create "${b[@]}" --log none/x ram:1M
