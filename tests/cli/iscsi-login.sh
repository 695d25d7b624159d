#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The target's side of the login, in a server for tests (vm/iser-peers/iscsi_login.c), against libiscsi and iser-discover:
# initiators that are allowed and that are not, one-way and mutual CHAP, redirects.
. "$(dirname "$0")/lib.sh"
requires unshare iscsi-ls iscsi-inq
server=${RDMASTOR%/*}/vm-bin/iscsi-login
[ -x "$server" ] || { echo "needs $server (make check)"; exit 77; }
if [ -z "${OWN_NET:-}" ]; then
	unshare -rn true 2>/dev/null || { echo 'needs network namespaces of its own'; exit 77; }
	OWN_NET=1 exec unshare -rn "$HERE/iscsi-login.sh"
fi
ip link set lo up 2>/dev/null || ifconfig lo up
me=iqn.x:me

pid='' elsewhere=''
over() { kill "$pid" $elsewhere 2>/dev/null; }
cleanup_fn over
# listens ADDRESS KEY=VALUE…
listens() {
	[ -z "$pid" ] || { kill "$pid"; wait "$pid" 2>/dev/null; }
	: >log # not the word of the server before
	"$server" "$@" >log 2>&1 &
	pid=$!
	wait_running "$pid" grep -q ready log
}
told() { grep -Eq -- "$1" log || die "the server did not say '$1': $(cat log)"; }
# libiscsi_lists ENVIRONMENT…; ours_lists OPTION…
libiscsi_lists() { env "$@" iscsi-ls -i $me iscsi://127.0.0.1 >theirs 2>&1 && grep -q 'Target:iqn.x:here Portal:127.0.0.1:3260,1' theirs; }
discover=(ours iser-discover -i "$me" -t tcp --no-probe)
ours_lists() { "${discover[@]}" "$@" 127.0.0.1 >ours 2>errors &&
	grep -q '127.0.0.1:3260,1 iqn.x:here' ours; }

listens 127.0.0.1
libiscsi_lists || die "libiscsi: $(cat theirs)"
told "$me is in"
ours_lists || die "iser-discover: $(cat errors)"
iscsi-inq -i $me iscsi://127.0.0.1/iqn.x:none/0 >theirs 2>&1
grep -q 'Target not found' theirs || die "a target that there is not: $(cat theirs)"
told 'refused: .*0203'

listens ::1
iscsi-ls -i $me 'iscsi://[::1]' 2>&1 | grep -qF 'Target:iqn.x:here Portal:[::1]:3260,1' || die 'libiscsi over IPv6'

listens 127.0.0.1 only=iqn.x:you
! libiscsi_lists || die 'libiscsi is let in'
told 'refused: .*0202'
error 1 auth 127.0.0.1 0202 "${discover[@]}" 127.0.0.1

# --- CHAP
echo longenoughsecret >secret
echo anothergoodsecret >target-secret
echo wrongwrongwrong1 >wrong
chap=(LIBISCSI_CHAP_USERNAME=joe LIBISCSI_CHAP_PASSWORD=longenoughsecret)
listens 127.0.0.1 user=joe secret=longenoughsecret
! libiscsi_lists || die 'libiscsi is let in without CHAP'
told "refused: .*initiator.*CHAP"
libiscsi_lists "${chap[@]}" || die "libiscsi, CHAP: $(cat theirs)"
told "$me is in, by CHAP with md5"
! libiscsi_lists "${chap[0]}" LIBISCSI_CHAP_PASSWORD=wrongwrongwrong1 || die 'libiscsi is let in with a wrong secret'
told "refused: .*'joe'"
! libiscsi_lists LIBISCSI_CHAP_USERNAME=jim "${chap[1]}" || die 'libiscsi is let in with a wrong name'
told "refused: .*'jim'"
! libiscsi_lists "${chap[@]}" LIBISCSI_CHAP_TARGET_USERNAME=disk LIBISCSI_CHAP_TARGET_PASSWORD=anothergoodsecret || die 'libiscsi accepted a target with the wrong secret'
told 'refused: .*initiator.*target.*secret'
for alg in md5 sha1 sha256 sha3-256; do
	ours_lists -u joe --secret-file secret --chap-algs $alg || die "iser-discover, CHAP with $alg: $(cat errors)"
done
told "$me is in, by CHAP with sha3-256"
error 1 auth 127.0.0.1 0201 "${discover[@]}" -u joe --secret-file wrong 127.0.0.1

listens 127.0.0.1 user=joe secret=longenoughsecret target-user=disk target-secret=anothergoodsecret
mutual=("${chap[@]}" LIBISCSI_CHAP_TARGET_USERNAME=disk)
libiscsi_lists "${mutual[@]}" LIBISCSI_CHAP_TARGET_PASSWORD=anothergoodsecret || die "libiscsi, mutual CHAP: $(cat theirs)"
! libiscsi_lists "${mutual[@]}" LIBISCSI_CHAP_TARGET_PASSWORD=wrongwrongwrong1 || die 'libiscsi takes another target for this one'
ours_lists -u joe --secret-file secret --target-secret-file target-secret --target-user disk || die "iser-discover, mutual CHAP: $(cat errors)"
error 1 auth 127.0.0.1 'target secret' \
	"${discover[@]}" -u joe --secret-file secret --target-secret-file wrong 127.0.0.1
! grep -q 0201 error.out || die "iser-discover does not know the secret of joe: $(cat error.out)"

# --- redirects
"$server" 127.0.0.2 >log2 2>&1 &
elsewhere=$!
listens 127.0.0.1 moved=127.0.0.2:3260
iscsi-inq -i $me iscsi://127.0.0.1/iqn.x:moved/0 >theirs 2>&1
told "$me is sent on"
grep -q "$me asks for iqn.x:moved" log2 || die "libiscsi does not follow: $(cat theirs log2)"
grep -q 'Target not found' theirs || die "libiscsi, where it was sent: $(cat theirs)"
exit 0
