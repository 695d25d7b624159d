#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest host is served in time, whatever its neighbours do: hosts that freeze, that want everything, that promise data
# and don't send it, and that are only slow. Few of them, and more than there are reserved buffers for.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

serve ram:64M --nvmf --tcp 127.0.0.1:0 --nqn "$NQN" --queues 2 --poll-us 0
beside() { # KIND COUNT LIMIT-MS
	PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/neighbours.py" nvme "$PORT" "$SERVER" "$1" "$2" "$3" "$NQN" >out.py 2>&1 ||
		die "$(cat out.py)"
	cat out.py
}
beside frozen 2 500
beside frozen 60 500
beside greedy 8 500
beside lying 2 500
beside lying 60 2000
beside slow 60 2000
stop
