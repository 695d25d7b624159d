#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Source and destination that are the same under any name, and invalid destinations.
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
# an existing file with keys is not the name of a new one
for key in part=1 offset=512 size=512 ro direct=yes; do
	for more in '' --dry-run; do
		error 2 usage "$(ere "hard?$key")" "$(ere "file:hard?$key")" "$RDMASTOR" copy src "hard?$key" $more
	done
	[ ! -e "hard?$key" ] || die "a file of the name hard?$key was made"
done
ours copy src 'hard?x=1' >&2 && [ -e "hard?x=1" ] || die 'a new file with ? in its name'
ours copy src 'none?part=1' && [ -e 'none?part=1' ] || die 'a new file, where nothing is before the ?'
error 2 usage '' '--sparse --no-sparse' "$RDMASTOR" copy src dst --sparse --no-sparse
error 2 usage '' '--depth 1.to.1024' "$RDMASTOR" copy src dst --depth 2000
error 2 usage '' '--request 512' "$RDMASTOR" copy src dst --request 1000
error 2 usage '' '--on-loss never fail-fast' "$RDMASTOR" copy src dst --on-loss never
[ "$(sha256sum <src)" = "$sum" ] || die "the source has changed"
