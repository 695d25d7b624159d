#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A missing NBD export: the hint lists the others with the keys that reach the server. Invalid and endless lists don't hide the
# error.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
requires qemu-nbd nbdkit nbd-server python3 jq

# lists URI KEYS WORDS: nothing is at that URI, and the message has these words
lists() { error 1 not-found "unix:$SOCK" "$2" "$RDMASTOR" info "nbd+unix:///nosuch?socket=$SOCK$1"; }

truncate -s 16M disk
up qemu-nbd -f raw -x 'a b' -k "$SOCK" -t disk
lists '&depth=4&timeout=60' "available nbd.unix:///a%20b.socket=$SOCK\$"
down
mkdir dir
cp --sparse=always disk dir/x.img
kit file dir="$TMP/dir"
lists '' "available nbd.unix:///x.img.socket=$SOCK\$"
down
conf_server "$TMP/disk" '[generic]' 'allowlist = true'
lists '' "available nbd.unix:///x.socket=$SOCK\$"
conf_down
conf_server "$TMP/disk" # lists nothing
lists '' "export 'nosuch'"
same "hint without a list" "$(jq -r '.error.hint // "none"' error.out)" none
conf_down

mkdir lies
python3 "$HERE/nbd_liar.py" lies list-{many,odd-names,endless,endless-slow,malformed,nul} &
cleanup_fn kill -KILL $!
wait_until test -e lies/ready
# lie CASE WORDS [TIMEOUT]: in little memory
lie() {
	local SOCK=$TMP/lies/$1
	(ulimit -v 200000 && lists "&timeout=${3:-60}" "$2") || exit 1
	last=$(jq -r '.error.hint // "none"' error.out)
}
lie list-many "available nbd.unix:///n0.socket=.*\.\.\.\$"
lie list-odd-names "available nbd.unix:///a%1B%5B2J%0A%FF.socket=.*\$"
[[ $last != *xxx* ]] || die "a name longer than a URI: $last"
for case in endless:6 endless-slow:6 malformed:60 nul:60; do
	lie "list-${case%:*}" "export 'nosuch'" "${case#*:}"
	same "hint of list-${case%:*}" "$last" none
done
