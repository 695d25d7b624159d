#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Software iWARP uses no CRC if neither side requests it: crc=0 in the listening address and in the URI.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

# crc WORD URI: whether the connection has a CRC
crc() {
	ours info -v "$2" >/dev/null 2>log
	if grep -q 'software iWARP.*CRC' log; then [ "$1" = yes ]; else [ "$1" = no ] && grep -q 'software iWARP' log; fi ||
		die "$2: CRC is not '$1': $(cat log)"
}

random_file src 4
truncate -s 4M disk
serve disk --nvmf --nqn "$NQN" --rdma '127.0.0.1:0?rdma=iwarp&crc=0'
case $RDMA in *'?rdma=iwarp&crc=0') ;; *) die "the URI is $RDMA" ;; esac
crc no "$RDMA"
crc yes "${RDMA%&crc=0}"
ours copy -q --verify src "$RDMA"
cmp src disk || die 'other data'
stop
serve disk --nvmf --nqn "$NQN" --rdma '127.0.0.1:0?rdma=iwarp'
crc yes "$RDMA&crc=0"
stop
