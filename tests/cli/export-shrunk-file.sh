#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A file that is truncated while it is exported is not extended again by a write, and a copy of it fails.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3
truncate -s 64M disk
offer disk --nbd "unix:$SOCK"
PYTHONPATH=$HERE python3 - "$SOCK" <<'PY' || die 'a write extends the file'
import os, sys
from nbd_raw import Raw
c = Raw(sys.argv[1])
def write(off):
    c.ask(1, off, 4096)
    c.s.sendall(b"x" * 4096)
    return c.simple()[0]
assert not write(50 << 20)
os.truncate("disk", 1 << 20)
assert write(50 << 20)
assert not write(0)
assert os.stat("disk").st_size == 1 << 20
PY
stop

truncate -s 64M disk
offer disk --nbd "unix:$SOCK"
truncate -s 1M disk
error 1 io '.*' 'read' ours copy "$URI" copied
stop
