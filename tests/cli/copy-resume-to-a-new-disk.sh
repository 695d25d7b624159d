#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A finished map does not leave out a disk that is new under the same URI: ram: and null: are
# refused with --resume, and over NBD, where only the URI identifies a disk, the map needs --verify.
. "$(dirname "$0")/lib.sh"
requires cmp jq
random_file A.img 8
for disk in ram:8M null:8M; do
	error 2 usage '' "--resume $disk" "$RDMASTOR" copy A.img $disk --resume r.map
	error 2 usage '' "--resume $disk" "$RDMASTOR" copy $disk B.img --resume r.map
done
[ ! -e r.map ] && [ ! -e B.img ] || die "a refusal left something behind"

resume() { "$RDMASTOR" copy A.img "$URI" --resume n.map "$@"; }
offer ram:8M --nbd "unix:$SOCK"
resume >out 2>err || die "$(cat err)"
resume --verify --json >out 2>err || die "verified: $(cat err)"
valid out
jq -e '.already_copied and .verified_bytes == .size' out >/dev/null || die "not verified: $(cat out)"
stop
offer ram:8M --nbd "unix:$SOCK"
error 1 mismatch 'map n.map' 'URI --verify' resume --json
error 1 mismatch 'map n.map' 'URI --verify' resume --dry-run --json
error 1 mismatch 'nbd[+]unix:.*' 'A\.img' resume --verify --json
rm n.map
resume >out 2>err || die "without the map: $(cat err)"
"$RDMASTOR" copy "$URI" B.img >out 2>err || die "read back: $(cat err)"
cmp A.img B.img || die "bytes differ"
