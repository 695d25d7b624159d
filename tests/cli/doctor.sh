#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# doctor: the exit status and findings for a target that answers, speaks another protocol, does not listen, has no route, no
# address, other disks; for what would be attached at boot; and on a machine without /proc and /sys.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
requires applet:doctor jq
set -e

# of TOPIC CHECK FILTER: of the only such finding
of() { jq -rs --arg topic "$1" --arg check "$2" ".[0].findings | map(select(.topic == \$topic and .check == \$check)) | select(length == 1)[0] | $3" json; }
# examined STATUS WORD…
examined() {
	local want=$1 rc=0
	shift
	"$RDMASTOR" doctor --json --timeout 60 "$@" >json 2>err || rc=$?
	same "status of doctor $* ($(cat err))" $rc "$want"
	valid json
	same counts "$(jq -c '[.counts.ok, .counts.info, .counts.warning, .counts.failure]' json)" "$(jq -c '.findings | [("ok", "info", "warning", "failure") as $s | map(select(.state == $s)) | length]' json)"
	[ "$want" = 0 ] || jq -e '.error.code' json >/dev/null || die "doctor $*: no error: $(cat json)"
}

truncate -s 64M disk
serve disk --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp'
nvme=$TCP rdma=$RDMA port=$PORT
ended() { kill -KILL "$@" 2>/dev/null; wait "$@" 2>/dev/null; }
cleanup_fn ended "$SERVER"
offer disk --ro --nbd 127.0.0.1:0 --name a
nbd=$(sed -n 's/.*\(nbd:[^ ,]*\).*/\1/p' out | head -1)
cleanup_fn ended "$SERVER"

# what answers as asked
for uri in "$nvme" "$rdma" "$nbd" disk ram:1M "nvme+tcp://127.0.0.1:$port"; do
	examined 0 "$uri"
	same "$uri: state" "$(of target answers .state)" ok
	same "$uri: uri" "$(jq -r .uri json)" "$uri"
done
examined 0 "$nvme"
same 'its size' "$(of target answers .size)" 67108864
same 'its protocol' "$(of target answers .protocol)" nvme+tcp
same 'the route' "$(of network route '"\(.netdev) \(.host_traddr)"')" 'lo 127.0.0.1'
same 'the address' "$(of network address .traddr)" 127.0.0.1
[ "$(of network link .netdev_mtu)" -ge 1500 ] || die "MTU: $(cat json)"
jq -e '.findings | any(.topic == "boot" or .topic == "rdma") | not' json >/dev/null || die "topics of others: $(cat json)"

# another protocol at the port, another port, another disk
examined 1 "nbd://127.0.0.1:$port/x"
same 'the wrong protocol' "$(jq -c '[.findings[] | select(.check == "other") | .protocol] | index("nvme+tcp") != null' json)" true
jq -e --arg port "$port" '.findings[] | select(.check == "other" and .protocol == "nvme+tcp") | .state == "warning" and (.object | endswith(":" + $port)) and
	(.hint | test("rdmastor nvmf-discover nvme.tcp://127"))' json >/dev/null || die "no way out: $(cat json)"
port_of_nbd=$(sed -E 's#.*:([0-9]+).*#\1#' <<<"$nbd")
examined 1 "nvme+tcp://127.0.0.1:$port_of_nbd/$NQN"
jq -e '.findings[] | select(.check == "other" and .protocol == "nbd")' json >/dev/null || die "NBD is not seen: $(cat json)"
examined 1 "nvme+tcp://127.0.0.1:$port/nqn.2024-01.test:other"
same 'another disk' "$(of target answers '"\(.state) \(.code)"')" 'failure not-found'
same 'another disk: error' "$(jq -r .error.code json)" not-found
jq -e '.findings | any(.check == "other") | not' json >/dev/null || die "others were asked: $(cat json)"
examined 1 "nvme+tcp://127.0.0.1:1/$NQN"
same 'no listener' "$(of target answers '"\(.state) \(.code) \(.hint | test("start the target"))"')" 'failure refused true'
examined 1 "nvme+tcp://no-such-host.invalid/$NQN"
same 'no address' "$(of network address .state)" failure
same 'no address: target' "$(of target answers .state)" failure
jq -e '.findings | any(.check == "route") | not' json >/dev/null || die "a route to nowhere: $(cat json)"
examined 1 nfs+rdma://127.0.0.1:1/x
same 'nothing replaces it' "$(jq -r '.findings[] | select(.object == "rpcrdma") | .state' json | sed 's/ok/failure/')" failure

# secrets
examined 1 "iscsi://joe%hush1hush1hush@127.0.0.1:1/iqn.2024-01.test:x/0"
! grep hush json err || die "a secret is printed"

# text
"$RDMASTOR" doctor "$nvme" >text 2>err || die "$(cat err)"
[ ! -s err ] || die "output: $(cat err)"
grep -Eq '^ok +target +.*64 MiB' text || die "text: $(cat text)"
tail -1 text | grep -Eqx '0 failures, [0-9]+ warnings?( .all with --verbose.)?, [0-9]+ ok' || die "sum: $(cat text)"
! grep -q 'GID\|address 127' text || die "details: $(cat text)"
"$RDMASTOR" doctor -v "$nvme" 2>err | grep -Eq '^ok +network +127.0.0.1: address' || die "no details"
"$RDMASTOR" doctor -q "$nvme" >text 2>err || die "$(cat err)"
! grep -q '^ok' text || die "quiet: $(cat text)"
"$RDMASTOR" doctor -q "nvme+tcp://127.0.0.1:1/$NQN" >text 2>err && die "status 0"
grep -Eq '^failure +target' text && grep -Eq '^ +hint: .*start the target' text || die "text of a failure: $(cat text)"
grep -Eq '^rdmastor doctor: 127.0.0.1:1: ' err || die "no message: $(cat err)"

# modules that no URI needs give one line, not a warning
"$RDMASTOR" doctor --json >json 2>err || [ $? = 3 ] || die "$(cat err)"
valid json
jq -e '.findings | all(.topic != "modules" or .state != "warning" or .check != "module" or (.text | test("no modules for the running|file of it")))' \
	json >/dev/null || die "warnings of modules that nothing needs: $(cat json)"
"$RDMASTOR" doctor >text 2>err || [ $? = 3 ] || die "$(cat err)"
! grep -q '^info' text || die "not in one line: $(cat text)"
lacks=$(jq '[.findings[] | select(.state == "info")] | length' json)
"$RDMASTOR" doctor -v >details 2>err || [ $? = 3 ] || die "$(cat err)"
same 'all with -v' "$(grep -c '^info' details)" "$lacks"
! grep -q '^not available' details || die "twice: $(cat details)"
[ "$lacks" = 0 ] || jq -e '.findings[] | select(.state == "info" and .hint)' json >/dev/null || die "no hint: $(cat json)"
if jq -e '.findings[] | select(.check == "devices" and .state == "info")' json >/dev/null; then
	grep -Eq '^not available here .*RDMA device' text || die "no RDMA device: $(cat text)"
fi

error 2 usage '' "'foo:'" "$RDMASTOR" doctor foo://x
error 2 usage '' "'b'" "$RDMASTOR" doctor a b
error 2 usage '' '--timeout' "$RDMASTOR" doctor --timeout x

# no route, and a link that is down
if unshare -rn true 2>/dev/null; then
	isolated() { unshare -rn bash -c "$1; exec \"\$@\"" - "$RDMASTOR" doctor --json --timeout 2 nvme+tcp://10.9.0.7/nqn.x >json 2>err && die "isolated: status 0"; valid json; }
	isolated true
	same 'no route' "$(of network route '"\(.state) \(.code)"')" 'failure unreachable'
	if unshare -rn ip link add away type dummy 2>/dev/null; then
		isolated 'ip link add away type dummy; ip link set away up; ip addr add 10.9.0.1/24 dev away; mount -t sysfs none /sys 2>/dev/null'
		same 'a route' "$(of network route '"\(.state) \(.netdev) \(.host_traddr)"')" 'ok away 10.9.0.1'
		isolated 'ip link add away type dummy; ip link set away up; ip addr add 10.9.0.1/24 dev away; ip route add prohibit 10.9.0.7'
		same 'prohibited' "$(of network route .state)" failure
	fi
fi

# boot words, and a rescue shell that has nothing mounted
unshare -rmn true 2>/dev/null || { echo 'needs namespaces for the rest'; exit 77; }
# booted CMDLINE: on such a machine, whose firmware has left tables/
mkdir tables
booted() {
	local rc=0
	printf '%s\n' "$1" >cmdline
	unshare -rmn bash -c 'mount -t tmpfs none /etc; mount -t tmpfs none /sys/firmware; mount --bind cmdline /proc/cmdline; ip link set lo up 2>/dev/null
		mkdir /sys/firmware/acpi; cp -r tables /sys/firmware/acpi; exec "$@"' - "$RDMASTOR" doctor --json >json 2>err || rc=$?
	echo $rc >status
	valid json
}
booted quiet
same 'nothing to attach' "$(of boot disk '"\(.state) \(.object)"')" 'ok null'
same status "$(cat status)" 0
booted "rd.rdmastor=nvme+tcp://127.0.0.1/$NQN rd.rdmastor=ram:1M,via=ublk"
same 'to attach' "$(jq -r '.findings[] | select(.topic == "boot") | "\(.object) \(.state) \(.via) \(.applet)"' json)" \
	"nvme+tcp://127.0.0.1/$NQN ok kernel nvmf-connect"$'\n''ram:1M ok ublk export'
same status "$(cat status)" 0
booted 'rd.rdmastor=foo://x rd.rdmastor=iscsi://joe%hush1hush1hush@127.0.0.1/iqn.2024-01.test:x/0,via=scsi'
same 'not to attach' "$(jq -r '.findings[] | select(.topic == "boot") | "\(.state) \(.code)"' json)" $'failure usage\nfailure usage'
same status "$(cat status)" 3
jq -e '.error.code' json >/dev/null || die "no error: $(cat json)"
! grep hush json err || die "a secret is printed"
me=rd.iscsi.initiator=iqn.2024-01.test:me
booted "$me netroot=iscsi:joe:hush1hush1hush@127.0.0.1::::iqn.2024-01.test:x netroot=iscsi:127.0.0.1::::iqn.2024-01.test:y"
same 'netroot=' "$(of boot disk '"\(.object) \(.state) \(.applet) \(.text | sub(".*: "; ""))"')" \
	'iscsi ok iser-login iscsi://127.0.0.1:3260/iqn.2024-01.test:x iscsi://127.0.0.1:3260/iqn.2024-01.test:y'
same status "$(cat status)" 0
booted "$me rd.rdmastor=iscsi:joe:hush1hush1hush@127.0.0.1::::iqn.2024-01.test:x rd.rdmastor=iscsi:127.0.0.1::99999::iqn.2024-01.test:y"
same 'strings' "$(jq -r '.findings[] | select(.topic == "boot") | "\(.state) \(.code) \(.applet)"' json)" $'ok null iser-login\nfailure usage null'
for string in iscsi://127.0.0.1/iqn.2024-01.test:x iscsi:joe:hush1hush1hush@127.0.0.1:::: iscsi:127.0.0.1::99999::iqn.2024-01.test:x; do
	booted "$me netroot=$string"
	same "netroot=$string" "$(of boot disk '"\(.object) \(.state) \(.code) \(.hint | test("netroot"))"')" 'iscsi failure not-found true'
	same status "$(cat status)" 3
	! grep hush json err || die "a secret is printed"
done

# the firmware's table: a good one, a subsystem without a name, and no table
nbft() { "$HERE/../vm/nbft_table" nqn.2014-08.org.nvmexpress:uuid:$uuid $uuid hfi=52:54:00:00:01:01,10.0.0.2/24 "$@" >tables/NBFT; }
uuid=abff48c0-ecbe-4d8c-a64a-54f12797e8c2
nbft ssns=nqn.t1,10.0.0.1,4420,1,1 ssns=nqn.t2,10.0.0.1,4420,1,1
booted quiet
same 'NBFT' "$(of boot nbft '"\(.object) \(.state) \(.subsystems)"')" 'NBFT ok 2'
same 'NBFT: disks' "$(of boot disk '"\(.object) \(.state) \(.text | sub("[^:]*: "; ""))"')" 'rd.nvmf ok nvme+tcp://10.0.0.1:4420/nqn.t1 nvme+tcp://10.0.0.1:4420/nqn.t2'
same status "$(cat status)" 0
nbft ssns=nqn.t1,10.0.0.1,4420,1,1 ssns=,10.0.0.1,4420,1,1
booted quiet
same 'half a NBFT' "$(of boot nbft '"\(.object) \(.state) \(.hint != null)"')" 'NBFT SSNS 2 warning true'
same 'half a NBFT: disks' "$(of boot disk '"\(.object) \(.state) \(.code) \(.hint != null)"')" 'NBFT SSNS 2 failure protocol true'
same status "$(cat status)" 3
head -c 100 tables/NBFT >half
mv half tables/NBFT
booted quiet
same 'no NBFT' "$(of boot nbft '"\(.object) \(.state)"')" 'NBFT table warning'
same 'no NBFT: disks' "$(of boot disk '"\(.state) \(.code)"')" 'failure protocol'
rm tables/NBFT

booted 'rd.rdmastor.timeout=soon rd.rdmastor=ram:1M,via=ublk'
same 'a bad word' "$(of boot words '"\(.state) \(.code)"')" 'warning usage'
same 'its neighbour' "$(of boot disk '"\(.state) \(.object)"')" 'ok ram:1M'
same status "$(cat status)" 0
error 2 usage '' "'foo:' expected.*nvme.tcp://.*srp://" "$RDMASTOR" doctor foo://x
cp "$RDMASTOR" alone
mkdir empty
mv alone empty/
# bare WORD…: in a root directory with nothing but the program
bare() { unshare -rmn chroot empty /alone doctor --json "$@" >json 2>err; }
bare ram:1M || die "a disk in an empty root: status $?: $(cat err)"
same 'a disk in an empty root' "$(of target answers .state)" ok
bare || die "in an empty root: status $?: $(cat err)"
valid json
jq -e '.findings | all(.check != "devices")' json >/dev/null || die "RDMA devices are judged without /sys: $(cat json)"
for check in version sysfs limits hostnqn initiator words; do
	jq -e --arg check $check '.findings[] | select(.check == $check) | .state == "warning"' json >/dev/null || die "$check: $(cat json)"
done
