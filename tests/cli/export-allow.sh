#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --allow decides who may connect over TCP; without it there is a warning about an open address.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo

uri() { sed -n 's/.*\(nbd:[^,]*\),.*/\1/p' out; }
offer ram:1M --nbd 127.0.0.1:0 --allow 10.0.0.0/8 --allow ::1
if nbdinfo --size "$(uri)" 2>nbdinfo.err; then die "an address not on the list was served"; fi
stop
offer ram:1M --nbd :0 --allow 127.0.0.0/8
same size "$(nbdinfo --size "$(uri)")" 1048576
[ ! -s err ] || die "$(cat err)"
stop
offer ram:1M --nbd :0
grep -q -e '--allow' err
stop

# a server on all addresses prints the URI with the address that serve prints, if clients elsewhere are allowed
host() { sed -nE 's#.*(nbd|nvme.tcp)://([^/]*):[0-9]+/.*#\2#p' out | head -1; }
serve ram:1M --nvmf --nqn "$NQN" --tcp :0
elsewhere=$(host)
stop
for allow in '' 10.0.0.0/8 ::/0; do
	offer ram:1M --nbd :0 ${allow:+--allow "$allow"}
	same "the host, allowed $allow" "$(host)" "$elsewhere"
	stop
done
