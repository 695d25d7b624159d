#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Structured replies: chunks cover a long read, DF keeps one in a single chunk, an error has its text.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh

offer ram:8M --nbd "unix:$SOCK"
sh_nbd -c '
assert h.get_structured_replies_negotiated()
data = bytes(range(256)) * 4096 * 3
h.pwrite(data, 512)
got = {}
def chunk(buf, off, status, err):
    got[off] = bytes(buf)
buf = h.pread_structured(len(data), 512, chunk)
assert buf == data
assert b"".join(got[o] for o in sorted(got)) == data and len(got) > 1
got.clear()
h.set_strict_mode(0)
h.pread_structured(65536, 1, chunk, nbd.CMD_FLAG_DF)
assert len(got) == 1
'
stop
