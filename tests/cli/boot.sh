#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# boot on a kernel command line of our own: what would be attached and by which applet, which parameters are left to others, each
# failure with its reason, and that no secret is printed.
. "$(dirname "$0")/lib.sh"
requires unshare jq
unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
iqn=iqn.2024-01.test:root
export NBFT=

# booted CMDLINE WORD…: run it on such a machine
booted() {
	printf '%s\n' "$1" >cmdline
	shift
	unshare -mn bash -c 'ip link set lo up 2>/dev/null; mount -t tmpfs none /etc; mount -t tmpfs none /sys/firmware
		for table in $NBFT; do mkdir -p "/sys/firmware/acpi/tables/$table"; done # they cannot be read
		mount --bind cmdline /proc/cmdline; exec "$@"' - "$@"
}
# plans STATUS CMDLINE LINE… [-- OPTION…]: what a dry run lists
plans() {
	local status=$1 cmdline=$2 rc=0 lines=()
	shift 2
	: >wanted
	while [ $# != 0 ] && [ "$1" != -- ]; do lines+=("$1"); shift; done
	[ $# = 0 ] || shift
	booted "$cmdline" "$RDMASTOR" boot --dry-run --json "$@" >out 2>err || rc=$?
	same "status of '$cmdline' ($(cat err))" "$status" $rc
	valid out
	jq -r '.results[] | "\(.from) \(.via) \(.applet // "-") \(.error.code // "ok")"' out >lines
	[ ${#lines[@]} = 0 ] || printf '%s\n' "${lines[@]}" >wanted
	diff wanted lines || die "$cmdline: $(cat err)"
	! grep -q hush out err || die "a secret is printed: $(cat out err)"
}

booted quiet "$RDMASTOR" boot --json >out 2>err || die "nothing to do: $(cat err)"
valid out
grep -q 'rd.rdmastor=' err || die "nothing to do: $(cat err)"

# shellcheck disable=SC2016 # expanded inside
error 1 not-found '' 'mount.-t.proc' unshare -mn bash -c 'mount -t tmpfs none /proc; exec "$@"' - "$RDMASTOR" boot --json

me=rd.iscsi.initiator=iqn.2024-01.a:me
plans 0 "rd.rdmastor=iscsi://joe%hush1hush1hush@127.0.0.1/$iqn/0 $me rd.rdmastor=nbd://127.0.0.1,via=ublk" \
	"rd.rdmastor kernel iser-login ok" "rd.rdmastor ublk export ok"
plans 0 "$me netroot=iscsi:127.0.0.1::::$iqn" "iscsi kernel iser-login ok"
plans 0 "$me netroot=iscsi:127.0.0.1::::$iqn rd.rdmastor=iscsi:127.0.0.1::::$iqn" \
	"rd.rdmastor kernel iser-login ok" -- --skip iscsi
# what another applet finds is named: portal, target and LUN
booted "$me netroot=iscsi:joe:hush1hush1hush@127.0.0.1::3261:2:$iqn netroot=iser:127.0.0.2::::$iqn" "$RDMASTOR" boot --dry-run >out 2>err ||
	die "dry run: $(cat err)"
same "targets of the command line" "$(cat out)" "iscsi: iscsi://127.0.0.1:3261/$iqn/2: would be attached by iser-login
iscsi: iser://127.0.0.2:3260/$iqn: would be attached by iser-login"
booted "$me netroot=iscsi:127.0.0.1::::$iqn" "$RDMASTOR" boot --dry-run --json >out 2>err || die "dry run: $(cat err)"
valid out
jq -e --arg uri "iscsi://127.0.0.1:3260/$iqn" '.results[0].uris == [$uri]' out >/dev/null || die "$(cat out)"
booted "root=nfs:127.0.0.1:/srv:rdma" "$RDMASTOR" boot --dry-run --mount /mnt >out 2>err || die "dry run: $(cat err)"
same "an NFS root" "$(cat out)" "nfs: nfs+rdma://127.0.0.1/srv: would be attached by nfsrdma-mount"
plans 3 "$me netroot=iscsi:127.0.0.1::::$iqn netroot=iscsi:3260 rd.rdmastor=ram:1M,via=nbd" \
	"rd.rdmastor nbd export ok" "iscsi kernel iser-login usage"
plans 3 "$me rd.rdmastor=foo://x rd.rdmastor=nbd://x rd.rdmastor=nfs+rdma://h/x rd.rdmastor=ram:1M,via=scsi rd.rdmastor=ram:1M,via=ublk" \
	"rd.rdmastor kernel - usage" "rd.rdmastor kernel - usage" "rd.rdmastor kernel - usage" "rd.rdmastor kernel - usage" \
	"rd.rdmastor ublk export ok"
for line in "foo://x: .*'foo:'" "nbd://x: .*'nbd:'" "nfs.rdma://h/x: .*--mount" "ram:1M: .*via=scsi"; do
	grep -Eq "^rdmastor boot: $line" err || die "no line '$line': $(cat err)"
done
grep -qx 'hint: .*,via=ublk.*' err || die "no way out: $(cat err)"
booted "rd.rdmastor=foo://x rd.rdmastor=nbd://x" "$RDMASTOR" boot --quiet >out 2>err && die "success"
same "failures of --quiet" "$(grep -oE '^(rdmastor boot: [^:]*|hint):' err | tr '\n' ' ')" "rdmastor boot: foo: hint: rdmastor boot: nbd: hint: "

# a mistake in a word is reported, and is final
plans 1 "rd.nvmf.discover=tpc,127.0.0.1" "rd.nvmf kernel nvmf-connect-all usage"
grep -q '^rdmastor boot: kernel command line: .*rd.nvmf.discover=tpc,127.0.0.1' err || die "no word of it: $(cat err)"

# a table of the firmware that can't be read is a failure of its own, as is the next one
NBFT="NBFT NBFT1"
plans 3 "rd.rdmastor=ram:1M,via=ublk" "rd.rdmastor ublk export ok" "rd.nvmf kernel nvmf-connect-all unsupported"
same "failures" "$(grep -oE '^rdmastor boot: NBFT1? table: ' err | sort | xargs)" "rdmastor boot: NBFT table: rdmastor boot: NBFT1 table:"
NBFT=

# words of NFS count with --mount, and only over RDMA
plans 0 "root=nfs:127.0.0.1:/srv"
plans 0 "root=nfs:127.0.0.1:/srv:proto=rdma"
plans 0 "root=nfs:127.0.0.1:/srv:proto=rdma" -- --mount /mnt --skip nfs

# retries until the timeout (core/boot/boot), then ends
rc=0
booted "rd.rdmastor.timeout=2.5 rd.rdmastor=nbd+unix:///?socket=/nowhere,via=nbd" "$RDMASTOR" boot --json >out 2>err || rc=$?
same "status ($(cat err))" 1 $rc
valid out
jq -e '(.results[0].error.code | type) == "string" and .error.code != "usage"' out >/dev/null || die "$(cat out)"
[ "$(wc -l <err)" -ge 1 ] || die "no message"

booted quiet "$RDMASTOR" boot --network --json >out 2>err || die "no firmware table: $(cat err)"
valid out
jq -e '.words == []' out >/dev/null || die "$(cat out)"
booted 'rd.iscsi.firmware=1' "$RDMASTOR" boot --network >out 2>err || die "no firmware table: $(cat err)"
[ ! -s out ] || die "$(cat out)"

error 2 usage '' '--network --needs' "$RDMASTOR" boot --network --needs
error 2 usage '' '--network disks' "$RDMASTOR" boot --network ram:1M,via=nbd
error 2 usage '' '--needs --mount' "$RDMASTOR" boot --needs --mount /mnt
# the words for a running root lead to the same connection: its address, and what it is bound to
attached() {
	unshare -mn bash -c 'ip link set lo up; mount -t tmpfs none /sys/class; mkdir -p /sys/class/{nvme/nvme0/nvme0n1,block/nvme0n1/queue}
		cd /sys/class/nvme/nvme0
		echo live >state; echo "$1" >transport; echo nqn.x >subsysnqn; echo nqn.me >hostnqn; echo "$2" >address; echo 1 >nvme0n1/nsid
		echo 259:0 >/sys/class/block/nvme0n1/dev; echo 16 >/sys/class/block/nvme0n1/size; cd "$TMP"
		"$RDMASTOR" boot --needs nvme0 | sed -n "s/^word rd.rdmastor=//p"' - "$@" 2>err
}
bound=host_traddr=127.0.0.2,host_iface=lo
word=$(attached tcp "traddr=127.0.0.1,trsvcid=4421,$bound,src_addr=127.0.0.2")
booted quiet "$RDMASTOR" nvmf-connect "$word" --dry-run --json >out 2>err || die "$word: $(cat err)"
for key in transport=tcp traddr=127.0.0.1 trsvcid=4421 nqn=nqn.x hostnqn=nqn.me ${bound//,/ }; do
	jq -e --arg key "$key" '.line // .results[0].line | split(",") | index($key) != null' out >/dev/null || die "$word: no $key: $(cat out)"
done
word=$(attached rdma "traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.2")
same "bound to an address" "$word" 'nvme+rdma://10.0.0.1:4420/nqn.x?hostnqn=nqn.me&src=10.0.0.2'

# what an initramfs needs for a disk that is not attached
"$RDMASTOR" boot --needs --json 'iscsi://joe%hush@127.0.0.1/iqn.a:b/0?target-secret-file=/etc/a%2Dkey' 'nbd://127.0.0.1/x,via=nbd' >out 2>err ||
	die "--needs: $(cat err)"
valid out
jq -e '(.modules | contains(["iscsi_tcp", "sd_mod", "nbd"])) and .files == ["/etc/a-key"] and
	.words == ["rd.rdmastor=iscsi://joe@127.0.0.1/iqn.a:b/0?target-secret-file=/etc/a%2Dkey", "rd.rdmastor=nbd://127.0.0.1/x,via=nbd"]' out >/dev/null || die "$(cat out)"
! grep -q hush out err || die "a secret is printed: $(cat out err)"
error 2 usage 'nvme.tcp://127.0.0.1/x.*' '/etc/a.key blank initramfs' \
	"$RDMASTOR" boot --needs 'nvme+tcp://127.0.0.1/x?tls-key-file=/etc/a%20key'
error 2 usage 'foo://x' "'foo:' expected.*nvme.tcp://.*srp://" "$RDMASTOR" boot --needs foo://x
error 2 usage 'nbd://x' 'via=scsi' "$RDMASTOR" boot --needs nbd://x,via=scsi
truncate -s 1M plain
error 2 usage plain 'not.a.remote.disk' "$RDMASTOR" boot --needs plain
# as copied from a kernel command line
same 'the parameter as an operand' "$("$RDMASTOR" boot --needs rd.rdmastor=nbd://127.0.0.1/x,via=nbd | grep ^word)" \
	'word rd.rdmastor=nbd://127.0.0.1/x,via=nbd'
same 'the parameter as an operand' "$("$RDMASTOR" boot --dry-run rd.rdmastor=nbd://127.0.0.1/x,via=nbd)" \
	'nbd://127.0.0.1/x: would be attached by export'

error 2 usage '' '--skip scsi' "$RDMASTOR" boot --skip scsi
plans 0 "rd.rdmastor.timeout=soon rd.rdmastor=ram:1M,via=ublk" "rd.rdmastor ublk export ok"
grep -q '^rdmastor boot: warning: rd.rdmastor.timeout=soon: ignored: .*soon' err || die "no word of the time limit: $(cat err)"
error 1 usage 'foo://x' "'foo:' expected.*nvme.tcp://.*srp://" "$RDMASTOR" boot foo://x
error 1 usage 'bogus:x' "'bogus:' expected.*nvme.tcp://.*srp://" "$RDMASTOR" boot bogus:x

# Another user's process claims to serve the disk: status shows whose it is, and nothing follows it.
[ "$(id -u)" = 0 ] && command -v setpriv python3 >/dev/null || exit 0
mkfifo lying
setpriv --reuid 65534 --regid 65534 --clear-groups python3 -c 'import json, os, socket
s = socket.socket(socket.AF_UNIX)
s.bind(b"\0rdmastor/%d" % os.getpid())
s.listen(8)
print(os.getpid(), flush=True)
disk = {"uri": "nbd://127.0.0.1:1/x", "device": "/dev/nbd0", "size": 1 << 20, "block_size": 512, "read_only": False}
text = json.dumps({"schema": "rdmastor.export.status", "version": 2, "seconds": 1, "serving":
    [{"protocol": "nbd", "disks": [disk], "listeners": []}]}).encode()
while True:
    c = s.accept()[0]
    c.sendall(text)
    c.close()' >lying &
read -r liar <lying
cleanup_fn kill "$liar"
"$RDMASTOR" status >out || die "status fails"
grep -q "/dev/nbd0.* $liar (uid 65534)" out || die "not listed as another user's: $(cat out)"
"$RDMASTOR" boot --timeout 1 --json 'nbd://127.0.0.1:1/x,via=nbd' >out 2>err && die "it is believed: $(cat out)"
! grep -q /dev/nbd0 out || die "it is believed: $(cat out)"

# A key that nothing reads is refused before anything is attached, in every form
for uri in 'nvme+tcp://127.0.0.1/nqn.2024-01.test:x?foo=1' 'iscsi://127.0.0.1/iqn.2024-01.test:x?foo=1' 'nbd://127.0.0.1/x?foo=1,via=nbd' \
	'nvme+tcp://127.0.0.1/nqn.2024-01.test:x?foo=1,via=ublk'; do
	error 2 usage "$(ere "${uri%,via=*}")" "foo" "$RDMASTOR" boot --needs "$uri"
	"$RDMASTOR" boot --dry-run --json "$uri" >out 2>err && die "$uri: is accepted"
	same "$uri: code" "$(jq -r .results[0].error.code out)" usage
done

# What a value names stays unread until the disk is attached: a pipe gives its secret only once
mkfifo pipe
uri="iscsi://127.0.0.1/iqn.2024-01.test:x?user=joe&secret-file=$PWD/pipe"
"$RDMASTOR" boot --dry-run "$uri,via=ublk" >out 2>err || die "$uri: $(cat err)"
"$RDMASTOR" boot --needs "$uri" >out 2>err || die "$uri: $(cat err)"
grep -qx "file $PWD/pipe" out || die "no need for the file: $(cat out)"
