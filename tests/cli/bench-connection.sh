#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Both sides of a connection: one port answers sockets and software iWARP, perftest's columns, and a clean end.
. "$(dirname "$0")/lib.sh"
requires jq
stop() { kill "$server" 2>/dev/null; }
"$RDMASTOR" bench --listen '127.0.0.1:0?rdma=iwarp' --numjobs 2 >listen 2>err &
server=$!
cleanup_fn stop
wait_running "$server" test -s listen
at=$(grep -o '127\.0\.0\.1:[0-9]*' listen)
[ -n "$at" ] || die "is not ready: $(cat listen err)"

"$RDMASTOR" bench --tcp "$at" --bs 8k --iodepth 16 --numjobs 2 --runtime 1 --json >out 2>err || die "$(cat err)"
valid out
jq -e '.read.requests > 0 and .transport == "tcp" and .traddr == "127.0.0.1" and .read.io_bytes == .read.requests * 8192 and .unanswered == 0' out >/dev/null || die "$(cat out)"

# on a terminal the progress line is erased before the results
if command -v script >/dev/null; then
	script -qec "'$RDMASTOR' bench --tcp $at --runtime 1.1" shown >/dev/null </dev/null
	tr '\r' '\n' <shown | grep -aq '^socket .* of 1.1 s .* IOPS' || die "no progress line: $(cat -v shown)"
	tr '\r' '\n' <shown | grep -aqx "$at" || die "results behind the progress line: $(cat -v shown)"
fi

"$RDMASTOR" bench --rdma "$at?rdma=iwarp" --bs 64,4k --iters 100 >out 2>err || die "$(cat err)"
for op in send write read; do
	grep -q "$op latency" out && grep -q "$op bandwidth" out || die "no $op in: $(cat out)"
done
[ "$(grep -c '^ #bytes #iterations    t_min\[usec\]    t_max\[usec\]  t_typical\[usec\]    t_avg\[usec\]    t_stdev\[usec\]   99% percentile\[usec\]   99.9% percentile\[usec\]$' out)" = 3 ] ||
	die "not perftest's columns: $(cat out)"
[ "$(grep -cE '^ (64|4096) +100 ' out)" = 12 ] || die "not every row: $(cat out)"
"$RDMASTOR" bench --rdma "$at?rdma=iwarp" --bs 64k --op write --test bandwidth --runtime 0.2 --json >out 2>err || die "$(cat err)"
valid out
jq -e '(.rows | length) == 1 and (.rows[0] | .op == "write" and .message_size == 65536 and .bytes_per_second > 0 and .peak_bytes_per_second >= .bytes_per_second
	and .rdma == "iwarp")' out >/dev/null || die "$(cat out)"

kill "$server"
wait "$server"
rc=$?
[ $rc = 0 ] || die "the server ends with status $rc"
