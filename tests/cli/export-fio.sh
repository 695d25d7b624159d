#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fio verifies what it wrote over several connections and queues, in clear and over TLS with certificates of both sides.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires fio openssl setpriv

verify() { # URI COMMAND…
	local uri=$1
	shift
	"$@" fio --name=v --ioengine=nbd --uri="$uri" --rw=randwrite --bsrange=4k-512k --iodepth=16 --size=16M --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --verify_state_save=0 >fio.out 2>&1 || die "$(cat fio.out)"
	grep -q 'READ:.* io=16.*B' fio.out || die "not all was read back: $(cat fio.out)"
}

offer ram:16M --nbd "unix:$SOCK" --queues 2
if ! fio --enghelp=nbd >/dev/null 2>&1; then echo "fio has no nbd engine"; exit 77; fi
verify "$URI"
stop

# fio's URIs must not name files, so libnbd looks for certificates in the home folder, but not in that of root
authority ca
certificate server server 127.0.0.1 ca
certificate home/.pki/libnbd client alice ca
cp ca/ca-cert.pem server
cp ca/ca-cert.pem home/.pki/libnbd
user=()
if [ "$(id -u)" = 0 ]; then
	chmod 711 .
	chown -R 65534:65534 home
	user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
offer ram:16M --nbd 127.0.0.1:0 --queues 2 --tls-certificates server
at=$(sed -n 's#.*nbds://\([^/]*\)/.*#\1#p' out)
verify "nbds://$at/" "${user[@]}" env HOME=home
rm home/.pki/libnbd/client-*.pem
if (verify "nbds://$at/" "${user[@]}" env HOME=home) 2>/dev/null; then die "a client without a certificate was served"; fi
grep -q "client can.t be trusted: it sent no certificate" err || die "$(cat err)"
stop
