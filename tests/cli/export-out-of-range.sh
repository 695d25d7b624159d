#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Requests beyond the end are refused with the errors of the protocol, and the connection stays open.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

offer ram:1M --nbd "unix:$SOCK"
sh_nbd -c '
import errno
h.set_strict_mode(0)
def error(f, *args):
    try:
        f(*args)
    except nbd.Error as e:
        return e.errnum
assert error(h.pread, 512, 1 << 20) == errno.EINVAL
assert error(h.pread, 1024, (1 << 20) - 512) == errno.EINVAL
assert error(h.pread, 512, (1 << 63)) == errno.EINVAL
assert error(h.pwrite, b"x" * 1024, (1 << 20) - 512) == errno.ENOSPC
assert error(h.zero, 1024, (1 << 20) - 512) == errno.ENOSPC
assert error(h.trim, 1024, (1 << 20) - 512) == errno.EINVAL
assert error(h.pwrite, b"x" * 10, 5) == errno.EINVAL
assert error(h.trim, 512, 0, 0x4000) == errno.EINVAL
assert h.pread(512, 0) == bytes(512)
'
stop
