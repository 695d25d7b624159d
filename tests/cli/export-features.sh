#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# libnbd sees what a memory disk can do.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo python3

offer ram:1M --nbd "unix:$SOCK"
nbdinfo --json "$URI" >info
python3 - <<'END'
import json
e = json.load(open("info"))["exports"][0]
for can in "df fast_zero flush fua multi_conn trim zero".split():
    assert e["can_" + can], can
assert not e["is_read_only"]
assert e["block_size_minimum"] == 512 and e["block_size_maximum"] == 32 << 20
assert e["contexts"] == ["base:allocation"], e
END
stop
