#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Several connections if the server advertises CAN_MULTI_CONN, otherwise one; queues= bounds them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit jq applet:bench

queues() { ours info "$1" --json | jq .queues; }
kit -v --filter=multi-conn memory 4M multi-conn-mode=plugin
[ "$(queues "$URI")" = 16 ] || die "queues: $(queues "$URI")"
[ "$(queues "$URI&queues=3")" = 3 ] || die "queues=3: $(queues "$URI&queues=3")"
: >server.out
ours bench "$URI" --rw randread --bs 4k --numjobs 4 --iodepth 4 --runtime 1 >out || die "bench: $(cat out)"
[ "$(grep -c 'accepted connection' server.out)" = 4 ] || die "connections: $(grep -c 'accepted connection' server.out)"
[ "$(grep -c 'client sent NBD_CMD_DISC' server.out)" = 4 ] || die "NBD_CMD_DISC is not sent on each connection: $(grep -c NBD_CMD_DISC server.out)"
down
kit --filter=multi-conn memory 4M multi-conn-mode=disable
[ "$(queues "$URI")" = 1 ] || die "queues: $(queues "$URI")"
error 2 usage "$(ere "$URI")" '--numjobs 1.to.1\>' "$RDMASTOR" bench "$URI" --numjobs 2 --runtime 1
ours bench "$URI" --rw randread --runtime 1 >out || die "one job"
