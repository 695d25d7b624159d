#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# rdmastor iscsistart: our own messages and statuses; and a secret is in no list of processes, however it is passed.
. "$(dirname "$0")/lib.sh"
requires jq
a="$RDMASTOR iscsistart"
one="-i iqn.2024-01.a:b -t iqn.2024-01.a:c -g 1 -a 127.0.0.1"
session='.sessions[] | [.target, .traddr, .trsvcid, .transport, .initiator]'
long=$(printf 'x%.0s' $(seq 300))
# shellcheck disable=SC2086 # several words
{
	error 2 usage '' InitiatorName $a
	error 2 usage '' Portal.Group $a -i x
	error 2 usage '' TargetName $a -i x -g 1
	error 2 usage '' IP.Address $a -i x -g 1 -t x --json
	error 2 usage '' "'-x'" $a -x
	error 2 usage '' "'more' operand" $a $one more
	error 2 usage '' '--param foo value' $a $one -P foo
	error 2 usage '' 'unknown foo\.bar' $a $one -P foo.bar=1
	error 2 usage '' 'user secret 256.bytes' $a $one -w "$long"
	ours iscsistart $one --dry-run --json >out || die "--dry-run: $?"
	same "--dry-run" "$(jq -c "$session" out)" \
		'["iqn.2024-01.a:c","127.0.0.1","3260","tcp","iqn.2024-01.a:b"]'
	ours iscsistart $one --dry-run --json -P iface.transport_name=iser -p 3261 \
		-P iface.initiatorname=iqn.2024-01.a:d -P node.startup=manual >out 2>err ||
		die "--dry-run: $?"
	same "over iSER" "$(jq -c "$session" out)" \
		'["iqn.2024-01.a:c","127.0.0.1","3261","iser","iqn.2024-01.a:d"]'
	same "a name without meaning: lines" "$(wc -l <err)" 1
	grep -q 'node\.startup' err || die "a name without meaning: $(cat err)"
	$a $one -a '[fd00::1]' --dry-run | grep -q '\bfd00::1\b' || die "brackets"
	ours iscsistart -v --json | jq -e '.iscsistart_version == "2.1.8"' >/dev/null || die "-v --json"
	$a --version | grep -qx 'iscsistart version 2.1.8 (rdmastor)' || die "--version"
}

# The output goes to a full pipe, which leaves time to look
mkfifo pipe
sleep infinity <>pipe &
sleeper=$!
cleanup_fn kill "$sleeper"
exec 3<>pipe
dd if=/dev/zero of=/dev/fd/3 bs=4096 oflag=nonblock status=none 2>/dev/null
ln -s "$RDMASTOR" iscsistart
hidden() { # PID WORDS
	grep -q 'S (sleeping)' "/proc/$1/status" && grep -q iscsistart "/proc/$1/cmdline" && [ "$(tr '\0' ' ' <"/proc/$1/cmdline")" != "$2" ]
}
# seen WORD…: how the list of processes shows it
seen() {
	local pid words="$* "
	"$@" >&3 &
	pid=$!
	wait_running "$pid" hidden "$pid" "$words"
	tr "\0" " " <"/proc/$pid/cmdline" >cmdline || die "$*: has ended"
	kill "$pid"
	wait "$pid" 2>/dev/null
	grep -q -- -v cmdline || die "$*: seen as $(cat cmdline)"
	! grep -q hush cmdline || die "$*: in the list of processes: $(cat cmdline)"
}
seen ./iscsistart -w hush -W hush -v
seen ./iscsistart -whush --password_in=hush --password hush -v
seen ./iscsistart -bwhush -P node.session.auth.password=hush --param=node.session.auth.password_in=hush -v
seen "$RDMASTOR" iscsistart --password-in hush --password=hush --output text -w hush -v
