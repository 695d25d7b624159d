#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The link named iscsiadm: what open-iscsi's commands become, their output and exit statuses; what it refuses names the applet to use.
. "$(dirname "$0")/lib.sh"
set -e
requires applet:iscsiadm jq python3
mkdir links
"$RDMASTOR" --install links >/dev/null
adm=$TMP/links/iscsiadm
[ -L "$adm" ] || die 'there is no link'

# says STATUS WORDS COMMAND…
says() {
	local status=$1 words=$2 rc=0 word
	shift 2
	"$@" >out 2>err </dev/null || rc=$?
	same "$*: status" "$rc" "$status"
	for word in $words; do
		grep -Eq -e "$word" out err || die "$*: '$word' is not in: $(cat out err)"
	done
}
iqn=iqn.2024-01.test:d
ready serve ram:1M --iscsi --iqn $iqn --tcp 127.0.0.1:0
port=$(sed -n 's#.*iscsi://127.0.0.1:\([0-9]*\)/.*#\1#p' out | head -1)
cp out served
says 0 '' "$adm" -m discovery -t st -p "127.0.0.1:$port"
same 'the list' "$(<out)" "127.0.0.1:$port,1 $iqn"
says 0 '' "$adm" -m discoverydb -t sendtargets -p "127.0.0.1:$port" -D
same 'the same of discoverydb' "$(<out)" "127.0.0.1:$port,1 $iqn"
says 0 '' "$RDMASTOR" iscsiadm --mode discovery --type sendtargets --portal "127.0.0.1:$port"
same 'the same as a word' "$(<out)" "127.0.0.1:$port,1 $iqn"
says 4 'refused' "$adm" -m discovery -t st -p 127.0.0.1:1
says 1 'refused' "$RDMASTOR" iscsiadm -m discovery -t st -p 127.0.0.1:1

python3 -c '
import signal, socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >mute &
mute=$!
end_mute() { kill -KILL "$mute" 2>/dev/null; }
cleanup_fn end_mute
wait_running $mute test -s mute
says 1 'timed.out' "$RDMASTOR" iscsiadm -m discovery -t st -p "127.0.0.1:$(<mute)" --timeout 0.5

# its options, with the applet that does the rest
says 7 '-m.discovery' "$adm"
says 2 '-m.discovery' "$RDMASTOR" iscsiadm
says 7 "'iface' iser-login.--src.or.--iface" "$adm" -m iface
says 7 "'isns' -t.st" "$adm" -m discovery -t isns -p 127.0.0.1
says 7 'iser-discover' "$adm" -m discovery -p 127.0.0.1
says 7 'iser-discover' "$adm" -m discoverydb -t st -p 127.0.0.1
says 7 'iser-login' "$adm" -m node -T $iqn -l
says 7 'status' "$adm" -m node
says 7 '-o database iser-login' "$adm" -m node -T $iqn -p 127.0.0.1 -o new
says 7 'iscsiadm.*iser-login' "$adm" -m node -T $iqn -p 127.0.0.1 -o update -n node.startup -v manual
says 7 'iser-login.*--from-cmdline' "$adm" -m node -L all
says 7 'iser-logout.*--all' "$adm" -m node -U all
says 7 'iser-login.--ibft' "$adm" -m fw
says 7 'rdmastor.status' "$adm" -m session -P 3
says 7 'rdmastor.status' "$adm" -m session -R
says 7 'combined' "$adm" -m node -T $iqn -p 127.0.0.1 -l -u
says 0 '^Usage iscsiadm.-m.node' "$adm" --help
error 7 usage '' '-m.discovery' "$adm" --json

# sessions, on a /sys of our own
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "needs root, for sessions"; exit 77; }
cat >sys.sh <<'SETUP'
mount -t tmpfs none /sys/class
mount -t tmpfs none /sys/devices
put() { mkdir -p "${1%/*}"; printf '%s\n' "$2" >"$1"; }
session() { # NUMBER TRANSPORT PORTAL TARGET
	local dir=/sys/devices/platform/host$1/session$1/iscsi_session/session$1 conn=/sys/class/iscsi_connection/connection$1:0
	put $dir/targetname $4; put $dir/tpgt 1; put $dir/state LOGGED_IN
	put $conn/persistent_address $3; put $conn/persistent_port 3260
	put /sys/class/scsi_host/host$1/proc_name $2
	mkdir -p /sys/class/iscsi_session
	ln -s ../../devices/platform/host$1/session$1/iscsi_session/session$1 /sys/class/iscsi_session/session$1
}
two() { session 1 iscsi_tcp 10.0.0.1 iqn.2024-01.test:a; session 2 iser fd00::2 iqn.2024-01.test:b; }
SETUP
with() { unshare -m bash -c ". ./sys.sh; $1; shift; exec \"\$@\"" - "$@"; }
says 21 'no.matching' with true "$adm" -m session
says 21 'no.matching' with true "$adm" -m node -T $iqn -p 127.0.0.1 -u
says 21 'no.matching' with two "$adm" -m session -r 3
says 0 '' with two "$adm" -m session
cat >expected <<'LIST'
tcp: [1] 10.0.0.1:3260,1 iqn.2024-01.test:a (non-flash)
iser: [2] [fd00::2]:3260,1 iqn.2024-01.test:b (non-flash)
LIST
diff expected out || die 'the sessions'
says 0 '' with two "$adm" -m session -o show -P 0
diff expected out || die 'the sessions, asked for in other ways'
says 0 '' with two "$adm" -m session -r 2
same 'one session' "$(<out)" "$(tail -1 expected)"
with two "$adm" -m session --json >out
valid out
jq -e '.sessions | length == 2 and .[1].target == "iqn.2024-01.test:b" and .[0].trsvcid == "3260"' out >/dev/null || die "JSON: $(cat out)"
says 0 'iqn.2024-01.test:a' with two "$adm" -m node -T iqn.2024-01.test:a -p 10.0.0.1:3260 -u --dry-run
says 21 'no.matching' with two "$adm" -m node -T iqn.2024-01.test:a -p 10.0.0.2:3260 -u --dry-run
says 0 'iqn.2024-01.test:a' with two "$adm" -m node -p 10.0.0.1 -u --dry-run
same 'sessions of a portal' "$(wc -l <out)" 1
says 0 'iqn.2024-01.test:b' with two "$adm" -m node -T iqn.2024-01.test:b -u --dry-run
same 'sessions of a target' "$(wc -l <out)" 1
says 0 'test:a test:b' with two "$adm" -m node -u --dry-run
exit 0
