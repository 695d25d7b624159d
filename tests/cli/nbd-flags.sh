#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every command with every flag passes unchanged through our server and our client to nbdkit.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
PATH=/usr/bin:$PATH # the interpreter that Debian's python3-libnbd belongs to
requires nbdkit nbdsh
python3 -c 'import nbd' 2>/dev/null || { echo "python3-libnbd is not installed"; exit 77; }

kit --filter=log memory 4M logfile="$TMP/log"
"$RDMASTOR" export "$URI" --nbd "unix:$TMP/again" >/dev/null 2>&1 &
pid=$!
cleanup_fn kill $pid
wait_until test -S again
nbdsh -u "nbd+unix:///?socket=$TMP/again" -c '
h.pwrite(b"x" * 8192, 4096)
h.pwrite(b"y" * 4096, 65536, nbd.CMD_FLAG_FUA)
assert h.pread(8192, 4096) == b"x" * 8192
h.trim(4096, 8192)
h.trim(4096, 8192, nbd.CMD_FLAG_FUA)
h.zero(4096, 16384)
h.zero(4096, 16384, nbd.CMD_FLAG_NO_HOLE)
h.zero(4096, 16384, nbd.CMD_FLAG_FUA | nbd.CMD_FLAG_NO_HOLE)
h.zero(4096, 16384, nbd.CMD_FLAG_FAST_ZERO)
h.flush()
' || die nbdsh
saw() { grep -Eq "$1" log || die "nbdkit has not seen $1: $(cat log)"; }
saw 'Write .*offset=0x1000 count=0x2000 fua=0'
saw 'Write .*offset=0x10000 count=0x1000 fua=1'
saw 'Read .*offset=0x1000 count=0x2000'
saw 'Trim .*offset=0x2000 count=0x1000 fua=0'
saw 'Trim .*offset=0x2000 count=0x1000 fua=1'
saw 'Zero .*offset=0x4000 count=0x1000 trim=1 fua=0 fast=0'
saw 'Zero .*offset=0x4000 count=0x1000 trim=0 fua=0 fast=0'
saw 'Zero .*offset=0x4000 count=0x1000 trim=0 fua=1 fast=0'
saw 'Zero .*offset=0x4000 count=0x1000 trim=1 fua=0 fast=1'
saw 'Flush'
