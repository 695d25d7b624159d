#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-discover: wrong calls; what it prints of a target over TCP; targets that lie get a name, and no secret is told.
. "$(dirname "$0")/lib.sh"
requires jq python3 unshare
d="$RDMASTOR iser-discover"
echo longenoughsecret >secret
: >empty
printf 'x%.0s' {1..300} >long
# shellcheck disable=SC2086 # several words
{
	fails 2 'PORTAL' $d
	fails 2 "'nvme\\+rdma://127.0.0.1' is not an iser: or iscsi: URI" $d nvme+rdma://127.0.0.1
	fails 2 "names a target: discovery asks a portal" $d iser://127.0.0.1/iqn.x:a/0
	fails 2 'a user and password are given in a URI' $d joe%hush@127.0.0.1
	fails 2 "initiator name 'me': must begin with iqn., eui. or naa." $d 127.0.0.1 -i me
	fails 2 "the secret of user 'joe' is missing" $d 127.0.0.1 -u joe
	fails 2 'a secret, but no user that it is of' $d 127.0.0.1 --secret-file secret
	fails 2 "secret of the target, 'disk', is missing" $d 127.0.0.1 -u joe --secret-file secret --target-user disk
	fails 2 'a target proves itself only to who does' $d 127.0.0.1 --target-secret-file secret
	fails 2 'secrets of both directions are the same' $d 127.0.0.1 -u joe --secret-file secret --target-secret-file secret
	fails 2 'empty is empty' $d 127.0.0.1 -u joe --secret-file empty
	fails 2 'long has a line of more than 256 bytes' $d 127.0.0.1 -u joe --secret-file long
	fails 1 'open nowhere: no such file' $d 127.0.0.1 -u joe --secret-file nowhere
	fails 2 "-fd: 'x' is not a descriptor" $d 127.0.0.1 -u joe --secret-fd x
	fails 2 "'rot13' is no CHAP algorithm" $d 127.0.0.1 -u joe --secret-file secret --chap-algs md5,rot13
	fails 2 "'x' is not one of" $d 127.0.0.1 -t x
	fails 2 'unknown key|does not know' $d 'iscsi://127.0.0.1?colour=red'
	LIBISCSI_CHAP_PASSWORD='' fails 2 'a secret has 1 to 256 bytes' $d 127.0.0.1 -u joe
	fails 2 'secrets of both directions' $d 'iscsi://joe%hushhushhush@127.0.0.1?target_password=hushhushhush' --json
}
! grep -q hush fails.out fails.err || die "told: $(cat fails.err)"
unshare -rn true 2>/dev/null || { echo 'needs network namespaces of its own for the rest'; exit 77; }
export d top

# asked HOW OPTION…: of a target that errs so
# shellcheck disable=SC2016 # the inner shell's
asked() {
	rm -f listening
	how=$1 unshare -rn bash -c 'ip link set lo up 2>/dev/null || ifconfig lo up; python3 "$top/tests/cli/iscsi_server.py" $how & server=$!
		for _ in {1..100}; do [ -e listening ] && break; sleep 0.1; done
		$d -i iqn.x:me -t tcp "$@" 127.0.0.1 >out 2>err; status=$?; kill -9 $server; exit $status' - "${@:2}"
}
# ends HOW REGEX OPTION…: with status 1 and that reason, in the time it has and some for the machine
ends() {
	local begun=$SECONDS
	asked "$1" --timeout 10 "${@:3}"
	[ $? = 1 ] && grep -Eq "$2" err || die "$1: $(cat out err)"
	[ $((SECONDS - begun)) -le 20 ] || die "$1: took $((SECONDS - begun)) s"
}

asked ''
[ $? = 0 ] || die "status $?: $(cat err)"
diff out - <<-'EOF' || die 'the text'
	127.0.0.1:3260,1 iqn.x:a
	127.0.0.1:3999,2 iqn.x:b
EOF
grep -q '127.0.0.1:3260 answers over tcp$' err || die "no word of who answers: $(cat err)"
grep -q '127.0.0.1:3999 does not answer: connection refused' err || die "no word of who does not: $(cat err)"
cp out right
asked '' --json -q
jq -e '.schema == "rdmastor.iser-discover" and .initiator == "iqn.x:me" and .asked[0].transport == "tcp" and .asked[0].portal == "127.0.0.1:3260" and
	.asked[0].chap == "" and (.records | length) == 2 and
	.records[0] == {target: "iqn.x:a", address: "127.0.0.1", port: 3260, tpgt: 1, transports: ["tcp"]} and .records[1].transports == []' out >/dev/null ||
	die "JSON: $(cat out)"
asked '' --no-probe
[ $? = 0 ] && [ ! -s err ] && cmp -s out right || die "--no-probe: $(cat out err)"
asked pieces --no-probe
cmp -s out right || die "a list in pieces: $(cat out err)"
asked nop --no-probe
cmp -s out right || die "a NOP-In in between: $(cat out err)"
asked moved --no-probe -v
cmp -s out right && grep -q 'redirected to 127.0.0.1:3261' err || die "a redirect: $(cat out err)"

# oddities that are no lie
asked drips --no-probe
cmp -s out right || die "byte by byte: $(cat out err)"
asked isid --no-probe
cmp -s out right || die "another ISID in the answers: $(cat out err)"
asked mute-end --no-probe
cmp -s out right || die "no answer to the logout: $(cat out err)"

ends circle '127.0.0.1: redirect loop: 127.0.0.1:3260'
ends runs '127.0.0.1: the target redirects more than 8 times'
ends nowhere 'the target has moved, but does not tell where to'
ends no-address 'TargetAddress=a b is no address'
ends endless 'a login that is not over after 64 requests'
ends loops 'a login that is not over after 64 requests'
ends stays 'a login that is not over after 64 requests'
ends back 'a login response of stage 0 in stage 1'
ends ahead 'the target ends a stage of the login that does not end here'
ends double 'a login response of stage 0 in stage 1'
ends itt 'a response to a login that is not ours'
ends silent 'no answer to HeaderDigest'
ends twice 'ErrorRecoveryLevel for the second time'
ends unasked 'the target asks, and ends the stage before it is answered'
ends unheard 'an answer to X-a, which was not offered'
ends no-answer 'DefaultTime2Retain=3600 is no answer to what was offered'
ends digest 'HeaderDigest=CRC32C is no answer to what was offered'
ends unended 'a text that ends inside a key or value'
ends no-text 'a text that is not key=value'
ends method-again 'AuthMethod for the second time'
ends chap-foreign 'CHAP_A=9 was not offered' -u joe --secret-file secret
ends chap-half 'a CHAP challenge without CHAP_C' -u joe --secret-file secret
ends chap-twice 'CHAP_A for the second time' -u joe --secret-file secret
ends chap-empty 'a CHAP challenge that is no binary value' -u joe --secret-file secret
ends chap-again 'CHAP_A for the second time' -u joe --secret-file secret
ends hangs-up-early 'connection closed by the (target|peer)'
ends huge 'a data segment of 16777215 bytes, more than the 8192 that may be'
ends huge-list 'a data segment of 16777215 bytes, more than the 65536 that may be'
ends other-list 'an answer to a text request that is not ours'
ends ends-on 'a text that ends and goes on at once'
ends ahs 'a PDU with an additional header'
ends http 'a PDU with an additional header'
ends mute 'no answer to the login in time' --timeout 1
ends mute-keys 'no answer to the login in time' --timeout 1
ends mute-proof 'no answer to the login in time' --timeout 1 -u joe --secret-file secret
ends mute-list 'no answer to SendTargets in time' --timeout 1
ends crawls 'no answer to the login in time' --timeout 1
ends nops 'no answer to SendTargets in time' --timeout 1
ends nops-unheard 'no answer to SendTargets in time|asks faster than it takes answers' --timeout 2
ends goes-on 'a text spread over more than 256 PDUs'
ends empty-on 'a text that goes on with nothing'
ends rejects 'the target rejects a PDU: no known reason'
ends leaves 'the target asks to leave before it has answered'
ends odd 'a PDU of opcode 0x25 that nobody waits for'
ends nothing 'the portal lists no target for iqn.x:me'
ends escape "a target's name with blanks or control characters"
ends hangs-up 'connection closed by the (target|peer)'
ends status=0201 'authentication failed \(login status 0201\)'
ends status=0202 'does not allow this initiator in'
ends status=0203 'no target of this name'
ends status=0301 'does not serve for the moment'
ends status=0444 'refuses the login with status 0444'
exit 0
