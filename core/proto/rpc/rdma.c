/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RPC over RDMA version 1 (RFC 8166): only messages that fit a SEND, without chunks. */
#include "conn.h"
#include "ring.h"
#include <errno.h>
#include <stdlib.h>

#define RECEIVES 4 /* also the credits requested from the server */
#define BUFFER   RPC_CALL_MAX

struct rdma {
	struct rpc rpc;
	struct ep *ep;
	struct pool *pool; /* buffer of the call, followed by those of the receives */
	bool registered, sending;
	struct ep_op op;
	struct ring ring;
	/* the one that rpc.reply points into; the call is over once it was also reported as sent */
	struct ep_rx *reply;
};

static void fail(struct rdma *rdma, const struct diag *why)
{
	rpc_down(&rdma->rpc, why);
	rdma->ep->ops->close(rdma->ep);
}

static int requested(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct rdma *rdma = ep->user;
	struct rpcrdma_private own;
	int err = ep->ops->reg(ep, rdma->pool, EP_LOCAL, &ep->why);

	if (err)
		return err;
	rdma->registered = true;
	ring_start(
		&rdma->ring, ep, rdma->pool, rdma->pool->base + BUFFER, BUFFER, BUFFER, RECEIVES);
	rpcrdma_private_put(&own, BUFFER, BUFFER);
	memcpy(priv, &own, sizeof(own));
	return sizeof(own);
}

static void up(struct ep *ep)
{
	struct rdma *rdma = ep->user;
	uint32_t peer_sends, peer_receives, hdr = sizeof(struct rpcrdma_hdr);

	rpcrdma_private_get(ep->priv, ep->priv_len, &peer_sends, &peer_receives);
	rdma->rpc.call_max = (peer_receives < BUFFER ? peer_receives : BUFFER) - hdr;
	rdma->rpc.reply_max = (peer_sends < BUFFER ? peer_sends : BUFFER) - hdr;
	rdma->rpc.peer = ep->peer;
	memcpy(rdma->rpc.route, ep->route, sizeof(rdma->rpc.route));
	rpc_notify(&rdma->rpc);
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct rdma *rdma = ep->user;
	struct rd r = rd_init(rx->p, rx->len);
	struct diag why = { 0 };

	if (rdma->rpc.down)
		return;
	if (rdma->reply) {
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "unexpected second RPC reply");
	} else if (!rpcrdma_hdr_get(&r, rdma->rpc.xid, &why)) {
		rdma->rpc.reply = r;
		rdma->reply = rx;
		if (!rdma->sending)
			rpc_notify(&rdma->rpc);
		return;
	}
	fail(rdma, &why);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct rdma *rdma = ep->user;

	(void)op;
	rdma->sending = false;
	if (rdma->reply)
		rpc_notify(&rdma->rpc);
}

static void idle(struct ep *ep)
{
	(void)ep;
}

static void down(struct ep *ep)
{
	struct rdma *rdma = ep->user;
	struct diag closed = { 0 };

	diag_set(&closed, DIAG_CLOSED, ECONNRESET, "connection closed by the server");
	rpc_down(&rdma->rpc, ep->why.err ? &ep->why : &closed);
}

static const struct ep_events events = { requested, up, received, sent, idle, down };

static void rdma_send(struct rpc *rpc, const void *message, size_t len)
{
	struct rdma *rdma = (struct rdma *)rpc;
	struct rpcrdma_hdr hdr;

	if (rdma->reply)
		ring_repost(&rdma->ring, rdma->reply);
	rdma->reply = NULL;
	rpcrdma_hdr_put(&hdr, rpc->xid, RECEIVES);
	memcpy(rdma->pool->base, &hdr, sizeof(hdr));
	memcpy(rdma->pool->base + sizeof(hdr), message, len);
	rdma->op = (struct ep_op){ .kind = EP_SEND,
		.nsge = 1,
		.sge = { { rdma->pool->base, (uint32_t)(sizeof(hdr) + len),
			rdma->pool->key[rdma->ep->dom].lkey } } };
	rdma->sending = true;
	ring_add(&rdma->ring, &rdma->op);
	ring_flush(&rdma->ring);
}

static void rdma_close(struct rpc *rpc)
{
	struct rdma *rdma = (struct rdma *)rpc;

	if (rdma->registered)
		rdma->ep->ops->unreg(rdma->ep, rdma->pool);
	if (rdma->ep)
		rdma->ep->ops->free(rdma->ep);
	if (rdma->pool)
		pool_free(rdma->pool);
	ring_fini(&rdma->ring);
	free(rdma);
}

static const struct rpc_carrier carrier = { rdma_send, rdma_close };

int rpc_rdma(struct rpc **out, struct loop *loop, const struct addr *addr, uint32_t timeout_ms,
	struct diag *diag)
{
	struct ep_dial to = { .dst = *addr,
		.backend = EP_VERBS,
		.timeout_ms = timeout_ms,
		.caps = { .send = 2, .recv = RECEIVES, .sge = 1, .ord = 1, .ird = 1 } };
	struct rdma *rdma = calloc(1, sizeof(*rdma));
	int err;

	if (!rdma)
		return diag_sys(diag, ENOMEM, "RPC connection");
	rdma->rpc = (struct rpc){ .carrier = &carrier, .loop = loop };
	err = ring_init(&rdma->ring, RECEIVES, diag);
	if (!err)
		err = pool_new(&rdma->pool, BUFFER, 1 + RECEIVES, diag);
	if (!err)
		err = ep_dial(&rdma->ep, loop, &to, &events, rdma, diag);
	if (err) {
		rdma->ep = NULL;
		rdma_close(&rdma->rpc);
		return err;
	}
	*out = &rdma->rpc;
	return 0;
}
