#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --progress=json: one JSON document a line on stderr, ending with everything; none and --quiet: nothing.
. "$(dirname "$0")/lib.sh"
requires jq
head -c 64M /dev/urandom >src
"$RDMASTOR" copy src dst --verify --progress=json >out 2>err || die "$(cat err)"
jq -es 'length >= 1 and (last | .phase == "verify" and .done_bytes == .total_bytes and .verified_bytes == 67108864) and all(.done_bytes <= .total_bytes)' err >/dev/null || die "$(cat err)"
valid err
"$RDMASTOR" copy - dst --progress=json <src >out 2>err || die "$(cat err)"
valid err
jq -es 'last | .phase == "copy" and .done_bytes == 67108864' err >/dev/null || die "from a pipe: $(cat err)"
"$RDMASTOR" copy src dst --progress none >out 2>err || die "$(cat err)"
[ ! -s err ] || die "none: $(cat err)"
"$RDMASTOR" copy src dst --progress=bar --quiet >out 2>err || die "$(cat err)"
grep -q '100% .*64 MiB' err || die "bar: $(cat err)"
error 2 usage '' '--progress often json' "$RDMASTOR" copy src dst --progress=often
