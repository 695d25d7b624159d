#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If no listener answers over RDMA but one speaks NVMe/TCP, the error says so, and the hint is the URI that works.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

hinted() { sed -n '/^hint: /p' error.err | grep -oE "$1://[^ ']+"; } # SCHEME: the URI

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
error 1 - "127.0.0.1:$PORT" NVMe/TCP ours info "nvme+rdma://127.0.0.1:$PORT/$NQN/1"
uri=$(hinted 'nvme\+tcp')
same hint "$uri" "nvme+tcp://127.0.0.1:$PORT/$NQN/1"
ours info "$uri" >/dev/null
error 1 - "127.0.0.1:$PORT" NVMe/TCP ours nvmf-discover "nvme+rdma://127.0.0.1:$PORT"
ours nvmf-discover "$(hinted 'nvme\+tcp')" | grep -q "$NQN"
error 1 protocol "127.0.0.1:$PORT" 'MPA iWARP' \
	ours info "nvme+rdma://127.0.0.1:$PORT/$NQN?rdma=iwarp"
stop
error 1 - "127.0.0.1:$PORT" 'connection.refused' ours info "nvme+rdma://127.0.0.1:$PORT/$NQN"
! grep -q 'NVMe/TCP' error.err || die "names a service without a listener: $(cat error.err)"

# and the other way round: a port for software iWARP only
serve ram:1M --nvmf --nqn "$NQN" --rdma '127.0.0.1:0?rdma=iwarp'
error 1 closed "127.0.0.1:$PORT" iWARP ours info "nvme+tcp://127.0.0.1:$PORT/$NQN/1"
uri=$(hinted 'nvme\+rdma')
same hint "$uri" "nvme+rdma://127.0.0.1:$PORT/$NQN/1?rdma=iwarp"
ours info "$uri" >/dev/null
error 1 closed "127.0.0.1:$PORT" iWARP ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT"
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
wait_running $closer test -s port
error 1 closed "127.0.0.1:$(cat port)" 'connection.(closed|reset)' \
	ours info "nvme+tcp://127.0.0.1:$(cat port)/$NQN/1"
! grep -q iWARP error.err || die "names a service that does not answer: $(cat error.err)"
grep -q '^hint: .*NVMe/TCP.*TLS.*tls-key-file' error.err || die "$(cat error.err)"
