#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A qcow2 image behind qemu-nbd is served over NVMe-oF and read, written, trimmed and zeroed through it, over TCP and software iWARP.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires qemu-nbd qemu-img cmp jq applet:serve

random_file src 8
qemu-img create -q -f qcow2 disk.qcow2 16M
qemu-nbd -t -e 8 --discard=unmap -f qcow2 -k "$TMP/nbd.sock" disk.qcow2 &
qemu=$!
end_qemu() { kill $qemu 2>/dev/null || true; }
cleanup_fn end_qemu
wait_running $qemu test -S nbd.sock
serve "nbd+unix:///?socket=$TMP/nbd.sock" --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
ours info "$TCP" --json | jq -e '.size == 16777216 and .read_only == false' >/dev/null || die "$(ours info "$TCP" --json)"
for uri in "$TCP" "$RDMA"; do
	ours copy -q --verify src "$uri" || die "$uri"
	ours copy -q "$uri" back
	cmp -n $((8 << 20)) src back || die "$uri: bytes differ"
	truncate -s 8M zeroes
	ours copy -q zeroes "$uri" || die "$uri: zeroes"
done
ours copy -q --verify src "$TCP"
stop
end_qemu
wait $qemu 2>/dev/null || true
qemu-img check -q disk.qcow2 || die "the image is harmed"
qemu-img convert -f qcow2 -O raw disk.qcow2 raw
cmp -n $((8 << 20)) src raw || die "the image differs"
