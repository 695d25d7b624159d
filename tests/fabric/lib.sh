# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Functions for scenarios: a simulated fabric with a real subnet manager, programs on its nodes, checks. Bash under `set -eu` in
# a folder of its own ($PWD): a set-up step that fails ends the scenario; a check that fails is counted.
# shellcheck shell=bash

here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
IS_DM=80000 # IsDeviceManagementSupported
sys=/sys/class/infiniband/ibsim0/ports/1
sim=sim

# --- checks

passed() { echo "$SECONDS s ok $1"; }

# failed NAME [FILE]: FILE shows the reason
failed() {
	echo "$SECONDS s FAILED $1" | tee -a failed
	[ ! -s "${2:-}" ] || tail -n 20 "$2" | sed 's/^/    /'
}

# check NAME COMMAND…: passes if the command succeeds; otherwise its output is shown
check() {
	local check_name=$1 status=0
	shift
	"$@" >check.out 2>&1 || status=$?
	if [ $status = 0 ]; then passed "$check_name"; else failed "$check_name: status $status of: $*" check.out; fi
}

# ends NAME STATUS WORDS COMMAND…: its status, and one of its lines on stderr holds each of the
# blank-separated EREs WORDS, in any case (no words: stderr is empty); stdout is `out`
ends() {
	local ends_name=$1 want=$2 words=$3 got=0
	shift 3
	"$@" >out 2>err || got=$?
	if [ $got != "$want" ]; then
		failed "$ends_name: status $got, wanted $want" err
	elif [ -z "$words" ] && [ -s err ]; then
		failed "$ends_name: wanted nothing on stderr" err
	elif [ -n "$words" ] && ! line_with "$words" <err; then
		failed "$ends_name: wanted a line with '$words'" err
	else
		passed "$ends_name${words:+: $(head -n 1 err)}"
	fi
}

line_with() {
	local word lines
	lines=$(cat)
	for word in $1; do lines=$(grep -Ei -e "$word" <<<"$lines") || return; done
}

# error NAME STATUS CODE OBJECT WORDS COMMAND…: with --json behind it, its status, and an error of
# that code about that object (an ERE for all of it, '' = none). Each of the blank-separated EREs
# WORDS is in its text or hint, in any case.
error() {
	local error_name=$1 want=$2 code=$3 object=$4 words=$5 got=0
	shift 5
	"$@" --json >out 2>err || got=$?
	if [ $got != "$want" ]; then
		failed "$error_name: status $got, wanted $want" err
	elif [ ! -s err ]; then
		failed "$error_name: wanted a message on stderr"
	elif ! error_is "$code" "$object" "$words"; then
		failed "$error_name: wanted $code, object '$object', '$words'" out
	else
		passed "$error_name: $(head -n 1 err)"
	fi
}

error_is() {
	local word
	[ "$(jq -rs 'select(length == 1)[0].error.code' out)" = "$1" ] || return
	jq -r '.error.object // ""' out | grep -Eqx -e "$2" || return
	for word in $3; do
		jq -r '.error | .text, .hint // empty' out | grep -Eiq -e "$word" || return
	done
}

# wait_for SECONDS COMMAND…: until it succeeds
wait_for() {
	local until=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt $until ] || { echo "timed out waiting for: $*"; return 1; }
		sleep 0.05
	done
}

says() { grep -Eq -- "$1" "$2" || { cat "$2"; return 1; }; } # says REGEX FILE
valid() { "$here/../schema" "$1"; } # valid FILE: its lines are JSON documents as doc/schema has them

# --- the fabric

# fabric_start NODE…: simulated by ibsim, which exits at the end of its console
fabric_start() {
	local node number=0
	declare -gA guid
	for node; do
		number=$((number + 1))
		guid[$node]=$(printf '0002c90300%03x001' $number)
	done
	: >caps
	"$here/net" "$@" >net
	mkfifo console
	exec {console}<>console
	IBSIM_SOCKNAME=$sim ibsim -s net <&$console >sim.log 2>&1 &
	wait_for 10 grep -q 'Network simulator ready' sim.log
}

sim_console() { echo "$*" >&$console; }

# box NODE COMMAND…: runs it there; boxed PID-VARIABLE NODE COMMAND…: in the background, its output in NODE.out. BOX: more options.
# boxing: the command line of that, for either.
# shellcheck disable=SC2086 # words
boxing() {
	local node=$1
	shift
	boxing=("$FABRIC/box" -s $sim -n "$node" -l "$node.log" -C @caps ${BOX:-} -- "$@")
}

box() {
	local boxing
	boxing "$@"
	"${boxing[@]}"
}

boxed() {
	local -n boxed_pid=$1
	local boxing
	shift
	boxing "$@"
	"${boxing[@]}" >>"$1.out" 2>&1 &
	boxed_pid=$!
}

# peer NODE COMMAND…, peered PID-VARIABLE NODE COMMAND…: the same for srptools, which need verbs
peer() { box "$1" env LD_PRELOAD="$FABRIC/fakeverbs.so" "${@:2}"; }
peered() { boxed "$1" "$2" env LD_PRELOAD="$FABRIC/fakeverbs.so" "${@:3}"; }

# ours NODE WORD…: run the program under test. With --json its stdout is also recorded, so that tests/fabric/run can validate it
# against doc/schema.
ours() {
	case " $* " in
	*' --json '*)
		box "$1" "$RDMASTOR" "${@:2}" | tee -a documents
		return "${PIPESTATUS[0]}"
		;;
	*) box "$1" "$RDMASTOR" "${@:2}" ;;
	esac
}

# capability NODE MASK: add bits to its capability mask, seen from the next query on; 0: none
capability() {
	{
		grep -v "^${guid[$1]} " caps || true
		echo "${guid[$1]} $2"
	} >caps.new
	mv caps.new caps
}

subnets_up() { cat osm.log 2>/dev/null | grep -c 'SUBNET UP' || true; }
more_subnets_up() { [ "$(subnets_up)" -gt "$1" ]; }

# opensm_start NODE; opensm_stop; opensm_kill. Its log is osm.log; partitions.conf is read if there is one.
opensm_start() {
	local before
	before=$(subnets_up)
	# without it the log is written in large blocks
	echo 'force_log_flush TRUE' >osm.conf
	OSM_TMP_DIR=$PWD/ OSM_CACHE_DIR=$PWD/ boxed opensm_pid "$1" opensm -F osm.conf -f osm.log -P "$PWD/partitions.conf"
	opensm_node=$1
	wait_for 20 more_subnets_up "$before"
}

opensm_stop() {
	kill $opensm_pid
	wait $opensm_pid || true
}

opensm_kill() {
	kill -9 $opensm_pid
	wait $opensm_pid 2>/dev/null || true
}

opensm_restart() {
	opensm_stop
	opensm_start "$opensm_node"
}

# agent NODE <DESCRIPTION: start device management there, described in the language of agent.c; NODE.dm may be changed later.
# Call it before opensm is started, or call told NODE after it.
agent() {
	local -n agent_pid=agent_$1
	cat >"$1.dm"
	capability "$1" $IS_DM
	BOX=-m boxed agent_pid "$1" "$FABRIC/agent" "$1.dm"
	wait_for 10 grep -q '^agent class 0x06 .*: ok$' "$1.log"
}

agent_stop() {
	local -n agent_pid=agent_$1
	kill $agent_pid
	wait $agent_pid || true
}

# told NODE: the subnet manager has been notified that the node's capability mask changed, and has read it
told() {
	local before
	before=$(subnets_up)
	box "$1" "$FABRIC/trap" "$(printf %x $((0x50c048 | 0x$(sed -n "s/^${guid[$1]} //p" caps))))"
	wait_for 20 more_subnets_up "$before"
}

lid() { box "$1" cat $sys/lid; } # lid NODE

# --- observations of a box

# added NODE: print the lines accepted by add_target; NODE.log also has the rejected ones
added() { sed -n 's/^add_target ok ibsim[0-9]* //p' "$1.log"; }

# mads NODE REGEX: print the last counters of NODE's boxes, such as "sent class 0x06 method 0x01 attribute 0x0010: 4"
mads() { tac "$1.log" | sed '/^mads$/q' | tac | sed -n 's/^mads //p' | grep -E "$2"; }

# counted PID NODE: make that box write its counters
counted() {
	local before
	before=$(grep -c '^mads$' "$2.log" || true)
	kill -USR1 "$1"
	wait_for 5 more_counters "$before" "$2"
}
more_counters() { [ "$(grep -c '^mads$' "$2.log")" -gt "$1" ]; }

# keep the fabric until the last check
finish() {
	[ ! -e failed ] || return 1
	echo 'SCENARIO PASSED'
}
