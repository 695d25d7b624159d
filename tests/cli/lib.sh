# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# Sourced first by every test of the command line. Puts the test into a private folder, and sets $RDMASTOR to the binary and
# $top to the source tree. A test exits with 0 if it passed, 77 if it cannot run here (its last line is the reason).
# shellcheck disable=SC2034 # names for the tests
set -u
export LC_ALL=C.UTF-8
top=$(cd "$(dirname "$0")/../.." && pwd)
: "${RDMASTOR:=$top/build/rdmastor}"
cd "${TMP:=$(mktemp -d)}" || exit 1
export TMP RDMASTOR
unset PYTHONUNBUFFERED # print() would write a line in parts, and a test read the first one
PATH=/usr/bin:$PATH # for python3-libnbd, which belongs to Debian's interpreter
HERE=$top/tests/cli
SOCK=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCK"
NQN=nqn.2024-01.test:disk
HOST=nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2

# --- the end of a test

die() {
	echo "$0: $*" >&2
	[ -z "$SERVER" ] || sed 's/^/server: /' err >&2
	exit 1
}

# requires PROGRAM…: skip the test if one is missing. "applet:NAME" is an applet of ours.
requires() {
	local what
	for what; do
		case $what in
		applet:*) "$RDMASTOR" --list | grep -qx -- "${what#applet:}" ;;
		nbdsh) command -v nbdsh >/dev/null && python3 -c 'import nbd' 2>/dev/null ;;
		*) command -v "$what" >/dev/null ;;
		esac || { echo "needs $what"; exit 77; }
	done
}

# cleanup_fn COMMAND ARGUMENT…: run when the test ends, the last registered first.
_cleanups=()
cleanup_fn() {
	_cleanups=("$(printf '%q ' "$@")" "${_cleanups[@]}")
	trap 'for _c in "${_cleanups[@]}"; do eval "$_c" || true; done' EXIT
}

# wait_until COMMAND…, wait_while COMMAND…: repeat it until it succeeds, or fails. There is no limit but that of tests/run for a whole
# test, because how long something takes depends on the load of the machine. wait_running PID COMMAND…: fail if the process
# ends before the command succeeds.
_awaited=
wait_until() {
	_awaited="until $*"
	until "$@"; do [ -d "$TMP" ] && sleep 0.05 || exit; done
	_awaited=
}
wait_while() {
	_awaited="while $*"
	while "$@"; do sleep 0.05; done
	_awaited=
}
wait_running() {
	local pid=$1
	shift
	_awaited="until $*"
	until "$@"; do
		running "$pid" || "$@" || die "process $pid has ended, no '$*'"
		sleep 0.05
	done
	_awaited=
}
export -f wait_until wait_while
trap 'echo "$0: still waiting ${_awaited:-for a command}" >&2; exit 143' TERM # from tests/run

# --- assertions

# valid FILE: its JSON documents match doc/schema. They are only collected here, in the folder $JSON_DOCS; tests/run checks them
# when all tests have ended, and a test that is run by itself checks them at its end.
valid() {
	local name=${0##*/}
	[ -d "$JSON_DOCS" ] || mkdir -p "$JSON_DOCS"
	printf '%s\n' "$(<"$1")" >>"$JSON_DOCS/${name%.sh}"
}
check_documents() { [ ! -d "$JSON_DOCS" ] || "$top/tests/schema" "$JSON_DOCS" || exit 1; }
[ -n "${JSON_DOCS:-}" ] || { JSON_DOCS=$TMP/documents; cleanup_fn check_documents; }

# error STATUS CODE OBJECT WORDS COMMAND…: the command ends with that status and that code word, about that object (an ERE for
# all of it, '' = none), and each of the blank-separated EREs WORDS matches its text or hint, ignoring case. --json is added
# behind the applet's name. With the code '-' the command is left unchanged: stderr has one line that matches OBJECT and WORDS,
# and stdout is empty.
error() {
	local status=$1 code=$2 object=$3 words=$4 rc=0 word said
	local -a line=() got=()
	shift 4
	for word; do
		line+=("$word")
		[[ $code != - && ${#line[@]} -ge 2 && (${line[-2]} == ours || ${line[-2]} == "$RDMASTOR") && " $* " != *' --json '* ]] && line+=(--json)
	done
	"${line[@]}" >error.out 2>error.err </dev/null || rc=$?
	[ "$rc" = "$status" ] || die "${line[*]}: exit status $rc, not $status: $(cat error.err)"
	if [ "$code" = - ]; then
		[ ! -s error.out ] || die "${line[*]}: wrote to stdout: $(cat error.out)"
		said=$(<error.err)
		grep -Eq -e "$object" error.err || die "${line[*]}: does not name '$object': $said"
	else
		mapfile -t got < <(jq -rs 'select(length == 1)[0].error | select(.code and .text and .errno) |
			.code, .object // "", ([.text, .hint // empty] | join(" ") | gsub("\n"; " "))' error.out 2>/dev/null)
		[ ${#got[@]} = 3 ] || die "${line[*]}: not one JSON document with an error: $(cat error.out error.err)"
		valid error.out
		same "${line[*]}: code" "${got[0]}" "$code"
		[[ ${got[1]} =~ ^($object)$ ]] || die "${line[*]}: the object is '${got[1]}', not '$object'"
		said=${got[2]}
		[ -s error.err ] || die "${line[*]}: no message on stderr"
	fi
	for word in $words; do
		has_line "$word" "$said" || die "${line[*]}: '$word' is not in: $said"
	done
}
# has_line ERE TEXT: a line of the text matches, ignoring case
has_line() {
	local line rc=1
	shopt -s nocasematch
	while IFS= read -r line; do [[ ! $line =~ $1 ]] || rc=0; done <<<"$2"
	shopt -u nocasematch
	return $rc
}

# refused STATUS TEXT COMMAND…: the command, of any program, ends with that status and exactly that message
refused() {
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >refused.out 2>refused.err || rc=$?
	[ "$rc" = "$want" ] || die "$*: exit status $rc, not $want: $(cat refused.err)"
	grep -qF -- "$text" refused.err || die "$*: no '$text' in: $(cat refused.err)"
}

# ere TEXT: print a regular expression that matches only this text
ere() { sed 's/[][(){}.+*?^$|\\]/\\&/g' <<<"$1"; }

# running PID: it has not ended
running() { grep -qsv '^[0-9]* (.*) Z' "/proc/$1/stat"; }

same() { # WHAT IS EXPECTED
	[ "$2" = "$3" ] || die "$1 is '$2', not '$3'"
}

# --- files

random_file() { dd if=/dev/urandom of="$1" bs=1M count="$2" status=none; }
# a disk of 8 MiB with data at 1 MiB (1 MiB), at 5 MiB (64 KiB) and at the very end (4 KiB)
holes() {
	truncate -s 8M "$1"
	dd if=/dev/urandom of="$1" bs=64K count=16 seek=16 conv=notrunc status=none
	dd if=/dev/urandom of="$1" bs=64K count=1 seek=80 conv=notrunc status=none
	dd if=/dev/urandom of="$1" bs=4K count=1 seek=2047 conv=notrunc status=none
}
DATA=$(((1 << 20) + (64 << 10) + (4 << 10)))

# --- rdmastor's servers

ours() {
	local rc=0 document
	case " $* " in
	*' --json '*)
		document=$(mktemp -p "$TMP")
		"$RDMASTOR" "$@" >"$document" || rc=$?
		valid "$document"
		cat "$document"
		return $rc
		;;
	*) "$RDMASTOR" "$@" ;;
	esac
}

SERVER=
# ready APPLET URI OPTION…: start it and wait until it is ready; its output is in out and err, its process ID in SERVER
ready() {
	[ -p ready ] || mkfifo ready
	"$RDMASTOR" "$@" --ready-fd 3 3>ready >out 2>err &
	SERVER=$!
	cleanup_fn end_server
	read -r _ <ready || die "$* did not get ready"
}
end_server() { [ -z "$SERVER" ] || kill -KILL "$SERVER" 2>/dev/null || true; }

# offer URI OPTION…: start export
offer() { ready export "$@"; }

# serve URI OPTION…: set TCP and RDMA to the printed URIs, PORT to the port of both
serve() {
	ready serve "$@"
	TCP=$(sed -n 's/^rdmastor: \(nvme+tcp:.*\)/\1/p' out | head -1)
	RDMA=$(sed -n 's/^rdmastor: \(nvme+rdma:.*\)/\1/p' out | head -1)
	PORT=$(sed -E 's#.*:([0-9]+)/.*#\1#' <<<"$TCP$RDMA")
}

# stop [STATUS]: stop it in order
stop() {
	local rc=0
	kill -TERM "$SERVER"
	wait "$SERVER" || rc=$?
	[ "$rc" = "${1:-0}" ] || die "exit status $rc, not ${1:-0}"
	SERVER=
}

# limit PID OPTION…: prlimit(1) for a server: without CAP_SYS_RESOURCE only its own user may change its limits
limit() {
	local -a ids
	mapfile -t ids < <(sed -nE 's/^[UG]id:\t([0-9]+).*/\1/p' "/proc/$1/status")
	if [ "${ids[0]}" = "$(id -u)" ]; then
		prlimit --pid "$@"
	else
		setpriv --reuid "${ids[0]}" --regid "${ids[1]}" --clear-groups prlimit --pid "$@"
	fi
}

# locked TEXT URI: an exported disk keeps this part of its secret, but only where it can't be swapped out
locked() {
	local pid
	"$RDMASTOR" export "$2" --nbd "unix:$TMP/locked" --ready-fd 3 3>locked.ready >/dev/null 2>locked.err &
	pid=$!
	wait_running $pid test -s locked.ready
	same "in memory" "$(python3 "$HERE/memory.py" $pid "$1")" "$1"
	same "in memory that is not locked" "$(python3 "$HERE/memory.py" --unlocked $pid "$1")" ''
	kill $pid
	wait $pid || die "export $2: $(cat locked.err)"
}

# under_load PID: this server of ours has completed reads or writes
under_load() {
	"$RDMASTOR" status --json 2>/dev/null |
		jq -e --argjson pid "$1" '.serving[] | select(.pid == $pid) | .reads + .writes > 0' >/dev/null
}

# two_hosts: restart the test in a network namespace of its own, with another one for `other COMMAND…`, of process $peer
two_hosts() {
	[ -n "${INSIDE:-}" ] || {
		unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
		INSIDE=1 exec unshare -mn "$HERE/$(basename "$0")"
	}
	ip link set lo up
	unshare -n sleep 3600 &
	peer=$!
	cleanup_fn kill $peer
	wait_until other true
	wait_until apart
}
# wire HERE THERE: join the two by a pair of interfaces
wire() { ip link add "$1" type veth peer name "$2" netns "$peer" || { echo "needs veth"; exit 77; }; }
other() { nsenter -n -t "$peer" "$@"; }
apart() { [ "$(readlink "/proc/$peer/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

# --- foreign NBD clients and servers

sh_nbd() { nbdsh --base-allocation -u "$URI" "$@"; }

_server=
# listens: the server's socket accepts connections; the file is there before
listens() { grep -q " 00010000 .* $SOCK\$" /proc/net/unix; }
# up COMMAND…: start a server in this folder and wait until it accepts connections
up() {
	rm -f "$SOCK"
	"$@" >server.out 2>&1 &
	_server=$!
	cleanup_fn down KILL
	while kill -0 "$_server" 2>/dev/null; do
		! listens || return 0
		sleep 0.05
	done
	grep -q 'failed to \(load\|open\)\|cannot open shared object' server.out && { echo "needs: $*"; exit 77; }
	die "$* did not get ready: $(cat server.out)"
}

# down [SIGNAL]: stop it
down() {
	[ -n "$_server" ] || return 0
	kill "-${1:-TERM}" "$_server" 2>/dev/null
	wait "$_server" 2>/dev/null
	_server=
}

kit() { up nbdkit -f -U "$SOCK" "$@"; }

# conf_server FILE OPTION…: nbd-server with one export "x" of that file; it runs in the background, and a child of it serves
conf_server() {
	local file=$1
	shift
	printf '[generic]\n\tunixsock = %s\n[x]\n\texportname = %s\n' "$SOCK" "$file" >nbd-server.conf
	printf '\t%s\n' "$@" >>nbd-server.conf
	rm -f "$SOCK" nbd-server.pid
	cleanup_fn conf_down
	nbd-server -C "$TMP/nbd-server.conf" -p "$TMP/nbd-server.pid" >server.out 2>&1 || die "nbd-server: $(cat server.out)"
	wait_until eval '[ -s nbd-server.pid ] && listens'
}

conf_down() {
	local pid
	pid=$(cat "$TMP/nbd-server.pid" 2>/dev/null) || return 0
	kill "$pid" 2>/dev/null
	wait_while running "$pid"
	rm -f "$TMP/nbd-server.pid"
}

# psk FILE USER: a file with a new key of that user
psk() {
	(umask 077; echo "$2:$(openssl rand -hex 32)" >"$1")
}
# authority DIR: ca-cert.pem, and the key of the authority in DIR.key
authority() {
	mkdir -p "$1"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1/ca-cert.pem" -subj "/CN=$1" -days 30 2>/dev/null
}
# certificate DIR KIND NAME AUTHORITY [DAYS [ALGORITHM…]]: DIR/KIND-cert.pem and KIND-key.pem for the DNS name or IP address
certificate() {
	local dir=$1 kind=$2 name=$3 by=$4 days=${5:-30} san=DNS
	shift $(($# < 5 ? 4 : 5))
	[ $# -gt 0 ] || set -- ec -pkeyopt ec_paramgen_curve:P-256
	[[ $name != *[0-9] ]] || san=IP
	mkdir -p "$dir"
	openssl req -newkey "$@" -nodes -keyout "$dir/$kind-key.pem" -out request.pem -subj "/CN=$name" 2>/dev/null &&
		openssl x509 -req -in request.pem -CA "$by/ca-cert.pem" -CAkey "$by.key" -CAcreateserial -days "$days" \
			-extfile <(echo "subjectAltName=$san:$name") -out "$dir/$kind-cert.pem" 2>/dev/null || die "openssl: $dir/$kind"
	chmod 600 "$dir/$kind-key.pem"
}

# A fake /sys with RDMA ports, for root with mount namespaces. port DEV STATE PHYS LID LINK-LAYER; umad DEV
port() {
	local p=/sys/class/infiniband/$1/ports/1
	mkdir -p $p/gids $p/pkeys
	echo '1: CA' >/sys/class/infiniband/$1/node_type
	echo 0002:c903:0000:0001 | tee /sys/class/infiniband/$1/{node_guid,sys_image_guid} >/dev/null
	echo "$2" >$p/state; echo "$3" >$p/phys_state; echo "$4" >$p/lid; echo "$5" >$p/link_layer
	echo 0x1 >$p/sm_lid; echo 0 >$p/sm_sl; echo 0 >$p/lid_mask_count; echo '100 Gb/sec (4X EDR)' >$p/rate; echo 0x0050c048 >$p/cap_mask
	echo fe80:0000:0000:0000:0002:c903:0000:0002 >$p/gids/0
	echo 0xffff >$p/pkeys/0
}
umad() {
	mkdir -p /sys/class/infiniband_mad/umad0
	echo 5 >/sys/class/infiniband_mad/abi_version
	echo "$1" >/sys/class/infiniband_mad/umad0/ibdev; echo 1 >/sys/class/infiniband_mad/umad0/port
}
export -f port umad
# on SETUP STATUS CODE OBJECT WORDS WORD…: like error, with such a /sys
on() {
	local setup=$1 status=$2 code=$3 object=$4 words=$5
	shift 5
	error "$status" "$code" "$object" "$words" \
		unshare -m bash -c "mount -t tmpfs none /sys/class
		mount -t tmpfs none /dev; mount -t tmpfs none /run
		$setup; exec \"\$@\"" - "$RDMASTOR" "$@"
}
