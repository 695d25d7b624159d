#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A copy from one NBD server to another, killed and restarted, resumes from its map and ends with equal disks.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit cmp jq

random_file src 32
truncate -s 32M dst
echo 8M >rate # bits per second: slow enough to be killed in the middle
kit --filter=rate file src rate-file="$PWD/rate"
nbdkit -f -U "$TMP/to" file dst >to.out 2>&1 &
to=$!
cleanup_fn kill $to
TO="nbd+unix:///?socket=$TMP/to"
wait_running $to test -S to
copied() { grep -qs ' +$' map && ! cmp -s map before; }
for _ in 1 2; do
	[ ! -e map ] || cp map before
	"$RDMASTOR" copy "$URI" "$TO" --resume map --verify --request 64K --depth 2 >out 2>err &
	pid=$!
	wait_running $pid copied
	kill -KILL $pid
	wait $pid 2>/dev/null
	while read -r pos len status; do
		[ "$status" != + ] || cmp -i $((pos)) -n $((len)) src dst || die "finished, but wrong at $pos"
	done < <(grep -v '^#' map | tail -n +2)
done
echo 8G >rate
ours copy "$URI" "$TO" --resume map --json --verify >out 2>err || die "going on: $(cat err)"
cmp src dst || die "bytes differ"
jq -e '.copied_bytes < .size' out >/dev/null || die "nothing was kept: $(cat out)"
