#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# The disks that rdmastor attaches: `rdmastor boot --needs` knows those in use, `rdmastor boot` attaches them.

# Print the URIs of rd.rdmastor= on the kernel command line of this boot and of the next one.
rdmastor_uris() {
	{
		echo "$kernel_cmdline"
		cat /proc/cmdline /etc/kernel/cmdline /etc/default/grub /etc/default/grub.d/*.cfg 2> /dev/null
	} | sed '/^[[:space:]]*#/d; s/["'\'']/ /g; y/ /\n/' | sed -n 's/^rd\.rdmastor=//p' | sort -u
}

# Print what the disks of this host need: those under its root, those that dracut was asked for, and those of rd.rdmastor=, whose URIs may
# name files.
rdmastor_needs() {
	local _dev _uri

	{
		rdmastor boot --needs
		for _dev in "${host_devs[@]}"; do
			rdmastor boot --needs "$_dev" 2> /dev/null # most are disks of this machine
		done
		while IFS= read -r _uri; do
			rdmastor boot --needs "$_uri" | sed '/^word /d' # the command line has it
		done < <(rdmastor_uris)
	} | sort -u
}

# Take along a file that a word names, or the files in such a folder.
rdmastor_install() {
	local _file

	[[ -e $1 ]] || dwarn "rdmastor: $1: not found"
	while IFS= read -r _file; do
		inst_simple "$_file"
	done < <(find -L "$1" -maxdepth 1 -type f 2> /dev/null)
}

# True if dracut will include this module of its own.
rdmastor_dracut_has() {
	[[ " $omit_dracutmodules " != *" $1 "* ]] && (module_check "$1") > /dev/null 2>&1
}

# True if a module of dracut's own attaches what this word names.
rdmastor_dracut_can() {
	case $1 in
		rd.rdmastor=*,via=*) return 1 ;;
		rd.rdmastor=nvme+tcp:*) rdmastor_dracut_has nvmf ;;
		rd.rdmastor=iscsi:*) rdmastor_dracut_has iscsi ;;
		*) return 1 ;;
	esac
}

# True if kernel parameters other than rd.rdmastor=, or the firmware, name disks that no module of dracut's own attaches.
rdmastor_others() {
	local _name
	local -a _skip=()

	for _name in nvmf iscsi nfs; do
		# dracut's iscsi module knows no iSER
		[[ $_name == iscsi && $(< /proc/cmdline) == *iser:* ]] || ! rdmastor_dracut_has $_name || _skip+=(--skip "$_name")
	done
	[[ $(rdmastor boot --dry-run --timeout 100ms --mount / "${_skip[@]}" --json 2> /dev/null) == *'"from":'* ]]
}

# called by dracut; 255: only if it is asked for
check() {
	local _what _word

	require_binaries rdmastor || return 1
	[[ -z $(rdmastor_uris) ]] || return 0
	while read -r _what _word; do
		[[ $_what == word ]] || continue
		rdmastor_dracut_can "$_word" || return 0
	done < <(rdmastor_needs 2> /dev/null)
	! rdmastor_others || return 0
	return 255
}

# called by dracut
depends() {
	local _dir

	echo network rootfs-block
	for _dir in "$dracutbasedir"/modules.d/*initqueue; do # dracut-ng has it apart
		[[ ! -d $_dir ]] || echo initqueue
	done
}

# called by dracut
installkernel() {
	local _what _name

	if [[ $hostonly ]]; then
		while read -r _what _name; do
			[[ $_what != module ]] || hostonly='' instmods "$_name"
		done < <(rdmastor_needs 2> /dev/null)
		! rdmastor boot --network 2> /dev/null | grep -q ^vlan= || hostonly='' instmods 8021q
	else
		instmods '=drivers/infiniband' nvme-tcp tls aesni-intel ghash-ce gcm ctr ghash-generic nvme-rdma iscsi_tcp ib_iser iscsi_ibft ib_srp sd_mod \
			nfsv4 nfsv3 rpcrdma ublk_drv nbd rdma_ucm ib_uverbs 8021q
	fi
}

# Print the words that configure the network to the servers as on this host, each interface once, as dracut's iscsi module does. Those
# of its kernel command line have precedence: network-legacy gives up if an interface is configured twice.
rdmastor_network() {
	local _host

	[[ " $(< /proc/cmdline)" != *[[:space:]]ip=* ]] || return 0
	rdmastor_needs 2> /dev/null | sed -n 's#^word [^/]*://\([^/?,]*\).*#\1#p' | sed 's/.*@//; s/^\[\(.*\)\].*/\1/; t; s/:[0-9]*$//' | sort -u |
		while read -r _host; do ip_params_for_remote_addr "$_host" 2> /dev/null; echo; done | sort -u
}

# called by dracut
cmdline() {
	local _what _word

	while read -r _what _word; do
		[[ $_what != word ]] || printf ' %s' "$_word"
	done < <(rdmastor_needs 2> /dev/null)
	rdmastor_network | while read -r _word; do printf ' %s' "$_word"; done
}

# called by dracut
install() {
	local _file

	inst_multiple rdmastor grep
	inst_multiple -o /etc/nvme/hostnqn /etc/nvme/hostid /etc/iscsi/initiatorname.iscsi
	[[ $hostonly_cmdline != yes ]] || cmdline > "$initdir/etc/cmdline.d/71rdmastor.conf"
	if [[ $hostonly ]]; then
		while IFS= read -r _file; do rdmastor_install "$_file"; done < <(rdmastor_needs | sed -n 's/^file //p')
	fi
	inst_rules "$moddir/60-rdmastor-ublk.rules"
	inst_script "$moddir/rdmastor-boot.sh" /sbin/rdmastor-boot
	inst_hook cmdline 89 "$moddir/iser-rdmastor.sh" # dracut's iscsi module has 90
	inst_hook cmdline 93 "$moddir/parse-rdmastor.sh"
	inst_hook initqueue/settled 71 "$moddir/rdmastor-settled.sh"
	inst_hook mount 98 "$moddir/rdmastor-mount.sh"
	inst_hook shutdown 45 "$moddir/rdmastor-shutdown.sh"
	# handlers of netroot=: parse-rdmastor.sh makes the file in /run, as /usr may be read-only
	ln -sfn /run/rdmastor/handler "$initdir/sbin/iserroot"
	dracut_module_included iscsi || ln -sfn /run/rdmastor/handler "$initdir/sbin/iscsiroot"
	dracut_need_initqueue
}
