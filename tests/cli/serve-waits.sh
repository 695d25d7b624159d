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

# SIGHUP meanwhile: the file counts once the target is there
[ "$(id -u)" = 0 ] && [ "$(readlink /proc/self/ns/net)" != "$(readlink /proc/1/ns/net)" ] || exit 0
umask 077
echo 'iqn.a user=joe secret=longenough1234' >initiators
echo longenough1234 >one
echo anothergood123 >two
"$RDMASTOR" serve ram:1M --iscsi --iqn iqn.t --tcp 192.0.2.1:3260 --initiators-file initiators >out 2>err & SERVER=$!
wait_running "$SERVER" grep -q waiting err
echo 'iqn.a user=joe secret=anothergood123' >initiators
kill -HUP "$SERVER"
ip addr add 192.0.2.1/32 dev lo
wait_running "$SERVER" grep -q 'initiators: 1 initiators' err
disk="iscsi://192.0.2.1/iqn.t/0?initiator=iqn.a&user=joe&secret-file"
ours info "$disk=two" >info || die "$(cat err)"
error 1 auth 192.0.2.1:3260 secret ours info "$disk=one"
stop
