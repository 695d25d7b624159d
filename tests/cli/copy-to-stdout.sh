#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# "-" as the destination: the bytes in their order, and nothing else on stdout; what cannot be done with it is refused.
. "$(dirname "$0")/lib.sh"
requires sha256sum
dd if=/dev/urandom of=src bs=64K count=80 status=none
truncate -s 20M src
want=$(sha256sum <src)
for options in '' '--depth 64 --request 512' '--depth 1' '--no-sparse --request 3M'; do
	# shellcheck disable=SC2086
	[ "$("$RDMASTOR" copy src - $options 2>err | sha256sum)" = "$want" ] || die "$options: $(cat err)"
done
grep -q 'copied 20 MiB' err || die "no result on stderr: $(cat err)"
{ echo before; "$RDMASTOR" copy src - --quiet; } >file || die "to a file"
[ "$(tail -c +8 file | sha256sum)" = "$want" ] || die "behind what the file holds already"
"$RDMASTOR" copy src - 2>err | { sleep 0.3; head -c 1000000; sleep 0.3; } | wc -c >count
grep -q 'broken pipe\|reader' err || die "a reader that goes away: $(cat err)"
[ "$(cat count)" = 1000000 ] || die "read $(cat count)"

fails 2 'standard output cannot be read again' "$RDMASTOR" copy src - --verify
fails 2 'standard output cannot be read again' "$RDMASTOR" copy src - --resume map
fails 2 '^rdmastor copy: --json: the standard output is taken' "$RDMASTOR" copy src - --json
fails 2 'needs no copy' "$RDMASTOR" copy - -
fails 2 "unknown scheme 'pipe:'" "$RDMASTOR" copy src pipe://x
