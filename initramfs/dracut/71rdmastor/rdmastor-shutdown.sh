#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# The root is unmounted, and dracut's dm and md modules (25, 30) have taken apart what was built on remote disks: end the connections,
# those of the programs that serve disks of this machine first.
rdmastor_end() {
	rdmastor_failed=0
	for rdmastor_disk in /sys/block/ublkb* /sys/block/nbd*/pid; do
		[ -e "$rdmastor_disk" ] || continue
		rdmastor_disk=${rdmastor_disk#/sys/block/}
		rdmastor detach --timeout 5 "/dev/${rdmastor_disk%/pid}" || rdmastor_failed=1
	done
	[ ! -e /sys/class/nvme ] || rdmastor nvmf-disconnect --all --timeout 5 || rdmastor_failed=1
	[ ! -e /sys/class/iscsi_session ] || rdmastor iser-logout --all --timeout 5 || rdmastor_failed=1
	[ ! -e /sys/class/srp_remote_ports ] || rdmastor srp-disconnect --all --timeout 5 || rdmastor_failed=1
	return "$rdmastor_failed"
}

# dracut calls this until it succeeds, or 40 times and at last with final=final. Try again if a disk is still in use, which fails at
# once, but not after a timeout. Messages are shown in the end only.
read -r rdmastor_begun _ < /proc/uptime
rdmastor_failed=0
rdmastor_messages=$(rdmastor_end 2>&1) || rdmastor_failed=1
read -r rdmastor_ended _ < /proc/uptime
if [ "$rdmastor_failed" = 0 ] || [ "$final" ] || [ $((${rdmastor_ended%.*} - ${rdmastor_begun%.*})) -ge 5 ]; then
	[ -z "$rdmastor_messages" ] || printf '%s\n' "$rdmastor_messages"
else
	return 1
fi
