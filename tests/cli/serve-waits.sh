#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# serve waits for an address that is not assigned yet, and says so; --timeout bounds the wait.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires jq
set -e

error 1 not-found 192.0.2.1:4420 'address.not.available' \
	"$RDMASTOR" serve ram:1M --nvmf --tcp 192.0.2.1 --allow-host nqn.a --timeout 2
grep -q '^rdmastor serve: 192.0.2.1:4420: .*address not available.*: waiting' error.err || die "$(cat error.err)"

# until then it is in no status, and takes no commands
"$RDMASTOR" serve ram:1M --nvmf --tcp 192.0.2.1 --allow-host nqn.a >out 2>err & SERVER=$!
cleanup_fn end_server
wait_running "$SERVER" grep -q waiting err
ours status --json | jq -e --argjson pid "$SERVER" 'all(.serving[]; .pid != $pid)' >/dev/null || die 'it is in the status'
error 1 busy "process $SERVER" 'not ready' ours serve-ctl "$SERVER" ana 1 optimized
rc=0
kill "$SERVER" && wait "$SERVER" || rc=$?
same 'exit status' "$rc" 143
SERVER=

serve ram:1M --nvmf --tcp 192.0.2.1 --tcp 127.0.0.1:0 --allow-host nqn.a
stop
