#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# iser-discover: wrong calls; what it prints of a target over TCP; targets that lie are named, and no secret is printed.
. "$(dirname "$0")/lib.sh"
requires jq python3 unshare
d="$RDMASTOR iser-discover"
echo longenoughsecret >secret
: >empty
printf 'x%.0s' {1..300} >long
# shellcheck disable=SC2086 # several words
[ -n "${OWN_NET-}" ] || {
	error 2 usage '' 'PORTAL' $d
	error 2 usage '' "'nvme\+rdma://127.0.0.1' iser: iscsi: URI" $d nvme+rdma://127.0.0.1
	error 2 usage '' "'iser://127.0.0.1/iqn.x:a/0' target portal" $d iser://127.0.0.1/iqn.x:a/0
	error 2 usage '' 'user iscsi:// --user --secret-file' $d joe%hush@127.0.0.1
	! grep -q hush error.out error.err || die "output: $(cat error.out error.err)"
	error 2 usage '' "initiator 'me' iqn\. eui\. naa\. 223.bytes" $d 127.0.0.1 -i me
	error 2 usage '' "secret 'joe' --secret-file --secret-fd LIBISCSI_CHAP_PASSWORD" \
		$d 127.0.0.1 -u joe
	error 2 usage '' 'secret --user' $d 127.0.0.1 --secret-file secret
	error 2 usage '' "secret target 'disk' --target-secret-file" \
		$d 127.0.0.1 -u joe --secret-file secret --target-user disk
	error 2 usage '' 'mutual --user --secret-file' $d 127.0.0.1 --target-secret-file secret
	error 2 usage 127.0.0.1:99999 "'99999' port" $d 127.0.0.1:99999
	error 2 usage 127.0.0.1:3260,x "portal.group 'x'" $d 127.0.0.1:3260,x
	error 2 usage 127.0.0.1,65536 'portal.group 0.to.65535' $d 127.0.0.1,65536
	error 2 usage '' "'-m' iscsiadm.*iser-discover.HOST" $d -m discovery -t st -p 127.0.0.1
	error 2 usage '' "-t 'st' iscsiadm.*iser-discover.HOST" $d -t st 127.0.0.1
	error 2 usage '' "'-p' iscsiadm.*iser-discover.HOST" $d -p 127.0.0.1
	error 2 usage '' "'-I' iscsiadm.*--transport" $d -I iser 127.0.0.1
	error 2 usage '' "'--show-luns' iscsi-ls.*iser-login" $d --show-luns 127.0.0.1
	error 2 usage 127.0.0.1 'secrets same RFC.7143' \
		$d 127.0.0.1 -u joe --secret-file secret --target-secret-file secret
	error 2 usage '' '^empty.*empty' $d 127.0.0.1 -u joe --secret-file empty
	error 2 usage '' 'long 256.bytes' $d 127.0.0.1 -u joe --secret-file long
	error 1 not-found '' 'nowhere no.such.file' $d 127.0.0.1 -u joe --secret-file nowhere
	error 2 usage '' "--secret-fd 'x' descriptor" $d 127.0.0.1 -u joe --secret-fd x
	error 2 usage '' "'rot13' CHAP sha3-256 sha256 sha1 md5" \
		$d 127.0.0.1 -u joe --secret-file secret --chap-algs md5,rot13
	error 2 usage '' "-t 'x' auto.*iser.*tcp" $d 127.0.0.1 -t x
	error 2 usage 'iscsi://127.0.0.1\?colour=red' "key 'colour'" \
		$d 'iscsi://127.0.0.1?colour=red'
	LIBISCSI_CHAP_PASSWORD='' error 2 usage '' 'secret 1.to.256.bytes' $d 127.0.0.1 -u joe
	error 2 usage 'iscsi://joe@127.0.0.1\?target_password=' 'secrets same RFC.7143' \
		$d 'iscsi://joe%hushhushhush@127.0.0.1?target_password=hushhushhush'
	! grep -q hush error.out error.err || die "output: $(cat error.out error.err)"
	unshare -rn true 2>/dev/null || { echo 'needs network namespaces of its own for the rest'; exit 77; }
	OWN_NET=1 exec unshare -rn "$HERE/iser-discover.sh"
}
ip link set lo up 2>/dev/null || ifconfig lo up
PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/iscsi_server.py" >server.out 2>&1 &
server=$!
cleanup_fn kill -KILL $server
wait_running $server test -e listening

# discover HOW OPTION…: of a target that errs so, at $portal; asked: with the output in out and err
portal=127.0.0.1
discover() {
	echo "$1" >how.127.0.0.1
	$d -i iqn.x:me -t tcp "${@:2}" "$portal"
}
asked() { discover "$@" >out 2>err; }
# ends HOW CODE WORDS OPTION…: with status 1 and that reason
ends() {
	local json=--json
	[ "$2" != - ] || json=
	error 1 "$2" "$portal" "$3" discover "$1" $json --timeout 60 "${@:4}"
	[ "$2" = - ] || jq -e '.records == [] or .asked[0].error.errno' error.out >/dev/null || die "$1: $(cat error.out)"
}
# slow SECONDS HOW CODE WORDS OPTION…: likewise, in the background, as it takes all of the time: more of it where a busy machine did
# not get as far as the words say
slowest=1 slow=()
slow() {
	local portal=127.0.1.$((slowest++)) seconds=$1
	shift
	echo "$1" >how.$portal
	mkdir "$1"
	(
		trap - EXIT TERM
		discover() { $d -i iqn.x:me -t tcp "${@:2}" "$portal"; }
		ln secret "$1/secret"
		cd "$1" || exit
		for _ in 1 2; do
			! (ends "$@" --timeout "$seconds") 2>/dev/null || exit 0
			seconds=$((5 * seconds))
		done
		ends "$@" --timeout "$seconds"
	) &
	slow+=($!)
}

asked ''
[ $? = 0 ] || die "status $?: $(cat err)"
diff out - <<-'EOF' || die 'the text'
	127.0.0.1:3260,1 iqn.x:a
	uri: iscsi://127.0.0.1:3260/iqn.x:a
	127.0.0.1:3999,2 iqn.x:b
	uri: iscsi://127.0.0.1:3999/iqn.x:b
EOF
grep -q '127.0.0.1:3260 .*tcp$' err || die "the portal that answers is missing: $(cat err)"
grep -q '127.0.0.1:3999.*connection refused' err || die "the portal that does not answer is missing: $(cat err)"
cp out right
portal=$(cut -d' ' -f1 out | head -1) asked ''
cmp -s out right || die "a portal as it is printed: $(cat out err)"
asked '' --json -q
valid out
jq -e '.schema == "rdmastor.iser-discover" and .initiator == "iqn.x:me" and (.asked | length) == 1 and
	.asked[0] == {transport: "tcp", traddr: "127.0.0.1", trsvcid: "3260", redirects: 0, chap: "none"} and
	(.records | length) == 2 and .records[1].transports == [] and
	.records[0] == {target: "iqn.x:a", traddr: "127.0.0.1", trsvcid: "3260", tpgt: 1, transports: ["tcp"],
		uri: "iscsi://127.0.0.1:3260/iqn.x:a"}' \
	out >/dev/null || die "JSON: $(cat out)"
asked '' --uris
same 'only URIs' "$(<out)" $'iscsi://127.0.0.1:3260/iqn.x:a\niscsi://127.0.0.1:3999/iqn.x:b'
asked '' --no-probe
[ $? = 0 ] && [ ! -s err ] && cmp -s out right || die "--no-probe: $(cat out err)"
asked pieces --no-probe
cmp -s out right || die "a list in pieces: $(cat out err)"
asked nop --no-probe
cmp -s out right || die "a NOP-In in between: $(cat out err)"
asked moved --no-probe -v
cmp -s out right && grep -q 'redirect.*127.0.0.1:3261' err || die "a redirect: $(cat out err)"

# unusual but valid answers
asked drips --no-probe
cmp -s out right || die "byte by byte: $(cat out err)"
asked isid --no-probe
cmp -s out right || die "another ISID in the answers: $(cat out err)"
asked mute-end --no-probe
cmp -s out right || die "no answer to the logout: $(cat out err)"
asked talks-on --no-probe --timeout 0
cmp -s out right || die "answers after the logout: $(cat out err)"

slow 5 mute timeout 'login'
slow 5 mute-keys timeout 'login'
slow 5 mute-proof timeout 'login' -u joe --secret-file secret
slow 5 mute-list timeout 'SendTargets'
slow 5 crawls timeout 'login'
slow 3 nops timeout 'SendTargets'
# the limit of time or that of unread answers, whichever this machine reaches first
slow 3 nops-unheard - 'SendTargets|faster|NOP'

ends circle protocol 'redirect loop 127.0.0.1:3260'
ends runs protocol 'redirect \b8\b'
ends nowhere protocol 'moved|redirect'
ends no-address protocol 'TargetAddress=a'
ends endless protocol 'login 64'
ends loops protocol 'login 64'
ends stays protocol 'login 64'
ends back protocol 'login stage.0 stage.1'
ends ahead protocol 'login stage end'
ends double protocol 'login stage.0 stage.1'
ends itt protocol 'login response ^[^0-9]+$'
ends silent protocol 'HeaderDigest([^=]|$)'
ends twice protocol 'ErrorRecoveryLevel second|twice'
ends unasked protocol 'stage before|unanswered'
ends unheard protocol 'X-a offered'
ends no-answer protocol 'DefaultTime2Retain=3600 offered'
ends digest protocol 'HeaderDigest=CRC32C offered'
ends unended protocol 'text key value ends|inside|truncated'
ends no-text protocol 'text key=value'
ends method-again protocol 'AuthMethod second|twice'
ends chap-foreign protocol 'CHAP_A=9 offered' -u joe --secret-file secret
ends chap-half protocol 'CHAP challenge CHAP_C' -u joe --secret-file secret
ends chap-twice protocol 'CHAP_A\b[^=] second|twice' -u joe --secret-file secret
ends chap-empty protocol 'CHAP challenge binary 1024' -u joe --secret-file secret
ends chap-again protocol 'CHAP_A\b[^=] second|twice' -u joe --secret-file secret
ends hangs-up-early closed 'connection CHAP --user --secret-file'
ends huge protocol '16777215 8192'
ends huge-list protocol '16777215 65536'
ends other-list protocol 'text request'
ends ends-on protocol 'text end|final goes|continue'
ends ahs protocol 'PDU additional.header'
ends http protocol 'PDU additional.header'
ends goes-on protocol 'text 256.PDUs'
ends empty-on protocol 'text nothing|empty'
ends rejects refused 'rejects? PDU reason'
ends leaves closed 'leave|logout before'
ends odd protocol 'PDU opcode.0x25'
ends nothing not-found 'iqn.x:me --initiator'
ends escape protocol 'name blanks control.characters'
ends hangs-up closed 'connection'
! grep -q CHAP error.out || die "a hint at CHAP after the login: $(cat error.out)"
ends status=0201 auth 'login 0201 CHAP --user --secret'
ends status=0202 auth 'login 0202 --initiator'
ends status=0203 not-found 'login 0203'
ends status=0301 busy 'login 0301'
ends status=0444 refused 'login 0444'
for pid in "${slow[@]}"; do wait "$pid" || exit 1; done
exit 0
