/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's RDMA carrier (RDMA Transport Specification 1.1): each capsule arrives in a receive
 * buffer, xfer moves the data, and the reply is chained to it. A receive is posted again before the
 * reply to its command is sent. */
#include "tgt.h"
#include "xfer.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define INCAP 4096
#define SQE   sizeof(struct nvme_sqe)
/* the command ends at a page boundary, so that its data is aligned for the disk */
#define STRIDE (4096 + INCAP)
#define REPLY  64
#define READS  16 /* most READs in flight per connection */

struct rdma_cmd {
	struct nvme_tgt_cmd cmd; /* first member */
	struct xfer xfer;
	struct ep_op reply;
	struct ep_rx *rx; /* its capsule, until the reply */
	struct xfer_seg seg;
};

struct rdma {
	struct nvme_tgt_queue queue; /* first member */
	struct ep_incoming *incoming;
	struct ring ring;
	struct xfer_port port;
	struct nvmf_rdma_req_info request;
	struct ep_rx *backlog, **backlog_end; /* commands received before a reply's `sent` */
	uint32_t lkey;
	/* In the connection's pool: receives, then a page per command of an admin queue, whose data
	 * the next capsule in its receive must not overwrite, then replies. */
	size_t pages_at, replies_at;
};

static struct rdma *rdma_of(const struct target_conn *conn)
{
	return (struct rdma *)conn;
}

static uint32_t descriptor(struct nvme_tgt_cmd *cmd)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	const struct rdma *rdma = rdma_of(cmd->base.conn);
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;

	cmd->base.pool = cmd->base.conn->pool;
	cmd->base.p = cmd->op->flags & OP_OUT
			      ? rcmd->rx->p + SQE
			      : cmd->base.pool->base + rdma->pages_at +
					(size_t)target_cmd_index(&cmd->base) * INCAP;
	switch (sgl->type) {
	case NVME_SGL_KEYED:
	case NVME_SGL_KEYED_INVAL:
		if (!nvme_tgt_cmd_fits(cmd, get_le24(sgl->keyed.len)))
			return NVME_SGL_LENGTH;
		rcmd->seg = (struct xfer_seg){ get_le64(sgl->addr), get_le32(sgl->keyed.key),
			get_le24(sgl->keyed.len) };
		return NVME_OK;
	case NVME_SGL_OFFSET:
		if (!(cmd->op->flags & OP_OUT))
			return NVME_SGL_TYPE;
		if (get_le64(sgl->addr))
			return NVME_SGL_OFFSET_BAD;
		if (!nvme_tgt_cmd_fits(cmd, get_le32(sgl->block.len)) ||
			rcmd->rx->len - SQE != get_le32(sgl->block.len))
			return NVME_SGL_LENGTH;
		cmd->base.immediate = true;
		return NVME_OK;
	default:
		return NVME_SGL_TYPE;
	}
}

/* Unreachable unless descriptor() failed to check the length. */
static void too_short(struct target_cmd *cmd)
{
	target_conn_fail(
		cmd->conn, DIAG_PROTOCOL, EPROTO, "descriptor shorter than the command's data");
}

static void pull(struct target_cmd *cmd, uint32_t len)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	struct buf buf = { cmd->p, len, cmd->pool };

	if (!xfer_pull(&rdma_of(cmd->conn)->port, &rcmd->xfer, &buf, &rcmd->seg, 1, cmd->at, len))
		too_short(cmd);
}

static void forget(struct target_cmd *cmd)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;

	if (rcmd->rx)
		ring_repost(&rdma_of(cmd->conn)->ring, rcmd->rx);
	rcmd->rx = NULL;
}

/* The type of the data descriptor tells whether to invalidate the host's key; do so also if the
 * command failed. */
static struct ep_op *make_reply(struct target_cmd *cmd)
{
	struct rdma *rdma = rdma_of(cmd->conn);
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	const struct nvme_sgl *sgl = &rcmd->cmd.sqe.sgl;
	const struct nvme_cqe *cqe = &rcmd->cmd.cqe;
	bool inval = sgl->type == NVME_SGL_KEYED_INVAL && get_le24(sgl->keyed.len);
	uint8_t *p =
		cmd->conn->pool->base + rdma->replies_at + (size_t)target_cmd_index(cmd) * REPLY;

	memcpy(p, cqe, sizeof(*cqe));
	rcmd->reply = (struct ep_op){ .kind = inval ? EP_SEND_INVAL : EP_SEND,
		.nsge = 1,
		.rkey = inval ? get_le32(sgl->keyed.key) : 0,
		.flags = rdma->queue.base.ep->caps.inline_max >= sizeof(*cqe) ? EP_INLINE : 0,
		.sge = { { p, sizeof(*cqe), rdma->lkey } } };
	forget(cmd);
	return &rcmd->reply;
}

static void push(struct target_cmd *cmd, uint32_t len, bool last)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	struct ep_op *behind = last ? make_reply(cmd) : NULL;
	struct buf buf = { cmd->p, len, cmd->pool };

	if (!xfer_push(&rdma_of(cmd->conn)->port, &rcmd->xfer, &buf, &rcmd->seg, 1, cmd->at, len,
		    behind))
		too_short(cmd);
}

static void reply(struct target_cmd *cmd)
{
	ring_add(&rdma_of(cmd->conn)->ring, make_reply(cmd));
}

static void moved(struct xfer *x)
{
	struct target_cmd *cmd = &container_of(x, struct rdma_cmd, xfer)->cmd.base;

	cmd->conn->ep_moved += cmd->piece;
	if (cmd->state == TARGET_CMD_PULL)
		target_cmd_pulled(cmd, NVME_OK);
	else if (cmd->state == TARGET_CMD_PUSH)
		target_cmd_pushed(cmd);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct rdma *rdma = ep->user;

	if (!xfer_sent(&rdma->port, op))
		target_cmd_replied(&container_of(op, struct rdma_cmd, reply)->cmd.base);
}

static bool run_command(struct rdma *rdma, struct ep_rx *rx)
{
	struct target_cmd *cmd = target_cmd_alloc(&rdma->queue.base);
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;

	if (!cmd)
		return false;
	rcmd->rx = rx;
	rcmd->xfer.moved = moved;
	memcpy(&rcmd->cmd.sqe, rx->p, SQE);
	target_cmd_run(cmd);
	return true;
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct rdma *rdma = ep->user;

	if (target_conn_is_closing(&rdma->queue.base))
		return;
	if (rx->len < SQE) {
		target_conn_fail(
			&rdma->queue.base, DIAG_PROTOCOL, EPROTO, "capsule shorter than a command");
		return;
	}
	if (rx->invalidated) {
		target_conn_fail(&rdma->queue.base, DIAG_PROTOCOL, EPROTO,
			"the host invalidated a key it was not offered");
		return;
	}
	if (!rdma->backlog && run_command(rdma, rx))
		return;
	rx->next = NULL;
	*rdma->backlog_end = rx;
	rdma->backlog_end = &rx->next;
}

static void resume(struct target_conn *conn)
{
	struct rdma *rdma = rdma_of(conn);

	while (rdma->backlog && target_conn_can_alloc(conn) && !target_conn_is_closing(conn)) {
		struct ep_rx *rx = rdma->backlog;

		rdma->backlog = rx->next;
		if (!rdma->backlog)
			rdma->backlog_end = &rdma->backlog;
		run_command(rdma, rx);
	}
}

static void flush(struct target_conn *conn)
{
	ring_flush(&rdma_of(conn)->ring);
}

static void idle(struct ep *ep)
{
	struct rdma *rdma = ep->user;

	if (!target_conn_is_closing(&rdma->queue.base))
		flush(&rdma->queue.base);
}

/* The device is known: allocate as many receives as the host may send commands, and commands as may
 * be in flight. */
static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct rdma *rdma = ep->user;
	struct target_conn *conn = &rdma->queue.base;
	unsigned depth = rdma->request.depth,
		 slots = ep->caps.send / 2 < depth ? ep->caps.send / 2 : depth;
	struct nvmf_rdma_rep rep;
	int err;

	conn->ep = ep;
	if (ep->caps.recv < depth || !slots || !ep->caps.ord || !ep->caps.read_sge)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device supports only %u receives, %u requests and %u reads per "
			"connection",
			ep->caps.recv, ep->caps.send, ep->caps.ord);
	err = target_conn_alloc_cmds(conn, slots, &ep->why);
	if (!err)
		err = xfer_port_init(&rdma->port, &rdma->ring, slots, &ep->why);
	if (!err)
		err = target_ep_reg(conn, EP_READ_SINK, &ep->why);
	if (err)
		return err;
	rdma->lkey = conn->pool->key[ep->dom].lkey;
	ring_start(&rdma->ring, ep, conn->pool, conn->pool->base + 4096 - SQE, STRIDE, SQE + INCAP,
		depth);
	nvmf_rdma_rep_put(&rep, (uint16_t)depth);
	memcpy(priv, &rep, sizeof(rep));
	return sizeof(rep);
}

static void up(struct ep *ep)
{
	struct rdma *rdma = ep->user;

	loop_trace(ep->loop, "%s: %s", rdma->queue.base.name, ep->route);
}

static const struct ep_events events = { requested, up, received, sent, idle, target_ep_down };

static void rdma_free(struct target_conn *conn)
{
	struct rdma *rdma = rdma_of(conn);

	target_ep_free(conn);
	pool_free(conn->pool);
	ring_fini(&rdma->ring);
	xfer_port_fini(&rdma->port);
}

static int rdma_open(struct target_conn *conn, struct diag *diag)
{
	struct rdma *rdma = rdma_of(conn);
	struct nvme_tgt_queue *queue = &rdma->queue;
	struct ep_caps caps = { .send = 2u * rdma->request.depth,
		.recv = rdma->request.depth,
		.sge = 1,
		.inline_max = sizeof(struct nvme_cqe),
		.read_sge = 1,
		.ord = READS };
	int err;

	queue->max_depth = rdma->request.depth;
	queue->io_only = rdma->request.qid;
	rdma->pages_at = (size_t)queue->max_depth * STRIDE;
	rdma->replies_at = rdma->pages_at + (queue->io_only ? 0 : (size_t)queue->max_depth * INCAP);
	rdma->backlog_end = &rdma->backlog;
	err = ring_init(&rdma->ring, queue->max_depth, diag);
	if (!err)
		err = pool_new(&conn->pool, (uint32_t)rdma->replies_at + queue->max_depth * REPLY,
			1, diag);
	if (err)
		ep_reject(rdma->incoming, NULL, 0);
	else
		err = ep_accept(&conn->ep, conn->loop, rdma->incoming, &caps, &events, rdma, diag);
	if (err) {
		rdma_free(conn);
		conn->pool = NULL;
	}
	return err;
}

const struct nvme_tgt_carrier nvme_tgt_rdma = {
	.base = { .name = "rdma",
		.cmd_size = sizeof(struct rdma_cmd),
		.open = rdma_open,
		.pull = pull,
		.push = push,
		.reply = reply,
		.forget = forget,
		.flush = flush,
		.resume = resume,
		.moved = target_ep_moved,
		.hung_up = target_ep_hung_up,
		.close = target_ep_close,
		.reset = target_ep_reset,
		.free = rdma_free },
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
	rdma->incoming = incoming;
	rdma->request = info;
	rdma->queue.base.local = incoming->local;
	nvme_tgt_queue_begin(target, &rdma->queue, &nvme_tgt_rdma, &incoming->peer);
}
