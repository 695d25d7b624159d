#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --daemon returns when the target is ready, leaves its process id, and ends cleanly.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

"$RDMASTOR" serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --daemon --pid-file pid >out
SERVER=$(cat pid)
ours info "$(sed -n 's/^rdmastor: //p' out)" | grep -q '1 MiB'
kill -TERM "$SERVER"
wait_while test -e pid
SERVER=
