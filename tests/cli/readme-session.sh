#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The README's session on a host with one disk, a host behind a rule of nf_tables, and a target that is killed and restarted
# while a copy runs: each command prints what the README shows, but for numbers, line breaks, and how TCP ended.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires nbdkit unshare nft cmp
if [ -z "${INSIDE:-}" ]; then
	unshare -rn nft list ruleset 2>/dev/null || { echo 'needs nf_tables in a network namespace of its own'; exit 77; }
	INSIDE=yes exec unshare -rn "$HERE/${0##*/}"
fi
masked() { sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/\bms\b/s/g; s/[KMG]iB/B/g; s/(reset|closed) by the peer/ended/' | tr -s ' \n' ' '; }
ip link set lo up && ip addr add 10.0.0.1/32 dev lo && ip addr add 10.0.0.2/32 dev lo || die 'no addresses'
nft -f - <<<'table inet filter { chain output { type filter hook output priority 0; ip daddr 10.0.0.2 tcp dport 4420 reject with tcp reset; }; }' ||
	die 'no rule'
random_file src 24
kit --filter=rate file src rate=4M # bits per second, so that the copy does not end before the target
target() { serve "$URI" --nvmf --nqn nqn.2024-01.com.example:disk1 --tcp 10.0.0.1:4420; }
target
ln -s "$RDMASTOR" rdmastor
PATH=$PWD:$PATH

# run COMMAND OUTPUT: it prints these parts, separated by lines "...", in this order
run() {
	local part rest
	eval "$1" >said 2>&1 </dev/null &
	job=$!
	if [[ $1 == *' copy '* ]]; then
		wait_running $job grep -qs ' +$' disk1.map
		kill -KILL "$SERVER"
		wait "$SERVER" 2>/dev/null
		wait_running $job grep -q lost said
		down KILL
		kit file src
		target
	fi
	wait $job
	rest=$(masked <said)
	while IFS= read -r part; do
		[[ $rest == *"$part"* ]] || die "README.md shows for '$1': '$part', which is not in: $(cat said)"
		rest=${rest#*"$part"}
	done < <(sed 's/^\.\.\.$/\r/' <<<"$2" | masked | tr '\r' '\n' | sed 's/^ *//; s/ *$//; /^$/d'; echo)
}
command='' shown='' commands=0
while IFS= read -r line; do
	if [[ $line == '$ '* ]]; then
		[ -z "$command" ] || run "$command" "$shown"
		command=${line#\$ } shown='' commands=$((commands + 1))
	else
		shown+=$line$'\n'
	fi
done < <(sed -n '/^## A session/,/^## /p' "$top/README.md" | sed -n '/^```console$/,/^```$/{ /^```/d; p; }')
[ -z "$command" ] || run "$command" "$shown"
[ $commands -ge 3 ] || die 'README.md shows no session'
cmp src disk1.img || die 'the copy differs'
