#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Secrets that are typed on a terminal: nothing is echoed, and the terminal is as before after any end; those on standard input.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e
requires setsid python3

one=DHHC-1:00:Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSAuLi7e4S7L:
two=DHHC-1:00:dGhpcyBpcyBub3QgdGhlIGtleSB5b3Ugd2FudGVkIS7Lr4OS:
umask 077
valid='Key is valid (HMAC 0, length 32)'
check=("$RDMASTOR" nvme check-dhchap-key)

# types STEP… -- COMMAND…: what the terminal shows is in shown; no key is
types() {
	setsid -w python3 "$HERE/typist.py" "$@" >shown 2>failed || die "$(cat failed)"
	! grep -q 'Y29y\|dGhp' shown || die "$* shows the secret: $(cat shown)"
}
# shows WHAT LINE…: exactly these lines
shows() {
	local what=$1
	shift
	same "$what" "$(cat shown)" "$(printf '%s\n' "$@")"
}

for from in '--key-file -' '--key-fd 0' '--key-file /dev/tty' '--key-file /dev/stdin'; do
	# shellcheck disable=SC2086
	types see 'key: ' hidden type "$one\n" -- "${check[@]}" $from
	shows "$from" 'key: ' "$valid" 'status 0'
done
types see 'tls key: ' hidden type "$one\n" -- "$RDMASTOR" nvmf-connect --tls-key-file - -t tcp -a 127.0.0.1 -n "$NQN" --dry-run
types see 'key: ' type 'nonsense\n' -- "${check[@]}" -f -
grep -q 'of the form DHHC-1' shown && grep -qx 'status 2' shown || die "$(cat shown)"
for line in '\n' '\4'; do
	types see 'key: ' type "$line" -- "${check[@]}" -f -
	grep -q 'standard input: no secret' shown && grep -qx 'status 2' shown || die "$(cat shown)"
done
types see 'key: ' type "$(printf '=%.0s' {1..500})\n" -- "${check[@]}" -f -
grep -q 'standard input: first line too long' shown && grep -qx 'status 2' shown || die "$(cat shown)"

# signals: typed, sent, ignored
types see 'key: ' hidden type '\3' -- "${check[@]}" -f -
shows '^C' 'key: ' SIGINT
for signal in INT TERM HUP QUIT; do
	types see 'key: ' hidden kill $signal -- "${check[@]}" -f -
	shows $signal 'key: ' SIG$signal
done
types see 'key: ' type '\32' stopped see 'key: ' hidden type "$one\n" -- "${check[@]}" -f -
shows '^Z' 'key: ' 'key: ' "$valid" 'status 0'
types see 'key: ' kill HUP hidden type "$one\n" -- env --ignore-signal=HUP "${check[@]}" -f -
shows 'an ignored signal' 'key: ' "$valid" 'status 0'

# without a terminal: the first line, and the rest for who reads next
same 'a pipe' "$(echo "$one" | "${check[@]}" -f -)" "$valid"
same 'a file' "$("${check[@]}" -f - <<<"$one")" "$valid"
error 2 usage '' 'standard.input no.secret' "$RDMASTOR" nvme check-dhchap-key -f - --json
printf '%s\nnext\n' "$one" | { "${check[@]}" -f - >/dev/null && same 'what follows' "$(cat)" next; }

# disks in userspace: each secret is asked for once
listen=(--nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --hosts-file hosts)
echo "$HOST dhchap=$one dhchap-ctrl=$two" >hosts
serve ram:8M "${listen[@]}"
uri="$TCP?hostnqn=$HOST&dhchap-secret-file=-"
types see 'dhchap secret: ' hidden type "$one\n" -- "$RDMASTOR" info "$uri" --json
grep -q '"security": *"dh-hmac-chap"' shown || die "$(cat shown)"
types see 'dhchap secret: ' type "$one\n" see 'dhchap ctrl secret: ' hidden type "$two\n" -- "$RDMASTOR" info "$uri&dhchap-ctrl-secret-file=-" --json
grep -q '"security": *"mutual-dh-hmac-chap"' shown || die "$(cat shown)"
types see 'dhchap secret: ' type "$two\n" -- "$RDMASTOR" info "$uri"
grep -q 'wrong secret' shown && grep -qx 'status 1' shown || die "$(cat shown)"
types see 'dhchap secret: ' hidden type '\3' -- "$RDMASTOR" info "$uri"
shows 'a disk' 'dhchap secret: ' SIGINT
same 'two lines' "$(printf '%s\n%s\n' "$one" "$two" | ours info "$uri&dhchap-ctrl-secret-file=-" --json | jq -r .security)" mutual-dh-hmac-chap
# also where root's rights are gone
types see 'dhchap secret: ' hidden type "$one\n" see nbd+unix type "\3" -- "$RDMASTOR" export "$uri" --nbd "unix:$SOCK"
grep -qx 'status 0' shown || die "$(cat shown)"
stop

# CHAP
echo '* user=joe secret=correct-horse' >initiators
serve ram:8M --iscsi --iqn iqn.2024-01.x:d --initiators-file initiators --tcp 127.0.0.1:0
uri=$(sed -n 's/^rdmastor: *//p' out)
uri=${uri%%\?*}
types see 'secret: ' hidden type 'correct-horse\n' -- "$RDMASTOR" info "$uri?user=joe&secret-file=-"
grep -qx 'status 0' shown && ! grep correct shown || die "$(cat shown)"
types see 'secret: ' hidden type 'correct-horse\n' -- "$RDMASTOR" iser-discover -t tcp -u joe --secret-file - "${uri%%/iqn*}"
grep -q iqn.2024-01.x:d shown && grep -qx 'status 0' shown && ! grep correct shown || die "$(cat shown)"
stop
