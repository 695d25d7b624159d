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

# and the other way round: a port for software iWARP only
serve ram:1M --nvmf --nqn "$NQN" --rdma '127.0.0.1:0?rdma=iwarp'
fails 1 '; software iWARP answers there$' ours info "nvme+tcp://127.0.0.1:$PORT/$NQN/1"
uri=$(sed -n 's/^hint: //p' fails.err)
[ "$uri" = "nvme+rdma://127.0.0.1:$PORT/$NQN/1?rdma=iwarp" ] || die "hint: $(cat fails.err)"
ours info "$uri" >/dev/null
fails 1 '; software iWARP answers there$' ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT"
stop

# a port that closes either
command -v python3 >/dev/null || exit 0
python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    s.accept()[0].close()' >port &
closer=$!
cleanup_fn kill $closer
for _ in {1..100}; do [ ! -s port ] || break; sleep 0.1; done
fails 1 'connection (closed|reset) by the peer$' ours info "nvme+tcp://127.0.0.1:$(cat port)/$NQN/1"
