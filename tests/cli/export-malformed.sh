#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Malformed requests end their own session only.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 nbdinfo

offer ram:1M --nbd "unix:$SOCK"
PYTHONPATH=$HERE python3 - "$SOCK" <<'END'
import os, struct, sys
from nbd_raw import Raw
path = sys.argv[1]

r = Raw(path)                               # wrong magic
r.ask(0, 0, 512, magic=0x12345678)
assert r.closed()
r = Raw(path)                               # rubbish
r.s.sendall(os.urandom(4096))
assert r.closed()
r = Raw(path)                               # a write longer than the protocol's maximum
r.ask(1, 0, (32 << 20) + 512)
assert r.closed()
for n in (1, 27):                           # half a request, then gone
    r = Raw(path)
    r.s.sendall(b"\x25\x60\x95\x13" + bytes(n - 4 if n > 4 else 0))
    r.s.close()
r = Raw(path)                               # half a payload, then gone
r.ask(1, 0, 65536)
r.s.sendall(bytes(1000))
r.s.close()
r = Raw(path, hello=False)                  # unknown flags
r.get(18)
r.s.sendall(struct.pack(">I", 0xFF))
assert r.closed()
r = Raw(path, hello=False)                  # an option of 4 GiB
r.get(18)
r.s.sendall(struct.pack(">I", 3))
r.option(6, length=0xFFFFFFFF)
assert r.closed()
r = Raw(path, hello=False)                  # one of 100 KB is skipped
r.get(18)
r.s.sendall(struct.pack(">I", 3))
r.option(6, bytes(100000))
assert r.reply()[1] == 0x80000009
r.option(5)                                 # this server does not use TLS
assert r.reply()[1] == 0x80000002
r.option(2)
assert r.reply()[1] == 1
assert r.closed()
r = Raw(path)                               # unknown command, then a good one
r.ask(99, 0, 512, cookie=5)
assert r.simple() == (22, 5)
r.ask(3, 0, 0, cookie=6)
assert r.simple() == (0, 6)
END
same "size afterwards" "$(nbdinfo --size "$URI")" 1048576
stop
