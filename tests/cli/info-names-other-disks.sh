#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If the target lacks the subsystem of a URI, the hint lists those that it has, as URIs.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

hinted() { sed -n '/^hint: /p' error.err | grep -oE "$1://[^ ',]+"; } # SCHEME: the URIs

serve ram:1M ram:2M --nvmf --nqn "$NQN" --nqn "$NQN.two" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
for uri in "$TCP" "$RDMA"; do
	base=${uri%%/nqn.*}
	keys=
	[[ $base != nvme+rdma* ]] || keys='?rdma=iwarp'
	error 1 not-found "${base#*//}" 'subsystem wrong' ours info "$base/wrong$keys"
	same hint "$(hinted 'nvme\+(tcp|rdma)')" "$base/$NQN$keys"$'\n'"$base/$NQN.two$keys"
	ours info "$(hinted 'nvme\+(tcp|rdma)' | head -1)" >/dev/null
done
# with query keys of a disk
error 1 not-found "127.0.0.1:$PORT" 'subsystem wrong' ours info "nvme+tcp://127.0.0.1:$PORT/wrong?loss=5s&timeout=60s"
[[ $(hinted nvme.tcp) == *"/$NQN.two" ]] || die "$(cat error.err)"
# with the keys without which the server is not reached
error 1 not-found "127.0.0.1:$PORT" 'subsystem wrong' ours info "nvme+tcp://127.0.0.1:$PORT/wrong?iface=lo&src=127.0.0.1"
same hint "$(hinted nvme.tcp | head -1)" "nvme+tcp://127.0.0.1:$PORT/$NQN?src=127.0.0.1&iface=lo"
# what is missing is only a namespace
error 1 not-found "127.0.0.1:$PORT" "namespace 9" ours info "nvme+tcp://127.0.0.1:$PORT/$NQN/9"
! grep -q '^hint' error.err || die "$(cat error.err)"
stop
