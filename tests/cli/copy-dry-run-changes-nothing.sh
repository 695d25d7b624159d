#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --dry-run opens what exists, says what would happen, makes and writes nothing.
. "$(dirname "$0")/lib.sh"
requires jq
head -c 1M /dev/urandom >src
head -c 1M /dev/urandom >dst
sum=$(sha256sum <dst)
"$RDMASTOR" copy src dst --dry-run >out 2>err || die "$(cat err)"
grep -q 'would copy 1 MiB from src to dst$' err || die "said: $(cat err)"
"$RDMASTOR" copy src new --dry-run --json >out 2>err || die "$(cat err)"
grep -q 'would copy 1 MiB from src to new, a new file' err || die "said: $(cat err)"
jq -e '.dry_run and .created and .size == 1048576' out >/dev/null || die "$(cat out)"
[ ! -e new ] || die "it was made"
[ "$(sha256sum <dst)" = "$sum" ] || die "it was written"
fails 1 'nosuch: open' "$RDMASTOR" copy nosuch dst --dry-run
