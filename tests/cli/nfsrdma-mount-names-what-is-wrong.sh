#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nfsrdma-mount: each wrong call and each thing that this machine lacks has its own message and status, also as mount(8)'s helper.
. "$(dirname "$0")/lib.sh"
requires jq unshare
m="$RDMASTOR nfsrdma-mount"
mkdir dir
touch file

# shellcheck disable=SC2086 # several words
{
	fails 2 'what to mount is missing: HOST:/PATH or nfs\+rdma://HOST/PATH' $m
	fails 2 'the directory to mount on is missing' $m 127.0.0.1:/exp
	fails 2 'the directory to mount on is missing' $m --from-cmdline
	fails 2 "'x' is one operand too many" $m 127.0.0.1:/exp dir x
	fails 2 "'127.0.0.1' is neither HOST:/PATH nor nfs\\+rdma://HOST/PATH" $m 127.0.0.1 dir
	fails 2 'an IPv6 address is written in brackets' $m fd00::1:/exp dir
	fails 2 "'nvme\\+rdma://127.0.0.1/x' is not an nfs\\+rdma: URI" $m nvme+rdma://127.0.0.1/x dir
	fails 2 'colour' $m 'nfs+rdma://127.0.0.1/exp?colour=red' dir
	fails 2 "option 'proto=tcp': this mounts over RDMA" $m 127.0.0.1:/exp dir -o proto=tcp
	grep -q '^hint: --fallback tcp' fails.err || die 'no way out is named'
	fails 2 "option 'xprtsec=tls': this mounts over RDMA" $m 127.0.0.1:/exp dir -o xprtsec=tls
	fails 2 "option 'vers=2' is no version of NFS over RDMA" $m 127.0.0.1:/exp dir -o vers=2
	fails 2 'option port: must be 1 to 65535' $m 127.0.0.1:/exp dir -o soft,port=0
	fails 2 'NFS 3 has no minor versions' $m 127.0.0.1:/exp dir -o vers=3,minorversion=1
	fails 2 "--fallback: 'udp' is not one of none\\|tcp" $m 127.0.0.1:/exp dir --fallback udp
	fails 1 "there is no directory 'nowhere' to mount on: no such file or directory" $m 127.0.0.1:/exp nowhere
	fails 1 "there is no directory '' to mount on: no such file or directory" $m 127.0.0.1:/exp ""
	fails 1 "$PWD/file is no directory" $m 127.0.0.1:/exp file
	fails 1 'no such host|no name server answers|no answer for host name' $m no-such-host.invalid:/exp dir --timeout 6
	fails 1 "there is no directory 'nowhere'" $m 127.0.0.1:/exp nowhere --json
	[ "$(jq -r .error.code fails.out)" = not-found ] || die "JSON says $(cat fails.out)"
}
ln -s "$RDMASTOR" mount.nfsrdma
fails 32 "rdmastor mount.nfsrdma: there is no directory 'nowhere'" ./mount.nfsrdma 127.0.0.1:/exp nowhere -s -n -v -o rw,_netdev
fails 1 '^Usage: ./mount.nfsrdma HOST:/PATH DIR \[-sfnv\] \[-o OPTIONS\]' ./mount.nfsrdma --nonsense
fails 1 "option 'udp': this mounts over RDMA" ./mount.nfsrdma 127.0.0.1:/exp dir -o udp

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }
# with NAMES WORD…: runs it in a /sys/module that has these and an empty /sys/class, and with no modprobe
with() {
	local names=$1
	shift
	unshare -mn bash -c "mount -t tmpfs none /sys/class; mount -t tmpfs none /sys/module; cd /sys/module; mkdir -p x $names; cd '$PWD'; PATH=/nowhere exec \"\$@\"" - "$@"
}
# shellcheck disable=SC2086 # several words
{
	fails 1 '127.0.0.1:/exp: the kernel module nfs is not loaded: ' with '' $m 127.0.0.1:/exp dir
	fails 1 'the kernel module nfsv4 is not loaded: ' with nfs $m 127.0.0.1:/exp dir
	fails 1 'the kernel module nfsv3 is not loaded: ' with 'nfs nfsv4' $m 127.0.0.1:/exp dir -o vers=3
	fails 1 'the kernel module rpcrdma is not loaded: ' with 'nfs nfsv4' $m 127.0.0.1:/exp dir
	grep -q '^hint: --fallback tcp mounts without RDMA' fails.err || die 'no way out is named'
	fails 1 'RDMA: the kernel module rpcrdma is not loaded: .*; TCP: ' with 'nfs nfsv4' $m 127.0.0.1:/exp dir --fallback tcp
	fails 1 'there is no RDMA device' with "nfs nfsv4 rpcrdma ib_core ib_uverbs ../class/misc/rdma_cm" $m 127.0.0.1:/exp dir
	fails 1 'dir is in use: none \(tmpfs\) is mounted on it' unshare -m bash -c "mount -t tmpfs none dir; exec $m 127.0.0.1:/exp dir"
	grep -q '^hint: umount .* first, or mount over it with --force' fails.err || die 'no way out is named'
	fails 1 'no NFS is mounted on' $m 127.0.0.1:/exp dir -o remount,ro
}
if command -v setpriv >/dev/null; then
	chmod 755 "$TMP"
	cp "$RDMASTOR" binary
	fails 1 'only root can mount' setpriv --reuid 65534 --clear-groups ./binary nfsrdma-mount 127.0.0.1:/exp dir
fi
exit 0
