#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# shellcheck disable=SC2034,SC2154 # variables of dracut
# The root is unmounted, and dracut's dm and md modules (25, 30) have taken apart what was built on remote disks: end the connections,
# those of the programs that serve disks of this machine first.
for rdmastor_disk in /sys/block/ublkb* /sys/block/nbd*/pid; do
	[ -e "$rdmastor_disk" ] || continue
	rdmastor_disk=${rdmastor_disk#/sys/block/}
	rdmastor detach --timeout 5 "/dev/${rdmastor_disk%/pid}"
done
[ ! -e /sys/class/nvme ] || rdmastor nvmf-disconnect --all --timeout 5
[ ! -e /sys/class/iscsi_session ] || rdmastor iser-logout --all --timeout 5
[ ! -e /sys/class/srp_remote_ports ] || rdmastor srp-disconnect --all --timeout 5
unset rdmastor_disk
:
