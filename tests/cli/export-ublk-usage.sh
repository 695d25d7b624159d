#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Wrong options of export --ublk are named in the error, before any device is touched.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
x() { local words=$1; shift; error 2 usage '' "$words" "$RDMASTOR" export "$@"; }
x '--ublk 1x number' ram:1M --ublk=1x
x '--ublk \b2.disks' ram:1M ram:1M --ublk 3
x '--ublk 0.to.1048575' ram:1M --ublk 1048576
x '--depth 1.to.4096' ram:1M --ublk --depth 4097
x '--buffer 64K.to.32M' ram:1M --ublk --buffer 512
x '--nbd.ADDRESS --nbd-dev --ublk' ram:1M
