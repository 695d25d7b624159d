#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Nothing is written without a --rw that writes, nor by --dry-run; writes stay inside their part of the file.
. "$(dirname "$0")/lib.sh"
requires jq
yes 'not to be touched' | head -c 4M >disk
cp disk before
"$RDMASTOR" bench disk --runtime 0.2 -q >/dev/null || die "reading fails"
"$RDMASTOR" bench disk --rw write --size 1M --dry-run >out 2>err || die "$(cat err)"
grep -q '\<disk\>.*\<0\>.*1048576$' out || die "output: $(cat out)"
same 'the dry run as JSON' "$(ours bench disk --rw write --dry-run --json -q | jq -c '[.dry_run, .uri, .rw, .size, .block_size, .bs, .iodepth, .numjobs, .offset_bytes, .range_bytes, .runtime_seconds, .verify]')" \
	'[true,"disk","write",4194304,512,4096,1,1,0,4194304,5,false]'
grep -q '\<disk\>' <("$RDMASTOR" bench disk --dry-run -q 2>&1) || die "-q has no result"
cmp disk before || die "the disk was changed"
"$RDMASTOR" bench disk --rw write --offset 1M --size 1M --bs 64k --verify -q >out || die "writing fails"
grep -q '^ *verify .*1 MiB.*1 MiB' out || die "output: $(cat out)"
cmp -n 1M disk before || die "written before --offset"
cmp -i 2M disk before || die "written behind --size"
cmp -s -i 1M -n 1M disk before && die "nothing was written"
error 1 not-found absent 'no.such.file' "$RDMASTOR" bench absent --rw write
