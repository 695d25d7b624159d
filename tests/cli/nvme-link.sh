#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The link named nvme: its commands are our applets with nvme-cli's options and statuses, its lists look like nvme-cli's.
. "$(dirname "$0")/lib.sh"
set -e
requires jq
mkdir links
"$RDMASTOR" --install links --only replacements >/dev/null
nvme=$TMP/links/nvme
[ -L "$nvme" ] || die "there is no link"
mkdir applets
"$RDMASTOR" --install applets --only applets >/dev/null
[ ! -e applets/nvme ] || die "an applet is named nvme"

# says STATUS WORDS COMMAND…: the text of a failure or of help
says() {
	local status=$1 words=$2 rc=0 word
	shift 2
	"$@" >out 2>err </dev/null || rc=$?
	same "$*: status" "$rc" "$status"
	for word in $words; do
		grep -Eq -e "$word" out err || die "$*: '$word' is not in: $(cat out err)"
	done
}
commands='discover connect connect-all disconnect disconnect-all list list-subsys gen-hostnqn show-hostnqn gen-dhchap-key check-dhchap-key gen-tls-key check-tls-key keys version'
says 0 "$commands" "$nvme"
says 0 "$commands" "$nvme" help
says 0 "$commands" "$RDMASTOR" nvme smart-log --help
says 0 'Usage --traddr --no-referrals' "$nvme" help discover
says 0 'Usage --traddr --nqn' "$nvme" connect --help
says 0 '^rdmastor' "$nvme" --version
says 1 "'smart-log' nvme-cli" "$nvme" smart-log /dev/nvme0 --human-readable -n 1
says 2 "'smart-log' nvme-cli" "$RDMASTOR" nvme smart-log
error 1 usage '' "'id-ctrl' nvme-cli" "$nvme" id-ctrl /dev/nvme0 -o json
error 1 usage '' "'id-ctrl' nvme-cli" "$nvme" id-ctrl /dev/nvme0 --output-format=json

# What os-brick and CSI drivers ask first
nqn='^nqn[.]2014-08[.]org[.]nvmexpress:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
says 0 "$nqn" "$nvme" gen-hostnqn
[ "$("$nvme" gen-hostnqn)" != "$("$nvme" gen-hostnqn)" ] || die 'gen-hostnqn repeats itself'
says 0 '^nqn[.]2014-08' "$nvme" show-hostnqn
says 0 '^nvme.version.[0-9.]+ rdmastor' "$nvme" version
says 1 unexpected "$nvme" version x
for last in '-o json' '--json' '--output text --json'; do
	for command in gen-hostnqn show-hostnqn version; do
		# shellcheck disable=SC2086 # several words
		"$nvme" $command $last >out || die "$command $last"
		valid out
		jq -e '.hostnqn // .nvme_cli | test("^(nqn[.]2014-08|[0-9])")' out >/dev/null || die "$command $last: $(cat out)"
	done
done
says 0 "$nqn" "$nvme" gen-hostnqn --json --output text
error 1 usage '' 'no.command nvme.help' "$nvme" --json
error 2 usage '' 'no.command nvme.help' "$RDMASTOR" nvme --json

# The applets, with 1 for every failure
error 1 usage '' '--traddr' "$nvme" discover -t tcp -o json
error 1 refused 127.0.0.1:1 'connection.refused' "$nvme" discover -t tcp -a 127.0.0.1 -s 1 -o json
error 1 usage '' '--nope' "$nvme" connect --nope --json
error 1 usage '' 'traddr' "$nvme" connect -t tcp -n nqn.x --json
error 1 usage foo 'nvme.tcp' "$nvme" connect-all foo --json
says 2 '--traddr' "$RDMASTOR" nvme discover -t tcp
says 1 '^rdmastor nvme discover: ' "$nvme" discover -t tcp -a 127.0.0.1 -s 1
serve ram:1M --nvmf --nqn "$NQN" --tcp 127.0.0.1:0
"$nvme" discover -t tcp -a 127.0.0.1 -s "$PORT" -o json >log
same 'what is discovered' "$(jq -r '.records[].subnqn' log)" "$NQN"
"$nvme" discover -t tcp -a 127.0.0.1 -s "$PORT" | cat - log >both
! grep uri both || die 'nvme-cli prints no URI'
stop
same 'completed' "$("$RDMASTOR" --complete nvme list- | cut -f1)" list-subsys
same 'completed' "$("$RDMASTOR" --complete nvme disconnect-all --tr | cut -f1)" --transport

# Lists, on a /sys of our own
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "needs root, for the lists"; exit 0; }
cat >sys.sh <<'SETUP'
mount -t tmpfs none /sys/class
d=/sys/class
put() { mkdir -p "$(dirname "$1")"; printf '%s\n' "$2" >"$1"; }
ctrl() { # NAME SUBSYSTEM TRANSPORT ADDRESS
	put $d/nvme/$1/transport $3; put $d/nvme/$1/address $4; put $d/nvme/$1/state live
	put $d/nvme-subsystem/$2/subsysnqn nqn.$2; put $d/nvme-subsystem/$2/iopolicy numa; put $d/nvme-subsystem/$2/subsystype nvm
	put $d/nvme/$1/hostnqn nqn.host; put $d/nvme/$1/hostid abff48c0-ecbe-4d8c-a64a-54f12797e8c2
	mkdir $d/nvme-subsystem/$2/$1
}
ns() { # NAME NSID SECTORS BLOCK BLOCKS-USED
	put $d/block/$1/nsid $2; put $d/block/$1/size $3; put $d/block/$1/queue/logical_block_size $4
	put $d/block/$1/nuse $5; put $d/block/$1/metadata_bytes 8
	put $d/block/$1/device/serial S123; put $d/block/$1/device/model 'Some Model'; put $d/block/$1/device/firmware_rev 1.0
}
ctrl nvme0 nvme-subsys0 tcp traddr=10.0.0.1,trsvcid=4420
ctrl nvme1 nvme-subsys0 rdma traddr=10.0.1.1,trsvcid=4420
ctrl nvme2 nvme-subsys7 tcp traddr=10.0.0.1,trsvcid=4421
ns nvme0n1 1 2000409264 512 1000
ns nvme2n1 26 8192 4096 1024
put $d/nvme/nvme0/nvme0c0n1/ana_state optimized
put $d/nvme/nvme1/nvme0c1n1/ana_state inaccessible
SETUP
listed() { unshare -m bash -c '. ./sys.sh; exec "$@"' - "$nvme" "$@"; }
listed list | sed "s, *\$,," >out
cat >expected <<'TABLE'
Node                  Generic               SN                   Model                                    Namespace  Usage                      Format           FW Rev
--------------------- --------------------- -------------------- ---------------------------------------- ---------- -------------------------- ---------------- --------
/dev/nvme0n1          ng0n1                 S123                 Some Model                               0x1        512.00  kB /   1.02  TB    512   B +  8 B   1.0
/dev/nvme2n1          ng2n1                 S123                 Some Model                               0x1a         4.19  MB /   4.19  MB      4 KiB +  8 B   1.0
TABLE
diff out expected || die "the table of nvme list"
listed list -o json >out
valid out
jq -e '.Devices | length == 2 and .[0] == {"NameSpace":1,"DevicePath":"/dev/nvme0n1","GenericPath":"ng0n1","Firmware":"1.0",
	"ModelNumber":"Some Model","SerialNumber":"S123","UsedBytes":512000,"MaximumLBA":2000409264,"PhysicalSize":1024209543168,
	"SectorSize":512}' out >/dev/null || die "$(cat out)"
listed list-subsys >out
cat >expected <<'TABLE'
nvme-subsys0 - NQN=nqn.nvme-subsys0
               hostnqn=nqn.host
\
 +- nvme0 tcp traddr=10.0.0.1,trsvcid=4420 live
 +- nvme1 rdma traddr=10.0.1.1,trsvcid=4420 live

nvme-subsys7 - NQN=nqn.nvme-subsys7
               hostnqn=nqn.host
\
 +- nvme2 tcp traddr=10.0.0.1,trsvcid=4421 live
TABLE
diff out expected || die "nvme list-subsys"
listed list-subsys -v | grep -qx '               iopolicy=numa' || die "--verbose has no policy"
listed list-subsys /dev/nvme0n1 | grep -qx ' +- nvme1 rdma traddr=10.0.1.1,trsvcid=4420 live inaccessible' || die "no ANA state"
listed list-subsys -o json >out
jq -e 'length == 1 and .[0].HostNQN == "nqn.host" and (.[0].Subsystems | length) == 2 and
	.[0].Subsystems[1] == {"Name":"nvme-subsys7","NQN":"nqn.nvme-subsys7","IOPolicy":"numa","Type":"nvm",
	"Paths":[{"Name":"nvme2","Transport":"tcp","Address":"traddr=10.0.0.1,trsvcid=4421","State":"live"}]}' out >/dev/null || die "$(cat out)"
error 1 not-found '' "'nvme9n9'" listed list-subsys nvme9n9 -o json
