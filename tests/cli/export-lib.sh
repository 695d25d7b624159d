# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# For the tests of export: a server in this test's folder, and clients not ours.
set -eu
HERE=$(dirname "$(readlink -f "$0")")
cd "$TMP"
PATH=/usr/bin:$PATH # the interpreter that Debian's python3-libnbd belongs to
SOCK=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCK"
SERVER=

requires() { # TOOL...: the test is skipped without them
	for tool; do command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }; done
	[[ " $* " != *" nbdsh "* ]] || python3 -c 'import nbd' 2>/dev/null || { echo "python3-libnbd is not installed"; exit 77; }
}

fail() {
	echo "FAILED: $*"
	[ ! -s err ] || sed 's/^/server: /' err
	exit 1
}

serve() { # URI OPTION...: returns once it is ready
	[ -p ready ] || mkfifo ready
	"$RDMASTOR" export "$@" --ready-fd 3 3>ready >out 2>err &
	SERVER=$!
	read -r _ <ready || fail "export $* did not get ready"
}

stop() { # [STATUS]: ends it the clean way
	local rc=0
	kill -TERM "$SERVER"
	wait "$SERVER" || rc=$?
	SERVER=
	[ "$rc" = "${1:-0}" ] || fail "exit status $rc, not ${1:-0}"
}

# shellcheck disable=SC2154 # rc is the trap's own
trap 'rc=$?; [ -z "$SERVER" ] || kill -KILL "$SERVER" 2>/dev/null; exit $rc' EXIT

same() { # WHAT IS EXPECTED
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

sh_nbd() { nbdsh --base-allocation -u "$URI" "$@"; }

refused() { # STATUS TEXT COMMAND...: the command fails with that status and says that
	local want=$1 text=$2 rc=0
	shift 2
	"$@" >refused.out 2>refused.err || rc=$?
	[ "$rc" = "$want" ] || fail "exit status $rc, not $want: $(cat refused.err)"
	grep -qF -- "$text" refused.err || fail "no '$text' in: $(cat refused.err)"
}
