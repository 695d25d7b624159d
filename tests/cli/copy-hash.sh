#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# --hash sha256: the same as sha256sum of the source, from files, servers and pipes, with and without holes. blkhash: the same as
# Python's hashlib computes, and one value that the tests of libnbd (copy/copy-blkhash-known.sh) list for its nbdcopy.
. "$(dirname "$0")/lib.sh"
requires jq python3 sha256sum cmp
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
block_sum() {
	python3 -c 'import hashlib as h, sys
whole = h.sha256()
size = 0
while block := sys.stdin.buffer.read(65536): whole.update(h.sha256(block).digest()); size += len(block)
whole.update(size.to_bytes(8, "little"))
print(whole.hexdigest())' <"$1"
}
for disk in src full padded; do
	for options in "" --no-sparse "--depth 3 --request 12288"; do
		# shellcheck disable=SC2086
		ours copy $disk null: --hash blkhash --json $options >out || die "blkhash $disk $options: $(cat out)"
		same "blkhash $disk $options" "$(jq -r .blkhash out)" "$(block_sum $disk)"
	done
done
yes 12345678 | tr -d '\n' | head -c 1M >eights
"$RDMASTOR" copy eights null: --hash blkhash | grep -qx "blkhash: cbb388edd25e567b85f504c7b345497f9fb4f6bbf4e39768809184b9f9e678f8" ||
	die "libnbd's value"
error 2 usage '' '--hash md5 sha256' "$RDMASTOR" copy src dst --hash md5
error 2 usage '' '--hash --keep-going' "$RDMASTOR" copy src dst --hash sha256 --keep-going
