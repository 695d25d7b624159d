#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A disk whose target is killed is lost, then up again or failed, as its loss policy says: in the status of every protocol that serves it,
# as text and JSON, for SIGUSR1, and in the messages of a process in the background.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:status jq
set -e

of() { ours status --json >json && jq -c --argjson pid "$SERVER" ".serving[] | select(.pid == \$pid) | $1" json; }
is() { [ "$(of "$1")" = "$2" ]; }
truncate -s 8M disk.img
: >err
at=127.0.0.1:0
target() {
	rm -f ready.target
	mkfifo ready.target
	"$RDMASTOR" serve disk.img --nvmf --nqn "$NQN" --tcp "$at" --ready-fd 3 3>ready.target >target.out 2>target.err & target=$!
	read -r _ <ready.target || die "no target: $(cat target.err)"
	uri=$(sed -n 's/^rdmastor: //p' target.out)
	at=$(sed -E 's#.*//([^/]*)/.*#\1#' <<<"$uri")
}
gone() {
	kill -KILL "$target" 2>/dev/null || true
	wait "$target" 2>/dev/null || true
}
cleanup_fn gone
target
"$RDMASTOR" serve "$uri" --nvmf --tcp 127.0.0.1:0 --iscsi --tcp 127.0.0.1:0 --on-loss 3600 --daemon --pid-file pid >out 2>err
SERVER=$(cat pid)
cleanup_fn end_server
same state "$(of '.disks[0] | [.state, .lost_seconds, .reason, (.paths | length), .paths[0].uri, .paths[0].state]' | sort -u)" \
	"[\"up\",null,null,1,\"$uri\",\"up\"]"

gone
wait_until is '.disks[0].state' $'"lost"\n"lost"'
of '.disks[0] | (.lost_seconds >= 0) and (.fails_in_seconds | . > 0 and . <= 3600) and (.reason | type == "string") and
	(.paths[0] | .state == "lost" and .lost_seconds >= 0 and .fails_in_seconds > 0 and (.reason | type == "string"))' >lost
same 'times and reason' "$(cat lost)" $'true\ntrue'
ours status >text
grep -Eq "^$(ere "$uri") .* lost [0-9]+ s, I/O fails in [0-9]+ s .* $SERVER\$" text || die "$(cat text)"
grep -Eq "^path 1: $(ere "$uri"): lost [0-9]+ s, I/O fails in [0-9]+ s(, next attempt in [0-9.]+ s)? \([a-z-]+\)\$" text || die "$(cat text)"
kill -USR1 "$SERVER"
wait_until grep -q '^sessions: 0$' err
grep -Eq "^$(ere "$uri"): lost [0-9]+ s, I/O fails in [0-9]+ s\$" err || die 'no state of the disk'
grep -Eq "^path 1: $(ere "$uri"): lost [0-9]+ s, .* \([a-z-]+\)\$" err || die 'no state of the path'
grep -Eq "^rdmastor serve: warning: $(ere "$uri"): connection lost: .* 3600 s\$" err || die 'no warning'

target
wait_until is '.disks[0].state' $'"up"\n"up"'
wait_until grep -Eq "^rdmastor serve: $(ere "$uri"): connection restored" err
kill -TERM "$SERVER"
wait_while test -e pid
SERVER=

offer "$uri" --nbd "unix:$SOCK" --on-loss fail-fast
gone
wait_until is '.disks[0].state' '"failed"'
same 'of a failed disk' "$(of '.disks[0] | [.lost_seconds >= 0, has("fails_in_seconds"), .paths[0].state]')" '[true,false,"failed"]'
ours status >text
grep -Eq "^$(ere "$uri") .* failed, lost [0-9]+ s .* $SERVER\$" text || die "$(cat text)"
stop 1 # what it was given could not be flushed
