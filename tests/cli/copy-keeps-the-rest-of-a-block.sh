#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A source that ends inside a block of the destination changes nothing behind its end, with data,
# zeroes or a hole there, as a file or from stdin.
. "$(dirname "$0")/lib.sh"
requires cmp
random_file old 2
offer 'ram:2M?block=4096' --nbd "unix:$SOCK"
ours info "$URI" --json >info || die "$(cat err)"
grep -q '"block_size":4096' info || die "not a disk of 4 KiB blocks: $(cat info)"
head -c $(((1 << 20) + 512)) /dev/urandom >data
cp data zeroes
dd if=/dev/zero of=zeroes bs=512 seek=1000 count=1049 conv=notrunc status=none
cp data hole
truncate -s 512K hole
truncate -s $(((1 << 20) + 3584)) hole
# shellcheck disable=SC2086 # $options
for src in data zeroes hole; do
	for way in file stdin; do
		for options in '' --no-sparse '--request 4K --depth 3'; do
			what="$src, $way, $options"
			"$RDMASTOR" copy old "$URI" >/dev/null 2>&1 || die "$what: old content"
			if [ $way = file ]; then
				"$RDMASTOR" copy $src "$URI" --verify $options
			else
				"$RDMASTOR" copy - "$URI" $options <$src
			fi >out 2>err || die "$what: $(cat err)"
			"$RDMASTOR" copy "$URI" now >/dev/null || die "$what: read back"
			end=$(stat -c %s $src)
			cmp -n "$end" $src now || die "$what: not the source"
			cmp -i "$end" old now || die "$what: the rest was changed"
		done
	done
done
stop
