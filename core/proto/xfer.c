/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA data mover of all targets. */
#include "xfer.h"
#include <assert.h>

void xfer_port_init(struct xfer_port *port, struct ep *ep)
{
	*port = (struct xfer_port){ .ep = ep };
	port->chain_end = &port->chain;
	port->held_end = &port->held;
}

static void add(struct xfer_port *port, struct ep_op *op)
{
	op->next = NULL;
	*port->chain_end = op;
	port->chain_end = &op->next;
}

static void move(struct xfer_port *port, struct xfer *x, const struct buf *buf, enum ep_kind kind,
	uint64_t raddr, uint32_t rkey, uint32_t len)
{
	assert(buf->p && len && len <= buf->cap);
	x->op = (struct ep_op){ .kind = (uint8_t)kind,
		.nsge = 1,
		.raddr = raddr,
		.rkey = rkey,
		.sge = { { buf->p, len, buf->pool->key[port->ep->dom].lkey } } };
}

void xfer_pull(struct xfer_port *port, struct xfer *x, const struct buf *buf, uint64_t raddr,
	uint32_t rkey, uint32_t len)
{
	move(port, x, buf, EP_READ, raddr, rkey, len);
	if (port->reads < port->ep->caps.ord) {
		port->reads++;
		add(port, &x->op);
		return;
	}
	x->next = NULL;
	*port->held_end = x;
	port->held_end = &x->next;
}

void xfer_push(struct xfer_port *port, struct xfer *x, const struct buf *buf, uint64_t raddr,
	uint32_t rkey, uint32_t len, struct ep_op *reply)
{
	move(port, x, buf, EP_WRITE, raddr, rkey, len);
	add(port, &x->op);
	if (reply)
		add(port, reply);
}

void xfer_send(struct xfer_port *port, struct ep_op *reply)
{
	add(port, reply);
}

void xfer_receive(struct xfer_port *port, struct ep_rx *rx)
{
	rx->next = port->rx;
	port->rx = rx;
}

void xfer_flush(struct xfer_port *port)
{
	struct ep_op *chain = port->chain;
	struct ep_rx *rx = port->rx;

	if (port->ep->state != EP_UP)
		return;
	/* Receives first: the peer may send once it has the reply, and iWARP has no RNR. */
	port->rx = NULL;
	if (rx)
		port->ep->ops->repost(port->ep, rx);
	if (!chain)
		return;
	port->chain = NULL;
	port->chain_end = &port->chain;
	port->ep->ops->post(port->ep, chain);
}

bool xfer_sent(struct xfer_port *port, struct ep_op *op)
{
	struct xfer *x = container_of(op, struct xfer, op);

	if (op->kind != EP_READ && op->kind != EP_WRITE)
		return false;
	if (op->kind == EP_READ) {
		port->reads--;
		if (port->held) {
			struct xfer *next = port->held;

			port->held = next->next;
			if (!port->held)
				port->held_end = &port->held;
			port->reads++;
			add(port, &next->op);
		}
	}
	x->moved(x);
	return true;
}
