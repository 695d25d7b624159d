#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# info on a file, in text and JSON, and the reasons when it cannot be opened.
. "$(dirname "$0")/lib.sh"
requires jq
truncate -s 3M disk
"$RDMASTOR" info disk >out || die info
for line in 'size: .*\<3145728\>.*' 'block size: +512' 'path: +disk' 'kind: +file'; do
	grep -Eq "^$line\$" out || die "no '$line' in: $(cat out)"
done
ours info "file:disk?ro=1" --json >out || die json
jq -e '.schema == "rdmastor.info" and .version == 2 and .size == 3145728 and .block_size == 512 and .read_only and .kind == "file"' out >/dev/null || die "$(cat out)"
ours info ram:1M --json | jq -e '.size == 1048576' >/dev/null || die ram
error 1 - '^rdmastor info: nosuch: ' 'no.such.file' "$RDMASTOR" info nosuch
error 1 not-found nosuch 'no.such.file' "$RDMASTOR" info nosuch
: >empty
error 2 usage empty empty "$RDMASTOR" info empty
error 2 usage '[.]' directory "$RDMASTOR" info .
error 2 usage /dev/zero 'block.device' "$RDMASTOR" info /dev/zero
error 2 usage 'file:disk[?]colour=red' "'colour'" "$RDMASTOR" info 'file:disk?colour=red'
