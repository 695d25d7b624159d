#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The port of another protocol is told from a missing secret, in the words of URIs, and a misspelt key from an incomplete one.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
error 1 closed "127.0.0.1:$PORT" 'an.iSCSI.port user=NAME&secret-file=FILE' ours info "iscsi://127.0.0.1:$PORT/iqn.2024-01.x:d/0"
error 1 closed "127.0.0.1:$PORT" 'closed' ours info "iscsi://127.0.0.1:$PORT/iqn.2024-01.x:d/0"
! grep -q -e '--user' error.err || die "info has no such option: $(cat error.err)"
stop
offer ram:1M --nbd 127.0.0.1:0
port=$(sed -nE 's#.*nbd://127.0.0.1:([0-9]+).*#\1#p' out | head -1)
error 1 protocol "127.0.0.1:$port" 'PDU an.NVMe/TCP.port' ours info "nvme+tcp://127.0.0.1:$port/$NQN"
stop
error 2 usage '.*' "unknown.key 'secret'" ours info 'iscsi://127.0.0.1/iqn.2024-01.x:d/0?user=joe&secret=x'
error 2 usage '.*' 'CHAP user secret-file=' ours info 'iscsi://127.0.0.1/iqn.2024-01.x:d/0?user=joe'
