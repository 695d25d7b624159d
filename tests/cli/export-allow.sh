#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --allow decides who may connect over TCP; without it an open address is pointed out.
. "$(dirname "$(readlink -f "$0")")/export-lib.sh"
requires nbdinfo

uri() { sed -n 's/.*\(nbd:[^,]*\),.*/\1/p' out; }
serve ram:1M --nbd 127.0.0.1:0 --allow 10.0.0.0/8 --allow ::1
if nbdinfo --size "$(uri)" 2>nbdinfo.err; then fail "an address not on the list was served"; fi
stop
serve ram:1M --nbd :0 --allow 127.0.0.0/8
same size "$(nbdinfo --size "$(uri)")" 1048576
[ ! -s err ] || fail "$(cat err)"
stop
serve ram:1M --nbd :0
grep -q 'whoever reaches this address can use the disk' err
stop
