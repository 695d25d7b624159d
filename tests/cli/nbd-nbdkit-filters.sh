#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Servers with errors, delays, limits of their own, retried requests, no extents, no zeroes: their flags and limits are honoured.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit cmp jq

random_file src 4
round_trip() { # WHAT
	ours copy src "$URI" --verify >out 2>err || die "$1: to it: $(cat err)"
	rm -f dst
	ours copy "$URI" dst >out 2>err || die "$1: from it: $(cat err)"
	cmp src dst || die "$1: bytes differ"
}

kit --filter=noextents --filter=error memory 4M error-pread-rate=100% error=EIO
error 1 io "$(ere "$URI")" '\<read\> byte.[0-9]+ EIO' "$RDMASTOR" copy "$URI" null:4M
down
kit --filter=error memory 4M error-pwrite-rate=100% error=ENOSPC
error 1 io "$(ere "$URI")" '\<write\> byte.[0-9]+ ENOSPC' "$RDMASTOR" copy src "$URI" --depth 1
down
kit --filter=error memory 4M error-pwrite-rate=100% error=EPERM
error 1 io "$(ere "$URI")" '\<write\> EPERM' "$RDMASTOR" copy src "$URI"
down
kit --filter=delay memory 4M rdelay=20ms wdelay=20ms
round_trip delay
down
for policy in 'blocksize-minimum=4096 blocksize-preferred=64K blocksize-maximum=64K' 'blocksize-minimum=512 blocksize-maximum=1M' \
	'blocksize-minimum=65536 blocksize-preferred=65536 blocksize-maximum=32M'; do
	# shellcheck disable=SC2086 # several words
	kit --filter=blocksize-policy memory 4M blocksize-error-policy=error $policy
	round_trip "$policy"
	ours info "$URI" --json >info || die "$policy"
	[ "$policy" = "${policy#blocksize-minimum=4096}" ] ||
		jq -e '.block_size == 4096 and .preferred_size == 65536 and .max_read_bytes == 65536 and .max_write_bytes == 65536' info >/dev/null || die "$(cat info)"
	[ "$policy" = "${policy#blocksize-minimum=65536}" ] || jq -e '.block_size == 65536' info >/dev/null || die "$(cat info)"
	down
done
kit --filter=retry-request --filter=error memory 4M retry-request-retries=4 retry-request-delay=1 error-rate=0
round_trip retry-request
down
for filter in noextents nozero noparallel nocache; do
	kit --filter=$filter memory 4M
	round_trip $filter
	down
done
kit --filter=noextents memory 4M
ours info "$URI" --json | jq -e '.max_map_bytes' >/dev/null || die "no map in info"
down
kit --filter=fua memory 4M
[ "$(ours info "$URI" --json | jq .fua)" = false ] || die "fua without fua"
