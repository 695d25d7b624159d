#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If the address to connect to can't be printed, serve fails at once.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
for words in --quiet --json --daemon; do
	rc=0
	"$RDMASTOR" serve ram:1M --nvmf --tcp 127.0.0.1:0 --pid-file pid "$words" 2>err >/dev/full || rc=$?
	[ "$rc" = 1 ] || die "exit status $rc, not 1, with $words"
	grep -q '^rdmastor serve: standard output: .*no space left' err || die "$words: $(cat err)"
	same "lines on stderr with $words" "$(wc -l <err)" 1
	[ ! -e pid ] || die 'the target continues'
done
