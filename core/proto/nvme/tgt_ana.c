/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asymmetric Namespace Access (Base 2.1, 8.1.1): the access through a listener is the state that
 * its controllers report for the one ANA group. */
#include "tgt.h"

static const struct {
	uint8_t state;
	uint32_t status;
} states[ACCESSES] = {
	[ACCESS_OPTIMIZED] = { NVME_ANA_OPTIMIZED, NVME_OK },
	[ACCESS_NON_OPTIMIZED] = { NVME_ANA_NON_OPTIMIZED, NVME_OK },
	[ACCESS_INACCESSIBLE] = { NVME_ANA_INACCESSIBLE, NVME_ANA_STATUS_INACCESSIBLE },
	[ACCESS_LOSS] = { NVME_ANA_PERSISTENT_LOSS, NVME_ANA_STATUS_LOSS },
	[ACCESS_CHANGE] = { NVME_ANA_CHANGE, NVME_ANA_STATUS_TRANSITION },
};

uint32_t nvme_tgt_ana_status(const struct nvme_tgt_ctrl *ctrl)
{
	return states[target_get_access(&ctrl->target->base, ctrl->port)].status;
}

uint64_t nvme_tgt_ana_len(const struct nvme_tgt_ctrl *ctrl)
{
	return sizeof(struct nvme_ana_log) + sizeof(struct nvme_ana_group) +
	       ctrl->subsys->count * sizeof(le32);
}

void nvme_tgt_ana_log(const struct nvme_tgt_ctrl *ctrl, bool groups_only, uint8_t *page)
{
	struct nvme_ana_log *log = (void *)page;
	struct nvme_ana_group *group = (void *)(log + 1);
	le32 *nsid = (void *)(group + 1);
	uint64_t access = target_port_access(&ctrl->target->base, ctrl->port),
		 changes = (access >> TARGET_ACCESS_BITS) + 1; /* 0: not reported */
	unsigned count = groups_only ? 0 : ctrl->subsys->count;

	*log = (struct nvme_ana_log){ .chgcnt = put_le64(changes), .groups = put_le16(1) };
	*group = (struct nvme_ana_group){ .grpid = put_le32(NVME_TGT_ANAGRPID),
		.nnsid = put_le32(count),
		.chgcnt = put_le64(changes),
		.state = states[access & ((1u << TARGET_ACCESS_BITS) - 1)].state };
	for (uint32_t i = 0; i < count; i++)
		nsid[i] = put_le32(i + 1);
}
