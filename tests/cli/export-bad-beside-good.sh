#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A stream of bad clients does not change a byte of what a good one copies.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 nbdcopy

offer ram:16M --nbd "unix:$SOCK"
head -c 16M /dev/urandom >a
PYTHONPATH=$HERE python3 - "$SOCK" <<'END' &
import os, random, sys
from nbd_raw import Raw
random.seed(1)
while not os.path.exists("enough"):
    r = Raw(sys.argv[1])
    for _ in range(random.randrange(20)):
        r.ask(0, random.randrange(1 << 26), random.randrange(1 << 20))
    r.s.sendall(os.urandom(random.randrange(60)))
    r.s.close()
END
BAD=$!
for _ in 1 2; do
	nbdcopy a "$URI"
	nbdcopy "$URI" b
	cmp a b
done
touch enough
wait "$BAD"
stop
