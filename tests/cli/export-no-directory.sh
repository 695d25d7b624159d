#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A unix socket that can't be created is a failure, even if another address works.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

error 1 - '' 'no/such: bind: no such file' "$RDMASTOR" export ram:1M --nbd "unix:$PWD/no/such"
error 1 - '' 'no/such: bind: no such file' \
	"$RDMASTOR" export ram:1M --nbd "unix:$SOCK" --nbd "unix:$PWD/no/such"
[ ! -e "$SOCK" ] || die "the socket is still there"
