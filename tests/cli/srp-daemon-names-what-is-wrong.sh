#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-daemon: each wrong call, each wrong rule and each port that cannot be used has its own message and status, also as srp_daemon.
. "$(dirname "$0")/lib.sh"
requires jq unshare python3
d="$RDMASTOR srp-daemon"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' "'x' operand" $d x
	error 2 usage '' '-l 2.to.7' $d -l 1
	error 2 usage '' '-l 2.to.7' $d -l 8
	error 2 usage '' '-t \b0\b' $d -t 0
	error 2 usage '' "-t '5s'" $d -t 5s
	error 2 usage '' '-r \b0\b' $d -r 0
	error 2 usage '' '--login-timeout \b0\b' $d --login-timeout 0
	error 2 usage '' '-p 1.to.254' $d -p 255
	error 2 usage '' '-p 1.to.254' $d -i mlx5_0 -p 0
	error 2 usage '' '-l 2.to.7' $d -l 0
	error 2 usage '' '-R \b0\b' $d -R 0
	error 2 - srp-daemon '-i -p -j -d --all-ports' $d -i mlx5_0 -j mlx5_0:1
	error 2 - '-j' 'mlx5_0:1x' $d -j mlx5_0:1x
	error 2 - srp-daemon '-i -p -j -d --all-ports' $d --all-ports -p 1
	error 2 - srp-daemon '-i -p -j -d --all-ports' $d -d umad0 -i mlx5_0
	error 2 usage '' '--daemon --pid-file --ready-fd --log -o' $d -o --daemon
	error 2 usage '' '--daemon --pid-file --ready-fd --log --dry-run' $d --dry-run --log x
	error 2 usage '' '--json -o -e -c' $d --json
	error 2 usage '' '--json -o -e -c' $d -e -c --json
	error 1 not-found rules 'no.such.file' $d -o -f rules
	error 1 unsupported / 'is.a.directory' $d -o -f /
	echo 'a max_sectors=1' >rules
	error 2 usage rules:1 "'max_sectors' id_ext pkey allow_ext_sg" $d -o -f rules
	printf 'a\n\nallow\n' >rules
	error 2 usage rules:3 "'llow'" $d -o -f rules
}
"$RDMASTOR" --install . || die "no links"
[ -L srp_daemon ] || die "there is no srp_daemon"
error 1 - '^Usage: ./srp_daemon \[-vVcaeon\]' '' ./srp_daemon -k
error 1 - '^Usage: ./srp_daemon ' '' ./srp_daemon -h
error 1 - srp_daemon '-l 2.to.7' ./srp_daemon -l 9
error 1 - srp_daemon '-l 2.to.7' ./srp_daemon -l 0
error 1 - srp_daemon '-p 1.to.254' ./srp_daemon -i mlx5_0 -p 0
error 1 - srp_daemon '-R \b0\b' ./srp_daemon -R 0
error 1 - rules:3: "'llow'" ./srp_daemon -o -f rules

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }

ib='umad mlx5_0; port mlx5_0 "4: ACTIVE" "5: LinkUp" 0x5 InfiniBand'
eth='umad rxe0; port rxe0 "4: ACTIVE" "5: LinkUp" 0x0 Ethernet'
on true 1 - srp-daemon 'no.RDMA.device' srp-daemon
on 'mkdir -p /sys/class/infiniband' 1 no-module '' 'ib_umad' srp-daemon -o
on "$ib" 1 - srp-daemon "'mlx5_1'" srp-daemon -i mlx5_1
two="$ib; cp -r /sys/class/infiniband/mlx5_0/ports/1 /sys/class/infiniband/mlx5_0/ports/2; echo 1: DOWN >/sys/class/infiniband/mlx5_0/ports/1/state"
on "$two" 1 no-device 'mlx5_0 port 2' 'MAD ib_umad' srp-daemon -o -i mlx5_0
RDMASTOR=$PWD/srp_daemon on "$two" 1 - 'mlx5_0 port 1: ' 'DOWN' -o -i mlx5_0
on "$ib" 1 - srp-daemon 'mlx5_0 port.2' srp-daemon -j mlx5_0:2
on "$ib" 2 - '-j' 'mlx5_0:' srp-daemon -j mlx5_0
on "$ib" 2 - '-j' 'mlx5_0:x' srp-daemon -j mlx5_0:x
on "$ib" 2 - '-j' '[^0]:1' srp-daemon -j :1
on "$eth" 1 - 'rxe0 port 1: ' 'no\b.*\bport InfiniBand' srp-daemon
on "$eth" 1 no-device '' 'no\b.*\bport InfiniBand' srp-daemon -o --all-ports
on 'umad mlx5_0; port mlx5_0 "2: INIT" "5: LinkUp" 0x0 InfiniBand' \
	1 unreachable 'mlx5_0 port 1' 'INIT subnet.manager opensm' srp-daemon -o
on "$ib" 1 no-module '' 'ib_srp' srp-daemon -e
on "$ib" 1 not-found 'mlx5_0 port 1' 'MAD no.such.file' srp-daemon -o
on "$ib" 1 not-found 'mlx5_0 port 1' 'MAD no.such.file' srp-daemon -o --all-ports
on "$ib" 1 - 'mlx5_0 port 1: ' 'MAD no.such.file' srp-daemon -i mlx5_0
on "$ib" 1 - '--ready-fd' '77 bad.file.descriptor' srp-daemon --ready-fd 77
on "$ib" 1 - /none/log: 'no.such.file' srp-daemon --log /none/log
on "$ib; exec 9>/run/srp_daemon_mlx5_0_1; flock() { python3 -c 'import fcntl, os, time; fcntl.lockf(9, fcntl.LOCK_EX); open(\"$PWD/locked\", \"w\"); me = os.getppid()
while os.getppid() == me: time.sleep(0.1)' & wait_until test -e $PWD/locked; }; flock" \
	1 - 'mlx5_0 port 1: ' 'process.[0-9]+ lock /run/srp_daemon_mlx5_0_1' srp-daemon
