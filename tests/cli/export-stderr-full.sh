#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A standard error output that no one reads stops no I/O: messages are dropped, counted, and the count is printed once there is room.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdsh applet:serve

mkfifo messages ready
exec 9<>messages
fill() { dd if=/dev/zero of=messages bs=4096 oflag=nonblock status=none 2>/dev/null || true; }
drain() { dd if=messages of=/dev/null bs=1M count=1 iflag=nonblock status=none; }
heard() { # TEXT
	local line
	while read -r line <&9; do [[ $line != *"$1"* ]] || return 0; done
	die "no '$1'"
}

# unread WORD…: starts it with a full pipe as its standard error output
unread() {
	fill
	"$RDMASTOR" "$@" --verbose --ready-fd 3 3>ready >out 2>messages &
	SERVER=$!
	cleanup_fn end_server
	cat <ready >/dev/null || die "$* did not get ready"
}

: >err
unread serve ram:8M --nvmf --tcp 127.0.0.1:0 --queues 2
TCP=$(sed -n 's/^rdmastor: \(nvme+tcp:.*\)/\1/p' out | head -1)
random_file image 8
ours copy image "$TCP" >/dev/null
ours copy "$TCP" back >/dev/null
cmp image back
drain
kill -USR1 "$SERVER"
heard dropped
heard 'hosts:'
fill
stop

unread export ram:8M --nbd "unix:$SOCK"
for _ in 1 2 3; do nbdsh -u "$URI" -c 'h.pwrite(b"x" * 65536, 0); assert h.pread(65536, 0) == b"x" * 65536'; done
stop
