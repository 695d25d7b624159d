# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck shell=bash
# For the tests of the NBD client: servers that break one rule each, all those that the test's lines name.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires python3 cmp jq

# failed CASE CODE WORDS: the copy failed with that code (an ERE), about that server, and each of the
# EREs WORDS is found in its messages outside of the server's address
failed() {
	local said word
	valid out
	jq -e --arg code "^($2)$" --arg object "unix:.*/lies/$1\\b" \
		'.error | (.code | test($code)) and (.object | test($object))' out >/dev/null ||
		die "$1: not '$2' of that server: $(cat out err)"
	said=$(grep -v '^hint:' err | sed -E 's#(nbd\+)?unix:[^ ]*##g')
	for word in $3; do
		grep -Eiq -e "$word" <<<"$said" || die "$1: '$word' is not in: $said"
	done
}

# lie CASE CODE WORDS: reading fails, and the connection ended for that reason
lie() {
	local rc
	rm -f dst
	timeout -k 5 30 "$RDMASTOR" copy --json "$(at "$1")" dst --depth 1 --request 64K >out 2>err
	rc=$?
	[ $rc = 1 ] || die "$1: exit status $rc: $(cat err)"
	failed "$@"
	# what came before the lie may have been written, nothing else
	[ ! -s dst ] || cmp -s -n "$(stat -c %s dst)" dst /dev/zero || [ -z "$(cmp -l "lies/$1.image" dst | awk '$3')" ] || die "$1: wrong bytes"
}
# fine CASE: reading works
fine() {
	rm -f dst
	timeout -k 5 30 "$RDMASTOR" copy -v "$(at "$1")" dst --request 64K >out 2>err || die "$1: $(cat err)"
	cmp "lies/$1.image" dst || die "$1: bytes differ"
}
# sinks CASE CODE WORDS: the same for writing
sinks() {
	local rc
	timeout -k 5 30 "$RDMASTOR" copy --json lies/good.image "$(at "$1")" >out 2>err
	rc=$?
	[ $rc = 1 ] || die "$1: exit status $rc: $(cat err)"
	failed "$@"
}
at() { echo "nbd+unix:///?socket=$TMP/lies/$1&loss=fail-fast&timeout=1&io-timeout=1"; }

mkdir lies
# shellcheck disable=SC2046 # the names of the cases below
python3 "$HERE/nbd_liar.py" lies $(sed -nE 's/^(lie|fine|sinks) ([a-z-]+).*/\2/p' "$HERE/$(basename "$0")") &
cleanup_fn kill -KILL $!
wait_until test -e lies/ready

