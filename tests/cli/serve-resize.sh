#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A file that grows while it is served and exported: hosts and new NBD clients see its new size, and use it; one that shrinks
# is reported, and keeps its size.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires nbdinfo nbdcopy

# becomes BYTES: the export's clients see that size
becomes() { wait_running "$EXPORT" is "$1"; }
is() { [ "$(nbdinfo --size "$NBD")" = "$1" ]; }

random_file disk 4
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
mkfifo there
"$RDMASTOR" export "$TCP" --nbd unix:sock --ready-fd 3 3>there >/dev/null 2>export.err &
EXPORT=$!
end_export() { kill "$EXPORT" 2>/dev/null || true; }
cleanup_fn end_export
read -r _ <there
NBD="nbd+unix:///?socket=$PWD/sock"
becomes 4194304
truncate -s 7M disk
becomes 7340032
grep -q '^rdmastor serve: disk: .*7 MiB' err || die "$(cat err)"
grep -q '7 MiB' export.err || die "$(cat export.err)"
random_file src 7
nbdcopy src "$NBD"
cmp src disk
truncate -s 3M disk
wait_until grep -q 3145728 err
grep -q '^rdmastor serve: warning: disk: .*7340032.*3145728' err || die "$(cat err)"
[ "$(nbdinfo --size "$NBD")" = 7340032 ] || die 'it shrank for hosts, too'
! nbdcopy src "$NBD" 2>/dev/null || die 'written where nothing is'
[ "$(stat -c %s disk)" = 3145728 ] || die 'what was cut off came back, empty'
kill "$EXPORT"
wait "$EXPORT"
stop
