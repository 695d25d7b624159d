#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nfsrdma-mount --dry-run prints the mount that it would make, from operands, a URI, and the kernel command line.
. "$(dirname "$0")/lib.sh"
requires jq
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || { echo "this machine has RDMA devices"; exit 77; }
mkdir dir
dir=$PWD/dir

# prints LINE WORD…
prints() {
	local line=$1
	shift
	"$RDMASTOR" nfsrdma-mount --dry-run "$@" >out 2>err </dev/null || die "$*: $(cat err)"
	[ "$(cat out)" = "$line" ] || die "$*: printed '$(cat out)', not '$line'"
}

prints "mount -i -t nfs -o vers=4.2,proto=rdma,port=20049,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/exp $dir" 127.0.0.1:/exp dir
grep -q 'server.*RDMA' err || die "does not say that no server was asked: $(cat err)"
prints "mount -i -t nfs -o ro,noexec,vers=4.1,proto=rdma,port=20050,addr=127.0.0.1,clientaddr=127.0.0.1,soft,timeo=50 127.0.0.1:/exp $dir" \
	127.0.0.1:/exp dir -o ro,vers=4.1,soft -o noexec,timeo=50,port=20050,rdma
prints "mount -i -t nfs -o vers=4.0,proto=rdma6,port=20050,addr=::1,clientaddr=::1 '[::1]:/exp' $dir" 'nfs+rdma://[::1]:20050/exp?vers=4.0' dir
prints "mount -i -t nfs -o vers=3,proto=rdma,port=20049,addr=127.0.0.1,mountaddr=127.0.0.1,mountvers=3,mountproto=tcp,mountport=999,nolock 127.0.0.1:/exp $dir" \
	127.0.0.1:/exp dir -o v3,mountport=999
# What is printed can be pasted
mkdir "it's a; \$(dir)"
"$RDMASTOR" nfsrdma-mount --dry-run "127.0.0.1:/e x'p" "it's a; \$(dir)" -o 'context="a,b c"' >out 2>err || die "$(cat err)"
eval "set -- $(cat out)"
[ $# = 8 ] && [ "$7" = "127.0.0.1:/e x'p" ] && [ "$8" = "$PWD/it's a; \$(dir)" ] && [[ $6 == *'context="a,b c"'* ]] || die "pasted: $*"
ours nfsrdma-mount --dry-run --json -o ro 127.0.0.1:/exp dir 2>/dev/null >out
jq -e '.version == 2 and .dry_run and .mounted == false and .existed == false and .uri == "nfs+rdma://127.0.0.1/exp" and .directory == $dir and
	.transport == "rdma" and .traddr == "127.0.0.1" and .trsvcid == "20049" and .vers == "4.2" and .flags == "ro" and
	(.data | startswith("vers=4.2,"))' --arg dir "$dir" out >/dev/null || die "JSON: $(cat out)"
# uri OPERAND EXPECTED [OPTION…]
uri() { same "uri of $1" "$(ours nfsrdma-mount --dry-run --json "$1" dir "${@:3}" 2>/dev/null | jq -r .uri)" "$2"; }
uri '[::1]:/a b?#%' 'nfs+rdma://[::1]:20050/a%20b%3F%23%25' -o port=20050
uri 'nfs+rdma://127.0.0.1/exp?vers=3' 'nfs+rdma://127.0.0.1/exp?vers=3' -o mountport=999

# Several at once: the options count for each, and what fails for one leaves the others
mkdir dir2
prints "mount -i -t nfs -o ro,vers=4.2,proto=rdma,port=20049,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/a $dir
mount -i -t nfs -o ro,vers=4.2,proto=rdma,port=20049,addr=127.0.0.2,clientaddr=127.0.0.1 127.0.0.2:/b ${dir}2" 127.0.0.1:/a dir 127.0.0.2:/b dir2 -r
grep -q '127.0.0.2:/b: server' err || die "does not name the mount: $(cat err)"
several() { jq -e "$@" out >/dev/null || die "JSON: $(cat out)"; }
ours nfsrdma-mount --dry-run --json 127.0.0.1:/a dir 127.0.0.2:/b dir2 2>/dev/null >out || die "status $?"
several '.dry_run and ([.mounts[] | .uri, .directory, .traddr, .mounted] ==
	["nfs+rdma://127.0.0.1/a", $dir, "127.0.0.1", false, "nfs+rdma://127.0.0.2/b", $dir + "2", "127.0.0.2", false])' --arg dir "$dir"
error 3 not-found nowhere 'no.such.directory' ours nfsrdma-mount --dry-run --json 127.0.0.1:/a nowhere 127.0.0.2:/b dir2
ours nfsrdma-mount --dry-run --json 127.0.0.1:/a nowhere 127.0.0.2:/b dir2 2>/dev/null >out
several '(.mounts | length) == 2 and .mounts[0].error.code == "not-found" and .mounts[0].directory == "nowhere" and .mounts[1].vers == "4.2"'
"$RDMASTOR" nfsrdma-mount --dry-run 127.0.0.1:/a nowhere 127.0.0.2:/b gone 2>err >out
[ $? = 1 ] && [ ! -s out ] && grep -q nowhere err && grep -q gone err || die "two failures: $(cat out err)"

# The options of mount.nfs(8) and mount(8); -o counts over them
options() { # EXPECTED WORD…: the first mount options
	local expected=$1 line
	shift
	line=$("$RDMASTOR" nfsrdma-mount -f 127.0.0.1:/exp dir "$@" 2>err) || die "$*: $(cat err)"
	[[ $line == "mount -i -t nfs -o $expected,"* ]] || die "$*: printed '$line', not '$expected'"
}
options ro,vers=4.2 -r
options vers=4.2 -w
options vers=4.2,proto=rdma -r -o rw
options ro,vers=3 -w -o ro,v3,mountport=999
options vers=4.2 -t nfs4
options vers=4.1 -t nfs4 -o vers=4.1
options vers=4.2 -n -t nfs
error 2 usage '' '--read-only --read-write' ours nfsrdma-mount -rwf 127.0.0.1:/exp dir
error 2 usage '' "-t 'ext4' nfs4" ours nfsrdma-mount -f -t ext4 127.0.0.1:/exp dir
error 2 usage '' "'--target' mount's" ours nfsrdma-mount --target dir 127.0.0.1:/exp

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo 'needs root and mount namespaces for the rest'; exit 77; }
export RDMASTOR dir
# on_cmdline CMDLINE WORD…
on_cmdline() {
	echo "$1" >cmdline
	shift
	unshare -m sh -c 'mount --bind cmdline /proc/cmdline; exec "$@"' - "$RDMASTOR" nfsrdma-mount --from-cmdline --dry-run "$@" dir
}
[ "$(on_cmdline 'quiet root=nfs4:127.0.0.1:/srv:rdma,soft' 2>err)" = \
	"mount -i -t nfs -o ro,vers=4.2,proto=rdma,port=20049,addr=127.0.0.1,clientaddr=127.0.0.1,soft 127.0.0.1:/srv $dir" ] || die "dracut's form"
[ "$(on_cmdline 'root=/dev/nfs nfsroot=/srv,vers=4.1 ip=127.0.0.2:127.0.0.1:::me:eth0:off rw' -o ro 2>err)" = \
	"mount -i -t nfs -o ro,vers=4.1,proto=rdma,port=20049,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/srv $dir" ] || die "Debian's form"
error 1 not-found 'kernel command line' 'root= nfsroot=' on_cmdline 'root=/dev/sda1' --json
error 2 usage 'kernel command line' "'proto=tcp' RDMA" on_cmdline 'root=nfs:127.0.0.1:/srv:proto=tcp' --json
exit 0
