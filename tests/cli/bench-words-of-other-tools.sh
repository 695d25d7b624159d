#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fio's command lines are accepted where bench does the same. Other options of fio and perftest are refused with a hint that names
# our own.
. "$(dirname "$0")/lib.sh"
requires jq
while read -r option tool hint; do
	error 2 usage '' "${option%%=*} $tool $hint" "$RDMASTOR" bench "$option" ram:1M
done <<'END'
--bsrange=4k-8k fio --bssplit
--verify=crc32c fio crc32c
--output=out.json fio >FILE
--runtime=1m fio milliseconds
--rw=randread:8 fio without.*number
-s perftest --bs\b
-n perftest --iters
-D perftest --runtime
-d perftest route
-p perftest HOST:PORT
-x perftest GID
-F perftest not.needed
-a perftest --bs\b
-b perftest not.supported
--report_gbits perftest --json
END
error 2 usage '' '--runtime more.than.0' "$RDMASTOR" bench --runtime 0 ram:1M
jq -e '.error.hint // "" | test("fio") | not' error.out >/dev/null || die "not fio's: $(cat error.out)"

fio=(--ioengine=libaio --direct=1 --thread --group_reporting=1 --readwrite=randwrite --blocksize=8k --filename=ram:1M --size=1M --iodepth=4)
"$RDMASTOR" bench "${fio[@]}" --output-format=json >out 2>err || die "$(cat err)"
valid out
jq -e '.uri == "ram:1M" and .rw == "randwrite" and .bs == 8192 and .iodepth == 4 and .write.requests == 128' out >/dev/null || die "$(cat out)"
! grep ignored err || die "announced without --verbose"
"$RDMASTOR" bench "${fio[@]}" --output-format=json+ -v >out 2>err || die "$(cat err)"
jq -e '.jobs[0].write.total_ios == 128' out >/dev/null || die "json+: $(cat out)"
same "ignored options" "$(grep -c 'warning: --.*: ignored$' err)" 4
"$RDMASTOR" bench --direct=0 ram:1M --size 1M 2>&1 >/dev/null | grep -q 'warning: --direct 0: ignored' || die "--direct=0 is not announced"
error 2 usage '' '--filename ram:2M operand' "$RDMASTOR" bench --filename ram:2M ram:1M
error 2 usage '' '--direct 0.to.1' "$RDMASTOR" bench --direct=2 ram:1M
# a job file
printf '; comment\n#another\n\n[global]\nrw=randread\n' >job.fio
error 2 usage job.fio 'job.file' "$RDMASTOR" bench job.fio
jq -e '.error.hint | test("--rw")' error.out >/dev/null || die "no hint for a job file: $(cat error.out)"
printf '[section]' >image
truncate -s 1M image
error 2 usage image job.file "$RDMASTOR" bench image
"$RDMASTOR" bench "file:$PWD/image" --size 64K >/dev/null 2>&1 || die "file: is measured"
printf '[\0]' >image
truncate -s 1M image
"$RDMASTOR" bench image --size 64K >/dev/null 2>&1 || die "no text"
# three significant digits
"$RDMASTOR" bench ram:1M --size 1M 2>/dev/null | grep -Eq 'IOPS, ([0-9]\.[0-9]{2}|[0-9]{2}\.[0-9]|[0-9]{3,4}) [KMG]iB/s,' || die "rate"
