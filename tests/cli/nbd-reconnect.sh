#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A server that is killed and restarted, larger than before, in the middle of a copy: the copy continues, each byte is right, and
# the new size is noticed. With loss=fail-fast it ends instead, with the reason.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit cmp

random_file src 24
truncate -s 24M disk
kit --filter=rate file disk rate=8M # bits per second: slow enough to be killed in the middle
"$RDMASTOR" copy src "$URI" --verify -v >out 2>err &
pid=$!
wait_running $pid cmp -s -n 4096 src disk
down KILL
truncate -s 32M disk
wait_running $pid grep -q lost err
kit --filter=rate file disk rate=800M
wait $pid || die "copy: $(cat err)"
cmp -n $((24 << 20)) src disk || die "bytes differ"
grep -Eq 'lost.*connection (closed|reset)' err || die "the loss was not noticed: $(cat err)"
grep -Eq 'restored.* [0-9.]+ s$' err || die "not back: $(cat err)"
grep -Eq 'size.* 33554432\>' err || die "the new size was not noticed: $(cat err)"

down
kit --filter=rate file disk rate=8M
"$RDMASTOR" copy "$URI&loss=fail-fast" dst >out 2>err &
pid=$!
wait_running $pid test -s dst
down KILL
wait $pid
[ $? = 1 ] || die "no failure: $(cat out err)"
grep -Eq '\<read\>.* [0-9]+: .*connection' err || die "output: $(cat err)"
