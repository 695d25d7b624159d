#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-discover: each wrong call and each port that cannot be used has its own message and status, also under ibsrpdm's name.
. "$(dirname "$0")/lib.sh"
requires jq unshare
d="$RDMASTOR srp-discover"

# shellcheck disable=SC2086 # several words
{
	fails 2 "'x' is one operand too many" $d x
	fails 2 '-d and -i, -p name the same thing' $d -d umad0 -i mlx5_0
	fails 2 '-d and -i, -p name the same thing' $d -d umad0 -p 1
	fails 2 '-c and -u: give one of both' $d -c -u
	fails 2 '--lid, --gid, --dr and --walk: give one of them' $d --lid 1 --gid fe80::1
	fails 2 '-t: must be 0.001 to 3600 seconds' $d -t 0
	fails 2 '--lid: must be 1 to 49151' $d --lid 0xc000
	fails 2 "'fe80::x' is no GID" $d --gid fe80::x
	fails 2 "'0,1,x' is no route" $d --dr 0,1,x
	fails 2 "'1,2' is no route" $d --dr 1,2
	fails 2 'the route is longer than 63 hops' $d --dr "0$(printf ',1%.0s' {1..64})"
	fails 2 "--id-ext: '0123456789abcdef0' is not up to 16 hexadecimal digits" $d --id-ext 0123456789abcdef0
	fails 2 "--ioc-guid: '' is not up to 16" $d --ioc-guid ''
	fails 2 "--dgid: 'fe80' is no GID" $d --dgid fe80
	fails 2 "--pkey: '0x10000' is not up to 4 hexadecimal digits" $d --pkey ffff --pkey 0x10000
	fails 2 "--service-id: '12x' is not up to 16" $d --service-id 12x
	fails 1 '--gid ::ffff:10.0.0.1: kernels lose the answers' $d --gid ::ffff:10.0.0.1
}
ln -s "$RDMASTOR" ibsrpdm
fails 1 '^Usage: ./ibsrpdm \[-vc\] \[-d <umad device>\]' ./ibsrpdm -k
fails 1 '^Usage: ./ibsrpdm ' ./ibsrpdm -h
fails 1 '^Usage: ./ibsrpdm ' ./ibsrpdm -d

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }

ib='umad mlx5_0; port mlx5_0 "4: ACTIVE" "5: LinkUp" 0x5 InfiniBand'
on true 1 'there is no RDMA device' srp-discover
on 'mkdir -p /sys/class/infiniband' 1 'the kernel module ib_umad is not loaded: ' srp-discover
on 'umad x; mkdir -p /sys/class/infiniband' 1 'there is no RDMA device' srp-discover
on 'umad rxe0; port rxe0 "4: ACTIVE" "5: LinkUp" 0x0 Ethernet' 1 'rxe0 port 1: no port of this machine is on InfiniBand: its link layer is Ethernet' srp-discover
on 'umad rxe0; port rxe0 "4: ACTIVE" "5: LinkUp" 0x0 Ethernet' 1 'rxe0 port 1: its link layer is Ethernet, and only InfiniBand' srp-discover -i rxe0
on "$ib" 1 "there is no RDMA device 'mlx5_1'" srp-discover -i mlx5_1
on "$ib" 1 'mlx5_0 has no port 2' srp-discover -i mlx5_0 -p 2
on "$ib" 1 'no RDMA device has a port 7' srp-discover -p 7
on "$ib" 1 "there is no MAD device '/dev/infiniband/umad3'" srp-discover -d /dev/infiniband/umad3
on 'umad mlx5_0; port mlx5_0 "1: DOWN" "3: Disabled" 0x0 InfiniBand' 1 'mlx5_0 port 1: port is DOWN: its link is disabled' srp-discover
on 'umad mlx5_0; port mlx5_0 "1: DOWN" "2: Polling" 0x0 InfiniBand' 1 'port is DOWN: its link is polling for a neighbour' srp-discover
on 'umad mlx5_0; port mlx5_0 "2: INIT" "5: LinkUp" 0x0 InfiniBand' 1 'port is INIT: no subnet manager has configured it' srp-discover --lid 5
on 'umad mlx5_0; port mlx5_0 "3: ARMED" "5: LinkUp" 0x2 InfiniBand' 1 'port is ARMED: ' srp-discover
on 'umad mlx5_0; port mlx5_0 "4: ACTIVE" "5: LinkUp" 0x0 InfiniBand' 1 'port has no LID' srp-discover --json
[ "$(jq -r '.error.code + " " + .error.object' fails.out)" = 'unreachable mlx5_0 port 1' ] || die "JSON says $(cat fails.out)"
on "$ib" 1 'mlx5_0 port 1: open its MAD device: no such file' srp-discover
on "umad mlx5_1; ${ib#*;}" 1 'mlx5_0 port 1: this port has no MAD device' srp-discover
if command -v setpriv >/dev/null; then
	fails 1 'its MAD device may not be opened by this user' unshare -m bash -c "chmod 755 $TMP; mount -t tmpfs none /sys/class; mount -t tmpfs none /dev
		$ib; mkdir /dev/infiniband; touch /dev/infiniband/umad0; chmod 600 /dev/infiniband/umad0; cp $RDMASTOR /dev/rdmastor
		exec setpriv --reuid 65534 --clear-groups --bounding-set=-all /dev/rdmastor srp-discover"
fi
