/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cross-Controller Reset (Base 2.3, 5.4.3): a host that has lost the path to one of its controllers
 * ends it by another one. From the admin queue to the target's loop, where the controllers are; its
 * queues end, and a fence passes all workers: what the disks have of it precedes all later requests
 * of the host, and what they don't have will not reach them. Then back with the answer. */
#include "tgt.h"

static void answer(struct loop_msg *msg)
{
	struct nvme_tgt_reset *reset = container_of(msg, struct nvme_tgt_reset, hop);
	struct nvme_tgt_cmd *cmd = reset->cmd;

	reset->cmd = NULL;
	nvme_tgt_cmd_result(cmd, reset->result);
	nvme_tgt_cmd_worked(cmd, reset->status);
}

static void send_back(struct nvme_tgt_reset *reset, uint32_t status)
{
	reset->status = status;
	reset->result = status ? 0 : NVME_CROSS_RESET_DONE | NVME_CROSS_RESET_VALID;
	reset->hop.run = answer;
	loop_post(reset->cmd->base.conn->loop, &reset->hop);
}

static uint16_t impacted(const struct nvme_tgt_reset *reset)
{
	return (uint16_t)get_le32(reset->cmd->sqe.cdw10);
}

/* A controller that is created while the fence passes has another ID. */
static bool is_impacted(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct nvme_tgt_reset *reset = container_of(fence, struct nvme_tgt_reset, fence);
	const struct nvme_tgt_ctrl *ctrl = ((const struct nvme_tgt_queue *)conn)->ctrl;

	return ctrl && ctrl->cntlid == impacted(reset);
}

static void fence_passed(struct target_fence *fence)
{
	send_back(container_of(fence, struct nvme_tgt_reset, fence), NVME_OK);
}

static void find_controller(struct loop_msg *msg)
{
	struct nvme_tgt_reset *reset = container_of(msg, struct nvme_tgt_reset, hop);
	const struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(reset->cmd)->bound;
	const struct nvme_sqe *sqe = &reset->cmd->sqe;
	uint8_t ciu = (uint8_t)(get_le32(sqe->cdw10) >> 16);
	uint64_t cirn = get_le32(sqe->cdw12) | (uint64_t)get_le32(sqe->cdw13) << 32;
	struct target *target = &ctrl->target->base;
	struct nvme_tgt_ctrl *other = nvme_tgt_ctrl_find(ctrl->target, impacted(reset), ciu);

	if (cirn != nvme_tgt_cirn(ctrl->target, impacted(reset), ciu) || other == ctrl ||
		(other && (other->subsys != ctrl->subsys || strcmp(other->hostnqn, ctrl->hostnqn) ||
				  memcmp(other->hostid, ctrl->hostid, sizeof(ctrl->hostid))))) {
		send_back(reset, NVME_INVALID_FIELD);
		return;
	}
	if (other)
		nvme_tgt_ctrl_kill(other);
	reset->fence = (struct target_fence){
		.match = is_impacted, .done = fence_passed, .home = target->loop
	};
	target_fence(target, &reset->fence);
}

void nvme_tgt_cross_reset(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	struct nvme_tgt_reset *reset = ctrl->cross;

	while (reset < ctrl->cross + NVME_TGT_RESETS && reset->cmd)
		reset++;
	if (reset == ctrl->cross + NVME_TGT_RESETS) {
		nvme_tgt_cmd_worked(cmd, NVME_CROSS_RESET_LIMIT);
		return;
	}
	*reset = (struct nvme_tgt_reset){ .hop.run = find_controller, .cmd = cmd };
	loop_post(ctrl->target->base.loop, &reset->hop);
}
