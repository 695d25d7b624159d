/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common to all carriers over an RDMA endpoint (conn->ep): memory registration, progress, end. */
#include "target.h"

static void forget_pools(struct target_conn *conn)
{
	while (conn->ep_buffers)
		conn->ep->ops->unreg(conn->ep, target_conn_pool(conn, --conn->ep_buffers));
	if (conn->ep_pool)
		conn->ep->ops->unreg(conn->ep, conn->pool);
	conn->ep_pool = false;
}

int target_ep_reg(struct target_conn *conn, unsigned access, struct diag *diag)
{
	struct ep *ep = conn->ep;
	struct pool *pool;
	int err = ep->ops->reg(ep, conn->pool, access, diag);

	conn->ep_pool = !err;
	while (!err && (pool = target_conn_pool(conn, conn->ep_buffers))) {
		err = ep->ops->reg(ep, pool, EP_READ_SINK, diag);
		conn->ep_buffers += !err;
	}
	if (err)
		forget_pools(conn);
	return err;
}

void target_ep_free(struct target_conn *conn)
{
	forget_pools(conn);
	if (conn->ep)
		conn->ep->ops->free(conn->ep);
	conn->ep = NULL;
}

uint64_t target_ep_moved(struct target_conn *conn)
{
	return conn->ep->ops->progress ? conn->ep->ops->progress(conn->ep) : conn->ep_moved;
}

bool target_ep_hung_up(struct target_conn *conn)
{
	return conn->ep->ops->peer_closed && conn->ep->ops->peer_closed(conn->ep);
}

void target_ep_close(struct target_conn *conn)
{
	conn->ep->ops->close(conn->ep);
}

void target_ep_reset(struct target_conn *conn)
{
	conn->ep->ops->reset(conn->ep);
}

void target_ep_down(struct ep *ep)
{
	struct target_conn *conn = ep->user;

	if (!conn->why.err)
		conn->why = ep->why;
	target_conn_down(conn);
}
