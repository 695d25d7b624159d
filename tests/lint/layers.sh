#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Permitted includes: every #include of the rooms is checked against the table below.
# A room also sees its own private headers (next to the .c or at the top of the room), libc, and base64.h diag.h grow.h helper.h loop.h
# names.h policy.h wire.h.
cd "$(dirname "$0")/../.." || exit 1
shopt -s nullglob globstar

# room: contracts of include/ (patterns) : libraries (patterns of <...>), which are reserved to the rooms that list them
table='
main.c  : applet kernel_identity out uri resolve :
applets : tls tls_monitor tls_upcall access applet applet_run doctor probe rdma_port attach attach_boot attach_detach attach_multipath attach_nvme attach_srp out uri bdev child protocol nvmf service export nbd_server kernel_* mad copy load matrix srp_show srp_daemon nfs attach_nfs iscsi attach_iscsi iscsi_monitor content daemon disk_open iscsi_logins cpio privilege :
attach  : tls_upcall attach attach_detach attach_iscsi attach_multipath attach_nfs attach_nvme attach_srp child iscsi iscsi_carrier iscsi_logins kernel_* mad nfs nfs_mount nvmf opt_list out resolve stream uri uri_read wire/nvmf :
boot    : applet_run attach attach_boot attach_nfs attach_nvme attach_srp disk_open export iscsi_logins kernel_* out resolve uri uri_read wire/nvmf uapi/* : cjson/*
inspect : access attach_boot doctor kernel_* out probe applet_run uri : cjson/* netlink/*
srpd    : attach_srp child kernel_* mad port_events srp_daemon srp_show :
monitor : attach_iscsi iscsi_monitor kernel_* out tls_monitor tls_upcall uri :
serve   : tls access child daemon disk_open export iscsi kernel_* mad bdev listener nbd_server nvme_hosts reservation_state serve split uapi/* uri iscsi_initiators privilege stream secret_list : liburing.h
load    : bdev ep load matrix mem crc32c admission ring protocol stream uri listener wire/bench wire/rping out : cjson/*
target  : access admission crc32c target reservation reservation_state serve split bdev listener ep stream mem ring target_rdma xfer :
kernel  : kernel_* child out uapi/handshake privilege : netlink/* mbedtls/*
proto   : tls serve target reservation target_rdma xfer nvme_hosts nvme_key offload ep ring stream listener iscsi_carrier bdev split out protocol nvmf nfs iscsi mem uri uri_read resolve crc32c nbd_server wire/* iscsi_initiators secret_list secret_mem : mbedtls/*
upcall  : kernel_handshake kernel_nvmf tls tls_socket tls_upcall uri :
block   : bdev split uri out mem copy content protocol image : liburing.h mbedtls/*
mad     : mad port_events wire/mad : infiniband/*
net     : secret_list secret_mem aes_gcm offload tls tls_socket port_events rdma_port ep stream listener mem uri crc32c wire/iwarp wire/mad privilege : infiniband/* rdma/rdma_cma.h netlink/* mbedtls/* psa/*
uri     : uri uri_read word :
base    : aes_gcm applet cpio uri image nvme_key offload child crc32c mem out resolve word secret_list secret_mem privilege : mbedtls/*
include : * :
'
everywhere='base64 diag grow helper min loop names policy wire'
# Folders of a room that may use the private headers of another one.
friends='core/proto/iscsi:scsi core/proto/srp:scsi'
for dir in core/kernel/*/; do friends+=" ${dir%/}:disks ${dir%/}:modules ${dir%/}:process"; done
guarded='infiniband/* rdma/rdma_cma.h rdma/rsocket.h netlink/* liburing.h cjson/* mbedtls/*'

matches() { # NAME PATTERN...
	local name=$1 pattern
	shift
	for pattern; do
		# shellcheck disable=SC2053 # the right side is a pattern
		[[ $name == $pattern ]] && return 0
	done
	return 1
}

private() { # FILE NAME: next to the file, at the top of its room, or in a folder listed above
	local dir=${1%/*} room pair
	[[ $dir == core/* ]] || { [ -f "$dir/$2" ] && [[ $dir == applets ]]; return; }
	[[ $2 == *..* ]] && return 1
	room=$(cut -d/ -f1,2 <<<"$dir")
	[[ $2 != */* && ( -f $dir/$2 || -f $room/$2 ) ]] && return 0
	for pair in $friends; do
		[[ $dir == "${pair%:*}" && $2 == "${pair#*:}"/* && -f $room/$2 ]] && return 0
	done
	return 1
}

bad=0
complain() { echo "$1: $2 may not include $3: $4"; bad=1; }
set -f
while IFS=: read -r room contracts libraries; do
	room=${room// /}
	[ -n "$room" ] || continue
	set +f
	case $room in
	main.c) files=(main.c) ;;
	applets | include) files=("$room"/**/*.[ch]) ;;
	*) files=(core/"$room"/**/*.[ch]) ;;
	esac
	set -f
	for f in "${files[@]}"; do
		while read -r kind name; do
			if [ "$kind" = '<' ]; then
				# shellcheck disable=SC2086 # lists of patterns
				matches "$name" $guarded && ! matches "$name" $libraries &&
					complain "$f" "$room" "<$name>" "only the rooms that name this library in tests/lint/layers.sh may"
				continue
			fi
			# shellcheck disable=SC2086 # lists of patterns
			matches "${name%.h}" $everywhere $contracts && [ -f "include/$name" ] && continue
			private "$f" "$name" && continue
			complain "$f" "$room" "\"$name\"" "neither a contract this room may know nor its own header; see the table in tests/lint/layers.sh"
		done < <(sed -nE 's/^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*([<"])([^>"]+)[>"].*/\1 \2/p' "$f")
	done
done <<<"$table"

# Attachments do not depend on the command line, so that any process can run them.
for f in $(grep -rlwE 'struct call|"applet.h"' core/attach include/{attach,attach_detach,attach_iscsi,attach_nfs,attach_nvme,attach_srp,iscsi_logins}.h); do
	echo "$f: core/attach and its contracts may not know struct call: use struct attach_env or struct out_notes"
	bad=1
done

# A room that is missing in the table would not be checked.
set +f
for dir in core/*/; do
	dir=${dir#core/}
	grep -qE "^${dir%/} +:" <<<"$table" || { echo "core/$dir: not in the table: give it a row in tests/lint/layers.sh"; bad=1; }
done
exit $bad
