#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect: each wrong call has its own message and status. Nothing is connected: what is right is only tried dry.
. "$(dirname "$0")/lib.sh"
requires jq
c="$RDMASTOR nvmf-connect --dry-run"
key=DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:

# shellcheck disable=SC2086 # several words
{
	fails 2 'no target given' $c
	fails 2 'no target given' $c -n nqn.x
	fails 2 'the subsystem is missing: -n NQN' $c -t tcp -a 127.0.0.1
	fails 2 "no subsystem NQN in 'nvme\+tcp://127.0.0.1'" $c nvme+tcp://127.0.0.1
	fails 2 'give one of both' $c -t tcp nvme+tcp://127.0.0.1/nqn.x
	fails 2 'names a subsystem and --nqn too' $c -n nqn.y nvme+tcp://127.0.0.1/nqn.x
	fails 2 "'file:x' is not an nvme\+rdma: or nvme\+tcp: URI" $c file:x
	fails 2 "namespace 'one': a number from 1 or urn:uuid:UUID is expected" $c nvme+tcp://127.0.0.1/nqn.x/one
	fails 2 "'1234' is no UUID" $c nvme+tcp://127.0.0.1/nqn.x/urn:uuid:1234
	fails 2 "unknown key 'sparkle'" $c 'nvme+tcp://127.0.0.1/nqn.x?sparkle=1'
	fails 2 "rdma='ib': verbs, iwarp and auto are possible" $c 'nvme+rdma://127.0.0.1/nqn.x?rdma=ib'
	fails 1 'software iWARP, which the kernel.s initiator has not' $c 'nvme+rdma://127.0.0.1/nqn.x?rdma=iwarp'
	fails 1 "there is no RDMA device 'none0'" $c 'nvme+rdma://127.0.0.1/nqn.x?dev=none0'
	fails 2 'an own address or interface say the same thing' $c 'nvme+rdma://127.0.0.1/nqn.x?dev=none0&iface=lo'
	fails 2 "queue_size: must be 16 to 1024" $c -Q 8 nvme+tcp://127.0.0.1/nqn.x
	fails 2 "nr_io_queues: '4x' is not a whole number" $c -i 4x nvme+tcp://127.0.0.1/nqn.x
	fails 2 "tos: must be 0 to 255" $c 'nvme+tcp://127.0.0.1/nqn.x?tos=256'
	fails 2 'hdr_digest is of TCP only' $c -g nvme+rdma://127.0.0.1/nqn.x
	fails 2 'fast_io_fail_tmo \(9\) is longer than ctrl_loss_tmo \(5\)' $c -l 5 -F 9 nvme+tcp://127.0.0.1/nqn.x
	fails 2 "--on-loss: .*soon.*expected fail-fast, wait=SECONDS" $c --on-loss soon nvme+tcp://127.0.0.1/nqn.x
	fails 2 'host NQN .x.: must begin with nqn' $c -q x nvme+tcp://127.0.0.1/nqn.x
	fails 2 'host id .x. is not a UUID' $c -I x nvme+tcp://127.0.0.1/nqn.x
	fails 1 "no network interface 'none0'" $c -f none0 nvme+rdma://127.0.0.1/nqn.x
	fails 2 'a link-local address needs its interface' $c -t rdma -a fe80::1 -n nqn.x
	fails 2 'of another family than traddr' $c -w ::1 nvme+tcp://127.0.0.1/nqn.x
	fails 2 'dhchap_ctrl_secret needs dhchap_secret' $c -C $key nvme+tcp://127.0.0.1/nqn.x
	fails 2 'dhchap_secret: the checksum of the key is wrong' $c -S ${key/Y29/Y30} nvme+tcp://127.0.0.1/nqn.x
	fails 2 'dhchap_secret: not a key of the form DHHC-1' $c -S hush nvme+tcp://127.0.0.1/nqn.x
	fails 1 'open nokey: no such file' $c --dhchap-secret-file nokey nvme+tcp://127.0.0.1/nqn.x
	fails 2 "-fd: 'x' is not a descriptor" $c --dhchap-secret-fd x nvme+tcp://127.0.0.1/nqn.x
	: >empty
	fails 2 'empty is empty' $c --dhchap-secret-file empty nvme+tcp://127.0.0.1/nqn.x
	fails 1 'nqn.x at tcp 127.0.0.1:4420: open /none/id: no such file' "$RDMASTOR" nvmf-connect --devid-file /none/id nvme+tcp://127.0.0.1/nqn.x
	fails 2 'tls_key needs tls' $c --tls-key 7 nvme+tcp://127.0.0.1/nqn.x
	tls=NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:
	fails 1 'open nokey: no such file' $c --tls-key-file nokey nvme+tcp://127.0.0.1/nqn.x
	fails 1 'open nokey: no such file' $c 'nvme+tcp://127.0.0.1/nqn.x?tls-key-file=nokey'
	fails 2 "-fd: 'x' is not a descriptor" $c --tls-key-fd x nvme+tcp://127.0.0.1/nqn.x
	fails 2 'tls_key: not a key of the form NVMeTLSkey-1:0n' $c --tls-key NVMeTLSkey-hush nvme+tcp://127.0.0.1/nqn.x
	fails 2 'tls_key: not a key of the form NVMeTLSkey-1:0n' env RDMASTOR_TLS_KEY=hush $c --tls nvme+tcp://127.0.0.1/nqn.x
	fails 2 'tls_key: the checksum of the key is wrong' $c --tls-key ${tls/VRL/VRM} nvme+tcp://127.0.0.1/nqn.x
	fails 2 'tls_key 7 is in the kernel already' $c --tls-key 7 --tls-key-identity x nvme+tcp://127.0.0.1/nqn.x
	fails 2 'tls is of TCP only' $c --tls-key $tls nvme+rdma://127.0.0.1/nqn.x
	fails 2 'a key does not belong into a URI: tls-key-file=FILE' $c "nvme+tcp://127.0.0.1/nqn.x?tls_key=$tls"
	! grep -q VRL fails.err || die "the key is told: $(cat fails.err)"
	fails 2 "nqn 'a,b'|commas" $c --json -t tcp -a 127.0.0.1 -n a,b
}
