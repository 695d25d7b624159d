#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An option of qemu-nbd, nbdkit or nvme-cli gets a hint with ours.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
x() { error 2 usage "" "${3:?}" "$RDMASTOR" "$1" ram:1M "$2"; }
while read -r applet option words; do
	x "$applet" "$option" "$words"
done <<'END'
export -k qemu-nbd --nbd.unix:
export --socket=/run/x qemu-nbd --nbd.unix:
export -U nbdkit --nbd.unix:
export -p qemu-nbd --nbd
export --bind=0.0.0.0 qemu-nbd --nbd
export -r qemu-nbd --ro
export --read-only qemu-nbd --ro
export -x qemu-nbd --name
export --export-name=a qemu-nbd --name
export -e qemu-nbd --clients
export -c qemu-nbd --nbd-dev
export -d qemu-nbd detach
export -t qemu-nbd export
export -f qemu-nbd raw
export --fork qemu-nbd --daemon
export -P nbdkit --pid-file
export --tls-creds=t qemu-nbd --tls-certificates
export --tls=require nbdkit --tls-psk-file
serve -a nvme-cli --tcp --rdma
serve --trsvcid=4420 nvme-cli --tcp --rdma
serve -n nvme-cli --nqn
serve --hostnqn=nqn.a nvme-cli --allow-host
END
error 1 - 'nbd x[.]sock' '^hint:.*--nbd.unix:x[.]sock' "$RDMASTOR" export ram:1M --nbd x.sock
