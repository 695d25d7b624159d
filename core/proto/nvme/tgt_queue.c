/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of a queue: look up the operation, check whether it is allowed now, send the completion;
 * and turn a connection into a queue of a controller. On the queue's loop. */
#include "tgt.h"
#include <errno.h>
#include <stdio.h>

void nvme_tgt_queue_begin(struct target *target, struct nvme_tgt_queue *queue,
	const struct nvme_tgt_carrier *carrier, const struct addr *peer)
{
	char text[ADDR_TEXT];

	snprintf(queue->base.name, sizeof(queue->base.name), "nvme+%s host %s", carrier->base.name,
		addr_text(peer, text));
	target_conn_begin(target, &queue->base, &carrier->base, peer);
}

void nvme_tgt_cmd_result(struct nvme_tgt_cmd *cmd, uint64_t result)
{
	cmd->cqe.result = put_le64(result);
}

void nvme_tgt_complete(struct target_cmd *base, uint32_t status)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;
	struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);

	if (status == NVME_ABORT_REQUESTED && cmd->abandoned)
		status = cmd->abandoned;
	if (queue->first_connect == cmd)
		queue->first_connect = NULL;
	cmd->cqe.sqhd = put_le16(queue->no_sqfc ? NVME_SQHD_NONE : queue->sqhd);
	cmd->cqe.cid = cmd->sqe.cid;
	cmd->cqe.status = put_le16((uint16_t)(status << 1));
}

static const struct nvme_tgt_op *find_op(const struct nvme_tgt_op *ops, uint8_t opcode)
{
	while (ops->name && ops->opcode != opcode)
		ops++;
	return ops->name ? ops : NULL;
}

/* Look up the operation, and check whether it is allowed now. */
static uint32_t check_allowed(struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);
	const struct nvmf_property_sqe *fabrics = (const void *)&cmd->sqe;
	bool admin = !queue->qid, live = queue->base.state == TARGET_LIVE;
	bool unproven = queue->auth && (!live || nvme_tgt_auth_failed(queue->auth));

	if (cmd->sqe.opcode == NVME_FABRICS)
		cmd->op = find_op(nvme_tgt_fabrics_ops, fabrics->fctype);
	else if (unproven)
		return NVMF_AUTH_REQUIRED;
	else if (!live)
		return NVME_SEQUENCE;
	else
		cmd->op = find_op(admin ? nvme_tgt_admin_ops : nvme_tgt_io_ops, cmd->sqe.opcode);
	if (!cmd->op)
		return NVME_INVALID_OPCODE;
	if (NVME_FUSE(cmd->sqe.flags) || NVME_PSDT(cmd->sqe.flags) == 0xc0 ||
		(!NVME_PSDT(cmd->sqe.flags) && cmd->sqe.opcode != NVME_FABRICS &&
			cmd->op->flags & (OP_IN | OP_OUT)))
		return NVME_INVALID_FIELD;
	if (cmd->sqe.opcode == NVME_FABRICS && cmd->op->flags & OP_AUTH)
		return queue->auth ? NVME_OK : NVME_INVALID_OPCODE;
	if (unproven)
		return NVMF_AUTH_REQUIRED;
	if (live == (cmd->sqe.opcode == NVME_FABRICS && fabrics->fctype == NVMF_CONNECT))
		return NVME_SEQUENCE;
	if (!live)
		return NVME_OK;
	if (nvme_tgt_is_discovery(queue->ctrl) && !(cmd->op->flags & OP_DISCOVERY))
		return NVME_INVALID_OPCODE;
	if (!(cmd->op->flags & OP_EARLY) &&
		!__atomic_load_n(&queue->ctrl->enabled, __ATOMIC_ACQUIRE))
		return NVME_SEQUENCE;
	return queue->qid && cmd->sqe.opcode != NVME_FABRICS ? nvme_tgt_ana_status(queue->ctrl)
							     : NVME_OK;
}

bool nvme_tgt_cmd_fits(const struct nvme_tgt_cmd *cmd, uint32_t room)
{
	uint32_t len = cmd->base.data_len;

	return room == len || (room > len && cmd->op->flags & OP_WHOLE);
}

uint32_t nvme_tgt_decode(struct target_cmd *base)
{
	struct nvme_tgt_cmd *cmd = (struct nvme_tgt_cmd *)base;
	struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);
	uint32_t status;

	cmd->op = NULL;
	cmd->abandoned = 0;
	cmd->cqe = (struct nvme_cqe){ 0 };
	if (queue->depth)
		queue->sqhd = (uint16_t)((queue->sqhd + 1) % queue->depth);
	if (queue->ctrl && !queue->qid)
		nvme_tgt_ctrl_restart_keep_alive(queue->ctrl);
	status = check_allowed(cmd);
	if (!status)
		status = cmd->op->check(cmd, &base->data_len);
	if (!status && cmd->op->flags & (OP_READ_GROUP | OP_WRITE_GROUP))
		status = nvme_tgt_reserve_check(cmd);
	if (!status)
		base->flags = cmd->op->flags & (OP_OUT | OP_IN | OP_HALF);
	if (!status && base->data_len)
		status = nvme_tgt_carrier_of(queue)->descriptor(cmd);
	/* Hosts that only connect, authenticate or administer neither use data buffers nor wait for
	 * one. */
	if (!queue->qid || cmd->sqe.opcode == NVME_FABRICS)
		base->own = NVME_IDENTIFY_LEN;
	return status;
}

/* A kept event request has done nothing yet, so it can be aborted, too. */
bool nvme_tgt_cmd_abort(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);

	if (cmd->base.state != TARGET_CMD_PARKED || target_conn_is_closing(&queue->base)) {
		if (target_cmd_abort(&cmd->base, NVME_ABORT_REQUESTED))
			return true;
		if (cmd->base.changes_len &&
			(cmd->base.state == TARGET_CMD_WORK || cmd->base.state == TARGET_CMD_PULL))
			cmd->abandoned = NVME_ABORT_REQUESTED;
		return false;
	}
	nvme_tgt_ctrl_forget(queue->ctrl, cmd);
	target_cmd_finish(&cmd->base, NVME_ABORT_REQUESTED);
	return true;
}

void nvme_tgt_queue_go_live(struct nvme_tgt_queue *queue)
{
	const struct nvme_tgt_subsys *subsys = queue->bound->subsys;
	struct diag why = { 0 };

	queue->ctrl = queue->bound;
	if (queue->base.state != TARGET_OPENING) {
		if (queue->base.state == TARGET_DOWN && !queue->qid)
			nvme_tgt_ctrl_quit(queue->ctrl);
		return;
	}
	target_conn_live(&queue->base,
		nvme_tgt_is_discovery(queue->ctrl) ? NVME_TGT_ADMIN_DEPTH : queue->base.slots);
	if (!queue->qid)
		nvme_tgt_ctrl_restart_keep_alive(queue->ctrl);
	for (unsigned i = 0; queue->qid && i < subsys->count; i++)
		if (target_conn_map(&queue->base, subsys->ns[i]->disk->index, &why)) {
			target_conn_fail(&queue->base, why.code, why.err, why.text);
			return;
		}
}

void nvme_tgt_queue_connected(struct loop_msg *msg)
{
	struct nvme_tgt_queue *queue = container_of(msg, struct nvme_tgt_queue, connect_hop);
	struct nvme_tgt_cmd *cmd = queue->connect_cmd;
	const struct nvmf_connect_reply *answer = &queue->connect_reply;

	queue->connect_cmd = NULL;
	if (!answer->status) {
		queue->qid = queue->connect.qid;
		queue->no_sqfc = queue->connect.no_sqfc;
		queue->depth = queue->connect.depth;
		queue->sqhd = 1;
		queue->auth = queue->new_auth;
		if (!answer->auth)
			nvme_tgt_queue_go_live(queue);
	}
	nvmf_connect_reply_put(&cmd->cqe, answer);
	target_cmd_finish(&cmd->base, answer->status);
}
