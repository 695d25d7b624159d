#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Parts of a disk: the partitions that sfdisk made, with the file systems that mke2fs made, in place and nowhere else.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
requires jq sfdisk mke2fs cmp
set -e

truncate -s 64M gpt mbr
sfdisk -q gpt <<-END
	label: gpt
	start=2048, size=16384, type=uefi, name="EFI system"
	size=32768, type=linux, name=root
	size=20480, type=swap
END
sfdisk -q mbr <<-END
	label: dos
	start=2048, size=16384, type=83
	size=8192, type=82
	size=60000, type=5
	size=20000, type=83
	size=20000, type=83
	size=20000, type=83
END
mke2fs -q -t ext4 -L 'the root' -E offset=$((18432 * 512)) gpt 16M

# listed TABLE: info lists what sfdisk does
listed() {
	ours info "$1" --json >info.json
	sfdisk --json "$1" | jq -c --arg t "$1" '.partitiontable.partitions[] |
		{ number: (.node | ltrimstr($t) | tonumber), offset: (.start * 512), size: (.size * 512) }' >theirs
	jq -c '.partitions[] | { number, offset, size }' info.json >ours
	cmp theirs ours || die "$1: $(cat info.json)"
}
listed mbr
[ "$(wc -l <ours)" = 6 ] && jq -e '.partition_table == "mbr" and .partitions[0].type == "0x83"' info.json >/dev/null || die "$(cat info.json)"
listed gpt
jq -e '.partition_table == "gpt" and .partitions_left_out == 0 and .backup_table == false and .partitions[0].name == "EFI system"' \
	info.json >/dev/null || die "$(cat info.json)"
jq -e '.partitions[1].content.type == "ext4" and .partitions[1].content.label == "the root"' info.json >/dev/null || die "$(cat info.json)"
same uuid "$(sfdisk --part-uuid gpt 2 | tr A-F a-f)" "$(jq -r .partitions[1].uuid info.json)"

# the copy of the table at the end serves, if the first one is damaged
cp gpt torn
dd if=/dev/zero of=torn bs=512 seek=1 count=1 conv=notrunc status=none
ours info torn --json >info.json
jq -e '.backup_table and (.partitions | length) == 3' info.json >/dev/null || die "$(cat info.json)"

# reading a part, over the network, too
dd if=gpt of=want bs=512 skip=18432 count=32768 status=none
ours copy 'file:gpt?part=2' got -q && cmp want got || die 'part 2'
offer 'file:gpt?part=2' --nbd "unix:$SOCK" --ro
ours copy "nbd+unix:///?socket=$SOCK" got -q && cmp want got || die 'part 2 over NBD'
stop
offer gpt --nbd "unix:$SOCK" --ro
ours copy "nbd+unix:///?socket=$SOCK&part=2&offset=1M&size=2M" some -q || die 'a part of part 2 over NBD'
cmp <(dd if=want bs=1M skip=1 count=2 status=none) some || die 'a part of part 2 over NBD'
stop
ours info 'file:gpt?part=2' --json | jq -e '.offset == 9437184 and .size == 16777216 and .content.label == "the root"' >/dev/null

# writing one leaves all else as it was
cp gpt before
head -c 10M /dev/urandom >swap
ours copy swap 'file:gpt?part=3' -q
cmp <(dd if=gpt bs=512 skip=51200 count=20480 status=none) swap || die 'part 3 was not written'
cmp -n $((51200 * 512)) gpt before && cmp -i $((71680 * 512)) gpt before || die 'what surrounds part 3 has changed'
same size "$(stat -c %s gpt)" 67108864
refused 2 'too small' ours copy torn 'file:gpt?part=3'
refused 1 'no such file' ours copy swap 'file:none?offset=1M'
[ ! -e none ] || die 'a file was made for a part of it'

# what does not exist is named
says() {
	local rc=0
	ours info "$2" --json >info.json 2>/dev/null || rc=$?
	same "status of $2" "$rc" "$1"
	jq -e "$3" info.json >/dev/null || die "$2: $(cat info.json)"
}
says 1 'file:gpt?part=9' '.error.code == "not-found" and (.error.hint | contains("1, 2, 3"))'
says 1 'file:swap?part=1' '.error.code == "not-found"'
says 2 'file:gpt?offset=1000' '.error.code == "usage"'
says 2 'file:gpt?offset=64M' '.error.code == "usage"'
says 2 'file:gpt?size=65M' '.error.code == "usage"'
says 2 'file:gpt?size=0' '.error.code == "usage"'
says 2 'file:gpt?part=0' '.error.code == "usage"'
says 2 'file:gpt?part=2&offset=16M' '.error.code == "usage"'
says 1 'gpt?part=2' '.error.hint | contains("file:gpt?part=2")'
