#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A port in use is named.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

serve ram:1M --nvmf --tcp 127.0.0.1:0
error 1 busy "127.0.0.1:$PORT" 'address.in.use' \
	"$RDMASTOR" serve ram:1M --nvmf --tcp "127.0.0.1:$PORT"
stop
