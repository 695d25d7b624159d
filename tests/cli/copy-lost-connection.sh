#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A target that is gone is reported on loss and on recovery, without -v. Gone for longer
# than --on-loss it ends the copy with that cause: not as an unreadable area, even with --keep-going,
# and the map continues the copy later.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires cmp jq nbdkit
random_file src 24
# bits per second: slow enough to lose the connection in the middle, and then fast
slow() { echo 4M >rate; }
fast() { echo 8G >rate; }
source_up() { kit --filter=rate file src rate-file="$PWD/rate"; }
slow
source_up
serve "$URI" --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
uri=$TCP
port=$PORT
gone() { kill -KILL "$SERVER"; wait "$SERVER" 2>/dev/null; }
again() { fast; serve "$URI" --nvmf --nqn "$NQN" --tcp "127.0.0.1:$port"; }
slowly=(--resume map --request 64K --depth 2)
# begin OPTION…: copies in the background, and returns when some of it is in the map
begin() {
	slow
	"$RDMASTOR" copy "$uri" dst "${slowly[@]}" "$@" >copy.out 2>copy.err &
	job=$!
	wait_running $job copied
}
copied() { grep -q ' +$' map 2>/dev/null; }
ended() { # STATUS
	local rc=0
	wait $job || rc=$?
	[ $rc = "$1" ] || die "status $rc, not $1: $(cat copy.out copy.err)"
}
said() { # REGEX TIMES
	[ "$(grep -Ec "$1" copy.err)" = "$2" ] || die "not $2 times '$1': $(cat copy.err)"
}

begin --keep-going --on-loss 1 --json
gone
ended 1
jq -e '.error | .code == "unreachable" and (.text | test("[0-9.]+ s\\b"))' copy.out >/dev/null ||
	die "$(cat copy.out)"
jq -e '.error.hint | test("--on-loss")' copy.out >/dev/null || die "no way out: $(cat copy.out)"
[ "$(jq -r .error.object copy.out)" = "$uri" ] || die "the object is not the URI: $(cat copy.out)"
said '^rdmastor copy: warning: nvme\+tcp:.*: connection lost: .*; requests wait' 1
! grep -q 'hint.*keep-going' copy.err || die "the hint makes it worse: $(cat copy.err)"
grep -q ' -$' map && die "areas are called bad: $(cat map)"
again
"$RDMASTOR" copy "$uri" dst --resume map --keep-going --json >copy.out 2>copy.err ||
	die "continued: $(cat copy.err)"
valid copy.out
jq -e '.unreadable_bytes == 0 and .copied_bytes < .size' copy.out >/dev/null ||
	die "nothing was kept: $(cat copy.out)"
cmp src dst || die "bytes differ"

rm map
begin --progress=json
gone
wait_running $job grep -q '"waiting":true' copy.err
again
ended 0
cmp src dst || die "bytes differ"
said '^rdmastor copy: .*lost.*\b60 s' 1
said '^rdmastor copy: .*restored.* [0-9.]+ s' 1
grep -q '"waiting":true' copy.err || die "waiting does not show: $(tail -n 3 copy.err)"
tail -n 1 copy.err | jq -e '.waiting == false and .done_bytes == .total_bytes' >/dev/null ||
	die "the end: $(tail -n 1 copy.err)"

rm map
begin --quiet
gone
sleep 0.5
again
ended 0
[ ! -s copy.err ] || die "with --quiet: $(cat copy.err)"

# the target is reached and answers that its own disk is not: another cause
stop
serve "$URI" --nvmf --nqn "$NQN" --tcp "127.0.0.1:$port" --on-loss fail-fast
rm map
begin --keep-going --on-loss 1 --json
down KILL
ended 1
jq -e '.error | .code == "unreachable" and (.text | test("path")) and
	(.text | test("lost") | not) and (.hint | test("on-loss"))' copy.out \
	>/dev/null || die "$(cat copy.out)"
said '^rdmastor copy: warning: nvme\+tcp:.*: requests are refused: .*path.*1 s' 1
jq -e '.copied_bytes > 0 and .unreadable_bytes == 0' copy.out >/dev/null || die "partial: $(cat copy.out)"
grep -q ' -$' map && die "areas are called bad: $(cat map)"
gone
source_up
again
slow

# on a terminal each message is a line of its own, in place of the progress
command -v script >/dev/null || exit 0
rm map
script -qec "$RDMASTOR copy '$uri' dst ${slowly[*]}" terminal >/dev/null 2>&1 </dev/null &
job=$!
shows() { grep -q 'waiting' terminal; }
wait_running $job copied
gone
wait_running $job shows
again
ended 0
whole=$(tr '\r' '\n' <terminal | grep -c "^rdmastor copy: .*\(lost\|restored\)")
[ "$whole" = 2 ] || die "garbled: $(cat -v terminal)"
exit 0
