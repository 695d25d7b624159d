#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What is wrong with the words about an NBD device is said with them, before anything is opened.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
x() { local text=$1; shift; refused 2 "$text" "$RDMASTOR" export "$@"; }
x '--nbd-dev: must be 0 to 32767' ram:1M --nbd-dev 32768
x '--nbd-dev 3: there are 2 disks; without the number each gets a device' ram:1M ram:1M --nbd-dev=3
x '--connections: must be 1 to 16' ram:1M --nbd-dev --connections 17
x '--connections 2: the kernel does not wait for ever for one of several' ram:1M --nbd-dev --connections 2 --on-loss forever
x '--connections 2: the kernel does not wait for ever' 'nvme+tcp://127.0.0.1/nqn.x/1?loss=forever' --nbd-dev --connections 2
x '--connections: there is no --nbd-dev' ram:1M --nbd "unix:$SOCK" --connections 2
x '--slots: must be 2 to 1024' ram:1M --nbd-dev --slots 1
x '--buffer: must be 64K to 32M' ram:1M --nbd-dev --buffer 512
x 'at most 16 disks' ram:1M{,,,,,,,,,,,,,,,,} --nbd-dev
x '--nbd-dev and --ublk exclude each other' ram:1M --nbd-dev --ublk
x 'give --nbd ADDRESS, --nbd-dev or --ublk' ram:1M
