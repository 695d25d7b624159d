#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# At exit the server removes only its own socket.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
offer ram:1M --nbd "unix:$SOCK"
rm "$SOCK"
echo other >"$SOCK"
stop
same "the socket's path now" "$(cat "$SOCK")" other
