#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Disks with one NQN are its namespaces, in order.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M ram:2M ram:3M --nvmf --nqn "$NQN" --nqn "$NQN" --nqn nqn.other --tcp 127.0.0.1:0
ours info "$TCP/1" | grep -q '1 MiB'
ours info "$TCP/2" | grep -q '2 MiB'
ours info "nvme+tcp://127.0.0.1:$PORT/nqn.other" | grep -q '3 MiB'
error 1 not-found "127.0.0.1:$PORT" 'namespace \b3\b' ours info "$TCP/3"
stop
