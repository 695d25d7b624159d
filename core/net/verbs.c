/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The data path over verbs: posting, polling and send queue accounting. Devices are in verbs_dev.c,
 * connections in verbs_cm.c. */
#include "verbs.h"
#include "min.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS    8 /* batches per queue and turn, to leave time for other events */
#define SPARE_MIN 16
/* An InfiniBand connect request has 92 bytes of private data. The RDMA CM uses 36 of them for IP
 * addresses. */
#define RDMA_CM_PRIV 56 /* of IP */
#define IB_CM_PRIV   92 /* of a service on InfiniBand */

/* wr_id: serial 32 bits, position in the send queue 16, slot 14, kind 2. */
static uint64_t wr_id(const struct verbs_ep *ve, enum verbs_wr kind, uint32_t position)
{
	return (uint64_t)ve->serial << 32 | (position & 0xffff) << 16 | ve->slot << 2 | kind;
}

static struct verbs_ep *wr_owner(const struct verbs *verbs, uint64_t id)
{
	uint32_t slot = id >> 2 & 0x3fff;
	struct verbs_ep *ve = slot < verbs->slots ? verbs->slot[slot] : NULL;
	return ve && ve->serial == id >> 32 ? ve : NULL;
}

static bool sq_full(const struct verbs_ep *ve)
{
	return ve->sq_next - ve->sq_done >= ve->sq_size;
}

/* An iWARP READ response is a tagged message to the reader's memory (RFC 5040 section 4.1), so the
 * local buffer needs remote access rights. Each READ registers only its own memory until the READ
 * ends, so that the peer reaches neither the rest of the pool nor the data after it has arrived. */
static int sink_open(struct verbs_ep *ve, struct ibv_sge *sge)
{
	struct ibv_mr **mr = &ve->sink[(ve->sink_at + ve->sinks) % ve->ep.caps.ord];
	int err;

	if (ve->sinks == ve->ep.caps.ord)
		return diag_set(verbs_why(ve), DIAG_PROTOCOL, ENOSPC,
			"more than %u reads were posted at once", ve->ep.caps.ord);
	err = verbs_mr_new(ve->dev, mr, (void *)(uintptr_t)sge->addr, sge->length, EP_REMOTE_WRITE,
		verbs_why(ve));
	if (err)
		return err;
	sge->lkey = (*mr)->lkey;
	ve->sinks++;
	return 0;
}

static void sink_close(struct verbs_ep *ve)
{
	ibv_dereg_mr(ve->sink[ve->sink_at]);
	ve->sink_at = (ve->sink_at + 1) % ve->ep.caps.ord;
	ve->sinks--;
}

static void append(struct ep_op ***end, struct ep_op *op)
{
	op->next = NULL;
	**end = op;
	*end = &op->next;
}

static struct ep_op *oldest(struct ep_op **first, struct ep_op ***end)
{
	struct ep_op *op = *first;

	if (op)
		*first = op->next;
	if (!*first)
		*end = first;
	return op;
}

static int send_fill(
	struct verbs_ep *ve, struct ep_op *op, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	static const enum ibv_wr_opcode opcodes[] = { [EP_SEND] = IBV_WR_SEND,
		[EP_SEND_INVAL] = IBV_WR_SEND_WITH_INV,
		[EP_WRITE] = IBV_WR_RDMA_WRITE,
		[EP_READ] = IBV_WR_RDMA_READ };
	enum verbs_wr kind = op->flags & EP_UNSIGNALED ? VERBS_UNSIGNALED
			     : op->kind == EP_READ     ? VERBS_READ
						       : VERBS_SENT;
	bool signal = ++ve->unmarked >= ve->mark_every || kind != VERBS_UNSIGNALED;
	int err;

	for (unsigned i = 0; i < op->nsge; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)op->sge[i].p, op->sge[i].len,
			op->sge[i].lkey };
	if (kind == VERBS_READ && ve->sink) {
		err = sink_open(ve, sge);
		if (err)
			return err;
	}
	*wr = (struct ibv_send_wr){
		.wr_id = wr_id(ve, kind, ve->sq_next++),
		.sg_list = sge,
		.num_sge = op->nsge,
		.opcode = opcodes[op->kind],
		.send_flags = (signal ? IBV_SEND_SIGNALED : 0) |
			      (op->flags & EP_INLINE ? IBV_SEND_INLINE : 0),
	};
	wr->wr.rdma.remote_addr = op->raddr;
	wr->wr.rdma.rkey = op->rkey; /* where libsiw of rdma-core 56 expects invalidate_rkey */
	if (op->kind == EP_SEND_INVAL)
		wr->invalidate_rkey = op->rkey;
	if (signal)
		ve->unmarked = 0;
	if (kind == VERBS_SENT)
		append(&ve->sent_end, op);
	else if (kind == VERBS_READ)
		append(&ve->read_end, op);
	return 0;
}

/* Post as many ops as fit and return the rest. */
static struct ep_op *send_some(struct verbs_ep *ve, struct ep_op *chain)
{
	struct ibv_send_wr wr[VERBS_BATCH], *bad;
	struct ibv_sge sge[VERBS_BATCH][EP_SGE];
	int err;

	while (chain && !sq_full(ve)) {
		unsigned count = 0;
		do {
			struct ep_op *op = chain;
			chain = op->next;
			if (send_fill(ve, op, &wr[count], sge[count])) {
				verbs_close(&ve->ep);
				return NULL;
			}
			if (count)
				wr[count - 1].next = &wr[count];
		} while (++count < VERBS_BATCH && chain && !sq_full(ve));
		err = ibv_post_send(ve->id->qp, wr, &bad);
		if (err) {
			diag_sys(verbs_why(ve), err, "post a request on %s",
				verbs_dev_name(ve->dev));
			verbs_close(&ve->ep);
			return NULL;
		}
	}
	return chain;
}

/* The peer's answer returns an unsignaled op to its owner. An op that is held again was answered
 * before it was sent: reject that, as adding it twice would make the list a ring. */
static bool is_held(const struct verbs_ep *ve, const struct ep_op *op)
{
	for (const struct ep_op *held = ve->held; held; held = held->next)
		if (held == op)
			return true;
	return false;
}

static void send_hold(struct verbs_ep *ve, struct ep_op *op)
{
	if ((op->flags & (EP_INLINE | EP_UNSIGNALED)) == EP_INLINE) {
		uint8_t *to = ve->spill + (size_t)ve->spill_next * ve->ep.caps.inline_max;
		uint32_t len = 0;
		ve->spill_next = (ve->spill_next + 1) % ve->ep.caps.send;
		for (unsigned i = 0; i < op->nsge && op->sge[i].len <= ve->ep.caps.inline_max - len;
			i++) {
			memcpy(to + len, op->sge[i].p, op->sge[i].len);
			len += op->sge[i].len;
		}
		op->nsge = 1;
		op->sge[0] = (struct ep_sge){ .p = to, .len = len };
	}
	append(&ve->held_end, op);
}

void verbs_post(struct ep *ep, struct ep_op *chain)
{
	struct verbs_ep *ve = verbs_ep(ep);

	if (ep->state != EP_UP)
		return;
	if (!ve->held)
		chain = send_some(ve, chain);
	while (chain) {
		struct ep_op *op = chain;
		chain = op->next;
		if (is_held(ve, op)) {
			diag_set(verbs_why(ve), DIAG_PROTOCOL, EPROTO,
				"the peer answered a message that was not sent yet");
			verbs_close(ep);
			return;
		}
		send_hold(ve, op);
	}
}

static void send_retire(struct verbs_ep *ve, uint64_t id)
{
	uint16_t ahead = (uint16_t)((uint16_t)(id >> 16) + 1 - ve->sq_done);

	if (ahead <= ve->sq_next - ve->sq_done) /* a READ may complete after later ops */
		ve->sq_done += ahead;
	if (!ve->held || ve->ep.state != EP_UP)
		return;
	ve->held = send_some(ve, ve->held);
	if (!ve->held)
		ve->held_end = &ve->held;
}

void verbs_repost(struct ep *ep, struct ep_rx *chain)
{
	struct verbs_ep *ve = verbs_ep(ep);
	struct ibv_recv_wr wr[VERBS_BATCH], *bad;
	struct ibv_sge sge[VERBS_BATCH];
	int err;

	while (chain && ep->state <= EP_UP) {
		unsigned count = 0;
		do {
			struct ep_rx *rx = chain;
			chain = rx->next;
			rx->next = NULL;
			*ve->rx_end = rx;
			ve->rx_end = &rx->next;
			sge[count] = (struct ibv_sge){ (uintptr_t)rx->p, rx->cap, rx->lkey };
			wr[count] = (struct ibv_recv_wr){ .wr_id = wr_id(ve, VERBS_RECV, 0),
				.sg_list = &sge[count],
				.num_sge = 1 };
			if (count)
				wr[count - 1].next = &wr[count];
		} while (++count < VERBS_BATCH && chain);
		err = ibv_post_recv(ve->id->qp, wr, &bad);
		if (err) {
			diag_sys(verbs_why(ve), err, "post a receive on %s",
				verbs_dev_name(ve->dev));
			verbs_close(ep);
		}
	}
}

static void touch(struct verbs_ep *ve)
{
	if (ve->touched)
		return;
	ve->touched = true;
	ve->touched_next = ve->dev->touched;
	ve->dev->touched = ve;
}

static void completion_failed(struct verbs_ep *ve, const struct ibv_wc *wc)
{
	const char *what = (wc->wr_id & 3) == VERBS_RECV ? "receive" : "request",
		   *why = ibv_wc_status_str(wc->status);
	unsigned fatal = atomic_load(&ve->fatal);

	if (fatal && !ve->ep.why.err)
		diag_set(verbs_why(ve), DIAG_IO, EIO, "%s reports: %s", verbs_dev_name(ve->dev),
			ibv_event_type_str(fatal - 1));
	else if (wc->status == IBV_WC_RETRY_EXC_ERR)
		diag_set(verbs_why(ve), DIAG_UNREACHABLE, EHOSTUNREACH,
			"the peer no longer answers (%s: %s)", what, why);
	else if (wc->status != IBV_WC_WR_FLUSH_ERR)
		diag_set(verbs_why(ve), DIAG_IO, EIO, "%s on %s: %s (vendor code %#x)", what,
			verbs_dev_name(ve->dev), why, wc->vendor_err);
	else if (ve->ep.state == EP_CONNECTING)
		return; /* siw flushes before it reports the cause */
	else if (!ve->ep.why.err && ve->ep.state == EP_UP) {
		diag_set(verbs_why(ve), DIAG_CLOSED, ECONNRESET, "connection lost");
		ve->vague = true;
	}
	verbs_close(&ve->ep);
}

static void received(struct verbs_ep *ve, const struct ibv_wc *wc)
{
	struct ep_rx *rx = ve->rx;

	if (!rx)
		return;
	ve->rx = rx->next;
	if (!ve->rx)
		ve->rx_end = &ve->rx;
	if (wc->status || ve->ep.state > EP_UP)
		return;
	/* The first message may overtake the connection manager's event; either proves that the
	 * connection is up. */
	if (ve->passive && ve->ep.state == EP_CONNECTING)
		verbs_established(ve);
	if (ve->ep.state > EP_UP)
		return;
	/* The length of a write with immediate data says nothing about this buffer, so reject it.
	 */
	if (ve->ep.state != EP_UP || wc->opcode != IBV_WC_RECV) {
		diag_set(verbs_why(ve), DIAG_PROTOCOL, EPROTO,
			ve->ep.state != EP_UP ? "the peer sent before the connection was up"
					      : "the peer sent immediate data");
		verbs_close(&ve->ep);
		return;
	}
	rx->len = wc->byte_len < rx->cap ? wc->byte_len : rx->cap;
	rx->invalidated = wc->wc_flags & IBV_WC_WITH_INV;
	rx->inval_rkey = rx->invalidated ? wc->invalidated_rkey : 0;
	touch(ve);
	ve->ep.ev->recv(&ve->ep, rx);
}

static void sent(struct verbs_ep *ve, const struct ibv_wc *wc)
{
	struct ep_op *op = NULL;

	if ((wc->wr_id & 3) == VERBS_SENT) {
		op = oldest(&ve->sent, &ve->sent_end);
		if (!op)
			return;
	} else if ((wc->wr_id & 3) == VERBS_READ) {
		op = oldest(&ve->read, &ve->read_end);
		if (!op)
			return;
		if (ve->sink)
			sink_close(ve);
	}
	if (wc->status || ve->ep.state != EP_UP)
		return;
	send_retire(ve, wc->wr_id);
	if (!op || ve->ep.state != EP_UP)
		return;
	touch(ve);
	ve->ep.ev->sent(&ve->ep, op);
}

static void complete(struct verbs *verbs, const struct ibv_wc *wc)
{
	struct verbs_ep *ve = wr_owner(verbs, wc->wr_id);

	if (!ve)
		return;
	if (wc->status)
		completion_failed(ve, wc);
	ve = wr_owner(verbs, wc->wr_id); /* the upcall may have ended it */
	if (!ve)
		return;
	if ((wc->wr_id & 3) == VERBS_RECV)
		received(ve, wc);
	else
		sent(ve, wc);
	ve = wr_owner(verbs, wc->wr_id);
	if (ve && ve->ep.state == EP_CLOSING)
		verbs_drained(ve);
}

static void hand_out(struct verbs_cq *cq)
{
	struct verbs_dev *dev = cq->dev;

	while (cq->at < cq->count) {
		struct ibv_wc wc = cq->wc[cq->at++];
		complete(dev->verbs, &wc);
	}
	while (dev->touched) {
		struct verbs_ep *ve = dev->touched;
		dev->touched = ve->touched_next;
		ve->touched = false;
		if (ve->ep.state == EP_UP)
			ve->ep.ev->idle(&ve->ep);
	}
}

static void cq_broken(struct verbs_cq *cq)
{
	struct verbs *verbs = cq->dev->verbs;

	for (uint32_t i = 0; i < verbs->slots; i++) {
		struct verbs_ep *ve = verbs->slot[i];
		if (!ve || ve->cq != cq)
			continue;
		diag_set(verbs_why(ve), DIAG_IO, EIO, "completion queue error on %s",
			verbs_dev_name(cq->dev));
		verbs_close(&ve->ep);
	}
}

static bool cq_poll(struct verbs_cq *cq)
{
	bool any = cq->at < cq->count;

	hand_out(cq);
	for (int round = 0; round < ROUNDS; round++) {
		int count = ibv_poll_cq(cq->cq, VERBS_BATCH, cq->wc);
		if (count < 0)
			cq_broken(cq);
		/* the queue is empty: no completion of ended endpoints is left */
		if (count < VERBS_BATCH) {
			cq->used -= cq->stale;
			cq->stale = 0;
		}
		if (count <= 0)
			break;
		any = true;
		cq->at = 0;
		cq->count = (uint8_t)count;
		hand_out(cq);
		if (count < VERBS_BATCH)
			break;
	}
	return any;
}

bool verbs_dev_poll(struct verbs_dev *dev)
{
	bool any = false;
	for (struct verbs_cq *cq = dev->cqs; cq; cq = cq->next)
		any |= cq_poll(cq);
	return any;
}

bool verbs_dev_arm(struct verbs_dev *dev)
{
	for (struct verbs_cq *cq = dev->cqs; cq; cq = cq->next) {
		if (cq->armed)
			continue;
		if (!ibv_req_notify_cq(cq->cq, 0))
			cq->armed = true;
	}
	return !verbs_dev_poll(dev);
}

static void caps_clip(struct verbs_ep *ve)
{
	const struct ibv_device_attr *attr = &ve->dev->attr;
	struct ep_caps *caps = &ve->ep.caps;
	uint32_t max_wr = min_u32((uint32_t)attr->max_qp_wr, 0x8000), spare;

	caps->send = caps->send ? min_u32(caps->send, max_wr / 2) : 1;
	caps->recv = caps->recv ? min_u32(caps->recv, max_wr) : 1;
	caps->sge = caps->sge ? min_u32(min_u32(caps->sge, EP_SGE), (uint32_t)attr->max_sge) : 1;
	/* librdmacm stores these limits in 8 bits */
	caps->ord = min_u32(caps->ord, (uint8_t)attr->max_qp_init_rd_atom);
	caps->ird = min_u32(caps->ird, (uint8_t)attr->max_qp_rd_atom);
	caps->read_sge = ve->dev->attr.max_sge_rd > 0
				 ? min_u32(caps->read_sge, (uint32_t)ve->dev->attr.max_sge_rd)
				 : 1;
	caps->read_sge = caps->read_sge && !ve->dev->iwarp ? min_u32(caps->read_sge, EP_SGE) : 1;
	/* siw refuses an inline SEND with invalidate (Linux 6.12), as targets reply with. */
	if (ve->dev->software && ve->dev->iwarp && ve->passive)
		caps->inline_max = 0;
	caps->priv_max = ve->dev->iwarp || ve->passive  ? EP_PRIV_MAX
			 : ve->dst.ss_family == ADDR_IB ? IB_CM_PRIV
							: RDMA_CM_PRIV;
	caps->max_msg = 1u << 30; /* the limit of all known adapters */
	caps->software = ve->dev->software;
	spare = min_u32(caps->send < SPARE_MIN ? SPARE_MIN : caps->send, max_wr - caps->send);
	ve->sq_size = caps->send + spare;
	ve->mark_every = spare > 1 ? spare / 2 : 1;
}

static int qp_new(struct verbs_ep *ve, struct diag *diag)
{
	struct ep_caps *caps = &ve->ep.caps;
	uint32_t inline_max = caps->inline_max;

	for (;;) {
		struct ibv_qp_init_attr attr = {
			.qp_context = ve,
			.send_cq = ve->cq->cq,
			.recv_cq = ve->cq->cq,
			.qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = ve->sq_size,
				.max_recv_wr = caps->recv,
				.max_send_sge =
					caps->sge > caps->read_sge ? caps->sge : caps->read_sge,
				.max_recv_sge = 1,
				.max_inline_data = inline_max },
		};
		if (!rdma_create_qp(ve->id, ve->dev->pd, &attr)) {
			caps->inline_max = min_u32(caps->inline_max, attr.cap.max_inline_data);
			return 0;
		}
		/* Providers do not report their inline limit; they fail to create the queue pair.
		 */
		if (!inline_max || (errno != EINVAL && errno != ENOMEM && errno != EOPNOTSUPP))
			break;
		inline_max = inline_max > 32 ? inline_max / 2 : 0;
	}
	return diag_sys(diag, errno, "%s: create a queue pair for %u sends and %u receives",
		verbs_dev_name(ve->dev), ve->sq_size, caps->recv);
}

int verbs_queue_new(struct verbs_ep *ve, struct diag *diag)
{
	int err;

	caps_clip(ve);
	ve->reserved = ve->sq_size + ve->ep.caps.recv;
	err = verbs_cq_reserve(ve->dev, ve->reserved, &ve->cq, diag);
	if (err)
		return err;
	err = qp_new(ve, diag);
	if (err)
		return err;
	if (ve->dev->iwarp && ve->ep.caps.ord) {
		ve->sink = calloc(ve->ep.caps.ord, sizeof(*ve->sink));
		if (!ve->sink)
			return diag_sys(diag, ENOMEM, "send queue");
	}
	if (!ve->ep.caps.inline_max)
		return 0;
	ve->spill = malloc((size_t)ve->ep.caps.send * ve->ep.caps.inline_max);
	return ve->spill ? 0 : diag_sys(diag, ENOMEM, "send queue");
}

void verbs_queue_free(struct verbs_ep *ve)
{
	if (ve->id && ve->id->qp)
		rdma_destroy_qp(ve->id);
	if (ve->cq)
		verbs_cq_release(ve->cq, ve->reserved);
	ve->cq = NULL;
	free(ve->spill);
	ve->spill = NULL;
	while (ve->sinks)
		sink_close(ve);
	free(ve->sink);
	ve->sink = NULL;
	if (!ve->touched)
		return;
	for (struct verbs_ep **at = &ve->dev->touched; *at; at = &(*at)->touched_next)
		if (*at == ve) {
			*at = ve->touched_next;
			break;
		}
	ve->touched = false;
}
