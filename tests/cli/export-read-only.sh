#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --ro and ro=1 in the URI: reads work, writes are refused and their payload is dropped.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

for how in "ram:1M --ro" "ram:1M?ro=1"; do
	# shellcheck disable=SC2086 # words
	offer $how --nbd "unix:$SOCK"
	sh_nbd -c '
import errno
assert h.is_read_only() and not h.can_trim()
h.set_strict_mode(0)
try:
    h.pwrite(b"x" * 300000, 0)
    assert False
except nbd.Error as e:
    assert e.errnum == errno.EPERM, e
assert h.pread(512, 0) == bytes(512)
'
	stop
done
