#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Wrong options for an NBD device are named in the error, before anything is opened.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
x() { local words=$1; shift; error 2 usage '' "$words" "$RDMASTOR" export "$@"; }
x '--nbd-dev 0.to.32767' ram:1M --nbd-dev 32768
x '--nbd-dev \b3\b \b2.disks' ram:1M ram:1M --nbd-dev=3
x '--connections 1.to.16' ram:1M --nbd-dev --connections 17
x '--connections \b2\b --on-loss' ram:1M --nbd-dev --connections 2 --on-loss forever
x '--connections \b2\b --on-loss' \
	'nvme+tcp://127.0.0.1/nqn.x/1?loss=forever' --nbd-dev --connections 2
x '--connections --nbd-dev' ram:1M --nbd "unix:$SOCK" --connections 2
x '--slots 2.to.1024' ram:1M --nbd-dev --slots 1
x '--buffer 64K.to.32M' ram:1M --nbd-dev --buffer 512
x 'disks \b16$' ram:1M{,,,,,,,,,,,,,,,,} --nbd-dev
x '--nbd-dev --ublk' ram:1M --nbd-dev --ublk
x '--nbd.ADDRESS --nbd-dev --ublk' ram:1M
