#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# rdma=verbs without an RDMA device is an error with a hint; rdma=auto works without one.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo 'needs a machine without RDMA devices'; exit 77; }

error 1 - 127.0.0.1:4420 '[?]rdma=iwarp --tcp' \
	"$RDMASTOR" serve ram:1M --nvmf --rdma '127.0.0.1?rdma=verbs' --timeout 3
error 1 - 127.0.0.1:3260 '[?]rdma=iwarp --tcp' \
	"$RDMASTOR" serve ram:1M --iscsi --rdma '127.0.0.1?rdma=verbs' --timeout 3
serve ram:1M --nvmf --nqn "$NQN" --rdma 127.0.0.1:0
ours info "$RDMA" | grep -q 'software iWARP' || die 'not reached'
stop
