/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common to all carriers over an RDMA endpoint (conn->ep): commands, their data and replies, memory
 * registration, progress, end. */
#include "target_rdma.h"
#include <stdlib.h>

#define READS 16 /* most RDMA READs in flight per connection */

/* ---- The connection. */

int target_rdma_accept(struct target_conn *conn, const struct ep_events *events, uint32_t sends,
	uint32_t receives, uint32_t inline_max, struct diag *diag)
{
	struct ep_caps caps = { .send = sends,
		.recv = receives,
		.sge = 1,
		.inline_max = inline_max,
		.read_sge = 1,
		.ord = READS };
	int err = ring_init(&conn->rdma.ring, receives, diag);

	if (err)
		return target_rdma_reject(conn, err);
	conn->rdma.backlog_end = &conn->rdma.backlog;
	err = ep_accept(&conn->ep, conn->loop, conn->rdma.incoming, &caps, events, conn, diag);
	if (err) {
		conn->carrier->free(conn);
		conn->pool = NULL;
	}
	return err;
}

int target_rdma_reject(struct target_conn *conn, int err)
{
	ep_reject(conn->rdma.incoming, NULL, 0);
	conn->carrier->free(conn);
	conn->pool = NULL;
	return err;
}

unsigned target_rdma_depth(struct ep *ep, unsigned depth, uint32_t receives, uint32_t sends)
{
	const struct ep_caps *caps = &ep->caps;

	if (caps->recv < receives + depth)
		depth = caps->recv < receives ? 0 : caps->recv - receives;
	if (caps->send < sends + 2 * depth)
		depth = caps->send < sends ? 0 : (caps->send - sends) / 2;
	if (depth && caps->ord && caps->read_sge)
		return depth;
	diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
		"the RDMA device supports only %u receives, %u requests and %u reads per "
		"connection",
		caps->recv, caps->send, caps->ord);
	return 0;
}

int target_rdma_alloc(struct target_conn *conn, unsigned slots, struct diag *diag)
{
	struct target_rdma *rdma = &conn->rdma;
	int err = target_conn_alloc_cmds(conn, slots, diag);

	if (!err)
		err = xfer_port_init(&rdma->port, &rdma->ring, slots, diag);
	if (err)
		return err;
	rdma->cmds = calloc(slots, sizeof(*rdma->cmds));
	if (!rdma->cmds)
		return diag_sys(diag, ENOMEM, "a connection of %u commands", slots);
	for (unsigned i = 0; i < slots; i++) {
		struct target_rdma_cmd *cmd = &rdma->cmds[i];

		*cmd = (struct target_rdma_cmd){ .cmd = target_cmd_at(conn, i),
			.xfer.moved = target_rdma_moved,
			.reply.nsge = 1,
			.seg = &cmd->one,
			.segs = 1 };
	}
	return 0;
}

static void unregister(struct target_conn *conn)
{
	struct target_rdma *rdma = &conn->rdma;

	while (rdma->buffers)
		conn->ep->ops->unreg(conn->ep, target_conn_pool(conn, --rdma->buffers));
	if (rdma->registered)
		conn->ep->ops->unreg(conn->ep, conn->pool);
	rdma->registered = false;
}

static int register_pools(struct target_conn *conn, unsigned access, struct diag *diag)
{
	struct target_rdma *rdma = &conn->rdma;
	struct ep *ep = conn->ep;
	struct pool *pool;
	int err = ep->ops->reg(ep, conn->pool, access, diag);

	rdma->registered = !err;
	while (!err && (pool = target_conn_pool(conn, rdma->buffers))) {
		err = ep->ops->reg(ep, pool, EP_READ_SINK, diag);
		rdma->buffers += !err;
	}
	if (err)
		unregister(conn);
	return err;
}

int target_rdma_start(struct target_conn *conn, const struct target_rdma_layout *layout,
	unsigned access, struct diag *diag)
{
	uint8_t *base = conn->pool->base;
	int err = register_pools(conn, access, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < conn->slots; i++)
		conn->rdma.cmds[i].reply.sge[0] =
			(struct ep_sge){ base + layout->replies_at + (size_t)i * layout->reply, 0,
				conn->pool->key[conn->ep->dom].lkey };
	ring_start(&conn->rdma.ring, conn->ep, conn->pool, base + layout->receives_at,
		layout->stride, layout->receive, layout->count);
	return 0;
}

void target_rdma_free(struct target_conn *conn)
{
	struct target_rdma *rdma = &conn->rdma;

	unregister(conn);
	if (conn->ep)
		conn->ep->ops->free(conn->ep);
	conn->ep = NULL;
	pool_free(conn->pool);
	ring_fini(&rdma->ring);
	xfer_port_fini(&rdma->port);
	free(rdma->cmds);
	rdma->cmds = NULL;
}

uint64_t target_rdma_progress(struct target_conn *conn)
{
	return conn->ep->ops->progress ? conn->ep->ops->progress(conn->ep) : conn->rdma.moved;
}

bool target_rdma_hung_up(struct target_conn *conn)
{
	return conn->ep->ops->peer_closed && conn->ep->ops->peer_closed(conn->ep);
}

void target_rdma_close(struct target_conn *conn)
{
	conn->ep->ops->close(conn->ep);
}

void target_rdma_reset(struct target_conn *conn)
{
	conn->ep->ops->reset(conn->ep);
}

void target_rdma_up(struct ep *ep)
{
	const struct target_conn *conn = ep->user;

	loop_trace(ep->loop, "%s: %s", conn->name, ep->route);
}

void target_rdma_down(struct ep *ep)
{
	struct target_conn *conn = ep->user;

	if (!conn->why.err)
		conn->why = ep->why;
	target_conn_down(conn);
}

/* ---- Data and replies. */

static void too_short(struct target_cmd *cmd)
{
	target_conn_fail(cmd->conn, DIAG_PROTOCOL, EPROTO,
		"the host's memory is shorter than the command's data");
}

void target_rdma_pull(struct target_cmd *cmd, uint32_t len)
{
	struct target_rdma_cmd *rdma = cmd->rdma;
	struct buf buf = { cmd->p, len, cmd->pool };

	if (!xfer_pull(
		    &cmd->conn->rdma.port, &rdma->xfer, &buf, rdma->seg, rdma->segs, cmd->at, len))
		too_short(cmd);
}

void target_rdma_read(struct target_cmd *cmd, const struct buf *buf, const struct xfer_seg *seg,
	uint32_t at, uint32_t len)
{
	if (!xfer_pull(&cmd->conn->rdma.port, &cmd->rdma->xfer, buf, seg, 1, at, len))
		too_short(cmd);
}

void target_rdma_push(struct target_cmd *cmd, uint32_t len, struct ep_op *reply)
{
	struct target_rdma_cmd *rdma = cmd->rdma;
	struct buf buf = { cmd->p, len, cmd->pool };

	if (!xfer_push(&cmd->conn->rdma.port, &rdma->xfer, &buf, rdma->seg, rdma->segs, cmd->at,
		    len, reply))
		too_short(cmd);
}

void target_rdma_moved(struct xfer *x)
{
	struct target_cmd *cmd = container_of(x, struct target_rdma_cmd, xfer)->cmd;

	cmd->conn->rdma.moved += cmd->piece;
	if (cmd->state == TARGET_CMD_PULL)
		target_cmd_pulled(cmd, 0);
	else if (cmd->state == TARGET_CMD_PUSH)
		target_cmd_pushed(cmd);
}

void target_rdma_sent(struct ep *ep, struct ep_op *op)
{
	struct target_conn *conn = ep->user;

	if (!xfer_sent(&conn->rdma.port, op))
		target_cmd_replied(target_rdma_cmd_of(op));
}

void target_rdma_flush(struct target_conn *conn)
{
	ring_flush(&conn->rdma.ring);
}

void target_rdma_idle(struct ep *ep)
{
	struct target_conn *conn = ep->user;

	if (!target_conn_is_closing(conn))
		ring_flush(&conn->rdma.ring);
}
