#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# One file, one writer: the second is refused and names the first. Readers are not; --force overrides; a killed writer leaves no lock.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires jq

random_file disk 2
cp disk src
ln disk same
for what in export serve; do
	case $what in
	export) offer disk --nbd "unix:$SOCK" ;;
	serve) serve disk --nvmf --tcp 127.0.0.1:0 ;;
	esac
	by="rdmastor pid.$SERVER"
	error 1 busy same "$by" ours export same --nbd "unix:$TMP/other.sock"
	error 1 busy disk "$by" ours serve disk --nvmf --tcp 127.0.0.1:0
	error 1 busy disk "$by" ours copy src disk
	error 1 busy disk "$by" ours copy src disk --dry-run
	error 1 busy disk "$by --force" ours bench disk --rw write --size 64K

	ours info disk >/dev/null || die 'info is a reader'
	ours bench disk --rw read --size 64K >/dev/null 2>bench.err || die "a reader is refused: $(cat bench.err)"
	ours export disk --ro --nbd "unix:$TMP/other.sock" --run true || die 'export --ro is a reader'
	ours copy disk image >/dev/null 2>copy.err || die "a copy of it is refused: $(cat copy.err)"
	grep -Eq "disk: .*rdmastor.*\<$SERVER\>" copy.err || die "no warning: $(cat copy.err)"
	same 'lines of warning' "$(wc -l <copy.err)" 1
	ours copy src disk --force >/dev/null || die 'force'
	stop
done

ours copy disk image >/dev/null 2>copy.err
[ ! -s copy.err ] || die "a warning about a disk that is not in use: $(cat copy.err)"
offer disk --ro --nbd "unix:$SOCK"
ours copy src disk >/dev/null || die 'a reader keeps writers away'
stop

ours export disk same --name a --name b --nbd "unix:$SOCK" --run true || die 'one process may offer it twice'

offer disk --nbd "unix:$SOCK"
kill -KILL "$SERVER"
wait "$SERVER" || true
offer disk --nbd "unix:$SOCK"
stop
