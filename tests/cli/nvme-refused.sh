#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A controller refuses commands: what it can't execute yet is sent again, and what it can't on this path goes over another one, at
# once. A status that only the command explains is that of the command.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires python3 cmp jq

random_file img 1
fake=
end_fake() {
	[ -n "$fake" ] || return 0
	kill -KILL "$fake" 2>/dev/null || true
	wait "$fake" 2>/dev/null || true
}
cleanup_fn end_fake
# refuse OPCODE:STATUS:COUNT…: sets port, an array
refuse() {
	end_fake
	: >ports
	PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/nvme_refuses.py" img "$@" >ports &
	fake=$!
	wait_running "$fake" test -s ports
	read -ra port <ports
	uri=nvme+tcp://127.0.0.1:${port[0]}/nqn.test:refuses
}
copied() { # WHAT
	cmp img out || die "$1: bytes differ"
	rm out
}

# namespace not ready, command interrupted, transient transport error, ANA transition, ANA inaccessible
for status in 82 21 22 303 302; do
	refuse 2:$status:3
	"$RDMASTOR" copy "$uri" out >log 2>&1 || die "status $status: $(cat log)"
	copied "status $status"
	refuse 1:$status:3
	"$RDMASTOR" copy --no-sparse img "$uri" >log 2>&1 || die "a write, status $status: $(cat log)"
	refuse 0:$status:1
	"$RDMASTOR" copy img "$uri" >log 2>&1 || die "a flush, status $status: $(cat log)"
done
refuse 2:4082:1
error 1 io "$(ere "$uri")" 'not ready' "$RDMASTOR" copy "$uri" out

# ANA inaccessible, transition, persistent loss, host pathing error
for status in 302 303 301 370; do
	refuse 2:$status:1000000 ff:0:0
	"$RDMASTOR" copy --on-loss fail-fast "$uri?path=127.0.0.1:${port[1]}" out 2>log || die "status $status: $(cat log)"
	copied "status $status"
	grep -Eq "^rdmastor copy: warning: $(ere "$uri").*: requests are refused: .*another path" log || die "status $status: $(cat log)"
done
refuse 2:302:1000000 2:302:1000000
error 1 unreachable "$(ere "$uri").*" ANA "$RDMASTOR" copy --on-loss 1 "$uri?path=127.0.0.1:${port[1]}" out

for status in 180:attributes 181:protection 182:read-only 183:limit; do
	refuse "1:${status%:*}:1000000"
	error 1 io "$(ere "$uri")" "${status#*:}" "$RDMASTOR" copy --no-sparse img "$uri"
done
