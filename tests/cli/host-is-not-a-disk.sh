#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A host where a disk is expected: the hint says how to list its disks. A file that is missing has no such hint.
. "$(dirname "$0")/lib.sh"
requires jq
hint() { jq -r '.error.hint // "none"' error.out; }
for host in 10.77.0.1 10.77.0.1:4420 localhost fd00::1 '[fd00::1]:3260' storage7:4420 storage7.example.com; do
	for applet in 'info' 'bench' 'doctor' 'nvmf-connect' 'iser-login' 'srp-connect' 'nfsrdma-mount'; do
		[ "$applet" != nfsrdma-mount ] && dir=() || dir=("$TMP")
		"$RDMASTOR" $applet "$host" "${dir[@]}" --json >error.out 2>error.err && die "$applet $host: status 0"
		[ "$applet" = doctor ] && filter='[(.findings // [])[] | select(.topic == "target") | .hint][0] // .error.hint' || filter=.error.hint
		same "$applet $host" "$(jq -r "$filter" error.out)" "list the disks of a host with: rdmastor discover $host"
	done
done
error 1 not-found 10.77.0.1 'rdmastor.discover.10.77.0.1' ours copy 10.77.0.1 image
for file in disk disk.img ./10.77.0.1 /tmp/10.77.0.1 dir/x:1; do
	"$RDMASTOR" info "$file" --json >error.out 2>error.err && die "info $file: status 0"
	same "info $file" "$(hint)" none
done
error 2 usage foo:x './foo:x' ours info foo:x
: >10.77.0.1
truncate -s 1M 10.77.0.1
ours info 10.77.0.1 --json | jq -e '.size == 1048576' >/dev/null || die 'a file of this name is a disk'
