/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data transfer of all targets over RDMA. */
#include "xfer.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct xfer_op {
	struct ep_op op; /* first member */
	struct xfer *x;
	struct xfer_op *next;
};

int xfer_port_init(struct xfer_port *port, struct ring *ring, unsigned ops, struct diag *diag)
{
	*port = (struct xfer_port){ .ring = ring, .ops = calloc(ops, sizeof(*port->ops)) };
	if (!port->ops)
		return diag_sys(diag, ENOMEM, "%u transfers", ops);
	for (unsigned i = 0; i < ops; i++) {
		port->ops[i].op.nsge = 1;
		port->ops[i].next = port->free;
		port->free = &port->ops[i];
	}
	for (int i = 0; i < 2; i++)
		port->queue[i].end = &port->queue[i].first;
	return 0;
}

void xfer_port_fini(struct xfer_port *port)
{
	free(port->ops);
	port->ops = NULL;
}

/* Post one operation of the first move in the queue; false: none can be posted. */
static bool post_first(struct xfer_port *port, struct xfer_queue *queue)
{
	const struct ep_caps *caps = &port->ring->ep->caps;
	struct xfer_op *op = port->free;
	struct xfer *x = queue->first;
	uint32_t len;

	if (!x || !op || (x->kind == EP_READ && port->reads >= caps->ord))
		return false;
	while (x->seg_at == x->seg->len) {
		x->seg++;
		x->seg_at = 0;
	}
	len = x->seg->len - x->seg_at < x->left ? x->seg->len - x->seg_at : x->left;
	if (caps->max_msg && len > caps->max_msg)
		len = caps->max_msg;
	port->free = op->next;
	op->x = x;
	op->op.kind = x->kind;
	op->op.raddr = x->seg->raddr + x->seg_at;
	op->op.rkey = x->seg->rkey;
	op->op.sge[0] = (struct ep_sge){ x->p, len, x->lkey };
	ring_add(port->ring, &op->op);
	port->reads += x->kind == EP_READ;
	x->in_flight++;
	x->seg_at += len;
	x->p += len;
	x->left -= len;
	if (x->left)
		return true;
	queue->first = x->next;
	if (!queue->first)
		queue->end = &queue->first;
	if (x->reply)
		ring_add(port->ring, x->reply);
	return true;
}

/* The lines alternate, as both compete for READs and operations. */
static void post_all(struct xfer_port *port)
{
	bool any = true;

	while (any) {
		any = post_first(port, &port->queue[port->next_queue]);
		any |= post_first(port, &port->queue[!port->next_queue]);
		port->next_queue = !port->next_queue;
	}
}

static bool start_move(struct xfer_port *port, struct xfer *x, const struct buf *buf,
	const struct xfer_seg *seg, unsigned count, uint64_t at, uint32_t len)
{
	struct xfer_queue *queue = &port->queue[x->kind == EP_WRITE];
	uint64_t left = len;

	assert(buf->p && len && len <= buf->cap && !x->left && !x->in_flight);
	while (count && at >= seg->len) {
		at -= seg->len;
		seg++;
		count--;
	}
	if (!count)
		return false;
	left += at;
	for (unsigned i = 0; left > seg[i].len; i++) {
		left -= seg[i].len;
		if (i + 1 == count)
			return false;
	}
	x->seg = seg;
	x->seg_at = (uint32_t)at;
	x->p = buf->p;
	x->lkey = buf->pool->key[port->ring->ep->dom].lkey;
	x->left = len;
	x->next = NULL;
	*queue->end = x;
	queue->end = &x->next;
	/* The other queue is empty or waits for something that this one did not release. */
	while (post_first(port, queue))
		;
	return true;
}

bool xfer_pull(struct xfer_port *port, struct xfer *x, const struct buf *buf,
	const struct xfer_seg *seg, unsigned count, uint64_t at, uint32_t len)
{
	x->kind = EP_READ;
	x->reply = NULL;
	return start_move(port, x, buf, seg, count, at, len);
}

bool xfer_push(struct xfer_port *port, struct xfer *x, const struct buf *buf,
	const struct xfer_seg *seg, unsigned count, uint64_t at, uint32_t len, struct ep_op *reply)
{
	x->kind = EP_WRITE;
	x->reply = reply;
	return start_move(port, x, buf, seg, count, at, len);
}

bool xfer_sent(struct xfer_port *port, struct ep_op *op)
{
	struct xfer_op *xop = (struct xfer_op *)op;
	struct xfer *x;

	if (op->kind != EP_READ && op->kind != EP_WRITE)
		return false;
	x = xop->x;
	xop->next = port->free;
	port->free = xop;
	port->reads -= op->kind == EP_READ;
	x->in_flight--;
	if (port->queue[0].first || port->queue[1].first)
		post_all(port);
	if (!x->in_flight && !x->left)
		x->moved(x);
	return true;
}
