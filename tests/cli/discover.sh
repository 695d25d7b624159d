#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# discover: the disks of a host by all protocols, at default and other ports, by one protocol; the reasons if none is found; wrong
# calls.
. "$(dirname "$0")/lib.sh"
requires applet:discover jq python3 unshare
d="$RDMASTOR discover"
# shellcheck disable=SC2086 # several words
[ -n "${OWN_NET-}" ] || {
	error 2 usage '' 'HOST.URI' $d
	error 2 usage '' "'10.0.0.2'" $d 10.0.0.1 10.0.0.2
	for operand in '' /tmp/x a@b '[::1' ram:1M 'a b' 10.0.0.1/x; do
		error 2 usage '' 'HOST HOST:PORT SCHEME' $d "$operand"
	done
	error 2 usage '' 'rdmastor.info' $d "nvme+tcp://127.0.0.1/$NQN"
	error 2 usage '' "'foo:' nvme.tcp nbd nfs" $d foo://127.0.0.1
	error 2 usage '' "'srp:' nbd" $d srp://5
	error 2 usage nbd:// host $d nbd://
	error 1 - '^rdmastor discover: no-such-host.invalid: ' no-such-host $d no-such-host.invalid
	same 'one reason, reported once' "$(grep -cv '^hint: ' error.err)" 1
	error 2 usage '' "'-p' iscsiadm.*HOST" $d -p 10.0.0.1
	error 2 usage '' "'-L' qemu-nbd.*HOST" $d -L
	unshare -rn true 2>/dev/null || { echo 'needs network namespaces of its own for the rest'; exit 77; }
	OWN_NET=1 exec unshare -rn "$HERE/discover.sh"
}
ip link set lo up 2>/dev/null || ifconfig lo up

# no server: each protocol's reason, on stderr and in JSON
error 1 not-found 127.0.0.1 'HOST:PORT' $d 127.0.0.1
for protocol in 'NVMe over TCP' 'NVMe over RDMA' 'iSCSI over TCP' iSER NBD NFS; do
	grep -q "^rdmastor discover: $protocol: ..." error.err || die "no reason of $protocol: $(cat error.err)"
done
jq -e '.records == [] and (.failed_protocols | map(.protocol) == ["nvme+tcp", "nvme+rdma", "iscsi", "iser", "nbd", "nfs+rdma"]) and
	(.failed_protocols[2].error.code == "refused")' error.out >/dev/null || die "JSON of no server: $(cat error.out)"
error 1 not-found 127.0.0.1:33 'this.port' $d 127.0.0.1:33
error 1 refused 127.0.0.1:33 'refused' $d nbd://127.0.0.1:33
error 1 refused iscsi://127.0.0.1:33 'refused' $d iscsi://127.0.0.1:33
error 1 not-found ::1 '' $d ::1
grep -q '^rdmastor discover: SRP: ' error.err || die "no GID was queried: $(cat error.err)"

# one of each, at default ports
ended() { kill -KILL "$@" 2>/dev/null; wait "$@" 2>/dev/null; }
truncate -s 8M disk
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:4420 --rdma '127.0.0.1:4420?rdma=iwarp' --iscsi --iqn iqn.2024-01.test:d --tcp 127.0.0.1:3260
cleanup_fn ended "$SERVER"
offer disk --ro --nbd 127.0.0.1:10809 --name 'a b'
cleanup_fn ended "$SERVER"
cat >expected <<-LIST
	nvme+rdma://127.0.0.1:4420/$NQN
	nvme+tcp://127.0.0.1:4420/$NQN
	iscsi://127.0.0.1:3260/iqn.2024-01.test:d
	nbd://127.0.0.1/a%20b
LIST
$d -u 127.0.0.1 >out 2>err || die "status $?: $(cat err)"
diff expected out || die 'the URIs'
[ ! -s err ] || die "messages: $(cat err)"
while read -r uri; do ours info "$uri" --json | jq -e '.size == 8388608' >/dev/null || die "$uri can't be opened"; done <out
$d 127.0.0.1 >out || die "status $?"
same 'the table' "$(sed -E 's/ +/ /' out)" "PROTOCOL URI"$'\n'"$(sed -E 's/^([^:]*):.*/\1 &/' expected)"
$d -v 127.0.0.1 2>&1 >/dev/null | grep -q 'discover: NFS: ...' || die 'no reasons with --verbose'
ours discover --json 127.0.0.1 >json
jq -e --rawfile expected expected '([.records[].uri | . + "\n"] | add) == $expected and .host == "127.0.0.1" and
	(.failed_protocols | map(.protocol) | index("nfs+rdma") and (index("nvme+tcp") | not)) and (has("error") | not)' json >/dev/null || die "JSON: $(cat json)"

# one port, one protocol, a unix socket
ours discover --json 127.0.0.1:3260 | jq -e '[.records[].protocol] == ["iscsi"]' >/dev/null || die 'a host with a port'
same 'one protocol' "$($d -u nvme+tcp://127.0.0.1:4420)" "$(head -2 expected)"
same 'NBD alone' "$($d -u nbd://127.0.0.1:10809)" 'nbd://127.0.0.1:10809/a%20b'
# a listener on all addresses, IPv4 and IPv6
truncate -s 8M other
serve other --iscsi --iqn iqn.2024-01.test:o --tcp :3262
cleanup_fn ended "$SERVER"
same 'IPv4 of all addresses' "$($d -u iscsi://127.0.0.1:3262)" 'iscsi://127.0.0.1:3262/iqn.2024-01.test:o'
same 'IPv6 of all addresses' "$($d -u iscsi://[::1]:3262)" 'iscsi://[::1]:3262/iqn.2024-01.test:o'
# a target that wants CHAP
(umask 077; printf hush1hush1hush >secret; echo '* user=joe secret=hush1hush1hush' >initiators)
serve ram:8M --iscsi --iqn iqn.2024-01.test:c --tcp 127.0.0.1:3263 --initiators-file initiators
cleanup_fn ended "$SERVER"
error 1 auth 127.0.0.1:3263 "iSCSI.over.TCP:.authentication.failed 'iscsi://USER@127.0.0.1:3263[?]secret-file=FILE'" $d 127.0.0.1:3263
error 1 auth iscsi://127.0.0.1:3263 "failed 'iscsi://USER@127.0.0.1:3263[?]secret-file=FILE'" $d iscsi://127.0.0.1:3263
same 'with a secret' "$($d -u "iscsi://joe@127.0.0.1:3263?secret-file=secret")" iscsi://127.0.0.1:3263/iqn.2024-01.test:c
offer disk --ro --nbd "unix:$SOCK" --name c
cleanup_fn ended "$SERVER"
same 'NBD on a unix socket' "$($d -u "nbd+unix:///?socket=$SOCK")" "nbd+unix:///c?socket=$SOCK"

# a server that lists more than anyone can use
mkdir lies
PYTHONDONTWRITEBYTECODE=1 python3 "$HERE/nbd_liar.py" lies list-huge &
cleanup_fn ended $!
wait_until test -e lies/ready
ours discover --json --timeout 0 "nbd+unix:///?socket=$TMP/lies/list-huge" >json 2>err
jq -e '.more and (.records | length) == 8192' json >/dev/null || die "a huge list: $(head -c 300 json)"
grep -q '8192' err || die "no word of the rest: $(cat err)"

# a server that accepts and stays silent ends with --timeout; the others are listed
python3 - 127.0.0.2 2049 3260 4420 8009 10809 20049 <<'MUTE' &
import socket, sys, time
all = [socket.create_server((sys.argv[1], int(port))) for port in sys.argv[2:]]
open("mute", "w").close()
time.sleep(100000)
MUTE
cleanup_fn ended $!
wait_until test -e mute
error 1 timeout 127.0.0.2:4420 'timeout|no.answer|greeting' $d --timeout 1 nbd://127.0.0.2:4420
error 1 - 127.0.0.2 '' $d --timeout 1 127.0.0.2
exit 0
