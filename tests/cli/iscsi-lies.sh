#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iscsi:// as a disk of a target that is honest until the first read and then lies: each lie ends the request with its own error,
# and no byte of it is taken for data. An honest one, in pieces and with pings between, is read whole.
. "$(dirname "$0")/lib.sh"
requires python3 cmp

liar=''
over() { kill "$liar"; wait "$liar"; } 2>/dev/null
cleanup_fn over
# lies HOW: $at is the disk
lies() {
	[ -z "$liar" ] || over
	: >told
	python3 "$HERE/iscsi_liar.py" "$1" >told 2>liar.err &
	liar=$!
	wait_running "$liar" test -s told
	at="iscsi://127.0.0.1:$(head -1 told)/iqn.2024-01.test:liar/0?loss=fail-fast"
}
# fails HOW CODE WORDS
fails() {
	lies "$1"
	rm -f back
	error 1 "$2" '.*' "$3" ours copy "$at" back
}

lies honestly
ours copy "$at&queues=1" back --quiet || die 'an honest target'
head -c 1048576 < <(yes honest | tr -d '\n') >wanted
cmp back wanted || die 'bytes differ'
grep -q answered told || die "no answer to a ping: $(cat liar.err)"
grep -q logout told || die 'no logout'

for how in beyond offset twice stranger r2t again unknown ahs long sense rejects leaves pings; do
	fails $how unreachable connection
	grep -q 'connection lost: ' error.err || die "$how: $(cat error.err)"
done
fails short io 'input/output'
fails medium io 'read.error.on.the.medium'
fails reserved io 'reservation.conflict'
