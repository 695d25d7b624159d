#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An image whose length is not a multiple of 512 is copied as a disk of the next multiple.
. "$(dirname "$0")/lib.sh"
requires cmp
head -c 100000 /dev/urandom >src
"$RDMASTOR" copy src dst --verify >/dev/null || die copy
[ "$(stat -c %s dst)" = 100352 ] || die "length $(stat -c %s dst)"
cmp -n 100000 src dst || die "bytes differ"
cmp -n 352 -i 100000:0 dst /dev/zero || die "the rest of the last block is not zero"
