#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A served disk exported as NBD: fio verifies it through both processes, over TCP and software iWARP.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires fio nbdinfo

serve ram:24M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
for uri in "$TCP?queues=2" "$RDMA&queues=2"; do
	ours export "$uri" --run 'fio --name=v --ioengine=nbd --uri="$uri" --rw=randwrite --bsrange=4k-512k --size=16M --iodepth=16 --verify=crc32c --verify_fatal=1' \
		>fio.out 2>&1 || die "$(cat fio.out)"
done
stop
