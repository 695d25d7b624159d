#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nbdcopy writes a disk over several connections and reads the same bytes back.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdcopy

offer ram:32M --nbd "unix:$SOCK"
head -c 32M /dev/urandom >a
nbdcopy a "$URI"
nbdcopy "$URI" b
cmp a b
stop
