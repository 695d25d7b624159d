#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --hash sha256: the same as sha256sum of the source, from files, servers and pipes, with and without holes.
. "$(dirname "$0")/lib.sh"
requires jq sha256sum cmp
sum() { sha256sum "$1" | cut -d ' ' -f 1; }
holes src
random_file full 5
want=$(sum src)
for options in "" --no-sparse --verify "--depth 1 --request 512" "--resume map"; do
	rm -f dst
	# shellcheck disable=SC2086 # several options
	ours copy src dst --hash sha256 --json $options >out || die "$options: $(cat out)"
	same "$options: hash" "$(jq -r .sha256 out)" "$want"
	cmp src dst || die "$options: bytes differ"
	# shellcheck disable=SC2086
	"$RDMASTOR" copy src dst --hash sha256 $options >out || die "$options: again"
	same "$options: text" "$(tail -n 1 out)" "sha256: $want"
done
grep -q '^already complete' out || die "the map: $(cat out)"
offer full --nbd "unix:$SOCK"
for dst in null: new old; do
	truncate -s 6M old
	"$RDMASTOR" copy "$URI" $dst --hash sha256 | grep -qx "sha256: $(sum full)" || die "from a server to $dst"
done
stop
"$RDMASTOR" copy src - --hash sha256 2>err | cmp - src || die "standard output"
grep -qx "rdmastor copy: sha256: $want" err || die "standard output: $(cat err)"
"$RDMASTOR" copy - old --hash sha256 <full | grep -qx "sha256: $(sum full)" || die "standard input"
head -c 1000 full >odd
"$RDMASTOR" copy odd padded --hash sha256 >out || die "padding"
grep -qx "sha256: $(sum padded)" out || die "padding: $(cat out)"
same "length" "$(stat -c %s padded)" 1024
error 2 usage '' '--hash md5 sha256' "$RDMASTOR" copy src dst --hash md5
error 2 usage '' '--hash --keep-going' "$RDMASTOR" copy src dst --hash sha256 --keep-going
