#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The scripts of the dracut module, with dracut's functions and the binary replaced: when disks are attached, what reaches the console and
# when, and the order at the end.
# shellcheck disable=SC2016,SC2034,SC2154 # scripts; names of lib.sh
. "$(dirname "$0")/lib.sh"
mkdir -p bin run sys/block/{ublkb0,ublkb1,nbd0,nbd1,sda} sys/class/{nvme,iscsi_session} hooks/initqueue/finished cmdline.d sbin
: >sys/block/nbd0/pid
cat >dracut-lib.sh <<-'S'
	warn() { echo "$*" >>console; }
	need_shutdown() { echo need_shutdown >>calls; }
	getargs() { :; }
	getargbool() { false; }
	fsck_single() { echo "fsck_single $*" >>calls; }
S
cat >bin/rdmastor <<-'S'
	#!/bin/sh
	echo "$*" >>calls
	case $* in
	*--network*) ;;
	*--dry-run*) cat plan ;;
	boot*)
		echo /dev/nvme0n1
		echo 'rdmastor boot: a: refused: trying again' >&2
		until grep -qs again console; do sleep 0.1; done # a message is shown before the end
		printf '%s\n' 'rdmastor boot: a: refused' 'hint: do this' 'rdmastor boot: b: no module' >&2
		exit 3
		;;
	esac
S
printf '#!/bin/sh\necho "mount $*" >>calls\n' >bin/mount
chmod +x bin/rdmastor bin/mount
# sourced SCRIPT [VARIABLE=VALUE…]: as dracut does; prints its variables root, rootok and main_loop
sourced() {
	sed "s#/lib/dracut-lib.sh#./dracut-lib.sh#; s#/run/rdmastor#run/rdmastor#g; s#/etc/cmdline.d#cmdline.d#; s#/sys/#sys/#g; s#/sbin/#sbin/#g; s#/usr/lib/systemd/#systemd/#; \
		s#/proc/#./#" \
		"$top/initramfs/dracut/71rdmastor/$1.sh" >script
	env PATH="$PWD/bin:$PATH" hookdir=hooks NEWROOT=/sysroot "${@:2}" sh -c '. ./dracut-lib.sh; . ./script || exit; echo "$root:$rootok:$main_loop"'
}
is() { printf '%s\n' "${@:2}" | diff - "$1" || die "$1"; }

echo '{"results":[]}' >plan
same "nothing to attach" "$(sourced parse-rdmastor root=LABEL=x)" LABEL=x::
[ ! -e run/rdmastor ] && [ ! -e cmdline.d/40-rdmastor.conf ] || die "it prepares something"

echo '{"results":[{"uri":"x","from":"rd.rdmastor"}]}' >plan
same "a disk" "$(sourced parse-rdmastor root=LABEL=x)" LABEL=x::
is cmdline.d/40-rdmastor.conf rd.neednet=1
grep -qx need_shutdown calls && grep -qx 'mount -o remount,exec /run' calls || die "no way out"
grep -qx 'boot --dry-run --timeout 100ms --mount /sysroot --json' calls || die "names are waited for without a network: $(cat calls)"
! sh -c '. ./hooks/initqueue/finished/rdmastor.sh' || die "finished before it began"
same "NFS" "$(sourced parse-rdmastor root=nfs4:10.0.0.1:/exp:rdma)" nfs:1:

echo 'rd.rdmastor=a?b ip=10.0.0.2' >cmdline.d/71rdmastor.conf
mkdir systemd
printf '#!/bin/sh\necho "$*" >words\n' >systemd/systemd-network-generator
chmod +x systemd/systemd-network-generator
echo "quiet root=LABEL=x" >cmdline
sourced parse-rdmastor >loop
is words '-- rd.rdmastor=a?b ip=10.0.0.2'
echo "ip=10.0.0.3 quiet" >cmdline
sourced parse-rdmastor >loop
is words '--'

echo 'touch attaching' >sbin/rdmastor-boot
chmod +x sbin/rdmastor-boot
sourced rdmastor-settled RDRETRY=100 main_loop=3 >loop
is loop ::3
wait_until test -e attaching
rm attaching || die "nothing was started"

same "iSCSI" "$(sourced parse-rdmastor root=iscsi:10.0.0.1::::iqn.a:b)" rdmastor:1:

sourced rdmastor-boot >out
is console 'rdmastor boot: a: refused: trying again' 'rdmastor boot: a: refused; hint: do this' 'rdmastor boot: b: no module'
is run/rdmastor/status 3
is run/rdmastor/devices /dev/nvme0n1
sourced rdmastor-settled RDRETRY=100 main_loop=3 >loop
is loop ::3
echo 139 >run/rdmastor/status # killed by a signal
sourced rdmastor-settled RDRETRY=100 main_loop=4 rdmastor_rounds=9 >loop
is loop ::100
echo 1 >run/rdmastor/status
sourced rdmastor-settled RDRETRY=100 main_loop=3 rdmastor_rounds=8 >loop
is loop ::3
sourced rdmastor-settled RDRETRY=100 main_loop=4 rdmastor_rounds=9 >loop
is loop ::100
sourced rdmastor-settled RDRETRY=100 main_loop=5 rdmastor_rounds=10 >loop
is loop ::5
[ ! -e attaching ] || die "started twice"

# root=iscsi:… is the first of its disks with a file system
printf '%s\n' 'other: /dev/sdb' 'iscsi: /dev/sda' 'iscsi: /dev/sdb' 'iscsi: /dev/sdc' >run/rdmastor/devices
printf '%s\n' '#!/bin/sh' 'case $* in settle*) echo settle >>calls ;; *sda) ;; *) echo ID_FS_USAGE=filesystem ;; esac' >bin/udevadm
printf '%s\n' '#!/bin/sh' 'echo "mount $*" >>calls' >bin/mount
chmod +x bin/udevadm bin/mount
: >calls
sourced rdmastor-mount root=block:/dev/sda >out
[ ! -s calls ] || die "another root: $(<calls)"
sourced rdmastor-mount root=rdmastor fstype=auto rflags=rw >out
is calls settle 'fsck_single /dev/sdb auto' 'mount -t auto -o rw /dev/sdb /sysroot'

: >calls
echo 1.2 0 >uptime
sourced rdmastor-shutdown >out
calls=('detach --timeout 5 /dev/ublkb0' 'detach --timeout 5 /dev/ublkb1' 'detach --timeout 5 /dev/nbd0' 'nvmf-disconnect --all --timeout 5'
	'iser-logout --all --timeout 5')
is calls "${calls[@]}"

# a disk in use fails at once: again, without its message; the last time with it, and after a timeout
cat >bin/rdmastor <<-'S'
	#!/bin/sh
	echo "$*" >>calls
	case $* in
	detach*ublkb1)
		echo 'rdmastor detach: failed' >&2
		read -r seconds _ <uptime
		echo "$((${seconds%.*} + $(cat takes))).01 0" >uptime
		exit 1
		;;
	esac
S
# ends [VARIABLE=VALUE…]
ends() {
	: >calls
	echo 99.9 0 >uptime
	local status=0
	sourced rdmastor-shutdown "$@" >out || status=$?
	is calls "${calls[@]}"
	return $status
}
echo 0 >takes
! ends || die "busy: not again"
[ ! -s out ] || die "busy: $(<out)"
ends final=final || die "busy: the last time"
is out 'rdmastor detach: failed' ::
echo 5 >takes
ends || die "after a timeout: again"
is out 'rdmastor detach: failed' ::
