#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --timeout bounds start-up if the target never answers.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

python3 -c '
import signal, socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >port &
MUTE=$!
wait_until test -s port
at=127.0.0.1:$(cat port)
error 1 timeout "$at" 'no.answer' "$RDMASTOR" export "nvme+tcp://$at/nqn.2026-01.org.example:x" \
	--nbd "unix:$SOCK" --timeout 2
running "$MUTE" || die "the target has ended, not the time"
[ ! -e "$SOCK" ] || die "a socket is left"
kill "$MUTE"
