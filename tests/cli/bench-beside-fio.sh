#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fio and bench run the same fixed number of requests on the same file. What the options fix is equal in both documents; what was
# measured only has to be consistent, in both by the same rules: nothing here depends on how fast the machine is.
. "$(dirname "$0")/lib.sh"
requires jq fio
head -c 8M /dev/urandom >file

# Of the directions that have requests. A runtime is in ms, rounded, 0 on a fast machine; a histogram's bins are 1/64 wide.
cat >consistent.jq <<'END'
def near($a; $b; $most): ($a - $b) | fabs <= $most;
def spread: .min <= .mean and .mean <= .max and .stddev >= 0 and .min >= 0;
def values: [.percentile | to_entries | sort_by(.key | tonumber)[].value];
def check($name; $ok): if $ok then empty else $name end;
.jobs as $jobs | $jobs[] | .["job options"] as $options |
(($options.numjobs // .numjobs // "1") | tonumber) as $threads |
([.read, .write][] | select(.total_ios > 0) |
	check("runtime"; .runtime >= 0),
	check("bw_bytes"; .runtime == 0 or near(.io_bytes * 1000 / .bw_bytes; .runtime; 1.01)),
	check("bw"; near(.bw_bytes / 1024; .bw; 1)),
	check("iops"; .runtime == 0 or near(.total_ios * 1000 / .iops; .runtime; 1.01)),
	check("io_kbytes"; .io_kbytes == (.io_bytes / 1024 | floor)),
	check("lat_ns"; .lat_ns | spread),
	check("clat_ns"; .clat_ns | spread),
	check("clat is part of lat"; .lat_ns.mean >= .clat_ns.mean),
	check("N"; .lat_ns.N == .total_ios and .clat_ns.N == .total_ios),
	check("bins"; ([.clat_ns.bins[]] | add) == .total_ios),
	check("mean of the bins"; .clat_ns | .N as $n | near(([.bins | to_entries[] | (.key | tonumber) * .value] | add) / $n; .mean; .mean * 0.02)),
	check("percentiles rise"; .clat_ns | values | length >= 10 and . == sort),
	check("percentiles within"; .clat_ns | .min as $min | .max as $max | values | all(. >= $min * 0.98 and . <= $max * 1.02)),
	check("median of the bins"; .clat_ns | (.N / 2) as $half | (.percentile["50.000000"] * 1.02) as $p50 |
		([.bins | to_entries[] | select((.key | tonumber) <= $p50) | .value] | add) >= $half - 1)),
check("latency in all"; ([.read, .write | .lat_ns.N * .lat_ns.mean] | add) / 1e6 <= ([.read, .write | .runtime] | max + 2) * $threads),
check("shares of latencies"; near([.latency_ns[], .latency_us[], .latency_ms[]] | add; 100; 1)),
check("iodepth_level"; .iodepth_level["1"] == 100)
END

# beside OPTION…: run both, and set `sum` to what they have in common
exact='def bytes: ascii_downcase | capture("^(?<n>[0-9]+)(?<unit>[km]?)$") | (.n | tonumber) * {"": 1, k: 1024, m: 1048576}[.unit];
	.jobs | length as $jobs | map([.read, .write, .trim | {total_ios, io_bytes, io_kbytes, short_ios, drop_ios, N: .lat_ns.N}]
	+ [.error, (.["job options"] | [.rw, (.numjobs // "1"), (.bs, .size | bytes)])]) | [$jobs, .]'
beside() {
	local bad document
	fio --name=x --ioengine=psync --randseed=7 --filename=file --group_reporting --output-format=json+ "$@" >theirs 2>err || die "fio $*: $(cat err)"
	"$RDMASTOR" bench --name=x --filename=file --group_reporting --output-format=json+ "$@" >ours 2>err || die "bench $*: status $?: $(cat err)"
	for document in theirs ours; do
		bad=$(jq -r -f consistent.jq $document) || die "$*: $document: jq"
		[ -z "$bad" ] || die "$*: $document is not consistent: $bad: $(jq -c '.jobs[] | del(.. | .bins?)' $document)"
	done
}
equal() { same "$*" "$(jq -c "$exact" ours)" "$(jq -c "$exact" theirs)"; }

for options in '--rw=randread --bs=4k --size=8M' '--rw=read --bs=64k --size=8M' '--rw=write --bs=16k --size=4M' '--rw=randwrite --bs=512 --size=1M' \
	'--rw=randrw --rwmixread=100 --bs=4k --size=8M' '--rw=randrw --rwmixread=0 --bs=8k --size=8M' '--rw=randread --bs=4k --size=4M --numjobs=2'; do
	# shellcheck disable=SC2086 # options and values
	beside $options && equal "$options"
done

# of a mix the sum is fixed, the share by chance: 2048 requests, 6 standard deviations
beside --rw=randrw --rwmixread=60 --bs=4k --size=8M
for document in theirs ours; do
	jq -e '.jobs[0] | .read.total_ios + .write.total_ios == 2048 and .read.io_bytes == 4096 * .read.total_ios
		and (.read.total_ios - 0.6 * 2048 | fabs) < 134' $document >/dev/null || die "$document: $(jq -c '.jobs[0] | [.read, .write] | map(.total_ios)' $document)"
done

# at random, both visit each block once
fio --name=x --ioengine=psync --filename=file --rw=randread --bs=4k --size=2M --write_lat_log=log --log_offset=1 >out 2>&1 || die "fio: $(cat out)"
"$RDMASTOR" bench --rw=randread --bs=4k --size=2M --log log file >out 2>&1 || die "status $?: $(cat out)"
requests() { cut -d, -f3-6 "$1" | sort; }
same "the requests" "$(requests log)" "$(requests log_clat.1.log)"
