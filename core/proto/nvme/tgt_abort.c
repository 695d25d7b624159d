/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Abort command (Base 2.1, 5.1.1): goes from the admin queue to the target's loop, which knows
 * the controller's queues, to the loop of the queue concerned, and back. There target_cmd_abort()
 * decides what can be aborted. */
#include "tgt.h"

static void answer(struct loop_msg *msg)
{
	struct nvme_tgt_abort *abort = container_of(msg, struct nvme_tgt_abort, hop);
	struct nvme_tgt_cmd *cmd = abort->cmd;

	abort->cmd = NULL;
	nvme_tgt_cmd_result(cmd, !abort->dropped);
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}

static void send_back(struct nvme_tgt_abort *abort)
{
	abort->hop.run = answer;
	loop_post(abort->cmd->base.conn->loop, &abort->hop);
}

static uint32_t named(const struct nvme_tgt_abort *abort)
{
	return get_le32(abort->cmd->sqe.cdw10); /* queue ID, then command ID */
}

static void find_command(struct loop_msg *msg)
{
	struct nvme_tgt_abort *abort = container_of(msg, struct nvme_tgt_abort, hop);
	struct nvme_tgt_queue *queue = abort->queue;

	for (unsigned i = 0; !queue->base.released && i < queue->base.prepared && !abort->dropped;
		i++)
		if (get_le16(nvme_tgt_cmd_at(queue, i)->sqe.cid) == named(abort) >> 16)
			abort->dropped = nvme_tgt_cmd_abort(nvme_tgt_cmd_at(queue, i));
	send_back(abort);
}

/* A queue found here stays until messages posted to it now have been handled. */
static void find_queue(struct loop_msg *msg)
{
	struct nvme_tgt_abort *abort = container_of(msg, struct nvme_tgt_abort, hop);
	struct nvme_tgt_queue *queue = nvme_tgt_queue_of(abort->cmd)->bound->queues;

	while (queue && queue->connect.qid != (named(abort) & 0xffff))
		queue = queue->sibling;
	abort->queue = queue;
	if (!queue) {
		send_back(abort);
		return;
	}
	abort->hop.run = find_command;
	loop_post(queue->base.loop, &abort->hop);
}

void nvme_tgt_abort(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	struct nvme_tgt_abort *abort = ctrl->abort;

	while (abort < ctrl->abort + NVME_TGT_ABORTS && abort->cmd)
		abort++;
	if (abort == ctrl->abort + NVME_TGT_ABORTS) {
		nvme_tgt_cmd_worked(cmd, NVME_ABORT_LIMIT);
		return;
	}
	*abort = (struct nvme_tgt_abort){ .hop.run = find_queue, .cmd = cmd };
	loop_post(ctrl->target->base.loop, &abort->hop);
}
