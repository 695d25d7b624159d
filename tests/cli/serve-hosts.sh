#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Only hosts that are allowed see the disk, in discovery and by connecting.
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
