#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A pid file belongs to one live process: a second daemon is refused and leaves it alone; what a dead one left is overwritten.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

daemon() { ours export ram:1M --nbd "unix:$TMP/$1.sock" --daemon --pid-file pid "${@:2}"; }
gone() { # PID
	local i
	for ((i = 0; i < 100; i++)); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.05; done
	die "process $1 is still there"
}

end() { [ "$(cat "/proc/$(cat pid)/comm")" != rdmastor ] || kill -KILL "$(cat pid)"; } 2>/dev/null
cleanup_fn end

daemon a >/dev/null
first=$(cat pid)
fails 1 "pid: in use by process $first\$" daemon b
fails 1 "in use by process $first" daemon b --json
same code "$(jq -r .error.code fails.out)" busy
fails 1 "in use by process $first" ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --pid-file pid
same 'the pid file' "$(cat pid)" "$first"
[ ! -e b.sock ] || die 'the refused one left a socket'
kill -KILL "$first"
gone "$first"

rm a.sock
daemon a >/dev/null
second=$(cat pid)
[ "$second" != "$first" ] || die 'the stale pid file was left as it was'
kill -TERM "$second"
gone "$second"
[ ! -e pid ] || die 'the pid file is still there'

# another program's, which does not lock it
sleep 100 &
other=$!
cleanup_fn kill "$other"
sleep 0.1
echo "$other" >pid
fails 1 "in use by process $other" daemon c
touch -d '1 hour ago' pid # its number was another process's then
daemon c >/dev/null
[ "$(cat pid)" != "$other" ] || die 'the pid file of a process that is gone was kept'
kill "$(cat pid)"
gone "$(cat pid 2>/dev/null || echo 99999999)"

# a link in its place is not followed
echo precious >precious
ln -sf precious pid
fails 2 'pid: is a symbolic link' daemon d
same 'what the link leads to' "$(cat precious)" precious

# another file is not taken for one, and nothing listens before that is known
rm pid
echo precious >pid
fails 2 'pid: is not a pid file' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --pid-file pid
same 'the other file' "$(cat pid)" precious
rm pid
fails 1 '/nonexist/p: write: no such file' ours serve ram:1M --nvmf --tcp :0 --pid-file /nonexist/p
! grep -q 'allow-host' fails.err || die "a warning of a target that never listened: $(cat fails.err)"
