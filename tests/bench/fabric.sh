# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# SRP discovery compared with srptools on simulated InfiniBand, in name spaces of its own: all well, dead ports, memory,
# and how soon a daemon connects.
# shellcheck shell=bash disable=SC2154 # from run

# What is measured with has no sanitizers.
FABRIC=$(realpath -m "$B/test/plain/fabric")
if [ -z "${apart:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "bench: fabric: name spaces of its own need root" >&2; return 1; }
	env -u MAKEFLAGS -u MAKELEVEL make B="$B" SAN=0 "$B/have-fabric" "$B"/test/plain/fabric/{box,sim,fakeverbs.so} >&2
	apart=1 here=$here B=$B RDMASTOR=$RDMASTOR rounds=$rounds tmp=$tmp PATH=$PATH:/usr/sbin \
		unshare --mount --net --pid --fork --kill-child --mount-proc \
		bash -euc 'mount -t tmpfs bench /run; sysctl -qw net.unix.max_dgram_qlen=2048; . "$here/lib.sh"; . "$here/fabric.sh"'
	return
fi

box() { "$FABRIC/box" -s bench -n H0 -- "$@"; }
tell() { "$FABRIC/sim" -x "$tmp/console" "$@"; }

# simulate WORDS…
simulate() {
	[ -z "${simulator:-}" ] || { kill "$simulator"; wait "$simulator" || true; }
	rm -f "$tmp/console" "$tmp/ready"
	"$FABRIC/sim" -n bench -c "$tmp/console" "$@" >"$tmp/ready" &
	simulator=$!
	for _ in {1..100}; do [ ! -s "$tmp/ready" ] || return 0; sleep 0.05; done
	return 1
}

# scan WHO STATUS COMMAND…: milliseconds and requests of the caller's cell; $kb is its memory
scan() {
	local who=$1 status=$2 before after figures
	shift 2
	before=$(tell stats)
	figures=$(box "$@")
	after=$(tell stats)
	# shellcheck disable=SC2086
	set -- $figures
	[ "${4:-}" = "$status" ] || { echo "bench: $cell: $who ended with status ${4:-unknown}" >&2; return 1; }
	emit "$cell" "$who" ms "$2"
	before=${before#in } after=${after#in }
	emit "$cell: requests" "$who" mads $(((${after%% *} - ${before%% *}) / runs))
	kb=$6
}
theirs() { scan "$1" 0 env LD_PRELOAD="$FABRIC/fakeverbs.so" startup "$runs" "$@"; }
ours() { scan rdmastor "$1" startup "$runs" "$RDMASTOR" srp-discover -c "${@:2}"; }

# well PORTS TARGETS [MS]: that long for each answer of a target, 0 = as fast as can be
well() {
	local cell="SRP discovery, $1 ports, $2 targets${3:+, each answer of theirs after $3 ms}"
	simulate "hosts $(($1 - $2))" "targets $2" "targets slow ${3:-0}"
	ours 0
	theirs ibsrpdm -c
	theirs srp_daemon -o -c -a
}

# dead PORTS TARGETS PER-CENT
dead() {
	local cell="SRP discovery, $1 ports, $(($2 * $3 / 100)) of $2 targets dead" runs=1
	simulate "hosts $(($1 - $2))" "targets $2" "$3% dead"
	ours 3
	theirs ibsrpdm -c
}

# login: waits for the next one, and what the clock says then, in microseconds
login() {
	local line
	until [[ ${line:-} == 'add_target ok '* ]]; do read -r -t 30 -u "$events" line || { echo "bench: $cell: $who did not log in" >&2; return 1; }; done
	clock=${EPOCHREALTIME/./}
}

# notices WORD WHO: milliseconds from the change of a target to the login, the median of five
notices() {
	local i before took=()
	for i in $2; do
		sleep 0.2
		before=${EPOCHREALTIME/./}
		tell "T$i" "$1"
		login
		took+=($((clock - before)))
	done
	mapfile -t took < <(printf '%s\n' "${took[@]}" | sort -n)
	emit "$cell" "$who" ms "$(printf '%d.%03d' $((took[2] / 1000)) $((took[2] % 1000)))"
}

# daemon WHO COMMAND…: a running daemon among 100 ports with 12 targets, ten of them appear later
daemon() {
	local who=$1 begun clock pid cell='SRP daemon: start to the first login'
	shift
	simulate 'hosts 88' 'targets 12'
	tell T1-T5 vanish
	tell T6-T10 gone
	begun=${EPOCHREALTIME/./}
	"$FABRIC/box" -m -s bench -n H0 -l "$tmp/events" -- "$@" >"$tmp/daemon" 2>&1 &
	pid=$!
	login
	emit "$cell" "$who" ms $(((clock - begun) / 1000))
	login
	sleep 3
	cell='SRP daemon: notice of a new target (trap 144) to its login'
	notices appear '1 2 3 4 5'
	cell='SRP daemon: notice of a port in service (trap 64) to its login'
	notices back '6 7 8 9 10'
	kill "$pid"
	wait "$pid" || true
}

mkfifo "$tmp/events"
exec {events}<>"$tmp/events"
runs=3
for ((round = 1; round <= rounds; round++)); do
	echo "fabric: round $round of $rounds" >&2
	daemon rdmastor "$RDMASTOR" srp-daemon -e -n -i ibsim0 -p 1
	daemon srp_daemon env LD_PRELOAD="$FABRIC/fakeverbs.so" srp_daemon -e -n -i ibsim0 -p 1
	well 100 10
	well 1000 100
	well 1000 100 1
	well 5000 500
	runs=1 well 5000 3500
	cell="SRP discovery, 5000 ports, all targets"
	simulate 'hosts 1' 'targets 4999'
	runs=1 ours 0
	emit "$cell: memory" rdmastor kb "$kb"
done
round=1
dead 100 10 10
cell="SRP discovery, 5000 ports, 50 of 500 targets dead, 1 s for an answer" runs=1
simulate 'hosts 4500' 'targets 500' '10% dead'
ours 3 -t 1
theirs srp_daemon -o -c -a -t 1000
if [ -n "${LONG:-}" ]; then
	dead 1000 100 10
	dead 5000 500 10
fi
