#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# On a machine without DMI UUID, machine-id and host id, such as an initramfs, a disk keeps its identity when the target is killed
# and restarted; a ram: disk gets a new one. One warning covers all disks and protocols, which give a disk one identity.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
cat >nameless <<'EOF'
#!/bin/bash
exec unshare -rm bash -c 'for f in /etc/machine-id /etc/nvme/hostnqn /etc/nvme/hostid; do [ ! -e $f ] || mount --bind /dev/null $f || exit; done
	mount -t tmpfs none /sys/class && exec "$@"' - "$real" "$@"
EOF
chmod +x nameless
unshare -rm mount -t tmpfs none /sys/class 2>/dev/null || { echo 'needs mount namespaces'; exit 77; }
case $(cat /proc/cmdline) in *nvmf.hostnqn=*) echo 'needs a kernel command line without a host NQN'; exit 77 ;; esac
export real=$RDMASTOR
RDMASTOR=$TMP/nameless

# what a host sees of the first disk served: NQN, serial number, UUID, NGUID
seen() { "$real" info "$TCP" --json | jq -ce '[(.uri | split("/")[3]), .serial, .uuid, .nguid] | if all then . else error("a name is missing") end'; }
killed() {
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null || true
	SERVER=
}
truncate -s 1M disk
for uri in disk "file:$TMP/disk" ram:1M; do
	serve "$uri" --nvmf --tcp 127.0.0.1:0
	first=$(seen)
	cp err err.first
	killed
	serve "$uri" --nvmf --tcp 127.0.0.1:0
	case $uri in
	ram:*) [ "$(seen)" != "$first" ] || die "$uri: two disks, one identity: $first" ;;
	*)
		same "$uri: its identity" "$first" "$(seen)"
		grep -q 'identity.*reboot' err.first || die 'no note that a reboot changes it'
		;;
	esac
	killed
done
truncate -s 2M disk2
ready serve disk disk2 ram:1M --nvmf --tcp 127.0.0.1:0 --iscsi --tcp 127.0.0.1:0 --srp --rdma '127.0.0.1:0?rdma=iwarp' --json
same warnings "$(grep -c 'warning: .*identity.*reboot' err)" 1
serials() { jq -c "$1 | map(.serial)" out; }
same 'over iSCSI' "$(serials .iscsi.disks)" "$(serials .disks)"
same 'over SRP' "$(serials .srp.disks)" "$(serials .disks)"
valid out
killed
