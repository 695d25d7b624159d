#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Data that clients wrote is in the file after a clean stop, and a second server returns it.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdcopy

truncate -s 8M disk
head -c 8M /dev/urandom >a
offer "$PWD/disk" --nbd "unix:$SOCK"
nbdcopy a "$URI"
stop
cmp a disk
offer "file:$PWD/disk" --nbd "unix:$SOCK" --ro
nbdcopy "$URI" b
stop
cmp a b
