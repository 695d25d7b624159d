#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect --dry-run: the line for /dev/nvme-fabrics, from every spelling, with the loss policy and without the secrets.
. "$(dirname "$0")/lib.sh"
requires jq
id=abff48c0-ecbe-4d8c-a64a-54f12797e8c2
key=DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:

# a kernel that has fast_io_fail_tmo, and says so, is also sent the time of wait=
line() { ours nvmf-connect --dry-run --json -q nqn.host -I $id "$@" 2>err | jq -r '.line | sub(",fast_io_fail_tmo=[1-9][0-9]*"; "")'; }
is() { # EXPECTED OPTION…
	local expected=$1 got
	shift
	got=$(line "$@")
	[ "$got" = "$expected" ] || die "$*: '$got', not '$expected': $(cat err)"
}
rest=hostnqn=nqn.host,hostid=$id

is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,reconnect_delay=10,ctrl_loss_tmo=60" nvme+tcp://localhost/nqn.x/1
is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,reconnect_delay=10,ctrl_loss_tmo=60" -t tcp -a 127.0.0.1 -n nqn.x
is "transport=rdma,traddr=127.0.0.1,trsvcid=9,nqn=nqn.x,$rest,reconnect_delay=10,ctrl_loss_tmo=60" \
	'transport=rdma;traddr=127.0.0.1;trsvcid=9;nqn=nqn.x'
is "transport=rdma,traddr=::1,trsvcid=4420,nqn=nqn.x,$rest,nr_io_queues=2,reconnect_delay=5,ctrl_loss_tmo=30,tos=4" \
	'nvme+rdma://[::1]/nqn.x?queues=2&loss=30&tos=4'
is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,host_traddr=127.0.0.1,queue_size=32,nr_io_queues=3,ctrl_loss_tmo=-1,keep_alive_tmo=9,hdr_digest" \
	nvme+tcp://127.0.0.1/nqn.x -w 127.0.0.1 --queue_size=32 -i 3 -k 9 -l -1 -g
is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,reconnect_delay=10,ctrl_loss_tmo=-1" --on-loss forever nvme+tcp://127.0.0.1/nqn.x
is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,reconnect_delay=2,ctrl_loss_tmo=60,fast_io_fail_tmo=0" \
	--on-loss fail-fast nvme+tcp://127.0.0.1/nqn.x
is "transport=tcp,traddr=127.0.0.1,trsvcid=8009,nqn=nqn.2014-08.org.nvmexpress.discovery,$rest,reconnect_delay=10,ctrl_loss_tmo=60" \
	-t tcp -a 127.0.0.1 -n nqn.2014-08.org.nvmexpress.discovery

# What is printed is one word of a shell
"$RDMASTOR" nvmf-connect --dry-run -q "nqn.ho's\$t" -I $id nvme+tcp://127.0.0.1/nqn.x >out 2>err || die "$(cat err)"
eval "set -- $(tail -n 1 out)"
[ $# = 1 ] && [[ $1 == *",hostnqn=nqn.ho's\$t,"* ]] || die "pasted: $*"

# Over RDMA an interface is its address
is "transport=rdma,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,host_traddr=127.0.0.1,reconnect_delay=10,ctrl_loss_tmo=60" \
	-f lo nvme+rdma://127.0.0.1/nqn.x

# Configuration says what options do not
echo '[{"hostnqn":"nqn.conf","subsystems":[{"nqn":"nqn.y","ports":[{"transport":"tcp","traddr":"127.0.0.1","tos":9}]},{"nqn":"nqn.x","ports":[
	{"transport":"tcp","traddr":"127.0.0.1","trsvcid":"4420","tos":3,"ctrl_loss_tmo":7}]}]}]' >config.json
is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,ctrl_loss_tmo=7,tos=5" -J config.json -T 5 nvme+tcp://127.0.0.1/nqn.x
is "transport=tcp,traddr=127.0.0.1,trsvcid=9,nqn=nqn.x,$rest,reconnect_delay=10,ctrl_loss_tmo=60" -J config.json nvme+tcp://127.0.0.1:9/nqn.x
is "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nqn.x,$rest,reconnect_delay=10,ctrl_loss_tmo=60" -J none nvme+tcp://127.0.0.1/nqn.x

# A key for TLS: from each place the same identity, as nvme-cli 2.16 makes it, or older ones; the key itself is in none
tls=NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:
echo "$tls " >tls.key
identity() { # EXPECTED OPTION…
	local expected="NVMe1R01 nqn.psk-test-host nqn.psk-test-subsys $1"
	shift
	ours nvmf-connect --dry-run --json -q nqn.psk-test-host -I $id "$@" >out 2>err || die "$*: $(cat err out)"
	[ "$(jq -r .tls_identity out)" = "$expected" ] || die "$*: $(cat out)"
	jq -e '.line | test(",tls$")' out >/dev/null || die "$*: $(cat out)"
	! grep -q VRLb out err || die "$*: the key is printed: $(cat out err)"
}
if [ ! -e /dev/nvme-fabrics ] || grep -q tls_key /dev/nvme-fabrics; then
	u=nvme+tcp://127.0.0.1/nqn.psk-test-subsys new='iSbjiStwJ/1TrTvDlt2fjFmzvsytOJelidNnA+X5lEU=' old='66GuqV08TsAGII39teWUfwQwizjv06Jy8jOcX3NAAzM='
	identity $new $u --tls-key-file tls.key
	identity $new "$u?tls-key-file=tls.key"
	identity $new $u --tls-key-fd 7 7<tls.key
	identity $new $u --tls --tls-key $tls
	grep -q 'key.*history' err || die "no warning: $(cat err)"
	RDMASTOR_TLS_KEY=$tls identity $new $u --tls
	identity $old $u --tls-key-file tls.key --tls-key-compat
	echo '[{"hostnqn":"nqn.psk-test-host","subsystems":[{"nqn":"nqn.psk-test-subsys","ports":[{"transport":"tcp","traddr":"127.0.0.1","tls_key":"'$tls'"}]}]}]' >tls.json
	identity $new $u -J tls.json
fi

# A kernel that does not list dhchap_secret is never sent one; with one that does it is masked
if [ -e /dev/nvme-fabrics ] && grep -q dhchap_secret /dev/nvme-fabrics; then
	line nvme+tcp://127.0.0.1/nqn.x -S $key | grep -q 'dhchap_secret=\*\*\*' || die "$(cat err)"
else
	error 1 unsupported 'nqn.x at tcp 127.0.0.1:4420' 'kernel dhchap_secret' \
		"$RDMASTOR" nvmf-connect --dry-run nvme+tcp://127.0.0.1/nqn.x -S $key
	cp error.err err
fi
grep -q 'secret.*history' err || die "no warning: $(cat err)"
! grep -q Y29y err || die "the secret is printed: $(cat err)"

# nvme-cli's spelling of the form
[ "$("$RDMASTOR" nvmf-connect --dry-run --output-format=json -q nqn.host -I $id nvme+tcp://127.0.0.1/nqn.x | jq -r .schema)" = rdmastor.nvmf-connect ] ||
	die '--output-format is not --output'
# A keyring has a name or a number
ours nvmf-connect --dry-run --tls --keyring .nvme nvme+tcp://127.0.0.1/nqn.x >keyring || die "a keyring by its name"

# Several: one result each, in their order
ours nvmf-connect --dry-run --json -q nqn.host -I $id nvme+tcp://127.0.0.1/nqn.x nvme+tcp://127.0.0.1/nqn.y >several 2>err || die "$(cat err)"
[ "$(jq -r '[.succeeded, .failed, .results[].uri, .uri] | map(tostring) | join(" ")' several)" = \
	"2 0 nvme+tcp://127.0.0.1/nqn.x nvme+tcp://127.0.0.1/nqn.y null" ] || die "$(cat several)"
[[ "$(jq -r '.results[1].line' several)" == *nqn=nqn.y,* ]] || die "$(cat several)"

# A key from a descriptor can be read once, and is for all targets; this kernel may accept no key
"$RDMASTOR" nvmf-connect --dry-run -q nqn.host --dhchap-secret-fd 3 nvme+tcp://127.0.0.1/nqn.x \
	nvme+tcp://127.0.0.1/nqn.y 3< <(echo $key) >out 2>err || true
[ "$(cat out err | grep -c dhchap_secret)" = 2 ] || die "one key for two targets: $(cat out err)"
