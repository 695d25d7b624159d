#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A disk of 4 KiB blocks: its minimum is advertised, unaligned reads work, unaligned writes do not.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh nbdinfo

offer 'ram:64M?block=4096' --nbd "unix:$SOCK"
nbdinfo "$URI" | grep -q 'block_size_minimum: 4096'
sh_nbd -c '
import errno
h.set_strict_mode(0)
h.pwrite(bytes(range(256)) * 64, 4096)
assert h.pread(5000, 4096 + 77) == (bytes(range(256)) * 64)[77:5077]
try:
    h.pwrite(b"x" * 512, 512)
    assert False
except nbd.Error as e:
    assert e.errnum == errno.EINVAL
'
stop
