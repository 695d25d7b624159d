#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every --slots and --buffer serves the same bytes.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdcopy

head -c 8M /dev/urandom >a
for how in "--slots 2 --buffer 64K" "--slots 3 --buffer 100K" "--slots 1024 --buffer 64K" "--buffer 32M --slots 2"; do
	# shellcheck disable=SC2086 # words
	offer 'ram:8M?block=4096' --nbd "unix:$SOCK" $how
	nbdcopy --request-size=1048576 a "$URI"
	nbdcopy --request-size=4194304 "$URI" b
	cmp a b || die "$how"
	stop
done
