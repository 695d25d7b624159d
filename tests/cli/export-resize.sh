#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Clients that connect after a file has grown see its new size.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo nbdcopy

truncate -s 1M disk
offer disk --nbd "unix:$SOCK"
[ "$(nbdinfo --size "$URI")" = 1048576 ] || die 'another size'
head -c 3M /dev/urandom >>disk
grown() { [ "$(nbdinfo --size "$URI")" = 4194304 ]; }
wait_until grown
nbdcopy "$URI" copy
cmp disk copy
