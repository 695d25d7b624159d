#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# info on a file, in text and JSON, and the reasons when it cannot be opened.
. "$(dirname "$0")/lib.sh"
requires jq
truncate -s 3M disk
"$RDMASTOR" info disk >out || die info
for line in 'size:        3 MiB \(3145728 bytes\)' 'block:       512' 'path:        disk' 'kind:        regular file'; do
	grep -Eq "^$line\$" out || die "no '$line' in: $(cat out)"
done
"$RDMASTOR" info "file:disk?ro=1" --json >out || die json
jq -e '.schema == "rdmastor.info" and .version == 1 and .size == 3145728 and .block_size == 512 and .read_only and .kind == "regular file"' out >/dev/null || die "$(cat out)"
"$RDMASTOR" info ram:1M --json | jq -e '.size == 1048576' >/dev/null || die ram
fails 1 'nosuch: open: no such file or directory' "$RDMASTOR" info nosuch
fails 1 'nosuch: open: no such file or directory' "$RDMASTOR" info nosuch --json
[ "$(jq -r .error.code fails.out)" = not-found ] || die "code: $(cat fails.out)"
: >empty
fails 2 'empty: is empty' "$RDMASTOR" info empty
fails 2 'is a directory' "$RDMASTOR" info .
fails 2 '/dev/zero: is neither a block device nor a regular file' "$RDMASTOR" info /dev/zero
fails 2 colour "$RDMASTOR" info 'file:disk?colour=red'
