#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# One file behind two servers: which of them carries the requests with each policy, also after one was killed and is back, and with
# each ANA state.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdcopy jq cmp

random_file img 4
first=
second=
end_both() { kill -KILL $first $second 2>/dev/null || true; }
cleanup_fn end_both
start_first() {
	serve img --force --nvmf --tcp "127.0.0.1:${1:-0}" --nqn nqn.2026-11.test:two
	first=$SERVER one=$TCP one_port=$PORT SERVER=
}
start_first
serve img --force --nvmf --tcp 127.0.0.1:0 --nqn nqn.2026-11.test:two
second=$SERVER two_port=$PORT SERVER=

# count PID: reads of the server until now
count() { "$RDMASTOR" status --json | jq --argjson pid "$1" '[.serving[] | select(.pid == $pid) | .reads] | add'; }
# read_by KEYS: the reads of both, in one and two
read_by() {
	local before_one before_two
	before_one=$(count "$first") before_two=$(count "$second")
	"$RDMASTOR" bench "$one?queues=1&path=127.0.0.1:$two_port$1" --rw randread --bs 4K --size 4M >bench.out 2>&1 || die "$1: $(cat bench.out)"
	one_read=$(($(count "$first") - before_one)) two_read=$(($(count "$second") - before_two))
}
read_by ""
[ "$two_read" = 0 ] && [ "$one_read" -ge 1000 ] || die "failover: $one_read and $two_read"
read_by "&preferred=127.0.0.1:$two_port"
[ "$one_read" = 0 ] && [ "$two_read" -ge 1000 ] || die "preferred: $one_read and $two_read"
for policy in round-robin queue-depth; do
	read_by "&policy=$policy"
	[ "$one_read" -ge 300 ] && [ "$two_read" -ge 300 ] || die "$policy: $one_read and $two_read"
done

# ANA states come first; policies apply to the paths with the best one.
ana() { "$RDMASTOR" serve-ctl "$1" ana 1 "$2" >ctl.out; }
ana "$first" non-optimized
for policy in failover round-robin queue-depth; do
	read_by "&policy=$policy"
	[ "$two_read" -ge "$((4 * one_read))" ] || die "$policy, non-optimized: $one_read and $two_read"
done
ana "$second" inaccessible
for policy in failover round-robin; do
	read_by "&policy=$policy"
	[ "$two_read" = 0 ] && [ "$one_read" -ge 1000 ] || die "$policy, inaccessible: $one_read and $two_read"
done

# They switch under load: nothing fails, and the load moves.
"$RDMASTOR" bench "$one?queues=1&path=127.0.0.1:$two_port&loss=fail-fast" --rw randwrite --bs 4K --iodepth 4 --verify --runtime 3600 >bench.out 2>&1 &
bench=$!
written() { "$RDMASTOR" status --json | jq --argjson pid "$1" '[.serving[] | select(.pid == $pid) | .writes] | add'; }
more() { [ "$(written "$1")" -gt "$2" ]; }
moved_to() { wait_running "$bench" more "$1" "$(($(written "$1") + 100))"; }
moved_to "$first"
# switch PID STATE: the next one comes only once the host knows of this one, as it would find both paths closed for a moment otherwise
reports=0
reported() { [ "$(grep -c 'reports access state' bench.out)" -ge $reports ]; }
switch() {
	ana "$1" "$2"
	reports=$((reports + 1))
	wait_running "$bench" reported
}
for state in inaccessible change persistent-loss; do
	switch "$second" optimized
	switch "$first" "$state"
	moved_to "$second"
	switch "$first" optimized
	switch "$second" "$state"
	moved_to "$first"
done
switch "$second" optimized
kill "$bench"
status=0
wait "$bench" || status=$?
grep -q 'interrupted' bench.out && ! grep -q 'wrong' bench.out || die "ANA: status $status: $(cat bench.out)"
for state in inaccessible persistent-loss change; do
	grep -q "access state $state" bench.out || die "$state is not reported: $(cat bench.out)"
done

# One is killed under load and comes back. Nothing is lost, and it is used again.
writes() { "$RDMASTOR" status --json | jq -e --argjson pid "$1" 'any(.serving[]; .pid == $pid and .writes > 0)' >/dev/null; }
for policy in failover round-robin; do
	"$RDMASTOR" bench "$one?queues=1&path=127.0.0.1:$two_port&policy=$policy" --rw randwrite --bs 4K --iodepth 4 --verify --runtime 3600 >bench.out 2>&1 &
	bench=$!
	wait_running "$bench" writes "$first"
	kill -KILL "$first"
	wait "$first" 2>/dev/null || true
	start_first "$one_port"
	wait_running "$bench" writes "$first"
	kill "$bench"
	status=0
	wait "$bench" || status=$?
	# a lost write may still wait for the quiet time
	grep -q 'interrupted' bench.out && ! grep -q 'wrong' bench.out || die "$policy: status $status: $(cat bench.out)"
done
