#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A pid file belongs to one live process: a second daemon is refused and leaves it alone; a stale one is overwritten.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

daemon() { ours export ram:1M --nbd "unix:$TMP/$1.sock" --daemon --pid-file pid "${@:2}"; }
end() { [ "$(cat "/proc/$(cat pid)/comm")" != rdmastor ] || kill -KILL "$(cat pid)"; } 2>/dev/null
cleanup_fn end

daemon a >/dev/null
first=$(cat pid)
error 1 - '^rdmastor export: pid: ' "\\<$first$" daemon b
error 1 busy pid "\\<$first$" daemon b --json
error 1 busy pid "\\<$first$" ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --pid-file pid
same 'the pid file' "$(cat pid)" "$first"
[ ! -e b.sock ] || die 'the refused one left a socket'
kill -KILL "$first"
wait_while running "$first"

rm a.sock
daemon a >/dev/null
second=$(cat pid)
[ "$second" != "$first" ] || die 'the stale pid file was left as it was'
kill -TERM "$second"
wait_while running "$second"
[ ! -e pid ] || die 'the pid file is still there'

# another program's, which does not lock it
sleep infinity &
other=$!
cleanup_fn kill "$other"
sleep 0.1
echo "$other" >pid
error 1 busy pid "\\<$other$" daemon c --json
touch -d '1 hour ago' pid # its number was another process's then
daemon c >/dev/null
[ "$(cat pid)" != "$other" ] || die 'the pid file of a process that is gone was kept'
kill "$(cat pid)"
wait_while test -e pid

# a link in its place is not followed
echo precious >precious
ln -sf precious pid
error 2 usage pid symbolic.link daemon d --json
same 'what the link leads to' "$(cat precious)" precious

# another file is not taken for one, and nothing listens before that is known
rm pid
echo precious >pid
error 2 usage pid pid.file ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --pid-file pid
same 'the other file' "$(cat pid)" precious
rm pid
error 1 not-found /nonexist/p 'no.such.file' \
	ours serve ram:1M --nvmf --tcp :0 --pid-file /nonexist/p
! grep -q 'allow-host' error.err ||
	die "a warning of a target that never listened: $(cat error.err)"
