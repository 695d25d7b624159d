#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The README's quick start works when it is pasted, and prints what the README shows but for numbers and identifiers.
# shellcheck disable=SC2154 # top is set by lib.sh
. "$(dirname "$0")/lib.sh"
# Its port is fixed: it is free in a network namespace of our own
inside=
unshare -rn ip link set lo up 2>/dev/null && inside="unshare -rn"

section=$(sed -n '/^## Quick start/,/^## /p' "$top/README.md")
block() { awk -v fence="$(printf '```%s' "$1")" '$0 == fence { on = 1; next } $0 == "```" { on = 0 } on' <<<"$section"; }
stop() { grep -o '`kill [^`]*`' <<<"$section" | tr -d '`'; }
masked() { sed -E 's/[0-9a-f]{8}-[0-9a-f-]{27}/ID/g; s/[0-9a-f]{20,}/ID/g; s/[0-9]+(\.[0-9]+)?/N/g; s/\b[munµ]?s\b/T/g; s/[KMG]iB/B/g; s/#+ */#/' | sed -E 's/ +/ /g'; }

[ "$(block sh | grep -c .)" -ge 5 ] || die "no quick start in README.md"
mkdir build
ln -s "$RDMASTOR" build/rdmastor
{
	[ -z "$inside" ] || echo 'ip link set lo up'
	echo 'set -e'
	block sh
	stop
} >quick-start
cleanup_fn eval 'kill "$(cat disk1.pid 2>/dev/null)" 2>/dev/null'
$inside bash quick-start >out 2>err || die "exit status $?: $(cat out err)"
cmp disk1.img copy.img || die "the copy differs"
sed -i '/waited .* for a CPU\|hypervisor/d' err # of a busy machine
[ ! -s err ] || die "messages: $(cat err)"

# Every line of the README's output but "..." comes, in this order
masked <out >got
at=0
while IFS= read -r line; do
	[ "$line" != ... ] || continue
	next=$(tail -n +$((at + 1)) got | grep -nxF -m 1 -e "$line" | cut -d: -f1)
	[ -n "$next" ] || die "README.md shows '$line', which does not come after line $at of: $(cat got)"
	at=$((at + next))
done < <(block text | masked)
[ $at -gt 5 ] || die "README.md shows no output"
