#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# If the address to connect to can't be printed, export fails at once, also in the background.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
full() { "$RDMASTOR" export ram:1M --nbd "unix:$SOCK" --pid-file pid "$@" 2>err >/dev/full; }
for words in --quiet --json --daemon; do
	rc=0
	full "$words" || rc=$?
	same "exit status with $words" "$rc" 1
	grep -q '^rdmastor export: standard output: .*no space left' err || die "$words: $(cat err)"
	same "lines on stderr with $words" "$(wc -l <err)" 1
	[ ! -e pid ] && [ ! -e "$SOCK" ] || die "the server continues"
done
