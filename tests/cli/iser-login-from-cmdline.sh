#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-login --from-cmdline and --ibft, and dracut's strings as operands, on a kernel command line and a firmware table of our own: what would be
# done, where each word comes from, and that no secret is told.
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

# plans STATUS CMDLINE LINE…: what would be logged in to
plans() {
	local status=$1 cmdline=$2 rc=0
	shift 2
	# shellcheck disable=SC2086 # several words
	booted none "$cmdline" $plan >out 2>err || rc=$?
	same "status of '$cmdline' ($(cat err))" "$status" $rc
	sed 's/; when it is lost.*//' out >lines
	printf '%s\n' "$@" | diff - lines || die "$cmdline: $(cat err)"
	! grep -q hush out err || die "$cmdline: a secret is told: $(cat out err)"
}

me=iqn.2024-01.a:me
plans 0 "quiet rd.iscsi.initiator=$me netroot=iscsi:127.0.0.1::::${iqn}0 netroot=iser:joe:hush1hush1hush@127.0.0.2::3261:1:${iqn}1" \
	"${iqn}0 at 127.0.0.1:3260: would be logged in to over tcp, as $me" \
	"${iqn}1 at 127.0.0.2:3261: would be logged in to over iser, as $me"
grep -q "initiator name $me (kernel command line)" err || die "its source: $(cat err)"
grep -q "${iqn}1 at 127.0.0.2 (kernel command line: netroot=iser:)" err || die "its source: $(cat err)"
plans 0 "root=iscsi:[::1]:6:3260:0:${iqn}0 iscsi_initiator=$me rd.iscsi.param=node.session.timeo.replacement_timeout=33" \
	"${iqn}0 at [::1]:3260: would be logged in to over tcp, as $me"
grep -q 'when it is lost: requests wait 33 s' out || die "rd.iscsi.param: $(cat out)"
plans 0 "iscsi_initiator=$me iscsi_target_name=${iqn}0 iscsi_target_ip=127.0.0.1,127.0.0.2 iscsi_target_port=3261 iscsi_username=joe iscsi_password=hush1hush1hush" \
	"${iqn}0 at 127.0.0.1:3261: would be logged in to over tcp, as $me" \
	"${iqn}0 at 127.0.0.2:3261: would be logged in to over tcp, as $me"
plans 3 "rd.iscsi.initiator=$me netroot=iscsi:3260 netroot=iscsi:127.0.0.1::::${iqn}0 rd.iscsi.param=node.startup=onboot rd.iscsi.login_retry_max=5" \
	"${iqn}0 at 127.0.0.1:3260: would be logged in to over tcp, as $me"
grep -q "netroot: the string 'iscsi:3260' names no target" err || die "one that is wrong: $(cat err)"
grep -q "rd.iscsi.param=node.startup has no meaning here" err || die "a record without meaning: $(cat err)"

plans 3 "rd.iscsi.initiator=$me netroot=iscsi:no-such-host.invalid::::${iqn}1 netroot=iscsi:127.0.0.1::::${iqn}0" \
	"${iqn}0 at 127.0.0.1:3260: would be logged in to over tcp, as $me"
grep -q "host 'no-such-host.invalid'" err || die "a name that is none: $(cat err)"

# The firmware's
rc=0
# shellcheck disable=SC2086 # several words
booted firmware "rd.iscsi.firmware=1 netroot=iscsi:127.0.0.1::::${iqn}0" $plan >out 2>err || rc=$?
same "status with the firmware ($(cat err))" 0 $rc
grep -q "^iqn.2024-01.lab:t0 at 10.0.0.3:3260: would be logged in to over tcp, as iqn.2024-01.lab:firmware" out || die "firmware: $(cat out)"
grep -q "^${iqn}0 at 127.0.0.1:3260: .* as iqn.2024-01.lab:firmware" out || die "its initiator goes for all: $(cat out)"
grep -q 'initiator name iqn.2024-01.lab:firmware (iBFT)' err || die "its source: $(cat err)"
# shellcheck disable=SC2086 # several words
booted firmware "rd.iscsi.firmware=1 rd.iscsi.initiator=$me" $plan >out 2>err || die "command line before firmware: $(cat err)"
grep -q "as $me" out || die "command line before firmware: $(cat out)"
booted firmware quiet "$RDMASTOR" iser-login --ibft --dry-run --json >out 2>err || die "--ibft: $(cat err)"
jq -e '.sessions | length == 1 and .[0].target == "iqn.2024-01.lab:t0" and .[0].initiator == "iqn.2024-01.lab:firmware"' out >/dev/null || die "--ibft: $(cat out)"
! grep -q hush out err || die "--ibft: a secret is told"
# shellcheck disable=SC2086 # several words
{
	refused 1 "the kernel command line wants no iSCSI target" booted none quiet $plan
	refused 1 "the firmware's targets are wanted, but this machine's firmware has left no iBFT" booted none netroot=iscsi $plan
	grep -q 'of what is wanted nothing could be understood' refused.err || die "$(cat refused.err)"
	refused 1 "host 'no-such-host.invalid'" booted none "netroot=iscsi:no-such-host.invalid::::${iqn}1" $plan
	refused 2 'rd.iscsi.target.name= names a target, but not where it is' booted none "rd.iscsi.target.name=${iqn}0" $plan
	refused 1 "this machine's firmware has left no iBFT" booted none quiet "$RDMASTOR" iser-login --ibft --dry-run
	refused 1 "the firmware's iBFT names no target" booted 'firmware; echo 0 >/sys/firmware/ibft/target0/flags' quiet "$RDMASTOR" iser-login --ibft --dry-run
	fails 2 'targets that are named, --from-cmdline and --ibft: give one of them' $plan --ibft
	fails 2 'give one of them' $plan iser://127.0.0.1/$iqn
}

# As an operand
a="$RDMASTOR iser-login --dry-run -i $me"
# shellcheck disable=SC2086 # several words
{
	$a "iscsi:joe:hush1hush1hush:disk:hush2hush2hush@127.0.0.1::3261::${iqn}0" >out 2>err || die "an operand: $(cat err)"
	grep -q "^${iqn}0 at 127.0.0.1:3261: would be logged in to over tcp, as $me" out || die "an operand: $(cat out)"
	fails 2 "'iscsi:' stands for the firmware's targets: --ibft" $a iscsi:
	fails 2 "the string names no host for ${iqn}0, and DHCP is not asked" $a iscsi:::::${iqn}0
	fails 2 "the string 'iscsi:…@127.0.0.1' names no target" $a iscsi:joe:hush@127.0.0.1
	! grep -q hush fails.err || die "told: $(cat fails.err)"
	fails 1 '127.0.0.1:1: connection refused|127.0.0.1:1' "$RDMASTOR" iser-discover "iscsi:joe:hush1hush1hush@127.0.0.1::1::${iqn}0"
	! grep -q hush fails.err || die "told: $(cat fails.err)"
	fails 2 'the string names no host to ask' "$RDMASTOR" iser-discover iscsi:::::${iqn}0
	fails 2 'the string names no host to ask' "$RDMASTOR" iser-discover iscsi:
}
