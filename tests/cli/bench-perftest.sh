#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# perftest's letters with --rdma: every size, several queue pairs, both directions, Gb/s; elsewhere, and where they mean nothing, they are refused with
# a reason.
. "$(dirname "$0")/lib.sh"
requires jq
stop() { kill "$server" 2>/dev/null; }
"$RDMASTOR" bench --listen '127.0.0.1:0?rdma=iwarp' >listen 2>err &
server=$!
cleanup_fn stop
wait_running "$server" test -s listen
at="$(grep -o '127\.0\.0\.1:[0-9]*' listen)?rdma=iwarp"
b=("$RDMASTOR" bench --rdma "$at")

"${b[@]}" -a -n 5 --op write --test bandwidth -R -F >out 2>err || die "$(cat err)"
same "the sizes of -a" "$(awk '$2 == 5 { printf "%s ", $1 }' out)" "$(for ((i = 1; i <= 23; i++)); do printf '%s ' $((1 << i)); done)"
"${b[@]}" -s 4096 -n 50 -t 16 --qp 4 >out 2>err || die "$(cat err)"
same "rows of 4 queue pairs" "$(grep -cE '^ 4096 +200 ' out)" 3
same "only bandwidth" "$(grep -c '^RDMA .* bandwidth, 4 queue pairs$' out)" 3
"${b[@]}" -s 4K -n 50 -t 16 --qp 4 --op read --json >out 2>err || die "$(cat err)"
valid out
jq -e '(.rows | length) == 1 and (.rows[0] | .queue_pairs == 4 and .iterations == 200 and .iodepth == 16 and .message_size == 4096)' out >/dev/null ||
	die "$(cat out)"
"${b[@]}" -s 4K -D 0.2 --op send --test bandwidth --json >out 2>err || die "$(cat err)"
jq -e '.rows[0] | .seconds >= 0.2 and .queue_pairs == 1' out >/dev/null || die "$(cat out)"

# Gb/s are bits; the columns are perftest's
"${b[@]}" -s 64K -n 500 --op write --test bandwidth --report_gbits >out 2>err || die "$(cat err)"
grep -q '^ #bytes     #iterations    BW peak\[Gb/sec\]    BW average\[Gb/sec\]   MsgRate\[Mpps\]$' out || die "$(cat out)"
awk '$1 == 65536 { ratio = $4 / ($5 * 65536 * 8 / 1000); exit !(ratio > 0.99 && ratio < 1.01) }' out || die "not 10^9 bits: $(cat out)"
"${b[@]}" -s 64K -n 500 --op write --test bandwidth --report_gbits --json >out 2>err || die "$(cat err)"
jq -e '.rows[0] | (.bytes_per_second / (.messages_per_second * 65536) - 1) | fabs < 0.01' out >/dev/null || die "JSON has bytes: $(cat out)"

# fewer in flight than asked for
"${b[@]}" -b -s 1M -n 20 --op send -t 100 --json >out 2>err || die "$(cat err)"
jq -e '.rows[0].iodepth == 32' out >/dev/null || die "$(cat out)"
grep -q 'send of 1048576 bytes: only 32 messages .* not 100' err || die "$(cat err)"

# both directions: each, and the sum, which perftest's columns have
"${b[@]}" -b -s 64K -n 200 -t 8 --qp 2 >out 2>err || die "$(cat err)"
same "three operations" "$(grep -c '^RDMA [a-z]* bandwidth, both directions, 2 queue pairs$' out)" 3
grep -q ' BW average\[MB/sec\]   MsgRate\[Mpps\]    BW out\[MB/sec\]    BW in\[MB/sec\]$' out || die "$(cat out)"
awk '$1 == 65536 { rows++; if ($2 != 400 || $6 <= 0 || $7 <= 0 || $4 - $6 - $7 > 0.02 || $6 + $7 - $4 > 0.02) bad = 1 } END { exit bad || rows != 3 }' out ||
	die "not the sum: $(cat out)"
"${b[@]}" -b -s 64K -n 200 -t 8 --json >out 2>err || die "$(cat err)"
valid out
jq -e '(.rows | length) == 3 and all(.rows[]; .test == "bandwidth" and .iterations == 200 and .reverse_iterations > 0 and
	(has("peak_bytes_per_second") | not) and
	(.sum_messages_per_second - .messages_per_second - .reverse_messages_per_second | fabs) <= 1 and
	(.sum_bytes_per_second - .bytes_per_second - .reverse_bytes_per_second | fabs) <= 1)' out >/dev/null || die "$(cat out)"

# what is refused
error 2 usage '' '--qp 1.to.128' "${b[@]}" --qp 1000000
error 2 usage '' '--qp bandwidth' "${b[@]}" --qp 2 --test latency
error 2 usage '' '--qp.16 8388608 memory' "${b[@]}" -a -n 1 --qp 16
grep -q message_size error.out && die "a row before the refusal: $(cat error.out)"
error 2 usage '' '--qp bandwidth' "${b[@]}" --qp 2 --ping
error 2 usage '' '-b bandwidth' "${b[@]}" -b --test latency
error 2 usage '' '-t bandwidth' "${b[@]}" -t 4 --test latency
error 2 usage '' '--report_gbits bandwidth' "${b[@]}" --report_gbits --test latency
error 2 usage '' '--on-loss disk' "${b[@]}" --on-loss forever
error 2 usage '' 'operand -q.is.--quiet --qp' "${b[@]}" -q 4
error 2 usage '' '--numjobs disk --qp' "${b[@]}" --numjobs 4
error 2 usage '' '--ramp-time disk' "${b[@]}" --ramp-time 1
error 2 usage '' '--time-based disk' "${b[@]}" --time-based --runtime 1
error 2 usage '' '-a --ping' "${b[@]}" -a --ping
error 2 usage '' '-s: 16777216' "${b[@]}" -s 32M
error 2 usage '' '--bs: 16777216' "${b[@]}" --bs 64,32M
grep -q message_size error.out && die "a row before the refusal: $(cat error.out)"
error 2 usage '' '-s -a' "${b[@]}" -s 4K -a
error 2 usage '' '-s --bs' "${b[@]}" -s 4K --bs 4K
error 2 usage '' '-t --iodepth' "${b[@]}" -t 4 --iodepth 4
error 2 usage '' '-D --runtime' "${b[@]}" -D 4 --runtime 4
error 2 usage '' '-m verbs' "${b[@]}" -m 1024
error 2 usage '' '-m 512' "${b[@]}" -m 1000
error 2 usage '' '-d verbs' "${b[@]}" -d rxe0
error 2 usage '' '-i perftest route' "${b[@]}" -i 1
error 2 usage '' '--size -s' "${b[@]}" --size 4K
error 2 usage '' '--all -a' "${b[@]}" --all
for option in '-s 4K' -a '-t 4' '-D 1' -b '-d rxe0' '-m 1024' -R -F --report_gbits; do
	# shellcheck disable=SC2086
	error 2 usage '' "${option%% *} requires.--rdma perftest" "$RDMASTOR" bench $option ram:1M
done
error 2 usage '' '--qp requires.--rdma' "$RDMASTOR" bench --qp 2 ram:1M
error 2 usage '' '--iters requires.--rdma' "$RDMASTOR" bench -n 5 ram:1M
error 2 usage '' '-s requires.--rdma' "$RDMASTOR" bench --tcp "$at" -s 4K
kill "$server"
wait "$server" || die "the server ends with status $?"
