#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Both roles of rping against each other on software iWARP; a server of one kind turns clients of the other away.
. "$(dirname "$0")/lib.sh"
requires jq
stop() { kill "$server" 2>/dev/null; }
# listen OPTION…: sets $at
listen() {
	rm -f listen
	"$RDMASTOR" bench --listen '127.0.0.1:0?rdma=iwarp' "$@" >listen 2>err &
	server=$!
	for _ in {1..50}; do [ ! -s listen ] || break; sleep 0.1; done
	at=$(sed -n 's/: \(TCP \|\)RDMA over TCP$//p' listen)
	[ -n "$at" ] || die "is not ready: $(cat listen err)"
}
end() {
	kill "$server"
	wait "$server" || die "the server ends with status $?"
}
cleanup_fn stop

listen --ping
grep -qx "$at: RDMA over TCP" listen || die "serves something else, too: $(cat listen)"
"$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp" --bs 20,65535 --iters 50 >out 2>err || die "$(cat err)"
grep -qx 'RDMA ping latency' out && [ "$(grep -cE '^ (20|65535) +50 ' out)" = 2 ] || die "not both rows: $(cat out)"
"$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp" --iters 10 --json >out 2>err || die "$(cat err)"
jq -e '(.rows | length) == 1 and (.rows[0] | .op == "ping" and .bytes == 64 and .iterations == 10 and .latency_ns.min > 0)' out >/dev/null || die "$(cat out)"
fails 2 '--bs: must be 1 to 65535' "$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp" --bs 64K
fails 1 'the peer is not rdmastor bench of this version' "$RDMASTOR" bench --rdma "$at?rdma=iwarp"
end
listen
fails 1 'the peer says: rdmastor bench listens here' "$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp"
grep -qx 'hint: the other side is rdmastor bench --listen --ping, or rping -s' fails.err || die "$(cat fails.err)"
end
