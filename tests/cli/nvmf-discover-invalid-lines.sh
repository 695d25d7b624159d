#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-discover: an invalid line of discovery.conf is one failure, and the other discovery controllers are queried, as by nvmf-connect-all.
. "$(dirname "$0")/lib.sh"
requires jq

serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
good="-t tcp -a 127.0.0.1 -s $PORT"
# line TEXT CODE: one failure besides a good log, or the only result
line() {
	local rc=0
	printf '%s\n%s\n' "$1" "$good" >d.conf
	"$RDMASTOR" nvmf-discover -J d.conf --json >out 2>errors || rc=$?
	valid out
	same "$1: status ($(cat errors))" $rc 3
	jq -e --arg nqn "$NQN" --arg code "$2" '[.records[].subnqn] == [$nqn] and
		(.failed_controllers | length == 1 and .[0].error.code == $code)' out >/dev/null || die "$1: $(cat out)"
	grep -q 'd.conf line 1' errors || die "$1: $(cat errors)"
	printf '%s\n' "$1" >d.conf
	error 2 "$2" 'd.conf line 1' '' "$RDMASTOR" nvmf-discover -J d.conf
}
line '--traddr=192.0.2.1' usage
line '-t tcp -a 127.0.0.1 -s 99999' usage
line '--sparkle' usage
line '-t tcp -a' usage

# A default that has no value is left out with a warning
printf '%s\n' '[Discovery Controller Defaults]' 'keep-alive-tmo = soon' '[Discovery Controller]' \
	"controller = transport=tcp;traddr=127.0.0.1;trsvcid=$PORT   # ours" >d.conf
"$RDMASTOR" nvmf-discover -J d.conf --json >out 2>errors || die "$(cat errors)"
grep -q 'd.conf line 2: ignored' errors || die "$(cat errors)"
