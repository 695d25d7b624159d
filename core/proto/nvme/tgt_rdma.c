/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's RDMA carrier (RDMA Transport Specification 1.1): capsules come in receives of their
 * own, data is moved by xfer, replies are chained behind it. A receive is posted again before the
 * reply to its command leaves. */
#include "ep.h"
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define INCAP 4096
#define SQE   sizeof(struct nvme_sqe)
/* the command ends where a page begins, so that its data is aligned for the disk */
#define STRIDE (4096 + INCAP)
#define REPLY  64
#define READS  16 /* of the host's memory at once, of one connection */

struct rdma_cmd {
	struct nvme_tgt_cmd cmd; /* first */
	struct ep_op reply;
	struct ep_rx *rx; /* its capsule, until the reply */
	uint64_t raddr;
	uint32_t rkey;
};

struct rdma {
	struct nvme_tgt_queue queue; /* first */
	struct ep_incoming *incoming;
	struct ep *ep;
	struct xfer_port port;
	struct nvmf_rdma_ask asked;
	struct ep_rx *rx;
	struct ep_rx *backlog, **backlog_end; /* commands that came before a reply's `sent` */
	uint32_t lkey;
	bool capsules_known, buffers_known;
};

static struct rdma *rdma_of(const struct nvme_tgt_queue *queue)
{
	return (struct rdma *)queue;
}

static uint32_t descriptor(struct nvme_tgt_cmd *cmd)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;

	switch (sgl->type) {
	case NVME_SGL_KEYED:
	case NVME_SGL_KEYED_INVAL:
		if (!nvme_tgt_cmd_fits(cmd, get_le24(sgl->keyed.len)))
			return NVME_SGL_LENGTH;
		rcmd->raddr = get_le64(sgl->addr);
		rcmd->rkey = get_le32(sgl->keyed.key);
		return NVME_OK;
	case NVME_SGL_OFFSET:
		if (!(cmd->op->flags & OP_OUT))
			return NVME_SGL_TYPE;
		if (get_le64(sgl->addr))
			return NVME_SGL_OFFSET_BAD;
		if (!nvme_tgt_cmd_fits(cmd, get_le32(sgl->block.len)) ||
			rcmd->rx->len - SQE != get_le32(sgl->block.len))
			return NVME_SGL_LENGTH;
		cmd->inside = true;
		cmd->p = rcmd->rx->p + SQE;
		cmd->pool = cmd->queue->pool;
		return NVME_OK;
	default:
		return NVME_SGL_TYPE;
	}
}

static void pull(struct nvme_tgt_cmd *cmd, uint32_t len)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;

	xfer_pull(&rdma_of(cmd->queue)->port, &cmd->xfer, rcmd->raddr + cmd->at, rcmd->rkey, len);
}

static void forget(struct nvme_tgt_cmd *cmd)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;

	if (rcmd->rx)
		xfer_receive(&rdma_of(cmd->queue)->port, rcmd->rx);
	rcmd->rx = NULL;
}

/* The host asks for its key to be invalidated by the way it describes its data; also when the
 * command failed. */
static struct ep_op *make_reply(struct nvme_tgt_cmd *cmd)
{
	struct rdma *rdma = rdma_of(cmd->queue);
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	bool inval = cmd->sqe.sgl.type == NVME_SGL_KEYED_INVAL && get_le24(cmd->sqe.sgl.keyed.len);
	uint8_t *p = cmd->queue->pool->base + (size_t)rdma->queue.most * STRIDE +
		     (size_t)nvme_tgt_cmd_index(cmd) * REPLY;

	memcpy(p, &cmd->cqe, sizeof(cmd->cqe));
	rcmd->reply = (struct ep_op){ .kind = inval ? EP_SEND_INVAL : EP_SEND,
		.nsge = 1,
		.rkey = inval ? get_le32(cmd->sqe.sgl.keyed.key) : 0,
		.flags = rdma->ep->caps.inline_max >= sizeof(cmd->cqe) ? EP_INLINE : 0,
		.sge = { { p, sizeof(cmd->cqe), rdma->lkey } } };
	forget(cmd);
	return &rcmd->reply;
}

static void push(struct nvme_tgt_cmd *cmd, uint32_t len, bool last)
{
	struct rdma_cmd *rcmd = (struct rdma_cmd *)cmd;
	struct ep_op *behind = last ? make_reply(cmd) : NULL;

	xfer_push(&rdma_of(cmd->queue)->port, &cmd->xfer, rcmd->raddr + cmd->at, rcmd->rkey, len,
		behind);
}

static void reply(struct nvme_tgt_cmd *cmd)
{
	xfer_send(&rdma_of(cmd->queue)->port, make_reply(cmd));
}

static void moved(struct xfer *x)
{
	struct nvme_tgt_cmd *cmd = container_of(x, struct nvme_tgt_cmd, xfer);

	if (cmd->state == CMD_PULL)
		nvme_tgt_cmd_pulled(cmd, NVME_OK);
	else if (cmd->state == CMD_PUSH)
		nvme_tgt_cmd_pushed(cmd);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct rdma *rdma = ep->user;

	if (!xfer_sent(&rdma->port, op))
		nvme_tgt_cmd_over(&container_of(op, struct rdma_cmd, reply)->cmd);
}

static bool run(struct rdma *rdma, struct ep_rx *rx)
{
	struct nvme_tgt_cmd *cmd = nvme_tgt_cmd_take(&rdma->queue);

	if (!cmd)
		return false;
	((struct rdma_cmd *)cmd)->rx = rx;
	cmd->xfer.moved = moved;
	memcpy(&cmd->sqe, rx->p, SQE);
	nvme_tgt_cmd_run(cmd);
	return true;
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct rdma *rdma = ep->user;

	if (nvme_tgt_queue_gone(&rdma->queue))
		return;
	if (rx->len < SQE) {
		nvme_tgt_queue_fail(
			&rdma->queue, DIAG_PROTOCOL, EPROTO, "capsule shorter than a command");
		return;
	}
	if (rx->invalidated) {
		nvme_tgt_queue_fail(&rdma->queue, DIAG_PROTOCOL, EPROTO,
			"the host invalidated a key it was not offered");
		return;
	}
	if (!rdma->backlog && run(rdma, rx))
		return;
	rx->next = NULL;
	*rdma->backlog_end = rx;
	rdma->backlog_end = &rx->next;
}

static void resume(struct nvme_tgt_queue *queue)
{
	struct rdma *rdma = rdma_of(queue);

	while (rdma->backlog && queue->free && !nvme_tgt_queue_gone(queue)) {
		struct ep_rx *rx = rdma->backlog;

		rdma->backlog = rx->next;
		if (!rdma->backlog)
			rdma->backlog_end = &rdma->backlog;
		run(rdma, rx);
	}
}

static void flush(struct nvme_tgt_queue *queue)
{
	xfer_flush(&rdma_of(queue)->port);
}

static void idle(struct ep *ep)
{
	struct rdma *rdma = ep->user;

	if (!nvme_tgt_queue_gone(&rdma->queue))
		flush(&rdma->queue);
}

/* The device is known: as many receives as the host may send commands, as many commands as it can
 * have in work. */
static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct rdma *rdma = ep->user;
	struct nvme_tgt_queue *queue = &rdma->queue;
	unsigned depth = rdma->asked.depth,
		 slots = ep->caps.send / 2 < depth ? ep->caps.send / 2 : depth;
	struct nvmf_rdma_rep rep;
	int err;

	rdma->ep = ep;
	xfer_port_init(&rdma->port, ep);
	if (ep->caps.recv < depth || !slots || !ep->caps.ord || !ep->caps.read_sge)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device supports only %u receives, %u requests and %u reads per "
			"connection",
			ep->caps.recv, ep->caps.send, ep->caps.ord);
	err = nvme_tgt_queue_room(queue, slots, &ep->why);
	if (!err)
		err = ep->ops->reg(ep, queue->pool, EP_LOCAL, &ep->why);
	if (err)
		return err;
	rdma->capsules_known = true;
	err = ep->ops->reg(ep, queue->worker->store.pool, EP_READ_SINK, &ep->why);
	if (err) {
		ep->ops->unreg(ep, queue->pool);
		rdma->capsules_known = false;
		return err;
	}
	rdma->buffers_known = true;
	rdma->lkey = queue->pool->key[ep->dom].lkey;
	for (unsigned i = 0; i < depth; i++)
		rdma->rx[i] = (struct ep_rx){ .next = i + 1 < depth ? &rdma->rx[i + 1] : NULL,
			.cap = SQE + INCAP,
			.lkey = rdma->lkey,
			.p = queue->pool->base + (size_t)i * STRIDE + 4096 - SQE };
	ep->ops->repost(ep, rdma->rx);
	nvmf_rdma_rep_put(&rep, (uint16_t)depth);
	memcpy(priv, &rep, sizeof(rep));
	return sizeof(rep);
}

static void up(struct ep *ep)
{
	struct rdma *rdma = ep->user;

	loop_trace(ep->loop, "%s: %s", rdma->queue.name, ep->way);
}

static void down(struct ep *ep)
{
	struct rdma *rdma = ep->user;

	if (!rdma->queue.why.err)
		rdma->queue.why = ep->why;
	nvme_tgt_queue_down(&rdma->queue);
}

static const struct ep_events events = { requested, up, received, sent, idle, down };

static void rdma_free(struct nvme_tgt_queue *queue)
{
	struct rdma *rdma = rdma_of(queue);

	if (rdma->capsules_known)
		rdma->ep->ops->unreg(rdma->ep, queue->pool);
	if (rdma->buffers_known)
		rdma->ep->ops->unreg(rdma->ep, queue->worker->store.pool);
	if (rdma->ep)
		rdma->ep->ops->free(rdma->ep);
	pool_free(queue->pool);
	free(rdma->rx);
}

static int rdma_open(struct nvme_tgt_queue *queue, struct diag *diag)
{
	struct rdma *rdma = rdma_of(queue);
	struct ep_caps want = { .send = 2u * rdma->asked.depth,
		.recv = rdma->asked.depth,
		.sge = 1,
		.inline_max = sizeof(struct nvme_cqe),
		.read_sge = 1,
		.ord = READS };
	int err;

	queue->most = rdma->asked.depth;
	rdma->backlog_end = &rdma->backlog;
	rdma->rx = calloc(queue->most, sizeof(*rdma->rx));
	err = rdma->rx ? pool_new(&queue->pool, queue->most * (STRIDE + REPLY), 1, diag)
		       : diag_sys(diag, ENOMEM, "queue of %u", queue->most);
	if (err)
		ep_reject(rdma->incoming, NULL, 0);
	else
		err = ep_accept(&rdma->ep, queue->loop, rdma->incoming, &want, &events, rdma, diag);
	if (err) {
		rdma_free(queue);
		queue->pool = NULL;
	}
	return err;
}

static void rdma_close(struct nvme_tgt_queue *queue)
{
	struct rdma *rdma = rdma_of(queue);

	rdma->ep->ops->close(rdma->ep);
}

const struct nvme_tgt_carrier nvme_tgt_rdma = {
	.name = "rdma",
	.trtype = NVMF_TRTYPE_RDMA,
	.incap = INCAP,
	.cmd_size = sizeof(struct rdma_cmd),
	.open = rdma_open,
	.descriptor = descriptor,
	.pull = pull,
	.push = push,
	.reply = reply,
	.forget = forget,
	.flush = flush,
	.resume = resume,
	.close = rdma_close,
	.free = rdma_free,
};

/* 0, or why not, as the host is told. */
static uint16_t judge(
	struct nvme_target *target, const struct ep_incoming *incoming, struct nvmf_rdma_ask *ask)
{
	const struct nvmf_rdma_req *req = (const void *)incoming->priv;

	if (incoming->priv_len < sizeof(*req))
		return NVMF_RDMA_INVALID_LEN;
	if (get_le16(req->recfmt))
		return NVMF_RDMA_INVALID_RECFMT;
	if (nvmf_rdma_req_get(ask, req, sizeof(*req), NULL))
		return get_le16(req->hrqsize) ? NVMF_RDMA_INVALID_HSQSIZE
					      : NVMF_RDMA_INVALID_HRQSIZE;
	if (ask->qid > NVME_TGT_QUEUES)
		return NVMF_RDMA_INVALID_QID;
	if (ask->depth > target->opt.depth)
		return NVMF_RDMA_INVALID_HSQSIZE;
	return nvme_tgt_room(target) ? 0 : NVMF_RDMA_NO_RESOURCES;
}

void nvme_tgt_rdma_incoming(struct nvme_target *target, struct ep_incoming *incoming)
{
	struct nvmf_rdma_ask ask = { 0 };
	uint16_t no = judge(target, incoming, &ask);
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
	rdma->asked = ask;
	rdma->queue.local = incoming->local;
	nvme_tgt_queue_begin(target, &rdma->queue, &nvme_tgt_rdma, &incoming->peer);
}
