#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What clients wrote to a file is in it after a clean stop, and a second server shows it.
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
