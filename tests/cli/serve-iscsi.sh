#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Disks as an iSCSI target: written, read and compared by libiscsi (qemu-img), two LUNs of one target, NVMe-oF in the same process.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires qemu-img iscsi-ls iscsi-inq
set -e

IQN=iqn.2024-01.lab:d
random_file src 24
truncate -s 24M disk
truncate -s 4M other
serve disk other --iscsi --tcp 127.0.0.1:0 --iqn $IQN --iqn $IQN --nvmf --tcp 127.0.0.1:0 --nqn "$NQN"
PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
LUN0=iscsi://$PORTAL/$IQN/0
[ "$PORTAL" != "127.0.0.1:$PORT" ] || die 'both protocols on one port'

iscsi-ls -s "iscsi://$PORTAL" >list
grep -q "Target:$IQN Portal:$PORTAL,1" list || die "$(cat list)"
[ "$(grep -c '^Lun:[01] .*DIRECT_ACCESS' list)" = 2 ] || die "$(cat list)"
iscsi-inq "$LUN0" | grep -q 'Vendor:rdmastor' || die 'no vendor'
ours iser-discover "iscsi://$PORTAL" | grep -q "^$PORTAL,1 $IQN$" || die 'not found by iser-discover'

qemu-img convert -n -f raw -O raw src "$LUN0"
cmp src disk || die 'written over iSCSI'
qemu-img convert -f raw -O raw "$LUN0" back 2>err
cmp src back || die 'read over iSCSI'
[ ! -s err ] || die "qemu-img: $(cat err)" # it asks for holes with GET LBA STATUS
qemu-img map --output=json -f raw "iscsi://$PORTAL/$IQN/1" >map
jq -e '[.[] | select(.data)] == [] and (map(.length) | add) == 4194304' map >/dev/null || die "a file without data: $(cat map)"
digests='"header-digest":"crc32c"'
qemu-img convert -f raw -O raw \
	"json:{\"driver\":\"raw\",\"file\":{\"driver\":\"iscsi\",\"transport\":\"tcp\",\"portal\":\"$PORTAL\",\"target\":\"$IQN\",\"lun\":\"0\",$digests}}" back
cmp src back || die 'read with header digests'
for keys in '' '?hdr_digest=1&data_digest=1'; do
	ours copy -q --verify "$LUN0$keys" back1
	cmp src back1 || die "read by our own initiator$keys"
done
error 1 not-found "$PORTAL" 'LUN' ours info "iscsi://$PORTAL/$IQN/7"
error 1 not-found "$PORTAL" 'target' ours info "iscsi://$PORTAL/$IQN-not/0"
ours copy -q --verify "$TCP" back2
cmp src back2 || die 'read over NVMe/TCP'
ours status --json | jq -e --arg t $IQN '[.serving[].disks[]?.target] | index($t) != null' >/dev/null || die "$(ours status --json)"
stop

# read-only
serve disk --iscsi --tcp 127.0.0.1:0 --iqn $IQN --ro
PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
cp disk before
! qemu-img convert -n -f raw -O raw before "iscsi://$PORTAL/$IQN/0" 2>/dev/null || die 'a read-only disk was written'
cmp before disk
stop
