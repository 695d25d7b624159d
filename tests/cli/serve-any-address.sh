#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# On every address: the discovery log names the one that the host connected to, over TCP and over RDMA.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --nqn "$NQN" --tcp 0.0.0.0:0 --rdma '0.0.0.0:0?rdma=iwarp' --allow-host "$HOST"
for uri in "nvme+tcp://127.0.0.1:$PORT?hostnqn=$HOST" "nvme+rdma://127.0.0.1:$PORT?rdma=iwarp&hostnqn=$HOST"; do
	[ "$(ours nvmf-discover "$uri" --json | jq -r '[.records[].traddr] | join(" ")')" = '127.0.0.1 127.0.0.1' ] || die "$uri"
done
stop
