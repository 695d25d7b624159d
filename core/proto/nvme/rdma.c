/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA carrier (RDMA Transport Specification 1.1): capsules over an ep. A command is one SEND
 * of 64 bytes, followed by write data if the controller accepts that; otherwise the target accesses
 * the data by the pool's key. */
#include "nvme.h"
#include "ring.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CAPSULE sizeof(struct nvme_sqe)
#define REPLY   64 /* a completion has 16 bytes; use a cache line for each */

struct slot {
	struct nvme_slot slot; /* first member */
	struct ep_op op;
	bool queued; /* in the chain, not yet posted */
};

struct rdma {
	struct nvme_queue queue; /* first member */
	struct ep *ep;
	struct pool *pool; /* capsules, followed by reply buffers */
	struct ring ring;
	struct loop_work flush;
	uint32_t lkey;
	uint16_t made; /* depth for which the arrays were allocated */
	bool registered, closing;
};

static void fail(struct rdma *rdma, enum diag_code code, int err, const char *text)
{
	if (rdma->closing)
		return;
	diag_set(&rdma->queue.why, code, err, "queue %u: %s", rdma->queue.qid, text);
	rdma->closing = true;
	ep_abandon(rdma->ep);
}

static void flush(struct loop_work *work)
{
	struct rdma *rdma = container_of(work, struct rdma, flush);

	if (rdma->closing || rdma->ep->state != EP_UP)
		return;
	for (struct ep_op *op = rdma->ring.chain; op; op = op->next)
		container_of(op, struct slot, op)->queued = false;
	ring_flush(&rdma->ring);
}

static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct rdma *rdma = ep->user;
	struct nvme_queue *queue = &rdma->queue;
	uint32_t room = ep->caps.send < ep->caps.recv ? ep->caps.send : ep->caps.recv;
	struct nvmf_rdma_req req;
	int err;

	if (room < queue->depth)
		queue->depth = (uint16_t)room;
	if (queue->depth < 2 || !ep->caps.sge)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device allows only %u requests per connection", room);
	err = ep->ops->reg(ep, rdma->pool, EP_LOCAL, &ep->why);
	if (err)
		return err;
	rdma->registered = true;
	rdma->lkey = rdma->pool->key[ep->dom].lkey;
	ring_start(&rdma->ring, ep, rdma->pool, rdma->pool->base + rdma->made * CAPSULE, REPLY,
		REPLY, queue->depth);
	nvmf_rdma_req_put(
		&req, &(struct nvmf_rdma_req_info){
			      .qid = queue->qid, .receives = queue->depth, .depth = queue->depth });
	memcpy(priv, &req, sizeof(req));
	return sizeof(req);
}

static void up(struct ep *ep)
{
	struct rdma *rdma = ep->user;
	uint16_t receives;
	struct diag why;

	if (nvmf_rdma_rep_get(&receives, ep->priv, ep->priv_len, &why)) {
		fail(rdma, DIAG_PROTOCOL, EPROTO, why.text);
		return;
	}
	if (receives < 2) {
		fail(rdma, DIAG_PROTOCOL, EPROTO, "the target has only one receive buffer");
		return;
	}
	if (receives < rdma->queue.depth)
		rdma->queue.depth = receives;
	rdma->queue.peer = ep->peer;
	snprintf(rdma->queue.route, sizeof(rdma->queue.route), "%s", ep->route);
	rdma->queue.backend = ep->ops->name;
	rdma->queue.ev->up(&rdma->queue);
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct rdma *rdma = ep->user;
	const struct nvme_cqe *cqe = (const void *)rx->p;
	struct slot *slot;

	if (rdma->closing)
		return;
	if (rx->len != sizeof(struct nvme_cqe)) {
		fail(rdma, DIAG_PROTOCOL, EPROTO, "reply is not 16 bytes long");
		return;
	}
	if (rx->invalidated) {
		fail(rdma, DIAG_PROTOCOL, EPROTO,
			"the target invalidated a key that was not advertised");
		return;
	}
	slot = inflight_find(&rdma->queue.inflight, get_le16(cqe->cid));
	if (!slot || slot->queued) {
		fail(rdma, DIAG_PROTOCOL, EPROTO, "reply to a command that is not in flight");
		return;
	}
	slot->slot.cqe = *cqe;
	ring_repost(&rdma->ring, rx);
	if (inflight_replied(&slot->slot.flight))
		rdma->queue.reply(&rdma->queue, &slot->slot);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct rdma *rdma = ep->user;
	struct slot *slot = container_of(op, struct slot, op);

	if (inflight_sent(&slot->slot.flight) && !rdma->closing)
		rdma->queue.reply(&rdma->queue, &slot->slot);
}

static void idle(struct ep *ep)
{
	struct rdma *rdma = ep->user;

	if (rdma->closing)
		return;
	rdma->queue.ev->idle(&rdma->queue);
	if (rdma->ring.repost)
		loop_work_add(rdma->queue.loop, &rdma->flush);
}

static void down(struct ep *ep)
{
	struct rdma *rdma = ep->user;
	struct diag *why = &rdma->queue.why;
	uint16_t status = 0;

	if (ep->rejected)
		nvmf_rdma_rej_get(&status, ep->priv, ep->priv_len, NULL);
	if (!why->err && status)
		diag_set(why, DIAG_REFUSED, ECONNREFUSED, "the target refused queue %u: %s",
			rdma->queue.qid, nvmf_rdma_status_text(status));
	if (!why->err)
		*why = ep->why;
	/* Linux 6.12 sends zeroes if its target listens on another address of the host */
	if (ep->rejected && !status)
		diag_hint(why, "the target gave no reason: does it listen at this address?");
	rdma->closing = true;
	rdma->queue.ev->down(&rdma->queue);
}

static const struct ep_events events = { requested, up, received, sent, idle, down };

static void rdma_free(struct nvme_queue *queue)
{
	struct rdma *rdma = (struct rdma *)queue;

	loop_work_del(queue->loop, &rdma->flush);
	if (rdma->registered)
		rdma->ep->ops->unreg(rdma->ep, rdma->pool);
	if (rdma->ep)
		rdma->ep->ops->free(rdma->ep);
	if (rdma->pool)
		pool_free(rdma->pool);
	inflight_fini(&queue->inflight);
	ring_fini(&rdma->ring);
	free(rdma);
}

static int rdma_open(struct nvme_queue **out, struct loop *loop, const struct nvme_conf *conf,
	uint16_t qid, uint16_t depth, uint32_t timeout_ms, const struct nvme_queue_events *ev,
	void *user, struct diag *diag)
{
	struct ep_dial dial = { .dst = conf->dst,
		.src = conf->src,
		.dev = conf->dev[0] ? conf->dev : NULL,
		.backend = conf->backend,
		.tos = conf->tos,
		.no_crc = conf->no_crc,
		.timeout_ms = timeout_ms };
	struct rdma *rdma = calloc(1, sizeof(*rdma));
	int err;

	if (!rdma)
		return diag_sys(diag, ENOMEM, "queue %u", qid);
	rdma->queue = (struct nvme_queue){ .carrier = &nvme_rdma,
		.ev = ev,
		.conf = conf,
		.loop = loop,
		.user = user,
		.qid = qid,
		.depth = depth };
	rdma->flush.run = flush;
	rdma->made = depth;
	err = ring_init(&rdma->ring, depth, diag);
	if (!err)
		err = pool_new(&rdma->pool, depth * (CAPSULE + REPLY), 1, diag);
	if (!err)
		err = inflight_init(
			&rdma->queue.inflight, loop, depth - 1, sizeof(struct slot), NULL, diag);
	for (unsigned i = 0; !err && i < depth - 1u; i++)
		((struct nvme_slot *)inflight_slot(&rdma->queue.inflight, i))->sqe =
			(void *)(rdma->pool->base + i * CAPSULE);
	if (!err) {
		/* The target reads our memory (ird); we do not read its memory. */
		dial.caps = (struct ep_caps){ .send = depth,
			.recv = depth,
			.sge = 2,
			.inline_max = CAPSULE,
			.ord = 1,
			.ird = 16 };
		err = ep_dial(&rdma->ep, loop, &dial, &events, rdma, diag);
	}
	if (err) {
		rdma->ep = NULL;
		rdma_free(&rdma->queue);
		return err;
	}
	*out = &rdma->queue;
	return 0;
}

static struct nvme_sgl keyed(const struct nvme_data *data, uint8_t dom)
{
	struct nvme_sgl sgl = { .type = NVME_SGL_KEYED };

	if (data->len) {
		sgl.addr = put_le64(pool_raddr(data->pool, dom, data->p));
		sgl.keyed.len = put_le24(data->len);
		sgl.keyed.key = put_le32(data->pool->key[dom].rkey);
	}
	return sgl;
}

static void rdma_submit(struct nvme_queue *queue, struct nvme_slot *nvme)
{
	struct rdma *rdma = (struct rdma *)queue;
	struct slot *slot = (struct slot *)nvme;
	const struct nvme_data *data = &nvme->data;
	const struct ep_caps *caps = &rdma->ep->caps;
	uint8_t dom = rdma->ep->dom;
	bool in_capsule = data->out && data->len && data->len <= queue->incap && caps->sge >= 2;

	slot->op = (struct ep_op){ .nsge = 1,
		.sge = { { (uint8_t *)nvme->sqe, CAPSULE, rdma->lkey } } };
	if (in_capsule) {
		nvme_slot_describe(nvme, (struct nvme_sgl){ .type = NVME_SGL_OFFSET,
						 .block.len = put_le32(data->len) });
		slot->op.sge[slot->op.nsge++] =
			(struct ep_sge){ data->p, data->len, data->pool->key[dom].lkey };
	} else {
		nvme_slot_describe(nvme, keyed(data, dom));
		if (caps->inline_max >= CAPSULE)
			slot->op.flags = EP_INLINE | EP_UNSIGNALED;
	}
	nvme->flight.unsent = !(slot->op.flags & EP_UNSIGNALED);
	slot->queued = true;
	if (!rdma->ring.chain)
		loop_work_add(queue->loop, &rdma->flush);
	ring_add(&rdma->ring, &slot->op);
}

static int rdma_map(struct nvme_queue *queue, struct pool *pool, struct diag *diag)
{
	struct rdma *rdma = (struct rdma *)queue;

	return rdma->ep->ops->reg(rdma->ep, pool, EP_REMOTE_READ | EP_REMOTE_WRITE, diag);
}

static void rdma_unmap(struct nvme_queue *queue, struct pool *pool)
{
	struct rdma *rdma = (struct rdma *)queue;

	rdma->ep->ops->unreg(rdma->ep, pool);
}

static void rdma_close(struct nvme_queue *queue)
{
	struct rdma *rdma = (struct rdma *)queue;

	if (rdma->closing)
		return;
	rdma->closing = true;
	if (queue->inflight.used)
		ep_abandon(rdma->ep);
	else
		rdma->ep->ops->close(rdma->ep);
}

const struct nvme_carrier nvme_rdma = {
	.name = "rdma",
	.trtype = NVMF_TRTYPE_RDMA,
	.open = rdma_open,
	.submit = rdma_submit,
	.map = rdma_map,
	.unmap = rdma_unmap,
	.close = rdma_close,
	.free = rdma_free,
};
