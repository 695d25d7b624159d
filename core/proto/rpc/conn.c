/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A call and its reply over either carrier. */
#include "conn.h"
#include <errno.h>
#include <sys/random.h>

#define MSEC     1000000ull
#define SPARE_MS 500 /* the carrier's own deadline comes first and knows better why */

static int gave_up(const struct rpc *rpc, const char *what, struct diag *diag)
{
	if (!rpc->down)
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT, "timed out waiting for %s", what);
	*diag = rpc->why;
	return -diag->err;
}

int rpc_open(struct rpc **out, struct loop *loop, const struct addr *addr, bool rdma,
	uint64_t until, struct diag *diag)
{
	uint64_t now = loop_clock();
	uint32_t ms = !until ? 0 : until > now + MSEC ? (uint32_t)((until - now) / MSEC) : 1;
	struct diag why = { 0 };
	struct rpc *rpc;
	int err = (rdma ? rpc_rdma : rpc_tcp)(&rpc, loop, addr, ms, &why);

	if (!err) {
		rpc->until = until;
		getrandom(&rpc->xid, sizeof(rpc->xid), GRND_NONBLOCK);
		if (loop_wait(loop, &rpc->up, until ? until + SPARE_MS * MSEC : 0) && !rpc->down) {
			*out = rpc;
			return 0;
		}
		err = gave_up(rpc, "the connection", &why);
		rpc_close(rpc);
	}
	if (diag)
		*diag = why;
	return err;
}

struct wr *rpc_begin(struct rpc *rpc, uint32_t prog, uint32_t vers, uint32_t proc)
{
	rpc->w = wr_init(rpc->call, rpc->call_max);
	rpc_call_put(&rpc->w, ++rpc->xid, prog, vers, proc);
	return &rpc->w;
}

int rpc_end(struct rpc *rpc, struct rd *results, struct rpc_said *said, struct diag *diag)
{
	struct diag why = { 0 };
	int err;

	rpc->replied = 0;
	if (rpc->w.bad)
		err = diag_set(&why, DIAG_UNSUPPORTED, EMSGSIZE, "RPC call exceeds %u bytes",
			rpc->call_max);
	else if (rpc->down)
		err = gave_up(rpc, "the reply", &why);
	else
		err = rpc->carrier->send(rpc, rpc->call, (size_t)(rpc->w.p - rpc->call), &why);
	if (!err && (!loop_wait(rpc->loop, &rpc->replied, rpc->until) || rpc->down))
		err = gave_up(rpc, "the reply", &why);
	if (!err) {
		*results = rpc->reply;
		err = rpc_reply_get(results, rpc->xid, said, &why);
	}
	if (err && diag)
		*diag = why;
	return err;
}

void rpc_close(struct rpc *rpc)
{
	if (rpc)
		rpc->carrier->close(rpc);
}
