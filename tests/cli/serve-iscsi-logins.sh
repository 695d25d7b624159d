#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Who may log in to an iSCSI target: by name, by CHAP, by mutual CHAP; libiscsi and our own discovery as initiators.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires iscsi-inq
set -e

IQN=iqn.2024-01.lab:d
ME=iqn.2024-01.lab:me
begin() {
	serve ram:1M --iscsi --tcp 127.0.0.1:0 --iqn $IQN "$@"
	PORTAL=$(sed -nE 's#^libiscsi: +iscsi://([^/]*)/.*#\1#p' out)
}
inq() { iscsi-inq -i "$1" "$2" >inq.out 2>&1; }

begin --allow-initiator $ME
inq $ME "iscsi://$PORTAL/$IQN/0" || die "$(cat inq.out)"
! inq $ME-not "iscsi://$PORTAL/$IQN/0" || die 'another name was let in'
! inq $ME "iscsi://$PORTAL/$IQN-not/0" || die 'another target was found'
error 1 - "$PORTAL" '' ours iser-discover -i $ME-not "iscsi://$PORTAL"
stop

umask 077
echo longenough1234 >one
echo anothergood123 >two
begin --user joe --secret-file one
inq $ME "iscsi://joe%longenough1234@$PORTAL/$IQN/0" || die "$(cat inq.out)"
! inq $ME "iscsi://joe%wrongwrong1234@$PORTAL/$IQN/0" || die 'a wrong secret was accepted'
! inq $ME "iscsi://jim%longenough1234@$PORTAL/$IQN/0" || die 'a wrong user was accepted'
! inq $ME "iscsi://$PORTAL/$IQN/0" || die 'no CHAP was accepted'
ours iser-discover -i $ME "iscsi://joe@$PORTAL" --secret-file one | grep -q $IQN || die 'discovery with CHAP'
stop

begin --user joe --secret-file one --target-user disk --target-secret-file two
ours iser-discover -i $ME "iscsi://joe@$PORTAL" --secret-file one --target-secret-file two --target-user disk | grep -q $IQN || die 'mutual CHAP'
error 1 auth "iscsi://joe@$PORTAL" 'disk' ours iser-discover -i $ME "iscsi://joe@$PORTAL" --secret-file one --target-secret-file two --target-user tape
grep -q -e longenough -e anothergood out server.err 2>/dev/null && die 'a secret was printed'
stop
