#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --retry: a target that is not up yet is tried again, until it is up or the time is over; permanent errors are final.
. "$(dirname "$0")/lib.sh"
requires jq
patient() { rm -f patient.err; "$RDMASTOR" "$@" --retry 3600 >patient.out 2>patient.err & job=$!; }
tried() { wait_running $job grep -qs 'retrying for up to 3600 s' patient.err; }
came() { wait $job || die "$1: $(cat patient.err)"; grep -q 'opened after' patient.err || die "$1: $(cat patient.err)"; }

# a socket that does not exist
patient info "$URI" --json
tried
offer ram:1M --nbd "unix:$SOCK"
came "unix socket"
valid patient.out
jq -e '.size == 1048576' patient.out >/dev/null || die "$(cat patient.out)"
stop

# a port that refuses, and a subsystem that is served later
serve ram:1M --nvmf --nqn nqn.2024-01.test:other --tcp 127.0.0.1:0
disk=nvme+tcp://127.0.0.1:$PORT/$NQN
patient copy "$disk" null:
tried
grep -q 'no subsystem' patient.err || die "$(cat patient.err)"
stop
serve ram:2M --nvmf --nqn "$NQN" --tcp "127.0.0.1:$PORT"
came "subsystem"
grep -q '^copied 2 MiB' patient.out || die "$(cat patient.out)"
stop
rm -f patient.err
"$RDMASTOR" export "$disk" --nbd "unix:$SOCK" --retry 3600 --run 'echo "$uri"' >patient.out 2>patient.err & job=$!
tried
serve ram:2M --nvmf --nqn "$NQN" --tcp "127.0.0.1:$PORT"
came "refused port"
grep -q '^nbd+unix:' patient.out || die "$(cat patient.out)"
stop

# the end of the time, and of --timeout
error 1 refused "127.0.0.1:$PORT" 'connection.refused' "$RDMASTOR" info "$disk" --retry 0.7
# the time left for the last attempt may be too short for a refusal
"$RDMASTOR" info "$disk" --retry 3600 --timeout 0.7 --json >late.json 2>late.err && die "--timeout: $(cat late.err)"
jq -e '.error.code == "refused" or .error.code == "timeout"' late.json >/dev/null || die "$(cat late.json)"
# final
error 2 usage '.*' 'bogus' "$RDMASTOR" info "$disk?bogus=1" --retry 3600
error 1 not-found nofile '' "$RDMASTOR" info nofile --retry 3600
# interrupted
for applet in info 'copy null:1M' export; do
	# shellcheck disable=SC2086 # several words
	case $applet in export) patient export "$disk" --nbd "unix:$SOCK" ;; *) patient $applet "$disk" ;; esac
	tried
	kill -TERM $job
	wait $job
	same "$applet: interrupted" $? 143
done
