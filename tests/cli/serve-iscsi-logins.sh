#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Who may log in to an iSCSI target: by name, by CHAP, by mutual CHAP, by the file of initiators, which SIGHUP reads again; libiscsi
# and our own discovery as initiators. Each failure is named, and no secret is printed.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires iscsi-inq iscsi-ls
set -e

IQN=iqn.2024-01.lab:d
ME=iqn.2024-01.lab:me
begin() {
	serve ram:1M --iscsi --tcp 127.0.0.1:0 --iqn $IQN "$@"
	PORTAL=$(sed -nE 's#^rdmastor: +iscsi://([^/]*)/.*#\1#p' out)
}
inq() { iscsi-inq -i "$1" "$2" >inq.out 2>&1; }
lists() { ours iser-discover -t tcp -i "$1" "iscsi://joe@$PORTAL" --secret-file "${@:2}"; }
disk() { echo "iscsi://$PORTAL/$IQN/0?initiator=$ME&user=joe&$1"; }
security() { ours info "$(disk "$1")" --json | jq -r .security; }
digest() { lists $ME "$@" --json | jq -r .asked[].chap; }
reread() {
	mv log log.before
	kill -HUP "$SERVER"
	wait_until grep -qs "$1" log
}

begin --allow-initiator $ME
inq $ME "iscsi://$PORTAL/$IQN/0" || die "$(cat inq.out)"
! inq $ME-not "iscsi://$PORTAL/$IQN/0" || die 'another name was let in'
! inq $ME "iscsi://$PORTAL/$IQN-not/0" || die 'another target was found'
error 1 - "$PORTAL" '' ours iser-discover -i $ME-not "iscsi://$PORTAL"
stop

umask 077
echo longenough1234 >one
echo anothergood123 >two
echo wrongwrong1234 >wrong
echo "$ME user=joe secret=longenough1234 target-secret=anothergood123 # the only one" >initiators
begin --initiators-file initiators --log log
grep -q "^rdmastor: .*/$IQN/0?user=NAME&secret-file=FILE$" out || die "$(cat out)"
grep -q '^iscsistart: .* -u NAME -w SECRET -P node.session.auth.chap_algs=SHA3-256,SHA256,SHA1$' out || die "$(cat out)"
grep -q '^iscsiadm: .* -n node.session.auth.password -v SECRET ' out || die "$(cat out)"
grep -q "^libiscsi: *iscsi://NAME@$PORTAL/$IQN/0$" out || die "$(cat out)"
same CHAP "$(security secret-file=one)" chap
same 'mutual CHAP' "$(security 'secret-file=one&target-secret-file=two')" mutual-chap
same 'the strongest digest of all' "$(digest one)" sha3-256
same 'the strongest that is offered' "$(digest one --chap-algs md5,sha1,sha256)" sha256
[ "$(id -u)" != 0 ] || locked longenough1234 "$(disk secret-file=one)"
lists $ME one | grep -q $IQN || die 'discovery with CHAP'
lists $ME one --target-secret-file two --target-user $IQN | grep -q $IQN || die 'discovery with mutual CHAP'
error 1 auth "iscsi://joe@$PORTAL" "$IQN tape" ours iser-discover -t tcp -i $ME "iscsi://joe@$PORTAL" --secret-file one --target-secret-file two --target-user tape
error 1 auth "iscsi://joe@$PORTAL" 'mutual' ours iser-discover -t tcp -i $ME "iscsi://joe@$PORTAL" --secret-file one --target-secret-file wrong

# the same answer to a wrong secret, a wrong user, an unknown name, and to any of them with the name of no target
for case in "$ME joe wrong $IQN" "$ME jim one $IQN" "$ME-not joe one $IQN" "$ME joe wrong $IQN-not" "$ME-not joe one $IQN-not"; do
	read -r name user file target <<<"$case"
	error 1 auth '127.0.0.1:[0-9]*' '0201 secret' \
		ours info "iscsi://$PORTAL/$target/0?initiator=$name&user=$user&secret-file=$file"
	error 1 auth "iscsi://$user@$PORTAL" '0201 secret' ours iser-discover -t tcp -i "$name" "iscsi://$user@$PORTAL" --secret-file $file
done
grep -q "initiator '$ME' failed to authenticate: .*'joe'.*wrong secret" log || die "$(cat log)"
error 1 not-found '127.0.0.1:[0-9]*' 'no.target' ours info "iscsi://$PORTAL/$IQN-not/0?initiator=$ME&user=joe&secret-file=one"
error 1 auth '127.0.0.1:[0-9]*' '0201 CHAP' ours info "iscsi://$PORTAL/$IQN/0?initiator=$ME"
! iscsi-ls -i $ME "iscsi://$PORTAL" >ls.out 2>&1 || die 'discovery without CHAP'
! grep -q $IQN ls.out || die 'a list without CHAP'

# MD5, the only digest of libiscsi, has to be asked for on both sides
! inq $ME "iscsi://joe%longenough1234@$PORTAL/$IQN/0" || die 'MD5 was accepted'
error 1 auth '127.0.0.1:[0-9]*' '0201 secret MD5 chap=md5' ours info "$(disk 'secret-file=one&auth=md5')"
reread 'initiators: 1 initiators'
! inq $ME "iscsi://joe%longenough1234@$PORTAL/$IQN/0" || die 'MD5 was accepted'
stop
! grep -e longenough -e anothergood log log.before err out || die 'a secret was printed'

echo "$ME user=joe secret=longenough1234 chap=md5
iqn.other user=joe secret=longenough1234" >initiators
begin --initiators-file initiators --log log
inq $ME "iscsi://joe%longenough1234@$PORTAL/$IQN/0" || die "$(cat inq.out)"
iscsi-ls -i $ME "iscsi://joe%longenough1234@$PORTAL" >ls.out || die 'iscsi-ls'
grep -q $IQN ls.out || die "$(cat ls.out)"
same 'MD5, asked for' "$(digest one --chap-algs md5)" md5
same 'the strongest digest of all' "$(digest one --chap-algs md5,sha1)" sha1
same 'a disk with MD5' "$(security 'secret-file=one&auth=md5')" chap
! inq iqn.other "iscsi://joe%longenough1234@$PORTAL/$IQN/0" || die 'MD5 was accepted of another one'
grep -q "initiator 'iqn.other' failed to authenticate: .*MD5.*chap=md5" log || die "$(cat log)"
! inq iqn.third "iscsi://joe%longenough1234@$PORTAL/$IQN/0" || die 'an unknown name'
! inq $ME "iscsi://joe%wrongwrong1234@$PORTAL/$IQN/0" || die 'a wrong secret was accepted'
! inq $ME "iscsi://$PORTAL/$IQN/0" || die 'no CHAP was accepted'

# a file that became invalid changes nothing; a new one replaces the secrets, and reopens the log
echo "$ME user=joe secret=short" >initiators
reread 'initiators line 1: secret= must.be.*keeping the old initiators'
same 'old initiators' "$(security secret-file=one)" chap
echo '* user=joe secret=anothergood123' >initiators
reread 'initiators: 1 initiators'
same 'new initiators' "$(security secret-file=two)" chap
error 1 auth '127.0.0.1:[0-9]*' '0201 secret' ours info "$(disk secret-file=one)"
lists $ME-any two | grep -q $IQN || die 'an initiator that the file does not name'
stop
! grep -e longenough -e anothergood log log.before err out || die 'a secret was printed'

# names of --allow-initiator without a line need not authenticate
echo "$ME user=joe secret=longenough1234" >initiators
begin --initiators-file initiators --allow-initiator $ME --allow-initiator $ME-too
inq $ME-too "iscsi://$PORTAL/$IQN/0" || die "$(cat inq.out)"
! inq $ME "iscsi://$PORTAL/$IQN/0" || die 'no CHAP was accepted'
! inq $ME-not "iscsi://$PORTAL/$IQN/0" || die 'another name was let in'
stop

# an open address needs no warning then
serve ram:1M --iscsi --tcp 0.0.0.0:0 --initiators-file initiators
[ ! -s err ] || die "$(cat err)"
stop
