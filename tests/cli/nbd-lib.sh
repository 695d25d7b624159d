# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# For the tests of the NBD client: servers not ours in this test's folder, and how to reach them.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
# shellcheck disable=SC2154 # lib.sh's
HERE=$top/tests/cli
SOCK=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCK"
_server=

# up COMMAND…: starts a server in this folder and waits until it can be connected to
up() {
	local i
	rm -f "$SOCK"
	"$@" >server.out 2>&1 &
	_server=$!
	for ((i = 0; i < 300; i++)); do
		[ -S "$SOCK" ] && return
		kill -0 "$_server" 2>/dev/null || break
		sleep 0.1
	done
	grep -q 'failed to \(load\|open\)\|cannot open shared object' server.out && { echo "needs: $*"; exit 77; }
	die "$* did not get ready: $(cat server.out)"
}

# down [SIGNAL]: ends it
down() {
	[ -n "$_server" ] || return 0
	kill "-${1:-TERM}" "$_server" 2>/dev/null
	wait "$_server" 2>/dev/null
	_server=
}
cleanup_fn down KILL

kit() { up nbdkit -f -U "$SOCK" "$@"; }

# conf_server FILE OPTION…: nbd-server with one export "x" of that file; it leaves for the background, and a child of it serves
conf_server() {
	local file=$1 i
	shift
	printf '[generic]\n\tunixsock = %s\n[x]\n\texportname = %s\n' "$SOCK" "$file" >nbd-server.conf
	printf '\t%s\n' "$@" >>nbd-server.conf
	rm -f "$SOCK" nbd-server.pid
	nbd-server -C "$TMP/nbd-server.conf" -p "$TMP/nbd-server.pid" >server.out 2>&1 || die "nbd-server: $(cat server.out)"
	for ((i = 0; i < 100; i++)); do [ -S "$SOCK" ] && [ -s nbd-server.pid ] && return; sleep 0.1; done
	die "nbd-server did not get ready: $(cat server.out)"
}
conf_down() {
	local pid i
	pid=$(cat "$TMP/nbd-server.pid" 2>/dev/null) || return 0
	kill "$pid" 2>/dev/null
	for ((i = 0; i < 100; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
	rm -f "$TMP/nbd-server.pid"
}
cleanup_fn conf_down

ours() { timeout 60 "$RDMASTOR" "$@"; }
random_file() { dd if=/dev/urandom of="$1" bs=1M count="$2" status=none; }
# a disk of 8 MiB with data at 1 MiB (1 MiB), at 5 MiB (64 KiB) and at the very end (4 KiB)
holes() {
	truncate -s 8M "$1"
	dd if=/dev/urandom of="$1" bs=64K count=16 seek=16 conv=notrunc status=none
	dd if=/dev/urandom of="$1" bs=64K count=1 seek=80 conv=notrunc status=none
	dd if=/dev/urandom of="$1" bs=4K count=1 seek=2047 conv=notrunc status=none
}
DATA=$(((1 << 20) + (64 << 10) + (4 << 10)))
