#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# srp-connect --dry-run prints the string for add_target, the same for every spelling, also where nothing can be connected.
. "$(dirname "$0")/lib.sh"
requires jq

line=id_ext=0000000000000001,ioc_guid=0000000000000002,dest=127.0.0.1:5555,initiator_ext=0000000000000003,ch_count=4
# prints LINE WORD…
prints() {
	local want=$1
	shift
	"$RDMASTOR" srp-connect --dry-run "$@" >out 2>err || die "$*: $(cat err)"
	tail -n 1 out | grep -Fqx -- "$want" || die "$*: printed '$(cat out)', not '$want'"
}
prints $line 'srp+cm://localhost:5555/2/1?initiator_ext=3&ch_count=4'
prints $line 'srp+cm://127.0.0.1:5555/2/1/7' --initiator-ext 0x3 --ch-count 4
prints $line id_ext=1,ioc-guid=2,dest=127.0.0.1:5555,ch_count=4,initiator_ext=3
prints $line --id_ext 1 --ioc-guid 2 --dest 127.0.0.1:5555 --initiator-ext 3 --ch-count 4
prints id_ext=0000000000000001,ioc_guid=0000000000000002,dgid=fe800000000000000000000000000007,pkey=7fff,service_id=0000000000000009 \
	'srp://[fe80::7]/2/1?service_id=9&pkey=7fff'
prints id_ext=0000000000000001,ioc_guid=0000000000000002,dgid=fe800000000000000000000000000007,pkey=ffff,service_id=0000000000000009 \
	--id-ext 1 --ioc-guid 2 --dgid fe80::7 --service-id 9

# tmo JQ-ARRAY WORD…: the policy, and seconds of reconnect_delay, fast_io_fail_tmo, dev_loss_tmo; null = off
tmo() {
	local want=$1 got
	shift
	got=$(ours srp-connect --dry-run --json srp+cm://127.0.0.1:5555/2/1 "$@" 2>err |
		jq -c '[.on_loss] + (.timeouts | [.reconnect_seconds, .fail_seconds, .give_up_seconds])')
	[ "$got" = "$want" ] || die "$*: $got, not $want: $(cat err)"
}
tmo '["wait=60",10,60,null]'
tmo '["fail-fast",10,0,null]' --on-loss fail-fast
tmo '["wait=600",10,600,null]' --on-loss forever
tmo '["wait=30",10,30,null]' --on-loss wait=30
tmo '["wait=1",10,1,null]' --on-loss 500ms
tmo '["wait=9",10,9,null]' --on-loss 9
tmo '["wait=10",11,10,null]' --on-loss wait=10
tmo '["wait=10",5,10,null]' --on-loss wait=10 --reconnect-delay 5
tmo '["wait=30",10,30,90]' --on-loss 30 --dev-loss-tmo 90
tmo '["wait=90",10,null,90]' --fast-io-fail-tmo off --dev-loss-tmo 90 --reconnect-delay 10
tmo '[null,10,null,null]' --fast-io-fail-tmo off --dev-loss-tmo off --reconnect-delay 10
tmo '["wait=30",5,30,null]' --on-loss 30 --reconnect-delay 5
ours srp-connect --dry-run --json srp+cm://127.0.0.1:5555/2/1 2>/dev/null | jq -e '
	.schema == "rdmastor.srp-connect" and .dry_run and .uri == "srp+cm://127.0.0.1:5555/2/1" and
	.connected == false and .existed == false and (.add_target | startswith("id_ext="))' >/dev/null || die "the document"

# several: one result each, in their order; one that fails keeps nothing from the others
other=srp+cm://127.0.0.1:5556/2/4
ours srp-connect --dry-run --json "$other" host99 srp+cm://127.0.0.1:5555/2/1 id_ext=5,ioc_guid=2,dest=127.0.0.1:5557 --queue-size 32 >out 2>err && die "host99 is connected"
[ $? = 3 ] || die "some of several failed: $(cat err)"
jq -e --arg other $other '.succeeded == 3 and .failed == 1 and .error.object == "host99" and (.results |
	length == 4 and .[0].uri == $other and .[1].error.code == "not-found" and .[1].connected == false and
	.[2].uri == "srp+cm://127.0.0.1:5555/2/1" and (.[3] | has("uri") | not) and
	all(.[0, 2, 3]; .add_target | endswith("queue_size=32")))' out >/dev/null || die "several: $(cat out)"
# a usage error is one of the whole command
error 2 usage 'srp\+cm://127.0.0.1:5555/2/x' "id_ext 'x'" "$RDMASTOR" srp-connect --dry-run $other srp+cm://127.0.0.1:5555/2/x
