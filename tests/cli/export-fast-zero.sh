#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# FAST_ZERO is advertised; a request succeeds or fails with ENOTSUP, never with another error.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

offer ram:1M --nbd "unix:$SOCK"
sh_nbd -c '
import errno
h.pwrite(b"x" * 1048576, 0)
try:
    h.zero(1048576, 0, nbd.CMD_FLAG_FAST_ZERO)
    assert h.pread(1048576, 0) == bytes(1048576)
except nbd.Error as e:
    assert e.errnum == errno.ENOTSUP
'
stop
