#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Options of fio and perftest that bench doesn't have are refused with a hint that names our own.
. "$(dirname "$0")/lib.sh"
requires jq
while read -r option tool hint; do
	error 2 usage '' "${option%%=*} $tool $hint" "$RDMASTOR" bench "$option" ram:1M
done <<'END'
--filename=/dev/sdx fio URI
--ioengine=libaio fio not.needed
--direct=1 fio not.needed
--group_reporting fio not.needed
--thread fio not.needed
--blocksize=4k fio --bs\b
--readwrite=read fio --rw\b
--output-format=json fio --output\b
--fsync=1 fio not.supported
--rate_iops=100 fio --iodepth
--bssplit=4k/50 fio --bs\b
--verify=crc32c fio crc32c
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
