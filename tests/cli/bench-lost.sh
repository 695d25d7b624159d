#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A target that is killed or stopped during the run, for good: status 1, an error that names the loss, the true duration, and
# the age of the requests without an answer in the latency. One that comes back in time: the outage is in the figures.
. "$(dirname "$0")/lib.sh"
requires jq
random_file disk 8
pids=()
end_all() { [ ${#pids[@]} = 0 ] || kill -KILL "${pids[@]}" 2>/dev/null; }
cleanup_fn end_all

# run NAME SIGNAL OPTION…: start a load on a target of its own, and send the target that signal under load, at least 2 s before the
# load's end; repeat it with a longer load, of $runtime seconds, where the machine was too slow for that
run() {
	local name=$1 signal=$2 begun
	shift 2
	for runtime in ${only:-3.5 14 56}; do
		serve disk --ro --nvmf --tcp 127.0.0.1:0
		pids+=("$SERVER")
		target=$SERVER SERVER=
		begun=$(date +%s%N)
		"$RDMASTOR" bench "$TCP" --iodepth 4 --runtime $runtime "$@" >"$name.out" 2>"$name.err" &
		load=$!
		pids+=("$load")
		while running "$load" && ! under_load "$target"; do sleep 0.05; done
		kill -s "$signal" "$target"
		! awk "BEGIN { exit !($(date +%s%N) - $begun < ($runtime - 2) * 1e9) }" || return 0
		kill -KILL "$load" "$target" 2>/dev/null
	done
	die "$name: never under load in time: $(cat "$name.err")"
}
# lost NAME PID CODES JQ: how it ended
lost() {
	local rc=0
	wait "$2" || rc=$?
	[ $rc = 1 ] || die "$1: status $rc: $(cat "$1.err")"
	grep -q '^rdmastor bench: nvme+tcp://.*: .*\<4 requests' "$1.err" ||
		die "$1: output: $(cat "$1.err")"
	[ "$1" = stopped ] || valid "$1.out"
	jq -e --arg codes "$3" "(.error | (.code | inside(\$codes)) and (.object | startswith(\"nvme+tcp://\"))) and ($4)" "$1.out" >/dev/null ||
		die "$1: $(cat "$1.out")"
}

run killed KILL --json
killed=$load killed_after=$runtime
run stopped STOP --fio-json -q
stopped=$load stopped_after=$runtime
only=3600 run given-up KILL --on-loss 1 --json
lost given-up "$load" unreachable '(.seconds >= 1 and .seconds < 3600) and .unanswered == 4 and .read.requests > 0
	and .read.latency_ns.max >= 0.9e9 and (.read.iops * .seconds - .read.requests | fabs) < 1'
lost killed "$killed" unreachable ".seconds == $killed_after"' and .unanswered == 4 and .read.requests > 0
	and .read.latency_ns.max >= 1.2e9 and (.read.iops * .seconds - .read.requests | fabs) < 1
	and ([.read.latency_ns.histogram[].count] | add) == .read.requests + 4'
lost stopped "$stopped" 'unreachable timeout' ".jobs[0] | .error > 0 and .read.runtime == $stopped_after * 1000"' and .read.clat_ns.max >= 1.2e9
	and .read.clat_ns.N == .read.total_ios + 4'
[ "$(grep -vc "^hint: " stopped.err)" = 1 ] || die "-q: more than the failure: $(cat stopped.err)"

end_all # a target that is stopped would delay under_load
reads() { "$RDMASTOR" status --json | jq --argjson pid "$target" '[.serving[] | select(.pid == $pid) | .reads // 0] | add'; }
more() { [ "$(reads)" -gt "$1" ]; }
# longer where the machine was too slow for an answer before the load's end
for only in '3.5 14 56' '14 56' 224; do
	run back STOP --json
	sleep 1
	kill -CONT "$target"
	before=$(reads)
	while running "$load" && ! more "$before"; do sleep 0.05; done
	! running "$load" || break
	wait "$load"
	kill -KILL "$target"
done
wait "$load" || die "it came back, but: $(cat back.err)"
jq -e ".seconds >= $runtime - 0.1"' and .unanswered == 0 and (has("error") | not) and .read.latency_ns.max >= 0.9e9' back.out >/dev/null ||
	die "$(cat back.out)"
