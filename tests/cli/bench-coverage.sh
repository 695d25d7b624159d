#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A random load covers every block in --size once, also with several jobs; --verify reports how much it has read back.
. "$(dirname "$0")/lib.sh"
requires jq
random_file disk 8
b=("$RDMASTOR" bench disk --bs 4k)

# unchanged: the number of blocks of 4 KiB that are as before
unchanged() {
	python3 - <<-'EOF'
	a, b = open("before", "rb").read(), open("disk", "rb").read()
	print(sum(a[i:i + 4096] == b[i:i + 4096] for i in range(0, len(a), 4096)))
	EOF
}
requires python3

cp disk before
"${b[@]}" --rw randwrite --size 7M --verify --json >out 2>err || die "$(cat err)"
valid out
jq -e '.write.requests == 1792 and .verified_bytes == 7340032 and .range_bytes == 7340032' out >/dev/null || die "$(cat out)"
same 'blocks left alone' "$(unchanged)" 256

cp disk before
"${b[@]}" --rw randwrite --size 8M --iodepth 8 >out 2>err || die "$(cat err)"
same 'blocks left alone' "$(unchanged)" 0

cp disk before
"${b[@]}" --rw randwrite --offset 12K --size 8180K --numjobs 3 --iodepth 4 --verify >out 2>err || die "$(cat err)"
same 'blocks left alone' "$(unchanged)" 3
grep -q '^ *verify .*8 MiB.*8 MiB' out || die "$(cat out)"

"${b[@]}" --rw randwrite --verify --runtime 0.001 --json >out 2>err || die "$(cat err)"
valid out
jq -e '.verified_bytes == .write.io_bytes and .verified_bytes <= .range_bytes and .range_bytes == 8388608' out >/dev/null || die "$(cat out)"
