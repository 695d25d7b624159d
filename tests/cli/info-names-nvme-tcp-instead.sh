#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Where nobody answers RDMA but NVMe/TCP is spoken, the error says so, and the hint is the URI that works.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
fails 1 '; NVMe/TCP answers there$' ours info "nvme+rdma://127.0.0.1:$PORT/$NQN/1"
uri=$(sed -n 's/^hint: //p' fails.err)
[ "$uri" = "nvme+tcp://127.0.0.1:$PORT/$NQN/1" ] || die "hint: $(cat fails.err)"
ours info "$uri" >/dev/null
fails 1 '; NVMe/TCP answers there$' ours nvmf-discover "nvme+rdma://127.0.0.1:$PORT"
ours nvmf-discover "$(sed -n 's/^hint: //p' fails.err)" | grep -q "$NQN"
fails 1 'does not speak iWARP$' ours info "nvme+rdma://127.0.0.1:$PORT/$NQN?rdma=iwarp"
stop
fails 1 "nobody listens at TCP 127.0.0.1:$PORT$" ours info "nvme+rdma://127.0.0.1:$PORT/$NQN"
