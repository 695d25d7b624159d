#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Disks as an SRP target over software iWARP: two LUNs written, read and compared by our own initiator, NVMe-oF in the same process; a list of
# initiators, a read-only disk, wrong calls.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file src 12
truncate -s 12M disk
truncate -s 4M other
serve disk other --srp --rdma '127.0.0.1:0?rdma=iwarp' --nvmf --tcp 127.0.0.1:0
SRP=$(sed -nE 's#^rdmastor: +(srp\+cm://.*)$#\1#p' out)
[ -n "$SRP" ] || die "$(cat out)"
grep -q add_target out && die 'ib_srp can not use software iWARP'
ours copy -q --force src "$SRP"
cmp src disk || die 'written over SRP'
ours copy -q --verify "$SRP" back
cmp src back || die 'read over SRP'
ours copy -q "${SRP/\/0\?//1?}" back1
cmp other back1 || die 'the second LUN'
ours info "$SRP" --json | jq -e '.lun == 0 and .immediate_bytes == 8192' >/dev/null || die 'info'
error 1 not-found '.*' 'LUN 0,.1' ours info "${SRP/\/0\?//7?}"
error 2 usage '.*' '2.disks' ours info "${SRP/\/0\?/?}"
ours status --json | jq -e '.serving[] | select(.protocol == "srp")' >/dev/null || die "$(ours status --json)"
stop

serve disk --srp --rdma '127.0.0.1:0?rdma=iwarp' --ro
SRP=$(sed -nE 's#^rdmastor: +(srp\+cm://.*)$#\1#p' out)
error 1 permission '.*' 'write.protected' ours copy -q --force other "$SRP"
cmp src disk || die 'a read-only disk was written'
stop

me=00000000000000070000000000000000
serve disk --srp --rdma '127.0.0.1:0?rdma=iwarp' --allow-initiator ffffffffffffffffffffffffffffffff --json
SRP=$(jq -r '.srp.connect[0].rdmastor' out)
error 1 auth '.*' 'initiator 0x00010006' ours info "$SRP&initiator_ext=${me:0:16}"
stop

error 2 usage '' 'protocol' ours serve ram:1M --rdma :0
error 2 usage '' 'srp address' ours serve ram:1M --srp
error 1 unsupported '' 'tcp' ours serve ram:1M --srp --tcp 127.0.0.1:0
error 2 usage '' '32 hexadecimal' ours serve ram:1M --srp --rdma '127.0.0.1:0?rdma=iwarp' --allow-initiator iqn.x
error 2 usage '' 'allow-initiator' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --allow-initiator $me
error 2 usage '' 'ib srp' ours serve ram:1M --nvmf --tcp 127.0.0.1:0 --ib mlx5_0
error 2 usage '' '--ib follow --srp' ours serve ram:1M --ib mlx5_0 --nvmf --tcp 127.0.0.1:0 --srp
error 2 usage '' 'ib mlx5_0/x' ours serve ram:1M --srp --ib mlx5_0/x
[ -e /sys/class/infiniband_mad ] || error 1 no-module '.*' '' ours serve ram:1M --srp --ib mlx5_0/1
