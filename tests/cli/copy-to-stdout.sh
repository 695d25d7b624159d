#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# "-" as the destination: the bytes in their order, and nothing else on stdout; unsupported options are refused.
. "$(dirname "$0")/lib.sh"
requires sha256sum
dd if=/dev/urandom of=src bs=64K count=80 status=none
truncate -s 20M src
want=$(sha256sum <src)
for options in '' '--depth 64 --request 512' '--depth 1' '--no-sparse --request 3M'; do
	# shellcheck disable=SC2086
	[ "$("$RDMASTOR" copy src - $options 2>err | sha256sum)" = "$want" ] || die "$options: $(cat err)"
done
grep -q '20 MiB' err || die "no result on stderr: $(cat err)"
{ echo before; "$RDMASTOR" copy src - --quiet; } >file || die "to a file"
[ "$(tail -c +8 file | sha256sum)" = "$want" ] || die "behind what the file holds already"
"$RDMASTOR" copy src - --quiet 2>err | { sleep 0.3; head -c 1000000; sleep 0.3; } | wc -c >count
[ ! -s err ] || die "a reader that goes away: $(cat err)"
[ "$(cat count)" = 1000000 ] || die "read $(cat count)"

error 2 - '' '--verify standard.output' "$RDMASTOR" copy src - --verify
error 2 - '' '--resume standard.output' "$RDMASTOR" copy src - --resume map
error 2 usage '' '--json standard.output' "$RDMASTOR" copy src - --json
error 2 - '' 'standard.input standard.output' "$RDMASTOR" copy - -
error 2 usage 'pipe://x' 'scheme pipe:' "$RDMASTOR" copy src pipe://x
