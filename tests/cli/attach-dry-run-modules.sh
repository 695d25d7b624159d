#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A dry run names each kernel module that is needed, and neither loaded, built in nor installed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires unshare jq
unshare -r chroot / true 2>/dev/null || { echo "needs a user namespace"; exit 77; }
modules=root/lib/modules/6.1.0-x
mkdir -p root/proc/sys/kernel root/sys/module $modules/kernel
cp "$RDMASTOR" root/rdmastor
echo 6.1.0-x >root/proc/sys/kernel/osrelease
echo quiet >root/proc/cmdline

# missing "MODULE…" APPLET WORD…
missing() {
	local modules=$1
	shift
	unshare -r chroot root /rdmastor "$@" --dry-run >out 2>err </dev/null || die "$*: $(cat err)"
	same "modules that $1 lacks" "$(sed -n 's/.*: warning: kernel module \([a-z0-9_]*\) is neither loaded nor installed$/\1/p' err | paste -sd ' ')" "$modules"
	unshare -r chroot root /rdmastor "$@" --dry-run --json >out 2>err </dev/null || die "$* --json: $(cat err)"
	valid out
	same "modules in JSON that $1 lacks" "$(jq -r '[.. | .missing_modules? // empty | .[]] | unique | join(" ")' out)" "$modules"
}

nvme=127.0.0.1/nqn.2024-01.x:a
iscsi=127.0.0.1/iqn.2024-01.x:d
srp='srp+cm://127.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2'
missing nvme_tcp nvmf-connect nvme+tcp://$nvme
missing nvme_rdma nvmf-connect nvme+rdma://$nvme nvme+rdma://$nvme/2
missing iscsi_tcp iser-login iscsi://$iscsi
missing ib_iser iser-login iser://$iscsi
missing ib_srp srp-connect "$srp"
missing 'nfs nfsv4 rpcrdma' nfsrdma-mount 127.0.0.1:/x / -o vers=4.2
missing 'nfs nfsv3 rpcrdma' nfsrdma-mount 127.0.0.1:/x / -o vers=3,nolock,mountport=999
missing 'ib_srp nvme_tcp' boot "$srp" nvme+tcp://$nvme

# installed, built in, loaded
echo 'kernel/nvme-tcp.ko: kernel/nvme-fabrics.ko' >$modules/modules.dep
echo 'kernel/ib_srp.ko' >$modules/modules.builtin
mkdir root/sys/module/iscsi_tcp
touch $modules/kernel/nvme-{tcp,fabrics}.ko
missing '' nvmf-connect nvme+tcp://$nvme
missing '' srp-connect "$srp"
missing '' iser-login iscsi://$iscsi
missing ib_iser iser-login iser://$iscsi
rm $modules/kernel/nvme-fabrics.ko
missing nvme_tcp nvmf-connect nvme+tcp://$nvme
