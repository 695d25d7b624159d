#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Source and destination that are the same under any name, and destinations that are none.
. "$(dirname "$0")/lib.sh"
head -c 1M /dev/urandom >src
sum=$(sha256sum <src)
ln src hard
ln -s src soft
for dst in src ./src file:src hard soft "$PWD/src"; do
	fails 2 'source and destination are the same' "$RDMASTOR" copy src "$dst"
done
fails 2 "is a directory" "$RDMASTOR" copy src .
fails 1 '/dev/nosuchdisk: no such device' "$RDMASTOR" copy src /dev/nosuchdisk
[ ! -e /dev/nosuchdisk ] || die "a file was made in /dev"
fails 1 'nosuch: open: no such file' "$RDMASTOR" copy nosuch dst
[ ! -e dst ] || die "a destination was made for nothing"
fails 2 '--sparse and --no-sparse exclude each other' "$RDMASTOR" copy src dst --sparse --no-sparse
fails 2 '--depth: must be 1 to 1024' "$RDMASTOR" copy src dst --depth 2000
fails 2 '--request: must be a multiple of 512' "$RDMASTOR" copy src dst --request 1000
fails 2 "--on-loss: .*never.*expected fail-fast" "$RDMASTOR" copy src dst --on-loss never
[ "$(sha256sum <src)" = "$sum" ] || die "the source has changed"
