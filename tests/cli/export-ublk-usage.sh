#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What is wrong with the words of export --ublk is said with them, before any device is touched.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
x() { local text=$1; shift; fails 2 "$text" "$RDMASTOR" export "$@"; }
x "--ublk: '1x' " ram:1M --ublk=1x
x '--ublk: one number cannot be that of 2 disks' ram:1M ram:1M --ublk 3
x '--ublk: must be 0 to 1048575' ram:1M --ublk 1048576
x '--depth: must be 1 to 4096' ram:1M --ublk --depth 4097
x '--buffer: must be 64K to 32M' ram:1M --ublk --buffer 512
x 'give --nbd ADDRESS, --nbd-dev or --ublk' ram:1M
