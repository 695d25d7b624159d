#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An honest client is served, whatever its neighbours do, as in serve-neighbours.sh, over NBD.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

offer ram:64M --nbd 127.0.0.1:0 --queues 2 --poll-us 0
port=$(sed -n 's/.*nbd:\/\/127.0.0.1:\([0-9]*\).*/\1/p' out)
PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/neighbours.py" nbd "$port" "$SERVER" 58
stop
