/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Buffers, the line for them, and the RDMA data mover of all targets. */
#include "xfer.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static bool may_have(const struct xfer_store *store, const struct xfer *x)
{
	return store->free && x->share->held < store->most;
}

static void hand_out(struct xfer_store *store, struct xfer *x)
{
	x->buf = pool_buf(store->pool, store->stack[--store->free]);
	x->share->held++;
}

static void leave(struct xfer_store *store, struct xfer **at)
{
	struct xfer *x = *at;

	*at = x->next;
	if (!*at)
		store->line_end = at;
	x->waiting = false;
}

/* Hands out what was given back. Who is served may change the line, so it is walked anew each time.
 */
static void serve(struct loop_work *work)
{
	struct xfer_store *store = container_of(work, struct xfer_store, work);

	while (store->free) {
		struct xfer **at = &store->line, *x;

		while (*at && !may_have(store, *at))
			at = &(*at)->next;
		x = *at;
		if (!x)
			return;
		leave(store, at);
		hand_out(store, x);
		x->ready(x);
	}
}

int xfer_store_init(struct xfer_store *store, struct loop *loop, uint32_t each, uint16_t count,
	struct diag *diag)
{
	int err = pool_new(&store->pool, each, count, diag);

	if (err)
		return err;
	store->stack = calloc(count, sizeof(*store->stack));
	if (!store->stack) {
		pool_free(store->pool);
		store->pool = NULL;
		return diag_sys(diag, ENOMEM, "%u data buffers", count);
	}
	store->loop = loop;
	store->most = count > 1 ? count - (count + 3u) / 4 : 1;
	store->line_end = &store->line;
	store->work.run = serve;
	for (store->free = 0; store->free < count; store->free++)
		store->stack[store->free] = (uint16_t)(count - 1 - store->free);
	return 0;
}

void xfer_store_fini(struct xfer_store *store)
{
	if (!store->pool)
		return;
	assert(store->free == store->pool->count && !store->line);
	loop_work_del(store->loop, &store->work);
	pool_free(store->pool);
	free(store->stack);
	store->pool = NULL;
}

bool xfer_take(struct xfer_store *store, struct xfer *x)
{
	if (!store->line && may_have(store, x)) {
		hand_out(store, x);
		return true;
	}
	x->waiting = true;
	x->next = NULL;
	*store->line_end = x;
	store->line_end = &x->next;
	if (may_have(store, x)) /* those before it may only wait for their own */
		loop_work_add(store->loop, &store->work);
	return false;
}

void xfer_give(struct xfer_store *store, struct xfer *x)
{
	struct xfer **at = &store->line;

	if (x->waiting) {
		while (*at != x)
			at = &(*at)->next;
		leave(store, at);
	}
	if (!x->buf.p)
		return;
	store->stack[store->free++] =
		(uint16_t)((size_t)(x->buf.p - store->pool->base) / store->pool->each);
	x->buf.p = NULL;
	x->share->held--;
	if (store->line)
		loop_work_add(store->loop, &store->work);
}

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

static void move(struct xfer_port *port, struct xfer *x, enum ep_kind kind, uint64_t raddr,
	uint32_t rkey, uint32_t len)
{
	assert(x->buf.p && len && len <= x->buf.cap);
	x->op = (struct ep_op){ .kind = (uint8_t)kind,
		.nsge = 1,
		.raddr = raddr,
		.rkey = rkey,
		.sge = { { x->buf.p, len, x->buf.pool->key[port->ep->dom].lkey } } };
}

void xfer_pull(struct xfer_port *port, struct xfer *x, uint64_t raddr, uint32_t rkey, uint32_t len)
{
	move(port, x, EP_READ, raddr, rkey, len);
	if (port->reads < port->ep->caps.ord) {
		port->reads++;
		add(port, &x->op);
		return;
	}
	x->next = NULL;
	*port->held_end = x;
	port->held_end = &x->next;
}

void xfer_push(struct xfer_port *port, struct xfer *x, uint64_t raddr, uint32_t rkey, uint32_t len,
	struct ep_op *reply)
{
	move(port, x, EP_WRITE, raddr, rkey, len);
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
