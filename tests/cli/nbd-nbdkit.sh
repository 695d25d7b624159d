#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nbdkit's memory is described, written, read back and measured, over a unix socket and over TCP.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit cmp jq applet:bench

random_file src 16
kit memory 16M
ours info "$URI" --json >info || die "info"
jq -e '.size == 16777216 and .block_size == 512 and .structured_replies and .transport == "unix"' info >/dev/null || die "$(cat info)"
ours copy src "$URI" --verify >out || die "to it"
ours copy "$URI" dst >out || die "from it"
cmp src dst || die "bytes differ"
ours bench "$URI" --rw randrw --bs 4k --iodepth 16 --size 4M --runtime 1 --verify --force >out || die "bench: $(cat out)"
down

# a failure before the first byte is not an interrupted copy
kit --filter=error pattern 16M error-pread=EIO error-pread-rate=100%
error 1 io '.*' '' "$RDMASTOR" copy "$URI" fails
jq -e '.error.hint // "" | test("--resume") | not' error.out >/dev/null || die "nothing was copied: $(cat error.out)"
down

port=$((20000 + $$ % 20000))
nbdkit -f -i 127.0.0.1 -p $port -P pid memory 16M >server.out 2>&1 &
pid=$!
cleanup_fn kill $pid
until [ -s pid ]; do
	running $pid || { echo "port $port is taken"; exit 77; }
	sleep 0.05
done
for uri in "nbd://127.0.0.1:$port" "nbd://localhost:$port/?queues=2&depth=3" "nbd://127.0.0.1:$port?src=127.0.0.1"; do
	ours copy src "$uri" --verify >out || die "$uri"
done
