#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The scripts for initramfs-tools in a root of their own, also with a shell and only the commands of klibc: what the hook
# installs, when disks are attached, what is printed then and before the shell. Plans are those of the binary.
# shellcheck disable=SC2016,SC2154 # scripts; names of lib.sh
. "$(dirname "$0")/lib.sh"
requires unshare busybox
as=()
[ "$(id -u)" = 0 ] || as=(-U -r)
unshare "${as[@]}" -mn true 2>/dev/null || { echo "needs root or user namespaces"; exit 77; }
scripts=$top/initramfs/initramfs-tools

# image COMMAND…: a new root with these commands of busybox
image() {
	rm -rf root
	mkdir -p root/{bin,sbin,usr/bin,conf,dev,run,root,proc,etc/{nvme,iscsi,init/conf.d},out,usr/share/initramfs-tools}
	cp "$(command -v busybox)" root/bin/busybox
	for command; do ln -s busybox "root/bin/$command"; done
	cat >root/usr/bin/rdmastor <<-'S'
		#!/bin/sh
		echo "rdmastor $*" >>/log
		case $* in
		*--dry-run*) cat /plan 2>/dev/null ;;
		*--network) cat /words 2>/dev/null ;;
		*--needs) cat /needs ;;
		*--needs*) cat "/needs-${3%%:*}" 2>/dev/null ;;
		*) cat /messages >&2 2>/dev/null; cat /devices 2>/dev/null; [ ! -s /messages ] ;;
		esac
	S
	chmod +x root/usr/bin/rdmastor
	cp -a "$scripts/scripts" root/scripts
	cp "$scripts/hooks/rdmastor" root/hook
	: >root/log
	: >root/proc/cmdline
	: >root/needs
	: >root/dev/null
}
# inside COMMAND…: run it in that root
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "${vars[@]}" unshare "${as[@]}" -m chroot "$PWD/root" "$@"; }
logged() { printf '%s\n' "$@" >wanted; diff wanted root/log || die "the calls differ"; }
holds() { grep -qxF -e "$2" "$1" || die "$1 has no line '$2': $(cat "$1")"; }
lacks() { ! grep -qF -e "$2" "$1" || die "$1 has '$2': $(cat "$1")"; }

# --- the hook
build() {
	image sh cat sed sort tr grep find mkdir umask
	cat >root/usr/share/initramfs-tools/hook-functions <<-'S'
		copy_exec() { echo "copy_exec $*" >>/log; }
		copy_file() { [ -f "$2" ] && echo "copy_file $*" >>/log; }
		copy_modules_dir() { echo "copy_modules_dir $*" >>/log; }
		manual_add_modules() { for m; do echo "module $m" >>/log; done; }
	S
	echo nqn >root/etc/nvme/hostnqn
	echo key >"root/etc/nvme/the key"
	printf 'ISCSI_TARGET_NAME=iqn.a:b\nISCSI_PASSWORD="hush"\n' >root/etc/iscsi/iscsi.initramfs
	cat >root/etc/init/conf.d/rdmastor <<-'S'
		RDMASTOR="nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/nvme/the%20key nbd://10.0.0.2/x,via=nbd"
		RDMASTOR_TIMEOUT=30
	S
	mkdir -p "root/nvme+tcp:/10.0.0.1/nqn.x+tls-key-file=/etc/nvme/the%20key" # which the URI matches as a pattern
	printf 'module mlx5_core\nmodule nvme_rdma\nword rd.rdmastor=nvme+rdma://10.0.0.3/nqn.y\n' >root/needs
	printf 'module nvme_tcp\nfile /etc/nvme/the key\nfile /etc/none\n' >root/needs-nvme+tcp
	echo module nbd >root/needs-nbd
	echo module iscsi_tcp >root/needs-iscsi
	echo 'quiet rd.rdmastor=iscsi://10.0.0.3/iqn.a/0 rd.rdmastor.timeout=5' >root/proc/cmdline
	vars=(CONFDIR=/etc/init DESTDIR=/out "MODULES=$1")
}
vars=()
build dep
same "before it" "$(inside /bin/sh /hook prereqs)" "iscsi resume"
inside /bin/sh -c 'umask 022; exec sh /hook' >out 2>err || die "the hook: $(cat out err)"
printf '%s\n' 'rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/nvme/the%20key' rd.rdmastor=nbd://10.0.0.2/x,via=nbd \
	rd.rdmastor.timeout=30 | diff - root/out/etc/cmdline.d/rdmastor.conf || die "its parameters"
for line in 'copy_exec /usr/bin/rdmastor /usr/bin/rdmastor' 'copy_file config /etc/nvme/hostnqn' 'copy_file secret /etc/nvme/the key' \
	'copy_file config /etc/iscsi/iscsi.initramfs' 'module mlx5_core' 'module nvme_rdma' 'module nvme_tcp' 'module nbd' 'module iscsi_tcp' 'module af_packet'; do
	holds root/log "$line"
done
lacks root/log 'module ib_srp'
lacks root/log copy_modules_dir
grep -q '/etc/none: ' err || die "no word of the missing file: $(cat err)"
grep -q 'UMASK=0077' err || die "no word of secrets that others can read: $(cat err)"
build dep
inside /bin/sh -c 'umask 077; exec sh /hook' >out 2>err || die "the hook: $(cat out err)"
lacks err UMASK
lacks root/log 8021q
lacks root/log 'copy_exec /usr/bin/ip'
build dep
printf '%s\n' ifname=nbft0:52:54:00:00:00:01 ip=10.0.1.2:::24::nbft0.5:none vlan=nbft0.5:nbft0 >root/words
install -m 755 /dev/null root/usr/bin/ip
inside /bin/sh /hook >out 2>err || die "the hook: $(cat out err)"
holds root/log 'module 8021q'
holds root/log 'copy_exec /usr/bin/ip'
# nothing secret, and open-iscsi's hook has taken its file
build most
touch root/out/iscsistart
mkdir root/out/sbin && install -m 755 /dev/null root/out/sbin/iscsistart
rm root/etc/init/conf.d/rdmastor
inside /bin/sh /hook >out 2>err || die "the hook: $(cat out err)"
[ ! -s err ] || die "$(cat err)"
[ ! -s root/out/etc/cmdline.d/rdmastor.conf ] || die "unexpected parameters"
holds root/log 'copy_modules_dir kernel/drivers/infiniband isert srpt rtrs'
holds root/log 'module ib_srp'
holds root/log 'module nvme_rdma'
lacks root/log iscsi.initramfs
build most
echo RDMASTOR=none >root/etc/init/conf.d/rdmastor
inside /bin/sh /hook >out 2>err || die "unexpected: $(cat err)"
[ ! -s root/log ] || die "unexpected: $(cat root/log)"

# A machine without remote disks: nothing is added, until a disk is named or the administrator asks.
local_machine() {
	build most
	rm root/etc/init/conf.d/rdmastor root/etc/iscsi/iscsi.initramfs root/needs-*
	echo quiet >root/proc/cmdline
	: >root/needs
	echo '{"results":[]}' >root/plan
}
added() {
	inside /bin/sh /hook >out 2>err || die "$1: $(cat out err)"
	[ ! -s err ] || die "$1: $(cat err)"
	holds root/log 'copy_exec /usr/bin/rdmastor /usr/bin/rdmastor'
	holds root/log 'module ib_srp'
}
local_machine
mkdir root/etc/default
echo '#GRUB_CMDLINE_LINUX="rd.rdmastor=nvme+tcp://h/x"' >root/etc/default/grub
vars+=(RESUME=UUID=1234)
inside /bin/sh /hook >out 2>err || die "no remote disk: $(cat out err)"
[ ! -s out ] && [ ! -s err ] || die "no remote disk: $(cat out err)"
lacks root/log copy_
lacks root/log module
[ ! -e root/out/etc ] || die "no remote disk: $(find root/out)"
for how in yes nvme+tcp://10.0.0.1/nqn.x; do
	local_machine
	: >root/needs-nvme+tcp
	echo "RDMASTOR=$how" >root/etc/init/conf.d/rdmastor
	added "RDMASTOR=$how"
	[ "$how" = yes ] && how= || how=rd.rdmastor=$how
	same "its parameters" "$(cat root/out/etc/cmdline.d/rdmastor.conf)" "$how"
done
local_machine
echo module nvme_tcp >root/needs
added "the root"
for file in proc/cmdline etc/kernel/cmdline etc/default/grub etc/default/grub.d/x.cfg; do
	local_machine
	mkdir -p root/etc/kernel root/etc/default/grub.d
	echo 'GRUB_CMDLINE_LINUX="quiet rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x?a=b&c=d"' >"root/$file"
	echo module nvme_tcp >root/needs-nvme+tcp
	added "$file"
	holds root/log 'rdmastor boot --needs nvme+tcp://10.0.0.1/nqn.x?a=b&c=d'
done
local_machine
mkdir -p root/out/conf/conf.d root/needs-/dev/disk/by-uuid
echo RESUME=UUID=77 >root/out/conf/conf.d/zz-resume-auto
echo module nvme_tcp >root/needs-/dev/disk/by-uuid/77
added "the disk to resume from"
holds root/log 'module nvme_tcp'
local_machine
echo '{"results":[{"from":"iscsi","via":"kernel","applet":"iser-login"}]}' >root/plan
added "other kernel parameters, or the firmware"
local_machine
install -D -m 755 /dev/null root/out/sbin/iscsistart
: >root/etc/iscsi/iscsi.initramfs
inside /bin/sh /hook >out 2>err || die "left to open-iscsi: $(cat out err)"
lacks root/log copy_
holds root/log 'rdmastor boot --dry-run --timeout 100ms --mount / --skip iscsi --json'
local_machine
: >root/etc/iscsi/iscsi.initramfs
added "the file of open-iscsi, without its program"
build dep
mv root/usr/bin/rdmastor root/usr/bin/other
inside /bin/sh /hook >out 2>err || die "without the binary: $(cat err)"
[ ! -s root/log ] || die "without the binary: $(cat root/log)"

# --- at boot

# boot BOOT CMDLINE: the root that it boots from
boot() {
	image sh cat mkdir
	echo "$2" >cmdline
	unshare "${as[@]}" -mn bash -c 'mount -t tmpfs none /etc; mount -t tmpfs none /sys/firmware; mount --bind cmdline /proc/cmdline
		exec "$@"' - "$RDMASTOR" boot --dry-run --mount /root --json >root/plan 2>/dev/null
	cat >root/scripts/functions <<-'S'
		configure_networking() { echo configure_networking >>/log; IPV4DNS0=10.0.0.9 IPV4DNS1=0.0.0.0; }
		wait_for_udev() { echo wait_for_udev >>/log; }
		log_begin_msg() { :; }
		log_end_msg() { :; }
		get_fstype() { [ "$1" = /dev/sdb ]; }
		panic() { echo "panic $*" >>/log; echo "server:/x /root nfs" >>/proc/mounts; }
	S
	echo 'echo nfs >>/log' >root/scripts/nfs
	echo 'rootfs / rootfs' >root/proc/mounts
	printf '#!/bin/sh\necho "${0##*/}" "$@" >>/log\n' >root/sbin/modprobe
	chmod +x root/sbin/modprobe
	cp root/sbin/modprobe root/bin/ipconfig
	vars=(rootmnt=/root "BOOT=$1" IP=dhcp ROOT=LABEL=root)
}
premount() { inside /scripts/init-premount/rdmastor >out 2>err || die "init-premount: $(cat err)"; [ ! -s err ] || die "$(cat err)"; }
local_top() { inside /scripts/local-top/rdmastor >out 2>err || die "local-top: $(cat err)"; }
attached='rdmastor boot'
planned='rdmastor boot --dry-run --timeout 100ms --mount /root --json'

# nothing to do
boot local quiet
premount
local_top
logged "$planned"
inside /scripts/panic/rdmastor >out || die "panic: status $?"
[ ! -s out ] || die "$(cat out)"
same "before it" "$(inside /scripts/local-top/rdmastor prereqs)" iscsi

# the network first, udev afterwards
boot local rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x
premount
local_top
logged "$planned" wait_for_udev 'modprobe af_packet' configure_networking "$attached" wait_for_udev
same "the name server" "$(cat root/etc/resolv.conf)" "nameserver 10.0.0.9"
[ ! -s err ] || die "$(cat err)"
[ ! -e root/conf/param.conf ] || die "$(cat root/conf/param.conf)"
inside /scripts/panic/rdmastor >out || die "panic: status $?"
[ ! -s out ] || die "$(cat out)"
boot local rd.rdmastor=srp://fe80::1/0002c903004ed0b2/0002c903004ed0b3
vars+=(IP=off)
premount
local_top
logged "$planned" wait_for_udev 'modprobe af_packet' "$attached" wait_for_udev

# without ip= the network is the firmware's, as the binary prints it
boot local rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x
vars+=(IP=)
cat >root/words <<-'W'
	ifname=nbft0:52:54:00:00:00:01
	ip=10.0.0.2::10.0.0.1:20:host:nbft0:none:10.0.0.9
	ifname=nbft1:52:54:00:00:00:02
	ip=[fd00::2]::[fd00::1]:64::nbft1:none:[fd00::53]:10.0.0.53
	ip=10.0.1.2:::255.255.255.0::nbft1.5:none
	vlan=nbft1.5:nbft1
	ip=nbft1.6:dhcp6
	vlan=nbft1.6:nbft1
	ip=nbft1.7:dhcp
	vlan=nbft1.7:nbft1
	ifname=nbft2:52:54:00:00:00:09
	ip=10.0.2.2:::24::nbft2:none
	ifname=ibft0:52:54:00:00:00:03
	ip=ibft0:dhcp
W
for device in 1 2 3; do
	mkdir -p "root/sys/class/net/eth$device"
	echo "52:54:00:00:00:0$device" >"root/sys/class/net/eth$device/address"
done
mkdir root/sys/class/net/br.7 # a VLAN has the address of its interface
echo 52:54:00:00:00:02 >root/sys/class/net/br.7/address
cp -r root firmware
: >root/run/net-eth1.conf # as ipconfig leaves it
echo 'ip() { echo "ip $*" >>/log; }' >>root/scripts/functions # busybox has a command ip of its own
premount
local_top
vlan() { printf '%s\n' 'modprobe -q 8021q' 'ip link set eth2 up' "ip link add link eth2 name nbft1.$1 type vlan id $1" "ip link set nbft1.$1 up"; }
mapfile -t vlans < <(vlan 5; echo 'ipconfig -t 30 -d 10.0.1.2:::255.255.255.0::nbft1.5:none::'; vlan 6; echo 'ip link set nbft1.6 up'
	vlan 7; echo 'ipconfig -t 30 -c dhcp -d nbft1.7')
logged "$planned" wait_for_udev 'modprobe af_packet' 'rdmastor boot --network' \
	'ipconfig -t 30 -d 10.0.0.2::10.0.0.1:255.255.240.0:host:eth1:none:10.0.0.9:' \
	'ip link set eth2 up' 'ip -6 addr replace fd00::2/64 dev eth2' 'ip -6 route replace default via fd00::1 dev eth2' "${vlans[@]}" \
	'ipconfig -t 30 -c dhcp -d eth3' configure_networking "$attached" wait_for_udev
same "name servers" "$(cat root/etc/resolv.conf)" $'nameserver fd00::53\nnameserver 10.0.0.53\nnameserver 10.0.0.9'
same "what is not set up" "$(sed 's/^\(rdmastor: [^:]*: [^:]*\).*/\1/' err)" \
	$'rdmastor: nbft1.6: DHCPv6 is not supported\nrdmastor: nbft2: no network interface has the address 52'

# ... with IPv6 alone, there is no DHCP
cp -r firmware root2
rm -rf root && mv root2 root
printf '%s\n' ifname=nbft0:52:54:00:00:00:01 ip=[fd00::2]:::64::nbft0:none >root/words
echo 'ip() { echo "ip $*" >>/log; }' >>root/scripts/functions
premount
local_top
logged "$planned" wait_for_udev 'modprobe af_packet' 'rdmastor boot --network' 'ip link set eth1 up' 'ip -6 addr replace fd00::2/64 dev eth1' \
	"$attached" wait_for_udev

# ... and if the image has no command for IPv6 and VLANs, this is reported, also before the shell
rm -rf root
mv firmware root
echo 'ip() { return 127; }' >>root/scripts/functions
echo 'rdmastor boot: a://x: no route' >root/messages
premount
local_top
for words in 'eth2: fd00::2 is not set: .*command ip' 'eth2: VLAN 5 is not .*command ip' 'eth2: VLAN 7 is not .*command ip'; do
	grep -q "^rdmastor: $words" err || die "no word of it: $(cat err)"
done
holds root/log 'ipconfig -t 30 -c dhcp -d eth3'
inside /scripts/panic/rdmastor >out || die "panic: status $?"
grep -q '^rdmastor: eth2: VLAN 5 is not set up' out || die "panic: $(cat out)"

# failures: each on a line of its own with its hint, also before the shell; a word that is wrong counts as something to do
boot local rd.rdmastor=foo://x
cat >root/messages <<'M'
rdmastor boot: a://x: no route: trying again
rdmastor boot: a://x: no\route
hint: ip route
rdmastor boot: b://y: unknown scheme
M
premount
local_top
cat >wanted <<'M'
rdmastor boot: a://x: no route: trying again
rdmastor boot: a://x: no\route; hint: ip route
rdmastor boot: b://y: unknown scheme
M
diff wanted err || die "messages"
inside /scripts/panic/rdmastor >out || die "panic: status $?"
sed 1d wanted | diff - <(head -n 2 out) || die "panic"
grep -q "^rdmastor: 'rdmastor status'" out || die "no way out: $(cat out)"

# iSCSI: left to open-iscsi; or else root=iscsi: is the first disk with a file system
iscsi="root=iscsi:10.0.0.1::::iqn.a:b rd.iscsi.initiator=iqn.a:me"
boot local "$iscsi"
install -m 755 /dev/null root/sbin/iscsistart
premount
local_top
logged 'rdmastor boot --dry-run --timeout 100ms --mount /root --skip iscsi --json' wait_for_udev 'modprobe af_packet' configure_networking 'rdmastor boot --skip iscsi' wait_for_udev
boot local "$iscsi"
vars+=(ROOT=iscsi:10.0.0.1::::iqn.a:b)
printf 'other: /dev/sdb\niscsi: /dev/sda\niscsi: /dev/sdb\niscsi: /dev/sdc\n' >root/devices
premount
local_top
same "the root" "$(cat root/conf/param.conf)" ROOT=/dev/sdb

# NFS over RDMA has its own script, other ways to boot are left alone
nfs="root=/dev/nfs nfsroot=10.0.0.1:/srv,rdma"
for how in local nfs; do
	boot $how "$nfs"
	premount
	same "$how: the script that mounts it" "$(cat root/conf/param.conf)" BOOT=rdmastor
done
boot live "$nfs"
premount
[ ! -e root/conf/param.conf ] || die "$(cat root/conf/param.conf)"
boot nfs "root=/dev/nfs nfsroot=10.0.0.1:/srv"
premount
[ ! -e root/run/rdmastor ] || die "NFS over TCP was taken"
boot rdmastor "$nfs"
premount
inside /bin/sh -c '. /scripts/functions; . /scripts/rdmastor; mountroot' >out 2>err || die "mountroot: $(cat err)"
once=(wait_for_udev 'modprobe af_packet' configure_networking "$attached --mount /root" wait_for_udev)
logged "$planned" nfs "${once[@]}" 'panic The NFS root is not mounted on /root' "${once[@]}"
exit 0
