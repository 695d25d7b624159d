#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Killed repeatedly, copy resumes from its map, and what the map calls finished is on the disk. GNU ddrescue's tools
# and people can read the map.
. "$(dirname "$0")/lib.sh"
requires cmp jq
size=$((192 << 20))
head -c $size /dev/urandom >src
kills=0 finished=0
# finished: bytes at the beginning that the map calls finished
finished() {
	local pos len status
	[ ! -e map ] || read -r pos len status < <(grep -v '^#' map | tail -n +2)
	[ "${status:-}" = + ] && [ $((pos)) = 0 ] || len=0
	echo $((len))
}
for round in $(seq 1 60); do
	"$RDMASTOR" copy src dst --resume map --request 4K --depth 1 >out 2>err &
	pid=$!
	while running $pid && [ "$(finished)" -le $finished ]; do sleep 0.05; done
	kill -KILL $pid 2>/dev/null || { wait $pid; break; }
	wait $pid 2>/dev/null
	kills=$((kills + 1))
	while read -r pos len status; do
		[ "$status" = + ] || continue
		cmp -i $((pos)) -n $((len)) src dst || die "round $round: finished, but wrong at $pos"
		[ "$pos" != 0x00000000 ] || { [ $((len)) -ge $finished ] || die "round $round: less is finished than before"; finished=$((len)); }
	done < <(grep -v '^#' map | tail -n +2)
	[ $kills -lt 4 ] || break
done
[ $kills -ge 2 ] || { echo "this machine is too fast to be interrupted"; exit 77; }
[ $finished -gt 0 ] || die "nothing was kept of $kills rounds: $(cat map)"
"$RDMASTOR" copy src dst --resume map --json >out 2>err || die "going on: $(cat err)"
valid out
jq -e ".copied_bytes <= $((size - finished))" out >/dev/null || die "more was copied than was missing: $(cat out)"
cmp src dst || die "bytes differ after $kills kills"
grep -v '^#' map | tail -n +2 >extents
[ "$(wc -l <extents)" = 1 ] && grep -q '^0x00000000  0x0C000000  +$' extents || die "map: $(cat map)"
"$RDMASTOR" copy src dst --resume map --json >out 2>err || die "once more"
valid out
jq -e '.already_copied and .copied_bytes == 0' out >/dev/null ||
	die "a finished one was copied again: $(cat out)"

rm dst
error 1 mismatch 'map map' 'destination rm.map' "$RDMASTOR" copy src dst --resume map
head -c 1M /dev/urandom >other
error 1 mismatch 'map map' '1048576 --resume.OTHER' "$RDMASTOR" copy other dst2 --resume map
echo rubbish >map
error 1 mismatch 'map map' 'line.1 delete --resume.OTHER' "$RDMASTOR" copy src dst2 --resume map
error 1 mismatch 'map [.]' 'not.a.map --resume.OTHER' "$RDMASTOR" copy src dst2 --resume .
error 1 not-found 'map /nonexistent/map' 'no.such.file' \
	"$RDMASTOR" copy src dst2 --resume /nonexistent/map
! grep -q hint error.err || die "a hint that cannot be followed: $(cat error.err)"
[ ! -e dst2 ] || die "a destination was made for nothing"
: >map
"$RDMASTOR" copy other dst2 --resume map >out 2>err || die "an empty map: $(cat err)"
cmp other dst2 || die "an empty map left something out"
