#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --output json+ has fio's keys with fio's types: every path of ours is in fio's own document, and only values of fio's that we
# can't know are missing.
. "$(dirname "$0")/lib.sh"
requires jq fio
options=(--name=x --rw=randrw --rwmixread=60 --bs=4k --iodepth=4 --size=8M)
fio "${options[@]}" --ioengine=null --output-format=json+ >theirs || die "fio fails"
"$RDMASTOR" bench "${options[@]}" --output json+ ram:16M >ours 2>err || die "$(cat err)"
"$RDMASTOR" bench "${options[@]}" --fio-json ram:16M 2>err | jq -e '.jobs[0].jobname == "x"' >/dev/null || die "--fio-json: $(cat err)"

# paths with the types of their values; bins and the job's options are free
paths='[paths(type != "object" and type != "array") as $p | ($p | map(if type == "number" then 0 else . end) | join("/")) + " " + (getpath($p) | type)]
	| map(select(test("/bins/|job options/") | not)) | unique | .[]'
jq -r "$paths" theirs | sort >theirs.paths
jq -r "$paths" ours | sort >ours.paths
extra=$(comm -13 theirs.paths ours.paths | grep -vE '^(schema string|version number|jobs/0/(read|write)/clat_ns/percentile/99\.999000 number)$')
[ -z "$extra" ] || die "not fio's: $extra"
missing=$(comm -23 theirs.paths ours.paths | grep -vE '^jobs/0/(iodepth_submit|iodepth_complete)/')
[ -z "$missing" ] || die "fio has also: $missing"
jq -e '.jobs[0] | .jobname == "x" and .read.total_ios + .write.total_ios == 2048 and .read.io_bytes == .read.total_ios * 4096
	and ([.read.clat_ns.bins[]] | add) == .read.total_ios
	and ((.latency_ns + .latency_us + .latency_ms | length) > 0)
	and (([.latency_ns, .latency_us, .latency_ms] | map([.[]] | add) | add) - 100 | fabs) < 0.01
	and .iodepth_level["4"] == 100' ours >/dev/null || die "$(cat ours)"
