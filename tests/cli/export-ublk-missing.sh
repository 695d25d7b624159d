#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If the kernel has no ublk, the error names what is missing, and the workaround.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
[ ! -e /dev/ublk-control ] || { echo "this machine has ublk"; exit 77; }
error 1 - '' 'ublk_drv|io_uring --nbd-dev' "$RDMASTOR" export ram:1M --ublk
"$RDMASTOR" export ram:1M --ublk --json >out 2>err
valid out
jq -e '.error | (.code | IN("no-module", "unsupported")) and (.hint | contains("--nbd-dev"))' out \
	>/dev/null ||
	die "JSON: $(cat out)"
