#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nfsrdma-mount: each wrong call and each missing part of this machine has its own message and status, also as mount(8)'s helper.
. "$(dirname "$0")/lib.sh"
requires jq unshare
m="$RDMASTOR nfsrdma-mount"
mkdir dir
touch file

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'HOST:/PATH missing|given' $m
	error 2 usage '' 'dir missing|given' $m 127.0.0.1:/exp
	error 2 usage '' 'dir missing|given' $m --from-cmdline
	error 2 usage '' "'x'" $m 127.0.0.1:/exp dir x
	error 2 usage '' "'127.0.0.2:/exp' dir missing" $m 127.0.0.1:/exp dir 127.0.0.2:/exp
	error 2 usage '' "'x' HOST:/PATH" $m 127.0.0.1:/exp dir x dir
	error 2 usage '' "'dir2'" $m --from-cmdline dir dir2
	error 2 usage '' "'127.0.0.1' HOST:/PATH" $m 127.0.0.1 dir
	error 2 usage '' "'fd00::1:/exp' \\[fd00::1\\]:/" $m fd00::1:/exp dir
	error 2 usage '' "'nvme[+]rdma://127.0.0.1/x' nfs[+]rdma:" $m nvme+rdma://127.0.0.1/x dir
	error 2 usage 'nfs[+]rdma://127.0.0.1/exp[?]colour=red' "'colour'" \
		$m 'nfs+rdma://127.0.0.1/exp?colour=red' dir
	error 2 usage '' "'proto=tcp' RDMA --fallback.tcp" $m 127.0.0.1:/exp dir -o proto=tcp
	error 2 usage '' "'xprtsec=tls' RDMA" $m 127.0.0.1:/exp dir -o xprtsec=tls
	error 2 usage '' "'vers=2' 4.2" $m 127.0.0.1:/exp dir -o vers=2
	error 2 usage '' '\<port\> 65535' $m 127.0.0.1:/exp dir -o soft,port=0
	error 2 usage '' 'NFS.?v?3 minor' $m 127.0.0.1:/exp dir -o vers=3,minorversion=1
	error 2 usage '' "--fallback 'udp' none tcp" $m 127.0.0.1:/exp dir --fallback udp
	error 1 not-found nowhere 'no.such.directory' $m 127.0.0.1:/exp nowhere
	error 1 not-found "''" 'no.such.directory' $m 127.0.0.1:/exp ""
	error 1 not-found file/dir 'not.a.directory' $m 127.0.0.1:/exp file/dir
	error 1 not-found "$PWD/file" 'not.a.directory' $m 127.0.0.1:/exp file
	error 1 - 'no-such-host.invalid:/exp: ' 'no\ssuch\shost|name\sserver|host\sname' \
		$m no-such-host.invalid:/exp dir --timeout 6
}
ln -s "$RDMASTOR" mount.nfsrdma
error 32 - '^rdmastor mount.nfsrdma: nowhere: ' 'no.such.directory' \
	./mount.nfsrdma 127.0.0.1:/exp nowhere -s -n -v -r -t nfs -o rw,_netdev
error 1 - "^rdmastor mount.nfsrdma: .*'127.0.0.2:/exp'" unexpected ./mount.nfsrdma 127.0.0.1:/exp dir 127.0.0.2:/exp dir
error 1 - '^Usage: ./mount.nfsrdma HOST:/PATH DIR' "'--nonsense'" ./mount.nfsrdma --nonsense
error 1 - "^rdmastor mount.nfsrdma: .*'udp'" RDMA ./mount.nfsrdma 127.0.0.1:/exp dir -o udp

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }
# with NAMES WORD…: runs it in a /sys/module that has these and an empty /sys/class, and with no modprobe
with() {
	local names=$1
	shift
	unshare -mn bash -c "mount -t tmpfs none /sys/class; mount -t tmpfs none /sys/module; cd /sys/module; mkdir -p x $names; cd '$PWD'; PATH=/nowhere exec \"\$@\"" - "$@"
}
# shellcheck disable=SC2086 # several words
{
	error 1 no-module 127.0.0.1:/exp '\<nfs\>' with '' $m 127.0.0.1:/exp dir
	error 1 no-module 127.0.0.1:/exp '\<nfsv4\>' with nfs $m 127.0.0.1:/exp dir
	error 1 no-module 127.0.0.1:/exp '\<nfsv3\>' \
		with 'nfs nfsv4' $m 127.0.0.1:/exp dir -o vers=3
	error 1 no-module 127.0.0.1:/exp '\<rpcrdma\> --fallback.tcp' \
		with 'nfs nfsv4' $m 127.0.0.1:/exp dir
	error 1 unreachable 127.0.0.1:/exp '\<rpcrdma\> TCP.*unreachable' \
		with 'nfs nfsv4' $m 127.0.0.1:/exp dir --fallback tcp
	error 1 no-device 127.0.0.1:/exp 'RDMA.device' \
		with "nfs nfsv4 rpcrdma ib_core ib_uverbs ../class/misc/rdma_cm" $m 127.0.0.1:/exp dir
	error 1 busy "$PWD/dir" 'tmpfs umount --force' \
		unshare -m bash -c "mount -t tmpfs none dir; exec $m --json 127.0.0.1:/exp dir"
	error 1 not-found 127.0.0.1:/exp "$PWD/dir remount NFS" $m 127.0.0.1:/exp dir -o remount,ro
}
if command -v setpriv >/dev/null; then
	chmod 755 "$TMP"
	cp "$RDMASTOR" binary
	error 1 - '127.0.0.1:/exp: ' CAP_SYS_ADMIN \
		setpriv --reuid 65534 --clear-groups ./binary nfsrdma-mount 127.0.0.1:/exp dir
fi
exit 0
