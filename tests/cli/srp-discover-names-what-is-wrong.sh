#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-discover: each wrong call and each port that cannot be used has its own message and status, also under ibsrpdm's name.
. "$(dirname "$0")/lib.sh"
requires jq unshare
d="$RDMASTOR srp-discover"

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' "'x' operand" $d x
	error 2 usage '' "'srp://5/2/1' operand srp-connect" $d srp://5/2/1
	error 2 usage '' "'-e' srp_daemon srp-daemon.-o.-e" $d -e
	error 2 usage '' "'-j' srp_daemon -i -p" $d -j mlx5_0:1
	error 2 usage '' "'-D' smpquery --dr" $d -D 0,1
	error 2 usage '' '-d -i -p' $d -d umad0 -i mlx5_0
	error 2 usage '' '-d -i -p' $d -d umad0 -p 1
	error 2 usage '' '-c -u' $d -c -u
	error 2 usage '' '--lid --gid --dr --walk' $d --lid 1 --gid fe80::1
	error 2 usage '' '-t 0.001.to.3600' $d -t 0
	error 2 usage '' '--lid 1.to.49151' $d --lid 0xc000
	error 2 usage '' "'fe80::x' GID" $d --gid fe80::x
	error 2 usage '' "'0,1,x' route" $d --dr 0,1,x
	error 2 usage '' "'1,2' route" $d --dr 1,2
	error 2 usage '' 'route 63.hops' $d --dr "0$(printf ',1%.0s' {1..64})"
	error 2 usage '' "--id-ext '0123456789abcdef0' 16.hex" $d --id-ext 0123456789abcdef0
	error 2 usage '' "--ioc-guid '' 16.hex" $d --ioc-guid ''
	error 2 usage '' "--dgid 'fe80' GID" $d --dgid fe80
	error 2 usage '' "--pkey '0x10000' 4.hex" $d --pkey ffff --pkey 0x10000
	error 2 usage '' "--service-id '12x' 16.hex" $d --service-id 12x
	error 1 unsupported '' '--gid ::ffff:10.0.0.1 IPv4 IPv6 fe80:' $d --gid ::ffff:10.0.0.1
}
ln -s "$RDMASTOR" ibsrpdm
error 1 - '^Usage: ./ibsrpdm \[-vc\] \[-d <umad device>\]' '' ./ibsrpdm -k
error 1 - '^Usage: ./ibsrpdm ' '' ./ibsrpdm -h
error 1 - '^Usage: ./ibsrpdm ' '' ./ibsrpdm -d

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }

ib='umad mlx5_0; port mlx5_0 "4: ACTIVE" "5: LinkUp" 0x5 InfiniBand'
on true 1 no-module '' 'no.RDMA.device ib_core' srp-discover
on 'mkdir -p /sys/class/infiniband' 1 no-module '' 'ib_umad' srp-discover
on 'umad x; mkdir -p /sys/class/infiniband' 1 no-device '' 'RDMA' srp-discover
on 'umad rxe0; port rxe0 "4: ACTIVE" "5: LinkUp" 0x0 Ethernet' \
	1 unsupported 'rxe0 port 1' 'no\b.*\bport InfiniBand Ethernet RoCE --gid' srp-discover
on 'umad rxe0; port rxe0 "4: ACTIVE" "5: LinkUp" 0x0 Ethernet' \
	1 unsupported 'rxe0 port 1' 'subnet.administrator InfiniBand Ethernet RoCE --gid' \
	srp-discover -i rxe0
on "$ib" 1 not-found '' "'mlx5_1' mlx5_0" srp-discover -i mlx5_1
on "$ib" 1 not-found '' 'mlx5_0 port.2' srp-discover -i mlx5_0 -p 2
on "$ib" 1 not-found '' 'device port.7' srp-discover -p 7
on "$ib" 1 not-found '' 'MAD /dev/infiniband/umad3' srp-discover -d /dev/infiniband/umad3
on 'umad mlx5_0; port mlx5_0 "1: DOWN" "3: Disabled" 0x0 InfiniBand' \
	1 unreachable 'mlx5_0 port 1' 'DOWN link disabled' srp-discover
on 'umad mlx5_0; port mlx5_0 "1: DOWN" "2: Polling" 0x0 InfiniBand' \
	1 unreachable 'mlx5_0 port 1' 'DOWN link polling cable' srp-discover
on 'umad mlx5_0; port mlx5_0 "2: INIT" "5: LinkUp" 0x0 InfiniBand' \
	1 unreachable 'mlx5_0 port 1' 'INIT subnet.manager opensm' srp-discover --lid 5
on 'umad mlx5_0; port mlx5_0 "3: ARMED" "5: LinkUp" 0x2 InfiniBand' \
	1 unreachable 'mlx5_0 port 1' 'ARMED subnet.manager opensm' srp-discover
on 'umad mlx5_0; port mlx5_0 "4: ACTIVE" "5: LinkUp" 0x0 InfiniBand' \
	1 unreachable 'mlx5_0 port 1' '\bLID subnet.manager opensm' srp-discover
on "$ib" 1 not-found 'mlx5_0 port 1' 'MAD no.such.file' srp-discover
on "umad mlx5_1; ${ib#*;}" 1 no-device 'mlx5_0 port 1' 'MAD ib_umad' srp-discover
if command -v setpriv >/dev/null; then
	error 1 permission 'mlx5_0 port 1' 'MAD' \
		unshare -m bash -c "chmod 755 $TMP
		mount -t tmpfs none /sys/class; mount -t tmpfs none /dev
		$ib; mkdir /dev/infiniband; touch /dev/infiniband/umad0; chmod 600 /dev/infiniband/umad0; cp $RDMASTOR /dev/rdmastor
		exec setpriv --reuid 65534 --clear-groups --bounding-set=-all /dev/rdmastor \
			srp-discover --json"
fi
