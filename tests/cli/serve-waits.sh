#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# serve waits for an address that is not assigned yet, and says so; --timeout bounds the wait.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

error 1 not-found 192.0.2.1:4420 'address.not.available' \
	"$RDMASTOR" serve ram:1M --nvmf --tcp 192.0.2.1 --allow-host nqn.a --timeout 2
grep -q '^rdmastor serve: 192.0.2.1:4420: .*address not available.*: waiting' error.err || die "$(cat error.err)"
serve ram:1M --nvmf --tcp 192.0.2.1 --tcp 127.0.0.1:0 --allow-host nqn.a
stop
