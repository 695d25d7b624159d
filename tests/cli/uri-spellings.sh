#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every command accepts the notations of other tools instead of a URI: transport IDs, dracut's iscsi: strings, ib_srp's
# add_target.
. "$(dirname "$(readlink -f "$0")")/lib.sh"
set -e

random_file src 4
iqn=iqn.2024-01.test:disk
serve src --nvmf --nqn "$NQN" --tcp 127.0.0.1:0 --iscsi --iqn $iqn --tcp 127.0.0.1:0 --rdma '127.0.0.1:0?rdma=iwarp' \
	--srp --rdma '127.0.0.1:0?rdma=iwarp' --json
read -r nvme iscsi srp id < <(jq -r '[.connect[0].trsvcid, .iscsi.connect[0].trsvcid, (.srp.connect[0] | .trsvcid, .target)] | join(" ")' out)
for spelling in "transport=tcp;traddr=127.0.0.1;trsvcid=$nvme;nqn=$NQN;nsid=1" "trtype:TCP traddr:127.0.0.1 trsvcid:$nvme subnqn:$NQN ns:1" \
	"iscsi:127.0.0.1::$iscsi:0:$iqn" "iser:127.0.0.1::$iscsi:0:$iqn" "id_ext=$id,ioc_guid=$id,dest=127.0.0.1:$srp"; do
	rm -f copied
	ours copy -q "$spelling" copied || die "$spelling: $(cat err)"
	cmp src copied || die "$spelling: copied"
	ours info "$spelling" --json | jq -e '.size == 4194304' >/dev/null || die "$spelling: info"
	ours boot "$spelling,via=nbd" --dry-run --json >boot || die "$spelling: boot: $(cat boot)"
	ours boot "$spelling" --dry-run --json | jq -e '.results[0].error == null' >/dev/null || die "$spelling: boot"
	word=$(ours boot --needs "$spelling" | sed -n 's/^word rd\.rdmastor=//p')
	ours info "$word" --json | jq -e '.size == 4194304' >/dev/null || die "$spelling: boot --needs: '$word'"
done
stop
