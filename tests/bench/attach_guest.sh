# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The guest part of measuring attach times: from exec to a block read from the attached disk or mount, in each round by every program
# in turn. udevd runs for all of them.
# shellcheck shell=dash disable=SC2154 # from tests/vm/lib.sh

rounds=7

# attach CELL WHO UNDO FILES COMMAND: until a block of each file was read; round 0 is not counted
attach() {
	cell="attach in a VM, exec to a block read: $1"
	took=$(startup 1 timeout 30 sh -c "$5 && for f in $4; do until dd if=\$f of=/dev/null bs=4k count=1 iflag=direct; do usleep 1000; done; done")
	case $took in *"status 0 "*) ;; *) failed "$1: $2: $took" /dev/null ;; esac
	[ "$round" = 0 ] || emit "$cell" "$2" ms "$(echo "$took" | cut -d' ' -f2)"
	wait_for 20 "$3"
	udevadm settle
	sleep 0.3
}

# compare CELL UNDO FILES, then WHO COMMAND for each program; the first one runs last in the next round
compare() {
	compare_cell=$1 compare_undo=$2 compare_files=$3
	shift 3
	turns=$((round % ($# / 2)))
	while [ $turns -gt 0 ]; do
		who1=$1 command1=$2
		shift 2
		set -- "$@" "$who1" "$command1"
		turns=$((turns - 1))
	done
	while [ $# -gt 0 ]; do
		attach "$compare_cell" "$1" "$compare_undo" "$compare_files" "$2"
		shift 2
	done
}

udevd_up() {
	mkdir -p /run/udev
	ln -s udevadm /bin/systemd-udevd
	systemd-udevd --daemon
}
