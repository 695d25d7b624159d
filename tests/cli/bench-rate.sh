#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A load at a rate counts every scheduled start, answered or not, and says from when its latency counts. --hgrm writes the same latencies.
. "$(dirname "$0")/lib.sh"
requires jq
b=("$RDMASTOR" bench --runtime 0.5 --iodepth 16)

"${b[@]}" ram:4M --rate-iops 1000 --json --hgrm lat.hgrm >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.rate_iops == 1000 and .rate_process == "constant" and .read.requests + .unstarted == 500
	and .read.service_ns.histogram and .read.service_ns.mean <= .read.latency_ns.mean' out >/dev/null || die "$(cat out)"

# rows rise to the last one, which has all; percentiles are those of the JSON, to the width of a bucket
python3 - out <<'END' || die "$(cat lat.hgrm)"
import json, re
latency = json.load(open("out"))["read"]["latency_ns"]
lines = open("lat.hgrm").read().split("\n")
assert lines[0] == "       Value     Percentile TotalCount 1/(1-Percentile)" and not lines[1]
rows = [line.split() for line in lines[2:] if line and line[0] != "#"]
total = sum(bin["count"] for bin in latency["histogram"])
assert rows == sorted(rows, key=lambda row: float(row[1])) and len(rows[-1]) == 3 and int(rows[-1][2]) == total
assert all(float(a[0]) <= float(b[0]) and int(a[2]) <= int(b[2]) for a, b in zip(rows, rows[1:]))
assert all(abs(float(row[3]) * (1 - float(row[1])) - 1) < 0.01 for row in rows[:-1])
half = next(row for row in rows if float(row[1]) >= 0.5)
assert abs(float(half[0]) * 1000 - latency["percentile"]["50"]) <= latency["percentile"]["50"] * 0.02 + 1, half
assert re.search(r"^#\[Max     = +%.3f, Total count    = +%d\]$" % (latency["max"] / 1000, total), "\n".join(lines), re.M)
END

# bytes per second, and starts as of many clients
"${b[@]}" ram:4M --bs 8K --rate 4M --rate-process poisson --json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.rate_iops == 512 and .rate_process == "poisson" and .read.requests > 0' out >/dev/null || die "$(cat out)"

# one request at a time can't keep the rate
"$RDMASTOR" bench ram:4M --runtime 0.2 --rate-iops 10000000 --json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.delayed > 0 and any(.warnings[]; .code == "delayed")' out >/dev/null || die "$(cat out)"
"${b[@]}" ram:4M --rate-iops 100 2>err | grep -q 'starts/s (constant)' || die "no rate in the text: $(cat err)"

error 1 not-found none/x create "${b[@]}" ram:1M --hgrm none/x
error 2 usage '' '--hgrm disk' "$RDMASTOR" bench --rdma localhost --hgrm x
error 2 usage '' '--matrix --hgrm' "$RDMASTOR" bench --matrix ram:1M --hgrm x
