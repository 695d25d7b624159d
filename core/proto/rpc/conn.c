/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One call and its reply, over either carrier. */
#include "conn.h"
#include <errno.h>
#include <sys/random.h>

#define SPARE_MS 500 /* the carrier's own deadline comes first and gives the better reason */

/* At the end of the turn: a second reply in the same turn is an error of the first call. */
static void notify_owner(struct loop_work *work)
{
	struct rpc *rpc = container_of(work, struct rpc, notify);
	bool calling = rpc->state == RPC_CALLING;
	struct diag why = { 0 };
	struct rpc_mismatch_info info;
	int err = 0;

	if (rpc->state == RPC_IDLE)
		return;
	loop_timer_del(rpc->loop, &rpc->timer);
	rpc->state = RPC_IDLE;
	if (rpc->why.err) {
		why = rpc->why;
		err = -why.err;
		if (!rpc->down)
			rpc->why = (struct diag){ 0 };
	} else if (calling) {
		err = rpc_reply_get(&rpc->reply, rpc->xid, &info, &why);
	}
	rpc->done(rpc, err, &why);
}

static void time_out(struct loop_timer *timer)
{
	struct rpc *rpc = container_of(timer, struct rpc, timer);
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "timed out waiting for %s",
		rpc->state == RPC_CALLING ? "the reply" : "the connection");
	rpc_down(rpc, &why);
}

int rpc_open(struct rpc **out, struct loop *loop, const struct addr *addr, bool rdma,
	uint64_t until, void (*done)(struct rpc *, int err, const struct diag *why), void *user,
	struct diag *diag)
{
	uint64_t now = loop_clock();
	uint32_t ms = !until ? 0 : until > now + MSEC ? (uint32_t)((until - now) / MSEC) : 1;
	struct diag why = {
		0
	}; /* may be set already, if a local port was in use before another one was free */
	struct rpc *rpc;
	int err = (rdma ? rpc_rdma : rpc_tcp)(&rpc, loop, addr, ms, &why);

	if (err) {
		*diag = why;
		return err;
	}
	rpc->until = until;
	rpc->done = done;
	rpc->user = user;
	rpc->state = RPC_CONNECTING;
	rpc->notify.run = notify_owner;
	rpc->timer.fire = time_out;
	getrandom(&rpc->xid, sizeof(rpc->xid), GRND_NONBLOCK);
	if (until)
		loop_timer_set(loop, &rpc->timer, until + SPARE_MS * MSEC);
	*out = rpc;
	return 0;
}

struct wr *rpc_begin(struct rpc *rpc, uint32_t prog, uint32_t vers, uint32_t proc)
{
	rpc->w = wr_init(rpc->call, rpc->call_max);
	rpc_call_put(&rpc->w, ++rpc->xid, prog, vers, proc);
	return &rpc->w;
}

void rpc_send(struct rpc *rpc)
{
	rpc->state = RPC_CALLING;
	if (rpc->until)
		loop_timer_set(rpc->loop, &rpc->timer, rpc->until);
	if (rpc->w.bad && !rpc->down)
		diag_set(&rpc->why, DIAG_UNSUPPORTED, EMSGSIZE, "RPC call exceeds %u bytes",
			rpc->call_max);
	if (rpc->why.err)
		rpc_notify(rpc);
	else
		rpc->carrier->send(rpc, rpc->call, (size_t)(rpc->w.p - rpc->call));
}

void rpc_close(struct rpc *rpc)
{
	if (!rpc)
		return;
	loop_work_del(rpc->loop, &rpc->notify);
	loop_timer_del(rpc->loop, &rpc->timer);
	rpc->carrier->close(rpc);
}
