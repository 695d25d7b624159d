#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect-all --dry-run: wrong calls, every form of configuration, and one result for each connection.
. "$(dirname "$0")/lib.sh"
requires jq
a="$RDMASTOR nvmf-connect-all --dry-run"
id=abff48c0-ecbe-4d8c-a64a-54f12797e8c2

# shellcheck disable=SC2086 # several words
{
	error 2 usage '' 'URI --config --from-cmdline' $a --from-cmdline nvme+tcp://127.0.0.1/nqn.x
	error 2 usage '' 'URI -t -a' $a -t tcp -a 127.0.0.1 nvme+tcp://127.0.0.1/nqn.x
	error 1 not-found '' 'none.conf no.such.file' $a -J none.conf
	echo '[{' >bad.json
	error 2 usage '' 'bad.json \<2\>' $a -J bad.json
	echo '{"hosts":{}}' >bad.json
	error 2 usage '' 'bad.json array' $a -J bad.json
	printf '[Host]\nhello\n' >bad.conf
	error 2 usage '' "bad.conf \\<2\\> 'hello'" $a -J bad.conf
	printf -- '-t tcp -a\n' >bad.conf
	error 2 usage "bad.conf line 1" "traddr argument" $a -J bad.conf
}

cat >good.conf <<-C
	[Host]
	hostnqn = nqn.host
	hostid = $id
	[Subsystem]
	nqn = nqn.x
	controller = transport=tcp;traddr=127.0.0.1
	controller = transport=tcp;traddr=127.0.0.1;trsvcid=4421
C
ours nvmf-connect-all --dry-run -J good.conf --json >out || die "status $? of $(cat out)"
jq -e '.dry_run and .succeeded == 2 and .failed == 0 and (.results | all(.connected == false)) and (.results | length) == 2 and (.results[1].line | sub(",fast_io_fail_tmo=60"; "")) == "transport=tcp,traddr=127.0.0.1,trsvcid=4421,nqn=nqn.x,hostnqn=nqn.host,hostid='$id',reconnect_delay=10,ctrl_loss_tmo=60"' out >/dev/null ||
	die "$(cat out)"

ours nvmf-connect-all --dry-run -J <(sleep 0.3; cat good.conf) --json >out || die "what a slow command writes: $(cat out)"
jq -e '.succeeded == 2' out >/dev/null || die "$(cat out)"

# One of two is wrong
echo '[{"hostnqn":"nqn.host","subsystems":[{"nqn":"nqn.x","ports":[{"transport":"tcp","traddr":"127.0.0.1"},{"transport":"tcp","traddr":"127.0.0.1","queue_size":7}]}]}]' >half.json
error 3 usage nvme.tcp://127.0.0.1/nqn.x 'queue_size \<16\> \<1024\>' "$RDMASTOR" nvmf-connect-all --dry-run -J half.json
jq -e '.succeeded == 1 and .failed == 1 and .results[1].error == (.error | del(.object))' error.out >/dev/null || die "$(cat error.out)"
grep -q 'queue_size.*16.*1024' error.err || die "$(cat error.err)"

# Two hosts share a target; one that names it twice connects once
two=11111111-aaaa-45c1-a8cd-86b33ab273b5
port='"subsystems":[{"nqn":"nqn.x","ports":[{"transport":"tcp","traddr":"127.0.0.1"},{"transport":"tcp","traddr":"127.0.0.1"}]}]'
echo '[{"hostnqn":"nqn.a",'"$port"'},{"hostnqn":"nqn.b",'"$port"'},{"hostnqn":"nqn.b","hostid":"'$two'",'"$port"'}]' >hosts.json
ours nvmf-connect-all --dry-run -J hosts.json --json >out || die "$(cat out)"
same hosts "$(jq -r '.results[].line' out | sed 's/.*,hostnqn=//; s/,reconnect.*//; s/hostid=.*'$two'/two/; s/,hostid=.*//')" $'nqn.a\nnqn.b\nnqn.b,two'

# of entries for one path, the one with TLS
clear='{"transport":"tcp","traddr":"127.0.0.1"}' tls='{"transport":"tcp","traddr":"127.0.0.1","tls":true}'
tls_of() {
	echo '[{"hostnqn":"nqn.a","subsystems":[{"nqn":"nqn.x","ports":['"$1"']}]}]' >tls.json
	ours nvmf-connect-all --dry-run -J tls.json --json >out || die "$(cat out)"
	jq -r '.results | map(.line | test(",tls\\b")) | join(" ")' out
}
same 'clear, then TLS' "$(tls_of "$clear,$tls")" true
same 'TLS, then clear' "$(tls_of "$tls,$clear,$tls")" true

# No target is not a failure, but is reported
: >empty.conf
$a -J empty.conf >out 2>err || die "an empty configuration: $?"
grep -q ': .*\<empty\.conf\>' err || die "$(cat err)"
$a -J empty.conf --quiet >out 2>err || die "an empty configuration: $?"
[ ! -s err ] || die "--quiet prints: $(cat err)"
if ! grep -q nvmf /proc/cmdline; then
	$a --from-cmdline --json >out 2>err || die "a command line without a target: $?"
	jq -e '.results == [] and .succeeded == 0' out >/dev/null || die "$(cat out)"
	grep -q ': .*rd\.nvmf\.discover=' err || die "$(cat err)"
fi

# A misplaced secret is not printed, the mistake is
key=DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:
cat >secret.conf <<-C
	[Subsystem]
	controller = nvme+tcp://127.0.0.1/nqn.x?dhchap_secret=$key
	controller = transport=tcp;traddr=127.0.0.1;nqn=nqn.y;tls=1;tls_key=NVMeTLSkey-1:02:${key#DHHC-1:00:}
C
$a -J secret.conf --json -v >out 2>err
[ $? = 2 ] || die "a secret in a URI: $(cat out)"
valid out
jq -e '.failed == 2 and .results[0].uri == "nvme+tcp://127.0.0.1/nqn.x" and .results[0].error.code == "usage" and
	(.results[1].error.text | test("tls_key.*length"))' out >/dev/null ||
	die "$(cat out)"
! grep -q ia6zGodOr4 out err || die "the secret is printed: $(cat out err)"
grep -q "nvme+tcp://127.0.0.1/nqn.x.*'dhchap_secret'" err || die "$(cat err)"

# The failure of the command is the first of its results
error 1 refused 127.0.0.1:1 'connection.refused' "$RDMASTOR" nvmf-connect-all --quiet nvme+tcp://127.0.0.1:1 nvme+tcp://127.0.0.1:2
jq -e '.succeeded == 0 and .failed == 2 and .results[0].error == .error' error.out >/dev/null || die "$(cat error.out)"
error 2 usage foo 'nvme.rdma:// nvme.tcp://' "$RDMASTOR" nvmf-connect-all foo
error 2 usage '' '--transport' "$RDMASTOR" nvmf-connect-all -a 127.0.0.1
error 2 usage '' '--trsvcid \<1\> \<65535\>' "$RDMASTOR" nvmf-connect-all -t tcp -a 127.0.0.1 -s 0

# --retry uses all of the time; what is left of it may be too short for the last refusal
began=$(date +%s%N)
"$RDMASTOR" nvmf-connect-all --retry --timeout 2 --json nvme+tcp://127.0.0.1:1 >out 2>err && die "connected: $(cat out)"
took=$((($(date +%s%N) - began) / 1000000))
((took > 1800)) || die "--retry --timeout 2 took $took ms"
valid out
jq -e '.error | .object == "127.0.0.1:1" and (.code == "refused" or .code == "timeout")' out >/dev/null || die "$(cat out)"

# The URI in a message has room for a transport of any length
printf -- '-t %s -a 127.0.0.1 -n nqn.a\n' "$(printf 't%.0s' {1..3000})" >long.conf
error 2 usage 'nvme\+t{16}://127.0.0.1/nqn.a' transport "$RDMASTOR" nvmf-connect-all --dry-run --config long.conf
