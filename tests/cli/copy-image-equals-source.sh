#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# copy makes an image that does not exist yet: the same bytes, holes where the source has holes or zeroes, one result line.
. "$(dirname "$0")/lib.sh"
requires cmp sha256sum jq
dd if=/dev/urandom of=src bs=64K count=80 status=none
dd if=/dev/zero of=src bs=64K count=80 seek=80 status=none
dd if=/dev/urandom of=src bs=512 count=1 seek=100001 conv=notrunc status=none
truncate -s 100M src

"$RDMASTOR" copy src dst >out 2>err || die "copy: $(cat err)"
cmp src dst || die "bytes differ"
[ "$(sha256sum <src)" = "$(sha256sum <dst)" ] || die "sums differ"
grep -Eq '100 MiB.* [0-9.]+ m?s\>.*/s' out || die "output: $(cat out)"
[ ! -s err ] || die "stderr without a terminal: $(cat err)"
[ "$(du -k dst | cut -f1)" -le 5300 ] || die "not sparse: $(du -k dst)"

"$RDMASTOR" copy src dst2 --no-sparse >/dev/null || die "--no-sparse"
cmp src dst2 || die "bytes differ with --no-sparse"
[ "$(du -k dst2 | cut -f1)" -ge 100000 ] || die "--no-sparse left holes: $(du -k dst2)"

ours copy src dst2 --verify --depth 3 --request 4K --json >json || die "--verify"
jq -e '.schema == "rdmastor.copy" and .size == 104857600 and .verified_bytes == .size and .unreadable_bytes == 0 and .copied_bytes + .zeroed_bytes + .skipped_bytes == .size and .created == false' json >/dev/null ||
	die "$(cat json)"
cmp src dst2 || die "bytes differ after copying again"
[ "$(du -k dst2 | cut -f1)" -le 5300 ] || die "zeroes over old data are not holes: $(du -k dst2)"
