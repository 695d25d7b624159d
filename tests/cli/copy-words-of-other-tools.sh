#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Operands and options of dd, ddrescue, nbdcopy and qemu-img are refused with our own words in the hint; null: takes the
# source's size, as with nbdcopy; and a pipe is copied as "-".
. "$(dirname "$0")/lib.sh"
requires jq
random_file src 1
error 2 usage '' 'if= dd rdmastor.copy.src.dst$' "$RDMASTOR" copy if=src of=dst bs=1M
error 2 usage '' "rdmastor.copy.'a.b'.-$" "$RDMASTOR" copy 'if=a b' bs=1M
error 2 usage '' "'map' --resume" "$RDMASTOR" copy src dst map
[ ! -e dst ] || die "something was copied"
while read -r option hint; do
	error 2 usage '' "$option -.*$hint" "$RDMASTOR" copy "$option" src dst
done <<'END'
-p --progress
--requests --depth
--connections queues=
--allocated --no-sparse
END
error 2 usage '' 'qemu-img qemu-nbd' "$RDMASTOR" copy -f raw src dst
error 2 usage '' 'ddrescue --resume' "$RDMASTOR" copy -r 3 src dst

ours copy src null: --json >out || die "null:"
jq -e '.copied_bytes == 1048576 and .destination == "null:"' out >/dev/null || die "$(cat out)"
ours copy src null: --dry-run --json >out || die "null: in a dry run"
jq -e '.dry_run and .remaining_bytes == 1048576 and (.created | not) and (.verify | not)' out >/dev/null || die "$(cat out)"
error 2 usage null: size "$RDMASTOR" copy - null:

mkfifo pipe
error 2 usage pipe 'rdmastor.copy.-.dst' "$RDMASTOR" copy pipe dst
