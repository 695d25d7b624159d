#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A write is stuck at the disk below `serve`. Its client leaves `export` and returns: its new writes to the same blocks wait for
# the stuck write, and are not overwritten by it. The chain is client - export - serve - disk. Lost connections between export and
# serve are in pair/late_write, in the frame_* tests and in core/block/paths.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

python3 "$HERE/late_disk.py" "$TMP/disk.sock" >disk.out &
late=$!
cleanup_fn kill -KILL $late
wait_running $late test -S disk.sock
serve "nbd+unix:///?socket=$TMP/disk.sock&io-timeout=3600" --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
cleanup_fn kill -KILL "$SERVER"
offer "$TCP" --nbd "unix:$SOCK"
PYTHONPATH=$HERE PYTHONDONTWRITEBYTECODE=1 python3 - "$SOCK" $late <<'PY'
import os, select, signal, struct, sys, time
from nbd_raw import Raw

OLD, NEW = b"o" * 4096, b"n" * 4096

def wait_for(word):
    while word not in open("disk.out").read():
        time.sleep(0.05)

def ask(c, kind, length=0, data=b""):
    c.s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 7, 0, length) + data)

def reply(c, length=0):
    magic, error, _ = struct.unpack(">IIQ", c.get(16))
    assert magic == 0x67446698 and error == 0, error
    return c.get(length)

c = Raw(sys.argv[1])
ask(c, 1, 4096, OLD)
wait_for("stuck")
c.s.close()
c = Raw(sys.argv[1])
ask(c, 1, 4096, NEW)
assert not select.select([c.s], [], [], 1)[0], "the new write did not wait for the stuck one"
os.kill(int(sys.argv[2]), signal.SIGUSR1)
reply(c)
wait_for("late")
ask(c, 3)
reply(c)
ask(c, 0, 4096)
assert reply(c, 4096) == NEW, "the old data is back"
PY
stop
