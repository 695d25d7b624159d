/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's RDMA carrier (RDMA Transport Specification 1.1): each capsule arrives in a receive
 * buffer, xfer moves the data, and the reply is chained to it. A receive is posted again before the
 * reply to its command is sent. */
#include "target_rdma.h"
#include "tgt.h"
#include <stdlib.h>

#define INCAP 4096
#define SQE   sizeof(struct nvme_sqe)
/* the command ends at a page boundary, so that its data is aligned for the disk */
#define STRIDE (4096 + INCAP)
#define REPLY  64

struct rdma {
	struct nvme_tgt_queue queue; /* first member */
	struct nvmf_rdma_req_info request;
	/* In the connection's pool: receives, then pages, then replies. A page is for data that the
	 * next capsule in its receive must not overwrite: one per command of an admin queue; one
	 * for all of an I/O queue, whose only such data is that of authentication. */
	size_t pages_at, replies_at;
};

static struct rdma *rdma_of(const struct target_conn *conn)
{
	return (struct rdma *)conn;
}

static uint32_t descriptor(struct nvme_tgt_cmd *cmd)
{
	const struct rdma *rdma = rdma_of(cmd->base.conn);
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;
	struct ep_rx *rx = cmd->base.rdma->rx;

	cmd->base.pool = cmd->base.conn->pool;
	cmd->base.p =
		cmd->op->flags & OP_OUT
			? rx->p + SQE
			: cmd->base.pool->base + rdma->pages_at +
				  (rdma->queue.io_only
						  ? 0
						  : (size_t)target_cmd_index(&cmd->base) * INCAP);
	switch (sgl->type) {
	case NVME_SGL_KEYED:
	case NVME_SGL_KEYED_INVAL:
		if (!nvme_tgt_cmd_fits(cmd, get_le24(sgl->keyed.len)))
			return NVME_SGL_LENGTH;
		cmd->base.rdma->one = (struct xfer_seg){ get_le64(sgl->addr),
			get_le32(sgl->keyed.key), get_le24(sgl->keyed.len) };
		return NVME_OK;
	case NVME_SGL_OFFSET:
		if (!(cmd->op->flags & OP_OUT))
			return NVME_SGL_TYPE;
		if (get_le64(sgl->addr))
			return NVME_SGL_OFFSET_BAD;
		if (!nvme_tgt_cmd_fits(cmd, get_le32(sgl->block.len)) ||
			rx->len - SQE != get_le32(sgl->block.len))
			return NVME_SGL_LENGTH;
		cmd->base.immediate = true;
		return NVME_OK;
	default:
		return NVME_SGL_TYPE;
	}
}

/* The type of the data descriptor tells whether to invalidate the host's key; do so also if the
 * command failed. */
static struct ep_op *make_reply(struct target_cmd *base)
{
	const struct nvme_tgt_cmd *cmd = (const struct nvme_tgt_cmd *)base;
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;
	bool inval = sgl->type == NVME_SGL_KEYED_INVAL && get_le24(sgl->keyed.len);

	memcpy(target_rdma_reply_buf(base), &cmd->cqe, sizeof(cmd->cqe));
	return target_rdma_make_reply(base, sizeof(cmd->cqe), inval ? EP_SEND_INVAL : EP_SEND,
		inval ? get_le32(sgl->keyed.key) : 0);
}

static void push(struct target_cmd *cmd, uint32_t len, bool last)
{
	target_rdma_push(cmd, len, last ? make_reply(cmd) : NULL);
}

static void reply(struct target_cmd *cmd)
{
	ring_add(&cmd->conn->rdma.ring, make_reply(cmd));
}

static bool receive(struct target_conn *conn, struct ep_rx *rx)
{
	struct target_cmd *cmd;

	if (rx->len < SQE) {
		target_conn_fail(conn, DIAG_PROTOCOL, EPROTO, "capsule shorter than a command");
		return true;
	}
	cmd = target_cmd_alloc(conn);
	if (!cmd)
		return false;
	cmd->rdma->rx = rx;
	memcpy(&((struct nvme_tgt_cmd *)cmd)->sqe, rx->p, SQE);
	target_cmd_run(cmd);
	return true;
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	target_rdma_received(ep, rx, receive);
}

static void resume(struct target_conn *conn)
{
	target_rdma_resume(conn, receive);
}

/* The device is known: allocate as many receives as the host may send commands, and commands as may
 * be in flight. */
static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct target_conn *conn = ep->user;
	struct rdma *rdma = rdma_of(conn);
	unsigned depth = rdma->request.depth,
		 slots = target_rdma_depth(ep, ep->caps.recv < depth ? 0 : depth, 0, 0);
	struct target_rdma_layout layout = { .receives_at = 4096 - SQE,
		.stride = STRIDE,
		.receive = SQE + INCAP,
		.count = depth,
		.replies_at = rdma->replies_at,
		.reply = REPLY };
	struct nvmf_rdma_rep rep;
	int err;

	conn->ep = ep;
	if (!slots)
		return -ENOSPC;
	err = target_rdma_alloc(conn, slots, &ep->why);
	if (!err)
		err = target_rdma_start(conn, &layout, EP_READ_SINK, &ep->why);
	if (err)
		return err;
	nvmf_rdma_rep_put(&rep, (uint16_t)depth);
	memcpy(priv, &rep, sizeof(rep));
	return sizeof(rep);
}

static const struct ep_events events = { requested, target_rdma_up, received, target_rdma_sent,
	target_rdma_idle, target_rdma_down };

static int rdma_open(struct target_conn *conn, struct diag *diag)
{
	struct rdma *rdma = rdma_of(conn);
	unsigned depth = rdma->request.depth;
	int err;

	rdma->queue.max_depth = (uint16_t)depth;
	rdma->queue.io_only = rdma->request.qid;
	rdma->pages_at = (size_t)depth * STRIDE;
	rdma->replies_at = rdma->pages_at + (rdma->queue.io_only ? 1 : (size_t)depth) * INCAP;
	err = pool_new(&conn->pool, (uint32_t)rdma->replies_at + depth * REPLY, 1, diag);
	return err ? target_rdma_reject(conn, err)
		   : target_rdma_accept(
			     conn, &events, 2 * depth, depth, sizeof(struct nvme_cqe), diag);
}

const struct nvme_tgt_carrier nvme_tgt_rdma = {
	.base = { .name = "rdma",
		.cmd_size = sizeof(struct nvme_tgt_cmd),
		.open = rdma_open,
		.pull = target_rdma_pull,
		.push = push,
		.reply = reply,
		.forget = target_rdma_forget,
		.flush = target_rdma_flush,
		.resume = resume,
		.moved = target_rdma_progress,
		.hung_up = target_rdma_hung_up,
		.close = target_rdma_close,
		.reset = target_rdma_reset,
		.free = target_rdma_free },
	.trtype = NVMF_TRTYPE_RDMA,
	.incap = INCAP,
	.descriptor = descriptor,
};

/* Check the request: 0, or the reason for refusing it, for the host. */
static uint16_t check_request(
	struct target *target, const struct ep_incoming *incoming, struct nvmf_rdma_req_info *info)
{
	const struct nvmf_rdma_req *req = (const void *)incoming->priv;

	if (incoming->priv_len < sizeof(*req))
		return NVMF_RDMA_INVALID_LEN;
	if (get_le16(req->recfmt))
		return NVMF_RDMA_INVALID_RECFMT;
	if (nvmf_rdma_req_get(info, req, sizeof(*req), NULL))
		return get_le16(req->hrqsize) ? NVMF_RDMA_INVALID_HSQSIZE
					      : NVMF_RDMA_INVALID_HRQSIZE;
	if (info->qid > NVME_TGT_QUEUES)
		return NVMF_RDMA_INVALID_QID;
	if (info->depth > target->opt.depth)
		return NVMF_RDMA_INVALID_HSQSIZE;
	return target_make_room(target, &incoming->peer) ? 0 : NVMF_RDMA_NO_RESOURCES;
}

void nvme_tgt_rdma_incoming(struct target *target, struct ep_incoming *incoming)
{
	struct nvmf_rdma_req_info info = { 0 };
	uint16_t no = check_request(target, incoming, &info);
	struct rdma *rdma = no ? NULL : calloc(1, sizeof(*rdma));
	struct nvmf_rdma_rej rej;
	char text[ADDR_TEXT];

	if (!rdma) {
		no = no ? no : NVMF_RDMA_NO_RESOURCES;
		nvmf_rdma_rej_put(&rej, no);
		loop_trace(target->loop, "%s: refused: %s", addr_text(&incoming->peer, text),
			nvmf_rdma_status_text(no));
		ep_reject(incoming, &rej, sizeof(rej));
		return;
	}
	rdma->queue.base.rdma.incoming = incoming;
	rdma->request = info;
	rdma->queue.base.local = incoming->local;
	nvme_tgt_queue_begin(target, &rdma->queue, &nvme_tgt_rdma, &incoming->peer);
}
