#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# ^C: the map saved, a message on how to continue, and exit by the signal, which ends a loop of the shell.
. "$(dirname "$0")/lib.sh"
requires jq
truncate -s 300G src
head -c 40M /dev/urandom | dd of=src conv=notrunc status=none

offer null:300G --nbd "unix:$SOCK" # null: itself keeps no data, so it has no map
set -m # a background job of a script would ignore SIGINT
for signal in INT TERM HUP; do
	rm -f map
	# far more than can be read
	"$RDMASTOR" copy --no-sparse src "$URI" --resume map >out 2>err &
	job=$!
	until grep -q ' +$' map 2>/dev/null; do
		kill -0 "$job" 2>/dev/null || die "$signal: ended early: $(cat err)"
		sleep 0.1
	done
	kill -s "$signal" "$job"
	wait "$job"
	rc=$?
	[ $rc = $((128 + $(kill -l "$signal"))) ] || die "$signal: status $rc: $(cat err)"
	grep -q '^rdmastor copy: .*interrupted' err || die "$signal: output: $(cat err)"
	grep -q '^hint: .*--verify.*\<map map' err ||
		die "$signal: hint: $(cat err)"
	[ ! -s out ] || die "$signal: a result: $(cat out)"
done
grep -q ' +$' map || die "nothing is finished in the map: $(cat map)"
error 1 timeout '' '\b2.s --resume.MAP' "$RDMASTOR" copy --no-sparse src "$URI" --timeout 2
# what was copied until then is in the JSON next to the error
jq -e '.copied_bytes > 0 and .zeroed_bytes == 0 and .unreadable_bytes == 0' error.out \
	>/dev/null || die "partial results: $(cat error.out)"
error 1 timeout '' '400.ms' "$RDMASTOR" copy --no-sparse src null:300G --timeout 0.4
! grep -q -- '--resume' error.err || die "a hint that cannot be followed: $(cat error.err)"

# a loop around it, as bash ends one only if the command died of SIGINT
rm -f map
# shellcheck disable=SC2016 # for that shell
bash -c 'until "$@" 2>err; do echo again; done' - "$RDMASTOR" copy --no-sparse src "$URI" --resume map >out &
job=$!
wait_until grep -qs ' +$' map
kill -s INT -- "-$job"
wait "$job"
same "status of the loop" $? 130
[ ! -s out ] || die "the loop went on: $(cat out)"
grep -q '^hint: .*\<map map' err || die "no hint: $(cat err)"

# a reader that has seen enough
{ "$RDMASTOR" copy src - 2>err; echo $? >rc; } | head -c 10 >/dev/null
same "status without a reader" "$(cat rc)" 141
[ ! -s err ] || die "a message: $(cat err)"
(trap '' PIPE; { "$RDMASTOR" copy src - 2>err; echo $? >rc; } | head -c 10 >/dev/null)
same "status where SIGPIPE is ignored" "$(cat rc)" 1
grep -q 'broken pipe' err || die "no message: $(cat err)"
