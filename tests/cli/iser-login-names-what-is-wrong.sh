#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-login: each wrong call has its own message and status. Nothing is logged in to: what is right is only tried dry.
. "$(dirname "$0")/lib.sh"
requires jq
l="$RDMASTOR iser-login --dry-run"
to=iscsi://127.0.0.1/iqn.x:a
echo longenoughsecret >secret
portals=$(printf -- '-p 127.0.0.%s ' {1..9})

# shellcheck disable=SC2086 # several words
{
	fails 2 'whom to log in to is missing: a URI, iser://HOST/IQN, or --target and --portal' $l
	fails 2 "'nbd://127.0.0.1/x' is not an iser: or iscsi: URI" $l nbd://127.0.0.1/x
	fails 2 "'disk1' is no iSCSI name: iqn.…, eui.… or naa.… is expected" $l iser://127.0.0.1/disk1
	fails 2 "a target's name has at most 223 bytes" $l "iser://127.0.0.1/iqn.$(printf 'x%.0s' {1..220})"
	fails 2 "the LUN of 'iscsi://127.0.0.1/iqn.x:a/x'" $l $to/x
	fails 2 'iser-login: iser://127.0.0.1: names no target: iser://HOST/IQN or --target' $l iser://127.0.0.1
	grep -q '^hint: rdmastor iser-discover iser://127.0.0.1:3260 lists them' fails.err || die "the way out: $(cat fails.err)"
	fails 2 '127.0.0.1: names no target' $l -p 127.0.0.1 -t tcp
	grep -q '^hint: rdmastor iser-discover iscsi://127.0.0.1:3260 lists them' fails.err || die "the way out: $(cat fails.err)"
	fails 2 '--target goes with --portal' $l -T iqn.x:a
	fails 2 '--transport goes with --portal: a URI says it by its scheme' $l -t tcp $to
	fails 2 '--portal: HOST\[:PORT\] is expected' $l -T iqn.x:a -p iscsi://127.0.0.1
	fails 2 '--portal: HOST\[:PORT\] is expected' $l -T iqn.x:a -p joe%hush@127.0.0.1
	fails 2 "'disk1' is no iSCSI name" $l -T disk1 -p 127.0.0.1
	fails 2 "is not one of" $l -T iqn.x:a -p 127.0.0.1 -t rdma
	fails 2 "'session1' is no URI; a session that is there is named alone" $l session1 $to
	fails 2 "'session1' is no URI; a session that is there is named alone" $l session1 -p 127.0.0.1
	fails 1 'session99: there is no iSCSI session of this name' $l session99
	fails 1 '/dev/null: there is no iSCSI session of this name' $l /dev/null
	fails 2 "unknown key 'sparkle'" $l "$to?sparkle=1"
	fails 2 "initiator name 'me': must begin with iqn., eui. or naa." $l $to -i me
	fails 2 "the secret of user 'joe' is missing" $l $to -u joe
	fails 2 'a target proves itself only to who does' $l $to --target-secret-file secret
	fails 2 '--lun: ' $l $to --lun x
	fails 2 'tpgt: must be 0 to 65535' $l $to --tpgt 65536
	fails 2 "tpgt: 'x' is not a whole number" $l "$to?tpgt=x"
	fails 2 '--src: over iSER the kernel goes by its routes alone' $l iser://127.0.0.1/iqn.x:a --src 127.0.0.1
	fails 2 '--iface: over iSER' $l iser://127.0.0.1/iqn.x:a --iface lo
	fails 2 "--on-loss: .*soon.*expected fail-fast, wait=SECONDS" $l $to --on-loss soon
	fails 2 'loss=: must be 0.001 to 86400 seconds' $l "$to?loss=0"
	fails 2 "--replacement-timeout: must be 0 to 86400, or -1" $l $to --replacement-timeout 86401
	fails 2 "noop-timeout: must be 0 to 86400" $l "$to?noop-timeout=86401"
	fails 2 '--noop-timeout: must be 1 to 86400, or 0 with' $l $to --noop-timeout 0
	fails 2 "--cmds-max: '100' is no power of 2" $l $to --cmds-max 100
	fails 2 "--first-burst: must be 512 to 16777215" $l $to --first-burst 511
	fails 2 "--initial-r2t: 'perhaps' is neither Yes nor No" $l $to --initial-r2t perhaps
	fails 2 "--header-digest: 'MD5' is none of None, CRC32C" $l $to --header-digest MD5
	fails 2 "--sessions: must be 1 to 32" $l $to --sessions 33
	fails 2 'more than 256 sessions at once' $l -T iqn.x:a --sessions 32 $portals
	fails 2 "cmds-max: must be 16 to 2048" $l --json $to --cmds-max 5
}
! grep -q hush fails.out fails.err || die "told: $(cat fails.err)"
