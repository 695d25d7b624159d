#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Exports are listed with their names; each is reached by its own, the first also without one.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo nbd-client

offer ram:1M ram:2M --name first --name second --nbd "unix:$SOCK" --nbd 127.0.0.1:0
nbdinfo --list "$URI" | grep '^export=' >names
printf 'export="first":\nexport="second":\n' | cmp - names
same "size of the second" "$(nbdinfo --size "nbd+unix:///second?socket=$SOCK")" 2097152
same "size of the first" "$(nbdinfo --size "$URI")" 1048576
port=$(sed -n 's#.*nbd://127.0.0.1:\([0-9]*\)/first,.*#\1#p' out)
# each URI is printed, with the size of its disk
while read -r uri size; do
	same "$uri" "$(nbdinfo --size "$uri")" "$((size << 20))"
done < <(sed -nE 's/^[^ ]+: (nbd[^ ]*), ([0-9]+) MiB.*/\1 \2/p' out | tee uris)
same "URIs" "$(wc -l <uris)" 4
nbd-client -l 127.0.0.1 "$port" | grep -q '^second'
if nbdinfo "nbd+unix:///third?socket=$SOCK" 2>/dev/null; then die "a third export"; fi
stop
