#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iscsistart -f, -N and -b on a firmware table of our own, in a mount namespace: what is printed, and that no secret is.
. "$(dirname "$0")/lib.sh"
requires unshare jq
unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
ln -s "$RDMASTOR" iscsistart

ibft() {
	local d=/sys/firmware/ibft i
	mount -t tmpfs none /sys/firmware
	mkdir -p $d/initiator
	echo iqn.2024-01.lab:init >$d/initiator/initiator-name
	for i in 0 1; do
		mkdir $d/ethernet$i $d/target$i
		echo $i | tee $d/ethernet$i/index $d/target$i/index >$d/target$i/nic-assoc
		echo 3 | tee $d/ethernet$i/flags $d/ethernet$i/origin >$d/target$i/flags
		echo "52:54:00:00:00:0$i" >$d/ethernet$i/mac
		echo "10.0.$i.2" >$d/ethernet$i/ip-addr
		echo 24 >$d/ethernet$i/prefix-len
		echo 255.255.255.0 >$d/ethernet$i/subnet-mask
		echo 0 >$d/ethernet$i/vlan
		echo "10.0.$i.1" >$d/target$i/ip-addr
		echo 3260 >$d/target$i/port
		echo 0"$i"000000 >$d/target$i/lun
		echo iqn.2024-01.lab:t$i >$d/target$i/target-name
	done
	echo 1 >$d/ethernet1/origin
	echo 10.0.0.254 >$d/ethernet0/gateway
	echo joe >$d/target0/chap-name; echo hushhushhush >$d/target0/chap-secret
	echo disk >$d/target0/rev-chap-name; echo hushhushhash >$d/target0/rev-chap-name-secret
}
none() { mount -t tmpfs none /sys/firmware; }
export -f ibft none
# within SETUP WORD…: runs it so
within() { unshare -mn bash -c "$1"'; shift; exec "$@"' - "$@"; }

cat >expected <<-E
	# BEGIN RECORD 2.1.8
	iface.initiatorname = iqn.2024-01.lab:init
	iface.transport_name = tcp
	iface.hwaddress = 52:54:00:00:00:00
	iface.bootproto = DHCP
	iface.ipaddress = 10.0.0.2
	iface.prefix_len = 24
	iface.subnet_mask = 255.255.255.0
	iface.gateway = 10.0.0.254
	iface.vlan_id = 0
	node.name = iqn.2024-01.lab:t0
	node.conn[0].address = 10.0.0.1
	node.conn[0].port = 3260
	node.session.auth.username = joe
	node.session.auth.password = ********
	node.session.auth.username_in = disk
	node.session.auth.password_in = ********
	node.boot_lun = 00000000
	# END RECORD
	# BEGIN RECORD 2.1.8
	iface.initiatorname = iqn.2024-01.lab:init
	iface.transport_name = tcp
	iface.hwaddress = 52:54:00:00:00:01
	iface.bootproto = STATIC
	iface.ipaddress = 10.0.1.2
	iface.prefix_len = 24
	iface.subnet_mask = 255.255.255.0
	iface.vlan_id = 0
	node.name = iqn.2024-01.lab:t1
	node.conn[0].address = 10.0.1.1
	node.conn[0].port = 3260
	node.boot_lun = 01000000
	# END RECORD
E
within ibft ./iscsistart -f >out 2>err || die "status $?: $(cat err)"
diff expected out || die "-f"
[ ! -s err ] || die "printed: $(cat err)"
within ibft "$RDMASTOR" iscsistart -f --json >out || die "JSON: status $?"
valid out
jq -e '.records | length == 2 and .[0]["node.name"] == "iqn.2024-01.lab:t0" and .[1]["node.conn[0].port"] == 3260' out >/dev/null || die "JSON: $(cat out)"
! grep -q hush out || die "a secret is printed"

within ibft ./iscsistart -b -P nonsense=1 >out 2>err
same "status of an unknown parameter" 1 $?
refused 1 52:54:00:00:00:01 within ibft ./iscsistart -N
line='Setting up software interface'
same "what -N says" "$line |$line  failed|$line |$line  failed|" "$(tr '\n' '|' <refused.out)"
within ibft "$RDMASTOR" iscsistart -b --dry-run --json >out || die "--dry-run: status $?"
valid out
jq -c '.sessions[] | [.target, .traddr, .trsvcid, .transport, .initiator]' out >lines
diff - lines <<-'E' || die "--dry-run"
	["iqn.2024-01.lab:t0","10.0.0.1","3260","tcp","iqn.2024-01.lab:init"]
	["iqn.2024-01.lab:t1","10.0.1.1","3260","tcp","iqn.2024-01.lab:init"]
E
within ibft "$RDMASTOR" iscsistart -b --dry-run --json \
	-P iface.transport_name=iser -i iqn.2024-01.lab:me >out
valid out
jq -e '.sessions | length == 2 and
	all(.transport == "iser" and .initiator == "iqn.2024-01.lab:me")' out >/dev/null ||
	die "--dry-run: $(cat out)"

# No table, and none with a target
for letter in f b N; do
	refused 21 'no iBFT' within none ./iscsistart -$letter
	refused 21 'no target' within 'ibft; rm -r /sys/firmware/ibft/target*' ./iscsistart -$letter
	error 1 not-found '' 'no.iBFT' within none "$RDMASTOR" iscsistart -$letter
done
same "what -N says" "Could not setup fw entries." "$(within none ./iscsistart -N 2>/dev/null)"
same "what -b says" "Could not get boot entry." "$(within none ./iscsistart -b 2>/dev/null)"
same "what -f says" "Could not get list of targets from firmware." "$(within none ./iscsistart -f 2>/dev/null)"
refused 21 'no initiator' \
	within 'ibft; echo >/sys/firmware/ibft/initiator/initiator-name' ./iscsistart -b
error 1 - none.conf 'no.such.file' within ibft ./iscsistart -b -c none.conf
error 2 usage '' nonsense \
	within "ibft; echo 'node.session.cmds_max = 3' >bad.conf" \
	"$RDMASTOR" iscsistart -b -c bad.conf -P nonsense=1
grep -q 'node\.session\.cmds_max.* 16 to 2048' error.err ||
	die "a value out of its range in the file: $(cat error.err)"
