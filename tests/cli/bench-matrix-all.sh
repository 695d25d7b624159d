#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --matrix --all serves one disk by every protocol and compares them with a bare socket and bare RDMA. Its servers end with it, whatever happens.
. "$(dirname "$0")/lib.sh"
requires jq
all=("$RDMASTOR" bench --matrix --all --rounds 1 --runtime 100ms --ramp-time 0 --iodepth 1)
protocols='["iscsi","iser","nbd","nbd+unix","nvme+rdma","nvme+tcp","rdma","socket","srp+cm"]'

# no server is left, nor its socket: all that it started have the private folder as their own
export TMPDIR=$TMP
nothing_left() {
	local pid
	for pid in /proc/[0-9]*; do
		[ "$(readlink "$pid/cwd")" != "$TMP" ] || [ "${pid#/proc/}" = $$ ] || [ "${pid#/proc/}" = "$BASHPID" ] ||
			! tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -qE '(serve|export|bench) ' || return 1
	done
	[ -z "$(ls -d "$TMP"/rdmastor-* 2>/dev/null)" ]
}

"${all[@]}" --json >out 2>err || die "status $?: $(cat err)"
valid out
jq -e --argjson protocols "$protocols" '([.rows[] | select(.again | not) | .name] | sort) == $protocols
	and all(.rows[]; .iops_summary.median > 0 and .server_cpu_summary.median > 0 and .total.read.requests > 0)
	and .disks[0].name == "nvme+tcp"' out >/dev/null || die "$(cat out)"
nothing_left || die 'a server or its socket is left'

# what is measured is filled first, of a disk that has nothing to fill nothing
"${all[@]}" --json --size 64K --offset 512M ram:1T >out 2>err || die "status $?: $(cat err)"
valid out
"${all[@]}" --json null:1T >out 2>err || die "status $?: $(cat err)"
valid out

# a dry run serves nothing, and changes nothing
truncate -s 2M dry.img
"${all[@]}" --rw randwrite --json --dry-run dry.img >out 2>err || die "status $?: $(cat err)"
valid out
[ ! -s err ] || die "stderr of a dry run: $(cat err)"
jq -e --argjson protocols "$protocols" '([.disks[].name] | sort) == $protocols and .loads == 8 and .disks[0].uri == "dry.img"' out >/dev/null || die "$(cat out)"
"${all[@]}" --dry-run >text 2>err || die "status $?: $(cat err)"
same 'lines of a dry run' "$(grep -c '^would read ram:64M' text)" 7
error 1 not-found 'none.img' 'no.such' "${all[@]}" --dry-run none.img

# a file, which is written; the socket has reads only
truncate -s 2M disk.img
"${all[@]}" --rw randrw --rwmixread 0,100 --json disk.img >out 2>err || die "status $?: $(cat err)"
valid out
grep -q 'warning: disk.img: any .* can overwrite it' err || die "no warning that the disk is open to others: $(cat err)"
jq -e '([.rows[] | select(.name == "socket") | .read_percent] | unique) == [100]
	and ([.rows[] | select(.read_percent == 0 and (.again | not))] | length) == 7' out >/dev/null || die "$(cat out)"

# a warning of each kind, however many disks have it
"${all[@]}" --svg one.svg >text 2>err || die "status $?: $(cat err)"
same 'warnings of short loads' "$(grep -c '^  ! .*: ran for .* too short' text)" 1
has_line '^    also: nvme.rdma, iscsi, iser, srp.cm, nbd.unix, nbd, socket, rdma$' "$(<text)" || die "$(cat text)"
has_line '^ratio: of IOPS to nvme.tcp in the same round' "$(<text)" || die "$(cat text)"
! grep -q '^bounds:' text || die "bounds of one round: $(cat text)"
grep -q '>1 round of 0.1 s, 1 job, 64 MiB of each disk<' one.svg || die "$(grep -o '>[^<]* of each disk[^<]*<' one.svg)"

# a rate is not the socket's; a disk that is in use is not overwritten without --force
"${all[@]}" --rate-iops 1000 --json ram:96K --size 32K >out 2>err || die "status $?: $(cat err)"
valid out
jq -e 'all(.rows[]; .name != "socket" and .name != "rdma")' out >/dev/null || die "a socket with a rate: $(cat out)"
"${all[@]}" --rate-iops 1000 ram:96K --size 32K >text 2>err || die "status $?: $(cat err)"
has_line '^ +socket .*reads without a rate only' "$(<text)" || die "$(cat text)"
offer disk.img --nbd "unix:$SOCK"
error 1 busy 'disk.img' '.' "${all[@]}" --rw randwrite disk.img
stop

# the policy for a lost disk is that of the servers: its clients see the failure, and do not time out, except the one that had a
# request in flight
offer ram:1M --nbd "unix:$SOCK"
lost=$SERVER
"$RDMASTOR" bench --matrix --all --rounds 99 --iodepth 1 --on-loss fail-fast --rw randwrite --json "$URI" >out 2>err &
job=$!
wait_running "$job" under_load "$lost"
kill -KILL "$lost"
wait "$job"
same 'status with a lost disk' $? 3
valid out
jq -e '[.disks[] | select(.name != "socket" and .name != "rdma") | .error.code] | length == 7 and all and (map(select(. != "timeout")) | length) >= 6' out >/dev/null || die "$(jq -c .disks out)"

# no folder for the socket
TMPDIR=$TMP/none error 1 not-found '' 'none/rdmastor-' "${all[@]}"

# a disk that can't be served ends the command with the reason of the server
error 1 not-found 'none.img' 'no.such' "${all[@]}" none.img
same 'messages of one failure' "$(grep -c . error.err)" 1
nothing_left || die 'a server is left after a failure'
error 2 usage '' '2 1 --all' "${all[@]}" disk.img disk.img
# an impossible combination is one of the disk, before it is served
error 2 usage ram:4K '4096 65536' "${all[@]}" --bs 4K,64K ram:4K
error 2 usage ram:64M '--bs 512' "${all[@]}" --bs 3000
error 2 usage disk.img '--offset' "${all[@]}" --offset 2M disk.img
error 2 usage '' '--all --matrix' "$RDMASTOR" bench --all

# --kernel needs root, and says so before anything runs
error 2 usage '' '--kernel --all' "$RDMASTOR" bench --matrix --kernel disk.img
error 2 usage '' '--kernel --matrix' "$RDMASTOR" bench --kernel disk.img
if [ "$(id -u)" != 0 ]; then
	error 1 permission '' '--kernel root run.as.root' "${all[@]}" --kernel
elif setpriv --reuid 65534 --regid 65534 --clear-groups "$RDMASTOR" --version >/dev/null 2>&1; then
	error 1 permission '' '--kernel root run.as.root' setpriv --reuid 65534 --regid 65534 --clear-groups "${all[@]}" --kernel
fi
nothing_left || die 'a server was started without root'

# a server that fails later: the disk has room for one client, the first server
offer ram:1M --nbd "unix:$SOCK" --clients 1 --queues 1
error 1 closed 'unix:.*' '.' "${all[@]}" "$URI"
same 'messages of one server' "$(grep -vc warning: error.err)" 1
grep -qE '^rdmastor (serve|export): unix:' error.err || die "not by the server: $(cat error.err)"
stop
nothing_left || die 'a server is left after it failed'

# ^C, twice while a server does not end, and a measurement that is killed
export_pid() {
	local pid
	for pid in /proc/[0-9]*; do
		[ "$(readlink "$pid/cwd")" != "$TMP" ] || ! tr '\0' ' ' <"$pid/cmdline" 2>/dev/null | grep -q ' export ' || echo "${pid#/proc/}"
	done
}
set -m
for signals in INT 'INT INT' KILL; do
	"$RDMASTOR" bench --matrix --all --rounds 99 >text 2>err &
	job=$!
	wait_until eval 'ls "$TMP"/rdmastor-*/nbd >/dev/null 2>&1'
	server=$(export_pid)
	[ "$signals" != 'INT INT' ] || kill -s STOP "$server"
	kill -s "${signals% *}" $job 2>/dev/null
	# two signals at once can be one
	until [ "$signals" != 'INT INT' ] || ! running $job; do
		sleep 0.5
		kill -s INT $job 2>/dev/null
	done
	wait $job
	rc=$?
	[ "$signals" != 'INT INT' ] || kill -s CONT "$server"
	[ "$signals" = KILL ] || [ $rc = 3 ] || [ $rc = 130 ] || die "$signals: status $rc: $(cat err)"
	[ "$signals" != INT ] || nothing_left || die "$signals: a server or its socket is left"
	wait_until nothing_left
done
