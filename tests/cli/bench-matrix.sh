#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --matrix measures several disks in interleaved rounds: rows with figures, ratios to the first disk and its own noise, as text,
# JSON, CSV and pictures. A disk that can't be reached is a row with its reason; impossible combinations are refused before.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
requires jq xmllint
m=("$RDMASTOR" bench --matrix --runtime 100ms --ramp-time 0)
truncate -s 2M disk.img
offer ram:4M --nbd "unix:$SOCK"

# one document, a row per disk and cell and one for the first disk again
"${m[@]}" --rounds 5 --bs 4K,8K --iodepth 1,2 --json disk.img "$URI" --csv out.csv --svg out.svg >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '(.rows | length) == 2 * 2 * 3 and .range_bytes == 2097152 and ([.disks[].name] == ["file", "nbd+unix"])
	and all(.rows[]; (.figures | length) == 5 and .iops_summary.low <= .iops_summary.median and .iops_summary.median <= .iops_summary.high and .iops_summary.median > 0
		and .total.read.requests == .total.read.latency_ns.histogram[0].count + ([.total.read.latency_ns.histogram[1:][].count] | add // 0))
	and ([.rows[] | select(.comparison)] | length) == 8 and all(.rows[] | select(.comparison); .comparison.with == "file")
	and ([.rows[] | select(.again) | .name] | unique) == ["file again"]' out >/dev/null || die "$(cat out)"

# the median is one of the five figures
jq -e 'all(.rows[]; .iops_summary.median as $m | any(.figures[]; .iops == $m))' out >/dev/null || die "median: $(jq -c '.rows[0]' out)"

# a line per load, and one heading for both runs
"${m[@]}" --rounds 1 --bs 4K --iodepth 1 disk.img --csv out.csv >text 2>err || die "status $?: $(cat err)"
same 'lines of the table' "$(wc -l <out.csv)" $((1 + 2 * 2 * 3 * 5 + 2))
same headings "$(grep -c ^time, out.csv)" 1
same 'the heading' "$(head -n 1 out.csv | tr -d '\r')" "$(sed -n '/^time,name,/,/^\.Ed/{/^\.Ed/!p}' "$top/man/rdmastor-bench.1" | tr -d '\n')"
python3 -c 'import csv
rows = list(csv.DictReader(open("out.csv", newline="")))
assert all(None not in r and None not in r.values() for r in rows)
assert all(r["runtime_seconds"] == "0.100" and r["offset_bytes"] == "0" and r["range_bytes"] == "2097152" and not r["rate_iops"] and not r["fsync"] for r in rows)
assert {r["uri"] for r in rows if r["name"] == "nbd+unix"} == {"'"$URI"'"}
assert all(float(r["iops"]) * int(r["bs"]) - float(r["bytes_per_second"]) < 4096 for r in rows)' || die "$(head -3 out.csv)"

# a picture per block size
for file in out-4K.svg out-8K.svg; do
	xmllint --noout "$file" || die "$file is not XML"
	for word in 'queue depth' IOPS nbd+unix '8 KiB\|4 KiB'; do grep -q "$word" "$file" || die "$file: no '$word'"; done
done
[ ! -e out.svg ] || die 'a picture too many'

# the shares of reads are told apart
"${m[@]}" --rounds 1 --bs 4K --iodepth 1 --rw randrw --rwmixread 0,100 disk.img >mixed 2>err || die "status $?: $(cat err)"
for share in '0 % reads' '100 % reads'; do has_line "^randrw 4 KiB, $share" "$(<mixed)" || die "no '$share': $(cat mixed)"; done

# text: each disk by name, with ratio and verdict; too few rounds for one
has_line '^file +[0-9]' "$(<text)" || die "$(cat text)"
has_line '^file again .*too few rounds' "$(<text)" || die "$(cat text)"

# the second disk of a scheme, and a mix
"${m[@]}" --rounds 1 --bs 4K --iodepth 1 --rw randrw --rwmixread 100,30,0 --json ram:1M ram:1M disk.img >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '[.disks[].name] == ["ram", "ram 2", "file"] and ([.rows[].read_percent] | unique) == [0, 30, 100]
	and all(.rows[] | select(.read_percent == 100); .total.write.requests == 0)
	and all(.rows[] | select(.read_percent == 0); .total.read.requests == 0)' out >/dev/null || die "$(cat out)"

# a disk that can't be opened
"${m[@]}" --rounds 1 --iodepth 1 --json disk.img "nbd+unix:///?socket=$TMP/none" >out 2>err
same 'status with a disk missing' $? 3
valid out
jq -e '(.rows | length) == 2 and .disks[1].error.code == "refused" or .disks[1].error.code == "not-found"' out >/dev/null || die "$(cat out)"
grep -q 'warning: nbd+unix (nbd+unix:.*none): ' err || die "stderr: $(cat err)"
"${m[@]}" --rounds 1 "nbd+unix:///?socket=$TMP/none" >out 2>err
same 'status without a disk' $? 1

# nothing was measured: no request started
error 1 timeout 'ram:1M.*' 'no.request.started' "${m[@]}" --rounds 2 --runtime 200ms --ramp-time 100ms --rate-iops 1 --iodepth 1 ram:1M ram:1M
grep -q 'warning: ram 2 (ram:1M.*): no request started' error.err || die "the second disk: $(cat error.err)"

# a disk that fails during the measurement says so, and how many rounds it has
first=$SERVER
offer ram:4M --nbd "unix:$TMP/lost"
lost=$SERVER SERVER=$first
"${m[@]}" --rounds 99 --iodepth 1 --on-loss fail-fast disk.img "nbd+unix:///?socket=$TMP/lost" --csv lost.csv >text 2>err &
job=$!
wait_running "$job" under_load "$lost"
sleep 1
kill -9 "$lost"
sleep 1
kill -s INT "$job"
wait "$job"
same 'status with a lost disk' $? 3
grep -q 'warning: nbd+unix (nbd+unix:.*): ' err || die "stderr: $(cat err)"
has_line '! nbd.unix: [0-9]+ of [0-9]+ rounds' "$(<text)" || die "$(cat text)"

# an earlier measurement: as fast, or ten times faster than now
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 --json disk.img ram:2M >base.json 2>err || die "status $?: $(cat err)"
jq '.rows[].figures[].iops *= 1000' base.json >faster.json
jq '.rows |= map(select(.name == "ram")) | .rows[].figures[].iops /= 1000' base.json >slower.json
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 --json disk.img ram:2M --baseline faster.json --fail-slower 50 >out 2>err
same 'status of a slower disk' $? 3
valid out
jq -e '.baseline | .missing == 0 and (.rows | length) == 2 and all(.rows[]; .verdict == "slower" and .p < 0.01 and .p_adjusted >= 2 * .p - 1e-5 and .p_adjusted < 0.05 and .iops_before > .iops)' out >/dev/null || die "$(jq -c .baseline out)"
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 --json disk.img ram:2M --baseline slower.json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e '.baseline | .missing == 1 and (.rows | length) == 1 and .rows[0].verdict == "faster"' out >/dev/null || die "$(jq -c .baseline out)"
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 disk.img ram:2M --baseline slower.json --fail-slower 99 >text 2>err
same 'status with a row that has no baseline' $? 3
jq '.rows[].total.rate_iops = 5' base.json >paced.json
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 --json disk.img --baseline paced.json >out 2>err || die "status $?: $(cat err)"
jq -e '.baseline | .missing == 1 and .rows == []' out >/dev/null || die "compared with a rate: $(jq -c .baseline out)"
"${m[@]}" --rounds 1 --bs 4K --iodepth 1 disk.img --baseline base.json >text 2>err || die "status $?: $(cat err)"
has_line '^file +4 KiB.*too few rounds' "$(<text)" || die "$(cat text)"
echo '{"schema":"rdmastor.bench"' >broken.json
for file in broken.json out.csv; do error 2 usage $file 'JSON' "${m[@]}" disk.img --baseline $file; done
jq 'del(.rows)' base.json >rowless.json
jq '.version += 1' base.json >newer.json
error 2 usage rowless.json 'no.measurement' "${m[@]}" disk.img --baseline rowless.json
error 2 usage newer.json 'version' "${m[@]}" disk.img --baseline newer.json
error 2 usage base.json '--size 2097152 1048576' "${m[@]}" disk.img --size 1M --baseline base.json
"${m[@]}" disk.img --dry-run --json >dry.json || die "status $?"
error 2 usage dry.json 'no.measurement' "${m[@]}" disk.img --baseline dry.json
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 --runtime 150ms disk.img --baseline base.json >text 2>err || die "status $?: $(cat err)"
has_line '! .*--runtime 0.1' "$(<text)" || die "$(cat text)"
jq '.rw = "readwrite" | .rows[].figures[].iops = 1e-300' base.json >tiny.json
"${m[@]}" --rounds 5 --bs 4K --iodepth 1 disk.img --rw rw --baseline tiny.json >text 2>err || die "status $?: $(cat err)"
! has_line 'inf' "$(<text)" || die "$(cat text)"
error 1 not-found none.json open "${m[@]}" disk.img --baseline none.json
error 2 usage base.json '--rw randread' "${m[@]}" disk.img --rw read --baseline base.json
error 2 usage base.json '--numjobs 1' "${m[@]}" disk.img --numjobs 2 --baseline base.json
error 2 usage base.json '--offset 0' "${m[@]}" disk.img --offset 1M --baseline base.json
error 2 usage '' '--baseline rate' "${m[@]}" disk.img --rate-iops 9 --baseline base.json
error 2 usage '' '--fail-slower 5 --rounds' "${m[@]}" disk.img --rounds 4 --baseline base.json --fail-slower 5
error 2 usage '' 'two.results x' "${m[@]}" disk.img --csv x --svg x
echo time,name >other.csv
error 2 usage other.csv heading "${m[@]}" disk.img --csv other.csv
error 2 usage ram:512.* '512 --bs 4096' "${m[@]}" ram:1M ram:512
"${m[@]}" --rounds 1 --iodepth 1 --rate-iops 20 --json ram:1M ram:1M --csv paced.csv >out 2>err || die "status $?: $(cat err)"
valid out
jq -e 'all(.rows[]; .p99_summary == null and all(.figures[]; .p99_ns == null) and .p50_summary.median > 0)' out >/dev/null || die "p99 of two requests: $(cat out)"
grep -q ',20.000,constant,0,1048576,0.100' paced.csv || die "$(cat paced.csv)"
error 1 unsupported "$TMP" create "${m[@]}" disk.img --csv "$TMP"
for share in 30 0,100; do error 2 usage '' '--rwmixread --rw' "${m[@]}" disk.img --rwmixread $share; done
error 2 usage '' '--matrix --time-based' "${m[@]}" disk.img --time-based
error 2 usage '' '--matrix --name' "${m[@]}" disk.img --name x
error 2 usage '' '--rwmixread number' "${m[@]}" disk.img --rwmixread abc
error 2 usage '' '--fail-slower --baseline' "${m[@]}" disk.img --fail-slower 5

# ^C prints the rounds so far
set -m
"${m[@]}" --rounds 99 --runtime 200ms --iodepth 1 --json "$URI" --csv interrupted.csv >out 2>err &
job=$!
wait_running "$job" under_load "$SERVER"
kill -s INT "$job"
wait "$job"
same 'status after ^C' $? 3
valid out
jq -e '.interrupted and all(.rows[]; (.figures | length) < 99)' out >/dev/null || die "$(cat out)"

# nothing is measured after a wrong command line
u=("$RDMASTOR" bench --matrix)
error 2 usage '' URI "${u[@]}"
for other in --verify --rdma --tcp --listen --fio-json; do error 2 usage '' '--matrix' "${u[@]}" disk.img $other; done
error 2 usage '' '--iodepth \b1\b twice' "${u[@]}" disk.img --iodepth 1,1
error 2 usage '' '--rwmixread 0.to.100' "${u[@]}" disk.img --rw randrw --rwmixread 50,101
error 2 usage '' '--rounds 1.to.99' "${u[@]}" disk.img --rounds 100
error 2 usage disk.img '--bs 512' "${u[@]}" disk.img --bs 4K,1000
error 2 usage '' '18 17' "${u[@]}" ram:1M{,,,,,,,,,,,,,,,,,}
error 1 not-found none/x.svg create "${u[@]}" disk.img --svg none/x.svg
error 1 not-found none/x.csv create "${u[@]}" disk.img --csv none/x.csv
b=("$RDMASTOR" bench disk.img)
for option in '--iodepth 1,8' '--bs 4K,8K'; do
	# shellcheck disable=SC2086 # option and value
	error 2 usage '' "${option% *} --matrix" "${b[@]}" $option
done
error 2 usage '' '--rwmixread --matrix' "${b[@]}" --rw randrw --rwmixread 1,2
for option in rounds csv svg baseline; do error 2 usage '' "--$option --matrix" "${b[@]}" --$option 9; done
error 2 usage '' 'disk.img --matrix' "${b[@]}" disk.img

# trims with flushes, which an earlier measurement must have had as well
t=("$RDMASTOR" bench --matrix --rounds 1 --runtime 500ms --iodepth 1 --rw randtrim ram:1M)
"${t[@]}" --fsync 4 --json --csv flushed.csv >flushed.json 2>err || die "$(cat err)"
valid flushed.json
jq -e '.fsync == 4 and all(.rows[]; .total | .trim.requests > 0 and has("flushes"))' flushed.json >/dev/null || die "$(cat flushed.json)"
python3 -c 'import csv
assert {r["fsync"] for r in csv.DictReader(open("flushed.csv", newline=""))} == {"4"}' || die "$(cat flushed.csv)"
error 2 usage flushed.json fsync "${t[@]}" --baseline flushed.json

# --dry-run says how much would be measured
"${u[@]}" disk.img "$URI" --bs 4K --dry-run --json >out 2>err || die "$(cat err)"
valid out
jq -e '.dry_run and .loads == 7 * 2 * 3 and (.disks | length) == 2' out >/dev/null || die "$(cat out)"
"${u[@]}" disk.img "nbd+unix:///?socket=$TMP/none" --bs 4K --dry-run --json >out 2>err
same 'status of a dry run with a disk missing' $? 3
valid out
jq -e '.loads == 7 * 2 * 2 and .disks[1].error.code and (.disks[0].error | not)' out >/dev/null || die "$(cat out)"
"${u[@]}" disk.img "nbd+unix:///?socket=$TMP/none" --dry-run >text 2>err
same 'lines of a dry run' "$(grep -c would text)" 1
