#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A load on holes is announced: on stderr and in numbers. A file full of data is not.
. "$(dirname "$0")/lib.sh"
requires jq
truncate -s 64M sparse
random_file full 4
holes some

"$RDMASTOR" bench sparse --size 1M --json >out 2>err || die "$(cat err)"
valid out
grep -q '^rdmastor bench: .*0 bytes.*1 MiB.*data' err || die "$(cat err)"
jq -e '.mapped_bytes == 1048576 and .data_bytes == 0 and (.warnings | any(.code == "holes" and (.text | test("1 MiB.*data"))))' \
	out >/dev/null ||
	die "$(cat out)"
"$RDMASTOR" bench some --runtime 0.1 --json >out 2>err || die "$(cat err)"
valid out
jq -e --argjson data $DATA '.mapped_bytes == 8388608 and .data_bytes == $data' out >/dev/null || die "$(cat out)"
grep -q 'MiB.*data' err || die "$(cat err)"
"$RDMASTOR" bench full --runtime 0.1 --json >out 2>err || die "$(cat err)"
valid out
jq -e '.mapped_bytes == 4194304 and .data_bytes == .mapped_bytes' out >/dev/null || die "$(cat out)"
! grep -q 'MiB.*data' err || die "$(cat err)"

# writing fills them: what was there before counts
"$RDMASTOR" bench sparse --rw write --bs 64k --size 2M --json >out 2>err || die "$(cat err)"
valid out
jq -e '.mapped_bytes == 2097152 and .data_bytes == 0' out >/dev/null || die "$(cat out)"

# asking is bounded: it ends before it has seen all of the range, and what it has seen counts
"$RDMASTOR" bench null:4E --runtime 0.1 --json >out 2>err || die "$(cat err)"
valid out
! grep -q 'held data' err || die "memory has no storage to access: $(cat err)"
jq -e '.mapped_bytes > 0 and .mapped_bytes < .range_bytes and .data_bytes == 0' out >/dev/null || die "$(cat out)"
