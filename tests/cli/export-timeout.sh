#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --timeout bounds getting ready when the target never answers.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3

python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(20)' >port &
MUTE=$!
for _ in $(seq 100); do [ -s port ] || sleep 0.02; done
start=$(date +%s%N)
at=127.0.0.1:$(cat port)
error 1 timeout "$at" 'no.answer' "$RDMASTOR" export "nvme+tcp://$at/nqn.2026-01.org.example:x" \
	--nbd "unix:$SOCK" --timeout 0.5
[ $((($(date +%s%N) - start) / 1000000)) -lt 3000 ] || die "it took too long"
[ ! -e "$SOCK" ] || die "a socket is left"
kill "$MUTE"
