# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What the scenarios of iser-login share: sourced by their guests.
# shellcheck shell=dash disable=SC2154,SC2034
i=$lio/iscsi
me=iqn.2024-01.lab:init
t1=iqn.2024-01.lab:t1
t2=iqn.2024-01.lab:t2
sessions=/sys/class/iscsi_session
modules=/lib/modules/$(uname -r)/

login() { rdmastor iser-login -i $me --monitor off "$@"; }
logout() { rdmastor iser-logout "$@"; }
alike() { [ "$(dd if="$1" bs=64k iflag=direct 2>/dev/null | xxh64sum)" = "$(xxh64sum <"$2")" ]; }
says() { "$@" >/run/says && grep -q "$pattern" /run/says || { cat /run/says; return 1; }; }
nothing_left() {
	[ -z "$(ls $sessions)" ] && [ -z "$(ls /sys/class/iscsi_connection)" ] && [ -z "$(ls /sys/class/iscsi_endpoint)" ] &&
		[ -z "$(ls /sys/class/scsi_host)" ] && [ -z "$(ls -d /dev/sd* 2>/dev/null)" ]
}
sessions_are() { [ "$(ls $sessions | wc -l)" = "$1" ]; }
attribute() { [ "$(cat $sessions/session*/"$1" /sys/class/iscsi_connection/connection*/"$1" 2>/dev/null)" = "$2" ]; }
disk_of() { rdmastor iser-login --monitor off --print dev "$@"; } # of an existing session
# round_trip DEVICE FILE: data written there is in the file, and is read back
round_trip() {
	disk_random /run/new 2
	dd if=/run/new of="$1" bs=64k oflag=direct 2>/dev/null
	[ "$(dd if="$1" bs=64k count=32 iflag=direct 2>/dev/null | xxh64sum)" = "$(xxh64sum </run/new)" ] &&
		[ "$(begin_of "$2" 2 | xxh64sum)" = "$(xxh64sum </run/new)" ]
}
held_open() {
	local pid status=0 disk=$1
	shift
	sleep 60 <"$disk" &
	pid=$!
	"$@" || status=$?
	kill $pid
	return $status
}
# gate IQN SECRET TARGET-SECRET: only our name, which has to prove itself ("" = does not)
gate() {
	local g=$i/$1/tpgt_1 acl
	acl=$g/acls/$me
	echo 0 >"$g/attrib/generate_node_acls"
	if [ ! -d "$acl" ]; then
		mkdir "$acl"
		mkdir "$acl/lun_0"
		ln -s "$g/lun/lun_0" "$acl/lun_0/l0"
		echo 0 >"$acl/lun_0/write_protect"
	fi
	[ -z "$2" ] || { echo 1 >"$g/attrib/authentication"; printf joe >"$acl/auth/userid"; printf %s "$2" >"$acl/auth/password"; }
	[ -z "$3" ] || { printf disk >"$acl/auth/userid_mutual"; printf %s "$3" >"$acl/auth/password_mutual"; }
}
