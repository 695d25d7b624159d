#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest client is served in time, whatever its neighbours do: as serve-neighbours.sh, over NBD.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer ram:64M --nbd 127.0.0.1:0 --queues 2 --poll-us 0
port=$(sed -n 's/.*nbd:\/\/127.0.0.1:\([0-9]*\).*/\1/p' out)
among() { # KIND COUNT LIMIT-MS
	PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/neighbours.py" nbd "$port" "$SERVER" "$@" >out.py 2>&1 || die "$(cat out.py)"
	cat out.py
}
among frozen 2 500
among frozen 58 500
among greedy 8 500
among lying 58 2000
among slow 58 2000
stop
