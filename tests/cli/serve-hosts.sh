#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Only hosts that are allowed see the disk, in discovery and by connecting.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --allow-host "$HOST"
ours info "$TCP?hostnqn=$HOST" >/dev/null
fails 1 "subsystem '$NQN' does not allow host NQN 'nqn.other'" ours info "$TCP?hostnqn=nqn.other"
[ "$(ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT?hostnqn=nqn.other" --json | jq '.records | length')" = 0 ] || die 'a stranger sees the disk'
[ "$(ours nvmf-discover "nvme+tcp://127.0.0.1:$PORT?hostnqn=$HOST" --json | jq '.records | length')" = 1 ] || die 'the host sees nothing'
fails 1 "no subsystem 'nqn.nothing'" ours info "nvme+tcp://127.0.0.1:$PORT/nqn.nothing?hostnqn=$HOST"
stop
