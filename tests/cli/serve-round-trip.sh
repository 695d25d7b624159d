#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Discovered, described, written and read back over TCP and software iWARP on one port, on 1 to 4 queues, with digests.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file src 20
truncate -s 20M disk
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT" --json >log
[ "$(jq -r '[.records[] | .trtype + " " + .subnqn + " " + .trsvcid] | join(",")' log)" = "rdma $NQN $PORT,tcp $NQN $PORT" ] || die "$(cat log)"
ours nvmf-discover "nvme+rdma://127.0.0.1:$PORT?rdma=iwarp" | grep -q "subnqn:  $NQN" || die 'nothing discovered over RDMA'
ours info "$TCP" | grep -q '20 MiB' || die 'info over TCP'
ours info "$RDMA" | grep -q '20 MiB' || die 'info over RDMA'
for uri in "$TCP?queues=1" "$TCP?queues=2&hdr_digest=1" "$TCP?queues=3&data_digest=1" "$TCP?queues=4&hdr_digest=1&data_digest=1" \
	"$RDMA&queues=1" "$RDMA&queues=4"; do
	ours copy -q --verify src "$uri"
	cmp src disk || die "$uri"
	ours copy -q /dev/zero "$uri" 2>/dev/null || true
done
stop
