#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Requests that have arrived are answered before a clean stop closes.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

truncate -s 64M disk
offer disk --nbd "unix:$SOCK" --queues 1
PYTHONPATH=$HERE python3 - "$SOCK" "$SERVER" <<'END'
import os, signal, sys
from nbd_raw import Raw
r = Raw(sys.argv[1])
for i in range(16):
    r.ask(1, i << 20, 1 << 20, cookie=i)
    r.s.sendall(b"s" * (1 << 20))
r.ask(0, 0, 1 << 16, cookie=77)
os.kill(int(sys.argv[2]), signal.SIGTERM)
answered = set()
try:
    while True:
        error, cookie = r.simple()
        assert error == 0
        answered.add(cookie)
        if cookie == 77:
            r.get(1 << 16)
except (EOFError, ConnectionError):
    pass
# What had arrived: all but what the socket itself may have held
assert answered >= set(range(15)), answered
disk = open("disk", "rb").read()
for i in answered - {77}:
    assert disk[i << 20:(i + 1) << 20] == b"s" * (1 << 20), i
END
rc=0
wait "$SERVER" || rc=$?
SERVER=
same "exit status" "$rc" 0
