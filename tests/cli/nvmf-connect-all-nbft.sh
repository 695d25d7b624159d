#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# nvmf-connect-all --nbft and --from-cmdline with firmware tables of our own: what would be connected, by which host, and what is
# skipped.
build=$(dirname "$(readlink -f "$0")")/../vm/nbft_table
. "$(dirname "$0")/lib.sh"
requires unshare jq python3
unshare -mn true 2>/dev/null || { echo "needs root with namespaces"; exit 77; }
id=abff48c0-ecbe-4d8c-a64a-54f12797e8c2
me=nqn.2014-08.org.nvmexpress:uuid:$id

# booted CMDLINE WORD...: on a machine with the tables in the folder "tables"
booted() {
	printf '%s\n' "$1" >cmdline
	shift
	unshare -mn bash -c 'mount -t tmpfs none /etc; mount -t tmpfs none /sys/firmware; mkdir -p /sys/firmware/acpi/tables
		cp -r tables/* /sys/firmware/acpi/tables 2>/dev/null; mount --bind cmdline /proc/cmdline; exec "$@"' - "$@"
}
# plans STATUS CMDLINE OPTION LINE...
plans() {
	local status=$1 cmdline=$2 option=$3 rc=0
	shift 3
	# shellcheck disable=SC2086 # several words
	booted "$cmdline" "$RDMASTOR" nvmf-connect-all $option --dry-run --verbose --json >out 2>err || rc=$?
	same "status ($(cat err))" "$status" $rc
	valid out
	jq -r '.results[]? | "\(.from): \(.uri) \(.error.code // (.line | [match("host(nqn|id|_traddr)=[^,]*"; "g").string] | join(" ")))"' out >lines
	printf '%s\n' "$@" | sed '/^$/d' | diff - lines || die "$option, $cmdline: $(cat err)"
}

mkdir tables
plans 1 quiet --nbft ""
same "no table" not-found "$(jq -r .error.code out)"
plans 0 quiet --from-cmdline ""

"$build" $me $id hfi=52:54:00:00:01:01,10.0.0.2/24 hfi=52:54:00:00:01:02,10.0.1.2/24 \
	ssns=nqn.t1,10.0.0.1,4420,1,1+2 ssns=nqn.t1,10.0.0.1,4420,2,1 ssns=nqn.t2,10.0.0.1,4421,1,1,unavailable >tables/NBFT
one="NBFT SSNS 1 HFI 1: nvme+tcp://10.0.0.1:4420/nqn.t1 hostnqn=$me hostid=$id host_traddr=10.0.0.2"
two="NBFT SSNS 1 HFI 2: nvme+tcp://10.0.0.1:4420/nqn.t1 hostnqn=$me hostid=$id host_traddr=10.0.1.2"
plans 0 quiet --nbft "$one" "$two"
grep -q 'NBFT SSNS 3.*nqn.t2.*unavailable' err || die "$(cat err)"
grep -q "host NQN $me (NBFT SSNS 1 HFI 1)" err || die "$(cat err)"
plans 0 "rd.nvmf.hostnqn=nqn.other" --from-cmdline "$one" "$two"
plans 0 "rd.nvmf.nonbft" --from-cmdline ""
plans 0 "rd.nonvmf" --from-cmdline ""
plans 0 quiet "--nbft --hostnqn nqn.typed" "${one/$me/nqn.typed}" "${two/$me/nqn.typed}"

# What its security profile requires is not connected in clear: TLS, or a profile that is missing
mkdir plain
mv tables/NBFT plain
"$build" $me $id hfi=52:54:00:00:01:01,10.0.0.2/24 security=0x40 security=0x24 ssns=nqn.t1,10.0.0.1,4420,1,1,profile=1 \
	ssns=nqn.t2,10.0.0.1,4420,1,1,profile=2 ssns=nqn.t3,10.0.0.1,4420,1,1,profile=3 \
	discovery=nvme+tcp://10.0.0.1:8009/,1,profile=1 >tables/NBFT
named="hostnqn=$me hostid=$id host_traddr=10.0.0.2"
plans 3 quiet --nbft "NBFT SSNS 1 HFI 1: nvme+tcp://10.0.0.1:4420/nqn.t1 $named" "NBFT SSNS 2 HFI 1: nvme+tcp://10.0.0.1:4420/nqn.t2 $named" \
	"NBFT discovery 1: NBFT discovery 1 unsupported" "NBFT SSNS 3: NBFT SSNS 3 protocol"
same 'which ones use TLS' "nqn.t1 true nqn.t2 false" \
	"$(jq -r '[.results[] | select(.line) | (.uri | split("/")[3]), (.line | split(",") | any(. == "tls"))] | join(" ")' out)"
grep -q 'NBFT SSNS 2: .*profile 2 not applied: authentication' err || die "$(cat err)"
mv plain/NBFT tables

# A damaged table is a failure of its own
head -c 300 tables/NBFT >tables/NBFT1
plans 3 quiet --nbft "$one" "$two" "NBFT1 table: NBFT1 table protocol"
# ... as is one that can't be read: words of the kernel command line and other tables still count
mkdir tables/NBFT2
plans 3 rd.nvmf.discover=tcp,192.0.2.1 --from-cmdline "kernel command line: nvme+tcp://192.0.2.1 unreachable" "$one" "$two" "NBFT1 table: NBFT1 table protocol" "NBFT2 table: NBFT2 table unsupported"
error 2 usage '' '--config --nbft' "$RDMASTOR" nvmf-connect-all --nbft --from-cmdline
