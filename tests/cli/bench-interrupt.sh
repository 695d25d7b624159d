#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# ^C: exit status 3, the results so far, and a message. --timeout likewise, but that is a failure.
. "$(dirname "$0")/lib.sh"
requires jq
set -m # a background job of a script would ignore SIGINT
for signal in INT TERM; do
	offer ram:1M --nbd "unix:$SOCK"
	"$RDMASTOR" bench "$URI" --runtime 3600 --json >out 2>err &
	job=$!
	wait_running "$job" under_load "$SERVER"
	kill -s "$signal" "$job"
	wait "$job"
	rc=$?
	[ $rc = 3 ] || die "$signal: status $rc: $(cat err)"
	valid out
	jq -e '.interrupted and (.warnings | any(.code == "interrupted")) and .read.requests > 0 and .seconds < 3600' out >/dev/null || die "$signal: $(cat out)"
	grep -q '^rdmastor bench: .*interrupted' err || die "$signal: output: $(cat err)"
	stop
done
"$RDMASTOR" bench ram:1M --runtime 3600 --timeout 2 --json >out 2>err
rc=$?
[ $rc = 1 ] || die "--timeout: status $rc"
valid out
jq -e '.read.requests > 0 and (.error | .code == "timeout" and (.text | contains("2 s")))' out >/dev/null ||
	die "$(cat out)"
