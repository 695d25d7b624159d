#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An automatic port is printed when ready, and served.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

offer ram:1M --nbd 127.0.0.1:0
uri=$(sed -n 's/.*\(nbd:[^,]*\),.*/\1/p' out)
same size "$(nbdinfo --size "$uri")" 1048576
stop
