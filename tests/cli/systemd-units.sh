#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The units of serve and export: systemd accepts them and rates their exposure at most 2.0; what they take away is not needed: served
# and exported by a user without capabilities, data is right, and every system call is one that the unit allows.
systemd=$(readlink -f "$(dirname "$0")/../../systemd")
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires systemd-analyze strace setpriv nbdcopy
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }

install -D "$RDMASTOR" bin/rdmastor
cp "$systemd/rdmastor-export@.socket.in" rdmastor-export@.socket
for applet in serve export; do
	unit=rdmastor-$applet@.service
	sed "s#@PREFIX@#$PWD#" "$systemd/$unit.in" >"$unit"
	systemd-analyze --man=no verify "./rdmastor-$applet@x.service" >out 2>&1 || die "$unit: $(cat out)"
	[ ! -s out ] || die "$unit: $(cat out)"
	systemd-analyze --no-pager --offline=true --threshold=20 security "./$unit" >out || die "$unit: $(tail -1 out)"
done
systemd-analyze --man=no verify ./rdmastor-export@x.socket >out 2>&1 || die "rdmastor-export@.socket: $(cat out)"
[ ! -s out ] || die "rdmastor-export@.socket: $(cat out)"

# the two of one name share no folder
grep -Eh '^(State|Runtime)Directory=' rdmastor-serve@.service rdmastor-export@.service | cut -d= -f2 | sort -u >folders
[ "$(wc -l <folders)" = 2 ] && grep -qx 'rdmastor-serve/%i' folders && grep -qx 'rdmastor-export/%i' folders || die "folders: $(cat folders)"

# calls SET: print the system calls of a set of systemd
calls() {
	local word
	for word in $(systemd-analyze --no-pager syscall-filter "$1" | sed -n 's/^    \([@a-z0-9_-]*\)$/\1/p'); do
		case $word in @*) calls "$word" ;; *) echo "$word" ;; esac
	done | sort -u
}
# allowed UNIT: print the system calls that it allows
allowed() {
	local plus minus
	plus=$(sed -n 's/^SystemCallFilter=\(@.*\)/\1/p' "$1") minus=$(sed -n 's/^SystemCallFilter=~\(@.*\)/\1/p' "$1")
	[ -n "$plus" ] && [ -n "$minus" ] || die "$1: no filter"
	comm -23 <(calls "$plus") <(calls "$minus")
}

# As a program that runs in $PWD: a user without capabilities, in the group of the disk
user=65534 group=65533
cat >restricted <<-END
	#!/bin/sh
	exec setpriv --reuid $user --regid $user --groups $group --bounding-set=-all --inh-caps=-all --no-new-privs \\
		strace -D -f -q -e signal=none -o calls.\$1.\$\$ ./bin/rdmastor "\$@"
END
chmod +x restricted
chmod 777 .
for applet in serve export; do
	random_file disk 4
	chgrp $group disk
	chmod 660 disk
	head -c 4M /dev/urandom >new
	if [ $applet = serve ]; then
		RDMASTOR=$PWD/restricted serve disk --nvmf --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
	else
		RDMASTOR=$PWD/restricted offer disk --nbd "unix:$SOCK"
	fi
	server=$SERVER status=$(cat "/proc/$SERVER/status")
	for line in "Uid:	$user	$user	$user	$user" "CapEff:	0000000000000000" "CapBnd:	0000000000000000" 'NoNewPrivs:	1'; do
		grep -qx "$line" <<<"$status" || die "no '$line' in $status"
	done
	if [ $applet = serve ]; then
		ours copy -q --force new "$TCP"
		ours copy -q "$RDMA" back
	else
		nbdcopy new "$URI"
		nbdcopy "$URI" back
	fi
	cmp new back
	cmp new disk
	stop
	wait_until grep -q "^$server  *+++ exited with 0 +++" calls.$applet.*
	[ ! -e "$SOCK" ] || die 'the socket was left'
	rm -f back
	sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' calls.$applet.* | sort -u >used
	[ "$(wc -l <used)" -gt 20 ] || die "system calls: $(cat used)"
	comm -23 used <(allowed rdmastor-$applet@.service) >refused
	[ ! -s refused ] || die "rdmastor-$applet@.service kills by: $(cat refused)"
done
