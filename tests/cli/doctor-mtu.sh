#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A path that loses large packets: info and doctor name the MTU as the likely cause, for each protocol, and the read ends at --timeout.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:doctor jq unshare nft
if [ -z "${INSIDE:-}" ]; then
	unshare -rn nft list ruleset 2>/dev/null || { echo 'needs nf_tables in a network namespace of its own'; exit 77; }
	INSIDE=yes exec unshare -rn "$HERE/${0##*/}"
fi
ip link set lo up 2>/dev/null || ifconfig lo up
nft -f - <<'EOF'
table inet f {
	chain o {
		type filter hook output priority 0
		tcp sport { 3260, 4420, 10809 } meta length gt 1000 drop
	}
}
EOF
iqn=iqn.2024-01.com.example:disk
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:4420
cleanup_fn kill "$SERVER"
serve ram:1M --iscsi --iqn $iqn --tcp 127.0.0.1:3260
cleanup_fn kill "$SERVER"
offer ram:1M --nbd 127.0.0.1:10809 --name a
way='ip link; ping -M do -s 1472 127.0.0.1'
nvme=nvme+tcp://127.0.0.1/$NQN iscsi=iscsi://127.0.0.1/$iqn nbd=nbd://127.0.0.1/a
# all at once, as each waits for the answer that is lost
# ask NAME WORD…
ask() {
	local name=$1
	shift
	{ rc=0; "$RDMASTOR" "$@" --json >"$name" 2>"$name.err" || rc=$?; echo $rc >"$name.status"; } &
	asked+=($!)
}
# ask_all SECONDS: of which a busy machine needs more for what comes before the answer
ask_all() {
	asked=()
	ask nvme info --timeout "$1" "$nvme"
	ask log nvmf-discover --timeout "$1" nvme+tcp://127.0.0.1:4420
	ask iscsi info --timeout "$1" $iscsi
	ask nbd info --timeout "$1" $nbd
	ask nvme.doctor doctor --timeout $((2 * $1)) "$nvme"
	ask iscsi.doctor doctor --timeout $((2 * $1)) $iscsi
	ask nbd.doctor doctor --timeout $((2 * $1)) $nbd
	wait "${asked[@]}"
}
# mtu NAME FILTER STATUS: the object at that place of the document is a failure by timeout whose hint is the way to check the MTU
mtu() {
	valid "$1"
	same "$1: status" "$(cat "$1.status")" "$3"
	jq -e --arg way "$way" "$2"' | .code == "timeout" and (.hint | endswith($way))' "$1" >/dev/null || die "$1: $(cat "$1" "$1.err")"
	[[ $1 == *.doctor ]] || grep -Fq "$way" "$1.err" || die "$1: $(cat "$1.err")"
}
all_mtu() {
	local doctor
	mtu nvme .error 1
	mtu log .error 1
	mtu iscsi .content_error 0
	mtu nbd .content_error 0
	for doctor in nvme.doctor iscsi.doctor nbd.doctor; do
		mtu $doctor '.findings | map(select(.check == "answers" and .state == "failure"))[0]' 1
	done
}
for seconds in 8 40; do
	ask_all $seconds
	! (trap - EXIT TERM; all_mtu 2>/dev/null) || exit 0
done
ask_all 200
all_mtu
