#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# An unknown applet: status 2, the name quoted, a suggestion; names of other tools, as operands and links.
. "$(dirname "$0")/lib.sh"
requires jq
"$RDMASTOR" >out || die "no word: status $?"
cmp out <("$RDMASTOR" --help) || die "no word: not the help"
error 2 - "^rdmastor: .*'zebra'" applet "$RDMASTOR" zebra
error 2 usage '' "applet 'zebra'" "$RDMASTOR" zebra --json
jq -e '.schema == "rdmastor" and .error.errno == "EINVAL"' error.out >/dev/null ||
	die "JSON: $(cat error.out)"
error 2 - "^rdmastor: .*'--lst'" option "$RDMASTOR" --lst
error 2 - '^rdmastor: .*--list' "'more'" "$RDMASTOR" --list more
first=$("$RDMASTOR" --list | head -n 1)
[ -z "$first" ] || error 2 - "'${first}x'" "^hint:.*\\<$first\\>" "$RDMASTOR" "${first}x"
error 2 usage '' 'no applet' "$RDMASTOR" --json
error 2 usage '' "--list 'more'" "$RDMASTOR" --list more --json
error 2 - "'zebra'" applet "$RDMASTOR" help zebra
error 2 - 'did you mean iscsi-login' 'iscsi-logn' "$RDMASTOR" iscsi-logn

# other tools: what to use, whatever follows
while read -r tool use; do
	error 2 usage "$tool" "$use" "$RDMASTOR" "$tool" --json
	[ "$tool" = uri ] || error 2 - "^rdmastor: $tool: use rdmastor" '' "$RDMASTOR" help "$tool"
	ln -s "$RDMASTOR" "$tool"
	error 2 - "^rdmastor: $tool: use rdmastor" "$use" "./$tool" -m copy nbd://127.0.0.1/x
	error 2 - "^rdmastor: $tool: use rdmastor" "$use" "./$tool" info disk
	error 2 - "^rdmastor: $tool: use rdmastor" "$use" "./$tool"
done <<'TOOLS'
nbdcopy copy
ddrescue --resume
dd copy
nbdinfo info
qemu-nbd export.*--nbd
nbd-client --nbd-dev
tgtadm serve.*--iscsi
targetcli serve.*--iscsi
nvmetcli serve.*--nvmf
spdk_nvme_perf bench
fio bench.*--iodepth
ib_write_bw bench.*--rdma
rping --ping
lsscsi status
ibv_devinfo doctor
showmount nfsrdma-discover
mount.nfs nfsrdma-mount
attach nvmf-connect,.iser-login,.srp-connect.*--ublk
connect nvmf-connect
login iser-login
mount nfsrdma-mount
restore copy
uri help.uri
uris help.uri
kernel help.boot
TOOLS
