#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# status: nothing attached is not a failure, a named disk that is not attached is; the document has its lists.
. "$(dirname "$0")/lib.sh"
requires applet:status jq
s="$RDMASTOR status"

# shellcheck disable=SC2086 # several words
{
	$s --json >json || die "exit status $?"
	valid json
	jq -e '.schema == "rdmastor.status" and .version == 2 and (.serving | type) == "array" and (.attached | type) == "array" and (.rdma_ports | type) == "array" and (has("identity") | not)' json >/dev/null ||
		die "JSON: $(cat json)"
	jq -e '.attached | all(.paths | length > 0)' json >/dev/null || die "without a path: $(cat json)"
	if jq -e '.attached == [] and .rdma_ports == [] and .serving == []' json >/dev/null; then
		[[ $($s) == *RDMA* ]] || die "output: $($s)"
	fi
	ours status --json --verbose | jq -e '.identity | (.hostnqn | startswith("nqn.")) and .hostnqn_from and (.hostid | length == 36) and .hostid_from' >/dev/null || die "identity"
	$s -v 2>/dev/null | grep -Eq '^host NQN: +nqn\..' || die "identity in text"
	for what in nvme987 /dev/nvme987n1 /dev/null . / nqn.2024-01.test:none mlx5_987 10.255.255.1:/none nvme+tcp://10.255.255.1/nqn.x \
		nfs+rdma://10.255.255.1/x srp://fe800000000000000000000000000001/0000000000000001/0000000000000001; do
		error 1 not-found "$(ere "$what")" '' $s "$what"
	done
	error 1 - '^rdmastor status: nvme987: ' 'served RDMA' $s nvme987
	# a block device of this machine, if it has one that is not attached
	for disk in /dev/vda /dev/sda /dev/loop0 /dev/zram0; do
		[ -b $disk ] && ! grep -q "\"${disk##*/}\"" json || continue
		error 1 not-found $disk 'not.a.remote.disk' $s $disk
		error 1 not-found $disk 'not.a.remote.disk' "$RDMASTOR" boot --needs $disk
		break
	done
	error 2 usage '' "'nbd:'" $s nbd://10.255.255.1/x
	error 2 usage '' 'URI empty' $s ""
	error 2 usage '' "'nvme1'" $s nvme0 nvme1
}
