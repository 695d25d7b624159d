#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --verify reads the destination back: a change by another process is reported, with the first byte that differs.
. "$(dirname "$0")/lib.sh"
requires cmp
head -c 8M /dev/urandom >src
"$RDMASTOR" copy src dst --resume map >/dev/null || die copy
printf '\x00\x01\x02\x03' | dd of=dst bs=1 seek=5000001 conv=notrunc status=none
first=$(cmp src dst | sed 's/.*byte \([0-9]*\),.*/\1/')
error 1 mismatch dst "src $((first - 1))\b" "$RDMASTOR" copy src dst --resume map --verify
"$RDMASTOR" copy src dst --verify >/dev/null || die "copied again it must agree"
