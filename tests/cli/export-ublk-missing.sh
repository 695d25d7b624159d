#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Where the kernel has no ublk the error names what is missing, and the way round.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
[ ! -e /dev/ublk-control ] || { echo "this machine has ublk"; exit 77; }
fails 1 'ublk_drv|io_uring' timeout 60 "$RDMASTOR" export ram:1M --ublk
grep -q '^hint: .*--nbd-dev' fails.err || die "no way round: $(cat fails.err)"
fails 1 'ublk_drv|io_uring' timeout 60 "$RDMASTOR" export ram:1M --ublk --json
jq -e '.error.hint | contains("--nbd-dev")' fails.out >/dev/null || die "JSON: $(cat fails.out)"
