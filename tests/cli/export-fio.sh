#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fio verifies what it wrote over several connections and queues.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires fio

offer ram:16M --nbd "unix:$SOCK" --queues 2
if ! fio --enghelp=nbd >/dev/null 2>&1; then echo "fio has no nbd engine"; exit 77; fi
fio --name=v --ioengine=nbd --uri="$URI" --rw=randwrite --bsrange=4k-512k --iodepth=16 --size=16M --verify=crc32c --do_verify=1 \
	--verify_fatal=1 >fio.out 2>&1 || die "$(cat fio.out)"
stop
