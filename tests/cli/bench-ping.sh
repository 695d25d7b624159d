#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Both roles of rping against each other on software iWARP; a server of one kind refuses clients of the other.
. "$(dirname "$0")/lib.sh"
requires jq
stop() { kill "$server" 2>/dev/null; }
# listen OPTION…: sets $at
listen() {
	rm -f listen
	"$RDMASTOR" bench --listen '127.0.0.1:0?rdma=iwarp' "$@" >listen 2>err &
	server=$!
	wait_running "$server" test -s listen
	at=$(grep -o '127\.0\.0\.1:[0-9]*' listen)
	[ -n "$at" ] || die "is not ready: $(cat listen err)"
}
end() {
	kill "$server"
	wait "$server" || die "the server ends with status $?"
}
cleanup_fn stop

listen --ping
! grep -q TCP listen || die "serves TCP, too: $(cat listen)"
"$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp" --bs 20,65535 --iters 50 >out 2>err || die "$(cat err)"
grep -q 'ping latency' out && [ "$(grep -cE '^ (20|65535) +50 ' out)" = 2 ] ||
	die "not both rows: $(cat out)"
"$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp" --iters 10 --json >out 2>err || die "$(cat err)"
valid out
jq -e '(.rows | length) == 1 and (.rows[0] | .op == "ping" and .message_size == 64 and .iterations == 10 and .latency_ns.min > 0)' out >/dev/null || die "$(cat out)"
error 2 usage '' '--bs 1.to.65535' "$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp" --bs 64K
error 1 protocol "$at" 'bench version' "$RDMASTOR" bench --rdma "$at?rdma=iwarp"
end
listen
error 1 refused "$at" 'rdmastor.bench --listen.--ping rping' \
	"$RDMASTOR" bench --rdma --ping "$at?rdma=iwarp"
end
