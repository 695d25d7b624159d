#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The dracut module with stubs of dracut's functions: which parameters start an attempt and which are left to dracut's own
# modules, the network of NVMe boot firmware, when the module is needed, and which files it installs.
build=$(dirname "$(readlink -f "$0")")/../vm/nbft_table
. "$(dirname "$0")/lib.sh"
requires unshare python3
unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
# shellcheck disable=SC2154 # from lib.sh
module=$top/initramfs/dracut/71rdmastor
mkdir bin tables sbin run etc hooks
ln -s "$RDMASTOR" bin/rdmastor

# parses CMDLINE [PROGRAM…]: the cmdline hook in an initramfs where dracut's modules have installed these in /sbin
parses() {
	printf '%s\n' "$1" >cmdline
	rm -rf sbin/* run/* etc/* hooks/*
	mkdir -p etc/cmdline.d hooks/initqueue/finished
	shift
	for name; do : >"sbin/$name"; done
	unshare -mn bash -c 'mount --bind sbin /usr/sbin; mount --bind run /run; mount --bind etc /etc; mount -t tmpfs none /sys/firmware
		mkdir -p /sys/firmware/acpi/tables; cp tables/* /sys/firmware/acpi/tables 2>/dev/null; mount --bind cmdline /proc/cmdline
		getargs() { tr " " "\n" </proc/cmdline | sed -n "s/^$1//p"; }
		need_shutdown() { :; }
		PATH=$PWD/bin:$PATH DRACUT_SYSTEMD=1 NEWROOT=/sysroot hookdir=$PWD/hooks root=$(getargs root=)
		. "$1"' - "$module/parse-rdmastor.sh" || die "parse-rdmastor.sh: $?"
}
starts() { [ -e run/rdmastor/skip ] && [ -e hooks/initqueue/finished/rdmastor.sh ] && grep -qx rd.neednet=1 etc/cmdline.d/40-rdmastor.conf; }
skips() { same "skipped parameters" "$(<run/rdmastor/skip)" "$1"; }

parses quiet
! starts || die "there is nothing to attach"
parses rd.rdmastor=ram:1M,via=ublk nvmf-autoconnect.sh iscsiroot
starts || die "one disk"
skips " --skip nvmf --skip iscsi"
parses rd.rdmastor=foo://x
starts || die "a usage error has to be reported on the console"

me=rd.iscsi.initiator=iqn.2024-01.a:me
parses "$me netroot=iscsi:127.0.0.1::::iqn.2024-01.test:root"
starts || die "iSCSI"
[ -x run/rdmastor/handler ] || die "iSCSI: dracut finds no handler for netroot="
parses "$me netroot=iscsi:127.0.0.1::::iqn.2024-01.test:root" iscsiroot
! starts || die "dracut's iscsi module attaches it"
parses "$me netroot=iser:127.0.0.1::::iqn.2024-01.test:root" iscsiroot
starts || die "dracut's iscsi module knows no iSER"
[ -x run/rdmastor/handler ] || die "iSER: no handler for netroot="

"$build" "$HOST" abff48c0-ecbe-4d8c-a64a-54f12797e8c2 hfi=52:54:00:00:01:01,10.0.0.2/24 ssns=nqn.t1,10.0.0.1,4420,1,1 >tables/NBFT
parses quiet nvmf-autoconnect.sh
starts || die "dracut 059 does not read the NBFT"
skips ""
grep -qx 'ifname=nbft0:52:54:00:00:01:01' etc/cmdline.d/40-rdmastor.conf || die "no network: $(cat etc/cmdline.d/*)"
grep -q '^ip=10.0.0.2:.*:nbft0:' etc/cmdline.d/40-rdmastor.conf || die "no address: $(cat etc/cmdline.d/*)"
parses quiet nvmf-autoconnect.sh nbftroot
! starts || die "dracut's nvmf module reads the NBFT"
parses rd.nvmf.nonbft
! starts || die "the NBFT is forbidden"

: >bin/stub
chmod +x bin/stub
ln -sf stub bin/rdmastor

# needed WORD STATUS-OF-DRACUT'S-MODULE OMITTED [VARIABLE=VALUE…]: dracut includes the module on a machine with the kernel command line
# $line, with the boot loader's configuration in the folder own, and where `rdmastor boot` plans $plan
line=quiet plan='{"results":[]}'
needed() {
	{
		echo '#!/bin/sh'
		echo "case \$* in *--dry-run*--skip*) echo '{}' ;; *--dry-run*) echo '$plan' ;; *) ${1:+echo 'word $1'} : ;; esac"
	} >bin/stub
	echo "$line" >cmdline
	env omit_dracutmodules="dash ${3:-}" status="$2" hostonly=yes kernel_cmdline= "${@:4}" unshare -mn bash -c 'mount --bind cmdline /proc/cmdline
		mount --bind own /etc
		require_binaries() { :; }
		module_check() { check() { false; }; return "$status"; }
		PATH=$PWD/bin:$PATH
		. "$1"
		check' - "$module/module-setup.sh"
}
mkdir -p own/default
needed rd.rdmastor=nvme+rdma://h/nqn.x 0 || die "NVMe/RDMA needs it"
needed rd.rdmastor=nvme+tcp://h/nqn.x,via=ublk 0 || die "ublk needs it"
needed rd.rdmastor=nvme+tcp://h/nqn.x 255 || die "dracut's nvmf is not included"
needed rd.rdmastor=nvme+tcp://h/nqn.x 0 nvmf || die "dracut's nvmf is omitted"
needed rd.rdmastor=nvme+tcp://h/nqn.x 0 && die "dracut's nvmf is enough"

# without a remote disk it is not in images, neither for this host nor for any, unless dracut is asked for it, for which 255 is
for hostonly in yes ''; do
	status=0
	needed '' 255 '' hostonly=$hostonly || status=$?
	same "no remote disk, hostonly=$hostonly" $status 255
	line='quiet rd.rdmastor=nvme+tcp://h/nqn.x' needed '' 0 '' hostonly=$hostonly || die "the kernel command line names a disk"
	needed '' 0 '' hostonly=$hostonly kernel_cmdline='x rd.rdmastor=nvme+tcp://h/nqn.x' || die "dracut's configuration names a disk"
done
echo '# rd.rdmastor=nvme+tcp://h/nqn.x' >own/default/grub
needed '' 0 && die "a comment names a disk"
echo 'GRUB_CMDLINE_LINUX="rd.rdmastor=nvme+tcp://h/nqn.x"' >own/default/grub
needed '' 0 || die "the next boot's command line names a disk"
rm own/default/grub
plan='{"results":[{"from":"iscsi"}]}'
needed '' 255 || die "other kernel parameters name a disk"
needed '' 0 && die "dracut's own modules attach it"
plan='{"results":[]}'

# lines CMDLINE: what cmdline() prints on a machine with this kernel command line, a word on each line
lines() {
	printf '%s\n' "$1" >cmdline
	unshare -mn bash -c 'mount --bind cmdline /proc/cmdline
		ip_params_for_remote_addr() { [ "$1" != 10.0.0.2 ] || set -- 10.0.0.1; echo "ifname=if:$1 ip=$1 "; }
		PATH=$PWD/bin:$PATH
		. "$1"
		cmdline' - "$module/module-setup.sh" | xargs -n 1
}
printf '%s\n' '#!/bin/sh' 'echo "module nvme_tcp"' 'for host in 10.0.0.1:4420 10.0.0.2:4420 joe@[fd00::1]:3260; do echo "word rd.rdmastor=x://$host/y?a=b&c"; done' >bin/stub
words='rd.rdmastor=x://10.0.0.1:4420/y?a=b&c rd.rdmastor=x://10.0.0.2:4420/y?a=b&c rd.rdmastor=x://joe@[fd00::1]:3260/y?a=b&c'
same "parameters and network" "$(lines quiet | xargs)" "$words ifname=if:10.0.0.1 ip=10.0.0.1 ifname=if:fd00::1 ip=fd00::1"
same "with a network of its own" "$(lines "quiet ip=eth0:dhcp" | xargs)" "$words"

# install with stubs that print the files it takes along, also those of the kernel command line, and of a folder
printf '%s\n' '#!/bin/sh' 'case $* in' '*--needs) echo "word rd.rdmastor=iser://h/iqn.a:b/0,via=ublk"; echo "file $PWD/keys/my key" ;;' \
	'*--needs\ nbds:*) echo "word rd.rdmastor=nbds://h/x,via=nbd"; echo "file $PWD/pki" ;;' '*--needs\ x:*) echo "file /none"; echo "it fails" >&2 ;;' 'esac' >bin/stub
mkdir -p image/etc/cmdline.d image/sbin keys pki/old
touch "keys/my key" pki/{ca.pem,cert.pem,old/cert.pem}
# installed VARIABLE=VALUE…
installed() {
	echo 'quiet rd.rdmastor=nbds://h/x?tls-certificates=pki,via=nbd' >cmdline
	env "$@" unshare -mn bash -c 'mount --bind cmdline /proc/cmdline
		inst_multiple() { echo "$@" >>programs; }; inst_rules() { :; }; inst_script() { :; }
		dracut_need_initqueue() { :; }; ip_params_for_remote_addr() { :; }
		inst_hook() { [ -x "$3" ] || echo "no script: $3"; }; dwarn() { echo "$@"; }
		inst_simple() { echo "${1#$PWD/}"; }; dracut_module_included() { [[ "$1" == "$has" ]]; }
		PATH=$PWD/bin:$PATH moddir=${1%/*} initdir=image
		. "$1"; install' - "$module/module-setup.sh" | sort
}
same "files" "$(installed hostonly=yes hostonly_cmdline=yes kernel_cmdline=rd.rdmastor=x://y 2>err)" \
	$'keys/my key\npki/ca.pem\npki/cert.pem\nrdmastor: /none: not found'
same "what fails, once" "$(cat err)" "it fails"
[ "$(grep -o 'rd.rdmastor=[^ ]*' image/etc/cmdline.d/71rdmastor.conf)" = rd.rdmastor=iser://h/iqn.a:b/0,via=ublk ] || die "no word: $(cat image/etc/cmdline.d/*)"
grep -qw grep programs || die "the scripts need grep"
rm image/etc/cmdline.d/*
same "files without parameters" "$(installed hostonly=yes)" $'keys/my key\npki/ca.pem\npki/cert.pem'
[ ! -e image/etc/cmdline.d/71rdmastor.conf ] || die "unexpected parameters"
same "an image for any host" "$(installed hostonly=)" ""
[ "$(readlink image/sbin/iscsiroot image/sbin/iserroot | uniq)" = /run/rdmastor/handler ] || die "no handlers of netroot="
rm image/sbin/iscsiroot
installed hostonly= has=iscsi >/dev/null
[ ! -L image/sbin/iscsiroot ] && [ -L image/sbin/iserroot ] || die "dracut's iscsi module lost its handler"

# for a root over iSER, words of dracut's iscsi module are removed from the image, those for other targets are not
mkdir -p own/cmdline.d
printf '%s\n' 'rd.iscsi.initiator=iqn.a:me' 'netroot=iscsi:10.0.0.1:::2:iqn.a:b' 'netroot=iscsi:[fd00::1]::::iqn.a:b' \
	'netroot=iscsi:10.0.0.1::::iqn.a:bc' 'netroot=iscsi:10.0.0.1::::iqn.a:c' 'ifname=eth0:52:54:00:00:00:01 ip=10.0.0.2:::::eth0:none ' rd.neednet=1 \
	>own/cmdline.d/95iscsi.conf
# words: run the hook
words() {
	unshare -mn bash -c 'mount --bind own /etc
		getargs() { printf "%s\n" "iser://10.0.0.1:3260/iqn.a:b/2?initiator=iqn.a:me" "iscsi://10.0.0.1/iqn.a:c/0" "iser://joe@h/iqn.a:d,via=ublk"; }
		. "$1"' - "$module/iser-rdmastor.sh"
	grep . own/cmdline.d/95iscsi.conf
}
kept=$'rd.iscsi.initiator=iqn.a:me\nnetroot=iscsi:10.0.0.1::::iqn.a:bc\nnetroot=iscsi:10.0.0.1::::iqn.a:c'
same "parameters of dracut's iscsi module" "$(words)" "$kept"$'\nifname=eth0:52:54:00:00:00:01 ip=10.0.0.2:::::eth0:none \nrd.neednet=1'
echo ' rd.rdmastor=x ifname=eth0:52:54:00:00:00:01 ip=10.0.0.2:::::eth0:none' >own/cmdline.d/71rdmastor.conf
same "its network" "$(words | sed 's/ *$//' | grep .)" "$kept"$'\nrd.neednet=1'
