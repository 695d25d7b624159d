#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An address for everybody is worth a line, unless hosts are listed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --tcp 0.0.0.0:0
grep -q 'any host that reaches this address can use the disk: limit it with --allow-host' err || die "$(cat err)"
stop
serve ram:1M --nvmf --tcp 0.0.0.0:0 --allow-host "$HOST"
! grep -q 'any host' err || die "$(cat err)"
stop
serve ram:1M --nvmf --tcp 127.0.0.1:0
! grep -q 'any host' err || die "$(cat err)"
stop
fails 1 'nosuch' ours serve nosuch --nvmf --tcp 0.0.0.0:0
! grep -q 'any host' fails.err || die "warns of a server that never listened: $(cat fails.err)"
