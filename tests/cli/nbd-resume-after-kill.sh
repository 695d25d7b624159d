#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A copy from one NBD server to another, killed and started again, goes on from its map and ends with equal disks.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit cmp jq

random_file src 32
truncate -s 32M dst
kit --filter=rate file src rate=40M
nbdkit -f -U "$TMP/to" file dst >to.out 2>&1 &
to=$!
cleanup_fn kill $to
TO="nbd+unix:///?socket=$TMP/to"
for ((i = 0; i < 100; i++)); do [ -S to ] && break; sleep 0.1; done
kills=0
for _ in 1 2 3; do
	"$RDMASTOR" copy "$URI" "$TO" --resume map --verify --request 64K --depth 2 >out 2>err &
	pid=$!
	sleep 1.4
	kill -KILL $pid 2>/dev/null || { wait $pid; break; }
	wait $pid 2>/dev/null
	kills=$((kills + 1))
	[ ! -s map ] || while read -r pos len status; do
		[ "$status" != + ] || cmp -i $((pos)) -n $((len)) src dst || die "finished, but wrong at $pos"
	done < <(grep -v '^#' map | tail -n +2)
	[ $kills -lt 2 ] || break
done
[ $kills -gt 0 ] || { echo "this machine is too fast to be interrupted"; exit 77; }
ours copy "$URI" "$TO" --resume map --json --verify >out 2>err || die "going on: $(cat err)"
cmp src dst || die "bytes differ"
[ ! -s map ] || jq -e '.copied_bytes < .size' out >/dev/null || die "nothing was kept: $(cat out)"
