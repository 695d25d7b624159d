#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# doctor and the rules of nf_tables: which rule drops a connection, which may drop it, which does not; ports of our own servers;
# rules that can't be read; tables of legacy iptables.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:doctor jq unshare nft
if [ -z "${INSIDE:-}" ]; then
	unshare -rn nft list ruleset 2>/dev/null || { echo 'needs nf_tables in a network namespace of its own'; exit 77; }
	INSIDE=yes exec unshare -rn "$HERE/${0##*/}"
fi
ip link set lo up 2>/dev/null || ifconfig lo up
out='type filter hook output priority 0'
rules() { { echo flush ruleset; printf '%s\n' "$@"; } >rules; nft -f rules || die "rules: $(cat rules)"; }

# judged STATE URI RULES…: what it says of the URI's port with these rules
judged() {
	local state=$1 uri=$2 rc=0
	rules "${@:3}"
	"$RDMASTOR" doctor --json --timeout 100ms "$uri" >json 2>err || rc=$?
	[ "$rc" = 1 ] || die "$*: status $rc: $(cat json err)"
	valid json
	same "$(cat rules)" "$(jq -r '.findings[] | select(.check == "port") | .state' json)" "$state"
}
local=nvme+tcp://127.0.0.1:4420/nqn.x
for row in 'ok|' "ok|tcp dport 4421 drop" 'ok|tcp dport 4421-4430 drop' 'ok|ip daddr 127.0.0.2 drop' 'ok|ct state invalid drop' \
	'ok|tcp dport 4420 accept; tcp dport 4420 drop' 'ok|udp dport 4420 drop' 'ok|meta nfproto ipv6 drop' 'ok|oifname lo accept; drop' \
	'failure|tcp dport 4420 drop' 'failure|tcp dport 4420 reject with tcp reset' 'failure|tcp dport 4000-5000 counter log drop' \
	'failure|ip daddr 127.0.0.1 tcp dport 4420 drop' 'failure|meta l4proto tcp drop' 'failure|drop' 'failure|ct state established accept; drop' \
	'failure|ct state new drop' 'failure|oif lo tcp dport 4420 drop' \
	'warning|tcp dport { 22, 4420 } drop' 'warning|ip daddr 127.0.0.0/8 drop' 'warning|tcp sport 1000 drop' 'warning|meta mark 7 accept; drop'; do
	judged "${row%%|*}" $local "table inet f {" "chain o { $out; policy accept;" "${row#*|}" "}" "}"
done
for row in 'failure|' 'failure|tcp dport 22 accept' 'failure|ct state established,related accept' 'failure|ct state vmap { established : accept }' \
	'ok|tcp dport 4420 accept' 'ok|oif lo accept' 'ok|ip protocol tcp accept' 'warning|tcp dport { 22, 4420 } accept' 'warning|oifname away accept' \
	'warning|tcp dport vmap { 4420 : accept }'; do
	[ "$row" != 'failure|ct state vmap { established : accept }' ] || row="warning|${row#*|}" # maps are not followed
	judged "${row%%|*}" $local "table inet f {" "chain o { $out; policy drop;" "${row#*|}" "}" "}"
done
# chains of their own, other families, hooks and types
judged failure $local "table inet f {" "chain x { tcp dport 4420 drop" "}" "chain o { $out; jump x" "}" "}"
judged ok $local "table inet f {" "chain x { tcp dport 4420 return" "drop" "}" "chain o { $out; jump x" "}" "}"
judged ok $local "table inet f {" "chain x { tcp dport 4420 return" "}" "chain o { $out; goto x" "drop" "}" "}"
judged failure $local "table inet f {" "chain i { type filter hook input priority 0; tcp dport 4420 drop" "}" "}"
judged ok $local "table ip6 f {" "chain o { $out; policy drop;" "}" "}"
judged ok $local "table ip f {" "chain o { type nat hook output priority 0; tcp dport 4420 redirect to 1" "}" "}"
judged failure 'nvme+tcp://[::1]:4420/nqn.x' "table ip6 f {" "chain o { $out; ip6 daddr ::1 drop" "}" "}"
judged ok 'nvme+tcp://[::1]:4420/nqn.x' "table ip6 f {" "chain o { $out; ip6 daddr ::2 drop" "}" "}"
jq -e '.findings[] | select(.check == "rules") | .chains == 1' json >/dev/null || die "chains: $(cat json)"

# what clients of our servers send
truncate -s 1M disk
serve disk --nvmf --tcp 0.0.0.0:4420 --tcp 127.0.0.1:4421
# served RULES: states of the listeners' ports
served() {
	rules "$@"
	"$RDMASTOR" doctor --json >json 2>err
	echo $? >status
	valid json
	jq -r '.findings[] | select(.check == "port") | "\(.object) \(.state)"' json
}
in='type filter hook input priority 0'
same 'an open port' "$(served "table inet f {" "chain i { $in; tcp dport 22 drop" "}" "}")" 'TCP port 4420 ok'
same status "$(cat status)" 0
same 'a closed port' "$(served "table inet f {" "chain i { $in; policy drop; iif lo accept" "tcp dport 22 accept" "}" "}")" 'TCP port 4420 failure'
same status "$(cat status)" 3
jq -e '.findings[] | select(.state == "failure") | .chain == "i" and .table == "f" and (.hint | test("nft insert rule inet f i tcp dport 4420 accept"))' json >/dev/null ||
	die "no way out: $(cat json)"
same 'a port of a set' "$(served "table inet f {" "chain i { $in; policy drop; tcp dport { 22, 4420 } accept" "}" "}")" 'TCP port 4420 warning'

stop

# without privilege
unshare -U "$RDMASTOR" doctor --json >json 2>err || die "without privilege: $(cat err)"
valid json
jq -e '.findings[] | select(.check == "rules") | .state == "warning" and .code == "permission"' json >/dev/null || die "unreadable rules: $(cat json)"
jq -e '.findings[] | select(.check == "privilege") | .state == "warning"' json >/dev/null || die "privilege: $(cat json)"

# tables of legacy iptables, each with a command that lists its rules; none by asking
nft flush ruleset
# legacy [URI]: object, state and command of each table
legacy() {
	"$RDMASTOR" doctor --json --timeout 2 "$@" >json 2>err
	valid json
	jq -r '.findings[] | select(.check == "legacy") | "\(.object) \(.state) \(.hint | sub("^.*: "; ""))"' json
}
same 'no legacy table' "$(legacy)" ''
iptables-legacy -A OUTPUT -p tcp --dport 4420 -j DROP 2>err || { echo "needs legacy iptables in this kernel for the rest: $(cat err)"; exit 77; }
same 'a legacy table' "$(legacy)" 'iptables table filter warning iptables-legacy -S'
ip6tables-legacy -t mangle -A INPUT -j DROP || die 'ip6tables-legacy'
same 'one of each family' "$(legacy | tr '\n' ' ')" 'iptables table filter warning iptables-legacy -S ip6tables table mangle warning ip6tables-legacy -t mangle -S '
same 'of an IPv6 address' "$(legacy "${local/127.0.0.1/[::1]}")" 'ip6tables table mangle warning ip6tables-legacy -t mangle -S'
same 'of an IPv4 address' "$(legacy $local)" 'iptables table filter warning iptables-legacy -S'
jq -e '[.findings[] | select(.check == "answers")][0].code == "timeout"' json >/dev/null || die "the rule does not drop: $(cat json)"
read -ra command < <(jq -r '.findings[] | select(.check == "legacy") | .hint | sub("^.*: "; "")' json)
"${command[@]}" | grep -qx -e '-A OUTPUT -p tcp -m tcp --dport 4420 -j DROP' || die 'the command lists no rule'
