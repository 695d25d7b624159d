#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iscsi:// as a disk, of tgt: the output of info, copies compared, digests, one-way and mutual CHAP, refusals, a target that is
# killed and restarted in the middle of a copy, and connections that are cut.
. "$(dirname "$0")/lib.sh"
requires unshare tgtd tgtadm cmp python3
if [ -z "${OWN_NET:-}" ]; then
	unshare -rnm true 2>/dev/null || { echo 'needs network namespaces of its own'; exit 77; }
	OWN_NET=1 exec unshare -rnm "$HERE/iscsi-tgt.sh"
fi
ip link set lo up 2>/dev/null || ifconfig lo up
mount -t tmpfs none /run && mkdir /run/tgtd || { echo 'needs a /run of its own'; exit 77; }
iqn=iqn.2024-01.test
at=iscsi://127.0.0.1/$iqn

tgtd_pid=''
over() { kill -9 "$tgtd_pid"; wait "$tgtd_pid"; } 2>/dev/null
cleanup_fn over
admin() { tgtadm --lld iscsi "$@" || die "tgtadm $*"; }
# target TID NAME FILE
target() {
	admin --op new --mode target --tid "$1" -T $iqn:"$2"
	admin --op new --mode logicalunit --tid "$1" --lun 1 -b "$TMP/$3"
	admin --op bind --mode target --tid "$1" -I ALL
}
tgt_answers() { tgtadm --op show --mode sys >/dev/null 2>&1; }
tgt_up() {
	tgtd -f >tgtd.log 2>&1 &
	tgtd_pid=$!
	wait_running "$tgtd_pid" tgt_answers
	target 1 plain disk
	target 2 digests disk2
	target 3 secret disk2
	target 4 mutual disk2
	for key in HeaderDigest DataDigest; do admin --op update --mode target --tid 2 --name $key --value CRC32C; done
	admin --op new --mode account --user joe --password longenoughsecret
	admin --op new --mode account --user disk --password anothergoodsecret
	for tid in 3 4; do admin --op bind --mode account --tid $tid --user joe; done
	admin --op bind --mode account --tid 4 --user disk --outgoing
}

random_file src 40
truncate -s 48M disk
truncate -s 40M disk2
echo longenoughsecret >good
echo notthegoodsecret >bad
echo anothergoodsecret >theirs
tgt_up

ours info "$at:plain/1" --json >json || die "info: $(cat json)"
valid json
same info "$(jq -r '[.size, .iqn, .lun, .block_size, .security, .header_digest, .transport] | join(" ")' json)" \
	"$((48 << 20)) $iqn:plain 1 512 none false tcp"
error 1 not-found 127.0.0.1:3260 'LUN 0,.1' ours info "$at:plain/9"
error 1 not-found 127.0.0.1:3260 'target name.*available there: .*:plain' ours info "$at:none/1"
error 2 usage '.*' "'what 1' name blanks" ours info iscsi://127.0.0.1/what%201/1
error 2 usage '.*' 'LUN' ours info "$at:plain/x"
error 2 usage '.*' 'target iser-discover' ours info iscsi://127.0.0.1
error 2 usage '.*' 'initiator' ours info "$at:plain/1?initiator=me"
error 2 usage '.*' 'queues' ours info "$at:plain/1?queues=65"
error 2 usage '.*' "CHAP.secret.*'joe' secret-file=FILE" ours info "$at:plain/1?user=joe"
error 2 usage '.*' "CHAP.secret.*'ann' target-secret-file=FILE" ours info "$at:plain/1?target_user=ann"
error 2 usage '.*' 'CHAP.secret user=NAME' ours info "$at:plain/1?secret-file=good"
error 2 usage '.*' 'mutual' ours info "$at:plain/1?target-secret-file=theirs"
error 1 refused 127.0.0.1:1 'refused' ours info iscsi://127.0.0.1:1/$iqn:plain/1

ours copy src "$at:plain/1?queues=4" --verify --quiet || die 'copy to the target'
cmp -n $((40 << 20)) src disk || die 'bytes differ on the target'
ours copy "$at:plain/1?depth=3" back --quiet || die 'copy from the target'
cmp back disk || die 'bytes differ from the target'

crc="$at:digests/1?hdr_digest=yes&data_digest=yes"
same digests "$(ours info "$crc" --json | jq -c '[.header_digest, .data_digest]')" '[true,true]'
ours copy src "$crc" --verify --quiet || die 'copy with digests'
cmp src disk2 || die 'bytes differ with digests'
error 1 protocol '.*' 'HeaderDigest' ours info "$at:plain/1?hdr_digest=yes"

error 1 auth '.*' 'CHAP secret-file=' ours info "$at:secret/1"
error 1 auth '.*' 'authentication' ours info "$at:secret/1?auth=md5&user=joe&secret-file=bad"
same CHAP "$(ours info "$at:secret/1?auth=md5&user=joe&secret-file=good" --json | jq -r .security)" chap
own="$at:mutual/1?auth=md5&user=joe&secret-file=good"
same 'mutual CHAP' "$(ours info "$own&target-secret-file=theirs" --json | jq -r .security)" mutual-chap
error 1 auth '.*' '(secret|prove)' ours info "$own&target-secret-file=bad"

: >err
rm -f disk && truncate -s 48M disk
over; tgt_up
{ head -c 20M src; wait_until test -e restarted; tail -c +$((20 * 1024 * 1024 + 1)) src; } | "$RDMASTOR" copy - "$at:plain/1?queues=2" -v >out 2>err &
pid=$!
wait_running $pid cmp -s -n $((16 << 20)) src disk
over
wait_running $pid grep -q lost err
tgt_up
: >restarted
wait $pid || die "copy over a restart: $(cat err)"
cmp -n $((40 << 20)) src disk || die 'bytes differ after a restart'
grep -Eq 'restored' err || die "not back: $(cat err)"

# a connection that is cut again and again
python3 "$HERE/cut_proxy.py" 3260 >proxy.port &
proxy=$!
cleanup_fn kill $proxy
wait_until test -s proxy.port
head -c 40M /dev/zero | dd of=disk bs=1M conv=notrunc status=none
through="iscsi://127.0.0.1:$(cat proxy.port)/$iqn:plain/1"
: >err
{ for ((i = 0; i < 5; i++)); do tail -c +$((i * 8388608 + 1)) src | head -c 8M; [ $i = 4 ] || wait_until test -e cut.$i; done; } |
	"$RDMASTOR" copy - "$through?queues=2" -v >out 2>err &
pid=$!
for ((i = 0; i < 4; i++)); do
	wait_running $pid cmp -s -n $((i * 8388608 + 4194304)) src disk
	kill -USR1 $proxy
	: >cut.$i
done
wait $pid || die "copy over cuts: $(cat err)"
cmp -n $((40 << 20)) src disk || die 'bytes differ after cuts'
grep -q 'connection lost: ' err || die "no cut was noticed: $(cat err)"
