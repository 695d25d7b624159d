#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-login: each wrong call has its own message and status. Nothing is logged in to: correct calls use --dry-run.
. "$(dirname "$0")/lib.sh"
requires jq
l="$RDMASTOR iser-login --dry-run"
to=iscsi://127.0.0.1/iqn.x:a
echo longenoughsecret >secret
portals=$(printf -- '-p 127.0.0.%s ' {1..9})

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'iser://HOST/IQN --target --portal iser-discover' $l
	error 2 usage '' "'nbd://127.0.0.1/x' iser: iscsi: URI" $l nbd://127.0.0.1/x
	error 2 usage '' "'disk 1' name blanks" $l iser://127.0.0.1/disk%201
	error 2 usage '' 'name 223.bytes' $l "iser://127.0.0.1/iqn.$(printf 'x%.0s' {1..220})"
	error 2 usage '' "LUN 'iscsi://127.0.0.1/iqn.x:a/x' 'x'" $l $to/x
	error 2 usage iser://127.0.0.1 \
		'iser://HOST/IQN --target iser-discover iser://127.0.0.1:3260' $l iser://127.0.0.1
	error 2 usage 127.0.0.1 'iser://HOST/IQN --target iser-discover iscsi://127.0.0.1:3260' \
		$l -p 127.0.0.1 -t tcp
	error 2 usage '' '^[^:]*--target.*--portal' $l -T iqn.x:a
	error 2 usage '' '--transport --portal URI scheme' $l -t tcp $to
	error 2 usage '' '--portal HOST\[:PORT\]' $l -T iqn.x:a -p iscsi://127.0.0.1
	error 2 usage '' '--portal HOST\[:PORT\]' $l -T iqn.x:a -p joe%hush@127.0.0.1
	! grep -q hush error.out error.err || die "output: $(cat error.out error.err)"
	error 2 usage '--portal 127.0.0.1:99999' "'99999' port" $l -T iqn.x:a -p 127.0.0.1:99999
	error 2 usage '--portal 127.0.0.1,x' "portal.group 'x'" $l -T iqn.x:a -p 127.0.0.1,x
	error 2 usage '' "'-m' iscsiadm.*iser-login.-T" $l -m node -T iqn.x:a -p 127.0.0.1 -l
	error 2 usage '' "'--targetname' iscsiadm.*-T" $l --targetname iqn.x:a -p 127.0.0.1
	error 2 usage '' "-o 'update' iscsiadm.*iser-login.--help" $l -o update
	error 2 usage '' "'--keeper' --monitor" $l --keeper off $to
	error 2 usage '' "'--logout' iscsiadm.*iser-logout" $l --logout
	error 2 usage '' "'disk.1' name control" $l -T $'disk\t1' -p 127.0.0.1
	error 2 usage '' "-t 'rdma' auto.*iser.*tcp" $l -T iqn.x:a -p 127.0.0.1 -t rdma
	error 2 usage '' "'session1' operand|alone" $l session1 $to
	error 2 usage '' "'session1' operand|alone" $l session1 -p 127.0.0.1
	error 1 not-found session99 'session URI session1 /dev/sda' $l session99
	error 1 not-found /dev/null 'session URI session1 /dev/sda' $l /dev/null
	error 2 usage "$to\?sparkle=1" "key 'sparkle'" $l "$to?sparkle=1"
	error 2 usage "$to\?path=127.0.0.2" "path= not.supported kernel's" $l "$to?path=127.0.0.2"
	error 2 usage "$to\?user=joe&secretfile=x" "key 'secretfile' secret-file" $l "$to?user=joe&secretfile=x"
	error 2 usage $to "initiator 'me' iqn\. eui\. naa\. 223.bytes" $l $to -i me
	error 2 usage $to "secret 'joe' --secret-file --secret-fd LIBISCSI_CHAP_PASSWORD" \
		$l $to -u joe
	error 2 usage $to 'mutual --user --secret-file' $l $to --target-secret-file secret
	error 2 usage $to "--lun 'x'" $l $to --lun x
	error 2 usage $to 'tpgt 0.to.65535' $l $to --tpgt 65536
	error 2 usage "$to\?tpgt=x" "tpgt 'x'" $l "$to?tpgt=x"
	error 2 usage iser://127.0.0.1/iqn.x:a '--src iSER kernel route' \
		$l iser://127.0.0.1/iqn.x:a --src 127.0.0.1
	error 2 usage iser://127.0.0.1/iqn.x:a '--iface iSER kernel route' \
		$l iser://127.0.0.1/iqn.x:a --iface lo
	error 2 usage $to "--on-loss 'soon' fail-fast wait=SECONDS forever" $l $to --on-loss soon
	error 2 usage "$to\?loss=0" 'loss= 0.001.to.86400 fail-fast forever' $l "$to?loss=0"
	error 2 usage $to '--replacement-timeout 0.to.86400 -1' $l $to --replacement-timeout 86401
	error 2 usage "$to\?noop-timeout=86401" 'noop-timeout 0.to.86400' \
		$l "$to?noop-timeout=86401"
	error 2 usage $to '--noop-timeout 1.to.86400 --noop-interval' $l $to --noop-timeout 0
	error 2 usage $to "--cmds-max '100' power.of.2" $l $to --cmds-max 100
	error 2 usage $to '--first-burst 512.to.16777215' $l $to --first-burst 511
	error 2 usage $to "--initial-r2t 'perhaps' Yes No" $l $to --initial-r2t perhaps
	error 2 usage $to "--header-digest 'MD5' None CRC32C" $l $to --header-digest MD5
	error 2 usage $to '--sessions 1.to.32' $l $to --sessions 33
	error 2 usage 'iqn.x:a at 127.0.0.9' '256 sessions' $l -T iqn.x:a --sessions 32 $portals
	error 2 usage $to '--cmds-max 16.to.2048' $l --json $to --cmds-max 5
}
