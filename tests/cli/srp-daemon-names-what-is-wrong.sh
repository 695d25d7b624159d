#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-daemon: each wrong call, each wrong rule and each port that cannot be used has its own message and status, also as srp_daemon.
. "$(dirname "$0")/lib.sh"
requires jq unshare python3
d="$RDMASTOR srp-daemon"

# shellcheck disable=SC2086 # several words
{
	fails 2 "'x' is one operand too many" $d x
	fails 2 '-l: must be 2 to 7' $d -l 1
	fails 2 '-l: must be 2 to 7' $d -l 8
	fails 2 '-t: must be more than 0' $d -t 0
	fails 2 "-t: '5s' is not a whole number" $d -t 5s
	fails 2 '-r: must be more than 0' $d -r 0
	fails 2 '--login-timeout: must be more than 0' $d --login-timeout 0
	fails 2 '-p: must be 1 to 254' $d -p 255
	fails 2 '-p: must be 1 to 254' $d -i mlx5_0 -p 0
	fails 2 '-l: must be 2 to 7' $d -l 0
	fails 2 '-R: must be more than 0' $d -R 0
	fails 2 'all say which port: give one of them' $d -i mlx5_0 -j mlx5_0:1
	fails 2 '-j mlx5_0:1x: this is no device and port' $d -j mlx5_0:1x
	fails 2 'all say which port: give one of them' $d --all-ports -p 1
	fails 2 'all say which port: give one of them' $d -d umad0 -i mlx5_0
	fails 2 'are for what stays: not with -o' $d -o --daemon
	fails 2 'are for what stays: not with --dry-run' $d --dry-run --log x
	fails 2 '--json: what a daemon finds has no end' $d --json
	fails 2 '--json: what a daemon finds has no end' $d -e -c --json
	fails 1 'rules: read the rules: no such file or directory' $d -o -f rules
	fails 1 '/: read the rules: is a directory' $d -o -f /
	echo 'a max_sectors=1' >rules
	fails 2 "rules:1: 'max_sectors' is nothing a rule can say" $d -o -f rules
	fails 2 '^hint: there are id_ext ioc_guid dgid service_id pkey; with .a. also allow_ext_sg ' $d -o -f rules
	printf 'a\n\nallow\n' >rules
	fails 2 "rules:3: 'llow' is nothing" $d -o -f rules
}
"$RDMASTOR" --install . || die "no links"
[ -L srp_daemon ] || die "there is no srp_daemon"
fails 1 '^Usage: ./srp_daemon \[-vVcaeon\]' ./srp_daemon -k
fails 1 '^Usage: ./srp_daemon ' ./srp_daemon -h
fails 1 '-l: must be 2 to 7' ./srp_daemon -l 9
fails 1 '-l: must be 2 to 7' ./srp_daemon -l 0
fails 1 '-p: must be 1 to 254' ./srp_daemon -i mlx5_0 -p 0
fails 1 '-R: must be more than 0' ./srp_daemon -R 0
fails 1 "rules:3: 'llow'" ./srp_daemon -o -f rules

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }

ib='umad mlx5_0; port mlx5_0 "4: ACTIVE" "5: LinkUp" 0x5 InfiniBand'
eth='umad rxe0; port rxe0 "4: ACTIVE" "5: LinkUp" 0x0 Ethernet'
on true 1 'there is no RDMA device' srp-daemon
on 'mkdir -p /sys/class/infiniband' 1 'the kernel module ib_umad is not loaded: ' srp-daemon -o
on "$ib" 1 "there is no RDMA device 'mlx5_1'" srp-daemon -i mlx5_1
two="$ib; cp -r /sys/class/infiniband/mlx5_0/ports/1 /sys/class/infiniband/mlx5_0/ports/2; echo 1: DOWN >/sys/class/infiniband/mlx5_0/ports/1/state"
on "$two" 1 'mlx5_0 port 2: this port has no MAD device' srp-daemon -o -i mlx5_0
RDMASTOR=$PWD/srp_daemon on "$two" 1 'mlx5_0 port 1: port is DOWN' -o -i mlx5_0
on "$ib" 1 'mlx5_0 has no port 2' srp-daemon -j mlx5_0:2
on "$ib" 2 '-j mlx5_0: this is no device and port' srp-daemon -j mlx5_0
on "$ib" 2 '-j mlx5_0:x: this is no device and port' srp-daemon -j mlx5_0:x
on "$ib" 2 '-j :1: this is no device and port' srp-daemon -j :1
on "$eth" 1 'rxe0 port 1: no port of this machine is on InfiniBand' srp-daemon
on "$eth" 1 'no port of this machine is on InfiniBand' srp-daemon -o --all-ports
on 'umad mlx5_0; port mlx5_0 "2: INIT" "5: LinkUp" 0x0 InfiniBand' 1 'port is INIT: no subnet manager has configured it' srp-daemon -o
on "$ib" 1 'the kernel module ib_srp is not loaded: ' srp-daemon -e
on "$ib" 1 'mlx5_0 port 1: open its MAD device: no such file' srp-daemon -o
on "$ib" 1 'mlx5_0 port 1: open its MAD device: no such file' srp-daemon -o --all-ports
on "$ib" 1 'mlx5_0 port 1: open its MAD device: no such file' srp-daemon -i mlx5_0
on "$ib" 1 '--ready-fd 77: bad file descriptor' srp-daemon --ready-fd 77
on "$ib" 1 '/none/log: open the log: no such file' srp-daemon --log /none/log
on "$ib; exec 9>/run/srp_daemon_mlx5_0_1; flock() { python3 -c 'import fcntl; fcntl.lockf(9, fcntl.LOCK_EX); import time; time.sleep(3)' & sleep 1; }; flock" \
	1 'mlx5_0 port 1: process [0-9]+ serves this port: it holds the lock /run/srp_daemon_mlx5_0_1' srp-daemon
on "$ib" 1 'mlx5_0 port 1: open its MAD device' srp-daemon -o --json
[ "$(jq -r '.error.code + " " + .error.object' fails.out)" = 'not-found mlx5_0 port 1' ] || die "JSON says $(cat fails.out)"
