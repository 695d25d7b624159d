#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-login --from-cmdline and --ibft, and dracut's strings as operands, on a kernel command line and a firmware table of our own: what would be
# done, the source of each parameter, and that no secret is printed.
. "$(dirname "$0")/lib.sh"
requires unshare jq
unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
iqn=iqn.2009-06.dracut:target

firmware() {
	local d=/sys/firmware/ibft
	mount -t tmpfs none /sys/firmware
	mkdir -p $d/initiator $d/target0
	echo iqn.2024-01.lab:firmware >$d/initiator/initiator-name
	echo 3 >$d/target0/flags
	echo 10.0.0.3 >$d/target0/ip-addr
	echo 02000000 >$d/target0/lun
	echo iqn.2024-01.lab:t0 >$d/target0/target-name
	echo joe >$d/target0/chap-name; echo hushhushhush >$d/target0/chap-secret
}
none() { mount -t tmpfs none /sys/firmware; }
export -f firmware none
# booted SETUP CMDLINE WORD…: runs it on such a machine
booted() {
	local setup=$1
	printf '%s\n' "$2" >cmdline
	shift 2
	unshare -mn bash -c "ip link set lo up 2>/dev/null; mount -t tmpfs none /etc; $setup; mount --bind cmdline /proc/cmdline"'; exec "$@"' - "$@"
}
plan="$RDMASTOR iser-login --from-cmdline --dry-run"

list='.sessions[] | "\(.target) \(.traddr) \(.trsvcid) \(.transport) \(.initiator)"'
# plans STATUS CMDLINE LINE…: the sessions that would be logged in to; as text in the file "text"
plans() {
	local status=$1 cmdline=$2 rc=0
	shift 2
	# shellcheck disable=SC2086 # several words
	booted none "$cmdline" $plan --json >out 2>err || rc=$?
	same "status of '$cmdline' ($(cat err))" "$status" $rc
	valid out
	jq -r "$list" out >lines
	printf '%s\n' "$@" | diff - lines || die "$cmdline: $(cat err)"
	# shellcheck disable=SC2086 # several words
	booted none "$cmdline" $plan >text 2>&1
	! grep -q hush out err text || die "$cmdline: a secret is printed: $(cat out err text)"
}

me=iqn.2024-01.a:me
plans 0 "quiet rd.iscsi.initiator=$me netroot=iscsi:127.0.0.1::::${iqn}0 netroot=iser:joe:hush1hush1hush@127.0.0.2::3261:1:${iqn}1" \
	"${iqn}0 127.0.0.1 3260 tcp $me" "${iqn}1 127.0.0.2 3261 iser $me"
grep -q "initiator .*$me.*kernel command line" err || die "its source: $(cat err)"
grep -q "${iqn}1 .*127.0.0.2.*kernel command line.*netroot=iser:" err ||
	die "its source: $(cat err)"
plans 0 "root=iscsi:[::1]:6:3260:0:${iqn}0 iscsi_initiator=$me rd.iscsi.param=node.session.timeo.replacement_timeout=33" \
	"${iqn}0 ::1 3260 tcp $me"
grep -q 'wait=33$' text || die "rd.iscsi.param: $(cat text)"
plans 0 "iscsi_initiator=$me netroot=iscsi:joe:hush1hush1hush@127.0.0.1::::${iqn}0 rd.iscsi.param=node.session.auth.chap_algs=SHA256,MD5" \
	"${iqn}0 127.0.0.1 3260 tcp $me"
! grep -q ignored err || die "rd.iscsi.param: $(cat err)"
# shellcheck disable=SC2086 # several words
! booted none "iscsi_initiator=$me netroot=iscsi:127.0.0.1::::${iqn}0 rd.iscsi.param=node.session.auth.chap_algs=rot13" $plan 2>err || die 'CHAP with rot13'
grep -q "CHAP algorithm 'rot13'" err || die "rd.iscsi.param: $(cat err)"
plans 0 "iscsi_initiator=$me iscsi_target_name=${iqn}0 iscsi_target_ip=127.0.0.1,127.0.0.2 iscsi_target_port=3261 iscsi_username=joe iscsi_password=hush1hush1hush" \
	"${iqn}0 127.0.0.1 3261 tcp $me" "${iqn}0 127.0.0.2 3261 tcp $me"
plans 3 "rd.iscsi.initiator=$me netroot=iscsi:3260 netroot=iscsi:127.0.0.1::::${iqn}0 rd.iscsi.param=node.startup=onboot rd.iscsi.login_retry_max=5" \
	"${iqn}0 127.0.0.1 3260 tcp $me"
grep -q "netroot.*'iscsi:3260'.*target" err || die "one that is wrong: $(cat err)"
grep -q "rd.iscsi.param=node.startup" err || die "a record without meaning: $(cat err)"

plans 3 "rd.iscsi.initiator=$me netroot=iscsi:no-such-host.invalid::::${iqn}1 netroot=iscsi:127.0.0.1::::${iqn}0" \
	"${iqn}0 127.0.0.1 3260 tcp $me"
grep -q "'no-such-host.invalid'" err || die "an unknown host name: $(cat err)"
jq -e '.error.code == "unreachable"' out >/dev/null || die "an unknown host name: $(cat out)"
plans 3 "rd.iscsi.initiator=$me netroot=iscsi:a/b::::${iqn}1 netroot=iscsi:127.0.0.1::::${iqn}0" \
	"${iqn}0 127.0.0.1 3260 tcp $me"
jq -e '.error.code == "usage"' out >/dev/null || die "an invalid host: $(cat out)"

# The firmware's
rc=0
# shellcheck disable=SC2086 # several words
booted firmware "rd.iscsi.firmware=1 netroot=iscsi:127.0.0.1::::${iqn}0" $plan --json \
	>out 2>err || rc=$?
same "status with the firmware ($(cat err))" 0 $rc
jq -r "$list" out >lines
grep -qx "iqn.2024-01.lab:t0 10.0.0.3 3260 tcp iqn.2024-01.lab:firmware" lines ||
	die "firmware: $(cat out)"
grep -qx "${iqn}0 127.0.0.1 3260 tcp iqn.2024-01.lab:firmware" lines ||
	die "its initiator goes for all: $(cat out)"
grep -q 'initiator .*iqn.2024-01.lab:firmware.*iBFT' err || die "its source: $(cat err)"
# shellcheck disable=SC2086 # several words
booted firmware "rd.iscsi.firmware=1 rd.iscsi.initiator=$me" $plan --json >out 2>err ||
	die "command line before firmware: $(cat err)"
jq -e --arg me $me '.sessions | length == 1 and .[0].initiator == $me' out >/dev/null ||
	die "command line before firmware: $(cat out)"
booted firmware quiet "$RDMASTOR" iser-login --ibft --dry-run --json >out 2>err || die "--ibft: $(cat err)"
valid out
jq -e '.sessions | length == 1 and .[0].target == "iqn.2024-01.lab:t0" and .[0].initiator == "iqn.2024-01.lab:firmware"' out >/dev/null || die "--ibft: $(cat out)"
! grep -q hush out err || die "--ibft: a secret is printed"
# shellcheck disable=SC2086 # several words
{
	error 1 not-found '' 'kernel.command.line iSCSI target' booted none quiet $plan
	error 1 not-found '' '' booted none netroot=iscsi $plan
	grep -q 'firmware.*no iBFT' error.err || die "its reason: $(cat error.err)"
	error 1 unreachable 'kernel command line: netroot=iscsi:' "'no-such-host.invalid'" \
		booted none "netroot=iscsi:no-such-host.invalid::::${iqn}1" $plan
	error 2 usage '' 'rd.iscsi.target.name=' booted none "rd.iscsi.target.name=${iqn}0" $plan
	error 1 not-found '' 'firmware no.iBFT' \
		booted none quiet "$RDMASTOR" iser-login --ibft --dry-run
	error 1 not-found '' 'firmware iBFT no.target' \
		booted 'firmware; echo 0 >/sys/firmware/ibft/target0/flags' \
		quiet "$RDMASTOR" iser-login --ibft --dry-run
	error 2 usage '' '--from-cmdline --ibft' $plan --ibft
	error 2 usage '' '--from-cmdline --ibft' $plan iser://127.0.0.1/$iqn
}

# As an operand
a="$RDMASTOR iser-login --dry-run -i $me"
# shellcheck disable=SC2086 # several words
{
	$a --json "iscsi:joe:hush1hush1hush:disk:hush2hush2hush@127.0.0.1::3261::${iqn}0" \
		>out 2>err || die "an operand: $(cat err)"
	same 'an operand' "$(jq -r "$list" out)" "${iqn}0 127.0.0.1 3261 tcp $me"
	$a "iscsi:@127.0.0.1::3261::${iqn}0" >out 2>err || die "an empty user: $(cat err)"
	error 2 usage iscsi: "firmware --ibft" $a iscsi:
	error 2 usage '' "host ${iqn}0 DHCP" $a iscsi:::::${iqn}0
	error 2 usage iscsi:joe@127.0.0.1 "target HOST NAME" $a iscsi:joe:hush@127.0.0.1
	! grep -q hush error.out error.err || die "output: $(cat error.out error.err)"
	error 1 refused "iscsi:joe@127.0.0.1::1::${iqn}0" 'connection.refused' \
		"$RDMASTOR" iser-discover "iscsi:joe:hush1hush1hush@127.0.0.1::1::${iqn}0"
	! grep -q hush error.out error.err || die "output: $(cat error.out error.err)"
	error 2 usage '' '^[^@]*host' "$RDMASTOR" iser-discover iscsi:::::${iqn}0
	error 2 usage iscsi: firmware "$RDMASTOR" iser-discover iscsi:
}
