#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The rate is that of the bytes read from the source, zeroes or not; only holes that it reported are not read. A resumed copy
# reports where it resumes.
. "$(dirname "$0")/lib.sh"
requires jq
serve ram:64M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 # zeroes; NVMe-oF reports no holes
for to in new new null:; do
	ours copy "$TCP" $to --json >out || die "$to: $(cat out)"
	jq -e '.read_bytes == 67108864 and (.bytes_per_second * .seconds / .read_bytes | . > 0.99 and . < 1.01)' out >/dev/null ||
		die "$to: $(cat out)"
done
stop
truncate -s 8M holes
random_file some 1
dd if=some of=holes conv=notrunc bs=1M seek=2 status=none
ours copy holes new2 --json >out || die "holes: $(cat out)"
jq -e '.read_bytes == 1048576 and .skipped_bytes == 7340032' out >/dev/null || die "holes: $(cat out)"
"$RDMASTOR" copy holes new3 | grep -Eq '^copied 8 MiB in [0-9.]+ m?s \([0-9.]+ .*/s\), 7 MiB of it zeroes$' || die "text"

random_file src 4
ours copy src dst --resume map --json >out || die "copy"
jq -e '.resumed_bytes == 0 and .read_bytes == 4194304' out >/dev/null || die "$(cat out)"
sed -i -e '/^# rdmastor checksum/d' -e 's/^0x00000000  0x00400000  +$/0x00000000  0x00300000  +\n0x00300000  0x00100000  ?/' map
"$RDMASTOR" copy src dst --resume map --json >out 2>err || die "resume: $(cat err)"
valid out
jq -e '.resumed_bytes == 3145728 and .read_bytes == 1048576' out >/dev/null || die "$(cat out)"
grep -q '^rdmastor copy: map map: 3 MiB of 4 MiB already copied, 1 MiB remaining$' err || die "$(cat err)"
"$RDMASTOR" copy src dst --resume map >out 2>err || die "again"
grep -q '^already complete .* map$' out || die "$(cat out err)"
[ ! -s err ] || die "$(cat err)"
