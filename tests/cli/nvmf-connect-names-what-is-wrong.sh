#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect: each wrong call has its own message and status. Nothing is connected: correct calls use --dry-run.
. "$(dirname "$0")/lib.sh"
requires jq
c="$RDMASTOR nvmf-connect --dry-run"
key=DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'URI --transport --traddr' $c
	error 2 usage '' 'URI --transport --traddr' $c -n nqn.x
	error 2 usage '' '--nqn nvmf-discover.127.0.0.1' $c -t tcp -a 127.0.0.1
	error 2 usage '' "NQN 'nvme[+]tcp://127.0.0.1'" $c nvme+tcp://127.0.0.1
	error 2 usage '' 'no.host nvme[+]tcp://HOST/NQN' $c nvme+tcp:///nqn.x
	error 2 usage '' 'URI -t -a' $c -t tcp nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'URI --nqn' $c -n nqn.y nvme+tcp://127.0.0.1/nqn.x
	error 2 usage file:x "nvme[+]rdma: nvme[+]tcp:" $c file:x
	error 2 usage '' "namespace 'one' urn:uuid:UUID" $c nvme+tcp://127.0.0.1/nqn.x/one
	error 2 usage '' "'1234' UUID" $c nvme+tcp://127.0.0.1/nqn.x/urn:uuid:1234
	error 2 usage '' "'g2340000-0000-0000-0000-000000000007' UUID" $c nvme+tcp://127.0.0.1/nqn.x/urn:uuid:g2340000-0000-0000-0000-000000000007
	error 2 usage 'nvme[+]tcp://127.0.0.1/nqn.x[?]sparkle=1' "'sparkle'" \
		$c 'nvme+tcp://127.0.0.1/nqn.x?sparkle=1'
	error 2 usage 'nvme[+]tcp://127.0.0.1/nqn.x[?]path=127.0.0.2' "path= not.supported kernel's" \
		$c 'nvme+tcp://127.0.0.1/nqn.x?path=127.0.0.2'
	error 2 usage 'nvme[+]rdma://127.0.0.1/nqn.x[?]ro=1' "ro= not.supported kernel's" $c 'nvme+rdma://127.0.0.1/nqn.x?ro=1'
	error 2 usage 'nvme[+]rdma://127.0.0.1/nqn.x[?]crc=0' "crc= not.supported kernel's" $c 'nvme+rdma://127.0.0.1/nqn.x?crc=0'
	error 2 usage '' "rdma= 'ib' verbs iwarp auto" $c 'nvme+rdma://127.0.0.1/nqn.x?rdma=ib'
	error 1 unsupported '' 'rdma=iwarp kernel' $c 'nvme+rdma://127.0.0.1/nqn.x?rdma=iwarp'
	error 1 no-device '' "RDMA.device 'none0'" $c 'nvme+rdma://127.0.0.1/nqn.x?dev=none0'
	error 2 usage '' 'dev=none0 interface' $c 'nvme+rdma://127.0.0.1/nqn.x?dev=none0&iface=lo'
	error 2 usage '' '--queue-size 16.to.1024' $c -Q 8 nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' "--nr-io-queues '4x'" $c -i 4x nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' '\<tos\> 0.to.255' $c 'nvme+tcp://127.0.0.1/nqn.x?tos=256'
	error 2 usage '' 'hdr_digest TCP \<rdma\>' $c -g nvme+rdma://127.0.0.1/nqn.x
	error 2 usage '' 'fast_io_fail_tmo \<9\> ctrl_loss_tmo \<5\>' \
		$c -l 5 -F 9 nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' "--on-loss 'soon' fail-fast wait=SECONDS" \
		$c --on-loss soon nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' "host.NQN 'x' 223" $c -q x nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' "host.id 'x' UUID" $c -I x nvme+tcp://127.0.0.1/nqn.x
	error 1 no-device '' "network.interface 'none0'" $c -f none0 nvme+rdma://127.0.0.1/nqn.x
	error 2 usage '' "'fe80::1' link-local --host-iface" $c -t rdma -a fe80::1 -n nqn.x
	error 2 usage '' "host_traddr '::1' '127.0.0.1'" $c -w ::1 nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' "^[^_]*src='foo' IP.address" $c 'nvme+tcp://127.0.0.1/nqn.x?src=foo'
	error 2 usage '' "--host-traddr='foo' IP.address" $c -w foo nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'dhchap_ctrl_secret dhchap_secret' $c -C $key nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' '--dhchap-secret checksum' $c -S ${key/Y29/Y30} nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' '--dhchap-secret DHHC-1:' $c -S hush nvme+tcp://127.0.0.1/nqn.x
	error 1 not-found '' 'nokey no.such.file' \
		$c --dhchap-secret-file nokey nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' "--dhchap-secret-fd 'x'" $c --dhchap-secret-fd x nvme+tcp://127.0.0.1/nqn.x
	: >hollow
	error 2 usage '' 'hollow empty' $c --dhchap-secret-file hollow nvme+tcp://127.0.0.1/nqn.x
	error 1 not-found 'nqn.x at tcp 127.0.0.1:4420' '/none/id no.such.file' \
		"$RDMASTOR" nvmf-connect --devid-file /none/id nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'tls_key \<tls\>' $c --tls-key 7 nvme+tcp://127.0.0.1/nqn.x
	tls=NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:
	error 1 not-found '' 'nokey no.such.file' $c --tls-key-file nokey nvme+tcp://127.0.0.1/nqn.x
	error 1 not-found '' 'nokey no.such.file' $c 'nvme+tcp://127.0.0.1/nqn.x?tls-key-file=nokey'
	error 2 usage '' "--tls-key-fd 'x'" $c --tls-key-fd x nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'tls_key NVMeTLSkey-1:' \
		$c --tls-key NVMeTLSkey-hush nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'tls_key NVMeTLSkey-1:' \
		env RDMASTOR_TLS_KEY=hush $c --tls nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'tls_key checksum' $c --tls-key ${tls/VRL/VRM} nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'tls_key \<7\> kernel identity' \
		$c --tls-key 7 --tls-key-identity x nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' '\<tls\> TCP \<rdma\>' $c --tls-key $tls nvme+rdma://127.0.0.1/nqn.x
	error 2 usage '' 'URI tls-key-file=FILE' $c "nvme+tcp://127.0.0.1/nqn.x?tls_key=$tls"
	! grep -q VRL error.err error.out || die "the key is printed: $(cat error.err error.out)"
	error 2 usage '' '--devid-file 2' $c --devid-file id nvme+tcp://127.0.0.1/nqn.x nvme+tcp://127.0.0.1/nqn.y
	[ ! -e id ] || die "a file for two connections"
	error 2 usage 'nvme[+]tcp://127.0.0.1' 'NQN nvmf-discover' $c nvme+tcp://127.0.0.1/nqn.x nvme+tcp://127.0.0.1
	error 2 usage 'nvme[+]tcp://127.0.0.1/nqn.x[?]sparkle=1' "'sparkle'" \
		$c nvme+tcp://127.0.0.1/nqn.y 'nvme+tcp://127.0.0.1/nqn.x?sparkle=1'
	# what is wrong with the second is known before the first one's name is looked up
	error 2 usage 'nvme[+]tcp://127.0.0.1/nqn.x[?]sparkle=1' "'sparkle'" \
		$c nvme+tcp://name.invalid/nqn.y 'nvme+tcp://127.0.0.1/nqn.x?sparkle=1'
	error 1 - 'nvme[+]tcp://name.invalid/nqn.y' 'name.invalid' \
		$c nvme+tcp://127.0.0.1/nqn.x nvme+tcp://name.invalid/nqn.y
	error 2 usage '' "nqn 'a,b'" $c -t tcp -a 127.0.0.1 -n a,b
}

# Options of nvme-cli that are not ours
error 2 usage '' "'-O' nvme-cli --dry-run" "$RDMASTOR" nvmf-connect -O
error 2 usage '' "'-r' nvme-cli --json" "$RDMASTOR" nvmf-connect-all -r file
error 2 usage '' "'--device' nvme-cli --traddr" "$RDMASTOR" nvmf-connect-all --device nvme0
error 2 usage '' "'-p' nvme-cli nvmf-connect.-n" "$RDMASTOR" nvmf-connect-all -p
error 2 usage '' "'--nbft' nvme-cli nvmf-connect-all" "$RDMASTOR" nvmf-connect --nbft
