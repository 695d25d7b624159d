#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An iSCSI target over software iWARP: two LUNs written, read and compared by our own initiator, CHAP, a list of initiators, a stop that is
# announced; the address is printed for each transport, and both share one port.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

IQN=iqn.2024-01.lab:d
random_file src 24
truncate -s 24M disk
random_file other 4
umask 077
echo 'longenough1234' >secret
printf wrongwrong1234 >wrong
echo 'iqn.2024-01.lab:i user=joe secret=longenough1234' >initiators
serve disk other --iscsi --rdma '127.0.0.1:0?rdma=iwarp' --tcp 127.0.0.1:0 --iqn $IQN --iqn $IQN --json
valid out
jq -e --arg t $IQN '.iscsi.connect | length == 2 and all(.target == $t) and .[0].trsvcid == .[1].trsvcid and
	(.[0] | .transport == "rdma" and .iwarp and .libiscsi == null and (.rdmastor | startswith("iser://127.0.0.1:")) and
		(.iscsiadm | contains("-I iser")) and (.iscsistart | contains("iface.transport_name=iser"))) and
	(.[1] | .transport == "tcp" and .iwarp == null and (.rdmastor | startswith("iscsi://127.0.0.1:")))' out >/dev/null || die "$(cat out)"
ISER=$(jq -r '.iscsi.connect[0].rdmastor' out)
ours copy -q --force src "$ISER"
cmp src disk || die 'written over iSER'
ours copy -q --verify "$ISER?queues=4" back0
cmp src back0 || die 'read over iSER'
ours copy -q "${ISER%/0}/1" back1
cmp other back1 || die 'the second LUN'
ours info "$ISER" --json | jq -e '.transport == "rdma" and .rdma == "iwarp"' >/dev/null || die "$(ours info "$ISER")"
error 1 not-found '.*' 'LUN' ours info "${ISER%/0}/7"
error 1 not-found '.*' 'target' ours info "${ISER%/0}-not/0"
ours copy -q --verify "$(jq -r '.iscsi.connect[1].rdmastor' out)" back
cmp src back || die 'read over TCP at the port of both'
ours status --json | jq -e --argjson pid "$SERVER" '.serving[] | select(.pid == $pid).listeners | map(.transport) == ["rdma", "tcp"] and .[0].iwarp' >/dev/null || die "$(ours status --json)"
stop

serve disk --iscsi --rdma '127.0.0.1:0?rdma=iwarp' --iqn $IQN
grep -q '^iscsiadm: .*-I iser -l # .* siw$' out || die "$(cat out)"
[ "$(grep -c '^rdmastor: ' out)" = 1 ] || die "$(cat out)"
"$RDMASTOR" export "$(sed -n 's/^rdmastor: *//p' out)?loss=fail-fast" --nbd "unix:$PWD/nbd" >export.out 2>export.err &
EXPORT=$!
cleanup_fn end_export
end_export() { kill -KILL $EXPORT 2>/dev/null || true; }
wait_running $EXPORT test -S nbd
stop
wait_running $EXPORT grep -q 'the target ends the session' export.err
end_export

serve disk --iscsi --rdma '127.0.0.1:0?rdma=iwarp' --iqn $IQN --initiators-file initiators
ISER=$(sed -n 's/^rdmastor: *//p' out)
[[ $ISER == *'?user=NAME&secret-file=FILE' ]] || die "without words for a secret: $ISER"
ISER=${ISER%\?*}
error 1 auth '.*' 'CHAP' ours info "$ISER?initiator=iqn.2024-01.lab:i"
error 1 auth '.*' 'login' ours info "$ISER?initiator=iqn.2024-01.lab:i&user=joe&secret-file=wrong"
error 1 auth '.*' 'initiator' ours info "$ISER?initiator=iqn.2024-01.lab:x&user=joe&secret-file=secret"
ours copy -q "$ISER?initiator=iqn.2024-01.lab:i&user=joe&secret-file=secret" back2
cmp src back2 || die 'read with CHAP'
stop
