#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A stop under load completes the requests in flight, then ends.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires fio

truncate -s 16M disk
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
ours export "$TCP?queues=2&loss=fail-fast" --run 'fio --name=v --ioengine=nbd --uri="$uri" --rw=randwrite --bs=16k --size=16M --time_based --runtime=3600 --iodepth=16' \
	>fio.out 2>&1 &
load=$!
wait_running $load under_load "$SERVER"
stop
kill $load 2>/dev/null || true
wait $load || true
