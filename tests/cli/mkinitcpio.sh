#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The hooks for mkinitcpio, with the functions that mkinitcpio gives them recorded: what both forms add, with and without
# autodetect; the runtime hook under busybox's shell; the unit of the form for systemd.
# shellcheck disable=SC2016,SC2154 # scripts; names of lib.sh
. "$(dirname "$0")/lib.sh"
requires unshare busybox
as=()
[ "$(id -u)" = 0 ] || as=(-U -r)
unshare "${as[@]}" -mn true 2>/dev/null || { echo "needs root or user namespaces"; exit 77; }
hooks=$top/initramfs/mkinitcpio
holds() { grep -qxF -e "$2" "$1" || die "$1 has no line '$2': $(cat "$1")"; }
lacks() { ! grep -qF -e "$2" "$1" || die "$1 has '$2': $(cat "$1")"; }

# --- what is added
mkdir bin
cat >bin/rdmastor <<'S'
#!/bin/sh
echo "rdmastor $*" >>log
case $* in
*nvme+tcp*) printf 'module nvme_tcp\nfile /etc/the key\n' ;;
*srp:*) echo module ib_srp ;;
*) printf 'module mlx5_core\nmodule nvme_rdma\nword rd.rdmastor=nvme+rdma://10.0.0.3/nqn.y\n' ;;
esac
S
chmod +x bin/rdmastor
echo 'quiet rd.rdmastor=srp://fe80::1/0002c903004ed0b2/0002c903004ed0b3' >cmdline
# build HOOK AUTODETECTED VARIABLE…
build() {
	rm -rf log image
	mkdir -p image/etc/cmdline.d
	unshare "${as[@]}" -mn bash -c '
		mount --bind cmdline /proc/cmdline; mount -t tmpfs none /etc
		echo systemd-network:x:998:998::/:/bin/false >/etc/passwd; echo systemd-network:x:998: >/etc/group
		mkdir /etc/nvme /etc/default; touch "/etc/the key" /etc/nvme/hostnqn
		echo "GRUB_CMDLINE_LINUX=\"quiet rd.rdmastor=nbd://10.0.0.9/x,via=nbd\"" >/etc/default/grub
		for f in binary file dir full_dir module checked_modules runscript symlink systemd_unit; do
			eval "add_$f() { echo \"add_$f \$*\" >>log; }"
		done
		declare -A _autodetect_cache
		[ -z "$2" ] || _autodetect_cache[$2]=1
		eval "${@:3}"
		BUILDROOT=$PWD/image PATH=$PWD/bin:$PATH
		. "$0/install/$1" && build && help | grep -q rdmastor-boot' "$hooks" "$@" >out 2>err || die "$*: $(cat out err)"
	[ ! -s err ] || die "$*: $(cat err)"
}
for hook in rdmastor sd-rdmastor; do
	build $hook x 'RDMASTOR="nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/the%20key nvme+tcp://10.0.0.2/nqn.x" RDMASTOR_TIMEOUT=30'
	printf '%s\n' 'rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x?tls-key-file=/etc/the%20key' rd.rdmastor=nvme+tcp://10.0.0.2/nqn.x rd.rdmastor.timeout=30 |
		diff - image/etc/cmdline.d/rdmastor.conf || die "$hook: its parameters"
	for line in "add_binary $PWD/bin/rdmastor /usr/bin/rdmastor" 'add_file /etc/nvme/hostnqn' 'add_file /etc/the key' 'add_module mlx5_core?' \
		'add_module nvme_rdma?' 'add_module nvme_tcp?' 'add_module ib_srp?' 'rdmastor boot --needs nvme+tcp://10.0.0.2/nqn.x' \
		'rdmastor boot --needs nbd://10.0.0.9/x,via=nbd'; do
		holds log "$line"
	done
	lacks log 'add_module ib_iser'
	build $hook '' RDMASTOR=
	[ ! -s image/etc/cmdline.d/rdmastor.conf ] || die "$hook: unexpected parameters"
	holds log 'add_module ib_iser?'
	grep -q '^add_checked_modules .*infiniband' log || die "$hook: no drivers: $(cat log)"
done
unit=/usr/lib/systemd/system/rdmastor-boot.service
holds log "add_file $hooks/rdmastor-boot.service $unit"
holds log "add_symlink /etc/systemd/system/initrd.target.wants/rdmastor-boot.service $unit"
holds log 'add_systemd_unit systemd-networkd.service'
holds image/etc/passwd systemd-network:x:998:998::/:/bin/false
lacks log add_runscript
build rdmastor ''
holds log 'add_runscript '
lacks log add_systemd_unit
if command -v systemd-analyze >/dev/null; then
	sed "s#^ExecStart=/usr/bin/rdmastor#ExecStart=$RDMASTOR#" "$hooks/rdmastor-boot.service" >rdmastor-boot.service
	systemd-analyze --man=no verify ./rdmastor-boot.service >out 2>&1 || die "the unit: $(cat out)"
	lacks out rdmastor-boot.service
fi

# --- at boot
# booted CMDLINE: run the hook, the handler that it set, and the emergency hook
booted() {
	rm -rf root
	mkdir -p root/{bin,dev,run,hooks,new_root}
	cp "$(command -v busybox)" root/bin/busybox
	for command in sh cat sed tee mkdir; do ln -s busybox "root/bin/$command"; done
	: >root/dev/null
	: >root/log
	cp "$hooks/hooks/rdmastor" root/hooks/rdmastor
	echo "$1" >cmdline
	unshare "${as[@]}" -mn bash -c 'mount -t tmpfs none /etc; mount -t tmpfs none /sys/firmware; mount --bind cmdline /proc/cmdline
		exec "$@"' - "$RDMASTOR" boot --dry-run --mount /new_root --json >root/plan 2>/dev/null
	cat >root/bin/rdmastor <<-'S'
		#!/bin/sh
		echo "rdmastor $*" >>/log
		case $* in
		*--dry-run*) cat /plan ;;
		*) cat /messages >&2; [ ! -s /messages ] ;;
		esac
	S
	printf '#!/bin/sh\necho udevadm "$@" >>/log\n' >root/bin/udevadm
	chmod +x root/bin/rdmastor root/bin/udevadm
	printf '%s\n' "${@:2}" >root/messages
	[ $# != 1 ] || : >root/messages
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare "${as[@]}" -m chroot "$PWD/root" /bin/sh -c 'mount_handler=default
		. /hooks/rdmastor; run_hook; echo "$mount_handler" >>/log; [ $mount_handler = default ] || $mount_handler /new_root
		run_emergencyhook' >out 2>err || die "$1: $(cat out err)"
}
logged() { printf '%s\n' 'rdmastor boot --dry-run --timeout 100ms --mount /new_root --json' "$@" | diff - root/log || die "the calls differ"; }

booted quiet
logged default
[ ! -s out ] && [ ! -s err ] || die "$(cat out err)"
booted rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x
logged 'rdmastor boot' 'udevadm settle' default
[ ! -s out ] && [ ! -s err ] || die "$(cat out err)"
booted "root=/dev/nfs nfsroot=10.0.0.1:/srv,rdma"
logged rdmastor_mount_handler 'rdmastor boot --mount /new_root' 'udevadm settle'
booted "root=/dev/nfs nfsroot=10.0.0.1:/srv"
logged default

# failures: at once, and each on a line of its own with its hint before the shell
messages=('rdmastor boot: a://x: no route: trying again' 'rdmastor boot: a://x: no route' 'hint: ip route' 'rdmastor boot: b://y: unknown scheme'
	'rdmastor boot: c://z: refused' 'hint: none')
booted rd.rdmastor=foo://x "${messages[@]}"
printf '%s\n' "${messages[@]}" | diff - err || die "messages"
printf '%s\n' 'rdmastor boot: a://x: no route; hint: ip route' 'rdmastor boot: b://y: unknown scheme' 'rdmastor boot: c://z: refused; hint: none' |
	diff - <(head -n 3 out) || die "before the shell"
grep -q "^rdmastor: 'rdmastor status'" out || die "no way out: $(cat out)"
exit 0
