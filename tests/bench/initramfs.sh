# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What an initramfs grows by: the files that dracut's modules and initramfs-tools' hooks put there for other people's programs, from Debian's
# packages, compared with one binary. Bytes on disk, not compressed, each file once.
# shellcheck shell=bash disable=SC2154 # from run

deb=$tmp/deb
mkdir -p "$deb" "$tmp"/apt/{lists/partial,archives/partial}
: >"$tmp/apt/status"
apt_own=(-q -y -o "Dir::State::status=$tmp/apt/status" -o "Dir::Cache::archives=$tmp/apt/archives" -o "Debug::NoLocking=true" -o "APT::Sandbox::User=$(id -un)")
apt-get "${apt_own[@]}" --no-install-recommends --download-only install nvme-cli srptools ibverbs-providers nfs-common rpcbind open-iscsi \
	dracut-core dracut-network netbase bash udev kmod mount iproute2 >"$tmp/apt.log" 2>&1 || { tail -5 "$tmp/apt.log" >&2; return 1; }
for package in "$tmp"/apt/archives/*.deb; do dpkg-deb -x "$package" "$deb"; done
rm -rf "$tmp/apt"

# libraries FILE…: what the dynamic linker loads for them, itself with it
libraries() {
	local f
	for f; do
		"$deb/lib64/ld-linux-x86-64.so.2" --library-path "$deb/lib/x86_64-linux-gnu:$deb/usr/lib/x86_64-linux-gnu" --list "$f" 2>/dev/null |
			grep -o "$deb/[^ ]*" || true
	done
}

# files PATTERN…: those of the packages; each pattern has to be there
files() {
	local pattern found
	for pattern; do
		# shellcheck disable=SC2086 # a pattern
		found=$(compgen -G "$deb/$pattern") || { echo "bench: initramfs: Debian has no $pattern" >&2; return 1; }
		echo "$found"
	done
}

# whole FILE…: with their libraries, by their real names
whole() { { printf '%s\n' "$@"; libraries "$@"; } | xargs realpath | sort -u; }

# kb: of the files whose names it is given
kb() { xargs -r stat -c %s | awk '{sum += $1} END {printf "%.0f\n", sum / 1024}'; }

dracut=usr/lib/dracut/modules.d
# as dracut 059 lists them: 95nvmf
needs_nvme() {
	files usr/sbin/nvme etc/nvme/discovery.conf usr/lib/udev/rules.d/71-nvmf-iopolicy-netapp.rules $dracut/95nvmf/nvmf-autoconnect.sh \
		$dracut/95nvmf/parse-nvmf-boot-connections.sh $dracut/95nvmf/95-nvmf-initqueue.rules
}
# no module has them: what the package starts, and the provider of one adapter
needs_srp() {
	files usr/sbin/srp_daemon usr/lib/srp_daemon/start_on_all_ports etc/srp_daemon.conf etc/rdma/modules/srp_daemon.conf \
		lib/udev/rules.d/60-srp_daemon.rules 'lib/systemd/system/srp_daemon*.service' 'usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-*.so' \
		etc/libibverbs.d/mlx5.driver
}
# 95nfs
needs_nfs() {
	files sbin/mount.nfs sbin/rpc.statd sbin/rpcbind usr/sbin/rpc.idmapd etc/netconfig etc/services etc/rpc etc/protocols \
		'usr/lib/x86_64-linux-gnu/libnfsidmap/*.so' "$dracut/95nfs/parse-nfsroot.sh" "$dracut/95nfs/nfs-start-rpc.sh" \
		"$dracut/95nfs/nfsroot*.sh" "$dracut/95nfs/nfs-lib.sh"
}
# 95iscsi
needs_iscsi() {
	files sbin/iscsid sbin/iscsiadm sbin/iscsi-iname 'lib/x86_64-linux-gnu/libgcc_s.so*' etc/iscsi/iscsid.conf 'lib/systemd/system/iscsid.s*' \
		"$dracut/95iscsi/parse-iscsiroot.sh" "$dracut/95iscsi/cleanup-iscsi.sh" "$dracut/95iscsi/iscsiroot.sh" "$dracut/95iscsi/mount-lun.sh"
}
# initramfs-tools' hook of open-iscsi
needs_iscsistart() { files sbin/iscsistart usr/share/initramfs-tools/scripts/local-top/iscsi usr/share/initramfs-tools/scripts/local-bottom/iscsi; }

# sizes CELL FILE: the last names what does not count
sizes() {
	local cell=$1 name
	emit "$cell" rdmastor kb $(($(stat -c %s "$RDMASTOR") / 1024))
	for name in nvme srp nfs iscsi iscsistart; do comm -23 "$tmp/needs_$name" "$2" >"$tmp/counts_$name"; done
	emit "$cell" "nvme-cli" kb "$(kb <"$tmp/counts_nvme")"
	emit "$cell" "srptools" kb "$(kb <"$tmp/counts_srp")"
	emit "$cell" "nfs-utils" kb "$(kb <"$tmp/counts_nfs")"
	emit "$cell" "open-iscsi" kb "$(kb <"$tmp/counts_iscsi")"
	emit "$cell" "iscsistart" kb "$(kb <"$tmp/counts_iscsistart")"
	emit "$cell" "nvme, srp, nfs together" kb "$(sort -u "$tmp"/counts_{nvme,srp,nfs} | kb)"
	emit "$cell" "all four together" kb "$(sort -u "$tmp"/counts_{nvme,srp,nfs,iscsi} | kb)"
}

round=1
for name in nvme srp nfs iscsi iscsistart; do
	needed=$(needs_$name)
	mapfile -t needed <<<"$needed"
	whole "${needed[@]}" >"$tmp/needs_$name"
done
: >"$tmp/none"
sizes "initramfs: all files" "$tmp/none"
whole "$deb"/bin/{bash,udevadm,kmod,mount,ip} "$deb/sbin/switch_root" >"$tmp/base"
sizes "initramfs: without what bash, udev, kmod, mount, switch_root and ip need as well" "$tmp/base"
