#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# No space left: /dev/full as stdout, and as the named destination, which is not a disk.
. "$(dirname "$0")/lib.sh"
head -c 4M /dev/urandom >src
"$RDMASTOR" copy src - >/dev/full 2>err
[ $? = 1 ] || die "no failure"
grep -q '^rdmastor copy: -: .*no space left' err || die "output: $(cat err)"
error 2 usage /dev/full 'block.device regular.file' "$RDMASTOR" copy src /dev/full
[ -c /dev/full ] || die "/dev/full is gone"
