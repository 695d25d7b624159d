#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A short run on a disk: text for people, one JSON document whose numbers agree with each other.
. "$(dirname "$0")/lib.sh"
requires jq
"$RDMASTOR" bench ram:16M --rw randrw --rwmixread 70 --bs 4k --iodepth 8 --numjobs 2 --size 16M >out 2>err || die "$(cat err)"
for want in '^ram:16M$' '^randrw, 4 KiB, iodepth 8, numjobs 2, [0-9]+\.[0-9]+ s$' '^  read   [0-9]+ IOPS, ' '^  write  [0-9]+ IOPS, ' 'p50 .*, p90 .*, p95 .*, p99 ' \
	'^  cpu    .* per request' '^read latency from$' '\|#+ +[0-9.]+ % +[0-9]+$'; do
	grep -qE -e "$want" out || die "no '$want' in: $(cat out)"
done
# a busy machine may need longer than the second that is too short
! grep -q 'numjobs 2, 0\.' out || grep -q '^rdmastor bench: .*short' err || die "does not warn: $(cat err)"

"$RDMASTOR" bench ram:16M --rw randrw --size 16M --json >out 2>err || die "$(cat err)"
valid out
jq -e '
	.schema == "rdmastor.bench" and .uri == "ram:16M" and .rw == "randrw" and .bs == 4096 and .iodepth == 1 and (.interrupted | not)
	and .read.requests + .write.requests == 4096
	and .read.io_bytes == .read.requests * 4096
	and ([.read.latency_ns.histogram[].count] | add) == .read.requests
	and (.read.latency_ns | .min <= .percentile["50"] and .percentile["50"] <= .percentile["99"] and .percentile["99"] <= .max)
	and ((.read.iops * .seconds - .read.requests) | fabs) < 1
	and ((.cpu | has("run_delay") | not) or .cpu.run_delay >= 0)
	and ((.cpu.run_delay // 0) < 0.11 or (.warnings | any(.code == "cpu-wait")))
	and (.warnings | any(.code == "short")) == (.seconds < 1)' out >/dev/null || die "$(cat out)"

# the time to read the clock: only where it matters, or with -v
clock() { ours bench ram:64M --rw read --bs 16M --size 64M --json "$@" 2>err | jq '.warnings | any(.code == "clock")'; }
same 'a clock warning' "$(clock)" false
same 'a clock warning with -v' "$(clock -v)" true
