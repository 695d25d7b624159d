#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Block status tells holes from data; trim and zero make holes, NO_HOLE does not.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

offer ram:8M --nbd "unix:$SOCK"
sh_nbd -c '
def runs(count=8 << 20, off=0, flags=0):
    out = []
    h.block_status(count, off, lambda ctx, o, e, err: out.extend(e), flags)
    return out
assert runs() == [8 << 20, 3], runs()
h.pwrite(b"x" * (1 << 20), 1 << 20)
assert runs() == [1 << 20, 3, 1 << 20, 0, 6 << 20, 3], runs()
assert runs(flags=nbd.CMD_FLAG_REQ_ONE) == [1 << 20, 3]
h.trim(1 << 20, 1 << 20)
assert runs() == [8 << 20, 3], runs()
h.zero(1 << 20, 2 << 20, nbd.CMD_FLAG_NO_HOLE)
assert runs() == [2 << 20, 3, 1 << 20, 0, 5 << 20, 3], runs()
'
stop
