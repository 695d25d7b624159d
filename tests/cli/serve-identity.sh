#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A disk keeps its identity across restarts and under another path; a disk without a name has that of its URI, in any spelling;
# another disk, and another ram: disk, has another identity.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
[ -s /etc/machine-id ] || [ -r /sys/class/dmi/id/product_uuid ] || { echo 'needs a machine with an identity'; exit 77; }

id() { sed -n 's/^nvme-cli: .*-n //p' out; }
truncate -s 1M a b
serve a --nvmf --tcp 127.0.0.1:0
first=$(id)
serial=$(ours info "$TCP" | grep -E '^(serial|uuid|nguid)')
stop
ln a c
serve ./c --nvmf --tcp 127.0.0.1:0
[ "$(id)" = "$first" ] || die "another NQN: $(id), $first"
[ "$(ours info "$TCP" | grep -E '^(serial|uuid|nguid)')" = "$serial" ] || die 'another serial number'
stop
# as bench's servers, which no host is to take for a disk that it knows
serve a --anonymous --nvmf --tcp 127.0.0.1:0
[ "$(id)" != "$first" ] || die 'not anonymous'
stop
serve b --nvmf --tcp 127.0.0.1:0
[ "$(id)" != "$first" ] || die 'two files, one NQN'
stop
serve ram:1M ram:1M --nvmf --tcp 127.0.0.1:0
[ "$(id | sort -u | wc -l)" = 2 ] || die 'two ram: disks, one NQN'
stop

"$RDMASTOR" export a --nbd "unix:$TMP/nbd.sock" >/dev/null 2>&1 &
nbd=$!
end_nbd() { kill $nbd 2>/dev/null || true; }
cleanup_fn end_nbd
wait_running $nbd test -S nbd.sock
serve "nbd+unix:///?socket=$TMP/nbd.sock" --nvmf --tcp 127.0.0.1:0
first=$(id)
stop
serve "nbd+unix:///?socket=$TMP/nbd.sock&timeout=70" --nvmf --tcp 127.0.0.1:0
[ "$(id)" = "$first" ] || die "another NQN with another time-out: $(id), $first"
stop

# what two names have in common may be long
long=$(printf 'n%.0s' {1..500})
"$RDMASTOR" export ram:1M ram:1M --name "${long}1" --name "${long}2" --nbd "unix:$TMP/long.sock" >/dev/null 2>&1 &
long_nbd=$!
end_long() { kill $long_nbd 2>/dev/null || true; }
cleanup_fn end_long
wait_running $long_nbd test -S long.sock
serve "nbd+unix:///${long}1?socket=$TMP/long.sock" "nbd+unix:///${long}2?socket=$TMP/long.sock" --nvmf --tcp 127.0.0.1:0
[ "$(id | sort -u | wc -l)" = 2 ] || die 'two disks behind long names, one NQN'
stop
