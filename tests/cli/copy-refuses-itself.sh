#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Source and destination that are the same under any name, and destinations that are none.
. "$(dirname "$0")/lib.sh"
head -c 1M /dev/urandom >src
sum=$(sha256sum <src)
ln src hard
ln -s src soft
for dst in src ./src file:src hard soft "$PWD/src"; do
	error 2 usage '' "source destination $dst" "$RDMASTOR" copy src "$dst"
done
error 2 usage '[.]' directory "$RDMASTOR" copy src .
error 1 not-found /dev/nosuchdisk 'no.such.device' "$RDMASTOR" copy src /dev/nosuchdisk
[ ! -e /dev/nosuchdisk ] || die "a file was made in /dev"
error 1 not-found nosuch 'no.such.file' "$RDMASTOR" copy nosuch dst
[ ! -e dst ] || die "a destination was made for nothing"
error 2 usage '' '--sparse --no-sparse' "$RDMASTOR" copy src dst --sparse --no-sparse
error 2 usage '' '--depth 1.to.1024' "$RDMASTOR" copy src dst --depth 2000
error 2 usage '' '--request 512' "$RDMASTOR" copy src dst --request 1000
error 2 usage '' '--on-loss never fail-fast' "$RDMASTOR" copy src dst --on-loss never
[ "$(sha256sum <src)" = "$sum" ] || die "the source has changed"
