#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# GO without a question for the block size is refused on 4 KiB blocks.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer 'ram:1M?block=4096' --nbd "unix:$SOCK"
PYTHONPATH=$HERE python3 - "$SOCK" <<'END'
import struct, sys
from nbd_raw import Raw
r = Raw(sys.argv[1], hello=False)
r.get(18)
r.s.sendall(struct.pack(">I", 3))
r.option(7, struct.pack(">IH", 0, 0))
assert r.reply()[1] == 0x80000008
r.option(7, struct.pack(">IHH", 0, 1, 3))
assert r.reply()[1] == 3
END
stop
