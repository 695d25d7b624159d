#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Only hosts and addresses that are allowed reach the disk, in discovery and by connecting.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --allow-host "$HOST"
ours info "$TCP?hostnqn=$HOST" >/dev/null
error 1 auth "127.0.0.1:$PORT" "$NQN nqn.other hostnqn" ours info "$TCP?hostnqn=nqn.other"
[ "$(ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT?hostnqn=nqn.other" --json | jq '.records | length')" = 0 ] || die 'a stranger sees the disk'
[ "$(ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT?hostnqn=$HOST" --json | jq '.records | length')" = 1 ] || die 'the host sees nothing'
error 1 not-found "127.0.0.1:$PORT" 'subsystem nqn.nothing' \
	ours info "nvme+tcp://127.0.0.1:$PORT/nqn.nothing?hostnqn=$HOST"
stop

# addresses, over all protocols and transports
everything=(--nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' --iscsi --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
	--srp --rdma '127.0.0.1:0?rdma=iwarp')
uris() { sed -n 's/^rdmastor: *//p' out; }
serve ram:1M "${everything[@]}" --allow 127.0.0.2 --allow 127.0.1.0/24
[ "$(uris | wc -l)" = 5 ] || die "$(cat out)"
for uri in $(uris); do
	case $uri in nvme+tcp:* | iscsi:*) code=closed ;; iser:*) uri+='?rdma=iwarp' code=refused ;; *) code=refused ;; esac
	error 1 $code '127.0.0.1:[0-9]+' '' ours info "$uri"
done
[ "$("$RDMASTOR" status --json | jq "[.serving[] | select(.pid == $SERVER).refused] | add")" -ge 5 ] || die 'refusals are not counted'
stop
serve ram:1M "${everything[@]}" --allow 10.0.0.0/8 --allow 127.0.0.0/8
for uri in $(uris); do
	same "size by $uri" "$(ours info "$uri" --json | jq .size)" 1048576
done
stop
serve ram:1M --nvmf --nqn "$NQN" --tcp 0.0.0.0:0 --allow 127.0.0.1
[ ! -s err ] || die "$(cat err)"
stop
error 2 usage --allow '10.0.0.0.33 0.to.32' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --allow 10.0.0.0/33
error 2 usage --allow "'storage'" ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --allow storage
