# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# Sourced first by every test of the command line. Leaves the test in a private folder, with $RDMASTOR the binary and
# $top the source tree. A test exits 0 when it passed, 77 when it cannot run here (its last line says why).
set -u
export LC_ALL=C.UTF-8
top=$(cd "$(dirname "$0")/../.." && pwd)
: "${RDMASTOR:=$top/build/rdmastor}"
cd "${TMP:=$(mktemp -d)}" || exit 1
export TMP RDMASTOR

die() {
	echo "$0: $*" >&2
	exit 1
}

# requires PROGRAM…: skips the test where one is missing. "applet:NAME" is an applet of ours.
requires() {
	local what
	for what; do
		case $what in
		applet:*) "$RDMASTOR" --list | grep -qx -- "${what#applet:}" ;;
		*) command -v "$what" >/dev/null ;;
		esac || { echo "needs $what"; exit 77; }
	done
}

# cleanup_fn COMMAND ARGUMENT…: run when the test ends, the last registered first.
_cleanups=()
cleanup_fn() {
	_cleanups=("$(printf '%q ' "$@")" "${_cleanups[@]}")
	trap 'for _c in "${_cleanups[@]}"; do eval "$_c"; done' EXIT
}

# fails STATUS REGEX COMMAND…: ends with that status and says so on stderr; stdout stays empty, or holds one JSON document
# with an error when JSON was asked for.
fails() {
	local status=$1 regex=$2 rc
	shift 2
	"$@" >fails.out 2>fails.err </dev/null
	rc=$?
	[ "$rc" = "$status" ] || die "$*: exit status $rc, not $status: $(cat fails.err)"
	grep -Eq -e "$regex" fails.err || die "$*: said '$(cat fails.err)', not '$regex'"
	case " $* " in
	*' --json '* | *' --output=json '* | *' --output json '* | *' -ojson '* | *' -o json '*)
		jq -es 'length == 1 and (.[0].error | .code and .text and .errno)' fails.out >/dev/null || die "$*: not one JSON document with an error: $(cat fails.out)"
		;;
	*) [ ! -s fails.out ] || die "$*: wrote to stdout: $(cat fails.out)" ;;
	esac
}
