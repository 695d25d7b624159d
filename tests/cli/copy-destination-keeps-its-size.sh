#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A destination file is overwritten from its beginning, extended when it is too small, never shortened; the rest is left.
. "$(dirname "$0")/lib.sh"
requires cmp
head -c 1M /dev/urandom >src
head -c 3M /dev/urandom >big
cp big was
"$RDMASTOR" copy src big >out 2>err || die "larger: $(cat err)"
grep -q '^rdmastor copy: warning: .*\<big\>.*3 MiB.*1 MiB.*2 MiB' err || die "output: $(cat err)"
cmp -n 1048576 src big || die "the beginning is not the source"
cmp -i 1048576 was big || die "the rest was changed"
head -c 4096 /dev/urandom >small
"$RDMASTOR" copy src small >/dev/null || die smaller
cmp src small || die "a smaller one was not extended"
error 2 usage ram:4096 '\b4096 1048576' "$RDMASTOR" copy src ram:4096
